/* ================================================================================================== >>verify */

typedef struct sched__range_values {
    int64_t begin[IND__SCHED_NUM_CORNERS], end[IND__SCHED_NUM_CORNERS];
} sched__range_values;

typedef struct sched__check {
    const ind_schedule *s;
    uint32_t *step;        /* by loop: 1 + kernel */
    uint32_t *made;        /* by buffer: 1 + kernel that stores it */
    uint32_t *last;        /* by kernel: the last one of its launch */
    uint32_t *contents;    /* by buffer that owns memory: the buffer whose values the memory has */
    sched__lifetime *life; /* by buffer: lifetime in the arena; size invalid: not in the arena. From the first kernel of
                          the launch that writes it to the last kernel of the last launch that uses it */
    sched__range_values *number;    /* by buffer: bytes in the arena */
    uint32_t kernel, buffer, other; /* location of the failure */
} sched__check;

/* Each loop runs in exactly one kernel. */
static bool sched__check_loops(sched__check *v) {
    for (uint32_t k = 0; k < v->s->num_kernels; k++) {
        v->kernel = k;
        for (uint32_t i = 0; i < v->s->kernel[k].num_loops; i++) {
            uint32_t l = v->s->kernel[k].loop[i];
            if (l >= v->s->program->num_loops || v->step[l]) return false;
            v->step[l] = k + 1;
        }
    }
    for (uint32_t l = 0; l < v->s->program->num_loops; l++) {
        if (!v->step[l]) return false;
    }
    return true;
}

/* The kernels of a launch are consecutive, and a launch of several parts has no extern call. */
static bool sched__check_launches(sched__check *v) {
    const ind_schedule *s = v->s;
    uint32_t launches = 0;
    for (uint32_t k = v->kernel = 0; k < s->num_kernels; v->kernel = ++k) {
        bool first = s->launch[k] == k, more = k + 1 < s->num_kernels && s->launch[k + 1] == s->launch[k];
        launches += first;
        if (!first && (!k || s->launch[k] != s->launch[k - 1])) return false;
        if ((!first || more) && s->kernel[k].kind == IND_KERNEL_EXTERN) return false;
    }
    for (uint32_t k = s->num_kernels; k-- > 0;)
        v->last[k] = k + 1 < s->num_kernels && s->launch[k + 1] == s->launch[k] ? v->last[k + 1] : k;
    return launches == s->num_launches;
}

static bool sched__check_bodies(sched__check *v) {
    for (uint32_t k = 0; k < v->s->num_kernels; k++) {
        v->kernel = k;
        if (ind__body_verify(v->s->kernel[k].body)) return false;
    }
    return true;
}

static bool sched__has_arg(const ind_kernel *k, uint32_t buffer, bool written) {
    for (uint32_t i = written ? k->num_reads : 0; i < (written ? k->num_args : k->num_reads); i++) {
        if (k->arg[i] == buffer) return true;
    }
    return false;
}

static bool sched__check_args(sched__check *v) {
    for (uint32_t k = 0; k < v->s->num_kernels; k++) {
        const ind_kernel *kernel = &v->s->kernel[k];
        v->kernel = k;
        for (uint32_t i = 1; i < kernel->body->num_inst; i++) {
            const ind__inst *in = &kernel->body->inst[i];
            v->buffer = in->source;
            if (sched__is_access(in) && !sched__has_arg(kernel, in->source, in->op == IND_LOOP_STORE)) return false;
        }
        const ind__lowered *p = v->s->program;
        uint64_t sizes = ind__body_unbacked(p, kernel->body);
        for (uint32_t u = 0; u < p->num_unbacked; u++) {
            uint32_t count = v->buffer = p->unbacked[u].buffer;
            if ((sizes >> u & 1) && (!sched__has_arg(kernel, count, false) || sched__has_arg(kernel, count, true)))
                return false;
        }
        if (kernel->num_reads == kernel->num_args) return false;
    }
    return true;
}

static uint32_t sched__only_load(const ind_body *body, uint32_t buffer) {
    uint32_t at = 0;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        if (body->inst[i].op != IND_LOOP_LOAD || body->inst[i].source != buffer) continue;
        if (at && !ind_expr_same(body->index[body->inst[at].index], body->index[body->inst[i].index])) return 0;
        at = i;
    }
    return at;
}

/* True if memory then contains exactly the value that the kernel stores. */
static bool sched__stores_plainly(const ind_kernel *k, uint32_t buffer) {
    const ind__inst *store = &k->body->inst[sched__only_store(k->body, buffer)];
    return store->op == IND_LOOP_STORE && !store->arg[1] && !store->reduction && !store->flags;
}

