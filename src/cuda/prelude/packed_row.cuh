// Products of one row with packed weights: a lane multiplies 8 elements of a row of weights at a time.
//@ PACKED8
// Loads that the compiler does not move after the wait for the launch before.
#ifndef IND_EMULATION
static IND_INLINE ind_vec<unsigned, 2> ind_load_here(const ind_vec<unsigned, 2> *p) {
    ind_vec<unsigned, 2> v;
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.at[0]), "=r"(v.at[1]) : "l"(__cvta_generic_to_global(p)));
    return v;
}
static IND_INLINE unsigned ind_load_here(const unsigned *p) {
    unsigned v;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(p)));
    return v;
}
static IND_INLINE unsigned short ind_load_here(const unsigned short *p) {
    unsigned short v;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(__cvta_generic_to_global(p)));
    return v;
}
static IND_INLINE unsigned ind_load_here(const unsigned char *p) {
    unsigned v;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(p)));
    return v;
}
#else
template <typename T> static IND_INLINE T ind_load_here(const T *p) {
    return *p;
}
#endif
// N bytes, 2, 4 or 8, from an address of alignment A: as words, or as halves of words.
template <int N, int A, bool WORDS = (N >= 4 && A >= 4)> struct ind_bytes {
    unsigned of[N / 4];
    IND_INLINE void load(const unsigned char *p) {
        if (N == 8 && A % 8 == 0) {
            const ind_vec<unsigned, 2> both = ind_load_here(reinterpret_cast<const ind_vec<unsigned, 2> *>(p));
            for (int i = 0; i < N / 4; i++) of[i] = both.at[i];
            return;
        }
        for (int i = 0; i < N / 4; i++) of[i] = ind_load_here(reinterpret_cast<const unsigned *>(p) + i);
    }
    IND_INLINE unsigned word(int i) const {
        return of[i];
    }
    IND_INLINE float f16(int i) const {
        return ind_f16_to_f32((unsigned short)(of[i / 2] >> i % 2 * 16));
    }
};
template <int N, int A> struct ind_bytes<N, A, false> {
    unsigned short of[N / 2];
    IND_INLINE void load(const unsigned char *p) {
        for (int i = 0; i < N / 2; i++) of[i] = ind_load_here(reinterpret_cast<const unsigned short *>(p) + i);
    }
    IND_INLINE unsigned word(int i) const {
        return __byte_perm(of[2 * i], of[2 * i + 1], 0x5410);
    }
    IND_INLINE float f16(int i) const {
        return ind_f16_to_f32(of[i]);
    }
};
// The sum of (byte i - BIAS) * a[i] of the 8 bytes of two words. A byte in the low bits of 2^23 as f32 is 2^23 plus the byte.
template <int BIAS> static IND_INLINE float ind_dot8(unsigned x, unsigned y, const float (&a)[8]) {
    float sum = 0.0f;
    _Pragma("unroll")
    for (int i = 0; i < 8; i++)
        sum = fmaf(__uint_as_float(__byte_perm(i < 4 ? x : y, 0x4b000000u, 0x7440u | i % 4)) - (8388608.0f + BIAS), a[i], sum);
    return sum;
}
// A format of packed weights. `at`: the number in its block of the first of 8 elements, a multiple of 8. load() reads what is needed of
// them from the block, of alignment A. dot() is the sum of their products with 8 elements of a; `sum` is the sum of these.
//@ PACKED8_Q8_0
template <int A> struct ind_packed8_q8_0 {
    ind_bytes<2, A> d;
    ind_bytes<8, 2> low;
    IND_INLINE void load(const unsigned char *block, int at) {
        d.load(block);
        low.load(block + 2 + at);
    }
    IND_INLINE float dot(int, const float (&a)[8], float) const {
        return d.f16(0) * ind_dot8<128>(low.word(0) ^ 0x80808080u, low.word(1) ^ 0x80808080u, a);
    }
};
//@ PACKED8_Q4
// q4_0 and q4_1, q5_0 and q5_1: d, for some the lowest value, for some a fifth bit of each element.
template <bool LOWEST, bool FIFTH, int A> struct ind_packed8_q4 {
    static constexpr int FIRST = 2 + 2 * LOWEST + 4 * FIFTH, BIAS = LOWEST ? 0 : FIFTH ? 16 : 8;
    ind_bytes<LOWEST ? 4 : 2, A> head;
    ind_bytes<8, A> low;
    unsigned fifth;
    IND_INLINE void load(const unsigned char *block, int at) {
        head.load(block);
        low.load(block + FIRST + at % 16);
        if (FIFTH) fifth = ind_load_here(block + FIRST - 4 + at / 8);
    }
    IND_INLINE unsigned word(int at, int i) const {
        const unsigned bits = low.word(i) >> at / 16 * 4 & 0x0f0f0f0fu;
        return FIFTH ? bits | ind_spread_bits(fifth >> 4 * i) : bits;
    }
    IND_INLINE float dot(int at, const float (&a)[8], float sum) const {
        const float x = head.f16(0) * ind_dot8<BIAS>(word(at, 0), word(at, 1), a);
        return LOWEST ? fmaf(head.f16(LOWEST), sum, x) : x;
    }
};
//@ PACKED8_Q45_K
// q4_k and, with a fifth bit, q5_k: scales and lowest values of 6 bits.
template <bool FIFTH, int A> struct ind_packed8_q45_k {
    static constexpr int FIRST = 16 + 32 * FIFTH;
    ind_bytes<4, A> head;
    ind_bytes<8, A> low;
    ind_bytes<FIFTH ? 8 : 4, A> fifth;
    unsigned s[3];
    IND_INLINE void load(const unsigned char *block, int at) {
        head.load(block);
        low.load(block + FIRST + at / 64 * 32 + at % 32);
        if (FIFTH) fifth.load(block + 16 + at % 32);
        for (int i = 0; i < 3; i++) s[i] = ind_load_here(block + 4 + 4 * i + at / 32 % 4);
    }
    IND_INLINE unsigned word(int at, int i) const {
        const unsigned bits = low.word(i) >> at / 32 % 2 * 4 & 0x0f0f0f0fu;
        return FIFTH ? bits | (fifth.word(FIFTH ? i : 0) >> at / 32 & 0x01010101u) << 4 : bits;
    }
    IND_INLINE float dot(int at, const float (&a)[8], float sum) const {
        const int scale = at < 128 ? s[0] & 63 : (s[2] & 15) | s[0] >> 6 << 4, lowest = at < 128 ? s[1] & 63 : s[2] >> 4 | s[1] >> 6 << 4;
        return head.f16(0) * (float)scale * ind_dot8<0>(word(at, 0), word(at, 1), a) - head.f16(1) * (float)lowest * sum;
    }
};
//@ PACKED8_Q2_K
template <int A> struct ind_packed8_q2_k {
    ind_bytes<4, A> head;
    ind_bytes<8, A> low;
    unsigned s;
    IND_INLINE void load(const unsigned char *block, int at) {
        head.load(block + 80);
        low.load(block + 16 + at / 128 * 32 + at % 32);
        s = ind_load_here(block + at / 16);
    }
    IND_INLINE float dot(int at, const float (&a)[8], float sum) const {
        const int shift = at / 32 % 4 * 2;
        const float x = ind_dot8<0>(low.word(0) >> shift & 0x03030303u, low.word(1) >> shift & 0x03030303u, a);
        return head.f16(0) * (float)(s & 15) * x - head.f16(1) * (float)(s >> 4) * sum;
    }
};
//@ PACKED8_Q3_K
template <int A> struct ind_packed8_q3_k {
    ind_bytes<2, A> d;
    ind_bytes<8, A> low, high;
    unsigned s[2];
    IND_INLINE void load(const unsigned char *block, int at) {
        d.load(block + 108);
        low.load(block + 32 + at / 128 * 32 + at % 32);
        high.load(block + at % 32);
        s[0] = ind_load_here(block + 96 + at / 16 % 8);
        s[1] = ind_load_here(block + 104 + at / 16 % 4);
    }
    IND_INLINE unsigned word(int at, int i) const {
        return (low.word(i) >> at / 32 % 4 * 2 & 0x03030303u) | (high.word(i) >> at / 32 & 0x01010101u) << 2;
    }
    IND_INLINE float dot(int at, const float (&a)[8], float) const {
        const int scale = (s[0] >> at / 128 * 4 & 15) | (s[1] >> at / 64 * 2 & 3) << 4;
        return d.f16(0) * (float)(scale - 32) * ind_dot8<4>(word(at, 0), word(at, 1), a);
    }
};
//@ PACKED8_Q6_K
template <int A> struct ind_packed8_q6_k {
    ind_bytes<2, A> d;
    ind_bytes<8, A> low, high;
    int s;
    IND_INLINE void load(const unsigned char *block, int at) {
        d.load(block + 208);
        low.load(block + at / 128 * 64 + at % 64);
        high.load(block + 128 + at / 128 * 32 + at % 32);
        s = (int)(ind_load_here(block + 192 + at / 16) ^ 128u) - 128;
    }
    IND_INLINE unsigned word(int at, int i) const {
        return (low.word(i) >> at / 64 % 2 * 4 & 0x0f0f0f0fu) | (high.word(i) >> at / 32 % 4 * 2 & 0x03030303u) << 4;
    }
    IND_INLINE float dot(int at, const float (&a)[8], float) const {
        return d.f16(0) * (float)s * ind_dot8<32>(word(at, 0), word(at, 1), a);
    }
};
//@ PACKED8_IQ4
// Bytes plus 128 of the table, for the low or the high halves of the 4 bytes of a word.
static IND_INLINE unsigned ind_iq4_bytes(unsigned word, int high) {
    const unsigned at = word & 0x77777777u, side = (word >> 1 & 0x44444444u) | 0x32103210u;
    const unsigned x = ind_lookup(at, side, 0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u);
    const unsigned y = ind_lookup(at >> 16, side >> 16, 0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u);
    return __byte_perm(x, y, high ? 0x7531 : 0x6420);
}
template <int A> struct ind_packed8_iq4_nl {
    ind_bytes<2, A> d;
    ind_bytes<8, 2> low;
    IND_INLINE void load(const unsigned char *block, int at) {
        d.load(block);
        low.load(block + 2 + at % 16);
    }
    IND_INLINE float dot(int at, const float (&a)[8], float) const {
        return d.f16(0) * ind_dot8<128>(ind_iq4_bytes(low.word(0), at / 16), ind_iq4_bytes(low.word(1), at / 16), a);
    }
};
template <int A> struct ind_packed8_iq4_xs {
    ind_bytes<4, A> head;
    ind_bytes<8, A> low;
    unsigned s;
    IND_INLINE void load(const unsigned char *block, int at) {
        head.load(block);
        low.load(block + 8 + at / 32 * 16 + at % 16);
        s = ind_load_here(block + 4 + at / 64);
    }
    IND_INLINE float dot(int at, const float (&a)[8], float) const {
        const int high = at / 16 % 2, scale = (s >> at / 32 % 2 * 4 & 15) | (head.word(0) >> (16 + at / 32 * 2) & 3) << 4;
        return head.f16(0) * (float)(scale - 32) * ind_dot8<128>(ind_iq4_bytes(low.word(0), high), ind_iq4_bytes(low.word(1), high), a);
    }
};
//@ PACKED8_I8
// Bytes in two's complement.
template <int A> struct ind_packed8_i8 {
    ind_bytes<8, A> low;
    IND_INLINE void load(const unsigned char *p, int) {
        low.load(p);
    }
    IND_INLINE float dot(int, const float (&a)[8], float) const {
        return ind_dot8<128>(low.word(0) ^ 0x80808080u, low.word(1) ^ 0x80808080u, a);
    }
};
//@ PACKED8_BESIDE
// A scale of another tensor: 4 f32, 2 f16, 1 bf16, 0 none.
template <int SCALE> struct ind_scale_beside {
    ind_bytes<SCALE == 4 ? 4 : 2, 4> bits;
    IND_INLINE void load(const unsigned char *p) {
        if (SCALE) bits.load(p);
    }
    IND_INLINE float value() const {
        if (SCALE == 4) return __uint_as_float(bits.word(0));
        return SCALE == 2 ? bits.f16(0) : SCALE == 1 ? __uint_as_float((unsigned)bits.of[0] << 16) : 1.0f;
    }
};
// The elements 0, 2, 4 and 6 of a, then the others.
static IND_INLINE void ind_even_first(const float (&a)[8], float (&r)[8]) {
    for (int i = 0; i < 8; i++) r[i] = a[i % 4 * 2 + i / 4];
}
//@ PACKED8_INT4
// Two's complement, or minus a zero point of type Z.
template <int SCALE, typename Z, int A> struct ind_packed8_int4 {
    static constexpr bool ZERO = sizeof(Z) == 1;
    ind_bytes<4, A> low;
    ind_scale_beside<SCALE> scale;
    unsigned zero;
    IND_INLINE void load(const unsigned char *block, int at, const unsigned char *of_scale, const unsigned char *of_zero) {
        low.load(block + at / 2);
        scale.load(of_scale);
        if (ZERO) zero = ind_load_here(of_zero);
    }
    IND_INLINE float dot(int, const float (&a)[8], float sum) const {
        const unsigned x = low.word(0) ^ (ZERO ? 0 : 0x88888888u);
        float of_a[8];
        ind_even_first(a, of_a);
        const float products = ind_dot8<ZERO ? 0 : 8>(x & 0x0f0f0f0fu, x >> 4 & 0x0f0f0f0fu, of_a);
        return scale.value() * (ZERO ? products - (float)(int)(Z)zero * sum : products);
    }
};
//@ PACKED8_E2M1
// mxfp4 and nvfp4: a table has twice the elements, plus 128. The scale is a power of two for 32 elements, or an e4m3 for 16.
template <bool E4M3, int A> struct ind_packed8_e2m1 {
    ind_bytes<4, A> low;
    unsigned scale;
    IND_INLINE void load(const unsigned char *block, int at, const unsigned char *of_scale, const unsigned char *) {
        low.load(block + at / 2);
        scale = ind_load_here(of_scale);
    }
    // 2^(e - 127) is subnormal if e is 0; 255 is NaN, as infinity * 0 is.
    IND_INLINE float value() const {
        const float power = __uint_as_float(scale ? scale << 23 : 0x400000u);
        return E4M3 ? ind_f16_to_f32((unsigned short)ind_e4m3x2_to_f16x2(scale)) : fmaf(power, 0.0f, power);
    }
    static IND_INLINE unsigned bytes(unsigned x) {
        const unsigned side = (x >> 1 & 0x4444u) | 0x3210u;
        return ind_lookup(x & 0x7777u, side, 0x83828180u, 0x8c888684u, 0x7d7e7f80u, 0x74787a7cu);
    }
    IND_INLINE float dot(int, const float (&a)[8], float) const {
        return value() * (0.5f * ind_dot8<128>(bytes(low.word(0)), bytes(low.word(0) >> 16), a));
    }
};
//@ PACKED8_F8
// 8-bit floats, each of which f16 has. e5m2 is the upper half of an f16.
template <bool E5M2, int SCALE, int A> struct ind_packed8_f8 {
    ind_bytes<8, A> low;
    ind_scale_beside<SCALE> scale;
    IND_INLINE void load(const unsigned char *p, int, const unsigned char *of_scale, const unsigned char *) {
        low.load(p);
        scale.load(of_scale);
    }
    IND_INLINE float dot(int, const float (&a)[8], float) const {
        float sum = 0.0f;
        _Pragma("unroll")
        for (int i = 0; i < 8; i += 2) {
            const unsigned two = low.word(i / 4) >> i % 4 * 8;
            const unsigned pair = E5M2 ? __byte_perm(two, 0, 0x1404) : ind_e4m3x2_to_f16x2(two);
            sum = fmaf(ind_f16_to_f32((unsigned short)pair), a[i], sum);
            sum = fmaf(ind_f16_to_f32((unsigned short)(pair >> 16)), a[i + 1], sum);
        }
        return SCALE ? scale.value() * sum : sum;
    }
};
