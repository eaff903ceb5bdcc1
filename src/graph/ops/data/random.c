/* ---- random numbers: shape rules */

static ind_status ind__check_philox(ind__infer *in, ind_dtype promoted) {
    int64_t first = in->attr[0].i, width = in->attr[1].i;
    if (promoted != IND_I64)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "key, stream and position are %s; they must be i64",
                           ind_dtype_name(promoted));
    if (width > 0 && width < 64 && first >= 0 && first < 128 && first % 64 + width <= 64) return IND_OK;
    return ind__reject(in, IND_ERROR_OUT_OF_RANGE,
                       "first is %lld and width %lld; at most 63 bits of one half of the 128 are allowed",
                       (long long)first, (long long)width);
}

static ind_status ind__rule_philox(ind__infer *in) {
    return ind__infer_pointwise(in, 0, ind__check_philox);
}

static ind_status ind__need_seed(ind__infer *in, uint32_t k) {
    const ind__tensor_info *seed = ind__operand(in, k);
    if (seed->dtype == IND_I64 && seed->rank == 0) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; the seed must be i64[]", ind__describe_name(in, k),
                       ind__describe_type(in, k));
}

static ind_status ind__rule_rand(ind__infer *in) {
    ind_dtype dtype = (ind_dtype)in->attr[1].i;
    if (ind__need_seed(in, 0) || ind__need_sizes(in, in->attr[0].list, in->attr[0].count)) return in->status;
    if (!ind_dtype_is_float(dtype))
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "dtype must be a floating-point type, not %s",
                           ind_dtype_name(dtype));
    ind__set_result(in, 0, dtype, in->attr[0].list, in->attr[0].count);
    return IND_OK;
}

static ind_status ind__rule_randint(ind__infer *in) {
    ind_expr low = in->attr[0].e, high = in->attr[1].e;
    if (ind__need_seed(in, 0) || ind__need_sizes(in, in->attr[2].list, in->attr[2].count)) return in->status;
    if (!ind_known_lt(low, high))
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "low %s is not known to be less than high %s",
                           ind__describe_size(in, low), ind__describe_size(in, high));
    ind__set_result(in, 0, (ind_dtype)in->attr[3].i, in->attr[2].list, in->attr[2].count);
    return IND_OK;
}

static ind_status ind__rule_randperm(ind__infer *in) {
    ind_dtype dtype = (ind_dtype)in->attr[1].i;
    if (ind__need_seed(in, 0) || ind__need_sizes(in, &in->attr[0].e, 1)) return in->status;
    if (dtype != IND_I64 && dtype != IND_I32)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "dtype must be i64 or i32, not %s", ind_dtype_name(dtype));
    ind__set_result(in, 0, dtype, &in->attr[0].e, 1);
    return IND_OK;
}

/* bernoulli, native_dropout: type and size of operand 0. */
static ind_status ind__rule_random_like(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_float(in, 0) || ind__need_seed(in, 1)) return in->status;
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    if (in->op != IND_OP_NATIVE_DROPOUT) return IND_OK;
    if (!(in->attr[0].f >= 0 && in->attr[0].f <= 1))
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "p is %g; it must be in [0, 1]", in->attr[0].f);
    ind__set_result(in, 1, IND_BOOL, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_multinomial(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr samples = in->attr[0].e, one = ind_int(in->c, 1), size[2];
    if (ind__need_float(in, 0) || ind__need_seed(in, 1)) return in->status;
    if (x->rank != 1 && x->rank != 2)
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s (%s) must have one or two dimensions",
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
    if (ind__need_elements(in, 1u << (x->rank - 1))) return in->status;
    ind_expr weights = x->size[x->rank - 1];
    if (!ind_known_le(one, samples) || (!in->attr[1].i && !ind_known_le(samples, weights))) {
        return ind__reject(in, IND_ERROR_OUT_OF_RANGE, "num_samples is %s; it is not known to be in [1, %s]",
                           ind__describe_size(in, samples), in->attr[1].i ? "..)" : ind__describe_size(in, weights));
    }
    size[0] = x->size[0];
    size[x->rank - 1] = samples;
    ind__set_result(in, 0, IND_I64, size, x->rank);
    return IND_OK;
}

/* ---- random numbers: builders */

ind_tensor ind_rand(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype), ind__attr_int(stream)};
    return ind__call(IND_OP_RAND, &seed, 1, a, 3);
}

