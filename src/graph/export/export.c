/* ------------------------------------------------------------------------------------------------ >>export */

/* What is written for one module: a target of the graph, or its module that prepares constants. */
typedef struct ind__exporter {
    ind_module *module;
    const ind_plan *plan;
    char tag[64]; /* with which its tables begin: "ind_minilm_0_main" */
    ind__program program;
    ind__text *out, args, maps, kernels;
    const ind__variant **variant; /* those of all steps, then alternatives of clusters */
    uint32_t *alternative, *first;
    uint32_t num_variants, num_args, num_maps, num_kernels, num_counters;
    const char **source; /* of each kernel: the text that it was compiled from */
    int64_t partial_bytes;
    bool checks;
    ind_status status;
} ind__exporter;

static uint32_t ind__export_slot(ind__exporter *x, ind_expr e) {
    const uint32_t slot = ind__program_add(&x->program, e);
    if (slot == UINT32_MAX && !x->status) x->status = ind__failed(x->module->context);
    return slot;
}

static ind_status ind__export_fail(ind__exporter *x, ind_status status, const char *why) {
    if (!x->status)
        x->status = ind__fail(x->module->context, status, "export of \"%s\": %s", x->module->desc.name, why);
    return x->status;
}

/* ---- formulas */

/* One step of a program as a C expression. */
static void ind__export_op(ind__text *t, const ind__program_op *op) {
    static const char *const calls[] = {
        [IND_EXPR_ADD] = "add", [IND_EXPR_MUL] = "mul", [IND_EXPR_FLOORDIV] = "div", [IND_EXPR_MOD] = "mod"};
    static const char *const infix[] = {[IND_EXPR_EQ] = "==", [IND_EXPR_NE] = "!=",  [IND_EXPR_LT] = "<",
                                        [IND_EXPR_LE] = "<=", [IND_EXPR_AND] = "&&", [IND_EXPR_OR] = "||"};
    switch (op->kind) {
    case IND_EXPR_INT: ind__textf(t, op->imm == INT64_MIN ? "INT64_MIN" : "INT64_C(%lld)", (long long)op->imm); break;
    case IND_EXPR_ADD:
    case IND_EXPR_MUL:
    case IND_EXPR_FLOORDIV:
    case IND_EXPR_MOD: ind__textf(t, "ind_exported_%s(s[%u], s[%u], &bad)", calls[op->kind], op->a, op->b); break;
    case IND_EXPR_MIN:
    case IND_EXPR_MAX:
        ind__textf(t, "ind_exported_%s(s[%u], s[%u])", op->kind == IND_EXPR_MIN ? "min" : "max", op->a, op->b);
        break;
    case IND_EXPR_NOT: ind__textf(t, "!s[%u]", op->a); break;
    case IND_EXPR_WHERE: ind__textf(t, "s[%u] ? s[%u] : s[%u]", op->a, op->b, op->c); break;
    default: ind__textf(t, "s[%u] %s s[%u]", op->a, infix[op->kind], op->b); break;
    }
}

/* The function `name`: computes the slots after those of the sizes. */
static void ind__export_program(ind__text *t, const ind__program *p, const char *name) {
    ind__textf(t, "static bool %s(int64_t *s) {\n    bool bad = false;\n", name);
    if (!p->num_ops) ind__textf(t, "    (void)s;\n");
    for (uint32_t i = 0; i < p->num_ops; i++) {
        ind__textf(t, "    s[%u] = ", p->num_inputs + i);
        ind__export_op(t, &p->op[i]);
        ind__textf(t, ";\n");
    }
    ind__textf(t, "    return !bad;\n}\n\n");
}

/* ---- memory */

static int ind__export_kind(const ind__buffer *b) {
    if (b->kind == IND__BUFFER_INPUT) return IND_BINDING_INPUT;
    if (b->kind == IND__BUFFER_CONST) return IND_BINDING_CONST;
    return b->output ? IND_BINDING_OUTPUT : -1;
}

