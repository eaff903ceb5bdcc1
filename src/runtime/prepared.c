/* ---------------------------------------------------------------------------------------------- >>prepared */

/* The values that depend on constants alone are outputs of a module of their own, which runs once. The main module sees
   them as constants whose bindings follow those of the caller. */

#define RT__PREPARED_ALIGNMENT 256

static uint32_t rt__num_prepared(const ind_module *m) {
    return m->num_bindings - m->num_public;
}

/* Finds the constants of the prepare module among those of the main one, which are in the same order, and marks those
   that no kernel of the main module reads. */
static ind_status rt__prepared_constants(ind_module *m, const rt__prepared *p) {
    const ind_schedule *s = m->desc.schedule;
    uint32_t at = m->num_inputs;
    for (uint32_t k = 0; k < p->module->num_consts; k++, at++) {
        const char *name = p->module->binding[k].name;
        while (at < m->num_inputs + m->num_consts && strcmp(m->binding[at].name, name) != 0) at++;
        if (at == m->num_inputs + m->num_consts)
            return ind__fail(m->context, IND_ERROR_VERIFY, "graph \"%s\" has no constant \"%s\" to prepare from",
                             m->desc.name, name);
        p->constant[k] = at;
        m->binding[at].prepare_only = true;
    }
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        for (uint32_t a = 0; a < s->kernel[k].num_args; a++) {
            const uint32_t binding = m->executable->memory.buffer_binding[s->kernel[k].arg[a]];
            if (binding != IND__RT_NONE) m->binding[binding].prepare_only = false;
        }
    }
    return IND_OK;
}

/* Assigns each value an offset in the block. */
static ind_status rt__prepared_offsets(ind_module *m, rt__prepared *p) {
    ind_expr total = ind_int(m->context, 0);
    const ind_expr unit = ind_int(m->context, RT__PREPARED_ALIGNMENT);
    for (uint32_t v = 0; v < rt__num_prepared(m); v++) {
        const ind_binding_info *b = &m->binding[m->num_public + v];
        ind_expr bytes = ind_expr_mul(ind_expr_product(m->context, b->size, b->rank),
                                      ind_int(m->context, ind_dtype_bytes(b->dtype)));
        int64_t at;
        if (!ind_expr_is_int(total, &at) || at < 0 || (uint64_t)at > SIZE_MAX / 2)
            return ind__fail(m->context, IND_ERROR_OVERFLOW, "prepared constants: the size of \"%s\" is no number",
                             b->name);
        p->offset[v] = (size_t)at;
        total = ind_expr_add(total, ind_expr_mul(ind_expr_ceildiv(bytes, unit), unit));
    }
    int64_t all;
    if (!ind_expr_is_int(total, &all) || all < 0 || (uint64_t)all > SIZE_MAX / 2)
        return ind__fail(m->context, IND_ERROR_OVERFLOW, "prepared constants: too many bytes");
    p->bytes = (size_t)all;
    p->formula = total;
    return IND_OK;
}

static ind_status rt__prepared_init(ind_module *m) {
    rt__prepared *p = m->prepared = (rt__prepared *)ind__arena_alloc(&m->arena, sizeof *p);
    if (!p) return IND_ERROR_OUT_OF_MEMORY;
    p->module = m->desc.prepare;
    p->constant = (uint32_t *)ind__arena_alloc(&m->arena, (p->module->num_consts + (size_t)1) * sizeof *p->constant);
    p->released = (bool *)ind__arena_alloc(&m->arena, (p->module->num_consts + (size_t)1) * sizeof *p->released);
    p->offset = (size_t *)ind__arena_alloc(&m->arena, (rt__num_prepared(m) + (size_t)1) * sizeof *p->offset);
    if (!p->constant || !p->released || !p->offset) return IND_ERROR_OUT_OF_MEMORY;
    atomic_init(&p->wanted, 1);
    atomic_init(&p->done, 0);
    p->has_mutex = rt__mutex_init(&p->mutex);
    if (!p->has_mutex) return ind__fail(m->context, IND_ERROR_OUT_OF_MEMORY, "the system has no resources for a mutex");
    m->desc.stats.num_prepared = (int)rt__num_prepared(m);
    m->desc.stats.num_prepare_kernels = p->module->desc.stats.num_kernels;
    ind_status status = rt__prepared_constants(m, p);
    return status ? status : rt__prepared_offsets(m, p);
}

