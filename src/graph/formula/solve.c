/* --------------------------------------------------------------------------------------------------- >>solve */
/* Finds the largest value of one size for which a formula is within a limit and all conditions hold. Formula and
   conditions are one straight-line program over the sizes. A box is a range of the size. One interval evaluation of the
   program gives three properties of every slot in the box: its bounds, whether it rises or falls with the size, and
   whether every op has a value everywhere. The search starts with the topmost box. A box without a fit is dropped; a
   box that fits as a whole ends the search. In a rising box bisection finds the last value that fits; any other box is
   halved. So the answer is right for every formula, and a rising formula takes a few dozen steps. */

typedef struct ind__span {
    int64_t lo, hi;
    bool rises, falls; /* never decreases, never increases as the size grows; both: constant */
} ind__span;

typedef struct ind__solver {
    ind_module *module;
    ind__program program;
    uint32_t size, formula; /* slots */
    uint32_t *condition;    /* slots */
    uint32_t num_conditions;
    int64_t step, limit; /* the size is a multiple of step */
    int64_t *slot;
    ind__span *span;
    bool total; /* of the last box: every op has a value everywhere .. */
    bool never; /* .. or some op has a value nowhere */
} ind__solver;

static ind__span ind__flip(ind__span a) {
    bool rises = a.rises;
    a.rises = a.falls;
    a.falls = rises;
    return a;
}

static bool ind__steady(ind__span a) {
    return a.rises && a.falls;
}

/* Handles overflow of an end: there is no value at that point. `above`: overflow upwards, else downwards. */
static int64_t ind__saturate(bool overflow, bool above, int64_t exact) {
    return !overflow ? exact : above ? INT64_MAX : INT64_MIN;
}

static ind__span ind__span_add(ind__solver *s, ind__span a, ind__span b) {
    ind__span r = {0, 0, a.rises && b.rises, a.falls && b.falls};
    bool low = ind__add_overflow(a.lo, b.lo, &r.lo), high = ind__add_overflow(a.hi, b.hi, &r.hi);
    s->never |=
        (low && a.lo > 0) || (high && a.hi < 0); /* even the minimum is too large, or even the maximum too small */
    s->total &= !low && !high;
    r.lo = ind__saturate(low, a.lo > 0, r.lo);
    r.hi = ind__saturate(high, a.hi > 0, r.hi);
    return r;
}

/* Computes how a product varies with the size, from the signs of its operands. */
static void ind__product_trend(ind__span *r, ind__span a, ind__span b) {
    bool a_up = a.lo >= 0, b_up = b.lo >= 0, a_down = a.hi <= 0, b_down = b.hi <= 0;
    ind__span x = b_down && !b_up ? ind__flip(a) : a, y = a_down && !a_up ? ind__flip(b) : b;
    r->rises = r->falls = ind__steady(a) && ind__steady(b);
    if (ind__steady(a) && (a_up || a_down)) { /* a constant times b */
        r->rises = y.rises, r->falls = y.falls;
    } else if (ind__steady(b) && (b_up || b_down)) {
        r->rises = x.rises, r->falls = x.falls;
    } else if ((a_up || a_down) && (b_up || b_down)) {
        r->rises = x.rises && y.rises, r->falls = x.falls && y.falls;
    }
}

/* Computes the range of a function that is monotonic in each of two operands, from its values at the corners. */
static ind__span ind__corners(ind__solver *s, ind__span a, ind__span b,
                              bool (*apply)(int64_t, int64_t, int64_t *, bool *)) {
    ind__span r = {INT64_MAX, INT64_MIN, false, false};
    int above = 0, below = 0;
    for (int k = 0; k < 4; k++) {
        int64_t v;
        bool up;
        if (apply(k & 1 ? a.hi : a.lo, k & 2 ? b.hi : b.lo, &v, &up)) {
            above += up, below += !up;
            v = up ? INT64_MAX : INT64_MIN;
        }
        if (v < r.lo) r.lo = v;
        if (v > r.hi) r.hi = v;
    }
    s->total &= above + below == 0;
    s->never |= above == 4 || below == 4;
    return r;
}

static bool ind__mul_ends(int64_t a, int64_t b, int64_t *out, bool *above) {
    *above = (a < 0) == (b < 0);
    return ind__mul_overflow(a, b, out);
}

static bool ind__div_ends(int64_t a, int64_t b, int64_t *out, bool *above) {
    *above = true;
    *out = INT64_MAX;
    if (a == INT64_MIN && b == -1) return true;
    *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return false;
}

