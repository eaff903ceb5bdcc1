// Formats of packed weights of 4 bits whose scales and zero points are in other tensors.
//@ PACKED_INT4
// Elements of 4 bits that lie in the order of their bits: a lane has a word of 8.
struct ind_packed_nibbles : ind_packed_format {
    static constexpr int ELEMENTS = 256, BYTES = 128, ORDER = IND_NIBBLES, PAD = 32;
    static constexpr bool BESIDE = true, PAIRED = true;
    static constexpr int up(int, int i) {
        return 4 * i;
    }
    // Elements 0 and 4 of the word, and 1 and 5, or, in the second step, 2 and 6, and 3 and 7, are in the low bytes of the halves.
    static IND_INLINE unsigned word(const unsigned char *block, int j, int t) {
        return ind_word<4>(block + j / 2 * 16 + 4 * t) >> j % 2 * 8;
    }
    static IND_INLINE int at(int j, int t) {
        return j / 2 * 32 + 8 * t + j % 2 * 4;
    }
};
// N numbers from an address that is a multiple of their bytes, or of those of one.
template <int N, bool TOGETHER, typename T> static IND_INLINE ind_vec<T, N> ind_load_beside(const T *p) {
    if (TOGETHER) return ind_load<N>(p);
    ind_vec<T, N> x;
    _Pragma("unroll")
    for (int i = 0; i < N; i++) x.at[i] = p[i];
    return x;
}
// Two's complement, or minus a zero point of type Z. SCALE: 4 f32, 2 f16, 1 bf16. TOGETHER: a step's scales are aligned to their
// bytes, and so are its zero points.
template <int SCALE, int SIZE, typename Z, bool TOGETHER> struct ind_packed_int4 : ind_packed_nibbles {
    static constexpr int GROUP = SIZE, GROUPS = ELEMENTS / SIZE;
    static constexpr bool ZERO = sizeof(Z) == 1, SIGNED = (Z)-1 < (Z)0;
    struct side {
        ind_vec<unsigned, SCALE == 4 ? GROUPS : GROUPS / 2> scale;
        unsigned zero[GROUPS > 4 ? 2 : 1]; // a byte each
    } with;
    static IND_INLINE side load(const unsigned char *scales, const unsigned char *zeros, int step) {
        side s = {};
        if (SCALE == 4) {
            const auto x = ind_load_beside<GROUPS, TOGETHER>(reinterpret_cast<const unsigned *>(scales) + step * GROUPS);
            for (int i = 0; i < GROUPS; i++) s.scale.at[i] = x.at[i];
        } else {
            const ind_vec<unsigned short, GROUPS> x = ind_load_beside<GROUPS, TOGETHER>(reinterpret_cast<const unsigned short *>(scales) + step * GROUPS);
            for (int i = 0; i < GROUPS / 2; i++) s.scale.at[i] = x.word[i];
        }
        _Pragma("unroll")
        for (int i = 0; i < GROUPS && ZERO; i++) {
            if (TOGETHER && GROUPS >= 4)
                s.zero[i / 4] = reinterpret_cast<const unsigned *>(zeros + step * GROUPS)[i / 4];
            else
                s.zero[i / 4] |= (unsigned)zeros[step * GROUPS + i] << i % 4 * 8;
        }
        return s;
    }
    template <int A> IND_INLINE void read(const unsigned char *, const side &x, int) {
        with = x;
    }
    IND_INLINE float scale(int group) const {
        if (SCALE == 4) return __uint_as_float(with.scale.at[group]);
        const unsigned word = with.scale.at[group / 2];
        if (SCALE == 1) return __uint_as_float(group % 2 ? word & 0xffff0000u : word << 16);
        return ind_f16_to_f32((unsigned short)(word >> group % 2 * 16));
    }
    template <bool BF16> IND_INLINE unsigned times(int, int i) const {
        return ind_normal<BF16>(4 * i);
    }
    template <bool BF16> IND_INLINE unsigned less(int j) const {
        if (!ZERO) return ind_minus<BF16>(8);
        const int group = j / (GROUP / 16), at = group % 4;
        const unsigned zero = __byte_perm(with.zero[group / 4], 0, 0x4040u | (unsigned)at | (unsigned)at << 8) ^ (SIGNED ? 0x00800080u : 0u);
        return ind_fma2<BF16>(zero, ind_normal<BF16>(0) | 0x80008000u, ind_constant2<BF16>(SIGNED ? 128 : 0, ind_unit<BF16>()));
    }
    template <bool, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        const unsigned x = word(block, j, t), flip = ZERO ? 0 : 0x00080008u;
        p0 = ind_and_xor(x, 0x000f000fu, flip);
        p1 = ind_and_xor(x, 0x00f000f0u, flip << 4);
    }
};
//@ PACKED_E2M1
// e2m1 as the lowest bits of exponent and highest of fraction: the number times 2^-126 in bf16, 2^-14 in f16.
template <bool BF16> static IND_INLINE unsigned ind_e2m1_pair(unsigned word, int i) {
    const unsigned x = word & 0x000f000fu << 4 * i;
    if (BF16) return x * (0x1040u >> 4 * i) & 0x81c081c0u;
    return ind_and_or(x << (12 - 4 * i), 0x80008000u, (x & 0x00070007u << 4 * i) << (9 - 4 * i));
}
struct ind_packed_e2m1 : ind_packed_nibbles {
    template <bool> IND_INLINE unsigned less(int) const {
        return 0x80008000u;
    }
    template <bool BF16, int A> IND_INLINE void pairs(const unsigned char *block, int j, int t, unsigned &p0, unsigned &p1) const {
        const unsigned x = word(block, j, t);
        p0 = ind_e2m1_pair<BF16>(x, 0);
        p1 = ind_e2m1_pair<BF16>(x, 1);
    }
};
struct ind_packed_mxfp4 : ind_packed_e2m1 {
    static constexpr int GROUP = 32;
    typedef ind_vec<unsigned, 2> side;
    side exponents;
    static IND_INLINE side load(const unsigned char *scales, const unsigned char *, int step) {
        return ind_load<2>(reinterpret_cast<const unsigned *>(scales) + step * 2);
    }
    template <int A> IND_INLINE void read(const unsigned char *, const side &x, int) {
        exponents = x;
    }
    // 2^(e - 127), which is subnormal if e is 0; 255 is NaN, as infinity * 0 is.
    IND_INLINE float scale(int group) const {
        const unsigned word = exponents.at[group / 4];
        const int to = 23 - group % 4 * 8, bits = (int)((to < 0 ? word >> -to : word << to) & 0x7f800000u);
        const float power = __uint_as_float((unsigned)(bits > 0x400000 ? bits : 0x400000));
        return fmaf(power, 0.0f, power);
    }
    template <bool> static constexpr int unit() {
        return 0;
    }
    template <bool BF16> IND_INLINE unsigned times(int, int) const {
        return ind_constant2<BF16>(1, BF16 ? 126 : 14);
    }
};
//@ PACKED_NVFP4
// The low byte as e4m3.
static IND_INLINE float ind_e4m3_to_f32(unsigned x) {
#if !defined(IND_EMULATION) && __CUDA_ARCH__ >= 890
    unsigned r;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"((unsigned short)x));
    return ind_f16_to_f32((unsigned short)r);
#else
    return ind_f8e4m3fn_to_f32((unsigned char)x);
#endif
}
// e2m1 times a scale of e4m3 has 6 bits.
struct ind_packed_nvfp4 : ind_packed_e2m1 {
    static constexpr int GROUP = 32;
    static constexpr bool SCALED = true;
    typedef ind_vec<unsigned, 4> side;
    side with;
    unsigned shift;
    static IND_INLINE side load(const unsigned char *scales, const unsigned char *, int step) {
        return ind_load<4>(reinterpret_cast<const unsigned *>(scales) + step * 4);
    }
    template <int A> IND_INLINE void read(const unsigned char *, const side &x, int t) {
        with = x;
        shift = t / 2 * 8;
    }
    template <bool BF16> static constexpr int unit() {
        return BF16 ? -10 : -8;
    }
    // The scale of the lane's 8 elements, times 2^116 or 2^6.
    template <bool BF16> IND_INLINE unsigned times(int j, int) const {
        const float scale = ind_e4m3_to_f32(with.at[j / 4] >> j / 2 % 2 * 16 >> shift) * (BF16 ? 8.307674973655724e+34f : 64.0f);
        return BF16 ? __byte_perm(__float_as_uint(scale), 0, 0x3232) : ind_f32_to_f16(scale) * 0x10001u;
    }
};
