/* Kernels and custom ops as graphs of ops: what the C calls give, how long it lives, and what is refused with which
   words. Of all that has a text tests/numerics/test_kernels.py tests that the graphs compute what the kernels do. */
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

static ind_value doubled(ind_ops *o, const ind_expr *i, int rank, void *user) {
    ind_value x = ind_op_load(o, *(const ind_tensor *)user, i, rank);
    return ind_op_add(o, x, x);
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
    CHECK(m && !ind_module_kernel_graph(m, 1) && ind_error_status(c) == IND_ERROR_NOT_FOUND, "past the last kernel");
    CHECK(m && !ind_module_kernel_graph(m, -1) && ind_error_status(c) == IND_ERROR_NOT_FOUND, "below the first");
    CHECK(!ind_module_kernel_graph(NULL, 0), "no module");
    ind_module_destroy(m);
    const char *text = k ? ind_graph_text(k) : "";
    CHECK(strstr(text, "  fact M == N\n") && strstr(text, "= sum(x, dim=[1], keepdim=true, dtype=f32)"), "%s", text);
    ind_output(k, "z", ind_full(k, NULL, 0, 2, IND_F32));
    CHECK(!ind_graph_status(k) && !ind_compile(k, NULL, &m), "%s", ind_error(c));
    ind_module_destroy(m);
    ind_graph_destroy(k);
}

static ind_element plus(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.f = x[0].f + x[1].f};
}

/* (a, b) stands for x -> a * x + b. */
static void combine(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)user;
    ind_value sum[2] = {ind_op_mul(o, r[0], l[1]), ind_op_exp(o, ind_op_log(o, r[1]))};
    out[0] = ind_op_mul(o, l[0], r[0]);
    out[1] = ind_op_call(o, "plus", sum, 2);
}

/* Runs each kernel's graph on what the kernels before have left; b: of x and of every buffer, by name. */
static bool run_kernels(ind_module *m, const ind_binding *b, int num) {
    bool ok = true;
    for (int k = 0; ok && k < ind_module_num_kernels(m); k++) {
        ind_graph *g = ind_module_kernel_graph(m, k);
        ind_module *own = NULL;
        ind_binding io[8];
        int n = 0;
        ok = g && !ind_compile(g, NULL, &own);
        for (int i = 0; ok && i < ind_module_num_bindings(own); i++) {
            for (int j = 0; j < num; j++)
                if (!strcmp(b[j].name, ind_module_query_binding(own, i)->name)) io[n++] = b[j];
        }
        ind_run_desc run = {.bindings = io, .num_bindings = n, .memory = IND_MEMORY_HOST};
        ok = ok && !ind_run(own, &run);
        ind_module_destroy(own);
        ind_graph_destroy(g);
    }
    return ok;
}

enum { LONG = 50 };

/* A combine function becomes text, with the function that it calls; each kernel, and the whole graph from its text,
   compute the same bits. */
