/* ------------------------------------------------------------------------------------------------ >>formula */

/* Simplifies the formula in the module's context, which is locked. */
static ind_status ind__check_formula(ind_module *m, ind_formula *f) {
    if (!ind__ok(*f)) return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "formula: not a valid expression");
    if (f->context->root != m->context->root)
        return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                         "formula: it belongs to another context than the module");
    *f = ind__in_context(m->context, *f);
    return ind__ok(*f) ? IND_OK : ind__failed(m->context);
}

/* ---- costs of a module */

int ind_module_num_kernels(const ind_module *module) {
    return module ? (int)module->desc.schedule->num_kernels : 0;
}

const ind_target *ind_module_query_target(const ind_module *module) {
    return module && module->desc.device == IND_DEVICE_CUDA ? &module->desc.plan->target : NULL;
}

static void ind__fill_variant(ind_context *c, ind_variant_info *out, const ind__variant *v) {
    out->strategy = ind__strategy_text(v->strategy);
    for (int d = 0; d < 3; d++) out->grid[d] = ind__ok(v->grid[d]) ? v->grid[d] : ind_int(c, 1);
    out->threads = v->threads;
    out->shared_bytes = ind__ok(v->memory.shared) ? v->memory.shared : ind_int(c, 0);
    out->guard = (ind_formula){c, ind_expr_is_int(v->guard, NULL) ? 0 : v->guard.id}; /* the number 1: always */
    out->aligned = v->guard_aligned;
    out->vector = v->vector;
    out->index_bits = v->index_bits;
}

static ind_status ind__fill_kernel(ind_module *module, int index, ind_kernel_info *info) {
    ind_context *c = module->context;
    ind_status status = ind__need_plan(module);
    if (status) return status;
    const ind_kernel *k = &module->desc.schedule->kernel[index];
    const ind_kernel_plan *p = &module->desc.plan->kernel[index];
    info->name = k->name;
    info->kind = ind__kernel_kind_text(k->kind);
    info->num_origins = (int)k->num_origins;
    info->num_reads = (int)k->num_reads;
    info->num_writes = (int)(k->num_args - k->num_reads);
    info->bytes_read = k->bytes_read;
    info->bytes_written = k->bytes_written;
    info->flops = k->flops;
    info->time_ns = p->time_ns;
    info->launch = (int)p->first;
    info->num_variants = p->num_variants;
    for (int v = 0; v < p->num_variants; v++) {
        ind__fill_variant(c, &info->variant[v], &p->variant[v]);
        if (!ind__ok(info->variant[v].shared_bytes) || !ind__ok(info->variant[v].grid[2])) return ind__failed(c);
    }
    return IND_OK;
}

ind_status ind_module_query_kernel(ind_module *module, int index, ind_kernel_info *info) {
    if (!module || !info) return IND_ERROR_INVALID_ARGUMENT;
    memset(info, 0, sizeof *info);
    if (index < 0 || (uint32_t)index >= module->desc.schedule->num_kernels) {
        return ind__fail(module->context, IND_ERROR_NOT_FOUND, "graph \"%s\" has no kernel %d; it has %u",
                         module->desc.name, index, (unsigned)module->desc.schedule->num_kernels);
    }
    const ind__query q = ind__query_begin(module);
    return ind__query_end(&q, ind__fill_kernel(module, index, info));
}

/* Returns the table entry of the index-th op of a kernel; the table is indexed by graph node. */
static const char *ind__kernel_node_name(const ind_module *m, int kernel, int index, const char *const *name) {
    if (kernel < 0 || kernel >= ind_module_num_kernels(m) || index < 0) return NULL;
    const ind_kernel *k = &m->desc.schedule->kernel[kernel];
    uint32_t node = (uint32_t)index < k->num_origins ? k->origin[index] : UINT32_MAX;
    return node < m->desc.num_origins ? name[node] : NULL;
}

const char *ind_module_kernel_origin(const ind_module *module, int kernel, int index) {
    return module ? ind__kernel_node_name(module, kernel, index, module->desc.origin_name) : NULL;
}

const char *ind_module_kernel_result(const ind_module *module, int kernel, int index) {
    return module ? ind__kernel_node_name(module, kernel, index, module->desc.result_name) : NULL;
}

const char *ind_module_kernel_buffer(ind_module *module, int kernel, int index, const char **tensor) {
    if (tensor) *tensor = "";
    if (!module || kernel < 0 || (uint32_t)kernel >= module->desc.schedule->num_kernels) return NULL;
    const ind_kernel *k = &module->desc.schedule->kernel[kernel];
    if (index < 0 || (uint32_t)index >= k->num_args || ind__need_names(module)) return NULL;
    if (tensor) *tensor = ind__buffer_tensor_name(module, k->arg[index]);
    return module->desc.lowered->buffer[k->arg[index]].name;
}

