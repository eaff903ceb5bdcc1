/* -------------------------------------------------------------------------------------------------- >>choose */

/* True if tiled loads vectorise by n along y, and at least one store by n along x. */
static bool cg__try_tile_vector(cg__decider *d, int x, int y, int n, int size) {
    ind_expr guard = {0};
    bool aligned = false, stores = false;
    int narrowest = 16, widest = 0, tiles = 0, shared = 0;
    cg__no_vectors(d);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        const bool tiled = cg__through_tile(&d->w, i, x, y);
        if (!cg__is_access(&d->w, i)) continue;
        const bool fits = cg__vector_access(d, i, tiled ? y : x, n, &guard, &aligned);
        if (tiled && !fits) return false;
        if (!fits) continue;
        d->plan->vector[i] = (uint8_t)n;
        const int bytes = ind_dtype_bytes(cg__memory_dtype(&d->w, i));
        tiles += tiled;
        shared += tiled ? size * (size * bytes + 8) : 0; /* 8: most bytes of padding per row */
        stores |= cg__inst(&d->w, i)->op == IND_LOOP_STORE;
        narrowest = bytes < narrowest ? bytes : narrowest;
        widest = bytes > widest ? bytes : widest;
    }
    if (!stores || tiles > IND__CG_MAX_TILES || shared > IND__CG_MAX_TILE_BYTES) return false;
    if (narrowest * n > 16 || widest * n > 32) return false;
    for (int k = 0; k < 2; k++)
        if (!cg__multiple(d, d->plan->domain.extent[k ? y : x], n, &guard)) return false;
    if (ind__ok(guard)) cg__guard(d->variant, guard);
    d->variant->guard_aligned |= aligned;
    return true;
}

/* True if tiles of this size are full, and enough of them keep all SMs busy. */
static bool cg__suits_tile(const ind__writer *w, int x, int y, int size) {
    const double tiles = (double)ind_hint(cg__p_numel(w)) / ((double)size * size);
    const bool full = ind_hint(w->plan->domain.extent[x]) >= size && ind_hint(w->plan->domain.extent[y]) >= size;
    return full && tiles >= (double)w->target->thresholds.tiles_per_sm * w->target->num_sms;
}

/* The side of tiles for vectors of n; 0: none suits. A warp reads 8 vectors side by side, and each thread writes at
   least one vector per y of a group. 256 bytes along either side, two lines of the L2, are better while shared memory
   has the capacity for several tiles. */
static int cg__vector_tile(const ind__writer *w, int x, int y, int n, int group, int bytes) {
    int size = 32;
    while (size < 8 * n || size * size < 256 * n * group) size *= 2;
    if (!cg__suits_tile(w, x, y, size)) return 0;
    const ind_thresholds *t = &w->target->thresholds;
    while (size < t->tile_side && size * bytes < t->tile_side_bytes && cg__suits_tile(w, x, y, 2 * size)) size *= 2;
    return size;
}

static bool cg__choose_tile_vector(cg__decider *d, int x, int y) {
    ind__variant *v = d->variant;
    const ind_thresholds *t = &d->w.target->thresholds;
    const int bytes = cg__widest_tile(&d->w, x, y), group = bytes < 4 ? 4 / bytes : 1;
    for (int n = 16; n >= group && n >= 2 && v->threads == t->pointwise_threads; n /= 2) {
        const int size = cg__vector_tile(&d->w, x, y, n, group, bytes);
        if (!size || !cg__try_tile_vector(d, x, y, n, size)) continue;
        v->vector = n;
        v->of.tile.m = v->of.tile.n = size;
        /* 64 x 64 x f32: 1024 threads with one vector each are faster than 256 with four, 189 and 193 us for 8192^2. */
        if (!d->part_threads)
            v->threads = cg__pow2_at_least(size * size / (n * group), t->pointwise_threads, IND__CG_MAX_THREADS);
        return true;
    }
    cg__no_vectors(d);
    return false;
}

static void cg__choose_transpose(cg__decider *d, int x, int y) {
    ind__variant *v = d->variant;
    ind_expr blocks[3];
    v->strategy = IND_STRATEGY_TRANSPOSE;
    const bool vectors = cg__choose_tile_vector(d, x, y);
    if (!vectors)
        v->of.tile.m = v->of.tile.n =
            cg__widest_tile(&d->w, x, y) <= 2 ? d->w.target->thresholds.tile_narrow : d->w.target->thresholds.tile_wide;
    v->per_thread = v->of.tile.m * v->of.tile.n / v->threads;
    cg__tile_blocks(&d->w, x, y, blocks);
    cg__set_axes(d, blocks);
    v->memory.shared = ind_int(d->w.context, 0);
    cg__why(d, "some loads are contiguous along another dimension than the stores: transposed through shared memory%s",
            vectors ? ", in vectors" : "");
}

