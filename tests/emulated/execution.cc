/*
 * Execution of one block, or of the blocks of a cluster in turn: its threads are fibres on one operating-system thread,
 * which switch only where the CUDA model makes threads wait.
 *
 * Between two waits a thread is plain native code. A fibre is a stack that runs threads one after another: a thread
 * that never waits costs a function call and no switch, so a pointwise kernel runs on a single stack. A thread that
 * waits keeps its fibre; the next thread gets another one from a pool.
 *
 * Sanitizers: AddressSanitizer is told of each switch when it is in the process (weak symbols: this file needs no
 * sanitizer itself).
 *
 * >>fibre >>scheduler >>barrier >>warp >>matrix >>copy >>mbarrier >>tensor >>block >>cluster
 */
#include "execution.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include "support.h"
#include "tensor_memory.h"

extern "C" {
void __sanitizer_start_switch_fiber(void **fake_stack_save, const void *bottom, size_t size) __attribute__((weak));
void __sanitizer_finish_switch_fiber(void *fake_stack_save, const void **bottom_old, size_t *size_old)
    __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void *address, size_t size) __attribute__((weak));
}

namespace emulation {

using ind_emulation::index3;
using ind_emulation::runtime;
using ind_emulation::thread_state;

namespace {

constexpr size_t STACK_BYTES = 256 * 1024;
constexpr unsigned long MAX_FRUITLESS_PAUSES = 20000000;
constexpr unsigned MAX_ROUNDS = 1000000; /* of blocks that run side by side */
constexpr unsigned MAX_THREADS = 1024, WARP = 32, MAX_WARPS = MAX_THREADS / WARP;

/* ---- >>fibre ----------------------------------------------------------------------------------------------------- */

struct fibre {
    char *stack = nullptr; /* lowest address; nullptr for the caller's own stack */
    const void *bottom = nullptr;
    size_t size = 0;
    void *fake_stack = nullptr;
#if defined(__x86_64__)
    void *sp = nullptr;
#else
    ucontext_t context;
#endif
};

fibre caller; /* the stack of whoever called run_launch */
fibre *running = nullptr, *came_from = nullptr;
/* Fibres without a thread: fresh, or parked in worker_loop. Never destroyed: a leak check at exit still has to find
 * them. */
std::vector<fibre *> &idle = *new std::vector<fibre *>;

void worker_loop();

void finish_switch(void *fake_stack) {
    const void *bottom = nullptr;
    size_t size = 0;
    if (__sanitizer_finish_switch_fiber) {
        __sanitizer_finish_switch_fiber(fake_stack, &bottom, &size);
        came_from->bottom = bottom;
        came_from->size = size;
    }
}

void fibre_main() {
    finish_switch(nullptr);
    worker_loop();
}

#if defined(__x86_64__)

/* Saves the callee-saved registers and the stack pointer, loads the other fibre's. */
asm(".text\n"
    ".p2align 4\n"
    ".type ind_emulation_switch, @function\n"
    "ind_emulation_switch:\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    "    retq\n"
    ".size ind_emulation_switch, .-ind_emulation_switch\n");
extern "C" void ind_emulation_switch(void **save, void *load) asm("ind_emulation_switch");

void jump(fibre *from, fibre *to) {
    ind_emulation_switch(&from->sp, to->sp);
}

/* Lays the stack out as ind_emulation_switch leaves it: six registers, then the address to return to. */
void prepare(fibre *f) {
    uintptr_t top = (uintptr_t)(f->stack + STACK_BYTES) & ~(uintptr_t)15;
    void **sp = (void **)top - 8;
    memset(sp, 0, 8 * sizeof *sp);
    sp[6] = (void *)fibre_main;
    f->sp = sp;
}

#else

void jump(fibre *from, fibre *to) {
    swapcontext(&from->context, &to->context);
}

void prepare(fibre *f) {
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    f->context.uc_link = nullptr;
    makecontext(&f->context, fibre_main, 0);
}

#endif

/* A page without access below the stack turns an overflow into a fault. */
fibre *make_fibre() {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory =
        mmap(nullptr, STACK_BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) {
        fprintf(stderr, "emulation: no memory for the stack of a thread\n");
        abort();
    }
    fibre *f = new fibre;
    f->stack = (char *)memory + page;
    f->bottom = f->stack;
    f->size = STACK_BYTES;
    prepare(f);
    return f;
}

fibre *take_idle() {
    if (idle.empty()) {
        return make_fibre();
    }
    fibre *f = idle.back();
    idle.pop_back();
    return f;
}

void switch_to(fibre *to) {
    fibre *from = running;
    came_from = from;
    running = to;
    if (__sanitizer_start_switch_fiber) {
        __sanitizer_start_switch_fiber(&from->fake_stack, to->bottom, to->size);
    }
    jump(from, to);
    finish_switch(from->fake_stack);
}

/* Forgets whatever the fibre was doing. */
void reset_fibre(fibre *f) {
    if (__asan_unpoison_memory_region) {
        __asan_unpoison_memory_region(f->stack, STACK_BYTES);
    }
    prepare(f);
    idle.push_back(f);
}

/* ---- >>scheduler ------------------------------------------------------------------------------------------------- */

enum collective { SYNCWARP, SHUFFLE, VOTE, MATCH, REDUCE, LDMATRIX, MMA };

/* What a thread brings to a collective, and gets back. */
struct operand {
    collective what;
    int kind;
    unsigned mask;
    int argument, width;
    uint64_t value, result;
    unsigned *r;
    const unsigned *a, *b;
    void *c;
};

struct async_copy {
    void *shared;
    const void *global;
    int bytes;
};

/* A tile in shared memory that a wgmma of a thread reads, and the number of its group. */
struct tile_read {
    size_t begin, end;
    unsigned group;
};

enum place { UNSTARTED, RUNNING, READY, AT_BARRIER, AT_PART, AT_WARP, AT_CLUSTER, EXITED };

struct thread {
    thread_state state;
    unsigned id;
    fibre *on;
    place where;
    int line;
    int predicate, barrier_result;
    operand *op;
    std::vector<async_copy> copies; /* oldest first */
    std::vector<size_t> groups;     /* number of copies in each committed group, oldest first */
    size_t open_copies;             /* copies after the last commit */
    size_t awaited;                 /* AT_CLUSTER: the barrier, 0: the arrival of all threads of the cluster */
    unsigned arrivals;              /* at the barrier of the cluster */
    int awaited_phase;
    unsigned yielded;                  /* AT_CLUSTER: to other blocks, in this round of them; 0: it has not */
    size_t mbarrier;                   /* AT_CLUSTER: the one that the thread waits for, or 0 */
    std::map<size_t, unsigned> waited; /* phases of mbarriers that were complete when the thread last waited */
    std::vector<tile_read> reads;      /* in flight */
    unsigned wgmma_groups;             /* committed */
    bool launch_waited;                /* for the previous launch */
    tensor_view tensor;
};

struct warp {
    unsigned waiting, exited;
};

/* A barrier of transactions (mbarrier): what is left until its phase is complete. */
struct transactions {
    int phase, arrivals;
    long bytes;
};

/* The other kind of barrier, with several arrivals. */
struct mbarrier {
    int phase, count, arrivals; /* arrivals: that the phase still waits for */
    long bytes;                 /* that it still waits for */
    unsigned completed;         /* phases */
    unsigned long seen;         /* commits of tensor memory that those who have arrived have seen */
};

/* What a bulk copy last wrote: up to `end`, in a phase of a barrier. */
struct copied_box {
    size_t end, barrier;
    unsigned phase;
};

/* A block, while another one of its cluster is run. Its barriers go by their place in shared memory. */
struct block {
    std::vector<thread> threads = std::vector<thread>(MAX_THREADS);
    warp warps[MAX_WARPS];
    unsigned started, exited, at_barrier, at_part;
    int barrier_line, part_line;
    index3 index;
    unsigned char *dynamic_memory;
    std::vector<thread *> ready;
    size_t ready_head;
    std::vector<unsigned char> shared;
    std::map<size_t, transactions> barriers;
    std::map<size_t, mbarrier> mbarriers;
    std::map<size_t, copied_box> copied; /* by their place */
};

enum launch_order { FORWARD, REVERSE, RANDOM };

std::vector<block> &blocks = *new std::vector<block>; /* of the cluster */
unsigned block_now;                                   /* the one of them that is run */
launch_order wanted_now;                              /* of the launch that runs */
unsigned yielding;                                    /* threads of these blocks that wait for a later round */
unsigned block_rounds;                                /* in which each of them has had a turn */
unsigned cluster_phases;                              /* of the cluster's barrier that are over */
unsigned cluster_pending, cluster_alive;              /* threads: that it waits for, that have not exited */
thread *threads;                                      /* the same block's, like all that follows */
warp warps[MAX_WARPS];
const launch *now_running;
thread *current;
unsigned thread_count, started, exited, at_barrier, at_part; /* at_part: at the barrier of the first threads */
int barrier_line, part_line;
unsigned long fruitless_pauses;
index3 block_index;
unsigned char *dynamic_memory;
std::vector<unsigned> order; /* the order in which threads start and are released */
std::vector<thread *> ready;
size_t ready_head;
std::string failure;

void make_current(thread *t) {
    current = t;
    *now_running->module->now = &t->state;
}

void make_ready(thread *t) {
    t->where = READY;
    ready.push_back(t);
}

thread *take_ready() {
    if (ready_head == ready.size()) {
        ready.clear();
        ready_head = 0;
        return nullptr;
    }
    if (ready_head == 4 * MAX_THREADS) { /* threads that spin never let the queue run empty */
        ready.erase(ready.begin(), ready.begin() + (std::ptrdiff_t)ready_head);
        ready_head = 0;
    }
    return ready[ready_head++];
}

/* Leaves the running fibre for whatever can go on: a ready thread, else a thread not yet started, else the caller. */
void yield_fibre() {
    if (thread *t = take_ready()) {
        switch_to(t->on);
    } else {
        switch_to(started < thread_count ? take_idle() : &caller);
    }
}

/* Waits until something makes the current thread ready. */
void wait_as(place where, int line) {
    thread *self = current;
    self->where = where;
    self->line = line;
    yield_fibre();
    self->where = RUNNING;
    make_current(self);
}

/*
 * Ends the launch. The fibre is never resumed (run_block resets it), so nothing on its stack may own memory: hence no
 * std::string here or in a caller.
 */
[[noreturn]] __attribute__((format(printf, 2, 3))) void fail(int line, const char *format, ...) {
    char text[300], all[500];
    const index3 &t = current->state.thread_idx, &b = block_index;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(all, sizeof all, "%s: line %d, thread (%u,%u,%u) of block (%u,%u,%u)", text, line, t.x, t.y, t.z, b.x, b.y,
             b.z);
    failure = all;
    switch_to(&caller);
    abort();
}

void settle_warp(unsigned index);

void settle_cluster() {
    if (cluster_pending == 0 && cluster_alive > 0) {
        cluster_phases++;
        cluster_pending = cluster_alive;
    }
}

/* Threads that have exited are not waited for. */
void leave_cluster(const thread *t) {
    cluster_alive--;
    cluster_pending -= t->arrivals == cluster_phases;
    settle_cluster();
}

void run_thread(thread *t) {
    const index3 &b = now_running->block;
    t->on = running;
    t->where = RUNNING;
    t->state = thread_state{
        {t->id % b.x, t->id / b.x % b.y, t->id / b.x / b.y}, block_index, b, now_running->grid, dynamic_memory};
    t->copies.clear();
    t->groups.clear();
    t->open_copies = 0;
    t->launch_waited = false;
    make_current(t);
    now_running->kernel->call(now_running->arguments);
    t->where = EXITED;
    exited++;
    leave_cluster(t);
    fruitless_pauses = 0;
    warps[t->id / WARP].exited |= 1u << t->id % WARP;
    if (warps[t->id / WARP].waiting) {
        settle_warp(t->id / WARP);
    }
}

void worker_loop() {
    for (;;) {
        if (ready_head == ready.size() && started < thread_count) {
            run_thread(&threads[order[started++]]);
            continue;
        }
        idle.push_back(running);
        if (thread *t = take_ready()) {
            switch_to(t->on);
        } else {
            switch_to(&caller);
        }
    }
}

/* Gives way to the other threads of the block. Spinning while no thread of the block exits or passes a barrier waits
 * for what cannot come. */
void rt_pause() {
    thread *self = current;
    if (++fruitless_pauses > MAX_FRUITLESS_PAUSES) {
        fail(0, "a thread spins and no other thread of its block makes progress");
    }
    if (ready_head == ready.size() && started == thread_count) {
        return;
    }
    make_ready(self);
    if (started < thread_count) {
        switch_to(take_idle());
    } else {
        yield_fibre();
    }
    self->where = RUNNING;
    make_current(self);
}

void rt_fault(const char *message, int line) {
    fail(line, "%s", message);
}

unsigned rt_lane() {
    return current->id % WARP;
}

int rt_is_shared(const void *address, unsigned bytes) {
    const unsigned char *p = static_cast<const unsigned char *>(address);
    const ind_emulation::module *m = now_running->module;
    bool fixed = m->shared_begin && p >= m->shared_begin && p + bytes <= m->shared_end;
    return fixed || (p >= dynamic_memory && p + bytes <= dynamic_memory + now_running->dynamic_shared);
}

/* ---- >>barrier --------------------------------------------------------------------------------------------------- */

int reduce_predicates(int kind) {
    int count = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        count += threads[i].predicate != 0;
    }
    switch (kind) {
    case ind_emulation::BARRIER_COUNT: return count;
    case ind_emulation::BARRIER_AND: return count == (int)thread_count;
    case ind_emulation::BARRIER_OR: return count != 0;
    default: return 0;
    }
}

/* The threads of a block have waited for each other: all have seen what any of them has of tensor memory. */
void share_tensor_views() {
    unsigned long seen = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        seen = std::max(seen, threads[i].tensor.seen);
    }
    for (unsigned i = 0; i < thread_count; i++) {
        threads[i].tensor.seen = seen;
        threads[i].tensor.waited = true;
    }
}

