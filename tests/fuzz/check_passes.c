/* check_passes: graphs with all passes and patterns give what they give without any.
 *
 *     check_passes [FILE]
 *
 * FILE (or the standard input) holds graphs of pass_graphs.py: two orders of ops each, divided by +++, and --- between
 * graphs. Patterns that are off by default are enabled. Checked of each graph:
 *
 * - all passes, each pass alone: the verifier is silent;
 * - the passes change nothing in what they gave;
 * - the other order of ops: as many changes by each pattern;
 * - the results on the host, with all passes, and with one alone in turn, are those without passes: within the bound
 *   that the graph states; NaN and infinity only where they are without.
 *
 * Graphs with "# may be refused" that do not parse are counted. Prints how often each pass and pattern changed
 * something. Exit status 1 after the first fault, with the graph. */
#define INDUCTOR_GRAPH_IMPLEMENTATION
#include "inductor.h"
#include "elements.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BINDINGS = 256, MAX_NAMES = 256, GRAPHS_PER_CONTEXT = 200, MAX_TEXT = 1 << 20 };

/* How often each pass and pattern changed something. */
typedef struct tally {
    char name[MAX_NAMES][64];
    int count[MAX_NAMES], num;
} tally;

typedef struct checker {
    ind_context *ctx;
    char *enabled; /* names of the built-in patterns that change results by rounding only, and of passes */
    const char *text;
    char *other; /* the same graph, its ops in another order */
    int graphs, refused, runs;
    tally total;
} checker;

static int complain(const checker *k, const char *what, const char *why) {
    printf("%s: %s\n%s\n", what, why, k->text);
    return 1;
}

/* ---- changes of the passes */

static void count_change(tally *t, const char *name) {
    int i = 0;
    while (i < t->num && strcmp(t->name[i], name) != 0) i++;
    if (i == MAX_NAMES) return;
    if (i == t->num) snprintf(t->name[t->num++], sizeof t->name[0], "%s", name);
    t->count[i]++;
}

static int count_of(const tally *t, const char *name) {
    for (int i = 0; i < t->num; i++)
        if (!strcmp(t->name[i], name)) return t->count[i];
    return 0;
}

/* Runs the passes and verifies the result; NULL on failure. `last` gets the text of the last change. */
static ind_graph *optimise(checker *k, ind_graph *g, uint32_t disabled, tally *t, char last[300]) {
    ind__pass_log log = {.context = k->ctx, .arena = {.context = k->ctx}};
    const ind__pass_options options = {
        .disabled = disabled, .enabled_patterns = k->enabled, .builtin = pattern__builtin(k->ctx), .log = &log};
    ind_graph *out = NULL;
    (void)ind__graph_enter(g);
    ind_status status = ind__graph_optimise(g, &options, &out);
    if (!status) status = ind__graph_verify(out);
    memset(t, 0, sizeof *t);
    for (uint32_t i = 0; i < log.num; i++) {
        if (log.change[i].missed) continue;
        count_change(t, log.change[i].pass);
        snprintf(last, 300, "%s: %s", log.change[i].pass, log.change[i].text);
    }
    ind__pass_log_free(&log);
    if (!status) return out;
    ind_graph_destroy(out);
    return NULL;
}

/* Passes may depend on the order: a write is in place only where no later op reads the old value, and merged products
   lie side by side in the order of their ops. What patterns match may not. */
static bool is_pattern(const checker *k, const char *name) {
    const ind__pattern *p = pattern__builtin(k->ctx);
    while (p && strcmp(p->name, name) != 0) p = p->next;
    return p != NULL;
}

static int check_other_order(checker *k, const tally *want) {
    tally got;
    char last[300] = "", why[400];
    ind_graph *g = ind_graph_parse(k->ctx, k->other, NULL);
    if (!g) return complain(k, "another order", ind_error(k->ctx));
    ind_graph *out = optimise(k, g, 0, &got, last);
    int failed = out ? 0 : complain(k, "another order", ind_error(k->ctx));
    for (int i = 0; i < want->num && !failed; i++) {
        const int n = count_of(&got, want->name[i]);
        if (n == want->count[i] || !is_pattern(k, want->name[i])) continue;
        snprintf(why, sizeof why, "%d changes by %s, %d in\n%s", want->count[i], want->name[i], n, k->other);
        failed = complain(k, "another order of ops", why);
    }
    ind_graph_destroy(out);
    ind_graph_destroy(g);
    return failed;
}

static int check_again(checker *k, ind_graph *once) {
    tally t;
    char last[300] = "", why[400];
    ind_graph *twice = optimise(k, once, 0, &t, last);
    if (!twice) return complain(k, "the passes over their result", ind_error(k->ctx));
    ind_graph_destroy(twice);
    if (!t.num) return 0;
    snprintf(why, sizeof why, "a second run changes it: %.300s", last);
    return complain(k, "not idempotent", why);
}

