/* Shows symbolic sizes: compiled once, run for many batches and lengths; a fact and a guard; memory and work as
   formulas of the sizes, evaluated, inverted and solved; and what would happen at sizes before they are used. */
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
    ind_size(g, "N in [1, 1600] hint 128");
    ind_fact(g, "N == B*S");                       /* promised: N need not be given, but is checked where it is */
    ind_guard_that(g, "B <= 12 or S <= 64", NULL); /* what this module is restricted to; another may have the rest */
    ind_tensor t = ind_view_text(ind_input(g, "x", "f32[N, 48]"), "[B, S, 48]"); /* right by the fact alone */
    ind_tensor n = ind_layer_norm(t, 1, IND_NO_TENSOR, IND_NO_TENSOR, 1e-5);
    int dims[] = {1};
    ind_output(g, "y", ind_mean(ind_mul(n, n), dims, 1, false, IND_DTYPE_NONE));
    ind_compile_desc desc = {.all_variants = true}; /* on a GPU: nothing is left to be built when a launch needs it */
    ind_module *m;
    return ind_compile(g, &desc, &m) ? NULL : m;
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
    ind_binding io[] = {{"x", x, sizeof x}, {"y", y, sizeof y}};
    ind_run_desc desc = {.bindings = io, .num_bindings = 2, .sizes = sizes, .memory = IND_MEMORY_HOST};
    memset(y, 0, sizeof y);
    if (ind_run(m, &desc) || ind_formula_eval(m, ind_module_workspace(m), sizes, &workspace)) return 1;
    double error = largest_error(batch, length);
    printf("%-12s workspace %7lld bytes   largest difference to plain C %.2g\n", sizes, (long long)workspace, error);
    return error > 1e-4;
}

/* What the module says of itself: formulas in the sizes, printed, solved and inverted. */
static int explain(ind_module *m) {
    ind_formula need = ind_module_workspace(m), work = ind_module_flops(m),
                most = ind_formula_invert(m, work, "B", 1000000);
    char text[256];
    int64_t lo, hi;
    if (!most.id || ind_formula_bounds(m, need, &lo, &hi)) return 1;
    ind_expr_print(need, text, sizeof text);
    printf("workspace = %s, within [%lld, %lld]; ", text, (long long)lo, (long long)hi);
    printf("largest B for S=60 in 4 KB: %lld\n", (long long)ind_formula_solve(m, need, "B", "S=60", 4 << 10));
    ind_expr_print(most, text, sizeof text);
    printf("B for a million operations: %s\n", text);
    ind_kernel_info k;
    for (int i = 0; !ind_module_query_kernel(m, i, &k); i++) {
        ind_expr_print(k.variant[0].grid[0], text, sizeof text);
        printf("kernel %d %s: %s blocks of %d threads\n", i, k.name, text, k.variant[0].threads);
    }
    return 0;
}

/* A caller asks before it decides: nothing here compiles or runs. */
static int ask(ind_module *m) {
    static const char *const sizes[] = {"B=7, S=99", "B=13, S=99", "B=17, S=5", "B=7, S=99, N=700"};
    static const ind_readiness want[] = {IND_READY, IND_GUARD_FAILS, IND_OUTSIDE, IND_OUTSIDE};
    static const char *const names[] = {
#define X(name, text) text,
        IND_READINESSES(X)
#undef X
    };
    int failed = 0;
    for (int i = 0; i < 4; i++) {
        ind_verdict v = ind_would_compile(m, sizes[i]);
        printf("%-17s %s%s%s\n", sizes[i], names[v.ready], *v.reason ? ": " : "", v.reason);
        failed |= v.ready != want[i];
    }
    return failed;
}

int main(void) {
    static const int pairs[][2] = {{1, 1}, {1, 100}, {2, 7}, {3, 33}, {16, 64}, {12, 100}, {5, 99}};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)(i * 7919 % 1009) / 500 - 1;

    ind_context *ctx;
    if (ind_context_create(NULL, &ctx)) return 1;
    ind_module *m = build(ctx);
    int failed = !m;
    int compiled = m ? ind_module_query_stats(m).num_sources : 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !failed; i++) failed = run(m, pairs[i][0], pairs[i][1]);
    if (!failed) failed = explain(m) || ask(m);
    if (failed) fprintf(stderr, "%s\n", ind_error(ctx));
    if (!failed) {
        failed = ind_module_query_stats(m).num_sources != compiled; /* no run compiled anything */
        printf("with B=17: %s\n", run(m, 17, 5) ? ind_error(ctx) : "no error");
        failed |= ind_error_status(ctx) != IND_ERROR_OUT_OF_RANGE;
    }
    ind_context_destroy(ctx);
    return failed;
}
