/* ---- products with packed weights: blocks of b are decoded into floats of one panel, which are multiplied at once */

/* Elements of K that are decoded at a time: whole blocks of every format. */
#define IND__HOST_SEGMENT (2 * IND__HOST_KC)
#define IND__HOST_COLUMNS 4 /* columns that are multiplied together */

#if IND__HOST_DECODES
IND__HOST_CONTRACT_BEGIN
/* 16 elements as bytes, and wider. Vectors are passed by pointer: their ABI depends on the compiler's options. */
typedef uint8_t rt__host_b16 __attribute__((vector_size(16)));
typedef uint16_t rt__host_h16 __attribute__((vector_size(32)));
typedef int32_t rt__host_i8 __attribute__((vector_size(32)));
typedef uint32_t rt__host_w8 __attribute__((vector_size(32)));
typedef int32_t rt__host_i16 __attribute__((vector_size(64)));
typedef float rt__host_v16 __attribute__((vector_size(64)));

/* *v = (p[i] >> shift) & mask of 16 bytes */
IND__HOST_INLINE void rt__host_bits(rt__host_b16 *v, const uint8_t *p, int shift, int mask) {
    memcpy(v, p, sizeof *v);
    *v = *v >> (uint8_t)shift & (uint8_t)mask;
}

/* Sets bit `to` of element i if bit i is set. */
IND__HOST_INLINE void rt__host_add_bits(rt__host_b16 *v, uint32_t bits, int to) {
    const rt__host_b16 one = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128}, none = {0};
    const uint8_t low = (uint8_t)bits, high = (uint8_t)(bits >> 8);
    const rt__host_b16 both = {low, low, low, low, low, low, low, low, high, high, high, high, high, high, high, high};
    *v |= (rt__host_b16)((one & both) != none) & (uint8_t)(1 << to);
}

/* out = d * (v + offset) + m, of numbers >= 0. `wide`: in order, by vectors of 64 bytes. Otherwise elements 2i and 2i +
   1 are the halves of word i: first the 8 even elements are stored, then the odd ones, as rt__host_pair_order stores
   those that they are multiplied with. */
IND__HOST_INLINE void rt__host_put(float *out, const rt__host_b16 *v, int offset, float d, float m, bool wide) {
    if (wide) {
        const rt__host_i16 n = __builtin_convertvector(*v, rt__host_i16) + offset;
        const rt__host_v16 x = __builtin_convertvector(n, rt__host_v16) * d + m;
        memcpy(out, &x, sizeof x);
        return;
    }
    const rt__host_h16 h = __builtin_convertvector(*v, rt__host_h16);
    const rt__host_i8 even = (rt__host_i8)h & 0xffff, odd = (rt__host_i8)((rt__host_w8)h >> 16);
    const rt__host_v8 x = __builtin_convertvector(even + offset, rt__host_v8) * d + m;
    const rt__host_v8 y = __builtin_convertvector(odd + offset, rt__host_v8) * d + m;
    memcpy(out, &x, sizeof x);
    memcpy(out + 8, &y, sizeof y);
}

/* The same of 16 bytes with signs: out = d * p[i] */
IND__HOST_INLINE void rt__host_put_signed(float *out, const uint8_t *p, float d, bool wide) {
    rt__host_b16 v;
    memcpy(&v, p, sizeof v);
    v ^= 128;
    rt__host_put(out, &v, -128, d, 0, wide);
}

/* Brings rows of kc elements, a multiple of 16, into the order of rt__host_put. */
static void rt__host_pair_order(float *x, int64_t count) {
    for (int64_t k = 0; k < count; k += 16) {
        float pair[16];
        for (int i = 0; i < 16; i++) pair[i % 2 * 8 + i / 2] = x[k + i];
        memcpy(x + k, pair, sizeof pair);
    }
}