static ind__span ind__span_mul(ind__solver *s, ind__span a, ind__span b) {
    ind__span r = ind__corners(s, a, b, ind__mul_ends);
    ind__product_trend(&r, a, b);
    return r;
}

/* a // b has no value at b = 0; elsewhere its magnitude is at most that of a. */
static ind__span ind__span_div_zero(ind__solver *s, ind__span a, ind__span b) {
    int64_t low = a.lo == INT64_MIN ? INT64_MAX : a.lo < 0 ? -a.lo : a.lo;
    int64_t high = a.hi == INT64_MIN ? INT64_MAX : a.hi < 0 ? -a.hi : a.hi, most = low > high ? low : high;
    ind__span r = {-most, most, false, false};
    s->total = false;
    s->never |= b.lo == 0 && b.hi == 0;
    return r;
}

static ind__span ind__span_div(ind__solver *s, ind__span a, ind__span b) {
    if (b.lo <= 0 && b.hi >= 0) return ind__span_div_zero(s, a, b);
    ind__span r = ind__corners(s, a, b, ind__div_ends);
    ind__product_trend(&r, a, ind__flip(b)); /* 1 / b falls where b rises, and has the sign of b */
    return r;
}

static ind__span ind__span_mod(ind__solver *s, ind__span a, ind__span b) {
    if (b.lo <= 0 && b.hi >= 0) {
        ind__span r = {b.lo < 0 ? b.lo + 1 : 0, b.hi > 0 ? b.hi - 1 : 0, false, false};
        s->total = false;
        s->never |= b.lo == 0 && b.hi == 0;
        return r;
    }
    int64_t first, last;
    bool above, one = b.lo == b.hi && b.lo > -INT32_MAX && b.lo < INT32_MAX && a.lo > INT64_MIN / 2;
    if (one && !ind__div_ends(a.lo, b.lo, &first, &above) && !ind__div_ends(a.hi, b.lo, &last, &above) &&
        first == last) {
        int64_t from = first * b.lo; /* all within one multiple of b: the remainder is only shifted */
        return (ind__span){a.lo - from, a.hi - from, a.rises, a.falls};
    }
    if (a.lo >= 0 && a.hi < b.lo) return a;
    bool steady = ind__steady(a) && ind__steady(b);
    ind__span r = {b.hi < 0 ? b.lo + 1 : 0, b.hi < 0 ? 0 : b.hi - 1, steady, steady};
    if (a.lo >= 0 && b.lo > 0 && a.hi < r.hi) r.hi = a.hi;
    return r;
}

static ind__span ind__span_pick(ind__span a, ind__span b, bool largest) {
    bool lo_a = (a.lo > b.lo) == largest, hi_a = (a.hi > b.hi) == largest;
    return (ind__span){lo_a ? a.lo : b.lo, hi_a ? a.hi : b.hi, a.rises && b.rises, a.falls && b.falls};
}

/* True if it is not 0, as 0 or 1. */
static ind__span ind__span_truth(ind__span a) {
    bool steady = ind__steady(a), grows = a.lo >= 0;
    return (ind__span){a.lo > 0 || a.hi < 0, a.lo != 0 || a.hi != 0, steady || (grows && a.rises),
                       steady || (grows && a.falls)};
}

static ind__span ind__span_not(ind__span a) {
    ind__span t = ind__flip(ind__span_truth(a));
    return (ind__span){!t.hi, !t.lo, t.rises, t.falls};
}

/* a <= b */
static ind__span ind__span_le(ind__span a, ind__span b) {
    return (ind__span){a.hi <= b.lo, a.lo <= b.hi, a.falls && b.rises, a.rises && b.falls};
}

static ind__span ind__span_eq(ind__span a, ind__span b) {
    bool steady = ind__steady(a) && ind__steady(b), apart = a.hi < b.lo || b.hi < a.lo;
    return (ind__span){a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, !apart, steady || apart, steady || apart};
}

static ind__span ind__span_where(ind__span condition, ind__span a, ind__span b) {
    ind__span t = ind__span_truth(condition);
    if (t.lo == t.hi) return t.lo ? a : b;
    return (ind__span){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, false, false};
}

