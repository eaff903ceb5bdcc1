/* ---- transposed convolutions by phases. The phase of a result is the remainder of its position by the stride. Results
   of one phase are a convolution of stride 1 with weights of their own. So each result sums the products that it has,
   and windows are dense.

       y[n, o, j * stride + p] = sum over u < U and i of
           x[n, i, j + FloorDiv(p + padding, stride) - (U - 1) + u] * weight[p, o, u * channels + i]

   x is 0 outside, and has so many channels in a group. U = CeilDiv(kernel_size, stride). Tap u of phase p is the
   element (p + padding) % stride + stride * (U - 1 - u) of the kernel; the kernel may have no such element, and what
   weight has there does not count. The phase and the tap of the last spatial dimension vary fastest. output_size has
   the spatial sizes of y, multiples of the stride. The pass transposed_convolutions makes such nodes. */

typedef struct ind__phases {
    int rank; /* spatial dimensions */
    int64_t kernel[3], stride[3], padding[3], groups;
    ind_expr size[3]; /* of y */
} ind__phases;

static bool ind__read_ints(const ind__attr *a, int count, int64_t *out) {
    bool ok = a->count == count;
    for (int s = 0; ok && s < count; s++) ok = ind_expr_is_int(a->list[s], &out[s]);
    return ok;
}

enum { IND__MAX_STRIDE = 1 << 20 }; /* of phases, and of their kernels and paddings */

/* Returns NULL, or the attribute that is not valid. */
static const char *ind__phases_of(const ind__attr *attr, int rank, ind__phases *p) {
    *p = (ind__phases){.rank = rank, .groups = attr[4].i};
    if (!ind__read_ints(&attr[0], rank, p->kernel)) return "kernel_size";
    if (!ind__read_ints(&attr[1], rank, p->stride)) return "stride";
    if (!ind__read_ints(&attr[2], rank, p->padding)) return "padding";
    if (attr[3].count != rank) return "output_size";
    for (int s = 0; s < rank; s++) {
        p->size[s] = attr[3].list[s];
        if (p->kernel[s] < 1 || p->kernel[s] > IND__MAX_STRIDE) return "kernel_size";
        if (p->stride[s] < 1 || p->stride[s] > IND__MAX_STRIDE) return "stride";
        if (p->padding[s] < 0 || p->padding[s] > IND__MAX_STRIDE) return "padding";
        if (!ind_known_multiple(p->size[s], p->stride[s])) return "output_size";
    }
    return p->groups < 1 ? "groups" : NULL;
}

/* Taps of a phase in dimension s. */
static int64_t ind__phase_taps(const ind__phases *p, int s) {
    return (p->kernel[s] + p->stride[s] - 1) / p->stride[s];
}

static ind_status ind__check_phase_numbers(ind__infer *in, int rank, ind__phases *p) {
    const char *wrong = ind__phases_of(in->attr, rank, p);
    if (!wrong) return IND_OK;
    if (!strcmp(wrong, "groups"))
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "groups is %lld; it must be greater than 0",
                           (long long)p->groups);
    if (!strcmp(wrong, "output_size"))
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                           "output_size must have a multiple of stride for each spatial dimension");
    return ind__reject(in, IND_ERROR_INVALID_ARGUMENT,
                       "%s must have an integer from %d to %d for each spatial dimension", wrong,
                       strcmp(wrong, "padding") != 0, IND__MAX_STRIDE);
}

