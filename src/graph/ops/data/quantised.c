/* ---- quantised weights: shape rule */

typedef struct ind__quantised_format {
    const char *name;
    int elements, bytes;
    bool scaled;
} ind__quantised_format;

static const ind__quantised_format ind__quantised_formats[] = {
#define X(name, text, elements, bytes, scaled) {text, elements, bytes, scaled},
    IND__QUANTISED_FORMATS(X)
#undef X
};

/* IND__NUM_QUANTISED: no format has this name. */
static ind__quantised ind__quantised_by_name(const char *name) {
    int f = 0;
    while (f < IND__NUM_QUANTISED && (!name || strcmp(name, ind__quantised_formats[f].name))) f++;
    return (ind__quantised)f;
}

/* Checks that operand k has q's leading dimensions and `last` elements in the last one. */
static ind_status ind__need_groups(ind__infer *in, uint32_t k, ind_expr last) {
    const ind__tensor_info *q = ind__operand(in, 0), *s = ind__operand(in, k);
    bool fits = s->rank == q->rank && ind_known_eq(s->size[s->rank - 1], last);
    for (int d = 0; fits && d < q->rank - 1; d++) fits = ind_known_eq(s->size[d], q->size[d]);
    if (fits) return IND_OK;
    return ind__reject(in, IND_ERROR_SHAPE_MISMATCH, "%s (%s) must have the dimensions of %s (%s), the last one %s",
                       ind__describe_name(in, k), ind__describe_type(in, k), ind__describe_name(in, 0),
                       ind__describe_type(in, 0), ind__describe_size(in, last));
}

/* Checks the type of a scale or zero point. */
static ind_status ind__need_scale_type(ind__infer *in, uint32_t k, ind__quantised f) {
    ind_dtype t = ind__operand(in, k)->dtype;
    bool plain = t == IND_F32 || t == IND_F16 || t == IND_BF16;
    if (k == 2 ? t == IND_U8 || t == IND_I8 || t == IND_I32 : f == IND__QUANTISED_INT4 && plain) return IND_OK;
    if (k == 1 && t == (f == IND__QUANTISED_MXFP4 ? IND_U8 : IND_F8E4M3FN) && f != IND__QUANTISED_INT4) return IND_OK;
    if (k == 3 && t == IND_F32) return IND_OK;
    const char *want = k == 3                      ? "f32"
                       : k == 2                    ? "u8, i8 or i32"
                       : f == IND__QUANTISED_INT4  ? "f32, f16 or bf16"
                       : f == IND__QUANTISED_MXFP4 ? "u8"
                                                   : "f8e4m3fn";
    return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; format \"%s\" needs %s", ind__describe_name(in, k),
                       ind__describe_type(in, k), ind__quantised_formats[f].name, want);
}

/* Checks which scales are given, their types and their shapes. */
static ind_status ind__need_scales(ind__infer *in, ind__quantised f, ind_expr elements, int64_t group) {
    static const char *const name[] = {"", "scale", "zero_point", "tensor_scale"};
    const bool scaled = ind__quantised_formats[f].scaled;
    if (scaled && !ind__has_operand(in, 1))
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "format \"%s\" needs a scale",
                           ind__quantised_formats[f].name);
    for (uint32_t k = 1; k < 4; k++) {
        bool takes = k == 1 ? scaled : k == 2 ? f == IND__QUANTISED_INT4 : f == IND__QUANTISED_NVFP4;
        if (!ind__has_operand(in, k)) continue;
        if (!takes)
            return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "format \"%s\" takes no %s",
                               ind__quantised_formats[f].name, name[k]);
        if (ind__need_scale_type(in, k, f)) return in->status;
        if (k == 3 ? ind__need_rank(in, k, 0)
                   : ind__need_groups(in, k, ind_expr_floordiv(elements, ind_int(in->c, group))))
            return in->status;
    }
    return IND_OK;
}