static void test_combine(ind_context *c) {
    static float a[3 * LONG], b[3 * LONG], y[6][3 * LONG];
    for (int i = 0; i < 3 * LONG; i++) a[i] = (float)(i % 7) / 4 - 0.5f, b[i] = (float)(i % 5) + 0.5f;
    CHECK(!ind_function_register(c, &(ind_function_desc){"plus(a: f32, b: f32) -> f32", "a + b", plus, NULL}), "%s",
          ind_error(c));
    ind_graph *g = ind_graph_create(c, "joined");
    ind_tensor x[2], zero[2];
    x[0] = ind_input(g, "a", "f32[3, 50]");
    x[1] = ind_input(g, "b", "f32[3, 50]");
    zero[0] = ind_scalar(g, 1), zero[1] = ind_scalar(g, 0);
    ind_scan_desc d = {.name = "total", .x = x, .num = 2, .dim = 1, .combine = combine};
    ind_tensor all = ind_associative_scan(g, &d);
    ind_output(g, "y", ind_result(all, 0));
    ind_output(g, "z", ind_result(all, 1));
    d.reverse = d.exclusive = true;
    d.identity = zero;
    ind_output(g, "w", ind_result(ind_associative_scan(g, &d), 1));
    const char *text = ind_graph_text(g);
    CHECK(strstr(text, "  function plus(a: f32, b: f32) -> f32 = \"a + b\"\n") &&
              strstr(text,
                     "combine=\"t5 = mul(r0, l1); t6 = log(r1); t7 = exp(t6); mul(l0, r0), plus(t5, t7)\")   # total"),
          "%s", text);
    ind_graph *parsed = ind_graph_parse(c, text, "joined");
    CHECK(parsed, "%s", ind_error(c));
    ind_module *m = NULL, *again = NULL;
    CHECK(!ind_compile(g, NULL, &m) && !ind_compile(parsed, NULL, &again), "%s", ind_error(c));
    for (int k = 0; k < 3; k++) {
        ind_binding io[] = {{"a", a}, {"b", b}, {"y", y[k]}, {"z", y[3 + k]}, {"w", y[(k + 1) % 3 + 3]}};
        static float last[3][3 * LONG];
        io[4].data = last[k];
        ind_run_desc run = {.bindings = io, .num_bindings = 5, .memory = IND_MEMORY_HOST};
        CHECK(k == 2 ? run_kernels(m, io, 5) : !ind_run(k ? again : m, &run), "%s", ind_error(c));
        bool same = !memcmp(y[k], y[0], sizeof y[0]) && !memcmp(y[3 + k], y[3], sizeof y[3]);
        CHECK(same && !memcmp(last[k], last[0], sizeof last[0]), "run %d differs", k);
    }
    CHECK(y[3][0] == b[0] && y[3][1] != b[1], "not a scan");
    ind_module_destroy(m);
    ind_module_destroy(again);
    ind_graph_destroy(g);
    ind_graph_destroy(parsed);
}

/* What is no combine function, and where. */
static void test_bad_combine(ind_context *c) {
    static const char *const bad[][2] = {
        {"add(l0)", "column 7: expected \",\", found \")\""},
        {"add(l0, r1)", "column 9: \"r1\" is no value; there are l0 to l0, r0 to r0"},
        {"sum(l0, r0)", "column 1: sum is no loop op on values and no function"},
        {"t = add(l0, r0), t", "expected \";\""},
        {"add(l0, r0), r0", "expected the end"},
        {"and(l0, r0)", "loop op and: f32"},
        {"where(l0, l0, r0)", "the condition must be bool"},
        {"add(l0, r0); ", "expected the end, found \";\""},
        {"", "a value"},
        {"load(l0)", "load is no loop op on values"},
        {"plus(l0, f64(1))", "plus: b is f64, which does not become f32"},
    };
    char text[300];
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        snprintf(
            text, sizeof text,
            "graph g {\n  input x : f32[3, 50]\n  y = associative_scan([x], dim=1, combine=\"%s\")\n  output y\n}\n",
            bad[k][0]);
        ind_graph *g = ind_graph_parse(c, text, "t");
        CHECK(!g && strstr(ind_error(c), "t:3:7: combine: ") && strstr(ind_error(c), bad[k][1]), "%s: %s", bad[k][0],
              g ? "no error" : ind_error(c));
        ind_graph_destroy(g);
    }
    const char *counted = "graph g {\n  input x : f32[3]\n  y = associative_scan([x], 0, 2, combine=\"l0, l1\")\n}\n";
    CHECK(!ind_graph_parse(c, counted, "t") && strstr(ind_error(c), "which does not fit"), "%s", ind_error(c));
    ind_graph *g = ind_graph_create(c, "applied");
    ind_tensor x = ind_input(g, "x", "f32[5]");
    CHECK(ind_apply(g, "associative_scan([$0], 0, combine=\"add(l0, r0)\")", &x, 1).id, "%s", ind_error(c));
    CHECK(!ind_apply(g, "associative_scan([$0], 0, combine=\"l2\")", &x, 1).id && strstr(ind_error(c), "no value"),
          "%s", ind_error(c));
    ind_graph_destroy(g);
}

/* Puts its second operand in front of the first, which it overwrites, and tells how many elements that were. */
static ind_status put_front(const ind_extern_call *call) {
    int64_t n = call->input[1].size[0] * call->input[1].size[1];
    if (call->num_inputs != 2 || call->num_outputs != 2 || call->workspace_bytes != 64)
        return IND_ERROR_INVALID_ARGUMENT;
    if (call->output[1].data != call->input[0].data)
        memcpy(call->output[1].data, call->input[0].data, 40 * sizeof(float));
    memcpy(call->output[1].data, call->input[1].data, (size_t)n * sizeof(float));
    *(int64_t *)call->output[0].data = n;
    return IND_OK;
}

