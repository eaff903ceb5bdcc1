/* ================================================================================================== >>split */

/* Loops that load values of each buffer, ascending. */
typedef struct sched__readers {
    uint32_t *loop;
    uint32_t *first; /* by buffer, one more than buffers */
} sched__readers;

/* Splits are decided before any fusion. A first stage is created for another loop's rows only if both are certain to
   fuse: neither depends on the other except at the same point. */
typedef struct sched__splitter {
    const ind__lowered *program;
    ind_fusion_policy policy;
    ind__split *split;        /* by loop: as for ind__lowered_split; NULL while edges are explained */
    uint8_t *has_first_stage; /* by loop: a first stage was created for its rows */
    sched__readers readers;   /* all */
    sched__readers reducers;  /* those that reduce the values */
} sched__splitter;

static bool sched__reduces_rows(const ind__loop *l) {
    return l->reduction != IND_REDUCE_NONE && l->reduction != IND_REDUCE_DOT && !l->body->call;
}

static bool sched__loads(const ind_body *b, uint32_t buffer) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_LOAD && b->inst[i].source == buffer) return true;
    return false;
}

static int64_t sched__points_hint(const ind_body *b, int from, int to) {
    int64_t n = 1;
    for (int v = from; v < to; v++) {
        int64_t size = sched__hint(sched__extent(b->var[v]));
        n = size && n > INT64_MAX / size ? INT64_MAX : n * size;
    }
    return n;
}

/* Finds the variables of `b` whose extent is not 1; returns their number; *p: how many of them are in P. */
static int sched__long_vars(const ind_body *b, int var[IND__SCHED_DIMS], int *p) {
    int n = 0;
    *p = 0;
    for (int v = 0; v < b->rank + b->rrank; v++) {
        if (sched__is_one(sched__extent(b->var[v]))) continue;
        *p += v < b->rank;
        var[n++] = v;
    }
    return n;
}

/* An index with the variables of extent 1 set to 0. */
static ind_expr sched__plain_index(const ind_body *b, ind_expr index) {
    ind_expr to[IND__SCHED_DIMS];
    for (int v = 0; v < b->rank + b->rrank; v++)
        to[v] = sched__is_one(sched__extent(b->var[v])) ? ind_int(b->context, 0) : b->var[v];
    return ind__substitute(index, b->var, to, b->rank + b->rrank);
}

/* True if `rows` loads (or stores) this element of the buffer at the same point. */
static bool sched__has_access(const ind_body *rows, ind_loop_op op, uint32_t buffer, ind_expr index) {
    for (uint32_t i = 1; i < rows->num_inst; i++) {
        const ind__inst *in = &rows->inst[i];
        if (in->op != op || in->source != buffer) continue;
        if (ind_expr_same(sched__plain_index(rows, rows->index[in->index]), index)) return true;
    }
    return false;
}

/* ---- related loops: those that the fuser would bring into one kernel with a reduction if it had their rows. They have
   the same points and access common data there, or compute values per row of them. */

enum { IND__SCHED_RELATED = 32 };

typedef struct sched__related {
    uint32_t loop;
    bool makes;                   /* the reduction's data depends on it */
    bool same;                    /* it has the points of the reduction, in the same order */
    ind_expr at[IND__SCHED_DIMS]; /* same: its variables, in those of the reduction */
} sched__related;

/* The reduction comes first. */
typedef struct sched__related_loops {
    const sched__splitter *s;
    const ind_body *whole;
    sched__related of[IND__SCHED_RELATED];
    uint32_t num;
} sched__related_loops;

/* True if both have the same points in row-major order. at: the variables of `b` expressed in those of `whole`. */
static bool sched__same_points(const ind_body *whole, const ind_body *b, ind_expr at[IND__SCHED_DIMS]) {
    ind_expr size[IND__SCHED_DIMS], other[IND__SCHED_DIMS], var[IND__SCHED_DIMS], digit[IND__SCHED_DIMS];
    int mine[IND__SCHED_DIMS], theirs[IND__SCHED_DIMS], p;
    const int n = sched__long_vars(whole, mine, &p), m = sched__long_vars(b, theirs, &p);
    if (sched__points_hint(whole, 0, whole->rank + whole->rrank) != sched__points_hint(b, 0, b->rank + b->rrank))
        return false;
    bool equal = n == m;
    for (int k = 0; k < n; k++) var[k] = whole->var[mine[k]], size[k] = sched__extent(var[k]);
    for (int k = 0; k < m; k++) {
        other[k] = sched__extent(b->var[theirs[k]]);
        equal = equal && ind_expr_same(size[k], other[k]);
    }
    for (int v = 0; v < b->rank + b->rrank; v++) at[v] = ind_int(b->context, 0);
    if (!equal) {
        if (!ind_known_eq(ind_expr_product(b->context, size, n), ind_expr_product(b->context, other, m))) return false;
        ind__delinearise(b->context, ind__linearise(b->context, var, size, n), other, m, digit);
    }
    for (int k = 0; k < m; k++) at[theirs[k]] = equal ? var[k] : digit[k];
    return true;
}

