/* test_scatter.c - scatters and mutated inputs: types and errors of the ops, their C builders against their text, a KV
 * cache over 64 steps (one compile, one position written per step), order and memory of what is changed in place,
 * indices out of range, failing allocations. Values of all ops are in tests/numerics. */
#include "inductor.h"

#include <math.h>
#include <string.h>

#include "check.h"

/* ---- types and errors */

static const char head[] = "graph t {\n"
                           "  size B in [1, 64]\n"
                           "  size S in [1, 64]\n"
                           "  input x : f32[5, 4, 6, 3]\n"
                           "  input m : f32[5, 4]\n"
                           "  input n : i32[5, 4]\n"
                           "  input h : f16[5, 4]\n"
                           "  input bs : f32[B, S]\n"
                           "  input ib : i64[B]\n"
                           "  input f0 : f32[]\n"
                           "  input one : f32[1, 1]\n"
                           "  input p : bool[5, 4]\n"
                           "  input p5 : bool[5]\n"
                           "  input i : i64[7]\n"
                           "  input j : i32[2, 1]\n"
                           "  input k : i64[]\n"
                           "  input f : f32[7]\n"
                           "  input i54 : i64[5, 4]\n"
                           "  input i64x : i64[6, 4]\n"
                           "  input g : f32[2, 3, 8]\n"
                           "  input i23 : i64[2, 3]\n"
                           "  input m7 : f32[5, 7]\n"
                           "  input im : f32[2, 8, 8]\n"
                           "  input gp : f32[2, 4, 4]\n"
                           "  input ip : i64[2, 4, 4]\n"
                           "  input i5 : i64[5]\n"
                           "  input none8 : f32[2, 0, 8]\n"
                           "  y = ";

