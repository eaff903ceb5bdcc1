/* ---- sizes and pointers of a launch */

static ind_status rt__x_check_size(ind_exported_model *m, const ind_exported_size *s, int64_t value) {
    if (value >= s->least && value <= s->most && (s->multiple_of < 2 || value % s->multiple_of == 0)) return IND_OK;
    if (value < s->least || value > s->most)
        return rt__x_fail(m, IND_ERROR_OUT_OF_RANGE, "%s: %s = %lld is outside [%lld, %lld]", m->tables->name, s->name,
                          (long long)value, (long long)s->least, (long long)s->most);
    return rt__x_fail(m, IND_ERROR_OUT_OF_RANGE, "%s: %s = %lld is no multiple of %lld", m->tables->name, s->name,
                      (long long)value, (long long)s->multiple_of);
}

/* Facts before guards: if a fact fails, guards are irrelevant. */
static ind_status rt__x_check_conditions(ind_exported_model *m, const int64_t *sizes) {
    const ind_exported *t = m->tables;
    if (!t->num_conditions) return IND_OK;
    memcpy(m->conditions, sizes, t->num_sizes * sizeof *sizes);
    if (!t->conditions(m->conditions)) return rt__x_fail(m, IND_ERROR_OVERFLOW, "%s: a size exceeds 64 bits", t->name);
    for (int guards = 0; guards < 2; guards++)
        for (uint32_t i = 0; i < t->num_conditions; i++) {
            const ind_exported_condition *c = &t->condition[i];
            if (c->guard == (guards == 1) && !m->conditions[c->slot])
                return rt__x_fail(m, IND_ERROR_OUT_OF_RANGE, "%s: %s %s does not hold", t->name,
                                  guards ? "guard" : "fact", c->text);
        }
    return IND_OK;
}

/* Computes the slots of the sizes, unless they are those of the last launch. */
static ind_status rt__x_set_sizes(ind_exported_model *m, const int64_t *sizes) {
    const ind_exported *t = m->tables;
    rt__side *s = &m->main;
    if (t->num_sizes && !sizes) return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT, "%s: no sizes are given", t->name);
    if (s->sized && (!t->num_sizes || !memcmp(m->size, sizes, t->num_sizes * sizeof *sizes))) return IND_OK;
    s->sized = s->bound = false;
    for (uint32_t i = 0; i < t->num_sizes; i++) {
        const ind_status status = rt__x_check_size(m, &t->size[i], sizes[i]);
        if (status) return status;
    }
    const ind_status status = rt__x_check_conditions(m, sizes);
    if (status) return status;
    if (t->num_sizes) memcpy(m->size, sizes, t->num_sizes * sizeof *sizes);
    if (t->num_sizes) memcpy(s->slot, sizes, t->num_sizes * sizeof *sizes);
    if (!s->x->slots(s->slot)) return rt__x_fail(m, IND_ERROR_OVERFLOW, "%s: a size exceeds 64 bits", t->name);
    s->sized = true;
    return IND_OK;
}

ind_status ind_exported_bytes(ind_exported_model *m, uint32_t binding, const int64_t *sizes, int64_t *bytes) {
    if (!m || !bytes) return IND_ERROR_INVALID_ARGUMENT;
    if (binding >= m->tables->num_bindings)
        return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT, "%s: there is no binding %u", m->tables->name,
                          (unsigned)binding);
    const ind_status status = rt__x_set_sizes(m, sizes);
    if (!status) *bytes = m->main.slot[m->main.x->binding_bytes[binding]];
    return status;
}

/* The pointers of a launch: a constant that is not given is the model's copy. */
static ind_status rt__x_set_pointers(ind_exported_model *m, void *const *pointers) {
    const ind_exported *t = m->tables;
    if (!pointers) return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT, "%s: no pointers are given", t->name);
    for (uint32_t i = 0; i < t->num_bindings; i++) {
        const ind_exported_binding *b = &t->binding[i];
        void *given = pointers[i] ? pointers[i] : m->constant[i];
        if (b->kind == IND_EXPORTED_CONSTANT && m->pointer[i] != given) m->is_prepared = false;
        m->pointer[i] = given;
        if (!given && m->main.slot[m->main.x->binding_bytes[i]])
            return rt__x_fail(m, IND_ERROR_INVALID_ARGUMENT, "%s: %s %s has no memory", t->name, b->name, b->type);
    }
    for (uint32_t i = 0; i < m->target->num_prepared; i++)
        m->pointer[t->num_bindings + i] = (char *)m->prepared + m->target->prepared_at[i];
    return IND_OK;
}

