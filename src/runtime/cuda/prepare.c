static ind_status rt__cuda_prepare_step(ind_module *m, uint32_t i, ind__kernel_entry **entry, const uint32_t *of) {
    ind_kernel_plan *k = &m->desc.plan->kernel[i];
    rt__exec_step *s = &m->executable->launches.step[i];
    ind_status status = IND_OK;
    s->variant = (rt__exec_variant *)ind__arena_alloc(&m->arena, (size_t)(k->num_variants + 1) * sizeof *s->variant);
    if (!s->variant) return IND_ERROR_OUT_OF_MEMORY;
    s->num_variants = k->num_variants;
    for (int j = 0; j < k->num_variants && !status; j++) {
        ind__variant *v = &k->variant[j];
        rt__exec_variant *x = &s->variant[j];
        if (of[j] == IND__RT_NONE) {
            status = rt__cuda_prepare_alternatives(m, v, x);
            continue;
        }
        status = rt__cuda_prepare_variant(m, v, x);
        if (!status) status = rt__cuda_take_function(m, x, x, entry[of[j]]->function);
        if (!status && ind__cluster_of(v) > 1) rt__set_resident_grid(v, x->resident);
    }
    return status;
}

static ind_status rt__cuda_prepare_steps(ind_module *m, ind__kernel_entry **entry, const uint32_t *of) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < m->desc.plan->num_kernels && !status; i++) {
        status = rt__cuda_prepare_step(m, i, entry, of);
        of += m->desc.plan->kernel[i].num_variants;
    }
    return status;
}

/* Returns the tuning result of the variant or of one of its fallbacks. */
static const rt__tuned *rt__tuned_for(const rt__runtime *r, const ind__variant *v, const char *arch) {
    const rt__tuned *t = NULL;
    for (; v && !t; v = v->fallback) {
        uint64_t key[2];
        rt__pack_key(v->source.text, v->source.bytes, arch, key);
        t = rt__find_tuned(r, key);
    }
    return t;
}

/* Plans kernels again that have a tuning result. */
static ind_status rt__apply_tuned(ind_module *m) {
    ind_plan *p = m->desc.plan;
    const rt__runtime *r = m->executable->runtime;
    char arch[16];
    ind__target_name(&p->target, arch);
    for (uint32_t i = 0; i < p->num_kernels && r->compiled.num_tuned; i++) {
        for (int k = 0; k < p->kernel[i].num_variants; k++) {
            ind__variant *v = &p->kernel[i].variant[k], tuned;
            const rt__tuned *t = rt__tuned_for(r, v, arch);
            if (!t || p->kernel[i].num_parts != 1) continue;
            ind_status status = ind__plan_tuned(p, i, k, t->choice, &tuned);
            if (status) return status;
            if (ind__is_tuned(&tuned)) *v = tuned;
        }
    }
    return r->compiled.num_tuned && ind__verifying(m->context) ? ind__plan_verify(p) : IND_OK;
}

/* Reports and resets the time spent opening the device and NVRTC. NVRTC is also opened if the pack lacks a kernel. */
static void rt__report_opening(rt__runtime *r, ind_module_stats *stats) {
    stats->device_ms = r->gpu.device_ms;
    stats->library_ms = r->gpu.library_ms;
    r->gpu.device_ms = r->gpu.library_ms = 0;
}

static ind_status rt__cuda_load_all(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant,
                                    uint32_t num) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < num && !status; i++) status = rt__cuda_load_or_compile(m, entry[i], variant[i]);
    return status;
}

/* Replaces a variant whose clusters do not fit on the device by its first fallback without clusters. On a slice of a
   device, a GPC may have fewer SMs than a cluster has blocks. */
static ind_status rt__cuda_drop_cluster(ind_module *m, ind__variant *v, void *function, bool *left) {
    const ind__variant *fallback = v;
    int clusters = 0;
    if (ind__cluster_of(v) < 2) return IND_OK;
    ind_status status = rt__cuda_count_clusters(m, v, rt__most_shared(v), function, &clusters);
    if (status || clusters > 0) return status;
    while (fallback && ind__cluster_of(fallback) > 1) fallback = fallback->fallback;
    const bool last = !fallback;
    if (last) fallback = v->alone;
    if (!fallback) return rt__cuda_cluster_does_not_fit(m, v);
    ind__log(m->context, 2, IND_LOG_VARIANT, "%s: the device cannot run a cluster of %d blocks, so %s", v->source.entry,
             ind__cluster_of(v), ind__strategy_text(fallback->strategy));
    const int blocks = ind__cluster_of(v);
    *v = *fallback;
    if (last) v->fallback = NULL; /* the fallbacks have been tried */
    v->replaced.cluster = blocks;
    *left = true;
    return IND_OK;
}

