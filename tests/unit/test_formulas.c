/* test_formulas.c - what a module says of itself in formulas: bytes and operations of kernels against numbers counted
 * by hand, bounds, values, the largest size that fits against trying all of them, inverses, and what a run at given
 * sizes would meet. */
#include "inductor.h"

#include "check.h"

#include <string.h>

static ind_context *ctx;

static ind_module *compile_text(const char *text, bool emit_only) {
    ind_graph *g = ind_graph_parse(ctx, text, "case");
    ind_module *m = NULL;
    ind_compile_desc desc = {.device = IND_DEVICE_HOST, .emit_only = emit_only};
    if (g) (void)ind_compile(g, &desc, &m);
    CHECK(m, "%s", ind_error(ctx));
    ind_graph_destroy(g);
    return m;
}

static int64_t value(ind_module *m, ind_formula f, const char *sizes) {
    int64_t v = INT64_MIN;
    CHECK(!ind_formula_eval(m, f, sizes, &v), "%s: %s", sizes, ind_error(ctx));
    return v;
}

static bool error_has(const char *words) {
    return strstr(ind_error(ctx), words) != NULL;
}

/* ---- bytes, operations, launches */

static void test_softmax(void) {
    ind_module *m =
        compile_text("graph s {\n size B in [1, 4096]\n size S in [1, 1024] hint 100\n input x : f32[B, S]\n"
                     " y = softmax(x, dim=-1)\n output y\n}\n",
                     true);
    ind_kernel_info k;
    if (!m) return;
    CHECK(ind_module_num_kernels(m) == 1, "%d", ind_module_num_kernels(m));
    CHECK(!ind_module_query_kernel(m, 0, &k), "%s", ind_error(ctx));
    CHECK(!strcmp(k.name, "softmax"), "%s", k.name);
    CHECK(k.num_origins == 1 && !strcmp(ind_module_kernel_origin(m, 0, 0), "softmax"), "%d", k.num_origins);
    CHECK(!ind_module_kernel_origin(m, 0, 1) && !ind_module_kernel_origin(m, 1, 0), "past the end");
    static const int at[][2] = {{1, 1}, {7, 300}, {4096, 1024}};
    for (int i = 0; i < 3; i++) {
        char sizes[40];
        long long b = at[i][0], s = at[i][1];
        snprintf(sizes, sizeof sizes, "B=%lld, S=%lld", b, s);
        CHECK(value(m, k.bytes_read, sizes) == 4 * b * s, "one f32 per element is read");
        CHECK(value(m, k.bytes_written, sizes) == 4 * b * s, "one f32 per element is written");
        CHECK(value(m, ind_module_bytes_read(m), sizes) == 4 * b * s, "one kernel is all");
        CHECK(value(m, ind_module_bytes_written(m), sizes) == 4 * b * s, "one kernel is all");
        for (int v = 0; v < k.num_variants; v++) {
            int64_t blocks = value(m, k.variant[v].grid[0], sizes), one = value(m, k.variant[v].grid[2], sizes);
            bool warps = !strcmp(k.variant[v].strategy, "row per warp");
            int64_t rows = warps ? k.variant[v].threads / 32 : 1; /* rows of a block: one for each warp */
            CHECK(blocks == (b + rows - 1) / rows && one == 1, "%s: %lld blocks", k.variant[v].strategy,
                  (long long)blocks);
            CHECK(k.variant[v].index_bits == 32 && k.variant[v].threads % 32 == 0, "%d", k.variant[v].threads);
        }
    }
    CHECK(k.num_variants >= 1 && !k.variant[k.num_variants - 1].guard.id, "the last variant is always valid");
    int64_t lo, hi;
    CHECK(!ind_formula_bounds(m, k.bytes_read, &lo, &hi) && lo == 4 && hi == 4ll * 4096 * 1024, "[%lld, %lld]",
          (long long)lo, (long long)hi);
    ind_module_destroy(m);
}