/* The binding of a buffer, UINT32_MAX: none. */
static uint32_t ind__export_binding(const ind_module *m, const ind__buffer *b) {
    const int kind = ind__export_kind(b);
    for (uint32_t i = 0; kind >= 0 && i < m->num_bindings; i++)
        if ((int)m->binding[i].kind == kind && !strcmp(m->binding[i].name, b->name)) return i;
    return UINT32_MAX;
}

/* Where a buffer is: "IND_EXPORTED_BINDING, 3" or "IND_EXPORTED_WORKSPACE, 17". */
static void ind__export_place(ind__exporter *x, ind__text *t, uint32_t buffer) {
    const ind_module *m = x->module;
    const ind_schedule *s = m->desc.schedule;
    const ind__lowered *p = m->desc.lowered;
    uint32_t root = buffer, binding = ind__export_binding(m, &p->buffer[buffer]);
    while (s->storage && s->storage[root] && s->storage[root] != root && !ind__ok(s->offset[root]) &&
           ind__export_binding(m, &p->buffer[root]) == UINT32_MAX)
        root = s->storage[root];
    if (binding == UINT32_MAX) binding = ind__export_binding(m, &p->buffer[root]);
    if (binding != UINT32_MAX)
        ind__textf(t, "IND_EXPORTED_BINDING, %u", binding);
    else if (ind__ok(s->offset[root]))
        ind__textf(t, "IND_EXPORTED_WORKSPACE, %u", ind__export_slot(x, s->offset[root]));
    else
        ind__export_fail(x, IND_ERROR_VERIFY, "a kernel reads a buffer that has no memory");
}

/* ---- kernels */

/* The number of a variant's kernel. Identical kernels are one. */
static uint32_t ind__export_kernel(ind__exporter *x, const ind__variant *v) {
    for (uint32_t i = 0; i < x->num_kernels; i++)
        if (x->source[i] == v->source.text) return i;
    void *cubin = NULL;
    size_t bytes = 0;
    const ind_status status = ind__module_cubin(x->module, v, &cubin, &bytes);
    if (status && !x->status) x->status = status;
    if (status) return 0;
    ind__text *t = x->out;
    ind__textf(t, "static const unsigned char %s_kernel_%u[] IND_EXPORTED_ALIGNED = {\n", x->tag, x->num_kernels);
    for (size_t i = 0; i < bytes; i++)
        ind__textf(t, "%u,%s", ((const unsigned char *)cubin)[i], i % 32 == 31 || i + 1 == bytes ? "\n" : "");
    ind__textf(t, "};\n\n");
    ind__free(x->module->context, cubin);
    ind__textf(&x->kernels, "    {\"%s\", %s_kernel_%u},\n", v->source.entry, x->tag, x->num_kernels);
    x->source[x->num_kernels] = v->source.text;
    return x->num_kernels++;
}

/* A CUtensorMapDataType, as rt__map_type: NAME.c does not see the enum. */
static int ind__export_map_type(const ind__tensor_map *map) {
    if (map->tf32) return 11;
    return ind_dtype_bytes(map->dtype) == 1 ? 0 : map->dtype == IND_F16 ? 6 : 9;
}

static uint32_t ind__export_map(ind__exporter *x, const ind__kernel_arg *a) {
    const ind__tensor_map *map = a->map;
    ind__text *t = &x->maps;
    ind__textf(t, "    {{");
    ind__export_place(x, t, a->buffer);
    ind__textf(t, ", 0}, %d, %d, %d, %d, %u, {", (int)ind_dtype_bytes(map->dtype), ind__export_map_type(map), map->rank,
               map->swizzle, ind__export_slot(x, map->offset));
    for (int d = 0; d < map->rank; d++) ind__textf(t, "%s%u", d ? ", " : "", ind__export_slot(x, map->size[d]));
    ind__textf(t, "}, {");
    for (int d = 0; d < map->rank; d++) ind__textf(t, "%s%u", d ? ", " : "", ind__export_slot(x, map->stride[d]));
    ind__textf(t, "}, {");
    for (int d = 0; d < map->rank; d++) ind__textf(t, "%s%d", d ? ", " : "", map->box[d]);
    ind__textf(t, "}, %d", map->windows.rank);
    const int *list[3] = {map->windows.lower, map->windows.upper, map->windows.step};
    for (int i = 0; i < 3; i++) ind__textf(t, ", {%d, %d, %d}", list[i][0], list[i][1], list[i][2]);
    ind__textf(t, "},\n");
    return x->num_maps++;
}

