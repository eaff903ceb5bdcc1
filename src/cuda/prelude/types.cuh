// Storage types of 8 and 16 bits, their conversions, and vectors.
//@ F16
#ifndef IND_EMULATION
static IND_INLINE float ind_f16_to_f32(unsigned short h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
static IND_INLINE unsigned short ind_f32_to_f16(float f) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
#endif
//@ BF16
#ifndef IND_EMULATION
static IND_INLINE float ind_bf16_to_f32(unsigned short h) {
    return __uint_as_float((unsigned)h << 16);
}
static IND_INLINE unsigned short ind_f32_to_bf16(float f) {
    unsigned short h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
#endif
//@ F8E4M3FN
// f8 e4m3fn: exponent bias 7, 3 mantissa bits, no infinity, 0x7f is NaN. Values of magnitude above 464 become NaN.
static IND_INLINE float ind_f8e4m3fn_to_f32(unsigned char x) {
    const float v = __uint_as_float((x & 127u) << 20) * 1.329227995784916e+36f;
    return __uint_as_float(((x & 127) == 127 ? 0x7fffffffu : __float_as_uint(v)) | (x & 128u) << 24);
}
static IND_INLINE unsigned char ind_f32_to_f8e4m3fn(float f) {
    const unsigned bits = __float_as_uint(f), u = bits & 0x7fffffffu, sign = bits >> 24 & 128u;
    if (!(u <= 0x43e80000u)) return (unsigned char)(sign | 127u);
    if (u < 0x3c800000u) return (unsigned char)(sign | (__float_as_uint(__uint_as_float(u) + 16384.0f) - 0x46800000u));
    return (unsigned char)(sign | ((u - 0x3c000000u + 0x7ffffu + (u >> 20 & 1)) >> 20));
}
//@ F8E5M2
// f8 e5m2: the upper half of an f16. Values of magnitude from 61440 on become infinite.
static IND_INLINE float ind_f8e5m2_to_f32(unsigned char x) {
    const unsigned u = x & 127u;
    const float v = __uint_as_float(u << 21) * 5.192296858534828e+33f;
    return __uint_as_float((u > 124 ? 0x7fffffffu : u == 124 ? 0x7f800000u : __float_as_uint(v)) | (x & 128u) << 24);
}
static IND_INLINE unsigned char ind_f32_to_f8e5m2(float f) {
    const unsigned bits = __float_as_uint(f), u = bits & 0x7fffffffu, sign = bits >> 24 & 128u;
    if (u >= 0x47700000u) return (unsigned char)(sign | (u > 0x7f800000u ? 127u : 124u));
    if (u < 0x38800000u) return (unsigned char)(sign | (__float_as_uint(__uint_as_float(u) + 128.0f) - 0x43000000u));
    return (unsigned char)(sign | ((u - 0x38000000u + 0xfffffu + (u >> 21 & 1)) >> 21));
}
//@ VEC
// N adjacent elements, loaded and stored by one access.
template <typename T, int N> struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) ind_vec {
    T at[N];
};
// 16-bit elements are also words: the compiler produces the same instructions in less time.
template <int N> struct __align__(N < 8 ? N * 2 : 16) ind_vec<unsigned short, N> {
    union {
        unsigned word[N / 2];
        unsigned short at[N];
    };
};
template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load(const T *p) {
    return *reinterpret_cast<const ind_vec<T, N> *>(p);
}
template <typename T, int N> static IND_INLINE void ind_store(T *p, const ind_vec<T, N> &v) {
    *reinterpret_cast<ind_vec<T, N> *>(p) = v;
}
