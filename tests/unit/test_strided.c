/* test_strided.c - extern calls with ind_extern_desc.strided: which views they get as they are, with which strides, and which are
 * copied. Values against the same view of the input in plain C. The message of a failing call. */
#include "inductor.h"

#include "check.h"

#include <string.h>

enum { ROWS = 6, COLUMNS = 8, MATRICES = 3, NUMEL = MATRICES * ROWS * COLUMNS };

typedef struct seen {
    int64_t stride[IND_MAX_RANK], offset; /* from the input's memory, in elements */
    const float *input;
} seen;

/* Copies the operand to the contiguous result. */
static ind_status gather(const ind_extern_call *c) {
    const ind_extern_tensor *x = &c->input[0], *y = &c->output[0];
    seen *s = (seen *)c->user;
    int64_t n = 1;
    if (x->rank != 3) {
        snprintf(c->message, IND_EXTERN_MESSAGE, "rank %d is not 3", x->rank);
        return IND_ERROR_SHAPE_MISMATCH;
    }
    for (int d = 0; d < 3; d++) n *= x->size[d], s->stride[d] = x->stride[d];
    const float *from = (const float *)x->data;
    s->offset = from >= s->input && from < s->input + NUMEL ? from - s->input : -1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at[3] = {i / (x->size[1] * x->size[2]), i / x->size[2] % x->size[1], i % x->size[2]};
        ((float *)y->data)[i] = from[at[0] * x->stride[0] + at[1] * x->stride[1] + at[2] * x->stride[2]];
    }
    return IND_OK;
}

typedef struct view {
    const char *statements; /* from x to v */
    const char *type;       /* of v */
    int64_t size[3], stride[3], offset;
    bool copied;
} view;

static const view views[] = {
    {"v = mul(x, 1)", "f32[B, 6, 8]", {3, 6, 8}, {48, 8, 1}, 0, false},
    {"v = transpose(x, 1, 2)", "f32[B, 8, 6]", {3, 8, 6}, {48, 1, 8}, 0, false},
    {"v = slice(x, 2, 2, 7)", "f32[B, 6, 5]", {3, 6, 5}, {48, 8, 1}, 2, false},
    {"t = slice(x, 1, 1, 4)\n  v = transpose(t, -1, -2)", "f32[B, 8, 3]", {3, 8, 3}, {48, 1, 8}, 8, false},
    {"v = transpose(x, 0, 1)", "f32[6, B, 8]", {6, 3, 8}, {8, 48, 1}, 0, false},
    {"t = select(x, 0, 1)\n  v = expand(t, size=[4, 6, 8])", "f32[4, 6, 8]", {4, 6, 8}, {0, 8, 1}, 48, false},
    {"v = slice(x, 1, 3, 4)", "f32[B, 1, 8]", {3, 1, 8}, {48, 8, 1}, 24, false},
    {"v = slice(x, 2, 5, 6)", "f32[B, 6, 1]", {3, 6, 1}, {48, 8, 1}, 5, false},
    {"t = slice(x, 1, 3, 4)\n  v = transpose(t, 0, 1)", "f32[1, B, 8]", {1, 3, 8}, {8, 48, 1}, 24, false},
    {"v = slice(x, 2, 0, 8, 2)", "f32[B, 6, 4]", {3, 6, 4}, {48, 8, 2}, 0, true},
    {"v = flip(x, dims=[0])", "f32[B, 6, 8]", {3, 6, 8}, {-48, 8, 1}, 96, true},
    {"v = flip(x, dims=[1])", "f32[B, 6, 8]", {3, 6, 8}, {48, -8, 1}, 40, true},
    {"t = select(x, 1, 2)\n  u = unsqueeze(t, 1)\n  v = expand(u, size=[B, 5, 8])", "f32[B, 5, 8]", {3, 5, 8}, {48, 0, 1}, 16, true},
};

static float expected(const float *x, const view *v, int64_t i) {
    const int64_t at[3] = {i / (v->size[1] * v->size[2]), i / v->size[2] % v->size[1], i % v->size[2]};
    return x[v->offset + at[0] * v->stride[0] + at[1] * v->stride[1] + at[2] * v->stride[2]];
}