static int check_each_pass(checker *k, ind_graph *g) {
    tally t;
    char last[300], what[100];
    for (int p = 0; p < IND_NUM_PASSES; p++) {
        ind_graph *out = optimise(k, g, ~(1u << p), &t, last);
        snprintf(what, sizeof what, "pass %s alone", graph__pass_name[p]);
        if (!out) return complain(k, what, ind_error(k->ctx));
        ind_graph_destroy(out);
    }
    return 0;
}

/* ---- data */

/* What the first letter of the name says: pass_graphs.py. */
static void fill(const ind_binding_info *b, void *data, int64_t count) {
    const char *limit = strchr(b->name, '_');
    const uint64_t below = limit ? strtoull(limit + 1, NULL, 10) : 8;
    uint64_t state = 7;
    for (const char *s = b->name; *s; s++) state = state * 31 + (unsigned char)*s;
    for (int64_t i = 0; i < count; i++) {
        const uint64_t r = next_random(&state);
        double f = (double)(r >> 11) * 0x1p-52 - 1;
        int64_t n = (int64_t)(r % (below ? below : 1));
        if (*b->name == 'v') f = 1 + 0.5 * f;
        if (*b->name == 'm') f = r % 4 == 0 ? -INFINITY : 0;
        if (*b->name == 'z' && r % 16 < 3) f = r % 16 == 0 ? NAN : r % 16 == 1 ? INFINITY : -INFINITY;
        if (*b->name == 'p') n = (int64_t)(((uint64_t)i * 5 + below / 2) % below);
        store(data, b->dtype, i, f, n);
    }
}

/* ---- runs */

/* What one way computed: one block per binding. */
typedef struct result {
    int n;
    void *data[MAX_BINDINGS];
    int64_t count[MAX_BINDINGS];
} result;

static void release(result *r) {
    for (int i = 0; i < r->n; i++) free(r->data[i]);
    r->n = 0;
}

static int allocate(const checker *k, result *r, ind_module *m, int i, const char *sizes) {
    const ind_binding_info *b = ind_module_query_binding(m, i);
    int64_t size;
    r->count[i] = 1;
    for (int d = 0; d < b->rank; d++) {
        if (ind_formula_eval(m, b->size[d], sizes, &size)) return complain(k, "sizes", ind_error(k->ctx));
        r->count[i] *= size;
    }
    const size_t bytes = (size_t)r->count[i] * (size_t)ind_dtype_bytes(b->dtype);
    r->data[i] = malloc(bytes + 1);
    if (!r->data[i]) return complain(k, "memory", "too little");
    memset(r->data[i], 0xa5, bytes + 1);
    if (b->kind != IND_BINDING_OUTPUT) fill(b, r->data[i], r->count[i]);
    return 0;
}

static int run(checker *k, result *r, ind_module *m, const char *sizes) {
    ind_binding io[MAX_BINDINGS];
    const int n = ind_module_num_bindings(m);
    for (int i = 0; i < n; i++) {
        r->n = i + 1;
        r->data[i] = NULL;
        if (allocate(k, r, m, i, sizes)) return 1;
        io[i] = (ind_binding){ind_module_query_binding(m, i)->name, r->data[i]};
    }
    const ind_run_desc desc = {.bindings = io, .num_bindings = n, .sizes = sizes, .memory = IND_MEMORY_HOST};
    k->runs++;
    return ind_run(m, &desc) ? complain(k, "run", ind_error(k->ctx)) : 0;
}

static double number_after(const char *text, const char *key, double otherwise) {
    const char *at = strstr(text, key);
    return at ? strtod(at + strlen(key), NULL) : otherwise;
}

/* The most that a binding may differ; 0: not at all. */
static double bound_of(const checker *k, const ind_binding_info *b, const void *want, int64_t count) {
    char key[160];
    double largest = 0;
    snprintf(key, sizeof key, "# bound %.100s ", b->name);
    const double tolerance = number_after(k->text, "# tolerance ", -1);
    if (tolerance < 0) return number_after(k->text, key, 0);
    for (int64_t i = 0; i < count; i++) {
        const double w = fabs(element(want, b->dtype, i));
        largest = isfinite(w) && w > largest ? w : largest;
    }
    return ind_dtype_is_float(b->dtype) ? tolerance * (1 + largest) : 0;
}

static int compare(const checker *k, ind_module *m, const result *want, const result *got, const char *what) {
    char why[400];
    for (int i = 0; i < want->n; i++) {
        const ind_binding_info *b = ind_module_query_binding(m, i);
        const double bound = bound_of(k, b, want->data[i], want->count[i]);
        for (int64_t e = 0; e < want->count[i]; e++) {
            const double w = element(want->data[i], b->dtype, e), g = element(got->data[i], b->dtype, e);
            if (w == g || (w != w && g != g) || fabs(w - g) <= bound) continue;
            snprintf(why, sizeof why, "%s[%lld of %lld] is %.9g, without passes %.9g; the bound is %g", b->name,
                     (long long)e, (long long)want->count[i], g, w, bound);
            return complain(k, what, why);
        }
    }
    return 0;
}