static void ind__export_arg(ind__exporter *x, const ind__variant *v, const ind__kernel_arg *a) {
    const bool wide = v->index_bits == 64 || a->reciprocal || a->wide;
    ind__text *t = &x->args;
    ind__textf(t, "    {");
    switch (a->kind) {
    case IND__ARG_BUFFER: ind__export_place(x, t, a->buffer); break;
    case IND__ARG_SIZE:
        ind__textf(t, "%s, %u", wide ? "IND_EXPORTED_WIDE" : "IND_EXPORTED_NARROW", ind__export_slot(x, a->size));
        break;
    case IND__ARG_ERROR:
        ind__textf(t, "IND_EXPORTED_ERROR, %u", a->part);
        x->checks = true;
        break;
    case IND__ARG_LOOKBACK: ind__textf(t, "IND_EXPORTED_LOOKBACK, %u", ind__export_slot(x, a->size)); break;
    case IND__ARG_COUNTERS: ind__textf(t, "IND_EXPORTED_COUNTERS, 0"); break;
    case IND__ARG_PARTIALS: ind__textf(t, "IND_EXPORTED_PARTIALS, 0"); break;
    case IND__ARG_TENSOR_MAP: ind__textf(t, "IND_EXPORTED_MAP, %u", ind__export_map(x, a)); break;
    }
    ind__textf(t, ", %lld},\n", (long long)a->offset);
    x->num_args++;
}

/* The number of a slot in a table. */
static const char *ind__export_optional(ind__exporter *x, bool exists, ind_expr e, char text[32]) {
    if (!exists) return "IND_EXPORTED_NONE";
    snprintf(text, 32, "%u", ind__export_slot(x, e));
    return text;
}

static void ind__export_variant(ind__exporter *x, uint32_t i, ind__text *t) {
    const ind__variant *v = x->variant[i];
    const ind__row_plan *row = ind__row_of(v);
    ind_context *c = x->module->context;
    const bool rows = row->stage.persistent && row->cluster > 1;
    char guard[32], fitted[32], items[32], other[32] = "IND_EXPORTED_NONE";
    int64_t always, low, most = 0;
    const bool guarded = ind__ok(v->guard) && !(ind_expr_is_int(v->guard, &always) && always);
    const uint32_t first = x->num_args, kernel = ind__export_kernel(x, v);
    for (uint32_t k = 0; k < v->num_args; k++) ind__export_arg(x, v, &v->arg[k]);
    if (ind__ok(v->memory.shared)) ind_expr_bounds(v->memory.shared, &low, &most);
    if (most > x->plan->target.shared_per_block) most = x->plan->target.shared_per_block;
    if (x->alternative[i] != UINT32_MAX) snprintf(other, sizeof other, "%u", x->alternative[i]);
    ind__textf(t, "    {%u, %u, %u, %s, %s, %s, {", kernel, first, v->num_args,
               ind__export_optional(x, guarded, v->guard, guard),
               ind__export_optional(x, ind__ok(row->fitted), row->fitted, fitted),
               ind__export_optional(x, rows, row->stage.items, items));
    for (int d = 0; d < 3; d++)
        ind__textf(t, "%s%u", d ? ", " : "", ind__export_slot(x, ind__ok(v->grid[d]) ? v->grid[d] : ind_int(c, 1)));
    const bool shares = v->strategy == IND_STRATEGY_ROW_STAGED && v->blocks_per_sm > 1;
    ind__textf(t, "}, %u, %d, %d, %s, %u, %lld, %d, %d, %d, %d},\n",
               ind__export_slot(x, ind__ok(v->memory.shared) ? v->memory.shared : ind_int(c, 0)), v->threads,
               ind__cluster_of(v), other, ind__num_taken(v), (long long)most, shares ? v->blocks_per_sm : 0,
               v->guard_aligned, v->dependent != IND__LAUNCH_ORDERED, rows || ind__tile_of(v)->pair_m > 0);
    if (v->memory.num_counters > x->num_counters) x->num_counters = v->memory.num_counters;
    if (v->memory.partial_bytes > x->partial_bytes) x->partial_bytes = v->memory.partial_bytes;
}