/* True if the value of the load feeds a matrix product. */
static bool sched__is_operand(const ind_body *body, uint32_t load) {
    uint8_t *flag = ind__alloc(body->context, body->num_inst);
    bool operand = !flag || (sched__mark_operands(body, flag), flag[load]);
    ind__free(body->context, flag);
    return operand;
}

/* True if a kernel with rows may read the element that it then changes in place: one per point of its rows, or one per
   row whose read is unmasked. */
static bool sched__row_mutation_is_safe(const ind_kernel *k, uint32_t old, ind_expr index) {
    const ind_body *b = k->body;
    int along = 0;
    for (int v = b->rank; v < b->rank + b->rrank; v++) along += ind__expr_depends(index, b->var[v]);
    bool masked = false;
    for (uint32_t i = 1; i < b->num_inst; i++)
        masked = masked || (b->inst[i].op == IND_LOOP_LOAD && b->inst[i].source == old && b->inst[i].arg[0]);
    return along == b->rrank || (!along && !masked);
}

/* True if the kernel reads only those elements of the changed buffer that the same points store, and before the
   store. */
static bool sched__reads_only_mutated(const ind_kernel *k, uint32_t old, uint32_t version) {
    if (!sched__has_arg(k, old, false)) return true;
    uint32_t load = sched__only_load(k->body, old), store = sched__only_store(k->body, version);
    if (k->kind == IND_KERNEL_EXTERN) return load && store;
    if (!load || !store || load > store || k->kind == IND_KERNEL_SORT) return false;
    ind_expr index = k->body->index[k->body->inst[store].index];
    if (k->kind == IND_KERNEL_MATMUL && sched__is_operand(k->body, load)) return false;
    bool rows = k->kind == IND_KERNEL_REDUCTION || k->kind == IND_KERNEL_SCAN;
    return ind_expr_same(k->body->index[k->body->inst[load].index], index) &&
           (!rows || sched__row_mutation_is_safe(k, old, index));
}

/* True if the kernel that writes the version may also contain readers of the old one. */
static bool sched__mutation_is_safe(const sched__check *v, uint32_t version) {
    const ind_kernel *k = &v->s->kernel[v->kernel];
    return k->kind != IND_KERNEL_EXTERN && sched__stores_plainly(k, version) &&
           sched__reads_only_mutated(k, v->s->program->buffer[version].mutates, version);
}

/* Based on the loops before fusion. A reader of a buffer runs in or after the kernel of its writer, and not after the
   kernel that changes it in place. It may run in that kernel if all its reads are of elements that the same point
   stores. */
static bool sched__check_order(sched__check *v) {
    const ind__lowered *p = v->s->program;
    for (uint32_t l = 0; l < p->num_loops; l++) {
        const ind_body *body = p->loop[l].body;
        v->kernel = v->step[l] - 1;
        for (uint32_t i = 1; i < body->num_inst; i++) {
            const ind__buffer *read = &p->buffer[body->inst[i].source];
            if (body->inst[i].op != IND_LOOP_LOAD) continue;
            v->buffer = body->inst[i].source, v->other = read->mutated_by;
            bool made_here = read->kind == IND__BUFFER_COMPUTED && v->step[read->loop] == v->step[l];
            if (!made_here && !sched__has_arg(&v->s->kernel[v->kernel], v->buffer, false))
                continue; /* no kernel uses it */
            if (read->kind == IND__BUFFER_COMPUTED && v->step[read->loop] > v->step[l]) return false;
            uint32_t changes = read->mutated_by ? p->buffer[read->mutated_by].loop : l;
            if (changes != l && v->step[changes] < v->step[l]) return false;
            if (changes != l && v->step[changes] == v->step[l] && !sched__mutation_is_safe(v, read->mutated_by))
                return false;
            bool forwarded = read->mutates && v->step[read->loop] == v->step[l];
            if (forwarded && !sched__stores_plainly(&v->s->kernel[v->kernel], body->inst[i].source)) return false;
        }
        for (uint32_t o = 0; o < p->loop[l].num_outputs; o++) {
            uint32_t old = p->buffer[p->loop[l].output[o]].mutates;
            v->buffer = p->loop[l].output[o], v->other = old;
            if (p->buffer[old].kind == IND__BUFFER_COMPUTED && old && v->step[p->buffer[old].loop] >= v->step[l])
                return false;
        }
    }
    return true;
}

/* True if the loops are in one launch, but not in one kernel. */
static bool sched__in_same_launch(const sched__check *v, uint32_t a, uint32_t b) {
    return v->step[a] != v->step[b] && v->s->launch[v->step[a] - 1] == v->s->launch[v->step[b] - 1];
}

/* True if no other kernel of the launch writes an older version, except for parts of a concatenation. Versions have the
   order of the kernels, so those of a launch are adjacent. */