static void test_linear(void) {
    ind_module *m = compile_text("graph l {\n size B in [1, 64]\n input x : f32[B, 40]\n const w : f32[24, 40]\n"
                                 " const b : f32[24]\n h = linear(x, w, b)\n y = relu(h)\n s = sum(x, dim=[0])\n"
                                 " output y, s\n}\n",
                                 false);
    ind_kernel_info k;
    int64_t read = 0, written = 0, flops = 0;
    if (!m) return;
    for (int i = 0; !ind_module_query_kernel(m, i, &k); i++) {
        read += value(m, k.bytes_read, "B=10");
        written += value(m, k.bytes_written, "B=10");
        flops += value(m, k.flops, "B=10");
    }
    CHECK(ind_error_status(ctx) == IND_ERROR_NOT_FOUND && error_has("has no kernel"), "%s", ind_error(ctx));
    CHECK(value(m, ind_module_bytes_read(m), "B=10") == read, "totals add up");
    CHECK(value(m, ind_module_flops(m), "B=10") == flops, "totals add up");
    CHECK(written == 4 * (10 * 24 + 40), "%lld", (long long)written);
    CHECK(read == 4 * (10 * 40 + 24 * 40 + 24) + 4 * 10 * 40, "%lld", (long long)read);
    /* 2*B*N*K of the product, B*N each for bias and relu, B*K additions of the sum */
    CHECK(flops >= 2 * 10 * 24 * 40 + 2 * 10 * 24 + 10 * 40 && flops <= 2 * 10 * 24 * 40 + 4 * 10 * 24 + 10 * 40,
          "%lld", (long long)flops);
    ind_module_destroy(m);
}

/* ---- the largest size that fits */

static const char model[] =
    "graph block {\n"
    "  size B in [1, 100000] hint 8\n"
    "  size S in [16, 4096] multiple_of 16 hint 512\n"
    "  input x : f16[B, S, 512]\n"
    "  const wq : f16[512, 512]\n  const wk : f16[512, 512]\n  const wv : f16[512, 512]\n"
    "  const w1 : f16[2048, 512]\n  const w2 : f16[512, 2048]\n"
    "  q0 = linear(x, wq)\n  k0 = linear(x, wk)\n  v0 = linear(x, wv)\n"
    "  q1 = view(q0, size=[B, S, 8, 64])\n  q = transpose(q1, 1, 2)\n"
    "  k1 = view(k0, size=[B, S, 8, 64])\n  k2 = transpose(k1, 1, 2)\n  k = transpose(k2, 2, 3)\n"
    "  v1 = view(v0, size=[B, S, 8, 64])\n  v = transpose(v1, 1, 2)\n"
    "  a = matmul(q, k)\n  b = mul(a, 0.125)\n  p = softmax(b, dim=-1)\n"
    "  o = matmul(p, v)\n  o1 = transpose(o, 1, 2)\n  o2 = view(o1, size=[B, S, 512])\n"
    "  r = add(x, o2)\n  n = layer_norm(r, normalized_shape=[512])\n"
    "  h = linear(n, w1)\n  g = gelu(h)\n  y0 = linear(g, w2)\n  y = add(y0, r)\n"
    "  output y\n}\n";

static void test_model(void) {
    ind_module *m = compile_text(model, false);
    if (!m) return;
    static const int64_t limits[] = {1 << 20, 100 << 20, 1ll << 30, 20ll << 30, 1ll << 40};
    static const int lengths[] = {16, 512, 2048, 4096};
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 4; k++) {
            char with[64], sizes[64];
            snprintf(with, sizeof with, "S=%d", lengths[k]);
            int64_t b = ind_formula_solve(m, ind_module_workspace(m), "B", with, limits[i]);
            CHECK(b != -1 || ind_error_status(ctx) == IND_ERROR_OUT_OF_RANGE, "%s", ind_error(ctx));
            if (b > 0) {
                snprintf(sizes, sizeof sizes, "B=%lld, S=%d", (long long)b, lengths[k]);
                CHECK(value(m, ind_module_workspace(m), sizes) <= limits[i], "%s does not fit", sizes);
            }
            if (b < 100000) {
                snprintf(sizes, sizeof sizes, "B=%lld, S=%d", (long long)(b < 0 ? 1 : b + 1), lengths[k]);
                CHECK(value(m, ind_module_workspace(m), sizes) > limits[i], "%s fits too", sizes);
            }
        }
    }
    int64_t s = ind_formula_solve(m, ind_module_peak(m), "S", "B=4", 64 << 20);
    CHECK(s > 0 && s % 16 == 0, "%lld", (long long)s);
    ind_module_destroy(m);
}

/* Any formula, against trying all values. */

static uint64_t state = 1;

static int64_t pick(int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)below);
}