static ind__span ind__span_op(ind__solver *s, const ind__program_op *op) {
    ind__span a = s->span[op->a], b = s->span[op->b], c = s->span[op->c];
    switch ((ind_expr_kind)op->kind) {
    case IND_EXPR_INT: return (ind__span){op->imm, op->imm, true, true};
    case IND_EXPR_ADD: return ind__span_add(s, a, b);
    case IND_EXPR_MUL: return ind__span_mul(s, a, b);
    case IND_EXPR_FLOORDIV: return ind__span_div(s, a, b);
    case IND_EXPR_MOD: return ind__span_mod(s, a, b);
    case IND_EXPR_MIN: return ind__span_pick(a, b, false);
    case IND_EXPR_MAX: return ind__span_pick(a, b, true);
    case IND_EXPR_EQ: return ind__span_eq(a, b);
    case IND_EXPR_NE: return ind__span_not(ind__span_eq(a, b));
    case IND_EXPR_LE: return ind__span_le(a, b);
    case IND_EXPR_LT: return ind__span_not(ind__span_le(b, a));
    case IND_EXPR_AND: return ind__span_pick(ind__span_truth(a), ind__span_truth(b), false);
    case IND_EXPR_OR: return ind__span_pick(ind__span_truth(a), ind__span_truth(b), true);
    case IND_EXPR_NOT: return ind__span_not(a);
    case IND_EXPR_WHERE: return ind__span_where(a, b, c);
    default: s->total = false; return (ind__span){INT64_MIN, INT64_MAX, false, false};
    }
}

/* Computes the spans for the size in [first, last], in steps. */
static void ind__survey(ind__solver *s, int64_t first, int64_t last) {
    s->total = true;
    s->never = false;
    for (uint32_t i = 0; i < s->program.num_inputs; i++) s->span[i] = (ind__span){s->slot[i], s->slot[i], true, true};
    s->span[s->size] = (ind__span){first * s->step, last * s->step, true, first == last};
    for (uint32_t i = 0; i < s->program.num_ops && !s->never; i++) {
        s->span[s->program.num_inputs + i] = ind__span_op(s, &s->program.op[i]);
    }
}

static bool ind__fits(ind__solver *s, int64_t steps) {
    s->slot[s->size] = steps * s->step;
    bool ok = !ind__program_run(&s->program, s->slot) && s->slot[s->formula] <= s->limit;
    for (uint32_t i = 0; ok && i < s->num_conditions; i++) ok = s->slot[s->condition[i]] != 0;
    return ok;
}

typedef enum ind__box_kind { IND__BOX_NONE, IND__BOX_ALL, IND__BOX_PREFIX, IND__BOX_MIXED } ind__box_kind;

/* Classifies a box: no value fits, all fit, a prefix (or none) fits, or unknown. */
static ind__box_kind ind__judge(ind__solver *s, int64_t first, int64_t last) {
    ind__survey(s, first, last);
    if (s->never || s->span[s->formula].lo > s->limit) return IND__BOX_NONE;
    bool all = s->total && s->span[s->formula].hi <= s->limit, prefix = s->total && s->span[s->formula].rises;
    for (uint32_t i = 0; i < s->num_conditions; i++) {
        ind__span t = ind__span_truth(s->span[s->condition[i]]);
        if (!t.hi) return IND__BOX_NONE;
        all &= t.lo != 0;
        prefix &= t.lo || t.falls; /* once it fails, it fails for all larger sizes */
    }
    return all ? IND__BOX_ALL : prefix ? IND__BOX_PREFIX : IND__BOX_MIXED;
}

/* Returns the middle, rounded up; ends of any sign. */
static int64_t ind__upper_middle(int64_t a, int64_t b) {
    uint64_t width = (uint64_t)b - (uint64_t)a;
    return (int64_t)((uint64_t)a + width / 2 + width % 2);
}

/* Finds the last value of [first, last] that fits, if the values that fit are a prefix. False: none does. */
static bool ind__bisect(ind__solver *s, int64_t first, int64_t last, int64_t *found) {
    if (!ind__fits(s, first)) return false;
    while (first < last) {
        int64_t middle = ind__upper_middle(first, last);
        if (ind__fits(s, middle)) {
            first = middle;
        } else {
            last = middle - 1;
        }
    }
    *found = first;
    return true;
}

#define IND__SOLVE_WORK (INT64_C(1) << 26) /* limit of evaluated ops: about a second */