static bool sched__check_older(sched__check *v, uint32_t version) {
    const ind__lowered *p = v->s->program;
    for (uint32_t old = p->buffer[version].mutates; old; old = p->buffer[old].mutates) {
        const ind__buffer *b = &p->buffer[v->buffer = old];
        if (b->kind != IND__BUFFER_COMPUTED || !sched__in_same_launch(v, b->loop, p->buffer[version].loop)) break;
        if (!sched__parts_disjoint(p, old, version)) return false;
    }
    return true;
}

/* Based on the loops before fusion. The kernels of a launch run in any order, so none reads or changes a buffer that
   another one writes, except for parts of one concatenation. With the order of the launches, no dependency path
   connects two of them. */
static bool sched__check_parts(sched__check *v) {
    const ind__lowered *p = v->s->program;
    for (uint32_t l = 0; l < p->num_loops; l++) {
        const ind_body *body = p->loop[l].body;
        v->kernel = v->step[l] - 1;
        for (uint32_t i = 1; i < body->num_inst; i++) {
            const ind__buffer *read = &p->buffer[v->buffer = body->inst[i].source];
            if (body->inst[i].op != IND_LOOP_LOAD) continue;
            if (!sched__has_arg(&v->s->kernel[v->kernel], v->buffer, false)) continue; /* no kernel uses it */
            if (read->kind == IND__BUFFER_COMPUTED && sched__in_same_launch(v, read->loop, l)) return false;
            if (read->mutated_by && sched__in_same_launch(v, p->buffer[read->mutated_by].loop, l)) return false;
        }
        for (uint32_t o = 0; o < p->loop[l].num_outputs; o++)
            if (!sched__check_older(v, p->loop[l].output[o])) return false;
        /* in the kernel a loop over zero elements no longer has its sizes */
        uint64_t sizes = ind__body_unbacked(p, v->s->kernel[v->kernel].body);
        if (sizes && v->last[v->kernel] != v->s->launch[v->kernel]) return false;
    }
    return true;
}

/* Also computes the lifetimes for the next rules. */
static bool sched__check_reads_follow_writes(sched__check *v) {
    for (uint32_t k = 0; k < v->s->num_kernels; k++) {
        const ind_kernel *kernel = &v->s->kernel[k];
        v->kernel = k;
        for (uint32_t i = 0; i < kernel->num_args; i++) {
            uint32_t b = v->buffer = kernel->arg[i];
            const ind__buffer *buffer = &v->s->program->buffer[b];
            bool write = i >= kernel->num_reads;
            if (write ? v->made[b] || buffer->kind != IND__BUFFER_COMPUTED : 0) return false;
            if (!write && buffer->kind == IND__BUFFER_COMPUTED && !v->made[b]) return false;
            if (!write && v->made[buffer->mutated_by]) return false;
            if (write) v->made[b] = k + 1, v->life[b].begin = v->s->launch[k];
            v->life[b].end = v->last[k];
        }
    }
    return true;
}

static uint32_t sched__memory_of(const ind_schedule *s, uint32_t b) {
    return s->storage[b] ? s->storage[b] : ind__buffer_home(s->program, b);
}

/* Simulates the kernels in order, with what is in each memory; uses no dependency, and not which version changes which.
   A kernel reads a buffer only while its memory has the buffer's values, and changes a memory that has those of the
   version before. An output may be bound to the donated input that it takes over. */
static bool sched__check_contents(sched__check *v) {
    const ind_schedule *s = v->s;
    for (uint32_t b = 1; b < s->program->num_buffers; b++)
        if (s->program->buffer[b].kind != IND__BUFFER_COMPUTED) v->contents[sched__memory_of(s, b)] = b;
    for (uint32_t k = v->kernel = 0; k < s->num_kernels; v->kernel = ++k) {
        const ind_kernel *kernel = &s->kernel[k];
        for (uint32_t i = 0; i < kernel->num_reads; i++) {
            v->buffer = kernel->arg[i], v->other = v->contents[sched__memory_of(s, v->buffer)];
            if (v->other != v->buffer) return false;
        }
        for (uint32_t i = kernel->num_reads; i < kernel->num_args; i++) {
            const uint32_t b = v->buffer = kernel->arg[i], memory = sched__memory_of(s, b);
            const uint32_t old = s->program->buffer[b].mutates;
            v->other = v->contents[memory];
            if (old && v->other != old) return false;
            v->contents[memory] = b;
            if (s->takes_over[b]) v->contents[s->takes_over[b]] = b;
        }
    }
    return true;
}

