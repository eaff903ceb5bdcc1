/* ---- scans with a combine function of the user: shape rules */

/* Checks operand k of a scan: value k of an element (all have the same shape), an identity, or the segments. */
static ind_status ind__check_scanned(ind__infer *in, uint32_t k, uint32_t count) {
    const ind__tensor_info *x = ind__operand(in, 0), *y = ind__operand(in, k);
    ind__shape s = {0};
    bool weak = y->weak, same = y->rank == x->rank;
    for (int d = 0; d < x->rank; d++) s.size[d] = x->size[d];
    s.rank = x->rank;
    for (int d = 0; same && d < x->rank; d++) same = ind_known_eq(x->size[d], y->size[d]);
    if (k < count && weak)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "value %u is a number; a tensor is needed (ind_full makes one)",
                           (unsigned)k);
    if (k < count)
        return same ? IND_OK
                    : ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                                  "value %u, %s, is %s; all must have the shape of %s (%s)", (unsigned)k,
                                  ind__describe_name(in, k), ind__describe_type(in, k), ind__describe_name(in, 0),
                                  ind__describe_type(in, 0));
    if (weak) return IND_OK;
    if (ind__broadcast(in, &s, k, 0)) return in->status;
    bool expands = s.rank == x->rank;
    for (int d = 0; expands && d < s.rank; d++) expands = ind_known_eq(s.size[d], x->size[d]);
    return expands ? IND_OK
                   : ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s (%s) does not expand to the shape of %s (%s)",
                                 ind__describe_name(in, k), ind__describe_type(in, k), ind__describe_name(in, 0),
                                 ind__describe_type(in, 0));
}

static ind_status ind__rule_associative_scan(ind__infer *in) {
    uint32_t count = (uint32_t)in->attr[1].i;
    bool exclusive = in->attr[3].i, segmented = in->attr[4].i;
    int dim;
    if (in->attr[1].i < 1 || in->attr[1].i > IND__MAX_STATES - segmented)
        return ind__reject(in, IND_ERROR_LIMIT, "%lld values an element are given; 1 to %d are possible",
                           (long long)in->attr[1].i, IND__MAX_STATES - segmented);
    if (in->num_operands != count + (exclusive ? count : 0) + segmented)
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%u operands are given, which does not fit",
                           (unsigned)in->num_operands);
    if (!in->body) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "the op has no combine function");
    const ind__tensor_info *x = ind__operand(in, 0);
    for (uint32_t k = 0; k < in->num_operands; k++)
        if (ind__check_scanned(in, k, count)) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim) || ind__need_results(in, count)) return in->status;
    if (segmented && ind__operand(in, in->num_operands - 1)->dtype != IND_BOOL)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "the segments are %s; they must be bool",
                           ind__describe_type(in, in->num_operands - 1));
    for (uint32_t k = 0; k < count; k++) ind__set_result(in, (int)k, ind__operand(in, k)->dtype, x->size, x->rank);
    return IND_OK;
}

/* ---- scans with a combine function of the user: builders */

static ind_value ind__combine_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank) {
    (void)x, (void)index, (void)rank;
    ind__fail(o->context, IND_ERROR_INVALID_ARGUMENT, "a combine function loads nothing");
    return (ind_value){0};
}

/* Returns value k of the left (side 0) or right (side 1) element, while the combine function is recorded. */
static ind_value ind__combine_value(ind_ops *o, const ind_scan_desc *d, int side, int k) {
    const ind__tensor_info *t = ind__tensor_of(d->x[k]);
    return ind__emit_load(o, (uint32_t)(side * d->num + k), ind_dtype_compute(t->dtype), NULL, 0);
}

/* Stores the function's results, each in the type of its input value. */
static bool ind__combine_store(ind_ops *o, const ind_scan_desc *d, const ind_value *out) {
    for (int k = 0; k < d->num; k++) {
        const ind__tensor_info *t = ind__tensor_of(d->x[k]);
        ind_value v = out[k].id ? ind_op_cast(o, out[k], ind_dtype_compute(t->dtype)) : out[k];
        if (!v.id && !ind__state_of(o->context)->status)
            ind__fail(o->context, IND_ERROR_INVALID_ARGUMENT, "it gave no value %d", k);
        if (!v.id) return false;
        ind__emit_store(o, (uint32_t)k, NULL, 0, v);
    }
    return !ind__state_of(o->context)->status;
}