/* Returns the sum over all kernels of the formula at this offset in ind_kernel. */
static ind_formula ind__module_total(const ind_module *m, size_t offset) {
    if (!m) return (ind_formula){0};
    uint32_t n = m->desc.schedule->num_kernels;
    ind_expr none = {m->context, 0}, *term = ind__alloc(m->context, (n + (size_t)1) * sizeof *term);
    if (!term || n > INT32_MAX) return none;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&term[i], (const char *)&m->desc.schedule->kernel[i] + offset, sizeof *term);
    }
    const ind__query q = ind__query_begin(m);
    ind_facts *before = ind_facts_enter(m->context, m->facts);
    ind_expr sum = ind_expr_sum(m->context, term, (int)n);
    (void)ind_facts_enter(m->context, before);
    ind__free(m->context, term);
    return ind__query_end(&q, IND_OK) ? none : sum;
}

ind_formula ind_module_bytes_read(const ind_module *module) {
    return ind__module_total(module, offsetof(ind_kernel, bytes_read));
}

ind_formula ind_module_bytes_written(const ind_module *module) {
    return ind__module_total(module, offsetof(ind_kernel, bytes_written));
}

ind_formula ind_module_flops(const ind_module *module) {
    return ind__module_total(module, offsetof(ind_kernel, flops));
}

ind_formula ind_module_time_ns(ind_module *module) {
    if (!module) return (ind_formula){0};
    const ind__query q = ind__query_begin(module);
    const ind_formula none = {module->context, 0};
    return ind__query_end(&q, ind__need_plan(module)) ? none : module->desc.plan->time_ns;
}

/* ---- values */

struct ind_evaluator {
    ind__owned owned; /* first member */
    ind__program program;
    uint32_t *slot; /* by formula */
    int num;
    int64_t *values; /* slots of the program */
};

static void ind__evaluator_destroy_owned(ind__owned *owned) {
    ind_evaluator *e = (ind_evaluator *)owned;
    ind_context *c = e->program.context;
    ind__program_free(&e->program);
    ind__free(c, e->slot);
    ind__free(c, e->values);
    ind__free(c, e);
}

static ind_status ind__evaluator_fill(ind_evaluator *e, ind_module *m, const ind_formula *f) {
    ind_status status = ind__program_init(&e->program, m->context, m->desc.sizes, m->desc.num_sizes);
    e->program.context = m->context->root; /* the evaluator may outlive the module */
    e->slot = ind__alloc(m->context, ((size_t)e->num + 1) * sizeof *e->slot);
    if (!status && !e->slot) status = ind__failed(m->context);
    for (int i = 0; i < e->num && !status; i++) {
        ind_formula own = f[i];
        status = ind__check_formula(m, &own);
        if (status) break;
        e->slot[i] = ind__program_add(&e->program, own);
        if (e->slot[i] == UINT32_MAX) status = ind__failed(m->context);
    }
    size_t slots = (size_t)e->program.num_inputs + e->program.num_ops;
    if (!status && !(e->values = ind__alloc(m->context, (slots + 1) * sizeof *e->values)))
        status = ind__failed(m->context);
    return status;
}

ind_status ind_evaluator_create(ind_module *module, const ind_formula *f, int num, ind_evaluator **evaluator) {
    if (evaluator) *evaluator = NULL;
    if (!module) return IND_ERROR_INVALID_ARGUMENT;
    if (!evaluator || !f || num < 1) {
        return ind__fail(module->context, IND_ERROR_INVALID_ARGUMENT,
                         "evaluator: formulas or the pointer for the result is NULL, or there are no formulas");
    }
    ind_context *root = module->context->root;
    ind_evaluator *e = ind__alloc(root, sizeof *e);
    if (!e) return ind__failed(root);
    e->num = num;
    e->program.context = root;
    const ind__query q = ind__query_begin(module);
    ind_status status = ind__query_end(&q, ind__evaluator_fill(e, module, f));
    if (status) {
        ind__evaluator_destroy_owned(&e->owned);
        return status;
    }
    ind__own(root, &e->owned, ind__evaluator_destroy_owned);
    *evaluator = e;
    return IND_OK;
}

ind_status ind_evaluator_run(ind_evaluator *e, const int64_t *sizes_v, int64_t *values) {
    if (!e) return IND_ERROR_INVALID_ARGUMENT;
    if (!values || (!sizes_v && e->program.num_inputs)) {
        return ind__fail(e->program.context, IND_ERROR_INVALID_ARGUMENT,
                         "evaluator: sizes or the pointer for values is NULL");
    }
    if (e->program.num_inputs) memcpy(e->values, sizes_v, e->program.num_inputs * sizeof *sizes_v);
    ind_status status = ind__program_run(&e->program, e->values);
    for (int i = 0; i < e->num && !status; i++) values[i] = e->values[e->slot[i]];
    return status;
}

void ind_evaluator_destroy(ind_evaluator *evaluator) {
    if (!evaluator) return;
    ind__disown(evaluator->program.context, &evaluator->owned);
    ind__evaluator_destroy_owned(&evaluator->owned);
}

typedef struct ind__size_values {
    const ind_module *module;
    const int64_t *value;
} ind__size_values;

