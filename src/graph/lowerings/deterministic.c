/* ---- scatters with the same bits in every run (ind_compile_desc.deterministic) */

/* A deterministic scatter: it changes `places` rows of base at `points` points. A row is the last `whole` dimensions of
   base. Each point stores a whole row, from the same dimensions of `size`. */
typedef struct graph__ordered {
    graph__lower_ctx *l;
    ind__box *base;
    ind_dtype compute;    /* type in which elements are combined */
    const ind_expr *size; /* of the points, and of the rows */
    int rank, whole;
    ind_expr points, places;
    bool checked;                   /* the value code skips index checks, which the key code does */
    ind__box *key, *value;          /* per point: its row, `places` for none; its value */
    ind_dtype number;               /* of points and rows */
    bool in_place;                  /* base is not a copy */
    ind__box *meeting, *last;       /* per element: all its points combined; per row: its last point */
    ind__box *sorted, *position;    /* per point in the order of keys: its key and number */
    ind__box *counts, *ranks;       /* per digit and chunk: its count, and the running count .. */
    ind__box *in_chunk;             /* .. per point: its 1-based position among those of its digit and chunk */
    int shift;                      /* of the digit */
    bool store_keys, store_begins;  /* selects which of two arrays is recorded */
    ind__box *begin, *end;          /* per row: its range of sorted points */
    int first;                      /* number of points combined with the row itself */
    int level;                      /* level being recorded */
    ind__box *groups[2], *group[2]; /* per level: groups up to a row; per group: its first sorted point .. */
    ind__box *sums[2];              /* .. and its sum; of level 1 .. */
    int64_t span;                   /* .. number of consecutive groups per sum .. */
    int last_sums;                  /* .. number of sums per row in the last pass; 0 before */
} graph__ordered;

static ind__capture graph__ordered_capture(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l,
                                           bool checked) {
    ind__capture c = {.checked = checked};
    o->capture = &c;
    l->scatter(o, index, rank, 0, l);
    o->capture = NULL;
    return c;
}

/* Returns the row number of an index into base, the same for any element of the row. */
static ind_expr graph__ordered_place(const graph__ordered *u, const ind_expr *index) {
    return ind__linearise(u->l->context, index, u->base->size, u->base->rank - u->whole);
}

static ind_value graph__ordered_key(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < u->rank; d++) at[d] = d < rank ? index[d] : ind_int(u->l->context, 0);
    ind__capture c = graph__ordered_capture(o, at, u->rank, u->l, false);
    if (!c.set) return (ind_value){0};
    ind_value key = ind_op_index(o, graph__ordered_place(u, c.index), IND_I64);
    return c.mask.id ? ind_op_where(o, c.mask, key, ind_op_index(o, u->places, IND_I64)) : key;
}

static ind_value graph__ordered_value(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    return graph__ordered_capture(o, index, rank, u->l, u->checked).value;
}

/* Loads element `inner` of x's row for the point of this number. */
static ind_value graph__ordered_point(ind_ops *o, const graph__ordered *u, const ind__box *x, ind_expr number,
                                      const ind_expr *inner) {
    ind_expr at[IND_MAX_RANK];
    const int outer = u->rank - u->whole;
    ind__delinearise(u->l->context, number, u->size, outer, at);
    for (int d = outer; d < x->rank; d++) at[d] = inner[d - outer];
    return ind__box_load(o, x, at, x->rank);
}

static ind_value graph__ordered_flat_key(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    (void)rank;
    return graph__ordered_point(o, u, u->key, index[0], NULL);
}

static ind_value graph__ordered_join(ind_ops *o, const graph__ordered *u, ind_value a, ind_value b) {
    return u->l->mode == IND_REDUCE_PROD ? ind_op_mul(o, a, b) : ind_op_add(o, a, b);
}

/* Returns a stored row number, point or position among sorted points as an index. */
static ind_expr graph__ordered_index(ind_ops *o, ind_value v, ind_expr size) {
    ind_expr some = ind_expr_max(size, ind_int(size.context, 1)); /* size 0 is never read */
    o->checked = true;
    ind_expr at = ind_op_indirect(o, v, some, false);
    o->checked = false;
    return at;
}

/* Adds a to the mask of the following loads and values; returns the previous mask. */
static ind_value graph__ordered_mask(ind_ops *o, ind_value a) {
    ind_value outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, a) : a;
    return outer;
}

static ind_value graph__number_at(ind_ops *o, const graph__ordered *u, ind_expr e) {
    return ind_op_cast(o, ind_op_index(o, e, IND_I64), u->number);
}

static ind_value graph__number(ind_ops *o, const graph__ordered *u, int64_t n) {
    return ind_op_constant_int(o, n, u->number);
}

/* Combines v with `sum`, if `sum` is valid, where `there` holds. Elsewhere v is the neutral value, which is -0 for
   sums. */
static ind_value graph__join_if(ind_ops *o, const graph__ordered *u, ind_value sum, ind_value there, ind_value v) {
    ind_value none = ind_op_constant(o, u->l->mode == IND_REDUCE_PROD ? 1 : -0.0, u->compute);
    v = ind_op_where(o, there, v, none);
    return sum.id ? graph__ordered_join(o, u, sum, v) : v;
}

/* Combines with `sum` the value that this point stores into element `inner` of its row, where `there` holds. */
static ind_value graph__ordered_add(ind_ops *o, const graph__ordered *u, ind_value sum, ind_value there,
                                    ind_value number, const ind_expr *inner) {
    ind_value outer = graph__ordered_mask(o, there);
    ind_expr point = graph__ordered_index(o, number, u->points);
    ind_value v = ind__ok(point) ? graph__ordered_point(o, u, u->value, point, inner) : (ind_value){0};
    o->mask = outer;
    return graph__join_if(o, u, sum, there, v);
}

typedef struct graph__fill {
    ind_dtype type;
    int64_t value;
} graph__fill;