/* Lists the variants of all steps, then one without clusters for each that has clusters. */
static void ind__export_list(ind__exporter *x) {
    for (uint32_t i = 0; i < x->plan->num_kernels; i++) {
        x->first[i] = x->num_variants;
        for (int k = 0; k < x->plan->kernel[i].num_variants; k++)
            x->variant[x->num_variants++] = &x->plan->kernel[i].variant[k];
    }
    const uint32_t num = x->num_variants;
    for (uint32_t i = 0; i < num; i++) {
        const ind__variant *v = x->variant[i], *other = v;
        x->alternative[i] = x->alternative[num + i] = UINT32_MAX;
        while (other && ind__cluster_of(other) > 1) other = other->fallback;
        if (ind__cluster_of(v) < 2) continue;
        if (!other) other = v->alone;
        if (!other) continue;
        x->alternative[i] = x->num_variants;
        x->variant[x->num_variants++] = other;
    }
}

/* ---- one module */

static void ind__export_steps(ind__exporter *x) {
    const ind_module *m = x->module;
    if (!x->plan->num_kernels) return;
    ind__textf(x->out, "static const ind_exported_step %s_step[] = {\n", x->tag);
    for (uint32_t i = 0; i < x->plan->num_kernels; i++) {
        const ind_kernel *k = &m->desc.schedule->kernel[i];
        ind__textf(x->out, "    {%u, %d, \"%s\", \"%s\"},\n", x->first[i], x->plan->kernel[i].num_variants, k->name,
                   ind__index_origin(m, k));
    }
    ind__textf(x->out, "};\n\n");
}

static void ind__export_table(ind__exporter *x, const char *type, const char *name, const ind__text *rows) {
    const ind_status status = ind__text_status(rows);
    if (status && !x->status) x->status = status;
    if (rows->size)
        ind__textf(x->out, "static const ind_exported_%s %s_%s[] = {\n%s};\n\n", type, x->tag, name, rows->data);
}

static void ind__export_bindings(ind__exporter *x) {
    ind__textf(x->out, "static const uint32_t %s_bytes[] = {", x->tag);
    for (uint32_t i = 0; i < x->module->num_bindings; i++) {
        const ind__lowered *p = x->module->desc.lowered;
        uint32_t slot = UINT32_MAX;
        for (uint32_t b = 1; b < p->num_buffers && slot == UINT32_MAX; b++)
            if (ind__export_binding(x->module, &p->buffer[b]) == i)
                slot = ind__export_slot(x, ind__buffer_most_bytes(p, &p->buffer[b]));
        ind__textf(x->out, "%s%u", i ? ", " : "", slot);
    }
    ind__textf(x->out, "};\n\n");
}

static ind_status ind__export_allowed(ind__exporter *x) {
    const ind_module *m = x->module;
    if (x->plan->target.ptx) return ind__export_fail(x, IND_ERROR_NOT_SUPPORTED, "the target is PTX");
    if (m->desc.lowered->num_unbacked)
        return ind__export_fail(x, IND_ERROR_NOT_SUPPORTED, "it has sizes that depend on data");
    for (uint32_t i = 0; i < m->desc.schedule->num_kernels; i++)
        if (m->desc.schedule->kernel[i].body->call)
            return ind__export_fail(x, IND_ERROR_NOT_SUPPORTED, "it has extern calls");
    return IND_OK;
}

