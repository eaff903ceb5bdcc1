/* ------------------------------------------------------------------------------------------------- >>facts */

/* Traversals of expressions. An expression is a DAG: exponentially many paths may lead to the same node. So a traversal
   records visited nodes, once it is long enough for that to pay. */

static bool ir__map_copy(ir__id_map *to, const ir__id_map *from) {
    *to = *from;
    if (!from->cap) return true;
    size_t bytes = (size_t)from->cap * 2 * sizeof *from->slot;
    to->slot = (uint32_t *)ind__alloc(from->context, bytes);
    if (to->slot)
        memcpy(to->slot, from->slot, bytes);
    else
        to->num = to->cap = 0;
    return to->slot != NULL;
}

#define IND__UNRECORDED_VISITS 64 /* steps of a traversal before it records visited nodes */

typedef struct ir__traversal {
    ir__id_map seen;
    uint32_t steps;
} ir__traversal;

/* True if this node is to be visited: not visited before. Without memory a node may be visited again, which is only
   slower. */
static bool ir__first_visit(ir__traversal *w, ind_expr e) {
    w->seen.context = e.context;
    if (w->steps < IND__UNRECORDED_VISITS) return w->steps++, true;
    if (ir__map_get(&w->seen, e.id)) return false;
    ir__map_put(&w->seen, e.id, 1);
    return true;
}

static bool ir__visit_depends(ir__traversal *w, ind_expr e, ind_expr symbol) {
    if (e.id == symbol.id) return true;
    const ir__expr_node *n = ir__node_of(e);
    if (!(n->symbols & ir__node_of(symbol)->symbols) || !ir__first_visit(w, e)) return false;
    for (uint32_t i = 0; i < n->num_args; i++)
        if (ir__visit_depends(w, ir__expr_make(e.context, ir__node_args(n)[i]), symbol)) return true;
    return false;
}

bool ind__expr_depends(ind_expr e, ind_expr symbol) {
    if (!ind__ok(e) || !ind__ok(symbol)) return false;
    ir__traversal w = {0};
    bool depends = ir__visit_depends(&w, e, symbol);
    ir__map_free(&w.seen);
    return depends;
}

static bool ir__visit_has_kind(ir__traversal *w, ind_expr e, ind_symbol_kind kind) {
    const ir__expr_node *n = ir__node_of(e);
    if (n->kind == IND_EXPR_SYM) return n->arg.symbol->symbol.kind == kind;
    if (!(n->symbols & e.context->interner->kind_symbols[kind]) || !ir__first_visit(w, e)) return false;
    for (uint32_t i = 0; i < n->num_args; i++)
        if (ir__visit_has_kind(w, ir__expr_make(e.context, ir__node_args(n)[i]), kind)) return true;
    return false;
}

bool ind__expr_has_kind(ind_expr e, ind_symbol_kind kind) {
    if (!ind__ok(e) || !(ir__node_of(e)->symbols & e.context->interner->kind_symbols[kind])) return false;
    ir__traversal w = {0};
    bool has = ir__visit_has_kind(&w, e, kind);
    ir__map_free(&w.seen);
    return has;
}

bool ind__expr_is_size(ind_expr e) {
    return ind__ok(e) && !ind__expr_has_kind(e, IND_SYMBOL_INDEX) && !ind__expr_has_kind(e, IND_SYMBOL_INDIRECT);
}

static int ir__visit_symbols(ir__traversal *w, ind_expr e, ind_expr *out, int max, int n) {
    const ir__expr_node *node = ir__node_of(e);
    if (!node->symbols) return n;
    if (node->kind != IND_EXPR_SYM) {
        if (!ir__first_visit(w, e)) return n;
        for (uint32_t i = 0; i < node->num_args; i++)
            n = ir__visit_symbols(w, ir__expr_make(e.context, ir__node_args(node)[i]), out, max, n);
        return n;
    }
    int known = n < max ? n : max;
    if (known >= IND__UNRECORDED_VISITS && ir__map_get(&w->seen, e.id)) return n;
    for (int i = 0; i < known && i < IND__UNRECORDED_VISITS; i++)
        if (out[i].id == e.id) return n;
    w->seen.context = e.context;
    if (known >= IND__UNRECORDED_VISITS) ir__map_put(&w->seen, e.id, 1); /* too many for a linear search */
    if (n < max) out[n] = e;
    return n + 1;
}

