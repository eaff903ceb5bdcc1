/* ---------------------------------------------------------------------------------------------- >>evaluate */

/* Converts a small float with `digits` mantissa bits and this bias. */
static float ir__small_to_f32(uint8_t x, int digits, int bias) {
    int exponent = (x & 127) >> digits, mantissa = x & ((1 << digits) - 1);
    float v = ldexpf((float)(mantissa + (exponent ? 1 << digits : 0)), (exponent ? exponent : 1) - bias - digits);
    return x & 128 ? -v : v;
}

/* Rounds |f|, below 2^16, to nearest even; an overflowing mantissa carries into the exponent. */
static uint32_t ir__small_from_f32(float f, int digits, int bias) {
    uint32_t u;
    memcpy(&u, &f, 4);
    u &= 0x7fffffff;
    if (u < (uint32_t)(128 - bias) << 23) { /* subnormal: a multiple of the smallest number */
        float steps = ldexpf(fabsf(f), bias - 1 + digits);
        return (uint32_t)nearbyintf(steps);
    }
    uint32_t drop = 23 - (uint32_t)digits;
    return (u - ((uint32_t)(127 - bias) << 23) + (1u << (drop - 1)) - 1 + (u >> drop & 1)) >> drop;
}

float ind__f8e4m3fn_to_f32(uint8_t x) {
    return (x & 127) == 127 ? NAN : ir__small_to_f32(x, 3, 7);
}

float ind__f8e5m2_to_f32(uint8_t x) {
    if ((x & 127) < 124) return ir__small_to_f32(x, 2, 15);
    return x & 3 ? NAN : x & 128 ? -INFINITY : INFINITY;
}

uint8_t ind__f32_to_f8e4m3fn(float f) {
    uint32_t sign = signbit(f) ? 128 : 0;
    return (uint8_t)(sign | (fabsf(f) <= 464 ? ir__small_from_f32(f, 3, 7) : 127));
}

uint8_t ind__f32_to_f8e5m2(float f) {
    uint32_t sign = signbit(f) ? 128 : 0;
    return (uint8_t)(sign | (f != f ? 127 : fabsf(f) < 61440 ? ir__small_from_f32(f, 2, 15) : 124));
}

float ind__bf16_to_f32(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

uint16_t ind__f32_to_bf16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    if (f != f) return 0x7fff; /* as cvt.rn.bf16.f32 */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float ind__f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 1023, u;
    if (exponent == 31)
        u = sign | 0x7f800000 | mantissa << 13;
    else if (exponent)
        u = sign | (exponent + 112) << 23 | mantissa << 13;
    else {
        float subnormal = (float)mantissa * 5.9604644775390625e-8f; /* 2^-24 */
        memcpy(&u, &subnormal, 4);
        u |= sign;
    }
    float f;
    memcpy(&f, &u, 4);
    return f;
}

uint16_t ind__f32_to_f16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    u &= 0x7fffffff;
    if (u > 0x7f800000) return 0x7fff;         /* as cvt.rn.f16.f32 */
    if (u >= 0x477ff000) return sign | 0x7c00; /* 65520 and more rounds to infinity */
    if (u < 0x38800000) {                      /* below 2^-14: subnormal, in units of 2^-24 */
        float magnitude;
        memcpy(&magnitude, &u, 4);
        return sign | (uint16_t)lrintf(magnitude * 16777216.0f);
    }
    u += 0xfff + (u >> 13 & 1);
    return sign | (uint16_t)((u - 0x38000000) >> 13);
}

static ind_status ir__eval_alloc(ind__eval *e) {
    const ind_body *b = e->body;
    ind_context *c = b->context;
    uint32_t slots = e->program.num_inputs + e->program.num_ops;
    e->slots = (int64_t(*)[IND__LANES])ind__alloc(c, slots * sizeof *e->slots);
    e->varying = (uint8_t *)ind__alloc(c, slots);
    e->stamp = (uint32_t *)ind__alloc(c, (e->program.num_ops + 1) * sizeof *e->stamp);
    e->value = (ind__lanes *)ind__alloc(c, b->num_inst * sizeof *e->value);
    return e->slots && e->varying && e->stamp && e->value ? IND_OK : ind__failed(c);
}