/* Frees the values. The prepare module belongs to the module's desc. */
static void rt__prepared_free(ind_module *m) {
    rt__prepared *p = m->prepared;
    if (!p) return;
    if (p->block && !rt__module_enter(m)) {
        rt__device_free(m, p->block);
        rt__module_leave(m);
    }
    if (p->has_mutex) rt__mutex_destroy(&p->mutex);
}

static bool rt__prepared_valid(const rt__prepared *p) {
    return atomic_load_explicit(&p->done, memory_order_acquire) ==
           atomic_load_explicit(&p->wanted, memory_order_relaxed);
}

/* Notes that a constant was set. */
static void rt__prepared_changed(ind_module *m, uint32_t binding) {
    rt__prepared *p = m->prepared;
    for (uint32_t k = 0; p && k < p->module->num_consts; k++) {
        if (p->constant[k] != binding) continue;
        p->released[k] = false;
        atomic_fetch_add_explicit(&p->wanted, 1, memory_order_relaxed);
    }
}

/* Checks that the constants of the prepare module have memory. */
static ind_status rt__prepared_check(const ind_module *m, void *const *constant) {
    const rt__prepared *p = m->prepared;
    for (uint32_t k = 0; k < p->module->num_consts; k++) {
        const uint32_t at = p->constant[k];
        int64_t size;
        bool empty = false;
        for (int d = 0; d < m->binding[at].rank; d++)
            empty |= ind_expr_is_int(m->binding[at].size[d], &size) && size == 0;
        if (!constant[k] && !empty)
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: %s %s",
                             m->executable->memory.binding_text[at],
                             p->released[k] ? "was released and is needed again: set it" : "has no binding");
    }
    return IND_OK;
}

/* Pointers for a launch of the prepare module: its constants, then the values from `data` on. */
static void rt__prepared_pointers(const ind_module *m, void *data, void **pointer) {
    const rt__prepared *p = m->prepared;
    for (uint32_t v = 0; v < rt__num_prepared(m); v++) pointer[p->module->num_consts + v] = (char *)data + p->offset[v];
}

/* A stream of its own: the caller may capture the default one. */
static ind_status rt__prepare_launch(ind_module *m, void **pointer) {
    ind_context *c = m->context;
    const int64_t no_sizes = 0;
    rt__runtime *r = m->executable->runtime;
    const bool cuda = m->desc.device == IND_DEVICE_CUDA;
    ind_instance *n = NULL;
    ind_launch_desc d = {.pointers = pointer, .sizes_v = &no_sizes};
    ind_status status = ind_instance_create(m->prepared->module, NULL, &n);
    if (!status && cuda) status = IND__CUDA_CALL(c, r, cuStreamCreate, (&d.stream, IND__CUDA_STREAM_NON_BLOCKING_));
    if (!status) status = ind_launch(n, &d);
    if (!status) status = ind_instance_check(n);
    if (d.stream) (void)r->driver.cuStreamDestroy_v2(d.stream);
    ind_instance_destroy(n);
    return status;
}

/* Computes the values. The caller has the mutex and is inside the device's context. */
static ind_status rt__prepare_values(ind_module *m) {
    rt__prepared *p = m->prepared;
    const uint32_t wanted = atomic_load_explicit(&p->wanted, memory_order_relaxed);
    void **pointer = (void **)ind__alloc(m->context, (p->module->num_bindings + (size_t)1) * sizeof *pointer);
    if (!pointer) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < p->module->num_consts; k++) pointer[k] = m->constant[p->constant[k]];
    ind_status status = rt__prepared_check(m, pointer);
    if (!status && !p->block) status = rt__device_alloc(m, p->bytes, &p->data, &p->block);
    if (!status) {
        rt__prepared_pointers(m, p->data, pointer);
        status = rt__prepare_launch(m, pointer);
    }
    ind__free(m->context, pointer);
    if (status) return status;
    atomic_store_explicit(&p->done, wanted, memory_order_release);
    ind__lists_lock(m->context);
    m->desc.stats.num_prepares++;
    ind__lists_unlock(m->context);
    return IND_OK;
}

/* Computes the values if a constant was set since. Later launches take no lock. */
static ind_status rt__prepare_shared(ind_module *m) {
    rt__prepared *p = m->prepared;
    if (rt__prepared_valid(p)) return IND_OK;
    rt__mutex_lock(&p->mutex);
    ind_status status = rt__prepared_valid(p) ? IND_OK : rt__prepare_values(m);
    rt__mutex_unlock(&p->mutex);
    return status;
}

