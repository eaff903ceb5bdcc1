/* ------------------------------------------------------------------------------------------------- >>domain */

static int cg__num_vars(const ind__writer *w) {
    return w->plan->domain.rank + w->plan->domain.rrank;
}

static uint32_t cg__p_mask(const ind__writer *w) {
    return (1u << w->plan->domain.rank) - 1;
}

static uint32_t cg__r_mask(const ind__writer *w) {
    return ((1u << cg__num_vars(w)) - 1) & ~cg__p_mask(w);
}

/* The variables of inner reductions. */
static uint32_t cg__inner_mask(const ind__writer *w) {
    return ((1u << w->body->inner) - 1) << (cg__num_vars(w) - w->body->inner);
}

/* Number of index expressions that an instruction's value depends on. */
static uint32_t cg__num_index(const ind__inst *inst) {
    if (inst->op == IND_LOOP_INDIRECT) return 1;
    return inst->op == IND_LOOP_LOAD || inst->op == IND_LOOP_STORE || inst->op == IND_LOOP_INDEX ? inst->num_index : 0;
}

/* Copies the domain of the body. */
static void cg__domain_init(cg__decider *d) {
    const ind_body *body = d->w.body;
    ind_expr *index = (ind_expr *)ind__arena_alloc(&d->w.scratch, (body->num_index + 1) * sizeof *index);
    if (!index)
        cg__fail(&d->w);
    else
        ind__loops_init(&d->plan->domain, body, index);
}

static void cg__merge_vars(cg__decider *d) {
    for (int v = cg__num_vars(&d->w) - 2; v >= 0; v--)
        if (v + 1 != d->plan->domain.rank) ind__loops_merge(&d->plan->domain, v);
    if (d->plan->domain.failed) cg__fail(&d->w);
}

/* Splits loops if that saves indices a division by a size known only at run time. Division by a constant costs an index
   no more than a position. The range of a scan remains one loop. */
static void cg__split_vars(cg__decider *d) {
    bool scan = ind__body_scan(d->w.body) != 0;
    for (int v = 0; v < (scan ? d->plan->domain.rank : cg__num_vars(&d->w)); v++) {
        ind_expr size = ind__loops_split_size(&d->plan->domain, v, NULL);
        while (ind__ok(size) && !ind_expr_is_int(size, NULL) && ind__loops_split(&d->plan->domain, v, size))
            size = ind__loops_split_size(&d->plan->domain, v, NULL);
    }
}

/* Makes P variable v the innermost one: the order of P is free, as its points are independent. */
static void cg__move_last(cg__decider *d, int v) {
    ind__loops *x = &d->plan->domain;
    ind_expr var = x->var[v], extent = x->extent[v];
    for (int i = v; i + 1 < x->rank; i++) {
        x->var[i] = x->var[i + 1];
        x->extent[i] = x->extent[i + 1];
    }
    x->var[x->rank - 1] = var;
    x->extent[x->rank - 1] = extent;
}

static void cg__propagate_use(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    d->plan->varies[user] |= d->plan->varies[used];
    if (d->plan->stage[used] > d->plan->stage[user]) d->plan->stage[user] = d->plan->stage[used];
}

static void cg__mark_used(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    (void)user;
    d->plan->only_check[used] = 0;
}

static void cg__find_only_checks(cg__decider *d) {
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        bool reduced = d->plan->varies[i] & cg__r_mask(&d->w);
        d->plan->only_check[i] = 0;
        if (cg__inst(&d->w, i)->op == IND_LOOP_INDIRECT && !(cg__inst(&d->w, i)->flags & IND__INST_CHECKED))
            d->plan->only_check[i] = reduced ? IND__CG_CHECK_REDUCED : IND__CG_CHECK_ONCE;
    }
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) cg__each_use(&d->w, i, cg__mark_used, d);
}

static void cg__mark_rooted(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    (void)user;
    d->plan->rooted[used] = 1;
}