/* The inputs of the index program: sizes, loop variables, then one per INDIRECT. */
static ind_status ir__eval_inputs(ind__eval *e, ind_context *c, const ind_expr *size_symbols, uint32_t num_sizes) {
    const ind_body *b = e->body;
    uint32_t vars = (uint32_t)(b->rank + b->rrank), n = num_sizes + vars, indirect = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) indirect += b->inst[i].op == IND_LOOP_INDIRECT;
    ind_expr *input = (ind_expr *)ind__alloc(c, (n + indirect + 1) * sizeof *input);
    e->indirect_input = (uint32_t *)ind__alloc(c, b->num_inst * sizeof *e->indirect_input);
    ind_status status = input && e->indirect_input ? IND_OK : ind__failed(c);
    if (!status) {
        for (uint32_t i = 0; i < num_sizes; i++) input[i] = size_symbols[i];
        for (uint32_t i = 0; i < vars; i++) input[num_sizes + i] = b->var[i];
        for (uint32_t i = 1; i < b->num_inst; i++) {
            if (b->inst[i].op != IND_LOOP_INDIRECT) continue;
            e->indirect_input[i] = n;
            input[n++] = b->index[b->inst[i].index + 1];
        }
        status = ind__program_init(&e->program, c, input, n);
    }
    ind__free(c, input);
    return status;
}

/* Marks the program ops that slot depends on. */
static void ir__mark_cone(const ind__program *p, uint32_t slot, uint8_t *needed) {
    if (slot < p->num_inputs) return;
    needed[slot - p->num_inputs] = 1;
    for (uint32_t i = slot - p->num_inputs + 1; i-- > 0;) {
        const ind__program_op *op = &p->op[i];
        if (!needed[i] || op->kind == IND_EXPR_INT) continue;
        uint32_t arg[3] = {op->a, op->b, op->c};
        int n = op->kind == IND_EXPR_NOT ? 1 : op->kind == IND_EXPR_WHERE ? 3 : 2;
        for (int k = 0; k < n; k++)
            if (arg[k] >= p->num_inputs) needed[arg[k] - p->num_inputs] = 1;
    }
}

/* Compiles every index expression and lists the ops that each depends on. */
static ind_status ir__eval_compile(ind__eval *e) {
    const ind_body *b = e->body;
    ind_context *c = b->context;
    e->index_slot = (uint32_t *)ind__alloc(c, (b->num_index + 1) * sizeof *e->index_slot);
    e->cone_begin = (uint32_t *)ind__alloc(c, (b->num_index + 1) * sizeof *e->cone_begin);
    if (!e->index_slot || !e->cone_begin) return ind__failed(c);
    for (uint32_t k = 0; k < b->num_index; k++) {
        e->index_slot[k] = ind__program_add(&e->program, b->index[k]);
        if (e->index_slot[k] == UINT32_MAX) return ind__failed(c);
    }
    uint8_t *needed = (uint8_t *)ind__alloc(c, e->program.num_ops + 1);
    uint32_t num = 0, cap = 0;
    bool ok = needed != NULL;
    for (uint32_t k = 0; ok && k < b->num_index; k++) {
        e->cone_begin[k] = num;
        memset(needed, 0, e->program.num_ops + 1);
        ir__mark_cone(&e->program, e->index_slot[k], needed);
        for (uint32_t i = 0; ok && i < e->program.num_ops; i++) {
            if (!needed[i]) continue;
            uint32_t *at = IND__PUSH(c, uint32_t, e->cone, num, cap);
            if (at) *at = i;
            ok = at != NULL;
        }
    }
    if (ok) e->cone_begin[b->num_index] = num;
    ind__free(c, needed);
    return ok ? IND_OK : ind__failed(c);
}

