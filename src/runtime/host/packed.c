/* ---- products with packed weights: blocks of b are decoded into floats of one panel, which are multiplied at once */

/* Elements of K that are decoded at a time: whole blocks of every format. */
#define IND__HOST_SEGMENT IND__HOST_KC
#define IND__HOST_COLUMNS 4 /* columns that are multiplied together */

#if IND__HOST_DECODES
/* 16 elements as 16-bit integers. Vectors are passed by pointer: their ABI depends on the compiler's options. */
typedef uint16_t rt__host_h16 __attribute__((vector_size(32)));
typedef int16_t rt__host_s16 __attribute__((vector_size(32)));
typedef uint8_t rt__host_b16 __attribute__((vector_size(16)));
typedef int8_t rt__host_c16 __attribute__((vector_size(16)));
typedef int32_t rt__host_i8 __attribute__((vector_size(32)));
typedef uint32_t rt__host_w8 __attribute__((vector_size(32)));

/* *v = (p[i] >> shift) & mask of 16 bytes */
IND__HOST_INLINE void rt__host_bits(rt__host_h16 *v, const uint8_t *p, int shift, int mask) {
    rt__host_b16 bytes;
    memcpy(&bytes, p, sizeof bytes);
    *v = __builtin_convertvector(bytes, rt__host_h16) >> (uint16_t)shift & (uint16_t)mask;
}

/* 16 bytes with signs. */
IND__HOST_INLINE void rt__host_signed(rt__host_h16 *v, const uint8_t *p) {
    rt__host_c16 bytes;
    memcpy(&bytes, p, sizeof bytes);
    *v = (rt__host_h16) __builtin_convertvector(bytes, rt__host_s16);
}

/* Sets bit `to` of element i if bit i is set. */
IND__HOST_INLINE void rt__host_add_bits(rt__host_h16 *v, uint32_t bits, int to) {
    const rt__host_h16 one = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
    const rt__host_h16 none = {0}, set = (rt__host_h16)(((one & (uint16_t)bits) != none));
    *v |= set & (uint16_t)(1 << to);
}

/* Elements 2i and 2i + 1 are the halves of word i: first the 8 even elements are stored, then the odd ones, as
   rt__host_pair_order stores those that they are multiplied with. out = d * (v + offset) + m, of numbers >= 0. */
IND__HOST_INLINE void rt__host_put(float *out, const rt__host_h16 *v, int offset, float d, float m) {
    const rt__host_i8 even = (rt__host_i8)*v & 0xffff, odd = (rt__host_i8)((rt__host_w8)*v >> 16);
    const rt__host_v8 x = __builtin_convertvector(even + offset, rt__host_v8) * d + m;
    const rt__host_v8 y = __builtin_convertvector(odd + offset, rt__host_v8) * d + m;
    memcpy(out, &x, sizeof x);
    memcpy(out + 8, &y, sizeof y);
}

/* The same of numbers with signs: out = d * v */
IND__HOST_INLINE void rt__host_put_signed(float *out, const rt__host_h16 *v, float d) {
    const rt__host_i8 even = (rt__host_i8)((rt__host_w8)*v << 16) >> 16, odd = (rt__host_i8)*v >> 16;
    const rt__host_v8 x = __builtin_convertvector(even, rt__host_v8) * d;
    const rt__host_v8 y = __builtin_convertvector(odd, rt__host_v8) * d;
    memcpy(out, &x, sizeof x);
    memcpy(out + 8, &y, sizeof y);
}

/* Brings rows of kc elements, a multiple of 16, into the order of rt__host_put. */
static void rt__host_pair_order(float *x, int64_t count) {
    for (int64_t k = 0; k < count; k += 16) {
        float pair[16];
        for (int i = 0; i < 16; i++) pair[i % 2 * 8 + i / 2] = x[k + i];
        memcpy(x + k, pair, sizeof pair);
    }
}

/* *sum += a * w[0 .. 8) */
IND__HOST_INLINE void rt__host_fma8(rt__host_v8 *sum, const rt__host_v8 *a, const float *w) {
    rt__host_v8 v;
    memcpy(&v, w, sizeof v);
    *sum += *a * v;
}