static uint64_t rt__x_address(const rt__side *s, const ind_exported_arg *a) {
    if (a->kind == IND_EXPORTED_BINDING) return (uintptr_t)s->pointer[a->at];
    return (uintptr_t)rt__x_last(&s->workspace) + (uint64_t)s->slot[a->at];
}

/* Encodes a tensor map, unless it is. False: the driver does not take it. */
static bool rt__x_bind_map(ind_exported_model *m, rt__side *s, uint32_t at) {
    const ind_exported_map *map = &s->x->map[at];
    rt__map_key key = {.encoded = 1}, *last = &s->map_key[at];
    key.address = rt__x_address(s, &map->buffer) + (uint64_t)(s->slot[map->offset] * map->bytes);
    for (int d = 0; d < map->rank; d++) {
        key.size[d] = (uint64_t)s->slot[map->size[d]];
        key.stride[d] = (uint64_t)(s->slot[map->stride[d]] * map->bytes);
    }
    if (!memcmp(last, &key, sizeof key)) return true;
    *last = key;
    rt__map_form form = {.type = map->type, .rank = map->rank, .swizzle = map->swizzle, .windows = map->windows};
    memcpy(form.box, map->box, sizeof form.box);
    memcpy(form.lower, map->lower, sizeof form.lower);
    memcpy(form.upper, map->upper, sizeof form.upper);
    memcpy(form.step, map->step, sizeof form.step);
    last->encoded = rt__cuda_encode_map(&m->driver, &key, &form, s->map + (size_t)at * IND__RT_MAP_BYTES);
    return last->encoded;
}

/* True if the kernel takes the pointers, and the driver its tensor maps. */
static bool rt__x_takes(ind_exported_model *m, rt__side *s, const ind_exported_variant *v) {
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind_exported_arg *a = &s->x->arg[v->first_arg + i];
        const bool buffer = a->kind == IND_EXPORTED_BINDING || a->kind == IND_EXPORTED_WORKSPACE;
        if (v->aligned && buffer && rt__x_address(s, a) & 15) return false;
        if (a->kind == IND_EXPORTED_MAP && !rt__x_bind_map(m, s, a->at)) return false;
    }
    return true;
}

/* True if the variant, or the one that runs in its place, fits the sizes and pointers. */
static bool rt__x_fits(ind_exported_model *m, rt__side *s, uint32_t variant) {
    const ind_exported_variant *v = &s->x->variant[variant];
    if (v->guard != IND_EXPORTED_NONE && !s->slot[v->guard]) return false;
    return rt__x_takes(m, s, &s->x->variant[s->runs[variant]]);
}

static uint64_t rt__x_value(const rt__side *s, const ind_exported_arg *a, uint32_t step) {
    switch ((ind_exported_kind)a->kind) {
    case IND_EXPORTED_BINDING:
    case IND_EXPORTED_WORKSPACE: return rt__x_address(s, a);
    case IND_EXPORTED_NARROW:
    case IND_EXPORTED_WIDE: return (uint64_t)s->slot[a->at];
    case IND_EXPORTED_ERROR: return (uintptr_t)s->device_error + ((uint64_t)step + a->at) * 32;
    case IND_EXPORTED_LOOKBACK: return (uintptr_t)rt__x_last(&s->lookback);
    case IND_EXPORTED_COUNTERS: return (uintptr_t)s->counters + (uint64_t)a->offset;
    case IND_EXPORTED_PARTIALS: return (uintptr_t)s->counters + rt__x_counter_bytes(s->x) + (uint64_t)a->offset;
    case IND_EXPORTED_MAP: break;
    }
    return 0;
}

