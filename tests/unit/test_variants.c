/* Variants of kernels, on a GPU or the emulation of one (IND_DEVICE=cuda): launches whose sizes or pointers are the
   first to select one build it, once for all threads, also while a stream is captured; all may be built before, by a
   call or by a thread of the library; a pack has what was built; what cannot be built is said, and other launches go
   on. On the host there is nothing to build, only the results. */
#include "inductor.h"

#include "check.h"
#include "driver.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define ROWS    3
#define LONGEST 3000
#define EVEN    256 /* the usual hint: vectors divide it */
#define ODD     253
#define PACK    "build/test_variants.indpack"

static const char text[] = "graph variants {\n"
                           "  size S in [1, 3000] hint %d\n"
                           "  input x : f32[3, S]\n"
                           "  input w : f32[S]\n"
                           "  y = softmax(x, dim=-1)\n"
                           "  z = mul(y, w)\n"
                           "  output z\n"
                           "}\n";

/* So many rows are likely that variants for ranges of lengths pay. */
static const char many[] = "graph many {\n"
                           "  size B in [1, 100000] hint 8192\n"
                           "  size S in [1, 3000] hint %d\n"
                           "  input x : f32[B, S]\n"
                           "  input w : f32[S]\n"
                           "  y = softmax(x, dim=-1)\n"
                           "  z = mul(y, w)\n"
                           "  output z\n"
                           "}\n";

static float x[ROWS * LONGEST], w[LONGEST], z[ROWS * LONGEST];

typedef struct setup {
    ind_context *c;
    ind_module *m;
    ind_instance *n;
    char *memory[3];
    bool cuda, many;
} setup;

static ind_context *new_context(const char *pack, const char *nvrtc) {
    ind_context *c = NULL;
    ind_context_desc desc = {.pack.path = pack, .cuda.nvrtc_path = nvrtc};
    CHECK(!ind_context_create(&desc, &c), "no context");
    return c;
}

/* A module and an instance in the context, and memory for tensors that start up to 16 bytes late. */
static bool make_as(setup *s, ind_context *c, bool rows, int hint, ind_compile_desc desc) {
    char hinted[sizeof many + 8];
    *s = (setup){.c = c, .many = rows};
    snprintf(hinted, sizeof hinted, rows ? many : text, hint);
    ind_graph *g = ind_graph_parse(c, hinted, NULL);
    bool ok = g && !ind_compile(g, &desc, &s->m) && !ind_instance_create(s->m, NULL, &s->n);
    for (int i = 0; i < 3 && ok; i++) ok = !ind_module_alloc(s->m, sizeof x + 16, (void **)&s->memory[i]);
    CHECK(ok, "%s", ind_error(c));
    s->cuda = ok && ind_module_query_stats(s->m).device == IND_DEVICE_CUDA;
    return ok;
}

static bool make_of(setup *s, ind_context *c, bool rows, int hint, bool all) {
    return make_as(s, c, rows, hint, (ind_compile_desc){.all_variants = all});
}

static bool make(setup *s, ind_context *c, int hint, bool all) {
    return make_of(s, c, false, hint, all);
}

static void drop(setup *s) {
    for (int i = 0; i < 3 && s->m; i++) ind_module_free(s->m, s->memory[i]);
    ind_module_destroy(s->m);
}

static double worst_error(int length) {
    double worst = 0;
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int i = 0; i < length; i++) sum += exp((double)x[r * length + i]);
        for (int i = 0; i < length; i++)
            worst = fmax(worst, fabs(exp((double)x[r * length + i]) / sum * w[i] - (double)z[r * length + i]));
    }
    return worst;
}

/* Where tensor i starts: all are `late` bytes behind a boundary; if that is negative, each so many more than the one
   before it. */
static char *place(const setup *s, int i, int late) {
    return s->memory[i] + (late < 0 ? -late * i : late);
}

static const ind_launch_desc *desc_of(const setup *s, int length, int late, void *stream) {
    static _Thread_local void *pointer[3];
    static _Thread_local int64_t size[2];
    static _Thread_local ind_launch_desc desc;
    for (int i = 0; i < 3; i++) pointer[i] = place(s, i, late);
    size[0] = s->many ? ROWS : length;
    size[1] = length;
    desc = (ind_launch_desc){.pointers = pointer, .sizes_v = size, .stream = stream};
    return &desc;
}

static bool upload(const setup *s, int length, int late) {
    memset(z, 0xff, sizeof z);
    return !ind_module_upload(s->m, place(s, 0, late), x, ROWS * (size_t)length * sizeof *x) &&
           !ind_module_upload(s->m, place(s, 1, late), w, (size_t)length * sizeof *w) &&
           !ind_module_upload(s->m, place(s, 2, late), z, ROWS * (size_t)length * sizeof *z);
}

