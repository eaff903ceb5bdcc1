/*
 * libcublasLt.so for a machine without a GPU: the functions of cuBLASLt that the library uses, on memory of the
 * emulated driver (cuda.cc, in the same folder). Written from cuBLAS's manual, without the library's declarations.
 *
 * A call with an argument that the manual forbids fails with INVALID_VALUE and says why on stderr: a descriptor,
 * layout, preference or handle that is not alive, a leading dimension smaller than the rows, a context that is not the
 * handle's, pointers that are less aligned than the heuristic was told, memory outside allocations of the device, a
 * workspace that is too small, an algorithm of another problem, 8-bit floats in another form than transposed times
 * plain. The product is enqueued as a host function of the stream, so that it is deferred and captured as kernels are.
 *
 * Environment: IND_EMULATION_CUBLASLT_LOG, a file to which one line is written for each heuristic and each product.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "support.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define API    EXPORT int

namespace {

enum status { SUCCESS = 0, INVALID_VALUE = 7, INTERNAL_ERROR = 14, NOT_SUPPORTED = 15 };
enum type { R_32F = 0, R_16F = 2, R_16BF = 14, R_8F_E4M3 = 28, R_8F_E5M2 = 29 };
enum compute { COMPUTE_32F = 68, COMPUTE_32F_FAST_TF32 = 77 };
enum epilogue { EPILOGUE_DEFAULT = 1, EPILOGUE_BIAS = 4 };

struct driver {
    int (*current)(void **);
    int (*range)(uint64_t *, size_t *, uint64_t);
    int (*enqueue)(void *, void (*)(void *), void *);
};

struct handle {
    void *context;
};

struct layout {
    int type;
    uint64_t rows, columns;
    int64_t ld;
    int32_t batch = 1;
    int64_t step = 0;

    uint64_t elements() const {
        return (uint64_t)(batch - 1) * (uint64_t)step + (columns - 1) * (uint64_t)ld + rows;
    }
};

struct description {
    int compute, scale_type;
    int32_t transpose_a = 0, transpose_b = 0, epilogue = EPILOGUE_DEFAULT, bias_type = -1;
    int8_t fast = 0;
    const char *bias = nullptr, *scale_a = nullptr, *scale_b = nullptr;
};

struct preference {
    uint64_t workspace = 0;
    uint32_t alignment[4] = {256, 256, 256, 256};
};

/* cublasLtMatmulHeuristicResult_t; the algorithm holds what it was found for. */
struct algorithm {
    uint64_t problem, workspace, alignment[4], unused[2];
};

struct choice {
    algorithm found;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};
static_assert(sizeof(choice) == 96, "the size in the manual's struct");

/* A product to be computed; it stays, as a captured graph may be replayed at any time. */
struct job {
    description desc;
    layout a, b, d;
    const char *data_a, *data_b;
    char *data_d;
    uint64_t m, n, k;
};

struct state_type {
    std::recursive_mutex lock;
    emulation::fault_plan faults;
    std::set<void *> handles, descriptions, layouts, preferences;
    std::deque<job> jobs;
    driver cuda{};
    bool opened = false;
};

state_type &state() {
    static state_type *s = new state_type;
    return *s;
}

int forbidden(const char *function, const char *why) {
    fprintf(stderr, "emulated cuBLASLt: %s: %s\n", function, why);
    return INVALID_VALUE;
}

#define ENTER                                                                                                          \
    std::lock_guard<std::recursive_mutex> guard(state().lock);                                                         \
    if (!state().faults.loaded) {                                                                                      \
        state().faults.set("");                                                                                        \
    }                                                                                                                  \
    const int injected = state().faults.strike(__func__, INTERNAL_ERROR)
#define FAIL_IF_INJECTED                                                                                               \
    if (injected) {                                                                                                    \
        return injected;                                                                                               \
    }
