/* Scans with a combine function of the user, on the device that IND_DEVICE names (the host, if none), against the same
   scan made in double, element after element: what is joined, in which order, where it begins, types, layouts, lengths
   of one step and of many, and the words about bad input. `test_scans CASE` runs one case, `test_scans part K N`
   the K-th of N parts of them, `test_scans cubins ARCH` compiles all kernels. */
#include "inductor.h"

#include "check.h"
#include "cubins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMEL 20000

/* ---- combine functions, and the same in double */

static void recur(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)user; /* h = a * h + b */
    out[0] = ind_op_mul(o, l[0], r[0]);
    out[1] = ind_op_add(o, ind_op_mul(o, r[0], l[1]), r[1]);
}

static void recur_ref(const double *l, const double *r, double *out) {
    out[0] = l[0] * r[0];
    out[1] = r[0] * l[1] + r[1];
}

static void best(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    ind_value later = ind_op_gt(o, r[0], l[0]); /* the first of the largest, and where it is */
    (void)user;
    for (int k = 0; k < 2; k++) out[k] = ind_op_where(o, later, r[k], l[k]);
}

static void best_ref(const double *l, const double *r, double *out) {
    for (int k = 0; k < 2; k++) out[k] = r[0] > l[0] ? r[k] : l[k];
}

static void sum(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)user;
    out[0] = ind_op_add(o, l[0], r[0]);
}

static void sum_ref(const double *l, const double *r, double *out) {
    out[0] = l[0] + r[0];
}

/* The earlier value, unless it is overwritten: not commutative, and some arguments are unused. */
static void last(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    ind_value zero = ind_op_constant(o, 0, ind_op_dtype(o, r[0]));
    (void)user;
    out[0] = ind_op_where(o, ind_op_ne(o, r[0], zero), r[0], l[0]);
}

static void last_ref(const double *l, const double *r, double *out) {
    out[0] = r[0] != 0 ? r[0] : l[0];
}

static void product(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)user; /* of 2x2 matrices */
    for (int k = 0; k < 4; k++)
        out[k] = ind_op_add(o, ind_op_mul(o, l[k / 2 * 2], r[k % 2]), ind_op_mul(o, l[k / 2 * 2 + 1], r[2 + k % 2]));
}

static void product_ref(const double *l, const double *r, double *out) {
    for (int k = 0; k < 4; k++) out[k] = l[k / 2 * 2] * r[k % 2] + l[k / 2 * 2 + 1] * r[2 + k % 2];
}

/* ---- values: whole numbers, decays below 0.9 with inputs below 1, rotations */

static uint32_t random_state;

static double uniform(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) / 16777216.0;
}

static double whole(int k, int64_t i) {
    (void)k, (void)i;
    return (double)(int)(uniform() * 9) - 4;
}

static double decay(int k, int64_t i) {
    (void)i;
    return k ? 2 * uniform() - 1 : 0.9 * uniform();
}

static double place(int k, int64_t i) {
    return k ? (double)i : (double)(int)(uniform() * 30);
}

static double rotation(int k, int64_t i) {
    double t = 0.1 + 0.01 * (double)(i % 50);
    return k == 0 || k == 3 ? cos(t) : k == 1 ? -sin(t) : sin(t);
}

static double sparse(int k, int64_t i) {
    (void)k;
    return uniform() < 0.9 ? 0 : (double)(i % 100 + 1);
}

/* ---- memory of each type */

static uint16_t to_bf16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static void put(const char *t, void *memory, int64_t i, double v) {
    if (!strcmp(t, "f32")) ((float *)memory)[i] = (float)v;
    if (!strcmp(t, "f64")) ((double *)memory)[i] = v;
    if (!strcmp(t, "i32")) ((int32_t *)memory)[i] = (int32_t)v;
    if (!strcmp(t, "i64")) ((int64_t *)memory)[i] = (int64_t)v;
    if (!strcmp(t, "i8")) ((int8_t *)memory)[i] = (int8_t)v;
    if (!strcmp(t, "bf16")) ((uint16_t *)memory)[i] = to_bf16((float)v);
}