static void cg__find_rooted(cg__decider *d) {
    memset(d->plan->rooted, 0, d->w.body->num_inst);
    for (uint32_t i = d->w.body->num_inst; i-- > 1;) {
        const ind_loop_op op = (ind_loop_op)cg__inst(&d->w, i)->op;
        const bool root = op == IND_LOOP_STORE || (op == IND_LOOP_INDIRECT && !cg__may_be_unused(&d->w, i));
        if (d->plan->varies[i] & cg__r_mask(&d->w) || op == IND_LOOP_REDUCE) continue;
        if (root || d->plan->rooted[i]) cg__each_use(&d->w, i, cg__mark_rooted, d);
    }
}

/* Marks the operands of values per row element and of REDUCEs. */
static void cg__mark_per_element(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    (void)user;
    d->plan->resident[used] = 1;
}

static bool cg__is_scan(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_SCAN && !ind__scan_sorts((ind_scan)cg__inst(w, i)->reduction);
}

/* A sort is its own stage, like a reduction: later passes over the row read its results. */
static bool cg__is_sort(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_SCAN && ind__scan_sorts((ind_scan)cg__inst(w, i)->reduction);
}

/* Origin of a value: nothing scanned (0), a scan's results, or a reduction of these. */
enum { IND__CG_SCANNED = 1, IND__CG_AFTER_REDUCE = 2 };

static void cg__propagate_origin(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    if (d->plan->resident[used] > d->plan->resident[user]) d->plan->resident[user] = d->plan->resident[used];
}

/* True if a value per element, a reduction or a scan needs a reduction of a scan's results. The scan then runs in
   several passes. */
static bool cg__rescans(cg__decider *d) {
    bool again = false;
    memset(d->plan->resident, 0, d->w.body->num_inst);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        bool reduces = cg__inst(&d->w, i)->op == IND_LOOP_REDUCE;
        cg__each_use(&d->w, i, cg__propagate_origin, d);
        if (d->plan->resident[i] == IND__CG_AFTER_REDUCE && (reduces || d->plan->varies[i] & cg__r_mask(&d->w)))
            again = true;
        if (cg__is_scan(&d->w, i)) d->plan->resident[i] = IND__CG_SCANNED;
        if (reduces && d->plan->resident[i]) d->plan->resident[i] = IND__CG_AFTER_REDUCE;
    }
    memset(d->plan->resident, 0, d->w.body->num_inst);
    return again;
}

static void cg__propagate_level(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    if (d->plan->level[used] > d->plan->level[user]) d->plan->level[user] = d->plan->level[used];
}

static void cg__find_levels(cg__decider *d) {
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        d->plan->level[i] = 0;
        cg__each_use(&d->w, i, cg__propagate_level, d);
        if (cg__is_scan(&d->w, i) && d->plan->level[i] < 255) d->plan->level[i]++;
        if (cg__is_sort(&d->w, i) || cg__inst(&d->w, i)->op == IND_LOOP_REDUCE) d->plan->level[i] = 0;
    }
}

/* With scans: REDUCEs that only results per row need can wait for their pass, the last one; so must REDUCEs of scan
   results. These REDUCEs, and the values computed from them, get the stage after it. */
static void cg__defer_reductions(cg__decider *d) {
    uint32_t num = d->w.body->num_inst;
    d->plan->scan_stage = 0;
    memset(d->plan->resident, 0, num);
    for (uint32_t i = num; i-- > 1;) {
        bool reduce = cg__inst(&d->w, i)->op == IND_LOOP_REDUCE;
        if (d->plan->resident[i] || reduce || d->plan->varies[i] & cg__r_mask(&d->w))
            cg__each_use(&d->w, i, cg__mark_per_element, d);
    }
    for (uint32_t i = 1; i < num; i++) {
        bool early = cg__inst(&d->w, i)->op == IND_LOOP_REDUCE && d->plan->resident[i];
        if (early && d->plan->stage[i] > d->plan->scan_stage) d->plan->scan_stage = d->plan->stage[i];
    }
    for (uint32_t i = 1; i < num; i++) {
        const ind__inst *inst = cg__inst(&d->w, i);
        d->plan->stage[i] = 0;
        cg__each_use(&d->w, i, cg__propagate_use, d);
        if (inst->op == IND_LOOP_REDUCE) {
            d->plan->varies[i] &= cg__p_mask(&d->w);
            d->plan->stage[i] = (uint8_t)(d->plan->resident[i] ? d->plan->stage[i] + 1 : d->plan->scan_stage + 1);
        }
    }
    memset(d->plan->resident, 0, num);
}

