/* ------------------------------------------------------------------------------------------------- >>predict */

/* Whole nanoseconds that an amount takes at a rate. */
static ind_expr cg__duration(ind_context *c, ind_expr amount, int64_t rate) {
    return ind_expr_ceildiv(amount, ind_int(c, rate > 0 ? rate : 1));
}

/* What it takes to read and write at the rate of copies. Where the sum in bytes might leave 64 bits, each is rounded up
   by itself. */
static ind_expr cg__moved_duration(ind_context *c, const ind_kernel *k, int64_t rate) {
    int64_t lo, read, written;
    ind__known_bounds(k->bytes_read, &lo, &read);
    ind__known_bounds(k->bytes_written, &lo, &written);
    if (read <= INT64_MAX / 4 && written <= INT64_MAX / 4)
        return cg__duration(c, ind_expr_add(k->bytes_read, k->bytes_written), rate);
    return ind_expr_add(cg__duration(c, k->bytes_read, rate), cg__duration(c, k->bytes_written, rate));
}

/* A lower bound that a kernel without flaws comes close to: it moves each byte once, and what it computes is hidden
   behind that or hides it. Transcendental functions and f64 count as f32 operations. */
static void cg__predict_work(const ind_plan *p, const ind_kernel_plan *kp, ind_expr *moving, ind_expr *computing) {
    const ind_target *t = &p->target;
    const int64_t copy = (int64_t)t->memory_bytes_per_ns * t->thresholds.copy_percent / 100;
    const ind__variant *first = kp->part ? kp->part : kp->num_variants ? kp->variant : NULL;
    const bool tensor = first && ind__strategy_has(first->strategy, IND__HAS_TENSOR_CORES);
    *moving = ind_expr_add(*moving, cg__moved_duration(p->context, kp->kernel, copy));
    *computing = ind_expr_add(
        *computing, cg__duration(p->context, kp->kernel->flops, tensor ? t->tensor_flops_per_ns : t->f32_flops_per_ns));
}

/* Of a whole launch; its parts have no time of their own. */
static ind_status cg__predict(ind_plan *p, uint32_t kernel) {
    ind_context *c = p->context;
    ind_kernel_plan *kp = &p->kernel[kernel];
    ind_expr longest[3] = {ind_int(c, p->target.launch_ns), ind_int(c, 0), ind_int(c, 0)};
    kp->time_ns = longest[1];
    if (kp->first != kernel) return IND_OK;
    for (uint32_t k = kernel, more = kp->num_parts; more > 0; k++) {
        if (p->kernel[k].first != kernel) continue;
        cg__predict_work(p, &p->kernel[k], &longest[1], &longest[2]);
        more--;
    }
    kp->time_ns = ind_expr_max_of(c, longest, 3);
    return ind__ok(kp->time_ns) ? IND_OK : ind__failed(c);
}

static ind_status cg__predict_all(ind_plan *p) {
    ind_context *c = p->context;
    ind_expr *term = (ind_expr *)ind__alloc(c, ((size_t)p->num_kernels + 1) * sizeof *term);
    if (!term || p->num_kernels > INT32_MAX) return ind__free(c, term), ind__failed(c);
    for (uint32_t i = 0; i < p->num_kernels; i++) term[i] = p->kernel[i].time_ns;
    p->time_ns = ind_expr_sum(c, term, (int)p->num_kernels);
    ind__free(c, term);
    return ind__ok(p->time_ns) ? IND_OK : ind__failed(c);
}
