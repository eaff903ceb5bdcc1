// Combining states across lanes, warps, blocks and clusters.
//@ DEPENDENCY
// This launch may begin before the one before it is done. Behind the wait it is, and all that it wrote is seen.
#ifndef IND_EMULATION
static IND_INLINE void ind_dependency_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
#endif
//@ JOIN_LANES
// Joins the states of LANES neighbouring lanes; every one of them gets the result.
template <int LANES, class S> static IND_INLINE void ind_join_lanes(S &s) {
    _Pragma("unroll")
    for (int d = LANES / 2; d > 0; d /= 2) s.join(s.lane(d));
}
//@ JOIN_MOMENTS
// Joins N states STEP apart of each of LANES lanes, of `count` values in all, with one division.
template <int N, int STEP, int LANES, typename T>
static IND_INLINE ind_welford<T> ind_join_moments(const ind_welford<T> *shared, T count) {
    ind_welford<T> part[N];
    ind_sum<T> sum = {0}, squares = {0};
    _Pragma("unroll")
    for (int i = 0; i < N; i++) {
        part[i] = shared[i * STEP];
        sum.join({part[i].count * part[i].mean});
    }
    ind_join_lanes<LANES>(sum);
    const T mean = sum.value / count;
    _Pragma("unroll")
    for (int i = 0; i < N; i++)
        squares.join({part[i].m2 + part[i].count * (part[i].mean - mean) * (part[i].mean - mean)});
    ind_join_lanes<LANES>(squares);
    return {count, mean, squares.value};
}
//@ JOIN_SHARED
// Joins N states in shared memory, STEP apart, always in the same order.
template <int N, int STEP, class S> static IND_INLINE S ind_join_shared(const S *shared) {
    S s = shared[0];
    _Pragma("unroll")
    for (int i = 1; i < N; i++) s.join(shared[i * STEP]);
    return s;
}
//@ JOIN_WARPS
// Joins the states of so many warps, MOST at the most, always in the same order. All are read at once.
template <int MOST, class S> static IND_INLINE S ind_join_warps(const S *shared, int warps) {
    S s[MOST];
    _Pragma("unroll")
    for (int i = 0; i < MOST; i++) s[i] = shared[i];
    _Pragma("unroll")
    for (int i = 1; i < MOST; i++)
        if (i < warps) s[0].join(s[i]);
    return s[0];
}
//@ JOIN_APART
// Joins the states of a warp's lanes that lie STEP apart; every one of them gets the result.
template <int STEP, class S> static IND_INLINE void ind_join_apart(S &s) {
    _Pragma("unroll")
    for (int d = 16; d >= STEP; d /= 2) s.join(s.lane(d));
}
//@ JOIN_NEIGHBOURS
// Joins N states pairwise.
template <int N, class S> static IND_INLINE S ind_join_neighbours(S (&s)[N]) {
    _Pragma("unroll")
    for (int d = 1; d < N; d *= 2)
        _Pragma("unroll")
        for (int i = 0; i < N; i += 2 * d) s[i].join(s[i + d]);
    return s[0];
}
//@ LAST_BLOCK
// All threads of a block call this once it has written what it found. True in the last of the blocks that count on
// the same counter: there, all that the others have written is seen. The counter is 0 again then.
static IND_INLINE bool ind_last_block(unsigned *counter, unsigned blocks) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
#ifdef IND_EMULATION
        __threadfence();
        const unsigned before = atomicInc(counter, blocks - 1);
        __threadfence();
#else
        unsigned before;
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(before) : "l"(__cvta_generic_to_global(counter)), "r"(blocks - 1) : "memory");
#endif
        last = before == blocks - 1;
    }
    __syncthreads();
    return last;
}
//@ TURN
// The block's number by when it begins, in its first thread: known once it is asked for. The counter is 0 again
// behind the last one. All others have begun before that, and end without it, so that it may wait for them.
static IND_INLINE unsigned ind_turn(unsigned *counter, unsigned blocks) {
    unsigned turn = 0;
#ifdef IND_EMULATION
    if (threadIdx.x == 0) turn = atomicInc(counter, blocks - 1);
#else
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.eq.u32 p, %2, 0;\n"
                 "@p atom.relaxed.gpu.global.inc.u32 %0, [%1], %3;\n"
                 "}" : "+r"(turn) : "l"(__cvta_generic_to_global(counter)), "r"(threadIdx.x), "r"(blocks - 1)
                 : "memory");
#endif
    return turn;
}
// For all threads of the block.
static IND_INLINE bool ind_began_last(unsigned turn, unsigned blocks) {
    return __syncthreads_or(threadIdx.x == 0 && turn == blocks - 1);
}
//@ SPLIT_WORDS
// A state on its way to another block, a word for each 4 bytes; a word is there once its upper half is not 0.
template <class S> union ind_split_state {
    unsigned part[sizeof(S) / 4];
    S state;
};
template <class S> static IND_INLINE void ind_split_leave(volatile unsigned long long *to, const S &s) {
    ind_split_state<S> u = {};
    u.state = s;
    _Pragma("unroll")
    for (int k = 0; k < (int)(sizeof(S) / 4); k++) to[k] = 1ull << 32 | u.part[k];
}
template <class S> static IND_INLINE void ind_split_take(volatile unsigned long long *from, S &s) {
    ind_split_state<S> u = {};
    unsigned long long word[sizeof(S) / 4]; // all are looked at before any is waited for
    _Pragma("unroll")
    for (int k = 0; k < (int)(sizeof(S) / 4); k++) word[k] = from[k];
    _Pragma("unroll")
    for (int k = 0; k < (int)(sizeof(S) / 4); k++) {
        while (word[k] >> 32 == 0) word[k] = from[k];
        from[k] = 0;
        u.part[k] = (unsigned)word[k];
    }
    s = u.state;
}
//@ CLUSTER
// The blocks of a cluster exchange states: each sends its own to all of them. A barrier in shared memory counts
// the bytes that have come; nothing else is waited for, in particular no store on its way to memory.
#ifndef IND_EMULATION
static IND_INLINE unsigned ind_shared_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
static IND_INLINE void ind_cluster_begin(unsigned long long *barrier, int count) {
    if (threadIdx.x == 0)
        for (int i = 0; i < count; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(ind_shared_address(barrier + i)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
}
static IND_INLINE void ind_cluster_begun(void) {
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
template <class S>
static IND_INLINE void ind_cluster_send(S *at, unsigned long long *barrier, int block, const S &s) {
    unsigned to, signal;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(ind_shared_address(at)), "r"(block));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(signal) : "r"(ind_shared_address(barrier)), "r"(block));
    _Pragma("unroll")
    for (int i = 0; i < (int)(sizeof(S) / 4); i++)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                     :: "r"(to + 4 * i), "r"(reinterpret_cast<const unsigned *>(&s)[i]), "r"(signal) : "memory");
}
static IND_INLINE void ind_cluster_expect(unsigned long long *barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(ind_shared_address(barrier)), "r"(bytes) : "memory");
}
static IND_INLINE void ind_cluster_wait(unsigned long long *barrier, int phase) {
    unsigned done;
    do
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}" : "=r"(done) : "r"(ind_shared_address(barrier)), "r"(phase) : "memory");
    while (!done);
}
#endif