int ind__expr_symbols(ind_expr e, ind_expr *out, int max) {
    if (!ind__ok(e)) return 0;
    ir__traversal w = {0};
    int n = ir__visit_symbols(&w, e, out, max, 0);
    ir__map_free(&w.seen);
    return n;
}

/* ---- values ---- */

/* Intermediate results have 128 bits if the compiler supports it, so a value that fits in 64 bits is always found.
   Otherwise an intermediate result beyond 64 bits is IND_ERROR_OVERFLOW. */
#if IND__GNU && defined(__SIZEOF_INT128__)
__extension__ typedef __int128 ir__wide;

static bool ir__wide_add(ir__wide a, ir__wide b, ir__wide *out) {
    return __builtin_add_overflow(a, b, out);
}

static bool ir__wide_mul(ir__wide a, ir__wide b, ir__wide *out) {
    return __builtin_mul_overflow(a, b, out);
}

static bool ir__wide_negate(ir__wide a, ir__wide *out) {
    return __builtin_sub_overflow(0, a, out);
}
#else
typedef int64_t ir__wide;

static bool ir__wide_add(ir__wide a, ir__wide b, ir__wide *out) {
    return ind__add_overflow(a, b, out);
}

static bool ir__wide_mul(ir__wide a, ir__wide b, ir__wide *out) {
    return ind__mul_overflow(a, b, out);
}

static bool ir__wide_negate(ir__wide a, ir__wide *out) {
    return ind__sub_overflow(0, a, out);
}
#endif

static bool ir__narrow_value(ir__wide v, int64_t *out) {
    *out = (int64_t)v;
    return v >= INT64_MIN && v <= INT64_MAX;
}

static ir__wide ir__wide_floor_div(ir__wide a, ir__wide b) {
    int64_t x, y;
    if (ir__narrow_value(a, &x) && ir__narrow_value(b, &y) && y != -1) return ir__floor_div(x, y);
    ir__wide q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static ir__wide ir__wide_floor_mod(ir__wide a, ir__wide b) {
    ir__wide r = b == -1 ? 0 : a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}

/* The value of a node from the values of its arguments: the only definition of the kinds' meaning. */
static ind_status ir__apply_wide(ind_context *c, ind_expr_kind kind, ir__wide a, ir__wide b, ir__wide third,
                                 ir__wide *out) {
    bool overflow = false;
    ir__wide negated;
    switch (kind) {
    case IND_EXPR_ADD: overflow = ir__wide_add(a, b, out); break;
    case IND_EXPR_MUL: overflow = ir__wide_mul(a, b, out); break;
    case IND_EXPR_FLOORDIV:
    case IND_EXPR_MOD:
        if (!b) return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "division by zero in a size expression");
        overflow = b == -1 && kind == IND_EXPR_FLOORDIV && ir__wide_negate(a, &negated);
        if (!overflow) *out = kind == IND_EXPR_MOD ? ir__wide_floor_mod(a, b) : ir__wide_floor_div(a, b);
        break;
    case IND_EXPR_MIN: *out = a < b ? a : b; break;
    case IND_EXPR_MAX: *out = a > b ? a : b; break;
    case IND_EXPR_EQ: *out = a == b; break;
    case IND_EXPR_NE: *out = a != b; break;
    case IND_EXPR_LT: *out = a < b; break;
    case IND_EXPR_LE: *out = a <= b; break;
    case IND_EXPR_AND: *out = a && b; break;
    case IND_EXPR_OR: *out = a || b; break;
    case IND_EXPR_NOT: *out = !a; break;
    case IND_EXPR_WHERE: *out = a ? b : third; break;
    default: return ind__fail(c, IND_ERROR_VERIFY, "a size expression of kind %d has no value", (int)kind);
    }
    return overflow ? ind__fail(c, IND_ERROR_OVERFLOW, "a size exceeds 64 bits") : IND_OK;
}

static ind_status ir__apply(ind_context *c, ind_expr_kind kind, int64_t a, int64_t b, int64_t third, int64_t *out) {
    ir__wide v = 0;
    ind_status status = ir__apply_wide(c, kind, a, b, third, &v);
    if (status) return status;
    return ir__narrow_value(v, out) ? IND_OK : ind__fail(c, IND_ERROR_OVERFLOW, "a size exceeds 64 bits");
}

