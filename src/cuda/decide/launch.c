/* ---- what every strategy decides: the reason, the width of indices, the grid ---- */

/* The sentence of a plan that says why; lives as long as the plan. */
IND__PRINTF(2, 3) static void cg__why(cg__decider *d, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const char *s = cg__format(&d->w, format, list);
    va_end(list);
    d->variant->why = ind__arena_string(d->w.arena, s, strlen(s));
    if (!d->variant->why) cg__fail(&d->w);
}

/* e and all it is made of fit into 32 bits: proven, or, where it may be assumed, under a condition on the sizes. */
static bool cg__expr_fits(cg__decider *d, ind_expr e, int depth) {
    if (!ind__ok(e) || depth > IND__CG_MAX_DEPTH) return false;
    if (!cg__fits(e, IND__CG_INT32_MAX)) {
        if (!d->assume || !cg__monotone(e, 0)) return false;
        ind_expr upper = cg__upper(&d->w, e), limit = ind_int(d->w.context, IND__CG_INT32_MAX);
        return ind_hint(upper) <= IND__CG_INT32_MAX && cg__guard(d->variant, ind_expr_le(upper, limit));
    }
    if (ind__expr_is_size(e)) return true; /* passed as one argument */
    for (int i = 0; i < ind_expr_num_args(e); i++)
        if (!cg__expr_fits(d, ind_expr_arg(e, i), depth + 1)) return false;
    return true;
}

static bool cg__extent_fits(cg__decider *d, int from, int n) {
    ind_expr points = ind_expr_product(d->w.context, d->plan->domain.extent + from, n);
    return cg__expr_fits(d, ind_expr_add(points, ind_int(d->w.context, IND__CG_SLACK)), 0);
}

/* 32-bit indices where every offset and extent is proven, or where that may be assumed guarded, to fit. */
static void cg__choose_index_bits(cg__decider *d) {
    ind_expr keep = d->variant->guard;
    bool fits = !d->force_wide && cg__extent_fits(d, 0, d->plan->domain.rank) &&
                cg__extent_fits(d, d->plan->domain.rank, d->plan->domain.rrank);
    for (uint32_t i = 1; i < d->w.body->num_inst && fits; i++) {
        const ind__inst *inst = cg__inst(&d->w, i);
        for (uint32_t k = inst->index; k < inst->index + cg__num_index(inst) && fits; k++)
            fits = cg__expr_fits(d, d->plan->domain.index[k], 0);
    }
    if (!fits) d->variant->guard = keep;
    d->plan->wide = !fits;
    d->variant->index_bits = fits ? 32 : 64;
}

static void cg__grid(cg__decider *d, ind_expr points, int64_t per_block) {
    d->variant->grid[0] = ind_expr_ceildiv(points, ind_int(d->w.context, per_block));
    d->variant->grid[1] = d->variant->grid[2] = ind_int(d->w.context, 1);
    d->variant->memory.shared = ind_int(d->w.context, 0);
}

static void cg__set_axes(cg__decider *d, const ind_expr blocks[3]) {
    ind_expr *grid = d->variant->grid;
    grid[0] = blocks[0];
    for (int k = 1; k < 3; k++) {
        bool own = cg__own_axis(blocks[k]);
        grid[k] = own ? blocks[k] : ind_int(d->w.context, 1);
        if (!own) grid[0] = ind_expr_mul(grid[0], blocks[k]);
    }
}
