/* ---- pads: shape rules */

typedef enum ind__pad_mode { IND__PAD_CONSTANT, IND__PAD_REFLECT, IND__PAD_REPLICATE, IND__PAD_CIRCULAR } ind__pad_mode;

static const char *const ind__pad_modes[] = {"constant", "reflect", "replicate", "circular"};

/* Returns the mode, -1 if the name is unknown. */
static int ind__pad_mode_of(ind_graph_op op, const ind__attr *attr) {
    if (op == IND_OP_CONSTANT_PAD_ND) return IND__PAD_CONSTANT;
    if (op != IND_OP_PAD) return strncmp(ind__op_name(op), "refl", 4) ? IND__PAD_REPLICATE : IND__PAD_REFLECT;
    for (int m = 0; attr[1].s && m < 4; m++) {
        if (strcmp(attr[1].s, ind__pad_modes[m]) == 0) return m;
    }
    return -1;
}

/* Returns the padding before (side 0) or after (side 1) dimension d. The list begins with the last dimension. */
static ind_expr ind__pad_of(ind_context *c, const ind__attr *pad, int rank, int d, int side) {
    int at = 2 * (rank - 1 - d) + side;
    return at < pad->count ? pad->list[at] : ind_int(c, 0);
}

/* A reflection needs more elements than the padding, a circular pad at least as many. */
static ind_status ind__check_pad(ind__infer *in, int d, int mode) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size = x->size[d], one = ind_int(in->c, 1);
    ind_expr most = mode == IND__PAD_REFLECT ? ind_expr_sub(size, one) : size;
    for (int side = 0; side < 2; side++) {
        ind_expr pad = ind__pad_of(in->c, &in->attr[0], x->rank, d, side);
        if (mode == IND__PAD_REPLICATE ? ind_known_le(one, size) : ind_known_le(pad, most)) continue;
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE,
                           "dim %d of %s (%s) is not known to have enough elements to pad %s with", d,
                           ind__describe_name(in, 0), ind__describe_type(in, 0), ind__describe_size(in, pad));
    }
    return IND_OK;
}

/* Checks the number of padded dimensions. Modes other than "constant" require a rank of one or two more. */
static ind_status ind__check_pad_rank(ind__infer *in, int mode) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int count = in->attr[0].count, dims = count / 2;
    int want = in->op == IND_OP_PAD || mode == IND__PAD_CONSTANT ? dims : ind__spatial_rank(in->op);
    if (count % 2 || dims > x->rank || dims != want) {
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                           "%d paddings are given for %s (%s); two are needed for each of %s", count,
                           ind__describe_name(in, 0), ind__describe_type(in, 0),
                           dims != want ? "the dimensions that it pads" : "the last dimensions");
    }
    if (mode == IND__PAD_CONSTANT || (dims >= 1 && dims <= 3 && (x->rank == dims + 1 || x->rank == dims + 2)))
        return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; %d paddings need %d or %d dimensions",
                       ind__describe_name(in, 0), ind__describe_type(in, 0), count, dims + 1, dims + 2);
}

static ind_status ind__rule_pad(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int mode = ind__pad_mode_of(in->op, in->attr);
    ind_expr size[IND_MAX_RANK];
    if (mode < 0) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                           "mode is \"%.40s\"; allowed: \"constant\", \"reflect\", \"replicate\", \"circular\"",
                           in->attr[1].s ? in->attr[1].s : "");
    }
    if (ind__check_pad_rank(in, mode)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        bool padded = d >= x->rank - in->attr[0].count / 2;
        if (padded && mode != IND__PAD_CONSTANT && ind__check_pad(in, d, mode)) return in->status;
        size[d] = ind_expr_add(x->size[d], ind_expr_add(ind__pad_of(in->c, &in->attr[0], x->rank, d, 0),
                                                        ind__pad_of(in->c, &in->attr[0], x->rank, d, 1)));
    }
    if (ind__need_sizes(in, size, x->rank)) return in->status;
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

/* ---- pads: builders */

ind_tensor ind_pad(ind_tensor x, const ind_expr *pad, int num_pad, ind_pad_mode mode, double value) {
    ind__attr a[3] = {ind__attr_sizes(pad, num_pad), {.kind = IND__ATTR_STR}, {.kind = IND__ATTR_NONE}};
    bool known = mode >= IND_PAD_CONSTANT && mode <= IND_PAD_CIRCULAR;
    a[1].s = known ? ind__pad_modes[mode] : "?";
    if (mode == IND_PAD_CONSTANT) a[2] = ind__attr_number(value);
    return ind__call(IND_OP_PAD, &x, 1, a, 3);
}