/* The graph of the kernel, compiled and run by itself, computes the same. */
static void test_kernel_graph(ind_module *made, const view *v, const char *name) {
    float x[NUMEL], y[4 * ROWS * COLUMNS] = {0};
    const int last = ind_module_query_stats(made).num_kernels - 1;
    ind_graph *g = ind_module_kernel_graph(made, last);
    ind_module *m = NULL;
    for (int i = 0; i < NUMEL; i++) x[i] = (float)i;
    if (last > 0) { /* it reads a copy */
        CHECK(g, "%s: no graph", v->statements);
        return;
    }
    CHECK(g && !ind_compile(g, NULL, &m), "%s, %s: no module", v->statements, name);
    ind_binding io[] = {{"x", x}, {"y", y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 2, .sizes = "B=3", .memory = IND_MEMORY_HOST};
    CHECK(m && !ind_run(m, &run), "%s, %s: no run", v->statements, name);
    bool same = true;
    for (int64_t i = 0; i < v->size[0] * v->size[1] * v->size[2]; i++) same = same && y[i] == expected(x, v, i);
    CHECK(same, "%s, %s: the kernel graph has other values", v->statements, name);
    ind_module_destroy(m);
}

static void test_view(ind_context *c, const view *v, const char *name, seen *s, bool strided) {
    char text[600];
    float x[NUMEL], y[4 * ROWS * COLUMNS] = {0};
    snprintf(text, sizeof text, "graph g {\n  size B in [2, 9]\n  input x : f32[B, 6, 8]\n  %s\n  y : %s = extern(\"%s\", v)\n  output y\n}\n",
             v->statements, v->type, name);
    for (int i = 0; i < NUMEL; i++) x[i] = (float)i;
    *s = (seen){.input = x};
    ind_graph *g = ind_graph_parse(c, text, NULL);
    ind_module *m = NULL;
    CHECK(g && !ind_compile(g, NULL, &m), "%s: %s", v->statements, ind_error(c));
    ind_binding io[] = {{"x", x}, {"y", y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 2, .sizes = "B=3", .memory = IND_MEMORY_HOST};
    CHECK(m && !ind_run(m, &run), "%s: %s", v->statements, ind_error(c));
    bool same = true;
    for (int64_t i = 0; i < v->size[0] * v->size[1] * v->size[2]; i++) same = same && y[i] == expected(x, v, i);
    CHECK(same, "%s: other values", v->statements);
    const bool whole = v->size[1] == s->stride[0] / v->size[2] && s->stride[1] == v->size[2] && s->stride[2] == 1;
    if (v->copied || !strided)
        CHECK(whole && s->offset < 0, "%s: strides %d %d %d", v->statements, (int)s->stride[0], (int)s->stride[1], (int)s->stride[2]);
    else
        CHECK(!memcmp(s->stride, v->stride, sizeof v->stride) && s->offset == v->offset, "%s: strides %d %d %d from %d", v->statements,
              (int)s->stride[0], (int)s->stride[1], (int)s->stride[2], (int)s->offset);
    test_kernel_graph(m, v, name);
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

static void test_message(ind_context *c) {
    float x[4] = {0}, y[4];
    ind_graph *g = ind_graph_parse(c, "graph g {\n  input x : f32[4]\n  y : f32[4] = extern(\"views\", x)\n  output y\n}\n", NULL);
    ind_module *m = NULL;
    CHECK(g && !ind_compile(g, NULL, &m), "%s", ind_error(c));
    ind_binding io[] = {{"x", x}, {"y", y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 2, .memory = IND_MEMORY_HOST};
    CHECK(m && ind_run(m, &run) == IND_ERROR_SHAPE_MISMATCH && strstr(ind_error(c), "views: rank 1 is not 3"), "%s", ind_error(c));
}

int main(void) {
    ind_context *c;
    seen s;
    const ind_context_desc host = {.device = IND_DEVICE_HOST};
    if (ind_context_create(&host, &c)) return 1;
    ind_extern_desc strided = {.name = "views", .host = gather, .user = &s, .strided = true}, copied = strided;
    copied.strided = false;
    CHECK(!ind_extern_register(c, &strided), "%s", ind_error(c));
    CHECK(ind_extern_register(c, &copied) == IND_ERROR_INVALID_ARGUMENT, "another with this name");
    copied.name = "copies";
    CHECK(!ind_extern_register(c, &copied), "%s", ind_error(c));
    for (size_t k = 0; k < sizeof views / sizeof *views; k++) {
        test_view(c, &views[k], "views", &s, true);
        if (views[k].copied || k == 1) test_view(c, &views[k], "copies", &s, false);
    }
    test_message(c);
    ind_context_destroy(c);
    return check_summary();
}
