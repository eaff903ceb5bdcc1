/* ----------------------------------------------------------------------------------------------- >>simplify */

static bool ir__is_constant(const ind__inst *x) {
    return x->op == IND_LOOP_CONSTANT && !ind_dtype_is_float((ind_dtype)x->dtype);
}

/* Identities that cost nothing to detect and hold for every value, including NaN. 0: none applies. */
static uint32_t ir__trivial(const ind_body *b, const ind__inst *i) {
    const ind__inst *x = &b->inst[i->arg[0]], *y = &b->inst[i->arg[1]], *z = &b->inst[i->arg[2]];
    bool one = y->op == IND_LOOP_CONSTANT && (ind_dtype_is_float((ind_dtype)y->dtype) ? y->imm.f == 1 : y->imm.i == 1);
    switch (i->op) {
    case IND_LOOP_CAST: return x->dtype == i->dtype ? i->arg[0] : 0;
    case IND_LOOP_MUL:
    case IND_LOOP_DIV: return one && i->dtype != IND_BOOL ? i->arg[0] : 0;
    case IND_LOOP_ROUND_F16:
    case IND_LOOP_ROUND_F8E4M3FN:
    case IND_LOOP_ROUND_F8E5M2:
    case IND_LOOP_ROUND_BF16: return x->op == i->op ? i->arg[0] : 0;
    case IND_LOOP_WHERE:
        if (i->arg[1] == i->arg[2]) return i->arg[1];
        if (x->op == IND_LOOP_CONSTANT) return i->arg[x->imm.i ? 1 : 2];
        return i->dtype == IND_BOOL && ir__is_constant(y) && y->imm.i && ir__is_constant(z) && !z->imm.i ? i->arg[0]
                                                                                                         : 0;
    case IND_LOOP_AND:
    case IND_LOOP_OR:
        if (i->arg[0] == i->arg[1]) return i->arg[0];
        if (ir__is_constant(x)) return (x->imm.i != 0) == (i->op == IND_LOOP_AND) ? i->arg[1] : i->arg[0];
        if (ir__is_constant(y)) return (y->imm.i != 0) == (i->op == IND_LOOP_AND) ? i->arg[0] : i->arg[1];
        return 0;
    case IND_LOOP_NOT: return x->op == IND_LOOP_NOT ? x->arg[0] : 0;
    default: return 0;
    }
}

#define IR__MAX_TERMS   16                 /* instructions of an index that are looked at */
#define IR__MAX_INTEGER ((int64_t)1 << 31) /* of a constant in it: sums of these and of indices do not overflow */

/* True if the type has every value of the expression, which is a sum of indices and constants. */
static bool ir__fits(ind_dtype type, ind_expr e) {
    if (type == IND_I64) return true;
    const int64_t half = (int64_t)1 << (8 * ind_dtype_bytes(type) - 1);
    const int64_t least = type == IND_U8 ? 0 : -half, most = type == IND_U8 ? 2 * half : half;
    return ind_known_le(ind_int(e.context, least), e) && ind_known_lt(e, ind_int(e.context, most));
}

static ind_expr ir__as_index(const ind_body *b, uint32_t id, int *terms);

/* The sum, difference or extreme of two values; not set: another op. */
static ind_expr ir__as_index2(const ind_body *b, const ind__inst *x, int *terms) {
    const ind_expr none = ir__expr_none(b->context);
    if (x->op != IND_LOOP_ADD && x->op != IND_LOOP_SUB && x->op != IND_LOOP_MINIMUM && x->op != IND_LOOP_MAXIMUM)
        return none;
    const ind_expr lhs = ir__as_index(b, x->arg[0], terms);
    const ind_expr rhs = ind__ok(lhs) ? ir__as_index(b, x->arg[1], terms) : none;
    if (!ind__ok(rhs)) return none;
    if (x->op == IND_LOOP_MINIMUM) return ind_expr_min(lhs, rhs);
    if (x->op == IND_LOOP_MAXIMUM) return ind_expr_max(lhs, rhs);
    return x->op == IND_LOOP_ADD ? ind_expr_add(lhs, rhs) : ind_expr_sub(lhs, rhs);
}