/* True if the loop accesses this element of the buffer at the same point. at: its variables, in those of the
   reduction. */
static bool sched__accesses_at(const ind_body *b, const ind_expr *at, uint32_t buffer, ind_expr index) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        if (!sched__is_access(&b->inst[i]) || b->inst[i].source != buffer) continue;
        ind_expr mine = ind__substitute(b->index[b->inst[i].index], b->var, at, b->rank + b->rrank);
        if (ind_expr_same(mine, index)) return true;
    }
    return false;
}

/* The index of access i of related loop k, in the variables of the reduction. */
static ind_expr sched__related_index(const sched__related_loops *x, uint32_t k, uint32_t i) {
    const ind_body *b = x->s->program->loop[x->of[k].loop].body;
    return ind__substitute(b->index[b->inst[i].index], b->var, x->of[k].at, b->rank + b->rrank);
}

/* Adds loop l to the related loops, if it accesses the same element as access i of related loop k at the same point,
   or it computes values for fewer points. */
static void sched__relate(sched__related_loops *x, uint32_t l, bool makes, uint32_t k, uint32_t i) {
    const ind__lowered *p = x->s->program;
    const ind__loop *loop = &p->loop[l];
    const uint32_t whole = x->of[0].loop, distance = l < whole ? whole - l : l - whole;
    for (uint32_t n = 0; n < x->num; n++)
        if (x->of[n].loop == l) return;
    if (x->num == IND__SCHED_RELATED || loop->body->call || distance >= IND__SCHED_WINDOW) return;
    for (uint32_t o = 0; o < loop->num_outputs; o++)
        if (p->buffer[loop->output[o]].mutates) return;
    sched__related *r = &x->of[x->num];
    *r = (sched__related){.loop = l, .makes = makes};
    r->same = sched__same_points(x->whole, loop->body, r->at);
    if (r->same && x->of[k].same) {
        const uint32_t buffer = p->loop[x->of[k].loop].body->inst[i].source;
        x->num += sched__accesses_at(loop->body, r->at, buffer, sched__related_index(x, k, i));
        return;
    }
    const int64_t points = sched__points_hint(loop->body, 0, loop->body->rank);
    const int64_t all = sched__points_hint(x->whole, 0, x->whole->rank + x->whole->rrank);
    x->num += makes && (r->same || (!loop->body->rrank && points < all));
}

/* Adds the loops near the reduction that read what access i of related loop k accesses. */
static void sched__relate_readers(sched__related_loops *x, uint32_t k, uint32_t i) {
    const sched__splitter *s = x->s;
    const uint32_t b = s->program->loop[x->of[k].loop].body->inst[i].source;
    const uint32_t last = s->readers.first[b + 1];
    uint32_t at = s->readers.first[b];
    for (uint32_t end = last; at < end;) { /* many loops may read one buffer */
        const uint32_t middle = at + (end - at) / 2;
        if (s->readers.loop[middle] + IND__SCHED_NEIGHBOURS < x->of[0].loop)
            at = middle + 1;
        else
            end = middle;
    }
    for (uint32_t n = 0; at < last && n < IND__SCHED_NEIGHBOURS; at++, n++)
        sched__relate(x, s->readers.loop[at], false, k, i);
}

/* Finds first the loops that the reduction's data depends on, then the other readers and writers of the same data. */
static void sched__find_related(sched__related_loops *x, const sched__splitter *s, uint32_t l) {
    const ind__lowered *p = s->program;
    x->s = s, x->whole = p->loop[l].body;
    x->of[0] = (sched__related){.loop = l, .makes = true, .same = true};
    sched__same_points(x->whole, x->whole, x->of[0].at);
    x->num = 1;
    for (int readers = 0; readers < 2; readers++) {
        for (uint32_t k = 0; k < x->num; k++) {
            const ind_body *b = p->loop[x->of[k].loop].body;
            for (uint32_t i = 1; i < b->num_inst; i++) {
                const uint32_t buffer = b->inst[i].source;
                if (!sched__is_access(&b->inst[i]) || (readers && !x->of[k].same)) continue;
                if (readers)
                    sched__relate_readers(x, k, i);
                else if (b->inst[i].op == IND_LOOP_LOAD && p->buffer[buffer].kind == IND__BUFFER_COMPUTED)
                    sched__relate(x, p->buffer[buffer].loop, true, k, i);
            }
        }
    }
}

