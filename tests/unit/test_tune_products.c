/* Products in other configurations than the formulas choose. On any machine: the candidates of tuning are distinct and
   fit, a forced one is in the plan, one that does not fit is ignored. On a GPU or the emulation of one
   (IND_DEVICE=cuda): each candidate computes exact sums of small integers, and a result of tuning travels in a pack. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#include "inductor.h"

#include "check.h"
#include "system.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 80000, ROWS = 45 };

typedef struct product {
    const char *text;
    int n, k, rows[2]; /* rows of launches: at the hint, and others */
    ind_dtype a, b;
    int factor;    /* of the sums in the result */
    int variables; /* bindings of b */
} product;

static const product products[] = {
    {"graph deep {\n  size M in [1, 4096] hint 40\n  input a : bf16[M, 1032]\n  input b : bf16[72, 1032]\n"
     "  y = linear(a, b)\n  output y\n}\n",
     72,
     1032,
     {40, 33},
     IND_BF16,
     IND_BF16,
     1,
     1},
    {"graph across {\n  size M in [1, 4096] hint 40\n  input a : bf16[M, 264]\n  input b : bf16[264, 136]\n"
     "  y = matmul(a, b)\n  output y\n}\n",
     136,
     264,
     {40, 1},
     IND_BF16,
     IND_BF16,
     1,
     1},
    {"graph odd {\n  size M in [1, 4096] hint 17\n  input a : bf16[M, 515]\n  input b : bf16[37, 515]\n"
     "  y = linear(a, b)\n  output y\n}\n",
     37,
     515,
     {17, 45},
     IND_BF16,
     IND_BF16,
     1,
     1},
    {"graph simt {\n  size M in [1, 4096] hint 40\n  input a : f32[M, 256]\n  input b : f32[40, 256]\n"
     "  y = linear(a, b)\n  output y\n}\n",
     40,
     256,
     {40, 7},
     IND_F32,
     IND_F32,
     1,
     1},
    {"graph few {\n  size M in [1, 4096] hint 1\n  input a : bf16[M, 1032]\n  input b : bf16[24, 1032]\n"
     "  y = linear(a, b)\n  output y\n}\n",
     24,
     1032,
     {1, 3},
     IND_BF16,
     IND_BF16,
     1,
     1},
    {"graph packed {\n  size M in [1, 64] hint 4\n  input a : bf16[M, 512]\n  const b : i8[48, 512]\n"
     "  f = cast(b, dtype=f32)\n  v = cast(f, dtype=bf16)\n  y = linear(a, v)\n  output y\n}\n",
     48,
     512,
     {4, 2},
     IND_BF16,
     IND_I8,
     1,
     1},
    {"graph wide {\n  size M in [1, 4096] hint 1024\n  input a : bf16[M, 72]\n  input b : bf16[520, 72]\n"
     "  y = linear(a, b)\n  output y\n}\n",
     520,
     72,
     {45, 17},
     IND_BF16,
     IND_BF16,
     1,
     1},
    {"graph wide {\n  size M in [1, 4096] hint 4096\n  input a : bf16[M, 128]\n  input b : bf16[520, 128]\n"
     "  y = linear(a, b)\n  output y\n}\n",
     520,
     128,
     {40, 33},
     IND_BF16,
     IND_BF16,
     1,
     1},
    {"graph pair {\n  size M in [1, 4096] hint 40\n  input a : bf16[M, 520]\n  input b : bf16[72, 520]\n"
     "  input c : bf16[72, 520]\n  p = linear(a, b)\n  q = linear(a, c)\n  y = add(p, q)\n  output y\n}\n",
     72,
     520,
     {40, 45},
     IND_BF16,
     IND_BF16,
     2,
     2},
};
enum { NUM = sizeof products / sizeof *products, DEEP = 0, SIMT = 3 };

static float values[2][MOST]; /* -1, 0 and 1: what a and b hold */
static unsigned char a[MOST * 4], b[MOST * 4], y[ROWS * 520 * 4];

static void fill(void) {
    uint64_t state = 1;
    for (int i = 0; i < 2 * MOST; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        values[i % 2][i / 2] = (float)((int)(state >> 40) % 3 - 1);
    }
}

