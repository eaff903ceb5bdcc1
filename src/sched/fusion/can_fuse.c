/* ================================================================================================ >>can-fuse */

static bool sched__fused(ind_fusion_reason r) {
    return r <= IND_FUSION_FUSED_HORIZONTAL;
}

/* Iterates over the accesses of a group:
   for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it)). */
typedef struct sched__access_iter {
    uint32_t loop, end;
    const ind__access *at;
} sched__access_iter;

static void sched__seek_access(const sched__fuser *f, sched__access_iter *it) {
    for (; it->loop != IND__SCHED_NONE; it->loop = f->next_loop[it->loop]) {
        it->end = f->first_access[it->loop + 1];
        it->at = f->access + f->first_access[it->loop];
        if (f->first_access[it->loop] < it->end) return;
    }
    it->at = NULL;
}

static sched__access_iter sched__first_access(const sched__fuser *f, uint32_t g) {
    sched__access_iter it = {.loop = f->group[g].head};
    sched__seek_access(f, &it);
    return it;
}

static void sched__next_access(const sched__fuser *f, sched__access_iter *it) {
    if (++it->at < f->access + it->end) return;
    it->loop = f->next_loop[it->loop];
    sched__seek_access(f, it);
}

static ind_expr sched__index_in(sched__fuser *f, const ind__access *a, const sched__domain *own, const ind_expr *map) {
    ind_expr e = a->index;
    sched__map(f, &e, own->var, map, own->rank + own->rrank);
    return e;
}

static bool sched__reads(const sched__fuser *f, uint32_t g, uint32_t buffer) {
    for (uint32_t r = f->buffers.first_reader[buffer]; r < f->buffers.first_reader[buffer + 1]; r++)
        if (f->group_of[f->buffers.reader[r]] == g) return true;
    return false;
}

/* True if a kernel over the domain may read the element at this index and change it in place. An element per point is
   read in any pass and stored in the last, after a barrier that waits for its readers. An element per row is read
   before the passes and stored after them. */
static bool sched__may_mutate_at(const sched__domain *d, ind_expr index) {
    int along = 0;
    for (int v = d->rank; v < d->rank + d->rrank; v++) along += ind__expr_depends(index, d->var[v]);
    return !along || along == d->rrank;
}

/* True if the access reads exactly the old element that is changed in place. `map` has the variables of its group in
   the kernel. In kernels with rows it must not be masked: a per-row read must not have a mask that varies along the
   row. */
static bool sched__reads_mutated_element(sched__fuser *f, const ind__access *at, const sched__domain *own,
                                         const ind_expr *map, ind_expr changed, bool rows) {
    if (at->write || at->whole || at->size || at->operand || at->indirect || (rows && at->masked)) return false;
    return ind_expr_same(sched__index_in(f, at, own, map), changed);
}

/* Group b changes `old` in place, which group a reads. True if both groups read only the element that the same point
   stores. */
static bool sched__mutates_pointwise(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, uint32_t old) {
    const ind__access *store = &f->access[f->buffers.written[f->program->buffer[old].mutated_by] - 1];
    bool product = f->group[a].dot != IND__SCHED_NONE || f->group[b].dot != IND__SCHED_NONE;
    if (f->policy.disable_mutation || !fit->domain || store->partly || store->indirect) return false;
    ind_expr changed = sched__index_in(f, store, fit->b, fit->map_b);
    bool rows = fit->domain->rrank && !product;
    if (rows && (f->policy.disable_row_mutation || !sched__may_mutate_at(fit->domain, changed))) return false;
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it))
        if (it.at->buffer == old && !sched__reads_mutated_element(f, it.at, fit->a, fit->map_a, changed, rows))
            return false;
    return true;
}

/* True if a read of the new version may use the value that the loop stored. */
static bool sched__forwards(const sched__fuser *f, uint32_t version) {
    const ind__access *store = &f->access[f->buffers.written[version] - 1];
    return !f->policy.disable_mutation && !store->partly && !store->indirect;
}

/* True if access `at` of b reads the element that a computes at the same point of the common domain. */
static bool sched__reads_same_point(sched__fuser *f, const ind__access *at, const sched__fit *fit) {
    ind_expr made = sched__index_in(f, &f->access[f->buffers.written[at->buffer] - 1], fit->a, fit->map_a);
    return ind_expr_same(made, sched__index_in(f, at, fit->b, fit->map_b));
}

