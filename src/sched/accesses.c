/* ---- dependencies of the instructions of a body */

/* The variables that the values of indirect symbols in e depend on, as a mask. */
static uint32_t sched__indirect_mask(const ind_body *body, const uint32_t *mask, uint32_t before, ind_expr e) {
    uint32_t m = 0;
    if (!ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return m;
    for (uint32_t i = 1; i < before; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op == IND_LOOP_INDIRECT && ind__expr_depends(e, body->index[in->index + 1])) m |= mask[i];
    }
    return m;
}

/* The variables in e, and those. */
static uint32_t sched__expr_mask(const ind_body *body, const uint32_t *mask, uint32_t before, ind_expr e) {
    uint32_t m = sched__indirect_mask(body, mask, before, e);
    for (int v = 0; v < body->rank + body->rrank; v++) m |= (uint32_t)ind__expr_depends(e, body->var[v]) << v;
    return m;
}

/* Number of points of the variables in the mask. */
static ind_expr sched__points(const ind_body *body, uint32_t mask) {
    ind_expr n = ind_int(body->context, 1);
    for (int v = 0; v < body->rank + body->rrank; v++) {
        if (mask >> v & 1) n = ind_expr_mul(n, sched__extent(body->var[v]));
    }
    return n;
}

/* True if the value is the group of the points of one P variable. */
static bool sched__is_group(const ind_body *body, const ind__inst *in, uint32_t mask) {
    return in->op == IND_LOOP_INDIRECT && in->source && mask && !(mask & (mask - 1)) && !(mask >> body->rank);
}

/* The last INDIRECT that is the group of a row; 0: none. */
static uint32_t sched__last_group(const ind_body *body) {
    uint32_t last = 0;
    for (uint32_t i = 1; i < body->num_inst; i++)
        if (body->inst[i].op == IND_LOOP_INDIRECT && body->inst[i].source) last = i;
    return last;
}

uint32_t ind__reduced_mask(const ind_body *body, const ind__inst *reduce) {
    const int end = body->rank + body->rrank, inner = end - body->inner;
    const int first = reduce->flags & IND__INST_INNER ? inner : body->rank;
    return ((1u << end) - 1) & ~((1u << first) - 1);
}

/* `groups`: groups of rows depend on the rows. */
static void sched__var_masks(const ind_body *body, uint32_t *mask, bool groups) {
    for (uint32_t i = 0; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        uint32_t m = 0;
        for (int k = 0; k < IND__MAX_ARGS; k++) m |= in->arg[k] ? mask[in->arg[k]] : 0;
        for (uint32_t k = 0; sched__has_index(in) && k < in->num_index; k++)
            m |= sched__expr_mask(body, mask, i, body->index[in->index + k]);
        if (in->op == IND_LOOP_SCAN || in->op == IND_LOOP_STATE) m |= ((1u << body->rrank) - 1) << body->rank;
        mask[i] = in->op == IND_LOOP_REDUCE ? m & ~ind__reduced_mask(body, in) : m;
        if (!groups && sched__is_group(body, in, m)) mask[i] = 0;
    }
}

void ind__body_var_masks(const ind_body *body, uint32_t *mask) {
    sched__var_masks(body, mask, true);
}

/* True for a floating-point 0. */
static bool sched__is_zero(const ind__inst *in) {
    return in->op == IND_LOOP_CONSTANT && ind_dtype_is_float((ind_dtype)in->dtype) && in->imm.f == 0;
}

bool ind__is_value_of(const ind__lowered *program, const ind_body *body, uint32_t value, ind_dtype memory) {
    const ind__inst *in = &body->inst[value];
    if (memory == ind_dtype_compute(memory)) return true;
    if (in->op == IND_LOOP_WHERE) /* one that selects zeros, such as those of a mask */
        in = sched__is_zero(&body->inst[in->arg[2]]) ? &body->inst[in->arg[1]] : in;
    if (in->op == IND_LOOP_LOAD) return program->buffer[in->source].dtype == memory;
    if (in->op == IND_LOOP_ROUND_F16) return memory == IND_F16;
    return in->op == IND_LOOP_ROUND_BF16 && memory == IND_BF16;
}

