/* test_rules.c - every rule of simplification has an example here in which it applies: both sides become one node, the
   rule is counted, and both have Python's value, computed here, at random and at corner points. */
#include "inductor_ir.h"

#include "check.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static ind_context *ctx;

/* The symbols of the examples: plain ranges, and loop indices with the extents s and 100. */
static const struct {
    const char *name;
    int64_t lo, hi, multiple_of;
    const char *extent;
} declared[] = {
    {"s", 1, 1000, 1, NULL},   {"t", 1, 1000, 1, NULL}, {"n", -50, 50, 1, NULL},
    {"neg", -9, -1, 1, NULL},  {"p", 8, 4096, 8, NULL}, {"x", 0, 100000, 1, NULL},
    {"y", 0, 100000, 1, NULL}, {"i", 0, 99, 1, "100"},  {"r", 0, 0, 1, "s"},
};
#define NUM_SYMBOLS (sizeof declared / sizeof *declared)
static ind_expr symbol[NUM_SYMBOLS];
static int64_t point[NUM_SYMBOLS];

static ind_expr find(const char *name, size_t length, void *user) {
    (void)user;
    for (size_t k = 0; k < NUM_SYMBOLS; k++)
        if (strlen(declared[k].name) == length && !memcmp(declared[k].name, name, length)) return symbol[k];
    return (ind_expr){ctx, 0};
}

static ind_expr parse(const char *text) {
    const char *end = NULL;
    ind_expr e = ind__expr_parse(ctx, text, &end, find, NULL);
    CHECK(ind__ok(e) && !*end, "%s: %s", text, ind_error(ctx));
    return e;
}

static void declare(void) {
    for (size_t k = 0; k < NUM_SYMBOLS; k++) {
        ind_symbol s = {.kind = IND_SYMBOL_SIZE, .name = declared[k].name, .lo = declared[k].lo, .hi = declared[k].hi};
        s.multiple_of = declared[k].multiple_of;
        s.hint = s.lo;
        if (declared[k].extent) {
            s.kind = IND_SYMBOL_INDEX;
            s.extent = parse(declared[k].extent);
        }
        symbol[k] = ind_symbol_expr(ctx, &s);
        CHECK(ind__ok(symbol[k]), "%s: %s", declared[k].name, ind_error(ctx));
    }
}

