/* Kernels and custom ops as graphs of ops: what the C calls give, how long it lives, and what is refused with which
   words. That the graphs compute what the kernels do is tests/numerics/test_kernels.py. */
#include "inductor.h"

#include "check.h"

#include <string.h>

enum { ROWS = 3, COLUMNS = 4 };

/* x[j, i] * sigmoid(x[j, i]) + b[(i + 1) % n], with x transposed and b turned by one. */
static ind_value twisted(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const ind_tensor *t = (const ind_tensor *)user;
    ind_expr n = ind_tensor_size(t[1], 0), one = ind_int(ind_op_context(o), 1);
    ind_expr swapped[2] = {i[1], i[0]}, next = ind_expr_mod(ind_expr_add(i[0], one), n);
    (void)rank;
    ind_value x = ind_op_load(o, t[0], swapped, 2), b = ind_op_load(o, t[1], &next, 1);
    return ind_op_add(o, ind_op_mul(o, x, ind_op_sigmoid(o, x)), b);
}

static bool compute(ind_graph *g, float *x, float *b, float *y) {
    ind_module *m = NULL;
    ind_binding io[] = {{"x", x}, {"b", b}, {"y", y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .sizes = "N=4", .memory = IND_MEMORY_HOST};
    bool ok = g && !ind_compile(g, NULL, &m) && !ind_run(m, &run);
    ind_module_destroy(m);
    return ok;
}

/* The function of a custom op comes back as ops, which compute the same bits. */
static void test_pointwise(ind_context *c) {
    float x[ROWS * COLUMNS], b[COLUMNS], y[ROWS * COLUMNS], again[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i * i % 7) / 3 - 1;
    for (int i = 0; i < COLUMNS; i++) b[i] = (float)i;
    ind_graph *g = ind_graph_create(c, "own");
    ind_expr n = ind_size(g, "N in [1, 64] hint 4"), size[2] = {n, ind_int(c, ROWS)};
    ind_tensor t[2];
    t[0] = ind_input(g, "x", "f32[3, N]");
    t[1] = ind_input(g, "b", "f32[N]");
    ind_loop_desc d = {.name = "twisted", .size = size, .rank = 2, .dtype = IND_F32, .fn = twisted, .user = t};
    ind_tensor own = ind_named(ind_pointwise(g, &d), "y");
    ind_output(g, "y", own);
    ind_graph *ops = ind_pointwise_graph(own);
    const char *text = ops ? ind_graph_text(ops) : "";
    CHECK(strstr(text, "graph twisted {\n  size N in [1, 64] multiple_of 1 hint 4\n  input x : f32[3, N]\n"), "%s",
          text);
    CHECK(strstr(text, "= permute(x, dims=[1, 0])") && strstr(text, "= sigmoid(") && strstr(text, "= take(b, "), "%s",
          text);
    ind_graph *parsed = ind_graph_parse(c, text, "twisted");
    CHECK(compute(g, x, b, y) && compute(ops, x, b, again), "%s", ind_error(c));
    CHECK(!memcmp(y, again, sizeof y), "not the same");
    memset(again, 0, sizeof again);
    CHECK(compute(parsed, x, b, again) && !memcmp(y, again, sizeof y), "not the same from text: %s", ind_error(c));
    CHECK(!ind_pointwise_graph(t[0]) && strstr(ind_error(c), "not of ind_pointwise"), "%s", ind_error(c));
    CHECK(!ind_pointwise_graph((ind_tensor){0}), "of nothing");
    ind_graph_destroy(g);
    CHECK(strstr(ind_graph_text(ops), "graph twisted"), "it lives on");
    ind_graph_destroy(ops);
    ind_graph_destroy(parsed);
}

/* A kernel's graph lives on after the module, and takes more ops. */
static void test_lifetime(ind_context *c) {
    ind_graph *g = ind_graph_parse(c,
                                   "graph g {\n  size N in [1, 64]\n  size M in [1, 64]\n  fact M == N\n"
                                   "  input x : f32[M, 8]\n  y = sum(x, 1)\n  output y\n}\n",
                                   "g");
    ind_module *m = NULL;
    CHECK(g && !ind_compile(g, NULL, &m), "%s", ind_error(c));
    ind_graph_destroy(g);
    ind_graph *k = m ? ind_module_kernel_graph(m, 0) : NULL;
    CHECK(k, "%s", ind_error(c));
    CHECK(m && !ind_module_kernel_graph(m, 1) && ind_error_status(c) == IND_NOT_FOUND, "past the last kernel");
    CHECK(m && !ind_module_kernel_graph(m, -1) && ind_error_status(c) == IND_NOT_FOUND, "below the first");
    CHECK(!ind_module_kernel_graph(NULL, 0), "no module");
    ind_module_destroy(m);
    const char *text = k ? ind_graph_text(k) : "";
    CHECK(strstr(text, "  fact M == N\n") && strstr(text, "= sum(x, dim=[1], keepdim=true, dtype=f32)"), "%s", text);
    ind_output(k, "z", ind_full(k, NULL, 0, 2, IND_F32));
    CHECK(!ind_graph_status(k) && !ind_compile(k, NULL, &m), "%s", ind_error(c));
    ind_module_destroy(m);
    ind_graph_destroy(k);
}

static void combine(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)user;
    out[0] = ind_op_add(o, l[0], r[0]);
}

/* What has no op is said, in the text of all kernels too, which is no failure. */
static void test_refused(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "refused");
    ind_tensor x = ind_input(g, "x", "f32[3, 50]");
    ind_scan_desc d = {.name = "total", .x = &x, .num = 1, .dim = 1, .combine = combine};
    ind_output(g, "y", ind_associative_scan(g, &d));
    ind_module *m = NULL;
    CHECK(!ind_compile(g, NULL, &m), "%s", ind_error(c));
    CHECK(m && !ind_module_kernel_graph(m, 0) && ind_error_status(c) == IND_NOT_SUPPORTED, "%s", ind_error(c));
    CHECK(strstr(ind_error(c), "there is no op for"), "%s", ind_error(c));
    const char *text = m ? ind_module_text(m, IND_STAGE_KERNELS) : NULL;
    CHECK(text && !strncmp(text, "# kernel 0: kernel graph of ", 28), "%s", text ? text : ind_error(c));
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

int main(void) {
    ind_context *c;
    if (ind_context_create(NULL, &c)) return 1;
    test_pointwise(c);
    test_lifetime(c);
    test_refused(c);
    ind_context_destroy(c);
    return check_summary();
}
