/* ind_compile_desc.deterministic on the device that IND_DEVICE names (the host, if none): scatters of floats against
   the sums in double, replaced elements against the last in order, and the bits of a second run. `test_ordered bits`
   prints a number made of all bits of all results: it must be the same whatever the order of threads. `test_ordered
   cubins ARCH` compiles all kernels. */
#include "inductor.h"

#include "check.h"
#include "cubins.h"

#include <math.h>
#include <string.h>

#define MAX_POINTS 6000
#define PLACES     700
#define CROWD      6000 /* so many points all go to one place */

enum { ADD, PUT, INDEX_ADD, INDEX_PUT, PRODUCT, MEAN, COPY, BF16 };

typedef struct ordered_case {
    const char *name;
    int op;
    int64_t places; /* rows of the result */
    const char *sizes, *how;
} ordered_case;

#define LOOKS "in order: each element looks at all points"
#define SORTS "in order: points sorted by element"
#define LAST  "in order: the last point of each element"

#define SMALL "N in [0, 6000] hint 100"
#define LARGE "N in [0, 6000] hint 5000"

static const ordered_case cases[] = {
    {"scatter_add looks", ADD, 20, SMALL, LOOKS},
    {"scatter_add sorts", ADD, 700, LARGE, SORTS},
    {"scatter looks", PUT, 20, SMALL, LOOKS},
    {"scatter last", PUT, 700, LARGE, LAST},
    {"index_add looks", INDEX_ADD, 20, SMALL, LOOKS},
    {"index_add sorts", INDEX_ADD, 700, LARGE, SORTS},
    {"index_put looks", INDEX_PUT, 20, SMALL, LOOKS},
    {"index_put last", INDEX_PUT, 700, LARGE, LAST},
    {"prod looks", PRODUCT, 20, SMALL, LOOKS},
    {"prod sorts", PRODUCT, 700, LARGE, SORTS},
    {"mean sorts", MEAN, 700, LARGE, SORTS},
    {"index_copy last", COPY, 700, LARGE, LAST},
    {"scatter_add bf16 sorts", BF16, 700, LARGE, SORTS},
};

static uint32_t random_state = 1;
static uint64_t all_bits = 14695981039346656037ull;

static double uniform(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) / 16777216.0;
}

static ind_tensor build(ind_graph *g, const ordered_case *s, ind_tensor x, ind_tensor i, ind_tensor v) {
    ind_tensor wide = ind_cast(v, ind_tensor_dtype(x));
    switch (s->op) {
    case PUT: return ind_scatter(x, 0, i, v);
    case INDEX_ADD: return ind_index_add(x, 0, i, v, 1);
    case INDEX_PUT: return ind_index_put(x, &i, 1, v, false);
    case PRODUCT: return ind_scatter_reduce(x, 0, i, v, "prod", true);
    case MEAN: return ind_scatter_reduce(x, 0, i, v, "mean", true);
    case COPY: return ind_index_copy(x, 0, i, v);
    case BF16: return ind_scatter_add(x, 0, i, wide);
    default: (void)g; return ind_scatter_add(x, 0, i, v);
    }
}

static ind_module *compile(ind_context *c, const ordered_case *s) {
    char type[32];
    ind_graph *g = ind_graph_create(c, "ordered");
    ind_size(g, s->sizes);
    snprintf(type, sizeof type, "%s[%d]", s->op == BF16 ? "bf16" : "f32", (int)s->places);
    ind_tensor x = ind_input(g, "x", type), i = ind_input(g, "i", "i64[N]"), v = ind_input(g, "v", "f32[N]");
    ind_output(g, "y", ind_cast(build(g, s, x, i, v), IND_F32));
    ind_module *m = NULL;
    CHECK(!cubins_compile(g, true, &m), "%s: %s", s->name, ind_error(c));
    const char *text = m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "";
    CHECK(strstr(text, s->how), "%s: %s", s->name, text);
    ind_graph_destroy(g);
    return m;
}

static float x[PLACES], v[MAX_POINTS], y[2][PLACES];
static uint16_t x16[PLACES];
static int64_t at[MAX_POINTS];
static double want[PLACES], most[PLACES];