void check_tensor_loads(unsigned first, unsigned count, int line);

void release_barrier(int kind) {
    int result = reduce_predicates(kind);
    share_tensor_views();
    at_barrier = 0;
    fruitless_pauses = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        thread *t = &threads[order[i]];
        t->barrier_result = result;
        if (t != current) {
            make_ready(t);
        }
    }
}

/* Every thread of the block must come to the same barrier of the source; an exited thread never does. */
int rt_barrier(int kind, int predicate, int line) {
    thread *self = current;
    check_tensor_loads(self->id, 1, line);
    self->predicate = predicate;
    if (at_barrier && barrier_line != line) {
        fail(line, "barrier divergence: other threads of the block wait at line %d", barrier_line);
    }
    barrier_line = line;
    if (++at_barrier == thread_count) {
        release_barrier(kind);
    } else {
        wait_as(AT_BARRIER, line);
    }
    return self->barrier_result;
}

/* The first `count` threads of the block must come to the same barrier of the source. The others may wait elsewhere. */
void rt_barrier_of(int count, int line) {
    if (count < 1 || (unsigned)count > thread_count || current->id >= (unsigned)count) {
        fail(line, "barrier of the first %d threads, by another one", count);
    }
    check_tensor_loads(current->id, 1, line);
    if (at_part && part_line != line) {
        fail(line, "barrier divergence: other threads of the barrier wait at line %d", part_line);
    }
    part_line = line;
    if (++at_part < (unsigned)count) {
        wait_as(AT_PART, line);
        return;
    }
    at_part = 0;
    fruitless_pauses = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        thread *t = &threads[order[i]];
        if (t->where == AT_PART) {
            make_ready(t);
        }
    }
}

/* ---- >>warp ------------------------------------------------------------------------------------------------------ */

/* The operand of a lane of this warp, or nullptr where it takes no part. */
operand *lane_operand(unsigned index, unsigned part, int lane) {
    return lane >= 0 && lane < 32 && part >> lane & 1u ? threads[index * WARP + (unsigned)lane].op : nullptr;
}

/* The lane a shuffle reads, as the PTX ISA defines shfl; out of the segment means the own lane. */
int shuffle_source(const operand *op, int lane) {
    int base = lane & ~(op->width - 1), end = base + op->width;
    int from = lane;
    switch (op->kind) {
    case ind_emulation::SHUFFLE_IDX: return base + (op->argument & (op->width - 1));
    case ind_emulation::SHUFFLE_UP:
        from = (unsigned)op->argument < 32 ? lane - op->argument : -1;
        return from < base ? lane : from;
    case ind_emulation::SHUFFLE_DOWN:
        from = (unsigned)op->argument < 32 ? lane + op->argument : 64;
        return from >= end ? lane : from;
    default: from = lane ^ op->argument; return from < 0 || from >= end ? lane : from;
    }
}

