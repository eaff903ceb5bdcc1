/* What is reduced of the results of rows, in the rows' launch where those are few, on the device that IND_DEVICE names
   (the host, if none). Launches of two instances take turns, with as many rows as one launch takes, and with more, for
   which there are two: each must find the words between blocks at 0. Then a captured graph is replayed. All numbers are
   small integers, so that what is wanted is exact. */
#include "inductor.h"

#include "check.h"

#include <string.h>

enum { MOST = 700, COLS = 300, LAUNCHES = 8 };

/* Two values of each row are handed over, of 4 and of 2 bytes; of one the rows are stored, too. */
static const char text[] = "graph finish {\n"
                           "  size B in [0, 100000] hint 8\n"
                           "  input x : f32[B, 300]\n"
                           "  m = amax(x, dim=[1])\n"
                           "  n = amin(x, dim=[1])\n"
                           "  h = cast(n, dtype=f16)\n"
                           "  w = mul(m, h)\n"
                           "  s = sum(w)\n"
                           "  output m, s\n"
                           "}\n";

enum { X, M, S, BINDINGS };

static float x[MOST * COLS], m[MOST], s;
static const struct {
    void *host;
    size_t bytes;
} bindings[BINDINGS] = {{x, sizeof x}, {m, sizeof m}, {&s, sizeof s}};
static const int64_t lengths[LAUNCHES] = {64, 1, MOST, 7, 256, 257, 0, 129};

static void fill(void) {
    for (int i = 0; i < MOST * COLS; i++) x[i] = (float)(i * 31 % 1009 % 61 - 30);
}

static void check_results(ind_module *module, void *const *memory, int64_t rows) {
    float sum = 0;
    for (int b = M; b < BINDINGS; b++)
        CHECK(!ind_module_download(module, bindings[b].host, memory[b], bindings[b].bytes), "download");
    for (int64_t i = 0; i < rows; i++) {
        float most = x[i * COLS], least = most;
        for (int j = 1; j < COLS; j++) {
            const float v = x[i * COLS + j];
            most = v > most ? v : most;
            least = v < least ? v : least;
        }
        CHECK(m[i] == most, "B = %d: row %d has %g, not %g", (int)rows, (int)i, m[i], most);
        sum += most * least;
    }
    CHECK(s == sum, "B = %d: sum %g, not %g", (int)rows, s, sum);
}

/* What is built with the module, and what is left to the first launch that needs it. */
static void test_built(const ind_module_stats stats, ind_module *module) {
    if (stats.device != IND_DEVICE_CUDA) return;
    CHECK(stats.num_sources == 1, "%d texts for rows that one launch takes", stats.num_sources);
    ind_verdict few = ind_would_compile(module, "B=32"), some = ind_would_compile(module, "B=64"),
                many = ind_would_compile(module, "B=700");
    CHECK(few.num_late == 0 && few.num_general == 0, "%d, %s", few.num_late, few.reason);
    CHECK(some.num_late == 1 && some.num_general == 1, "%d, %s", some.num_late, some.reason);
    CHECK(many.num_late == 2 && many.num_general == 1, "%d, %s", many.num_late, many.reason);
}

