/* test_cublaslt.c - products by cuBLASLt, as the emulation has it: other sizes, a captured graph; how often it is
 * asked for an algorithm; every call of it, and every allocation, fails in turn. Each time a status with a message, or the right result;
 * afterwards no object of it and no host memory is left. Skipped where the emulation is not built. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "inductor.h"

#include "../unit/check.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#define CUDA_LIBRARY     "build/emulated/libcuda.so"
#define NVRTC_LIBRARY    "build/emulated/libnvrtc.so"
#define CUBLASLT_LIBRARY "build/emulated/libcublasLt.so"
#define LOG              "build/test_cublaslt.log"

/* Places in the array of ind_emulation_stats (tests/emulated/support.h). */
enum { STAT_BYTES = 1, STAT_OBJECTS = 4, STAT_COUNT = 16 };
enum { MOST = 6, DEPTH = 32, COLUMNS = 24, RESULTS = 2 * MOST * COLUMNS };

typedef struct emulation {
    void (*fail)(const char *spec);
    void (*stats)(unsigned long long out[STAT_COUNT]);
} emulation;

static bool open_emulation(const char *path, emulation *e) {
    void *library = dlopen(path, RTLD_NOW);
    void *fail = library ? dlsym(library, "ind_emulation_fail") : NULL, *stats = library ? dlsym(library, "ind_emulation_stats") : NULL;
    memcpy(&e->fail, &fail, sizeof fail);
    memcpy(&e->stats, &stats, sizeof stats);
    return fail && stats;
}

static const char text[] = "graph g {\n  size B in [1, 6]\n  input x : f32[B, 2, 32]\n  const w : f32[24, 32]\n  const b : f32[24]\n"
                           "  h = linear(x, w, b)\n  y = relu(h)\n  output y\n}\n";
static float x[2 * MOST * DEPTH], w[COLUMNS * DEPTH], b[COLUMNS];

static void expect(int rows, float *y) {
    for (int i = 0; i < 2 * rows; i++)
        for (int n = 0; n < COLUMNS; n++) {
            double sum = b[n];
            for (int k = 0; k < DEPTH; k++) sum += (double)x[i * DEPTH + k] * (double)w[n * DEPTH + k];
            y[i * COLUMNS + n] = sum > 0 ? (float)sum : 0;
        }
}

static bool right(const float *y, int rows) {
    float want[RESULTS];
    bool same = true;
    expect(rows, want);
    for (int i = 0; i < 2 * rows * COLUMNS; i++) same = same && fabsf(y[i] - want[i]) < 1e-5f;
    return same;
}

static ind_status run_once(ind_module *m, int rows, float *y) {
    char sizes[16];
    snprintf(sizes, sizeof sizes, "B=%d", rows);
    ind_binding io[] = {{"x", x}, {"y", y}};
    ind_run_desc desc = {.bindings = io, .num_bindings = 2, .sizes = sizes, .memory = IND_MEMORY_HOST};
    return ind_run(m, &desc);
}

/* A launch, then the same captured and replayed twice. */
static ind_status replay(ind_module *m, ind_instance *n, float *y) {
    void *memory[2] = {NULL, NULL};
    ind_status status = ind_module_alloc(m, sizeof x, &memory[0]);
    if (!status) status = ind_module_alloc(m, RESULTS * sizeof *y, &memory[1]);
    if (!status) status = ind_module_upload(m, memory[0], x, sizeof x);
    ind_binding io[] = {{"x", memory[0]}, {"y", memory[1]}};
    ind_launch_desc desc = {.bindings = io, .num_bindings = 2, .sizes = "B=3"};
    if (!status) status = ind_launch(n, &desc);
    if (!status) status = ind_capture(n, &desc);
    if (!status) status = ind_replay(n, NULL);
    if (!status) status = ind_replay(n, NULL);
    if (!status) status = ind_instance_check(n);
    if (!status) status = ind_module_download(m, y, memory[1], RESULTS * sizeof *y);
    for (int i = 0; i < 2; i++) ind_module_free(m, memory[i]);
    return status;
}

