/* Two threads run one module at the same time, each on a stream of its own with an instance of its own, on a GPU or the
   emulation of one (IND_DEVICE=cuda; on the host without streams): kernels whose blocks meet through memory, by words,
   by counters or by looking back, and clusters. Each launch has the bits of the first one, which ran alone.
   test_streams ROUNDS runs longer. */
#include "inductor.h"

#include "check.h"
#include "driver.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = 300001, K = 20001, ROWS = 61, COLS = 300, LONG_ROWS = 3, LENGTH = 100003, THREADS = 2, LAUNCHES = 8 };

static const char text[] = "graph streams {\n"
                           "  size N in [1, 100000000] hint 1000000\n"
                           "  size K in [1, 100000000] hint 1000000\n"
                           "  size R in [1, 100000] hint 64\n"
                           "  size L in [1, 100000] hint 2000\n"
                           "  input x : f32[N]\n"
                           "  input z : f32[K, 5]\n"
                           "  input y : f32[R, 300]\n"
                           "  input w : f32[L, 100003]\n"
                           "  s = sum(x)\n"
                           "  c = sum(z, dim=[0])\n"
                           "  p = cumsum(x, 0)\n"
                           "  m = logsumexp(y, dim=[1])\n"
                           "  f = mean(m)\n"
                           "  l = layer_norm(w, normalized_shape=[100003])\n"
                           "  output s, c, p, f, l\n"
                           "}\n";

enum { X, Z, Y, W, INPUTS, S = INPUTS, C, P, F, L, BINDINGS, OUTPUTS = BINDINGS - INPUTS };
static const size_t count[BINDINGS] = {N, (size_t)K * 5,       ROWS *COLS, (size_t)LONG_ROWS *LENGTH, 1, 5, N,
                                       1, (size_t)LONG_ROWS *LENGTH};
static const int64_t sizes[] = {N, K, ROWS, LONG_ROWS};

static ind_context *context;
static ind_module *module;
static float *host[BINDINGS], *got;
static void *input[INPUTS];

typedef struct worker {
    ind_instance *n;
    void *stream;
    void *output[LAUNCHES][OUTPUTS];
    ind_status status;
} worker;

static ind_status launch(worker *w, int i) {
    void *pointer[BINDINGS];
    memcpy(pointer, input, sizeof input);
    memcpy(&pointer[INPUTS], w->output[i], sizeof w->output[i]);
    const ind_launch_desc desc = {.pointers = pointer, .sizes_v = sizes, .stream = w->stream};
    return ind_launch(w->n, &desc);
}

static void *launch_all(void *arg) {
    worker *w = (worker *)arg;
    for (int i = 0; i < LAUNCHES && !w->status; i++) w->status = launch(w, i);
    return NULL;
}

static bool make(worker *w, const driver *d) {
    bool ok = !ind_instance_create(module, NULL, &w->n) && (!d || !d->cuStreamCreate(&w->stream, 1));
    for (int i = 0; i < LAUNCHES; i++)
        for (int k = 0; k < OUTPUTS && ok; k++)
            ok = !ind_module_alloc(module, count[INPUTS + k] * sizeof(float), &w->output[i][k]);
    CHECK(ok, "%s", ind_error(context));
    return ok;
}

static void drop(worker *w, const driver *d) {
    for (int i = 0; i < LAUNCHES; i++)
        for (int k = 0; k < OUTPUTS; k++) ind_module_free(module, w->output[i][k]);
    ind_instance_destroy(w->n);
    if (d) CHECK(!d->cuStreamDestroy_v2(w->stream), "the stream");
}

