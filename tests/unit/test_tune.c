/* Kernels made in other ways than the formulas choose, on a GPU or the emulation of one (IND_DEVICE=cuda): with other
   numbers of threads, with the fallbacks for builds that spill, with other numbers of vectors or rows in flight. Each
   computes what the first choice does, also at sizes that it was not measured at; what ind_tune has found is taken by
   later modules and travels in a kernel pack. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#include "inductor.h"

#include "check.h"
#include "system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 32000 /* elements of a binding */

static const char *const texts[] = {
    "graph pointwise {\n  size N in [1, 6000]\n  input x : f32[N]\n  y = gelu(x)\n  output y\n}\n",
    "graph warps {\n  size N in [1, 60]\n  input x : f32[N, 100]\n  y = softmax(x, dim=-1)\n  output y\n}\n",
    "graph blocks {\n  size N in [1, 2]\n  input x : f32[N, 3000]\n  y = softmax(x, dim=-1)\n  output y\n}\n",
    "graph looped {\n  size N in [1, 2999]\n  input x : f32[2, N]\n  m = mean(x, dim=[1], keepdim=true)\n  y = sub(x, "
    "m)\n  output y\n}\n",
    "graph batched {\n  size N in [1, 100000000] hint 1000000\n  input x : f32[N, 8]\n  y = softmax(x, dim=-1)\n  "
    "output "
    "y\n}\n",
    "graph gathered {\n  size N in [1, 100000000] hint 2000000\n  input x : f32[N, 12]\n  i = arange(0, N)\n  j = "
    "remainder(i, 5)\n  y = index_select(x, 0, j)\n  output y\n}\n",
    "graph blocks_long {\n  size N in [1, 2]\n  input x : f32[N, 8000]\n  y = softmax(x, dim=-1)\n  output y\n}\n",
    "graph staged {\n  size N in [1, 4096] hint 2048\n  input x : f32[N, 28000]\n  y = softmax(x, dim=-1)\n  output "
    "y\n}\n",
    "graph columns {\n  size N in [1, 150]\n  input x : f32[N, 40]\n  y = softmax(x, dim=0)\n  output y\n}\n",
    "graph chain {\n  size N in [1, 150]\n  input x : f32[N, 40]\n  s = sum(x, dim=[0], keepdim=true)\n  y = sub(x, "
    "s)\n  output y\n}\n",
};
enum { NUM_TEXTS = sizeof texts / sizeof *texts };
enum { BLOCKS = 6, STAGED = 7 }; /* texts */
/* Sizes to tune at and others; and what each can be made with: other threads, ways, numbers together. */
enum { THREADS = 1, WAYS = 2, TOGETHER = 4 };
static const struct {
    const char *sizes[2];
    int kinds;
} tests[NUM_TEXTS] = {
    {{"N=6000", "N=37"}, THREADS},    {{"N=60", "N=7"}, THREADS | TOGETHER},
    {{"N=2", "N=1"}, THREADS},        {{"N=2999", "N=70"}, THREADS},
    {{"N=700", "N=3"}, TOGETHER},     {{"N=500", "N=7"}, THREADS | TOGETHER},
    {{"N=2", "N=1"}, WAYS | THREADS}, {{"N=1", "N=1"}, WAYS},
    {{"N=150", "N=3"}, THREADS},      {{"N=150", "N=3"}, THREADS},
};

static float x[MOST], y[MOST], wanted[MOST];

static ind_module *compile(ind_context *c, const char *text, ind_device device) {
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(c, text, NULL);
    CHECK(g && !ind_compile(g, &(ind_compile_desc){.device = device}, &m), "%s", ind_error(c));
    ind_graph_destroy(g);
    return m;
}

static bool run(ind_context *c, ind_module *m, const char *at, float *out) {
    const ind_binding io[] = {{"x", x}, {"y", out}};
    memset(out, 0xff, sizeof y);
    ind_status status =
        ind_run(m, &(ind_run_desc){.bindings = io, .num_bindings = 2, .sizes = at, .memory = IND_MEMORY_HOST});
    CHECK(!status, "%s", ind_error(c));
    return !status;
}

/* Rows are summed in another order than on the host. */
static bool as_on_host(ind_context *c, int text, ind_module *m) {
    ind_module *host = compile(c, texts[text], IND_DEVICE_HOST);
    bool same = host && m;
    for (int s = 0; s < 2 && same; s++) {
        same = run(c, host, tests[text].sizes[s], wanted) && run(c, m, tests[text].sizes[s], y);
        for (int i = 0; i < MOST && same; i++)
            same = isnan(wanted[i]) ? isnan(y[i]) : fabsf(y[i] - wanted[i]) <= 1e-4f * (1 + fabsf(wanted[i]));
    }
    ind_module_destroy(host);
    return same;
}

