/* ---- dimensions */

/* Resolves a dimension as PyTorch does: negative from the end; a scalar has one dimension. */
static ind_status ind__dim(ind__infer *in, uint32_t k, int64_t given, int rank, int *dim) {
    int range = rank ? rank : 1;
    *dim = (int)(given < 0 ? given + range : given);
    if (given >= -range && given < range) return IND_OK;
    *dim = 0;
    return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "dim %lld does not exist; dims of %s (%s) are in [%d, %d]",
                       (long long)given, ind__describe_name(in, k), ind__describe_type(in, k), -range, range - 1);
}

/* Returns element k of a list of dimensions that ind__dims has checked. */
static int ind__list_dim(const ind__attr *a, int k, int rank) {
    int64_t d = 0;
    ind_expr_is_int(a->list[k], &d);
    return (int)(d < 0 ? d + rank : d);
}

/* Returns a list of dimensions as a mask; no list or an empty one means all. */
static ind_status ind__dims(ind__infer *in, const ind__attr *a, uint32_t *mask) {
    int rank = ind__operand(in, 0)->rank, dim;
    *mask = rank ? (1u << rank) - 1 : 1;
    if (a->kind == IND__ATTR_NONE || a->count == 0) return IND_OK;
    *mask = 0;
    for (int i = 0; i < a->count; i++) {
        int64_t given = 0;
        ind_expr_is_int(a->list[i], &given);
        if (ind__dim(in, 0, given, rank, &dim)) return in->status;
        if (*mask >> dim & 1) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "dim %d is given twice", dim);
        *mask |= 1u << dim;
    }
    return IND_OK;
}

typedef struct ind__shape {
    int rank;
    ind_expr size[IND_MAX_RANK];
    uint32_t from[IND_MAX_RANK]; /* operand that set the size, for messages */
} ind__shape;

static ind_status ind__broadcast_clash(ind__infer *in, const ind__shape *s, int dim, uint32_t k, int k_dim, int skip) {
    uint32_t f = s->from[dim];
    const ind__tensor_info *a = ind__operand(in, f), *b = ind__operand(in, k);
    int a_dim = dim - (s->rank - (a->rank - skip));
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                       "%s has %s (dim %d of %s), %s has %s (dim %d of %s); to broadcast they must be equal or 1%s",
                       ind__describe_name(in, f), ind__describe_size(in, a->size[a_dim]), a_dim,
                       ind__describe_type(in, f), ind__describe_name(in, k), ind__describe_size(in, b->size[k_dim]),
                       k_dim, ind__describe_type(in, k), ind__describe_difference(in, a->size[a_dim], b->size[k_dim]));
}

/* Broadcasts operand k, without its last `skip` dimensions, into the shape. */
static ind_status ind__broadcast(ind__infer *in, ind__shape *s, uint32_t k, int skip) {
    const ind__tensor_info *t = ind__operand(in, k);
    int rank = t->rank - skip, grow = rank > s->rank ? rank - s->rank : 0;
    for (int d = s->rank - 1; grow && d >= 0; d--) {
        s->size[d + grow] = s->size[d];
        s->from[d + grow] = s->from[d];
    }
    for (int d = 0; d < grow; d++) s->size[d] = ind_int(in->c, 1);
    s->rank += grow;
    for (int i = 0; i < rank; i++) {
        int d = s->rank - rank + i;
        bool one = ind__is_int(s->size[d], 1);
        if (d < grow || (one && !ind__is_int(t->size[i], 1))) {
            s->size[d] = t->size[i];
            s->from[d] = k;
        } else if (!ind__is_int(t->size[i], 1) && !ind_known_eq(s->size[d], t->size[i])) {
            return ind__broadcast_clash(in, s, d, k, i, skip);
        }
    }
    return IND_OK;
}

static ind_status ind__need_sizes(ind__infer *in, const ind_expr *size, int rank) {
    for (int d = 0; d < rank; d++) {
        if (!ind_known_le(ind_int(in->c, 0), size[d])) {
            return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "size %s (dim %d) may be negative",
                               ind__describe_size(in, size[d]), d);
        }
    }
    return IND_OK;
}

/* Returns the attribute of kind dtype if it is given (or has a default in the table). */
static ind_dtype ind__given_dtype(const ind__infer *in, ind_dtype otherwise) {
    for (uint32_t i = 0; i < in->g->schema[in->op].num_attrs; i++) {
        if (in->attr[i].kind == IND__ATTR_DTYPE) return (ind_dtype)in->attr[i].i;
    }
    return otherwise;
}

/* True if an extern call can take these sizes. Its strides are numbers: only the first size may be data-dependent, as a
   plain symbol. */
static bool ind__is_extern_type(const ind_expr *size, int rank) {
    for (int d = 0; d < rank; d++) {
        if (ind__expr_has_kind(size[d], IND_SYMBOL_UNBACKED) && (d > 0 || !ind_expr_symbol(size[d]))) return false;
    }
    return true;
}

static ind_status ind__need_tensors(ind__infer *in) {
    if (in->num_operands > 0) return IND_OK;
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "at least one tensor is needed");
}

static ind_status ind__need_positive(ind__infer *in, ind_expr e, const char *what) {
    if (ind_known_lt(ind_int(in->c, 0), e)) return IND_OK;
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%s %s; it must be greater than 0", what,
                       ind__describe_size(in, e));
}
