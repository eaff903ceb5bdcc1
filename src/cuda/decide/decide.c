/* Chooses which values stay in registers, or which loads pass through a tile, once the strategy is chosen. */
static void cg__choose_resident_loads(cg__decider *d) {
    const ind__variant *v = d->variant;
    if (v->strategy == IND_STRATEGY_TRANSPOSE) cg__choose_tile_loads(d, d->plan->domain.rank - 1, d->plan->tile_y);
    if (d->w.kernel->kind != IND_KERNEL_REDUCTION) return;
    memset(d->plan->resident, 0, d->w.body->num_inst);
    if (cg__splits_rows(&d->w)) return;
    if (cg__in_registers(&d->w) && (v->strategy != IND_STRATEGY_ROW_STAGED || ind__row_of(v)->stage.in_registers))
        cg__choose_resident(d);
}

static void cg__choose_strategy(cg__decider *d) {
    switch (d->w.kernel->kind) {
    case IND_KERNEL_REDUCTION: cg__choose_reduction(d); break;
    case IND_KERNEL_SCAN: cg__choose_scan(d); break;
    case IND_KERNEL_SORT: cg__choose_sort(d); break;
    default: cg__choose_pointwise(d); break;
    }
}

/* Decides how the kernel is computed: fills the body plan and all of the variant except its text. */
static ind_status cg__decide(cg__decider *d) {
    if (d->w.kernel->kind == IND_KERNEL_MATMUL) {
        cg__analyse(d);
        cg__choose_index_bits(d);
        return cg__choose_matmul(d, d->variant);
    }
    if (!ind__loops_drop_ones(&d->plan->domain)) cg__fail(&d->w);
    cg__split_vars(d);
    if (d->w.failed) return ind__failed(d->w.context);
    cg__choose_strategy(d);
    if (!d->plan->part) cg__retune(d);
    if (d->w.failed) return ind__failed(d->w.context);
    cg__choose_resident_loads(d);
    if (d->w.kernel->kind == IND_KERNEL_POINTWISE) d->plan->mask = cg__only_mask(&d->w, d->plan->domain.rank - 1);
    cg__choose_evictions(d);
    return d->w.failed ? ind__failed(d->w.context) : IND_OK;
}
