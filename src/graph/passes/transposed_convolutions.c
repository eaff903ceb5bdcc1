/* ---- TRANSPOSED CONVOLUTIONS: with stride 1 they are convolutions of flipped weights; else each phase of the results
   is one (convolution_phases.c).

   Along a dimension with kernel K, stride s and padding p, result j * s + q sums x[i] * w[k] over i * s + k = j * s + q
   + p. Phase q has U = CeilDiv(K, s) taps. Tap u is k = (q + p) % s + s * (U - 1 - u), if the kernel has that element.
   So w is padded to blocks of s elements, which become the taps from the last one on. Elements of a block become the
   phases: the first p % s are those of the last phases. */

typedef struct graph__transposed {
    ind__conv shape;
    int rank;
    int64_t kernel[3], stride[3], padding[3], dilation[3], taps[3];
    ind_expr size[3]; /* of the results, multiples of the stride */
} graph__transposed;

static const char *graph__read_transposed(const ind_graph *g, const ind__node *n, graph__transposed *t) {
    const ind__tensor_info *x = &g->tensor[n->operand[0]], *w = &g->tensor[n->operand[1]];
    if (ind__conv_of(g, n->op, n->attr, w, &t->shape)) return "its attributes are not valid";
    t->rank = t->shape.window.rank;
    if (x->rank != w->rank) return "its input has no batch";
    for (int s = 0; s < t->rank; s++) {
        if (!ind_expr_is_int(t->shape.window.kernel[s], &t->kernel[s]) ||
            !ind_expr_is_int(t->shape.window.stride[s], &t->stride[s]) ||
            !ind_expr_is_int(t->shape.window.padding[s], &t->padding[s]) ||
            !ind_expr_is_int(t->shape.window.dilation[s], &t->dilation[s]))
            return "its kernel, stride, padding or dilation is not a constant";
        if (t->kernel[s] > 1 << 12 || t->stride[s] > 1 << 12 || t->padding[s] > 1 << 20 || t->dilation[s] > 1 << 12)
            return "its kernel, stride, padding or dilation is too large";
    }
    return NULL;
}

/* Returns why it does not become a convolution of stride 1. */
static const char *graph__refuse_flip(const graph__transposed *t) {
    for (int s = 0; s < t->rank; s++) {
        if (!ind__is_int(t->shape.output_padding[s], 0)) return "its output padding is not 0";
        if (t->padding[s] > t->dilation[s] * (t->kernel[s] - 1)) return "its padding is larger than its kernel";
    }
    return NULL;
}

/* Returns why the results are not computed by phases; sets their sizes and taps. */
static const char *graph__refuse_phases(const graph__rewrite *r, const ind__node *n, graph__transposed *t) {
    ind_context *c = r->to->context;
    const ind__tensor_info *y = &r->from->tensor[n->result];
    int loops = 2 + (t->shape.groups > 1) + t->rank;
    if (t->shape.groups > 1 && ind_known_eq(r->to->tensor[n->operand[1]].size[0], ind_int(c, t->shape.groups)))
        return "it is depthwise";
    for (int s = 0; s < t->rank; s++) {
        if (t->dilation[s] != 1) return "it has a stride and a dilation";
        t->taps[s] = (t->kernel[s] + t->stride[s] - 1) / t->stride[s];
        t->size[s] = ind_expr_mul(ind_expr_ceildiv(y->size[2 + s], ind_int(c, t->stride[s])), ind_int(c, t->stride[s]));
        loops += t->stride[s] > 1;
    }
    return loops > IND_MAX_RANK ? "its loops would be more than 8 dimensions" : NULL;
}

/* A view with dimension dim split into groups, and one of so many elements each. */
static ind_tensor graph__split_dim(ind_tensor x, int dim, int64_t each) {
    const int rank = ind_tensor_rank(x);
    ind_context *c = x.graph->context;
    ind_expr size[2 * IND_MAX_RANK];
    for (int d = 0; d < rank; d++) size[d + (d > dim)] = ind_tensor_size(x, d);
    size[dim + 1] = ind_int(c, each);
    size[dim] = ind_expr_floordiv(size[dim], size[dim + 1]);
    return ind_view(x, size, rank + 1);
}

static ind_tensor graph__part_of(ind_tensor x, int dim, int64_t begin, int64_t end) {
    ind_context *c = x.graph->context;
    return ind_slice(x, dim, ind_int(c, begin), ind_int(c, end), (ind_expr){NULL, 0});
}

