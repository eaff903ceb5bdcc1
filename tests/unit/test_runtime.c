/* test_runtime.c - the runtime by itself: small programs of loops, made by hand, run on the host device and, where the
   emulated driver is built (build/emulated), on the CUDA path; and every way to use the runtime wrongly. */
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "inductor_runtime.h"

#include "check.h"
#include "system.h"

#if defined(_WIN32)
#define NOT_A_DRIVER "kernel32.dll"
#else
#define NOT_A_DRIVER "libm.so.6"
#endif
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define EMULATED_CUDA  "build/emulated/libcuda.so"
#define EMULATED_NVRTC "build/emulated/libnvrtc.so"

/* The libraries of the CUDA path; both NULL on a real GPU (IND_TEST_DEVICE=cuda). */
static const char *cuda_library = EMULATED_CUDA, *nvrtc_library = EMULATED_NVRTC;

/* ---- small programs */

typedef struct program {
    ind_context *c;
    ind_device device;
    ind__lowered *p;
    ind_expr size[4];
    uint32_t num_sizes, outputs;
    bool ok;
} program;

static program begin(ind_context *c, ind_device device) {
    program g = {.c = c, .device = device, .ok = true};
    g.p = ind__alloc(c, sizeof *g.p);
    if (g.p && ind__lowered_init(g.p, c, NULL)) {
        ind__free(c, g.p);
        g.p = NULL;
    }
    g.ok = g.p != NULL;
    return g;
}

static ind_expr size(program *g, const char *name, int64_t lo, int64_t hi, int64_t multiple) {
    ind_symbol s = {.kind = IND_SYMBOL_SIZE,
                    .slot = (int)g->num_sizes,
                    .name = name,
                    .lo = lo,
                    .hi = hi,
                    .multiple_of = multiple,
                    .hint = lo < multiple ? multiple : lo};
    return g->size[g->num_sizes++] = ind_symbol_expr(g->c, &s);
}

static ind_expr num(program *g, int64_t v) {
    return ind_int(g->c, v);
}

static ind__box *input(program *g, const char *name, ind__buffer_kind kind, ind_dtype d, int rank, ind_expr a,
                       ind_expr b, ind_expr c) {
    ind_expr size[3] = {a, b, c};
    uint32_t n = g->ok ? ind__lowered_input(g->p, name, kind, d, size, rank) : 0;
    ind__box *x = n ? ind__box_buffer(g->p, n) : NULL;
    g->ok = g->ok && x;
    return x;
}
#define INPUT(g, name, d, rank, ...) input((g), (name), IND__BUFFER_INPUT, (d), (rank), __VA_ARGS__)
#define NO                           ((ind_expr){0})

static ind__box *pointwise(program *g, ind_dtype d, int rank, ind_expr a, ind_expr b, ind_expr c, ind_loop_fn fn,
                           void *user) {
    ind_expr size[3] = {a, b, c};
    ind__box *x = g->ok ? ind__box_pointwise(g->p, d, size, rank, fn, user) : NULL;
    g->ok = g->ok && x;
    return x;
}

static ind__box *reduce(program *g, ind_reduction r, ind_dtype d, int rank, ind_expr a, ind_expr b, ind_expr c,
                        ind_expr over, ind_loop_fn fn, ind_loop_fn second, void *user, ind__box **other) {
    ind_expr size[3] = {a, b, c};
    ind__box *results[2] = {NULL, NULL};
    ind__reduction_desc desc = {r, d, size, rank, &over, 1, fn, second, user};
    g->ok = g->ok && !ind__box_reduction(g->p, &desc, results);
    if (other) *other = results[1];
    return results[0];
}

static void output(program *g, ind__box *x, const char *name) {
    g->ok = g->ok && !ind__box_output(g->p, x, name, g->outputs++);
}

static ind_module *compile(program *g) {
    static const char *const origins[] = {"embedding", "add"};
    ind_module *m = NULL;
    ind__module_desc d = {.device = g->device,
                          .lowered = g->p,
                          .name = "g",
                          .sizes = g->size,
                          .num_sizes = g->num_sizes,
                          .origin_name = origins,
                          .num_origins = 2};
    ind_status status = g->ok ? ind__lowered_fix_layouts(g->p) : ind__failed(g->c);
    if (!status) status = ind__schedule_create(g->c, g->p, NULL, NULL, NULL, &d.schedule);
    ind_device device;
    ind_target target = {0};
    if (!status && g->device == IND_DEVICE_CUDA) status = ind__device_resolve(g->c, IND_DEVICE_CUDA, &device, &target);
    if (!status && g->device == IND_DEVICE_CUDA) status = ind__plan_create(g->c, d.schedule, &target, &d.plan);
    if (!status) {
        (void)ind__module_create(g->c, &d, &m); /* takes everything over */
        return m;
    }
    if (d.schedule) ind__schedule_free(d.schedule);
    if (g->p) ind__lowered_free(g->p);
    ind__free(g->c, g->p);
    return NULL;
}

static ind_status run(ind_module *m, const char *sizes, int n, const ind_binding *io) {
    return ind_run(m, &(ind_run_desc){.bindings = io, .num_bindings = n, .sizes = sizes, .memory = IND_MEMORY_HOST});
}

typedef struct operands {
    ind__box *a, *b, *c, *d;
    ind_expr size;
} operands;

static float value(int i) {
    uint32_t h = (uint32_t)i * 2654435761u;
    h ^= h >> 15;
    h *= 2246822519u;
    return (float)(h >> 8 & 0xffff) / 32768.0f - 1.0f;
}

/* ---- pointwise: broadcast, transpose, index values */

static ind_value scaled(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    ind_value x = ind__box_load(o, u->a, i, rank), w = ind__box_load(o, u->b, &i[1], 1);
    return ind_op_add(o, ind_op_mul(o, x, w), ind_op_cast(o, ind_op_index(o, i[0], IND_I64), IND_F32));
}

static ind_value swapped(ind_ops *o, const ind_expr *i, int rank, void *user) {
    ind_expr j[2] = {i[1], i[0]};
    (void)rank;
    return ind__box_load(o, ((operands *)user)->a, j, 2);
}

static ind_module *pointwise_module(ind_context *c, ind_device device) {
    program g = begin(c, device);
    ind_expr rows = size(&g, "B", 0, 64, 1), cols = num(&g, 50);
    operands u = {.a = INPUT(&g, "x", IND_F32, 2, rows, cols, NO),
                  .b = input(&g, "w", IND__BUFFER_CONST, IND_F32, 1, cols, NO, NO)};
    output(&g, pointwise(&g, IND_F32, 2, rows, cols, NO, scaled, &u), "y");
    output(&g, pointwise(&g, IND_F32, 2, cols, rows, NO, swapped, &u), "t");
    return compile(&g);
}

/* The GPU fuses the multiplication with the addition; both roundings are right. */
static int pointwise_errors(const float *x, const float *w, const float *y, const float *t, int rows) {
    int bad = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < 50; j++) {
            float separate = x[i * 50 + j] * w[j] + (float)i, fused = fmaf(x[i * 50 + j], w[j], (float)i);
            bad += (y[i * 50 + j] != separate && y[i * 50 + j] != fused) || t[j * rows + i] != x[i * 50 + j];
        }
    return bad;
}

