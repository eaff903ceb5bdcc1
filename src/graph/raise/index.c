/* ---- affine indices */

/* e = offset + sum of stride[k] * symbol[k], with each symbol in [0, extent[k]). A negative stride is negated and its
   symbol marked as flipped. */
typedef struct graph__strided {
    int n;
    ind_expr symbol[IND_MAX_RANK + 1], extent[IND_MAX_RANK + 1], stride[IND_MAX_RANK + 1], offset;
    bool used[IND_MAX_RANK + 1], flipped[IND_MAX_RANK + 1];
} graph__strided;

static bool graph__strided_of(graph__raise *r, graph__strided *s, ind_expr e) {
    ind_expr zero = ind_int(r->c, 0), one = ind_int(r->c, 1);
    s->offset = e;
    for (int k = 0; k < s->n; k++) {
        s->stride[k] = zero;
        s->used[k] = ind__expr_depends(s->offset, s->symbol[k]);
        if (!s->used[k]) continue;
        if (!ind__affine(s->offset, s->symbol[k], &s->stride[k], &s->offset)) return false;
        if (!ind__expr_is_size(s->stride[k])) return false;
        if (!ind_known_lt(s->stride[k], zero)) continue;
        ind_expr last = ind_expr_mul(s->stride[k], ind_expr_sub(s->extent[k], one));
        s->offset = ind_expr_add(s->offset, last);
        s->stride[k] = ind_expr_neg(s->stride[k]);
        s->flipped[k] = true;
    }
    return ind__expr_is_size(s->offset);
}

/* Orders the used symbols from the largest stride to the smallest. True if each stride is the next one times its
   extent, and the last is 1: the symbols then number `covered` contiguous elements. */
static bool graph__strided_order(graph__raise *r, const graph__strided *s, int *order, int *num, ind_expr *covered) {
    int left = 0;
    uint32_t taken = 0;
    ind_expr next = ind_int(r->c, 1);
    for (int k = 0; k < s->n; k++) left += s->used[k];
    *num = left;
    while (left > 0) {
        int found = -1;
        for (int k = s->n; found < 0 && k-- > 0;)
            if (s->used[k] && !(taken >> k & 1) && ind_known_eq(s->stride[k], next)) found = k;
        if (found < 0) return false;
        taken |= 1u << found;
        order[--left] = found;
        next = ind_expr_mul(next, s->extent[found]);
    }
    *covered = next;
    return true;
}

static void graph__strided_loops(const graph__raise *r, graph__strided *s, int at) {
    for (int v = 0; v < r->rank; v++) {
        s->symbol[at + v] = r->loops.var[v];
        s->extent[at + v] = r->loops.extent[v];
    }
    s->n = at + r->rank;
}

/* ---- index expressions as tensors */

static ind_tensor graph__raise_expr(graph__raise *r, ind_expr e);

/* start, start + step, .. along loop v */
static ind_tensor graph__raise_arange(graph__raise *r, ind_expr start, ind_expr step, ind_expr n, int v) {
    ind_expr one = ind_int(r->c, 1);
    bool plain = graph__size_is_zero(start) && graph__raised_is_one(r, step);
    ind__attr a[3] = {ind__attr_size(start), ind__attr_size(ind_expr_add(start, ind_expr_mul(step, n))),
                      ind__attr_size(step)};
    if (graph__raised_is_one(r, step)) a[2].kind = IND__ATTR_NONE;
    if (plain) a[0].kind = IND__ATTR_NONE;
    ind_tensor x = graph__raise_call(r, IND_OP_ARANGE, NULL, 0, a, 3);
    if (v < 0) return graph__raise_reshape(r, x, &one, 0);
    return graph__raise_over(r, x, &v, 1, r->rank);
}

/* Consecutive numbers over several loops: one arange, reshaped. id 0, without an error: not consecutive. */
static ind_tensor graph__raise_run(graph__raise *r, ind_expr e) {
    graph__strided s = {0};
    int order[IND_MAX_RANK + 1], num;
    ind_expr covered, size[IND_MAX_RANK + 1];
    graph__strided_loops(r, &s, 0);
    bool run = ind_expr_query_kind(e) == IND_EXPR_ADD && graph__strided_of(r, &s, e) &&
               graph__strided_order(r, &s, order, &num, &covered) && num > 1;
    for (int v = 0; v < s.n; v++) run = run && !s.flipped[v];
    if (!run) return (ind_tensor){r->g, 0};
    ind__attr a[2] = {ind__attr_size(s.offset), ind__attr_size(ind_expr_add(s.offset, covered))};
    if (graph__size_is_zero(s.offset)) a[0].kind = IND__ATTR_NONE;
    for (int k = 0; k < num; k++) size[k] = s.extent[order[k]];
    ind_tensor x = graph__raise_call(r, IND_OP_ARANGE, NULL, 0, a, 2);
    if (!ind_known_eq(ind_tensor_size(x, 0), covered)) return (ind_tensor){r->g, 0};
    return graph__raise_over(r, graph__raise_reshape(r, x, size, num), order, num, r->rank);
}

static int graph__raised_loop(const graph__raise *r, ind_expr symbol) {
    for (int v = 0; v < r->rank; v++)
        if (ind_expr_same(r->loops.var[v], symbol)) return v;
    return -1;
}

