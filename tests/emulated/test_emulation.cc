/*
 * Tests of the emulation itself: hand-written CUDA C through the two fake libraries, against plain C++. Usage:
 * test_emulation FOLDER_OF_THE_LIBRARIES. Built twice (emulated.mk): with the sanitizers, where kernels are compiled
 * with them too, and without.
 *
 * >>harness >>compute >>warp >>matrix >>conversion >>divergence >>clusters >>maps >>multicast >>tensor >>sanitizer
 * >>trace >>driver
 * >>compiler
 * >>faults
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "support.h"

namespace {

/* ---- >>harness --------------------------------------------------------------------------------------------------- */

int failures;

void check_(bool ok, const char *what, int line) {
    if (!ok) {
        printf("  line %d: %s\n", line, what);
        failures++;
    }
}
#define CHECK(x)            check_((x), #x, __LINE__)
#define CHECK_IS(x, wanted) check_is((long long)(x), (long long)(wanted), #x, __LINE__)

void check_is(long long got, long long wanted, const char *what, int line) {
    if (got != wanted) {
        printf("  line %d: %s is %lld, should be %lld\n", line, what, got, wanted);
        failures++;
    }
}

typedef uint64_t device;

#define DRIVER(_)                                                                                                      \
    _(cuInit, (unsigned))                                                                                              \
    _(cuDeviceGet, (int *, int))                                                                                       \
    _(cuDeviceGetAttribute, (int *, int, int))                                                                         \
    _(cuDevicePrimaryCtxRetain, (void **, int))                                                                        \
    _(cuDevicePrimaryCtxRelease_v2, (int))                                                                             \
    _(cuCtxSetCurrent, (void *))                                                                                       \
    _(cuCtxSynchronize, (void))                                                                                        \
    _(cuMemAlloc_v2, (device *, size_t))                                                                               \
    _(cuMemFree_v2, (device))                                                                                          \
    _(cuMemHostAlloc, (void **, size_t, unsigned))                                                                     \
    _(cuMemFreeHost, (void *))                                                                                         \
    _(cuMemcpyHtoD_v2, (device, const void *, size_t))                                                                 \
    _(cuMemcpyDtoH_v2, (void *, device, size_t))                                                                       \
    _(cuMemcpyHtoDAsync_v2, (device, const void *, size_t, void *))                                                    \
    _(cuMemcpyDtoHAsync_v2, (void *, device, size_t, void *))                                                          \
    _(cuMemsetD32Async, (device, unsigned, size_t, void *))                                                            \
    _(cuPointerGetAttribute, (void *, int, device))                                                                    \
    _(cuStreamCreate, (void **, unsigned))                                                                             \
    _(cuStreamDestroy_v2, (void *))                                                                                    \
    _(cuStreamSynchronize, (void *))                                                                                   \
    _(cuStreamBeginCapture_v2, (void *, int))                                                                          \
    _(cuThreadExchangeStreamCaptureMode, (int *))                                                                      \
    _(cuStreamEndCapture, (void *, void **))                                                                           \
    _(cuStreamIsCapturing, (void *, int *))                                                                            \
    _(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                                              \
    _(cuGraphLaunch, (void *, void *))                                                                                 \
    _(cuGraphExecDestroy, (void *))                                                                                    \
    _(cuGraphDestroy, (void *))                                                                                        \
    _(cuGraphCreate, (void **, unsigned))                                                                              \
    _(cuGraphAddChildGraphNode, (void **, void *, void *const *, size_t, void *))                                      \
    _(cuEventCreate, (void **, unsigned))                                                                              \
    _(cuEventRecord, (void *, void *))                                                                                 \
    _(cuEventSynchronize, (void *))                                                                                    \
    _(cuEventElapsedTime, (float *, void *, void *))                                                                   \
    _(cuEventDestroy_v2, (void *))                                                                                     \
    _(cuModuleLoadData, (void **, const void *))                                                                       \
    _(cuModuleUnload, (void *))                                                                                        \
    _(cuModuleGetFunction, (void **, void *, const char *))                                                            \
    _(cuFuncSetAttribute, (void *, int, int))                                                                          \
    _(cuFuncGetAttribute, (int *, int, void *))                                                                        \
    _(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t))                                       \
    _(cuLaunchKernel,                                                                                                  \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))        \
    _(cuLaunchKernelEx, (const void *, void *, void **, void **))                                                      \
    _(cuTensorMapEncodeTiled, (void *, int, unsigned, void *, const unsigned long long *, const unsigned long long *,  \
                               const unsigned *, const unsigned *, int, int, int, int))                                \
    _(cuGetErrorName, (int, const char **))                                                                            \
    _(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))
#define COMPILER(_)                                                                                                    \
    _(nvrtcVersion, (int *, int *))                                                                                    \
    _(nvrtcCreateProgram, (void **, const char *, const char *, int, const char *const *, const char *const *))        \
    _(nvrtcDestroyProgram, (void **))                                                                                  \
    _(nvrtcCompileProgram, (void *, int, const char *const *))                                                         \
    _(nvrtcGetCUBINSize, (void *, size_t *))                                                                           \
    _(nvrtcGetCUBIN, (void *, char *))                                                                                 \
    _(nvrtcGetProgramLogSize, (void *, size_t *))                                                                      \
    _(nvrtcGetProgramLog, (void *, char *))

#define DECLARE(name, parameters) int(*name) parameters;
DRIVER(DECLARE)
COMPILER(DECLARE)
void (*driver_fail)(const char *), (*compiler_fail)(const char *);
void (*driver_stats)(unsigned long long *), (*compiler_stats)(unsigned long long *);
const char *(*last_error)(void);

void *need(void *library, const char *name) {
    void *symbol = library ? dlsym(library, name) : nullptr;
    if (!symbol) {
        printf("missing: %s (%s)\n", name, dlerror());
        exit(1);
    }
    return symbol;
}

void open_libraries(const std::string &folder) {
    void *cuda = dlopen((folder + "/libcuda.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    void *nvrtc = dlopen((folder + "/libnvrtc.so").c_str(), RTLD_NOW | RTLD_LOCAL);
#define LOAD_DRIVER(name, parameters)   name = (int(*) parameters)need(cuda, #name);
#define LOAD_COMPILER(name, parameters) name = (int(*) parameters)need(nvrtc, #name);
    DRIVER(LOAD_DRIVER)
    COMPILER(LOAD_COMPILER)
    driver_fail = (void (*)(const char *))need(cuda, "ind_emulation_fail");
    compiler_fail = (void (*)(const char *))need(nvrtc, "ind_emulation_fail");
    driver_stats = (void (*)(unsigned long long *))need(cuda, "ind_emulation_stats");
    compiler_stats = (void (*)(unsigned long long *))need(nvrtc, "ind_emulation_stats");
    last_error = (const char *(*)(void))need(cuda, "ind_emulation_last_error");
}

bool sanitized() {
    return dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
}

/* The status of a compile, with the cubin and the log. */
int compile(const std::string &source, std::string *cubin, std::string *log,
            std::vector<const char *> options = {"--gpu-architecture=sm_90a"}) {
    void *program = nullptr;
    size_t size = 0;
    CHECK_IS(nvrtcCreateProgram(&program, source.c_str(), "test.cu", 0, nullptr, nullptr), 0);
    int status = nvrtcCompileProgram(program, (int)options.size(), options.data());
    CHECK_IS(nvrtcGetProgramLogSize(program, &size), 0);
    log->resize(size);
    CHECK_IS(nvrtcGetProgramLog(program, &(*log)[0]), 0);
    if (status == 0) {
        CHECK_IS(nvrtcGetCUBINSize(program, &size), 0);
        cubin->resize(size);
        CHECK_IS(nvrtcGetCUBIN(program, &(*cubin)[0]), 0);
    }
    CHECK_IS(nvrtcDestroyProgram(&program), 0);
    return status;
}

/* A compiled kernel named k. */
struct kernel {
    void *module = nullptr, *function = nullptr;
    explicit kernel(const std::string &source, const char *name = "k") {
        std::string cubin, log;
        if (compile(source, &cubin, &log) != 0) {
            printf("  does not compile:\n%s\n", log.c_str());
            failures++;
            return;
        }
        CHECK_IS(cuModuleLoadData(&module, cubin.data()), 0);
        CHECK_IS(cuModuleGetFunction(&function, module, name), 0);
    }
    ~kernel() {
        cuModuleUnload(module);
    }
    template <class... A> int launch(unsigned grid, unsigned block, unsigned shared, void *stream, A... arguments) {
        void *pointers[] = {&arguments..., nullptr};
        return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, stream, pointers, nullptr);
    }
    /* A launch that may begin before the previous one has completed. */
    template <class... A> int launch_dependent(unsigned grid, unsigned block, A... arguments) {
        struct {
            int id, pad;
            union {
                char bytes[64];
                int allowed;
            } value;
        } early = {6, 0, {{0}}};
        early.value.allowed = 1;
        const struct {
            unsigned grid[3], block[3], shared;
            void *stream;
            const void *attributes;
            unsigned count;
        } config = {{grid, 1, 1}, {block, 1, 1}, 0, nullptr, &early, 1};
        void *pointers[] = {&arguments..., nullptr};
        return cuLaunchKernelEx(&config, function, pointers, nullptr);
    }
    template <class... A> int run(unsigned grid, unsigned block, unsigned shared, A... arguments) {
        int status = launch(grid, block, shared, nullptr, arguments...);
        return status ? status : cuCtxSynchronize();
    }
};

template <class T> struct array {
    device at = 0;
    size_t count;
    explicit array(size_t count_) : count(count_) {
        CHECK_IS(cuMemAlloc_v2(&at, count * sizeof(T)), 0);
    }
    explicit array(const std::vector<T> &values) : array(values.size()) {
        CHECK_IS(cuMemcpyHtoD_v2(at, values.data(), count * sizeof(T)), 0);
    }
    array(const array &) = delete;
    ~array() {
        cuMemFree_v2(at);
    }
    std::vector<T> get() const {
        std::vector<T> values(count);
        CHECK_IS(cuMemcpyDtoH_v2(values.data(), at, count * sizeof(T)), 0);
        return values;
    }
};

float noise(unsigned i) {
    i = i * 2654435761u ^ 0x9e3779b9u;
    i ^= i >> 15;
    i *= 2246822519u;
    i ^= i >> 13;
    return (float)(i % 20001) / 10000.0f - 1.0f;
}

std::vector<float> noise_vector(size_t count, unsigned seed) {
    std::vector<float> v(count);
    for (size_t i = 0; i < count; i++) {
        v[i] = noise((unsigned)i + seed * 1000003u);
    }
    return v;
}

void fresh_context() {
    void *context = nullptr;
    cuDevicePrimaryCtxRelease_v2(0);
    CHECK_IS(cuDevicePrimaryCtxRetain(&context, 0), 0);
    CHECK_IS(cuCtxSetCurrent(context), 0);
}

/* ---- >>compute --------------------------------------------------------------------------------------------------- */

void test_pointwise() {
    kernel k(R"(
extern "C" __global__ void __launch_bounds__(256) k(const float4 *__restrict__ x, float4 *y, float a, unsigned n,
                                                     unsigned char c, double d) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = __ldg(&x[i]);
    y[i] = make_float4(expf(v.x) * a, tanhf(v.y), fmaf(v.z, v.z, (float)c), rsqrtf(fabsf(v.w) + 1.0f) + (float)d);
})");
    const unsigned n = 1001;
    std::vector<float> in = noise_vector(n * 4, 1);
    array<float> x(in), y(n * 4);
    CHECK_IS(k.run(4, 256, 0, x.at, y.at, 2.0f, n, (unsigned char)200, 0.25), 0);
    std::vector<float> out = y.get();
    for (unsigned i = 0; i < n; i++) {
        const float *v = &in[i * 4], *o = &out[i * 4];
        CHECK(o[0] == expf(v[0]) * 2.0f && o[1] == tanhf(v[1]) && o[2] == fmaf(v[2], v[2], 200.0f));
        CHECK(fabs(o[3] - (1 / sqrt(fabs((double)v[3]) + 1) + 0.25)) < 1e-6);
    }
}

