/* ---- the choice of a vector width ---- */

/* Sets the text of a finished sum, for the body's REDUCE and its PART. */
static void cg__mm_set_text_of_sum(ind__writer *w, uint32_t dot, const char *text) {
    w->value[dot] = text;
    for (uint32_t i = dot + 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_PART && cg__inst(w, i)->arg[0] == dot) w->value[i] = text;
}

static void cg__mm_set_sum_text(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_set_group_text(w, p);
    const char *text = p->n < 0 ? "dot[0]" : "dot[j]";
    if (!ind_dtype_is_float(p->sum)) text = cg__string(w, "((%s)%s)", cg__types[p->sum].value, text);
    cg__mm_set_text_of_sum(w, p->dot, text);
    if (p->dot2) cg__mm_set_text_of_sum(w, p->dot2, "dot2[j]");
}

/* The sum differs from column to column, even where b does not depend on the column. */
static void cg__mm_vary_sum(cg__decider *d, const cg__mm_problem *p) {
    if (p->n < 0) return;
    d->plan->varies[p->dot] |= 1u << p->n;
    if (p->dot2) d->plan->varies[p->dot2] |= 1u << p->n;
    for (uint32_t i = p->dot + 1; i < d->w.body->num_inst; i++) cg__each_use(&d->w, i, cg__propagate_use, d);
}

/* Can all STOREs write n neighbouring columns at once, without a rest at the edge? LOADs of the epilogue do the same
   where they can, as long as none would need more than 16 bytes at once: 32 bytes of what all rows share, such as a f32
   scale per column. w->needed marks the epilogue. */
static bool cg__mm_try_vector(cg__decider *d, const cg__mm_problem *p, int n) {
    ind_expr guard = {0};
    bool aligned = false;
    cg__no_vectors(d);
    if (p->n < 0 || !cg__multiple(d, p->size_n, n, &guard)) return false;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        if (!d->w.needed[i] || !cg__is_access(&d->w, i)) continue;
        bool fits = cg__mm_result_contiguous(&d->w, i, p->n) && cg__vector_access(d, i, p->n, n, &guard, &aligned);
        const bool shared = cg__inst(&d->w, i)->op == IND_LOOP_LOAD && (p->m < 0 || !(d->plan->varies[i] >> p->m & 1));
        if (fits && ind_dtype_bytes(cg__memory_dtype(&d->w, i)) * n > (shared ? 32 : 16)) return false;
        if (!fits && cg__inst(&d->w, i)->op == IND_LOOP_STORE) return false;
        if (fits) d->plan->vector[i] = (uint8_t)n;
    }
    if (ind__ok(guard)) cg__guard(d->variant, guard);
    d->variant->guard_aligned |= aligned;
    return true;
}

static int cg__mm_choose_vector(cg__decider *d, const cg__mm_problem *p) {
    cg__mm_set_sum_text(&d->w, p); /* which ends what the epilogue needs */
    cg__mm_vary_sum(d, p);
    cg__need_stores(&d->w);
    for (int n = 8; n >= 2; n /= 2)
        if (cg__mm_try_vector(d, p, n)) return n;
    cg__no_vectors(d);
    return 1;
}

/* ---- the plan ---- */

/* Persistent blocks: one per SM, or per share of a tile if there are fewer; in whole clusters. A tile that is shared
   has at most one share per block: no more shares than cg__mm_splits_of gives the hinted sizes. */
static void cg__mm_set_persistent(cg__decider *d, cg__mm_problem *p) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    ind_expr tiles = cg__mm_all_tiles(p, v);
    if (cg__mm_is_split(v)) tiles = ind_expr_mul(tiles, v->of.tile.splits);
    const int cluster = ind__cluster_of(v) > 1 ? ind__cluster_of(v) : 1;
    if (!v->of.tile.pair_m) tiles = ind_expr_ceildiv(tiles, ind_int(c, cluster));
    tiles = ind_expr_mul(tiles, ind_int(c, cluster));
    v->grid[0] = ind_expr_min(tiles, ind_int(c, cg__mm_cluster_sms(cluster, d->w.target)));
    v->grid[1] = v->grid[2] = ind_int(c, 1);
    v->blocks_per_sm = 1;
    cg__mm_set_boxes(d, p);
}

