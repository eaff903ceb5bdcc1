/* ---------------------------------------------------------------------------------------------- >>attention */

/* Attention: out[batch, m, n] = epilogue(sum over t of weight(softmax over t of score(sum over d of q[batch, m, d] *
   k[batch, t, d])) * v[batch, t, n]), in one kernel. The product with the values is the kernel's matmul; its left
   operand is computed from the scores, which are the inner product of its body. Each operand has a problem in the terms
   of templates/gemm, for the functions that load its tiles. */

enum { AT_MAX_MASKS = 16 };

/* Integers from memory that limit keys are at most this, and at least its negative. */
#define AT_MAX_LIMIT ((int64_t)1 << 60)

/* How operands are multiplied. */
typedef enum cg__at_product { AT_MMA_HALVES, AT_MMA_TF32, AT_FMA } cg__at_product;

/* A condition on query and key without which the score is -inf. */
typedef struct cg__at_mask {
    uint32_t value;     /* the bool */
    bool when;          /* its value for keys that count */
    ind_expr condition; /* that they count, in indices, sizes and integers from memory that are the same for all keys,
                           as INDIRECT symbols; not set: it depends on other data */
    bool of_block;      /* the value is the same for all scores of a block: templates/attention/blocks.c */
    uint32_t full;      /* a bool that is the same for all scores of a block. If it is `when`, so is `value`. 0: none */
} cg__at_mask;

typedef struct cg__attention {
    cg__mm_problem queries, keys; /* operand a: [m, d]; operand b: [t, d], whose steps are along t */
    cg__at_product product;
    uint32_t scores;       /* the product of queries and keys */
    uint32_t reduce, term; /* the softmax, and its exponentials */
    int features;          /* columns of the tiles of queries and keys */
    int64_t heads;         /* whose queries are the rows of a tile: 1, or those that share keys and values */
    int query_stages;      /* bulk copies: tiles of queries in shared memory, 1 or 2 */
    bool starts_ahead;     /* bulk copies: the next tile's products start before the results of a tile are written */
    int sorted_batches;    /* bulk copies: batches whose tiles are sorted by their lengths; 0: batch after batch */
    bool fetches_keys, fetches_values; /* split keys: their inputs are loaded into registers a step ahead */
    cg__at_mask mask[AT_MAX_MASKS];
    int num_masks;
    uint32_t kept;   /* dropout: the weights before it; 0: none */
    uint32_t scaled; /* scores times a positive number that is the same for all of them, before the masks. The
                        exponentials apply the number. 0: none */
} cg__attention;

/* ---- masks: conditions in indices */

static bool cg__at_is_constant(const ind__writer *w, uint32_t i, double value) {
    const ind__inst *in = cg__inst(w, i);
    return in->op == IND_LOOP_CONSTANT && ind_dtype_is_float((ind_dtype)in->dtype) && in->imm.f == value;
}

/* Queries, keys and columns of the result, as bits of ind__body_plan.varies. */
static uint32_t cg__at_vars(const cg__mm_problem *p) {
    return (p->m >= 0 ? 1u << p->m : 0) | 1u << p->n | 1u << p->k;
}

/* The integer as an expression of indices, sizes, and values that are the same for all keys; not set: it depends on
   other data. */