static ind_expr random_formula(ind_module *m, int depth) {
    static const int64_t numbers[] = {0, 1, 2, 3, 5, 7, 16, 64, 255, -1, -4, -9, 1000, 1ll << 40, INT64_MAX / 100};
    if (depth == 0 || pick(8) == 0) {
        int64_t k = pick(5);
        ind_expr b, s;
        b = m->desc.sizes[0], s = m->desc.sizes[1];
        return k < 2 ? b : k == 2 ? s : ind_int(ctx, numbers[pick(depth > 2 ? 9 : 15)]);
    }
    ind_expr a = random_formula(m, depth - 1), b = random_formula(m, depth - 1);
    ind_expr divisor = ind_int(ctx, pick(2) ? 2 + pick(20) : -2 - pick(6));
    switch (pick(11)) {
    case 0:
    case 1:
    case 2: return ind_expr_add(a, b);
    case 3:
    case 4: return ind_expr_mul(a, b);
    case 5: return ind_expr_floordiv(a, divisor);
    case 6: return ind_expr_mod(a, divisor);
    case 7: return ind_expr_min(a, b);
    case 8: return ind_expr_max(a, b);
    case 9: return ind_expr_where(ind_expr_le(a, b), a, ind_expr_sub(b, a));
    default: return ind_expr_floordiv(a, ind_expr_add(m->desc.sizes[1], ind_int(ctx, 1)));
    }
}

static void test_random(void) {
    ind_module *m = compile_text("graph r {\n size B in [3, 203] multiple_of 2\n size S in [0, 90]\n guard B % 6 != 0\n"
                                 " input x : f32[B, S]\n y = exp(x)\n output y\n}\n",
                                 false);
    int solved = 0, none = 0;
    for (int i = 0; m && i < 4000; i++) {
        ind_expr f = random_formula(m, 1 + (int)pick(5));
        ind_evaluator *e = NULL;
        if (!f.id || ind_evaluator_create(m, &f, 1, &e)) continue;
        int64_t sizes[2] = {0, pick(91)}, v, limit = pick(3) ? pick(2000) - 500 : pick(1ll << 30) << pick(30),
                want = -1;
        for (sizes[0] = 4; sizes[0] <= 203; sizes[0] += 2)
            if (sizes[0] % 6 && !ind_evaluator_run(e, sizes, &v) && v <= limit) want = sizes[0];
        char with[32], text[400];
        snprintf(with, sizeof with, "S=%lld", (long long)sizes[1]);
        int64_t got = ind_formula_solve(m, f, "B", with, limit);
        ind_expr_print(f, text, sizeof text);
        CHECK(got == want, "%s <= %lld with %s: %lld instead of %lld", text, (long long)limit, with, (long long)got,
              (long long)want);
        solved += got > 0, none += got < 0;
        ind_evaluator_destroy(e);
    }
    CHECK(solved > 500 && none > 500, "%d solved, %d not", solved, none);
    ind_module_destroy(m);
}

/* Up and down over a range that cannot be tried out. */
static void test_wide(void) {
    ind_module *m = compile_text("graph w {\n size B in [0, 4000000000]\n size S in [1, 8]\n input x : f32[B]\n"
                                 " input z : f32[S]\n y = exp(x)\n output y\n}\n",
                                 false);
    if (!m) return;
    ind_expr b = m->desc.sizes[0], four = ind_int(ctx, 4);
    CHECK(ind_formula_solve(m, ind_expr_mul(b, four), "B", "S=1", 1000001) == 250000, "%s", ind_error(ctx));
    ind_expr huge = ind_expr_mul(ind_expr_mul(b, b), ind_int(ctx, 1ll << 20)); /* beyond 64 bits from 2,965,821 on */
    CHECK(!huge.id || ind_formula_solve(m, huge, "B", "S=1", INT64_MAX) == 2965820, "%s", ind_error(ctx));
    ind_expr falls = ind_expr_sub(ind_int(ctx, 100), b);
    CHECK(ind_formula_solve(m, falls, "B", "S=1", 0) == 4000000000, "%s", ind_error(ctx));
    CHECK(ind_formula_solve(m, falls, "B", "S=1", -5000000000) == -1 && ind_error_status(ctx) == IND_ERROR_OUT_OF_RANGE,
          "%s", ind_error(ctx));
    /* 7 in one place only, which no interval shows */
    ind_expr hash = ind_expr_mod(ind_expr_mul(b, ind_int(ctx, 12345)), ind_int(ctx, 1000003));
    ind_expr other = ind_expr_mod(ind_expr_mul(b, ind_int(ctx, 54321)), ind_int(ctx, 1000033));
    int64_t got = ind_formula_solve(m, ind_expr_add(hash, other), "B", "S=1", 0);
    CHECK(got == 0 || (got == -1 && ind_error_status(ctx) == IND_ERROR_NOT_SUPPORTED), "%lld: %s", (long long)got,
          ind_error(ctx));
    ind_module_destroy(m);
}

