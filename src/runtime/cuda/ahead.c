/* ---- variants built before a launch needs them, while other threads launch and compile */

/* Compiles the source of a variant, if no module has. Only the results are moved under the lock. */
static ind_status rt__cuda_compile_ahead(ind_module *m, const ind__variant *v) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    char arch[16], option[64];
    ind__target_name(&m->desc.plan->target, arch);
    rt__mutex_lock(&r->mutex);
    ind__kernel_entry *e = rt__cuda_entry(c, r, v, arch);
    const bool compiled = e && e->cubin;
    ind_status status = !e ? IND_ERROR_OUT_OF_MEMORY : compiled ? IND_OK : rt__cuda_open_nvrtc(c, r);
    rt__mutex_unlock(&r->mutex);
    if (status || compiled) return status;
    rt__cuda_job job = rt__cuda_job_of(m, v, option);
    rt__cuda_job_run(&job, 0, 0);
    rt__mutex_lock(&r->mutex);
    if (e->cubin)
        rt__cuda_job_free(&job); /* another thread was faster */
    else
        status = rt__cuda_collect(c, &job, &e, 1, IND__RT_WHY_AHEAD);
    rt__mutex_unlock(&r->mutex);
    return status;
}

/* Builds the missing variants of a step until the module is destroyed. Returns the first failure. */
static ind_status rt__cuda_build_step(ind_module *m, rt__exec_step *s) {
    ind_status first = IND_OK;
    for (int k = 0; k < s->num_variants; k++) {
        rt__exec_variant *x = &s->variant[k];
        if (atomic_load_explicit(&m->executable->ahead.stop, memory_order_relaxed)) break;
        if (rt__built(x)) continue;
        ind_status status = rt__cuda_compile_ahead(m, x->plan);
        if (!status) status = rt__cuda_build(m, x, false);
        if (!first) first = status;
    }
    return first;
}

ind_status ind_module_build_variants(ind_module *m) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (m->desc.device != IND_DEVICE_CUDA) return IND_OK;
    struct rt__exec_launches *x = &m->executable->launches;
    ind_status first = rt__module_enter(m);
    if (first) return first;
    for (uint32_t i = 0; i < x->num_steps; i++) {
        const ind_status status = rt__cuda_build_step(m, &x->step[i]);
        if (!first) first = status;
    }
    rt__module_leave(m);
    return first;
}

/* ---- the thread that does this after ind_compile has returned */

static IND__RT_THREAD_CALL rt__build_ahead(void *arg) {
    ind_module *m = (ind_module *)arg;
    if (ind_module_build_variants(m))
        ind__log(m->context, 2, IND_LOG_VARIANT, "graph %s: a variant cannot be built: %s", m->desc.name,
                 ind_error(m->context));
    return IND__RT_THREAD_END;
}

/* Without a thread, launches build what they need. */
void ind__module_start_ahead(ind_module *m) {
    struct rt__exec_ahead *a = &m->executable->ahead;
    if (m->desc.device != IND_DEVICE_CUDA || m->executable->runtime->pool.wanted < 1) return;
    a->started = rt__thread_start(&a->thread, rt__build_ahead, m);
}

static void rt__end_ahead(ind_module *m) {
    struct rt__exec_ahead *a = &m->executable->ahead;
    if (!a->started) return;
    atomic_store_explicit(&a->stop, 1, memory_order_relaxed);
    rt__thread_join(a->thread);
    a->started = false;
}
