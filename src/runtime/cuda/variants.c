/* Adds the slots of a tensor map. */
static ind_status rt__cuda_prepare_map(ind_module *m, const ind__tensor_map *plan, uint32_t *at) {
    ind__executable *x = m->executable;
    rt__exec_map *map =
        IND__PUSH(m->context, rt__exec_map, x->launches.map, x->launches.num_maps, x->launches.cap_maps);
    if (!map) return IND_ERROR_OUT_OF_MEMORY;
    *at = x->launches.num_maps - 1;
    *map = (rt__exec_map){.plan = plan};
    ind_status status = rt__exec_slot(x, plan->offset, &map->offset);
    for (int d = 0; d < plan->rank && !status; d++) {
        status = rt__exec_slot(x, plan->size[d], &map->size[d]);
        if (!status) status = rt__exec_slot(x, plan->stride[d], &map->stride[d]);
    }
    return status;
}

static ind_status rt__cuda_prepare_args(ind_module *m, const ind__variant *v, rt__exec_variant *out) {
    ind__executable *x = m->executable;
    const ind__lowered *program = m->desc.plan->schedule->program;
    out->first_arg = x->launches.num_args;
    out->num_args = v->num_args;
    for (uint32_t i = 0; i < v->num_args; i++) {
        rt__exec_arg *a =
            IND__PUSH(m->context, rt__exec_arg, x->launches.arg, x->launches.num_args, x->launches.cap_args);
        if (!a) return IND_ERROR_OUT_OF_MEMORY;
        a->kind = v->arg[i].kind;
        a->buffer = v->arg[i].buffer;
        a->wide = v->index_bits == 64 || v->arg[i].reciprocal || v->arg[i].wide;
        a->part = v->arg[i].part;
        a->offset = v->arg[i].offset;
        if (a->kind == IND__ARG_BUFFER && a->buffer >= x->memory.num_buffers)
            return ind__fail(m->context, IND_ERROR_VERIFY, "kernel %s takes buffer %u of %u", v->source.entry,
                             a->buffer, x->memory.num_buffers);
        if (a->kind == IND__ARG_BUFFER) out->reads_constants |= program->buffer[a->buffer].kind == IND__BUFFER_CONST;
        if (a->kind == IND__ARG_BUFFER && i < 32 && ind__tile_of(v)->early >> i & 1)
            out->reads_early |= program->buffer[a->buffer].kind != IND__BUFFER_CONST;
        if (a->kind == IND__ARG_ERROR) x->launches.checked = true;
        if (a->kind == IND__ARG_LOOKBACK) x->launches.looks_back = true;
        if (a->kind != IND__ARG_SIZE && a->kind != IND__ARG_LOOKBACK && a->kind != IND__ARG_TENSOR_MAP) continue;
        uint32_t slot;
        ind_status status = a->kind == IND__ARG_TENSOR_MAP ? rt__cuda_prepare_map(m, v->arg[i].map, &slot)
                                                           : rt__exec_slot(x, v->arg[i].size, &slot);
        if (status) return status;
        x->launches.arg[x->launches.num_args - 1].slot = slot;
    }
    return IND_OK;
}

/* Clusters that loop over rows. */
static bool rt__has_row_clusters(const ind__variant *v) {
    return ind__row_of(v)->stage.persistent && ind__row_of(v)->cluster > 1;
}

/* Sets the grid of clusters that loop over rows or tiles to at most the clusters that the device runs at once. */
static void rt__set_resident_grid(ind__variant *v, int resident) {
    ind_context *c = v->grid[0].context;
    if (ind__tile_of(v)->pair_m) v->grid[0] = ind_expr_min(v->grid[0], ind_int(c, resident * ind__cluster_of(v)));
    if (!rt__has_row_clusters(v)) return;
    v->of.row.stage.resident = resident;
    v->grid[0] = ind__staged_grid(v);
}

/* Counts the clusters of the variant that the device can run at once. */
static ind_status rt__cuda_count_clusters(ind_module *m, const ind__variant *v, int64_t most_shared, void *function,
                                          int *clusters) {
    const rt__runtime *r = m->executable->runtime;
    rt__cuda_launch_attribute size = {.id = IND__CUDA_LAUNCH_CLUSTER_DIMENSION,
                                      .value.cluster = {(unsigned)ind__cluster_of(v), 1, 1}};
    rt__cuda_launch_config launch = {.grid = {(unsigned)(ind__cluster_of(v) * m->desc.plan->target.num_sms), 1, 1},
                                     .block = {(unsigned)v->threads, 1, 1},
                                     .shared = (unsigned)most_shared,
                                     .attribute = &size,
                                     .num_attributes = 1};
    ind_status status = IND_OK;
    if (ind__cluster_of(v) > 8)
        status = IND__CUDA_CALL(m->context, r, cuFuncSetAttribute, (function, IND__CUDA_FUNCTION_LARGE_CLUSTERS, 1));
    if (!status) status = rt__cuda_set_shared(m, v, most_shared, function);
    if (!status) status = IND__CUDA_CALL(m->context, r, cuOccupancyMaxActiveClusters, (clusters, function, &launch));
    return status;
}

