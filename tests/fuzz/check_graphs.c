/* check_graphs: compiles and runs graphs in several configs, which must agree.
 *
 *     check_graphs FILE [--cuda]
 *
 * FILE holds graphs in the text form (random_graphs.py makes them), separated by lines of ---. Each is parsed, printed, parsed
 * again (the text must not change) and run on the host device: as it is, without fusion, without passes and with every value
 * stored; with --cuda also on the GPU (or the emulation), with and without fusion. Inputs are random but the same
 * everywhere. Integer results must be equal; floats may differ by the graph's tolerance times (1 + the largest magnitude
 * of the result), NaN and infinity only from themselves. Exit status 1 after the first graph that disagrees is printed. */
#include "inductor.h"
#include "elements.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BINDINGS 256

typedef struct way {
    const char *name;
    ind_compile_desc desc;
} way;

static const way configs[] = {
    {"host", {.device = IND_DEVICE_HOST}},
    {"host, no fusion", {.device = IND_DEVICE_HOST, .fusion = {.disable = true, .disable_inplace = true}}},
    {"host, no passes", {.device = IND_DEVICE_HOST, .disabled_passes = 0xffffffffu}},
    {"host, all stored",
     {.device = IND_DEVICE_HOST,
      .realise = {.max_reads_shared = 1, .max_ops_shared = 1, .max_reads = 1, .max_ops = 1}}},
    {"cuda", {.device = IND_DEVICE_CUDA}},
    {"cuda, no fusion", {.device = IND_DEVICE_CUDA, .fusion = {.disable = true}}},
};
enum { HOST_CONFIGS = 4, ALL_CONFIGS = sizeof configs / sizeof *configs };

/* What one way computed: one block per binding. */
typedef struct result {
    ind_module *module;
    int n;
    void *data[MAX_BINDINGS];
    int64_t count[MAX_BINDINGS];
} result;

static int complain(const char *text, const char *way, const char *sizes, const char *why) {
    printf("%s\n(%s, %s)\n%s\n", why, way, *sizes ? sizes : "no sizes", text);
    return 1;
}

/* ---- data */

/* xN_L: integers below L. */
static void fill(const ind_binding_info *b, void *data, int64_t count) {
    const char *limit = strchr(b->name, '_');
    uint64_t below = limit ? strtoull(limit + 1, NULL, 10) : 8, state = 7;
    for (const char *s = b->name; *s; s++) state = state * 31 + (unsigned char)*s;
    for (int64_t i = 0; i < count; i++) {
        uint64_t r = next_random(&state);
        store(data, b->dtype, i, (double)(r >> 11) * 0x1p-52 - 1, (int64_t)(r % below));
    }
}

/* ---- running */

static void release(result *r) {
    for (int i = 0; i < r->n; i++) free(r->data[i]);
    r->n = 0;
}

static int run(result *r, const char *text, const char *way, const char *sizes) {
    ind_binding io[MAX_BINDINGS];
    ind_module *m = r->module;
    r->n = ind_module_num_bindings(m);
    for (int i = 0; i < r->n; i++) {
        const ind_binding_info *b = ind_module_query_binding(m, i);
        int64_t size;
        r->count[i] = 1;
        for (int d = 0; d < b->rank; d++) {
            if (ind_formula_eval(m, b->size[d], sizes, &size)) return complain(text, way, sizes, ind_error(m->context));
            r->count[i] *= size;
        }
        size_t bytes = (size_t)r->count[i] * (size_t)ind_dtype_bytes(b->dtype);
        r->data[i] = malloc(bytes + 1); /* exact but for one byte: an access behind it is seen by the sanitizer */
        memset(r->data[i], 0xa5, bytes + 1);
        if (b->kind != IND_BINDING_OUTPUT) fill(b, r->data[i], r->count[i]);
        io[i] = (ind_binding){b->name, r->data[i]};
    }
    ind_run_desc desc = {.bindings = io, .num_bindings = r->n, .sizes = sizes, .memory = IND_MEMORY_HOST};
    return ind_run(m, &desc) ? complain(text, way, sizes, ind_error(m->context)) : 0;
}