static void store(unsigned char *to, const float *from, int num, ind_dtype dtype) {
    for (int i = 0; i < num; i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], 4);
        const uint16_t half = (uint16_t)(bits >> 16);
        const int8_t byte = (int8_t)from[i];
        const void *value = dtype == IND_F32 ? (const void *)&bits : dtype == IND_BF16 ? (const void *)&half : &byte;
        const size_t bytes = dtype == IND_F32 ? 4 : dtype == IND_BF16 ? 2 : 1;
        memcpy(to + (size_t)i * bytes, value, bytes);
    }
}

static float load(const unsigned char *from, int i, ind_dtype dtype) {
    uint32_t bits = 0;
    float value;
    if (dtype == IND_F32)
        memcpy(&bits, from + (size_t)i * 4, 4);
    else
        memcpy((unsigned char *)&bits + 2, from + (size_t)i * 2, 2);
    memcpy(&value, &bits, 4);
    return value;
}

static ind_module *compile(ind_context *c, const product *p, ind_compile_desc desc) {
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(c, p->text, NULL);
    CHECK(g && !ind_compile(g, &desc, &m), "%s", ind_error(c));
    ind_graph_destroy(g);
    return m;
}

static bool is_across(const product *p) {
    return strstr(p->text, "matmul") != NULL;
}

/* Every element is exact: sums are small integers. */
static bool is_exact(const product *p, int rows) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < p->n; j++) {
            float sum = 0;
            for (int k = 0; k < p->k; k++)
                sum += values[0][i * p->k + k] * values[1][is_across(p) ? k * p->n + j : j * p->k + k];
            sum *= (float)p->factor;
            if (sum < -256 || sum > 256 || load(y, i * p->n + j, p->a) != sum) return false;
        }
    return true;
}

static bool runs(ind_context *c, ind_module *m, const product *p) {
    store(b, values[1], p->n * p->k, p->b);
    for (int s = 0; s < 2 && m; s++) {
        const ind_binding io[] = {{"a", a}, {"b", b}, {"y", y}, {"c", b}};
        char sizes[24];
        store(a, values[0], p->rows[s] * p->k, p->a);
        memset(y, 0xff, sizeof y);
        snprintf(sizes, sizeof sizes, "M=%d", p->rows[s]);
        ind_run_desc desc = {
            .bindings = io, .num_bindings = 2 + p->variables, .sizes = sizes, .memory = IND_MEMORY_HOST};
        const ind_status status = ind_run(m, &desc);
        CHECK(!status, "%s", ind_error(c));
        if (status || !is_exact(p, p->rows[s])) return false;
    }
    return m != NULL;
}

/* ---- plans ---- */

static bool same_tile(const ind__variant *v, const ind__tile_choice *t) {
    const ind__tile_plan *tile = ind__tile_of(v);
    const bool fma = v->strategy == IND_STRATEGY_MATMUL_SIMT;
    return (int)v->strategy == t->strategy && tile->m == t->m && tile->n == t->n && tile->k == t->k &&
           (fma ? v->per_thread : tile->warps_m) == t->warps_m && tile->stages == t->stages &&
           tile->cluster == t->cluster && tile->pair_m == t->pair_m && tile->pair_n == t->pair_n &&
           ind__ok(tile->splits) == (t->splits > 1) && v->blocks_per_sm == t->blocks_per_sm;
}

/* The variant planned with the configuration: *out. */
static bool is_taken(ind_module *m, uint32_t kernel, int variant, ind__tile_choice tile, ind__variant *out) {
    const ind__variant *v = &m->desc.plan->kernel[kernel].variant[variant];
    const ind_status status = ind__plan_tuned(m->desc.plan, kernel, variant, (ind__tuning){.tile = tile}, out);
    CHECK(!status, "%s", ind_error(m->context));
    const bool taken = !status && ind__is_tuned(out);
    CHECK(status || taken || ind__same_source(v, out), "%s", out->why);
    return taken;
}

typedef struct seen {
    int candidates, splits, clusters, pairs, other_strategies;
} seen;

