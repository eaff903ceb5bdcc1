/* library: a compile with options for bench/binding.py, in a shared library with the modules. Two of them are compiled
   here. The runtime: a configuration of products is forced as a result of its tuning. The code generator: its
   configurations of a product are listed with their estimates (bench/configurations.py). */
#define INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#include "inductor.h"

/* A configuration of a product, and its time as the cost model estimates it. */
typedef struct bench_choice {
    ind__tile_choice values;
    double cost_ns;
    int only_tuned; /* 1: estimates do not choose it, only ind_tune does */
} bench_choice;

IND_API ind_status bench_compile(ind_graph *graph, bool batch_invariant, bool cublaslt, bool persistent, int pair_m,
                                 int pair_n, ind_module **module);
IND_API ind_status bench_emit(ind_graph *graph, const ind_target *target, ind_module **module);
IND_API const ind_target *bench_target(const ind_module *m);
IND_API const char *bench_figure_name(int i);
IND_API const char *bench_strategy_name(int strategy);
IND_API ind_status bench_list(ind_module *m, bench_choice *choice, int most, int *num);
IND_API ind_status bench_estimate(ind_module *m, bench_choice *choice, int num);
IND_API ind_status bench_force(ind_graph *graph, ind_module *first, const ind__tile_choice *values,
                               ind_module **module);
IND_API ind_status bench_plan(ind_module *m, const ind__tile_choice *values);

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
        return ind__fail(m->context, IND_ERROR_NOT_SUPPORTED, "no product can be computed in clusters of %d x %d tiles",
                         pair_m, pair_n);
    return status;
}

/* As ind_compile, with flags of ind_compile_desc, whose layout changes with the table of thresholds. pair_m and pair_n:
   tiles of a cluster of products along m and n, to whose blocks operands are multicast; 0: the first choice. */
ind_status bench_compile(ind_graph *graph, bool batch_invariant, bool cublaslt, bool persistent, int pair_m, int pair_n,
                         ind_module **module) {
    const ind_compile_desc desc = {
        .batch_invariant = batch_invariant, .cublaslt = cublaslt, .fusion.persistent = persistent};
    ind_status status = ind_compile(graph, &desc, module);
    if (status || !pair_m) return status;
    status = bench_keep_pairs(*module, pair_m, pair_n);
    ind_module_destroy(*module);
    return status ? status : ind_compile(graph, &desc, module);
}

/* ---- without a device */

/* Compiles for a target up to the CUDA text. */
ind_status bench_emit(ind_graph *graph, const ind_target *target, ind_module **module) {
    const ind_compile_desc desc = {.emit_only = true, .target = *target};
    return ind_compile(graph, &desc, module);
}

/* The target that the module was planned for. */
const ind_target *bench_target(const ind_module *m) {
    return &m->desc.plan->target;
}

/* The name of a figure of ind_thresholds, in the order of the struct; NULL: there are no more. */
const char *bench_figure_name(int i) {
    static const char *const name[] = {
#define X(field, ...) #field,
        IND_THRESHOLDS(X)
#undef X
    };
    return i < (int)(sizeof name / sizeof *name) ? name[i] : NULL;
}

/* The text of an ind_strategy; NULL: there are no more. */
const char *bench_strategy_name(int strategy) {
    static const char *const name[] = {
#define X(field, text, ...) text,
        IND_STRATEGIES(X)
#undef X
    };
    return strategy < (int)(sizeof name / sizeof *name) ? name[strategy] : NULL;
}

/* ---- the configurations of a product */

enum { BENCH_MOST_CHOICES = 4096 };

/* The problem of a module's product, as its plan decided it. */
typedef struct bench_product {
    ind_plan *plan;
    uint32_t kernel;
    int variant;
    cg__decider decider;
    ind__variant decided;
} bench_product;