static int compare_one(const ind_binding_info *b, const void *want, const void *got, int64_t count, double tolerance,
                       char why[512]) {
    double largest = 0;
    bool inexact = ind_dtype_is_float(b->dtype);
    for (int64_t i = 0; i < count; i++) {
        double w = element(want, b->dtype, i);
        if (isfinite(w)) largest = fmax(largest, fabs(w));
    }
    for (int64_t i = 0; i < count; i++) {
        double w = element(want, b->dtype, i), g = element(got, b->dtype, i);
        double bound = inexact ? tolerance * (1 + largest) : 0;
        if (w == g || (w != w && g != g) || fabs(w - g) <= bound) continue;
        snprintf(why, 512, "%s[%lld of %lld]: %.9g, and %.9g on the host", b->name, (long long)i, (long long)count, g, w);
        return 1;
    }
    return 0;
}

static int compare(const result *want, const result *got, double tolerance, const char *text, const char *way,
                   const char *sizes) {
    char why[512];
    if (want->n != got->n) return complain(text, way, sizes, "another number of inputs and outputs");
    for (int i = 0; i < want->n; i++) {
        const ind_binding_info *b = ind_module_query_binding(want->module, i);
        if (b->kind != IND_BINDING_OUTPUT) continue;
        if (compare_one(b, want->data[i], got->data[i], want->count[i], tolerance, why))
            return complain(text, way, sizes, why);
    }
    return 0;
}

/* ---- one graph */

/* The rest of the comment line that begins with `key`, without it. */
static void comment(const char *text, const char *key, char *out, size_t size) {
    const char *at = strstr(text, key);
    size_t n = 0;
    for (at = at ? at + strlen(key) : ""; *at && *at != '\n' && n + 1 < size; at++) out[n++] = *at;
    out[n] = 0;
}

static int check_text(ind_context *ctx, ind_graph *g, const char *text) {
    const char *first = ind_graph_text(g);
    ind_graph *again = first ? ind_graph_parse(ctx, first, NULL) : NULL;
    const char *second = again ? ind_graph_text(again) : NULL;
    int failed = !second || strcmp(first, second);
    if (failed) complain(first ? first : text, "print and parse", "", second ? "the text changes" : ind_error(ctx));
    ind_graph_destroy(again);
    return failed;
}

static int check_runs(result *r, int num_configs, const char *text) {
    char sizes[512], number[32];
    comment(text, "# sizes ", sizes, sizeof sizes);
    comment(text, "# tolerance ", number, sizeof number);
    double tolerance = strtod(number, NULL);
    int failed = 0;
    for (char *one = sizes, *next; one && !failed; one = next) {
        next = strchr(one, ';');
        if (next) *next++ = 0;
        while (*one == ' ') one++;
        for (int k = 0; k < num_configs && !failed; k++) {
            failed = run(&r[k], text, configs[k].name, one);
            if (!failed && k) failed = compare(&r[0], &r[k], tolerance, text, configs[k].name, one);
            if (k) release(&r[k]);
        }
        release(&r[0]);
    }
    return failed;
}

static int check_graph(const char *text, int num_configs) {
    ind_context *ctx;
    result r[ALL_CONFIGS] = {0};
    int failed = 0;
    if (ind_context_create(&(ind_context_desc){.verify = 1}, &ctx)) return complain(text, "context", "", "no memory");
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    if (!g) failed = complain(text, "parse", "", ind_error(ctx));
    if (!failed) failed = check_text(ctx, g, text);
    for (int k = 0; k < num_configs && !failed; k++) {
        if (ind_compile(g, &configs[k].desc, &r[k].module)) failed = complain(text, configs[k].name, "", ind_error(ctx));
    }
    if (!failed) failed = check_runs(r, num_configs, text);
    for (int k = 0; k < ALL_CONFIGS; k++) release(&r[k]);
    ind_context_destroy(ctx);
    return failed;
}

static char *read_all(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = size >= 0 ? calloc(1, (size_t)size + 1) : NULL;
    if (text && fread(text, 1, (size_t)size, f) != (size_t)size) *text = 0;
    fclose(f);
    return text;
}

int main(int argc, char **argv) {
    bool cuda = argc == 3 && !strcmp(argv[2], "--cuda");
    char *all = argc >= 2 ? read_all(argv[1]) : NULL;
    int count = 0, failed = 0;
    if (!all) return puts("usage: check_graphs FILE [--cuda]"), 2;
    for (char *text = all, *next; text && !failed; text = next, count++) {
        next = strstr(text, "---\n");
        if (next) {
            *next = 0;
            next += 4;
        }
        failed = check_graph(text, cuda ? ALL_CONFIGS : HOST_CONFIGS);
    }
    free(all);
    if (!failed) printf("%d graphs agree\n", count);
    return failed;
}
