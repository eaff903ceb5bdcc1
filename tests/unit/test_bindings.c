/* test_bindings.c - the memory that a caller binds: what may overlap, what is refused and with which names, and byte
   counts. On the host device, and on the emulated GPU where it is built (build/emulated). */
#include "inductor.h"

#include "check.h"
#include <string.h>
#include <sys/stat.h>

#define EMULATED_CUDA  "build/emulated/libcuda.so"
#define EMULATED_NVRTC "build/emulated/libnvrtc.so"

static check_heap heap;

static ind_context *open_context(ind_device device) {
    ind_context_desc desc = {.device = device, .allocator = {check_alloc, check_free, &heap}, .num_threads = 1};
    ind_context *c = NULL;
    desc.cuda.library_path = device == IND_DEVICE_CUDA ? EMULATED_CUDA : NULL;
    desc.cuda.nvrtc_path = device == IND_DEVICE_CUDA ? EMULATED_NVRTC : NULL;
    if (ind_context_create(&desc, &c)) exit(1);
    return c;
}

static ind_module *compiled(ind_context *c, const char *text) {
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(c, text, NULL);
    CHECK(g && !ind_compile(g, NULL, &m), "%s", ind_error(c));
    if (!m) exit(check_summary());
    ind_graph_destroy(g);
    return m;
}

/* One block that everything is bound into, by distances from its begin; the device's memory is the host's here. */
static unsigned char block[1 << 16];

static void *at(int64_t offset) {
    return offset < 0 ? NULL : (void *)(block + offset);
}

/* ---- pairs */

static const char pairs_text[] = "graph pairs {\n  size N in [1, 64]\n  const k : f32[4]\n  input x : f32[N, 4]\n"
                                 "  input v : f32[N, 4]\n  t = mul(x, k)\n  y = add(t, v)\n  z = exp(x)\n"
                                 "  output y, z\n}\n";

/* Distances of x, v, k, y, z for N = 2, where a matrix has 32 bytes and k 16; the two that share memory. */
static const struct {
    int64_t x, v, k, y, z;
    const char *written, *other;
} pairs[] = {
    {0, 32, 64, 80, 112, NULL, NULL}, /* one right after the other */
    {112, 80, 64, 32, 0, NULL, NULL},         {0, 0, 64, 80, 112, NULL, NULL},
    {0, 16, 64, 80, 112, NULL, NULL},         {0, 32, 16, 80, 112, NULL, NULL},
    {0, 32, 64, 0, 112, "\"y\"", "\"x\""},    {0, 32, 64, 28, 112, "\"y\"", "\"x\""},
    {200, 32, 64, 76, 112, "\"y\"", "\"k\""}, {0, 32, 64, 80, 108, "\"z\"", "\"y\""},
    {0, 32, 64, 80, 80, "\"z\"", "\"y\""},    {0, 40, 64, 80, 28, "\"z\"", "\"x\""},
    {0, 32, 76, 80, 112, "\"y\"", "\"k\""},
};

static bool names_both(const char *text, const char *a, const char *b) {
    return strstr(text, a) && strstr(text, b) && strstr(text, "is written, but shares memory with");
}

static void fill_inputs(void) {
    memset(block, 0, sizeof block);
    for (int i = 0; i < 64; i++) ((float *)(void *)block)[i] = (float)(i % 7) / 4;
}

static void test_pairs(ind_context *c, ind_memory memory) {
    ind_module *m = compiled(c, pairs_text);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const ind_binding io[] = {{"z", at(pairs[i].z)},
                                  {"x", at(pairs[i].x)},
                                  {"y", at(pairs[i].y)},
                                  {"v", at(pairs[i].v)},
                                  {"k", at(pairs[i].k)}};
        const ind_run_desc run = {.bindings = io, .num_bindings = 5, .sizes = "N=2", .memory = memory};
        fill_inputs();
        float x[8], v[8], k[4];
        memcpy(x, at(pairs[i].x), sizeof x), memcpy(v, at(pairs[i].v), sizeof v), memcpy(k, at(pairs[i].k), sizeof k);
        const ind_status status = ind_run(m, &run);
        if (pairs[i].written) {
            CHECK(status == IND_ERROR_INVALID_ARGUMENT, "case %d: status %d", (int)i, (int)status);
            CHECK(names_both(ind_error(c), pairs[i].written, pairs[i].other), "case %d: %s", (int)i, ind_error(c));
            continue;
        }
        CHECK(!status, "case %d: %s", (int)i, ind_error(c));
        for (int e = 0; e < 8; e++) {
            const float y = ((const float *)at(pairs[i].y))[e], want = x[e] * k[e % 4] + v[e];
            CHECK(y == want, "case %d: y[%d] = %g, not %g", (int)i, e, (double)y, (double)want);
        }
    }
    ind_module_destroy(m);
}