/* Does so for all variants. *left: true if some variant was replaced. */
static ind_status rt__cuda_drop_clusters(ind_module *m, ind__kernel_entry **entry, const uint32_t *of, bool *left) {
    ind_plan *p = m->desc.plan;
    uint32_t at = 0;
    ind_status status = IND_OK;
    *left = false;
    for (uint32_t i = 0; i < p->num_kernels; i++)
        for (int k = 0; k < p->kernel[i].num_variants && !status; k++, at++)
            if (of[at] != IND__RT_NONE)
                status = rt__cuda_drop_cluster(m, &p->kernel[i].variant[k], entry[of[at]]->function, left);
    return status;
}

/* Compiles and loads the replacements as above. If one spills, its fallback may again have a cluster: repeats until no
   variant is replaced. */
static ind_status rt__cuda_replace_clusters(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant,
                                            uint32_t *of) {
    for (;;) {
        bool left;
        uint32_t num = 0;
        ind_status status = rt__cuda_drop_clusters(m, entry, of, &left);
        if (status || !left) return status;
        status = rt__cuda_gather(m, entry, variant, of, &num);
        if (!status)
            status = rt__cuda_compile(m, entry, variant, num, "the device cannot run the cluster of another variant");
        if (!status) status = rt__cuda_replace_spilling(m, entry, variant);
        if (!status) status = rt__cuda_gather(m, entry, variant, of, &num);
        if (!status) status = rt__cuda_load_all(m, entry, variant, num);
        if (status) return status;
    }
}

static ind_status rt__cuda_prepare_locked(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant,
                                          uint32_t *of) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    uint32_t num = 0;
    ind_status status = rt__cuda_open_device(c, r);
    if (status) return status;
    double start = ind__now_ms();
    const double library_ms = r->gpu.library_ms;
    status = rt__pack_read(c, r);
    if (!status) status = rt__add_target(c, r, &m->desc.plan->target, false);
    if (!status) status = rt__apply_tuned(m);
    if (!status) status = rt__cuda_gather(m, entry, variant, of, &num);
    if (!status)
        status = rt__cuda_compile(m, entry, variant, num, "no pack and no earlier module of the context has it");
    if (!status) status = rt__cuda_replace_spilling(m, entry, variant);
    if (!status) status = rt__cuda_gather(m, entry, variant, of, &num);
    m->desc.stats.compile_ms = ind__now_ms() - start - (r->gpu.library_ms - library_ms);
    if (!status) status = rt__cuda_retained(c, r);
    rt__report_opening(r, &m->desc.stats);
    if (!status) status = rt__cuda_enter(c, r);
    if (status) return status;
    start = ind__now_ms();
    status = rt__cuda_load_all(m, entry, variant, num);
    if (!status) status = rt__cuda_replace_clusters(m, entry, variant, of);
    if (!status) status = rt__cuda_prepare_steps(m, entry, of);
    m->desc.stats.load_ms = ind__now_ms() - start;
    rt__cuda_leave(r);
    return status;
}

/* Compiles and loads the variants that the hints select, or all variants if all_variants is set. */
static ind_status rt__cuda_prepare(ind_module *m) {
    ind_context *c = m->context;
    const ind_plan *p = m->desc.plan;
    if (!p || p->num_kernels != m->executable->launches.num_steps)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "a module for the cuda device needs the plan of its schedule");
    m->desc.stats.num_kernels = (int)p->num_launches;
    size_t most = (size_t)p->num_kernels * IND_MAX_VARIANTS;
    ind__kernel_entry **entry = (ind__kernel_entry **)ind__alloc(c, most * sizeof *entry);
    const ind__variant **variant = (const ind__variant **)ind__alloc(c, most * sizeof *variant);
    uint32_t *of = (uint32_t *)ind__alloc(c, most * sizeof *of);
    ind_status status = entry && variant && of ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    if (!status) {
        rt__mutex_lock(&m->executable->runtime->mutex);
        status = rt__cuda_prepare_locked(m, entry, variant, of);
        rt__mutex_unlock(&m->executable->runtime->mutex);
    }
    ind__free(c, entry);
    ind__free(c, variant);
    ind__free(c, of);
    return status;
}
