/*
 * libcuda.so for a machine without a GPU: the driver API on host memory and host code, one device "Emulated GPU" with
 * the limits of an H200, except those of shared memory, which depend on its compute capability.
 *
 * Meant to be as strict as the driver, or stricter:
 *   - work is deferred: kernels, copies and fills in a stream run when something waits for them (so a missing
 * synchronisation shows); IND_EMULATION_ASYNC=0 runs each at once. Copies from pageable host memory happen at once, as
 * the driver stages them.
 *   - every handle, pointer range, launch dimension, shared memory size and current context is checked.
 *   - a kernel that fails (trap, divergence) leaves its context in CUDA_ERROR_LAUNCH_FAILED, as on the device, until
 * the context is destroyed. What happened is printed on stderr and kept for ind_emulation_last_error().
 *   - device memory is filled with garbage (IND_EMULATION_POISON, default 0xcb; 0xff is NaN in every float type) when
 * allocated. It is malloc'ed, so a kernel compiled with AddressSanitizer cannot leave an allocation unseen.
 *
 * Environment, read at the first call that needs it:
 *   - IND_EMULATION_FAIL: fault injection (support.h). A call that releases something still does so when made to fail
 *   - IND_EMULATION_ASYNC=0: each operation runs when it is issued
 *   - IND_EMULATION_ORDER: forward, reverse or random order of threads and blocks; a race shows as results that differ
 *   - IND_EMULATION_POISON: the byte that fresh device and shared memory is filled with
 *   - IND_EMULATION_MEMORY: device memory in bytes, default 8 GiB
 *   - IND_EMULATION_CC: compute capability, default 9.0
 *   - IND_EMULATION_SMS: multiprocessors, default 132
 *   - IND_EMULATION_CLUSTERS: clusters that the device has a place for at a time; without it, it knows none
 *   - IND_EMULATION_TICK: nanoseconds by which %globaltimer advances each time it is read, default 1000
 *   - IND_EMULATION_QUIET=1: no message on stderr when a kernel fails
 *   - IND_EMULATION_CACHE: where images are written whose file is gone, default /tmp
 *
 * Sanitizers: kernels compiled with AddressSanitizer (nvrtc.cc says when) need its run time to be the first library of
 * the process: a program built with -fsanitize=address has it; for others, such as Python, LD_PRELOAD="$(c++
 * -print-file-name=libasan.so)" and ASAN_OPTIONS=detect_leaks=0. This library itself needs none and works in both.
 *
 * Not emulated: textures, peer and managed memory, cuModuleGetGlobal, PTX and fat binaries as images, cooperative
 * grids, clusters along y and z, memory nodes in graphs.
 *
 * >>types >>state >>entry >>device >>context >>memory >>copies >>streams >>events >>graphs >>modules >>launch >>maps
 * >>errors
 * >>controls
 */
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <elf.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unistd.h>
#include <unordered_set>
#include <vector>

#include "execution.h"
#include "support.h"

#define API extern "C" __attribute__((visibility("default"))) int

