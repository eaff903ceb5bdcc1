/* ---- variants built on demand by a launch */

/* Why a variant is built after the module, for the log. */
#define IND__RT_WHY_LAUNCH "a launch is the first to need this variant"
#define IND__RT_WHY_AHEAD  "a variant that no launch has needed yet"

/* Compiles one variant or fallback if needed, and loads it. late: for a launch; *local: bytes of local memory of its
   build. */
static ind_status rt__cuda_build_alternative(ind_module *m, const rt__exec_variant *x, bool late, void **function,
                                             int *local) {
    const ind__variant *v = x->plan;
    char arch[16];
    ind__target_name(&m->desc.plan->target, arch);
    ind__kernel_entry *e = rt__cuda_entry(m->context, m->executable->runtime, v, arch);
    if (!e) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = rt__cuda_compile(m, &e, &v, 1, late ? IND__RT_WHY_LAUNCH : IND__RT_WHY_AHEAD);
    ind__lists_lock(m->context);
    m->desc.stats.num_late += late;
    ind__lists_unlock(m->context);
    e->only_tried = false;
    if (!status) status = rt__cuda_load_or_compile(m, e, v);
    *function = e->function;
    *local = rt__local_bytes(e);
    return status;
}

/* Selects the fallback with the least local memory, stopping at the first that needs none, as
   rt__cuda_replace_spilling does. Skips variants whose clusters do not fit on the device; if one fits, those without
   clusters. */
static ind_status rt__cuda_build_alternatives(ind_module *m, rt__exec_variant *first, bool late) {
    rt__exec_variant *best = NULL;
    void *function = NULL, *best_function = NULL;
    int local, least = 1;
    ind_status status = IND_OK;
    for (rt__exec_variant *x = first; x && !status && least > 0; x = x->fallback) {
        int clusters = 1;
        if (best && rt__leaves_cluster(best->plan, x->plan)) break;
        status = rt__cuda_build_alternative(m, x, late, &function, &local);
        if (!status && ind__cluster_of(x->plan) > 1)
            status = rt__cuda_count_clusters(m, x->plan, x->most_shared, function, &clusters);
        if (status || !clusters || (best && local >= least)) continue;
        best = x;
        best_function = function;
        least = local;
    }
    if (!status && !best) return rt__cuda_cluster_does_not_fit(m, first->plan);
    return status ? status : rt__cuda_take_function(m, first, best, best_function);
}

/* Adds to the message that the launch needs a variant the module was not built with. */
static ind_status rt__cuda_late_failed(ind_context *c, const ind__variant *v, ind_status status) {
    char reason[2048];
    snprintf(reason, sizeof reason, "%.2000s", ind_error(c));
    return ind__fail(c, status,
                     "kernel %s: this launch is the first to need its variant \"%s\", which cannot be built: %s; with "
                     "ind_compile_desc.all_variants it is built with the module",
                     v->source.entry, ind__strategy_text(v->strategy), reason);
}

/* Builds a variant if it is not built; concurrent threads that need it wait. The calling thread may capture a stream.
   Loading a kernel is then allowed only in relaxed capture mode; nothing here waits for a stream. */
static ind_status rt__cuda_build(ind_module *m, rt__exec_variant *first, bool late) {
    rt__runtime *r = m->executable->runtime;
    int mode = IND__CUDA_CAPTURE_RELAXED;
    rt__mutex_lock(&r->mutex);
    if (rt__built(first)) {
        rt__mutex_unlock(&r->mutex);
        return IND_OK;
    }
    const double start = ind__now_ms();
    ind_status status = IND__CUDA_CALL(m->context, r, cuThreadExchangeStreamCaptureMode, (&mode));
    if (!status) {
        status = rt__cuda_build_alternatives(m, first, late);
        (void)r->driver.cuThreadExchangeStreamCaptureMode(&mode);
    }
    ind__lists_lock(m->context);
    if (late) m->desc.stats.late_ms += ind__now_ms() - start;
    ind__lists_unlock(m->context);
    ind__log(m->context, status ? 2 : 3, IND_LOG_VARIANT, "%s: %s (%s)", first->plan->source.entry,
             status ? "cannot be built" : "built", late ? IND__RT_WHY_LAUNCH : IND__RT_WHY_AHEAD);
    if (status && status != IND_ERROR_OUT_OF_MEMORY && late)
        status = rt__cuda_late_failed(m->context, first->plan, status);
    rt__mutex_unlock(&r->mutex);
    return status;
}

