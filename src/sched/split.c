/* ================================================================================================== >>split */

/* Splits are decided before any fusion. A first stage is created for another loop's rows only if both are certain to
   fuse: neither depends on the other except at the same point. */
typedef struct sched__splitter {
    const ind__lowered *program;
    ind_fusion_policy policy;
    ind__split *split;      /* by loop: as for ind__lowered_split */
    uint8_t *joined;        /* by loop: a first stage was created for its rows */
    uint32_t *reader;       /* loops that reduce values loaded from a buffer, ascending */
    uint32_t *first_reader; /* by buffer, one more than buffers */
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

/* If the points of `whole` are those of `rows` in the same order, but with more dimensions reduced, returns the number
   of its R dimensions that are in rows' P; else 0. to: its variables expressed in those of `rows`. */
static int sched__rows_within(const ind_body *whole, const ind_body *rows, ind_expr to[IND__SCHED_DIMS]) {
    int mine[IND__SCHED_DIMS], theirs[IND__SCHED_DIMS], my_p, their_p;
    int n = sched__long_vars(whole, mine, &my_p), m = sched__long_vars(rows, theirs, &their_p);
    if (n != m || their_p <= my_p || their_p == n) return 0;
    for (int v = 0; v < whole->rank + whole->rrank; v++) to[v] = ind_int(whole->context, 0);
    for (int k = 0; k < n; k++) {
        if (!ind_expr_same(sched__extent(whole->var[mine[k]]), sched__extent(rows->var[theirs[k]]))) return 0;
        to[mine[k]] = rows->var[theirs[k]];
    }
    return mine[their_p - 1] + 1 - whole->rank;
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

/* Bytes that `whole` reads at the same points as `rows`; -1: they are not certain to fuse. */
static int64_t sched__met_bytes(const sched__splitter *s, const ind_body *whole, const ind_body *rows,
                                const ind_expr *to) {
    int64_t bytes = 0;
    for (uint32_t i = 1; i < whole->num_inst; i++) {
        const ind__inst *in = &whole->inst[i];
        if (in->op != IND_LOOP_LOAD) continue;
        const ind__buffer *x = &s->program->buffer[in->source];
        ind_expr at = ind__substitute(whole->index[in->index], whole->var, to, whole->rank + whole->rrank);
        bool loaded = sched__has_access(rows, IND_LOOP_LOAD, in->source, at);
        bool made = sched__has_access(rows, IND_LOOP_STORE, in->source, at);
        if (x->mutates || x->mutated_by) return -1;
        if (x->kind == IND__BUFFER_COMPUTED && !made && !sched__loads(rows, in->source)) return -1;
        if (loaded || made) bytes = sched__add_hint(bytes, sched__hint(ind__buffer_bytes(x)));
    }
    for (uint32_t i = 1; i < rows->num_inst; i++) { /* both read only data computed before either */
        const ind__inst *in = &rows->inst[i];
        if (in->op != IND_LOOP_LOAD) continue;
        const ind__buffer *x = &s->program->buffer[in->source];
        if (x->mutates || x->mutated_by) return -1;
        if (x->kind == IND__BUFFER_COMPUTED && !sched__loads(whole, in->source)) return -1;
    }
    return bytes;
}

/* True if another loop reduces the same data over the same dimensions, so that both fuse unsplit. Unless `any`, only
   loops that cannot be split count. */
static bool sched__reduced_whole_too(const sched__splitter *s, uint32_t l, bool any) {
    const ind_body *b = s->program->loop[l].body;
    int64_t points = sched__points_hint(b, b->rank, b->rank + b->rrank);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        uint32_t x = b->inst[i].source, tried = 0;
        if (b->inst[i].op != IND_LOOP_LOAD) continue;
        for (uint32_t at = s->first_reader[x]; at < s->first_reader[x + 1] && tried < IND__SCHED_NEIGHBOURS; at++) {
            const ind_body *other = s->program->loop[s->reader[at]].body;
            tried++;
            if (other == b || other->rank != b->rank || other->rrank != b->rrank) continue;
            if (sched__points_hint(other, b->rank, b->rank + b->rrank) != points) continue;
            if (any || !ind__body_splits(other)) return true;
        }
    }
    return false;
}

/* Number of R dimensions of loop l to move out so that its first stage shares loop r's rows; 0: do not split. */
static int sched__split_for(const sched__splitter *s, uint32_t l, uint32_t r) {
    ind_expr to[IND__SCHED_DIMS];
    const ind_body *whole = s->program->loop[l].body, *rows = s->program->loop[r].body;
    uint32_t distance = l < r ? r - l : l - r;
    if (r == l || s->split[r].outer || distance > (uint32_t)s->policy.max_distance) return 0;
    int outer = sched__rows_within(whole, rows, to);
    if (!outer) return 0;
    int64_t partials = sched__points_hint(whole, 0, whole->rank + outer), met = sched__met_bytes(s, whole, rows, to);
    int bytes = ind_dtype_bytes((ind_dtype)whole->inst[ind__body_splits(whole)].dtype);
    /* loops that would share a kernel then have a second stage each */
    if (met < s->policy.launch_bytes && sched__reduced_whole_too(s, l, true)) return 0;
    return met / s->policy.split_share / bytes >= partials ? outer : 0;
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

/* Tries the loops that reduce data that loop l reads. */
static int sched__split_to_rows(sched__splitter *s, uint32_t l) {
    const ind_body *b = s->program->loop[l].body;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        uint32_t x = b->inst[i].source;
        if (b->inst[i].op != IND_LOOP_LOAD) continue;
        uint32_t at = s->first_reader[x], end = s->first_reader[x + 1];
        while (at < end && s->reader[at] + IND__SCHED_NEIGHBOURS < l) at++;
        for (uint32_t n = 0; at < end && n < IND__SCHED_NEIGHBOURS; at++, n++) {
            int outer = sched__split_for(s, l, s->reader[at]);
            if (!outer) continue;
            if (sched__data_read_after(s, l)) return 0;
            s->joined[s->reader[at]] = 1;
            return outer;
        }
    }
    return 0;
}

static bool sched__may_split(const sched__splitter *s, uint32_t l) {
    const ind__loop *loop = &s->program->loop[l];
    int var[IND__SCHED_DIMS], p;
    if (!sched__reduces_rows(loop) || loop->body->rank + loop->body->rrank > IND_MAX_RANK) return false;
    int n = sched__long_vars(loop->body, var, &p);
    if (n - p < 2 || !ind__body_splits(loop->body)) return false;
    return !s->joined[l] && !ind__body_unbacked(s->program, loop->body);
}

/* ---- columns: their reduction is fused into a kernel over the rows. Each of its blocks iterates over a run of rows
   and stores a partial result per column, which a second stage reduces. An unfused first stage reads and combines like
   a separate reduction of columns. */

/* True if `whole` reduces the columns of data whose rows `rows` reduces, or that `rows` computes per element. to: its
   variables expressed in those of `rows`. */
static bool sched__crosses(const ind_body *whole, const ind_body *rows, ind_expr to[IND__SCHED_DIMS]) {
    int mine[IND__SCHED_DIMS], theirs[IND__SCHED_DIMS], my_p, their_p;
    int n = sched__long_vars(whole, mine, &my_p), m = sched__long_vars(rows, theirs, &their_p), my_r = n - my_p;
    if (n != m || !my_p || !my_r || (their_p != my_r && their_p != n)) return false;
    for (int v = 0; v < whole->rank + whole->rrank; v++) to[v] = ind_int(whole->context, 0);
    for (int k = 0; k < n; k++) {
        int v = mine[k < my_r ? my_p + k : k - my_r];
        if (!ind_expr_same(sched__extent(whole->var[v]), sched__extent(rows->var[theirs[k]]))) return false;
        to[v] = rows->var[theirs[k]];
    }
    return true;
}

/* Bytes that `whole` loads at points at which `rows` loads or stores them. */
static int64_t sched__crossed_bytes(const sched__splitter *s, const ind_body *whole, const ind_body *rows) {
    ind_expr to[IND__SCHED_DIMS];
    int64_t bytes = 0;
    if (!sched__crosses(whole, rows, to)) return 0;
    for (uint32_t i = 1; i < whole->num_inst; i++) {
        const ind__inst *in = &whole->inst[i];
        if (in->op != IND_LOOP_LOAD) continue;
        ind_expr at = ind__substitute(whole->index[in->index], whole->var, to, whole->rank + whole->rrank);
        bool met = sched__has_access(rows, IND_LOOP_LOAD, in->source, at) ||
                   sched__has_access(rows, IND_LOOP_STORE, in->source, at);
        if (met) bytes = sched__add_hint(bytes, sched__hint(ind__buffer_bytes(&s->program->buffer[in->source])));
    }
    return bytes;
}

/* True if the loop computes `rows` rows of `columns` elements, or per-row values. */
static bool sched__on_rows(const ind_body *b, int64_t rows, int64_t columns) {
    int64_t points = sched__points_hint(b, 0, b->rank), reduced = sched__points_hint(b, b->rank, b->rank + b->rrank);
    return b->rrank ? points == rows && reduced == columns : points == rows || points / (columns ? columns : 1) == rows;
}

/* True if a kernel of column loop l, row loop r and the loops on the same rows between them would depend on another
   kernel in between. */
static bool sched__must_wait(const sched__splitter *s, uint32_t l, uint32_t r) {
    enum {
        FOLLOWS = 1,
        OUTSIDE = 2
    }; /* it depends on the first loop's result; through a loop that does not work on
          these rows */
    const ind__lowered *p = s->program;
    const ind_body *whole = p->loop[l].body;
    uint32_t first = l < r ? l : r, last = l < r ? r : l;
    uint8_t from[IND__SCHED_WINDOW] = {FOLLOWS};
    int64_t columns = sched__points_hint(whole, 0, whole->rank);
    int64_t rows = sched__points_hint(whole, whole->rank, whole->rank + whole->rrank);
    if (last - first >= IND__SCHED_WINDOW) return true;
    for (uint32_t m = first + 1; m <= last; m++) {
        const ind_body *b = p->loop[m].body;
        for (uint32_t i = 1; i < b->num_inst; i++) {
            const ind__buffer *x = &p->buffer[b->inst[i].source];
            if (b->inst[i].op != IND_LOOP_LOAD || x->kind != IND__BUFFER_COMPUTED || x->loop < first || x->loop >= m)
                continue;
            uint8_t how = from[x->loop - first];
            if (how && x->loop != first && !sched__on_rows(p->loop[x->loop].body, rows, columns)) how = OUTSIDE;
            from[m - first] = how > from[m - first] ? how : from[m - first];
        }
    }
    return first == r ? from[last - first] == OUTSIDE : from[last - first] != 0;
}

/* True if every load that varies along the columns is contiguous along the last of them, and none of the loaded buffers
   may change in place. */
static bool sched__along_columns(const sched__splitter *s, const ind_body *b) {
    int var[IND__SCHED_DIMS], p;
    sched__long_vars(b, var, &p);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__buffer *x = &s->program->buffer[b->inst[i].source];
        ind_expr step;
        bool depends = false;
        if (b->inst[i].op != IND_LOOP_LOAD) continue;
        if (x->mutates || x->mutated_by) return false;
        ind_expr index = b->index[b->inst[i].index];
        for (int k = 0; k < p; k++) depends |= ind__expr_depends(index, b->var[var[k]]);
        if (depends && (!ind__affine(index, b->var[var[p - 1]], &step, NULL) || ind_hint(step) != 1)) return false;
    }
    return true;
}