/* Results of B=3, of B=6, and of the replay. */
static ind_status job(check_heap *heap, float y[3][RESULTS]) {
    ind_context *ctx;
    ind_module *m = NULL;
    ind_instance *n = NULL;
    ind_context_desc desc = {.allocator = {check_alloc, check_free, heap}, .device = IND_DEVICE_CUDA, .num_threads = 1};
    desc.cuda.library_path = CUDA_LIBRARY;
    desc.cuda.nvrtc_path = NVRTC_LIBRARY;
    desc.cuda.cublaslt_path = CUBLASLT_LIBRARY;
    ind_status status = ind_context_create(&desc, &ctx);
    if (status) return status;
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    ind_compile_desc compile = {.cublaslt = true};
    status = g ? ind_compile(g, &compile, &m) : IND_ERROR_OUT_OF_MEMORY;
    if (!status) status = ind_module_constant(m, "w", w, sizeof w, IND_MEMORY_HOST);
    if (!status) status = ind_module_constant(m, "b", b, sizeof b, IND_MEMORY_HOST);
    if (!status) status = run_once(m, 3, y[0]);
    if (!status) status = run_once(m, MOST, y[1]);
    if (!status) status = ind_instance_create(m, NULL, &n);
    if (!status) status = replay(m, n, y[2]);
    CHECK(!status || *ind_error(ctx) || (n && *ind_instance_error(n)), "%s without a message", ind_status_text(status));
    ind_context_destroy(ctx);
    return status;
}

/* Returns whether the job failed. */
static bool try_job(const emulation *lt, const emulation *cuda, long fail_at, const char *what, int at) {
    float y[3][RESULTS];
    unsigned long long left[STAT_COUNT] = {0};
    check_heap heap = {.fail_at = fail_at};
    const ind_status status = job(&heap, y);
    lt->fail("");
    CHECK(!heap.live, "%s %d fails: %ld blocks of host memory leak", what, at, heap.live);
    lt->stats(left);
    CHECK(!left[STAT_OBJECTS], "%s %d fails: %llu objects of cuBLASLt left", what, at, left[STAT_OBJECTS]);
    cuda->stats(left);
    CHECK(!left[STAT_BYTES] && !left[STAT_OBJECTS], "%s %d fails: %llu bytes, %llu objects left", what, at, left[STAT_BYTES],
          left[STAT_OBJECTS]);
    const bool same = status || (right(y[0], 3) && right(y[1], MOST) && right(y[2], 3));
    CHECK(same, "%s %d fails unseen, and the results differ", what, at);
    CHECK(!fail_at || !status || status == IND_ERROR_OUT_OF_MEMORY, "%s %d: %s", what, at, ind_status_text(status));
    return status != IND_OK;
}

static void every_call(const emulation *lt, const emulation *cuda) {
    int at = 1, survived = 0, failed = 0;
    for (; at < 500 && survived < 40; at++) {
        char spec[32];
        snprintf(spec, sizeof spec, "any:%d", at);
        lt->fail(spec);
        const bool fails = try_job(lt, cuda, 0, "call", at);
        survived = fails ? 0 : survived + 1;
        failed += fails;
    }
    CHECK(at < 500 && failed > 20, "%d of %d calls fail", failed, at);
}

/* Every 7th allocation: all of them are a matter of minutes. */
static void allocations(const emulation *lt, const emulation *cuda) {
    int failed = 0;
    float y[3][RESULTS];
    check_heap heap = {0};
    CHECK(!job(&heap, y), "runs");
    for (long at = 1; at < heap.calls; at += 7) failed += try_job(lt, cuda, at, "allocation", (int)at);
    CHECK(failed > 20, "%d jobs fail of %ld allocations", failed, heap.calls);
}