static ind_expr cg__at_integer(const ind__writer *w, const cg__mm_problem *p, uint32_t i, int depth) {
    const ind__inst *in = cg__inst(w, i);
    ind_expr a = {0}, b = {0};
    if (depth > IND__CG_MAX_DEPTH || (in->dtype != IND_I32 && in->dtype != IND_I64)) return a;
    if (in->op == IND_LOOP_INDEX) return cg__index_of(w, i);
    if (in->op == IND_LOOP_CONSTANT) return ind_int(w->context, in->imm.i);
    if (in->op == IND_LOOP_CAST) a = cg__at_integer(w, p, in->arg[0], depth + 1);
    if (ind__ok(a)) return a;
    if (in->op == IND_LOOP_ADD || in->op == IND_LOOP_SUB) {
        a = cg__at_integer(w, p, in->arg[0], depth + 1), b = cg__at_integer(w, p, in->arg[1], depth + 1);
        if (ind__ok(a) && ind__ok(b)) return in->op == IND_LOOP_ADD ? ind_expr_add(a, b) : ind_expr_sub(a, b);
    }
    if (w->plan->varies[i] & (1u << p->n | 1u << p->k) || w->plan->stage[i]) return (ind_expr){0};
    char name[16];
    ind__format(name, sizeof name, "t%u", i);
    const ind_symbol same = {
        .kind = IND_SYMBOL_INDIRECT, .slot = (int)i, .name = name, .lo = -AT_MAX_LIMIT, .hi = AT_MAX_LIMIT};
    return ind_symbol_expr(w->context, &same);
}

/* The same for a bool that must be `when`: a condition of LE, LT, AND and OR. */
static ind_expr cg__at_condition(const ind__writer *w, const cg__mm_problem *p, uint32_t i, bool when, int depth);

/* The condition that e has the value `when`. */
static ind_expr cg__at_truth(ind_expr e, bool when) {
    const ind_expr_kind kind = ind_expr_query_kind(e);
    if (kind == IND_EXPR_NOT) return cg__at_truth(ind_expr_arg(e, 0), !when);
    if (when) return e;
    if (kind == IND_EXPR_LE) return ind_expr_lt(ind_expr_arg(e, 1), ind_expr_arg(e, 0));
    return kind == IND_EXPR_LT ? ind_expr_le(ind_expr_arg(e, 1), ind_expr_arg(e, 0)) : (ind_expr){0};
}

/* a == b has the value `when`. */
static ind_expr cg__at_equality(ind_expr a, ind_expr b, bool when) {
    return when ? ind_expr_and(ind_expr_le(a, b), ind_expr_le(b, a))
                : ind_expr_or(ind_expr_lt(a, b), ind_expr_lt(b, a));
}

static ind_expr cg__at_comparison(const ind__writer *w, const cg__mm_problem *p, const ind__inst *in, bool when,
                                  int depth) {
    const ind_expr a = cg__at_integer(w, p, in->arg[0], depth + 1), b = cg__at_integer(w, p, in->arg[1], depth + 1);
    if (!ind__ok(a) || !ind__ok(b)) return (ind_expr){0};
    if (in->op == IND_LOOP_EQ || in->op == IND_LOOP_NE) return cg__at_equality(a, b, (in->op == IND_LOOP_EQ) == when);
    const bool less = in->op == IND_LOOP_LT || in->op == IND_LOOP_LE,
               equal = in->op == IND_LOOP_LE || in->op == IND_LOOP_GE;
    const ind_expr e = equal ? ind_expr_le(less ? a : b, less ? b : a) : ind_expr_lt(less ? a : b, less ? b : a);
    return ind__ok(e) ? cg__at_truth(e, when) : e;
}

static ind_expr cg__at_condition(const ind__writer *w, const cg__mm_problem *p, uint32_t i, bool when, int depth) {
    const ind__inst *in = cg__inst(w, i);
    if (depth > IND__CG_MAX_DEPTH) return (ind_expr){0};
    switch ((ind_loop_op)in->op) {
    case IND_LOOP_CAST:
        return in->dtype == IND_BOOL && cg__inst(w, in->arg[0])->op == IND_LOOP_INDEX
                   ? cg__at_truth(cg__index_of(w, in->arg[0]), when)
                   : (ind_expr){0};
    case IND_LOOP_INDEX: return in->dtype == IND_BOOL ? cg__at_truth(cg__index_of(w, i), when) : (ind_expr){0};
    case IND_LOOP_NOT: return cg__at_condition(w, p, in->arg[0], !when, depth + 1);
    case IND_LOOP_EQ:
    case IND_LOOP_NE:
    case IND_LOOP_LT:
    case IND_LOOP_LE:
    case IND_LOOP_GT:
    case IND_LOOP_GE: return cg__at_comparison(w, p, in, when, depth);
    case IND_LOOP_AND:
    case IND_LOOP_OR: break;
    default: return (ind_expr){0};
    }
    const ind_expr a = cg__at_condition(w, p, in->arg[0], when, depth + 1);
    const ind_expr b = cg__at_condition(w, p, in->arg[1], when, depth + 1);
    if (!ind__ok(a) || !ind__ok(b)) return (ind_expr){0};
    return (in->op == IND_LOOP_AND) == when ? ind_expr_and(a, b) : ind_expr_or(a, b);
}