/* The variable along which most bytes are contiguous (the innermost of equals); -1: none. Stores count twice, as
   scattered writes cost more. */
static int cg__best_pointwise(const ind__writer *w) {
    int best = -1;
    double most = 0;
    for (int v = w->plan->domain.rank - 1; v >= 0; v--) {
        double bytes = 0;
        for (uint32_t i = 1; i < w->body->num_inst; i++) {
            if (!cg__is_access(w, i) || !cg__in_runs(w, i, v)) continue;
            const int times = cg__inst(w, i)->op == IND_LOOP_STORE ? 2 : 1;
            bytes += times * ind_dtype_bytes(cg__memory_dtype(w, i)) * cg__share(w, i);
        }
        if (bytes <= most) continue;
        most = bytes;
        best = v;
    }
    return best;
}

/* The variable along which all stores are contiguous, if all loads that are contiguous along `other` fit in tiles; -1:
   none. A tile costs less than scalar stores, however many loads these would speed up. */
static int cg__stored_var(const ind__writer *w, int other) {
    for (int v = w->plan->domain.rank - 1; v >= 0; v--) {
        int tiles = 0;
        bool all = ind_hint(w->plan->domain.extent[v]) >= 8 && ind_hint(w->plan->domain.extent[other]) >= 8;
        for (uint32_t i = 1; all && i < w->body->num_inst; i++) {
            const bool along = cg__is_access(w, i) && cg__contiguous(w, i, v);
            if (cg__inst(w, i)->op == IND_LOOP_STORE)
                all = along;
            else if (cg__is_access(w, i) && !along && cg__contiguous(w, i, other))
                tiles += ind__expr_depends(cg__index_of(w, i), w->plan->domain.var[v]);
        }
        if (all && tiles > 0 && tiles <= IND__CG_MAX_TILES) return v;
    }
    return -1;
}

/* True if a store rounds to a type of 8 or 16 bits. */
static bool cg__rounds(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_STORE || !cg__narrow_of(cg__memory_dtype(w, i))) continue;
        const uint32_t x = cg__stored_value(w, i);
        if (cg__inst(w, x)->op != IND_LOOP_LOAD || cg__memory_dtype(w, x) != cg__memory_dtype(w, i)) return true;
    }
    return false;
}

/* Vectors per thread. One keeps the memory busy, unless the thread waits for an index first: then too few bytes are in
   flight most of the time (embedding of 65536 rows of 512 f32 on an H200: 69.5 us, with four 65.2). If elements are
   rounded, four cost more than that (bf16: 69.8 and 74.2). If there are few blocks, one vector per thread spreads them
   over more SMs. */
static int cg__pointwise_steps(const ind__writer *w) {
    bool gathers = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        gathers |= cg__gathers(w, i);
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && cg__inst(w, i)->arg[0]) return 1;
    }
    const double vectors = (double)ind_hint(cg__p_numel(w)) / w->variant->vector;
    const bool busy =
        vectors >= (double)w->target->thresholds.gather_steps * w->target->sm_threads * w->target->num_sms;
    return gathers && busy && !w->plan->part && w->plan->domain.rank > 1 && !cg__rounds(w)
               ? w->target->thresholds.gather_steps
               : 1;
}

/* True if the op takes one or two instructions, and no registers besides its result. */
static bool cg__is_simple(const ind__inst *in) {
    const ind_loop_op op = (ind_loop_op)in->op;
    switch (op) {
    case IND_LOOP_NEG:
    case IND_LOOP_ABS:
    case IND_LOOP_ADD:
    case IND_LOOP_SUB:
    case IND_LOOP_MUL:
    case IND_LOOP_MAXIMUM:
    case IND_LOOP_MINIMUM:
    case IND_LOOP_CAST:
    case IND_LOOP_ROUND_F16:
    case IND_LOOP_ROUND_BF16:
    case IND_LOOP_NOT:
    case IND_LOOP_WHERE: return true;
    default: return ind__loop_op_class(op) == 'c' || (ind__loop_op_class(op) == 's' && op != IND_LOOP_INDIRECT);
    }
}

/* Resident blocks per SM in __launch_bounds__; 0: chosen by the compiler. For five vectors of 16 bytes the compiler
   takes 36 registers without a limit, which allows six blocks of 256 threads per SM; 30 suffice, for eight blocks. */