/* Finds the module's first product, and its variant that a launch without symbolic sizes takes. */
static ind_status bench_find(ind_module *m, bench_product *x) {
    ind_plan *p = m->desc.plan;
    x->plan = p;
    for (x->kernel = 0; x->kernel < p->num_kernels; x->kernel++) {
        const ind_kernel_plan *k = &p->kernel[x->kernel];
        for (x->variant = 0; x->variant < k->num_variants && k->num_parts == 1; x->variant++) {
            const ind__variant *v = &k->variant[x->variant];
            if (!ind__ok(v->guard) && ind__strategy_row_of(v->strategy)->family == IND__FAMILY_MATMUL) return IND_OK;
        }
    }
    return ind__fail(m->context, IND_ERROR_NOT_FOUND, "the module has no launch of a product for all sizes");
}

/* Decides the variant of the product again, as the plan does not keep what the cost model reads: with tensor maps,
   which are tried first and dropped if they are no gain. bench_end frees it. */
static ind_status bench_begin(ind_module *m, bench_product *x) {
    *x = (bench_product){0};
    ind_status status = bench_find(m, x);
    if (status) return status;
    const ind__variant *v = &x->plan->kernel[x->kernel].variant[x->variant];
    const int assume = v->assume | (v->assume & IND__ASSUME_ALIGNED ? IND__ASSUME_MAPS : 0);
    x->decided =
        (ind__variant){.assume = assume, .vector = assume ? 8 : 1, .range = v->range, .dependent = v->dependent};
    status =
        cg__init_decider(&x->decider, x->plan, ind__kernel_of(&x->plan->kernel[x->kernel], v), &x->decided, assume);
    x->decider.force_wide = v->index_bits == 64;
    return status ? status : cg__decide(&x->decider);
}

static void bench_end(bench_product *x) {
    cg__free(&x->decider.w);
}

static double bench_ns(const bench_product *x, double cycles) {
    return cycles * 100 / x->plan->target.thresholds.product_clock;
}

/* As in cg__mm_try_pairs. */
static int bench_only_tuned(const bench_product *x, const ind__tile_choice *values) {
    return values->pair_m && x->plan->target.thresholds.product_multicast < 0;
}

/* Adds the forms of multicast of all choices, whether or not a figure of the target says that they are faster. False:
   out of memory. */
static bool bench_add_pairs(const cg__mm_problem *p, const ind_target *t, cg__mm_choices *all) {
    const int num = all->num;
    cg__mm_choice *given = malloc((size_t)(num + 1) * sizeof *given);
    if (!given) return false;
    memcpy(given, all->item, (size_t)num * sizeof *given);
    for (int i = 0; i < num; i++)
        for (int form = 0; form < MM_NUM_PAIRS && !given[i].config.pair_m; form++) {
            const cg__mm_config c = cg__mm_paired(&given[i].config, form);
            if (cg__mm_fits_pairs(given[i].from, p, &c, t)) cg__mm_try_config(given[i].from, p, &c, t, all);
        }
    free(given);
    return true;
}

/* Finds the configurations that fit the product in the order of their estimated times, except that the first choice is
   the first one. */
static ind_status bench_find_all(const bench_product *x, cg__mm_choices *all) {
    const cg__mm_problem *p = x->decider.plan->matmul;
    const char *reason;
    int at = 0;
    cg__mm_choose(p, x->decided.index_bits, &x->plan->target, all, &reason);
    const cg__mm_choice first = all->item[0];
    if (!bench_add_pairs(p, &x->plan->target, all)) return IND_ERROR_OUT_OF_MEMORY;
    while (at < all->num && !cg__mm_same_values(&all->item[at].values, &first.values)) at++;
    for (; at > 0; at--) all->item[at] = all->item[at - 1];
    all->item[0] = first;
    return IND_OK;
}

/* Writes these configurations, at most `most`. */
ind_status bench_list(ind_module *m, bench_choice *choice, int most, int *num) {
    const ind__query query = ind__query_begin(m);
    bench_product x;
    cg__mm_choices all = {.item = malloc(BENCH_MOST_CHOICES * sizeof *all.item), .most = BENCH_MOST_CHOICES};
    ind_status status = bench_begin(m, &x);
    *num = 0;
    if (!status) status = all.item ? bench_find_all(&x, &all) : IND_ERROR_OUT_OF_MEMORY;
    for (; !status && *num < all.num && *num < most; ++*num) {
        const cg__mm_choice *c = &all.item[*num];
        choice[*num] = (bench_choice){c->values, bench_ns(&x, c->cost), bench_only_tuned(&x, &c->values)};
    }
    bench_end(&x);
    free(all.item);
    return ind__query_end(&query, status);
}

