/* ---- attention: a product (scores), a softmax of its rows, and a product with the probabilities as left operand

   Blocks of one kernel have a tile of queries. They loop over the keys: a tile of scores is computed in registers, the
   operations between the products are applied to it, and its exponentials are multiplied with the values. Maxima and
   sums of rows are kept online. So the probabilities must be the exponentials times a factor per row, which is applied
   to the sums at the end. The fusion of pairs has made a group of each product, with its epilogue, and one of the
   softmax. */

/* The groups of an attention, and their variables in those of the last one. The rows of the domain are the keys. */
typedef struct sched__attention {
    uint32_t scores, softmax, values;
    bool few;                /* at most IND__SPLIT_QUERIES queries, at the hints */
    const ind__access *left; /* by which `values` reads the probabilities */
    const sched__fit *rows;  /* softmax */
    sched__fit *outer;       /* scores: its R variable becomes the inner one */
} sched__attention;

static ind_body *sched__record(sched__fuser *f, uint32_t g);
static bool sched__limited(sched__fuser *f, uint32_t a, uint32_t b);
static bool sched__fuse_pair(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, uint32_t round);

/* Elements that the product in loop l sums. */
static ind_expr sched__depth(const sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    return sched__points(body, ((1u << body->rrank) - 1) << body->rank);
}

uint32_t ind__softmax_term(const ind_body *body, uint32_t reduce) {
    for (uint32_t i = reduce + 1; i < body->num_inst; i++) {
        const ind__inst *difference = &body->inst[body->inst[i].arg[0]];
        if (body->inst[i].op != IND_LOOP_EXP || difference->op != IND_LOOP_SUB) continue;
        const ind__inst *part = &body->inst[difference->arg[1]];
        if (difference->arg[0] == body->inst[reduce].arg[0] && part->op == IND_LOOP_PART && part->imm.i == 0 &&
            part->arg[0] == reduce)
            return i;
    }
    return 0;
}

/* What a value of the body depends on, as bits. */
enum { SCHED__ON_STATE = 1, SCHED__ON_SCORES = 2 };

/* Sets the bits of each instruction: the results of the reduction, and what products compute. */
static uint8_t *sched__find_dependences(sched__fuser *f, const ind_body *body, uint32_t reduce) {
    uint8_t *on = sched__scratch(f, body->num_inst, sizeof *on);
    for (uint32_t i = 1; on && i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        const uint32_t writer = in->op == IND_LOOP_LOAD ? sched__writer(f, in->source) : IND__SCHED_NONE;
        for (int k = 0; k < IND__MAX_ARGS; k++) on[i] |= in->arg[k] ? on[in->arg[k]] : 0;
        if (i == reduce) on[i] |= SCHED__ON_STATE;
        if (writer != IND__SCHED_NONE && f->group[f->group_of[writer]].dot != IND__SCHED_NONE)
            on[i] |= SCHED__ON_SCORES;
    }
    return on;
}

/* True if value v is the term times a factor per row, and then times factors per element, or 0 for some elements:
   dropout. Those do not depend on the scores. `along`: the variables of the row. */
static bool sched__is_scaled_term(const ind_body *body, const uint32_t *mask, const uint8_t *on, uint32_t v,
                                  uint32_t term, uint32_t along) {
    bool row = false; /* a factor of the row follows */
    for (uint32_t next = 0; v != term; v = next) {
        const ind__inst *in = &body->inst[v];
        uint32_t other = 0;
        next = in->arg[0];
        switch ((ind_loop_op)in->op) {
        case IND_LOOP_CAST:
            if (!ind_dtype_is_float((ind_dtype)in->dtype)) return false;
            break;
        case IND_LOOP_ROUND_F16:
        case IND_LOOP_ROUND_BF16: break;
        case IND_LOOP_MUL: other = in->arg[1]; break;
        case IND_LOOP_DIV:
            other = in->arg[1];
            if (mask[other] & along) return false;
            break;
        case IND_LOOP_WHERE: /* of rows without keys, or dropout */
            other = in->arg[0], next = 0;
            for (int k = 1; k < 3; k++)
                if (sched__is_zero(&body->inst[in->arg[3 - k]])) next = in->arg[k];
            if (!next) return false;
            break;
        default: return false;
        }
        if (other && mask[other] & along && (row || on[other])) return false;
        row |= other && on[other] & SCHED__ON_STATE;
    }
    return true;
}

