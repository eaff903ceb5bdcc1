// Combining states across lanes, warps, blocks and clusters.
//@ DEPENDENCY
// Programmatic dependent launch: waits until the previous kernel in the stream has finished and its writes are visible.
#ifndef IND_EMULATION
static IND_INLINE void ind_dependency_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
#endif
//@ TRIGGER
// The next launch may start its blocks once all blocks of this one have called this or ended; not in a grid of more
// blocks than `most`.
#ifndef IND_EMULATION
static IND_INLINE void ind_dependency_trigger(unsigned long long most) {
    if ((unsigned long long)gridDim.x * gridDim.y * gridDim.z <= most) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#endif
//@ TASKS
// A persistent launch. Its tasks are the blocks of several kernels, in an order in which each task needs earlier ones
// only. Blocks take them by a counter. The kernels are divided into phases; a task waits until all tasks before its
// phase have finished. The task with the lowest number of those that have not finished never waits, so any number of
// resident blocks makes progress.
struct ind_counters { // tasks, tasks, blocks; 0 before and after the launch. The first two have separate cache lines
    unsigned taken, line1[31], finished, line2[31], ended, timed_out; // timed_out: the number of tasks that a wait was for, or 0
};
// Of a kernel: the first task after its own, and the tasks before its phase.
struct ind_step {
    long long end, before;
};
// Its function and row of the table; `waits`: the function calls ind_task_wait.
struct ind_part {
    unsigned short function, row, waits;
};
struct ind_task_state {
    ind_counters *counters;
    unsigned number, before, before_previous; // of the block's task; tasks before its phase, and before the previous phase
};
static IND_INLINE ind_task_state &ind_task() {
    __shared__ ind_task_state state;
    return state;
}
// Barrier of the first THREADS threads of the block.
#ifndef IND_EMULATION
template <int THREADS> static IND_INLINE void ind_barrier_of() {
    asm volatile("bar.sync 1, %0;" : : "n"(THREADS) : "memory");
}
#endif
// Adds 1 in the first thread of the block. All lanes of a warp call these: without a branch the compiler keeps the warp
// together.
static IND_INLINE unsigned ind_add_once(unsigned *counter) {
    unsigned before = 0;
#ifdef IND_EMULATION
    if (threadIdx.x == 0) before = atomicAdd(counter, 1);
#else
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.eq.u32 p, %2, 0;\n"
                 "@p atom.relaxed.gpu.global.add.u32 %0, [%1], 1;\n"
                 "}" : "+r"(before) : "l"(__cvta_generic_to_global(counter)), "r"(threadIdx.x) : "memory");
#endif
    return before;
}
// The same after all earlier writes of the block.
static IND_INLINE void ind_release_once(unsigned *counter) {
#ifdef IND_EMULATION
    if (threadIdx.x == 0) atomicAdd(counter, 1);
#else
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.eq.u32 p, %1, 0;\n"
                 "@p red.release.gpu.global.add.u32 [%0], 1;\n"
                 "}" : : "l"(__cvta_generic_to_global(counter)), "r"(threadIdx.x) : "memory");