static int cg__pointwise_blocks(const ind__writer *w) {
    const ind_thresholds *t = &w->target->thresholds;
    const ind__variant *v = w->variant;
    int words = 0;
    if (v->vector == 1 || v->misaligned || v->per_thread != v->vector) return 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *in = cg__inst(w, i);
        const bool index = in->op == IND_LOOP_INDEX || in->op == IND_LOOP_CONSTANT;
        if (!cg__is_simple(in) || (!index && ind_dtype_bytes((ind_dtype)in->dtype) > 4)) return 0;
        if (in->op != IND_LOOP_LOAD ||
            !ind__expr_depends(cg__index_of(w, i), w->plan->domain.var[w->plan->domain.rank - 1]))
            continue;
        if (w->plan->vector[i] != v->vector) return 0;
        words += v->vector * ind_dtype_bytes(cg__memory_dtype(w, i)) / 4;
    }
    return words > t->few_words && words <= t->full_words ? w->target->sm_threads / v->threads : 0;
}

/* Runs of bytes are loaded in words if the pointer is aligned: the variant requires this. Vectors that start between
   multiples of their width have no runs. */
static void cg__align_runs(cg__decider *d) {
    const ind__variant *v = d->variant;
    cg__run run;
    if (v->vector == 1 || v->misaligned || !(d->assume & IND__ASSUME_ALIGNED)) return;
    cg__need_stores(&d->w);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        if (d->plan->vector[i] > 1 || !cg__find_run(&d->w, i, d->plan->domain.rank - 1, v->vector, &run)) continue;
        if (run.alignment > 1 && !cg__in_arena(&d->w, cg__inst(&d->w, i)->source)) d->variant->guard_aligned = true;
    }
}

static void cg__choose_pointwise(cg__decider *d) {
    ind__variant *v = d->variant;
    int best = cg__best_pointwise(&d->w);
    const int stored = best >= 0 ? cg__stored_var(&d->w, best) : -1;
    if (stored >= 0) best = stored;
    if (best >= 0 && best != d->plan->domain.rank - 1) cg__move_last(d, best);
    cg__merge_vars(d);
    cg__analyse(d);
    cg__choose_index_bits(d);
    v->threads = d->part_threads ? d->part_threads : d->w.target->thresholds.pointwise_threads;
    v->vector = v->rows = v->per_thread = 1;
    d->plan->tile_y = cg__transposed_var(&d->w);
    if (d->plan->tile_y >= 0) {
        cg__choose_transpose(d, d->plan->domain.rank - 1, d->plan->tile_y);
        return;
    }
    v->strategy = IND_STRATEGY_POINTWISE;
    const ind_expr guard = v->guard;
    const bool aligned = v->guard_aligned;
    if (d->plan->domain.rank > 0) {
        v->vector = cg__choose_vector(d, d->plan->domain.rank - 1, d->plan->domain.rank == 1);
        v->vector = cg__shift_points(d, v->vector, guard, aligned);
        cg__align_runs(d);
    }
    v->per_thread = v->vector * (v->misaligned ? 1 : cg__pointwise_steps(&d->w));
    v->blocks_per_sm = cg__pointwise_blocks(&d->w);
    ind_expr points = cg__p_numel(&d->w);
    if (d->plan->starts_misaligned) points = ind_expr_add(points, ind_int(d->w.context, v->vector - 1));
    cg__grid(d, points, (int64_t)v->threads * v->per_thread);
    if (v->misaligned)
        cg__why(d, "%d elements per thread: vectors aligned to the stores, peeled edges", v->vector);
    else if (v->vector > 1)
        cg__why(d, "%d elements per thread: %s", v->vector,
                v->guard_aligned ? "vectors, as the pointers are aligned" : "vectors are proven to be aligned");
    else
        cg__why(d, "one element per thread: %s",
                d->assume ? "the accesses do not vectorise" : "alignment is not assumed");
    cg__choose_masked(d);
}

/* Bytes of shared memory per thread for the states of all reductions. */
static int cg__state_bytes(const ind__writer *w) {
    int sum = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_REDUCE) sum += cg__state_bytes_of(w, i);
    return sum;
}

/* Threads along the contiguous P variable, and as many rows of threads as fill the GPU. */
static void cg__choose_column(cg__decider *d) {
    ind__variant *v = d->variant;
    int64_t outputs = ind_hint(cg__p_numel(&d->w)), length = ind_hint(cg__r_numel(&d->w));
    const ind_thresholds *t = &d->w.target->thresholds;
    bool enough = outputs >= (int64_t)d->w.target->num_sms * t->column_outputs || length < t->column_few_rows;
    v->strategy = IND_STRATEGY_COLUMN;
    v->rows = enough ? t->column_threads : 32;
    v->threads = enough ? t->column_threads : 32 * cg__pow2_at_least(length / t->column_few_rows, 4, 32);
    while (v->threads > v->rows && v->threads * cg__state_bytes(&d->w) > IND__CG_STATIC_SHARED) v->threads /= 2;
    v->vector = 1;
    v->per_thread = 1;
    cg__grid(d, cg__p_numel(&d->w), v->rows);
    cg__why(d, "loads are contiguous along an output dimension: %d columns per block, %d threads per column", v->rows,
            v->threads / v->rows);
}