/* Bytes of the elements that related loop k accesses at points at which another one accesses them. */
static int64_t sched__shared_bytes(const sched__related_loops *x, uint32_t k) {
    const ind__lowered *p = x->s->program;
    const ind_body *b = p->loop[x->of[k].loop].body;
    int64_t bytes = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *in = &b->inst[i];
        if (!sched__is_access(in) || (in->op == IND_LOOP_STORE && !k)) continue;
        const ind_expr index = sched__related_index(x, k, i);
        bool shared = false;
        for (uint32_t n = 0; n < x->num && !shared && !ind__expr_has_kind(index, IND_SYMBOL_INDIRECT); n++)
            shared = n != k && x->of[n].same &&
                     sched__accesses_at(p->loop[x->of[n].loop].body, x->of[n].at, in->source, index);
        if (shared) bytes = sched__add_hint(bytes, sched__hint(ind__buffer_bytes(&p->buffer[in->source])));
    }
    return bytes;
}

static bool sched__is_related(const void *related, uint32_t loop) {
    const sched__related_loops *x = related;
    for (uint32_t k = 0; k < x->num; k++)
        if (x->of[k].loop == loop) return true;
    return false;
}

static bool sched__loads_changing(const sched__splitter *s, const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__buffer *x = &s->program->buffer[b->inst[i].source];
        if (b->inst[i].op == IND_LOOP_LOAD && (x->mutates || x->mutated_by)) return true;
    }
    return false;
}

static bool sched__splits_by_runs(const ind_body *b) {
    const uint32_t reduce = ind__body_splits(b);
    return reduce && ind__can_scatter((ind_reduction)b->inst[reduce].reduction);
}

static bool sched__splits_never(const ind_body *b) {
    (void)b;
    return false;
}

static bool sched__splits_along_rows(const ind_body *b) {
    return ind__body_splits(b) != 0;
}

/* True if another loop reduces the same data over the same dimensions and does not split. Both fuse unsplit. */
static bool sched__reduced_too(const sched__splitter *s, uint32_t l, bool (*splits)(const ind_body *)) {
    const ind_body *b = s->program->loop[l].body;
    int64_t points = sched__points_hint(b, b->rank, b->rank + b->rrank);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        uint32_t x = b->inst[i].source, tried = 0;
        if (b->inst[i].op != IND_LOOP_LOAD) continue;
        for (uint32_t at = s->reducers.first[x]; at < s->reducers.first[x + 1] && tried < IND__SCHED_NEIGHBOURS; at++) {
            const ind_body *other = s->program->loop[s->reducers.loop[at]].body;
            tried++;
            if (other == b || other->rank != b->rank || other->rrank != b->rrank) continue;
            if (sched__points_hint(other, b->rank, b->rank + b->rrank) != points) continue;
            if (!splits(other)) return true;
        }
    }
    return false;
}

/* True if a user of the result reads the loop's data again, as a normalisation does. Then one unsplit kernel is better,
   as it still has the data. */
static bool sched__data_read_after(const sched__splitter *s, uint32_t l) {
    const ind__lowered *p = s->program;
    uint8_t follows[IND__SCHED_WINDOW] = {1}; /* by loop, from l on: it depends on the result */
    for (uint32_t m = l + 1; m < p->num_loops && m - l < IND__SCHED_WINDOW; m++) {
        const ind_body *b = p->loop[m].body;
        bool shares = false;
        for (uint32_t i = 1; i < b->num_inst; i++) {
            const ind__buffer *x = &p->buffer[b->inst[i].source];
            if (b->inst[i].op != IND_LOOP_LOAD) continue;
            bool within = x->kind == IND__BUFFER_COMPUTED && x->loop >= l && x->loop < m;
            follows[m - l] |= within && follows[x->loop - l];
            shares = shares || sched__loads(p->loop[l].body, b->inst[i].source);
        }
        if (shares && follows[m - l]) return true;
    }
    return false;
}

/* True if a kernel of loops l and r and the loops on the same rows between them would depend on another kernel in
   between. */