static void cg__mm_explain(cg__decider *d, const cg__mm_problem *p, const char *reason) {
    const bool tensor = cg__has(&d->w, IND__HAS_TENSOR_CORES);
    const bool a = p->a.copy || p->a.misaligned, b = p->b.copy || p->b.misaligned;
    const char *copied = p->a.lines ? "lines of a" : a && b ? "both operands" : a ? "a" : b ? "b" : "no operand";
    const char *computed = p->a.computed && p->b.computed ? "both operands" : p->a.computed ? "a" : "b";
    if (d->variant->strategy == IND_STRATEGY_MATMUL_ROWS)
        cg__why(d, "at most %d rows: %s is read once, in vectors; accumulates in f32", p->few_rows,
                p->b.computed ? "what b is computed from" : "b");
    else if (d->variant->strategy == IND_STRATEGY_MATMUL_ROWS_MISALIGNED)
        cg__why(d, "at most %d rows: b is read once, in aligned vectors from misaligned rows; accumulates in f32",
                p->few_rows);
    else if (d->variant->strategy == IND_STRATEGY_MATMUL_PACKED)
        cg__why(d,
                "at most %d rows: packed weights, copied by %s, are dequantised in registers for tensor cores; "
                "accumulates in f32",
                p->few_rows, p->packed->mapped ? "a tensor map" : "cp.async");
    else if (d->variant->strategy == IND_STRATEGY_MATMUL_PACKED_TILES)
        cg__why(d,
                "%spacked weights, copied by a tensor map, are dequantised in registers as the left operand of wgmma; "
                "accumulates in f32",
                p->few_rows ? cg__string(&d->w, "at most %d rows: ", p->few_rows) : "");
    else if (d->variant->strategy == IND_STRATEGY_MATMUL_PACKED_ROW)
        cg__why(
            d,
            "one row: each lane keeps its part of the row and of the packed weights in registers; accumulates in f32");
    else if (p->windows.depthwise)
        cg__why(d, "each channel has its own windows; accumulates in f32");
    else if (cg__mm_has_prologue(p))
        cg__why(d, "%s computed in the operand load of %s; accumulates in %s", computed,
                tensor ? "tensor cores" : "FMA tiles", ind_dtype_name(p->sum));
    else if (tensor)
        cg__why(d, "%s operands%s on tensor cores; %s copied in %s%s%s",
                p->a.memory == p->b.memory ? ind_dtype_name(p->a.memory) : "8-bit float",
                p->tensor_bytes == 4 ? " rounded to tf32" : "", copied,
                cg__has(&d->w, IND__HAS_TENSOR_MAPS) ? "boxes by tensor maps" : "16-byte vectors",
                p->a.misaligned || p->b.misaligned ? "; misaligned rows are realigned in shared memory" : "",
                cg__mm_is_scaled(p) ? "; sums of 128 products are scaled and added in f32"
                : p->promotes       ? "; sums of 128 products are added in f32"
                                    : "");
    else
        cg__why(d, "%s; accumulates in %s", reason, ind_dtype_name(p->sum));
}

static void cg__mm_explain_all(cg__decider *d, const cg__mm_problem *p, const char *reason) {
    cg__mm_explain(d, p, reason);
    if (d->variant->why && p->tensor_bytes && p->a.windows && p->no_maps && d->assume & IND__ASSUME_MAPS)
        cg__why(d, "%s; no tensor map of windows: %s", d->variant->why, p->no_maps);
    if (d->variant->why && p->group.indirect) cg__why(d, "tiles of rows of one group; %s", d->variant->why);
    if (d->variant->why && !p->group.indirect && cg__mm_group_of_b(&d->w, p))
        cg__why(d, "not tiled by groups of rows: the rows are more than one dimension; %s", d->variant->why);
    if (d->variant->of.tile.pair_m && d->variant->why)
        cg__why(d, "%s; %s multicast to the blocks of a cluster", d->variant->why, cg__mm_multicast_text(d->variant));
    if (cg__mm_in_turn(d->variant) && d->variant->why)
        cg__why(d, "%s; two warpgroups multiply two tiles in turn", d->variant->why);
    if (p->dot2 && d->variant->why) cg__why(d, "two products with the same a; %s", d->variant->why);
    if (d->assume & IND__WITH_NEXT && d->variant->why)
        cg__why(d, "this kernel and the next one, as each block reduces all rows; %s", d->variant->why);
}

