// Products of packed weights with wgmma. A warpgroup turns 64 rows of weights into the operand's type in registers: the
// left operand. The right operand is a tile of rows of a in shared memory. D[weight row][row of a].
//@ PACKED_TILES
// Stores elements 8 * chunk to 8 * chunk + 7 of 64 elements of a row of a in row `row` of a tile of ROWS rows. The tile has them in
// the order of F: word t of chunk 2 * j + h is the pair of elements F::at(j, t) + 2 * h. The lanes of a warp store 8 chunks of 4
// adjacent rows, in different banks.
template <typename F, int ROWS> static IND_INLINE void ind_packed_spread(unsigned short *tile, int row, int chunk, const ind_vec<unsigned short, 8> &x) {
    const ind_vec<unsigned short, 8> in = ind_packed_order<F>(x);
    if (F::at(0, 1) == 4) {
        _Pragma("unroll")
        for (int h = 0; h < 2; h++) {
            ind_vec<unsigned short, 4> pair;
            pair.word[0] = in.word[h];
            pair.word[1] = in.word[2 + h];
            ind_store(tile + ind_tile_at<ROWS, 64>(row, chunk / 2 * 2 + h) + chunk % 2 * 4, pair);
        }
        return;
    }
    const int first = F::at(0, 1) == 8 ? chunk / 4 * 4 : chunk % 2 * 4, word = F::at(0, 1) == 8 ? chunk % 4 : chunk / 2;
    _Pragma("unroll")
    for (int i = 0; i < 4; i++) *reinterpret_cast<unsigned *>(tile + ind_tile_at<ROWS, 64>(row, first + i) + word * 2) = in.word[i];
}
// A warp reorders a tile in place, whose rows have their elements in the order of memory.
template <typename F, int ROWS> static IND_INLINE void ind_packed_reorder(unsigned short *tile) {
    constexpr int N = ROWS / 4 < 4 ? ROWS / 4 : 4;
    const int lane = threadIdx.x & 31, row = lane / 8, chunk = lane % 8;
    _Pragma("unroll")
    for (int first = 0; first < ROWS; first += N * 4) {
        ind_vec<unsigned short, 8> x[N];
        _Pragma("unroll")
        for (int i = 0; i < N; i++) x[i] = ind_load<8>(tile + ind_tile_at<ROWS, 64>(first + i * 4 + row, chunk));
        __syncwarp();
        _Pragma("unroll")
        for (int i = 0; i < N; i++) ind_packed_spread<F, ROWS>(tile, first + i * 4 + row, chunk, x[i]);
    }
}
// Two weights in units of 2^F::unit, times `scale`, plus `low` if LOW, in the operand's type. PARTS: bf16 without `low`, for finite
// scales and weights. The scale is the sum of two numbers of 8 bits, so that the error besides the last rounding is below 2^-17.
template <bool BF16, bool LOW, bool PARTS> struct ind_packed_scale {
    float scale, low;
    unsigned high, rest;
    IND_INLINE void set(float by, float lowest) {
        scale = by;
        low = lowest;
        if (!PARTS) return;
        high = ind_pack_bf16(by, by);
        const float less = by - __uint_as_float(high & 0xffff0000u);
        rest = ind_pack_bf16(less, less);
    }
    IND_INLINE unsigned times(unsigned x) const {
        if (PARTS) return ind_fma_bf16x2(x, high, ind_fma_bf16x2(x, rest, 0x80008000u));
        const float a = BF16 ? __uint_as_float(x << 16) : ind_f16_to_f32((unsigned short)x);
        const float b = BF16 ? __uint_as_float(x & 0xffff0000u) : ind_f16_to_f32((unsigned short)(x >> 16));
        const float to_a = LOW ? fmaf(a, scale, low) : a * scale, to_b = LOW ? fmaf(b, scale, low) : b * scale;
        return BF16 ? ind_pack_bf16(to_a, to_b) : ind_pack_f16(to_a, to_b);
    }
};
// Barrier of all threads of a block, whose warps may wait at different places. With mbarriers in place of it compute-sanitizer's
// racecheck reports hazards; its synccheck takes bar.sync at different places, which has .aligned, for divergence.
#ifndef IND_EMULATION
static IND_INLINE void ind_block_barrier() {
    asm volatile("barrier.sync 0;" : : : "memory");
}
#endif
// The sums of a block: ROWS rows of a with 16 rows of weights per warp along n, 4 warps together. WARPS_K groups of warps share the
// steps of k. A warp has a ring of STAGES steps of its rows of weights. Other warps bring tiles of 64 elements of k of a to a
// ring of TILES of each group: the mbarrier full[i] completes when tile i is there, and the warps of a group arrive at empty[i]
// when they have multiplied it. FLIGHT: tiles whose products may be in flight, 1 or 2.
template <typename F, bool BF16, int ROWS, int WARPS_N, int WARPS_K, int STAGES, int TILES, int FLIGHT> struct ind_packed_tiles {
    typedef ind_packed_slots<F, ind_packed_maps::ROW> slots;
    static constexpr bool LOW = F::OFFSET || F::SUMS;
    typedef ind_packed_scale<BF16, LOW, BF16 && !LOW && !F::FLOAT> scale;
    static constexpr float UNIT = ind_power(F::template unit<BF16>());
    static constexpr int ALIGNMENT = slots::ALIGNMENT, SLOT = slots::SLOT, STAGE = slots::STAGE;
    ind_packed_maps fill;
    unsigned char *ring;
    const unsigned char *scales, *zeros; // of the lane's first row; bytes from there to those of its second row
    int scales_apart, zeros_apart;
    typename F::side ahead[2];
    int first_n, first_step, group; // group: of warps along k
    // Starts the copies of steps FIRST to LAST - 1 of the warp.
    template <int FIRST, int LAST> IND_INLINE void copy_ahead(const ind_tensor_map &map, int steps) {
        _Pragma("unroll")
        for (int i = FIRST; i < LAST; i++) {
            const int step = group + i * WARPS_K;
            fill.template copy<slots>(map, ring + i * STAGE, i, first_step + step, step < steps);
        }
    }
    // Starts the copies of the first EARLY steps of the warps that multiply. `memory`: the rings of all of them, then mbarriers.
    template <int EARLY>
    IND_INLINE void start(const ind_tensor_map &map, unsigned char *memory, int n, int first, int steps, int size_n) {
        const int warp = threadIdx.x / 32;
        ring = memory + warp * (STAGES * STAGE);
        first_n = n + warp % WARPS_N * 16;
        first_step = first;
        group = warp / WARPS_N;
        if (group >= WARPS_K) return;
        fill.template start<STAGES>(map, memory + WARPS_N * WARPS_K * STAGES * STAGE, first_n, size_n);
        copy_ahead<0, EARLY>(map, steps);
    }
    // The rows of scales and zero points, for formats that have them in tensors of their own. Loads those of the first step.
    template <typename At> IND_INLINE void beside(int steps, int size_n, const At &at) {
        const int row = first_n + (threadIdx.x & 31) / 4;
        const unsigned char *other_scales, *other_zeros;
        at(row < size_n ? row : size_n - 1, scales, zeros);
        at(row + 8 < size_n ? row + 8 : size_n - 1, other_scales, other_zeros);
        scales_apart = (int)(other_scales - scales);
        zeros_apart = (int)(other_zeros - zeros);
        if (group < steps) load_ahead(group);
    }
    IND_INLINE void load_ahead(int step) {
        ahead[0] = F::load(scales, zeros, first_step + step);
        ahead[1] = F::load(scales + scales_apart, zeros + zeros_apart, first_step + step);
    }
    // `multiply` starts the products of 64 rows of weights with a tile. copied: NULL if no bulk copies bring the tiles.
    template <typename Sums, typename Multiply>
    IND_INLINE void run(const ind_tensor_map &map, int steps, Sums &sums, const unsigned short *tiles, unsigned long long *full, unsigned long long *empty, unsigned long long *copied, const Multiply &multiply) {
        const int lane = threadIdx.x & 31, t = lane & 3;
        int last = -1;
        sums.clear();
        _Pragma("unroll 1")
        for (int step = group; step < steps; step += WARPS_K) {
            const int number = step / WARPS_K;
            __syncwarp();
            if (number > 0) { // refills the stage of the step before
                const int next = step + (STAGES - 1) * WARPS_K, to = (number + STAGES - 1) % STAGES;
                fill.template copy<slots>(map, ring + to * STAGE, to, first_step + next, next < steps);
            }
            typename F::side now[2] = {ahead[0], ahead[1]};
            if (F::BESIDE && step + WARPS_K < steps) load_ahead(step + WARPS_K);
            fill.template wait<STAGES>(number % STAGES, number / STAGES & 1);
            const unsigned char *const rows = ring + number % STAGES * STAGE + fill.template before<slots>(0, first_step + step) + lane / 4 * SLOT;
            F of[2];
            scale by[2];
            unsigned weight[FLIGHT][4][4];
            _Pragma("unroll")
            for (int j = 0; j < F::STEP / 16; j++) {
                const int block = j * 16 / F::ELEMENTS, in = j % (F::ELEMENTS / 16), buffer = j / 4 % FLIGHT;
                const unsigned char *const row = rows + block * F::BYTES;
                const bool odd = ALIGNMENT % 4 || block * F::BYTES % 4;
                _Pragma("unroll")
                for (int r = 0; r < 2 && in == 0; r++) {
                    if (odd)
                        of[r].template read<2>(row + r * 8 * SLOT, now[r], t);
                    else
                        of[r].template read<4>(row + r * 8 * SLOT, now[r], t);
                }
                if (odd)
                    fragment<2>(weight[buffer][j % 4], of, by, row, in, t);
                else
                    fragment<F::SLOT == 32 && ALIGNMENT == 16 ? 8 : 4>(weight[buffer][j % 4], of, by, row, in, t);
                if (j % 4 < 3) continue;
                const int tile = number * (F::STEP / 64) + j / 4, at = group * TILES + tile % TILES;
                ind_barrier_wait(full + at, tile / TILES & 1);
#ifdef IND_EMULATION // requires a wait for each bulk copy, also if the tile was written since
                if (copied) ind_barrier_wait(copied + at, tile / TILES & 1);
#endif
                multiply(weight[buffer], tiles + at * (ROWS * 64));
                sums.template wait<FLIGHT - 1>();
                __syncwarp();
                const int done = FLIGHT > 1 ? last : at;
                if (lane == 0 && done >= 0) ind_barrier_arrive(empty + done);
                last = at;
            }
        }
        sums.template wait<0>();
    }
    template <int A>
    static IND_INLINE void fragment(unsigned (&weight)[4], const F (&of)[2], scale (&by)[2], const unsigned char *row, int j, int t) {
        ind_packed_weights<F, BF16, A>(weight, of, row, 8 * SLOT, j, t);
        if (F::UNSCALED) return;
        if (j % (F::GROUP / 16) == 0)
            for (int r = 0; r < 2; r++) by[r].set(of[r].scale(j / (F::GROUP / 16)) * (1 / UNIT), of[r].least(j, t));
        _Pragma("unroll")
        for (int i = 0; i < 4; i++) weight[i] = by[i % 2].times(weight[i]);
    }
    // Stores the sums: rows of COLS columns as in ind_sum_at. Those of the first group come first; others are added. Only the warps
    // that multiply call this: the sums need registers that the others do not have. These call wait_for_sums.
    template <int COLS, typename Sums> IND_INLINE void finish(float *sum, Sums &sums) {
        const int lane = threadIdx.x & 31, col = threadIdx.x / 32 % WARPS_N * 16 + lane / 4;
        float acc[ROWS / 8][4];
        sums.read(acc);
        _Pragma("unroll")
        for (int of = 0; of < WARPS_K; of++) { // at first, all have read all tiles
            ind_block_barrier();
            if (group != of) continue;
            _Pragma("unroll")
            for (int i = 0; i < ROWS / 2; i++) {
                float &to = sum[ind_sum_at<COLS>(i / 4 * 8 + lane % 4 * 2 + i % 2, col + (i & 2) * 4)];
                const float part = acc[i / 4][i % 4] * (F::UNSCALED ? 1 / UNIT : 1.0f);
                to = of ? to + part : part;
            }
        }
    }
    // The barriers of `finish`, in the other warps.
    static IND_INLINE void wait_for_sums() {
        for (int of = 0; of < WARPS_K; of++) ind_block_barrier();
    }
};