static double get(const char *t, const void *memory, int64_t i) {
    if (!strcmp(t, "f32")) return ((const float *)memory)[i];
    if (!strcmp(t, "f64")) return ((const double *)memory)[i];
    if (!strcmp(t, "i32")) return ((const int32_t *)memory)[i];
    if (!strcmp(t, "i64")) return (double)((const int64_t *)memory)[i];
    if (!strcmp(t, "i8")) return ((const int8_t *)memory)[i];
    uint32_t u = (uint32_t)((const uint16_t *)memory)[i] << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* ---- cases: tensors x0 .. of [B, N, C]. FUSED: y0 is twice the scan's result, and s0 [B, C] the sum of its rows; in
   its kernel, of f32 or f64. */

typedef struct scan_case {
    const char *name;
    ind_combine_fn combine;
    void (*reference)(const double *l, const double *r, double *out);
    double (*value)(int k, int64_t i);
    int num;
    const char *dtype[4];
    double identity[4];
    const char *hints; /* "B=2 N=64 C=1": which kind of kernel is chosen */
    int flags;
    double error; /* allowed, absolute */
} scan_case;

enum { REVERSE = 1, EXCLUSIVE = 2, SEGMENTS = 4, STARTS = 8, TRANSPOSED = 16, POINTWISE = 32, FUSED = 64 };

#define WARP   "B in [1, 9] hint 3; N in [0, 9000] hint 64; C in [1, 2000] hint 1"
#define BLOCK  "B in [1, 9] hint 3; N in [0, 9000] hint 4000; C in [1, 2000] hint 1"
#define COLUMN "B in [1, 9] hint 1; N in [0, 9000] hint 40; C in [1, 2000] hint 1500"

#define FUSED_WARP   "B in [1, 9] hint 3; N in [0, 9000] hint 30; C in [1, 2000] hint 2"
#define FUSED_BLOCK  "B in [1, 9] hint 3; N in [0, 9000] hint 4000; C in [1, 2000] hint 2" /* the sum is apart */
#define FUSED_COLUMN "B in [1, 9] hint 1; N in [0, 9000] hint 30; C in [1, 2000] hint 1500"

/* Decays below 0.9: |h| < 10, each of its steps errs by 3 roundings at most, and errors decay as h does: 10 * 10 * 3
   roundings of 2**-24. Rotations: each product errs by 3 roundings of entries below 1, and there are up to 4100. */
#define RECUR 1.8e-5
#define TURNS 2.2e-3

static const scan_case cases[] = {
    {"recur", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, WARP, 0, RECUR},
    {"recur_block", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, BLOCK, 0, RECUR},
    {"recur_column", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, COLUMN, 0, RECUR},
    {"recur_reverse", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, BLOCK, REVERSE, RECUR},
    {"recur_exclusive", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, WARP, EXCLUSIVE, RECUR},
    {"recur_exclusive_block", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, BLOCK, EXCLUSIVE | REVERSE, RECUR},
    {"recur_exclusive_column", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, COLUMN, EXCLUSIVE, RECUR},
    {"recur_f64", recur, recur_ref, decay, 2, {"f64", "f64"}, {1, 0}, BLOCK, 0, RECUR / (1 << 28)},
    /* stored as bf16: half a unit in the last place of 8 bits, of values below 10 */
    {"recur_bf16", recur, recur_ref, decay, 2, {"bf16", "bf16"}, {1, 0}, WARP, 0, RECUR + 8.0 / 256},
    {"recur_mixed", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, WARP, TRANSPOSED | POINTWISE, RECUR},
    {"recur_segments", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, BLOCK, SEGMENTS | EXCLUSIVE, RECUR},
    {"recur_fused", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, FUSED_WARP, FUSED, 2 * RECUR},
    {"recur_fused_block",
     recur,
     recur_ref,
     decay,
     2,
     {"f32", "f32"},
     {1, 0},
     FUSED_BLOCK,
     FUSED | EXCLUSIVE,
     2 * RECUR},
    {"recur_fused_column", recur, recur_ref, decay, 2, {"f32", "f32"}, {1, 0}, FUSED_COLUMN, FUSED, 2 * RECUR},
    {"best", best, best_ref, place, 2, {"f32", "i64"}, {0}, WARP, 0, 0},
    {"best_block", best, best_ref, place, 2, {"i32", "i64"}, {0}, BLOCK, 0, 0},
    {"best_reverse", best, best_ref, place, 2, {"f32", "i64"}, {0}, WARP, REVERSE | TRANSPOSED, 0},
    {"best_column", best, best_ref, place, 2, {"i8", "i64"}, {0}, COLUMN, SEGMENTS, 0},
    {"sum", sum, sum_ref, whole, 1, {"i32"}, {0}, BLOCK, SEGMENTS, 0},
    {"sum_f32", sum, sum_ref, whole, 1, {"f32"}, {0}, WARP, SEGMENTS, 0},
    {"sum_i64", sum, sum_ref, whole, 1, {"i64"}, {7}, COLUMN, SEGMENTS | EXCLUSIVE, 0},
    {"sum_reverse", sum, sum_ref, whole, 1, {"i64"}, {0}, BLOCK, SEGMENTS | REVERSE, 0},
    {"sum_reverse_exclusive", sum, sum_ref, whole, 1, {"f64"}, {-1}, WARP, SEGMENTS | REVERSE | EXCLUSIVE, 0},
    {"sum_starts", sum, sum_ref, whole, 1, {"f32"}, {0}, WARP, STARTS, 0},
    {"sum_starts_reverse", sum, sum_ref, whole, 1, {"f32"}, {0}, BLOCK, STARTS | REVERSE | EXCLUSIVE, 0},
    {"last", last, last_ref, sparse, 1, {"f32"}, {0}, BLOCK, 0, 0},
    {"last_reverse", last, last_ref, sparse, 1, {"i8"}, {0}, WARP, REVERSE, 0},
    {"product", product, product_ref, rotation, 4, {"f32", "f32", "f32", "f32"}, {1, 0, 0, 1}, WARP, 0, TURNS},
    {"product_block",
     product,
     product_ref,
     rotation,
     4,
     {"f64", "f64", "f64", "f64"},
     {1, 0, 0, 1},
     BLOCK,
     EXCLUSIVE,
     TURNS / (1 << 28)},
    {"product_segments",
     product,
     product_ref,
     rotation,
     4,
     {"f32", "f32", "f32", "f32"},
     {1, 0, 0, 1},
     BLOCK,
     SEGMENTS | REVERSE,
     TURNS},
    {"product_column", product, product_ref, rotation, 4, {"f32", "f32", "f32", "f32"}, {1, 0, 0, 1}, COLUMN, 0, TURNS},
};

static const struct {
    int64_t b, n, c;
} shapes[] = {{3, 0, 2}, {2, 1, 3}, {2, 2, 1}, {3, 33, 1}, {1, 129, 2}, {2, 1000, 1}, {1, 4097, 1}, {1, 7, 1025}};

/* Element of a pointwise op of the user, x * 1: it fuses with the scan. */
static ind_value same(ind_ops *o, const ind_expr *index, int rank, void *user) {
    ind_value x = ind_op_load(o, *(ind_tensor *)user, index, rank);
    return ind_op_mul(o, x, ind_op_constant(o, 1, ind_op_dtype(o, x)));
}

static ind_tensor scanned_input(ind_graph *g, const scan_case *s, int k) {
    char name[16], type[64];
    snprintf(name, sizeof name, "x%d", k);
    snprintf(type, sizeof type, s->flags & TRANSPOSED ? "%s[C, N, B]" : "%s[B, N, C]", s->dtype[k]);
    ind_tensor x = ind_input(g, name, type);
    if (s->flags & TRANSPOSED) x = ind_transpose(x, 0, 2);
    ind_loop_desc d = {.name = "same", .like = x, .fn = same, .user = &x};
    return s->flags & POINTWISE ? ind_pointwise(g, &d) : x;
}

static ind_module *compile(ind_context *c, const scan_case *s) {
    char sizes[160];
    ind_graph *g = ind_graph_create(c, s->name);
    snprintf(sizes, sizeof sizes, "%s", s->hints);
    for (char *at = strtok(sizes, ";"); at; at = strtok(NULL, ";")) ind_size(g, at + strspn(at, " "));
    ind_size(g, "S in [0, 9000] hint 9");
    ind_tensor x[4], identity[4];
    for (int k = 0; k < s->num; k++) {
        x[k] = scanned_input(g, s, k);
        identity[k] = ind_scalar(g, s->identity[k]);
    }
    ind_scan_desc d = {.name = s->name, .x = x, .num = s->num, .dim = -2, .combine = s->combine, .identity = identity};
    d.reverse = s->flags & REVERSE;
    d.exclusive = s->flags & EXCLUSIVE;
    if (s->flags & SEGMENTS) d.segments = ind_input(g, "segments", "bool[N, C]");
    if (s->flags & STARTS) d.starts = ind_input(g, "starts", "i64[S]");
    ind_tensor y = ind_associative_scan(g, &d);
    for (int k = 0; k < s->num; k++) {
        char name[16];
        const int along = 1;
        ind_tensor result = ind_result(y, k);
        snprintf(name, sizeof name, "y%d", k);
        if (s->flags & FUSED && !k) ind_output(g, "s0", ind_sum(result, &along, 1, false, IND_DTYPE_NONE));
        ind_output(g, name, s->flags & FUSED && !k ? ind_mul(result, ind_scalar(g, 2)) : result);
    }
    ind_module *m = NULL;
    ind_status status = cubins_compile(g, false, &m);
    CHECK(!status, "%s: %s", s->name, ind_error(c));
    const char *schedule = m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "";
    bool alone = s->flags & FUSED && strstr(schedule, !strcmp(s->hints, FUSED_BLOCK) ? "kernel 2" : "kernel 1");
    CHECK(!alone, "%s: not fused:\n%s", s->name, schedule);
    ind_graph_destroy(g);
    return m;
}

static double in[4][MAX_NUMEL], want[4][MAX_NUMEL];
static char memory[8][MAX_NUMEL * 8], flags[MAX_NUMEL], sums[MAX_NUMEL * 8];
static int64_t starts[MAX_NUMEL];

/* The row of `want` that begins at `at`, whose elements are `step` apart. */
static void scan_row(const scan_case *s, int64_t at, int64_t step, int64_t n, const char *flag, int64_t flag_step) {
    double state[4] = {0}, x[4], joined[4];
    for (int64_t j = 0; j < n; j++) {
        int64_t place = s->flags & REVERSE ? n - 1 - j : j, i = at + place * step;
        bool begins = j == 0;
        if (s->flags & (SEGMENTS | STARTS))
            begins = begins || flag[(s->flags & REVERSE ? place + 1 : place) * flag_step];
        for (int k = 0; k < s->num; k++) x[k] = in[k][i];
        if (!begins) s->reference(state, x, joined);
        for (int k = 0; k < s->num; k++) {
            double before = begins ? s->identity[k] : state[k];
            state[k] = begins ? x[k] : joined[k];
            want[k][i] = s->flags & EXCLUSIVE ? before : state[k];
        }
    }
}

/* Flags per [N, C], or starts along N, then the same for every C. Returns the number of starts. */
static int64_t make_segments(const scan_case *s, int64_t n, int64_t c) {
    int64_t num = 0;
    memset(flags, 0, sizeof flags);
    for (int64_t i = 0; i < n * c; i++) flags[i] = uniform() < 0.15;
    for (int64_t j = 0; j < n && (s->flags & STARTS); j++) {
        bool begins = flags[j * c];
        for (int64_t i = 0; i < c; i++) flags[j * c + i] = begins;
        if (begins) starts[num++] = j;
    }
    for (int64_t k = 0; k < num / 2; k++) { /* in any order, and one twice */
        int64_t keep = starts[k];
        starts[k] = starts[num - 1 - k];
        starts[num - 1 - k] = keep;
    }
    if (num) starts[num++] = starts[0];
    return num;
}

static void make_values(const scan_case *s, int64_t b, int64_t n, int64_t c) {
    for (int k = 0; k < s->num; k++)
        for (int64_t i = 0; i < b * n * c; i++) {
            int64_t at = i; /* in memory */
            if (s->flags & TRANSPOSED) at = i % c * n * b + i / c % n * b + i / c / n;
            put(s->dtype[k], memory[k], at, s->value(k, i / c % n));
            in[k][i] = get(s->dtype[k], memory[k], at);
        }
    for (int64_t i = 0; i < b * c; i++) scan_row(s, i / c * n * c + i % c, c, n, flags + i % c, c);
}

/* The sums of the rows, each term of which has the scan's error; y0 is twice the result. */
static void check_fused(const scan_case *s, const char *sizes, int64_t b, int64_t n, int64_t channels) {
    for (int64_t row = 0; row < b * channels; row++) {
        double sum = 0, got = get(s->dtype[0], sums, row);
        for (int64_t j = 0; j < n; j++) {
            double *at = &want[0][(row / channels * n + j) * channels + row % channels];
            sum += *at;
            *at *= 2;
        }
        CHECK(fabs(got - sum) <= s->error * (double)n, "%s %s: sum %d is %.9g, not %.9g", s->name, sizes, (int)row, got,
              sum);
    }
}

static void run_case(ind_context *c, ind_module *m, const scan_case *s, int64_t b, int64_t n, int64_t channels) {
    char names[8][16], sizes[96];
    ind_binding io[10] = {{"segments", flags}};
    int num = s->flags & SEGMENTS ? 1 : 0;
    int64_t num_starts = make_segments(s, n, channels);
    make_values(s, b, n, channels);
    if (s->flags & STARTS) io[num++] = (ind_binding){"starts", starts};
    for (int k = 0; k < 2 * s->num; k++) {
        snprintf(names[k], sizeof names[k], "%c%d", k < s->num ? 'x' : 'y', k % s->num);
        io[num++] = (ind_binding){names[k], memory[k < s->num ? k : 4 + k - s->num]};
    }
    if (s->flags & FUSED) io[num++] = (ind_binding){"s0", sums};
    snprintf(sizes, sizeof sizes, "B=%d N=%d C=%d S=%d", (int)b, (int)n, (int)channels, (int)num_starts);
    ind_run_desc run = {.bindings = io, .num_bindings = num, .sizes = sizes, .memory = IND_MEMORY_HOST};
    ind_status status = ind_run(m, &run);
    CHECK(!status, "%s %s: %s", s->name, sizes, ind_error(c));
    if (s->flags & FUSED && !status) check_fused(s, sizes, b, n, channels);
    for (int k = 0; k < s->num && !status; k++) {
        int64_t wrong = 0, first = -1;
        for (int64_t i = 0; i < b * n * channels; i++) {
            double got = get(s->dtype[k], memory[4 + k], i);
            if (fabs(got - want[k][i]) <= s->error) continue;
            if (!wrong++) first = i;
        }
        CHECK(!wrong, "%s %s: %d wrong of y%d, the first at %d: %.9g, not %.9g", s->name, sizes, (int)wrong, k,
              (int)first, get(s->dtype[k], memory[4 + k], first), want[k][first]);
    }
}

static void test_values(ind_context *c, const char *only, size_t first, size_t step) {
    for (size_t k = first; k < sizeof cases / sizeof *cases; k += step) {
        if (only && strcmp(only, cases[k].name)) continue;
        ind_module *m = compile(c, &cases[k]);
        random_state = (uint32_t)k + 1;
        if (m && cubins_arch) cubins_check(c, m, cases[k].name);
        for (size_t j = 0; m && !cubins_arch && j < sizeof shapes / sizeof *shapes; j++)
            run_case(c, m, &cases[k], shapes[j].b, shapes[j].n, shapes[j].c);
        if (m) ind_module_destroy(m);
    }
}

/* ---- bad input, and texts */

static void loads(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)l, (void)r;
    out[0] = ind_op_load(o, *(ind_tensor *)user, NULL, 0);
}