/* Marks the constants that the only row of a is computed from, and which no launch of the schedule writes. */
static uint32_t cg__mm_early_row_args(cg__decider *d, const cg__mm_problem *p) {
    const ind__writer *w = &d->w;
    uint32_t early = 0;
    if (!cg__mm_is_one_row(w, p)) return 0;
    cg__mm_need_row(&d->w, p);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__mm_in_row_vectors(w, p, i)) continue;
        const uint32_t source = cg__inst(w, i)->source, arg = cg__arg_of(w->kernel, source);
        const bool constant = w->schedule->program->buffer[source].kind == IND__BUFFER_CONST;
        if (arg < 32 && constant && !cg__is_written(w->schedule, source)) early |= 1u << arg;
    }
    return early;
}

/* Marks the arguments that are loaded before the wait: those of b, and constants of the only row of a. 0: a launch of
   the schedule may write one that b is loaded from, or no load comes before the wait. */
static uint32_t cg__mm_early_args(cg__decider *d, const cg__mm_problem *p) {
    const ind__writer *w = &d->w;
    uint32_t early = 0;
    if (!d->variant->dependent || d->plan->part == IND__PART_OF_LAUNCH || !cg__mm_has_few_rows(d->variant->strategy))
        return 0;
    if (ind__body_unbacked(w->schedule->program, w->body)) return 0;
    if (!p->few_rows || d->variant->of.tile.m < p->few_rows) return 0; /* blocks without rows exit first */
    for (int k = 0; k < cg__mm_products(p); k++) {
        cg__mm_need_operand(&d->w, cg__mm_right(p, k));
        for (uint32_t i = 1; i < w->body->num_inst; i++) {
            if (!w->needed[i] || cg__inst(w, i)->op != IND_LOOP_LOAD) continue;
            const uint32_t arg = cg__arg_of(w->kernel, cg__inst(w, i)->source);
            if (arg >= 32 || cg__is_written(w->schedule, cg__inst(w, i)->source)) return 0;
            early |= 1u << arg;
        }
    }
    return early ? early | cg__mm_early_row_args(d, p) : 0;
}

/* Sets the tile, its shares, and the grid. */
static void cg__mm_set_tile(cg__decider *d, cg__mm_problem *p, const cg__mm_choice *choice) {
    const cg__mm_template *x = choice->from;
    const cg__mm_config *c = &choice->config;
    ind__variant *v = d->variant;
    const bool fma = x->strategy == IND_STRATEGY_MATMUL_SIMT;
    v->strategy = x->strategy;
    v->threads = x->threads(c);
    v->of.tile = (ind__tile_plan){.m = c->tile_m,
                                  .n = c->tile_n,
                                  .k = c->tile_k,
                                  .products = cg__mm_products(p),
                                  .warps_m = fma ? 0 : c->warps_m,
                                  .warps_n = fma ? 0 : c->warps_n,
                                  .stages = c->stages,
                                  .pair_m = c->pair_m,
                                  .pair_n = c->pair_n};
    v->of.tile.early = cg__mm_early_args(d, p);
    v->of.tile.cost_ns = choice->cost * 100 / d->w.target->thresholds.product_clock;
    v->per_thread = fma ? c->warps_m : 1;
    v->rows = 1;
    v->blocks_per_sm = cg__mm_occupancy(x, p, c, d->w.target);
    v->memory.shared = ind_int(d->w.context, cg__mm_shared(x, p, c));
    int stripe;
    ind_expr blocks[3];
    cg__mm_set_splits(d, p, c, x->persistent);
    cg__mm_blocks(p, v, &stripe, blocks);
    cg__set_axes(d, blocks);
    if (x->persistent) cg__mm_set_persistent(d, p);
    if (x->strategy == IND_STRATEGY_MATMUL_PACKED_TILES && cg__mm_copies_rows(p)) p->map[0]->box[1] = c->tile_m;
    if (cg__mm_reads_rings(x->strategy) && p->packed->mapped) d->used |= IND__ASSUME_MAPS;
    if (cg__mm_takes_packed(x->strategy)) v->guard_aligned = true;
}

