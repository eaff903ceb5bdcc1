/* ---- opaque calls ---- */

/* The operand in a buffer that the call may overwrite: its own, where nobody reads it afterwards, else a copy. */
static ind__box *graph__lower_overwritten(graph__lower_ctx *l, uint32_t k) {
    ind__box *x = graph__lower_operand_box(l, k);
    bool dies = graph__may_overwrite(l->w, x) && x->storage->last_reader <= (uint32_t)(l->node - l->w->graph->node);
    for (uint32_t i = 0; i < l->node->num_operands; i++)
        dies = dies && (i == k || !graph__same_memory(x, graph__lower_operand_box(l, i)));
    return dies ? x : ind__box_copy(l->w->program, x);
}

static ind_status graph__lower_extern(graph__lower_ctx *l, ind__box **results) {
    ind__arena *arena = &l->w->program->arena;
    uint32_t n = l->node->num_operands;
    const ind__attr *mutates = &l->node->attr[2];
    int overwritten = mutates->kind == IND__ATTR_NONE ? 0 : mutates->count;
    ind__box **input = ind__arena_alloc(arena, (n + 1) * sizeof *input);
    bool *overwrites = ind__arena_alloc(arena, n + 1);
    ind_extern_type type[IND_MAX_EXTERN_RESULTS];
    if (!input || !overwrites) return ind__failed(l->context);
    int64_t operand[IND_MAX_EXTERN_RESULTS], none = 0;
    for (int k = 0; k < overwritten; k++) {
        ind_expr_is_int(mutates->list[k], &operand[k]);
        overwrites[operand[k]] = true;
    }
    for (uint32_t k = 0; k < n; k++)
        input[k] = overwrites[k] ? graph__lower_overwritten(l, k) : graph__lower_operand_box(l, k);
    ind__call_desc d = {.name = l->node->attr[0].s,
                        .input = input,
                        .overwrites = overwrites,
                        .num_inputs = n,
                        .result = type,
                        .num_results = l->node->num_results - (uint32_t)overwritten};
    for (uint32_t k = 0; k < d.num_results; k++) {
        type[k] = (ind_extern_type){.dtype = l->result[k].dtype, .rank = l->result[k].rank};
        memcpy(type[k].size, l->result[k].size, sizeof type[k].size);
    }
    if (!ind_expr_is_int(l->node->attr[1].e, &none) || none) d.workspace = l->node->attr[1].e;
    ind__box *made[IND_MAX_EXTERN_RESULTS];
    ind_status status = ind__box_call(l->w->program, &d, made);
    for (uint32_t k = 0; !status && k < d.num_results; k++) results[k] = made[k];
    for (int k = 0; !status && k < overwritten;
         k++) { /* the boxes come by operand, the results as they were asked for */
        int before = 0;
        for (int j = 0; j < overwritten; j++) before += operand[j] < operand[k];
        results[d.num_results + (uint32_t)k] = made[d.num_results + (uint32_t)before];
    }
    return status;
}

/* A 0-d box with a number. */
static ind_value graph__number_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)index;
    (void)rank;
    bool is_float = ind_dtype_is_float(l->result->dtype);
    return is_float ? ind_op_constant(o, l->number, l->compute) : ind_op_constant_int(o, l->number_int, l->compute);
}

static ind_status graph__lower_number_box(graph__lower_ctx *l, double f, int64_t i, const ind_expr *size, int rank,
                                          ind__box **out) {
    l->number = f;
    l->number_int = i;
    return graph__lower_loop(l, l->result->dtype, size, rank, graph__number_element, out);
}

/* What a reduction of nothing is: sum 0, product 1, the ends of the type for extremes. */
static ind_status graph__lower_neutral(graph__lower_ctx *l, ind_reduction mode, ind__box **out) {
    ind_dtype d = l->result->dtype;
    int bits = d == IND_BOOL ? 1 : 8 * ind_dtype_bytes(d), is_signed = d != IND_BOOL && d != IND_U8;
    int64_t most = is_signed ? (int64_t)((uint64_t)-1 >> (65 - bits)) : ((int64_t)1 << bits) - 1;
    switch (mode) {
    case IND_REDUCE_SUM: return graph__lower_number_box(l, 0, 0, NULL, 0, out);
    case IND_REDUCE_PROD: return graph__lower_number_box(l, 1, 1, NULL, 0, out);
    case IND_REDUCE_MAX: return graph__lower_number_box(l, -INFINITY, is_signed ? -most - 1 : 0, NULL, 0, out);
    default: return graph__lower_number_box(l, INFINITY, most, NULL, 0, out);
    }
}

