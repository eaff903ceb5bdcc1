// Atomic updates of memory.
//@ ATOMIC
// Atomic *p = f(*p). Compare and swap, on the aligned 4-byte word that contains a smaller element.
template <typename W, typename T> union ind_word {
    W whole;
    T value;
};
template <typename W, typename T, typename F> static IND_INLINE void ind_atomic_word(T *p, F f) {
    W *const word = (W *)p;
    for (W old = *(volatile W *)word;;) {
        ind_word<W, T> next;
        next.whole = old;
        next.value = f(next.value);
        if (next.whole == old) return;
        const W seen = atomicCAS(word, old, next.whole);
        if (seen == old) return;
        old = seen;
    }
}
template <typename T, typename F> static IND_INLINE void ind_atomic(T *p, F f) {
    if constexpr (sizeof(T) == 8) {
        ind_atomic_word<unsigned long long>(p, f);
    } else if constexpr (sizeof(T) == 4) {
        ind_atomic_word<unsigned>(p, f);
    } else {
        const unsigned long long at = (unsigned long long)p;
        const unsigned shift = (unsigned)(at & 3) * 8, mask = ((1u << 8 * sizeof(T)) - 1) << shift;
        const auto part = [=](unsigned old) {
            return (old & ~mask) | ((unsigned)f((T)(old >> shift)) << shift & mask);
        };
        ind_atomic_word<unsigned>((unsigned *)(at & ~3ull), part);
    }
}
//@ ADD_F32
// Atomic p[j] += v.at[j]: one instruction for up to 16 bytes.
#ifndef IND_EMULATION
template <int N> static IND_INLINE void ind_add_f32(float *p, const ind_vec<float, N> &v) {
    if constexpr (N % 4 == 0) {
        _Pragma("unroll")
        for (int j = 0; j < N; j += 4)
            asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(p + j), "f"(v.at[j]),
                         "f"(v.at[j + 1]), "f"(v.at[j + 2]), "f"(v.at[j + 3]) : "memory");
    } else {
        asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" :: "l"(p), "f"(v.at[0]), "f"(v.at[1]) : "memory");
    }
}
#endif
//@ ADD_F16
#ifndef IND_EMULATION
template <int N> static IND_INLINE void ind_add_f16(unsigned short *p, const ind_vec<unsigned short, N> &v) {
    unsigned w[N / 2];
    _Pragma("unroll")
    for (int j = 0; j < N / 2; j++) w[j] = v.at[2 * j] | (unsigned)v.at[2 * j + 1] << 16;
    if constexpr (N == 8)
        asm volatile("red.relaxed.gpu.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" :: "l"(p), "r"(w[0]), "r"(w[1]),
                     "r"(w[2]), "r"(w[3]) : "memory");
    else if constexpr (N == 4)
        asm volatile("red.relaxed.gpu.global.add.noftz.v2.f16x2 [%0], {%1, %2};" :: "l"(p), "r"(w[0]), "r"(w[1]) : "memory");
    else
        asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" :: "l"(p), "r"(w[0]) : "memory");
}
static IND_INLINE void ind_add_f16(unsigned short *p, unsigned short v) {
    asm volatile("red.relaxed.gpu.global.add.noftz.f16 [%0], %1;" :: "l"(p), "h"(v) : "memory");
}
#endif
//@ ADD_BF16
#ifndef IND_EMULATION
template <int N> static IND_INLINE void ind_add_bf16(unsigned short *p, const ind_vec<unsigned short, N> &v) {
    unsigned w[N / 2];
    _Pragma("unroll")
    for (int j = 0; j < N / 2; j++) w[j] = v.at[2 * j] | (unsigned)v.at[2 * j + 1] << 16;
    if constexpr (N == 8)
        asm volatile("red.relaxed.gpu.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};" :: "l"(p), "r"(w[0]), "r"(w[1]),
                     "r"(w[2]), "r"(w[3]) : "memory");
    else if constexpr (N == 4)
        asm volatile("red.relaxed.gpu.global.add.noftz.v2.bf16x2 [%0], {%1, %2};" :: "l"(p), "r"(w[0]), "r"(w[1]) : "memory");
    else
        asm volatile("red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;" :: "l"(p), "r"(w[0]) : "memory");
}
static IND_INLINE void ind_add_bf16(unsigned short *p, unsigned short v) {
    asm volatile("red.relaxed.gpu.global.add.noftz.bf16 [%0], %1;" :: "l"(p), "h"(v) : "memory");
}
#endif
