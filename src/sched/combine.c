/* ================================================================================================= >>combine */

enum { IND__SCHED_KNOWN_BYTES = 64 };

/* The launches under construction. Kernels are numbered in the chosen order; a launch runs at the position of its first
   kernel. */
typedef struct sched__combiner {
    sched__fuser *f;
    uint32_t *launch, *next, *tail; /* by kernel: its launch; the next kernel of it, 0: none. By launch: its last one */
    uint32_t *parts, *words;        /* by launch; words of 8 bytes that its arguments take */
    uint32_t *functions; /* by launch: number of distinct functions: the first kernel, and each one unlike the first and
                            the previous one */
    uint32_t *open, num_open;                  /* launches that further kernels may be added to, ascending */
    bool *large;                               /* by kernel: pointwise, and moves more bytes than policy.launch_bytes */
    uint32_t *maker;                           /* by buffer: 1 + kernel that writes it */
    uint32_t *reader, *first_reader, *written; /* kernels that read a buffer; number added so far */
    /* At the hints and at corners of the declared ranges. By kernel: bytes of the arena in use while it runs, and bytes
       that it is the first to use. limit: the peak. */
    int64_t *live[IND__SCHED_NUM_CORNERS], *made[IND__SCHED_NUM_CORNERS], limit[IND__SCHED_NUM_CORNERS];
    struct sched__known_bytes {
        uint32_t id; /* of a buffer's size; 0: free */
        int64_t bytes[IND__SCHED_NUM_CORNERS];
    } known[IND__SCHED_KNOWN_BYTES];
} sched__combiner;

/* Largest distance of the kernels of a launch in the order, launches tried per kernel, and words of arguments per
   launch. */
enum { IND__SCHED_COMBO_DISTANCE = 512, IND__SCHED_COMBO_TRIES = 64, IND__SCHED_COMBO_WORDS = 448 };

/* Words of its arguments on the device: pointers, its range of blocks, and a few sizes. */
static uint32_t sched__combo_words(const ind_kernel *k) {
    return k->num_args + 6;
}

/* True if the matrix product leaves multiprocessors idle: its tiles are at most the blocks that fill the GPU. */
static bool sched__small_product(const sched__fuser *f, const ind_kernel *k) {
    const int64_t tile = f->policy.small_tile;
    int64_t blocks = 1;
    for (int v = 0; v < k->body->rank; v++) {
        int64_t n = sched__hint(sched__extent(k->body->var[v]));
        if (v == k->matmul.m || v == k->matmul.n) n = (n + tile - 1) / tile;
        blocks = n && blocks > INT64_MAX / n ? INT64_MAX : blocks * n;
    }
    return blocks <= f->policy.fill_blocks;
}

/* IND_COMBO_COMBINED if the kernel may share a launch, else the reason against it. */
static ind_combo_reason sched__combinable(const sched__fuser *f, const ind_kernel *k) {
    if (f->policy.disable || f->policy.disable_combo) return IND_COMBO_DISABLED;
    if (f->keep_order) return IND_COMBO_MEMORY;
    if (k->run) return IND_COMBO_LARGE; /* runs are for large data; the shared memory of their columns is not counted */
    if (k->kind == IND_KERNEL_SORT) return IND_COMBO_KIND;
    if (k->scores) return IND_COMBO_ATTENTION;
    if (k->kind == IND_KERNEL_EXTERN) return IND_COMBO_EXTERN;
    if (ind__body_unbacked(f->program, k->body)) return IND_COMBO_DATA_SIZES;
    if (k->kind == IND_KERNEL_MATMUL) return sched__small_product(f, k) ? IND_COMBO_COMBINED : IND_COMBO_FILLS;
    int64_t bytes = sched__add_hint(sched__hint(k->bytes_read), sched__hint(k->bytes_written));
    bool combines =
        bytes <= f->policy.launch_bytes && sched__hint(k->flops) / f->policy.ops_per_byte <= f->policy.launch_bytes;
    return combines ? IND_COMBO_COMBINED : IND_COMBO_LARGE;
}

/* True if both are likely to be one device function with different arguments. */
static bool sched__likely_same_function(const ind_kernel *a, const ind_kernel *b) {
    return a->kind == b->kind && a->num_args == b->num_args && a->num_reads == b->num_reads &&
           a->body->num_inst == b->body->num_inst;
}