static ind_status ind__rule_convolution_phases(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, 1);
    const int rank = x->rank - 2;
    ind_expr size[IND_MAX_RANK];
    ind__phases p;
    if (rank < 1 || rank > 3)
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; 3, 4 or 5 dimensions are needed",
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
    if (ind__need_rank(in, 1, 3) || ind__need_same_dtype(in, 0, 1) || ind__need_number(in, 0)) return in->status;
    if (ind__check_phase_numbers(in, rank, &p)) return in->status;
    ind_expr phases = ind_int(in->c, 1), depth = ind_expr_floordiv(x->size[1], ind_int(in->c, p.groups));
    for (int s = 0; s < rank; s++) {
        phases = ind_expr_mul(phases, ind_int(in->c, p.stride[s]));
        depth = ind_expr_mul(depth, ind_int(in->c, ind__phase_taps(&p, s)));
    }
    if (!ind_known_multiple(x->size[1], p.groups) || !ind_known_eq(w->size[0], phases) ||
        !ind_known_eq(w->size[2], depth) || !ind_known_multiple(w->size[1], p.groups))
        return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                           "%s, %s and groups %lld do not fit: [phases, out, taps * in / groups] is needed",
                           ind__describe_type(in, 0), ind__describe_type(in, 1), (long long)p.groups);
    size[0] = x->size[0], size[1] = w->size[1];
    for (int s = 0; s < rank; s++) {
        size[2 + s] = p.size[s];
        if (ind__need_windows(in, p.size[s], 2 + s)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

/* ---- transposed convolutions by phases: lowerings */

/* The loops: the phase of each dimension whose stride is not 1, image, group?, channel of the result, positions; taps,
   channel. */
typedef struct graph__phases {
    const graph__lower_ctx *l;
    const ind__box *x, *weight;
    ind__phases p;
    ind_expr channels, outputs, taps[3]; /* channels of one group: of x, of the result */
} graph__phases;

/* One point of the loops. */
typedef struct graph__phase_index {
    ind_expr phase[3], start[3]; /* start: of the window, beside the position */
    ind_expr rest[3];            /* (phase + padding) % stride */
    ind_expr group, out, in;     /* channels within the group */
    const ind_expr *image, *position, *tap;
} graph__phase_index;

/* Takes the phase of dimension s. */
static const ind_expr *graph__phase_of(const graph__phases *g, int s, const ind_expr *index, graph__phase_index *at) {
    ind_context *c = g->l->context;
    const ind_expr stride = ind_int(c, g->p.stride[s]), padding = ind_int(c, g->p.padding[s]);
    at->phase[s] = g->p.stride[s] > 1 ? *index++ : ind_int(c, 0);
    const ind_expr from = ind_expr_add(at->phase[s], padding);
    at->start[s] = ind_expr_sub(ind_expr_floordiv(from, stride), ind_expr_sub(g->taps[s], ind_int(c, 1)));
    at->rest[s] = ind_expr_mod(from, stride);
    return index;
}

static graph__phase_index graph__phase_index_of(const graph__phases *g, const ind_expr *index) {
    graph__phase_index at = {.group = ind_int(g->l->context, 0)};
    for (int s = 0; s < g->p.rank; s++) index = graph__phase_of(g, s, index, &at);
    at.image = index++;
    if (g->p.groups > 1) at.group = *index++;
    at.out = *index++;
    at.position = index;
    at.tap = index + g->p.rank;
    at.in = at.tap[g->p.rank];
    return at;
}

static ind_value graph__phase_input(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__phases *g = user;
    const graph__phase_index c = graph__phase_index_of(g, index);
    ind_expr at[IND_MAX_RANK] = {*c.image, ind_expr_add(ind_expr_mul(c.group, g->channels), c.in)};
    ind_expr inside = ind_int(g->l->context, 1);
    (void)rank;
    for (int s = 0; s < g->p.rank; s++) {
        at[2 + s] = ind_expr_add(ind_expr_add(c.position[s], c.start[s]), c.tap[s]);
        inside = graph__and_within(inside, at[2 + s], g->x->size[2 + s]);
        const ind_expr before = ind_expr_sub(ind_expr_sub(g->taps[s], ind_int(g->l->context, 1)), c.tap[s]);
        const ind_expr element = ind_expr_add(c.rest[s], ind_expr_mul(before, ind_int(g->l->context, g->p.stride[s])));
        inside = ind_expr_and(inside, ind_expr_lt(element, ind_int(g->l->context, g->p.kernel[s])));
    }
    const ind_value outer = o->mask;
    if (!ind_known_true(inside)) {
        const ind_value mask = ind_op_index(o, inside, IND_BOOL);
        o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    }
    const ind_value v = graph__lower_cast(o, ind__box_load(o, g->x, at, g->x->rank), g->l->compute);
    o->mask = outer;
    return v;
}

static ind_value graph__phase_weight(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__phases *g = user;
    const graph__phase_index c = graph__phase_index_of(g, index);
    ind_expr at[3] = {ind_int(g->l->context, 0), ind_expr_add(ind_expr_mul(c.group, g->outputs), c.out)};
    at[2] = at[0];
    (void)rank;
    for (int s = 0; s < g->p.rank; s++) {
        at[0] = ind_expr_add(ind_expr_mul(at[0], ind_int(g->l->context, g->p.stride[s])), c.phase[s]);
        at[2] = ind_expr_add(ind_expr_mul(at[2], g->taps[s]), c.tap[s]);
    }
    at[2] = ind_expr_add(ind_expr_mul(at[2], g->channels), c.in);
    return graph__lower_cast(o, ind__box_load(o, g->weight, at, 3), g->l->compute);
}

/* A single product: nothing to sum over. */
static ind_value graph__phase_single(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__phases *g = user;
    ind_expr at[2 * IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int s = 0; s <= g->p.rank; s++) at[rank + s] = ind_int(g->l->context, 0);
    return ind_op_mul(o, graph__phase_input(o, at, rank, user), graph__phase_weight(o, at, rank, user));
}

/* Sums the products, with these sizes of the loops. */
static ind__box *graph__phase_sums(graph__phases *g, const ind_expr *size, int rank) {
    const graph__lower_ctx *l = g->l;
    ind__lowered *p = l->w->program;
    ind_expr range[4];
    for (int s = 0; s < g->p.rank; s++) range[s] = g->taps[s];
    range[g->p.rank] = g->channels;
    const ind_expr count = ind_expr_product(l->context, range, g->p.rank + 1);
    graph__typed_number zero = {l->result->dtype, 0, 0};
    if (graph__size_is_zero(count)) return ind__box_pointwise(p, zero.dtype, size, rank, graph__neutral_element, &zero);
    if (graph__size_is_one(count)) return ind__box_pointwise(p, zero.dtype, size, rank, graph__phase_single, g);
    const ind__reduction_desc d = {.type = IND_REDUCE_DOT,
                                   .dtype = l->result->dtype,
                                   .size = size,
                                   .rank = rank,
                                   .rrange = range,
                                   .rrank = g->p.rank + 1,
                                   .fn = graph__phase_input,
                                   .second_fn = graph__phase_weight,
                                   .user = g};
    ind__box *out;
    return ind__box_reduction(p, &d, &out) ? NULL : out;
}

/* The loops of the results. `joined`: their order in the memory of the results, each position before its phase. */
typedef struct graph__phase_loops {
    ind_expr size[IND_MAX_RANK];
    int rank, joined[IND_MAX_RANK];
} graph__phase_loops;

static void graph__add_phase_loops(const graph__phases *g, graph__phase_loops *loops, bool channels_last) {
    ind_context *c = g->l->context;
    int num = 0, phase = 0;
    for (int s = 0; s < g->p.rank; s++)
        if (g->p.stride[s] > 1) loops->size[loops->rank++] = ind_int(c, g->p.stride[s]);
    const int image = loops->rank, channel = image + 1, channels = g->p.groups > 1 ? 2 : 1;
    loops->size[loops->rank++] = g->l->result->size[0];
    if (g->p.groups > 1) loops->size[loops->rank++] = ind_int(c, g->p.groups);
    loops->size[loops->rank++] = g->outputs;
    loops->joined[num++] = image;
    for (int k = 0; k < channels && !channels_last; k++) loops->joined[num++] = channel + k;
    for (int s = 0; s < g->p.rank; s++) {
        loops->joined[num++] = loops->rank;
        loops->size[loops->rank++] = ind_expr_floordiv(g->p.size[s], ind_int(c, g->p.stride[s]));
        if (g->p.stride[s] > 1) loops->joined[num++] = phase++;
    }
    for (int k = 0; k < channels && channels_last; k++) loops->joined[num++] = channel + k;
}

/* A view of x whose dimension k is dimension order[k] of x. */
static ind__box *graph__phase_permuted(const graph__lower_ctx *l, ind__box *x, const int *order, int rank) {
    ind_expr size[IND_MAX_RANK], map[IND_MAX_RANK];
    for (int k = 0; k < rank; k++) size[k] = x->size[order[k]];
    for (int k = 0; k < rank; k++) map[order[k]] = ind__index_symbol(l->context, 'i', k, size[k]);
    return ind__box_view(l->w->program, x, size, rank, map);
}

/* The view of the sums that is the result. It needs no division: the memory has the joined order. */
static ind__box *graph__phase_joined(const graph__phases *g, ind__box *sums, const graph__phase_loops *loops,
                                     bool channels_last) {
    const graph__lower_ctx *l = g->l;
    const ind__tensor_info *y = l->result;
    int order[IND_MAX_RANK];
    ind_expr size[IND_MAX_RANK];
    for (int d = 0; d < y->rank; d++) {
        const int from = !channels_last || !d ? d : d + 1 < y->rank ? d + 1 : 1; /* [image, positions.., channel] */
        size[d] = y->size[from];
        order[from] = d;
    }
    ind__box *x = graph__phase_permuted(l, sums, loops->joined, loops->rank);
    if (x) x = ind__box_reshape(l->w->program, x, size, y->rank);
    return x && channels_last ? graph__phase_permuted(l, x, order, y->rank) : x;
}

/* The weights, in memory in the order of their dimensions. */
static ind__box *graph__ordered_weights(graph__lower_ctx *l) {
    ind__box *w = graph__lower_operand_box(l, 1);
    return w->identity ? graph__stored_operand(l, 1) : graph__copied_operand(l, 1);
}

static ind_status graph__lower_convolution_phases(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const int rank = x->rank - 2;
    graph__phases g = {.l = l};
    graph__phase_loops loops = {.rank = 0};
    (void)ind__phases_of(l->node->attr, rank, &g.p);
    g.channels = ind_expr_floordiv(x->size[1], ind_int(l->context, g.p.groups));
    g.outputs = ind_expr_floordiv(l->result->size[1], ind_int(l->context, g.p.groups));
    int num = 2 + (g.p.groups > 1) + rank;
    for (int s = 0; s < rank; s++) num += g.p.stride[s] > 1, g.taps[s] = ind_int(l->context, ind__phase_taps(&g.p, s));
    if (num > IND_MAX_RANK)
        return ind__fail(l->context, IND_ERROR_LIMIT, "its loops are %d dimensions; at most %d are supported", num,
                         IND_MAX_RANK);
    g.x = graph__windowed_operand(l, 0), g.weight = graph__ordered_weights(l);
    if (!g.x || !g.weight) return ind__failed(l->context);
    const bool last = l->w->channels_last && l->w->channels_last[l->node->result];
    graph__add_phase_loops(&g, &loops, last);
    ind__box *sums = graph__phase_sums(&g, loops.size, loops.rank);
    *results = sums ? graph__phase_joined(&g, sums, &loops, last) : NULL;
    return *results ? IND_OK : ind__failed(l->context);
}

/* ---- transposed convolutions by phases: implementations */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_CONVOLUTION_PHASES(X)                                                                             \
    X(CONVOLUTION_PHASES, ind__rule_convolution_phases, graph__lower_convolution_phases, NULL, NONE, NONE)