/* Searches [first, last] from the top. IND_ERROR_OUT_OF_RANGE: nothing fits; IND_ERROR_LIMIT: gave up. */
static ind_status ind__search(ind__solver *s, int64_t first, int64_t last, int64_t *found) {
    int64_t low[72], high[72], work = 0; /* boxes are halved: at most 64 are pending */
    int n = 1;
    low[0] = first, high[0] = last;
    while (n > 0) {
        int64_t a = low[--n], b = high[n], middle = ind__upper_middle(a, b);
        if ((work += s->program.num_ops + 16) > IND__SOLVE_WORK) return IND_ERROR_LIMIT;
        ind__box_kind kind = a == b ? (ind__fits(s, a) ? IND__BOX_ALL : IND__BOX_NONE) : ind__judge(s, a, b);
        if (kind == IND__BOX_ALL) return *found = b, IND_OK;
        if (kind == IND__BOX_PREFIX && ind__bisect(s, a, b, found)) return IND_OK;
        if (kind != IND__BOX_MIXED) continue;
        low[n] = a, high[n++] = middle - 1;
        low[n] = middle, high[n++] = b;
    }
    return IND_ERROR_OUT_OF_RANGE;
}

static ind_status ind__solver_require(ind__solver *s, ind_expr condition) {
    int64_t value;
    if (ind_expr_is_int(condition, &value) && value) return IND_OK;
    uint32_t slot = ind__program_add(&s->program, condition);
    if (slot == UINT32_MAX) return ind__failed(s->module->context);
    s->condition[s->num_conditions++] = slot;
    return IND_OK;
}

/* Requires that a size determined by others is in its range and equals its given value, if any. */
static ind_status ind__require_derived(ind__solver *s, uint32_t size, int64_t given) {
    ind_context *c = s->module->context;
    const ind_symbol *symbol = ind_module_query_size(s->module, (int)size);
    ind_expr e = ind_module_size_formula(s->module, (int)size);
    ind_status status = ind__solver_require(s, ind_expr_le(ind_int(c, symbol->lo), e));
    if (!status) status = ind__solver_require(s, ind_expr_le(e, ind_int(c, symbol->hi)));
    if (!status) {
        ind_expr rest = ind_expr_mod(e, ind_int(c, symbol->multiple_of));
        status = ind__solver_require(s, ind_expr_eq(rest, ind_int(c, 0)));
    }
    bool fixed = given != IND__SIZE_UNSET;
    return status || !fixed ? status : ind__solver_require(s, ind_expr_eq(e, ind_int(c, given)));
}

/* Adds the conditions in the free sizes alone. They are built without facts, because facts would make them true. */
static ind_status ind__solver_conditions(ind__solver *s, const int64_t *given) {
    ind_module *m = s->module;
    ind_expr *from = ind__alloc(m->context, (2 * (size_t)m->desc.num_sizes + 1) * sizeof *from);
    ind_status status = from ? IND_OK : ind__failed(m->context);
    int n = 0;
    for (uint32_t i = 0; i < m->desc.num_sizes && !status; i++) {
        ind_expr e = ind_module_size_formula(m, (int)i);
        if (!ind__ok(e)) continue;
        from[n] = m->desc.sizes[i];
        from[m->desc.num_sizes + (uint32_t)n++] = e;
        status = ind__require_derived(s, i, given[i]);
    }
    for (uint32_t i = 0; i < m->desc.num_conditions && !status; i++) {
        ind_expr e = ind__substitute(m->desc.condition[i].e, from, from + m->desc.num_sizes, n);
        status = ind__ok(e) ? ind__solver_require(s, e) : ind__failed(m->context);
    }
    ind__free(m->context, from);
    return status;
}

/* Reads the given sizes; each free size except the unknown must be given. */
static ind_status ind__solver_sizes(ind__solver *s, const char *sizes, int64_t *given) {
    ind_module *m = s->module;
    ind_status status = ind__module_given_sizes(m, "formula", sizes, given);
    for (uint32_t i = 0; i < m->desc.num_sizes && !status; i++) {
        const char *name = ind_module_query_size(m, (int)i)->name;
        bool missing = given[i] == IND__SIZE_UNSET, derived = ind__ok(ind_module_size_formula(m, (int)i));
        s->slot[i] = missing ? 0 : given[i];
        if (i == s->size && !missing) {
            status =
                ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "formula: size %s is both asked for and given", name);
        } else if (i != s->size && missing && !derived) {
            status = ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                               "formula: size %s has no value: give it as in \"%s=%lld\"", name, name,
                               (long long)ind_module_query_size(m, (int)i)->hint);
        }
    }
    return status;
}