/* True if the rows fit into registers. */
static bool sched__short_rows(const sched__splitter *s, const ind_body *whole) {
    ind_expr size[IND__SCHED_DIMS];
    int64_t most;
    for (int v = 0; v < whole->rank; v++) size[v] = sched__extent(whole->var[v]);
    ind_expr columns = ind_expr_product(whole->context, size, whole->rank);
    ind__known_bounds(columns, NULL, &most);
    return most <= s->policy.mix_columns && sched__hint(columns) * 8 >= most;
}

/* Rows per block, for few partial results and a busy memory. A block has one row in flight, or one per warp if a warp
   has a row. Each multiprocessor has the same power of two of blocks, at least 2, so that one loads while the other
   combines. (H200, both launches, against 16 rows: 8192 rows of 768, 1000 and 1024 0.93, 0.99 and 0.99, in bf16 0.87;
   10000 of 768 0.95; 16384 and 40000 of 512 0.93 and 0.97; 6144 of 4096 0.93. Against 32 rows, 64 take 1.03 for 16384
   of 512 and 1.08 of 2048.) */
static int64_t sched__balanced_run(const ind_fusion_policy *p, int64_t rows, int64_t columns) {
    const int64_t warps = IND__SCHED_RUN_WARPS, per_row = 2 * ind_dtype_bytes(IND_F32) * columns;
    int64_t flight = p->mix_flight / per_row / (columns <= IND__WARP_ROW ? warps : 1);
    int64_t blocks = p->fill_blocks / 2 > 1 ? p->fill_blocks / 2 : 1;
    while (blocks < rows && (blocks < flight || rows / blocks >= p->long_run)) blocks *= 2;
    int64_t run = (rows - 1) / blocks + 1;
    run = (run + warps - 1) / warps * warps;
    return run > p->mix_rows ? run : p->mix_rows;
}

