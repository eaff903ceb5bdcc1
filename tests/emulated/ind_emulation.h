/*
 * CUDA C for the host compiler: force-included in front of emitted CUDA source (g++ -std=c++17 -include
 * ind_emulation.h).
 *
 * Only what the CUDA language and NVRTC offer without any #include is here, and nothing of the C++ library, so that a
 * source that compiles here uses nothing NVRTC lacks and a kernel compiles in a fraction of a second. Everything that
 * involves another thread goes through ind_emulation::rt, the fake driver's table (ind_emulation_abi.h). `extern
 * __shared__` declarations and the launch entries are rewritten by the fake NVRTC (nvrtc.cc).
 *
 * >>language >>indices >>vector >>barrier >>warp >>atomic >>memory >>bits >>math >>prelude >>entry
 */
#ifndef IND_EMULATION_H
#define IND_EMULATION_H

#define IND_EMULATION 1
#include "ind_emulation_abi.h"

/* ---- >>language -------------------------------------------------------------------------------------------------- */

#define __CUDACC__     1
#define __CUDACC_RTC__ 1
#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__    __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __align__(n)         __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
/* One block runs at a time, so a static variable is a shared one; the section lets the driver fill them all with
 * garbage at the start of a block. */
#define __shared__ static __attribute__((section("ind_shared")))
#define NULL       __null
#define memcpy     __builtin_memcpy
/* An assumption that does not hold would be silent miscompilation on the device: here it is an error. */
#define __builtin_assume(x) ((x) ? (void)0 : ::ind_emulation::rt->fault("__builtin_assume is false: " #x, __LINE__))
#define __assume(x)         __builtin_assume(x)

typedef __SIZE_TYPE__ size_t;

#define IND_EMULATION_FN static inline __attribute__((unused))

namespace ind_emulation {

/* Set by the driver when it loads the module. */
static const runtime *rt;
static const thread_state *now;

template <class T, class F> IND_EMULATION_FN T bit_cast(F from) {
    static_assert(sizeof(T) == sizeof(F), "bit_cast between sizes");
    T to;
    __builtin_memcpy(&to, &from, sizeof(T));
    return to;
}

} // namespace ind_emulation

extern "C" int printf(const char *, ...);

/* What the compiler calls before each access to memory: -fsanitize=kernel-address, without that sanitizer's own
 * checks. */
#ifdef IND_EMULATION_TRACE
#define IND_EMULATION_ACCESS(kind, write, size)                                                                        \
    extern "C" __attribute__((used, no_sanitize_address)) void __asan_##kind##size##_noabort(const void *at) {         \
        ind_emulation::rt->access(at, size, write);                                                                    \
    }
#define IND_EMULATION_ACCESSES(kind, write)                                                                            \
    IND_EMULATION_ACCESS(kind, write, 1)                                                                               \
    IND_EMULATION_ACCESS(kind, write, 2)                                                                               \
    IND_EMULATION_ACCESS(kind, write, 4)                                                                               \
    IND_EMULATION_ACCESS(kind, write, 8)                                                                               \
    IND_EMULATION_ACCESS(kind, write, 16)                                                                              \
    extern "C" __attribute__((used, no_sanitize_address)) void __asan_##kind##N_noabort(const void *at,                \
                                                                                        unsigned long bytes) {         \
        ind_emulation::rt->access(at, (unsigned)bytes, write);                                                         \
    }
IND_EMULATION_ACCESSES(load, 0)
IND_EMULATION_ACCESSES(store, 1)
extern "C" __attribute__((used)) void __asan_handle_no_return() {
}
#endif

/* ---- >>vector: the built-in vector types, with CUDA's alignments ------------------------------------------------- */

#define IND_EMULATION_VECTOR(type, name, align2, align4)                                                               \
    struct name##1 {                                                                                                   \
        type x;                                                                                                        \
    };                                                                                                                 \
    struct __align__(align2) name##2 {                                                                                 \
        type x, y;                                                                                                     \
    };                                                                                                                 \
    struct name##3 {                                                                                                   \
        type x, y, z;                                                                                                  \
    };                                                                                                                 \
    struct __align__(align4) name##4 {                                                                                 \
        type x, y, z, w;                                                                                               \
    };                                                                                                                 \
    IND_EMULATION_FN name##1 make_##name##1(type x) {                                                                  \
        return name##1 {x};                                                                                            \
    }                                                                                                                  \
    IND_EMULATION_FN name##2 make_##name##2(type x, type y) {                                                          \
        return name##2 {x, y};                                                                                         \
    }                                                                                                                  \
    IND_EMULATION_FN name##3 make_##name##3(type x, type y, type z) {                                                  \
        return name##3 {x, y, z};                                                                                      \
    }                                                                                                                  \
    IND_EMULATION_FN name##4 make_##name##4(type x, type y, type z, type w) {                                          \
        return name##4 {x, y, z, w};                                                                                   \
    }

IND_EMULATION_VECTOR(signed char, char, 2, 4)
IND_EMULATION_VECTOR(unsigned char, uchar, 2, 4)
IND_EMULATION_VECTOR(short, short, 4, 8)
IND_EMULATION_VECTOR(unsigned short, ushort, 4, 8)
IND_EMULATION_VECTOR(int, int, 8, 16)
IND_EMULATION_VECTOR(unsigned, uint, 8, 16)
IND_EMULATION_VECTOR(long, long, 16, 16)
IND_EMULATION_VECTOR(unsigned long, ulong, 16, 16)
IND_EMULATION_VECTOR(long long, longlong, 16, 16)
IND_EMULATION_VECTOR(unsigned long long, ulonglong, 16, 16)
IND_EMULATION_VECTOR(float, float, 8, 16)
IND_EMULATION_VECTOR(double, double, 16, 16)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {
    }
};

/* ---- >>indices --------------------------------------------------------------------------------------------------- */

#define threadIdx (::ind_emulation::now->thread_idx)
#define blockIdx  (::ind_emulation::now->block_idx)
#define blockDim  (::ind_emulation::now->block_dim)
#define gridDim   (::ind_emulation::now->grid_dim)
#define warpSize  32

/* ---- >>barrier --------------------------------------------------------------------------------------------------- */

/* The default argument is evaluated at the call, so each barrier of the source knows its own line however the compiler
 * duplicates code. */
#define IND_EMULATION_LINE int line = __builtin_LINE()

