/* Attention on tensor cores with mma.sync. A warp has 16 queries. It multiplies them with a tile of keys, and the
   exponentials, which are in the layout of a left operand, with the tile of values of the same keys. */

/* ---- which keys a tile of queries needs */

/* Keys of a tile, as texts: those that some query of it sees are in [start, end), those that all see in [all_start,
   all_end). NULL: not limited. */
typedef struct cg__at_range {
    const char *start, *end, *all_start, *all_end;
} cg__at_range;

/* The expression for the first or last query of the tile. */
static const char *cg__at_query_text(ind__writer *w, const cg__mm_problem *p, ind_expr e, bool last) {
    if (p->m < 0) return cg__expr_string(w, e);
    const char *before = w->var[p->m];
    w->var[p->m] = last ? "last_m" : "first_m";
    const char *text = cg__expr_string(w, e);
    w->var[p->m] = before;
    return text;
}

/* How the limits of a tile are written. */
typedef struct cg__at_limits {
    bool alone; /* one thread computes them, not a warp */
    int num;    /* of limits that differ from query to query by data, so far */
} cg__at_limits;

static bool cg__at_has_row_values(const ind__writer *w, const cg__mm_problem *p, ind_expr e);
static void cg__at_write_row_limit(ind__writer *w, const cg__mm_problem *p, ind_expr e, cg__at_limits *l);

/* The range of an inequality whose slack is e, for a query, plus or minus the key: e has integers from memory that
   differ from query to query. */
static bool cg__at_row_inequality(ind__writer *w, const cg__mm_problem *p, ind_expr e, int64_t by, cg__at_limits *l,
                                  cg__at_range *r) {
    if (by != 1 && by != -1) return false;
    cg__at_write_row_limit(w, p, e, l);
    const char *low = cg__string(w, "low%d", l->num), *high = cg__string(w, "high%d", l->num);
    l->num++;
    if (by == -1)
        r->end = cg__string(w, "%s + 1", high), r->all_end = cg__string(w, "%s + 1", low);
    else
        r->start = cg__string(w, "-%s", high), r->all_start = cg__string(w, "-%s", low);
    return true;
}

/* Bounds of an expression over all values of a variable that occurs in it only as the dividend of remainders: rows that
   are queries of several heads have i % T as their query. */
static bool cg__at_bounds_of_remainders(ind_expr e, ind_expr var, ind_expr *low, ind_expr *high) {
    const ind_expr_kind kind = ind_expr_query_kind(e);
    const int num = ind_expr_num_args(e);
    ind_context *c = e.context;
    int64_t by = 1;
    *low = *high = e;
    if (!ind__expr_depends(e, var)) return true;
    if (kind == IND_EXPR_MOD && ind_known_le(ind_int(c, 1), ind_expr_arg(e, 1)) &&
        !ind__expr_depends(ind_expr_arg(e, 1), var)) {
        *low = ind_int(c, 0);
        *high = ind_expr_sub(ind_expr_arg(e, 1), ind_int(c, 1));
        return true;
    }
    if (kind == IND_EXPR_MUL && num == 2 && ind_expr_is_int(ind_expr_arg(e, 0), &by)) {
        if (!cg__at_bounds_of_remainders(ind_expr_arg(e, 1), var, by < 0 ? high : low, by < 0 ? low : high))
            return false;
        *low = ind_expr_mul(*low, ind_int(c, by));
        *high = ind_expr_mul(*high, ind_int(c, by));
        return true;
    }
    if (kind != IND_EXPR_ADD) return false;
    *low = *high = ind_int(c, 0);
    for (int i = 0; i < num; i++) {
        ind_expr least, most;
        if (!cg__at_bounds_of_remainders(ind_expr_arg(e, i), var, &least, &most)) return false;
        *low = ind_expr_add(*low, least);
        *high = ind_expr_add(*high, most);
    }
    return true;
}

/* The smallest and the largest e of the queries of a tile, as texts. False: e is not linear in the query and has no
   bounds of remainders. */
