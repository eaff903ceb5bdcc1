/* fuzz_expr: whatever text there is, the parser of expressions and what comes behind it neither crash nor contradict
 * themselves.
 *
 *     make fuzz-expr SECONDS=600              libFuzzer, beginning with tests/fuzz/expr_corpus
 *     build/tests/fuzz/fuzz_expr FILE...      the same check for given inputs
 *
 * An input is lines: conditions, which become facts, and last an expression. What is refused must come with a status, a
 * message and a column inside the text. What is read must print in every form, read back to the same id, simplify to a
 * fixpoint, and have the same value before and after, inside its bounds. The first letter of a name says what it is: */
#define INDUCTOR_IR_IMPLEMENTATION
#include "inductor_ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char letter;
    ind_symbol_kind kind;
    int64_t lo, hi, multiple_of;
} variables[] = {
    {'b', IND_SYMBOL_SIZE, 1, 64, 1},          {'c', IND_SYMBOL_SIZE, -8, 8, 1},
    {'m', IND_SYMBOL_SIZE, 8, 4096, 8},        {'n', IND_SYMBOL_SIZE, -90, -3, 3},
    {'u', IND_SYMBOL_UNBACKED, 0, 1 << 20, 1}, {'w', IND_SYMBOL_SIZE, INT64_MIN + 1, -1, 1},
    {'p', IND_SYMBOL_SIZE, 1, INT64_MAX, 1},   {'a', IND_SYMBOL_SIZE, INT64_MIN, INT64_MAX, 1},
};
#define NUM_VARIABLES ((int)(sizeof variables / sizeof *variables))

/* What went wrong is printed before the trap, so that libFuzzer keeps the input. */
static void require(bool holds, const char *what, const char *detail) {
    if (holds) return;
    fprintf(stderr, "fuzz_expr: %s: %s\n", what, detail);
    __builtin_trap();
}

/* i*: a loop index below the size b; j*: one below b*p. */
static ind_expr find(const char *name, size_t length, void *user) {
    ind_context *ctx = (ind_context *)user;
    ind_expr none = {ctx, 0};
    char text[32];
    if (length >= sizeof text) return none;
    memcpy(text, name, length);
    text[length] = 0;
    ind_symbol s = {.name = text};
    if (*name == 'i' || *name == 'j') {
        s.kind = IND_SYMBOL_INDEX;
        s.extent = find("b", 1, user);
        if (*name == 'j') s.extent = ind_expr_mul(s.extent, find("p", 1, user));
        return s.extent.id ? ind_symbol_expr(ctx, &s) : none;
    }
    int i = 0;
    while (i < NUM_VARIABLES - 1 && variables[i].letter != *name) i++;
    s.kind = variables[i].kind;
    s.lo = variables[i].lo;
    s.hi = variables[i].hi;
    s.multiple_of = variables[i].multiple_of;
    s.hint = s.lo > 0 ? s.lo : s.hi < 0 ? s.hi : 0;
    return ind_symbol_expr(ctx, &s);
}

typedef struct point {
    ind_context *ctx;
    int number; /* 0, 3, 6: near the low ends; 1, 4, 7: near the high ends; else anywhere near */
} point;

/* Values differ from name to name. Under facts a symbol may have a narrower range; its value is that of its name. */
static bool value_of(const ind_symbol *symbol, void *user, int64_t *out) {
    const point *p = (const point *)user;
    const ind_symbol *s = ind_expr_symbol(find(symbol->name, strlen(symbol->name), p->ctx));
    if (!s) return false;
    uint64_t h = ind__hash(s->name, strlen(s->name), (uint64_t)p->number), width = p->number % 3 == 2 ? 100000 : 3;
    int64_t hi = s->hi;
    if (s->extent.id) {
        if (ind_expr_eval(s->extent, value_of, user, &hi) || hi < 1) return false;
        hi--;
    }
    uint64_t range = (uint64_t)hi - (uint64_t)s->lo;
    int64_t step = (int64_t)(h % ((range < width ? range : width) + 1));
    int64_t v = p->number % 3 == 1 ? hi - step : s->lo + step;
    if (p->number % 3 == 2 && s->lo < 0 && hi > step) v = step;
    *out = v - v % s->multiple_of;
    return *out >= s->lo && *out <= hi;
}

static void check_refusal(ind_context *ctx, const char *text, int column) {
    require(ind_error_status(ctx) != IND_OK && *ind_error(ctx), "refused without a reason", text);
    require(column >= 0 && (size_t)column <= strlen(text) + 1, "a column outside the text", text);
}

/* The text of an expression in one form, to be freed; checks that the length is the same without a buffer. */
static char *printed(ind_expr e, ind_print form) {
    size_t length = ind_expr_print_as(e, form, NULL, 0);
    char *text = malloc(length + 1);
    if (!text) exit(2);
    require(ind_expr_print_as(e, form, text, length + 1) == length, "two lengths", text);
    require(strlen(text) == length, "a length that is not the text's", text);
    return text;
}

static void check_values(ind_facts *facts, ind_expr e, ind_expr simple);

/* Facts may have given a variable in e a narrower range: read back, it has that after ind_simplify. Where integers
   beyond 64 bits were met on the way to one of them (overflows: how many had been before), only the values agree. */
