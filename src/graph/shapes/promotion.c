/* ---- promotion */

/* torch.result_type has three ranks of operands: tensors with dimensions, zero-dimensional tensors, Python numbers. A
   lower rank changes the type only if it is of a higher class (ATen/native/TypeProperties.cpp, combine_categories). */
static ind_dtype ind__combine_ranks(ind_dtype higher, ind_dtype lower) {
    if (higher == IND_DTYPE_NONE) return lower;
    if (lower == IND_DTYPE_NONE || ind_dtype_is_float(higher)) return higher;
    if (higher == IND_BOOL || ind_dtype_is_float(lower)) return ind_dtype_promote(higher, lower);
    return higher;
}

ind_dtype ind__result_type(const ind_graph *g, const uint32_t *tensors, uint32_t n) {
    ind_dtype type[3] = {IND_DTYPE_NONE, IND_DTYPE_NONE, IND_DTYPE_NONE};
    for (uint32_t i = 0; i < n; i++) {
        const ind__tensor_info *t = &g->tensor[tensors[i]];
        if (tensors[i] == 0) continue;
        ind_dtype *r = &type[t->weak ? 2 : t->rank == 0 ? 1 : 0];
        *r = *r == IND_DTYPE_NONE ? t->dtype : ind_dtype_promote(*r, t->dtype);
    }
    return ind__combine_ranks(type[0], ind__combine_ranks(type[1], type[2]));
}

static bool ind__only_stored(ind_dtype dtype) {
    return ind_dtype_is_float(dtype) && ind_dtype_bytes(dtype) == 1;
}

static ind_status ind__need_float(ind__infer *in, uint32_t k) {
    if (ind_dtype_is_float(ind__operand(in, k)->dtype)) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; a floating-point type is needed (f16, bf16, f32, f64)",
                       ind__describe_name(in, k), ind__describe_type(in, k));
}

static ind_status ind__need_index(ind__infer *in, uint32_t k) {
    ind_dtype d = ind__operand(in, k)->dtype;
    if (d == IND_I32 || d == IND_I64) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; indices must be i32 or i64", ind__describe_name(in, k),
                       ind__describe_type(in, k));
}

static ind_status ind__need_same_dtype(ind__infer *in, uint32_t a, uint32_t b) {
    if (ind__operand(in, a)->dtype == ind__operand(in, b)->dtype) return IND_OK;
    return ind__reject(
        in, IND_ERROR_TYPE_MISMATCH, "%s is %s, %s is %s; both must have the same element type (cast one of them)",
        ind__describe_name(in, a), ind__describe_type(in, a), ind__describe_name(in, b), ind__describe_type(in, b));
}

static ind_status ind__need_rank(ind__infer *in, uint32_t k, int rank) {
    if (ind__operand(in, k)->rank == rank) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s with %d dimension%s; exactly %d %s needed",
                       ind__describe_name(in, k), ind__describe_type(in, k), ind__operand(in, k)->rank,
                       ind__operand(in, k)->rank == 1 ? "" : "s", rank, rank == 1 ? "is" : "are");
}

static ind_status ind__need_dimensions(ind__infer *in, uint32_t k) {
    if (ind__operand(in, k)->rank > 0) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s (%s) has no dimensions", ind__describe_name(in, k),
                       ind__describe_type(in, k));
}

/* Dimension da of operand a and db of b must have the same size. The strings form the message: "x has 256 features
   (..), w expects 128 (..)". */
typedef struct ind__agreement {
    uint32_t a;
    int da;
    const char *a_noun;
    uint32_t b;
    int db;
    const char *b_verb, *b_noun;
} ind__agreement;

static ind_status ind__need_agree(ind__infer *in, ind__agreement w) {
    ind_expr a = ind__operand(in, w.a)->size[w.da], b = ind__operand(in, w.b)->size[w.db];
    if (ind_known_eq(a, b)) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                       "%s has %s%s (dim %d of %s), %s %s %s%s (dim %d of %s); %s and %s must agree there%s",
                       ind__describe_name(in, w.a), ind__describe_size(in, a), w.a_noun, w.da,
                       ind__describe_type(in, w.a), ind__describe_name(in, w.b), w.b_verb, ind__describe_size(in, b),
                       w.b_noun, w.db, ind__describe_type(in, w.b), ind__describe_name(in, w.a),
                       ind__describe_name(in, w.b), ind__describe_difference(in, a, b));
}
