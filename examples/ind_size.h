/* ind_size.h: the command `ind size`, a calculator for the symbolic integers of inductor_ir.h (>>expr).
 *
 *     ind size EXPR... [--var "s0 in [1, 4096] multiple_of 8"]... [--fact "s0 == 4*s1"]... [--at s0=5]...
 *                      [--print text|c|cuda|cuda32|latex] [--explain]
 *     ind size - ...   one expression a line from standard input
 *
 * prints for each expression one line, three columns with tabs between: the simplified form (text, or as --print says;
 * where what was given is shorter and means the same, that), the bounds as [lo, hi], and the value at the --at point, or
 * - where a variable it needs has none.
 *
 * An end of the bounds that is not known is the end of the 64-bit range: every value fits 64 bits or is an error. For
 * an expression that fails the line is `error`, `-`, `-`, so that lines of output and input stay side by side; standard
 * error has one line that says why and where, and the exit status is 1 after the others are printed. What is wrong with
 * an option ends the command before anything is printed.
 *
 * Needs inductor_ir.h with its implementation before it. Header only, for ind.c.
 */
#ifndef IND_SIZE_H
#define IND_SIZE_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char size_help[] =
    "usage: ind size EXPR... [options]      (a single - reads one expression a line from standard input)\n"
    "\n"
    "Prints for each expression its simplified form, its bounds and its value, with tabs between. Bounds that are not\n"
    "known are the ends of the 64-bit range. A failing expression prints error, -, -; the reason goes to standard "
    "error,\n"
    "and the exit status is 1.\n"
    "\n"
    "  // and % round down, as in Python; and or not == != < <= > >= + - *; CeilDiv(a, b), ModularIndexing(x, d, m) =\n"
    "  x // d % m, Min(..), Max(..), Where(condition, a, b).\n"
    "\n"
    "  --var \"NAME [in [LO, HI]] [multiple_of K] [hint H] [unbacked]\"\n"
    "                  a variable and what is known of it; LO may be -inf, HI inf; several with ; between. A name that "
    "is\n"
    "                  not declared is any 64-bit integer.\n"
    "  --var \"NAME in [0, END)\"\n"
    "                  a loop index; END is an expression of variables declared before\n"
    "  --fact \"CONDITION\"\n"
    "                  what holds besides: s0 == 4*s1, s0 <= s1, s0 % 8 == 0\n"
    "  --at \"NAME=VALUE, ..\"\n"
    "                  the point for the third column; must agree with the variables and facts\n"
    "  --print FORM    first column as text (default), c, cuda (long long), cuda32 (int) or latex\n"
    "                  C and CUDA round down for every sign. Where / and % do not, they call\n"
    "                    ind_floordiv(a, b): a / b - (a % b != 0 && (a < 0) != (b < 0))\n"
    "                    ind_floormod(a, b): a - b * ind_floordiv(a, b)\n"
    "                  and ind_min(a, b), ind_max(a, b), which the program they go into defines.\n"
    "  --explain       after each line, which rules simplified it (again only what was not simplified for a line "
    "before)\n"
    "  --              what follows is expressions\n";

/* ---- state */

typedef struct size_name {
    ind_expr symbol;
    int64_t value; /* at the point, if has_value */
    bool has_value;
    bool given; /* value comes from --at */
    bool known; /* declared, or met in a fact or an expression */
} size_name;

typedef struct size_tool {
    ind_context *ctx;
    ind_facts *facts;
    ind_print form;
    bool at_point; /* --at was given */
    bool explain;
    uint32_t fired[IND__NUM_EXPR_RULES]; /* how often, up to the line before */
    bool no_memory;
    size_name *name; /* the slot of a symbol is its number here */
    uint32_t num_names, cap_names;
    uint32_t *bucket; /* hash table of 1 + number; 0 is empty; at least twice as many places as names */
    uint32_t num_buckets;
    char *text; /* the printed expression */
    size_t cap_text;
} size_tool;