static bool sched__share_read(const ind_kernel *a, const ind_kernel *b) {
    for (uint32_t i = 0; i < a->num_reads; i++)
        for (uint32_t k = 0; k < b->num_reads; k++)
            if (a->arg[i] == b->arg[k]) return true;
    return false;
}

/* True if the two kernels may share a launch. Matrix products must share an operand and have the same depth, so that
   one function and one tile size serve all. Large pointwise kernels must be alike and read a common buffer: the second
   one occupies the multiprocessors that the end of the first leaves idle (rotary embedding of queries and keys, 336
   MiB, H200: 87.6 us, two launches 89.1 us). Small kernels need nothing in common. */
static bool sched__may_share_launch(const sched__combiner *x, uint32_t i, uint32_t k) {
    const ind_kernel *a = &x->f->schedule->kernel[i], *b = &x->f->schedule->kernel[k];
    if ((a->kind == IND_KERNEL_MATMUL) != (b->kind == IND_KERNEL_MATMUL)) return false;
    if (a->kind == IND_KERNEL_MATMUL)
        return sched__share_read(a, b) && a->body->rank == b->body->rank && ind_expr_same(a->rnumel, b->rnumel);
    const bool large = x->large[i];
    return large == x->large[k] && (!large || (sched__likely_same_function(a, b) && sched__share_read(a, b)));
}

static bool sched__is_new_function(const sched__combiner *x, uint32_t launch, uint32_t k) {
    const ind_kernel *kernel = x->f->schedule->kernel;
    return !sched__likely_same_function(&kernel[launch], &kernel[k]) &&
           !sched__likely_same_function(&kernel[x->tail[launch]], &kernel[k]);
}

/* True if the loop of this version stores only into its own part of the concatenation. */
static bool sched__stores_part(const ind__lowered *p, uint32_t version) {
    const ind__buffer *b = &p->buffer[version];
    const ind_body *body = ind__ok(b->part_end) ? p->loop[b->loop].body : NULL;
    for (uint32_t i = 1; body && i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op != IND_LOOP_STORE || in->source != version) continue;
        ind_expr at = ind_expr_floordiv(body->index[in->index], b->layout.stride[b->part_dim]);
        at = ind_expr_mod(at, b->layout.size[b->part_dim]);
        if (!ind__ok(at) || !ind_known_le(b->part_begin, at) || !ind_known_lt(at, b->part_end)) return false;
    }
    return body != NULL;
}

/* True if two versions of one buffer are disjoint parts of a concatenation: then their order does not matter. */
static bool sched__parts_disjoint(const ind__lowered *p, uint32_t a, uint32_t b) {
    const ind__buffer *x = &p->buffer[a], *y = &p->buffer[b];
    if (!ind__ok(x->part_end) || !ind__ok(y->part_end)) return false;
    if (!ind_known_le(x->part_end, y->part_begin) && !ind_known_le(y->part_end, x->part_begin)) return false;
    return sched__stores_part(p, a) && sched__stores_part(p, b);
}

static void sched__run_after(const sched__combiner *x, uint32_t kernel, uint32_t k, uint32_t *least) {
    if (kernel != k && x->launch[kernel] + 1 > *least) *least = x->launch[kernel] + 1;
}

/* Kernel k writes a new version of `old`, so it runs after the writer and all readers of `old`. Both may be in one
   launch if they store parts of a concatenation. */
static void sched__run_after_version(const sched__combiner *x, uint32_t version, uint32_t k, uint32_t *least) {
    const ind__lowered *p = x->f->program;
    uint32_t old = p->buffer[version].mutates;
    for (uint32_t r = 0; r < x->written[old]; r++) sched__run_after(x, x->reader[x->first_reader[old] + r], k, least);
    for (int n = 0; old && x->maker[old]; old = p->buffer[old].mutates, n++) {
        uint32_t maker = x->maker[old] - 1;
        if (n == IND__SCHED_NEIGHBOURS || !sched__parts_disjoint(p, old, version)) {
            sched__run_after(x, maker, k, least);
            return;
        }
        if (x->launch[maker] > *least) *least = x->launch[maker];
    }
}