static void test_pointwise(ind_context *c, ind_device device) {
    ind_module *m = pointwise_module(c, device);
    CHECK(m, "%s", ind_error(c));
    if (!m) return;
    static float x[64 * 50], w[50], y[64 * 50], t[64 * 50];
    for (int i = 0; i < 64 * 50; i++) x[i] = value(i);
    for (int i = 0; i < 50; i++) w[i] = value(i + 9999);
    ind_binding io[] = {{"x", x}, {"w", w}, {"y", y}, {"t", t}};
    const int rows[] = {1, 7, 64};
    for (int k = 0; k < 3; k++) {
        char sizes[16];
        snprintf(sizes, sizeof sizes, "B=%d", rows[k]);
        memset(y, 0, sizeof y);
        memset(t, 0, sizeof t);
        CHECK(!run(m, sizes, 4, io), "%s", ind_error(c));
        CHECK(!pointwise_errors(x, w, y, t, rows[k]), "B=%d", rows[k]);
    }
    ind_binding empty[] = {{"x", NULL}, {"w", w}, {"y", NULL}, {"t", NULL}};
    CHECK(!run(m, "B=0", 4, empty), "%s", ind_error(c));
    CHECK(ind_module_num_bindings(m) == 4 && !strcmp(ind_module_query_binding(m, 1)->name, "w"), "bindings");
    CHECK(!ind_module_query_binding(m, 4) && !ind_module_query_size(m, -1), "no such");
    CHECK(ind_module_query_size(m, 0)->hi == 64, "size");
    ind_module_destroy(m);
}

/* ---- wrong use */

#define CHECK_FAILS(call, want, text)                                                                                  \
    do {                                                                                                               \
        ind_status got_ = (call);                                                                                      \
        CHECK(got_ == (want) && strstr(ind_error(c), (text)), "status %s, \"%s\"", ind_status_text(got_),              \
              ind_error(c));                                                                                           \
    } while (0)

static void test_wrong_use(ind_context *c, ind_device device) {
    ind_module *m = pointwise_module(c, device);
    CHECK(m, "%s", ind_error(c));
    if (!m) return;
    static float x[64 * 50], w[50], y[64 * 50], t[64 * 50];
    ind_binding io[] = {{"x", x}, {"w", w}, {"y", y}, {"t", t}};
    CHECK_FAILS(run(m, "B=5000", 4, io), IND_ERROR_OUT_OF_RANGE,
                "run: B = 5000 is outside [0, 64], as declared for graph \"g\"");
    CHECK_FAILS(run(m, "B=-1", 4, io), IND_ERROR_OUT_OF_RANGE, "B = -1 is outside");
    CHECK_FAILS(run(m, "", 4, io), IND_ERROR_INVALID_ARGUMENT, "size B of graph \"g\" has no value");
    CHECK_FAILS(run(m, NULL, 4, io), IND_ERROR_INVALID_ARGUMENT, "has no value");
    CHECK_FAILS(run(m, "B", 4, io), IND_ERROR_PARSE, "expected NAME=VALUE");
    CHECK_FAILS(run(m, "B=x", 4, io), IND_ERROR_PARSE, "expected an integer");
    CHECK_FAILS(run(m, "B=99999999999999999999", 4, io), IND_ERROR_PARSE, "expected an integer");
    CHECK_FAILS(run(m, "B=1,B=2", 4, io), IND_ERROR_INVALID_ARGUMENT, "given twice");
    CHECK_FAILS(run(m, "B=1, S=2", 4, io), IND_ERROR_NOT_FOUND, "no size \"S\"");
    CHECK_FAILS(run(m, "B=2", 3, io), IND_ERROR_INVALID_ARGUMENT, "output \"t\" f32[50, B] has no binding");
    CHECK_FAILS(run(m, "B=2", 4, NULL), IND_ERROR_INVALID_ARGUMENT, "bindings is NULL");
    CHECK_FAILS(run(m, "B=2", -1, io), IND_ERROR_INVALID_ARGUMENT, "num_bindings is -1");
    ind_binding unknown[] = {{"x", x}, {"w", w}, {"y", y}, {"z", t}};
    CHECK_FAILS(run(m, "B=2", 4, unknown), IND_ERROR_NOT_FOUND, "no input, constant or output \"z\"");
    ind_binding twice[] = {{"x", x}, {"w", w}, {"y", y}, {"y", t}};
    CHECK_FAILS(run(m, "B=2", 4, twice), IND_ERROR_INVALID_ARGUMENT, "output \"y\" f32[B, 50] is bound twice");
    ind_binding null[] = {{"x", NULL}, {"w", w}, {"y", y}, {"t", t}};
    CHECK_FAILS(run(m, "B=2", 4, null), IND_ERROR_INVALID_ARGUMENT, "input \"x\" f32[B, 50] is bound to NULL");
    ind_binding nameless[] = {{NULL, x}, {"w", w}, {"y", y}, {"t", t}};
    CHECK_FAILS(run(m, "B=2", 4, nameless), IND_ERROR_INVALID_ARGUMENT, "binding 0 has no name");
    CHECK_FAILS(ind_run(m, NULL), IND_ERROR_INVALID_ARGUMENT, "desc is NULL");
    CHECK(ind_run(NULL, NULL) == IND_ERROR_INVALID_ARGUMENT, "NULL module");
    CHECK_FAILS(ind_module_constant(m, "v", w, sizeof w, IND_MEMORY_HOST), IND_ERROR_NOT_FOUND, "no constant \"v\"");
    CHECK_FAILS(ind_module_constant(m, "w", w, 3, IND_MEMORY_HOST), IND_ERROR_INVALID_ARGUMENT,
                "needs 200 bytes, 3 were given");
    CHECK_FAILS(ind_module_constant(m, "w", NULL, sizeof w, IND_MEMORY_HOST), IND_ERROR_INVALID_ARGUMENT,
                "data is NULL");
    CHECK_FAILS(ind_module_constant(m, NULL, w, sizeof w, IND_MEMORY_HOST), IND_ERROR_INVALID_ARGUMENT, "name is NULL");
    for (int i = 0; i < 50; i++) w[i] = (float)i;
    CHECK(!ind_module_constant(m, "w", w, sizeof w, IND_MEMORY_HOST), "%s", ind_error(c));
    for (int i = 0; i < 50; i++) x[i] = 1;
    ind_binding without[] = {{"x", x}, {"y", y}, {"t", t}};
    CHECK(!run(m, "B=1", 3, without), "%s", ind_error(c));
    CHECK(y[49] == 49, "constant: %f", y[49]);
    CHECK(!ind_module_constant(m, "w", x, sizeof w, IND_MEMORY_HOST), "%s", ind_error(c));
    CHECK(!run(m, "B=1", 3, without) && y[49] == 1, "replaced constant: %f", y[49]);
    ind_instance *n;
    CHECK_FAILS(ind_instance_create(m, &(ind_instance_desc){.workspace = (char *)x + 4}, &n),
                IND_ERROR_INVALID_ARGUMENT, "aligned to 256");
    CHECK(ind_instance_create(NULL, NULL, &n) == IND_ERROR_INVALID_ARGUMENT, "NULL module");
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    CHECK_FAILS(ind_launch(n, NULL), IND_ERROR_INVALID_ARGUMENT, "desc is NULL");
    CHECK(strstr(ind_instance_error(n), "desc is NULL"), "%s", ind_instance_error(n));
    CHECK_FAILS(ind_replay(n, NULL), IND_ERROR_INVALID_ARGUMENT, "nothing was captured");
    CHECK_FAILS(ind_profile(n, NULL, 0, NULL, 0, NULL, NULL), IND_ERROR_INVALID_ARGUMENT, "repeats is 0");
    CHECK(!ind_captured_graph(n), "no graph");
    CHECK(ind_launch(NULL, NULL) && ind_instance_check(NULL) && ind_replay(NULL, NULL) && ind_capture(NULL, NULL),
          "NULL");
    ind_module_destroy(m); /* takes the instance along */
    ind_module_destroy(NULL);
    ind_instance_destroy(NULL);
}

