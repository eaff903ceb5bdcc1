/* ind_compile_desc.allow_tf32: products of f32 in each layout of the operands, with each kind of edge. Products of
   small integers are exact. A product with the identity is the other operand, rounded to tf32 where the flag is set and
   the device has tensor cores. On the host, which computes in f32, or with IND_DEVICE=cuda on a GPU or the emulation of
   one. */
#include "inductor.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 512, ELEMENTS = MOST * MOST };

/* x and w have rows along k, u and v along m and n. */
static const char text[] =
    "graph products {\n  size M in [0, 4096] hint %d\n  size N in [0, 4096] hint %d\n"
    "  size K in [0, 4096] hint %d\n"
    "  input x : f32[M, K]\n  input w : f32[N, K]\n  input u : f32[K, M]\n  input v : f32[K, N]\n"
    "  input c : f32[N]\n"
    "  t = transpose(u, 0, 1)\n  r = transpose(w, 0, 1)\n"
    "  p = linear(x, w, c)\n  q = matmul(x, v)\n  s = matmul(t, v)\n  y = matmul(t, r)\n"
    "  output p, q, s, y\n}\n";

static const char *const names[] = {"x", "w", "u", "v", "c", "p", "q", "s", "y"};
enum { X, W, U, V, C, P, NUM = 9 };

static ind_context *context;
static float *memory[NUM];
static bool rounds; /* the device has tensor cores */

typedef struct shape {
    int m, n, k;
} shape;

static const shape shapes[] = {{128, 128, 128}, {130, 264, 144}, {1, 8, 16},  {33, 7, 131},
                               {3, 5, 1},       {16, 16, 0},     {0, 16, 32}, {72, 40, 500}};

/* Those of tiles of several sizes; 256 x 64 x 4096: blocks share tiles. */
static const shape hints[] = {{4096, 4096, 4096}, {256, 64, 4096}, {16, 64, 256}};

static ind_module *compile(shape hint, bool allow_tf32) {
    char graph[sizeof text + 32];
    const ind_compile_desc desc = {.allow_tf32 = allow_tf32};
    ind_module *m = NULL;
    snprintf(graph, sizeof graph, text, hint.m, hint.n, hint.k);
    ind_graph *g = ind_graph_parse(context, graph, NULL);
    CHECK(g && !ind_compile(g, &desc, &m), "%s", ind_error(context));
    ind_graph_destroy(g);
    return m;
}

static bool run(ind_module *m, shape s) {
    ind_binding io[NUM];
    char sizes[64];
    snprintf(sizes, sizeof sizes, "M=%d, N=%d, K=%d", s.m, s.n, s.k);
    for (int i = 0; i < NUM; i++) io[i] = (ind_binding){names[i], memory[i]};
    for (int i = P; i < NUM; i++) memset(memory[i], 0xff, ELEMENTS * sizeof(float));
    const ind_run_desc desc = {.bindings = io, .num_bindings = NUM, .sizes = sizes, .memory = IND_MEMORY_HOST};
    const ind_status status = ind_run(m, &desc);
    CHECK(!status, "%s: %s", sizes, ind_error(context));
    return !status;
}