/* True for kinds with any number of arguments, which are folded from the left, two at a time. */
static bool ir__is_chain(ind_expr_kind kind) {
    return kind == IND_EXPR_ADD || kind == IND_EXPR_MUL || kind == IND_EXPR_MIN || kind == IND_EXPR_MAX ||
           kind == IND_EXPR_AND || kind == IND_EXPR_OR;
}

typedef struct ir__evaluation {
    ind_context *context;
    ind_symbol_value_fn value;
    void *user;
    uint32_t steps;
    ir__id_map memo; /* id to 1 + position in done; used from IND__UNRECORDED_VISITS steps on */
    ir__wide *done;
    uint32_t num_done, cap_done;
} ir__evaluation;

static ind_status ir__eval(ir__evaluation *v, ind_expr e, ir__wide *out);

/* A product with a factor 0 is 0, however large the other factors are. */
static ind_status ir__eval_chain(ir__evaluation *v, ind_expr e, ir__wide *out) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    ind_status status = ir__eval(v, ind_expr_arg(e, 0), out), overflow = IND_OK;
    for (int i = 1; i < ind_expr_num_args(e) && !status; i++) {
        ir__wide next;
        status = ir__eval(v, ind_expr_arg(e, i), &next);
        if (status) break;
        if (kind == IND_EXPR_MUL && (!next || !*out)) {
            *out = 0;
            overflow = IND_OK;
        } else if (!overflow) {
            overflow = ir__apply_wide(v->context, kind, *out, next, 0, out);
        }
    }
    return status ? status : overflow;
}

/* Only the taken branch of a Where is evaluated. */
static ind_status ir__eval_node(ir__evaluation *v, ind_expr e, ir__wide *out) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    ir__wide a[2] = {0};
    ind_status status = ir__eval(v, ind_expr_arg(e, 0), &a[0]);
    if (status) return status;
    if (kind == IND_EXPR_WHERE) return ir__eval(v, ind_expr_arg(e, a[0] ? 1 : 2), out);
    if (ind_expr_num_args(e) > 1) status = ir__eval(v, ind_expr_arg(e, 1), &a[1]);
    return status ? status : ir__apply_wide(v->context, kind, a[0], a[1], 0, out);
}