IND_EMULATION_FN void __syncthreads(IND_EMULATION_LINE) {
    ind_emulation::rt->barrier(ind_emulation::BARRIER_PLAIN, 0, line);
}
IND_EMULATION_FN int __syncthreads_count(int predicate, IND_EMULATION_LINE) {
    return ind_emulation::rt->barrier(ind_emulation::BARRIER_COUNT, predicate, line);
}
IND_EMULATION_FN int __syncthreads_and(int predicate, IND_EMULATION_LINE) {
    return ind_emulation::rt->barrier(ind_emulation::BARRIER_AND, predicate, line);
}
IND_EMULATION_FN int __syncthreads_or(int predicate, IND_EMULATION_LINE) {
    return ind_emulation::rt->barrier(ind_emulation::BARRIER_OR, predicate, line);
}
IND_EMULATION_FN void ind_yield_block(IND_EMULATION_LINE) {
    ind_emulation::rt->yield_block(line);
}
IND_EMULATION_FN unsigned long long ind_emulation_nanoseconds() {
    return ind_emulation::rt->nanoseconds();
}
/* Its calls may be on different lines. */
IND_EMULATION_FN void ind_block_barrier() {
    ind_emulation::rt->barrier(ind_emulation::BARRIER_PLAIN, 0, 0);
}
template <int THREADS> IND_EMULATION_FN void ind_barrier_of(IND_EMULATION_LINE) {
    ind_emulation::rt->barrier_of(THREADS, line);
}
IND_EMULATION_FN void __syncwarp(unsigned mask = 0xffffffffu, IND_EMULATION_LINE) {
    ind_emulation::rt->syncwarp(mask, line);
}
IND_EMULATION_FN void ind_dependency_wait() {
    ind_emulation::rt->dependency_wait();
}
IND_EMULATION_FN void ind_dependency_trigger(unsigned long long most) {
    if ((unsigned long long)gridDim.x * gridDim.y * gridDim.z <= most) {
        ind_emulation::rt->dependency_trigger();
    }
}
IND_EMULATION_FN void __threadfence() {
}
IND_EMULATION_FN void __threadfence_block() {
}
IND_EMULATION_FN void __threadfence_system() {
}
IND_EMULATION_FN void __nanosleep(unsigned) {
    ind_emulation::rt->pause();
}
IND_EMULATION_FN void __trap(IND_EMULATION_LINE) {
    ind_emulation::rt->fault("__trap", line);
}
IND_EMULATION_FN long long clock64() {
#ifdef __x86_64__
    return (long long)__builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* ---- >>warp ------------------------------------------------------------------------------------------------------ */

#define IND_EMULATION_SHUFFLE(type, bits)                                                                              \
    IND_EMULATION_FN type __shfl_sync(unsigned mask, type value, int lane, int width = 32, IND_EMULATION_LINE) {       \
        return ind_emulation::bit_cast<type>((bits)ind_emulation::rt->shuffle(                                         \
            ind_emulation::SHUFFLE_IDX, mask, ind_emulation::bit_cast<bits>(value), lane, width, line));               \
    }                                                                                                                  \
    IND_EMULATION_FN type __shfl_up_sync(unsigned mask, type value, unsigned delta, int width = 32,                    \
                                         IND_EMULATION_LINE) {                                                         \
        return ind_emulation::bit_cast<type>((bits)ind_emulation::rt->shuffle(                                         \
            ind_emulation::SHUFFLE_UP, mask, ind_emulation::bit_cast<bits>(value), (int)delta, width, line));          \
    }                                                                                                                  \
    IND_EMULATION_FN type __shfl_down_sync(unsigned mask, type value, unsigned delta, int width = 32,                  \
                                           IND_EMULATION_LINE) {                                                       \
        return ind_emulation::bit_cast<type>((bits)ind_emulation::rt->shuffle(                                         \
            ind_emulation::SHUFFLE_DOWN, mask, ind_emulation::bit_cast<bits>(value), (int)delta, width, line));        \
    }                                                                                                                  \
    IND_EMULATION_FN type __shfl_xor_sync(unsigned mask, type value, int lane_mask, int width = 32,                    \
                                          IND_EMULATION_LINE) {                                                        \
        return ind_emulation::bit_cast<type>((bits)ind_emulation::rt->shuffle(                                         \
            ind_emulation::SHUFFLE_XOR, mask, ind_emulation::bit_cast<bits>(value), lane_mask, width, line));          \
    }

IND_EMULATION_SHUFFLE(int, unsigned)
IND_EMULATION_SHUFFLE(unsigned, unsigned)
IND_EMULATION_SHUFFLE(float, unsigned)
IND_EMULATION_SHUFFLE(long, unsigned long long)
IND_EMULATION_SHUFFLE(unsigned long, unsigned long long)
IND_EMULATION_SHUFFLE(long long, unsigned long long)
IND_EMULATION_SHUFFLE(unsigned long long, unsigned long long)
IND_EMULATION_SHUFFLE(double, unsigned long long)

IND_EMULATION_FN int __all_sync(unsigned mask, int predicate, IND_EMULATION_LINE) {
    return (int)ind_emulation::rt->vote(ind_emulation::VOTE_ALL, mask, predicate, line);
}
IND_EMULATION_FN int __any_sync(unsigned mask, int predicate, IND_EMULATION_LINE) {
    return (int)ind_emulation::rt->vote(ind_emulation::VOTE_ANY, mask, predicate, line);
}
IND_EMULATION_FN unsigned __ballot_sync(unsigned mask, int predicate, IND_EMULATION_LINE) {
    return ind_emulation::rt->vote(ind_emulation::VOTE_BALLOT, mask, predicate, line);
}
/* The threads that happen to be converged: any set with the caller in it is a correct answer. */
IND_EMULATION_FN unsigned __activemask() {
    return 1u << ind_emulation::rt->lane();
}

#define IND_EMULATION_MATCH(type, bits)                                                                                \
    IND_EMULATION_FN unsigned __match_any_sync(unsigned mask, type value, IND_EMULATION_LINE) {                        \
        return ind_emulation::rt->match(ind_emulation::MATCH_ANY, mask, ind_emulation::bit_cast<bits>(value), line);   \
    }                                                                                                                  \
    IND_EMULATION_FN unsigned __match_all_sync(unsigned mask, type value, int *predicate, IND_EMULATION_LINE) {        \
        unsigned all =                                                                                                 \
            ind_emulation::rt->match(ind_emulation::MATCH_ALL, mask, ind_emulation::bit_cast<bits>(value), line);      \
        *predicate = all != 0;                                                                                         \
        return all;                                                                                                    \
    }

IND_EMULATION_MATCH(int, unsigned)
IND_EMULATION_MATCH(unsigned, unsigned)
IND_EMULATION_MATCH(float, unsigned)
IND_EMULATION_MATCH(long long, unsigned long long)
IND_EMULATION_MATCH(unsigned long long, unsigned long long)
IND_EMULATION_MATCH(double, unsigned long long)

#define IND_EMULATION_REDUCE(type, name, kind)                                                                         \
    IND_EMULATION_FN type name(unsigned mask, type value, IND_EMULATION_LINE) {                                        \
        return (type)ind_emulation::rt->reduce(ind_emulation::kind, mask, (unsigned)value, line);                      \
    }

IND_EMULATION_REDUCE(int, __reduce_add_sync, REDUCE_ADD)
IND_EMULATION_REDUCE(unsigned, __reduce_add_sync, REDUCE_ADD)
IND_EMULATION_REDUCE(int, __reduce_min_sync, REDUCE_MIN)
IND_EMULATION_REDUCE(unsigned, __reduce_min_sync, REDUCE_UMIN)
IND_EMULATION_REDUCE(int, __reduce_max_sync, REDUCE_MAX)
IND_EMULATION_REDUCE(unsigned, __reduce_max_sync, REDUCE_UMAX)
IND_EMULATION_REDUCE(unsigned, __reduce_and_sync, REDUCE_AND)
IND_EMULATION_REDUCE(unsigned, __reduce_or_sync, REDUCE_OR)
IND_EMULATION_REDUCE(unsigned, __reduce_xor_sync, REDUCE_XOR)

/* ---- >>atomic: threads switch only at barriers and collectives, so a plain read-modify-write is atomic ----------- */

#define IND_EMULATION_ATOMIC(type, name, expression)                                                                   \
    IND_EMULATION_FN type name(type *address, type value) {                                                            \
        type old = *address;                                                                                           \
        *address = (type)(expression);                                                                                 \
        return old;                                                                                                    \
    }                                                                                                                  \
    IND_EMULATION_FN type name##_block(type *address, type value) {                                                    \
        return name(address, value);                                                                                   \
    }                                                                                                                  \
    IND_EMULATION_FN type name##_system(type *address, type value) {                                                   \
        return name(address, value);                                                                                   \
    }
#define IND_EMULATION_ATOMIC_BITS(type)                                                                                \
    IND_EMULATION_ATOMIC(type, atomicAnd, old &value)                                                                  \
    IND_EMULATION_ATOMIC(type, atomicOr, old | value)                                                                  \
    IND_EMULATION_ATOMIC(type, atomicXor, old ^ value)
#define IND_EMULATION_ATOMIC_ORDER(type)                                                                               \
    IND_EMULATION_ATOMIC(type, atomicMin, value < old ? value : old)                                                   \
    IND_EMULATION_ATOMIC(type, atomicMax, value > old ? value : old)

IND_EMULATION_ATOMIC(int, atomicAdd, (unsigned)old + (unsigned)value)
IND_EMULATION_ATOMIC(unsigned, atomicAdd, old + value)
IND_EMULATION_ATOMIC(unsigned long long, atomicAdd, old + value)
IND_EMULATION_ATOMIC(float, atomicAdd, old + value)
IND_EMULATION_ATOMIC(double, atomicAdd, old + value)
IND_EMULATION_ATOMIC(int, atomicSub, (unsigned)old - (unsigned)value)
IND_EMULATION_ATOMIC(unsigned, atomicSub, old - value)
IND_EMULATION_ATOMIC(int, atomicExch, value)
IND_EMULATION_ATOMIC(unsigned, atomicExch, value)
IND_EMULATION_ATOMIC(unsigned long long, atomicExch, value)
IND_EMULATION_ATOMIC(float, atomicExch, value)
IND_EMULATION_ATOMIC(unsigned, atomicInc, old >= value ? 0 : old + 1)
IND_EMULATION_ATOMIC(unsigned, atomicDec, old == 0 || old > value ? value : old - 1)
IND_EMULATION_ATOMIC_BITS(int)
IND_EMULATION_ATOMIC_BITS(unsigned)
IND_EMULATION_ATOMIC_BITS(unsigned long long)
IND_EMULATION_ATOMIC_ORDER(int)
IND_EMULATION_ATOMIC_ORDER(unsigned)
IND_EMULATION_ATOMIC_ORDER(long long)
IND_EMULATION_ATOMIC_ORDER(unsigned long long)

/* A compare that fails may be a spin on another thread's lock: let that thread run. */
#define IND_EMULATION_ATOMIC_CAS(type)                                                                                 \
    IND_EMULATION_FN type atomicCAS(type *address, type compare, type value) {                                         \
        type old = *address;                                                                                           \
        if (old == compare) {                                                                                          \
            *address = value;                                                                                          \
        } else {                                                                                                       \
            ind_emulation::rt->pause();                                                                                \
        }                                                                                                              \
        return old;                                                                                                    \
    }

IND_EMULATION_ATOMIC_CAS(int)
IND_EMULATION_ATOMIC_CAS(unsigned)
IND_EMULATION_ATOMIC_CAS(unsigned long long)
IND_EMULATION_ATOMIC_CAS(unsigned short)

