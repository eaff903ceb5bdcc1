/* When a bad index is reported: where the op that has it makes an element with it, be it fused with others or alone, as
   PyTorch does on a GPU. A result without elements asks nothing of its indices. On the host, or with IND_DEVICE=cuda on
   a GPU or the emulation of one. */
#include "inductor.h"

#include "check.h"

#include <string.h>

static ind_context *c;

typedef struct test_row {
    const char *text, *sizes;
    const char *error; /* NULL: none */
} test_row;

/* All graphs have x : f32[4, 3, R], w : f32[5], i : i64[1] and y : f32[4, 4]; i is 7. */
#define GRAPH(ops)                                                                                                     \
    "graph g {\n  size R in [0, 100]\n  input x : f32[4, 3, R]\n  input w : f32[5]\n  input i : i64[1]\n" ops          \
    "  output y\n}\n"

#define REDUCED GRAPH("  e = index_select(x, 1, i)\n  y = sum(e, dim=[2])\n")
#define STORED  GRAPH("  e = index_select(x, 1, i)\n  y = softmax(e, -1)\n")
#define SCANNED GRAPH("  e = index_select(x, 1, i)\n  y = cumsum(e, 2)\n")
#define BOTH    GRAPH("  e = index_select(x, 1, i)\n  s = sum(e, dim=[2])\n  v = index_select(w, 0, i)\n  y = add(s, v)\n")
#define SHARED  GRAPH("  v = index_select(w, 0, i)\n  e = mul(x, v)\n  y = sum(e, dim=[2])\n")
#define BAGS                                                                                                           \
    GRAPH("  o = add(i, 2)\n  t = view(x, [12, R])\n  z = mul(i, 0)\n  y = embedding_bag(t, z, o, mode=\"sum\")\n")

static const test_row rows[] = {
    {REDUCED, "R=0", NULL},
    {REDUCED, "R=5", "index_select: index 7 is outside [0, 3)"},
    {STORED, "R=0", NULL},
    {STORED, "R=5", "index_select: index 7 is outside [0, 3)"},
    {SCANNED, "R=0", NULL},
    {SCANNED, "R=5", "index_select: index 7 is outside [0, 3)"},
    {BOTH, "R=0", "index_select: index 7 is outside [0, 5)"}, /* v has an element */
    {SHARED, "R=0", "index_select: index 7 is outside [0, 5)"},
    {BAGS, "R=0", NULL},
    {BAGS, "R=5", "embedding_bag: index 9 is outside"},
};

static void test(const test_row *t, bool fused) {
    static float x[60], w[5], y[60];
    static int64_t i[1] = {7};
    ind_graph *g = ind_graph_parse(c, t->text, NULL);
    ind_compile_desc desc = {.fusion.disable = !fused};
    ind_module *m = NULL;
    ind_binding io[] = {{"x", x}, {"w", w}, {"i", i}, {"y", y}};
    ind_run_desc run = {.bindings = io, .num_bindings = 4, .sizes = t->sizes, .memory = IND_MEMORY_HOST};
    CHECK(g && !ind_compile(g, &desc, &m), "%s", ind_error(c));
    ind_status status = m ? ind_run(m, &run) : IND_OK;
    CHECK(status == (t->error ? IND_ERROR_INDEX_OUT_OF_RANGE : IND_OK), "%s, %s: %s\n%s", t->sizes,
          fused ? "fused" : "apart", status ? ind_error(c) : "nothing is reported", t->text);
    CHECK(!status || !t->error || strstr(ind_error(c), t->error), "%s", ind_error(c));
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

int main(void) {
    if (ind_context_create(NULL, &c)) return 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test(&rows[i], true);
        test(&rows[i], false);
    }
    ind_context_destroy(c);
    return check_summary();
}