/* Rows per block as above; 0 if too few blocks remain for all multiprocessors, or if the saved reads are not worth the
   partial results. */
static int64_t sched__run_for(const sched__splitter *s, const ind_body *whole, int64_t met) {
    const ind_fusion_policy *p = &s->policy;
    int64_t columns = sched__points_hint(whole, 0, whole->rank);
    int64_t rows = sched__points_hint(whole, whole->rank, whole->rank + whole->rrank);
    if (!columns || met < p->mix_from) return 0;
    int64_t bytes = ind_dtype_bytes((ind_dtype)whole->inst[ind__body_splits(whole)].dtype);
    int64_t run = sched__balanced_run(p, rows, columns);
    return rows / run >= p->fill_blocks / 4 && met / p->split_share / bytes / columns >= rows / run ? run : 0;
}

/* The run for loop l with row loop r, if r reduces rows of the same data; 0: none. made: the loop body that computes
   l's input from r's result (may be NULL). */
static int64_t sched__mix_with(const sched__splitter *s, uint32_t l, uint32_t r, const ind_body *made) {
    const ind_body *whole = s->program->loop[l].body, *rows = s->program->loop[r].body;
    ind_expr to[IND__SCHED_DIMS];
    bool split = s->split[r].outer || s->split[r].run;
    if (r == l || split || !rows->rrank || !sched__crosses(whole, rows, to) || sched__must_wait(s, l, r)) return 0;
    int64_t met = sched__crossed_bytes(s, whole, rows);
    if (made) met = sched__add_hint(met, sched__crossed_bytes(s, whole, made));
    return sched__run_for(s, whole, met);
}