/* True if the only reduction of the body is a softmax, of whose terms the value stored in the buffer is computed. */
static bool sched__is_softmax(sched__fuser *f, const ind_body *body, uint32_t buffer) {
    const uint32_t along = ((1u << body->rrank) - 1) << body->rank;
    uint32_t reduce = 0, store = 0, *mask = sched__scratch(f, body->num_inst, sizeof *mask);
    if (!mask) return false;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op == IND_LOOP_REDUCE && (reduce || in->reduction != IND_REDUCE_ONLINE_SOFTMAX)) return false;
        if (in->op == IND_LOOP_REDUCE) reduce = i;
        if (in->op == IND_LOOP_STORE && in->source == buffer) store = i;
    }
    const uint32_t term = reduce ? ind__softmax_term(body, reduce) : 0;
    const uint8_t *on = term && store ? sched__find_dependences(f, body, reduce) : NULL;
    ind__body_var_masks(body, mask);
    return on && body->inst[reduce].dtype == IND_F32 &&
           sched__is_scaled_term(body, mask, on, body->inst[store].arg[0], term, along);
}

/* The group with a product whose results group b reads; SCHED_NONE: none, or several. */
static uint32_t sched__scores_of(sched__fuser *f, uint32_t b) {
    uint32_t scores = IND__SCHED_NONE;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = it.at->write ? IND__SCHED_NONE : sched__writer(f, it.at->buffer);
        const uint32_t g = writer == IND__SCHED_NONE ? writer : f->group_of[writer];
        if (g == IND__SCHED_NONE || g == b || f->group[g].dot == IND__SCHED_NONE) continue;
        if (scores != IND__SCHED_NONE && scores != g) return IND__SCHED_NONE;
        scores = g;
    }
    return scores;
}

/* The type of operand k of the product in loop l: f16, bf16 or f32. DTYPE_NONE: it has another one. */
static ind_dtype sched__operand_type(const sched__fuser *f, uint32_t l, int k) {
    const ind_body *body = f->program->loop[l].body;
    const ind__inst *in = &body->inst[sched__product_of(body)->arg[k]];
    while (in->op == IND_LOOP_CAST && in->dtype == body->inst[in->arg[0]].dtype) in = &body->inst[in->arg[0]];
    const ind_dtype dtype = in->op == IND_LOOP_LOAD         ? f->program->buffer[in->source].dtype
                            : in->op == IND_LOOP_ROUND_F16  ? IND_F16
                            : in->op == IND_LOOP_ROUND_BF16 ? IND_BF16
                                                            : (ind_dtype)in->dtype;
    return dtype == IND_F16 || dtype == IND_BF16 || dtype == IND_F32 ? dtype : IND_DTYPE_NONE;
}

/* True if all operands of both products are of one type that the target's kernel multiplies, and sums are f32. */
static bool sched__has_attention_types(const sched__fuser *f, const sched__attention *x) {
    const uint32_t scores = f->group[x->scores].dot, values = f->group[x->values].dot;
    const ind_dtype dtype = sched__operand_type(f, scores, 0);
    if (sched__product_of(f->program->loop[scores].body)->dtype != IND_F32) return false;
    if (sched__product_of(f->program->loop[values].body)->dtype != IND_F32) return false;
    return dtype != IND_DTYPE_NONE && (dtype != IND_F32 || f->policy.attention >= 3) &&
           sched__operand_type(f, scores, 1) == dtype && sched__operand_type(f, values, 0) == dtype &&
           sched__operand_type(f, values, 1) == dtype;
}

/* The variables of the domain, as a mask, in the accesses that feed operand k of the product in loop l. `map`: the
   loop's variables, if they are not yet those of the domain. */
static uint32_t sched__operand_vars(sched__fuser *f, uint32_t l, int k, const sched__fit *fit, const ind_expr *map) {
    const ind_body *body = f->program->loop[l].body;
    const sched__domain *d = fit->domain;
    uint32_t *mask = sched__scratch(f, body->num_inst, sizeof *mask), vars = 0;
    if (!mask) return 0;
    ind__body_var_masks(body, mask);
    const uint32_t own = mask[sched__product_of(body)->arg[k]];
    for (uint32_t v = f->vars.first[l]; v < f->vars.first[l] + (uint32_t)(body->rank + body->rrank); v++) {
        ind_expr e = f->vars.var[v];
        const sched__domain *from = f->group[f->group_of[l]].domain;
        if (!(own >> (v - f->vars.first[l]) & 1)) continue;
        if (map) sched__map(f, &e, from->var, map, from->rank + from->rrank);
        for (int i = 0; i < d->rank + d->rrank; i++) vars |= (uint32_t)ind__expr_depends(e, d->var[i]) << i;
    }
    return vars;
}