/* What the command line has of each kind. */
enum { SIZE_EXPR, SIZE_VAR, SIZE_FACT, SIZE_AT, SIZE_NUM_KINDS };

typedef struct size_options {
    const char **list[SIZE_NUM_KINDS];
    int count[SIZE_NUM_KINDS];
    const char *print;
    bool help, explain;
} size_options;

/* ---- errors */

/* One line on standard error; `where` may be NULL, column 0. Always 1, the status of the command. */
static int size_fail(const char *where, int column, const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    fprintf(stderr, "ind: size: ");
    if (where) fprintf(stderr, "%.*s", (int)strcspn(where, "\r\n"), where);
    if (where && column > 0) fprintf(stderr, ", column %d", column);
    fprintf(stderr, "%s%.*s\n", where ? ": " : "", (int)strcspn(message, "\n"), message);
    return 1;
}

/* ---- names */

static uint64_t size_hash(const char *name, size_t length) {
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)name[i]) * 1099511628211u;
    return h;
}

/* Where a name is, or would go, in the hash table. */
static uint32_t size_bucket(const size_tool *t, const char *name, size_t length) {
    uint32_t b = (uint32_t)(size_hash(name, length) & (t->num_buckets - 1));
    for (; t->bucket[b]; b = (b + 1) & (t->num_buckets - 1)) {
        const char *other = ind_expr_symbol(t->name[t->bucket[b] - 1].symbol)->name;
        if (!strncmp(other, name, length) && !other[length]) break;
    }
    return b;
}

static size_name *size_lookup(const size_tool *t, const char *name, size_t length) {
    uint32_t number = t->num_buckets ? t->bucket[size_bucket(t, name, length)] : 0;
    return number ? &t->name[number - 1] : NULL;
}

static bool size_grow_names(size_tool *t) {
    uint32_t cap = t->cap_names ? t->cap_names * 2 : 32;
    size_name *name = realloc(t->name, cap * sizeof *name);
    if (!name) return false;
    t->name = name;
    uint32_t *bucket = calloc((size_t)cap * 2, sizeof *bucket);
    if (!bucket) return false;
    free(t->bucket);
    t->bucket = bucket;
    t->num_buckets = cap * 2;
    t->cap_names = cap;
    for (uint32_t i = 0; i < t->num_names; i++) {
        const char *text = ind_expr_symbol(t->name[i].symbol)->name;
        t->bucket[size_bucket(t, text, strlen(text))] = i + 1;
    }
    return true;
}

/* Adds a name that is not there yet; s has all but the name, the slot and the hint. NULL with the reason in ind_error,
   or no_memory. */
static size_name *size_add(size_tool *t, const char *name, size_t length, ind_symbol s) {
    char *text = malloc(length + 1);
    t->no_memory = !text || (t->num_names == t->cap_names && !size_grow_names(t));
    if (t->no_memory) return free(text), NULL;
    memcpy(text, name, length);
    text[length] = 0;
    s.name = text;
    s.slot = (int)t->num_names;
    ind_expr e = ind_symbol_expr(t->ctx, &s);
    free(text);
    if (!ind_expr_symbol(e)) return NULL;
    uint32_t b = size_bucket(t, name, length);
    t->name[t->num_names] = (size_name){.symbol = e};
    t->bucket[b] = ++t->num_names;
    return &t->name[t->num_names - 1];
}

static const ind_symbol size_anything = {
    .kind = IND_SYMBOL_SIZE, .lo = INT64_MIN, .hi = INT64_MAX, .multiple_of = 1, .hint = 0};

static ind_expr size_none(const size_tool *t) {
    ind_expr none = {t->ctx, 0};
    return none;
}

static ind_expr size_find(const char *name, size_t length, void *user) {
    size_tool *t = (size_tool *)user;
    size_name *n = size_lookup(t, name, length);
    if (!n) n = size_add(t, name, length, size_anything);
    if (!n) return size_none(t);
    n->known = true;
    return n->symbol;
}