/* A lane that takes no part has no value: what is read from it is garbage. */
void resolve_shuffle(unsigned index, unsigned part) {
    for (int lane = 0; lane < 32; lane++) {
        if (operand *op = lane_operand(index, part, lane)) {
            const operand *source = lane_operand(index, part, shuffle_source(op, lane));
            op->result = source ? source->value : 0xffcbcbcbffcbcbcbull;
        }
    }
}

unsigned equal_lanes(unsigned index, unsigned part, uint64_t value) {
    unsigned equal = 0;
    for (int lane = 0; lane < 32; lane++) {
        const operand *op = lane_operand(index, part, lane);
        equal |= op && op->value == value ? 1u << lane : 0;
    }
    return equal;
}

void resolve_vote(unsigned index, unsigned part, operand *op) {
    unsigned yes = part & ~equal_lanes(index, part, 0);
    switch (op->kind) {
    case ind_emulation::VOTE_ALL: op->result = yes == part; break;
    case ind_emulation::VOTE_ANY: op->result = yes != 0; break;
    default: op->result = yes; break;
    }
}

void resolve_match(unsigned index, unsigned part, operand *op) {
    unsigned equal = equal_lanes(index, part, op->value);
    op->result = op->kind == ind_emulation::MATCH_ANY || equal == part ? equal : 0;
}

unsigned reduce_two(int kind, unsigned a, unsigned b) {
    switch (kind) {
    case ind_emulation::REDUCE_ADD: return a + b;
    case ind_emulation::REDUCE_MIN: return (unsigned)std::min((int)a, (int)b);
    case ind_emulation::REDUCE_MAX: return (unsigned)std::max((int)a, (int)b);
    case ind_emulation::REDUCE_UMIN: return std::min(a, b);
    case ind_emulation::REDUCE_UMAX: return std::max(a, b);
    case ind_emulation::REDUCE_AND: return a & b;
    case ind_emulation::REDUCE_OR: return a | b;
    default: return a ^ b;
    }
}

void resolve_reduce(unsigned index, unsigned part, operand *op) {
    bool first = true;
    unsigned result = 0;
    for (int lane = 0; lane < 32; lane++) {
        if (const operand *other = lane_operand(index, part, lane)) {
            result = first ? (unsigned)other->value : reduce_two(op->kind, result, (unsigned)other->value);
            first = false;
        }
    }
    op->result = result;
}

/* ---- >>matrix ---------------------------------------------------------------------------------------------------- */

/*
 * Fragment layouts from the PTX ISA (ldmatrix; mma.m16n8k16), with g = lane / 4 and t = lane % 4:
 *   ldmatrix  register i holds elements (g, 2t) and (g, 2t + 1) of the i-th 8 x 8 matrix, whose rows are at the
 * addresses of lanes 8i .. 8i + 7; with .trans, elements (2t, g) and (2t + 1, g) A 16 x 16 a0 = (g, 2t..2t+1)  a1 = (g
 * + 8, 2t..)  a2 = (g, 2t + 8..)  a3 = (g + 8, 2t + 8..) B 16 x 8  b0 = (2t..2t+1, g)  b1 = (2t + 8.., g) C 16 x 8  c0,
 * c1 = (g, 2t..2t+1)  c2, c3 = (g + 8, 2t..) The element with the smaller index is in the lower half of its register.
 * Of 8-bit elements (m16n8k32) a register has four along k: a0 = (g, 4t..4t+3), a2 = (g, 4t + 16..), and so on. Of tf32
 * (m16n8k8) it has one: a0 = (g, t), a2 = (g, t + 4).
 */
unsigned half_of(const unsigned *words, int column) {
    return words[column / 2] >> (column % 2 * 16) & 0xffffu;
}

void resolve_ldmatrix(unsigned index) {
    const thread *lanes = &threads[index * WARP];
    for (int lane = 0; lane < 32; lane++) {
        const operand *op = lanes[lane].op;
        int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 4; i++) {
            if (op->kind) {
                op->r[i] = half_of(lanes[8 * i + 2 * t].op->a, g) | half_of(lanes[8 * i + 2 * t + 1].op->a, g) << 16;
            } else {
                op->r[i] = lanes[8 * i + g].op->a[t];
            }
        }
    }
}

float float_of_bits(unsigned bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

float float_of_half(unsigned x) {
    unsigned sign = (x & 0x8000u) << 16, exponent = x >> 10 & 31u, mantissa = x & 0x3ffu;
    if (exponent == 0) {
        float value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    return float_of_bits(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112u) << 23) | mantissa << 13);
}

/* An f8e5m2 is the upper half of an f16; an f8e4m3 has its exponent, less 8, and no infinity. */
float float_of_byte(unsigned x, int kind) {
    if (kind == ind_emulation::ELEMENT_S8) {
        return (float)(int8_t)x;
    }
    if (kind == ind_emulation::ELEMENT_E5M2) {
        return float_of_half(x << 8);
    }
    return (x & 0x7fu) == 0x7fu ? NAN : float_of_half((x & 0x80u) << 8 | (x & 0x7fu) << 7) * 256.0f;
}

/* Of tf32 the tensor cores ignore the lowest 13 bits. */
float element(const unsigned *words, int i, int kind) {
    if (kind == ind_emulation::ELEMENT_TF32) {
        return float_of_bits(words[i] & ~0x1fffu);
    }
    if (kind >= ind_emulation::ELEMENT_E4M3) {
        return float_of_byte(words[i / 4] >> (i % 4 * 8) & 0xffu, kind);
    }
    const unsigned bits = words[i / 2] >> (i % 2 * 16) & 0xffffu;
    return kind == ind_emulation::ELEMENT_BF16 ? float_of_bits(bits << 16) : float_of_half(bits);
}

/* The products and the sum are exact or nearly so (double), rounded once: the device is a little less exact. */
void resolve_mma(unsigned index) {
    const thread *lanes = &threads[index * WARP];
    const int kind = lanes[0].op->kind;
    const int per = kind == ind_emulation::ELEMENT_TF32   ? 1
                    : kind >= ind_emulation::ELEMENT_E4M3 ? 4
                                                          : 2; /* in a register */
    float a[16][32], b[32][8];
    for (int lane = 0; lane < 32; lane++) {
        const operand *op = lanes[lane].op;
        int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 4 * per; i++) {
            const int r = i / per;
            a[g + r % 2 * 8][per * t + i % per + r / 2 * 4 * per] = element(op->a, i, op->kind);
        }
        for (int i = 0; i < 2 * per; i++) {
            b[per * t + i % per + i / per * 4 * per][g] = element(op->b, i, op->argument);
        }
    }
    double d[16][8] = {};
    for (int m = 0; m < 16; m++) {
        for (int k = 0; k < 8 * per; k++) {
            for (int n = 0; n < 8; n++) {
                d[m][n] += (double)a[m][k] * b[k][n];
            }
        }
    }
    for (int lane = 0; lane < 32; lane++) {
        float *c = (float *)lanes[lane].op->c;
        unsigned *whole = (unsigned *)lanes[lane].op->c;
        for (int i = 0; i < 4; i++) {
            const double sum = d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
            if (kind == ind_emulation::ELEMENT_S8) {
                whole[i] += (unsigned)(int)sum;
            } else {
                c[i] = (float)(c[i] + sum);
            }
        }
    }
}

/* The lanes of a __syncwarp have seen what any of them has of tensor memory. */
void share_tensor_views(unsigned index, unsigned part) {
    unsigned long seen = 0;
    for (unsigned lane = 0; lane < WARP; lane++) {
        seen = part >> lane & 1u ? std::max(seen, threads[index * WARP + lane].tensor.seen) : seen;
    }
    for (unsigned lane = 0; lane < WARP; lane++) {
        tensor_view &v = threads[index * WARP + lane].tensor;
        if (part >> lane & 1u && v.seen < seen) {
            v.seen = seen;
            v.waited = true;
        }
    }
}

