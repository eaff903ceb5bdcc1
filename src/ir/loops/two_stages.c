/* ---- a reduction in two stages ---- */

/* The two results of the WELFORD at `reduce` are stored, and nothing else is. */
static bool ir__stores_parts(const ind_body *b, uint32_t reduce) {
    for (uint32_t i = reduce + 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        bool part = x->op == IND_LOOP_PART && x->arg[0] == reduce;
        bool store = x->op == IND_LOOP_STORE && !x->arg[1] && !x->reduction && x->arg[0] == i - 1 &&
                     b->inst[i - 1].op == IND_LOOP_PART;
        if (!part && !store) return false;
    }
    return b->inst[b->num_inst - 1].op == IND_LOOP_STORE;
}

uint32_t ind__body_splits(const ind_body *b) {
    uint32_t reduce = 0, stores = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        if (reduce) { /* only a chain that ends in one store may follow */
            bool store = x->op == IND_LOOP_STORE, plain = store || !x->num_index;
            if (stores || !plain || x->arg[0] != i - 1 || x->arg[1] || (store && x->reduction)) return 0;
            stores += store;
        }
        if (x->op == IND_LOOP_REDUCE) {
            bool combines = x->reduction == IND_REDUCE_SUM || x->reduction == IND_REDUCE_PROD ||
                            x->reduction == IND_REDUCE_MAX || x->reduction == IND_REDUCE_MIN ||
                            x->reduction == IND_REDUCE_ANY;
            if (x->reduction == IND_REDUCE_WELFORD && !reduce) return ir__stores_parts(b, i) ? i : 0;
            if (reduce || !combines || ind_dtype_compute((ind_dtype)x->dtype) != (ind_dtype)x->dtype) return 0;
            reduce = i;
        }
    }
    return stores ? reduce : 0;
}

/* The extents of variables [from, to) of a body. */
static void ir__extents(const ind_body *b, int from, int to, ind_expr *size) {
    for (int v = from; v < to; v++) size[v - from] = ind_expr_symbol(b->var[v])->extent;
}

/* Ends a recording if it has all its results; NULL if not. */
static ind_body *ir__record_finish(ind__recorder *r, bool ok) {
    if (ok && r->body->inst[r->body->num_inst - 1].op == IND_LOOP_STORE) return ind__record_end(r);
    ind__record_abort(r);
    return NULL;
}

/* Everything up to the REDUCE, over `rank` P dimensions of `all`, stored into `partial`. size: P of the body, and its R
   or the dimensions that replace R. Further results are stored into the buffers after `partial`. */
static ind_body *ir__first_stage(ind__lowered *p, const ind_body *b, uint32_t reduce, const ind_expr *size, int rank,
                                 int all, uint32_t partial) {
    ind_expr own[2 * IND_MAX_RANK], var[2 * IND_MAX_RANK];
    ind__recorder r;
    ir__extents(b, b->rank, b->rank + b->rrank, own);
    if (ind__record_begin(&r, p->context, size, rank, size + rank, all - rank)) return NULL;
    ind_expr at = ind__linearise(p->context, r.body->var + b->rank, size + b->rank, all - b->rank);
    ind__delinearise(p->context, at, own, b->rrank, var + b->rank);
    bool same = all == b->rank + b->rrank;
    for (int v = b->rank; v < all && same; v++) same = ind_expr_same(size[v], own[v - b->rank]);
    for (int v = 0; v < b->rank || (same && v < all); v++) var[v] = r.body->var[v];
    ind_body front = *b;
    front.num_inst = reduce + 1, front.result = reduce;
    ind_value v = ind__body_replay(&r.ops, &(ind__replay){.body = &front, .var = var});
    ind_expr index = ind__linearise(p->context, r.body->var, size, rank);
    bool ok = v.id && ind__ok(index);
    for (int k = 0, n = ind__reduction_results((ind_reduction)b->inst[reduce].reduction); ok && k < n; k++) {
        ind_value part = n > 1 ? ind__emit_part(&r.ops, v, k) : v;
        if (part.id) ind__emit_store(&r.ops, partial + (uint32_t)k, &index, 1, part);
        ok = part.id != 0;
    }
    return ir__record_finish(&r, ok);
}

/* The element of the partial result into which a run of rows combines the value of a point; size: the extents of the
   body. */
static ind_expr ir__run_index(const ind_body *b, const ind_expr *size, int64_t run) {
    ind_expr row = ind__linearise(b->context, b->var, size, b->rank);
    ind_expr column = ind__linearise(b->context, b->var + b->rank, size + b->rank, b->rrank);
    ind_expr columns = ind_expr_product(b->context, size + b->rank, b->rrank);
    return ind_expr_add(ind_expr_mul(ind_expr_floordiv(row, ind_int(b->context, run)), columns), column);
}