/* The donated input whose memory the buffer uses or may be bound to; 0: none. */
static uint32_t sched__donated_storage(const ind_schedule *s, uint32_t b) {
    if (s->takes_over[b]) return s->takes_over[b];
    return b != s->storage[b] && sched__is_donated(s->program, s->storage[b]) ? s->storage[b] : 0;
}

/* Also ends the lifetimes of old versions. */
static bool sched__check_versions(sched__check *v) {
    for (uint32_t b = v->buffer = 1; b < v->s->program->num_buffers; v->buffer = ++b) {
        const ind__buffer *buffer = &v->s->program->buffer[b], *old = &v->s->program->buffer[buffer->mutates];
        if (!buffer->mutates || !v->made[b]) continue;
        uint32_t k = v->kernel = v->made[b] - 1, home = ind__buffer_home(v->s->program, b);
        if (old->mutated_by != b || !sched__reads_only_mutated(&v->s->kernel[k], buffer->mutates, b)) return false;
        if (old->kind == IND__BUFFER_COMPUTED && (!v->made[buffer->mutates] || v->made[buffer->mutates] > k))
            return false;
        bool free = ind__ok(v->s->offset[b]) || sched__donated_storage(v->s, b) == v->s->storage[b];
        if (v->s->storage[b] != (free ? v->s->storage[buffer->mutates] : home)) return false;
        v->life[buffer->mutates].end = v->last[k];
    }
    return true;
}

static bool sched__check_outputs(sched__check *v) {
    for (uint32_t b = v->buffer = 1; b < v->s->program->num_buffers; v->buffer = ++b) {
        const ind__buffer *buffer = &v->s->program->buffer[b];
        const ind__buffer *home = &v->s->program->buffer[ind__buffer_home(v->s->program, b)];
        bool arena =
            v->made[b] && home->kind == IND__BUFFER_COMPUTED && !home->output && !sched__donated_storage(v->s, b);
        if (buffer->kind == IND__BUFFER_COMPUTED && buffer->output && !v->made[b]) return false;
        if (arena != ind__ok(v->s->offset[b])) return false;
        if (!arena) continue;
        v->life[b].buffer = b;
        v->life[b].size = ind__align_up(ind__buffer_most_bytes(v->s->program, buffer), IND__ALIGNMENT);
    }
    return true;
}

/* end <= begin, possibly proven only by the facts in force: offsets omit maxima that the facts decide. */
static bool sched__ends_before(ind_expr end, ind_expr begin) {
    return ind_known_true(ind_expr_le(end, begin));
}

static ind_expr sched__end_of(const sched__check *v, uint32_t b) {
    return ind_expr_add(v->s->offset[b], v->life[b].size);
}

/* True if the buffer ends within the arena. Also if another buffer starts at its end or ends after it, and ends inside:
   sizes are nonnegative, and the arena omits ends that others exceed. `chain`: most such steps. */
static bool sched__ends_inside(const sched__check *v, uint32_t b, int chain) {
    ind_expr end = sched__end_of(v, b);
    if (ind__known_le_max(end, v->s->arena_bytes) || sched__ends_before(end, v->s->arena_bytes)) return true;
    for (uint32_t next = 1; chain && next < v->s->program->num_buffers; next++) {
        if (next == b || !ind__ok(v->s->offset[next])) continue;
        const bool after = ind_expr_same(v->s->offset[next], end) || ind__known_le_max(end, sched__end_of(v, next));
        if (after && sched__ends_inside(v, next, chain - 1)) return true;
    }
    return false;
}

static bool sched__check_offsets(sched__check *v) {
    for (uint32_t b = v->buffer = 1; b < v->s->program->num_buffers; v->buffer = ++b) {
        if (!ind__ok(v->s->offset[b])) continue;
        if (!ind_known_multiple(v->s->offset[b], IND__ALIGNMENT)) return false;
        if (!sched__ends_inside(v, b, 3)) return false;
    }
    return true;
}

/* Begin and end of the buffer in the arena with the sizes at each corner. If they overflow, the buffer counts as empty
   at that corner. */
static void sched__evaluate_range(sched__check *v, uint32_t buffer) {
    for (int corner = 0; corner < IND__SCHED_NUM_CORNERS; corner++) {
        int64_t at, bytes;
        bool known = !ind_expr_eval(v->s->offset[buffer], sched__corner_value, &corner, &at) &&
                     !ind_expr_eval(v->life[buffer].size, sched__corner_value, &corner, &bytes);
        v->number[buffer].begin[corner] = known ? at : 0;
        v->number[buffer].end[corner] = known ? at + bytes : 0;
    }
}

