/* Shows the whole way: build a graph, compile it, read what it became, run it, and check the result against plain C. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
#include <math.h>
#include <stdio.h>

int main(void) {
    ind_context *ctx;
    if (ind_context_create(NULL, &ctx)) return 1; /* NULL: a GPU if there is one, else the host device */

    ind_graph *g = ind_graph_create(ctx, "mlp");
    ind_size(g, "B in [1, 4096] hint 32"); /* a symbolic size */
    ind_tensor x = ind_input(g, "x", "f32[B, 256]");
    ind_tensor w = ind_input(g, "w", "f32[512, 256]");
    ind_tensor b = ind_input(g, "b", "f32[512]");
    ind_output(g, "y", ind_gelu(ind_linear(x, w, b), IND_GELU_TANH));

    ind_module *m;
    if (ind_compile(g, NULL, &m)) return fprintf(stderr, "%s\n", ind_error(ctx)), 1;
    puts(ind_module_text(m, IND_STAGE_CUDA)); /* read what it became */

    static float X[8 * 256], W[512 * 256], Bv[512], Y[8 * 512];
    for (int i = 0; i < 512 * 256; i++) X[i % 2048] = W[i] = (float)(i % 97 - 48) / 256;
    for (int i = 0; i < 512; i++) Bv[i] = (float)i / 512;
    ind_binding io[] = {{"x", X, sizeof X}, {"w", W, sizeof W}, {"b", Bv, sizeof Bv}, {"y", Y, sizeof Y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 4, .sizes = "B=8", .memory = IND_MEMORY_HOST};
    if (ind_run(m, &run)) return fprintf(stderr, "%s\n", ind_error(ctx)), 1;

    double sum = Bv[5]; /* y[2, 5] in plain C */
    for (int k = 0; k < 256; k++) sum += (double)X[2 * 256 + k] * W[5 * 256 + k];
    double want = 0.5 * sum * (1 + tanh(0.7978845608 * (sum + 0.044715 * sum * sum * sum))), got = Y[2 * 512 + 5];
    printf("y[2, 5] = %f, plain C says %f\n", got, want);
    ind_context_destroy(ctx); /* and all that came from it */
    return fabs(got - want) > 1e-4;
}