#define REQUIRE(condition)                                                                                             \
    if (!(condition)) {                                                                                                \
        return forbidden(__func__, #condition);                                                                        \
    }

bool open_driver() {
    Dl_info self;
    if (state().opened || !dladdr((void *)&open_driver, &self)) {
        return state().opened;
    }
    std::string path = self.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + "libcuda.so";
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (!library) {
        return false;
    }
    state().cuda.current = (int (*)(void **))dlsym(library, "cuCtxGetCurrent");
    state().cuda.range = (int (*)(uint64_t *, size_t *, uint64_t))dlsym(library, "cuMemGetAddressRange_v2");
    state().cuda.enqueue = (int (*)(void *, void (*)(void *), void *))dlsym(library, "cuLaunchHostFunc");
    return state().opened = state().cuda.current && state().cuda.range && state().cuda.enqueue;
}

bool in_device_memory(const void *address, uint64_t bytes) {
    uint64_t base = 0;
    size_t size = 0;
    return !state().cuda.range(&base, &size, (uintptr_t)address) && (uintptr_t)address + bytes <= base + size;
}

uint64_t bytes_of(int type) {
    return type == R_32F ? 4 : type == R_16F || type == R_16BF ? 2 : 1;
}

/* ---- numbers */

/* A float of 1 sign bit, `exponent` and `fraction` bits. */
float decode(unsigned bits, int exponent, int fraction) {
    const int sign = (int)(bits >> (exponent + fraction)) & 1, bias = (1 << (exponent - 1)) - 1;
    const int e = (int)(bits >> fraction) & ((1 << exponent) - 1), f = (int)bits & ((1 << fraction) - 1);
    float v = e ? ldexpf((float)(f + (1 << fraction)), e - bias - fraction) : ldexpf((float)f, 1 - bias - fraction);
    return sign ? -v : v;
}

float load(const char *data, int type, uint64_t at) {
    const char *p = data + at * bytes_of(type);
    uint16_t half;
    float value;
    if (type == R_32F) {
        memcpy(&value, p, 4);
        return value;
    }
    if (bytes_of(type) == 1) {
        return type == R_8F_E4M3 ? decode((unsigned char)*p, 4, 3) : decode((unsigned char)*p, 5, 2);
    }
    memcpy(&half, p, 2);
    return type == R_16F ? decode(half, 5, 10) : decode(half, 8, 7);
}

/* Rounds to `exponent` and `fraction` bits, ties to even. The tests' numbers are finite in every type. */
unsigned encode(double v, int exponent, int fraction) {
    const int bias = (1 << (exponent - 1)) - 1;
    const unsigned sign = std::signbit(v) ? 1u << (exponent + fraction) : 0;
    int e = 0;
    v = fabs(v);
    if (v == 0) {
        return sign;
    }
    frexp(v, &e);
    e = e - 1 < 1 - bias ? 1 - bias : e - 1;
    const double scaled = nearbyint(ldexp(v, fraction - e));
    return sign + (unsigned)((e + bias - 1) << fraction) + (unsigned)scaled;
}

void store(char *data, int type, uint64_t at, double value) {
    char *p = data + at * bytes_of(type);
    const float single = (float)value;
    const uint16_t half = (uint16_t)(type == R_16F ? encode(value, 5, 10) : encode(value, 8, 7));
    if (type == R_32F) {
        memcpy(p, &single, 4);
    } else {
        memcpy(p, &half, 2);
    }
}

void compute(void *user) {
    const job &j = *static_cast<const job *>(user);
    const double scale = (j.desc.scale_a ? load(j.desc.scale_a, R_32F, 0) : 1.0) *
                         (j.desc.scale_b ? load(j.desc.scale_b, R_32F, 0) : 1.0);
    for (int32_t batch = 0; batch < j.d.batch; batch++) {
        for (uint64_t column = 0; column < j.n; column++) {
            for (uint64_t row = 0; row < j.m; row++) {
                double sum = 0;
                for (uint64_t k = 0; k < j.k; k++) {
                    const uint64_t a = j.desc.transpose_a ? k + row * (uint64_t)j.a.ld : row + k * (uint64_t)j.a.ld;
                    const uint64_t b =
                        j.desc.transpose_b ? column + k * (uint64_t)j.b.ld : k + column * (uint64_t)j.b.ld;
                    sum += (double)load(j.data_a, j.a.type, (uint64_t)batch * (uint64_t)j.a.step + a) *
                           load(j.data_b, j.b.type, (uint64_t)batch * (uint64_t)j.b.step + b);
                }
                sum *= scale;
                if (j.desc.epilogue == EPILOGUE_BIAS) {
                    sum += load(j.desc.bias, j.desc.bias_type, row);
                }
                store(j.data_d, j.d.type, (uint64_t)batch * (uint64_t)j.d.step + row + column * (uint64_t)j.d.ld, sum);
            }
        }
    }
}

/* ---- problems */

/* Sizes of the product; why it is none, else NULL. */
const char *fit(const description &d, const layout &a, const layout &b, const layout &c, job &j) {
    j.m = d.transpose_a ? a.columns : a.rows;
    j.k = d.transpose_a ? a.rows : a.columns;
    j.n = d.transpose_b ? b.rows : b.columns;
    if ((d.transpose_b ? b.columns : b.rows) != j.k || c.rows != j.m || c.columns != j.n) {
        return "the sizes do not agree";
    }
    if (a.batch != b.batch || a.batch != c.batch) {
        return "the batches differ";
    }
    if (d.scale_type != R_32F || (d.compute == COMPUTE_32F_FAST_TF32 && a.type != R_32F)) {
        return "the compute type does not fit";
    }
    if (bytes_of(a.type) == 1) {
        const bool both = a.type == R_8F_E5M2 && b.type == R_8F_E5M2;
        return !d.transpose_a || d.transpose_b || a.rows % 16 || c.rows % 16 || bytes_of(b.type) != 1 || both
                   ? "8-bit floats in a form that is not supported"
                   : nullptr;
    }
    if (a.type != b.type || a.type != c.type) {
        return "the types differ";
    }
    if (d.epilogue == EPILOGUE_BIAS && d.bias_type != c.type) {
        return "the type of the bias is not the result's";
    }
    return nullptr;
}

uint64_t problem_of(const description &d, const layout &a, const layout &b, const layout &c) {
    std::vector<int64_t> all = {d.compute, d.transpose_a, d.transpose_b, d.epilogue, d.bias_type, d.fast};
    for (const layout *x : {&a, &b, &c}) {
        all.insert(all.end(), {x->type, (int64_t)x->rows, (int64_t)x->columns, x->ld, x->batch, x->step});
    }
    return emulation::hash_bytes(all.data(), all.size() * sizeof all[0]);
}

void log_line(const char *what, const description &d, const job &j, const layout &a, const layout &b) {
    const char *path = getenv("IND_EMULATION_CUBLASLT_LOG");
    FILE *f = path && *path ? fopen(path, "a") : nullptr;
    if (f) {
        fprintf(f,
                "%s m=%llu n=%llu k=%llu batch=%d ops=%c%c ld=%lld,%lld step=%lld,%lld type=%d compute=%d bias=%d "
                "fast=%d\n",
                what, (unsigned long long)j.m, (unsigned long long)j.n, (unsigned long long)j.k, (int)a.batch,
                d.transpose_a ? 'T' : 'N', d.transpose_b ? 'T' : 'N', (long long)a.ld, (long long)b.ld,
                (long long)a.step, (long long)b.step, a.type, d.compute, d.epilogue == EPILOGUE_BIAS, d.fast);
        fclose(f);
    }
}

template <class T> bool alive(const std::set<void *> &live, T *object) {
    return live.count((void *)object) != 0;
}

template <class T> int set_value(T *to, const void *value, size_t bytes) {
    if (bytes != sizeof *to) {
        return forbidden("SetAttribute", "the attribute has another size");
    }
    memcpy(to, value, bytes);
    return SUCCESS;
}

template <class T> int destroy(std::set<void *> &live, T *object, int injected, const char *function) {
    if (!live.erase((void *)object)) {
        return forbidden(function, "not alive");
    }
    delete object;
    return injected;
}

} // namespace

