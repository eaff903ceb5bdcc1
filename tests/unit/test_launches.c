/* Launches that begin before the one before is done, on a GPU or the emulation of one (IND_DEVICE=cuda): the same bits
   as one after another, launched, replayed and as a node of a graph of the caller's own, with an extern call between
   them. The emulation fails a launch whose threads do not wait first. On the host there is nothing to compare but the
   results. Of modules captured one after another, too, where only those right behind one of the same context begin so.
 */
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

/* Its first launch reads a constant. */
static const char constant_text[] = "graph scaled {\n"
                                    "  size N in [1, 500] hint 64\n"
                                    "  const k : f32[40]\n"
                                    "  input x : f32[N, 40]\n"
                                    "  t = mul(x, k)\n"
                                    "  s = sum(t, dim=[0], keepdim=true)\n"
                                    "  a = sub(x, s)\n"
                                    "  y = softmax(a, dim=-1)\n"
                                    "  output y\n"
                                    "}\n";

static float x[ROWS * COLS], y[ROWS * COLS], first[ROWS * COLS];

static ind_status nothing(const ind_extern_call *call) {
    return call->num_inputs == 1 ? IND_OK : IND_ERROR_INVALID_ARGUMENT;
}

typedef struct way {
    ind_context *c;
    ind_module *m, *constant_m;
    ind_instance *n, *constant_n;
    void *pointer[3], *scale;
} way;

