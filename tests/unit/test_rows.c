/* test_rows.c - kernels that work on rows: which switch of the policy keeps apart what a kernel would join, with the
 * reason that is given, and what the verifier says of schedules that were broken afterwards: of what is changed in
 * place where it is read, and of sorts. Values are in tests/numerics (cases_rows.py), counts of elements in
 * tests/schedule. */
#include "inductor.h"

#include <string.h>

#include "check.h"

static ind_module *compile(ind_context *ctx, const char *text, const ind_fusion_policy *policy) {
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    ind_compile_desc desc = {.device = IND_DEVICE_HOST};
    ind_module *m = NULL;
    if (policy) desc.fusion = *policy;
    ind_status status = g ? ind_compile(g, &desc, &m) : IND_ERROR_PARSE;
    CHECK(!status && m, "%s", ind_error(ctx));
    ind_graph_destroy(g);
    return m;
}

static const char softmax_in_place[] = "graph g {\n  input x : f32[8, 6]\n  y = softmax(x, -1)\n  mutate x = y\n}\n";
static const char scans[] =
    "graph g {\n  input x : f32[8, 6]\n  a = cumsum(x, 1)\n  b = cumprod(a, 1)\n  output b\n}\n";
static const char scanned_again[] = "graph g {\n  input x : f32[8, 6]\n  a = cumsum(x, 1)\n  m = amax(a, [1], true)\n"
                                    "  b = sub(a, m)\n  output b\n}\n";
static const char sorted[] = "graph g {\n  input x : f32[8, 6]\n  y = exp(x)\n  v, i = sort(y, 1)\n  a = neg(v)\n"
                             "  output a, i\n}\n";
static const char top[] = "graph g {\n  input x : f32[8, 60]\n  v, i = topk(x, 4)\n  w = softmax(v, -1)\n"
                          "  output w, i\n}\n";

/* What stays apart although it works on the same rows, and why. */
static const struct {
    const char *name, *text, *reason;
    ind_fusion_policy policy;
} apart[] = {
    {"no change of rows", softmax_in_place, "one changes in place a buffer that the other accesses", {.disable_row_mutation = true}},
    {"one scan", scans, "too many scans for one kernel", {.max_scans = 1}},
    {"no scan again", scanned_again, "it reads a reduction of the scan's results", {.disable_rescans = true}},
    {"a sort alone", sorted, "fusion with sorts is disabled", {.disable_sorts = true}},
    {"no prefix", top, "different iteration domains", {.disable_prefixes = true}},
    {"two sorts",
     "graph g {\n  input x : f32[8, 6]\n  v, i = sort(x, 1)\n  u, j = sort(x, 1, true)\n  output v, u\n}\n",
     "two sorts",
     {0}},
    {"other elements are changed",
     "graph g {\n  input x : f32[8, 6]\n  y = softmax(x, -1)\n  z = roll(y, [1], [1])\n  mutate x = z\n  output y\n}\n",
     "not fused",
     {0}},
    {"other elements are read",
     "graph g {\n  input x : f32[6, 6]\n  t = transpose(x, 0, 1)\n  s = sum(x, [1], true)\n  y = mul(x, s)\n"
     "  z = add(y, t)\n  mutate x = z\n}\n",
     "not fused",
     {0}},
    {"an index from the first elements",
     "graph g {\n  input x : f32[8, 60]\n  input t : f32[60]\n  v, i = topk(x, 4)\n  j = add(i, 0)\n"
     "  y = index(t, [j])\n  output y\n}\n",
     "different iteration domains",
     {0}},
};

static int kernels(const ind_module *m) {
    return (int)m->desc.schedule->num_kernels;
}

static void test_apart(ind_context *ctx) {
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        ind_module *m = compile(ctx, apart[i].text, &apart[i].policy);
        const char *said = m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "";
        CHECK(m && kernels(m) > 1 && strstr(said, apart[i].reason), "%s: %s", apart[i].name, said);
        ind_module_destroy(m);
    }
    static const char *const together[] = {softmax_in_place, scans, scanned_again, sorted, top};
    for (size_t i = 0; i < sizeof together / sizeof *together; i++) {
        ind_module *m = compile(ctx, together[i], NULL);
        CHECK(m && kernels(m) == 1, "%s", m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "");
        ind_module_destroy(m);
    }
}

static void expect_broken(ind_context *ctx, const ind_module *m, const char *rule) {
    ind_status status = ind__schedule_verify(m->desc.schedule);
    CHECK(status == IND_ERROR_VERIFY && strstr(ind_error(ctx), rule), "%s: %s", rule, status ? ind_error(ctx) : "nothing");
}

/* The n-th instruction with this op in the only kernel. */
static ind__inst *find(const ind_module *m, ind_loop_op op, int n) {
    ind_body *b = m->desc.schedule->kernel[0].body;
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == op && !n--) return &b->inst[i];
    return NULL;
}