#endif
}
#ifdef IND_TASK_LIMIT // nanoseconds
static IND_INLINE unsigned long long ind_nanoseconds() {
#ifdef IND_EMULATION
    return ind_emulation_nanoseconds();
#else
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
#endif
}
// True if this wait, or another of the launch, has timed out: no task waits from then on.
static IND_INLINE bool ind_wait_timed_out(ind_counters *counters, unsigned before, unsigned long long begin) {
    volatile unsigned *const timed_out = &counters->timed_out;
    if (ind_nanoseconds() - begin > IND_TASK_LIMIT) *timed_out = before;
    return *timed_out != 0;
}
#endif
// Waits in warp 0 until `finished` is at least `before`. Below `before_previous` the wait is for
// several phases: the block polls the counter less often, so that the others read it faster.
static IND_INLINE void ind_wait_for_tasks(ind_counters *counters, unsigned before, unsigned before_previous) {
    if (threadIdx.x >= 32) return;
#ifdef IND_TASK_LIMIT
    const unsigned long long begin = ind_nanoseconds();
#endif
    for (;;) {
#ifdef IND_EMULATION
        const unsigned now = *(const volatile unsigned *)&counters->finished;
#else
        unsigned now;
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(__cvta_generic_to_global(&counters->finished)) : "memory");
#endif
        if (now >= before) return;
#ifdef IND_TASK_LIMIT
        if (ind_wait_timed_out(counters, before, begin)) return;
#endif
#ifdef IND_EMULATION
        ind_yield_block();
#else
        if (now < before_previous) __nanosleep(300);
#endif
    }
}
// The threads of a task, the first THREADS ones of the block, wait for all tasks before its phase. 0: all threads.
template <int THREADS> static IND_INLINE void ind_task_wait() {
    ind_wait_for_tasks(ind_task().counters, ind_task().before, ind_task().before_previous);
    if (THREADS) ind_barrier_of<THREADS ? THREADS : 32>();
    else __syncthreads();
}
// The same, then the block computes the kernels of the phase before that each task recomputes.
template <int THREADS, class RECOMPUTED> static IND_INLINE void ind_task_wait(const RECOMPUTED &recomputed) {
    ind_task_wait<THREADS>();
    recomputed();
    __syncthreads();
}
// All threads of a block call this before each task. `next` is the number of that task, in lane 0 of warp 0. It becomes
// the number of the following task, which arrives while the task runs. `at` becomes the kernel of the task. Returns
// false if there is no task.
static IND_INLINE bool ind_take_task(ind_counters *counters, const ind_step *step, const ind_part *part, unsigned num,
                                     unsigned &at, unsigned &next) {
    ind_task_state &task = ind_task();
#ifdef IND_EMULATION
    ind_yield_block();
#endif
    if (threadIdx.x < 32) {
        const unsigned number = __shfl_sync(0xffffffffu, next, 0);
        if (number < num) {
            while (number >= step[at].end) at++;
            const unsigned before = (unsigned)step[at].before;
            unsigned last = at; // a kernel of the previous phase
            while (last > 0 && step[last].before == before) last--;
            const unsigned before_previous = (unsigned)step[last].before;
            if (threadIdx.x == 0) task = {counters, number, before, before_previous};
            next = ind_add_once(&counters->taken);
            if (!part[at].waits) ind_wait_for_tasks(counters, before, before_previous);
        } else if (threadIdx.x == 0) {
            task.number = number;
        }
    }
    __syncthreads();
    if (task.number >= num) return false;
    while (task.number >= step[at].end) at++;
    return true;
}
// All threads of a block call this after a task. Its writes become visible.
static IND_INLINE void ind_finish_task(ind_counters *counters) {
    __syncthreads();
    ind_release_once(&counters->finished);
}
// All threads of a block call this after its last task. The last block resets the counters.
static IND_INLINE void ind_end_tasks(ind_counters *counters, unsigned long long *error = 0) {
#ifdef IND_TASK_LIMIT
    __threadfence(); // the last block reads `timed_out`
#endif
    if (threadIdx.x || atomicAdd(&counters->ended, 1) != gridDim.x - 1) return;
#ifdef IND_TASK_LIMIT
    const unsigned before = *(volatile unsigned *)&counters->timed_out;
    if (before) error[0] = ~0ull, error[1] = before;
#endif
    counters->taken = counters->finished = counters->ended = counters->timed_out = 0;
}
//@ COMBINE_LANES
// Combines the states of LANES adjacent lanes. Every lane gets the result.
template <int LANES, class S> static IND_INLINE void ind_combine_lanes(S &s) {
    _Pragma("unroll")
    for (int d = LANES / 2; d > 0; d /= 2) s.combine(s.lane(d));
}
//@ COMBINE_MOMENTS
// Combines N states, STEP apart, of each of LANES lanes. They are of `count` values in all: one division is enough.
template <int N, int STEP, int LANES, typename T>
static IND_INLINE ind_welford<T> ind_combine_moments(const ind_welford<T> *shared, T count) {
    ind_welford<T> part[N];
    ind_sum<T> sum = {0}, squares = {0};
    _Pragma("unroll")
    for (int i = 0; i < N; i++) {
        part[i] = shared[i * STEP];
        sum.combine({part[i].count * part[i].mean});
    }
    ind_combine_lanes<LANES>(sum);
    const T mean = sum.value / count;
    _Pragma("unroll")
    for (int i = 0; i < N; i++)
        squares.combine({part[i].m2 + part[i].count * (part[i].mean - mean) * (part[i].mean - mean)});
    ind_combine_lanes<LANES>(squares);
    return {count, mean, squares.value};
}
//@ COMBINE_SHARED
// Combines N states in shared memory, STEP apart, in a fixed order.
template <int N, int STEP, class S> static IND_INLINE S ind_combine_shared(const S *shared) {
    S s = shared[0];
    _Pragma("unroll")
    for (int i = 1; i < N; i++) s.combine(shared[i * STEP]);
    return s;
}
//@ COMBINE_WARPS
// Combines the states of the given number of warps, at most MOST, in a fixed order. All loads are issued first.
template <int MOST, class S> static IND_INLINE S ind_combine_warps(const S *shared, int warps) {
    S s[MOST];
    _Pragma("unroll")
    for (int i = 0; i < MOST; i++) s[i] = shared[i];
    _Pragma("unroll")
    for (int i = 1; i < MOST; i++)
        if (i < warps) s[0].combine(s[i]);
    return s[0];
}
//@ COMBINE_STRIDED
// Combines the states of a warp's lanes that are STEP apart. Every lane gets the result.
template <int STEP, class S> static IND_INLINE void ind_combine_strided(S &s) {
    _Pragma("unroll")
    for (int d = 16; d >= STEP; d /= 2) s.combine(s.lane(d));
}
//@ COMBINE_NEIGHBOURS
// Combines N states pairwise.
template <int N, class S> static IND_INLINE S ind_combine_neighbours(S (&s)[N]) {
    _Pragma("unroll")
    for (int d = 1; d < N; d *= 2)
        _Pragma("unroll")
        for (int i = 0; i < N; i += 2 * d) s[i].combine(s[i + d]);
    return s[0];
}
//@ LAST_BLOCK
// All threads of a block call this after the block has written its partial results. Returns true in the last of the
// blocks that share the counter. That block sees all partial results. It resets the counter to 0.
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
//@ LAST_WARP
// The same among warps that share the counter.
static IND_INLINE bool ind_last_warp(unsigned *counter, unsigned warps) {
    unsigned before = 0;
    __syncwarp();
    if ((threadIdx.x & 31) == 0) {
#ifdef IND_EMULATION
        __threadfence();
        before = atomicInc(counter, warps - 1);
        __threadfence();
#else
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(before) : "l"(__cvta_generic_to_global(counter)), "r"(warps - 1) : "memory");
#endif
    }
    return __shfl_sync(0xffffffffu, before, 0) == warps - 1;
}
//@ TURN
// A block's number in the order in which blocks start, in thread 0. A block may wait for blocks with lower numbers:
// they have started. The last block resets the counter to 0.
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
// The number in every thread of the block.
static IND_INLINE bool ind_began_last(unsigned turn, unsigned blocks) {
    return __syncthreads_or(threadIdx.x == 0 && turn == blocks - 1);
}
//@ SPLIT_WORDS
// A state that is sent to another block: a 64-bit word per 4 bytes. A word is valid if its upper half is not 0.
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
    unsigned long long word[sizeof(S) / 4]; // all words are loaded before the first wait
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
// The blocks of a cluster exchange states through distributed shared memory: each block sends its state to all. An
// mbarrier counts the bytes received. Stores to global memory that are in flight are not waited for.
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
