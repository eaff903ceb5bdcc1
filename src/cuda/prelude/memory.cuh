// Loads and stores: misaligned vectors, cache hints, copies into shared memory.
//@ BOUNDARY
// Elements from the boundary of N elements at or before p to p.
template <int N, typename T> static IND_INLINE int ind_behind(const T *p) {
    return (int)((unsigned long long)p / sizeof(T) & (N - 1));
}
//@ LOAD_ACROSS
// N neighbours from p on, wherever that is, out of pieces of 8 bytes between boundaries. behind: elements from a
// boundary of N to p. Reads no more than N elements behind them.
template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_across(const T *p, int behind) {
    const int ALL = N * sizeof(T) / 4, W = ALL < 2 ? ALL : 2, M = W * 4 / sizeof(T);
    const int before = behind & (M - 1), bytes = before * (int)sizeof(T);
    union {
        ind_vec<T, M> part[ALL / W + 1];
        ind_vec<T, N> made;
        unsigned word[ALL + W];
    } x;
    _Pragma("unroll")
    for (int i = 0; i <= ALL / W; i++) x.part[i] = ind_load<M>(p - before + i * M);
    _Pragma("unroll")
    for (int i = 0; i + 1 < ALL + W && W > 1; i++) {
        const unsigned here = x.word[i], there = x.word[i + 1];
        x.word[i] = sizeof(T) < 4 ? __funnelshift_rc(here, there, bytes / 4 * 32) : bytes & 4 ? there : here;
    }
    _Pragma("unroll")
    for (int i = 0; i < ALL && sizeof(T) < 4; i++)
        x.word[i] = __funnelshift_r(x.word[i], x.word[i + 1], bytes % 4 * 8);
    return x.made;
}
//@ LOAD_WORDS
// N neighbours from p on, wherever that is, word by word. Reads less than a word behind them.
template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_words(const T *p) {
    union {
        ind_vec<T, N> made;
        unsigned word[(N * sizeof(T) + 3) / 4];
    } x;
    const int bits = (int)((unsigned long long)p % 4) * 8;
    const unsigned *word = reinterpret_cast<const unsigned *>((unsigned long long)p / 4 * 4);
    _Pragma("unroll")
    for (int i = 0; i < (int)(N * sizeof(T) / 4); i++)
        x.word[i] = sizeof(T) < 4 ? __funnelshift_r(word[i], word[i + 1], bits) : word[i];
    return x.made;
}
//@ STORE_ACROSS
// One access where p stands at a boundary, else one for each element.
template <typename T, int N> static IND_INLINE void ind_store_across(T *p, const ind_vec<T, N> &v) {
    if ((unsigned long long)p % alignof(ind_vec<T, N>) == 0) {
        ind_store(p, v);
        return;
    }
    _Pragma("unroll")
    for (int j = 0; j < N; j++) p[j] = v.at[j];
}
//@ LOAD_PAST
// 16 bytes that are read once: they take no place in the L1.
template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_past(const T *p) {
#ifdef IND_EMULATION
    return ind_load<N>(p);
#else
    union {
        unsigned word[4];
        ind_vec<T, N> elements;
    } v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(__cvta_generic_to_global(p)));
    return v.elements;