static const struct {
    const char *call, *want; /* type, or '!' and a part of the message */
} calls[] = {
    {"index(x, [i])", "f32[7, 4, 6, 3]"},
    {"index(x, [none, i, j])", "f32[5, 2, 7, 3]"},
    {"index(x, [i, none, j])", "f32[2, 7, 4, 3]"},
    {"index(x, [none, none, k])", "f32[5, 4, 3]"},
    {"index(x, [k, k, k, k])", "f32[]"},
    {"index(bs, [none, ib])", "f32[B, B]"},
    {"index(indices=[none, i], self=x)", "f32[5, 7, 6, 3]"},
    {"index(x, [p])", "f32[u0, 6, 3]"},
    {"index(x, [])", "!no index is given"},
    {"index(x, [none, none])", "!no index is given"},
    {"index(m, [i, i, i])", "!3 indices are given for m (f32[5, 4])"},
    {"index(m, [f])", "!f is f32[7]; indices must be i32 or i64"},
    {"index(m, [i, ib])", "!to broadcast they must be equal or 1"},
    {"index(m)", "!argument \"indices\" is missing"},
    {"take(x, j)", "f32[2, 1]"},
    {"take(x, f)", "!indices must be i32 or i64"},
    {"index_put(m, [none, i], m7)", "f32[5, 4]"},
    {"index_put(m, [none, i], f)", "f32[5, 4]"},
    {"index_put(m, f0, [i], accumulate=true)", "f32[5, 4]"},
    {"index_put(m, [i], m7)", "!it must broadcast to the indexed part, f32[7, 4]"},
    {"index_put(m, [i], h)", "!both must have the same element type"},
    {"index_put(m, [p], f0)", "f32[5, 4]"},
    {"index_put(m, [p5], one)", "f32[5, 4]"},
    {"index_put(m, [p], f)", "!f is f32[7]; it must broadcast to the indexed part, f32[u0]"},
    {"index_put(bs, [p], f0)", "!p has 5 (dim 0 of bool[5, 4]), bs has B (dim 0 of f32[B, S])"},
    {"put(m, i, f, true)", "f32[5, 4]"},
    {"put(m, j, f)", "!f is f32[7] with 1 dimension; exactly 2 are needed"},
    {"put(m, i, bs)", "!exactly 1 is needed"},
    {"scatter(m, 1, i54, m)", "f32[5, 4]"},
    {"scatter(m, -1, i54, value=2)", "f32[5, 4]"},
    {"scatter(m, 1, i54, 2.5)", "f32[5, 4]"},
    {"scatter(n, 1, i54, 2.5)", "!value must be an integer where self is i32[5, 4]"},
    {"scatter(m, 1, i54)", "!either src or value is needed"},
    {"scatter(m, 1, i54, m, 3)", "!either src or value is needed"},
    {"scatter(m, 2, i54, m)", "!dim 2 does not exist; dims of m (f32[5, 4]) are in [-2, 1]"},
    {"scatter(m, 1, i, m)", "!i is i64[7] with 1 dimension; exactly 2 are needed"},
    {"scatter(m, 0, i64x, m)", "!i64x (i64[6, 4]) is not known to fit into m (f32[5, 4]) in dim 0: 6 against 5"},
    {"scatter(m, 1, i54, n)", "!both must have the same element type"},
    {"scatter_add(m, 1, i64x, m)", "!i64x (i64[6, 4]) is not known to fit into m (f32[5, 4]) in dim 0: 6 against 5"},
    {"scatter_reduce(m, 1, i54, m, \"amax\", include_self=false)", "f32[5, 4]"},
    {"scatter_reduce(m, 1, i54, m, \"max\")", "!reduce is \"max\"; allowed: \"sum\", \"prod\", \"mean\""},
    {"scatter_reduce(p5, 0, i5, p5, \"mean\")", "!p5 (bool[5]) has no mean"},
    {"index_add(m, 1, i, m7)", "f32[5, 4]"},
    {"index_add(m, 0, i, m7)", "!m7 has 5 (dim 0 of f32[5, 7]), i has 7 indices (dim 0 of i64[7])"},
    {"index_add(n, 1, i54, n)", "!i54 is i64[5, 4] with 2 dimensions; exactly 1 is needed"},
    {"index_add(n, 1, k, n)", "!n (i32[5, 4]) must have one element in dim 1, as there is one index"},
    {"index_copy(m, 1, i, m7)", "f32[5, 4]"},
    {"index_fill(n, 0, i, 7)", "i32[5, 4]"},
    {"index_fill(n, 0, i, 7.5)", "!value must be an integer where self is i32[5, 4]"},
    {"embedding_dense_backward(g, i23, 11)", "f32[11, 8]"},
    {"embedding_dense_backward(g, i23, B, padding_idx=3)", "f32[B, 8]"},
    {"embedding_dense_backward(g, i, 11)", "!g is f32[2, 3, 8] with 3 dimensions; exactly 2 are needed"},
    {"embedding_dense_backward(g, i23, 0 - B)", "!num_weights may be negative"},
    {"embedding_dense_backward(g, i23, 0)", "!num_weights 0; it must be greater than 0"},
    {"embedding(m, i, padding_idx=3)", "f32[7, 4]"},
    {"avg_pool2d_backward(gp, im, [2, 2])", "f32[2, 8, 8]"},
    {"avg_pool2d_backward(gp, im, [2, 2], [2, 2], [0, 0], false, true, none)", "f32[2, 8, 8]"},
    {"avg_pool2d_backward(gp, im, [3, 3])",
     "!gp (f32[2, 4, 4]) has 4 in dim 1; the windows over im (f32[2, 8, 8]) are 2"},
    {"avg_pool2d_backward(gp, im, [2, 2], divisor_override=0)", "!divisor_override is 0"},
    {"avg_pool2d_backward(m, im, [2, 2])", "!m is f32[5, 4]; 3 or 4 dimensions are needed"},
    {"_adaptive_avg_pool2d_backward(gp, im)", "f32[2, 8, 8]"},
    {"_adaptive_avg_pool2d_backward(none8, im)", "!output size 0; it must be greater than 0"},
    {"_adaptive_avg_pool2d_backward(gp, none8)", "!input size 0; it must be greater than 0"},
    {"_adaptive_avg_pool2d_backward(gp, x)", "!x is f32[5, 4, 6, 3] with 4 dimensions; exactly 3 are needed"},
    {"max_pool2d_with_indices_backward(gp, im, [2, 2], [2, 2], [0, 0], [1, 1], false, ip)", "f32[2, 8, 8]"},
    {"max_pool2d_with_indices_backward(gp, im, gp, [2, 2])", "!gp is f32[2, 4, 4]; indices must be i32 or i64"},
};