/* Compares numbers, independently of the proofs. */
static bool sched__check_range_values(const sched__check *v, uint32_t a, uint32_t b) {
    const sched__range_values *x = &v->number[a], *y = &v->number[b];
    for (int corner = 0; corner < IND__SCHED_NUM_CORNERS; corner++)
        if (x->end[corner] > y->begin[corner] && y->end[corner] > x->begin[corner]) return false;
    return true;
}

/* True if the kernel stores only other parts of b's concatenation into b's memory. */
static bool sched__stores_other_parts(const sched__check *v, const ind_kernel *k, uint32_t b) {
    bool stores = false;
    for (uint32_t o = k->num_reads; o < k->num_args; o++) {
        if (v->s->storage[k->arg[o]] != v->s->storage[b]) continue;
        if (!sched__parts_disjoint(v->s->program, k->arg[o], b)) return false;
        stores = true;
    }
    return stores;
}

/* True if b may reuse the memory of a in the kernel that writes b: that kernel must be the only user of a in its
   launch, except for kernels that store other parts there. */
static bool sched__check_reuse(const sched__check *v, const sched__lifetime *a, const sched__lifetime *b) {
    const uint32_t made = v->made[b->buffer] - 1, before = v->made[a->buffer] - 1;
    if (before != made && v->s->launch[before] == v->s->launch[made])
        return sched__parts_disjoint(v->s->program, a->buffer, b->buffer);
    if (a->end != v->last[made] || b->begin != v->s->launch[made]) return false;
    for (uint32_t k = v->s->launch[made]; k <= v->last[made]; k++)
        if (k != made && sched__has_arg(&v->s->kernel[k], a->buffer, false) &&
            !sched__stores_other_parts(v, &v->s->kernel[k], b->buffer))
            return false;
    return true;
}

/* True if the memory of two buffers does not overlap. */
static bool sched__check_apart(const sched__check *v, const sched__lifetime *a, const sched__lifetime *b) {
    const ind_expr *offset = v->s->offset;
    ind_expr a_end = ind_expr_add(offset[a->buffer], a->size), b_end = ind_expr_add(offset[b->buffer], b->size);
    if (!ind_known_disjoint(offset[a->buffer], a->size, offset[b->buffer], b->size) &&
        !sched__ends_before(a_end, offset[b->buffer]) && !sched__ends_before(b_end, offset[a->buffer]))
        return false;
    return sched__check_range_values(v, a->buffer, b->buffer);
}

/* Two buffers that are live in one kernel must not overlap, unless one reuses the other's memory in that kernel. */
static bool sched__check_pair(sched__check *v, const sched__lifetime *a, const sched__lifetime *b) {
    const ind_expr *offset = v->s->offset;
    v->buffer = a->buffer, v->other = b->buffer;
    if (v->s->storage[a->buffer] == v->s->storage[b->buffer])
        return sched__check_reuse(v, a, b) && ind_expr_same(offset[a->buffer], offset[b->buffer]) &&
               ind_known_eq(a->size, b->size);
    return sched__check_apart(v, a, b);
}

static bool sched__check_memory(sched__check *v) {
    uint32_t num = 0, live = 0;
    for (uint32_t b = 1; b < v->s->program->num_buffers; b++) {
        if (!ind__ok(v->life[b].size)) continue;
        sched__evaluate_range(v, b);
        v->life[num++] = v->life[b];
    }
    sched__sort(v->life, num, sizeof *v->life, sched__compare_begin);
    for (uint32_t i = 0; i < num; i++) { /* life[0..live) are not over yet */
        sched__lifetime at = v->life[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < live; k++) {
            if (v->life[k].end < at.begin) continue;
            if (!sched__check_pair(v, &v->life[k], &at)) return false;
            v->life[kept++] = v->life[k];
        }
        v->life[kept++] = at;
        live = kept;
    }
    return true;
}

static sched__lifetime sched__memory_range(const ind_schedule *s, uint32_t b) {
    const ind_expr bytes = ind__buffer_most_bytes(s->program, &s->program->buffer[b]);
    return (sched__lifetime){.buffer = b, .size = ind__align_up(bytes, IND__ALIGNMENT)};
}

/* True if what kernel k reads overlaps nothing that kernel k + 1 writes in the arena. */
static bool sched__check_read_memory(sched__check *v, uint32_t k) {
    const ind_kernel *kernel = &v->s->kernel[k], *next = kernel + 1;
    for (uint32_t i = 0; i < kernel->num_reads; i++) {
        const sched__lifetime read = sched__memory_range(v->s, v->buffer = kernel->arg[i]);
        for (uint32_t o = next->num_reads; o < next->num_args && ind__ok(v->s->offset[read.buffer]); o++) {
            const sched__lifetime written = sched__memory_range(v->s, v->other = next->arg[o]);
            if (ind__ok(v->s->offset[written.buffer]) && !sched__check_apart(v, &read, &written)) return false;
        }
    }
    return true;
}