static ind_status ind__rule_dequantise(ind__infer *in) {
    const ind__tensor_info *q = ind__operand(in, 0);
    const ind__quantised f = ind__quantised_by_name(in->attr[0].s);
    ind_dtype dtype = (ind_dtype)in->attr[1].i;
    int64_t group = in->attr[2].i;
    ind_expr size[IND_MAX_RANK];
    if (f == IND__NUM_QUANTISED)
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "no format is named \"%.40s\"", in->attr[0].s);
    const ind__quantised_format *format = &ind__quantised_formats[f];
    if (q->dtype != IND_U8 || q->rank < 1)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "%s is %s; u8 with at least one dimension is needed",
                           ind__describe_name(in, 0), ind__describe_type(in, 0));
    if (dtype != IND_F32 && dtype != IND_F16 && dtype != IND_BF16 && dtype != IND_F64)
        return ind__reject(in, IND_ERROR_TYPE_MISMATCH, "dtype must be f32, f16, bf16 or f64");
    if (f == IND__QUANTISED_INT4 ? group != 32 && group != 64 && group != 128 : group != 32)
        return ind__reject(in, IND_ERROR_INVALID_ARGUMENT, "group_size is %lld; format \"%s\" takes %s",
                           (long long)group, format->name,
                           f == IND__QUANTISED_INT4 ? "32, 64 or 128" : "no other than 32");
    if (f != IND__QUANTISED_INT4) group = format->elements;
    int64_t bytes = f == IND__QUANTISED_INT4 ? group / 2 : format->bytes;
    if (ind__need_multiple(in, q->rank - 1, bytes)) return in->status;
    memcpy(size, q->size, sizeof q->size);
    size[q->rank - 1] =
        ind_expr_mul(ind_expr_floordiv(q->size[q->rank - 1], ind_int(in->c, bytes)), ind_int(in->c, group));
    if (ind__need_scales(in, f, size[q->rank - 1], group)) return in->status;
    ind__set_result(in, 0, dtype, size, q->rank);
    return IND_OK;
}

/* ---- quantised weights: builder */

ind_tensor ind_dequantise(ind_tensor q, const ind_dequantise_desc *desc) {
    static const ind_dequantise_desc none = {0};
    if (!desc) desc = &none;
    ind_tensor operands[4] = {q, desc->scale, desc->zero_point, desc->tensor_scale};
    ind__attr a[3] = {{.kind = IND__ATTR_STR, .s = desc->format ? desc->format : ""},
                      {.kind = IND__ATTR_DTYPE, .i = desc->dtype ? desc->dtype : IND_F32},
                      ind__attr_int(desc->group_size ? desc->group_size : 32)};
    return ind__call(IND_OP_DEQUANTISE, operands, 4, a, 3);
}

/* ---- quantised weights: lowering */

/* One element: its block begins at byte `block` of the row, and it is element `i` of the block. */
typedef struct graph__packed {
    ind_ops *o;
    graph__lower_ctx *l;
    ind_expr index[IND_MAX_RANK], block, i;
    int rank;
} graph__packed;

static ind_expr graph__packed_int(const graph__packed *p, int64_t v) {
    return ind_int(p->l->context, v);
}

/* (e / by) % mod * times; mod 0: no remainder. */
static ind_expr graph__packed_part(const graph__packed *p, int64_t by, int64_t mod, int64_t times) {
    ind_expr e = ind_expr_floordiv(p->i, graph__packed_int(p, by));
    if (mod) e = ind_expr_mod(e, graph__packed_int(p, mod));
    return ind_expr_mul(e, graph__packed_int(p, times));
}

static bool graph__packed_has(const graph__packed *p, uint32_t operand) {
    return operand < p->l->node->num_operands && p->l->node->operand[operand];
}

static ind_value graph__packed_number(const graph__packed *p, int64_t v) {
    return ind_op_constant_int(p->o, v, IND_I32);
}

/* Byte `first + at` of the block, in [0, 255]. */
static ind_value graph__packed_byte(graph__packed *p, int64_t first, ind_expr at) {
    p->index[p->rank - 1] = ind_expr_add(ind_expr_add(p->block, graph__packed_int(p, first)), at);
    return graph__lower_operand_as(p->o, p->l, 0, p->index, p->rank, IND_I32);
}

/* (v >> shift) & mask */
static ind_value graph__packed_bits(graph__packed *p, ind_value v, ind_expr shift, int64_t mask) {
    v = ind_op_shift_right(p->o, v, ind_op_index(p->o, shift, IND_I32));
    return ind_op_bit_and(p->o, v, graph__packed_number(p, mask));
}

/* a | b << by */
static ind_value graph__packed_or(graph__packed *p, ind_value a, ind_value b, int64_t by) {
    return ind_op_bit_or(p->o, a, ind_op_shift_left(p->o, b, graph__packed_number(p, by)));
}