/* The template that tuning keeps, or NULL. A batch_invariant module keeps it, as the guards of variants may depend on
   the number of rows, and another template may sum in another order. */
static const cg__mm_template *cg__mm_kept_template(const cg__decider *d, const cg__mm_choices *all) {
    return d->w.schedule->program->options.batch_invariant ? all->item[0].from : NULL;
}

/* Lists the configurations that tuning measures. A part of a launch is not tuned, nor a product whose sizes depend on
   data. */
static void cg__mm_set_others(cg__decider *d, const cg__mm_problem *p, const cg__mm_choices *all) {
    ind__tile_choice others[IND__MAX_TUNED];
    ind__tile_plan *tile = &d->variant->of.tile;
    if (d->plan->part || ind__body_unbacked(d->w.schedule->program, d->w.body)) return;
    const int num = cg__mm_others(p, all, cg__mm_kept_template(d, all), d->w.target, others);
    tile->others = (const ind__tile_choice *)ind__arena_copy(d->w.arena, others, (size_t)num * sizeof *others);
    tile->num_others = tile->others ? num : 0;
    if (!tile->others) cg__fail(&d->w);
}

/* A tuned configuration has the guard of the formulas' choice: it replaces that variant. */
static ind_status cg__mm_set_config(cg__decider *d, cg__mm_problem *p, ind__variant *v) {
    const ind__tile_choice *tuned = &d->tuning.tile;
    const char *reason;
    cg__mm_choice cheapest[MM_MEASURED + 1], choice;
    cg__mm_choices all = {.item = cheapest, .most = MM_MEASURED + 1};
    all.threads = d->part_threads;
    cg__mm_choose(p, v->index_bits, d->w.target, &all, &reason);
    if (!all.num && all.threads) {
        all.threads = 0;
        cg__mm_choose(p, v->index_bits, d->w.target, &all, &reason);
    }
    if (!all.num)
        return ind__fail(d->w.context, IND_ERROR_NOT_SUPPORTED,
                         "kernel %s: no configuration of a product fits the target", d->w.kernel->name);
    if (cg__mm_cluster_blocks(&all.item[0].values) > d->max_cluster)
        cg__mm_choose_fallback(p, v->index_bits, d->w.target, &all);
    const cg__mm_template *kept = cg__mm_kept_template(d, &all);
    const bool take = tuned->m && cg__mm_cluster_blocks(tuned) <= d->max_cluster && !d->plan->part &&
                      cg__mm_find_values(p, v->index_bits, d->w.target, tuned, &choice) &&
                      (!kept || choice.from == kept);
    if (!take) choice = all.item[0];
    cg__mm_set_tile(d, p, &choice);
    cg__mm_set_others(d, p, &all);
    if (cg__mm_has_few_rows(all.item[0].from->strategy) || cg__mm_has_few_rows(v->strategy)) cg__mm_guard_rows(d, p);
    cg__mm_explain_all(d, p, reason);
    if (!take) return IND_OK;
    v->tuned.tile = *tuned;
    cg__why(d, "%s; tuned: tile %d x %d x %d", v->why, tuned->m, tuned->n, tuned->k);
    return IND_OK;
}