static bool sched__needs_kernel_between(const sched__splitter *s, uint32_t l, uint32_t r,
                                        bool (*on_rows)(const void *rows, uint32_t loop), const void *rows) {
    enum {
        FOLLOWS = 1,
        OUTSIDE = 2
    }; /* it depends on the first loop's result; through a loop that does not work on
          these rows */
    const ind__lowered *p = s->program;
    uint32_t first = l < r ? l : r, last = l < r ? r : l;
    uint8_t from[IND__SCHED_WINDOW] = {FOLLOWS};
    if (last - first >= IND__SCHED_WINDOW) return true;
    for (uint32_t m = first + 1; m <= last; m++) {
        const ind_body *b = p->loop[m].body;
        for (uint32_t i = 1; i < b->num_inst; i++) {
            const ind__buffer *x = &p->buffer[b->inst[i].source];
            if (b->inst[i].op != IND_LOOP_LOAD || x->kind != IND__BUFFER_COMPUTED || x->loop < first || x->loop >= m)
                continue;
            uint8_t how = from[x->loop - first];
            if (how && x->loop != first && !on_rows(rows, x->loop)) how = OUTSIDE;
            from[m - first] = how > from[m - first] ? how : from[m - first];
        }
    }
    return first == r ? from[last - first] == OUTSIDE : from[last - first] != 0;
}

/* ---- a reduction of several rows: its first stage has the rows of another kernel, and stores a partial result per
   row */

/* True if the loop has rows: it reduces or scans them. */
static bool sched__has_rows(const sched__splitter *s, uint32_t l) {
    const ind__loop *loop = &s->program->loop[l];
    if (sched__reduces_rows(loop)) return true;
    return !s->policy.disable_scans && loop->body->rrank && ind__body_scan(loop->body) && !ind__body_sort(loop->body);
}

/* Sets how `whole` is split along the rows of related loop k; false: its points are not those of several rows. If the
   dimensions differ, `size` has those of the rows; then `whole` must have no P dimensions. */
static bool sched__rows_within(const sched__related_loops *x, uint32_t k, ind__split *split,
                               ind_expr size[IND__SCHED_DIMS]) {
    const ind_body *whole = x->whole, *rows = x->s->program->loop[x->of[k].loop].body;
    int mine[IND__SCHED_DIMS], theirs[IND__SCHED_DIMS], my_p, their_p;
    const int n = sched__long_vars(whole, mine, &my_p), m = sched__long_vars(rows, theirs, &their_p);
    bool equal = n == m;
    if (!x->of[k].same || their_p <= my_p || their_p == m) return false;
    for (int v = 0; v < m; v++) {
        size[v] = sched__extent(rows->var[theirs[v]]);
        equal = equal && ind_expr_same(size[v], sched__extent(whole->var[mine[v]]));
    }
    *split = (ind__split){.outer = equal ? mine[their_p - 1] + 1 - whole->rank : their_p};
    if (!equal) split->size = size, split->num_sizes = m;
    return equal || (!my_p && whole->rank + m <= IND_MAX_RANK);
}

/* Why the first stage of loop l, of[0], does not share the rows of related loop k. FUSED_HORIZONTAL: it does. */
static ind_fusion_reason sched__check_split(const sched__related_loops *x, uint32_t k) {
    const sched__splitter *s = x->s;
    const ind_fusion_policy *policy = &s->policy;
    const uint32_t l = x->of[0].loop, r = x->of[k].loop, distance = l < r ? r - l : l - r;
    const ind_body *rows = s->program->loop[r].body;
    const uint32_t reduce = ind__body_splits(x->whole);
    if (!sched__shared_bytes(x, k)) return IND_FUSION_DOMAINS_DIFFER; /* equal sizes of other data */
    if (policy->disable_split) return IND_FUSION_SPLIT_DISABLED;
    if (!reduce) return IND_FUSION_SPLIT_KIND;
    if (distance > (uint32_t)policy->max_distance) return IND_FUSION_TOO_FAR;
    const int64_t number = sched__points_hint(rows, 0, rows->rank),
                  length = sched__points_hint(rows, rows->rank, rows->rank + rows->rrank),
                  outputs = sched__points_hint(x->whole, 0, x->whole->rank),
                  all = sched__points_hint(x->whole, 0, x->whole->rank + x->whole->rrank);
    if (sched__loads_changing(s, x->whole) || sched__loads_changing(s, rows) ||
        sched__needs_kernel_between(s, l, r, sched__is_related, x))
        return IND_FUSION_SPLIT_ORDER;
    if (x->of[k].makes && sched__few_long_rows(policy, number, length)) return IND_FUSION_SPLIT_FEW_ROWS;
    const int64_t shared = sched__shared_bytes(x, 0);
    /* small kernels share a launch if none of them has a second stage */
    const bool few = !x->of[k].makes && shared < policy->launch_bytes;
    if (sched__reduced_too(s, l, few ? sched__splits_never : sched__splits_along_rows)) return IND_FUSION_SPLIT_SHARED;
    const int64_t state = ind_dtype_bytes((ind_dtype)x->whole->inst[reduce].dtype) *
                          ind__reduction_results((ind_reduction)x->whole->inst[reduce].reduction);
    if (shared / policy->split_share / state < number) return IND_FUSION_SPLIT_PARTIALS;
    const bool kept = !x->of[k].makes || !sched__few_long_rows(policy, outputs, outputs ? all / outputs : 0);
    return kept && sched__data_read_after(s, l) ? IND_FUSION_SPLIT_READ_AGAIN : IND_FUSION_FUSED_HORIZONTAL;
}

