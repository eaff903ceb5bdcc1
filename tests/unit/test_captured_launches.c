/* Several launches in one captured graph (ind_capture_launches), on the host device or on a GPU or the emulation of one
   (IND_DEVICE=cuda): each launch reads what the one before has written, their sizes differ, and every replay continues
   where the last one ended. */
#include "inductor.h"

#include "check.h"

#include <math.h>
#include <string.h>

#define COLUMNS 24
#define ROWS    70

static const char text[] = "graph step {\n"
                           "  size B in [1, 500] hint 4\n"
                           "  input x : f32[B, 24]\n"
                           "  const w : f32[24, 24]\n"
                           "  p = matmul(x, w)\n"
                           "  y = softmax(p, dim=-1)\n"
                           "  output y\n"
                           "}\n";

static float w[COLUMNS * COLUMNS], start[ROWS * COLUMNS], found[ROWS * COLUMNS];

static void expect_step(const double *x, double *y, int rows) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int j = 0; j < COLUMNS; j++) {
            double p = 0;
            for (int k = 0; k < COLUMNS; k++) p += x[r * COLUMNS + k] * (double)w[k * COLUMNS + j];
            sum += y[r * COLUMNS + j] = exp(p);
        }
        for (int j = 0; j < COLUMNS; j++) y[r * COLUMNS + j] /= sum;
    }
}

/* The largest error of the first rows of `memory`, after so many steps. */
static double error_after(ind_module *m, const void *memory, int steps, int rows) {
    static double x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    double worst = 0;
    for (int i = 0; i < rows * COLUMNS; i++) y[i] = (double)start[i];
    for (int s = 0; s < steps; s++) {
        memcpy(x, y, sizeof x);
        expect_step(x, y, rows);
    }
    if (ind_module_download(m, found, memory, sizeof found)) return INFINITY;
    for (int i = 0; i < rows * COLUMNS; i++) worst = fmax(worst, fabs(y[i] - (double)found[i]));
    return worst;
}

/* Three launches: of 5 rows from a to b, of all rows from b to c, of 3 rows from c to a. */
static void test_three(ind_module *m, ind_instance *n, char **memory) {
    static const int64_t rows[3] = {5, ROWS, 3};
    void *pointers[3][3];
    ind_launch_desc launch[3];
    for (int i = 0; i < 3; i++) {
        pointers[i][0] = memory[i];
        pointers[i][1] = NULL;
        pointers[i][2] = memory[(i + 1) % 3];
        launch[i] = (ind_launch_desc){.pointers = pointers[i], .sizes_v = &rows[i]};
    }
    CHECK(!ind_capture_launches(n, launch, 3), "%s", ind_instance_error(n));
    for (int i = 0; i < 3; i++) CHECK(!ind_module_upload(m, memory[i], start, sizeof start), "upload");
    for (int replay = 1; replay <= 3; replay++) {
        CHECK(!ind_replay(n, NULL) && !ind_instance_check(n), "%s", ind_instance_error(n));
        CHECK(error_after(m, memory[0], 3 * replay, 3) < 1e-5, "replay %d: a", replay);
        CHECK(error_after(m, memory[2], 3 * replay - 1, 3) < 1e-5, "replay %d: c", replay);
    }
    for (int i = 0; i < 3; i++) pointers[i][0] = pointers[i][2] = NULL; /* the capture has its own copies */
    CHECK(!ind_replay(n, NULL) && !ind_instance_check(n), "%s", ind_instance_error(n));
    CHECK(error_after(m, memory[0], 12, 3) < 1e-5, "a, after the arguments were overwritten");
}