/* Bytes from a row of a copied operand to the next one, at the hinted sizes. */
static int cg__mm_pitch(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    const int other = o->k_major ? o->x : p->k;
    ind_expr stride, rest;
    if (!o->copy || other < 0 || !ind__affine(cg__index_of(w, o->load), w->plan->domain.var[other], &stride, &rest))
        return 0;
    const int64_t pitch = ind_hint(stride) * ind_dtype_bytes(o->memory);
    return pitch > 0 && pitch <= INT32_MAX ? (int)pitch : 0;
}

/* Decides how operands of tensor cores are loaded. */
static void cg__mm_choose_loads(cg__decider *d, cg__mm_problem *p) {
    cg__mm_operand *const o[3] = {&p->a, &p->b, &p->b2};
    const int num = 1 + cg__mm_products(p);
    if (!p->tensor_bytes) return;
    for (int i = 0; i < num; i++) {
        o[i]->copy = cg__mm_can_copy(d, p, o[i]);
        o[i]->pitch = cg__mm_pitch(&d->w, p, o[i]);
    }
    p->a.lines = cg__mm_can_copy_lines(d, p, &p->a);
    p->a.k_major |= p->a.lines; /* the tile is gathered in rows along k */
    for (int i = 0; i < num; i++) o[i]->misaligned = !o[i]->lines && cg__mm_is_misaligned(d, p, o[i]);
    cg__mm_choose_same_loads(d, p);
    p->b.reads_misaligned = cg__mm_reads_misaligned(d, p);
    for (int i = 0; i < num; i++)
        if (o[i]->computed) cg__mm_choose_staged(d, p, o[i]);
    for (int i = 1; i < num; i++)
        if (o[i]->computed) cg__mm_measure_runs(&d->w, p, o[i]);
}

/* Sets what the configurations and their costs read of the epilogue. Requires the vector width and the maps. */
static void cg__mm_find_epilogue(cg__decider *d, cg__mm_problem *p) {
    p->epilogue.rounded = !p->no_maps && cg__mm_rounded_store(&d->w, p);
    p->epilogue.loads = p->epilogue.rounded && cg__mm_rounded_load(&d->w, p);
    cg__need_stores(&d->w);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++)
        p->epilogue.calls += d->w.needed[i] && cg__expensive(cg__inst(&d->w, i));
}

static ind_status cg__choose_attention(cg__decider *d, ind__variant *v);

/* Decides everything; w->plan->matmul keeps what was found out about the kernel. Error: IND_ERROR_NOT_SUPPORTED. */
static ind_status cg__choose_matmul(cg__decider *d, ind__variant *v) {
    if (d->w.kernel->scores) return cg__choose_attention(d, v);
    cg__mm_problem *p = (cg__mm_problem *)ind__arena_alloc(&d->w.scratch, sizeof *p);
    if (!p) return ind__failed(d->w.context);
    d->plan->matmul = p;
    cg__mm_find_problem(d, p);
    if (d->w.failed) return ind__failed(d->w.context);
    if (p->sum == IND_BOOL)
        return ind__fail(d->w.context, IND_ERROR_NOT_SUPPORTED, "kernel %s: a matrix product of bool",
                         d->w.kernel->name);
    cg__choose_index_bits(d);
    cg__mm_choose_loads(d, p);
    cg__mm_find_packed(d, p);
    v->vector = cg__mm_choose_vector(d, p);
    if (p->windows.depthwise) v->vector = cg__mm_choose_channels(d, p, v->vector);
    p->windows.vector = v->vector;
    if (p->windows.depthwise) cg__mm_choose_strips(p);
    cg__mm_find_maps(d, p);
    if (d->w.failed) return ind__failed(d->w.context);
    cg__mm_find_epilogue(d, p);
    cg__mm_find_rows(d, p);
    p->max_cluster =
        d->plan->part || d->part_threads || p->dot2 ? 1 : d->w.target->max_cluster; /* a slice is of one product */
    if (d->w.schedule->program->options.batch_invariant || ind__body_unbacked(d->w.schedule->program, d->w.body) ||
        p->group.indirect)
        p->max_cluster = 0;
    ind_status status = cg__mm_set_config(d, p, v);
    return status || !d->w.failed ? status : ind__failed(d->w.context);
}