static bool cg__at_bounds_of_queries(ind__writer *w, const cg__mm_problem *p, ind_expr e, const char **low,
                                     const char **high) {
    const ind_expr var = p->m >= 0 ? w->plan->domain.var[p->m] : (ind_expr){0};
    ind_expr along, constant, least, most;
    int64_t slope = 0;
    if (p->m < 0 || (ind__affine(e, var, &along, &constant) && ind_expr_is_int(along, &slope))) {
        *low = cg__at_query_text(w, p, e, slope < 0);
        *high = cg__at_query_text(w, p, e, slope > 0);
        return true;
    }
    if (!cg__at_bounds_of_remainders(e, var, &least, &most)) return false;
    *low = cg__expr_string(w, least);
    *high = cg__expr_string(w, most);
    return true;
}

/* The range of an inequality if it bounds the keys on one side, at a distance that is linear in the query, or differs
   by data from query to query. */
static bool cg__at_inequality(ind__writer *w, const cg__mm_problem *p, ind_expr condition, cg__at_limits *l,
                              cg__at_range *r) {
    const ind__loops *d = &w->plan->domain;
    const ind_expr one = ind_int(w->context, 1);
    ind_expr along_t, rest;
    int64_t by;
    if (!ind__affine(cg__slack(condition), d->var[p->k], &along_t, &rest) || !ind_expr_is_int(along_t, &by))
        return false;
    *r = (cg__at_range){0};
    if (cg__at_has_row_values(w, p, rest)) return cg__at_row_inequality(w, p, rest, by, l, r);
    if (by == -1) return cg__at_bounds_of_queries(w, p, ind_expr_add(rest, one), &r->all_end, &r->end);
    return by == 1 && cg__at_bounds_of_queries(w, p, ind_expr_neg(rest), &r->start, &r->all_start);
}

/* The larger or smaller of two limits of which NULL is none: with `both`, none if one is none. */
static const char *cg__at_limit(ind__writer *w, const char *a, const char *b, char op, bool both) {
    if (!a || !b) return both ? NULL : a ? a : b;
    return cg__string(w, "((%s) %c (%s) ? (%s) : (%s))", a, op, b, a, b);
}

/* The range of a condition; false: nothing is known. */
static bool cg__at_range_of(ind__writer *w, const cg__mm_problem *p, ind_expr e, int depth, cg__at_limits *l,
                            cg__at_range *r) {
    const ind_expr_kind kind = ind__ok(e) ? ind_expr_query_kind(e) : IND_EXPR_NONE;
    if (kind == IND_EXPR_LE || kind == IND_EXPR_LT) return cg__at_inequality(w, p, e, l, r);
    if ((kind != IND_EXPR_AND && kind != IND_EXPR_OR) || depth > 8) return false;
    const bool either = kind == IND_EXPR_OR;
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        cg__at_range other;
        if (!cg__at_range_of(w, p, ind_expr_arg(e, i), depth + 1, l, &other)) return false;
        if (!i) {
            *r = other;
            continue;
        }
        const bool apart = either && (r->all_start || other.all_start);
        r->start = cg__at_limit(w, r->start, other.start, either ? '<' : '>', either);
        r->end = cg__at_limit(w, r->end, other.end, either ? '>' : '<', either);
        r->all_start = cg__at_limit(w, r->all_start, other.all_start, '>', false);
        r->all_end = apart ? "0" : cg__at_limit(w, r->all_end, other.all_end, either ? '>' : '<', either);
    }
    return true;
}

/* `data`: the text may be of any size. */
static void cg__at_write_limit(ind__writer *w, const char *name, const char *text, char op, bool data) {
    if (text && data)
        ind__textf(&w->code, "if ((%s) %c %s) %s = (%s)ind_%s<long long>(%s, %s);\n", text, op, name, name, cg__int(w),
                   op == '<' ? "max" : "min", text, op == '<' ? "0" : "size_k");
    else if (text)
        ind__textf(&w->code, "if ((%s) %c %s) %s = %s;\n", text, op, name, name, text);
    if (text && data) cg__use(w, IND__CG_MAXMIN);
}