static ind_expr size_find_declared(const char *name, size_t length, void *user) {
    size_tool *t = (size_tool *)user;
    size_name *n = size_lookup(t, name, length);
    return n ? n->symbol : size_none(t);
}

/* ---- the texts of options: words, numbers and signs */

typedef struct size_cursor {
    const char *option; /* --var, --at */
    const char *text, *at;
} size_cursor;

static int size_fail_at(const size_cursor *c, const char *at, const char *format, ...) {
    char where[256], message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    snprintf(where, sizeof where, "%s \"%.200s\"", c->option, c->text);
    return size_fail(where, (int)(at - c->text) + 1, "%s", message);
}

static void size_skip_space(size_cursor *c) {
    c->at += strspn(c->at, " \t\r\n");
}

static bool size_take(size_cursor *c, char sign) {
    size_skip_space(c);
    if (*c->at != sign) return false;
    c->at++;
    return true;
}

/* The length of the name or keyword that is next; 0 if there is none. */
static size_t size_word(size_cursor *c) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_skip_space(c);
    return *c->at && strchr(letters, *c->at) ? strspn(c->at, more) : 0;
}

static bool size_take_word(size_cursor *c, const char *word) {
    size_t length = size_word(c);
    if (length != strlen(word) || memcmp(c->at, word, length)) return false;
    c->at += length;
    return true;
}

static int size_number(size_cursor *c, int64_t *out) {
    size_skip_space(c);
    const char *digits = c->at + (*c->at == '-');
    if (*digits < '0' || *digits > '9') return size_fail_at(c, c->at, "a whole number is needed");
    char *end;
    errno = 0;
    *out = strtoll(c->at, &end, 10);
    if (errno) return size_fail_at(c, c->at, "the number exceeds 64 bits");
    c->at = end;
    return 0;
}

/* A number, or -inf or inf as the end of the 64-bit range. */
static int size_end(size_cursor *c, int64_t *out) {
    size_skip_space(c);
    bool minus = *c->at == '-';
    if (strncmp(c->at + minus, "inf", 3)) return size_number(c, out);
    c->at += minus + 3;
    *out = minus ? INT64_MIN : INT64_MAX;
    return 0;
}

/* ---- --var */

/* The END of a loop index: the text up to the parenthesis that closes the interval. */
static int size_extent(size_tool *t, size_cursor *c, ind_symbol *s) {
    const char *begin = c->at;
    int depth = 0, column = 0;
    while (*c->at && (depth || *c->at != ')')) {
        depth += (*c->at == '(') - (*c->at == ')');
        c->at++;
    }
    if (!*c->at) return size_fail_at(c, c->at, "the interval has no end: [LO, HI] or [0, END)");
    size_t length = (size_t)(c->at - begin);
    char *text = malloc(length + 1);
    if (!text) return size_fail(NULL, 0, "no memory");
    memcpy(text, begin, length);
    text[length] = 0;
    s->extent = ind_expr_parse(t->ctx, text, size_find_declared, t, &column);
    free(text);
    if (!s->extent.id) return size_fail_at(c, begin + (column > 0 ? column - 1 : 0), "%s", ind_error(t->ctx));
    s->kind = IND_SYMBOL_INDEX;
    c->at++;
    return 0;
}

/* Is the interval that begins here closed by a parenthesis? */
static bool size_half_open(const char *at) {
    int depth = 0;
    for (; *at && *at != ']' && *at != ';'; at++) {
        if (*at == ')' && depth == 0) return true;
        depth += (*at == '(') - (*at == ')');
    }
    return false;
}