/* The elements of base that are named by the index, replaced by part[0] or combined with it. */
static ind_status graph__lower_each_named(graph__lower_ctx *l, ind__box **base, ind_reduction mode) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    ind__box *before = *base;
    return graph__lower_scatter_loop(l, before, index->size, index->rank, graph__scatter_element, mode, base);
}

/* part[0] / max(part[1], 1): a mean from a sum and a count. */
static ind_value graph__scatter_mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value sum = ind__box_load(o, l->part[0], index, rank), count = ind__box_load(o, l->part[1], index, rank);
    ind_value one = ind_op_constant(o, 1, ind_op_dtype(o, count));
    count = graph__lower_cast(o, ind_op_maximum(o, count, one), l->compute);
    if (ind_dtype_is_float(l->compute)) return ind_op_div(o, sum, count);
    ind_value quotient = ind_op_div(o, sum, count); /* PyTorch rounds this one down */
    ind_value rest = ind_op_sub(o, sum, ind_op_mul(o, quotient, count));
    ind_value down = ind_op_lt(o, rest, ind_op_constant_int(o, 0, l->compute));
    return ind_op_sub(o, quotient, graph__lower_cast(o, down, l->compute));
}

/* How many values each element is the mean of; counted in i64 whatever the type of the values. */
static ind_status graph__lower_count_named(graph__lower_ctx *l, int64_t first, ind__box **count) {
    const ind__tensor_info *counted = l->result;
    ind__tensor_info as_count = *counted;
    as_count.dtype = IND_I64;
    l->result = &as_count;
    l->compute = IND_I64;
    ind__box *start;
    ind_status status = graph__lower_number_box(l, 0, first, counted->size, counted->rank, &start);
    if (!status) status = graph__lower_number_box(l, 0, 1, NULL, 0, &l->part[0]);
    *count = status || ind__box_realise(l->w->program, start) ? NULL : start;
    status = *count ? graph__lower_each_named(l, count, IND_REDUCE_SUM) : ind__failed(l->context);
    l->result = counted;
    l->compute = ind_dtype_compute(counted->dtype);
    return status;
}

static ind_status graph__lower_scatter_reduce(graph__lower_ctx *l, ind__box **results) {
    const char *how = l->node->attr[1].s;
    bool include = l->node->attr[2].i, mean = !strcmp(how, "mean");
    ind_reduction mode = !strcmp(how, "prod")   ? IND_REDUCE_PROD
                         : !strcmp(how, "amax") ? IND_REDUCE_MAX
                         : !strcmp(how, "amin") ? IND_REDUCE_MIN
                                                : IND_REDUCE_SUM;
    ind__box *base = graph__lower_base(l);
    ind_status status = base ? IND_OK : ind__failed(l->context);
    if (!status && !include) status = graph__lower_neutral(l, mode, &l->part[0]);
    if (!status && !include) status = graph__lower_each_named(l, &base, IND_REDUCE_NONE);
    l->part[0] = NULL;
    if (!status) status = graph__lower_each_named(l, &base, mode);
    if (!status && !mean) results[0] = base;
    if (status || !mean) return status;
    status = graph__lower_count_named(l, include, &l->part[1]);
    l->part[0] = base;
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__scatter_mean_element,
                             results);
}

/* index_add, index_copy, index_fill: self[.., index[i_dim], ..] and source[i..]. */
static void graph__index_scatter_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to,
                                         graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    ind_value mask = {0}, v;
    const bool fill = l->node->op == IND_OP_INDEX_FILL;
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    ind_value target = graph__lower_operand_as(o, l, 1, rank ? index + dim : index, rank != 0, IND_I64);
    ind_expr one = ind_int(l->context, 1);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr place = graph__lower_target(o, target, rank ? l->result->size[dim] : one, fill, &mask);
    if (rank) at[dim] = place;
    if (fill)
        v = graph__lower_number(o, graph__typed_number_of(&l->node->attr[1]), l->result->dtype);
    else
        v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), index, rank), l->compute);
    if (l->node->op == IND_OP_INDEX_ADD) v = graph__lower_scaled(o, l, v, &l->node->attr[1]);
    graph__emit_scatter(o, l, to, at, rank, v, mask);
}