/* b may read only the element of a's results that is computed at the same point, and must not change a's inputs.
   Returns FUSED_VERTICAL, FUSED_HORIZONTAL if b reads no result of a, or the reason against fusion. */
static ind_fusion_reason sched__check_reads(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    ind_fusion_reason reason = IND_FUSION_FUSED_HORIZONTAL;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t writer = sched__writer(f, it.at->buffer);
        if (it.at->whole && sched__reads(f, a, it.at->buffer) && !sched__mutates_pointwise(f, a, b, fit, it.at->buffer))
            return IND_FUSION_MUTATION;
        if (it.at->write || writer == IND__SCHED_NONE || f->group_of[writer] != a) continue;
        if (it.at->size) return IND_FUSION_SIZE;
        bool version = f->program->buffer[it.at->buffer].mutates;
        if (it.at->whole || (version && !sched__forwards(f, it.at->buffer))) return IND_FUSION_MUTATION;
        if (it.at->operand) return IND_FUSION_PROLOGUE;
        if (it.at->indirect) return IND_FUSION_INDIRECT;
        if (f->program->buffer[it.at->buffer].run) return IND_FUSION_INDEX_DIFFERS; /* complete after all rows */
        reason = IND_FUSION_FUSED_VERTICAL;
        if (!fit->domain) continue;
        if (!sched__reads_same_point(f, it.at, fit)) return IND_FUSION_INDEX_DIFFERS;
    }
    return reason;
}

/* True if a kernel over the rows of d may do the in-place changes of the group. They must not combine with the old
   value, and must read only the element that the same point stores. The epilogue of a matrix product handles each
   element once and may read any that is no operand; scatters are checked by sched__check_scatters. */
static bool sched__rows_may_mutate(sched__fuser *f, uint32_t g, const sched__domain *d, const ind_expr *map,
                                   bool product) {
    const sched__domain *own = f->group[g].domain;
    if (f->group[g].mutates && f->policy.disable_mutation) return false;
    for (sched__access_iter it = sched__first_access(f, g); f->group[g].mutates && it.at; sched__next_access(f, &it)) {
        const ind__buffer *b = &f->program->buffer[it.at->buffer];
        if (!product && it.at->write && b->mutates && (it.at->partly || it.at->indirect)) return false;
        if (product && !it.at->operand) continue;
        uint32_t mutator = it.at->write || it.at->whole ? IND__SCHED_NONE : sched__mutator(f, it.at->buffer);
        if (mutator == IND__SCHED_NONE || f->group_of[mutator] != g) continue;
        if (product || f->policy.disable_row_mutation) return false;
        ind_expr changed = sched__index_in(f, &f->access[f->buffers.written[b->mutated_by] - 1], own, map);
        if (!sched__may_mutate_at(d, changed) || !sched__reads_mutated_element(f, it.at, own, map, changed, true))
            return false;
    }
    return true;
}

static ind_fusion_reason sched__check_scan_pair(const sched__fuser *f, const sched__group *x, const sched__group *y) {
    if (x->combines || y->combines) return IND_FUSION_SCAN_FUNCTION;
    if (x->sorts && y->sorts) return IND_FUSION_TWO_SORTS;
    return x->num_scans + y->num_scans <= f->policy.max_scans ? IND_FUSION_FUSED_VERTICAL : IND_FUSION_TWO_SCANS;
}

static ind_fusion_reason sched__check_products(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit);
static ind_fusion_reason sched__check_scatters(sched__fuser *f, uint32_t dot, uint32_t g);

/* Checks the in-place changes of both groups. */
static ind_fusion_reason sched__check_mutations(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const bool x_dot = f->group[a].dot != IND__SCHED_NONE, y_dot = f->group[b].dot != IND__SCHED_NONE;
    const sched__domain *d = fit->domain;
    if (!d || !d->rrank) return IND_FUSION_FUSED_VERTICAL;
    ind_fusion_reason reason = IND_FUSION_FUSED_VERTICAL;
    if (x_dot) reason = sched__check_scatters(f, a, b);
    if (y_dot && sched__fused(reason)) reason = sched__check_scatters(f, b, a);
    if (!sched__fused(reason)) return reason;
    const bool may = sched__rows_may_mutate(f, a, d, fit->map_a, x_dot || y_dot) &&
                     sched__rows_may_mutate(f, b, d, fit->map_b, x_dot || y_dot);
    return may ? reason : IND_FUSION_MUTATION;
}

