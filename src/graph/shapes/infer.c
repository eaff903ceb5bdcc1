/* ---- rules for all ops */

/* True if this operand may be a number. */
static bool ind__number_allowed(ind_graph_op op, uint32_t k) {
    bool elementwise = ind__op_has(op, 'P') && op != IND_OP_CAT && op != IND_OP_CUSTOM;
    if (op == IND_OP_ASSOCIATIVE_SCAN) return true; /* its rule checks that */
    if (op == IND_OP_QUANTILE || op == IND_OP_NANQUANTILE) return k == 1;
    if (op == IND_OP_SEARCHSORTED || op == IND_OP_BUCKETIZE) return k == (op == IND_OP_SEARCHSORTED);
    if (op == IND_OP_REPEAT_INTERLEAVE) return k == 1;
    if (op == IND_OP_CALL) return true;
    return elementwise && strchr(ind__op_rows[op].operands, ' ') && !(ind__op_has(op, 'T') && k == 0);
}

static ind_status ind__check_operands(ind__infer *in) {
    const ind__schema *schema = &in->g->schema[in->op];
    uint32_t least = ind__num_single(schema);
    bool list = least != schema->num_operands;
    if (list ? in->num_operands < least : in->num_operands != least) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%u operands are given; it takes %u%s",
                           (unsigned)in->num_operands, (unsigned)least, list ? " and a list" : "");
    }
    for (uint32_t k = 0; k < in->num_operands; k++) {
        const ind__operand_schema *o = ind__operand_row(schema, k);
        uint32_t id = in->operand[k];
        if (id == 0 && o->optional) continue;
        if (id == 0 || id >= in->g->num_tensors) {
            return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%.*s is not a tensor of this graph", o->length,
                               o->name);
        }
        ind_dtype dtype = in->g->tensor[id].dtype;
        const ind__tensor_info *x = &in->g->tensor[id];
        if (in->op == IND_OP_EXTERN && !ind__is_extern_type(x->size, x->rank)) {
            return ind__reject(in, IND_ERROR_NOT_SUPPORTED,
                               "%s is %s: an extern call takes numbers, and where to find a size that comes from "
                               "data; only dimension 0 can be one, and by itself",
                               ind__describe_name(in, k), ind__describe_type(in, k));
        }
        if (ind__only_stored(dtype) && !ind__op_has(in->op, 'V') && !ind__op_has(in->op, 'D') &&
            !ind__op_has(in->op, 'Q')) {
            return ind__reject(in, IND_ERROR_TYPE_MISMATCH,
                               "%.*s is %s, which is only stored; cast it to compute with it", o->length, o->name,
                               ind_dtype_name(dtype));
        }
        if (in->g->tensor[id].weak && !ind__number_allowed(in->op, k)) {
            return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%.*s is a number; a tensor is needed (ind_full makes one)",
                               o->length, o->name);
        }
    }
    return IND_OK;
}

static ind_status ind__check_list(ind__infer *in, const ind__attr_schema *s, const ind__attr *a) {
    if (a->count < 0 || (a->count > 0 && !a->list)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%.*s is NULL", s->length, s->name);
    }
    if (s->kind == IND__ATTR_SIZES && a->count > IND_MAX_RANK) return ind__too_many_dims(in, a->count);
    for (int i = 0; i < a->count; i++) {
        if (!ind__ok(a->list[i]) || a->list[i].context != in->c) {
            return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                               "element %d of %.*s is not a valid expression of this context", i, s->length, s->name);
        }
        if (s->kind == IND__ATTR_INTS && !ind_expr_is_int(a->list[i], NULL)) {
            return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "element %d of %.*s is not an integer", i, s->length,
                               s->name);
        }
    }
    return IND_OK;
}

static ind_status ind__check_floats(ind__infer *in, const ind__attr_schema *s, const ind__attr *a) {
    if (a->count > IND_MAX_RANK) return ind__too_many_dims(in, a->count);
    if (a->count >= 0 && (a->count == 0 || a->floats)) return IND_OK;
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%.*s is NULL", s->length, s->name);
}

