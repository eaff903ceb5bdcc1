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

/* Bytes of an element in memory of the operands that the kernel multiplies; 2 if they are computed or differ. */
static int cg__multiplied_bytes(const ind_plan *p, const ind_kernel *k) {
    int bytes[2];
    if (k->kind != IND_KERNEL_MATMUL) return 2;
    for (int i = 0; i < 2; i++) {
        const ind__inst *x = &k->body->inst[k->body->inst[k->matmul.dot].arg[i]];
        while (x->op == IND_LOOP_CAST) x = &k->body->inst[x->arg[0]];
        if (x->op != IND_LOOP_LOAD) return 2;
        bytes[i] = ind_dtype_bytes(p->schedule->program->buffer[x->source].dtype);
    }
    return bytes[0] == bytes[1] ? bytes[0] : 2;
}

/* Operations of tensor cores per nanosecond. */
static int64_t cg__tensor_rate(const ind_plan *p, const ind_kernel *k) {
    const ind_target *t = &p->target;
    const int bytes = cg__multiplied_bytes(p, k);
    if (bytes == 1) return (int64_t)t->tensor_flops_per_ns * t->thresholds.byte_speed;
    return bytes == 4 ? (int64_t)t->tensor_flops_per_ns * t->thresholds.tf32_percent / 100 : t->tensor_flops_per_ns;
}

/* Lower bound of a kernel's time, which a good kernel approaches: each byte is moved once, and memory traffic and
   arithmetic overlap. Transcendental functions and f64 count as f32 operations. */
static void cg__predict_work(const ind_plan *p, const ind_kernel_plan *kp, ind_expr *moving, ind_expr *computing) {
    const ind_target *t = &p->target;
    const int64_t copy = (int64_t)t->memory_bytes_per_ns * t->thresholds.copy_percent / 100;
    int own = 0; /* variants of this kernel alone follow */
    while (own < kp->num_variants && ind__num_taken(&kp->variant[own])) own++;
    const ind__variant *first = kp->part ? kp->part : kp->num_variants > own ? &kp->variant[own] : NULL;
    const bool tensor = first && ind__strategy_has(first->strategy, IND__HAS_TENSOR_CORES);
    *moving = ind_expr_add(*moving, cg__moved_duration(p->context, kp->kernel, copy));
    const int64_t rate = tensor ? cg__tensor_rate(p, kp->kernel) : t->f32_flops_per_ns;
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