IND__HOST_INLINE float rt__host_sum_v8(const rt__host_v8 *sum) {
    const rt__host_v8 s = *sum;
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

IND__HOST_INLINE float rt__host_sum_v16(const rt__host_v16 *sum) {
    rt__host_v8 low, high;
    memcpy(&low, sum, sizeof low);
    memcpy(&high, (const char *)sum + sizeof low, sizeof high);
    low += high;
    return rt__host_sum_v8(&low);
}

/* NAME: c[column] += sum over k of x[k] * w[column][k], for one row x or, if y is not NULL, also for a second row y
   into d. Each sum is one chain of a vector: no sum depends on the number of rows. */
#define IND__HOST_DOTS(NAME, V, LANES)                                                                                 \
    /* *sum += a * w[0 .. LANES) */                                                                                    \
    IND__HOST_INLINE void NAME##_fma(V *sum, const V *a, const float *w) {                                             \
        V v;                                                                                                           \
        memcpy(&v, w, sizeof v);                                                                                       \
        *sum += *a * v;                                                                                                \
    }                                                                                                                  \
    /* *sum += x * w of 32 elements */                                                                                 \
    IND__HOST_INLINE void NAME##_block(V *sum, const float *x, const float *w) {                                       \
        IND__HOST_UNROLL                                                                                               \
        for (int k = 0; k < 32; k += LANES) {                                                                          \
            V a;                                                                                                       \
            memcpy(&a, x + k, sizeof a);                                                                               \
            NAME##_fma(sum, &a, w + k);                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    /* Adds the lanes of the sum, and the terms from k on, to *c. */                                                   \
    IND__HOST_INLINE void NAME##_end(const V *sum, int64_t k, int64_t kc, const float *x, const float *w, float *c) {  \
        float total = rt__host_sum_v##LANES(sum);                                                                      \
        for (; k < kc; k++) total += x[k] * w[k];                                                                      \
        *c += total;                                                                                                   \
    }                                                                                                                  \
    IND__HOST_INLINE void NAME(int64_t kc, const float *x, const float *y, const float *w, float *c, float *d) {       \
        const float *w1 = w + IND__HOST_SEGMENT, *w2 = w1 + IND__HOST_SEGMENT, *w3 = w2 + IND__HOST_SEGMENT;           \
        V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0}, a;                           \
        int64_t k = 0;                                                                                                 \
        for (; k + LANES <= kc; k += LANES) {                                                                          \
            memcpy(&a, x + k, sizeof a);                                                                               \
            NAME##_fma(&s0, &a, w + k), NAME##_fma(&s1, &a, w1 + k);                                                   \
            NAME##_fma(&s2, &a, w2 + k), NAME##_fma(&s3, &a, w3 + k);                                                  \
            if (!y) continue;                                                                                          \
            memcpy(&a, y + k, sizeof a);                                                                               \
            NAME##_fma(&t0, &a, w + k), NAME##_fma(&t1, &a, w1 + k);                                                   \
            NAME##_fma(&t2, &a, w2 + k), NAME##_fma(&t3, &a, w3 + k);                                                  \
        }                                                                                                              \
        NAME##_end(&s0, k, kc, x, w, c), NAME##_end(&s1, k, kc, x, w1, c + 1);                                         \
        NAME##_end(&s2, k, kc, x, w2, c + 2), NAME##_end(&s3, k, kc, x, w3, c + 3);                                    \
        if (!y) return;                                                                                                \
        NAME##_end(&t0, k, kc, y, w, d), NAME##_end(&t1, k, kc, y, w1, d + 1);                                         \
        NAME##_end(&t2, k, kc, y, w2, d + 2), NAME##_end(&t3, k, kc, y, w3, d + 3);                                    \
    }
IND__HOST_DOTS(rt__host_dots8, rt__host_v8, 8)
IND__HOST_DOTS(rt__host_dots16, rt__host_v16, 16)
#undef IND__HOST_DOTS

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

IND__HOST_INLINE void rt__host_decode_q8_0(const uint8_t *b, float d, float *out, bool wide) {
    for (int i = 0; i < 32; i += 16) rt__host_put_signed(out + i, b + 2 + i, d, wide);
}