static const char changed_elsewhere[] = "before the loops that change them in place";

static void test_in_place(ind_context *ctx) {
    ind_module *m = compile(ctx, softmax_in_place, NULL);
    ind__inst *load = m && kernels(m) == 1 ? find(m, IND_LOOP_LOAD, 0) : NULL;
    CHECK(load, "no kernel that reads");
    if (load) {
        ind_body *b = m->desc.schedule->kernel[0].body;
        ind_expr index = b->index[load->index], column = b->var[b->rank];
        b->index[load->index] = ind_expr_sub(index, column); /* another element of the row */
        expect_broken(ctx, m, changed_elsewhere);
        b->index[load->index] = index;
        CHECK(!ind__schedule_verify(m->desc.schedule), "%s", ind_error(ctx));
    }
    ind_module_destroy(m);
}

/* One old value for a row, which every thread reads. */
static void test_row_in_place(ind_context *ctx) {
    ind_module *m = compile(ctx,
                            "graph g {\n  input x : f32[8, 6]\n  input m : f32[8]\n  s = sum(x, [1])\n  t = add(m, s)\n"
                            "  u = unsqueeze(m, 1)\n  y = sub(x, u)\n  mutate m = t\n  output y\n}\n",
                            NULL);
    ind__inst *load = NULL;
    CHECK(m && kernels(m) == 1, "%s", m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "");
    if (!m) return;
    ind_body *b = m->desc.schedule->kernel[0].body;
    for (int n = 0; !load && find(m, IND_LOOP_LOAD, n); n++) {
        ind__inst *at = find(m, IND_LOOP_LOAD, n);
        if (!ind__expr_depends(b->index[at->index], b->var[b->rank])) load = at;
    }
    CHECK(load, "the old value is not read once for a row");
    if (load) {
        ind_expr index = b->index[load->index];
        b->index[load->index] = ind_expr_add(index, ind_int(m->context, 1)); /* that of another row */
        expect_broken(ctx, m, changed_elsewhere);
        b->index[load->index] = index;
        CHECK(!ind__schedule_verify(m->desc.schedule), "%s", ind_error(ctx));
    }
    ind_module_destroy(m);
}

/* The parts of a concatenation are stored by one launch as long as it can be proven that they do not meet. */
static void test_concatenation(ind_context *ctx) {
    ind_module *m = compile(ctx,
                            "graph g {\n  size N in [1, 50]\n  input a : f32[N, 6]\n  input x : f32[N, 4]\n"
                            "  c = softmax(a, -1)\n  e = cat([c, x], dim=1)\n  output e\n}\n",
                            NULL);
    CHECK(m && kernels(m) == 2 && m->desc.schedule->num_launches == 1, "%s",
          m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "");
    for (uint32_t i = 1; m && i < m->desc.lowered->num_buffers; i++) {
        ind__buffer *b = &m->desc.lowered->buffer[i];
        const ind__buffer was = *b;
        if (!was.mutates) continue;
        CHECK(!ind__schedule_verify(m->desc.schedule), "%s", ind_error(ctx));
        b->part_begin = ind_expr_sub(was.part_begin, ind_int(ctx, 1)); /* they would meet */
        expect_broken(ctx, m, "the kernels of a launch are independent");
        *b = was;
        b->part_begin = ind_expr_add(was.part_begin, ind_int(ctx, 1)); /* it stores elsewhere */
        expect_broken(ctx, m, "the kernels of a launch are independent");
        *b = was;
        b->part_end = (ind_expr){0}; /* any version */
        expect_broken(ctx, m, "the kernels of a launch are independent");
        *b = was;
    }
    ind_module_destroy(m);
}

static void test_sorts(ind_context *ctx) {
    ind_module *m = compile(ctx, top, NULL);
    ind__inst *store = m && kernels(m) == 1 ? find(m, IND_LOOP_STORE, 0) : NULL;
    CHECK(store && store->arg[1], "what is stored of the first elements has no mask");
    if (store) {
        store->arg[1] = 0;
        expect_broken(ctx, m, "stores of its first elements are masked");
    }
    ind_module_destroy(m);
    m = compile(ctx, "graph g {\n  input x : f32[2, 5000]\n  v, i = sort(x, 1)\n  output v, i\n}\n", NULL);
    store = m ? find(m, IND_LOOP_STORE, 0) : NULL;
    CHECK(store, "a long sort stores its results");
    if (store) {
        store->flags = IND__INST_SCATTER; /* somewhere, not along the row */
        expect_broken(ctx, m, "a long sort stores both results");
    }
    ind_module_destroy(m);
}

int main(void) {
    ind_context *ctx = NULL;
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST}, &ctx)) return 1;
    test_apart(ctx);
    test_in_place(ctx);
    test_row_in_place(ctx);
    test_concatenation(ctx);
    test_sorts(ctx);
    ind_context_destroy(ctx);
    return check_summary();
}
