/* Launches that begin before the one before is done, on a GPU or the emulation of one (IND_DEVICE=cuda): the same bits
   as one after another, launched, replayed and as a node of a graph of the caller's own, with an opaque call between
   them. The emulation fails a launch whose threads do not wait first. On the host there is nothing to compare but the
   results. */
#include "inductor.h"

#include "check.h"
#include "driver.h"

#include <string.h>

#define ROWS 70
#define COLS 40

/* Memory is used again, so that a launch that begins too early reads and writes what the ones before still need. */
static const char text[] = "graph chain {\n"
                           "  size N in [1, 500] hint 64\n"
                           "  input x : f32[N, 40]\n"
                           "  s = sum(x, dim=[0], keepdim=true)\n"
                           "  a = sub(x, s)\n"
                           "  r = softmax(a, dim=-1)\n"
                           "  t = sum(r, dim=[0], keepdim=true)\n"
                           "  b = mul(r, t)\n"
                           "  o : f32[N, 40] = extern(\"nothing\", b, mutates=[0])\n"
                           "  c = cumsum(o, 1)\n"
                           "  m = amax(c, dim=[0], keepdim=true)\n"
                           "  y = div(c, m)\n"
                           "  output y\n"
                           "}\n";

static float x[ROWS * COLS], y[ROWS * COLS], first[ROWS * COLS];

static ind_status nothing(const ind_extern_call *call) {
    return call->num_inputs == 1 ? IND_OK : IND_INVALID_ARGUMENT;
}

typedef struct way {
    ind_context *c;
    ind_module *m;
    ind_instance *n;
    void *pointer[2];
} way;

static bool make(way *w, bool dependent) {
    const ind_extern_desc call = {.name = "nothing", .host = nothing, .cuda = nothing};
    const ind_compile_desc desc = {.fusion.disable_dependent_launch = !dependent};
    if (ind_context_create(NULL, &w->c) || ind_extern_register(w->c, &call)) return false;
    ind_graph *g = ind_graph_parse(w->c, text, NULL);
    bool ok = g && !ind_compile(g, &desc, &w->m) && !ind_instance_create(w->m, NULL, &w->n) &&
              !ind_module_alloc(w->m, sizeof x, &w->pointer[0]) && !ind_module_alloc(w->m, sizeof y, &w->pointer[1]) &&
              !ind_module_upload(w->m, w->pointer[0], x, sizeof x);
    CHECK(ok, "%s", ind_error(w->c));
    return ok;
}

/* The outputs, after they were wiped out and `launch` has run. */
static void check_run(way *w, const char *what, bool (*launch)(way *w)) {
    memset(y, 0xff, sizeof y);
    bool ok = !ind_module_upload(w->m, w->pointer[1], y, sizeof y) && launch(w) && !ind_instance_check(w->n) &&
              !ind_module_download(w->m, y, w->pointer[1], sizeof y);
    CHECK(ok, "%s: %s", what, ind_error(w->c));
    if (first[0] == 0) memcpy(first, y, sizeof y);
    CHECK(!memcmp(first, y, sizeof y), "%s: other bits", what);
}

static const ind_launch_desc *desc_of(way *w) {
    static ind_launch_desc desc;
    desc = (ind_launch_desc){.pointers = w->pointer, .sizes = "N=70"};
    return &desc;
}

static bool launch_many(way *w) {
    for (int i = 0; i < 20; i++)
        if (ind_launch(w->n, desc_of(w))) return false;
    return true;
}

static bool replay_many(way *w) {
    if (ind_capture(w->n, desc_of(w))) return false;
    for (int i = 0; i < 20; i++)
        if (ind_replay(w->n, NULL)) return false;
    return true;
}

/* The captured graph twice, one after the other, in a graph of the caller's. */
static bool run_as_child(way *w) {
    driver d;
    void *graph = NULL, *node = NULL, *executable = NULL;
    if (!driver_enter(&d)) return false;
    bool ok = !d.cuGraphCreate(&graph, 0) &&
              !d.cuGraphAddChildGraphNode(&node, graph, NULL, 0, ind_captured_graph(w->n)) &&
              !d.cuGraphAddChildGraphNode(&node, graph, &node, 1, ind_captured_graph(w->n)) &&
              !d.cuGraphInstantiateWithFlags(&executable, graph, 0) && !d.cuGraphLaunch(executable, NULL) &&
              !d.cuStreamSynchronize(NULL) && !d.cuGraphExecDestroy(executable) && !d.cuGraphDestroy(graph);
    return driver_leave(&d) && ok;
}

static void test_way(bool dependent) {
    way w = {0};
    if (make(&w, dependent)) {
        const bool cuda = ind_module_query_stats(w.m).device == IND_DEVICE_CUDA;
        CHECK(!cuda || w.m->desc.schedule->dependent_launch == dependent, "the policy is not taken");
        check_run(&w, "launched", launch_many);
        check_run(&w, "replayed", replay_many);
        if (cuda) check_run(&w, "as a child of another graph", run_as_child);
    }
    for (int i = 0; i < 2 && w.m; i++) ind_module_free(w.m, w.pointer[i]);
    ind_context_destroy(w.c);
}

int main(int argc, char **argv) {
    for (int i = 0; i < ROWS * COLS; i++) x[i] = (float)(i * 7 % 31 - 15) / 64;
    test_way(true);
    test_way(false);
    uint64_t bits = ind__hash(first, sizeof first, 1);
    if (argc == 2 && !strcmp(argv[1], "bits")) printf("bits %016llx\n", (unsigned long long)bits);
    return check_summary();
}