/* Rule, expression that it applies to, what that is; two plain trees for the value. */
static const struct {
    const char *rule, *before, *after;
} example[] = {
    {"combine", "7*(x % s) + 7*s*(x // s)", "7*x"},
    {"combine", "(x + 3) % 4 + 4*((x + 3) // 4)", "x + 3"},
    {"combine", "n % 5 + 5*(n // 5)", "n"},
    {"combine-modular", "x // 3 % 4 + 4*(x // 12 % 5)", "x // 3 % 20"},
    {"combine-modular", "2*(y % s) + 2*s*(y // s % t)", "2*(y % (s*t))"},
    {"mod-from-difference", "x - 4*(x // 4)", "x % 4"},
    {"mod-from-difference", "n + x - 6*((n + x) // 6) + 9", "(n + x) % 6 + 9"},
    {"floor-from-difference", "x - x % 4", "4*(x // 4)"},
    {"floor-from-difference", "3*n - 3*(n % s)", "3*s*(n // s)"},
    {"exact-quotient", "8*(p // 8)", "p"},
    {"exact-quotient", "2*(p // 8)", "p // 4"},
    {"divide-zero", "(x - x) // s", "0"},
    {"divide-by-one", "x // 1", "x"},
    {"divide-by-one", "n % 1", "0"},
    {"multiples", "(12*i + 7) // 4", "3*i + 1"},
    {"multiples", "(s*x + r) % s", "r"},
    {"multiples", "(n*neg + neg) // neg", "n + 1"},
    {"long-division", "(n*(2*n + 1) + 2*n + 1) // (2*n + 1)", "n + 1"},
    {"long-division", "(s*x + t*x + 5*s + 5*t) // (s + t)", "x + 5"},
    {"long-division", "(s*x + x + r) % (s + 1)", "r"},
    {"reduce", "(7*x + y) % 4", "(3*x + y) % 4"},
    {"common-factor", "6*s*x // (4*s*t)", "3*x // (2*t)"},
    {"common-factor", "6*x % (4*s)", "2*(3*x % (2*s))"},
    {"common-factor", "neg*x // (neg*s)", "x // s"},
    {"common-factor", "4*x // (2*s + 2*t)", "2*x // (s + t)"},
    {"in-range", "i // 100", "0"},
    {"in-range", "r % s", "r"},
    {"in-range", "r // (s + t)", "0"},
    {"constant", "(Max(i, 60) + 50) // 100", "1"},
    {"constant", "(Max(i, 60) + 50) % 100", "Max(i, 60) - 50"},
    {"nested", "x // 3 // 5", "x // 15"},
    {"nested", "(x // 3 + 2) // 5", "(x + 6) // 15"},
    {"nested", "n // s // t", "n // (s*t)"},
    {"floor-of-mod", "x % 12 // 4", "x // 4 % 3"},
    {"floor-of-mod", "x % (s*t) // s", "x // s % t"},
    {"unnest", "(x % 12) % 4", "x % 4"},
    {"unnest", "(3*(x % 8) + y) % 12", "(3*x + y) % 12"},
    {"small-part", "(4*x + i % 4) // 8", "x // 2"},
    {"small-part", "(100*s + i) // (100*t)", "s // t"},
    {"small-part", "(p + 5) // 8", "p // 8"},
    {"small-part", "(100*x + i) % 300", "100*(x % 3) + i"},
    {"small-part", "(56*x + i % 7) // (7*p)", "56*x // (7*p)"},
    {"small-part", "((s + 1)*x + s) // (3*s + 3)", "x // 3"},
    {"floor-of-mod", "x % p // 8", "x // 8 % (p // 8)"},
    {"unnest", "x % p % 4", "x % 4"},
    {"combine", "(x // 5 % t) % s + s*((x // 5 % t) // s)", "x // 5 % t"},
    {"exact-coefficient", "3*p // 8", "3*(p // 8)"},
    {"combine-quotients", "(p // 8)*s", "p*s // 8"},
    {"combine-quotients", "(p // 4)*(p // 8)", "p*p // 32"},
    {"floor-multiples", "(x*p + y) // 8 % (p // 8)", "y // 8 % (p // 8)"},
    {"multiples", "(p*x + r) // (p // 8)", "8*x + r // (p // 8)"},
    {"multiples", "p // (p // 8)", "8"},
    {"exact-scale", "(p // 8)*i // p", "i // 8"},
    {"flip", "-x // 4", "-((x + 3) // 4)"},
    {"flip", "-x % 7", "6 - (x + 6) % 7"},
    {"flip", "-((-x) // s)", "1 + (x - 1) // s"},
    {"dominated", "Max(s, 1, s + t)", "s + t"},
    {"dominated", "Min(x, Max(x, n))", "x"},
    {"lattice-common-term", "Min(x + n, y + n)", "n + Min(x, y)"},
    {"lattice-factor", "Max(4*x, 4*y)", "4*Max(x, y)"},
    {"lattice-factor", "Min(-x, -y)", "-Max(x, y)"},
    {"lattice-factor", "Min(0, x - y)", "-Max(0, y - x)"},
    {"lattice-factor", "Max(0, 6*x - 4*y)", "2*Max(0, 3*x - 2*y)"},
    {"lattice-factor", "Min(y - x, -n)", "-Max(n, x - y)"},
    {"lattice-factor", "-Min(2, 2*t - s)", "Max(-2, s - 2*t)"},
    {"lattice-difference", "x - Min(x, y)", "Max(0, x - y)"},
    {"lattice-difference", "x - Max(x, y)", "Min(0, x - y)"},
    {"lattice-difference", "y - Min(x, y)", "Max(0, y - x)"},
    {"lattice-difference", "s - Min(2, s)", "Max(0, s - 2)"},
    {"lattice-difference", "3*x - 3*Min(x, y) + n", "n + 3*Max(0, x - y)"},
    {"lattice-difference", "s*x - s*Max(x, y) - t", "s*Min(0, x - y) - t"},
    {"lattice-difference", "x + n - Min(x + n, y)", "Max(0, x + n - y)"},
    {"lattice-difference", "x - Min(x + n, y)", "-Min(n, y - x)"},
    {"lattice-difference", "2*Max(x, y) - x", "x + 2*Max(0, y - x)"},
    {"lattice-difference", "2*x - Min(x, y)", "x + Max(0, x - y)"},
    {"lattice-difference", "5*x - 3*Max(x, y)", "2*x + 3*Min(0, x - y)"},
    {"lattice-pair", "Min(x, y) + Max(x, y)", "x + y"},
    {"lattice-pair", "Min(2, s) + Max(0, s - 2)", "s"},
    {"lattice-pair", "5 - Min(5, s) - Max(0, 5 - s)", "0"},
    {"lattice-pair", "t*Max(x + s, y) - t*Max(x, y - s)", "s*t"},
    {"lattice-pair", "5*Max(x, y) + 3*Min(x, y)", "2*Max(x, y) + 3*x + 3*y"},
    {"where-nested", "Where(x < y, Where(x < y, n, s), t)", "Where(x < y, n, t)"},
    {"where-lattice", "Where(x < y, x, y)", "Min(x, y)"},
    {"where-lattice", "Where(x <= y, y, x)", "Max(x, y)"},
};

