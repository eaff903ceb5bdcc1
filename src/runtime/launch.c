/* ------------------------------------------------------------------------------------------------ >>launch */

/* Sets new sizes and runs the module's program on them, unless they equal the previous launch's. */
static ind_status rt__instance_sizes(ind_instance *n, const char *text, const int64_t *values) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    uint32_t num = m->desc.num_sizes;
    bool guard;
    if (values) {
        memcpy(n->next_size, values, num * sizeof *values);
    } else {
        ind_status status = ind__module_given_sizes(m, "run", text, n->next_size);
        if (!status) status = rt__derive_sizes(m, "run", n->next_size, n->scratch);
        if (status) return status;
    }
    if (n->evaluated && !memcmp(n->size, n->next_size, num * sizeof *n->size)) return IND_OK;
    for (uint32_t i = 0; i < num; i++) {
        ind_status status = rt__check_size(m, "run", i, n->next_size[i]);
        if (status) return status;
    }
    n->evaluated = n->bound = false;
    ind_status status = rt__check_conditions(m, "run", n->next_size, n->scratch, &guard);
    if (status) return status;
    status = rt__run_program(x, n->next_size, n->slot, n->scratch);
    if (status) return status;
    memcpy(n->size, n->next_size, num * sizeof *n->size);
    n->evaluated = true;
    return IND_OK;
}

static uint32_t rt__binding_find(const ind_module *m, const char *name) {
    for (uint32_t i = 0; i < m->num_bindings; i++)
        if (!strcmp(m->binding[i].name, name)) return i;
    return IND__RT_NONE;
}

/* Fills `out` (one per binding) from a list by name; NULL: not named. */
static ind_status rt__bind_names(ind_instance *n, const ind_binding *list, int num, void **out) {
    ind_module *m = n->module;
    ind_context *c = m->context;
    if (num < 0 || (num && !list))
        return ind__fail(c, IND_INVALID_ARGUMENT, "run: bindings is NULL, num_bindings is %d", num);
    for (uint32_t i = 0; i < m->num_bindings; i++) out[i] = NULL;
    for (int i = 0; i < num; i++) {
        if (!list[i].name) return ind__fail(c, IND_INVALID_ARGUMENT, "run: binding %d has no name", i);
        uint32_t at = rt__binding_find(m, list[i].name);
        if (at == IND__RT_NONE)
            return ind__fail(c, IND_NOT_FOUND, "run: graph \"%s\" has no input, constant or output \"%.200s\"",
                             m->desc.name, list[i].name);
        for (int k = 0; k < i; k++)
            if (!strcmp(list[k].name, list[i].name))
                return ind__fail(c, IND_INVALID_ARGUMENT, "run: %s is bound twice", m->executable->binding_text[at]);
        const int64_t need = n->slot[m->executable->binding_bytes[at]];
        if (list[i].bytes && need > 0 && (uint64_t)need > list[i].bytes)
            return ind__fail(c, IND_INVALID_ARGUMENT, "run: %s needs %lld bytes at these sizes, %zu are bound",
                             m->executable->binding_text[at], (long long)need, list[i].bytes);
        if (!list[i].data && !m->constant[at] && need)
            return ind__fail(c, IND_INVALID_ARGUMENT, "run: %s is bound to NULL", m->executable->binding_text[at]);
        out[at] = list[i].data;
    }
    return IND_OK;
}

/* Fills in the module's constants. A pointer that is then still NULL is missing, unless the binding is empty. */
static ind_status rt__bind_complete(ind_instance *n, void **pointer) {
    ind_module *m = n->module;
    for (uint32_t i = 0; i < m->num_bindings; i++) {
        if (!pointer[i]) pointer[i] = m->constant[i];
        if (!pointer[i] && n->slot[m->executable->binding_bytes[i]])
            return ind__fail(m->context, IND_INVALID_ARGUMENT, "run: %s has no binding",
                             m->executable->binding_text[i]);
    }
    return IND_OK;
}
