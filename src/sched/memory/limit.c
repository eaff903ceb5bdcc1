/* ---- limit: never more memory than unfused execution */

/* The peak of a plan, and the loops that contribute to it. */
typedef struct sched__blame {
    const ind_schedule *s;
    int point;
    uint32_t *begin, *end;  /* lifetime of memory, by the buffer in `storage`; end is one after the last kernel */
    int64_t *live;          /* by kernel, one more than kernels: change of the bytes in the arena */
    uint32_t *peak;         /* kernels at the peak */
    uint32_t *peaks_before; /* by kernel, one more than kernels */
    uint32_t *last_reader;  /* by buffer: loop; 0: none */
    uint8_t *blamed;        /* by loop */
} sched__blame;

static bool sched__blame_alloc(sched__fuser *f, sched__blame *m) {
    uint32_t buffers = m->s->program->num_buffers, kernels = m->s->num_kernels;
    m->begin = sched__scratch(f, buffers, sizeof *m->begin);
    m->end = sched__scratch(f, buffers, sizeof *m->end);
    m->live = sched__scratch(f, (size_t)kernels + 1, sizeof *m->live);
    m->peak = sched__scratch(f, kernels, sizeof *m->peak);
    m->peaks_before = sched__scratch(f, (size_t)kernels + 1, sizeof *m->peaks_before);
    m->last_reader = sched__scratch(f, buffers, sizeof *m->last_reader);
    m->blamed = sched__scratch(f, m->s->program->num_loops, sizeof *m->blamed);
    return !f->failed;
}

static void sched__find_memory(sched__blame *m) {
    const ind_schedule *s = m->s;
    for (uint32_t b = 1; b < s->program->num_buffers; b++) {
        uint32_t root = s->storage[b];
        if (!ind__ok(s->offset[b])) continue;
        if (!m->end[root] || s->first_use[b] < m->begin[root]) m->begin[root] = s->first_use[b];
        if (s->last_use[b] >= m->end[root]) m->end[root] = s->last_use[b] + 1;
    }
    for (uint32_t b = 1; b < s->program->num_buffers; b++) {
        int64_t bytes;
        ind_expr most = ind__buffer_most_bytes(s->program, &s->program->buffer[b]);
        if (!m->end[b] || ind_expr_eval(most, sched__corner_value, &m->point, &bytes)) continue;
        m->live[m->begin[b]] += bytes; /* no overflow: op_by_op_bytes was evaluated there */
        m->live[m->end[b]] -= bytes;
    }
}

static void sched__find_peaks(sched__blame *m) {
    int64_t most = 0, live = 0;
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->s->num_kernels; k++) {
        live += m->live[k];
        if (live > most) most = live;
    }
    live = 0;
    for (uint32_t k = 0; k < m->s->num_kernels; k++) {
        live += m->live[k];
        m->peaks_before[k] = n;
        if (live == most) m->peak[n++] = k;
    }
    m->peaks_before[m->s->num_kernels] = n;
}

/* Finds the last loop that needs each buffer, for its data or for its memory. */
static void sched__find_last_readers(sched__blame *m) {
    const ind__lowered *p = m->s->program;
    for (uint32_t l = 0; l < p->num_loops; l++) {
        const ind_body *body = p->loop[l].body;
        for (uint32_t i = 1; i < body->num_inst; i++)
            if (body->inst[i].op == IND_LOOP_LOAD) m->last_reader[body->inst[i].source] = l;
    }
    for (uint32_t b = 1; b < p->num_buffers; b++) {
        uint32_t version = p->buffer[b].mutated_by;
        if (version && p->buffer[version].loop > m->last_reader[b]) m->last_reader[b] = p->buffer[version].loop;
    }
}

/* Blames the writer or the last reader if the buffer is live at a peak, but would not be in an unfused run of the loops
   of that kernel. Then its writer runs too early, or its last reader too late. */
static void sched__blame_buffer(sched__blame *m, uint32_t b) {
    const ind_schedule *s = m->s;
    uint32_t first = m->peaks_before[s->first_use[b]], end = m->peaks_before[s->last_use[b] + 1];
    if (first == end) return;
    const ind_kernel *early = &s->kernel[m->peak[first]], *late = &s->kernel[m->peak[end - 1]];
    uint32_t writer = s->program->buffer[b].loop, reader = m->last_reader[b] > writer ? m->last_reader[b] : writer;
    if (writer > early->loop[early->num_loops - 1]) m->blamed[writer] = 1;
    if (reader < late->loop[0]) m->blamed[reader] = 1;
}

static void sched__blame_kernel(sched__blame *m, uint32_t k) {
    const ind_kernel *kernel = &m->s->kernel[k];
    for (uint32_t i = 0; kernel->num_loops > 1 && i < kernel->num_loops; i++) m->blamed[kernel->loop[i]] = 1;
}