static bool ind__combine_is_pure(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        ind_loop_op op = (ind_loop_op)b->inst[i].op;
        bool own = op == IND_LOOP_LOAD || op == IND_LOOP_STORE || op == IND_LOOP_CONSTANT || op == IND_LOOP_CAST ||
                   op == IND_LOOP_CALL;
        if (!own && ind__loop_op_class(op) == 's')
            return ind__fail(b->context, IND_ERROR_INVALID_ARGUMENT, "a combine function has no indices"), false;
        if (ind__loop_op_class(op) == 'r')
            return ind__fail(b->context, IND_ERROR_INVALID_ARGUMENT, "a combine function draws no random bits"), false;
    }
    return true;
}

static ind_body *ind__combine_record(ind_graph *g, const ind_scan_desc *d) {
    ind__recorder r;
    ind_value left[IND__MAX_STATES], right[IND__MAX_STATES], out[IND__MAX_STATES] = {{0}};
    memset(&r, 0, sizeof r);
    if (ind__record_begin(&r, g->context, NULL, 0, NULL, 0)) return NULL;
    r.ops.load_tensor = ind__combine_load;
    bool ok = true;
    for (int k = 0; k < d->num && ok; k++) {
        left[k] = ind__combine_value(&r.ops, d, 0, k);
        right[k] = ind__combine_value(&r.ops, d, 1, k);
        ok = left[k].id && right[k].id;
    }
    if (ok) d->combine(&r.ops, left, right, out, d->user);
    if (ok && !g->status && ind__combine_store(&r.ops, d, out) && ind__combine_is_pure(r.body))
        return ind__record_end(&r);
    ind__record_abort(&r);
    return NULL;
}

/* Prints a value as an argument: l0 and r0 for the first values of the left and right element, numbers with their
   types, others by the name of their statement. */
static void ind__print_combine_value(ind__text *t, const ind_body *b, uint32_t n, int num) {
    const ind__inst *i = &b->inst[n];
    if (i->op == IND_LOOP_LOAD) {
        bool right = (int)i->source >= num;
        ind__textf(t, "%c%d", right ? 'r' : 'l', (int)i->source - (right ? num : 0));
    } else if (i->op == IND_LOOP_CONSTANT) {
        ind__textf(t, "%s(", ind_dtype_name((ind_dtype)i->dtype));
        if (ind_dtype_is_float((ind_dtype)i->dtype))
            ind__text_double(t, i->imm.f);
        else
            ind__textf(t, "%lld", (long long)i->imm.i);
        ind__textf(t, ")");
    } else {
        ind__textf(t, "t%u", (unsigned)n);
    }
}

static void ind__print_combine_call(ind__text *t, const ind_body *b, uint32_t n, int num) {
    const ind__inst *i = &b->inst[n];
    int arity = i->op == IND_LOOP_CALL ? i->imm.function->num_args : ind__loop_op_arity((ind_loop_op)i->op);
    ind__textf(t, "%s(",
               i->op == IND_LOOP_CALL   ? i->imm.function->name
               : i->op == IND_LOOP_CAST ? ind_dtype_name((ind_dtype)i->dtype)
                                        : ind__loop_op_name((ind_loop_op)i->op));
    for (int k = 0; k < arity; k++) {
        if (k) ind__textf(t, ", ");
        ind__print_combine_value(t, b, i->arg[k], num);
    }
    ind__textf(t, ")");
}

/* Prints "t5 = gt(r0, l0); where(t5, r0, l0), where(t5, r1, l1)": see the grammar. A value used by a single result is
   written there. */