/* Adds the lanes of the sum, and the terms from k on, to *c. */
IND__HOST_INLINE void rt__host_end_dot(const rt__host_v8 *sum, int64_t k, int64_t kc, const float *x, const float *w,
                                       float *c) {
    const rt__host_v8 s = *sum;
    float total = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    for (; k < kc; k++) total += x[k] * w[k];
    *c += total;
}

/* c[column] += sum over k of x[k] * w[column][k], for one row x or, if y is not NULL, also for a second row y into d.
   Each sum is one chain of 8 lanes: no sum depends on the number of rows. */
IND__HOST_INLINE void rt__host_dots(int64_t kc, const float *x, const float *y, const float *w, float *c, float *d) {
    const float *w1 = w + IND__HOST_SEGMENT, *w2 = w1 + IND__HOST_SEGMENT, *w3 = w2 + IND__HOST_SEGMENT;
    rt__host_v8 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0}, a;
    int64_t k = 0;
    for (; k + 8 <= kc; k += 8) {
        memcpy(&a, x + k, sizeof a);
        rt__host_fma8(&s0, &a, w + k);
        rt__host_fma8(&s1, &a, w1 + k);
        rt__host_fma8(&s2, &a, w2 + k);
        rt__host_fma8(&s3, &a, w3 + k);
        if (!y) continue;
        memcpy(&a, y + k, sizeof a);
        rt__host_fma8(&t0, &a, w + k);
        rt__host_fma8(&t1, &a, w1 + k);
        rt__host_fma8(&t2, &a, w2 + k);
        rt__host_fma8(&t3, &a, w3 + k);
    }
    rt__host_end_dot(&s0, k, kc, x, w, c);
    rt__host_end_dot(&s1, k, kc, x, w1, c + 1);
    rt__host_end_dot(&s2, k, kc, x, w2, c + 2);
    rt__host_end_dot(&s3, k, kc, x, w3, c + 3);
    if (!y) return;
    rt__host_end_dot(&t0, k, kc, y, w, d);
    rt__host_end_dot(&t1, k, kc, y, w1, d + 1);
    rt__host_end_dot(&t2, k, kc, y, w2, d + 2);
    rt__host_end_dot(&t3, k, kc, y, w3, d + 3);
}

IND__HOST_INLINE uint32_t rt__host_word(const uint8_t *p, int bytes) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint32_t)p[i] << 8 * i;
    return v;
}