ind_status ind__eval_compile(ind__eval *e, ind_context *c, const ind_body *body, const ind_expr *size_symbols,
                             uint32_t num_sizes, uint32_t num_buffers) {
    memset(e, 0, sizeof *e);
    e->body = body;
    e->num_buffers = num_buffers;
    e->num_sizes = num_sizes;
    ind_status status = ir__eval_inputs(e, c, size_symbols, num_sizes);
    if (!status) status = ir__eval_compile(e);
    ind__program_close(&e->program);
    e->epoch = 1;
    if (status) ind__eval_free(e);
    return status;
}

ind_status ind__eval_init(ind__eval *e, ind_context *c, const ind_body *body, const ind_expr *size_symbols,
                          const int64_t *size_values, uint32_t num_sizes, const ind__eval_buffer *buffers,
                          uint32_t num_buffers) {
    ind_status status = ind__eval_compile(e, c, body, size_symbols, num_sizes, num_buffers);
    if (!status && (status = ir__eval_alloc(e))) ind__eval_free(e);
    e->buffer = buffers;
    for (uint32_t i = 0; i < num_sizes && !status; i++)
        for (int l = 0; l < IND__LANES; l++) e->slots[i][l] = size_values[i];
    return status;
}

void ind__eval_free(ind__eval *e) {
    if (!e->body) return;
    ind_context *c = e->body->context;
    ind__program_free(&e->program);
    ind__free(c, e->index_slot);
    ind__free(c, e->cone);
    ind__free(c, e->cone_begin);
    ind__free(c, e->stamp);
    ind__free(c, e->indirect_input);
    ind__free(c, e->slots);
    ind__free(c, e->varying);
    ind__free(c, e->value);
    memset(e, 0, sizeof *e);
}

IND__VECTORS_BEGIN
void ind__eval_set_var(ind__eval *e, int var, int64_t value, int64_t step) {
    uint32_t slot = e->num_sizes + (uint32_t)var;
    e->varying[slot] = step != 0;
    int lanes = step ? IND__LANES : 1;
    for (int l = 0; l < lanes; l++) e->slots[slot][l] = value + step * l;
    e->epoch++;
}

void ind__eval_set_var_lanes(ind__eval *e, int var, const int64_t *values, int lanes) {
    uint32_t slot = e->num_sizes + (uint32_t)var;
    e->varying[slot] = 1;
    memcpy(e->slots[slot], values, (size_t)lanes * sizeof *values);
    e->epoch++;
}

/* Wraps around instead of failing: the launch has checked the sizes, and every access is checked afterwards. */
IND__ALWAYS_INLINE int64_t ir__index_op(uint8_t kind, int64_t a, int64_t b, int64_t c) {
    switch (kind) {
    case IND_EXPR_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case IND_EXPR_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case IND_EXPR_FLOORDIV: return b && !(b == -1 && a == INT64_MIN) ? ir__floor_div(a, b) : 0;
    case IND_EXPR_MOD: return b ? ir__floor_mod(a, b) : 0;
    case IND_EXPR_MIN: return a < b ? a : b;
    case IND_EXPR_MAX: return a > b ? a : b;
    case IND_EXPR_EQ: return a == b;
    case IND_EXPR_NE: return a != b;
    case IND_EXPR_LT: return a < b;
    case IND_EXPR_LE: return a <= b;
    case IND_EXPR_AND: return a && b;
    case IND_EXPR_OR: return a || b;
    case IND_EXPR_NOT: return !a;
    default: return a ? b : c;
    }
}

/* Operations that have a loop over the lanes each. */
#define IND__INDEX_LANE_OPS(X)                                                                                         \
    X(IND_EXPR_ADD)                                                                                                    \
    X(IND_EXPR_MUL)                                                                                                    \
    X(IND_EXPR_MIN)                                                                                                    \
    X(IND_EXPR_MAX)                                                                                                    \
    X(IND_EXPR_EQ)                                                                                                     \
    X(IND_EXPR_NE)                                                                                                     \
    X(IND_EXPR_LT)                                                                                                     \
    X(IND_EXPR_LE)                                                                                                     \
    X(IND_EXPR_AND)                                                                                                    \
    X(IND_EXPR_OR)

