/* test_custom.c - functions of the user's (CUDA C with a host twin) and extern calls: results against plain C on the host device and,
 * where the emulated driver is built (build/emulated), on the CUDA path; text, schedule, every wrong use, and every allocation failing
 * in turn. */
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#include "inductor.h"

#include "check.h"
#include "system.h"

#include <sys/stat.h>

#define EMULATED_CUDA  "build/emulated/libcuda.so"
#define EMULATED_NVRTC "build/emulated/libnvrtc.so"

static const char *cuda_library = EMULATED_CUDA, *nvrtc_library = EMULATED_NVRTC;

static float value(int i) {
    uint32_t h = (uint32_t)i * 2654435761u;
    h ^= h >> 15;
    h *= 2246822519u;
    return (float)(h >> 8 & 0xffff) / 16384.0f - 2.0f;
}

static void fill(float *x, int n, int seed) {
    for (int i = 0; i < n; i++) x[i] = value(i + seed * 1000);
}

/* ---- the functions */

static double swish_of(double x, double beta) {
    return x / (1 + exp(-beta * x));
}

static ind_element swish(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.f = (float)swish_of(x[0].f, x[1].f)};
}

static ind_element silu(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.f = (float)swish_of(x[0].f, 1)};
}

static ind_element is_above(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.i = x[0].i > x[1].i};
}

static ind_element mix(const ind_element *x, void *user) {
    return (ind_element){.d = x[0].d * (double)x[1].i + (x[2].i ? 1 : -1) * *(const double *)user};
}

static ind_element low_byte(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.i = x[0].i * 3 + x[1].i};
}

static ind_element five(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.f = x[0].f + 2 * x[1].f + 3 * x[2].f + 4 * x[3].f + 5 * x[4].f};
}

static ind_element larger(const ind_element *x, void *user) {
    (void)user;
    return x[3].f > x[4].f ? x[3] : x[4];
}

static double quarter = 0.25;

static const ind_function_desc functions[] = {
    {"swish(x: f32, beta: f32) -> f32", "x / (1.0f + expf(-beta * x))", swish, NULL},
    {"half_silu(x: bf16) -> bf16", "const float e = expf(-x);\nreturn x / (1.0f + e);", silu, NULL},
    {"is_above(x: i32, y: i32) -> bool", "x > y", is_above, NULL},
    {"mix(x: f64, n: i64, up: bool) -> f64", "x * (double)n + (up ? 0.25 : -0.25)", mix, &quarter},
    {"low_byte(x: u8, y: u8) -> u8", "(unsigned char)(x * 3 + y)", low_byte, NULL},
    {"five(a: f32, b: f32, c: f32, d: f32, e: f32) -> f32", "a + 2 * b + 3 * c + 4 * d + 5 * e", five, NULL},
    {"larger(a: f32, b: f32, c: f32, x: f32, y: f32) -> f32", "x > y ? x : y", larger, NULL},
    {"gpu_only(x: f32) -> f32", "x + 1", NULL, NULL},
};

static ind_context *context(ind_device device, bool all) {
    ind_context_desc desc = {.device = device, .num_threads = 2, .verify = 1};
    desc.cuda.library_path = device == IND_DEVICE_CUDA ? cuda_library : NULL;
    desc.cuda.nvrtc_path = device == IND_DEVICE_CUDA ? nvrtc_library : NULL;
    ind_context *c = NULL;
    CHECK(!ind_context_create(&desc, &c), "context");
    for (size_t i = 0; all && i < sizeof functions / sizeof *functions; i++)
        CHECK(!ind_function_register(c, &functions[i]), "%s", ind_error(c));
    return c;
}

/* Compiles and runs a text; how many kernels, or -1. */
static int run_text(ind_context *c, const char *text, const char *sizes, const ind_binding *io, int num) {
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(c, text, NULL);
    ind_run_desc run = {.bindings = io, .num_bindings = num, .sizes = sizes, .memory = IND_MEMORY_HOST};
    bool ok = g && !ind_compile(g, NULL, &m) && !ind_run(m, &run);
    CHECK(ok, "%s\n%s", ind_error(c), text);
    int kernels = m ? ind_module_query_stats(m).num_kernels : -1;
    ind_module_destroy(m);
    ind_graph_destroy(g);
    return ok ? kernels : -1;
}

static void check_near(const float *got, const double *want, int n, double relative, const char *what) {
    int wrong = 0, first = 0;
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= relative * (1 + fabs(want[i]))) && !wrong++) first = i;
    CHECK(!wrong, "%s: %d of %d differ; [%d] is %.9g, should be %.9g", what, wrong, n, first, (double)got[first], want[first]);
}

/* ---- functions: numbers */

static void test_softmax(ind_context *c, int rows) {
    static float x[7 * 70], y[7 * 70];
    static double want[7 * 70];
    char sizes[16];
    fill(x, 7 * 70, 1);
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < 70; i++) sum += exp(swish_of(x[r * 70 + i], 2));
        for (int i = 0; i < 70; i++) want[r * 70 + i] = exp(swish_of(x[r * 70 + i], 2)) / sum;
    }
    snprintf(sizes, sizeof sizes, "B=%d", rows);
    ind_binding io[] = {{"x", x}, {"y", y}};
    int kernels = run_text(c, "graph t {\n size B in [0, 100]\n input x : f32[B, 70]\n h = swish(x, 2)\n y = softmax(h, -1)\n output y\n}", sizes, io, 2);
    CHECK(kernels == 1, "%d kernels for the function and softmax", kernels);
    check_near(y, want, rows * 70, 1e-5, "softmax of a function");
}

static void test_linear(ind_context *c) {
    static float x[33 * 40], w[20 * 40], y[33 * 20];
    static double want[33 * 20];
    fill(x, 33 * 40, 2);
    fill(w, 20 * 40, 3);
    for (int i = 0; i < 33 * 20; i++) {
        double sum = 0;
        for (int k = 0; k < 40; k++) sum += (double)x[i / 20 * 40 + k] * w[i % 20 * 40 + k];
        want[i] = swish_of(sum, 0.5);
    }
    ind_binding io[] = {{"x", x}, {"w", w}, {"y", y}};
    int kernels = run_text(c, "graph t {\n size B in [1, 100]\n input x : f32[B, 40]\n const w : f32[20, 40]\n h = linear(x, w)\n y = swish(beta=0.5, x=h)\n output y\n}",
                           "B=33", io, 3);
    CHECK(kernels == 1, "%d kernels for the product and its epilogue", kernels);
    check_near(y, want, 33 * 20, 1e-4, "epilogue of a product");
}

