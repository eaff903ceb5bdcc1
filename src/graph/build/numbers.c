/* ---- numbers with the semantics of their dtype ---- */

/* i for integers and bool, f for floats; always a value that the dtype can represent. */
typedef struct graph__typed_number {
    ind_dtype dtype;
    int64_t i;
    double f;
} graph__typed_number;

static double graph__round_to_dtype(ind_dtype dtype, double v) {
    switch (dtype) {
    case IND_F16: return (double)ind__f16_to_f32(ind__f32_to_f16((float)v));
    case IND_BF16: return (double)ind__bf16_to_f32(ind__f32_to_bf16((float)v));
    case IND_F8E4M3FN: return (double)ind__f8e4m3fn_to_f32(ind__f32_to_f8e4m3fn((float)v));
    case IND_F8E5M2: return (double)ind__f8e5m2_to_f32(ind__f32_to_f8e5m2((float)v));
    case IND_F32: return (double)(float)v;
    default: return v;
    }
}

/* False if C leaves the conversion undefined: a float beyond the range of the integers, or NaN. */
static bool graph__typed_number_cast(graph__typed_number x, ind_dtype to, graph__typed_number *out) {
    bool from_float = ind_dtype_is_float(x.dtype);
    graph__typed_number y = {to, 0, 0};
    if (ind_dtype_is_float(to)) {
        y.f = graph__round_to_dtype(to, from_float ? x.f : (double)x.i);
    } else if (to == IND_BOOL) {
        y.i = from_float ? x.f != 0 : x.i != 0;
    } else {
        if (from_float && !(x.f > -9.2e18 && x.f < 9.2e18)) return false;
        y.i = ind__wrap_int(to, from_float ? (int64_t)x.f : x.i);
    }
    *out = y;
    return true;
}

static double graph__typed_number_value(graph__typed_number x) {
    return ind_dtype_is_float(x.dtype) ? x.f : (double)x.i;
}

static graph__typed_number graph__typed_number_of(const ind__attr *a) {
    graph__typed_number x = {a->is_int ? IND_I64 : IND_F64, a->is_int ? a->i : 0, a->is_int ? 0 : a->f};
    return x;
}

/* Returns the fill value of an op of class U, before conversion to the result's type. */
static graph__typed_number graph__filled_with(const ind__node *n) {
    switch (n->op) {
    case IND_OP_SCALAR:
    case IND_OP_SCALAR_TENSOR:
    case IND_OP_FULL_LIKE: return graph__typed_number_of(&n->attr[0]);
    case IND_OP_FULL:
    case IND_OP_NEW_FULL: return graph__typed_number_of(&n->attr[1]);
    case IND_OP_ONES:
    case IND_OP_ONES_LIKE:
    case IND_OP_NEW_ONES: return (graph__typed_number){IND_I64, 1, 0};
    default: return (graph__typed_number){IND_I64, 0, 0};
    }
}