static void test_multiple_of(ind_context *c) {
    program g = begin(c, IND_DEVICE_HOST);
    ind_expr n = size(&g, "N", 8, INT64_MAX, 8);
    operands u = {.a = INPUT(&g, "x", IND_F32, 2, n, num(&g, 1), NO)};
    output(&g, pointwise(&g, IND_F32, 2, num(&g, 1), n, NO, swapped, &u), "y");
    ind_module *m = compile(&g);
    CHECK(m, "%s", ind_error(c));
    float x[16] = {0}, y[16];
    ind_binding io[] = {{"x", x}, {"y", y}};
    if (m) CHECK_FAILS(run(m, "N=12", 2, io), IND_ERROR_OUT_OF_RANGE, "N = 12 is no multiple of 8");
    if (m) CHECK_FAILS(run(m, "N=4", 2, io), IND_ERROR_OUT_OF_RANGE, "outside [8, inf]");
    if (m) CHECK(!run(m, " N = 16 ", 2, io), "%s", ind_error(c));
    ind_module_destroy(m);
}

/* ---- reductions */

static ind_value load_row(ind_ops *o, const ind_expr *i, int rank, void *user) {
    return ind__box_load(o, ((operands *)user)->a, i, rank);
}

static ind_value softmax_last(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    ind_value x = ind__box_load(o, u->a, i, rank), m = ind__box_load(o, u->b, i, rank - 1);
    return ind_op_div(o, ind_op_exp(o, ind_op_sub(o, x, m)), ind__box_load(o, u->c, i, rank - 1));
}

/* softmax over the last of [B, R]: a pass for the maximum and the sum, and one to write */
static void test_softmax(ind_context *c, ind_device device, int rows, int cols) {
    program g = begin(c, device);
    ind_expr b = size(&g, "B", 1, 4096, 1), r = size(&g, "R", 1, 4096, 1);
    operands u = {.a = INPUT(&g, "x", IND_F32, 2, b, r, NO)};
    u.b = reduce(&g, IND_REDUCE_ONLINE_SOFTMAX, IND_F32, 1, b, NO, NO, r, load_row, NULL, &u, &u.c);
    output(&g, g.ok ? pointwise(&g, IND_F32, 2, b, r, NO, softmax_last, &u) : NULL, "y");
    ind_module *m = compile(&g);
    CHECK(m, "%s", ind_error(c));
    if (!m) return;
    float *x = malloc(sizeof *x * (size_t)(rows * cols)), *y = malloc(sizeof *y * (size_t)(rows * cols));
    for (int i = 0; i < rows * cols; i++) x[i] = value(i) * 20;
    if (cols > 2) x[0] = -INFINITY;
    char sizes[32];
    snprintf(sizes, sizeof sizes, "B=%d,R=%d", rows, cols);
    CHECK(!run(m, sizes, 2, (ind_binding[]){{"x", x}, {"y", y}}), "%s", ind_error(c));
    double worst = 0;
    for (int i = 0; i < rows; i++) {
        double most = -INFINITY, sum = 0;
        for (int j = 0; j < cols; j++) most = fmax(most, x[i * cols + j]);
        for (int j = 0; j < cols; j++) sum += exp(x[i * cols + j] - most);
        for (int j = 0; j < cols; j++) worst = fmax(worst, fabs(exp(x[i * cols + j] - most) / sum - y[i * cols + j]));
    }
    CHECK(worst < 1e-6, "softmax %d x %d: %g", rows, cols, worst);
    free(x);
    free(y);
    ind_module_destroy(m);
}

static ind_value normalised(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    ind_value x = ind__box_load(o, u->a, i, rank), mean = ind__box_load(o, u->b, i, 1);
    ind_value m2 = ind__box_load(o, u->c, i, 1);
    ind_value n = ind_op_cast(o, ind_op_index(o, u->size, IND_I64), IND_F32);
    ind_value scale = ind_op_rsqrt(o, ind_op_add(o, ind_op_div(o, m2, n), ind_op_constant(o, 1e-5, IND_F32)));
    return ind_op_mul(o, ind_op_sub(o, x, mean), scale);
}

static void test_layer_norm(ind_context *c, ind_device device, int rows, int cols) {
    program g = begin(c, device);
    ind_expr b = size(&g, "B", 1, 4096, 1);
    operands u = {.size = num(&g, cols)};
    u.a = INPUT(&g, "x", IND_F32, 2, b, u.size, NO);
    u.b = reduce(&g, IND_REDUCE_WELFORD, IND_F32, 1, b, NO, NO, u.size, load_row, NULL, &u, &u.c);
    output(&g, g.ok ? pointwise(&g, IND_F32, 2, b, u.size, NO, normalised, &u) : NULL, "y");
    ind_module *m = compile(&g);
    CHECK(m, "%s", ind_error(c));
    if (!m) return;
    float *x = malloc(sizeof *x * (size_t)(rows * cols)), *y = malloc(sizeof *y * (size_t)(rows * cols));
    for (int i = 0; i < rows * cols; i++) x[i] = value(i) + 10;
    char sizes[32];
    snprintf(sizes, sizeof sizes, "B=%d", rows);
    CHECK(!run(m, sizes, 2, (ind_binding[]){{"x", x}, {"y", y}}), "%s", ind_error(c));
    double worst = 0;
    for (int i = 0; i < rows; i++) {
        double mean = 0, m2 = 0;
        for (int j = 0; j < cols; j++) mean += x[i * cols + j] / (double)cols;
        for (int j = 0; j < cols; j++) m2 += (x[i * cols + j] - mean) * (x[i * cols + j] - mean);
        for (int j = 0; j < cols; j++)
            worst = fmax(worst, fabs((x[i * cols + j] - mean) / sqrt(m2 / cols + 1e-5) - y[i * cols + j]));
    }
    CHECK(worst < 3e-5, "layer_norm %d x %d: %g", rows, cols, worst);
    free(x);
    free(y);
    ind_module_destroy(m);
}

/* Every reduction of an f32 and an i64 matrix, along its columns (points contiguous) or its rows. */
static ind_value load_column(ind_ops *o, const ind_expr *i, int rank, void *user) {
    ind_expr j[2] = {i[1], i[0]};
    (void)rank;
    return ind__box_load(o, ((operands *)user)->a, j, 2);
}

static ind_value row_is_not_0(ind_ops *o, const ind_expr *i, int rank, void *user) {
    return ind_op_cast(o, load_row(o, i, rank, user), IND_BOOL);
}

static ind_value column_is_not_0(ind_ops *o, const ind_expr *i, int rank, void *user) {
    return ind_op_cast(o, load_column(o, i, rank, user), IND_BOOL);
}

