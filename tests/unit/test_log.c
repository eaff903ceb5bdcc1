/* Log lines: their categories and levels, why each kernel was compiled, and that a pack is read on demand. On the
   emulation of a GPU. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"

#include "check.h"

#include <string.h>
#include <sys/stat.h>

#define EMULATED_CUDA  "build/emulated/libcuda.so"
#define EMULATED_NVRTC "build/emulated/libnvrtc.so"
#define PACK           "build/test_log.indpack"

enum { ROWS = 3, EVEN = 256, ODD = 253 };

static const char logged[] = "graph logged {\n"
                             "  size S in [1, 3000] hint 256\n"
                             "  input x : f32[3, S]\n"
                             "  input w : f32[S]\n"
                             "  y = softmax(x, dim=-1)\n"
                             "  z = mul(y, w)\n"
                             "  output z\n"
                             "}\n";
static const char other[] = "graph other {\n"
                            "  input x : f32[10]\n"
                            "  y = sin(x)\n"
                            "  output y\n"
                            "}\n";

typedef struct lines {
    char text[200][1024];
    int level[200], num;
} lines;

static void keep(int level, const char *text, void *user) {
    lines *l = user;
    if (l->num == 200) return;
    snprintf(l->text[l->num], sizeof *l->text, "%s", text);
    l->level[l->num++] = level;
}

/* The number of lines that begin with `head` and contain `part`. */
static int count(const lines *l, const char *head, const char *part) {
    int found = 0;
    for (int i = 0; i < l->num; i++) found += !strncmp(l->text[i], head, strlen(head)) && strstr(l->text[i], part);
    return found;
}

static ind_context *context(lines *l, int level, uint32_t categories, const char *pack) {
    ind_context *c = NULL;
    const ind_context_desc desc = {.device = IND_DEVICE_CUDA,
                                   .log = {keep, l},
                                   .log_level = level,
                                   .log_categories = categories,
                                   .num_threads = 1,
                                   .cuda = {.library_path = EMULATED_CUDA, .nvrtc_path = EMULATED_NVRTC},
                                   .pack = {.path = pack}};
    l->num = 0;
    CHECK(!ind_context_create(&desc, &c), "context");
    return c;
}

static ind_module *compile(ind_context *c, const char *text) {
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(c, text, "test");
    CHECK(g && !ind_compile(g, NULL, &m), "%s", ind_error(c));
    return m;
}

static void run(ind_context *c, ind_module *m, int64_t length) {
    static float x[ROWS * EVEN], w[EVEN], z[ROWS * EVEN];
    ind_binding io[] = {{"x", x}, {"w", w}, {"z", z}};
    ind_run_desc desc = {.bindings = io, .num_bindings = 3, .sizes_v = &length, .memory = IND_MEMORY_HOST};
    CHECK(!ind_run(m, &desc), "%s", ind_error(c));
}

/* Sources of a module, variants that a launch needs, and a second module of the same kernels. Leaves the pack. */
static void test_reasons(void) {
    static lines l;
    ind_context *c = context(&l, 2, 0, PACK);
    ind_module *m = compile(c, logged);
    ind_module_stats s = ind_module_query_stats(m);
    char part[80];
    CHECK(count(&l, "pack: " PACK ": cannot be opened", "") == 1, "a pack that is not there");
    CHECK(count(&l, "kernel: ind_k_", "bytes: no pack and no earlier module of the context has it") == s.num_sources,
          "%d sources", s.num_sources);
    snprintf(part, sizeof part, "%d kernels of %d sources, 0 of them", s.num_kernels, s.num_sources);
    CHECK(s.num_sources > 0 && count(&l, "compile: graph logged: ", part) == 1, "%s", part);
    run(c, m, ODD);
    s = ind_module_query_stats(m);
    CHECK(s.num_late > 0 && count(&l, "kernel: ", ": a launch is the first to need this variant") == s.num_late,
          "%d late", s.num_late);
    l.num = 0;
    m = compile(c, logged);
    s = ind_module_query_stats(m);
    CHECK(!count(&l, "kernel: ", "") && s.num_from_pack == s.num_sources, "%d lines", l.num);
    snprintf(part, sizeof part, "sources, %d of them from a pack or an earlier module", s.num_sources);
    CHECK(count(&l, "compile: ", part) == 1, "%s", part);
    CHECK(!ind_pack_save(c, PACK), "%s", ind_error(c));
    for (int i = 0; i < l.num; i++) CHECK(l.level[i] < 3, "%s", l.text[i]);
    ind_context_destroy(c);
}