/* ---- launches of one instance: sizes and pointers change, the check is made anew */

static void test_sizes_change(ind_context *c) {
    ind_module *m = compiled(c, pairs_text);
    ind_instance *n = NULL;
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    void *pointers[] = {at(0), at(256), at(512), at(64), at(768)}; /* x, v, k, y, z: N = 4 fits */
    static const int64_t sizes[] = {4, 5, 4, 64, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const bool fits = sizes[i] <= 4;
        const ind_status status = ind_launch(n, &(ind_launch_desc){.pointers = pointers, .sizes_v = &sizes[i]});
        CHECK(status == (fits ? IND_OK : IND_ERROR_INVALID_ARGUMENT), "N = %d: %s", (int)sizes[i],
              ind_instance_error(n));
        CHECK(fits || names_both(ind_instance_error(n), "\"x\"", "\"y\""), "%s", ind_instance_error(n));
        CHECK(!ind_instance_check(n), "%s", ind_instance_error(n));
    }
    ind_instance_destroy(n);
    ind_module_destroy(m);
}

/* A refused capture leaves nothing to replay; a good one is replayed. */
static void test_capture(ind_context *c) {
    ind_module *m = compiled(c, pairs_text);
    ind_instance *n = NULL;
    const int64_t size = 2;
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    void *good[] = {at(0), at(32), at(64), at(80), at(112)}, *bad[] = {at(0), at(32), at(64), at(112), at(112)};
    CHECK(ind_capture(n, &(ind_launch_desc){.pointers = bad, .sizes_v = &size}) == IND_ERROR_INVALID_ARGUMENT,
          "captured");
    CHECK(names_both(ind_instance_error(n), "\"y\"", "\"z\""), "%s", ind_instance_error(n));
    CHECK(ind_replay(n, NULL) == IND_ERROR_INVALID_ARGUMENT, "nothing was captured");
    fill_inputs();
    CHECK(!ind_capture(n, &(ind_launch_desc){.pointers = good, .sizes_v = &size}), "%s", ind_instance_error(n));
    CHECK(!ind_replay(n, NULL) && !ind_instance_check(n), "%s", ind_instance_error(n));
    const float *f = (const float *)(const void *)block;
    CHECK(f[20] == f[0] * f[16] + f[8], "y[0] = %g", (double)f[20]);
    ind_instance_destroy(n);
    ind_module_destroy(m);
}

/* ---- memory that is written besides outputs' */