/* Blames the kernels that run at a peak; `around`: also the first and last users of buffers that are live there. */
static void sched__blame_kernels(sched__blame *m, bool around) {
    const ind_schedule *s = m->s;
    for (uint32_t i = 0; i < m->peaks_before[s->num_kernels]; i++) sched__blame_kernel(m, m->peak[i]);
    for (uint32_t b = 1; around && b < s->program->num_buffers; b++) {
        if (!ind__ok(s->offset[b]) || m->peaks_before[s->first_use[b]] == m->peaks_before[s->last_use[b] + 1]) continue;
        sched__blame_kernel(m, s->first_use[b]);
        sched__blame_kernel(m, s->last_use[b]);
    }
}

/* Increases the care of the blamed loops. False: all already have the maximum. */
static bool sched__raise_blamed(sched__blame *m, uint8_t *care) {
    bool more = false;
    for (uint32_t l = 0; l < m->s->program->num_loops; l++)
        if (m->blamed[l] && care[l] < IND__SCHED_UNFUSED) care[l]++, more = true;
    return more;
}

/* Chooses the loops that get more care in the next schedule, from the peaks of this one: first single loops, then
   kernels. */
static bool sched__raise_scarcity(sched__fuser *f, const ind_schedule *s, uint8_t *care) {
    sched__blame m = {.s = s};
    while (m.point + 1 < IND__SCHED_NUM_POINTS && !sched__exceeds_unfused(s, s->peak_bytes, m.point)) m.point++;
    if (!sched__blame_alloc(f, &m)) return false;
    sched__find_memory(&m);
    sched__find_peaks(&m);
    sched__find_last_readers(&m);
    for (uint32_t b = 1; b < s->program->num_buffers; b++)
        if (ind__ok(s->offset[b])) sched__blame_buffer(&m, b);
    if (sched__raise_blamed(&m, care)) return true;
    sched__blame_kernels(&m, false);
    if (sched__raise_blamed(&m, care)) return true;
    sched__blame_kernels(&m, true);
    return sched__raise_blamed(&m, care);
}

/* Builds another schedule and keeps the better one. */
static ind_status sched__reschedule(const sched__fuser *f, ind_schedule **s) {
    ind_schedule *other;
    ind_status status = sched__create(f, &other);
    if (status) return status;
    uint32_t above = sched__num_exceeding(other, other->peak_bytes), had = sched__num_exceeding(*s, (*s)->peak_bytes);
    bool better = above < had || (above == had && ind_hint(other->arena_bytes) < ind_hint((*s)->arena_bytes));
    ind__schedule_free(better ? *s : other);
    if (better) *s = other;
    return IND_OK;
}

/* Limits the peak to the unfused peak. A fusion may take memory: all its operands are live until the kernel runs,
   horizontal fusion computes results at the same time, and buffers stored in parts are live from the first part on. If
   the plan exceeds the unfused peak, at the hints or at the ends of the ranges, loops around the peak are left unfused:
   a few more in each attempt, finally all. Each attempt builds a new schedule, as only a whole plan shows its
   memory. */
static ind_status sched__limit_memory(sched__fuser *f, ind_schedule **s) {
    ind_status status = IND_OK;
    if (!sched__num_exceeding(*s, (*s)->peak_bytes)) return IND_OK;
    uint8_t *care = sched__scratch(f, f->program->num_loops, 1);
    bool more = care != NULL;
    f->care = care;
    for (int i = 0; i < IND__SCHED_MEMORY_TRIES && !status && more && sched__num_exceeding(*s, (*s)->peak_bytes); i++) {
        more = sched__raise_scarcity(f, *s, care);
        if (!f->failed && more) status = sched__reschedule(f, s);
    }
    if (f->failed) return ind__failed(f->context);
    if (status || !sched__num_exceeding(*s, (*s)->peak_bytes)) return status;
    memset(care, IND__SCHED_UNFUSED, f->program->num_loops);
    f->keep_order = true;
    return sched__reschedule(f, s);
}

ind_status ind__schedule_create(ind_context *c, const ind__lowered *program, const ind_fusion_policy *policy,
                                const char *(*origin_name)(uint32_t node, void *user), void *user, ind_schedule **out) {
    if (out) *out = NULL;
    if (!c) return IND_ERROR_INVALID_ARGUMENT;
    if (!program || !out)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "schedule: the program or the result pointer is NULL");
    if (!program->layouts_fixed)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "schedule: the program's layouts are not fixed");
    sched__fuser *f = ind__alloc(c, sizeof *f);
    if (!f) return IND_ERROR_OUT_OF_MEMORY;
    *f = (sched__fuser){.context = c, .program = program, .origin.name = origin_name, .origin.user = user};
    f->scratch.context = c;
    if (policy) f->policy = *policy;
    sched__policy_defaults(&f->policy);
    const uint32_t refusals = ind__refusals(c);
    ind_status status = sched__create(f, out);
    if (!status && !f->policy.disable) status = sched__limit_memory(f, out);
    if (!status) (*out)->dependent_launch = !f->policy.disable_dependent_launch && (*out)->num_launches > 1;
    if (!status) (*out)->finishes = !f->policy.disable_finish;
    ind__arena_free(&f->scratch);
    if (!status && ind__verifying(c)) status = ind__schedule_verify(*out);
    if (!status) status = ind__refused_since(c, refusals);
    ind__free(c, f);
    if (status) ind__schedule_free(*out), *out = NULL;
    return status;
}
