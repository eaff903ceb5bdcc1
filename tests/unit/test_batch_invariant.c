/* ind_compile_desc.batch_invariant: the bits of a row do not depend on the number of rows. Products of bf16 and f32,
   aligned and not, and reductions along rows. On the host, or with IND_DEVICE=cuda on a GPU or the emulation of one.
   Arguments: the most rows (64), and the step from one number of rows to the next (9). */
#include "inductor.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 1032, ODD = 1031, WIDE = 136, NARROW = 37, LONG = 9000 };

static const char text[] = "graph rows {\n  size M in [1, 4096] hint 2\n"
                           "  input a : bf16[M, 1032]\n  input b : bf16[136, 1032]\n"
                           "  input c : bf16[M, 1031]\n  input d : bf16[1031, 37]\n"
                           "  input e : f32[M, 1031]\n  input f : f32[37, 1031]\n  input g : f32[M, 9000]\n"
                           "  p = linear(a, b)\n  q = matmul(c, d)\n  r = linear(e, f)\n  s = sum(g, dim=[1])\n"
                           "  output p, q, r, s\n}\n";

typedef struct tensor {
    const char *name;
    size_t row, rows; /* bytes of a row; 0 rows: M */
    bool output;
} tensor;

static const tensor tensors[] = {
    {"a", DEPTH * 2, 0, false}, {"b", DEPTH * 2, WIDE, false}, {"c", ODD * 2, 0, false},  {"d", NARROW * 2, ODD, false},
    {"e", ODD * 4, 0, false},   {"f", ODD * 4, NARROW, false}, {"g", LONG * 4, 0, false}, {"p", WIDE * 2, 0, true},
    {"q", NARROW * 2, 0, true}, {"r", NARROW * 4, 0, true},    {"s", 4, 0, true},
};

#define NUM (sizeof tensors / sizeof *tensors)

static ind_context *c;
static unsigned char *memory[NUM], *want[NUM];

/* Numbers in [-2, 2) with random fractions. bf16 and f32 have the same upper 16 bits. */
static void fill(unsigned char *to, size_t bytes, bool half) {
    static uint64_t state = 1;
    for (size_t i = 0; i < bytes; i += half ? 2 : 4) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const float value = (float)(state >> 40) / (float)(1 << 22) - 2;
        uint32_t bits;
        memcpy(&bits, &value, 4);
        if (half) bits >>= 16;
        memcpy(to + i, &bits, half ? 2 : 4);
    }
}

static bool run(ind_module *m, int rows) {
    ind_binding io[NUM];
    char sizes[24];
    for (size_t i = 0; i < NUM; i++) io[i] = (ind_binding){tensors[i].name, memory[i]};
    snprintf(sizes, sizeof sizes, "M=%d", rows);
    ind_run_desc desc = {.bindings = io, .num_bindings = NUM, .sizes = sizes, .memory = IND_MEMORY_HOST};
    for (size_t i = 0; i < NUM; i++)
        if (tensors[i].output) memset(memory[i], 0xff, tensors[i].row * (size_t)rows);
    ind_status status = ind_run(m, &desc);
    CHECK(!status, "%d rows: %s", rows, ind_error(c));
    return !status;
}

static void compare(ind_module *m, int rows) {
    if (!run(m, rows)) return;
    for (size_t i = 0; i < NUM; i++)
        if (tensors[i].output)
            CHECK(!memcmp(memory[i], want[i], tensors[i].row * (size_t)rows), "%d rows: %s differs", rows,
                  tensors[i].name);
}

static bool allocate(size_t most) {
    bool all = true;
    for (size_t i = 0; i < NUM; i++) {
        const tensor *t = &tensors[i];
        const size_t bytes = t->row * (t->rows ? t->rows : most);
        memory[i] = malloc(bytes), want[i] = malloc(bytes);
        all = all && memory[i] && want[i];
        if (all && !t->output) fill(memory[i], bytes, i < 4);
    }
    return all;
}

int main(int argc, char **argv) {
    const int most = argc > 2 ? atoi(argv[1]) : 64, step = argc > 2 ? atoi(argv[2]) : 9;
    const ind_compile_desc desc = {.batch_invariant = true};
    ind_module *m = NULL;
    if (ind_context_create(NULL, &c) || !allocate((size_t)most)) return 1;
    ind_graph *g = ind_graph_parse(c, text, NULL);
    CHECK(g && !ind_compile(g, &desc, &m), "%s", ind_error(c));
    if (m && run(m, most)) {
        for (size_t i = 0; i < NUM; i++)
            if (tensors[i].output) memcpy(want[i], memory[i], tensors[i].row * (size_t)most);
        for (int rows = 1; rows <= most; rows += step) compare(m, rows);
        compare(m, 2);
        compare(m, most);
    }
    ind_module_destroy(m);
    ind_graph_destroy(g);
    ind_context_destroy(c);
    for (size_t i = 0; i < NUM; i++) free(memory[i]), free(want[i]);
    return check_summary();
}
