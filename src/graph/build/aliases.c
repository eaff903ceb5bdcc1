/* ---- shared memory of tensors, and ops in place ----

   A tensor owns its memory or, as the result of an op of ind__views, shares its operand's. An op in place computes a
   new value for the whole memory: it applies the inverses of the view ops, from the written tensor to the root. Tensors
   that share the memory are recomputed from that value when they are next used. So the graph itself contains pure ops
   only, and nodes added before a write still read the old contents. (PyTorch: functionalization.) */

/* A view: result k of a view op and its operand. A copy, because adding nodes moves the graph's tables. */
typedef struct ind__view {
    ind_context *c;
    ind__node node;
    uint32_t k, viewed;
    ind__tensor_info from, to;
    bool unsure; /* a view for some sizes, a copy for others */
} ind__view;

static ind__view ind__view_of(const ind_graph *g, uint32_t x) {
    const ind__tensor_info *t = &g->tensor[x];
    return (ind__view){g->context, g->node[t->node], x - g->node[t->node].result, t->viewed, g->tensor[t->viewed], *t,
                       false};
}

static uint32_t ind__root_of(const ind_graph *g, uint32_t x) {
    return g->tensor[x].root ? g->tensor[x].root : x;
}

/* Computes the strides of a view from those of its operand; false: no strides exist, and it is a copy. */
typedef bool (*ind__stride_fn)(ind__view *v, const ind_expr *from, ind_expr *to);
/* Returns the new value of the view's operand after `value` is written to the view; 0: the graph has the error. */
typedef uint32_t (*ind__write_fn)(ind_graph *g, const ind__view *v, uint32_t value);

static uint32_t ind__add_pure(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t n,
                              const ind__attr *attrs, uint32_t num_attrs) {
    return ind__add_node(g, op, operands, n, attrs, num_attrs, NULL, NULL).id;
}

static uint32_t ind__current(ind_graph *g, uint32_t x);

static uint32_t ind__add_view(ind_graph *g, uint32_t x, const ind_expr *size, int rank) {
    ind__attr a = {.kind = IND__ATTR_SIZES, .list = size, .count = rank};
    return ind__add_pure(g, IND_OP_VIEW, &x, 1, &a, 1);
}

static uint32_t ind__add_onto(ind_graph *g, ind_graph_op op, const ind__view *v, uint32_t value, const ind__attr *attrs,
                              uint32_t num_attrs) {
    uint32_t x[2] = {ind__current(g, v->viewed), value};
    return x[0] ? ind__add_pure(g, op, x, 2, attrs, num_attrs) : 0;
}

static int ind__view_dim(const ind__view *v, uint32_t attr) {
    int64_t d = v->node.attr[attr].i;
    return (int)(d < 0 ? d + v->from.rank : d);
}

/* .. the same elements in the same order */

/* True if the sizes are known to be equal. If they may be equal for some symbols, the view is marked unsure. */
static bool ind__view_equal(ind__view *v, ind_expr a, ind_expr b) {
    if (ind_known_eq(a, b)) return true;
    v->unsure = v->unsure || !ind__is_int(ind_expr_eq(a, b), 0);
    return false;
}

/* at::detail::computeStride: adjacent dimensions without a gap may be split differently. */
static bool ind__stride_reshape(ind__view *v, const ind_expr *from, ind_expr *to) {
    const ind_expr one = ind_int(v->c, 1), *size = v->from.size;
    ind_expr base = one, many = one, found = one;
    int j = v->to.rank - 1;
    if (v->from.rank) base = from[v->from.rank - 1];
    for (int d = v->from.rank; d-- > 0;) {
        many = ind_expr_mul(many, size[d]);
        if (d > 0 &&
            (ind__view_equal(v, size[d - 1], one) || ind__view_equal(v, from[d - 1], ind_expr_mul(many, base))))
            continue;
        for (; j >= 0 && (!ind__view_equal(v, found, many) || ind__view_equal(v, v->to.size[j], one)); j--) {
            to[j] = ind_expr_mul(found, base);
            found = ind_expr_mul(found, v->to.size[j]);
        }
        if (!ind__view_equal(v, found, many)) return false;
        if (d > 0) base = from[d - 1];
        many = found = one;
    }
    for (; j >= 0 && ind__view_equal(v, v->to.size[j], one); j--) to[j] = base;
    return j < 0;
}