static void ind__print_combine(ind__text *t, const ind_body *b, int num) {
    for (uint32_t n = 1; n < b->num_inst; n++) {
        const ind__inst *i = &b->inst[n];
        bool leaf = i->op == IND_LOOP_LOAD || i->op == IND_LOOP_CONSTANT || i->op == IND_LOOP_STORE, needed = false;
        for (uint32_t m = n + 1; !leaf && m < b->num_inst; m++)
            for (int k = 0; k < IND__MAX_ARGS; k++)
                needed = needed || (b->inst[m].op != IND_LOOP_STORE && b->inst[m].arg[k] == n);
        if (!needed) continue;
        ind__textf(t, "t%u = ", (unsigned)n);
        ind__print_combine_call(t, b, n, num);
        ind__textf(t, "; ");
    }
    for (uint32_t n = 1, k = 0; n < b->num_inst; n++) {
        const ind__inst *i = &b->inst[n], *v = &b->inst[i->arg[0]];
        if (i->op != IND_LOOP_STORE) continue;
        bool named = v->op == IND_LOOP_LOAD || v->op == IND_LOOP_CONSTANT;
        for (uint32_t m = 1; m < b->num_inst; m++)
            for (int a = 0; a < IND__MAX_ARGS; a++)
                named = named || (b->inst[m].op != IND_LOOP_STORE && b->inst[m].arg[a] == i->arg[0]);
        if (k++) ind__textf(t, ", ");
        if (named)
            ind__print_combine_value(t, b, i->arg[0], num);
        else
            ind__print_combine_call(t, b, i->arg[0], num);
    }
}

/* Creates the attribute with the text of a combine function, and declares the functions that it calls. */
static ind_status ind__combine_attr(ind_graph *g, const ind_body *b, int num, ind__attr *a) {
    ind__text t = {.context = g->context};
    for (uint32_t n = 1; n < b->num_inst; n++)
        if (b->inst[n].op == IND_LOOP_CALL && ind__graph_add_function(g, b->inst[n].imm.function)) return g->status;
    ind__print_combine(&t, b, num);
    *a = (ind__attr){.kind = IND__ATTR_STR};
    if (!ind__text_status(&t)) a->s = ind__arena_string(&g->arena, t.data, t.size);
    ind__text_free(&t);
    return a->s ? IND_OK : ind__graph_no_memory(g, "associative_scan");
}

static ind_status ind__check_scan_tensor(ind_graph *g, const char *name, const char *what, ind_tensor x) {
    if (x.graph == g && ind__tensor_of(x)) return IND_OK;
    return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: %s is not a tensor of this graph", name, what);
}

static ind_status ind__check_scan_desc(ind_graph *g, const char *name, const ind_scan_desc *d) {
    if (!d || !d->combine || !d->x) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: no %s given", name,
                               !d            ? "desc is"
                               : !d->combine ? "combine function is"
                                             : "x is");
    }
    const int most = IND__MAX_STATES - (d->segments.id || d->starts.id);
    if (d->num < 1 || d->num > most) {
        return ind__graph_fail(g, IND_ERROR_LIMIT, "%s: an element has %d values; 1 to %d are possible", name, d->num,
                               most);
    }
    if (d->exclusive && !d->identity) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: an exclusive scan needs the identity", name);
    }
    if (d->segments.id && d->starts.id) {
        return ind__graph_fail(g, IND_ERROR_INVALID_ARGUMENT, "%s: segments and starts are both given", name);
    }
    for (int k = 0; k < d->num && !g->status; k++) {
        ind__check_scan_tensor(g, name, "a value", d->x[k]);
        if (d->exclusive) ind__check_scan_tensor(g, name, "an identity", d->identity[k]);
    }
    if (d->segments.id) ind__check_scan_tensor(g, name, "segments", d->segments);
    if (d->starts.id) ind__check_scan_tensor(g, name, "starts", d->starts);
    return g->status;
}

/* Creates the flags of segments that begin at `starts` along dim of x: rank of x, size 1 in all other dimensions. */
static ind_tensor ind__segment_flags(ind_graph *g, ind_tensor x, int dim, ind_tensor starts) {
    int rank = ind_tensor_rank(x), at = dim < 0 ? dim + rank : dim;
    ind_tensor none = {g, 0};
    if (at < 0 || at >= rank) return none;
    ind_expr size = ind_tensor_size(x, at);
    ind_tensor flags = ind_index_fill(ind_zeros(g, &size, 1, IND_BOOL), 0, starts, 1);
    for (int d = 0; d < rank; d++)
        if (d != at) flags = ind_unsqueeze(flags, d);
    return flags;
}