/* Pads the kernels of w to whole blocks of as many elements as the stride. */
static ind_tensor graph__pad_kernels(ind_tensor w, const graph__transposed *t) {
    ind_context *c = w.graph->context;
    ind_expr pad[6];
    bool any = false;
    for (int s = 0; s < t->rank; s++) {
        const int64_t after = t->taps[s] * t->stride[s] - t->kernel[s];
        pad[2 * (t->rank - 1 - s)] = ind_int(c, 0);
        pad[2 * (t->rank - 1 - s) + 1] = ind_int(c, after);
        any = any || after;
    }
    if (!any) return w;
    const ind__attr attr[2] = {ind__attr_sizes(pad, 2 * t->rank), ind__attr_number(0)};
    return ind__call(IND_OP_CONSTANT_PAD_ND, &w, 1, attr, 2);
}

/* The blocks of dimension dim, and the phases, which are dimension dim + 1 if there are several. */
static ind_tensor graph__phase_blocks(ind_tensor w, int dim, int64_t stride, int64_t padding) {
    if (stride == 1) return w;
    w = graph__split_dim(w, dim, stride);
    if (padding % stride == 0) return w;
    const ind_tensor part[2] = {graph__part_of(w, dim + 1, padding % stride, stride),
                                graph__part_of(w, dim + 1, 0, padding % stride)};
    return ind_cat(part, 2, dim + 1);
}

/* The weights [phases, O, U.. * C / groups] of w, [C, O / groups, K..]. Their order is not that of the memory of w. */
static ind_tensor graph__phase_weights(ind_tensor w, const graph__transposed *t) {
    ind_context *c = w.graph->context;
    const bool grouped = t->shape.groups > 1;
    int order[IND_MAX_RANK], flipped[3], num = 0;
    ind_expr size[3], in = ind_tensor_size(w, 0);
    size[1] = ind_expr_mul(ind_tensor_size(w, 1), ind_int(c, t->shape.groups));
    w = graph__pad_kernels(w, t);
    if (grouped) {
        in = ind_expr_floordiv(in, ind_int(c, t->shape.groups));
        ind_expr all[IND_MAX_RANK] = {ind_int(c, t->shape.groups), in};
        for (int d = 1; d < 2 + t->rank; d++) all[d + 1] = ind_tensor_size(w, d);
        w = ind_view(w, all, t->rank + 3);
    }
    const int channel = grouped; /* dimensions: group?, C / groups, O / groups, for each s the blocks and the phases? */
    for (int s = 0, dim = channel + 2; s < t->rank; s++, dim++) {
        w = graph__phase_blocks(w, dim, t->stride[s], t->padding[s]);
        flipped[s] = dim;
        dim += t->stride[s] > 1;
    }
    w = ind_flip(w, flipped, t->rank);
    size[0] = ind_int(c, 1), size[2] = in;
    for (int s = 0; s < t->rank; s++) {
        if (t->stride[s] > 1) order[num++] = flipped[s] + 1;
        size[0] = ind_expr_mul(size[0], ind_int(c, t->stride[s]));
        size[2] = ind_expr_mul(size[2], ind_int(c, t->taps[s]));
    }
    if (grouped) order[num++] = 0;
    order[num++] = channel + 1;
    for (int s = 0; s < t->rank; s++) order[num++] = flipped[s];
    order[num++] = channel;
    return ind_view(ind_permute(w, order, num), size, 3);
}

/* The weights [O, C / groups, K..] of the convolution with stride 1. */
static ind_tensor graph__flipped_weights(ind_tensor w, const graph__transposed *t) {
    ind_context *c = w.graph->context;
    const ind_expr groups = ind_int(c, t->shape.groups), out = ind_tensor_size(w, 1);
    const ind_expr in = ind_expr_floordiv(ind_tensor_size(w, 0), groups);
    int flipped[3];
    ind_expr all[IND_MAX_RANK] = {groups, in, out}, size[IND_MAX_RANK] = {ind_expr_mul(out, groups), in};
    for (int s = 0; s < t->rank; s++) {
        flipped[s] = 2 + s;
        all[3 + s] = size[2 + s] = ind_tensor_size(w, 2 + s);
    }
    w = ind_flip(w, flipped, t->rank);
    if (t->shape.groups == 1) return ind_transpose(w, 0, 1);
    return ind_view(ind_transpose(ind_view(w, all, t->rank + 3), 1, 2), size, t->rank + 2);
}

/* Adds an op in the place of n: with its name and its position. */
static uint32_t graph__add_for(graph__rewrite *r, const ind__node *n, ind_graph_op op, uint32_t *operands,
                               uint32_t num_operands, ind__attr *attr, uint32_t num_attrs) {
    ind__node made = *n;
    made.op = op, made.attr = attr, made.num_attrs = num_attrs;
    made.operand = operands, made.num_operands = num_operands;
    return r->to->status ? 0 : graph__rewrite_add(r, &made);
}

