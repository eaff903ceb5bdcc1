// Loads and stores: misaligned vectors, cache hints, copies into shared memory.
//@ BOUNDARY
// Elements from the last N-element boundary at or before p to p.
template <int N, typename T> static IND_INLINE int ind_misalignment(const T *p) {
    return (int)((unsigned long long)p / sizeof(T) & (N - 1));
}
//@ LOAD_ACROSS
// Loads N elements from a misaligned p: aligned 8-byte loads, combined by shifts. `misalignment`: elements from the
// last boundary of N elements to p. Reads at most N elements past the last one.
template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_across(const T *p, int misalignment) {
    const int ALL = N * sizeof(T) / 4, W = ALL < 2 ? ALL : 2, M = W * 4 / sizeof(T);
    const int before = misalignment & (M - 1), bytes = before * (int)sizeof(T);
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
// Loads N elements from a misaligned p: aligned 4-byte loads. Reads less than 4 bytes past the last one.
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
// Stores a vector: one access if p is aligned, else one per element.
template <typename T, int N> static IND_INLINE void ind_store_across(T *p, const ind_vec<T, N> &v) {
    if ((unsigned long long)p % alignof(ind_vec<T, N>) == 0) {
        ind_store(p, v);
        return;
    }
    _Pragma("unroll")
    for (int j = 0; j < N; j++) p[j] = v.at[j];
}
//@ LOAD_PAST
// Loads 16 bytes that are read once: L1::no_allocate.
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
// Loads data that is not read again: L2 evict_first.
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
//@ PREFETCH
// Prefetches a line of memory into the L2.
static IND_INLINE void ind_prefetch(const void *p) {
#ifndef IND_EMULATION
    asm volatile("prefetch.global.L2 [%0];" : : "l"(__cvta_generic_to_global(p)));
#endif
}
//@ LOAD_RUN
// Loads N adjacent bytes from a multiple of A of them on. Bytes are extracted from words of 32 bits, not from parts of 16
// bits, into which the compiler splits a vector of bytes (int4: 62 and 66 instructions per 8 elements).
template <int N, int A, typename T> static IND_INLINE ind_vec<T, N> ind_load_run(const T *p) {
    ind_vec<T, N> v;
    if constexpr (A >= 4) {
        #pragma unroll
        for (int i = 0; i < N; i += 4) {
            const unsigned word = *reinterpret_cast<const unsigned *>(p + i);
            #pragma unroll
            for (int k = 0; k < 4; k++) v.at[i + k] = (T)(word >> k * 8);
        }
    } else {
        #pragma unroll
        for (int i = 0; i < N; i += A) {
            const ind_vec<T, A> part = ind_load<A>(p + i);
            #pragma unroll
            for (int k = 0; k < A; k++) v.at[i + k] = part.at[k];
        }
    }
    return v;
}
//@ EVICT_LAST_POLICY
// The L2 cache policy evict_last: lines loaded with it are evicted after written lines.
static IND_INLINE unsigned long long ind_evict_last_policy(void) {
    unsigned long long policy = 0;
#ifndef IND_EMULATION
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}
//@ EVICT_LAST
#ifndef IND_EMULATION
// Compiler intrinsic: attaches a cache policy to the loads through a pointer (as cuda::access_property in libcu++).
extern "C" __device__ void *__nv_associate_access_property(const void *, unsigned long long);
#endif
// Returns p; loads through it use that policy.
template <typename T> static IND_INLINE const T *ind_evict_last(const T *p) {
#ifdef IND_EMULATION
    return p;
#else
    return static_cast<const T *>(__nv_associate_access_property(p, ind_evict_last_policy()));
#endif
}
//@ BF16_AT
// Element j of a vector of bf16. An odd element is the upper half of its word, as in the f32.
template <int N> static IND_INLINE float ind_bf16_at(const ind_vec<unsigned short, N> &v, int j) {
    const unsigned word = v.word[j / 2];
    return __uint_as_float(j % 2 ? word & 0xffff0000u : word << 16);
}
//@ OPAQUE
// Hides the value of x from the compiler: it keeps x in registers as loaded, and converts it again in every pass.
template <typename T, int N, int K> static IND_INLINE void ind_opaque(ind_vec<T, N> (&x)[K]) {
#ifndef IND_EMULATION
    _Pragma("unroll")
    for (int i = 0; i < (int)sizeof x / 4; i++) asm volatile("" : "+r"(reinterpret_cast<unsigned *>(&x)[i]));
#endif
}
//@ VEC_PART
// N elements from position r of a row of n elements. Elements before and after the row are skipped.
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
//@ ROW_BYTES
// Bytes to copy of 8 adjacent elements of 16 bits, if `left` of them are before the end of the row.
template <typename I> static IND_INLINE int ind_row_bytes(I left) {
    return 2 * (int)(left > 8 ? 8 : left < 0 ? 0 : left);
}
//@ CP_ASYNC
#ifndef IND_EMULATION
// Asynchronous copy of 16 bytes to shared memory, or with `bytes` = 0 of none: they are set to zero.
static IND_INLINE void ind_cp_async16(void *smem, const void *global, int bytes) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
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
//@ CP_ASYNC_PART
#ifndef IND_EMULATION
// Asynchronous copy of `bytes` (0 to 16) into 16 bytes of shared memory. The rest is set to zero. All 16 bytes at `global`
// must exist unless `bytes` is 0: the hardware reads `bytes` of them, but compute-sanitizer checks 16.
static IND_INLINE void ind_cp_async16_partial(void *smem, const void *global, int bytes) {
    ind_cp_async16(smem, global, bytes);
}
#endif
// Copies `bytes` (1 to N - 1) into N (8 or 16) bytes of shared memory by loads. The rest is set to zero. Both addresses
// are multiples of N, `bytes` is a multiple of UNIT.
template <int N, int UNIT> static IND_INLINE void ind_copy_part(void *smem, const void *global, int bytes) {
    const char *const from = (const char *)global;
    char *const to = (char *)smem;
    unsigned long long eight = 0;
    unsigned four = 0;
    unsigned short two = 0;
    char one = 0;
    if (N > 8 && bytes & 8) eight = *(const unsigned long long *)from;
    if (UNIT < 8 && bytes & 4) four = *(const unsigned *)(from + (bytes & 8));
    if (UNIT < 4 && bytes & 2) two = *(const unsigned short *)(from + (bytes & 12));
    if (UNIT < 2 && bytes & 1) one = from[bytes & 14];
    _Pragma("unroll")
    for (int i = 0; i < N; i += 8) *(unsigned long long *)(to + i) = i ? 0 : eight;
    if (UNIT < 8 && bytes & 4) *(unsigned *)(to + (bytes & 8)) = four;
    if (UNIT < 4 && bytes & 2) *(unsigned short *)(to + (bytes & 12)) = two;
    if (UNIT < 2 && bytes & 1) to[bytes & 14] = one;
}
// Copies `bytes` of a chunk that may reach past `end`, the end of the tensor. Then it is copied by loads. The barrier after
// the wait for asynchronous copies makes their stores visible, too.
template <typename T> static IND_INLINE void ind_cp_async16_before(void *smem, const T *global, int bytes, const T *end) {
    if (bytes == 0 || (const char *)end - (const char *)global >= 16)
        ind_cp_async16_partial(smem, global, bytes);
    else
        ind_copy_part<16, sizeof(T)>(smem, global, bytes);
}
//@ HIDDEN
// Hides where x comes from: in code that rarely runs, so that the compiler keeps no registers for it in the loop around it.
template <typename T> static IND_INLINE T ind_hidden(T x) {
#ifndef IND_EMULATION
    if constexpr (sizeof(T) == 4)
        asm volatile("" : "+r"(x));
    else
        asm volatile("" : "+l"(x));
#endif
    return x;
}
//@ CP_ASYNC_BY
#ifdef IND_EMULATION
static IND_INLINE char *ind_lane_address(uint4 *p) { return reinterpret_cast<char *>(p); }
static IND_INLINE void ind_cp_async16_by(char *to, const void *global, unsigned long long policy) {
    ind_cp_async16(to, global, 16);
}
#else
// The shared address p of a lane. It goes through a shuffle, which hides from ptxas that it is a sum. ptxas folds the sum
// of a register and a uniform register into the copy, which with a cache policy is an illegal instruction.
static IND_INLINE unsigned ind_lane_address(const uint4 *p) {
    return __shfl_sync(0xffffffffu, (unsigned)__cvta_generic_to_shared(p), threadIdx.x % 32);
}
// Asynchronous copy of 16 bytes with an L2 cache policy.
static IND_INLINE void ind_cp_async16_by(unsigned to, const void *global, unsigned long long policy) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(global), "l"(policy) : "memory");
}
#endif
