/* ---- ALGEBRA ---- */

/* Part [begin, end) of dimension dim of x; selected: one position of it, without the dimension. */
typedef struct graph__cut {
    uint32_t x;
    int dim;
    ind_expr begin, end;
    bool selected;
} graph__cut;

/* The part that result k of a split, chunk or unbind shows: it begins where the results before it end. */
static graph__cut graph__cut_of_split(const ind_graph *g, const ind__node *n, uint32_t tensor) {
    const uint32_t k = tensor - n->result;
    const bool selected = n->op == IND_OP_UNBIND;
    graph__cut c = {.x = n->operand[0],
                    .dim = graph__from_end(n->attr[selected ? 0 : 1].i, g->tensor[n->operand[0]].rank)};
    c.selected = selected;
    c.begin = ind_int(g->context, selected ? (int64_t)k : 0);
    for (uint32_t i = 0; !selected && i < k; i++) c.begin = ind_expr_add(c.begin, g->tensor[n->result + i].size[c.dim]);
    c.end = ind_expr_add(c.begin, selected ? ind_int(g->context, 1) : g->tensor[tensor].size[c.dim]);
    return c;
}

/* Describes a tensor as a part of another one along dim; as the whole of itself if it is none. */
static graph__cut graph__cut_of(const ind_graph *g, uint32_t tensor, int dim, bool selected) {
    const ind__node *n = graph__producer_of(g, tensor);
    graph__cut whole = {.x = tensor, .dim = dim, .begin = ind_int(g->context, 0)}, c = whole;
    if (!selected) whole.end = g->tensor[tensor].size[dim];
    const int rank = n->num_operands ? g->tensor[n->operand[0]].rank : 0;
    switch (n->op) {
    case IND_OP_SLICE:
        c = (graph__cut){.x = n->operand[0], .dim = graph__from_end(n->attr[0].i, rank)};
        ind__slice_bounds(g->tensor[c.x].size[c.dim], &n->attr[1], &n->attr[2], &c.begin, &c.end);
        if (!ind__is_int(n->attr[3].e, 1)) return whole;
        break;
    case IND_OP_NARROW:
        c = (graph__cut){.x = n->operand[0], .dim = graph__from_end(n->attr[0].i, rank)};
        c.begin = ind__from_front(n->attr[1].e, g->tensor[c.x].size[c.dim]);
        c.end = ind_expr_add(c.begin, n->attr[2].e);
        break;
    case IND_OP_SELECT:
        c = (graph__cut){.x = n->operand[0], .dim = graph__from_end(n->attr[0].i, rank), .selected = true};
        c.begin = ind__from_front(n->attr[1].e, g->tensor[c.x].size[c.dim]);
        c.end = ind_expr_add(c.begin, ind_int(g->context, 1));
        break;
    case IND_OP_SPLIT:
    case IND_OP_SPLIT_WITH_SIZES:
    case IND_OP_CHUNK:
    case IND_OP_UNBIND: c = graph__cut_of_split(g, n, tensor); break;
    default: return whole;
    }
    return c.dim == dim && c.selected == selected ? c : whole;
}

/* Returns the tensor of r->to that is the part: x itself, or a new slice. 0: failure. n: the node that it replaces;
   NULL: its name is generated. */
static uint32_t graph__make_cut(graph__rewrite *r, const graph__cut *c, const ind__node *n) {
    const ind__tensor_info *x = &r->to->tensor[c->x];
    if (ind__is_int(c->begin, 0) && ind_known_eq(c->end, x->size[c->dim])) return c->x;
    ind__attr a[4] = {{.kind = IND__ATTR_INT, .i = c->dim},
                      ind__attr_size(c->begin),
                      ind__attr_size(c->end),
                      ind__attr_size(ind_int(r->to->context, 1))};
    uint32_t operand = c->x;
    if (!n) return ind__graph_add(r->to, IND_OP_SLICE, &operand, 1, a, 4, NULL, NULL).id;
    ind__node slice = {.op = IND_OP_SLICE, .operand = &operand, .num_operands = 1, .attr = a, .num_attrs = 4};
    slice.result = n->result;
    slice.num_results = 1;
    slice.file = n->file;
    slice.line = n->line;
    return graph__rewrite_add(r, &slice);
}