static bool ind__size_value(const ind_symbol *symbol, void *user, int64_t *out) {
    const ind__size_values *v = user;
    for (uint32_t i = 0; i < v->module->desc.num_sizes; i++) {
        if (strcmp(ind_expr_symbol(v->module->desc.sizes[i])->name, symbol->name)) continue;
        *out = v->value[i];
        return true;
    }
    return false;
}

ind_status ind_formula_eval(ind_module *module, ind_formula f, const char *sizes, int64_t *value) {
    if (!module || !value) return IND_ERROR_INVALID_ARGUMENT;
    const ind__query q = ind__query_begin(module);
    int64_t *values = ind__alloc(module->context, (module->desc.num_sizes + (size_t)1) * sizeof *values);
    ind__size_values v = {module, values};
    ind_status status = values ? ind__check_formula(module, &f) : ind__failed(module->context);
    if (!status) status = ind__module_sizes(module, "run", sizes ? sizes : "", values);
    if (!status) status = ind_expr_eval(f, ind__size_value, &v, value);
    ind__free(module->context, values);
    return ind__query_end(&q, status);
}

ind_status ind_formula_bounds(ind_module *module, ind_formula f, int64_t *lo, int64_t *hi) {
    if (lo) *lo = INT64_MIN;
    if (hi) *hi = INT64_MAX;
    if (!module) return IND_ERROR_INVALID_ARGUMENT;
    if (!lo || !hi)
        return ind__fail(module->context, IND_ERROR_INVALID_ARGUMENT, "formula: the pointer for a bound is NULL");
    const ind__query q = ind__query_begin(module);
    ind_status status = ind__check_formula(module, &f);
    if (!status) ind_bounds(module->facts, f, lo, hi);
    status = ind__query_end(&q, status);
    if (status) *lo = INT64_MIN, *hi = INT64_MAX;
    return status;
}

/* Returns the number of the size of this name; UINT32_MAX with an error if there is none or a fact determines it. */
static uint32_t ind__free_size(ind_module *m, const char *name) {
    uint32_t i = 0;
    while (i < m->desc.num_sizes && strcmp(ind_module_query_size(m, (int)i)->name, name)) i++;
    if (i == m->desc.num_sizes) {
        ind__fail(m->context, IND_ERROR_NOT_FOUND, "formula: graph \"%s\" has no size \"%.60s\"", m->desc.name, name);
        return UINT32_MAX;
    }
    ind_expr e = ind_module_size_formula(m, (int)i);
    if (!ind__ok(e)) return i;
    char text[200];
    ind_expr_print(e, text, sizeof text);
    ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
              "formula: %s follows from a fact, it is %s; ask for a size in that", name, text);
    return UINT32_MAX;
}

static void ind__refuse_inverse(ind_context *c, const char *name, ind_expr coefficient) {
    char text[200];
    ind_expr_print(coefficient, text, sizeof text);
    if (ind__ok(coefficient)) {
        ind__fail(c, IND_ERROR_NOT_SUPPORTED, "formula: it is not known to grow with %s, whose coefficient is %s", name,
                  text);
    } else {
        ind__fail(c, IND_ERROR_NOT_SUPPORTED, "formula: it is not affine in %s; ind_formula_solve finds values", name);
    }
}

static ind_formula ind__invert(ind_module *module, ind_formula f, const char *name, int64_t limit) {
    ind_context *c = module->context;
    ind_formula none = {c, 0};
    ind_expr coefficient, rest;
    if (ind__check_formula(module, &f)) return none;
    if (!name) return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "formula: the name of the size is NULL"), none;
    uint32_t at = ind__free_size(module, name);
    if (at == UINT32_MAX) return none;
    ind_facts *before = ind_facts_enter(c, module->facts);
    ind__state_of(c)->status = IND_OK;
    ind_expr size = module->desc.sizes[at], inverse = none;
    if (module->facts) size = ind_simplify(module->facts, size); /* with the range that the facts imply */
    f = module->facts ? ind_simplify(module->facts, f) : f;
    bool affine = ind__ok(f) && ind__affine(f, size, &coefficient, &rest) && !ind__expr_depends(coefficient, size);
    if (affine && ind_known_lt(ind_int(c, 0), coefficient)) {
        ind_expr step = ind_int(c, ind_expr_symbol(size)->multiple_of);
        ind_expr budget = ind_expr_sub(ind_int(c, limit), rest);
        inverse = ind_expr_mul(ind_expr_floordiv(budget, ind_expr_mul(coefficient, step)), step);
    } else if (ind_error_status(c) == IND_OK) {
        ind__refuse_inverse(c, name, affine ? coefficient : none);
    }
    (void)ind_facts_enter(c, before);
    return inverse;
}

ind_formula ind_formula_invert(ind_module *module, ind_formula f, const char *name, int64_t limit) {
    if (!module) return (ind_formula){0};
    const ind__query q = ind__query_begin(module);
    ind_formula inverse = ind__invert(module, f, name, limit);
    return ind__query_end(&q, IND_OK) ? (ind_formula){module->context, 0} : inverse;
}