/* What an operand of a product is computed from, a reduction, a transposed and a sliced operand, broadcasting, 0-d. */
static void test_shapes(ind_context *c) {
    static float x[6 * 10], b[10], s[1] = {0.75f}, sum[6], t[10 * 6], p[6 * 5], all[6 * 4], z[1];
    static double want_sum[6], want_t[60], want_p[30], want_all[24], want_z[1];
    fill(x, 60, 4);
    fill(b, 10, 5);
    for (int i = 0; i < 60; i++) want_t[i] = swish_of(x[i % 6 * 10 + i / 6], b[i / 6]);
    memset(want_sum, 0, sizeof want_sum);
    memset(want_p, 0, sizeof want_p);
    for (int r = 0; r < 6; r++) {
        for (int i = 0; i < 10; i++) want_sum[r] += swish_of(x[r * 10 + i], b[i]);
        for (int j = 0; j < 5; j++)
            for (int i = 0; i < 10; i++) want_p[r * 5 + j] += swish_of(x[r * 10 + i], 1) * x[j * 10 + i];
        for (int i = 0; i < 4; i++)
            want_all[r * 4 + i] = x[r * 10 + 2 + i] + 2 * b[2 + i] + 3 * 0.75 + 4 * x[i] + 5 * 0.5;
    }
    want_z[0] = swish_of(0.75, 0.75);
    ind_binding io[] = {{"x", x}, {"b", b}, {"s", s}, {"sum", sum}, {"t", t}, {"p", p}, {"all", all}, {"z", z}};
    run_text(c,
             "graph t {\n input x : f32[6, 10]\n input b : f32[10]\n input s : f32[]\n"
             " h = swish(x, b)\n sum = sum(h, -1)\n"
             " xt = transpose(x, 0, 1)\n b1 = unsqueeze(b, 1)\n t = swish(xt, b1)\n"
             " a = swish(x, 1)\n x5 = slice(x, 0, 0, 5)\n x5t = transpose(x5, 0, 1)\n p = matmul(a, x5t)\n"
             " xs = slice(x, 1, 2, 6)\n bs = slice(b, 0, 2, 6)\n row = slice(x, 0, 0, 1)\n rows = slice(row, 1, 0, 4)\n all = five(xs, bs, s, rows, 0.5)\n"
             " z = swish(s, s)\n output sum, t, p, all, z\n}",
             NULL, io, 8);
    check_near(sum, want_sum, 6, 1e-5, "sum over a function");
    check_near(t, want_t, 60, 1e-5, "transposed");
    check_near(p, want_p, 30, 1e-4, "operand of a product");
    check_near(all, want_all, 24, 1e-5, "five arguments, sliced");
    check_near(z, want_z, 1, 1e-5, "0-d");
}

static void test_types(ind_context *c) {
    static uint16_t h[300], k[300];
    static int32_t i32[300];
    static uint8_t above[300], u8[300], low[300], up[300];
    static int64_t i64[300];
    static double d[300], m[300];
    for (int i = 0; i < 300; i++) {
        h[i] = ind__f32_to_bf16(value(i));
        i32[i] = i * 7919 % 31 - 15;
        i64[i] = (int64_t)i << 33;
        u8[i] = (uint8_t)(i * 5);
        up[i] = i % 3 == 0;
        d[i] = value(i + 500) / 3;
    }
    ind_binding io[] = {{"h", h}, {"i32", i32}, {"i64", i64}, {"u8", u8}, {"up", up}, {"d", d}, {"k", k}, {"above", above}, {"m", m}, {"low", low}};
    run_text(c,
             "graph t {\n size N in [1, 1000]\n input h : bf16[N]\n input i32 : i32[N]\n input i64 : i64[N]\n input u8 : u8[N]\n input up : bool[N]\n"
             " input d : f64[N]\n k = half_silu(h)\n above = is_above(i32, 3)\n m = mix(d, i64, up)\n low = low_byte(u8, 200)\n output k, above, m, low\n}",
             "N=300", io, 10);
    int wrong[4] = {0};
    for (int i = 0; i < 300; i++) {
        double x = ind__bf16_to_f32(h[i]), want = swish_of(x, 1);
        wrong[0] += !(fabs(ind__bf16_to_f32(k[i]) - want) <= fabs(want) / 256 + 1e-30);
        wrong[1] += above[i] != (i32[i] > 3);
        wrong[2] += m[i] != d[i] * (double)i64[i] + (up[i] ? 0.25 : -0.25);
        wrong[3] += low[i] != (uint8_t)(u8[i] * 3 + 200);
    }
    CHECK(!wrong[0] && !wrong[1] && !wrong[2] && !wrong[3], "wrong: %d bf16, %d bool, %d f64, %d u8", wrong[0], wrong[1], wrong[2], wrong[3]);
}

/* The same by calls, and inside a loop function. */
static ind_value doubled(ind_ops *o, const ind_expr *index, int rank, void *user) {
    ind_value x[2] = {ind_op_load(o, *(ind_tensor *)user, index, rank), ind_op_constant_int(o, 3, IND_I32)};
    return ind_op_add(o, ind_op_call(o, "swish", x, 2), x[0]);
}

static void test_calls(ind_context *c) {
    static float x[50], y[50], z[50];
    static double want_y[50], want_z[50];
    fill(x, 50, 6);
    for (int i = 0; i < 50; i++) want_y[i] = swish_of(x[i], 1.5), want_z[i] = swish_of(x[i], 3) + x[i];
    ind_graph *g = ind_graph_create(c, "t");
    ind_tensor in = ind_input(g, "x", "f32[50]"), args[2] = {in, ind_scalar(g, 1.5)};
    ind_output(g, "y", ind_call(g, "swish", args, 2));
    ind_output(g, "z", ind_pointwise(g, &(ind_loop_desc){.name = "doubled", .like = in, .fn = doubled, .user = &in}));
    ind_module *m = NULL;
    ind_binding io[] = {{"x", x}, {"y", y}, {"z", z}};
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .memory = IND_MEMORY_HOST};
    CHECK(!ind_compile(g, NULL, &m) && !ind_run(m, &run), "%s", ind_error(c));
    check_near(y, want_y, 50, 1e-5, "ind_call");
    check_near(z, want_z, 50, 1e-5, "ind_op_call");
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

/* y[x], and x where y has no element: the index is reported, and nothing is read. */
static ind_value looked_up(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const ind_tensor *x = user;
    ind_expr at = ind_op_indirect(o, ind_op_load(o, x[0], index, rank), ind_tensor_size(x[1], 0), true);
    return ind_op_load(o, x[1], &at, 1);
}

