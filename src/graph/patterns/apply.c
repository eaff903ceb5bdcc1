/* ---- patterns: replacement. Parses the statements of a pattern's second part with the names of a match. */

typedef struct pattern__maker {
    const graph__rewrite *r;
    const pattern__application *a;
    bool absent; /* an op of the statement requires an operand that is absent */
} pattern__maker;

/* Returns the tensor of the rewritten graph that a name stands for; 0: absent. */
static uint32_t pattern__made_tensor(const pattern__maker *k, uint32_t name) {
    if (k->a->made[name]) return k->a->made[name];
    const uint32_t t = k->a->bound[name].tensor;
    return t ? k->r->map[t] : 0;
}

static bool pattern__give_operand(ind__parser *p, const ind__parsed_call *call, uint32_t k, uint32_t *id) {
    pattern__maker *maker = p->scope->user;
    bool whole;
    ind__skip(p);
    const size_t length = ind__name_length(p->at);
    if (!length || (ind__number_length(p->at, &whole) && ind__number_allowed(call->op, k))) return false;
    const uint32_t n = pattern__find(maker->a->pattern, p->at, length);
    if (n == IND__PATTERN_NO_NAME) return false;
    if (pattern__is_real(&maker->a->pattern->names[n])) {
        ind__attr number = *maker->a->bound[n].attr;
        const bool given = number.kind != IND__ATTR_NONE;
        number.is_int = number.kind == IND__ATTR_SCALAR && number.is_int;
        number.kind = IND__ATTR_SCALAR;
        *id = given ? ind__add_scalar(p->g, number).id : 0;
    } else {
        *id = pattern__made_tensor(maker, n);
    }
    maker->absent = maker->absent || (!*id && (call->function || !ind__operand_row(call->schema, k)->optional));
    p->at += length;
    return true;
}

static ind_expr pattern__give_size(ind__parser *p, const char *name, size_t length) {
    const pattern__maker *maker = p->scope->user;
    const uint32_t n = pattern__find(maker->a->pattern, name, length);
    ind_expr none = {p->g->context, 0};
    return n != IND__PATTERN_NO_NAME ? maker->a->bound[n].size : none;
}

/* The value of a name for a number; 1 if its alternative was not matched. */
static bool pattern__value_of_name(const void *user, const char *name, size_t length, graph__typed_number *value) {
    const pattern__maker *k = user;
    const uint32_t n = pattern__find(k->a->pattern, name, length);
    if (n == IND__PATTERN_NO_NAME) return false;
    *value = (graph__typed_number){IND_I64, 1, 0};
    if (k->a->bound[n].tensor) (void)graph__uniform_of(k->r->from, k->a->bound[n].tensor, value);
    return true;
}

static bool pattern__give_attr(ind__parser *p, ind__parsed_call *call, uint32_t i) {
    const pattern__maker *k = p->scope->user;
    ind__attr *a = &call->attr[i];
    const ind__attr_kind kind = call->schema->attr[i].kind;
    if (pattern__at_product(p, k->a->pattern, &call->schema->attr[i])) {
        const pattern__factor_fn find = {pattern__value_of_name, k};
        graph__typed_number x = {IND_I64, 0, 0};
        if (!pattern__need_product(p, &find, &x)) return true;
        *a = (ind__attr){.kind = kind, .is_int = kind == IND__ATTR_SCALAR && !ind_dtype_is_float(x.dtype)};
        a->i = a->is_int ? x.i : 0;
        a->f = a->is_int ? 0 : graph__typed_number_value(x);
        return true;
    }
    const size_t length = ind__name_length(p->at);
    const uint32_t n = length ? pattern__find(k->a->pattern, p->at, length) : IND__PATTERN_NO_NAME;
    if (n == IND__PATTERN_NO_NAME) return false;
    const pattern__binding *b = &k->a->bound[n];
    switch (k->a->pattern->names[n].kind) {
    case PATTERN__ATTR: *a = *b->attr; break;
    case PATTERN__DTYPE: *a = (ind__attr){.kind = IND__ATTR_DTYPE, .i = b->dtype}; break;
    default: /* an integer must be a constant; an expression is the parser's */
        if (kind != IND__ATTR_INT || !ind_expr_is_int(b->size, &a->i)) return false;
        a->kind = IND__ATTR_INT;
    }
    p->at += length;
    return true;
}

