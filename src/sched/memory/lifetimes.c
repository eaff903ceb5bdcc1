/* ================================================================================================== >>memory */

typedef struct sched__term {
    ind_expr e;
    int64_t hint;
} sched__term;

static int sched__compare_term(const void *p, const void *q) {
    const sched__term *a = p, *b = q;
    if (a->hint != b->hint) return a->hint > b->hint ? -1 : 1;
    return (a->e.id > b->e.id) - (a->e.id < b->e.id);
}

/* Drops terms that are proven not to exceed another one. */
static uint32_t sched__prune_terms(sched__term *t, uint32_t num) {
    uint32_t kept = 0;
    sched__sort(t, num, sizeof *t, sched__compare_term);
    for (uint32_t i = 0; i < num; i++) {
        bool dominated = kept && t[kept - 1].e.id == t[i].e.id;
        for (uint32_t k = 0; !dominated && k < kept && k < IND__SCHED_DOMINATORS; k++)
            dominated = ind__known_le_max(t[i].e, t[k].e);
        if (!dominated) t[kept++] = t[i];
    }
    return kept;
}

/* Maximum of the terms; 0 for none. An expression has at most 62 terms. The smallest ones beyond that are summed, an
   upper bound of their maximum. */
static ind_expr sched__max_of(sched__fuser *f, sched__term *t, uint32_t num) {
    enum { IND__MOST = 48 };
    num = sched__prune_terms(t, num);
    ind_expr max = ind_int(f->context, 0), rest = max;
    for (uint32_t i = IND__MOST; i < num; i++) rest = ind_expr_add(rest, t[i].e);
    for (uint32_t i = 0; i < num && i < IND__MOST; i++) max = ind_expr_max(max, t[i].e);
    max = ind_expr_max(max, rest);
    if (!ind__ok(max)) sched__fail(f);
    return max;
}

/* ---- lifetimes */