static void test_reductions(ind_context *c, ind_device device, int rows, int cols, bool column) {
    program g = begin(c, device);
    ind_expr r = num(&g, rows), n = num(&g, cols);
    operands f = {.a = INPUT(&g, "f", IND_F32, 2, r, n, NO)}, k = {.a = INPUT(&g, "k", IND_I64, 2, r, n, NO)};
    ind_expr points = column ? n : r, over = column ? r : n;
    static const ind_reduction kinds[] = {IND_REDUCE_SUM, IND_REDUCE_PROD, IND_REDUCE_MAX,
                                          IND_REDUCE_MIN, IND_REDUCE_ANY,  IND_REDUCE_ARGMAX};
    char name[12][16];
    for (int q = 0; q < 12; q++) {
        bool is_float = q < 6;
        ind_reduction kind = kinds[q % 6];
        ind_dtype d = kind == IND_REDUCE_ANY ? IND_BOOL : kind == IND_REDUCE_ARGMAX || !is_float ? IND_I64 : IND_F32;
        snprintf(name[q], sizeof name[q], "o%d", q);
        ind_loop_fn fn = column ? load_column : load_row;
        if (kind == IND_REDUCE_ANY) fn = column ? column_is_not_0 : row_is_not_0;
        output(&g, reduce(&g, kind, d, 1, points, NO, NO, over, fn, NULL, is_float ? &f : &k, NULL), name[q]);
    }
    ind_module *m = compile(&g);
    CHECK(m, "%s", ind_error(c));
    if (!m) return;
    int total = rows * cols, num_points = column ? cols : rows, length = column ? rows : cols;
    float *x = malloc(sizeof *x * (size_t)total);
    int64_t *z = malloc(sizeof *z * (size_t)total);
    for (int i = 0; i < total; i++) {
        x[i] = floorf(value(i) * 8) / 4 + 0.5f; /* many ties */
        z[i] = (int64_t)(value(i + 77) * 5);
    }
    x[total / 2] = NAN;
    static double out[12][4096];
    ind_binding io[14] = {{"f", x}, {"k", z}};
    for (int q = 0; q < 12; q++) io[2 + q] = (ind_binding){name[q], out[q]};
    CHECK(!run(m, NULL, 14, io), "%s", ind_error(c));
    int bad[12] = {0};
    for (int p = 0; p < num_points; p++) {
        double sum = 0, prod = 1, most = -INFINITY, least = INFINITY;
        int64_t isum = 0, iprod = 1, imost = INT64_MIN, ileast = INT64_MAX, at = -1, iat = -1;
        bool any = false, iany = false, nan = false;
        for (int j = 0; j < length; j++) {
            double v = x[column ? j * cols + p : p * cols + j];
            int64_t i = z[column ? j * cols + p : p * cols + j];
            if (at < 0 || (v != v && !nan) || (v > most && !nan)) at = j;
            nan |= v != v;
            sum += v, prod *= v, most = fmax(most, v), least = fmin(least, v), any |= v != 0;
            if (i > imost) iat = j;
            isum += i, iprod = (int64_t)((uint64_t)iprod * (uint64_t)i);
            imost = i > imost ? i : imost, ileast = i < ileast ? i : ileast, iany |= i != 0;
        }
        const float *o[4] = {(float *)out[0], (float *)out[1], (float *)out[2], (float *)out[3]};
        double want[4] = {sum, prod, most, least};
        for (int q = 0; q < 4; q++)
            bad[q] += nan ? o[q][p] == o[q][p] : !(fabs(o[q][p] - want[q]) <= 1e-5 * (1 + fabs(want[q])));
        bad[4] += ((uint8_t *)out[4])[p] != any;
        bad[5] += ((int64_t *)out[5])[p] != at;
        const int64_t iwant[4] = {isum, iprod, imost, ileast};
        for (int q = 0; q < 4; q++) bad[6 + q] += ((int64_t *)out[6 + q])[p] != iwant[q];
        bad[10] += ((uint8_t *)out[10])[p] != iany;
        bad[11] += ((int64_t *)out[11])[p] != iat;
    }
    for (int q = 0; q < 12; q++)
        CHECK(!bad[q], "%s of %s, %d x %d%s: %d wrong", ind__reduction_name(kinds[q % 6]), q < 6 ? "f32" : "i64", rows,
              cols, column ? " by column" : "", bad[q]);
    free(x);
    free(z);
    ind_module_destroy(m);
}

/* ---- matrix products: out[b, m, n] = tanh?(sum over k of a[b, m, k] * w[n, k]) + bias[n] */

static ind_value dot_a(ind_ops *o, const ind_expr *i, int rank, void *user) {
    (void)rank;
    return ind__box_load(o, ((operands *)user)->a, (ind_expr[]){i[0], i[1], i[3]}, 3);
}

static ind_value dot_w(ind_ops *o, const ind_expr *i, int rank, void *user) {
    (void)rank;
    return ind__box_load(o, ((operands *)user)->b, (ind_expr[]){i[2], i[3]}, 2);
}

static ind_value dot_v(ind_ops *o, const ind_expr *i, int rank, void *user) {
    (void)rank;
    return ind__box_load(o, ((operands *)user)->b, (ind_expr[]){i[0], i[3], i[2]}, 3);
}

static ind_value with_bias(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    return ind_op_add(o, ind__box_load(o, u->d, i, rank), ind__box_load(o, u->c, &i[2], 1));
}

static double element(const void *p, ind_dtype d, int64_t at) {
    if (d == IND_F32) return ((const float *)p)[at];
    if (d == IND_F64) return ((const double *)p)[at];
    if (d == IND_BF16) return ind__bf16_to_f32(((const uint16_t *)p)[at]);
    return (double)((const int64_t *)p)[at];
}

static void *fill(ind_dtype d, int64_t count, int seed) {
    unsigned char *p = malloc((size_t)count * 8 + 8);
    for (int64_t i = 0; i < count; i++) {
        float v = value((int)i + seed);
        if (d == IND_F32)
            ((float *)p)[i] = v;
        else if (d == IND_F64)
            ((double *)p)[i] = v;
        else if (d == IND_BF16)
            ((uint16_t *)p)[i] = ind__f32_to_bf16(v);
        else
            ((int64_t *)p)[i] = (int64_t)(v * 100);
    }
    return p;
}

static void test_matmul(ind_context *c, ind_device device, ind_dtype d, int nb, int nm, int nn, int nk, bool batched) {
    program g = begin(c, device);
    ind_expr b = size(&g, "B", 1, 64, 1), m_ = size(&g, "M", 1, 1024, 1), n = num(&g, nn), k = num(&g, nk);
    operands u = {.a = INPUT(&g, "a", d, 3, b, m_, k)};
    u.b = batched ? INPUT(&g, "w", d, 3, b, k, n) : INPUT(&g, "w", d, 2, n, k, NO);
    u.c = INPUT(&g, "bias", d, 1, n, NO, NO);
    u.d = reduce(&g, IND_REDUCE_DOT, d, 3, b, m_, n, k, dot_a, batched ? dot_v : dot_w, &u, NULL);
    output(&g, g.ok ? pointwise(&g, d, 3, b, m_, n, with_bias, &u) : NULL, "y");
    ind_module *m = compile(&g);
    CHECK(m, "%s", ind_error(c));
    if (!m) return;
    CHECK(ind_module_query_stats(m).num_kernels == 1, "%d kernels", ind_module_query_stats(m).num_kernels);
    void *a = fill(d, (int64_t)nb * nm * nk, 1), *w = fill(d, (int64_t)(batched ? nb : 1) * nn * nk, 2);
    void *bias = fill(d, nn, 3), *y = fill(d, (int64_t)nb * nm * nn, 4);
    char sizes[32];
    snprintf(sizes, sizeof sizes, "B=%d,M=%d", nb, nm);
    ind_binding io[] = {{"a", a}, {"w", w}, {"bias", bias}, {"y", y}};
    CHECK(!run(m, sizes, 4, io), "%s", ind_error(c));
    double worst = 0;
    for (int i = 0; i < nb * nm * nn; i++) {
        int col = i % nn, row = i / nn, batch = row / nm;
        double sum = 0;
        for (int q = 0; q < nk; q++)
            sum += element(a, d, (int64_t)row * nk + q) *
                   element(w, d, batched ? ((int64_t)batch * nk + q) * nn + col : (int64_t)col * nk + q);
        if (d == IND_BF16) sum = ind__bf16_to_f32(ind__f32_to_bf16((float)sum));
        double want = sum + element(bias, d, col), got = element(y, d, i);
        if (!(fabs(got - want) <= worst * (1 + fabs(want)))) worst = fabs(got - want) / (1 + fabs(want));
    }
    double most = d == IND_F32 ? 2e-5 : d == IND_F64 ? 1e-12 : d == IND_BF16 ? 2e-2 : 0;
    CHECK(worst <= most, "matmul %s [%d, %d, %d] x %d%s: %g", ind_dtype_name(d), nb, nm, nn, nk,
          batched ? " batched" : "", worst);
    free(a);
    free(w);
    free(bias);
    free(y);
    ind_module_destroy(m);
}

/* ---- gather, with an index that is outside */

static ind_value gathered(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    (void)rank;
    ind_expr row = ind_op_indirect(o, ind__box_load(o, u->b, i, 1), u->size, false);
    return ind__box_load(o, u->a, (ind_expr[]){row, i[1]}, 2);
}