static void test_lookup_of_none(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "t");
    ind_size(g, "N in [0, 8]");
    ind_tensor x[2] = {ind_input(g, "x", "i64[3]"), ind_input(g, "y", "f32[N]")};
    ind_loop_desc d = {.name = "looked_up", .like = x[0], .dtype = IND_F32, .fn = looked_up, .user = x};
    ind_output(g, "z", ind_pointwise(g, &d));
    ind_module *m = NULL;
    int64_t at[3] = {1, -1, 0};
    float y[3] = {4, 5, 6}, z[3];
    ind_binding io[] = {{"x", at}, {"y", y}, {"z", z}};
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .sizes = "N=3", .memory = IND_MEMORY_HOST};
    CHECK(!ind_compile(g, NULL, &m) && !ind_run(m, &run), "%s", ind_error(c));
    CHECK(z[0] == 5 && z[1] == 6 && z[2] == 4, "%g %g %g", (double)z[0], (double)z[1], (double)z[2]);
    run.sizes = "N=0";
    CHECK(m && ind_run(m, &run) == IND_ERROR_INDEX_OUT_OF_RANGE, "%s", ind_error(c));
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

/* As the combine function of a scan. */
static void larger_of(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out, void *user) {
    ind_value one = ind_op_constant(o, 1, IND_F32), x[5] = {one, one, one, left[0], right[0]};
    (void)user;
    out[0] = ind_op_call(o, "larger", x, 5);
}