void test_reduction() {
    kernel k(R"(
extern "C" __global__ void __launch_bounds__(512) k(const float *x, float *sums, int n) {
    __shared__ float partial[16];
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[blockIdx.x * n + i];
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
        for (int d = 16; d; d >>= 1) s += __shfl_down_sync(0xffffffffu, s, d);
        if (threadIdx.x == 0) sums[blockIdx.x] = s;
    }
})");
    const int n = 777, rows = 9;
    std::vector<float> in = noise_vector(n * rows, 2);
    for (unsigned threads : {32u, 256u, 512u}) {
        array<float> x(in), y(rows);
        CHECK_IS(k.run(rows, threads, 0, x.at, y.at, n), 0);
        std::vector<float> out = y.get();
        for (int r = 0; r < rows; r++) {
            double sum = 0;
            for (int i = 0; i < n; i++) sum += in[(size_t)(r * n + i)];
            CHECK(fabs(out[(size_t)r] - sum) < 1e-3);
        }
    }
    int shared = 0;
    CHECK_IS(cuFuncGetAttribute(&shared, 1, k.function), 0);
    CHECK_IS(shared, 64);
}

const char *const transpose_source = R"(
extern "C" __global__ void k(const float *x, float *y, int rows, int columns) {
    __shared__ __align__(16) float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (r + i < rows && c < columns) tile[threadIdx.y + i][threadIdx.x] = x[(r + i) * columns + c];
    BARRIER
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (r + i < columns && c < rows) y[(r + i) * rows + c] = tile[threadIdx.x][threadIdx.y + i];
})";

/* With the barrier the result is right; without it, it is not in any order of threads. */
void test_transpose() {
    int rows = 70, columns = 45;
    std::vector<float> in = noise_vector((size_t)(rows * columns), 3);
    for (int barrier = 0; barrier < 2; barrier++) {
        std::string source = transpose_source;
        source.replace(source.find("BARRIER"), 7, barrier ? "__syncthreads();" : "");
        kernel k(source);
        array<float> x(in), y(in.size());
        void *arguments[] = {&x.at, &y.at, &rows, &columns};
        CHECK_IS(cuLaunchKernel(k.function, 2, 3, 1, 32, 8, 1, 0, nullptr, arguments, nullptr), 0);
        std::vector<float> out = y.get();
        size_t wrong = 0;
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < columns; c++) {
                wrong += out[(size_t)(c * rows + r)] != in[(size_t)(r * columns + c)];
            }
        }
        CHECK((wrong == 0) == (barrier == 1));
    }
}

void test_dynamic_shared() {
    kernel k(R"(
extern __shared__ __align__(16) unsigned char ind_smem[];
static __device__ float at(int i) { return ((float *)ind_smem)[i]; }
extern "C" __global__ void k(const float *x, float *y) {
    float *s = reinterpret_cast<float *>(ind_smem);
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = at(blockDim.x - 1 - threadIdx.x);
}
extern "C" __global__ void inner(float *y) {
    extern __shared__ __align__(16) unsigned char ind_smem[];
    y[threadIdx.x] = *(float *)(ind_smem + threadIdx.x * 4);
})");
    std::vector<float> in = noise_vector(128, 4);
    array<float> x(in), y(128);
    CHECK_IS(k.run(1, 128, 512, x.at, y.at), 0);
    std::vector<float> out = y.get();
    for (size_t i = 0; i < 128; i++) CHECK(out[i] == in[127 - i]);

    void *inner = nullptr;
    CHECK_IS(cuModuleGetFunction(&inner, k.module, "inner"), 0);
    void *arguments[] = {&y.at};
    CHECK_IS(cuLaunchKernel(inner, 1, 1, 1, 128, 1, 1, 512, nullptr, arguments, nullptr), 0);
    out = y.get();
    uint32_t bits;
    memcpy(&bits, &out[5], 4);
    CHECK_IS(bits, 0xcbcbcbcbu); /* fresh shared memory is garbage, not what the last block left */

    CHECK_IS(cuLaunchKernel(inner, 1, 1, 1, 128, 1, 1, 49153, nullptr, arguments, nullptr), 1);
    CHECK_IS(cuFuncSetAttribute(inner, 8, 232449), 1);
    CHECK_IS(cuFuncSetAttribute(inner, 8, 232448), 0);
    CHECK_IS(cuLaunchKernel(inner, 1, 1, 1, 128, 1, 1, 232448, nullptr, arguments, nullptr), 0);
    CHECK_IS(cuCtxSynchronize(), 0);
}

void test_static_shared_is_garbage() {
    kernel k(R"(
extern "C" __global__ void k(unsigned *y) {
    static __shared__ unsigned a[64];
    y[threadIdx.x + blockIdx.x * 64] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = 1;
})");
    array<unsigned> y(128);
    CHECK_IS(k.run(2, 64, 0, y.at), 0);
    for (unsigned v : y.get()) CHECK_IS(v, 0xcbcbcbcbu);
}

void test_atomics() {
    kernel k(R"(
extern "C" __global__ void k(int *i, unsigned *u, unsigned long long *l, float *f, double *d, const int *v, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    atomicAdd(&i[0], v[t]);
    atomicMax(&i[1], v[t]);
    atomicMin(&i[2], v[t]);
    atomicAdd(&u[0], 1u);
    atomicOr(&u[1], 1u << (t % 32));
    atomicInc(&u[2], 9u);
    atomicAdd(l, (unsigned long long)t);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    unsigned *bits = (unsigned *)&f[1], old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __float_as_uint(__uint_as_float(assumed) + 1.0f));
    } while (old != assumed);
    while (atomicCAS(&u[3], 0u, 1u)) {}
    u[4] += 2;
    __threadfence();
    atomicExch(&u[3], 0u);
})");
    const int n = 300;
    std::vector<int> values(n);
    int sum = 0, most = -1000, least = 1000;
    for (int t = 0; t < n; t++) {
        values[(size_t)t] = (int)(noise((unsigned)t) * 100);
        sum += values[(size_t)t];
        most = std::max(most, values[(size_t)t]);
        least = std::min(least, values[(size_t)t]);
    }
    array<int> i(std::vector<int>{0, -1000, 1000}), v(values);
    array<unsigned> u(std::vector<unsigned>(5, 0));
    array<unsigned long long> l(std::vector<unsigned long long>{0});
    array<float> f(std::vector<float>{0, 0});
    array<double> d(std::vector<double>{0});
    CHECK_IS(k.run(3, 128, 0, i.at, u.at, l.at, f.at, d.at, v.at, n), 0);
    CHECK(i.get() == (std::vector<int>{sum, most, least}));
    CHECK(u.get() == (std::vector<unsigned>{300, 0xffffffffu, 0, 0, 600}));
    CHECK(l.get()[0] == 300 * 299 / 2 && f.get()[0] == 150 && f.get()[1] == 300 && d.get()[0] == 75);
}

/* A lock held over a barrier-free wait: the spinning threads must let the holder run. */
void test_spin_lock() {
    kernel k(R"(
extern "C" __global__ void k(unsigned *lock, unsigned *sum) {
    while (atomicCAS(lock, 0u, 1u) != 0u) {}
    unsigned v = *sum;
    __nanosleep(10);
    *sum = v + 1;
    atomicExch(lock, 0u);
})");
    array<unsigned> lock(std::vector<unsigned>{0}), sum(std::vector<unsigned>{0});
    CHECK_IS(k.run(2, 96, 0, lock.at, sum.at), 0);
    CHECK_IS(sum.get()[0], 192);
}

/* ---- >>warp ------------------------------------------------------------------------------------------------------ */

void test_shuffles() {
    kernel k(R"(
extern "C" __global__ void k(int *o) {
    int t = threadIdx.x, v = t * 3 + 1;
    o[t] = __shfl_sync(0xffffffffu, v, t + 5, 8);
    o[32 + t] = __shfl_up_sync(0xffffffffu, v, 3, 16);
    o[64 + t] = __shfl_down_sync(0xffffffffu, v, 3, 16);
    o[96 + t] = __shfl_xor_sync(0xffffffffu, v, 5);
    o[128 + t] = (int)__shfl_xor_sync(0xffffffffu, 1e10 * t, 1);
    o[160 + t] = t % 2 ? __shfl_sync(0xaaaaaaaau, v, 7) : __shfl_sync(0x55555555u, v, 8);
    o[192 + t] = (int)(__shfl_sync(0xffffffffu, (long long)t << 40, 9) >> 40);
})");
    array<int> y(224);
    kernel *p = &k;
    CHECK_IS(p->run(1, 32, 0, y.at), 0);
    std::vector<int> o = y.get();
    for (int t = 0; t < 32; t++) {
        const int *at = &o[(size_t)t];
        CHECK_IS(at[0], (t / 8 * 8 + (t + 5) % 8) * 3 + 1);
        CHECK_IS(at[32], (t % 16 < 3 ? t : t - 3) * 3 + 1);
        CHECK_IS(at[64], (t % 16 > 12 ? t : t + 3) * 3 + 1);
        CHECK_IS(at[96], (t ^ 5) * 3 + 1);
        CHECK_IS(at[160], (t % 2 ? 7 : 8) * 3 + 1);
        CHECK_IS(at[192], 9);
    }
}

void test_votes() {
    kernel k(R"(
extern "C" __global__ void k(unsigned *o) {
    int t = threadIdx.x;
    o[t] = __ballot_sync(0xffffffffu, t % 3 == 0);
    o[32 + t] = __any_sync(0xffffffffu, t == 7) * 2 + __all_sync(0xffffffffu, t < 32);
    o[64 + t] = __match_any_sync(0xffffffffu, t / 4);
    o[96 + t] = __reduce_add_sync(0xffffffffu, (unsigned)t) + __reduce_max_sync(0xffffffffu, (unsigned)t);
    o[128 + t] = __syncthreads_count(t % 2) * 4 + __syncthreads_or(t == 3) * 2 + __syncthreads_and(t != 3);
    __syncwarp();
})");
    array<unsigned> y(160);
    CHECK_IS(k.run(1, 32, 0, y.at), 0);
    std::vector<unsigned> o = y.get();
    for (unsigned t = 0; t < 32; t++) {
        CHECK_IS(o[t], 0x49249249u);
        CHECK_IS(o[32 + t], 3);
        CHECK_IS(o[64 + t], 0xfu << (t / 4 * 4));
        CHECK_IS(o[96 + t], 496 + 31);
        CHECK_IS(o[128 + t], 16 * 4 + 2);
    }
}