/* A launch of one kernel reads what both read and writes what the second one writes. Its blocks do not wait for each
   other. */
static bool sched__check_with_next(sched__check *v) {
    for (uint32_t k = v->kernel = 0; k < v->s->num_kernels; v->kernel = ++k) {
        const ind_kernel *kernel = &v->s->kernel[k], *both = kernel->with_next, *next = kernel + 1;
        if (!both != !kernel->few_rows) return false;
        if (!both) continue;
        if (k + 1 == v->s->num_kernels || next->kind != IND_KERNEL_MATMUL || both->kind != IND_KERNEL_MATMUL)
            return false;
        if (v->last[k] != k || v->last[k + 1] != k + 1 || sched__next_overwrites(v->s, k)) return false;
        if (both->num_args - both->num_reads != next->num_args - next->num_reads) return false;
        for (uint32_t i = 0; i < both->num_args; i++) {
            const uint32_t b = v->buffer = both->arg[i];
            const bool reads = sched__has_arg(kernel, b, false) || sched__has_arg(next, b, false);
            if (i < both->num_reads ? !reads : !sched__has_arg(next, b, true)) return false;
        }
        if (!sched__check_read_memory(v, k)) return false;
    }
    return true;
}

/* True if kernel k may write `b` into the memory of the donated input, given its previous contents. */
static bool sched__check_donated_use(const sched__check *v, uint32_t k, uint32_t b, uint32_t donated) {
    const ind__buffer *x = &v->s->program->buffer[donated], *y = &v->s->program->buffer[b];
    const sched__lifetime *there = &v->life[donated];
    const uint32_t first = sched__launch_first(v->s, k);
    ind_expr all = ind__buffer_most_bytes(v->s->program, x), bytes = ind__buffer_most_bytes(v->s->program, y);
    if (!x->donated || x->mutated_by || !ind_known_le(bytes, all)) return false;
    if (sched__is_size(v->s->program, b)) return false; /* read back after a run, when the input may no longer exist */
    if ((v->s->takes_over[b] != 0) != (y->output != 0)) return false;
    if (y->mutates || !v->made[donated] || there->end < first) return true; /* a version; or nothing is live there */
    ind_expr had =
        ind__buffer_most_bytes(v->s->program, &v->s->program->buffer[there->buffer ? there->buffer : donated]);
    return there->end == v->last[k] && there->begin <= first && ind_known_eq(bytes, had) &&
           !sched__used_in_launch(v->s, k, donated);
}

/* In kernel order. The lifetime of a donated input becomes that of its current contents and starts one later. made: the
   input is read, or its memory was used. */
static bool sched__check_donated(sched__check *v) {
    const ind__lowered *p = v->s->program;
    for (uint32_t k = 0; k < v->s->num_kernels; k++)
        for (uint32_t i = 0; i < v->s->kernel[k].num_reads; i++)
            if (sched__is_donated(p, v->s->kernel[k].arg[i])) v->made[v->s->kernel[k].arg[i]] = 1;
    for (uint32_t k = v->kernel = 0; k < v->s->num_kernels; v->kernel = ++k) {
        const ind_kernel *kernel = &v->s->kernel[k];
        for (uint32_t i = kernel->num_reads; i < kernel->num_args; i++) {
            uint32_t b = v->buffer = kernel->arg[i], donated = v->other = sched__donated_storage(v->s, b);
            if (!donated) continue;
            if (!sched__check_donated_use(v, k, b, donated)) return false;
            v->made[donated] = 1;
            v->life[donated].buffer = b;
            v->life[donated].begin = sched__launch_first(v->s, k) + 1;
            v->life[donated].end = v->s->takes_over[b] ? IND__SCHED_NONE : v->life[b].end;
        }
    }
    return true;
}

/* True if there is a store per reduced element. A tile that several blocks compute must have none. */
static bool sched__stores_along_depth(const ind_body *body) {
    for (uint32_t i = 1; i < body->num_inst; i++) {
        for (int v = body->rank; body->inst[i].op == IND_LOOP_STORE && v < body->rank + body->rrank; v++)
            if (ind__expr_depends(body->index[body->inst[i].index], body->var[v])) return true;
    }
    return false;
}