/* True if a tile has all columns of such an operand. */
static bool sched__is_short(ind_expr size) {
    int64_t n;
    return ind_expr_is_int(size, &n) && n >= 1 && n <= IND__ATTENTION_COLUMNS;
}

/* Finds the variables of the scores in the domain of the values' product: each row of it is a row of scores. */
static ind_fusion_reason sched__fit_scores(sched__fuser *f, sched__attention *x) {
    const sched__domain *own = f->group[x->scores].domain, *d = f->group[x->values].domain;
    sched__domain points = *own;
    points.rrank = 0;
    x->outer = sched__scratch(f, 1, sizeof *x->outer);
    if (!x->outer) return IND_FUSION_ATTENTION_INDEX;
    *x->outer = (sched__fit){.a = own, .b = d, .domain = d};
    memcpy(x->outer->map_b, d->var, sizeof x->outer->map_b);
    bool found = false;
    for (sched__access_iter it = sched__first_access(f, x->softmax); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = it.at->write ? IND__SCHED_NONE : sched__writer(f, it.at->buffer);
        ind_expr map[IND__SCHED_DIMS];
        if (writer == IND__SCHED_NONE || f->group_of[writer] != x->scores) continue;
        if (it.at->indirect || it.at->masked || it.at->whole || it.at->size) return IND_FUSION_ATTENTION_INDEX;
        const ind_expr made = f->access[f->buffers.written[it.at->buffer] - 1].index;
        const ind_expr read = sched__index_in(f, it.at, x->rows->a, x->rows->map_a);
        if (!sched__invert(f, &points, made, read, map)) return IND_FUSION_ATTENTION_INDEX;
        if (found && !sched__identity(map, x->outer->map_a, own->rank)) return IND_FUSION_ATTENTION_INDEX;
        memcpy(x->outer->map_a, map, sizeof map);
        found = true;
    }
    x->outer->map_a[own->rank] = ind__index_symbol(f->context, 'r', 1, own->size[own->rank]);
    return found && ind__ok(x->outer->map_a[own->rank]) ? IND_FUSION_FUSED_ATTENTION : IND_FUSION_ATTENTION_INDEX;
}

/* Checks that each of queries, keys and values varies with what it must. Sets the rows (queries) and columns of the
   result, as variables of the domain. */
static bool sched__find_queries(sched__fuser *f, const sched__attention *x, int *m, int *n) {
    const sched__domain *d = f->group[x->values].domain;
    const uint32_t dot = f->group[x->values].dot, scores = f->group[x->scores].dot, key = 1u << d->rank;
    const uint32_t left = sched__operand_vars(f, dot, 0, x->outer, NULL);
    const uint32_t values = sched__operand_vars(f, dot, 1, x->outer, NULL);
    const uint32_t queries = sched__operand_vars(f, scores, 0, x->outer, x->outer->map_a);
    const uint32_t keys = sched__operand_vars(f, scores, 1, x->outer, x->outer->map_a);
    *m = *n = -1;
    for (int v = 0; v < d->rank; v++) {
        if ((left & ~values) >> v & 1) *m = v;
        if ((values & ~left) >> v & 1) *n = v;
    }
    if (*n < 0) return false;
    const uint32_t row = *m < 0 ? 0 : 1u << *m, column = 1u << *n;
    return (queries & row) == row && !(queries & (key | column)) && (keys & key) && !(keys & (row | column)) &&
           (values & key) && !(left & column);
}

/* The time of a step of a block, 64 queries and keys, in bytes of memory traffic. */
typedef struct sched__attention_step {
    double bytes;    /* of the one kernel */
    double multiply; /* share of it that two products take, which store their results */
    double blocks;   /* that an SM runs in this time */
} sched__attention_step;

/* The steps of 16-bit operands and of tf32 wait for the softmax: an SM runs two in the time of one. FMA takes as much
   time as there are products. */