static ind_tensor ind__add_scan(ind_graph *graph, const ind_scan_desc *d) {
    char name[64];
    uint32_t operand[2 * IND__MAX_STATES + 1], num = 0;
    ind__clean_name(name, sizeof name, d ? d->name : NULL, "associative_scan");
    if (ind__check_scan_desc(graph, name, d)) return ind__graph_tensor(graph, 0);
    ind_tensor flags = d->starts.id ? ind__segment_flags(graph, d->x[0], d->dim, d->starts) : d->segments;
    for (int k = 0; k < d->num; k++) operand[num++] = d->x[k].id;
    for (int k = 0; k < d->num && d->exclusive; k++) operand[num++] = d->identity[k].id;
    if (flags.id) operand[num++] = flags.id;
    ind__state_of(graph->context)->status = IND_OK; /* later failures are the function's */
    ind_body *body = graph->status ? NULL : ind__combine_record(graph, d);
    if (!body && !graph->status) {
        ind_status status = ind_error_status(graph->context);
        char copy[512];
        snprintf(copy, sizeof copy, "%.500s", status ? ind_error(graph->context) : "it returned no value");
        ind__graph_fail(graph, status ? status : IND_ERROR_INVALID_ARGUMENT, "%s: the function failed: %s", name, copy);
    }
    ind__attr a[6] = {ind__attr_int(d->dim), ind__attr_int(d->num), ind__attr_bool(d->reverse),
                      ind__attr_bool(d->exclusive), ind__attr_bool(flags.id != 0)};
    if (body && !ind__combine_attr(graph, body, d->num, &a[5]))
        return ind__graph_add(graph, IND_OP_ASSOCIATIVE_SCAN, operand, num, a, 6, body, name);
    ind__body_free(body);
    return ind__graph_tensor(graph, 0);
}

ind_tensor ind_associative_scan(ind_graph *graph, const ind_scan_desc *desc) {
    if (!graph || graph->status) return ind__graph_tensor(graph, 0);
    const uint32_t refusals = ind__refusals(graph->context);
    ind_facts *before = ind__graph_enter(graph);
    ind_tensor result = ind__add_scan(graph, desc);
    ind__graph_leave(graph, before);
    return ind__graph_refused(graph, refusals, "associative_scan") ? ind__graph_tensor(graph, 0) : result;
}

/* ---- scans with a combine function of the user: lowerings */

/* ---- operands: the values, the identities, the segments */

typedef struct graph__combine {
    graph__lower_ctx *l;
    int num, rank, dim;
    bool reverse, exclusive, segmented;
    ind_dtype dtype[IND__MAX_STATES];
    const ind_value *left, *right;
    ind_value *out;
} graph__combine;

/* True if a segment begins at this position, in scan direction. In reverse it begins after the next segment's first
   element; the value at the very last position does not matter. */
static ind_value graph__combine_flag(ind_ops *o, const graph__combine *u, const ind_expr *index) {
    ind_expr at[IND_MAX_RANK], next = ind_expr_add(index[u->dim], ind_int(ind_op_context(o), 1));
    uint32_t k = u->l->node->num_operands - 1;
    if (!u->reverse) return graph__lower_operand_as(o, u->l, k, index, u->rank, IND_BOOL);
    for (int d = 0; d < u->rank; d++) at[d] = d == u->dim ? next : index[d];
    ind_value inside = ind_op_index(o, ind_expr_lt(next, u->l->result->size[u->dim]), IND_BOOL), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    ind_value flag = graph__lower_operand_as(o, u->l, k, at, u->rank, IND_BOOL);
    o->mask = outer;
    return ind_op_and(o, inside, flag);
}