/* Returns the first loop that e depends on, if e is affine in it alone, with a coefficient of known sign; else -1. */
static int graph__raised_affine_loop(const graph__raise *r, ind_expr e, ind_expr *coefficient, ind_expr *rest) {
    ind_expr zero = ind_int(r->c, 0);
    for (int v = 0; v < r->rank; v++) {
        if (!ind__expr_depends(e, r->loops.var[v])) continue;
        bool affine = ind__affine(e, r->loops.var[v], coefficient, rest) && ind__expr_is_size(*coefficient) &&
                      ind__expr_is_size(*rest);
        return affine && (ind_known_lt(zero, *coefficient) || ind_known_lt(*coefficient, zero)) ? v : -1;
    }
    return -1;
}

static ind_tensor graph__raise_checked(graph__raise *r, uint32_t n);

/* Returns the tensor of indices read from memory, created on first use: rows of a table do not need it. */
static ind_tensor graph__raise_indirect(graph__raise *r, ind_expr symbol) {
    uint32_t n = (uint32_t)ind_expr_symbol(symbol)->slot;
    if (n >= r->body->num_inst) return (ind_tensor){r->g, 0};
    if (!r->value[n].id) r->value[n] = graph__raise_checked(r, n);
    return r->value[n];
}

static ind_tensor graph__raise_symbol(graph__raise *r, ind_expr e) {
    int v = graph__raised_loop(r, e);
    ind_expr one = ind_int(r->c, 1);
    if (v >= 0) return graph__raise_arange(r, ind_int(r->c, 0), one, r->loops.extent[v], v);
    return ind_expr_symbol(e)->kind == IND_SYMBOL_INDIRECT ? graph__raise_indirect(r, e)
                                                           : graph__raise_arange(r, e, one, one, -1);
}

/* a op b op c ..; a number comes after a tensor, as some ops need a tensor first. */
static ind_tensor graph__raise_chain(graph__raise *r, ind_graph_op op, ind_expr e) {
    ind_tensor all = {r->g, 0};
    for (int i = ind_expr_num_args(e); i-- > 0;) {
        ind_tensor x = graph__raise_expr(r, ind_expr_arg(e, i));
        all = all.id ? graph__raise_two(r, op, all, x) : x;
        if (!all.id) break;
    }
    return all;
}

static ind_tensor graph__raise_expr_op(graph__raise *r, ind_expr e) {
    static const uint16_t op[] = {
        [IND_EXPR_ADD] = IND_OP_ADD,
        [IND_EXPR_MUL] = IND_OP_MUL,
        [IND_EXPR_FLOORDIV] = IND_OP_FLOOR_DIVIDE,
        [IND_EXPR_MOD] = IND_OP_REMAINDER,
        [IND_EXPR_MIN] = IND_OP_MINIMUM,
        [IND_EXPR_MAX] = IND_OP_MAXIMUM,
        [IND_EXPR_EQ] = IND_OP_EQ,
        [IND_EXPR_NE] = IND_OP_NE,
        [IND_EXPR_LT] = IND_OP_LT,
        [IND_EXPR_LE] = IND_OP_LE,
        [IND_EXPR_AND] = IND_OP_LOGICAL_AND,
        [IND_EXPR_OR] = IND_OP_LOGICAL_OR,
        [IND_EXPR_NOT] = IND_OP_LOGICAL_NOT,
    };
    ind_expr_kind kind = ind_expr_query_kind(e);
    ind_expr coefficient, rest;
    int v = graph__raised_affine_loop(r, e, &coefficient, &rest);
    if (v >= 0) return graph__raise_arange(r, rest, coefficient, r->loops.extent[v], v);
    ind_tensor run = graph__raise_run(r, e);
    if (run.id) return run;
    if (ind__expr_is_size(e) && kind <= IND_EXPR_MAX)
        return graph__raise_arange(r, e, ind_int(r->c, 1), ind_int(r->c, 1), -1);
    switch (kind) {
    case IND_EXPR_SYM: return graph__raise_symbol(r, e);
    case IND_EXPR_WHERE:
        return graph__raise_where(r, graph__raise_expr(r, ind_expr_arg(e, 0)), graph__raise_expr(r, ind_expr_arg(e, 1)),
                                  graph__raise_expr(r, ind_expr_arg(e, 2)));
    case IND_EXPR_NOT: return graph__raise_one(r, IND_OP_LOGICAL_NOT, graph__raise_expr(r, ind_expr_arg(e, 0)));
    case IND_EXPR_ADD:
    case IND_EXPR_MUL:
    case IND_EXPR_MIN:
    case IND_EXPR_MAX:
    case IND_EXPR_AND:
    case IND_EXPR_OR: return graph__raise_chain(r, (ind_graph_op)op[kind], e);
    default:
        return graph__raise_two(r, (ind_graph_op)op[kind], graph__raise_expr(r, ind_expr_arg(e, 0)),
                                graph__raise_expr(r, ind_expr_arg(e, 1)));
    }
}

/* Value of e over the loops: i64; for a condition bool; for an integer a number. Expressions are at most 160 levels
   deep. */
static ind_tensor graph__raise_expr(graph__raise *r, ind_expr e) {
    int64_t number;
    if (ind_expr_is_int(e, &number)) return graph__raise_integer(r, number);
    for (uint32_t k = 0; k < r->num_made; k++)
        if (ind_expr_same(r->made[k].e, e)) return r->made[k].t;
    ind_tensor t = graph__raise_expr_op(r, e);
    void *place = ind__grow(r->c, (void **)&r->made, &r->num_made, &r->cap_made, sizeof *r->made, 1);
    if (!place) return (ind_tensor){r->g, 0};
    r->made[r->num_made - 1].e = e;
    r->made[r->num_made - 1].t = t;
    return t;
}
