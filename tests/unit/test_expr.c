/* test_expr.c - the symbolic integers: values survive simplification, bounds hold, the index expressions that lowering makes
   come out in the simplest form, text reads back to the same id. */
#include "inductor_ir.h"

#include "check.h"

#include <string.h>

static ind_context *ctx;
static uint64_t seed = 12345;

static uint32_t rnd(uint32_t n) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % n;
}

static ind_expr size_symbol(const char *name, int64_t lo, int64_t hi, int64_t multiple, int64_t hint) {
    ind_symbol s = {.kind = IND_SYMBOL_SIZE, .name = name, .lo = lo, .hi = hi, .multiple_of = multiple, .hint = hint};
    return ind_symbol_expr(ctx, &s);
}

/* ---- random expressions: each is built twice, as a plain tree that is evaluated here, and as an ind_expr ---- */

typedef struct tree {
    int kind; /* ind_expr_kind */
    int64_t value;
    int symbol;
    struct tree *a, *b, *c;
} tree;

#define NUM_SYMBOLS 5
static ind_expr symbol[NUM_SYMBOLS];
static int64_t point[NUM_SYMBOLS], low[NUM_SYMBOLS], high[NUM_SYMBOLS];
static tree pool[4096];
static int pool_used;

static tree *new_tree(int kind) {
    tree *t = &pool[pool_used++];
    tree zero = {0};
    *t = zero;
    t->kind = kind;
    return t;
}

static tree *random_tree(int depth) {
    static const int kinds[] = {IND_EXPR_ADD, IND_EXPR_MUL, IND_EXPR_FLOORDIV, IND_EXPR_MOD, IND_EXPR_MIN, IND_EXPR_MAX,
                                IND_EXPR_WHERE, IND_EXPR_ADD, IND_EXPR_MUL, IND_EXPR_FLOORDIV, IND_EXPR_MOD};
    if (!depth || !rnd(4)) {
        tree *t = new_tree(rnd(3) ? IND_EXPR_SYM : IND_EXPR_INT);
        t->symbol = (int)rnd(NUM_SYMBOLS);
        t->value = (int64_t)rnd(25) - 8;
        return t;
    }
    tree *t = new_tree(kinds[rnd(sizeof kinds / sizeof *kinds)]);
    t->a = random_tree(depth - 1);
    t->b = random_tree(depth - 1);
    if (t->kind == IND_EXPR_FLOORDIV || t->kind == IND_EXPR_MOD) { /* a divisor that cannot be zero */
        t->b = new_tree(IND_EXPR_INT);
        t->b->value = (int64_t)(rnd(3) ? 1 + rnd(12) : -1 - (int64_t)rnd(6));
        if (!rnd(4)) t->b->kind = IND_EXPR_SYM, t->b->symbol = (int)rnd(2);
    }
    if (t->kind == IND_EXPR_WHERE) {
        tree *cmp = new_tree(rnd(2) ? IND_EXPR_LT : IND_EXPR_EQ);
        cmp->a = t->a;
        cmp->b = t->b;
        t->a = cmp;
        t->c = random_tree(depth - 1);
    }
    return t;
}

static int64_t floor_quotient(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b && (a < 0) != (b < 0) ? q - 1 : q;
}

static int64_t tree_value(const tree *t) {
    if (t->kind == IND_EXPR_INT) return t->value;
    if (t->kind == IND_EXPR_SYM) return point[t->symbol];
    int64_t a = tree_value(t->a), b = tree_value(t->b);
    switch (t->kind) {
    case IND_EXPR_ADD: return a + b;
    case IND_EXPR_MUL: return a * b;
    case IND_EXPR_FLOORDIV: return floor_quotient(a, b);
    case IND_EXPR_MOD: return a - b * floor_quotient(a, b);
    case IND_EXPR_MIN: return a < b ? a : b;
    case IND_EXPR_MAX: return a > b ? a : b;
    case IND_EXPR_LT: return a < b;
    case IND_EXPR_EQ: return a == b;
    default: return a ? b : tree_value(t->c);
    }
}

static ind_expr tree_expr(const tree *t) {
    if (t->kind == IND_EXPR_INT) return ind_int(ctx, t->value);
    if (t->kind == IND_EXPR_SYM) return symbol[t->symbol];
    ind_expr a = tree_expr(t->a), b = tree_expr(t->b);
    switch (t->kind) {
    case IND_EXPR_ADD: return ind_expr_add(a, b);
    case IND_EXPR_MUL: return ind_expr_mul(a, b);
    case IND_EXPR_FLOORDIV: return ind_expr_floordiv(a, b);
    case IND_EXPR_MOD: return ind_expr_mod(a, b);
    case IND_EXPR_MIN: return ind_expr_min(a, b);
    case IND_EXPR_MAX: return ind_expr_max(a, b);
    case IND_EXPR_LT: return ind_expr_lt(a, b);
    case IND_EXPR_EQ: return ind_expr_eq(a, b);
    default: return ind_expr_where(a, b, tree_expr(t->c));
    }
}