namespace {

using namespace emulation;

/* ---- >>types ----------------------------------------------------------------------------------------------------- */

#define RESULTS(_)                                                                                                     \
    _(SUCCESS, 0, "no error")                                                                                          \
    _(INVALID_VALUE, 1, "invalid argument")                                                                            \
    _(OUT_OF_MEMORY, 2, "out of memory")                                                                               \
    _(NOT_INITIALIZED, 3, "initialization error")                                                                      \
    _(NO_DEVICE, 100, "no CUDA-capable device is detected")                                                            \
    _(INVALID_DEVICE, 101, "invalid device ordinal")                                                                   \
    _(INVALID_IMAGE, 200, "device kernel image is invalid")                                                            \
    _(INVALID_CONTEXT, 201, "invalid device context")                                                                  \
    _(NO_BINARY_FOR_GPU, 209, "no kernel image is available for execution on the device")                              \
    _(INVALID_PTX, 218, "a PTX JIT compilation failed")                                                                \
    _(SHARED_OBJECT_INIT_FAILED, 303, "shared object initialization failed")                                           \
    _(INVALID_HANDLE, 400, "invalid resource handle")                                                                  \
    _(NOT_FOUND, 500, "named symbol not found")                                                                        \
    _(NOT_READY, 600, "device not ready")                                                                              \
    _(LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch")                                         \
    _(CONTEXT_IS_DESTROYED, 709, "context is destroyed")                                                               \
    _(LAUNCH_FAILED, 719, "unspecified launch failure")                                                                \
    _(NOT_SUPPORTED, 801, "operation not supported")                                                                   \
    _(STREAM_CAPTURE_UNSUPPORTED, 900, "operation not permitted when stream is capturing")                             \
    _(STREAM_CAPTURE_INVALIDATED, 901, "operation failed due to a previous error during capture")                      \
    _(ILLEGAL_STATE, 401, "the operation cannot be performed in the present state")                                    \
    _(UNKNOWN, 999, "unknown error")

enum result {
#define RESULT_VALUE(name, value, text) name = value,
    RESULTS(RESULT_VALUE)
};

typedef uint64_t device_pointer;

struct context;

/* What a handle points at. The set of live objects tells a good handle from a bad one before it is followed. */
struct object {
    context *owner;
    explicit object(context *owner_) : owner(owner_) {
    }
    virtual ~object() {
    }
};

typedef std::function<result()> operation;

/* Of a graph. early: it may begin before the node before it is done. */
struct node {
    operation run;
    bool early;
};

struct graph : object {
    std::vector<node> nodes; /* in an order that respects their dependencies */
    using object::object;
};

struct graph_exec : object {
    std::vector<node> nodes;
    using object::object;
};

/* One capture in progress; several streams may have joined it. */
struct capture {
    std::vector<node> nodes;
    int mode = 0;
    bool broken = false;
    unsigned long long number = 0;
    void *last = nullptr; /* handle of the last node, while the caller looks at it */
};

struct stream : object {
    std::shared_ptr<capture> recording;
    bool origin = false; /* the capture began here */
    using object::object;
};

struct event : object {
    bool recorded = false, timed = true;
    unsigned issued = 0, completed = 0;
    double milliseconds = 0;
    std::shared_ptr<capture> recording;
    using object::object;
};

struct module_object;

struct function : object {
    module_object *module = nullptr;
    std::string name;
    const ind_emulation::kernel *kernel = nullptr;
    unsigned static_shared = 0;
    int max_dynamic_shared = 0;
    using object::object;
};

struct module_object : object {
    void *library = nullptr;
    const ind_emulation::module *entry = nullptr;
    std::map<std::string, unsigned> shared_sizes; /* by kernel; "" is what belongs to none */
    std::map<std::string, function *> functions;
    using object::object;
    ~module_object() override;
};

struct context : object {
    result error = SUCCESS; /* sticky */
    bool primary = false;
    context() : object(nullptr) {
    }
};

struct allocation {
    size_t bytes;
    context *owner;
    bool host, registered;
};

/* ---- >>state ----------------------------------------------------------------------------------------------------- */

struct driver_state {
    std::recursive_mutex lock;
    bool initialised = false;
    std::unordered_set<object *> live;
    std::map<uintptr_t, allocation> memory;
    std::deque<operation> pending;
    context *primary = nullptr;
    int primary_references = 0;
    int captures = 0;
    unsigned long long captured = 0; /* captures begun */
    fault_plan faults;
    unsigned long long stats[STAT_COUNT] = {};
    std::string last_error;
    bool running = false;
};

/* Never destroyed: the caller's own destructors may still call the driver at exit. */
driver_state &state() {
    static driver_state *the_state = new driver_state;
    return *the_state;
}

thread_local std::vector<context *> current_stack;

enum { CAPTURE_RELAXED = 2 };
thread_local int thread_capture_mode = 0; /* global */

context *current_context() {
    return current_stack.empty() ? nullptr : current_stack.back();
}

template <class T> T *live(const void *handle) {
    object *o = static_cast<object *>(const_cast<void *>(handle));
    return state().live.count(o) ? dynamic_cast<T *>(o) : nullptr;
}

template <class T> T *make_object(context *owner) {
    T *o = new T(owner);
    state().live.insert(o);
    state().stats[STAT_OBJECTS]++;
    return o;
}

void destroy_object(object *o) {
    state().live.erase(o);
    state().stats[STAT_OBJECTS]--;
    delete o;
}

bool deferred() {
    static const bool value = environment("IND_EMULATION_ASYNC", "1") != "0";
    return value;
}

void report(context *c, result error, const std::string &message) {
    if (c->error == SUCCESS) {
        c->error = error;
    }
    state().last_error = message;
    if (environment("IND_EMULATION_QUIET", "0") == "0") {
        fprintf(stderr, "emulation: %s\n", message.c_str());
    }
}

/* Runs everything issued so far, in the order of issue: every stream order is a part of it. */
void flush() {
    driver_state &s = state();
    if (s.running) {
        return;
    }
    s.running = true;
    while (!s.pending.empty()) {
        operation next = std::move(s.pending.front());
        s.pending.pop_front();
        next();
    }
    s.running = false;
}

constexpr size_t MAX_PENDING = 4096;

/* Puts an operation into a stream, or into the graph that the stream is being captured to. */
result issue(void *stream_handle, operation what, bool early = false) {
    stream *s = live<stream>(stream_handle);
    if (s && s->recording) {
        if (s->recording->broken) {
            return STREAM_CAPTURE_INVALIDATED;
        }
        s->recording->nodes.push_back({std::move(what), early});
        return SUCCESS;
    }
    state().pending.push_back(std::move(what));
    if (!deferred() || state().pending.size() > MAX_PENDING) {
        flush();
    }
    return SUCCESS;
}

/* 0, 1 and 2 are the default, legacy and per-thread streams. */
bool good_stream(const void *handle) {
    return (uintptr_t)handle <= 2 || live<stream>(handle);
}

bool is_capturing(const void *handle) {
    stream *s = live<stream>(handle);
    return s && s->recording;
}

/* ---- >>entry: what every call does first ------------------------------------------------------------------------- */

enum needs {
    NEEDS_NOTHING = 0,
    NEEDS_INIT = 1,
    NEEDS_CONTEXT = 2 | NEEDS_INIT,
    NEEDS_HEALTHY = 4 | NEEDS_CONTEXT, /* fails when an earlier kernel has failed */
    UNSAFE_IN_CAPTURE = 8, /* breaks any capture in progress in global mode, unless the thread's own mode is relaxed; of
                              cuModuleLoadData the manual does not say that it does, nor that it does not */
    RELEASES = 16          /* does its work even where it is made to fail */
};

int default_fault(const char *name) {
    static const char *const allocating[] = {"cuMemAlloc",    "cuMemHostAlloc",          "cuStreamCreate",
                                             "cuEventCreate", "cuGraphInstantiate",      "cuCtxCreate",
                                             "cuModuleLoad",  "cuDevicePrimaryCtxRetain"};
    for (const char *prefix : allocating) {
        if (strncmp(name, prefix, strlen(prefix)) == 0) {
            return OUT_OF_MEMORY;
        }
    }
    return strcmp(name, "cuInit") == 0 ? NO_DEVICE : UNKNOWN;
}

void break_captures() {
    for (object *o : state().live) {
        stream *s = dynamic_cast<stream *>(o);
        if (s && s->recording && s->recording->mode == 0) {
            s->recording->broken = true;
        }
    }
}

struct call {
    std::lock_guard<std::recursive_mutex> guard;
    result status = SUCCESS; /* other than SUCCESS: return it at once */
    result injected;         /* to be returned at the end by a call that releases */
    context *here;

    call(const char *name, int needs)
        : guard(state().lock), injected((result)state().faults.strike(name, default_fault(name))),
          here(current_context()) {
        status = check(needs);
        if (status == SUCCESS && injected != SUCCESS && !(needs & RELEASES)) {
            status = injected;
        }
    }

    /* The result of a call that has run what was pending: an error of the past comes out now. */
    result finish() const {
        return injected != SUCCESS ? injected : here && state().live.count(here) ? here->error : SUCCESS;
    }

  private:
    result check(int needs) {
        if ((needs & NEEDS_INIT) && !state().initialised) {
            return NOT_INITIALIZED;
        }
        if ((needs & NEEDS_CONTEXT) == NEEDS_CONTEXT && !here) {
            return INVALID_CONTEXT;
        }
        if ((needs & NEEDS_CONTEXT) == NEEDS_CONTEXT && !live<context>(here)) {
            return CONTEXT_IS_DESTROYED;
        }
        if ((needs & UNSAFE_IN_CAPTURE) && state().captures && thread_capture_mode != CAPTURE_RELAXED) {
            break_captures();
            return STREAM_CAPTURE_UNSUPPORTED;
        }
        return (needs & NEEDS_HEALTHY) == NEEDS_HEALTHY ? here->error : SUCCESS;
    }
};

#define ENTER(needs)                                                                                                   \
    call entry(__func__, needs);                                                                                       \
    if (entry.status != SUCCESS) {                                                                                     \
        return entry.status;                                                                                           \
    }
#define REQUIRE(condition, error)                                                                                      \
    if (!(condition)) {                                                                                                \
        return error;                                                                                                  \
    }

/* ---- memory helpers ---------------------------------------------------------------------------------------------- */

size_t total_memory() {
    static const size_t value = strtoull(environment("IND_EMULATION_MEMORY", "8589934592").c_str(), nullptr, 0);
    return value;
}

int garbage_byte() {
    static const int value = (int)strtoul(environment("IND_EMULATION_POISON", "0xcb").c_str(), nullptr, 0) & 255;
    return value;
}

/* The allocation that [address, address + bytes) lies in, or end(). */
std::map<uintptr_t, allocation>::iterator find_memory(uintptr_t address, size_t bytes) {
    auto &memory = state().memory;
    auto at = memory.upper_bound(address);
    if (at == memory.begin()) {
        return memory.end();
    }
    --at;
    size_t offset = address - at->first;
    return offset <= at->second.bytes && bytes <= at->second.bytes - offset ? at : memory.end();
}

bool device_range(uintptr_t address, size_t bytes) {
    auto at = find_memory(address, bytes);
    return at != state().memory.end() && !at->second.host;
}

bool host_pinned(const void *address, size_t bytes) {
    auto at = find_memory((uintptr_t)address, bytes);
    return at != state().memory.end() && at->second.host;
}

result allocate(context *owner, size_t bytes, bool host, uintptr_t *out) {
    driver_state &s = state();
    void *memory = nullptr;
    if (!host && bytes > total_memory() - s.stats[STAT_BYTES]) {
        return OUT_OF_MEMORY;
    }
    if (posix_memalign(&memory, host ? 4096 : 512, bytes) != 0) {
        return OUT_OF_MEMORY;
    }
    memset(memory, garbage_byte(), bytes);
    s.memory[(uintptr_t)memory] = allocation{bytes, owner, host, false};
    s.stats[STAT_ALLOCATIONS]++;
    s.stats[STAT_BYTES] += host ? 0 : bytes;
    s.stats[STAT_PEAK_BYTES] = std::max(s.stats[STAT_PEAK_BYTES], s.stats[STAT_BYTES]);
    *out = (uintptr_t)memory;
    return SUCCESS;
}

result release(uintptr_t address, bool host) {
    driver_state &s = state();
    auto at = s.memory.find(address);
    if (at == s.memory.end() || at->second.host != host || at->second.registered) {
        return INVALID_VALUE;
    }
    s.stats[STAT_ALLOCATIONS]--;
    s.stats[STAT_BYTES] -= host ? 0 : at->second.bytes;
    s.memory.erase(at);
    free((void *)address);
    return SUCCESS;
}

} // namespace

/* ---- >>device ---------------------------------------------------------------------------------------------------- */

namespace {

struct attribute {
    int number, value;
};

/* CUdevice_attribute numbers from cuda.h; the values of an H200. Others are 0. */
const attribute device_attributes[] = {
    {1, 1024},                       /* MAX_THREADS_PER_BLOCK */
    {2, 1024},                       /* MAX_BLOCK_DIM_X */
    {3, 1024},                       /* MAX_BLOCK_DIM_Y */
    {4, 64},                         /* MAX_BLOCK_DIM_Z */
    {5, 2147483647},                 /* MAX_GRID_DIM_X */
    {6, 65535},                      /* MAX_GRID_DIM_Y */
    {7, 65535},                      /* MAX_GRID_DIM_Z */
    {8, 49152},                      /* MAX_SHARED_MEMORY_PER_BLOCK */
    {9, 65536},                      /* TOTAL_CONSTANT_MEMORY */
    {10, 32},                        /* WARP_SIZE */
    {11, 2147483647}, {12, 65536},   /* MAX_REGISTERS_PER_BLOCK */
    {13, 1980000},                   /* CLOCK_RATE, kHz */
    {14, 512},                       /* TEXTURE_ALIGNMENT */
    {15, 1},          {19, 1},       /* CAN_MAP_HOST_MEMORY */
    {31, 1},                         /* CONCURRENT_KERNELS */
    {32, 1},                         /* ECC_ENABLED */
    {33, 1},          {36, 3201000}, /* MEMORY_CLOCK_RATE, kHz */
    {37, 6144},                      /* GLOBAL_MEMORY_BUS_WIDTH, bits */
    {38, 62914560},                  /* L2_CACHE_SIZE */
    {39, 2048},                      /* MAX_THREADS_PER_MULTIPROCESSOR */
    {40, 3},                         /* ASYNC_ENGINE_COUNT */
    {41, 1},                         /* UNIFIED_ADDRESSING */
    {78, 1},                         /* STREAM_PRIORITIES_SUPPORTED */
    {82, 65536},                     /* MAX_REGISTERS_PER_MULTIPROCESSOR */
    {106, 32},                       /* MAX_BLOCKS_PER_MULTIPROCESSOR */
    {111, 1024},                     /* RESERVED_SHARED_MEMORY_PER_BLOCK */
    {115, 1},                        /* MEMORY_POOLS_SUPPORTED */
};

constexpr int MAX_SHARED = 49152, RESERVED_SHARED = 1024;

int compute_capability(bool minor) {
    std::string text = environment("IND_EMULATION_CC", "9.0");
    size_t dot = text.find('.');
    return dot == std::string::npos ? (minor ? 0 : atoi(text.c_str())) : atoi(text.c_str() + (minor ? dot + 1 : 0));
}

/* Bytes of a multiprocessor: of sm_80, 86, 89, 90, 100, 120. */
int shared_per_multiprocessor() {
    const int cc = compute_capability(false) * 10 + compute_capability(true);
    return cc == 80 || cc == 87 ? 167936 : cc < 90 || cc >= 120 ? 102400 : 233472;
}

int max_shared_optin() {
    return shared_per_multiprocessor() - RESERVED_SHARED;
}

bool knows_clusters() {
    return !environment("IND_EMULATION_CLUSTERS", "").empty();
}

int resident_clusters() {
    return atoi(environment("IND_EMULATION_CLUSTERS", "0").c_str());
}

int device_attribute(int number) {
    if (number == 75 || number == 76) {
        return compute_capability(number == 76);
    }
    if (number == 16) {
        return atoi(environment("IND_EMULATION_SMS", "132").c_str());
    }
    if (number == 120) { /* CLUSTER_LAUNCH */
        return knows_clusters();
    }
    if (number == 81 || number == 97) { /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, _PER_BLOCK_OPTIN */
        return number == 81 ? shared_per_multiprocessor() : max_shared_optin();
    }
    for (const attribute &a : device_attributes) {
        if (a.number == number) {
            return a.value;
        }
    }
    return 0;
}

} // namespace

API cuInit(unsigned flags) {
    ENTER(NEEDS_NOTHING);
    REQUIRE(flags == 0, INVALID_VALUE);
    state().initialised = true;
    return SUCCESS;
}

API cuDriverGetVersion(int *version) {
    ENTER(NEEDS_NOTHING);
    REQUIRE(version, INVALID_VALUE);
    *version = 13000;
    return SUCCESS;
}

API cuDeviceGetCount(int *count) {
    ENTER(NEEDS_INIT);
    REQUIRE(count, INVALID_VALUE);
    *count = 1;
    return SUCCESS;
}

API cuDeviceGet(int *device, int ordinal) {
    ENTER(NEEDS_INIT);
    REQUIRE(device, INVALID_VALUE);
    REQUIRE(ordinal == 0, INVALID_DEVICE);
    *device = 0;
    return SUCCESS;
}

API cuDeviceGetName(char *name, int bytes, int device) {
    ENTER(NEEDS_INIT);
    REQUIRE(device == 0, INVALID_DEVICE);
    REQUIRE(name && bytes > 0, INVALID_VALUE);
    snprintf(name, (size_t)bytes, "Emulated GPU");
    return SUCCESS;
}

API cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    ENTER(NEEDS_INIT);
    REQUIRE(device == 0, INVALID_DEVICE);
    REQUIRE(uuid, INVALID_VALUE);
    memcpy(uuid, "emulated-device0", 16);
    return SUCCESS;
}