static ind_module *gather_module(ind_context *c, ind_device device, bool with_sum) {
    program g = begin(c, device);
    ind_expr n = size(&g, "N", 1, 4096, 1), width = num(&g, 40);
    operands u = {.size = num(&g, 100)};
    u.a = INPUT(&g, "table", IND_F32, 2, u.size, width, NO);
    u.b = INPUT(&g, "ids", IND_I64, 1, n, NO, NO);
    ind__box *y = with_sum ? reduce(&g, IND_REDUCE_SUM, IND_F32, 1, n, NO, NO, width, gathered, NULL, &u, NULL)
                           : pointwise(&g, IND_F32, 2, n, width, NO, gathered, &u);
    output(&g, y, "y");
    return compile(&g);
}

static void test_gather(ind_context *c, ind_device device, bool with_sum) {
    ind_module *m = gather_module(c, device, with_sum);
    CHECK(m, "%s", ind_error(c));
    if (!m) return;
    static float table[4000], y[300 * 40];
    static int64_t ids[300];
    for (int i = 0; i < 4000; i++) table[i] = value(i);
    for (int i = 0; i < 300; i++) ids[i] = i * 7 % 100;
    ind_binding io[] = {{"table", table}, {"ids", ids}, {"y", y}};
    CHECK(!run(m, "N=300", 3, io), "%s", ind_error(c));
    int bad = 0;
    for (int i = 0; i < 300; i++) {
        double sum = 0;
        for (int j = 0; j < 40; j++) sum += table[ids[i] * 40 + j];
        if (with_sum) bad += fabs(y[i] - sum) > 1e-5;
        for (int j = 0; j < 40 && !with_sum; j++) bad += y[i * 40 + j] != table[ids[i] * 40 + j];
    }
    CHECK(!bad, "%d wrong", bad);
    ids[123] = 40000;
    CHECK_FAILS(run(m, "N=300", 3, io), IND_ERROR_INDEX_OUT_OF_RANGE,
                "embedding: index 40000 is outside [0, 100) (kernel ");
    ids[123] = -1;
    CHECK_FAILS(run(m, "N=300", 3, io), IND_ERROR_INDEX_OUT_OF_RANGE, "index -1 is outside");
    if (device == IND_DEVICE_HOST) {
        ind_instance *n;
        CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
        void *const p[] = {table, ids, y};
        ind_launch_desc d = {.pointers = p, .sizes_v = (int64_t[]){300}};
        CHECK(!ind_launch(n, &d), "a bad index shows up at the check only");
        CHECK(ind_instance_check(n) == IND_ERROR_INDEX_OUT_OF_RANGE, "%s", ind_instance_error(n));
        CHECK(!ind_instance_check(n), "reported once");
        ids[123] = 5;
        CHECK(!ind_launch(n, &d) && !ind_instance_check(n), "%s", ind_instance_error(n));
        ind_instance_destroy(n);
    }
    ind_module_destroy(m);
}

/* ---- instances: capture, replay, profile, several threads */

static void test_replay(ind_context *c) {
    ind_module *m = pointwise_module(c, IND_DEVICE_HOST);
    CHECK(m, "%s", ind_error(c));
    if (!m) return;
    static float x[64 * 50], w[50], y[64 * 50], t[64 * 50];
    ind_instance *n;
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    void *const p[] = {x, w, y, t};
    ind_launch_desc d = {.pointers = p, .sizes_v = (int64_t[]){64}};
    CHECK(!ind_capture(n, &d), "%s", ind_instance_error(n));
    for (int i = 0; i < 64 * 50; i++) x[i] = value(i);
    for (int i = 0; i < 50; i++) w[i] = value(i + 9);
    CHECK(!ind_replay(n, NULL) && !pointwise_errors(x, w, y, t, 64), "%s", ind_instance_error(n));
    ind_kernel_time times[4];
    int num_times = 0;
    double total = -1;
    CHECK(!ind_profile(n, &d, 3, times, 4, &num_times, &total), "%s", ind_instance_error(n));
    CHECK(num_times == ind_module_query_stats(m).num_kernels && total >= 0, "%d kernels in %f ms", num_times, total);
    CHECK(times[0].bytes_written > 0 && times[0].name, "bytes");
    ind_instance_destroy(n);
    ind_module_destroy(m);
}

typedef struct thread_job {
    ind_module *m;
    int seed, bad;
} thread_job;

static void *thread_main(void *arg) {
    thread_job *j = arg;
    float x[32 * 50], w[50], y[32 * 50], t[32 * 50];
    for (int i = 0; i < 32 * 50; i++) x[i] = value(i + j->seed);
    for (int i = 0; i < 50; i++) w[i] = value(i + j->seed * 3);
    for (int k = 0; k < 20; k++) {
        memset(y, 0, sizeof y);
        ind_binding io[] = {{"x", x}, {"w", w}, {"y", y}, {"t", t}};
        j->bad += run(j->m, "B=32", 4, io) != IND_OK || pointwise_errors(x, w, y, t, 32);
    }
    return NULL;
}