/* Everything before the REDUCE with R and P exchanged; the values are combined with those of the other rows of the
   run. */
static ind_body *ir__first_runs(ind__lowered *p, const ind_body *b, uint32_t reduce, uint32_t partial) {
    ind_expr size[2 * IND_MAX_RANK], var[2 * IND_MAX_RANK];
    ind__recorder r;
    int all = b->rank + b->rrank;
    ir__extents(b, b->rank, all, size);
    ir__extents(b, 0, b->rank, size + b->rrank);
    if (ind__record_begin(&r, p->context, size, b->rrank, size + b->rrank, b->rank)) return NULL;
    for (int v = 0; v < all; v++) var[v] = r.body->var[v < b->rank ? b->rrank + v : v - b->rank];
    ind_body front = *b;
    front.num_inst = reduce, front.result = b->inst[reduce].arg[0];
    ind_value v = ind__body_replay(&r.ops, &(ind__replay){.body = &front, .var = var});
    ind_expr index = ir__run_index(r.body, size, p->buffer[partial].run);
    ind__inst store = {.op = IND_LOOP_STORE, .dtype = b->inst[reduce].dtype, .reduction = b->inst[reduce].reduction};
    store.flags = IND__INST_RUN, store.arg[0] = v.id, store.source = partial, store.num_index = 1;
    if (v.id && ind__ok(index)) r.ops.emit(&r.ops, &store, &index);
    return ir__record_finish(&r, v.id != 0);
}

/* The sizes of P and the number of runs; returns the number of sizes. */
static int ir__run_sizes(ind__lowered *p, const ind_body *b, int64_t run, ind_expr *size) {
    ind_expr rows[IND_MAX_RANK];
    ir__extents(b, 0, b->rank, size);
    ir__extents(b, b->rank, b->rank + b->rrank, rows);
    size[b->rank] = ind_expr_ceildiv(ind_expr_product(p->context, rows, b->rrank), ind_int(p->context, run));
    return b->rank + 1;
}

static uint32_t ir__add_partial(ind__lowered *p, const ind_body *b, uint32_t reduce, const ind_expr *size, int rank,
                                int64_t run) {
    ind_expr shape[2 * IND_MAX_RANK]; /* the runs are outermost, so adjacent columns are adjacent in memory */
    for (int d = 0; d < rank; d++) shape[d] = !run ? size[d] : size[d ? d - 1 : rank - 1];
    uint32_t partial = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, (ind_dtype)b->inst[reduce].dtype, shape, rank);
    if (!partial || !ir__fix_layout(p->context, &p->buffer[partial].layout)) return 0;
    p->buffer[partial].partial = true;
    p->buffer[partial].run = run;
    return partial;
}

/* The REDUCE of `partial`, and all that follows it. */
static ind_body *ir__second_stage(ind__lowered *p, const ind_body *b, uint32_t reduce, const ind_expr *size, int rank,
                                  uint32_t partial) {
    const ind__inst *in = &b->inst[reduce];
    ind__recorder r;
    if (ind__record_begin(&r, p->context, size, b->rank, size + b->rank, rank - b->rank)) return NULL;
    ind_expr at = ind__linearise(p->context, r.body->var, size, rank);
    if (p->buffer[partial].run) {
        ind_expr columns = ind_expr_product(p->context, size, b->rank);
        at = ind__linearise(p->context, r.body->var, size, b->rank);
        at = ind_expr_add(ind_expr_mul(r.body->var[b->rank], columns), at);
    }
    ind_value v = ind__emit_load(&r.ops, partial, (ind_dtype)in->dtype, &at, 1);
    v = ind__emit_reduce(&r.ops, (ind_reduction)in->reduction, v, ir__no_value, 0);
    for (uint32_t i = reduce + 1; v.id && i < b->num_inst; i++) {
        ind__inst x = b->inst[i];
        ind_expr index = at;
        x.arg[0] = v.id;
        if (x.op == IND_LOOP_STORE) index = ind__substitute(b->index[x.index], b->var, r.body->var, b->rank);
        v = ind__ok(index) ? r.ops.emit(&r.ops, &x, &index) : ir__no_value;
    }
    return ir__record_finish(&r, v.id != 0);
}

/* ---- WELFORD in two stages. All rows have n elements. The mean is the mean of the row means. The sum of squared
   deviations is the sum within the rows, plus n times the sum over the row means (Chan et al. 1979). */

