/* ------------------------------------------------------------------------------------------------ >>prelude */

/* clang-format off */
/* The largest of a vector of 16-bit floats, T: bf16 or f16. */
#define IND__CG_MAX_HALVES(T) \
      "// The largest of N " #T " joins a state: two by two, as they lie in memory.\n" \
      "#ifndef IND_EMULATION\n" \
      "static IND_INLINE unsigned ind_max_" #T "x2(unsigned a, unsigned b) {\n" \
      "    unsigned m;\n" \
      "    asm(\"max.NaN." #T "x2 %0, %1, %2;\" : \"=r\"(m) : \"r\"(a), \"r\"(b));\n" \
      "    return m;\n" \
      "}\n" \
      "#else\n" \
      "static IND_INLINE unsigned ind_max_" #T "x2(unsigned a, unsigned b) {\n" \
      "    unsigned m[2];\n" \
      "    for (int i = 0; i < 2; i++)\n" \
      "        m[i] = ind_f32_to_" #T "(ind_max(ind_" #T "_to_f32((unsigned short)(a >> 16 * i)), ind_" #T "_to_f32((unsigned short)(b >> 16 * i))));\n" \
      "    return m[0] | m[1] << 16;\n" \
      "}\n" \
      "#endif\n" \
      "template <int N> static IND_INLINE void ind_join_" #T "(ind_maximum<float> &s, const ind_vec<unsigned short, N> &v) {\n" \
      "    unsigned m = v.word[0];\n" \
      "    _Pragma(\"unroll\")\n" \
      "    for (int i = 1; i < N / 2; i++) m = ind_max_" #T "x2(m, v.word[i]);\n" \
      "    s.join({ind_" #T "_to_f32((unsigned short)m)});\n" \
      "    s.join({ind_" #T "_to_f32((unsigned short)(m >> 16))});\n" \
      "}\n"

/* Functions that a source may use: name, pieces it needs, text. Only the pieces used are written, in this order.
   What needs inline PTX is left to the including file under IND_EMULATION. */
