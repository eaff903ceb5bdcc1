/* library: a compile with options for bench/binding.py, in a shared library with the modules. The runtime is compiled
   here: a configuration of products is forced as a result of its tuning. */
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#include "inductor.h"

IND_API ind_status bench_compile(ind_graph *graph, bool batch_invariant, bool cublaslt, int pair_m, int pair_n,
                                 ind_module **module);

/* Modules that the context compiles later have the products of `m` in such clusters, as if ind_tune had found that. */
static ind_status bench_keep_pairs(ind_module *m, int pair_m, int pair_n) {
    const ind_tuned result = {.first_us = 2, .us = 1};
    const ind_plan *p = m->desc.plan;
    ind_status status = IND_OK;
    int num = 0;
    for (uint32_t k = 0; k < p->num_kernels; k++)
        for (int v = 0; v < p->kernel[k].num_variants; v++) {
            ind__tuning tuning[IND__MAX_TUNED];
            const int candidates = ind__plan_candidates(&p->kernel[k].variant[v], tuning);
            for (int i = 0; i < candidates && !status; i++) {
                if (tuning[i].tile.pair_m != pair_m || tuning[i].tile.pair_n != pair_n) continue;
                status = rt__tune_record(m, &p->kernel[k].variant[v], tuning[i], &result);
                num++;
            }
        }
    if (!status && !num)
        return ind__fail(m->context, IND_NOT_SUPPORTED, "no product can be computed in clusters of %d x %d tiles",
                         pair_m, pair_n);
    return status;
}

/* As ind_compile, with flags of ind_compile_desc, whose layout changes with the table of thresholds. pair_m and pair_n:
   tiles of a cluster of products along m and n, to whose blocks operands are multicast; 0: the first choice. */
ind_status bench_compile(ind_graph *graph, bool batch_invariant, bool cublaslt, int pair_m, int pair_n,
                         ind_module **module) {
    const ind_compile_desc desc = {.batch_invariant = batch_invariant, .cublaslt = cublaslt};
    ind_status status = ind_compile(graph, &desc, module);
    if (status || !pair_m) return status;
    status = bench_keep_pairs(*module, pair_m, pair_n);
    ind_module_destroy(*module);
    return status ? status : ind_compile(graph, &desc, module);
}
