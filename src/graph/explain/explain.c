/* ----------------------------------------------------------------------------------------------- >>explain */

static const char *const ind__stage_names[IND_NUM_STAGES] = {
#define X(name, text) text,
    IND_STAGES(X)
#undef X
};

/* Creates the plan of a host module for the default target on first use. */
static ind_status ind__need_plan(ind_module *m) {
    ind_target target = {0};
    if (m->desc.plan) return IND_OK;
    ind__target_defaults(&target);
    ind_facts *before = ind_facts_enter(m->context, m->facts);
    ind_status status = ind__plan_create(m->context, m->desc.schedule, &target, &m->desc.plan);
    (void)ind_facts_enter(m->context, before);
    return status;
}

/* ---- compiled kernels */

/* Returns the nth distinct source of the plan; NULL past the last. */
static const ind__variant *ind__distinct_source(const ind_plan *plan, int index) {
    for (uint32_t i = 0; i < plan->num_kernels; i++) {
        for (int v = 0; v < plan->kernel[i].num_variants; v++) {
            const ind__variant *a = &plan->kernel[i].variant[v];
            bool seen = false;
            for (uint32_t j = 0; j <= i && !seen; j++) {
                int limit = j < i ? plan->kernel[j].num_variants : v;
                for (int w = 0; w < limit && !seen; w++) {
                    const ind__variant *b = &plan->kernel[j].variant[w];
                    seen =
                        a->source.bytes == b->source.bytes && !memcmp(a->source.text, b->source.text, a->source.bytes);
                }
            }
            if (!seen && index-- == 0) return a;
        }
    }
    return NULL;
}

static int ind__num_sources(const ind_plan *plan) {
    int num = 0;
    while (ind__distinct_source(plan, num)) num++;
    return num;
}

static ind_status ind__compile_variant(ind_module *m, const ind__variant *v, ind_cubin *cubin) {
    ind_status status = ind__module_cubin(m, v, &cubin->data, &cubin->bytes);
    if (!status) ind__cubin_resources(cubin->data, cubin->bytes, &cubin->registers, &cubin->local_bytes);
    return status;
}

ind_status ind_module_cubin(ind_module *module, int index, ind_cubin *cubin) {
    if (!module || !cubin) return IND_ERROR_INVALID_ARGUMENT;
    memset(cubin, 0, sizeof *cubin);
    const ind__query q = ind__query_begin(module);
    ind_status status = ind__query_end(&q, ind__need_plan(module));
    if (status) return status;
    const ind__variant *v = index >= 0 ? ind__distinct_source(module->desc.plan, index) : NULL;
    ind_module *prepare = v ? NULL : ind_module_prepare_module(module);
    if (prepare && index >= 0) return ind_module_cubin(prepare, index - ind__num_sources(module->desc.plan), cubin);
    if (!v) return ind__fail(module->context, IND_ERROR_NOT_FOUND, "cubin: there is no source %d", index);
    cubin->name = v->source.entry;
    status = ind__compile_variant(module, v, cubin);
    for (v = v->fallback; v && !status && cubin->local_bytes > 0; v = v->fallback) {
        ind_cubin fallback = {.name = cubin->name};
        status = ind__compile_variant(module, v, &fallback);
        bool better = !status && fallback.local_bytes < cubin->local_bytes;
        ind__free(module->context, better ? cubin->data : fallback.data);
        if (better) *cubin = fallback;
    }
    return status;
}

ind_status ind_module_build_cubins(ind_module *module) {
    if (!module) return IND_ERROR_INVALID_ARGUMENT;
    const ind__query q = ind__query_begin(module);
    ind_status status = ind__query_end(&q, ind__need_plan(module));
    if (!status) status = ind__build_cubins(module);
    ind_module *prepare = status ? NULL : ind_module_prepare_module(module);
    return prepare ? ind_module_build_cubins(prepare) : status;
}

void ind_cubin_free(ind_module *module, ind_cubin *cubin) {
    if (!module || !cubin) return;
    ind__free(module->context, cubin->data);
    memset(cubin, 0, sizeof *cubin);
}