/* ---- the library */

API cublasLtCreate(void **out) {
    ENTER;
    FAIL_IF_INJECTED;
    REQUIRE(out && open_driver());
    void *context = nullptr;
    REQUIRE(!state().cuda.current(&context) && context);
    *out = new handle{context};
    state().handles.insert(*out);
    return SUCCESS;
}

API cublasLtDestroy(handle *h) {
    ENTER;
    return destroy(state().handles, h, injected, __func__);
}

API cublasLtMatmulDescCreate(void **out, int compute, int scale_type) {
    ENTER;
    FAIL_IF_INJECTED;
    REQUIRE(out && (compute == COMPUTE_32F || compute == COMPUTE_32F_FAST_TF32) && scale_type == R_32F);
    description *d = new description;
    d->compute = compute;
    d->scale_type = scale_type;
    state().descriptions.insert(*out = d);
    return SUCCESS;
}

API cublasLtMatmulDescDestroy(description *d) {
    ENTER;
    return destroy(state().descriptions, d, injected, __func__);
}

API cublasLtMatmulDescSetAttribute(description *d, int attribute, const void *value, size_t bytes) {
    ENTER;
    FAIL_IF_INJECTED;
    REQUIRE(alive(state().descriptions, d) && value);
    switch (attribute) {
    case 3: return set_value(&d->transpose_a, value, bytes);
    case 4: return set_value(&d->transpose_b, value, bytes);
    case 7: return set_value(&d->epilogue, value, bytes);
    case 8: return set_value(&d->bias, value, bytes);
    case 17: return set_value(&d->scale_a, value, bytes);
    case 18: return set_value(&d->scale_b, value, bytes);
    case 25: return set_value(&d->fast, value, bytes);
    case 26: return set_value(&d->bias_type, value, bytes);
    default: return forbidden(__func__, "unknown attribute");
    }
}

API cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t ld) {
    ENTER;
    FAIL_IF_INJECTED;
    REQUIRE(type == R_32F || type == R_16F || type == R_16BF || type == R_8F_E4M3 || type == R_8F_E5M2);
    REQUIRE(out && rows && columns && ld >= (int64_t)rows);
    layout *l = new layout;
    l->type = type;
    l->rows = rows;
    l->columns = columns;
    l->ld = ld;
    state().layouts.insert(*out = l);
    return SUCCESS;
}

API cublasLtMatrixLayoutDestroy(layout *l) {
    ENTER;
    return destroy(state().layouts, l, injected, __func__);
}

API cublasLtMatrixLayoutSetAttribute(layout *l, int attribute, const void *value, size_t bytes) {
    ENTER;
    FAIL_IF_INJECTED;
    REQUIRE(alive(state().layouts, l) && value);
    switch (attribute) {
    case 5: return set_value(&l->batch, value, bytes);
    case 6: return set_value(&l->step, value, bytes);
    default: return forbidden(__func__, "unknown attribute");
    }
}

API cublasLtMatmulPreferenceCreate(void **out) {
    ENTER;
    FAIL_IF_INJECTED;
    REQUIRE(out);
    state().preferences.insert(*out = new preference);
    return SUCCESS;
}

API cublasLtMatmulPreferenceDestroy(preference *p) {
    ENTER;
    return destroy(state().preferences, p, injected, __func__);
}

API cublasLtMatmulPreferenceSetAttribute(preference *p, int attribute, const void *value, size_t bytes) {
    ENTER;
    FAIL_IF_INJECTED;
    REQUIRE(alive(state().preferences, p) && value);
    if (attribute == 1) {
        return set_value(&p->workspace, value, bytes);
    }
    REQUIRE(attribute >= 5 && attribute <= 8);
    return set_value(&p->alignment[attribute - 5], value, bytes);
}