static uint32_t ind__write_reshape(ind_graph *g, const ind__view *v, uint32_t value) {
    return ind__add_view(g, value, v->from.size, v->from.rank);
}

static bool ind__stride_same(ind__view *v, const ind_expr *from, ind_expr *to) {
    memcpy(to, from, (size_t)v->to.rank * sizeof *to);
    return true;
}

static uint32_t ind__write_same(ind_graph *g, const ind__view *v, uint32_t value) {
    (void)g;
    (void)v;
    return value;
}

/* .. dimensions in another order */

/* Maps each dimension of the result to its dimension of the operand. */
static void ind__view_order(const ind__view *v, int *from) {
    const ind__node *n = &v->node;
    const int rank = v->to.rank;
    if (n->op == IND_OP_MOVEDIM) {
        ind__movedim_order(&n->attr[0], &n->attr[1], rank, from);
        return;
    }
    for (int d = 0; d < rank; d++) from[d] = n->op == IND_OP_PERMUTE ? ind__list_dim(&n->attr[0], d, rank) : d;
    if (n->op != IND_OP_TRANSPOSE || rank == 0) return;
    from[ind__view_dim(v, 0)] = ind__view_dim(v, 1);
    from[ind__view_dim(v, 1)] = ind__view_dim(v, 0);
}

static bool ind__stride_permute(ind__view *v, const ind_expr *from, ind_expr *to) {
    int order[IND_MAX_RANK];
    ind__view_order(v, order);
    for (int d = 0; d < v->to.rank; d++) to[d] = from[order[d]];
    return true;
}

static uint32_t ind__write_permute(ind_graph *g, const ind__view *v, uint32_t value) {
    int order[IND_MAX_RANK];
    ind_expr back[IND_MAX_RANK];
    ind__view_order(v, order);
    for (int d = 0; d < v->to.rank; d++) back[order[d]] = ind_int(g->context, d);
    ind__attr a = {.kind = IND__ATTR_INTS, .list = back, .count = v->to.rank};
    return ind__add_pure(g, IND_OP_PERMUTE, &value, 1, &a, 1);
}

/* .. one element at several positions */

static bool ind__stride_expand(ind__view *v, const ind_expr *from, ind_expr *to) {
    const int more = v->to.rank - v->from.rank;
    for (int d = 0; d < v->to.rank; d++) {
        bool own = d >= more && ind_known_eq(v->from.size[d - more], v->to.size[d]);
        to[d] = own ? from[d - more] : ind_int(v->c, 0);
    }
    return true;
}

static bool ind__stride_meshgrid(ind__view *v, const ind_expr *from, ind_expr *to) {
    for (int d = 0; d < v->to.rank; d++) to[d] = ind_int(v->c, 0);
    if (v->from.rank) to[ind__meshgrid_dim(&v->node.attr[0], v->k, v->node.num_operands)] = from[0];
    return true;
}

static uint32_t ind__overlaps(ind_graph *g, const ind__view *v) {
    ind__graph_fail(
        g, IND_ERROR_INVALID_ARGUMENT,
        "an op in place writes to the result of %s, which views an element of %s more than once, or may do so; "
        "clone it first",
        ind__op_name(v->node.op), v->from.name ? v->from.name : "a tensor");
    return 0;
}

/* No element repeats if all new dimensions have size 1. */
static uint32_t ind__write_expand(ind_graph *g, const ind__view *v, uint32_t value) {
    ind_expr all = ind_expr_product(g->context, v->to.size, v->to.rank);
    ind_expr own = ind_expr_product(g->context, v->from.size, v->from.rank);
    return ind_known_eq(all, own) ? ind__write_reshape(g, v, value) : ind__overlaps(g, v);
}