static void check_call(ind_context *ctx, const char *call, const char *want) {
    char text[2000], type[200];
    const bool bad = want[0] == '!';
    snprintf(text, sizeof text, "%s%s\n  output y\n}\n", head, call);
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    if (bad) {
        CHECK(!g && strstr(ind_error(ctx), want + 1), "%s: %s", call, g ? "accepted" : ind_error(ctx));
    } else {
        CHECK(g != NULL, "%s: %s", call, ind_error(ctx));
        snprintf(type, sizeof type, "y : %s = ", want);
        CHECK(g && strstr(ind_graph_text(g), type), "%s: %s", call, g ? ind_graph_text(g) : "");
        ind_graph *again = g ? ind_graph_parse(ctx, ind_graph_text(g), NULL) : NULL;
        CHECK(again && !strcmp(ind_graph_text(again), ind_graph_text(g)), "%s reads back: %s", call, ind_error(ctx));
        ind_graph_destroy(again);
    }
    ind_graph_destroy(g);
}

static void check_mutate(ind_context *ctx, const char *statement, const char *want) {
    char text[400];
    snprintf(text, sizeof text,
             "graph t {\n  input x : f32[3, 4]\n  const w : f32[3, 4]\n  y = add(x, w)\n  s = sum(x, dim=[0])\n"
             "  z = cast(x, f64)\n  %s\n  output y\n}\n",
             statement);
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    if (want)
        CHECK(!g && strstr(ind_error(ctx), want), "%s: %s", statement, g ? "accepted" : ind_error(ctx));
    else
        CHECK(g && strstr(ind_graph_text(g), statement), "%s: %s", statement, g ? ind_graph_text(g) : ind_error(ctx));
    ind_graph_destroy(g);
}

static void test_types(ind_context *ctx) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) check_call(ctx, calls[i].call, calls[i].want);
    check_mutate(ctx, "mutate x = y", NULL);
    check_mutate(ctx, "mutate w = y", "mutate: w is not an input");
    check_mutate(ctx, "mutate y = x", "mutate: y is not an input");
    check_mutate(ctx, "mutate x = s", "mutate: x is f32[3, 4], its new value is f32[4]; they must be of one type");
    check_mutate(ctx, "mutate x = z", "mutate: x is f32[3, 4], its new value is f64[3, 4]; they must be of one type");
    check_mutate(ctx, "mutate x = y; mutate x = y", "expected the end of the line");
    check_mutate(ctx, "mutate x = y\n  mutate x = y", "mutate: x is given twice");
    check_mutate(ctx, "mutate x y", "expected \"=\"");
    check_mutate(ctx, "mutate x = q", "there is no tensor \"q\" above this line");
}

/* ---- the builders make what the text makes */