static bool cg__at_is_of_block(const ind__writer *w, const cg__mm_problem *p, uint32_t i, int depth);
static uint32_t cg__at_full_value(const ind__writer *w, const cg__mm_problem *p, uint32_t value, bool when);

/* Adds the masks of a conjunction. Masks after the first AT_MAX_MASKS are evaluated for every score, and skip no tiles.
 */
static void cg__at_add_mask(const ind__writer *w, const cg__mm_problem *p, cg__attention *x, uint32_t value, bool when,
                            int depth) {
    const ind__inst *in = cg__inst(w, value);
    if (in->op == IND_LOOP_NOT && depth < 8) {
        cg__at_add_mask(w, p, x, in->arg[0], !when, depth + 1);
        return;
    }
    if (in->op == (when ? IND_LOOP_AND : IND_LOOP_OR) && depth < 8) {
        cg__at_add_mask(w, p, x, in->arg[0], when, depth + 1);
        cg__at_add_mask(w, p, x, in->arg[1], when, depth + 1);
        return;
    }
    if (x->num_masks == AT_MAX_MASKS) return;
    cg__at_mask m = {.value = value, .when = when, .condition = cg__at_condition(w, p, value, when, 0)};
    m.of_block = !ind__ok(m.condition) && cg__at_is_of_block(w, p, value, 0);
    m.full = ind__ok(m.condition) || m.of_block ? 0 : cg__at_full_value(w, p, value, when);
    x->mask[x->num_masks++] = m;
}

/* Finds masks: WHERE selects -inf. They are selected last, or added to the score as 0 or -inf. Returns what is left of
   the value. */
static uint32_t cg__at_without_mask(const ind__writer *w, const cg__mm_problem *p, cg__attention *x, uint32_t value,
                                    bool added) {
    const ind__inst *in = cg__inst(w, value);
    if (in->op != IND_LOOP_WHERE) return value;
    for (int k = 1; k < 3; k++) {
        const uint32_t other = in->arg[3 - k];
        if (!cg__at_is_constant(w, other, -INFINITY) || (added && !cg__at_is_constant(w, in->arg[k], 0))) continue;
        cg__at_add_mask(w, p, x, in->arg[0], k == 1, 0);
        return in->arg[k];
    }
    return value;
}

/* True if the value is positive, or NaN. */
static bool cg__at_is_positive(const ind__writer *w, uint32_t i) {
    const ind__inst *in = cg__inst(w, i);
    return (in->op == IND_LOOP_CONSTANT && in->imm.f > 0) || in->op == IND_LOOP_RSQRT;
}

/* Sets what is left of the softmax's operand without masks, if it is the scores times a positive number. */
static void cg__at_find_scale(const ind__writer *w, const cg__mm_problem *p, cg__attention *x, uint32_t value) {
    const ind__inst *in = cg__inst(w, value);
    for (int k = 0; k < 2 && in->op == IND_LOOP_MUL; k++) {
        const uint32_t varies = w->plan->varies[in->arg[1 - k]];
        if (in->arg[k] == x->scores && cg__at_is_positive(w, in->arg[1 - k]) && !(varies & cg__at_vars(p)))
            x->scaled = value;
    }
}

