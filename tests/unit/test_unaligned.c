/* Tensors of the caller that start anywhere: each pointer by so many elements behind a boundary of 16 bytes, rows of
   odd lengths, kernels that read and write aligned vectors of misaligned rows, vectors under masks. On the emulated driver, or with
   IND_TEST_DEVICE=cuda on a real one. Each tensor has a memory of exactly its size, so that the emulation's
   AddressSanitizer finds whatever is touched beside it. */
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#include "inductor.h"

#include "check.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define EMULATED_CUDA  "build/emulated/libcuda.so"
#define EMULATED_NVRTC "build/emulated/libnvrtc.so"
#define ROWS           5
#define MOST           1021

static const char rows_text[] = "graph rows {\n size B in [1, 100] hint 5\n input x : f32[B, %d]\n const w : f32[%d]\n"
                                " y = softmax(x, dim=-1)\n z = mul(y, w)\n s = sum(x, dim=[1])\n output z, s\n}";
static const char points_text[] =
    "graph points {\n size B in [1, 100] hint 5\n input x : bf16[B, %d]\n const w : bf16[%d]\n"
    " a = cast(x, dtype=f32)\n b = cast(w, dtype=f32)\n y = add(a, b)\n s = gt(y, 1.0)\n"
    " output y, s\n}";

/* Halves of rows that change places: each half is read under a mask. */
static const char halves_text[] =
    "graph halves {\n size B in [1, 100] hint 5\n input x : bf16[B, %d]\n const w : bf16[%d]\n"
    " l = slice(x, dim=1, start=0, end=%d)\n r = slice(x, dim=1, start=%d, end=%d)\n h = cat([r, l], dim=1)\n"
    " a = cast(h, dtype=f32)\n b = cast(w, dtype=f32)\n y = add(a, b)\n s = gt(y, 1.0)\n output y, s\n}";

typedef enum kind { KIND_ROWS, KIND_POINTS, KIND_HALVES } kind;
static const char *const kind_name[] = {"rows", "points", "halves"};

typedef struct buffer {
    rt__cuda_ptr memory;
    size_t element, bytes;
    int behind; /* elements */
} buffer;

static rt__runtime *runtime;

static void *place(buffer *b, const void *data) {
    CHECK(!runtime->driver.cuMemAlloc_v2(&b->memory, b->behind * b->element + b->bytes), "memory");
    rt__cuda_ptr at = b->memory + b->behind * b->element;
    if (data) CHECK(!runtime->driver.cuMemcpyHtoDAsync_v2(at, data, b->bytes, NULL), "copy");
    return (void *)(uintptr_t)at;
}

static void fetch(buffer *b, void *data) {
    rt__cuda_ptr at = b->memory + b->behind * b->element;
    CHECK(!runtime->driver.cuMemcpyDtoHAsync_v2(data, at, b->bytes, NULL), "copy");
    CHECK(!runtime->driver.cuStreamSynchronize(NULL), "wait");
    runtime->driver.cuMemFree_v2(b->memory);
}

static float x[ROWS * MOST], w[MOST], y[ROWS * MOST];
static uint16_t x16[ROWS * MOST], w16[MOST];
static union {
    float sum[ROWS];
    uint8_t more[ROWS * MOST];
} s;

static void fill(int n) {
    uint32_t state = 7;
    for (int i = 0; i < ROWS * n + n; i++) {
        state = state * 1664525u + 1013904223u;
        float value = (float)(int)(state >> 20) / 1024 - 2;
        float *at = i < n ? &w[i] : &x[i - n];
        uint16_t *at16 = i < n ? &w16[i] : &x16[i - n];
        *at16 = ind__f32_to_bf16(value);
        *at = value;
    }
}

static bool rows_wrong(int n) {
    for (int r = 0; r < ROWS; r++) {
        double most = -1e30, all = 0, sum = 0;
        for (int i = 0; i < n; i++) most = fmax(most, x[r * n + i]), sum += x[r * n + i];
        for (int i = 0; i < n; i++) all += exp(x[r * n + i] - most);
        for (int i = 0; i < n; i++) {
            double want = exp(x[r * n + i] - most) / all * w[i];
            if (!(fabs(y[r * n + i] - want) <= 2e-6 * fabs(want))) return true;
        }
        if (!(fabs(s.sum[r] - sum) <= 1e-4)) return true;
    }
    return false;
}