IND__HOST_INLINE float rt__host_f16(const uint8_t *p) {
    const uint32_t h = rt__host_word(p, 2), exponent = h & 0x7c00;
    if (!exponent || exponent == 0x7c00) return ind__f16_to_f32((uint16_t)h);
    const uint32_t bits = (h & 0x8000) << 16 | (((h & 0x7fff) << 13) + (112u << 23));
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- blocks of 32 */

IND__HOST_INLINE void rt__host_decode_q8_0(const uint8_t *b, float *out) {
    const float d = rt__host_f16(b);
    for (int i = 0; i < 32; i += 16) {
        rt__host_h16 v;
        rt__host_signed(&v, b + 2 + i);
        rt__host_put_signed(out + i, &v, d);
    }
}

/* Element i < 16 is in the low, element i + 16 in the high four bits of byte i. `five`: the fifth bits are a word. */
IND__HOST_INLINE void rt__host_decode_q45(const uint8_t *b, float *out, bool five, bool has_min) {
    const float d = rt__host_f16(b), m = has_min ? rt__host_f16(b + 2) : 0;
    const uint32_t fifth = five ? rt__host_word(b + (has_min ? 4 : 2), 4) : 0;
    const uint8_t *q = b + (has_min ? 4 : 2) + (five ? 4 : 0);
    for (int i = 0; i < 32; i += 16) {
        rt__host_h16 v;
        rt__host_bits(&v, q, i / 4, 15);
        if (five) rt__host_add_bits(&v, fifth >> i, 4);
        rt__host_put(out + i, &v, has_min ? 0 : five ? -16 : -8, d, m);
    }
}

/* 32 elements, whose four bits are in 16 bytes. */
IND__HOST_INLINE void rt__host_decode_iq4(const uint8_t *q, float d, float *out) {
    static const int8_t value[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    for (int i = 0; i < 32; i += 16) {
        uint8_t bytes[16];
        rt__host_h16 v;
        for (int k = 0; k < 16; k++) bytes[k] = (uint8_t)value[q[k] >> i / 4 & 15];
        rt__host_signed(&v, bytes);
        rt__host_put_signed(out + i, &v, d);
    }
}

/* ---- blocks of 256: scales of 16 or 32 elements */

/* Two bits each of 16 elements from i on: 32 bytes have 128 elements. */
IND__HOST_INLINE void rt__host_pairs(rt__host_h16 *v, const uint8_t *q, int i) {
    rt__host_bits(v, q + i / 128 * 32 + i % 32, i / 32 % 4 * 2, 3);
}

IND__HOST_INLINE void rt__host_decode_q2_k(const uint8_t *b, float *out) {
    const float d = rt__host_f16(b + 80), dmin = rt__host_f16(b + 82);
    for (int i = 0; i < 256; i += 16) {
        const int s = b[i / 16];
        rt__host_h16 v;
        rt__host_pairs(&v, b + 16, i);
        rt__host_put(out + i, &v, 0, d * (float)(s & 15), -(dmin * (float)(s >> 4)));
    }
}

IND__HOST_INLINE void rt__host_decode_q3_k(const uint8_t *b, float *out) {
    const float d = rt__host_f16(b + 108);
    for (int i = 0; i < 256; i += 16) {
        const int low = b[96 + i / 16 % 8] >> i / 128 * 4 & 15, high = b[104 + i / 16 % 4] >> i / 64 * 2 & 3;
        rt__host_h16 v, third;
        rt__host_pairs(&v, b + 32, i);
        rt__host_bits(&third, b + i % 32, i / 32, 1);
        v |= third << 2;
        rt__host_put(out + i, &v, -4, d * (float)((low | high << 4) - 32), 0);
    }
}

IND__HOST_INLINE void rt__host_decode_q45_k(const uint8_t *b, float *out, bool five) {
    const float d = rt__host_f16(b), dmin = rt__host_f16(b + 2);
    const uint8_t *q = b + (five ? 48 : 16);
    for (int i = 0; i < 256; i += 16) {
        const int j = i / 32 % 4, both = b[12 + j];
        const int s = i < 128 ? b[4 + j] & 63 : (both & 15) | (b[4 + j] >> 2 & 48);
        const int m = i < 128 ? b[8 + j] & 63 : both >> 4 | (b[8 + j] >> 2 & 48);
        rt__host_h16 v, fifth;
        rt__host_bits(&v, q + i / 64 * 32 + i % 32, i / 32 % 2 * 4, 15);
        if (five) {
            rt__host_bits(&fifth, b + 16 + i % 32, i / 32, 1);
            v |= fifth << 4;
        }
        rt__host_put(out + i, &v, 0, d * (float)s, -(dmin * (float)m));
    }
}

IND__HOST_INLINE void rt__host_decode_q6_k(const uint8_t *b, float *out) {
    const float d = rt__host_f16(b + 208);
    for (int i = 0; i < 256; i += 16) {
        rt__host_h16 v, high;
        rt__host_bits(&v, b + i / 128 * 64 + i % 64, i / 64 % 2 * 4, 15);
        rt__host_pairs(&high, b + 128, i);
        v |= high << 4;
        rt__host_put(out + i, &v, -32, d * (float)(int8_t)b[192 + i / 16], 0);
    }
}

IND__HOST_INLINE void rt__host_decode_iq4_xs(const uint8_t *b, float *out) {
    const float d = rt__host_f16(b);
    for (int i = 0; i < 256; i += 32) {
        const int low = b[4 + i / 64] >> i / 32 % 2 * 4 & 15, high = b[2 + i / 128] >> i / 32 % 4 * 2 & 3;
        rt__host_decode_iq4(b + 8 + i / 2, d * (float)((low | high << 4) - 32), out + i);
    }
}

/* ---- rows of blocks */

IND__HOST_INLINE void rt__host_decode_16(ind__quantised f, const uint8_t *b, float *out) {
    *out = f == IND__QUANTISED_F16 ? rt__host_f16(b) : ind__bf16_to_f32((uint16_t)rt__host_word(b, 2));
}

/* Decodes kc elements. Each format has its own loop, out of which the compiler hoists the constants. */
IND__HOST_INLINE void rt__host_decode(const rt__host_packed *p, const uint8_t *b, int64_t kc, float *out) {
#define IND__HOST_BLOCKS(call)                                                                                         \
    for (const float *end = out + kc; out < end; out += p->elements, b += p->bytes) call;                              \
    return
    switch (p->format) {
    case IND__QUANTISED_F16: IND__HOST_BLOCKS(rt__host_decode_16(IND__QUANTISED_F16, b, out));
    case IND__QUANTISED_BF16: IND__HOST_BLOCKS(rt__host_decode_16(IND__QUANTISED_BF16, b, out));
    case IND__QUANTISED_Q8_0: IND__HOST_BLOCKS(rt__host_decode_q8_0(b, out));
    case IND__QUANTISED_Q4_0: IND__HOST_BLOCKS(rt__host_decode_q45(b, out, false, false));
    case IND__QUANTISED_Q4_1: IND__HOST_BLOCKS(rt__host_decode_q45(b, out, false, true));
    case IND__QUANTISED_Q5_0: IND__HOST_BLOCKS(rt__host_decode_q45(b, out, true, false));
    case IND__QUANTISED_Q5_1: IND__HOST_BLOCKS(rt__host_decode_q45(b, out, true, true));
    case IND__QUANTISED_Q2_K: IND__HOST_BLOCKS(rt__host_decode_q2_k(b, out));
    case IND__QUANTISED_Q3_K: IND__HOST_BLOCKS(rt__host_decode_q3_k(b, out));
    case IND__QUANTISED_Q4_K: IND__HOST_BLOCKS(rt__host_decode_q45_k(b, out, false));
    case IND__QUANTISED_Q5_K: IND__HOST_BLOCKS(rt__host_decode_q45_k(b, out, true));
    case IND__QUANTISED_Q6_K: IND__HOST_BLOCKS(rt__host_decode_q6_k(b, out));
    case IND__QUANTISED_IQ4_NL: IND__HOST_BLOCKS(rt__host_decode_iq4(b + 2, rt__host_f16(b), out));
    default: IND__HOST_BLOCKS(rt__host_decode_iq4_xs(b, out));
    }
#undef IND__HOST_BLOCKS
}

/* A segment of HOST_COLUMNS rows of blocks, and the rows that it is multiplied with. */
typedef struct rt__host_packed_tile {
    const rt__host_packed *packed;
    const uint8_t *from[IND__HOST_COLUMNS];
    int64_t kc, rows;
    const float *x; /* [rows][kc] */
    float *w;       /* [HOST_COLUMNS][HOST_SEGMENT] */
    float *c;       /* [rows][HOST_NC] */
} rt__host_packed_tile;

IND__HOST_INLINE void rt__host_packed_columns(const rt__host_packed_tile *p) {
    const rt__host_packed *b = p->packed;
    for (int j = 0; j < IND__HOST_COLUMNS; j++) {
        float *out = p->w + j * IND__HOST_SEGMENT;
        rt__host_decode(b, p->from[j], p->kc, out);
        for (int64_t k = 0; b->round == IND_BF16 && k < p->kc; k++) out[k] = ind__bf16_to_f32(ind__f32_to_bf16(out[k]));
        for (int64_t k = 0; b->round == IND_F16 && k < p->kc; k++) out[k] = ind__f16_to_f32(ind__f32_to_f16(out[k]));
    }
    int64_t r = 0;
    for (; r + 2 <= p->rows; r += 2) {
        const float *x = p->x + r * p->kc;
        float *c = p->c + r * IND__HOST_NC;
        rt__host_dots(p->kc, x, x + p->kc, p->w, c, c + IND__HOST_NC);
    }
    if (r < p->rows) rt__host_dots(p->kc, p->x + r * p->kc, NULL, p->w, p->c + r * IND__HOST_NC, NULL);
}

#if defined(__x86_64__) || defined(__i386__)
__attribute__((target("avx2,fma"))) static void rt__host_packed_columns_avx2(const rt__host_packed_tile *p) {
    rt__host_packed_columns(p);
}
#else
#define rt__host_packed_columns_avx2 rt__host_packed_columns
#endif

/* Where byte 0 of each column begins, for each product. */
typedef struct rt__host_blocks {
    int64_t from[2][IND__HOST_NC];
} rt__host_blocks;

/* Finds the rows of blocks of these columns. Returns false if b is not packed, or a block is outside its buffer: the
   evaluator then reports it. */
static bool rt__host_find_blocks(const rt__host_task *t, ind__eval *e, const rt__host_tile_range *at,
                                 rt__host_blocks *x) {
    const struct rt__host_kernel_product *p = &t->kernel->product;
    for (int i = 0; i < 2 && p->dot[i]; i++) {
        const rt__host_packed *b = &p->packed_b[i];
        if (!b->valid || t->reduced % b->elements || (b->elements > 1) != (p->packed_b[0].elements > 1)) return false;
        const int64_t bytes = t->reduced / b->elements * b->bytes, base = rt__direct_base(t, e, &b->blocks, at->batch);
        for (int64_t u = 0; u < at->cols; u++) {
            const int64_t offset = rt__direct_offset(t, &b->blocks, p->col, p->num_col, t->col_extent, at->col + u);
            const int64_t from = x->from[i][u] = (int64_t)((uint64_t)base + (uint64_t)offset);
            if (from < 0 || from > t->instance->host.buffer[b->blocks.buffer].numel - bytes) return false;
        }
    }
    return true;
}

/* Brings the rows in panel a into the order of the decoded elements. */
static void rt__host_order_rows(const rt__host_task *t, const rt__host_panel *a) {
    if (t->kernel->product.packed_b[0].elements > 1) rt__host_pair_order((float *)a->out, a->count * a->kc);
}

/* Adds to the tile of product number i the product of the rows in panel a, [rows][kc], and elements [k0, k0 + kc) of
   these columns. */
static void rt__host_packed_multiply(const rt__host_task *t, const rt__host_worker *w, int i, const rt__host_panel *a,
                                     const rt__host_blocks *x, int64_t cols) {
    const rt__host_packed *b = &t->kernel->product.packed_b[i];
    const uint8_t *data =
        (const uint8_t *)t->instance->host.buffer[b->blocks.buffer].data + a->k0 / b->elements * b->bytes;
    rt__host_packed_tile tile = {
        .packed = b, .kc = a->kc, .rows = a->count, .x = (const float *)a->out, .w = (float *)w->panel_b};
    for (int64_t u = 0; u < cols; u += IND__HOST_COLUMNS) {
        for (int j = 0; j < IND__HOST_COLUMNS; j++) tile.from[j] = data + x->from[i][u + j < cols ? u + j : u];
        tile.c = (float *)rt__host_tile_of(w, i) + u;
        if (IND__HOST_HAS_AVX2)
            rt__host_packed_columns_avx2(&tile);
        else
            rt__host_packed_columns(&tile);
    }
}
#else
typedef char rt__host_blocks;
static bool rt__host_find_blocks(const rt__host_task *t, ind__eval *e, const rt__host_tile_range *at,
                                 rt__host_blocks *x) {
    return (void)t, (void)e, (void)at, (void)x, false;
}
static void rt__host_order_rows(const rt__host_task *t, const rt__host_panel *a) {
    (void)t, (void)a;
}
static void rt__host_packed_multiply(const rt__host_task *t, const rt__host_worker *w, int i, const rt__host_panel *a,
                                     const rt__host_blocks *x, int64_t cols) {
    (void)t, (void)w, (void)i, (void)a, (void)x, (void)cols;
}
#endif