static void nothing(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)o, (void)l, (void)r, (void)out, (void)user;
}

static void indexed(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)r;
    out[0] = ind_op_add(o, l[0], ind_op_index(o, *(ind_expr *)user, IND_F32));
}

static void check_refused(ind_context *c, int which, const char *says) {
    ind_graph *g = ind_graph_create(c, "bad");
    ind_expr n = ind_size(g, "N in [2, 9]");
    ind_tensor x[6] = {ind_input(g, "x", "f32[3, N]"), ind_input(g, "y", "f32[N, 3]")};
    ind_tensor z = ind_input(g, "z", "f32[]"), w = ind_input(g, "w", "bool[4]"), i = ind_input(g, "i", "i64[2]");
    ind_tensor none[1] = {ind_scalar(g, 0)};
    ind_scan_desc d = {.x = x, .num = 1, .dim = 1, .combine = sum, .identity = none};
    if (which == 0) d.combine = NULL;
    if (which == 1) d.num = 6;
    if (which == 2) d.num = 2, d.combine = recur;
    if (which == 3) d.dim = 2;
    if (which == 4) d.exclusive = true, d.identity = NULL;
    if (which == 5) d.segments = z;
    if (which == 6) d.segments = w;
    if (which == 7) d.segments = w, d.starts = i;
    if (which == 8) d.combine = loads, d.user = &z;
    if (which == 9) d.combine = nothing;
    if (which == 10) d.combine = indexed, d.user = &n;
    if (which == 11) x[0] = none[0];
    if (which == 12) none[0] = x[1], d.exclusive = true;
    if (which == 13) d.starts = z;
    if (which == 14) d.x = NULL;
    ind_tensor y = ind_associative_scan(g, which == 15 ? NULL : &d);
    CHECK(!y.id && strstr(ind_graph_error(g), says), "%d: \"%s\", not \"%s\"", which, ind_graph_error(g), says);
    ind_graph_destroy(g);
}