#define IND__CG_NEEDS(...) __VA_ARGS__
#define IND__CG_PRELUDE(X)                                                                                             \
    X(DEPENDENCY, 0,                                                                                                   \
      "// This launch may begin before the one before it is done. Behind the wait it is, and all that it wrote is seen.\n" \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "static IND_INLINE void ind_dependency_wait() {\n"                                                               \
      "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"                                                     \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(F16, 0,                                                                                                          \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "static IND_INLINE float ind_f16_to_f32(unsigned short h) {\n"                                                   \
      "    float f;\n"                                                                                                 \
      "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h));\n"                                                     \
      "    return f;\n"                                                                                                \
      "}\n"                                                                                                            \
      "static IND_INLINE unsigned short ind_f32_to_f16(float f) {\n"                                                   \
      "    unsigned short h;\n"                                                                                        \
      "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f));\n"                                                  \
      "    return h;\n"                                                                                                \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(BF16, 0,                                                                                                         \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "static IND_INLINE float ind_bf16_to_f32(unsigned short h) {\n"                                                  \
      "    return __uint_as_float((unsigned)h << 16);\n"                                                               \
      "}\n"                                                                                                            \
      "static IND_INLINE unsigned short ind_f32_to_bf16(float f) {\n"                                                  \
      "    unsigned short h;\n"                                                                                        \
      "    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f));\n"                                                 \
      "    return h;\n"                                                                                                \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(VEC, 0,                                                                                                          \
      "// N neighbours in memory, read and written by one access.\n"                                                   \
      "template <typename T, int N> struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) ind_vec {\n"             \
      "    T at[N];\n"                                                                                                 \
      "};\n"                                                                                                           \
      "// Those of 16 bits are words too, of which the compiler makes the same instructions in less time.\n" \
      "template <int N> struct __align__(N < 8 ? N * 2 : 16) ind_vec<unsigned short, N> {\n" \
      "    union {\n" \
      "        unsigned word[N / 2];\n" \
      "        unsigned short at[N];\n" \
      "    };\n" \
      "};\n" \
      "template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load(const T *p) {\n"                          \
      "    return *reinterpret_cast<const ind_vec<T, N> *>(p);\n"                                                      \
      "}\n"                                                                                                            \
      "template <typename T, int N> static IND_INLINE void ind_store(T *p, const ind_vec<T, N> &v) {\n"                \
      "    *reinterpret_cast<ind_vec<T, N> *>(p) = v;\n"                                                               \
      "}\n")                                                                                                           \
    X(BOUNDARY, 0,                                                                                                     \
      "// Elements from the boundary of N elements at or before p to p.\n" \
      "template <int N, typename T> static IND_INLINE int ind_behind(const T *p) {\n" \
      "    return (int)((unsigned long long)p / sizeof(T) & (N - 1));\n" \
      "}\n") \
    X(LOAD_ACROSS, IND__CG_NEEDS(IND__CG_VEC),                                                                         \
      "// N neighbours from p on, wherever that is, out of pieces of 8 bytes between boundaries. behind: elements from a\n" \
      "// boundary of N to p. Reads no more than N elements behind them.\n" \
      "template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_across(const T *p, int behind) {\n" \
      "    const int ALL = N * sizeof(T) / 4, W = ALL < 2 ? ALL : 2, M = W * 4 / sizeof(T);\n" \
      "    const int before = behind & (M - 1), bytes = before * (int)sizeof(T);\n" \
      "    union {\n" \
      "        ind_vec<T, M> part[ALL / W + 1];\n" \
      "        ind_vec<T, N> made;\n" \
      "        unsigned word[ALL + W];\n" \
      "    } x;\n" \
      "    _Pragma(\"unroll\")\n" \
      "    for (int i = 0; i <= ALL / W; i++) x.part[i] = ind_load<M>(p - before + i * M);\n" \
      "    _Pragma(\"unroll\")\n" \
      "    for (int i = 0; i + 1 < ALL + W && W > 1; i++) {\n" \
      "        const unsigned here = x.word[i], there = x.word[i + 1];\n" \
      "        x.word[i] = sizeof(T) < 4 ? __funnelshift_rc(here, there, bytes / 4 * 32) : bytes & 4 ? there : here;\n" \
      "    }\n" \
      "    _Pragma(\"unroll\")\n" \
      "    for (int i = 0; i < ALL && sizeof(T) < 4; i++)\n" \
      "        x.word[i] = __funnelshift_r(x.word[i], x.word[i + 1], bytes % 4 * 8);\n" \
      "    return x.made;\n" \
      "}\n") \
    X(LOAD_WORDS, IND__CG_NEEDS(IND__CG_VEC),                                                                          \
      "// N neighbours from p on, wherever that is, word by word. Reads less than a word behind them.\n" \
      "template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_words(const T *p) {\n" \
      "    union {\n" \
      "        ind_vec<T, N> made;\n" \
      "        unsigned word[(N * sizeof(T) + 3) / 4];\n" \
      "    } x;\n" \
      "    const int bits = (int)((unsigned long long)p % 4) * 8;\n" \
      "    const unsigned *word = reinterpret_cast<const unsigned *>((unsigned long long)p / 4 * 4);\n" \
      "    _Pragma(\"unroll\")\n" \
      "    for (int i = 0; i < (int)(N * sizeof(T) / 4); i++)\n" \
      "        x.word[i] = sizeof(T) < 4 ? __funnelshift_r(word[i], word[i + 1], bits) : word[i];\n" \
      "    return x.made;\n" \
      "}\n") \
    X(STORE_ACROSS, IND__CG_NEEDS(IND__CG_VEC),                                                                        \
      "// One access where p stands at a boundary, else one for each element.\n" \
      "template <typename T, int N> static IND_INLINE void ind_store_across(T *p, const ind_vec<T, N> &v) {\n" \
      "    if ((unsigned long long)p % alignof(ind_vec<T, N>) == 0) {\n" \
      "        ind_store(p, v);\n" \
      "        return;\n" \
      "    }\n" \
      "    _Pragma(\"unroll\")\n" \
      "    for (int j = 0; j < N; j++) p[j] = v.at[j];\n" \
      "}\n") \
    X(LOAD_PAST, IND__CG_NEEDS(IND__CG_VEC),                                                                           \
      "// 16 bytes that are read once: they take no place in the L1.\n"                                                \
      "template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_past(const T *p) {\n"                     \
      "#ifdef IND_EMULATION\n"                                                                                         \
      "    return ind_load<N>(p);\n"                                                                                   \
      "#else\n"                                                                                                        \
      "    union {\n"                                                                                                  \
      "        unsigned word[4];\n"                                                                                    \
      "        ind_vec<T, N> elements;\n"                                                                              \
      "    } v;\n"                                                                                                     \
      "    asm volatile(\"ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\"\n"                                \
      "                 : \"=r\"(v.word[0]), \"=r\"(v.word[1]), \"=r\"(v.word[2]), \"=r\"(v.word[3])\n"                \
      "                 : \"l\"(__cvta_generic_to_global(p)));\n"                                                      \
      "    return v.elements;\n"                                                                                       \
      "#endif\n"                                                                                                       \
      "}\n")                                                                                                           \
    X(LOAD_ONCE, IND__CG_NEEDS(IND__CG_VEC),                                                                           \
      "// What nobody reads again: the first to leave the L2.\n"                                                       \
      "template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_once(const T *p) {\n"                     \
      "    if constexpr (sizeof(T) * N == 16) {\n"                                                                     \
      "        union {\n"                                                                                              \
      "            uint4 words;\n"                                                                                     \
      "            ind_vec<T, N> elements;\n"                                                                          \
      "        } v = {__ldcs((const uint4 *)p)};\n"                                                                    \
      "        return v.elements;\n"                                                                                   \
      "    } else {\n"                                                                                                 \
      "        return ind_load<N>(p);\n"                                                                               \
      "    }\n"                                                                                                        \
      "}\n")                                                                                                           \
    X(EVICT_LAST_POLICY, 0,                                                                                            \
      "// Lines that are read by it leave the L2 after those of what is written.\n"                                    \
      "static IND_INLINE unsigned long long ind_evict_last_policy(void) {\n"                                           \
      "    unsigned long long policy = 0;\n"                                                                           \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "    asm(\"createpolicy.fractional.L2::evict_last.b64 %0, 1.0;\" : \"=l\"(policy));\n"                           \
      "#endif\n"                                                                                                       \
      "    return policy;\n"                                                                                           \
      "}\n")                                                                                                           \
    X(EVICT_LAST, IND__CG_NEEDS(IND__CG_EVICT_LAST_POLICY),                                                            \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "// Of the compiler: marks what is read through a pointer (behind cuda::access_property of libcu++).\n"          \
      "extern \"C\" __device__ void *__nv_associate_access_property(const void *, unsigned long long);\n"              \
      "#endif\n"                                                                                                       \
      "// p, through which lines are read by that policy.\n"                                                           \
      "template <typename T> static IND_INLINE const T *ind_evict_last(const T *p) {\n"                                \
      "#ifdef IND_EMULATION\n"                                                                                         \
      "    return p;\n"                                                                                                \
      "#else\n"                                                                                                        \
      "    return static_cast<const T *>(__nv_associate_access_property(p, ind_evict_last_policy()));\n"               \
      "#endif\n"                                                                                                       \
      "}\n")                                                                                                           \
    X(MAXMIN, 0,                                                                                                       \
      "// NaN if either is NaN.\n"                                                                                     \
      "template <typename T> static IND_INLINE T ind_max(T a, T b) {\n"                                                \
      "    return a != a || a > b ? a : b;\n"                                                                          \
      "}\n"                                                                                                            \
      "template <typename T> static IND_INLINE T ind_min(T a, T b) {\n"                                                \
      "    return a != a || a < b ? a : b;\n"                                                                          \
      "}\n"                                                                                                            \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "static IND_INLINE float ind_max(float a, float b) {\n"                                                          \
      "    float m;\n"                                                                                                 \
      "    asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(m) : \"f\"(a), \"f\"(b));\n"                                       \
      "    return m;\n"                                                                                                \
      "}\n"                                                                                                            \
      "static IND_INLINE float ind_min(float a, float b) {\n"                                                          \
      "    float m;\n"                                                                                                 \
      "    asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(m) : \"f\"(a), \"f\"(b));\n"                                       \
      "    return m;\n"                                                                                                \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(DIV, 0,                                                                                                          \
      "// Rounds toward zero; x / 0 is 0; the smallest number / -1 wraps around.\n"                                    \
      "template <typename T> static IND_INLINE T ind_div(T a, T b) {\n"                                                \
      "    if (b == 0) return 0;\n"                                                                                    \
      "    if (T(-1) < T(0) && b == T(-1)) return (T)(0ull - (unsigned long long)a);\n"                                \
      "    return (T)(a / b);\n"                                                                                       \
      "}\n")                                                                                                           \
    X(MOD, 0,                                                                                                          \
      "// The sign of a; x % 0 is x.\n"                                                                                \
      "template <typename T> static IND_INLINE T ind_mod(T a, T b) {\n"                                                \
      "    if (b == 0) return a;\n"                                                                                    \
      "    return T(-1) < T(0) && b == T(-1) ? T(0) : (T)(a % b);\n"                                                   \
      "}\n")                                                                                                           \
    X(SHIFT, 0,                                                                                                        \
      "// By a negative number or the width and more: 0, or -1 for a negative number shifted to the right.\n"          \
      "template <typename T> static IND_INLINE T ind_shift_left(T a, T by) {\n"                                        \
      "    return by < 0 || by >= T(sizeof(T) * 8) ? T(0) : (T)((unsigned long long)a << by);\n"                       \
      "}\n"                                                                                                            \
      "template <typename T> static IND_INLINE T ind_shift_right(T a, T by) {\n"                                       \
      "    if (by < 0 || by >= T(sizeof(T) * 8)) return a < 0 ? T(-1) : T(0);\n"                                       \
      "    return (T)(a >> by);\n"                                                                                     \
      "}\n")                                                                                                           \
    X(GCD, 0,                                                                                                          \
      "// Euclid's algorithm, on magnitudes; 64 bits wide only where the type is.\n"                                   \
      "template <typename U, typename T> static IND_INLINE U ind_gcd_of(T x, T y) {\n"                                 \
      "    U a = x < 0 ? 0 - (U)x : (U)x, b = y < 0 ? 0 - (U)y : (U)y;\n"                                              \
      "    while (b != 0) {\n"                                                                                         \
      "        U rest = a % b;\n"                                                                                      \
      "        a = b;\n"                                                                                               \
      "        b = rest;\n"                                                                                            \
      "    }\n"                                                                                                        \
      "    return a;\n"                                                                                                \
      "}\n"                                                                                                            \
      "template <typename T> static IND_INLINE T ind_gcd(T a, T b) {\n"                                                \
      "    return (T)(sizeof(T) < 8 ? ind_gcd_of<unsigned>(a, b) : ind_gcd_of<unsigned long long>(a, b));\n"           \
      "}\n")                                                                                                           \
    X(DIGAMMA, 0,                                                                                                      \
      "// By recurrence to x >= 10 and the asymptotic series there; for negative x by reflection.\n"                   \
      "static IND_INLINE double ind_digamma(double x) {\n"                                                             \
      "    double sum = 0;\n"                                                                                          \
      "    if (x == 0) return copysign((double)__uint_as_float(0x7f800000u), -x);\n"                                   \
      "    if (x < 0) {\n"                                                                                             \
      "        const double fraction = x - rint(x);\n"                                                                 \
      "        if (fraction == 0) return (double)__uint_as_float(0x7fc00000u);\n"                                      \
      "        sum = -3.14159265358979323846 * cospi(fraction) / sinpi(fraction);\n"                                   \
      "        x = 1 - x;\n"                                                                                           \
      "    }\n"                                                                                                        \
      "    for (; x < 10; x += 1) sum -= 1 / x;\n"                                                                     \
      "    const double z = 1 / (x * x);\n"                                                                            \
      "    const double low = 1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12));\n"                           \
      "    return sum + (log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * low))));\n"          \
      "}\n")                                                                                                           \
    X(BESSEL_IE, 0,                                                                                                    \
      "// exp(-|x|) I_n(x): the power series, beyond 30 the asymptotic one.\n"                                         \
      "template <int N> static IND_INLINE double ind_bessel_ie(double x) {\n"                                          \
      "    const double y = fabs(x);\n"                                                                                \
      "    double term = N ? y / 2 : 1, sum = term;\n"                                                                 \
      "    if (y <= 30) {\n"                                                                                           \
      "        for (int k = 1; k < 100 && term > sum * 1e-18; k++) sum += term *= y * y / (4.0 * k * (k + N));\n"      \
      "        sum *= exp(-y);\n"                                                                                      \
      "    } else {\n"                                                                                                 \
      "        sum = term = 1;\n"                                                                                      \
      "        for (int k = 1; k < 30; k++) sum += term *= ((2.0 * k - 1) * (2 * k - 1) - 4 * N) / (8 * y * k);\n"     \
      "        sum /= sqrt(2 * 3.14159265358979323846 * y);\n"                                                         \
      "    }\n"                                                                                                        \
      "    return N ? copysign(sum, x) : sum;\n"                                                                       \
      "}\n")                                                                                                           \
    X(BESSEL_JY, 0,                                                                                                    \
      "// J0 J1 Y0 Y1: by Miller's backward recurrence and Neumann's series, from 25 on by Hankel's asymptotic one.\n" \
      "template <int KIND> static IND_INLINE double ind_bessel_far(double y) {\n"                                      \
      "    double p = 1, q = 0, term = 1;\n"                                                                           \
      "    for (int k = 1; k <= 30; k++) {\n"                                                                          \
      "        term *= ((KIND & 1 ? 4 : 0) - (2.0 * k - 1) * (2 * k - 1)) / (8 * y * k);\n"                            \
      "        const double signed_term = k & 2 ? -term : term;\n"                                                     \
      "        if (k & 1) q += signed_term;\n"                                                                         \
      "        else p += signed_term;\n"                                                                               \
      "    }\n"                                                                                                        \
      "    const double root = sqrt(1 / (3.14159265358979323846 * y));\n"                                              \
      "    const double plus = root * (sin(y) + cos(y)), minus = root * (sin(y) - cos(y));\n"                          \
      "    return KIND == 0 ? p * plus - q * minus : KIND == 3 ? q * minus - p * plus : p * minus + q * plus;\n"       \
      "}\n"                                                                                                            \
      "template <int KIND> static IND_INLINE double ind_bessel_near(double y) {\n"                                     \
      "    const double l = log(y / 2) + 0.57721566490153286061, f = 2 / 3.14159265358979323846;\n"                    \
      "    double above = 0, j = 1e-30, total = 0, even = 0, odd = 0;\n"                                               \
      "    if (y < 1e-8) return KIND == 0 ? 1 : KIND == 1 ? y / 2 : KIND == 2 ? f * l : -f / y;\n"                     \
      "    for (int n = 40 + 2 * (int)(0.75 * y); n > 0; n--) {\n"                                                     \
      "        const double k = n / 2, sign = n & 2 ? -1 : 1;\n"                                                       \
      "        if (n % 2 == 0) total += 2 * j, even += sign * j / k;\n"                                                \
      "        if (n % 2 == 1 && n > 1) odd += sign * n / (k * (k + 1)) * j;\n"                                        \
      "        const double below = 2 * n / y * j - above;\n"                                                          \
      "        above = j, j = below;\n"                                                                                \
      "        if (fabs(j) > 1e100) j *= 1e-100, above *= 1e-100, total *= 1e-100, even *= 1e-100, odd *= 1e-100;\n"   \
      "    }\n"                                                                                                        \
      "    total += j;\n"                                                                                              \
      "    if (KIND < 2) return (KIND ? above : j) / total;\n"                                                         \
      "    return f * (KIND == 2 ? l * j - 2 * even : (l - 1) * above - j / y - odd) / total;\n"                       \
      "}\n"                                                                                                            \
      "template <int KIND> static IND_INLINE double ind_bessel_jy(double x) {\n"                                       \
      "    const double y = fabs(x);\n"                                                                                \
      "    if (KIND >= 2 && !(x > 0)) return (double)__uint_as_float(x == 0 ? 0xff800000u : 0x7fc00000u);\n"           \
      "    const double v = y < 25 ? ind_bessel_near<KIND>(y) : ind_bessel_far<KIND>(y);\n"                            \
      "    return KIND == 1 && x < 0 ? -v : v;\n"                                                                      \
      "}\n")                                                                                                           \
    X(ZETA, 0,                                                                                                         \
      "// Hurwitz' zeta function: ten terms, and Euler and Maclaurin's formula for the rest.\n"                        \
      "static IND_INLINE double ind_zeta_positive(double x, double a) {\n"                                             \
      "    double sum = 0;\n"                                                                                          \
      "    #pragma unroll 1\n"                                                                                         \
      "    for (int k = 0; k < 10; k++, a++) sum += pow(a, -x);\n"                                                     \
      "    const double term = pow(a, -x), z = 1 / (a * a);\n"                                                         \
      "    if (term == 0) return sum;\n"                                                                               \
      "    double rest = 43867.0 / 5109094217170944000.0;\n"                                                           \
      "    rest = -3617.0 / 10670622842880000.0 + rest * ((x + 15) * (x + 16) * z);\n"                                 \
      "    rest = 1.0 / 74724249600.0 + rest * ((x + 13) * (x + 14) * z);\n"                                           \
      "    rest = -691.0 / 1307674368000.0 + rest * ((x + 11) * (x + 12) * z);\n"                                      \
      "    rest = 1.0 / 47900160.0 + rest * ((x + 9) * (x + 10) * z);\n"                                               \
      "    rest = -1.0 / 1209600.0 + rest * ((x + 7) * (x + 8) * z);\n"                                                \
      "    rest = 1.0 / 30240.0 + rest * ((x + 5) * (x + 6) * z);\n"                                                   \
      "    rest = -1.0 / 720.0 + rest * ((x + 3) * (x + 4) * z);\n"                                                    \
      "    rest = 1.0 / 12.0 + rest * ((x + 1) * (x + 2) * z);\n"                                                      \
      "    return sum + (term * a / (x - 1) + term / 2) + rest * (term * x / a);\n"                                    \
      "}\n"                                                                                                            \
      "// For a < 0 the terms below 0 are those from f in (0, 1) to -a, with the sign of (-1)^x.\n"                    \
      "static IND_INLINE double ind_zeta(double x, double a) {\n"                                                      \
      "    const bool negative = a <= 0;\n"                                                                            \
      "    if (x == 1 || (!(x < 1) && negative && a == floor(a))) return (double)__uint_as_float(0x7f800000u);\n"      \
      "    if (x < 1 || (negative && x != floor(x))) return (double)__uint_as_float(0x7fc00000u);\n"                   \
      "    const double f = -a - floor(-a), sign = fmod(x, 2.0) == 1 ? -1 : 1;\n"                                      \
      "    double sum = 0;\n"                                                                                          \
      "    #pragma unroll 1\n"                                                                                         \
      "    for (int part = negative ? 0 : 2; part < 3; part++) {\n"                                                    \
      "        const double from = part == 0 ? f : part == 1 ? 1 - a : negative ? 1 - f : a;\n"                        \
      "        const double v = ind_zeta_positive(x, from);\n"                                                         \
      "        sum += part == 0 ? sign * v : part == 1 ? -sign * v : v;\n"                                             \
      "    }\n"                                                                                                        \
      "    return sum;\n"                                                                                              \
      "}\n")                                                                                                           \
    X(IGAMMA, 0,                                                                                                       \
      "// Temme's uniform expansion for large a and x = a (1 + mu) near it.\n"                                         \
      "template <bool UPPER> static IND_INLINE double ind_igamma_large(double a, double mu) {\n"                       \
      "    double half_square = 0, power = mu;\n"                                                                      \
      "    for (int k = 2; k < 14; k++) power *= -mu, half_square -= power / k;\n"                                     \
      "    const double eta = copysign(sqrt(2 * half_square), mu);\n"                                                  \
      "    const double c0 = -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864 + eta / 2835)));\n"     \
      "    const double c1 = -1.0 / 540 - eta / 288;\n"                                                                \
      "    const double rest = exp(-a * half_square) / sqrt(2 * 3.14159265358979323846 * a) * (c0 + c1 / a);\n"        \
      "    return UPPER ? erfc(eta * sqrt(a / 2)) / 2 + rest : erfc(-eta * sqrt(a / 2)) / 2 - rest;\n"                 \
      "}\n"                                                                                                            \
      "// The regularised incomplete gamma functions: the series of P, or the continued fraction of Q = 1 - P.\n"      \
      "template <bool UPPER> static IND_INLINE double ind_igamma(double a, double x) {\n"                              \
      "    const double tiny = 1e-300;\n"                                                                              \
      "    double sum = 1, term = 1;\n"                                                                                \
      "    if (!(a >= 0 && x >= 0) || (isinf(a) && isinf(x)) || (a == 0 && x == 0)) return (double)__uint_as_float(0x7fc00000u);\n"\
      "    if (x == 0 || isinf(a)) return UPPER ? 1 : 0;\n"                                                            \
      "    if (isinf(x) || a == 0) return UPPER ? 0 : 1;\n"                                                            \
      "    if (a > 1e5 && fabs(x - a) < 0.03 * a) return ind_igamma_large<UPPER>(a, (x - a) / a);\n"                   \
      "    const double scale = exp(a * log(x) - x - lgamma(a));\n"                                                    \
      "    if (x <= 1 || x <= a) {\n"                                                                                  \
      "        for (int k = 1; k < 5000 && term > sum * 1e-17; k++) sum += term *= x / (a + k);\n"                     \
      "        return UPPER ? 1 - scale * sum / a : scale * sum / a;\n"                                                \
      "    }\n"                                                                                                        \
      "    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d, change = 0;\n"                                        \
      "    for (int k = 1; k < 5000 && fabs(change - 1) > 1e-16; k++) {\n"                                             \
      "        const double factor = k * (a - k);\n"                                                                   \
      "        b += 2;\n"                                                                                              \
      "        d = factor * d + b, d = 1 / (fabs(d) < tiny ? tiny : d);\n"                                             \
      "        c = b + factor / c, c = fabs(c) < tiny ? tiny : c;\n"                                                   \
      "        change = c * d;\n"                                                                                      \
      "        h *= change;\n"                                                                                         \
      "    }\n"                                                                                                        \
      "    return UPPER ? scale * h : 1 - scale * h;\n"                                                                \
      "}\n")                                                                                                           \
    X(POW, 0,                                                                                                          \
      "// By squaring, wrapping around; a negative exponent gives 0 except for bases 1 and -1.\n"                      \
      "template <typename T> static IND_INLINE T ind_pow(T base, T exponent) {\n"                                      \
      "    if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? (exponent % 2 != 0 ? T(-1) : T(1)) : T(0);\n"      \
      "    unsigned long long result = 1, square = (unsigned long long)base;\n"                                        \
      "    for (unsigned long long e = (unsigned long long)exponent; e != 0; e >>= 1) {\n"                             \
      "        if (e & 1) result *= square;\n"                                                                         \
      "        square *= square;\n"                                                                                    \
      "    }\n"                                                                                                        \
      "    return (T)result;\n"                                                                                        \
      "}\n")                                                                                                           \
    X(F8E4M3FN, 0,                                                                                                     \
      "// 8 bits: exponent bias 7, three digits, 127 is NaN, no infinity. Out of 464 is NaN.\n"                        \
      "static IND_INLINE float ind_f8e4m3fn_to_f32(unsigned char x) {\n"                                               \
      "    const float v = __uint_as_float((x & 127u) << 20) * 1.329227995784916e+36f;\n"                              \
      "    return __uint_as_float(((x & 127) == 127 ? 0x7fffffffu : __float_as_uint(v)) | (x & 128u) << 24);\n"        \
      "}\n"                                                                                                            \
      "static IND_INLINE unsigned char ind_f32_to_f8e4m3fn(float f) {\n"                                               \
      "    const unsigned bits = __float_as_uint(f), u = bits & 0x7fffffffu, sign = bits >> 24 & 128u;\n"              \
      "    if (!(u <= 0x43e80000u)) return (unsigned char)(sign | 127u);\n"                                            \
      "    if (u < 0x3c800000u) return (unsigned char)(sign | (__float_as_uint(__uint_as_float(u) + 16384.0f) - 0x46800000u));\n"\
      "    return (unsigned char)(sign | ((u - 0x3c000000u + 0x7ffffu + (u >> 20 & 1)) >> 20));\n"                     \
      "}\n")                                                                                                           \
    X(F8E5M2, 0,                                                                                                       \
      "// 8 bits: the upper half of f16. From 61440 on it is infinite.\n"                                              \
      "static IND_INLINE float ind_f8e5m2_to_f32(unsigned char x) {\n"                                                 \
      "    const unsigned u = x & 127u;\n"                                                                             \
      "    const float v = __uint_as_float(u << 21) * 5.192296858534828e+33f;\n"                                       \
      "    return __uint_as_float((u > 124 ? 0x7fffffffu : u == 124 ? 0x7f800000u : __float_as_uint(v)) | (x & 128u) << 24);\n"\
      "}\n"                                                                                                            \
      "static IND_INLINE unsigned char ind_f32_to_f8e5m2(float f) {\n"                                                 \
      "    const unsigned bits = __float_as_uint(f), u = bits & 0x7fffffffu, sign = bits >> 24 & 128u;\n"              \
      "    if (u >= 0x47700000u) return (unsigned char)(sign | (u > 0x7f800000u ? 127u : 124u));\n"                    \
      "    if (u < 0x38800000u) return (unsigned char)(sign | (__float_as_uint(__uint_as_float(u) + 128.0f) - 0x43000000u));\n"\
      "    return (unsigned char)(sign | ((u - 0x38000000u + 0xfffffu + (u >> 21 & 1)) >> 21));\n"                     \
      "}\n")                                                                                                           \
    X(PHILOX, 0,                                                                                                       \
      "// Half of the 128 bits of Philox 4x32-10 (Salmon et al. 2011).\n"                                              \
      "template <int HALF> static IND_INLINE unsigned long long ind_philox(unsigned long long key, unsigned long long stream,\n"\
      "                                                                    unsigned long long position) {\n"           \
      "    unsigned x0 = (unsigned)position, x1 = (unsigned)(position >> 32), x2 = (unsigned)stream, x3 = (unsigned)(stream >> 32);\n"\
      "    unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);\n"                                                 \
      "    #pragma unroll\n"                                                                                           \
      "    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {\n"                         \
      "        const unsigned long long a = x0 * 0xd2511f53ull, b = x2 * 0xcd9e8d57ull;\n"                             \
      "        x0 = (unsigned)(b >> 32) ^ x1 ^ k0;\n"                                                                  \
      "        x1 = (unsigned)b;\n"                                                                                    \
      "        x2 = (unsigned)(a >> 32) ^ x3 ^ k1;\n"                                                                  \
      "        x3 = (unsigned)a;\n"                                                                                    \
      "    }\n"                                                                                                        \
      "    return HALF ? x2 | (unsigned long long)x3 << 32 : x0 | (unsigned long long)x1 << 32;\n"                     \
      "}\n")                                                                                                           \
    X(QUOTIENT, 0,                                                                                                     \
      "// x / d for 0 <= x < 2^31 and 1 <= d < 2^31, by m = ceil(2^62 / d): with e = m * d - 2^62 < d, x * m / 2^62 is\n"  \
      "// x / d + x * e / (d * 2^62), and that is less than 1 / d too much.\n"                                        \
      "static IND_INLINE unsigned ind_quotient(unsigned x, unsigned long long m) {\n"                                 \
      "    const unsigned long long low = (unsigned long long)x * (unsigned)m >> 32;\n"                               \
      "    return (unsigned)(((unsigned long long)x * (unsigned)(m >> 32) + low) >> 30);\n"                           \
      "}\n")                                                                                                          \
    X(FLOORDIV, 0,                                                                                                     \
      "// Division that rounds down, and its remainder.\n"                                                             \
      "template <typename T> static IND_INLINE T ind_floordiv(T a, T b) {\n"                                           \
      "    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));\n"                                                   \
      "}\n"                                                                                                            \
      "template <typename T> static IND_INLINE T ind_floormod(T a, T b) {\n"                                           \
      "    return a - ind_floordiv(a, b) * b;\n"                                                                       \
      "}\n")                                                                                                           \
    X(INDEX, 0,                                                                                                        \
      "// An index read from memory: one outside [0, size) is reported, once, and replaced by 0.\n"                    \
      "static IND_INLINE long long ind_index(long long i, long long size, unsigned long long id,\n"                    \
      "                                                      unsigned long long *error) {\n"                           \
      "    if (i >= 0 && i < size) return i;\n"                                                                        \
      "    if (atomicCAS(error, 0ull, id) == 0ull) {\n"                                                                \
      "        error[1] = (unsigned long long)i;\n"                                                                    \
      "        error[2] = (unsigned long long)size;\n"                                                                 \
      "    }\n"                                                                                                        \
      "    return 0;\n"                                                                                                \
      "}\n"                                                                                                            \
      "// The same where negative ones count from the end.\n"                                                          \
      "static IND_INLINE long long ind_index_wrapped(long long i, long long size, unsigned long long id,\n"            \
      "                                                              unsigned long long *error) {\n"                   \
      "    const long long at = i < 0 ? i + size : i;\n"                                                               \
      "    return at >= 0 && at < size ? at : ind_index(i, size, id, error);\n"                                        \
      "}\n")                                                                                                           \
    X(ATOMIC, 0,                                                                                                       \
      "// *p = f(*p), for all threads that do this at once: compare and swap, on the word around elements of less than 4\n"  \
      "// bytes.\n"                                                                                                    \
      "template <typename W, typename T> union ind_word {\n"                                                           \
      "    W whole;\n"                                                                                                 \
      "    T value;\n"                                                                                                 \
      "};\n"                                                                                                           \
      "template <typename W, typename T, typename F> static IND_INLINE void ind_atomic_word(T *p, F f) {\n"            \
      "    W *const word = (W *)p;\n"                                                                                  \
      "    for (W old = *(volatile W *)word;;) {\n"                                                                    \
      "        ind_word<W, T> next;\n"                                                                                 \
      "        next.whole = old;\n"                                                                                    \
      "        next.value = f(next.value);\n"                                                                          \
      "        if (next.whole == old) return;\n"                                                                       \
      "        const W seen = atomicCAS(word, old, next.whole);\n"                                                     \
      "        if (seen == old) return;\n"                                                                             \
      "        old = seen;\n"                                                                                          \
      "    }\n"                                                                                                        \
      "}\n"                                                                                                            \
      "template <typename T, typename F> static IND_INLINE void ind_atomic(T *p, F f) {\n"                             \
      "    if constexpr (sizeof(T) == 8) {\n"                                                                          \
      "        ind_atomic_word<unsigned long long>(p, f);\n"                                                           \
      "    } else if constexpr (sizeof(T) == 4) {\n"                                                                   \
      "        ind_atomic_word<unsigned>(p, f);\n"                                                                     \
      "    } else {\n"                                                                                                 \
      "        const unsigned long long at = (unsigned long long)p;\n"                                                 \
      "        const unsigned shift = (unsigned)(at & 3) * 8, mask = ((1u << 8 * sizeof(T)) - 1) << shift;\n"          \
      "        const auto part = [=](unsigned old) {\n"                                                                \
      "            return (old & ~mask) | ((unsigned)f((T)(old >> shift)) << shift & mask);\n"                         \
      "        };\n"                                                                                                   \
      "        ind_atomic_word<unsigned>((unsigned *)(at & ~3ull), part);\n"                                           \
      "    }\n"                                                                                                        \
      "}\n")                                                                                                           \
    X(ADD_F32, IND__CG_NEEDS(IND__CG_VEC),                                                                             \
      "// p[j] += v.at[j] for all threads that do this at once, up to 16 bytes by one instruction.\n"                  \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "template <int N> static IND_INLINE void ind_add_f32(float *p, const ind_vec<float, N> &v) {\n"                  \
      "    if constexpr (N % 4 == 0) {\n"                                                                              \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int j = 0; j < N; j += 4)\n"                                                                       \
      "            asm volatile(\"red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};\" :: \"l\"(p + j), \"f\"(v.at[j]),\n" \
      "                         \"f\"(v.at[j + 1]), \"f\"(v.at[j + 2]), \"f\"(v.at[j + 3]) : \"memory\");\n"           \
      "    } else {\n"                                                                                                 \
      "        asm volatile(\"red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};\" :: \"l\"(p), \"f\"(v.at[0]), \"f\"(v.at[1]) : \"memory\");\n" \
      "    }\n"                                                                                                        \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(ADD_F16, IND__CG_NEEDS(IND__CG_VEC),                                                                             \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "template <int N> static IND_INLINE void ind_add_f16(unsigned short *p, const ind_vec<unsigned short, N> &v) {\n" \
      "    unsigned w[N / 2];\n"                                                                                       \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int j = 0; j < N / 2; j++) w[j] = v.at[2 * j] | (unsigned)v.at[2 * j + 1] << 16;\n"                    \
      "    if constexpr (N == 8)\n"                                                                                    \
      "        asm volatile(\"red.relaxed.gpu.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};\" :: \"l\"(p), \"r\"(w[0]), \"r\"(w[1]),\n" \
      "                     \"r\"(w[2]), \"r\"(w[3]) : \"memory\");\n"                                                 \
      "    else if constexpr (N == 4)\n"                                                                               \
      "        asm volatile(\"red.relaxed.gpu.global.add.noftz.v2.f16x2 [%0], {%1, %2};\" :: \"l\"(p), \"r\"(w[0]), \"r\"(w[1]) : \"memory\");\n" \
      "    else\n"                                                                                                     \
      "        asm volatile(\"red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;\" :: \"l\"(p), \"r\"(w[0]) : \"memory\");\n" \
      "}\n"                                                                                                            \
      "static IND_INLINE void ind_add_f16(unsigned short *p, unsigned short v) {\n"                                    \
      "    asm volatile(\"red.relaxed.gpu.global.add.noftz.f16 [%0], %1;\" :: \"l\"(p), \"h\"(v) : \"memory\");\n"     \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(ADD_BF16, IND__CG_NEEDS(IND__CG_VEC),                                                                            \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "template <int N> static IND_INLINE void ind_add_bf16(unsigned short *p, const ind_vec<unsigned short, N> &v) {\n" \
      "    unsigned w[N / 2];\n"                                                                                       \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int j = 0; j < N / 2; j++) w[j] = v.at[2 * j] | (unsigned)v.at[2 * j + 1] << 16;\n"                    \
      "    if constexpr (N == 8)\n"                                                                                    \
      "        asm volatile(\"red.relaxed.gpu.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};\" :: \"l\"(p), \"r\"(w[0]), \"r\"(w[1]),\n" \
      "                     \"r\"(w[2]), \"r\"(w[3]) : \"memory\");\n"                                                 \
      "    else if constexpr (N == 4)\n"                                                                               \
      "        asm volatile(\"red.relaxed.gpu.global.add.noftz.v2.bf16x2 [%0], {%1, %2};\" :: \"l\"(p), \"r\"(w[0]), \"r\"(w[1]) : \"memory\");\n" \
      "    else\n"                                                                                                     \
      "        asm volatile(\"red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;\" :: \"l\"(p), \"r\"(w[0]) : \"memory\");\n" \
      "}\n"                                                                                                            \
      "static IND_INLINE void ind_add_bf16(unsigned short *p, unsigned short v) {\n"                                   \
      "    asm volatile(\"red.relaxed.gpu.global.add.noftz.bf16 [%0], %1;\" :: \"l\"(p), \"h\"(v) : \"memory\");\n"    \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(SUM, 0,                                                                                                          \
      "// States of reductions: `join` combines two, `lane` is the state of the lane whose number has other bits d.\n" \
      "template <typename T> struct ind_sum {\n"                                                                       \
      "    T value;\n"                                                                                                 \
      "    IND_INLINE void join(const ind_sum &o) { value = value + o.value; }\n"                                      \
      "    IND_INLINE ind_sum lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }\n"                \
      "};\n")                                                                                                          \
    X(PROD, 0,                                                                                                         \
      "template <typename T> struct ind_prod {\n"                                                                      \
      "    T value;\n"                                                                                                 \
      "    IND_INLINE void join(const ind_prod &o) { value = value * o.value; }\n"                                     \
      "    IND_INLINE ind_prod lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }\n"               \
      "};\n")                                                                                                          \
    X(MAX, IND__CG_NEEDS(IND__CG_MAXMIN),                                                                              \
      "template <typename T> struct ind_maximum {\n"                                                                   \
      "    T value;\n"                                                                                                 \
      "    IND_INLINE void join(const ind_maximum &o) { value = ind_max(value, o.value); }\n"                          \
      "    IND_INLINE ind_maximum lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }\n"            \
      "};\n")                                                                                                          \
    X(MAX_WARP, IND__CG_NEEDS(IND__CG_MAX),                                                                            \
      "// The largest of a warp at once, as integers of the same order; a NaN of a join is above all.\n"                \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "template <int LANES> static IND_INLINE void ind_join_lanes(ind_maximum<float> &s) {\n"                          \
      "    if (LANES == 32) {\n"                                                                                       \
      "        const int i = __float_as_int(s.value), key = i ^ (i >> 31 & 0x7fffffff);\n"                             \
      "        const int m = __reduce_max_sync(0xffffffffu, key);\n"                                                   \
      "        s.value = __int_as_float(m ^ (m >> 31 & 0x7fffffff));\n"                                                \
      "    } else {\n"                                                                                                 \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int d = LANES / 2; d > 0; d /= 2) s.join(s.lane(d));\n"                                            \
      "    }\n"                                                                                                        \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(MAX_BF16, IND__CG_NEEDS(IND__CG_VEC, IND__CG_BF16, IND__CG_MAX), IND__CG_MAX_HALVES(bf16)) \
    X(MAX_F16, IND__CG_NEEDS(IND__CG_VEC, IND__CG_F16, IND__CG_MAX), IND__CG_MAX_HALVES(f16)) \
    X(MIN, IND__CG_NEEDS(IND__CG_MAXMIN),                                                                              \
      "template <typename T> struct ind_minimum {\n"                                                                   \
      "    T value;\n"                                                                                                 \
      "    IND_INLINE void join(const ind_minimum &o) { value = ind_min(value, o.value); }\n"                          \
      "    IND_INLINE ind_minimum lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }\n"            \
      "};\n")                                                                                                          \
    X(ANY, 0,                                                                                                          \
      "template <typename T> struct ind_any {\n"                                                                       \
      "    T value;\n"                                                                                                 \
      "    IND_INLINE void join(const ind_any &o) { value = value | o.value; }\n"                                      \
      "    IND_INLINE ind_any lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }\n"                \
      "};\n")                                                                                                          \
    X(ARGMAX, 0,                                                                                                       \
      "// The largest value and the first place where it stands; NaN is largest. at < 0: none yet.\n"                  \
      "template <typename T> struct ind_argmax {\n"                                                                    \
      "    T value;\n"                                                                                                 \
      "    long long at;\n"                                                                                            \
      "    IND_INLINE void join(const ind_argmax &o) {\n"                                                              \
      "        const bool nan = value != value, other_nan = o.value != o.value;\n"                                     \
      "        const bool more = other_nan ? !nan : o.value > value;\n"                                                \
      "        const bool same = other_nan ? nan : o.value == value;\n"                                                \
      "        if (o.at >= 0 && (at < 0 || more || (same && o.at < at))) *this = o;\n"                                 \
      "    }\n"                                                                                                        \
      "    IND_INLINE ind_argmax lane(int d) const {\n"                                                                \
      "        return {__shfl_xor_sync(0xffffffffu, value, d), __shfl_xor_sync(0xffffffffu, at, d)};\n"                \
      "    }\n"                                                                                                        \
      "};\n")                                                                                                          \
    X(WELFORD, 0,                                                                                                      \
      "// Count, mean and sum of squared deviations (Welford 1962), joined as in Chan et al. 1979.\n"                  \
      "template <typename T> struct ind_welford {\n"                                                                   \
      "    T count, mean, m2;\n"                                                                                       \
      "    template <int N> IND_INLINE void add(const T (&x)[N]) {\n"                                                  \
      "        T sum = x[0], squares = 0;\n"                                                                           \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int i = 1; i < N; i++) sum += x[i];\n"                                                             \
      "        const T middle = sum / N;\n"                                                                            \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int i = 0; i < N; i++) squares += (x[i] - middle) * (x[i] - middle);\n"                            \
      "        join({T(N), middle, squares});\n"                                                                       \
      "    }\n"                                                                                                        \
      "    IND_INLINE void join(const ind_welford &o) {\n"                                                             \
      "        const T total = count + o.count;\n"                                                                     \
      "        if (total == 0) return;\n"                                                                              \
      "        const T delta = o.mean - mean, part = o.count / total;\n"                                               \
      "        mean += delta * part;\n"                                                                                \
      "        m2 += o.m2 + delta * delta * count * part;\n"                                                           \
      "        count = total;\n"                                                                                       \
      "    }\n"                                                                                                        \
      "    IND_INLINE ind_welford lane(int d) const {\n"                                                               \
      "        return {__shfl_xor_sync(0xffffffffu, count, d), __shfl_xor_sync(0xffffffffu, mean, d),\n"               \
      "                __shfl_xor_sync(0xffffffffu, m2, d)};\n"                                                        \
      "    }\n"                                                                                                        \
      "};\n")                                                                                                          \
    X(EXP_BELOW, 0,                                                                                                    \
      "// exp(x - m) of x <= m, for sums whose largest term is 1: the exponential unit's error, 2^-22, is lost in them.\n"\
      "#ifndef IND_EMULATION\n"                                                                                        \
      "static IND_INLINE float ind_exp2(float x) {\n"                                                                  \
      "    float y;\n"                                                                                                 \
      "    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n"                                              \
      "    return y;\n"                                                                                                \
      "}\n"                                                                                                            \
      "#else\n"                                                                                                        \
      "static IND_INLINE float ind_exp2(float x) { return exp2f(x); }\n"                                               \
      "#endif\n"                                                                                                       \
      "static IND_INLINE float ind_exp_below(float x, float m) { return ind_exp2((x - m) * 1.44269504f); }\n"          \
      "static IND_INLINE double ind_exp_below(double x, double m) { return exp(x - m); }\n"                            \
      "// What to subtract: m, but 0 for -inf, as -inf - -inf is not a number.\n"                                      \
      "template <typename T> static IND_INLINE T ind_exp_base(T m) {\n"                                                \
      "    return m == T(__uint_as_float(0xff800000u)) ? T(0) : m;\n"                                                  \
      "}\n")                                                                                                           \
    X(RECIPROCAL_OF_SUM, 0,                                                                                            \
      "// 1 / x of 1 <= x < 2^126: the unit's and a step of Newton's, without a division's branches for other x; NaN of 0.\n"\
      "static IND_INLINE float ind_reciprocal_of_sum(float x) {\n"                                                     \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "    float y;\n"                                                                                                 \
      "    asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n"                                              \
      "    return fmaf(y, fmaf(-x, y, 1.0f), y);\n"                                                                    \
      "#else\n"                                                                                                        \
      "    return 1.0f / x;\n"                                                                                         \
      "#endif\n"                                                                                                       \
      "}\n")                                                                                                           \
    X(SOFTMAX, IND__CG_NEEDS(IND__CG_MAXMIN, IND__CG_EXP_BELOW),                                                       \
      "// Largest value m and sum of exp(x - m) in one pass (Milakov and Gimelshein 2018).\n"                          \
      "template <typename T> struct ind_softmax {\n"                                                                   \
      "    T max, sum;\n"                                                                                              \
      "    template <int N> IND_INLINE void add(const T (&x)[N]) {\n"                                                  \
      "        T m = max;\n"                                                                                           \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int i = 0; i < N; i++) m = ind_max(m, x[i]);\n"                                                    \
      "        const T base = ind_exp_base(m);\n"                                                                      \
      "        sum *= ind_exp_below(max, base);\n"                                                                     \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int i = 0; i < N; i++) sum += ind_exp_below(x[i], base);\n"                                        \
      "        max = m;\n"                                                                                             \
      "    }\n"                                                                                                        \
      "    IND_INLINE void join(const ind_softmax &o) {\n"                                                             \
      "        const T m = ind_max(max, o.max), base = ind_exp_base(m);\n"                                             \
      "        sum = sum * ind_exp_below(max, base) + o.sum * ind_exp_below(o.max, base);\n"                           \
      "        max = m;\n"                                                                                             \
      "    }\n"                                                                                                        \
      "    IND_INLINE ind_softmax lane(int d) const {\n"                                                               \
      "        return {__shfl_xor_sync(0xffffffffu, max, d), __shfl_xor_sync(0xffffffffu, sum, d)};\n"                 \
      "    }\n"                                                                                                        \
      "};\n")                                                                                                          \
    X(JOIN_LANES, 0,                                                                                                   \
      "// Joins the states of LANES neighbouring lanes; every one of them gets the result.\n"                          \
      "template <int LANES, class S> static IND_INLINE void ind_join_lanes(S &s) {\n"                                  \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int d = LANES / 2; d > 0; d /= 2) s.join(s.lane(d));\n"                                                \
      "}\n")                                                                                                           \
    X(JOIN_MOMENTS, IND__CG_NEEDS(IND__CG_WELFORD, IND__CG_SUM, IND__CG_JOIN_LANES),                                   \
      "// Joins N states STEP apart of each of LANES lanes, of `count` values in all, with one division.\n"            \
      "template <int N, int STEP, int LANES, typename T>\n"                                                            \
      "static IND_INLINE ind_welford<T> ind_join_moments(const ind_welford<T> *shared, T count) {\n"                   \
      "    ind_welford<T> part[N];\n"                                                                                  \
      "    ind_sum<T> sum = {0}, squares = {0};\n"                                                                     \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int i = 0; i < N; i++) {\n"                                                                            \
      "        part[i] = shared[i * STEP];\n"                                                                          \
      "        sum.join({part[i].count * part[i].mean});\n"                                                            \
      "    }\n"                                                                                                        \
      "    ind_join_lanes<LANES>(sum);\n"                                                                              \
      "    const T mean = sum.value / count;\n"                                                                        \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int i = 0; i < N; i++)\n"                                                                              \
      "        squares.join({part[i].m2 + part[i].count * (part[i].mean - mean) * (part[i].mean - mean)});\n"          \
      "    ind_join_lanes<LANES>(squares);\n"                                                                          \
      "    return {count, mean, squares.value};\n"                                                                     \
      "}\n")                                                                                                           \
    X(JOIN_SHARED, 0,                                                                                                  \
      "// Joins N states in shared memory, STEP apart, always in the same order.\n"                                    \
      "template <int N, int STEP, class S> static IND_INLINE S ind_join_shared(const S *shared) {\n"                   \
      "    S s = shared[0];\n"                                                                                         \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int i = 1; i < N; i++) s.join(shared[i * STEP]);\n"                                                    \
      "    return s;\n"                                                                                                \
      "}\n")                                                                                                           \
    X(JOIN_WARPS, 0,                                                                                                   \
      "// Joins the states of so many warps, MOST at the most, always in the same order. All are read at once.\n"      \
      "template <int MOST, class S> static IND_INLINE S ind_join_warps(const S *shared, int warps) {\n"               \
      "    S s[MOST];\n"                                                                                               \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int i = 0; i < MOST; i++) s[i] = shared[i];\n"                                                         \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int i = 1; i < MOST; i++)\n"                                                                           \
      "        if (i < warps) s[0].join(s[i]);\n"                                                                      \
      "    return s[0];\n"                                                                                             \
      "}\n")                                                                                                           \
    X(JOIN_APART, 0,                                                                                                   \
      "// Joins the states of a warp's lanes that lie STEP apart; every one of them gets the result.\n"                 \
      "template <int STEP, class S> static IND_INLINE void ind_join_apart(S &s) {\n"                                   \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int d = 16; d >= STEP; d /= 2) s.join(s.lane(d));\n"                                                   \
      "}\n")                                                                                                           \
    X(JOIN_NEIGHBOURS, 0,                                                                                              \
      "// Joins N states pairwise.\n"                                                                                  \
      "template <int N, class S> static IND_INLINE S ind_join_neighbours(S (&s)[N]) {\n"                               \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int d = 1; d < N; d *= 2)\n"                                                                           \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int i = 0; i < N; i += 2 * d) s[i].join(s[i + d]);\n"                                              \
      "    return s[0];\n"                                                                                             \
      "}\n")                                                                                                           \
    X(LAST_BLOCK, 0,                                                                                                   \
      "// All threads of a block call this once it has written what it found. True in the last of the blocks that count on\n"\
      "// the same counter: there, all that the others have written is seen. The counter is 0 again then.\n"          \
      "static IND_INLINE bool ind_last_block(unsigned *counter, unsigned blocks) {\n"                                  \
      "    __shared__ bool last;\n"                                                                                    \
      "    __syncthreads();\n"                                                                                         \
      "    if (threadIdx.x == 0) {\n"                                                                                  \
      "#ifdef IND_EMULATION\n"                                                                                         \
      "        __threadfence();\n"                                                                                     \
      "        const unsigned before = atomicInc(counter, blocks - 1);\n"                                              \
      "        __threadfence();\n"                                                                                     \
      "#else\n"                                                                                                        \
      "        unsigned before;\n"                                                                                     \
      "        asm volatile(\"atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;\"\n"                                       \
      "                     : \"=r\"(before) : \"l\"(__cvta_generic_to_global(counter)), \"r\"(blocks - 1) : \"memory\");\n"\
      "#endif\n"                                                                                                       \
      "        last = before == blocks - 1;\n"                                                                         \
      "    }\n"                                                                                                        \
      "    __syncthreads();\n"                                                                                         \
      "    return last;\n"                                                                                             \
      "}\n")                                                                                                           \
    X(TURN, 0,                                                                                                         \
      "// The block's number by when it begins, in its first thread: known once it is asked for. The counter is 0 again\n" \
      "// behind the last one. All others have begun before that, and end without it, so that it may wait for them.\n" \
      "static IND_INLINE unsigned ind_turn(unsigned *counter, unsigned blocks) {\n"                                     \
      "    unsigned turn = 0;\n"                                                                                       \
      "#ifdef IND_EMULATION\n"                                                                                         \
      "    if (threadIdx.x == 0) turn = atomicInc(counter, blocks - 1);\n"                                             \
      "#else\n"                                                                                                        \
      "    asm volatile(\"{\\n\"\n"                                                                                        \
      "                 \".reg .pred p;\\n\"\n"                                                                            \
      "                 \"setp.eq.u32 p, %2, 0;\\n\"\n"                                                                    \
      "                 \"@p atom.relaxed.gpu.global.inc.u32 %0, [%1], %3;\\n\"\n"                                         \
      "                 \"}\" : \"+r\"(turn) : \"l\"(__cvta_generic_to_global(counter)), \"r\"(threadIdx.x), \"r\"(blocks - 1)\n"\
      "                 : \"memory\");\n"                                                                              \
      "#endif\n"                                                                                                       \
      "    return turn;\n"                                                                                             \
      "}\n"                                                                                                            \
      "// For all threads of the block.\n"                                                                             \
      "static IND_INLINE bool ind_began_last(unsigned turn, unsigned blocks) {\n"                                      \
      "    return __syncthreads_or(threadIdx.x == 0 && turn == blocks - 1);\n"                                         \
      "}\n")                                                                                                           \
    X(SPLIT_WORDS, IND__CG_NEEDS(IND__CG_TURN),                                                                        \
      "// A state on its way to another block, a word for each 4 bytes; a word is there once its upper half is not 0.\n" \
      "template <class S> union ind_split_state {\n"                                                                   \
      "    unsigned part[sizeof(S) / 4];\n"                                                                            \
      "    S state;\n"                                                                                                 \
      "};\n"                                                                                                           \
      "template <class S> static IND_INLINE void ind_split_leave(volatile unsigned long long *to, const S &s) {\n"     \
      "    ind_split_state<S> u = {};\n"                                                                               \
      "    u.state = s;\n"                                                                                             \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int k = 0; k < (int)(sizeof(S) / 4); k++) to[k] = 1ull << 32 | u.part[k];\n"                           \
      "}\n"                                                                                                            \
      "template <class S> static IND_INLINE void ind_split_take(volatile unsigned long long *from, S &s) {\n"          \
      "    ind_split_state<S> u = {};\n"                                                                               \
      "    unsigned long long word[sizeof(S) / 4]; // all are looked at before any is waited for\n"                    \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int k = 0; k < (int)(sizeof(S) / 4); k++) word[k] = from[k];\n"                                        \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int k = 0; k < (int)(sizeof(S) / 4); k++) {\n"                                                         \
      "        while (word[k] >> 32 == 0) word[k] = from[k];\n"                                                        \
      "        from[k] = 0;\n"                                                                                         \
      "        u.part[k] = (unsigned)word[k];\n"                                                                       \
      "    }\n"                                                                                                        \
      "    s = u.state;\n"                                                                                             \
      "}\n")                                                                                                           \
    X(CLUSTER, 0,                                                                                                      \
      "// The blocks of a cluster exchange states: each sends its own to all of them. A barrier in shared memory counts\n" \
      "// the bytes that have come; nothing else is waited for, in particular no store on its way to memory.\n"        \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "static IND_INLINE unsigned ind_shared_address(const void *p) {\n"                                               \
      "    return (unsigned)__cvta_generic_to_shared(p);\n"                                                            \
      "}\n"                                                                                                            \
      "static IND_INLINE void ind_cluster_begin(unsigned long long *barrier, int count) {\n"                           \
      "    if (threadIdx.x == 0)\n"                                                                                    \
      "        for (int i = 0; i < count; i++)\n"                                                                      \
      "            asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(ind_shared_address(barrier + i)) : \"memory\");\n" \
      "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"                                   \
      "    asm volatile(\"barrier.cluster.arrive.aligned;\" ::: \"memory\");\n"                                        \
      "}\n"                                                                                                            \
      "static IND_INLINE void ind_cluster_begun(void) {\n"                                                             \
      "    asm volatile(\"barrier.cluster.wait.aligned;\" ::: \"memory\");\n"                                          \
      "}\n"                                                                                                            \
      "template <class S>\n"                                                                                           \
      "static IND_INLINE void ind_cluster_send(S *at, unsigned long long *barrier, int block, const S &s) {\n"         \
      "    unsigned to, signal;\n" \
      "    asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(to) : \"r\"(ind_shared_address(at)), \"r\"(block));\n" \
      "    asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(signal) : \"r\"(ind_shared_address(barrier)), \"r\"(block));\n" \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int i = 0; i < (int)(sizeof(S) / 4); i++)\n"                                                           \
      "        asm volatile(\"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];\"\n"           \
      "                     :: \"r\"(to + 4 * i), \"r\"(reinterpret_cast<const unsigned *>(&s)[i]), \"r\"(signal) : \"memory\");\n"                      \
      "}\n"                                                                                                            \
      "static IND_INLINE void ind_cluster_expect(unsigned long long *barrier, int bytes) {\n"                          \
      "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\"\n"                                  \
      "                 :: \"r\"(ind_shared_address(barrier)), \"r\"(bytes) : \"memory\");\n"                          \
      "}\n"                                                                                                            \
      "static IND_INLINE void ind_cluster_wait(unsigned long long *barrier, int phase) {\n"                            \
      "    unsigned done;\n"                                                                                           \
      "    do\n"                                                                                                       \
      "        asm volatile(\"{\\n\"\n"                                                                                \
      "                     \".reg .pred p;\\n\"\n"                                                                    \
      "                     \"mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\\n\"\n"            \
      "                     \"selp.u32 %0, 1, 0, p;\\n\"\n"                                                            \
      "                     \"}\" : \"=r\"(done) : \"r\"(ind_shared_address(barrier)), \"r\"(phase) : \"memory\");\n"  \
      "    while (!done);\n"                                                                                           \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(CP_ASYNC, 0,                                                                                                     \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "// Copies `bytes` (0 to 16) into 16 bytes of shared memory in the background, the rest becomes zero.\n"         \
      "static IND_INLINE void ind_cp_async16(void *smem, const void *global, int bytes) {\n"                           \
      "    asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\"\n"                                           \
      "                 :: \"r\"((unsigned)__cvta_generic_to_shared(smem)), \"l\"(global), \"r\"(bytes)\n"             \
      "                 : \"memory\");\n"                                                                              \
      "}\n"                                                                                                            \
      "static IND_INLINE void ind_cp_async_commit(void) {\n"                                                           \
      "    asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n"                                                 \
      "}\n"                                                                                                            \
      "template <int N> static IND_INLINE void ind_cp_async_wait(void) {\n"                                            \
      "    asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(N) : \"memory\");\n"                                      \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(CP_ASYNC_BY, IND__CG_NEEDS(IND__CG_CP_ASYNC),                                                                    \
      "#ifdef IND_EMULATION\n"                                                                                         \
      "static IND_INLINE char *ind_lane_place(uint4 *p) { return reinterpret_cast<char *>(p); }\n"                     \
      "static IND_INLINE void ind_cp_async16_by(char *to, const void *global, unsigned long long policy) {\n"          \
      "    ind_cp_async16(to, global, 16);\n"                                                                          \
      "}\n"                                                                                                            \
      "#else\n"                                                                                                        \
      "// The shared address p of a lane. It passes through a shuffle, so that ptxas does not know it as a sum: the sum of a\n"\
      "// register and a uniform one it leaves to the copy, which with a policy is an illegal instruction.\n"          \
      "static IND_INLINE unsigned ind_lane_place(const uint4 *p) {\n"                                                  \
      "    return __shfl_sync(0xffffffffu, (unsigned)__cvta_generic_to_shared(p), threadIdx.x % 32);\n"                \
      "}\n"                                                                                                            \
      "// Copies 16 bytes in the background; the policy says when their lines leave the L2.\n"                         \
      "static IND_INLINE void ind_cp_async16_by(unsigned to, const void *global, unsigned long long policy) {\n"       \
      "    asm volatile(\"cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;\"\n"                            \
      "                 :: \"r\"(to), \"l\"(global), \"l\"(policy) : \"memory\");\n"                                   \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(BF16_AT, IND__CG_NEEDS(IND__CG_VEC),                                                                             \
      "// Element j of a vector of bf16. An odd one lies in its word as the f32 does.\n"                               \
      "template <int N> static IND_INLINE float ind_bf16_at(const ind_vec<unsigned short, N> &v, int j) {\n"           \
      "    const unsigned word = v.word[j / 2];\n" \
      "    return __uint_as_float(j % 2 ? word & 0xffff0000u : word << 16);\n"                                         \
      "}\n")                                                                                                           \
    X(KEEP, IND__CG_NEEDS(IND__CG_VEC),                                                                                \
      "// Keeps x as it lies in memory: what is computed of it alone is not carried into the loop, in more registers.\n" \
      "template <typename T, int N, int K> static IND_INLINE void ind_keep(ind_vec<T, N> (&x)[K]) {\n"                 \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int i = 0; i < (int)sizeof x / 4; i++) asm volatile(\"\" : \"+r\"(reinterpret_cast<unsigned *>(&x)[i]));\n" \
      "#endif\n"                                                                                                       \
      "}\n")                                                                                                           \
    X(LDMATRIX, 0,                                                                                                     \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "static IND_INLINE void ind_ldmatrix_x4(unsigned (&r)[4], const void *smem) {\n"                                 \
      "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"                        \
      "                 : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3])\n"                                    \
      "                 : \"r\"((unsigned)__cvta_generic_to_shared(smem)) : \"memory\");\n"                            \
      "}\n"                                                                                                            \
      "static IND_INLINE void ind_ldmatrix_x4_trans(unsigned (&r)[4], const void *smem) {\n"                           \
      "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"                  \
      "                 : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3])\n"                                    \
      "                 : \"r\"((unsigned)__cvta_generic_to_shared(smem)) : \"memory\");\n"                            \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(MMA_F16, 0,                                                                                                      \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "static IND_INLINE void ind_mma_f16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n"          \
      "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, \"\n"  \
      "                 \"{%8, %9}, {%0, %1, %2, %3};\"\n"                                                             \
      "                 : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3])\n"                                    \
      "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n"            \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(MMA_BF16, 0,                                                                                                     \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "static IND_INLINE void ind_mma_bf16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n"         \
      "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, \"\n"\
      "                 \"{%8, %9}, {%0, %1, %2, %3};\"\n"                                                             \
      "                 : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3])\n"                                    \
      "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n"            \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(HALF_TILE, 0,                                                                                                    \
      "// Place of 8 neighbouring 16-bit elements in a shared tile of ROWS rows of COLS elements. It consists of panels 64\n"\
      "// columns wide; in a row of a panel the chunks are permuted so that the 8 rows which one phase of ldmatrix reads lie in\n"\
      "// 8 different groups of 4 banks. These are the layouts that wgmma calls 128-byte and 64-byte swizzle.\n"       \
      "template <int ROWS, int COLS> static IND_INLINE int ind_tile_at(int row, int chunk) {\n"                        \
      "    constexpr int W = COLS > 64 ? 64 : COLS;\n"                                                                 \
      "    const int panel = COLS > 64 ? (chunk >> 3) * (ROWS * 64) : 0, in = COLS > 64 ? chunk & 7 : chunk;\n"        \
      "    return panel + row * W + ((in ^ (W >= 64 ? row & 7 : W == 32 ? row >> 1 & 3 : row >> 2 & 1)) << 3);\n"      \
      "}\n")                                                                                                           \
    X(TILE_COPY, IND__CG_NEEDS(IND__CG_CP_ASYNC, IND__CG_HALF_TILE),                                                   \
      "// Of 8 neighbouring elements with `left` of them before the edge: the bytes to copy.\n"                        \
      "static IND_INLINE int ind_chunk_bytes(long long left) {\n"                                                      \
      "    return left >= 8 ? 16 : left > 0 ? (int)left * 2 : 0;\n"                                                    \
      "}\n"                                                                                                            \
      "// Starts the copy of a tile. A thread copies one chunk in every THREADS / (COLS / 8)-th row, from from[at[0]], from[at[1]],\n"\
      "// ..: `bytes` of it, the rest, the rows from num_rows on and those whose bit in `in` is 0 become zero.\n"      \
      "template <int ROWS, int COLS, int THREADS, typename Index, int N>\n"                                            \
      "static IND_INLINE void ind_tile_copy(unsigned short *tile, const unsigned short *from, const Index (&at)[N],\n" \
      "                                                     long long num_rows, int bytes, unsigned in) {\n"           \
      "    constexpr int APART = THREADS / (COLS / 8), W = COLS > 64 ? 64 : COLS;\n"                                   \
      "    const int first = threadIdx.x / (COLS / 8), chunk = threadIdx.x % (COLS / 8);\n"                            \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int i = 0; i < N; i++) {\n"                                                                            \
      "        const int row = i * APART + first;\n"                                                                   \
      "        const int place = APART % 8 == 0 ? ind_tile_at<ROWS, COLS>(first, chunk) + i * APART * W : ind_tile_at<ROWS, COLS>(row, chunk);\n"\
      "        if (ROWS * COLS / 8 % THREADS == 0 || row < ROWS) {\n"                                                  \
      "            const bool inside = (num_rows >= ROWS || row < num_rows) && (in >> i & 1);\n"                       \
      "            ind_cp_async16(tile + place, from + at[i], inside ? bytes : 0);\n"                                  \
      "        }\n"                                                                                                    \
      "    }\n"                                                                                                        \
      "}\n")                                                                                                           \
    X(CHUNK_COPY, IND__CG_NEEDS(IND__CG_CP_ASYNC),                                                                     \
      "#ifndef IND_EMULATION\n"  \
      "static IND_INLINE void ind_cp_async8(void *smem, const void *global, int bytes) {\n"  \
      "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], 8, %2;\"\n"  \
      "                 :: \"r\"((unsigned)__cvta_generic_to_shared(smem)), \"l\"(global), \"r\"(bytes)\n"  \
      "                 : \"memory\");\n"  \
      "}\n"  \
      "#else\n"  \
      "static IND_INLINE void ind_cp_async8(void *smem, const void *global, int bytes) {\n"  \
      "    for (int i = 0; i < 8; i++) ((char *)smem)[i] = i < bytes ? ((const char *)global)[i] : 0;\n"  \
      "}\n"  \
      "#endif\n"  \
      "// Starts the copy of 8 neighbouring elements, or of the `left` ones before the edge: then the rest becomes zero.\n"  \
      "template <typename T> static IND_INLINE void ind_chunk_copy(T *to, const T *from, long long left) {\n"  \
      "    const int bytes = (left < 8 ? (int)left : 8) * (int)sizeof(T);\n"  \
      "    if (sizeof(T) == 1) {\n"  \
      "        ind_cp_async8(to, from, bytes);\n"  \
      "    } else {\n"  \
      "        _Pragma(\"unroll\")\n"  \
      "        for (int c = 0; c < (int)sizeof(T) * 8; c += 16)\n"  \
      "            ind_cp_async16((char *)to + c, (const char *)from + c, bytes <= c ? 0 : bytes - c < 16 ? bytes - c : 16);\n"  \
      "    }\n"  \
      "}\n") \
    X(MMA_TILE,                                                                                                        \
      IND__CG_NEEDS(IND__CG_HALF_TILE, IND__CG_LDMATRIX, IND__CG_MMA_F16, IND__CG_MMA_BF16),                           \
      "// The 16 x 16 fragment of A at (m, k) of a tile [m][k] if K_MAJOR, else [k][m].\n"                             \
      "template <int ROWS, int COLS, bool K_MAJOR>\n"                                                                  \
      "static IND_INLINE void ind_fragment_a(unsigned (&r)[4], const unsigned short *tile, int m, int k) {\n"          \
      "    const int lane = threadIdx.x & 31;\n"                                                                       \
      "    if (K_MAJOR) {\n"                                                                                           \
      "        ind_ldmatrix_x4(r, tile + ind_tile_at<ROWS, COLS>(m + (lane & 15), (k >> 3) + (lane >> 4)));\n"         \
      "    } else {\n"                                                                                                 \
      "        ind_ldmatrix_x4_trans(r, tile + ind_tile_at<ROWS, COLS>(k + (lane >> 4 << 3) + (lane & 7), (m >> 3) + (lane >> 3 & 1)));\n"\
      "    }\n"                                                                                                        \
      "}\n"                                                                                                            \
      "// Two neighbouring 16 x 8 fragments of B at (k, n) of a tile [n][k] if K_MAJOR, else [k][n].\n"                \
      "template <int ROWS, int COLS, bool K_MAJOR>\n"                                                                  \
      "static IND_INLINE void ind_fragment_b(unsigned (&r)[4], const unsigned short *tile, int n, int k) {\n"          \
      "    const int lane = threadIdx.x & 31;\n"                                                                       \
      "    if (K_MAJOR) {\n"                                                                                           \
      "        ind_ldmatrix_x4(r, tile + ind_tile_at<ROWS, COLS>(n + (lane >> 4 << 3) + (lane & 7), (k >> 3) + (lane >> 3 & 1)));\n"\
      "    } else {\n"                                                                                                 \
      "        ind_ldmatrix_x4_trans(r, tile + ind_tile_at<ROWS, COLS>(k + (lane & 15), (n >> 3) + (lane >> 4)));\n"   \
      "    }\n"                                                                                                        \
      "}\n"                                                                                                            \
      "// acc += A[m.., TK] * B[TK, n..] of one pair of tiles, for the warp's block of 16 MI x 8 NI at (m, n). The next 16 steps\n"\
      "// of k are loaded into registers while the present ones are multiplied.\n"                                     \
      "template <bool BF16, int TM, int TN, int TK, bool A_K_MAJOR, bool B_K_MAJOR, int MI, int NI>\n"                 \
      "static IND_INLINE void ind_mma_tile(float (&acc)[MI][NI][4], const unsigned short *tile_a,\n"                   \
      "                                                    const unsigned short *tile_b, int m, int n) {\n"            \
      "    unsigned a[2][MI][4], b[2][NI / 2][4];\n"                                                                   \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int k = 0; k <= TK; k += 16) {\n"                                                                      \
      "        const int load = k / 16 & 1, use = load ^ 1;\n"                                                         \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int i = 0; i < MI && k < TK; i++) ind_fragment_a<A_K_MAJOR ? TM : TK, A_K_MAJOR ? TK : TM, A_K_MAJOR>(a[load][i], tile_a, m + i * 16, k);\n"\
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int j = 0; j < NI / 2 && k < TK; j++) ind_fragment_b<B_K_MAJOR ? TN : TK, B_K_MAJOR ? TK : TN, B_K_MAJOR>(b[load][j], tile_b, n + j * 16, k);\n"\
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int ij = 0; ij < MI * NI && k > 0; ij++) {\n"                                                      \
      "            const int i = ij / NI, j = ij % NI;\n"                                                              \
      "            const unsigned pair[2] = {b[use][j / 2][j % 2 * 2], b[use][j / 2][j % 2 * 2 + 1]};\n"               \
      "            if (BF16) {\n"                                                                                      \
      "                ind_mma_bf16(acc[i][j], a[use][i], pair);\n"                                                    \
      "            } else {\n"                                                                                         \
      "                ind_mma_f16(acc[i][j], a[use][i], pair);\n"                                                     \
      "            }\n"                                                                                                \
      "        }\n"                                                                                                    \
      "    }\n"                                                                                                        \
      "}\n")                                                                                                           \
    X(WGMMA, IND__CG_NEEDS(IND__CG_HALF_TILE),                                                                         \
      "#ifndef IND_EMULATION\n"                                                                                        \
      "// What wgmma is told about an operand (PTX ISA, \"matrix descriptor\"): where in the tile of ROWS rows of COLS elements the\n"\
      "// part at (x, k) begins, the distance of panels, of groups of 8 rows, and the kind of swizzle.\n"              \
      "template <int ROWS, int COLS, bool K_MAJOR>\n"                                                                  \
      "static IND_INLINE unsigned long long ind_wgmma_operand(const unsigned short *tile, int x, int k) {\n"           \
      "    constexpr int W = COLS > 64 ? 64 : COLS;\n"                                                                 \
      "    const int row = K_MAJOR ? x : k, col = K_MAJOR ? k : x;\n"                                                  \
      "    const unsigned at = (unsigned)__cvta_generic_to_shared(tile + (col / W * ROWS + row) * W + col % W);\n"     \
      "    return (at & 0x3ffffu) >> 4 | (unsigned long long)(ROWS * W * 2 >> 4) << 16 | (unsigned long long)(8 * W * 2 >> 4) << 32 |\n"\
      "           (W == 64 ? 1ull : 2ull) << 62;\n"                                                                    \
      "}\n"                                                                                                            \
      "// Waits until at most N tiles are still being multiplied; the sums may be read if N is 0.\n"                   \
      "template <int N, int NI> static IND_INLINE void ind_wgmma_wait(float (&c)[NI][4]) {\n"                          \
      "    asm volatile(\"wgmma.wait_group.sync.aligned %0;\" :: \"n\"(N) : \"memory\");\n"                            \
      "    if (N == 0) {\n"                                                                                            \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int i = 0; i < NI * 4; i++) asm volatile(\"\" : \"+f\"(c[i / 4][i % 4]) :: \"memory\");\n"         \
      "    }\n"                                                                                                        \
      "}\n"                                                                                                            \
      "// Makes this thread's writes to shared memory visible to wgmma.\n"                                             \
      "static IND_INLINE void ind_wgmma_publish(void) {\n"                                                             \
      "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"                                         \
      "}\n"                                                                                                            \
      "#endif\n")                                                                                                      \
    X(SUM_TILE, IND__CG_NEEDS(IND__CG_VEC),                                                                            \
      "// Place of a sum in the shared tile between the multiplication and the epilogue. Rows are 8 longer than the tile, and in\n"\
      "// every second run of 32 columns the groups of 4 are swapped in pairs: then the writes of mma fragments and the reads of\n"\
      "// 8 neighbours by each thread are free of bank conflicts (T of 4 bytes).\n"                                    \
      "template <int TN> static IND_INLINE int ind_sum_at(int row, int col) {\n"                                       \
      "    return row * (TN + 8) + (col ^ (col >> 5 & 1) << 2);\n"                                                     \
      "}\n"                                                                                                            \
      "// V neighbouring sums.\n"                                                                                      \
      "template <int TN, int V, typename T> static IND_INLINE void ind_sum_read(T (&x)[V], const T *sum, int row, int col) {\n"\
      "    constexpr int G = V < (int)(16 / sizeof(T)) ? V : (int)(16 / sizeof(T));\n"                                 \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int g = 0; g < V; g += G) {\n"                                                                         \
      "        const ind_vec<T, G> v = ind_load<G>(sum + ind_sum_at<TN>(row, col + g));\n"                             \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int j = 0; j < G; j++) x[g + j] = v.at[j];\n"                                                      \
      "    }\n"                                                                                                        \
      "}\n")                                                                                                           \
    X(MMA_SUMS, IND__CG_NEEDS(IND__CG_VEC, IND__CG_SUM_TILE),                                                          \
      "// Writes the warp's accumulators into the tile of sums at (m, n).\n"                                           \
      "template <int TN, int MI, int NI>\n"                                                                            \
      "static IND_INLINE void ind_mma_sums(float *sum, const float (&acc)[MI][NI][4], int m, int n) {\n"               \
      "    const int lane = threadIdx.x & 31;\n"                                                                       \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int ij = 0; ij < MI * NI; ij++) {\n"                                                                   \
      "        const int i = ij / NI, j = ij % NI;\n"                                                                  \
      "        float *const at = sum + ind_sum_at<TN>(m + i * 16 + (lane >> 2), n + j * 8 + (lane & 3) * 2);\n"        \
      "        ind_store(at, ind_vec<float, 2>{{acc[i][j][0], acc[i][j][1]}});\n"                                      \
      "        ind_store(at + 8 * (TN + 8), ind_vec<float, 2>{{acc[i][j][2], acc[i][j][3]}});\n"                       \
      "    }\n"                                                                                                        \
      "}\n")                                                                                                           \
    X(FMA_TILE, IND__CG_NEEDS(IND__CG_VEC, IND__CG_SUM_TILE),                                                          \
      "// acc += A * B of tiles a[TK][TM + 4] and b[TK][TN + 4]. A thread's RM x RN block consists of 16-byte groups that lie\n"\
      "// TM / RM (TN / RN) groups apart, so that neighbouring threads read neighbouring groups.\n"                    \
      "template <int TM, int TN, int TK, typename T, int RM, int RN>\n"                                                \
      "static IND_INLINE void ind_fma_tile(T (&acc)[RM][RN], const T *tile_a, const T *tile_b) {\n"                    \
      "    constexpr int G = 16 / sizeof(T), ACROSS = TN / RN, DOWN = TM / RM;\n"                                      \
      "    const int x = threadIdx.x % ACROSS * G, y = threadIdx.x / ACROSS * G;\n"                                    \
      "    _Pragma(\"unroll 4\")\n"                                                                                    \
      "    for (int k = 0; k < TK; k++) {\n"                                                                           \
      "        ind_vec<T, G> a[RM / G], b[RN / G];\n"                                                                  \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int i = 0; i < RM / G; i++) a[i] = ind_load<G>(tile_a + k * (TM + 4) + y + i * DOWN * G);\n"       \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int j = 0; j < RN / G; j++) b[j] = ind_load<G>(tile_b + k * (TN + 4) + x + j * ACROSS * G);\n"     \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int ij = 0; ij < RM * RN; ij++) {\n"                                                               \
      "            const int i = ij / RN, j = ij % RN;\n"                                                              \
      "            acc[i][j] += a[i / G].at[i % G] * b[j / G].at[j % G];\n"                                            \
      "        }\n"                                                                                                    \
      "    }\n"                                                                                                        \
      "}\n"                                                                                                            \
      "// Writes the thread's accumulators into the tile of sums.\n"                                                   \
      "template <int TM, int TN, typename T, int RM, int RN>\n"                                                        \
      "static IND_INLINE void ind_fma_sums(T *sum, const T (&acc)[RM][RN]) {\n"                                        \
      "    constexpr int G = 16 / sizeof(T), ACROSS = TN / RN, DOWN = TM / RM;\n"                                      \
      "    const int x = threadIdx.x % ACROSS * G, y = threadIdx.x / ACROSS * G;\n"                                    \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int ij = 0; ij < RM * RN; ij++) {\n"                                                                   \
      "        const int i = ij / RN, j = ij % RN;\n"                                                                  \
      "        sum[ind_sum_at<TN>(y + i / G * DOWN * G + i % G, x + j / G * ACROSS * G + j % G)] = acc[i][j];\n"       \
      "    }\n"                                                                                                        \
      "}\n")                                                                                                           \
    X(SCAN_SUM, 0,                                                                                                     \
      "// States of a scan: join puts what comes later behind this one.\n"                                             \
      "template <typename T> struct ind_scan_sum {\n"                                                                  \
      "    T value;\n"                                                                                                 \
      "    IND_INLINE void join(const ind_scan_sum &o) { value += o.value; }\n"                                        \
      "    IND_INLINE ind_scan_sum up(int d) const { return {__shfl_up_sync(0xffffffffu, value, d)}; }\n"              \
      "    IND_INLINE ind_scan_sum lane(int l) const { return {__shfl_sync(0xffffffffu, value, l)}; }\n"               \
      "};\n")                                                                                                          \
    X(SCAN_PROD, 0,                                                                                                    \
      "template <typename T> struct ind_scan_prod {\n"                                                                 \
      "    T value;\n"                                                                                                 \
      "    IND_INLINE void join(const ind_scan_prod &o) { value *= o.value; }\n"                                       \
      "    IND_INLINE ind_scan_prod up(int d) const { return {__shfl_up_sync(0xffffffffu, value, d)}; }\n"             \
      "    IND_INLINE ind_scan_prod lane(int l) const { return {__shfl_sync(0xffffffffu, value, l)}; }\n"              \
      "};\n")                                                                                                          \
    X(SCAN_LOG, 0,                                                                                                     \
      "static IND_INLINE float ind_scan_exp(float x) { return expf(x); }\n"                                            \
      "static IND_INLINE double ind_scan_exp(double x) { return exp(x); }\n"                                           \
      "static IND_INLINE float ind_scan_ln(float x) { return logf(x); }\n"                                             \
      "static IND_INLINE double ind_scan_ln(double x) { return log(x); }\n"                                            \
      "// The largest, and the sum of exp(x - largest), so that one exp joins two: equal infinities stay, NaN stays.\n"\
      "template <typename T> struct ind_scan_log {\n"                                                                  \
      "    T max, sum;\n"                                                                                              \
      "    IND_INLINE T value() const { return max + ind_scan_ln(sum); }\n"                                            \
      "    IND_INLINE void join(const ind_scan_log &o) {\n"                                                            \
      "        const bool less = max < o.max;\n"                                                                       \
      "        const T high = less ? o.max : max, low = less ? max : o.max;\n"                                         \
      "        const T scale = low == high ? T(1) : ind_scan_exp(low - high);\n"                                       \
      "        sum = less ? o.sum + sum * scale : sum + o.sum * scale;\n"                                              \
      "        max = high;\n"                                                                                          \
      "    }\n"                                                                                                        \
      "    IND_INLINE ind_scan_log up(int d) const {\n"                                                                \
      "        return {__shfl_up_sync(0xffffffffu, max, d), __shfl_up_sync(0xffffffffu, sum, d)};\n"                   \
      "    }\n"                                                                                                        \
      "    IND_INLINE ind_scan_log lane(int l) const {\n"                                                              \
      "        return {__shfl_sync(0xffffffffu, max, l), __shfl_sync(0xffffffffu, sum, l)};\n"                         \
      "    }\n"                                                                                                        \
      "};\n")                                                                                                          \
    X(SCAN_EXTREME, 0,                                                                                                 \
      "// Largest (smallest) value and its position, -1: none yet. The later of equals; NaN stays.\n"                  \
      "template <typename T, typename I, bool UP> struct ind_scan_extreme {\n"                                         \
      "    T value;\n"                                                                                                 \
      "    I at;\n"                                                                                                    \
      "    IND_INLINE void join(const ind_scan_extreme &o) {\n"                                                        \
      "        const bool wins = value == value && (UP ? o.value >= value : o.value <= value);\n"                      \
      "        if (o.at < 0 || !(at < 0 || wins || o.value != o.value)) return;\n"                                     \
      "        value = o.value;\n"                                                                                     \
      "        at = o.at;\n"                                                                                           \
      "    }\n"                                                                                                        \
      "    IND_INLINE ind_scan_extreme up(int d) const {\n"                                                            \
      "        return {__shfl_up_sync(0xffffffffu, value, d), __shfl_up_sync(0xffffffffu, at, d)};\n"                  \
      "    }\n"                                                                                                        \
      "    IND_INLINE ind_scan_extreme lane(int l) const {\n"                                                          \
      "        return {__shfl_sync(0xffffffffu, value, l), __shfl_sync(0xffffffffu, at, l)};\n"                        \
      "    }\n"                                                                                                        \
      "};\n")                                                                                                          \
    X(SCAN, 0,                                                                                                         \
      "// States of LANES neighbours: each lane's becomes that of the lanes before it, too, in front.\n"               \
      "template <int LANES, class S> static IND_INLINE void ind_scan_lanes(S &s) {\n"                                  \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int d = 1; d < LANES; d *= 2) {\n"                                                                     \
      "        S before = s.up(d);\n"                                                                                  \
      "        before.join(s);\n"                                                                                      \
      "        if (threadIdx.x % LANES >= d) s = before;\n"                                                            \
      "    }\n"                                                                                                        \
      "}\n"                                                                                                            \
      "// A warp's part of the row is made of K lines of runs, a run for each of LANES lanes. s[k]: this lane's run of line k; becomes\n"\
      "// what comes before it in the lines. Returns all lines together.\n"                                            \
      "template <int LANES, int K, class S> static IND_INLINE S ind_scan_lines(S (&s)[K], const S &none) {\n"          \
      "    S all = none;\n"                                                                                            \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int k = 0; k < K; k++) {\n"                                                                            \
      "        ind_scan_lanes<LANES>(s[k]);\n"                                                                         \
      "        S before = s[k].up(1), line = s[k].lane((threadIdx.x & 31 & ~(LANES - 1)) + LANES - 1);\n"              \
      "        if (threadIdx.x % LANES == 0) before = none;\n"                                                         \
      "        s[k] = all;\n"                                                                                          \
      "        s[k].join(before);\n"                                                                                   \
      "        all.join(line);\n"                                                                                      \
      "    }\n"                                                                                                        \
      "    return all;\n"                                                                                              \
      "}\n"                                                                                                            \
      "// The same for a block, each of whose warps has a part of the row. What comes before the block's part, carry, is in front of\n"\
      "// all, and becomes what comes before the next chunk. shared[WARPS] is not written while others may read the last chunk's.\n"\
      "template <int LANES, int WARPS, int K, class S>\n"                                                              \
      "static IND_INLINE void ind_scan_threads(S (&s)[K], const S &none, S *shared, S &carry) {\n"                     \
      "    const S all = ind_scan_lines<LANES>(s, none);\n"                                                            \
      "    S front = carry;\n"                                                                                         \
      "    if (WARPS > 1) {\n"                                                                                         \
      "        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"                                          \
      "        if (lane == 0) shared[warp] = all;\n"                                                                   \
      "        __syncthreads();\n"                                                                                     \
      "        S warps = lane < WARPS ? shared[lane] : none;\n"                                                        \
      "        ind_scan_lanes<32>(warps);\n"                                                                           \
      "        const S previous = warps.lane(warp > 0 ? warp - 1 : 0);\n"                                              \
      "        if (warp > 0) front.join(previous);\n"                                                                  \
      "        carry.join(warps.lane(WARPS - 1));\n"                                                                   \
      "    } else {\n"                                                                                                 \
      "        carry.join(all);\n"                                                                                     \
      "    }\n"                                                                                                        \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int k = 0; k < K; k++) {\n"                                                                            \
      "        S before = front;\n"                                                                                    \
      "        before.join(s[k]);\n"                                                                                   \
      "        s[k] = before;\n"                                                                                       \
      "    }\n"                                                                                                        \
      "}\n")                                                                                                           \
    X(VEC_PART, IND__CG_NEEDS(IND__CG_VEC),                                                                            \
      "// N neighbours from position r of a row of n, of which those before and behind the row are left out.\n"        \
      "template <int N, typename T, typename I> static IND_INLINE bool ind_whole(const T *p, I r, I n) {\n"            \
      "    return r >= 0 && r <= n - N && (unsigned long long)p % sizeof(ind_vec<T, N>) % 16 == 0;\n"                  \
      "}\n"                                                                                                            \
      "template <int N, typename T, typename I> static IND_INLINE ind_vec<T, N> ind_load_part(const T *p, I r, I n) {\n"\
      "    if (ind_whole<N>(p, r, n)) return ind_load<N>(p);\n"                                                        \
      "    ind_vec<T, N> v;\n"                                                                                         \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int j = 0; j < N; j++) v.at[j] = r + j >= 0 && r + j < n ? p[j] : T(0);\n"                             \
      "    return v;\n"                                                                                                \
      "}\n"                                                                                                            \
      "template <typename T, int N, typename I> static IND_INLINE void ind_store_part(T *p, const ind_vec<T, N> &v, I r, I n) {\n"\
      "    if (ind_whole<N>(p, r, n)) {\n"                                                                             \
      "        ind_store(p, v);\n"                                                                                     \
      "        return;\n"                                                                                              \
      "    }\n"                                                                                                        \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int j = 0; j < N; j++)\n"                                                                              \
      "        if (r + j >= 0 && r + j < n) p[j] = v.at[j];\n"                                                         \
      "}\n")                                                                                                           \
    X(SCAN_TEAM, 0,                                                                                                    \
      "// TEAM threads, LANES apart, have parts of N rows, one behind the other. s[j]: this thread's part of row j; becomes what comes\n"\
      "// before it. The first LANES * N threads join the parts of a row each, or of carry[] rows; carry is in front and becomes what comes\n"\
      "// before the next chunk. shared[TEAM * N * LANES] is not that of the chunk before.\n"                          \
      "template <int LANES, int TEAM, int N, int ROWS, class S>\n"                                                     \
      "static IND_INLINE void ind_scan_team(S (&s)[N], S *shared, S (&carry)[ROWS]) {\n"                               \
      "    const int x = threadIdx.x % LANES, y = threadIdx.x / LANES;\n"                                              \
      "    if (TEAM == 1) {\n"                                                                                         \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int j = 0; j < N; j++) {\n"                                                                        \
      "            const S part = s[j];\n"                                                                             \
      "            s[j] = carry[j];\n"                                                                                 \
      "            carry[j].join(part);\n"                                                                             \
      "        }\n"                                                                                                    \
      "        return;\n"                                                                                              \
      "    }\n"                                                                                                        \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int j = 0; j < N; j++) shared[(y * N + j) * LANES + x] = s[j];\n"                                      \
      "    __syncthreads();\n"                                                                                         \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int k = 0; k < ROWS; k++) {\n"                                                                         \
      "        const int row = k * LANES * TEAM + threadIdx.x;\n"                                                      \
      "        if (row >= LANES * N) break;\n"                                                                         \
      "        _Pragma(\"unroll 4\")\n"                                                                                \
      "        for (int i = 0; i < TEAM; i++) {\n"                                                                     \
      "            const S part = shared[i * N * LANES + row];\n"                                                      \
      "            shared[i * N * LANES + row] = carry[k];\n"                                                          \
      "            carry[k].join(part);\n"                                                                             \
      "        }\n"                                                                                                    \
      "    }\n"                                                                                                        \
      "    __syncthreads();\n"                                                                                         \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int j = 0; j < N; j++) s[j] = shared[(y * N + j) * LANES + x];\n"                                      \
      "}\n")                                                                                                           \
    X(LOOKBACK, IND__CG_NEEDS(IND__CG_SCAN),                                                                           \
      "// A state in memory, a word for each 4 bytes; a word is there once its upper half is not 0.\n"                 \
      "template <class S> struct ind_scan_words {\n"                                                                   \
      "    static constexpr int N = sizeof(S) / 4;\n"                                                                  \
      "    unsigned long long word[N];\n"                                                                              \
      "    static IND_INLINE void publish(unsigned long long *to, const S &s) {\n"                                     \
      "        union {\n"                                                                                              \
      "            S state;\n"                                                                                         \
      "            unsigned part[N];\n"                                                                                \
      "        } u = {s};\n"                                                                                           \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int k = 0; k < N; k++) ((volatile unsigned long long *)to)[k] = 1ull << 32 | u.part[k];\n"         \
      "    }\n"                                                                                                        \
      "    // All are looked at before any is waited for.\n"                                                           \
      "    IND_INLINE void look(const unsigned long long *from) {\n"                                                   \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int k = 0; k < N; k++) word[k] = ((const volatile unsigned long long *)from)[k];\n"                \
      "    }\n"                                                                                                        \
      "    IND_INLINE S await(const unsigned long long *from) {\n"                                                     \
      "        union {\n"                                                                                              \
      "            unsigned part[N];\n"                                                                                \
      "            S state;\n"                                                                                         \
      "        } u = {};\n"                                                                                            \
      "        _Pragma(\"unroll\")\n"                                                                                  \
      "        for (int k = 0; k < N; k++) {\n"                                                                        \
      "            while (word[k] >> 32 == 0) word[k] = ((const volatile unsigned long long *)from)[k];\n"             \
      "            u.part[k] = (unsigned)word[k];\n"                                                                   \
      "        }\n"                                                                                                    \
      "        return u.state;\n"                                                                                      \
      "    }\n"                                                                                                        \
      "};\n"                                                                                                           \
      "// What comes before a tile of its row: tiles come in groups of 32, and the last one of each finds what comes before the next group.\n"\
      "// So it is joined in the same order in every run, whichever tile is done first. A tile publishes what another one waits for and\n" \
      "// nothing else: so nothing is under way when the last block that looks clears the words. For one warp.\n"      \
      "template <class S>\n"                                                                                           \
      "static IND_INLINE S ind_scan_look_back(unsigned long long *total, unsigned long long *group, int tile, int tiles, const S &all,\n" \
      "                                              const S &none) {\n"                                               \
      "    typedef ind_scan_words<S> words;\n"                                                                         \
      "    const int lane = threadIdx.x % 32, in = tile % 32;\n"                                                       \
      "    const bool last = tile == tiles - 1;\n"                                                                     \
      "    words totals, groups;\n"                                                                                    \
      "    total += (tile - in + lane) * (long long)words::N;\n"                                                       \
      "    group += tile / 32 * (long long)words::N;\n"                                                                \
      "    if (lane == in && in < 31 && !last) words::publish(total, all);\n"                                          \
      "    if (lane < in) totals.look(total);\n"                                                                       \
      "    if (tile >= 32) groups.look(group);\n"                                                                      \
      "    S front = none;\n"                                                                                          \
      "    if (lane < in) front = totals.await(total);\n"                                                              \
      "    ind_scan_lanes<32>(front);\n"                                                                               \
      "    const S before = front.lane(31);\n"                                                                         \
      "    front = tile >= 32 ? groups.await(group) : none;\n"                                                         \
      "    front.join(before);\n"                                                                                      \
      "    if (lane == 0 && in == 31 && !last) {\n"                                                                    \
      "        S next = front;\n"                                                                                      \
      "        next.join(all);\n"                                                                                      \
      "        words::publish(group + words::N, next);\n"                                                              \
      "    }\n"                                                                                                        \
      "    return front;\n"                                                                                            \
      "}\n"                                                                                                            \
      "// As ind_scan_threads for a tile of the row. shared[WARPS + 1]\n"                                              \
      "template <int WARPS, int K, class S>\n"                                                                         \
      "static IND_INLINE void ind_scan_tile(S (&s)[K], const S &none, S *shared, unsigned long long *total, unsigned long long *group, int tile,\n" \
      "                                             int tiles) {\n"                                                    \
      "    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"                                              \
      "    const S all = ind_scan_lines<32>(s, none);\n"                                                               \
      "    if (lane == 0) shared[warp] = all;\n"                                                                       \
      "    __syncthreads();\n"                                                                                         \
      "    S warps = lane < WARPS ? shared[lane] : none;\n"                                                            \
      "    ind_scan_lanes<32>(warps);\n"                                                                               \
      "    const S previous = warps.lane(warp > 0 ? warp - 1 : 0);\n"                                                  \
      "    if (warp == 0) {\n"                                                                                         \
      "        const S before = ind_scan_look_back(total, group, tile, tiles, warps.lane(WARPS - 1), none);\n"         \
      "        if (lane == 0) shared[WARPS] = before;\n"                                                               \
      "    }\n"                                                                                                        \
      "    __syncthreads();\n"                                                                                         \
      "    S front = shared[WARPS];\n"                                                                                 \
      "    if (warp > 0) front.join(previous);\n"                                                                      \
      "    _Pragma(\"unroll\")\n"                                                                                      \
      "    for (int k = 0; k < K; k++) {\n"                                                                            \
      "        S before = front;\n"                                                                                    \
      "        before.join(s[k]);\n"                                                                                   \
      "        s[k] = before;\n"                                                                                       \
      "    }\n"                                                                                                        \
      "}\n")                                                                                                           \
    X(SCAN_MAYBE, 0,                                                                                                   \
      "// A state of a combine function, which has none that stands for nothing: whether there is any is beside it.\n" \
      "template <class S> struct ind_scan_maybe {\n"                                                                   \
      "    S state;\n"                                                                                                 \
      "    int any;\n"                                                                                                 \
      "    IND_INLINE void join(const ind_scan_maybe &o) {\n"                                                          \
      "        if (any && o.any)\n"                                                                                    \
      "            state.join(o.state);\n"                                                                             \
      "        else if (o.any)\n"                                                                                      \
      "            *this = o;\n"                                                                                       \
      "    }\n"                                                                                                        \
      "    IND_INLINE ind_scan_maybe up(int d) const { return {state.up(d), __shfl_up_sync(0xffffffffu, any, d)}; }\n" \
      "    IND_INLINE ind_scan_maybe lane(int l) const { return {state.lane(l), __shfl_sync(0xffffffffu, any, l)}; }\n"\
      "};\n")                                                                                                          \
    X(SORT_F16, IND__CG_NEEDS(IND__CG_F16),                                                                            \
      "struct ind_key_f16 {\n"                                                                                         \
      "    static IND_INLINE float of(unsigned short x) { return ind_f16_to_f32(x); }\n"                               \
      "};\n")                                                                                                          \
    X(SORT_BF16, IND__CG_NEEDS(IND__CG_BF16),                                                                          \
      "struct ind_key_bf16 {\n"                                                                                        \
      "    static IND_INLINE float of(unsigned short x) { return ind_bf16_to_f32(x); }\n"                              \
      "};\n")                                                                                                          \
    X(SORT, 0,                                                                                                         \
      "template <typename T> struct ind_key {\n"                                                                       \
      "    static IND_INLINE T of(T x) { return x; }\n"                                                                \
      "};\n"                                                                                                           \
      "// Element a at position i belongs before b at position j. NaN is larger than every number; positions decide among equals.\n"\
      "template <bool DOWN, typename T, typename P> static IND_INLINE bool ind_sorts_before(T a, P i, T b, P j) {\n"   \
      "    if (a < b || (b != b && a == a)) return !DOWN;\n"                                                           \
      "    if (a > b || (a != a && b == b)) return DOWN;\n"                                                            \
      "    return i < j;\n"                                                                                            \
      "}\n"                                                                                                            \
      "// One step of Batcher's bitonic network in the form whose comparators all point one way, so that the elements missing for\n"\
      "// a power of two never move and need not exist: pairs are `gap` apart, but mirrored in their block where gap == half.\n"\
      "template <class KEY, bool DOWN, typename U, typename T, typename P>\n"                                          \
      "static IND_INLINE void ind_sort_step(T *key, U key_step, P *at, U at_step, U n, U half, U gap, int threads) {\n"\
      "    __syncthreads();\n"                                                                                         \
      "    for (U q = threadIdx.x;; q += threads) {\n"                                                                 \
      "        const U in = q & (gap - 1), low = (q - in) * 2 + in, high = gap == half ? low - in + 2 * gap - 1 - in : low + gap;\n"\
      "        if (low >= n) break;\n"                                                                                 \
      "        if (high >= n) continue;\n"                                                                             \
      "        const T a = key[low * key_step], b = key[high * key_step];\n"                                           \
      "        const P i = at[low * at_step], j = at[high * at_step];\n"                                               \
      "        if (!ind_sorts_before<DOWN>(KEY::of(b), j, KEY::of(a), i)) continue;\n"                                 \
      "        key[low * key_step] = b;\n"                                                                             \
      "        key[high * key_step] = a;\n"                                                                            \
      "        at[low * at_step] = j;\n"                                                                               \
      "        at[high * at_step] = i;\n"                                                                              \
      "    }\n"                                                                                                        \
      "}\n"                                                                                                            \
      "// A block sorts n elements and their positions in place.\n"                                                    \
      "template <class KEY, bool DOWN, typename U, typename T, typename P>\n"                                          \
      "static IND_INLINE void ind_sort(T *key, P *at, U n, int threads) {\n"                                           \
      "    for (U half = 1; half < n; half *= 2)\n"                                                                    \
      "        for (U gap = half; gap > 0; gap /= 2) ind_sort_step<KEY, DOWN, U>(key, 1, at, 1, n, half, gap, threads);\n"\
      "    __syncthreads();\n"                                                                                         \
      "}\n")\
    X(SORT_LONG, IND__CG_NEEDS(IND__CG_SORT),                                                                          \
      "// The same for a row in global memory: steps within CHUNK elements run in shared memory.\n"                    \
      "template <class KEY, bool DOWN, int CHUNK, typename U, typename T, typename P, typename I>\n"                   \
      "static IND_INLINE void ind_sort_long(T *key, U key_step, P *at, U at_step, U n, T *keys, I *places, int threads) {\n"\
      "    for (U size = CHUNK;; size *= 2) {\n"                                                                       \
      "        for (U gap = size / 2; gap >= CHUNK; gap /= 2)\n"                                                       \
      "            ind_sort_step<KEY, DOWN, U>(key, key_step, at, at_step, n, size / 2, gap, threads);\n"              \
      "        for (U begin = 0; begin < n; begin += CHUNK) {\n"                                                       \
      "            const U m = n - begin < CHUNK ? n - begin : (U)CHUNK;\n"                                            \
      "            __syncthreads();\n"                                                                                 \
      "            for (U i = threadIdx.x; i < m; i += threads) {\n"                                                   \
      "                keys[i] = key[(begin + i) * key_step];\n"                                                       \
      "                places[i] = (I)at[(begin + i) * at_step];\n"                                                    \
      "            }\n"                                                                                                \
      "            if (size == CHUNK) ind_sort<KEY, DOWN, U>(keys, places, m, threads);\n"                             \
      "            for (U gap = CHUNK / 2; gap > 0 && size > CHUNK; gap /= 2)\n"                                       \
      "                ind_sort_step<KEY, DOWN, U>(keys, 1, places, 1, m, 0, gap, threads);\n"                         \
      "            __syncthreads();\n"                                                                                 \
      "            for (U i = threadIdx.x; i < m; i += threads) {\n"                                                   \
      "                key[(begin + i) * key_step] = keys[i];\n"                                                       \
      "                at[(begin + i) * at_step] = places[i];\n"                                                       \
      "            }\n"                                                                                                \
      "        }\n"                                                                                                    \
      "        if (size >= n) break;\n"                                                                                \
      "    }\n"                                                                                                        \
      "}\n")

/* clang-format on */

enum {
    IND__CG_NO_PIECE,
#define X(name, needs, text) IND__CG_##name,
    IND__CG_PRELUDE(X)
#undef X
        IND__CG_NUM_PIECES
};
_Static_assert(IND__CG_NUM_PIECES <= IND__CG_MAX_PIECES, "pieces are bits of ind__pieces");

static const struct {
    uint8_t needs[4]; /* up to the first IND__CG_NO_PIECE */
    const char *text;
} cg__prelude[] = {{{0}, ""},
#define X(name, needs, text) {{needs}, text},
                   IND__CG_PRELUDE(X)
#undef X
};

/* With the pieces that this one is built on. */
static void cg__add_piece(ind__pieces *set, int piece) {
    set->word[piece / 64] |= 1ull << piece % 64;
    for (size_t i = 0; i < sizeof cg__prelude[piece].needs && cg__prelude[piece].needs[i]; i++)
        cg__add_piece(set, cg__prelude[piece].needs[i]);
}

static void cg__add_pieces(ind__pieces *set, const ind__pieces *more) {
    for (size_t i = 0; i < sizeof set->word / sizeof set->word[0]; i++) set->word[i] |= more->word[i];
}

/* The source will need this piece. */
static void cg__use(ind__writer *w, int piece) {
    cg__add_piece(&w->prelude, piece);
}
