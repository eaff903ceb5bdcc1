/* test_facts.c - fact sets: what they simplify and bound, what they contradict, guards, checks of actual values,
   soundness on random facts, failing allocations. */
#define INDUCTOR_IR_IMPLEMENTATION
#include "inductor_ir.h"

#include "check.h"

static ind_context *ctx;
static uint64_t seed = 4242;

static uint32_t rnd(uint32_t n) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % n;
}

/* ---- symbols: s0..s4 in [0, inf), t0..t4 in [1, 1000], g0..g4 of either sign, u0.. unbacked, i0.. indices below s0..
 * ---- */

static ind_expr symbol_of(ind_context *c, const char *name, size_t length) {
    char text[8] = {0};
    if (length != 2 || name[1] < '0' || name[1] > '4') return (ind_expr){c, 0};
    memcpy(text, name, 2);
    ind_symbol s = {.kind = IND_SYMBOL_SIZE, .name = text, .lo = 0, .hi = INT64_MAX, .hint = 3 + (text[1] - '0')};
    switch (text[0]) {
    case 's': break;
    case 't': s.lo = 1, s.hi = 1000; break;
    case 'g': s.lo = -50, s.hi = 50; break;
    case 'm': s.hi = 1000, s.multiple_of = 8, s.hint = 16; break;
    case 'u': s.kind = IND_SYMBOL_UNBACKED; break;
    case 'i': {
        char extent[3] = {'s', text[1], 0};
        return ind__index_symbol(c, 'i', text[1] - '0', symbol_of(c, extent, 2));
    }
    default: return (ind_expr){c, 0};
    }
    return ind_symbol_expr(c, &s);
}

static ind_expr find(const char *name, size_t length, void *user) {
    return symbol_of((ind_context *)user, name, length);
}

static ind_expr parse_in(ind_context *c, const char *text) {
    const char *end;
    ind_expr e = ind__expr_parse(c, text, &end, find, c);
    if (ind__ok(e) && *end) return (ind_expr){c, 0};
    return e;
}

static ind_expr parse(const char *text) {
    ind_expr e = parse_in(ctx, text);
    CHECK(ind__ok(e), "%s: %s", text, ind_error(ctx));
    return e;
}

static const char *print(ind_expr e) {
    static char text[4][512];
    static int next;
    next = (next + 1) % 4;
    ind_expr_print(e, text[next], sizeof text[next]);
    return text[next];
}

/* Assumes facts separated by ';'. */
static ind_status assume_all(ind_facts *f, const char *facts) {
    char one[256];
    while (facts && *facts) {
        size_t n = strcspn(facts, ";");
        snprintf(one, sizeof one, "%.*s", (int)n, facts);
        ind_facts *before = ind_facts_enter(ctx, f); /* a divisor may need the facts to be legal */
        ind_expr e = parse(one);
        ind_facts_enter(ctx, before);
        ind_status s = ind_facts_assume(f, e);
        if (s) return s;
        facts += n + (facts[n] == ';');
    }
    return IND_OK;
}

static ind_facts *new_facts(const char *facts) {
    ind_facts *f = NULL;
    CHECK(!ind_facts_create(ctx, &f), "%s", ind_error(ctx));
    ind_status s = assume_all(f, facts);
    CHECK(!s, "%s: %s", facts, ind_error(ctx));
    return f;
}

/* ---- what a set simplifies ---- */