enum { IR__WELFORD_LOOPS = 4 };

/* The stored result k of the body; NULL: it is not stored. */
static const ind__inst *ir__stored_part(const ind_body *b, int k) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_STORE && b->inst[b->inst[i].arg[0]].imm.i == k) return &b->inst[i];
    return NULL;
}

/* Stores a value at the index of a store of `b`. */
static void ir__store_as(ind_ops *o, const ind_body *b, const ind__inst *store, const ind_expr *var, ind_value v) {
    ind_expr index = ind__substitute(b->index[store->index], b->var, var, b->rank);
    if (v.id && ind__ok(index)) ind__emit_store(o, store->source, &index, 1, v);
}

/* Buffers of one element per point of P. */
typedef struct ir__welford_split {
    const ind_body *body;
    const ind_expr *size; /* P, then the range of the second stage */
    int rank;
    uint32_t partial; /* means of the rows; then their sums of squared deviations */
    uint32_t between; /* sum of squared deviations of the means */
    uint32_t within;  /* sum of the rows' sums */
    ind_expr count;   /* elements of a row */
} ir__welford_split;

/* Reduces the rows' means (0) or their sums (1). */
static ind_body *ir__reduce_parts(ind__lowered *p, const ir__welford_split *w, int k) {
    const ind_body *b = w->body;
    const ind__inst *mean = ir__stored_part(b, 0);
    ind__recorder r;
    if (ind__record_begin(&r, p->context, w->size, b->rank, w->size + b->rank, w->rank - b->rank)) return NULL;
    ind_expr at = ind__linearise(p->context, r.body->var, w->size, w->rank);
    ind_expr to = ind__linearise(p->context, r.body->var, w->size, b->rank);
    ind_dtype dtype = p->buffer[w->partial].dtype;
    ind_value v = ind__emit_load(&r.ops, w->partial + (uint32_t)k, dtype, &at, 1);
    v = ind__emit_reduce(&r.ops, k ? IND_REDUCE_SUM : IND_REDUCE_WELFORD, v, ir__no_value, 0);
    if (!k && v.id && mean) ir__store_as(&r.ops, b, mean, r.body->var, ind__emit_part(&r.ops, v, 0));
    ind_value sum = k || !v.id || !w->between ? v : ind__emit_part(&r.ops, v, 1);
    if (sum.id && (k ? w->within : w->between)) ind__emit_store(&r.ops, k ? w->within : w->between, &to, 1, sum);
    return ir__record_finish(&r, sum.id != 0);
}

/* Stores within + count * between. */
static ind_body *ir__add_parts(ind__lowered *p, const ir__welford_split *w) {
    const ind_body *b = w->body;
    ind__recorder r;
    int64_t number;
    if (ind__record_begin(&r, p->context, w->size, b->rank, NULL, 0)) return NULL;
    ind_expr at = ind__linearise(p->context, r.body->var, w->size, b->rank);
    ind_dtype dtype = p->buffer[w->partial].dtype;
    ind_value n = ind_expr_is_int(w->count, &number)
                      ? ind_op_constant(&r.ops, (double)number, dtype)
                      : ind_op_cast(&r.ops, ind_op_index(&r.ops, w->count, IND_I64), dtype);
    ind_value between = ind__emit_load(&r.ops, w->between, dtype, &at, 1);
    ind_value within = ind__emit_load(&r.ops, w->within, dtype, &at, 1);
    ind_value sum = ind_op_add(&r.ops, within, ind_op_mul(&r.ops, between, n));
    ir__store_as(&r.ops, b, ir__stored_part(b, 1), r.body->var, sum);
    return ir__record_finish(&r, sum.id != 0);
}

static bool ir__set_loop(ind__loop *l, const ind__loop *whole, ind_body *body, ind_reduction reduction) {
    *l = *whole;
    l->body = body, l->reduction = reduction, l->num_outputs = 0;
    for (uint32_t i = 1; body && i < body->num_inst; i++)
        if (body->inst[i].op == IND_LOOP_STORE) l->output[l->num_outputs++] = body->inst[i].source;
    return body != NULL;
}

static uint32_t ir__add_result(ind__lowered *p, const ind_body *b, ind_dtype dtype) {
    ind_expr size[2 * IND_MAX_RANK];
    ir__extents(b, 0, b->rank, size);
    uint32_t made = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, dtype, size, b->rank);
    return made && ir__fix_layout(p->context, &p->buffer[made].layout) ? made : 0;
}

