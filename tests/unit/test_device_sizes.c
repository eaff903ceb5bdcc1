/* A decoder's step whose position lies in device memory, on the device that IND_DEVICE names (the host, if none). One
   launch is captured and replayed at 100 positions: it writes the new row into the caches and attends to the rows up
   to it. Results are compared with sums in double, and with a launch at each position that is not captured: the same
   bits. `test_device_sizes bits` prints a number made of all results. */
#include "inductor.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, GROUPS = 2, FEATURES = 32, ROWS = 130, STEPS = 100 };

static const char text[] = "graph step {\n"
                           "  size N in [2, 4096] hint 4096\n"
                           "  size P device in [0, N - 1] hint 1000\n"
                           "  input q : f32[4, 1, 32]\n"
                           "  input k : f32[2, 1, 32]\n"
                           "  input v : f32[2, 1, 32]\n"
                           "  input keys : f32[2, N, 32]\n"
                           "  input values : f32[2, N, 32]\n"
                           "  kw = slice_scatter(keys, k, dim=1, start=P, end=P + 1)\n"
                           "  vw = slice_scatter(values, v, dim=1, start=P, end=P + 1)\n"
                           "  ka = slice(kw, dim=1, start=0, end=P + 1)\n"
                           "  va = slice(vw, dim=1, start=0, end=P + 1)\n"
                           "  y = scaled_dot_product_attention(q, ka, va, enable_gqa=true)\n"
                           "  mutate keys = kw\n"
                           "  mutate values = vw\n"
                           "  output y\n"
                           "}\n";

enum { P, Q, K, V, KEYS, VALUES, Y, BINDINGS };

static int64_t position;
static float q[HEADS * FEATURES], k[GROUPS * FEATURES], v[GROUPS * FEATURES], y[HEADS * FEATURES];
static float keys[GROUPS * ROWS * FEATURES], values[GROUPS * ROWS * FEATURES];

static const struct {
    const char *name;
    void *data;
    size_t bytes;
} bindings[BINDINGS] = {{"P", &position, sizeof position},
                        {"q", q, sizeof q},
                        {"k", k, sizeof k},
                        {"v", v, sizeof v},
                        {"keys", keys, sizeof keys},
                        {"values", values, sizeof values},
                        {"y", y, sizeof y}};

static uint64_t all_bits = 14695981039346656037ull;

static float drawn(void) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / (float)(1 << 24) - 0.5f;
}

/* Computes the result for head h from the caches of the host. */
static void expected(int h, int64_t rows, double *out) {
    const int group = h / (HEADS / GROUPS);
    double most = -INFINITY, sum = 0, score[ROWS];
    for (int64_t t = 0; t < rows; t++) {
        score[t] = 0;
        for (int d = 0; d < FEATURES; d++)
            score[t] += (double)q[h * FEATURES + d] * keys[(group * ROWS + t) * FEATURES + d] / sqrt(FEATURES);
        most = score[t] > most ? score[t] : most;
    }
    for (int d = 0; d < FEATURES; d++) out[d] = 0;
    for (int64_t t = 0; t < rows; t++) sum += score[t] = exp(score[t] - most);
    for (int64_t t = 0; t < rows; t++)
        for (int d = 0; d < FEATURES; d++) out[d] += score[t] / sum * values[(group * ROWS + t) * FEATURES + d];
}

/* Puts the new rows into the caches of the host, and compares the results. */
static void check_result(void) {
    double worst = 0;
    for (int g = 0; g < GROUPS; g++) {
        memcpy(&keys[(g * ROWS + position) * FEATURES], &k[g * FEATURES], FEATURES * sizeof *k);
        memcpy(&values[(g * ROWS + position) * FEATURES], &v[g * FEATURES], FEATURES * sizeof *v);
    }
    for (int h = 0; h < HEADS; h++) {
        double out[FEATURES];
        expected(h, position + 1, out);
        for (int d = 0; d < FEATURES; d++) worst = fmax(worst, fabs(out[d] - y[h * FEATURES + d]));
    }
    CHECK(worst < 1e-5, "position %d: an error of %g", (int)position, worst);
}

/* One step at the position: captured, or launched. */
static void step(ind_module *m, ind_instance *n, void *const *memory, const ind_launch_desc *launch) {
    static const int given[] = {P, Q, K, V};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        CHECK(!ind_module_upload(m, memory[given[i]], bindings[given[i]].data, bindings[given[i]].bytes), "upload");
    CHECK(!(launch ? ind_launch(n, launch) : ind_replay(n, NULL)) && !ind_instance_check(n), "%s",
          ind_instance_error(n));
    CHECK(!ind_module_download(m, y, memory[Y], sizeof y), "download");
}