static ind_status ind__print_ptx(ind__text *t, ind_module *m) {
    const ind__variant *v;
    for (int i = 0; (v = ind__distinct_source(m->desc.plan, i)) != NULL; i++) {
        void *ptx = NULL;
        size_t bytes = 0;
        ind_status status =
            ind__nvrtc_compile(m->context, v->source.text, v->source.entry, &m->desc.plan->target, true, &ptx, &bytes);
        if (status) return status;
        while (bytes > 0 && ((char *)ptx)[bytes - 1] == 0) bytes--;
        ind__text_raw(t, ptx, bytes);
        ind__free(m->context, ptx);
    }
    return IND_OK;
}

static ind_status ind__print_cubins(ind__text *t, ind_module *m) {
    char arch[16];
    ind__target_name(&m->desc.plan->target, arch);
    for (int i = 0; ind__distinct_source(m->desc.plan, i); i++) {
        ind_cubin cubin;
        ind_status status = ind_module_cubin(m, i, &cubin);
        if (status) return status;
        ind__textf(t, "%s  %s  %zu bytes  registers %d  local %d bytes\n", cubin.name, arch, cubin.bytes,
                   cubin.registers, cubin.local_bytes);
        ind_cubin_free(m, &cubin);
    }
    return IND_OK;
}

/* ---- sizes for which a module is valid */

/* "B in [1, 4096], S in [8, 512] multiple of 8" */
static void ind__print_ranges(ind__text *t, const ind_module *m) {
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        const ind_symbol *s = ind_module_query_size(m, (int)i);
        ind__textf(t, "%s%s in [%lld, %lld]", i ? ", " : "", s->name, (long long)s->lo, (long long)s->hi);
        if (s->multiple_of > 1) ind__textf(t, " multiple of %lld", (long long)s->multiple_of);
    }
}

/* Returns the number of conditions. */
static int ind__print_conditions(ind__text *t, const ind_module *m, bool guards, bool json) {
    int n = 0;
    bool guard;
    const char *text;
    for (int i = 0; (text = ind_module_query_condition(m, i, &guard)) != NULL; i++) {
        if (guard != guards) continue;
        if (n++) ind__textf(t, ", ");
        if (json) {
            ind__text_json(t, text);
        } else {
            ind__textf(t, "%s", text);
        }
    }
    return n;
}

static void ind__print_index_bits(ind__text *t, const ind_plan *plan) {
    uint32_t wide = 0;
    for (uint32_t i = 0; i < plan->num_kernels; i++) {
        bool any = false;
        for (int v = 0; v < plan->kernel[i].num_variants; v++) any |= plan->kernel[i].variant[v].index_bits > 32;
        wide += any;
    }
    if (wide == 0) {
        ind__textf(t, "; 32-bit indices");
    } else {
        ind__textf(t, "; 64-bit indices in %u of %u kernels", (unsigned)wide, (unsigned)plan->num_kernels);
    }
}

/* "facts: S == 4*T; module guards: none; kernels valid for B in [1, 4096]; 32-bit indices" */
static void ind__print_validity(ind__text *t, const ind_module *m, bool plan) {
    if (m->desc.num_sizes == 0) return;
    size_t before = t->size;
    ind__textf(t, "facts: ");
    if (ind__print_conditions(t, m, false, false)) {
        ind__textf(t, "; module guards: ");
    } else {
        t->size = before; /* without facts the line has no "facts" */
        ind__textf(t, "module guards: ");
    }
    if (!ind__print_conditions(t, m, true, false)) ind__textf(t, "none");
    ind__textf(t, "; kernels valid for ");
    ind__print_ranges(t, m);
    if (plan) ind__print_index_bits(t, m->desc.plan);
    ind__textf(t, "\n");
}

/* Adds the validity as further keys of the JSON object at the end of t. */
static void ind__add_json_validity(ind__text *t, const ind_module *m) {
    while (t->size && t->data[t->size - 1] != '}') t->size--;
    if (t->size) t->size--;
    ind__textf(t, ", \"sizes\": [");
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        const ind_symbol *s = ind_module_query_size(m, (int)i);
        ind__textf(t, "%s{\"name\": \"%s\", \"lo\": %lld, \"hi\": %lld, \"multiple_of\": %lld, \"hint\": %lld}",
                   i ? ", " : "", s->name, (long long)s->lo, (long long)s->hi, (long long)s->multiple_of,
                   (long long)s->hint);
    }
    ind__textf(t, "], \"facts\": [");
    ind__print_conditions(t, m, false, true);
    ind__textf(t, "], \"guards\": [");
    ind__print_conditions(t, m, true, true);
    ind__textf(t, "]}\n");
}