static int size_interval(size_tool *t, size_cursor *c, ind_symbol *s) {
    if (!size_take(c, '[')) return size_fail_at(c, c->at, "expected [LO, HI] or [0, END)");
    const char *low = c->at;
    if (size_end(c, &s->lo)) return 1;
    if (!size_take(c, ',')) return size_fail_at(c, c->at, "expected ','");
    if (size_half_open(c->at)) {
        if (s->lo) return size_fail_at(c, low, "an interval [0, END) begins at 0");
        return size_extent(t, c, s);
    }
    if (size_end(c, &s->hi)) return 1;
    if (!size_take(c, ']')) return size_fail_at(c, c->at, "expected ']'");
    if (s->lo > s->hi) return size_fail_at(c, low, "the range is empty");
    return 0;
}

static int size_property(size_tool *t, size_cursor *c, ind_symbol *s, bool *hinted) {
    const char *begin = (size_skip_space(c), c->at);
    if (size_take_word(c, "in")) return size_interval(t, c, s);
    if (size_take_word(c, "multiple_of")) {
        if (size_number(c, &s->multiple_of)) return 1;
        return s->multiple_of > 0 ? 0 : size_fail_at(c, begin, "multiple_of must be at least 1");
    }
    if (size_take_word(c, "hint")) return *hinted = true, size_number(c, &s->hint);
    if (size_take_word(c, "unbacked")) return s->kind = IND_SYMBOL_UNBACKED, 0;
    return size_fail_at(c, begin, "expected in, multiple_of, hint, unbacked or ';'");
}

static int size_declare(size_tool *t, size_cursor *c) {
    size_t length = size_word(c);
    const char *name = c->at;
    if (!length) return size_fail_at(c, c->at, "expected the name of a variable");
    if (size_lookup(t, name, length)) return size_fail_at(c, name, "%.*s was declared before", (int)length, name);
    c->at += length;
    ind_symbol s = size_anything;
    bool hinted = false;
    for (size_skip_space(c); *c->at && *c->at != ';'; size_skip_space(c)) {
        if (size_property(t, c, &s, &hinted)) return 1;
    }
    if (s.extent.id && (s.kind != IND_SYMBOL_INDEX || s.multiple_of != 1 || hinted)) {
        return size_fail_at(c, name, "a loop index has an interval [0, END) and nothing else");
    }
    if (!hinted) s.hint = s.lo > 0 ? s.lo : s.hi < 0 ? s.hi : 0;
    size_name *n = size_add(t, name, length, s);
    if (!n) return size_fail_at(c, name, "%s", t->no_memory ? "no memory" : ind_error(t->ctx));
    n->known = true;
    return 0;
}

static int size_var(size_tool *t, const char *text) {
    size_cursor c = {"--var", text, text};
    do {
        if (size_declare(t, &c)) return 1;
    } while (size_take(&c, ';') && (size_skip_space(&c), *c.at));
    return 0;
}

/* ---- --fact */

/* The condition as it is given, so that an error can name it; only where that fails as the facts before allow it: they
   may exclude that a divisor is zero. */
static ind_expr size_condition(size_tool *t, const char *text, int *column, bool *under_facts) {
    ind_expr e = ind_expr_parse(t->ctx, text, size_find, t, column);
    *under_facts = !e.id && ind_error_status(t->ctx) == IND_ERROR_INVALID_ARGUMENT;
    if (!*under_facts) return e;
    ind_facts_enter(t->ctx, t->facts);
    e = ind_expr_parse(t->ctx, text, size_find, t, column);
    ind_facts_enter(t->ctx, NULL);
    return e;
}

static int size_fact(size_tool *t, const char *text) {
    size_cursor c = {"--fact", text, text};
    int column = 0;
    if (!t->facts && ind_facts_create(t->ctx, &t->facts)) return size_fail(NULL, 0, "%s", ind_error(t->ctx));
    bool under_facts;
    int64_t holds = 1;
    ind_expr e = size_condition(t, text, &column, &under_facts);
    if (!e.id) return size_fail_at(&c, text + (column > 0 ? column - 1 : 0), "%s", ind_error(t->ctx));
    if (under_facts && ind_expr_is_int(e, &holds) && !holds)
        return size_fail_at(&c, text, "the condition is never true: it contradicts the facts before it");
    if (ind_facts_assume(t->facts, e)) return size_fail_at(&c, text, "%s", ind_error(t->ctx));
    return 0;
}

