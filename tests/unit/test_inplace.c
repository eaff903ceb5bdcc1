/* test_inplace.c - ops in place: what the graph becomes, in C as in text; what is refused; what the kernels write;
 * failing allocations. Values are in tests/numerics (cases_inplace.py) and tests/fuzz (test_inplace.py). */
#include "inductor.h"

#include <string.h>

#include "check.h"

/* ---- the graph */

static void check_text(ind_context *ctx, const char *body, const char *want) {
    char text[2000];
    snprintf(text, sizeof text, "graph t {\n%s}\n", body);
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    CHECK(g && !strcmp(ind_graph_text(g), want), "%s\n%s", body, g ? ind_graph_text(g) : ind_error(ctx));
    ind_graph *again = g ? ind_graph_parse(ctx, ind_graph_text(g), NULL) : NULL;
    CHECK(again && !strcmp(ind_graph_text(again), want), "%s reads back: %s", body, ind_error(ctx));
    CHECK(!g || !ind__graph_verify(g), "%s", ind_error(ctx));
    ind_graph_destroy(again);
    ind_graph_destroy(g);
}

static void test_text(ind_context *ctx) {
    /* a name for the result is another one for the tensor; what was read before stays */
    check_text(ctx,
               "  input x : f32[4]\n  before = neg(x)\n  t : f32[4] = add_(x, 1)\n  mul_(t, 2)\n  after = neg(x)\n"
               "  output before, after\n",
               "graph t {\n  input x : f32[4]\n  before : f32[4] = neg(x)\n  add : f32[4] = add(x, 1)\n"
               "  mul : f32[4] = mul(add, 2)\n  after : f32[4] = neg(mul)\n  mutate x = mul\n"
               "  output before, after\n}\n");
    /* it may name the output, which is not the input */
    check_text(ctx, "  input x : f32[4]\n  y = add_(x, 1)\n  output y\n",
               "graph t {\n  input x : f32[4]\n  add : f32[4] = add(x, 1)\n  mutate x = add\n  output y = add\n}\n");
    /* a view of a view is put back through both; a view made before reads the new contents */
    check_text(ctx,
               "  size P in [0, 5]\n  input x : f32[4, 6]\n  input y : f32[4]\n  row = select(x, 0, 1)\n"
               "  w = transpose(x, 0, 1)\n  v = select(w, 0, P)\n  copy_(v, y)\n  z = neg(row)\n  output z\n",
               "graph t {\n  size P in [0, 5] multiple_of 1 hint 5\n  input x : f32[4, 6]\n  input y : f32[4]\n"
               "  row : f32[6] = select(x, dim=0, index=1)\n  w : f32[6, 4] = transpose(x, dim0=0, dim1=1)\n"
               "  v : f32[4] = select(w, dim=0, index=P)\n  copy : f32[4] = copy(v, y)\n"
               "  select_scatter : f32[6, 4] = select_scatter(w, copy, dim=0, index=P)\n"
               "  permute : f32[4, 6] = permute(select_scatter, dims=[1, 0])\n"
               "  select_2 : f32[6] = select(permute, dim=0, index=1)\n  z : f32[6] = neg(select_2)\n"
               "  mutate x = permute\n  output z\n}\n");
    /* the type stays */
    check_text(ctx, "  input h : f16[4]\n  input x : f32[4]\n  add_(h, x)\n",
               "graph t {\n  input h : f16[4]\n  input x : f32[4]\n  add : f32[4] = add(h, x)\n"
               "  cast : f16[4] = cast(add, dtype=f16)\n  mutate h = cast\n}\n");
    /* an intermediate has separate memory; reshape of a non-contiguous tensor copies, of a contiguous one does not */
    check_text(ctx,
               "  input x : f32[2, 3]\n  y = exp(x)\n  w = transpose(y, 0, 1)\n  apart = reshape(w, [6])\n"
               "  fill_(apart, 7)\n  flat = flatten(y)\n  fill_(flat, 8)\n  output y, apart\n",
               "graph t {\n  input x : f32[2, 3]\n  y : f32[2, 3] = exp(x)\n"
               "  w : f32[3, 2] = transpose(y, dim0=0, dim1=1)\n  apart : f32[6] = reshape(w, shape=[6])\n"
               "  fill : f32[6] = fill(apart, 7)\n  flat : f32[6] = flatten(y)\n  fill_1 : f32[6] = fill(flat, 8)\n"
               "  view : f32[2, 3] = view(fill_1, size=[2, 3])\n  output y = view, apart = fill\n}\n");
}