void test_early_exit() {
    kernel k(R"(
extern "C" __global__ void k(int *o, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    unsigned mask = n - blockIdx.x * blockDim.x >= 32 ? 0xffffffffu : (1u << n % 32) - 1u;
    o[t] = __shfl_sync(mask, t, 0);
})");
    array<int> y(50);
    CHECK_IS(k.run(2, 32, 0, y.at, 50), 0);
    std::vector<int> o = y.get();
    for (int t = 0; t < 50; t++) CHECK_IS(o[(size_t)t], t / 32 * 32);
}

/* ---- >>matrix ---------------------------------------------------------------------------------------------------- */

uint16_t to_bf16(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float from_bf16(uint16_t x) {
    uint32_t u = (uint32_t)x << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

double from_f16(uint16_t x) {
    int exponent = x >> 10 & 31, mantissa = x & 1023;
    double v = exponent == 0    ? ldexp(mantissa, -24)
               : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                : ldexp(1024 + mantissa, exponent - 25);
    return x & 0x8000 ? -v : v;
}

/* The nearest of all 65536, ties to even: slow and certain. */
uint16_t to_f16(double x) {
    uint16_t low = 0, high = 0x7c00;
    double a = fabs(x);
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        *(from_f16(middle) <= a ? &low : &high) = middle;
    }
    double below = from_f16(low), above = high == 0x7c00 ? 65536.0 : from_f16(high);
    uint16_t best = a - below < above - a || (a - below == above - a && low % 2 == 0) ? low : high;
    return (uint16_t)(best | (std::signbit(x) ? 0x8000 : 0));
}

/* Fragments filled by the layout of the PTX ISA, element by element, without ldmatrix. */
void test_mma_layout() {
    kernel k(R"(
static __device__ unsigned two(const unsigned short *p, int stride) { return p[0] | (unsigned)p[stride] << 16; }
extern "C" __global__ void k(const unsigned short *a, const unsigned short *b, float *c, int bf16) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    unsigned fa[4] = {two(&a[g * 16 + 2 * t], 1), two(&a[(g + 8) * 16 + 2 * t], 1),
                      two(&a[g * 16 + 2 * t + 8], 1), two(&a[(g + 8) * 16 + 2 * t + 8], 1)};
    unsigned fb[2] = {two(&b[2 * t * 8 + g], 8), two(&b[(2 * t + 8) * 8 + g], 8)};
    float fc[4] = {1, 2, 3, 4};
    if (bf16) ind_mma_bf16(fc, fa, fb); else ind_mma_f16(fc, fa, fb);
    c[g * 8 + 2 * t] = fc[0]; c[g * 8 + 2 * t + 1] = fc[1];
    c[(g + 8) * 8 + 2 * t] = fc[2]; c[(g + 8) * 8 + 2 * t + 1] = fc[3];
})");
    for (int bf16 = 0; bf16 < 2; bf16++) {
        std::vector<uint16_t> a(256), b(128);
        for (unsigned i = 0; i < 256; i++) a[i] = bf16 ? to_bf16(noise(i)) : to_f16(noise(i));
        for (unsigned i = 0; i < 128; i++) b[i] = bf16 ? to_bf16(noise(i + 999)) : to_f16(noise(i + 999));
        array<uint16_t> da(a), db(b);
        array<float> dc(128);
        CHECK_IS(k.run(1, 32, 0, da.at, db.at, dc.at, bf16), 0);
        std::vector<float> c = dc.get();
        for (size_t m = 0; m < 16; m++) {
            for (size_t n = 0; n < 8; n++) {
                double sum = (double)(m / 8 * 2 + n % 2 + 1);
                for (size_t i = 0; i < 16; i++) {
                    double x = bf16 ? from_bf16(a[m * 16 + i]) : from_f16(a[m * 16 + i]),
                           y = bf16 ? from_bf16(b[i * 8 + n]) : from_f16(b[i * 8 + n]);
                    sum += x * y;
                }
                CHECK(fabs(c[m * 8 + n] - sum) < 1e-5);
            }
        }
    }
}

/* The same for m16n8k32 of 8-bit elements: small integers in each format, and the extremes of i8. */
void test_mma_bytes_layout() {
    kernel k(R"(
static __device__ unsigned four(const unsigned char *p, int stride) {
    return p[0] | (unsigned)p[stride] << 8 | (unsigned)p[2 * stride] << 16 | (unsigned)p[3 * stride] << 24;
}
extern "C" __global__ void k(const unsigned char *a, const unsigned char *b, float *c, int kind) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    unsigned fa[4] = {four(&a[g * 32 + 4 * t], 1), four(&a[(g + 8) * 32 + 4 * t], 1),
                      four(&a[g * 32 + 4 * t + 16], 1), four(&a[(g + 8) * 32 + 4 * t + 16], 1)};
    unsigned fb[2] = {four(&b[4 * t * 8 + g], 8), four(&b[(4 * t + 16) * 8 + g], 8)}, whole[4] = {1, 2, 3, 4};
    float fc[4] = {1, 2, 3, 4};
    if (kind == 0) ind_mma_f8<false, false>(fc, fa, fb);
    if (kind == 1) ind_mma_f8<false, true>(fc, fa, fb);
    if (kind == 2) ind_mma_f8<true, false>(fc, fa, fb);
    if (kind == 3) ind_mma_f8<true, true>(fc, fa, fb);
    if (kind == 4) ind_mma_s8(whole, fa, fb);
    for (int i = 0; i < 4; i++)
        c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = kind == 4 ? (float)(int)whole[i] : fc[i];
})");
    /* -3 .. 3 */
    static const unsigned char e4m3[] = {0xc4, 0xc0, 0xb8, 0, 0x38, 0x40, 0x44};
    static const unsigned char e5m2[] = {0xc2, 0xc0, 0xbc, 0, 0x3c, 0x40, 0x42};
    for (int kind = 0; kind < 5; kind++) {
        std::vector<unsigned char> a(512), b(256);
        std::vector<int> x(512), y(256);
        for (unsigned i = 0; i < 768; i++) {
            const unsigned draw = (unsigned)((noise(i) + 1) * 1e6);
            const bool first = i < 512, wide = first ? kind == 2 || kind == 3 : kind == 1 || kind == 3;
            const int v = kind == 4 ? (int)(draw % 256) - 128 : (int)(draw % 7) - 3;
            (first ? x[i] : y[i - 512]) = v;
            (first ? a[i] : b[i - 512]) = kind == 4 ? (unsigned char)v : (wide ? e5m2 : e4m3)[v + 3];
        }
        array<unsigned char> da(a), db(b);
        array<float> dc(128);
        CHECK_IS(k.run(1, 32, 0, da.at, db.at, dc.at, kind), 0);
        std::vector<float> c = dc.get();
        for (size_t m = 0; m < 16; m++) {
            for (size_t n = 0; n < 8; n++) {
                int sum = (int)(m / 8 * 2 + n % 2 + 1);
                for (size_t i = 0; i < 32; i++) sum += x[m * 32 + i] * y[i * 8 + n];
                CHECK(c[m * 8 + n] == (float)sum);
            }
        }
    }
}

/* The same for m16n8k8 of tf32, and the rounding to it: ties go away from zero. */
void test_mma_words_layout() {
    kernel k(R"(
extern "C" __global__ void k(const unsigned *a, const unsigned *b, float *c, int rounds) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    unsigned fa[4] = {a[g * 8 + t], a[(g + 8) * 8 + t], a[g * 8 + t + 4], a[(g + 8) * 8 + t + 4]};
    unsigned fb[2] = {b[t * 8 + g], b[(t + 4) * 8 + g]};
    float fc[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4 && rounds; i++) fa[i] = ind_round_tf32(fa[i]);
    ind_mma_tf32(fc, fa, fb);
    for (int i = 0; i < 4; i++) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = fc[i];
})");
    const float fraction = 0x1p-11f; /* half a unit in the last place of 1 */
    for (int rounds = 0; rounds < 2; rounds++) {
        std::vector<float> a(128), b(64);
        for (unsigned i = 0; i < 128; i++) a[i] = (noise(i) < 0 ? -1.0f : 1.0f) * (1 + (float)(i % 3) / 2 * fraction);
        for (unsigned i = 0; i < 64; i++) b[i] = (float)((int)(noise(i + 999) * 4));
        array<float> da(a), db(b), dc(128);
        CHECK_IS(k.run(1, 32, 0, da.at, db.at, dc.at, rounds), 0);
        std::vector<float> c = dc.get();
        for (size_t m = 0; m < 16; m++) {
            for (size_t n = 0; n < 8; n++) {
                float sum = (float)(m / 8 * 2 + n % 2 + 1);
                for (size_t i = 0; i < 8; i++) {
                    const bool up = rounds && (m * 8 + i) % 3 == 2;
                    sum += (a[m * 8 + i] < 0 ? -1.0f : 1.0f) * (up ? 1 + 2 * fraction : 1) * b[i * 8 + n];
                }
                CHECK(c[m * 8 + n] == sum);
            }
        }
    }
}

/* One warp: a 32 x 16 tile per block, K in steps of 16, ldmatrix for A, ldmatrix.trans for B, two cp.async stages. */
const char *const product_source = R"(
static __device__ __forceinline__ void load(unsigned short *sa, unsigned short *sb, const unsigned short *a,
                                            const unsigned short *b, int m0, int n0, int k0, int M, int N, int K) {
    for (int i = threadIdx.x; i < 64; i += 32) {
        int r = i / 2, c = i % 2 * 8, in = m0 + r < M && k0 + c < K;
        ind_cp_async16(&sa[r * 24 + c], in ? &a[(m0 + r) * K + k0 + c] : a, in ? 16 : 0);
    }
    int r = threadIdx.x / 2, c = threadIdx.x % 2 * 8, in = k0 + r < K && n0 + c < N;
    ind_cp_async16(&sb[r * 24 + c], in ? &b[(k0 + r) * N + n0 + c] : b, in ? 16 : 0);
    ind_cp_async_commit();
}
extern "C" __global__ void __launch_bounds__(32) k(const unsigned short *a, const unsigned short *b, float *c,
                                                          int M, int N, int K) {
    __shared__ __align__(16) unsigned short sa[2][32 * 24], sb[2][16 * 24];
    int m0 = blockIdx.y * 32, n0 = blockIdx.x * 16, lane = threadIdx.x, steps = (K + 15) / 16;
    float acc[2][2][4] = {};
    load(sa[0], sb[0], a, b, m0, n0, 0, M, N, K);
    for (int s = 0; s < steps; s++) {
        if (s + 1 < steps) {
            load(sa[(s + 1) & 1], sb[(s + 1) & 1], a, b, m0, n0, (s + 1) * 16, M, N, K);
            WAIT1
        } else { ind_cp_async_wait<0>(); }
        __syncthreads();
        unsigned fb[4];
        ind_ldmatrix_x4_trans(fb, &sb[s & 1][(lane % 16) * 24 + lane / 16 * 8]);
        for (int i = 0; i < 2; i++) {
            unsigned fa[4];
            ind_ldmatrix_x4(fa, &sa[s & 1][(i * 16 + lane % 16) * 24 + lane / 16 * 8]);
            for (int j = 0; j < 2; j++) { unsigned b2[2] = {fb[2 * j], fb[2 * j + 1]}; MMA(acc[i][j], fa, b2); }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) for (int e = 0; e < 4; e++) {
        int r = m0 + i * 16 + lane / 4 + e / 2 * 8, q = n0 + j * 8 + lane % 4 * 2 + e % 2;
        if (r < M && q < N) c[r * N + q] = acc[i][j][e];
    }
})";