static bool sched__may_split(const sched__splitter *s, uint32_t l) {
    const ind__loop *loop = &s->program->loop[l];
    const ind_body *b = loop->body;
    int var[IND__SCHED_DIMS], p;
    if (!sched__reduces_rows(loop) || b->rank + b->rrank > IND_MAX_RANK) return false;
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_LOAD && s->program->buffer[b->inst[i].source].partial) return false;
    return sched__long_vars(b, var, &p) > p && !ind__body_unbacked(s->program, b);
}

/* True if rows k are better for the first stage than rows `best`: those that the data is computed from, the nearest
   first; then the shortest. */
static bool sched__better_rows(const sched__related_loops *x, uint32_t k, uint32_t best) {
    const ind__loop *loop = x->s->program->loop;
    const ind_body *a = loop[x->of[k].loop].body, *b = loop[x->of[best].loop].body;
    if (x->of[k].makes || x->of[best].makes) return false; /* these are listed first, by distance */
    return sched__points_hint(a, 0, a->rank) > sched__points_hint(b, 0, b->rank);
}

/* Finds the rows that the first stage of loop l shares. only: a loop that must be related, UINT32_MAX: any. Returns
   FUSED_HORIZONTAL and sets *split and *rows; or the reason against the first rows that come into question;
   DOMAINS_DIFFER if none do. size: memory for the split. */
static ind_fusion_reason sched__split_along_rows(const sched__splitter *s, uint32_t l, uint32_t only, ind__split *split,
                                                 ind_expr size[IND__SCHED_DIMS], uint32_t *rows) {
    sched__related_loops x;
    ind_fusion_reason why = IND_FUSION_DOMAINS_DIFFER;
    uint32_t best = 0;
    bool found = only == UINT32_MAX;
    if (!sched__may_split(s, l)) return why;
    sched__find_related(&x, s, l);
    for (uint32_t k = 1; k < x.num; k++) {
        const uint32_t r = x.of[k].loop;
        ind__split along;
        ind_expr dims[IND__SCHED_DIMS];
        found = found || r == only;
        if (!sched__has_rows(s, r) || (s->split && (s->split[r].outer || s->split[r].run))) continue;
        if (!sched__rows_within(&x, k, &along, dims)) continue;
        ind_fusion_reason reason = sched__check_split(&x, k);
        if (reason != IND_FUSION_FUSED_HORIZONTAL && why == IND_FUSION_DOMAINS_DIFFER) why = reason;
        if (reason == IND_FUSION_FUSED_HORIZONTAL && (!best || sched__better_rows(&x, k, best))) best = k;
    }
    if (!found) return IND_FUSION_DOMAINS_DIFFER;
    if (!best) return why;
    *rows = x.of[best].loop;
    sched__rows_within(&x, best, split, size);
    return IND_FUSION_FUSED_HORIZONTAL;
}

/* Splits loop l along the rows of another loop, if that moves fewer bytes. False on failure. */
static bool sched__split_rows(sched__splitter *s, uint32_t l, ind__arena *memory) {
    ind_expr size[IND__SCHED_DIMS];
    ind__split split;
    uint32_t rows;
    if (s->has_first_stage[l] || !ind__body_splits(s->program->loop[l].body)) return true;
    if (sched__split_along_rows(s, l, UINT32_MAX, &split, size, &rows) != IND_FUSION_FUSED_HORIZONTAL) return true;
    if (split.size) {
        split.size = ind__arena_copy(memory, size, (size_t)split.num_sizes * sizeof *size);
        if (!split.size) return false;
    }
    s->split[l] = split;
    s->has_first_stage[rows] = 1;
    return true;
}