static void check_text(ind_context *ctx, ind_facts *facts, ind_expr e, uint32_t overflows) {
    for (int form = IND_PRINT_C; form <= IND_PRINT_LATEX; form++) free(printed(e, (ind_print)form));
    char *text = printed(e, IND_PRINT_TEXT);
    if (!strcmp(text, "<too long>")) { /* nor could it be read */
        free(text);
        return;
    }
    ind_facts_enter(ctx, facts);
    ind_expr again = ind_expr_parse(ctx, text, find, ctx, NULL);
    ind_facts_enter(ctx, NULL);
    if (facts) again = ind_simplify(facts, again);
    if (again.id) {
        if (facts && again.id != e.id && ind__state_of(ctx)->overflows != overflows)
            check_values(facts, e, again);
        else
            require(again.id == e.id, "reads back as another expression", text);
    } else {
        require(ind_error_status(ctx) == IND_ERROR_LIMIT, ind_error(ctx), text);
    }
    free(text);
}

static void check_values(ind_facts *facts, ind_expr e, ind_expr simple) {
    int64_t lo, hi, low, high, before, after;
    ind_expr_bounds(e, &lo, &hi);
    ind_bounds(facts, simple, &low, &high);
    for (point p = {e.context, 0}; p.number < 9; p.number++) {
        if (facts && ind_facts_check(facts, value_of, &p, NULL)) continue;
        if (ind_expr_eval(e, value_of, &p, &before)) continue;
        char *text = printed(e, IND_PRINT_TEXT);
        require(before >= lo && before <= hi, "a value outside the bounds", text);
        require(before >= low && before <= high, "a value outside the bounds under facts", text);
        require(ind_expr_eval(simple, value_of, &p, &after) || before == after, "facts change the value", text);
        free(text);
    }
}

/* The other questions about an index; here they must only not crash, and what solves must solve. */
static void check_queries(ind_context *ctx, ind_facts *facts, ind_expr e) {
    ind_expr b = find("b", 1, ctx), i = find("i", 1, ctx), zero = ind_int(ctx, 0);
    int alignment;
    bool holds;
    ind_hint(e);
    ind_known_divisor(e);
    ind_expr_stride(e, i);
    ind_expr_contiguity(e, i, 16, &alignment);
    ind_known_disjoint(e, b, i, b);
    ind_expr solved = ind_expr_solve(e, zero, b);
    if (solved.id) {
        ind_expr rest = ind_expr_substitute(e, &b, &solved, 1);
        char *text = printed(e, IND_PRINT_TEXT);
        require(!rest.id || ind_known_eq(rest, zero), "a solution for b that is none", text);
        free(text);
    }
    if (facts) ind_guard(facts, ind_expr_lt(e, b), &holds);
}

static void check_expression(ind_context *ctx, ind_facts *facts, const char *text) {
    int column = -1;
    ind_expr e = ind_expr_parse(ctx, text, find, ctx, &column);
    if (!e.id) {
        check_refusal(ctx, text, column);
        return;
    }
    check_text(ctx, NULL, e, 0);
    uint32_t overflows = ind__state_of(ctx)->overflows;
    ind_expr simple = ind_simplify(facts, e);
    if (!simple.id) {
        check_refusal(ctx, text, 0);
        return;
    }
    require(ind_simplify(facts, simple).id == simple.id, "simplifying twice changes it", text);
    check_text(ctx, facts, simple, overflows);
    check_values(facts, e, simple);
    check_queries(ctx, facts, simple);
}

static void check_fact(ind_context *ctx, ind_facts *facts, const char *text) {
    int column = -1;
    ind_expr fact = ind_expr_parse(ctx, text, find, ctx, &column);
    if (!fact.id)
        check_refusal(ctx, text, column);
    else if (ind_facts_assume(facts, fact))
        check_refusal(ctx, text, 0);
}

/* Each line in memory of its own length, so that a byte read behind its end is seen. */
static void check_line(ind_context *ctx, ind_facts *facts, const char *begin, size_t length, bool last) {
    char *line = malloc(length + 1);
    if (!line) exit(2);
    memcpy(line, begin, length);
    line[length] = 0;
    if (last)
        check_expression(ctx, facts, line);
    else
        check_fact(ctx, facts, line);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *at = (const char *)data, *end = at + size;
    ind_context *ctx;
    ind_facts *facts = NULL;
    if (!size || ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST}, &ctx)) return 0;
    for (const char *newline; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
        if (newline + 1 == end) {
            end = newline; /* the end of a file, not an empty expression */
            break;
        }
        if (!facts) require(!ind_facts_create(ctx, &facts), "no facts", "");
        check_line(ctx, facts, at, (size_t)(newline - at), false);
    }
    check_line(ctx, facts, at, (size_t)(end - at), true);
    ind_facts_destroy(facts);
    ind_context_destroy(ctx);
    return 0;
}

#ifndef FUZZ_EXPR_LIBFUZZER
int main(int argc, char **argv) {
    static char text[1 << 24];
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (!f) return printf("%s: cannot be opened\n", argv[i]), 1;
        size_t size = fread(text, 1, sizeof text, f);
        fclose(f);
        LLVMFuzzerTestOneInput((const uint8_t *)text, size);
    }
    printf("%d inputs\n", argc - 1);
    return 0;
}
#endif