/* ---- >>memory: cache hints are plain accesses -------------------------------------------------------------------- */

#define IND_EMULATION_LOAD(name)                                                                                       \
    template <class T> IND_EMULATION_FN T name(const T *address) {                                                     \
        return *address;                                                                                               \
    }
#define IND_EMULATION_STORE(name)                                                                                      \
    template <class T> IND_EMULATION_FN void name(T *address, T value) {                                               \
        *address = value;                                                                                              \
    }

IND_EMULATION_LOAD(__ldg)
IND_EMULATION_LOAD(__ldcg)
IND_EMULATION_LOAD(__ldca)
IND_EMULATION_LOAD(__ldcs)
IND_EMULATION_LOAD(__ldlu)
IND_EMULATION_LOAD(__ldcv)
IND_EMULATION_STORE(__stwb)
IND_EMULATION_STORE(__stcg)
IND_EMULATION_STORE(__stcs)
IND_EMULATION_STORE(__stwt)

IND_EMULATION_FN unsigned __isShared(const void *address) {
    return (unsigned)ind_emulation::rt->is_shared(address, 1);
}
IND_EMULATION_FN unsigned __isGlobal(const void *address) {
    return !__isShared(address);
}
IND_EMULATION_FN size_t __cvta_generic_to_shared(const void *address, IND_EMULATION_LINE) {
    return ind_emulation::rt->shared_address(address, line);
}

/* ---- >>bits ------------------------------------------------------------------------------------------------------ */

IND_EMULATION_FN unsigned __float_as_uint(float x) {
    return ind_emulation::bit_cast<unsigned>(x);
}
IND_EMULATION_FN int __float_as_int(float x) {
    return ind_emulation::bit_cast<int>(x);
}
IND_EMULATION_FN float __uint_as_float(unsigned x) {
    return ind_emulation::bit_cast<float>(x);
}
IND_EMULATION_FN float __int_as_float(int x) {
    return ind_emulation::bit_cast<float>(x);
}
IND_EMULATION_FN long long __double_as_longlong(double x) {
    return ind_emulation::bit_cast<long long>(x);
}
IND_EMULATION_FN double __longlong_as_double(long long x) {
    return ind_emulation::bit_cast<double>(x);
}
IND_EMULATION_FN int __double2hiint(double x) {
    return (int)(ind_emulation::bit_cast<unsigned long long>(x) >> 32);
}
IND_EMULATION_FN int __double2loint(double x) {
    return (int)ind_emulation::bit_cast<unsigned long long>(x);
}
IND_EMULATION_FN double __hiloint2double(int high, int low) {
    return ind_emulation::bit_cast<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low);
}
IND_EMULATION_FN int __popc(unsigned x) {
    return __builtin_popcount(x);
}
IND_EMULATION_FN int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
IND_EMULATION_FN int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}
IND_EMULATION_FN int __clzll(long long x) {
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
IND_EMULATION_FN int __ffs(int x) {
    return __builtin_ffs(x);
}
IND_EMULATION_FN int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
IND_EMULATION_FN unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) {
        r |= (x >> i & 1u) << (31 - i);
    }
    return r;
}
IND_EMULATION_FN unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
IND_EMULATION_FN unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    unsigned long long both = (unsigned long long)high << 32 | low;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        r |= (unsigned)(both >> ((selector >> (4 * i) & 7u) * 8) & 0xffu) << (8 * i);
    }
    return r;
}
IND_EMULATION_FN unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31u)) >> 32);
}
IND_EMULATION_FN unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31u));
}
IND_EMULATION_FN unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift < 32u ? shift : 32u));
}
IND_EMULATION_FN int __mulhi(int a, int b) {
    return (int)((long long)a * b >> 32);
}
IND_EMULATION_FN unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
IND_EMULATION_FN long long __mul64hi(long long a, long long b) {
    return (long long)((__int128)a * b >> 64);
}
IND_EMULATION_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

/* ---- >>math: the host's libm under CUDA's names ------------------------------------------------------------------ */

#define IND_EMULATION_MATH1(name)                                                                                      \
    extern "C" double name(double) noexcept;                                                                           \
    extern "C" float name##f(float) noexcept;                                                                          \
    IND_EMULATION_FN float name(float x) {                                                                             \
        return name##f(x);                                                                                             \
    }
#define IND_EMULATION_MATH2(name)                                                                                      \
    extern "C" double name(double, double) noexcept;                                                                   \
    extern "C" float name##f(float, float) noexcept;                                                                   \
    IND_EMULATION_FN float name(float x, float y) {                                                                    \
        return name##f(x, y);                                                                                          \
    }

IND_EMULATION_MATH1(exp)
IND_EMULATION_MATH1(exp2)
IND_EMULATION_MATH1(exp10)
IND_EMULATION_MATH1(expm1)
IND_EMULATION_MATH1(log)
IND_EMULATION_MATH1(log2)
IND_EMULATION_MATH1(log10)
IND_EMULATION_MATH1(log1p)
IND_EMULATION_MATH1(logb)
IND_EMULATION_MATH1(sqrt)
IND_EMULATION_MATH1(cbrt)
IND_EMULATION_MATH1(sin)
IND_EMULATION_MATH1(cos)
IND_EMULATION_MATH1(tan)
IND_EMULATION_MATH1(asin)
IND_EMULATION_MATH1(acos)
IND_EMULATION_MATH1(atan)
IND_EMULATION_MATH1(sinh)
IND_EMULATION_MATH1(cosh)
IND_EMULATION_MATH1(tanh)
IND_EMULATION_MATH1(asinh)
IND_EMULATION_MATH1(acosh)
IND_EMULATION_MATH1(atanh)
IND_EMULATION_MATH1(erf)
IND_EMULATION_MATH1(erfc)
IND_EMULATION_MATH1(tgamma)
IND_EMULATION_MATH1(lgamma)
IND_EMULATION_MATH1(fabs)
IND_EMULATION_MATH1(floor)
IND_EMULATION_MATH1(ceil)
IND_EMULATION_MATH1(trunc)
IND_EMULATION_MATH1(round)
IND_EMULATION_MATH1(rint)
IND_EMULATION_MATH1(nearbyint)
IND_EMULATION_MATH1(j0)
IND_EMULATION_MATH1(j1)
IND_EMULATION_MATH1(y0)
IND_EMULATION_MATH1(y1)
IND_EMULATION_MATH2(pow)
IND_EMULATION_MATH2(fmin)
IND_EMULATION_MATH2(fmax)
IND_EMULATION_MATH2(fmod)
IND_EMULATION_MATH2(remainder)
IND_EMULATION_MATH2(fdim)
IND_EMULATION_MATH2(hypot)
IND_EMULATION_MATH2(atan2)
IND_EMULATION_MATH2(copysign)
IND_EMULATION_MATH2(nextafter)

/* The inverse of erf by bisection, on erfc where that has more digits. */
IND_EMULATION_FN double erfinv(double x) {
    const double p = fabs(x);
    double low = 0, high = 8;
    if (!(p < 1)) return p == 1 ? x * __builtin_huge_val() : __builtin_nan("");
    if (p < 1e-9) return x * 0.88622692545275801365; /* sqrt(pi) / 2 */
    for (int i = 0; i < 200; i++) {
        const double y = (low + high) / 2;
        (p < 0.5 ? erf(y) < p : erfc(y) > 1 - p) ? low = y : high = y;
    }
    return copysign(low, x);
}
IND_EMULATION_FN float erfinvf(float x) {
    return (float)erfinv((double)x);
}

extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" double scalbn(double, int) noexcept;
extern "C" float scalbnf(float, int) noexcept;
extern "C" double frexp(double, int *) noexcept;
extern "C" float frexpf(float, int *) noexcept;
extern "C" double modf(double, double *) noexcept;
extern "C" float modff(float, float *) noexcept;
extern "C" int ilogb(double) noexcept;
extern "C" int ilogbf(float) noexcept;
extern "C" long long llrint(double) noexcept;
extern "C" long long llrintf(float) noexcept;
extern "C" long long llround(double) noexcept;
extern "C" long long llroundf(float) noexcept;
extern "C" long lrint(double) noexcept;
extern "C" long lrintf(float) noexcept;
extern "C" void sincos(double, double *, double *) noexcept;
extern "C" void sincosf(float, float *, float *) noexcept;
extern "C" int abs(int) noexcept;
extern "C" long labs(long) noexcept;
extern "C" long long llabs(long long) noexcept;

IND_EMULATION_FN float fma(float a, float b, float c) {
    return fmaf(a, b, c);
}
IND_EMULATION_FN float ldexp(float x, int e) {
    return ldexpf(x, e);
}
IND_EMULATION_FN long abs(long x) {
    return labs(x);
}
IND_EMULATION_FN long long abs(long long x) {
    return llabs(x);
}
IND_EMULATION_FN float abs(float x) {
    return fabsf(x);
}
IND_EMULATION_FN double abs(double x) {
    return fabs(x);
}
IND_EMULATION_FN float pow(float x, int y) {
    return powf(x, (float)y);
}
IND_EMULATION_FN double pow(double x, int y) {
    return pow(x, (double)y);
}

