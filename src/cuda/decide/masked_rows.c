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