static void test_threads(ind_context *c) {
    ind_module *m = pointwise_module(c, IND_DEVICE_HOST);
    CHECK(m, "%s", ind_error(c));
    if (!m) return;
    pthread_t thread[4];
    thread_job job[4];
    for (int i = 0; i < 4; i++) {
        job[i] = (thread_job){m, i * 1000, 0};
        pthread_create(&thread[i], NULL, thread_main, &job[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        CHECK(!job[i].bad, "thread %d: %d runs failed", i, job[i].bad);
    }
    ind_module_destroy(m);
}

/* ---- workspace: a value stored between two kernels */

static ind_value reversed_sum(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    ind_expr back = ind_expr_sub(ind_expr_sub(u->size, ind_int(o->context, 1)), i[0]);
    (void)rank;
    return ind_op_add(o, ind__box_load(o, u->b, &back, 1), ind__box_load(o, u->b, i, 1));
}

static void test_workspace(ind_context *c) {
    program g = begin(c, IND_DEVICE_HOST);
    ind_expr b = size(&g, "B", 1, 4096, 1);
    operands u = {.a = INPUT(&g, "x", IND_F32, 2, b, num(&g, 8), NO), .size = b};
    u.b = reduce(&g, IND_REDUCE_SUM, IND_F32, 1, b, NO, NO, num(&g, 8), load_row, NULL, &u, NULL);
    output(&g, g.ok ? pointwise(&g, IND_F32, 1, b, NO, NO, reversed_sum, &u) : NULL, "y");
    ind_module *m = compile(&g);
    CHECK(m, "%s", ind_error(c));
    if (!m) return;
    static float x[1024 * 8], y[1024];
    for (int i = 0; i < 1024 * 8; i++) x[i] = (float)(i / 8);
    static _Alignas(256) unsigned char space[512];
    ind_instance *n;
    void *const p[] = {x, y};
    CHECK(!ind_instance_create(m, &(ind_instance_desc){.workspace = space, .workspace_bytes = sizeof space}, &n), "%s",
          ind_error(c));
    CHECK(!ind_launch(n, &(ind_launch_desc){.pointers = p, .sizes = "B=100"}), "%s", ind_instance_error(n));
    CHECK(y[0] == 99 * 8 && y[99] == 99 * 8, "%f", y[0]);
    CHECK_FAILS(ind_launch(n, &(ind_launch_desc){.pointers = p, .sizes = "B=1000"}), IND_ERROR_OUT_OF_MEMORY,
                "needs a workspace of 4096 bytes, it was given 512");
    CHECK(!ind_launch(n, &(ind_launch_desc){.pointers = p, .sizes = "B=2"}) && y[1] == 8, "%s", ind_instance_error(n));
    ind_instance_destroy(n);
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    for (int k = 1; k < 1024; k *= 3) {
        char sizes[16];
        snprintf(sizes, sizeof sizes, "B=%d", k);
        CHECK(!ind_launch(n, &(ind_launch_desc){.pointers = p, .sizes = sizes}), "%s", ind_instance_error(n));
        CHECK(y[0] == (float)((k - 1) * 8), "%f", y[0]);
    }
    ind_module_destroy(m);
}

/* ---- faults */

/* Makes, runs and destroys with allocation `fail_at` failing; returns whether all went well. */
static bool run_all(check_heap *heap, long fail_at, ind_device device, const char *pack, int which) {
    *heap = (check_heap){.fail_at = fail_at};
    ind_context_desc desc = {.allocator = {check_alloc, check_free, heap}, .num_threads = 2};
    desc.pack.path = pack;
    if (device == IND_DEVICE_CUDA) {
        desc.cuda.library_path = cuda_library;
        desc.cuda.nvrtc_path = nvrtc_library;
    }
    ind_context *c;
    if (ind_context_create(&desc, &c)) return false;
    static float x[100 * 40], w[50], y[64 * 50], t[64 * 50];
    static int64_t ids[64];
    ind_module *m = which == 0 ? pointwise_module(c, device) : gather_module(c, device, true);
    bool ok = m != NULL;
    ind_binding io[] = {{"x", x}, {"w", w}, {"y", y}, {"t", t}};
    ind_binding ids_io[] = {{"table", x}, {"ids", ids}, {"y", y}};
    if (ok && which == 0) ok = !ind_module_constant(m, "w", w, sizeof w, IND_MEMORY_HOST) && !run(m, "B=3", 4, io);
    if (ok && which == 1) ok = !run(m, "N=64", 3, ids_io);
    ind_instance *n = NULL;
    if (ok) ok = !ind_instance_create(m, NULL, &n);
    if (ok && device == IND_DEVICE_HOST && which == 0) {
        void *const p[] = {x, NULL, y, t};
        ok = !ind_launch(n, &(ind_launch_desc){.pointers = p, .sizes_v = (int64_t[]){9}}) && !ind_instance_check(n);
    }
    if (ok && device == IND_DEVICE_CUDA) ok = !ind__build_cubins(m);
    if (ok)
        ok = !ind_pack_save(c, "build/test_runtime.indpack") && !ind_pack_load(c, "build/test_runtime.indpack", NULL);
    if (!ok) CHECK(ind_error(c)[0] && ind_error_status(c), "a failure without a message");
    ind_context_destroy(c);
    return ok;
}

static void test_allocations(ind_device device, int which) {
    check_heap heap;
    CHECK(run_all(&heap, 0, device, NULL, which), "runs");
    CHECK(heap.live == 0, "%ld blocks leak", heap.live);
    long total = heap.calls, survived = 0;
    for (long k = 1; k <= total; k++) {
        survived += run_all(&heap, k, device, NULL, which);
        if (heap.live) {
            CHECK(false, "allocation %ld of %ld fails: %ld blocks leak", k, total, heap.live);
            return;
        }
    }
    CHECK(survived < total / 4, "%ld of %ld failed allocations went unnoticed", survived, total);
}

/* ---- libraries, NVRTC, pack */

static void test_missing_libraries(void) {
    ind_context *c;
    ind_context_desc desc = {.device = IND_DEVICE_CUDA};
    desc.cuda.library_path = "/nowhere/libcuda.so";
    desc.cuda.nvrtc_path = "/nowhere/libnvrtc.so";
    CHECK(!ind_context_create(&desc, &c), "context");
    CHECK_FAILS(ind_device_open(c, IND_DEVICE_CUDA), IND_ERROR_LIBRARY,
                "cuda: no driver library: tried /nowhere/libcuda.so; IND_DEVICE_HOST runs without one");
    void *out;
    size_t bytes;
    ind_target target = {.sm = 90};
    CHECK_FAILS(ind__nvrtc_compile(c, "", "k", &target, false, &out, &bytes), IND_ERROR_LIBRARY,
                "nvrtc: no library: tried /nowhere/libnvrtc.so");
    CHECK_FAILS(ind_device_open(c, (ind_device)9), IND_ERROR_INVALID_ARGUMENT, "device 9");
    ind_context_destroy(c);
    desc.device = IND_DEVICE_AUTO;
    CHECK(!ind_context_create(&desc, &c), "context");
    CHECK(!strcmp(ind_device_text(c), "host (no driver library: tried /nowhere/libcuda.so)"), "%s", ind_device_text(c));
    CHECK(!ind_device_open(c, IND_DEVICE_AUTO), "auto falls back to the host: %s", ind_error(c));
    ind_context_destroy(c);
    desc.device = IND_DEVICE_HOST;
    CHECK(!ind_context_create(&desc, &c), "context");
    CHECK(!strcmp(ind_device_text(c), "host (asked for)"), "%s", ind_device_text(c));
    ind_context_destroy(c);
    desc.device = IND_DEVICE_CUDA;
    desc.cuda.library_path = NOT_A_DRIVER;
    CHECK(!ind_context_create(&desc, &c), "context");
    CHECK_FAILS(ind_device_open(c, IND_DEVICE_CUDA), IND_ERROR_LIBRARY, "the driver library has no cuInit");
    ind_context_destroy(c);
    CHECK(ind_device_open(NULL, IND_DEVICE_HOST) && ind_pack_save(NULL, "x"), "NULL context");
}

/* The real NVRTC where there is one (IND_NVRTC_LIBRARY or the usual places). */
static void test_nvrtc(void) {
    ind_context *c;
    CHECK(!ind_context_create(NULL, &c), "context");
    ind_target target;
    CHECK(!ind__target_parse(c, "sm_90a", &target), "%s", ind_error(c));
    void *out = NULL;
    size_t bytes = 0;
    const char *good = "extern \"C\" __global__ void twice(float *x) {\n    x[threadIdx.x] *= 2;\n}\n";
    ind_status status = ind__nvrtc_compile(c, good, "twice", &target, false, &out, &bytes);
    if (status == IND_ERROR_LIBRARY) {
        printf("no NVRTC here: %s\n", ind_error(c));
        ind_context_destroy(c);
        return;
    }
    CHECK(!status && bytes > 100 && !memcmp(out, "\177ELF", 4), "%s", ind_error(c));
    ind__free(c, out);
    CHECK(!ind__nvrtc_compile(c, good, "twice", &target, true, &out, &bytes), "%s", ind_error(c));
    CHECK(out && strstr(out, ".target sm_90a"), "PTX");
    ind__free(c, out);
    const char *bad = "extern \"C\" __global__ void twice(float *x) {\n    x[0] = nonsense;\n}\n";
    CHECK_FAILS(ind__nvrtc_compile(c, bad, "twice", &target, false, &out, &bytes), IND_ERROR_COMPILE,
                "nvrtc: kernel twice: error at line 2: identifier \"nonsense\" is undefined");
    CHECK(strstr(ind_error(c), "    2      x[0] = nonsense;"), "%s", ind_error(c));
    target.sm = 12345;
    CHECK(ind__nvrtc_compile(c, good, "twice", &target, false, &out, &bytes) == IND_ERROR_COMPILE && !out, "%s",
          ind_error(c));
    ind_context_destroy(c);
}

/* A signature in the place of one by a library: the hash of the bytes. */
typedef struct signature {
    uint64_t hash;
    int calls;
} signature;

static bool is_signed(const char *path, const void *data, size_t bytes, void *user) {
    signature *s = user;
    s->calls += strstr(path, "indpack") != NULL;
    return ind__hash(data, bytes, 1) == s->hash;
}

/* A pack that the callback refuses is not used. */
static void test_signed_pack(const char *path) {
    char *data;
    size_t bytes;
    for (int good = 0; good < 2; good++) {
        signature s = {0};
        ind_context *c;
        CHECK(!ind_context_create(NULL, &c) && !ind__read_file(c, path, &data, &bytes), "the pack");
        s.hash = ind__hash(data, bytes, 1) + !good;
        ind__free(c, data);
        ind_context_destroy(c);
        ind_context_desc desc = {.device = IND_DEVICE_CUDA, .cuda = {.library_path = EMULATED_CUDA, .nvrtc_path = EMULATED_NVRTC}, .pack = {.path = path, .verify = is_signed, .user = &s}};
        CHECK(!ind_context_create(&desc, &c), "context");
        ind_module *m = pointwise_module(c, IND_DEVICE_CUDA);
        CHECK(m && (ind_module_query_stats(m).num_from_pack > 0) == good && s.calls == 1, "%d calls, %s", s.calls, ind_error(c));
        const ind_status status = ind_pack_load(c, path, NULL);
        CHECK(good ? !status : status == IND_ERROR_INVALID_ARGUMENT && strstr(ind_error(c), "pack.verify refuses it"), "%s", ind_error(c));
        ind_context_destroy(c);
    }
}

static int pack_misses(const char *pack) {
    ind_context *c;
    ind_context_desc desc = {.device = IND_DEVICE_CUDA};
    desc.cuda.library_path = cuda_library;
    desc.cuda.nvrtc_path = nvrtc_library;
    desc.pack.path = pack;
    if (ind_context_create(&desc, &c)) return -1;
    ind_module *m = pointwise_module(c, IND_DEVICE_CUDA);
    CHECK(m, "%s", ind_error(c));
    ind_module_stats s = ind_module_query_stats(m);
    static float x[7 * 50], w[50], y[7 * 50], t[7 * 50];
    for (int i = 0; i < 7 * 50; i++) x[i] = value(i);
    for (int i = 0; i < 50; i++) w[i] = value(i + 5);
    ind_binding io[] = {{"x", x}, {"w", w}, {"y", y}, {"t", t}};
    CHECK(m && !run(m, "B=7", 4, io) && !pointwise_errors(x, w, y, t, 7), "%s", ind_error(c));
    ind_module *again = pointwise_module(c, IND_DEVICE_CUDA);
    CHECK(again && ind_module_query_stats(again).num_from_pack == s.num_sources, "a second module compiles nothing");
    CHECK(!ind_pack_save(c, "build/test_runtime.indpack"), "%s", ind_error(c));
    ind_context_destroy(c);
    return s.num_sources - s.num_from_pack;
}

static void test_pack(void) {
    const char *path = "build/test_runtime.indpack", *damaged = "build/test_runtime_damaged.indpack";
    remove(path);
    int all = pack_misses(path);
    CHECK(all > 0, "without a pack everything is compiled");
    CHECK(pack_misses(path) == 0, "the pack holds everything");
    test_signed_pack(path);
    struct stat st;
    CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0600, "the pack is private");
    ind_context *c;
    CHECK(!ind_context_create(NULL, &c), "context");
    char *data;
    size_t bytes;
    CHECK(!ind__read_file(c, path, &data, &bytes), "%s", ind_error(c));
    CHECK_FAILS(ind_pack_save(c, "/nowhere/pack"), IND_ERROR_IO, "/nowhere/pack: cannot be written");
    CHECK_FAILS(ind_pack_save(c, NULL), IND_ERROR_INVALID_ARGUMENT, "path is NULL");
    /* header; the target, which is the device's, so that nothing is missing without it; the first entry; the last */
    const size_t target = 24, entry = target + sizeof(rt__pack_target);
    const size_t flips[] = {0, 8, 16, 20, target, target + 40, entry, entry + 20, entry + 60, entry + 200, bytes - 9};
    for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
        data[flips[i]] ^= 0x40;
        CHECK(!ind__write_file(c, damaged, data, bytes), "%s", ind_error(c));
        data[flips[i]] ^= 0x40;
        int misses = pack_misses(damaged);
        const bool in_target = flips[i] >= target && flips[i] < entry;
        CHECK(in_target ? !misses : misses > 0, "byte %zu damaged: %d compiled again", flips[i], misses);
    }
    const size_t cuts[] = {0, 5, 16, 50, bytes / 2, bytes - 20};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        CHECK(!ind__write_file(c, damaged, data, cuts[i]), "%s", ind_error(c));
        CHECK(pack_misses(damaged) > 0, "cut to %zu bytes", cuts[i]);
    }
    ind__free(c, data);
    CHECK_FAILS(ind__read_file(c, "/nowhere/file", &data, &bytes), IND_ERROR_IO, "/nowhere/file: cannot be opened");
    CHECK(ind__read_file(c, "/", &data, &bytes) == IND_ERROR_IO && !data, "a folder");
    ind_context_destroy(c);
    remove(path);
    remove(damaged);
}