/* Returns the integer as an expression of loop indices and sizes; invalid: it is none, or an op may wrap around.
   *terms: what it may still look at. */
static ind_expr ir__as_index(const ind_body *b, uint32_t id, int *terms) {
    const ind__inst *x = &b->inst[id];
    const ind_dtype type = (ind_dtype)x->dtype;
    const ind_expr none = ir__expr_none(b->context);
    ind_expr e = none;
    if ((*terms)-- <= 0 || !ind_dtype_is_integer(type)) return none;
    if (x->op == IND_LOOP_CONSTANT && x->imm.i >= -IR__MAX_INTEGER && x->imm.i <= IR__MAX_INTEGER)
        return ind_int(b->context, x->imm.i);
    if (x->op == IND_LOOP_INDEX)
        e = b->index[x->index];
    else if (x->op == IND_LOOP_CAST)
        e = ir__as_index(b, x->arg[0], terms);
    else
        e = ir__as_index2(b, x, terms);
    return ind__ok(e) && ir__fits(type, e) ? e : none;
}

/* Returns 1 if the comparison a < b (or a <= b) holds at all points, 0 if at none, else -1. */
static int ir__always_less(ind_expr a, ind_expr b, bool or_equal) {
    if (or_equal ? ind_known_le(a, b) : ind_known_lt(a, b)) return 1;
    return (or_equal ? ind_known_lt(b, a) : ind_known_le(b, a)) ? 0 : -1;
}

static int ir__always_equal(ind_expr a, ind_expr b) {
    if (ind_known_eq(a, b)) return 1;
    return ind_known_lt(a, b) || ind_known_lt(b, a) ? 0 : -1;
}

/* The comparison of a value with itself. NaN is not equal to itself, and not less. */
static int ir__compare_same(const ind_body *b, const ind__inst *i) {
    if (i->op == IND_LOOP_LT || i->op == IND_LOOP_GT) return 0;
    return ind_dtype_is_float((ind_dtype)b->inst[i->arg[0]].dtype) ? -1 : i->op != IND_LOOP_NE;
}

/* The result of a comparison if it is the same at all points: 0 or 1, else -1. */
static int ir__compare(const ind_body *b, const ind__inst *i) {
    int terms = IR__MAX_TERMS;
    if (i->arg[0] == i->arg[1]) return ir__compare_same(b, i);
    if (ind_dtype_is_float((ind_dtype)b->inst[i->arg[0]].dtype)) return -1;
    ind_expr x = ir__as_index(b, i->arg[0], &terms);
    ind_expr y = ind__ok(x) ? ir__as_index(b, i->arg[1], &terms) : x;
    if (!ind__ok(x) || !ind__ok(y)) return -1;
    switch (i->op) {
    case IND_LOOP_LT: return ir__always_less(x, y, false);
    case IND_LOOP_LE: return ir__always_less(x, y, true);
    case IND_LOOP_GT: return ir__always_less(y, x, false);
    case IND_LOOP_GE: return ir__always_less(y, x, true);
    case IND_LOOP_EQ: return ir__always_equal(x, y);
    default: {
        const int equal = ir__always_equal(x, y);
        return equal < 0 ? -1 : !equal;
    }
    }
}

/* True if the value is a constant bool: *is. */
static bool ir__known_bool(const ind_body *b, uint32_t id, bool *is) {
    *is = ir__is_constant(&b->inst[id]) && b->inst[id].imm.i;
    return id && ir__is_constant(&b->inst[id]);
}

/* True if the mask of an access is true at all points. */
static bool ir__is_unmasked(const ind_body *b, const ind__inst *i) {
    bool on;
    const uint32_t mask = i->op == IND_LOOP_LOAD ? i->arg[0] : i->op == IND_LOOP_STORE ? i->arg[1] : 0;
    return ir__known_bool(b, mask, &on) && on;
}

static const ind__inst *ir__without_mask(const ind__inst *i, ind__inst *copy) {
    *copy = *i;
    copy->arg[i->op == IND_LOOP_STORE] = 0;
    return copy;
}