ind_tensor ind_randn(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype), ind__attr_int(stream)};
    return ind__call(IND_OP_RANDN, &seed, 1, a, 3);
}

ind_tensor ind_randint(ind_tensor seed, ind_expr low, ind_expr high, const ind_expr *size, int rank, ind_dtype dtype,
                       int stream) {
    ind__attr a[5] = {ind__attr_size(low), ind__attr_size(high), ind__attr_sizes(size, rank), ind__attr_dtype(dtype),
                      ind__attr_int(stream)};
    return ind__call(IND_OP_RANDINT, &seed, 1, a, 5);
}

ind_tensor ind_randperm(ind_tensor seed, ind_expr n, ind_dtype dtype, int stream) {
    ind__attr a[3] = {ind__attr_size(n), ind__attr_dtype(dtype), ind__attr_int(stream)};
    return ind__call(IND_OP_RANDPERM, &seed, 1, a, 3);
}

ind_tensor ind_bernoulli(ind_tensor p, ind_tensor seed, int stream) {
    ind_tensor x[2] = {p, seed};
    ind__attr a = ind__attr_int(stream);
    return ind__call(IND_OP_BERNOULLI, x, 2, &a, 1);
}

ind_tensor ind_multinomial(ind_tensor p, ind_tensor seed, ind_expr num_samples, bool replacement, int stream) {
    ind_tensor x[2] = {p, seed};
    ind__attr a[3] = {ind__attr_size(num_samples), ind__attr_bool(replacement), ind__attr_int(stream)};
    return ind__call(IND_OP_MULTINOMIAL, x, 2, a, 3);
}

ind_tensor ind_native_dropout(ind_tensor x, ind_tensor seed, double p, bool train, int stream, ind_tensor *mask) {
    ind_tensor operand[2] = {x, seed};
    ind__attr a[3] = {ind__attr_float(p), ind__attr_bool(train), ind__attr_int(stream)};
    ind_tensor y = ind__call(IND_OP_NATIVE_DROPOUT, operand, 2, a, 3);
    if (mask) *mask = ind__graph_tensor(y.graph, y.id ? y.id + 1 : 0);
    return y;
}

ind_tensor ind_philox(ind_tensor key, ind_tensor stream, ind_tensor position, int first, int width) {
    ind_tensor x[3] = {key, stream, position};
    ind__attr a[2] = {ind__attr_int(first), ind__attr_int(width)};
    return ind__call(IND_OP_PHILOX, x, 3, a, 2);
}

/* ---- random numbers: lowerings */

/* Bits [first, first + width) for the element at `index` of the result. Operand k is the seed, the last attribute the
   stream. */
static ind_value graph__random_bits(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index, int rank,
                                    int first, int width) {
    ind_value seed = ind__box_load(o, graph__lower_operand_box(l, k), index, 0);
    ind_value stream = ind_op_constant_int(o, l->node->attr[l->node->num_attrs - 1].i, IND_I64);
    ind_expr at = ind__linearise(l->context, index, l->result->size, rank);
    return ind_op_philox(o, seed, stream, ind_op_index(o, at, IND_I64), first, width);
}

/* The top `width` bits of a half, plus `add`, times 2^-width. */
static ind_value graph__random_fraction(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                        int rank, int half, int width, int add) {
    ind_value bits = graph__random_bits(o, l, k, index, rank, 64 * half + 64 - width, width);
    if (add) bits = ind_op_add(o, bits, ind_op_constant_int(o, add, IND_I64));
    return ind_op_mul(o, ind_op_cast(o, bits, l->compute), graph__lower_float(o, l, ldexp(1, -width)));
}