/* The part of a sort that is sorted in the buffer to which instruction i stores it; -1: none. */
static int cg__sorts_in_place(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i), *value = cg__inst(w, inst->arg[0]);
    if (w->variant->strategy != IND_STRATEGY_SORT_LONG || inst->op != IND_LOOP_STORE) return -1;
    if (value->op != IND_LOOP_PART || !cg__is_sort(w, value->arg[0])) return -1;
    for (uint32_t k = 1; k < i; k++) /* only its first store */
        if (cg__inst(w, k)->op == IND_LOOP_STORE && cg__inst(w, k)->arg[0] == inst->arg[0]) return -1;
    return (int)value->imm.i;
}

static bool cg__stores_per_element(const ind__writer *w, uint32_t i) {
    bool varies = w->plan->varies[i] & cg__r_mask(w) || cg__combines_run(w, i);
    return cg__inst(w, i)->op == IND_LOOP_STORE && varies && cg__sorts_in_place(w, i) < 0;
}

static int cg__last_stage(const ind__writer *w) {
    int last = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        bool ends = cg__inst(w, i)->op == IND_LOOP_REDUCE || cg__is_sort(w, i);
        const bool checks = w->plan->only_check[i] == IND__CG_CHECK_REDUCED;
        int s = checks || cg__stores_per_element(w, i) ? w->plan->stage[i] : ends ? w->plan->stage[i] - 1 : 0;
        last = s > last ? s : last;
    }
    return last;
}

/* Fills `varies`, `stage`, `only_check` and the analysis of scans, once the domain is final. */
static void cg__analyse(cg__decider *d) {
    bool reduces = false;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        const ind__inst *inst = cg__inst(&d->w, i);
        d->plan->varies[i] = 0;
        d->plan->stage[i] = 0;
        for (uint32_t k = inst->index; k < inst->index + cg__num_index(inst); k++)
            for (int v = 0; v < cg__num_vars(&d->w); v++)
                if (ind__expr_depends(d->plan->domain.index[k], d->plan->domain.var[v])) d->plan->varies[i] |= 1u << v;
        cg__each_use(&d->w, i, cg__propagate_use, d);
        if (inst->op == IND_LOOP_STORE && inst->reduction)
            d->plan->varies[i] |= cg__p_mask(&d->w); /* each point counts */
        if (cg__combines_run(&d->w, i)) d->plan->varies[i] |= cg__r_mask(&d->w);
        bool scanned = inst->op == IND_LOOP_SCAN || inst->op == IND_LOOP_STATE || inst->op == IND_LOOP_PAIR;
        if (scanned) d->plan->varies[i] |= cg__r_mask(&d->w);
        if (cg__is_sort(&d->w, i) && d->plan->stage[i] < 254) d->plan->stage[i]++;
        if (inst->op != IND_LOOP_REDUCE) continue;
        if (inst->flags & IND__INST_INNER) { /* a value per element */
            d->plan->varies[i] &= ~cg__inner_mask(&d->w);
            continue;
        }
        reduces = true;
        d->plan->varies[i] &= cg__p_mask(&d->w);
        if (d->plan->stage[i] < 254) d->plan->stage[i]++;
    }
    cg__find_only_checks(d);
    if (ind__body_scan(d->w.body)) {
        cg__find_levels(d);
        d->plan->scan_stage = ind__body_sort(d->w.body) || cg__rescans(d) ? cg__last_stage(&d->w) : 0;
        if (reduces && !ind__body_sort(d->w.body) && !cg__rescans(d)) cg__defer_reductions(d);
    }
    if (d->plan->domain.rrank) cg__find_rooted(d);
}