/* The entries without a cubin of the variants that the launch needs, from step `at` on. Returns their number. */
static uint32_t rt__cuda_gather_late(const ind_instance *n, uint32_t at, ind__kernel_entry **entry,
                                     const ind__variant **variant) {
    ind_module *m = n->module;
    struct rt__exec_launches *x = &m->executable->launches;
    uint32_t num = 0, taken = at;
    char arch[16];
    ind__target_name(&m->desc.plan->target, arch);
    for (uint32_t i = at; i < x->num_steps; i++) {
        rt__exec_step *s = &x->step[i];
        const int k = i < taken ? s->num_variants : rt__fitting_variant(n, s);
        if (k == s->num_variants) continue;
        taken = i + 1 + s->variant[k].num_taken;
        if (rt__built(&s->variant[k]) || rt__is_empty(n, &s->variant[k])) continue;
        ind__kernel_entry *e = rt__cuda_entry(m->context, m->executable->runtime, s->variant[k].plan, arch);
        uint32_t same = 0;
        while (same < num && entry[same] != e) same++;
        if (!e || e->cubin || same < num) continue;
        entry[num] = e;
        variant[num++] = s->variant[k].plan;
    }
    return num;
}

/* Compiles what the launch needs from step `at` on, on all workers, unless the first of it is compiled. What fails is
   compiled again when its variant is built, and reported then. */
static void rt__cuda_compile_late(const ind_instance *n, uint32_t at, const ind__variant *first) {
    ind_module *m = n->module;
    rt__runtime *r = m->executable->runtime;
    const uint32_t most = m->executable->launches.num_steps - at;
    char arch[16];
    ind__target_name(&m->desc.plan->target, arch);
    ind__kernel_entry **entry = (ind__kernel_entry **)ind__alloc(m->context, most * sizeof *entry);
    const ind__variant **variant = (const ind__variant **)ind__alloc(m->context, most * sizeof *variant);
    rt__mutex_lock(&r->mutex);
    const ind__kernel_entry *e = entry && variant ? rt__cuda_entry(m->context, r, first, arch) : NULL;
    if (e && !e->cubin) {
        uint32_t missing;
        const double start = ind__now_ms();
        const uint32_t num = rt__cuda_gather_late(n, at, entry, variant);
        if (num > 1) (void)rt__cuda_compile_missing(m, entry, variant, num, IND__RT_WHY_LAUNCH, &missing);
        for (uint32_t i = 0; i < num; i++) entry[i]->compiled_late = entry[i]->cubin != NULL;
        ind__lists_lock(m->context);
        m->desc.stats.late_ms += ind__now_ms() - start;
        ind__lists_unlock(m->context);
    }
    rt__mutex_unlock(&r->mutex);
    ind__free(m->context, entry);
    ind__free(m->context, variant);
}

/* Builds the variant of step `at` for a launch. */
static ind_status rt__cuda_build_late(const ind_instance *n, uint32_t at, rt__exec_variant *first) {
    rt__cuda_compile_late(n, at, first->plan);
    return rt__cuda_build(n->module, first, true);
}

/* True if the stream is being captured. last: the preceding node, if there is exactly one. */
static bool rt__cuda_captured(const rt__cuda_driver *d, void *stream, rt__recorded *last) {
    int status = 0;
    void *const *node = NULL;
    const rt__cuda_edge *edge = NULL;
    size_t num = 0;
    *last = (rt__recorded){0};
    if (!d->cuStreamGetCaptureInfo_v3 ||
        d->cuStreamGetCaptureInfo_v3(stream, &status, &last->capture, NULL, &node, &edge, &num) ||
        status != IND__CUDA_CAPTURE_ACTIVE)
        return false;
    if (num == 1 && !(edge && (edge->type || edge->from_port))) last->node = *node;
    return true;
}