static ind_status graph__lower_index_scatter(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    ind_expr size[IND_MAX_RANK];
    int rank = l->result->rank;
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    for (int d = 0; d < rank; d++) size[d] = l->result->size[d];
    if (rank) size[dim] = index->rank ? index->size[0] : ind_int(l->context, 1);
    l->whole_dims = rank ? rank - 1 - dim : 0;
    return graph__lower_scatter_loop(l, graph__lower_base(l), size, rank, graph__index_scatter_element,
                                     l->node->op == IND_OP_INDEX_ADD ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

static void graph__index_put_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    graph__lower_indices at = {.first = 2, .scatter = true};
    graph__lower_index_at(o, index, l, &at);
    graph__emit_scatter(o, l, to, at.at, l->result->rank, graph__lower_operand(o, l, 1, index, rank), at.mask);
}

/* self[mask] = value */
static ind_value graph__mask_put_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__box *value = graph__lower_operand_box(l, 1);
    ind_expr zero[IND_MAX_RANK];
    for (int d = 0; d < value->rank; d++) zero[d] = ind_int(l->context, 0);
    ind_value mask = ind__box_load(o, graph__lower_operand_box(l, 2), index, graph__lower_operand_info(l, 2)->rank);
    ind_value old = graph__lower_operand(o, l, 0, index, rank);
    ind_value v = graph__lower_cast(o, ind__box_load(o, value, zero, value->rank), l->compute);
    if (l->node->attr[0].i) v = l->compute == IND_BOOL ? ind_op_or(o, old, v) : ind_op_add(o, old, v);
    return ind_op_where(o, mask, v, old);
}

static ind_status graph__lower_index_put(graph__lower_ctx *l, ind__box **results) {
    ind__indexing x = {.first = 2};
    ind__shape s = {0};
    ind_expr size[IND_MAX_RANK];
    if (graph__lower_has_operand(l, 2) && graph__lower_operand_info(l, 2)->dtype == IND_BOOL)
        return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__mask_put_element,
                                 results);
    graph__index_shape(l, x.first, &s);
    x.num_broadcast = s.rank;
    ind__indexing_layout(l->node->operand, l->node->num_operands, l->result->rank, &x);
    for (int d = 0; d < s.rank; d++) size[x.at + d] = s.size[d];
    for (int d = 0; d < l->result->rank; d++)
        if (x.result_of[d] >= 0) size[x.result_of[d]] = l->result->size[d];
    for (int d = l->result->rank; d-- > 0 && x.result_of[d] == x.rank - 1 - l->whole_dims;) l->whole_dims++;
    return graph__lower_scatter_loop(l, graph__lower_base(l), size, x.rank, graph__index_put_element,
                                     l->node->attr[0].i ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

static void graph__put_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], numel = ind_expr_product(l->context, l->result->size, l->result->rank);
    ind_value mask = {0}, target = graph__lower_operand_as(o, l, 1, index, rank, IND_I64);
    ind_expr place = graph__lower_target(o, target, numel, true, &mask);
    ind__delinearise(l->context, place, l->result->size, l->result->rank, at);
    ind_value v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), index, rank), l->compute);
    graph__emit_scatter(o, l, to, at, l->result->rank, v, mask);
}

static ind_status graph__lower_put(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    return graph__lower_scatter_loop(l, graph__lower_base(l), index->size, index->rank, graph__put_element,
                                     l->node->attr[0].i ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

/* Is this op one scatter into operand 0 and nothing else? */
static bool graph__scatters_once(const graph__lower_walk *w, const ind__node *n) {
    const graph__lower_fn fn = graph__lowering_of(n->op)->lower;
    if (fn == graph__lower_index_put) return !n->operand[2] || w->graph->tensor[n->operand[2]].dtype != IND_BOOL;
    return fn == graph__lower_scatter || fn == graph__lower_index_scatter || fn == graph__lower_put;
}