/* Tries the loops that reduce rows of buffer x, which loop l reads, and the loops whose results x is computed from. */
static int64_t sched__mix_over(const sched__splitter *s, uint32_t l, uint32_t x) {
    const ind__lowered *p = s->program;
    const ind_body *made = p->buffer[x].kind == IND__BUFFER_COMPUTED ? p->loop[p->buffer[x].loop].body : NULL;
    uint32_t at = s->first_reader[x], end = s->first_reader[x + 1];
    int64_t run = 0;
    while (at < end && s->reader[at] + IND__SCHED_NEIGHBOURS < l) at++;
    for (uint32_t n = 0; !run && at < end && n < IND__SCHED_NEIGHBOURS; at++, n++)
        run = sched__mix_with(s, l, s->reader[at], NULL);
    for (uint32_t i = 1; made && !made->rrank && !run && i < made->num_inst; i++) {
        const ind__buffer *value = &p->buffer[made->inst[i].source];
        if (made->inst[i].op != IND_LOOP_LOAD || value->kind != IND__BUFFER_COMPUTED) continue;
        if (sched__reduces_rows(&p->loop[value->loop])) run = sched__mix_with(s, l, value->loop, made);
    }
    return run;
}

static int64_t sched__mix(const sched__splitter *s, uint32_t l) {
    const ind__loop *loop = &s->program->loop[l];
    const ind_body *b = loop->body;
    uint32_t reduce = sched__reduces_rows(loop) ? ind__body_splits(b) : 0;
    int64_t run = 0;
    if (s->policy.disable_mix || !reduce || b->rank + b->rrank > IND_MAX_RANK || s->joined[l]) return 0;
    if (!ind__can_scatter((ind_reduction)b->inst[reduce].reduction) || ind__body_unbacked(s->program, b)) return 0;
    if (!sched__along_columns(s, b) || !sched__short_rows(s, b) || sched__reduced_whole_too(s, l, false)) return 0;
    for (uint32_t i = 1; i < b->num_inst && !run; i++)
        if (b->inst[i].op == IND_LOOP_LOAD) run = sched__mix_over(s, l, b->inst[i].source);
    return run;
}

