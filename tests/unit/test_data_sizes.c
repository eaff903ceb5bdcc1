/* Sizes that come from data on the device that IND_DEVICE names (the host, if none): one launch is captured as a CUDA
   graph and replayed over data that give it other sizes each time; an extern call in it gets the address of such a size. All numbers are small integers, so what is wanted is exact. `test_data_sizes bits` prints a number made of all
   results: it must be the same whatever the order of threads. */
#include "inductor.h"

#include "check.h"
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 230
#define COLS 8

static const char text[] = "graph chosen {\n"
                           "  size N in [1, 500] hint 100\n"
                           "  input x : f32[N, 8]\n"
                           "  input k : i32[N]\n"
                           "  m = gt(k, 0)\n"
                           "  rows = index(x, [m])\n"
                           "  twice = mul(rows, 2.0)\n"
                           "  y : f32[u0, 8] = extern(\"copy_rows\", twice)\n"
                           "  s = sum(y, [0])\n"
                           "  kinds, times = unique(k, return_counts=true)\n"
                           "  places = nonzero(m)\n"
                           "  output y, s, kinds, times, places\n"
                           "}\n";

enum { X, K, Y, S, KINDS, TIMES, PLACES, BINDINGS };

static const struct {
    const char *name;
    int64_t elements; /* the most, and one row behind it */
    size_t bytes;     /* of an element */
} bindings[BINDINGS] = {{"x", ROWS *COLS, 4},   {"k", ROWS, 4},         {"y", (ROWS + 1) * COLS, 4}, {"s", COLS, 4},
                        {"kinds", ROWS + 1, 4}, {"times", ROWS + 1, 8}, {"places", ROWS + 1, 8}};

static float x[ROWS * COLS], y[(ROWS + 1) * COLS], s[COLS];
static int32_t k[ROWS], kinds[ROWS + 1];
static int64_t times[ROWS + 1], places[ROWS + 1];
static void *const on_host[BINDINGS] = {x, k, y, s, kinds, times, places};
static uint64_t all_bits = 14695981039346656037ull;

/* ---- the extern call: the whole capacity is copied, and the host reads the count */

static int calls;
static const int64_t *told; /* where the size was said to be */

static ind_status copy_rows(const ind_extern_call *call) {
    const ind_extern_tensor *from = &call->input[0], *to = &call->output[0];
    size_t bytes = (size_t)(from->size[0] * from->stride[0]) * sizeof(float);
    calls++;
    told = from->count;
    CHECK(from->count && from->count == to->count, "no place of the size");
    CHECK(from->size[0] == ROWS && to->size[0] == ROWS && from->stride[0] == COLS, "%d rows", (int)from->size[0]);
    if (call->device == IND_DEVICE_HOST) return memcpy(to->data, from->data, bytes), IND_OK;
    driver d;
    if (!driver_load(&d)) return IND_ERROR_NOT_FOUND;
    int failed = d.cuMemcpyDtoDAsync_v2((unsigned long long)(uintptr_t)to->data,
                                        (unsigned long long)(uintptr_t)from->data, bytes, call->stream);
    return failed ? IND_ERROR_DEVICE : IND_OK;
}

/* ---- data, and what comes out */

enum { SOME, NONE, ALL, LAST, NUM_FILLS };

static void fill(int how) {
    for (int i = 0; i < ROWS * COLS; i++) x[i] = (float)((i * 37 + how) % 101 - 50);
    for (int i = 0; i < ROWS; i++) {
        int v = (i * 29 + 7) % 13 - 6;
        k[i] = how == NONE ? -(i % 3) : how == ALL ? 1 + i : how == LAST ? i == ROWS - 1 : v;
    }
}

static int ascending(const void *a, const void *b) {
    return *(const int32_t *)a < *(const int32_t *)b ? -1 : *(const int32_t *)a > *(const int32_t *)b;
}

static void check_chosen(int64_t chosen) {
    double sum[COLS] = {0};
    int64_t n = 0;
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        if (k[i] <= 0) continue;
        wrong += places[n] != i;
        for (int j = 0; j < COLS; j++) {
            sum[j] += 2 * x[i * COLS + j];
            wrong += y[n * COLS + j] != 2 * x[i * COLS + j];
        }
        n++;
    }
    for (int j = 0; j < COLS; j++) wrong += s[j] != (float)sum[j];
    CHECK(n == chosen && !wrong, "%d chosen, not %d; %d elements are wrong", (int)chosen, (int)n, wrong);
}

static void check_unique(int64_t different) {
    int32_t sorted[ROWS];
    int64_t n = 0;
    int wrong = 0;
    memcpy(sorted, k, sizeof sorted);
    qsort(sorted, ROWS, sizeof *sorted, ascending);
    for (int i = 0; i < ROWS;) {
        int end = i;
        while (end < ROWS && sorted[end] == sorted[i]) end++;
        wrong += kinds[n] != sorted[i] || times[n] != end - i;
        n++, i = end;
    }
    CHECK(n == different && !wrong, "%d different, not %d; %d are wrong", (int)different, (int)n, wrong);
}