static void test_builders(ind_context *ctx) {
    static const char want[] =
        "graph b {\n"
        "  input x : f32[5, 4]\n"
        "  input i : i64[5, 4]\n"
        "  input r : i64[2]\n"
        "  input u : f32[5, 2]\n"
        "  index : f32[2, 4] = index(x, [r])\n"
        "  take : f32[2] = take(x, r)\n"
        "  index_put : f32[5, 4] = index_put(x, u, [none, r], accumulate=true)\n"
        "  put : f32[5, 4] = put(x, r, take)\n"
        "  scatter : f32[5, 4] = scatter(x, i, x, dim=1)\n"
        "  scatter_1 : f32[5, 4] = scatter(x, i, dim=1, value=3)\n"
        "  scatter_add : f32[5, 4] = scatter_add(x, i, x, dim=0)\n"
        "  scatter_reduce : f32[5, 4] = scatter_reduce(x, i, x, dim=0, reduce=\"prod\", "
        "include_self=false)\n"
        "  index_add : f32[5, 4] = index_add(x, r, u, dim=1, alpha=0.5)\n"
        "  index_copy : f32[5, 4] = index_copy(x, r, u, dim=1)\n"
        "  index_fill : f32[5, 4] = index_fill(x, r, dim=0, value=-1.5)\n"
        "  embedding_dense_backward : f32[9, 4] = embedding_dense_backward(index, r, "
        "num_weights=9, padding_idx=1, scale_grad_by_freq=true)\n"
        "  input im : f32[2, 8, 8]\n"
        "  input gp : f32[2, 4, 4]\n"
        "  input ip : i64[2, 4, 4]\n"
        "  avg_pool2d_backward : f32[2, 8, 8] = avg_pool2d_backward(gp, im, kernel_size=[2, 2], "
        "count_include_pad=false)\n"
        "  _adaptive_avg_pool2d_backward : f32[2, 8, 8] = _adaptive_avg_pool2d_backward(gp, im)\n"
        "  max_pool2d_with_indices_backward : f32[2, 8, 8] = "
        "max_pool2d_with_indices_backward(gp, im, ip, kernel_size=[2, 2])\n"
        "  mutate x = index_copy\n"
        "  output y = index_fill\n"
        "}\n";
    ind_graph *g = ind_graph_create(ctx, "b");
    ind_tensor x = ind_input(g, "x", "f32[5, 4]"), i = ind_input(g, "i", "i64[5, 4]"), r = ind_input(g, "r", "i64[2]");
    ind_tensor u = ind_input(g, "u", "f32[5, 2]"), gap[2] = {IND_NO_TENSOR, r};
    ind_tensor rows = ind_index(x, &r, 1), taken = ind_take(x, r);
    ind_index_put(x, gap, 2, u, true);
    ind_put(x, r, taken, false);
    ind_scatter(x, 1, i, x);
    ind_scatter_value(x, 1, i, 3);
    ind_scatter_add(x, 0, i, x);
    ind_scatter_reduce(x, 0, i, x, "prod", false);
    ind_index_add(x, 1, r, u, 0.5);
    ind_tensor copy = ind_index_copy(x, 1, r, u), fill = ind_index_fill(x, 0, r, -1.5);
    ind_embedding_dense_backward(rows, r, ind_int(ctx, 9), 1, true);
    ind_tensor im = ind_input(g, "im", "f32[2, 8, 8]"), gp = ind_input(g, "gp", "f32[2, 4, 4]");
    ind_tensor ip = ind_input(g, "ip", "i64[2, 4, 4]");
    ind_avg_pool2d_backward(gp, im, &(ind_pool_desc){.kernel_size = {2, 2}, .count_exclude_pad = true});
    ind_adaptive_avg_pool2d_backward(gp, im);
    ind_max_pool2d_with_indices_backward(gp, im, &(ind_pool_desc){.kernel_size = {2, 2}}, ip);
    CHECK(!ind_mutate(x, copy), "%s", ind_graph_error(g));
    ind_named(fill, "index_fill");
    ind_output(g, "y", fill);
    CHECK(!ind_graph_status(g) && !strcmp(ind_graph_text(g), want), "%s%s", ind_graph_error(g), ind_graph_text(g));
    CHECK(ind_mutate(IND_NO_TENSOR, IND_NO_TENSOR) == IND_ERROR_INVALID_ARGUMENT, "a mutation of nothing");
    CHECK(ind_index(x, NULL, 2).id == 0 && strstr(ind_graph_error(g), "index: 0 indices are given"), "%s",
          ind_graph_error(g));
    ind_graph_destroy(g);
}

/* ---- a KV cache: 2 heads, 64 positions, 4 features */

enum { HEADS = 2, STEPS = 64, WIDTH = 4 };

/* The position as data, and as a symbolic size; what is the same in both. */
#define INPUTS                                                                                                         \
    "  input keys : f32[2, 64, 4]\n"                                                                                   \
    "  input values : f32[2, 64, 4]\n"                                                                                 \
    "  input k : f32[2, 1, 4]\n"                                                                                       \
    "  input v : f32[2, 1, 4]\n"                                                                                       \
    "  input q : f32[2, 1, 4]\n"
#define ATTENTION                                                                                                      \
    "  turned = transpose(all_keys, 1, 2)\n"                                                                           \
    "  scores = matmul(q, turned)\n"                                                                                   \
    "  places = arange(0, 64, 1)\n"                                                                                    \
    "  seen = le(places, position)\n"                                                                                  \
    "  masked = where(seen, scores, -inf)\n"                                                                           \
    "  weights = softmax(masked, -1)\n"                                                                                \
    "  y = matmul(weights, all_values)\n"                                                                              \
    "  mutate keys = all_keys\n"                                                                                       \
    "  mutate values = all_values\n"                                                                                   \
    "  output y\n}\n"
