// Products of few rows with packed weights. Tensor cores multiply 16 rows of weights, which a warp turns into 16-bit
// numbers in registers, by up to 8 rows of a at a time: D[weight row][row of a]. Sums of a group of weights are
// multiplied by the group's scale in f32.
//@ PACKED_BITS
// Bytes of two words, by a selector whose halves of bytes are below 8.
static IND_INLINE unsigned ind_permute(unsigned a, unsigned b, unsigned selector) {
    unsigned r = __byte_perm(a, b, selector);
#ifndef IND_EMULATION
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
#endif
    return r;
}
// 4 bits to the fifth bits of 4 bytes.
static IND_INLINE unsigned ind_spread_bits(unsigned x) {
    return (x & 15u) * 0x02040810u & 0x10101010u;
}
// 4 bytes of a table of 16, for the 4 indices in the low 16 bits of a word: `at` has their low 3 bits, `side` is 0x3210 plus 4
// in each half of a byte whose index is 8 or more.
static IND_INLINE unsigned ind_lookup(unsigned at, unsigned side, unsigned t0, unsigned t1, unsigned t2, unsigned t3) {
    return ind_permute(ind_permute(t0, t1, at), ind_permute(t2, t3, at), side);
}
//@ PACKED
#ifndef IND_EMULATION
static IND_INLINE unsigned ind_fma_bf16x2(unsigned a, unsigned b, unsigned c) {
    unsigned r;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
static IND_INLINE unsigned ind_fma_f16x2(unsigned a, unsigned b, unsigned c) {
    unsigned r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
// (a & b) | c and (a & b) ^ c, in one instruction also if b and c are constants.
static IND_INLINE unsigned ind_and_or(unsigned a, unsigned b, unsigned c) {
    unsigned r;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
static IND_INLINE unsigned ind_and_xor(unsigned a, unsigned b, unsigned c) {
    unsigned r;
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
#else
static IND_INLINE unsigned ind_fma_bf16x2(unsigned a, unsigned b, unsigned c) {
    unsigned r = 0;
    for (int i = 0; i < 32; i += 16)
        r |= (unsigned)ind_f32_to_bf16(fmaf(ind_bf16_to_f32(a >> i), ind_bf16_to_f32(b >> i), ind_bf16_to_f32(c >> i))) << i;
    return r;
}
static IND_INLINE unsigned ind_fma_f16x2(unsigned a, unsigned b, unsigned c) {
    unsigned r = 0;
    for (int i = 0; i < 32; i += 16)
        r |= (unsigned)ind_f32_to_f16(fmaf(ind_f16_to_f32(a >> i), ind_f16_to_f32(b >> i), ind_f16_to_f32(c >> i))) << i;
    return r;
}
static IND_INLINE unsigned ind_and_or(unsigned a, unsigned b, unsigned c) {
    return (a & b) | c;
}
static IND_INLINE unsigned ind_and_xor(unsigned a, unsigned b, unsigned c) {
    return (a & b) ^ c;
}
#endif
// Two 16-bit numbers at once. Every result here is exact.
template <bool BF16> static IND_INLINE unsigned ind_fma2(unsigned a, unsigned b, unsigned c) {
    return BF16 ? ind_fma_bf16x2(a, b, c) : ind_fma_f16x2(a, b, c);
}
template <bool BF16> static IND_INLINE unsigned ind_mul2(unsigned a, unsigned b) {
    return ind_fma2<BF16>(a, b, 0x80008000u);
}
// A constant: a power of two times an integer, twice in 16 bits, which have it exactly as a normal number; or -0.
template <bool BF16> static IND_INLINE unsigned ind_constant2(int x, int exponent) {
    const unsigned bits = __float_as_uint((float)x), sign = x < 0 ? 0x8000u : 0u, e = (bits >> 23 & 255u) + exponent;
    if (x == 0) return 0x80008000u;
    return (sign | (BF16 ? e << 7 | (bits >> 16 & 127u) : (e - 112u) << 10 | (bits >> 13 & 1023u))) * 0x10001u;
}
// A 16-bit number with an integer i below 256 in its low byte is subnormal, or has the least exponent: it is i * 2^-133 in
// bf16, i * 2^-24 in f16. Times a power of two it is i in units of 2^ind_unit. `up`: bits by which i is shifted left.
template <bool BF16> static constexpr int ind_unit() {
    return BF16 ? -6 : -9;
}
template <bool BF16> static IND_INLINE unsigned ind_normal(int up) {
    return ind_constant2<BF16>(1, (BF16 ? 127 : 15) - up);
}
template <bool BF16> static IND_INLINE unsigned ind_minus(int bias) {
    return ind_constant2<BF16>(-bias, ind_unit<BF16>());
}
static constexpr float ind_power(int exponent) {
    return exponent < 0 ? 0.5f * ind_power(exponent + 1) : exponent > 0 ? 2.0f * ind_power(exponent - 1) : 1.0f;
}
// 4 bytes from an address of alignment A, 2 or 4.
template <int A> static IND_INLINE unsigned ind_word(const unsigned char *p) {
    if (A % 4 == 0) return *reinterpret_cast<const unsigned *>(p);
    const unsigned short *half = reinterpret_cast<const unsigned short *>(p);
    return __byte_perm(half[0], half[1], 0x5410);
}
// Word j % 2 of two, from an address of alignment A: of 8 or more, one load has both.
template <int A> static IND_INLINE unsigned ind_word_of_two(const unsigned char *p, int j) {
    if (A % 8 == 0) return ind_load<2>(reinterpret_cast<const unsigned *>(p)).at[j % 2];
    return ind_word<A>(p + j % 2 * 4);
}
static IND_INLINE float ind_f16_at(const unsigned char *p) {
    return ind_f16_to_f32(*reinterpret_cast<const unsigned short *>(p));
}
// Byte i of a word minus BIAS, times a number of 11 bits: 32768 + the byte, in f32, is found by one permutation.
template <int BIAS> static IND_INLINE float ind_byte_times(unsigned x, int i, float d) {
    return fmaf(__uint_as_float(__byte_perm(x, 0x47000000u, 0x7404u | (unsigned)i << 4)), d, -(32768.0f + BIAS) * d);
}
// A byte below 128 minus BIAS, twice in 16 bits.
template <bool BF16, int BIAS> static IND_INLINE unsigned ind_byte_pair(unsigned x, int i) {
    const unsigned magic = BF16 ? 0x43004300u : 0x64006400u, both = __byte_perm(x, magic >> 8, 0x4040u | (unsigned)i | (unsigned)i << 8);
    return ind_fma2<BF16>(both, BF16 ? 0x3f803f80u : 0x3c003c00u, ind_constant2<BF16>(-(BF16 ? 128 : 1024) - BIAS, 0));
}
// a * b + c: its unit has time that the unit of shifts and masks has not.
static IND_INLINE unsigned ind_multiply_add(unsigned a, unsigned b, unsigned c) {
    unsigned r = a * b + c;
#ifndef IND_EMULATION
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
#endif
    return r;
}
// Bytes 0 and 2 of a word, and bytes 1 and 3, as 16-bit numbers.
static IND_INLINE void ind_byte_pairs(unsigned x, unsigned &p0, unsigned &p1) {
    p1 = __byte_perm(x, 0, 0x4341);
    p0 = ind_multiply_add(p1, 0xffffff00u, x);
}
// The same of halves of bytes: the low ones, or, shifted left by 4, the high ones.
static IND_INLINE void ind_nibble_pairs(unsigned x, int high, unsigned &p0, unsigned &p1) {
    p0 = x & 0x000f000fu << 4 * high;
    p1 = x >> 8 & 0x000f000fu << 4 * high;
}
// A format of packed weights. A block has ELEMENTS elements in BYTES bytes; GROUP of them have one scale. `pairs` returns the 4
// elements that lane t of 4 multiplies in step j of 16 of a block: two pairs of integers below 256, BIAS more than the weight over
// its scale, which pair i has shifted left by up(j, i). They are multiplied by a[at(j, t)] .. a[at(j, t) + 3]; the elements of a
// are in the order ORDER. times() and less() turn a pair into weights times 2^unit(). A is the alignment of the block. Of a
// format with OFFSET, lowest() * low() is added to each element of a group; low() is twice in 16 bits. If SCALED, times() and
// less() have the scale of a group, and all groups of a block have one scale() besides. If FLOAT, `pairs` returns weights. If
// SUMS, the lowest values of elements 64 * t to 64 * t + 63 of a block are lowest() times lows(), 4 integers in units of
// 2^ind_unit<true>(), in bf16; least() is the lowest value of the elements of lane t in step j. If UNSCALED, there is no scale(). If
// PAIRED, at(j + 1, t) is at(j, t) + 4 for even j: one load of 16 bytes has both. at(j, t) of steps 0 to 3 is below 64. PAD:
// elements between rows of a in shared memory: lanes of 8 bytes of 4 rows, or of 16 bytes of 2 rows, read different banks. The slots of rows
// of weights are an odd multiple of SLOT bytes apart: 32 for words of 8 bytes.
enum { IND_IN_ORDER, IND_BYTES, IND_NIBBLES };
struct ind_packed_format {
    static constexpr int BIAS = 0, STEP = 256, ORDER = IND_BYTES, PAD = 16, SLOT = 16;
    static constexpr bool OFFSET = false, SUMS = false, SCALED = false, BESIDE = false, FLOAT = false, PAIRED = false, UNSCALED = false;
    struct side {};
    static IND_INLINE side load(const unsigned char *, const unsigned char *, int) {
        return side();
    }
    IND_INLINE float scale(int) const {
        return 1.0f;
    }
    IND_INLINE float lowest() const {
        return 0.0f;
    }
    IND_INLINE float least(int, int) const {
        return 0.0f;
    }
    template <bool BF16> IND_INLINE unsigned low(int) const {
        return 0;
    }
    template <bool BF16> static constexpr int unit() {
        return ind_unit<BF16>();
    }
    IND_INLINE void lows(unsigned &, unsigned &) const {
    }
    static constexpr int up(int, int) {
        return 0;
    }
    static IND_INLINE int at(int j, int t) {
        return 16 * j + 4 * t;
    }
};
// A format with the same times() and less() in all groups, F.
template <typename F> struct ind_packed_plain : ind_packed_format {
    template <bool BF16> IND_INLINE unsigned times(int j, int i) const {
        return ind_normal<BF16>(F::up(j, i));
    }
    template <bool BF16> IND_INLINE unsigned less(int) const {
        return ind_minus<BF16>(F::BIAS);
    }
};
// The element of a at each place of 8.
template <typename F> static IND_INLINE ind_vec<unsigned short, 8> ind_packed_order(const ind_vec<unsigned short, 8> &x) {
    ind_vec<unsigned short, 8> r = x;
    _Pragma("unroll")
    for (int i = 0; i < 8; i++) r.at[i] = x.at[F::ORDER == IND_NIBBLES ? i / 2 + i % 2 * 4 : F::ORDER == IND_BYTES ? i / 4 * 4 + i % 2 * 2 + i % 4 / 2 : i];
    return r;
}
template <bool BF16> static IND_INLINE void ind_mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    if (BF16)
        ind_mma_bf16(c, a, b);
    else
        ind_mma_f16(c, a, b);
}
// The ring of a warp in shared memory has 16 rows of weights of several steps. The copy of a row of a step begins at the
// address of its first block, rounded down to 16 bytes. The slots of rows are odd multiples of F::SLOT bytes apart: lanes of
// 8 rows read different banks. ROW is the alignment of rows in memory, up to 16 bytes.
template <typename F, int ROW> struct ind_packed_slots {
    static constexpr int BLOCKS = F::STEP / F::ELEMENTS, BYTES = BLOCKS * F::BYTES;
    static constexpr int OF_STEP = BYTES % 16 == 0 ? 16 : BYTES % 8 == 0 ? 8 : BYTES % 4 == 0 ? 4 : 2;
    static constexpr int ALIGNMENT = OF_STEP < ROW ? OF_STEP : ROW;
    static constexpr int CHUNKS = (BYTES + 31 - ALIGNMENT) / 16, SLOT = ((CHUNKS * 16 + F::SLOT - 1) / F::SLOT | 1) * F::SLOT, STAGE = SLOT * 16;
};
// 16 elements, step j of a block, of two rows of weights `apart` bytes apart, in units of 2^F::unit. A: the alignment of their words.
template <typename F, bool BF16, int A>
static IND_INLINE void ind_packed_weights(unsigned (&weight)[4], const F (&of)[2], const unsigned char *row, int apart, int j, int t) {
    _Pragma("unroll")
    for (int r = 0; r < 2; r++) {
        of[r].template pairs<BF16, A>(row + r * apart, j, t, weight[r], weight[r + 2]);
        if (F::FLOAT) continue;
        const unsigned less = of[r].template less<BF16>(j);
        weight[r] = ind_fma2<BF16>(weight[r], of[r].template times<BF16>(j, 0), less);
        weight[r + 2] = ind_fma2<BF16>(weight[r + 2], of[r].template times<BF16>(j, 1), less);
    }
}
// The sums of a block: of TILES * 8 rows of a with 16 rows of weights per warp along n. WARPS_K warps share the steps of
// k. Each warp has a ring of STAGES steps, which Ring fills: ind_packed_maps or ind_packed_copies.
template <typename F, bool BF16, int ROWS, int WARPS_N, int WARPS_K, int STAGES, typename Ring> struct ind_packed_product {
    typedef ind_packed_slots<F, Ring::ROW> slots;
    static constexpr int TILES = ROWS > 8 ? ROWS / 8 : 1, COLS = WARPS_N * 16;
    static constexpr float UNIT = ind_power(F::template unit<BF16>());
    static constexpr int BLOCKS = slots::BLOCKS, ALIGNMENT = slots::ALIGNMENT, SLOT = slots::SLOT, STAGE = slots::STAGE;
    Ring fill;
    unsigned char *ring;
    const unsigned char *scales, *zeros; // of the lane's first row; bytes from there to those of its second row
    int scales_apart, zeros_apart;
    typename F::side ahead[2];
    float acc[TILES][4];
    int first_n, step; // step / WARPS_K: of the warp's steps
    // Starts the copies of steps FIRST to LAST - 1 of the warp, up to STAGES. `from`: the tensor map, or a function that
    // returns the address of a row of weights. Copies that start before the loads of a delay these.
    template <int FIRST, int LAST, typename From> IND_INLINE void copy_ahead(const From &from, int steps) {
        _Pragma("unroll")
        for (int i = FIRST; i < LAST; i++) {
            const int at = step + i * WARPS_K;
            fill.template copy<slots>(from, ring + i * STAGE, i, at, at < steps);
        }
    }
    // Starts the copies of the first EARLY steps. There are `size_n` rows of weights. `memory`: the rings of all warps, then
    // mbarriers.
    template <int EARLY, typename From>
    IND_INLINE void start(const From &from, unsigned char *memory, int first, int steps, int size_n) {
        const int warp = threadIdx.x / 32;
        ring = memory + warp * (STAGES * STAGE);
        first_n = first + warp / WARPS_K * 16;
        step = warp % WARPS_K;
        fill.template start<STAGES>(from, memory + WARPS_N * WARPS_K * STAGES * STAGE, first_n, size_n);
        copy_ahead<0, EARLY>(from, steps);
        _Pragma("unroll")
        for (int i = 0; i < TILES * 4; i++) acc[i / 4][i % 4] = 0.0f;
    }
    // The rows of scales and zero points, for formats that have them in tensors of their own. Loads those of the first step.
    template <typename At> IND_INLINE void beside(int steps, int size_n, const At &at) {
        const int row = first_n + (threadIdx.x & 31) / 4;
        const unsigned char *other_scales, *other_zeros;
        at(row < size_n ? row : size_n - 1, scales, zeros);
        at(row + 8 < size_n ? row + 8 : size_n - 1, other_scales, other_zeros);
        scales_apart = (int)(other_scales - scales);
        zeros_apart = (int)(other_zeros - zeros);
        if (step < steps) load_ahead(step);
    }
    IND_INLINE void load_ahead(int at) {
        ahead[0] = F::load(scales, zeros, at);
        ahead[1] = F::load(scales + scales_apart, zeros + zeros_apart, at);
    }
    // Steps below `end`, of `steps`. a: elements of k from step `begin` on, rows `stride` apart.
    template <typename From>
    IND_INLINE void run(const From &from, int begin, int end, int steps, const unsigned short *a, int stride) {
        const int lane = threadIdx.x & 31;
        const unsigned short *const sums = a + ROWS * stride + (ROWS < 8 ? lane / 4 % ROWS : lane / 4) * sum_stride(stride);
        if (F::SUMS) sum_rows(const_cast<unsigned short *>(a), stride);
        a += (ROWS < 8 ? lane / 4 % ROWS : lane / 4) * stride;
        _Pragma("unroll 1")
        for (; step < end; step += WARPS_K) {
            __syncwarp();
            if (step >= WARPS_K) { // refills the stage of the step before
                const int next = step + (STAGES - 1) * WARPS_K, to = next / WARPS_K % STAGES;
                fill.template copy<slots>(from, ring + to * STAGE, to, next, next < steps);
            }
            typename F::side now[2] = {ahead[0], ahead[1]};
            if (F::BESIDE && step + WARPS_K < steps) load_ahead(step + WARPS_K);
            const int stage = step / WARPS_K % STAGES;
            fill.template wait<STAGES>(stage, step / WARPS_K / STAGES & 1);
            const int before = fill.template before<slots>(0, step), apart = 8 * SLOT + fill.template before<slots>(1, step) - before;
            const unsigned char *const at = ring + stage * STAGE + before;
            multiply(at, apart, now, a + (step - begin) * F::STEP, stride, sums + (step - begin) * (F::STEP / 16));
        }
    }
    static constexpr int sum_stride(int stride) {
        return (stride - F::PAD) / 16 + 16;
    }
    // Sums of 16 elements of a, which follow its rows: three numbers in bf16, whose sum has 24 bits, in three planes.
    static IND_INLINE void sum_rows(unsigned short *a, int stride) {
        const int chunks = (stride - F::PAD) / 16, plane = ROWS * sum_stride(stride);
        _Pragma("unroll 1")
        for (int i = threadIdx.x; i < ROWS * chunks; i += 32 * WARPS_N * WARPS_K) {
            const int row = i / chunks, chunk = i % chunks;
            float sum = 0.0f;
            _Pragma("unroll")
            for (int half = 0; half < 2; half++) {
                const ind_vec<unsigned short, 8> v = ind_load<8>(a + row * stride + chunk * 16 + half * 8);
                for (int e = 0; e < 8; e++) sum += BF16 ? ind_bf16_to_f32(v.at[e]) : ind_f16_to_f32(v.at[e]);
            }
            unsigned short *const to = a + ROWS * stride + row * sum_stride(stride) + chunk;
            _Pragma("unroll")
            for (int part = 0; part < 3; part++) {
                to[part * plane] = ind_f32_to_bf16(sum);
                sum -= ind_bf16_to_f32(to[part * plane]);
            }
        }
        __syncthreads();
    }
    // Adds the lowest values of a block, times the sums of a.
    IND_INLINE void add_lows(const F (&of)[2], const unsigned short *sums, int stride) {
        float low[TILES][4] = {};
        unsigned weight[4];
        for (int r = 0; r < 2; r++) of[r].lows(weight[r], weight[r + 2]);
        _Pragma("unroll")
        for (int i = 0; i < 3 * TILES; i++) {
            const ind_vec<unsigned short, 4> v = ind_load<4>(sums + (i % 3 * ROWS + i / 3 * 8) * sum_stride(stride));
            const unsigned from_a[2] = {v.word[0], v.word[1]};
            ind_mma_bf16(low[i / 3], weight, from_a);
        }
        add(low, of[0].lowest() * (UNIT * 64), of[1].lowest() * (UNIT * 64));
    }
    // `apart`: bytes between the lane's two rows of weights.
    IND_INLINE void multiply(const unsigned char *at, int apart, const typename F::side (&side)[2], const unsigned short *a, int stride, const unsigned short *sums) {
        const int lane = threadIdx.x & 31, g = lane / 4, t = lane & 3;
        _Pragma("unroll")
        for (int block = 0; block < BLOCKS; block++) {
            const unsigned char *const row = at + g * SLOT + block * F::BYTES;
            F of[2];
            float low[TILES][4] = {}, sum[TILES][4] = {};
            ind_vec<unsigned short, F::PAIRED ? 8 : 4> from_a[TILES];
            _Pragma("unroll")
            for (int r = 0; r < 2; r++) {
                if (ALIGNMENT % 4 || block * F::BYTES % 4)
                    of[r].template read<2>(row + r * apart, side[r], t);
                else
                    of[r].template read<4>(row + r * apart, side[r], t);
            }
            _Pragma("unroll")
            for (int j = 0; j < F::ELEMENTS / 16; j++) {
                const int group = j / (F::GROUP / 16);
                if (!F::SCALED && j % (F::GROUP / 16) == 0)
                    for (int i = 0; i < TILES * 4; i++) sum[i / 4][i % 4] = 0.0f;
                unsigned weight[4];
                if (ALIGNMENT % 4 || block * F::BYTES % 4)
                    ind_packed_weights<F, BF16, 2>(weight, of, row, apart, j, t);
                else
                    ind_packed_weights<F, BF16, F::SLOT == 32 && ALIGNMENT == 16 ? 8 : 4>(weight, of, row, apart, j, t);
                _Pragma("unroll")
                for (int tile = 0; tile < TILES && (!F::PAIRED || j % 2 == 0); tile++)
                    from_a[tile] = ind_load<F::PAIRED ? 8 : 4>(a + tile * 8 * stride + block * F::ELEMENTS + F::at(j, t));
                accumulate(sum, low, weight, of, group, from_a, F::PAIRED ? j % 2 * 2 : 0);
                if ((j + 1) % (F::GROUP / 16) == 0 && (!F::SCALED || j + 1 == F::ELEMENTS / 16)) add(sum, of[0].scale(group), of[1].scale(group));
            }
            if (F::OFFSET) add(low, of[0].lowest() * UNIT, of[1].lowest() * UNIT);
            if (F::SUMS) add_lows(of, sums + block * (F::ELEMENTS / 16) + 4 * t, stride);
        }
    }
    static IND_INLINE void accumulate(float (&sum)[TILES][4], float (&low)[TILES][4], const unsigned (&weight)[4], const F (&of)[2], int group, const ind_vec<unsigned short, F::PAIRED ? 8 : 4> (&a)[TILES], int word) {
        unsigned lows[2] = {};
        for (int r = 0; r < 2 && F::OFFSET; r++) lows[r] = of[r].template low<BF16>(group);
        const unsigned others[4] = {lows[0], lows[1], lows[0], lows[1]};
        _Pragma("unroll")
        for (int tile = 0; tile < TILES; tile++) {
            const unsigned from_a[2] = {a[tile].word[word], a[tile].word[word + 1]};
            if (F::OFFSET) ind_mma<BF16>(low[tile], others, from_a);
            ind_mma<BF16>(sum[tile], weight, from_a);
        }
    }
    // Adds sums times the factors of the lane's two rows of weights. Of one row of a, the even columns are enough.
    IND_INLINE void add(const float (&sum)[TILES][4], float s0, float s1) {
        _Pragma("unroll")
        for (int tile = 0; tile < TILES; tile++) {
            _Pragma("unroll")
            for (int i = 0; i < 4; i += ROWS == 1 ? 2 : 1) acc[tile][i] += (i < 2 ? s0 : s1) * sum[tile][i];
        }
    }
    // Spreads the sums: part[warp along k][row of a][column].
    IND_INLINE void finish(float *part) {
        const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, col = warp / WARPS_K * 16 + lane / 4;
        __syncthreads();
        _Pragma("unroll")
        for (int i = 0; i < TILES * 4; i++) {
            const int row = i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (row < ROWS) part[(warp % WARPS_K * ROWS + row) * COLS + col + (i & 2) * 4] = acc[i / 4][i % 4] * (1 / UNIT);
        }
        __syncthreads();
    }
};
//@ PACKED_I8
// Bytes in two's complement.
struct ind_packed_i8 : ind_packed_plain<ind_packed_i8> {
    static constexpr int ELEMENTS = 256, BYTES = 256, GROUP = 256, BIAS = 128, PAD = 32, SLOT = 32;
    static constexpr bool PAIRED = true, UNSCALED = true;
    template <int A> IND_INLINE void read(const unsigned char *, side, int) {
    }
    template <bool, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        ind_byte_pairs(ind_word_of_two<A>(block + j / 2 * 32 + 8 * t, j) ^ 0x80808080u, p0, p1);
    }
    static IND_INLINE int at(int j, int t) {
        return j / 2 * 32 + 8 * t + j % 2 * 4;
    }
};
//@ PACKED_F8
static IND_INLINE unsigned ind_f16x2_to_bf16x2(unsigned x) {
#ifndef IND_EMULATION
    unsigned r;
    asm("{\n.reg .b16 a, b;\n.reg .f32 c, d;\nmov.b32 {a, b}, %1;\ncvt.f32.f16 c, a;\ncvt.f32.f16 d, b;\n"
        "cvt.rn.bf16x2.f32 %0, d, c;\n}" : "=r"(r) : "r"(x));
    return r;
#else
    const float low = ind_f16_to_f32((unsigned short)x), high = ind_f16_to_f32((unsigned short)(x >> 16));
    return ind_f32_to_bf16(low) | (unsigned)ind_f32_to_bf16(high) << 16;
#endif
}
// 8-bit floats, each of which f16 and bf16 have. e5m2 is the upper half of an f16. SIZE elements have a scale in another
// tensor. SCALE: 4 f32, 2 f16, 1 bf16, 0 none.
template <bool E5M2, int SCALE, int SIZE> struct ind_packed_f8 : ind_packed_plain<ind_packed_f8<E5M2, SCALE, SIZE>> {
    static constexpr int ELEMENTS = 256, BYTES = 256, GROUP = SIZE, GROUPS = ELEMENTS / SIZE, ORDER = IND_IN_ORDER;
    static constexpr int PAD = 32, SLOT = 32;
    static constexpr bool FLOAT = true, PAIRED = true, BESIDE = SCALE > 0, UNSCALED = !BESIDE;
    struct side {
        float scale[GROUPS];
    } with;
    static IND_INLINE side load(const unsigned char *scales, const unsigned char *, int step) {
        side s = {};
        _Pragma("unroll")
        for (int i = 0; i < GROUPS && SCALE; i++) {
            const int at = step * GROUPS + i;
            const unsigned short half = SCALE == 4 ? 0 : reinterpret_cast<const unsigned short *>(scales)[at];
            s.scale[i] = SCALE == 4 ? reinterpret_cast<const float *>(scales)[at] : SCALE == 2 ? ind_f16_to_f32(half) : ind_bf16_to_f32(half);
        }
        return s;
    }
    template <int A> IND_INLINE void read(const unsigned char *, const side &x, int) {
        with = x;
    }
    IND_INLINE float scale(int group) const {
        return SCALE ? with.scale[group] : 1.0f;
    }
    template <bool> static constexpr int unit() {
        return 0;
    }
    template <bool BF16, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        const unsigned x = ind_word_of_two<A>(block + j / 2 * 32 + 8 * t, j);
        p0 = E5M2 ? __byte_perm(x, 0, 0x1404) : ind_e4m3x2_to_f16x2(x);
        p1 = E5M2 ? __byte_perm(x, 0, 0x3424) : ind_e4m3x2_to_f16x2(x >> 16);
        if (!BF16) return;
        p0 = ind_f16x2_to_bf16x2(p0);
        p1 = ind_f16x2_to_bf16x2(p1);
    }
    static IND_INLINE int at(int j, int t) {
        return j / 2 * 32 + 8 * t + j % 2 * 4;
    }
};
//@ PACKED_Q8_0
struct ind_packed_q8_0 : ind_packed_plain<ind_packed_q8_0> {
    static constexpr int ELEMENTS = 32, BYTES = 34, GROUP = 32, BIAS = 128;
    float d;
    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {
        d = ind_f16_at(block);
    }
    IND_INLINE float scale(int) const {
        return d;
    }
    template <bool, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        ind_byte_pairs(ind_word<A + 2>(block + 2 + 16 * j + 4 * t) ^ 0x80808080u, p0, p1);
    }
};
//@ PACKED_Q4
// q4_0 and q4_1, q5_0 and q5_1: d, for some the lowest value, for some a fifth bit of each element.
template <bool LOWEST, bool FIFTH> struct ind_packed_q4 : ind_packed_plain<ind_packed_q4<LOWEST, FIFTH>> {
    static constexpr int FIRST = 2 + 2 * LOWEST + 4 * FIFTH, ELEMENTS = 32, BYTES = FIRST + 16, GROUP = 32;
    static constexpr int BIAS = LOWEST ? 0 : FIFTH ? 16 : 8;
    static constexpr bool OFFSET = LOWEST;
    float d, m;
    unsigned high; // fifth bits, from those of the lane on
    template <int A> IND_INLINE void read(const unsigned char *block, ind_packed_format::side, int t) {
        d = ind_f16_at(block);
        m = LOWEST ? ind_f16_at(block + 2) : 0.0f;
        high = FIFTH ? ind_word<A + FIRST>(block + FIRST - 4) >> 4 * t : 0;
    }
    IND_INLINE float scale(int) const {
        return d;
    }
    IND_INLINE float lowest() const {
        return m;
    }
    IND_INLINE float least(int, int) const {
        return m;
    }
    template <bool BF16> IND_INLINE unsigned low(int) const {
        return BF16 ? 0x3f803f80u : 0x3c003c00u;
    }
    static constexpr int up(int j, int) {
        return FIFTH ? 0 : 4 * j;
    }
    template <bool, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        const unsigned word = ind_word<A + FIRST>(block + FIRST + 4 * t);
        if (FIFTH)
            ind_byte_pairs(ind_spread_bits(high >> 16 * j) | (word >> 4 * j & 0x0f0f0f0fu), p0, p1);
        else
            ind_nibble_pairs(word, j, p0, p1);
    }
};
//@ PACKED_Q45_K
// q4_k and, with a fifth bit, q5_k: scales and lowest values of 6 bits.
template <bool FIFTH> struct ind_packed_q45_k : ind_packed_plain<ind_packed_q45_k<FIFTH>> {
    static constexpr int FIRST = 16 + 32 * FIFTH, ELEMENTS = 256, BYTES = FIRST + 128, GROUP = 32;
    static constexpr bool SUMS = true;
    float d, m;
    unsigned s[2], l[2], o; // l: of the lowest values; o: those of the lane's two groups
    template <int A> IND_INLINE void read(const unsigned char *block, ind_packed_format::side, int t) {
        const unsigned x = ind_word<4>(block + 4), y = ind_word<4>(block + 8), z = ind_word<4>(block + 12);
        d = ind_f16_at(block);
        m = -ind_f16_at(block + 2);
        s[0] = x & 0x3f3f3f3fu;
        s[1] = (z & 0x0f0f0f0fu) | (x >> 2 & 0x30303030u);
        l[0] = y & 0x3f3f3f3fu;
        l[1] = (z >> 4 & 0x0f0f0f0fu) | (y >> 2 & 0x30303030u);
        o = (t < 2 ? l[0] : l[1]) >> t % 2 * 16;
    }
    IND_INLINE float scale(int group) const {
        return ind_byte_times<0>(s[group / 4], group % 4, d);
    }
    IND_INLINE float lowest() const {
        return m;
    }
    IND_INLINE float least(int j, int) const {
        return ind_byte_times<0>(l[j / 8], j / 2 % 4, m);
    }
    IND_INLINE void lows(unsigned &p0, unsigned &p1) const {
        p0 = ind_mul2<true>(__byte_perm(o, 0, 0x4040), ind_normal<true>(0));
        p1 = ind_mul2<true>(__byte_perm(o, 0, 0x4141), ind_normal<true>(0));
    }
    static constexpr int up(int j, int) {
        return FIFTH ? 0 : j / 2 % 2 * 4;
    }
    template <bool, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        const int in = j % 2 * 16 + 4 * t;
        const unsigned word = ind_word<4>(block + FIRST + j / 4 * 32 + in);
        const unsigned low = word >> j / 2 % 2 * 4 & 0x0f0f0f0fu, bits = FIFTH ? ind_word<4>(block + 16 + in) : 0;
        if (!FIFTH)
            ind_nibble_pairs(word, j / 2 % 2, p0, p1);
        else
            ind_byte_pairs(ind_and_or(j < 8 ? bits << (4 - j / 2) : bits >> (j / 2 - 4), 0x10101010u, low), p0, p1);
    }
};
//@ PACKED_SCALED
// A format F whose groups have an integer scale, factor(): it is at most 63, and the weight over the scale of the block has 8 bits.
template <typename F> struct ind_packed_scaled : ind_packed_format {
    static constexpr bool SCALED = true;
    template <bool BF16> static constexpr int unit() {
        return BF16 ? -12 : -14;
    }
    template <bool BF16> IND_INLINE unsigned times(int j, int i) const {
        return ind_mul2<BF16>(static_cast<const F *>(this)->template factor<BF16>(j / (F::GROUP / 16)), ind_normal<BF16>((BF16 ? 6 : 5) + F::up(j, i)));
    }
    template <bool BF16> IND_INLINE unsigned less(int j) const {
        return F::BIAS ? ind_mul2<BF16>(static_cast<const F *>(this)->template factor<BF16>(j / (F::GROUP / 16)), ind_constant2<BF16>(-F::BIAS, unit<BF16>())) : 0x80008000u;
    }
};
//@ PACKED_Q2_K
// The elements of a lane in 4 steps are one group of 16.
struct ind_packed_q2_k : ind_packed_scaled<ind_packed_q2_k> {
    static constexpr int ELEMENTS = 256, BYTES = 84, GROUP = 64, STEP = 512, PAD = 8;
    static constexpr bool SUMS = true, PAIRED = true;
    float d, m;
    unsigned s[4], o; // o: of the lane's 4 groups of 16
    template <int A> IND_INLINE void read(const unsigned char *block, side, int t) {
        d = ind_f16_at(block + 80);
        m = -ind_f16_at(block + 82);
        _Pragma("unroll")
        for (int i = 0; i < 4; i++) s[i] = ind_word<A>(block + 4 * i) >> 8 * t;
        o = ind_word<A>(block + 4 * t) >> 4 & 0x0f0f0f0fu;
    }
    IND_INLINE float scale(int) const {
        return d;
    }
    IND_INLINE float lowest() const {
        return m;
    }
    IND_INLINE float least(int j, int) const {
        return ind_byte_times<0>(s[j / 4] >> 4 & 15u, 0, m);
    }
    template <bool BF16> IND_INLINE unsigned factor(int group) const {
        return ind_byte_pair<BF16, 0>(s[group] & 15u, 0);
    }
    IND_INLINE void lows(unsigned &p0, unsigned &p1) const {
        p0 = ind_mul2<true>(__byte_perm(o, 0, 0x4140), ind_normal<true>(0));
        p1 = ind_mul2<true>(__byte_perm(o, 0, 0x4342), ind_normal<true>(0));
    }
    static constexpr int up(int j, int) {
        return j / 4 % 2 * 4;
    }
    template <bool, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        const unsigned word = ind_word<A>(block + 16 + j / 8 * 32 + t % 2 * 16 + j % 4 * 4) >> t / 2 * 2;
        p0 = word & 0x00030003u << up(j, 0);
        p1 = word >> 8 & 0x00030003u << up(j, 1);
    }
    static IND_INLINE int at(int j, int t) {
        return j / 4 * 64 + 16 * t + j % 4 * 4;
    }
};
//@ PACKED_Q3_K
// The same; |byte - 4| times a scale of 6 bits has at most 8 bits.
struct ind_packed_q3_k : ind_packed_scaled<ind_packed_q3_k> {
    static constexpr int ELEMENTS = 256, BYTES = 110, GROUP = 64, BIAS = 4, PAD = 8;
    static constexpr bool PAIRED = true;
    float d;
    unsigned s[4];
    template <int A> IND_INLINE void read(const unsigned char *block, side, int t) {
        const unsigned x = ind_word<2>(block + 96), y = ind_word<2>(block + 100), z = ind_word<2>(block + 104);
        d = ind_f16_at(block + 108);
        s[0] = ((x & 0x0f0f0f0fu) | (z << 4 & 0x30303030u)) >> 8 * t;
        s[1] = ((y & 0x0f0f0f0fu) | (z << 2 & 0x30303030u)) >> 8 * t;
        s[2] = ((x >> 4 & 0x0f0f0f0fu) | (z & 0x30303030u)) >> 8 * t;
        s[3] = ((y >> 4 & 0x0f0f0f0fu) | (z >> 2 & 0x30303030u)) >> 8 * t;
    }
    IND_INLINE float scale(int) const {
        return d;
    }
    template <bool BF16> IND_INLINE unsigned factor(int group) const {
        return ind_byte_pair<BF16, 32>(s[group], 0);
    }
    static constexpr int up(int j, int) {
        return j / 4 % 2 * 4;
    }
    template <bool, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        const unsigned word = ind_word<2>(block + 32 + j / 8 * 32 + t % 2 * 16 + j % 4 * 4) >> t / 2 * 2;
        const unsigned high = ind_word<2>(block + t % 2 * 16 + j % 4 * 4) >> t / 2;
        const int to = 2 + up(j, 0);
        const unsigned bits = j / 4 * 2 < to ? high << (to - j / 4 * 2) : high >> (j / 4 * 2 - to);
        ind_byte_pairs(ind_and_or(bits, 0x01010101u << to, word & 0x03030303u << up(j, 0)), p0, p1);
    }
    static IND_INLINE int at(int j, int t) {
        return j / 4 * 64 + 16 * t + j % 4 * 4;
    }
};
//@ PACKED_Q6_K
struct ind_packed_q6_k : ind_packed_plain<ind_packed_q6_k> {
    static constexpr int ELEMENTS = 256, BYTES = 210, GROUP = 16, BIAS = 32;
    float d;
    unsigned s[4];
    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {
        d = ind_f16_at(block + 208);
        _Pragma("unroll")
        for (int i = 0; i < 4; i++) s[i] = ind_word<2>(block + 192 + 4 * i) ^ 0x80808080u;
    }
    IND_INLINE float scale(int group) const {
        return ind_byte_times<128>(s[group / 4], group % 4, d);
    }
    template <bool, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        const int quarter = j % 8 / 2, in = j % 2 * 16 + 4 * t;
        const unsigned low = ind_word<2>(block + j / 8 * 64 + quarter % 2 * 32 + in) >> quarter / 2 * 4 & 0x0f0f0f0fu;
        const unsigned high = ind_word<2>(block + 128 + j / 8 * 32 + in);
        ind_byte_pairs(ind_and_or(quarter < 2 ? high << (4 - 2 * quarter) : high >> (2 * quarter - 4), 0x30303030u, low), p0, p1);
    }
};
//@ PACKED_IQ4
// The elements of the low or high halves of 4 bytes, plus 128. Bytes 0 and 2 of 4 that are looked up are low halves.
static IND_INLINE void ind_iq4_pairs(unsigned word, int high, unsigned &p0, unsigned &p1) {
    const unsigned at = word & 0x77777777u, side = ind_and_or(word >> 1, 0x44444444u, 0x32103210u);
    const unsigned x = ind_lookup(at, side, 0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u);
    const unsigned y = ind_lookup(at >> 16, side >> 16, 0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u);
    unsigned other;
    ind_byte_pairs(x, high ? other : p0, high ? p0 : other);
    ind_byte_pairs(y, high ? other : p1, high ? p1 : other);
}
struct ind_packed_iq4_nl : ind_packed_plain<ind_packed_iq4_nl> {
    static constexpr int ELEMENTS = 32, BYTES = 18, GROUP = 32, BIAS = 128, ORDER = IND_IN_ORDER;
    float d;
    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {
        d = ind_f16_at(block);
    }
    IND_INLINE float scale(int) const {
        return d;
    }
    template <bool, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        ind_iq4_pairs(ind_word<A + 2>(block + 2 + 4 * t), j, p0, p1);
    }
};
struct ind_packed_iq4_xs : ind_packed_plain<ind_packed_iq4_xs> {
    static constexpr int ELEMENTS = 256, BYTES = 136, GROUP = 32, BIAS = 128, ORDER = IND_IN_ORDER;
    float d;
    unsigned s[2]; // of even groups, of odd ones
    // Two bits of each 4 of 16 to bits 4 and 5 of bytes.
    static IND_INLINE unsigned spread(unsigned x) {
        x = x & 0x33u | x << 8 & 0x330000u;
        return x << 4 & 0x00300030u | x << 8 & 0x30003000u;
    }
    template <int A> IND_INLINE void read(const unsigned char *block, ind_packed_format::side, int) {
        const unsigned high = *reinterpret_cast<const unsigned short *>(block + 2), low = ind_word<4>(block + 4);
        d = ind_f16_at(block);
        s[0] = (low & 0x0f0f0f0fu) | spread(high);
        s[1] = (low >> 4 & 0x0f0f0f0fu) | spread(high >> 2);
    }
    IND_INLINE float scale(int group) const {
        return ind_byte_times<32>(s[group % 2], group / 2, d);
    }
    template <bool, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        ind_iq4_pairs(ind_word<4>(block + 8 + j / 2 * 16 + 4 * t), j % 2, p0, p1);
    }
};