/* A position outside its range is an error; the nearest one in it is taken. The next launch is right again. */
static void test_out_of_range(ind_module *m, ind_instance *n, void *const *memory, const ind_launch_desc *launch) {
    static const int64_t given[] = {ROWS, -3, (int64_t)1 << 40}, taken[] = {ROWS - 1, 0, ROWS - 1};
    static float found[GROUPS * ROWS * FEATURES];
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        for (int e = 0; e < GROUPS * FEATURES; e++) k[e] = drawn();
        CHECK(!ind_module_upload(m, memory[P], &given[i], sizeof given[i]) &&
                  !ind_module_upload(m, memory[K], k, sizeof k),
              "upload");
        CHECK(!ind_launch(n, launch), "%s", ind_instance_error(n));
        CHECK(ind_instance_check(n) == IND_ERROR_INDEX_OUT_OF_RANGE && strstr(ind_instance_error(n), "size P: index"),
              "%s", ind_instance_error(n));
        CHECK(!ind_module_download(m, found, memory[KEYS], sizeof found), "download");
        CHECK(!memcmp(&found[taken[i] * FEATURES], k, FEATURES * sizeof *k), "row %d was not written", (int)taken[i]);
    }
    position = 5;
    CHECK(!ind_module_upload(m, memory[P], &position, sizeof position), "upload");
    CHECK(!ind_launch(n, launch) && !ind_instance_check(n), "%s", ind_instance_error(n));
}

static void test_steps(ind_context *c, ind_module *m) {
    ind_instance *captured = NULL, *launched = NULL;
    void *memory[2][BINDINGS] = {{0}};
    ind_binding io[2][BINDINGS];
    ind_launch_desc launch[2];
    for (int i = 0; i < ROWS * FEATURES * GROUPS; i++)
        keys[i] = values[i] = NAN; /* nothing after the position counts */
    for (int set = 0; set < 2; set++) {
        for (int b = 0; b < BINDINGS; b++) {
            CHECK(!ind_module_alloc(m, bindings[b].bytes, &memory[set][b]), "%s", ind_error(c));
            CHECK(!ind_module_upload(m, memory[set][b], bindings[b].data, bindings[b].bytes), "%s", ind_error(c));
            io[set][b] = (ind_binding){bindings[b].name, memory[set][b]};
        }
        launch[set] = (ind_launch_desc){.bindings = io[set], .num_bindings = BINDINGS, .sizes = "N=130"};
    }
    CHECK(!ind_instance_create(m, NULL, &captured) && !ind_instance_create(m, NULL, &launched), "%s", ind_error(c));
    CHECK(!ind_capture(captured, &launch[0]), "%s", ind_instance_error(captured));
    for (position = 0; position < STEPS; position++) {
        float first[HEADS * FEATURES];
        for (int i = 0; i < HEADS * FEATURES; i++) q[i] = drawn();
        for (int i = 0; i < GROUPS * FEATURES; i++) k[i] = drawn(), v[i] = drawn();
        step(m, captured, memory[0], NULL);
        memcpy(first, y, sizeof y);
        check_result();
        step(m, launched, memory[1], &launch[1]);
        CHECK(!memcmp(first, y, sizeof y), "position %d: the replay gives other bits", (int)position);
        for (size_t i = 0; i < sizeof y; i++) all_bits = (all_bits ^ ((const uint8_t *)y)[i]) * 1099511628211ull;
    }
    test_out_of_range(m, launched, memory[1], &launch[1]);
    ind_instance_destroy(captured);
    ind_instance_destroy(launched);
    for (int b = 0; b < 2 * BINDINGS; b++) ind_module_free(m, memory[b / BINDINGS][b % BINDINGS]);
}

static void test_declarations(ind_context *c) {
    static const struct {
        const char *size;
        ind_status status;
    } cases[] = {{"P device in [0, 9]", IND_OK},
                 {"P device in [2, N] hint 9", IND_OK},
                 {"P device in [0, N - 1]", IND_OK},
                 {"P device [0, 9]", IND_ERROR_PARSE},
                 {"P device in [0]", IND_ERROR_PARSE},
                 {"N device in [0, 9]", IND_ERROR_INVALID_ARGUMENT},
                 {"P.x device in [0, 9]", IND_ERROR_PARSE},
                 {"P device in [9, 3]", IND_ERROR_OUT_OF_RANGE},
                 {"P device in [0, 0]", IND_ERROR_OUT_OF_RANGE},
                 {"P device in [0, 9] hint x", IND_ERROR_PARSE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ind_graph *g = ind_graph_create(c, "declared");
        ind_size(g, "N in [4, 64]");
        const ind_expr e = ind_size(g, cases[i].size);
        CHECK(ind_graph_status(g) == cases[i].status && (e.id != 0) == !cases[i].status, "%s: %s", cases[i].size,
              ind_graph_error(g));
        ind_graph_destroy(g);
    }
}

int main(int argc, char **argv) {
    ind_module *m = NULL;
    ind_context *c;
    if (ind_context_create(NULL, &c)) return 1;
    ind_graph *g = ind_graph_parse(c, text, NULL);
    CHECK(g && !ind_compile(g, NULL, &m), "%s", ind_error(c));
    if (m) test_steps(c, m);
    test_declarations(c);
    ind_module_destroy(m);
    ind_graph_destroy(g);
    ind_context_destroy(c);
    if (argc == 2 && !strcmp(argv[1], "bits")) printf("bits %016llx\n", (unsigned long long)all_bits);
    return check_summary();
}
