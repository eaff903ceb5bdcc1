/* test_driver.c - every call of the driver and of NVRTC fails in turn while a graph is compiled and run on the emulated GPU, through
 * ind_run, launches, a captured graph and a saved pack. Each time a status with a message, or the right result in spite of it;
 * afterwards no device memory, no driver object and no host memory is left. Skipped where the emulation is not built. */
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#include "inductor.h"

#include "../unit/check.h"

#define CUDA_LIBRARY  "build/emulated/libcuda.so"
#define NVRTC_LIBRARY "build/emulated/libnvrtc.so"
#define PACK          "build/test_driver.indpack"

/* Places in the array of ind_emulation_stats (tests/emulated/support.h). */
enum { STAT_BYTES = 1, STAT_ALLOCATIONS = 2, STAT_OBJECTS = 4, STAT_COUNT = 16 };

typedef struct emulation {
    void (*fail)(const char *spec);
    void (*stats)(unsigned long long out[STAT_COUNT]);
} emulation;

static void *symbol(void *library, const char *name) {
    return library ? dlsym(library, name) : NULL;
}

static bool open_emulation(const char *path, emulation *e) {
    void *library = dlopen(path, RTLD_NOW), *fail = symbol(library, "ind_emulation_fail"), *stats = symbol(library, "ind_emulation_stats");
    memcpy(&e->fail, &fail, sizeof fail);
    memcpy(&e->stats, &stats, sizeof stats);
    return fail && stats;
}

static ind_graph *build(ind_context *ctx) {
    ind_graph *g = ind_graph_create(ctx, "job");
    if (!g) return NULL;
    /* So many that several blocks would sum and scan them, which need memory of the instance. */
    ind_size(g, "B in [1, 100000] hint 70000");
    ind_tensor ids = ind_input(g, "ids", "i64[B]"), x = ind_embedding(ind_constant(g, "table", "f32[10, 16]"), ids);
    x = ind_linear(x, ind_constant(g, "w", "f32[8, 16]"), IND_NO_TENSOR);
    x = ind_relu(x);
    ind_output(g, "y", ind_softmax(x, -1));
    ind_output(g, "z", ind_sum(x, NULL, 0, false, IND_DTYPE_NONE));
    ind_output(g, "c", ind_cumsum(ids, 0, IND_F32));
    return g;
}

static float table[160], w[128];
static const int64_t ids[4] = {0, 9, 3, 3};
enum { SUM = 32, SCAN = 33, RESULTS = 37 }; /* y, then z, then c */

static ind_status run_once(ind_module *m, float *y) {
    ind_binding io[] = {{"ids", (void *)(uintptr_t)ids}, {"table", table}, {"y", y}, {"z", y + SUM}, {"c", y + SCAN}};
    ind_status status = ind_module_constant(m, "w", w, sizeof w, IND_MEMORY_HOST);
    ind_run_desc desc = {.bindings = io, .num_bindings = 5, .sizes = "B=4", .memory = IND_MEMORY_HOST};
    return status ? status : ind_run(m, &desc);
}

/* A launch, then the same captured and replayed, on memory of the device. */
static ind_status launch(ind_module *m, ind_instance *n, float *y) {
    void *memory[3] = {0};
    const size_t bytes[3] = {sizeof ids, sizeof table, RESULTS * sizeof *y};
    ind_status status = IND_OK;
    for (int i = 0; i < 3 && !status; i++) status = ind_module_alloc(m, bytes[i], &memory[i]);
    if (!status) status = ind_module_upload(m, memory[0], ids, sizeof ids);
    if (!status) status = ind_module_upload(m, memory[1], table, sizeof table);
    float *results = (float *)memory[2], *sum = results ? results + SUM : NULL, *scan = results ? results + SCAN : NULL;
    ind_binding io[] = {{"ids", memory[0]}, {"table", memory[1]}, {"y", results}, {"z", sum}, {"c", scan}};
    ind_launch_desc desc = {.bindings = io, .num_bindings = 5, .sizes = "B=4"};
    if (!status) status = ind_launch(n, &desc);
    if (!status) status = ind_instance_check(n);
    if (!status) status = ind_capture(n, &desc);
    if (!status) status = ind_replay(n, NULL);
    if (!status) status = ind_instance_check(n);
    if (!status) status = ind_module_download(m, y, memory[2], bytes[2]);
    for (int i = 0; i < 3; i++) ind_module_free(m, memory[i]);
    return status;
}