/* The first position at which kernel k can run: after its dependencies, and after all readers of buffers that it
   changes. */
static uint32_t sched__earliest_launch(const sched__combiner *x, uint32_t k) {
    const ind_kernel *kernel = &x->f->schedule->kernel[k];
    uint32_t least = 0;
    for (uint32_t i = 0; i < kernel->num_args; i++) {
        uint32_t b = kernel->arg[i];
        if (i >= kernel->num_reads)
            sched__run_after_version(x, b, k, &least);
        else if (x->maker[b])
            sched__run_after(x, x->maker[b] - 1, k, &least);
    }
    return least;
}

/* Records kernel k at its original position, since later kernels may depend on it. */
static void sched__record_kernel(sched__combiner *x, uint32_t k) {
    const ind_kernel *kernel = &x->f->schedule->kernel[k];
    for (uint32_t i = 0; i < kernel->num_args; i++) {
        uint32_t b = kernel->arg[i];
        if (i >= kernel->num_reads)
            x->maker[b] = k + 1;
        else
            x->reader[x->first_reader[b] + x->written[b]++] = k;
    }
}

/* True if the outputs of kernel k, live from `launch` on, leave the arena at or below the peak. */
static bool sched__fits_below_peak(const sched__combiner *x, uint32_t launch, uint32_t k) {
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++)
        for (uint32_t at = launch; at < k && x->made[c][k]; at++)
            if (x->live[c][at] > x->limit[c] - x->made[c][k]) return false;
    return true;
}

/* The launch that kernel k is added to: the last one with a similar kernel, else the last possible one. k if there is
   none, with the reason in *why. */
static uint32_t sched__choose_launch(const sched__combiner *x, uint32_t k, ind_combo_reason *why) {
    const sched__fuser *f = x->f;
    const ind_kernel *kernel = &f->schedule->kernel[k];
    uint32_t least = sched__earliest_launch(x, k), best = k, tries = 0;
    *why = x->large[k] ? IND_COMBO_LARGE : IND_COMBO_NEEDED;
    for (uint32_t i = x->num_open; i-- > 0 && tries < IND__SCHED_COMBO_TRIES; tries++) {
        uint32_t at = x->open[i];
        if (at < least || k - at > IND__SCHED_COMBO_DISTANCE) break;
        const ind_kernel *first = &f->schedule->kernel[at];
        if (!sched__may_share_launch(x, at, k) || (best != k && !sched__likely_same_function(first, kernel))) continue;
        if (x->parts[at] >= (uint32_t)f->policy.max_parts ||
            x->functions[at] + sched__is_new_function(x, at, k) > (uint32_t)f->policy.max_functions ||
            x->words[at] + sched__combo_words(kernel) > IND__SCHED_COMBO_WORDS) {
            if (best == k) *why = IND_COMBO_FULL;
        } else if (!sched__fits_below_peak(x, at, k)) {
            if (best == k) *why = IND_COMBO_MEMORY;
        } else {
            best = at;
            if (sched__likely_same_function(first, kernel)) break;
        }
    }
    return best;
}

static void sched__add_to_launch(sched__combiner *x, uint32_t launch, uint32_t k) {
    ind_schedule *s = x->f->schedule;
    x->launch[k] = launch;
    x->functions[launch] += sched__is_new_function(x, launch, k);
    x->next[x->tail[launch]] = k, x->tail[launch] = k;
    x->parts[launch]++;
    x->words[launch] += sched__combo_words(&s->kernel[k]);
    s->combo[k] = s->combo[launch] = IND_COMBO_COMBINED;
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++)
        for (uint32_t at = launch; at < k && x->made[c][k]; at++)
            x->live[c][at] = sched__add_hint(x->live[c][at], x->made[c][k]);
}

/* A size, or a sum of sizes, at a corner of the ranges; INT64_MAX if it overflows there. */
static int64_t sched__at_corner(ind_expr e, int corner) {
    int64_t value;
    return ind_expr_eval(e, sched__corner_value, &corner, &value) ? INT64_MAX : value > 0 ? value : 0;
}