static bool sched__check_matmul(sched__check *v) {
    for (uint32_t k = 0; k < v->s->num_kernels; k++) {
        const ind_kernel *kernel = &v->s->kernel[k];
        uint32_t all = (1u << kernel->body->rank) - 1, mask = kernel->matmul.batch_mask;
        v->kernel = k;
        if (kernel->kind != IND_KERNEL_MATMUL) continue;
        const ind__inst *dot = &kernel->body->inst[kernel->matmul.dot],
                        *dot2 = &kernel->body->inst[kernel->matmul.dot2];
        if (dot->op != IND_LOOP_REDUCE) return false;
        if (kernel->matmul.dot2 && (dot2->op != IND_LOOP_REDUCE || dot2->arg[0] != dot->arg[0])) return false;
        if (kernel->matmul.m >= 0) mask |= 1u << kernel->matmul.m;
        if (kernel->matmul.n >= 0) mask |= 1u << kernel->matmul.n;
        if (mask != all || sched__stores_along_depth(kernel->body)) return false;
    }
    return true;
}

/* Origin of the indirect symbols in e: the largest `from` of the values that they are computed from. */
static uint32_t sched__index_from(const ind_body *body, const uint32_t *from, uint32_t before, ind_expr e) {
    uint32_t most = 0;
    if (!ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return 0;
    for (uint32_t i = 1; i < before; i++) {
        const ind__inst *in = &body->inst[i];
        bool used = in->op == IND_LOOP_INDIRECT && ind__expr_depends(e, body->index[in->index + 1]);
        if (used && from[i] > most) most = from[i];
    }
    return most;
}

/* No per-element value, reduction or scan may depend on a reduction of the scan's results. */
static bool sched__scan_is_last(const ind_body *body, uint32_t *mask, uint32_t *from) {
    uint32_t outer = (1u << body->rank) - 1;
    ind__body_var_masks(body, mask);
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        bool reduces = in->op == IND_LOOP_REDUCE, scans = in->op == IND_LOOP_SCAN;
        for (int k = 0; k < IND__MAX_ARGS; k++)
            if (in->arg[k] && from[in->arg[k]] > from[i]) from[i] = from[in->arg[k]];
        for (uint32_t k = 0; sched__has_index(in) && k < in->num_index; k++) {
            uint32_t index = sched__index_from(body, from, i, body->index[in->index + k]);
            if (index > from[i]) from[i] = index;
        }
        if (from[i] == IND__SCHED_AFTER_REDUCE && (reduces || scans || (mask[i] & ~outer))) return false;
        if (scans) from[i] = IND__SCHED_SCANNED;
        if (reduces && from[i]) from[i] = IND__SCHED_AFTER_REDUCE;
    }
    return true;
}

/* True if a result of the sort is stored along the row at one stride, so that it can be sorted there. */
static bool sched__sort_is_stored(const ind_body *body, uint32_t sort, int part) {
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i], *value = &body->inst[in->arg[0]];
        ind_expr stride;
        if (in->op != IND_LOOP_STORE || value->op != IND_LOOP_PART || value->arg[0] != sort) continue;
        if (value->imm.i != part || in->arg[1] || in->reduction || in->flags) continue;
        return ind__affine(body->index[in->index], body->var[body->rank], &stride, NULL);
    }
    return false;
}

/* In a kernel with a sort: true if each per-element store is masked or its buffer has as many elements as the rows. */
static bool sched__masks_prefix_stores(const ind__lowered *p, const ind_kernel *k) {
    ind_expr points = ind_expr_mul(k->numel, k->rnumel);
    for (uint32_t i = 1; i < k->body->num_inst; i++) {
        const ind__inst *in = &k->body->inst[i];
        if (in->op != IND_LOOP_STORE || in->arg[1] || p->buffer[in->source].mutates) continue;
        if (!ind__expr_depends(k->body->index[in->index], k->body->var[k->body->rank])) continue;
        ind_expr numel = ind__buffer_numel(&p->buffer[in->source]);
        if (ind_known_le(numel, points) && !ind_known_eq(numel, points)) return false;
    }
    return true;
}

static bool sched__check_scans(sched__check *v) {
    for (v->kernel = 0; v->kernel < v->s->num_kernels; v->kernel++) {
        const ind_kernel *k = &v->s->kernel[v->kernel];
        uint32_t scan = ind__body_scan(k->body), sort = ind__body_sort(k->body);
        bool holds = true;
        if ((k->kind == IND_KERNEL_SCAN) != (scan && !sort) || (k->kind == IND_KERNEL_SORT) != (sort != 0))
            return false;
        if (sort && !sched__masks_prefix_stores(v->s->program, k)) return false;
        for (int part = 0; part < 2 && sched__sorts_long(k->body); part++)
            if (!sched__sort_is_stored(k->body, sort, part)) return false;
        if (!scan || k->body->inst[scan].reduction != IND_SCAN_COMBINE) continue;
        uint32_t *mask = ind__alloc(v->s->context, (size_t)k->body->num_inst * 2 * sizeof *mask);
        if (mask) holds = sched__scan_is_last(k->body, mask, mask + k->body->num_inst);
        ind__free(v->s->context, mask);
        if (!mask || !holds) return false;
    }
    return true;
}