static bool value_of(const ind_symbol *s, void *user, int64_t *out) {
    (void)user;
    for (size_t k = 0; k < NUM_SYMBOLS; k++)
        if (!strcmp(declared[k].name, s->name)) *out = point[k];
    return true;
}

static uint64_t seed = 99;

static void choose_point(int corner) {
    for (size_t k = 0; k < NUM_SYMBOLS; k++) {
        int64_t lo = declared[k].lo,
                hi = declared[k].extent && *declared[k].extent == 's' ? point[0] - 1 : declared[k].hi;
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        point[k] = corner == 0 ? lo : corner == 1 ? hi : lo + (int64_t)((seed >> 33) % (uint64_t)(hi - lo + 1));
        point[k] -= point[k] % declared[k].multiple_of;
    }
}

static int rule_number(const char *name) {
    for (int k = 0; k < IND__NUM_EXPR_RULES; k++)
        if (!strcmp(ind__expr_rule_name(k, NULL), name)) return k;
    return -1;
}

/* ---- values of the texts as they stand: a small evaluator that knows nothing of the algebra */

static const char *at;

static int64_t eval_or(void);

static bool take(const char *token) {
    while (*at == ' ') at++;
    if (strncmp(at, token, strlen(token))) return false;
    at += strlen(token);
    return true;
}

static int64_t eval_primary(void) {
    int64_t v[8] = {0};
    while (*at == ' ') at++;
    if (take("-")) return -eval_primary();
    if (take("(")) {
        v[0] = eval_or();
        take(")");
        return v[0];
    }
    if (*at >= '0' && *at <= '9') return strtoll(at, (char **)(uintptr_t)&at, 10);
    const char *name = at;
    while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')) at++;
    size_t length = (size_t)(at - name);
    for (size_t k = 0; k < NUM_SYMBOLS; k++)
        if (strlen(declared[k].name) == length && !memcmp(declared[k].name, name, length)) return point[k];
    int n = 0;
    for (take("("); n < 8;) {
        v[n++] = eval_or();
        if (!take(",")) break;
    }
    take(")");
    if (*name == 'W') return v[0] ? v[1] : v[2];
    for (int k = 1; k < n; k++)
        if (name[1] == 'i' ? v[k] < v[0] : v[k] > v[0]) v[0] = v[k];
    return v[0];
}

static int64_t eval_product(void) {
    int64_t v = eval_primary();
    for (;;) {
        bool quotient = take("//"), mod = !quotient && take("%"), product = !quotient && !mod && take("*");
        if (!quotient && !mod && !product) return v;
        int64_t b = eval_primary(), q = product ? 0 : v / b - (v % b != 0 && (v < 0) != (b < 0));
        v = product ? v * b : quotient ? q : v - q * b;
    }
}