/* True if the value of the INDIRECT symbol differs from query to query. */
static bool cg__at_is_row_value(const ind__writer *w, const cg__mm_problem *p, const ind_symbol *s) {
    return s->kind == IND_SYMBOL_INDIRECT && p->m >= 0 && w->plan->varies[s->slot] >> p->m & 1;
}

static bool cg__at_has_row_values(const ind__writer *w, const cg__mm_problem *p, ind_expr e) {
    ind_expr symbol[32];
    const int num = ind__expr_has_kind(e, IND_SYMBOL_INDIRECT) ? ind__expr_symbols(e, symbol, 32) : 0;
    for (int s = 0; s < num && s < 32; s++)
        if (cg__at_is_row_value(w, p, ind_expr_symbol(symbol[s]))) return true;
    return false;
}

/* Declares the value of an INDIRECT symbol of a mask's condition, from values that vary with these variables. */
static void cg__at_write_condition_value(ind__writer *w, uint32_t i, uint32_t vars) {
    cg__need_none(w);
    cg__need(w, i);
    cg__close_needed(w);
    cg__emit(w, vars, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "const long long t%u = ind_max<long long>(ind_min<long long>(", i);
    cg__value(w, i);
    ind__textf(&w->code, ", %lldll), -%lldll);\n", (long long)AT_MAX_LIMIT, (long long)AT_MAX_LIMIT);
    cg__use(w, IND__CG_MAXMIN);
}

/* "low" and "high" with a number: the smallest and the largest e of the tile's queries. */
static void cg__at_write_row_limit(ind__writer *w, const cg__mm_problem *p, ind_expr e, cg__at_limits *l) {
    ind_expr symbol[32];
    const int num = ind__expr_symbols(e, symbol, 32), rows = w->variant->of.tile.m;
    ind__textf(&w->code, "long long low%d = %lldll, high%d = -low%d;\n", l->num, 2 * (long long)AT_MAX_LIMIT, l->num,
               l->num);
    if (l->alone) ind__textf(&w->code, "#pragma unroll 16\n");
    cg__begin(w, "for (int r = %s; r < %d; r += %d)", l->alone ? "0" : "lane", rows, l->alone ? 1 : 32);
    ind__textf(&w->code, "const %s row = first_m + r, i%d = row < last_m ? row : last_m;\n", cg__int(w), p->m);
    for (int s = 0; s < num && s < 32; s++) {
        const ind_symbol *sym = ind_expr_symbol(symbol[s]);
        if (cg__at_is_row_value(w, p, sym))
            cg__at_write_condition_value(w, (uint32_t)sym->slot, ~(1u << p->n | 1u << p->k));
    }
    ind__textf(&w->code, "const long long e = %s;\nlow%d = ind_min(low%d, e);\nhigh%d = ind_max(high%d, e);\n",
               cg__expr_string(w, e), l->num, l->num, l->num, l->num);
    cg__end(w);
    if (l->alone) return;
    cg__begin(w, "for (int d = 16; d > 0; d /= 2)");
    ind__textf(&w->code, "low%d = ind_min(low%d, __shfl_xor_sync(0xffffffffu, low%d, d));\n", l->num, l->num, l->num);
    ind__textf(&w->code, "high%d = ind_max(high%d, __shfl_xor_sync(0xffffffffu, high%d, d));\n", l->num, l->num,
               l->num);
    cg__end(w);
}

/* True if the condition of a mask before number n has the symbol. */
static bool cg__at_has_symbol(const cg__attention *x, int n, ind_expr symbol) {
    for (int i = 0; i < n; i++)
        if (ind__ok(x->mask[i].condition) && ind__expr_depends(x->mask[i].condition, symbol)) return true;
    return false;
}