/* An instance whose own memory cannot be cleared, at any launch but the last. */
static void launch_in_vain(const emulation *failing, ind_module *m) {
    float y[RESULTS];
    ind_instance *n;
    bool made = !ind_instance_create(m, NULL, &n);
    CHECK(made, "no instance");
    if (!made) return;
    failing->fail("cuMemsetD8Async:1+");
    for (int i = 0; i < 60; i++) CHECK(launch(m, n, y), "launched with memory that holds anything");
    failing->fail("");
    CHECK(!launch(m, n, y), "%s", ind_instance_error(n));
    ind_instance_destroy(n);
}

static ind_status job(check_heap *heap, float *first, float *second, const emulation *failing) {
    ind_context *ctx;
    ind_module *m = NULL;
    ind_instance *n = NULL;
    ind_context_desc desc = {.allocator = {check_alloc, check_free, heap}, .device = IND_DEVICE_CUDA, .num_threads = 1};
    desc.cuda.library_path = CUDA_LIBRARY;
    desc.cuda.nvrtc_path = NVRTC_LIBRARY;
    ind_status status = ind_context_create(&desc, &ctx);
    if (status) return status;
    ind_graph *g = build(ctx);
    status = g ? ind_compile(g, NULL, &m) : IND_ERROR_OUT_OF_MEMORY;
    if (!status) status = run_once(m, first);
    if (!status) status = ind_instance_create(m, NULL, &n);
    if (!status) status = launch(m, n, second);
    int64_t available, total;
    if (!status) status = ind_module_device_memory(m, &available, &total);
    if (!status) status = ind_module_build_cubins(m);
    if (!status) status = ind_pack_save(ctx, PACK);
    if (!status) status = ind_pack_load(ctx, PACK, NULL);
    if (!status && failing) launch_in_vain(failing, m);
    CHECK(!status || *ind_error(ctx) || (n && *ind_instance_error(n)), "%s without a message", ind_status_text(status));
    ind_context_destroy(ctx);
    return status;
}