/* ---- values of one launch, which binds constants of its own */

/* Creates the instance of the prepare module and the memory of the values. */
static ind_status rt__prepare_own_memory(ind_instance *n) {
    ind_module *m = n->module;
    struct rt__instance_prepared *own = &n->prepared;
    ind_status status = IND_OK;
    if (!own->pointer)
        own->pointer =
            (void **)ind__alloc(m->context, (m->prepared->module->num_bindings + (size_t)1) * sizeof *own->pointer);
    if (!own->pointer) return IND_ERROR_OUT_OF_MEMORY;
    if (!own->instance) status = ind_instance_create(m->prepared->module, NULL, &own->instance);
    if (!status && !own->block) status = rt__device_alloc(m, m->prepared->bytes, &own->data, &own->block);
    return status;
}

/* Binds the instance's prepare instance to the constants in `given`. If they are the same memory as before and none was
   set anew, the values are current. */
static ind_status rt__prepare_from(ind_instance *n, void *const *given) {
    const rt__prepared *p = n->module->prepared;
    const int64_t no_sizes = 0;
    const uint32_t version = atomic_load_explicit(&p->wanted, memory_order_relaxed);
    ind_status status = rt__prepare_own_memory(n);
    if (!status) status = rt__prepared_check(n->module, given);
    if (status) return status;
    bool *current = &n->prepared.current;
    *current = *current && n->prepared.version == version;
    for (uint32_t k = 0; k < p->module->num_consts; k++) *current = *current && n->prepared.pointer[k] == given[k];
    if (*current) return IND_OK;
    memcpy(n->prepared.pointer, given, p->module->num_consts * sizeof *given);
    n->prepared.version = version;
    rt__prepared_pointers(n->module, n->prepared.data, n->prepared.pointer);
    return rt__instance_prepare(n->prepared.instance,
                                &(ind_launch_desc){.pointers = n->prepared.pointer, .sizes_v = &no_sizes});
}

/* Binds own values to the constants of a launch: those that it binds, or bound when a graph was captured, else those of
   the module. captured: by constant of the prepare module; NULL: a launch. */
static ind_status rt__prepare_own(ind_instance *n, void *const *captured) {
    const rt__prepared *p = n->module->prepared;
    void **given = n->prepared.given;
    if (!given)
        given = n->prepared.given =
            (void **)ind__alloc(n->module->context, (p->module->num_consts + (size_t)1) * sizeof *given);
    if (!given) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < p->module->num_consts; k++) {
        void *bound = captured ? captured[k] : n->bindings.next[p->constant[k]];
        given[k] = bound ? bound : n->module->constant[p->constant[k]];
    }
    return rt__prepare_from(n, given);
}

/* True if the launch binds a constant of the prepared values to other memory than was set. */
static bool rt__binds_own_constants(const ind_instance *n) {
    const ind_module *m = n->module;
    for (uint32_t k = 0; k < m->prepared->module->num_consts; k++) {
        const uint32_t at = m->prepared->constant[k];
        if (n->bindings.next[at] && n->bindings.next[at] != m->constant[at]) return true;
    }
    return false;
}

static bool rt__is_captured(const ind_module *m, void *stream) {
    rt__recorded last;
    return m->desc.device == IND_DEVICE_CUDA && rt__cuda_captured(&m->executable->runtime->driver, stream, &last);
}

/* Makes the values of the module valid for work on the stream. */
static ind_status rt__prepare_before(ind_module *m, void *stream) {
    if (rt__prepared_valid(m->prepared)) return IND_OK;
    if (rt__is_captured(m, stream))
        return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                         "run: the prepared constants of graph \"%s\" are not computed: call ind_module_prepare before "
                         "the capture",
                         m->desc.name);
    return rt__prepare_shared(m);
}

/* Binds the prepared constants of a launch on the stream: those of the module, which are computed if needed, or own
   ones. */
static ind_status rt__bind_prepared(ind_instance *n, void *stream) {
    ind_module *m = n->module;
    if (!m->prepared) return IND_OK;
    n->prepared.own = rt__binds_own_constants(n);
    ind_status status = n->prepared.own ? rt__prepare_own(n, NULL) : rt__prepare_before(m, stream);
    if (status) return status;
    char *data = (char *)(n->prepared.own ? n->prepared.data : m->prepared->data);
    for (uint32_t v = 0; v < rt__num_prepared(m); v++)
        n->bindings.next[m->num_public + v] = data + m->prepared->offset[v];
    return IND_OK;
}