API cuDeviceGetAttribute(int *value, int number, int device) {
    ENTER(NEEDS_INIT);
    REQUIRE(device == 0, INVALID_DEVICE);
    REQUIRE(value && number > 0 && number < 200, INVALID_VALUE);
    *value = device_attribute(number);
    return SUCCESS;
}

API cuDeviceComputeCapability(int *major, int *minor, int device) {
    ENTER(NEEDS_INIT);
    REQUIRE(device == 0, INVALID_DEVICE);
    REQUIRE(major && minor, INVALID_VALUE);
    *major = compute_capability(false);
    *minor = compute_capability(true);
    return SUCCESS;
}

API cuDeviceTotalMem_v2(size_t *bytes, int device) {
    ENTER(NEEDS_INIT);
    REQUIRE(device == 0, INVALID_DEVICE);
    REQUIRE(bytes, INVALID_VALUE);
    *bytes = total_memory();
    return SUCCESS;
}

/* ---- >>context --------------------------------------------------------------------------------------------------- */

namespace {

context *make_context() {
    context *c = new context;
    state().live.insert(c);
    state().stats[STAT_OBJECTS]++;
    return c;
}

/* Takes down with it everything that was made in it, and counts that: a program that cleans up leaves nothing to count.
 */
void destroy_context(context *c) {
    driver_state &s = state();
    flush();
    std::vector<object *> left;
    for (object *o : s.live) {
        if (o->owner == c && !dynamic_cast<function *>(o)) {
            left.push_back(o);
        }
    }
    std::vector<std::pair<uintptr_t, bool>> memory;
    for (const auto &m : s.memory) {
        if (m.second.owner == c && !m.second.registered) {
            memory.push_back({m.first, m.second.host});
        }
    }
    s.stats[STAT_ABANDONED] += left.size() + memory.size();
    for (object *o : left) {
        destroy_object(o);
    }
    for (const auto &m : memory) {
        release(m.first, m.second);
    }
    destroy_object(c);
}

} // namespace

API cuDevicePrimaryCtxRetain(void **out, int device) {
    ENTER(NEEDS_INIT);
    REQUIRE(device == 0, INVALID_DEVICE);
    REQUIRE(out, INVALID_VALUE);
    driver_state &s = state();
    if (s.primary_references++ == 0) {
        s.primary = make_context();
        s.primary->primary = true;
    }
    *out = s.primary;
    return SUCCESS;
}

API cuDevicePrimaryCtxRelease_v2(int device) {
    ENTER(NEEDS_INIT | RELEASES);
    REQUIRE(device == 0, INVALID_DEVICE);
    driver_state &s = state();
    REQUIRE(s.primary_references > 0, INVALID_CONTEXT);
    if (--s.primary_references == 0) {
        destroy_context(s.primary);
        s.primary = nullptr;
    }
    return entry.injected;
}

API cuDevicePrimaryCtxReset_v2(int device) {
    ENTER(NEEDS_INIT);
    REQUIRE(device == 0, INVALID_DEVICE);
    if (state().primary) {
        destroy_context(state().primary);
        state().primary = nullptr;
        state().primary_references = 0;
    }
    return SUCCESS;
}

API cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    ENTER(NEEDS_INIT);
    REQUIRE(device == 0, INVALID_DEVICE);
    REQUIRE(flags && active, INVALID_VALUE);
    *flags = 0;
    *active = state().primary != nullptr;
    return SUCCESS;
}

API cuCtxCreate_v2(void **out, unsigned, int device) {
    ENTER(NEEDS_INIT);
    REQUIRE(device == 0, INVALID_DEVICE);
    REQUIRE(out, INVALID_VALUE);
    context *c = make_context();
    current_stack.push_back(c);
    *out = c;
    return SUCCESS;
}

API cuCtxDestroy_v2(void *handle) {
    ENTER(NEEDS_INIT | RELEASES);
    context *c = live<context>(handle);
    REQUIRE(c && !c->primary, INVALID_CONTEXT);
    if (current_context() == c) {
        current_stack.pop_back();
    }
    destroy_context(c);
    return entry.injected;
}

API cuCtxSetCurrent(void *handle) {
    ENTER(NEEDS_INIT);
    REQUIRE(!handle || live<context>(handle), INVALID_CONTEXT);
    if (!current_stack.empty()) {
        current_stack.pop_back();
    }
    if (handle) {
        current_stack.push_back(live<context>(handle));
    }
    return SUCCESS;
}

API cuCtxGetCurrent(void **out) {
    ENTER(NEEDS_INIT);
    REQUIRE(out, INVALID_VALUE);
    *out = live<context>(entry.here) ? entry.here : nullptr;
    return SUCCESS;
}

API cuCtxPushCurrent_v2(void *handle) {
    ENTER(NEEDS_INIT);
    REQUIRE(live<context>(handle), INVALID_CONTEXT);
    current_stack.push_back(live<context>(handle));
    return SUCCESS;
}

API cuCtxPopCurrent_v2(void **out) {
    ENTER(NEEDS_INIT | RELEASES);
    REQUIRE(entry.here, INVALID_CONTEXT);
    if (out) {
        *out = entry.here;
    }
    current_stack.pop_back();
    return entry.injected;
}

API cuCtxGetDevice(int *device) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(device, INVALID_VALUE);
    *device = 0;
    return SUCCESS;
}

API cuCtxSynchronize() {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    flush();
    return entry.finish();
}

API cuCtxGetLimit(size_t *value, int) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(value, INVALID_VALUE);
    *value = 0;
    return SUCCESS;
}

API cuCtxSetLimit(int, size_t) {
    ENTER(NEEDS_CONTEXT);
    return SUCCESS;
}

/* ---- >>memory ---------------------------------------------------------------------------------------------------- */

