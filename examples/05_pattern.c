/* Shows a pattern of one's own: x * sigmoid(1.702 * x) becomes a function of the user, in every graph of the context.
 */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
#include <math.h>
#include <stdio.h>

static ind_element quick_gelu(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.f = x[0].f / (1 + expf(-1.702f * x[0].f))};
}

static const char pattern[] = "pattern quick_gelu {\n"
                              "  input x : f32\n"
                              "  s = mul(x, 1.702)\n"
                              "  t = sigmoid(s)\n"
                              "  y = mul(x, t)\n"
                              "} => {\n"
                              "  y = quick_gelu(x)\n"
                              "}\n";

/* The engine's model, which does not know the function. */
static ind_module *build(ind_context *ctx) {
    ind_graph *g = ind_graph_create(ctx, "mlp");
    ind_size(g, "B in [1, 1024] hint 32");
    ind_tensor x = ind_input(g, "x", "f32[B, 16]");
    ind_tensor gate = ind_sigmoid(ind_mul(ind_scalar(g, 1.702), x));
    ind_output(g, "y", ind_mul(gate, x));
    ind_module *m;
    return ind_compile(g, NULL, &m) ? NULL : m;
}

int main(void) {
    ind_context *ctx;
    if (ind_context_create(NULL, &ctx)) return 1;
    ind_function_desc function = {
        .signature = "quick_gelu(x: f32) -> f32", .cuda = "x / (1.0f + expf(-1.702f * x))", .host = quick_gelu};
    bool ok = !ind_function_register(ctx, &function) && !ind_pattern_register(ctx, pattern);
    ind_module *m = ok ? build(ctx) : NULL;
    float x[3 * 16], y[3 * 16], worst = 0;
    for (int i = 0; i < 3 * 16; i++) x[i] = (float)(i - 24) / 4;
    ind_binding io[] = {{"x", x, sizeof x}, {"y", y, sizeof y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 2, .sizes = "B=3", .memory = IND_MEMORY_HOST};
    ok = m && !ind_run(m, &run);
    if (ok) fputs(ind_module_text(m, IND_STAGE_PASSES), stdout); /* what became of the ops */
    if (ok) fputs(ind_module_text(m, IND_STAGE_GRAPH), stdout);
    if (!ok) fprintf(stderr, "%s\n", ind_error(ctx));
    for (int i = 0; ok && i < 3 * 16; i++) worst = fmaxf(worst, fabsf(y[i] - x[i] / (1 + expf(-1.702f * x[i]))));
    if (ok) printf("largest difference to plain C: %.2g\n", worst);
    ind_context_destroy(ctx);
    return !ok || worst > 1e-5f;
}
