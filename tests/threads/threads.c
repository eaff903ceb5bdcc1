/* threads.c - eight threads use one context at once for SECONDS seconds: two compile in it, one in contexts of its own,
 * three run and launch finished modules, one makes calls that fail, one asks every query. Results and error messages
 * are those of a single thread. Built with ThreadSanitizer, which reports every data race
 * (tests/threads/test_threads.py).
 *
 *   threads [SECONDS] [DEVICE]     DEVICE: host (default) or cuda */
#define _POSIX_C_SOURCE 200809L
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS 6
#define MOST 4096 /* elements of any buffer here */
#define NUM  4

/* Modules with a symbolic size N, an input x f32[N, 8], in the last one indices too, and an output y. */
static const char *const texts[NUM] = {
    "graph soft {\n  size N in [1, 64] hint 6\n  input x : f32[N, 8]\n  y = softmax(x, dim=-1)\n  output y\n}\n",
    "graph mlp {\n  size N in [1, 64] hint 6\n  input x : f32[N, 8]\n  s = sum(x, dim=[1], keepdim=true)\n"
    "  t = transpose(x, 0, 1)\n  p = matmul(x, t)\n  y = div(p, s)\n  output y\n}\n",
    "graph order {\n  size N in [1, 64] hint 6\n  size M in [1, 128] hint 12\n  fact M == 2*N\n  input x : f32[N, 8]\n"
    "  input z : f32[M, 8]\n  c = cumsum(x, 0)\n  s, i = sort(c, 1)\n  q = cat([s, s], dim=0)\n  y = add(q, z)\n"
    "  output y\n}\n",
    "graph look {\n  size N in [1, 64] hint 6\n  input x : f32[N, 8]\n  input i : i64[N]\n  y = embedding(x, i)\n"
    "  output y\n}\n",
};

/* Of another size, so that what a compile declares differs from all that the others read. */
static const char other[] = "graph other {\n  size K in [%d, 200] hint %d\n  size P in [1, 4000]\n  fact P == 3*K\n"
                            "  input x : f32[K, 12]\n  n = layer_norm(x, normalized_shape=[12])\n"
                            "  g = gelu(n)\n  y = sum(g, dim=[0])\n  output y\n}\n";

static ind_context *shared;
static ind_module *module[NUM];
static float given[NUM][ROWS + 1][MOST], want[NUM][ROWS + 1][MOST]; /* by module and number of rows */
static float twice[MOST];
static int64_t rows_of[MOST];
static atomic_bool stop;
static atomic_long failures, work[8];
static ind_device device = IND_DEVICE_HOST;

#define EXPECT(condition, ...)                                                                                         \
    do {                                                                                                               \
        if (!(condition) && atomic_fetch_add(&failures, 1) < 20) {                                                     \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, "\n");                                                                                     \
        }                                                                                                              \
    } while (0)

static void sizes_text(char *out, size_t bytes, int rows) {
    snprintf(out, bytes, "N=%d", rows);
}

static int num_results(int m, int rows) {
    return m == 1 ? rows * rows : m == 2 ? 2 * rows * 8 : rows * 8;
}

static ind_status run(ind_module *m, int which, int rows, const float *x, float *y, const char *sizes) {
    ind_binding io[4] = {{"x", (void *)(uintptr_t)x}, {"y", y}};
    int num = 2;
    if (which == 2) io[num++] = (ind_binding){"z", twice};
    if (which == 3) io[num++] = (ind_binding){"i", rows_of};
    char text[32];
    sizes_text(text, sizeof text, rows);
    ind_run_desc d = {.bindings = io, .num_bindings = num, .sizes = sizes ? sizes : text, .memory = IND_MEMORY_HOST};
    return ind_run(m, &d);
}

static ind_module *compile(ind_context *c, const char *text) {
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(c, text, "threads");
    EXPECT(g, "%s", ind_error(c));
    ind_compile_desc d = {.device = device};
    if (g) EXPECT(!ind_compile(g, &d, &m), "%s", ind_error(c));
    ind_graph_destroy(g);
    return m;
}

/* ---- what the threads do */

static unsigned next(unsigned *seed) {
    return *seed = *seed * 1664525u + 1013904223u, *seed >> 8;
}

/* A new module; some have not been seen before. */
static void compile_one(ind_context *c, unsigned *seed) {
    const int which = (int)(next(seed) % (NUM + 1)), rows = 1 + (int)(next(seed) % ROWS);
    char text[512];
    static _Thread_local float y[MOST];
    snprintf(text, sizeof text, other, 1 + (int)(next(seed) % 50), 60 + (int)(next(seed) % 50));
    ind_module *m = compile(c, which < NUM ? texts[which] : text);
    if (m && which < NUM) {
        EXPECT(!run(m, which, rows, given[which][rows], y, NULL), "%s", ind_error(c));
        EXPECT(!memcmp(y, want[which][rows], (size_t)num_results(which, rows) * sizeof *y), "other results");
    }
    ind_module_destroy(m);
}