size_t product_errors(int bf16, const char *wait) {
    int M = 50, N = 40, K = 72;
    std::string source = product_source;
    source.replace(source.find("WAIT1"), 5, wait);
    kernel k((bf16 ? "#define MMA ind_mma_bf16\n" : "#define MMA ind_mma_f16\n") + source);
    std::vector<uint16_t> a((size_t)(M * K)), b((size_t)(K * N));
    for (size_t i = 0; i < a.size(); i++) a[i] = bf16 ? to_bf16(noise((unsigned)i)) : to_f16(noise((unsigned)i));
    for (size_t i = 0; i < b.size(); i++)
        b[i] = bf16 ? to_bf16(noise((unsigned)i + 77777)) : to_f16(noise((unsigned)i + 77777));
    array<uint16_t> da(a), db(b);
    array<float> dc((size_t)(M * N));
    void *arguments[] = {&da.at, &db.at, &dc.at, &M, &N, &K};
    CHECK_IS(cuLaunchKernel(k.function, 3, 2, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), 0);
    std::vector<float> c = dc.get();
    size_t wrong = 0;
    for (int m = 0; m < M; m++) {
        for (int n = 0; n < N; n++) {
            double sum = 0;
            for (int i = 0; i < K; i++) {
                uint16_t x = a[(size_t)(m * K + i)], y = b[(size_t)(i * N + n)];
                sum += bf16 ? (double)from_bf16(x) * from_bf16(y) : from_f16(x) * from_f16(y);
            }
            wrong += !(fabs(c[(size_t)(m * N + n)] - sum) < 1e-4);
        }
    }
    return wrong;
}

void test_matrix_product() {
    CHECK_IS(product_errors(0, "ind_cp_async_wait<1>();"), 0);
    CHECK_IS(product_errors(1, "ind_cp_async_wait<1>();"), 0);
    CHECK(product_errors(0, "") > 0); /* read before the wait: garbage, not luck */
}

/* ---- >>conversion ------------------------------------------------------------------------------------------------ */

void test_conversions() {
    kernel k(R"(
extern "C" __global__ void k(const float *x, unsigned short *h, unsigned short *b, int n, float *back,
                             unsigned short *again) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { h[i] = ind_f32_to_f16(x[i]); b[i] = ind_f32_to_bf16(x[i]); }
    if (i < 65536) { back[i] = ind_f16_to_f32((unsigned short)i); again[i] = ind_f32_to_f16(back[i]); }
})");
    std::vector<float> in;
    for (int e = -30; e < 20; e++) {
        for (unsigned i = 0; i < 400; i++) in.push_back(ldexpf(noise(i + 7000u * (unsigned)(e + 40)), e));
    }
    for (unsigned h = 0; h < 0x7bff; h += 7) { /* ties, and their neighbours */
        float middle = (float)((from_f16((uint16_t)h) + from_f16((uint16_t)(h + 1))) / 2);
        in.insert(in.end(), {middle, nextafterf(middle, 0), nextafterf(middle, INFINITY), -middle});
    }
    in.insert(in.end(),
              {0.0f, -0.0f, 65504.0f, 65519.996f, 65520.0f, 1e30f, INFINITY, -INFINITY, NAN, 3.3895314e38f, 3.4e38f});
    int n = (int)in.size();
    array<float> x(in), back(65536);
    array<uint16_t> h(in.size()), b(in.size()), again(65536);
    CHECK_IS(k.run(((unsigned)std::max(n, 65536) + 255) / 256, 256, 0, x.at, h.at, b.at, n, back.at, again.at), 0);
    std::vector<uint16_t> hs = h.get(), bs = b.get(), agains = again.get();
    std::vector<float> backs = back.get();
    for (size_t i = 0; i < in.size(); i++) {
        CHECK_IS(hs[i], std::isnan(in[i]) ? 0x7fff : to_f16(in[i]));
        CHECK_IS(bs[i], std::isnan(in[i]) ? 0x7fff : to_bf16(in[i]));
    }
    for (unsigned i = 0; i < 65536; i++) {
        bool nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff);
        CHECK(nan ? std::isnan(backs[i]) : (double)backs[i] == from_f16((uint16_t)i) && agains[i] == i);
    }
}

/* ---- >>divergence ------------------------------------------------------------------------------------------------ */

/* Runs a kernel that must fail with a message that contains `words`; the context must be dead afterwards and a new one
 * fine. */
void expect_source_failure(const std::string &source, const char *words, unsigned grid, unsigned threads) {
    {
        kernel k(source);
        array<int> y(512);
        CHECK_IS(k.run(grid, threads, 0, y.at), 719);
        if (!strstr(last_error(), words)) {
            printf("  message is \"%s\", should have \"%s\"\n", last_error(), words);
            failures++;
        }
        CHECK_IS(cuStreamSynchronize(nullptr), 719);
        device d;
        CHECK_IS(cuMemAlloc_v2(&d, 16), 719);
    }
    fresh_context();
    kernel good("extern \"C\" __global__ void k(int *o) { __syncthreads(); o[threadIdx.x] = 1; }");
    array<int> y(64);
    CHECK_IS(good.run(1, 64, 0, y.at), 0);
    CHECK_IS(y.get()[63], 1);
}

void expect_failure(const std::string &body, const char *words, unsigned threads = 64) {
    expect_source_failure(
        "extern \"C\" __global__ void k(int *o) {\n__shared__ __align__(16) int s[64]; s[threadIdx.x % 64] = 0;\n" +
            body + "\no[0] = s[0]; }",
        words, 2, threads);
}

void test_divergence() {
    setenv("IND_EMULATION_QUIET", "1", 1);
    expect_failure("if (threadIdx.x < 32) __syncthreads();", "barrier divergence: 32 of 64 threads of block (");
    expect_failure("if (threadIdx.x == 5) return; __syncthreads();", "wait at line 3 while 1 have exited");
    expect_failure("if (threadIdx.x < 32)\n__syncthreads();\nelse\n__syncthreads();",
                   "other threads of the block wait at line");
    expect_failure("if (threadIdx.x < 16) __shfl_sync(0xffffffffu, 1, 0); else __syncthreads();", "warp divergence");
    expect_failure("if (threadIdx.x < 16) __shfl_sync(0xffffffffu, 1, 0); else __ballot_sync(0xffffffffu, 1);",
                   "warp divergence");
    expect_failure("__shfl_sync(0x0000fffeu, 1, 1);", "not in its mask");
    expect_failure("if (threadIdx.x == 3) __trap();", "__trap: line 3, thread (3,0,0)");
    expect_failure("unsigned r[4]; ind_ldmatrix_x4(r, o);", "not in shared memory");
    expect_failure("unsigned r[4]; ind_ldmatrix_x4(r, &s[1]);", "multiple of 16");
    expect_failure("ind_cp_async16(o, s, 16);", "not in shared memory");
    expect_failure("ind_cp_async16(s, o, 8);", "neither 0 nor 16");
    expect_failure("float c[4]; unsigned a[4] = {}, b[2] = {}; ind_mma_f16(c, a, b);", "some lanes do not exist", 48);
    expect_failure("struct { float at[4]; } v = {}; ind_add_f32((float *)(o + 2), v);", "red.add: the address");
    expect_failure("struct { float at[8]; } v = {}; ind_add_f32((float *)(o + 1), v);", "red.add: the address");
    expect_failure("struct { unsigned short at[2]; } v = {}; ind_add_bf16((unsigned short *)o + 1, v);",
                   "red.add: the");
    expect_failure("__builtin_assume(threadIdx.x < 10);", "__builtin_assume is false");
    expect_failure("while (atomicCAS(&o[1], 7, 7) != 7) {}", "spins", 1);
    unsetenv("IND_EMULATION_QUIET");
}

/* ---- >>clusters: each block sends its number to all of its cluster, twice over the same barriers
 * --------------------- */

const char *const cluster_source = R"(
struct number { int value; };
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64, 1) k(int *o) {
    __shared__ number from[2][4];
    __shared__ unsigned long long barrier[2];
    ind_cluster_begin(barrier, 2);
    BEGUN
    int block = blockIdx.x % 4, sum = 0;
    for (int turn = 0; turn < 4; turn++) {
        number mine = {(int)blockIdx.x + turn};
        if (threadIdx.x == 0) EXPECT
        if (threadIdx.x < 4) ind_cluster_send(&from[turn & 1][block], &barrier[turn & 1], threadIdx.x, mine);
        ind_cluster_wait(&barrier[turn & 1], turn >> 1 & 1);
        for (int i = 0; i < 4; i++) sum += from[turn & 1][i].value;
        __syncthreads(); // all have read before this block lets others send again
    }
    o[blockIdx.x * 64 + threadIdx.x] = sum;
})";

std::string cluster_text(const char *begun, const char *expect) {
    return std::string("#define BEGUN ") + begun + "\n#define EXPECT " + expect + "\n" + cluster_source;
}

void test_clusters() {
    const char *expect = "ind_cluster_expect(&barrier[turn & 1], 16);", *begun = "ind_cluster_begun();";
    {
        kernel k(cluster_text(begun, expect));
        array<int> o(512);
        CHECK(k.launch(8, 64, 0, nullptr, o.at) != 0); /* a device without clusters */
        setenv("IND_EMULATION_CLUSTERS", "1", 1);
        CHECK_IS(k.run(8, 64, 0, o.at), 0);
        CHECK(k.launch(6, 64, 0, nullptr, o.at) != 0); /* no whole number of clusters */
        std::vector<int> got = o.get();
        for (size_t i = 0; i < 512; i++) CHECK_IS(got[i], i < 256 ? 4 * 6 + 4 * 6 : 4 * 22 + 4 * 6);
    }
    setenv("IND_EMULATION_QUIET", "1", 1);
    expect_source_failure(cluster_text("", expect), "has not made the barrier yet", 4, 64);
    expect_source_failure(cluster_text(begun, "ind_cluster_expect(&barrier[turn & 1], 20);"),
                          "wait for other blocks of the cluster", 4, 64);
    unsetenv("IND_EMULATION_QUIET");
    unsetenv("IND_EMULATION_CLUSTERS");
}