static void test_scan(ind_context *c) {
    static float x[4 * 300], y[4 * 300];
    static double want[4 * 300];
    fill(x, 1200, 15);
    for (int i = 0; i < 1200; i++) want[i] = i % 300 ? fmax(want[i - 1], x[i]) : x[i];
    ind_graph *g = ind_graph_create(c, "t");
    ind_tensor in = ind_input(g, "x", "f32[4, 300]");
    ind_output(g, "y", ind_associative_scan(g, &(ind_scan_desc){.x = &in, .num = 1, .dim = 1, .combine = larger_of}));
    ind_module *m = NULL;
    ind_binding io[] = {{"x", x}, {"y", y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 2, .memory = IND_MEMORY_HOST};
    CHECK(!ind_compile(g, NULL, &m) && !ind_run(m, &run), "%s", ind_error(c));
    check_near(y, want, 1200, 0, "combine function");
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

/* ---- extern calls */

typedef int (*copy_fn)(unsigned long long to, unsigned long long from, size_t bytes, void *stream);
typedef int (*set_fn)(unsigned long long to, unsigned char value, size_t bytes, void *stream);

static struct calls {
    int num, wrong;
    ind_status fail;
    copy_fn copy;
    set_fn set;
} calls;

static void move(const ind_extern_call *c, void *to, const void *from, int64_t bytes) {
    if (!bytes) return;
    if (c->device == IND_DEVICE_HOST)
        memcpy(to, from, (size_t)bytes);
    else
        calls.wrong += calls.copy((uintptr_t)to, (uintptr_t)from, (size_t)bytes, c->stream) != 0;
}

static void poison(const ind_extern_call *c) {
    if (c->device == IND_DEVICE_HOST)
        memset(c->workspace, 0xff, (size_t)c->workspace_bytes);
    else if (c->workspace_bytes)
        calls.wrong += calls.set((uintptr_t)c->workspace, 0xff, (size_t)c->workspace_bytes, c->stream) != 0;
}

static int64_t bytes_of(const ind_extern_tensor *t) {
    int64_t n = ind_dtype_bytes(t->dtype);
    for (int d = t->rank; d-- > 0;) {
        calls.wrong += t->stride[d] * ind_dtype_bytes(t->dtype) != n;
        n *= t->size[d];
    }
    return n;
}

/* y[i] = x[(i + 1) % rows], and a copy of x, by way of the workspace. */
static ind_status roll(const ind_extern_call *c) {
    calls.num++;
    if (calls.fail) return calls.fail;
    int64_t bytes = bytes_of(&c->input[0]), row = c->input[0].size[0] ? bytes / c->input[0].size[0] : 0;
    calls.wrong += c->num_inputs != 1 || c->num_outputs != 2 || bytes_of(&c->output[0]) != bytes || bytes_of(&c->output[1]) != bytes;
    calls.wrong += strcmp(c->name, "roll") != 0 || c->workspace_bytes != bytes + 40 || (uintptr_t)c->workspace % 256;
    calls.wrong += c->num_sizes != 1 || strcmp(c->size[0].name, "N") != 0 || (c->size_value[0] && c->input[0].size[0] % c->size_value[0]);
    poison(c);
    move(c, c->workspace, c->input[0].data, bytes);
    move(c, c->output[0].data, (char *)c->workspace + row, bytes - row);
    move(c, (char *)c->output[0].data + bytes - row, c->workspace, row);
    move(c, c->output[1].data, c->workspace, bytes);
    return IND_OK;
}

static ind_status roll_shape(ind_context *c, const ind_extern_type *input, int num_inputs, ind_extern_type *result, int *num_results,
                             ind_expr *workspace, void *user) {
    (void)user;
    if (num_inputs != 1 || input[0].rank != 2) return ind__fail(c, IND_ERROR_SHAPE_MISMATCH, "roll takes a matrix");
    result[0] = result[1] = input[0];
    *num_results = 2;
    *workspace = ind_expr_add(ind_expr_mul(ind_int(c, 4), ind_expr_mul(input[0].size[0], input[0].size[1])), ind_int(c, 40));
    return IND_OK;
}

/* Writes the second input over the first one's first rows: cache[0 : rows] = x. */
static ind_status put(const ind_extern_call *c) {
    calls.num++;
    calls.wrong += c->num_inputs != 2 || c->num_outputs != 1 || c->output[0].data != c->input[0].data;
    calls.wrong += bytes_of(&c->output[0]) != bytes_of(&c->input[0]) || c->workspace || c->workspace_bytes;
    move(c, c->output[0].data, c->input[1].data, bytes_of(&c->input[1]));
    return IND_OK;
}

static const ind_extern_desc roll_desc = {"roll", roll, roll, roll_shape, NULL}, put_desc = {"put", put, put, NULL, NULL};

static bool find_driver(ind_context *c) {
    (void)c;
    void *library = system_library(cuda_library ? cuda_library : "libcuda.so.1");
    void *copy = system_symbol(library, "cuMemcpyDtoDAsync_v2"), *set = system_symbol(library, "cuMemsetD8Async");
    memcpy(&calls.copy, &copy, sizeof copy);
    memcpy(&calls.set, &set, sizeof set);
    return copy && set;
}

static void register_calls(ind_context *c) {
    CHECK(!ind_extern_register(c, &roll_desc) && !ind_extern_register(c, &put_desc), "%s", ind_error(c));
    CHECK(!ind_extern_register(c, &roll_desc), "the same again: %s", ind_error(c));
}

/* Between fused kernels, in a workspace full of NaN; the results are read by kernels that follow. */
static const char rolled_text[] = "graph rolled {\n size N in [0, 64]\n input x : f32[N, 8]\n h = mul(x, 2)\n a, b = extern(\"roll\", h)\n"
                                  " s = add(a, b)\n y = softmax(s, -1)\n output y, b\n}";

static void want_rolled(const float *x, int n, double *y, double *b) {
    for (int r = 0; r < n; r++) {
        double sum = 0, s[8];
        for (int i = 0; i < 8; i++) {
            s[i] = exp(2.0 * x[(r + 1) % n * 8 + i] + 2.0 * x[r * 8 + i]);
            sum += s[i];
            b[r * 8 + i] = 2.0 * x[r * 8 + i];
        }
        for (int i = 0; i < 8; i++) y[r * 8 + i] = s[i] / sum;
    }
}

static void test_rolled(ind_context *c) {
    static float x[64 * 8], y[64 * 8], b[64 * 8];
    static double want_y[64 * 8], want_b[64 * 8];
    fill(x, 64 * 8, 7);
    for (int n = 0; n <= 64; n += n ? 21 : 1) {
        char sizes[16];
        ind_binding io[] = {{"x", x}, {"y", y}, {"b", b}};
        snprintf(sizes, sizeof sizes, "N=%d", n);
        calls.num = calls.wrong = 0;
        int kernels = run_text(c, rolled_text, sizes, io, 3);
        want_rolled(x, n, want_y, want_b);
        CHECK(kernels == 3 && calls.num == 1 && !calls.wrong, "%d kernels, %d calls, %d wrong", kernels, calls.num, calls.wrong);
        check_near(y, want_y, n * 8, 1e-5, "after a call");
        check_near(b, want_b, n * 8, 0, "second result");
    }
}

/* Reads of the old contents before and after; the call overwrites the input itself only where nobody needs those later. */
static void test_overwrites(ind_context *c, bool late_reader) {
    static float cache[40], x[8], before[40], after[40];
    static double want_before[40], want_after[40];
    char text[600];
    fill(cache, 40, 8);
    fill(x, 8, 9);
    for (int i = 0; i < 40; i++) {
        want_before[i] = cache[i] + 1.0;
        want_after[i] = i < 8 ? x[i] : cache[i];
    }
    snprintf(text, sizeof text,
             "graph t {\n input cache : f32[5, 8]\n input x : f32[8]\n%s c2 : f32[5, 8] = extern(\"put\", cache, x, mutates=[0])\n%s"
             " after = mul(c2, 1)\n mutate cache = c2\n output before, after\n}",
             late_reader ? "" : " before = add(cache, 1)\n", late_reader ? " before = add(cache, 1)\n" : "");
    ind_binding io[] = {{"cache", cache}, {"x", x}, {"before", before}, {"after", after}};
    calls.num = calls.wrong = 0;
    run_text(c, text, NULL, io, 4);
    CHECK(calls.num == 1 && !calls.wrong, "%d calls, %d wrong", calls.num, calls.wrong);
    check_near(before, want_before, 40, 1e-6, "what was there before");
    check_near(after, want_after, 40, 0, "what is there after");
    check_near(cache, want_after, 40, 0, "the input");
}

/* Two overwrite one buffer in turn; an input that is not mutated keeps what it has. */
static void test_order(ind_context *c) {
    static float base[40], x[8], z[16], first[40], second[40];
    static double want_base[40], want_first[40], want_second[40];
    fill(base, 40, 10);
    fill(x, 8, 11);
    fill(z, 16, 12);
    for (int i = 0; i < 40; i++) {
        want_base[i] = base[i];
        want_first[i] = i < 8 ? x[i] : base[i];
        want_second[i] = i < 16 ? z[i] : base[i];
    }
    ind_binding io[] = {{"base", base}, {"x", x}, {"z", z}, {"p", first}, {"q", second}};
    calls.num = calls.wrong = 0;
    run_text(c,
             "graph t {\n input base : f32[5, 8]\n input x : f32[8]\n input z : f32[2, 8]\n a : f32[5, 8] = extern(\"put\", base, x, mutates=[0])\n"
             " p = mul(a, 1)\n b : f32[5, 8] = extern(\"put\", a, z, mutates=[0])\n q = mul(b, 1)\n output p, q\n}",
             NULL, io, 5);
    CHECK(calls.num == 2 && !calls.wrong, "%d calls, %d wrong", calls.num, calls.wrong);
    check_near(base, want_base, 40, 0, "the input");
    check_near(first, want_first, 40, 0, "after the first");
    check_near(second, want_second, 40, 0, "after the second");
}

/* A permuted operand is stored in its own order first; a reshaped one is not stored again. */
static void test_layouts(ind_context *c) {
    static float x[6 * 8], a[48], b[48];
    static double want_a[48], want_b[48];
    fill(x, 48, 13);
    for (int i = 0; i < 48; i++) {
        int r = i / 6;
        want_a[i] = x[i % 6 * 8 + (r + 1) % 8];
        want_b[i] = x[(i + 4) % 48];
    }
    ind_binding io[] = {{"x", x}, {"a", a}};
    calls.num = calls.wrong = 0;
    int kernels = run_text(c, "graph t {\n size N in [8, 8]\n input x : f32[6, N]\n t = transpose(x, 0, 1)\n a, t2 = extern(\"roll\", t)\n output a\n}", "N=8", io, 2);
    CHECK(kernels == 2 && calls.num == 1 && !calls.wrong, "%d kernels, %d calls, %d wrong", kernels, calls.num, calls.wrong);
    check_near(a, want_a, 48, 0, "permuted");
    ind_binding io2[] = {{"x", x}, {"b", b}};
    kernels = run_text(c, "graph t {\n size N in [1, 12]\n input x : f32[N, 8]\n v = view(x, size=[2*N, 4])\n b, v2 = extern(\"roll\", v)\n output b\n}", "N=6", io2, 2);
    CHECK(kernels == 1 && !calls.wrong, "%d kernels, %d wrong", kernels, calls.wrong);
    check_near(b, want_b, 48, 0, "reshaped");
}

/* No operand, one that is given twice and overwritten once, a result that nobody reads, 8-bit floats, a call that is dropped. */
static ind_status make_bytes(const ind_extern_call *c) {
    calls.num++;
    calls.wrong += c->num_inputs != 0 || c->num_outputs != 2 || c->output[0].rank != 1 || c->output[1].rank != 0;
    if (c->device == IND_DEVICE_HOST)
        memset(c->output[0].data, 0x38, (size_t)c->output[0].size[0]); /* 1 in e4m3fn */
    else
        calls.wrong += calls.set((uintptr_t)c->output[0].data, 0x38, (size_t)c->output[0].size[0], c->stream) != 0;
    return IND_OK;
}

static ind_status put_twice(const ind_extern_call *c) {
    ind_extern_call one = *c;
    calls.wrong += c->num_inputs != 2 || c->input[0].data == c->input[1].data;
    return put(&one);
}

static const ind_extern_desc bytes_desc = {"make_bytes", make_bytes, make_bytes, NULL, NULL},
                             twice_desc = {"put_twice", put_twice, put_twice, NULL, NULL};

static void test_edges(ind_context *c) {
    static float x[12], y[12], z[9], kept[12];
    static double want_y[12], want_z[9], want_kept[12];
    CHECK(!ind_extern_register(c, &bytes_desc) && !ind_extern_register(c, &twice_desc), "%s", ind_error(c));
    fill(x, 12, 14);
    for (int i = 0; i < 12; i++) want_kept[i] = 2.0 * x[i], want_y[i] = 2.0 * x[i] + 1;
    for (int i = 0; i < 9; i++) want_z[i] = swish_of(1, 2);
    ind_binding io[] = {{"x", x}, {"y", y}, {"z", z}, {"kept", kept}};
    calls.num = calls.wrong = 0;
    run_text(c,
             "graph t {\n input x : f32[12]\n kept = mul(x, 2)\n k : f32[12] = extern(\"put_twice\", kept, kept, mutates=[0])\n y = add(k, 1)\n"
             " e : f8e4m3fn[9], unread : i64[] = extern(\"make_bytes\")\n f = cast(e, dtype=f32)\n z = swish(f, 2)\n"
             " dropped : f32[3] = extern(\"nobody\", x)\n output y, z, kept\n}",
             NULL, io, 4);
    CHECK(calls.num == 2 && !calls.wrong, "%d calls, %d wrong", calls.num, calls.wrong);
    check_near(y, want_y, 12, 1e-6, "given twice");
    check_near(kept, want_kept, 12, 1e-6, "given twice, itself");
    check_near(z, want_z, 9, 1e-6, "made of nothing");
}

static void test_failing(ind_context *c) {
    static float x[8], y[8], b[8];
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(c, rolled_text, NULL);
    ind_binding io[] = {{"x", x}, {"y", y}, {"b", b}};
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .sizes = "N=1", .memory = IND_MEMORY_HOST};
    CHECK(g && !ind_compile(g, NULL, &m), "%s", ind_error(c));
    calls.fail = IND_ERROR_LIMIT;
    CHECK(m && ind_run(m, &run) == IND_ERROR_LIMIT, "a failing callback");
    CHECK(strstr(ind_error(c), "roll: the callback of this extern call failed: limit exceeded"), "%s", ind_error(c));
    calls.fail = IND_OK;
    CHECK(m && !ind_run(m, &run), "%s", ind_error(c));
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

/* Captured once and replayed with other contents; a workspace of our own, full of NaN, of the very size. */
static void test_captured(ind_context *c, ind_device device) {
    static float x[5 * 8], y[5 * 8], b[5 * 8];
    static double want_y[40], want_b[40];
    ind_module *m = NULL;
    ind_instance *n = NULL;
    ind_graph *g = ind_graph_parse(c, rolled_text, NULL);
    if (!g || ind_compile(g, NULL, &m)) {
        CHECK(false, "%s", ind_error(c));
        return;
    }
    int64_t bytes = 0;
    CHECK(!ind_formula_eval(m, ind_module_workspace(m), "N=5", &bytes) && bytes > 5 * 8 * 4, "%lld bytes", (long long)bytes);
    char *memory = malloc((size_t)bytes + 4096), *base = memory + 256 - (uintptr_t)memory % 256;
    memset(memory, 0xff, (size_t)bytes + 4096);
    ind_instance_desc desc = {.workspace = base, .workspace_bytes = (size_t)bytes};
    bool host = device == IND_DEVICE_HOST;
    CHECK(!ind_instance_create(m, host ? &desc : NULL, &n), "%s", ind_error(c));
    rt__runtime *r = m->executable->runtime;
    rt__cuda_ptr p[3] = {0};
    void *pointer[3] = {x, y, b};
    if (!host) {
        CHECK(!rt__cuda_enter(c, r), "%s", ind_error(c));
        for (int i = 0; i < 3; i++) CHECK(!r->driver.cuMemAlloc_v2(&p[i], sizeof x), "memory");
        for (int i = 0; i < 3; i++) pointer[i] = (void *)(uintptr_t)p[i];
    }
    ind_binding io[] = {{"x", pointer[0]}, {"y", pointer[1]}, {"b", pointer[2]}};
    ind_launch_desc launch = {.bindings = io, .num_bindings = 3, .sizes = "N=5"};
    calls.num = calls.wrong = 0;
    CHECK(!ind_capture(n, &launch), "%s", ind_instance_error(n));
    for (int turn = 0; turn < 2; turn++) {
        fill(x, 40, 20 + turn);
        want_rolled(x, 5, want_y, want_b);
        if (!host) CHECK(!r->driver.cuMemcpyHtoDAsync_v2(p[0], x, sizeof x, NULL), "copy");
        CHECK(!ind_replay(n, NULL) && !ind_instance_check(n), "%s", ind_instance_error(n));
        for (int i = 1; i < 3 && !host; i++) CHECK(!r->driver.cuMemcpyDtoHAsync_v2(i == 1 ? y : b, p[i], sizeof y, NULL), "copy");
        if (!host) CHECK(!r->driver.cuStreamSynchronize(NULL), "wait");
        check_near(y, want_y, 40, 1e-5, "replayed");
        check_near(b, want_b, 40, 0, "replayed");
    }
    CHECK(calls.num == (host ? 2 : 1) && !calls.wrong, "%d calls, %d wrong", calls.num, calls.wrong);
    int64_t behind = bytes;
    while (behind < bytes + 3000 && base[behind] == (char)0xff) behind++;
    CHECK(behind == bytes + 3000, "byte %lld of a workspace of %lld was written", (long long)behind, (long long)bytes);
    if (!host) {
        for (int i = 0; i < 3; i++) r->driver.cuMemFree_v2(p[i]);
        rt__cuda_leave(r);
    }
    ind_module_destroy(m);
    ind_graph_destroy(g);
    free(memory);
}

/* ---- text */

static void test_text(void) {
    static const char canonical[] = "graph t {\n"
                                    "  size N in [1, 64] multiple_of 1 hint 64\n"
                                    "  function clip(x: f32, hi: f32) -> f32 = \"const char *s = \\\"\\\\\\\"; // \\n return x < hi ? x : hi;\"\n"
                                    "  function one() -> i32 = \"1\"\n"
                                    "  input x : f32[N, 8]\n"
                                    "  y : f32[N, 8] = clip(x, 1.5)\n"
                                    "  k : i32[] = one()\n"
                                    "  a : f32[N], b : i64[2*N] = extern(\"lib.top\", y, x, workspace=4*N + 256)\n"
                                    "  c : f32[N, 8] = extern(\"put\", x, a, mutates=[0])\n"
                                    "  output y, k, a, b, c\n"
                                    "}\n";
    ind_context *c = context(IND_DEVICE_HOST, false);
    ind_graph *g = ind_graph_parse(c, canonical, NULL);
    CHECK(g && !strcmp(ind_graph_text(g), canonical), "%s\n%s", ind_error(c), g ? ind_graph_text(g) : "");
    ind_module *m = NULL;
    CHECK(g && !ind_compile(g, &(ind_compile_desc){.emit_only = true}, &m), "%s", ind_error(c));
    const char *schedule = m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "", *json = m ? ind_module_json(m, IND_STAGE_SCHEDULE) : "";
    CHECK(strstr(schedule, "lib_top  extern []\n  computes a, b (lib.top); reads 64*N bytes of y, x; writes 20*N bytes of a, b"), "%s", schedule);
    CHECK(strstr(schedule, "not fused: an extern call is a separate kernel, costs 32*N bytes"), "%s", schedule);
    CHECK(strstr(json, "\"kind\": \"extern\", \"origins\": [\"lib.top\"]"), "%s", json);
    const char *loops = m ? ind_module_text(m, IND_STAGE_LOOPS) : "";
    CHECK(strstr(loops, "call lib.top(y, x) -> a, b workspace buf"), "%s", loops);
    const char *cuda = m ? ind_module_text(m, IND_STAGE_CUDA) : "", *plan = m ? ind_module_text(m, IND_STAGE_PLAN) : "";
    CHECK(cuda && strstr(cuda, "ind_user_0(") && strstr(cuda, "#line 1 \"clip\"\nconst char *s = \"\\\"; // \n return x < hi"), "%s", cuda);
    CHECK(plan && strstr(plan, "extern call of lib.top"), "%s", plan);
    ind_kernel_info info;
    int externs = 0;
    for (int i = 0; m && i < ind_module_num_kernels(m); i++) {
        CHECK(!ind_module_query_kernel(m, i, &info), "%s", ind_error(c));
        externs += info.num_variants == 0;
    }
    CHECK(externs == 2, "%d", externs);
    /* it runs on the host only if everything is there */
    static float x[8], y[8], a[1], d[8];
    static int64_t b[2];
    static int32_t k[1];
    ind_binding io[] = {{"x", x}, {"y", y}, {"k", k}, {"a", a}, {"b", b}, {"c", d}};
    ind_run_desc run = {.bindings = io, .num_bindings = 6, .sizes = "N=1", .memory = IND_MEMORY_HOST};
    CHECK(m && ind_run(m, &run) == IND_ERROR_NOT_SUPPORTED, "runs without functions");
    ind_context_destroy(c);
}

/* A text's function gets the twin that is registered under its name, here without a text of its own. */
static void test_twin(void) {
    ind_context *c = context(IND_DEVICE_HOST, false);
    static float x[3] = {1, -2, 3}, y[3];
    ind_function_desc twin = {"swish(x: f32, beta: f32) -> f32", NULL, swish, NULL};
    ind_binding io[] = {{"x", x}, {"y", y}};
    double want[3];
    for (int i = 0; i < 3; i++) want[i] = swish_of(x[i], 1);
    CHECK(!ind_function_register(c, &twin) && !ind_function_register(c, &twin), "%s", ind_error(c));
    run_text(c, "graph t {\n function swish(x: f32, beta: f32) -> f32 = \"x / (1 + expf(-beta * x))\"\n input x : f32[3]\n y = swish(x, 1)\n output y\n}", NULL, io, 2);
    check_near(y, want, 3, 1e-6, "twin");
    ind_graph *g = ind_graph_create(c, "t");
    ind_tensor in[2] = {ind_input(g, "x", "f32[3]"), ind_scalar(g, 1)};
    ind_call(g, "swish", in, 2);
    CHECK(ind_graph_status(g) == IND_ERROR_NOT_FOUND, "a twin alone is no function: %s", ind_graph_error(g));
    ind_context_destroy(c);
}

/* ---- wrong use */

static void test_bad_texts(void) {
    static const struct {
        const char *statements;
        ind_status status;
        const char *message;
    } bad[] = {
        {"y = swish(x)", IND_ERROR_PARSE, "swish: argument \"beta\" is missing"},
        {"y = swish(x, 1, 2)", IND_ERROR_PARSE, "swish takes 2 arguments"},
        {"y = swish(x, gamma=2)", IND_ERROR_PARSE, "swish has no argument \"gamma\""},
        {"y = swish(x, x=x)", IND_ERROR_PARSE, "argument \"x\" is given twice"},
        {"y = swash(x)", IND_ERROR_PARSE, "unknown op \"swash\""},
        {"y = swish(d, 1)", IND_ERROR_TYPE_MISMATCH, "swish: argument x is f32; f64[4] does not promote to it"},
        {"y = is_above(x, 1)", IND_ERROR_TYPE_MISMATCH, "is_above: argument x is i32; f32[N, 8] does not promote to it"},
        {"y = is_above(1, 2.5)", IND_ERROR_TYPE_MISMATCH, "is_above: argument y is i32; f32 does not promote to it"},
        {"y = swish(x, d3)", IND_ERROR_SHAPE_MISMATCH, "to broadcast they must be equal or 1"},
        {"function add(x: f32) -> f32 = \"x\"", IND_ERROR_INVALID_ARGUMENT, "function: add is the name of an op"},
        {"function f(x: f32) -> f32 = \"x\"\n function f(x: f32) -> f32 = \"x + 1\"", IND_ERROR_INVALID_ARGUMENT, "f is declared twice"},
        {"function swish(x: f32) -> f32 = \"x\"", IND_ERROR_INVALID_ARGUMENT, "swish is registered with another signature"},
        {"function gpu_only(x: f32) -> f32 = \"x + 2\"", IND_ERROR_INVALID_ARGUMENT, "gpu_only is registered with another text"},
        {"function f(x: f31) -> f32 = \"x\"", IND_ERROR_PARSE, "expected an element type"},
        {"function f(x: f32, x: f32) -> f32 = \"x\"", IND_ERROR_PARSE, "expected a name that is not taken"},
        {"function f(a: f32, b: f32, c: f32, d: f32, e: f32, f: f32) -> f32 = \"a\"", IND_ERROR_LIMIT, "at most 5 arguments"},
        {"function f(x: f32) = \"x\"", IND_ERROR_PARSE, "expected \"->\""},
        {"function f(x: f32) -> f32 = \"x", IND_ERROR_PARSE, "the string does not end on its line"},
        {"function f(x: f32) -> f32 = \" \"", IND_ERROR_PARSE, "the function's text is empty"},
        {"function f(x: f32) -> f32 = x", IND_ERROR_PARSE, "a string in double quotes"},
        {"y = extern(\"nobody\", x)", IND_ERROR_PARSE, "the types of its results are not written"},
        {"y : f32[N] = extern(x)", IND_ERROR_PARSE, "a string in double quotes"},
        {"y : f32[N] = extern(\"no body\", x)", IND_ERROR_PARSE, "is not a name"},
        {"y : f32[N] = extern(\"nobody\", 1)", IND_ERROR_PARSE, "the name of a tensor"},
        {"y : f32[N] = extern(\"nobody\", x, size=2)", IND_ERROR_PARSE, "allowed: workspace, mutates"},
        {"y : f32[N] = extern(\"nobody\", x, workspace=N - 8)", IND_ERROR_OUT_OF_RANGE, "the bytes of workspace may be negative"},
        {"y : f32[N] = extern(\"nobody\", x, workspace=N*N*N*N*N*N*N*N*N*N*N)", IND_ERROR_OVERFLOW, "more bytes than 64 bits count"},
        {"y : f32[N, 8] = extern(\"nobody\", x, mutates=[1])", IND_ERROR_INVALID_ARGUMENT, "it cannot overwrite operand 1"},
        {"y : f32[N, 8], z : f32[N, 8] = extern(\"nobody\", x, mutates=[0, 0])", IND_ERROR_INVALID_ARGUMENT, "it cannot overwrite operand 0"},
        {"y : f32[N, 7] = extern(\"nobody\", x, mutates=[0])", IND_ERROR_TYPE_MISMATCH, "y is written as f32[N, 7], the op gives f32[N, 8]"},
        {"y : f32[N, 8], z : f32[N, 7] = extern(\"roll\", x)", IND_ERROR_TYPE_MISMATCH, "the shape rule gives other results"},
        {"y : f32[N, 8] = extern(\"roll\", x)", IND_ERROR_TYPE_MISMATCH, "the shape rule gives other results"},
        {"y, z = extern(\"roll\", d)", IND_ERROR_SHAPE_MISMATCH, "roll: the shape rule failed: roll takes a matrix"},
        {"y = call([x], function=\"swish\")", IND_ERROR_PARSE, "unknown op \"call\""},
    };
    ind_context *c = context(IND_DEVICE_HOST, true);
    register_calls(c);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[600];
        snprintf(text, sizeof text, "graph t {\n size N in [1, 64]\n input x : f32[N, 8]\n input d : f64[4]\n input d3 : f32[3]\n %s\n output x\n}", bad[i].statements);
        ind_graph *g = ind_graph_parse(c, text, "t");
        CHECK(!g && ind_error_status(c) == bad[i].status && strstr(ind_error(c), bad[i].message), "%s: %d %s", bad[i].statements, (int)ind_error_status(c), g ? "accepted" : ind_error(c));
        ind_graph_destroy(g);
    }
    ind_context_destroy(c);
}

static void fails(ind_context *c, ind_graph *g, ind_status want, const char *message) {
    CHECK(ind_graph_status(g) == want && strstr(ind_graph_error(g), message), "%s: %s", message, ind_graph_error(g));
    ind_graph_destroy(g);
    (void)c;
}

static void test_bad_calls(void) {
    ind_context *c = context(IND_DEVICE_HOST, true);
    register_calls(c);
    ind_function_desc f = {"swish(x: f32, beta: f32) -> f32", "x", swish, NULL};
    CHECK(ind_function_register(c, &f) == IND_ERROR_INVALID_ARGUMENT && strstr(ind_error(c), "another function is registered as swish"), "%s", ind_error(c));
    CHECK(ind_function_register(c, &(ind_function_desc){.signature = "f(x: f32) -> f32"}) == IND_ERROR_INVALID_ARGUMENT, "%s", ind_error(c));
    CHECK(ind_function_register(c, &(ind_function_desc){.signature = "f(x: f32) -> f32", .cuda = "\n"}) == IND_ERROR_INVALID_ARGUMENT, "%s", ind_error(c));
    CHECK(ind_function_register(c, &(ind_function_desc){.signature = "f x", .cuda = "x"}) == IND_ERROR_PARSE && strstr(ind_error(c), "column 3"), "%s", ind_error(c));
    ind_extern_desc e = roll_desc;
    e.cuda = put;
    CHECK(ind_extern_register(c, &e) == IND_ERROR_INVALID_ARGUMENT && strstr(ind_error(c), "another extern call is registered as roll"), "%s", ind_error(c));
    e.name = "a b";
    CHECK(ind_extern_register(c, &e) == IND_ERROR_INVALID_ARGUMENT && strstr(ind_error(c), "is not a name"), "%s", ind_error(c));
    CHECK(ind_extern_register(c, &(ind_extern_desc){.name = "empty"}) == IND_ERROR_INVALID_ARGUMENT, "%s", ind_error(c));

    ind_graph *g = ind_graph_create(c, "t");
    ind_tensor x = ind_input(g, "x", "f32[2]");
    ind_call(g, "swish", &x, 1);
    fails(c, g, IND_ERROR_INVALID_ARGUMENT, "swish: 1 operands are given; it takes 2");
    g = ind_graph_create(c, "t");
    ind_call(g, "nothing", &x, 1);
    fails(c, g, IND_ERROR_NOT_FOUND, "no function nothing is registered");
    g = ind_graph_create(c, "t");
    x = ind_input(g, "x", "f32[2]");
    ind_extern(g, "nobody", &(ind_extern_args){.inputs = &x, .num_inputs = 1});
    fails(c, g, IND_ERROR_NOT_FOUND, "nobody: the types of its results are not given, and no shape rule is registered");
    g = ind_graph_create(c, "t");
    x = ind_input(g, "x", "f32[2]");
    ind_extern(g, "put", &(ind_extern_args){.inputs = &x, .num_inputs = 1});
    fails(c, g, IND_ERROR_INVALID_ARGUMENT, "put: the types of its results are not given");
    g = ind_graph_create(c, "t");
    x = ind_input(g, "x", "f32[2]");
    ind_extern(g, "put", &(ind_extern_args){.inputs = &x, .num_inputs = 1, .results = (const char *[]){"f32[M]"}, .num_results = 1});
    fails(c, g, IND_ERROR_PARSE, "size \"M\" is not declared");
    g = ind_graph_create(c, "t");
    x = ind_input(g, "x", "f32[2]");
    ind_extern(g, "put", &(ind_extern_args){.inputs = &x, .num_inputs = 1, .results = (const char *[]){"f32[4]"}, .num_results = 1, .workspace = "-1"});
    fails(c, g, IND_ERROR_OUT_OF_RANGE, "the bytes of workspace may be negative");

    g = ind_graph_create(c, "t");
    ind_call(g, "swish", NULL, 2);
    fails(c, g, IND_ERROR_INVALID_ARGUMENT, "swish: 0 operands are given; it takes 2");
    g = ind_graph_create(c, "t");
    ind_extern(g, "put", NULL);
    fails(c, g, IND_ERROR_INVALID_ARGUMENT, "one of their lists is NULL");
    g = ind_graph_create(c, "t");
    ind_extern(g, "put", &(ind_extern_args){.num_inputs = 1});
    fails(c, g, IND_ERROR_INVALID_ARGUMENT, "one of their lists is NULL");
    g = ind_graph_create(c, "t");
    ind_extern(g, "put", &(ind_extern_args){.results = (const char *[]){NULL}, .num_results = 1});
    fails(c, g, IND_ERROR_INVALID_ARGUMENT, "the type of result 0 is NULL");
    CHECK(ind_function_register(NULL, &f) == IND_ERROR_INVALID_ARGUMENT && ind_extern_register(NULL, &e) == IND_ERROR_INVALID_ARGUMENT, "no context");
    CHECK(!ind_op_call(NULL, "swish", NULL, 0).id, "no handler");

    /* both devices' callbacks are looked for when it is compiled */
    static const char *const missing[][2] = {
        {"y = gpu_only(x)", "gpu_only: the host device needs a host twin"},
        {"y : f32[2] = extern(\"nobody\", x)", "nobody: this extern call is not registered"},
        {"y : f32[2] = extern(\"gpu\", x)", "gpu: this extern call has no host callback"},
    };
    CHECK(!ind_extern_register(c, &(ind_extern_desc){.name = "gpu", .cuda = roll}), "%s", ind_error(c));
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        char text[200];
        ind_module *m = NULL;
        snprintf(text, sizeof text, "graph t {\n input x : f32[2]\n %s\n output y\n}", missing[i][0]);
        g = ind_graph_parse(c, text, NULL);
        CHECK(g && ind_compile(g, NULL, &m) == IND_ERROR_NOT_SUPPORTED && strstr(ind_error(c), missing[i][1]), "%s", ind_error(c));
        CHECK(g && !ind_compile(g, &(ind_compile_desc){.emit_only = true}, &m), "%s", ind_error(c));
        ind_graph_destroy(g);
    }
    ind_context_destroy(c);
}