static void compile_here(unsigned *seed) {
    compile_one(shared, seed);
}

static void compile_apart(unsigned *seed) {
    ind_context *c;
    ind_context_desc d = {.device = device, .num_threads = 2};
    ind_status status = ind_context_create(&d, &c);
    EXPECT(!status, "no context");
    if (status) return;
    for (int k = 0; k < 3; k++) compile_one(c, seed);
    ind_context_destroy(c);
}

static void run_one(unsigned *seed) {
    const int which = (int)(next(seed) % NUM), rows = 1 + (int)(next(seed) % ROWS);
    static _Thread_local float y[MOST];
    EXPECT(!run(module[which], which, rows, given[which][rows], y, NULL), "%s", ind_error(shared));
    EXPECT(!memcmp(y, want[which][rows], (size_t)num_results(which, rows) * sizeof *y), "other results");
}

/* An instance, launched with sizes by number and pointers in order. */
static void launch_some(unsigned *seed) {
    static _Thread_local float y[MOST];
    ind_instance *n = NULL;
    void *x = NULL, *out = NULL;
    ind_module *m = module[0];
    EXPECT(!ind_instance_create(m, NULL, &n), "%s", ind_error(shared));
    EXPECT(!ind_module_alloc(m, sizeof y, &x) && !ind_module_alloc(m, sizeof y, &out), "%s", ind_error(shared));
    for (int k = 0; n && x && out && k < 20; k++) {
        const int64_t rows = 1 + next(seed) % ROWS;
        const size_t bytes = (size_t)rows * 8 * sizeof *y;
        void *const pointers[] = {x, out};
        ind_launch_desc d = {.pointers = pointers, .sizes_v = &rows};
        EXPECT(!ind_module_upload(m, x, given[0][rows], bytes), "%s", ind_error(shared));
        EXPECT(!ind_launch(n, &d) && !ind_instance_check(n), "%s", ind_instance_error(n));
        EXPECT(!ind_module_download(m, y, out, bytes), "%s", ind_error(shared));
        EXPECT(!memcmp(y, want[0][rows], bytes), "other results");
    }
    ind_module_free(m, x);
    ind_module_free(m, out);
    ind_instance_destroy(n);
}

/* The message is this thread's, whatever the others do. */
static void expect_error(ind_status got, ind_status status, const char *part) {
    EXPECT(got == status, "%s, not %s", ind_status_text(got), ind_status_text(status));
    EXPECT(ind_error_status(shared) == status, "%s, not %s", ind_status_text(ind_error_status(shared)),
           ind_status_text(status));
    EXPECT(strstr(ind_error(shared), part), "\"%s\" without \"%s\"", ind_error(shared), part);
}

static void fail_all(unsigned *seed) {
    static _Thread_local float y[MOST];
    static _Thread_local int64_t bad[MOST];
    char sizes[32], part[64];
    const int rows = 65 + (int)(next(seed) % 900);
    snprintf(sizes, sizeof sizes, "N=%d", rows);
    snprintf(part, sizeof part, "N = %d is outside [1, 64]", rows);
    expect_error(run(module[0], 0, 1, given[0][1], y, sizes), IND_ERROR_OUT_OF_RANGE, part);
    expect_error(run(module[2], 2, 1, given[2][1], y, "N=3, M=7"), IND_ERROR_OUT_OF_RANGE,
                 "fact M == 2*N does not hold");
    expect_error(run(module[1], 1, 1, given[1][1], y, "Q=3"), IND_ERROR_NOT_FOUND, "no size \"Q\"");
    bad[0] = rows;
    ind_binding io[] = {{"x", given[3][1]}, {"i", bad}, {"y", y}};
    ind_run_desc d = {.bindings = io, .num_bindings = 3, .sizes = "N=1", .memory = IND_MEMORY_HOST};
    snprintf(part, sizeof part, "index %d is outside [0, 1)", rows);
    expect_error(ind_run(module[3], &d), IND_ERROR_INDEX_OUT_OF_RANGE, part);
    d.num_bindings = 2;
    expect_error(ind_run(module[3], &d), IND_ERROR_INVALID_ARGUMENT, "output \"y\"");
    ind_graph *g =
        ind_graph_parse(shared, "graph bad {\n  input x : f32[2, 3]\n  y = matmul(x, x)\n  output y\n}\n", "bad");
    EXPECT(!g && strstr(ind_error(shared), "matmul"), "%s", ind_error(shared));
    int64_t v;
    expect_error(ind_formula_eval(module[0], ind_module_workspace(module[0]), "N=99", &v), IND_ERROR_OUT_OF_RANGE,
                 "N = 99");
}

