/* library: compiles with options for bench/binding.py, in a shared library with the modules. */
#include "inductor.h"

IND_API ind_status bench_compile(ind_graph *graph, bool batch_invariant, bool all_variants, ind_module **module);

/* As ind_compile, with two flags of ind_compile_desc: its layout changes with the table of thresholds. */
ind_status bench_compile(ind_graph *graph, bool batch_invariant, bool all_variants, ind_module **module) {
    const ind_compile_desc desc = {.batch_invariant = batch_invariant, .all_variants = all_variants};
    return ind_compile(graph, &desc, module);
}
