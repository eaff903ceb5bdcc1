// Scans along rows and across blocks.
//@ SCAN_SUM
// States of a scan. `combine` combines this state with the state of the elements that follow.
template <typename T> struct ind_scan_sum {
    T value;
    IND_INLINE void combine(const ind_scan_sum &o) { value += o.value; }
    IND_INLINE ind_scan_sum up(int d) const { return {__shfl_up_sync(0xffffffffu, value, d)}; }
    IND_INLINE ind_scan_sum lane(int l) const { return {__shfl_sync(0xffffffffu, value, l)}; }
};
//@ SCAN_PROD
template <typename T> struct ind_scan_prod {
    T value;
    IND_INLINE void combine(const ind_scan_prod &o) { value *= o.value; }
    IND_INLINE ind_scan_prod up(int d) const { return {__shfl_up_sync(0xffffffffu, value, d)}; }
    IND_INLINE ind_scan_prod lane(int l) const { return {__shfl_sync(0xffffffffu, value, l)}; }
};
//@ SCAN_LOG
static IND_INLINE float ind_scan_exp(float x) { return expf(x); }
static IND_INLINE double ind_scan_exp(double x) { return exp(x); }
static IND_INLINE float ind_scan_ln(float x) { return logf(x); }
static IND_INLINE double ind_scan_ln(double x) { return log(x); }
// Maximum and sum of exp(x - maximum): one exp combines two states. Equal infinities and NaN are preserved.
template <typename T> struct ind_scan_log {
    T max, sum;
    IND_INLINE T value() const { return max + ind_scan_ln(sum); }
    IND_INLINE void combine(const ind_scan_log &o) {
        const bool less = max < o.max;
        const T high = less ? o.max : max, low = less ? max : o.max;
        const T scale = low == high ? T(1) : ind_scan_exp(low - high);
        sum = less ? o.sum + sum * scale : sum + o.sum * scale;
        max = high;
    }
    IND_INLINE ind_scan_log up(int d) const {
        return {__shfl_up_sync(0xffffffffu, max, d), __shfl_up_sync(0xffffffffu, sum, d)};
    }
    IND_INLINE ind_scan_log lane(int l) const {
        return {__shfl_sync(0xffffffffu, max, l), __shfl_sync(0xffffffffu, sum, l)};
    }
};
//@ SCAN_EXTREME
// Largest (smallest) value and its position, or -1. The later of equal values wins. NaN is preserved.
template <typename T, typename I, bool UP> struct ind_scan_extreme {
    T value;
    I at;
    IND_INLINE void combine(const ind_scan_extreme &o) {
        const bool wins = value == value && (UP ? o.value >= value : o.value <= value);
        if (o.at < 0 || !(at < 0 || wins || o.value != o.value)) return;
        value = o.value;
        at = o.at;
    }
    IND_INLINE ind_scan_extreme up(int d) const {
        return {__shfl_up_sync(0xffffffffu, value, d), __shfl_up_sync(0xffffffffu, at, d)};
    }
    IND_INLINE ind_scan_extreme lane(int l) const {
        return {__shfl_sync(0xffffffffu, value, l), __shfl_sync(0xffffffffu, at, l)};
    }
};
//@ SCAN
// Inclusive scan over LANES adjacent lanes.
template <int LANES, class S> static IND_INLINE void ind_scan_lanes(S &s) {
    _Pragma("unroll")
    for (int d = 1; d < LANES; d *= 2) {
        S before = s.up(d);
        before.combine(s);
        if (threadIdx.x % LANES >= d) s = before;
    }
}
// Exclusive scan of a warp. Its part of the row has K lines; a line has one segment per lane. s[k]: in, the state of this
// lane's segment of line k; out, the state of all segments before it. Returns the state of all lines.
template <int LANES, int K, class S> static IND_INLINE S ind_scan_lines(S (&s)[K], const S &none) {
    S all = none;
    _Pragma("unroll")
    for (int k = 0; k < K; k++) {
        ind_scan_lanes<LANES>(s[k]);
        S before = s[k].up(1), line = s[k].lane((threadIdx.x & 31 & ~(LANES - 1)) + LANES - 1);
        if (threadIdx.x % LANES == 0) before = none;
        s[k] = all;
        s[k].combine(before);
        all.combine(line);
    }
    return all;
}
// The same for a block; each warp has a part of the row. carry: in, the state before the block's chunk; out, the state
// before the next chunk. shared[WARPS] alternates: it is not written while warps may read the last chunk's.
template <int LANES, int WARPS, int K, class S>
static IND_INLINE void ind_scan_threads(S (&s)[K], const S &none, S *shared, S &carry) {
    const S all = ind_scan_lines<LANES>(s, none);
    S front = carry;
    if (WARPS > 1) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        if (lane == 0) shared[warp] = all;
        __syncthreads();
        S warps = lane < WARPS ? shared[lane] : none;
        ind_scan_lanes<32>(warps);
        const S previous = warps.lane(warp > 0 ? warp - 1 : 0);
        if (warp > 0) front.combine(previous);
        carry.combine(warps.lane(WARPS - 1));
    } else {
        carry.combine(all);
    }
    _Pragma("unroll")
    for (int k = 0; k < K; k++) {
        S before = front;
        before.combine(s[k]);
        s[k] = before;
    }
}
//@ SCAN_TEAM
// TEAM threads, LANES apart, have consecutive parts of N rows. s[j]: in, the state of this thread's part of row j; out, the
// state before it. The first LANES * N threads each scan the parts of one row, or of carry[] rows. carry: in, the state
// before the chunk; out, before the next one. shared[TEAM * N * LANES] alternates between chunks.
template <int LANES, int TEAM, int N, int ROWS, class S>
static IND_INLINE void ind_scan_team(S (&s)[N], S *shared, S (&carry)[ROWS]) {
    const int x = threadIdx.x % LANES, y = threadIdx.x / LANES;
    if (TEAM == 1) {
        _Pragma("unroll")
        for (int j = 0; j < N; j++) {
            const S part = s[j];
            s[j] = carry[j];
            carry[j].combine(part);
        }
        return;
    }
    _Pragma("unroll")
    for (int j = 0; j < N; j++) shared[(y * N + j) * LANES + x] = s[j];
    __syncthreads();
    _Pragma("unroll")
    for (int k = 0; k < ROWS; k++) {
        const int row = k * LANES * TEAM + threadIdx.x;
        if (row >= LANES * N) break;
        _Pragma("unroll 4")
        for (int i = 0; i < TEAM; i++) {
            const S part = shared[i * N * LANES + row];
            shared[i * N * LANES + row] = carry[k];
            carry[k].combine(part);
        }
    }
    __syncthreads();
    _Pragma("unroll")
    for (int j = 0; j < N; j++) s[j] = shared[(y * N + j) * LANES + x];
}
//@ LOOKBACK
// A state in global memory: a 64-bit word per 4 bytes. A word is valid if its upper half is not 0.
template <class S> struct ind_scan_words {
    static constexpr int N = sizeof(S) / 4;
    unsigned long long word[N];
    static IND_INLINE void publish(unsigned long long *to, const S &s) {
        union {
            S state;
            unsigned part[N];
        } u = {s};
        _Pragma("unroll")
        for (int k = 0; k < N; k++) ((volatile unsigned long long *)to)[k] = 1ull << 32 | u.part[k];
    }
    // All words are loaded before the first wait.
    IND_INLINE void look(const unsigned long long *from) {
        _Pragma("unroll")
        for (int k = 0; k < N; k++) word[k] = ((const volatile unsigned long long *)from)[k];
    }
    IND_INLINE S await(const unsigned long long *from) {
        union {
            unsigned part[N];
            S state;
        } u = {};
        _Pragma("unroll")
        for (int k = 0; k < N; k++) {
            while (word[k] >> 32 == 0) word[k] = ((const volatile unsigned long long *)from)[k];
            u.part[k] = (unsigned)word[k];
        }
        return u.state;
    }
};
// Decoupled lookback by one warp: the state before a tile of its row. Tiles form groups of 32; the last tile of a group
// computes the state before the next group. States are combined in a fixed order, whichever tile finishes first. A tile
// publishes a state only if another tile waits for it: no word is in flight when the last reader clears the words.
template <class S>
static IND_INLINE S ind_scan_look_back(unsigned long long *total, unsigned long long *group, int tile, int tiles, const S &all,
                                              const S &none) {
    typedef ind_scan_words<S> words;
    const int lane = threadIdx.x % 32, in = tile % 32;
    const bool last = tile == tiles - 1;
    words totals, groups;
    total += (tile - in + lane) * (long long)words::N;
    group += tile / 32 * (long long)words::N;
    if (lane == in && in < 31 && !last) words::publish(total, all);
    if (lane < in) totals.look(total);
    if (tile >= 32) groups.look(group);
    S front = none;
    if (lane < in) front = totals.await(total);
    ind_scan_lanes<32>(front);
    const S before = front.lane(31);
    front = tile >= 32 ? groups.await(group) : none;
    front.combine(before);
    if (lane == 0 && in == 31 && !last) {
        S next = front;
        next.combine(all);
        words::publish(group + words::N, next);
    }
    return front;
}
// As ind_scan_threads, for a tile of the row. shared[WARPS + 1].
template <int WARPS, int K, class S>
static IND_INLINE void ind_scan_tile(S (&s)[K], const S &none, S *shared, unsigned long long *total, unsigned long long *group, int tile,
                                             int tiles) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const S all = ind_scan_lines<32>(s, none);
    if (lane == 0) shared[warp] = all;
    __syncthreads();
    S warps = lane < WARPS ? shared[lane] : none;
    ind_scan_lanes<32>(warps);
    const S previous = warps.lane(warp > 0 ? warp - 1 : 0);
    if (warp == 0) {
        const S before = ind_scan_look_back(total, group, tile, tiles, warps.lane(WARPS - 1), none);
        if (lane == 0) shared[WARPS] = before;
    }
    __syncthreads();
    S front = shared[WARPS];
    if (warp > 0) front.combine(previous);
    _Pragma("unroll")
    for (int k = 0; k < K; k++) {
        S before = front;
        before.combine(s[k]);
        s[k] = before;
    }
}
//@ SCAN_MAYBE
// A state of a combine function without an identity element, with a flag: is there a state?
template <class S> struct ind_scan_maybe {
    S state;
    int any;
    IND_INLINE void combine(const ind_scan_maybe &o) {
        if (any && o.any)
            state.combine(o.state);
        else if (o.any)
            *this = o;
    }
    IND_INLINE ind_scan_maybe up(int d) const { return {state.up(d), __shfl_up_sync(0xffffffffu, any, d)}; }
    IND_INLINE ind_scan_maybe lane(int l) const { return {state.lane(l), __shfl_sync(0xffffffffu, any, l)}; }
};
