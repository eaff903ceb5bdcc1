/* test_export_allocations.c - allocations of ind_export and ind_export_weights fail in turn. Each time a status with a
 * message, no leak and no file that is left half written; a second try writes the same files.
 *
 *   test_export_allocations [EVERY]   EVERY: each EVERY-th allocation fails (default 1: all) */
#define _POSIX_C_SOURCE 200809L
#include "inductor.h"

#include "../unit/check.h"
#include "forks.h"

#include <stdlib.h>
#include <string.h>

#define FOLDER "build/"
#define PACK   FOLDER "test_export_allocations.indpack"

static const char text[] = "graph exported {\n"
                           "  size B in [1, 64] hint 4\n"
                           "  input x : f32[B, 64]\n"
                           "  const w : f32[32, 64]\n"
                           "  const s : f32[32]\n"
                           "  t = exp(s)\n"
                           "  h = linear(x, w)\n"
                           "  m = mul(h, t)\n"
                           "  y = softmax(m, dim=-1)\n"
                           "  output y\n"
                           "}\n";

static ind_module *compile(ind_context *c) {
    ind_module *m = NULL;
    ind_compile_desc desc = {.emit_only = true};
    ind_graph *g = ind_graph_parse(c, text, "exported.ind");
    if (ind_target_named(c, "H200", &desc.target) || !g || ind_compile(g, &desc, &m)) return NULL;
    return m;
}

/* A verified pack is in memory, not read from a file whose position the forks would share. */
static bool yes(const char *path, const void *data, size_t bytes, void *user) {
    return path && data && bytes && !user;
}

static ind_context *context(ind_allocator allocator) {
    ind_context *c = NULL;
    const ind_context_desc desc = {
        .allocator = allocator, .device = IND_DEVICE_HOST, .num_threads = 1, .pack = {.path = PACK, .verify = yes}};
    return ind_context_create(&desc, &c) ? NULL : c;
}

static void remove_all(const char *name) {
    static const char *const ends[] = {".h", ".c", ".weights"};
    char path[80];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", name, ends[i]);
        remove(path);
    }
}

static ind_status export_to(ind_module *m, const char *name) {
    static float w[32 * 64], s[32];
    char header[80], source[80], weights[80];
    snprintf(header, sizeof header, "%s.h", name);
    snprintf(source, sizeof source, "%s.c", name);
    snprintf(weights, sizeof weights, "%s.weights", name);
    const ind_export_desc desc = {"exported", &m, 1, header, source};
    const ind_binding constants[] = {{"w", w, sizeof w}, {"s", s, sizeof s}};
    for (int i = 0; i < 32 * 64; i++) w[i] = (float)(i % 37) / 37;
    const ind_status status = ind_export(&desc);
    return status ? status : ind_export_weights(m, constants, 2, weights);
}

static bool same(const char *one, const char *other, const char *end) {
    char path[2][80];
    FILE *f[2];
    bool equal = true;
    snprintf(path[0], sizeof path[0], "%s%s", one, end);
    snprintf(path[1], sizeof path[1], "%s%s", other, end);
    for (int i = 0; i < 2; i++) f[i] = fopen(path[i], "rb");
    for (int a = 0, b = 0; f[0] && f[1] && equal && a != EOF; equal = a == b) a = fgetc(f[0]), b = fgetc(f[1]);
    equal = equal && f[0] && f[1];
    for (int i = 0; i < 2; i++)
        if (f[i]) fclose(f[i]);
    return equal;
}

/* A file of the failed export exists as a whole or not at all: both are written when all is known. */
static void check_after(ind_context *c, ind_module *m, const char *name, const char *whole) {
    char path[80];
    CHECK(*ind_error(c), "no message");
    for (int i = 0; i < 3; i++) {
        static const char *const ends[] = {".h", ".c", ".weights"};
        snprintf(path, sizeof path, "%s%s", name, ends[i]);
        CHECK(access(path, F_OK) || same(name, whole, ends[i]), "%s is half written", path);
    }
    CHECK(!export_to(m, name), "the second try: %s", ind_error(c));
    for (int i = 0; i < 3; i++) CHECK(same(name, whole, i == 0 ? ".h" : i == 1 ? ".c" : ".weights"), "file %d", i);
    remove_all(name);
}

/* Only the export fails: what comes before it does not fork. */
static void fail_allocations(const char *whole) {
    char name[80];
    forks f = {.child = true};
    ind_context *c = context((ind_allocator){fork_alloc, fork_free, &f});
    ind_module *m = c ? compile(c) : NULL;
    CHECK(m, "compile");
    const int failed = checks_failed;
    f.child = false;
    ind_status status = export_to(m, FOLDER "test_export_part");
    const bool child = f.child;
    f.child = true;
    if (child) {
        snprintf(name, sizeof name, FOLDER "test_export_part");
        if (status) check_after(c, m, name, whole);
        ind_context_destroy(c);
        tell(&f, status, failed);
    }
    CHECK(!status, "%s", ind_error(c));
    ind_context_destroy(c);
    CHECK(!f.leaks && !f.other && !f.heap.live, "%ld leaks, %ld with another status than out of memory", f.leaks,
          f.other);
    CHECK(f.tried > 20 && f.unnoticed < f.tried / 10, "%ld of %ld failed allocations go unnoticed", f.unnoticed,
          f.tried);
    remove_all(FOLDER "test_export_part");
}

int main(int argc, char **argv) {
    every = argc > 1 ? atol(argv[1]) : 1;
    if (every < 1) return 2;
    const char *whole = FOLDER "test_export_whole";
    ind_context *c = NULL;
    CHECK(!ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST}, &c), "context");
    ind_module *m = compile(c);
    ind_status status = m ? export_to(m, whole) : IND_ERROR_INVALID_ARGUMENT;
    if (status == IND_ERROR_LIBRARY) return printf("no NVRTC: %s\n", ind_error(c)), 77;
    CHECK(!status && !ind_pack_save(c, PACK), "%s", ind_error(c));
    ind_context_destroy(c);
    fail_allocations(whole);
    remove_all(whole);
    remove(PACK);
    return check_summary();
}