/* ---- >>maps: a box of a tensor of 5 rows of 40 elements, 64 apart --------------------------------------------------
 */

struct opaque_map {
    unsigned long long word[16];
};

const char *const map_source = R"(
struct alignas(64) map_t { unsigned long long word[16]; };
extern "C" __global__ void __launch_bounds__(64, 1) k(unsigned short *o, int x, int y, const __grid_constant__ map_t map) {
    __shared__ __align__(1024) unsigned short tile[8 * 64];
    __shared__ unsigned long long barrier[1];
    if (threadIdx.x == 0) INIT
    __syncthreads();
    if (threadIdx.x == 0) {
        ind_barrier_expect(barrier, BYTES);
        ind_bulk_copy<2>(tile, map, barrier, x, y);
    }
    WAIT
    for (int i = 0; i < 8; i++) o[i * 64 + threadIdx.x] = tile[i * 64 + ((threadIdx.x / 8 ^ i) * 8 + threadIdx.x % 8)];
    EXIT
})";

std::string map_text(const char *init, const char *bytes, const char *wait, const char *exit = "") {
    return std::string("#define INIT ") + init + "\n#define BYTES " + bytes + "\n#define WAIT " + wait +
           "\n#define EXIT " + exit + "\n" + map_source;
}

int encode(opaque_map *map, device at, unsigned long long stride, unsigned box) {
    const unsigned long long size[2] = {40, 5};
    const unsigned boxes[2] = {box, 8}, ones[2] = {1, 1};
    return cuTensorMapEncodeTiled(map, 6, 2, (void *)at, size, &stride, boxes, ones, 0, 3, 0, 0);
}

/* How many of the box's elements at (x, y) are not those of the tensor, or 0 outside of it. */
int box_errors(const std::string &source, int x, int y) {
    std::vector<unsigned short> in(5 * 64);
    for (size_t i = 0; i < in.size(); i++) in[i] = (unsigned short)(i + 1);
    array<unsigned short> tensor(in), o(512);
    alignas(64) opaque_map map;
    CHECK_IS(encode(&map, tensor.at, 128, 64), 0);
    kernel k(source);
    CHECK_IS(k.run(1, 64, 0, o.at, x, y, map), 0);
    std::vector<unsigned short> got = o.get();
    int errors = 0;
    for (int i = 0; i < 512; i++) {
        const int col = x + i % 64, row = y + i / 64;
        const bool inside = col >= 0 && col < 40 && row >= 0 && row < 5;
        errors += got[(size_t)i] != (inside ? in[(size_t)(row * 64 + col)] : 0);
    }
    return errors;
}

void expect_map_failure(const std::string &source, const char *words) {
    {
        array<unsigned short> tensor(5 * 64), o(512);
        alignas(64) opaque_map map;
        CHECK_IS(encode(&map, tensor.at, 128, 64), 0);
        kernel k(source);
        CHECK_IS(k.run(1, 64, 0, o.at, 0, 0, map), 719);
        CHECK(strstr(last_error(), words) != nullptr);
    }
    fresh_context();
}

void test_maps() {
    const char *init = "ind_barrier_init(barrier, 1);", *wait = "ind_barrier_wait(barrier, 0);";
    const std::string good = map_text(init, "1024", wait);
    CHECK_IS(box_errors(good, 0, 0), 0);
    CHECK_IS(box_errors(good, 16, 3), 0);
    CHECK_IS(box_errors(good, -8, -2), 0);
    CHECK(box_errors(map_text(init, "1024", "", wait), 0, 0) > 0); /* read before the wait: garbage, not luck */
    {
        array<unsigned short> tensor(5 * 64);
        alignas(64) opaque_map map;
        CHECK(encode(&map, tensor.at + 2, 128, 64) && encode(&map, tensor.at, 120, 64) &&
              encode(&map, tensor.at, 128, 4));
        CHECK(encode(&map, tensor.at, 128, 128)); /* longer than the swizzle's span */
        CHECK(encode((opaque_map *)((char *)&map + 8), tensor.at, 128, 64));
    }
    setenv("IND_EMULATION_QUIET", "1", 1);
    expect_map_failure(map_text("", "1024", wait), "not initialised");
    expect_map_failure(map_text(init, "1024", "ind_barrier_arrive(barrier);"), "more threads arrive");
    expect_map_failure(map_text(init, "2048", wait), "spins");
    expect_map_failure(map_text(init, "512", wait), "more bytes arrive than it expects");
    expect_map_failure(map_text(init, "1024", ""), "exited before the bytes arrived");
    unsetenv("IND_EMULATION_QUIET");
}

/* Copies of f32 with a map of tf32 round it, to the nearest with ties to even; NaN and infinities stay. wgmma reads the
 * upper 19 bits of an element, here of one that a thread has written. */
const char *const tf32_source = R"(
struct alignas(64) map_t { unsigned long long word[16]; };
extern "C" __global__ void __launch_bounds__(128, 1) k(unsigned *bits, float *o, unsigned word, const __grid_constant__ map_t map) {
    __shared__ __align__(1024) unsigned short a[64 * 64], b[8 * 64];
    __shared__ unsigned long long barrier[1];
    if (threadIdx.x == 0) ind_barrier_init(barrier, 1);
    for (int i = threadIdx.x; i < 64 * 64; i += 128) a[i] = b[i % 512] = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        ind_barrier_expect(barrier, 1024);
        ind_bulk_copy<2>(a, map, barrier, 0, 0);
    }
    ind_barrier_wait(barrier, 0);
    if (threadIdx.x < 32) bits[threadIdx.x] = reinterpret_cast<unsigned *>(a)[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) reinterpret_cast<unsigned *>(a)[threadIdx.x] = threadIdx.x == 0 ? word : 0;
    if (threadIdx.x == 0) reinterpret_cast<float *>(b)[0] = 1;
    __syncthreads();
    float c[1][4] = {};
    ind_wgmma_words<64, 8, 64>(c, a, b, 0);
    ind_wgmma_wait<0>(c);
    if (threadIdx.x == 0) o[0] = c[0][0];
})";

void test_tf32_maps() {
    const unsigned in[] = {0x3f801000, 0x3f803000, 0x3f800fff, 0x3f801001, 0xbf803000, 0x3ffff000, 0x7f7ff000,
                           0x7f800000, 0xff800000, 0x7f800001, 0xffffffff, 0x00001000, 0x00003000, 0x80000000};
    const unsigned want[] = {0x3f800000, 0x3f804000, 0x3f800000, 0x3f802000, 0xbf804000, 0x40000000, 0x7f800000,
                             0x7f800000, 0xff800000, 0x7f800001, 0xffffffff, 0x00000000, 0x00004000, 0x80000000};
    std::vector<unsigned> values(8 * 32, 0);
    std::copy(std::begin(in), std::end(in), values.begin());
    array<unsigned> tensor(values), bits(32);
    array<float> o(1);
    alignas(64) opaque_map map;
    const unsigned long long size[2] = {32, 8}, stride = 128;
    const unsigned box[2] = {32, 8}, ones[2] = {1, 1};
    CHECK_IS(cuTensorMapEncodeTiled(&map, 11, 2, (void *)tensor.at, size, &stride, box, ones, 0, 3, 0, 0), 0);
    kernel k(tf32_source);
    const unsigned words[] = {0x3f801fff, 0x3f802000};
    for (int i = 0; i < 2; i++) {
        CHECK_IS(k.run(1, 128, 0, bits.at, o.at, words[i], map), 0);
        CHECK(o.get()[0] == (i ? 1 + 0x1p-10f : 1.0f));
        std::vector<unsigned> got = bits.get();
        for (size_t j = 0; j < std::size(in); j++) CHECK_IS(got[j], want[j]);
    }
}

void test_wgmma_misuse() {
    setenv("IND_EMULATION_QUIET", "1", 1);
    expect_failure("float c[1][4]; ind_wgmma_words<64, 8, 64>(c, (unsigned short *)o, (unsigned short *)s, 0);",
                   "not in shared memory", 128);
    expect_failure("float c[1][4]; ind_wgmma_words<64, 8, 64>(c, (unsigned short *)s, (unsigned short *)s, 32);",
                   "64 rows", 128);
    unsetenv("IND_EMULATION_QUIET");
}

/* ---- >>multicast: in each of three turns both blocks of a cluster get the boxes of both ----------------------------
 */

const char *const multicast_source = R"(
struct alignas(64) map_t { unsigned long long word[16]; };
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64, 1) k(unsigned short *o, const __grid_constant__ map_t map) {
    __shared__ __align__(1024) unsigned short tile[2][8 * 64];
    __shared__ unsigned long long full[1], empty[1];
    const unsigned rank = blockIdx.x % 2;
    if (threadIdx.x == 0) {
        ind_barrier_init(full, 1);
        ind_barrier_init(empty, 2);
    }
    BEGUN
    for (int turn = 0; turn < 3; turn++) {
        if (threadIdx.x == 0) {
            ind_barrier_wait(empty, turn & 1 ^ 1);
            ind_barrier_expect(full, BYTES);
            ind_bulk_multicast<2>(tile[rank], map, full, SHARE, 8 * turn, 3 * (int)rank - turn);
        }
        ind_barrier_wait(full, turn & 1);
        for (int i = 0; i < 16; i++)
            o[((blockIdx.x * 3 + turn) * 16 + i) * 64 + threadIdx.x] = tile[i / 8][i % 8 * 64 + ((threadIdx.x / 8 ^ i % 8) * 8 + threadIdx.x % 8)];
        __syncthreads();
        if (threadIdx.x < 2) ind_barrier_arrive_at(empty, rank ^ threadIdx.x);
    }
    ENDED
})";

const char *const both_blocks = "ind_cluster_sync();";

std::string multicast_text(const char *begun, const char *bytes, const char *share, const char *ended) {
    return std::string("#define BEGUN ") + begun + "\n#define BYTES " + bytes + "\n#define SHARE " + share +
           "\n#define ENDED " + ended + "\n" + multicast_source;
}

void test_multicast_boxes() {
    std::vector<unsigned short> in(5 * 64);
    for (size_t i = 0; i < in.size(); i++) in[i] = (unsigned short)(i + 1);
    array<unsigned short> tensor(in), o(4 * 3 * 16 * 64);
    alignas(64) opaque_map map;
    CHECK_IS(encode(&map, tensor.at, 128, 64), 0);
    kernel k(multicast_text(both_blocks, "2048", "3", both_blocks));
    CHECK_IS(k.run(4, 64, 0, o.at, map), 0);
    std::vector<unsigned short> got = o.get();
    int errors = 0;
    for (int at = 0; at < 4 * 3 * 16 * 64; at++) {
        const int turn = at / 1024 % 3, rank = at / 512 % 2;
        const int row = at / 64 % 8 + 3 * rank - turn, col = at % 64 + 8 * turn;
        const bool inside = col < 40 && row >= 0 && row < 5;
        errors += got[(size_t)at] != (inside ? in[(size_t)(row * 64 + col)] : 0);
    }
    CHECK_IS(errors, 0);
}