/* Declares the values in the condition of mask n that are the same for all queries. Returns whether there are values.
 */
static bool cg__at_write_condition_values(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, int n) {
    const ind_expr condition = x->mask[n].condition;
    ind_expr symbol[32];
    if (!ind__ok(condition) || !ind__expr_has_kind(condition, IND_SYMBOL_INDIRECT)) return false;
    const int num = ind__expr_symbols(condition, symbol, 32);
    for (int s = 0; s < num && s < 32; s++) {
        const ind_symbol *sym = ind_expr_symbol(symbol[s]);
        if (sym->kind != IND_SYMBOL_INDIRECT || cg__at_has_symbol(x, n, symbol[s])) continue;
        if (!cg__at_is_row_value(w, p, sym)) cg__at_write_condition_value(w, (uint32_t)sym->slot, ~cg__at_vars(p));
    }
    return true;
}

/* "first_step" and "end_step", and the keys that all queries of the tile see: [all_start, all_end). `alone`: one thread
   computes them; else a warp. */
static void cg__at_write_steps(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, bool alone) {
    const int keys = w->variant->of.tile.k;
    cg__at_limits limits = {.alone = alone};
    ind__textf(&w->code, "%s start = 0, end = size_k, all_start = 0, all_end = size_k;\n", cg__int(w));
    for (int i = 0; i < x->num_masks; i++) {
        cg__at_range r;
        const bool data = cg__at_write_condition_values(w, p, x, i);
        if (cg__at_reads_blocks(w) && (x->mask[i].of_block || x->mask[i].full)) continue;
        if (!cg__at_range_of(w, p, x->mask[i].condition, 0, &limits, &r)) {
            ind__textf(&w->code, "all_end = 0;\n");
            continue;
        }
        cg__at_write_limit(w, "start", r.start, '>', data);
        cg__at_write_limit(w, "end", r.end, '<', data);
        cg__at_write_limit(w, "all_start", r.all_start, '>', data);
        cg__at_write_limit(w, "all_end", r.all_end, '<', data);
    }
    ind__textf(&w->code, "%s first_step = start / %d, end_step = end > start ? (end + %d) / %d : first_step;\n",
               cg__int(w), keys, keys - 1, keys);
    cg__at_write_blocks(w, p, x, alone);
}

/* ---- tiles */

/* The tile of an operand, from where its problem's sizes and positions are known. */
static void cg__at_write_tile(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    if (o->copy)
        cg__mm_write_copy(w, p, o, name);
    else if (o->computed && p->tensor_bytes == 2)
        cg__at_write_computed(w, p, o, name);
    else
        cg__mm_write_units(w, p, o, name);
}

/* Loads the queries. */
static void cg__at_write_queries(ind__writer *w, const cg__attention *x) {
    const ind__variant *v = w->variant;
    ind__variant tile = *v;
    tile.of.tile.k = x->features;
    w->variant = &tile;
    cg__begin(w, "%s", "");
    ind__textf(&w->code, "const %s size_k = %s, first_k = 0;\nconst int stage = 0;\n", cg__int(w),
               cg__expr_string(w, x->queries.size_k));
    ind_expr stride;
    if (x->queries.a.copy && cg__mm_step_of(w, &x->queries, &x->queries.a, &stride))
        cg__mm_write_addresses(w, &x->queries, &x->queries.a, 'a', "");
    cg__at_write_tile(w, &x->queries, &x->queries.a, 'a');
    cg__end(w);
    w->variant = v;
}

/* Begins a function of a step, with its first key. The caller ends it. */
static void cg__at_begin_function(ind__writer *w, const char *name, const char *arguments) {
    ind__textf(&w->code, "const auto %s = [&](%s step%s) {\n", name, cg__int(w), arguments);
    w->code.indent++;
    w->scope++;
    ind__textf(&w->code, "const %s first_k = step * %d;\n", cg__int(w), w->variant->of.tile.k);
}