static ind_value graph__lower_philox(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value v[3];
    for (uint32_t k = 0; k < 3; k++) v[k] = graph__lower_operand(o, l, k, index, rank);
    return ind_op_philox(o, v[0], v[1], v[2], (int)l->node->attr[0].i, (int)l->node->attr[1].i);
}

static ind_value graph__lower_rand(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_dtype d = l->result->dtype;
    int width = d == IND_F64 ? 53 : d == IND_F16 ? 11 : d == IND_BF16 ? 8 : 24;
    return graph__random_fraction(o, l, 0, index, rank, 0, width, 0);
}

static ind_value graph__lower_randn(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int width = l->compute == IND_F64 ? 53 : 24;
    ind_value u = graph__random_fraction(o, l, 0, index, rank, 0, width, 1);
    ind_value v = graph__random_fraction(o, l, 0, index, rank, 1, width, 0);
    ind_value radius = ind_op_sqrt(o, ind_op_mul(o, graph__lower_float(o, l, -2), ind_op_log(o, u)));
    return ind_op_mul(o, radius, ind_op_cos(o, ind_op_mul(o, graph__lower_float(o, l, 6.28318530717958647693), v)));
}

static ind_value graph__lower_randint(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr low = l->node->attr[0].e, high = l->node->attr[1].e;
    ind_value bits = graph__random_bits(o, l, 0, index, rank, 0, 63);
    ind_value n = ind_op_index(o, ind_expr_sub(high, low), IND_I64);
    ind_value rest = ind_op_sub(o, bits, ind_op_mul(o, ind_op_div(o, bits, n), n));
    return graph__lower_cast(o, ind_op_add(o, rest, ind_op_index(o, low, IND_I64)), l->compute);
}

static ind_value graph__lower_bernoulli(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value u = graph__random_fraction(o, l, 1, index, rank, 0, l->compute == IND_F64 ? 53 : 24, 0);
    return ind_op_cast(o, ind_op_lt(o, u, graph__lower_operand(o, l, 0, index, rank)), l->compute);
}

static ind_value graph__dropout_mask(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    if (!l->node->attr[1].i) return ind_op_constant_int(o, 1, IND_BOOL);
    ind_value u = graph__random_fraction(o, l, 1, index, rank, 0, 24, 0);
    return ind_op_ge(o, u, graph__lower_float(o, l, l->node->attr[0].f));
}

static ind_value graph__dropout_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    double p = l->node->attr[0].f;
    if (!l->node->attr[1].i) return x;
    ind_value scaled = ind_op_mul(o, x, graph__lower_float(o, l, p < 1 ? 1 / (1 - p) : 0));
    return ind_op_where(o, graph__dropout_mask(o, index, rank, l), scaled, graph__lower_float(o, l, 0));
}

static ind_status graph__lower_native_dropout(graph__lower_ctx *l, ind__box **results) {
    ind_status status =
        graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__dropout_element, &results[0]);
    if (status) return status;
    return graph__lower_loop(l, IND_BOOL, l->result->size, l->result->rank, graph__dropout_mask, &results[1]);
}

static ind_value graph__random_key(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__random_bits(o, l, 0, index, rank, 0, 63);
}

static ind_value graph__randperm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->part[1], index, rank), l->compute);
}

static ind_status graph__lower_randperm(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *y = l->result;
    ind_status status = graph__lower_scan_of(l, IND_SCAN_ASCENDING, IND_I64, y->size, 1, 0, graph__random_key, l->part);
    return status ? status : graph__lower_loop(l, y->dtype, y->size, 1, graph__randperm_element, results);
}

/* ---- multinomial */

static ind_value graph__weight(ind_ops *o, const ind_expr *index, int rank, void *user) {
    return graph__lower_operand_as(o, user, 0, index, rank, IND_F64);
}