/* ---- every allocation fails in turn */

static bool run_under_faults(check_heap *heap, long fail_at) {
    *heap = (check_heap){.fail_at = fail_at};
    ind_context_desc desc = {.device = IND_DEVICE_HOST, .num_threads = 1, .allocator = {check_alloc, check_free, heap}};
    static float x[24], y[24], b[24];
    ind_context *c;
    if (ind_context_create(&desc, &c)) return false;
    ind_binding io[] = {{"x", x}, {"y", y}, {"b", b}};
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .sizes = "N=3", .memory = IND_MEMORY_HOST};
    ind_module *m = NULL;
    ind_graph *g = NULL;
    bool ok = !ind_function_register(c, &functions[0]) && !ind_extern_register(c, &roll_desc) && !ind_extern_register(c, &put_desc);
    if (ok)
        g = ind_graph_parse(c,
                            "graph t {\n size N in [1, 64]\n function twice(x: f32) -> f32 = \"x + x\"\n input x : f32[N, 8]\n h = swish(x, 2)\n a, b = extern(\"roll\", h)\n"
                            " p : f32[N, 8] = extern(\"put\", a, b, mutates=[0])\n y = relu(p)\n output y, b\n}",
                            NULL);
    ok = g && !ind_compile(g, NULL, &m) && !ind_run(m, &run);
    CHECK(ok || ind_error_status(c) == IND_ERROR_OUT_OF_MEMORY, "allocation %ld: %s", fail_at, ind_error(c));
    if (ok) CHECK(ind_graph_text(g) || fail_at, "text");
    ind_context_destroy(c);
    return ok;
}