static void test_launches(ind_context *context, ind_module *module) {
    ind_instance *n[2] = {NULL, NULL};
    void *memory[BINDINGS] = {0};
    char sizes[32];
    for (int b = 0; b < BINDINGS; b++) {
        CHECK(!ind_module_alloc(module, bindings[b].bytes, &memory[b]), "%s", ind_error(context));
        CHECK(!ind_module_upload(module, memory[b], bindings[b].host, bindings[b].bytes), "%s", ind_error(context));
    }
    for (int i = 0; i < 2; i++) CHECK(!ind_instance_create(module, NULL, &n[i]), "%s", ind_error(context));
    ind_launch_desc launch = {.pointers = memory, .sizes = sizes};
    for (int i = 0; i < 2 * LAUNCHES; i++) {
        snprintf(sizes, sizeof sizes, "B=%d", (int)lengths[i % LAUNCHES]);
        ind_instance *of = n[i % 3 == 0];
        CHECK(!ind_launch(of, &launch) && !ind_instance_check(of), "%s", ind_instance_error(of));
        check_results(module, memory, lengths[i % LAUNCHES]);
    }
    for (int i = 0; i < 3; i++) {
        if (i == 0) CHECK(!ind_capture(n[0], &launch), "%s", ind_instance_error(n[0]));
        memset(&s, 0x5a, sizeof s);
        CHECK(!ind_module_upload(module, memory[S], &s, sizeof s), "%s", ind_error(context));
        CHECK(!ind_replay(n[0], NULL) && !ind_instance_check(n[0]), "%s", ind_instance_error(n[0]));
        check_results(module, memory, lengths[LAUNCHES - 1]);
    }
    for (int i = 0; i < 2; i++) ind_instance_destroy(n[i]);
    for (int b = 0; b < BINDINGS; b++) ind_module_free(module, memory[b]);
}

/* Is it made in one launch, whatever the device, unless that is switched off? */
static void test_plan(ind_context *context, const char *graph, bool off, bool wanted) {
    ind_graph *g = ind_graph_parse(context, graph, NULL);
    ind_compile_desc d = {.emit_only = true, .fusion.disable_finish = off};
    ind_module *module = NULL;
    CHECK(g && !ind_target_named(context, "sm_90a", &d.target) && !ind_compile(g, &d, &module), "%s",
          ind_error(context));
    const char *plan = module ? ind_module_text(module, IND_STAGE_PLAN) : "";
    CHECK(!strstr(plan, "row reductions, final reduction: ") == !wanted, "%s", plan);
    ind_module_destroy(module);
    ind_graph_destroy(g);
}

/* Where the rows' launch can do no more: what is left is 8 bytes, a part of the rows, or met along two dimensions, or
   rows are likely many. */
static void test_refusals(ind_context *context) {
    test_plan(context, "graph g {\n  input x : f64[9, 300]\n  m = amax(x, dim=[1])\n  s = sum(m)\n  output s\n}\n",
              false, false);
    test_plan(context,
              "graph g {\n  input x : f32[9, 300]\n  m = amax(x, dim=[1])\n  p = slice(m, dim=0, start=1, end=8)\n"
              "  s = sum(p)\n  output s, m\n}\n",
              false, false);
    test_plan(context,
              "graph g {\n  input x : f32[5, 7, 300]\n  input t : f32[7, 5]\n  m = amax(x, dim=[2])\n"
              "  u = transpose(t, dim0=0, dim1=1)\n  v = mul(m, u)\n  s = sum(v)\n  output m, s\n}\n",
              false, false);
    test_plan(context,
              "graph g {\n  size B in [1, 100000] hint 5000\n  input x : f32[B, 300]\n  m = amax(x, dim=[1])\n"
              "  s = sum(m)\n  output s\n}\n",
              false, false);
}

int main(void) {
    ind_module *module = NULL;
    ind_context *context;
    if (ind_context_create(NULL, &context)) return 1;
    fill();
    test_plan(context, text, false, true);
    test_plan(context, text, true, false);
    test_refusals(context);
    ind_graph *g = ind_graph_parse(context, text, NULL);
    CHECK(g && !ind_compile(g, NULL, &module), "%s", ind_error(context));
    if (module) test_built(ind_module_query_stats(module), module);
    if (module) test_launches(context, module);
    if (module && ind_module_query_stats(module).device == IND_DEVICE_CUDA)
        CHECK(ind_would_compile(module, "B=700").num_late == 0, "%s", ind_would_compile(module, "B=700").reason);
    ind_module_destroy(module);
    ind_graph_destroy(g);
    ind_context_destroy(context);
    return check_summary();
}
