/* library: a compile with options for bench/binding.py, in a shared library with the modules. */
#include "inductor.h"

IND_API ind_status bench_compile(ind_graph *graph, bool batch_invariant, bool cublaslt, ind_module **module);

/* As ind_compile, with flags of ind_compile_desc, whose layout changes with the table of thresholds. */
ind_status bench_compile(ind_graph *graph, bool batch_invariant, bool cublaslt, ind_module **module) {
    const ind_compile_desc desc = {.batch_invariant = batch_invariant, .cublaslt = cublaslt};
    return ind_compile(graph, &desc, module);
}