/* Changes one byte of the code of entry `number`, or changes it back. */
static void flip(ind_context *c, int number) {
    char *data;
    size_t bytes;
    CHECK(!ind__read_file(c, PACK, &data, &bytes), "%s", ind_error(c));
    rt__pack_header h;
    rt__pack_entry e;
    memcpy(&h, data, sizeof h);
    size_t at = sizeof h + h.num_targets * h.target_bytes;
    for (int i = 0;; i++) {
        memcpy(&e, data + at, sizeof e);
        if (i == number) break;
        at += sizeof e + (size_t)((e.bytes + 7) / 8 * 8);
    }
    data[at + sizeof e + e.bytes / 2] ^= 0x10;
    CHECK(!ind__write_file(c, PACK, data, bytes), "%s", ind_error(c));
    ind__free(c, data);
}

/* Only entries that a module needs are read, and so only their damage is found. A saved pack has all of them. */
static void test_on_demand(void) {
    static lines l;
    ind_pack_info info;
    ind_context *tool = NULL;
    CHECK(!ind_context_create(NULL, &tool), "context");
    CHECK(!ind_pack_load(tool, PACK, &info) && info.num_kernels > 1 && !info.num_damaged, "%d", info.num_kernels);
    for (int entry = 0; entry < info.num_kernels; entry++) {
        flip(tool, entry);
        ind_context *c = context(&l, 2, 0, PACK);
        compile(c, other);
        CHECK(!count(&l, "pack: ", "damaged") && count(&l, "pack: " PACK ": ", " kernels, 0 results") == 1, "entry %d",
              entry);
        ind_module *m = compile(c, logged);
        run(c, m, ODD);
        const int damaged = count(&l, "pack: " PACK ": the damaged entry of kernel ind_k_", "compiled again");
        const int compiled = entry ? 1 : 2; /* the first pack does not have the kernel of `other` */
        CHECK(damaged == 1 && count(&l, "kernel: ind_k_", " compiled for sm_") == compiled, "entry %d: %d damaged",
              entry, damaged);
        CHECK(!ind_pack_save(c, PACK), "%s", ind_error(c));
        ind_context_destroy(c);
        ind_pack_info again;
        ind_context *fresh = NULL;
        CHECK(!ind_context_create(NULL, &fresh) && !ind_pack_load(fresh, PACK, &again), "the saved pack");
        CHECK(again.num_kernels >= info.num_kernels && !again.num_damaged, "%d kernels", again.num_kernels);
        ind_context_destroy(fresh);
    }
    ind_context_destroy(tool);
}

/* A file that is replaced while its entries are still read keeps its contents for this process; a truncated one does
   not, and the kernels are compiled. */
static void test_changed_file(void) {
    static lines l;
    for (int truncated = 0; truncated < 2; truncated++) {
        ind_context *c = context(&l, 2, 0, PACK);
        compile(c, other);
        if (truncated) {
            FILE *f = fopen(PACK, "wb"); /* the same file, now empty */
            CHECK(f && !fclose(f), "the pack");
        } else {
            CHECK(!ind__write_file(c, PACK "2", "another", 7) && !rename(PACK, PACK "3") && !rename(PACK "2", PACK),
                  "%s", ind_error(c));
        }
        ind_module *m = compile(c, logged);
        run(c, m, ODD);
        CHECK((count(&l, "pack: ", "damaged entry") > 0) == truncated, "truncated %d: %d", truncated, l.num);
        ind_context_destroy(c);
        if (!truncated) CHECK(!rename(PACK "3", PACK), "the pack");
    }
    remove(PACK);
}

/* A header that counts four billion targets of no bytes ends like a file that is cut. */
static void test_header(void) {
    static lines l;
    const rt__pack_header h = {.magic = IND__PACK_MAGIC, .format = IND__PACK_FORMAT, .num_targets = UINT32_MAX};
    ind_context *c = context(&l, 2, 0, PACK);
    CHECK(!ind__write_file(c, PACK, &h, sizeof h), "%s", ind_error(c));
    compile(c, other);
    CHECK(count(&l, "pack: " PACK " is truncated", "") == 1, "%s", l.num ? l.text[0] : "");
    ind_context_destroy(c);
    remove(PACK);
}

static void test_categories(void) {
    static lines l;
    ind_context *c = context(&l, 3, 1u << IND_LOG_COMPILE | 1u << IND_LOG_ERROR, NULL);
    compile(c, other);
    CHECK(l.num == 1 && count(&l, "compile: graph other: 1 kernels of ", "") == 1, "%d lines", l.num);
    CHECK(!ind_graph_parse(c, "nonsense", "test"), "a text that is no graph");
    CHECK(l.num == 2 && count(&l, "error: ", "expected") == 1 && l.level[1] == 3, "%s", l.text[1]);
    ind_context_destroy(c);
    c = context(&l, 1, 0, NULL);
    compile(c, other);
    CHECK(!l.num, "%s", l.text[0]);
    ind_context_destroy(c);
}

int main(void) {
    struct stat st;
    if (stat(EMULATED_CUDA, &st) || stat(EMULATED_NVRTC, &st)) {
        printf("no emulated driver in build/emulated\n");
        return 77;
    }
    remove(PACK);
    test_reasons();
    test_on_demand();
    test_changed_file();
    test_header();
    test_categories();
    return check_summary();
}