static ind_value graph__fill_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__fill *f = user;
    (void)index;
    (void)rank;
    return ind_dtype_is_float(f->type) ? ind_op_constant(o, (double)f->value, f->type)
                                       : ind_op_constant_int(o, f->value, f->type);
}

/* Scatters into integers that are initially `value`. */
static ind_status graph__ordered_scatter(const graph__ordered *u, int64_t value, const ind_expr *size, int rank,
                                         const ind__scatter_desc *d, ind__box **result) {
    ind__lowered *p = u->l->w->program;
    graph__fill fill = {u->number, value};
    ind__box *x = ind__box_pointwise(p, u->number, size, rank, graph__fill_element, &fill);
    ind_status status = ind__box_realise(p, x);
    return status ? status : ind__box_scatter(p, x, d, result);
}

/* Returns the row of a point or of a position among sorted points; valid where *inside holds. */
static ind_expr graph__ordered_row(ind_ops *o, const graph__ordered *u, ind_value key, ind_value *inside) {
    *inside = ind_op_lt(o, key, ind_op_cast(o, ind_op_index(o, u->places, IND_I64), ind_op_dtype(o, key)));
    ind_value outer = graph__ordered_mask(o, *inside);
    ind_expr row = graph__ordered_index(o, key, u->places);
    o->mask = outer;
    return row;
}

/* ---- replacement: the last point of an element wins. Its number is found first, as a maximum, in any order */

static void graph__last_number(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__ordered *u = user;
    ind_value inside;
    (void)rank;
    ind_expr row = graph__ordered_row(o, u, graph__ordered_flat_key(o, index, 1, (void *)u), &inside);
    if (ind__ok(row)) ind__emit_scatter(o, to, &row, 1, graph__number_at(o, u, index[0]), inside, IND_REDUCE_MAX);
}

static void graph__last_store(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__ordered *u = user;
    ind_expr point = ind__linearise(u->l->context, index, u->size, rank - u->whole);
    ind_value inside;
    ind_expr row = graph__ordered_row(o, u, graph__ordered_flat_key(o, &point, 1, (void *)u), &inside);
    if (!ind__ok(row)) return;
    ind_value outer = graph__ordered_mask(o, inside);
    ind_value last = ind_op_eq(o, ind__box_load(o, u->last, &row, 1), graph__number_at(o, u, point));
    graph__ordered_mask(o, last);
    ind__capture c = graph__ordered_capture(o, index, rank, u->l, true);
    if (c.set) ind__emit_scatter(o, to, c.index, u->base->rank, c.value, o->mask, IND_REDUCE_NONE);
    o->mask = outer;
}

static ind_status graph__ordered_by_last(graph__ordered *u, ind__box **result) {
    ind__scatter_desc find = {.size = &u->points, .rank = 1, .fn = graph__last_number, .user = u};
    ind__scatter_desc store = {.size = u->size, .rank = u->rank, .fn = graph__last_store, .user = u};
    ind_status status = ind__box_realise(u->l->w->program, u->key);
    if (!status) status = graph__ordered_scatter(u, -1, &u->places, 1, &find, &u->last);
    return status ? status : ind__box_scatter(u->l->w->program, u->base, &store, result);
}

#define GRAPH__CHEAP_OPS 8 /* a value with at most this many ops is recomputed for each point of a loop */

static ind_status graph__realise_costly(graph__ordered *u) {
    const bool costly = (int)u->value->storage->num_ops > GRAPH__CHEAP_OPS;
    return costly ? ind__box_realise(u->l->w->program, u->value) : IND_OK;
}

/* ---- sums by sorting: a stable radix sort of the points by row, with digits of GRAPH__DIGIT_BITS bits from the lowest
   on. A point comes after all points with smaller digits, and after those with its digit that precede it. The preceding
   points in earlier chunks of GRAPH__CHUNK points are counted; those in its own chunk are found by comparing all of
   them. Counts per digit and chunk are in memory; a scan sums them. With chunks of 64 points it has four elements per
   point. */

#define GRAPH__DIGIT_BITS 8
#define GRAPH__DIGITS     (1 << GRAPH__DIGIT_BITS)
#define GRAPH__CHUNK      64

static ind_value graph__sorted_key(ind_ops *o, const graph__ordered *u, ind_expr at) {
    return u->sorted ? ind__box_load(o, u->sorted, &at, 1)
                     : ind_op_cast(o, graph__ordered_flat_key(o, &at, 1, (void *)u), u->number);
}

static ind_value graph__sorted_digit(ind_ops *o, const graph__ordered *u, ind_expr at) {
    ind_value key = graph__sorted_key(o, u, at);
    if (u->shift) key = ind_op_shift_right(o, key, graph__number(o, u, u->shift));
    return ind_op_bit_and(o, key, graph__number(o, u, GRAPH__DIGITS - 1));
}

static ind_expr graph__chunk_of(const graph__ordered *u, ind_expr at) {
    return ind_expr_floordiv(at, ind_int(u->l->context, GRAPH__CHUNK));
}

/* Returns the index of the count for a point's chunk and digit. */
static ind_expr graph__digit_count(ind_ops *o, const graph__ordered *u, ind_expr at) {
    ind_expr digits = ind_int(u->l->context, GRAPH__DIGITS);
    ind_expr digit = graph__ordered_index(o, graph__sorted_digit(o, u, at), digits);
    if (!ind__ok(digit)) return digit;
    ind_expr chunks = ind_expr_ceildiv(u->points, ind_int(u->l->context, GRAPH__CHUNK));
    return ind_expr_add(ind_expr_mul(digit, chunks), graph__chunk_of(u, at));
}

static void graph__digit_store(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__ordered *u = user;
    ind_expr count = graph__digit_count(o, u, index[0]);
    (void)rank;
    if (ind__ok(count)) ind__emit_scatter(o, to, &count, 1, graph__number(o, u, 1), (ind_value){0}, IND_REDUCE_SUM);
}

static ind_value graph__digit_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    return ind__box_load(o, ((const graph__ordered *)user)->counts, index, rank);
}