/* Adds the op of one alternative, or refers to a tensor. *first: the first result; 0: it is absent. */
static void pattern__make_alternative(ind__parser *p, uint32_t *first) {
    pattern__maker *maker = p->scope->user;
    ind__parsed_call call;
    memset(&call, 0, sizeof call);
    *first = 0;
    maker->absent = false;
    if (!ind__at_call(p)) {
        call.op = IND_OP_ALIAS;
        call.schema = &p->g->schema[call.op];
        (void)pattern__give_operand(p, &call, 0, first);
        p->g->last_results = 1;
        return;
    }
    if (ind__need_op(p, &call) && ind__parse_arguments(p, &call) && !maker->absent)
        *first = ind__add_call(p, &call, false).id;
    ind__free(p->g->context, call.operand);
}

/* Makes one statement: the first alternative whose op has all operands that it requires. Records its results under
   their names. */
static bool pattern__make(graph__rewrite *r, pattern__application *a, uint32_t at) {
    pattern__maker maker = {.r = r, .a = a};
    ind__parse_scope scope = {pattern__give_operand, pattern__give_attr, pattern__give_size, &maker};
    ind__parser p = {.g = r->to, .text = a->pattern->text, .at = a->pattern->text + at, .scope = &scope};
    uint32_t name[IND_MAX_RANK], num = 0, first = 0;
    do {
        ind__skip(&p);
        name[num++] = pattern__find(a->pattern, p.at, ind__name_length(p.at));
        p.at += ind__name_length(p.at);
    } while (ind__take(&p, ','));
    if (ind__need(&p, '=')) do
            pattern__make_alternative(&p, &first);
        while (!p.status && !r->to->status && !first && ind__take(&p, '|'));
    if (p.status && !r->to->status) ind__graph_fail(r->to, p.status, "%s", p.error);
    if (!r->to->status && first && num > r->to->last_results)
        ind__graph_fail(r->to, IND_ERROR_INVALID_ARGUMENT, "%s has %u results", a->pattern->names[name[0]].name,
                        (unsigned)r->to->last_results);
    for (uint32_t k = 0; k < num && !r->to->status; k++) a->made[name[k]] = first ? first + k : 0;
    return !r->to->status;
}

/* Returns NULL if every output has the type of the tensor that it replaces; else its name. */
static const char *pattern__wrong_type(const graph__rewrite *r, const pattern__application *a) {
    for (uint32_t n = 0; n < a->pattern->num_names; n++) {
        if (!a->pattern->names[n].output) continue;
        const ind__tensor_info *want = &r->from->tensor[a->bound[n].tensor];
        if (!a->made[n] || !graph__same_type(want, &r->to->tensor[a->made[n]])) return want->name;
    }
    return NULL;
}

/* Logs the names of the ops that a pattern replaces. */
static void pattern__log(const graph__rewrite *r, const pattern__application *a, const char *refused) {
    ind__text t = {.context = r->to->context};
    for (uint32_t s = 0; s < a->pattern->num_steps; s++) {
        const ind__node *n = &r->from->node[a->node[s]];
        if (!a->node[s]) continue;
        ind__textf(&t, "%s%s (%s)", t.data ? ", " : "", r->from->tensor[n->result].name,
                   n->name ? n->name : ind__op_name(n->op));
    }
    if (refused)
        graph__log(r->log, a->pattern->name, true, "%s: refused: %s", t.data ? t.data : "", refused);
    else
        graph__log(r->log, a->pattern->name, false, "replaces %s", t.data ? t.data : "");
    r->log->failed = r->log->failed || t.failed;
    ind__text_free(&t);
}

/* Keeps the original ops if the replacement failed; false: out of memory. */
static bool pattern__refuse(graph__rewrite *r, pattern__application *a, const char *why) {
    a->refused = true;
    if (r->to->status == IND_ERROR_OUT_OF_MEMORY) return false;
    pattern__log(r, a, why);
    r->to->status = IND_OK;
    r->to->error[0] = 0;
    return true;
}

/* Adds the ops of a replacement; its inputs are in the rewritten graph. False: out of memory. */
static bool graph__apply(graph__rewrite *r, pattern__application *a) {
    const ind__node *root = &r->from->node[a->node[a->pattern->root]];
    char why[300];
    a->done = true;
    for (uint32_t i = 0; i < a->pattern->num_made; i++) {
        ind_here(r->to, root->file, root->line);
        if (pattern__make(r, a, a->pattern->made[i])) continue;
        snprintf(why, sizeof why, "%.290s", r->to->error);
        return pattern__refuse(r, a, why);
    }
    const char *wrong = pattern__wrong_type(r, a);
    if (wrong) {
        snprintf(why, sizeof why, "%.200s would have another type or shape", wrong);
        return pattern__refuse(r, a, why);
    }
    for (uint32_t n = 0; n < a->pattern->num_names; n++)
        if (a->pattern->names[n].output) graph__take_name(r, a->made[n], r->from->tensor[a->bound[n].tensor].name);
    pattern__log(r, a, NULL);
    return !r->to->status;
}