void resolve(unsigned index, unsigned part, const operand *first) {
    if (first->what == SHUFFLE) {
        resolve_shuffle(index, part);
    } else if (first->what == LDMATRIX) {
        resolve_ldmatrix(index);
    } else if (first->what == MMA) {
        resolve_mma(index);
    } else if (first->what == SYNCWARP) {
        share_tensor_views(index, part);
    }
    for (int lane = 0; lane < 32; lane++) {
        if (operand *op = lane_operand(index, part, lane)) {
            switch (op->what) {
            case VOTE: resolve_vote(index, part, op); break;
            case MATCH: resolve_match(index, part, op); break;
            case REDUCE: resolve_reduce(index, part, op); break;
            default: break;
            }
        }
    }
}

/* The collective of `first` is complete when all lanes of its mask that still run have come to the same one with the
 * same mask. */
bool settle_group(unsigned index, const operand *first) {
    warp *w = &warps[index];
    unsigned part = first->mask & ~w->exited;
    if ((w->waiting & part) != part) {
        return false;
    }
    for (int lane = 0; lane < 32; lane++) {
        const operand *op = lane_operand(index, part, lane);
        if (op && (op->what != first->what || op->kind != first->kind || op->mask != first->mask)) {
            return false;
        }
    }
    resolve(index, part, first);
    fruitless_pauses = 0;
    w->waiting &= ~part;
    for (unsigned lane = 0; lane < WARP; lane++) {
        thread *t = &threads[index * WARP + lane];
        if (part >> lane & 1u && t != current) {
            make_ready(t);
        }
    }
    return true;
}

/* A lane has exited: what the others wait for may be complete without it. */
void settle_warp(unsigned index) {
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (warps[index].waiting >> lane & 1u) {
            settle_group(index, threads[index * WARP + lane].op);
        }
    }
}

void arrive(operand *op, int line) {
    thread *self = current;
    unsigned lane = self->id % WARP;
    if (!(op->mask >> lane & 1u)) {
        fail(line, "warp collective: the calling lane %u is not in its mask", lane);
    }
    bool whole = op->what == LDMATRIX || op->what == MMA;
    if (whole && warps[self->id / WARP].exited) {
        fail(line, "ldmatrix or mma in a warp of which some lanes do not exist or have exited");
    }
    self->op = op;
    warps[self->id / WARP].waiting |= 1u << lane;
    if (!settle_group(self->id / WARP, op)) {
        wait_as(AT_WARP, line);
    }
}

operand make_operand(collective what, int kind, unsigned mask, uint64_t value) {
    operand op = {};
    op.what = what;
    op.kind = kind;
    op.mask = mask;
    op.value = value;
    return op;
}

void rt_syncwarp(unsigned mask, int line) {
    operand op = make_operand(SYNCWARP, 0, mask, 0);
    arrive(&op, line);
}

unsigned long long rt_shuffle(int kind, unsigned mask, unsigned long long value, int argument, int width, int line) {
    operand op = make_operand(SHUFFLE, kind, mask, value);
    if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
        fail(line, "shuffle: the width %d is not a power of two up to 32", width);
    }
    op.argument = argument;
    op.width = width;
    arrive(&op, line);
    return op.result;
}

unsigned rt_vote(int kind, unsigned mask, int predicate, int line) {
    operand op = make_operand(VOTE, kind, mask, predicate != 0);
    arrive(&op, line);
    return (unsigned)op.result;
}

unsigned rt_match(int kind, unsigned mask, unsigned long long value, int line) {
    operand op = make_operand(MATCH, kind, mask, value);
    arrive(&op, line);
    return (unsigned)op.result;
}

unsigned rt_reduce(int kind, unsigned mask, unsigned value, int line) {
    operand op = make_operand(REDUCE, kind, mask, value);
    arrive(&op, line);
    return (unsigned)op.result;
}

void rt_ldmatrix(unsigned *result, const unsigned *row, int transposed, int line) {
    operand op = make_operand(LDMATRIX, transposed, 0xffffffffu, 0);
    op.r = result;
    op.a = row;
    arrive(&op, line);
}

void rt_mma(void *c, const unsigned *a, const unsigned *b, int kind_a, int kind_b, int line) {
    operand op = make_operand(MMA, kind_a, 0xffffffffu, 0);
    op.argument = kind_b;
    op.a = a;
    op.b = b;
    op.c = c;
    arrive(&op, line);
}

uint64_t dependency_waits; /* of the launch that runs */

/* ---- >>trace: what a dependent launch may access before its wait --------------------------------------------------
 */

/* Bytes of device memory that a launch has written: by address / 8, a bit for each byte. Kernels report them if they
 * were compiled with IND_EMULATION_TRACE. On a device the previous launch may still run before the wait, so that its
 * bytes have their old values or its own. */
typedef std::unordered_map<uintptr_t, unsigned char> byte_set;
byte_set &written_before = *new byte_set, &written_now = *new byte_set;

bool is_written_before(uintptr_t address, size_t bytes) {
    for (uintptr_t at = address; at < address + bytes && !written_before.empty(); at++) {
        auto found = written_before.find(at / 8);
        if (found != written_before.end() && found->second >> at % 8 & 1) {
            return true;
        }
    }
    return false;
}

void rt_access(const void *address, unsigned bytes, int write) {
    const uintptr_t first = (uintptr_t)address;
    if (!now_running->on_device(first, bytes)) {
        return;
    }
    const bool early = now_running->dependent && !current->launch_waited;
    if (early && write) {
        fail(0, "it writes device memory before it waits for the previous launch");
    }
    if (early && is_written_before(first, bytes)) {
        fail(0, "it reads what the previous launch writes before it waits for that launch");
    }
    for (uintptr_t at = first; write && at < first + bytes; at++) {
        written_now[at / 8] |= (unsigned char)(1u << at % 8);
    }
}

/* ---- >>copy ------------------------------------------------------------------------------------------------------ */

void rt_cp_async(void *shared, const void *global, int bytes) {
    rt_access(global, (unsigned)bytes, 0);
    current->copies.push_back(async_copy{shared, global, bytes});
    current->open_copies++;
}

void rt_cp_async_commit() {
    current->groups.push_back(current->open_copies);
    current->open_copies = 0;
}

/* Only now do the bytes of the oldest groups arrive. */
void rt_cp_async_wait(int groups_left) {
    thread *self = current;
    size_t keep = std::min(self->groups.size(), (size_t)std::max(groups_left, 0)), done = self->groups.size() - keep,
           copies = 0;
    for (size_t i = 0; i < done; i++) {
        copies += self->groups[i];
    }
    for (size_t i = 0; i < copies; i++) {
        const async_copy &c = self->copies[i];
        memset(c.shared, 0, 16);
        if (c.bytes) {
            memcpy(c.shared, c.global, (size_t)c.bytes);
        }
    }
    self->copies.erase(self->copies.begin(), self->copies.begin() + (std::ptrdiff_t)copies);
    self->groups.erase(self->groups.begin(), self->groups.begin() + (std::ptrdiff_t)done);
}

void rt_dependency_wait() {
    dependency_waits++;
    current->launch_waited = true;
}

/* The next launch may start then, and load early what the launches before this one write, unless they have completed.
 */
void rt_dependency_trigger() {
    if (!current->launch_waited) {
        fail(0, "it lets the next launch start before it has waited for the previous one");
    }
}

/* ---- >>mbarrier: the bytes of a copy arrive only when some thread waits for an mbarrier. A copy may not overwrite a
 * tile that a wgmma reads, and a thread may read a tile only after it has waited for the phase of the last copy to it,
 * in whichever block the copy began. ---------------------------------------------------------------------------- */

void fill_garbage(unsigned char *begin, unsigned char *end, unsigned char value);
unsigned char garbage_byte();
size_t shared_place(const void *p, int line);
bool wake_threads();
unsigned char *address_of(unsigned number, size_t place);

struct bulk_copy {
    unsigned block;
    size_t place, barrier; /* in the shared memory of that block */
    ind_emulation::tensor_map map;
    ind_emulation::place at;
    int line;
};

std::deque<bulk_copy> &bulk_copies = *new std::deque<bulk_copy>; /* in flight */
tensor_memory &tensor = *new tensor_memory;                      /* of the block; clusters have none */

bool has_exited(unsigned number) {
    return (number == block_now ? exited : blocks[number].exited) == thread_count;
}

mbarrier *find_mbarrier(unsigned number, size_t place, int line) {
    auto found = blocks[number].mbarriers.find(place);
    if (found == blocks[number].mbarriers.end()) {
        fail(line, "mbarrier: it is not initialised in block %u of the cluster", number);
    }
    return &found->second;
}