/* Memory beyond the capacity is unchanged. */
static void check_behind(void) {
    static const uint8_t untouched[COLS * sizeof(float)] = {0x5a, 0x5a, 0x5a, 0x5a};
    CHECK(!memcmp(&y[ROWS * COLS], untouched, 4) && !memcmp(&kinds[ROWS], untouched, 4) &&
              !memcmp(&times[ROWS], untouched, 4) && !memcmp(&places[ROWS], untouched, 4),
          "memory behind a result was written");
}

static void take_bits(const void *data, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++) all_bits = (all_bits ^ ((const uint8_t *)data)[i]) * 1099511628211ull;
}

static void replay(ind_module *m, ind_instance *n, void *const *memory, int how) {
    int64_t sizes[2] = {-1, -1};
    fill(how);
    for (int b = Y; b < BINDINGS; b++) memset(on_host[b], 0x5a, (size_t)bindings[b].elements * bindings[b].bytes);
    for (int b = 0; b < BINDINGS; b++)
        CHECK(!ind_module_upload(m, memory[b], on_host[b], (size_t)bindings[b].elements * bindings[b].bytes), "upload");
    CHECK(!ind_replay(n, NULL) && !ind_instance_check(n), "%s", ind_instance_error(n));
    CHECK(!ind_instance_data_sizes(n, sizes, 2), "%s", ind_instance_error(n));
    for (int b = Y; b < BINDINGS; b++)
        CHECK(!ind_module_download(m, on_host[b], memory[b], (size_t)bindings[b].elements * bindings[b].bytes),
              "download");
    if (sizes[0] < 0 || sizes[0] > ROWS || sizes[1] < 1 || sizes[1] > ROWS) {
        CHECK(false, "sizes %d and %d", (int)sizes[0], (int)sizes[1]);
        return;
    }
    check_chosen(sizes[0]);
    check_unique(sizes[1]);
    check_behind();
    take_bits(y, sizes[0] * COLS * 4);
    take_bits(kinds, sizes[1] * 4);
}

static void test_replayed(ind_context *c, ind_module *m) {
    ind_instance *n = NULL;
    void *memory[BINDINGS] = {0};
    ind_binding io[BINDINGS];
    for (int b = 0; b < BINDINGS; b++) {
        size_t bytes = (size_t)bindings[b].elements * bindings[b].bytes;
        CHECK(!ind_module_alloc(m, bytes, &memory[b]) && !ind_module_upload(m, memory[b], on_host[b], bytes), "%s",
              ind_error(c));
        io[b] = (ind_binding){bindings[b].name, memory[b]};
    }
    char sizes[32];
    snprintf(sizes, sizeof sizes, "N=%d", ROWS);
    ind_launch_desc launch = {.bindings = io, .num_bindings = BINDINGS, .sizes = sizes};
    bool host = ind_module_query_stats(m).device == IND_DEVICE_HOST;
    calls = 0;
    CHECK(!ind_instance_create(m, NULL, &n) && !ind_capture(n, &launch), "%s", ind_instance_error(n));
    CHECK(host || ind_captured_graph(n), "no graph was captured");
    for (int how = 0; how < NUM_FILLS; how++) replay(m, n, memory, how);
    replay(m, n, memory, SOME);
    CHECK(calls == (host ? NUM_FILLS + 1 : 1) && told, "%d calls", calls); /* a captured call is made once */
    ind_instance_destroy(n);
    for (int b = 0; b < BINDINGS; b++) ind_module_free(m, memory[b]);
}

/* Only dimension 0 may be one, and by itself: strides are numbers. */
static void test_refused(ind_context *c) {
    static const char *const statements[] = {
        "t = transpose(rows, 0, 1)\n y : f32[8] = extern(\"copy_rows\", t)",
        "t = flatten(rows)\n y : f32[8] = extern(\"copy_rows\", t)", "y : f32[8, u0] = extern(\"copy_rows\", rows)",
        "y : f32[2*u0] = extern(\"copy_rows\", rows)", "y : f32[u0] = extern(\"copy_rows\", rows, workspace=4*u0)"};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        char graph[400];
        snprintf(graph, sizeof graph,
                 "graph t {\n input x : f32[9, 8]\n input m : bool[9]\n rows = index(x, [m])\n %s\n output y\n}",
                 statements[i]);
        ind_graph *g = ind_graph_parse(c, graph, NULL);
        CHECK(!g && ind_error_status(c) == IND_ERROR_NOT_SUPPORTED, "%s: %s", statements[i], g ? "accepted" : ind_error(c));
        ind_graph_destroy(g);
    }
}

int main(int argc, char **argv) {
    ind_extern_desc copy = {.name = "copy_rows", .host = copy_rows, .cuda = copy_rows};
    ind_module *m = NULL;
    ind_context *c;
    if (ind_context_create(NULL, &c)) return 1;
    CHECK(!ind_extern_register(c, &copy), "%s", ind_error(c));
    ind_graph *g = ind_graph_parse(c, text, NULL);
    CHECK(g && !ind_compile(g, NULL, &m), "%s", ind_error(c));
    if (m) test_replayed(c, m);
    test_refused(c);
    ind_module_destroy(m);
    ind_graph_destroy(g);
    ind_context_destroy(c);
    if (argc == 2 && !strcmp(argv[1], "bits")) printf("bits %016llx\n", (unsigned long long)all_bits);
    return check_summary();
}
