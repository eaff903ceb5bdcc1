/* ---- products with packed weights: AVX2 and AVX-512 */

#if IND__HOST_DECODES && IND__HOST_X86
IND__HOST_CONTRACT_BEGIN
#define IND__HOST_AVX2   __attribute__((target("avx2,fma,f16c")))
#define IND__HOST_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define IND__HOST_HAS_AVX512                                                                                           \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&  \
     __builtin_cpu_supports("avx512dq") && IND__HOST_HAS_AVX2)

IND__HOST_AVX2 static inline int32_t rt__host_word_of(const uint8_t *b) {
    int32_t word;
    memcpy(&word, b, sizeof word);
    return word;
}

/* The scales of `num` blocks, up to 4, from registers: words that are stored one by one and loaded as a vector stall.
   CPUs with AVX2 convert 16-bit floats (F16C). */
IND__HOST_AVX2 static inline void rt__host_convert_scales(float *out, const uint8_t *b, int64_t num, int64_t bytes) {
    const int32_t first = rt__host_word_of(b), second = num > 1 ? rt__host_word_of(b + bytes) : 0;
    const int32_t third = num > 2 ? rt__host_word_of(b + 2 * bytes) : 0;
    const int32_t fourth = num > 3 ? rt__host_word_of(b + 3 * bytes) : 0;
    _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_setr_epi32(first, second, third, fourth)));
}

IND__HOST_AVX2 static inline void rt__host_read_scales(const rt__host_packed_tile *p, rt__host_scales *scales) {
    const int64_t num = p->kc / 32, bytes = p->packed->bytes;
    for (int j = 0; j < IND__HOST_COLUMNS; j++) {
        const uint8_t *b = p->from[j];
        int64_t k = 0;
        for (; k + 4 <= num; k += 4, b += 4 * bytes) rt__host_convert_scales(&scales->of[j][2 * k], b, 4, bytes);
        if (k < num) rt__host_convert_scales(&scales->of[j][2 * k], b, num - k, bytes);
    }
}

IND__HOST_AVX2 static void rt__host_packed_columns_avx2(const rt__host_packed_tile *p) {
    rt__host_scales scales;
    if (!rt__host_is_single_row(p)) {
        rt__host_packed_columns(p, false);
        return;
    }
    rt__host_read_scales(p, &scales);
    rt__host_packed_row(p, &scales);
}

/* sum += x * w of 32 elements, contracted or not as the loops of more rows are: the bits are the same. */
#define IND__HOST_ADD_32(sum, x, w0, w1) (sum += _mm512_loadu_ps(x) * (w0), sum += _mm512_loadu_ps((x) + 16) * (w1))

/* Four columns of a single row. COLUMN(j) adds 32 elements of column j, the block b, to s<j>. */
#define IND__HOST_WIDE_ROW(COLUMN)                                                                                     \
    __m512 s0 = _mm512_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;                                                        \
    int64_t at = 0;                                                                                                    \
    for (int64_t k = 0; k < p->kc; k += 32, at += p->packed->bytes) {                                                  \
        COLUMN(0)                                                                                                      \
        COLUMN(1)                                                                                                      \
        COLUMN(2)                                                                                                      \
        COLUMN(3)                                                                                                      \
    }                                                                                                                  \
    const rt__host_v16 sum[IND__HOST_COLUMNS] = {(rt__host_v16)s0, (rt__host_v16)s1, (rt__host_v16)s2,                 \
                                                 (rt__host_v16)s3};                                                    \
    for (int j = 0; j < IND__HOST_COLUMNS; j++) p->c[j] += rt__host_sum_v16(&sum[j]);

/* Elements of 4 or 5 bits: a permutation finds the element of each lane in a table of the 16 or 32 numbers d * value +
   m that its block may have. bits: where four bits of each element begin in a block; fifth: where the fifth bits do, or
   0. */
