/* ---- CANONICAL: an op with several names or forms gets one, so that patterns and CSE need to know only one */

typedef struct graph__window_lists {
    ind_expr size[5][3];
    uint32_t num;
} graph__window_lists;

/* Sets attribute `to` to a list of one number for each spatial dimension. */
static void graph__full_list(graph__window_lists *lists, ind__attr *to, ind__attr_kind kind, const ind_expr *size,
                             int rank) {
    ind_expr *list = lists->size[lists->num++];
    for (int s = 0; s < rank; s++) list[s] = size[s];
    *to = (ind__attr){.kind = kind, .list = list, .count = rank};
}

/* conv1d and the like become convolution, with all attributes given. */
static uint32_t graph__canonical_convolution(graph__rewrite *r, const ind__node *n) {
    const ind_graph *g = r->to;
    ind__conv c = {0};
    graph__window_lists lists = {.num = 0};
    ind__attr attr[6] = {{0}};
    if (ind__conv_of(g, n->op, n->attr, &g->tensor[n->operand[1]], &c)) return 0;
    graph__full_list(&lists, &attr[0], IND__ATTR_SIZES, c.window.stride, c.window.rank);
    graph__full_list(&lists, &attr[1], IND__ATTR_SIZES, c.window.padding, c.window.rank);
    graph__full_list(&lists, &attr[2], IND__ATTR_SIZES, c.window.dilation, c.window.rank);
    attr[3] = (ind__attr){.kind = IND__ATTR_BOOL, .i = c.transposed};
    graph__full_list(&lists, &attr[4], IND__ATTR_SIZES, c.output_padding, c.window.rank);
    attr[5] = (ind__attr){.kind = IND__ATTR_INT, .i = c.groups};
    bool same = n->op == IND_OP_CONVOLUTION;
    for (int k = 0; k < 6 && same; k++) same = graph__attr_equal(&attr[k], &n->attr[k]);
    if (same) return 0;
    ind__node made = *n;
    made.op = IND_OP_CONVOLUTION;
    made.attr = attr;
    made.num_attrs = 6;
    return graph__rewrite_add(r, &made);
}

/* A pool gets its windows in full. */
static uint32_t graph__canonical_pool(graph__rewrite *r, const ind__node *n) {
    const ind__schema *s = &r->to->schema[n->op];
    ind__window w = {.rank = ind__spatial_rank(n->op)};
    graph__window_lists lists = {.num = 0};
    ind__attr attr[6];
    const struct {
        const char *name;
        const ind_expr *size;
    } list[] = {{"kernel_size", w.kernel}, {"stride", w.stride}, {"padding", w.padding}, {"dilation", w.dilation}};
    bool same = true;
    if (n->num_attrs > 6 || ind__window_of(r->to, n->op, n->attr, NULL, &w)) return 0;
    for (uint32_t i = 0; i < n->num_attrs; i++) {
        attr[i] = n->attr[i];
        for (int k = 0; k < 4; k++)
            if (ind__same_name(s->attr[i].name, (size_t)s->attr[i].length, list[k].name, strlen(list[k].name)))
                graph__full_list(&lists, &attr[i], s->attr[i].kind, list[k].size, w.rank);
        same = same && graph__attr_equal(&attr[i], &n->attr[i]);
    }
    if (same) return 0;
    ind__node made = *n;
    made.attr = attr;
    return graph__rewrite_add(r, &made);
}

/* pad with a constant becomes constant_pad_nd. */
static uint32_t graph__canonical_pad(graph__rewrite *r, const ind__node *n) {
    ind__attr attr[2] = {n->attr[0], n->attr[2]};
    if (strcmp(n->attr[1].s, "constant") != 0) return 0;
    if (attr[1].kind == IND__ATTR_NONE) attr[1] = r->to->schema[IND_OP_CONSTANT_PAD_ND].attr[1].value;
    ind__node made = *n;
    made.op = IND_OP_CONSTANT_PAD_ND;
    made.attr = attr;
    made.num_attrs = 2;
    return graph__rewrite_add(r, &made);
}

/* view_as becomes view, which does not need the other operand. */
static uint32_t graph__canonical_view(graph__rewrite *r, const ind__node *n) {
    const ind__tensor_info *y = &r->from->tensor[n->result];
    ind__attr attr[1] = {{.kind = IND__ATTR_SIZES, .list = y->size, .count = y->rank}};
    ind__node made = *n;
    made.op = IND_OP_VIEW;
    made.num_operands = 1;
    made.attr = attr;
    made.num_attrs = 1;
    return graph__rewrite_add(r, &made);
}

static uint32_t graph__pass_canonical(graph__rewrite *r, const ind__node *n) {
    switch (n->op) {
    case IND_OP_CONVOLUTION:
    case IND_OP_CONV1D:
    case IND_OP_CONV2D:
    case IND_OP_CONV3D:
    case IND_OP_CONV_TRANSPOSE1D:
    case IND_OP_CONV_TRANSPOSE2D:
    case IND_OP_CONV_TRANSPOSE3D: return graph__canonical_convolution(r, n);
    case IND_OP_AVG_POOL1D:
    case IND_OP_AVG_POOL2D:
    case IND_OP_AVG_POOL3D:
    case IND_OP_MAX_POOL1D:
    case IND_OP_MAX_POOL2D:
    case IND_OP_MAX_POOL3D:
    case IND_OP_MAX_POOL1D_WITH_INDICES:
    case IND_OP_MAX_POOL2D_WITH_INDICES:
    case IND_OP_MAX_POOL3D_WITH_INDICES: return graph__canonical_pool(r, n);
    case IND_OP_VIEW_AS: return graph__canonical_view(r, n);
    case IND_OP_PAD: return graph__canonical_pad(r, n);
    default: return 0;
    }
}