/* Estimates a configuration, found by its values; negative: no template that takes the product has it, or it does not
   fit. Its blocks per SM follow from the rest, but select one of two that differ in nothing else. */
static double bench_cost(const bench_product *x, const ind__tile_choice *values) {
    const cg__mm_problem *p = x->decider.plan->matmul;
    const ind_target *t = &x->plan->target;
    const cg__mm_template *from = cg__mm_template_of((ind_strategy)values->strategy);
    double same = -1, other = -1;
    if (!from || from->match(p, t)) return -1;
    for (size_t i = 0; i < from->num_configs; i++) {
        cg__mm_config c = from->configs[i];
        if (!cg__mm_fits(from, p, &c, x->decided.index_bits, t)) continue;
        c.splits = values->splits;
        c.cluster = values->cluster;
        c.pair_m = values->pair_m;
        c.pair_n = values->pair_n;
        if (c.cluster && !cg__mm_fits_shared(from, p, &c, t)) continue;
        const cg__mm_choice choice = cg__mm_choice_of(from, p, &c, t);
        ind__tile_choice found = choice.values;
        double *cost = found.blocks_per_sm == values->blocks_per_sm ? &same : &other;
        found.blocks_per_sm = values->blocks_per_sm;
        if (cg__mm_same_values(&found, values) && (*cost < 0 || choice.cost < *cost)) *cost = choice.cost;
    }
    const double cycles = same < 0 ? other : same;
    return cycles < 0 ? cycles : bench_ns(x, cycles);
}

/* Sets the estimated times of the configurations; negative: it is none of the product. */
ind_status bench_estimate(ind_module *m, bench_choice *choice, int num) {
    const ind__query query = ind__query_begin(m);
    bench_product x;
    const ind_status status = bench_begin(m, &x);
    for (int i = 0; !status && i < num; i++) {
        choice[i].cost_ns = bench_cost(&x, &choice[i].values);
        choice[i].only_tuned = bench_only_tuned(&x, &choice[i].values);
    }
    bench_end(&x);
    return ind__query_end(&query, status);
}

/* Plans the product of an emit_only module again, with this configuration. */
ind_status bench_plan(ind_module *m, const ind__tile_choice *values) {
    const ind__query query = ind__query_begin(m);
    bench_product x = {0};
    ind__variant tuned = {0};
    ind_status status = bench_find(m, &x);
    if (!status) status = ind__plan_tuned(x.plan, x.kernel, x.variant, (ind__tuning){.tile = *values}, &tuned);
    if (!status && !ind__is_tuned(&tuned))
        status = ind__fail(m->context, IND_ERROR_NOT_SUPPORTED, "the product cannot have this configuration");
    if (!status) x.plan->kernel[x.kernel].variant[x.variant] = tuned;
    return ind__query_end(&query, status);
}

/* Compiles the graph whose product has this configuration; first: the module of the first choice, in the same context,
   which compiles later modules as before. */
ind_status bench_force(ind_graph *graph, ind_module *first, const ind__tile_choice *values, ind_module **module) {
    const ind_tuned result = {.first_us = 2, .us = 1};
    const ind_compile_desc desc = {0};
    bench_product x = {0};
    ind_status status = bench_find(first, &x);
    if (status) return status;
    const ind__variant *v = &x.plan->kernel[x.kernel].variant[x.variant];
    status = rt__tune_record(first, v, (ind__tuning){.tile = *values}, &result);
    if (!status) status = ind_compile(graph, &desc, module);
    const ind_status after = rt__tune_record(first, v, (ind__tuning){0}, &result);
    if (!status && after) ind_module_destroy(*module);
    if (status || after) return status ? status : after;
    if (bench_find(*module, &x) || !ind__is_tuned(&x.plan->kernel[x.kernel].variant[x.variant])) {
        ind_module_destroy(*module);
        return ind__fail(first->context, IND_ERROR_NOT_SUPPORTED, "the product cannot have this configuration");
    }
    return IND_OK;
}
