/* ------------------------------------------------------------------------------------------------ >>record */

static const struct ir__loop_op_row {
    const char *name;
    int arity;
    char cls;
} ir__loop_op_table[IND_NUM_LOOP_OPS] = {
#define X(name, text, arity, cls) {#text, arity, cls},
    IND_LOOP_OPS(X)
#undef X
};

const char *ind__loop_op_name(ind_loop_op op) {
    return (unsigned)op < IND_NUM_LOOP_OPS ? ir__loop_op_table[op].name : "unknown";
}

int ind__loop_op_arity(ind_loop_op op) {
    return (unsigned)op < IND_NUM_LOOP_OPS ? ir__loop_op_table[op].arity : 0;
}

char ind__loop_op_class(ind_loop_op op) {
    return (unsigned)op < IND_NUM_LOOP_OPS ? ir__loop_op_table[op].cls : 0;
}

static const struct ir__reduction_row {
    const char *name;
    int results;
} ir__reduction_table[IND_NUM_REDUCTIONS] = {
#define X(name, text, results) {text, results},
    IND_REDUCTIONS(X)
#undef X
};

const char *ind__reduction_name(ind_reduction r) {
    return (unsigned)r < IND_NUM_REDUCTIONS ? ir__reduction_table[r].name : "unknown";
}

int ind__reduction_results(ind_reduction r) {
    return (unsigned)r < IND_NUM_REDUCTIONS ? ir__reduction_table[r].results : 0;
}

static const struct ir__scan_row {
    const char *name;
    int results;
    bool sorts;
} ir__scan_table[IND_NUM_SCANS] = {
#define X(name, text, results, sorts) {text, results, sorts},
    IND_SCANS(X)
#undef X
};

const char *ind__scan_name(ind_scan s) {
    return (unsigned)s < IND_NUM_SCANS ? ir__scan_table[s].name : "unknown";
}

int ind__scan_results(ind_scan s) {
    return (unsigned)s < IND_NUM_SCANS ? ir__scan_table[s].results : 0;
}

bool ind__scan_sorts(ind_scan s) {
    return (unsigned)s < IND_NUM_SCANS && ir__scan_table[s].sorts;
}

uint32_t ind__body_scan(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_SCAN) return i;
    return 0;
}

uint32_t ind__body_sort(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_SCAN && ind__scan_sorts((ind_scan)b->inst[i].reduction)) return i;
    return 0;
}

static const ind_value ir__no_value = {0};

static ind_value ir__op_fail(ind_ops *o, ind_status status, const char *what, ind_loop_op op) {
    ind__fail(o->context, status, "loop op %s: %s", ind__loop_op_name(op), what);
    return ir__no_value;
}

/* A body in one block with its arrays, for the contents of b. There is a place for the STORE of its result and for the
   offset of each access without an index (ir__realise_storage, ir__flatten_access). */
static ind_body *ir__body_alloc(ind_context *c, const ind_body *b) {
    const uint32_t vars = (uint32_t)(b->rank + b->rrank), insts = b->num_inst + (b->result != 0);
    uint32_t indices = b->num_index;
    if (b->result) indices += b->rank ? (uint32_t)b->rank : 1;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const bool access = b->inst[i].op == IND_LOOP_LOAD || b->inst[i].op == IND_LOOP_STORE;
        indices += access && !b->inst[i].num_index;
    }
    const size_t arrays = insts * sizeof *b->inst + ((size_t)vars + indices) * sizeof *b->var;
    ind_body *copy = (ind_body *)ind__alloc(c, sizeof *copy + arrays);
    if (!copy) return NULL;
    *copy = *b;
    copy->context = c;
    copy->inst = (ind__inst *)(void *)(copy + 1);
    copy->var = (ind_expr *)(void *)(copy->inst + insts);
    copy->index = copy->var + vars;
    copy->cap_inst = insts;
    copy->cap_index = indices;
    if (b->num_inst) memcpy(copy->inst, b->inst, b->num_inst * sizeof *b->inst);
    return copy;
}

void ind__body_free(ind_body *b) {
    if (b) ind__free(b->context, b);
}