IND__HOST_AVX512 IND__HOST_INLINE void rt__host_wide_tables(const rt__host_packed_tile *p,
                                                            const rt__host_scales *scales, const float *value,
                                                            bool has_min, int bits, int fifth) {
    const __m512 low_values = _mm512_loadu_ps(value), high_values = _mm512_loadu_ps(value + (fifth ? 16 : 0));
    const __m512i fifteen = _mm512_set1_epi32(15), sixteen = _mm512_set1_epi32(16);
#define COLUMN(j)                                                                                                      \
    {                                                                                                                  \
        const uint8_t *const b = p->from[j] + at;                                                                      \
        const __m512 d = _mm512_set1_ps(scales->of[j][k / 16]);                                                        \
        const __m512 m = has_min ? _mm512_set1_ps(scales->of[j][k / 16 + 1]) : _mm512_setzero_ps();                    \
        const __m512 table = low_values * d + m;                                                                       \
        __m512i low = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(b + bits)));                              \
        __m512i high = _mm512_srli_epi32(low, 4);                                                                      \
        __m512 w0, w1;                                                                                                 \
        __builtin_prefetch(p->next[j] + at);                                                                           \
        if (fifth) {                                                                                                   \
            const uint32_t word = rt__host_word(b + fifth, 4);                                                         \
            const __m512 rest = high_values * d + m;                                                                   \
            low = _mm512_and_si512(low, fifteen);                                                                      \
            low = _mm512_mask_or_epi32(low, (__mmask16)word, low, sixteen);                                            \
            high = _mm512_mask_or_epi32(high, (__mmask16)(word >> 16), high, sixteen);                                 \
            w0 = _mm512_permutex2var_ps(table, low, rest);                                                             \
            w1 = _mm512_permutex2var_ps(table, high, rest);                                                            \
        } else {                                                                                                       \
            w0 = _mm512_permutexvar_ps(low, table);                                                                    \
            w1 = _mm512_permutexvar_ps(high, table);                                                                   \
        }                                                                                                              \
        IND__HOST_ADD_32(s##j, p->x + k, w0, w1);                                                                      \
    }
    IND__HOST_WIDE_ROW(COLUMN)
#undef COLUMN
}

/* Elements of 8 bits with signs. */
IND__HOST_AVX512 IND__HOST_INLINE void rt__host_wide_bytes(const rt__host_packed_tile *p,
                                                           const rt__host_scales *scales){
#define COLUMN(j)                                                                                                      \
    {                                                                                                                  \
        const uint8_t *const b = p->from[j] + at + 2;                                                                  \
        const __m512 d = _mm512_set1_ps(scales->of[j][k / 16]);                                                        \
        const __m512i q0 = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)b));                                  \
        const __m512i q1 = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(b + 16)));                           \
        __builtin_prefetch(p->next[j] + at);                                                                           \
        IND__HOST_ADD_32(s##j, p->x + k, _mm512_cvtepi32_ps(q0) * d, _mm512_cvtepi32_ps(q1) * d);                      \
    }
    IND__HOST_WIDE_ROW(COLUMN)
#undef COLUMN
}

IND__HOST_AVX512 static void rt__host_packed_columns_avx512(const rt__host_packed_tile *p) {
    static const float iq4[16] = {IND__HOST_IQ4};
    static const float step[48] = {-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1,
                                   0,   1,   2,   3,   4,   5,   6,   7,  8,  9,  10, 11, 12, 13, 14, 15,
                                   16,  17,  18,  19,  20,  21,  22,  23, 24, 25, 26, 27, 28, 29, 30, 31};
    rt__host_scales scales;
    if (!rt__host_is_single_row(p)) {
        rt__host_packed_columns(p, true);
        return;
    }
    rt__host_read_scales(p, &scales);
    switch (p->packed->format) {
    case IND__QUANTISED_Q4_0: rt__host_wide_tables(p, &scales, step + 8, false, 2, 0); return;
    case IND__QUANTISED_Q4_1: rt__host_wide_tables(p, &scales, step + 16, true, 4, 0); return;
    case IND__QUANTISED_Q5_0: rt__host_wide_tables(p, &scales, step, false, 6, 2); return;
    case IND__QUANTISED_Q5_1: rt__host_wide_tables(p, &scales, step + 16, true, 8, 4); return;
    case IND__QUANTISED_IQ4_NL: rt__host_wide_tables(p, &scales, iq4, false, 2, 0); return;
    case IND__QUANTISED_Q8_0: rt__host_wide_bytes(p, &scales); return;
    default: rt__host_packed_columns(p, true); /* a format without a form for a single row */
    }
}
IND__HOST_CONTRACT_END
#else
#define rt__host_packed_columns_avx2   rt__host_packed_columns_any
#define rt__host_packed_columns_avx512 rt__host_packed_columns_any
#define IND__HOST_HAS_AVX512           0
#endif