/* ---- --at */

static int size_at(size_tool *t, const char *text) {
    size_cursor c = {"--at", text, text};
    t->at_point = true;
    do {
        int64_t value;
        size_t length = size_word(&c);
        const char *name = c.at;
        if (!length) return size_fail_at(&c, c.at, "expected NAME=VALUE");
        c.at += length;
        if (!size_take(&c, '=')) return size_fail_at(&c, c.at, "expected '='");
        if (size_number(&c, &value)) return 1;
        size_name *n = size_lookup(t, name, length);
        if (!n) n = size_add(t, name, length, size_anything);
        if (!n) return size_fail_at(&c, name, "%s", t->no_memory ? "no memory" : ind_error(t->ctx));
        if (n->given) return size_fail_at(&c, name, "%.*s was given before", (int)length, name);
        n->value = value;
        n->has_value = n->given = true;
    } while (size_take(&c, ','));
    return *c.at ? size_fail_at(&c, c.at, "expected ','") : 0;
}

static bool size_value_of(const ind_symbol *symbol, void *user, int64_t *out) {
    const size_tool *t = (const size_tool *)user;
    const size_name *n = &t->name[symbol->slot];
    *out = n->value;
    return n->has_value;
}

/* A value against what --var says; of the end of a loop index only if it can be computed. */
static int size_check_value(size_tool *t, const size_name *n) {
    const ind_symbol *s = ind_expr_symbol(n->symbol);
    long long value = (long long)n->value;
    int64_t end;
    if (n->value < s->lo || n->value > s->hi) {
        return size_fail("--at", 0, "%s=%lld is outside [%lld, %lld]", s->name, value, (long long)s->lo,
                         (long long)s->hi);
    }
    if (n->value % s->multiple_of) {
        return size_fail("--at", 0, "%s=%lld is not a multiple of %lld", s->name, value, (long long)s->multiple_of);
    }
    if (s->extent.id && !ind_expr_eval(s->extent, size_value_of, t, &end) && n->value >= end) {
        return size_fail("--at", 0, "%s=%lld is outside [0, %lld)", s->name, value, (long long)end);
    }
    return 0;
}

/* What an equality of the facts says about the only variable in it that has no value yet. */
static bool size_solve(size_tool *t, ind_expr fact) {
    if (ind_expr_query_kind(fact) != IND_EXPR_EQ) return false;
    for (uint32_t i = 0; i < t->num_names; i++) {
        size_name *n = &t->name[i];
        if (n->has_value) continue;
        ind_expr v = ind_expr_solve(ind_expr_arg(fact, 0), ind_expr_arg(fact, 1), n->symbol);
        n->has_value = v.id && ind_expr_is_int(v, &n->value);
        if (n->has_value) return true;
    }
    return false;
}

/* One fact at the point as far as that is known; *more if a further variable got its value from it. */
static int size_check_fact(size_tool *t, ind_expr fact, const ind_expr *from, const ind_expr *to, int n, bool *more) {
    ind_expr e = ind_expr_substitute(fact, from, to, n);
    int64_t holds = 1;
    if (ind_expr_is_int(e, &holds) && !holds) {
        char text[512];
        ind_expr_print(fact, text, sizeof text);
        return size_fail("--at", 0, "the fact %s does not hold", text);
    }
    if (e.id && size_solve(t, e)) *more = true;
    return 0;
}

/* Checks the point against the facts and adds the values that they fix: s0 = 12 gives s1 = 3 if s0 == 4*s1. Each round
   but the last one gives a variable its value. */