static bool cg__uses_index(const ind__writer *w, uint32_t user, uint32_t indirect) {
    const ind__inst *inst = cg__inst(w, user);
    const ind_expr own = w->body->index[cg__inst(w, indirect)->index + 1];
    for (int k = 0; k < IND__MAX_ARGS; k++)
        if (inst->arg[k] == indirect) return true;
    for (uint32_t k = inst->index; k < inst->index + cg__num_index(inst); k++)
        if (ind__expr_depends(w->plan->domain.index[k], own)) return true;
    return false;
}

/* True if the INDIRECT is the same for a whole row and only elements of the row use it, of which there may be none. The
   check is then skipped, as when the indexing op runs unfused: it computes no element. */
static bool cg__may_be_unused(const ind__writer *w, uint32_t indirect) {
    int64_t least = 1;
    bool used = false;
    if (w->plan->domain.rrank && !(w->plan->varies[indirect] & cg__r_mask(w)))
        ind__known_bounds(cg__r_numel(w), &least, NULL);
    for (uint32_t i = indirect + 1; i < w->body->num_inst && least < 1; i++) {
        if (!cg__uses_index(w, i, indirect)) continue;
        if (!(w->plan->varies[i] & cg__r_mask(w)) && cg__inst(w, i)->op != IND_LOOP_REDUCE) return false;
        used = true;
    }
    return used;
}

static bool cg__is_access(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_LOAD || cg__inst(w, i)->op == IND_LOOP_STORE;
}

/* True if access i moves by exactly one element whenever variable v moves by one. */
static bool cg__contiguous(const ind__writer *w, uint32_t i, int v) {
    int64_t one;
    return cg__is_access(w, i) && ind_expr_is_int(ind_expr_stride(cg__index_of(w, i), w->plan->domain.var[v]), &one) &&
           one == 1;
}

/* True if it does so at least within runs, as in heads of 64 columns, whose offset is found by division. */
static bool cg__in_runs(const ind__writer *w, uint32_t i, int v) {
    return cg__is_access(w, i) &&
           ind__ok(ind__run_base(cg__index_of(w, i), w->plan->domain.var[v], w->target->thresholds.run));
}

/* Bytes per point of the accesses that vary with some variable in `among` (0: of all). Those contiguous along v, or, if
   `scattered`, the others that change along v. Stores count twice, as scattered writes cost more. */
static int cg__bytes_along(const ind__writer *w, int v, uint32_t among, bool scattered) {
    int sum = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_access(w, i) || (among && !(w->plan->varies[i] & among)) || cg__in_runs(w, i, v) == scattered)
            continue;
        if (scattered && !(w->plan->varies[i] >> v & 1)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        sum += cg__inst(w, i)->op == IND_LOOP_STORE ? 2 * bytes : bytes;
    }
    return sum;
}

/* Share of the domain's points for which access i moves an element: points along a variable that it does not depend on
   share one element, as all columns share an index of a row. */
static double cg__share(const ind__writer *w, uint32_t i) {
    double share = 1;
    ind_expr index = cg__index_of(w, i);
    if (ind__expr_has_kind(index, IND_SYMBOL_INDIRECT)) return share;
    for (int v = 0; v < w->plan->domain.rank; v++) {
        const double extent = (double)ind_hint(w->plan->domain.extent[v]);
        if (extent > 1 && !ind__expr_depends(index, w->plan->domain.var[v])) share /= extent;
    }
    return share;
}

/* The P variable along which most bytes are contiguous (the innermost of equals); -1: none. */
static int cg__best_p(const ind__writer *w, uint32_t among) {
    int best = -1, most = 0;
    for (int v = w->plan->domain.rank - 1; v >= 0; v--) {
        int bytes = cg__bytes_along(w, v, among, false);
        if (bytes <= most) continue;
        most = bytes;
        best = v;
    }
    return best;
}