/* Columns are combined over runs of the kernel's rows in their order, in buffers that it stores once and does not
   read. */
static bool sched__check_runs(sched__check *v) {
    for (v->kernel = 0; v->kernel < v->s->num_kernels; v->kernel++) {
        const ind_kernel *k = &v->s->kernel[v->kernel];
        const ind_body *b = k->body;
        ind_expr size[IND__SCHED_DIMS];
        bool any = false;
        for (int d = 0; d < b->rank + b->rrank; d++) size[d] = sched__extent(b->var[d]);
        for (uint32_t i = 1; i < b->num_inst; i++) {
            const ind__inst *in = &b->inst[i];
            if (!sched__combines_run(in)) continue;
            any = true, v->buffer = in->source;
            if (v->s->program->buffer[in->source].run != k->run || sched__only_store(b, in->source) != i) return false;
            if (k->kind != IND_KERNEL_REDUCTION || sched__has_arg(k, in->source, false)) return false;
            if (!sched__is_run_index(v->s->context, b->var, size, b->rank, b->rrank, k->run, b->index[in->index]))
                return false;
        }
        if (any != (k->run > 0)) return false;
    }
    return true;
}

/* The invariants of a schedule; each may rely on those before it. */
static const struct {
    const char *text;
    bool (*holds)(sched__check *v);
} sched__rules[] = {
    {"each loop runs in exactly one kernel", sched__check_loops},
    {"the kernels of a launch are consecutive, and an extern call is a separate launch", sched__check_launches},
    {"every body is valid", sched__check_bodies},
    {"a kernel's arguments are the buffers that its body accesses, and it writes at least one", sched__check_args},
    {"a loop runs after the writers of its inputs, and before the loops that change them in place", sched__check_order},
    {"the kernels of a launch are independent", sched__check_parts},
    {"each buffer that a kernel reads is an input or was written once, by an earlier kernel",
     sched__check_reads_follow_writes},
    {"when a kernel reads a buffer, or changes it in place, its memory has the buffer's values", sched__check_contents},
    {"an old version is written before the in-place change, is not read after it, and shares its memory",
     sched__check_versions},
    {"outputs are written, and exactly the stored intermediates are in the arena", sched__check_outputs},
    {"offsets are aligned and end within the arena", sched__check_offsets},
    {"a buffer in a donated input's memory fits, and is written after the last read of the input",
     sched__check_donated},
    {"buffers with overlapping lifetimes do not overlap in the arena", sched__check_memory},
    {"a kernel that is one with the next one in launches of few rows reads nothing that the next one overwrites",
     sched__check_with_next},
    {"each dimension of a matrix product is rows, columns or batch, and no store varies along the depth",
     sched__check_matmul},
    {"a long sort stores both results, stores of its first elements are masked, and a scan with a combine function "
     "runs "
     "in the last pass",
     sched__check_scans},
    {"a column reduction over blocks of rows stores the partial results of one kernel", sched__check_runs},
};

ind_status ind__schedule_verify(const ind_schedule *s) {
    if (!s) return IND_ERROR_INVALID_ARGUMENT;
    ind_context *c = s->context;
    uint32_t buffers = s->program->num_buffers;
    sched__check v = {.s = s};
    v.step = ind__alloc(c, (s->program->num_loops + 1) * sizeof *v.step);
    v.made = ind__alloc(c, (buffers + 1) * sizeof *v.made);
    v.last = ind__alloc(c, ((size_t)s->num_kernels + 1) * sizeof *v.last);
    v.contents = ind__alloc(c, (buffers + 1) * sizeof *v.contents);
    v.life = ind__alloc(c, (buffers + 1) * sizeof *v.life);
    v.number = ind__alloc(c, (buffers + 1) * sizeof *v.number);
    const bool ready = v.step && v.made && v.last && v.contents && v.life && v.number;
    ind_status status = ready ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; !status && i < sizeof sched__rules / sizeof *sched__rules; i++) {
        if (sched__rules[i].holds(&v)) continue;
        status = IND_ERROR_OUT_OF_MEMORY; /* a proof without memory proves nothing; the reason is recorded */
        if (ind_error_status(c) != IND_ERROR_OUT_OF_MEMORY)
            status = ind__fail(c, IND_ERROR_VERIFY, "schedule: broken rule: %s (kernel %u, buffers %u and %u)",
                               sched__rules[i].text, v.kernel, v.buffer, v.other);
    }
    ind__free(c, v.number);
    ind__free(c, v.life);
    ind__free(c, v.contents);
    ind__free(c, v.last);
    ind__free(c, v.made);
    ind__free(c, v.step);
    return status;
}