/* Not the bits, but that what they are compared with is right. */
static void check_first(void) {
    double sum = 0, mean = 0, row = 0, norm = 0;
    for (int i = 0; i < N; i++) sum += (double)host[X][i];
    for (int r = 0; r < ROWS; r++) {
        row = 0;
        for (int i = 0; i < COLS; i++) row += exp((double)host[Y][r * COLS + i]);
        mean += log(row) / ROWS;
    }
    for (int i = 0; i < LENGTH; i++) norm += (double)host[L][i] * (double)host[L][i];
    CHECK(fabs((double)host[S][0] - sum) < 0.2 && fabs((double)host[P][N - 1] - sum) < 0.2, "%g and %g, not %g",
          (double)host[S][0], (double)host[P][N - 1], sum);
    CHECK(fabs((double)host[F][0] - mean) < 1e-5, "%g, not %g", (double)host[F][0], mean);
    CHECK(fabs(norm / LENGTH - 1) < 1e-3, "%g", norm / LENGTH);
}

static void compare(const worker *w) {
    for (int i = 0; i < LAUNCHES; i++) {
        for (int k = 0; k < OUTPUTS; k++) {
            const size_t bytes = count[INPUTS + k] * sizeof(float);
            bool same = !ind_module_download(module, got, w->output[i][k], bytes);
            CHECK(same && !memcmp(got, host[INPUTS + k], bytes), "launch %d, output %d: other bits", i, k);
            memset(got, 0xff, bytes);
            CHECK(!ind_module_upload(module, w->output[i][k], got, bytes), "%s", ind_error(context));
        }
    }
}

static void run_together(worker *w) {
    pthread_t thread[THREADS];
    for (int t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, launch_all, &w[t]);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    for (int t = 0; t < THREADS; t++) {
        CHECK(!w[t].status && !ind_instance_check(w[t].n), "%s", ind_instance_error(w[t].n));
        compare(&w[t]);
    }
}

static bool prepare(void) {
    bool ok = true;
    for (int b = 0; b < BINDINGS; b++) ok = (host[b] = calloc(count[b], sizeof(float))) != NULL && ok;
    got = malloc(count[L] * sizeof(float));
    for (int b = 0; b < INPUTS && ok; b++)
        for (size_t i = 0; i < count[b]; i++) host[b][i] = (float)(i * 31 % 1009 % 61) / 64 - 0.4f;
    for (int b = 0; b < INPUTS && ok; b++)
        ok = !ind_module_alloc(module, count[b] * sizeof(float), &input[b]) &&
             !ind_module_upload(module, input[b], host[b], count[b] * sizeof(float));
    return ok && got;
}

int main(int argc, char **argv) {
    worker w[THREADS] = {{0}};
    driver d;
    const int asked = argc > 1 ? atoi(argv[1]) : 0, rounds = asked > 0 ? asked : 2;
    if (ind_context_create(NULL, &context)) return 1;
    ind_graph *g = ind_graph_parse(context, text, NULL);
    bool ok = g && !ind_compile(g, NULL, &module) && prepare();
    const bool cuda = ok && ind_module_query_stats(module).device == IND_DEVICE_CUDA;
    CHECK(ok && (!cuda || driver_enter(&d)), "%s", ind_error(context));
    for (int t = 0; t < THREADS && ok; t++) ok = make(&w[t], cuda ? &d : NULL);
    ok = ok && !launch(&w[0], 0) && !ind_instance_check(w[0].n);
    for (int k = 0; k < OUTPUTS && ok; k++)
        ok = !ind_module_download(module, host[INPUTS + k], w[0].output[0][k], count[INPUTS + k] * sizeof(float));
    CHECK(ok, "%s", ind_error(context));
    if (ok) check_first();
    for (int r = 0; r < rounds && ok; r++) run_together(w);
    for (int t = 0; t < THREADS && ok; t++) drop(&w[t], cuda ? &d : NULL);
    if (cuda) CHECK(driver_leave(&d), "the context");
    for (int b = 0; b < INPUTS && ok; b++) ind_module_free(module, input[b]);
    for (int b = 0; b < BINDINGS; b++) free(host[b]);
    free(got);
    ind_context_destroy(context);
    return check_summary();
}