/* What the builders make is what the text makes. */
static void test_builders(ind_context *ctx) {
    static const char text[] = "graph t {\n  input x : f32[4, 6]\n  input y : f32[6]\n  part = slice(x, 0, 1, 3)\n"
                               "  add_(part, y)\n  sigmoid_(x)\n  mul_(x, 3)\n  output part = part\n}\n";
    ind_graph *g = ind_graph_create(ctx, "t"), *read = ind_graph_parse(ctx, text, NULL);
    ind_tensor x = ind_input(g, "x", "f32[4, 6]"), y = ind_input(g, "y", "f32[6]"), none = {0};
    ind_tensor part = ind_named(ind_slice(x, 0, ind_int(ctx, 1), ind_int(ctx, 3), (ind_expr){0}), "part");
    ind_tensor same = ind_inplace(part, ind_add(part, y));
    CHECK(same.id == part.id && same.graph == g, "an op in place gives its first operand");
    ind_inplace(x, ind_sigmoid(x));
    CHECK(ind_apply(g, "mul_($0, 3)", &x, 1).id == x.id, "by a call of the text form");
    ind_output(g, "part", part);
    CHECK(!ind_graph_status(g), "%s", ind_graph_error(g));
    CHECK(read && !strcmp(ind_graph_text(g), ind_graph_text(read)), "%s%s", ind_graph_text(g),
          read ? ind_graph_text(read) : ind_error(ctx));
    CHECK(!ind_inplace(none, none).id, "nothing");
    CHECK(!ind_inplace(x, none).id && ind_graph_status(g) == IND_ERROR_INVALID_ARGUMENT, "%s", ind_graph_error(g));
    CHECK(strstr(ind_graph_error(g), "inplace: not two tensors of this graph"), "%s", ind_graph_error(g));
    ind_graph_destroy(g);
    ind_graph_destroy(read);
}

static const struct {
    const char *statements, *want;
} refused[] = {
    {"add_(x, big)", "add_: the result is f32[3, 4], x is f32[4], which cannot grow"},
    {"add_(n, x)", "add_: the result is f32[4], which cannot be written to n (i64[4])"},
    {"div_(n, n)", "div_: the result is f32[4], which cannot be written to n (i64[4])"},
    {"add_(p, n)", "add_: the result is i64[4], which cannot be written to p (bool[4])"},
    {"mul_(w, 2)", "mul_: w is a constant, which no run changes"},
    {"v = slice(w, 0, 1)\n  zero = fill_(v, 0)", "fill_: w is a constant"},
    {"add_(1, x)", "add_: self is a number"},
    {"e = expand(one, [3, 4])\n  fill_(e, 1)", "the result of expand, which views an element of one more than once"},
    {"u = unfold(x, 0, 2, 1)\n  fill_(u, 1)", "the result of unfold, which views an element of x more than once"},
    {"s = as_strided(x, [3, 2], [1, 1])\n  fill_(s, 1)", "the result of as_strided, which views an element of x"},
    {"mutate x = y\n  add_(x, 1)", "add_: a mutate statement already says what x becomes"},
    {"add_(x, 1)\n  mutate x = y", "mutate: x is given twice"},
    {"softmax_(x, 0)", "softmax_"},
    {"add(x, 1)", "add: its result needs a name"},
    {"a, b = add_(x, 1)", "add has 1 result, 2 names are given"},
    {"y = add_(x, 1)", "the name \"y\" is already taken"},
    {"t : i64[4] = add_(x, 1)", "t is written as i64[4], the op gives f32[4]"},
    {"add_()", "add: argument \"self\" is missing"},
    {"add_(q, 1)", "there is no tensor \"q\" above this line"},
};

static void test_refused(ind_context *ctx) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "graph t {\n  input x : f32[4]\n  input y : f32[4]\n  input big : f32[3, 4]\n  input one : f32[1, 4]\n"
                 "  input n : i64[4]\n  input p : bool[4]\n  const w : f32[4]\n  %s\n  output o = y\n}\n",
                 refused[i].statements);
        ind_graph *g = ind_graph_parse(ctx, text, NULL);
        CHECK(!g && strstr(ind_error(ctx), refused[i].want), "%s: %s", refused[i].statements,
              g ? "accepted" : ind_error(ctx));
        ind_graph_destroy(g);
    }
}