static void cg__at_find_masks(const ind__writer *w, const cg__mm_problem *p, cg__attention *x) {
    for (uint32_t value = cg__inst(w, x->reduce)->arg[0], next;; value = next) {
        const ind__inst *in = cg__inst(w, value);
        next = cg__at_without_mask(w, p, x, value, false);
        for (int k = 0; k < 2 && next == value && in->op == IND_LOOP_ADD; k++)
            if (cg__at_without_mask(w, p, x, in->arg[k], true) != in->arg[k]) next = in->arg[1 - k];
        if (next == value) {
            cg__at_find_scale(w, p, x, value);
            return;
        }
    }
}

/* True if the keys of a tile are known to be limited by its queries. The last queries then start first: a causal mask
   leaves them the most keys, so the blocks that end last are short. */
static bool cg__at_has_limits(const ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    bool any = false;
    for (int i = 0; i < x->num_masks && p->m >= 0; i++)
        any |= ind__ok(x->mask[i].condition) && ind__expr_depends(x->mask[i].condition, w->plan->domain.var[p->m]);
    return any;
}

/* ---- the problem */

static void cg__at_set_product(const ind__writer *w, cg__mm_problem *p, cg__attention *x);
static void cg__at_choose_vectors(cg__decider *d, const cg__mm_problem *p, cg__mm_operand *o);
static int cg__at_tile_registers(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, int elements);
static int cg__at_bytes(const cg__attention *x);
static int64_t cg__at_weight_bytes(const cg__attention *x, int keys);
static bool cg__at_hide_row_stores(ind__writer *w, const cg__mm_problem *p);

static void cg__at_set_sizes(const ind__writer *w, cg__mm_problem *p) {
    p->sum = IND_F32;
    p->program = w->schedule->program;
    p->size_m = cg__mm_extent(w, p->m);
    p->size_n = cg__mm_extent(w, p->n);
    p->size_k = cg__mm_extent(w, p->k);
    p->batch = ind_int(w->context, 1);
    for (int v = 0; v < w->plan->domain.rank; v++)
        if (cg__mm_is_batch(p, v)) p->batch = ind_expr_mul(p->batch, w->plan->domain.extent[v]);
}

/* Splits batch variables whose indices are divided: heads of queries that share a head of keys. */
static void cg__at_split_batch(cg__decider *d, int *m, int *n) {
    ind__loops *x = &d->plan->domain;
    for (int v = 0; v < x->rank; v++) {
        if (v == *m || v == *n) continue;
        ind_expr size = ind__loops_split_size(x, v, NULL);
        while (ind__ok(size) && ind__loops_split(x, v, size)) {
            *m += *m > v;
            *n += *n > v;
            size = ind__loops_split_size(x, v, NULL);
        }
    }
    if (x->failed) cg__fail(&d->w);
    if (!d->w.failed) cg__analyse(d);
}

/* The rows if there is one query: heads that share keys and values. -1: no dimension of the queries alone. */
static int cg__at_find_rows(const ind__writer *w, uint32_t weight, uint32_t keys, uint32_t values, int n) {
    for (int v = w->plan->domain.rank - 1; v >= 0; v--)
        if (v != n && (w->plan->varies[weight] & ~w->plan->varies[keys] & ~w->plan->varies[values]) >> v & 1) return v;
    return -1;
}

/* True if the rows of the operand lie one after another, also those of neighbouring heads. */
static bool cg__at_rows_adjoin(const ind__writer *w, uint32_t i, int head) {
    const ind__loops *d = &w->plan->domain;
    ind_expr outer, inner, rest;
    while (cg__inst(w, i)->op == IND_LOOP_CAST) i = cg__inst(w, i)->arg[0];
    return cg__inst(w, i)->op == IND_LOOP_LOAD && ind__affine(cg__index_of(w, i), d->var[head], &outer, &rest) &&
           ind__affine(rest, d->var[head + 1], &inner, &rest) &&
           ind_known_eq(outer, ind_expr_mul(inner, d->extent[head + 1]));
}

/* True if the queries of heads that share keys become the rows of one tile: they are few, so tiles of one head would
   have empty rows, and each would read the keys again. A causal mask skips the keys that no query of a head sees. Bulk
   copies need rows that lie one after another. If the number of queries is not known, a variant assumes that they are
   few. */