static void check_candidate(ind_module *m, uint32_t kernel, int variant, const ind__tile_choice *tile) {
    const ind__variant *v = &m->desc.plan->kernel[kernel].variant[variant];
    ind__variant out;
    if (!is_taken(m, kernel, variant, *tile, &out)) {
        CHECK(false, "%s: %d x %d x %d, %d stages, %d splits, cluster %d is not taken", v->source.entry, tile->m,
              tile->n, tile->k, tile->stages, tile->splits, tile->cluster);
        return;
    }
    int64_t least, shared;
    ind_expr_bounds(out.memory.shared, &least, &shared);
    CHECK(same_tile(&out, tile) && !memcmp(&out.tuned.tile, tile, sizeof *tile), "%s", out.why);
    CHECK(strstr(out.why, "; tuned: tile ") != NULL, "%s", out.why);
    CHECK(ind__ok(out.guard) == ind__ok(v->guard) && out.guard_aligned == v->guard_aligned, "%s: guards", out.why);
    CHECK(out.threads <= 1024 && shared <= m->desc.plan->target.shared_per_block, "%d threads, %d bytes", out.threads,
          (int)shared);
}

/* Configurations that no template has, or that do not fit. */
static void check_impossible(ind_module *m, uint32_t kernel, int variant, const ind__tile_choice *tile) {
    ind__tile_choice bad[10];
    ind__variant out;
    for (int i = 0; i < 10; i++) bad[i] = *tile;
    bad[0].strategy = IND_STRATEGY_POINTWISE;
    bad[1].strategy = -1;
    bad[2].m = 77;
    bad[3].stages = 31;
    bad[4].splits = 1 << 20;
    bad[5].splits = 3, bad[5].cluster = 3;
    bad[6].splits = 0;
    bad[7].pair_m = 3, bad[7].pair_n = 1;
    bad[8].pair_m = bad[8].pair_n = 1;
    bad[9].pair_m = 2, bad[9].pair_n = 0;
    for (int i = 0; i < 10; i++) CHECK(!is_taken(m, kernel, variant, bad[i], &out), "%d: %s", i, out.why);
}

static void check_candidates(ind_module *m, uint32_t kernel, int variant, bool invariant, seen *all) {
    const ind__variant *v = &m->desc.plan->kernel[kernel].variant[variant];
    ind__tuning t[IND__MAX_TUNED];
    const int num = ind__plan_candidates(v, t);
    CHECK(num >= 0 && num <= IND__MAX_TUNED, "%d candidates", num);
    if (ind__strategy_row_of(v->strategy)->family != IND__FAMILY_MATMUL) return;
    for (int i = 0; i < num; i++) {
        CHECK(!same_tile(v, &t[i].tile) || ind__ok(ind__tile_of(v)->splits), "the first choice is a candidate");
        for (int j = 0; j < i; j++) CHECK(memcmp(&t[i], &t[j], sizeof t[i]), "candidates %d and %d are equal", j, i);
        CHECK(!invariant || (t[i].tile.splits == 1 && !t[i].tile.cluster), "blocks share a tile");
        check_candidate(m, kernel, variant, &t[i].tile);
        all->candidates++;
        all->splits += t[i].tile.splits > 1;
        all->clusters += t[i].tile.cluster > 1;
        all->pairs += t[i].tile.pair_m > 0;
        all->other_strategies += t[i].tile.strategy != (int)v->strategy;
    }
    if (num) check_impossible(m, kernel, variant, &t[0].tile);
}

static void test_plans(const char *target, bool invariant, seen *all) {
    ind_context *c;
    if (ind_context_create(NULL, &c)) return;
    for (int i = 0; i < NUM; i++) {
        ind_compile_desc d = {.emit_only = true, .batch_invariant = invariant};
        CHECK(!ind_target_named(c, target, &d.target), "%s", ind_error(c));
        ind_module *m = compile(c, &products[i], d);
        if (!m) continue;
        ind_facts *before = ind_facts_enter(c, m->facts);
        for (uint32_t k = 0; k < m->desc.plan->num_kernels; k++)
            for (int v = 0; v < m->desc.plan->kernel[k].num_variants; v++) check_candidates(m, k, v, invariant, all);
        (void)ind_facts_enter(c, before);
        ind_module_destroy(m);
    }
    ind_context_destroy(c);
}

/* In a batch_invariant module no blocks share a tile, and all variants sum in the order of one template: of the
   candidates of a module that is not, only these are taken. */