/* ---- inverses */

static void test_invert(void) {
    ind_module *m = compile_text("graph i {\n size B in [4, 4096] multiple_of 4\n size S in [1, 512]\n"
                                 " input x : f32[B, S]\n y = exp(x)\n output y\n}\n",
                                 false);
    if (!m) return;
    ind_expr b = m->desc.sizes[0], s = m->desc.sizes[1];
    ind_formula f =
        ind_expr_add(ind_expr_mul(ind_expr_mul(b, s), ind_int(ctx, 12)), ind_expr_mul(s, ind_int(ctx, 100)));
    ind_formula most = ind_formula_invert(m, f, "B", 1 << 20);
    CHECK(most.id, "%s", ind_error(ctx));
    for (int k = 1; k <= 512; k += 73) {
        char with[32], sizes[40];
        snprintf(with, sizeof with, "S=%d", k);
        snprintf(sizes, sizeof sizes, "B=4, S=%d", k);
        int64_t solved = ind_formula_solve(m, f, "B", with, 1 << 20), inverse = value(m, most, sizes);
        CHECK(inverse == ((1 << 20) - 100 * k) / (48 * k) * 4, "S=%d: %lld", k, (long long)inverse);
        CHECK(solved == (inverse < 4096 ? inverse : 4096), "S=%d: %lld, %lld", k, (long long)solved,
              (long long)inverse);
    }
    CHECK(!ind_formula_invert(m, ind_expr_mul(b, b), "B", 9).id && error_has("not affine in B"), "%s", ind_error(ctx));
    CHECK(!ind_formula_invert(m, ind_expr_neg(b), "B", 9).id && error_has("not known to grow with B"), "%s",
          ind_error(ctx));
    CHECK(!ind_formula_invert(m, f, "Q", 9).id && error_has("has no size \"Q\""), "%s", ind_error(ctx));
    ind_module_destroy(m);
}

static void test_errors(void) {
    ind_module *m =
        compile_text("graph e {\n size B in [1, 64]\n size T in [1, 8]\n size S in [1, 32]\n fact S == 4*T\n"
                     " input x : f32[B, S]\n y = exp(x)\n output y\n}\n",
                     false);
    if (!m) return;
    ind_expr b = m->desc.sizes[0], none = {0};
    int64_t v;
    CHECK(ind_formula_solve(m, b, "B", "", 9) == -1 && error_has("size T has no value"), "%s", ind_error(ctx));
    CHECK(ind_formula_solve(m, b, "B", "T=1", 9) == 9, "%s", ind_error(ctx));
    CHECK(ind_formula_solve(m, b, "B", "T=1, S=4", 9) == 9, "%s", ind_error(ctx));
    CHECK(ind_formula_solve(m, b, "B", "T=1, S=5", 9) == -1 && ind_error_status(ctx) == IND_ERROR_OUT_OF_RANGE, "%s",
          ind_error(ctx));
    CHECK(ind_formula_solve(m, b, "B", "T=1, B=2", 9) == -1 && error_has("both asked for and given"), "%s",
          ind_error(ctx));
    CHECK(ind_formula_solve(m, b, "T", "B=1, S=12", 9) == 3, "a size given for what follows fixes T");
    CHECK(ind_formula_solve(m, b, "S", "B=1", 9) == -1 && error_has("S follows from a fact, it is 4*T"), "%s",
          ind_error(ctx));
    CHECK(ind_formula_solve(m, b, "Q", "", 9) == -1 && ind_error_status(ctx) == IND_ERROR_NOT_FOUND, "%s",
          ind_error(ctx));
    CHECK(ind_formula_solve(m, b, NULL, "", 9) == -1 && error_has("NULL"), "%s", ind_error(ctx));
    CHECK(ind_formula_solve(m, none, "B", "", 9) == -1, "%s", ind_error(ctx));
    CHECK(ind_formula_solve(NULL, b, "B", "", 9) == -1, "NULL");
    CHECK(ind_formula_eval(m, b, "B=2, T=2", &v) == IND_OK && v == 2, "%s", ind_error(ctx));
    CHECK(ind_formula_eval(m, b, "B=2, T=2, S=6", &v) == IND_ERROR_OUT_OF_RANGE && error_has("run: fact ") &&
              error_has(" does not hold: T = 2, S = 6"),
          "%s", ind_error(ctx));
    ind_context *other;
    if (!ind_context_create(NULL, &other)) {
        CHECK(ind_formula_eval(m, ind_int(other, 1), "B=1, T=1", &v) == IND_ERROR_INVALID_ARGUMENT,
              "another context's");
        ind_context_destroy(other);
    }
    ind_module_destroy(m);
}