/* What a recording needs: the body that grows, and an open addressing hash of its instructions. */
typedef struct ir__record_memory {
    ind_body body; /* first */
    ind_expr var[2 * IND_MAX_RANK];
    uint32_t *table;
    uint32_t cap_table;
} ir__record_memory;

static void ir__record_memory_free(ind_context *c, ir__record_memory *m) {
    if (!m) return;
    ind__free(c, m->body.inst);
    ind__free(c, m->body.index);
    ind__free(c, m->table);
    ind__free(c, m);
}

static ir__record_memory *ir__record_memory_take(ind_context *c) {
    ir__record_memory *m = c->record_memory;
    c->record_memory = NULL;
    if (!m) return (ir__record_memory *)ind__alloc(c, sizeof *m);
    m->body.num_inst = m->body.num_index = m->body.result = 0;
    m->body.call = NULL;
    return m;
}

/* Keeps the memory for the context's next recording. */
static void ir__record_memory_give(ind_context *c, ir__record_memory *m) {
    if (c->record_memory)
        ir__record_memory_free(c, m);
    else
        c->record_memory = m;
}

static ind_value ir__recorder_emit(ind_ops *o, const ind__inst *inst, const ind_expr *index);

static ind_dtype ir__recorder_dtype(ind_ops *o, ind_value v) {
    const ind_body *b = ((ind__recorder *)o)->body;
    return v.id < b->num_inst ? (ind_dtype)b->inst[v.id].dtype : IND_DTYPE_NONE;
}

static ind_expr ir__recorder_indirect(ind_ops *o, ind_value v) {
    const ind_body *b = ((ind__recorder *)o)->body;
    if (!v.id || v.id >= b->num_inst || b->inst[v.id].op != IND_LOOP_INDIRECT) return ir__expr_none(o->context);
    return b->index[b->inst[v.id].index + 1];
}

void ind__record_abort(ind__recorder *r) {
    if (r->body) ir__record_memory_give(r->ops.context, (ir__record_memory *)r->body);
    r->body = NULL;
}

ind_status ind__record_begin(ind__recorder *r, ind_context *c, const ind_expr *ranges, int rank,
                             const ind_expr *rranges, int rrank) {
    memset(r, 0, sizeof *r);
    r->ops.context = c;
    r->ops.emit = ir__recorder_emit;
    r->ops.dtype = ir__recorder_dtype;
    r->ops.indirect_symbol = ir__recorder_indirect;
    ir__record_memory *m = ir__record_memory_take(c);
    if (!m) return ind__failed(c);
    ind_body *b = r->body = &m->body;
    b->context = c;
    b->rank = rank;
    b->rrank = rrank;
    b->inner = 0;
    b->var = m->var;
    bool ok = IND__PUSH(c, ind__inst, b->inst, b->num_inst, b->cap_inst) != NULL;
    for (int i = 0; ok && i < rank + rrank; i++) {
        b->var[i] =
            i < rank ? ind__index_symbol(c, 'i', i, ranges[i]) : ind__index_symbol(c, 'r', i - rank, rranges[i - rank]);
        ok = ind__ok(b->var[i]);
    }
    if (ok) return IND_OK;
    ind__record_abort(r);
    return ind__failed(c);
}

ind_body *ind__record_end(ind__recorder *r) {
    ind_body *b = r->body;
    ind_body *copy = b && ir__drop_dead(b) ? ir__body_alloc(b->context, b) : NULL;
    if (copy) memcpy(copy->var, b->var, (size_t)(b->rank + b->rrank) * sizeof *b->var);
    if (copy && b->num_index) memcpy(copy->index, b->index, b->num_index * sizeof *b->index);
    ind__record_abort(r);
    return copy;
}

static uint64_t ir__inst_hash(const ind__inst *i, const ind_expr *index, uint32_t num_index) {
    uint64_t key[5] = {i->op | (uint64_t)i->dtype << 8 | (uint64_t)i->reduction << 16 | (uint64_t)i->flags << 24 |
                           (uint64_t)i->source << 32,
                       i->arg[0] | (uint64_t)i->arg[1] << 32, i->arg[2] | (uint64_t)i->arg[3] << 32, i->arg[4],
                       (uint64_t)i->imm.i};
    uint64_t h = ind__hash(key, sizeof key, 3);
    for (uint32_t k = 0; k < num_index; k++) h = h * 1099511628211ull ^ index[k].id;
    return h ^ h >> 31;
}

