enum { IND__SCALED_BLOCK = 128 }; /* elements along a dimension of a block of scaled_mm */

/* ---- 8-bit products: shape rules */

/* Checks ranks, types and the shared dimension of both operands. */
static ind_status ind__check_byte_product(ind__infer *in) {
    const bool floats = in->op == IND_OP_SCALED_MM;
    for (uint32_t k = 0; k < 2; k++) {
        const ind_dtype t = ind__operand(in, k)->dtype;
        if (ind__need_rank(in, k, 2)) return in->status;
        if (floats ? ind__only_stored(t) : t == IND_I8) continue;
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; %s is needed", ind__describe_name(in, k),
                           ind__describe_type(in, k), floats ? "f8e4m3fn or f8e5m2" : "i8");
    }
    ind__agreement inner = {0, 1, " columns", 1, 0, "has", " rows"};
    return ind__need_agree(in, inner);
}

static ind_status ind__rule_int_mm(ind__infer *in) {
    if (ind__check_byte_product(in)) return in->status;
    const ind_expr size[2] = {ind__operand(in, 0)->size[0], ind__operand(in, 1)->size[1]};
    ind__set_result(in, 0, IND_I32, size, 2);
    return IND_OK;
}

static bool ind__is_one_element(const ind__tensor_info *t) {
    for (int d = 0; d < t->rank; d++)
        if (!ind__is_int(t->size[d], 1)) return false;
    return true;
}

/* What one number of a scale belongs to. */
typedef enum ind__scale_form {
    IND__SCALE_NONE,     /* no form that is supported */
    IND__SCALE_ALL,      /* the operand */
    IND__SCALE_ROWS,     /* a row of a, or a column of b */
    IND__SCALE_SEGMENTS, /* IND__SCALED_BLOCK elements of a row of a, or of a column of b */
    IND__SCALE_BLOCKS    /* IND__SCALED_BLOCK such rows or columns */
} ind__scale_form;

static bool ind__counts_blocks(ind_expr size, ind_expr of) {
    return ind_known_eq(size, ind_expr_ceildiv(of, ind_int(of.context, IND__SCALED_BLOCK)));
}

/* The form of scale s of x, whose dimension `along` is not summed. Where two forms have the same sizes, they mean the
   same: all of a dimension is in one block, or has size 1. */
static ind__scale_form ind__scale_form_of(const ind__tensor_info *s, const ind__tensor_info *x, int along) {
    if (ind__is_one_element(s)) return IND__SCALE_ALL;
    if (s->rank != 2) return IND__SCALE_NONE;
    const bool each = ind_known_eq(s->size[along], x->size[along]);
    if (each && ind__is_int(s->size[1 - along], 1)) return IND__SCALE_ROWS;
    if (!ind__counts_blocks(s->size[1 - along], x->size[1 - along])) return IND__SCALE_NONE;
    if (each) return IND__SCALE_SEGMENTS;
    return ind__counts_blocks(s->size[along], x->size[along]) ? IND__SCALE_BLOCKS : IND__SCALE_NONE;
}

/* Checks scale k, of operand k - 2. */
static ind_status ind__check_product_scale(ind__infer *in, uint32_t k) {
    const ind__tensor_info *s = ind__operand(in, k);
    if (s->dtype != IND_F32)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; f32 is needed", ind__describe_name(in, k),
                           ind__describe_type(in, k));
    if (ind__scale_form_of(s, ind__operand(in, k - 2), (int)k - 2)) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; one number, %s is supported", ind__describe_name(in, k),
                       ind__describe_type(in, k),
                       k == 2 ? "[m, 1], [m, CeilDiv(k, 128)] or [CeilDiv(m, 128), CeilDiv(k, 128)] for self [m, k]"
                              : "[1, n], [CeilDiv(k, 128), n] or [CeilDiv(k, 128), CeilDiv(n, 128)] for mat2 [k, n]");
}

static ind_status ind__check_product_bias(ind__infer *in) {
    const ind__tensor_info *bias = ind__operand(in, 4);
    if (ind__need_rank(in, 4, 1)) return in->status;
    if (bias->dtype != IND_F32 && bias->dtype != IND_F16 && bias->dtype != IND_BF16)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; f32, f16 or bf16 is needed",
                           ind__describe_name(in, 4), ind__describe_type(in, 4));
    ind__agreement columns = {4, 0, " elements", 1, 1, "has", " columns"};
    return ind__need_agree(in, columns);
}

static ind_status ind__rule_scaled_mm(ind__infer *in) {
    const ind_dtype given = in->attr[0].kind == IND__ATTR_DTYPE ? (ind_dtype)in->attr[0].i : IND_DTYPE_NONE;
    if (ind__check_byte_product(in) || ind__check_product_scale(in, 2) || ind__check_product_scale(in, 3))
        return in->status;
    if (ind__has_operand(in, 4) && ind__check_product_bias(in)) return in->status;
    if (given && (!ind_dtype_is_float(given) || given == IND_F64))
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "out_dtype is %s; f32, f16, bf16 or an 8-bit float is needed",
                           ind_dtype_name(given));
    const ind_expr size[2] = {ind__operand(in, 0)->size[0], ind__operand(in, 1)->size[1]};
    ind__set_result(in, 0, given ? given : ind__operand(in, 0)->dtype, size, 2);
    return IND_OK;
}