void settle_mbarrier(mbarrier *b, int line) {
    if (b->arrivals == 0 && b->bytes < 0) {
        fail(line, "mbarrier: more bytes arrive than it expects");
    }
    if (b->arrivals == 0 && b->bytes == 0) {
        *b = mbarrier{b->phase ^ 1, b->count, b->count, 0, b->completed + 1, b->seen};
        fruitless_pauses = 0;
    }
}

void rt_mbarrier_init(void *barrier, int count, int line) {
    if (!rt_is_shared(barrier, 8) || (size_t)barrier % 8 != 0 || count < 1) {
        fail(line, "mbarrier: not 8 aligned bytes of shared memory, or a count below 1");
    }
    blocks[block_now].mbarriers[shared_place(barrier, line)] = mbarrier{0, count, count, 0, 0, 0};
}

void arrive_on(mbarrier *b, int bytes, int line) {
    if (b->arrivals == 0) {
        fail(line, "mbarrier: more threads arrive than it counts");
    }
    check_tensor_loads(current->id / WARP * WARP, std::min(WARP, thread_count - current->id / WARP * WARP), line);
    b->seen = std::max(b->seen, current->tensor.seen);
    b->bytes += bytes;
    b->arrivals--;
    settle_mbarrier(b, line);
}

void rt_mbarrier_arrive(void *barrier, int bytes, int line) {
    arrive_on(find_mbarrier(block_now, shared_place(barrier, line), line), bytes, line);
}

void rt_mbarrier_arrive_at(void *barrier, int number, int line) {
    if (number < 0 || (size_t)number >= blocks.size()) {
        fail(line, "mbarrier: block %d of %d", number, (int)blocks.size());
    }
    if (has_exited((unsigned)number)) {
        fail(line, "mbarrier: block %d of the cluster has exited", number);
    }
    arrive_on(find_mbarrier((unsigned)number, shared_place(barrier, line), line), 0, line);
}

/* What a bulk copy makes of f32 with a map of tf32: the nearest one, ties to even; NaN and infinities stay. */
unsigned to_tf32(unsigned x) {
    return (x & 0x7f800000u) == 0x7f800000u ? x : (x + 0xfffu + (x >> 13 & 1u)) & ~0x1fffu;
}

/* Copies the box; elements outside the tensor are 0. The 16-byte chunks of each span of 8 rows are exchanged by the
 * swizzle, which works on addresses. */
void finish_copy(const bulk_copy &c) {
    const ind_emulation::tensor_map &m = c.map;
    const size_t bytes = m.box[0] * m.stride[0];
    const size_t own = (size_t)address_of(block_now, c.place); /* aligned as in each block on the device */
    unsigned char *const shared = address_of(c.block, c.place);
    size_t rows = 1;
    if (has_exited(c.block)) {
        fail(c.line, "bulk copy: block %u of the cluster has exited", c.block);
    }
    for (int d = 1; d < m.rank; d++) {
        rows *= m.box[d];
    }
    for (size_t row = 0; row < rows; row++) {
        unsigned long long from;
        const bool inside = row_address(m, c.at, row, &from);
        for (size_t i = 0; i < bytes; i++) {
            const long long x = c.at.at[0] + (long long)(i / m.stride[0]);
            size_t to = own + row * bytes + i;
            to ^= m.swizzle ? (to >> 7 & (m.swizzle / 16u - 1)) << 4 : 0;
            shared[to - own] =
                inside && x >= 0 && x < (long long)m.size[0]
                    ? *(const unsigned char *)(from + (unsigned long long)x * m.stride[0] + i % m.stride[0])
                    : (unsigned char)0;
            unsigned *const word = (unsigned *)(to - 3);
            if (m.tf32 && i % 4 == 3) *word = to_tf32(*word);
        }
    }
    mbarrier *b = find_mbarrier(c.block, c.barrier, c.line);
    b->bytes -= (long)(rows * bytes);
    settle_mbarrier(b, c.line);
}

/* Waits until a copy is in flight, or the phase is over. In a cluster, other blocks run meanwhile. */
void wait_at_mbarrier(size_t barrier, int parity, int line) {
    if (blocks.size() < 2) {
        rt_pause();
        return;
    }
    current->mbarrier = barrier;
    current->awaited_phase = parity & 1;
    wait_as(AT_CLUSTER, line);
    current->mbarrier = 0;
}

void finish_tensor_operation();

/* The oldest copy, or without one the oldest operation of tensor memory. */
bool finish_next() {
    if (!bulk_copies.empty()) {
        const bulk_copy next = bulk_copies.front();
        bulk_copies.pop_front();
        finish_copy(next);
        return true;
    }
    if (tensor.in_flight.empty()) {
        return false;
    }
    finish_tensor_operation();
    return true;
}

void rt_mbarrier_wait(void *barrier, int parity, int line) {
    const size_t place = shared_place(barrier, line);
    while (find_mbarrier(block_now, place, line)->phase == (parity & 1)) {
        if (!finish_next()) {
            wait_at_mbarrier(place, parity, line);
        }
    }
    const mbarrier *b = find_mbarrier(block_now, place, line);
    current->waited[place] = b->completed;
    current->tensor.seen = std::max(current->tensor.seen, b->seen);
    current->tensor.waited = true;
}

/* Begins a copy to a block: the destination is garbage until the bytes arrive. */
void begin_copy(const bulk_copy &c) {
    block &b = blocks[c.block];
    size_t bytes = c.map.stride[0];
    for (int d = 0; d < c.map.rank; d++) {
        bytes *= c.map.box[d];
    }
    if (has_exited(c.block)) {
        fail(c.line, "bulk copy: block %u of the cluster has exited", c.block);
    }
    const mbarrier *on = find_mbarrier(c.block, c.barrier, c.line);
    for (unsigned i = 0; i < thread_count; i++) {
        for (const tile_read &r : b.threads[i].reads) {
            if (r.begin < c.place + bytes && c.place < r.end) {
                fail(c.line, "bulk copy: overwrites a tile that a wgmma of block %u of the cluster reads", c.block);
            }
        }
    }
    unsigned char *const to = address_of(c.block, c.place);
    fill_garbage(to, to + bytes, garbage_byte());
    b.copied[c.place] = copied_box{c.place + bytes, c.barrier, on->completed};
    bulk_copies.push_back(c);
}

void rt_bulk_tensor(void *shared, const ind_emulation::tensor_map *map, void *barrier, unsigned to,
                    const ind_emulation::place *at, int line) {
    bulk_copy c = {0, shared_place(shared, line), shared_place(barrier, line), *map, *at, line};
    const int last = map->rank - 1; /* the whole tensor: its elements lie between the first and the last one */
    rt_access((const void *)(uintptr_t)map->address, (unsigned)(map->stride[last] * (map->size[last] - 1)), 0);
    to = to ? to : 1u << block_now;
    if (to >> blocks.size()) {
        fail(line, "bulk copy: multicast to blocks 0x%x of a cluster of %d", to, (int)blocks.size());
    }
    for (; c.block < blocks.size(); c.block++) {
        if (to >> c.block & 1) {
            begin_copy(c);
        }
    }
}

void rt_wgmma_read(const void *tile, unsigned bytes, int line) {
    const block &b = blocks[block_now];
    const size_t begin = b.copied.empty() ? 0 : shared_place(tile, line);
    if (b.copied.empty()) {
        return; /* the tiles are copied in another way */
    }
    for (const auto &box : b.copied) {
        if (box.first >= begin + bytes || box.second.end <= begin) {
            continue;
        }
        auto waited = current->waited.find(box.second.barrier);
        if (waited == current->waited.end() || waited->second <= box.second.phase) {
            fail(line, "wgmma: the thread has not waited for the last bulk copy to the tile");
        }
    }
    current->reads.push_back(tile_read{begin, begin + bytes, current->wgmma_groups});
}

void rt_wgmma_commit() {
    current->wgmma_groups++;
}

void retire_reads(thread *t, unsigned last) {
    size_t kept = 0;
    for (const tile_read &r : t->reads) {
        if ((int)(r.group - last) >= 0) {
            t->reads[kept++] = r;
        }
    }
    t->reads.resize(kept);
}

/* The warp waits together, as the instruction requires. First all other threads go on that can: a copy that does not
 * wait for the wgmma begins while it reads. */
