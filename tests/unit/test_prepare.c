/* test_prepare.c - prepared constants: computed once for all instances, again after a constant was set, by each launch
   that binds constants of its own; memory, release, refused allocations, threads, captures. On the host device, and on
   the emulated GPU where it is built (build/emulated). The expected values are computed here. */
#define _POSIX_C_SOURCE 200809L
#include "inductor.h"

#include "check.h"
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define EMULATED_CUDA  "build/emulated/libcuda.so"
#define EMULATED_NVRTC "build/emulated/libnvrtc.so"

static check_heap heap;
static size_t largest; /* request since it was set to 0 */

static void *watched_alloc(size_t bytes, void *user) {
    largest = bytes > largest ? bytes : largest;
    return check_alloc(bytes, user);
}

static ind_context *open_context(ind_device device, bool watched) {
    ind_context_desc desc = {.device = device, .num_threads = 1};
    ind_context *c = NULL;
    if (watched) desc.allocator = (ind_allocator){watched_alloc, check_free, &heap};
    desc.cuda.library_path = device == IND_DEVICE_CUDA ? EMULATED_CUDA : NULL;
    desc.cuda.nvrtc_path = device == IND_DEVICE_CUDA ? EMULATED_NVRTC : NULL;
    if (ind_context_create(&desc, &c)) exit(1);
    return c;
}

static ind_module *compiled(ind_context *c, const char *text, const ind_compile_desc *desc) {
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(c, text, NULL);
    CHECK(g && !ind_compile(g, desc, &m), "%s", ind_error(c));
    if (!m) exit(check_summary());
    ind_graph_destroy(g);
    return m;
}

/* w and r are prepared. a, b and s are read by nothing else; k is. */
static const char text[] = "graph p {\n  size B in [1, 8]\n  input x : f32[B, 4]\n  const a : f32[2, 4]\n"
                           "  const b : f32[2, 4]\n  const s : f32[4]\n  const k : f32[4]\n"
                           "  w = cat([a, b], dim=0)\n  v = add(s, k)\n  r = sqrt(v)\n  y = linear(x, w)\n"
                           "  z = mul(y, r)\n  o = add(z, k)\n  output o\n}\n";
#define ROWS 3

typedef struct values {
    float x[ROWS * 4], a[8], b[8], s[4], k[4], o[ROWS * 4];
} values;

static void fill(values *v, int seed) {
    float *all = v->x;
    const int num = (int)(sizeof *v / sizeof(float));
    for (int i = 0; i < num; i++) all[i] = (float)((i * 7 + seed * 5) % 11) / 4 + 0.25f;
}

static double expected(const values *v, int row, int j) {
    double sum = 0;
    for (int i = 0; i < 4; i++) sum += (double)v->x[row * 4 + i] * (double)(j < 2 ? v->a : v->b - 8)[j * 4 + i];
    return sum * sqrt((double)v->s[j] + (double)v->k[j]) + (double)v->k[j];
}

static bool right(const values *v) {
    for (int i = 0; i < ROWS * 4; i++) {
        const double want = expected(v, i / 4, i % 4);
        if (!(fabs((double)v->o[i] - want) <= 1e-5 * (1 + fabs(want)))) return false;
    }
    return true;
}

static ind_status set(ind_module *m, const char *name, const void *data, size_t bytes) {
    return ind_module_constant(m, name, data, bytes, IND_MEMORY_HOST);
}

static void set_all(ind_module *m, const values *v) {
    const ind_status status[] = {set(m, "a", v->a, sizeof v->a), set(m, "b", v->b, sizeof v->b),
                                 set(m, "s", v->s, sizeof v->s), set(m, "k", v->k, sizeof v->k)};
    for (int i = 0; i < 4; i++) CHECK(!status[i], "constant %d: %s", i, ind_status_text(status[i]));
}