static int sched__compare_begin(const void *p, const void *q) {
    const sched__lifetime *a = p, *b = q;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

/* Sum of all live sizes, maximised over the steps. */
static ind_expr sched__peak(sched__fuser *f, sched__lifetime *life, uint32_t num, uint32_t steps) {
    uint32_t *last = sched__scratch(f, (size_t)steps + 1, sizeof *last); /* by step: 1 + a life that ends there */
    uint32_t *next = sched__scratch(f, num, sizeof *next);
    sched__term *term = sched__scratch(f, steps, sizeof *term);
    ind_expr live = ind_int(f->context, 0);
    if (f->failed) return live;
    sched__sort(life, num, sizeof *life, sched__compare_begin);
    for (uint32_t i = 0; i < num; i++) next[i] = last[life[i].end], last[life[i].end] = i + 1;
    for (uint32_t step = 0, i = 0; step < steps; step++) {
        for (; i < num && life[i].begin == step; i++) live = ind_expr_add(live, life[i].size);
        term[step] = (sched__term){live, ind_hint(live)};
        for (uint32_t k = last[step]; k; k = next[k - 1]) live = ind_expr_sub(live, life[k - 1].size);
    }
    if (!ind__ok(live)) sched__fail(f);
    return f->failed ? live : sched__max_of(f, term, steps);
}

/* True if the buffer is a data-dependent size, which every block of a kernel reads when it starts. */
static bool sched__is_size(const ind__lowered *p, uint32_t buffer) {
    for (uint32_t u = 0; u < p->num_unbacked; u++)
        if (p->unbacked[u].buffer == buffer) return true;
    return false;
}

/* True if the memory of a donated input is free after its last reader. The memory of one that is changed in place
   belongs to its versions. */
static bool sched__is_donated(const ind__lowered *p, uint32_t buffer) {
    return p->buffer[buffer].donated && !p->buffer[buffer].mutated_by;
}

static uint32_t sched__last_reader(const sched__fuser *f, uint32_t buffer, uint32_t least) {
    uint32_t n = sched__num_readers(f, buffer),
             last = n ? f->buffers.reader[f->buffers.first_reader[buffer] + n - 1] : least;
    return last > least ? last : least;
}

/* Extends the lifetime of partial results. Those of columns of the same data are all live until the last one is
   reduced; that saves reading the data for each. Those of rows are live from the beginning, as any kernel over the rows
   may compute them. */
static void sched__extend_partial_lifetime(const sched__fuser *f, uint32_t b, uint32_t writer, sched__lifetime *life) {
    if (!f->program->buffer[b].run) {
        life->begin = 0;
        return;
    }
    for (uint32_t i = f->first_access[writer]; i < f->first_access[writer + 1]; i++) {
        if (f->access[i].write) continue;
        uint32_t at = f->buffers.first_reader[f->access[i].buffer],
                 end = f->buffers.first_reader[f->access[i].buffer + 1];
        while (at < end && f->buffers.reader[at] + IND__SCHED_NEIGHBOURS < writer) at++;
        for (; at < end && f->buffers.reader[at] <= writer + IND__SCHED_NEIGHBOURS; at++) {
            uint32_t l = f->buffers.reader[at], other = f->program->loop[l].output[0];
            if (!f->program->buffer[other].run) continue;
            if (l < life->begin) life->begin = l;
            life->end = sched__last_reader(f, other, life->end);
        }
    }
}

/* The last loop that reads the buffer, or a later one: what one kernel of attention reads is live until its product
   with the values, as in a call of the op. */
static uint32_t sched__last_unfused_reader(const sched__fuser *f, uint32_t buffer, uint32_t least) {
    for (uint32_t i = f->buffers.first_reader[buffer]; i < f->buffers.first_reader[buffer + 1]; i++) {
        const uint32_t reader = f->buffers.reader[i];
        const sched__group *g = &f->group[f->group_of[reader]];
        const uint32_t end = g->scores != IND__SCHED_NONE && g->dot > reader ? g->dot : reader;
        least = end > least ? end : least;
    }
    return least;
}

/* Computes the unfused peak: each loop stores its results, each buffer is freed after its last reader. The stages of a
   reduction run one after the other. */
static bool sched__find_unfused_peak(sched__fuser *f) {
    uint32_t n = 0, loops = f->program->num_loops;
    sched__lifetime *life = sched__scratch(f, f->program->num_buffers, sizeof *life);
    if (!life) return false;
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        uint32_t writer = sched__writer(f, b), end = writer;
        if (!sched__in_arena(f, b) || f->program->buffer[b].mutates) continue;
        for (uint32_t v = b; v; v = f->program->buffer[v].mutated_by) { /* all versions share one memory */
            end = sched__last_unfused_reader(f, v, end);
            if (sched__writer(f, v) != IND__SCHED_NONE && sched__writer(f, v) > end) end = sched__writer(f, v);
        }
        if (sched__is_size(f->program, b)) end = loops - 1; /* read back after a run */
        life[n] = (sched__lifetime){b, writer, end, ind__align_up(f->buffers.bytes[b], IND__ALIGNMENT),
                                    f->buffers.bytes_hint[b]};
        if (f->program->buffer[b].partial) sched__extend_partial_lifetime(f, b, writer, &life[n]);
        n++;
    }
    f->schedule->op_by_op_bytes = sched__peak(f, life, n, loops);
    return !f->failed;
}

/* The first and the last kernel of the launch that kernel k belongs to. */
static uint32_t sched__launch_first(const ind_schedule *s, uint32_t k) {
    return s->launch ? s->launch[k] : k;
}

static uint32_t sched__launch_last(const ind_schedule *s, uint32_t k) {
    const uint32_t first = sched__launch_first(s, k);
    while (k + 1 < s->num_kernels && sched__launch_first(s, k + 1) == first) k++;
    return k;
}

/* Lifetimes of buffers in the arena, by buffer: stored buffers that are not outputs. They end with the launch of the
   last reader. */
static bool sched__find_lifetimes(sched__fuser *f, sched__lifetime *life) {
    ind_schedule *s = f->schedule;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        const uint32_t first = sched__launch_first(s, k), last = sched__launch_last(s, k);
        for (uint32_t i = 0; i < s->kernel[k].num_args; i++) {
            uint32_t b = s->kernel[k].arg[i];
            s->storage[b] = sched__in_arena(f, b) ? b : f->buffers.home[b];
            if (!sched__in_arena(f, b)) continue;
            if (i >= s->kernel[k].num_reads) {
                life[f->program->buffer[b].mutates].end = last;
                life[b] = (sched__lifetime){b, first, last, ind__align_up(f->buffers.bytes[b], IND__ALIGNMENT), 0};
                life[b].hint = sched__hint(life[b].size);
                if (!ind__ok(life[b].size)) return sched__fail(f);
            }
            life[b].end = last;
        }
    }
    for (uint32_t u = 0; u < f->program->num_unbacked; u++) { /* read back after a run */
        uint32_t count = f->program->unbacked[u].buffer;
        if (ind__ok(life[count].size)) life[count].end = s->num_kernels - 1;
    }
    return true;
}