static ind_status rt__cuda_cluster_does_not_fit(ind_module *m, const ind__variant *v) {
    return ind__fail(m->context, IND_ERROR_NOT_SUPPORTED,
                     "cuda: kernel %s: the device cannot run a cluster of %d blocks", v->source.entry,
                     ind__cluster_of(v));
}

/* Finds the number of clusters that the device can run at once. Of a persistent grid, any further cluster would start
   only after others have finished all their rows or tiles. */
static ind_status rt__cuda_set_resident(ind_module *m, rt__exec_variant *x, void *function) {
    ind_status status = rt__cuda_count_clusters(m, x->plan, x->most_shared, function, &x->resident);
    return !status && x->resident < 1 ? rt__cuda_cluster_does_not_fit(m, x->plan) : status;
}

/* Prepares the launch data of the variant, except its function; does not query the device. */
static ind_status rt__cuda_prepare_variant(ind_module *m, const ind__variant *v, rt__exec_variant *out) {
    ind__executable *x = m->executable;
    ind_context *c = m->context;
    int64_t always;
    if (v->memory.num_counters > x->launches.num_counters) x->launches.num_counters = v->memory.num_counters;
    if (v->memory.partial_bytes > (int64_t)x->launches.partial_bytes)
        x->launches.partial_bytes = (size_t)v->memory.partial_bytes;
    out->plan = v;
    out->aligned = v->guard_aligned;
    out->dependent = v->dependent;
    out->num_taken = ind__num_taken(v);
    out->threads = (unsigned)v->threads;
    out->guard_slot = out->fitted_slot = out->items_slot = IND__RT_NONE;
    ind_status status = rt__cuda_prepare_args(m, v, out);
    bool guarded = ind__ok(v->guard) && !(ind_expr_is_int(v->guard, &always) && always);
    if (!status && guarded) status = rt__exec_slot(x, v->guard, &out->guard_slot);
    for (int d = 0; d < 3 && !status; d++)
        status = rt__exec_slot(x, ind__ok(v->grid[d]) ? v->grid[d] : ind_int(c, 1), &out->grid_slot[d]);
    if (!status && ind__ok(ind__row_of(v)->fitted))
        status = rt__exec_slot(x, ind__row_of(v)->fitted, &out->fitted_slot);
    if (!status && rt__has_row_clusters(v)) status = rt__exec_slot(x, ind__row_of(v)->stage.items, &out->items_slot);
    if (!status)
        status = rt__exec_slot(x, ind__ok(v->memory.shared) ? v->memory.shared : ind_int(c, 0), &out->shared_slot);
    if (!status) out->most_shared = rt__most_shared(v);
    return status;
}

/* Prepares all fallbacks of an unbuilt variant too: the build decides which one is used. */
static ind_status rt__cuda_prepare_alternatives(ind_module *m, const ind__variant *v, rt__exec_variant *out) {
    ind_status status = rt__cuda_prepare_variant(m, v, out);
    while (!status && (v = v->fallback) != NULL) {
        out->fallback = (rt__exec_variant *)ind__arena_alloc(&m->arena, sizeof *out->fallback);
        out = out->fallback;
        status = out ? rt__cuda_prepare_variant(m, v, out) : IND_ERROR_OUT_OF_MEMORY;
    }
    return status;
}

/* Sets the function and publishes the variant: launches may run it from here on. */
static ind_status rt__cuda_take_function(ind_module *m, rt__exec_variant *first, rt__exec_variant *x, void *function) {
    ind_status status = ind__cluster_of(x->plan) > 1 ? rt__cuda_set_resident(m, x, function)
                                                     : rt__cuda_set_shared(m, x->plan, x->most_shared, function);
    if (status) return status;
    x->function = function;
    atomic_store_explicit(&first->built, x, memory_order_release);
    return IND_OK;
}

/* True if the variant is built with the module. The others are built by the first launch that needs them. */
static bool rt__builds_now(const ind_module *m, const ind_kernel_plan *k, int variant) {
    return m->desc.all_variants || (variant == ind__plan_likely(k) && !k->taken);
}