API cublasLtMatmulAlgoGetHeuristic(handle *h, description *d, layout *a, layout *b, layout *c, layout *result,
                                   preference *p, int wanted, choice *out, int *found) {
    ENTER;
    FAIL_IF_INJECTED;
    job j;
    REQUIRE(alive(state().handles, h) && alive(state().descriptions, d) && alive(state().preferences, p));
    REQUIRE(alive(state().layouts, a) && alive(state().layouts, b) && c == result && alive(state().layouts, result));
    REQUIRE(wanted == 1 && out && found);
    const char *why = fit(*d, *a, *b, *result, j);
    if (why) {
        return forbidden(__func__, why);
    }
    REQUIRE((d->epilogue == EPILOGUE_BIAS) == (d->bias != nullptr));
    memset(out, 0, sizeof *out);
    *found = j.m == 7 && j.n == 7 && j.k == 7 ? 0 : 1; /* a problem without an algorithm, for tests */
    out->found.problem = problem_of(*d, *a, *b, *result);
    out->found.workspace = out->workspace = (size_t)p->workspace;
    for (int i = 0; i < 4; i++) {
        out->found.alignment[i] = p->alignment[i];
    }
    log_line("heuristic", *d, j, *a, *b);
    return SUCCESS;
}

API cublasLtMatmul(handle *h, description *d, const float *alpha, const char *a, layout *layout_a, const char *b,
                   layout *layout_b, const float *beta, const char *c, layout *layout_c, char *result, layout *layout_d,
                   const algorithm *found, char *workspace, size_t bytes, void *stream) {
    ENTER;
    FAIL_IF_INJECTED;
    void *context = nullptr;
    job j;
    REQUIRE(alive(state().handles, h) && alive(state().descriptions, d) && alive(state().layouts, layout_a));
    REQUIRE(alive(state().layouts, layout_b) && alive(state().layouts, layout_d) && layout_c == layout_d &&
            c == result);
    REQUIRE(!state().cuda.current(&context) && context == h->context);
    REQUIRE(alpha && *alpha == 1 && beta && *beta == 0 && found);
    const char *why = fit(*d, *layout_a, *layout_b, *layout_d, j);
    if (why) {
        return forbidden(__func__, why);
    }
    REQUIRE(found->problem == problem_of(*d, *layout_a, *layout_b, *layout_d));
    const void *pointer[4] = {a, b, c, result};
    for (int i = 0; i < 4; i++) {
        REQUIRE((uintptr_t)pointer[i] % found->alignment[i] == 0);
    }
    REQUIRE(found->workspace <= bytes && (uintptr_t)workspace % 256 == 0 && in_device_memory(workspace, bytes));
    REQUIRE(in_device_memory(a, layout_a->elements() * bytes_of(layout_a->type)));
    REQUIRE(in_device_memory(b, layout_b->elements() * bytes_of(layout_b->type)));
    REQUIRE(in_device_memory(result, layout_d->elements() * bytes_of(layout_d->type)));
    REQUIRE((d->epilogue == EPILOGUE_BIAS) == (d->bias != nullptr));
    REQUIRE(!d->bias || in_device_memory(d->bias, j.m * bytes_of(d->bias_type)));
    REQUIRE((bytes_of(layout_a->type) == 1) == (d->scale_a && d->scale_b));
    REQUIRE(!d->scale_a || (in_device_memory(d->scale_a, 4) && in_device_memory(d->scale_b, 4)));
    j.desc = *d;
    j.a = *layout_a;
    j.b = *layout_b;
    j.d = *layout_d;
    j.data_a = a;
    j.data_b = b;
    j.data_d = result;
    state().jobs.push_back(j);
    log_line("matmul", *d, j, *layout_a, *layout_b);
    return state().cuda.enqueue(stream, compute, &state().jobs.back()) ? INTERNAL_ERROR : SUCCESS;
}

/* ---- controls: for tests */

/* Replaces the fault plan ("" for none) and starts counting anew. */
EXPORT void ind_emulation_fail(const char *spec) {
    std::lock_guard<std::recursive_mutex> guard(state().lock);
    state().faults.set(spec);
}

/* Fills the number of objects alive now. */
EXPORT void ind_emulation_stats(unsigned long long out[emulation::STAT_COUNT]) {
    std::lock_guard<std::recursive_mutex> guard(state().lock);
    const state_type &s = state();
    memset(out, 0, emulation::STAT_COUNT * sizeof *out);
    out[emulation::STAT_OBJECTS] = s.handles.size() + s.descriptions.size() + s.layouts.size() + s.preferences.size();
}
