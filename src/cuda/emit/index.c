/* -------------------------------------------------------------------------------------------------- >>index */

/* Returns the number of a size argument, or of a reciprocal, with the value of `a`. Equal values share one argument. */
static uint32_t cg__value_arg(ind__writer *w, ind__kernel_arg a) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < w->args.num; i++) {
        if (w->args.arg[i].kind != IND__ARG_SIZE || w->args.arg[i].reciprocal != a.reciprocal) continue;
        if (ind_expr_same(w->args.arg[i].size, a.size)) return number;
        number++;
    }
    ind__kernel_arg *added = IND__PUSH(w->context, ind__kernel_arg, w->args.arg, w->args.num, w->args.cap);
    if (!added) {
        cg__fail(w);
        return 0;
    }
    a.computed = ind__expr_has_kind(a.size, IND_SYMBOL_UNBACKED);
    *added = a;
    return number;
}

static uint32_t cg__size_arg(ind__writer *w, ind_expr size) {
    return cg__value_arg(w, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = size});
}

/* Returns a symbol that stands for a size argument while an index is printed. It has the range of the size, which tells
   the printer if a plain C division is enough. */
static ind_expr cg__size_symbol(ind__writer *w, ind_expr size) {
    if (ind_expr_is_int(size, NULL)) return size;
    int64_t lo, hi;
    ind__known_bounds(size, &lo, &hi);
    int64_t hint = ind_hint(size);
    ind_symbol s = {.kind = IND_SYMBOL_SIZE,
                    .slot = -1,
                    .name = cg__string(w, "n%u", cg__size_arg(w, size)),
                    .lo = lo,
                    .hi = hi,
                    .multiple_of = 1,
                    .hint = hint < lo   ? lo
                            : hint > hi ? hi
                                        : hint};
    return ind_symbol_expr(w->context, &s);
}

#define IND__CG_MAX_DEPTH                                                                                              \
    64 /* of an index expression; deeper ones are refused, as the recursion would need a deep stack */

static ind_expr cg__sizes_to_args(ind__writer *w, ind_expr e, int depth);

/* Splits a sum or product: its arguments that consist of sizes become one size argument. */
static ind_expr cg__split_nary(ind__writer *w, ind_expr e, int depth) {
    ind_expr sizes = {0}, rest = {0};
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        ind_expr a = ind_expr_arg(e, i);
        ind_expr *into = ind__expr_is_size(a) ? &sizes : &rest;
        if (into == &rest) a = cg__sizes_to_args(w, a, depth + 1);
        *into = into->id ? ind__expr_rebuild(e, (ind_expr[]){*into, a}, 2) : a;
    }
    if (!sizes.id) return rest;
    return ind__expr_rebuild(e, (ind_expr[]){cg__size_symbol(w, sizes), rest}, 2);
}

/* Returns e with every maximal subexpression of sizes replaced by the symbol of a size argument. */
static ind_expr cg__sizes_to_args(ind__writer *w, ind_expr e, int depth) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    if (kind == IND_EXPR_NONE) return e;
    if (depth > IND__CG_MAX_DEPTH) {
        ind__fail(w->context, IND_ERROR_LIMIT, "kernel %s: an index expression is nested more than %d deep",
                  w->kernel->name, IND__CG_MAX_DEPTH);
        return (ind_expr){0};
    }
    if (ind__expr_is_size(e)) return cg__size_symbol(w, e);
    if (kind == IND_EXPR_SYM) return e;
    if (kind == IND_EXPR_ADD || kind == IND_EXPR_MUL) return cg__split_nary(w, e, depth);
    const int n = ind_expr_num_args(e);
    ind_expr *a = (ind_expr *)ind__arena_alloc(&w->scratch, (size_t)n * sizeof *a);
    for (int i = 0; a && i < n; i++) a[i] = cg__sizes_to_args(w, ind_expr_arg(e, i), depth + 1);
    return a ? ind__expr_rebuild(e, a, n) : (ind_expr){0};
}

static void cg__symbol_name(ind__text *t, ind_expr symbol, void *user) {
    ind__writer *w = (ind__writer *)user;
    for (int d = 0; d < w->plan->domain.rank + w->plan->domain.rrank; d++) {
        if (!ind_expr_same(symbol, w->plan->domain.var[d])) continue;
        ind__textf(t, "%s", w->var[d] ? w->var[d] : "");
        if (!w->var[d]) {
            ind__fail(w->context, IND_ERROR_VERIFY, "kernel %s: loop variable %d is used where it has no value",
                      w->kernel->name, d);
            cg__fail(w);
        }
        return;
    }
    for (int d = 0; d < w->plan->domain.rank; d++) {
        if (!ind_expr_same(symbol, w->linear[d])) continue;
        ind__textf(t, "%s", w->linear_name[d]);
        return;
    }
    const ind_symbol *s = ind_expr_symbol(symbol);
    if (s && s->kind == IND_SYMBOL_INDIRECT)
        ind__textf(t, "t%d", s->slot);
    else
        ind__textf(t, "%s", s ? s->name : "");
}

/* Writes an index expression: loop variables by their names in the source, subexpressions of sizes as arguments n0, n1,
   .. */
static void cg__expr(ind__writer *w, ind_expr e) {
    ind_expr split = cg__sizes_to_args(w, e, 0);
    if (!split.id) {
        cg__fail(w);
        return;
    }
    size_t from = w->code.size;
    ind__text_expr_c(&w->code, split, w->plan->wide, cg__symbol_name, w);
    const char *text = w->code.data ? w->code.data + from : "";
    if (strstr(text, "ind_floor")) cg__use(w, IND__CG_FLOORDIV);
    if (strstr(text, "ind_m")) cg__use(w, IND__CG_MAXMIN);
}

/* Returns the same as a string that lives as long as the writer, for scope headers and names. */
static const char *cg__expr_string(ind__writer *w, ind_expr e) {
    ind__text keep = w->code;
    w->code = (ind__text){.context = w->context, .mid_line = true};
    cg__expr(w, e);
    const char *s = w->code.data ? ind__arena_string(&w->scratch, w->code.data, w->code.size) : NULL;
    if (!s || w->code.failed) cg__fail(w);
    ind__text_free(&w->code);
    w->code = keep;
    return s ? s : "";
}