/* .. a part of a dimension, or one position of it */

/* Returns the dimension and range of a slice, a narrow or one result of a split, as attributes of slice_scatter. */
static void ind__view_range(const ind_graph *g, const ind__view *v, ind__attr a[4]) {
    const ind__node *n = &v->node;
    const uint32_t at = n->op == IND_OP_SLICE || n->op == IND_OP_NARROW ? 0 : 1;
    const int dim = ind__view_dim(v, at);
    ind_expr first = ind_int(g->context, 0);
    if (n->op == IND_OP_SLICE) {
        memcpy(a, n->attr, 4 * sizeof *a);
        return;
    }
    if (n->op == IND_OP_NARROW) first = ind__from_front(n->attr[1].e, v->from.size[dim]);
    for (uint32_t k = 0; k < v->k; k++) first = ind_expr_add(first, g->tensor[n->result + k].size[dim]);
    a[0] = (ind__attr){.kind = IND__ATTR_INT, .i = dim};
    a[1] = ind__attr_size(first);
    a[2] = ind__attr_size(ind_expr_add(first, v->to.size[dim]));
    a[3] = ind__attr_size(ind_int(g->context, 1));
}

static bool ind__stride_slice(ind__view *v, const ind_expr *from, ind_expr *to) {
    memcpy(to, from, (size_t)v->to.rank * sizeof *to);
    if (v->node.op == IND_OP_SLICE) {
        int dim = ind__view_dim(v, 0);
        to[dim] = ind_expr_mul(to[dim], v->node.attr[3].e);
    }
    return true;
}

static uint32_t ind__write_slice(ind_graph *g, const ind__view *v, uint32_t value) {
    ind__attr a[4];
    ind__view_range(g, v, a);
    return ind__add_onto(g, IND_OP_SLICE_SCATTER, v, value, a, 4);
}

static bool ind__stride_select(ind__view *v, const ind_expr *from, ind_expr *to) {
    const int dim = ind__view_dim(v, 0);
    for (int d = 0; d < v->to.rank; d++) to[d] = from[d + (d >= dim)];
    return true;
}

/* select, and result k of unbind, which is index k. */
static uint32_t ind__write_select(ind_graph *g, const ind__view *v, uint32_t value) {
    ind__attr a[2] = {v->node.attr[0], ind__attr_size(ind_int(g->context, v->k))};
    if (v->node.op == IND_OP_SELECT) a[1] = v->node.attr[1];
    return ind__add_onto(g, IND_OP_SELECT_SCATTER, v, value, a, 2);
}

static bool ind__stride_diagonal(ind__view *v, const ind_expr *from, ind_expr *to) {
    const int a = ind__view_dim(v, 1), b = ind__view_dim(v, 2);
    int next = 0;
    for (int d = 0; d < v->from.rank; d++)
        if (d != a && d != b) to[next++] = from[d];
    to[next] = ind_expr_add(from[a], from[b]);
    return true;
}

static uint32_t ind__write_diagonal(ind_graph *g, const ind__view *v, uint32_t value) {
    return ind__add_onto(g, IND_OP_DIAGONAL_SCATTER, v, value, v->node.attr, 3);
}

/* .. elements at computed positions */

/* True if every index reaches a different element: each step must exceed the reach of all smaller ones. */
static bool ind__distinct(ind_context *c, const ind_expr *size, const ind_expr *stride, int rank) {
    ind_expr one = ind_int(c, 1), reach = one;
    uint32_t left = 0;
    for (int d = 0; d < rank; d++) {
        if (ind__is_int(size[d], 0)) return true;
        if (!ind__is_int(size[d], 1)) left |= 1u << d;
    }
    while (left) {
        int least = -1;
        for (int d = 0; d < rank; d++)
            if (left >> d & 1 && (least < 0 || ind_known_lt(stride[d], stride[least]))) least = d;
        if (!ind_known_le(reach, stride[least])) return false;
        reach = ind_expr_add(reach, ind_expr_mul(ind_expr_sub(size[least], one), stride[least]));
        left &= ~(1u << least);
    }
    return true;
}