/* ---- pads: lowerings */

/* Maps index i of a padded dimension to the operand's dimension of this size, for modes that repeat elements. */
static ind_expr graph__padded_index(int mode, ind_expr i, ind_expr size) {
    ind_expr zero = ind_int(size.context, 0), last = ind_expr_sub(size, ind_int(size.context, 1));
    if (mode == IND__PAD_CIRCULAR) return graph__wrapped(i, size);
    if (mode == IND__PAD_REPLICATE) return ind_expr_min(ind_expr_max(i, zero), last);
    ind_expr back = ind_expr_sub(last, ind_expr_max(i, ind_expr_neg(i))); /* last - |i| */
    return ind_expr_sub(last, ind_expr_max(back, ind_expr_neg(back)));    /* last - |last - |i|| */
}

static ind_value graph__lower_constant_pad(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *value = &l->node->attr[l->node->op == IND_OP_PAD ? 2 : 1];
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr at[IND_MAX_RANK], inside = ind_int(l->context, 1);
    graph__typed_number outside = {IND_I64, 0, 0};
    if (value->kind != IND__ATTR_NONE) outside = graph__typed_number_of(value);
    for (int d = 0; d < rank; d++) {
        at[d] = ind_expr_sub(index[d], ind__pad_of(l->context, &l->node->attr[0], rank, d, 0));
        inside = graph__and_within(inside, at[d], x->size[d]);
    }
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_number(o, outside, l->result->dtype));
}

/* True for an unstored value that is computed from the maxima of a softmax. */
static bool graph__is_unstored_softmax(const ind__lowered *p, const ind__box *x) {
    const ind_body *b = x->storage->body;
    for (uint32_t i = 1; b && i < b->num_inst; i++) {
        const ind__buffer *from = &p->buffer[b->inst[i].source];
        if (b->inst[i].op == IND_LOOP_LOAD && from->kind == IND__BUFFER_COMPUTED &&
            p->loop[from->loop].reduction == IND_REDUCE_ONLINE_SOFTMAX)
            return true;
    }
    return false;
}

/* A softmax is stored before it is padded. In the ranges of the pad, a separate kernel would compute it from scores
   rounded for memory. Their difference from a maximum of unrounded scores may be large. */
static ind_status graph__lower_constant_pads(graph__lower_ctx *l, ind__box **results) {
    ind__box *x = graph__lower_operand_box(l, 0);
    if (!x) return ind__failed(l->context);
    ind_status status = graph__is_unstored_softmax(l->w->program, x) ? ind__box_realise(l->w->program, x) : IND_OK;
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__lower_constant_pad, results);
}

static ind_status graph__lower_pad(graph__lower_ctx *l, ind__box **results) {
    int mode = ind__pad_mode_of(l->node->op, l->node->attr), rank = l->result->rank;
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK];
    if (mode == IND__PAD_CONSTANT) return graph__lower_constant_pads(l, results);
    graph__lower_same_indices(l, map);
    for (int d = rank - l->node->attr[0].count / 2; d < rank; d++) {
        map[d] = ind_expr_sub(map[d], ind__pad_of(l->context, &l->node->attr[0], rank, d, 0));
        map[d] = graph__padded_index(mode, map[d], x->size[d]);
    }
    return graph__lower_make_view(l, map, results);
}

/* ---- pads: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_PADS(X)                                                                                           \
    X(CONSTANT_PAD_ND, ind__rule_pad, graph__lower_pad, NULL, NONE, NONE)                                              \
    X(PAD, ind__rule_pad, graph__lower_pad, NULL, NONE, NONE)                                                          \
    X(REFLECTION_PAD1D, ind__rule_pad, graph__lower_pad, NULL, NONE, NONE)                                             \
    X(REFLECTION_PAD2D, ind__rule_pad, graph__lower_pad, NULL, NONE, NONE)                                             \
    X(REFLECTION_PAD3D, ind__rule_pad, graph__lower_pad, NULL, NONE, NONE)                                             \
    X(REPLICATION_PAD1D, ind__rule_pad, graph__lower_pad, NULL, NONE, NONE)                                            \
    X(REPLICATION_PAD2D, ind__rule_pad, graph__lower_pad, NULL, NONE, NONE)                                            \
    X(REPLICATION_PAD3D, ind__rule_pad, graph__lower_pad, NULL, NONE, NONE)