static bool ir__same_inst(const ind_body *b, const ind__inst *x, const ind__inst *y, const ind_expr *index) {
    if (x->op != y->op || x->dtype != y->dtype || x->reduction != y->reduction || x->flags != y->flags ||
        x->source != y->source || memcmp(x->arg, y->arg, sizeof x->arg) || x->imm.i != y->imm.i ||
        x->num_index != y->num_index)
        return false;
    uint32_t compare = x->op == IND_LOOP_INDIRECT ? 1 : x->num_index;
    for (uint32_t k = 0; k < compare; k++)
        if (b->index[x->index + k].id != index[k].id) return false;
    return true;
}

static bool ir__recorder_grow_table(ind__recorder *r) {
    const ind_body *b = r->body;
    ir__record_memory *m = (ir__record_memory *)r->body;
    if (b->num_inst * 2 < r->table_size) return true;
    uint32_t size = r->table_size ? r->table_size * 2 : 64;
    if (size > m->cap_table) {
        uint32_t *table = (uint32_t *)ind__alloc(r->ops.context, size * sizeof *table);
        if (!table) return false;
        ind__free(r->ops.context, m->table);
        m->table = table;
        m->cap_table = size;
    }
    memset(m->table, 0, size * sizeof *m->table);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        uint32_t n = x->op == IND_LOOP_INDIRECT ? 1 : x->num_index;
        uint32_t at = (uint32_t)ir__inst_hash(x, n ? b->index + x->index : NULL, n) & (size - 1);
        while (m->table[at]) at = (at + 1) & (size - 1);
        m->table[at] = i;
    }
    r->table_size = size;
    return true;
}

static ind_value ir__recorder_append(ind__recorder *r, const ind__inst *inst, const ind_expr *index) {
    ind_body *b = r->body;
    ind_context *c = b->context;
    uint32_t first = b->num_index, id = b->num_inst;
    for (uint32_t k = 0; k < inst->num_index; k++) {
        bool symbol = inst->op == IND_LOOP_INDIRECT && k == 1;
        ind_expr e = symbol ? ind__indirect_symbol(c, id, index[0]) : index[k];
        ind_expr *slot = ind__ok(e) ? IND__PUSH(c, ind_expr, b->index, b->num_index, b->cap_index) : NULL;
        if (!slot) return ir__no_value;
        *slot = e;
    }
    ind__inst *at = IND__PUSH(c, ind__inst, b->inst, b->num_inst, b->cap_inst);
    if (!at) return ir__no_value;
    *at = *inst;
    at->index = first;
    return (ind_value){id};
}

static ind_value ir__recorder_emit(ind_ops *o, const ind__inst *inst, const ind_expr *index) {
    ind__recorder *r = (ind__recorder *)o;
    ind_body *b = r->body;
    if (!b) return ir__no_value;
    for (int k = 0; k < IND__MAX_ARGS; k++) {
        if (inst->arg[k] >= b->num_inst)
            return ir__op_fail(o, IND_ERROR_INVALID_ARGUMENT, "an operand is no value of this loop",
                               (ind_loop_op)inst->op);
    }
    ind__inst unmasked;
    if (ir__is_unmasked(b, inst)) inst = ir__without_mask(inst, &unmasked);
    if (inst->op == IND_LOOP_STORE) return ir__recorder_append(r, inst, index);
    const ind_value simpler = ir__simplify(o, b, inst);
    if (simpler.id) return simpler;
    if (!ir__recorder_grow_table(r)) return ir__no_value;
    uint32_t n = inst->op == IND_LOOP_INDIRECT ? 1 : inst->num_index;
    uint32_t *table = ((ir__record_memory *)b)->table;
    uint32_t at = (uint32_t)ir__inst_hash(inst, index, n) & (r->table_size - 1);
    for (; table[at]; at = (at + 1) & (r->table_size - 1))
        if (ir__same_inst(b, &b->inst[table[at]], inst, index)) return (ind_value){table[at]};
    ind_value v = ir__recorder_append(r, inst, index);
    if (v.id) table[at] = v.id;
    return v;
}