static bool cg__at_joins_heads(const cg__decider *d, int head, int n, uint32_t queries) {
    const ind__loops *x = &d->plan->domain;
    const int m = head + 1;
    const int64_t heads = ind_hint(x->extent[head]), few = ind_hint(x->extent[m]), rows = heads * few;
    if (heads < 2) return false;
    if (!ind_known_le(x->extent[m], ind_int(d->w.context, 255))) return d->assume & IND__ASSUME_FEW_ROWS;
    if (few > IND__SHARED_QUERIES && 10 * ((rows + 127) / 128) > 8 * heads * ((few + 127) / 128)) return false;
    const ind_target *t = d->w.target;
    if (!t->specific || t->sm != 90 || cg__at_rows_adjoin(&d->w, queries, head)) return true;
    int64_t batch = 1;
    for (int v = 0; v < x->rank; v++) batch *= v == head || v == m || v == n ? 1 : ind_hint(x->extent[v]);
    return ind__attention_splits_keys((double)rows, (double)(batch * ((rows + 63) / 64)), false, t->num_sms);
}

/* Makes rows of the queries of heads that share keys and values, if that is better. */
static bool cg__at_join_heads(cg__decider *d, int *m, int *n, uint32_t queries, uint32_t keys, uint32_t values) {
    const uint32_t *varies = d->plan->varies;
    const int head = *m - 1;
    const bool shared = head >= 0 && head != *n && !((varies[keys] | varies[values]) >> head & 1);
    if (!shared || !(varies[queries] >> head & 1) || !cg__at_joins_heads(d, head, *n, queries)) return false;
    if (!ind__loops_join(&d->plan->domain, head)) return false;
    *m -= 1;
    *n -= *n > head;
    if (d->plan->domain.failed) cg__fail(&d->w);
    if (!d->w.failed) cg__analyse(d);
    return true;
}

/* Finds the weights before factors per element, if there are any: dropout. */
static void cg__at_find_dropout(const ind__writer *w, const cg__mm_problem *p, cg__attention *x) {
    for (uint32_t v = p->a.value, next; v != x->term && v; v = next) {
        const ind__inst *in = cg__inst(w, v);
        uint32_t other = 0;
        next = in->arg[0];
        if (in->op == IND_LOOP_MUL) other = in->arg[1];
        if (in->op == IND_LOOP_WHERE)
            other = in->arg[0], next = cg__at_is_constant(w, in->arg[1], 0) ? in->arg[2] : in->arg[1];
        if (other && w->plan->varies[other] >> p->k & 1) x->kept = next;
    }
}

/* Reads the problem off the kernel. */
static void cg__at_find_problem(cg__decider *d, cg__mm_problem *p, cg__attention *x) {
    ind__writer *w = &d->w;
    const ind_kernel *k = w->kernel;
    int m = k->matmul.m, n = k->matmul.n;
    cg__at_split_batch(d, &m, &n);
    if (w->failed) return;
    const ind__inst *dot = cg__inst(w, k->matmul.dot), *scores = cg__inst(w, k->scores);
    const int64_t heads = m > 0 ? ind_hint(w->plan->domain.extent[m - 1]) : 1;
    const bool joins = cg__at_join_heads(d, &m, &n, scores->arg[0], scores->arg[1], dot->arg[1]);
    if (w->failed) return;
    const int t = w->plan->domain.rank, features = t + 1;
    if (m < 0) m = cg__at_find_rows(w, dot->arg[0], scores->arg[1], dot->arg[1], n);
    x->scores = k->scores;
    x->heads = joins ? heads : 1;
    *p = (cg__mm_problem){.m = m, .n = n, .k = t, .dot = k->matmul.dot};
    p->a.value = dot->arg[0], p->b.value = dot->arg[1];
    x->queries = (cg__mm_problem){.m = p->m, .n = -1, .k = features};
    x->queries.a.value = scores->arg[0];
    x->keys = (cg__mm_problem){.m = -1, .n = features, .k = t};
    x->keys.b.value = scores->arg[1];
    p->b.nearest_row = x->keys.b.nearest_row = "row < start ? start : row < end ? row : end - 1";
    cg__at_set_sizes(w, p);
    cg__at_set_sizes(w, &x->queries);
    cg__at_set_sizes(w, &x->keys);
    cg__mm_find_operand(w, p, &p->b, p->n);
    cg__mm_find_operand(w, &x->queries, &x->queries.a, p->m);
    cg__mm_find_operand(w, &x->keys, &x->keys.b, features);
    cg__at_set_product(w, p, x);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_REDUCE && cg__inst(w, i)->reduction == IND_REDUCE_ONLINE_SOFTMAX)
            x->reduce = i;
    x->term = ind__softmax_term(w->body, x->reduce);
    if (!x->reduce || !x->term) {
        ind__fail(w->context, IND_ERROR_VERIFY, "kernel %s: attention without a softmax", k->name);
        cg__fail(w);
        return;
    }
    cg__at_find_masks(w, p, x);
    cg__at_find_dropout(w, p, x);
}