/* Quotients or remainders of a divisor that all lanes share. */
static void ir__divide_lanes(bool remainder, int64_t *out, const int64_t *a, int64_t by, int lanes) {
    const bool power = by > 0 && !(by & (by - 1)), narrow = by > 0 && by <= UINT32_MAX;
    int shift = 0;
    while (power && by >> shift > 1) shift++;
    for (int l = 0; l < lanes && power; l++)
        out[l] = remainder ? a[l] & (by - 1) : a[l] < 0 ? ~(~a[l] >> shift) : a[l] >> shift;
    for (int l = 0; l < lanes && !power; l++) {
        if (narrow && (uint64_t)a[l] <= UINT32_MAX) /* CPUs divide 32 bits in less time */
            out[l] = remainder ? (uint32_t)a[l] % (uint32_t)by : (uint32_t)a[l] / (uint32_t)by;
        else
            out[l] = ir__index_op(remainder ? IND_EXPR_MOD : IND_EXPR_FLOORDIV, a[l], by, 0);
    }
}

/* The argument in all lanes: its slot, or `copy` filled with its single value. */
static const int64_t *ir__index_lanes(const ind__eval *e, uint32_t slot, int64_t *copy, int lanes) {
    const int64_t value = e->slots[slot][0];
    if (e->varying[slot]) return e->slots[slot];
    for (int l = 0; l < lanes; l++) copy[l] = value;
    return copy;
}

static void ir__eval_program_op(ind__eval *e, uint32_t i, int lanes) {
    const ind__program *p = &e->program;
    const ind__program_op *op = &p->op[i];
    uint32_t slot = p->num_inputs + i;
    int64_t *out = e->slots[slot];
    if (op->kind == IND_EXPR_INT) {
        out[0] = op->imm;
        e->varying[slot] = 0;
        return;
    }
    int args = op->kind == IND_EXPR_NOT ? 1 : op->kind == IND_EXPR_WHERE ? 3 : 2;
    uint32_t arg[3] = {op->a, args > 1 ? op->b : op->a, args > 2 ? op->c : op->a};
    const bool varies = e->varying[arg[0]] || e->varying[arg[1]] || e->varying[arg[2]];
    const int64_t *x = e->slots[arg[0]], *y = e->slots[arg[1]], *z = e->slots[arg[2]];
    const bool divides = op->kind == IND_EXPR_FLOORDIV || op->kind == IND_EXPR_MOD;
    int64_t copy[3][IND__LANES];
    e->varying[slot] = varies;
    if (!varies) {
        out[0] = ir__index_op(op->kind, x[0], y[0], z[0]);
        return;
    }
    if (divides && !e->varying[arg[1]]) {
        ir__divide_lanes(op->kind == IND_EXPR_MOD, out, x, y[0], lanes);
        return;
    }
    x = ir__index_lanes(e, arg[0], copy[0], lanes), y = ir__index_lanes(e, arg[1], copy[1], lanes);
    if (args > 2) z = ir__index_lanes(e, arg[2], copy[2], lanes);
    switch (op->kind) {
#define X(kind)                                                                                                        \
    case kind:                                                                                                         \
        for (int l = 0; l < lanes; l++) out[l] = ir__index_op(kind, x[l], y[l], 0);                                    \
        return;
        IND__INDEX_LANE_OPS(X)
    default:
        for (int l = 0; l < lanes; l++) out[l] = ir__index_op(op->kind, x[l], y[l], args > 2 ? z[l] : 0);
#undef X
    }
}

/* Values of body->index[k]; *varying: one value per lane, else only the first is valid. */
static const int64_t *ir__eval_index(ind__eval *e, uint32_t k, int lanes, bool *varying) {
    for (uint32_t i = e->cone_begin[k]; i < e->cone_begin[k + 1]; i++) {
        uint32_t op = e->cone[i];
        if (e->stamp[op] == e->epoch) continue;
        ir__eval_program_op(e, op, lanes);
        e->stamp[op] = e->epoch;
    }
    *varying = e->varying[e->index_slot[k]];
    return e->slots[e->index_slot[k]];
}

