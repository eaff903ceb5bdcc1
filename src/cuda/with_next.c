/* ------------------------------------------------------------------------------------------------ >>with-next */

/* Variants of a norm's kernel that also compute the product in the next one, for launches of few rows: see few_rows.c
   of the schedule. They precede the other variants. */

/* Adds the guard on the rows to a variant and its fallbacks. False: it never holds. */
static bool cg__guard_with_next(const ind_kernel_plan *kp, ind__variant *v) {
    const ind_expr rows = kp->kernel->numel;
    for (; v; v = v->fallback)
        if (!cg__guard(v, ind_expr_le(rows, ind_int(rows.context, kp->kernel->few_rows)))) return false;
    return true;
}

/* True if the kernel and the next one are launches of their own. */
static bool cg__runs_apart(const ind_plan *p, uint32_t k) {
    for (uint32_t i = k; i < k + 2; i++)
        if (p->kernel[i].first != i || p->kernel[i].num_parts != 1 || !p->kernel[i].num_variants) return false;
    return true;
}

/* A checked index is reported by its position in the body of the kernel that the launch is of. */
static bool cg__checks_indices(const ind__variant *v) {
    for (uint32_t i = 0; i < v->num_args; i++)
        if (v->arg[i].kind == IND__ARG_ERROR) return true;
    return false;
}

/* Inserts the variants before those of the kernel. */
static ind_status cg__prepend_variants(ind_plan *p, ind_kernel_plan *kp, const ind__variant *v, int num) {
    ind__variant list[IND_MAX_VARIANTS];
    if (!num || num + kp->num_variants > IND_MAX_VARIANTS) return IND_OK;
    memcpy(list, v, (size_t)num * sizeof *v);
    memcpy(list + num, kp->variant, (size_t)kp->num_variants * sizeof *v);
    return cg__store_variants(p, kp, list, num + kp->num_variants) ? IND_OK : ind__failed(p->context);
}

/* Number of the first variants that also compute the next kernel. */
static int cg__num_with_next(const ind_kernel_plan *kp) {
    int num = 0;
    while (num < kp->num_variants && kp->variant[num].assume & IND__WITH_NEXT) num++;
    return num;
}

/* Copies the variants of an equal pair of kernels, as layers have, with their buffers exchanged. *found: there is one.
 */
static ind_status cg__copy_with_next(ind_plan *p, uint32_t k, bool *found) {
    const ind_kernel *both = p->kernel[k].kernel->with_next;
    ind__variant list[IND_MAX_VARIANTS];
    for (uint32_t i = 0; i < k && !*found; i++) {
        const ind_kernel *other = p->kernel[i].kernel->with_next;
        const int num = cg__num_with_next(&p->kernel[i]);
        if (!num || p->kernel[i].kernel->few_rows != p->kernel[k].kernel->few_rows || !cg__same_kernel(p, other, both))
            continue;
        if (!cg__same_followers(p, i + 1, k + 1)) continue;
        *found = true;
        memcpy(list, p->kernel[i].variant, (size_t)num * sizeof *list);
        for (int v = 0; v < num; v++)
            if (!cg__exchange_buffers(p, other, both, 1, &list[v])) return ind__failed(p->context);
        return cg__prepend_variants(p, &p->kernel[k], list, num);
    }
    return IND_OK;
}

/* Adds variants to kernel k that also compute the next kernel. */
static ind_status cg__plan_with_next(ind_plan *p, uint32_t k) {
    ind_kernel_plan *kp = &p->kernel[k];
    cg__variants x = {.plan = p, .kernel = kp->kernel->with_next, .few_rows = kp->kernel->few_rows};
    bool copied = false;
    if (!x.kernel || !cg__runs_apart(p, k)) return IND_OK;
    ind_status status = cg__copy_with_next(p, k, &copied);
    if (status || copied) return status;
    const int all = IND__ASSUME_ALIGNED | IND__ASSUME_DIVISIBLE | IND__ASSUME_LENGTH | IND__WITH_NEXT;
    status = cg__plan_few_rows(&x, all);
    for (int v = 0; v < x.num && !status; v++)
        if (cg__checks_indices(&x.variant[v]) || !cg__guard_with_next(kp, &x.variant[v])) x.num = 0;
    return status ? status : cg__prepend_variants(p, kp, x.variant, x.num);
}