static void check_result(const setup *s, int length, int late, const char *what) {
    bool ok = !ind_module_download(s->m, z, place(s, 2, late), ROWS * (size_t)length * sizeof *z);
    CHECK(ok && worst_error(length) < 1e-6, "%s, %d elements, %d bytes late: %g", what, length, late,
          worst_error(length));
}

/* Tensors that start `late` bytes behind a boundary; `built` variants by launches are there afterwards. */
static void check_launch(const setup *s, int length, int late, int built) {
    bool ok = upload(s, length, late) && !ind_launch(s->n, desc_of(s, length, late, NULL)) && !ind_instance_check(s->n);
    CHECK(ok, "%d elements, %d bytes late: %s", length, late, ind_error(s->c));
    check_result(s, length, late, "launch");
    const ind_module_stats stats = ind_module_query_stats(s->m);
    if (!s->cuda) built = 0;
    CHECK(stats.num_late == built, "%d elements, %d bytes late: %d variants built", length, late, stats.num_late);
    CHECK((stats.late_ms > 0) == (built > 0), "%g ms", stats.late_ms);
}

static void test_alternating(void) {
    ind_context *c = new_context(NULL, NULL);
    setup s;
    if (c && make(&s, c, EVEN, false)) {
        CHECK(!s.cuda || ind_module_query_stats(s.m).num_sources == 1, "built for the hints alone");
        CHECK(ind_would_compile(s.m, "S=253").num_late == s.cuda, "%s", ind_would_compile(s.m, "S=253").reason);
        check_launch(&s, EVEN, 0, 0);
        check_launch(&s, ODD, 0, 1);
        CHECK(ind_would_compile(s.m, "S=253").num_late == 0, "%s", ind_would_compile(s.m, "S=253").reason);
        check_launch(&s, EVEN, 0, 1);
        check_launch(&s, EVEN, 4, 2);
        check_launch(&s, ODD, 4, 2);
        check_launch(&s, ODD, 0, 2);
        check_launch(&s, EVEN, 0, 2);
        CHECK(!s.cuda || ind_module_query_stats(s.m).num_sources == 3, "%d", ind_module_query_stats(s.m).num_sources);
        CHECK(!ind_pack_save(c, PACK), "%s", ind_error(c));
        drop(&s);
    }
    ind_context_destroy(c);
}

static const char several[] = "graph several {\n"
                              "  size S in [1, 300] hint 256\n"
                              "  input x : f32[3, S]\n"
                              "  input u : f32[S, S]\n"
                              "  a = matmul(x, u)\n"
                              "  b = matmul(a, u)\n"
                              "  c = softmax(b, dim=-1)\n"
                              "  output c\n"
                              "}\n";

/* A launch is the first to need a variant of several kernels, two of which are the same: each text is compiled once. */
static void test_several(void) {
    ind_context *c = new_context(NULL, NULL);
    ind_module *m = NULL;
    ind_instance *n = NULL;
    void *memory[3] = {NULL};
    const int64_t size = ODD;
    static float unit[ODD * ODD];
    for (int i = 0; i < ODD; i++) unit[i * ODD + i] = 1;
    ind_graph *g = c ? ind_graph_parse(c, several, NULL) : NULL;
    bool ok = g && !ind_compile(g, NULL, &m) && !ind_instance_create(m, NULL, &n);
    for (int i = 0; i < 3 && ok; i++) ok = !ind_module_alloc(m, sizeof unit, &memory[i]);
    CHECK(ok && !ind_module_upload(m, memory[0], x, sizeof x) && !ind_module_upload(m, memory[1], unit, sizeof unit),
          "%s", ind_error(c));
    if (ok) {
        const ind_module_stats before = ind_module_query_stats(m);
        const int late = ind_would_compile(m, "S=253").num_late;
        const bool cuda = before.device == IND_DEVICE_CUDA;
        CHECK(!ind_pack_save(c, PACK), "%s", ind_error(c));
        CHECK(cuda ? late > 2 : !late, "%d late", late);
        CHECK(!ind_launch(n, &(ind_launch_desc){.pointers = memory, .sizes_v = &size}) && !ind_instance_check(n), "%s",
              ind_instance_error(n));
        const ind_module_stats after = ind_module_query_stats(m);
        CHECK(after.num_late == late && after.num_sources == before.num_sources + late, "%d of %d", after.num_late,
              late);
        const int distinct = late - (after.num_from_pack - before.num_from_pack);
        CHECK(cuda ? distinct > 0 && distinct < late : !distinct, "%d compiled of %d", distinct, late);
        for (int i = 0; i < ODD; i++) w[i] = 1;
        CHECK(!ind_module_download(m, z, memory[2], 3 * ODD * sizeof *z) && worst_error(ODD) < 1e-6, "%g",
              worst_error(ODD));
    }
    for (int i = 0; i < 3 && m; i++) ind_module_free(m, memory[i]);
    ind_context_destroy(c);
}

