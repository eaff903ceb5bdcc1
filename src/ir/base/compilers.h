/* -------------------------------------------------------------------------------------------- >>internal */
/* From here on: shared between the five headers. Not for users; may change in any version. */

/* ---- compilers: GNU extensions if IND__GNU is 1, else ISO C. Defining IND__PORTABLE before the headers forces ISO C;
   the tests do so. ---- */

#if defined(__GNUC__) && !defined(IND__PORTABLE)
#define IND__GNU 1
#else
#define IND__GNU 0
#endif

#if IND__GNU && defined(__MINGW32__) && !defined(__clang__)
#define IND__PRINTF(f, a) __attribute__((format(gnu_printf, f, a))) /* C99 formats, not the system C library's */
#elif IND__GNU
#define IND__PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define IND__PRINTF(f, a)
#endif

/* Inlined so that a constant argument resolves the switch. */
#if IND__GNU
#define IND__ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define IND__ALWAYS_INLINE static inline
#endif

/* Between BEGIN and END gcc vectorises loops whose length is not constant, as clang does: at -O2 it does not. */
#if IND__GNU && !defined(__clang__)
#define IND__VECTORS_BEGIN                                                                                             \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"tree-vectorize\", \"vect-cost-model=dynamic\")")
#define IND__VECTORS_END _Pragma("GCC pop_options")
#else
#define IND__VECTORS_BEGIN
#define IND__VECTORS_END
#endif

/* u as two's complement. A plain conversion is implementation-defined for u > INT64_MAX. */
static inline int64_t ind__as_signed(uint64_t u) {
    return u <= INT64_MAX ? (int64_t)u : -(int64_t)(UINT64_MAX - u) - 1;
}

static inline bool ind__portable_add(int64_t a, int64_t b, int64_t *r) {
    const int64_t sum = ind__as_signed((uint64_t)a + (uint64_t)b);
    *r = sum;
    return b < 0 ? sum > a : sum < a;
}

static inline bool ind__portable_sub(int64_t a, int64_t b, int64_t *r) {
    const int64_t difference = ind__as_signed((uint64_t)a - (uint64_t)b);
    *r = difference;
    return b < 0 ? difference < a : difference > a;
}

static inline bool ind__portable_mul(int64_t a, int64_t b, int64_t *r) {
    const uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    const uint64_t most = (uint64_t)INT64_MAX + ((a < 0) != (b < 0)); /* magnitude of the result */
    *r = ind__as_signed((uint64_t)a * (uint64_t)b);
    return x && y > most / x;
}

/* *r = the result modulo 2^64; true if it overflows 64 bits. r may point to an operand's variable. */
static inline bool ind__add_overflow(int64_t a, int64_t b, int64_t *r) {
#if IND__GNU
    return __builtin_add_overflow(a, b, r);
#else
    return ind__portable_add(a, b, r);
#endif
}

static inline bool ind__sub_overflow(int64_t a, int64_t b, int64_t *r) {
#if IND__GNU
    return __builtin_sub_overflow(a, b, r);
#else
    return ind__portable_sub(a, b, r);
#endif
}

static inline bool ind__mul_overflow(int64_t a, int64_t b, int64_t *r) {
#if IND__GNU
    return __builtin_mul_overflow(a, b, r);
#else
    return ind__portable_mul(a, b, r);
#endif
}
