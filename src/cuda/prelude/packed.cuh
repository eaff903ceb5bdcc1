// Products of few rows with packed weights. Tensor cores multiply 16 rows of weights, which a warp turns into 16-bit
// numbers in registers, by up to 8 rows of a at a time: D[weight row][row of a]. Sums of a group of weights are
// multiplied by the group's scale in f32.
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
template <bool BF16> static IND_INLINE unsigned ind_sub2(unsigned a, unsigned b) {
    return ind_fma2<BF16>(b, BF16 ? 0xbf80bf80u : 0xbc00bc00u, a);
}
// Bytes below 128 in the low half of a 16-bit float: 128 + byte in bf16, 1024 + byte in f16.
template <bool BF16> static IND_INLINE unsigned ind_magic(int byte) {
    return (BF16 ? 0x43004300u : 0x64006400u) + (unsigned)byte * 0x10001u;
}
// 4 bytes from an address of alignment A, 2 or 4.
template <int A> static IND_INLINE unsigned ind_word(const unsigned char *p) {
    if (A % 4 == 0) return *reinterpret_cast<const unsigned *>(p);
    const unsigned short *half = reinterpret_cast<const unsigned short *>(p);
    return __byte_perm(half[0], half[1], 0x5410);
}
static IND_INLINE float ind_f16_at(const unsigned char *p) {
    return ind_f16_to_f32(*reinterpret_cast<const unsigned short *>(p));
}
// Byte i of a word minus BIAS, in f32, and twice in 16 bits (a byte below 128).
template <int BIAS> static IND_INLINE float ind_byte_float(unsigned x, int i) {
    return __uint_as_float(__byte_perm(x, 0x4b000000u, 0x7650u | (unsigned)i)) - (8388608.0f + BIAS);
}
template <bool BF16, int BIAS> static IND_INLINE unsigned ind_byte_pair(unsigned x, int i) {
    const unsigned both = __byte_perm(x, ind_magic<BF16>(0) >> 8, 0x4040u | (unsigned)i | (unsigned)i << 8);
    return ind_sub2<BF16>(both, ind_magic<BF16>(BIAS));
}
// An integer of up to 8 bits and sign, twice in 16 bits.
template <bool BF16> static IND_INLINE unsigned ind_int_pair(int x) {
    if (BF16) return __byte_perm(__float_as_uint((float)x), 0, 0x3232);
    return ind_f32_to_f16((float)x) * 0x10001u;
}
// 4 bytes of a table of 16, for the 4 indices in the low 16 bits of n.
static IND_INLINE unsigned ind_lookup(unsigned n, unsigned t0, unsigned t1, unsigned t2, unsigned t3) {
    const unsigned at = n & 0x7777u, low = __byte_perm(t0, t1, at), high = __byte_perm(t2, t3, at);
    return __byte_perm(low, high, ind_and_or(n >> 1, 0x4444u, 0x3210u));
}
// 4 bits to the low bits of 4 bytes.
static IND_INLINE unsigned ind_spread_bits(unsigned x) {
    return (x & 15u) * 0x00204081u & 0x01010101u;
}
// A format of packed weights. A block has ELEMENTS elements in BYTES bytes; GROUP of them have one scale. `bytes` returns
// the 4 elements that lane t of 4 multiplies in step j of 16 of a block, as bytes: below 128, BIAS more than the weight
// over its scale, or, if WIDE, in two's complement. They are elements at(j, t) .. at(j, t) + 3. A is the alignment of the
// block. Of a format with OFFSET, lowest() * low() is added to each element of a group; low() is twice in 16 bits. If
// SCALED, the bytes are multiplied by factor(), exactly, and all groups of a block have one scale(). If ZERO, zero() is
// added to the bytes. If FLOAT, expand() turns 4 bytes into two pairs of 16-bit numbers.
struct ind_packed_format {
    static constexpr int BIAS = 0, STEP = 256;
    static constexpr bool WIDE = false, OFFSET = false, SCALED = false, ZERO = false, BESIDE = false, FLOAT = false;
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
    template <bool BF16> IND_INLINE unsigned low(int) const {
        return 0;
    }
    template <bool BF16> IND_INLINE unsigned factor(int) const {
        return 0;
    }
    template <bool BF16> IND_INLINE unsigned zero(int) const {
        return 0;
    }
    template <bool BF16> static IND_INLINE void expand(unsigned, unsigned &, unsigned &) {
    }
    static IND_INLINE int at(int j, int t) {
        return 16 * j + 4 * t;
    }
};
// Two pairs of 16-bit numbers from 4 bytes, minus BIAS; RAW: as ind_magic has them.
template <typename F, bool BF16, bool RAW> static IND_INLINE void ind_expand(unsigned x, unsigned &p0, unsigned &p1) {
    const unsigned magic = ind_magic<BF16>(0) >> 8;
    if (F::FLOAT) {
        F::template expand<BF16>(x, p0, p1);
        return;
    }
    if (F::WIDE && BF16) {
        // 7 bits of fraction: 128 + the low 7 bits, minus 128 or 256 by the sign.
        const unsigned q0 = __byte_perm(x, 0, 0x4140), q1 = __byte_perm(x, 0, 0x4342), one = 0x43004300u;
        p0 = ind_sub2<true>(ind_and_or(q0, 0x7f007fu, one), ind_and_or(q0, 0x800080u, one));
        p1 = ind_sub2<true>(ind_and_or(q1, 0x7f007fu, one), ind_and_or(q1, 0x800080u, one));
        return;
    }
    if (F::WIDE) x ^= 0x80808080u;
    p0 = __byte_perm(x, magic, 0x4140), p1 = __byte_perm(x, magic, 0x4342);
    if (RAW) return;
    p0 = ind_sub2<BF16>(p0, ind_magic<BF16>(F::WIDE ? 128 : F::BIAS));
    p1 = ind_sub2<BF16>(p1, ind_magic<BF16>(F::WIDE ? 128 : F::BIAS));
}
template <bool BF16> static IND_INLINE void ind_mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    if (BF16)
        ind_mma_bf16(c, a, b);
    else
        ind_mma_f16(c, a, b);
}
// The ring of a warp in shared memory has 16 rows of weights of several steps. The copy of a row of a step begins at the
// address of its first block, rounded down to 16 bytes. The slots of rows are odd multiples of 16 bytes apart: lanes of 8
// rows read different banks. ROW is the alignment of rows in memory, up to 16 bytes.
template <typename F, int ROW> struct ind_packed_slots {
    static constexpr int BLOCKS = F::STEP / F::ELEMENTS, BYTES = BLOCKS * F::BYTES;
    static constexpr int OF_STEP = BYTES % 16 == 0 ? 16 : BYTES % 8 == 0 ? 8 : BYTES % 4 == 0 ? 4 : 2;
    static constexpr int ALIGNMENT = OF_STEP < ROW ? OF_STEP : ROW;
    static constexpr int CHUNKS = (BYTES + 31 - ALIGNMENT) / 16, SLOT = (CHUNKS | 1) * 16, STAGE = SLOT * 16;
};
// The sums of a block: of TILES * 8 rows of a with 16 rows of weights per warp along n. WARPS_K warps share the steps of
// k. Each warp has a ring of STAGES steps, which Ring fills: ind_packed_maps or ind_packed_copies.
template <typename F, bool BF16, int ROWS, int WARPS_N, int WARPS_K, int STAGES, typename Ring> struct ind_packed_product {
    typedef ind_packed_slots<F, Ring::ROW> slots;
    static constexpr int TILES = ROWS > 8 ? ROWS / 8 : 1, COLS = WARPS_N * 16;
    static constexpr int BLOCKS = slots::BLOCKS, ALIGNMENT = slots::ALIGNMENT, SLOT = slots::SLOT, STAGE = slots::STAGE;
    // The bias is a product with tensor cores while these have time.
    static constexpr bool FOLD = BF16 && !F::FLOAT && !F::WIDE && !F::OFFSET && !F::SCALED && !F::ZERO && TILES == 1;
    static constexpr bool RAW = FOLD || (F::SCALED && F::BIAS == 0 && BF16);
    Ring fill;
    unsigned char *ring;
    const unsigned char *scales[2], *zeros[2];
    typename F::side ahead[2];
    float acc[TILES][4];
    int first_n, step, copied, stage, phase;
    template <typename From> IND_INLINE void copy(const From &from, int steps) {
        const int to = copied / WARPS_K % STAGES;
        fill.template copy<slots>(from, ring + to * STAGE, to, copied, copied < steps);
        copied += WARPS_K;
    }
    // Starts the first copies. `from`: the tensor map, or a function that returns the address of one of `size_n` rows of
    // weights. `memory`: the rings of all warps, then mbarriers.
    template <typename From>
    IND_INLINE void start(const From &from, unsigned char *memory, int first, int steps, int size_n) {
        const int warp = threadIdx.x / 32;
        ring = memory + warp * (STAGES * STAGE);
        first_n = first + warp / WARPS_K * 16;
        step = copied = warp % WARPS_K;
        stage = phase = 0;
        fill.template start<STAGES>(from, memory + WARPS_N * WARPS_K * STAGES * STAGE, first_n, size_n);
        _Pragma("unroll")
        for (int i = 0; i < STAGES - 1; i++) copy(from, steps);
        _Pragma("unroll")
        for (int i = 0; i < TILES * 4; i++) acc[i / 4][i % 4] = 0.0f;
    }
    // The rows of scales and zero points, for formats that have them in tensors of their own.
    template <typename At> IND_INLINE void beside(int size_n, const At &at) {
        _Pragma("unroll")
        for (int r = 0; r < 2; r++) {
            const int row = first_n + r * 8 + (threadIdx.x & 31) / 4;
            at(row < size_n ? row : size_n - 1, scales[r], zeros[r]);
        }
    }
    // Steps below `end`, of `steps`. a: elements of k from step `begin` on, rows `stride` apart.
    template <typename From>
    IND_INLINE void run(const From &from, int begin, int end, int steps, const unsigned short *a, int stride) {
        const int lane = threadIdx.x & 31;
        a += (ROWS < 8 ? lane / 4 % ROWS : lane / 4) * stride;
        if (F::BESIDE && step < end)
            for (int r = 0; r < 2; r++) ahead[r] = F::load(scales[r], zeros[r], step);
        _Pragma("unroll 1")
        for (; step < end; step += WARPS_K) {
            __syncwarp();
            copy(from, steps);
            typename F::side now[2] = {ahead[0], ahead[1]};
            if (F::BESIDE && step + WARPS_K < end)
                for (int r = 0; r < 2; r++) ahead[r] = F::load(scales[r], zeros[r], step + WARPS_K);
            fill.template wait<STAGES>(stage, phase);
            const int before = fill.template before<slots>(0, step), apart = 8 * SLOT + fill.template before<slots>(1, step) - before;
            multiply(ring + stage * STAGE + before, apart, now, a + (step - begin) * F::STEP, stride);
            stage++;
            if (stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
    }
    // `apart`: bytes between the lane's two rows of weights.
    IND_INLINE void multiply(const unsigned char *at, int apart, const typename F::side (&side)[2], const unsigned short *a, int stride) {
        const int lane = threadIdx.x & 31, g = lane / 4, t = lane & 3;
        _Pragma("unroll")
        for (int block = 0; block < BLOCKS; block++) {
            const unsigned char *const row = at + g * SLOT + block * F::BYTES;
            F of[2];
            float low[TILES][4] = {}, sum[TILES][4] = {};
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
                    weights<2>(weight, of, row, apart, j, t);
                else
                    weights<4>(weight, of, row, apart, j, t);
                accumulate(sum, low, weight, of, group, a + block * F::ELEMENTS + F::at(j, t), stride);
                if ((j + 1) % (F::GROUP / 16) == 0 && (!F::SCALED || j + 1 == F::ELEMENTS / 16)) add(sum, of[0].scale(group), of[1].scale(group));
            }
            if (F::OFFSET) add(low, of[0].lowest(), of[1].lowest());
        }
    }
    template <int A> static IND_INLINE void weights(unsigned (&weight)[4], const F (&of)[2], const unsigned char *row, int apart, int j, int t) {
        _Pragma("unroll")
        for (int r = 0; r < 2; r++) {
            ind_expand<F, BF16, RAW>(F::template bytes<A>(row + r * apart, j, t), weight[r], weight[r + 2]);
            if (!F::SCALED) continue;
            const unsigned factor = of[r].template factor<BF16>(j / (F::GROUP / 16));
            const unsigned less = RAW ? ind_fma2<BF16>(factor, ind_magic<BF16>(0) | 0x80008000u, 0x80008000u) : 0x80008000u;
            weight[r] = ind_fma2<BF16>(weight[r], factor, less);
            weight[r + 2] = ind_fma2<BF16>(weight[r + 2], factor, less);
        }
    }
    static IND_INLINE void accumulate(float (&sum)[TILES][4], float (&low)[TILES][4], const unsigned (&weight)[4], const F (&of)[2], int group, const unsigned short *a, int stride) {
        const unsigned bias = ind_magic<BF16>(F::BIAS) | 0x80008000u, biases[4] = {bias, bias, bias, bias};
        unsigned other[2] = {};
        _Pragma("unroll")
        for (int r = 0; r < 2 && (F::OFFSET || F::ZERO); r++) other[r] = F::ZERO ? of[r].template zero<BF16>(group) : of[r].template low<BF16>(group);
        const unsigned others[4] = {other[0], other[1], other[0], other[1]};
        _Pragma("unroll")
        for (int tile = 0; tile < TILES; tile++) {
            const ind_vec<unsigned short, 4> v = ind_load<4>(a + tile * 8 * stride);
            const unsigned from_a[2] = {v.word[0], v.word[1]};
            if (F::OFFSET) ind_mma<BF16>(low[tile], others, from_a);
            if (F::ZERO) ind_mma<BF16>(sum[tile], others, from_a);
            if (FOLD) ind_mma<BF16>(sum[tile], biases, from_a);
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
            if (row < ROWS) part[(warp % WARPS_K * ROWS + row) * COLS + col + (i & 2) * 4] = acc[i / 4][i % 4];
        }
        __syncthreads();
    }
};
//@ PACKED_MAPS
// Bulk copies of 16 rows by a tensor map of 16-bit words. One lane starts them, mbarriers count their bytes.
struct ind_packed_maps {
    static constexpr int ROW = 16;
    unsigned long long *full;
    int first_n;
    template <int STAGES> IND_INLINE void start(const ind_tensor_map &map, unsigned char *barriers, int first, int) {
        full = reinterpret_cast<unsigned long long *>(barriers) + threadIdx.x / 32 * STAGES;
        first_n = first;
        if ((threadIdx.x & 31) == 0) {
            ind_map_prefetch(map);
            for (int i = 0; i < STAGES; i++) ind_barrier_init(full + i, 1);
            ind_barrier_publish();
        }
        __syncwarp();
    }
    template <typename S> IND_INLINE void copy(const ind_tensor_map &map, unsigned char *to, int stage, int step, bool exists) {
        if (!exists || (threadIdx.x & 31)) return;
        ind_barrier_expect(full + stage, S::STAGE);
        ind_bulk_copy<2>(to, map, full + stage, (step * S::BYTES & -16) / 2, first_n);
    }
    template <int STAGES> IND_INLINE void wait(int stage, int phase) {
        ind_barrier_wait(full + stage, phase);
    }
    template <typename S> IND_INLINE int before(int, int step) const {
        return S::ALIGNMENT == 16 ? 0 : (step * S::BYTES) & 15;
    }
};
//@ PACKED_COPIES
// cp.async of 16 bytes, of rows of LENGTH bytes. Four lanes copy rows lane / 4 and lane / 4 + 8, which they also multiply.
// Bytes from the end of a row on are 0. Rows from size_n on are copies of the last row, whose sums nothing reads.
template <int ALIGNMENT, int LENGTH> struct ind_packed_copies {
    static constexpr int ROW = ALIGNMENT;
    const unsigned char *row; // address of the lane's first row, rounded down to 16 bytes
    int apart, offset[2];     // bytes from `row` to the rounded address of its second row; bytes that rounding removed
    template <int STAGES, typename At> IND_INLINE void start(const At &at, unsigned char *, int first, int size_n) {
        const int n = first + (threadIdx.x & 31) / 4;
        const unsigned char *const r0 = at(n < size_n ? n : size_n - 1), *const r1 = at(n + 8 < size_n ? n + 8 : size_n - 1);
        offset[0] = ROW == 16 ? 0 : (int)(reinterpret_cast<unsigned long long>(r0) & 15);
        offset[1] = ROW == 16 ? 0 : (int)(reinterpret_cast<unsigned long long>(r1) & 15);
        row = r0 - offset[0];
        apart = (int)(r1 - offset[1] - row);
    }
    template <typename S, typename At> IND_INLINE void copy(const At &, unsigned char *to, int, int step, bool exists) {
        constexpr bool WHOLE = S::ALIGNMENT == 16 && LENGTH % S::BYTES == 0;
        const int lane = threadIdx.x & 31;
        _Pragma("unroll")
        for (int i = 0; i < (S::CHUNKS + 3) / 4 * 2 && exists; i++) {
            const int r = i % 2, chunk = i / 2 * 4 + lane % 4, from = ((offset[r] + step * S::BYTES) & -16) + chunk * 16;
            const int left = WHOLE ? 16 : offset[r] + LENGTH - from;
            if (i / 2 * 4 + 4 <= S::CHUNKS || chunk < S::CHUNKS)
                ind_cp_async16(to + (r * 8 + lane / 4) * S::SLOT + chunk * 16, row + r * apart + from, left < 0 ? 0 : left < 16 ? left : 16);
        }
        ind_cp_async_commit();
    }
    template <int STAGES> IND_INLINE void wait(int, int) {
        ind_cp_async_wait<STAGES - 1>();
        __syncwarp();
    }
    template <typename S> IND_INLINE int before(int r, int step) const {
        return S::ALIGNMENT == 16 ? 0 : (offset[r] + step * S::BYTES) & 15;
    }
};
//@ PACKED_I8
// Bytes in two's complement.
struct ind_packed_i8 : ind_packed_format {
    static constexpr int ELEMENTS = 256, BYTES = 256, GROUP = 256;
    static constexpr bool WIDE = true;
    template <int A> IND_INLINE void read(const unsigned char *, side, int) {
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        return ind_word<4>(block + j / 2 * 32 + 8 * t + j % 2 * 4);
    }
    static IND_INLINE int at(int j, int t) {
        return j / 2 * 32 + 8 * t + j % 2 * 4;
    }
};
//@ PACKED_F8
#ifndef IND_EMULATION
// Two e4m3, and two f16.
static IND_INLINE unsigned ind_e4m3x2_to_f16x2(unsigned x) {
    unsigned r;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"((unsigned short)x));
    return r;
}
static IND_INLINE unsigned ind_f16x2_to_bf16x2(unsigned x) {
    unsigned r;
    asm("{\n.reg .b16 a, b;\n.reg .f32 c, d;\nmov.b32 {a, b}, %1;\ncvt.f32.f16 c, a;\ncvt.f32.f16 d, b;\n"
        "cvt.rn.bf16x2.f32 %0, d, c;\n}" : "=r"(r) : "r"(x));
    return r;
}
#else
static IND_INLINE unsigned ind_e4m3x2_to_f16x2(unsigned x) {
    const float low = ind_f8e4m3fn_to_f32((unsigned char)x), high = ind_f8e4m3fn_to_f32((unsigned char)(x >> 8));
    return ind_f32_to_f16(low) | (unsigned)ind_f32_to_f16(high) << 16;
}
static IND_INLINE unsigned ind_f16x2_to_bf16x2(unsigned x) {
    const float low = ind_f16_to_f32((unsigned short)x), high = ind_f16_to_f32((unsigned short)(x >> 16));
    return ind_f32_to_bf16(low) | (unsigned)ind_f32_to_bf16(high) << 16;
}
#endif
// 8-bit floats, each of which f16 and bf16 have. e5m2 is the upper half of an f16. SIZE elements have a scale in another
// tensor. SCALE: 4 f32, 2 f16, 1 bf16, 0 none.
template <bool E5M2, int SCALE, int SIZE> struct ind_packed_f8 : ind_packed_format {
    static constexpr int ELEMENTS = 256, BYTES = 256, GROUP = SIZE, GROUPS = ELEMENTS / SIZE;
    static constexpr bool FLOAT = true, BESIDE = SCALE > 0;
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
    template <bool BF16> static IND_INLINE void expand(unsigned x, unsigned &p0, unsigned &p1) {
        p0 = E5M2 ? __byte_perm(x, 0, 0x1404) : ind_e4m3x2_to_f16x2(x);
        p1 = E5M2 ? __byte_perm(x, 0, 0x3424) : ind_e4m3x2_to_f16x2(x >> 16);
        if (!BF16) return;
        p0 = ind_f16x2_to_bf16x2(p0);
        p1 = ind_f16x2_to_bf16x2(p1);
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        return ind_word<4>(block + j / 2 * 32 + 8 * t + j % 2 * 4);
    }
    static IND_INLINE int at(int j, int t) {
        return j / 2 * 32 + 8 * t + j % 2 * 4;
    }
};
//@ PACKED_Q8_0
struct ind_packed_q8_0 : ind_packed_format {
    static constexpr int ELEMENTS = 32, BYTES = 34, GROUP = 32;
    static constexpr bool WIDE = true;
    float d;
    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {
        d = ind_f16_at(block);
    }
    IND_INLINE float scale(int) const {
        return d;
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        return ind_word<A + 2>(block + 2 + 16 * j + 4 * t);
    }
};
//@ PACKED_Q4
// q4_0 and q4_1, q5_0 and q5_1: d, for some the lowest value, for some a fifth bit of each element.
template <bool LOWEST, bool FIFTH> struct ind_packed_q4 : ind_packed_format {
    static constexpr int FIRST = 2 + 2 * LOWEST + 4 * FIFTH, ELEMENTS = 32, BYTES = FIRST + 16, GROUP = 32;
    static constexpr int BIAS = LOWEST ? 0 : FIFTH ? 16 : 8;
    static constexpr bool OFFSET = LOWEST;
    float d, m;
    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {
        d = ind_f16_at(block);
        m = LOWEST ? ind_f16_at(block + 2) : 0.0f;
    }
    IND_INLINE float scale(int) const {
        return d;
    }
    IND_INLINE float lowest() const {
        return m;
    }
    template <bool BF16> IND_INLINE unsigned low(int) const {
        return BF16 ? 0x3f803f80u : 0x3c003c00u;
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        const unsigned low = ind_word<A + FIRST>(block + FIRST + 4 * t) >> 4 * j & 0x0f0f0f0fu;
        if (!FIFTH) return low;
        return low | ind_spread_bits(ind_word<A + FIRST>(block + FIRST - 4) >> (16 * j + 4 * t)) << 4;
    }
};
//@ PACKED_Q45_K
// q4_k and, with a fifth bit, q5_k: scales and lowest values of 6 bits.
template <bool FIFTH> struct ind_packed_q45_k : ind_packed_format {
    static constexpr int FIRST = 16 + 32 * FIFTH, ELEMENTS = 256, BYTES = FIRST + 128, GROUP = 32;
    static constexpr bool OFFSET = true;
    float d, m;
    unsigned s[2], o[2];
    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {
        const unsigned x = ind_word<4>(block + 4), y = ind_word<4>(block + 8), z = ind_word<4>(block + 12);
        d = ind_f16_at(block);
        m = -ind_f16_at(block + 2);
        s[0] = x & 0x3f3f3f3fu;
        o[0] = y & 0x3f3f3f3fu;
        s[1] = (z & 0x0f0f0f0fu) | (x >> 2 & 0x30303030u);
        o[1] = (z >> 4 & 0x0f0f0f0fu) | (y >> 2 & 0x30303030u);
    }
    IND_INLINE float scale(int group) const {
        return d * ind_byte_float<0>(s[group / 4], group % 4);
    }
    IND_INLINE float lowest() const {
        return m;
    }
    template <bool BF16> IND_INLINE unsigned low(int group) const {
        return ind_byte_pair<BF16, 0>(o[group / 4], group % 4);
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        const int in = j % 2 * 16 + 4 * t;
        const unsigned low = ind_word<4>(block + FIRST + j / 4 * 32 + in) >> j / 2 % 2 * 4 & 0x0f0f0f0fu;
        return FIFTH ? low | (ind_word<4>(block + 16 + in) >> j / 2 & 0x01010101u) << 4 : low;
    }
};
//@ PACKED_Q2_K
// The elements of a lane in 4 steps are one group of 16.
struct ind_packed_q2_k : ind_packed_format {
    static constexpr int ELEMENTS = 256, BYTES = 84, GROUP = 64, STEP = 512;
    static constexpr bool OFFSET = true, SCALED = true;
    float d, m;
    unsigned s[4];
    template <int A> IND_INLINE void read(const unsigned char *block, side, int t) {
        d = ind_f16_at(block + 80);
        m = -ind_f16_at(block + 82);
        _Pragma("unroll")
        for (int i = 0; i < 4; i++) s[i] = ind_word<A>(block + 4 * i) >> 8 * t;
    }
    IND_INLINE float scale(int) const {
        return d;
    }
    IND_INLINE float lowest() const {
        return m;
    }
    template <bool BF16> IND_INLINE unsigned factor(int group) const {
        return ind_byte_pair<BF16, 0>(s[group] & 15u, 0);
    }
    template <bool BF16> IND_INLINE unsigned low(int group) const {
        return ind_byte_pair<BF16, 0>(s[group] >> 4 & 15u, 0);
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        const unsigned word = ind_word<A>(block + 16 + j / 8 * 32 + t % 2 * 16 + j % 4 * 4) >> t / 2 * 2;
        return word >> j / 4 % 2 * 4 & 0x03030303u;
    }
    static IND_INLINE int at(int j, int t) {
        return j / 4 * 64 + 16 * t + j % 4 * 4;
    }
};
//@ PACKED_Q3_K
// The same; |byte - 4| times a scale of 6 bits has at most 8 bits.
struct ind_packed_q3_k : ind_packed_format {
    static constexpr int ELEMENTS = 256, BYTES = 110, GROUP = 64, BIAS = 4;
    static constexpr bool SCALED = true;
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
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        const unsigned word = ind_word<2>(block + 32 + j / 8 * 32 + t % 2 * 16 + j % 4 * 4) >> t / 2 * 2;
        const unsigned high = ind_word<2>(block + t % 2 * 16 + j % 4 * 4) >> t / 2;
        return (word >> j / 4 % 2 * 4 & 0x03030303u) | (high >> j / 4 * 2 & 0x01010101u) << 2;
    }
    static IND_INLINE int at(int j, int t) {
        return j / 4 * 64 + 16 * t + j % 4 * 4;
    }
};
//@ PACKED_Q6_K
struct ind_packed_q6_k : ind_packed_format {
    static constexpr int ELEMENTS = 256, BYTES = 210, GROUP = 16, BIAS = 32;
    float d;
    unsigned s[4];
    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {
        d = ind_f16_at(block + 208);
        _Pragma("unroll")
        for (int i = 0; i < 4; i++) s[i] = ind_word<2>(block + 192 + 4 * i) ^ 0x80808080u;
    }
    IND_INLINE float scale(int group) const {
        return d * ind_byte_float<128>(s[group / 4], group % 4);
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        const int quarter = j % 8 / 2, in = j % 2 * 16 + 4 * t;
        const unsigned low = ind_word<2>(block + j / 8 * 64 + quarter % 2 * 32 + in) >> quarter / 2 * 4 & 0x0f0f0f0fu;
        const unsigned high = ind_word<2>(block + 128 + j / 8 * 32 + in);
        return ind_and_or(quarter < 2 ? high << (4 - 2 * quarter) : high >> (2 * quarter - 4), 0x30303030u, low);
    }
};
//@ PACKED_IQ4
// The 16 values of IQ4_NL, in two's complement.
static IND_INLINE unsigned ind_iq4_values(unsigned n) {
    return ind_lookup(n, 0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);
}
// Bytes of a word's low or high halves.
static IND_INLINE unsigned ind_iq4_bytes(unsigned word, int high) {
    return __byte_perm(ind_iq4_values(word), ind_iq4_values(word >> 16), high ? 0x7531 : 0x6420);
}
struct ind_packed_iq4_nl : ind_packed_format {
    static constexpr int ELEMENTS = 32, BYTES = 18, GROUP = 32;
    static constexpr bool WIDE = true;
    float d;
    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {
        d = ind_f16_at(block);
    }
    IND_INLINE float scale(int) const {
        return d;
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        return ind_iq4_bytes(ind_word<A + 2>(block + 2 + 4 * t), j);
    }
};
struct ind_packed_iq4_xs : ind_packed_format {
    static constexpr int ELEMENTS = 256, BYTES = 136, GROUP = 32;
    static constexpr bool WIDE = true;
    float d;
    unsigned low_bits, high_bits;
    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {
        d = ind_f16_at(block);
        high_bits = *reinterpret_cast<const unsigned short *>(block + 2);
        low_bits = ind_word<4>(block + 4);
    }
    IND_INLINE float scale(int group) const {
        return d * (float)((int)((low_bits >> 4 * group & 15u) | (high_bits >> 2 * group & 3u) << 4) - 32);
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        return ind_iq4_bytes(ind_word<4>(block + 8 + j / 2 * 16 + 4 * t), j % 2);
    }
};
//@ PACKED_INT4
// 4 elements of a word of 8 that lie in the order of their bits.
struct ind_packed_nibbles : ind_packed_format {
    static constexpr int ELEMENTS = 256, BYTES = 128;
    static constexpr bool BESIDE = true;
    static IND_INLINE int at(int j, int t) {
        return j / 2 * 32 + 8 * t + j % 2 * 4;
    }
};
// Two's complement, or minus a zero point of type Z. SCALE: 4 f32, 2 f16, 1 bf16.
template <int SCALE, int SIZE, typename Z> struct ind_packed_int4 : ind_packed_nibbles {
    static constexpr int GROUP = SIZE, GROUPS = ELEMENTS / SIZE;
    static constexpr bool ZERO = sizeof(Z) == 1;
    static constexpr int BIAS = ZERO ? 0 : 8;
    struct side {
        float scale[GROUPS];
        int zero[GROUPS];
    } with;
    static IND_INLINE side load(const unsigned char *scales, const unsigned char *zeros, int step) {
        side s = {};
        _Pragma("unroll")
        for (int i = 0; i < GROUPS; i++) {
            const int at = step * GROUPS + i;
            const unsigned short half = SCALE == 4 ? 0 : reinterpret_cast<const unsigned short *>(scales)[at];
            s.scale[i] = SCALE == 4 ? reinterpret_cast<const float *>(scales)[at] : SCALE == 2 ? ind_f16_to_f32(half) : ind_bf16_to_f32(half);
            s.zero[i] = ZERO ? reinterpret_cast<const Z *>(zeros)[at] : 0;
        }
        return s;
    }
    template <int A> IND_INLINE void read(const unsigned char *, const side &x, int) {
        with = x;
    }
    IND_INLINE float scale(int group) const {
        return with.scale[group];
    }
    template <bool BF16> IND_INLINE unsigned zero(int group) const {
        return ind_int_pair<BF16>(-with.zero[group]);
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        const unsigned word = ind_word<4>(block + j / 2 * 16 + 4 * t), flip = ZERO ? 0 : 0x08080808u;
        const unsigned even = ind_and_xor(word, 0x0f0f0f0fu, flip), odd = ind_and_xor(word >> 4, 0x0f0f0f0fu, flip);
        return __byte_perm(even, odd, j % 2 ? 0x7362 : 0x5140);
    }
};
//@ PACKED_E2M1
// Twice the values of e2m1, plus 12.
static IND_INLINE unsigned ind_e2m1_bytes(unsigned word) {
    return ind_lookup(word, 0x0f0e0d0cu, 0x18141210u, 0x090a0b0cu, 0x00040608u);
}
struct ind_packed_mxfp4 : ind_packed_nibbles {
    static constexpr int GROUP = 32, BIAS = 12;
    typedef ind_vec<unsigned char, 8> side;
    side exponent;
    static IND_INLINE side load(const unsigned char *scales, const unsigned char *, int step) {
        return ind_load<8>(scales + step * 8);
    }
    template <int A> IND_INLINE void read(const unsigned char *, const side &x, int) {
        exponent = x;
    }
    // 2^(e - 127) / 2; 255 is NaN.
    IND_INLINE float scale(int group) const {
        const unsigned e = exponent.at[group], bits = e ? e << 23 : 0x400000u;
        return 0.5f * __uint_as_float(e == 255 ? 0x7fc00000u : bits);
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        return ind_e2m1_bytes(ind_word<4>(block + j / 2 * 16 + 4 * t) >> j % 2 * 16);
    }
};
//@ PACKED_NVFP4
struct ind_packed_nvfp4 : ind_packed_nibbles {
    static constexpr int GROUP = 16, BIAS = 12;
    typedef ind_vec<unsigned char, 16> side;
    side with;
    static IND_INLINE side load(const unsigned char *scales, const unsigned char *, int step) {
        return ind_load<16>(scales + step * 16);
    }
    template <int A> IND_INLINE void read(const unsigned char *, const side &x, int) {
        with = x;
    }
    IND_INLINE float scale(int group) const {
        return 0.5f * ind_f8e4m3fn_to_f32(with.at[group]);
    }
    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {
        return ind_e2m1_bytes(*reinterpret_cast<const unsigned short *>(block + 8 * j + 2 * t));
    }
    static IND_INLINE int at(int j, int t) {
        return 16 * j + 4 * t;
    }
};