/* Sets flag[i] if instruction i feeds a DOT. Returns true if there is a DOT. */
static bool sched__mark_operands(const ind_body *body, uint8_t *flag) {
    bool any = false;
    memset(flag, 0, body->num_inst);
    for (uint32_t i = body->num_inst; i-- > 1;) {
        const ind__inst *in = &body->inst[i];
        bool dot = in->op == IND_LOOP_REDUCE && in->reduction == IND_REDUCE_DOT;
        any |= dot;
        for (int k = 0; (dot || flag[i]) && k < IND__MAX_ARGS; k++) flag[in->arg[k]] = 1;
    }
    return any;
}

static const sched__domain *sched__find_domain(sched__fuser *f, const ind_expr *size, int rank, int rrank, uint64_t h) {
    for (const sched__domain *d = f->interned.domain[h % IND__SCHED_BUCKETS]; d; d = d->next) {
        bool same = d->rank == rank && d->rrank == rrank;
        for (int k = 0; same && k < rank + rrank; k++) same = ind_expr_same(d->size[k], size[k]);
        if (same) return d;
    }
    return NULL;
}

static const sched__domain *sched__domain_of(sched__fuser *f, const ind_expr *size, int rank, int rrank) {
    uint64_t h = (uint64_t)rank;
    for (int k = 0; k < rank + rrank; k++) h = ind__hash(&size[k].id, sizeof size[k].id, h + (k == rank));
    const sched__domain *known = sched__find_domain(f, size, rank, rrank, h);
    if (known) return known;
    sched__domain *d = sched__scratch(f, 1, sizeof *d);
    if (!d) return NULL;
    *d = (sched__domain){.next = f->interned.domain[h % IND__SCHED_BUCKETS],
                         .number = f->interned.num_domains++,
                         .rank = rank,
                         .rrank = rrank};
    for (int k = 0; k < rank + rrank; k++) {
        d->size[k] = size[k];
        d->var[k] = ind__index_symbol(f->context, k < rank ? 'i' : 'r', k < rank ? k : k - rank, size[k]);
        if (!ind__ok(d->var[k])) return sched__fail(f), NULL;
    }
    d->numel = ind_expr_product(f->context, size, rank), d->rnumel = ind_expr_product(f->context, size + rank, rrank);
    if (!ind__ok(d->numel) || !ind__ok(d->rnumel)) return sched__fail(f), NULL;
    d->hint = sched__hint(d->numel), d->rhint = sched__hint(d->rnumel);
    return f->interned.domain[h % IND__SCHED_BUCKETS] = d;
}

/* The loop's own domain, and its variables in it. Dimensions of size 1 are dropped; a reduction keeps at least one. */
static const sched__domain *sched__loop_domain(sched__fuser *f, const ind_body *body, ind_expr *var) {
    ind_expr size[IND__SCHED_DIMS];
    int rank = 0, n = 0, position[IND__SCHED_DIMS], last = body->rank + body->rrank - 1;
    for (int v = 0; v <= last; v++) {
        ind_expr e = sched__extent(body->var[v]);
        bool needed = v == last && body->rrank && n == rank;
        position[v] = sched__is_one(e) && !needed ? -1 : n;
        if (position[v] >= 0) size[n++] = e;
        if (v < body->rank) rank = n;
    }
    const sched__domain *d = sched__domain_of(f, size, rank, n - rank);
    ind_expr zero = ind_int(f->context, 0);
    for (int v = 0; d && v < body->rank + body->rrank; v++) var[v] = position[v] < 0 ? zero : d->var[position[v]];
    return ind__ok(zero) ? d : (sched__fail(f), NULL);
}

static bool sched__identity(const ind_expr *from, const ind_expr *to, int n) {
    for (int k = 0; k < n; k++) {
        if (!ind_expr_same(from[k], to[k])) return false;
    }
    return true;
}

static bool sched__map(sched__fuser *f, ind_expr *e, const ind_expr *from, const ind_expr *to, int n) {
    if (sched__identity(from, to, n)) return true;
    *e = ind__substitute(*e, from, to, n);
    return ind__ok(*e) || sched__fail(f);
}

/* Outputs of the loop that are new versions of older buffers. */
static uint32_t sched__num_mutated(const sched__fuser *f, uint32_t l) {
    const ind__loop *loop = &f->program->loop[l];
    uint32_t n = 0;
    for (uint32_t o = 0; o < loop->num_outputs; o++) n += f->program->buffer[loop->output[o]].mutates != 0;
    return n;
}

