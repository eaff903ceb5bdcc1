/* Records for the explanation of the schedule: the kernel of each loop, the first and last kernel of each buffer. */
static bool sched__record_uses(sched__fuser *f) {
    ind_schedule *s = f->schedule;
    uint32_t loops = f->program->num_loops, buffers = f->program->num_buffers;
    s->kernel_of = sched__schedule_alloc(f, NULL, loops, sizeof(uint32_t));
    s->first_use = sched__schedule_alloc(f, NULL, buffers, sizeof(uint32_t));
    s->last_use = sched__schedule_alloc(f, NULL, buffers, sizeof(uint32_t));
    if (f->failed) return false;
    for (uint32_t b = 0; b < buffers; b++) s->first_use[b] = s->last_use[b] = IND__SCHED_NONE;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        const ind_kernel *kernel = &s->kernel[k];
        for (uint32_t i = 0; i < kernel->num_loops; i++) s->kernel_of[kernel->loop[i]] = k;
        for (uint32_t i = 0; i < kernel->num_args; i++) {
            uint32_t b = kernel->arg[i];
            if (s->first_use[b] == IND__SCHED_NONE) s->first_use[b] = k;
            s->last_use[b] = k;
        }
    }
    return true;
}

/* A proof that is refused memory returns "not proven". The plan is then correct but not the best; that is a failure
   too. */
static ind_status sched__run(sched__fuser *f) {
    const uint32_t refusals = ind__refusals(f->context);
    bool ok = sched__collect_accesses(f) && sched__collect_readers(f) && sched__fuse(f) && sched__explain(f) &&
              sched__choose_order(f) && sched__make_kernels(f) && sched__mark_few_rows(f) &&
              sched__find_unfused_peak(f) && sched__plan_memory(f) && sched__combine(f) && sched__record_uses(f) &&
              sched__make_few_rows(f);
    return ok ? ind__refused_since(f->context, refusals) : ind__failed(f->context);
}

void ind__schedule_free(ind_schedule *s) {
    if (!s) return;
    ind_context *c = s->context;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        const ind_kernel *both = s->kernel[k].with_next;
        if (s->kernel[k].body) ind__body_free(s->kernel[k].body);
        if (both && both->body) ind__body_free(both->body);
    }
    ind__free(c, s->edge);
    ind__arena_free(&s->arena);
    ind__free(c, s);
}

static ind_status sched__create(const sched__fuser *f, ind_schedule **out) {
    ind_context *c = f->context;
    ind_schedule *s = *out = ind__alloc(c, sizeof *s);
    if (!s) return IND_ERROR_OUT_OF_MEMORY;
    *s = (ind_schedule){
        .context = c, .program = f->program, .arena = {.context = c}, .fusion_limit = f->policy.max_fusions};
    sched__fuser *run = ind__alloc(c, sizeof *run);
    ind_status status = run ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    if (run) {
        *run = *f;
        run->schedule = s, run->scratch = (ind__arena){.context = c};
        status = sched__run(run);
        ind__arena_free(&run->scratch);
    }
    ind__free(c, run);
    if (!status) return IND_OK;
    ind__schedule_free(s);
    *out = NULL;
    return status;
}