static bool value_of(const ind_symbol *s, void *user, int64_t *out) {
    (void)user;
    for (int i = 0; i < NUM_SYMBOLS; i++)
        if (ind_expr_symbol(symbol[i]) == s) *out = point[i];
    return true;
}

static ind_expr find_symbol_by_name(const char *name, size_t n, void *user) {
    (void)user;
    for (int i = 0; i < NUM_SYMBOLS; i++)
        if (strlen(ind_expr_symbol(symbol[i])->name) == n && !memcmp(ind_expr_symbol(symbol[i])->name, name, n)) return symbol[i];
    ind_expr none = {ctx, 0};
    return none;
}

static void choose_point(int corner) {
    for (int i = 0; i < NUM_SYMBOLS; i++)
        point[i] = corner == 0 ? low[i] : corner == 1 ? high[i] : low[i] + (int64_t)rnd((uint32_t)(high[i] - low[i] + 1));
    if (point[4] > point[0] - 1) point[4] = point[0] - 1; /* i0 < B */
}

static void random_expressions(int count) {
    static const char *const names[] = {"B", "S", "n", "k"};
    static const int64_t range[][2] = {{1, 12}, {1, 7}, {-9, 9}, {0, 20}};
    for (int i = 0; i < 4; i++) {
        symbol[i] = size_symbol(names[i], range[i][0], range[i][1], 1, range[i][0]);
        low[i] = range[i][0];
        high[i] = range[i][1];
    }
    symbol[4] = ind__index_symbol(ctx, 'i', 0, symbol[0]);
    low[4] = 0;
    high[4] = 11;
    for (int n = 0; n < count; n++) {
        pool_used = 0;
        tree *t = random_tree(5);
        ind_expr e = tree_expr(t);
        if (!ind__ok(e)) continue; /* a divisor symbol times something may overflow; none does here */
        char text[4096];
        size_t length = ind_expr_print(e, text, sizeof text);
        if (length < sizeof text) {
            ind_expr back = ind__expr_parse(ctx, text, NULL, find_symbol_by_name, NULL);
            CHECK(ind_expr_same(back, e), "%s reads back as something else", text);
        }
        int64_t lo, hi;
        ind_expr_bounds(e, &lo, &hi);
        for (int p = 0; p < 6; p++) {
            int64_t v = 0;
            choose_point(p);
            ind_status status = ind_expr_eval(e, value_of, NULL, &v);
            CHECK(!status && v == tree_value(t), "%s is %lld, not %lld at B=%lld S=%lld n=%lld k=%lld i0=%lld", text, (long long)v,
                  (long long)tree_value(t), (long long)point[0], (long long)point[1], (long long)point[2],
                  (long long)point[3], (long long)point[4]);
            CHECK(v >= lo && v <= hi, "%s = %lld is outside its bounds [%lld, %lld]", text, (long long)v, (long long)lo, (long long)hi);
        }
    }
}

/* ---- the expressions that lowering makes ---- */

static bool building_only; /* allocations fail on purpose: what comes out is not compared */

static void simplest(ind_expr e, const char *want) {
    char text[512];
    ind_expr_print(e, text, sizeof text);
    if (building_only) return;
    CHECK(!strcmp(text, want), "got %s, want %s", text, want);
}

static ind_expr n(int64_t v) {
    return ind_int(ctx, v);
}

static void views(void) {
    ind_expr B = size_symbol("Batch", 1, 1024, 1, 8), S = size_symbol("Seq", 1, 512, 1, 128);
    ind_expr from[4] = {B, S, n(12), n(32)}, to[3] = {B, S, n(384)}, i[4], back[4];
    for (int k = 0; k < 4; k++) i[k] = ind__index_symbol(ctx, 'i', k, from[k]);
    ind__delinearise(ctx, ind__linearise(ctx, i, from, 4), to, 3, back); /* [B,S,12,32] of [B,S,384] */
    simplest(back[0], "i0");
    simplest(back[1], "i1");
    simplest(back[2], "32*i2 + i3");
    ind_expr j[3];
    for (int k = 0; k < 3; k++) j[k] = ind__index_symbol(ctx, 'i', k, to[k]);
    ind__delinearise(ctx, ind__linearise(ctx, j, to, 3), from, 4, back); /* and the other way */
    simplest(back[0], "i0");
    simplest(back[1], "i1");
    simplest(back[2], "i2 // 32");
    simplest(back[3], "i2 % 32");
    simplest(ind__linearise(ctx, back, from, 4), "384*(Seq*i0 + i1) + i2"); /* joins again */
    ind_expr flat[1] = {ind_expr_product(ctx, from, 4)}, q[1] = {ind__index_symbol(ctx, 'i', 0, flat[0])};
    ind__delinearise(ctx, q[0], from, 4, back);
    simplest(ind__linearise(ctx, back, from, 4), "i0");
    ind_expr heads[3] = {ind_expr_mul(B, n(12)), S, n(32)}, h[3], out[4], bhsd[4] = {B, n(12), S, n(32)};
    for (int k = 0; k < 3; k++) h[k] = ind__index_symbol(ctx, 'i', k, heads[k]);
    ind__delinearise(ctx, ind__linearise(ctx, h, heads, 3), bhsd, 4, out);
    simplest(out[0], "i0 // 12");
    simplest(out[1], "i0 % 12");
    simplest(out[2], "i1");
    simplest(out[3], "i2");
}