/* ---- functions that loop functions call ---- */

ind_context *ind_op_context(ind_ops *o) {
    return o ? o->context : NULL;
}

ind_dtype ind_op_dtype(ind_ops *o, ind_value x) {
    return o && x.id ? o->dtype(o, x) : IND_DTYPE_NONE;
}

int64_t ind__wrap_int(ind_dtype d, int64_t v) {
    switch (d) {
    case IND_BOOL: return v != 0;
    case IND_U8: return (uint8_t)v;
    case IND_I8: return (int8_t)v;
    case IND_I16: return (int16_t)v;
    case IND_I32: return (int32_t)v;
    default: return v;
    }
}

static bool ir__is_compute_dtype(ind_dtype d) {
    return d > IND_DTYPE_NONE && d < IND_NUM_DTYPES && ind_dtype_compute(d) == d;
}

/* C conversion of a float to an integer, but defined everywhere: saturates, NaN is 0 (as the GPU does). */
static int64_t ir__float_to_int(double v) {
    if (v != v) return 0;
    if (v >= 9223372036854775808.0) return INT64_MAX;
    return v < -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}

ind_value ind_op_constant(ind_ops *o, double value, ind_dtype dtype) {
    dtype = ind_dtype_compute(dtype);
    if (!o) return ir__no_value;
    if (!ir__is_compute_dtype(dtype))
        return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "unknown dtype", IND_LOOP_CONSTANT);
    if (!ind_dtype_is_float(dtype))
        return ind_op_constant_int(o, dtype == IND_BOOL ? value != 0 : ir__float_to_int(value), dtype);
    ind__inst i = {.op = IND_LOOP_CONSTANT, .dtype = (uint8_t)dtype};
    i.imm.f = dtype == IND_F32 ? (double)(float)value : value;
    return o->emit(o, &i, NULL);
}

ind_value ind_op_constant_int(ind_ops *o, int64_t value, ind_dtype dtype) {
    if (!o) return ir__no_value;
    if (ind_dtype_is_float(dtype)) return ind_op_constant(o, (double)value, dtype);
    if (!ir__is_compute_dtype(dtype))
        return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "unknown dtype", IND_LOOP_CONSTANT);
    ind__inst i = {.op = IND_LOOP_CONSTANT, .dtype = (uint8_t)dtype};
    i.imm.i = ind__wrap_int(dtype, value);
    return o->emit(o, &i, NULL);
}

ind_value ind_op_index(ind_ops *o, ind_expr e, ind_dtype dtype) {
    int64_t v;
    if (!o || !ind__ok(e)) return ir__no_value;
    if (ind_expr_is_int(e, &v)) return ind_op_constant_int(o, v, dtype);
    ind__inst i = {.op = IND_LOOP_INDEX, .dtype = IND_I64, .num_index = 1};
    return ind_op_cast(o, o->emit(o, &i, &e), dtype);
}

ind_value ind_op_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank) {
    if (!o || !x.id) return ir__no_value;
    if (!o->load_tensor)
        return ir__op_fail(o, IND_ERROR_INVALID_ARGUMENT, "tensors can only be loaded while their graph is built",
                           IND_LOOP_LOAD);
    return o->load_tensor(o, x, index, rank);
}

ind_value ind_op_cast(ind_ops *o, ind_value x, ind_dtype dtype) {
    if (!o || !x.id) return ir__no_value;
    if (dtype <= IND_DTYPE_NONE || dtype >= IND_NUM_DTYPES)
        return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "unknown dtype", IND_LOOP_CAST);
    ind__inst i = {.op = IND_LOOP_CAST, .dtype = (uint8_t)ind_dtype_compute(dtype), .arg = {x.id}};
    ind_value v = o->emit(o, &i, NULL);
    switch (dtype) {
    case IND_F16: return ind__emit1(o, IND_LOOP_ROUND_F16, v);
    case IND_BF16: return ind__emit1(o, IND_LOOP_ROUND_BF16, v);
    case IND_F8E4M3FN: return ind__emit1(o, IND_LOOP_ROUND_F8E4M3FN, v);
    case IND_F8E5M2: return ind__emit1(o, IND_LOOP_ROUND_F8E5M2, v);
    default: return v;
    }
}