static ind_fusion_reason sched__check_templates(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (x->call || y->call) return x->library || y->library ? IND_FUSION_LIBRARY : IND_FUSION_EXTERN;
    bool x_dot = x->dot != IND__SCHED_NONE, y_dot = y->dot != IND__SCHED_NONE;
    const ind_fusion_reason mutations = sched__check_mutations(f, a, b, fit);
    const bool product = x_dot || y_dot;
    if (!sched__fused(mutations)) return mutations;
    if ((x->run || y->run) && (x->scans || y->scans)) return IND_FUSION_RUNS_SCAN;
    if ((x->run || y->run) && product) return IND_FUSION_RUNS_PRODUCT;
    if (x->run && y->run && x->run != y->run) return IND_FUSION_RUNS;
    if ((x->scans || y->scans) && f->policy.disable_scans) return IND_FUSION_DISABLED;
    if ((x->sorts || y->sorts) && f->policy.disable_sorts) return IND_FUSION_SCAN;
    if ((x->sorts || y->sorts) && (x->mutates || y->mutates)) return IND_FUSION_MUTATION;
    const ind_fusion_reason scans = x->scans && y->scans ? sched__check_scan_pair(f, x, y) : IND_FUSION_FUSED_VERTICAL;
    if (!sched__fused(scans)) return scans;
    if (x->scans && y_dot) return IND_FUSION_PROLOGUE;
    if (x_dot && y->scans) return IND_FUSION_REDUCTION_AFTER_TEMPLATE;
    if (x_dot && y_dot) return sched__check_products(f, a, b, fit);
    if (x_dot && y->reduces) return IND_FUSION_REDUCTION_AFTER_TEMPLATE;
    if (y_dot && x->reduces) return IND_FUSION_PROLOGUE;
    return IND_FUSION_FUSED_VERTICAL;
}

/* True if the fused kernel would have too many loops or buffers. */
static bool sched__too_large(sched__fuser *f, uint32_t a, uint32_t b) {
    int args = 0;
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (x->count + y->count > (uint32_t)f->policy.max_loops) return true;
    if ((x->sorts || y->sorts) && x->count + y->count > IND__SCHED_SORTED_LOOPS) return true;
    f->visits.epoch++;
    for (int half = 0; half < 2; half++) {
        for (sched__access_iter it = sched__first_access(f, half ? b : a); it.at; sched__next_access(f, &it)) {
            uint32_t buffer = it.at->buffer, writer = sched__writer(f, buffer);
            if (f->visits.mark[buffer] == f->visits.epoch) continue;
            f->visits.mark[buffer] = f->visits.epoch;
            bool own = writer != IND__SCHED_NONE && (f->group_of[writer] == a || f->group_of[writer] == b);
            args += !own || sched__stored(f, buffer, a, b);
        }
    }
    return args > f->policy.max_args;
}

/* True if no reduction or per-element value of the two groups depends on a reduction of them: one pass over the rows
   computes all. */
static bool sched__one_pass(sched__fuser *f, uint32_t a, uint32_t b, int64_t rows) {
    f->visits.epoch++;
    for (int half = 0; half < 2; half++) {
        for (uint32_t l = f->group[half ? b : a].head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
            const ind__loop *loop = &f->program->loop[l];
            bool after = false;
            for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++)
                after |= !f->access[i].write && f->visits.mark[f->access[i].buffer] == f->visits.epoch;
            if (after && (loop->body->rrank || sched__points_hint(loop->body, 0, loop->body->rank) > rows))
                return false;
            for (uint32_t o = 0; o < loop->num_outputs && (after || loop->body->rrank); o++)
                f->visits.mark[loop->output[o]] = f->visits.epoch;
        }
    }
    return true;
}

/* True if fusing an elementwise loop with a few very long rows leaves multiprocessors idle and does not save its store.
   The saved launch is worth less. Blocks share a row longer than one block reduces alone, if one pass computes all, and
   rows of scores, if attention takes them in. */