void rt_wgmma_wait(int groups_left, int line) {
    const unsigned last = current->wgmma_groups - (unsigned)groups_left; /* the first group that may be in flight */
    const unsigned first = current->id / WARP * WARP;
    wake_threads();
    rt_pause();
    rt_syncwarp(0xffffffffu, line);
    for (unsigned i = first; i < first + WARP && i < thread_count; i++) {
        retire_reads(&threads[i], last);
    }
}

/* ---- >>tensor: memory and products of tcgen05 ------------------------------------------------------------------- */

/* Shared memory begins after the KiB that the driver has; static memory follows dynamic memory. Tiles with swizzled
 * rows are at multiples of 1024, in both kinds of addresses. */
constexpr size_t SHARED_BASE = 1024;

size_t rt_shared_address(const void *address, int line) {
    const unsigned char *p = static_cast<const unsigned char *>(address);
    const size_t bytes = now_running->dynamic_shared;
    if (!rt_is_shared(p, 1)) {
        fail(line, "an address is not in shared memory");
    }
    return p >= dynamic_memory && p < dynamic_memory + bytes
               ? SHARED_BASE + (size_t)(p - dynamic_memory)
               : SHARED_BASE + (bytes + 1023) / 1024 * 1024 + (size_t)(p - now_running->module->shared_begin);
}

void check_tensor(const char *wrong, int line) {
    if (wrong) {
        fail(line, "%s", wrong);
    }
}

/* Threads that signal others have fenced their loads. One thread signals for its warp. */
void check_tensor_loads(unsigned first, unsigned count, int line) {
    for (unsigned i = first; i < first + count; i++) {
        if (!threads[i].tensor.loads_fenced) {
            fail(line,
                 "tcgen05.ld: no tcgen05.fence::before_thread_sync between the load and a signal to other threads");
        }
    }
}

void check_tensor_wait(const char *what, int line) {
    if (current->tensor.waited) {
        fail(line, "%s: no tcgen05.fence::after_thread_sync since the thread has waited for others", what);
    }
}

/* Instructions of a whole warp. */
void check_tensor_warp(int line) {
    if (blocks.size() > 1) {
        fail(line, "tcgen05: tensor memory of clusters is not emulated");
    }
    rt_syncwarp(~0u, line);
}

void rt_tensor_alloc(unsigned *address, int columns, int line) {
    unsigned at = 0;
    check_tensor_warp(line);
    if (!rt_is_shared(address, 4) || (size_t)address % 4 != 0) {
        fail(line, "tcgen05.alloc: the address is not written to 4 aligned bytes of shared memory");
    }
    if (current->id % WARP == 0) {
        check_tensor(tensor.allocate((unsigned)columns, at), line);
        *address = at;
    }
}

void rt_tensor_relinquish(int line) {
    check_tensor_warp(line);
    tensor.relinquish();
}

void rt_tensor_free(unsigned address, int columns, int line) {
    check_tensor_warp(line);
    check_tensor_wait("tcgen05.dealloc", line);
    if (current->id % WARP == 0) {
        check_tensor(tensor.free(address, (unsigned)columns), line);
    }
}

void rt_tensor_fence(int after, int line) {
    tensor_view &v = current->tensor;
    if (after) {
        v.waited = false;
        return;
    }
    if (!v.loads_waited) {
        fail(line, "tcgen05.fence::before_thread_sync: no tcgen05.wait::ld after the last load");
    }
    v.loads_fenced = true;
}

void rt_tensor_mma(unsigned sums, unsigned long long a, unsigned long long b, unsigned instruction, int accumulate,
                   int bytes, int line) {
    check_tensor_wait("tcgen05.mma", line);
    check_tensor(tensor.start(current->id, {sums, a, b, instruction, accumulate != 0, bytes != 0}), line);
}

void rt_tensor_commit(void *barrier, int line) {
    find_mbarrier(block_now, shared_place(barrier, line), line);
    tensor.commit(current->id, barrier);
}

/* Until the wait, the registers hold garbage. */
void rt_tensor_load(float *to, unsigned address, int columns, int line) {
    tensor_view &v = current->tensor;
    check_tensor_warp(line);
    check_tensor_wait("tcgen05.ld", line);
    v.loads.push_back({to, std::vector<float>((size_t)columns)});
    check_tensor(tensor.load(v, current->id / WARP, current->id % WARP, address, v.loads.back().value), line);
    memset(to, 0xcb, (size_t)columns * sizeof *to);
    v.loads_waited = v.loads_fenced = false;
}

void rt_tensor_wait(int line) {
    tensor_view &v = current->tensor;
    check_tensor_warp(line);
    for (const tensor_view::load &l : v.loads) {
        memcpy(l.to, l.value.data(), l.value.size() * sizeof(float));
    }
    v.loads.clear();
    v.loads_waited = true;
}

/* The operand's element (x, k): in groups of 8 rows of 128 bytes that are `stride` apart, and in panels of 64 elements
 * that are `leading` apart if rows lie along x. The swizzle exchanges the 16-byte chunks of the rows by address. */
float tensor_element(uint64_t descriptor, bool along_x, int kind, int x, int k) {
    const size_t bytes = kind >= ind_emulation::ELEMENT_E4M3 ? 1 : 2;
    const size_t start = (descriptor & 0x3fffu) << 4, leading = (descriptor >> 16 & 0x3fffu) << 4,
                 stride = (descriptor >> 32 & 0x3fffu) << 4;
    const size_t row = (size_t)(along_x ? k : x), col = (size_t)(along_x ? x : k) * bytes;
    size_t at = start + row / 8 * stride + row % 8 * 128 + col / 128 * leading + col % 128;
    at = (at ^ (at >> 7 & 7u) << 4) - SHARED_BASE;
    if (at + bytes > now_running->dynamic_shared) {
        fail(0, "tcgen05.mma: an operand is not in dynamic shared memory");
    }
    unsigned word = 0;
    memcpy(&word, dynamic_memory + at, bytes);
    return element(&word, 0, kind);
}

void read_tensor_operand(std::vector<float> &to, uint64_t descriptor, bool along_x, int kind, int rows, int depth) {
    to.resize((size_t)(rows * depth));
    for (int i = 0; i < rows * depth; i++) {
        to[(size_t)i] = tensor_element(descriptor, along_x, kind, i / depth, i % depth);
    }
}

void finish_tensor_operation() {
    static std::vector<float> &a = *new std::vector<float>, &b = *new std::vector<float>;
    static const int kinds[2][2] = {{ind_emulation::ELEMENT_F16, ind_emulation::ELEMENT_BF16},
                                    {ind_emulation::ELEMENT_E4M3, ind_emulation::ELEMENT_E5M2}};
    const tensor_memory::operation next = tensor.in_flight.front();
    tensor.in_flight.pop_front();
    if (next.barrier) {
        mbarrier *b = find_mbarrier(block_now, shared_place(next.barrier, 0), 0);
        tensor.finish_commit(next.thread);
        if (b->arrivals == 0) {
            fail(0, "tcgen05.commit: more arrivals than the mbarrier counts");
        }
        b->seen = tensor.epoch;
        b->arrivals--;
        settle_mbarrier(b, 0);
        return;
    }
    const tensor_product &p = next.product;
    const unsigned i = p.instruction;
    const int depth = p.bytes ? 32 : 16;
    read_tensor_operand(a, p.a, i >> 15 & 1u, kinds[p.bytes][i >> 7 & 1u], 128, depth);
    read_tensor_operand(b, p.b, i >> 16 & 1u, kinds[p.bytes][i >> 10 & 1u], p.n(), depth);
    tensor.finish(p, a, b, depth);
}

/* ---- >>block ----------------------------------------------------------------------------------------------------- */

/* Byte by byte and past the sanitizer: the range holds red zones between the variables. */
void fill_garbage(unsigned char *begin, unsigned char *end, unsigned char value) {
#if defined(__x86_64__)
    size_t count = (size_t)(end - begin);
    asm volatile("rep stosb" : "+D"(begin), "+c"(count) : "a"(value) : "memory");
#else
    for (volatile unsigned char *p = begin; p < end; p++) {
        *p = value;
    }
#endif
}

unsigned char garbage_byte() {
    static const unsigned char value =
        (unsigned char)strtoul(environment("IND_EMULATION_POISON", "0xcb").c_str(), nullptr, 0);
    return value;
}

/* IND_EMULATION_ORDER: threads that do not wait for each other as they should give different results in different
 * orders. */

launch_order wanted_order() {
    std::string text = environment("IND_EMULATION_ORDER", "forward");
    return text == "reverse" ? REVERSE : text == "random" ? RANDOM : FORWARD;
}