int64_t ind__eval_index(ind__eval *e, uint32_t index) {
    bool varying;
    return ir__eval_index(e, index, 1, &varying)[0];
}

static void ir__load_lane(const ind__eval_buffer *m, int64_t at, ind__lanes *v, int l) {
    switch (m->dtype) {
    case IND_BOOL: v->i[l] = ((const uint8_t *)m->data)[at] != 0; break;
    case IND_U8: v->i[l] = ((const uint8_t *)m->data)[at]; break;
    case IND_I8: v->i[l] = ((const int8_t *)m->data)[at]; break;
    case IND_I16: v->i[l] = ((const int16_t *)m->data)[at]; break;
    case IND_I32: v->i[l] = ((const int32_t *)m->data)[at]; break;
    case IND_I64: v->i[l] = ((const int64_t *)m->data)[at]; break;
    case IND_F16: v->f[l] = ind__f16_to_f32(((const uint16_t *)m->data)[at]); break;
    case IND_BF16: v->f[l] = ind__bf16_to_f32(((const uint16_t *)m->data)[at]); break;
    case IND_F8E4M3FN: v->f[l] = ind__f8e4m3fn_to_f32(((const uint8_t *)m->data)[at]); break;
    case IND_F8E5M2: v->f[l] = ind__f8e5m2_to_f32(((const uint8_t *)m->data)[at]); break;
    case IND_F32: v->f[l] = ((const float *)m->data)[at]; break;
    default: v->d[l] = ((const double *)m->data)[at];
    }
}

static void ir__store_lane(const ind__eval_buffer *m, int64_t at, const ind__lanes *v, int l) {
    switch (m->dtype) {
    case IND_BOOL:
    case IND_U8: ((uint8_t *)m->data)[at] = (uint8_t)v->i[l]; break;
    case IND_I8: ((int8_t *)m->data)[at] = (int8_t)v->i[l]; break;
    case IND_I16: ((int16_t *)m->data)[at] = (int16_t)v->i[l]; break;
    case IND_I32: ((int32_t *)m->data)[at] = (int32_t)v->i[l]; break;
    case IND_I64: ((int64_t *)m->data)[at] = v->i[l]; break;
    case IND_F16: ((uint16_t *)m->data)[at] = ind__f32_to_f16(v->f[l]); break;
    case IND_BF16: ((uint16_t *)m->data)[at] = ind__f32_to_bf16(v->f[l]); break;
    case IND_F8E4M3FN: ((uint8_t *)m->data)[at] = ind__f32_to_f8e4m3fn(v->f[l]); break;
    case IND_F8E5M2: ((uint8_t *)m->data)[at] = ind__f32_to_f8e5m2(v->f[l]); break;
    case IND_F32: ((float *)m->data)[at] = v->f[l]; break;
    default: ((double *)m->data)[at] = v->d[l];
    }
}

int ind__element_order(const ind__eval_buffer *m, int64_t a, int64_t b) {
    ind__lanes v;
    ir__load_lane(m, a, &v, 0);
    ir__load_lane(m, b, &v, 1);
    ind_dtype d = ind_dtype_compute(m->dtype);
    if (!ind_dtype_is_float(d)) return (v.i[0] > v.i[1]) - (v.i[0] < v.i[1]);
    double x = d == IND_F32 ? (double)v.f[0] : v.d[0], y = d == IND_F32 ? (double)v.f[1] : v.d[1];
    return x != x || y != y ? (x != x) - (y != y) : (x > y) - (x < y);
}

static bool ir__indices_inside(const int64_t *at, int n, int64_t numel) {
    int64_t bad = 0;
    for (int l = 0; l < n; l++) bad |= at[l] | (numel - 1 - at[l]);
    return bad >= 0;
}

/* True if the lanes have consecutive elements. */
static bool ir__is_run(const int64_t *at, int n) {
    int64_t other = 0;
    for (int l = 0; l < n; l++) other |= at[l] ^ (at[0] + l);
    return !other;
}

static void ir__zero_lane(ind__lanes *v, ind_dtype d, int l) {
    if (d == IND_F32)
        v->f[l] = 0;
    else
        v->i[l] = 0; /* also the zero of f64 */
}