/* What each element should be, and in `most` the sum of all sizes that met there, for the error that is allowed. */
static void make(const ordered_case *s, int64_t n) {
    int64_t count[PLACES];
    for (int64_t p = 0; p < s->places; p++) {
        x[p] = (float)(int)(8 * uniform());
        x16[p] = ind__f32_to_bf16(x[p]);
        want[p] = x[p], most[p] = fabs(x[p]), count[p] = 1;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t p = at[k] = n == CROWD ? s->places / 2 : (int64_t)(uniform() * uniform() * (double)s->places);
        v[k] = (float)(s->op == PRODUCT ? 0.9 + 0.2 * uniform() : 2 * uniform() - 1);
        double joined = s->op == BF16 ? (double)ind__bf16_to_f32(ind__f32_to_bf16(v[k])) : v[k];
        bool replaces = s->op == PUT || s->op == INDEX_PUT || s->op == COPY;
        want[p] = replaces ? joined : s->op == PRODUCT ? want[p] * joined : want[p] + joined;
        most[p] = s->op == PRODUCT ? fabs(want[p]) : most[p] + fabs(joined);
        count[p]++;
    }
    for (int64_t p = 0; p < s->places; p++) {
        if (s->op == MEAN) want[p] /= (double)count[p], most[p] /= (double)count[p];
        bool replaces = s->op == PUT || s->op == INDEX_PUT || s->op == COPY;
        most[p] *= replaces ? 0 : (double)count[p] * 6e-8; /* a rounding for each that is joined */
        if (s->op == BF16) most[p] += fabs(want[p]) / 250; /* and one of 8 bits at the end */
    }
}

static void run_case(ind_context *c, ind_module *m, const ordered_case *s, int64_t n) {
    char sizes[32];
    snprintf(sizes, sizeof sizes, "N=%d", (int)n);
    make(s, n);
    for (int k = 0; k < 2; k++) {
        ind_binding io[] = {{"x", s->op == BF16 ? (void *)x16 : (void *)x}, {"i", at}, {"v", v}, {"y", y[k]}};
        ind_run_desc run = {.bindings = io, .num_bindings = 4, .sizes = sizes, .memory = IND_MEMORY_HOST};
        CHECK(!ind_run(m, &run), "%s %s: %s", s->name, sizes, ind_error(c));
    }
    int wrong = -1;
    for (int64_t p = 0; p < s->places; p++) {
        uint32_t bits;
        memcpy(&bits, &y[0][p], sizeof bits);
        all_bits = (all_bits ^ bits) * 1099511628211ull;
        if (!(fabs(y[0][p] - want[p]) <= most[p])) wrong = (int)p;
    }
    CHECK(wrong < 0, "%s %s: element %d is %.9g, not %.9g", s->name, sizes, wrong, y[0][wrong], want[wrong]);
    CHECK(!memcmp(y[0], y[1], (size_t)s->places * sizeof(float)), "%s %s: a second run differs", s->name, sizes);
}

/* What cannot differ stays as it was: integers, extremes, one value for all. And an index out of range is found. */
static void test_untouched(ind_context *c) {
    static const char *const ops[] = {"y = scatter_add(x, i, v, dim=0)",
                                      "y = scatter_reduce(w, i, u, dim=0, reduce=\"amax\")",
                                      "y = index_fill(w, i, dim=0, value=2)",
                                      "y = scatter(w, i, dim=0, value=2)",
                                      "y = nonzero(w)",
                                      "y, j = unique(u, return_inverse=true)"};
    for (int k = 0; k < 6; k++) {
        char text[300];
        snprintf(
            text, sizeof text,
            "graph t {\n input x : i32[9]\n input w : f32[9]\n input i : i64[5]\n input v : i32[5]\n input u : f32[5]\n"
            " %s\n output y\n}",
            ops[k]);
        ind_graph *g = ind_graph_parse(c, text, NULL);
        ind_compile_desc d = {.deterministic = true};
        ind_module *m = NULL;
        CHECK(g && !ind_compile(g, &d, &m), "%s: %s", ops[k], ind_error(c));
        const char *schedule = m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "in order: ";
        CHECK(m && !strstr(schedule, "in order: "), "%s", schedule);
        ind_graph_destroy(g);
        if (m) ind_module_destroy(m);
    }
}