/* What a refused kernel says: a cubin needs a driver of the same major version, PTX one of the same version. */
static void test_refused_kernels(ind_context *c) {
    static const struct {
        const char *arch;
        int nvrtc, driver;
        const char *says; /* NULL: nothing of versions */
    } cases[] = {{"sm_90a", 1301, 13000, NULL},
                 {"sm_90a", 1300, 12080, "needs a driver of CUDA 13.0; this one is of CUDA 12.8"},
                 {"compute_80", 1301, 13000, "needs a driver of CUDA 13.1; this one is of CUDA 13.0"},
                 {"compute_80", 1300, 13000, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rt__runtime r = {.driver.version = cases[i].driver};
        ind__kernel_entry e = {.nvrtc_version = cases[i].nvrtc};
        snprintf(e.arch, sizeof e.arch, "%s", cases[i].arch);
        const ind_status status = rt__cuda_refused(c, &r, &e, ind__fail(c, IND_ERROR_DEVICE, "refused"));
        CHECK(status == IND_ERROR_DEVICE && !strncmp(ind_error(c), "refused", 7), "%s", ind_error(c));
        CHECK(!strstr(ind_error(c), "driver of CUDA") == !cases[i].says, "%s", ind_error(c));
        CHECK(!cases[i].says || strstr(ind_error(c), cases[i].says), "%s", ind_error(c));
    }
}

/* ---- the CUDA path on the emulated driver */

static void test_cuda_instance(ind_context *c) {
    ind_module *m = pointwise_module(c, IND_DEVICE_CUDA);
    CHECK(m, "%s", ind_error(c));
    rt__runtime *r = c->runtime;
    if (!m || rt__cuda_enter(c, r)) return;
    static float x[64 * 50], w[50], y[64 * 50], t[64 * 50];
    for (int i = 0; i < 64 * 50; i++) x[i] = value(i);
    for (int i = 0; i < 50; i++) w[i] = value(i + 9);
    rt__cuda_ptr p[4];
    const size_t bytes[4] = {sizeof x, sizeof w, sizeof y, sizeof t};
    for (int i = 0; i < 4; i++) CHECK(!r->driver.cuMemAlloc_v2(&p[i], bytes[i]), "memory");
    r->driver.cuMemcpyHtoDAsync_v2(p[0], x, sizeof x, NULL);
    r->driver.cuMemcpyHtoDAsync_v2(p[1], w, sizeof w, NULL);
    void *pointers[4];
    for (int i = 0; i < 4; i++) pointers[i] = (void *)(uintptr_t)p[i];
    ind_instance *n;
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    ind_launch_desc d = {.pointers = pointers, .sizes_v = (int64_t[]){64}};
    CHECK(!ind_launch(n, &d) && !ind_instance_check(n), "%s", ind_instance_error(n));
    r->driver.cuMemcpyDtoHAsync_v2(y, p[2], sizeof y, NULL);
    r->driver.cuMemcpyDtoHAsync_v2(t, p[3], sizeof t, NULL);
    r->driver.cuStreamSynchronize(NULL);
    CHECK(!pointwise_errors(x, w, y, t, 64), "launch");
    CHECK(!ind_capture(n, &d) && ind_captured_graph(n), "%s", ind_instance_error(n));
    r->driver.cuMemsetD8Async(p[2], 0, sizeof y, NULL);
    CHECK(!ind_replay(n, NULL) && !ind_instance_check(n), "%s", ind_instance_error(n));
    memset(y, 0, sizeof y);
    r->driver.cuMemcpyDtoHAsync_v2(y, p[2], sizeof y, NULL);
    r->driver.cuStreamSynchronize(NULL);
    CHECK(!pointwise_errors(x, w, y, t, 64), "replay");
    ind_kernel_time times[4];
    int num_times;
    double total = -1;
    CHECK(!ind_profile(n, &d, 2, times, 4, &num_times, &total) && total >= 0, "%s", ind_instance_error(n));
    for (int i = 0; i < 4; i++) r->driver.cuMemFree_v2(p[i]);
    rt__cuda_leave(r);
    void *current = c;
    CHECK(!ind_instance_check(n), "%s", ind_instance_error(n));
    int device;
    CHECK(r->driver.cuCtxGetDevice(&device) != 0 || current, "the caller's context stays as it was");
    ind_module_destroy(m);
}

/* Every driver and NVRTC call fails in turn. */
static void test_driver_faults(int which) {
    void *cuda = system_library(EMULATED_CUDA), *nvrtc = system_library(EMULATED_NVRTC);
    CHECK(cuda && nvrtc, "%s and %s cannot be opened", EMULATED_CUDA, EMULATED_NVRTC);
    if (!cuda || !nvrtc) return;
    void *const library[2] = {cuda, nvrtc};
    for (int k = 0; k < 2; k++) {
        void *symbol = system_symbol(library[k], "ind_emulation_fail");
        void (*fail)(const char *);
        memcpy(&fail, &symbol, sizeof fail);
        int at = 1, survived = 0;
        for (; at < 500; at++) {
            char spec[32];
            snprintf(spec, sizeof spec, "any:%d", at);
            fail(spec);
            check_heap heap;
            bool ok = run_all(&heap, 0, IND_DEVICE_CUDA, NULL, which);
            CHECK(!heap.live, "call %d fails: %ld blocks leak", at, heap.live);
            survived = ok ? survived + 1 : 0;
            if (survived > 40) break; /* past the last call */
        }
        fail("");
        CHECK(at < 500 && at > 45, "%d calls", at);
    }
}

static void test_cuda(void) {
    struct stat st;
    const char *device = getenv("IND_TEST_DEVICE");
    bool real = device && !strcmp(device, "cuda");
    if (real) cuda_library = nvrtc_library = NULL;
    if (!real && (stat(EMULATED_CUDA, &st) || stat(EMULATED_NVRTC, &st))) {
        printf("no emulated driver in build/emulated: the CUDA path is not tested\n");
        return;
    }
    ind_context *c;
    ind_context_desc desc = {.device = IND_DEVICE_CUDA};
    desc.cuda.library_path = cuda_library;
    desc.cuda.nvrtc_path = nvrtc_library;
    CHECK(!ind_context_create(&desc, &c), "context");
    CHECK(strstr(ind_device_text(c), "cuda: ") && strstr(ind_device_text(c), "sm_90a"), "%s", ind_device_text(c));
    test_pointwise(c, IND_DEVICE_CUDA);
    test_wrong_use(c, IND_DEVICE_CUDA);
    test_softmax(c, IND_DEVICE_CUDA, 5, 70);
    test_layer_norm(c, IND_DEVICE_CUDA, 3, 384);
    test_reductions(c, IND_DEVICE_CUDA, 3, 70, false);
    test_reductions(c, IND_DEVICE_CUDA, 70, 5, true);
    test_matmul(c, IND_DEVICE_CUDA, IND_F32, 2, 33, 40, 50, false);
    test_matmul(c, IND_DEVICE_CUDA, IND_BF16, 2, 33, 40, 50, false);
    test_matmul(c, IND_DEVICE_CUDA, IND_F64, 2, 9, 10, 30, true);
    test_gather(c, IND_DEVICE_CUDA, true);
    test_gather(c, IND_DEVICE_CUDA, false);
    test_cuda_instance(c);
    ind_context_destroy(c);
    test_pack();
    test_allocations(IND_DEVICE_CUDA, 1);
    if (real) return;
    test_driver_faults(0);
    test_driver_faults(1);
}

static void test_host(int num_threads) {
    ind_context *c;
    CHECK(!ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST, .num_threads = num_threads}, &c),
          "context");
    test_pointwise(c, IND_DEVICE_HOST);
    test_wrong_use(c, IND_DEVICE_HOST);
    test_multiple_of(c);
    test_softmax(c, IND_DEVICE_HOST, 3, 1);
    test_softmax(c, IND_DEVICE_HOST, 70, 300);
    test_softmax(c, IND_DEVICE_HOST, 3, 1000);
    test_softmax(c, IND_DEVICE_HOST, 1000, 3);
    test_layer_norm(c, IND_DEVICE_HOST, 10, 384);
    test_layer_norm(c, IND_DEVICE_HOST, 1000, 5);
    test_layer_norm(c, IND_DEVICE_HOST, 1, 4000);
    test_reductions(c, IND_DEVICE_HOST, 3, 700, false);
    test_reductions(c, IND_DEVICE_HOST, 700, 3, false);
    test_reductions(c, IND_DEVICE_HOST, 4, 700, true);
    test_reductions(c, IND_DEVICE_HOST, 700, 4, true);
    static const ind_dtype types[] = {IND_F32, IND_F64, IND_I64, IND_BF16};
    for (int t = 0; t < 4; t++) {
        test_matmul(c, IND_DEVICE_HOST, types[t], 1, 1, 5, 7, false);
        test_matmul(c, IND_DEVICE_HOST, types[t], 2, 33, 100, 300, false);
        test_matmul(c, IND_DEVICE_HOST, types[t], 3, 17, 31, 64, true);
        test_matmul(c, IND_DEVICE_HOST, types[t], 1, 300, 3, 20, true);
    }
    test_matmul(c, IND_DEVICE_HOST, IND_F32, 1, 300, 200, 600, false);
    test_matmul(c, IND_DEVICE_HOST, IND_F32, 1, 1, 1, 1000, false);
    test_gather(c, IND_DEVICE_HOST, true);
    test_gather(c, IND_DEVICE_HOST, false);
    test_replay(c);
    test_refused_kernels(c);
    test_threads(c);
    test_workspace(c);
    ind_context_destroy(c);
}