static void ask_module(ind_module *m, int rows) {
    char sizes[32], text[256];
    int64_t value = 0, lo = 0, hi = 0;
    sizes_text(sizes, sizeof sizes, rows);
    ind_verdict v = ind_would_compile(m, sizes);
    EXPECT(v.ready == IND_READY, "%s", v.reason);
    EXPECT(ind_would_compile(m, "N=77").ready == IND_OUTSIDE, "77 rows");
    ind_formula bytes = ind_module_bytes_read(m), work_of = ind_module_flops(m);
    EXPECT(ind_expr_print(bytes, text, sizeof text) && text[0] != '<', "%s", text);
    EXPECT(!ind_formula_eval(m, bytes, sizes, &value) && value > 0, "%s", ind_error(shared));
    EXPECT(!ind_formula_bounds(m, work_of, &lo, &hi) && lo >= 0 && lo <= hi, "%s", ind_error(shared));
    EXPECT(ind_formula_solve(m, bytes, "N", "", value) == rows, "%s", ind_error(shared));
    ind_evaluator *e = NULL;
    EXPECT(!ind_evaluator_create(m, &bytes, 1, &e), "%s", ind_error(shared));
    const int64_t n[] = {rows, 2 * rows};
    EXPECT(!ind_evaluator_run(e, n, &lo) && lo == value, "%s", ind_error(shared));
    ind_evaluator_destroy(e);
    int64_t shape[8];
    EXPECT(!ind_module_shape(m, ind_module_num_bindings(m) - 1, sizes, NULL, shape), "%s", ind_error(shared));
    for (int stage = IND_STAGE_GRAPH; stage <= IND_STAGE_CUDA; stage++)
        EXPECT(ind_module_text(m, (ind_stage)stage), "%s", ind_error(shared));
    EXPECT(ind_module_json(m, IND_STAGE_SCHEDULE) && ind_module_json(m, IND_STAGE_PLAN), "%s", ind_error(shared));
    for (int k = 0; k < ind_module_num_kernels(m); k++) {
        ind_kernel_info info;
        const char *tensor;
        EXPECT(!ind_module_query_kernel(m, k, &info), "%s", ind_error(shared));
        EXPECT(ind_module_kernel_buffer(m, k, 0, &tensor), "%s", ind_error(shared));
    }
    ind_edge_info edge;
    if (ind_module_num_edges(m)) EXPECT(!ind_module_query_edge(m, 0, &edge), "%s", ind_error(shared));
    EXPECT(ind_module_html(m, sizes), "%s", ind_error(shared));
    ind_graph *g = ind_module_kernel_graph(m, 0);
    EXPECT(g && ind_graph_text(g), "%s", ind_error(shared));
    ind_graph_destroy(g);
    (void)ind_module_query_stats(m);
}

/* Modules of this thread's own, whose texts are made anew, and the shared ones, in the context that others compile in.
 */
static void ask(unsigned *seed) {
    ask_module(module[next(seed) % NUM], 1 + (int)(next(seed) % ROWS));
    ind_module *m = compile(shared, texts[next(seed) % NUM]);
    if (m) ask_module(m, 1 + (int)(next(seed) % ROWS));
    ind_module_destroy(m);
    EXPECT(ind_device_text(shared), "no device text");
}

static void (*const jobs[8])(unsigned *) = {compile_here, compile_here, compile_apart, run_one,
                                            run_one,      launch_some,  fail_all,      ask};

static void *thread(void *arg) {
    const int which = (int)(intptr_t)arg;
    unsigned seed = (unsigned)which * 7919 + 1;
    while (!atomic_load(&stop)) {
        jobs[which](&seed);
        atomic_fetch_add(&work[which], 1);
    }
    return NULL;
}

static void prepare(void) {
    for (int k = 0; k < MOST; k++) {
        twice[k] = (float)(k % 13) / 7;
        rows_of[k] = 0;
    }
    for (int w = 0; w < NUM; w++) {
        module[w] = compile(shared, texts[w]);
        for (int rows = 1; module[w] && rows <= ROWS; rows++) {
            for (int k = 0; k < MOST; k++) given[w][rows][k] = (float)((k * 37 + w * 11 + rows * 5) % 23) / 11 + 0.25f;
            EXPECT(!run(module[w], w, rows, given[w][rows], want[w][rows], NULL), "%s", ind_error(shared));
        }
    }
}

int main(int argc, char **argv) {
    const int seconds = argc > 1 ? atoi(argv[1]) : 5;
    if (argc > 2 && !strcmp(argv[2], "cuda")) device = IND_DEVICE_CUDA;
    ind_context_desc d = {.device = device, .num_threads = 3};
    if (ind_context_create(&d, &shared)) return 1;
    prepare();
    pthread_t t[8];
    int started = 0;
    for (int i = 0; i < 8 && !atomic_load(&failures); i++)
        started += !pthread_create(&t[i], NULL, thread, (void *)(intptr_t)i);
    struct timespec nap = {seconds, 0};
    if (started == 8) nanosleep(&nap, NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < started; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 8; i++) EXPECT(atomic_load(&work[i]), "thread %d did nothing", i);
    printf("rounds:");
    for (int i = 0; i < 8; i++) printf(" %ld", atomic_load(&work[i]));
    printf("; %ld failures\n", atomic_load(&failures));
    ind_context_destroy(shared);
    return atomic_load(&failures) != 0;
}