/* padding="same" or "valid" of a convolution. */
static bool ind__is_named_padding(ind_graph_op op, const ind__attr *attr) {
    return op >= IND_OP_CONV1D && op <= IND_OP_CONV3D && attr[1].kind == IND__ATTR_STR;
}

static ind_status ind__check_attr(ind__infer *in, const ind__attr_schema *s, const ind__attr *a) {
    if (a->kind == IND__ATTR_NONE) {
        if (!s->required) return IND_OK;
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "argument %.*s is missing", s->length, s->name);
    }
    if (ind__is_named_padding(in->op, in->attr) && a == &in->attr[1]) return IND_OK;
    if (a->kind != s->kind) {
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%.*s must be %s", s->length, s->name,
                           ind__attr_kind_rows[s->kind].description);
    }
    if (s->kind == IND__ATTR_INTS || s->kind == IND__ATTR_SIZES || s->kind == IND__ATTR_EXPRS)
        return ind__check_list(in, s, a);
    if (s->kind == IND__ATTR_FLOATS) return ind__check_floats(in, s, a);
    if (s->kind == IND__ATTR_DTYPE && (a->i <= IND_DTYPE_NONE || a->i >= IND_NUM_DTYPES)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%.*s is not an element type", s->length, s->name);
    }
    if (s->kind == IND__ATTR_SIZE && (!ind__ok(a->e) || a->e.context != in->c)) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%.*s is not a valid expression of this context", s->length,
                           s->name);
    }
    return IND_OK;
}

/* Checks that the size of every result in bytes, at the largest sizes, fits 63 bits. */
static ind_status ind__check_result(ind__infer *in, const ind__type *t) {
    if (t->rank > IND_MAX_RANK) return ind__too_many_dims(in, t->rank);
    if (t->dtype == IND_DTYPE_NONE)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH,
                           "an 8-bit float and another type have no common type; cast one");
    int64_t total = ind_dtype_bytes(t->dtype), lo, hi;
    for (int d = 0; d < t->rank; d++) {
        if (!ind__ok(t->size[d])) {
            ind_status why =
                ind_error_status(in->c) == IND_ERROR_OUT_OF_MEMORY ? IND_ERROR_OUT_OF_MEMORY : IND_ERROR_OVERFLOW;
            return ind__reject(in, why, "size of dim %d of the result cannot be computed: %s", d, ind_error(in->c));
        }
        ind__known_bounds(t->size[d], &lo, &hi);
        if (hi > 0 && total > INT64_MAX / hi) {
            char *text = ind__scratch(in);
            ind__print_type(text, sizeof in->scratch[0], t->dtype, t->size, t->rank);
            return ind__reject(in, IND_ERROR_OVERFLOW,
                               "the result %s can have more bytes than 64 bits count (dim %d is at most "
                               "%lld)",
                               text, d, (long long)hi);
        }
        if (hi > 0) total *= hi;
    }
    return IND_OK;
}

/* Checks that computed results have a compute type, as in PyTorch. Only a cast converts to a storage-only type, with
   rounding. */
static ind_status ind__check_computed_type(ind__infer *in) {
    bool computes = in->op == IND_OP_ARANGE;
    for (const char *flag = "RCN"; *flag; flag++) computes = computes || ind__op_has(in->op, *flag);
    ind_dtype dtype = ind__given_dtype(in, IND_F32);
    if (!computes || !ind__only_stored(dtype)) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "dtype is %s, which is only stored; cast the result",
                       ind_dtype_name(dtype));
}

static ind_status ind__check_arguments_of(ind__infer *in) {
    const ind__schema *schema = &in->g->schema[in->op];
    if (ind__check_operands(in)) return in->status;
    for (uint32_t i = 0; i < schema->num_attrs; i++) {
        if (ind__check_attr(in, &schema->attr[i], &in->attr[i])) return in->status;
    }
    return ind__check_computed_type(in);
}

static ind_status ind__infer_results(ind__infer *in) {
    if (ind__check_arguments_of(in)) return in->status;
    if (ind__implementation_of(in->op)->rule(in)) return in->status;
    for (uint32_t r = 0; r < in->num_results; r++) {
        if (ind__check_result(in, &in->result[r])) return in->status;
    }
    return IND_OK;
}