/* Element i < 16 is in the low, element i + 16 in the high four bits of byte i. `five`: the fifth bits are a word. */
IND__HOST_INLINE void rt__host_decode_q45(const uint8_t *b, float d, float m, float *out, bool five, bool has_min,
                                          bool wide) {
    const uint32_t fifth = five ? rt__host_word(b + (has_min ? 4 : 2), 4) : 0;
    const uint8_t *q = b + (has_min ? 4 : 2) + (five ? 4 : 0);
    for (int i = 0; i < 32; i += 16) {
        rt__host_b16 v;
        rt__host_bits(&v, q, i / 4, 15);
        if (five) rt__host_add_bits(&v, fifth >> i, 4);
        rt__host_put(out + i, &v, has_min ? 0 : five ? -16 : -8, d, has_min ? m : 0, wide);
    }
}

#define IND__HOST_IQ4 -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

/* 32 elements, whose four bits are in 16 bytes. */
IND__HOST_INLINE void rt__host_decode_iq4(const uint8_t *q, float d, float *out, bool wide) {
    static const int8_t value[16] = {IND__HOST_IQ4};
    for (int i = 0; i < 32; i += 16) {
        uint8_t bytes[16];
        for (int k = 0; k < 16; k++) bytes[k] = (uint8_t)value[q[k] >> i / 4 & 15];
        rt__host_put_signed(out + i, bytes, d, wide);
    }
}

/* ---- blocks of 256: scales of 16 or 32 elements */

/* Two bits each of 16 elements from i on: 32 bytes have 128 elements. */
IND__HOST_INLINE void rt__host_pairs(rt__host_b16 *v, const uint8_t *q, int i) {
    rt__host_bits(v, q + i / 128 * 32 + i % 32, i / 32 % 4 * 2, 3);
}

IND__HOST_INLINE void rt__host_decode_q2_k(const uint8_t *b, float *out, bool wide) {
    const float d = rt__host_f16(b + 80), dmin = rt__host_f16(b + 82);
    for (int i = 0; i < 256; i += 16) {
        const int s = b[i / 16];
        rt__host_b16 v;
        rt__host_pairs(&v, b + 16, i);
        rt__host_put(out + i, &v, 0, d * (float)(s & 15), -(dmin * (float)(s >> 4)), wide);
    }
}

IND__HOST_INLINE void rt__host_decode_q3_k(const uint8_t *b, float *out, bool wide) {
    const float d = rt__host_f16(b + 108);
    for (int i = 0; i < 256; i += 16) {
        const int low = b[96 + i / 16 % 8] >> i / 128 * 4 & 15, high = b[104 + i / 16 % 4] >> i / 64 * 2 & 3;
        rt__host_b16 v, third;
        rt__host_pairs(&v, b + 32, i);
        rt__host_bits(&third, b + i % 32, i / 32, 1);
        v |= third << 2;
        rt__host_put(out + i, &v, -4, d * (float)((low | high << 4) - 32), 0, wide);
    }
}

IND__HOST_INLINE void rt__host_decode_q45_k(const uint8_t *b, float *out, bool five, bool wide) {
    const float d = rt__host_f16(b), dmin = rt__host_f16(b + 2);
    const uint8_t *q = b + (five ? 48 : 16);
    for (int i = 0; i < 256; i += 16) {
        const int j = i / 32 % 4, both = b[12 + j];
        const int s = i < 128 ? b[4 + j] & 63 : (both & 15) | (b[4 + j] >> 2 & 48);
        const int m = i < 128 ? b[8 + j] & 63 : both >> 4 | (b[8 + j] >> 2 & 48);
        rt__host_b16 v, fifth;
        rt__host_bits(&v, q + i / 64 * 32 + i % 32, i / 32 % 2 * 4, 15);
        if (five) {
            rt__host_bits(&fifth, b + 16 + i % 32, i / 32, 1);
            v |= fifth << 4;
        }
        rt__host_put(out + i, &v, 0, d * (float)s, -(dmin * (float)m), wide);
    }
}

IND__HOST_INLINE void rt__host_decode_q6_k(const uint8_t *b, float *out, bool wide) {
    const float d = rt__host_f16(b + 208);
    for (int i = 0; i < 256; i += 16) {
        rt__host_b16 v, high;
        rt__host_bits(&v, b + i / 128 * 64 + i % 64, i / 64 % 2 * 4, 15);
        rt__host_pairs(&high, b + 128, i);
        v |= high << 4;
        rt__host_put(out + i, &v, -32, d * (float)(int8_t)b[192 + i / 16], 0, wide);
    }
}