API cuMemAlloc_v2(device_pointer *out, size_t bytes) {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    REQUIRE(out && bytes, INVALID_VALUE);
    uintptr_t address = 0;
    result status = allocate(entry.here, bytes, false, &address);
    *out = address;
    return status;
}

/* Waits for the device first, as the driver does: work in flight may still use the memory. */
API cuMemFree_v2(device_pointer address) {
    ENTER(NEEDS_CONTEXT | UNSAFE_IN_CAPTURE | RELEASES);
    REQUIRE(address, SUCCESS);
    flush();
    result status = release(address, false);
    return status != SUCCESS ? status : entry.finish();
}

API cuMemAllocAsync(device_pointer *out, size_t bytes, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(out && bytes, INVALID_VALUE);
    REQUIRE(good_stream(stream_handle), INVALID_HANDLE);
    REQUIRE(!is_capturing(stream_handle), NOT_SUPPORTED);
    uintptr_t address = 0;
    result status = allocate(entry.here, bytes, false, &address);
    *out = address;
    return status;
}

API cuMemFreeAsync(device_pointer address, void *stream_handle) {
    ENTER(NEEDS_CONTEXT | RELEASES);
    REQUIRE(good_stream(stream_handle), INVALID_HANDLE);
    REQUIRE(!is_capturing(stream_handle), NOT_SUPPORTED);
    REQUIRE(device_range(address, 0) && find_memory(address, 0)->first == address, INVALID_VALUE);
    result status = issue(stream_handle, [address] { return release(address, false); });
    return status != SUCCESS ? status : entry.finish();
}

API cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(free_bytes && total_bytes, INVALID_VALUE);
    *total_bytes = total_memory();
    *free_bytes = total_memory() - state().stats[STAT_BYTES];
    return SUCCESS;
}

API cuMemHostAlloc(void **out, size_t bytes, unsigned) {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    REQUIRE(out && bytes, INVALID_VALUE);
    uintptr_t address = 0;
    result status = allocate(entry.here, bytes, true, &address);
    *out = (void *)address;
    return status;
}

API cuMemAllocHost_v2(void **out, size_t bytes) {
    return cuMemHostAlloc(out, bytes, 0);
}

API cuMemFreeHost(void *address) {
    ENTER(NEEDS_CONTEXT | UNSAFE_IN_CAPTURE | RELEASES);
    REQUIRE(address, SUCCESS);
    flush();
    result status = release((uintptr_t)address, true);
    return status != SUCCESS ? status : entry.finish();
}

API cuMemHostRegister_v2(void *address, size_t bytes, unsigned) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(address && bytes, INVALID_VALUE);
    state().memory[(uintptr_t)address] = allocation{bytes, entry.here, true, true};
    return SUCCESS;
}

API cuMemHostUnregister(void *address) {
    ENTER(NEEDS_CONTEXT | RELEASES);
    auto at = state().memory.find((uintptr_t)address);
    REQUIRE(at != state().memory.end() && at->second.registered, INVALID_VALUE);
    flush();
    state().memory.erase(at);
    return entry.injected;
}

API cuMemHostGetDevicePointer_v2(device_pointer *out, void *address, unsigned) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out && host_pinned(address, 0), INVALID_VALUE);
    *out = (uintptr_t)address;
    return SUCCESS;
}

API cuMemGetAddressRange_v2(device_pointer *base, size_t *bytes, device_pointer address) {
    ENTER(NEEDS_CONTEXT);
    auto at = find_memory(address, 1);
    REQUIRE(at != state().memory.end(), INVALID_VALUE);
    if (base) {
        *base = at->first;
    }
    if (bytes) {
        *bytes = at->second.bytes;
    }
    return SUCCESS;
}

/* The attributes a runtime asks to tell whose pointer it was given. */
API cuPointerGetAttribute(void *data, int attribute, device_pointer address) {
    ENTER(NEEDS_INIT);
    auto at = find_memory(address, 1);
    REQUIRE(data && at != state().memory.end(), INVALID_VALUE);
    const allocation &a = at->second;
    switch (attribute) {
    case 1: *static_cast<void **>(data) = a.owner; return SUCCESS;
    case 2: *static_cast<unsigned *>(data) = a.host ? 1 : 2; return SUCCESS; /* CU_MEMORYTYPE_HOST, _DEVICE */
    case 3: *static_cast<device_pointer *>(data) = address; return SUCCESS;
    case 4: *static_cast<void **>(data) = (void *)address; return a.host ? SUCCESS : INVALID_VALUE;
    case 8: *static_cast<unsigned *>(data) = 0; return SUCCESS; /* IS_MANAGED */
    case 9: *static_cast<int *>(data) = 0; return SUCCESS;      /* DEVICE_ORDINAL */
    case 11: *static_cast<device_pointer *>(data) = at->first; return SUCCESS;
    case 12: *static_cast<size_t *>(data) = a.bytes; return SUCCESS;
    default: return NOT_SUPPORTED;
    }
}

/* ---- >>copies ---------------------------------------------------------------------------------------------------- */

namespace {

/* A range that must be device memory when the copy is issued and still when it runs. */
bool good_range(bool device, uintptr_t address, size_t bytes) {
    return device ? device_range(address, bytes) : address != 0;
}

result run_copy(context *c, uintptr_t to, uintptr_t from, size_t bytes, bool to_device, bool from_device) {
    if (!live<context>(c) || c->error != SUCCESS) {
        return LAUNCH_FAILED;
    }
    if (!good_range(to_device, to, bytes) || !good_range(from_device, from, bytes)) {
        report(c, LAUNCH_FAILED, "a copy ran after its device memory was freed");
        return LAUNCH_FAILED;
    }
    memmove((void *)to, (const void *)from, bytes);
    return SUCCESS;
}

/* Pageable sources are read before the call returns, as the driver stages them. */
result issue_copy(const call &entry, uintptr_t to, uintptr_t from, size_t bytes, bool to_device, bool from_device,
                  void *stream_handle) {
    REQUIRE(good_stream(stream_handle), INVALID_HANDLE);
    REQUIRE(bytes, SUCCESS);
    REQUIRE(good_range(to_device, to, bytes) && good_range(from_device, from, bytes), INVALID_VALUE);
    context *c = entry.here;
    result status = issue(stream_handle, [=] { return run_copy(c, to, from, bytes, to_device, from_device); });
    if (status == SUCCESS && !from_device && !host_pinned((const void *)from, bytes) && !is_capturing(stream_handle)) {
        flush();
        return entry.finish();
    }
    return status;
}

result copy_now(const call &entry, uintptr_t to, uintptr_t from, size_t bytes, bool to_device, bool from_device) {
    result status = issue_copy(entry, to, from, bytes, to_device, from_device, nullptr);
    flush();
    return status != SUCCESS ? status : entry.finish();
}

} // namespace

API cuMemcpyHtoD_v2(device_pointer to, const void *from, size_t bytes) {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    return copy_now(entry, to, (uintptr_t)from, bytes, true, false);
}

API cuMemcpyDtoH_v2(void *to, device_pointer from, size_t bytes) {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    return copy_now(entry, (uintptr_t)to, from, bytes, false, true);
}

API cuMemcpyDtoD_v2(device_pointer to, device_pointer from, size_t bytes) {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    return copy_now(entry, to, from, bytes, true, true);
}

API cuMemcpy(device_pointer to, device_pointer from, size_t bytes) {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    return copy_now(entry, to, from, bytes, device_range(to, 0), device_range(from, 0));
}

API cuMemcpyHtoDAsync_v2(device_pointer to, const void *from, size_t bytes, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    return issue_copy(entry, to, (uintptr_t)from, bytes, true, false, stream_handle);
}

API cuMemcpyDtoHAsync_v2(void *to, device_pointer from, size_t bytes, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    return issue_copy(entry, (uintptr_t)to, from, bytes, false, true, stream_handle);
}

API cuMemcpyDtoDAsync_v2(device_pointer to, device_pointer from, size_t bytes, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    return issue_copy(entry, to, from, bytes, true, true, stream_handle);
}

API cuMemcpyAsync(device_pointer to, device_pointer from, size_t bytes, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    return issue_copy(entry, to, from, bytes, device_range(to, 0), device_range(from, 0), stream_handle);
}

namespace {

template <class T> result issue_fill(const call &entry, device_pointer to, T value, size_t count, void *stream_handle) {
    REQUIRE(good_stream(stream_handle), INVALID_HANDLE);
    REQUIRE(to % sizeof(T) == 0 && count <= SIZE_MAX / sizeof(T) && device_range(to, count * sizeof(T)), INVALID_VALUE);
    context *c = entry.here;
    return issue(stream_handle, [=]() -> result {
        if (!live<context>(c) || c->error != SUCCESS) {
            return LAUNCH_FAILED;
        }
        if (!device_range(to, count * sizeof(T))) {
            report(c, LAUNCH_FAILED, "a fill ran after its device memory was freed");
            return LAUNCH_FAILED;
        }
        std::fill_n((T *)(uintptr_t)to, count, value);
        return SUCCESS;
    });
}

} // namespace