static void test_simplify(void) {
    static const struct {
        const char *facts, *expr, *want;
    } row[] = {
        {"s0 == 4*s1", "s0 + s1", "5*s1"},
        {"s0 == 4*s1", "s0 // 4", "s1"},
        {"s0 == 4*s1", "s0 % 4", "0"},
        {"4*s1 == s0", "s0 - 4*s1", "0"},
        {"s0 == s1;s1 == s2", "s0 + s1 + s2", "3*s2"},
        {"s0 == 7", "s0 * s1", "7*s1"},
        {"s0 == u0", "u0 + s0", "2*s0"}, /* the size stays: it has a hint */
        {"2*s0 == 3*s1", "s0 - 3*s1//2", "0"},
        {"s0 % 8 == 0", "s0 // 8 * 8", "s0"},
        {"s0 % 8 == 0;s0 % 12 == 0", "s0 % 24", "0"},
        {"s0 % 8 == 3", "s0 % 4", "3"},
        {"s0 % 8 == 3", "(s0 + 5) % 8", "0"},
        {"s0 % 8 == 3", "8*(s0 // 8)", "s0 - 3"},
        {"(s0 + s1) % 8 == 0", "(s0 + s1 + 8*s2) % 8", "0"},
        {"s1 >= 1;s0 % s1 == 0", "s1*(s0 // s1)", "s0"},
        {"s0 <= 5", "Min(s0, 9)", "s0"},
        {"s0 >= 6", "Max(s0, 4)", "s0"},
        {"s0 < s1", "Max(s0, s1)", "s1"},
        {"s0 <= s1;s1 <= s2", "Min(s0, s2)", "s0"},
        {"s0 <= s1;s1 <= s0", "s0 - s1", "0"},
        {"s0 < 8", "s0 // 8", "0"},
        {"s0 < s1", "s0 // Max(s1, 1)", "0"},
        {"s0 < s1", "s0 % Max(s1, 1)", "s0"},
        {"s0 != 0", "Where(s0 == 0, 5, 6)", "6"},
        {"s0 != s1", "Where(s1 == s0, 5, 6)", "6"},
        {"s0 == 1 or s0 == 2", "Where(s0 == 1 or s0 == 2, 5, 6)", "5"},
        {"s0 == 1 or s1 == 2;s0 != 1", "s1", "2"},
        {"not (s0 == 1 or s1 == 2)", "Where(s0 == 1, 5, 6) + Where(s1 == 2, 5, 6)", "12"},
        {"s0 >= 3 and s0 <= 3", "s0", "3"},
        {"s0*s1 == s2*s1;s1 >= 1", "s0 - s2", "0"},
        {"s0 // 4 == 2", "Where(s0 >= 8, 1, 0) + Where(s0 <= 11, 1, 0)", "2"},
        {"Max(s0, s1) <= 7", "Min(s0, 8) - s0", "0"},
        {"s0 <= s1", "Where(3*s0 <= 3*s1, 1, 0)", "1"},
        {"s0 <= s1", "Where(s0*s2 <= s1*s2, 1, 0)", "1"},
        {"2*s0 <= 2*s1 + 1", "Where(s0 <= s1, 1, 0)", "1"},
        {"s0 <= s1", "Where(i0 < s1, 1, 0)", "1"},
        {"s0 == 4*s1", "Where(i0 < 4*s1, 1, 0)", "1"},
        {"s0 <= s1", "Where(Min(s0, s2) <= s1, 1, 0)", "1"},
        {"s0 <= s1", "Where(s0 // 2 <= s1 // 2 + 1, 1, 0)", "1"},
        {"t0*t1 == 12", "Where(t0*t1 == 12, 1, 0)", "1"},
        {"m0 == 8*s0", "m0 // 8", "s0"},
        {NULL, "s0 + 1", "s0 + 1"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ind_facts *f = new_facts(row[i].facts);
        ind_facts *before = ind_facts_enter(ctx, f); /* divisors may need the facts to be legal */
        ind_expr e = parse(row[i].expr);
        ind_facts_enter(ctx, before);
        ind_expr r = ind_simplify(f, e);
        CHECK(!strcmp(print(r), row[i].want), "%s |- %s: %s, not %s", row[i].facts, row[i].expr, print(r), row[i].want);
        CHECK(ind_simplify(f, r).id == r.id, "%s again", row[i].expr);
        ind_facts_destroy(f);
    }
}

static void test_bounds(void) {
    static const struct {
        const char *facts, *expr;
        int64_t lo, hi;
    } row[] = {
        {"s0 <= 10", "s0", 0, 10},
        {"s0 <= s1;s1 <= 10", "s0", 0, 10},
        {"s1 <= 10;s0 <= s1", "s0 + s1", 0, 20},
        {"s0 == 4*s1;s0 <= 22", "s1", 0, 5},
        {"s0 == 4*s1;s0 <= 22", "s0", 0, 20},
        {"s0 % 8 == 0;s0 <= 30;s0 >= 1", "s0", 8, 24},
        {"s0 % 8 == 3;s0 <= 30;s0 >= 4", "s0", 11, 27},
        {"s0 != 0", "s0", 1, INT64_MAX},
        {"s0 < s1;s1 < s2;s2 <= 9", "s0", 0, 7},
        {"s0 <= 7", "i0", 0, 6},
        {"s0 <= s1", "s1 - s0", 0, INT64_MAX},
        {"s0 < s1", "s1 - s0", 1, INT64_MAX},
        {"g0 != 0", "g0*g0", 1, 2500},
        {"", "g0*g0", 0, 2500},
        {"", "g0*g0*g0", -125000, 125000},
        {"", "t0 % 7", 0, 6},
        {"", "g0 // 7", -8, 7},
        {"", "m0 + 1", 1, 1001},
        {"s0 + s1 <= 100", "s0", 0, 100},
        {"2*s0 + 3*s1 <= 20;s1 >= 2", "s0", 0, 7},
        {"t0 + t1 <= 64", "t0 + t1", 2, 64},
        {"t0 + t1 <= 64", "(t0 + t1 + 3) // 4", 1, 16},
        {"t0 + t1 <= 64", "Max(t0 + t1, 9) + t2", 10, 1064},
        {"t0 + t1 <= 64", "3*t2*t0 + 3*t2*t1 + 5", 11, 192005},
        {"t0 + t1 <= 64;s0 == t0 + t1", "i0", 0, 63},
        {"t0 + t1 <= 64;s0 == t0 + t1", "5*i0 + 1", 1, 316},
        {"t0 <= 2*t1;t1 <= 2*t0", "t0 + t1", 2, 2000},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ind_facts *f = new_facts(row[i].facts);
        int64_t lo, hi;
        ind_bounds(f, parse(row[i].expr), &lo, &hi);
        CHECK(lo == row[i].lo && hi == row[i].hi, "%s |- %s in [%lld, %lld]", row[i].facts, row[i].expr, (long long)lo,
              (long long)hi);
        ind_facts_destroy(f);
    }
}

static void test_known(void) {
    static const struct {
        const char *facts, *condition;
        bool known;
    } row[] = {
        {"s0 <= s1", "s0 <= s1 + 1", true},
        {"s0 <= s1", "s0 < s1", false},
        {"s0 <= s1;s1 <= s2", "s0 <= s2", true},
        {"s0 <= s1;s1 <= s2;s2 <= s3", "s0 <= s3", true},
        {"s0 == 4*s1", "s0 >= s1", true},
        {"s0 < s1", "s0 != s1", true},
        {"s0 != s1", "s0 < s1", false},
        {"s0 != s1;s0 <= s1", "s0 < s1", true},
        {"s0*s1 != 0", "s0 != 0 and s1 != 0", true},
        {"s0 % 2 == 1", "s0 != 0", true},
        {"s0 % 2 == 1", "s0 != 1", false},
        {"s0 + s1 <= s2", "s0 <= s2", true},
        {"s0 <= s1", "2*s0 + 1 != 2*s1", true},
        {"", "2*g0 + 1 != 0", true},
        {"", "g0*g0 + 1 > 0", true},
        {"t0 <= 7", "8*t0 - t0*t0 != 0", true},
        {"", "6*g0*t0 + 3*t0 != 0", true},
        {"g0 == 5", "g0*g0 == 25", true},
        {"i0 + 1 < s0", "i0 + 1 < s0", true},
        {"s0 <= s1", "Max(s0, 3) <= Max(s1, 3)", true},
        {"s0 <= s1", "4*(s0 // 4) <= s1", true},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ind_facts *f = new_facts(row[i].facts);
        ind_expr e = parse(row[i].condition);
        CHECK(ind_known(f, e) == row[i].known, "%s |- %s", row[i].facts, row[i].condition);
        ind_facts_destroy(f);
    }
    ind_facts *f = new_facts("s0 % 6 == 0;s1 == 4*s2;s3 <= s4");
    ind_facts *before = ind_facts_enter(ctx, f);
    CHECK(ind_known_divisor(parse("s0*s1")) == 24, "divisor under facts");
    CHECK(ind_known_eq(parse("s1"), parse("4*s2")), "equal under facts");
    CHECK(ind_known_le(parse("s3"), parse("s4")) && !ind_known_lt(parse("s3"), parse("s4")), "order under facts");
    CHECK(ind_known_true(parse("s1 - 4*s2 + 1")), "true under facts");
    ind_facts_enter(ctx, before);
    CHECK(!ind_known_eq(parse("s1"), parse("4*s2")), "not without");
    ind_facts_destroy(f);
}

/* ---- contradictions ---- */

static void test_contradictions(void) {
    static const struct {
        const char *facts, *fact, *says;
    } row[] = {
        {"s0 == 5", "s0 == 6", "the fact s0"},
        {"s0 <= s1", "s1 < s0", "s0 <= s1"},
        {"", "t0 == 0", "ranges"},
        {"s2 == 7;s0 >= 8", "s0 <= 7", "fact"},
        {"s0 % 8 == 3", "s0 % 4 == 1", "% 8"},
        {"s0 % 2 == 1", "s0 == 4", "% 2"},
        {"s0 < s1;s1 < s2", "s2 < s0", "together"},
        {"s0 == 4*s1", "s0 == 6", "s1"},
        {"s0 != s1", "s0 == s1", "!="},
        {"s0 == 1 or s1 == 2", "not (s0 == 1 or s1 == 2)", "or"},
        {"s0 <= 20", "m0 == 8*s0 and s0 > 20", "the fact s0"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ind_facts *f = new_facts(row[i].facts);
        uint32_t generation = f->generation;
        int declared = ind_facts_num_declared(f);
        ind_status s = ind_facts_assume(f, parse(row[i].fact));
        CHECK(s == IND_ERROR_INVALID_ARGUMENT, "%s |- %s is accepted", row[i].facts, row[i].fact);
        CHECK(strstr(ind_error(ctx), "contradicts") && strstr(ind_error(ctx), row[i].says), "%s", ind_error(ctx));
        CHECK(generation == f->generation && declared == ind_facts_num_declared(f), "%s left a trace", row[i].fact);
        ind_facts_destroy(f);
    }
}

/* ---- guards ---- */

typedef struct named_value {
    const char *name;
    int64_t value;
} named_value;

static bool value_of(const ind_symbol *s, void *user, int64_t *out) {
    for (const named_value *v = (const named_value *)user; v->name; v++)
        if (!strcmp(v->name, s->name)) return *out = v->value, true;
    return false;
}

static void test_guards(void) {
    ind_facts *f = new_facts("t0 <= t1");
    bool holds = false;
    CHECK(!ind_guard(f, parse("t0 <= t1 + 1"), &holds) && holds && !ind_facts_num_guards(f), "proven: not recorded");
    CHECK(!ind_guard(f, parse("s0 == s1"), &holds) && !holds, "hints 3 and 4 differ");
    CHECK(ind_facts_num_guards(f) == 1 && !strcmp(print(ind_facts_query_guard(f, 0)), "s0 != s1"), "negated: %s",
          print(ind_facts_query_guard(f, 0)));
    CHECK(!ind_guard(f, parse("s0 != s1"), &holds) && holds && ind_facts_num_guards(f) == 1, "the guard is known");
    CHECK(!ind_guard(f, parse("s2 >= 2"), &holds) && holds && ind_facts_num_guards(f) == 2, "recorded");
    CHECK(ind_known(f, parse("s2 > 1")), "a guard is a fact");
    CHECK(ind_guard(f, parse("u0 == 4"), &holds) == IND_ERROR_NOT_SUPPORTED && strstr(ind_error(ctx), "data"), "%s",
          ind_error(ctx));
    CHECK(ind_guard(f, parse("i0 == 4"), &holds) == IND_ERROR_NOT_SUPPORTED && strstr(ind_error(ctx), "loop"), "%s",
          ind_error(ctx));
    CHECK(ind_facts_num_guards(f) == 2 && !ind__ok(ind_facts_query_guard(f, 2)), "refused: not recorded");
    CHECK(ind_facts_num_declared(f) == 1 && !strcmp(print(ind_facts_query_declared(f, 0)), "t0 <= t1"), "declared");

    ind_expr failed;
    named_value good[] = {{"t0", 3}, {"t1", 4}, {"s0", 3}, {"s1", 5}, {"s2", 2}, {NULL, 0}};
    CHECK(!ind_facts_check(f, value_of, good, &failed) && !ind__ok(failed), "%s", ind_error(ctx));
    named_value same[] = {{"t0", 3}, {"t1", 4}, {"s0", 5}, {"s1", 5}, {"s2", 2}, {NULL, 0}};
    CHECK(ind_facts_check(f, value_of, same, &failed) == IND_ERROR_OUT_OF_RANGE, "a guard fails");
    CHECK(!strcmp(ind_error(ctx), "guard s0 != s1 does not hold: s0 = 5, s1 = 5"), "%s", ind_error(ctx));
    CHECK(failed.id == ind_facts_query_guard(f, 0).id, "the guard is given back");
    named_value range[] = {{"t0", 0}, {"t1", 4}, {"s0", 3}, {"s1", 5}, {"s2", 2}, {NULL, 0}};
    CHECK(ind_facts_check(f, value_of, range, NULL) == IND_ERROR_OUT_OF_RANGE, "a range fails");
    CHECK(!strcmp(ind_error(ctx), "t0 = 0 is outside its range [1, 1000]"), "%s", ind_error(ctx));
    named_value fact[] = {{"t0", 9}, {"t1", 4}, {"s0", 3}, {"s1", 5}, {"s2", 2}, {NULL, 0}};
    CHECK(ind_facts_check(f, value_of, fact, NULL) == IND_ERROR_OUT_OF_RANGE, "a fact fails");
    CHECK(!strcmp(ind_error(ctx), "fact t0 <= t1 does not hold: t0 = 9, t1 = 4"), "%s", ind_error(ctx));
    CHECK(ind_facts_check(f, value_of, good + 1, NULL) == IND_ERROR_NOT_FOUND && strstr(ind_error(ctx), "t0"),
          "no value");
    CHECK(!ind_facts_assume(f, parse("m0 >= 8")), "%s", ind_error(ctx));
    named_value multiple[] = {{"t0", 3}, {"t1", 4}, {"s0", 3}, {"s1", 5}, {"s2", 2}, {"m0", 9}, {NULL, 0}};
    CHECK(ind_facts_check(f, value_of, multiple, NULL) == IND_ERROR_OUT_OF_RANGE, "a multiple fails");
    CHECK(!strcmp(ind_error(ctx), "m0 = 9 is not a multiple of 8"), "%s", ind_error(ctx));
    ind_facts_destroy(f);
}

/* ---- values, walks ---- */

static void test_values(void) {
    ind_expr big = parse("s0*s1 - s2*s3 + s4"), product = parse("s0*s1*s2");
    named_value v[] = {{"s0", INT64_MAX}, {"s1", 4}, {"s2", INT64_MAX}, {"s3", 4}, {"s4", 7}, {NULL, 0}};
    int64_t out = 0;
    CHECK(!ind_expr_eval(big, value_of, v, &out) && out == 7, "terms beyond 64 bits that cancel: %s", ind_error(ctx));
    CHECK(ind_expr_eval(product, value_of, v, &out) == IND_ERROR_OVERFLOW, "overflow");
    v[1].value = 0;
    CHECK(!ind_expr_eval(product, value_of, v, &out) && !out, "a product with 0");
    v[1].value = 4;
    CHECK(!ind_expr_eval(parse("s0*s1 // 8"), value_of, v, &out) && out == INT64_MAX / 2, "a quotient that fits");
    named_value lowest[] = {{"s0", INT64_MIN}, {"s1", INT64_MAX}, {"s2", -(1ll << 32)}, {"s3", 1ll << 32}, {NULL, 0}};
    ind_expr least = parse("(2*s0*s1 + s2*s3) % 5"); /* of -2^127, whose multiple of 5 below has no 128 bits */
    CHECK(!ind_expr_eval(least, value_of, lowest, &out) && out == 2, "%lld", (long long)out);
    CHECK(ind_hint(parse("s0 + u0 + i0")) == 6, "hint %lld", (long long)ind_hint(parse("s0 + u0 + i0")));

    ind_expr shared = parse("s0"); /* 2^36 ways from the root to the leaf */
    for (int i = 0; i < 36; i++) {
        ind_expr a = ind_expr_max(ind_expr_floordiv(shared, ind_int(ctx, 3)), parse("s1"));
        shared = ind_expr_add(ind_expr_mod(shared, ind_int(ctx, 1000 + i)), a);
    }
    ind_expr found[4], s0 = parse("s0"), s1 = parse("s1"), s2 = parse("s2"), seven = ind_int(ctx, 7);
    CHECK(ind__expr_symbols(shared, found, 4) == 2, "two symbols");
    CHECK(ind__expr_depends(shared, s1) && !ind__expr_depends(shared, s2), "depends");
    CHECK(!ind__expr_has_kind(shared, IND_SYMBOL_INDEX), "kinds");
    v[0].value = 99, v[1].value = 7;
    CHECK(!ind_expr_eval(shared, value_of, v, &out), "%s", ind_error(ctx));
    int64_t expected = out;
    ind_expr less = ind_expr_substitute(shared, &s1, &seven, 1);
    CHECK(!ind_expr_eval(less, value_of, v, &out) && out == expected, "%lld", (long long)out);
    CHECK(!ind__expr_depends(less, s1), "substituted");
    CHECK(ind_known_divisor(shared) == 1, "divisor");
    CHECK(ind__ok(ind_simplify(NULL, shared)), "simplify");
    ind_expr swap_from[2] = {s0, s1}, swap_to[2] = {s1, s0};
    CHECK(ind_expr_substitute(parse("s0 - 2*s1"), swap_from, swap_to, 2).id == parse("s1 - 2*s0").id, "at once");
    CHECK(!ind__ok(ind_expr_substitute(s0, &seven, &s1, 1)), "only symbols");
}

/* A proof that overflows on the way is no error. */
static void test_quiet(void) {
    ind_facts *f = new_facts("s0 <= 9223372036854775807*s1");
    ind_expr bad = ind_expr_mul(ind_int(ctx, INT64_MAX), ind_int(ctx, 4));
    CHECK(!ind__ok(bad) && ind_error_status(ctx) == IND_ERROR_OVERFLOW, "an error to keep");
    ind_expr none = {ctx, 0};
    CHECK(ind_facts_assume(NULL, parse("s0 <= 1")) == IND_ERROR_INVALID_ARGUMENT, "no set");
    CHECK(ind_facts_assume(f, none), "an invalid condition");
    ind__state_of(ctx)->text[0] = 0;
    ind_known(f, parse("9223372036854775807*s0 <= 3*s1"));
    ind_known_le(parse("9223372036854775807*s0"), parse("-9223372036854775807*s1 - s2"));
    CHECK(!ind_error(ctx)[0], "left behind: %s", ind_error(ctx));
    ind_facts_destroy(f);
}

/* ---- random facts that hold at a random point ---- */

#define NUM_RANDOM 4
static ind_expr random_symbol[NUM_RANDOM];
static int64_t random_point[NUM_RANDOM];

static bool point_value(const ind_symbol *s, void *user, int64_t *out) {
    const int64_t *p = (const int64_t *)user;
    *out = p[s->name[1] - '0'];
    return true;
}

static ind_expr random_expr(int depth) {
    if (!depth || !rnd(4)) return rnd(3) ? random_symbol[rnd(NUM_RANDOM)] : ind_int(ctx, (int64_t)rnd(20) - 6);
    ind_expr a = random_expr(depth - 1), b = random_expr(depth - 1);
    ind_expr d = ind_int(ctx, rnd(4) ? 1 + (int64_t)rnd(12) : -1 - (int64_t)rnd(5));
    switch (rnd(9)) {
    case 0: return ind_expr_floordiv(a, d);
    case 1: return ind_expr_mod(a, d);
    case 2: return ind_expr_min(a, b);
    case 3: return ind_expr_max(a, b);
    case 4: return ind_expr_where(ind_expr_lt(a, b), b, a);
    case 5:
    case 6: return ind_expr_mul(a, rnd(2) ? b : d);
    case 7: return ind_expr_sub(a, b);
    default: return ind_expr_add(a, b);
    }
}

static int64_t at_point(ind_expr e, bool *ok) {
    int64_t v = 0;
    *ok = ind__ok(e) && !ind_expr_eval(e, point_value, random_point, &v);
    return v;
}

/* A fact about a and b that holds at the point. */
static ind_expr random_fact(void) {
    ind_expr a = random_expr(2), b = rnd(2) ? random_expr(1) : random_symbol[rnd(NUM_RANDOM)];
    bool ok_a, ok_b;
    int64_t x = at_point(a, &ok_a), y = at_point(b, &ok_b);
    if (!ok_a || !ok_b) return ind_int(ctx, 1);
    int64_t m = 2 + rnd(7);
    switch (rnd(6)) {
    case 0: return ind_expr_eq(b, ind_expr_add(a, ind_int(ctx, y - x)));
    case 1: return ind_expr_eq(ind_expr_mod(a, ind_int(ctx, m)), ind_int(ctx, (x % m + m) % m));
    case 2: return x != y ? ind_expr_ne(a, b) : ind_expr_le(a, b);
    case 3: return x < y ? ind_expr_lt(a, b) : ind_expr_le(b, a);
    case 4: return ind_expr_or(ind_expr_le(a, b), ind_expr_eq(a, ind_int(ctx, x)));
    default: return ind_expr_and(ind_expr_le(a, ind_int(ctx, x + rnd(5))), ind_expr_le(ind_int(ctx, y - rnd(5)), b));
    }
}

static void check_at(ind_facts *f, ind_expr e, ind_expr r) {
    bool ok, ok_r;
    int64_t v = at_point(e, &ok), w = at_point(r, &ok_r), lo, hi;
    if (!ok) return; /* too large */
    CHECK(ok_r && v == w, "%s = %lld but %s = %lld", print(e), (long long)v, print(r), (long long)w);
    ind_bounds(f, e, &lo, &hi);
    CHECK(lo <= v && v <= hi, "%s = %lld outside [%lld, %lld]", print(e), (long long)v, (long long)lo, (long long)hi);
    ind_expr_bounds(r, &lo, &hi);
    CHECK(lo <= v && v <= hi, "%s = %lld outside its own [%lld, %lld]", print(r), (long long)v, (long long)lo,
          (long long)hi);
}

static void test_random(int rounds) {
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < NUM_RANDOM; i++) {
            static const char *const name[NUM_RANDOM] = {"a0", "a1", "a2", "a3"};
            ind_symbol s = {.kind = rnd(4) ? IND_SYMBOL_SIZE : IND_SYMBOL_UNBACKED, .name = name[i]};
            s.lo = rnd(3) ? (int64_t)rnd(3) : -(int64_t)rnd(30);
            s.hi = rnd(3) ? s.lo + 1 + rnd(60) : INT64_MAX;
            s.hint = s.lo;
            random_symbol[i] = ind_symbol_expr(ctx, &s);
            random_point[i] = s.lo + rnd(s.hi == INT64_MAX ? 50 : (uint32_t)(s.hi - s.lo + 1));
        }
        ind_facts *f = NULL;
        CHECK(!ind_facts_create(ctx, &f), "%s", ind_error(ctx));
        for (int i = 0, n = 1 + (int)rnd(4); i < n; i++) {
            ind_expr fact = random_fact();
            if (!ind__ok(fact)) continue;
            ind_status s = ind_facts_assume(f, fact);
            CHECK(!s, "round %d: a true fact is refused: %s", round, ind_error(ctx));
        }
        CHECK(!ind_facts_check(f, point_value, random_point, NULL), "round %d: %s", round, ind_error(ctx));
        for (int i = 0; i < 6; i++) {
            ind_expr e = random_expr(4);
            if (!ind__ok(e)) continue;
            ind_expr r = ind_simplify(f, e);
            CHECK(ind__ok(r), "%s: %s", print(e), ind_error(ctx));
            check_at(f, e, r);
            ind_expr again = ind_simplify(f, r);
            CHECK(again.id == r.id, "round %d: %s simplifies to %s and that to %s", round, print(e), print(r),
                  print(again));
            ind_expr c = ind_expr_lt(e, random_expr(2));
            bool ok;
            int64_t v = at_point(c, &ok);
            if (ok) CHECK(!ind_known(f, c) || v, "round %d: %s is known and false", round, print(c));
        }
        if (checks_failed > 20) return;
        ind_facts_destroy(f);
    }
}