/* The first position at which the prefix sum of the weights exceeds a random fraction of their sum. */
static ind_value graph__multinomial_drawn(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    graph__search s = {.sequence = l->part[0], .right = true, .dim = rank - 1, .size = l->part[0]->size[rank - 1]};
    ind_expr one = ind_int(l->context, 1), last = ind_expr_sub(s.size, one);
    l->compute = IND_F64;
    ind_value u = graph__random_fraction(o, l, 1, index, rank, 0, 53, 0);
    for (int d = 0; d + 1 < rank; d++) s.at[d] = index[d];
    s.at[rank - 1] = last;
    ind_expr some = ind_expr_lt(ind_int(l->context, 0), s.size);
    ind_value outer = o->mask, has = ind_op_index(o, some, IND_BOOL);
    if (!ind_known_true(some)) o->mask = outer.id ? ind_op_and(o, outer, has) : has;
    ind_value all = ind__box_load(o, l->part[0], s.at, rank);
    o->mask = outer;
    ind_value position = graph__search_steps(o, &s, ind_op_mul(o, u, all));
    position = ind_op_minimum(o, position, ind_op_index(o, last, IND_I64));
    if (ind_known_true(some)) return position;
    ind_expr at = ind_op_indirect(o, position, s.size, false); /* empty row: reports an index error */
    return ind__ok(at) ? ind_op_index(o, at, IND_I64) : (ind_value){0};
}

static ind_value graph__multinomial_key(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    const ind__tensor_info *y = l->result, *x = graph__lower_operand_info(l, 0);
    ind_value p = graph__weight(o, index, rank, l), zero = ind_op_constant(o, 0, IND_F64);
    l->compute = IND_F64;
    l->result = x; /* number the random bits by its elements */
    ind_value v = graph__random_fraction(o, l, 1, index, rank, 0, 53, 1);
    l->result = y;
    return ind_op_where(o, ind_op_gt(o, p, zero), ind_op_div(o, p, ind_op_neg(o, ind_op_log(o, v))), zero);
}

static ind_status graph__lower_multinomial(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0), *y = l->result;
    bool again = l->node->attr[1].i;
    ind_expr map[IND_MAX_RANK];
    graph__typed_number zero = {IND_I64, 0, 0};
    if (graph__size_is_one(x->size[x->rank - 1])) {
        results[0] = ind__box_pointwise(l->w->program, IND_I64, y->size, y->rank, graph__neutral_element, &zero);
        return results[0] ? IND_OK : ind__failed(l->context);
    }
    ind__scan_desc d = {again ? IND_SCAN_SUM : IND_SCAN_DESCENDING,     IND_F64, x->size, x->rank, x->rank - 1,
                        again ? graph__weight : graph__multinomial_key, l};
    ind_status status = ind__box_scan(l->w->program, &d, l->part);
    if (status) return status;
    if (again) return graph__lower_loop(l, IND_I64, y->size, y->rank, graph__multinomial_drawn, results);
    for (int k = 0; k < y->rank; k++) map[k] = graph__lower_view_index(l, k);
    results[0] = ind__box_view(l->w->program, l->part[1], y->size, y->rank, map);
    return results[0] ? IND_OK : ind__failed(l->context);
}

/* ---- random numbers: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_RANDOM(X)                                                                                         \
    X(RAND, ind__rule_rand, graph__lower_pointwise, graph__lower_rand, NONE, NONE)                                     \
    X(RANDN, ind__rule_rand, graph__lower_pointwise, graph__lower_randn, NONE, NONE)                                   \
    X(RANDINT, ind__rule_randint, graph__lower_pointwise, graph__lower_randint, NONE, NONE)                            \
    X(RANDPERM, ind__rule_randperm, graph__lower_randperm, NULL, NONE, NONE)                                           \
    X(BERNOULLI, ind__rule_random_like, graph__lower_pointwise, graph__lower_bernoulli, NONE, NONE)                    \
    X(NATIVE_DROPOUT, ind__rule_random_like, graph__lower_native_dropout, NULL, NONE, NONE)                            \
    X(PHILOX, ind__rule_philox, graph__lower_pointwise, graph__lower_philox, NONE, NONE)                               \
    X(MULTINOMIAL, ind__rule_multinomial, graph__lower_multinomial, NULL, NONE, NONE)