static bool ir__op_accepts(ind_loop_op op, ind_dtype d) {
    switch (ind__loop_op_class(op)) {
    case 'f': return ind_dtype_is_float(d);
    case 'l': return d == IND_BOOL;
    case 'i': return ind_dtype_is_integer(d);
    case 'a': return d != IND_BOOL || op == IND_LOOP_MAXIMUM || op == IND_LOOP_MINIMUM;
    default: return true;
    }
}

ind_value ind__emit1(ind_ops *o, ind_loop_op op, ind_value a) {
    if (!o || !a.id) return ir__no_value;
    ind_dtype d = o->dtype(o, a);
    if (!ir__op_accepts(op, d)) return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, ind_dtype_name(d), op);
    ind__inst i = {.op = (uint8_t)op, .dtype = (uint8_t)d, .arg = {a.id}};
    return o->emit(o, &i, NULL);
}

ind_value ind__emit2(ind_ops *o, ind_loop_op op, ind_value a, ind_value b) {
    if (!o || !a.id || !b.id) return ir__no_value;
    ind_dtype d = o->dtype(o, a), e = o->dtype(o, b);
    if (d != e) {
        ind__fail(o->context, IND_ERROR_TYPE_MISMATCH, "loop op %s: one operand is %s, the other %s; cast one of them",
                  ind__loop_op_name(op), ind_dtype_name(d), ind_dtype_name(e));
        return ir__no_value;
    }
    if (!ir__op_accepts(op, d)) return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, ind_dtype_name(d), op);
    bool compare = ind__loop_op_class(op) == 'c';
    ind__inst i = {.op = (uint8_t)op, .dtype = (uint8_t)(compare ? IND_BOOL : d), .arg = {a.id, b.id}};
    return o->emit(o, &i, NULL);
}

#define IR__UNARY(X)                                                                                                   \
    X(neg, NEG)                                                                                                        \
    X(abs, ABS)                                                                                                        \
    X(exp, EXP)                                                                                                        \
    X(log, LOG)                                                                                                        \
    X(sqrt, SQRT)                                                                                                      \
    X(rsqrt, RSQRT)                                                                                                    \
    X(reciprocal, RECIPROCAL)                                                                                          \
    X(tanh, TANH)                                                                                                      \
    X(erf, ERF)                                                                                                        \
    X(sigmoid, SIGMOID)                                                                                                \
    X(sin, SIN)                                                                                                        \
    X(cos, COS)                                                                                                        \
    X(tan, TAN)                                                                                                        \
    X(asin, ASIN)                                                                                                      \
    X(acos, ACOS)                                                                                                      \
    X(atan, ATAN)                                                                                                      \
    X(sinh, SINH)                                                                                                      \
    X(cosh, COSH)                                                                                                      \
    X(asinh, ASINH)                                                                                                    \
    X(acosh, ACOSH)                                                                                                    \
    X(atanh, ATANH)                                                                                                    \
    X(exp2, EXP2)                                                                                                      \
    X(expm1, EXPM1)                                                                                                    \
    X(log2, LOG2)                                                                                                      \
    X(log10, LOG10)                                                                                                    \
    X(log1p, LOG1P)                                                                                                    \
    X(floor, FLOOR)                                                                                                    \
    X(ceil, CEIL)                                                                                                      \
    X(trunc, TRUNC)                                                                                                    \
    X(rint, RINT)                                                                                                      \
    X(erfc, ERFC)                                                                                                      \
    X(lgamma, LGAMMA)                                                                                                  \
    X(erfinv, ERFINV)                                                                                                  \
    X(digamma, DIGAMMA)                                                                                                \
    X(i0e, I0E)                                                                                                        \
    X(i1e, I1E)                                                                                                        \
    X(j0, J0)                                                                                                          \
    X(j1, J1)                                                                                                          \
    X(y0, Y0)                                                                                                          \
    X(y1, Y1)                                                                                                          \
    X(not, NOT)