/* ---- what the kernels read and write */

static const struct {
    const char *name, *body, *sizes;
    int kernels;
    int64_t reads, writes;
} costs[] = {
    {"pointwise", "  input x : f32[8, 64]\n  add_(x, 1)\n", "", 1, 2048, 2048},
    {"several", "  input x : f32[8, 64]\n  add_(x, 1)\n  mul_(x, 3)\n  relu_(x)\n", "", 1, 2048, 2048},
    {"with another", "  input x : f32[8, 64]\n  input y : f32[64]\n  add_(x, y)\n", "", 1, 2048 + 256, 2048},
    {"a slice", "  input x : f32[8, 64]\n  s = slice(x, 0, 2, 4)\n  mul_(s, 2)\n", "", 1, 512, 512},
    {"through a transpose", "  input x : f32[8, 64]\n  w = transpose(x, 0, 1)\n  s = slice(w, 0, 3, 5)\n  exp_(s)\n",
     "", 1, 64, 64},
    {"a diagonal", "  input x : f32[8, 8]\n  d = diagonal(x)\n  fill_(d, 1)\n", "", 1, 0, 32},
    {"one position",
     "  size P in [0, 63]\n  input x : f32[8, 64]\n  input y : f32[8]\n  s = select(x, 1, P)\n"
     "  add_(s, y)\n",
     "P=5", 1, 64, 32},
    {"views of views",
     "  size P in [0, 63]\n  input x : f32[2, 4, 64, 16]\n  input k : f32[4, 16]\n  keys = select(x, 0, 0)\n"
     "  s = select(keys, 1, P)\n  copy_(s, k)\n",
     "P=0", 1, 256, 256},
    {"half a cache by data",
     "  input x : f32[2, 4, 64, 16]\n  input k : f32[4, 1, 16]\n  input at : i64[1]\n  keys = select(x, 0, 0)\n"
     "  index_copy_(keys, 1, at, k)\n",
     "", 1, 256 + 8, 256},
    {"both halves, read after",
     "  size P in [0, 63]\n  input x : f32[2, 4, 64, 16]\n  input k : f32[4, 16]\n  input v : f32[4, 16]\n"
     "  keys, values = unbind(x)\n  s = select(keys, 1, P)\n  copy_(s, k)\n  t = select(values, 1, P)\n"
     "  copy_(t, v)\n  y = sum(keys)\n  output y\n",
     "P=0", 3, 256 + 256 + 16384, 256 + 256 + 4},
    {"onto what it reads", "  input x : f32[8]\n  a = slice(x, 0, 1)\n  b = slice(x, 0, 0, 7)\n  copy_(a, b)\n", "", 2,
     56, 56},
};

static void test_costs(ind_context *ctx) {
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        char text[1000];
        int64_t bytes, reads = 0, writes = 0;
        ind_module *m = NULL;
        snprintf(text, sizeof text, "graph t {\n%s}\n", costs[i].body);
        ind_graph *g = ind_graph_parse(ctx, text, NULL);
        CHECK(g && !ind_compile(g, &(ind_compile_desc){.device = IND_DEVICE_HOST}, &m), "%s: %s", costs[i].name,
              ind_error(ctx));
        ind_graph_destroy(g);
        if (!m) continue;
        for (int k = 0; k < ind_module_num_kernels(m); k++) {
            ind_kernel_info info;
            CHECK(!ind_module_query_kernel(m, k, &info), "kernel %d", k);
            CHECK(!ind_formula_eval(m, info.bytes_read, costs[i].sizes, &bytes), "%s", ind_error(ctx));
            reads += bytes;
            CHECK(!ind_formula_eval(m, info.bytes_written, costs[i].sizes, &bytes), "%s", ind_error(ctx));
            writes += bytes;
        }
        CHECK(ind_module_num_kernels(m) == costs[i].kernels && reads == costs[i].reads && writes == costs[i].writes,
              "%s: %d kernels, reads %lld, writes %lld\n%s", costs[i].name, ind_module_num_kernels(m), (long long)reads,
              (long long)writes, ind_module_text(m, IND_STAGE_SCHEDULE));
        ind_module_destroy(m);
    }
}

