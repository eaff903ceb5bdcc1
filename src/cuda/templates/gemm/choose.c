/* ---- the choice of a vector width ---- */

/* Sets the text of a finished sum, for the body's REDUCE and its PART. */
static void cg__mm_set_text_of_sum(ind__writer *w, uint32_t dot, const char *text) {
    w->value[dot] = text;
    for (uint32_t i = dot + 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_PART && cg__inst(w, i)->arg[0] == dot) w->value[i] = text;
}

static void cg__mm_set_sum_text(ind__writer *w, const cg__mm_problem *p) {
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
        bool fits = cg__mm_contiguous(&d->w, i, p->n) && cg__vector_access(d, i, p->n, n, &guard, &aligned);
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

/* The templates, in the order in which they are asked. */
static const cg__mm_template *const cg__mm_templates[] = {&cg__mm_packed_rows, &cg__mm_rows, &cg__mm_tma,
                                                          &cg__mm_wgmma,       &cg__mm_mma,  &cg__mm_fma};
#define MM_NUM_TEMPLATES (sizeof cg__mm_templates / sizeof *cg__mm_templates)

static const cg__mm_template *cg__mm_template_of(ind_strategy s) {
    for (size_t i = 0; i < MM_NUM_TEMPLATES; i++)
        if (cg__mm_templates[i]->strategy == s) return cg__mm_templates[i];
    return NULL;
}

typedef struct cg__mm_choice {
    const cg__mm_template *from;
    cg__mm_config config;
    double cost;
} cg__mm_choice;

/* Takes the configuration if it is cheaper than the choice. */
static void cg__mm_try_config(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                              const ind_target *t, cg__mm_choice *best) {
    const double cost = (x->cost ? x->cost : cg__mm_cost)(x, p, c, t);
    if (!best->from || cost < best->cost) *best = (cg__mm_choice){x, *c, cost};
}

/* The same for the configuration with clusters, of each size. */
static void cg__mm_try_clusters(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *config,
                                const ind_target *t, cg__mm_choice *best) {
    for (int cluster = 2; cluster <= p->max_cluster && cluster <= MM_MAX_CLUSTER; cluster *= 2) {
        cg__mm_config c = *config;
        c.cluster = cluster;
        if (!(x->fit_cluster ? x->fit_cluster(&c, p, t) : cg__mm_fit_cluster(&c, x, p)) ||
            cg__mm_shared(x, p, &c) + MM_EXCHANGE_SHARED > t->shared_per_block)
            continue;
        const int most = cg__mm_occupancy(x, p, &c, t);
        for (int waves = 1; waves <= most; waves++) {
            c.splits = cg__mm_splits_of(p, &c, waves, t);
            if (c.splits > 1) cg__mm_try_config(x, p, &c, t, best);
        }
    }
}

/* Takes the template's cheapest configuration if it is cheaper than the choice. */
static void cg__mm_try_template(const cg__mm_template *x, const cg__mm_problem *p, int64_t depth, int index_bits,
                                const ind_target *t, cg__mm_choice *best) {
    for (size_t i = 0; i < x->num_configs; i++) {
        cg__mm_config c = x->configs[i];
        x->fit(&c, p, depth, index_bits);
        if (!x->allows(&c, p, index_bits) || cg__mm_shared(x, p, &c) > t->shared_per_block) continue;
        cg__mm_try_config(x, p, &c, t, best);
        if (!x->body || x->persistent) cg__mm_try_clusters(x, p, &c, t, best);
        const bool splits =
            (!x->body || x->persistent) && cg__mm_shared(x, p, &c) + MM_EXCHANGE_SHARED <= t->shared_per_block;
        const int most = splits ? cg__mm_occupancy(x, p, &c, t) : 0;
        for (int waves = 1; waves <= most; waves++) {
            c.splits = cg__mm_splits_of(p, &c, waves, t);
            if (c.splits > 1) cg__mm_try_config(x, p, &c, t, best);
        }
    }
}

/* Returns the cheapest configuration of the templates that take the product; *reason: why the last one that does not
   take it does not. */
static cg__mm_choice cg__mm_choose(const cg__mm_problem *p, int index_bits, const ind_target *t, const char **reason) {
    int64_t lo, hi;
    ind__known_bounds(p->size_k, &lo, &hi);
    cg__mm_choice best = {0};
    *reason = NULL;
    for (size_t i = 0; i < MM_NUM_TEMPLATES; i++) {
        const char *no = cg__mm_templates[i]->match(p, t);
        if (no && !best.from) *reason = no;
        if (!no) cg__mm_try_template(cg__mm_templates[i], p, hi, index_bits, t, &best);
    }
    return best;
}

/* The same without clusters, for the fallback of a variant that has them: of the same template, whose guards are the
   same. */
static cg__mm_choice cg__mm_choose_fallback(cg__mm_problem *p, const cg__mm_choice *choice, int index_bits,
                                            const ind_target *t) {
    int64_t lo, hi;
    cg__mm_choice best = {0};
    ind__known_bounds(p->size_k, &lo, &hi);
    p->max_cluster = 1;
    cg__mm_try_template(choice->from, p, hi, index_bits, t, &best);
    return best;
}

/* Persistent blocks: one per SM, or per share of a tile if there are fewer; in whole clusters. A tile that is shared
   has at most one share per block: no more shares than cg__mm_splits_of gives the hinted sizes. */
static void cg__mm_set_persistent(cg__decider *d, cg__mm_problem *p) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    ind_expr tiles = cg__mm_all_tiles(p, v);
    if (cg__mm_is_split(v)) tiles = ind_expr_mul(tiles, v->of.tile.splits);
    const int cluster = v->of.tile.cluster > 1 ? v->of.tile.cluster : 1;
    tiles = ind_expr_mul(ind_expr_ceildiv(tiles, ind_int(c, cluster)), ind_int(c, cluster));
    v->grid[0] = ind_expr_min(tiles, ind_int(c, cg__mm_cluster_sms(cluster, d->w.target)));
    v->grid[1] = v->grid[2] = ind_int(c, 1);
    v->blocks_per_sm = 1;
    cg__mm_set_boxes(d, p);
}

