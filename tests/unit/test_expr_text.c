/* test_expr_text.c - expressions as text: the smallest form is printed and reads back to the same id, C and LaTeX say
   the same, errors name their column, limits hold. With --emit N: a C program that checks N printed expressions by
   itself. */
#include "inductor_ir.h"

#include "check.h"
#include "system.h"
#include <string.h>
#include <time.h>

static ind_context *ctx;
static uint64_t seed = 99991;

static uint32_t rnd(uint32_t n) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % n;
}

/* ---- symbols by name: a to z are sizes from 1 on, n.. may be negative, N.. has no upper end, i.. are loop indices
   below 100; q is not declared */

static ind_expr find(const char *name, size_t length, void *user) {
    char text[64];
    (void)user;
    snprintf(text, sizeof text, "%.*s", (int)(length < 60 ? length : 60), name);
    ind_symbol s = {.kind = IND_SYMBOL_SIZE, .name = text, .lo = 1, .hi = 4096, .multiple_of = 1, .hint = 8};
    if (*name == 'i') return ind__index_symbol(ctx, 'i', atoi(text + 1), ind_int(ctx, 100));
    if (*name == 'n') s.lo = -50, s.hi = 50;
    if (*name == 'N') s.lo = 0, s.hi = INT64_MAX;
    if (*name == 'q') s.lo = s.hi + 1; /* refused */
    return ind_symbol_expr(ctx, &s);
}

static ind_expr parse(const char *text) {
    return ind_expr_parse(ctx, text, find, NULL, NULL);
}

typedef struct pair {
    const char *text, *want;
} pair;

static void printed(const pair *table, size_t n, ind_print form) {
    for (size_t i = 0; i < n; i++) {
        char text[512];
        ind_expr e = parse(table[i].text);
        CHECK(ind__ok(e), "%s: %s", table[i].text, ind_error(ctx));
        ind_expr_print_as(e, form, text, sizeof text);
        CHECK(!strcmp(text, table[i].want), "%s is printed as %s, not %s", table[i].text, text, table[i].want);
        if (form == IND_PRINT_TEXT) CHECK(ind_expr_same(parse(text), e), "%s reads back as something else", text);
    }
}
#define PRINTED(table, form) printed(table, sizeof table / sizeof *table, form)

static void smallest_text(void) {
    static const pair table[] = {
        {"2*a + 4*b", "2*a + 4*b"}, /* a tie: as it is stored */
        {"2*a + 2*b", "2*(a + b)"},
        {"(a + b)*(c + d)", "(a + b)*(c + d)"},
        {"(a - b)*(c + 2*d) - 4", "(a - b)*(c + 2*d) - 4"},
        {"(a + 1)*(b + 1)", "(a + 1)*(b + 1)"},
        {"(a + b)*(a + b)", "(a + b)*(a + b)"},
        {"(a - 2*b + 3)*(a - 2*b + 3) + c", "(a - 2*b + 3)*(a - 2*b + 3) + c"},
        {"a*b*c + a*b*d + a*e + 7", "a*(b*(c + d) + e) + 7"},
        {"6*a*b + 6*a*c + 4*b + 4*c", "(6*a + 4)*(b + c)"},
        {"384*s*i0 + 384*i1 + i2", "384*(s*i0 + i1) + i2"},
        {"(a+b+c)*(d+e+f)*(g+h)", "(a + b + c)*(g + h)*(d + e + f)"},
        {"5 - a", "5 - a"},
        {"-a - 5", "-5 - a"}, /* the minus of a number is no operation */
        {"-a - b", "-a - b"},
        {"-(a // 4)", "CeilDiv(a, -4)"},
        {"-CeilDiv(a, 4)", "a // -4"},
        {"-(-a // 4) - b", "CeilDiv(a, 4) - b"},
        {"256 - 4*(-3*a*b // 8)", "4*((3*a*b + 519) // 8)"},
        {"a*b + 48*a*b*b", "a*b*(48*b + 1)"},
        {"-a*b - a*c - d", "-a*(b + c) - d"},
        {"-((n + 1) // 2) - 3", "-3 - CeilDiv(n, 2)"},
        {"CeilDiv(a, 4)", "CeilDiv(a, 4)"},
        {"(a + 3) // 4", "CeilDiv(a, 4)"},
        {"CeilDiv(a, b)", "CeilDiv(a, b)"},
        {"3 + 3*((a-1)//s)", "3*CeilDiv(a, s)"},
        {"CeilDiv(a, b) + CeilDiv(c, d)", "CeilDiv(a, b) + CeilDiv(c, d)"},
        {"CeilDiv(a, 4)*CeilDiv(b, 4)", "CeilDiv(a, 4)*CeilDiv(b, 4)"},
        {"512*CeilDiv(a, 64)", "512*CeilDiv(a, 64)"},
        {"1 + (a + 3) // 4", "(a + 7) // 4"},
        {"2 - (i0 + 2) // 4", "(9 - i0) // 4"},
        {"7 - (n + 7) % 8", "-n % 8"},
        {"b - 1 - (a - 1) % b", "-a % b"},
        {"(a + 127) % 128", "(a - 1) % 128"},
        {"(i0 % 12) // 4", "i0 // 4 % 3"},
        {"(i0 // 4)*(i1 // 4) + i0 // 4", "(i0 // 4)*(i1 // 4 + 1)"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"-9223372036854775808*N + 1", "-9223372036854775808*N + 1"},
        {"not (a < b and not c == d)", "not (c != d and a < b)"},
    };
    PRINTED(table, IND_PRINT_TEXT);
}

