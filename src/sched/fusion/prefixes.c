/* ---- prefixes: topk is a sort of which only the first elements are used. Their users are computed for all elements,
   with a mask. */

/* True if the loop may ignore all but the first elements of a row. Its reductions need a neutral value. The first
   results of a scan do not depend on later elements. A checked index could be out of range for a missing element. */
static bool sched__may_use_prefix(const sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    if (body->call || ind__ok(f->vars.bound[l])) return false;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        bool reduces = in->op == IND_LOOP_REDUCE;
        if (reduces && (in->reduction == IND_REDUCE_DOT || in->reduction == IND_REDUCE_WELFORD)) return false;
        if (in->op == IND_LOOP_INDIRECT || in->op == IND_LOOP_STATE) return false;
        if (in->op == IND_LOOP_SCAN && ind__scan_sorts((ind_scan)in->reduction)) return false;
        if (in->op == IND_LOOP_STORE && (in->arg[1] || in->reduction || in->flags)) return false;
    }
    return true;
}

/* Fits b onto a; the rows of b are the first elements of a's. */
static bool sched__fit_prefix(sched__fuser *f, sched__fit *fit) {
    const sched__domain *a = fit->a, *b = fit->b;
    const sched__dim_order plain = sched__original_order();
    ind_expr size[IND__SCHED_DIMS];
    sched__parts p;
    int outer = b->rrank ? b->rank : b->rank - 1;
    if (a->rrank != 1 || b->rrank > 1 || outer < 0) return false;
    fit->bound = b->size[outer];
    if (!ind_known_le(fit->bound, a->size[a->rank])) return false;
    if (!sched__match(&p, a, plain.dim, a->rank, b, plain.dim, outer) || p.n > IND_MAX_RANK) return false;
    sched__arrange(&p, p.of_a);
    for (int i = 0; i < p.n; i++) size[p.at[i]] = p.size[i];
    size[p.n] = a->size[a->rank];
    fit->domain = sched__domain_of(f, size, p.n, 1);
    if (!fit->domain) return false;
    if (!sched__map_parts(fit->domain, 0, &p, p.of_a, fit->map_a, 0, a->rank) ||
        !sched__map_parts(fit->domain, 0, &p, p.of_b, fit->map_b, 0, outer))
        return sched__fail(f);
    fit->map_a[a->rank] = fit->map_b[outer] = fit->domain->var[p.n];
    fit->elementwise = !b->rrank;
    return true;
}

/* sched__check_fit for a group on the first elements of the rows that a sorts. */
static ind_fusion_reason sched__check_prefix(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (f->policy.disable_prefixes || y->mutates || y->dot != IND__SCHED_NONE) return IND_FUSION_DOMAINS_DIFFER;
    for (uint32_t l = y->head; l != IND__SCHED_NONE; l = f->next_loop[l])
        if (!sched__may_use_prefix(f, l)) return IND_FUSION_DOMAINS_DIFFER;
    sched__fit *own = sched__scratch(f, 1, sizeof *own);
    if (!own) return IND_FUSION_DOMAINS_DIFFER;
    *own = (sched__fit){.a = x->domain, .b = y->domain};
    if (!sched__fit_prefix(f, own)) return IND_FUSION_DOMAINS_DIFFER;
    ind_fusion_reason reason = sched__check_fit(f, a, b, own);
    if (reason != IND_FUSION_FUSED_VERTICAL) return sched__fused(reason) ? IND_FUSION_DOMAINS_DIFFER : reason;
    *fit = own;
    return reason;
}

static bool sched__await_attentions(const sched__fuser *f, uint32_t a, uint32_t b);

/* Checks whether a and b (a before b in the topological order) may be one kernel. Returns a FUSED reason, or the reason
   against it. */
static ind_fusion_reason sched__can_fuse(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit) {
    *fit = sched__fit_of(f, f->group[a].domain, f->group[b].domain);
    if (!*fit) return IND_FUSION_DOMAINS_DIFFER;
    if (f->policy.disable) return IND_FUSION_DISABLED;
    if (f->group[a].reserved || f->group[b].reserved) return IND_FUSION_NO_GAIN;
    if (sched__memory_scarcity(f, a, b) == IND__SCHED_UNFUSED) return IND_FUSION_MEMORY;
    ind_fusion_reason kind = sched__check_fit(f, a, b, *fit), reason;
    bool other = kind == IND_FUSION_DOMAINS_DIFFER || kind == IND_FUSION_INDEX_DIFFERS || kind == IND_FUSION_NO_GAIN;
    if (other && !f->policy.disable_reorder) kind = sched__check_reordered(f, a, b, fit, kind);
    if (kind == IND_FUSION_DOMAINS_DIFFER && f->group[a].sorts) kind = sched__check_prefix(f, a, b, fit);
    if (!sched__fused(kind)) return kind;
    if (kind == IND_FUSION_FUSED_HORIZONTAL && sched__await_attentions(f, a, b)) return IND_FUSION_NO_GAIN;
    if (sched__too_large(f, a, b)) return IND_FUSION_TOO_LARGE;
    if (!sched__fused(reason = sched__check_cycle(f, a, b))) return reason;
    bool product = f->group[a].dot != IND__SCHED_NONE || f->group[b].dot != IND__SCHED_NONE;
    return product && kind == IND_FUSION_FUSED_VERTICAL ? IND_FUSION_FUSED_EPILOGUE : kind;
}