/* Folds what has one value at all points: comparisons of indices, casts and negations of constants, loads under a mask
   that is false. Returns id 0: not so. */
static ind_value ir__fold(ind_ops *o, const ind_body *b, const ind__inst *i) {
    const ind__inst x = b->inst[i->arg[0]]; /* a copy: the body may grow */
    const ind_dtype dtype = (ind_dtype)i->dtype;
    bool on;
    if (ind__loop_op_class((ind_loop_op)i->op) == 'c') {
        const int always = ir__compare(b, i);
        return always < 0 ? (ind_value){0} : ind_op_constant_int(o, always, IND_BOOL);
    }
    if (i->op == IND_LOOP_LOAD && ir__known_bool(b, i->arg[0], &on) && !on) return ind_op_constant_int(o, 0, dtype);
    if (i->op == IND_LOOP_NOT && ir__is_constant(&x)) return ind_op_constant_int(o, !x.imm.i, IND_BOOL);
    if (i->op != IND_LOOP_CAST || !ir__is_constant(&x) || ind_dtype_is_float(dtype)) return (ind_value){0};
    return ind_op_constant_int(o, dtype == IND_BOOL ? x.imm.i != 0 : x.imm.i, dtype);
}

/* Returns an equal value that is simpler; id 0: none. */
static ind_value ir__simplify(ind_ops *o, const ind_body *b, const ind__inst *i) {
    const uint32_t same = ir__trivial(b, i);
    if (same) return (ind_value){same};
    if (i->op == IND_LOOP_WHERE && b->inst[i->arg[0]].op == IND_LOOP_NOT) {
        ind__inst swapped = *i;
        swapped.arg[0] = b->inst[i->arg[0]].arg[0];
        swapped.arg[1] = i->arg[2];
        swapped.arg[2] = i->arg[1];
        return o->emit(o, &swapped, NULL);
    }
    return ir__fold(o, b, i);
}

/* ---- dead instructions ---- */

/* Marks live instructions: dependencies of the result and of the stores, and every index check. A check is an error
   even if the access is the same at all indices: a tensor without dimensions, an expanded one. */
static void ir__mark_live(const ind_body *b, uint8_t *live) {
    for (uint32_t i = b->num_inst; i-- > 1;) {
        const ind__inst *x = &b->inst[i];
        bool checks = x->op == IND_LOOP_INDIRECT && !(x->flags & IND__INST_CHECKED);
        if (i == b->result || x->op == IND_LOOP_STORE || checks || b->call) live[i] = 1;
        if (!live[i]) continue;
        for (int k = 0; k < IND__MAX_ARGS; k++) live[x->arg[k]] = 1;
        for (uint32_t k = 0; k < x->num_index; k++) {
            ind_expr s[32];
            if (!ind__expr_has_kind(b->index[x->index + k], IND_SYMBOL_INDIRECT)) continue;
            int n = ind__expr_symbols(b->index[x->index + k], s, 32);
            for (int j = 0; j < n && j < 32; j++) {
                const ind_symbol *symbol = ind_expr_symbol(s[j]);
                if (symbol->kind == IND_SYMBOL_INDIRECT && (uint32_t)symbol->slot < i) live[symbol->slot] = 1;
            }
        }
    }
}

/* Removes dead instructions. A body with INDIRECTs keeps them: index symbols have the numbers of instructions.
   False: out of memory. */
static bool ir__drop_dead(ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_INDIRECT) return true;
    uint32_t *now = (uint32_t *)ind__alloc(b->context, b->num_inst * (sizeof *now + 1)), kept = 1;
    if (!now) return false;
    uint8_t *live = (uint8_t *)(now + b->num_inst);
    ir__mark_live(b, live);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        if (!live[i]) continue;
        ind__inst x = b->inst[i];
        for (int k = 0; k < IND__MAX_ARGS; k++) x.arg[k] = now[x.arg[k]];
        now[i] = kept;
        b->inst[kept++] = x;
    }
    b->result = now[b->result];
    b->num_inst = kept;
    ind__free(b->context, now);
    return true;
}