/* "load_keys" or "load_values": loads the tile of a step. ahead: "fetch_keys" or "fetch_values" loads its inputs into
   registers, from which it is computed. */
static void cg__at_write_load(ind__writer *w, const cg__mm_problem *p, char name, int columns, bool ahead) {
    const ind__variant *v = w->variant;
    const char *what = name == 'd' ? "keys" : "values";
    const int chunks = cg__at_chunks(v, v->of.tile.k * columns);
    ind__variant tile = *v;
    ind_expr stride;
    tile.of.tile.n = columns;
    w->variant = &tile;
    if (p->b.copy && cg__mm_step_of(w, p, &p->b, &stride)) cg__mm_write_addresses(w, p, &p->b, name, "");
    if (ahead) {
        cg__mm_set_plain_names(w);
        cg__at_need_operand(w, p, &p->b);
        cg__at_declare_preloads(w, p, &p->b, name, chunks);
        cg__at_begin_function(w, cg__string(w, "fetch_%s", what), "");
        ind__textf(&w->code, "const int g = 0;\n");
        cg__at_write_preloads(w, p, &p->b, name, chunks);
        cg__mm_end_lambda(w);
    }
    cg__at_begin_function(w, cg__string(w, "load_%s", what), ", int stage");
    if (ahead) ind__textf(&w->code, "const int g = 0;\n");
    if (ahead)
        cg__at_write_chunks(w, p, &p->b, name, chunks);
    else
        cg__at_write_tile(w, p, &p->b, name);
    cg__mm_end_lambda(w);
    w->variant = v;
}

/* ---- the operations between the products */

/* Marks what the softmax is of; what it depends on besides queries and keys is written. */
static void cg__at_need_score(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, bool outside) {
    cg__mm_set_plain_names(w);
    w->value[x->scores] = "product";
    w->value[x->scaled] = x->scaled ? "product" : NULL;
    cg__need_none(w);
    cg__need(w, cg__inst(w, x->reduce)->arg[0]);
    cg__close_needed(w);
    if (!outside) return;
    const ind__inst *in = cg__inst(w, x->scaled);
    const uint32_t scale = in->arg[0] == x->scores ? in->arg[1] : in->arg[0];
    if (x->scaled) cg__need(w, scale);
    cg__close_needed(w);
    cg__emit(w, ~cg__at_vars(p), IND__CG_ALL_STAGES);
    ind__textf(&w->code, "const float scale = 1.44269504f");
    if (x->scaled) ind__textf(&w->code, " * ");
    if (x->scaled) cg__value(w, scale);
    ind__textf(&w->code, ";\n");
}

/* Declares the query of "row". Rows that do not exist have the last one. */
static void cg__at_write_query(ind__writer *w, const cg__mm_problem *p) {
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = row < size_m ? row : last_m;\n", cg__int(w), p->m);
}

/* True if every step has as many keys as a tile. */
static bool cg__at_steps_are_whole(const ind__writer *w, const cg__mm_problem *p) {
    return ind_known_multiple(p->size_k, w->variant->of.tile.k);
}

/* Computes the scores of fragments of 8 keys from the products. `whole`: every query sees every key. */
static void cg__at_write_scores(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, int fragments,
                                bool whole) {
    const bool exist = whole || cg__at_steps_are_whole(w, p);
    cg__at_set_masks(w, x, whole);
    cg__at_need_score(w, p, x, false);
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", fragments * 4);
    ind__textf(&w->code, "const %s row = row_m + u %% 4 / 2 * 8, key = %s;\n", cg__int(w), cg__at_key_text(x));
    cg__at_write_query(w, p);
    ind__textf(&w->code, exist ? "const %s r0 = key;\n" : "const %s r0 = key < size_k ? key : size_k - 1;\n",
               cg__int(w));
    ind__textf(&w->code, "const float product = score[0][u / 4][u %% 4];\n");
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "score[0][u / 4][u %% 4] = ");
    if (!exist) ind__textf(&w->code, "key >= size_k ? __uint_as_float(0xff800000u) : ");
    cg__value(w, cg__inst(w, x->reduce)->arg[0]);
    ind__textf(&w->code, ";\n");
    cg__end(w);
    cg__at_forget_masks(w, x);
}

