/* ---- windows: pools and convolutions */

/* Returns the spatial dimensions of a pool, convolution, pad or resampling: the digit before the d in its name. */
static int ind__spatial_rank(ind_graph_op op) {
    const char *digit = strpbrk(ind__op_name(op), "123");
    return digit ? *digit - '0' : 2;
}

/* The windows over the last `rank` dimensions of an operand. */
typedef struct ind__window {
    int rank;
    ind_expr kernel[3], stride[3], padding[3], dilation[3];
} ind__window;

/* Returns the attribute of this name; NULL if the op has none. */
static const ind__attr *ind__attr_named(const ind_graph *g, ind_graph_op op, const ind__attr *attr, const char *name) {
    const ind__schema *s = &g->schema[op];
    for (uint32_t i = 0; i < s->num_attrs; i++) {
        if (ind__same_name(s->attr[i].name, (size_t)s->attr[i].length, name, strlen(name))) return &attr[i];
    }
    return NULL;
}

/* Reads one number for each of `rank` dimensions: a list of that length, a list of one for all, or `otherwise` by
   default. False: another count. */
static bool ind__spatial_list(const ind__attr *a, int rank, const ind_expr *otherwise, ind_expr out[3]) {
    bool given = a && a->kind != IND__ATTR_NONE;
    if (given && a->count != 1 && a->count != rank) return false;
    for (int s = 0; s < rank; s++) out[s] = !given ? otherwise[s] : a->list[a->count == 1 ? 0 : s];
    return true;
}

/* Returns the stride of a window; NULL: not given. For a pool, which has a ceil_mode, an empty list counts as not
   given. */
static const ind__attr *ind__stride_of(const ind_graph *g, ind_graph_op op, const ind__attr *attr) {
    const ind__attr *stride = ind__attr_named(g, op, attr, "stride");
    const bool pool = ind__attr_named(g, op, attr, "ceil_mode") != NULL;
    return pool && stride->count == 0 ? NULL : stride;
}

/* Computes the windows of a pool (default stride: the kernel) or, with a given kernel, of a convolution (default
   stride: 1). Returns NULL, or the name of the attribute with a wrong count. */
static const char *ind__window_of(const ind_graph *g, ind_graph_op op, const ind__attr *attr, const ind_expr *kernel,
                                  ind__window *w) {
    int rank = w->rank;
    ind_expr zero[3], one[3];
    for (int s = 0; s < 3; s++) {
        zero[s] = ind_int(g->context, 0);
        one[s] = ind_int(g->context, 1);
        if (kernel && s < rank) w->kernel[s] = kernel[s];
    }
    if (!kernel && !ind__spatial_list(ind__attr_named(g, op, attr, "kernel_size"), rank, one, w->kernel))
        return "kernel_size";
    if (!ind__spatial_list(ind__stride_of(g, op, attr), rank, kernel ? one : w->kernel, w->stride)) return "stride";
    if (!ind__spatial_list(ind__attr_named(g, op, attr, "padding"), rank, zero, w->padding)) return "padding";
    return ind__spatial_list(ind__attr_named(g, op, attr, "dilation"), rank, one, w->dilation) ? NULL : "dilation";
}

static ind_status ind__check_window(ind__infer *in, const ind_expr *kernel, ind__window *w) {
    const char *wrong = ind__window_of(in->g, in->op, in->attr, kernel, w);
    if (wrong) {
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "%s has the wrong number of elements; 1 or %d %s needed",
                           wrong, w->rank, w->rank == 1 ? "is" : "are");
    }
    for (int s = 0; s < w->rank; s++) {
        if (ind__need_positive(in, w->kernel[s], "kernel size") || ind__need_positive(in, w->stride[s], "stride") ||
            ind__need_positive(in, w->dilation[s], "dilation"))
            return in->status;
        if (!ind_known_le(ind_int(in->c, 0), w->padding[s])) {
            return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "padding %s may be negative",
                               ind__describe_size(in, w->padding[s]));
        }
    }
    return IND_OK;
}

/* Returns the distance in elements from the first to the last element of a window. */
static ind_expr ind__window_reach(const ind__window *w, int s) {
    ind_expr one = ind_int(w->kernel[s].context, 1);
    return ind_expr_mul(w->dilation[s], ind_expr_sub(w->kernel[s], one));
}

/* Returns the number of windows that fit into a padded dimension; `ceil` also counts those that begin in it or in the
   padding before it. */
static ind_expr ind__windows_in(const ind__window *w, int s, ind_expr size, bool ceil) {
    ind_expr one = ind_int(size.context, 1), two = ind_int(size.context, 2);
    ind_expr slack = ind_expr_sub(ind_expr_add(size, ind_expr_mul(two, w->padding[s])), ind__window_reach(w, s));
    slack = ind_expr_sub(slack, one);
    ind_expr whole = ind_expr_add(ind_expr_floordiv(slack, w->stride[s]), one);
    if (!ceil || ind__is_int(w->stride[s], 1)) return whole;
    ind_expr any = ind_expr_ceildiv(slack, w->stride[s]);
    ind_expr begins = ind_expr_floordiv(ind_expr_sub(ind_expr_add(size, w->padding[s]), one), w->stride[s]);
    return ind_expr_add(ind_known_le(any, begins) ? any : ind_expr_min(any, begins), one);
}

static ind_status ind__need_windows(ind__infer *in, ind_expr windows, int d) {
    if (ind_known_le(ind_int(in->c, 1), windows)) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH,
                       "dim %d of %s (%s) is not known to hold a window: there would be %s%s", d,
                       ind__describe_name(in, 0), ind__describe_type(in, 0), ind__describe_size(in, windows),
                       ind__describe_fact(in, ind_expr_le(ind_int(in->c, 1), windows)));
}

/* Accepts an image with or without a leading batch dimension. */
static ind_status ind__need_image(ind__infer *in, int spatial) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (x->rank == spatial + 1 || x->rank == spatial + 2) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s is %s; %d or %d dimensions are needed",
                       ind__describe_name(in, 0), ind__describe_type(in, 0), spatial + 1, spatial + 2);
}

static ind_status ind__need_number(ind__infer *in, uint32_t k) {
    if (ind__operand(in, k)->dtype != IND_BOOL) return IND_OK;
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__describe_name(in, k));
}

/* Parameters of a convolution, from the attributes of any of its ops. */
typedef struct ind__conv {
    ind__window window;
    ind_expr output_padding[3];
    bool transposed;
    int64_t groups;
} ind__conv;