void ind__eval_spread(ind__lanes *v, ind_dtype d, int lanes) {
    const float f = v->f[0];
    const int64_t i = v->i[0]; /* also the bits of f64 */
    if (d == IND_F32)
        for (int l = 1; l < lanes; l++) v->f[l] = f;
    else
        for (int l = 1; l < lanes; l++) v->i[l] = i;
}

static void ir__eval_load(ind__eval *e, const ind__inst *i, ind__lanes *v, int lanes) {
    const ind__eval_buffer *m = &e->buffer[i->source];
    bool varying;
    const int64_t *at = ir__eval_index(e, i->index, lanes, &varying);
    const int64_t *mask = i->arg[0] ? e->value[i->arg[0]].i : NULL;
    ind_dtype d = (ind_dtype)i->dtype;
    if (mask) {
        for (int l = 0; l < lanes; l++) {
            const int64_t k = at[varying ? l : 0];
            const bool inside = k >= 0 && k < m->numel, use = mask[l] && inside;
            if (mask[l] && !inside) e->bad_access = true;
            if (m->dtype == IND_F32)
                v->f[l] = use ? ((const float *)m->data)[k] : 0;
            else if (use)
                ir__load_lane(m, k, v, l);
            else
                ir__zero_lane(v, d, l);
        }
        return;
    }
    if (!ir__indices_inside(at, varying ? lanes : 1, m->numel)) {
        e->bad_access = true;
        for (int l = 0; l < lanes; l++) ir__zero_lane(v, d, l);
    } else if (!varying) {
        ir__load_lane(m, at[0], v, 0);
        ind__eval_spread(v, d, lanes);
    } else if (m->dtype == IND_F32 && ir__is_run(at, lanes)) {
        memcpy(v->f, (const float *)m->data + at[0], (size_t)lanes * sizeof *v->f);
    } else if (m->dtype == IND_F32) {
        for (int l = 0; l < lanes; l++) v->f[l] = ((const float *)m->data)[at[l]];
    } else {
        for (int l = 0; l < lanes; l++) ir__load_lane(m, at[l], v, l);
    }
}

IND__ALWAYS_INLINE int64_t ir__int_op(uint8_t op, int64_t x, int64_t y);

/* Combines the value of lane l with the stored element; sums of 16-bit floats are computed in f32 and rounded. */
static void ir__combine_lane(const ind__eval_buffer *m, int64_t at, const ind__inst *i, const ind__lanes *v, int l) {
    static const uint8_t op[IND_NUM_REDUCTIONS] = {[IND_REDUCE_SUM] = IND_LOOP_ADD,
                                                   [IND_REDUCE_PROD] = IND_LOOP_MUL,
                                                   [IND_REDUCE_MAX] = IND_LOOP_MAXIMUM,
                                                   [IND_REDUCE_MIN] = IND_LOOP_MINIMUM};
    const uint8_t how = op[i->reduction];
    ind__lanes old;
    ir__load_lane(m, at, &old, 0);
    if (i->dtype == IND_F32) {
        float x = old.f[0], y = v->f[l];
        bool first = x != x || (how == IND_LOOP_MAXIMUM ? x > y : x < y);
        old.f[0] = how == IND_LOOP_ADD ? x + y : how == IND_LOOP_MUL ? x * y : first ? x : y;
    } else if (i->dtype == IND_F64) {
        double x = old.d[0], y = v->d[l];
        bool first = x != x || (how == IND_LOOP_MAXIMUM ? x > y : x < y);
        old.d[0] = how == IND_LOOP_ADD ? x + y : how == IND_LOOP_MUL ? x * y : first ? x : y;
    } else {
        old.i[0] = ind__wrap_int((ind_dtype)i->dtype, ir__int_op(how, old.i[0], v->i[l]));
    }
    ir__store_lane(m, at, &old, 0);
}