API cuMemsetD8_v2(device_pointer to, unsigned char value, size_t count) {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    return issue_fill(entry, to, value, count, nullptr);
}

API cuMemsetD16_v2(device_pointer to, unsigned short value, size_t count) {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    return issue_fill(entry, to, value, count, nullptr);
}

API cuMemsetD32_v2(device_pointer to, unsigned value, size_t count) {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    return issue_fill(entry, to, value, count, nullptr);
}

API cuMemsetD8Async(device_pointer to, unsigned char value, size_t count, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    return issue_fill(entry, to, value, count, stream_handle);
}

API cuMemsetD16Async(device_pointer to, unsigned short value, size_t count, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    return issue_fill(entry, to, value, count, stream_handle);
}

API cuMemsetD32Async(device_pointer to, unsigned value, size_t count, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    return issue_fill(entry, to, value, count, stream_handle);
}

/* ---- >>streams --------------------------------------------------------------------------------------------------- */

API cuStreamCreate(void **out, unsigned) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(out, INVALID_VALUE);
    *out = make_object<stream>(entry.here);
    return SUCCESS;
}

API cuStreamCreateWithPriority(void **out, unsigned, int) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(out, INVALID_VALUE);
    *out = make_object<stream>(entry.here);
    return SUCCESS;
}

API cuStreamDestroy_v2(void *handle) {
    ENTER(NEEDS_INIT | RELEASES);
    stream *s = live<stream>(handle);
    REQUIRE(s, INVALID_HANDLE);
    if (s->recording && s->origin) {
        state().captures -= s->recording->mode == 0;
    }
    destroy_object(s);
    return entry.injected;
}

API cuStreamSynchronize(void *handle) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(good_stream(handle), INVALID_HANDLE);
    if (is_capturing(handle)) {
        live<stream>(handle)->recording->broken = true;
        return STREAM_CAPTURE_UNSUPPORTED;
    }
    flush();
    return entry.finish();
}

/* Says once that there is work, and does it: a loop that polls comes to an end. */
API cuStreamQuery(void *handle) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(good_stream(handle), INVALID_HANDLE);
    REQUIRE(!is_capturing(handle), STREAM_CAPTURE_UNSUPPORTED);
    bool idle = state().pending.empty();
    flush();
    return idle ? entry.finish() : NOT_READY;
}

API cuStreamGetCtx(void *handle, void **out) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(good_stream(handle) && out, INVALID_HANDLE);
    stream *s = live<stream>(handle);
    *out = s ? s->owner : entry.here;
    return SUCCESS;
}

API cuStreamWaitEvent(void *handle, void *event_handle, unsigned) {
    ENTER(NEEDS_HEALTHY);
    event *e = live<event>(event_handle);
    stream *s = live<stream>(handle);
    REQUIRE(good_stream(handle) && e, INVALID_HANDLE);
    if (s && e->recording && !s->recording) {
        s->recording = e->recording;
    }
    return SUCCESS;
}

API cuLaunchHostFunc(void *handle, void (*host)(void *), void *user) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(good_stream(handle), INVALID_HANDLE);
    REQUIRE(host, INVALID_VALUE);
    return issue(handle, [=] {
        host(user);
        return SUCCESS;
    });
}

API cuStreamBeginCapture_v2(void *handle, int mode) {
    ENTER(NEEDS_HEALTHY);
    stream *s = live<stream>(handle);
    REQUIRE(good_stream(handle), INVALID_HANDLE);
    REQUIRE(s, STREAM_CAPTURE_UNSUPPORTED); /* the default stream cannot be captured */
    REQUIRE(!s->recording, ILLEGAL_STATE);
    REQUIRE(mode >= 0 && mode <= 2, INVALID_VALUE);
    s->recording = std::make_shared<capture>();
    s->recording->mode = mode;
    s->recording->number = ++state().captured;
    s->origin = true;
    state().captures += mode == 0;
    return SUCCESS;
}

API cuStreamEndCapture(void *handle, void **out) {
    ENTER(NEEDS_CONTEXT | RELEASES);
    stream *s = live<stream>(handle);
    REQUIRE(s, INVALID_HANDLE);
    REQUIRE(out, INVALID_VALUE);
    REQUIRE(s->recording && s->origin, ILLEGAL_STATE);
    std::shared_ptr<capture> done = s->recording;
    for (object *o : state().live) {
        stream *joined = dynamic_cast<stream *>(o);
        if (joined && joined->recording == done) {
            joined->recording.reset();
            joined->origin = false;
        }
    }
    state().captures -= done->mode == 0;
    *out = nullptr;
    REQUIRE(!done->broken, STREAM_CAPTURE_INVALIDATED);
    REQUIRE(entry.injected == SUCCESS, entry.injected);
    graph *g = make_object<graph>(entry.here);
    g->nodes = std::move(done->nodes);
    *out = g;
    return SUCCESS;
}

API cuThreadExchangeStreamCaptureMode(int *mode) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(mode && *mode >= 0 && *mode <= 2, INVALID_VALUE);
    std::swap(*mode, thread_capture_mode);
    return SUCCESS;
}

API cuStreamIsCapturing(void *handle, int *status) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(good_stream(handle), INVALID_HANDLE);
    REQUIRE(status, INVALID_VALUE);
    stream *s = live<stream>(handle);
    *status = !s || !s->recording ? 0 : s->recording->broken ? 2 : 1;
    return SUCCESS;
}

/* A node waits for the one before it, whichever stream that came from. */
API cuStreamGetCaptureInfo_v3(void *handle, int *status, unsigned long long *number, void **, void *const **nodes,
                              const void **edges, size_t *count) {
    int found = cuStreamIsCapturing(handle, status);
    REQUIRE(found == SUCCESS, found);
    REQUIRE(*status == 1, SUCCESS);
    capture &c = *live<stream>(handle)->recording;
    c.last = (void *)(uintptr_t)c.nodes.size();
    if (number) {
        *number = c.number;
    }
    if (nodes) {
        *nodes = &c.last;
    }
    if (edges) {
        *edges = nullptr;
    }
    if (count) {
        *count = !c.nodes.empty();
    }
    return SUCCESS;
}

/* ---- >>events ---------------------------------------------------------------------------------------------------- */

API cuEventCreate(void **out, unsigned flags) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(out, INVALID_VALUE);
    event *e = make_object<event>(entry.here);
    e->timed = !(flags & 2); /* CU_EVENT_DISABLE_TIMING */
    *out = e;
    return SUCCESS;
}

API cuEventDestroy_v2(void *handle) {
    ENTER(NEEDS_INIT | RELEASES);
    event *e = live<event>(handle);
    REQUIRE(e, INVALID_HANDLE);
    destroy_object(e);
    return entry.injected;
}

API cuEventRecord(void *handle, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    event *e = live<event>(handle);
    REQUIRE(e && good_stream(stream_handle), INVALID_HANDLE);
    stream *s = live<stream>(stream_handle);
    e->recording = s ? s->recording : nullptr;
    REQUIRE(!e->recording, SUCCESS); /* in a capture it only carries the order */
    unsigned ticket = ++e->issued;
    e->recorded = true;
    return issue(stream_handle, [=] {
        if (event *alive = live<event>(handle)) {
            auto now = std::chrono::steady_clock::now().time_since_epoch();
            alive->milliseconds = std::chrono::duration<double, std::milli>(now).count();
            alive->completed = ticket;
        }
        return SUCCESS;
    });
}

API cuEventSynchronize(void *handle) {
    ENTER(NEEDS_HEALTHY);
    event *e = live<event>(handle);
    REQUIRE(e, INVALID_HANDLE);
    REQUIRE(!e->recording, STREAM_CAPTURE_UNSUPPORTED);
    flush();
    return entry.finish();
}

API cuEventQuery(void *handle) {
    ENTER(NEEDS_HEALTHY);
    event *e = live<event>(handle);
    REQUIRE(e, INVALID_HANDLE);
    bool done = e->completed == e->issued;
    flush();
    return done ? entry.finish() : NOT_READY;
}

API cuEventElapsedTime(float *milliseconds, void *start, void *end) {
    ENTER(NEEDS_HEALTHY);
    event *a = live<event>(start), *b = live<event>(end);
    REQUIRE(milliseconds, INVALID_VALUE);
    REQUIRE(a && b && a->timed && b->timed && a->recorded && b->recorded, INVALID_HANDLE);
    REQUIRE(a->completed == a->issued && b->completed == b->issued, NOT_READY);
    *milliseconds = (float)(b->milliseconds - a->milliseconds);
    return SUCCESS;
}

API cuEventElapsedTime_v2(float *milliseconds, void *start, void *end) {
    return cuEventElapsedTime(milliseconds, start, end);
}

/* ---- >>graphs ---------------------------------------------------------------------------------------------------- */

namespace {

result instantiate(const call &entry, void **out, void *handle) {
    graph *g = live<graph>(handle);
    REQUIRE(out, INVALID_VALUE);
    REQUIRE(g, INVALID_HANDLE);
    graph_exec *e = make_object<graph_exec>(entry.here);
    e->nodes = g->nodes;
    *out = e;
    return SUCCESS;
}

} // namespace