#define IR__BINARY(X)                                                                                                  \
    X(add, ADD)                                                                                                        \
    X(sub, SUB)                                                                                                        \
    X(mul, MUL)                                                                                                        \
    X(div, DIV)                                                                                                        \
    X(pow, POW)                                                                                                        \
    X(maximum, MAXIMUM)                                                                                                \
    X(minimum, MINIMUM)                                                                                                \
    X(fmod, FMOD)                                                                                                      \
    X(atan2, ATAN2)                                                                                                    \
    X(hypot, HYPOT)                                                                                                    \
    X(copysign, COPYSIGN)                                                                                              \
    X(nextafter, NEXTAFTER)                                                                                            \
    X(zeta, ZETA)                                                                                                      \
    X(igamma, IGAMMA)                                                                                                  \
    X(igammac, IGAMMAC)                                                                                                \
    X(bit_and, BIT_AND)                                                                                                \
    X(bit_or, BIT_OR)                                                                                                  \
    X(bit_xor, BIT_XOR)                                                                                                \
    X(shift_left, SHIFT_LEFT)                                                                                          \
    X(shift_right, SHIFT_RIGHT)                                                                                        \
    X(gcd, GCD)                                                                                                        \
    X(eq, EQ)                                                                                                          \
    X(ne, NE)                                                                                                          \
    X(lt, LT)                                                                                                          \
    X(le, LE)                                                                                                          \
    X(gt, GT)                                                                                                          \
    X(ge, GE)                                                                                                          \
    X(and, AND)                                                                                                        \
    X(or, OR)

#define X(text, name)                                                                                                  \
    ind_value ind_op_##text(ind_ops *o, ind_value a) {                                                                 \
        return ind__emit1(o, IND_LOOP_##name, a);                                                                      \
    }
IR__UNARY(X)
#undef X
#define X(text, name)                                                                                                  \
    ind_value ind_op_##text(ind_ops *o, ind_value a, ind_value b) {                                                    \
        return ind__emit2(o, IND_LOOP_##name, a, b);                                                                   \
    }
IR__BINARY(X)
#undef X

ind_value ind_op_where(ind_ops *o, ind_value condition, ind_value a, ind_value b) {
    if (!o || !condition.id || !a.id || !b.id) return ir__no_value;
    if (o->dtype(o, condition) != IND_BOOL)
        return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "the condition must be bool", IND_LOOP_WHERE);
    if (o->dtype(o, a) != o->dtype(o, b))
        return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "both values must have one type", IND_LOOP_WHERE);
    ind__inst i = {.op = IND_LOOP_WHERE, .dtype = (uint8_t)o->dtype(o, a), .arg = {condition.id, a.id, b.id}};
    return o->emit(o, &i, NULL);
}

ind_value ind_op_philox(ind_ops *o, ind_value key, ind_value stream, ind_value position, int first, int width) {
    if (!o || !key.id || !stream.id || !position.id) return ir__no_value;
    if (width < 1 || width > 63 || first < 0 || first > 127 || first % 64 + width > 64)
        return ir__op_fail(o, IND_ERROR_INVALID_ARGUMENT, "bits outside one half of 128", IND_LOOP_PHILOX);
    const ind_value arg[3] = {key, stream, position};
    for (int k = 0; k < 3; k++)
        if (o->dtype(o, arg[k]) != IND_I64)
            return ir__op_fail(o, IND_ERROR_TYPE_MISMATCH, "the operands must be i64", IND_LOOP_PHILOX);
    ind__inst i = {.op = IND_LOOP_PHILOX, .dtype = IND_I64, .arg = {key.id, stream.id, position.id}};
    i.imm.i = first | width << 8;
    return o->emit(o, &i, NULL);
}

ind_value ind__op_packed(ind_ops *o, ind_value value, ind_value first, ind_value scale, ind_value zero,
                         ind__quantised format, int64_t group) {
    if (!o || !value.id || !first.id) return ir__no_value;
    ind__inst i = {.op = IND_LOOP_PACKED, .dtype = IND_F32, .arg = {value.id, first.id, scale.id, zero.id}};
    i.imm.i = (int64_t)format | group << 8;
    return o->emit(o, &i, NULL);
}