static uint32_t draw(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* Sets the transposed operands from x and w. */
static void transpose(shape s) {
    for (int k = 0; k < s.k; k++) {
        for (int i = 0; i < s.m; i++) memory[U][k * s.m + i] = memory[X][i * s.k + k];
        for (int i = 0; i < s.n; i++) memory[V][k * s.n + i] = memory[W][i * s.k + k];
    }
}

static void check_integers(ind_module *m, shape s) {
    for (int i = 0; i < s.m * s.k; i++) memory[X][i] = (float)(int)(draw() % 17) - 8;
    for (int i = 0; i < s.n * s.k; i++) memory[W][i] = (float)(int)(draw() % 17) - 8;
    for (int i = 0; i < s.n; i++) memory[C][i] = (float)(int)(draw() % 100);
    transpose(s);
    if (!run(m, s)) return;
    for (int i = 0; i < s.m * s.n; i++) {
        float sum = 0;
        for (int k = 0; k < s.k; k++) sum += memory[X][i / s.n * s.k + k] * memory[W][i % s.n * s.k + k];
        for (int o = P; o < NUM; o++) {
            const float want = o == P ? sum + memory[C][i % s.n] : sum;
            if (memory[o][i] == want) continue;
            CHECK(false, "%d x %d x %d: %s[%d] is %g, not %g", s.m, s.n, s.k, names[o], i, (double)memory[o][i],
                  (double)want);
            return;
        }
    }
}

/* 11 significant bits. Ties to even: bulk copies by tensor maps of tf32; away from zero: cvt.rna.tf32.f32. */
static float to_tf32(float x, bool even) {
    int exponent;
    const double fraction = ldexp(frexp((double)x, &exponent), 11);
    return (float)ldexp(even ? rint(fraction) : round(fraction), exponent - 11);
}

/* True if bulk copies bring in the operands of the product whose result has this name. */
static bool copies_in_boxes(ind_module *m, const char *name) {
    char computes[32];
    snprintf(computes, sizeof computes, "computes %s (", name);
    const char *kernel = strstr(ind_module_text(m, IND_STAGE_PLAN), computes);
    const char *line = kernel ? strchr(kernel, '\n') : NULL;
    CHECK(line, "no kernel computes %s", name);
    return line && strstr(line, "matmul, bulk-copied wgmma tiles") == line + 1 + strspn(line + 1, " ");
}

/* Numbers of 24 bits; every fourth one lies halfway between two of tf32. */
static void fill(float *to, int n) {
    for (int i = 0; i < n; i++) {
        const uint32_t bits = draw();
        const double fraction = i % 4 ? bits >> 8 : (bits >> 22 | 0x400u) + 0.5;
        to[i] = (float)ldexp(bits & 1 ? -fraction : fraction, (int)(bits >> 1 & 15) - 24);
    }
}

/* The operand `from` times the identity, whichever side that is on. */
static void check_rounding(ind_module *m, int from, bool allow_tf32) {
    const shape s = {72, 72, 72};
    const int identity = from == X ? W : X;
    fill(memory[from], s.m * s.k);
    for (int i = 0; i < s.m * s.k; i++) memory[identity][i] = i % s.k == i / s.k;
    memset(memory[C], 0, (size_t)s.n * sizeof(float));
    transpose(s);
    if (!run(m, s)) return;
    bool even[NUM - P];
    for (int o = P; o < NUM; o++) even[o - P] = rounds && copies_in_boxes(m, names[o]);
    for (int i = 0; i < s.m * s.n; i++) {
        const float x = from == X ? memory[X][i] : memory[W][i % s.n * s.k + i / s.n];
        for (int o = P; o < NUM; o++) {
            const float want = allow_tf32 && rounds ? to_tf32(x, even[o - P]) : x;
            if (memory[o][i] == want) continue;
            CHECK(false, "%s[%d] is %.9g, not %.9g", names[o], i, (double)memory[o][i], (double)want);
            return;
        }
    }
}

static bool allocate(void) {
    for (int i = 0; i < NUM; i++)
        if (!(memory[i] = malloc(ELEMENTS * sizeof(float)))) return false;
    return true;
}

int main(void) {
    const char *device = getenv("IND_DEVICE");
    rounds = device && !strcmp(device, "cuda");
    if (ind_context_create(NULL, &context) || !allocate()) return 1;
    for (size_t h = 0; h < sizeof hints / sizeof *hints; h++) {
        ind_module *m = compile(hints[h], true);
        for (size_t i = 0; m && i < sizeof shapes / sizeof *shapes; i++) check_integers(m, shapes[i]);
        if (m) check_rounding(m, X, true);
        if (m) check_rounding(m, W, true);
        ind_module_destroy(m);
    }
    ind_module *exact = compile(hints[0], false);
    if (exact) check_rounding(exact, X, false);
    if (exact) check_rounding(exact, W, false);
    ind_module_destroy(exact);
    ind_context_destroy(context);
    for (int i = 0; i < NUM; i++) free(memory[i]);
    return check_summary();
}
