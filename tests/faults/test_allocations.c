/* test_allocations.c - allocations of a whole job fail in turn: a graph from text and a graph through the API, all
 * passes, compiling, every text and JSON, running on the host device. Each time a status with a message and no leak;
 * what succeeds in spite of it computes the right result.
 *
 *   test_allocations [EVERY]   EVERY: each EVERY-th allocation fails (default 11; 1: all, as `make test-long` has it)
 */
#define _POSIX_C_SOURCE 200809L
#include "inductor.h"

#include "../unit/check.h"
#include "forks.h"

#include <stdlib.h>
#include <string.h>

static const char text[] = "graph job {\n"
                           "  size B in [1, 64] hint 4\n"
                           "  input ids : i64[B]\n"
                           "  const table : f32[10, 16]\n"
                           "  const w : f32[8, 16]\n"
                           "  const b : f32[8]\n"
                           "  x = embedding(table, ids)\n"
                           "  n = layer_norm(x, normalized_shape=[16])\n"
                           "  h = linear(n, w, b)\n"
                           "  g = gelu(h, approximate=\"tanh\")\n"
                           "  z = add(g, 0.0)\n"
                           "  t = transpose(z, 0, 1)\n"
                           "  u = softmax(t, -1)\n"
                           "  v, i = max(u, dim=0)\n"
                           "  c = cumsum(v, 0)\n"
                           "  s, k = sort(c, 0)\n"
                           "  p = gt(v, 0.2)\n"
                           "  f = masked_scatter(s, p, c)\n"
                           "  l = masked_select(s, p)\n"
                           "  q, r = unique(l, return_counts=true)\n"
                           "  o = repeat_interleave(q, r, dim=0, max_output_size=8)\n"
                           "  e = sum(o)\n"
                           "  y = add(f, e)\n"
                           "  output y, i\n"
                           "}\n";

typedef struct softcap_args {
    ind_tensor x;
    double cap;
} softcap_args;

static ind_value softcap(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const softcap_args *a = (const softcap_args *)user;
    ind_value cap = ind_op_constant(o, a->cap, IND_F32);
    return ind_op_mul(o, cap, ind_op_tanh(o, ind_op_div(o, ind_op_load(o, a->x, index, rank), cap)));
}

/* The same through the API, with an op of its own between. */
static ind_graph *build(ind_context *ctx) {
    ind_graph *g = ind_graph_create(ctx, "job");
    if (!g) return NULL;
    ind_size(g, "B in [1, 64] hint 4");
    ind_tensor x = ind_embedding(ind_constant(g, "table", "f32[10, 16]"), ind_input(g, "ids", "i64[B]")), i;
    IND_HERE(g);
    x = ind_layer_norm(x, 1, IND_NO_TENSOR, IND_NO_TENSOR, 1e-5);
    x = ind_linear(x, ind_constant(g, "w", "f32[8, 16]"), ind_constant(g, "b", "f32[8]"));
    x = ind_gelu(x, IND_GELU_TANH);
    x = ind_softmax(ind_transpose(x, 0, 1), -1);
    x = ind_max(x, 0, false, &i);
    softcap_args args = {x, 30};
    ind_tensor capped = ind_pointwise(g, &(ind_loop_desc){.name = "softcap", .like = x, .fn = softcap, .user = &args});
    ind_output(g, "y", ind_mul(ind_sub(ind_add(capped, x), capped), ind_scalar(g, 2)));
    ind_output(g, "i", i);
    return g;
}

static ind_status print_all(ind_module *m) {
    for (int stage = IND_STAGE_GRAPH; stage <= IND_STAGE_CUDA; stage++)
        if (!ind_module_text(m, (ind_stage)stage)) return IND_ERROR_OUT_OF_MEMORY;
    if (!ind_module_json(m, IND_STAGE_SCHEDULE) || !ind_module_json(m, IND_STAGE_PLAN)) return IND_ERROR_OUT_OF_MEMORY;
    int64_t bytes;
    if (ind_formula_eval(m, ind_module_workspace(m), "B=4", &bytes)) return IND_ERROR_OUT_OF_MEMORY;
    return ind_formula_solve(m, ind_module_workspace(m), "B", "", bytes) < 4 ? IND_ERROR_OUT_OF_MEMORY : IND_OK;
}

/* After the run: it prints much, and what comes after it is repeated once for each of its allocations. */
static ind_status explain(ind_module *m) {
    ind_edge_info edge;
    static const char *const sass[64] = {"a", "b"};
    const ind_page_desc page = {.sizes = "B=4", .sass = sass, .num_sass = 64};
    if (!ind_module_page(m, &page) || !ind_module_time_ns(m).id) return IND_ERROR_OUT_OF_MEMORY;
    return ind_module_query_edge(m, 0, &edge);
}

static float table[160], w[128], b[8];