static sched__attention_step sched__step_of(const sched__fuser *f, ind_dtype dtype, double features) {
    const ind_fusion_policy *p = &f->policy;
    if (dtype == IND_F32 && !f->program->options.allow_tf32)
        return (sched__attention_step){(double)p->attention_f32_step * features / 128, 0.9, 1};
    return (sched__attention_step){(double)p->attention_step * (dtype == IND_F32 ? 2 : 1), 0.5, 2};
}

bool ind__attention_splits_keys(double queries, double blocks, bool fma, double sms) {
    return queries <= IND__SPLIT_QUERIES || (2 * blocks <= sms && (fma || queries <= IND__SHARED_QUERIES));
}

/* The time of the one kernel: blocks of 64 queries are chains of steps. Of blocks of 16 queries an SM runs two, and
   each has at least two steps; one of FMA then takes a quarter of the time. */
static double sched__attention_time(const sched__attention_step *step, double queries, double batch, double keys,
                                    double sms) {
    const double blocks = batch * ceil(queries / 64), steps = ceil(keys / 64);
    const bool fma = step->blocks == 1;
    if (!ind__attention_splits_keys(queries, blocks, fma, sms))
        return ceil(blocks / (step->blocks * sms)) * steps * step->bytes;
    const double few = batch * ceil(queries / IND__SPLIT_QUERIES), parts = floor(2 * sms / few);
    const double splits = parts < 1 ? 1 : parts > steps / 2 && steps > 2 ? floor(steps / 2) : parts > steps ? 1 : parts;
    return ceil(few * splits / (2 * sms)) * ceil(steps / splits) * step->bytes * (fma ? 0.5 : 1);
}

/* True if one kernel takes less time than three that store scores and probabilities, in bytes of memory traffic. Each
   of the other two kernels starts and ends. */
static bool sched__attention_is_profitable(sched__fuser *f, const sched__attention *x, int m) {
    const ind_fusion_policy *p = &f->policy;
    const sched__group *values = &f->group[x->values];
    const sched__domain *d = values->domain;
    if (x->few) return true;
    const double keys = (double)d->rhint, columns = sched__points_of(d, x->left->index, true);
    const double rows = (double)d->hint / (columns > 0 ? columns : 1), queries = (double)sched__hint(d->size[m]);
    const double features = columns + (double)ind_hint(sched__depth(f, f->group[x->scores].dot));
    const ind_dtype dtype = sched__operand_type(f, values->dot, 0);
    const sched__attention_step step = sched__step_of(f, dtype, features);
    const double sms = p->fill_blocks / 4.0, batch = rows / (queries > 0 ? queries : 1), scores = rows * keys;
    const double fused = sched__attention_time(&step, queries, batch, keys, sms);
    const double stored = (double)ind_dtype_bytes(dtype) * 2 + 8,
                 read = batch * ceil(queries / 64) * keys * ind_dtype_bytes(dtype) * features;
    const double multiply = ceil(scores / 4096) / (step.blocks * sms) * step.bytes * step.multiply;
    return fused <= 4.0 * (double)p->launch_bytes + stored * scores + read + multiply;
}

/* True if a group that runs before group `last` may change in place a buffer that group a reads: then it must run
   between them. */
static bool sched__changed_between(sched__fuser *f, uint32_t a, uint32_t last) {
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it)) {
        const uint32_t mutator = it.at->write ? IND__SCHED_NONE : sched__mutator(f, it.at->buffer);
        if (mutator != IND__SCHED_NONE && f->group[f->group_of[mutator]].order < f->group[last].order) return true;
    }
    return false;
}

/* True if the loop of the softmax stores results of rows: they do not vary along the row. */
static bool sched__stores_of_rows(const sched__fuser *f, uint32_t l) {
    const sched__domain *d = f->group[f->group_of[l]].domain;
    for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++)
        for (int v = d->rank; f->access[i].write && v < d->rank + d->rrank; v++)
            if (ind__expr_depends(f->access[i].index, d->var[v])) return false;
    return true;
}

/* Checks whether the product in group c, the softmax that it multiplies and the product of its rows can be one kernel.
   Returns FUSED_ATTENTION and *x, or the reason against it. */