/* ---- every allocation fails in turn ---- */

/* Was the call that failed for want of memory, or did it make do (which plain constructors may)? */
static ind_status judged(ind_context *c, uint32_t failures, ind_status s) {
    CHECK((ind__state_of(c)->failures != failures) == (s == IND_ERROR_OUT_OF_MEMORY), "status %d, %s", (int)s,
          ind_error(c));
    return s;
}

static ind_status work_without(ind_context *c, ind_facts **f) {
    static const char *const facts[] = {"s0 == 4*s1", "s1 <= s2 and s2 <= 30", "s3 % 8 == 3", "s3 == 1 or s4 == 2",
                                        "s2 != s4",   "(s3 + s4) % 6 == 1"};
    ind_status s = ind_facts_create(c, f);
    for (size_t i = 0; i < sizeof facts / sizeof *facts && !s; i++) {
        ind_expr e = parse_in(c, facts[i]);
        if (!ind__ok(e)) return IND_ERROR_OUT_OF_MEMORY;
        int declared = ind_facts_num_declared(*f);
        uint32_t generation = (*f)->generation;
        uint32_t failures = ind__state_of(c)->failures;
        s = judged(c, failures, ind_facts_assume(*f, e));
        if (s) CHECK(generation == (*f)->generation && declared == ind_facts_num_declared(*f), "changed by a failure");
    }
    bool holds;
    ind_expr less = parse_in(c, "s2 < s3");
    uint32_t failures = ind__state_of(c)->failures;
    if (!s && !ind__ok(less)) return IND_ERROR_OUT_OF_MEMORY;
    if (!s) s = judged(c, failures, ind_guard(*f, less, &holds));
    ind_expr e = parse_in(c, "s0 % 4 + s1 // 40 + Max(s1, s2) - 8*(s3 // 8)");
    if (s || !ind__ok(e)) return s ? s : IND_ERROR_OUT_OF_MEMORY;
    failures = ind__state_of(c)->failures;
    return judged(c, failures, ind__ok(ind_simplify(*f, e)) ? IND_OK : IND_ERROR_OUT_OF_MEMORY);
}