/* Columns of a tile: powers of two. */
static int cg__at_columns(ind_expr size) {
    int64_t n;
    return ind_expr_is_int(size, &n) ? cg__pow2_at_least(n, 16, IND__ATTENTION_COLUMNS) : IND__ATTENTION_COLUMNS;
}

/* Bytes of shared memory for tiles of so many queries and keys, without the weights of the warps. */
static int64_t cg__at_shared(const cg__attention *x, int queries, int keys, int columns) {
    const int64_t tiles =
        cg__at_bytes(x) * ((int64_t)queries * x->features + 2 * (int64_t)keys * (x->features + columns));
    const int64_t sums = 4 * (int64_t)queries * (columns + 8);
    return tiles > sums ? tiles : sums;
}

/* The same with them. */
static int64_t cg__at_all_shared(const cg__attention *x, const ind__tile_plan *tile) {
    return cg__at_shared(x, tile->m, tile->k, tile->n) + tile->m / 16 * cg__at_weight_bytes(x, tile->k);
}

/* Makes the tile small enough. Of 32-bit operands two blocks fit, if they have 16 keys or more. */
static void cg__at_fit_tile(const cg__attention *x, const ind_target *t, ind__tile_plan *tile) {
    const bool words = cg__at_bytes(x) == 4;
    while (words && tile->k > 16 && 2 * cg__at_all_shared(x, tile) > t->shared_per_block) tile->k /= 2;
    while (tile->m > 32 && cg__at_all_shared(x, tile) > t->shared_per_block) tile->m /= 2;
    tile->warps_m = tile->m / 16;
}

/* Chooses the tile: rows of 16 queries per warp. Each step of keys has two stages. */
static void cg__at_set_tile(cg__decider *d, const cg__mm_problem *p, cg__attention *x) {
    ind__variant *v = d->variant;
    const ind_target *t = d->w.target;
    const int columns = cg__at_columns(p->size_n);
    x->features = cg__at_columns(x->queries.size_k);
    const int64_t queries = ind_hint(p->size_m), tiles = ind_hint(p->batch) * ((queries + 127) / 128);
    const bool wide = queries > 64 && tiles >= t->num_sms && cg__at_bytes(x) == 2;
    v->of.tile = (ind__tile_plan){.m = wide ? 128 : 64,
                                  .n = columns,
                                  .k = columns > 128 || x->features > 128 ? 32 : 64,
                                  .products = 1,
                                  .warps_n = 1,
                                  .stages = 2};
    cg__at_fit_tile(x, t, &v->of.tile);
    v->strategy = x->product == AT_FMA ? IND_STRATEGY_ATTENTION_FMA : IND_STRATEGY_ATTENTION;
    v->threads = 32 * v->of.tile.warps_m;
    v->rows = v->per_thread = 1;
    v->blocks_per_sm = v->threads > 128 ? 1 : 2;
    v->memory.shared = ind_int(d->w.context, cg__at_all_shared(x, &v->of.tile));
    const ind_expr one = ind_int(d->w.context, 1);
    const ind_expr blocks[3] = {cg__mm_tiles(p->size_m, v->of.tile.m), one, p->batch};
    cg__set_axes(d, blocks);
}