static ind_fusion_reason sched__check_attention(sched__fuser *f, uint32_t c, sched__attention *x) {
    const sched__group *values = &f->group[c];
    int m, n;
    *x = (sched__attention){.values = c};
    if (f->policy.disable || f->policy.disable_attention || f->policy.disable_prologue) return IND_FUSION_DISABLED;
    if (f->policy.attention < 2) return IND_FUSION_ATTENTION_NONE;
    if (values->dot == IND__SCHED_NONE) return IND_FUSION_REDUCTION_AFTER_TEMPLATE;
    const ind__access *left = sched__product_operand(f, values->dot, 0);
    const uint32_t last = left ? sched__writer(f, left->buffer) : IND__SCHED_NONE;
    if (last == IND__SCHED_NONE || f->group_of[last] == c) return IND_FUSION_ATTENTION_SCORES;
    x->left = left, x->softmax = f->group_of[last];
    if (!sched__normalises_rows(&f->group[x->softmax])) return IND_FUSION_ATTENTION_SOFTMAX;
    x->scores = sched__scores_of(f, x->softmax);
    const bool one = x->scores != IND__SCHED_NONE && f->group[x->scores].dot2 == IND__SCHED_NONE &&
                     f->group[x->scores].scores == IND__SCHED_NONE && f->group[x->scores].domain->rrank == 1;
    if (!one || x->scores == c || values->dot2 != IND__SCHED_NONE || values->domain->rrank != 1)
        return IND_FUSION_ATTENTION_SCORES;
    if (values->mutates || f->group[x->softmax].mutates || f->group[x->scores].mutates) return IND_FUSION_MUTATION;
    if (sched__changed_between(f, x->scores, c) || sched__changed_between(f, x->softmax, c)) return IND_FUSION_MUTATION;
    if (!sched__has_attention_types(f, x)) return IND_FUSION_ATTENTION_TYPE;
    ind_fusion_reason reason = sched__find_left_read(f, x->softmax, c, &left);
    x->rows = sched__fused(reason) ? sched__fit_row_prologue(f, x->softmax, c, left) : NULL;
    if (!sched__fused(reason)) return reason;
    if (!x->rows) return IND_FUSION_ATTENTION_INDEX;
    for (uint32_t l = f->group[x->softmax].head; l != IND__SCHED_NONE && sched__fused(reason); l = f->next_loop[l]) {
        reason = sched__check_row_loop(f, l, x->softmax, c, left->buffer);
        if (reason == IND_FUSION_PROLOGUE_ROW_SHARED && sched__stores_of_rows(f, l))
            reason = IND_FUSION_FUSED_ATTENTION;
    }
    if (reason == IND_FUSION_PROLOGUE_SHARED) return IND_FUSION_ATTENTION_SHARED;
    if (!sched__fused(reason)) return reason;
    for (uint32_t l = f->group[x->scores].head; l != IND__SCHED_NONE && sched__fused(reason); l = f->next_loop[l])
        reason = sched__check_row_loop(f, l, x->scores, x->softmax, 0);
    if (!sched__fused(reason)) return reason == IND_FUSION_PROLOGUE_ROW_SHARED ? IND_FUSION_ATTENTION_SHARED : reason;
    ind_body *body = sched__record(f, x->softmax);
    const bool softmax = body && sched__is_softmax(f, body, left->buffer);
    ind__body_free(body);
    if (!softmax) return IND_FUSION_ATTENTION_SOFTMAX;
    reason = sched__fit_scores(f, x);
    if (!sched__fused(reason)) return reason;
    if (!sched__find_queries(f, x, &m, &n)) return IND_FUSION_ATTENTION_INDEX;
    x->few = m < 0 || sched__hint(values->domain->size[m]) <= IND__SPLIT_QUERIES;
    if (!sched__is_short(values->domain->size[n]) || !sched__is_short(sched__depth(f, f->group[x->scores].dot)))
        return IND_FUSION_ATTENTION_SIZE;
    if (!sched__attention_is_profitable(f, x, m)) return IND_FUSION_ATTENTION_COST;
    if (sched__too_large(f, x->softmax, c) || sched__too_large(f, x->scores, x->softmax)) return IND_FUSION_TOO_LARGE;
    reason = sched__check_cycle(f, x->softmax, c);
    return sched__fused(reason) ? IND_FUSION_FUSED_ATTENTION : reason;
}