static ind_status ind__solver_prepare(ind__solver *s, ind_formula f, const char *sizes) {
    ind_module *m = s->module;
    ind_context *c = m->context;
    uint32_t n = m->desc.num_sizes;
    ind_expr now = m->facts ? ind_simplify(m->facts, f) : f;
    ind_status status = ind__program_init(&s->program, c, m->desc.sizes, n);
    int64_t *given = ind__alloc(c, (n + (size_t)1) * sizeof *given);
    s->condition = ind__alloc(c, (4 * (size_t)n + m->desc.num_conditions + 1) * sizeof *s->condition);
    if (!status && (!given || !s->condition)) status = ind__failed(c);
    s->formula = status ? UINT32_MAX : ind__program_add(&s->program, now);
    if (!status && s->formula == UINT32_MAX) status = ind__failed(c);
    s->slot = status ? NULL : ind__alloc(c, (n + (size_t)1) * sizeof *s->slot); /* resized below */
    if (!status && !s->slot) status = ind__failed(c);
    if (!status) status = ind__solver_sizes(s, sizes, given);
    ind_facts *before = ind_facts_enter(c, NULL);
    if (!status) status = ind__solver_conditions(s, given);
    (void)ind_facts_enter(c, before);
    ind__free(c, given);
    if (status) return status;
    size_t slots = (size_t)n + s->program.num_ops;
    int64_t *all = ind__resize(c, s->slot, (n + (size_t)1) * sizeof *all, (slots + 1) * sizeof *all);
    s->span = ind__alloc(c, (slots + 1) * sizeof *s->span);
    if (all) s->slot = all;
    return all && s->span ? IND_OK : ind__failed(c);
}

static void ind__solver_free(ind__solver *s) {
    ind_context *c = s->module->context;
    ind__program_free(&s->program);
    ind__free(c, s->condition);
    ind__free(c, s->slot);
    ind__free(c, s->span);
}

/* Returns IND_OK, and the largest number of steps that fits in *found. */
static ind_status ind__solve(ind__solver *s, int64_t *found) {
    const ind_symbol *symbol = ind_module_query_size(s->module, (int)s->size);
    int64_t m = s->step, first, last;
    bool above;
    ind__div_ends(symbol->lo, m, &first, &above);
    ind__div_ends(symbol->hi, m, &last, &above);
    first += symbol->lo % m != 0;
    ind_status status = first <= last ? ind__search(s, first, last, found) : IND_ERROR_OUT_OF_RANGE;
    if (!status) return IND_OK;
    if (status == IND_ERROR_LIMIT) {
        return ind__fail(s->module->context, IND_ERROR_NOT_SUPPORTED,
                         "formula: it goes up and down with %s, or its conditions do, over too wide a range to search: "
                         "[%lld, %lld]",
                         symbol->name, (long long)symbol->lo, (long long)symbol->hi);
    }
    return ind__fail(s->module->context, status, "formula: for no %s in [%lld, %lld] is it allowed and at most %lld",
                     symbol->name, (long long)symbol->lo, (long long)symbol->hi, (long long)s->limit);
}

static int64_t ind__solve_formula(ind_module *module, ind_formula f, const char *name, const char *sizes,
                                  int64_t limit) {
    int64_t found = 0;
    if (ind__check_formula(module, &f)) return -1;
    if (!name)
        return ind__fail(module->context, IND_ERROR_INVALID_ARGUMENT, "formula: the name of the size is NULL"), -1;
    ind__solver s = {.module = module, .size = ind__free_size(module, name), .limit = limit};
    if (s.size == UINT32_MAX) return -1;
    s.step = ind_module_query_size(module, (int)s.size)->multiple_of;
    ind_status before = ind_error_status(module->context), status = ind__solver_prepare(&s, f, sizes);
    if (!status) status = ind__solve(&s, &found);
    ind__solver_free(&s);
    if (!status)
        ind__state_of(module->context)->status = before; /* values that overflowed during the search are not failures */
    return status ? -1 : found * s.step;
}

int64_t ind_formula_solve(ind_module *module, ind_formula f, const char *name, const char *sizes, int64_t limit) {
    if (!module) return -1;
    const ind__query q = ind__query_begin(module);
    int64_t most = ind__solve_formula(module, f, name, sizes, limit);
    return ind__query_end(&q, IND_OK) ? -1 : most;
}
