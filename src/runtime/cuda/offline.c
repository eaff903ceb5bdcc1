/* ---- all kernels of a module without a device, for a kernel pack */

/* Sources to compile: each entry once. */
typedef struct rt__sources {
    ind__kernel_entry **entry;
    const ind__variant **variant;
    uint32_t num;
} rt__sources;

static ind_status rt__add_source(ind_module *m, rt__sources *s, const ind__variant *v, const char *arch) {
    ind__kernel_entry *e = rt__cuda_entry(m->context, m->executable->runtime, v, arch);
    if (!e) return IND_ERROR_OUT_OF_MEMORY;
    e->only_tried = false;
    for (uint32_t i = 0; i < s->num; i++)
        if (s->entry[i] == e) return IND_OK;
    s->entry[s->num] = e;
    s->variant[s->num++] = v;
    return IND_OK;
}

/* True if a device may replace the compiled variant by its fallback: it spills, or the clusters may not fit. */
static bool rt__may_be_replaced(const ind_module *m, const ind__variant *v, const char *arch) {
    return ind__cluster_of(v) > 1 || rt__cuda_spills(m, v, arch) > 0;
}

/* Compiles the variants of all kernels, then the fallbacks of those that may be replaced, until there are none. */
static ind_status rt__compile_offline(ind_module *m, rt__sources *s, const ind__variant **chain, uint32_t num) {
    char arch[16];
    ind__target_name(&m->desc.plan->target, arch);
    for (bool more = true; more;) {
        ind_status status = IND_OK;
        more = false;
        s->num = 0;
        for (uint32_t i = 0; i < num && !status; i++)
            if (chain[i]) status = rt__add_source(m, s, chain[i], arch);
        if (!status && s->num) status = rt__cuda_compile(m, s->entry, s->variant, s->num, "for a pack");
        if (status) return status;
        for (uint32_t i = 0; i < num; i++) {
            if (chain[i]) chain[i] = rt__may_be_replaced(m, chain[i], arch) ? chain[i]->fallback : NULL;
            more |= chain[i] != NULL;
        }
    }
    return IND_OK;
}

ind_status ind__build_cubins(ind_module *m) {
    ind_context *c = m->context;
    const ind_plan *p = m->desc.plan;
    rt__runtime *r = m->executable->runtime;
    const size_t most = (size_t)p->num_kernels * IND_MAX_VARIANTS;
    rt__sources s = {.entry = (ind__kernel_entry **)ind__alloc(c, most * sizeof *s.entry),
                     .variant = (const ind__variant **)ind__alloc(c, most * sizeof *s.variant)};
    const ind__variant **chain = (const ind__variant **)ind__alloc(c, most * sizeof *chain);
    ind_status status = s.entry && s.variant && chain ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    uint32_t num = 0;
    for (uint32_t i = 0; i < p->num_kernels && !status; i++)
        for (int k = 0; k < p->kernel[i].num_variants; k++) chain[num++] = &p->kernel[i].variant[k];
    if (!status) {
        rt__mutex_lock(&r->mutex);
        status = rt__pack_read(c, r);
        if (!status) status = rt__add_target(c, r, &p->target, false);
        if (!status) status = rt__compile_offline(m, &s, chain, num);
        rt__mutex_unlock(&r->mutex);
    }
    ind__free(c, chain);
    ind__free(c, s.entry);
    ind__free(c, s.variant);
    return status;
}

ind_status ind__replace_spilling(ind_module *m) {
    ind_context *c = m->context;
    rt__runtime *r = m->executable->runtime;
    const size_t most = (size_t)m->desc.plan->num_kernels * IND_MAX_VARIANTS;
    ind__kernel_entry **entry = (ind__kernel_entry **)ind__alloc(c, most * sizeof *entry);
    const ind__variant **variant = (const ind__variant **)ind__alloc(c, most * sizeof *variant);
    ind_status status = entry && variant ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    m->desc.all_variants = true;
    if (!status) {
        rt__mutex_lock(&r->mutex);
        status = rt__cuda_replace_spilling(m, entry, variant);
        rt__mutex_unlock(&r->mutex);
    }
    ind__free(c, entry);
    ind__free(c, variant);
    return status;
}