static bool points_wrong(int n, bool halves) {
    for (int i = 0; i < ROWS * n; i++) {
        const int at = !halves ? i : i % n < n / 2 ? i + n / 2 : i - n / 2;
        float want = ind__bf16_to_f32(x16[at]) + ind__bf16_to_f32(w16[i % n]);
        if (y[i] != want || s.more[i] != (want > 1)) return true;
    }
    return false;
}

/* Pointers x, w, y and s stand `behind` elements behind a boundary. */
static void run(ind_context *c, ind_module *m, kind k, int n, const int behind[4]) {
    const bool rows = k == KIND_ROWS;
    const size_t in = rows ? 4 : 2, more = rows ? ROWS * sizeof(float) : (size_t)(ROWS * n);
    buffer b[4] = {{0, in, in * ROWS * n, behind[0]},
                   {0, in, in * n, behind[1]},
                   {0, 4, (size_t)(4 * ROWS * n), behind[2]},
                   {0, rows ? 4 : 1, more, behind[3]}};
    fill(n);
    memset(y, 0xff, sizeof y);
    memset(&s, 0xff, sizeof s);
    void *pointers[4] = {place(&b[0], rows ? (void *)x : x16), place(&b[1], rows ? (void *)w : w16), place(&b[2], NULL),
                         place(&b[3], NULL)};
    ind_instance *instance = NULL;
    ind_launch_desc d = {.pointers = pointers, .sizes_v = (int64_t[]){ROWS}};
    CHECK(!ind_instance_create(m, NULL, &instance) && !ind_launch(instance, &d) && !ind_instance_check(instance), "%s",
          ind_error(c));
    fetch(&b[2], y);
    fetch(&b[3], &s);
    runtime->driver.cuMemFree_v2(b[0].memory);
    runtime->driver.cuMemFree_v2(b[1].memory);
    ind_instance_destroy(instance);
    CHECK(!(rows ? rows_wrong(n) : points_wrong(n, k == KIND_HALVES)), "%s of %d, %d %d %d %d elements behind a boundary",
          kind_name[k], n, behind[0], behind[1], behind[2], behind[3]);
}

static void test(ind_context *c, kind k, int n) {
    static const int behind[][4] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {3, 0, 1, 2}, {0, 2, 3, 1}, {0, 0, 0, 5}, {1, 0, 0, 0}};
    char text[400];
    if (k == KIND_HALVES)
        snprintf(text, sizeof text, halves_text, n, n, n / 2, n / 2, n);
    else
        snprintf(text, sizeof text, k == KIND_ROWS ? rows_text : points_text, n, n);
    ind_graph *g = ind_graph_parse(c, text, NULL);
    ind_module *m = NULL;
    CHECK(g && !ind_compile(g, NULL, &m), "%s", ind_error(c));
    if (!m) return;
    runtime = c->runtime;
    CHECK(!rt__cuda_enter(c, runtime), "%s", ind_error(c));
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) run(c, m, k, n, behind[i]);
    rt__cuda_leave(runtime);
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

int main(void) {
    struct stat st;
    const char *device = getenv("IND_TEST_DEVICE");
    const bool real = device && !strcmp(device, "cuda");
    ind_context_desc desc = {.device = IND_DEVICE_CUDA, .verify = 1};
    ind_context *c = NULL;
    if (!real && (stat(EMULATED_CUDA, &st) || stat(EMULATED_NVRTC, &st))) {
        printf("no emulated driver in build/emulated\n");
        return 77;
    }
    if (!real) desc.cuda.library_path = EMULATED_CUDA, desc.cuda.nvrtc_path = EMULATED_NVRTC;
    CHECK(!ind_context_create(&desc, &c), "context");
    for (int i = 0; c && i < 4; i++) test(c, i % 2 ? KIND_POINTS : KIND_ROWS, i < 2 ? 67 : MOST);
    for (int i = 0; c && i < 2; i++) test(c, KIND_HALVES, i ? 36 : 64);
    ind_context_destroy(c);
    return check_summary();
}