static void test_refused(ind_context *c) {
    static const char *const says[] = {"no combine function is given",
                                       "an element has 6 values; 1 to 5 are possible",
                                       "all must have the shape of x",
                                       "dim 2",
                                       "an exclusive scan needs the identity",
                                       "the segments are f32[]; they must be bool",
                                       "x has N (dim 1 of f32[3, N]), w has 4",
                                       "segments and starts are both given",
                                       "the function failed: a combine function loads nothing",
                                       "the function failed: it gave no value 0",
                                       "a combine function has no indices",
                                       "is a number; a tensor is needed",
                                       "to broadcast they must be equal or 1",
                                       "index_fill",
                                       "no x is given",
                                       "no desc is given"};
    for (int k = 0; k < (int)(sizeof says / sizeof *says); k++) check_refused(c, k, says[k]);
}

/* Two scans that differ in nothing but their functions stay two; the text says what they are. */
static void test_texts(ind_context *c) {
    ind_graph *g = ind_graph_create(c, "texts");
    ind_tensor x = ind_input(g, "x", "f32[3, 50]");
    ind_scan_desc d = {.name = "total", .x = &x, .num = 1, .dim = 1, .combine = sum};
    ind_output(g, "a", ind_associative_scan(g, &d));
    d.combine = last;
    d.name = "latest";
    ind_output(g, "b", ind_associative_scan(g, &d));
    ind_module *m = NULL;
    CHECK(!ind_compile(g, NULL, &m), "%s", ind_error(c));
    const char *text = m ? ind_module_text(m, IND_STAGE_GRAPH) : "";
    CHECK(strstr(text, "associative_scan([x], dim=1, combine=\"add(l0, r0)\")   # total") && strstr(text, "# latest"), "%s", text);
    text = m ? ind_module_text(m, IND_STAGE_LOOPS) : "";
    CHECK(strstr(text, "scan combine") && strstr(text, "state #1"), "%s", text);
    ind_graph_destroy(g);
    if (m) ind_module_destroy(m);
}