/* True if the second point of `index`, of the same chunk as the first, has the same digit and no higher position. */
static ind_value graph__same_digit(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    ind_expr chunk = graph__chunk_of(u, index[0]), other;
    (void)rank;
    other = ind_expr_add(ind_expr_mul(chunk, ind_int(u->l->context, GRAPH__CHUNK)), index[1]);
    ind_value before = ind_op_index(o, ind_expr_le(other, index[0]), IND_BOOL);
    ind_value outer = graph__ordered_mask(o, before), digit = graph__sorted_digit(o, u, other);
    o->mask = outer;
    ind_value same = ind_op_eq(o, digit, graph__sorted_digit(o, u, index[0]));
    return ind_op_cast(o, ind_op_and(o, before, same), u->number);
}

static void graph__sorted_store(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__ordered *u = user;
    ind_expr count = graph__digit_count(o, u, index[0]);
    (void)rank;
    if (!ind__ok(count)) return;
    ind_value own = ind__box_load(o, u->counts, &count, 1), all = ind__box_load(o, u->ranks, &count, 1);
    ind_value behind = ind_op_add(o, ind_op_sub(o, all, own), ind__box_load(o, u->in_chunk, index, 1));
    ind_expr place = graph__ordered_index(o, ind_op_sub(o, behind, graph__number(o, u, 1)), u->points);
    ind_value number = u->position ? ind__box_load(o, u->position, index, 1) : graph__number_at(o, u, index[0]);
    ind_value v = u->store_keys ? graph__sorted_key(o, u, index[0]) : number;
    if (ind__ok(place)) ind__emit_scatter(o, to, &place, 1, v, (ind_value){0}, IND_REDUCE_NONE);
}

static ind_status graph__count_digits(graph__ordered *u) {
    ind__lowered *p = u->l->w->program;
    ind_expr chunk = ind_int(p->context, GRAPH__CHUNK), chunks = ind_expr_ceildiv(u->points, chunk);
    ind_expr all = ind_expr_mul(chunks, ind_int(p->context, GRAPH__DIGITS));
    ind__scan_desc scan = {IND_SCAN_SUM, u->number, &all, 1, 0, graph__digit_element, u};
    ind__scatter_desc d = {.size = &u->points, .rank = 1, .fn = graph__digit_store, .user = u};
    ind__reduction_desc r = {.type = IND_REDUCE_SUM, .dtype = u->number, .size = &u->points, .rank = 1};
    r.rrange = &chunk;
    r.rrank = 1;
    r.fn = graph__same_digit;
    r.user = u;
    ind_status status = graph__ordered_scatter(u, 0, &all, 1, &d, &u->counts);
    if (!status) status = ind__box_reduction(p, &r, &u->in_chunk); /* may share the launch of the counts */
    return status ? status : ind__box_scan(p, &scan, &u->ranks);
}

static ind_status graph__sort_by_digit(graph__ordered *u) {
    ind__box *sorted, *position;
    ind__scatter_desc d = {.size = &u->points, .rank = 1, .fn = graph__sorted_store, .user = u};
    ind_status status = graph__count_digits(u);
    u->store_keys = true;
    if (!status) status = graph__ordered_scatter(u, 0, &u->points, 1, &d, &sorted);
    u->store_keys = false;
    if (!status) status = graph__ordered_scatter(u, 0, &u->points, 1, &d, &position);
    u->sorted = status ? NULL : sorted;
    u->position = status ? NULL : position;
    return status;
}

/* Returns the known upper bound of e. */
static int64_t graph__at_most(ind_expr e) {
    int64_t lo, hi;
    ind__known_bounds(e, &lo, &hi);
    return hi;
}

static ind_status graph__sort_points(graph__ordered *u) {
    ind_status status = ind__box_realise(u->l->w->program, u->key);
    const int64_t most = graph__at_most(u->places);
    for (u->shift = 0; !status && u->shift < 63 && (u->shift == 0 || most >> u->shift); u->shift += GRAPH__DIGIT_BITS)
        status = graph__sort_by_digit(u);
    return status;
}

/* ---- then each row's points are combined in order. The first few are combined with the row itself, the others in
   groups of GRAPH__GROUP; then the sums of groups, in groups again, and so on. So no thread combines many points,
   however they are distributed. */

#define GRAPH__GROUP_BITS  4
#define GRAPH__GROUP       (1 << GRAPH__GROUP_BITS)
#define GRAPH__LAST_GROUPS 16 /* groups combined in the last step */

/* True if the sorted point before `at` (or after it) belongs to another row. */
static ind_value graph__sorted_edge(ind_ops *o, const graph__ordered *u, ind_expr at, bool first) {
    ind_expr zero = ind_int(u->l->context, 0), one = ind_int(u->l->context, 1);
    ind_expr other = first ? ind_expr_sub(at, one) : ind_expr_add(at, one);
    ind_value within = ind_op_index(o, first ? ind_expr_lt(zero, at) : ind_expr_lt(other, u->points), IND_BOOL);
    ind_value outer = graph__ordered_mask(o, within), key = ind__box_load(o, u->sorted, &other, 1);
    o->mask = outer;
    return ind_op_or(o, ind_op_not(o, within), ind_op_ne(o, key, ind__box_load(o, u->sorted, &at, 1)));
}

static void graph__sorted_edge_store(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__ordered *u = user;
    ind_value inside, number = graph__number_at(o, u, index[0]);
    (void)rank;
    ind_expr row = graph__ordered_row(o, u, ind__box_load(o, u->sorted, index, 1), &inside);
    if (!ind__ok(row)) return;
    inside = ind_op_and(o, inside, graph__sorted_edge(o, u, index[0], u->store_begins));
    if (!u->store_begins) number = ind_op_add(o, number, graph__number(o, u, 1));
    ind__emit_scatter(o, to, &row, 1, number, inside, IND_REDUCE_NONE);
}

/* Returns the number of groups of the row's points after the first few. At level 1: the number of groups of groups, 0
   if there is only one group. */
