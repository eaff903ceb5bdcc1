/* test_donate.c - inputs whose memory the caller gives away: its contents, refused cases, and the bytes that a run writes. */
#include "inductor.h"

#include <string.h>

#include "check.h"

enum { N = 64, BYTES = N * (int)sizeof(float) };

static ind_module *compiled(ind_context *ctx, const char *body) {
    char text[1000];
    ind_module *m = NULL;
    snprintf(text, sizeof text, "graph t {\n%s}\n", body);
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    CHECK(g && !ind_compile(g, &(ind_compile_desc){.device = IND_DEVICE_HOST}, &m), "%s", ind_error(ctx));
    if (!m) exit(check_summary());
    return m;
}

static const ind_binding_info *binding(const ind_module *m, const char *name) {
    for (int i = 0; i < ind_module_num_bindings(m); i++)
        if (!strcmp(ind_module_query_binding(m, i)->name, name)) return ind_module_query_binding(m, i);
    return NULL;
}

static int64_t workspace(ind_module *m) {
    int64_t bytes = -1;
    return ind_formula_eval(m, ind_module_workspace(m), NULL, &bytes) ? -1 : bytes;
}

/* The text keeps it; C says the same. */
static void test_graph(ind_context *ctx) {
    static const char want[] = "graph t {\n  input x : f32[64]\n  y : f32[64] = exp(x)\n  donate x\n  output y\n}\n";
    ind_graph *g = ind_graph_create(ctx, "t"), *read = ind_graph_parse(ctx, want, NULL);
    ind_tensor x = ind_input(g, "x", "f32[64]");
    CHECK(!ind_donate(x), "%s", ind_error(ctx));
    ind_output(g, "y", ind_exp(x));
    CHECK(!strcmp(ind_graph_text(g), want), "%s", ind_graph_text(g));
    CHECK(read && !strcmp(ind_graph_text(read), want), "%s", ind_error(ctx));
    ind_graph_destroy(read);
    ind_graph_destroy(g);
}

/* An intermediate lies there after the last reader; in that reader's kernel where it goes element by element. */
static void test_intermediates(ind_context *ctx) {
    static const char late[] =
        "  input x : f32[8, 8]\n  input w : f32[8, 8]\n  a = matmul(x, w)\n  b = softmax(a, -1)\n"
        "  c = matmul(b, w)\n  d = softmax(c, 0)\n  output d\n";
    char donated[300];
    ind_module *m = compiled(ctx, late);
    CHECK(workspace(m) > BYTES, "%lld", (long long)workspace(m));
    CHECK(!binding(m, "x")->donated && binding(m, "d")->takes_over == -1, "nothing is donated");
    ind_module_destroy(m);
    snprintf(donated, sizeof donated, "%s  donate x\n", late);
    m = compiled(ctx, donated);
    CHECK(workspace(m) == BYTES, "%lld", (long long)workspace(m));
    CHECK(binding(m, "x")->donated && !binding(m, "w")->donated, "x alone is donated");
    ind_module_destroy(m);
}

/* An output may be bound to the same memory; its values are those that it has elsewhere. */
static void test_output(ind_context *ctx) {
    float x[N], w[N], apart[N];
    ind_module *m = compiled(
        ctx, "  input w : f32[64]\n  input x : f32[64]\n  p = mul(x, w)\n  y = add(p, x)\n  donate x\n  output y\n");
    CHECK(binding(m, "y")->takes_over == 1, "y takes over %d", binding(m, "y")->takes_over);
    CHECK(workspace(m) == 0, "%lld", (long long)workspace(m));
    for (int i = 0; i < N; i++) x[i] = (float)i, w[i] = (float)(N - i);
    ind_binding io[] = {{"x", x}, {"w", w}, {"y", apart}};
    ind_run_desc run = {.bindings = io, .num_bindings = 3};
    CHECK(!ind_run(m, &run), "%s", ind_error(ctx));
    io[2].data = x;
    CHECK(!ind_run(m, &run), "%s", ind_error(ctx));
    for (int i = 0; i < N; i++) {
        float want = (float)(i * (N - i) + i);
        CHECK(apart[i] == want && x[i] == want, "[%d] %g, in place %g; %g", i, (double)apart[i], (double)x[i],
              (double)want);
    }
    ind_module_destroy(m);
}