/* ---- every allocation fails in turn: a status, no leak */

static ind_status scan_and_scatter(ind_context *c) {
    float values[9] = {0}, kept[6] = {0}, y[9], z[6];
    int64_t place[9] = {0};
    ind_graph *g = ind_graph_create(c, "faults");
    if (!g) return IND_ERROR_OUT_OF_MEMORY;
    ind_tensor x = ind_input(g, "x", "f32[9]"), i = ind_input(g, "i", "i64[9]"), w = ind_input(g, "w", "f32[6]");
    ind_tensor none = ind_scalar(g, 0);
    ind_scan_desc d = {.x = &x, .num = 1, .combine = sum, .exclusive = true, .identity = &none, .starts = i};
    ind_output(g, "y", ind_associative_scan(g, &d));
    ind_output(g, "z", ind_scatter_add(w, 0, i, x));
    ind_compile_desc k = {.device = IND_DEVICE_HOST, .deterministic = true};
    ind_module *m = NULL;
    ind_status status = ind_compile(g, &k, &m);
    ind_graph_destroy(g);
    ind_binding io[] = {{"x", values}, {"i", place}, {"w", kept}, {"y", y}, {"z", z}};
    ind_run_desc run = {.bindings = io, .num_bindings = 5, .memory = IND_MEMORY_HOST};
    if (!status) status = ind_run(m, &run);
    if (m) ind_module_destroy(m);
    return status;
}

