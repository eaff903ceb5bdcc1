/* ------------------------------------------------------------------------------------------------ >>vectors */

/* The slack of an inequality, which holds if the slack is >= 0: right minus left side, minus 1 for x < y. */
static ind_expr cg__slack(ind_expr condition) {
    ind_expr slack = ind_expr_sub(ind_expr_arg(condition, 1), ind_expr_arg(condition, 0));
    bool less = ind_expr_query_kind(condition) == IND_EXPR_LT;
    return less ? ind_expr_sub(slack, ind_int(condition.context, 1)) : slack;
}

/* True if g implies the condition. Inequalities are compared by the known bounds of their slack. */
static bool cg__implies(ind_expr g, ind_expr condition) {
    if (ind_expr_same(g, condition)) return true;
    const ind_expr_kind a = ind_expr_query_kind(g), b = ind_expr_query_kind(condition);
    if ((a != IND_EXPR_LE && a != IND_EXPR_LT) || (b != IND_EXPR_LE && b != IND_EXPR_LT)) return false;
    return ind_known_le(cg__slack(g), cg__slack(condition));
}

/* The number of conditions of a guard, which is one condition or an `and` of several. */
static int cg__num_conditions(ind_expr guard) {
    return !ind__ok(guard) ? 0 : ind_expr_query_kind(guard) == IND_EXPR_AND ? ind_expr_num_args(guard) : 1;
}

static ind_expr cg__condition(ind_expr guard, int i) {
    return ind_expr_query_kind(guard) == IND_EXPR_AND ? ind_expr_arg(guard, i) : guard;
}

/* Adds a condition to a variant's guard; false if the condition can never hold. */
static bool cg__guard(ind__variant *v, ind_expr condition) {
    int64_t value;
    if (!ind__ok(condition)) return false;
    if (ind_expr_is_int(condition, &value)) return value != 0;
    if (ind__expr_has_kind(condition, IND_SYMBOL_UNBACKED)) return false; /* unknown before the launch */
    for (int i = 0; i < cg__num_conditions(v->guard); i++)
        if (cg__implies(cg__condition(v->guard, i), condition)) return true;
    v->guard = ind__ok(v->guard) ? ind_expr_and(v->guard, condition) : condition;
    return true;
}

/* True if the guard implies that e % n is 0: for e itself, or for a factor or all terms of it. */
static bool cg__promised(ind_expr guard, ind_expr e, int n, int depth) {
    ind_context *c = e.context;
    ind_expr_kind kind = ind_expr_query_kind(e);
    ind_expr wanted = ind_expr_eq(ind_expr_mod(e, ind_int(c, n)), ind_int(c, 0));
    for (int i = 0; i < cg__num_conditions(guard); i++)
        if (ind_expr_same(cg__condition(guard, i), wanted)) return true;
    if ((kind != IND_EXPR_MUL && kind != IND_EXPR_ADD) || depth > IND__CG_MAX_DEPTH) return false;
    int promised = 0;
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        ind_expr a = ind_expr_arg(e, i);
        promised += ind_known_multiple(a, n) || cg__promised(guard, a, n, depth + 1);
    }
    return kind == IND_EXPR_MUL ? promised > 0 : promised == ind_expr_num_args(e);
}

/* True if `e` is a multiple of n: proven, or likely if this may be assumed; the condition is then added to *guard. */
static bool cg__multiple(const cg__decider *d, ind_expr e, int n, ind_expr *guard) {
    if (ind_known_multiple(e, n)) return true;
    if (!(d->assume & IND__ASSUME_DIVISIBLE) || !ind__expr_is_size(e) || ind_expr_is_int(e, NULL)) return false;
    if (ind_hint(e) % n != 0) return false;
    if (ind__expr_has_kind(e, IND_SYMBOL_UNBACKED)) return false;
    if (ind_hint(e) < 0) e = ind_expr_neg(e); /* -s and s are one condition */
    if (cg__promised(*guard, e, n, 0)) return true;
    ind_expr condition = ind_expr_eq(ind_expr_mod(e, ind_int(d->w.context, n)), ind_int(d->w.context, 0));
    int64_t value;
    if (!ind__ok(condition) || (ind_expr_is_int(condition, &value) && !value)) return false;
    if (!ind_expr_is_int(condition, NULL)) *guard = ind__ok(*guard) ? ind_expr_and(*guard, condition) : condition;
    return true;
}

