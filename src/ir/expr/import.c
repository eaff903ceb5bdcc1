/* ------------------------------------------------------------------------------------------------ >>import */

ind__import ind__import_begin(ind_context *to) {
    ind__import m = {.to = to, .made = {.context = to}};
    return m;
}

void ind__import_end(ind__import *m) {
    ir__map_free(&m->made);
}

static ind_expr ir__import_symbol(ind__import *m, const ind_symbol *symbol) {
    ind_symbol s = *symbol;
    s.extent = ind__import_expr(m, s.extent);
    return ind__ok(symbol->extent) && !ind__ok(s.extent) ? ir__expr_none(m->to) : ind_symbol_expr(m->to, &s);
}

/* Nodes are canonical in every context, so none is simplified again. */
static ind_expr ir__import_node(ind__import *m, ind_expr e) {
    const int n = ind_expr_num_args(e);
    uint32_t few[16] = {0}, *arg = n <= 16 ? few : (uint32_t *)ind__alloc(m->to, (size_t)n * sizeof *arg);
    bool ok = arg != NULL;
    for (int i = 0; i < n && ok; i++) {
        arg[i] = ind__import_expr(m, ind_expr_arg(e, i)).id;
        ok = arg[i] != 0;
    }
    ind_expr made = ok ? ir__intern(m->to, ind_expr_query_kind(e), arg, n, 0) : ir__expr_none(m->to);
    if (arg != few) ind__free(m->to, arg);
    return made;
}

ind_expr ind__import_expr(ind__import *m, ind_expr e) {
    int64_t value;
    if (!ind__ok(e)) return ir__expr_none(m->to);
    if (e.context == m->to) return e;
    if (ind_expr_is_int(e, &value)) return ind_int(m->to, value);
    const uint32_t known = ir__map_get(&m->made, e.id);
    if (known) return ir__expr_make(m->to, known);
    const ind_symbol *s = ind_expr_symbol(e);
    ind_expr made = s ? ir__import_symbol(m, s) : ir__import_node(m, e);
    return ind__ok(made) && ir__map_put(&m->made, e.id, made.id) ? made : ir__expr_none(m->to);
}

ind_expr ind__in_context(ind_context *c, ind_expr e) {
    if (!ind__ok(e) || e.context == c) return ind__ok(e) ? e : ir__expr_none(c);
    if (e.context->root != c->root) {
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size expressions of two different contexts");
        return ir__expr_none(c);
    }
    ind__import m = ind__import_begin(c);
    e = ind__import_expr(&m, e);
    ind__import_end(&m);
    return e;
}

ind_status ind__import_facts(ind__import *m, const ind_facts *f, ind_facts *to) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < f->declared.num && !status; i++)
        status = ind_facts_assume(to, ind__import_expr(m, ir__id_at(f, &f->declared, i)));
    for (uint32_t i = 0; i < f->guard.num && !status; i++) {
        ind_expr guard = ind__import_expr(m, ir__id_at(f, &f->guard, i));
        status = ind__ok(guard) ? ir__facts_add(to, guard, &to->guard) : ind__failed(m->to);
    }
    return status;
}

static ind_body *ir__body_alloc(ind_context *c, const ind_body *b);

ind_body *ind__import_body(ind__import *m, const ind_body *b) {
    ind_body *copy = ir__body_alloc(m->to, b);
    bool ok = copy != NULL;
    for (uint32_t i = 0; i < b->num_index && ok; i++) {
        copy->index[i] = ind__import_expr(m, b->index[i]);
        ok = ind__ok(copy->index[i]) || !ind__ok(b->index[i]);
    }
    for (int v = 0; v < b->rank + b->rrank && ok; v++) {
        copy->var[v] = ind__import_expr(m, b->var[v]);
        ok = ind__ok(copy->var[v]);
    }
    if (ok) return copy;
    ind__body_free(copy);
    return NULL;
}
