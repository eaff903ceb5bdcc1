// States of reductions, and how two states are combined.
//@ SUM
// State of a reduction. `combine` combines two states; `lane` reads that of the lane whose number differs in bits d.
template <typename T> struct ind_sum {
    T value;
    IND_INLINE void combine(const ind_sum &o) { value = value + o.value; }
    IND_INLINE ind_sum lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }
};
//@ PROD
template <typename T> struct ind_prod {
    T value;
    IND_INLINE void combine(const ind_prod &o) { value = value * o.value; }
    IND_INLINE ind_prod lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }
};
//@ MAX
template <typename T> struct ind_maximum {
    T value;
    IND_INLINE void combine(const ind_maximum &o) { value = ind_max(value, o.value); }
    IND_INLINE ind_maximum lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }
};
//@ MAX_WARP
// Maximum of a warp by redux.sync on integers that have the order of the floats. NaN is the largest.
#ifndef IND_EMULATION
template <int LANES> static IND_INLINE void ind_combine_lanes(ind_maximum<float> &s) {
    if (LANES == 32) {
        const int i = __float_as_int(s.value), key = i ^ (i >> 31 & 0x7fffffff);
        const int m = __reduce_max_sync(0xffffffffu, key);
        s.value = __int_as_float(m ^ (m >> 31 & 0x7fffffff));
    } else {
        _Pragma("unroll")
        for (int d = LANES / 2; d > 0; d /= 2) s.combine(s.lane(d));
    }
}
#endif
//@ MAX_BF16
// Combines a state with the maximum of N bf16, by packed 2-element instructions.
#ifndef IND_EMULATION
static IND_INLINE unsigned ind_max_bf16x2(unsigned a, unsigned b) {
    unsigned m;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(m) : "r"(a), "r"(b));
    return m;
}
#else
static IND_INLINE unsigned ind_max_bf16x2(unsigned a, unsigned b) {
    unsigned m[2];
    for (int i = 0; i < 2; i++)
        m[i] = ind_f32_to_bf16(ind_max(ind_bf16_to_f32((unsigned short)(a >> 16 * i)), ind_bf16_to_f32((unsigned short)(b >> 16 * i))));
    return m[0] | m[1] << 16;
}
#endif
template <int N> static IND_INLINE void ind_combine_bf16(ind_maximum<float> &s, const ind_vec<unsigned short, N> &v) {
    unsigned m = v.word[0];
    _Pragma("unroll")
    for (int i = 1; i < N / 2; i++) m = ind_max_bf16x2(m, v.word[i]);
    s.combine({ind_bf16_to_f32((unsigned short)m)});
    s.combine({ind_bf16_to_f32((unsigned short)(m >> 16))});
}
//@ MAX_F16
// Combines a state with the maximum of N f16, by packed 2-element instructions.
#ifndef IND_EMULATION
static IND_INLINE unsigned ind_max_f16x2(unsigned a, unsigned b) {
    unsigned m;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(m) : "r"(a), "r"(b));
    return m;
}
#else
static IND_INLINE unsigned ind_max_f16x2(unsigned a, unsigned b) {
    unsigned m[2];
    for (int i = 0; i < 2; i++)
        m[i] = ind_f32_to_f16(ind_max(ind_f16_to_f32((unsigned short)(a >> 16 * i)), ind_f16_to_f32((unsigned short)(b >> 16 * i))));
    return m[0] | m[1] << 16;
}
#endif
template <int N> static IND_INLINE void ind_combine_f16(ind_maximum<float> &s, const ind_vec<unsigned short, N> &v) {
    unsigned m = v.word[0];
    _Pragma("unroll")
    for (int i = 1; i < N / 2; i++) m = ind_max_f16x2(m, v.word[i]);
    s.combine({ind_f16_to_f32((unsigned short)m)});
    s.combine({ind_f16_to_f32((unsigned short)(m >> 16))});
}
//@ MIN
template <typename T> struct ind_minimum {
    T value;
    IND_INLINE void combine(const ind_minimum &o) { value = ind_min(value, o.value); }
    IND_INLINE ind_minimum lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }
};
//@ ANY
template <typename T> struct ind_any {
    T value;
    IND_INLINE void combine(const ind_any &o) { value = value | o.value; }
    IND_INLINE ind_any lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }
};
//@ ARGMAX
// Maximum and the first position that holds it. NaN is the largest. at < 0: no element yet.
template <typename T> struct ind_argmax {
    T value;
    long long at;
    IND_INLINE void combine(const ind_argmax &o) {
        const bool nan = value != value, other_nan = o.value != o.value;
        const bool more = other_nan ? !nan : o.value > value;
        const bool same = other_nan ? nan : o.value == value;
        if (o.at >= 0 && (at < 0 || more || (same && o.at < at))) *this = o;
    }
    IND_INLINE ind_argmax lane(int d) const {
        return {__shfl_xor_sync(0xffffffffu, value, d), __shfl_xor_sync(0xffffffffu, at, d)};
    }
};
//@ WELFORD
// Count, mean and sum of squared deviations (Welford 1962), combined as in Chan et al. 1979.
template <typename T> struct ind_welford {
    T count, mean, m2;
    template <int N> IND_INLINE void add(const T (&x)[N]) {
        T sum = x[0], squares = 0;
        _Pragma("unroll")
        for (int i = 1; i < N; i++) sum += x[i];
        const T middle = sum / N;
        _Pragma("unroll")
        for (int i = 0; i < N; i++) squares += (x[i] - middle) * (x[i] - middle);
        combine({T(N), middle, squares});
    }
    IND_INLINE void combine(const ind_welford &o) {
        const T total = count + o.count;
        if (total == 0) return;
        const T delta = o.mean - mean, part = o.count / total;
        mean += delta * part;
        m2 += o.m2 + delta * delta * count * part;
        count = total;
    }
    IND_INLINE ind_welford lane(int d) const {
        return {__shfl_xor_sync(0xffffffffu, count, d), __shfl_xor_sync(0xffffffffu, mean, d),
                __shfl_xor_sync(0xffffffffu, m2, d)};
    }
};
//@ SOFTMAX
// Maximum m and sum of exp(x - m) in one pass (Milakov and Gimelshein 2018).
template <typename T> struct ind_softmax {
    T max, sum;
    template <int N> IND_INLINE void add(const T (&x)[N]) {
        T m = max;
        _Pragma("unroll")
        for (int i = 0; i < N; i++) m = ind_max(m, x[i]);
        const T base = ind_exp_base(m);
        sum *= ind_exp_below(max, base);
        _Pragma("unroll")
        for (int i = 0; i < N; i++) sum += ind_exp_below(x[i], base);
        max = m;
    }
    IND_INLINE void combine(const ind_softmax &o) {
        const T m = ind_max(max, o.max), base = ind_exp_base(m);
        sum = sum * ind_exp_below(max, base) + o.sum * ind_exp_below(o.max, base);
        max = m;
    }
    IND_INLINE ind_softmax lane(int d) const {
        return {__shfl_xor_sync(0xffffffffu, max, d), __shfl_xor_sync(0xffffffffu, sum, d)};
    }
};