static bool sched__collect_loop(sched__fuser *f, uint32_t l, uint8_t *flag) {
    const ind_body *body = f->program->loop[l].body;
    sched__group *g = &f->group[l];
    ind_expr *var = f->vars.var + f->vars.first[l];
    const sched__domain *d = sched__loop_domain(f, body, var);
    if (!d) return false;
    bool dot = sched__mark_operands(body, flag);
    *g = (sched__group){.domain = d,
                        .head = l,
                        .tail = l,
                        .count = 1,
                        .order = l,
                        .dot = dot ? l : IND__SCHED_NONE,
                        .dot2 = IND__SCHED_NONE,
                        .scores = IND__SCHED_NONE};
    g->mutates = sched__num_mutated(f, l) != 0;
    g->call = body->call != NULL;
    g->library = body->call && body->call->op && body->call->op->product;
    g->care = f->care ? f->care[l] : 0;
    f->group_of[l] = l, f->next_loop[l] = IND__SCHED_NONE;
    ind__access *a = f->access + f->first_access[l];
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        g->reduces |= (in->op == IND_LOOP_REDUCE && in->reduction != IND_REDUCE_DOT) || sched__combines_run(in);
        if (sched__combines_run(in)) g->run = f->program->buffer[in->source].run;
        g->scans |= in->op == IND_LOOP_SCAN;
        g->num_scans += in->op == IND_LOOP_SCAN;
        g->combines |= in->op == IND_LOOP_SCAN && in->reduction == IND_SCAN_COMBINE;
        g->sorts |= in->op == IND_LOOP_SCAN && ind__scan_sorts((ind_scan)in->reduction);
        if (!sched__is_access(in)) continue;
        ind_expr index = body->index[in->index];
        a->buffer = in->source, a->write = in->op == IND_LOOP_STORE;
        a->indirect = ind__expr_has_kind(index, IND_SYMBOL_INDIRECT);
        a->masked = !a->write && in->arg[0], a->operand = flag[i], a->index = index;
        a->partly = a->write && (in->arg[1] || in->reduction || in->flags);
        if (!sched__map(f, &a->index, body->var, var, body->rank + body->rrank)) return false;
        if (a->write) {
            if (f->buffers.written[a->buffer]) a->partly = true; /* the last of several stores */
            f->buffers.written[a->buffer] = (uint32_t)(a - f->access) + 1;
            f->buffers.writer[a->buffer] = f->program->buffer[a->buffer].loop + 1;
        }
        a++;
    }
    for (uint32_t o = 0; o < f->program->loop[l].num_outputs; o++) {
        uint32_t old = f->program->buffer[f->program->loop[l].output[o]].mutates;
        if (old) *a++ = (ind__access){.buffer = old, .index = ind_int(f->context, 0), .whole = true};
    }
    uint64_t sizes = ind__body_unbacked(f->program, body);
    for (uint32_t u = 0; u < f->program->num_unbacked; u++) {
        ind__access size = {.buffer = f->program->unbacked[u].buffer, .index = ind_int(f->context, 0), .size = true};
        if (sizes >> u & 1) *a++ = size;
    }
    return true;
}

/* Number of data-dependent sizes in the body. */
static uint32_t sched__num_sizes(const sched__fuser *f, const ind_body *body) {
    uint32_t n = 0;
    for (uint64_t sizes = ind__body_unbacked(f->program, body); sizes; sizes &= sizes - 1) n++;
    return n;
}

/* Counts, so that everything can be allocated at once. */
static uint32_t sched__count(sched__fuser *f) {
    uint32_t accesses = 0, vars = 0, most = 1;
    for (uint32_t l = 0; l < f->program->num_loops; l++) {
        const ind_body *body = f->program->loop[l].body;
        f->first_access[l] = accesses, f->vars.first[l] = vars;
        vars += (uint32_t)(body->rank + body->rrank);
        for (uint32_t i = 1; i < body->num_inst; i++) accesses += sched__is_access(&body->inst[i]);
        accesses += sched__num_mutated(f, l) + sched__num_sizes(f, body);
        if (body->num_inst > most) most = body->num_inst;
    }
    f->first_access[f->program->num_loops] = accesses, f->vars.first[f->program->num_loops] = vars;
    return most;
}

/* Sets ind__buffer_home for all versions of the buffer. */
static void sched__set_home(sched__fuser *f, uint32_t first) {
    uint32_t last = first;
    while (f->program->buffer[last].mutated_by) last = f->program->buffer[last].mutated_by;
    for (uint32_t b = first; b; b = f->program->buffer[b].mutated_by)
        f->buffers.home[b] = f->program->buffer[last].output ? last : first;
}

