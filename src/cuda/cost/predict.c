/* ------------------------------------------------------------------------------------------------- >>predict */

/* Whole nanoseconds for an amount at a rate. */
static ind_expr cg__duration(ind_context *c, ind_expr amount, int64_t rate) {
    return ind_expr_ceildiv(amount, ind_int(c, rate > 0 ? rate : 1));
}

/* Time to read and write at the rate of copies. If the sum in bytes may exceed 64 bits, each is rounded up
   separately. */
static ind_expr cg__moved_duration(ind_context *c, const ind_kernel *k, int64_t rate) {
    int64_t lo, read, written;
    ind__known_bounds(k->bytes_read, &lo, &read);
    ind__known_bounds(k->bytes_written, &lo, &written);
    if (read <= INT64_MAX / 4 && written <= INT64_MAX / 4)
        return cg__duration(c, ind_expr_add(k->bytes_read, k->bytes_written), rate);
    return ind_expr_add(cg__duration(c, k->bytes_read, rate), cg__duration(c, k->bytes_written, rate));
}

/* True if the kernel multiplies operands of 8 bits in memory. */
static bool cg__multiplies_bytes(const ind_plan *p, const ind_kernel *k) {
    if (k->kind != IND_KERNEL_MATMUL) return false;
    for (int i = 0; i < 2; i++) {
        const ind__inst *x = &k->body->inst[k->body->inst[k->matmul.dot].arg[i]];
        while (x->op == IND_LOOP_CAST) x = &k->body->inst[x->arg[0]];
        if (x->op != IND_LOOP_LOAD || ind_dtype_bytes(p->schedule->program->buffer[x->source].dtype) != 1) return false;
    }
    return true;
}

/* Lower bound of a kernel's time, which a good kernel approaches: each byte is moved once, and memory traffic and
   arithmetic overlap. Transcendental functions and f64 count as f32 operations. */
static void cg__predict_work(const ind_plan *p, const ind_kernel_plan *kp, ind_expr *moving, ind_expr *computing) {
    const ind_target *t = &p->target;
    const int64_t copy = (int64_t)t->memory_bytes_per_ns * t->thresholds.copy_percent / 100;
    const ind__variant *first = kp->part ? kp->part : kp->num_variants ? kp->variant : NULL;
    const bool tensor = first && ind__strategy_has(first->strategy, IND__HAS_TENSOR_CORES);
    *moving = ind_expr_add(*moving, cg__moved_duration(p->context, kp->kernel, copy));
    int64_t rate = tensor ? t->tensor_flops_per_ns : t->f32_flops_per_ns;
    if (tensor && cg__multiplies_bytes(p, kp->kernel)) rate *= t->thresholds.byte_speed;
    *computing = ind_expr_add(*computing, cg__duration(p->context, kp->kernel->flops, rate));
}

/* Predicts the time of a whole launch; its parts have no separate time. */
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