/* True if an index without the vectorised variable is always a multiple of n. If the whole is not proven, every stride
   must be. */
static bool cg__multiple_index(const cg__decider *d, ind_expr rest, int n, ind_expr *guard) {
    if (ind_known_multiple(rest, n)) return true;
    ind_expr symbol[32];
    int num = ind__expr_symbols(rest, symbol, 32);
    if (num > 32) return false;
    for (int s = 0; s < num; s++) {
        const ind_symbol *sym = ind_expr_symbol(symbol[s]);
        if (sym->kind != IND_SYMBOL_INDEX && sym->kind != IND_SYMBOL_INDIRECT) continue;
        ind_expr stride, others;
        if (!ind__affine(rest, symbol[s], &stride, &others) || !cg__multiple(d, stride, n, guard)) return false;
        rest = others;
    }
    return cg__multiple(d, rest, n, guard);
}

/* True if values in this index that were loaded from memory vary along variable v. */
static bool cg__indirect_varies(const ind__writer *w, ind_expr index, int v) {
    ind_expr symbol[32];
    if (!ind__expr_has_kind(index, IND_SYMBOL_INDIRECT)) return false;
    int num = ind__expr_symbols(index, symbol, 32);
    for (int s = 0; s < num && s < 32; s++) {
        const ind_symbol *sym = ind_expr_symbol(symbol[s]);
        if (sym->kind == IND_SYMBOL_INDIRECT && w->plan->varies[sym->slot] >> v & 1) return true;
    }
    return num > 32;
}

/* Buffers in the arena start at multiples of 256 bytes; the caller's buffers are only likely to be aligned. */
static bool cg__in_arena(const ind__writer *w, uint32_t buffer) {
    return w->schedule->offset && ind__ok(w->schedule->offset[buffer]);
}

/* ---- masks that hold for all elements of a vector or for none, such as those of a concatenation's parts if the vector
   width divides the parts' edges. One test then guards the vector. */

/* The mask of a LOAD or STORE; 0: none. */
static uint32_t cg__mask_of(const ind__writer *w, uint32_t access) {
    const ind__inst *inst = cg__inst(w, access);
    return inst->arg[inst->op == IND_LOOP_STORE];
}

static bool cg__varies_along(const ind__writer *w, uint32_t i, int v) {
    return w->plan->varies[i] >> v & 1;
}

/* An inequality is the same for all lanes if its slack is n*x + lane or n*x - 1 - lane: the sign is that of x, or of
   x - 1. */
static bool cg__uniform_inequality(const cg__decider *d, ind_expr condition, ind_expr lane, int n, ind_expr *guard) {
    ind_expr step, rest;
    int64_t by;
    if (!ind__affine(cg__slack(condition), lane, &step, &rest) || !ind_expr_is_int(step, &by)) return false;
    if (by != 1 && by != -1) return false;
    return cg__multiple_index(d, by > 0 ? rest : ind_expr_add(rest, ind_int(d->w.context, 1)), n, guard);
}

/* True if e is the same for all lanes of a vector of n. */
static bool cg__uniform_expr(const cg__decider *d, ind_expr e, ind_expr lane, int n, ind_expr *guard, int depth) {
    const ind_expr_kind kind = ind_expr_query_kind(e);
    if (!ind__ok(e) || depth > IND__CG_MAX_DEPTH) return false;
    if (!ind__expr_depends(e, lane)) return true;
    if (kind == IND_EXPR_LT || kind == IND_EXPR_LE) return cg__uniform_inequality(d, e, lane, n, guard);
    if (kind != IND_EXPR_AND && kind != IND_EXPR_OR && kind != IND_EXPR_NOT) return false;
    for (int i = 0; i < ind_expr_num_args(e); i++)
        if (!cg__uniform_expr(d, ind_expr_arg(e, i), lane, n, guard, depth + 1)) return false;
    return true;
}

