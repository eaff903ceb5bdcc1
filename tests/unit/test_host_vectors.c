/* test_host_vectors.c - products of the host with packed weights: the versions for AVX-512, AVX2 and any machine agree,
   and in each the bits of a row do not depend on the number of rows. tests/numerics/test_host_products.py compares the
   version that the machine takes with NumPy. */
#define INDUCTOR_RUNTIME_IMPLEMENTATION
#include "inductor.h"

#include "check.h"

#if IND__HOST_DECODES

enum { MOST = 512, ROWS = 3, COLUMNS = IND__HOST_COLUMNS };

/* Where the scales of a block lie, f16 numbers: their exponents are made small. -1: none. */
static const struct {
    ind__quantised format;
    const char *name;
    int elements, bytes, scale[2];
} formats[] = {
    {IND__QUANTISED_F16, "f16", 1, 2, {0, -1}},         {IND__QUANTISED_BF16, "bf16", 1, 2, {0, -1}},
    {IND__QUANTISED_Q8_0, "q8_0", 32, 34, {0, -1}},     {IND__QUANTISED_Q4_0, "q4_0", 32, 18, {0, -1}},
    {IND__QUANTISED_Q4_1, "q4_1", 32, 20, {0, 2}},      {IND__QUANTISED_Q5_0, "q5_0", 32, 22, {0, -1}},
    {IND__QUANTISED_Q5_1, "q5_1", 32, 24, {0, 2}},      {IND__QUANTISED_Q2_K, "q2_k", 256, 84, {80, 82}},
    {IND__QUANTISED_Q3_K, "q3_k", 256, 110, {108, -1}}, {IND__QUANTISED_Q4_K, "q4_k", 256, 144, {0, 2}},
    {IND__QUANTISED_Q5_K, "q5_k", 256, 176, {0, 2}},    {IND__QUANTISED_Q6_K, "q6_k", 256, 210, {208, -1}},
    {IND__QUANTISED_IQ4_NL, "iq4_nl", 32, 18, {0, -1}}, {IND__QUANTISED_IQ4_XS, "iq4_xs", 256, 136, {0, -1}}};

static uint32_t state = 1;

static uint32_t next_random(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

typedef struct product {
    rt__host_packed packed;
    uint8_t blocks[COLUMNS][MOST * 2];
    float x[ROWS][MOST];
    int64_t kc;
} product;

static void make_product(product *p, size_t f, int64_t kc) {
    *p = (product){.kc = kc};
    p->packed = (rt__host_packed){
        .format = formats[f].format, .elements = formats[f].elements, .bytes = formats[f].bytes, .round = IND_F32};
    for (int j = 0; j < COLUMNS; j++)
        for (int64_t block = 0; block < kc / formats[f].elements; block++) {
            uint8_t *b = p->blocks[j] + block * formats[f].bytes;
            for (int i = 0; i < formats[f].bytes; i++) b[i] = (uint8_t)next_random();
            for (int s = 0; s < 2 && formats[f].scale[s] >= 0; s++) b[formats[f].scale[s] + 1] &= 0xbb;
        }
    for (int r = 0; r < ROWS; r++)
        for (int64_t k = 0; k < kc; k++) p->x[r][k] = (float)(next_random() % 2001) / 1000 - 1;
}

/* y[ROWS][COLUMNS], `rows` of them at a time. */
static void multiply(const product *p, void (*version)(const rt__host_packed_tile *), bool wide, int rows,
                     float y[ROWS][COLUMNS]) {
    static float w[COLUMNS * IND__HOST_SEGMENT], x[ROWS * MOST], c[ROWS * IND__HOST_NC];
    for (int first = 0; first < ROWS; first += rows) {
        const int num = ROWS - first < rows ? ROWS - first : rows;
        rt__host_packed_tile t = {.packed = &p->packed, .kc = p->kc, .rows = num, .x = x, .w = w, .c = c};
        for (int r = 0; r < num; r++) memcpy(x + r * p->kc, p->x[first + r], (size_t)p->kc * sizeof *x);
        if (!wide && p->packed.elements > 1) rt__host_pair_order(x, num * p->kc);
        for (int j = 0; j < COLUMNS; j++) t.from[j] = t.next[j] = p->blocks[j];
        memset(c, 0, sizeof c);
        version(&t);
        for (int r = 0; r < num; r++) memcpy(y[first + r], c + r * IND__HOST_NC, sizeof y[0]);
    }
}

static void test_version(const product *p, const char *name, void (*version)(const rt__host_packed_tile *), bool wide,
                         float want[ROWS][COLUMNS]) {
    float all[ROWS][COLUMNS], one[ROWS][COLUMNS], two[ROWS][COLUMNS];
    multiply(p, version, wide, ROWS, all);
    multiply(p, version, wide, 1, one);
    multiply(p, version, wide, 2, two);
    CHECK(!memcmp(all, one, sizeof all) && !memcmp(all, two, sizeof all), "%s of %lld: bits depend on rows", name,
          (long long)p->kc);
    float most = 0;
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < COLUMNS; j++) most = fmaxf(most, fabsf(want[r][j]));
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < COLUMNS; j++)
            CHECK(fabsf(all[r][j] - want[r][j]) <= 1e-4f * most, "%s of %lld: %g, not %g", name, (long long)p->kc,
                  (double)all[r][j], (double)want[r][j]);
}

int main(void) {
    static product p;
    float want[ROWS][COLUMNS];
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int64_t kc = 32; kc <= MOST; kc *= 2) {
            if (kc % formats[f].elements) continue;
            make_product(&p, f, kc);
            multiply(&p, rt__host_packed_columns_any, false, ROWS, want);
            test_version(&p, formats[f].name, rt__host_packed_columns_any, false, want);
            if (IND__HOST_HAS_AVX2) test_version(&p, formats[f].name, rt__host_packed_columns_avx2, false, want);
            if (IND__HOST_HAS_AVX512) test_version(&p, formats[f].name, rt__host_packed_columns_avx512, true, want);
        }
    printf("AVX2: %d, AVX-512: %d\n", IND__HOST_HAS_AVX2 != 0, IND__HOST_HAS_AVX512 != 0);
    return check_summary();
}
#else
int main(void) {
    puts("blocks are decoded with vectors by gcc and clang on little-endian machines only");
    return 77;
}
#endif