static const char by_data[] = "graph decode {\n" INPUTS "  input position : i64[1]\n"
                              "  all_keys = index_copy(keys, 1, position, k)\n"
                              "  all_values = index_put(values, [none, position], v)\n" ATTENTION;
static const char by_size[] = "graph decode {\n  size P in [0, 63]\n" INPUTS "  position = arange(P, P + 1, 1)\n"
                              "  all_keys = slice_scatter(keys, k, dim=1, start=P, end=P + 1)\n"
                              "  v1 = select(v, 1, 0)\n"
                              "  all_values = select_scatter(values, v1, 1, P)\n" ATTENTION;

static float element(int step, int head, int w, int which) {
    return (float)((step * 7 + head * 5 + w * 3 + which * 11) % 17) / 8 - 1;
}

/* Attention of the step's query over the positions up to it, in double. */
static void attend(int step, int head, double y[WIDTH]) {
    double sum = 0;
    for (int w = 0; w < WIDTH; w++) y[w] = 0;
    for (int t = 0; t <= step; t++) {
        double score = 0;
        for (int w = 0; w < WIDTH; w++) score += (double)element(step, head, w, 2) * element(t, head, w, 0);
        sum += exp(score);
        for (int w = 0; w < WIDTH; w++) y[w] += exp(score) * element(t, head, w, 1);
    }
    for (int w = 0; w < WIDTH; w++) y[w] /= sum;
}

static void check_cache(const float *cache, int step, int which) {
    int wrong = 0;
    for (int h = 0; h < HEADS; h++)
        for (int t = 0; t < STEPS; t++)
            for (int w = 0; w < WIDTH; w++)
                wrong += cache[(h * STEPS + t) * WIDTH + w] != (t <= step ? element(t, h, w, which) : 0.0f);
    CHECK(!wrong, "step %d: %d elements of cache %d are wrong", step, wrong, which);
}

static void decode_step(ind_module *m, bool sized, int step, float *keys, float *values) {
    char sizes[16];
    float k[HEADS][WIDTH], v[HEADS][WIDTH], q[HEADS][WIDTH], y[HEADS][WIDTH];
    int64_t position = step;
    for (int h = 0; h < HEADS; h++) {
        for (int w = 0; w < WIDTH; w++) {
            k[h][w] = element(step, h, w, 0);
            v[h][w] = element(step, h, w, 1);
            q[h][w] = element(step, h, w, 2);
        }
    }
    snprintf(sizes, sizeof sizes, "P=%d", step);
    ind_binding io[] = {{"keys", keys}, {"values", values},     {"k", k}, {"v", v}, {"q", q},
                        {"y", y},       {"position", &position}};
    ind_run_desc run = {.bindings = io, .num_bindings = sized ? 6 : 7, .memory = IND_MEMORY_HOST};
    if (sized) run.sizes = sizes;
    CHECK(!ind_run(m, &run), "step %d: %s", step, "failed");
    for (int h = 0; h < HEADS; h++) {
        double want[WIDTH];
        attend(step, h, want);
        for (int w = 0; w < WIDTH; w++)
            CHECK(fabs(y[h][w] - want[w]) < 1e-5, "step %d: got %g, want %g", step, (double)y[h][w], want[w]);
    }
    check_cache(keys, step, 0);
    check_cache(values, step, 1);
}

/* What the kernels that change an input write: one position of each cache, and nothing copies one. */
static void check_bytes(ind_module *m, const char *sizes) {
    const int64_t position = HEADS * WIDTH * 4;
    int64_t bytes, caches = 0;
    for (int i = 0; i < ind_module_num_kernels(m); i++) {
        ind_kernel_info info;
        CHECK(!ind_module_query_kernel(m, i, &info) && !ind_formula_eval(m, info.bytes_written, sizes, &bytes),
              "kernel %d", i);
        CHECK(bytes < HEADS * STEPS * WIDTH * 4, "kernel %s writes %lld bytes", info.name, (long long)bytes);
        static const char *const writers[] = {"index_copy", "index_put", "slice_scatter", "select_scatter"};
        bool writes = false;
        for (int w = 0; w < 4; w++) writes = writes || strstr(info.name, writers[w]);
        caches += writes ? bytes : 0;
    }
    CHECK(caches == 2 * position, "the caches are written with %lld bytes a step", (long long)caches);
    int mutated = 0;
    for (int i = 0; i < ind_module_num_bindings(m); i++) {
        const ind_binding_info *b = ind_module_query_binding(m, i);
        CHECK(b->mutated == (!strcmp(b->name, "keys") || !strcmp(b->name, "values")), "%s", b->name);
        mutated += b->mutated;
    }
    CHECK(mutated == 2, "%d bindings are mutated", mutated);
}