API cuGraphCreate(void **out, unsigned) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(out, INVALID_VALUE);
    *out = make_object<graph>(entry.here);
    return SUCCESS;
}

API cuGraphInstantiateWithFlags(void **out, void *handle, unsigned long long) {
    ENTER(NEEDS_HEALTHY);
    return instantiate(entry, out, handle);
}

API cuGraphInstantiate_v2(void **out, void *handle, void **, char *, size_t) {
    ENTER(NEEDS_HEALTHY);
    return instantiate(entry, out, handle);
}

API cuGraphUpload(void *handle, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(live<graph_exec>(handle) && good_stream(stream_handle), INVALID_HANDLE);
    return SUCCESS;
}

API cuGraphLaunch(void *handle, void *stream_handle) {
    ENTER(NEEDS_HEALTHY);
    graph_exec *e = live<graph_exec>(handle);
    REQUIRE(e && good_stream(stream_handle), INVALID_HANDLE);
    for (const node &each : e->nodes) {
        result status = issue(stream_handle, each.run, each.early);
        REQUIRE(status == SUCCESS, status);
    }
    return SUCCESS;
}

API cuGraphExecDestroy(void *handle) {
    ENTER(NEEDS_INIT | RELEASES);
    graph_exec *e = live<graph_exec>(handle);
    REQUIRE(e, INVALID_HANDLE);
    destroy_object(e);
    return entry.injected;
}

API cuGraphDestroy(void *handle) {
    ENTER(NEEDS_INIT | RELEASES);
    graph *g = live<graph>(handle);
    REQUIRE(g, INVALID_HANDLE);
    destroy_object(g);
    return entry.injected;
}

/* Nodes run in the order they are added, and a dependency has been added before what depends on it. A node's handle is
 * its place, from 1. */
API cuGraphAddChildGraphNode(void **out, void *handle, void *const *dependencies, size_t count, void *child_handle) {
    ENTER(NEEDS_CONTEXT);
    graph *g = live<graph>(handle), *child = live<graph>(child_handle);
    REQUIRE(g && child && g != child, INVALID_HANDLE);
    REQUIRE(out && (dependencies || !count), INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        REQUIRE((uintptr_t)dependencies[i] && (uintptr_t)dependencies[i] <= g->nodes.size(), INVALID_VALUE);
    }
    std::vector<node> nodes = child->nodes;
    operation run = [nodes] {
        for (const node &each : nodes) {
            each.run();
        }
        return SUCCESS;
    };
    g->nodes.push_back({run, false});
    *out = (void *)(uintptr_t)g->nodes.size();
    return SUCCESS;
}

API cuGraphGetNodes(void *handle, void **nodes, size_t *count) {
    ENTER(NEEDS_CONTEXT);
    graph *g = live<graph>(handle);
    REQUIRE(g, INVALID_HANDLE);
    REQUIRE(count, INVALID_VALUE);
    for (size_t i = 0; nodes && i < *count; i++) {
        nodes[i] = (void *)(uintptr_t)(i < g->nodes.size() ? i + 1 : 0);
    }
    *count = nodes && *count < g->nodes.size() ? *count : g->nodes.size();
    return SUCCESS;
}

/* CUgraphEdgeData of cuda.h; type 1: PROGRAMMATIC. */
struct graph_edge {
    unsigned char from_port, to_port, type, reserved[5];
};

API cuGraphGetEdges_v2(void *handle, void **from, void **to, graph_edge *edges, size_t *count) {
    ENTER(NEEDS_CONTEXT);
    graph *g = live<graph>(handle);
    REQUIRE(g, INVALID_HANDLE);
    REQUIRE(count, INVALID_VALUE);
    const size_t all = g->nodes.empty() ? 0 : g->nodes.size() - 1,
                 n = from && to && edges && *count < all ? *count : all;
    for (size_t i = 0; from && to && edges && i < n; i++) {
        from[i] = (void *)(uintptr_t)(i + 1);
        to[i] = (void *)(uintptr_t)(i + 2);
        edges[i] = {};
        edges[i].type = g->nodes[i + 1].early;
    }
    *count = n;
    return SUCCESS;
}

/* ---- >>modules --------------------------------------------------------------------------------------------------- */

namespace {

module_object::~module_object() {
    for (const auto &f : functions) {
        destroy_object(f.second);
    }
    /* AddressSanitizer keeps pointers to the descriptions of a closed library's variables and follows them when it
     * reports. */
    if (library && !sanitized()) {
        dlclose(library);
    }
}

/* Whose static shared variable this is: "_ZZ3fooE4tile" is tile in foo(). */
std::string shared_owner(const char *symbol) {
    if (strncmp(symbol, "_ZZ", 3) != 0) {
        return "";
    }
    char *end = nullptr;
    size_t length = strtoul(symbol + 3, &end, 10);
    return length && length < strlen(end) ? std::string(end, length) : "";
}

/* Sums the variables in section ind_shared by kernel, from the symbol table of the library's own bytes. */
void measure_shared(const std::string &bytes, std::map<std::string, unsigned> &sizes) {
    const char *base = bytes.data();
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)base;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(base + header->e_shoff);
    const char *names = base + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB) {
            continue;
        }
        const Elf64_Sym *symbols = (const Elf64_Sym *)(base + sections[i].sh_offset);
        const char *strings = base + sections[sections[i].sh_link].sh_offset;
        for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
            unsigned section = symbols[k].st_shndx;
            if (ELF64_ST_TYPE(symbols[k].st_info) == STT_OBJECT && section < header->e_shnum &&
                strcmp(names + sections[section].sh_name, "ind_shared") == 0) {
                sizes[shared_owner(strings + symbols[k].st_name)] += (unsigned)symbols[k].st_size;
            }
        }
    }
}

/* The file that holds exactly these bytes: the compiler's own where it is still there (so that reports find the
 * source), else a new one. */
std::string image_file(const ind_emulation_image *image, const std::string &bytes, bool *temporary) {
    std::string there;
    *temporary = false;
    if (image->path[0] && memchr(image->path, 0, sizeof image->path) && read_file(image->path, there) &&
        there == bytes) {
        return image->path;
    }
    *temporary = true;
    std::string path = environment("IND_EMULATION_CACHE", "/tmp") + "/ind_emulation_XXXXXX";
    int file = mkstemp(&path[0]);
    if (file < 0) {
        return "";
    }
    close(file);
    return write_file(path, bytes.data(), bytes.size()) ? path : "";
}

result open_library(module_object *m, const std::string &path) {
    m->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!m->library) {
        state().last_error = std::string("module: ") + dlerror();
        return SHARED_OBJECT_INIT_FAILED;
    }
    m->entry = static_cast<const ind_emulation::module *>(dlsym(m->library, "ind_emulation_module"));
    if (!m->entry || m->entry->abi != IND_EMULATION_ABI) {
        state().last_error = "module: compiled for another version of the emulation";
        return INVALID_IMAGE;
    }
    *m->entry->table = &runtime_table;
    return SUCCESS;
}

result load_image(module_object *m, const void *data) {
    const ind_emulation_image *image = static_cast<const ind_emulation_image *>(data);
    const char *text = static_cast<const char *>(data);
    if (strncmp(text, IND_EMULATION_PTX, sizeof IND_EMULATION_PTX - 1) == 0) {
        std::string path = text + sizeof IND_EMULATION_PTX - 1, bytes;
        path = path.substr(0, path.find('\n'));
        if (!read_file(path, bytes)) {
            return INVALID_PTX;
        }
        result status = open_library(m, path);
        if (status == SUCCESS) {
            measure_shared(bytes, m->shared_sizes);
        }
        return status;
    }
    if (memcmp(image->magic, IND_EMULATION_MAGIC, sizeof image->magic) != 0) {
        return INVALID_IMAGE;
    }
    std::string bytes(static_cast<const char *>(data) + sizeof *image, image->bytes);
    if (hash_bytes(bytes.data(), bytes.size()) != image->hash) {
        return INVALID_IMAGE;
    }
    bool temporary = false;
    std::string path = image_file(image, bytes, &temporary);
    result status = path.empty() ? UNKNOWN : open_library(m, path);
    if (temporary && !path.empty()) {
        unlink(path.c_str());
    }
    if (status == SUCCESS) {
        measure_shared(bytes, m->shared_sizes);
    }
    return status;
}

} // namespace

API cuModuleLoadData(void **out, const void *image) {
    ENTER(NEEDS_HEALTHY | UNSAFE_IN_CAPTURE);
    REQUIRE(out && image, INVALID_VALUE);
    module_object *m = make_object<module_object>(entry.here);
    result status = load_image(m, image);
    if (status != SUCCESS) {
        destroy_object(m);
        return status;
    }
    *out = m;
    return SUCCESS;
}

API cuModuleLoadDataEx(void **out, const void *image, unsigned, int *, void **) {
    return cuModuleLoadData(out, image);
}