static bool graph__combine_element(ind_ops *o, const ind_expr *index, ind_value *out, void *user) {
    const graph__combine *u = user;
    for (int k = 0; k < u->num; k++) {
        ind_dtype type = ind_dtype_compute(u->dtype[k]);
        out[k] = graph__lower_operand_as(o, u->l, (uint32_t)k, index, u->rank, type);
        if (!out[k].id) return false;
    }
    if (u->segmented) out[u->num] = graph__combine_flag(o, u, index);
    return !u->segmented || out[u->num].id;
}

static ind_value graph__combine_argument(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    const graph__combine *u = user;
    int k = (int)inst->source;
    (void)o, (void)index;
    return k < u->num ? u->left[k] : u->right[k - u->num];
}

static void graph__combine_result(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    const graph__combine *u = user;
    (void)o, (void)index;
    u->out[inst->source].id = inst->arg[0];
}

/* (flag, x) of a segmented scan combines to: either flag; right x if a segment begins there, else the combined x. */
static bool graph__combine_run(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out, void *user) {
    graph__combine *u = user;
    ind__replay replay = {
        .body = u->l->node->body, .load = graph__combine_argument, .store = graph__combine_result, .user = u};
    u->left = left, u->right = right, u->out = out;
    if (!ind__body_replay(o, &replay).id) return false;
    for (int k = 0; k < u->num; k++) {
        if (u->segmented) out[k] = ind_op_where(o, right[u->num], right[k], out[k]);
        if (!out[k].id) return false;
    }
    if (u->segmented) out[u->num] = ind_op_or(o, left[u->num], right[u->num]);
    return !u->segmented || out[u->num].id;
}

/* The identity if nothing precedes the position, in the row or in its segment. */
static ind_value graph__combine_finish(ind_ops *o, const ind_expr *index, int which, ind_value v, void *user) {
    const graph__combine *u = user;
    ind_context *c = ind_op_context(o);
    ind_expr first = ind_int(c, 0);
    if (u->reverse) first = ind_expr_sub(u->l->result->size[u->dim], ind_int(c, 1));
    ind_value begins = ind_op_index(o, ind_expr_eq(index[u->dim], first), IND_BOOL);
    if (u->segmented) begins = ind_op_or(o, begins, graph__combine_flag(o, u, index));
    ind_value none = graph__lower_operand_as(o, u->l, (uint32_t)(u->num + which), index, u->rank, ind_op_dtype(o, v));
    return ind_op_where(o, begins, none, v);
}

/* The only element or, if exclusive, the identity. */
static ind_value graph__combine_single(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_operand(o, l, (uint32_t)l->number_int, index, rank);
}

static ind_status graph__lower_associative_scan(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *a = l->node->attr;
    const ind__tensor_info *x = l->result;
    graph__combine u = {.l = l, .num = (int)a[1].i, .rank = x->rank, .reverse = a[2].i, .exclusive = a[3].i};
    u.dim = (int)(a[0].i < 0 ? a[0].i + x->rank : a[0].i);
    u.segmented = a[4].i;
    ind_status status = IND_OK;
    for (int k = 0; k < u.num; k++) u.dtype[k] = x[k].dtype;
    if (x->rank > 0 && !graph__size_is_one(x->size[u.dim]) && !graph__size_is_zero(x->size[u.dim])) {
        ind__combine_desc d = {u.num,
                               u.num + u.segmented,
                               u.dtype,
                               x->size,
                               x->rank,
                               u.dim,
                               u.reverse,
                               u.exclusive,
                               graph__combine_element,
                               graph__combine_run,
                               graph__combine_finish,
                               &u};
        return ind__box_combine(l->w->program, &d, results);
    }
    for (int k = 0; k < u.num && !status; k++) {
        l->number_int = u.exclusive ? u.num + k : k;
        l->compute = ind_dtype_compute(u.dtype[k]);
        status = graph__lower_loop(l, u.dtype[k], x->size, x->rank, graph__combine_single, &results[k]);
    }
    return status;
}

/* ---- scans with a combine function of the user: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_ASSOCIATIVE_SCAN(X)                                                                               \
    X(ASSOCIATIVE_SCAN, ind__rule_associative_scan, graph__lower_associative_scan, NULL, NONE, NONE)