static ind_module *compile(ind_context *ctx, const char *text) {
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    ind_status status = g ? ind_compile(g, &(ind_compile_desc){.device = IND_DEVICE_HOST}, &m) : IND_ERROR_PARSE;
    CHECK(!status, "%s\n%s", ind_error(ctx), text);
    ind_graph_destroy(g);
    return m;
}

static void test_decode(ind_context *ctx, bool sized) {
    float keys[HEADS * STEPS * WIDTH] = {0}, values[HEADS * STEPS * WIDTH] = {0};
    ind_module *m = compile(ctx, sized ? by_size : by_data);
    if (!m) return;
    check_bytes(m, sized ? "P=0" : "");
    for (int step = 0; step < STEPS; step++) decode_step(m, sized, step, keys, values);
    ind_module_destroy(m);
}

/* ---- order and memory: what the schedule says */

static int count(const char *text, const char *part) {
    int n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

static void test_schedule(ind_context *ctx) {
    /* nothing is copied: z dies in a, a in b; c keeps b, so it is copied once */
    ind_module *m = compile(ctx, "graph chain {\n  input x : f32[8, 6]\n  input i : i64[8, 6]\n  z = exp(x)\n"
                                 "  a = scatter_add(z, 1, i, x)\n  b = scatter_add(a, 1, i, x)\n"
                                 "  c = scatter_add(b, 1, i, x)\n  d = mul(b, c)\n  output d\n}\n");
    const char *loops = m ? ind_module_text(m, IND_STAGE_LOOPS) : "";
    CHECK(count(loops, "mutates") == 3 && count(loops, "\nloop") == 6, "%s", loops);
    const char *schedule = m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "";
    CHECK(count(schedule, "one changes in place") >= 4, "%s", schedule);
    ind_module_destroy(m);
    /* the old contents are read after: a copy; read before: none */
    m = compile(ctx, "graph late {\n  input x : f32[8, 6]\n  input i : i64[8, 6]\n  a = scatter_add(x, 1, i, x)\n"
                     "  s = sum(x)\n  mutate x = a\n  output s\n}\n");
    loops = m ? ind_module_text(m, IND_STAGE_LOOPS) : "";
    CHECK(count(loops, "mutates x") == 1 && count(loops, "\nloop") == 4, "%s", loops);
    ind_module_destroy(m);
    m = compile(ctx,
                "graph early {\n  input x : f32[8, 6]\n  input u : f32[8, 6]\n  input i : i64[8, 6]\n  s = sum(x)\n"
                "  e = exp(x)\n  a = scatter_add(x, 1, i, u)\n  t = sum(e)\n  mutate x = a\n  output s, t\n}\n");
    loops = m ? ind_module_text(m, IND_STAGE_LOOPS) : "";
    CHECK(count(loops, "mutates x") == 1 && count(loops, "\nloop") == 4, "%s", loops);
    ind_module_destroy(m);
}

/* ---- what the verifiers say of programs and schedules that were broken afterwards */

static void expect_broken(ind_context *ctx, ind_module *m, const char *rule) {
    ind_status status = ind__lowered_verify(m->desc.lowered);
    if (!status) status = ind__schedule_verify(m->desc.schedule);
    CHECK(status == IND_ERROR_VERIFY && strstr(ind_error(ctx), rule), "%s: %s", rule, status ? ind_error(ctx) : "nothing");
}

static void swap_kernels(ind_schedule *s, uint32_t a, uint32_t b) {
    ind_kernel k = s->kernel[a];
    s->kernel[a] = s->kernel[b];
    s->kernel[b] = k;
}

/* Without the link from the old version to the new one, the order of the loops says nothing about a reader of the old
   values that runs too late: what is in the memory does. */
static void test_contents(ind_context *ctx, ind_module *m, uint32_t old, uint32_t writer) {
    static const char rule[] = "when a kernel reads a buffer, or changes it in place, its memory has the buffer's values";
    ind_schedule *s = m->desc.schedule;
    uint32_t reader = 0;
    for (uint32_t k = 0; k < s->num_kernels; k++)
        for (uint32_t i = 0; i < s->kernel[k].num_reads; i++) reader = s->kernel[k].arg[i] == old ? k : reader;
    CHECK(reader < writer, "kernel %u reads the old values, kernel %u changes them", reader, writer);
    swap_kernels(s, reader, writer);
    CHECK(ind__schedule_verify(s) == IND_ERROR_VERIFY && strstr(ind_error(ctx), rule), "%s", ind_error(ctx));
    swap_kernels(s, reader, writer);
}

/* Two intermediates that are live at once in one memory, and an output in a donated input that is read again. */
static void test_memory_contents(ind_context *ctx) {
    static const char rule[] = "when a kernel reads a buffer, or changes it in place, its memory has the buffer's values";
    ind_module *m = compile(ctx, "graph g {\n  input x : f32[8, 8]\n  input w : f32[8, 8]\n  a = matmul(x, w)\n"
                                 "  b = matmul(a, w)\n  c = matmul(b, a)\n  d = matmul(c, a)\n  donate x\n  output d\n}\n");
    if (!m) return;
    ind_schedule *s = m->desc.schedule;
    CHECK(s->num_kernels == 4 && !ind__schedule_verify(s), "%s", ind_error(ctx));
    const uint32_t a = s->kernel[0].arg[s->kernel[0].num_args - 1], b = s->kernel[1].arg[s->kernel[1].num_args - 1];
    const uint32_t x = s->kernel[0].arg[0], d = s->kernel[3].arg[s->kernel[3].num_args - 1], keep = s->storage[b];
    s->storage[b] = s->storage[a];
    expect_broken(ctx, m, rule);
    s->storage[b] = keep;
    s->takes_over[d] = 0;
    CHECK(!ind__schedule_verify(s), "%s", ind_error(ctx));
    s->kernel[3].arg[0] = x; /* fine: the memory has its old values .. */
    s->takes_over[b] = x;    /* .. unless an earlier kernel may write there */
    CHECK(ind__schedule_verify(s) == IND_ERROR_VERIFY, "accepted");
    ind_module_destroy(m);
}

static void test_verifiers(ind_context *ctx) {
    static const char rule[] = "an old version is written before the in-place change, is not read after it, and shares its memory";
    ind_module *m = compile(ctx, "graph g {\n  input x : f32[8, 6]\n  input u : f32[8, 6]\n  input i : i64[8, 6]\n"
                                 "  s = sum(x, dim=[1])\n  a = scatter_add(x, 1, i, u)\n  b = exp(a)\n"
                                 "  mutate x = a\n  output s, b\n}\n");
    if (!m) return;
    ind_schedule *s = m->desc.schedule;
    ind__lowered *p = m->desc.lowered;
    uint32_t version = 0, reader = 0, writer = 0;
    for (uint32_t b = 1; b < p->num_buffers; b++) version = p->buffer[b].mutates ? b : version;
    uint32_t old = p->buffer[version].mutates;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        for (uint32_t i = 0; i < s->kernel[k].num_args; i++) {
            if (s->kernel[k].arg[i] != version) continue;
            if (i < s->kernel[k].num_reads)
                reader = k;
            else
                writer = k;
        }
    }
    CHECK(!ind__lowered_verify(p) && !ind__schedule_verify(s), "%s", ind_error(ctx));
    uint32_t storage = s->storage[version];
    s->storage[version] = 0;
    expect_broken(ctx, m, rule);
    s->storage[version] = storage;
    swap_kernels(s, reader, writer);
    expect_broken(ctx, m, "a loop runs after the writers of its inputs, and before the loops that change them in place");
    swap_kernels(s, reader, writer);
    p->buffer[old].mutated_by = 0;
    expect_broken(ctx, m, "the versions of a buffer differ in layout");
    test_contents(ctx, m, old, writer);
    p->buffer[old].mutated_by = version;
    for (uint32_t l = 0; l < p->num_loops; l++) {
        for (uint32_t i = 1; i < p->loop[l].body->num_inst; i++) {
            ind__inst *in = &p->loop[l].body->inst[i];
            if (in->op != IND_LOOP_LOAD || in->source != version) continue;
            in->source = old; /* reads what is no longer there */
            expect_broken(ctx, m, "reads a buffer that was changed before");
            in->source = version;
        }
        ind__inst *last = &p->loop[l].body->inst[p->loop[l].body->num_inst - 1];
        ind__inst keep = *last;
        last->reduction = IND_REDUCE_SUM;
        if (last->source != version) expect_broken(ctx, m, "changes a buffer that has no contents");
        last->reduction = IND_REDUCE_ANY;
        expect_broken(ctx, m, "the reduction with the old value is unknown");
        *last = keep;
    }
    CHECK(!ind__lowered_verify(p) && !ind__schedule_verify(s), "%s", ind_error(ctx));
    ind_module_destroy(m);
}