static int size_close_point(size_tool *t) {
    ind_expr *from = malloc((size_t)t->num_names * 2 * sizeof *from + 1), *to = from + t->num_names;
    int failed = from ? 0 : size_fail(NULL, 0, "no memory");
    for (bool more = true; more && !failed;) {
        int n = 0;
        more = false;
        for (uint32_t i = 0; i < t->num_names; i++) {
            if (!t->name[i].has_value) continue;
            from[n] = t->name[i].symbol;
            to[n++] = ind_int(t->ctx, t->name[i].value);
        }
        for (int i = 0; i < ind_facts_num_declared(t->facts) && !failed && !more; i++) {
            failed = size_check_fact(t, ind_facts_query_declared(t->facts, i), from, to, n, &more);
        }
    }
    free(from);
    for (uint32_t i = 0; i < t->num_names && !failed; i++) {
        if (t->name[i].has_value) failed = size_check_value(t, &t->name[i]);
    }
    return failed;
}

static int size_check_names(const size_tool *t) {
    for (uint32_t i = 0; i < t->num_names; i++) {
        const size_name *n = &t->name[i];
        if (!n->known)
            return size_fail("--at", 0, "there is no %s in any expression", ind_expr_symbol(n->symbol)->name);
    }
    return 0;
}

/* ---- one expression */

static bool size_print(size_tool *t, ind_expr e) {
    size_t length = ind_expr_print_as(e, t->form, t->text, t->cap_text);
    if (length < t->cap_text) return strcmp(t->text, "<too long>") && strcmp(t->text, "<no memory>");
    char *text = realloc(t->text, length + 256);
    if (!text) return false;
    t->text = text;
    t->cap_text = length + 256;
    length = ind_expr_print_as(e, t->form, t->text, t->cap_text);
    return length < t->cap_text && strcmp(t->text, "<too long>") && strcmp(t->text, "<no memory>");
}

/* Operations in a text, as a reader counts them; the sign of a number is none. */
static int size_operations(const char *text) {
    int count = 0;
    char before = '(';
    for (const char *s = text; *s;) {
        size_t word = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.");
        size_t sign = strspn(s, "/*<=>!+-%,");
        if (word) {
            bool logic = (word == 3 && (!strncmp(s, "and", 3) || !strncmp(s, "not", 3))) || !strncmp(s, "or ", 3);
            count += logic - (word == 5 && !strncmp(s, "Where", 5)); /* three arguments, one operation */
        } else if (sign) {
            bool two = sign > 1 && (s[1] == s[0] || s[1] == '=') && *s != '-' && *s != '+';
            const char *next = s + 1 + strspn(s + 1, " ");
            bool of_number = *s == '-' && strchr("(,/*<=>!+-%", before) && *next >= '0' && *next <= '9';
            count += !of_number;
            word = two ? 2 : 1;
        }
        if (*s != ' ') before = s[word ? word - 1 : 0];
        s += word ? word : 1;
    }
    return count;
}

/* What was given means the same; where its text is the simpler one, as a replaced symbol's may be, it stays. */
static const char *size_simpler(const size_tool *t, const char *given) {
    if (t->form != IND_PRINT_TEXT || strpbrk(given, "\t\r\n")) return t->text;
    return size_operations(given) < size_operations(t->text) ? given : t->text;
}

/* The rules that applied since the last call. */
static void size_explain(size_tool *t) {
    for (int i = 0; t->explain && i < IND__NUM_EXPR_RULES; i++) {
        const char *law, *name = ind__expr_rule_name(i, &law);
        uint32_t fired = ind__expr_rule_fired(t->ctx, i);
        if (fired != t->fired[i]) printf("  # %s: %s\n", name, law);
        t->fired[i] = fired;
    }
}