/* What is chosen has a place of its own: in a matrix with one store for each of its columns. */
static void test_chosen(ind_context *c) {
    static const char text[] = "graph t {\n input x : f32[2, 3]\n input m : bool[2, 3]\n y : i64[n, 2] = nonzero(x)\n"
                               " z : f32[k] = masked_select(x, m)\n output y, z\n}";
    const float x[6] = {0, 5, 6, 7, 0, 8};
    const uint8_t m[6] = {1, 0, 1, 0, 0, 1};
    const int64_t want[8] = {0, 1, 0, 2, 1, 0, 1, 2};
    int64_t y[12], sizes[2] = {0, 0};
    float z[6];
    ind_graph *graph = ind_graph_parse(c, text, NULL);
    ind_compile_desc d = {.deterministic = true};
    ind_module *module = NULL;
    ind_binding io[] = {{"x", (void *)x}, {"m", (void *)m}, {"y", y}, {"z", z}};
    ind_run_desc run = {.bindings = io, .num_bindings = 4, .memory = IND_MEMORY_HOST, .data_sizes = sizes};
    CHECK(graph && !ind_compile(graph, &d, &module) && !ind_run(module, &run), "%s", ind_error(c));
    CHECK(sizes[0] == 4 && sizes[1] == 3, "%d, %d chosen", (int)sizes[0], (int)sizes[1]);
    for (int k = 0; sizes[0] == 4 && k < 8; k++) CHECK(y[k] == want[k], "%d: %d", k, (int)y[k]);
    for (int k = 0; sizes[1] == 3 && k < 3; k++) CHECK(z[k] == (k ? (float)(4 + 2 * k) : 0), "%d: %g", k, z[k]);
    ind_graph_destroy(graph);
    if (module) ind_module_destroy(module);
}

/* Counts, which are integers, and sums of floats in one op; a base and a result of different types on the way. */
static void test_counted(ind_context *c) {
    static const char text[] =
        "graph t {\n input g : f16[4, 3]\n input i : i64[4]\n"
        " y = embedding_dense_backward(g, i, 3, scale_grad_by_freq=true)\n z = cast(y, dtype=f32)\n"
        " output z\n}";
    const uint16_t g[12] = {0x3c00, 0x4000, 0x4200, 0x3c00, 0x4000, 0x4200,
                            0x4400, 0x4400, 0x4400, 0x3c00, 0x4000, 0x4200};
    const int64_t i[4] = {2, 0, 2, 2};
    const float want[9] = {1, 2, 3, 0, 0, 0, 2, 8.0f / 3, 10.0f / 3}; /* (1 + 4 + 1) / 3 .. */
    float z[9];
    ind_graph *graph = ind_graph_parse(c, text, NULL);
    ind_compile_desc d = {.deterministic = true};
    ind_module *m = NULL;
    ind_binding io[] = {{"g", (void *)g}, {"i", (void *)i}, {"z", z}};
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .memory = IND_MEMORY_HOST};
    CHECK(graph && !ind_compile(graph, &d, &m) && !ind_run(m, &run), "%s", ind_error(c));
    for (int k = 0; m && k < 9; k++) CHECK(fabsf(z[k] - want[k]) <= want[k] / 512, "%d: %g, not %g", k, z[k], want[k]);
    ind_graph_destroy(graph);
    if (m) ind_module_destroy(m);
}

/* ---- whole rows: one key for each of them */

#define ROWS 70
#define COLS 9

static float row_x[ROWS][COLS], row_v[MAX_POINTS][COLS], row_y[2][4][ROWS][COLS];

/* Sums by lists come in any order where more points meet than these hold: their values are looked at, not their bits.
 */
static ind_status compile_lists(ind_context *c, ind_graph *g, ind_module **m) {
    ind_compile_desc d = {.emit_only = cubins_arch != NULL, .realise.list_bytes = -((int64_t)1 << 40)};
    ind_status status = cubins_arch ? ind_target_named(c, cubins_arch, &d.target) : IND_OK;
    return status ? status : ind_compile(g, &d, m);
}

static ind_module *compile_rows(ind_context *c, int hint, bool lists) {
    char text[700];
    snprintf(
        text, sizeof text,
        "graph rows {\n size N in [0, 6000] hint %d\n input x : f32[70, 9]\n input i : i64[N]\n input v : f32[N, 9]\n"
        " a = index_add(x, i, v, dim=0)\n b = index_put(x, v, [i], accumulate=true)\n"
        " d = embedding_dense_backward(v, i, num_weights=70, padding_idx=3)\n e = %s(x, i, v, dim=0)\n"
        " output a, b, d, e\n}",
        hint, lists ? "index_add" : "index_copy");
    ind_graph *g = ind_graph_parse(c, text, NULL);
    ind_module *m = NULL;
    CHECK(g && !(lists ? compile_lists(c, g, &m) : cubins_compile(g, true, &m)), "%s", ind_error(c));
    const char *schedule = m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "";
    CHECK(strstr(schedule, lists ? "lists of the points" : hint > 1000 ? SORTS : LOOKS), "%s", schedule);
    ind_graph_destroy(g);
    return m;
}