static void test_errors(ind_instance *n, char **memory) {
    static const int64_t rows[2] = {5, 501};
    void *pointers[3] = {memory[0], NULL, memory[1]};
    const ind_launch_desc launch[2] = {{.pointers = pointers, .sizes_v = &rows[0]},
                                       {.pointers = pointers, .sizes_v = &rows[1]}};
    CHECK(ind_capture_launches(NULL, launch, 1) == IND_ERROR_INVALID_ARGUMENT, "NULL");
    CHECK(ind_capture_launches(n, NULL, 1) == IND_ERROR_INVALID_ARGUMENT, "no launches");
    CHECK(ind_capture_launches(n, launch, 0) == IND_ERROR_INVALID_ARGUMENT, "0 launches");
    CHECK(strstr(ind_instance_error(n), "at least 1"), "%s", ind_instance_error(n));
    CHECK(!ind_replay(n, NULL), "a refused call leaves the capture");
    CHECK(ind_capture_launches(n, launch, 2) == IND_ERROR_OUT_OF_RANGE, "%s", ind_instance_error(n));
    CHECK(ind_replay(n, NULL) == IND_ERROR_INVALID_ARGUMENT, "half a capture is none");
    CHECK(!ind_capture_launches(n, launch, 1) && !ind_replay(n, NULL) && !ind_instance_check(n), "%s",
          ind_instance_error(n));
}

/* A launch that binds its own constant, from which a prepared one is computed. */
static void test_own_constants(ind_context *c) {
    static const char prepared[] = "graph prepared {\n"
                                   "  input x : f32[5, 24]\n"
                                   "  const w : f32[24, 24]\n"
                                   "  e = softmax(w, dim=0)\n"
                                   "  y = matmul(x, e)\n"
                                   "  output y\n"
                                   "}\n";
    ind_module *m = NULL;
    ind_instance *n = NULL;
    void *memory[3] = {NULL};
    ind_graph *g = ind_graph_parse(c, prepared, NULL);
    bool ok = g && !ind_compile(g, NULL, &m) && !ind_instance_create(m, NULL, &n);
    for (int i = 0; i < 3 && ok; i++) ok = !ind_module_alloc(m, sizeof start, &memory[i]);
    CHECK(ok && !ind_module_upload(m, memory[1], w, sizeof w), "%s", ind_error(c));
    const ind_launch_desc launch[2] = {{.pointers = memory}, {.pointers = memory}};
    if (ok) {
        CHECK(ind_capture_launches(n, launch, 2) == IND_ERROR_NOT_SUPPORTED, "%s", ind_instance_error(n));
        CHECK(strstr(ind_instance_error(n), "ind_capture captures one"), "%s", ind_instance_error(n));
        CHECK(!ind_capture_launches(n, launch, 1) && !ind_replay(n, NULL) && !ind_instance_check(n), "%s",
              ind_instance_error(n));
    }
    for (int i = 0; i < 3 && m; i++) ind_module_free(m, memory[i]);
    ind_module_destroy(m);
}

int main(void) {
    ind_context *c = NULL;
    ind_module *m = NULL;
    ind_instance *n = NULL;
    char *memory[3] = {NULL};
    for (int i = 0; i < COLUMNS * COLUMNS; i++) w[i] = sinf((float)(i * i % 101));
    for (int i = 0; i < ROWS * COLUMNS; i++) start[i] = cosf((float)i);
    CHECK(!ind_context_create(NULL, &c), "context");
    ind_graph *g = ind_graph_parse(c, text, NULL);
    bool ok = g && !ind_compile(g, NULL, &m) && !ind_module_constant(m, "w", w, sizeof w, IND_MEMORY_HOST) &&
              !ind_module_prepare(m) && !ind_instance_create(m, NULL, &n);
    for (int i = 0; i < 3 && ok; i++) ok = !ind_module_alloc(m, sizeof start, (void **)&memory[i]);
    CHECK(ok, "%s", ind_error(c));
    if (ok) {
        test_three(m, n, memory);
        test_errors(n, memory);
        test_own_constants(c);
    }
    for (int i = 0; i < 3 && m; i++) ind_module_free(m, memory[i]);
    ind_context_destroy(c);
    return check_summary();
}