static void cg__mm_explain(cg__decider *d, const cg__mm_problem *p, const char *reason) {
    const bool tensor = cg__has(&d->w, IND__HAS_TENSOR_CORES);
    const char *copied = p->a.copy && p->b.copy ? "both operands" : p->a.copy ? "a" : p->b.copy ? "b" : "no operand";
    const char *computed = p->a.computed && p->b.computed ? "both operands" : p->a.computed ? "a" : "b";
    if (d->variant->strategy == IND_STRATEGY_MATMUL_ROWS)
        cg__why(d, "at most %d rows: %s is read once, in vectors; accumulates in f32", p->few_rows,
                p->b.computed ? "what b is computed from" : "b");
    else if (d->variant->strategy == IND_STRATEGY_MATMUL_PACKED)
        cg__why(d, "at most %d rows: packed weights are dequantised in registers for tensor cores; accumulates in f32",
                p->few_rows);
    else if (cg__mm_has_prologue(p))
        cg__why(d, "%s computed in the operand load of %s; accumulates in %s", computed,
                tensor ? "tensor cores" : "FMA tiles", ind_dtype_name(p->sum));
    else if (tensor)
        cg__why(d, "%s operands%s on tensor cores; %s copied in %s%s",
                p->a.memory == p->b.memory ? ind_dtype_name(p->a.memory) : "8-bit float",
                p->tensor_bytes == 4 ? " rounded to tf32" : "", copied,
                d->variant->strategy == IND_STRATEGY_MATMUL_TMA ? "boxes by tensor maps" : "16-byte vectors",
                p->promotes ? "; sums of 128 products are added in f32" : "");
    else
        cg__why(d, "%s; accumulates in %s", reason, ind_dtype_name(p->sum));
}