/* Not in libm. The float forms are computed in double, so that they are correctly rounded as CUDA's are to within 1 to
 * 2 ulp. */
#define IND_EMULATION_MATH_OWN(name, expression)                                                                       \
    IND_EMULATION_FN double name(double x) {                                                                           \
        return expression;                                                                                             \
    }                                                                                                                  \
    IND_EMULATION_FN float name##f(float x) {                                                                          \
        return (float)name((double)x);                                                                                 \
    }                                                                                                                  \
    IND_EMULATION_FN float name(float x) {                                                                             \
        return name##f(x);                                                                                             \
    }

IND_EMULATION_MATH_OWN(rsqrt, 1.0 / sqrt(x))
IND_EMULATION_MATH_OWN(rcbrt, 1.0 / cbrt(x))
IND_EMULATION_MATH_OWN(sinpi, sin(remainder(x, 2.0) * 3.14159265358979323846))
IND_EMULATION_MATH_OWN(cospi, cos(remainder(x, 2.0) * 3.14159265358979323846))
IND_EMULATION_MATH_OWN(normcdf, 0.5 * erfc(-x * 0.70710678118654752440))

#define IND_EMULATION_CLASSIFY(type)                                                                                   \
    IND_EMULATION_FN bool isnan(type x) {                                                                              \
        return __builtin_isnan(x);                                                                                     \
    }                                                                                                                  \
    IND_EMULATION_FN bool isinf(type x) {                                                                              \
        return __builtin_isinf(x);                                                                                     \
    }                                                                                                                  \
    IND_EMULATION_FN bool isfinite(type x) {                                                                           \
        return __builtin_isfinite(x);                                                                                  \
    }                                                                                                                  \
    IND_EMULATION_FN bool signbit(type x) {                                                                            \
        return __builtin_signbit(x) != 0;                                                                              \
    }

IND_EMULATION_CLASSIFY(float)
IND_EMULATION_CLASSIFY(double)

#define IND_EMULATION_MINMAX(type)                                                                                     \
    IND_EMULATION_FN type min(type a, type b) {                                                                        \
        return b < a ? b : a;                                                                                          \
    }                                                                                                                  \
    IND_EMULATION_FN type max(type a, type b) {                                                                        \
        return a < b ? b : a;                                                                                          \
    }

IND_EMULATION_MINMAX(int)
IND_EMULATION_MINMAX(unsigned)
IND_EMULATION_MINMAX(long)
IND_EMULATION_MINMAX(unsigned long)
IND_EMULATION_MINMAX(long long)
IND_EMULATION_MINMAX(unsigned long long)
IND_EMULATION_FN unsigned min(int a, unsigned b) {
    return min((unsigned)a, b);
}
IND_EMULATION_FN unsigned min(unsigned a, int b) {
    return min(a, (unsigned)b);
}
IND_EMULATION_FN unsigned max(int a, unsigned b) {
    return max((unsigned)a, b);
}
IND_EMULATION_FN unsigned max(unsigned a, int b) {
    return max(a, (unsigned)b);
}
IND_EMULATION_FN float min(float a, float b) {
    return fminf(a, b);
}
IND_EMULATION_FN float max(float a, float b) {
    return fmaxf(a, b);
}
IND_EMULATION_FN double min(double a, double b) {
    return fmin(a, b);
}
IND_EMULATION_FN double max(double a, double b) {
    return fmax(a, b);
}
IND_EMULATION_FN unsigned umin(unsigned a, unsigned b) {
    return min(a, b);
}
IND_EMULATION_FN unsigned umax(unsigned a, unsigned b) {
    return max(a, b);
}

/* Fast intrinsics: exact here, so a comparison with the device must allow for their documented error. */
IND_EMULATION_FN float __expf(float x) {
    return expf(x);
}
IND_EMULATION_FN float __exp10f(float x) {
    return exp10f(x);
}
IND_EMULATION_FN float __logf(float x) {
    return logf(x);
}
IND_EMULATION_FN float __log2f(float x) {
    return log2f(x);
}
IND_EMULATION_FN float __log10f(float x) {
    return log10f(x);
}
IND_EMULATION_FN float __sinf(float x) {
    return sinf(x);
}
IND_EMULATION_FN float __cosf(float x) {
    return cosf(x);
}
IND_EMULATION_FN float __tanf(float x) {
    return tanf(x);
}
IND_EMULATION_FN float __powf(float x, float y) {
    return powf(x, y);
}
IND_EMULATION_FN float __fdividef(float x, float y) {
    return x / y;
}
IND_EMULATION_FN float fdividef(float x, float y) {
    return x / y;
}
IND_EMULATION_FN float __saturatef(float x) {
    return fminf(fmaxf(x, 0.0f), 1.0f);
}
IND_EMULATION_FN float __frsqrt_rn(float x) {
    return rsqrtf(x);
}
IND_EMULATION_FN float __frcp_rn(float x) {
    return 1.0f / x;
}
IND_EMULATION_FN float __fsqrt_rn(float x) {
    return sqrtf(x);
}
IND_EMULATION_FN float __fadd_rn(float x, float y) {
    return x + y;
}
IND_EMULATION_FN float __fsub_rn(float x, float y) {
    return x - y;
}
IND_EMULATION_FN float __fmul_rn(float x, float y) {
    return x * y;
}
IND_EMULATION_FN float __fdiv_rn(float x, float y) {
    return x / y;
}
IND_EMULATION_FN float __fmaf_rn(float x, float y, float z) {
    return fmaf(x, y, z);
}
IND_EMULATION_FN double __dadd_rn(double x, double y) {
    return x + y;
}
IND_EMULATION_FN double __dsub_rn(double x, double y) {
    return x - y;
}
IND_EMULATION_FN double __dmul_rn(double x, double y) {
    return x * y;
}
IND_EMULATION_FN double __ddiv_rn(double x, double y) {
    return x / y;
}
IND_EMULATION_FN double __drcp_rn(double x) {
    return 1.0 / x;
}
IND_EMULATION_FN double __dsqrt_rn(double x) {
    return sqrt(x);
}
IND_EMULATION_FN double __fma_rn(double x, double y, double z) {
    return fma(x, y, z);
}

/* Float to integer as cvt does it: out of range saturates, NaN is 0. */
namespace ind_emulation {
template <class I> IND_EMULATION_FN I to_integer(double x) {
    constexpr I lowest = (I)-1 > (I)0 ? (I)0 : (I)((I)1 << (sizeof(I) * 8 - 1));
    constexpr I highest = (I)~lowest;
    if (x != x) {
        return 0;
    }
    if (x <= (double)lowest) {
        return lowest;
    }
    return x >= (double)highest ? highest : (I)x;
}
} // namespace ind_emulation

#define IND_EMULATION_TO_INTEGER(from, from_name, to, to_name)                                                         \
    IND_EMULATION_FN to __##from_name##2##to_name##_rn(from x) {                                                       \
        return ind_emulation::to_integer<to>(rint((double)x));                                                         \
    }                                                                                                                  \
    IND_EMULATION_FN to __##from_name##2##to_name##_rz(from x) {                                                       \
        return ind_emulation::to_integer<to>(trunc((double)x));                                                        \
    }                                                                                                                  \
    IND_EMULATION_FN to __##from_name##2##to_name##_ru(from x) {                                                       \
        return ind_emulation::to_integer<to>(ceil((double)x));                                                         \
    }                                                                                                                  \
    IND_EMULATION_FN to __##from_name##2##to_name##_rd(from x) {                                                       \
        return ind_emulation::to_integer<to>(floor((double)x));                                                        \
    }

IND_EMULATION_TO_INTEGER(float, float, int, int)
IND_EMULATION_TO_INTEGER(float, float, unsigned, uint)
IND_EMULATION_TO_INTEGER(float, float, long long, ll)
IND_EMULATION_TO_INTEGER(float, float, unsigned long long, ull)
IND_EMULATION_TO_INTEGER(double, double, int, int)
IND_EMULATION_TO_INTEGER(double, double, unsigned, uint)
IND_EMULATION_TO_INTEGER(double, double, long long, ll)
IND_EMULATION_TO_INTEGER(double, double, unsigned long long, ull)

#define IND_EMULATION_FROM_INTEGER(from, from_name)                                                                    \
    IND_EMULATION_FN float __##from_name##2float_rn(from x) {                                                          \
        return (float)x;                                                                                               \
    }                                                                                                                  \
    IND_EMULATION_FN double __##from_name##2double_rn(from x) {                                                        \
        return (double)x;                                                                                              \
    }

IND_EMULATION_FROM_INTEGER(int, int)
IND_EMULATION_FROM_INTEGER(unsigned, uint)
IND_EMULATION_FROM_INTEGER(long long, ll)
IND_EMULATION_FROM_INTEGER(unsigned long long, ull)
IND_EMULATION_FN float __double2float_rn(double x) {
    return (float)x;
}