static void test_batch_invariant(void) {
    ind_context *c;
    int num_taken = 0, num_ignored = 0;
    if (ind_context_create(NULL, &c)) return;
    for (int i = 0; i < NUM; i++) {
        ind_compile_desc d = {.emit_only = true};
        CHECK(!ind_target_named(c, "sm_90a", &d.target), "%s", ind_error(c));
        ind_module *any = compile(c, &products[i], d);
        d.batch_invariant = true;
        ind_module *m = compile(c, &products[i], d);
        if (!any || !m) continue;
        const int variant = ind__plan_likely(m->desc.plan->kernel), other = ind__plan_likely(any->desc.plan->kernel);
        const ind__variant *v = &m->desc.plan->kernel->variant[variant];
        ind__tuning t[IND__MAX_TUNED];
        ind__variant out;
        const int num = ind__plan_candidates(&any->desc.plan->kernel->variant[other], t);
        ind_facts *before = ind_facts_enter(c, m->facts);
        for (int k = 0; k < num; k++) {
            const bool taken = is_taken(m, 0, variant, t[k].tile, &out);
            const bool keeps = t[k].tile.splits == 1 && t[k].tile.strategy == (int)v->strategy;
            CHECK(!taken || (keeps && !ind__ok(ind__tile_of(&out)->splits)), "%s", out.why);
            num_taken += taken, num_ignored += !taken;
        }
        (void)ind_facts_enter(c, before);
    }
    CHECK(num_taken > 5 && num_ignored > 5, "%d taken, %d ignored", num_taken, num_ignored);
    ind_context_destroy(c);
}

/* Each allocation of a plan with a forced configuration fails once. */
static void test_failing_allocations(void) {
    check_heap heap = {0};
    ind_context *c;
    ind_context_desc desc = {.allocator = {check_alloc, check_free, &heap}, .num_threads = 1};
    if (ind_context_create(&desc, &c)) return;
    ind_compile_desc d = {.emit_only = true};
    CHECK(!ind_target_named(c, "sm_90a", &d.target), "%s", ind_error(c));
    ind_module *m = compile(c, &products[DEEP], d);
    ind_facts *before = ind_facts_enter(c, m ? m->facts : NULL);
    const int variant = m ? ind__plan_likely(m->desc.plan->kernel) : 0;
    ind__tuning t[IND__MAX_TUNED];
    bool failed = true;
    int num_failed = 0;
    CHECK(m && ind__plan_candidates(&m->desc.plan->kernel->variant[variant], t) > 0, "no candidate");
    for (int n = 1; m && failed; n++) {
        ind__variant out;
        heap.fail_at = heap.calls + n;
        const ind_status status = ind__plan_tuned(m->desc.plan, 0, variant, t[0], &out);
        failed = heap.calls >= heap.fail_at;
        heap.fail_at = 0;
        num_failed += failed;
        CHECK(status == (failed ? IND_ERROR_OUT_OF_MEMORY : IND_OK), "allocation %d: %s", n, ind_status_text(status));
        CHECK(failed || ind__is_tuned(&out), "%s", out.why);
    }
    CHECK(num_failed > 3, "%d allocations", num_failed);
    (void)ind_facts_enter(c, before);
    ind_context_destroy(c);
    CHECK(!heap.live, "%ld blocks leak", heap.live);
}

/* ---- launches ---- */

/* As if ind_tune had found that to be the fastest for the variant. */
static void keep(ind_module *m, const ind__variant *v, ind__tuning found) {
    const ind_tuned result = {.first_us = 2, .us = 1};
    CHECK(!rt__tune_record(m, v, found, &result), "%s", ind_error(m->context));
}

/* A module that is compiled after the configuration was found has it, and computes the product. */
static void check_result(ind_context *c, ind_module *first, const product *p, ind__tuning found) {
    const ind_compile_desc cuda = {.device = IND_DEVICE_CUDA};
    const int likely = ind__plan_likely(first->desc.plan->kernel);
    keep(first, &first->desc.plan->kernel->variant[likely], found);
    ind_module *m = compile(c, p, cuda);
    const ind__variant *v = m ? &m->desc.plan->kernel->variant[likely] : NULL;
    CHECK(v && !memcmp(&v->tuned, &found, sizeof found) && same_tile(v, &found.tile), "%s", v ? v->why : p->text);
    const char *plan = m ? ind_module_text(m, IND_STAGE_PLAN) : NULL;
    CHECK(plan && strstr(plan, "; tuned: tile "), "%s", plan ? plan : "no plan");
    CHECK(runs(c, m, p), "%s: %s, %d splits, cluster %d", p->text, v ? v->why : "", found.tile.splits,
          found.tile.cluster);
    ind_module_destroy(m);
}