/* A store with a mask or one that combines: lane by lane, as several lanes may store the same element. */
static void ir__eval_scatter(ind__eval *e, const ind__inst *i, const int64_t *at, bool varying, int lanes) {
    const ind__eval_buffer *m = &e->buffer[i->source];
    const ind__lanes *v = &e->value[i->arg[0]];
    const int64_t *mask = i->arg[1] ? e->value[i->arg[1]].i : NULL;
    for (int l = 0; l < lanes; l++) {
        int64_t k = at[varying ? l : 0];
        if (mask && !mask[l]) continue;
        if (k < 0 || k >= m->numel)
            e->bad_access = true;
        else if (i->reduction)
            ir__combine_lane(m, k, i, v, l);
        else
            ir__store_lane(m, k, v, l);
    }
}

static void ir__eval_store(ind__eval *e, const ind__inst *i, int lanes) {
    const ind__eval_buffer *m = &e->buffer[i->source];
    const ind__lanes *v = &e->value[i->arg[0]];
    bool varying;
    const int64_t *at = ir__eval_index(e, i->index, lanes, &varying);
    if (i->arg[1] || i->reduction) {
        ir__eval_scatter(e, i, at, varying, lanes);
        return;
    }
    if (!ir__indices_inside(at, varying ? lanes : 1, m->numel)) {
        e->bad_access = true;
        return;
    }
    if (m->dtype == IND_F32 && varying && ir__is_run(at, lanes))
        memcpy((float *)m->data + at[0], v->f, (size_t)lanes * sizeof *v->f);
    else
        for (int l = 0; l < lanes; l++) ir__store_lane(m, at[varying ? l : 0], v, l);
}

static void ir__eval_indirect(ind__eval *e, uint32_t n, const ind__inst *i, int lanes) {
    bool varying;
    const int64_t *extent = ir__eval_index(e, i->index, lanes, &varying), *x = e->value[i->arg[0]].i;
    int64_t *out = e->slots[e->indirect_input[n]];
    e->varying[e->indirect_input[n]] = 1;
    for (int l = 0; l < lanes; l++) {
        int64_t size = extent[varying ? l : 0], v = x[l];
        if ((i->flags & IND__INST_WRAP) && v < 0) v += size;
        if (v < 0 || v >= size) {
            if (!e->bad_index.set) {
                e->bad_index.set = true;
                e->bad_index.inst = n;
                e->bad_index.value = x[l];
                e->bad_index.size = size;
            }
            v = 0;
        }
        out[l] = v;
        e->value[n].i[l] = v;
    }
    e->epoch++; /* recomputes the ops that depend on it */
}

static void ir__eval_index_value(ind__eval *e, const ind__inst *i, ind__lanes *v, int lanes) {
    bool varying;
    const int64_t *at = ir__eval_index(e, i->index, lanes, &varying);
    for (int l = 0; l < lanes; l++) v->i[l] = at[varying ? l : 0];
}

static void ir__eval_constant(const ind__inst *i, ind__lanes *v, int lanes) {
    const double f = i->imm.f;
    const int64_t n = i->imm.i;
    if (i->dtype == IND_F32)
        for (int l = 0; l < lanes; l++) v->f[l] = (float)f;
    else if (i->dtype == IND_F64)
        for (int l = 0; l < lanes; l++) v->d[l] = f;
    else
        for (int l = 0; l < lanes; l++) v->i[l] = n;
}

static void ir__eval_cast(const ind__inst *i, ind_dtype from, const ind__lanes *x, ind__lanes *v, int lanes) {
    ind_dtype to = (ind_dtype)i->dtype;
    for (int l = 0; l < lanes; l++) {
        double f = from == IND_F32 ? x->f[l] : from == IND_F64 ? x->d[l] : 0;
        bool float_from = ind_dtype_is_float(from);
        if (to == IND_F32)
            v->f[l] = float_from ? (float)f : (float)x->i[l];
        else if (to == IND_F64)
            v->d[l] = float_from ? f : (double)x->i[l];
        else if (to == IND_BOOL)
            v->i[l] = float_from ? f != 0 : x->i[l] != 0;
        else
            v->i[l] = ind__wrap_int(to, float_from ? ir__float_to_int(f) : x->i[l]);
    }
}
IND__VECTORS_END