static bool make(way *w, bool dependent) {
    const ind_extern_desc call = {.name = "nothing", .host = nothing, .cuda = nothing};
    const ind_compile_desc desc = {.fusion.disable_dependent_launch = !dependent};
    if (ind_context_create(NULL, &w->c) || ind_extern_register(w->c, &call)) return false;
    ind_graph *g = ind_graph_parse(w->c, text, NULL);
    bool ok = g && !ind_compile(g, &desc, &w->m) && !ind_instance_create(w->m, NULL, &w->n) &&
              !ind_module_alloc(w->m, sizeof x, &w->pointer[0]) && !ind_module_alloc(w->m, sizeof y, &w->pointer[1]) &&
              !ind_module_alloc(w->m, sizeof y, &w->pointer[2]) && !ind_module_alloc(w->m, sizeof x, &w->scale) &&
              !ind_module_upload(w->m, w->pointer[0], x, sizeof x);
    g = ok ? ind_graph_parse(w->c, constant_text, NULL) : NULL;
    ok = g && !ind_compile(g, &desc, &w->constant_m) &&
         !ind_module_constant(w->constant_m, "k", x, COLS * sizeof *x, IND_MEMORY_HOST) &&
         !ind_module_upload(w->constant_m, w->scale, x, COLS * sizeof *x) &&
         !ind_instance_create(w->constant_m, NULL, &w->constant_n);
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

/* ---- modules one after another */

/* What a stream gets, a letter each: c the chain, k the module with a constant, both of w, p the same with the caller's
   memory for it; o the chain of another context; m a copy of the caller's. What one writes, the next one reads. */
static bool enqueue(const char *what, way *w, way *other, const driver *d, void *stream) {
    bool ok = true;
    for (int i = 0; what[i] && ok; i++) {
        const int from = i ? 1 + (i - 1) % 2 : 0, to = 1 + i % 2;
        const ind_binding binding[] = {{"x", w->pointer[from]}, {"y", w->pointer[to]}, {"k", w->scale}};
        const ind_launch_desc desc = {
            .stream = stream, .bindings = binding, .num_bindings = what[i] == 'p' ? 3 : 2, .sizes = "N=70"};
        ind_instance *n = what[i] == 'k' || what[i] == 'p' ? w->constant_n : what[i] == 'o' ? other->n : w->n;
        if (what[i] == 'm')
            ok = !d->cuMemcpyDtoDAsync_v2((uintptr_t)w->pointer[to], (uintptr_t)w->pointer[from], sizeof x, stream);
        else
            ok = !ind_launch(n, &desc);
    }
    return ok;
}

typedef struct edge { /* CUgraphEdgeData */
    unsigned char from_port, to_port, type, reserved[5];
} edge;

/* Edges over which a node may begin before the one before it is done. The results, of a replay, have the bits of the
   same launches that are not captured. */
static int early_edges(const char *what, way *w, way *other, const driver *d, void *stream) {
    static float plain[ROWS * COLS], replayed[ROWS * COLS];
    void *graph = NULL, *executable = NULL, *from[100], *to[100];
    edge found[100];
    size_t num = 100;
    int early = 0;
    void *const result = w->pointer[1 + (strlen(what) - 1) % 2];
    bool ok = enqueue(what, w, other, d, stream) && !d->cuStreamSynchronize(stream) &&
              !ind_module_download(w->m, plain, result, sizeof plain) && !d->cuStreamBeginCapture_v2(stream, 1);
    ok = ok && enqueue(what, w, other, d, stream);
    ok = !d->cuStreamEndCapture(stream, &graph) && ok && !d->cuGraphGetEdges_v2(graph, from, to, found, &num);
    for (size_t i = 0; i < num && ok; i++) early += found[i].type == 1;
    memset(y, 0xff, sizeof y);
    ok = ok && !ind_module_upload(w->m, w->pointer[1], y, sizeof y) &&
         !ind_module_upload(w->m, w->pointer[2], y, sizeof y) && !d->cuGraphInstantiateWithFlags(&executable, graph, 0);
    for (int i = 0; i < 20 && ok; i++) ok = !d->cuGraphLaunch(executable, stream);
    ok = ok && !d->cuStreamSynchronize(stream) && !ind_module_download(w->m, replayed, result, sizeof replayed);
    CHECK(ok && !memcmp(plain, replayed, sizeof plain), "%s: %s", what, ind_error(w->c));
    if (executable) ok = !d->cuGraphExecDestroy(executable) && ok;
    if (graph) ok = !d->cuGraphDestroy(graph) && ok;
    return ok ? early : -1;
}

/* All launches of a module but the first, and that one right behind another module of the same context, unless it reads
   a constant that the other one may write. */
static void test_modules(way *w, way *other) {
    static const struct row {
        const char *what;
        int chains, constants, firsts;
    } table[] = {{"cc", 2, 0, 1}, {"cmc", 2, 0, 0}, {"ck", 1, 1, 1}, {"kc", 1, 1, 1}, {"cp", 1, 1, 0},
                 {"pc", 1, 1, 1}, {"co", 2, 0, 0},  {"oc", 2, 0, 0}, {"k", 0, 1, 0},  {"cpcmckcocc", 7, 2, 4}};
    const ind_plan *p = w->m->desc.plan;
    driver d;
    void *stream = NULL;
    CHECK(driver_enter(&d) && !d.cuStreamCreate(&stream, 1), "no stream");
    const int chain = early_edges("c", w, other, &d, stream), constant = early_edges("k", w, other, &d, stream);
    const int more = w->m->desc.schedule->dependent_launch && p->target.sm >= 90;
    CHECK((chain > 1) == more && (constant > 0) == more, "%d and %d early edges of a module", chain, constant);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct row *t = &table[i];
        const int early = early_edges(t->what, w, other, &d, stream);
        CHECK(early == t->chains * chain + t->constants * constant + t->firsts * more, "%s: %d early edges", t->what,
              early);
    }
    CHECK(!d.cuStreamDestroy_v2(stream) && driver_leave(&d), "the stream");
}

static void free_run(way *w) {
    for (int i = 0; i < 3 && w->m; i++) ind_module_free(w->m, w->pointer[i]);
    if (w->m) ind_module_free(w->m, w->scale);
    ind_context_destroy(w->c);
}

static void test_run(bool dependent) {
    way w = {0}, other = {0};
    if (make(&w, dependent) && make(&other, dependent)) {
        const bool cuda = ind_module_query_stats(w.m).device == IND_DEVICE_CUDA;
        CHECK(!cuda || w.m->desc.schedule->dependent_launch == dependent, "the policy is not taken");
        check_run(&w, "launched", launch_many);
        check_run(&w, "replayed", replay_many);
        if (cuda) check_run(&w, "as a child of another graph", run_as_child);
        if (cuda) test_modules(&w, &other);
    }
    free_run(&other);
    free_run(&w);
}

int main(int argc, char **argv) {
    for (int i = 0; i < ROWS * COLS; i++) x[i] = (float)(i * 7 % 31 - 15) / 64;
    test_run(true);
    test_run(false);
    uint64_t bits = ind__hash(first, sizeof first, 1);
    if (argc == 2 && !strcmp(argv[1], "bits")) printf("bits %016llx\n", (unsigned long long)bits);
    return check_summary();
}