uint64_t next_random() {
    static uint64_t seed = 88172645463325252ull;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

void choose_order(launch_order wanted) {
    order.resize(thread_count);
    for (unsigned i = 0; i < thread_count; i++) {
        order[i] = wanted == REVERSE ? thread_count - 1 - i : i;
    }
    for (unsigned i = thread_count; wanted == RANDOM && i > 1; i--) {
        std::swap(order[i - 1], order[next_random() % i]);
    }
}

void begin_block() {
    const ind_emulation::module *m = now_running->module;
    started = exited = at_barrier = at_part = 0;
    fruitless_pauses = 0;
    ready.clear();
    ready_head = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        threads[i].id = i;
        threads[i].where = UNSTARTED;
        threads[i].mbarrier = 0;
        threads[i].yielded = 0;
        threads[i].waited.clear();
        threads[i].reads.clear();
        threads[i].wgmma_groups = 0;
        threads[i].arrivals = 0;
        threads[i].tensor = tensor_view();
    }
    for (unsigned i = 0; i < (thread_count + WARP - 1) / WARP; i++) {
        unsigned lanes = std::min(WARP, thread_count - i * WARP);
        warps[i] = warp{0, lanes == WARP ? 0 : ~0u << lanes};
    }
    if (m->shared_begin) {
        fill_garbage(m->shared_begin, m->shared_end, garbage_byte());
    }
    fill_garbage(dynamic_memory, dynamic_memory + now_running->dynamic_shared, garbage_byte());
}

/* Nothing can run and some threads have not exited: says who waits where. */
void describe_stuck() {
    unsigned barrier = 0, collective = 0, others = 0;
    const thread *at_collective = nullptr;
    for (unsigned i = 0; i < thread_count; i++) {
        barrier += threads[i].where == AT_BARRIER || threads[i].where == AT_PART;
        collective += threads[i].where == AT_WARP;
        others += threads[i].where == AT_CLUSTER;
        at_collective = threads[i].where == AT_WARP && !at_collective ? &threads[i] : at_collective;
    }
    char text[400];
    if (at_collective) {
        const index3 &t = at_collective->state.thread_idx;
        snprintf(text, sizeof text,
                 "warp divergence: %u threads wait in a warp collective, the first is (%u,%u,%u) of block (%u,%u,%u) "
                 "at line %d with mask 0x%08x; "
                 "%u wait at a barrier, %u of %u have exited",
                 collective, t.x, t.y, t.z, block_index.x, block_index.y, block_index.z, at_collective->line,
                 at_collective->op->mask, barrier, exited, thread_count);
    } else if (others) {
        snprintf(text, sizeof text,
                 "%u threads of block (%u,%u,%u) wait for other blocks of the cluster, which send nothing more", others,
                 block_index.x, block_index.y, block_index.z);
    } else {
        snprintf(text, sizeof text,
                 "barrier divergence: %u of %u threads of block (%u,%u,%u) wait at line %d while %u have exited",
                 barrier, thread_count, block_index.x, block_index.y, block_index.z, barrier_line, exited);
    }
    failure = text;
}

void abandon_block() {
    for (unsigned i = 0; i < thread_count; i++) {
        if (threads[i].where != UNSTARTED && threads[i].where != EXITED) {
            reset_fibre(threads[i].on);
        }
    }
}

/* Runs the block until no thread of it can go on. */
void run_ready() {
    running = &caller;
    if (thread *t = take_ready()) {
        switch_to(t->on);
    } else if (started < thread_count) {
        switch_to(take_idle());
    }
}

/* ---- >>cluster: one block runs until all of its threads wait, then the next. All shared memory that is static is that
 * of the block that runs; what others have in theirs is kept meanwhile. Each block has dynamic memory of its own. */