static void test_no_memory(void) {
    bool done = false;
    long at;
    for (at = 1; !done && at < 4000; at++) {
        check_heap h = {.fail_at = at};
        ind_context_desc d = {.allocator = {check_alloc, check_free, &h}};
        ind_context *c = NULL;
        if (ind_context_create(&d, &c)) continue;
        ind_facts *f = NULL;
        ind_status s = work_without(c, &f);
        done = h.calls < at;
        CHECK(!s || (!done && s == IND_ERROR_OUT_OF_MEMORY), "allocation %ld: status %d, %s", at, (int)s, ind_error(c));
        if (rnd(2)) ind_facts_destroy(f); /* else the context does */
        ind_context_destroy(c);
        CHECK(!h.live, "allocation %ld: %ld blocks are lost", at, h.live);
    }
    CHECK(done, "ended after %ld", at);
}

/* What an embedder does: puts a set in force, builds what needs it, and takes it out again. */
static void test_in_force(void) {
    ind_facts *f;
    ind_context *other;
    if (ind_facts_create(ctx, &f) || ind_context_create(NULL, &other)) return;
    CHECK(!ind_facts_assume(f, parse("g0 != 0")) && !ind_facts_assume(f, parse("(s0 + s1) % 8 == 3")), "facts");
    ind_expr n = parse("g0"), x = parse("s0 + s1"), eight = ind_int(ctx, 8);
    CHECK(!ind__ok(ind_expr_floordiv(x, n)), "a divisor that may be 0");
    CHECK(!ind_facts_enter(ctx, f), "none was in force");
    CHECK(ind__ok(ind_expr_floordiv(x, n)), "the fact says that it is not 0");
    uint32_t fired = ind__expr_rule_fired(ctx, IND__EXPR_RULE_RESIDUE);
    CHECK(ind_expr_same(ind_expr_mod(x, eight), ind_int(ctx, 3)), "(s0 + s1) %% 8 is 3");
    CHECK(ind__expr_rule_fired(ctx, IND__EXPR_RULE_RESIDUE) > fired, "by the rule of residues");
    CHECK(!ind_facts_enter(other, f) && ind_error_status(other) == IND_ERROR_INVALID_ARGUMENT, "another context's set");
    CHECK(!ind_facts_enter(NULL, f), "no context");
    ind_facts_destroy(f);
    CHECK(!ind_facts_enter(ctx, NULL), "a set that is destroyed is in force no more");
    CHECK(ind_expr_query_kind(ind_expr_mod(x, eight)) == IND_EXPR_MOD, "nothing of it is remembered");
    ind_context_destroy(other);
}