static void cg__at_find_maps(cg__decider *d, cg__mm_problem *p, const cg__attention *x);
static bool cg__at_splits_keys(cg__decider *d, const cg__mm_problem *p, cg__attention *x);
static void cg__at_set_split_tile(cg__decider *d, const cg__mm_problem *p, cg__attention *x);
static void cg__at_set_bulk_tile(cg__decider *d, cg__mm_problem *p, cg__attention *x);

/* True if tiles of keys are skipped because of a mask. The rows of several heads do not limit the keys by their
   queries; blocks that share keys read no map. */
static bool cg__at_skips_tiles(const ind__writer *w, const cg__mm_problem *p, const cg__attention *x,
                               const cg__at_mask *m, bool few) {
    if (!ind__ok(m->condition)) return m->of_block && !few;
    return x->heads == 1 || p->m < 0 || !ind__expr_depends(m->condition, w->plan->domain.var[p->m]);
}

/* Decides everything. Error: IND_ERROR_VERIFY, if the body has no softmax. */
static ind_status cg__choose_attention(cg__decider *d, ind__variant *v) {
    cg__mm_problem *p = (cg__mm_problem *)ind__arena_alloc(&d->w.scratch, sizeof *p);
    cg__attention *x = (cg__attention *)ind__arena_alloc(&d->w.scratch, sizeof *x);
    if (!p || !x) return ind__failed(d->w.context);
    d->plan->matmul = p;
    d->plan->attention = x;
    cg__at_find_problem(d, p, x);
    if (d->w.failed) return ind__failed(d->w.context);
    cg__choose_index_bits(d);
    x->queries.a.copy = cg__mm_can_copy(d, &x->queries, &x->queries.a);
    x->keys.b.copy = cg__mm_can_copy(d, &x->keys, &x->keys.b);
    p->b.copy = cg__mm_can_copy(d, p, &p->b);
    cg__at_choose_vectors(d, &x->queries, &x->queries.a);
    cg__at_choose_vectors(d, &x->keys, &x->keys.b);
    cg__at_choose_vectors(d, p, &p->b);
    cg__at_hide_row_stores(&d->w, p);
    v->vector = cg__mm_choose_vector(d, p);
    const bool few = cg__at_splits_keys(d, p, x);
    if (!few) cg__at_find_maps(d, p, x);
    if (d->w.failed) return ind__failed(d->w.context);
    if (few) {
        p->no_maps = "the keys are split";
        cg__at_set_split_tile(d, p, x);
    } else if (p->no_maps) {
        cg__at_set_tile(d, p, x);
    } else {
        cg__mm_find_epilogue(d, p);
        cg__at_set_bulk_tile(d, p, x);
    }
    bool skips = false;
    for (int i = 0; i < x->num_masks; i++) skips |= cg__at_skips_tiles(&d->w, p, x, &x->mask[i], few);
    const bool all = x->queries.a.copy && x->keys.b.copy && p->b.copy;
    cg__why(d, "scores and probabilities in registers; %s operands %s, %s in %s%s", ind_dtype_name(p->b.memory),
            x->product == AT_FMA ? "multiplied with FMA" : "on tensor cores", all ? "copied" : "not all copied",
            p->no_maps ? "16-byte vectors" : "boxes by tensor maps", skips ? "; masked tiles of keys are skipped" : "");
    if (x->heads > 1 && d->variant->why) cg__why(d, "%s; rows are queries of heads that share keys", d->variant->why);
    if (few && d->variant->why)
        cg__why(d, "the keys of %d rows are split over warps and blocks; %s", IND__SPLIT_QUERIES, d->variant->why);
    return d->w.failed ? ind__failed(d->w.context) : IND_OK;
}