static ind_value graph__row_groups(ind_ops *o, const graph__ordered *u, ind_expr row, int level) {
    ind_value begin = ind__box_load(o, u->begin, &row, 1), end = ind__box_load(o, u->end, &row, 1);
    ind_value n = ind_op_sub(o, ind_op_sub(o, end, begin), graph__number(o, u, u->first));
    n = ind_op_maximum(o, n, graph__number(o, u, 0));
    for (int k = 0; k <= level; k++) {
        ind_value several = ind_op_gt(o, n, graph__number(o, u, 1));
        ind_value rest = ind_op_bit_and(o, n, graph__number(o, u, GRAPH__GROUP - 1)); /* n + 15 might overflow */
        rest = ind_op_cast(o, ind_op_gt(o, rest, graph__number(o, u, 0)), u->number);
        n = ind_op_add(o, ind_op_shift_right(o, n, graph__number(o, u, GRAPH__GROUP_BITS)), rest);
        if (k) n = ind_op_where(o, several, n, graph__number(o, u, 0));
    }
    return n;
}

static ind_value graph__row_groups_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    (void)rank;
    return graph__row_groups(o, user, index[0], ((const graph__ordered *)user)->level);
}

/* Returns the maximum number of groups. A row has at least `fewest` points per group: its first group implies u->first
   + 1 points (at level 1: two groups), and all others but the last are full. */
static ind_expr graph__most_groups(const graph__ordered *u, int level) {
    const int64_t one = u->first + 1 + (level ? GRAPH__GROUP : 0),
                  full = level ? GRAPH__GROUP * GRAPH__GROUP : GRAPH__GROUP;
    const int64_t fewest = one < full ? one : full;
    return ind_expr_ceildiv(u->points, ind_int(u->l->context, fewest));
}

/* Returns the index of the sum of the row's first group; its other groups follow. */
static ind_value graph__first_group(ind_ops *o, const graph__ordered *u, ind_expr row, int level) {
    return ind_op_sub(o, ind__box_load(o, u->groups[level], &row, 1), graph__row_groups(o, u, row, level));
}

/* Stores the first sorted point of each group. */
static void graph__group_store(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__ordered *u = user;
    const int bits = GRAPH__GROUP_BITS * (u->level + 1);
    ind_value inside;
    (void)rank;
    ind_expr row = graph__ordered_row(o, u, ind__box_load(o, u->sorted, index, 1), &inside);
    if (!ind__ok(row)) return;
    ind_value outer = graph__ordered_mask(o, inside), at = graph__number_at(o, u, index[0]);
    ind_value first_few = ind_op_add(o, ind__box_load(o, u->begin, &row, 1), graph__number(o, u, u->first));
    ind_value behind = ind_op_sub(o, at, first_few), nth = ind_op_shift_right(o, behind, graph__number(o, u, bits));
    ind_value in_group = ind_op_bit_and(o, behind, graph__number(o, u, ((int64_t)1 << bits) - 1));
    ind_value starts = ind_op_eq(o, in_group, graph__number(o, u, 0));
    starts = ind_op_and(o, starts, ind_op_ge(o, behind, graph__number(o, u, 0)));
    starts = ind_op_and(o, starts, ind_op_lt(o, nth, graph__row_groups(o, u, row, u->level)));
    graph__ordered_mask(o, starts);
    ind_value group = ind_op_add(o, graph__first_group(o, u, row, u->level), nth);
    ind_expr place = graph__ordered_index(o, group, graph__most_groups(u, u->level));
    if (ind__ok(place)) ind__emit_scatter(o, to, &place, 1, at, o->mask, IND_REDUCE_NONE);
    o->mask = outer;
}

/* Combines `sum`, if valid, with up to `most` sorted points from `at` to the end of their row. */
static ind_value graph__join_group(ind_ops *o, const graph__ordered *u, ind_value sum, ind_value at, ind_value end,
                                   int most, const ind_expr *inner) {
    ind_value left = ind_op_sub(o, end, at); /* at + most might overflow */
    for (int j = 0; j < most; j++) {
        ind_value place = j ? ind_op_add(o, at, graph__number(o, u, j)) : at;
        ind_value there = ind_op_lt(o, graph__number(o, u, j), left), outer = graph__ordered_mask(o, there);
        ind_expr point = graph__ordered_index(o, place, u->points);
        ind_value number = ind__ok(point) ? ind__box_load(o, u->position, &point, 1) : (ind_value){0};
        o->mask = outer;
        sum = graph__ordered_add(o, u, sum, there, number, inner);
    }
    return sum;
}

/* Returns the row of the group whose first sorted point is `at`; the caller masks missing groups. */
static ind_expr graph__group_row(ind_ops *o, const graph__ordered *u, ind_value at) {
    ind_expr point = graph__ordered_index(o, at, u->points);
    return ind__ok(point) ? graph__ordered_index(o, ind__box_load(o, u->sorted, &point, 1), u->places) : point;
}

/* Stores the sum of each group. */
static void graph__group_sum(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__ordered *u = user;
    ind_value at = ind__box_load(o, u->group[0], index, 1);
    graph__ordered_mask(o, ind_op_ge(o, at, graph__number(o, u, 0)));
    ind_expr row = graph__group_row(o, u, at);
    if (!ind__ok(row)) return;
    ind_value sum =
        graph__join_group(o, u, (ind_value){0}, at, ind__box_load(o, u->end, &row, 1), GRAPH__GROUP, index + 1);
    ind__emit_scatter(o, to, index, rank, sum, o->mask, IND_REDUCE_NONE);
    o->mask = (ind_value){0};
}