#endif
}
//@ LOAD_ONCE
// What nobody reads again: the first to leave the L2.
template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_once(const T *p) {
    if constexpr (sizeof(T) * N == 16) {
        union {
            uint4 words;
            ind_vec<T, N> elements;
        } v = {__ldcs((const uint4 *)p)};
        return v.elements;
    } else {
        return ind_load<N>(p);
    }
}
//@ EVICT_LAST_POLICY
// Lines that are read by it leave the L2 after those of what is written.
static IND_INLINE unsigned long long ind_evict_last_policy(void) {
    unsigned long long policy = 0;
#ifndef IND_EMULATION
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}
//@ EVICT_LAST
#ifndef IND_EMULATION
// Of the compiler: marks what is read through a pointer (behind cuda::access_property of libcu++).
extern "C" __device__ void *__nv_associate_access_property(const void *, unsigned long long);
#endif
// p, through which lines are read by that policy.
template <typename T> static IND_INLINE const T *ind_evict_last(const T *p) {
#ifdef IND_EMULATION
    return p;
#else
    return static_cast<const T *>(__nv_associate_access_property(p, ind_evict_last_policy()));
#endif
}
//@ BF16_AT
// Element j of a vector of bf16. An odd one lies in its word as the f32 does.
template <int N> static IND_INLINE float ind_bf16_at(const ind_vec<unsigned short, N> &v, int j) {
    const unsigned word = v.word[j / 2];
    return __uint_as_float(j % 2 ? word & 0xffff0000u : word << 16);
}
//@ KEEP
// Keeps x as it lies in memory: what is computed of it alone is not carried into the loop, in more registers.
template <typename T, int N, int K> static IND_INLINE void ind_keep(ind_vec<T, N> (&x)[K]) {
#ifndef IND_EMULATION
    _Pragma("unroll")
    for (int i = 0; i < (int)sizeof x / 4; i++) asm volatile("" : "+r"(reinterpret_cast<unsigned *>(&x)[i]));
#endif
}
//@ VEC_PART
// N neighbours from position r of a row of n, of which those before and behind the row are left out.
template <int N, typename T, typename I> static IND_INLINE bool ind_whole(const T *p, I r, I n) {
    return r >= 0 && r <= n - N && (unsigned long long)p % sizeof(ind_vec<T, N>) % 16 == 0;
}
template <int N, typename T, typename I> static IND_INLINE ind_vec<T, N> ind_load_part(const T *p, I r, I n) {
    if (ind_whole<N>(p, r, n)) return ind_load<N>(p);
    ind_vec<T, N> v;
    _Pragma("unroll")
    for (int j = 0; j < N; j++) v.at[j] = r + j >= 0 && r + j < n ? p[j] : T(0);
    return v;
}
template <typename T, int N, typename I> static IND_INLINE void ind_store_part(T *p, const ind_vec<T, N> &v, I r, I n) {
    if (ind_whole<N>(p, r, n)) {
        ind_store(p, v);
        return;
    }
    _Pragma("unroll")
    for (int j = 0; j < N; j++)
        if (r + j >= 0 && r + j < n) p[j] = v.at[j];
}
//@ CP_ASYNC
#ifndef IND_EMULATION
// Copies `bytes` (0 to 16) into 16 bytes of shared memory in the background, the rest becomes zero.
static IND_INLINE void ind_cp_async16(void *smem, const void *global, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(smem)), "l"(global), "r"(bytes)
                 : "memory");
}
static IND_INLINE void ind_cp_async_commit(void) {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N> static IND_INLINE void ind_cp_async_wait(void) {
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}
#endif
//@ CP_ASYNC_BY
#ifdef IND_EMULATION
static IND_INLINE char *ind_lane_place(uint4 *p) { return reinterpret_cast<char *>(p); }
static IND_INLINE void ind_cp_async16_by(char *to, const void *global, unsigned long long policy) {
    ind_cp_async16(to, global, 16);
}
#else
// The shared address p of a lane. It passes through a shuffle, so that ptxas does not know it as a sum: the sum of a
// register and a uniform one it leaves to the copy, which with a policy is an illegal instruction.
static IND_INLINE unsigned ind_lane_place(const uint4 *p) {
    return __shfl_sync(0xffffffffu, (unsigned)__cvta_generic_to_shared(p), threadIdx.x % 32);
}
// Copies 16 bytes in the background; the policy says when their lines leave the L2.
static IND_INLINE void ind_cp_async16_by(unsigned to, const void *global, unsigned long long policy) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(global), "l"(policy) : "memory");
}
#endif