/* ---- >>prelude: the functions that the emitter writes as inline PTX ---------------------------------------------- */

IND_EMULATION_FN float ind_bf16_to_f32(unsigned short x) {
    return __uint_as_float((unsigned)x << 16);
}

/* cvt.rn.bf16.f32: to nearest even; every NaN becomes 0x7fff. */
IND_EMULATION_FN unsigned short ind_f32_to_bf16(float x) {
    unsigned u = __float_as_uint(x);
    if (x != x) {
        return 0x7fff;
    }
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

IND_EMULATION_FN float ind_f16_to_f32(unsigned short x) {
    unsigned sign = (unsigned)(x & 0x8000u) << 16, exponent = x >> 10 & 31u, mantissa = x & 0x3ffu;
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24 */
        float value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    if (exponent == 31) {
        return __uint_as_float(sign | 0x7f800000u | mantissa << 13);
    }
    return __uint_as_float(sign | (exponent + 112u) << 23 | mantissa << 13);
}

/* cvt.rn.f16.f32: to nearest even, 65520 and above becomes infinity; every NaN becomes 0x7fff. */
IND_EMULATION_FN unsigned short ind_f32_to_f16(float x) {
    unsigned u = __float_as_uint(x), sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return 0x7fff;
    }
    if (magnitude >= 0x477ff000u) {
        return (unsigned short)(sign | 0x7c00u);
    }
    if (magnitude < 0x38800000u) { /* below 2^-14: the sum with 0.5 rounds to a multiple of 2^-24, in its low bits */
        return (unsigned short)(sign | (__float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000u));
    }
    return (unsigned short)(sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13);
}

/* red.add of an element or of neighbours: the emulated threads do it at once. The address is a multiple of the bytes of
 * an instruction, at most 16. */
IND_EMULATION_FN void ind_emulation_check_red(const void *p, size_t bytes, int line) {
    if ((size_t)p % (bytes < 16 ? bytes : 16) != 0) {
        ind_emulation::rt->fault("red.add: the address is not a multiple of the bytes of the vector", line);
    }
}
template <class T, class V> IND_EMULATION_FN void ind_add_f32(T *p, const V &v, IND_EMULATION_LINE) {
    ind_emulation_check_red(p, sizeof v.at, line);
    for (size_t j = 0; j < sizeof v.at / sizeof *p; j++) {
        p[j] += v.at[j];
    }
}
IND_EMULATION_FN void ind_add_f16(unsigned short *p, unsigned short v) {
    *p = ind_f32_to_f16(ind_f16_to_f32(*p) + ind_f16_to_f32(v));
}
IND_EMULATION_FN void ind_add_bf16(unsigned short *p, unsigned short v) {
    *p = ind_f32_to_bf16(ind_bf16_to_f32(*p) + ind_bf16_to_f32(v));
}
template <class V> IND_EMULATION_FN void ind_add_f16(unsigned short *p, const V &v, IND_EMULATION_LINE) {
    ind_emulation_check_red(p, sizeof v.at, line);
    for (size_t j = 0; j < sizeof v.at / sizeof *p; j++) {
        ind_add_f16(p + j, v.at[j]);
    }
}
template <class V> IND_EMULATION_FN void ind_add_bf16(unsigned short *p, const V &v, IND_EMULATION_LINE) {
    ind_emulation_check_red(p, sizeof v.at, line);
    for (size_t j = 0; j < sizeof v.at / sizeof *p; j++) {
        ind_add_bf16(p + j, v.at[j]);
    }
}

namespace ind_emulation {

/* The row is read here, in checked code, and travels by value. */
IND_EMULATION_FN void ldmatrix(unsigned (&r)[4], const void *row, int transposed, int line) {
    if (!rt->is_shared(row, 16)) {
        rt->fault("ldmatrix: the address is not in shared memory", line);
    }
    if ((size_t)row % 16 != 0) {
        rt->fault("ldmatrix: the address is not a multiple of 16", line);
    }
    uint4 v = *(const uint4 *)row;
    const unsigned words[4] = {v.x, v.y, v.z, v.w};
    rt->ldmatrix(r, words, transposed, line);
}

} // namespace ind_emulation