/* Combines up to `most` group sums of a row: from `first` on, `step` apart, at offsets below `left`. */
static ind_value graph__join_sums(ind_ops *o, const graph__ordered *u, int level, ind_value first, ind_value left,
                                  int64_t most, int64_t step, const ind_expr *inner) {
    ind_expr from[IND_MAX_RANK], all = graph__most_groups(u, level);
    ind_value sum = {0};
    for (int d = 0; d < u->whole; d++) from[1 + d] = inner[d];
    for (int64_t k = 0; k < most; k++) {
        ind_value there = ind_op_lt(o, graph__number(o, u, k * step), left), outer = graph__ordered_mask(o, there);
        from[0] = graph__ordered_index(o, ind_op_add(o, first, graph__number(o, u, k * step)), all);
        ind_value v = ind__ok(from[0]) ? ind__box_load(o, u->sums[level], from, 1 + u->whole) : (ind_value){0};
        o->mask = outer;
        sum = graph__join_if(o, u, sum, there, v);
    }
    return sum;
}

/* Combines the sums of a group of groups. Later passes combine GRAPH__GROUP of those sums, u->span apart, into the
   first one. The last pass stores the total of a row at the index of its first group. */
static void graph__group_join(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__ordered *u = user;
    const int level = u->sums[1] != NULL;
    ind_expr place[IND_MAX_RANK];
    ind_value at = ind__box_load(o, u->group[1], index, 1);
    graph__ordered_mask(o, ind_op_ge(o, at, graph__number(o, u, 0)));
    ind_expr row = graph__group_row(o, u, at);
    if (!ind__ok(row)) return;
    memcpy(place, index, (size_t)rank * sizeof *place);
    ind_value first = graph__number_at(o, u, index[0]), sum;
    ind_value nth = ind_op_sub(o, first, graph__first_group(o, u, row, 1));
    ind_value rest = u->last_sums ? nth : ind_op_bit_and(o, nth, graph__number(o, u, u->span * GRAPH__GROUP - 1));
    if (level) graph__ordered_mask(o, ind_op_eq(o, rest, graph__number(o, u, 0)));
    if (!level) nth = ind_op_mul(o, nth, graph__number(o, u, GRAPH__GROUP));
    if (!level) first = ind_op_add(o, graph__first_group(o, u, row, 0), nth);
    ind_value left = ind_op_sub(o, graph__row_groups(o, u, row, level), nth);
    sum = graph__join_sums(o, u, level, first, left, u->last_sums ? u->last_sums : GRAPH__GROUP, u->span, index + 1);
    if (u->last_sums) place[0] = graph__ordered_index(o, graph__first_group(o, u, row, 0), graph__most_groups(u, 0));
    if (ind__ok(place[0])) ind__emit_scatter(o, to, place, rank, sum, o->mask, IND_REDUCE_NONE);
    o->mask = (ind_value){0};
}

/* Combines `sum`, if valid, with the values of all points of the row for element `inner`. */
static ind_value graph__ordered_total(ind_ops *o, const graph__ordered *u, ind_value sum, ind_expr row,
                                      const ind_expr *inner) {
    ind_value begin = ind__box_load(o, u->begin, &row, 1), end = ind__box_load(o, u->end, &row, 1);
    sum = graph__join_group(o, u, sum, begin, end, u->first, inner);
    if (!u->sums[0]) return sum;
    ind_value some = ind_op_gt(o, graph__row_groups(o, u, row, 0), graph__number(o, u, 0));
    ind_value more =
        graph__join_sums(o, u, 0, graph__first_group(o, u, row, 0), ind_op_cast(o, some, u->number), 1, 1, inner);
    return sum.id ? graph__ordered_join(o, u, sum, more) : more;
}

static ind_value graph__ordered_row_total(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    ind_value old = ind_op_cast(o, ind__box_load(o, u->base, index, rank), u->compute);
    return graph__ordered_total(o, u, old, graph__ordered_place(u, index), index + rank - u->whole);
}

/* Combines the total of each row with the row, at the row's first point. */
static void graph__ordered_total_store(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__ordered *u = user;
    const int outer_rank = u->base->rank - u->whole;
    ind_expr at[IND_MAX_RANK];
    ind_value inside;
    (void)rank;
    ind_expr row = graph__ordered_row(o, u, ind__box_load(o, u->sorted, index, 1), &inside);
    if (!ind__ok(row)) return;
    ind_value outer = graph__ordered_mask(o, ind_op_and(o, inside, graph__sorted_edge(o, u, index[0], true)));
    ind__delinearise(u->l->context, row, u->base->size, outer_rank, at);
    for (int d = 0; d < u->whole; d++) at[outer_rank + d] = index[1 + d];
    ind_value v = graph__ordered_total(o, u, (ind_value){0}, row, index + 1);
    ind__emit_scatter(o, to, at, u->base->rank, v, o->mask, u->l->mode);
    o->mask = outer;
}

/* Finds the begin and end of each row among the sorted points. */
static ind_status graph__find_edges(graph__ordered *u) {
    ind__scatter_desc d = {.size = &u->points, .rank = 1, .fn = graph__sorted_edge_store, .user = u};
    u->store_begins = true;
    ind_status status = graph__ordered_scatter(u, 0, &u->places, 1, &d, &u->begin);
    u->store_begins = false;
    return status ? status : graph__ordered_scatter(u, 0, &u->places, 1, &d, &u->end);
}

/* Numbers the groups of a level. */
static ind_status graph__find_groups(graph__ordered *u, int level) {
    ind_expr most = graph__most_groups(u, level);
    ind__scan_desc scan = {IND_SCAN_SUM, u->number, &u->places, 1, 0, graph__row_groups_element, u};
    ind__scatter_desc d = {.size = &u->points, .rank = 1, .fn = graph__group_store, .user = u};
    u->level = level;
    ind_status status = ind__box_scan(u->l->w->program, &scan, &u->groups[level]);
    return status ? status : graph__ordered_scatter(u, -1, &most, 1, &d, &u->group[level]);
}