static uint32_t graph__as_convolution(graph__rewrite *r, const ind__node *n, const graph__transposed *t) {
    ind_expr padding[3];
    ind__attr attr[6];
    uint32_t operands[3];
    for (int s = 0; s < t->rank; s++)
        padding[s] = ind_int(r->to->context, t->dilation[s] * (t->kernel[s] - 1) - t->padding[s]);
    memcpy(attr, n->attr, sizeof attr);
    attr[1] = ind__attr_sizes(padding, t->rank);
    attr[3] = ind__attr_bool(false);
    memcpy(operands, n->operand, n->num_operands * sizeof *operands);
    operands[1] = graph__flipped_weights((ind_tensor){r->to, n->operand[1]}, t).id;
    return graph__add_for(r, n, IND_OP_CONVOLUTION, operands, n->num_operands, attr, 6);
}

/* The bias as [1, O, 1..]. */
static ind_tensor graph__channel_bias(ind_tensor bias, int rank) {
    ind_expr size[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) size[d] = d == 1 ? ind_tensor_size(bias, 0) : ind_int(bias.graph->context, 1);
    return ind_view(bias, size, rank);
}

/* Adds the results by phases and the bias, and drops the results that are beyond the size of n. */
static uint32_t graph__as_phases(graph__rewrite *r, const ind__node *n, const graph__transposed *t) {
    ind_context *c = r->to->context;
    const ind__tensor_info *y = &r->from->tensor[n->result];
    const ind__window *window = &t->shape.window;
    int cut = 0;
    for (int s = 0; s < t->rank; s++) cut += !ind_known_eq(t->size[s], y->size[2 + s]);
    ind__attr attr[5] = {ind__attr_sizes(window->kernel, t->rank), ind__attr_sizes(window->stride, t->rank),
                         ind__attr_sizes(window->padding, t->rank), ind__attr_sizes(t->size, t->rank),
                         ind__attr_int(t->shape.groups)};
    attr[0].kind = attr[1].kind = attr[2].kind = IND__ATTR_INTS;
    uint32_t operands[2] = {n->operand[0], graph__phase_weights((ind_tensor){r->to, n->operand[1]}, t).id};
    const bool biased = n->num_operands > 2 && n->operand[2];
    if (!biased && !cut) return graph__add_for(r, n, IND_OP_CONVOLUTION_PHASES, operands, 2, attr, 5);
    if (r->to->status) return 0;
    ind_tensor x = ind__graph_add(r->to, IND_OP_CONVOLUTION_PHASES, operands, 2, attr, 5, NULL, NULL);
    ind__attr alpha = ind__attr_number(1);
    if (biased) {
        operands[0] = x.id;
        operands[1] = graph__channel_bias((ind_tensor){r->to, n->operand[2]}, y->rank).id;
        if (!cut) return graph__add_for(r, n, IND_OP_ADD, operands, 2, &alpha, 1);
        x = ind__graph_add(r->to, IND_OP_ADD, operands, 2, &alpha, 1, NULL, NULL);
    }
    for (int s = 0; s < t->rank; s++) {
        if (ind_known_eq(t->size[s], y->size[2 + s])) continue;
        const graph__cut part = {.x = x.id, .dim = 2 + s, .begin = ind_int(c, 0), .end = y->size[2 + s]};
        x.id = r->to->status ? 0 : graph__make_cut(r, &part, --cut ? NULL : n);
        if (!x.id) return 0;
    }
    return x.id;
}

/* Transposed convolutions of stride 1 are replaced in every iteration, so that patterns of convolutions match. The
   others are replaced after the patterns, in an iteration for which this pass alone is enabled. */
static uint32_t graph__pass_transposed_convolutions(graph__rewrite *r, const ind__node *n) {
    graph__transposed t = {0};
    if (n->op != IND_OP_CONVOLUTION || !n->attr[3].i) return 0;
    const bool last = r->enabled == 1u << IND_PASS_TRANSPOSED_CONVOLUTIONS;
    const char *no = graph__read_transposed(r->to, n, &t);
    bool flip = !no;
    for (int s = 0; s < t.rank && flip; s++) flip = t.stride[s] == 1;
    if (!last && !flip) return 0;
    if (!no) no = flip ? graph__refuse_flip(&t) : graph__refuse_phases(r, n, &t);
    if (no && last)
        graph__log(r->log, "transposed_convolutions", true, "%s (convolution) stays transposed: %s",
                   r->from->tensor[n->result].name, no);
    if (no) return 0;
    return flip ? graph__as_convolution(r, n, &t) : graph__as_phases(r, n, &t);
}