/* Lists the loops that reduce values of each buffer: the first pass counts, the second one fills. */
static bool sched__find_reducers(sched__splitter *s, ind__arena *memory) {
    const ind__lowered *p = s->program;
    uint32_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t l = 0; l < p->num_loops; l++) {
            const ind_body *b = p->loop[l].body;
            for (uint32_t i = 1; i < b->num_inst && sched__reduces_rows(&p->loop[l]); i++) {
                if (b->inst[i].op != IND_LOOP_LOAD) continue;
                uint32_t *at = &s->first_reader[b->inst[i].source + (pass ? 0u : 1u)];
                if (pass) s->reader[*at] = l;
                ++*at, n++;
            }
        }
        if (!pass) {
            for (uint32_t b = 0; b < p->num_buffers; b++) s->first_reader[b + 1] += s->first_reader[b];
            s->reader = ind__arena_alloc(memory, ((size_t)n + 1) * sizeof *s->reader);
            if (!s->reader) return false;
        }
    }
    for (uint32_t b = p->num_buffers; b-- > 0;)
        s->first_reader[b + 1] = s->first_reader[b]; /* each offset is at its end */
    s->first_reader[0] = 0;
    return true;
}

ind_status ind__split_reductions(ind__lowered *p, const ind_fusion_policy *policy) {
    sched__splitter s = {.program = p};
    ind__arena memory = {.context = p->context};
    if (policy) s.policy = *policy;
    sched__policy_defaults(&s.policy);
    if (s.policy.disable || s.policy.disable_split) return IND_OK;
    s.split = ind__arena_alloc(&memory, ((size_t)p->num_loops + 1) * sizeof *s.split);
    s.joined = ind__arena_alloc(&memory, (size_t)p->num_loops + 1);
    s.first_reader = ind__arena_alloc(&memory, ((size_t)p->num_buffers + 1) * sizeof *s.first_reader);
    bool ok = s.split && s.joined && s.first_reader && sched__find_reducers(&s, &memory);
    for (uint32_t l = 0; ok && l < p->num_loops; l++) {
        int outer = sched__may_split(&s, l) ? sched__split_to_rows(&s, l) : 0;
        s.split[l] = (ind__split){.outer = outer, .run = outer ? 0 : sched__mix(&s, l)};
    }
    ind_status status = ok ? ind__lowered_split(p, s.split) : ind__failed(p->context);
    ind__arena_free(&memory);
    return status;
}
