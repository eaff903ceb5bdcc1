/* ---- columns: their reduction is fused into a kernel over the rows. Each of its blocks iterates over a run of rows
   and stores a partial result per column, which a second stage reduces. An unfused first stage reads and combines like
   a separate reduction of columns. */

/* True if `whole` reduces the columns of data whose rows `rows` reduces, or that `rows` computes per element. to: its
   variables expressed in those of `rows`. */
static bool sched__reduces_columns_of(const ind_body *whole, const ind_body *rows, ind_expr to[IND__SCHED_DIMS]) {
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
static int64_t sched__shared_column_bytes(const sched__splitter *s, const ind_body *whole, const ind_body *rows) {
    ind_expr to[IND__SCHED_DIMS];
    int64_t bytes = 0;
    if (!sched__reduces_columns_of(whole, rows, to)) return 0;
    for (uint32_t i = 1; i < whole->num_inst; i++) {
        const ind__inst *in = &whole->inst[i];
        if (in->op != IND_LOOP_LOAD) continue;
        ind_expr at = ind__substitute(whole->index[in->index], whole->var, to, whole->rank + whole->rrank);
        bool shared = sched__has_access(rows, IND_LOOP_LOAD, in->source, at) ||
                      sched__has_access(rows, IND_LOOP_STORE, in->source, at);
        if (shared) bytes = sched__add_hint(bytes, sched__hint(ind__buffer_bytes(&s->program->buffer[in->source])));
    }
    return bytes;
}

/* True if every load that varies along the columns is contiguous along the last of them, and none of the loaded buffers
   may change in place. */
static bool sched__contiguous_in_columns(const sched__splitter *s, const ind_body *b) {
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
static bool sched__rows_fit_registers(const sched__splitter *s, const ind_body *whole) {
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
static int64_t sched__run_for(const sched__splitter *s, const ind_body *whole, int64_t shared) {
    const ind_fusion_policy *p = &s->policy;
    int64_t columns = sched__points_hint(whole, 0, whole->rank);
    int64_t rows = sched__points_hint(whole, whole->rank, whole->rank + whole->rrank);
    if (!columns || shared < p->mix_from) return 0;
    int64_t bytes = ind_dtype_bytes((ind_dtype)whole->inst[ind__body_splits(whole)].dtype);
    int64_t run = sched__balanced_run(p, rows, columns);
    return rows / run >= p->fill_blocks / 4 && shared / p->split_share / bytes / columns >= rows / run ? run : 0;
}

/* Rows and columns that loop `whole` reduces, by the hints. */
typedef struct sched__grid {
    const ind__lowered *program;
    int64_t rows, columns;
} sched__grid;

/* True if the loop computes rows of this number and length, or per-row values. */
static bool sched__on_rows(const void *grid, uint32_t loop) {
    const sched__grid *g = grid;
    const ind_body *b = g->program->loop[loop].body;
    int64_t points = sched__points_hint(b, 0, b->rank), reduced = sched__points_hint(b, b->rank, b->rank + b->rrank);
    if (b->rrank) return points == g->rows && reduced == g->columns;
    return points == g->rows || points / (g->columns ? g->columns : 1) == g->rows;
}

/* The run for loop l with row loop r, if r reduces rows of the same data; 0: none. made: the loop body that computes
   l's input from r's result (may be NULL). */
static int64_t sched__mix_with(const sched__splitter *s, uint32_t l, uint32_t r, const ind_body *made) {
    const ind_body *whole = s->program->loop[l].body, *rows = s->program->loop[r].body;
    ind_expr to[IND__SCHED_DIMS];
    const sched__grid grid = {s->program, sched__points_hint(whole, whole->rank, whole->rank + whole->rrank),
                              sched__points_hint(whole, 0, whole->rank)};
    bool split = s->split[r].outer || s->split[r].run;
    if (r == l || split || !rows->rrank || !sched__reduces_columns_of(whole, rows, to) ||
        sched__needs_kernel_between(s, l, r, sched__on_rows, &grid))
        return 0;
    int64_t shared = sched__shared_column_bytes(s, whole, rows);
    if (made) shared = sched__add_hint(shared, sched__shared_column_bytes(s, whole, made));
    return sched__run_for(s, whole, shared);
}

/* Tries the loops that reduce rows of buffer x, which loop l reads, and the loops whose results x is computed from. */
static int64_t sched__mix_over(const sched__splitter *s, uint32_t l, uint32_t x) {
    const ind__lowered *p = s->program;
    const ind_body *made = p->buffer[x].kind == IND__BUFFER_COMPUTED ? p->loop[p->buffer[x].loop].body : NULL;
    uint32_t at = s->reducers.first[x], end = s->reducers.first[x + 1];
    int64_t run = 0;
    while (at < end && s->reducers.loop[at] + IND__SCHED_NEIGHBOURS < l) at++;
    for (uint32_t n = 0; !run && at < end && n < IND__SCHED_NEIGHBOURS; at++, n++)
        run = sched__mix_with(s, l, s->reducers.loop[at], NULL);
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
    bool splits = sched__reduces_rows(loop) && sched__splits_by_runs(b);
    int64_t run = 0;
    if (s->policy.disable_mix || !splits || b->rank + b->rrank > IND_MAX_RANK || s->has_first_stage[l]) return 0;
    if (ind__body_unbacked(s->program, b)) return 0;
    if (!sched__contiguous_in_columns(s, b) || !sched__rows_fit_registers(s, b) ||
        sched__reduced_too(s, l, sched__splits_by_runs))
        return 0;
    for (uint32_t i = 1; i < b->num_inst && !run; i++)
        if (b->inst[i].op == IND_LOOP_LOAD) run = sched__mix_over(s, l, b->inst[i].source);
    return run;
}

/* Lists the loops that load values of each buffer, or only those that reduce them: the first pass counts, the second
   one fills. */
static bool sched__list_readers(const ind__lowered *p, ind__arena *memory, bool reducing, sched__readers *list) {
    uint32_t n = 0;
    list->first = ind__arena_alloc(memory, ((size_t)p->num_buffers + 1) * sizeof *list->first);
    if (!list->first) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t l = 0; l < p->num_loops; l++) {
            const ind_body *b = p->loop[l].body;
            if (reducing && !sched__reduces_rows(&p->loop[l])) continue;
            for (uint32_t i = 1; i < b->num_inst; i++) {
                if (b->inst[i].op != IND_LOOP_LOAD) continue;
                uint32_t *at = &list->first[b->inst[i].source + (pass ? 0u : 1u)];
                if (pass) list->loop[*at] = l;
                ++*at, n++;
            }
        }
        if (!pass) {
            for (uint32_t b = 0; b < p->num_buffers; b++) list->first[b + 1] += list->first[b];
            list->loop = ind__arena_alloc(memory, ((size_t)n + 1) * sizeof *list->loop);
            if (!list->loop) return false;
        }
    }
    for (uint32_t b = p->num_buffers; b-- > 0;) list->first[b + 1] = list->first[b]; /* each offset is at its end */
    list->first[0] = 0;
    return true;
}

static bool sched__find_readers(sched__splitter *s, ind__arena *memory) {
    return sched__list_readers(s->program, memory, false, &s->readers) &&
           sched__list_readers(s->program, memory, true, &s->reducers);
}

/* True if the buffer has results of a product of 16-bit operands, or is computed from them by one pointwise loop: the
   lowering has inlined others into it. */
static bool sched__has_scores(const ind__lowered *p, uint32_t buffer, int depth) {
    if (p->buffer[buffer].kind != IND__BUFFER_COMPUTED || depth > 1) return false;
    const ind__loop *loop = &p->loop[p->buffer[buffer].loop];
    if (loop->body->rrank && loop->reduction != IND_REDUCE_DOT) return false;
    for (uint32_t i = 1; i < loop->body->num_inst; i++) {
        const ind__inst *in = &loop->body->inst[i];
        if (in->op != IND_LOOP_LOAD) continue;
        const ind_dtype dtype = p->buffer[in->source].dtype;
        if (loop->body->rrank ? dtype == IND_F16 || dtype == IND_BF16 : sched__has_scores(p, in->source, depth + 1))
            return true;
    }
    return false;
}

/* True if the loop is a softmax of scores, which attention keeps online: its rows are not stored, so nothing is gained
   by two stages. */
static bool sched__reduces_scores(const ind__lowered *p, const ind_fusion_policy *policy, uint32_t l) {
    const ind__loop *loop = &p->loop[l];
    if (policy->attention < 2 || policy->disable_attention || loop->reduction != IND_REDUCE_ONLINE_SOFTMAX)
        return false;
    for (uint32_t i = 1; i < loop->body->num_inst; i++)
        if (loop->body->inst[i].op == IND_LOOP_LOAD && sched__has_scores(p, loop->body->inst[i].source, 0)) return true;
    return false;
}

ind_status ind__split_reductions(ind__lowered *p, const ind_fusion_policy *policy) {
    sched__splitter s = {.program = p};
    ind__arena memory = {.context = p->context};
    if (policy) s.policy = *policy;
    sched__policy_defaults(&s.policy);
    if (s.policy.disable || s.policy.disable_split) return IND_OK;
    s.split = ind__arena_alloc(&memory, ((size_t)p->num_loops + 1) * sizeof *s.split);
    s.has_first_stage = ind__arena_alloc(&memory, (size_t)p->num_loops + 1);
    bool ok = s.split && s.has_first_stage && sched__find_readers(&s, &memory);
    for (uint32_t l = 0; ok && l < p->num_loops; l++) {
        if (sched__reduces_scores(p, &s.policy, l)) continue;
        ok = sched__split_rows(&s, l, &memory);
        if (ok && !s.split[l].outer) s.split[l].run = sched__mix(&s, l);
    }
    ind_status status = ok ? ind__lowered_split(p, s.split) : ind__failed(p->context);
    ind__arena_free(&memory);
    return status;
}