/* ---- an index out of range: reported by name, nothing stored */

static void test_out_of_range(ind_context *ctx) {
    ind_module *m = compile(ctx, "graph g {\n  input x : f32[4]\n  input i : i64[3]\n  input s : f32[3]\n"
                                 "  a = index_add(x, 0, i, s)\n  mutate x = a\n}\n");
    float x[4] = {1, 2, 3, 4}, s[3] = {10, 20, 30};
    int64_t i[3] = {2, 4, -1};
    ind_binding io[] = {{"x", x}, {"i", i}, {"s", s}};
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .memory = IND_MEMORY_HOST};
    ind_status status = m ? ind_run(m, &run) : IND_OK;
    CHECK(status == IND_ERROR_INDEX_OUT_OF_RANGE && strstr(ind_error(ctx), "index_add: index 4 is outside [0, 4)"), "%s",
          ind_error(ctx));
    CHECK(x[0] == 1 && x[1] == 2 && x[2] == 13 && x[3] == 4, "%g %g %g %g", (double)x[0], (double)x[1], (double)x[2],
          (double)x[3]);
    ind_module_destroy(m);
}

/* ---- every allocation fails in turn */

static void test_allocations(void) {
    static const char text[] = "graph t {\n  input x : f32[4, 6]\n  input c : f32[4, 6]\n  input i : i64[4, 6]\n"
                               "  input r : i64[6]\n  a = scatter_reduce(x, 1, i, c, \"mean\", include_self=false)\n"
                               "  b = index_put(c, [none, r], a)\n  d = index(b, [r])\n  mutate c = b\n  output d\n}\n";
    bool done = false;
    for (long n = 1; !done && n < 100000; n += 1 + n / 50) {
        check_heap heap = {.fail_at = n};
        ind_context_desc desc = {.device = IND_DEVICE_HOST, .allocator = {check_alloc, check_free, &heap}};
        ind_context *ctx = NULL;
        ind_module *m = NULL;
        if (!ind_context_create(&desc, &ctx)) {
            ind_graph *g = ind_graph_parse(ctx, text, NULL);
            ind_status status =
                g ? ind_compile(g, &(ind_compile_desc){.device = IND_DEVICE_HOST, .emit_only = true}, &m) : IND_OK;
            done = !status && m && heap.calls < n;
            CHECK(done || ind_error_status(ctx) == IND_ERROR_OUT_OF_MEMORY || m, "allocation %ld: %s", n, ind_error(ctx));
            ind_module_destroy(m);
        }
        ind_context_destroy(ctx);
        CHECK(heap.live == 0, "allocation %ld leaks %ld", n, heap.live);
    }
    CHECK(done, "it never succeeds");
}

int main(void) {
    ind_context *ctx = NULL;
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST}, &ctx)) return 1;
    test_types(ctx);
    test_builders(ctx);
    test_decode(ctx, false);
    test_decode(ctx, true);
    test_schedule(ctx);
    test_verifiers(ctx);
    test_memory_contents(ctx);
    test_out_of_range(ctx);
    ind_context_destroy(ctx);
    test_allocations();
    return check_summary();
}