/* Each candidate, and the first one that can have a cluster of two blocks with one. */
static void test_results(ind_context *c, const product *p) {
    ind_module *first = compile(c, p, (ind_compile_desc){.device = IND_DEVICE_CUDA});
    if (!first) return;
    const int likely = ind__plan_likely(first->desc.plan->kernel);
    ind__tuning t[IND__MAX_TUNED];
    ind__variant out;
    const int num = ind__plan_candidates(&first->desc.plan->kernel->variant[likely], t);
    bool clusters = false;
    CHECK(num > 1, "%d candidates", num);
    CHECK(runs(c, first, p), "%s", p->text);
    for (int i = 0; i < num; i++) {
        check_result(c, first, p, t[i]);
        t[i].tile.splits = t[i].tile.cluster = 2;
        if (clusters || !is_taken(first, 0, likely, t[i].tile, &out)) continue;
        clusters = true;
        check_result(c, first, p, t[i]);
    }
    ind_module_destroy(first);
}

/* An instance and what its launch needs. Pointers: a, b, for two products b again, y. */
typedef struct bound {
    ind_instance *n;
    void *pointer[4];
    int num;
    char sizes[24];
    ind_launch_desc desc;
} bound;

static void bind(ind_context *c, ind_module *m, const product *p, bound *to) {
    *to = (bound){.num = 2 + p->variables};
    store(a, values[0], p->rows[0] * p->k, p->a);
    store(b, values[1], p->n * p->k, p->b);
    for (int i = 0; i < to->num; i++) {
        const bool output = i + 1 == to->num;
        CHECK(!ind_module_alloc(m, output ? sizeof y : sizeof a, &to->pointer[i]), "%s", ind_error(c));
        CHECK(output || !ind_module_upload(m, to->pointer[i], i ? b : a, sizeof a), "%s", ind_error(c));
    }
    snprintf(to->sizes, sizeof to->sizes, "M=%d", p->rows[0]);
    to->desc = (ind_launch_desc){.pointers = to->pointer, .sizes = to->sizes};
    CHECK(!ind_instance_create(m, NULL, &to->n), "%s", ind_error(c));
}

static void unbind(ind_module *m, bound *of) {
    ind_instance_destroy(of->n);
    for (int i = 0; i < of->num; i++) ind_module_free(m, of->pointer[i]);
}

/* Measures the product's kernel. The candidate that was launched last has computed the product, as does a launch. */
static int tune(ind_context *c, ind_module *m, const product *p, ind_tuned *tuned) {
    bound to;
    int num = -1;
    bind(c, m, p, &to);
    for (int i = 0; i < 2; i++) {
        ind_status status = i ? ind_launch(to.n, &to.desc) : ind_tune(to.n, &to.desc, 3, tuned, 1, &num);
        if (!status) status = ind_module_download(m, y, to.pointer[to.num - 1], sizeof y);
        CHECK(!status, "%s", ind_error(c));
        CHECK(is_exact(p, p->rows[0]), "%s%s", i ? "a launch after ind_tune: " : "", p->text);
        memset(y, 0xff, sizeof y);
        CHECK(!ind_module_upload(m, to.pointer[to.num - 1], y, sizeof y), "%s", ind_error(c));
    }
    unbind(m, &to);
    return num;
}

/* Some allocations of ind_tune fail: it says so, and the next call measures. */
static void test_failing_tune(const product *p) {
    check_heap heap = {0};
    ind_context *c;
    ind_context_desc desc = {.allocator = {check_alloc, check_free, &heap}, .num_threads = 1};
    bound to;
    if (ind_context_create(&desc, &c)) return;
    ind_module *m = compile(c, p, (ind_compile_desc){.device = IND_DEVICE_CUDA});
    if (m) bind(c, m, p, &to);
    long calls = heap.calls;
    CHECK(m && !ind_tune(to.n, &to.desc, 1, NULL, 0, NULL), "%s", ind_error(c)); /* compiles the candidates */
    for (int i = 0; i < 10 && m; i++) {
        ind_tuned tuned;
        int num = 0;
        if (i == 0) calls = heap.calls;
        heap.fail_at = i ? heap.calls + calls * i / 10 : 0;
        const ind_status status = ind_tune(to.n, &to.desc, 1, &tuned, 1, &num);
        if (i == 0) calls = heap.calls - calls;
        CHECK(status == (i ? IND_ERROR_OUT_OF_MEMORY : IND_OK), "allocation %ld of %ld: %s", calls * i / 10, calls,
              ind_status_text(status));
        CHECK(i || (num == 1 && tuned.num_tried > 0), "%d measured", num);
    }
    heap.fail_at = 0;
    if (m) {
        CHECK(!ind_tune(to.n, &to.desc, 1, NULL, 0, NULL), "%s", ind_error(c));
        unbind(m, &to);
    }
    ind_context_destroy(c);
    CHECK(!heap.live, "%ld blocks leak", heap.live);
}