static bool ind__stride_unfold(ind__view *v, const ind_expr *from, ind_expr *to) {
    const int rank = v->from.rank, dim = rank ? ind__view_dim(v, 0) : 0;
    memcpy(to, from, (size_t)rank * sizeof *to);
    to[rank] = rank ? from[dim] : ind_int(v->c, 1);
    if (rank) to[dim] = ind_expr_mul(from[dim], v->node.attr[2].e);
    return true;
}

static bool ind__stride_as_strided(ind__view *v, const ind_expr *from, ind_expr *to) {
    (void)from;
    memcpy(to, v->node.attr[1].list, (size_t)v->to.rank * sizeof *to);
    return true;
}

/* Adds start, start + step, .. (`count` numbers) as dimension d of `rank`. */
static uint32_t ind__add_positions(ind_graph *g, ind_expr start, ind_expr step, ind_expr count, int d, int rank) {
    ind__attr a[4] = {ind__attr_size(start),
                      ind__attr_size(ind_expr_add(start, ind_expr_mul(count, step))),
                      ind__attr_size(step),
                      {.kind = IND__ATTR_DTYPE, .i = IND_I64}};
    ind_expr size[IND_MAX_RANK];
    for (int k = 0; k < rank; k++) size[k] = k == d ? count : ind_int(g->context, 1);
    uint32_t x = ind__add_pure(g, IND_OP_ARANGE, NULL, 0, a, 4);
    return x ? ind__add_view(g, x, size, rank) : 0;
}

/* Returns the strides of the view's operand: given, or those of a contiguous tensor. */
static const ind_expr *ind__strides_of(ind_context *c, const ind__tensor_info *x, ind_expr row[IND_MAX_RANK]) {
    if (x->stride) return x->stride;
    for (int d = x->rank; d-- > 0;) row[d] = d + 1 < x->rank ? ind_expr_mul(row[d + 1], x->size[d + 1]) : ind_int(c, 1);
    return row;
}

/* Computes the steps of the view through the contiguous memory of its operand: the storage of as_strided, or the
   operand of unfold. */
static void ind__position_steps(const ind__view *v, ind_expr step[IND_MAX_RANK]) {
    ind_expr row[IND_MAX_RANK];
    ind__view shown = *v;
    shown.from.stride = NULL;
    const ind_expr *from = ind__strides_of(v->c, &shown.from, row);
    if (v->node.op == IND_OP_AS_STRIDED)
        ind__stride_as_strided(&shown, from, step);
    else
        ind__stride_unfold(&shown, from, step);
}

/* Adds the positions of the view's elements, as a tensor of its shape. */
static uint32_t ind__add_view_positions(ind_graph *g, const ind__view *v) {
    const int rank = v->to.rank;
    ind_expr zero = ind_int(g->context, 0), one = ind_int(g->context, 1), step[IND_MAX_RANK];
    ind__position_steps(v, step);
    const bool strided = v->node.op == IND_OP_AS_STRIDED;
    ind_expr first = strided ? ind__strided_offset(g->context, v->node.attr) : zero;
    uint32_t x = ind__add_positions(g, first, one, one, -1, rank);
    for (int d = 0; x && d < rank; d++) {
        if (ind__is_int(v->to.size[d], 1) || ind__is_int(step[d], 0)) continue;
        uint32_t pair[2] = {x, ind__add_positions(g, zero, step[d], v->to.size[d], d, rank)};
        x = pair[1] ? ind__add_pure(g, IND_OP_ADD, pair, 2, NULL, 0) : 0;
    }
    ind__attr size = {.kind = IND__ATTR_SIZES, .list = v->to.size, .count = rank};
    return x ? ind__add_pure(g, IND_OP_EXPAND, &x, 1, &size, 1) : 0;
}