static ind_status launch(ind_instance *n, values *v) {
    const ind_binding io[] = {{"x", v->x, sizeof v->x}, {"o", v->o, sizeof v->o}};
    memset(v->o, 0, sizeof v->o);
    ind_status status = ind_launch(n, &(ind_launch_desc){.bindings = io, .num_bindings = 2, .sizes = "B=3"});
    return status ? status : ind_instance_check(n);
}

static ind_status run_bound(ind_module *m, values *v, ind_memory memory) {
    const ind_binding io[] = {{"x", v->x, 0}, {"a", v->a, 0}, {"b", v->b, 0},
                              {"s", v->s, 0}, {"k", v->k, 0}, {"o", v->o, 0}};
    memset(v->o, 0, sizeof v->o);
    return ind_run(m, &(ind_run_desc){.bindings = io, .num_bindings = 6, .sizes = "B=3", .memory = memory});
}

static int64_t prepared_bytes(const ind_module *m) {
    int64_t bytes = -1;
    (void)ind_expr_is_int(ind_module_prepared_bytes(m), &bytes);
    return bytes;
}

static int prepares(const ind_module *m) {
    return ind_module_query_stats(m).num_prepares;
}

/* The caller's bindings are those of the graph, whatever is prepared. */
static void test_bindings(ind_context *c) {
    ind_module *m = compiled(c, text, NULL), *p = ind_module_prepare_module(m);
    static const char *const name[] = {"x", "a", "b", "s", "k", "o"};
    static const bool only[] = {false, true, true, true, false, false};
    CHECK(ind_module_num_bindings(m) == 6, "%d bindings", ind_module_num_bindings(m));
    for (int i = 0; i < 6; i++) {
        const ind_binding_info *b = ind_module_query_binding(m, i);
        CHECK(b && !strcmp(b->name, name[i]) && b->prepare_only == only[i], "binding %d is %s", i,
              b ? b->name : "none");
    }
    CHECK(!ind_module_query_binding(m, 6), "there is a binding 6");
    const ind_module_stats stats = ind_module_query_stats(m);
    CHECK(stats.num_prepared == 2 && stats.num_prepare_kernels >= 1 && stats.num_kernels == 1 && !stats.num_prepares,
          "%d prepared by %d kernels, %d kernels, %d times", stats.num_prepared, stats.num_prepare_kernels,
          stats.num_kernels, stats.num_prepares);
    CHECK(p && ind_module_num_bindings(p) == 6, "the prepare module has 4 constants and 2 outputs");
    CHECK(p && ind_module_query_binding(p, 5)->kind == IND_BINDING_OUTPUT, "the last one is an output");
    float w[16] = {0};
    ind_run_desc run = {.bindings = &(ind_binding){"w", w, 0}, .num_bindings = 1, .sizes = "B=3"};
    CHECK(ind_run(m, &run) == IND_ERROR_NOT_FOUND, "a prepared constant is no binding of the caller");
    CHECK(ind_module_constant(m, "w", w, sizeof w, IND_MEMORY_HOST) == IND_ERROR_NOT_FOUND, "nor can it be set");
    ind_module_destroy(m);
}