static ind_status ir__eval(ir__evaluation *v, ind_expr e, ir__wide *out) {
    int64_t value;
    const ind_symbol *s = ind_expr_symbol(e);
    if (ind_expr_is_int(e, &value)) return *out = value, IND_OK;
    if (s) {
        if (!v->value || !v->value(s, v->user, &value))
            return ind__fail(v->context, IND_ERROR_NOT_FOUND, "no value is given for %s", s->name);
        return *out = value, IND_OK;
    }
    bool written = v->steps++ >= IND__UNRECORDED_VISITS;
    uint32_t known = written ? ir__map_get(&v->memo, e.id) : 0;
    if (known) return *out = v->done[known - 1], IND_OK;
    ind_status status = ir__is_chain(ind_expr_query_kind(e)) ? ir__eval_chain(v, e, out) : ir__eval_node(v, e, out);
    if (status || !written) return status;
    ir__wide *slot = IND__PUSH(v->context, ir__wide, v->done, v->num_done, v->cap_done);
    if (!slot) return IND_ERROR_OUT_OF_MEMORY;
    *slot = *out;
    return ir__map_put(&v->memo, e.id, v->num_done) ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

ind_status ind_expr_eval(ind_expr e, ind_symbol_value_fn value, void *user, int64_t *out) {
    if (!ind__ok(e) || !out) return IND_ERROR_INVALID_ARGUMENT;
    ir__evaluation v = {.context = e.context, .value = value, .user = user, .memo = {.context = e.context}};
    ir__wide wide = 0;
    ind_status status = ir__eval(&v, e, &wide);
    ir__map_free(&v.memo);
    ind__free(e.context, v.done);
    if (status) return status;
    return ir__narrow_value(wide, out) ? IND_OK : ind__fail(e.context, IND_ERROR_OVERFLOW, "a size exceeds 64 bits");
}

static bool ir__hint_of(const ind_symbol *s, void *user, int64_t *out) {
    (void)user;
    int64_t least = s->lo != INT64_MIN ? s->lo : s->hi < 0 ? s->hi : 0;
    *out = ind__ok(s->extent) ? 0 : s->kind == IND_SYMBOL_SIZE || s->hint ? s->hint : least;
    return true;
}

/* Cached independently of the facts in force: a hint depends only on immutable data. */
int64_t ind_hint(ind_expr e) {
    int64_t v = 0;
    if (!ind__ok(e)) return 0;
    const uint32_t key = IND__CACHED_HINT + 1;
    ir__op_cache_entry *had = ir__cache_slot(e.context, IND__CACHED_HINT, e, e);
    if (had->key == key && had->a == e.id) return (int64_t)((uint64_t)had->b << 32 | had->result);
    ind__state_of(e.context)->quiet++;
    ind_status status = ind_expr_eval(e, ir__hint_of, NULL, &v);
    ind__state_of(e.context)->quiet--;
    if (status) return 0;
    *had = (ir__op_cache_entry){key, e.id, (uint32_t)((uint64_t)v >> 32), (uint32_t)v};
    return v;
}

/* ---- rebuilding ---- */

/* Builds a node of e's kind over new arguments through the simplifying constructors. */
ind_expr ind__expr_rebuild(ind_expr e, const ind_expr *arg, int n) {
    ind_context *c = e.context;
    ind_expr_kind kind = ind_expr_query_kind(e);
    switch (kind) {
    case IND_EXPR_ADD: return ind_expr_sum(c, arg, n);
    case IND_EXPR_MUL: return ind_expr_product(c, arg, n);
    case IND_EXPR_MIN:
    case IND_EXPR_MAX: return ir__lattice(c, kind, arg, n);
    case IND_EXPR_FLOORDIV: return ind_expr_floordiv(arg[0], arg[1]);
    case IND_EXPR_MOD: return ind_expr_mod(arg[0], arg[1]);
    case IND_EXPR_EQ:
    case IND_EXPR_NE:
    case IND_EXPR_LT:
    case IND_EXPR_LE: return ir__condition(kind, arg[0], arg[1]);
    case IND_EXPR_AND:
    case IND_EXPR_OR: return ir__logic(c, kind, arg, n);
    case IND_EXPR_NOT: return ind_expr_not(arg[0]);
    case IND_EXPR_WHERE: return ind_expr_where(arg[0], arg[1], arg[2]);
    default: return e;
    }
}

/* One bottom-up pass over an expression, each node once: leaf(e) replaces symbols. */
typedef struct ir__pass {
    ir__id_map *memo;
    uint64_t mask;  /* nodes without any of these symbols (Bloom) are not visited */
    uint32_t steps; /* the memo is used from IND__UNRECORDED_VISITS on */
    bool keep;      /* a node that cannot be built over its new arguments stays unchanged; else the pass fails */
    ind_expr (*leaf)(ind_expr symbol, void *user);
    void *user;
} ir__pass;

static ind_expr ir__pass_run(ir__pass *p, ind_expr e);

static ind_expr ir__pass_node(ir__pass *p, ind_expr e, int args) {
    ind_expr local[16], *arg = args <= 16 ? local : (ind_expr *)ind__alloc(e.context, (size_t)args * sizeof *arg);
    if (!arg) return ir__expr_none(e.context);
    /* a product of unchanged symbols is the same product: no rule applies to it */
    bool ok = true, same = ind_expr_query_kind(e) == IND_EXPR_MUL && ir__node_of(e)->depth == 1;
    for (int i = 0; i < args && ok; i++) {
        arg[i] = ir__pass_run(p, ind_expr_arg(e, i));
        ok = ind__ok(arg[i]);
        same = same && arg[i].id == ind_expr_arg(e, i).id;
    }
    ind_expr r = !ok ? ir__expr_none(e.context) : same ? e : ind__expr_rebuild(e, arg, args);
    if (arg != local) ind__free(e.context, arg);
    return r;
}

static ind_expr ir__pass_run(ir__pass *p, ind_expr e) {
    int args = ind_expr_num_args(e);
    if (ind_expr_symbol(e)) return p->leaf(e, p->user);
    if (!args || !(ir__node_of(e)->symbols & p->mask)) return e;
    bool written = p->steps++ >= IND__UNRECORDED_VISITS;
    uint32_t known = written ? ir__map_get(p->memo, e.id) : 0;
    if (known) return ir__expr_make(e.context, known);
    ind_expr r = ir__pass_node(p, e, args);
    if (!ind__ok(r) && p->keep) r = e;
    if (ind__ok(r) && written) ir__map_put(p->memo, e.id, r.id); /* if there is no memory, it is only slower */
    return r;
}

typedef struct ir__substitution {
    const ind_expr *from, *to;
    int num;
} ir__substitution;

static ind_expr ir__substitution_leaf(ind_expr symbol, void *user) {
    const ir__substitution *s = (const ir__substitution *)user;
    for (int i = 0; i < s->num; i++)
        if (symbol.id == s->from[i].id) return s->to[i];
    return symbol;
}

static ind_expr ir__substitute(ind_expr e, const ind_expr *from, const ind_expr *to, int n) {
    ir__substitution s = {from, to, n};
    ir__id_map memo = {.context = e.context};
    ir__pass p = {.memo = &memo, .leaf = ir__substitution_leaf, .user = &s};
    for (int i = 0; i < n; i++)
        if (ind__ok(from[i])) p.mask |= ir__node_of(from[i])->symbols;
    ind_expr r = ir__pass_run(&p, e);
    ir__map_free(&memo);
    return r;
}

/* The number of this substitution, the key of its cached results; 0: they are not cached. */
static uint32_t ir__substitution_number(struct ind__interner *in, const ind_expr *from, const ind_expr *to, int n) {
    if (n < 1 || n > IND__MAX_REPLACED || in->combining || in->dividing) return 0;
    ir__substitution_made made = {.num = (uint32_t)n};
    uint64_t hash = 0;
    for (int i = 0; i < n; i++) {
        made.pair[2 * i] = from[i].id, made.pair[2 * i + 1] = to[i].id;
        hash = (hash ^ ((uint64_t)from[i].id << 32 | to[i].id)) * 0x9e3779b97f4a7c15ull;
    }
    ir__substitution_made *known = &in->substitution[(hash >> 40) % IND__SUBSTITUTIONS];
    const size_t bytes = 2 * (size_t)n * sizeof *made.pair;
    if (known->number && known->num == made.num && !memcmp(known->pair, made.pair, bytes)) return known->number;
    if (in->num_substitutions == UINT32_MAX) return 0;
    made.number = ++in->num_substitutions;
    *known = made;
    return made.number;
}

/* Failures and overflows so far: a result is cached only if neither occurred while it was built. */
static uint64_t ir__mishaps(const ind_context *c) {
    const ind__state *s = ind__state_of(c);
    return (uint64_t)s->failures << 32 | s->overflows;
}

ind_expr ind__substitute(ind_expr e, const ind_expr *from, const ind_expr *to, int n) {
    if (!ind__ok(e)) return e;
    ind_context *c = e.context;
    const ind_expr number = {c, ir__substitution_number(c->interner, from, to, n)};
    const uint32_t key = number.id ? ir__cache_key(c, IND__CACHED_SUBSTITUTE) : 0;
    if (!key) return ir__substitute(e, from, to, n);
    const ir__op_cache_entry *had = ir__cache_slot(c, IND__CACHED_SUBSTITUTE, e, number);
    if (had->key == key && had->a == e.id && had->b == number.id) return ir__expr_make(c, had->result);
    const uint64_t before = ir__mishaps(c);
    const ind_expr r = ir__substitute(e, from, to, n);
    const ir__op_cache_entry entry = {key, e.id, number.id, r.id};
    if (ind__ok(r) && before == ir__mishaps(c)) *ir__cache_slot(c, IND__CACHED_SUBSTITUTE, e, number) = entry;
    return r;
}

/* Substitution in context c, for operands of several contexts. */
static ind_expr ir__substitute_elsewhere(ind_context *c, ind_expr e, const ind_expr *symbols, const ind_expr *values,
                                         int n) {
    ind_expr *copy = (ind_expr *)ind__alloc(c, 2 * (size_t)n * sizeof *copy);
    if (!copy) return ir__expr_none(c);
    bool ok = true;
    for (int i = 0; i < 2 * n && ok; i++) {
        copy[i] = ind__in_context(c, i < n ? symbols[i] : values[i - n]);
        ok = ind__ok(copy[i]);
    }
    e = ok ? ind__in_context(c, e) : ir__expr_none(c);
    if (ind__ok(e)) e = ind__substitute(e, copy, copy + n, n);
    ind__free(c, copy);
    return e;
}

ind_expr ind_expr_substitute(ind_expr e, const ind_expr *symbols, const ind_expr *values, int n) {
    if (!ind__ok(e)) return e;
    if (n < 0 || (n && (!symbols || !values))) return ir__expr_none(e.context);
    ind_context *c = e.context;
    for (int i = 0; i < n; i++) {
        if (!ind__ok(symbols[i]) || !ind__ok(values[i])) return ir__expr_none(e.context);
        if (!ind_expr_symbol(symbols[i])) {
            ind__fail(e.context, IND_ERROR_INVALID_ARGUMENT, "only symbols can be replaced");
            return ir__expr_none(e.context);
        }
        if (symbols[i].context != c || values[i].context != c) c = e.context->root;
    }
    return c == e.context ? ind__substitute(e, symbols, values, n) : ir__substitute_elsewhere(c, e, symbols, values, n);
}

/* The coefficient and the rest of e, both invalid if e is not affine in the symbol. */
static void ir__affine(ind_expr e, ind_expr symbol, ind_expr out[2]) {
    ind_context *c = e.context;
    ir__sum all = {.context = c}, with = {.context = c}, without = {.context = c};
    ir__sum_add(&all, e, 1);
    bool ok = !all.failed;
    for (uint32_t i = 0; ok && i < all.num; i++) {
        ir__term t = all.t[i];
        if (!ind__expr_depends(t.m, symbol)) {
            ir__sum_push(&without, t);
            continue;
        }
        t.m = ir__remove_factor(t.m, symbol);
        ok = ind__ok(t.m) && !ind__expr_depends(t.m, symbol);
        if (ok) ir__sum_push(&with, t);
    }
    ir__sum_free(&all);
    out[0] = ir__sum_finish(&with), out[1] = ir__sum_finish(&without);
    if (!ok || !ind__ok(out[0]) || !ind__ok(out[1])) out[0] = out[1] = ir__expr_none(c);
}

bool ind__affine(ind_expr e, ind_expr symbol, ind_expr *coefficient, ind_expr *rest) {
    if (!ind__ok(e) || !ind__ok(symbol)) return false;
    ind_context *c = e.context;
    const struct ind__interner *in = c->interner;
    const uint32_t kind[2] = {IND__CACHED_COEFFICIENT, IND__CACHED_REST};
    ind_expr out[2];
    bool known = !in->combining && !in->dividing;
    for (int i = 0; i < 2 && known; i++) {
        const ir__op_cache_entry *had = ir__cache_slot(c, kind[i], e, symbol);
        known = had->key && had->key == ir__cache_key(c, kind[i]) && had->a == e.id && had->b == symbol.id;
        out[i] = ir__expr_make(c, had->result);
    }
    if (!known) {
        const uint64_t before = ir__mishaps(c);
        ir__affine(e, symbol, out);
        for (int i = 0; i < 2 && !in->combining && !in->dividing && before == ir__mishaps(c); i++)
            *ir__cache_slot(c, kind[i], e, symbol) =
                (ir__op_cache_entry){ir__cache_key(c, kind[i]), e.id, symbol.id, out[i].id};
    }
    if (!ind__ok(out[0])) return false;
    if (coefficient) *coefficient = out[0];
    if (rest) *rest = out[1];
    return true;
}

ind_expr ind__linearise(ind_context *c, const ind_expr *index, const ind_expr *size, int rank) {
    ir__sum s = {.context = c};
    ind_expr stride = ind_int(c, 1);
    for (int i = rank - 1; i >= 0; i--) {
        ir__sum_add(&s, ir__mul2(index[i], stride), 1);
        if (i) stride = ir__mul2(stride, size[i]);
    }
    return ir__sum_finish(&s);
}

void ind__delinearise(ind_context *c, ind_expr linear, const ind_expr *size, int rank, ind_expr *index) {
    ind_expr stride = ind_int(c, 1), one = stride;
    for (int i = rank - 1; i >= 0; i--) {
        /* an extent that may be 0 is replaced by Max(.., 1): the loop has no points then, and the divisor only has to
           be legal */
        ind_expr at = ind_expr_floordiv(linear, ind_expr_max(stride, one));
        index[i] = i ? ind_expr_mod(at, ind_expr_max(size[i], one)) : at;
        stride = ir__mul2(stride, size[i]);
    }
}

ind_expr ind__align_up(ind_expr e, int64_t to) {
    if (!ind__ok(e) || ind_known_multiple(e, to)) return e;
    ind_expr unit = ind_int(e.context, to);
    return ir__mul2(ind_expr_ceildiv(e, unit), unit);
}