static ind_status graph__sum_level(graph__ordered *u, int level,
                                   void (*fn)(ind_ops *, const ind_expr *, int, uint32_t, void *)) {
    ind__lowered *p = u->l->w->program;
    ind_expr size[IND_MAX_RANK] = {graph__most_groups(u, level)};
    for (int d = 0; d < u->whole; d++) size[1 + d] = u->size[u->rank - u->whole + d];
    graph__fill fill = {u->compute, 0};
    ind__scatter_desc d = {.size = size, .rank = 1 + u->whole, .fn = fn, .user = u};
    ind__box *into =
        u->last_sums ? u->sums[0] : ind__box_pointwise(p, u->compute, size, d.rank, graph__fill_element, &fill);
    ind__box *sums = NULL;
    ind_status status = ind__box_realise(p, into);
    if (!status) status = ind__box_scatter(p, into, &d, &sums);
    u->sums[u->last_sums ? 0 : level] = sums;
    return status;
}

/* Reduces all groups of a row to one sum, at the index of its first group. */
static ind_status graph__sum_groups(graph__ordered *u) {
    if (graph__at_most(u->points) <= u->first) return IND_OK;
    int64_t most = (graph__at_most(u->points) - u->first - 1) / GRAPH__GROUP + 1; /* of a row */
    ind_status status = graph__find_groups(u, 0);
    if (!status && most > 1) status = graph__find_groups(u, 1);
    if (!status) status = graph__sum_level(u, 0, graph__group_sum);
    u->span = 1;
    if (status || most == 1) return status;
    status = graph__sum_level(u, 1, graph__group_join);
    most = (most - 1) / GRAPH__GROUP + 1;
    for (; !status && most > u->span * GRAPH__LAST_GROUPS; u->span *= GRAPH__GROUP)
        status = graph__sum_level(u, 1, graph__group_join);
    u->last_sums = (int)((most - 1) / u->span + 1);
    return status ? status : graph__sum_level(u, 1, graph__group_join);
}

/* Returns a number of points that most rows do not exceed if the points are distributed randomly. */
static int graph__first_points(const graph__ordered *u) {
    int n = 4;
    while (n < 16 && (double)n * (double)ind_hint(u->places) < 2.0 * (double)ind_hint(u->points) + 4) n *= 2;
    return n;
}

static ind_status graph__ordered_by_sorting(graph__ordered *u, ind__box **result) {
    ind__lowered *p = u->l->w->program;
    u->first = graph__first_points(u);
    ind_status status = graph__realise_costly(u);
    if (!status) status = graph__sort_points(u);
    if (!status) status = graph__find_edges(u);
    if (!status) status = graph__sum_groups(u);
    if (status) return status;
    if (u->in_place && ind_hint(u->points) * 2 < ind_hint(u->places)) { /* rows without points are not read */
        ind_expr size[IND_MAX_RANK] = {u->points};
        for (int d = 0; d < u->whole; d++) size[1 + d] = u->size[u->rank - u->whole + d];
        ind__scatter_desc d = {.size = size, .rank = 1 + u->whole, .fn = graph__ordered_total_store, .user = u};
        return ind__box_scatter(p, u->base, &d, result);
    }
    *result = ind__box_pointwise(p, u->base->storage->dtype, u->base->size, u->base->rank, graph__ordered_row_total, u);
    return ind__box_realise(p, *result);
}

/* Returns the point's value if the point is for this element, else the neutral value. index: the element, the point. */
static ind_value graph__ordered_looked_at(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    const int outer = u->rank - u->whole;
    const ind_expr *point = index + u->base->rank;
    ind_expr at[IND_MAX_RANK];
    ind_value place = ind_op_index(o, graph__ordered_place(u, index), IND_I64);
    ind_value own = ind_op_eq(o, ind__box_load(o, u->key, point, outer), place);
    (void)rank;
    if (u->l->mode == IND_REDUCE_NONE) {
        ind_value number = ind_op_index(o, ind__linearise(u->l->context, point, u->size, outer), IND_I64);
        return ind_op_where(o, own, number, ind_op_constant_int(o, -1, IND_I64));
    }
    for (int d = 0; d < u->rank; d++) at[d] = d < outer ? point[d] : index[u->base->rank - u->rank + d];
    ind_value neutral = ind_op_constant(o, u->l->mode == IND_REDUCE_PROD, u->compute);
    return ind_op_where(o, own, ind__box_load(o, u->value, at, u->rank), neutral);
}

static ind_value graph__ordered_changed(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    const ind_expr *inner = index + rank - u->whole;
    ind_value old = ind__box_load(o, u->base, index, rank), met = ind__box_load(o, u->meeting, index, rank);
    if (u->l->mode != IND_REDUCE_NONE) return graph__ordered_join(o, u, old, met);
    ind_value any = ind_op_ge(o, met, ind_op_constant_int(o, 0, IND_I64)), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, any) : any;
    ind_expr number = ind_op_indirect(o, met, ind_expr_max(u->points, ind_int(u->l->context, 1)), false);
    ind_value v = ind__ok(number) ? graph__ordered_point(o, u, u->value, number, inner) : (ind_value){0};
    o->mask = outer;
    return ind_op_where(o, any, v, old);
}

static ind_status graph__ordered_by_looking(graph__ordered *u, ind__box **result) {
    ind__lowered *p = u->l->w->program;
    bool picks = u->l->mode == IND_REDUCE_NONE;
    ind__reduction_desc d = {.type = picks ? IND_REDUCE_MAX : u->l->mode,
                             .dtype = picks ? IND_I64 : u->compute,
                             .size = u->base->size,
                             .rank = u->base->rank,
                             .rrange = u->size,
                             .rrank = u->rank - u->whole,
                             .fn = graph__ordered_looked_at,
                             .user = u};
    ind_status status = ind__box_realise(p, u->key);
    if (!status) status = ind__box_realise(p, u->value);
    if (!status) status = ind__box_reduction(p, &d, &u->meeting);
    if (status) return status;
    *result = ind__box_pointwise(p, u->base->storage->dtype, u->base->size, u->base->rank, graph__ordered_changed, u);
    return ind__box_realise(p, *result);
}

