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
    // The maximum of this lane's scores of row r.
    template <int NI> IND_INLINE float lane_max(const float (&score)[NI][4], int r) const {
        float m[4] = {score[0][2 * r], score[0][2 * r + 1], score[NI - 1][2 * r], score[NI - 1][2 * r + 1]};
        _Pragma("unroll")
        for (int i = 2; i < NI * 2 - 2; i++) m[i % 4] = ind_max(m[i % 4], score[i / 2][2 * r + i % 2]);
        return ind_max(ind_max(m[0], m[1]), ind_max(m[2], m[3]));
    }
    // Raises the maximum of row r to that of the scores. m: the maximum of this lane's scores. Returns the factor for sums that were
    // computed with the former maximum.
    IND_INLINE float raise(float m, int r, float scale) {
        m = ind_max(m, __shfl_xor_sync(0xffffffffu, m, 1));
        m = ind_max(m, __shfl_xor_sync(0xffffffffu, m, 2));
        m = ind_max(max[r], m * scale);
        const float factor = ind_exp2(max[r] - ind_exp_base(m));
        max[r] = m;
        sum[r] *= factor;
        return factor;
    }
    // Replaces the scores by their exponentials: 2^(score * scale - max).
    template <int NI> IND_INLINE void exponentials(float (&score)[NI][4], float scale) {
        _Pragma("unroll")
        for (int r = 0; r < 2; r++) {
            const float base = ind_exp_base(max[r]);
            float part[2] = {};
            _Pragma("unroll")
            for (int i = 0; i < NI * 2; i++) {
                float &x = score[i / 2][2 * r + i % 2];
                x = ind_exp2(fmaf(x, scale, -base));
                part[i % 2] += x;
            }
            sum[r] += part[0] + part[1];
        }
    }
    // Raises the maxima, then replaces the scores by their exponentials. Returns the factors for sums that were computed with the
    // former maxima.
    template <int NI> IND_INLINE void add(float (&score)[NI][4], float (&factor)[2], float scale) {
        _Pragma("unroll")
        for (int r = 0; r < 2; r++) factor[r] = raise(lane_max(score, r), r, scale);
        exponentials(score, scale);
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
template <typename MMA, int TM, int TK, int D, bool A_K_MAJOR, bool K_MAJOR>
static IND_INLINE void ind_mma_keys(float (&score)[2][4], const unsigned short *tile_a, const unsigned short *tile, int first) {
    _Pragma("unroll")
    for (int k = 0; k < D; k += 16) {
        unsigned a[4], b[4];
        ind_fragment_a<false, TM, D, A_K_MAJOR>(a, tile_a, 0, k);
        ind_fragment_b<false, TK, D, K_MAJOR>(b, tile, first, k);
        const unsigned left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
        MMA::multiply(score[0], a, left);
        MMA::multiply(score[1], a, right);
    }
}
//@ TILE_FLOAT4
// Four elements of 32 bits of a tile [ROWS][COLS]: (row, col) and the next columns if ALONG, else the next rows.
template <int ROWS, int COLS, bool ALONG, bool ACROSS>
static IND_INLINE ind_vec<float, 4> ind_tile_float4(const unsigned short *tile, int row, int col) {
    if (ALONG) return ind_load<4>(reinterpret_cast<const float *>(tile + ind_tile_at<ROWS, COLS * 2, ACROSS>(row, col >> 2)));
    ind_vec<float, 4> x;
    _Pragma("unroll")
    for (int i = 0; i < 4; i++)
        x.at[i] = reinterpret_cast<const float *>(tile + ind_tile_at<ROWS, COLS * 2, ACROSS>(row + i, col >> 2))[col & 3];
    return x;
}
//@ FMA_KEYS
// score += Q * K^T of f32, for 16 queries from number m on and 8 NI keys from number `first` on, of tiles of TM queries and TK keys
// of D features: [query][d] if Q_ROWS, else [d][query]; keys likewise. Of each 8 keys a lane has the keys lane % 4 and lane % 4 + 4.
template <int TM, int TK, int D, bool Q_ROWS, bool K_ROWS, int NI>
static IND_INLINE void ind_fma_keys(float (&score)[NI][4], const unsigned short *queries, const unsigned short *keys, int m, int first) {
    const int row = m + (threadIdx.x & 31) / 4, key = first + (threadIdx.x & 3);
    _Pragma("unroll 4")
    for (int d = 0; d < D; d += 4) {
        ind_vec<float, 4> q[2];
        _Pragma("unroll")
        for (int r = 0; r < 2; r++)
            q[r] = Q_ROWS ? ind_tile_float4<TM, D, true, false>(queries, row + r * 8, d) : ind_tile_float4<D, TM, false, true>(queries, d, row + r * 8);
        _Pragma("unroll")
        for (int j = 0; j < NI * 2; j++) {
            const ind_vec<float, 4> k = K_ROWS ? ind_tile_float4<TK, D, true, false>(keys, key + j * 4, d) : ind_tile_float4<D, TK, false, false>(keys, d, key + j * 4);
            _Pragma("unroll")
            for (int i = 0; i < 8; i++) {
                float &sum = score[j / 2][i / 4 * 2 + j % 2];
                sum = fmaf(q[i / 4].at[i % 4], k.at[i % 4], sum);
            }
        }
    }
}
//@ FMA_WEIGHTED
// acc += W * V of f32, for 16 rows of weights, in registers as ind_fma_keys leaves scores, and the values of their keys, from
// number `first` on, in a tile of TK keys: [key][n] if V_ROWS, else [n][key]. A lane has columns lane % 4 * 4 .. + 3 of each 16:
// those of two neighbouring accumulators. `own`: 16 rows of NK * 8 + 4 weights of the warp. Chains of 8 products are added to acc.
template <int TN, int TK, bool V_ROWS, int NI, int NK>
static IND_INLINE void ind_fma_weighted(float (&acc)[NI][4], const float (&weight)[NK][4], const unsigned short *values, float *own,
                                        int first = 0) {
    constexpr int PITCH = NK * 8 + 4;
    const int row = (threadIdx.x & 31) / 4, c = threadIdx.x & 3;
    __syncwarp();
    _Pragma("unroll")
    for (int i = 0; i < NK * 4; i++) own[(row + i % 4 / 2 * 8) * PITCH + i / 4 * 8 + i % 2 * 4 + c] = weight[i / 4][i % 4];
    __syncwarp();
    _Pragma("unroll 1")
    for (int k = 0; k < NK * 8; k += 8) {
        ind_vec<float, 4> w[4];
        _Pragma("unroll")
        for (int i = 0; i < 4; i++) w[i] = ind_load<4>(own + (row + i / 2 * 8) * PITCH + k + i % 2 * 4);
        _Pragma("unroll")
        for (int j = 0; j < NI / 2; j++) {
            float sum[2][4] = {};
            _Pragma("unroll")
            for (int e = 0; e < 8; e++) {
                const int key = first + k + e, n = j * 16 + c * 4;
                const ind_vec<float, 4> v = V_ROWS ? ind_tile_float4<TK, TN, true, true>(values, key, n) : ind_tile_float4<TN, TK, false, false>(values, n, key);
                _Pragma("unroll")
                for (int i = 0; i < 8; i++) sum[i / 4][i % 4] = fmaf(w[i / 4 * 2 + e / 4].at[e % 4], v.at[i % 4], sum[i / 4][i % 4]);
            }
            _Pragma("unroll")
            for (int i = 0; i < 8; i++) acc[2 * j + i % 4 / 2][i / 4 * 2 + i % 2] += sum[i / 4][i % 4];
        }
    }
}
//@ TF32_KEYS
// The same as ind_fma_keys with mma.sync of operands that are rounded to tf32.
template <int TM, int TK, int D, bool Q_ROWS, bool K_ROWS, int NI>
static IND_INLINE void ind_tf32_keys(float (&score)[NI][4], const unsigned short *queries, const unsigned short *keys, int m, int first) {
    const int lane = threadIdx.x & 31, column = first + (lane & 1) * 4 + (lane >> 1 & 3);
    _Pragma("unroll 4")
    for (int d = 0; d < D; d += 8) {
        unsigned q[4], k[4];
        ind_fragment_a<true, TM, 2 * D, Q_ROWS>(q, queries, m, 2 * d);
        ind_mma_words::round(q);
        _Pragma("unroll")
        for (int j = 0; j < NI; j += 2) {
            if (K_ROWS) {
                ind_ldmatrix_x4(k, keys + ind_tile_at<TK, 2 * D>(column + (j + (lane >> 4)) * 8, (d >> 2) + (lane >> 3 & 1)));
            } else {
                _Pragma("unroll")
                for (int i = 0; i < 4; i++) {
                    const int x = first + (j + i / 2) * 8 + (lane >> 2 & 1) * 4 + (lane >> 3);
                    k[i] = reinterpret_cast<const unsigned *>(keys + ind_tile_at<D, 2 * TK>(d + i % 2 * 4 + (lane & 3), x >> 2))[x & 3];
                }
            }
            ind_mma_words::round(k);
            const unsigned left[2] = {k[0], k[1]}, right[2] = {k[2], k[3]};
            ind_mma_words::multiply(score[j], q, left);
            ind_mma_words::multiply(score[j + 1], q, right);
        }
    }
}
//@ TF32_WEIGHTED
// acc += W * V with mma.sync of operands that are rounded to tf32, for weights as ind_tf32_keys leaves scores.
template <int TN, int TK, bool V_ROWS, int NI, int NK>
static IND_INLINE void ind_tf32_weighted(float (&acc)[NI][4], const float (&weight)[NK][4], const unsigned short *values, int first = 0) {
    _Pragma("unroll")
    for (int k = 0; k < NK; k++) {
        const float (&w)[4] = weight[k];
        unsigned a[4] = {__float_as_uint(w[0]), __float_as_uint(w[2]), __float_as_uint(w[1]), __float_as_uint(w[3])}, b[4];
        ind_mma_words::round(a);
        _Pragma("unroll")
        for (int j = 0; j < NI; j += 2) {
            ind_fragment_b<true, TN, 2 * TK, !V_ROWS>(b, values, j * 8, 2 * (first + k * 8));
            ind_mma_words::round(b);
            const unsigned left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
            ind_mma_words::multiply(acc[j], a, left);
            ind_mma_words::multiply(acc[j + 1], a, right);
        }
    }
}
//@ BYTES_TO_F32
// Eight integers of 8 bits as f32, without conversion instructions: prmt puts each into the mantissa of 2^23, which is subtracted.
template <bool SIGNED> static IND_INLINE void ind_bytes_to_f32(float (&f)[8], const ind_vec<unsigned, 2> &x) {
    _Pragma("unroll")
    for (int i = 0; i < 8; i++) {
        const unsigned bits = __byte_perm(SIGNED ? x.at[i / 4] ^ 0x80808080u : x.at[i / 4], 0x4b000000u, 0x7440 + i % 4);
        f[i] = __uint_as_float(bits) - (SIGNED ? 8388736.0f : 8388608.0f);
    }
}
//@ FLOAT8_PAIRS
// Two e4m3, and two f16.
static IND_INLINE unsigned ind_e4m3x2_to_f16x2(unsigned x) {
#if !defined(IND_EMULATION) && __CUDA_ARCH__ >= 890
    unsigned r;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"((unsigned short)x));
    return r;
#else
    const float low = ind_f8e4m3fn_to_f32((unsigned char)x), high = ind_f8e4m3fn_to_f32((unsigned char)(x >> 8));
    return ind_f32_to_f16(low) | (unsigned)ind_f32_to_f16(high) << 16;
#endif
}
//@ FLOATS8_TO_F32
// Eight floats of 8 bits as f32.
template <bool E5M2> static IND_INLINE void ind_floats8_to_f32(float (&f)[8], const ind_vec<unsigned, 2> &x) {
    _Pragma("unroll")
    for (int i = 0; i < 8; i += 2) {
        const unsigned pair = x.at[i / 4] >> i % 4 * 8;
        const unsigned halves = E5M2 ? __byte_perm(pair, 0, 0x1404) : ind_e4m3x2_to_f16x2(pair);
        f[i] = ind_f16_to_f32((unsigned short)halves);
        f[i + 1] = ind_f16_to_f32((unsigned short)(halves >> 16));
    }
}
//@ COMBINE_WARPS_OF_KEYS
// Warps have the same rows, `rows` of 16, and different keys. Adds their sums into `own`, row after row, or if it is NULL into the
// tile `sum`; states[row] becomes the softmax of the row, of maxima times `scale`. states[16 ..] is for the warps. All threads may
// then read the states, and after a barrier the sums.
template <int WARPS, int TN, bool FLOAT4 = false, int NI>
static IND_INLINE void ind_combine_warps_of_keys(float *sum, ind_softmax<float> *states, float (&acc)[1][NI][4],
                                                 const ind_online_rows &state, int rows, float *own) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int r = 0; r < 2; r++)
        if (lane % 4 == 0) states[16 + warp * 16 + r * 8 + lane / 4] = {state.max[r], state.sum[r]};
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
        if (warp == 0 && lane % 4 == 0) states[row] = {max, total};
        if (r * 8 >= rows) continue;
        const float factor = ind_exp2(state.max[r] - base);
        _Pragma("unroll")
        for (int i = 0; i < NI; i++) {
            const int column = FLOAT4 ? i / 2 * 16 + lane % 4 * 4 + i % 2 * 2 : i * 8 + lane % 4 * 2;
            ind_store(sum + ind_sum_at<TN>(warp * 16 + row, column), ind_vec<float, 2>{{acc[0][i][2 * r] * factor, acc[0][i][2 * r + 1] * factor}});
        }
    }
    __syncthreads();
    for (int at = threadIdx.x; at < rows * TN / 4; at += WARPS * 32) {
        float *const place = sum + ind_sum_at<TN>(at / (TN / 4), at % (TN / 4) * 4);
        ind_vec<float, 4> total = ind_load<4>(place);
        _Pragma("unroll")
        for (int i = 1; i < WARPS; i++) {
            const ind_vec<float, 4> more = ind_load<4>(place + i * 16 * (TN + 8));
            _Pragma("unroll")
            for (int j = 0; j < 4; j++) total.at[j] += more.at[j];
        }
        if (own)
            ind_store(own + at * 4, total);
        else
            ind_store(place, total);
    }
}
//@ NEW_ROWS
// Tiles of keys or values that were loaded before new rows were computed: `num` tiles of `keys` keys from step `first` on, in shared
// memory, `columns` columns each. Memory: `features` of a key, keys `stride` elements apart.
struct ind_loaded_tiles {
    unsigned short *tiles;
    const unsigned short *memory;
    long long stride, num_keys;
    int features, columns, keys, first, num;
    // Puts 8 elements that are stored at `to` into the tile that has them.
    IND_INLINE void replace(const unsigned short *to, const ind_vec<unsigned short, 8> &chunk) const {
        const long long apart = ((long long)to - (long long)memory) / 2;
        if ((long long)to < (long long)memory || apart >= stride * num_keys) return;
        const int key = (int)(apart / stride), feature = (int)(apart - key * stride), step = key / keys - first;
        if (feature >= features || step < 0 || step >= num) return;
        const int at = columns <= 16    ? ind_tile_at<16, 16>(key % keys, feature >> 3)
                       : columns == 32  ? ind_tile_at<32, 32>(key % keys, feature >> 3)
                                        : feature / 64 * keys * 64 + ind_tile_at<64, 64>(key % keys, feature % 64 >> 3);
        ind_store(tiles + step * keys * columns + at, chunk);
    }
};
// Stores new rows of caches, in memory and in the tiles.
struct ind_new_rows {
    ind_loaded_tiles keys, values;
    IND_INLINE void operator()(unsigned short *to, const ind_vec<unsigned short, 8> &chunk) const {
        ind_store(to, chunk);
        keys.replace(to, chunk);
        values.replace(to, chunk);
    }
};
//@ COMBINE_BLOCKS_OF_KEYS
// Where a block of `parts` that share a tile has its sums, 16 rows of TN, and then the states of the rows. NULL if it is alone.
template <int TN> static IND_INLINE float *ind_part_of_keys(float *partials, unsigned tile, unsigned split, unsigned parts) {
    return parts == 1 ? nullptr : partials + ((long long)tile * parts + split) * (16 * (TN + 2));
}
// Adds the sums and states of groups of 16 parts, from part `first` on, `step` parts from group to group: 4 columns at `column` of a
// row. All loads of a group are in flight.
template <int TN>
static IND_INLINE void ind_add_parts_of_keys(ind_vec<float, 4> &total, ind_softmax<float> &s, const float *all, int column, int row,
                                             unsigned first, unsigned step, unsigned parts) {
    constexpr int PART = 16 * (TN + 2), FLIGHT = 16;
    s = {__uint_as_float(0xff800000u), 0};
    total = {};
    _Pragma("unroll 1")
    for (; first < parts; first += step) {
        ind_vec<float, 4> part[FLIGHT];
        ind_vec<float, 2> state[FLIGHT];
        _Pragma("unroll")
        for (unsigned i = 0; i < FLIGHT; i++) {
            const float *const from = all + (long long)(first + i) * PART;
            part[i] = {};
            state[i] = {{__uint_as_float(0xff800000u), 0}};
            if (first + i < parts) {
                part[i] = ind_load<4>(from + column);
                state[i] = ind_load<2>(from + 16 * TN + 2 * row);
            }
        }
        float max = s.max;
        _Pragma("unroll")
        for (int i = 0; i < FLIGHT; i++) max = ind_max(max, state[i].at[0]);
        const float base = ind_exp_base(max), kept = ind_exp2(s.max - base);
        s = {max, s.sum * kept};
        _Pragma("unroll")
        for (int j = 0; j < 4; j++) total.at[j] *= kept;
        _Pragma("unroll")
        for (int i = 0; i < FLIGHT; i++) {
            const float factor = ind_exp2(state[i].at[0] - base);
            s.sum += state[i].at[1] * factor;
            _Pragma("unroll")
            for (int j = 0; j < 4; j++) total.at[j] += part[i].at[j] * factor;
        }
    }
}
// Blocks have the same rows, `rows` of them, and different keys. Their sums are in `own`; they write their states there. Returns
// true in the last one. Its tile `sum` and `states` then are those of all, added in a fixed order, after a barrier. If there are
// twice as many threads as vectors of sums, two add every second group of 16 parts of the same sums.
template <int TN, int THREADS>
static IND_INLINE bool ind_combine_blocks_of_keys(float *sum, ind_softmax<float> *states, float *own, unsigned *counter, unsigned split,
                                                  unsigned parts, int rows) {
    constexpr int PART = 16 * (TN + 2);
    if (parts == 1) return true;
    if (threadIdx.x < rows) ind_store(own + 16 * TN + 2 * threadIdx.x, ind_vec<float, 2>{{states[threadIdx.x].max, states[threadIdx.x].sum}});
    if (!ind_last_block(counter, parts)) return false;
    const float *const all = own - (long long)split * PART;
    const int items = rows * TN / 4;
    const unsigned groups = 2 * items <= THREADS && parts > 16 ? 2 : 1;
    _Pragma("unroll 1")
    for (int at = threadIdx.x; at < (int)groups * items; at += THREADS) {
        const int group = at >= items, item = at - group * items, row = item / (TN / 4), set = groups == 2 ? 1 + group : 0;
        ind_softmax<float> s;
        ind_vec<float, 4> total;
        ind_add_parts_of_keys<TN>(total, s, all, item * 4, row, group * 16, groups * 16, parts);
        ind_store(sum + ind_sum_at<TN>(set * 16 + row, item % (TN / 4) * 4), total);
        if (item % (TN / 4) == 0) states[set * 16 + row] = s;
    }
    if (groups == 1) return true;
    __syncthreads();
    for (int at = threadIdx.x; at < items; at += THREADS) {
        const int row = at / (TN / 4), column = at % (TN / 4) * 4;
        const ind_softmax<float> a = states[16 + row], b = states[32 + row];
        const float max = ind_max(a.max, b.max), base = ind_exp_base(max);
        const float scale[2] = {ind_exp2(a.max - base), ind_exp2(b.max - base)};
        const ind_vec<float, 4> x = ind_load<4>(sum + ind_sum_at<TN>(16 + row, column));
        const ind_vec<float, 4> y = ind_load<4>(sum + ind_sum_at<TN>(32 + row, column));
        ind_vec<float, 4> total;
        _Pragma("unroll")
        for (int j = 0; j < 4; j++) total.at[j] = x.at[j] * scale[0] + y.at[j] * scale[1];
        ind_store(sum + ind_sum_at<TN>(row, column), total);
        if (column == 0) states[row] = {max, a.sum * scale[0] + b.sum * scale[1]};
    }
    return true;
}