static void test_once(ind_context *c) {
    ind_module *m = compiled(c, text, NULL);
    ind_instance *one = NULL, *two = NULL;
    values v, w;
    fill(&v, 1), fill(&w, 2);
    memcpy(w.a, v.a, sizeof w.a), memcpy(w.b, v.b, sizeof w.b), memcpy(w.s, v.s, sizeof w.s),
        memcpy(w.k, v.k, sizeof w.k);
    CHECK(!ind_instance_create(m, NULL, &one) && !ind_instance_create(m, NULL, &two), "%s", ind_error(c));
    CHECK(launch(one, &v) == IND_ERROR_INVALID_ARGUMENT && strstr(ind_instance_error(one), "constant \"a\""), "%s",
          ind_instance_error(one));
    set_all(m, &v);
    CHECK(prepares(m) == 0, "setting constants computes nothing");
    CHECK(!launch(one, &v) && right(&v), "%s", ind_instance_error(one));
    CHECK(prepares(m) == 1, "computed %d times", prepares(m));
    CHECK(!launch(one, &v) && right(&v) && !launch(two, &w) && right(&w), "%s", ind_instance_error(two));
    CHECK(!ind_module_prepare(m), "%s", ind_error(c));
    CHECK(prepares(m) == 1, "the second launch and the second instance compute none: %d", prepares(m));
    /* each constant set anew shows in the next result */
    float *changed[] = {v.a, v.b, v.s, v.k};
    static const char *const name[] = {"a", "b", "s", "k"};
    for (int i = 0; i < 4; i++) {
        for (int e = 0; e < (i < 2 ? 8 : 4); e++) changed[i][e] += 1.5f;
        CHECK(!set(m, name[i], changed[i], (size_t)(i < 2 ? 32 : 16)), "%s", ind_error(c));
        CHECK(!launch(i % 2 ? one : two, &v) && right(&v), "%s is changed: %s", name[i], ind_error(c));
        CHECK(prepares(m) == 2 + i, "computed %d times", prepares(m));
    }
    ind_instance_destroy(one);
    ind_module_destroy(m); /* with instance two */
}

/* The bytes of the formula are those allocated; the host device adds 255 to align them. */
static void test_memory(ind_context *c, ind_device device) {
    static const char big[] = "graph p {\n  input x : f32[8]\n  const a : f32[1000, 8]\n  const b : f32[999, 8]\n"
                              "  w = cat([a, b], dim=0)\n  y = mul(w, x)\n  t = exp(x)\n  o = sum(y, dim=[1])\n"
                              "  output o, t\n}\n";
    static float a[8000], b[8000], x[8], o[1999], t[8];
    ind_module *m = compiled(c, big, NULL);
    ind_instance *n = NULL;
    const int64_t bytes = prepared_bytes(m);
    CHECK(bytes == (1999 * 32 + 255) / 256 * 256, "%lld bytes", (long long)bytes);
    const ind_status status[] = {ind_module_constant(m, "a", a, 32000, IND_MEMORY_DEVICE),
                                 ind_module_constant(m, "b", b, 999 * 32, IND_MEMORY_DEVICE)};
    CHECK(!status[0] && !status[1], "%s", ind_error(c));
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    largest = 0;
    CHECK(!ind_module_prepare(m), "%s", ind_error(c));
    if (device == IND_DEVICE_HOST) CHECK(largest == (size_t)bytes + 255, "%zu bytes are allocated", largest);
    largest = 0;
    const ind_binding io[] = {{"x", x, 0}, {"o", o, 0}, {"t", t, 0}};
    CHECK(!ind_launch(n, &(ind_launch_desc){.bindings = io, .num_bindings = 3}), "%s", ind_instance_error(n));
    CHECK(!ind_instance_check(n) && largest < 32000, "a launch allocates %zu bytes", largest);
    ind_module_destroy(m);
}

/* Contents of constants that a launch binds may differ from launch to launch. */
static void test_bound_per_launch(ind_context *c, ind_memory memory) {
    ind_module *m = compiled(c, text, NULL);
    values v;
    for (int i = 0; i < 3; i++) {
        fill(&v, i);
        CHECK(!run_bound(m, &v, memory) && right(&v), "run %d: %s", i, ind_error(c));
    }
    CHECK(prepares(m) == 0, "nothing is computed for the module");
    ind_instance *n = NULL;
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    set_all(m, &v);
    CHECK(!launch(n, &v) && right(&v), "%s", ind_instance_error(n));
    values other;
    fill(&other, 9);
    memcpy(other.b, v.b, sizeof v.b), memcpy(other.s, v.s, sizeof v.s), memcpy(other.k, v.k, sizeof v.k);
    void *pointers[6] = {other.x, other.a, NULL, NULL, NULL, other.o}; /* the other constants are the module's */
    const ind_launch_desc d = {.pointers = pointers, .sizes = "B=3"};
    for (int i = 0; i < 3; i++) {
        other.a[3] += 2;
        memset(other.o, 0, sizeof other.o);
        if (i) ind_instance_constants_changed(n);
        CHECK(!ind_launch(n, &d) && !ind_instance_check(n), "%s", ind_instance_error(n));
        CHECK(right(&other), "launch %d with own constants", i);
    }
    other.a[3] += 2;
    CHECK(!ind_launch(n, &d) && !ind_instance_check(n) && !right(&other), "the same memory: computed again");
    other.s[1] += 1;
    CHECK(!set(m, "s", other.s, sizeof other.s) && !ind_launch(n, &d) && !ind_instance_check(n), "%s",
          ind_instance_error(n));
    CHECK(right(&other), "a constant of the module was set anew");
    CHECK(!set(m, "s", v.s, sizeof v.s), "%s", ind_error(c));
    CHECK(!launch(n, &v) && right(&v), "back to the module's constants: %s", ind_instance_error(n));
    CHECK(prepares(m) == 2, "computed %d times for the module", prepares(m));
    ind_module_destroy(m);
}