IND__HOST_INLINE void rt__host_decode_iq4_xs(const uint8_t *b, float *out, bool wide) {
    const float d = rt__host_f16(b);
    for (int i = 0; i < 256; i += 32) {
        const int low = b[4 + i / 64] >> i / 32 % 2 * 4 & 15, high = b[2 + i / 128] >> i / 32 % 4 * 2 & 3;
        rt__host_decode_iq4(b + 8 + i / 2, d * (float)((low | high << 4) - 32), out + i, wide);
    }
}

/* ---- rows of blocks */

IND__HOST_INLINE void rt__host_decode_16(ind__quantised f, const uint8_t *b, float *out) {
    *out = f == IND__QUANTISED_F16 ? rt__host_f16(b) : ind__bf16_to_f32((uint16_t)rt__host_word(b, 2));
}

/* Format, decoding of a block b to out. d and m: the 16-bit floats in bytes 0 and 2 of the block. */
#define IND__HOST_FORMATS_OF_32(X)                                                                                     \
    X(Q8_0, rt__host_decode_q8_0(b, d, out, wide))                                                                     \
    X(Q4_0, rt__host_decode_q45(b, d, m, out, false, false, wide))                                                     \
    X(Q4_1, rt__host_decode_q45(b, d, m, out, false, true, wide))                                                      \
    X(Q5_0, rt__host_decode_q45(b, d, m, out, true, false, wide))                                                      \
    X(Q5_1, rt__host_decode_q45(b, d, m, out, true, true, wide))                                                       \
    X(IQ4_NL, rt__host_decode_iq4(b + 2, d, out, wide))
#define IND__HOST_OTHER_FORMATS(X)                                                                                     \
    X(F16, rt__host_decode_16(IND__QUANTISED_F16, b, out))                                                             \
    X(BF16, rt__host_decode_16(IND__QUANTISED_BF16, b, out))                                                           \
    X(Q2_K, rt__host_decode_q2_k(b, out, wide))                                                                        \
    X(Q3_K, rt__host_decode_q3_k(b, out, wide))                                                                        \
    X(Q4_K, rt__host_decode_q45_k(b, out, false, wide))                                                                \
    X(Q5_K, rt__host_decode_q45_k(b, out, true, wide))                                                                 \
    X(Q6_K, rt__host_decode_q6_k(b, out, wide))                                                                        \
    X(IQ4_XS, rt__host_decode_iq4_xs(b, out, wide))

/* Decodes kc elements. Each format has its own loop, out of which the compiler hoists the constants. */
IND__HOST_INLINE void rt__host_decode(const rt__host_packed *p, const uint8_t *b, int64_t kc, float *out, bool wide) {
    const float *const end = out + kc;
#define X(name, decode)                                                                                                \
    case IND__QUANTISED_##name:                                                                                        \
        for (; out < end; out += p->elements, b += p->bytes) decode;                                                   \
        return;
#define Y(name, decode)                                                                                                \
    case IND__QUANTISED_##name:                                                                                        \
        for (; out < end; out += p->elements, b += p->bytes) {                                                         \
            const float d = rt__host_f16(b), m = rt__host_f16(b + 2);                                                  \
            (void)m;                                                                                                   \
            decode;                                                                                                    \
        }                                                                                                              \
        return;
    switch (p->format) {
        IND__HOST_FORMATS_OF_32(Y)
        IND__HOST_OTHER_FORMATS(X)
    default: return;
    }
#undef X
#undef Y
}

/* A segment of HOST_COLUMNS rows of blocks, and the rows that it is multiplied with. */
typedef struct rt__host_packed_tile {
    const rt__host_packed *packed;
    const uint8_t *from[IND__HOST_COLUMNS];
    const uint8_t *next[IND__HOST_COLUMNS]; /* what will be read after it */
    int64_t kc, rows;
    const float *x; /* [rows][kc] */
    float *w;       /* [HOST_COLUMNS][HOST_SEGMENT] */
    float *c;       /* [rows][HOST_NC] */
} rt__host_packed_tile;