/* What another thread of the kernel still reads is not written over. */
static void test_other_elements(ind_context *ctx) {
    ind_module *m =
        compiled(ctx, "  input x : f32[8, 8]\n  t = transpose(x, 0, 1)\n  y = add(x, t)\n  donate x\n  output y\n");
    CHECK(binding(m, "y")->takes_over == -1, "y takes over %d", binding(m, "y")->takes_over);
    ind_module_destroy(m);
    m = compiled(ctx, "  input x : f32[64]\n  input w : f32[64]\n  y = exp(x)\n  p = mul(y, x)\n  z, i = sort(p)\n  "
                      "donate x\n  output y, z\n");
    CHECK(binding(m, "y")->takes_over == -1 || binding(m, "z")->takes_over == -1, "one memory, two outputs");
    ind_module_destroy(m);
}

/* Memory that is given away twice, or that something else lies in. */
static void test_shared(ind_context *ctx) {
    float m0[N] = {0}, m1[2 * N] = {0}, m2[N] = {0}, scalar[1];
    ind_module *m = compiled(ctx, "  input w : f32[64]\n  input x : f32[64]\n  input v : f32[64]\n  y = mul(x, w)\n"
                                  "  s = sum(v)\n  z = exp(s)\n  donate x\n  donate v\n  output y, z\n");
    const struct {
        float *w, *x, *v, *y;
        bool good;
    } cases[] = {
        {m0, m1, m1 + N, m2, true},  {m0, m1, m1 + N, m1, true},      {m1, m1, m2, m0, false},
        {m0, m1, m1, m2, false},     {m0, m1, m1 + N / 2, m2, false}, {m1 + 1, m1, m2, m0, false},
        {m0, m1, m2, m1 + 1, false}, {m0, m1, m2, m2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ind_binding io[] = {{"w", cases[i].w}, {"x", cases[i].x}, {"v", cases[i].v}, {"y", cases[i].y}, {"z", scalar}};
        ind_status status = ind_run(m, &(ind_run_desc){.bindings = io, .num_bindings = 5});
        CHECK(status == (cases[i].good ? IND_OK : IND_ERROR_INVALID_ARGUMENT), "case %d: %s", (int)i, ind_error(ctx));
        bool said = status && strstr(ind_error(ctx), "is donated, but shares memory with");
        CHECK(said != cases[i].good, "case %d: %s", (int)i, ind_error(ctx));
    }
    ind_module_destroy(m);
}

static void test_refused(ind_context *ctx) {
    static const char *const bad[][2] = {
        {"  const w : f32[4]\n  donate w\n", "donate: w is not an input"},
        {"  input x : f32[4]\n  y = exp(x)\n  donate y\n", "donate: y is not an input"},
        {"  input x : f32[4]\n  y = exp(x)\n  mutate x = y\n  donate x\n", "donate: x is mutated"},
        {"  input x : f32[4]\n  y = exp(x)\n  donate x\n  mutate x = y\n", "mutate: x is donated"},
        {"  input x : f32[4]\n  donate x\n  add_(x, 1)\n", "x is donated, so it cannot be changed in place"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[300];
        snprintf(text, sizeof text, "graph t {\n%s}\n", bad[i][0]);
        CHECK(!ind_graph_parse(ctx, text, NULL) && strstr(ind_error(ctx), bad[i][1]), "%s", ind_error(ctx));
    }
}

/* A size that comes from data is read back after the run, when the caller has the donated memory again. */
static void test_sizes_from_data(ind_context *ctx) {
    ind_module *m = compiled(ctx, "  input x : i16[3]\n  input r : i32[3]\n"
                                  "  y : i16[n] = repeat_interleave(x, r, dim=0, max_output_size=100)\n"
                                  "  donate r\n  output y\n");
    ind_instance *n = NULL;
    int16_t x[3] = {1, 2, 3}, y[100];
    int32_t r[4] = {2, 0, 3, 0};
    int64_t size = -1;
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(ctx));
    CHECK(!ind_launch(n, &(ind_launch_desc){.pointers = (void *[]){x, r, y}}), "%s", ind_instance_error(n));
    memset(r, 0x77, sizeof r);
    CHECK(!ind_instance_data_sizes(n, &size, 1) && size == 5, "%lld", (long long)size);
    CHECK(y[0] == 1 && y[1] == 1 && y[2] == 3 && y[4] == 3, "%d %d", y[1], y[2]);
    ind_instance_destroy(n);
    ind_module_destroy(m);
}

int main(void) {
    ind_context *ctx;
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST, .verify = 1}, &ctx)) return 1;
    test_graph(ctx);
    test_intermediates(ctx);
    test_output(ctx);
    test_other_elements(ctx);
    test_shared(ctx);
    test_sizes_from_data(ctx);
    test_refused(ctx);
    ind_context_destroy(ctx);
    return check_summary();
}