static bool sched__underfills_gpu(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const sched__group *flat = &f->group[fit->a->rrank ? b : a], *rows = &f->group[fit->a->rrank ? a : b];
    for (uint32_t l = rows->head; l != IND__SCHED_NONE; l = f->next_loop[l])
        if (sched__reduces_scores(f->program, &f->policy, l)) return false;
    if (!fit->elementwise || !sched__few_long_rows(&f->policy, fit->domain->hint, fit->domain->rhint)) return false;
    if (fit->domain->rhint > f->policy.block_row && sched__one_pass(f, a, b, fit->domain->hint)) return false;
    for (uint32_t l = flat->head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        const ind__loop *loop = &f->program->loop[l];
        for (uint32_t o = 0; o < loop->num_outputs; o++) {
            if (sched__stored(f, loop->output[o], a, b)) return true;
        }
    }
    return false;
}

/* ---- cycles: a fused kernel must not need another kernel between its parts */

typedef enum sched__search_result {
    IND__SCHED_SEARCH_DONE,
    IND__SCHED_SEARCH_CYCLE,
    IND__SCHED_SEARCH_LIMIT
} sched__search_result;

typedef struct sched__search {
    bool forward;
    uint32_t from, to;
    uint32_t *list, num; /* groups that can be reached from `from`, between the two in the topological order */
    uint32_t steps;
    sched__search_result result;
} sched__search;

static void sched__reach(sched__fuser *f, sched__search *s, uint32_t at, uint32_t next) {
    if (++s->steps > IND__SCHED_STEPS && s->result == IND__SCHED_SEARCH_DONE) s->result = IND__SCHED_SEARCH_LIMIT;
    if (next == at || next == s->from || f->visits.mark[next] == f->visits.epoch) return;
    if (next == s->to) {
        if (at != s->from) s->result = IND__SCHED_SEARCH_CYCLE;
        return;
    }
    uint32_t order = f->group[next].order, limit = f->group[s->to].order;
    if (s->forward ? order > limit : order < limit) return;
    if (s->num == IND__SCHED_VISITS) {
        s->result = IND__SCHED_SEARCH_LIMIT;
        return;
    }
    f->visits.mark[next] = f->visits.epoch;
    s->list[s->num++] = next;
}

static void sched__reach_readers(sched__fuser *f, sched__search *s, uint32_t at, uint32_t l) {
    const ind__loop *loop = &f->program->loop[l];
    for (uint32_t o = 0; o < loop->num_outputs; o++) {
        uint32_t b = loop->output[o];
        for (uint32_t r = f->buffers.first_reader[b];
             r < f->buffers.first_reader[b + 1] && s->result == IND__SCHED_SEARCH_DONE; r++)
            sched__reach(f, s, at, f->group_of[f->buffers.reader[r]]);
    }
    for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1] && s->result == IND__SCHED_SEARCH_DONE; a++) {
        uint32_t mutator = f->access[a].write ? IND__SCHED_NONE : sched__mutator(f, f->access[a].buffer);
        if (mutator != IND__SCHED_NONE && mutator != l) sched__reach(f, s, at, f->group_of[mutator]);
    }
}

static void sched__reach_writers(sched__fuser *f, sched__search *s, uint32_t at, uint32_t l) {
    for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1] && s->result == IND__SCHED_SEARCH_DONE; a++) {
        uint32_t writer = f->access[a].write ? IND__SCHED_NONE : sched__writer(f, f->access[a].buffer);
        if (writer != IND__SCHED_NONE) sched__reach(f, s, at, f->group_of[writer]);
    }
    for (uint32_t i = f->first_wait[l]; i < f->first_wait[l + 1] && s->result == IND__SCHED_SEARCH_DONE; i++)
        sched__reach(f, s, at, f->group_of[f->waits[i]]);
}

static sched__search_result sched__search_run(sched__fuser *f, sched__search *s) {
    f->visits.epoch++;
    for (uint32_t i = 0, at = s->from;; at = s->list[i++]) {
        for (uint32_t l = f->group[at].head; l != IND__SCHED_NONE; l = f->next_loop[l])
            (s->forward ? sched__reach_readers : sched__reach_writers)(f, s, at, l);
        if (s->result != IND__SCHED_SEARCH_DONE || i == s->num) return s->result;
    }
}

/* Searches for a third group that must run after a and before b. The groups found let sched__reorder place the fused
   group in the topological order (Pearce and Kelly 2006). It takes b's position if no group in between needs a, and a's
   if b needs none of them; otherwise both sets are known and move. */
