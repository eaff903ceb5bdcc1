/* Shows two more ways to bring ops of one's own (02_custom_op.c has the first): a function in CUDA C with a twin in C
   for the host device, which fuses like any other op; and an extern call, here of a routine that rolls the rows of a
   matrix, as it would be of a kernel of another library. Each runs on the GPU if there is one, else on the host. */
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

#define ROWS    6
#define COLUMNS 64

/* ---- softcap(x, cap) = cap * tanh(x / cap) */

static ind_element softcap(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.f = x[1].f * tanhf(x[0].f / x[1].f)};
}

static const ind_function_desc softcap_desc = {
    .signature = "softcap(x: f32, cap: f32) -> f32",
    .cuda = "cap * tanhf(x / cap)",
    .host = softcap,
};

/* ---- roll: row i of the result is row i + 1, the last one is row 0 */

typedef int (*copy_fn)(unsigned long long to, unsigned long long from, size_t bytes, void *stream);

static ind_status roll_host(const ind_extern_call *c) {
    size_t rows = (size_t)c->input[0].size[0], row = (size_t)c->input[0].stride[0] * sizeof(float);
    const char *x = c->input[0].data;
    char *y = c->output[0].data;
    memcpy(y, x + row, (rows - 1) * row);
    memcpy(y + (rows - 1) * row, x, row);
    return IND_OK;
}

/* Enqueues on the stream that it is given and does not wait; `user` is the driver's copy. */
static ind_status roll_cuda(const ind_extern_call *c) {
    copy_fn copy;
    memcpy(&copy, c->user, sizeof copy);
    size_t rows = (size_t)c->input[0].size[0], row = (size_t)c->input[0].stride[0] * sizeof(float);
    unsigned long long x = (uintptr_t)c->input[0].data, y = (uintptr_t)c->output[0].data;
    int failed =
        (rows > 1 && copy(y, x + row, (rows - 1) * row, c->stream)) || copy(y + (rows - 1) * row, x, row, c->stream);
    return failed ? IND_ERROR_DEVICE : IND_OK;
}

/* A function of the driver; NULL: there is none. */
static void *driver_function(const char *name) {
    const char *given = getenv("IND_CUDA_LIBRARY");
#ifdef _WIN32
    HMODULE driver = LoadLibraryA(given ? given : "nvcuda.dll");
    return driver ? (void *)(uintptr_t)GetProcAddress(driver, name) : NULL;
#else
    void *driver = dlopen(given ? given : "libcuda.so.1", RTLD_NOW);
    return driver ? dlsym(driver, name) : NULL;
#endif
}

static ind_status register_ours(ind_context *ctx, void **copy) {
    *copy = driver_function("cuMemcpyDtoDAsync_v2");
    ind_extern_desc roll = {.name = "roll", .host = roll_host, .cuda = *copy ? roll_cuda : NULL, .user = copy};
    ind_status status = ind_function_register(ctx, &softcap_desc);
    return status ? status : ind_extern_register(ctx, &roll);
}

/* softmax(softcap(roll(x * 3), 5)): the product is a kernel, the call a step, and all the rest one kernel. */
static const char text[] = "graph rolled {\n"
                           "  size B in [1, 1024]\n"
                           "  input x : f32[B, 64]\n"
                           "  h = mul(x, 3)\n"
                           "  r : f32[B, 64] = extern(\"roll\", h)\n"
                           "  c = softcap(r, 5)\n"
                           "  y = softmax(c, dim=-1)\n"
                           "  output y\n"
                           "}\n";

static double largest_error(const float *x, const float *y) {
    double worst = 0;
    for (int row = 0; row < ROWS; row++) {
        const float *from = x + (row + 1) % ROWS * COLUMNS;
        double sum = 0;
        for (int i = 0; i < COLUMNS; i++) sum += exp(5 * tanh(3.0 * from[i] / 5));
        for (int i = 0; i < COLUMNS; i++)
            worst = fmax(worst, fabs(y[row * COLUMNS + i] - exp(5 * tanh(3.0 * from[i] / 5)) / sum));
    }
    return worst;
}

int main(void) {
    static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i * 37 % 101 - 50) / 25;

    ind_context *ctx;
    void *copy;
    ind_module *m = NULL;
    if (ind_context_create(NULL, &ctx)) return 1;
    ind_binding io[] = {{"x", x, sizeof x}, {"y", y, sizeof y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 2, .sizes = "B=6", .memory = IND_MEMORY_HOST};
    ind_graph *g = register_ours(ctx, &copy) ? NULL : ind_graph_parse(ctx, text, "rolled");
    if (!g || ind_compile(g, NULL, &m) || ind_run(m, &run)) {
        fprintf(stderr, "%s\n", ind_error(ctx));
        ind_context_destroy(ctx);
        return 1;
    }
    puts(ind_module_text(m, IND_STAGE_SCHEDULE));
    int kernels = ind_module_query_stats(m).num_kernels;
    double error = largest_error(x, y);
    printf("%d steps on %s; largest difference to plain C: %g\n", kernels,
           ind_module_query_stats(m).device == IND_DEVICE_CUDA ? "the GPU" : "the host", error);
    ind_context_destroy(ctx);
    return kernels != 3 || error > 1e-6;
}