/* Bytes of a buffer in the arena, at each corner. Few sizes occur, so they are kept by their expressions. */
static const int64_t *sched__aligned_bytes(sched__combiner *x, uint32_t buffer) {
    const ind_expr bytes = x->f->buffers.bytes[buffer];
    struct sched__known_bytes *known = &x->known[bytes.id % IND__SCHED_KNOWN_BYTES];
    if (known->id == bytes.id) return known->bytes;
    const ind_expr size = ind__align_up(bytes, IND__ALIGNMENT);
    known->id = bytes.id;
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++) known->bytes[c] = sched__at_corner(size, c);
    return known->bytes;
}

/* Adds the argument i of kernel k to the bytes of the arena. end, by storage: 1 + the last kernel. */
static void sched__add_live(sched__combiner *x, uint32_t k, uint32_t i, uint32_t *end) {
    const ind_schedule *s = x->f->schedule;
    const uint32_t b = s->kernel[k].arg[i];
    if (!ind__ok(s->offset[b])) return;
    const int64_t *bytes = sched__aligned_bytes(x, b);
    const bool makes = i >= s->kernel[k].num_reads && !x->f->program->buffer[b].mutates, begins = !end[s->storage[b]];
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++) {
        if (makes) x->made[c][k] = sched__add_hint(x->made[c][k], bytes[c]);
        if (begins) x->live[c][k] = sched__add_hint(x->live[c][k], bytes[c]);
    }
    end[s->storage[b]] = k + 1;
}

/* Bytes of the current plan in the arena while each kernel runs, at each corner. */
static bool sched__find_live(sched__combiner *x) {
    sched__fuser *f = x->f;
    const uint32_t n = f->schedule->num_kernels;
    int64_t *freed[IND__SCHED_NUM_CORNERS], live[IND__SCHED_NUM_CORNERS] = {0};
    uint32_t *end = sched__scratch(f, f->program->num_buffers, sizeof *end);
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++) {
        freed[c] = sched__scratch(f, (size_t)n + 1, sizeof(int64_t));
        x->live[c] = sched__scratch(f, n, sizeof(int64_t));
        x->made[c] = sched__scratch(f, n, sizeof(int64_t));
    }
    if (f->failed) return false;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < f->schedule->kernel[k].num_args; i++) sched__add_live(x, k, i, end);
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        const int64_t *bytes = end[b] ? sched__aligned_bytes(x, b) : NULL;
        for (int c = 0; bytes && c < IND__SCHED_NUM_CORNERS; c++)
            freed[c][end[b]] = sched__add_hint(freed[c][end[b]], bytes[c]);
    }
    for (int c = 0; c < IND__SCHED_NUM_CORNERS; c++)
        for (uint32_t k = 0; k < n; k++) {
            live[c] = live[c] > freed[c][k] ? live[c] - freed[c][k] : 0;
            live[c] = x->live[c][k] = sched__add_hint(live[c], x->live[c][k]);
            if (live[c] > x->limit[c]) x->limit[c] = live[c];
        }
    return true;
}

static bool sched__combiner_init(sched__combiner *x, sched__fuser *f) {
    uint32_t n = f->schedule->num_kernels, buffers = f->program->num_buffers, reads = 0;
    *x = (sched__combiner){.f = f};
    x->launch = sched__scratch(f, n, sizeof(uint32_t)), x->next = sched__scratch(f, n, sizeof(uint32_t));
    x->tail = sched__scratch(f, n, sizeof(uint32_t)), x->open = sched__scratch(f, n, sizeof(uint32_t));
    x->parts = sched__scratch(f, n, sizeof(uint32_t)), x->words = sched__scratch(f, n, sizeof(uint32_t));
    x->functions = sched__scratch(f, n, sizeof(uint32_t)), x->large = sched__scratch(f, n, sizeof(bool));
    x->maker = sched__scratch(f, buffers, sizeof(uint32_t)), x->written = sched__scratch(f, buffers, sizeof(uint32_t));
    x->first_reader = sched__scratch(f, (size_t)buffers + 1, sizeof(uint32_t));
    for (uint32_t k = 0; k < n; k++) reads += f->schedule->kernel[k].num_reads;
    x->reader = sched__scratch(f, reads, sizeof(uint32_t));
    if (f->failed) return false;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < f->schedule->kernel[k].num_reads; i++)
            x->first_reader[f->schedule->kernel[k].arg[i] + 1]++;
    for (uint32_t b = 0; b < buffers; b++) x->first_reader[b + 1] += x->first_reader[b];
    return sched__find_live(x);
}

