/* ------------------------------------------------------------------------------------------------ >>launch */

/* Sets new sizes and runs the module's program on them, unless they equal the previous launch's. */
static ind_status rt__instance_sizes(ind_instance *n, const char *text, const int64_t *values) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    uint32_t num = m->desc.num_sizes;
    bool guard;
    if (values) {
        memcpy(n->sizes.next, values, num * sizeof *values);
    } else {
        ind_status status = ind__module_given_sizes(m, "run", text, n->sizes.next);
        if (!status) status = rt__derive_sizes(m, "run", n->sizes.next, n->sizes.scratch);
        if (status) return status;
    }
    if (n->sizes.evaluated && !memcmp(n->sizes.value, n->sizes.next, num * sizeof *n->sizes.value)) return IND_OK;
    for (uint32_t i = 0; i < num; i++) {
        ind_status status = rt__check_size(m, "run", i, n->sizes.next[i]);
        if (status) return status;
    }
    n->sizes.evaluated = n->bindings.bound = false;
    ind_status status = rt__check_conditions(m, "run", n->sizes.next, n->sizes.scratch, &guard);
    if (status) return status;
    status = rt__run_program(x, n->sizes.next, n->sizes.slot, n->sizes.scratch);
    if (status) return status;
    memcpy(n->sizes.value, n->sizes.next, num * sizeof *n->sizes.value);
    n->sizes.evaluated = true;
    return IND_OK;
}

static uint32_t rt__binding_find(const ind_module *m, const char *name) {
    for (uint32_t i = 0; i < m->num_public; i++)
        if (!strcmp(m->binding[i].name, name)) return i;
    return IND__RT_NONE;
}

/* Fills `out` (one per binding) from a list by name; NULL: not named. */
static ind_status rt__bind_names(ind_instance *n, const ind_binding *list, int num, void **out) {
    ind_module *m = n->module;
    ind_context *c = m->context;
    if (num < 0 || (num && !list))
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "run: bindings is NULL, num_bindings is %d", num);
    for (uint32_t i = 0; i < m->num_bindings; i++) out[i] = NULL;
    for (int i = 0; i < num; i++) {
        if (!list[i].name) return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "run: binding %d has no name", i);
        uint32_t at = rt__binding_find(m, list[i].name);
        if (at == IND__RT_NONE)
            return ind__fail(c, IND_ERROR_NOT_FOUND, "run: graph \"%s\" has no input, constant or output \"%.200s\"",
                             m->desc.name, list[i].name);
        for (int k = 0; k < i; k++)
            if (!strcmp(list[k].name, list[i].name))
                return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "run: %s is bound twice",
                                 m->executable->memory.binding_text[at]);
        const int64_t need = n->sizes.slot[m->executable->memory.binding_bytes[at]];
        if (list[i].bytes && need > 0 && (uint64_t)need > list[i].bytes)
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "run: %s needs %lld bytes at these sizes, %zu are bound",
                             m->executable->memory.binding_text[at], (long long)need, list[i].bytes);
        if (!list[i].data && !m->constant[at] && need)
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "run: %s is bound to NULL",
                             m->executable->memory.binding_text[at]);
        out[at] = list[i].data;
    }
    return IND_OK;
}

/* True if a launch needs memory for the binding. Constants that only prepared constants depend on are checked when
   these are computed. */
static bool rt__binding_needed(const ind_instance *n, uint32_t binding) {
    const ind_module *m = n->module;
    return binding < m->num_public && !m->binding[binding].prepare_only &&
           n->sizes.slot[m->executable->memory.binding_bytes[binding]];
}

/* Fills in the module's constants. A pointer that is then still NULL is missing, unless the binding is empty. */
static ind_status rt__bind_complete(ind_instance *n, void **pointer) {
    ind_module *m = n->module;
    for (uint32_t i = 0; i < m->num_bindings; i++) {
        if (!pointer[i]) pointer[i] = m->constant[i];
        if (!pointer[i] && rt__binding_needed(n, i))
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: %s has no binding",
                             m->executable->memory.binding_text[i]);
    }
    return IND_OK;
}