static bool rt__cuda_is_ours(rt__runtime *r, const rt__recorded *last) {
    bool ours = false;
    rt__mutex_lock(&r->captures.mutex);
    for (int i = 0; i < IND__RT_CAPTURES; i++)
        ours |= last->node && last->capture == r->captures.recorded[i].capture &&
                last->node == r->captures.recorded[i].node;
    rt__mutex_unlock(&r->captures.mutex);
    return ours;
}

/* Records the last node of the stream's capture as a kernel of this library. */
static void rt__cuda_record(rt__runtime *r, void *stream) {
    rt__recorded last;
    uint32_t at = 0;
    if (!rt__cuda_captured(&r->driver, stream, &last)) return;
    rt__mutex_lock(&r->captures.mutex);
    while (at < IND__RT_CAPTURES && r->captures.recorded[at].capture != last.capture) at++;
    if (at == IND__RT_CAPTURES) at = r->captures.next++ % IND__RT_CAPTURES;
    r->captures.recorded[at] = last;
    rt__mutex_unlock(&r->captures.mutex);
}

static int rt__cuda_launch_kernel(const rt__cuda_driver *d, const rt__exec_variant *v, const unsigned *grid,
                                  void *stream, void **params, bool early) {
    if (!early || !v->dependent || !d->cuLaunchKernelEx || d->version < IND__CUDA_DEPENDENT_LAUNCH_DRIVER)
        return d->cuLaunchKernel(v->function, grid[0], grid[1], grid[2], grid[4], 1, 1, grid[3], stream, params, NULL);
    rt__cuda_launch_attribute begins = {.id = IND__CUDA_LAUNCH_PROGRAMMATIC_SERIALIZATION, .value.allowed = 1};
    const rt__cuda_launch_config config = {.grid = {grid[0], grid[1], grid[2]},
                                           .block = {grid[4], 1, 1},
                                           .shared = grid[3],
                                           .stream = stream,
                                           .attribute = &begins,
                                           .num_attributes = 1};
    return d->cuLaunchKernelEx(&config, v->function, params, NULL);
}

/* True if all constants that kernels read are the module's own copies, which no other launch writes. */
static bool rt__owns_constants(const ind_instance *n) {
    const ind_module *m = n->module;
    for (uint32_t i = 0; i < m->num_bindings; i++) {
        const bool copy = m->constant_block[i] && n->bindings.pointer[i] == m->constant[i];
        const bool own = i < m->num_public ? copy || m->binding[i].prepare_only : !n->prepared.own;
        if (m->binding[i].kind == IND_BINDING_CONST && !own) return false;
    }
    return true;
}

/* Launches the steps. A kernel after foreign work on the stream, including an extern call, waits for all of that work:
   it may not have waited for its predecessors. Kernels of this library wait for theirs, or start after them. */
static ind_status rt__cuda_launch(ind_instance *n, uint32_t first, uint32_t count, void *stream) {
    ind__executable *x = n->module->executable;
    rt__runtime *r = x->runtime;
    rt__recorded last;
    const bool captured = rt__cuda_captured(&r->driver, stream, &last);
    bool after_kernel = false, after_module = captured && rt__cuda_is_ours(r, &last);
    for (uint32_t i = first; i < first + count; i++) {
        if (x->launches.step[i].call) {
            rt__trace_begin(n->module->context, x->launches.step[i].name);
            ind_status status = rt__run_call(n, &x->launches.step[i], stream);
            rt__trace_end(n->module->context);
            if (status) return status;
            after_kernel = after_module = false;
            continue;
        }
        if (n->launch.chosen[i] == IND__STEP_SKIPPED) continue;
        const rt__exec_variant *v = rt__built(&x->launches.step[i].variant[n->launch.chosen[i]]);
        const unsigned *g = &n->launch.grid[i * IND__RT_LAUNCH];
        const bool foreign = v->reads_early || (v->reads_constants && !rt__owns_constants(n));
        const bool early = after_kernel || (after_module && !foreign);
        rt__trace_begin(n->module->context, x->launches.step[i].name);
        int result = rt__cuda_launch_kernel(&r->driver, v, g, stream, &n->launch.param[v->first_arg], early);
        rt__trace_end(n->module->context);
        if (result) return rt__cuda_check(n->module->context, &r->driver, result, x->launches.step[i].name);
        after_kernel = true;
    }
    if (captured && after_kernel) rt__cuda_record(r, stream);
    return IND_OK;
}