/* Launches that need several variants which cannot be compiled: the numbers of sources stay as they are. */
static void test_several_refused(void) {
    ind_context *c = new_context(PACK, "nowhere.so");
    ind_module *m = NULL;
    ind_instance *n = NULL;
    void *memory[3] = {NULL};
    const int64_t size = ODD;
    ind_graph *g = c ? ind_graph_parse(c, several, NULL) : NULL;
    bool ok = g && !ind_compile(g, NULL, &m) && !ind_instance_create(m, NULL, &n);
    for (int i = 0; i < 3 && ok; i++) ok = !ind_module_alloc(m, ODD * ODD * sizeof(float), &memory[i]);
    CHECK(ok, "%s", ind_error(c));
    const ind_module_stats before = ok ? ind_module_query_stats(m) : (ind_module_stats){0};
    for (int again = 0; again < 2 && ok && before.device == IND_DEVICE_CUDA; again++) {
        CHECK(ind_launch(n, &(ind_launch_desc){.pointers = memory, .sizes_v = &size}) == IND_ERROR_LIBRARY, "%s",
              ind_instance_error(n));
        CHECK(strstr(ind_instance_error(n), "the first to need its variant"), "%s", ind_instance_error(n));
        const ind_module_stats after = ind_module_query_stats(m);
        CHECK(after.num_from_pack == before.num_from_pack, "%d, %d", after.num_from_pack, before.num_from_pack);
    }
    for (int i = 0; i < 3 && m; i++) ind_module_free(m, memory[i]);
    ind_context_destroy(c);
}

/* Rows that a block shares: of as many rounds as the hinted length takes, or of any, which vectors divide or not. */
static void test_lengths(void) {
    static const struct {
        int length, late, built;
    } launch[] = {{2048, 0, 0}, {2044, 0, 0}, {2045, 0, 1}, {1000, 0, 2}, {999, 0, 3},  {2048, 4, 4},
                  {1, 0, 4},    {1551, 0, 4}, {2993, 0, 4}, {3000, 0, 4}, {2048, 0, 4}, {2045, 0, 4}};
    ind_context *c = new_context(NULL, NULL);
    setup s;
    if (c && make(&s, c, 2048, false)) {
        for (size_t i = 0; i < sizeof launch / sizeof *launch; i++)
            check_launch(&s, launch[i].length, launch[i].late, launch[i].built);
        drop(&s);
    }
    ind_context_destroy(c);
}

/* Of many rows, each range of lengths has variants of its own, and blocks have as many warps as a row needs. Those that
   read and write element by element, as f32 is where weights lie otherwise, do for unaligned pointers, too. */
static void test_ranges(void) {
    static const struct {
        int length, late, built;
    } launch[] = {{2048, 0, 0}, {100, 0, 1},   {128, 0, 1},  {99, 0, 2},   {129, 0, 3},  {500, 0, 4},   {512, 0, 4},
                  {1000, 0, 5}, {999, 0, 6},   {1025, 0, 7}, {1500, 0, 7}, {2996, 0, 7}, {1027, 0, 7},  {2999, 0, 7},
                  {3000, 0, 7}, {700, -4, 8},  {3, -4, 8},   {128, 4, 8},  {1, 8, 8},    {2500, -4, 8}, {2501, 4, 8},
                  {1025, 8, 8}, {2048, -4, 8}, {2048, 0, 8}, {2045, 0, 8}};
    ind_context *c = new_context(NULL, NULL);
    setup s;
    if (c && make_of(&s, c, true, 2048, false)) {
        for (size_t i = 0; i < sizeof launch / sizeof *launch; i++)
            check_launch(&s, launch[i].length, launch[i].late, launch[i].built);
        drop(&s);
    }
    ind_context_destroy(c);
}