static void ind__export_tables(ind__exporter *x) {
    ind__text rows = {.context = x->module->context};
    ind__export_list(x);
    for (uint32_t i = 0; i < x->num_variants && !x->status; i++) ind__export_variant(x, i, &rows);
    ind__export_table(x, "kernel", "kernels", &x->kernels);
    ind__export_table(x, "map", "map", &x->maps);
    ind__export_table(x, "arg", "arg", &x->args);
    ind__export_table(x, "variant", "variant", &rows);
    ind__export_steps(x);
    ind__export_bindings(x);
    ind__text_free(&rows);
}

/* "NAME_0_main_arg, ", or "NULL, " for a table without rows. */
static void ind__export_pointer(const ind__exporter *x, ind__text *t, const char *name, uint32_t rows) {
    if (rows)
        ind__textf(t, "%s_%s, ", x->tag, name);
    else
        ind__textf(t, "NULL, ");
}

/* Writes the function of the slots, and an ind_exported_launches with the tables to `member`. */
static void ind__export_member(const ind__exporter *x, uint32_t workspace, ind__text *member) {
    char function[80];
    snprintf(function, sizeof function, "%s_slots", x->tag);
    ind__export_program(x->out, &x->program, function);
    ind__textf(member, "{%s, %u, %u, %s_bytes, ", function, x->program.num_inputs + x->program.num_ops, workspace,
               x->tag);
    ind__export_pointer(x, member, "step", x->plan->num_kernels);
    ind__export_pointer(x, member, "variant", x->num_variants);
    ind__export_pointer(x, member, "arg", x->num_args);
    ind__export_pointer(x, member, "map", x->num_maps);
    ind__export_pointer(x, member, "kernels", x->num_kernels);
    ind__textf(member, "%u, %u, %u, %u, %u, %u, %lld, %d, %u}", x->plan->num_kernels, x->num_variants, x->num_args,
               x->num_maps, x->num_kernels, x->num_counters, (long long)x->partial_bytes, x->checks,
               (unsigned)x->module->desc.lowered->options.watchdog_ms);
}

/* Writes the tables, and the member of the target that names them to `member`. */
static ind_status ind__export_module(ind_module *m, const char *tag, ind__text *out, ind__text *member) {
    ind_context *c = m->context;
    const size_t most = (size_t)m->desc.plan->num_kernels * IND_MAX_VARIANTS * 2 + 1;
    ind__exporter x = {.module = m,
                       .plan = m->desc.plan,
                       .out = out,
                       .args = {.context = c},
                       .maps = {.context = c},
                       .kernels = {.context = c},
                       .variant = (const ind__variant **)ind__alloc(c, most * sizeof *x.variant),
                       .alternative = (uint32_t *)ind__alloc(c, most * sizeof *x.alternative),
                       .first = (uint32_t *)ind__alloc(c, most * sizeof *x.first),
                       .source = (const char **)ind__alloc(c, most * sizeof *x.source)};
    snprintf(x.tag, sizeof x.tag, "%s", tag);
    if (!x.variant || !x.alternative || !x.first || !x.source) x.status = IND_ERROR_OUT_OF_MEMORY;
    if (!x.status) x.status = ind__export_allowed(&x);
    if (!x.status) x.status = ind__program_init(&x.program, c, m->desc.sizes, m->desc.num_sizes);
    const uint32_t workspace = x.status ? 0 : ind__export_slot(&x, m->desc.schedule->arena_bytes);
    if (!x.status) ind__export_tables(&x);
    if (!x.status) ind__export_member(&x, workspace, member);
    ind__program_free(&x.program);
    ind__text_free(&x.args), ind__text_free(&x.maps), ind__text_free(&x.kernels);
    ind__free(c, x.variant), ind__free(c, x.alternative), ind__free(c, x.first), ind__free(c, x.source);
    return x.status;
}