static ind_status rt__x_set_grid(ind_exported_model *m, rt__side *s, uint32_t step, uint32_t variant) {
    static const int64_t limit[3] = {INT32_MAX, 65535, 65535};
    const ind_exported_variant *v = &s->x->variant[variant];
    unsigned *g = &s->grid[(size_t)step * 5];
    for (int d = 0; d < 3; d++) {
        int64_t blocks = s->slot[v->grid[d]];
        if (!d && v->loops) {
            const int64_t clusters = v->items == IND_EXPORTED_NONE ? blocks / v->cluster : s->slot[v->items];
            blocks = (clusters < s->clusters[variant] ? clusters : s->clusters[variant]) * v->cluster;
        }
        if (blocks < 0 || blocks > limit[d])
            return rt__x_fail(m, IND_ERROR_LIMIT,
                              "%s: kernel %s needs a grid of %lld blocks, at most %lld are possible", m->tables->name,
                              s->x->step[step].name, (long long)blocks, (long long)limit[d]);
        g[d] = (unsigned)blocks;
    }
    g[3] = (unsigned)s->slot[v->shared];
    g[4] = v->threads_slot == IND_EXPORTED_NONE ? v->threads : (unsigned)s->slot[v->threads_slot];
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind_exported_arg *a = &s->x->arg[v->first_arg + i];
        const uint64_t value = rt__x_value(s, a, step);
        const int32_t narrow = (int32_t)(int64_t)value;
        memcpy(&s->cell[v->first_arg + i], a->kind == IND_EXPORTED_NARROW ? (const void *)&narrow : &value,
               a->kind == IND_EXPORTED_NARROW ? 4 : 8);
    }
    return IND_OK;
}

/* Selects the variant of a step. *taken: earlier steps run all steps before this one. */
static ind_status rt__x_bind_step(ind_exported_model *m, rt__side *s, uint32_t step, uint32_t *taken) {
    const ind_exported_step *at = &s->x->step[step];
    uint32_t k = at->first;
    s->chosen[step] = IND_EXPORTED_NONE;
    if (!at->num || step < *taken) return IND_OK;
    while (k < at->first + at->num && !rt__x_fits(m, s, k)) k++;
    if (k == at->first + at->num)
        return rt__x_fail(m, IND_ERROR_VERIFY, "%s: kernel %s has no variant for these sizes and pointers",
                          m->tables->name, at->name);
    const ind_exported_variant *v = &s->x->variant[k];
    *taken = step + 1 + v->num_taken;
    if (!s->slot[v->grid[0]] || !s->slot[v->grid[1]] || !s->slot[v->grid[2]]) return IND_OK;
    s->chosen[step] = s->runs[k];
    return rt__x_set_grid(m, s, step, s->runs[k]);
}

/* Binds the side to pointers, unless it is. */
static ind_status rt__x_bind(ind_exported_model *m, rt__side *s, void *const *pointer, uint32_t num) {
    bool grown = false, more = false;
    int64_t words = 0;
    const int64_t need = s->slot[s->x->workspace];
    if (need < 0) return rt__x_fail(m, IND_ERROR_OVERFLOW, "%s: the workspace exceeds 64 bits", m->tables->name);
    ind_status status = rt__x_grow(m, &s->workspace, (size_t)need, false, &grown);
    for (uint32_t i = 0; i < s->x->num_args; i++)
        if (s->x->arg[i].kind == IND_EXPORTED_LOOKBACK && s->slot[s->x->arg[i].at] > words)
            words = s->slot[s->x->arg[i].at];
    if (!status) status = rt__x_grow(m, &s->lookback, (size_t)words * 8, true, &more);
    if (status) return status;
    if (s->bound && !grown && !more && !memcmp(s->pointer, pointer, num * sizeof *pointer)) return IND_OK;
    s->bound = false;
    memcpy(s->pointer, pointer, num * sizeof *pointer);
    for (uint32_t i = 0, taken = 0; i < s->x->num_steps && !status; i++) status = rt__x_bind_step(m, s, i, &taken);
    s->bound = !status;
    return status;
}