static void test_release(ind_context *c) {
    ind_module *m = compiled(c, text, NULL);
    values v;
    ind_instance *n = NULL;
    fill(&v, 4);
    CHECK(ind_module_release(m, "a") == IND_ERROR_INVALID_ARGUMENT, "nothing is set yet: %s", ind_error(c));
    set_all(m, &v);
    CHECK(ind_module_release(m, "k") == IND_ERROR_INVALID_ARGUMENT && strstr(ind_error(c), "kernels read it"), "%s",
          ind_error(c));
    CHECK(ind_module_release(m, "x") == IND_ERROR_NOT_FOUND && ind_module_release(m, "nil") == IND_ERROR_NOT_FOUND,
          "%s", ind_error(c));
    const long live = heap.live;
    CHECK(!ind_module_release(m, "a") && !ind_module_release(m, "b"), "%s", ind_error(c));
    const ind_device device = ind_module_query_stats(m).device;
    if (device == IND_DEVICE_HOST) CHECK(heap.live < live, "%ld blocks, %ld before", heap.live, live);
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    CHECK(!launch(n, &v) && right(&v), "the launch does not need them: %s", ind_instance_error(n));
    v.s[1] += 3;
    CHECK(!set(m, "s", v.s, sizeof v.s), "%s", ind_error(c));
    CHECK(launch(n, &v) == IND_ERROR_INVALID_ARGUMENT && strstr(ind_instance_error(n), "\"a\" f32[2, 4] was released"),
          "%s", ind_instance_error(n));
    CHECK(!set(m, "a", v.a, sizeof v.a) && !set(m, "b", v.b, sizeof v.b), "%s", ind_error(c));
    CHECK(!launch(n, &v) && right(&v), "set again: %s", ind_instance_error(n));
    ind_module_destroy(m);
}