/* Measured; then a result is taken by a later module, and in another context by way of the pack. */
static void test_tune(const product *p, const char *path) {
    ind_context *c, *other;
    ind_tuned tuned = {0};
    const ind_compile_desc cuda = {.device = IND_DEVICE_CUDA};
    if (ind_context_create(NULL, &c)) return;
    ind_module *m = compile(c, p, cuda);
    const int num = m ? tune(c, m, p, &tuned) : 0;
    CHECK(num == 1 && tuned.us > 0 && tuned.us <= tuned.first_us && tuned.num_tried <= IND__MAX_TUNED, "%d measured",
          num);
    CHECK(tuned.num_tried > 0 || tuned.first_us <= tuned.least_us * 1.02, "no candidate was measured");
    const int likely = m ? ind__plan_likely(m->desc.plan->kernel) : 0;
    ind__tuning t[IND__MAX_TUNED];
    const int candidates = m ? ind__plan_candidates(&m->desc.plan->kernel->variant[likely], t) : 0;
    if (candidates) keep(m, &m->desc.plan->kernel->variant[likely], t[candidates - 1]);
    ind_module *again = compile(c, p, cuda);
    CHECK(candidates && again && ind__is_tuned(&again->desc.plan->kernel->variant[likely]) && runs(c, again, p) &&
              !ind_pack_save(c, path),
          "%s", ind_error(c));
    if (again && !ind_context_create(&(ind_context_desc){.pack.path = path}, &other)) {
        ind_module *packed = compile(other, p, cuda);
        CHECK(packed && packed->desc.stats.num_from_pack == packed->desc.stats.num_sources &&
                  ind__same_source(&packed->desc.plan->kernel->variant[likely],
                                   &again->desc.plan->kernel->variant[likely]),
              "what was tuned is not in the pack");
        CHECK(runs(other, packed, p), "%s", p->text);
        ind_context_destroy(other);
    }
    ind_context_destroy(c);
}

int main(void) {
    char path[72];
    ind_context *c;
    seen all = {0}, invariant = {0};
    system_set("IND_EMULATION_SMS", "8");
    system_set("IND_EMULATION_CLUSTERS", "8");
    snprintf(path, sizeof path, "build/test_tune_products_%d.indpack", rt__process_id());
    fill();
    test_plans("sm_80", false, &all);
    test_plans("sm_90a", false, &all);
    test_plans("sm_100", false, &all);
    CHECK(all.candidates > 100 && all.splits > 10 && all.clusters > 10, "%d candidates, %d with splits, %d clusters",
          all.candidates, all.splits, all.clusters);
    CHECK(all.pairs > 2, "%d candidates in clusters of tiles", all.pairs);
    test_plans("sm_90a", true, &invariant);
    CHECK(invariant.candidates > 10 && !invariant.other_strategies, "%d candidates, %d of other templates",
          invariant.candidates, invariant.other_strategies);
    CHECK(all.other_strategies > 10, "%d candidates of other templates", all.other_strategies);
    test_batch_invariant();
    test_failing_allocations();
    if (ind_context_create(NULL, &c)) return 1;
    const bool gpu = !ind_device_open(c, IND_DEVICE_CUDA);
    for (int i = 0; i < NUM && gpu; i++) test_results(c, &products[i]);
    ind_context_destroy(c);
    for (int i = 0; i < NUM && gpu; i++)
        if (i == DEEP || i == SIMT || i == NUM - 1) test_tune(&products[i], path);
    if (gpu) test_failing_tune(&products[DEEP]);
    remove(path);
    return check_summary();
}
