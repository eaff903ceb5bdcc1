/* Returns the mask of all stores, if they share one that holds for whole vectors. 0: they do not, or an index is
   checked where it is used. */
static uint32_t cg__only_mask(const ind__writer *w, int last) {
    uint32_t mask = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *x = cg__inst(w, i);
        if (x->op == IND_LOOP_INDIRECT && !(x->flags & IND__INST_CHECKED)) return 0;
        if (x->op != IND_LOOP_STORE) continue;
        if (!x->arg[1] || (mask && mask != x->arg[1])) return 0;
        mask = x->arg[1];
    }
    return w->variant->vector > 1 && cg__varies_along(w, mask, last) && !w->plan->uniform[mask] ? 0 : mask;
}

static bool cg__stores_seldom(const ind__writer *w) {
    bool seldom = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) seldom |= (cg__inst(w, i)->flags & IND__INST_SELDOM) != 0;
    return seldom;
}

/* Replaces POINTWISE, with the same vectors, if a mask that is the same for a whole row seldom holds. */
static void cg__choose_masked(cg__decider *d) {
    ind__variant *v = d->variant;
    const int last = d->plan->domain.rank - 1;
    if (last < 1 || d->plan->part || v->misaligned || !cg__stores_seldom(&d->w)) return;
    const uint32_t mask = cg__only_mask(&d->w, last);
    if (!mask || d->plan->varies[mask] >> last & 1) return;
    v->strategy = IND_STRATEGY_MASKED;
    v->rows = IND__CG_MASKED_ROWS;
    v->per_thread = v->vector;
    ind_expr groups = ind_expr_ceildiv(cg__masked_rows(&d->w), ind_int(d->w.context, IND__CG_MASKED_ROWS));
    cg__grid(d, ind_expr_mul(groups, cg__masked_segments(&d->w)), v->threads / 32);
    cg__why(d, "%s; a warp tests the mask of %d rows at once", v->why, v->rows);
}