static int size_expression(size_tool *t, const char *text, const char *where) {
    int column = 0;
    int64_t lo, hi, value = 0;
    ind_expr e = ind_expr_parse(t->ctx, text, size_find, t, &column);
    if (e.id) e = ind_simplify(t->facts, e);
    ind_status status = e.id ? IND_ERROR_NOT_FOUND : ind_error_status(t->ctx);
    if (e.id && t->at_point) status = ind_expr_eval(e, size_value_of, t, &value);
    bool out_of_memory = t->no_memory || (e.id && !size_print(t, e));
    if (!e.id || out_of_memory || (status && status != IND_ERROR_NOT_FOUND)) {
        printf("error\t-\t-\n");
        return size_fail(where, column, "%s",
                         out_of_memory ? "no memory, or a text of more than 1 MiB" : ind_error(t->ctx));
    }
    ind_bounds(t->facts, e, &lo, &hi);
    printf("%s\t[%lld, %lld]\t", size_simpler(t, text), (long long)lo, (long long)hi);
    if (status)
        puts("-");
    else
        printf("%lld\n", (long long)value);
    size_explain(t);
    return 0;
}

static int size_arguments(size_tool *t, const char **list, int count) {
    int failed = 0;
    for (int i = 0; i < count; i++) {
        char where[32];
        snprintf(where, sizeof where, "expression %d", i + 1);
        failed |= size_expression(t, list[i], where);
    }
    return failed;
}

/* ---- expressions from standard input */

typedef struct size_reader {
    char *data; /* data[at, used) is read and not yet taken */
    size_t at, used, cap;
    bool end, no_memory;
} size_reader;

/* Reads more behind what is there; false at the end. */
static bool size_fill(size_reader *r) {
    if (r->at) memmove(r->data, r->data + r->at, r->used - r->at);
    r->used -= r->at;
    r->at = 0;
    if (r->cap - r->used < 65536) {
        char *grown = r->cap < SIZE_MAX / 4 ? realloc(r->data, r->cap * 2 + 65536) : NULL;
        r->no_memory = !grown;
        if (!grown) return false;
        r->data = grown;
        r->cap = r->cap * 2 + 65536;
    }
    size_t got = fread(r->data + r->used, 1, r->cap - r->used - 1, stdin);
    r->used += got;
    r->end = !got;
    return got != 0;
}

/* The next line, terminated, without its end (\n or \r\n); NULL if there is none. */
static char *size_next_line(size_reader *r, size_t *length) {
    char *end;
    size_t seen = 0; /* bytes without a newline, not searched again */
    while (!(end = r->used > r->at + seen ? memchr(r->data + r->at + seen, '\n', r->used - r->at - seen) : NULL)) {
        seen = r->used - r->at;
        if (!size_fill(r)) break;
    }
    if (r->no_memory || (!end && r->at == r->used)) return NULL;
    char *line = r->data + r->at;
    if (!end) end = r->data + r->used;
    r->at = (size_t)(end - r->data) + (end < r->data + r->used);
    *length = (size_t)(end - line);
    if (*length && line[*length - 1] == '\r') --*length;
    line[*length] = 0;
    return line;
}

static int size_line(size_tool *t, const char *line, size_t length, const char *where) {
    size_t text = strlen(line);
    if (text == length) return size_expression(t, line, where);
    printf("error\t-\t-\n");
    return size_fail(where, text < INT_MAX ? (int)text + 1 : 0, "a zero byte; text is expected");
}

static int size_lines(size_tool *t) {
    size_reader r = {0};
    size_t length;
    int failed = 0;
    unsigned long long number = 0;
    for (char *line; (line = size_next_line(&r, &length));) {
        char where[32];
        snprintf(where, sizeof where, "line %llu", ++number);
        failed |= size_line(t, line, length, where);
    }
    if (r.no_memory) failed = size_fail("standard input", 0, "no memory for a line");
    if (ferror(stdin)) failed = size_fail("standard input", 0, "cannot be read");
    free(r.data);
    return failed;
}

/* ---- command line */

static int size_form(const char *name, ind_print *form) {
    static const char *const names[] = {
#define X(name, text) text,
        IND_PRINTS(X)
#undef X
    };
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (!strcmp(names[i], name)) return *form = (ind_print)i, 0;
    }
    return name ? size_fail(NULL, 0, "--print %s: allowed are text, c, cuda, cuda32, latex", name) : 0;
}

