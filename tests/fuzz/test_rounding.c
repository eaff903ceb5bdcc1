/* test_rounding.c - where values of 16 bits are rounded: where they are stored, and nowhere else. What fuzz_ops.c
 * allows between two ways of running a graph rests on it.
 *
 * cosine_embedding_loss of bf16 and f16 is a chain of ops: squares, their sums, a product of sums. Fused, all of it
 * stays f32; with a kernel for each loop the sums are stored, in bf16 and f16. Both are computed here one op at a time in plain
 * C, rounded at those places, and must come out to the last digits of f32; that they differ from one another by far
 * more (0.0064 and 0.0043) shows that the places matter. */
#include "inductor.h"

#include "../unit/check.h"

#include <math.h>

enum { N = 5 };
static const float a_values[N] = {0.734375f, 1.5078125f, 0.67578125f, 0.82421875f, 0.400390625f};
static const float b_values[N] = {0.6669921875f, 1.5478515625f, 0.48681640625f, 0.92529296875f, 0.425537109375f};

static float to_bf16(float x, bool stored) {
    return stored ? ind__bf16_to_f32(ind__f32_to_bf16(x)) : x;
}

static float to_f16(float x, bool stored) {
    return stored ? ind__f16_to_f32(ind__f32_to_f16(x)) : x;
}

static float expected(bool stored) {
    float product = 0, first = 0, second = 0;
    for (int i = 0; i < N; i++) {
        product += a_values[i] * b_values[i];
        first += a_values[i] * a_values[i];
        second += b_values[i] * b_values[i];
    }
    first = to_bf16(first, stored) + 1e-12f;
    second = to_f16(second, stored) + 1e-12f;
    return 1 - product / sqrtf(first * second);
}

static float run(ind_context *c, const ind_compile_desc *d) {
    static const char text[] = "graph t {\n input a : bf16[5]\n input b : f16[5]\n input t : i64[]\n"
                               " y = cosine_embedding_loss(a, b, t)\n output y\n}";
    uint16_t a[N], b[N];
    int64_t t = 1;
    float y = NAN;
    for (int i = 0; i < N; i++) a[i] = ind__f32_to_bf16(a_values[i]), b[i] = ind__f32_to_f16(b_values[i]);
    ind_graph *g = ind_graph_parse(c, text, NULL);
    ind_module *m = NULL;
    ind_binding io[] = {{"a", a}, {"b", b}, {"t", &t}, {"y", &y}};
    ind_run_desc r = {.bindings = io, .num_bindings = 4, .memory = IND_MEMORY_HOST};
    CHECK(g && !ind_compile(g, d, &m) && !ind_run(m, &r), "%s", ind_error(c));
    ind_module_destroy(m);
    ind_graph_destroy(g);
    return y;
}

static void near(float got, float want, const char *what) {
    CHECK(fabsf(got - want) <= 2e-6f, "%s: %.9g, not %.9g", what, (double)got, (double)want);
}

int main(void) {
    const ind_compile_desc fused = {.device = IND_DEVICE_HOST},
                           apart = {.device = IND_DEVICE_HOST, .fusion = {.disable = true}};
    ind_context *c;
    if (ind_context_create(NULL, &c)) return 1;
    for (int i = 0; i < N; i++) {
        CHECK(to_bf16(a_values[i], true) == a_values[i], "%g is no bf16", (double)a_values[i]);
        CHECK(to_f16(b_values[i], true) == b_values[i], "%g is no f16", (double)b_values[i]);
    }
    near(run(c, &fused), expected(false), "one kernel");
    near(run(c, &apart), expected(true), "a kernel for each loop");
    CHECK(fabsf(expected(false) - expected(true)) > 1e-3f, "rounding the sums makes no difference");
    ind_context_destroy(c);
    return check_summary();
}