/* Collects the distinct sources to build now; of[i] is the index of the i-th variant's entry. */
static ind_status rt__cuda_gather(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant, uint32_t *of,
                                  uint32_t *num) {
    const ind_plan *p = m->desc.plan;
    char arch[16];
    ind__target_name(&p->target, arch);
    uint32_t at = 0;
    *num = 0;
    m->desc.stats.num_distinct = 0;
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        for (int k = 0; k < p->kernel[i].num_variants; k++) {
            const ind__variant *v = &p->kernel[i].variant[k];
            uint32_t n = 0;
            of[at] = IND__RT_NONE;
            if (!rt__builds_now(m, &p->kernel[i], k)) {
                at++;
                continue;
            }
            while (n < *num && variant[n]->source.text != v->source.text) n++; /* identical kernels share a source */
            if (n < *num) {
                of[at++] = n;
                continue;
            }
            ind__kernel_entry *e = rt__cuda_entry(m->context, m->executable->runtime, v, arch);
            if (!e) return IND_ERROR_OUT_OF_MEMORY;
            for (n = 0; n < *num && entry[n] != e;) n++;
            of[at++] = n;
            if (n < *num) continue;
            e->only_tried = false;
            entry[n] = e;
            variant[n] = v;
            ++*num;
            m->desc.stats.num_distinct += k == ind__plan_likely(&p->kernel[i]);
        }
    }
    return IND_OK;
}

static int rt__local_bytes(const ind__kernel_entry *e) {
    int registers = -1, local = -1;
    if (e && e->cubin) ind__cubin_resources(e->cubin, e->bytes, &registers, &local);
    return local;
}

/* Bytes of local memory of the variant's build if it has a fallback, else 0. */
static int rt__cuda_spills(const ind_module *m, const ind__variant *v, const char *arch) {
    uint64_t key[2];
    if (!v->fallback) return 0;
    rt__pack_key(v->source.text, v->source.bytes, arch, key);
    int local = rt__local_bytes(rt__pack_find(m->executable->runtime, key));
    return local > 0 ? local : 0;
}

/* True if the fallback has no cluster, but the variant has one. It reads rows again from the L2 in each pass, which is
   slower than a few spilled bytes: it is only for devices on which the cluster does not fit (softmax of 131072 bf16
   with 8 spilled bytes: 141 us in a cluster, 222 us looped, H200). */
static bool rt__leaves_cluster(const ind__variant *v, const ind__variant *fallback) {
    return ind__cluster_of(v) > 1 && ind__cluster_of(fallback) < 2;
}

/* Replaces the variant by its built fallback. If the fallback needs as much local memory, removes it instead. The first
   removed fallback without clusters stays in `alone`, in case the device has no capacity for a cluster. */
static void rt__cuda_take_fallback(ind_module *m, ind__variant *v, const char *arch) {
    ind__variant *fallback = v->fallback, *alone = v->alone;
    int local = rt__cuda_spills(m, v, arch), less;
    uint64_t key[2];
    if (!local) return;
    rt__pack_key(fallback->source.text, fallback->source.bytes, arch, key);
    less = rt__local_bytes(rt__pack_find(m->executable->runtime, key));
    ind__log(m->context, 3, IND_LOG_VARIANT, "%s: needs %d bytes of local memory, its fallback %d", v->source.entry,
             local, less);
    if (less < local && !rt__leaves_cluster(v, fallback)) {
        *v = *fallback;
        v->replaced.local_bytes = local;
    } else {
        v->fallback = fallback->fallback;
        if (!alone && ind__cluster_of(fallback) < 2) alone = fallback;
    }
    v->alone = alone;
}

/* Replaces variants whose build spills by fallbacks, repeatedly. Fallbacks of all variants are built in parallel. The
   arrays have capacity for every variant. */
static ind_status rt__cuda_replace_spilling(ind_module *m, ind__kernel_entry **entry, const ind__variant **variant) {
    ind_plan *p = m->desc.plan;
    char arch[16];
    ind__target_name(&p->target, arch);
    for (;;) {
        uint32_t num = 0;
        for (uint32_t i = 0; i < p->num_kernels; i++) {
            for (int k = 0; k < p->kernel[i].num_variants; k++) {
                if (!rt__builds_now(m, &p->kernel[i], k) || !rt__cuda_spills(m, &p->kernel[i].variant[k], arch))
                    continue;
                const ind__variant *fallback = variant[num] = p->kernel[i].variant[k].fallback;
                entry[num] = rt__cuda_entry(m->context, m->executable->runtime, fallback, arch);
                if (!entry[num]) return IND_ERROR_OUT_OF_MEMORY;
                uint32_t n = 0;
                while (entry[n] != entry[num]) n++;
                num += n == num;
            }
        }
        ind_status status =
            num ? rt__cuda_compile(m, entry, variant, num, "the fallback of a variant that spills") : IND_OK;
        if (status || !num) return status;
        for (uint32_t i = 0; i < p->num_kernels; i++)
            for (int k = 0; k < p->kernel[i].num_variants; k++)
                if (rt__builds_now(m, &p->kernel[i], k)) rt__cuda_take_fallback(m, &p->kernel[i].variant[k], arch);
    }
}