API cuModuleUnload(void *handle) {
    ENTER(NEEDS_CONTEXT | RELEASES);
    module_object *m = live<module_object>(handle);
    REQUIRE(m, INVALID_HANDLE);
    flush();
    destroy_object(m);
    return entry.injected;
}

API cuModuleGetFunction(void **out, void *handle, const char *name) {
    ENTER(NEEDS_HEALTHY);
    module_object *m = live<module_object>(handle);
    REQUIRE(out && name, INVALID_VALUE);
    REQUIRE(m, INVALID_HANDLE);
    auto known = m->functions.find(name);
    if (known != m->functions.end()) {
        *out = known->second;
        return SUCCESS;
    }
    void *kernel = dlsym(m->library, (std::string(name) + "__kernel").c_str());
    REQUIRE(kernel, NOT_FOUND);
    function *f = make_object<function>(m->owner);
    f->module = m;
    f->name = name;
    f->kernel = static_cast<const ind_emulation::kernel *>(kernel);
    f->static_shared = m->shared_sizes[name] + m->shared_sizes[""];
    f->max_dynamic_shared = MAX_SHARED - (int)f->static_shared;
    m->functions[name] = f;
    *out = f;
    return SUCCESS;
}

API cuFuncSetAttribute(void *handle, int attribute, int value) {
    ENTER(NEEDS_HEALTHY);
    function *f = live<function>(handle);
    REQUIRE(f, INVALID_HANDLE);
    if (attribute == 8) { /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
        REQUIRE(value >= 0 && value <= max_shared_optin() - (int)f->static_shared, INVALID_VALUE);
        f->max_dynamic_shared = value;
        return SUCCESS;
    }
    /* PREFERRED_SHARED_MEMORY_CARVEOUT, NON_PORTABLE_CLUSTER_SIZE_ALLOWED */
    return attribute == 9 || attribute == 14 ? SUCCESS : INVALID_VALUE;
}

API cuFuncGetAttribute(int *value, int attribute, void *handle) {
    ENTER(NEEDS_CONTEXT);
    function *f = live<function>(handle);
    REQUIRE(f, INVALID_HANDLE);
    REQUIRE(value && attribute >= 0 && attribute < 16, INVALID_VALUE);
    switch (attribute) {
    case 0: *value = (int)f->kernel->max_threads; break;
    case 1: *value = (int)f->static_shared; break;
    case 4: *value = 32; break; /* NUM_REGS: unknown here */
    case 5:
    case 6: *value = compute_capability(false) * 10 + compute_capability(true); break;
    case 8: *value = f->max_dynamic_shared; break;
    default: *value = 0; break;
    }
    return SUCCESS;
}

API cuFuncGetModule(void **out, void *handle) {
    ENTER(NEEDS_CONTEXT);
    function *f = live<function>(handle);
    REQUIRE(f, INVALID_HANDLE);
    REQUIRE(out, INVALID_VALUE);
    *out = f->module;
    return SUCCESS;
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *handle, int block_size, size_t dynamic_shared) {
    ENTER(NEEDS_CONTEXT);
    function *f = live<function>(handle);
    REQUIRE(f, INVALID_HANDLE);
    REQUIRE(blocks && block_size > 0, INVALID_VALUE);
    size_t shared = f->static_shared + dynamic_shared + RESERVED_SHARED;
    int by_threads = block_size <= (int)f->kernel->max_threads ? 2048 / ((block_size + 31) / 32 * 32) : 0;
    int by_shared = (int)((size_t)shared_per_multiprocessor() / shared);
    *blocks = std::min(std::min(by_threads, by_shared), 32);
    return SUCCESS;
}

API cuOccupancyMaxActiveClusters(int *clusters, void *handle, const void *) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(live<function>(handle), INVALID_HANDLE);
    REQUIRE(clusters, INVALID_VALUE);
    *clusters = resident_clusters();
    return SUCCESS;
}

/* ---- >>launch ---------------------------------------------------------------------------------------------------- */

namespace {

struct dimensions {
    unsigned grid[3], block[3], shared;
};

/* The kernel's arguments, copied when the launch is issued. Each has its own allocation, so that a size mistake is
 * seen. */
struct arguments {
    std::vector<std::unique_ptr<char[]>> values;
    std::vector<void *> pointers;
};

result check_dimensions(const function *f, const dimensions &d) {
    static const unsigned long long grid_limit[3] = {2147483647, 65535, 65535}, block_limit[3] = {1024, 1024, 64};
    for (int i = 0; i < 3; i++) {
        REQUIRE(d.grid[i] > 0 && d.grid[i] <= grid_limit[i], INVALID_VALUE);
        REQUIRE(d.block[i] > 0 && d.block[i] <= block_limit[i], INVALID_VALUE);
    }
    unsigned long long threads = (unsigned long long)d.block[0] * d.block[1] * d.block[2];
    REQUIRE(threads <= 1024, INVALID_VALUE);
    REQUIRE(threads <= f->kernel->max_threads, LAUNCH_OUT_OF_RESOURCES);
    REQUIRE(f->kernel->cluster == 1 || resident_clusters() > 0, INVALID_VALUE);
    REQUIRE(d.grid[0] % f->kernel->cluster == 0, INVALID_VALUE);
    REQUIRE(f->static_shared <= (unsigned)MAX_SHARED, INVALID_VALUE);
    REQUIRE(d.shared <= (unsigned)std::max(f->max_dynamic_shared, 0), INVALID_VALUE);
    return SUCCESS;
}

std::shared_ptr<arguments> copy_arguments(const function *f, void *const *sources) {
    std::shared_ptr<arguments> a = std::make_shared<arguments>();
    for (unsigned i = 0; i < f->kernel->parameter_count; i++) {
        unsigned bytes = f->kernel->parameters[i].size;
        a->values.emplace_back(new char[bytes]);
        memcpy(a->values.back().get(), sources[i], bytes);
        a->pointers.push_back(a->values.back().get());
    }
    return a;
}

/* `extra`: {CU_LAUNCH_PARAM_BUFFER_POINTER (1), buffer, CU_LAUNCH_PARAM_BUFFER_SIZE (2), &size, CU_LAUNCH_PARAM_END
 * (0)}. */
bool unpack_extra(const function *f, void **extra, std::vector<void *> &sources) {
    char *buffer = nullptr;
    size_t size = 0, offset = 0;
    for (; extra && *extra; extra += 2) {
        if ((uintptr_t)*extra == 1) {
            buffer = static_cast<char *>(extra[1]);
        } else if ((uintptr_t)*extra == 2) {
            size = *static_cast<size_t *>(extra[1]);
        }
    }
    for (unsigned i = 0; i < f->kernel->parameter_count; i++) {
        const ind_emulation::parameter &p = f->kernel->parameters[i];
        offset = (offset + p.alignment - 1) / p.alignment * p.alignment;
        sources.push_back(buffer + offset);
        offset += p.size;
    }
    return buffer && offset <= size;
}

result run_kernel(context *c, void *handle, const dimensions &d, const std::shared_ptr<arguments> &a, bool dependent) {
    if (!live<context>(c) || c->error != SUCCESS) {
        return LAUNCH_FAILED;
    }
    function *f = live<function>(handle);
    if (!f) {
        report(c, LAUNCH_FAILED, "a kernel was to run after its module was unloaded");
        return LAUNCH_FAILED;
    }
    launch what = {f->name.c_str(),
                   f->kernel,
                   f->module->entry,
                   a->pointers.data(),
                   {d.grid[0], d.grid[1], d.grid[2]},
                   {d.block[0], d.block[1], d.block[2]},
                   d.shared,
                   dependent,
                   device_range};
    std::string message;
    if (!run_launch(what, message)) {
        report(c, LAUNCH_FAILED, message);
        return LAUNCH_FAILED;
    }
    state().stats[STAT_LAUNCHES]++;
    return SUCCESS;
}

result issue_kernel(const call &entry, void *handle, const dimensions &d, void *stream_handle, void **parameters,
                    void **extra, bool dependent) {
    function *f = live<function>(handle);
    REQUIRE(f && good_stream(stream_handle), INVALID_HANDLE);
    result status = check_dimensions(f, d);
    REQUIRE(status == SUCCESS, status);
    std::vector<void *> sources;
    if (parameters) {
        sources.assign(parameters, parameters + f->kernel->parameter_count);
    } else if (f->kernel->parameter_count) {
        REQUIRE(unpack_extra(f, extra, sources), INVALID_VALUE);
    }
    std::shared_ptr<arguments> a = copy_arguments(f, sources.data());
    context *c = entry.here;
    return issue(
        stream_handle, [=] { return run_kernel(c, handle, d, a, dependent); }, dependent);
}

/* CUlaunchConfig of cuda.h. */
struct launch_config {
    unsigned grid[3], block[3], shared;
    void *stream;
    const struct launch_attribute *attributes;
    unsigned attribute_count;
};

struct launch_attribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        unsigned cluster[3];
        int allowed;
    } value;
};

} // namespace