/* Element [p][k] of result `which`: what it should be, and in *most how far from that it may be. */
static double row_element(int which, int64_t n, int p, int k, double *most) {
    double sum = which == 2 ? 0 : row_x[p][k], size = fabs(sum);
    int count = 1;
    for (int64_t j = 0; j < n; j++) {
        if (at[j] != p || (which == 2 && p == 3)) continue;
        sum = which == 3 ? row_v[j][k] : sum + row_v[j][k];
        size += fabs(row_v[j][k]);
        count++;
    }
    *most = which == 3 ? 0 : size * count * 6e-8;
    return sum;
}

static void run_rows(ind_context *c, ind_module *m, int64_t n, bool lists) {
    char sizes[32];
    snprintf(sizes, sizeof sizes, "N=%d", (int)n);
    for (int p = 0; p < ROWS; p++)
        for (int k = 0; k < COLS; k++) row_x[p][k] = (float)uniform();
    for (int64_t j = 0; j < n; j++) {
        at[j] = n == CROWD ? ROWS / 2 : (int64_t)(uniform() * uniform() * ROWS);
        for (int k = 0; k < COLS; k++) row_v[j][k] = (float)(2 * uniform() - 1);
    }
    for (int k = 0; k < 2; k++) {
        ind_binding io[] = {{"x", row_x},       {"i", at},          {"v", row_v},      {"a", row_y[k][0]},
                            {"b", row_y[k][1]}, {"d", row_y[k][2]}, {"e", row_y[k][3]}};
        ind_run_desc run = {.bindings = io, .num_bindings = 7, .sizes = sizes, .memory = IND_MEMORY_HOST};
        CHECK(!ind_run(m, &run), "rows %s: %s", sizes, ind_error(c));
    }
    int wrong = 0;
    for (int e = 0; e < 4 * ROWS * COLS; e++) {
        const int which = e / (ROWS * COLS), p = e / COLS % ROWS, k = e % COLS;
        uint32_t bits;
        double most, wanted = row_element(lists ? which % 3 : which, n, p, k, &most);
        memcpy(&bits, &row_y[0][which][p][k], sizeof bits);
        if (!lists) all_bits = (all_bits ^ bits) * 1099511628211ull;
        wrong += !(fabs(row_y[0][which][p][k] - wanted) <= most);
    }
    CHECK(!wrong, "rows %s: %d wrong elements", sizes, wrong);
    CHECK(lists || !memcmp(row_y[0], row_y[1], sizeof row_y[0]), "rows %s: a second run differs", sizes);
}

static void test_rows(ind_context *c, int hint, bool lists) {
    static const int64_t lengths[] = {0, 1, 63, 64, 65, 700, 5001, CROWD};
    ind_module *m = compile_rows(c, hint, lists);
    if (m && cubins_arch) cubins_check(c, m, "rows");
    for (size_t j = 0; m && !cubins_arch && j < sizeof lengths / sizeof *lengths; j++)
        run_rows(c, m, lengths[j], lists);
    if (m) ind_module_destroy(m);
}

static void test_out_of_range(ind_context *c, const ordered_case *s) {
    ind_module *m = compile(c, s);
    make(s, 9);
    for (int64_t p = 0; p < s->places; p++) want[p] = y[0][p] = x[p];
    at[4] = s->places;
    ind_binding io[] = {{"x", x}, {"i", at}, {"v", v}, {"y", y[0]}};
    ind_run_desc run = {.bindings = io, .num_bindings = 4, .sizes = "N=9", .memory = IND_MEMORY_HOST};
    CHECK(m && ind_run(m, &run) == IND_ERROR_INDEX_OUT_OF_RANGE, "%s: %s", s->name, ind_error(c));
    if (m) ind_module_destroy(m);
}

int main(int argc, char **argv) {
    static const int64_t lengths[] = {0, 1, 2, 33, 700, 5001, CROWD};
    ind_context *c;
    if (argc > 2 && !strcmp(argv[1], "cubins")) cubins_arch = argv[2];
    if (ind_context_create(NULL, &c)) return 1;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ind_module *m = compile(c, &cases[k]);
        if (m && cubins_arch) cubins_check(c, m, cases[k].name);
        for (size_t j = 0; m && !cubins_arch && j < sizeof lengths / sizeof *lengths; j++)
            run_case(c, m, &cases[k], lengths[j]);
        if (m) ind_module_destroy(m);
    }
    test_rows(c, 5000, false);
    test_rows(c, 100, false);
    test_rows(c, 100, true);
    if (!cubins_arch) {
        test_untouched(c);
        test_counted(c);
        test_chosen(c);
        test_out_of_range(c, &cases[0]);
        test_out_of_range(c, &cases[1]);
    }
    ind_context_destroy(c);
    if (argc == 2) printf("bits %016llx\n", (unsigned long long)all_bits);
    return check_summary();
}
