/* Shows one module in several threads: each has an instance of its own, and on a GPU a stream of its own (the driver's
   per-thread stream). No lock is needed. Runs on the GPU if there is one, else on the host. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, LAUNCHES = 50, ROWS = 8, WIDTH = 96, NUM = ROWS * WIDTH };

/* CU_STREAM_PER_THREAD of cuda.h; ignored by the host device. */
#define PER_THREAD_STREAM ((void *)2)

typedef struct worker {
    ind_module *module;
    int number;
    pthread_t thread;
    double error;  /* the largest difference to plain C; infinity: a call failed */
    char why[256]; /* then */
} worker;

static void fill(float *x, int number, int launch) {
    for (int i = 0; i < NUM; i++) x[i] = (float)((i + 1) * (number * 1009 + launch * 31 + 7) % 997) / 200 - 2;
}

/* The largest difference of rows of y to the softmax of those of x. */
static double difference(const float *x, const float *y) {
    double worst = 0;
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int i = 0; i < WIDTH; i++) sum += exp(x[r * WIDTH + i]);
        for (int i = 0; i < WIDTH; i++) worst = fmax(worst, fabs(y[r * WIDTH + i] - exp(x[r * WIDTH + i]) / sum));
    }
    return worst;
}

/* Launches with other values each time. Returns the status of the first call that fails. */
static ind_status launch_all(worker *w, ind_instance *instance, void *const memory[2]) {
    static const int64_t sizes[] = {ROWS};
    const ind_launch_desc launch = {.stream = PER_THREAD_STREAM, .pointers = memory, .sizes_v = sizes};
    ind_status status = IND_OK;
    for (int k = 0; k < LAUNCHES && !status; k++) {
        float x[NUM], y[NUM];
        fill(x, w->number, k);
        status = ind_module_upload(w->module, memory[0], x, sizeof x);
        if (!status) status = ind_launch(instance, &launch);
        if (!status) status = ind_instance_check(instance); /* waits for this thread's stream */
        if (!status) status = ind_module_download(w->module, y, memory[1], sizeof y);
        if (!status) w->error = fmax(w->error, difference(x, y));
    }
    return status;
}

static void *work(void *user) {
    worker *w = user;
    ind_instance *instance = NULL;
    void *memory[2] = {NULL, NULL}; /* x and y, in the order of the bindings */
    ind_status status = ind_instance_create(w->module, NULL, &instance);
    for (int i = 0; i < 2 && !status; i++) status = ind_module_alloc(w->module, NUM * sizeof(float), &memory[i]);
    if (!status) status = launch_all(w, instance, memory);
    if (status) w->error = INFINITY;
    if (status) snprintf(w->why, sizeof w->why, "%s", instance ? ind_instance_error(instance) : "out of memory");
    for (int i = 0; i < 2; i++) ind_module_free(w->module, memory[i]);
    ind_instance_destroy(instance);
    return NULL;
}

static int run(ind_context *ctx) {
    ind_module *m;
    worker workers[THREADS];
    int started = 0, failed = 0;
    ind_graph *g = ind_graph_create(ctx, "rows");
    ind_size(g, "B in [1, 64] hint 8");
    ind_output(g, "y", ind_softmax(ind_input(g, "x", "f32[B, 96]"), -1));
    if (ind_compile(g, NULL, &m)) return fprintf(stderr, "%s\n", ind_error(ctx)), 1;
    for (; started < THREADS; started++) {
        workers[started] = (worker){.module = m, .number = started};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started])) break;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        printf("thread %d: %d launches, largest difference to plain C %.2g %s\n", i, LAUNCHES, workers[i].error,
               workers[i].why);
        failed |= !(workers[i].error < 1e-6);
    }
    return failed || started < THREADS;
}

int main(void) {
    ind_context *ctx;
    if (ind_context_create(NULL, &ctx)) return 1;
    const int failed = run(ctx);
    ind_context_destroy(ctx);
    return failed;
}