/* As if ind_tune had found that to be the fastest for the variant. */
static void keep(ind_module *m, const ind__variant *v, ind__tuning found) {
    const ind_tuned result = {.first_us = 2, .us = 1};
    CHECK(!rt__tune_record(m, v, found, &result), "%s", ind_error(m->context));
}

static int kind_of(ind__tuning t) {
    return (t.threads ? THREADS : 0) | (t.alternative ? WAYS : 0) | (t.together ? TOGETHER : 0);
}

static void test_candidates(ind_context *c, int text) {
    ind_module *first = compile(c, texts[text], IND_DEVICE_CUDA);
    int num_taken = 0, kinds = 0;
    for (uint32_t k = 0; first && k < first->desc.plan->num_kernels; k++) {
        const ind__variant *v = &first->desc.plan->kernel[k].variant[0];
        ind__tuning candidate[IND__MAX_TUNED];
        const int num = ind__plan_candidates(v, candidate);
        for (int i = 0; i < num; i++) {
            const int kind = kind_of(candidate[i]);
            if (i > 0 && i + 1 < num && kind_of(candidate[i - 1]) == kind && kind_of(candidate[i + 1]) == kind)
                continue; /* the first and the last of each kind */
            keep(first, v, candidate[i]);
            ind_module *m = compile(c, texts[text], IND_DEVICE_CUDA);
            const ind__variant *now = m ? &m->desc.plan->kernel[k].variant[0] : v;
            const bool taken = !memcmp(&now->tuned, &candidate[i], sizeof now->tuned);
            num_taken += taken;
            if (taken) kinds |= kind;
            CHECK(taken || !ind__is_tuned(now), "%s", now->why);
            CHECK(!taken || (strstr(now->why, "tuned: ") && !ind__same_source(now, v)), "%s", now->why);
            CHECK(!now->tuned.threads || now->threads == candidate[i].threads, "%d threads", now->threads);
            CHECK(as_on_host(c, text, m), "%s with %d threads, way %d, %d together", texts[text], candidate[i].threads,
                  candidate[i].alternative, candidate[i].together);
            ind_module_destroy(m);
        }
    }
    CHECK(num_taken >= 2 && kinds == tests[text].kinds, "%s: %d other ways, of kinds %d", texts[text], num_taken,
          kinds);
    ind_module_destroy(first);
}

/* Measured; whatever comes out must be sensible, and the same afterwards in another context by way of the pack. */
static void test_tune(int text, const char *path) {
    ind_context *c, *other;
    ind_tuned tuned[4];
    ind_instance *n = NULL;
    int num = -1;
    if (ind_context_create(NULL, &c)) return;
    ind_module *m = compile(c, texts[text], IND_DEVICE_CUDA);
    void *pointer[2] = {NULL, NULL};
    CHECK(m && !ind_module_alloc(m, sizeof x, &pointer[0]) && !ind_module_alloc(m, sizeof y, &pointer[1]) &&
              !ind_module_upload(m, pointer[0], x, sizeof x) && !ind_instance_create(m, NULL, &n),
          "%s", ind_error(c));
    const ind_launch_desc desc = {.pointers = pointer, .sizes = tests[text].sizes[0]};
    CHECK(ind_tune(n, &desc, 0, NULL, 0, &num) == IND_ERROR_INVALID_ARGUMENT && num == 0, "no repeats");
    CHECK(!ind_tune(n, &desc, 3, tuned, 4, &num), "%s", ind_error(c));
    CHECK(num == (int)m->desc.plan->num_launches, "%d kernels measured", num);
    for (int i = 0; i < num && i < 4; i++)
        CHECK(tuned[i].us <= tuned[i].first_us && tuned[i].us > 0 && tuned[i].least_us >= 1 &&
                  tuned[i].num_tried <= IND__MAX_TUNED &&
                  !strstr(tuned[i].why, "tuned: ") == (tuned[i].us == tuned[i].first_us),
              "%s: %f us with %d threads, %f with %d", tuned[i].name, tuned[i].first_us, tuned[i].first_threads,
              tuned[i].us, tuned[i].threads);
    const int last = (int)m->desc.plan->num_kernels - 1;
    const ind__variant *v = &m->desc.plan->kernel[last].variant[0];
    ind__tuning candidate[IND__MAX_TUNED];
    const int candidates = ind__plan_candidates(v, candidate);
    keep(m, v, candidate[candidates - 1]);
    ind_module *again = compile(c, texts[text], IND_DEVICE_CUDA);
    CHECK(candidates && again && ind__is_tuned(&again->desc.plan->kernel[last].variant[0]) && !ind_pack_save(c, path),
          "%s", ind_error(c));
    if (!ind_context_create(&(ind_context_desc){.pack.path = path}, &other)) {
        ind_module *packed = compile(other, texts[text], IND_DEVICE_CUDA);
        CHECK(packed && packed->desc.stats.num_from_pack == packed->desc.stats.num_sources &&
                  ind__same_source(&packed->desc.plan->kernel[last].variant[0],
                                   &again->desc.plan->kernel[last].variant[0]),
              "what was tuned is not in the pack");
        CHECK(as_on_host(other, text, packed), "%s", texts[text]);
        ind_context_destroy(other);
    }
    for (int i = 0; i < 2 && m; i++) ind_module_free(m, pointer[i]);
    ind_context_destroy(c);
}

