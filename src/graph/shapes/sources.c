/* ---- sources */

static ind_status ind__need_sizes(ind__infer *in, const ind_expr *size, int rank) {
    for (int d = 0; d < rank; d++) {
        if (!ind_known_le(ind_int(in->c, 0), size[d])) {
            return ind__reject(in, IND_OUT_OF_RANGE, "size %s (dim %d) may be negative", ind__say_size(in, size[d]), d);
        }
    }
    return IND_OK;
}

static ind_status ind__rule_scalar(ind__infer *in) {
    ind__set_result(in, 0, in->attr[0].is_int ? IND_I64 : IND_F32, NULL, 0);
    return IND_OK;
}

/* The attribute of kind dtype, where it is given (or has a default in the table). */
static ind_dtype ind__given_dtype(const ind__infer *in, ind_dtype otherwise) {
    for (uint32_t i = 0; i < in->g->schema[in->op].num_attrs; i++) {
        if (in->attr[i].kind == IND__ATTR_DTYPE) return (ind_dtype)in->attr[i].i;
    }
    return otherwise;
}

/* full and its kin, new_full and its kin: the size is the first attribute, the dtype the last. */
static ind_status ind__rule_full(ind__infer *in) {
    const ind__attr *size = &in->attr[0];
    if (ind__need_sizes(in, size->list, size->count)) return in->status;
    if (in->op == IND_OP_EMPTY_STRIDED && in->attr[1].count != size->count) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "size has %d dimensions, stride %d; they must agree", size->count,
                           in->attr[1].count);
    }
    ind_dtype own = ind__has_operand(in, 0) ? ind__operand(in, 0)->dtype : IND_F32;
    ind__set_result(in, 0, ind__given_dtype(in, own), size->list, size->count);
    return IND_OK;
}

static ind_status ind__rule_full_like(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, ind__given_dtype(in, x->dtype), x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_scalar_tensor(ind__infer *in) {
    ind__set_result(in, 0, ind__given_dtype(in, IND_F32), NULL, 0);
    return IND_OK;
}

/* _dft_matrix[(r, q), (c, d)]: what part q of element r of a sum gives to part d of place c of its Fourier transform of
   length n, parts being the real and the imaginary one: scale * cos(2 pi (r c / n + (d - q) / 4)), inverse: (q - d).
   With one part there are real parts only. half: element r stands for n - r, too, as in irfft. */
static ind_status ind__rule_dft_matrix(ind__infer *in) {
    const ind__attr *a = in->attr;
    const int64_t n = a[0].i, rows = a[1].i, columns = a[2].i, most = (int64_t)1 << 28;
    if (n < 1 || rows < 0 || columns < 0 || n > most || rows > most || columns > most) {
        return ind__reject(
            in, IND_OUT_OF_RANGE,
            "n, rows and columns are %lld, %lld and %lld; at least 1, 0 and 0 and at most %lld are allowed",
            (long long)n, (long long)rows, (long long)columns, (long long)most);
    }
    if (a[3].i < 1 || a[3].i > 2 || a[4].i < 1 || a[4].i > 2)
        return ind__reject(in, IND_INVALID_ARGUMENT, "row_parts and column_parts are 1 or 2");
    ind_dtype dtype = (ind_dtype)a[8].i;
    if (dtype != IND_F32 && dtype != IND_F64) return ind__reject(in, IND_TYPE_MISMATCH, "dtype is f32 or f64");
    ind_expr size[2] = {ind_int(in->c, rows * a[3].i), ind_int(in->c, columns * a[4].i)};
    ind__set_result(in, 0, dtype, size, 2);
    return IND_OK;
}

static ind_status ind__rule_arange(ind__infer *in) {
    ind_expr start = in->attr[0].e, end = in->attr[1].e, step = in->attr[2].e, zero = ind_int(in->c, 0);
    if (!ind_known_lt(zero, step) && !ind_known_lt(step, zero)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "step %s may be 0, or its sign is not known",
                           ind__say_size(in, step));
    }
    ind_expr n = ind_expr_ceildiv(ind_expr_sub(end, start), step);
    if (!ind_known_le(zero, n)) n = ind_expr_max(n, zero);
    ind__set_result(in, 0, (ind_dtype)in->attr[3].i, &n, 1);
    return IND_OK;
}

/* ---- random numbers */

static ind_status ind__need_seed(ind__infer *in, uint32_t k) {
    const ind__tensor_info *seed = ind__operand(in, k);
    if (seed->dtype == IND_I64 && seed->rank == 0) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; the seed must be i64[]", ind__say_name(in, k),
                       ind__say_type(in, k));
}

static ind_status ind__rule_rand(ind__infer *in) {
    ind_dtype dtype = (ind_dtype)in->attr[1].i;
    if (ind__need_seed(in, 0) || ind__need_sizes(in, in->attr[0].list, in->attr[0].count)) return in->status;
    if (!ind_dtype_is_float(dtype))
        return ind__reject(in, IND_TYPE_MISMATCH, "dtype must be a floating-point type, not %s", ind_dtype_name(dtype));
    ind__set_result(in, 0, dtype, in->attr[0].list, in->attr[0].count);
    return IND_OK;
}

static ind_status ind__rule_randint(ind__infer *in) {
    ind_expr low = in->attr[0].e, high = in->attr[1].e;
    if (ind__need_seed(in, 0) || ind__need_sizes(in, in->attr[2].list, in->attr[2].count)) return in->status;
    if (!ind_known_lt(low, high))
        return ind__reject(in, IND_INVALID_ARGUMENT, "low %s is not known to be less than high %s",
                           ind__say_size(in, low), ind__say_size(in, high));
    ind__set_result(in, 0, (ind_dtype)in->attr[3].i, in->attr[2].list, in->attr[2].count);
    return IND_OK;
}

static ind_status ind__rule_randperm(ind__infer *in) {
    ind_dtype dtype = (ind_dtype)in->attr[1].i;
    if (ind__need_seed(in, 0) || ind__need_sizes(in, &in->attr[0].e, 1)) return in->status;
    if (dtype != IND_I64 && dtype != IND_I32)
        return ind__reject(in, IND_TYPE_MISMATCH, "dtype must be i64 or i32, not %s", ind_dtype_name(dtype));
    ind__set_result(in, 0, dtype, &in->attr[0].e, 1);
    return IND_OK;
}

/* bernoulli, native_dropout: the type and size of operand 0. */
static ind_status ind__rule_random_like(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_float(in, 0) || ind__need_seed(in, 1)) return in->status;
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    if (in->op != IND_OP_NATIVE_DROPOUT) return IND_OK;
    if (!(in->attr[0].f >= 0 && in->attr[0].f <= 1))
        return ind__reject(in, IND_INVALID_ARGUMENT, "p is %g; it must be in [0, 1]", in->attr[0].f);
    ind__set_result(in, 1, IND_BOOL, x->size, x->rank);
    return IND_OK;
}