/* Compiles with these passes; compares the results at each set of sizes. */
static int check_results(checker *k, ind_graph *g, ind_module *plain, uint32_t disabled, const char *what) {
    const ind_compile_desc desc = {
        .device = IND_DEVICE_HOST, .disabled_passes = disabled, .enabled_patterns = k->enabled};
    char sizes[200] = "";
    ind_module *m;
    if (ind_compile(g, &desc, &m)) return complain(k, what, ind_error(k->ctx));
    const char *line = strstr(k->text, "# sizes ");
    if (line) snprintf(sizes, sizeof sizes, "%.*s", (int)strcspn(line + 8, "\n"), line + 8);
    int failed = 0;
    for (char *one = sizes, *next; one && !failed; one = next) {
        result want = {0}, got = {0};
        next = strchr(one, ';');
        if (next) *next++ = 0;
        failed = run(k, &want, plain, one) || run(k, &got, m, one) || compare(k, m, &want, &got, what);
        release(&want);
        release(&got);
    }
    ind_module_destroy(m);
    return failed;
}

static int check_all_results(checker *k, ind_graph *g) {
    const ind_compile_desc none = {.device = IND_DEVICE_HOST, .disabled_passes = ~0u};
    const int alone = k->graphs % (4 * IND_NUM_PASSES);
    char what[100];
    ind_module *plain;
    if (ind_compile(g, &none, &plain)) return complain(k, "no passes", ind_error(k->ctx));
    int failed = check_results(k, g, plain, 0, "all passes");
    if (!failed && alone < IND_NUM_PASSES) {
        snprintf(what, sizeof what, "pass %s alone", graph__pass_name[alone]);
        failed = check_results(k, g, plain, ~(1u << alone), what);
    }
    ind_module_destroy(plain);
    return failed;
}

/* ---- one graph */

static int check_graph(checker *k) {
    tally t;
    char last[300] = "";
    ind_graph *g = ind_graph_parse(k->ctx, k->text, NULL);
    if (!g && strstr(k->text, "# may be refused")) return k->refused++, 0;
    if (!g) return complain(k, "parse", ind_error(k->ctx));
    ind_graph *all = optimise(k, g, 0, &t, last);
    int failed = all ? 0 : complain(k, "all passes", ind_error(k->ctx));
    for (int i = 0; i < t.num; i++) count_change(&k->total, t.name[i]);
    if (!failed) failed = check_again(k, all);
    if (!failed && k->other) failed = check_other_order(k, &t);
    if (!failed) failed = check_each_pass(k, g);
    ind_graph_destroy(all);
    if (!failed && t.num) failed = check_all_results(k, g);
    ind_graph_destroy(g);
    return failed;
}

static int renew_context(checker *k) {
    ind__text names = {0};
    if (k->ctx) ind__free(k->ctx, k->enabled);
    ind_context_destroy(k->ctx);
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST, .verify = 1}, &k->ctx)) return 1;
    names.context = k->ctx;
    for (const ind__pattern *p = pattern__builtin(k->ctx); p; p = p->next)
        if (!p->off || !strstr(p->off, "more than rounding")) ind__textf(&names, "%s ", p->name);
    ind__textf(&names, "merge_products batch_products pad_products block_maps");
    k->enabled = names.data;
    return names.failed;
}

/* Reads up to the line "---". False: the end. */
static bool read_graph(FILE *f, char *text) {
    char line[4096];
    size_t n = 0;
    *text = 0;
    while (fgets(line, sizeof line, f) && strcmp(line, "---\n") != 0) {
        const size_t length = strlen(line);
        if (n + length + 1 > MAX_TEXT) break;
        memcpy(text + n, line, length + 1);
        n += length;
    }
    return n > 0;
}

int main(int argc, char **argv) {
    static char text[MAX_TEXT];
    checker k = {.text = text};
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : stdin;
    int failed = 0;
    if (!f) return fputs("usage: check_passes [FILE]\n", stderr), 2;
    for (; !failed && read_graph(f, text); k.graphs++) {
        if (k.graphs % GRAPHS_PER_CONTEXT == 0 && renew_context(&k)) return fputs("no memory\n", stderr), 2;
        k.other = strstr(text, "+++\n");
        if (k.other) {
            *k.other = 0;
            k.other += 4;
        }
        failed = check_graph(&k);
    }
    if (f != stdin) fclose(f);
    if (k.ctx) ind__free(k.ctx, k.enabled);
    ind_context_destroy(k.ctx);
    for (int i = 0; i < k.total.num; i++) printf("%s %d\n", k.total.name[i], k.total.count[i]);
    if (!failed) printf("%d graphs agree, %d refused, %d runs\n", k.graphs - k.refused, k.refused, k.runs);
    return failed;
}
