/* launch: gain of programmatic dependent launches over launches one after another.
 *
 *     launch FILE.ind ["B=1, S=32"]
 *
 * Compiles the graph twice, with and without dependent launches. Captures a CUDA graph of each and replays them in
 * turn. Prints the median microseconds of a replay over many rounds. After every round the outputs of the two must be
 * bitwise equal, else the exit status is 1. Inputs are random; integers are 0 or 1. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 21, ROUND_US = 20000, MAX_BINDINGS = 4096, MODES = 2 };

static ind_context *ctx;

static void stop(const char *what) {
    fprintf(stderr, "%s: %s\n", what, ctx ? ind_error(ctx) : "");
    exit(2);
}

static char *read_text(const char *path) {
    char *text;
    size_t bytes;
    if (ind__read_file(ctx, path, &text, &bytes)) stop(path);
    return text;
}

static uint64_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 33;
}

/* Floats from [-1, 1) made of 7 bits, which all types have; integers 0 and 1. */
static void fill(unsigned char *data, ind_dtype dtype, int64_t count, uint64_t *state) {
    const int bytes = ind_dtype_bytes(dtype);
    for (int64_t i = 0; i < count; i++) {
        const float x = (float)(draw(state) % 256) / 128 - 1;
        const double d = x;
        uint32_t bits;
        memcpy(&bits, &x, 4);
        uint64_t word = draw(state) & 1;
        if (dtype == IND_F32) word = bits;
        if (dtype == IND_BF16) word = bits >> 16;
        if (dtype == IND_F16) word = ind__f32_to_f16(x);
        if (dtype == IND_F64) memcpy(&word, &d, 8);
        memcpy(data + i * bytes, &word, (size_t)bytes);
    }
}

/* The graph compiled with or without dependent launches. */
typedef struct mode {
    ind_module *module;
    ind_instance *instance;
    void *pointer[MAX_BINDINGS];
    size_t bytes[MAX_BINDINGS];
    double us[ROUNDS];
} mode;

static void compile(mode *w, const char *text, bool dependent) {
    ind_compile_desc desc = {.device = IND_DEVICE_CUDA, .fusion.disable_dependent_launch = !dependent};
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    if (!g || ind_compile(g, &desc, &w->module)) stop("compile");
    ind_graph_destroy(g);
}

/* Memory for every binding; both modes get the same values. */
static void bind(mode *w, const char *sizes) {
    uint64_t state = 1;
    for (int i = 0; i < ind_module_num_bindings(w->module); i++) {
        const ind_binding_info *b = ind_module_query_binding(w->module, i);
        int64_t shape[IND_MAX_RANK], count = 1;
        if (ind_module_shape(w->module, i, sizes, NULL, shape)) stop(b->name);
        for (int d = 0; d < b->rank; d++) count *= shape[d];
        w->bytes[i] = (size_t)count * (size_t)ind_dtype_bytes(b->dtype);
        unsigned char *data = calloc(1, w->bytes[i] + 8);
        if (!data || i >= MAX_BINDINGS || ind_module_alloc(w->module, w->bytes[i], &w->pointer[i])) stop(b->name);
        fill(data, b->dtype, count, &state);
        if (ind_module_upload(w->module, w->pointer[i], data, w->bytes[i])) stop(b->name);
        free(data);
    }
}

static void capture(mode *w, const char *sizes) {
    ind_launch_desc desc = {.pointers = w->pointer, .sizes = sizes};
    if (ind_instance_create(w->module, NULL, &w->instance) || ind_launch(w->instance, &desc) ||
        ind_instance_check(w->instance) || ind_capture(w->instance, &desc))
        stop("run");
}

/* Microseconds of one replay, of `count` in a row. */
static double replay(mode *w, int count) {
    double start = ind__now_ms();
    for (int i = 0; i < count; i++)
        if (ind_replay(w->instance, NULL)) stop("replay");
    if (ind_instance_check(w->instance)) stop("replay");
    return (ind__now_ms() - start) * 1000 / count;
}

static bool same_outputs(const mode *a, const mode *b) {
    bool same = true;
    for (int i = 0; i < ind_module_num_bindings(a->module); i++) {
        if (ind_module_query_binding(a->module, i)->kind != IND_BINDING_OUTPUT) continue;
        char *x = malloc(a->bytes[i] + 1), *y = malloc(a->bytes[i] + 1);
        if (!x || !y || ind_module_download(a->module, x, a->pointer[i], a->bytes[i]) ||
            ind_module_download(b->module, y, b->pointer[i], b->bytes[i]))
            stop("download");
        same = same && !memcmp(x, y, a->bytes[i]);
        free(x);
        free(y);
    }
    return same;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static mode modes[MODES];
    const char *sizes = argc > 2 ? argv[2] : NULL;
    bool same = true;
    if (argc < 2) return fputs("usage: launch FILE.ind [SIZES]\n", stderr), 2;
    if (ind_context_create(NULL, &ctx)) return 2;
    char *text = read_text(argv[1]);
    for (int i = 0; i < MODES; i++) {
        compile(&modes[i], text, i == 0);
        bind(&modes[i], sizes);
        capture(&modes[i], sizes);
    }
    int count = (int)(ROUND_US / (replay(&modes[0], 20) + 1)) + 1;
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < MODES; i++) modes[i].us[r] = replay(&modes[i], count);
        same = same && same_outputs(&modes[0], &modes[1]);
    }
    for (int i = 0; i < MODES; i++) qsort(modes[i].us, ROUNDS, sizeof *modes[i].us, ascending);
    double with = modes[0].us[ROUNDS / 2], without = modes[1].us[ROUNDS / 2];
    int launches = ind_module_query_stats(modes[0].module).num_kernels;
    printf("%s %s: %d launches, us of a replay: dependent %.2f, one after another %.2f, ratio %.3f, saved per launch "
           "%.2f%s\n",
           argv[1], sizes ? sizes : "", launches, with, without, with / without,
           (without - with) / (launches > 1 ? launches - 1 : 1), same ? "" : "  DIFFERENT OUTPUTS");
    ind__free(ctx, text);
    ind_context_destroy(ctx);
    return !same;
}