static void test_faults(void) {
    bool reached = true;
    long n = 0, refused = 0;
    while (reached && ++n < 100000) {
        check_heap heap = {.fail_at = n};
        ind_context_desc d = {
            .device = IND_DEVICE_HOST, .allocator = {check_alloc, check_free, &heap}, .num_threads = 1};
        ind_context *c = NULL;
        ind_status status = ind_context_create(&d, &c);
        if (!status) status = scan_and_scatter(c);
        if (status && status != IND_ERROR_OUT_OF_MEMORY) CHECK(false, "allocation %ld: %s", n, ind_error(c));
        if (c) ind_context_destroy(c);
        if (heap.live) CHECK(false, "allocation %ld: %ld are not freed", n, heap.live);
        reached = heap.calls >= n;
        refused += status != IND_OK;
    }
    CHECK(!reached && n > 100 && refused > n * 9 / 10, "%ld of %ld failed allocations are said", refused, n);
}

int main(int argc, char **argv) {
    ind_context *c;
    if (ind_context_create(NULL, &c)) return 1;
    if (argc > 2 && !strcmp(argv[1], "cubins")) cubins_arch = argv[2];
    const bool part = argc == 4 && !strcmp(argv[1], "part") && atoi(argv[2]) >= 0 && atoi(argv[3]) > 0;
    test_values(c, argc == 2 ? argv[1] : NULL, part ? (size_t)atoi(argv[2]) : 0, part ? (size_t)atoi(argv[3]) : 1);
    if (argc < 2) {
        test_refused(c);
        test_texts(c);
        test_faults();
    }
    ind_context_destroy(c);
    return check_summary();
}
