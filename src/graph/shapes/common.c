/* ------------------------------------------------------------------------------------------------ >>shapes */

/* Shape rules: result dtypes and sizes of each op, as PyTorch documents them. Sizes that are not proven equal are an
   error that names them; hints are never used. */

typedef struct ind__type {
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK];
} ind__type;

typedef struct ind__infer {
    const ind_graph *g;
    ind_context *c;
    ind_graph_op op;
    const char *op_name;
    const uint32_t *operand;
    uint32_t num_operands;
    const ind__attr *attr;
    const ind_body *body; /* CUSTOM */
    ind__type *result;    /* `few`, or allocated */
    uint32_t num_results; /* the table's, or the rule's */
    ind__type few[5];
    ind_expr length;       /* Z: the data-dependent size .. */
    ind_expr least, limit; /* Z: .. and its lower and upper bound; least: invalid is 0 */
    bool bounded;          /* Z: the caller gave bounds */
    const ind__attr *hint; /* Z: attribute with the hint of the size; NULL: the hint of `limit` */
    uint32_t source;       /* Z: as in ind__unbacked */
    ind_status status;
    char error[800];
    char scratch[8][360]; /* texts of operands and types for an error message */
    int next_scratch;
} ind__infer;

static ind_status ind__reject(ind__infer *in, ind_status status, const char *format, ...) IND__PRINTF(3, 4);
static ind_status ind__reject(ind__infer *in, ind_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(in->error, sizeof in->error, format, args);
    va_end(args);
    in->status = status;
    return status;
}

static char *ind__scratch(ind__infer *in) {
    in->next_scratch = (in->next_scratch + 1) % 8;
    return in->scratch[in->next_scratch];
}

static bool ind__is_int(ind_expr e, int64_t value) {
    int64_t v;
    return ind_expr_is_int(e, &v) && v == value;
}

static const ind__tensor_info *ind__operand(const ind__infer *in, uint32_t k) {
    return &in->g->tensor[in->operand[k]];
}

static bool ind__has_operand(const ind__infer *in, uint32_t k) {
    return k < in->num_operands && in->operand[k] != 0;
}

/* Prints "f32[B, 256]" into a buffer; truncated if it does not fit. */
static void ind__print_type(char *out, size_t bytes, ind_dtype dtype, const ind_expr *size, int rank) {
    char dim[96];
    size_t used = (size_t)snprintf(out, bytes, "%s[", ind_dtype_name(dtype));
    for (int d = 0; d < rank && used < bytes; d++) {
        ind_expr_print(size[d], dim, sizeof dim);
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", d ? ", " : "", dim);
    }
    if (used < bytes) used += (size_t)snprintf(out + used, bytes - used, "]");
    if (used >= bytes && bytes > 4) memcpy(out + bytes - 4, "...", 4);
}

static const char *ind__describe_type(ind__infer *in, uint32_t k) {
    const ind__tensor_info *t = ind__operand(in, k);
    char *out = ind__scratch(in);
    ind__print_type(out, sizeof in->scratch[0], t->dtype, t->size, t->rank);
    return out;
}

static const char *ind__describe_size(ind__infer *in, ind_expr e) {
    char *out = ind__scratch(in);
    ind_expr_print(e, out, sizeof in->scratch[0]);
    return out;
}

/* Returns the tensor's name, or its value if it is a number. */
static const char *ind__describe_name(ind__infer *in, uint32_t k) {
    const ind__tensor_info *t = ind__operand(in, k);
    return t->name ? t->name : "a number";
}

/* Returns "; 'fact S == 4*T' would make them agree", if a fact could do so. */
static const char *ind__describe_fact(ind__infer *in, ind_expr condition) {
    char fact[128];
    if (!ind__ok(condition) || ind_expr_is_int(condition, NULL)) return "";
    if (ind__expr_has_kind(condition, IND_SYMBOL_UNBACKED))
        return "; min_length and max_length of the op that makes a size from data bound it";
    if (ind_expr_print(condition, fact, sizeof fact) >= sizeof fact) return "";
    char *out = ind__scratch(in);
    snprintf(out, sizeof in->scratch[0], "; 'fact %s' would make them agree", fact);
    return out;
}

static const char *ind__describe_difference(ind__infer *in, ind_expr a, ind_expr b) {
    char first[64], second[64];
    if (ind_expr_is_int(a, NULL) && ind_expr_is_int(b, NULL)) return "";
    const char *fact = ind__describe_fact(in, ind_expr_eq(a, b));
    char *out = ind__scratch(in);
    ind_expr_print(a, first, sizeof first);
    ind_expr_print(b, second, sizeof second);
    snprintf(out, sizeof in->scratch[0], " (%s and %s are not known to be equal%.180s)", first, second, fact);
    return out;
}

static void ind__set_result(ind__infer *in, int r, ind_dtype dtype, const ind_expr *size, int rank) {
    ind__type *t = &in->result[r];
    t->dtype = dtype;
    t->rank = rank;
    for (int d = 0; d < rank && d < IND_MAX_RANK; d++) t->size[d] = size[d];
}

/* Allocates n results if the op table gives no number. */
static ind_status ind__need_results(ind__infer *in, int64_t n) {
    if (n < 1) return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "it would have no result");
    if (n > IND__MAX_RESULTS) {
        return ind__reject(in, IND_ERROR_LIMIT, "it would have %lld results; at most %d are possible", (long long)n,
                           IND__MAX_RESULTS);
    }
    in->num_results = (uint32_t)n;
    if (n <= (int64_t)(sizeof in->few / sizeof *in->few)) return IND_OK;
    in->result = ind__alloc(in->c, (size_t)n * sizeof *in->result);
    if (in->result) return IND_OK;
    in->result = in->few;
    return ind__reject(in, IND_ERROR_OUT_OF_MEMORY, "out of memory");
}

static ind_status ind__too_many_dims(ind__infer *in, int rank) {
    return ind__reject(in, IND_ERROR_LIMIT, "the result would have %d dimensions; at most %d are possible", rank,
                       IND_MAX_RANK);
}