/* Adds the loops of the second stage to made[0..*num). */
static bool ir__second_welford(ind__lowered *p, const ind__loop *whole, ir__welford_split *w, ind__loop *made,
                               uint32_t *num) {
    const bool deviations = ir__stored_part(whole->body, 1) != NULL;
    const ind_dtype dtype = p->buffer[w->partial].dtype;
    if (deviations)
        w->between = ir__add_result(p, whole->body, dtype), w->within = ir__add_result(p, whole->body, dtype);
    if (deviations && (!w->between || !w->within)) return false;
    for (int k = 0; k < (deviations ? 2 : 1); k++, ++*num)
        if (!ir__set_loop(&made[*num], whole, ir__reduce_parts(p, w, k), k ? IND_REDUCE_SUM : IND_REDUCE_WELFORD))
            return false;
    if (!deviations) return true;
    if (!ir__set_loop(&made[*num], whole, ir__add_parts(p, w), IND_REDUCE_NONE)) return false;
    ++*num;
    return true;
}

/* ---- the loops of both stages */

/* The sizes of P and the range of the second stage; then, without runs, that of the first one. Returns the rank of the
   partial results; *all: the number of sizes. */
static int ir__stage_sizes(ind__lowered *p, const ind_body *b, const ind__split *split, ind_expr *size, int *all) {
    if (split->run) return *all = ir__run_sizes(p, b, split->run, size);
    ir__extents(b, 0, b->rank + b->rrank, size);
    for (int k = 0; k < split->num_sizes; k++) size[b->rank + k] = split->size[k];
    *all = b->rank + (split->size ? split->num_sizes : b->rrank);
    return b->rank + split->outer;
}

/* Adds the loops that replace `whole` to made[0..*num); `whole` keeps its body until all exist. */
static bool ir__split_loop(ind__lowered *p, const ind__loop *whole, const ind__split *split,
                           ind__loop made[IR__WELFORD_LOOPS], uint32_t *num) {
    const ind_body *b = whole->body;
    const uint32_t reduce = ind__body_splits(b);
    const bool welford = b->inst[reduce].reduction == IND_REDUCE_WELFORD;
    ind_expr size[2 * IND_MAX_RANK];
    int all, rank = ir__stage_sizes(p, b, split, size, &all);
    uint32_t partial = ir__add_partial(p, b, reduce, size, rank, split->run);
    if (!partial || (welford && !ir__add_partial(p, b, reduce, size, rank, 0))) return false;
    ind_body *first =
        split->run ? ir__first_runs(p, b, reduce, partial) : ir__first_stage(p, b, reduce, size, rank, all, partial);
    if (!ir__set_loop(&made[(*num)++], whole, first, whole->reduction)) return false;
    made[0].note = split->run ? "first stage of two, by runs of rows" : "first stage of two";
    ir__welford_split w = {.body = b, .size = size, .rank = rank, .partial = partial};
    w.count = ind_expr_product(p->context, size + rank, all - rank);
    if (welford) return ir__second_welford(p, whole, &w, made, num);
    return ir__set_loop(&made[(*num)++], whole, ir__second_stage(p, b, reduce, size, rank, partial), whole->reduction);
}

ind_status ind__lowered_split(ind__lowered *p, const ind__split *split) {
    uint32_t splits = 0, num = p->num_loops, made = 0;
    for (uint32_t l = 0; l < num; l++) splits += split[l].outer || split[l].run;
    if (!splits) return IND_OK;
    const size_t most = (size_t)num + (size_t)splits * (IR__WELFORD_LOOPS - 1);
    ind__loop *loop = (ind__loop *)ind__alloc(p->context, most * sizeof *loop);
    if (!loop) return ind__failed(p->context);
    bool ok = true;
    for (uint32_t l = 0; l < num; l++) {
        ind__loop stage[IR__WELFORD_LOOPS];
        uint32_t stages = 0;
        bool splits_here = ok && (split[l].outer || split[l].run);
        if (splits_here) ok = ir__split_loop(p, &p->loop[l], &split[l], stage, &stages);
        if (splits_here && ok) {
            ind__body_free(p->loop[l].body);
            for (uint32_t k = 0; k < stages; k++) loop[made++] = stage[k];
        } else {
            for (uint32_t k = 0; k < stages; k++) ind__body_free(stage[k].body);
            loop[made++] = p->loop[l];
        }
    }
    ind__free(p->context, p->loop);
    p->loop = loop, p->num_loops = made, p->cap_loops = (uint32_t)most;
    for (uint32_t l = 0; l < made; l++)
        for (uint32_t k = 0; k < loop[l].num_outputs; k++) p->buffer[loop[l].output[k]].loop = l;
    return ok ? IND_OK : ind__failed(p->context);
}