/* Fuses the three groups, directly after the check: it has found their places in the order. */
static bool sched__fuse_attention(sched__fuser *f, const sched__attention *x, uint32_t round) {
    const uint32_t scores = f->group[x->scores].dot, values = f->group[x->values].dot;
    if (sched__limited(f, x->softmax, x->values)) return true;
    f->group[x->softmax].reserved = false;
    if (!sched__fuse_pair(f, x->softmax, x->values, x->rows, round)) return false;
    f->visits.num_after = f->visits.num_before = 0; /* only the softmax needs the scores: they may run later */
    if (!sched__fuse_pair(f, x->scores, x->softmax, x->outer, round)) return false;
    sched__group *all = &f->group[x->scores];
    all->dot = values, all->dot2 = IND__SCHED_NONE, all->scores = scores;
    all->few_queries = x->few;
    return true;
}

static void sched__fuse_attentions(sched__fuser *f, uint32_t round) {
    for (uint32_t l = 0; l < f->program->num_loops && !f->failed; l++) {
        sched__attention x;
        if (f->group[f->group_of[l]].dot != l) continue;
        if (sched__fused(sched__check_attention(f, f->group_of[l], &x)) && !f->failed)
            sched__fuse_attention(f, &x, round);
    }
}

/* True if the group has a softmax. */
static bool sched__has_softmax(const sched__fuser *f, uint32_t g) {
    for (uint32_t l = f->group[g].head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        const ind_body *body = f->program->loop[l].body;
        for (uint32_t i = 1; i < body->num_inst; i++)
            if (body->inst[i].op == IND_LOOP_REDUCE && body->inst[i].reduction == IND_REDUCE_ONLINE_SOFTMAX)
                return true;
    }
    return false;
}

/* The group of the product whose results the group has a softmax of, while attention has not been tried: both may
   become part of it. SCHED_NONE: none. */
static uint32_t sched__awaited_scores(const sched__fuser *f, uint32_t g) {
    if (f->tried_attention || f->group[g].dot != IND__SCHED_NONE || !sched__has_softmax(f, g)) return IND__SCHED_NONE;
    for (sched__access_iter it = sched__first_access(f, g); it.at; sched__next_access(f, &it)) {
        const uint32_t writer = it.at->write ? IND__SCHED_NONE : sched__writer(f, it.at->buffer);
        if (writer != IND__SCHED_NONE && f->group[f->group_of[writer]].dot != IND__SCHED_NONE)
            return f->group_of[writer];
    }
    return IND__SCHED_NONE;
}

/* True if both groups may become part of attention, but not of the same one. */
static bool sched__await_attentions(const sched__fuser *f, uint32_t a, uint32_t b) {
    const uint32_t x = sched__awaited_scores(f, a), y = sched__awaited_scores(f, b);
    return x != y && x != IND__SCHED_NONE && y != IND__SCHED_NONE;
}

/* Lets softmaxes be fused that are not part of attention. Returns true if there are any. */
static bool sched__release_softmaxes(sched__fuser *f, uint32_t round) {
    bool any = false;
    for (uint32_t l = 0; l < f->program->num_loops; l++) {
        if (f->group_of[l] != l || sched__awaited_scores(f, l) == IND__SCHED_NONE) continue;
        f->group[l].changed = round;
        any = true;
    }
    f->tried_attention = true;
    return any;
}

/* The reason why group b, which reduces the results of a product, is not one kernel with that and with a product that
   reads b; `other` if none does. */
static ind_fusion_reason sched__why_no_attention(sched__fuser *f, uint32_t b, ind_fusion_reason other) {
    for (uint32_t l = f->group[b].head; l != IND__SCHED_NONE && sched__has_softmax(f, b); l = f->next_loop[l]) {
        const ind__loop *loop = &f->program->loop[l];
        for (uint32_t o = 0; o < loop->num_outputs; o++) {
            const uint32_t out = loop->output[o];
            for (uint32_t r = f->buffers.first_reader[out]; r < f->buffers.first_reader[out + 1]; r++) {
                const uint32_t reader = f->buffers.reader[r];
                sched__attention x;
                if (f->group[f->group_of[reader]].dot != reader) continue;
                const ind_fusion_reason reason = sched__check_attention(f, f->group_of[reader], &x);
                return sched__fused(reason) ? other : reason;
            }
        }
    }
    return other;
}

/* True for scores, their statistics and probabilities of one kernel of attention. */
static bool sched__within_attention(const sched__fuser *f, uint32_t buffer) {
    const uint32_t writer = sched__writer(f, buffer);
    const sched__group *g = &f->group[f->group_of[writer]];
    return g->scores != IND__SCHED_NONE && writer != g->dot &&
           !sched__stored(f, buffer, f->group_of[writer], f->group_of[writer]);
}