/* A replay uses the module's memory: after a constant was set, it shows the new values. */
static void test_capture(ind_context *c, bool own) {
    ind_module *m = compiled(c, text, NULL);
    ind_instance *n = NULL;
    values v;
    fill(&v, 5);
    set_all(m, &v);
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    const ind_binding io[] = {{"x", v.x, 0}, {"o", v.o, 0}, {"a", v.a, 0}};
    const ind_launch_desc d = {.bindings = io, .num_bindings = own ? 3 : 2, .sizes = "B=3"};
    CHECK(!ind_capture(n, &d), "%s", ind_instance_error(n));
    CHECK(prepares(m) == !own, "computed %d times", prepares(m));
    for (int i = 0; i < 3; i++) {
        v.a[i] += 1;
        memset(v.o, 0, sizeof v.o);
        if (own)
            ind_instance_constants_changed(n);
        else
            CHECK(!set(m, "a", v.a, sizeof v.a), "%s", ind_error(c));
        CHECK(!ind_replay(n, NULL) && !ind_instance_check(n), "%s", ind_instance_error(n));
        CHECK(right(&v), "replay %d with %s constants", i, own ? "own" : "the module's");
    }
    v.s[1] += 1; /* a constant of the module, beside the one that the captured launch binds */
    memset(v.o, 0, sizeof v.o);
    CHECK(!set(m, "s", v.s, sizeof v.s) && !ind_replay(n, NULL) && !ind_instance_check(n), "%s", ind_instance_error(n));
    CHECK(right(&v), "a replay has the module's new constant");
    values other;
    memcpy(&other, &v, sizeof v);
    other.a[2] += 5;
    const ind_binding more[] = {{"x", other.x, 0}, {"o", other.o, 0}, {"a", other.a, 0}};
    const ind_launch_desc between = {.bindings = more, .num_bindings = 3, .sizes = "B=3"};
    CHECK(!ind_launch(n, &between) && !ind_instance_check(n) && right(&other), "%s", ind_instance_error(n));
    memset(v.o, 0, sizeof v.o);
    CHECK(!ind_replay(n, NULL) && !ind_instance_check(n) && right(&v), "a replay has the constants of its capture");
    ind_module_destroy(m);
}

static void test_off(ind_context *c) {
    const ind_compile_desc off[] = {{.disabled_passes = 1u << IND_PASS_PREPARE}, {.prepare.budget = -1}};
    values v;
    for (int i = 0; i < 2; i++) {
        ind_module *m = compiled(c, text, &off[i]);
        fill(&v, i);
        CHECK(!ind_module_prepare_module(m) && prepared_bytes(m) == 0 && !ind_module_prepare(m), "%s", ind_error(c));
        CHECK(!run_bound(m, &v, IND_MEMORY_HOST) && right(&v), "%s", ind_error(c));
        CHECK(ind_module_release(m, "a") == IND_ERROR_INVALID_ARGUMENT, "%s", ind_error(c));
        ind_module_destroy(m);
    }
    /* r has 16 bytes, w 64; each of them is a change */
    const ind_compile_desc some[] = {{.prepare.budget = 20}, {.max_changes = 1}};
    for (int i = 0; i < 2; i++) {
        ind_module *m = compiled(c, text, &some[i]);
        const ind_module_stats stats = ind_module_query_stats(m);
        CHECK(stats.num_prepared == 1 && stats.num_changes == 1, "%d prepared, %d changes", stats.num_prepared,
              stats.num_changes);
        CHECK(!run_bound(m, &v, IND_MEMORY_HOST) && right(&v), "%s", ind_error(c));
        ind_module_destroy(m);
    }
    CHECK(ind_module_prepare(NULL) == IND_ERROR_INVALID_ARGUMENT && !ind_module_prepare_module(NULL) &&
              ind_module_release(NULL, "a") == IND_ERROR_INVALID_ARGUMENT && !ind_module_prepared_bytes(NULL).id,
          "NULL is refused");
}

/* Sets all constants and launches; an error at most if an allocation was refused. */
static ind_status job(ind_module *m, values *v, bool own) {
    ind_instance *n = NULL;
    ind_status status = set(m, "a", v->a, sizeof v->a);
    if (!status) status = set(m, "b", v->b, sizeof v->b);
    if (!status) status = set(m, "s", v->s, sizeof v->s);
    if (!status) status = set(m, "k", v->k, sizeof v->k);
    if (!status && own) return run_bound(m, v, IND_MEMORY_HOST);
    if (!status) status = ind_instance_create(m, NULL, &n);
    if (!status) status = launch(n, v);
    ind_instance_destroy(n);
    return status;
}

