/* ------------------------------------------------------------------------------------------------ >>composites */

/* Ops of IND_COMPOSITES expand to other ops here, through the public builders. Their operands and attributes have been
   checked against the table. A failure of an inner op is reported for the composite. */

typedef struct ind__expansion {
    ind_graph *g;
    ind_context *c;
    const ind__node *node;
    const char *name;
    ind_tensor *x; /* operands; absent ones have no id */
    int num_x;
    const ind__attr *a;
    ind_tensor y; /* the result */
} ind__expansion;

static void ind__refuse(ind__expansion *e, ind_status status, const char *format, ...) IND__PRINTF(3, 4);
static void ind__refuse(ind__expansion *e, ind_status status, const char *format, ...) {
    char why[700];
    va_list args;
    if (e->g->status) return;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    ind__graph_fail(e->g, status, "%s", why);
}

/* "x (f32[2, 3])" for messages. */
static const char *ind__describe_operand(const ind__expansion *e, int k, char *out, size_t bytes) {
    const ind__tensor_info *t = ind__tensor_of(e->x[k]);
    char type[200] = "?";
    if (t) ind__print_type(type, sizeof type, t->dtype, t->size, t->rank);
    snprintf(out, bytes, "%.60s (%s)", t && t->name ? t->name : "a number", type);
    return out;
}

static bool ind__given(const ind__expansion *e, int k) {
    return k < e->num_x && e->x[k].id != 0;
}

/* Returns a number operand: a whole number keeps integer tensors integer. */
static ind_tensor ind__num(const ind__expansion *e, double v) {
    return ind__add_scalar(e->g, ind__attr_number(v));
}

/* A number attribute as a tensor, an integer or a float as in the text. */
static ind_tensor ind__attr_tensor(const ind__expansion *e, int k) {
    return ind__add_scalar(e->g, e->a[k]);
}

static ind_expr ind__e(const ind__expansion *e, int64_t v) {
    return ind_int(e->c, v);
}

static ind_tensor ind__times(const ind__expansion *e, ind_tensor x, double v) {
    return v == 1 ? x : ind_mul(x, ind__num(e, v));
}

static ind_tensor ind__plus(const ind__expansion *e, ind_tensor x, double v) {
    return ind_add(x, ind__num(e, v));
}

static bool ind__need_rank_of(ind__expansion *e, int k, int low, int high) {
    char text[300];
    int rank = ind_tensor_rank(e->x[k]);
    if (rank >= low && rank <= high) return true;
    if (low == high) {
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "%s has %d dimensions; %d are needed",
                    ind__describe_operand(e, k, text, sizeof text), rank, low);
    } else {
        ind__refuse(e, IND_ERROR_SHAPE_MISMATCH, "%s has %d dimensions; %d to %d are needed",
                    ind__describe_operand(e, k, text, sizeof text), rank, low, high);
    }
    return false;
}

static bool ind__need_float_of(ind__expansion *e, int k) {
    char text[300];
    if (ind_dtype_is_float(ind_tensor_dtype(e->x[k]))) return true;
    ind__refuse(e, IND_ERROR_TYPE_MISMATCH, "%s must be of a float type",
                ind__describe_operand(e, k, text, sizeof text));
    return false;
}

static bool ind__need_rank_as(ind__expansion *e, int k, int other) {
    int rank = ind_tensor_rank(e->x[other]);
    return ind__need_rank_of(e, k, rank, rank);
}

/* Casts x unless it has the type already. */
static ind_tensor ind__to(ind_tensor x, ind_dtype dtype) {
    return ind_tensor_dtype(x) == dtype ? x : ind_cast(x, dtype);
}

static bool ind__need_type_as(ind__expansion *e, int k, int other) {
    char text[300], second[300];
    if (ind_tensor_dtype(e->x[k]) == ind_tensor_dtype(e->x[other])) return true;
    ind__refuse(e, IND_ERROR_TYPE_MISMATCH, "%s is not of the type of %s",
                ind__describe_operand(e, k, text, sizeof text), ind__describe_operand(e, other, second, sizeof second));
    return false;
}

/* Returns the type that operands 0 and 1 promote to; f32 for integers. */
static ind_dtype ind__float_of_both(const ind__expansion *e) {
    ind_dtype dtype = ind__result_type(e->g, e->node->operand, 2);
    return ind_dtype_is_float(dtype) ? dtype : IND_F32;
}

/* Returns dim of a tensor of this rank, counted from the front; -1 and an error if out of range. A 0-d tensor has
   dimension 0. */
static int ind__dim_in(ind__expansion *e, int64_t dim, int rank) {
    int64_t most = rank > 0 ? rank : 1;
    if (dim >= -most && dim < most) return (int)(dim < 0 ? dim + most : dim);
    ind__refuse(e, IND_ERROR_OUT_OF_RANGE, "dim %lld is out of range; %lld to %lld are allowed", (long long)dim,
                (long long)-most, (long long)(most - 1));
    return -1;
}

static int ind__rank_of_both(const ind__expansion *e) {
    int first = ind_tensor_rank(e->x[0]), second = ind_tensor_rank(e->x[1]);
    return first > second ? first : second;
}

/* Returns element i of a list of integers. */
static int64_t ind__list_int(const ind__attr *a, int i) {
    int64_t v = 0;
    (void)ind_expr_is_int(a->list[i], &v);
    return v;
}

static bool ind__known_number(ind__expansion *e, ind_expr size, const char *what, int64_t *n) {
    char text[100];
    if (ind_expr_is_int(size, n)) return true;
    ind_expr_print(size, text, sizeof text);
    ind__refuse(e, IND_ERROR_NOT_SUPPORTED, "%s is %s; it must be a number, the computation depends on it", what, text);
    return false;
}

static bool ind__known_size(ind__expansion *e, ind_tensor x, int dim, const char *what, int64_t *n) {
    return ind__known_number(e, ind_tensor_size(x, dim), what, n);
}

static ind_tensor ind__part(ind_tensor x, int dim, int64_t from, int64_t to) {
    ind_context *c = x.graph ? x.graph->context : NULL;
    return c ? ind_slice(x, dim, ind_int(c, from), ind_int(c, to), (ind_expr){0}) : x;
}

static ind_tensor ind__sum_last(ind_tensor x, int dim, bool keepdim) {
    return ind_sum(x, &dim, 1, keepdim, IND_DTYPE_NONE);
}

/* Returns operand k cast to the promoted type of the first two if it is bool, since bools have no difference. */
static ind_tensor ind__as_number(const ind__expansion *e, int k) {
    if (ind_tensor_dtype(e->x[k]) != IND_BOOL) return e->x[k];
    return ind_cast(e->x[k], ind__result_type(e->g, e->node->operand, 2));
}

static const double ind__two_pi = 6.283185307179586476925286766559;

/* Returns a 0-d tensor that holds a size. */
static ind_tensor ind__size_number(const ind__expansion *e, ind_expr size, ind_dtype dtype) {
    ind_tensor one = ind_arange(e->g, size, ind_expr_add(size, ind__e(e, 1)), ind__e(e, 1), dtype);
    return ind_select(one, 0, ind__e(e, 0));
}

static ind_tensor ind__pick(const ind__expansion *e, ind_tensor x, int dim, int64_t i) {
    return ind_select(x, dim, ind__e(e, i));
}