static graph__ordered graph__ordered_of(graph__lower_ctx *l, ind__box *base, const ind_expr *size, int rank) {
    ind__lowered *p = l->w->program;
    graph__ordered u = {.l = l, .base = base, .size = size, .rank = rank};
    u.whole = l->into || rank == 0 ? 0 : l->whole_dims < rank ? l->whole_dims : rank - 1;
    if (rank - u.whole > IND_MAX_RANK - 2 || u.whole > IND_MAX_RANK - 2) u.whole = 0;
    u.points = ind_expr_product(l->context, size, rank - u.whole);
    u.places = ind_expr_product(l->context, base->size, base->rank - u.whole);
    u.compute = ind_dtype_compute(base->storage->dtype);
    bool fits = graph__at_most(u.points) <= INT32_MAX && graph__at_most(u.places) <= INT32_MAX;
    u.number = fits ? IND_I32 : IND_I64;
    u.in_place = l->into || base == graph__lower_operand_box(l, 0);
    u.key = ind__box_pointwise(p, IND_I64, size, rank - u.whole, graph__ordered_key, &u);
    u.checked = true;
    u.value = ind__box_pointwise(p, u.compute, size, rank, graph__ordered_value, &u);
    return u;
}

static ind_status graph__lower_ordered(graph__lower_ctx *l, ind__box *base, const ind_expr *size, int rank,
                                       ind__box **result) {
    ind__lowered *p = l->w->program;
    graph__ordered u = graph__ordered_of(l, base, size, rank);
    if (!u.key || !u.value) return ind__failed(l->context);
    ind_expr elements = ind_expr_product(l->context, base->size, base->rank);
    bool replaces = l->mode == IND_REDUCE_NONE;
    bool few = (double)ind_hint(u.points) * (double)ind_hint(elements) <= (double)p->policy.look_steps;
    p->note = few        ? "in order: each element looks at all points"
              : replaces ? "in order: the last point of each element"
                         : "in order: points sorted by element";
    ind_status status = few        ? graph__ordered_by_looking(&u, result)
                        : replaces ? graph__ordered_by_last(&u, result)
                                   : graph__ordered_by_sorting(&u, result);
    p->note = NULL;
    return status;
}

/* True if the order of the points of an element may change the result. */
static bool graph__order_matters(const graph__lower_ctx *l, const ind__box *base, const ind_expr *size, int rank) {
    ind_expr points = ind_expr_product(l->context, size, rank);
    bool joins = l->mode == IND_REDUCE_SUM || l->mode == IND_REDUCE_PROD;
    bool one_value = l->part[0] || l->node->op == IND_OP_INDEX_FILL ||
                     (l->node->op == IND_OP_SCATTER && !graph__lower_has_operand(l, 2));
    if (graph__size_is_zero(points) || graph__size_is_one(points)) return false;
    if (ind__op_has(l->node->op, 'Z')) return false; /* points do not share elements, or add integers */
    if (joins) return ind_dtype_is_float(base->storage->dtype);
    return l->mode == IND_REDUCE_NONE && !one_value && l->scatter != graph__put_part_element;
}

/* ---- sums of rows by lists, for few points per row: one loop over all rows reads each row once, combines it with its
   points in registers, and stores it once. No row is copied first, and hardly any sum uses atomics. The lists are found
   by iterations of integer minima and maxima, which do not depend on the order of the threads. The first iteration
   finds, in each of GRAPH__RANGES ranges of point numbers, the minimum and maximum of a row's points. The next does the
   same for the points strictly between them. Points still in between afterwards, of rows with more points, are added by
   atomics. */

#define GRAPH__RANGES 2
#define GRAPH__ROUNDS 2

typedef struct graph__lists {
    graph__ordered u;
    ind__box *least[GRAPH__ROUNDS], *greatest[GRAPH__ROUNDS]; /* numbers of points, by row and range */
    int round;                                                /* iteration being recorded, .. */
    bool least_now;                                           /* .. and which of the two arrays */
} graph__lists;

/* Returns the range of a point's number. */
static ind_expr graph__lists_range(const graph__lists *s, ind_expr point) {
    ind_expr one = ind_int(s->u.l->context, 1), ranges = ind_int(s->u.l->context, GRAPH__RANGES);
    return ind_expr_floordiv(point, ind_expr_max(ind_expr_ceildiv(s->u.points, ranges), one));
}

/* True if this point, of row and range `at`, is strictly between minimum and maximum of iteration k. */
static ind_value graph__lists_between(ind_ops *o, const graph__lists *s, const ind_expr *at, ind_value number, int k) {
    ind_value low = ind__box_load(o, s->least[k], at, 2), high = ind__box_load(o, s->greatest[k], at, 2);
    return ind_op_and(o, ind_op_lt(o, low, number), ind_op_lt(o, number, high));
}

static void graph__lists_store(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__lists *s = user;
    ind_value inside, number = graph__number_at(o, &s->u, index[0]);
    ind_value key = graph__ordered_flat_key(o, index, rank, (void *)&s->u);
    ind_expr at[2] = {graph__ordered_row(o, &s->u, key, &inside), graph__lists_range(s, index[0])};
    if (!ind__ok(at[0])) return;
    o->mask = inside;
    if (s->round) inside = ind_op_and(o, inside, graph__lists_between(o, s, at, number, s->round - 1));
    o->mask = (ind_value){0};
    ind__emit_scatter(o, to, at, 2, number, inside, s->least_now ? IND_REDUCE_MIN : IND_REDUCE_MAX);
}

static ind_status graph__lists_find(graph__lists *s) {
    ind_expr size[2] = {s->u.places, ind_int(s->u.l->context, GRAPH__RANGES)};
    ind__scatter_desc d = {.size = &s->u.points, .rank = 1, .fn = graph__lists_store, .user = s};
    for (s->round = 0; s->round < GRAPH__ROUNDS; s->round++) {
        s->least_now = true;
        ind_status status = graph__ordered_scatter(&s->u, INT32_MAX, size, 2, &d, &s->least[s->round]);
        s->least_now = false;
        if (!status) status = graph__ordered_scatter(&s->u, -1, size, 2, &d, &s->greatest[s->round]);
        if (status) return status;
    }
    return IND_OK;
}