/* Combines adjacent parts of one tensor; returns the number of parts left. */
static uint32_t graph__merge_cuts(const ind_graph *g, const ind__node *n, graph__cut *cut, int dim) {
    uint32_t num = 0;
    for (uint32_t k = 0; k < n->num_operands; k++) {
        const graph__cut c = graph__cut_of(g, n->operand[k], dim, n->op == IND_OP_STACK);
        if (num && cut[num - 1].x == c.x && ind__ok(c.end) && ind_known_eq(cut[num - 1].end, c.begin))
            cut[num - 1].end = c.end;
        else
            cut[num++] = c;
    }
    return num;
}

/* The part may replace n: it has the same type, and the size that n has along dim. */
static bool graph__cut_fits(const graph__rewrite *r, const ind__node *n, const graph__cut *c) {
    const ind__tensor_info *x = &r->to->tensor[c->x], *want = &r->from->tensor[n->result];
    if (x->weak || x->dtype != want->dtype || x->rank != want->rank || !ind__ok(c->end)) return false;
    for (int d = 0; d < x->rank; d++)
        if (!ind_known_eq(d == c->dim ? ind_expr_sub(c->end, c->begin) : x->size[d], want->size[d])) return false;
    return true;
}

/* A concatenation of fewer parts. */
static uint32_t graph__shorter_cat(graph__rewrite *r, const ind__node *n, const graph__cut *cut, uint32_t num) {
    uint32_t *operand = ind__alloc(r->to->context, num * sizeof *operand), made = 0;
    ind__node cat = *n;
    if (!operand) return ind__graph_no_memory(r->to, "cat"), 0;
    for (uint32_t k = 0; k < num; k++)
        if (!(operand[k] = graph__make_cut(r, &cut[k], NULL))) break;
    cat.operand = operand;
    cat.num_operands = num;
    if (operand[num - 1]) made = graph__rewrite_add(r, &cat);
    ind__free(r->to->context, operand);
    return made;
}

/* An update of the part that the last update wrote: the last one is not needed. Not if something else reads it: then
   two updates would need the old values. */
static uint32_t graph__overwrite(graph__rewrite *r, const ind__node *n) {
    const ind__node *before = graph__producer_of(r->to, n->operand[0]);
    const ind__node *given = &r->from->node[r->from->tensor[n->result].node];
    if (before->op != n->op || !r->users || r->users[given->operand[0]] != 1) return 0;
    if (!graph__same_view_attrs(r->to, before, n)) return 0;
    uint32_t operand[2] = {before->operand[0], n->operand[1]};
    ind__node update = *n;
    update.operand = operand;
    return graph__rewrite_add(r, &update);
}

/* A concatenation of adjacent parts of one tensor is a part of it: cat(split(x)) is x. Of a slice, all elements are
   read without a condition. */
static uint32_t graph__pass_algebra(graph__rewrite *r, const ind__node *n) {
    if (graph__is_view_scatter(n)) return graph__overwrite(r, n);
    if ((n->op != IND_OP_CAT && n->op != IND_OP_STACK) || n->num_operands < 2) return 0;
    const int rank = r->from->tensor[n->result].rank, dim = graph__from_end(n->attr[0].i, rank);
    for (uint32_t k = 0; k < n->num_operands; k++)
        if (n->op == IND_OP_CAT && r->to->tensor[n->operand[k]].rank != rank) return 0;
    graph__cut *cut = ind__alloc(r->to->context, n->num_operands * sizeof *cut);
    if (!cut) return ind__graph_no_memory(r->to, "cat"), 0;
    const uint32_t num = graph__merge_cuts(r->to, n, cut, dim);
    uint32_t made = 0;
    if (num == 1 && graph__cut_fits(r, n, &cut[0]))
        made = graph__make_cut(r, &cut[0], n);
    else if (num > 1 && num < n->num_operands && n->op == IND_OP_CAT)
        made = graph__shorter_cat(r, n, cut, num);
    ind__free(r->to->context, cut);
    return made;
}
