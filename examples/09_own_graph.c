/* Shows launches in a CUDA graph of the engine's own: a decoder's step with a cache, the count of its position, and a
   copy by the engine are captured once and replayed at every position. The position is a size whose value lies in
   device memory, so the graph stays the same. Without a GPU the steps are launched one by one on the host. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

enum { WIDTH = 32, CAPACITY = 40, STEPS = 30, ROW = WIDTH * sizeof(float) }; /* ROW: bytes */
enum { P, X, CACHE, Y, BINDINGS, WORKSPACE = BINDINGS, BUFFERS };

/* Row P of the cache becomes x; y is half the mean of rows 0 to P. */
static const char step_text[] = "graph step {\n"
                                "  size N in [2, 4096] hint 40\n"
                                "  size P device in [0, N - 1] hint 20\n"
                                "  input x : f32[1, 32]\n"
                                "  input cache : f32[N, 32]\n"
                                "  written = slice_scatter(cache, x, dim=0, start=P, end=P + 1)\n"
                                "  seen = slice(written, dim=0, start=0, end=P + 1)\n"
                                "  m = mean(seen, dim=[0])\n"
                                "  y = mul(m, 0.5)\n"
                                "  mutate cache = written\n"
                                "  output y\n"
                                "}\n";
static const char count_text[] = "graph count {\n  input p : i64[]\n  q = add(p, 1)\n  mutate p = q\n}\n";

/* What the engine needs of the driver. An engine that links the driver includes cuda.h instead. */
#define DRIVER_FUNCTIONS(X)                                                                                            \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                          \
    X(cuCtxPushCurrent_v2, (void *context))                                                                            \
    X(cuStreamCreate, (void **stream, unsigned flags))                                                                 \
    X(cuStreamDestroy_v2, (void *stream))                                                                              \
    X(cuStreamSynchronize, (void *stream))                                                                             \
    X(cuStreamBeginCapture_v2, (void *stream, int mode))                                                               \
    X(cuStreamEndCapture, (void *stream, void **graph))                                                                \
    X(cuMemcpyDtoDAsync_v2, (unsigned long long to, unsigned long long from, size_t bytes, void *stream))              \
    X(cuGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long flags))                         \
    X(cuGraphLaunch, (void *executable, void *stream))                                                                 \
    X(cuGraphExecDestroy, (void *executable))                                                                          \
    X(cuGraphDestroy, (void *graph))
#define X(name, arguments) static int(*name) arguments;
DRIVER_FUNCTIONS(X)
#undef X

static void *driver_function(const char *name) {
    const char *given = getenv("IND_CUDA_LIBRARY");
#ifdef _WIN32
    return (void *)(uintptr_t)GetProcAddress(LoadLibraryA(given ? given : "nvcuda.dll"), name);
#else
    return dlsym(dlopen(given ? given : "libcuda.so.1", RTLD_NOW), name);
#endif
}

/* Finds the functions, and enters the device's context. */
static bool enter_device(void) {
    void *context, *found;
#define X(name, arguments)                                                                                             \
    if (!(found = driver_function(#name))) return false;                                                               \
    memcpy(&name, &found, sizeof found);
    DRIVER_FUNCTIONS(X)
#undef X
    return !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxPushCurrent_v2(context);
}

typedef struct engine {
    ind_instance *step, *count;
    void *memory[BUFFERS], *stream, *executable; /* executable: the captured step; NULL: there is no GPU */
} engine;

/* Enqueues the step and the count. Without a GPU they are done on return. */
static bool launch(engine *e) {
    const ind_launch_desc step = {.stream = e->stream, .pointers = e->memory, .sizes_v = (int64_t[]){CAPACITY}};
    return !ind_launch(e->step, &step) &&
           !ind_launch(e->count, &(ind_launch_desc){.stream = e->stream, .pointers = &e->memory[P]});
}

/* Captures them, and a copy: y is the next x. */
static bool capture(engine *e) {
    void *graph;
    if (!enter_device() || cuStreamCreate(&e->stream, 1) || cuStreamBeginCapture_v2(e->stream, 1)) return false;
    const bool launched = launch(e);
    const int copied = cuMemcpyDtoDAsync_v2((uintptr_t)e->memory[X], (uintptr_t)e->memory[Y], ROW, e->stream);
    if (cuStreamEndCapture(e->stream, &graph) || !launched || copied) return false;
    return !cuGraphInstantiateWithFlags(&e->executable, graph, 0) && !cuGraphDestroy(graph);
}

static bool run_steps(engine *e) {
    for (int i = 0; i < STEPS; i++) {
        if (e->executable ? cuGraphLaunch(e->executable, e->stream) : !launch(e)) return false;
        if (!e->executable) memcpy(e->memory[X], e->memory[Y], ROW);
    }
    return !e->executable || !cuStreamSynchronize(e->stream);
}

static double difference(const float *first, const float *last) {
    double worst = 0;
    for (int d = 0; d < WIDTH; d++) {
        double x = first[d], sum = 0;
        for (int i = 0; i < STEPS; i++) sum += x, x = sum / (i + 1) / 2;
        worst = fmax(worst, fabs(last[d] - x));
    }
    return worst;
}

static ind_module *compile(ind_context *ctx, const char *text) {
    ind_module *m;
    ind_graph *g = ind_graph_parse(ctx, text, "09_own_graph.c");
    return g && !ind_compile(g, NULL, &m) ? m : NULL;
}

static int run(ind_context *ctx) {
    static const size_t bytes[] = {sizeof(int64_t), ROW, CAPACITY * ROW, ROW, 4096};
    static float first[CAPACITY * WIDTH], last[WIDTH];
    int64_t position = 0;
    engine e = {0};
    ind_module *m = compile(ctx, step_text), *count = compile(ctx, count_text);
    const void *const from[BUFFERS] = {&position, first, first, first};
    for (int d = 0; d < WIDTH; d++) first[d] = (float)d - 10;
    for (int b = 0; b < BUFFERS; b++) {
        if (!m || ind_module_alloc(m, bytes[b], &e.memory[b])) return 1;
        if (from[b] && ind_module_upload(m, e.memory[b], from[b], bytes[b])) return 1;
    }
    /* A launch in a capture cannot allocate: the workspace is given. */
    const ind_instance_desc desc = {.workspace = e.memory[WORKSPACE], .workspace_bytes = bytes[WORKSPACE]};
    if (!count || ind_instance_create(m, &desc, &e.step) || ind_instance_create(count, NULL, &e.count)) return 1;
    if (ind_module_query_stats(m).device == IND_DEVICE_CUDA && !capture(&e)) return 1;
    if (!run_steps(&e) || ind_instance_check(e.step)) return 1;
    if (ind_module_download(m, last, e.memory[X], ROW) || ind_module_download(m, &position, e.memory[P], 8)) return 1;
    printf("%s: largest difference to plain C %.2g\n", e.executable ? "replays" : "launches", difference(first, last));
    if (e.executable) cuGraphExecDestroy(e.executable), cuStreamDestroy_v2(e.stream);
    for (int b = 0; b < BUFFERS; b++) ind_module_free(m, e.memory[b]);
    return position != STEPS || !(difference(first, last) < 1e-5);
}

int main(void) {
    ind_context *ctx;
    if (ind_context_create(NULL, &ctx)) return 1;
    const int failed = run(ctx);
    if (failed) fprintf(stderr, "%s\n", ind_error(ctx));
    ind_context_destroy(ctx);
    return failed;
}