static ind_value graph__lists_sum(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lists *s = user;
    const ind_expr *inner = index + rank - s->u.whole;
    ind_value sum = ind_op_cast(o, ind__box_load(o, s->u.base, index, rank), s->u.compute);
    ind_value none = graph__number(o, &s->u, INT32_MAX);
    ind_expr at[2] = {graph__ordered_place(&s->u, index)};
    for (int range = 0; range < GRAPH__RANGES; range++) {
        ind_value low[GRAPH__ROUNDS];
        at[1] = ind_int(s->u.l->context, range);
        for (int k = 0; k < GRAPH__ROUNDS; k++) {
            low[k] = ind__box_load(o, s->least[k], at, 2);
            sum = graph__ordered_add(o, &s->u, sum, ind_op_lt(o, low[k], none), low[k], inner);
        }
        for (int k = GRAPH__ROUNDS; k-- > 0;) { /* with one point least equals greatest; with none it exceeds it */
            ind_value high = ind__box_load(o, s->greatest[k], at, 2);
            sum = graph__ordered_add(o, &s->u, sum, ind_op_gt(o, high, low[k]), high, inner);
        }
    }
    return sum;
}

/* Adds the points that are in no list. */
static void graph__lists_rest(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    const graph__lists *s = user;
    ind_expr point = ind__linearise(s->u.l->context, index, s->u.size, rank - s->u.whole);
    ind_value inside, key = graph__ordered_flat_key(o, &point, 1, (void *)&s->u);
    ind_expr at[2] = {graph__ordered_row(o, &s->u, key, &inside), graph__lists_range(s, point)};
    if (!ind__ok(at[0])) return;
    o->mask = inside;
    graph__ordered_mask(o, graph__lists_between(o, s, at, graph__number_at(o, &s->u, point), GRAPH__ROUNDS - 1));
    ind__capture c = graph__ordered_capture(o, index, rank, s->u.l, true);
    o->seldom = true;
    if (c.set) ind__emit_scatter(o, to, c.index, s->u.base->rank, c.value, o->mask, s->u.l->mode);
    o->seldom = false;
    o->mask = (ind_value){0};
}

static ind_status graph__lower_lists(graph__lower_ctx *l, ind__box *base, const ind_expr *size, int rank,
                                     ind__box **result) {
    ind__lowered *p = l->w->program;
    graph__lists s = {.u = graph__ordered_of(l, base, size, rank)};
    if (!s.u.key || !s.u.value) return ind__failed(l->context);
    p->note = "lists of the points that meet at a row";
    ind_status status = ind__box_realise(p, s.u.key);
    if (!status) status = graph__realise_costly(&s.u);
    if (!status) status = graph__lists_find(&s);
    ind__box *sums = NULL;
    if (!status) sums = ind__box_pointwise(p, base->storage->dtype, base->size, base->rank, graph__lists_sum, &s);
    if (!status) status = ind__box_realise(p, sums);
    ind__scatter_desc rest = {.size = size, .rank = rank, .fn = graph__lists_rest, .user = &s};
    if (!status) status = ind__box_scatter(p, sums, &rest, result);
    p->note = NULL;
    return status;
}

/* True if lists save as many bytes as the policy requires. An atomic sum reads a point's row, then reads and writes the
   destination row. That happens in the L2, but rows beyond its size also go through memory. Rows that are not changed
   in place are copied first. Lists read and write each row once, with or without points, and read each point's row
   once. Finding the lists takes about 128 bytes per point. Finding the points without a list takes about the time of
   reading their rows. 16-bit elements take as many instructions as others, for half of the bytes. Lists suit few points
   per row: with four, one range in 20 has more points than its lists can take. */
static bool graph__lists_pay(const graph__lower_ctx *l, const ind__box *base, const ind_expr *size, int rank) {
    const double bytes = ind_dtype_bytes(base->storage->dtype);
    if (l->into || l->mode != IND_REDUCE_SUM || l->whole_dims == 0 || l->whole_dims >= rank || bytes < 4) return false;
    ind_expr num_points = ind_expr_product(l->context, size, rank - l->whole_dims);
    ind_expr num_rows = ind_expr_product(l->context, base->size, base->rank - l->whole_dims);
    const double points = (double)ind_hint(num_points),
                 sources = bytes * (double)ind_hint(ind_expr_product(l->context, size, rank));
    const double rows = bytes * (double)ind_hint(ind_expr_product(l->context, base->size, base->rank));
    const bool copied = base != graph__lower_operand_box(l, 0);
    if (graph__at_most(num_points) > INT32_MAX || graph__at_most(num_rows) > INT32_MAX) return false;
    if (points > 4 * (double)ind_hint(num_rows)) return false;
    return sources - (copied ? 0 : 2 * rows) - 128 * points >= (double)l->w->program->policy.list_bytes;
}

/* Runs fn over `size`, storing into base. *result: base after that. */
static ind_status graph__lower_scatter_loop(graph__lower_ctx *l, ind__box *base, const ind_expr *size, int rank,
                                            graph__lower_scatter_fn fn, ind_reduction mode, ind__box **result) {
    const bool once = fn == graph__put_part_element; /* all other scatter indices are data */
    ind__scatter_desc d = {.size = size, .rank = rank, .fn = graph__lower_run_scatter, .user = l, .each_once = once};
    l->scatter = fn;
    l->mode = mode;
    if (base && l->w->deterministic && graph__order_matters(l, base, size, rank))
        return graph__lower_ordered(l, base, size, rank, result);
    if (base && graph__order_matters(l, base, size, rank) && graph__lists_pay(l, base, size, rank))
        return graph__lower_lists(l, base, size, rank, result);
    return base ? ind__box_scatter(l->w->program, base, &d, result) : ind__failed(l->context);
}