static ind_value graph__packed_minus(graph__packed *p, ind_value v, int64_t by) {
    return ind_op_sub(p->o, v, graph__packed_number(p, by));
}

/* A byte in [0, 255] as two's complement. */
static ind_value graph__packed_signed(graph__packed *p, ind_value v) {
    return graph__packed_minus(p, ind_op_bit_xor(p->o, v, graph__packed_number(p, 128)), 128);
}

static ind_value graph__packed_float(graph__packed *p, ind_value v) {
    return ind_op_cast(p->o, v, IND_F32);
}

static ind_value graph__packed_real(const graph__packed *p, double v) {
    return ind_op_constant(p->o, v, IND_F32);
}

/* m * 2^(e - bias) for e in [0, 255], |m| * 2^-bias being exact. The factors are at least 1, so each step is exact, or
   infinite if the result is. */
static ind_value graph__packed_scaled(graph__packed *p, ind_value m, ind_value e, int bias) {
    ind_ops *o = p->o;
    ind_value none = graph__packed_number(p, 0), one = graph__packed_real(p, 1);
    ind_value low = ind_op_bit_and(o, e, graph__packed_number(p, 15));
    ind_value power = graph__packed_float(p, ind_op_shift_left(o, graph__packed_number(p, 1), low));
    ind_value v = ind_op_mul(o, ind_op_mul(o, m, graph__packed_real(p, ldexp(1, -bias))), power);
    for (int k = 4; k < 8; k++) {
        ind_value off = ind_op_eq(o, ind_op_bit_and(o, e, graph__packed_number(p, 1 << k)), none);
        ind_value by = ind_op_where(o, off, one, graph__packed_real(p, ldexp(1, k < 7 ? 1 << k : 64)));
        v = ind_op_mul(o, v, by);
        if (k == 7) v = ind_op_mul(o, v, by); /* 2^128 is no f32 */
    }
    return v;
}

/* A 16-bit float at byte `first` of the block, with this many bits of fraction: 10 for f16, 7 for bf16. */
static ind_value graph__packed_float16(graph__packed *p, int64_t first, int fraction) {
    ind_ops *o = p->o;
    ind_expr zero = graph__packed_int(p, 0);
    const int64_t one = (int64_t)1 << fraction, last = fraction == 10 ? 31 : 255;
    ind_value bits = graph__packed_or(p, graph__packed_byte(p, first, zero), graph__packed_byte(p, first + 1, zero), 8);
    ind_value e = graph__packed_bits(p, bits, graph__packed_int(p, fraction), last);
    ind_value f = ind_op_bit_and(o, bits, graph__packed_number(p, one - 1)), none = graph__packed_number(p, 0);
    ind_value m = ind_op_where(o, ind_op_eq(o, e, none), f, ind_op_bit_or(o, f, graph__packed_number(p, one)));
    ind_value at = ind_op_maximum(o, e, graph__packed_number(p, 1)), v;
    m = graph__packed_float(p, m);
    if (fraction == 10) {
        ind_value power = ind_op_shift_left(o, graph__packed_number(p, 1), graph__packed_minus(p, at, 1));
        v = ind_op_mul(o, ind_op_mul(o, m, graph__packed_float(p, power)), graph__packed_real(p, ldexp(1, -24)));
    } else {
        v = graph__packed_scaled(p, m, at, 134);
    }
    ind_value special =
        ind_op_where(o, ind_op_eq(o, f, none), graph__packed_real(p, INFINITY), graph__packed_real(p, NAN));
    v = ind_op_where(o, ind_op_eq(o, e, graph__packed_number(p, last)), special, v);
    ind_value negative = ind_op_ge(o, bits, graph__packed_number(p, 32768));
    return ind_op_where(o, negative, ind_op_neg(o, v), v);
}

/* Four bits of element i: those of `half` elements stand in the low, those of the next `half` in the high halves. */
static ind_value graph__packed_nibble(graph__packed *p, int64_t first, int64_t half) {
    ind_expr at = ind_expr_add(graph__packed_part(p, 2 * half, 0, half), graph__packed_part(p, 1, half, 1));
    return graph__packed_bits(p, graph__packed_byte(p, first, at), graph__packed_part(p, half, 2, 4), 15);
}