/* Which list the value of an option goes to; SIZE_NUM_KINDS for --print, -1 if there is no such option. */
static int size_option(const char *option) {
    static const char *const names[] = {"", "--var", "--fact", "--at", "--print"};
    for (int i = 1; i < 5; i++) {
        if (!strcmp(names[i], option)) return i;
    }
    return -1;
}

static int size_read_options(int argc, char **argv, size_options *o) {
    bool only_expressions = false;
    for (int i = 0; i < argc; i++) {
        int kind = SIZE_EXPR;
        if (!only_expressions && !strcmp(argv[i], "--")) {
            only_expressions = true;
            continue;
        }
        if (!only_expressions && !strncmp(argv[i], "--", 2)) {
            if (!strcmp(argv[i], "--help")) return o->help = true, 0;
            if (!strcmp(argv[i], "--explain")) {
                o->explain = true;
                continue;
            }
            kind = size_option(argv[i]);
            if (kind < 0) {
                return size_fail(NULL, 0, "unknown option %s; allowed: --var --fact --at --print --explain --help",
                                 argv[i]);
            }
            if (++i == argc) return size_fail(NULL, 0, "%s: a value must follow", argv[i - 1]);
        }
        if (kind == SIZE_NUM_KINDS)
            o->print = argv[i];
        else
            o->list[kind][o->count[kind]++] = argv[i];
    }
    if (!o->count[SIZE_EXPR]) return size_fail(NULL, 0, "no expression is given; ind size --help says more");
    return 0;
}

static int size_prepare(size_tool *t, const size_options *o) {
    if (size_form(o->print, &t->form)) return 1;
    if (ind_context_create(NULL, &t->ctx)) return size_fail(NULL, 0, "no memory");
    static int (*const take[])(size_tool *,
                               const char *) = {[SIZE_VAR] = size_var, [SIZE_FACT] = size_fact, [SIZE_AT] = size_at};
    for (int kind = SIZE_VAR; kind < SIZE_NUM_KINDS; kind++) {
        for (int i = 0; i < o->count[kind]; i++) {
            if (take[kind](t, o->list[kind][i])) return 1;
        }
    }
    int failed = t->at_point ? size_close_point(t) : 0;
    ind_facts_enter(t->ctx, t->facts);
    return failed;
}

static int size_run(const size_options *o) {
    size_tool t = {.explain = o->explain};
    int failed = size_prepare(&t, o);
    if (!failed) {
        bool lines = o->count[SIZE_EXPR] == 1 && !strcmp(o->list[SIZE_EXPR][0], "-");
        failed = lines ? size_lines(&t) : size_arguments(&t, o->list[SIZE_EXPR], o->count[SIZE_EXPR]);
        failed |= size_check_names(&t);
        if (fflush(stdout) || ferror(stdout)) failed = size_fail("standard output", 0, "cannot be written");
    }
    ind_facts_destroy(t.facts);
    ind_context_destroy(t.ctx);
    free(t.name);
    free(t.bucket);
    free(t.text);
    return failed;
}

/* argv: what follows `size` on the command line. The exit status of the program. */
static int size_command(int argc, char **argv) {
    size_options o = {0};
    const char **room = calloc((size_t)argc * SIZE_NUM_KINDS + 1, sizeof *room);
    if (!room) return size_fail(NULL, 0, "no memory");
    for (int kind = 0; kind < SIZE_NUM_KINDS; kind++) o.list[kind] = room + (size_t)argc * (size_t)kind;
    int failed = size_read_options(argc, argv, &o);
    if (!failed && o.help)
        failed = fputs(size_help, stdout) == EOF || fflush(stdout);
    else if (!failed)
        failed = size_run(&o);
    free(room);
    return failed;
}

#endif