/* Computes the scores of so many fragments of 8 keys from `first` on. */
static void cg__at_write_step_scores(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, int fragments,
                                     const char *first) {
    ind__textf(&w->code, "const %s first_key = %s, first_t = first_key + lane %% 4%s;\n", cg__int(w), first,
               x->product == AT_MMA_HALVES ? " * 2" : "");
    cg__use(w, IND__CG_ONLINE_ROWS);
    if (x->num_masks == 0 && cg__at_steps_are_whole(w, p)) {
        cg__at_write_scores(w, p, x, fragments, true);
        return;
    }
    cg__begin(w, "if (first_key >= all_start && first_key + %d <= all_end%s)", fragments * 8,
              cg__at_has_blocks(w, x, true) ? " && full_block" : "");
    cg__at_write_scores(w, p, x, fragments, true);
    cg__else(w, "else");
    cg__at_write_scores(w, p, x, fragments, false);
    cg__end(w);
}

/* The accumulators, declared as `acc`, and the state of the softmax of a lane's rows. */
IND__PRINTF(2, 3) static void cg__at_write_state(ind__writer *w, const char *acc, ...) {
    va_list list;
    va_start(list, acc);
    ind__textf(&w->code, "float %s = {}, factor[2];\n", cg__format(w, acc, list));
    va_end(list);
    ind__textf(&w->code,
               "ind_online_rows state = {{__uint_as_float(0xff800000u), __uint_as_float(0xff800000u)}, {0, 0}};\n");
}

/* The value before it is rounded to the type of the operands. */
static uint32_t cg__at_unrounded(const ind__writer *w, uint32_t i) {
    while (cg__inst(w, i)->op == IND_LOOP_ROUND_F16 || cg__inst(w, i)->op == IND_LOOP_ROUND_BF16)
        i = cg__inst(w, i)->arg[0];
    return i;
}

/* Dropout: applies the factors per element to the exponentials, after they are summed. */
static void cg__at_write_dropout(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, int fragments) {
    const uint32_t weight = cg__at_unrounded(w, p->a.value);
    if (!x->kept) return;
    cg__mm_set_plain_names(w);
    w->value[x->kept] = "kept";
    cg__need_none(w);
    cg__need(w, weight);
    cg__close_needed(w);
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", fragments * 4);
    ind__textf(&w->code, "const %s row = row_m + u %% 4 / 2 * 8, key = %s;\n", cg__int(w), cg__at_key_text(x));
    cg__at_write_query(w, p);
    ind__textf(&w->code, "const %s r0 = key < size_k ? key : size_k - 1;\n", cg__int(w));
    ind__textf(&w->code, "const float kept = score[0][u / 4][u %% 4];\n");
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "score[0][u / 4][u %% 4] = ");
    cg__value(w, weight);
    ind__textf(&w->code, ";\n");
    cg__end(w);
    w->value[x->kept] = NULL;
}

/* Writes the weight of a term 1 in a row whose softmax has this state. Returns the value: it is not rounded, and
   without factors per element. */
static uint32_t cg__at_write_weight(ind__writer *w, const cg__mm_problem *p, const cg__attention *x,
                                    const char *state) {
    const uint32_t weight = cg__at_unrounded(w, x->kept ? x->kept : p->a.value);
    cg__use(w, IND__CG_SOFTMAX);
    cg__mm_set_plain_names(w);
    cg__set_results(w, x->reduce, state);
    w->value[x->term] = "1.0f";
    cg__need_none(w);
    cg__need(w, weight);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    return weight;
}

