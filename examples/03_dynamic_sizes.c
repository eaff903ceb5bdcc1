/* Shows symbolic sizes: compiled once, run for many batches and lengths; memory as a formula of the sizes, evaluated
   and solved; and what a size outside its declared range gets. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 48

static float x[16 * 100 * WIDTH], y[16 * WIDTH];

/* The mean over the sequence of the normalised tokens. */
static ind_module *build(ind_context *ctx) {
    ind_graph *g = ind_graph_create(ctx, "pooled");
    ind_size(g, "B in [1, 16] hint 4");
    ind_size(g, "S in [1, 100] hint 32");
    ind_tensor t = ind_input(g, "x", "f32[B, S, 48]");
    ind_tensor n = ind_layer_norm(t, 1, IND_NO_TENSOR, IND_NO_TENSOR, 1e-5);
    int dims[] = {1};
    ind_output(g, "y", ind_mean(ind_mul(n, n), dims, 1, false, IND_DTYPE_NONE));
    ind_module *m;
    return ind_compile(g, NULL, &m) ? NULL : m;
}

static double largest_error(int batch, int length) {
    double worst = 0;
    for (int b = 0; b < batch; b++) {
        double want[WIDTH] = {0};
        for (int s = 0; s < length; s++) {
            const float *row = x + (b * length + s) * WIDTH;
            double mean = 0, square = 0;
            for (int i = 0; i < WIDTH; i++) mean += row[i] / (double)WIDTH;
            for (int i = 0; i < WIDTH; i++) square += (row[i] - mean) * (row[i] - mean) / WIDTH;
            for (int i = 0; i < WIDTH; i++) want[i] += (row[i] - mean) * (row[i] - mean) / (square + 1e-5) / length;
        }
        for (int i = 0; i < WIDTH; i++) worst = fmax(worst, fabs(y[b * WIDTH + i] - want[i]));
    }
    return worst;
}

static int run(ind_module *m, int batch, int length) {
    char sizes[32];
    int64_t workspace;
    snprintf(sizes, sizeof sizes, "B=%d, S=%d", batch, length);
    ind_binding io[] = {{"x", x}, {"y", y}};
    ind_run_desc desc = {.bindings = io, .num_bindings = 2, .sizes = sizes, .memory = IND_MEMORY_HOST};
    memset(y, 0, sizeof y);
    if (ind_run(m, &desc) || ind_formula_eval(m, ind_module_workspace(m), sizes, &workspace)) return 1;
    double error = largest_error(batch, length);
    printf("%-12s workspace %7lld bytes   largest difference to plain C %.2g\n", sizes, (long long)workspace, error);
    return error > 1e-4;
}

int main(void) {
    static const int pairs[][2] = {{1, 1}, {1, 100}, {2, 7}, {3, 33}, {16, 64}, {16, 100}, {5, 99}};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)(i * 7919 % 1009) / 500 - 1;

    ind_context *ctx;
    if (ind_context_create(NULL, &ctx)) return 1;
    ind_module *m = build(ctx);
    int failed = !m;
    int compiled = m ? ind_module_query_stats(m).num_sources : 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !failed; i++) failed = run(m, pairs[i][0], pairs[i][1]);
    if (failed) fprintf(stderr, "%s\n", ind_error(ctx));
    if (!failed) {
        failed = ind_module_query_stats(m).num_sources != compiled; /* no run compiled anything */
        ind_formula need = ind_module_workspace(m);
        char text[256];
        ind_expr_print(need, text, sizeof text);
        printf("workspace = %s; largest B for S=100 in 64 KB: %lld\n", text,
               (long long)ind_formula_solve(m, need, "B", "S=100", 64 << 10));
        printf("with B=17: %s\n", run(m, 17, 5) ? ind_error(ctx) : "no error");
        failed |= ind_error_status(ctx) != IND_OUT_OF_RANGE;
    }
    ind_context_destroy(ctx);
    return failed;
}