static int64_t eval_sum(void) {
    int64_t v = eval_product();
    for (;;) {
        if (take("+"))
            v += eval_product();
        else if (take("-"))
            v -= eval_product();
        else
            return v;
    }
}

static int64_t eval_or(void) {
    int64_t v = eval_sum();
    if (take("<=")) return v <= eval_sum();
    if (take("<")) return v < eval_sum();
    return v;
}

static int64_t eval_text(const char *text) {
    at = text;
    return eval_or();
}

static void examples(void) {
    for (size_t k = 0; k < sizeof example / sizeof *example; k++) {
        int rule = rule_number(example[k].rule);
        CHECK(rule >= 0, "%s is no rule", example[k].rule);
        if (ind_context_create(NULL, &ctx)) return;
        declare();
        uint32_t fired = ind__expr_rule_fired(ctx, rule);
        ind_expr before = parse(example[k].before);
        CHECK(ind__expr_rule_fired(ctx, rule) > fired, "%s does not apply to %s", example[k].rule, example[k].before);
        CHECK(ind_expr_same(before, parse(example[k].after)), "%s is not %s", example[k].before, example[k].after);
        for (int corner = 0; corner < 20; corner++) {
            int64_t v = 0;
            choose_point(corner);
            ind_status status = ind_expr_eval(before, value_of, NULL, &v);
            CHECK(!status && v == eval_text(example[k].before), "%s has the value %lld, not %lld", example[k].before,
                  (long long)v, (long long)eval_text(example[k].before));
        }
        ind_context_destroy(ctx);
    }
}

/* A rule without an example fails here. RESIDUE needs a fact: test_facts.c counts it. */
static void every_rule(void) {
    for (int k = 0; k < IND__NUM_EXPR_RULES; k++) {
        const char *law, *name = ind__expr_rule_name(k, &law);
        bool found = !strcmp(name, "residue");
        for (size_t j = 0; j < sizeof example / sizeof *example; j++) found = found || !strcmp(example[j].rule, name);
        CHECK(found && *law, "rule %s has no example", name);
    }
    CHECK(!ind__expr_rule_name(-1, NULL) && !ind__expr_rule_name(IND__NUM_EXPR_RULES, NULL), "there is no such rule");
}

/* Sums with a Min or Max: adding something and taking it away gives the same node, as does negating twice. */
static void undone(void) {
    static const char *const argument[] = {"x", "y", "n + 2", "5", "0", "x - y", "2*x", "s - 1"};
    static const char *const rest[] = {"0", "x", "-y", "3", "n + 1", "2*x - s"};
    static const char *const more[] = {"x", "-x", "y - x", "2*x", "-n - 2", "4", "Max(2, x)", "s*t"};
    const int num = COUNT(argument) * COUNT(argument) * COUNT(rest);
    for (int k = 0; k < num * 6; k++) {
        ind_expr a = parse(argument[k % 8]), b = parse(argument[k / 8 % 8]), r = parse(rest[k / 64 % 6]);
        ind_expr q = ind_int(ctx, k / num / 2 ? k / num / 2 : -1),
                 f = k / num % 2 ? ind_expr_min(a, b) : ind_expr_max(a, b);
        ind_expr e = ind_expr_add(ind_expr_mul(q, f), r);
        char text[100];
        ind_expr_print(e, text, sizeof text);
        CHECK(ind_expr_same(ind_expr_neg(ind_expr_neg(e)), e), "-(-(%s))", text);
        for (size_t i = 0; i < COUNT(more); i++) {
            ind_expr m = parse(more[i]);
            CHECK(ind_expr_same(ind_expr_sub(ind_expr_add(e, m), m), e), "%s + %s - that", text, more[i]);
        }
    }
}

int main(void) {
    every_rule();
    if (ind_context_create(NULL, &ctx)) return 1;
    declare();
    undone();
    ind_context_destroy(ctx);
    examples();
    return check_summary();
}