/* True for the STORE of a result of each query, such as the logarithm of its sum of exponentials. */
static bool cg__at_is_row_store(const ind__writer *w, const cg__mm_problem *p, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_STORE && !(w->plan->varies[i] >> p->n & 1);
}

/* Such STOREs are no part of the epilogue. Returns whether there are any. */
static bool cg__at_hide_row_stores(ind__writer *w, const cg__mm_problem *p) {
    bool any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__at_is_row_store(w, p, i)) continue;
        w->value[i] = "written";
        any = true;
    }
    return any;
}

/* Writes the results of the query of "row", if `when`: its softmax has this maximum, multiplied with log2(e), and this
   sum. */
static void cg__at_write_row_stores(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, const char *when,
                                    const char *max, const char *sum) {
    if (!cg__at_hide_row_stores(w, p)) return;
    cg__begin(w, "if (%s)", when);
    ind__textf(&w->code, "const ind_softmax<float> result = {%s * 0.693147181f, %s};\n", max, sum);
    cg__set_results(w, x->reduce, "result");
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__at_is_row_store(w, p, i)) continue;
        w->value[i] = NULL;
        cg__need(w, i);
    }
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
    cg__at_hide_row_stores(w, p);
}

/* Applies the factor of each row to its sums. */
static void cg__at_write_factor(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, const char *acc) {
    ind__textf(&w->code, "state.combine();\n");
    cg__unroll(w);
    cg__begin(w, "for (int r = 0; r < 2; r++)");
    ind__textf(&w->code, "const %s row = row_m + r * 8;\n", cg__int(w));
    cg__at_write_query(w, p);
    ind__textf(&w->code, "const ind_softmax<float> softmax = {state.max[r], state.sum[r]};\n");
    const uint32_t weight = cg__at_write_weight(w, p, x, "softmax");
    ind__textf(&w->code, "factor[r] = ");
    cg__value(w, weight);
    ind__textf(&w->code, ";\n");
    cg__at_write_row_stores(w, p, x, "lane % 4 == 0 && row < size_m", "state.max[r]", "state.sum[r]");
    cg__end(w);
    ind__textf(&w->code, "ind_scale_rows(%s, factor);\n", acc);
}

/* ---- the kernel */

static void cg__at_write_position(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const ind_expr tiles = cg__mm_tiles(p->size_m, tile->m), one = ind_int(w->context, 1);
    const ind_expr blocks[3] = {tiles, one, p->batch};
    const char *at[3], *type = cg__int(w);
    ind__textf(&w->code, "const %s size_m = %s, size_n = %s, size_k = %s, size_d = %s;\n", type,
               cg__expr_string(w, p->size_m), cg__expr_string(w, p->size_n), cg__expr_string(w, p->size_k),
               cg__expr_string(w, x->queries.size_k));
    cg__write_axes(w, blocks, at);
    const char *number = cg__at_has_limits(w, p, x)
                             ? cg__string(w, "(%s - 1 - (%s)%s)", cg__expr_string(w, tiles), type, at[0])
                             : cg__string(w, "(%s)%s", type, at[0]);
    ind__textf(&w->code, "const %s first_m = %s * %d, first_n = 0, first_d = 0;\n", type, number, tile->m);
    ind__textf(&w->code, "const %s last_m = (first_m + %d < size_m ? first_m + %d : size_m) - 1;\n", type, tile->m,
               tile->m);
    cg__write_outer_vars(w, at[2], cg__at_vars(p));
    ind__textf(&w->code, "const int lane = threadIdx.x %% 32, warp_m = threadIdx.x / 32 * 16;\n");
    ind__textf(&w->code, "const %s row_m = first_m + warp_m + lane / 4;\n", type);
}

/* The tiles in shared memory, from these elements on, and the functions that load them. */
static void cg__at_write_tiles(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, int keys, int values) {
    ind__textf(&w->code, "unsigned short *const tile_a = reinterpret_cast<unsigned short *>(ind_smem);\n");
    ind__textf(&w->code, "unsigned short *const tile_d = tile_a + %d, *const tile_b = tile_a + %d;\n", keys, values);
    cg__at_write_load(w, &x->keys, 'd', x->features, x->fetches_keys);
    cg__at_write_load(w, p, 'b', w->variant->of.tile.n, x->fetches_values);
    cg__use(w, IND__CG_CP_ASYNC);
}