static ind_fusion_reason sched__check_cycle(sched__fuser *f, uint32_t a, uint32_t b) {
    sched__search after = {.forward = true, .from = a, .to = b, .list = f->visits.after};
    sched__search before = {.from = b, .to = a, .list = f->visits.before};
    sched__search_result x = sched__search_run(f, &after), y = IND__SCHED_SEARCH_DONE;
    f->visits.num_after = after.num, f->visits.num_before = 0;
    if (x == IND__SCHED_SEARCH_CYCLE) return IND_FUSION_CYCLE;
    if (x == IND__SCHED_SEARCH_DONE && !after.num) return IND_FUSION_FUSED_VERTICAL;
    y = sched__search_run(f, &before);
    f->visits.num_before = before.num;
    if (y == IND__SCHED_SEARCH_CYCLE) return IND_FUSION_CYCLE;
    if (y == IND__SCHED_SEARCH_DONE && (!before.num || x == IND__SCHED_SEARCH_DONE)) return IND_FUSION_FUSED_VERTICAL;
    return IND_FUSION_TOO_FAR;
}

/* Bytes that both read at the same points, at the hints. */
static int64_t sched__shared_reads(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    int64_t bytes = 0;
    f->visits.epoch++;
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it)) {
        if (it.at->write || it.at->operand || it.at->whole || it.at->size) continue;
        f->visits.mark[it.at->buffer] = f->visits.epoch;
        f->visits.found[it.at->buffer] = (uint32_t)(it.at - f->access);
    }
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t buffer = it.at->buffer;
        if (it.at->write || it.at->operand || it.at->whole || it.at->size || f->visits.mark[buffer] != f->visits.epoch)
            continue;
        ind_expr x = sched__index_in(f, &f->access[f->visits.found[buffer]], fit->a, fit->map_a);
        if (!ind_expr_same(x, sched__index_in(f, it.at, fit->b, fit->map_b))) continue;
        f->visits.mark[buffer] = 0;
        bytes = sched__add_hint(bytes, f->buffers.bytes_hint[buffer]);
    }
    return bytes;
}

/* Scarcity of memory for the two groups: the larger `care`. */
static uint8_t sched__memory_scarcity(const sched__fuser *f, uint32_t a, uint32_t b) {
    return f->group[a].care > f->group[b].care ? f->group[a].care : f->group[b].care;
}

/* Group whose partial results this group reduces; SCHED_NONE: none. */
static uint32_t sched__first_stage_of(sched__fuser *f, uint32_t g) {
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it))
        if (!it.at->write && f->program->buffer[it.at->buffer].partial)
            return f->group_of[sched__writer(f, it.at->buffer)];
    return IND__SCHED_NONE;
}

/* Second stages of one kernel's partial results share no reads, but fusing them saves a launch. */
static bool sched__are_second_stages(sched__fuser *f, uint32_t a, uint32_t b) {
    uint32_t first = sched__first_stage_of(f, a);
    return first != IND__SCHED_NONE && first == sched__first_stage_of(f, b);
}

/* True if the group changes memory in place and reads a size from memory. Such kernels cannot share a launch later, as
   independent kernels do: they are fused here. Others with a size may still become part of attention. */
static bool sched__mutates_by_size(const sched__fuser *f, uint32_t g) {
    if (!f->group[g].mutates) return false;
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it))
        if (it.at->size) return true;
    return false;
}

static ind_fusion_reason sched__check_horizontal(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (x->dot != IND__SCHED_NONE && y->dot != IND__SCHED_NONE) return IND_FUSION_PAIR_READER;
    uint32_t distance = x->tail < y->head ? y->head - x->tail : y->tail < x->head ? x->head - y->tail : 0;
    if (distance > (uint32_t)f->policy.max_distance) return IND_FUSION_TOO_FAR;
    if (sched__memory_scarcity(f, a, b)) return IND_FUSION_MEMORY;
    const bool sized = sched__mutates_by_size(f, a) && sched__mutates_by_size(f, b);
    const bool launch = sized || sched__are_second_stages(f, a, b);
    if (sched__shared_reads(f, a, b, fit) < f->policy.min_saved && !launch) return IND_FUSION_NO_GAIN;
    return IND_FUSION_FUSED_HORIZONTAL;
}