static void rules(void) {
    ind_expr B = size_symbol("B", 1, 4096, 1, 32), M = size_symbol("M", 8, 4096, 8, 64);
    ind_expr i = ind__index_symbol(ctx, 'i', 0, n(100)), r = ind__index_symbol(ctx, 'r', 0, B);
    simplest(ind_expr_floordiv(ind_expr_add(ind_expr_mul(n(12), i), n(7)), n(4)), "3*i0 + 1");
    simplest(ind_expr_mod(ind_expr_add(ind_expr_mul(n(12), i), n(7)), n(4)), "3");
    simplest(ind_expr_floordiv(i, n(128)), "0");
    simplest(ind_expr_mod(i, n(128)), "i0");
    simplest(ind_expr_floordiv(ind_expr_floordiv(i, n(3)), n(5)), "i0 // 15");
    simplest(ind_expr_mod(ind_expr_mod(i, n(12)), n(4)), "i0 % 4");
    simplest(ind_expr_floordiv(ind_expr_mod(i, n(12)), n(4)), "i0 // 4 % 3");
    simplest(ind_expr_mod(r, B), "r0");
    simplest(ind_expr_floordiv(ind_expr_add(ind_expr_mul(i, B), r), B), "i0");
    simplest(ind_expr_sub(ind_expr_add(i, r), i), "r0");
    simplest(ind_expr_max(B, n(1)), "B");
    simplest(ind_expr_min(ind_expr_mul(B, n(3)), B), "B");
    simplest(ind_expr_ceildiv(ind_expr_mul(B, n(256)), n(256)), "B");
    simplest(ind__align_up(ind_expr_mul(M, n(32)), 256), "32*M");
    CHECK(ind_known_multiple(ind_expr_mul(M, n(4)), 32), "4*M is a multiple of 32");
    CHECK(ind_known_le(ind_expr_mul(B, n(384)), ind_expr_mul(ind_expr_mul(B, M), n(384))), "B <= B*M");
    CHECK(!ind_known_le(ind_expr_mul(B, n(384)), ind_expr_mul(M, n(384))), "B <= M is not known");
    ind_expr eighths = ind_expr_ceildiv(ind_expr_mul(B, n(9)), n(8)),
             apart = ind_expr_add(B, ind_expr_ceildiv(B, n(8)));
    CHECK(ind_known_le(ind_expr_mul(apart, n(256)), ind_expr_mul(eighths, n(256))), "256*(B + CeilDiv(B, 8)) fits");
    CHECK(!ind_known_le(ind_expr_mul(eighths, n(256)), ind_expr_mul(B, n(256))), "256*CeilDiv(9*B, 8) does not");
    ind_expr c8 = ind_expr_ceildiv(B, n(8)), c16 = ind_expr_ceildiv(B, n(16)), c12 = ind_expr_ceildiv(B, n(12));
    CHECK(ind__known_le_max(c8, ind_expr_mul(c16, n(3))), "CeilDiv(B, 8) <= 3*CeilDiv(B, 16), of which 2 are enough");
    CHECK(ind__known_le_max(ind_expr_add(c8, M), ind_expr_add(M, ind_expr_mul(c16, n(5)))), "beside equal terms");
    CHECK(!ind__known_le_max(ind_expr_mul(c8, n(2)), ind_expr_mul(c16, n(3))), "4 are needed");
    CHECK(!ind__known_le_max(c8, c12), "no multiple of the other divisor");
    ind_expr k, rest;
    CHECK(ind__affine(ind_expr_add(ind_expr_mul(i, B), r), i, &k, &rest) && ind_expr_same(k, B) && ind_expr_same(rest, r), "affine");
    CHECK(!ind__affine(ind_expr_mod(i, n(7)), i, &k, &rest), "i0 mod 7 is not affine");
    CHECK(!ind__ok(ind_expr_mul(n(INT64_MAX), n(2))) && ind_error_status(ctx) == IND_ERROR_OVERFLOW, "overflow is an error");
    CHECK(!ind__ok(ind_expr_floordiv(B, ind_expr_sub(B, n(5)))), "division by what may be zero is an error");
    CHECK(strstr(ind_error(ctx), "may be zero") != NULL, "and says so: %s", ind_error(ctx));
}