/* True if the value is the same for n neighbours along variable v, from each multiple of n on, given that its operands
   are. Values from memory and of reductions are not. */
static bool cg__uniform_value(const cg__decider *d, uint32_t i, int v, int n, ind_expr *guard) {
    const ind_loop_op op = (ind_loop_op)cg__inst(&d->w, i)->op;
    ind_expr lane = {0};
    if (op != IND_LOOP_INDEX) return op == IND_LOOP_CAST || !strchr("sru", ind__loop_op_class(op));
    if (cg__indirect_varies(&d->w, cg__index_of(&d->w, i), v)) return false;
    const ind_expr e = ind__by_vectors(cg__index_of(&d->w, i), d->plan->domain.var[v], n, &lane);
    return cg__uniform_expr(d, e, lane, n, guard, 0);
}

enum { IND__CG_UNIFORM = 1, IND__CG_ASKED = 2 };

/* True if the mask, which varies along v, is the same for n neighbours. Marks its operands in `uniform` then. */
static bool cg__uniform_mask(cg__decider *d, uint32_t mask, int v, int n, ind_expr *guard) {
    bool uniform = true;
    if (!d->plan->uniform[mask]) d->plan->uniform[mask] = IND__CG_ASKED;
    for (uint32_t i = mask; i > 0 && uniform; i--) {
        if (d->plan->uniform[i] != IND__CG_ASKED) continue;
        uniform = cg__uniform_value(d, i, v, n, guard);
        for (int k = 0; k < IND__MAX_ARGS; k++) {
            const uint32_t used = cg__inst(&d->w, i)->arg[k];
            if (used && cg__varies_along(&d->w, used, v) && !d->plan->uniform[used])
                d->plan->uniform[used] = IND__CG_ASKED;
        }
    }
    for (uint32_t i = 1; i <= mask; i++)
        if (d->plan->uniform[i] == IND__CG_ASKED) d->plan->uniform[i] = uniform ? IND__CG_UNIFORM : 0;
    return uniform;
}

static void cg__no_vectors(cg__decider *d) {
    memset(d->plan->vector, 1, d->w.body->num_inst);
    memset(d->plan->uniform, 0, d->w.body->num_inst);
}

/* True if one test of the mask can guard n neighbours of the access along v. Kernels over points and rows compute such
   masks before the neighbours. */
static bool cg__masks_vector(cg__decider *d, uint32_t i, int v, int n, ind_expr *guard) {
    const uint32_t mask = cg__mask_of(&d->w, i);
    const bool loops = d->w.kernel->kind == IND_KERNEL_POINTWISE || d->w.kernel->kind == IND_KERNEL_REDUCTION;
    if (!mask) return true;
    if (!cg__varies_along(&d->w, mask, v)) return loops || cg__inst(&d->w, i)->op == IND_LOOP_STORE;
    return loops && cg__uniform_mask(d, mask, v, n, guard);
}

/* True if STORE i can write n neighbours at once; one that reduces into memory needs an instruction for so many. */
static bool cg__vector_store(const ind__writer *w, uint32_t i, int n) {
    const ind__inst *inst = cg__inst(w, i);
    if (!inst->arg[1] && !inst->reduction) return true;
    if (cg__combines_run(w, i)) return false;
    return !inst->reduction || (ind_dtype_bytes(cg__memory_dtype(w, i)) * n <= 32 && cg__adder(w, i, n));
}

/* True if LOAD or STORE i can move n neighbours along variable v in one access. Conditions are added to *guard. An
   access under a mask that varies along v adds none to an empty guard: such masks never cause another variant. */