/* Answers, hints and loop indices are remembered: each is asked for twice, and for what differs in one thing. */
static void test_remembered(void) {
    ind_facts *f;
    ind_expr a = parse("s0 * t0"), b = parse("s1 * t0");
    if (ind_facts_create(ctx, &f)) return;
    for (int twice = 0; twice < 2; twice++) {
        CHECK(!ind_known_le(a, b) && !ind_known_lt(a, b), "nothing says so");
        CHECK(ind_known_le(a, a) && !ind_known_lt(a, a), "equal ones");
        CHECK(ind_hint(a) == 9 && ind_hint(b) == 12, "hints %lld, %lld", (long long)ind_hint(a),
              (long long)ind_hint(b));
        CHECK(ind_hint(parse("s0 * -4294967296")) == -3 * ((int64_t)1 << 32), "a hint of more than 32 bits");
    }
    ind_facts_enter(ctx, f);
    CHECK(!ind_known_le(a, b), "no fact yet");
    CHECK(!ind_facts_assume(f, parse("s0 <= s1")), "%s", ind_error(ctx));
    for (int twice = 0; twice < 2; twice++)
        CHECK(ind_known_le(a, b) && !ind_known_lt(a, b) && !ind_known_le(b, a), "at most, not less");
    CHECK(!ind_facts_assume(f, parse("s0 < s1")), "%s", ind_error(ctx));
    CHECK(ind_known_lt(a, b), "less, as the set now says");
    ind_facts_enter(ctx, NULL);
    CHECK(!ind_known_le(a, b) && !ind_known_lt(a, b), "nothing says so any more");
    ind_facts_destroy(f);
    ind_expr i1 = ind__index_symbol(ctx, 'i', 1, a);
    CHECK(ind_expr_same(i1, ind__index_symbol(ctx, 'i', 1, a)), "the same loop");
    CHECK(!ind_expr_same(i1, ind__index_symbol(ctx, 'r', 1, a)), "another prefix");
    CHECK(!ind_expr_same(i1, ind__index_symbol(ctx, 'i', 2, a)), "another number");
    CHECK(!ind_expr_same(i1, ind__index_symbol(ctx, 'i', 1, b)), "another extent");
}

int main(int argc, char **argv) {
    if (ind_context_create(NULL, &ctx)) return 1;
    test_in_force();
    test_remembered();
    test_simplify();
    test_bounds();
    test_known();
    test_contradictions();
    test_guards();
    test_values();
    test_quiet();
    if (argc > 2) seed = strtoull(argv[2], NULL, 10);
    test_random(argc > 1 ? atoi(argv[1]) : 400);
    test_no_memory();
    ind_context_destroy(ctx);
    return check_summary();
}