/* ---- verdicts */

static void test_verdict(void) {
    ind_module *m =
        compile_text("graph v {\n size B in [1, 64] hint 8\n size S in [8, 4096] hint 512\n size T in [1, 1024]\n"
                     " fact S == 4*T\n guard B <= 32\n input x : f16[B, S, 30]\n y = softmax(x, dim=1)\n"
                     " z = mul(y, 2.0)\n w = transpose(z, 0, 2)\n output w\n}\n",
                     true);
    if (!m) return;
    ind_verdict v = ind_would_compile(m, "B=8, T=16");
    CHECK(v.ready == IND_READY && !v.status && v.num_kernels == ind_module_num_kernels(m), "%s", v.reason);
    v = ind_would_compile(m, "B=33, T=16");
    CHECK(v.ready == IND_GUARD_FAILS && v.status == IND_ERROR_OUT_OF_RANGE && strstr(v.reason, "guard ") == v.reason,
          "%s", v.reason);
    CHECK(strstr(v.reason, "does not hold: B = 33") && v.compile_ms > 0, "%s", v.reason);
    v = ind_would_compile(m, "B=8, T=16, S=60");
    CHECK(v.ready == IND_OUTSIDE && strstr(v.reason, "fact ") == v.reason &&
              strstr(v.reason, " does not hold: S = 60, T = 16"),
          "%s", v.reason);
    v = ind_would_compile(m, "B=33, T=16, S=60");
    CHECK(v.ready == IND_OUTSIDE && strstr(v.reason, "fact"), "a fact comes before a guard: %s", v.reason);
    v = ind_would_compile(m, "B=65, T=16");
    CHECK(v.ready == IND_OUTSIDE && strstr(v.reason, "B = 65 is outside [1, 64]"), "%s", v.reason);
    v = ind_would_compile(m, "B=8, T=1");
    CHECK(v.ready == IND_OUTSIDE && strstr(v.reason, "S = 4 is outside [8, 4096]"), "%s", v.reason);
    v = ind_would_compile(m, "B=8");
    CHECK(v.ready == IND_BAD_SIZES && strstr(v.reason, "size T of graph"), "%s", v.reason);
    v = ind_would_compile(m, "B=8, T=");
    CHECK(v.ready == IND_BAD_SIZES && v.status == IND_ERROR_PARSE, "%s", v.reason);
    v = ind_would_compile(m, "Q=8");
    CHECK(v.ready == IND_BAD_SIZES && v.status == IND_ERROR_NOT_FOUND, "%s", v.reason);
    CHECK(ind_would_compile(NULL, "").ready == IND_BAD_SIZES, "NULL");
    ind_module_destroy(m);
}

/* Sizes that vectors divide, and sizes that they do not. */
static void test_variants(void) {
    ind_module *m = compile_text("graph g {\n size B in [1, 64] hint 8\n size S in [1, 4096] hint 512\n"
                                 " input x : f32[B, S]\n input u : f32[S]\n y = add(x, u)\n z = sum(u)\n"
                                 " output y, z\n}\n",
                                 true);
    ind_kernel_info k;
    int guarded = 0;
    if (!m) return;
    for (int i = 0; !ind_module_query_kernel(m, i, &k); i++) guarded += k.variant[0].guard.id != 0;
    ind_verdict even = ind_would_compile(m, "B=8, S=512"), odd = ind_would_compile(m, "B=8, S=511");
    CHECK(even.ready == IND_READY && even.num_general == 0 && !even.reason[0], "%d: %s", even.num_general, even.reason);
    CHECK(odd.ready == IND_READY && odd.num_general == guarded, "%d of %d: %s", odd.num_general, guarded, odd.reason);
    CHECK(guarded > 0 && strstr(odd.reason, "kernels run a general variant: ") && strstr(odd.reason, " fail"), "%s",
          odd.reason);
    ind_module_destroy(m);
}

