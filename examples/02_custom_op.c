/* Shows an op of one's own: a C function for one element, recorded once, which fuses with the ops around it like any
   other. Here softcap(x) = cap * tanh(x / cap) before a softmax: one kernel for both. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
#include <math.h>
#include <stdio.h>

#define ROWS    5
#define COLUMNS 64

struct softcap_args {
    ind_tensor x;
    double cap;
};

/* Called once, while the graph is built, with symbols for the indices: it describes the element, it does not compute
 * it. */
static ind_value softcap(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const struct softcap_args *a = user;
    ind_value cap = ind_op_constant(o, a->cap, IND_F32);
    return ind_op_mul(o, cap, ind_op_tanh(o, ind_op_div(o, ind_op_load(o, a->x, index, rank), cap)));
}

static ind_module *build(ind_context *ctx) {
    ind_graph *g = ind_graph_create(ctx, "capped");
    ind_size(g, "B in [1, 1024]");
    ind_tensor x = ind_input(g, "x", "f32[B, 64]");
    struct softcap_args args = {x, 30.0};
    ind_tensor y = ind_pointwise(g, &(ind_loop_desc){.name = "softcap", .like = x, .fn = softcap, .user = &args});
    ind_output(g, "y", ind_softmax(y, -1));
    ind_module *m;
    return ind_compile(g, NULL, &m) ? NULL : m;
}

static double largest_error(const float *x, const float *y) {
    double worst = 0;
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        for (int i = 0; i < COLUMNS; i++) sum += exp(30 * tanh(x[row * COLUMNS + i] / 30.0));
        for (int i = 0; i < COLUMNS; i++) {
            double want = exp(30 * tanh(x[row * COLUMNS + i] / 30.0)) / sum;
            worst = fmax(worst, fabs(y[row * COLUMNS + i] - want));
        }
    }
    return worst;
}

int main(void) {
    static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i * 37 % 101 - 50) / 5;

    ind_context *ctx;
    if (ind_context_create(NULL, &ctx)) return 1;
    ind_module *m = build(ctx);
    ind_binding io[] = {{"x", x, sizeof x}, {"y", y, sizeof y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 2, .sizes = "B=5", .memory = IND_MEMORY_HOST};
    if (!m || ind_run(m, &run)) {
        fprintf(stderr, "%s\n", ind_error(ctx));
        ind_context_destroy(ctx);
        return 1;
    }
    puts(ind_module_text(m, IND_STAGE_SCHEDULE));
    int kernels = ind_module_query_stats(m).num_kernels;
    double error = largest_error(x, y);
    printf("%d kernel for both ops; largest difference to plain C: %g\n", kernels, error);
    ind_context_destroy(ctx);
    return kernels != 1 || error > 1e-6;
}