/* The last result in the pack with one bit changed, or half of it cut away: the formulas' choice is taken. */
static void test_damaged(int text, const char *path, const char *damaged) {
    ind_context *c;
    char *data;
    size_t bytes;
    if (ind_context_create(NULL, &c)) return;
    CHECK(!ind__read_file(c, path, &data, &bytes), "%s", ind_error(c));
    for (int cut = 0; cut < 2; cut++) {
        ind_context *other;
        data[bytes - sizeof(rt__tuned) + offsetof(rt__tuned, choice)] ^= 1;
        CHECK(!ind__write_file(c, damaged, data, bytes - (cut ? sizeof(rt__tuned) / 2 : 0)), "%s", ind_error(c));
        if (ind_context_create(&(ind_context_desc){.pack.path = damaged}, &other)) continue;
        ind_module *m = compile(other, texts[text], IND_DEVICE_CUDA);
        CHECK(m && !ind__is_tuned(&m->desc.plan->kernel[0].variant[0]) && as_on_host(other, text, m),
              "a damaged result is taken");
        ind_context_destroy(other);
    }
    ind__free(c, data);
    ind_context_destroy(c);
}

/* What is found for a kernel that was built in place of one that spills (the emulation says that this one does) is
   taken, though the plan has the other one first. */
static void test_replaced(void) {
    ind_context *c;
    system_set("IND_EMULATION_SPILLS", "__launch_bounds__(512, 2)");
    if (ind_context_create(NULL, &c)) return;
    ind_module *m = compile(c, texts[BLOCKS], IND_DEVICE_CUDA), *again;
    const ind__variant *v = m ? &m->desc.plan->kernel[0].variant[0] : NULL;
    ind__tuning candidate[IND__MAX_TUNED];
    CHECK(v && ind__plan_candidates(v, candidate), "no other way");
    if (v) keep(m, v, candidate[0]);
    again = compile(c, texts[BLOCKS], IND_DEVICE_CUDA);
    CHECK(again && again->desc.plan->kernel[0].variant[0].tuned.threads == candidate[0].threads, "not tuned");
    CHECK(as_on_host(c, BLOCKS, again), "%s", texts[BLOCKS]);
    system_set("IND_EMULATION_SPILLS", NULL);
    ind_context_destroy(c);
}

static void test_host(void) {
    ind_context *c;
    ind_instance *n = NULL;
    if (ind_context_create(NULL, &c)) return;
    ind_module *m = compile(c, texts[0], IND_DEVICE_HOST);
    CHECK(m && !ind_instance_create(m, NULL, &n) &&
              ind_tune(n, &(ind_launch_desc){0}, 3, NULL, 0, NULL) == IND_ERROR_NOT_SUPPORTED,
          "host");
    CHECK(ind_tune(NULL, &(ind_launch_desc){0}, 3, NULL, 0, NULL) == IND_ERROR_INVALID_ARGUMENT, "no instance");
    ind_context_destroy(c);
}

int main(void) {
    char path[64], damaged[80];
    ind_context *c;
    snprintf(path, sizeof path, "build/test_tune_%d.indpack", rt__process_id()); /* tests run side by side */
    snprintf(damaged, sizeof damaged, "%s.damaged", path);
    for (int i = 0; i < MOST; i++) x[i] = (float)(i * 7 % 31 - 15) / 8;
    test_host();
    if (ind_context_create(NULL, &c)) return 1;
    bool gpu = !ind_device_open(c, IND_DEVICE_CUDA);
    for (int i = 0; i < NUM_TEXTS && gpu; i++) test_candidates(c, i);
    ind_context_destroy(c);
    if (gpu) test_tune(0, path);
    if (gpu) test_damaged(0, path, damaged);
    if (gpu) test_tune(STAGED, path);
    if (gpu) test_replaced();
    if (gpu) test_tune(NUM_TEXTS - 1, path);
    remove(path);
    remove(damaged);
    return check_summary();
}
