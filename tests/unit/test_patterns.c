/* test_patterns.c - registration of patterns: order, duplicates, errors with positions, texts of graphs with patterns,
 * every allocation failing in turn. What patterns match is tested in tests/passes. */
#define INDUCTOR_GRAPH_IMPLEMENTATION
#include "inductor.h"

#include "check.h"

#define TO(a, b) "pattern " #a "_to_" #b " {\n  input x\n  y = " #a "(x)\n} => {\n  y = " #b "(x)\n}\n"

static const char graph_text[] = "graph g {\n  size B in [1, 8]\n  input x : f32[B, 4]\n  y = exp(x)\n  output y\n}\n";

/* Compiles the graph; returns the op of y, "" on failure. */
static const char *op_of_y(ind_context *c, const char *text) {
    static char op[32];
    ind_module *m;
    ind_graph *g = ind_graph_parse(c, text, "g");
    ind_compile_desc desc = {.emit_only = true};
    op[0] = 0;
    if (!g || ind_compile(g, &desc, &m)) return op;
    const char *y = strstr(ind_module_text(m, IND_STAGE_GRAPH), "] = ");
    if (y) sscanf(y, "] = %31[a-z]", op);
    ind_module_destroy(m);
    ind_graph_destroy(g);
    return op;
}

static void check_order(void) {
    ind_context *c;
    CHECK(!ind_context_create(NULL, &c), "context");
    CHECK(!strcmp(op_of_y(c, graph_text), "exp"), "without patterns");
    CHECK(!ind_pattern_register(c, TO(exp, sin) TO(exp, cos)), "%s", ind_error(c));
    CHECK(!ind_pattern_register(c, TO(exp, tan)), "%s", ind_error(c));
    CHECK(!strcmp(op_of_y(c, graph_text), "sin"), "the first of the first text");
    CHECK(!ind_pattern_register(c, "# nothing\n"), "an empty text");
    CHECK(!strcmp(op_of_y(c, "graph g {\n" TO(exp, tanh) "  input x : f32[3]\n  y = exp(x)\n  output y\n}\n"), "tanh"),
          "the graph's own pattern is tried first");
    CHECK(!strcmp(op_of_y(c, graph_text), "sin"), "and is not registered");
    CHECK(ind_pattern_register(c, TO(exp, log) TO(exp, cos)) == IND_ERROR_INVALID_ARGUMENT, "a name twice");
    CHECK(!strcmp(ind_error(c), "pattern exp_to_cos is already registered"), "%s", ind_error(c));
    CHECK(!ind_pattern_register(c, TO(exp, log)), "the refused text left nothing: %s", ind_error(c));
    ind_context_destroy(c);
}

static void check_errors(void) {
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"pattern p {\n  input x\n  y = expp(x)\n} => {\n  y = exp(x)\n}\n", "<pattern>:3:7: unknown op \"expp\""},
        {"graph g {\n}\n", "<pattern>:1:1: expected \"pattern\", found \"graph\""},
        {TO(exp, sin) "pattern q {\n  input x\n} => {\n}\n", "<pattern>:7:1: pattern q: no op of the first part reads"},
        {TO(exp, sin) TO(exp, sin), "pattern exp_to_sin is declared twice"},
        {"pattern p {\n  input x : f33\n  input y : f33\n  z = mul(x, y)\n  guard f33 == 1\n} => {\n  z = mul(y, "
         "x)\n}\n",
         "\"f33\" is an element type; a size is needed here"},
    };
    ind_context *c;
    CHECK(!ind_context_create(NULL, &c), "context");
    CHECK(ind_pattern_register(NULL, TO(exp, sin)) == IND_ERROR_INVALID_ARGUMENT, "no context");
    CHECK(ind_pattern_register(c, NULL) == IND_ERROR_INVALID_ARGUMENT, "no text");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(ind_pattern_register(c, bad[i].text) == IND_ERROR_PARSE, "%s", bad[i].text);
        CHECK(strstr(ind_error(c), bad[i].error), "%s: %s", bad[i].error, ind_error(c));
    }
    CHECK(!strcmp(op_of_y(c, graph_text), "exp"), "nothing was registered");
    ind_context_destroy(c);
}