/* Past the sanitizer, as fill_garbage. */
void copy_bytes(unsigned char *to, const unsigned char *from, size_t count) {
#if defined(__x86_64__)
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
#else
    for (size_t i = 0; i < count; i++) {
        ((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
    }
#endif
}

void swap_block(block &b) {
    std::swap(warps, b.warps);
    std::swap(started, b.started);
    std::swap(exited, b.exited);
    std::swap(at_barrier, b.at_barrier);
    std::swap(at_part, b.at_part);
    std::swap(barrier_line, b.barrier_line);
    std::swap(part_line, b.part_line);
    std::swap(block_index, b.index);
    std::swap(dynamic_memory, b.dynamic_memory);
    std::swap(ready, b.ready);
    std::swap(ready_head, b.ready_head);
}

void leave_block() {
    const ind_emulation::module *m = now_running->module;
    block &b = blocks[block_now];
    if (blocks.size() > 1 && m->shared_begin) {
        b.shared.resize((size_t)(m->shared_end - m->shared_begin));
        copy_bytes(b.shared.data(), m->shared_begin, b.shared.size());
    }
    swap_block(b);
}

void enter_block(unsigned number) {
    block &b = blocks[number];
    block_now = number;
    threads = b.threads.data();
    swap_block(b);
    if (!b.shared.empty()) {
        copy_bytes(now_running->module->shared_begin, b.shared.data(), b.shared.size());
    }
}

size_t static_bytes() {
    const ind_emulation::module *m = now_running->module;
    return m->shared_begin ? (size_t)(m->shared_end - m->shared_begin) : 0;
}

/* The place of an address in the shared memory of the block that runs, from 1: static memory, then dynamic. */
size_t shared_place(const void *p, int line) {
    const unsigned char *at = static_cast<const unsigned char *>(p), *begin = now_running->module->shared_begin;
    if (!rt_is_shared(p, 4)) {
        fail(line, "clusters: an address is not in shared memory");
    }
    return begin && at >= begin && at < now_running->module->shared_end
               ? (size_t)(at - begin) + 1
               : static_bytes() + (size_t)(at - dynamic_memory) + 1;
}

/* The address of a place in the shared memory of a block that does not run. */
unsigned char *place_of(block &b, size_t place) {
    return place <= static_bytes() ? b.shared.data() + place - 1 : b.dynamic_memory + (place - 1 - static_bytes());
}

/* The address of a place in the shared memory of a block. */
unsigned char *address_of(unsigned number, size_t place) {
    if (number != block_now) {
        return place_of(blocks[number], place);
    }
    return place <= static_bytes() ? now_running->module->shared_begin + place - 1
                                   : dynamic_memory + (place - 1 - static_bytes());
}

transactions *find_barrier(unsigned number, size_t place, int line) {
    std::map<size_t, transactions> &all = blocks[number].barriers;
    auto found = all.find(place);
    if (found == all.end()) {
        fail(line, "clusters: block %u has not made the barrier yet", number);
    }
    return &found->second;
}

void settle_barrier(transactions *t) {
    if (t->arrivals == 0 && t->bytes == 0) {
        *t = transactions{t->phase ^ 1, 1, 0};
    }
}

void rt_cluster_barrier(void *barrier) {
    blocks[block_now].barriers[shared_place(barrier, 0)] = transactions{0, 1, 0};
}

void rt_cluster_arrive() {
    if (current->arrivals > cluster_phases) {
        fail(0, "clusters: a thread arrives again before it has waited");
    }
    current->arrivals++;
    cluster_pending--;
    settle_cluster();
}

/* Is what the thread waits for there? */
bool has_come(const thread *t) {
    if (t->yielded) {
        return t->yielded < block_rounds;
    }
    if (t->mbarrier) {
        return !bulk_copies.empty() || !tensor.in_flight.empty() ||
               find_mbarrier(block_now, t->mbarrier, t->line)->phase != t->awaited_phase;
    }
    if (!t->awaited) {
        return cluster_phases >= t->arrivals;
    }
    return find_barrier(block_now, t->awaited, t->line)->phase != t->awaited_phase;
}

uint64_t next_random();

/* The thread goes on in the next round of the blocks that run beside this one; in random order, in one of the next. */
void rt_yield_block(int line) {
    if (blocks.size() == 1) {
        rt_pause();
        return;
    }
    if (block_rounds > MAX_ROUNDS) {
        fail(line, "blocks wait for one another");
    }
    current->yielded = block_rounds + (wanted_now == RANDOM ? (unsigned)(next_random() % 40) : 0);
    yielding++;
    wait_as(AT_CLUSTER, line);
    yielding--;
    current->yielded = 0;
}

unsigned long long rt_nanoseconds() {
    static std::atomic<unsigned long long> now;
    return now += strtoull(environment("IND_EMULATION_TICK", "1000").c_str(), nullptr, 0);
}

void await(size_t what, int phase, int line) {
    current->awaited = what;
    current->awaited_phase = phase;
    current->line = line;
    if (!has_come(current)) {
        wait_as(AT_CLUSTER, line);
    }
}

void rt_cluster_arrived(int line) {
    await(0, 0, line);
}

const void *rt_cluster_at(const void *own, int number, int line) {
    const size_t place = shared_place(own, line);
    if (number < 0 || (size_t)number >= blocks.size()) {
        fail(line, "clusters: block %d of %d", number, (int)blocks.size());
    }
    block &b = blocks[(unsigned)number];
    if ((unsigned)number == block_now) {
        return own;
    }
    if (b.exited == thread_count) {
        fail(line, "clusters: block %d has exited", number);
    }
    return place_of(b, place);
}

void rt_cluster_send(void *at, void *barrier, int number, const void *data, int bytes, int line) {
    if (number < 0 || (size_t)number >= blocks.size()) {
        fail(line, "clusters: block %d of %d", number, (int)blocks.size());
    }
    size_t place = shared_place(at, line);
    transactions *t = find_barrier((unsigned)number, shared_place(barrier, line), line);
    if ((unsigned)number == block_now) {
        copy_bytes(static_cast<unsigned char *>(at), static_cast<const unsigned char *>(data), (size_t)bytes);
    } else if (blocks[(unsigned)number].exited == thread_count) {
        fail(line, "clusters: block %d has exited", number);
    } else {
        memcpy(place_of(blocks[(unsigned)number], place), data, (size_t)bytes);
    }
    t->bytes -= bytes;
    settle_barrier(t);
}

void rt_cluster_expect(void *barrier, int bytes, int line) {
    transactions *t = find_barrier(block_now, shared_place(barrier, line), line);
    if (t->arrivals == 0) {
        fail(line, "clusters: a second thread comes to the barrier");
    }
    t->bytes += bytes;
    t->arrivals--;
    settle_barrier(t);
}

void rt_cluster_wait(void *barrier, int phase, int line) {
    await(shared_place(barrier, line), phase, line);
}

/* Lets the threads of the block go on for which what they wait for has come. */
bool wake_threads() {
    bool any = false;
    for (unsigned i = 0; i < thread_count; i++) {
        thread *t = &threads[order[i]];
        if (t->where == AT_CLUSTER && has_come(t)) {
            make_ready(t);
            any = true;
        }
    }
    return any;
}

/* Gives the block its turn; false if none of its threads could go on. */
bool take_turn(unsigned number) {
    bool any = false;
    enter_block(number);
    while (failure.empty() && exited < thread_count && (wake_threads() || started < thread_count)) {
        run_ready();
        any = true;
    }
    leave_block();
    return any;
}

/* The first block that has threads left; as many as there are: none has. */
unsigned first_alive() {
    unsigned i = 0;
    while (i < blocks.size() && blocks[i].exited == thread_count) {
        i++;
    }
    return i;
}

/* The dynamic memory of each block is of exactly the requested size, so that the sanitizer sees an overrun by one byte.
 */
bool begin_cluster(unsigned count) {
    blocks.resize(count);
    for (block &b : blocks) {
        void *memory = nullptr;
        if (posix_memalign(&memory, 1024, now_running->dynamic_shared ? now_running->dynamic_shared : 1) != 0) {
            failure = "no memory for dynamic shared memory";
            return false;
        }
        b.dynamic_memory = static_cast<unsigned char *>(memory);
    }
    return true;
}

/* The most blocks that run side by side and divide the grid. */
unsigned blocks_beside(const launch &what) {
    const uint64_t total = (uint64_t)what.grid.x * what.grid.y * what.grid.z;
    unsigned count = what.kernel->beside;
    while (count > 1 && total % count != 0) {
        count--;
    }
    return count;
}

void end_cluster() {
    for (block &b : blocks) {
        free(b.dynamic_memory);
        b.dynamic_memory = nullptr;
    }
}

bool run_cluster(uint64_t first, launch_order wanted) {
    const index3 &g = now_running->grid;
    const unsigned count = (unsigned)blocks.size();
    cluster_phases = yielding = 0;
    cluster_pending = cluster_alive = thread_count * count;
    bulk_copies.clear();
    tensor = tensor_memory();
    for (unsigned i = 0; i < count; i++) {
        const uint64_t at = first + i;
        blocks[i].shared.clear(); /* of another cluster, or kernel */
        blocks[i].barriers.clear();
        blocks[i].mbarriers.clear();
        blocks[i].copied.clear();
        enter_block(i);
        block_index = index3{(unsigned)(at % g.x), (unsigned)(at / g.x % g.y), (unsigned)(at / g.x / g.y)};
        begin_block();
        leave_block();
    }
    for (block_rounds = 1; failure.empty() && first_alive() < count; block_rounds++) {
        bool any = false;
        for (unsigned i = 0; i < count && failure.empty(); i++) {
            any |= take_turn(wanted == FORWARD ? i : count - 1 - i);
        }
        if (!any && !yielding && failure.empty()) {
            enter_block(first_alive());
            describe_stuck();
            leave_block();
        }
    }
    if (failure.empty() && !bulk_copies.empty()) {
        failure = "bulk copy: a block has exited before the bytes arrived";
    }
    for (unsigned i = 0; i < count && !failure.empty(); i++) {
        threads = blocks[i].threads.data();
        abandon_block();
    }
    if (const char *wrong = failure.empty() ? tensor.leave() : nullptr) {
        failure = wrong;
    }
    return failure.empty();
}

bool run_blocks(launch_order wanted) {
    const index3 &g = now_running->grid;
    const uint64_t total = (uint64_t)g.x * g.y * g.z, count = blocks.size();
    for (uint64_t i = 0; i < total; i += count) {
        if (wanted == RANDOM) {
            choose_order(wanted);
        }
        if (!run_cluster(wanted == FORWARD ? i : total - count - i, wanted)) {
            return false;
        }
    }
    return true;
}

} // namespace

bool sanitized() {
    return __sanitizer_start_switch_fiber != nullptr;
}

bool run_launch(const launch &what, std::string &error) {
    launch_order wanted = wanted_now = wanted_order();
    now_running = &what;
    thread_count = what.block.x * what.block.y * what.block.z;
    failure.clear();
    choose_order(wanted);
    dependency_waits = 0;
    written_before.swap(written_now);
    written_now.clear();
    bool ok =
        begin_cluster(what.kernel->cluster > 1 ? what.kernel->cluster : blocks_beside(what)) && run_blocks(wanted);
    end_cluster();
    if (ok && what.dependent && dependency_waits != (uint64_t)thread_count * what.grid.x * what.grid.y * what.grid.z) {
        failure = "launched before the kernel before it is done, and not every thread waits for that once";
        ok = false;
    }
    if (!ok) {
        error = std::string("kernel ") + what.name + ": " + failure;
    }
    return ok;
}

const runtime runtime_table = {rt_barrier,
                               rt_barrier_of,
                               rt_yield_block,
                               rt_nanoseconds,
                               rt_syncwarp,
                               rt_shuffle,
                               rt_vote,
                               rt_match,
                               rt_reduce,
                               rt_lane,
                               rt_ldmatrix,
                               rt_mma,
                               rt_cp_async,
                               rt_cp_async_commit,
                               rt_cp_async_wait,
                               rt_is_shared,
                               rt_pause,
                               rt_fault,
                               rt_dependency_wait,
                               rt_dependency_trigger,
                               rt_cluster_barrier,
                               rt_cluster_arrive,
                               rt_cluster_arrived,
                               rt_cluster_send,
                               rt_cluster_expect,
                               rt_cluster_wait,
                               rt_mbarrier_init,
                               rt_mbarrier_arrive,
                               rt_mbarrier_wait,
                               rt_mbarrier_arrive_at,
                               rt_bulk_tensor,
                               rt_wgmma_read,
                               rt_wgmma_commit,
                               rt_wgmma_wait,
                               rt_cluster_at,
                               rt_access,
                               rt_shared_address,
                               rt_tensor_alloc,
                               rt_tensor_relinquish,
                               rt_tensor_free,
                               rt_tensor_fence,
                               rt_tensor_mma,
                               rt_tensor_commit,
                               rt_tensor_load,
                               rt_tensor_wait};

} // namespace emulation