/* The 16-bit floats in bytes 0 and 2 of each block of 32 elements of a segment. */
typedef struct rt__host_scales {
    float of[IND__HOST_COLUMNS][2 * IND__HOST_SEGMENT / 32];
} rt__host_scales;

/* True for a single row and a format with blocks of 32 elements that is not rounded: blocks are multiplied as they are
   decoded. */
static bool rt__host_is_single_row(const rt__host_packed_tile *p) {
    const bool rounds = p->packed->round == IND_F16 || p->packed->round == IND_BF16;
    return p->rows == 1 && p->packed->elements == 32 && !rounds;
}

/* The product of a single row. Sums have the order of additions of rt__host_packed_columns. */
IND__HOST_INLINE void rt__host_packed_row(const rt__host_packed_tile *p, const rt__host_scales *scales) {
    const bool wide = false;
    rt__host_v8 sum[IND__HOST_COLUMNS] = {{0}};
    int64_t at = 0;
#define X(name, decode)                                                                                                \
    case IND__QUANTISED_##name:                                                                                        \
        for (int64_t k = 0; k < p->kc; k += 32, at += p->packed->bytes) {                                              \
            IND__HOST_UNROLL                                                                                           \
            for (int j = 0; j < IND__HOST_COLUMNS; j++) {                                                              \
                const uint8_t *b = p->from[j] + at;                                                                    \
                const float d = scales->of[j][k / 16], m = scales->of[j][k / 16 + 1];                                  \
                float out[32];                                                                                         \
                (void)m;                                                                                               \
                __builtin_prefetch(p->next[j] + at);                                                                   \
                decode;                                                                                                \
                rt__host_dots8_block(&sum[j], p->x + k, out);                                                          \
            }                                                                                                          \
        }                                                                                                              \
        break;
    switch (p->packed->format) {
        IND__HOST_FORMATS_OF_32(X)
    default: break;
    }
#undef X
    IND__HOST_UNROLL
    for (int j = 0; j < IND__HOST_COLUMNS; j++) p->c[j] += rt__host_sum_v8(&sum[j]);
}

IND__HOST_INLINE void rt__host_packed_columns(const rt__host_packed_tile *p, bool wide) {
    const rt__host_packed *b = p->packed;
    for (int j = 0; j < IND__HOST_COLUMNS; j++)
        for (int64_t k = 0; k < p->kc / b->elements * b->bytes; k += 64) __builtin_prefetch(p->next[j] + k);
    for (int j = 0; j < IND__HOST_COLUMNS; j++) {
        float *out = p->w + j * IND__HOST_SEGMENT;
        rt__host_decode(b, p->from[j], p->kc, out, wide);
        for (int64_t k = 0; b->round == IND_BF16 && k < p->kc; k++) out[k] = ind__bf16_to_f32(ind__f32_to_bf16(out[k]));
        for (int64_t k = 0; b->round == IND_F16 && k < p->kc; k++) out[k] = ind__f16_to_f32(ind__f32_to_f16(out[k]));
    }
    for (int64_t r = 0; r < p->rows; r += 2) {
        const float *x = p->x + r * p->kc, *y = r + 1 < p->rows ? x + p->kc : NULL;
        float *c = p->c + r * IND__HOST_NC;
        if (wide)
            rt__host_dots16(p->kc, x, y, p->w, c, c + IND__HOST_NC);
        else
            rt__host_dots8(p->kc, x, y, p->w, c, c + IND__HOST_NC);
    }
}

static void rt__host_packed_columns_any(const rt__host_packed_tile *p) {
    rt__host_scales scales;
    if (!rt__host_is_single_row(p)) {
        rt__host_packed_columns(p, false);
        return;
    }
    for (int j = 0; j < IND__HOST_COLUMNS; j++)
        for (int64_t k = 0; k < p->kc / 32; k++) {
            const uint8_t *b = p->from[j] + k * p->packed->bytes;
            scales.of[j][2 * k] = rt__host_f16(b);
            scales.of[j][2 * k + 1] = rt__host_f16(b + 2);
        }
    rt__host_packed_row(p, &scales);
}

IND__HOST_CONTRACT_END
#endif
