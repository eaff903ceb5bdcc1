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
// acc += W * V for 16 rows of weights in registers and the values of their keys, from number `first` on, in a tile of TK keys:
// [key][n], or [n][key] if K_MAJOR.
template <typename MMA, int TN, int TK, bool K_MAJOR, int NI, int NK, typename PACK>
static IND_INLINE void ind_mma_weighted(float (&acc)[NI][4], const float (&weight)[NK][4], const unsigned short *tile, PACK pack,
                                        int first = 0) {
    _Pragma("unroll")
    for (int k = 0; k < NK * 8; k += 16) {
        const float (&w)[4] = weight[k / 8], (&next)[4] = weight[k / 8 + 1];
        const unsigned a[4] = {pack(w[0], w[1]), pack(w[2], w[3]), pack(next[0], next[1]), pack(next[2], next[3])};
        _Pragma("unroll")
        for (int j = 0; j < NI / 2; j++) {
            unsigned b[4];
            ind_fragment_b<false, TN, TK, K_MAJOR>(b, tile, j * 16, first + k);
            const unsigned left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
            MMA::multiply(acc[2 * j], a, left);
            MMA::multiply(acc[2 * j + 1], a, right);
        }
    }
}
//@ WGMMA_READY
#ifndef IND_EMULATION
// Waits until at most the N latest wgmma groups are in flight. The accumulators of the earlier groups may then be read.
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
//@ MMA_KEYS
// score += Q * K^T for 16 rows of queries and 16 keys, from number `first` on, of a tile of TK keys of D features.
template <typename MMA, int TM, int TK, int D, bool K_MAJOR>
static IND_INLINE void ind_mma_keys(float (&score)[2][4], const unsigned short *tile_a, const unsigned short *tile, int first) {
    _Pragma("unroll")
    for (int k = 0; k < D; k += 16) {
        unsigned a[4], b[4];
        ind_fragment_a<false, TM, D, true>(a, tile_a, 0, k);
        ind_fragment_b<false, TK, D, K_MAJOR>(b, tile, first, k);
        const unsigned left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
        MMA::multiply(score[0], a, left);
        MMA::multiply(score[1], a, right);
    }
}
//@ COMBINE_WARPS_OF_KEYS
// Warps have the same 16 rows and different keys. Adds their sums into the tile `sum`; states[row] becomes the softmax of the
// row, of maxima times `scale`. states[16 ..] is for the warps.
template <int WARPS, int TN, int NI>
static IND_INLINE void ind_combine_warps_of_keys(float *sum, ind_softmax<float> *states, float (&acc)[1][NI][4],
                                                 const ind_online_rows &own) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float factor[2];
    for (int r = 0; r < 2; r++)
        if (lane % 4 == 0) states[16 + warp * 16 + r * 8 + lane / 4] = {own.max[r], own.sum[r]};
    __syncthreads();
    _Pragma("unroll")
    for (int r = 0; r < 2; r++) {
        const int row = r * 8 + lane / 4;
        float max = states[16 + row].max, total = 0;
        _Pragma("unroll")
        for (int i = 1; i < WARPS; i++) max = ind_max(max, states[16 + i * 16 + row].max);
        const float base = ind_exp_base(max);
        _Pragma("unroll")
        for (int i = 0; i < WARPS; i++) total += states[16 + i * 16 + row].sum * ind_exp2(states[16 + i * 16 + row].max - base);
        factor[r] = ind_exp2(own.max[r] - base);
        if (warp == 0 && lane % 4 == 0) states[row] = {max, total};
    }
    ind_scale_rows(acc[0], factor);
    ind_mma_sums<TN>(sum, acc, warp * 16, 0);
    __syncthreads();
    for (int at = threadIdx.x; at < 16 * TN / 4; at += WARPS * 32) {
        float *const place = sum + ind_sum_at<TN>(at / (TN / 4), at % (TN / 4) * 4);
        ind_vec<float, 4> total = ind_load<4>(place);
        _Pragma("unroll")
        for (int i = 1; i < WARPS; i++) {
            const ind_vec<float, 4> more = ind_load<4>(place + i * 16 * (TN + 8));
            _Pragma("unroll")
            for (int j = 0; j < 4; j++) total.at[j] += more.at[j];
        }
        ind_store(place, total);
    }
    __syncthreads();
}
// Multiplies row r of the tile by states[r].sum.
template <int TN, int THREADS> static IND_INLINE void ind_scale_sums(float *sum, const ind_softmax<float> *states) {
    for (int at = threadIdx.x; at < 16 * TN; at += THREADS) sum[ind_sum_at<TN>(at / TN, at % TN)] *= states[at / TN].sum;
}
//@ COMBINE_BLOCKS_OF_KEYS
// Blocks have the same rows, `rows` of them, and different keys. They write their sums and states to `partials`. Returns true in
// the last one, which then has those of all, added in the order of `split`.
template <int TN, int THREADS>
static IND_INLINE bool ind_combine_blocks_of_keys(float *sum, ind_softmax<float> *states, float *partials, unsigned *counter,
                                                  unsigned tile, unsigned split, unsigned parts, int rows) {
    constexpr int PART = 16 * (TN + 2);
    if (parts == 1) return true;
    float *const all = partials + (long long)tile * parts * PART, *const own = all + (long long)split * PART;
    for (int at = threadIdx.x; at < rows * TN / 4; at += THREADS)
        ind_store(own + at * 4, ind_load<4>(sum + ind_sum_at<TN>(at / (TN / 4), at % (TN / 4) * 4)));
    if (threadIdx.x < rows) ind_store(own + 16 * TN + 2 * threadIdx.x, ind_vec<float, 2>{{states[threadIdx.x].max, states[threadIdx.x].sum}});
    if (!ind_last_block(counter, parts)) return false;
    for (int row = threadIdx.x / 32; row < rows; row += THREADS / 32) {
        ind_softmax<float> s = {__uint_as_float(0xff800000u), 0};
        for (unsigned i = threadIdx.x % 32; i < parts; i += 32) {
            const ind_vec<float, 2> part = ind_load<2>(all + (long long)i * PART + 16 * TN + 2 * row);
            const float max = ind_max(s.max, part.at[0]), base = ind_exp_base(max);
            s = {max, s.sum * ind_exp2(s.max - base) + part.at[1] * ind_exp2(part.at[0] - base)};
        }
        _Pragma("unroll")
        for (int d = 16; d > 0; d /= 2) {
            const ind_softmax<float> other = s.lane(d);
            const float max = ind_max(s.max, other.max), base = ind_exp_base(max);
            s = {max, s.sum * ind_exp2(s.max - base) + other.sum * ind_exp2(other.max - base)};
        }
        if (threadIdx.x % 32 == 0) states[row] = s;
    }
    __syncthreads();
    for (int at = threadIdx.x; at < rows * TN / 4; at += THREADS) {
        const int row = at / (TN / 4);
        const float base = ind_exp_base(states[row].max);
        ind_vec<float, 4> total = {};
        _Pragma("unroll 8")
        for (unsigned i = 0; i < parts; i++) {
            const ind_vec<float, 4> part = ind_load<4>(all + (long long)i * PART + at * 4);
            const float factor = ind_exp2(all[(long long)i * PART + 16 * TN + 2 * row] - base);
            _Pragma("unroll")
            for (int j = 0; j < 4; j++) total.at[j] += part.at[j] * factor;
        }
        ind_store(sum + ind_sum_at<TN>(row, at % (TN / 4) * 4), total);
    }
    __syncthreads();
    return true;
}
