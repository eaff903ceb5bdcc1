/* ---- attributes from values ---- */

static ind__attr ind__attr_int(int64_t v) {
    return (ind__attr){.kind = IND__ATTR_INT, .i = v};
}

static ind__attr ind__attr_bool(bool v) {
    return (ind__attr){.kind = IND__ATTR_BOOL, .i = v};
}

static ind__attr ind__attr_float(double v) {
    return (ind__attr){.kind = IND__ATTR_FLOAT, .f = v};
}

/* A zeroed expression means "not given"; a failed one still has its context. */
static ind__attr ind__attr_size(ind_expr e) {
    return (ind__attr){.kind = e.context ? IND__ATTR_SIZE : IND__ATTR_NONE, .e = e};
}

static ind__attr ind__attr_sizes(const ind_expr *size, int rank) {
    return (ind__attr){.kind = IND__ATTR_SIZES, .list = size, .count = rank};
}

/* A whole number given as a C double stays a float in printing and promotion. */
static ind__attr ind__attr_scalar(double v) {
    return (ind__attr){.kind = IND__ATTR_SCALAR, .f = v};
}

/* A whole number becomes an integer, which also fits integer tensors. */
static ind__attr ind__attr_number(double v) {
    bool whole = v >= -1e15 && v <= 1e15 && v == (double)(int64_t)v;
    return (ind__attr){.kind = IND__ATTR_SCALAR, .is_int = whole, .i = whole ? (int64_t)v : 0, .f = v};
}

static ind__attr ind__attr_dtype(ind_dtype d) {
    return (ind__attr){.kind = d == IND_DTYPE_NONE ? IND__ATTR_NONE : IND__ATTR_DTYPE, .i = d};
}