/* After a failed kernel the process cannot use CUDA any more, which the message says; a launch that is refused does no harm. */
static void sticky_errors(const emulation *cuda) {
    static const struct {
        const char *spec;
        bool sticky;
    } cases[] = {{"cuLaunchKernel:1:700", true}, {"cuLaunchKernel:1:719", true}, {"cuLaunchKernel:1:701", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float y[RESULTS];
        ind_context *ctx;
        ind_module *m;
        ind_context_desc desc = {.device = IND_DEVICE_CUDA, .num_threads = 1};
        desc.cuda.library_path = CUDA_LIBRARY;
        desc.cuda.nvrtc_path = NVRTC_LIBRARY;
        CHECK(!ind_context_create(&desc, &ctx) && !ind_compile(build(ctx), NULL, &m), "compiles");
        cuda->fail(cases[i].spec);
        CHECK(run_once(m, y) == IND_ERROR_DEVICE, "%s", ind_error(ctx));
        cuda->fail("");
        CHECK((strstr(ind_error(ctx), "every later CUDA call of this process will fail") != NULL) == cases[i].sticky, "%s", ind_error(ctx));
        ind_context_destroy(ctx);
    }
}

/* `at`: which call of this library fails; true while there is such a call. */
static void every_call(const emulation *failing, const emulation *cuda, const char *name, const float *want) {
    int at = 1, survived = 0, failed = 0;
    for (; at < 1000 && survived < 40; at++) {
        char spec[32];
        float first[RESULTS], second[RESULTS];
        unsigned long long left[STAT_COUNT] = {0};
        check_heap heap = {0};
        snprintf(spec, sizeof spec, "any:%d", at);
        failing->fail(spec);
        ind_status status = job(&heap, first, second, NULL);
        failing->fail("");
        CHECK(!heap.live, "%s call %d fails: %ld blocks of host memory leak", name, at, heap.live);
        cuda->stats(left);
        CHECK(!left[STAT_BYTES] && !left[STAT_ALLOCATIONS] && !left[STAT_OBJECTS], "%s call %d fails: %llu bytes, %llu objects left", name,
              at, left[STAT_BYTES], left[STAT_OBJECTS]);
        bool same = status || (!memcmp(first, want, sizeof first) && !memcmp(second, want, sizeof second));
        CHECK(same, "%s call %d fails unseen, and the results differ", name, at);
        survived = status ? 0 : survived + 1;
        failed += status != IND_OK;
    }
    CHECK(at < 1000 && failed > 3, "%s: %d of %d calls fail", name, failed, at);
}

/* The driver makes no context: who asks for the device hears of it, from whatever needs it first, and may ask again; who does not
 * gets the host device. */
static void context_fails(const emulation *cuda) {
    static const char spec[] = "cuDevicePrimaryCtxRetain:1+:999", call[] = "cuDevicePrimaryCtxRetain";
    for (int k = 0; k < 3; k++) {
        check_heap heap = {0};
        ind_context *ctx;
        ind_module *m;
        ind_device device = k < 2 ? IND_DEVICE_CUDA : IND_DEVICE_AUTO;
        ind_context_desc desc = {.allocator = {check_alloc, check_free, &heap}, .device = device, .num_threads = 2};
        desc.cuda.library_path = CUDA_LIBRARY;
        desc.cuda.nvrtc_path = NVRTC_LIBRARY;
        ind_status status = ind_context_create(&desc, &ctx);
        CHECK(!status, "no context");
        if (status) return;
        cuda->fail(spec);
        status = k == 0 ? ind_compile(build(ctx), NULL, &m) : ind_device_open(ctx, device);
        const char *text = k == 2 ? ind_device_text(ctx) : ind_error(ctx);
        CHECK(status == (k == 2 ? IND_OK : IND_ERROR_DEVICE) && strstr(text, call), "%d: %s, %s", k, ind_status_text(status), text);
        text = ind_device_text(ctx);
        CHECK(strstr(text, call) && strncmp(text, k == 2 ? "host" : "none", 4) == 0, "%d: the text says %s", k, text);
        cuda->fail("");
        CHECK(!ind_device_open(ctx, IND_DEVICE_CUDA), "%d: a second time: %s", k, ind_error(ctx));
        CHECK(strstr(ind_device_text(ctx), "cuda: "), "%d: the text says %s", k, ind_device_text(ctx));
        CHECK(!ind_compile(build(ctx), NULL, &m), "%d: %s", k, ind_error(ctx));
        ind_context_destroy(ctx);
        CHECK(!heap.live, "%ld blocks of host memory leak", heap.live);
    }
}

int main(void) {
    emulation cuda, nvrtc;
    float want[RESULTS], again[RESULTS];
    check_heap heap = {0};
    if (!open_emulation(CUDA_LIBRARY, &cuda) || !open_emulation(NVRTC_LIBRARY, &nvrtc)) {
        puts("the emulation is not built (make emulated)");
        return 77;
    }
    for (int i = 0; i < 160; i++) table[i] = (float)(i * 7 % 13) / 13;
    for (int i = 0; i < 128; i++) w[i] = (float)(i * 5 % 17) / 17 - 0.4f;
    CHECK(!job(&heap, want, again, &cuda) && !memcmp(want, again, sizeof want), "runs, and replays the same");
    context_fails(&cuda);
    sticky_errors(&cuda);
    every_call(&cuda, &cuda, "driver", want);
    every_call(&nvrtc, &cuda, "NVRTC", want);
    remove(PACK);
    return check_summary();
}