/* Both blocks copy 8 rows of both tiles of a, which wgmma reads. A fifth warp copies. */
const char *const multicast_wgmma_source = R"(
struct alignas(64) map_t { unsigned long long word[16]; };
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(160, 1) k(unsigned short *o, const __grid_constant__ map_t map) {
    __shared__ __align__(1024) unsigned short tile_a[64 * 64], tile_b[8 * 64];
    __shared__ unsigned long long full[1], empty[1];
    const unsigned rank = blockIdx.x % 2, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        ind_barrier_init(full, 1);
        ind_barrier_init(empty, 8);
    }
    ind_cluster_sync();
    ind_wgmma_sums<float, 1> sums;
    sums.clear();
    for (int turn = 0; turn < 4 && threadIdx.x == 128; turn++) {
        ind_barrier_wait(empty, turn & 1 ^ 1);
        ind_barrier_expect(full, 2048);
        ind_bulk_multicast<2>(tile_a + rank * 512, map, full, 3, 0, 0);
    }
    for (int turn = 0; turn < 4 && threadIdx.x < 128; turn++) {
        WAIT
        ind_wgmma_tile<true, 64, 8, 64, true, true>(sums, tile_a, tile_b, 0);
        EARLY
        sums.wait<0>();
        LATE
    }
    if (threadIdx.x == 0) o[0] = 1;
    ind_cluster_sync();
})";

std::string multicast_wgmma_text(const char *wait, const char *early, const char *late) {
    return std::string("#define WAIT ") + wait + "\n#define EARLY " + early + "\n#define LATE " + late + "\n" +
           multicast_wgmma_source;
}

void expect_multicast_failure(const std::string &source, const char *words, unsigned threads) {
    {
        array<unsigned short> tensor(5 * 64), o(2 * 3 * 16 * 64);
        alignas(64) opaque_map map;
        CHECK_IS(encode(&map, tensor.at, 128, 64), 0);
        kernel k(source);
        CHECK_IS(k.run(2, threads, 0, o.at, map), 719);
        if (!strstr(last_error(), words)) {
            printf("  message is \"%s\", should have \"%s\"\n", last_error(), words);
            failures++;
        }
    }
    fresh_context();
}

void test_multicast() {
    setenv("IND_EMULATION_CLUSTERS", "1", 1);
    setenv("IND_EMULATION_QUIET", "1", 1);
    test_multicast_boxes();
    const char *wait = "ind_barrier_wait(full, turn & 1);";
    const char *release = "if (lane < 2) ind_barrier_arrive_at(empty, rank ^ lane);";
    {
        array<unsigned short> tensor(5 * 64), o(1);
        alignas(64) opaque_map map;
        CHECK_IS(encode(&map, tensor.at, 128, 64), 0);
        kernel k(multicast_wgmma_text(wait, "", release));
        CHECK_IS(k.run(2, 160, 0, o.at, map), 0);
    }
    struct {
        std::string source;
        const char *words;
        unsigned threads;
    } bad[] = {{multicast_text("", "2048", "3", both_blocks), "not initialised in block", 64},
               {multicast_text(both_blocks, "512", "3", both_blocks), "more bytes arrive than it expects", 64},
               {multicast_text(both_blocks, "4096", "3", both_blocks), "wait for other blocks", 64},
               {multicast_text(both_blocks, "2048", "5", both_blocks), "multicast to blocks 0x5 of a cluster of 2", 64},
               {multicast_text(both_blocks, "2048", "0", both_blocks), "multicast to no block", 64},
               {multicast_text(both_blocks, "2048", "3", ""), "has exited", 64},
               {multicast_wgmma_text("", "", release), "has not waited for the last bulk copy", 160},
               {multicast_wgmma_text(wait, release, ""), "overwrites a tile that a wgmma", 160}};
    for (const auto &b : bad) expect_multicast_failure(b.source, b.words, b.threads);
    unsetenv("IND_EMULATION_QUIET");
    unsetenv("IND_EMULATION_CLUSTERS");
}

/* ---- >>tensor: a product of 128 x 16 by 16 x 16 elements of bf16, with descriptors written by hand -----------------
 */

const char *const tensor_source = R"(
IND_EMULATION_FN int a_at(int row, int k) { return (row * 7 + k * 3) % 11 - 5; }
IND_EMULATION_FN int b_at(int col, int k) { return (col * 5 + k * k) % 7 - 3; }
IND_EMULATION_FN void put(unsigned short *tile, int row, int k, int value) {
    tile[row * 64 + (k / 8 ^ row % 8) * 8 + k % 8] = ind_f32_to_bf16((float)value);
}
extern "C" __global__ void __launch_bounds__(160, 1) k(float *o) {
    extern __shared__ __align__(1024) unsigned char ind_smem[];
    __shared__ unsigned long long barrier[2];
    __shared__ unsigned address[1];
    unsigned short *const a = (unsigned short *)ind_smem, *const b = a + 128 * 64;
    const int warp = threadIdx.x / 32;
    for (int i = threadIdx.x; i < 128 * 16; i += 160) put(a, i / 16, i % 16, a_at(i / 16, i % 16));
    for (int i = threadIdx.x; i < 16 * 16; i += 160) put(b, i / 16, i % 16, b_at(i / 16, i % 16));
    if (threadIdx.x == 0) ind_barrier_init(barrier, 1);
    if (warp == 4) ind_tcgen05_alloc<32>(address);
    ind_tcgen05_before_sync();
    __syncthreads();
    ind_tcgen05_after_sync();
    const unsigned long long fields = 1ull << 16 | 64ull << 32 | 1ull << 46 | 2ull << 61;
    const unsigned long long first = __cvta_generic_to_shared(a) >> 4 | fields, second = __cvta_generic_to_shared(b) >> 4 | fields;
    const unsigned instruction = 1u << 4 | 1u << 7 | 1u << 10 | 2u << 17 | 8u << 24;
    if (threadIdx.x == 128) {
        ind_tcgen05_mma<false>(address[0], first, second, instruction, false);
        ind_tcgen05_mma<false>(address[0], first, second, instruction, true);
        ind_tcgen05_commit(barrier);
    }
    if (warp < 4) {
        float part[1][16];
        ind_barrier_wait(barrier, 0);
        ind_tcgen05_after_sync();
        ind_tcgen05_load(part[0], address[0] + (warp * 32 << 16));
        ind_tcgen05_loaded(part);
        for (int j = 0; j < 16; j++) o[threadIdx.x * 16 + j] = part[0][j];
        ind_tcgen05_before_sync();
    }
    __syncthreads();
    ind_tcgen05_after_sync();
    if (warp == 4) ind_tcgen05_free<32>(address[0]);
})";

constexpr unsigned TENSOR_SHARED = (128 + 16) * 128;

/* The source with a part of it replaced. */
std::string tensor_text(const char *part, const char *by) {
    std::string text = tensor_source;
    const size_t at = text.find(part);
    CHECK(at != std::string::npos);
    return at == std::string::npos ? text : text.replace(at, strlen(part), by);
}

void expect_tensor_failure(const char *part, const char *by, const char *words) {
    {
        kernel k(tensor_text(part, by));
        array<float> o(128 * 16);
        CHECK_IS(k.run(1, 160, TENSOR_SHARED, o.at), 719);
        if (!strstr(last_error(), words)) {
            printf("  message is \"%s\", should have \"%s\"\n", last_error(), words);
            failures++;
        }
    }
    fresh_context();
}

int tensor_errors(const std::string &source) {
    kernel k(source);
    array<float> o(128 * 16);
    CHECK_IS(k.run(1, 160, TENSOR_SHARED, o.at), 0);
    const std::vector<float> got = o.get();
    int errors = 0;
    for (int row = 0; row < 128; row++) {
        for (int col = 0; col < 16; col++) {
            int sum = 0;
            for (int i = 0; i < 16; i++) {
                sum += ((row * 7 + i * 3) % 11 - 5) * ((col * 5 + i * i) % 7 - 3);
            }
            errors += got[(size_t)(row * 16 + col)] != (float)(2 * sum);
        }
    }
    return errors;
}

void test_tensor_memory() {
    CHECK_IS(tensor_errors(tensor_source), 0);
    /* Sums that were not cleared; another stride; one lane that waits for its warp. */
    CHECK(tensor_errors(tensor_text("second, instruction, false", "second, instruction, true")) > 0);
    CHECK(tensor_errors(tensor_text("64ull << 32", "32ull << 32")) > 0);
    CHECK_IS(tensor_errors(tensor_text("ind_barrier_wait(barrier, 0);",
                                       "if (threadIdx.x % 32 == 0) ind_barrier_wait(barrier, 0); __syncwarp();")),
             0);
    setenv("IND_EMULATION_QUIET", "1", 1);
    const char *alloc = "ind_tcgen05_alloc<32>(address);", *load = "address[0] + (warp * 32 << 16)";
    expect_tensor_failure(alloc, "address[0] = 0;", "the columns are not allocated");
    expect_tensor_failure(alloc, "ind_tcgen05_alloc<48>(address);", "not a power of two");
    expect_tensor_failure(alloc, "{ ind_tcgen05_alloc<32>(address); ind_tcgen05_alloc<32>(address); }",
                          "given up the permission");
    expect_tensor_failure(alloc, "if (threadIdx.x % 2) ind_tcgen05_alloc<32>(address);", "warp divergence");
    expect_tensor_failure("if (warp == 4) ind_tcgen05_free<32>(address[0]);", "", "is not freed");
    expect_tensor_failure("ind_tcgen05_free<32>", "ind_tcgen05_free<64>", "no such columns");
    expect_tensor_failure("ind_tcgen05_commit(barrier);", "", "spins");
    expect_tensor_failure("ind_tcgen05_commit(barrier);", "ind_tcgen05_commit(barrier + 1);", "not initialised");
    expect_tensor_failure("ind_tcgen05_commit(barrier);", "ind_tcgen05_commit(barrier); ind_tcgen05_commit(barrier);",
                          "a commit never arrives");
    expect_tensor_failure("ind_barrier_wait(barrier, 0);", "", "not complete");
    expect_tensor_failure("ind_barrier_wait(barrier, 0);", "if (warp == 1) ind_barrier_wait(barrier, 0);",
                          "of these columns");
    expect_tensor_failure("ind_barrier_wait(barrier, 0);\n        ind_tcgen05_after_sync();",
                          "ind_barrier_wait(barrier, 0);", "no tcgen05.fence::after_thread_sync");
    expect_tensor_failure("    ind_tcgen05_before_sync();\n    }", "    }", "no tcgen05.fence::before_thread_sync");
    expect_tensor_failure("ind_tcgen05_loaded(part);", "", "no tcgen05.wait::ld");
    expect_tensor_failure(load, "address[0]", "belong to another warp");
    expect_tensor_failure(load, "address[0] + 32 + (warp * 32 << 16)", "the columns are not allocated");
    expect_tensor_failure("1ull << 46", "0ull << 46", "not of version 1");
    expect_tensor_failure("2ull << 61", "4ull << 61", "only the 128-byte swizzle");
    expect_tensor_failure("8u << 24", "4u << 24", "128 rows are multiplied");
    expect_tensor_failure("= 1u << 4", "= 0u << 4", "sums in f32");
    expect_tensor_failure("1u << 7", "1u << 7 | 1u << 13", "only dense products");
    expect_tensor_failure("64ull << 32", "4096ull << 32", "not in dynamic shared memory");
    unsetenv("IND_EMULATION_QUIET");
}