static bool sched__collect_accesses(sched__fuser *f) {
    uint32_t loops = f->program->num_loops, buffers = f->program->num_buffers;
    f->first_access = sched__scratch(f, (size_t)loops + 1, sizeof(uint32_t));
    f->vars.first = sched__scratch(f, (size_t)loops + 1, sizeof(uint32_t));
    f->group_of = sched__scratch(f, loops, sizeof(uint32_t));
    f->next_loop = sched__scratch(f, loops, sizeof(uint32_t));
    f->vars.bound = sched__scratch(f, loops, sizeof(ind_expr));
    f->group = sched__scratch(f, loops, sizeof(sched__group));
    f->order.group = sched__scratch(f, loops, sizeof(uint32_t));
    f->visits.mark = sched__scratch(f, (size_t)loops + buffers, sizeof(uint32_t));
    f->visits.found = sched__scratch(f, buffers, sizeof(uint32_t));
    f->buffers.written = sched__scratch(f, buffers, sizeof(uint32_t));
    f->buffers.writer = sched__scratch(f, buffers, sizeof(uint32_t));
    f->buffers.lasting = sched__scratch(f, buffers, sizeof(bool));
    f->buffers.value = sched__scratch(f, buffers, sizeof(uint32_t));
    f->buffers.bytes_hint = sched__scratch(f, buffers, sizeof(int64_t));
    f->buffers.bytes = sched__scratch(f, buffers, sizeof(ind_expr));
    f->buffers.home = sched__scratch(f, buffers, sizeof(uint32_t));
    if (f->failed) return false;
    uint8_t *flag = sched__scratch(f, sched__count(f), 1);
    f->access = sched__scratch(f, f->first_access[loops], sizeof(ind__access));
    f->vars.var = sched__scratch(f, f->vars.first[loops], sizeof(ind_expr));
    if (f->failed) return false;
    for (uint32_t l = 0; l < loops; l++) {
        if (!sched__collect_loop(f, l, flag)) return false;
    }
    for (uint32_t b = 1; b < buffers; b++) {
        const ind__buffer *info = &f->program->buffer[b];
        f->buffers.lasting[b] = info->output || info->mutates || info->mutated_by;
        f->buffers.bytes[b] = ind__buffer_most_bytes(f->program, info);
        if (!ind__ok(f->buffers.bytes[b])) return sched__fail(f);
        f->buffers.bytes_hint[b] = sched__hint(f->buffers.bytes[b]);
    }
    for (uint32_t b = 1; b < buffers; b++)
        if (!f->program->buffer[b].mutates) sched__set_home(f, b);
    return true;
}

/* Calls visit with every buffer that the loop reads, each once. */
static void sched__each_read(sched__fuser *f, uint32_t l, void (*visit)(sched__fuser *, uint32_t l, uint32_t buffer)) {
    f->visits.epoch++;
    for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1]; a++) {
        uint32_t b = f->access[a].buffer;
        if (f->access[a].write || f->visits.mark[b] == f->visits.epoch) continue;
        f->visits.mark[b] = f->visits.epoch;
        visit(f, l, b);
    }
}

static void sched__count_reader(sched__fuser *f, uint32_t l, uint32_t buffer) {
    (void)l;
    f->buffers.first_reader[buffer + 1]++;
}

static void sched__put_reader(sched__fuser *f, uint32_t l, uint32_t buffer) {
    f->buffers.reader[f->buffers.first_reader[buffer] + f->visits.found[buffer]++] = l;
}

/* A loop that changes a buffer in place runs after all other readers of it; an ordering dependency without data. */
static bool sched__collect_waits(sched__fuser *f) {
    uint32_t loops = f->program->num_loops, n = 0;
    for (uint32_t b = 1; b < f->program->num_buffers; b++)
        if (f->program->buffer[b].mutated_by) n += f->buffers.first_reader[b + 1] - f->buffers.first_reader[b];
    f->first_wait = sched__scratch(f, (size_t)loops + 1, sizeof(uint32_t));
    f->waits = sched__scratch(f, n, sizeof(uint32_t));
    if (f->failed) return false;
    n = 0;
    for (uint32_t l = 0; l < loops; l++) {
        f->first_wait[l] = n;
        for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1]; a++) {
            uint32_t b = f->access[a].buffer;
            for (uint32_t r = f->buffers.first_reader[b]; f->access[a].whole && r < f->buffers.first_reader[b + 1]; r++)
                if (f->buffers.reader[r] != l) f->waits[n++] = f->buffers.reader[r];
        }
    }
    f->first_wait[loops] = n;
    return true;
}