/* A step: a tile of keys, then the values of the same keys. The copies of the next step are in flight. */
static void cg__at_write_step(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *next = cg__at_next_step(w, x), *wait = "ind_cp_async_wait<1>();\n__syncthreads();\n";
    cg__at_write_step_blocks(w, x);
    ind__textf(&w->code, "%sif (%s < end_step) load_keys(%s, stage ^ 1);\nind_cp_async_commit();\n", wait, next, next);
    ind__textf(&w->code, "float score[1][%d][4] = {};\n", tile->k / 8);
    cg__at_write_keys_product(w, p, x, "warp_m", NULL);
    cg__at_write_step_scores(w, p, x, tile->k / 8, cg__string(w, "step * %d", tile->k));
    ind__textf(&w->code, "state.add(score[0], factor, scale);\nind_scale_rows(acc[0], factor);\n");
    cg__at_write_dropout(w, p, x, tile->k / 8);
    ind__textf(&w->code, "%sif (%s < end_step) load_values(%s, stage ^ 1);\nind_cp_async_commit();\n", wait, next,
               next);
    cg__at_write_values_product(w, p, x, NULL);
}

/* The body of the kernel function, as cg__choose_attention decided. */
static ind_status cg__emit_attention(ind__writer *w) {
    const cg__mm_problem *p = w->plan->matmul;
    const cg__attention *x = w->plan->attention;
    const ind__tile_plan *tile = &w->variant->of.tile;
    cg__mm_set_plain_names(w);
    ind__textf(&w->code, "extern __shared__ __align__(128) unsigned char ind_smem[];\n");
    cg__at_write_position(w, p, x);
    cg__at_write_steps(w, p, x, false);
    const int keys = cg__at_units(x, tile->m * x->features);
    cg__at_write_tiles(w, p, x, keys, keys + cg__at_units(x, 2 * tile->k * x->features));
    cg__at_write_queries(w, x);
    cg__at_write_own_weights(w, x, cg__at_shared(x, tile->m, tile->k, tile->n), tile->k);
    ind__textf(&w->code, "if (first_step < end_step) load_keys(first_step, 0);\nind_cp_async_commit();\n"
                         "if (first_step < end_step) load_values(first_step, 0);\nind_cp_async_commit();\n");
    cg__at_need_score(w, p, x, true);
    cg__at_write_state(w, "acc[1][%d][4]", tile->n / 8);
    ind__textf(&w->code, "int stage = 0;\n#pragma unroll 1\n");
    cg__begin(w, "for (%s step = first_step; step < end_step; %s, stage ^= 1)", cg__int(w),
              cg__at_has_blocks(w, x, false) ? "step = next" : "step++");
    cg__at_write_step(w, p, x);
    cg__end(w);
    cg__at_write_factor(w, p, x, "acc[0]");
    ind__textf(&w->code, "ind_cp_async_wait<0>();\n__syncthreads();\n");
    ind__textf(&w->code, "float *const sum = reinterpret_cast<float *>(ind_smem);\n");
    ind__textf(&w->code, "ind_mma_sums<%d%s>(sum, acc, warp_m, 0);\n__syncthreads();\n", tile->n,
               x->product == AT_FMA ? ", true" : "");
    cg__use(w, IND__CG_MMA_SUMS);
    const cg__mm_area area = {
        .rows = tile->m, .cols = tile->n, .threads = w->variant->threads, .thread = "threadIdx.x", .pitch = tile->n};
    cg__mm_set_sum_text(w, p);
    cg__mm_write_epilogue(w, p, &area);
    return w->failed ? ind__failed(w->context) : IND_OK;
}