/* The same bits whenever a variant was built, and with all of them from the start. */
static void test_all_variants(void) {
    static float first[2][ROWS * LONGEST];
    ind_context *c = new_context(NULL, NULL);
    for (int all = 0; all < 2 && c; all++) {
        setup s;
        if (!make(&s, c, EVEN, all)) continue;
        CHECK(!s.cuda || ind_module_query_stats(s.m).num_sources == (all ? 3 : 1), "all: %d", all);
        check_launch(&s, EVEN, 4, all ? 0 : 1);
        if (all) CHECK(!memcmp(first[0], z, sizeof z), "other bits");
        memcpy(first[0], z, sizeof z);
        check_launch(&s, ODD, 0, all ? 0 : 2);
        if (all) CHECK(!memcmp(first[1], z, sizeof z), "other bits");
        memcpy(first[1], z, sizeof z);
        drop(&s);
    }
    ind_context_destroy(c);
}

typedef struct job {
    const setup *s;
    ind_instance *n;
    ind_status status;
} job;

static void *launch_odd(void *arg) {
    job *j = (job *)arg;
    j->status = ind_launch(j->n, desc_of(j->s, ODD, 0, NULL));
    return NULL;
}

static void test_threads(void) {
    ind_context *c = new_context(NULL, NULL);
    pthread_t thread[4];
    job j[4];
    setup s;
    if (c && make(&s, c, EVEN, false) && upload(&s, ODD, 0)) {
        for (int i = 0; i < 4; i++) {
            j[i] = (job){.s = &s};
            CHECK(!ind_instance_create(s.m, NULL, &j[i].n), "%s", ind_error(c));
        }
        for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, launch_odd, &j[i]);
        for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
        for (int i = 0; i < 4; i++) {
            CHECK(!j[i].status && !ind_instance_check(j[i].n), "%s", ind_instance_error(j[i].n));
            ind_instance_destroy(j[i].n);
        }
        check_result(&s, ODD, 0, "four threads");
        CHECK(ind_module_query_stats(s.m).num_late == s.cuda, "%d", ind_module_query_stats(s.m).num_late);
        drop(&s);
    }
    ind_context_destroy(c);
}

enum { CAPTURE_GLOBAL = 0 }; /* the strictest: no thread may do what could disturb it */

/* A launch on a stream that the caller captures is the first to need a variant. */
static bool capture_callers(const setup *s, const driver *d) {
    void *stream, *graph = NULL, *executable = NULL;
    if (d->cuStreamCreate(&stream, 1) || d->cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL)) return false;
    bool ok = !ind_launch(s->n, desc_of(s, ODD, 0, stream));
    ok = !d->cuStreamEndCapture(stream, &graph) && ok;
    ok = ok && !d->cuGraphInstantiateWithFlags(&executable, graph, 0) && !d->cuGraphLaunch(executable, stream) &&
         !d->cuStreamSynchronize(stream) && !d->cuGraphExecDestroy(executable) && !d->cuGraphDestroy(graph);
    return !d->cuStreamDestroy_v2(stream) && ok;
}

static void test_capture(void) {
    ind_context *c = new_context(NULL, NULL);
    driver d;
    setup s;
    if (c && make(&s, c, EVEN, false) && s.cuda) {
        bool ok = driver_enter(&d);
        CHECK(ok && upload(&s, ODD, 0) && capture_callers(&s, &d), "%s", ind_error(c));
        check_result(&s, ODD, 0, "captured by the caller");
        CHECK(ind_module_query_stats(s.m).num_late == 1, "%d", ind_module_query_stats(s.m).num_late);
        ok = upload(&s, EVEN, 4) && !ind_capture(s.n, desc_of(&s, EVEN, 4, NULL)) && !ind_replay(s.n, NULL) &&
             !ind_instance_check(s.n);
        CHECK(ok, "%s", ind_error(c));
        check_result(&s, EVEN, 4, "captured");
        CHECK(ind_module_query_stats(s.m).num_late == 2, "%d", ind_module_query_stats(s.m).num_late);
        CHECK(driver_leave(&d), "the context");
        drop(&s);
    } else if (s.m) {
        drop(&s);
    }
    ind_context_destroy(c);
}

/* Launches build nothing after the call, which is made twice. */
static void test_ahead(void) {
    ind_context *c = new_context(NULL, NULL);
    setup s;
    if (c && make(&s, c, EVEN, false)) {
        const int before = ind_module_query_stats(s.m).num_sources;
        for (int i = 0; i < 2; i++) CHECK(!ind_module_build_variants(s.m), "%s", ind_error(c));
        const int after = ind_module_query_stats(s.m).num_sources;
        CHECK((after > before) == s.cuda, "%d sources, then %d", before, after);
        CHECK(ind_would_compile(s.m, "S=253").num_late == 0, "%s", ind_would_compile(s.m, "S=253").reason);
        check_launch(&s, ODD, 0, 0);
        check_launch(&s, EVEN, 4, 0);
        CHECK(ind_module_query_stats(s.m).num_sources == after, "a launch compiled");
        drop(&s);
    }
    CHECK(ind_module_build_variants(NULL) == IND_ERROR_INVALID_ARGUMENT, "no module");
    ind_context_destroy(c);
}

