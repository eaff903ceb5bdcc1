/* Shows one copy of the weights for two modules, as for the prompt and the steps of a decoder: the engine allocates
   device memory, and both modules store its pointer. Runs on the GPU if there is one, else on the host. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 64, MOST = 100 };

static float w[WIDTH * WIDTH], x[MOST * WIDTH], y[MOST * WIDTH];

/* y = gelu(x @ w^T) of so many rows. NULL: ind_error(ctx) has the reason. */
static ind_module *build(ind_context *ctx, const char *name, const char *rows) {
    ind_module *m;
    ind_graph *g = ind_graph_create(ctx, name);
    ind_size(g, rows);
    ind_tensor weights = ind_constant(g, "w", "f32[64, 64]");
    ind_output(g, "y", ind_gelu(ind_linear(ind_input(g, "x", "f32[T, 64]"), weights, IND_NO_TENSOR), IND_GELU_ERF));
    const ind_status status = ind_compile(g, NULL, &m);
    ind_graph_destroy(g);
    return status ? NULL : m;
}

/* Runs the first `rows` rows. Returns the largest difference to plain C, or infinity: the run failed. */
static double run(ind_module *m, int rows) {
    char sizes[16];
    double worst = 0;
    const size_t bytes = (size_t)rows * WIDTH * sizeof *x;
    ind_binding io[] = {{"x", x, bytes}, {"y", y, bytes}};
    snprintf(sizes, sizeof sizes, "T=%d", rows);
    if (ind_run(m, &(ind_run_desc){.bindings = io, .num_bindings = 2, .sizes = sizes, .memory = IND_MEMORY_HOST}))
        return INFINITY;
    for (int i = 0; i < rows * WIDTH; i++) {
        double sum = 0;
        for (int k = 0; k < WIDTH; k++) sum += (double)x[i / WIDTH * WIDTH + k] * w[i % WIDTH * WIDTH + k];
        worst = fmax(worst, fabs(y[i] - sum / 2 * (1 + erf(sum / sqrt(2)))));
    }
    return worst;
}

static int run_both(ind_context *ctx) {
    void *weights;
    ind_module *prompt = build(ctx, "prompt", "T in [1, 100] hint 100"),
               *step = build(ctx, "step", "T in [1, 4] hint 1");
    if (!prompt || !step || ind_module_alloc(prompt, sizeof w, &weights)) return 1;
    int failed = ind_module_upload(prompt, weights, w, sizeof w) ||
                 ind_module_constant(prompt, "w", weights, sizeof w, IND_MEMORY_DEVICE) ||
                 ind_module_constant(step, "w", weights, sizeof w, IND_MEMORY_DEVICE);
    for (int rows = 1; rows <= MOST && !failed; rows += 33) {
        const double error = run(rows > 4 ? prompt : step, rows);
        printf("%-6s %3d rows: largest difference to plain C %.2g\n", rows > 4 ? "prompt" : "step", rows, error);
        failed = !(error < 1e-5);
    }
    ind_module_destroy(step); /* the weights are the engine's: it frees them after the last run */
    ind_module_free(prompt, weights);
    return failed;
}

int main(void) {
    ind_context *ctx;
    for (int i = 0; i < WIDTH * WIDTH; i++) w[i] = (float)(i * 7919 % 1009) / 4000 - 0.125f;
    for (int i = 0; i < MOST * WIDTH; i++) x[i] = (float)(i * 104729 % 2003) / 1000 - 1;
    if (ind_context_create(NULL, &ctx)) return 1;
    const int failed = run_both(ctx);
    if (failed) fprintf(stderr, "%s\n", ind_error(ctx));
    ind_context_destroy(ctx);
    return failed;
}