/* ---- 8-bit products: builders */

ind_tensor ind_scaled_mm(ind_tensor a, ind_tensor b, ind_tensor scale_a, ind_tensor scale_b,
                         const ind_scaled_mm_desc *desc) {
    ind_scaled_mm_desc d = {{0, 0}, IND_DTYPE_NONE, false};
    if (desc) d = *desc;
    ind_tensor operands[5] = {a, b, scale_a, scale_b, d.bias};
    ind__attr attr[2] = {{.kind = IND__ATTR_DTYPE, .i = d.out_dtype}, ind__attr_bool(d.use_fast_accum)};
    if (!d.out_dtype) attr[0].kind = IND__ATTR_NONE;
    return ind__call(IND_OP_SCALED_MM, operands, 5, attr, 2);
}

IND__DEFINE_BINARY(int_mm, INT_MM)

/* ---- 8-bit products: lowerings */

static ind_status graph__lower_byte_product(graph__lower_ctx *l, ind_dtype dtype, int flags, ind__box **out) {
    l->product.a = graph__stored_operand(l, 0);
    l->product.b = graph__stored_operand(l, 1);
    if (!l->product.a || !l->product.b) return ind__failed(l->context);
    l->product.has_m = l->product.has_n = true;
    l->product.flags = flags;
    graph__product_sizes(l);
    return graph__lower_product(l, dtype, out);
}

static ind_status graph__lower_int_mm(graph__lower_ctx *l, ind__box **results) {
    return graph__lower_byte_product(l, IND_I32, 0, results);
}

static ind__scale_form graph__scale_form(const graph__lower_ctx *l, uint32_t k) {
    return ind__scale_form_of(graph__lower_operand_info(l, k), graph__lower_operand_info(l, k - 2), (int)k - 2);
}

/* True if scale k has a number per block along the summed dimension. */
static bool graph__has_block_scale(const graph__lower_ctx *l, uint32_t k) {
    return graph__scale_form(l, k) >= IND__SCALE_SEGMENTS;
}

/* x, an element of operand k - 2 of the product, times the number of its block. index: m, n, k. */
static ind_value graph__times_block_scale(ind_ops *o, ind_value x, uint32_t k, const ind_expr *index,
                                          const graph__lower_ctx *l) {
    const int along = (int)k - 2;
    const ind_expr block = ind_int(l->context, IND__SCALED_BLOCK);
    ind_expr at[2];
    at[along] = index[along];
    if (graph__scale_form(l, k) == IND__SCALE_BLOCKS) at[along] = ind_expr_floordiv(at[along], block);
    at[1 - along] = ind_expr_floordiv(index[2], block);
    return ind_op_mul(o, x, ind__box_load(o, graph__lower_operand_box(l, k), at, 2));
}

static ind_value graph__block_scaled_a(ind_ops *o, const ind_expr *index, int rank, void *user) {
    return graph__times_block_scale(o, graph__product_a(o, index, rank, user), 2, index, user);
}

static ind_value graph__block_scaled_b(ind_ops *o, const ind_expr *index, int rank, void *user) {
    return graph__times_block_scale(o, graph__product_b(o, index, rank, user), 3, index, user);
}

/* Scales of blocks are in the sum. 8-bit results are rounded even if only this kernel reads them. */
static ind_value graph__scaled_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind__box_load(o, l->part[0], index, rank);
    for (uint32_t k = 2; k < 4; k++)
        if (!graph__has_block_scale(l, k)) x = ind_op_mul(o, x, graph__lower_operand(o, l, k, index, rank));
    if (graph__lower_has_operand(l, 4)) x = ind_op_add(o, x, graph__lower_operand(o, l, 4, index, rank));
    return ind__only_stored(l->result->dtype) ? ind_op_cast(o, x, l->result->dtype) : x;
}

/* The product is f32 if it is stored without the scales. Sums of blocks with scales leave the tensor cores. */
static ind_status graph__lower_scaled_mm(graph__lower_ctx *l, ind__box **results) {
    const ind_loop_fn scaled[2] = {graph__block_scaled_a, graph__block_scaled_b};
    int flags = IND__INST_TENSOR_SUMS | (l->node->attr[1].i ? IND__INST_FAST_SUMS : 0);
    for (uint32_t k = 2; k < 4; k++) {
        if (!graph__has_block_scale(l, k)) continue;
        if (!graph__stored_operand(l, k)) return ind__failed(l->context);
        l->product.element[k - 2] = scaled[k - 2];
        flags = IND__INST_TENSOR_SUMS;
    }
    const ind_status status = graph__lower_byte_product(l, IND_F32, flags, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__scaled_element, results);
}

/* ---- 8-bit products: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_EIGHT_BIT(X)                                                                                      \
    X(SCALED_MM, ind__rule_scaled_mm, graph__lower_scaled_mm, NULL, NONE, NONE)                                        \
    X(INT_MM, ind__rule_int_mm, graph__lower_int_mm, NULL, NONE, NONE)