/* ---- many values */

static void test_evaluator(void) {
    ind_module *m = compile_text(model, false);
    ind_evaluator *e = NULL;
    if (!m) return;
    ind_formula f[3] = {ind_module_workspace(m), ind_module_flops(m), ind_module_peak(m)};
    CHECK(!ind_evaluator_create(m, f, 3, &e), "%s", ind_error(ctx));
    double before = ind__now_ms();
    int64_t v[3], sizes[2];
    int runs = 0;
    for (sizes[0] = 1; sizes[0] < 2000; sizes[0] += 3)
        for (sizes[1] = 16; sizes[1] <= 2048; sizes[1] += 16, runs++) CHECK(!ind_evaluator_run(e, sizes, v), "run");
    printf("three formulas of a transformer block: %.0f ns each time\n", (ind__now_ms() - before) * 1e6 / runs);
    char text[64];
    snprintf(text, sizeof text, "B=%d, S=%d", 1999, 2048);
    for (int i = 0; i < 3; i++) CHECK(v[i] == value(m, f[i], text), "formula %d", i);
    ind_evaluator_destroy(e);
    CHECK(ind_evaluator_create(m, f, 0, &e) == IND_ERROR_INVALID_ARGUMENT && !e, "none");
    CHECK(!ind_evaluator_create(m, f, 1, &e), "left to the context");
}

/* ---- failing allocations: a status or a right answer, and no leak */

static bool work_under_failure(void) {
    ind_graph *g = ind_graph_create(ctx, "g");
    if (!g) return false;
    ind_size(g, "S in [1, 1024] hint 8");
    ind_size(g, "T in [1, 256] hint 2");
    ind_fact(g, "S == 4*T");
    ind_guard_that(g, "T <= 200", NULL);
    ind_tensor x = ind_input(g, "x", "f32[S, 3]"), y = ind_input(g, "y", "f32[4*T, 3]");
    ind_output(g, "z", ind_softmax(ind_add(x, y), 1));
    ind_module *m = NULL;
    ind_kernel_info k;
    ind_evaluator *e = NULL;
    int64_t lo, hi, v = 0;
    ind_compile_desc desc = {.device = IND_DEVICE_HOST};
    bool ok = !ind_compile(g, &desc, &m) && !ind_module_query_kernel(m, 0, &k) && ind_module_text(m, IND_STAGE_PLAN);
    ok =
        ok && ind_formula_solve(m, k.bytes_read, "T", "", 4800) == 50 && ind_would_compile(m, "T=3").ready == IND_READY;
    ok = ok && ind_formula_invert(m, k.bytes_written, "T", 4800).id && !ind_formula_bounds(m, k.flops, &lo, &hi);
    ok = ok && !ind_evaluator_create(m, &k.bytes_read, 1, &e) && !ind_formula_eval(m, k.bytes_read, "T=3", &v) &&
         v == 288;
    return ok;
}

static void test_allocations(void) {
    ind_context *good = ctx;
    check_heap heap = {0};
    int succeeded = 0;
    for (long at = 1; at < 100000 && !succeeded; at += 1 + at / 60) {
        heap = (check_heap){.fail_at = at, .live = 0};
        ind_context_desc desc = {
            .allocator = {check_alloc, check_free, &heap}, .device = IND_DEVICE_HOST, .num_threads = 1};
        if (ind_context_create(&desc, &ctx)) continue;
        bool ok = work_under_failure();
        succeeded = heap.calls < at;
        CHECK(ok || !succeeded, "%s", ind_error(ctx));
        CHECK(ok || ind_error_status(ctx) == IND_ERROR_OUT_OF_MEMORY, "at %ld: %s", at, ind_error(ctx));
        ind_context_destroy(ctx);
        CHECK(heap.live == 0, "at %ld: %ld left", at, heap.live);
    }
    CHECK(succeeded, "never");
    ctx = good;
}

int main(void) {
    ind_context_desc desc = {.device = IND_DEVICE_HOST};
    if (ind_context_create(&desc, &ctx)) return 1;
    test_softmax();
    test_linear();
    test_model();
    test_random();
    test_wide();
    test_invert();
    test_errors();
    test_verdict();
    test_variants();
    test_evaluator();
    test_allocations();
    ind_context_destroy(ctx);
    return check_summary();
}