/* Enqueues the computation of own prepared constants, if they are not current. In a stream that is being captured, the
   graph computes them in every replay. */
static ind_status rt__launch_prepared(ind_instance *n, void *stream) {
    if (!n->module->prepared || !n->prepared.own || n->prepared.current) return IND_OK;
    ind_instance *own = n->prepared.instance;
    const bool captured = rt__is_captured(n->module, stream);
    ind_status status = rt__launch_steps(own, 0, own->module->executable->launches.num_steps, stream);
    n->prepared.current = !status && !captured;
    return status;
}

/* Computes own values before a capture, so that no replay does, and waits for them. */
static ind_status rt__prepare_for_capture(ind_instance *n, void *stream) {
    if (!n->module->prepared || !n->prepared.own || n->prepared.current) return IND_OK;
    if (rt__is_captured(n->module, stream))
        return ind__fail(
            n->module->context, IND_ERROR_INVALID_ARGUMENT,
            "ind_capture: the prepared constants of graph \"%s\" are not computed, and the stream is being "
            "captured",
            n->module->desc.name);
    ind_status status = rt__launch_prepared(n, stream);
    return status ? status : rt__instance_check(n->prepared.instance);
}

/* Before a replay: own values are computed again if a launch since the capture bound other constants, or if a constant
   of the module was set anew. */
static ind_status rt__prepare_replay(ind_instance *n, void *stream) {
    n->prepared.own = n->captured.own;
    if (!n->captured.own) return n->module->prepared ? rt__prepare_before(n->module, stream) : IND_OK;
    n->prepared.instance->launch.stream = stream;
    ind_status status = rt__prepare_own(n, n->captured.constant);
    return status ? status : rt__launch_prepared(n, stream);
}

/* Notes the constants that a captured launch binds itself; NULL for those of the module, which may be set anew. */
static ind_status rt__prepare_captured(ind_instance *n) {
    const ind_module *m = n->module;
    const size_t num = n->prepared.own ? m->prepared->module->num_consts : 0;
    n->captured.own = n->prepared.own;
    if (!n->prepared.own) return IND_OK;
    n->captured.constant = (void **)ind__alloc(m->context, (num + 1) * sizeof *n->captured.constant);
    if (!n->captured.constant) return IND_ERROR_OUT_OF_MEMORY;
    for (size_t k = 0; k < num; k++) {
        void *bound = n->prepared.pointer[k];
        n->captured.constant[k] = bound == m->constant[m->prepared->constant[k]] ? NULL : bound;
    }
    return IND_OK;
}

/* ---- public */

ind_status ind_module_prepare(ind_module *m) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (!m->prepared) return IND_OK;
    ind_status status = rt__module_enter(m);
    if (status) return status;
    status = rt__prepare_shared(m);
    rt__module_leave(m);
    return status;
}

void ind_instance_constants_changed(ind_instance *n) {
    if (n) n->prepared.current = false;
}

ind_status ind_module_release(ind_module *m, const char *name) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (!name) return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "ind_module_release: name is NULL");
    const uint32_t at = rt__binding_find(m, name);
    if (at == IND__RT_NONE || m->binding[at].kind != IND_BINDING_CONST)
        return ind__fail(m->context, IND_ERROR_NOT_FOUND, "graph \"%s\" has no constant \"%s\"", m->desc.name, name);
    if (!m->binding[at].prepare_only)
        return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "%s cannot be released: kernels read it",
                         m->executable->memory.binding_text[at]);
    ind_status status = ind_module_prepare(m);
    if (!status) status = rt__module_enter(m);
    if (status) return status;
    rt__device_free(m, m->constant_block[at]);
    m->constant_block[at] = NULL;
    m->constant[at] = NULL;
    for (uint32_t k = 0; k < m->prepared->module->num_consts; k++)
        if (m->prepared->constant[k] == at) m->prepared->released[k] = true;
    rt__module_leave(m);
    return IND_OK;
}

ind_expr ind_module_prepared_bytes(const ind_module *m) {
    if (!m) return (ind_expr){0};
    return m->prepared ? m->prepared->formula : ind_int(m->context, 0);
}

ind_module *ind_module_prepare_module(const ind_module *m) {
    return m && m->prepared ? m->prepared->module : NULL;
}