/* A graph with patterns prints them, and its text parses to the same text. */
static void check_text(void) {
    ind_context *c;
    CHECK(!ind_context_create(NULL, &c), "context");
    ind_graph *g = ind_graph_parse(
        c, "graph g {\n" TO(exp, sin) TO(sin, cos) "  input x : f32[3]\n  y = exp(x)\n  output y\n}\n", "g");
    const char *text = g ? ind_graph_text(g) : NULL;
    CHECK(text && strstr(text, "  pattern exp_to_sin {") && strstr(text, "pattern sin_to_cos"), "%s",
          text ? text : "-");
    ind_graph *again = text ? ind_graph_parse(c, text, "again") : NULL;
    CHECK(again && !strcmp(ind_graph_text(again), text), "%s", again ? ind_graph_text(again) : ind_error(c));
    ind_context_destroy(c);
}

/* Registers and applies a pattern with two outputs under an allocator that fails once. */
static bool apply_under_faults(check_heap *heap, long fail_at) {
    static const char merge[] = "pattern merge {\n  input x : T[M, K], v : T[K, N], w : T[K, N]\n  a = matmul(x, v)\n  "
                                "b = matmul(x, w)\n} => {\n"
                                "  c = cat([v, w], dim=1)\n  m = matmul(x, c)\n  a = slice(m, dim=1, start=0, end=N)\n"
                                "  b = slice(m, dim=1, start=N, end=2*N)\n}\n";
    static const char text[] =
        "graph g {\n  size B in [1, 8]\n  input x : f32[B, 4]\n  input v : f32[4, 6]\n  input w : f32[4, 6]\n"
        "  a = matmul(x, v)\n  e = exp(a)\n  u = relu(w)\n  b = matmul(x, u)\n  y = add(e, b)\n"
        "  input i : f32[1, 2, 3, 3]\n  const k : f32[2, 2, 1, 1]\n  const m : f32[2]\n  const n : f32[2]\n"
        "  c = conv2d(i, k)\n  d = batch_norm(c, n, none, m, n)\n  z = conv2d(d, k)\n  output y, z\n}\n";
    *heap = (check_heap){.fail_at = fail_at};
    ind_context_desc desc = {.allocator = {check_alloc, check_free, heap}, .verify = 1};
    ind_compile_desc compile = {.emit_only = true, .realise = {.channels_last = 1}};
    ind_context *c = NULL;
    ind_module *m = NULL;
    bool ok = !ind_context_create(&desc, &c) && !ind_pattern_register(c, merge);
    ind_graph *g = ok ? ind_graph_parse(c, text, "g") : NULL;
    ok = g && !ind_compile(g, &compile, &m);
    if (c) CHECK(ok || ind_error_status(c) == IND_ERROR_OUT_OF_MEMORY, "allocation %ld: %s", fail_at, ind_error(c));
    if (ok)
        CHECK(fail_at || (strstr(ind_module_text(m, IND_STAGE_PASSES), "merge: replaces a (matmul), b (matmul)") &&
                          strstr(ind_module_text(m, IND_STAGE_PASSES),
                                 "batch_norm: replaces c (convolution), d (batch_norm)")),
              "applied");
    ind_context_destroy(c);
    CHECK(heap->live == 0, "allocation %ld: %ld allocations are left", fail_at, heap->live);
    return ok;
}

static void check_faults(void) {
    check_heap heap;
    CHECK(apply_under_faults(&heap, 0), "no fault");
    const long calls = heap.calls;
    for (long n = 1; n <= calls; n++) apply_under_faults(&heap, n);
    CHECK(calls > 100, "%ld allocations", calls);
}

int main(void) {
    check_order();
    check_errors();
    check_text();
    check_faults();
    return check_summary();
}
