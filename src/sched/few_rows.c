/* ---- normalised rows whose number is known only at launch

   A norm and the product that reads it are two kernels, as many rows are normalised once, not by each block of the
   product. The norm's plan also has variants that run both as one kernel: with a guard on the number of rows. Such a
   launch stores no normalised row, and the next kernel has no launch. One compile serves a decoder's step and its
   prompt. The memory plan holds for both: what the norm reads lives until the product has run. */

/* Marks kernels whose rows the next kernel computes in launches of few rows. Before the memory plan. */
static bool sched__mark_few_rows(sched__fuser *f) {
    const bool prologues = !f->policy.disable && !f->policy.disable_prologue;
    for (uint32_t k = 0; k + 1 < f->order.num && prologues && !f->failed; k++) {
        const uint32_t a = f->order.group[k], b = f->order.group[k + 1];
        const sched__fit *fit;
        if (sched__normalises_rows(&f->group[a])) f->schedule->kernel[k].few_rows = sched__few_rows(f, a, b, &fit);
    }
    return !f->failed;
}

static bool sched__reads_result(const ind_kernel *k, const ind_kernel *reader) {
    for (uint32_t i = k->num_reads; i < k->num_args; i++)
        for (uint32_t r = 0; r < reader->num_reads; r++)
            if (reader->arg[r] == k->arg[i]) return true;
    return false;
}

/* True if kernel k is marked, and its only reader is still the next kernel. Both are launches of one kernel. */
static bool sched__may_run_next(const ind_schedule *s, uint32_t k) {
    if (!s->kernel[k].few_rows || k + 1 >= s->num_kernels || !sched__reads_result(&s->kernel[k], &s->kernel[k + 1]))
        return false;
    return sched__launch_first(s, k) == k && sched__launch_last(s, k) == k && sched__launch_last(s, k + 1) == k + 1;
}

/* True if the kernel writes where the memory of buffer b is, or where the caller may bind it. */
static bool sched__overwrites(const ind_schedule *s, const ind_kernel *k, uint32_t b) {
    for (uint32_t i = k->num_reads; i < k->num_args; i++)
        if (k->arg[i] == b || s->storage[k->arg[i]] == s->storage[b] || s->takes_over[k->arg[i]] == b) return true;
    return false;
}

/* True if kernel k + 1 writes in place where kernel k reads: then blocks of one kernel would read what others write. */
static bool sched__next_overwrites(const ind_schedule *s, uint32_t k) {
    for (uint32_t i = 0; i < s->kernel[k].num_reads; i++)
        if (sched__overwrites(s, &s->kernel[k + 1], s->kernel[k].arg[i])) return true;
    return false;
}

/* Makes one kernel of kernels k and k + 1. Their groups are one from here on: nothing else needs them any more. */
static bool sched__make_with_next(sched__fuser *f, uint32_t k) {
    ind_kernel *kernel = &f->schedule->kernel[k];
    const uint32_t a = f->group_of[kernel->loop[0]], b = f->group_of[kernel[1].loop[0]];
    const sched__fit *fit;
    if (!sched__few_rows(f, a, b, &fit)) return !f->failed;
    f->visits.num_after = f->visits.num_before = 0;
    if (!sched__fuse_pair(f, a, b, fit, 0)) return false;
    kernel->with_next = sched__schedule_alloc(f, NULL, 1, sizeof *kernel->with_next);
    return kernel->with_next && sched__make_kernel(f, kernel->with_next, a);
}

/* Corrects the reasons of edges whose kernels are not run by one launch after all. */
static void sched__correct_few_rows(ind_schedule *s) {
    for (uint32_t e = 0; e < s->num_edges; e++)
        if (s->edge[e].reason == IND_FUSION_PROLOGUE_FEW_ROWS && !s->kernel[s->kernel_of[s->edge[e].from]].with_next)
            s->edge[e].reason = IND_FUSION_PROLOGUE_ROWS;
}

/* Makes the kernels for launches of few rows. After everything else. */
static bool sched__make_few_rows(sched__fuser *f) {
    ind_schedule *s = f->schedule;
    for (uint32_t k = 0; k < s->num_kernels && !f->failed; k++) {
        if (sched__may_run_next(s, k) && !sched__next_overwrites(s, k)) sched__make_with_next(f, k);
        if (!s->kernel[k].with_next) s->kernel[k].few_rows = 0;
    }
    sched__correct_few_rows(s);
    return !f->failed;
}