static void programs(void) {
    ind_expr B = size_symbol("B", 1, 4096, 1, 32), S = size_symbol("S", 1, 512, 1, 128);
    ind_expr in[2] = {B, S};
    ind__program p;
    CHECK(!ind__program_init(&p, ctx, in, 2), "init");
    uint32_t a = ind__program_add(&p, ind_expr_ceildiv(ind_expr_mul(B, S), n(7)));
    uint32_t b = ind__program_add(&p, ind_expr_max(ind_expr_mul(B, n(3)), S));
    int64_t slots[64] = {5, 10};
    CHECK(p.num_inputs + p.num_ops < 64 && !ind__program_run(&p, slots), "run");
    CHECK(slots[a] == 8 && slots[b] == 15, "ceil(50/7) = %lld, max(15, 10) = %lld", (long long)slots[a], (long long)slots[b]);
    ind__program_free(&p);
}

static void bad_text(void) {
    static const char *const bad[] = {"", "(", "1 +", "foo", "Min(1)", "99999999999999999999", "1 // 0", "B B", "Foo(1)", "((((((((((", "-"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *end = NULL;
        ind_expr e = ind__expr_parse(ctx, bad[i], &end, find_symbol_by_name, NULL);
        CHECK(!ind__ok(e) || *end, "'%s' is refused", bad[i]);
    }
    char deep[4000];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    CHECK(!ind__ok(ind__expr_parse(ctx, deep, NULL, find_symbol_by_name, NULL)), "too deep");
}

static void failing_allocations(void) {
    building_only = true;
    for (long at = 1; at < 2000; at++) {
        check_heap heap = {.fail_at = at};
        ind_context_desc d = {.allocator = {check_alloc, check_free, &heap}};
        ind_context *saved = ctx;
        bool reached = true;
        if (!ind_context_create(&d, &ctx)) {
            views();
            reached = heap.calls >= at;
            ind_context_destroy(ctx);
        }
        ctx = saved;
        CHECK(!heap.live, "allocation %ld failing leaks %ld blocks", at, heap.live);
        if (!reached) return;
    }
}

/* A negative factor that numerator and divisor share, and a product of divisors whose sign its bounds do not show. */
static void divisor_signs(void) {
    ind_expr n = size_symbol("n", -5, -3, 1, -4), p = size_symbol("p", 2, 9, 1, 3);
    ind_expr m = ind_expr_mod(n, ind_expr_neg(ind_expr_mul(n, p)));
    CHECK(ind_hint(m) == 8, "-4 %% 12 is %lld", (long long)ind_hint(m));
    ind_expr s = size_symbol("s", 4, 64, 1, 4), x = size_symbol("x", 0, 6400, 1, 6400);
    ind_expr left = ind_expr_sub(ind_int(ctx, 100), ind__index_symbol(ctx, 'i', 0, s));
    ind_expr q = ind_expr_floordiv(ind_expr_floordiv(x, s), left);
    int64_t lo, hi;
    ind_expr_bounds(q, &lo, &hi);
    CHECK(ind_hint(q) == 16 && lo >= 0 && hi >= 16, "6400 // 4 // 100 is %lld in [%lld, %lld]", (long long)ind_hint(q),
          (long long)lo, (long long)hi);
}

/* What is nested too deeply fails every time, not only the first. */
static void nesting(void) {
    ind_expr n = size_symbol("n", 0, 1000, 1, 10);
    for (int attempt = 1; attempt <= 2; attempt++) {
        ind_expr e = n;
        for (int i = 1; i < 200 && ind__ok(e); i++)
            e = ind_expr_min(ind_expr_floordiv(ind_expr_add(e, ind_int(ctx, i)), ind_int(ctx, 3)), n);
        CHECK(!ind__ok(e) && ind_error_status(ctx) == IND_ERROR_LIMIT, "600 levels are accepted, attempt %d", attempt);
    }
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 20000;
    if (ind_context_create(NULL, &ctx)) return 1;
    views();
    rules();
    programs();
    divisor_signs();
    nesting();
    random_expressions(count);
    bad_text();
    failing_allocations();
    ind_context_destroy(ctx);
    return check_summary();
}