static bool cg__vector_access(cg__decider *d, uint32_t i, int v, int n, ind_expr *guard, bool *aligned) {
    const ind__inst *inst = cg__inst(&d->w, i);
    ind_expr keep = *guard;
    if (!cg__is_access(&d->w, i) || (inst->op == IND_LOOP_STORE && !cg__vector_store(&d->w, i, n))) return false;
    bool once =
        inst->op == IND_LOOP_STORE && !(d->plan->varies[i] & cg__r_mask(&d->w)); /* per column, by its own thread */
    if (once && d->variant->strategy == IND_STRATEGY_COLUMN_SPLIT) return false;
    if (!cg__in_arena(&d->w, inst->source) && !(d->assume & IND__ASSUME_ALIGNED)) return false;
    ind_expr base = ind__run_base(cg__index_of(&d->w, i), d->plan->domain.var[v], n);
    if (!ind__ok(base) || cg__indirect_varies(&d->w, base, v)) return false;
    const int assume = d->assume;
    if (cg__varies_along(&d->w, cg__mask_of(&d->w, i), v) && !ind__ok(keep)) d->assume &= ~IND__ASSUME_DIVISIBLE;
    const bool fits = cg__multiple_index(d, base, n, guard) && cg__masks_vector(d, i, v, n, guard);
    d->assume = assume;
    if (!fits) {
        *guard = keep;
        return false;
    }
    if (!cg__in_arena(&d->w, inst->source)) *aligned = true;
    return true;
}

/* True if the elements that n neighbours along v gather by separate indices fit in registers. The compiler loads all of
   them before it uses the first (six bicubic samples of a grid, 16 each, by 8 neighbours: 255 registers, and
   spills). */
static bool cg__finds_few(const ind__writer *w, int v, int n) {
    int found = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && cg__indirect_varies(w, cg__index_of(w, i), v))
            found += (ind_dtype_bytes((ind_dtype)cg__inst(w, i)->dtype) + 3) / 4;
    return found * n <= w->target->thresholds.most_found;
}

/* True if the access alone justifies vectors. A masked load of a reduction does only if it loads elements of the row:
   for the weights of a window a thread would take neighbours whose elements may be scattered. */
static bool cg__suggests_vectors(const ind__writer *w, uint32_t i) {
    bool element = !w->plan->domain.rrank || !cg__mask_of(w, i);
    for (int d = w->plan->domain.rank; d < cg__num_vars(w) && !element; d++)
        element = ind__expr_depends(cg__index_of(w, i), w->plan->domain.var[d]);
    return element;
}

/* Tries vectors of n elements along variable v; false if no access allows them. Narrow elements move 16 bytes at once;
   elements up to twice as wide then take two accesses. `tail`: the emitter handles a remainder of the extent. */
static bool cg__try_vector(cg__decider *d, int v, int n, bool tail) {
    ind_expr guard = {0};
    bool aligned = false, any = false;
    int narrowest = 16, widest = 0;
    if (!cg__finds_few(&d->w, v, n)) return false;
    if (!tail && !cg__multiple(d, d->plan->domain.extent[v], n, &guard)) return false;
    cg__no_vectors(d);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        if (!cg__is_access(&d->w, i) || !cg__vector_access(d, i, v, n, &guard, &aligned)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(&d->w, i));
        narrowest = bytes < narrowest ? bytes : narrowest;
        widest = bytes > widest ? bytes : widest;
        d->plan->vector[i] = (uint8_t)n;
        any |= cg__suggests_vectors(&d->w, i);
    }
    if (!any || narrowest * n > 16 || widest * n > (n == 16 ? 16 : 32)) return false;
    if (ind__ok(guard)) cg__guard(d->variant, guard);
    if (ind__ok(guard)) d->used |= IND__ASSUME_DIVISIBLE;
    d->variant->guard_aligned |= aligned;
    return true;
}

/* Chooses the elements along v per thread, and which accesses are vectors. */
static int cg__choose_vector(cg__decider *d, int v, bool tail) {
    for (int n = d->w.kernel->kind == IND_KERNEL_POINTWISE ? 16 : 8; n >= 2; n /= 2)
        if (cg__try_vector(d, v, n, tail)) return n;
    cg__no_vectors(d);
    return 1;
}
