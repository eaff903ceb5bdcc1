/* Reductions whose rows several blocks share, on the device that IND_DEVICE names (the host, if none). Launches of two
   instances take turns, over sizes for one block and for many: each must find the counters as it wants them, 0, however
   many blocks counted before. Then a captured graph is replayed. Sums are of small integers, so what is wanted is exact;
   `test_splits bits` also prints a number made of the bits of sums that are not: it must be the same whatever the order
   of blocks. */
#include "inductor.h"

#include "check.h"

#include <string.h>

enum { MOST = 40000, COLS = 5, LAUNCHES = 6 };

static const char text[] = "graph splits {\n"
                           "  size N in [1, 100000000] hint 1000000\n"
                           "  input x : f32[N]\n"
                           "  input z : f32[N, 5]\n"
                           "  s = sum(x)\n"
                           "  a = argmax(x, dim=0)\n"
                           "  c = sum(z, dim=[0])\n"
                           "  r = mul(x, 0.1)\n"
                           "  t = sum(r)\n"
                           "  output s, a, c, t\n"
                           "}\n";

enum { X, Z, S, A, C, T, BINDINGS };

static float x[MOST], z[MOST * COLS], s, c[COLS], t;
static int64_t a;
static const struct {
    const char *name;
    void *host;
    size_t bytes;
} bindings[BINDINGS] = {{"x", x, sizeof x}, {"z", z, sizeof z}, {"s", &s, sizeof s},
                        {"a", &a, sizeof a}, {"c", c, sizeof c}, {"t", &t, sizeof t}};
static const int64_t lengths[LAUNCHES] = {MOST, 1, 17001, 33, 8193, MOST - 1};
static uint64_t all_bits = 14695981039346656037ull;

static void fill(void) {
    for (int i = 0; i < MOST; i++) x[i] = (float)(i * 31 % 61 - 30);
    for (int i = 0; i < MOST * COLS; i++) z[i] = (float)(i * 7 % 19 - 5);
}

static void check_results(ind_module *m, void *const *memory, int64_t n) {
    int64_t sum = 0, first = 0, column[COLS] = {0};
    for (int b = S; b < BINDINGS; b++)
        CHECK(!ind_module_download(m, bindings[b].host, memory[b], bindings[b].bytes), "download");
    for (int64_t i = 0; i < n; i++) {
        sum += (int64_t)x[i];
        if (x[i] > x[first]) first = i;
        for (int j = 0; j < COLS; j++) column[j] += (int64_t)z[i * COLS + j];
    }
    CHECK(s == (float)sum, "N = %d: sum %g, not %d", (int)n, s, (int)sum);
    CHECK(a == first, "N = %d: the largest is at %d, not %d", (int)n, (int)a, (int)first);
    for (int j = 0; j < COLS; j++)
        CHECK(c[j] == (float)column[j], "N = %d: sum %g of column %d, not %d", (int)n, c[j], j, (int)column[j]);
    CHECK(t >= 0.1f * (float)sum - 1 && t <= 0.1f * (float)sum + 1, "N = %d: sum %g, not %g", (int)n, t, 0.1 * (double)sum);
    uint32_t bits;
    memcpy(&bits, &t, sizeof bits);
    all_bits = (all_bits ^ bits) * 1099511628211ull;
}

static void test_launches(ind_context *context, ind_module *m) {
    ind_instance *n[2] = {NULL, NULL};
    void *memory[BINDINGS] = {0};
    char sizes[32];
    for (int b = 0; b < BINDINGS; b++) {
        CHECK(!ind_module_alloc(m, bindings[b].bytes, &memory[b]), "%s", ind_error(context));
        CHECK(!ind_module_upload(m, memory[b], bindings[b].host, bindings[b].bytes), "%s", ind_error(context));
    }
    for (int i = 0; i < 2; i++) CHECK(!ind_instance_create(m, NULL, &n[i]), "%s", ind_error(context));
    ind_launch_desc launch = {.pointers = memory, .sizes = sizes};
    for (int i = 0; i < 2 * LAUNCHES; i++) {
        snprintf(sizes, sizeof sizes, "N=%d", (int)lengths[i % LAUNCHES]);
        ind_instance *of = n[i % 3 == 0];
        CHECK(!ind_launch(of, &launch) && !ind_instance_check(of), "%s", ind_instance_error(of));
        check_results(m, memory, lengths[i % LAUNCHES]);
    }
    for (int i = 0; i < 3; i++) {
        if (i == 0) CHECK(!ind_capture(n[0], &launch), "%s", ind_instance_error(n[0]));
        memset(&s, 0x5a, sizeof s);
        CHECK(!ind_module_upload(m, memory[S], &s, sizeof s), "%s", ind_error(context));
        CHECK(!ind_replay(n[0], NULL) && !ind_instance_check(n[0]), "%s", ind_instance_error(n[0]));
        check_results(m, memory, lengths[LAUNCHES - 1]);
    }
    for (int i = 0; i < 2; i++) ind_instance_destroy(n[i]);
    for (int b = 0; b < BINDINGS; b++) ind_module_free(m, memory[b]);
}

/* How the kernels are made, whatever the device. */
static void test_plan(ind_context *context) {
    ind_graph *g = ind_graph_parse(context, text, NULL);
    ind_compile_desc d = {.emit_only = true};
    ind_module *m = NULL;
    CHECK(g && !ind_target_named(context, "sm_90a", &d.target) && !ind_compile(g, &d, &m), "%s", ind_error(context));
    const char *plan = m ? ind_module_text(m, IND_STAGE_PLAN) : "";
    CHECK(strstr(plan, "split rows: ") && strstr(plan, "split columns: ") && strstr(plan, "counters, partial results"), "%s",
          plan);
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

int main(int argc, char **argv) {
    ind_module *m = NULL;
    ind_context *context;
    if (ind_context_create(NULL, &context)) return 1;
    fill();
    test_plan(context);
    ind_graph *g = ind_graph_parse(context, text, NULL);
    CHECK(g && !ind_compile(g, NULL, &m), "%s", ind_error(context));
    if (m) test_launches(context, m);
    ind_module_destroy(m);
    ind_graph_destroy(g);
    ind_context_destroy(context);
    if (argc == 2 && !strcmp(argv[1], "bits")) printf("bits %016llx\n", (unsigned long long)all_bits);
    return check_summary();
}