/* Who keeps the old contents is said where a copy is made for that. */
static void test_kept(ind_context *ctx) {
    static const char text[] = "graph t {\n  input x : f32[8, 64]\n  input i : i64[2]\n  input y : f32[2, 64]\n"
                               "  v = index_copy(x, 0, i, y)\n  t = sum(v)\n  s = add(x, t)\n  mutate x = v\n  output s\n}\n";
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    CHECK(g && !ind_compile(g, &(ind_compile_desc){.device = IND_DEVICE_HOST}, &m), "%s", ind_error(ctx));
    const char *schedule = m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "";
    CHECK(strstr(schedule, "index_copy of x not in place: add reads its old contents later"), "%s", schedule);
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

/* Through two views, with an index that is named twice; also where sums must have the same bits on every run. */
static void test_deterministic(ind_context *ctx, bool deterministic) {
    static const char text[] = "graph t {\n  input x : f32[2, 3, 4]\n  input i : i64[3]\n  input y : f32[4, 3]\n"
                               "  half = select(x, 0, 1)\n  turned = transpose(half, 0, 1)\n"
                               "  index_add_(turned, 1, i, y)\n}\n";
    float x[2][3][4], y[4][3];
    int64_t index[3] = {2, 0, 2};
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    const ind_compile_desc d = {.device = IND_DEVICE_HOST, .deterministic = deterministic};
    CHECK(g && !ind_compile(g, &d, &m), "%s", ind_error(ctx));
    ind_graph_destroy(g);
    for (int k = 0; k < 24; k++) ((float *)x)[k] = (float)k;
    for (int k = 0; k < 12; k++) ((float *)y)[k] = (float)(k * k);
    ind_binding io[] = {{"x", x}, {"i", index}, {"y", y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .memory = IND_MEMORY_HOST};
    CHECK(m && !ind_run(m, &run), "%s", ind_error(ctx));
    for (int a = 0; a < 2; a++) {
        for (int b = 0; b < 3; b++) {
            for (int c = 0; c < 4; c++) {
                float want = (float)(a * 12 + b * 4 + c);
                for (int k = 0; k < 3; k++) want += a == 1 && index[k] == b ? (float)((c * 3 + k) * (c * 3 + k)) : 0.0f;
                CHECK(x[a][b][c] == want, "[%d, %d, %d] is %g, not %g", a, b, c, (double)x[a][b][c], (double)want);
            }
        }
    }
    ind_module_destroy(m);
}

/* ---- every allocation fails once */

static void test_no_memory(void) {
    static const char text[] = "graph t {\n  input x : f32[4, 6]\n  input y : f32[4]\n  w = transpose(x, 0, 1)\n"
                               "  u = unfold(x, 1, 2, 2)\n  v = select(w, 0, 1)\n  copy_(v, y)\n  add_(u, 1)\n"
                               "  t = neg_(x)\n  output o = v, p = u\n}\n";
    bool failed = true;
    for (long n = 1; failed; n++) {
        check_heap heap = {.fail_at = n};
        ind_context *ctx = NULL;
        ind_module *m = NULL;
        ind_context_desc d = {.allocator = {check_alloc, check_free, &heap}, .device = IND_DEVICE_HOST, .verify = 1};
        ind_status status = ind_context_create(&d, &ctx);
        ind_graph *g = status ? NULL : ind_graph_parse(ctx, text, NULL);
        if (!status) status = g ? ind_compile(g, NULL, &m) : ind_error_status(ctx);
        failed = heap.calls >= n;
        /* some memory only makes things faster */
        CHECK(!status || (failed && status == IND_ERROR_OUT_OF_MEMORY), "allocation %ld: %s", n, ctx ? ind_error(ctx) : "");
        ind_context_destroy(ctx);
        CHECK(heap.live == 0, "allocation %ld: %ld leaked", n, heap.live);
    }
}

int main(void) {
    ind_context *ctx = NULL;
    if (ind_context_create(&(ind_context_desc){.verify = 1}, &ctx)) return 1;
    test_text(ctx);
    test_builders(ctx);
    test_refused(ctx);
    test_costs(ctx);
    test_kept(ctx);
    test_deterministic(ctx, false);
    test_deterministic(ctx, true);
    ind_context_destroy(ctx);
    test_no_memory();
    return check_summary();
}