static bool sched__collect_readers(sched__fuser *f) {
    uint32_t loops = f->program->num_loops, buffers = f->program->num_buffers;
    f->buffers.first_reader = sched__scratch(f, (size_t)buffers + 1, sizeof(uint32_t));
    if (f->failed) return false;
    for (uint32_t l = 0; l < loops; l++) sched__each_read(f, l, sched__count_reader);
    for (uint32_t b = 0; b < buffers; b++) f->buffers.first_reader[b + 1] += f->buffers.first_reader[b];
    f->buffers.reader = sched__scratch(f, f->buffers.first_reader[buffers], sizeof(uint32_t));
    if (f->failed) return false;
    for (uint32_t l = 0; l < loops; l++) sched__each_read(f, l, sched__put_reader);
    return sched__collect_waits(f);
}

/* Loop that writes the buffer, or SCHED_NONE: inputs, constants, and results of loops that were dropped. */
static uint32_t sched__writer(const sched__fuser *f, uint32_t buffer) {
    return f->buffers.writer[buffer] - 1; /* of 0: SCHED_NONE */
}

static uint32_t sched__num_readers(const sched__fuser *f, uint32_t buffer) {
    return f->buffers.first_reader[buffer + 1] - f->buffers.first_reader[buffer];
}

/* True if the loop has a matrix product of its kernel. */
static bool sched__multiplies(const sched__fuser *f, uint32_t l) {
    const sched__group *g = &f->group[f->group_of[l]];
    return g->dot == l || g->dot2 == l || g->scores == l;
}

/* Loop that changes the buffer in place, or SCHED_NONE. */
static uint32_t sched__mutator(const sched__fuser *f, uint32_t buffer) {
    uint32_t version = f->program->buffer[buffer].mutated_by;
    return version ? sched__writer(f, version) : IND__SCHED_NONE;
}

/* True if the buffer is in the arena, provided that it reaches memory. Otherwise it shares the memory of an input or
   output. */
static bool sched__in_arena(const sched__fuser *f, uint32_t buffer) {
    const ind__buffer *home = &f->program->buffer[f->buffers.home[buffer]];
    return sched__writer(f, buffer) != IND__SCHED_NONE && home->kind == IND__BUFFER_COMPUTED && !home->output;
}

/* True if no loop reads the loop's results. They are still written, so that every kernel has a store. */
static bool sched__unread_loop(const sched__fuser *f, uint32_t l) {
    const ind__loop *loop = &f->program->loop[l];
    for (uint32_t o = 0; o < loop->num_outputs; o++) {
        if (f->program->buffer[loop->output[o]].output || sched__num_readers(f, loop->output[o])) return false;
    }
    return true;
}

/* True if the row of the body's sort may be too long for shared memory. */
static bool sched__sorts_long(const ind_body *body) {
    int64_t least, most;
    if (!ind__body_sort(body)) return false;
    ind__known_bounds(sched__extent(body->var[body->rank]), &least, &most);
    return most > IND__SORT_ROW;
}

/* True if the buffer, a result of a sort, must be in memory: the row is sorted there, or its type requires it. */
static bool sched__stores_sorted(const sched__fuser *f, uint32_t buffer) {
    const ind__buffer *info = &f->program->buffer[buffer];
    const ind_body *body = f->program->loop[info->loop].body;
    if (!ind__body_sort(body)) return false;
    return sched__sorts_long(body) || info->dtype != ind_dtype_compute(info->dtype);
}

/* True if the buffer must be in memory when groups `a` and `b` are fused and the others do not change. */
static bool sched__stored(const sched__fuser *f, uint32_t buffer, uint32_t a, uint32_t b) {
    uint32_t home = f->group_of[sched__writer(f, buffer)];
    if (f->buffers.lasting[buffer] || f->group[home].call) return true;
    if (f->group[home].sorts && sched__stores_sorted(f, buffer)) return true;
    for (uint32_t r = f->buffers.first_reader[buffer]; r < f->buffers.first_reader[buffer + 1]; r++) {
        uint32_t g = f->group_of[f->buffers.reader[r]];
        bool inside = g == home || ((g == a || g == b) && (home == a || home == b));
        if (!inside) return true;
    }
    return !sched__num_readers(f, buffer) && sched__unread_loop(f, sched__writer(f, buffer));
}