static ind_status run(ind_module *m, float y[4], int64_t index[4]) {
    int64_t ids[4] = {0, 9, 3, 3};
    ind_binding io[] = {{"ids", ids}, {"table", table}, {"b", b}, {"y", y}, {"i", index}};
    ind_status status = ind_module_constant(m, "w", w, sizeof w, IND_MEMORY_HOST);
    ind_run_desc desc = {.bindings = io, .num_bindings = 5, .sizes = "B=4", .memory = IND_MEMORY_HOST};
    return status ? status : ind_run(m, &desc);
}

/* All of it in one context; IND_OK, or the status of what failed. */
static ind_status job(ind_allocator allocator, bool api, float y[4], int64_t index[4]) {
    ind_context *ctx;
    ind_module *m = NULL;
    ind_context_desc desc = {.allocator = allocator, .device = IND_DEVICE_HOST, .num_threads = 1};
    ind_status status = ind_context_create(&desc, &ctx);
    if (status) return status;
    ind_graph *g = api ? build(ctx) : ind_graph_parse(ctx, text, "job.ind");
    if (!g || !ind_graph_text(g)) status = IND_ERROR_OUT_OF_MEMORY;
    if (!status) status = ind_compile(g, NULL, &m);
    if (status) CHECK(!m, "a module from a failed compile");
    if (!status) status = print_all(m);
    if (!status) status = run(m, y, index);
    if (!status) status = explain(m);
    bool named = ind_error_status(ctx) && *ind_error(ctx);
    CHECK(!status || named || (g && ind_graph_status(g)), "%s without a message", ind_status_text(status));
    ind_context_destroy(ctx);
    return status;
}

static void fill(float *data, int n, int seed) {
    for (int i = 0; i < n; i++) data[i] = (float)((i * 37 + seed * 11) % 23) / 11 - 1;
}

static void fail_allocations(bool api) {
    float want[4], y[4];
    int64_t want_index[4], index[4];
    check_heap heap = {0};
    forks f = {0};
    CHECK(!job((ind_allocator){check_alloc, check_free, &heap}, api, want, want_index) && !heap.live,
          "runs, %ld blocks leak", heap.live);
    int failed = checks_failed;
    ind_status status = job((ind_allocator){fork_alloc, fork_free, &f}, api, y, index);
    CHECK(status || (!memcmp(y, want, sizeof y) && !memcmp(index, want_index, sizeof index)), "other results");
    if (f.child) tell(&f, status, failed);
    CHECK(!status && !f.heap.live && f.heap.calls == heap.calls, "%ld calls, then %ld", heap.calls, f.heap.calls);
    CHECK(!f.leaks && !f.other, "%ld leaks, %ld with another status than out of memory", f.leaks, f.other);
    CHECK(f.tried == (heap.calls + every - 1) / every && f.tried > 100 && f.unnoticed < f.tried / 10,
          "%ld of %ld failed allocations (of %ld) go unnoticed", f.unnoticed, f.tried, heap.calls);
}

/* Two branches whose kernels share launches until that turns out to take memory: both plans are the schedule's. Among
 * the sizes are those where only the second one needs another block. */
static void plan_taken_back(int num_inputs) {
    char graph[8192] = "graph p {\n";
    for (int i = 0; i < num_inputs; i++) snprintf(graph + strlen(graph), 40, "input x%d: f32[4]\n", i);
    strcat(graph, "input x: f32[512, 256]\ninput y: f32[512, 256]\na = softmax(x, -1)\nb = cumsum(a, 0)\n"
                  "c = softmax(b, -1)\nd = sum(c)\ne = softmax(y, -1)\nf = cumsum(e, 0)\ng = softmax(f, -1)\n"
                  "h = sum(g)\noutput d, h\n}\n");
    check_heap heap = {0};
    ind_context *ctx;
    ind_module *m = NULL;
    ind_context_desc desc = {
        .allocator = {check_alloc, check_free, &heap}, .device = IND_DEVICE_HOST, .num_threads = 1};
    CHECK(!ind_context_create(&desc, &ctx), "no context");
    CHECK(!ind_compile(ind_graph_parse(ctx, graph, "p.ind"), NULL, &m), "%s", ind_error(ctx));
    CHECK(m && strstr(ind_module_json(m, IND_STAGE_SCHEDULE), "\"MEMORY\""), "%d inputs: no plan is taken back",
          num_inputs);
    ind_context_destroy(ctx);
    CHECK(!heap.live, "%d inputs: %ld blocks leak", num_inputs, heap.live);
}

int main(int argc, char **argv) {
    if (argc > 1) every = atol(argv[1]);
    if (every < 1) return 2;
    for (int n = 0; n <= 200; n += 10) plan_taken_back(n);
    fill(table, 160, 1);
    fill(w, 128, 2);
    fill(b, 8, 3);
    fail_allocations(false);
    fail_allocations(true);
    return check_summary();
}