static uint32_t ind__write_positions(ind_graph *g, const ind__view *v, uint32_t value) {
    ind_expr step[IND_MAX_RANK];
    ind__position_steps(v, step);
    if (!ind__distinct(v->c, v->to.size, step, v->to.rank)) return ind__overlaps(g, v);
    uint32_t x[3] = {ind__current(g, v->viewed), ind__add_view_positions(g, v), value};
    return x[0] && x[1] ? ind__add_pure(g, IND_OP_PUT, x, 3, NULL, 0) : 0;
}

/* The ops whose results share the memory of an operand. reshape and flatten copy where strides allow no view; copied
   and computed tensors are contiguous. */
static const struct ind__view_row {
    ind__stride_fn stride;
    ind__write_fn write;
} ind__views[IND_NUM_OPS] = {
    [IND_OP_ALIAS] = {ind__stride_same, ind__write_same},
    [IND_OP_VIEW] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_RESHAPE] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_VIEW_AS] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_FLATTEN] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_UNFLATTEN] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_SQUEEZE] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_UNSQUEEZE] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_PERMUTE] = {ind__stride_permute, ind__write_permute},
    [IND_OP_TRANSPOSE] = {ind__stride_permute, ind__write_permute},
    [IND_OP_MOVEDIM] = {ind__stride_permute, ind__write_permute},
    [IND_OP_EXPAND] = {ind__stride_expand, ind__write_expand},
    [IND_OP_EXPAND_AS] = {ind__stride_expand, ind__write_expand},
    [IND_OP_BROADCAST_TO] = {ind__stride_expand, ind__write_expand},
    [IND_OP_BROADCAST_TENSORS] = {ind__stride_expand, ind__write_expand},
    [IND_OP_MESHGRID] = {ind__stride_meshgrid, ind__write_expand},
    [IND_OP_SLICE] = {ind__stride_slice, ind__write_slice},
    [IND_OP_NARROW] = {ind__stride_slice, ind__write_slice},
    [IND_OP_SPLIT] = {ind__stride_slice, ind__write_slice},
    [IND_OP_SPLIT_WITH_SIZES] = {ind__stride_slice, ind__write_slice},
    [IND_OP_CHUNK] = {ind__stride_slice, ind__write_slice},
    [IND_OP_SELECT] = {ind__stride_select, ind__write_select},
    [IND_OP_UNBIND] = {ind__stride_select, ind__write_select},
    [IND_OP_DIAGONAL] = {ind__stride_diagonal, ind__write_diagonal},
    [IND_OP_UNFOLD] = {ind__stride_unfold, ind__write_positions},
    [IND_OP_AS_STRIDED] = {ind__stride_as_strided, ind__write_positions},
};

/* Lets a new result x of the handle `viewed` share its memory if the strides allow it. */
static bool ind__show_memory(ind_graph *g, uint32_t x, uint32_t viewed) {
    ind__tensor_info *t = &g->tensor[x];
    ind_expr row[IND_MAX_RANK], to[IND_MAX_RANK];
    const ind__stride_fn stride = ind__views[g->node[t->node].op].stride;
    t->viewed = viewed;
    ind__view v = ind__view_of(g, x);
    bool dense = !v.from.stride && (stride == ind__stride_reshape || stride == ind__stride_same);
    if (!dense && !stride(&v, ind__strides_of(g->context, &v.from, row), to)) {
        t->viewed = 0;
        t->unsure = v.unsure ? ind__root_of(g, viewed) : 0;
        t->since = g->tensor[t->unsure].writes;
        return true;
    }
    t->root = ind__root_of(g, viewed);
    t->seen = v.node.op == IND_OP_AS_STRIDED ? 0 : g->tensor[t->root].writes;
    if (!dense) t->stride = ind__arena_copy(&g->arena, to, (size_t)t->rank * sizeof *to);
    return dense || t->rank == 0 || t->stride;
}