static void cg__mm_explain_all(cg__decider *d, const cg__mm_problem *p, const char *reason) {
    cg__mm_explain(d, p, reason);
    if (p->dot2 && d->variant->why) cg__why(d, "two products with the same a; %s", d->variant->why);
}

static ind_status cg__mm_set_config(cg__decider *d, cg__mm_problem *p, ind__variant *v) {
    const char *reason;
    cg__mm_choice best = cg__mm_choose(p, v->index_bits, d->w.target, &reason);
    if (best.config.cluster > d->max_cluster) best = cg__mm_choose_fallback(p, &best, v->index_bits, d->w.target);
    const cg__mm_template *x = best.from;
    const cg__mm_config *c = &best.config;
    if (!x)
        return ind__fail(d->w.context, IND_NOT_SUPPORTED, "kernel %s: no configuration of a product fits the target",
                         d->w.kernel->name);
    v->strategy = x->strategy;
    const bool fma = x->strategy == IND_STRATEGY_MATMUL_SIMT;
    v->threads = x->threads(c);
    v->of.tile = (ind__tile_plan){.m = c->tile_m,
                                  .n = c->tile_n,
                                  .k = c->tile_k,
                                  .products = cg__mm_products(p),
                                  .warps_m = fma ? 0 : c->warps_m,
                                  .warps_n = fma ? 0 : c->warps_n,
                                  .stages = c->stages};
    v->of.tile.cost_ns = best.cost * 100 / d->w.target->thresholds.product_clock;
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
    if (x->strategy == IND_STRATEGY_MATMUL_ROWS || x->strategy == IND_STRATEGY_MATMUL_PACKED) cg__mm_guard_rows(d, p);
    if (x->strategy == IND_STRATEGY_MATMUL_PACKED) cg__mm_use_packed_map(d);
    cg__mm_explain_all(d, p, reason);
    return IND_OK;
}

/* Decides how operands of tensor cores are loaded. */
static void cg__mm_choose_loads(cg__decider *d, cg__mm_problem *p) {
    cg__mm_operand *const o[3] = {&p->a, &p->b, &p->b2};
    const int num = 1 + cg__mm_products(p);
    if (!p->tensor_bytes) return;
    for (int i = 0; i < num; i++) o[i]->copy = cg__mm_can_copy(d, p, o[i]);
    for (int i = 0; i < num; i++)
        if (o[i]->computed) cg__mm_choose_staged(d, p, o[i]);
    for (int i = 1; i < num; i++)
        if (o[i]->computed) cg__mm_measure_runs(&d->w, p, o[i]);
}

/* Decides everything; w->plan->matmul keeps what was found out about the kernel. Error: IND_NOT_SUPPORTED. */
static ind_status cg__choose_matmul(cg__decider *d, ind__variant *v) {
    cg__mm_problem *p = (cg__mm_problem *)ind__arena_alloc(&d->w.scratch, sizeof *p);
    if (!p) return ind__failed(d->w.context);
    d->plan->matmul = p;
    cg__mm_find_problem(d, p);
    if (d->w.failed) return ind__failed(d->w.context);
    if (p->sum == IND_BOOL)
        return ind__fail(d->w.context, IND_NOT_SUPPORTED, "kernel %s: a matrix product of bool", d->w.kernel->name);
    cg__choose_index_bits(d);
    cg__mm_choose_loads(d, p);
    cg__mm_find_packed(d, p);
    v->vector = cg__mm_choose_vector(d, p);
    cg__mm_find_maps(d, p);
    if (d->w.failed) return ind__failed(d->w.context);
    cg__mm_find_rows(d, p);
    p->unsplit = d->w.schedule->program->batch_invariant || ind__body_unbacked(d->w.schedule->program, d->w.body);
    p->max_cluster = d->plan->part || p->dot2 ? 1 : d->w.target->max_cluster; /* a slice is of one product */
    ind_status status = cg__mm_set_config(d, p, v);
    return status || !d->w.failed ? status : ind__failed(d->w.context);
}