static void *build_all(void *module) {
    return ind_module_build_variants((ind_module *)module) ? module : NULL;
}

/* The library's thread, two of the caller and launches build variants at the same time, each once. */
static void test_background(void) {
    const ind_compile_desc desc = {.background_variants = true};
    ind_context *c = new_context(NULL, NULL);
    pthread_t thread[2];
    void *failed;
    setup s, other;
    if (c && make_as(&s, c, false, EVEN, desc) && upload(&s, ODD, 0)) {
        for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, build_all, s.m);
        CHECK(!ind_launch(s.n, desc_of(&s, ODD, 0, NULL)) && !ind_instance_check(s.n), "%s", ind_error(c));
        for (int i = 0; i < 2; i++) {
            pthread_join(thread[i], &failed);
            CHECK(!failed, "thread %d", i);
        }
        check_result(&s, ODD, 0, "while threads build");
        CHECK(ind_module_query_stats(s.m).num_late <= 1, "%d", ind_module_query_stats(s.m).num_late);
        CHECK(ind_would_compile(s.m, "S=253").num_late == 0, "%s", ind_would_compile(s.m, "S=253").reason);
    }
    drop(&s);
    if (c && make_as(&other, c, true, EVEN, desc)) drop(&other); /* while its thread compiles */
    if (c && make_as(&other, c, true, ODD, desc))
        for (int i = 0; i < 3; i++) ind_module_free(other.m, other.memory[i]);
    ind_context_destroy(c); /* it destroys the module while the thread compiles */
}

/* Without NVRTC a pack must have the variant. */
static void test_pack(void) {
    setup s;
    ind_context *c = new_context(PACK, "build/there_is_no_nvrtc.so");
    if (c && make(&s, c, EVEN, false) && s.cuda) {
        check_launch(&s, ODD, 4, 1);
        check_launch(&s, ODD, 0, 2);
        const ind_module_stats stats = ind_module_query_stats(s.m);
        CHECK(stats.num_sources == 3 && stats.num_from_pack == 3, "%d of %d", stats.num_from_pack, stats.num_sources);
        drop(&s);
    } else if (s.m) {
        drop(&s);
    }
    ind_context_destroy(c);
}

static void test_refused(void) {
    setup s;
    const char *few = "build/test_variants_few.indpack";
    ind_context *c = new_context(NULL, NULL);
    if (c && make(&s, c, EVEN, false)) CHECK(!s.cuda || !ind_pack_save(c, few), "%s", ind_error(c));
    const bool cuda = s.cuda;
    drop(&s);
    ind_context_destroy(c);
    if (!cuda) return;
    c = new_context(few, "build/there_is_no_nvrtc.so");
    if (c && make(&s, c, EVEN, false)) {
        CHECK(ind_module_build_variants(s.m) == IND_ERROR_LIBRARY && strstr(ind_error(c), "there_is_no_nvrtc"), "%s",
              ind_error(c));
        CHECK(ind_launch(s.n, desc_of(&s, ODD, 0, NULL)) == IND_ERROR_LIBRARY, "%s", ind_error(c));
        CHECK(strstr(ind_instance_error(s.n), "first to need its variant") &&
                  strstr(ind_instance_error(s.n), "there_is_no_nvrtc") &&
                  strstr(ind_instance_error(s.n), "all_variants"),
              "%s", ind_instance_error(s.n));
        bool ok = upload(&s, EVEN, 0) && !ind_launch(s.n, desc_of(&s, EVEN, 0, NULL)) && !ind_instance_check(s.n);
        CHECK(ok, "%s", ind_error(c));
        check_result(&s, EVEN, 0, "after a refusal");
        drop(&s);
    }
    ind_context_destroy(c);
}

int main(void) {
    for (int i = 0; i < ROWS * LONGEST; i++) x[i] = (float)(i * 7919 % 1009) / 250 - 2;
    test_several();
    test_several_refused();
    for (int i = 0; i < LONGEST; i++) w[i] = (float)(i % 13) / 8 - 0.5f;
    test_alternating();
    test_lengths();
    test_ranges();
    test_all_variants();
    test_threads();
    test_capture();
    test_ahead();
    test_background();
    test_pack();
    test_refused();
    return check_summary();
}