IND_EMULATION_FN void ind_ldmatrix_x4(unsigned (&r)[4], const void *smem, IND_EMULATION_LINE) {
    ind_emulation::ldmatrix(r, smem, 0, line);
}
IND_EMULATION_FN void ind_ldmatrix_x4_trans(unsigned (&r)[4], const void *smem, IND_EMULATION_LINE) {
    ind_emulation::ldmatrix(r, smem, 1, line);
}
IND_EMULATION_FN void ind_mma_f16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], IND_EMULATION_LINE) {
    ind_emulation::rt->mma(c, a, b, ind_emulation::ELEMENT_F16, ind_emulation::ELEMENT_F16, line);
}
IND_EMULATION_FN void ind_mma_bf16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], IND_EMULATION_LINE) {
    ind_emulation::rt->mma(c, a, b, ind_emulation::ELEMENT_BF16, ind_emulation::ELEMENT_BF16, line);
}
template <bool A_E5M2, bool B_E5M2>
IND_EMULATION_FN void ind_mma_f8(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], IND_EMULATION_LINE) {
    ind_emulation::rt->mma(c, a, b, A_E5M2 ? ind_emulation::ELEMENT_E5M2 : ind_emulation::ELEMENT_E4M3,
                           B_E5M2 ? ind_emulation::ELEMENT_E5M2 : ind_emulation::ELEMENT_E4M3, line);
}
IND_EMULATION_FN void ind_mma_s8(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], IND_EMULATION_LINE) {
    ind_emulation::rt->mma(c, a, b, ind_emulation::ELEMENT_S8, ind_emulation::ELEMENT_S8, line);
}
IND_EMULATION_FN void ind_mma_tf32(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], IND_EMULATION_LINE) {
    ind_emulation::rt->mma(c, a, b, ind_emulation::ELEMENT_TF32, ind_emulation::ELEMENT_TF32, line);
}
/* cvt.rna.tf32.f32: to the nearest, ties away from zero. */
IND_EMULATION_FN unsigned ind_round_tf32(unsigned x) {
    if ((x & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu;
    return (x & 0x7f800000u) == 0x7f800000u ? x : (x + 0x1000u) & ~0x1fffu;
}

/* Until the wait, the destination holds garbage: a thread that reads too early, or issues a copy while others
 * still read the old tile, gets wrong results. */
IND_EMULATION_FN void ind_cp_async16_partial(void *smem, const void *global, int bytes, IND_EMULATION_LINE) {
    if (!ind_emulation::rt->is_shared(smem, 16)) {
        ind_emulation::rt->fault("cp.async: the destination is not in shared memory", line);
    }
    if ((size_t)smem % 16 != 0 || (size_t)global % 16 != 0) {
        ind_emulation::rt->fault("cp.async: an address is not a multiple of 16", line);
    }
    if (bytes < 0 || bytes > 16) {
        ind_emulation::rt->fault("cp.async: the size is not in [0, 16]", line);
    }
    /* Only so that a bad source is found here, where it is named. All 16 bytes must exist: compute-sanitizer takes any
     * size but 0 for a read of 16. */
    for (int i = 0; i < (bytes ? 16 : 0); i++) {
        (void)((const volatile unsigned char *)global)[i];
    }
    *(uint4 *)smem = uint4{0xcbcbcbcbu, 0xcbcbcbcbu, 0xcbcbcbcbu, 0xcbcbcbcbu};
    ind_emulation::rt->cp_async(smem, global, bytes);
}
IND_EMULATION_FN void ind_cp_async16(void *smem, const void *global, int bytes, IND_EMULATION_LINE) {
    if (bytes != 0 && bytes != 16) {
        ind_emulation::rt->fault("cp.async: the size is neither 0 nor 16", line);
    }
    ind_cp_async16_partial(smem, global, bytes, line);
}
IND_EMULATION_FN void ind_cp_async_commit() {
    ind_emulation::rt->cp_async_commit();
}
template <int N> IND_EMULATION_FN void ind_cp_async_wait() {
    ind_emulation::rt->cp_async_wait(N);
}

IND_EMULATION_FN void ind_cluster_begin(unsigned long long *barrier, int count) {
    for (int i = 0; threadIdx.x == 0 && i < count; i++) {
        ind_emulation::rt->cluster_barrier(barrier + i);
    }
    ind_emulation::rt->cluster_arrive();
}
IND_EMULATION_FN void ind_cluster_arrive() {
    ind_emulation::rt->cluster_arrive();
}
IND_EMULATION_FN void ind_cluster_begun(IND_EMULATION_LINE) {
    ind_emulation::rt->cluster_arrived(line);
}
IND_EMULATION_FN void ind_cluster_sync(IND_EMULATION_LINE) {
    ind_emulation::rt->cluster_arrive();
    ind_emulation::rt->cluster_arrived(line);
}
/* The memory of a block of the cluster whose address in this block is `own`. */
template <typename T> IND_EMULATION_FN const T *ind_cluster_at(const T *own, int block, IND_EMULATION_LINE) {
    return (const T *)ind_emulation::rt->cluster_at(own, block, line);
}
template <class S>
IND_EMULATION_FN void ind_cluster_send(S *at, unsigned long long *barrier, int block, const S &s, IND_EMULATION_LINE) {
    ind_emulation::rt->cluster_send(at, barrier, block, &s, (int)(sizeof(S) / 4 * 4), line);
}
IND_EMULATION_FN void ind_cluster_expect(unsigned long long *barrier, int bytes, IND_EMULATION_LINE) {
    ind_emulation::rt->cluster_expect(barrier, bytes, line);
}
IND_EMULATION_FN void ind_cluster_wait(unsigned long long *barrier, int phase, IND_EMULATION_LINE) {
    ind_emulation::rt->cluster_wait(barrier, phase, line);
}

/* mbarriers and copies of boxes of a tensor. The source is read here, in checked code: the first and the last byte of
 * each row of the box. Until the bytes arrive, the destination holds garbage. */
IND_EMULATION_FN void ind_barrier_init(unsigned long long *barrier, int count, IND_EMULATION_LINE) {
    ind_emulation::rt->mbarrier_init(barrier, count, line);
}
IND_EMULATION_FN void ind_barrier_publish() {
}
IND_EMULATION_FN void ind_barrier_arrive(unsigned long long *barrier, IND_EMULATION_LINE) {
    ind_emulation::rt->mbarrier_arrive(barrier, 0, line);
}
IND_EMULATION_FN void ind_barrier_expect(unsigned long long *barrier, int bytes, IND_EMULATION_LINE) {
    ind_emulation::rt->mbarrier_arrive(barrier, bytes, line);
}
IND_EMULATION_FN void ind_barrier_wait(unsigned long long *barrier, int parity, IND_EMULATION_LINE) {
    ind_emulation::rt->mbarrier_wait(barrier, parity, line);
}
IND_EMULATION_FN void ind_barrier_arrive_at(unsigned long long *barrier, unsigned block, IND_EMULATION_LINE) {
    ind_emulation::rt->mbarrier_arrive_at(barrier, (int)block, line);
}

template <class M> IND_EMULATION_FN void ind_map_prefetch(const M &) {
}
template <int N> IND_EMULATION_FN void ind_fewer_registers() {
}
template <int N> IND_EMULATION_FN void ind_more_registers() {
}

namespace ind_emulation {

IND_EMULATION_FN void touch_box(const tensor_map *m, const place &p) {
    unsigned long long rows = 1, from;
    const long long first = p.at[0] > 0 ? p.at[0] : 0, end = p.at[0] + (long long)m->box[0] < (long long)m->size[0]
                                                                 ? p.at[0] + (long long)m->box[0]
                                                                 : (long long)m->size[0];
    for (int d = 1; d < m->rank; d++) {
        rows *= m->box[d];
    }
    for (unsigned long long row = 0; row < rows && first < end; row++) {
        if (row_address(*m, p, row, &from)) {
            (void)((const volatile unsigned char *)from)[first * (long long)m->stride[0]];
            (void)((const volatile unsigned char *)from)[end * (long long)m->stride[0] - 1];
        }
    }
}

/* WINDOWS: dimensions of an image, 0: a box. */
template <int RANK, int WINDOWS, class M>
IND_EMULATION_FN void copy_box(void *tile, const M &opaque, unsigned long long *barrier, unsigned blocks,
                               const place &p, int line) {
    const ind_emulation::tensor_map *m = (const ind_emulation::tensor_map *)&opaque;
    unsigned bytes = (unsigned)m->stride[0];
    static_assert(sizeof(M) == 128 && alignof(M) == 64, "a CUtensorMap has 128 bytes");
    if (__builtin_memcmp(m->magic, IND_EMULATION_MAP_MAGIC, sizeof m->magic) != 0 || m->rank != RANK ||
        m->windows != WINDOWS) {
        ind_emulation::rt->fault("bulk copy: the tensor map is not encoded, or of another rank", line);
    }
    for (int d = 0; d < RANK; d++) {
        bytes *= m->box[d];
    }
    for (int d = 0; d < WINDOWS; d++) {
        if ((p.at[1 + d] - m->lower[d]) % m->step[d] != 0 || p.at[1 + d] < m->lower[d]) {
            ind_emulation::rt->fault("bulk copy: no window begins there", line);
        }
    }
    if (!ind_emulation::rt->is_shared(tile, bytes) || (size_t)tile % (m->swizzle ? m->swizzle * 8u : 128u) != 0) {
        ind_emulation::rt->fault("bulk copy: the destination is not aligned, or not in shared memory", line);
    }
    if (p.at[0] * (long long)m->stride[0] % 16 != 0) { /* seen on an H100: an illegal instruction */
        ind_emulation::rt->fault("bulk copy: the box does not begin at a multiple of 16 bytes", line);
    }
    ind_emulation::touch_box(m, p);
    ind_emulation::rt->bulk_tensor(tile, m, barrier, blocks, &p, line);
}

} // namespace ind_emulation

template <int RANK, class M>
IND_EMULATION_FN void ind_bulk_copy(void *tile, const M &map, unsigned long long *barrier, int x, int y, int z = 0,
                                    int u = 0, int v = 0, IND_EMULATION_LINE) {
    ind_emulation::copy_box<RANK, 0>(tile, map, barrier, 0, {{x, y, z, u, v}, {}}, line);
}
template <int RANK, class M>
IND_EMULATION_FN void ind_bulk_multicast(void *tile, const M &map, unsigned long long *barrier, unsigned short blocks,
                                         int x, int y, int z = 0, int u = 0, int v = 0, IND_EMULATION_LINE) {
    if (!blocks) ind_emulation::rt->fault("bulk copy: multicast to no block", line);
    ind_emulation::copy_box<RANK, 0>(tile, map, barrier, blocks, {{x, y, z, u, v}, {}}, line);
}
template <int RANK, class M>
IND_EMULATION_FN void ind_multicast_windows(void *tile, const M &map, unsigned long long *barrier,
                                            unsigned short blocks, int channel, int image, int x, unsigned short tap_x,
                                            int y = 0, unsigned short tap_y = 0, int z = 0, unsigned short tap_z = 0,
                                            IND_EMULATION_LINE) {
    const ind_emulation::place p = {
        {channel, x, RANK > 1 ? y : image, RANK > 2 ? z : RANK > 1 ? image : 0, RANK > 2 ? image : 0},
        {tap_x, tap_y, tap_z}};
    ind_emulation::copy_box<RANK + 2, RANK>(tile, map, barrier, blocks, p, line);
}
template <int RANK, class M>
IND_EMULATION_FN void ind_copy_windows(void *tile, const M &map, unsigned long long *barrier, int channel, int image,
                                       int x, unsigned short tap_x, int y = 0, unsigned short tap_y = 0, int z = 0,
                                       unsigned short tap_z = 0, IND_EMULATION_LINE) {
    ind_multicast_windows<RANK>(tile, map, barrier, 0, channel, image, x, tap_x, y, tap_y, z, tap_z, line);
}

/* wgmma: each thread computes its own part of the 64 rows from m on from the tiles in shared memory, which lie
 * in panels of up to 64 columns, the 16-byte chunks of a panel's rows exchanged as by the swizzle of 128 or 64 bytes.
 */
namespace ind_emulation {

template <bool BF16, int ROWS, int COLS>
IND_EMULATION_FN float tile_element(const unsigned short *tile, int row, int col) {
    const int width = COLS > 64 ? 64 : COLS, chunks = width / 8;
    int byte = ((col / width * ROWS + row) * width + col % width) * 2;
    byte ^= (byte >> 7 & (chunks - 1)) << 4;
    unsigned short x = *(const unsigned short *)((const unsigned char *)tile + byte);
    return BF16 ? ind_bf16_to_f32(x) : ind_f16_to_f32(x);
}

} // namespace ind_emulation

template <bool BF16, int TM, int TN, int TK, bool A_K_MAJOR, bool B_K_MAJOR, int NI>
IND_EMULATION_FN void ind_wgmma_tile(float (&c)[NI][4], const unsigned short *tile_a, const unsigned short *tile_b,
                                     int m, IND_EMULATION_LINE) {
    if (m % 64 != 0 || NI * 8 % TN != 0 || m + NI * 8 / TN * 64 > TM || TK % 16 != 0) {
        ind_emulation::rt->fault("wgmma: 64 rows and all columns of the tile are multiplied", line);
    }
    if (!ind_emulation::rt->is_shared(tile_a, TM * TK * 2) || !ind_emulation::rt->is_shared(tile_b, TN * TK * 2)) {
        ind_emulation::rt->fault("wgmma: a tile is not in shared memory", line);
    }
    ind_emulation::rt->wgmma_read(tile_a, TM * TK * 2, line);
    ind_emulation::rt->wgmma_read(tile_b, TN * TK * 2, line);
    ind_emulation::rt->wgmma_commit();
    const int lane = (int)threadIdx.x & 127, row = m + (lane >> 5) * 16 + (lane >> 2 & 7), col = (lane & 3) * 2;
    for (int i = 0; i < NI * 4; i++) {
        const int r = row + i / (TN / 2) * 64 + (i >> 1 & 1) * 8, n = (i >> 2) % (TN / 8) * 8 + col + (i & 1);
        for (int k = 0; k < TK; k++) {
            const float a = A_K_MAJOR ? ind_emulation::tile_element<BF16, TM, TK>(tile_a, r, k)
                                      : ind_emulation::tile_element<BF16, TK, TM>(tile_a, k, r);
            const float b = B_K_MAJOR ? ind_emulation::tile_element<BF16, TN, TK>(tile_b, n, k)
                                      : ind_emulation::tile_element<BF16, TK, TN>(tile_b, k, n);
            c[i >> 2][i & 3] += a * b;
        }
    }
}

namespace ind_emulation {

/* The byte at (row, k) of a tile of rows of 128 or 64 bytes, which has half as many 16-bit units. */
template <int ROWS, int COLS> IND_EMULATION_FN unsigned char tile_byte(const unsigned short *tile, int row, int k) {
    const int width = (COLS > 64 ? 64 : COLS) * 2;
    int byte = (k / width * ROWS + row) * width + k % width;
    byte ^= (byte >> 7 & (width / 16 - 1)) << 4;
    return ((const unsigned char *)tile)[byte];
}

/* The tf32 at (row, k) of such a tile. */
template <int ROWS, int COLS> IND_EMULATION_FN float tile_word(const unsigned short *tile, int row, int k) {
    const int width = (COLS > 64 ? 64 : COLS) * 2;
    int byte = (k * 4 / width * ROWS + row) * width + k * 4 % width;
    byte ^= (byte >> 7 & (width / 16 - 1)) << 4;
    return __uint_as_float(*(const unsigned *)((const unsigned char *)tile + byte) & ~0x1fffu);
}

/* An f8e5m2 is the upper half of an f16; an f8e4m3 has its exponent, less 8, and no infinity. */
IND_EMULATION_FN float byte_value(unsigned char x, bool e5m2) {
    if (e5m2) return ind_f16_to_f32((unsigned short)(x << 8));
    return (x & 0x7f) == 0x7f ? __builtin_nanf("")
                              : ind_f16_to_f32((unsigned short)((x & 0x80) << 8 | (x & 0x7f) << 7)) * 256.0f;
}

/* Hopper's tensor cores add products of 8-bit floats to sums of 14 bits: the lower ones are cut off. */
IND_EMULATION_FN float cut_sum(double x) {
    const float f = (float)x;
    return __uint_as_float(__float_as_uint(f) & ~0x3ffu);
}

template <bool A_E5M2, bool B_E5M2, int TM, int TN, int TK>
IND_EMULATION_FN void add_bytes(float &c, const unsigned short *tile_a, const unsigned short *tile_b, int m, int n,
                                int k) {
    double sum = c;
    for (int i = k; i < k + 32; i++)
        sum += (double)byte_value(tile_byte<TM, TK>(tile_a, m, i), A_E5M2) *
               byte_value(tile_byte<TN, TK>(tile_b, n, i), B_E5M2);
    c = cut_sum(sum);
}
template <bool, bool, int TM, int TN, int TK>
IND_EMULATION_FN void add_bytes(unsigned &c, const unsigned short *tile_a, const unsigned short *tile_b, int m, int n,
                                int k) {
    for (int i = k; i < k + 32; i++)
        c += (unsigned)((int)(signed char)tile_byte<TM, TK>(tile_a, m, i) *
                        (int)(signed char)tile_byte<TN, TK>(tile_b, n, i));
}

} // namespace ind_emulation

/* wgmma of 8-bit operands, both with rows along k. TK: pairs of elements. FRESH: c is replaced. */
template <bool A_E5M2, bool B_E5M2, bool FRESH, int TM, int TN, int TK, class T, int NI>
IND_EMULATION_FN void ind_wgmma_bytes(T (&c)[NI][4], const unsigned short *tile_a, const unsigned short *tile_b, int m,
                                      IND_EMULATION_LINE) {
    if (m % 64 != 0 || NI * 8 % TN != 0 || m + NI * 8 / TN * 64 > TM || TK % 16 != 0) {
        ind_emulation::rt->fault("wgmma: 64 rows and all columns of the tile are multiplied", line);
    }
    if (!ind_emulation::rt->is_shared(tile_a, TM * TK * 2) || !ind_emulation::rt->is_shared(tile_b, TN * TK * 2)) {
        ind_emulation::rt->fault("wgmma: a tile is not in shared memory", line);
    }
    ind_emulation::rt->wgmma_read(tile_a, TM * TK * 2, line);
    ind_emulation::rt->wgmma_read(tile_b, TN * TK * 2, line);
    ind_emulation::rt->wgmma_commit();
    const int lane = (int)threadIdx.x & 127, row = m + (lane >> 5) * 16 + (lane >> 2 & 7), col = (lane & 3) * 2;
    for (int i = 0; i < NI * 4; i++) {
        const int r = row + i / (TN / 2) * 64 + (i >> 1 & 1) * 8, n = (i >> 2) % (TN / 8) * 8 + col + (i & 1);
        if (FRESH) c[i >> 2][i & 3] = 0;
        for (int k = 0; k < 2 * TK; k += 32) {
            ind_emulation::add_bytes<A_E5M2, B_E5M2, TM, TN, TK>(c[i >> 2][i & 3], tile_a, tile_b, r, n, k);
        }
    }
}

/* wgmma of tf32, both operands with rows along k: of each element the tensor cores read the upper 19 bits. TK: 16-bit
 * units. */
template <int TM, int TN, int TK, class T, int NI>
IND_EMULATION_FN void ind_wgmma_words(T (&c)[NI][4], const unsigned short *tile_a, const unsigned short *tile_b, int m,
                                      IND_EMULATION_LINE) {
    if (m % 64 != 0 || NI * 8 % TN != 0 || m + NI * 8 / TN * 64 > TM || TK % 16 != 0) {
        ind_emulation::rt->fault("wgmma: 64 rows and all columns of the tile are multiplied", line);
    }
    if (!ind_emulation::rt->is_shared(tile_a, TM * TK * 2) || !ind_emulation::rt->is_shared(tile_b, TN * TK * 2)) {
        ind_emulation::rt->fault("wgmma: a tile is not in shared memory", line);
    }
    ind_emulation::rt->wgmma_read(tile_a, TM * TK * 2, line);
    ind_emulation::rt->wgmma_read(tile_b, TN * TK * 2, line);
    ind_emulation::rt->wgmma_commit();
    const int lane = (int)threadIdx.x & 127, row = m + (lane >> 5) * 16 + (lane >> 2 & 7), col = (lane & 3) * 2;
    for (int i = 0; i < NI * 4; i++) {
        const int r = row + i / (TN / 2) * 64 + (i >> 1 & 1) * 8, n = (i >> 2) % (TN / 8) * 8 + col + (i & 1);
        for (int k = 0; k < TK / 2; k++) {
            c[i >> 2][i & 3] +=
                ind_emulation::tile_word<TM, TK>(tile_a, r, k) * ind_emulation::tile_word<TN, TK>(tile_b, n, k);
        }
    }
}
/* Products of a tile of queries and one of keys, both with rows along the features. Products that are not used are not
   computed: their tiles may be incomplete. */
template <bool BF16, int TM, int TK, int D, int NI>
IND_EMULATION_FN void ind_wgmma_scores(float (&c)[NI][4], const unsigned short *tile_a, const unsigned short *tile_b,
                                       int m, bool used = true, IND_EMULATION_LINE) {
    if (!used) {
        ind_emulation::rt->wgmma_commit();
        return;
    }
    for (int i = 0; i < NI * 4; i++) c[i >> 2][i & 3] = 0;
    ind_wgmma_tile<BF16, TM, TK, D, true, true>(c, tile_a, tile_b, m, line);
}
/* Weights in registers, 64 rows of a warpgroup, times a tile of values [TK][TN]. */
template <bool BF16, int TN, int TK, int NI, int NK>
IND_EMULATION_FN void ind_wgmma_weighted(float (&c)[NI][4], const unsigned (&weight)[NK][4], const unsigned short *tile,
                                         IND_EMULATION_LINE) {
    if (NI * 8 > TN || NI * 8 + 64 <= TN || NK * 16 != TK || !ind_emulation::rt->is_shared(tile, TN * TK * 2)) {
        ind_emulation::rt->fault("wgmma: the tile is not in shared memory, or of another size", line);
    }
    ind_emulation::rt->wgmma_read(tile, TN * TK * 2, line);
    ind_emulation::rt->wgmma_commit();
    const int lane = (int)threadIdx.x & 31;
    for (int k = 0; k < TK; k++) {
        for (int half = 0; half < 2; half++) {
            /* The lane with this element of the row: registers 0 and 2 are of row lane / 4, 1 and 3 of the row 8 later.
             */
            const unsigned word = weight[k / 16][k % 16 / 8 * 2 + half];
            const unsigned pair = __shfl_sync(0xffffffffu, word, (lane & ~3) + k % 8 / 2);
            const unsigned short bits = (unsigned short)(k % 2 ? pair >> 16 : pair);
            const float w = BF16 ? ind_bf16_to_f32(bits) : ind_f16_to_f32(bits);
            for (int i = 0; i < NI; i++) {
                for (int j = 0; j < 2; j++) {
                    c[i][half * 2 + j] +=
                        w * ind_emulation::tile_element<BF16, TK, TN>(tile, k, i * 8 + (lane & 3) * 2 + j);
                }
            }
        }
    }
}
/* Packed weights in registers, 64 elements of k, times a tile of ROWS rows along k. */
template <bool BF16, int ROWS, class T, int NI>
IND_EMULATION_FN void ind_wgmma_packed(T &sums, const unsigned (&weight)[NI][4], const unsigned short *tile,
                                       IND_EMULATION_LINE) {
    if (NI != 4 || !ind_emulation::rt->is_shared(tile, ROWS * 128)) {
        ind_emulation::rt->fault("wgmma: the tile is not in shared memory, or of another size", line);
    }
    ind_emulation::rt->wgmma_read(tile, ROWS * 128, line);
    ind_emulation::rt->wgmma_commit();
    const int lane = (int)threadIdx.x & 31;
    for (int k = 0; k < 64; k++) {
        for (int half = 0; half < 2; half++) {
            const unsigned word = weight[k / 16][k % 16 / 8 * 2 + half];
            const unsigned pair = __shfl_sync(0xffffffffu, word, (lane & ~3) + k % 8 / 2);
            const unsigned short bits = (unsigned short)(k % 2 ? pair >> 16 : pair);
            const float w = BF16 ? ind_bf16_to_f32(bits) : ind_f16_to_f32(bits);
            for (int i = 0; i < ROWS / 8; i++) {
                for (int j = 0; j < 2; j++) {
                    sums.c[i][half * 2 + j] +=
                        w * ind_emulation::tile_element<BF16, ROWS, 64>(tile, i * 8 + (lane & 3) * 2 + j, k);
                }
            }
        }
    }
}
template <int N, int NI> IND_EMULATION_FN void ind_wgmma_ready(float (&)[NI][4], IND_EMULATION_LINE) {
    ind_emulation::rt->wgmma_wait(N, line);
}
template <int N, class T, int NI> IND_EMULATION_FN void ind_wgmma_wait(T (&)[NI][4], IND_EMULATION_LINE) {
    ind_emulation::rt->wgmma_wait(N, line);
}

/* The sums of a thread as an object; its values are undefined before clear(). */
template <class T, int NI> struct ind_wgmma_sums {
    T c[NI][4];
    void clear() {
        for (int i = 0; i < NI * 4; i++) c[i >> 2][i & 3] = 0;
    }
    template <int N> void wait(IND_EMULATION_LINE) {
        ind_emulation::rt->wgmma_wait(N, line);
    }
    void read(T (&to)[NI][4]) {
        for (int i = 0; i < NI * 4; i++) to[i >> 2][i & 3] = c[i >> 2][i & 3];
    }
};
template <bool BF16, int TM, int TN, int TK, bool A_K_MAJOR, bool B_K_MAJOR, class T, int NI>
IND_EMULATION_FN void ind_wgmma_tile(ind_wgmma_sums<T, NI> &sums, const unsigned short *tile_a,
                                     const unsigned short *tile_b, int m, IND_EMULATION_LINE) {
    ind_wgmma_tile<BF16, TM, TN, TK, A_K_MAJOR, B_K_MAJOR>(sums.c, tile_a, tile_b, m, line);
}
template <bool A_E5M2, bool B_E5M2, bool FRESH, int TM, int TN, int TK, class T, int NI>
IND_EMULATION_FN void ind_wgmma_bytes(ind_wgmma_sums<T, NI> &sums, const unsigned short *tile_a,
                                      const unsigned short *tile_b, int m, IND_EMULATION_LINE) {
    ind_wgmma_bytes<A_E5M2, B_E5M2, FRESH, TM, TN, TK>(sums.c, tile_a, tile_b, m, line);
}
template <int TM, int TN, int TK, class T, int NI>
IND_EMULATION_FN void ind_wgmma_words(ind_wgmma_sums<T, NI> &sums, const unsigned short *tile_a,
                                      const unsigned short *tile_b, int m, IND_EMULATION_LINE) {
    ind_wgmma_words<TM, TN, TK>(sums.c, tile_a, tile_b, m, line);
}
IND_EMULATION_FN void ind_wgmma_publish() {
}

/* Tensor memory and products of tcgen05. The source has the descriptors, the driver decodes them. */
template <int COLUMNS> IND_EMULATION_FN void ind_tcgen05_alloc(unsigned *address, IND_EMULATION_LINE) {
    ind_emulation::rt->tensor_alloc(address, COLUMNS, line);
    ind_emulation::rt->tensor_relinquish(line);
}
template <int COLUMNS> IND_EMULATION_FN void ind_tcgen05_free(unsigned address, IND_EMULATION_LINE) {
    ind_emulation::rt->tensor_free(address, COLUMNS, line);
}
IND_EMULATION_FN void ind_tcgen05_before_sync(IND_EMULATION_LINE) {
    ind_emulation::rt->tensor_fence(0, line);
}
IND_EMULATION_FN void ind_tcgen05_after_sync(IND_EMULATION_LINE) {
    ind_emulation::rt->tensor_fence(1, line);
}
IND_EMULATION_FN void ind_tcgen05_commit(unsigned long long *barrier, IND_EMULATION_LINE) {
    ind_emulation::rt->tensor_commit(barrier, line);
}
template <bool BYTES>
IND_EMULATION_FN void ind_tcgen05_mma(unsigned sums, unsigned long long a, unsigned long long b, unsigned instruction,
                                      bool accumulate, IND_EMULATION_LINE) {
    ind_emulation::rt->tensor_mma(sums, a, b, instruction, accumulate, BYTES, line);
}
template <int N> IND_EMULATION_FN void ind_tcgen05_load(float (&x)[N], unsigned address, IND_EMULATION_LINE) {
    static_assert(N % 16 == 0, "16 columns are loaded at a time");
    ind_emulation::rt->tensor_load(x, address, N, line);
}
template <int P, int N> IND_EMULATION_FN void ind_tcgen05_loaded(float (&)[P][N], IND_EMULATION_LINE) {
    ind_emulation::rt->tensor_wait(line);
}

/* ---- >>entry: what the fake NVRTC appends for each kernel -------------------------------------------------------- */

#define IND_EMULATION_EXPORT extern "C" __attribute__((visibility("default")))

namespace ind_emulation {

template <int... I> struct indices {};
template <int N, int... I> struct make_indices : make_indices<N - 1, N - 1, I...> {};
template <int... I> struct make_indices<0, I...> { typedef indices<I...> type; };

template <class... A> struct parameters_of {
    static constexpr parameter list[sizeof...(A) + 1] = {{(unsigned)sizeof(A), (unsigned)alignof(A)}..., {0, 0}};
};

template <class... A, int... I> IND_EMULATION_FN void call(void (*function)(A...), void **arguments, indices<I...>) {
    function(*(A *)arguments[I]...);
}
template <class... A> IND_EMULATION_FN void call(void (*function)(A...), void **arguments) {
    call(function, arguments, typename make_indices<sizeof...(A)>::type());
}
template <class... A>
constexpr kernel describe(void (*)(A...), void (*caller)(void **), unsigned max_threads, unsigned cluster,
                          unsigned beside) {
    return kernel{caller, parameters_of<A...>::list, (unsigned)sizeof...(A), max_threads, cluster, beside};
}

} // namespace ind_emulation

/* Weak: a module without static shared memory has no such section. */
extern "C" __attribute__((weak, visibility("hidden"))) unsigned char __start_ind_shared[], __stop_ind_shared[];
IND_EMULATION_EXPORT const ind_emulation::module ind_emulation_module;
const ind_emulation::module ind_emulation_module = {IND_EMULATION_ABI, &ind_emulation::rt, &ind_emulation::now,
                                                    __start_ind_shared, __stop_ind_shared};

#define IND_EMULATION_KERNEL(name, max_threads, cluster, beside)                                                       \
    static void name##__call(void **arguments) {                                                                       \
        ind_emulation::call(&name, arguments);                                                                         \
    }                                                                                                                  \
    IND_EMULATION_EXPORT const ind_emulation::kernel name##__kernel;                                                   \
    const ind_emulation::kernel name##__kernel =                                                                       \
        ind_emulation::describe(&name, name##__call, max_threads, cluster, beside);

#endif
