/* Times building and simplifying of size expressions for sizes.py. Reads workloads, prints one line for each:
   name, median seconds, or "error" and the reason. An expression is a program for a stack machine, as Python's bytecode
   is for its peers, so that nobody's parser is timed; a workload with a text is parsed instead.

       W NAME REPEATS          begins a workload
       V NAME LO HI MULTIPLE   a size
       L NAME TOKEN...         a loop index in [0, extent); the tokens make the extent
       E TOKEN...              the expression
       T TEXT                  the expression as text
       .                       times it

   Tokens: v3 variable 3, n42 integer, and operators with their number of arguments: +9 *2 -2 /2 %2 c2 (CeilDiv),
   M3 (ModularIndexing), m2 (Min), x2 (Max), w3 (Where), ~1 (negative), =2 !2 <2 l2 (<=). */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#define INDUCTOR_IR_IMPLEMENTATION
#include "inductor_ir.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { MOST_VARIABLES = 4096, MOST_TOKENS = 1 << 17, MOST_LINE = 1 << 21, MOST_REPEATS = 1024 };

typedef struct token {
    char op;
    int64_t value;
} token;

typedef struct program {
    int begin, end; /* in the token array */
} program;

typedef struct variable {
    char name[16];
    int64_t lo, hi, multiple;
    program extent; /* a loop index if not empty */
} variable;

static variable variables[MOST_VARIABLES];
static token tokens[MOST_TOKENS];
static ind_expr stack[MOST_TOKENS], symbols[MOST_VARIABLES];
static char line[MOST_LINE], text[MOST_LINE], name[128];
static int num_variables, num_tokens, repeats;
static program expression;

static void fail(const char *what) {
    fprintf(stderr, "bench_sizes: %s: %s\n", name, what);
    exit(1);
}

static program read_program(char *s) {
    program p = {num_tokens, num_tokens};
    for (char *t = strtok(s, " \n"); t; t = strtok(NULL, " \n")) {
        if (p.end == MOST_TOKENS) fail("too many tokens");
        tokens[p.end++] = (token){t[0], strtoll(t + 1, NULL, 10)};
    }
    num_tokens = p.end;
    return p;
}

/* The n topmost of the stack become one. */
static ind_expr apply(ind_context *c, char op, ind_expr *a, int n) {
    switch (op) {
    case '+': return n == 2 ? ind_expr_add(a[0], a[1]) : ind_expr_sum(c, a, n);
    case '*': return n == 2 ? ind_expr_mul(a[0], a[1]) : ind_expr_product(c, a, n);
    case '-': return ind_expr_sub(a[0], a[1]);
    case '/': return ind_expr_floordiv(a[0], a[1]);
    case '%': return ind_expr_mod(a[0], a[1]);
    case 'c': return ind_expr_ceildiv(a[0], a[1]);
    case 'M': return ind_expr_modular(a[0], a[1], a[2]);
    case 'm': return ind_expr_min_of(c, a, n);
    case 'x': return ind_expr_max_of(c, a, n);
    case 'w': return ind_expr_where(a[0], a[1], a[2]);
    case '~': return ind_expr_neg(a[0]);
    case '=': return ind_expr_eq(a[0], a[1]);
    case '!': return ind_expr_ne(a[0], a[1]);
    case '<': return ind_expr_lt(a[0], a[1]);
    case 'l': return ind_expr_le(a[0], a[1]);
    default: fail("unknown token"); return a[0];
    }
}

static ind_expr run(ind_context *c, program p) {
    int top = 0;
    for (int i = p.begin; i < p.end; i++) {
        token t = tokens[i];
        if (t.op == 'v' || t.op == 'n') {
            stack[top++] = t.op == 'v' ? symbols[t.value] : ind_int(c, t.value);
        } else {
            top -= (int)t.value;
            stack[top] = apply(c, t.op, stack + top, (int)t.value);
            top++;
        }
    }
    return stack[0];
}

static ind_expr find(const char *wanted, size_t length, void *user) {
    (void)user;
    for (int i = 0; i < num_variables; i++)
        if (strlen(variables[i].name) == length && !memcmp(variables[i].name, wanted, length)) return symbols[i];
    return (ind_expr){0};
}

static void declare(ind_context *c) {
    for (int i = 0; i < num_variables; i++) {
        const variable *v = &variables[i];
        ind_symbol s = {.kind = IND_SYMBOL_SIZE, .slot = i, .name = v->name};
        if (v->extent.end > v->extent.begin) {
            s.kind = IND_SYMBOL_INDEX;
            s.extent = run(c, v->extent);
        } else {
            s.lo = v->lo, s.hi = v->hi, s.multiple_of = v->multiple, s.hint = v->hi;
        }
        symbols[i] = ind_symbol_expr(c, &s);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* In a context of its own: nothing is interned before, nothing cached. Negative: it failed; the reason is printed. */
static double once(void) {
    ind_context *c;
    if (ind_context_create(NULL, &c)) fail("no context");
    declare(c);
    double start = now();
    ind_expr e = text[0] ? ind_expr_parse(c, text, find, NULL, NULL) : run(c, expression);
    e = ind_simplify(NULL, e);
    double seconds = now() - start;
    if (!e.id) {
        printf("%s\terror\t%s\n", name, ind_error(c));
        seconds = -1;
    }
    ind_context_destroy(c);
    return seconds;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(void) {
    static double times[MOST_REPEATS];
    for (int i = 0; i < repeats; i++)
        if ((times[i] = once()) < 0) return;
    qsort(times, (size_t)repeats, sizeof *times, ascending);
    printf("%s\t%.9f\n", name, times[repeats / 2]);
    fflush(stdout);
}

static void begin(void) {
    num_variables = num_tokens = 0;
    text[0] = 0;
    expression = (program){0, 0};
    if (sscanf(line, "W %127s %d", name, &repeats) != 2 || repeats < 1 || repeats > MOST_REPEATS) fail("bad W");
}

static void add_variable(void) {
    int used = 0;
    if (num_variables == MOST_VARIABLES) fail("too many variables");
    variable *v = &variables[num_variables++];
    *v = (variable){{0}, 0, 0, 0, {0, 0}};
    if (sscanf(line + 2, "%15s%n", v->name, &used) != 1) fail("bad variable");
    char *rest = line + 2 + used;
    if (line[0] == 'L')
        v->extent = read_program(rest);
    else if (sscanf(rest, "%lld %lld %lld", (long long *)&v->lo, (long long *)&v->hi, (long long *)&v->multiple) != 3)
        fail("bad size");
}

/* As every repetition has a context of its own, glibc would give its heap back and fetch it again page by page each
   time. The peers' heap stays; so does ours. */
static void keep_heap(void) {
#ifdef __GLIBC__
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
#endif
}

int main(void) {
    keep_heap();
    while (fgets(line, sizeof line, stdin)) {
        switch (line[0]) {
        case 'W': begin(); break;
        case 'V':
        case 'L': add_variable(); break;
        case 'E': expression = read_program(line + 2); break;
        case 'T': snprintf(text, sizeof text, "%.*s", (int)strcspn(line + 2, "\n"), line + 2); break;
        case '.': measure(); break;
        default: fail("unknown line");
        }
    }
    return 0;
}