#ifndef _WIN32
static void count_line(int level, const char *text, void *user) {
    *(int *)user += level == 1 && strstr(text, "IND_DEVICE=gpu is none of host, cuda, auto") != NULL;
}

/* An unknown IND_DEVICE is a warning, unless the program selects a device itself. */
static void test_unknown_device(void) {
    const char *before = getenv("IND_DEVICE");
    char kept[32] = "";
    if (before) snprintf(kept, sizeof kept, "%s", before);
    setenv("IND_DEVICE", "gpu", 1);
    for (int given = 0; given < 2; given++) {
        int lines = 0;
        ind_context *c = NULL;
        const ind_context_desc desc = {.log = {count_line, &lines},
                                       .device = given ? IND_DEVICE_HOST : (ind_device)0,
                                       .log_level = 1};
        CHECK(!ind_context_create(&desc, &c) && lines == !given, "%d lines", lines);
        ind_context_destroy(c);
    }
    if (before)
        setenv("IND_DEVICE", kept, 1);
    else
        unsetenv("IND_DEVICE");
}
#endif

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifndef _WIN32
    test_unknown_device();
#endif
    test_host(1);
    test_host(3);
    test_allocations(IND_DEVICE_HOST, 0);
    test_allocations(IND_DEVICE_HOST, 1);
    test_missing_libraries();
    test_nvrtc();
    test_cuda();
    return check_summary();
}