/* Adds each kernel to an earlier launch or starts one. A launch to which no other kernel is added has one kernel. */
static void sched__choose_launches(sched__combiner *x) {
    ind_schedule *s = x->f->schedule;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        uint32_t launch = k;
        x->launch[k] = x->tail[k] = k;
        x->parts[k] = x->functions[k] = 1, x->words[k] = sched__combo_words(&s->kernel[k]);
        s->combo[k] = sched__combinable(x->f, &s->kernel[k]);
        x->large[k] = s->combo[k] == IND_COMBO_LARGE && s->kernel[k].kind == IND_KERNEL_POINTWISE;
        if (s->combo[k] == IND_COMBO_COMBINED || x->large[k]) launch = sched__choose_launch(x, k, &s->combo[k]);
        if (launch != k)
            sched__add_to_launch(x, launch, k);
        else if (s->combo[k] >= IND_COMBO_NEEDED || x->large[k])
            x->open[x->num_open++] = k;
        sched__record_kernel(x, k);
    }
}

/* Makes the kernels of each launch consecutive; false: each launch has one kernel. */
static bool sched__gather_launches(const sched__combiner *x, ind_kernel *kernel, ind_combo_reason *combo) {
    ind_schedule *s = x->f->schedule;
    uint32_t n = 0;
    s->num_launches = 0;
    for (uint32_t first = 0; first < s->num_kernels; first++) {
        if (x->launch[first] != first) continue;
        uint32_t at = n;
        for (uint32_t k = first, more = x->parts[first]; more > 0; more--, k = x->next[k]) {
            kernel[n] = s->kernel[k], combo[n] = s->combo[k];
            s->launch[n++] = at;
        }
        s->num_launches++;
    }
    return s->num_launches < s->num_kernels;
}

static void sched__launch_separately(ind_schedule *s) {
    for (uint32_t k = 0; k < s->num_kernels; k++) s->launch[k] = k;
    s->num_launches = s->num_kernels;
}

/* True if the plan is no larger than the other one at all tried points. */
static bool sched__no_larger(const ind_schedule *s, const ind_schedule *before) {
    for (int c = 0; c < IND__SCHED_NUM_POINTS; c++)
        if (sched__at_corner(s->arena_bytes, c) > sched__at_corner(before->arena_bytes, c) ||
            sched__at_corner(s->peak_bytes, c) > sched__at_corner(before->peak_bytes, c))
            return false;
    return true;
}

/* Plans the memory of the combined kernels; restores the previous order if the arena would grow. */
static bool sched__plan_combined(sched__fuser *f, ind_kernel *kernel, ind_combo_reason *combo) {
    ind_schedule *s = f->schedule;
    ind_schedule before = *s;
    s->kernel = kernel, s->combo = combo;
    s->arena_bytes.id = 0;
    if (!sched__plan_memory(f)) return false;
    if (sched__no_larger(s, &before)) return true;
    before.arena = s->arena; /* it may have grown; the schedule still owns its new allocations */
    *s = before;
    sched__launch_separately(s);
    for (uint32_t k = 0; k < s->num_kernels; k++)
        if (s->combo[k] == IND_COMBO_COMBINED) s->combo[k] = IND_COMBO_MEMORY;
    return true;
}

/* Combines small independent kernels into one launch. A kernel only moves up, to the position of the launch, so it
   delays no other kernel. */
static bool sched__combine(sched__fuser *f) {
    ind_schedule *s = f->schedule;
    sched__combiner x;
    s->launch = sched__schedule_alloc(f, NULL, s->num_kernels, sizeof *s->launch);
    s->combo = sched__schedule_alloc(f, NULL, s->num_kernels, sizeof *s->combo);
    ind_kernel *kernel = sched__schedule_alloc(f, NULL, s->num_kernels, sizeof *kernel);
    ind_combo_reason *combo = sched__schedule_alloc(f, NULL, s->num_kernels, sizeof *combo);
    if (f->failed || !sched__combiner_init(&x, f)) return false;
    sched__choose_launches(&x);
    if (sched__gather_launches(&x, kernel, combo)) return sched__plan_combined(f, kernel, combo);
    return true;
}
