// Sorts of rows.
//@ SORT_F16
struct ind_key_f16 {
    static IND_INLINE float of(unsigned short x) { return ind_f16_to_f32(x); }
};
//@ SORT_BF16
struct ind_key_bf16 {
    static IND_INLINE float of(unsigned short x) { return ind_bf16_to_f32(x); }
};
//@ SORT
template <typename T> struct ind_key {
    static IND_INLINE T of(T x) { return x; }
};
// Does element a at position i belong before b at position j? NaN is larger than every number. Equal elements are ordered
// by position.
template <bool DOWN, typename T, typename P> static IND_INLINE bool ind_sorts_before(T a, P i, T b, P j) {
    if (a < b || (b != b && a == a)) return !DOWN;
    if (a > b || (a != a && b == b)) return DOWN;
    return i < j;
}
// One step of Batcher's bitonic network, in the form whose comparators all have the same direction. Elements beyond the
// last one would never move, so n need not be a power of two. Pairs are `gap` apart, or mirrored in their block if gap ==
// half.
template <class KEY, bool DOWN, typename U, typename T, typename P>
static IND_INLINE void ind_sort_step(T *key, U key_step, P *at, U at_step, U n, U half, U gap, int threads) {
    __syncthreads();
    for (U q = threadIdx.x;; q += threads) {
        const U in = q & (gap - 1), low = (q - in) * 2 + in, high = gap == half ? low - in + 2 * gap - 1 - in : low + gap;
        if (low >= n) break;
        if (high >= n) continue;
        const T a = key[low * key_step], b = key[high * key_step];
        const P i = at[low * at_step], j = at[high * at_step];
        if (!ind_sorts_before<DOWN>(KEY::of(b), j, KEY::of(a), i)) continue;
        key[low * key_step] = b;
        key[high * key_step] = a;
        at[low * at_step] = j;
        at[high * at_step] = i;
    }
}
// A block sorts n elements and their positions in place.
template <class KEY, bool DOWN, typename U, typename T, typename P>
static IND_INLINE void ind_sort(T *key, P *at, U n, int threads) {
    for (U half = 1; half < n; half *= 2)
        for (U gap = half; gap > 0; gap /= 2) ind_sort_step<KEY, DOWN, U>(key, 1, at, 1, n, half, gap, threads);
    __syncthreads();
}
//@ SORT_LONG
// The same for a row in global memory: steps within CHUNK elements run in shared memory.
template <class KEY, bool DOWN, int CHUNK, typename U, typename T, typename P, typename I>
static IND_INLINE void ind_sort_long(T *key, U key_step, P *at, U at_step, U n, T *keys, I *places, int threads) {
    for (U size = CHUNK;; size *= 2) {
        for (U gap = size / 2; gap >= CHUNK; gap /= 2)
            ind_sort_step<KEY, DOWN, U>(key, key_step, at, at_step, n, size / 2, gap, threads);
        for (U begin = 0; begin < n; begin += CHUNK) {
            const U m = n - begin < CHUNK ? n - begin : (U)CHUNK;
            __syncthreads();
            for (U i = threadIdx.x; i < m; i += threads) {
                keys[i] = key[(begin + i) * key_step];
                places[i] = (I)at[(begin + i) * at_step];
            }
            if (size == CHUNK) ind_sort<KEY, DOWN, U>(keys, places, m, threads);
            for (U gap = CHUNK / 2; gap > 0 && size > CHUNK; gap /= 2)
                ind_sort_step<KEY, DOWN, U>(keys, 1, places, 1, m, 0, gap, threads);
            __syncthreads();
            for (U i = threadIdx.x; i < m; i += threads) {
                key[(begin + i) * key_step] = keys[i];
                at[(begin + i) * at_step] = places[i];
            }
        }
        if (size >= n) break;
    }
}
