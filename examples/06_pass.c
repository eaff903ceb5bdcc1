/* Shows a graph pass of one's own: a division by a power of two becomes a product, which gives the same bits. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
#include <math.h>
#include <stdio.h>

/* Visits an op. Builders called here add ops to the new graph; IND_NO_TENSOR keeps the op. */
static ind_tensor multiply(const ind_visited_op *op, void *user) {
    double divisor;
    int exponent;
    if (op->op != IND_OP_DIV || ind_tensor_attr_string(op->result[0], "rounding_mode")) return IND_NO_TENSOR;
    if (!ind_dtype_is_float(ind_tensor_dtype(op->operand[0]))) return IND_NO_TENSOR;
    if (!ind_tensor_number(op->operand[1], &divisor) || frexp(divisor, &exponent) != 0.5) return IND_NO_TENSOR;
    if (exponent < -10 || exponent > 10) return IND_NO_TENSOR; /* the reciprocal is a normal number of every type */
    ++*(int *)user;
    return ind_mul(op->operand[0], ind_scalar(op->graph, 1 / divisor));
}

/* Scores of an attention, divided by 8 and by 3. */
static ind_module *build(ind_context *ctx) {
    ind_graph *g = ind_graph_create(ctx, "scores");
    ind_size(g, "S in [1, 512] hint 64");
    ind_tensor x = ind_input(g, "x", "f32[S, 16]");
    ind_output(g, "y", ind_softmax(ind_div(x, ind_scalar(g, 8)), -1));
    ind_output(g, "z", ind_div(x, ind_scalar(g, 3)));
    ind_module *m;
    return ind_compile(g, NULL, &m) ? NULL : m;
}

int main(void) {
    ind_context *ctx;
    int count = 0;
    if (ind_context_create(NULL, &ctx)) return 1;
    ind_pass_desc pass = {.name = "multiply", .point = IND_POINT_OPTIMISED, .visit = multiply, .user = &count};
    ind_module *m = ind_pass_register(ctx, &pass) ? NULL : build(ctx);
    float x[2 * 16], y[2 * 16], z[2 * 16];
    for (int i = 0; i < 2 * 16; i++) x[i] = (float)(i * i % 37);
    ind_binding io[] = {{"x", x, sizeof x}, {"y", y, sizeof y}, {"z", z, sizeof z}};
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .sizes = "S=2", .memory = IND_MEMORY_HOST};
    bool ok = m && !ind_run(m, &run);
    if (ok) fputs(ind_module_text(m, IND_STAGE_PASSES), stdout);
    if (ok) fputs(ind_module_text(m, IND_STAGE_GRAPH), stdout);
    if (!ok) fprintf(stderr, "%s\n", ind_error(ctx));
    for (int row = 0; ok && row < 2; row++) {
        double sum = 0;
        for (int i = 0; i < 16; i++) sum += exp(x[row * 16 + i] / 8.0);
        for (int i = 0; i < 16; i++) ok = ok && fabs(y[row * 16 + i] - exp(x[row * 16 + i] / 8.0) / sum) < 1e-6;
    }
    printf("%d division replaced, results %s\n", count, ok ? "right" : "wrong");
    ind_context_destroy(ctx);
    return !ok || count != 1;
}