/* A status of cuBLAS becomes a status and a message with its number and name. */
static void statuses(const emulation *lt) {
    static const struct {
        const char *spec, *say;
        ind_status status;
    } cases[] = {{"cublasLtMatmul:1:13", "cublaslt.matmul: cublasLtMatmul: EXECUTION_FAILED (13: the GPU program failed)", IND_ERROR_DEVICE},
                 {"cublasLtMatmul:1:3", "cublasLtMatmul: ALLOC_FAILED (3: ", IND_ERROR_OUT_OF_MEMORY},
                 {"cublasLtMatmulAlgoGetHeuristic:1:15", "cublasLtMatmulAlgoGetHeuristic: NOT_SUPPORTED (15: ", IND_ERROR_NOT_SUPPORTED},
                 {"cublasLtMatmulDescCreate:1:77", "cublasLtMatmulDescCreate: unknown status (77: ", IND_ERROR_DEVICE}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ind_context *ctx;
        ind_module *m = NULL;
        float y[RESULTS];
        ind_context_desc desc = {.device = IND_DEVICE_CUDA, .num_threads = 1};
        desc.cuda.library_path = CUDA_LIBRARY;
        desc.cuda.nvrtc_path = NVRTC_LIBRARY;
        desc.cuda.cublaslt_path = CUBLASLT_LIBRARY;
        ind_compile_desc compile = {.cublaslt = true};
        CHECK(!ind_context_create(&desc, &ctx), "no context");
        CHECK(!ind_compile(ind_graph_parse(ctx, text, NULL), &compile, &m), "%s", ind_error(ctx));
        CHECK(!ind_module_constant(m, "w", w, sizeof w, IND_MEMORY_HOST) && !ind_module_constant(m, "b", b, sizeof b, IND_MEMORY_HOST), "%s",
              ind_error(ctx));
        lt->fail(cases[k].spec);
        const ind_status status = run_once(m, 3, y);
        CHECK(status == cases[k].status && strstr(ind_error(ctx), cases[k].say), "%s: %s", ind_status_text(status), ind_error(ctx));
        lt->fail("");
        CHECK(!run_once(m, 3, y) && right(y, 3), "the next run: %s", ind_error(ctx));
        ind_context_destroy(ctx);
    }
}

/* Two sizes need two searches, whatever is launched again: four products are launched. */
static void searches(void) {
    char line[300];
    int asked = 0, run = 0;
    FILE *f = fopen(LOG, "r");
    while (f && fgets(line, sizeof line, f)) {
        asked += !strncmp(line, "heuristic ", 10);
        run += !strncmp(line, "matmul ", 7);
    }
    if (f) fclose(f);
    CHECK(asked == 2 && run == 4, "%d searches for %d products", asked, run);
}

int main(void) {
    emulation cuda, nvrtc, lt;
    float y[3][RESULTS];
    check_heap heap = {0};
    if (!open_emulation(CUDA_LIBRARY, &cuda) || !open_emulation(NVRTC_LIBRARY, &nvrtc) || !open_emulation(CUBLASLT_LIBRARY, &lt)) {
        puts("the emulation is not built (make emulated)");
        return 77;
    }
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)(i * 7 % 13) / 13 - 0.4f;
    for (size_t i = 0; i < sizeof w / sizeof *w; i++) w[i] = (float)(i * 5 % 17) / 17 - 0.4f;
    for (size_t i = 0; i < sizeof b / sizeof *b; i++) b[i] = (float)(i % 5) - 2;
    remove(LOG);
    setenv("IND_EMULATION_CUBLASLT_LOG", LOG, 1);
    CHECK(!job(&heap, y) && right(y[0], 3) && right(y[1], MOST) && right(y[2], 3), "runs, with other sizes and as a graph");
    unsetenv("IND_EMULATION_CUBLASLT_LOG");
    searches();
    remove(LOG);
    statuses(&lt);
    every_call(&lt, &cuda);
    allocations(&lt, &cuda);
    return check_summary();
}