/* Refuses each allocation of the job in turn. The module stays usable: the same job succeeds right after. */
static void test_refused(ind_context *c, bool own) {
    ind_module *m = compiled(c, text, NULL);
    values v;
    for (long refused = 1;; refused++) {
        fill(&v, (int)refused);
        heap.calls = 0, heap.fail_at = refused;
        const ind_status status = job(m, &v, own);
        const bool hit = heap.calls >= refused;
        heap.fail_at = 0;
        CHECK(!status || status == IND_ERROR_OUT_OF_MEMORY, "allocation %ld: %s", refused, ind_error(c));
        CHECK(status || right(&v), "allocation %ld: wrong result", refused);
        CHECK(!job(m, &v, own) && right(&v), "after refused allocation %ld: %s", refused, ind_error(c));
        if (!hit) break;
    }
    ind_module_destroy(m);
}

/* Refuses each allocation of a compile in turn. */
static void test_refused_compile(ind_context *c) {
    ind_graph *g = ind_graph_parse(c, text, NULL);
    CHECK(g != NULL, "%s", ind_error(c));
    for (long refused = 1, step = 1; g; refused += step) {
        ind_module *m = NULL;
        const long live = heap.live;
        heap.calls = 0, heap.fail_at = refused;
        const ind_status status = ind_compile(g, NULL, &m);
        const bool hit = heap.calls >= refused;
        heap.fail_at = 0;
        CHECK((status == IND_ERROR_OUT_OF_MEMORY) == !m && (!status || !m), "allocation %ld: %s", refused,
              ind_error(c));
        ind_module_destroy(m);
        CHECK(heap.live == live || !status, "allocation %ld: %ld blocks are left", refused, heap.live - live);
        if (!hit) break;
        step = refused > 200 ? 17 : 1;
    }
    ind_graph_destroy(g);
}

/* ---- threads */

typedef struct job_thread {
    ind_module *module;
    values v;
    int wrong;
} job_thread;

static void *launch_often(void *user) {
    job_thread *t = (job_thread *)user;
    ind_instance *n = NULL;
    t->wrong = ind_instance_create(t->module, NULL, &n) != IND_OK;
    for (int i = 0; i < 20 && n; i++) {
        const bool own = i % 5 == 4;
        t->v.x[i % 12] += 1;
        t->wrong += (own ? run_bound(t->module, &t->v, IND_MEMORY_HOST) : launch(n, &t->v)) || !right(&t->v);
    }
    ind_instance_destroy(n);
    return NULL;
}

static void test_threads(ind_device device) {
    ind_context *c = open_context(device, false);
    ind_module *m = compiled(c, text, NULL);
    job_thread t[4];
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) {
        t[i].module = m;
        fill(&t[i].v, 6);
    }
    for (int round = 1; round <= 3; round++) {
        set_all(m, &t[0].v);
        for (int i = 0; i < 4; i++) CHECK(!pthread_create(&thread[i], NULL, launch_often, &t[i]), "thread %d", i);
        for (int i = 0; i < 4; i++) {
            (void)pthread_join(thread[i], NULL);
            CHECK(!t[i].wrong, "thread %d: %d wrong", i, t[i].wrong);
        }
        CHECK(prepares(m) == round, "four threads prepare once: %d", prepares(m));
    }
    ind_context_destroy(c); /* with the module */
}

static void test_device(ind_device device) {
    ind_context *c = open_context(device, true);
    test_bindings(c);
    test_once(c);
    test_memory(c, device);
    test_bound_per_launch(c, IND_MEMORY_DEVICE);
    test_bound_per_launch(c, IND_MEMORY_HOST);
    test_release(c);
    test_capture(c, false);
    test_capture(c, true);
    test_off(c);
    test_refused(c, false);
    test_refused(c, true);
    if (device == IND_DEVICE_HOST) test_refused_compile(c);
    ind_module *last = compiled(c, text, NULL); /* freed by the context */
    CHECK(last != NULL, "%s", ind_error(c));
    ind_context_destroy(c);
    CHECK(heap.live == 0, "%ld blocks are left", heap.live);
    test_threads(device);
}

int main(void) {
    struct stat st;
    test_device(IND_DEVICE_HOST);
    if (!stat(EMULATED_CUDA, &st) && !stat(EMULATED_NVRTC, &st)) test_device(IND_DEVICE_CUDA);
    return check_summary();
}
