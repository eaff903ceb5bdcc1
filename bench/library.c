/* library: a compile with an option for bench/binding.py, in a shared library with the modules. */
#include "inductor.h"

IND_API ind_status bench_compile(ind_graph *graph, bool batch_invariant, ind_module **module);

/* As ind_compile, with a flag of ind_compile_desc, whose layout changes with the table of thresholds. */
ind_status bench_compile(ind_graph *graph, bool batch_invariant, ind_module **module) {
    const ind_compile_desc desc = {.batch_invariant = batch_invariant};
    return ind_compile(graph, &desc, module);
}