/* ---- >>sanitizer ------------------------------------------------------------------------------------------------- */

/* The kernel must end the process with a report that contains `words`. */
void expect_report(const std::string &body, const char *words) {
    std::string path = "/tmp/ind_emulation_test_" + std::to_string(getpid()), report;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        freopen(path.c_str(), "w", stderr);
        kernel k("extern \"C\" __global__ void k(float *o, int n) {\n__shared__ float s[33];\nextern __shared__ "
                 "__align__(16) unsigned char ind_smem[];\n"
                 "s[threadIdx.x % 33] = 0; __syncthreads(); (void)ind_smem;\n" +
                 body + "\no[0] = s[n]; }");
        array<float> y(100);
        k.run(1, 64, 40, y.at, 0);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    emulation::read_file(path, report);
    unlink(path.c_str());
    CHECK(!(WIFEXITED(status) && WEXITSTATUS(status) == 0));
    if (report.find(words) == std::string::npos) {
        printf("  report has no \"%s\":\n%s\n", words, report.substr(0, 1500).c_str());
        failures++;
    }
    CHECK(report.find("test.cu:5") != std::string::npos); /* names the line of the CUDA source */
}

void test_sanitizer() {
    if (!sanitized()) {
        return;
    }
    expect_report("o[99 + threadIdx.x] = 1;", "heap-buffer-overflow");
    expect_report("float x = o[-1 - (int)threadIdx.x]; s[0] = x;", "heap-buffer-overflow");
    expect_report("float *p = s; asm(\"\" : \"+r\"(p)); p[33 + threadIdx.x] = 1;", "global-buffer-overflow");
    expect_report("s[threadIdx.x] = 1;", "out of bounds");
    expect_report("ind_smem[threadIdx.x] = 1;", "heap-buffer-overflow");
    expect_report("*(float4 *)(o + 1) = make_float4(0, 0, 0, 0);", "misaligned address");
    expect_report("int big = 2147483647 - n; big += (int)threadIdx.x; s[0] = (float)big;", "signed integer overflow");
    expect_report("float local[4]; float *p = local; asm(\"\" : \"+r\"(p)); p[4 + threadIdx.x % 2] = 1; s[0] = p[n];",
                  "stack-buffer-overflow");
    expect_report("ind_cp_async16(s, (char *)o + 400, 16);", "heap-buffer-overflow");
    expect_report("ind_cp_async16_partial(s, (char *)o + 400, 2);", "heap-buffer-overflow");
}

/* ---- >>trace ----------------------------------------------------------------------------------------------------- */

/* Runs a kernel that writes `made`, then a dependent one with these statements. Returns the error's text, "" for none.
 */
std::string after_a_writer(const std::string &early, const std::string &late) {
    kernel writer("extern \"C\" __global__ void k(float *made) { made[blockIdx.x * 32 + threadIdx.x] = threadIdx.x; }");
    kernel reader("extern \"C\" __global__ void k(const float *made, const float *weight, float *out) {\n"
                  "__shared__ float s[64];\nconst int i = blockIdx.x * 32 + threadIdx.x;\nfloat x = 0;\n" +
                  early + "\nind_dependency_wait();\n" + late + "\nout[i] = x + s[threadIdx.x];\n}");
    array<float> made(64), weight(std::vector<float>(64, 2.0f)), out(64);
    CHECK_IS(writer.launch(2, 32, 0, nullptr, made.at), 0);
    int status = reader.launch_dependent(2, 32, made.at, weight.at, out.at);
    status = status ? status : cuCtxSynchronize();
    const std::string error = status ? last_error() : "";
    if (!status) {
        std::vector<float> got = out.get();
        for (int i = 0; i < 64; i++) {
            CHECK(got[(size_t)i] == 2.0f + (float)(i % 32));
        }
    }
    return error;
}

void expect_error(const std::string &error, const char *words) {
    fresh_context();
    if (error.find(words) == std::string::npos) {
        printf("  error has no \"%s\": %s\n", words, error.c_str());
        failures++;
    }
}

void test_trace() {
    const std::string zero = "s[threadIdx.x] = 0;", weight = "x = weight[i];", made = "x += made[i];";
    const std::string use = "if (x > 1e30f) s[0] = x;"; /* the load stays */
    const char *const reads = "reads what the previous launch writes";
    CHECK(after_a_writer(zero + weight, made) == ""); /* not traced: nothing is found, nothing is wrong */
    CHECK(after_a_writer(zero + made + use, weight + made) == "");
    setenv("IND_EMULATION_TRACE", "1", 1);
    CHECK(after_a_writer(zero + weight, made) == "");
    CHECK(after_a_writer(zero + weight, made + "ind_dependency_trigger(2);") == "");
    expect_error(after_a_writer(zero + made + use, weight + made), reads);
    expect_error(after_a_writer(zero + "if (i == 63) x = made[0];" + use, weight + made), reads);
    expect_error(after_a_writer(zero + "float4 v = *(const float4 *)(made + i / 4 * 4); x = v.y;" + use, weight + made),
                 reads);
    expect_error(after_a_writer(zero + "ind_cp_async16(s, made, 16); ind_cp_async_commit();", weight + made), reads);
    expect_error(after_a_writer(zero + "out[i] = 1;", weight + made), "writes device memory before it waits");
    CHECK(after_a_writer(zero + "ind_dependency_trigger(1);", weight + made) == ""); /* two blocks: no trigger */
    expect_error(after_a_writer(zero + "ind_dependency_trigger(2);", weight + made), "before it has waited");
    unsetenv("IND_EMULATION_TRACE");
}

/* ---- >>driver ---------------------------------------------------------------------------------------------------- */

const char *const add_source = R"(
extern "C" __global__ void __launch_bounds__(2 * 64, 4) k(float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a;
})";

void test_deferral() {
    kernel k(add_source);
    array<float> y(std::vector<float>(100, 1.0f));
    void *stream = nullptr, *pinned = nullptr, *start = nullptr, *end = nullptr;
    std::vector<float> out(100, -1.0f);
    CHECK_IS(cuStreamCreate(&stream, 1), 0);
    CHECK_IS(cuEventCreate(&start, 0), 0);
    CHECK_IS(cuEventCreate(&end, 0), 0);
    CHECK_IS(cuEventRecord(start, stream), 0);
    CHECK_IS(k.launch(1, 128, 0, stream, y.at, 2.0f, 100), 0);
    CHECK_IS(cuMemcpyDtoHAsync_v2(out.data(), y.at, 400, stream), 0);
    CHECK_IS(cuEventRecord(end, stream), 0);
    float ms = -1;
    CHECK_IS(cuEventElapsedTime(&ms, start, end), 600);
    CHECK(out[0] == -1.0f); /* nothing has waited yet */
    CHECK_IS(cuEventSynchronize(end), 0);
    CHECK(out[0] == 3.0f);
    CHECK_IS(cuEventElapsedTime(&ms, start, end), 0);
    CHECK(ms >= 0);
    CHECK_IS(cuMemHostAlloc(&pinned, 400, 0), 0);
    memset(pinned, 0, 400);
    CHECK_IS(cuMemcpyHtoDAsync_v2(y.at, pinned, 400, stream), 0);
    *(float *)pinned = 5; /* too early: the copy has not read it yet */
    CHECK(y.get()[0] == 5.0f);
    unsigned kind = 0;
    CHECK_IS(cuPointerGetAttribute(&kind, 2, y.at + 8), 0);
    CHECK_IS(kind, 2);
    CHECK_IS(cuMemFreeHost(pinned), 0);
    CHECK_IS(cuEventDestroy_v2(start), 0);
    CHECK_IS(cuEventDestroy_v2(end), 0);
    CHECK_IS(cuStreamDestroy_v2(stream), 0);
    CHECK_IS(cuStreamDestroy_v2(stream), 400);
}