/* An extern call is a node of the graph, with its operands, its workspace and the buffers that it overwrites. */
static void test_opaque(ind_context *c) {
    static float base[2][40], x[8], y[2][40];
    static int64_t n[2];
    for (int i = 0; i < 40; i++) base[0][i] = base[1][i] = (float)i;
    for (int i = 0; i < 8; i++) x[i] = -1.5f * (float)i;
    CHECK(!ind_extern_register(c, &(ind_extern_desc){.name = "lib.front", .host = put_front}), "%s", ind_error(c));
    ind_graph *g = ind_graph_parse(c,
                                   "graph g {\n  input base : f32[5, 8]\n  input x : f32[1, 8]\n"
                                   "  n : i64[], after = extern(\"lib.front\", base, x, workspace=64, mutates=[0])\n"
                                   "  y = mul(after, 2.0)\n  mutate base = after\n  output n, y\n}\n",
                                   "g");
    ind_module *m = NULL;
    CHECK(g && !ind_compile(g, NULL, &m), "%s", ind_error(c));
    const char *text = m ? ind_module_text(m, IND_STAGE_KERNELS) : NULL;
    CHECK(text && strstr(text, "  n : i64[], buf") &&
              strstr(text,
                     " : f32[5, 8] = extern(\"lib.front\", base, x, workspace=64, mutates=[0])\n  mutate base = buf"),
          "%s", text ? text : ind_error(c));
    for (int k = 0; m && k < 2; k++) {
        ind_binding io[] = {{"base", base[k]}, {"x", x}, {"n", &n[k]}, {"y", y[k]}, {"after", base[k]}};
        ind_run_desc run = {.bindings = io, .num_bindings = 4, .memory = IND_MEMORY_HOST};
        for (int i = 0; k && i < ind_module_num_kernels(m); i++) { /* the new version lies where the old one did */
            const char *tensor = NULL;
            for (int at = 0;; at++) {
                const char *name = ind_module_kernel_buffer(m, i, at, &tensor);
                if (!name) break;
                if (!strcmp(tensor, "after")) io[4].name = name;
            }
        }
        CHECK(k ? run_kernels(m, io, 5) : !ind_run(m, &run), "%s", ind_error(c));
    }
    CHECK(n[0] == 8 && n[1] == 8 && base[1][7] == x[7] && base[1][8] == 8, "not what it puts");
    CHECK(!memcmp(base[0], base[1], sizeof *base) && !memcmp(y[0], y[1], sizeof *y), "not the same");
    CHECK(m && !ind_module_kernel_buffer(m, 0, -1, NULL) && !ind_module_kernel_buffer(m, 99, 0, NULL),
          "no such buffer");
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

/* A size from data is a size of the kernel's graph; the one of a custom op's function, too. */
static void test_data_sizes(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "counted");
    ind_size(g, "N in [1, 64]");
    ind_tensor t[2];
    t[0] = ind_masked_select(ind_input(g, "x", "f32[N]"), ind_input(g, "m", "bool[N]"));
    t[1] = ind_input(g, "b", "f32[N]");
    ind_loop_desc d = {.name = "own", .like = t[0], .fn = doubled, .user = t};
    ind_tensor own = ind_pointwise(g, &d);
    ind_output(g, "y", own);
    ind_graph *ops = ind_pointwise_graph(own);
    const char *text = ops ? ind_graph_text(ops) : ind_error(c);
    CHECK(strstr(text, "  size u0 in [0, 64] multiple_of 1 hint 64\n  fact u0 <= N\n") &&
              strstr(text, "masked_select : f32[u0]"),
          "%s", text);
    ind_module *m = NULL;
    CHECK(!ind_compile(g, NULL, &m), "%s", ind_error(c));
    text = m ? ind_module_text(m, IND_STAGE_KERNELS) : "";
    CHECK(strstr(text, ", u0 in buf") && strstr(text, "  fact u0 <= N\n"), "%s", text);
    ind_module_destroy(m);
    ind_graph_destroy(ops);
    ind_graph_destroy(g);
}

int main(void) {
    ind_context *c;
    if (ind_context_create(NULL, &c)) return 1;
    test_pointwise(c);
    test_lifetime(c);
    test_combine(c);
    test_bad_combine(c);
    test_opaque(c);
    test_data_sizes(c);
    ind_context_destroy(c);
    return check_summary();
}