static void other_spellings(void) {
    static const pair same[] = {
        {"FloorDiv(a, b)", "a // b"},
        {"CleanDiv(a, 4)", "a // 4"},
        {"Mod(n, 4)", "n % 4"},
        {"PythonMod(n, 4)", "n % 4"},
        {"Eq(a, b)", "a == b"},
        {"Ne(a, b)", "a != b"},
        {"Gt(a, b)", "b < a"},
        {"Ge(a, b)", "b <= a"},
        {"Lt(a, b)", "a < b"},
        {"Le(a, b)", "a <= b"},
        {"And(a<b, c<d)", "a<b and c<d"},
        {"Or(a<b, c<d)", "a<b or c<d"},
        {"Not(a < b)", "b <= a"},
        {"Identity(a)", "a"},
        {"Abs(n)", "Max(n, -n)"},
        {"a**3", "a*a*a"},
        {"-a**2", "-(a*a)"},
        {"2**3**2", "512"},
        {"a**0", "1"},
        {"+a - -b", "a + b"},
        {"not a == b", "a != b"},
        {"-a // 4", "(-a) // 4"},
        {"-(a) % 4", "(-a) % 4"},
        {"a - b - c", "(a - b) - c"},
        {"a // b // c", "(a // b)//c"},
        {"a * b % c", "(a*b) % c"},
        {"a // b * c", "(a // b)*c"},
        {"a > b", "b < a"},
        {"a >= b", "b <= a"},
        {"a<b or c<d and a<c", "a<b or (c<d and a<c)"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        ind_expr a = parse(same[i].text), b = parse(same[i].want);
        CHECK(ind_expr_same(a, b), "%s is not %s: %s", same[i].text, same[i].want, ind_error(ctx));
    }
}

static void code(void) {
    static const pair cuda[] = {
        {"i0 // 4", "i0 / 4"},
        {"n // 4", "ind_floordiv(n, 4)"},
        {"n % a", "ind_floormod(n, a)"},
        {"1 + (i0 + 3) // 4", "(i0 + 7) / 4"},
        {"CeilDiv(i0, a)", "(a + i0 - 1) / a"},
        {"CeilDiv(N, 4)", "(N + 3) / 4"},
        {"CeilDiv(N, a) + 1", "ind_floordiv(N - 1, a) + 2"}, /* N + a - 1 could leave the type */
        {"384*s*i0 + 384*i1", "384*(s*i0 + i1)"},
        {"N*a + N*b", "N*a + N*b"}, /* N can be 0 where a + b is not .. */
        {"Min(a, b, c)", "ind_min(ind_min(a, b), c)"},
        {"Where(a < b and c != d, a, -b)", "(c != d && a < b ? a : -b)"},
        {"-2147483648 - a", "(-2147483647 - 1) - a"},
        {"2147483648*N", "2147483648ll*N"},
    };
    static const pair c[] = {
        {"384*i0 + 1", "384ll*i0 + 1ll"},
        {"-9223372036854775808 + a", "a + (-9223372036854775807ll - 1)"},
        {"not (a < b and (c < d or a == c))", "!(a < b && (a == c || c < d))"},
    };
    PRINTED(cuda, IND_PRINT_CUDA32);
    PRINTED(c, IND_PRINT_C);
    PRINTED(c, IND_PRINT_CUDA64);
}

static void latex(void) {
    static const pair table[] = {
        {"i0 // 4", "\\left\\lfloor \\frac{i_{0}}{4} \\right\\rfloor"},
        {"CeilDiv(aBatch, s12)", "\\left\\lceil \\frac{\\mathit{aBatch}}{s_{12}} \\right\\rceil"},
        {"a_b % 4 + 2*c", "2 \\cdot c + \\mathit{a\\_b} \\bmod 4"},
        {"Min(a, 3*(b + c))", "\\min\\left(a, 3 \\cdot \\left(b + c\\right)\\right)"},
        {"Where(a < b, 1, 2)", "\\begin{cases} 1 & \\text{if } a < b \\\\ 2 & \\text{otherwise} \\end{cases}"},
        {"a != b and c <= d", "a \\ne b \\land c \\le d"},
    };
    PRINTED(table, IND_PRINT_LATEX);
}

/* ---- errors */

static void errors(void) {
    static const struct {
        const char *text;
        int column;
        ind_status status;
        const char *says;
    } table[] = {
        {"", 1, IND_ERROR_PARSE, "expected a number"},
        {"a +", 4, IND_ERROR_PARSE, "expected a number"},
        {"a + )", 5, IND_ERROR_PARSE, "expected a number"},
        {"(a + b", 7, IND_ERROR_PARSE, "expected ')'"},
        {"Min(a, b", 9, IND_ERROR_PARSE, "expected ',' or ')'"},
        {"a b", 3, IND_ERROR_PARSE, "expected an operator or the end"},
        {"a / b", 3, IND_ERROR_PARSE, "expected an operator or the end"},
        {"a)", 2, IND_ERROR_PARSE, "expected an operator or the end"},
        {"a, b", 2, IND_ERROR_PARSE, "expected an operator or the end"},
        {"(a, b)", 3, IND_ERROR_PARSE, "expected ')'"},
        {"1.5", 2, IND_ERROR_PARSE, "expected an operator or the end"},
        {"a = b", 3, IND_ERROR_PARSE, "expected an operator or the end"},
        {"3 + Foo(a)", 5, IND_ERROR_PARSE, "unknown function Foo"},
        {"1 + Min(a)", 5, IND_ERROR_PARSE, "Min takes 2 or more, not 1"},
        {"Where(a, b)", 1, IND_ERROR_PARSE, "Where takes 3, not 2"},
        {"Min()", 5, IND_ERROR_PARSE, "expected a number"},
        {"a + q", 5, IND_ERROR_PARSE, "size q is not declared"},
        {"a < b < c", 7, IND_ERROR_PARSE, "write a < b and b < c"},
        {"a == b != c", 8, IND_ERROR_PARSE, "write a < b and b < c"},
        {"a == not b", 6, IND_ERROR_PARSE, "not binds less"},
        {"and a", 1, IND_ERROR_PARSE, "expected a number"},
        {"a ** -1", 3, IND_ERROR_PARSE, "the exponent"},
        {"a ** b", 3, IND_ERROR_PARSE, "the exponent"},
        {"a ** 65", 3, IND_ERROR_PARSE, "the exponent"},
        {"\x80", 1, IND_ERROR_PARSE, "expected a number"},
        {"a // 0", 3, IND_ERROR_INVALID_ARGUMENT, "zero"},
        {"2*(a % (a - 3))", 6, IND_ERROR_INVALID_ARGUMENT, "zero"},
        {"CeilDiv(a, 0)", 1, IND_ERROR_INVALID_ARGUMENT, "zero"},
        {"9223372036854775808", 1, IND_ERROR_OVERFLOW, "64 bits"},
        {"- 9223372036854775808 ** 2", 3, IND_ERROR_OVERFLOW, "64 bits"},
        {"99999999999999999999999", 1, IND_ERROR_OVERFLOW, "64 bits"},
        {"9223372036854775807 + 1 + a", 21, IND_ERROR_OVERFLOW, "64 bits"},
        {"a + 3 - b - 9223372036854775807 - 9223372036854775807", 33, IND_ERROR_OVERFLOW, "64 bits"},
        {"a + 9223372036854775807*2", 24, IND_ERROR_OVERFLOW, "64 bits"},
        {"2 * (3 + 9223372036854775807 * 1)", 8, IND_ERROR_OVERFLOW, "64 bits"},
        {"--9223372036854775808", 1, IND_ERROR_OVERFLOW, "64 bits"},
        {"2 ** 64", 3, IND_ERROR_OVERFLOW, "64 bits"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int column = -1;
        ind_expr e = ind_expr_parse(ctx, table[i].text, find, NULL, &column);
        CHECK(!ind__ok(e) && column == table[i].column, "'%s': column %d, not %d (%s)", table[i].text, column,
              table[i].column, ind_error(ctx));
        CHECK(ind_error_status(ctx) == table[i].status && strstr(ind_error(ctx), table[i].says), "'%s': %s",
              table[i].text, ind_error(ctx));
    }
    int column = -1;
    CHECK(!ind__ok(ind_expr_parse(ctx, NULL, find, NULL, &column)) && column == 0, "no text");
    CHECK(!ind__ok(ind_expr_parse(NULL, "1", find, NULL, NULL)), "no context");
    CHECK(!ind__ok(ind_expr_parse(ctx, "a", NULL, NULL, &column)) && column == 1, "no find");
    const char *end = NULL, *text = "a + 1, b";
    CHECK(ind__ok(ind__expr_parse(ctx, text, &end, find, NULL)) && end == text + 5, "a prefix ends at the comma");
}

/* ---- limits */

/* Each piece may have its number twice. */
static char *repeated(const char *first, const char *piece, int n, const char *last) {
    size_t room = strlen(first) + strlen(last) + 1 + (size_t)n * (strlen(piece) + 12), used;
    char *text = malloc(room);
    if (!text) exit(1);
    used = (size_t)snprintf(text, room, "%s", first);
    for (int i = 0; i < n; i++) used += (size_t)snprintf(text + used, room - used, piece, i, i);
    snprintf(text + used, room - used, "%s", last);
    return text;
}

static void refused(char *text, ind_status status, int column, const char *what) {
    int at = -1;
    CHECK(!ind__ok(ind_expr_parse(ctx, text, find, NULL, &at)) && ind_error_status(ctx) == status, "%s: %s", what,
          ind_error(ctx));
    CHECK(at == column || column < 0, "%s: column %d, not %d", what, at, column);
    free(text);
}

static void round_trip(char *text, const char *what) {
    double begin = system_seconds();
    ind_expr e = parse(text);
    double parsed = system_seconds();
    CHECK(ind__ok(e), "%s: %s", what, ind_error(ctx));
    size_t length = ind_expr_print(e, NULL, 0);
    char *again = malloc(length + 1);
    if (!again) exit(1);
    double print = system_seconds();
    CHECK(ind_expr_print(e, again, length + 1) == length, "%s: another length", what);
    double end = system_seconds();
    CHECK(ind_expr_same(parse(again), e), "%s does not read back: %.200s", what, again);
    printf("%s: parse %.3f ms, print %.3f ms\n", what, 1e3 * (parsed - begin), 1e3 * (end - print));
    free(again);
    free(text);
}

static void limits(void) {
    refused(repeated("", "(", 1001, ""), IND_ERROR_LIMIT, 1001, "parentheses");
    refused(repeated("", "-", 1001, "a"), IND_ERROR_LIMIT, 1001, "minus signs");
    refused(repeated("", "not ", 1001, "a"), IND_ERROR_LIMIT, -1, "nots");
    refused(repeated("1", " ", 1 << 20, " + 1"), IND_ERROR_LIMIT, (1 << 20) + 1, "blanks");
    refused(repeated("", "a//2 + (b + ", 300, "1"), IND_ERROR_PARSE, -1, "unbalanced");
    refused(repeated("Max(", "2*(", 200, "a"), IND_ERROR_PARSE, -1, "unbalanced calls");
    round_trip(repeated("0", " + s%d", 10, ""), "sum of 10");
    round_trip(repeated("0", " + s%d", 100, ""), "sum of 100");
    round_trip(repeated("0", " + s%d", 1000, ""), "sum of 1,000");
    round_trip(repeated("0", " + s%d*(t%d // 7)", 2500, ""), "10,000 nodes");
    round_trip(repeated("(1", " + s%d", 200, ")*s7 + 3*(s300 + s301)"), "factored sum of 201");
    round_trip(repeated("1 < s0", " and s%d < t%d", 1000, ""), "1,000 conditions");
    char *nested = repeated("", "(", 60, "a"), *close = repeated(nested, " // 3 + b%d)", 60, "");
    free(nested);
    round_trip(close, "60 levels");
    ind_expr e = parse("a < b"), x = parse("c < d"), y = parse("d < a"); /* shared parts: a text of 2^35 parts */
    for (int i = 0; i < 35; i++) e = ind_expr_or(ind_expr_and(e, x), ind_expr_and(ind_expr_not(e), y));
    char text[32];
    CHECK(ind__ok(e), "shared parts: %s", ind_error(ctx));
    size_t length = ind_expr_print(e, text, sizeof text);
    CHECK(!strcmp(text, "<too long>") && length == strlen(text), "shared parts: %s", text);
}

/* Sums too large to be multiplied out stay products; a factor before them must not go into the first. */
static void large_products(void) {
    static const char *const around[] = {"$*$",         "3*($*$)",         "-($*$)",     "x - 3*($*$)",  "-x - ($*$)",
                                         "-2*x*($*$)",  "x*y*($*$) + y*z", "7*($*$)//3", "($*$ + 2)*$",  "(2*$)*(3*$)",
                                         "($*$)*($*$)", "$*$*$",           "-($*$)*x",   "5*($*$)*($*$)"};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        char text[1024], back[8192];
        size_t used = 0;
        for (const char *at = around[i]; *at; at++)
            used += (size_t)snprintf(text + used, sizeof text - used, *at == '$' ? "(a+b+c+d+e+f+g+h+2*k)" : "%c", *at);
        ind_expr e = parse(text);
        CHECK(ind_expr_print(e, back, sizeof back) < sizeof back, "%s", text);
        CHECK(ind_expr_same(parse(back), e), "%s is printed as %s", text, back);
    }
}

/* ---- random expressions */

static ind_expr random_expr(int depth) {
    static const char *const names[] = {"a", "b", "c", "n", "n1", "i0", "i1", "N"};
    if (!depth || !rnd(5)) {
        if (!rnd(3)) return ind_int(ctx, (int64_t)rnd(40) - 12);
        const char *s = names[rnd(8)];
        return find(s, strlen(s), NULL);
    }
    ind_expr x = random_expr(depth - 1), y = random_expr(depth - 1), d;
    int positive = (int)rnd(16) + 1;
    d = rnd(4) ? ind_int(ctx, rnd(5) ? positive : -positive) : find(rnd(2) ? "a" : "b", 1, NULL);
    if (!rnd(8)) d = ind_expr_mul(find("a", 1, NULL), ind_int(ctx, positive));
    switch (rnd(14)) {
    case 0:
    case 1: return ind_expr_add(x, y);
    case 2: return ind_expr_sub(x, y);
    case 3:
    case 4: return ind_expr_mul(x, y);
    case 5:
    case 6: return ind_expr_floordiv(x, d);
    case 7: return ind_expr_mod(x, d);
    case 8: return ind_expr_ceildiv(x, d);
    case 9: return ind_expr_min(x, y);
    case 10: return ind_expr_max(x, y);
    case 11: return ind_expr_where(ind_expr_and(ind_expr_lt(x, y), ind_expr_ne(x, d)), x, d);
    case 12: return ind_expr_where(ind_expr_or(ind_expr_le(y, x), ind_expr_eq(x, d)), y, x);
    default: return ind_expr_sub(d, ind_expr_mod(ind_expr_neg(x), d));
    }
}

static char *print_all(ind_expr e, ind_print form) {
    size_t length = ind_expr_print_as(e, form, NULL, 0);
    char *text = malloc(length + 1);
    if (!text) exit(1);
    ind_expr_print_as(e, form, text, length + 1);
    return text;
}

static void random_round_trips(int count) {
    for (int i = 0; i < count; i++) {
        ind_expr e = random_expr(5);
        if (!ind__ok(e)) continue;
        char *text = print_all(e, IND_PRINT_TEXT);
        if (strcmp(text, "<too long>")) CHECK(ind_expr_same(parse(text), e), "%s does not read back", text);
        for (int form = IND_PRINT_C; form <= IND_PRINT_LATEX; form++) free(print_all(e, (ind_print)form));
        free(text);
    }
}

/* The text says nothing of what was built before: the same texts from a context where they come the other way round. */
static void independent(void) {
    enum { COUNT = 300 };
    char *text[COUNT];
    for (int i = 0; i < COUNT; i++) text[i] = print_all(random_expr(4), IND_PRINT_TEXT);
    ind_context *saved = ctx;
    if (ind_context_create(NULL, &ctx)) exit(1);
    for (int i = COUNT; i-- > 0;) {
        if (*text[i] == '<') continue;
        char *again = print_all(parse(text[i]), IND_PRINT_TEXT);
        CHECK(!strcmp(again, text[i]), "%s becomes %s in another context", text[i], again);
        free(again);
    }
    ind_context_destroy(ctx);
    ctx = saved;
    for (int i = 0; i < COUNT; i++) free(text[i]);
}

static void failing_allocations(void) {
    static const char *const text = "Where(a < b and not c == d, Min(a, b, 3*a*c + 3*b*c), CeilDiv(a, b) + (a + b)*(c "
                                    "+ d) + 2 - (i0 + 2) // 4 - n % 8)";
    for (long at = 1; at < 5000; at++) {
        check_heap heap = {.fail_at = at};
        ind_context_desc d = {.allocator = {check_alloc, check_free, &heap}};
        ind_context *saved = ctx;
        bool reached = true;
        if (!ind_context_create(&d, &ctx)) {
            int column = 0;
            ind_expr e = ind_expr_parse(ctx, text, find, NULL, &column);
            char out[256];
            if (ind__ok(e))
                for (int form = IND_PRINT_TEXT; form <= IND_PRINT_LATEX; form++)
                    ind_expr_print_as(e, (ind_print)form, out, sizeof out);
            else
                CHECK(ind_error_status(ctx) == IND_ERROR_OUT_OF_MEMORY || ind_error_status(ctx) == IND_ERROR_PARSE,
                      "%s", ind_error(ctx));
            reached = heap.calls >= at;
            ind_context_destroy(ctx);
        }
        ctx = saved;
        CHECK(!heap.live, "allocation %ld failing leaks %ld blocks", at, heap.live);
        if (!reached) return;
    }
    CHECK(false, "more than 5000 allocations");
}

/* ---- printed C, checked by a C compiler: a program with one line per expression, form and point */

static const char *const emitted_names[] = {"a", "b", "c", "n", "n1", "i0", "i1", "N"};
static int64_t emitted_point[8];

static bool emitted_value(const ind_symbol *s, void *user, int64_t *out) {
    (void)user;
    for (int i = 0; i < 8; i++)
        if (!strcmp(s->name, emitted_names[i])) *out = emitted_point[i];
    return true;
}

static void emit_check(ind_expr e, ind_print form, const char *type, bool small) {
    int64_t v;
    if (ind_expr_eval(e, emitted_value, NULL, &v) || (small && (v > 1000000 || v < -1000000))) return;
    char *text = print_all(e, form), *shown = print_all(e, IND_PRINT_TEXT);
    if (*text != '<') {
        printf("    {\n        const %s ", type);
        for (int i = 0; i < 8; i++)
            printf("%s%s = (%s)%lldll", i ? ", " : "", emitted_names[i], type, (long long)emitted_point[i]);
        printf(";\n        (void)a, (void)b, (void)c, (void)n, (void)n1, (void)i0, (void)i1, (void)N;\n");
        printf("        check((long long)(%s), %lldll - %d, \"%s\");\n    }\n", text, (long long)(v + (v == INT64_MIN)),
               v == INT64_MIN, shown);
    }
    free(text);
    free(shown);
}

static void emit(int count) {
    printf("#include <stdio.h>\n"
           "static int failed;\n"
           "static long long ind_min(long long a, long long b) { return a < b ? a : b; }\n"
           "static long long ind_max(long long a, long long b) { return a > b ? a : b; }\n"
           "static long long ind_floordiv(long long a, long long b) {\n"
           "    return a / b - (a %% b != 0 && (a < 0) != (b < 0));\n}\n"
           "static long long ind_floormod(long long a, long long b) { return a - ind_floordiv(a, b) * b; }\n"
           "static void check(long long got, long long want, const char *what) {\n"
           "    if (got == want) return;\n    failed++;\n"
           "    printf(\"%%s is %%lld, not %%lld\\n\", what, got, want);\n}\n");
    for (int i = 0; i < count; i++) {
        static const int64_t range[8][2] = {{1, 40},   {1, 30}, {1, 20}, {-50, 50},
                                            {-50, 50}, {0, 99}, {0, 99}, {0, 900}};
        ind_expr e = random_expr(4);
        printf("static void f%d(void) {\n", i);
        for (int p = 0; p < 3 && ind__ok(e); p++) {
            for (int k = 0; k < 8; k++)
                emitted_point[k] = range[k][0] + (int64_t)rnd((uint32_t)(range[k][1] - range[k][0] + 1));
            emit_check(e, IND_PRINT_C, "long long", false);
            emit_check(e, IND_PRINT_CUDA64, "long long", false);
            emit_check(e, IND_PRINT_CUDA32, "int", true);
        }
        printf("}\n");
    }
    printf("int main(void) {\n");
    for (int i = 0; i < count; i++) printf("    f%d();\n", i);
    printf("    return failed != 0;\n}\n");
}

int main(int argc, char **argv) {
    if (ind_context_create(NULL, &ctx)) return 1;
    if (argc == 3 && !strcmp(argv[1], "--emit")) {
        emit(atoi(argv[2]));
        ind_context_destroy(ctx);
        return 0;
    }
    smallest_text();
    other_spellings();
    code();
    latex();
    errors();
    limits();
    large_products();
    random_round_trips(argc > 1 ? atoi(argv[1]) : 4000);
    independent();
    failing_allocations();
    ind_context_destroy(ctx);
    return check_summary();
}