/* Adds a stale view again, reading the current values. as_strided reads from the current value of its storage. */
static uint32_t ind__rebuild_view(ind_graph *g, const ind__view *v) {
    uint32_t base = g->tensor[v->viewed].now ? g->tensor[v->viewed].now : v->viewed;
    if (v->node.op == IND_OP_AS_STRIDED) {
        uint32_t taken[2] = {base, ind__add_view_positions(g, v)};
        return taken[1] ? ind__add_pure(g, IND_OP_TAKE, taken, 2, NULL, 0) : 0;
    }
    const bool each = v->node.op == IND_OP_BROADCAST_TENSORS || v->node.op == IND_OP_MESHGRID;
    uint32_t *x = ind__arena_copy(&g->arena, v->node.operand, v->node.num_operands * sizeof *x);
    if (!x) return ind__graph_no_memory(g, ind__op_name(v->node.op)), 0;
    x[each ? v->k : 0] = base;
    return ind__add_pure(g, v->node.op, x, v->node.num_operands, v->node.attr, v->node.num_attrs);
}

/* Recomputes a stale view, and the other results of its node that view the same tensor. */
static bool ind__refresh_view(ind_graph *g, uint32_t x) {
    ind__view v = ind__view_of(g, x);
    uint32_t made = ind__rebuild_view(g, &v);
    for (uint32_t k = 0; made && k < v.node.num_results; k++) {
        ind__tensor_info *t = &g->tensor[v.node.result + k];
        if (t->viewed != v.viewed) continue;
        t->now = made + k;
        t->seen = g->tensor[v.to.root].writes;
    }
    return made != 0;
}

static bool ind__is_stale(const ind_graph *g, uint32_t x) {
    return g->tensor[x].seen != g->tensor[ind__root_of(g, x)].writes;
}

/* Refuses a write to a reshape that is a view for some sizes only: PyTorch's result would depend on the sizes. */
static bool ind__check_sure(ind_graph *g, uint32_t x, bool written) {
    const ind__tensor_info *t = &g->tensor[ind__root_of(g, x)];
    if (!t->unsure || (!written && g->tensor[t->unsure].writes == t->since)) return true;
    ind__graph_fail(g, IND_ERROR_NOT_SUPPORTED,
                    "%s: whether it is a view of %s or a copy depends on the sizes, and one of them was "
                    "written to; clone it, or reshape before the other views",
                    t->name, g->tensor[t->unsure].name);
    return false;
}

/* Returns the tensor with the current value of x; 0 on failure. */
static uint32_t ind__current(ind_graph *g, uint32_t x) {
    uint32_t depth = 0;
    if (!g->in_place.num_writes || !x || x >= g->num_tensors) return x;
    if (!ind__check_sure(g, x, false)) return 0;
    for (uint32_t v = x; ind__is_stale(g, v); v = g->tensor[v].viewed) depth++;
    uint32_t *stale = ind__arena_alloc(&g->arena, (depth + (size_t)1) * sizeof *stale), n = 0;
    if (!stale) return ind__graph_no_memory(g, "view"), 0;
    for (uint32_t v = x; ind__is_stale(g, v); v = g->tensor[v].viewed) stale[n++] = v;
    while (n-- > 0)
        if (!ind__refresh_view(g, stale[n])) return 0;
    return g->tensor[x].now ? g->tensor[x].now : x;
}

/* Returns the current operands; NULL on failure. The storage of as_strided is not replaced: see ind__show_memory. */
static const uint32_t *ind__current_operands(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t n) {
    const char *file = g->caller.file; /* errors name the caller's op */
    const int line = g->caller.line;
    uint32_t *now = g->in_place.num_writes && n ? ind__arena_copy(&g->arena, operands, n * sizeof *now) : NULL;
    if (!g->in_place.num_writes || !n) return operands;
    if (!now) return ind__graph_no_memory(g, ind__op_name(op)), NULL;
    for (uint32_t k = 0; k < n && op != IND_OP_AS_STRIDED; k++) {
        now[k] = ind__current(g, operands[k]);
        if (operands[k] && !now[k]) return NULL;
    }
    ind_here(g, file, line);
    return now;
}