static void test_allocations(void) {
    check_heap heap;
    CHECK(run_under_faults(&heap, 0), "without faults");
    long all = heap.calls;
    for (long at = 1; at <= all; at++) {
        bool ok = run_under_faults(&heap, at);
        CHECK(!heap.live, "allocation %ld: %ld blocks leak", at, heap.live);
        (void)ok;
    }
}

/* ---- both devices */

static void test_device(ind_device device) {
    ind_context *c = context(device, true);
    register_calls(c);
    test_softmax(c, 7);
    test_softmax(c, 0);
    test_linear(c);
    test_shapes(c);
    test_types(c);
    test_calls(c);
    test_lookup_of_none(c);
    test_scan(c);
    test_rolled(c);
    test_overwrites(c, false);
    test_overwrites(c, true);
    test_order(c);
    test_layouts(c);
    test_edges(c);
    test_failing(c);
    test_captured(c, device);
    ind_context_destroy(c);
}

/* A text that does not compile: the message has the function's name and the user's own line. Needs NVRTC, no GPU. */
static void test_broken_function(void) {
    ind_context *c = NULL;
    CHECK(!ind_context_create(NULL, &c), "context");
    ind_module *m = NULL;
    ind_cubin cubin;
    ind_graph *g = ind_graph_parse(c, "graph t {\n function wrong(x: f32) -> f32 = \"float y = x;\\nreturn y + undeclared_name;\"\n input x : f32[4]\n y = wrong(x)\n output y\n}", NULL);
    CHECK(g && !ind_compile(g, &(ind_compile_desc){.emit_only = true}, &m), "%s", ind_error(c));
    ind_status status = m ? ind_module_cubin(m, 0, &cubin) : IND_OK;
    if (status == IND_ERROR_LIBRARY) {
        printf("no NVRTC library: the text of a compile error is not tested\n");
    } else {
        CHECK(status == IND_ERROR_COMPILE, "%d %s", (int)status, ind_error(c));
        CHECK(strstr(ind_error(c), "error at function wrong, line 2: ") && strstr(ind_error(c), "undeclared_name"), "%s", ind_error(c));
        CHECK(strstr(ind_error(c), "    2  return y + undeclared_name;"), "%s", ind_error(c));
    }
    ind_context_destroy(c);
}

int main(void) {
    struct stat st;
    const char *device = getenv("IND_TEST_DEVICE");
    bool real = device && !strcmp(device, "cuda");
    if (real) cuda_library = nvrtc_library = NULL;
    test_text();
    test_twin();
    test_bad_texts();
    test_bad_calls();
    test_broken_function();
    test_device(IND_DEVICE_HOST);
    if (real || (!stat(EMULATED_CUDA, &st) && !stat(EMULATED_NVRTC, &st))) {
        ind_context *c = NULL;
        CHECK(find_driver(c), "the driver has no cuMemcpyDtoDAsync_v2");
        test_device(IND_DEVICE_CUDA);
    } else {
        printf("no emulated driver in build/emulated: the CUDA path is not tested\n");
    }
    test_allocations();
    return check_summary();
}