API cuLaunchKernel(void *handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared, void *stream_handle, void **parameters, void **extra) {
    ENTER(NEEDS_HEALTHY);
    dimensions d = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};
    return issue_kernel(entry, handle, d, stream_handle, parameters, extra, false);
}

/* Attributes that only hint are ignored; a cluster of more than one block is not emulated. What may begin before the
 * launch before it is done (PROGRAMMATIC_STREAM_SERIALIZATION) runs after it all the same, but must wait for it. */
API cuLaunchKernelEx(const launch_config *config, void *handle, void **parameters, void **extra) {
    ENTER(NEEDS_HEALTHY);
    REQUIRE(config && (config->attributes || !config->attribute_count), INVALID_VALUE);
    bool dependent = false;
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const launch_attribute &a = config->attributes[i];
        REQUIRE(a.id != 4 || a.value.cluster[0] * a.value.cluster[1] * a.value.cluster[2] <= 1,
                NOT_SUPPORTED);            /* CLUSTER_DIMENSION */
        REQUIRE(a.id != 2, NOT_SUPPORTED); /* COOPERATIVE */
        dependent |= a.id == 6 && a.value.allowed;
    }
    dimensions d;
    memcpy(&d, config, sizeof d);
    return issue_kernel(entry, handle, d, config->stream, parameters, extra, dependent);
}

/* ---- >>maps: tensor maps, with the conditions of the driver's documentation
 * ------------------------------------------ */

namespace {

/* CUtensorMapDataType: bytes of an element. */
enum { MAP_TFLOAT32 = 11 }; /* CUtensorMapDataType */

unsigned map_element_bytes(int type) {
    static const unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 0, 4};
    return type >= 0 && type <= MAP_TFLOAT32 ? bytes[type] : 0;
}

/* CUtensorMapSwizzle: bytes of the span, the most that a row of the box may have. */
unsigned map_swizzle_bytes(int swizzle) {
    static const unsigned bytes[] = {0, 32, 64, 128};
    return swizzle >= 0 && swizzle < 4 ? bytes[swizzle] : ~0u;
}

int encode_boxes(void *out, int type, unsigned rank, void *address, const unsigned long long *size,
                 const unsigned long long *stride, const unsigned *box, int interleave, int swizzle, int promotion,
                 int fill) {
    const unsigned element = map_element_bytes(type), span = map_swizzle_bytes(swizzle);
    REQUIRE(out && (uintptr_t)out % 64 == 0 && element && rank >= 1 && rank <= 5 && span != ~0u, INVALID_VALUE);
    REQUIRE(address && (uintptr_t)address % 16 == 0 && size && box, INVALID_VALUE);
    REQUIRE(interleave == 0 && promotion >= 0 && promotion < 4 && fill == 0, INVALID_VALUE);
    REQUIRE(box[0] * element % 16 == 0 && (!span || box[0] * element <= span), INVALID_VALUE);
    ind_emulation::tensor_map m = {};
    for (unsigned d = 0; d < rank; d++) {
        REQUIRE(size[d] >= 1 && size[d] <= 1ull << 32 && box[d] >= 1 && box[d] <= 256, INVALID_VALUE);
        REQUIRE(!d || (stride[d - 1] % 16 == 0 && stride[d - 1] < 1ull << 40), INVALID_VALUE);
        m.size[d] = size[d];
        m.stride[d] = d ? stride[d - 1] : element;
        m.box[d] = (unsigned short)box[d];
    }
    memcpy(m.magic, IND_EMULATION_MAP_MAGIC, sizeof m.magic);
    m.address = (uintptr_t)address;
    m.rank = (unsigned short)rank;
    m.swizzle = (unsigned short)span;
    m.tf32 = type == MAP_TFLOAT32 ? 1 : 0;
    memcpy(out, &m, sizeof m);
    return SUCCESS;
}

} // namespace

API cuTensorMapEncodeTiled(void *out, int type, unsigned rank, void *address, const unsigned long long *size,
                           const unsigned long long *stride, const unsigned *box, const unsigned *element_stride,
                           int interleave, int swizzle, int promotion, int fill) {
    ENTER(NEEDS_CONTEXT);
    REQUIRE(element_stride && rank <= 5, INVALID_VALUE);
    for (unsigned d = 0; d < rank; d++) {
        REQUIRE(element_stride[d] == 1, INVALID_VALUE);
    }
    return encode_boxes(out, type, rank, address, size, stride, box, interleave, swizzle, promotion, fill);
}

/* The corners are those of windows in the dimensions of an image. */
API cuTensorMapEncodeIm2col(void *out, int type, unsigned rank, void *address, const unsigned long long *size,
                            const unsigned long long *stride, const int *lower, const int *upper, unsigned channels,
                            unsigned windows, const unsigned *element_stride, int interleave, int swizzle,
                            int promotion, int fill) {
    ENTER(NEEDS_CONTEXT);
    const unsigned box[5] = {channels, 1, 1, 1, 1};
    REQUIRE(rank >= 3 && rank <= 5 && lower && upper && element_stride && windows >= 1 && windows <= 1024,
            INVALID_VALUE);
    const int least = rank == 3 ? -32768 : rank == 4 ? -128 : -16;
    const int code =
        encode_boxes(out, type, rank, address, size, stride, box, interleave, swizzle, promotion, fill);
    REQUIRE(code == SUCCESS, INVALID_VALUE);
    ind_emulation::tensor_map m;
    memcpy(&m, out, sizeof m);
    m.box[1] = (unsigned short)windows;
    m.windows = (unsigned char)(rank - 2);
    for (unsigned d = 0; d < m.windows; d++) {
        REQUIRE(lower[d] >= least && lower[d] < -least && upper[d] >= least && upper[d] < -least, INVALID_VALUE);
        REQUIRE(element_stride[1 + d] >= 1 && element_stride[1 + d] <= 8, INVALID_VALUE);
        REQUIRE((long long)size[1 + d] + upper[d] - lower[d] > 0, INVALID_VALUE);
        m.lower[d] = (short)lower[d];
        m.upper[d] = (short)upper[d];
        m.step[d] = (unsigned char)element_stride[1 + d];
    }
    memcpy(out, &m, sizeof m);
    return SUCCESS;
}

/* ---- >>errors ---------------------------------------------------------------------------------------------------- */

namespace {

struct result_row {
    int value;
    const char *name, *text;
};

const result_row result_rows[] = {
#define RESULT_ROW(name, value, text) {value, value ? "CUDA_ERROR_" #name : "CUDA_SUCCESS", text},
    RESULTS(RESULT_ROW)};

const result_row *find_result(int value) {
    for (const result_row &row : result_rows) {
        if (row.value == value) {
            return &row;
        }
    }
    return nullptr;
}

} // namespace

API cuGetErrorName(int value, const char **out) {
    const result_row *row = find_result(value);
    REQUIRE(out, INVALID_VALUE);
    *out = row ? row->name : nullptr;
    return row ? SUCCESS : INVALID_VALUE;
}

API cuGetErrorString(int value, const char **out) {
    const result_row *row = find_result(value);
    REQUIRE(out, INVALID_VALUE);
    *out = row ? row->text : nullptr;
    return row ? SUCCESS : INVALID_VALUE;
}

/* By the name without a version, as the driver resolves it, or by an exported name. The newest version wins. */
API cuGetProcAddress_v2(const char *name, void **out, int, uint64_t, int *found) {
    ENTER(NEEDS_NOTHING);
    REQUIRE(name && out, INVALID_VALUE);
    Dl_info self;
    static const char *const suffixes[] = {"_v2", ""};
    *out = nullptr;
    if (dladdr((void *)&cuGetProcAddress_v2, &self)) {
        if (void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD)) {
            for (const char *suffix : suffixes) {
                *out = *out ? *out : dlsym(library, (std::string(name) + suffix).c_str());
            }
            dlclose(library);
        }
    }
    if (found) {
        *found = *out ? 0 : 1; /* CU_GET_PROC_ADDRESS_SUCCESS, _SYMBOL_NOT_FOUND */
    }
    return *out ? SUCCESS : NOT_FOUND;
}

API cuGetProcAddress(const char *name, void **out, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, out, version, flags, nullptr);
}

/* ---- >>controls: for tests --------------------------------------------------------------------------------------- */

#define CONTROL extern "C" __attribute__((visibility("default")))

/* Replaces the fault plan ("" for none) and starts counting anew. */
CONTROL void ind_emulation_fail(const char *spec) {
    std::lock_guard<std::recursive_mutex> guard(state().lock);
    state().faults.set(spec);
}

/* Fills the array (enum stat) after running what is pending. */
CONTROL void ind_emulation_stats(unsigned long long out[STAT_COUNT]) {
    std::lock_guard<std::recursive_mutex> guard(state().lock);
    flush();
    memcpy(out, state().stats, sizeof state().stats);
}

/* What the last kernel or module that failed said; "" if none has. Valid until the next failure. */
CONTROL const char *ind_emulation_last_error() {
    std::lock_guard<std::recursive_mutex> guard(state().lock);
    return state().last_error.c_str();
}