static void test_mutated(ind_context *c) {
    ind_module *m = compiled(c, "graph cache {\n  input x : f32[8]\n  input v : f32[8]\n  w = add(x, v)\n  y = exp(v)\n"
                                "  mutate x = w\n  output y\n}\n");
    static const struct {
        int64_t x, v, y;
        const char *written, *other;
    } cases[] = {{0, 32, 64, NULL, NULL},
                 {0, 0, 64, "\"x\"", "\"v\""},
                 {16, 0, 64, "\"x\"", "\"v\""},
                 {0, 32, 4, "\"x\"", "\"y\""},
                 {0, 64, 64, "\"y\"", "\"v\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ind_binding io[] = {{"x", at(cases[i].x)}, {"v", at(cases[i].v)}, {"y", at(cases[i].y)}};
        const ind_status status = ind_run(m, &(ind_run_desc){.bindings = io, .num_bindings = 3});
        CHECK(status == (cases[i].written ? IND_ERROR_INVALID_ARGUMENT : IND_OK), "case %d: %s", (int)i, ind_error(c));
        CHECK(!status || names_both(ind_error(c), cases[i].written, cases[i].other), "case %d: %s", (int)i,
              ind_error(c));
    }
    ind_module_destroy(m);
}

/* An allocation takes from what is available. Other processes may use the host's memory meanwhile. */
static void test_device_memory(ind_context *c, ind_device device) {
    ind_module *m = compiled(c, "graph small {\n  input x : f32[4]\n  y = neg(x)\n  output y\n}\n");
    int64_t before = 0, after = 0, total = 0;
    void *memory = NULL;
    CHECK(!ind_module_device_memory(m, &before, &total) && before > 1 << 20 && before <= total, "%s", ind_error(c));
    CHECK(!ind_module_alloc(m, 1 << 20, &memory) && !ind_module_device_memory(m, &after, &total), "%s", ind_error(c));
    if (device == IND_DEVICE_CUDA) CHECK(before - after == 1 << 20, "%lld bytes", (long long)(before - after));
    ind_module_free(m, memory);
    CHECK(ind_module_device_memory(m, NULL, &total) == IND_ERROR_INVALID_ARGUMENT, "a pointer is NULL");
    CHECK(ind_module_device_memory(NULL, &before, &total) == IND_ERROR_INVALID_ARGUMENT, "no module");
    ind_module_destroy(m);
}

static void test_workspace(ind_context *c) {
    ind_module *m = compiled(c, "graph deep {\n  input x : f32[16, 16]\n  a = matmul(x, x)\n  b = matmul(a, x)\n"
                                "  y = matmul(b, x)\n  output y\n}\n");
    unsigned char *memory = NULL;
    int64_t need = 0;
    CHECK(!ind_formula_eval(m, ind_module_workspace(m), NULL, &need) && need >= 1024, "%lld", (long long)need);
    CHECK(!ind_module_alloc(m, 1 << 16, (void **)&memory), "%s", ind_error(c));
    for (int half = 0; half <= 2; half++) {
        const int64_t offset = half * need / 2;
        ind_instance *n = NULL;
        const ind_instance_desc desc = {.workspace = memory, .workspace_bytes = (size_t)need + 256};
        CHECK(!ind_instance_create(m, &desc, &n), "%s", ind_error(c));
        void *x[] = {memory + offset, memory + (1 << 15)}, *y[] = {memory + (1 << 15), memory + offset};
        for (int k = 0; k < 2; k++) {
            const ind_status status = ind_launch(n, &(ind_launch_desc){.pointers = k ? x : y});
            const bool apart = offset >= need; /* bytes beyond the needed ones are not written */
            CHECK(status == (apart ? IND_OK : IND_ERROR_INVALID_ARGUMENT), "%d: %s", (int)offset,
                  ind_instance_error(n));
            CHECK(apart || (strstr(ind_instance_error(n), k ? "\"x\"" : "\"y\"") &&
                            strstr(ind_instance_error(n), "shares memory with the workspace")),
                  "%s", ind_instance_error(n));
            CHECK(!ind_instance_check(n), "%s", ind_instance_error(n));
        }
        ind_instance_destroy(n);
    }
    ind_module_free(m, memory);
    ind_module_destroy(m);
}

/* The memory of sizes from data is that of the most they can be. */
static void test_data_sizes(ind_context *c) {
    ind_module *m = compiled(c, "graph found {\n  input x : f32[10]\n  i : i64[n, 1] = nonzero(x)\n  output i\n}\n");
    memset(block, 0, sizeof block);
    for (int64_t y = 36; y <= 40; y += 4) {
        const ind_binding io[] = {{"x", at(80)}, {"i", at(y - 36)}}; /* i has 80 bytes at most */
        const ind_status status =
            ind_run(m, &(ind_run_desc){.bindings = io, .num_bindings = 2, .memory = IND_MEMORY_HOST});
        CHECK(status == (y > 36 ? IND_ERROR_INVALID_ARGUMENT : IND_OK), "%s", ind_error(c));
    }
    const ind_binding short_one[] = {{"x", at(80), 40}, {"i", at(0), 79}};
    CHECK(ind_run(m, &(ind_run_desc){.bindings = short_one, .num_bindings = 2}) == IND_ERROR_INVALID_ARGUMENT,
          "too short");
    CHECK(strstr(ind_error(c), "needs 80 bytes") && strstr(ind_error(c), "79 are bound"), "%s", ind_error(c));
    ind_module_destroy(m);
}

/* ---- byte counts */

static void test_bytes(ind_context *c, ind_memory memory) {
    ind_module *m = compiled(c, pairs_text);
    static const struct {
        const char *sizes;
        size_t x, y;
        const char *name, *need, *given;
    } cases[] = {{"N=2", 32, 32, NULL, NULL, NULL},
                 {"N=2", 0, 0, NULL, NULL, NULL},
                 {"N=2", 4096, 33, NULL, NULL, NULL},
                 {"N=2", 31, 32, "input \"x\" f32[N, 4]", "needs 32 bytes", "31 are bound"},
                 {"N=2", 32, 1, "output \"y\" f32[N, 4]", "needs 32 bytes", "1 are bound"},
                 {"N=3", 32, 48, "input \"x\" f32[N, 4]", "needs 48 bytes", "32 are bound"},
                 {"N=3", 48, 48, NULL, NULL, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ind_binding io[] = {
            {"x", at(0), cases[i].x}, {"v", at(256)}, {"k", at(512)}, {"y", at(1024), cases[i].y}, {"z", at(2048)}};
        const ind_run_desc run = {.bindings = io, .num_bindings = 5, .sizes = cases[i].sizes, .memory = memory};
        const ind_status status = ind_run(m, &run);
        const char *text = ind_error(c);
        CHECK(status == (cases[i].name ? IND_ERROR_INVALID_ARGUMENT : IND_OK), "case %d: %s", (int)i, text);
        CHECK(!status || (strstr(text, cases[i].name) && strstr(text, cases[i].need) && strstr(text, cases[i].given)),
              "case %d: %s", (int)i, text);
    }
    ind_module_destroy(m);
}

/* ---- many bindings, at random, against every pair compared */

enum { MANY = 100, TRIES = 400 };

static ind_module *many(ind_context *c) {
    static char text[16384];
    size_t n = (size_t)snprintf(text, sizeof text, "graph many {\n");
    for (int i = 0; i < MANY; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "  input x%d : f32[%d]\n", i, 1 + i % 5);
    for (int i = 0; i < MANY; i++) n += (size_t)snprintf(text + n, sizeof text - n, "  y%d = exp(x%d)\n", i, i);
    n += (size_t)snprintf(text + n, sizeof text - n, "  output y0");
    for (int i = 1; i < MANY; i++) n += (size_t)snprintf(text + n, sizeof text - n, ", y%d", i);
    snprintf(text + n, sizeof text - n, "\n}\n");
    return compiled(c, text);
}

static bool overlaps(void *const *pointer) {
    for (int i = 0; i < 2 * MANY; i++)
        for (int k = MANY; k < 2 * MANY; k++) { /* one of the two is an output */
            const unsigned char *a = pointer[i], *b = pointer[k];
            if (i != k && a < b + 4 * (1 + k % MANY % 5) && b < a + 4 * (1 + i % MANY % 5)) return true;
        }
    return false;
}

static void test_many(ind_context *c) {
    ind_module *m = many(c);
    ind_instance *n = NULL;
    void *pointer[2 * MANY];
    uint32_t seed = 1;
    int refused = 0;
    CHECK(!ind_instance_create(m, NULL, &n), "%s", ind_error(c));
    memset(block, 0, sizeof block);
    for (int t = 0; t < TRIES; t++) {
        for (int i = 0; i < 2 * MANY; i++) { /* apart, in an order that changes; then some are moved */
            seed = seed * 1664525 + 1013904223;
            const int other = (i * 77 + t) % (2 * MANY);
            pointer[i] = at(24 * (seed >> 20 < 4 ? (int64_t)(seed >> 8) % (2 * MANY) : other));
        }
        const bool bad = overlaps(pointer);
        const long calls = heap.calls;
        const ind_status status = ind_launch(n, &(ind_launch_desc){.pointers = pointer});
        refused += bad;
        CHECK(status == (bad ? IND_ERROR_INVALID_ARGUMENT : IND_OK), "try %d: %s", t, ind_instance_error(n));
        CHECK(heap.calls == calls || t == 0, "a launch allocates");
        CHECK(!ind_instance_check(n), "%s", ind_instance_error(n));
    }
    CHECK(refused > TRIES / 10 && refused < TRIES * 9 / 10, "%d of %d are refused", refused, TRIES);
    ind_instance_destroy(n);
    ind_module_destroy(m);
}

static void test_device(ind_device device) {
    ind_context *c = open_context(device);
    test_pairs(c, IND_MEMORY_DEVICE);
    test_pairs(c, IND_MEMORY_HOST);
    test_sizes_change(c);
    test_capture(c);
    test_mutated(c);
    test_device_memory(c, device);
    test_workspace(c);
    test_data_sizes(c);
    test_bytes(c, IND_MEMORY_DEVICE);
    test_bytes(c, IND_MEMORY_HOST);
    test_many(c);
    ind_context_destroy(c);
    CHECK(heap.live == 0, "%ld blocks are left", heap.live);
}

/* What a compile reported. */
typedef struct progress_seen {
    int calls, done, num, most; /* most: it is cancelled when so many kernels are done */
    bool ordered;
} progress_seen;

static bool see_progress(int done, int num, void *user) {
    progress_seen *s = user;
    s->ordered &= done >= s->done && num >= s->num && done <= num && (s->calls || !done);
    s->calls++, s->done = done, s->num = num;
    return done < s->most;
}

/* Compiles a graph with prepared constants, which are compiled first. */
static ind_status compile_with_progress(ind_context *c, progress_seen *seen, int most) {
    ind_module *m = NULL;
    *seen = (progress_seen){.most = most, .ordered = true};
    const ind_compile_desc compile = {.progress = {see_progress, seen}};
    ind_graph *g = ind_graph_parse(c,
                                   "graph p {\n input x : f32[64, 64]\n const w : f32[64, 64]\n v = exp(w)\n"
                                   " u = cumsum(v, dim=1)\n z = add(x, u)\n a = softmax(z, dim=1)\n b = matmul(a, x)\n"
                                   " y = cumsum(b, dim=1)\n output y, b\n}",
                                   "p.ind");
    const ind_status status = g ? ind_compile(g, &compile, &m) : IND_ERROR_PARSE;
    CHECK(seen->ordered && (m != NULL) == !status, "%d of %d kernels", seen->done, seen->num);
    ind_module_destroy(m);
    return status;
}

/* Each kernel is reported. A compile that is cancelled keeps the kernels it has compiled: the next one compiles the
   others. */
static void test_progress(void) {
    const ind_context_desc desc = {.device = IND_DEVICE_CUDA,
                                   .num_threads = 1,
                                   .cuda = {.library_path = EMULATED_CUDA, .nvrtc_path = EMULATED_NVRTC}};
    progress_seen all, seen;
    ind_context *c;
    CHECK(!ind_context_create(&desc, &c), "context");
    CHECK(!compile_with_progress(c, &all, 1000) && all.done == all.num && all.num > 2, "%s", ind_error(c));
    ind_context_destroy(c);
    CHECK(!ind_context_create(&desc, &c), "context");
    for (int most = 0; most < 3; most++) {
        CHECK(compile_with_progress(c, &seen, most < 2 ? most : 1) == IND_ERROR_CANCELLED, "%d: not cancelled", most);
        CHECK(strstr(ind_error(c), "was cancelled after") && seen.done == (most > 0), "%s", ind_error(c));
    }
    CHECK(!compile_with_progress(c, &seen, 1000) && seen.num == all.num - 2, "%d of %d are left", seen.num, all.num);
    ind_context_destroy(c);
}

int main(void) {
    struct stat st;
    test_device(IND_DEVICE_HOST);
    if (!stat(EMULATED_CUDA, &st) && !stat(EMULATED_NVRTC, &st)) {
        test_device(IND_DEVICE_CUDA);
        test_progress();
    }
    return check_summary();
}
