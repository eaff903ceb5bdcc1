// Attention: the online softmax of a tile of scores, and the product of its exponentials with the values.
//@ PACK_F16
// Two adjacent 16-bit elements of an operand of tensor cores.
static IND_INLINE unsigned ind_pack_f16(float low, float high) {
#ifndef IND_EMULATION
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    return ind_f32_to_f16(low) | (unsigned)ind_f32_to_f16(high) << 16;
#endif
}
//@ PACK_BF16
// Two adjacent 16-bit elements of an operand of tensor cores.
static IND_INLINE unsigned ind_pack_bf16(float low, float high) {
#ifndef IND_EMULATION
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    return ind_f32_to_bf16(low) | (unsigned)ind_f32_to_bf16(high) << 16;
#endif
}
//@ ONLINE_ROWS
// The softmax of two rows of scores while their tiles are computed: a lane has accumulators 0 and 1 of row 0, 2 and 3 of row
// 1, and four adjacent lanes share the rows.
struct ind_online_rows {
    float max[2]; // of the scores so far, times `scale`: rounded once, so that all terms of a row have the same factor
    float sum[2]; // of this lane's exponentials
    // Replaces the scores by their exponentials: 2^(score * scale - max). Returns in `factor` what the sums with the former
    // maxima are multiplied by.
    template <int NI> IND_INLINE void add(float (&score)[NI][4], float (&factor)[2], float scale) {
        _Pragma("unroll")
        for (int r = 0; r < 2; r++) {
            float m = score[0][2 * r];
            _Pragma("unroll")
            for (int i = 0; i < NI * 2; i++) m = ind_max(m, score[i / 2][2 * r + i % 2]);
            m = ind_max(m, __shfl_xor_sync(0xffffffffu, m, 1));
            m = ind_max(m, __shfl_xor_sync(0xffffffffu, m, 2));
            m = ind_max(max[r], m * scale);
            const float base = ind_exp_base(m);
            float part = 0;
            _Pragma("unroll")
            for (int i = 0; i < NI * 2; i++) {
                float &x = score[i / 2][2 * r + i % 2];
                x = ind_exp2(fmaf(x, scale, -base));
                part += x;
            }
            factor[r] = ind_exp2(max[r] - base);
            sum[r] = sum[r] * factor[r] + part;
            max[r] = m;
        }
    }
    // Sums of the whole rows, in every lane.
    IND_INLINE void combine(void) {
        _Pragma("unroll")
        for (int r = 0; r < 2; r++) {
            sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], 1);
            sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], 2);
        }
    }
};
// Multiplies the accumulators of both rows by their factors.
template <int NI> static IND_INLINE void ind_scale_rows(float (&acc)[NI][4], const float (&factor)[2]) {
    _Pragma("unroll")
    for (int i = 0; i < NI * 4; i++) acc[i / 4][i % 4] *= factor[i % 4 / 2];
}
//@ MMA_WEIGHTED
// acc += W * V for 16 rows of weights in registers and a tile of values: [key][n], or [n][key] if K_MAJOR.
template <typename MMA, int TN, int TK, bool K_MAJOR, int NI, int NK, typename PACK>
static IND_INLINE void ind_mma_weighted(float (&acc)[NI][4], const float (&weight)[NK][4], const unsigned short *tile, PACK pack) {
    _Pragma("unroll")
    for (int k = 0; k < TK; k += 16) {
        const float (&w)[4] = weight[k / 8], (&next)[4] = weight[k / 8 + 1];
        const unsigned a[4] = {pack(w[0], w[1]), pack(w[2], w[3]), pack(next[0], next[1]), pack(next[2], next[3])};
        _Pragma("unroll")
        for (int j = 0; j < NI / 2; j++) {
            unsigned b[4];
            ind_fragment_b<false, TN, TK, K_MAJOR>(b, tile, j * 16, k);
            const unsigned first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
            MMA::multiply(acc[2 * j], a, first);
            MMA::multiply(acc[2 * j + 1], a, second);
        }
    }
}
//@ WGMMA_READY
#ifndef IND_EMULATION
// Waits until at most N wgmma groups are in flight, later ones than that of these accumulators: they may be read.
template <int N, int NI> static IND_INLINE void ind_wgmma_ready(float (&c)[NI][4]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory");
    _Pragma("unroll")
    for (int i = 0; i < NI * 4; i++) asm volatile("" : "+f"(c[i / 4][i % 4]) :: "memory");
}
#endif
//@ PACK_WEIGHTS
// Weights in the layout of accumulators as left operands of 16-bit elements.
template <int NK, int NI, typename PACK>
static IND_INLINE void ind_pack_weights(unsigned (&a)[NK][4], const float (&weight)[NI][4], PACK pack) {
    _Pragma("unroll")
    for (int i = 0; i < NK * 4; i++) {
        const float (&w)[4] = weight[i / 4 * 2 + i % 4 / 2];
        a[i / 4][i % 4] = pack(w[i % 2 * 2], w[i % 2 * 2 + 1]);
    }
}