void test_graphs() {
    kernel k(add_source);
    array<float> y(std::vector<float>(100, 1.0f));
    void *stream = nullptr, *graph = nullptr, *exec = nullptr, *outer = nullptr, *node = nullptr;
    int capturing = 0;
    CHECK_IS(cuStreamCreate(&stream, 1), 0);
    CHECK_IS(cuStreamBeginCapture_v2(stream, 0), 0);
    CHECK_IS(cuMemsetD32Async(y.at, 0x40000000, 100, stream), 0); /* 2.0f */
    CHECK_IS(k.launch(1, 128, 0, stream, y.at, 2.5f, 100), 0);
    CHECK_IS(k.launch(1, 128, 0, stream, y.at, 3.0f, 50), 0);
    CHECK_IS(cuStreamIsCapturing(stream, &capturing), 0);
    CHECK_IS(capturing, 1);
    CHECK_IS(cuStreamEndCapture(stream, &graph), 0);
    CHECK(y.get()[0] == 1.0f); /* only recorded */
    CHECK_IS(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
    CHECK_IS(cuGraphLaunch(exec, stream), 0);
    CHECK_IS(cuStreamSynchronize(stream), 0);
    CHECK(y.get()[0] == 7.5f && y.get()[99] == 4.5f);
    CHECK_IS(cuGraphExecDestroy(exec), 0);

    CHECK_IS(cuGraphCreate(&outer, 0), 0);
    CHECK_IS(cuGraphAddChildGraphNode(&node, outer, nullptr, 0, graph), 0);
    CHECK_IS(cuGraphAddChildGraphNode(&node, outer, &node, 1, graph), 0);
    CHECK_IS(cuGraphInstantiateWithFlags(&exec, outer, 0), 0);
    CHECK_IS(cuGraphDestroy(graph), 0);
    CHECK_IS(cuGraphDestroy(outer), 0);
    CHECK_IS(k.launch(1, 128, 0, stream, y.at, 100.0f, 100), 0);
    CHECK_IS(cuGraphLaunch(exec, stream), 0);
    CHECK(y.get()[0] == 7.5f);
    CHECK_IS(cuGraphExecDestroy(exec), 0);

    device d = 0;
    int mode = 2;
    CHECK_IS(cuStreamBeginCapture_v2(stream, 0), 0);
    CHECK_IS(cuThreadExchangeStreamCaptureMode(&mode), 0);
    CHECK_IS(mode, 0);
    CHECK_IS(cuMemAlloc_v2(&d, 64), 0); /* the thread has said that it may */
    CHECK_IS(cuMemFree_v2(d), 0);
    CHECK_IS(cuThreadExchangeStreamCaptureMode(&mode), 0);
    CHECK_IS(mode, 2);
    CHECK_IS(cuStreamEndCapture(stream, &graph), 0);
    CHECK_IS(cuGraphDestroy(graph), 0);
    mode = 3;
    CHECK_IS(cuThreadExchangeStreamCaptureMode(&mode), 1);
    CHECK_IS(cuStreamBeginCapture_v2(stream, 0), 0);
    CHECK_IS(cuMemAlloc_v2(&d, 64), 900); /* breaks the capture, as on the device */
    CHECK_IS(k.launch(1, 128, 0, stream, y.at, 1.0f, 100), 901);
    CHECK_IS(cuStreamEndCapture(stream, &graph), 901);
    CHECK_IS(cuMemAlloc_v2(&d, 64), 0);
    CHECK_IS(cuMemFree_v2(d), 0);
    CHECK_IS(cuStreamDestroy_v2(stream), 0);
}

void test_validation() {
    kernel k(add_source);
    array<float> y(100);
    std::vector<float> host(200);
    void *stream = nullptr, *none = nullptr;
    CHECK_IS(k.launch(1, 129, 0, nullptr, y.at, 1.0f, 1), 701); /* over __launch_bounds__ */
    CHECK_IS(k.launch(1, 1025, 0, nullptr, y.at, 1.0f, 1), 1);
    CHECK_IS(k.launch(0, 32, 0, nullptr, y.at, 1.0f, 1), 1);
    CHECK_IS(k.launch(1, 32, 0, &host, y.at, 1.0f, 1), 400);
    CHECK_IS(cuModuleGetFunction(&none, k.module, "absent"), 500);
    CHECK_IS(cuMemcpyDtoH_v2(host.data(), y.at, 404), 1);
    CHECK_IS(cuMemcpyDtoH_v2(host.data(), (device)(uintptr_t)host.data(), 4), 1);
    CHECK_IS(cuMemFree_v2(y.at + 4), 1);
    CHECK_IS(cuMemFree_v2(0), 0);
    device huge = 0;
    CHECK_IS(cuMemAlloc_v2(&huge, (size_t)1 << 60), 2);
    CHECK_IS(cuMemAlloc_v2(&huge, 0), 1);
    int value = 0, blocks = 0;
    CHECK_IS(cuDeviceGetAttribute(&value, 97, 0), 0);
    CHECK_IS(value, 232448);
    CHECK_IS(cuFuncGetAttribute(&value, 0, k.function), 0);
    CHECK_IS(value, 128);
    CHECK_IS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k.function, 128, 0), 0);
    CHECK_IS(blocks, 16);
    const char *name = nullptr;
    CHECK_IS(cuGetErrorName(2, &name), 0);
    CHECK(name && strcmp(name, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
    void *symbol = nullptr;
    CHECK_IS(cuGetProcAddress_v2("cuMemAlloc", &symbol, 13000, 0, nullptr), 0);
    CHECK(symbol == (void *)cuMemAlloc_v2);
    CHECK_IS(cuGetProcAddress_v2("cuNothing", &symbol, 13000, 0, nullptr), 500);
    char junk[2048] = "not a module";
    CHECK_IS(cuModuleLoadData(&none, junk), 200);
    CHECK_IS(cuCtxSetCurrent(nullptr), 0);
    CHECK_IS(cuStreamCreate(&stream, 0), 201);
    void *context = nullptr;
    CHECK_IS(cuDevicePrimaryCtxRetain(&context, 0), 0);
    CHECK_IS(cuCtxSetCurrent(context), 0);
    CHECK_IS(cuDevicePrimaryCtxRelease_v2(0), 0);
}

/* `extra`: all arguments in one buffer. */
void test_packed_arguments() {
    kernel k("struct pair { int a; double b; };\nextern \"C\" __global__ void k(double *o, char c, pair p, short s) { "
             "*o = c + p.a + p.b + s; }");
    array<double> y(1);
    struct {
        device o;
        char c;
        struct {
            int a;
            double b;
        } p;
        short s;
    } packed = {y.at, 1, {20, 300.5}, 4000};
    size_t size = sizeof packed;
    void *extra[] = {(void *)1, &packed, (void *)2, &size, nullptr};
    CHECK_IS(cuLaunchKernel(k.function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), 0);
    CHECK(y.get()[0] == 4321.5);
    size = 8;
    CHECK_IS(cuLaunchKernel(k.function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), 1);
}

/* ---- >>compiler -------------------------------------------------------------------------------------------------- */

void test_compiler() {
    std::string cubin, log;
    CHECK_IS(compile("extern \"C\" __global__ void k(int *o) {\n    *o = missing;\n}", &cubin, &log), 6);
    CHECK(log.find("test.cu:2") != std::string::npos && log.find("missing") != std::string::npos);
    CHECK_IS(compile("#include <stdio.h>\n", &cubin, &log), 6);
    CHECK_IS(compile("int x;\n", &cubin, &log, {"--gpu-architecture=sm_90", "--nonsense"}), 5);
    CHECK(log.find("--nonsense") != std::string::npos);
    CHECK_IS(compile("int x;\n", &cubin, &log, {"--gpu-architecture=sm_9"}), 5);
    CHECK_IS(compile("#if __CUDA_ARCH__ != 800 || X != 3\n#error arch\n#endif\n", &cubin, &log,
                     {"-arch=compute_80", "-DX=3", "--std=c++17"}),
             0);

    /* Names in comments and strings are not kernels; a declaration and its definition are one; a block of C linkage
     * counts. */
    kernel k("/* extern \"C\" __global__ void no(int); */ // extern \"C\" __global__ void no2();\n"
             "static const char *const text = \"extern \\\"C\\\" __global__ void no3()\";\n"
             "__global__ void mangled(int) {}\n"
             "extern \"C\" __global__ void k(int *o);\n"
             "extern \"C\" { __global__ __launch_bounds__(32) void second(int *o) { *o = 2; } }\n"
             "extern \"C\" __global__ void k(int *o) { *o = __LINE__; }\n");
    array<int> y(1);
    void *second = nullptr;
    CHECK_IS(k.run(1, 1, 0, y.at), 0);
    CHECK_IS(y.get()[0], 6);
    CHECK_IS(cuModuleGetFunction(&second, k.module, "second"), 0);
    CHECK_IS(cuModuleGetFunction(&second, k.module, "mangled"), 500);

    unsigned long long before[8], after[8];
    compiler_stats(before);
    CHECK_IS(compile(add_source, &cubin, &log), 0);
    compiler_stats(after);
    CHECK_IS(after[emulation::STAT_COMPILES] - before[emulation::STAT_COMPILES], 1);
    CHECK_IS(after[emulation::STAT_MISSES], before[emulation::STAT_MISSES]); /* other tests have compiled it */
    CHECK_IS(after[emulation::STAT_OBJECTS] - before[emulation::STAT_OBJECTS], 0);

    void *module = nullptr;
    std::string damaged = cubin;
    damaged[damaged.size() / 2] ^= 1;
    CHECK_IS(cuModuleLoadData(&module, damaged.data()), 200);
    memset(&cubin[24], 0, 1); /* the compiler's file is gone: the image carries all */
    CHECK_IS(cuModuleLoadData(&module, cubin.data()), 0);
    CHECK_IS(cuModuleUnload(module), 0);
}

/* ---- >>faults ---------------------------------------------------------------------------------------------------- */

void test_faults() {
    device d[3] = {};
    void *stream = nullptr, *program = nullptr;
    driver_fail("cuMemAlloc:3,cuStreamCreate:1:719");
    CHECK_IS(cuMemAlloc_v2(&d[0], 16), 0);
    CHECK_IS(cuMemAlloc_v2(&d[1], 16), 0);
    CHECK_IS(cuMemAlloc_v2(&d[2], 16), 2);
    CHECK_IS(cuMemAlloc_v2(&d[2], 16), 0);
    CHECK_IS(cuStreamCreate(&stream, 0), 719);
    driver_fail("cuMemFree_v2:2+");
    CHECK_IS(cuMemFree_v2(d[0]), 0);
    CHECK_IS(cuMemFree_v2(d[1]), 999); /* reports, but frees */
    CHECK_IS(cuMemFree_v2(d[2]), 999);
    driver_fail("any:2");
    CHECK_IS(cuCtxSynchronize(), 0);
    CHECK_IS(cuCtxSynchronize(), 999);
    CHECK_IS(cuCtxSynchronize(), 0);
    driver_fail("");
    compiler_fail("nvrtcCreateProgram:1:7");
    CHECK_IS(nvrtcCreateProgram(&program, "", "x", 0, nullptr, nullptr), 7);
    compiler_fail("");
}

void run(const char *name, void (*test)()) {
    int before = failures;
    test();
    printf("%s %s\n", failures == before ? "ok  " : "FAIL", name);
    fflush(stdout);
}

} // namespace

int main(int count, char **arguments) {
    for (const char *name :
         {"IND_EMULATION_ASYNC", "IND_EMULATION_FAIL", "IND_EMULATION_POISON", "IND_EMULATION_MEMORY"}) {
        unsetenv(name); /* the checks below are about the defaults */
    }
    open_libraries(count > 1 ? arguments[1] : "build/emulated");
    void *context = nullptr;
    unsigned long long stats[8];
    CHECK_IS(cuDevicePrimaryCtxRetain(&context, 0), 3);
    CHECK_IS(cuInit(0), 0);
    CHECK_IS(cuDevicePrimaryCtxRetain(&context, 0), 0);
    CHECK_IS(cuCtxSetCurrent(context), 0);
#define RUN(name) run(#name, test_##name)
    RUN(pointwise);
    RUN(reduction);
    RUN(transpose);
    RUN(dynamic_shared);
    RUN(static_shared_is_garbage);
    RUN(atomics);
    RUN(spin_lock);
    RUN(shuffles);
    RUN(votes);
    RUN(early_exit);
    RUN(mma_layout);
    RUN(mma_bytes_layout);
    RUN(mma_words_layout);
    RUN(matrix_product);
    RUN(conversions);
    RUN(divergence);
    RUN(clusters);
    RUN(maps);
    RUN(tf32_maps);
    RUN(wgmma_misuse);
    RUN(multicast);
    RUN(tensor_memory);
    RUN(sanitizer);
    RUN(trace);
    RUN(deferral);
    RUN(graphs);
    RUN(validation);
    RUN(packed_arguments);
    RUN(compiler);
    RUN(faults);
    CHECK_IS(cuDevicePrimaryCtxRelease_v2(0), 0);
    driver_stats(stats);
    CHECK(stats[emulation::STAT_LAUNCHES] > 30);
    CHECK_IS(stats[emulation::STAT_BYTES], 0);
    CHECK_IS(stats[emulation::STAT_ALLOCATIONS], 0);
    CHECK_IS(stats[emulation::STAT_OBJECTS], 0);
    CHECK_IS(stats[emulation::STAT_ABANDONED], 0);
    printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
    return failures != 0;
}