/* Two bits of element i; 32 bytes hold 128 elements. */
static ind_value graph__packed_pair(graph__packed *p, int64_t first) {
    ind_expr at = ind_expr_add(graph__packed_part(p, 128, 0, 32), graph__packed_part(p, 1, 32, 1));
    return graph__packed_bits(p, graph__packed_byte(p, first, at), graph__packed_part(p, 32, 4, 2), 3);
}

/* One bit of element i: bit i / 32 of byte i % 32. */
static ind_value graph__packed_bit(graph__packed *p, int64_t first) {
    return graph__packed_bits(p, graph__packed_byte(p, first, graph__packed_part(p, 1, 32, 1)),
                              graph__packed_part(p, 32, 0, 1), 1);
}

static ind_value graph__packed_times(graph__packed *p, ind_value d, ind_value q) {
    return ind_op_mul(p->o, d, graph__packed_float(p, q));
}

/* The 16 values of IQ4_NL, as the bytes of two numbers of 64 bits. */
static ind_value graph__packed_nonlinear(graph__packed *p, ind_value n) {
    static const int8_t value[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    ind_ops *o = p->o;
    ind_value part[2];
    for (int half = 0; half < 2; half++) {
        uint64_t bytes = 0;
        for (int k = 0; k < 8; k++) bytes |= (uint64_t)(uint8_t)value[8 * half + k] << 8 * k;
        part[half] = ind_op_constant_int(o, (int64_t)bytes, IND_I64);
    }
    ind_value low = ind_op_lt(o, n, graph__packed_number(p, 8));
    ind_value shift = ind_op_bit_and(o, n, graph__packed_number(p, 7));
    shift = ind_op_cast(o, ind_op_shift_left(o, shift, graph__packed_number(p, 3)), IND_I64);
    ind_value bytes = ind_op_cast(o, ind_op_shift_right(o, ind_op_where(o, low, part[0], part[1]), shift), IND_I32);
    return graph__packed_signed(p, ind_op_bit_and(o, bytes, graph__packed_number(p, 255)));
}

/* Formats of blocks of 32: a scale, for some a smallest value, for some a fifth bit. */
static ind_value graph__packed_simple(graph__packed *p, ind__quantised f) {
    const bool five = f == IND__QUANTISED_Q5_0 || f == IND__QUANTISED_Q5_1;
    const bool least = f == IND__QUANTISED_Q4_1 || f == IND__QUANTISED_Q5_1;
    ind_value d = graph__packed_float16(p, 0, 10);
    if (f == IND__QUANTISED_Q8_0)
        return graph__packed_times(p, d, graph__packed_signed(p, graph__packed_byte(p, 2, p->i)));
    const int64_t first = least ? 4 : 2;
    ind_value q = graph__packed_nibble(p, first + (five ? 4 : 0), 16);
    if (f == IND__QUANTISED_IQ4_NL) return graph__packed_times(p, d, graph__packed_nonlinear(p, q));
    if (five) {
        ind_value h = graph__packed_byte(p, first, graph__packed_part(p, 8, 0, 1));
        q = graph__packed_or(p, q, graph__packed_bits(p, h, graph__packed_part(p, 1, 8, 1), 1), 4);
    }
    if (least) return ind_op_add(p->o, graph__packed_times(p, d, q), graph__packed_float16(p, 2, 10));
    return graph__packed_times(p, d, graph__packed_minus(p, q, five ? 16 : 8));
}

/* Q4_K and Q5_K: eight scales and eight smallest values of six bits each in 12 bytes. */
static ind_value graph__packed_k45(graph__packed *p, bool five) {
    ind_ops *o = p->o;
    ind_expr j = graph__packed_part(p, 32, 4, 1), two = graph__packed_int(p, 2), four = graph__packed_int(p, 4);
    ind_value s = graph__packed_byte(p, 4, j), m = graph__packed_byte(p, 8, j), both = graph__packed_byte(p, 12, j);
    ind_value half = ind_op_index(o, graph__packed_part(p, 128, 0, 1), IND_I32);
    ind_value low = ind_op_eq(o, half, graph__packed_number(p, 0));
    ind_value mask = graph__packed_number(p, 63), nibble = graph__packed_number(p, 15);
    ind_value s2 = ind_op_bit_or(o, ind_op_bit_and(o, both, nibble), graph__packed_bits(p, s, two, 48));
    ind_value m2 = ind_op_bit_or(o, graph__packed_bits(p, both, four, 15), graph__packed_bits(p, m, two, 48));
    s = ind_op_where(o, low, ind_op_bit_and(o, s, mask), s2);
    m = ind_op_where(o, low, ind_op_bit_and(o, m, mask), m2);
    ind_value q = graph__packed_nibble(p, five ? 48 : 16, 32);
    if (five) q = graph__packed_or(p, q, graph__packed_bit(p, 16), 4);
    ind_value d = graph__packed_times(p, graph__packed_float16(p, 0, 10), s);
    return ind_op_sub(o, graph__packed_times(p, d, q), graph__packed_times(p, graph__packed_float16(p, 2, 10), m));
}

static ind_value graph__packed_k2(graph__packed *p) {
    ind_value s = graph__packed_byte(p, 0, graph__packed_part(p, 16, 0, 1));
    ind_value low = ind_op_bit_and(p->o, s, graph__packed_number(p, 15));
    ind_value high = graph__packed_bits(p, s, graph__packed_int(p, 4), 15);
    ind_value d = graph__packed_times(p, graph__packed_float16(p, 80, 10), low);
    return ind_op_sub(p->o, graph__packed_times(p, d, graph__packed_pair(p, 16)),
                      graph__packed_times(p, graph__packed_float16(p, 82, 10), high));
}

static ind_value graph__packed_k3(graph__packed *p) {
    ind_value low = graph__packed_byte(p, 96, graph__packed_part(p, 16, 8, 1));
    ind_value high = graph__packed_byte(p, 104, graph__packed_part(p, 16, 4, 1));
    low = graph__packed_bits(p, low, graph__packed_part(p, 128, 0, 4), 15);
    high = graph__packed_bits(p, high, graph__packed_part(p, 64, 0, 2), 3);
    ind_value s = graph__packed_minus(p, graph__packed_or(p, low, high, 4), 32);
    ind_value q = graph__packed_minus(p, graph__packed_or(p, graph__packed_pair(p, 32), graph__packed_bit(p, 0), 2), 4);
    return graph__packed_times(p, graph__packed_times(p, graph__packed_float16(p, 108, 10), s), q);
}

static ind_value graph__packed_k6(graph__packed *p) {
    ind_value s = graph__packed_signed(p, graph__packed_byte(p, 192, graph__packed_part(p, 16, 0, 1)));
    ind_value q = graph__packed_or(p, graph__packed_nibble(p, 0, 64), graph__packed_pair(p, 128), 4);
    ind_value d = graph__packed_times(p, graph__packed_float16(p, 208, 10), s);
    return graph__packed_times(p, d, graph__packed_minus(p, q, 32));
}

static ind_value graph__packed_iq4_xs(graph__packed *p) {
    ind_value high = graph__packed_byte(p, 2, graph__packed_part(p, 128, 0, 1));
    ind_value low = graph__packed_byte(p, 4, graph__packed_part(p, 64, 0, 1));
    low = graph__packed_bits(p, low, graph__packed_part(p, 32, 2, 4), 15);
    high = graph__packed_bits(p, high, graph__packed_part(p, 32, 4, 2), 3);
    ind_value s = graph__packed_minus(p, graph__packed_or(p, low, high, 4), 32);
    ind_value d = graph__packed_times(p, graph__packed_float16(p, 0, 10), s);
    return graph__packed_times(p, d, graph__packed_nonlinear(p, graph__packed_nibble(p, 8, 16)));
}

/* e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. Each group of four bits of the constant is twice a value. */
static ind_value graph__packed_e2m1(graph__packed *p, ind_value n) {
    ind_ops *o = p->o;
    ind_value shift = ind_op_bit_and(o, n, graph__packed_number(p, 7));
    shift = ind_op_shift_left(o, shift, graph__packed_number(p, 2));
    ind_value twice = ind_op_shift_right(o, graph__packed_number(p, 0xc8643210), shift);
    twice = ind_op_bit_and(o, twice, graph__packed_number(p, 15));
    ind_value v = ind_op_mul(o, graph__packed_float(p, twice), graph__packed_real(p, 0.5));
    return ind_op_where(o, ind_op_ge(o, n, graph__packed_number(p, 8)), ind_op_neg(o, v), v);
}

/* Formats whose scales are tensors of their own. `group` is the index of the element's scale. *scale and *zero: what it
   is computed from. */
static ind_value graph__packed_separate(graph__packed *p, ind__quantised f, ind_expr group, ind_value *from,
                                        ind_value *zero) {
    ind_ops *o = p->o;
    ind_value n = graph__packed_byte(p, 0, graph__packed_part(p, 2, 0, 1));
    n = graph__packed_bits(p, n, graph__packed_part(p, 1, 2, 4), 15);
    p->index[p->rank - 1] = group;
    ind_dtype type = f == IND__QUANTISED_MXFP4 ? IND_I32 : IND_F32;
    const ind_value s = graph__lower_operand_as(o, p->l, 1, p->index, p->rank, type);
    *from = s;
    if (f == IND__QUANTISED_MXFP4) {
        /* 2^(s - 127), which is exact for s < 255; the same for the whole block. */
        ind_value scale = graph__packed_scaled(p, graph__packed_real(p, 1), s, 127);
        ind_value special = ind_op_eq(o, s, graph__packed_number(p, 255));
        scale = ind_op_where(o, special, graph__packed_real(p, NAN), scale);
        return ind_op_mul(o, graph__packed_e2m1(p, n), scale);
    }
    if (f == IND__QUANTISED_NVFP4) return ind_op_mul(o, graph__packed_e2m1(p, n), s);
    if (!graph__packed_has(p, 2)) {
        n = graph__packed_minus(p, ind_op_bit_xor(o, n, graph__packed_number(p, 8)), 8);
    } else {
        *zero = graph__lower_operand_as(o, p->l, 2, p->index, p->rank, IND_I32);
        n = ind_op_sub(o, n, *zero);
    }
    return graph__packed_times(p, s, n);
}

/* Formats whose blocks have everything. */
static ind_value graph__packed_whole(graph__packed *p, ind__quantised f) {
    switch (f) {
    case IND__QUANTISED_F16: return graph__packed_float16(p, 0, 10);
    case IND__QUANTISED_BF16: return graph__packed_float16(p, 0, 7);
    case IND__QUANTISED_Q2_K: return graph__packed_k2(p);
    case IND__QUANTISED_Q3_K: return graph__packed_k3(p);
    case IND__QUANTISED_Q4_K:
    case IND__QUANTISED_Q5_K: return graph__packed_k45(p, f == IND__QUANTISED_Q5_K);
    case IND__QUANTISED_Q6_K: return graph__packed_k6(p);
    case IND__QUANTISED_IQ4_XS: return graph__packed_iq4_xs(p);
    default: return graph__packed_simple(p, f);
    }
}

static ind_value graph__lower_dequantise(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__quantised f = ind__quantised_by_name(l->node->attr[0].s);
    const ind__quantised_format *format = &ind__quantised_formats[f];
    graph__packed p = {.o = o, .l = l, .rank = rank};
    ind_expr elements = ind_int(l->context, format->elements), k = index[rank - 1];
    for (int d = 0; d < rank; d++) p.index[d] = index[d];
    p.block = ind_expr_mul(ind_expr_floordiv(k, elements), ind_int(l->context, format->bytes));
    p.i = ind_expr_mod(k, elements);
    const int64_t group = f == IND__QUANTISED_INT4 ? l->node->attr[2].i : format->elements;
    ind_value scale = {0}, zero = {0};
    ind_value v = format->scaled
                      ? graph__packed_separate(&p, f, ind_expr_floordiv(k, ind_int(l->context, group)), &scale, &zero)
                      : graph__packed_whole(&p, f);
    ind_value first = graph__packed_byte(&p, 0, graph__packed_int(&p, 0));
    if (!format->scaled) scale = ind_op_index(o, p.i, IND_I64);
    v = ind__op_packed(o, v, first, scale, zero, f, group);
    if (f == IND__QUANTISED_NVFP4 && graph__packed_has(&p, 3))
        v = ind_op_mul(o, v, graph__lower_operand_as(o, l, 3, p.index, 0, IND_F32));
    return graph__lower_cast(o, v, l->compute);
}

/* ---- quantised weights: implementation */

/* Op, shape rule, lowering, element function of a pointwise loop, loop op, loop op on bools. */
#define IND__LOWERED_QUANTISED(X)                                                                                      \
    X(DEQUANTISE, ind__rule_dequantise, graph__lower_pointwise, graph__lower_dequantise, NONE, NONE)
