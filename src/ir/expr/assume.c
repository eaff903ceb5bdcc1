/* ------------------------------------------------------------------------------------------------ >>assume */

/* Fact sets. Assuming a condition works on a copy of the known facts, with an agenda of conditions. Each condition is
   simplified under the facts known so far, then learnt. Learning may add conditions to the agenda: parts, consequences,
   and the facts about a symbol that was just replaced, which are removed and learnt again. At the end the copy replaces
   the original or is discarded. */

static bool ir__ids_push(ind_context *c, ir__ids *list, uint32_t id) {
    uint32_t *slot = IND__PUSH(c, uint32_t, list->id, list->num, list->cap);
    if (slot) *slot = id;
    return slot != NULL;
}

static bool ir__ids_copy(ind_context *c, ir__ids *to, const ir__ids *from) {
    ir__ids none = {0};
    *to = none;
    if (!from->num) return true;
    if (!ind__grow(c, (void **)&to->id, &to->num, &to->cap, sizeof *to->id, from->num)) return false;
    memcpy(to->id, from->id, from->num * sizeof *from->id);
    return true;
}

static bool ir__ids_has(const ir__ids *list, uint32_t id) {
    for (uint32_t i = 0; i < list->num; i++)
        if (list->id[i] == id) return true;
    return false;
}

static void ir__knowledge_free(ind_context *c, ir__knowledge *k) {
    ir__ids *const list[] = {&k->from, &k->to, &k->relation, &k->nonzero, &k->residue, &k->condition};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) ind__free(c, list[i]->id);
    ir__map_free(&k->replaced);
    ir__map_free(&k->truth);
}

/* `to` can be freed on success and on failure. */
static bool ir__knowledge_copy(ind_context *c, ir__knowledge *to, const ir__knowledge *from) {
    ir__knowledge fresh = {.mask = from->mask, .replaced = {.context = c}, .truth = {.context = c}};
    *to = fresh;
    return ir__ids_copy(c, &to->from, &from->from) && ir__ids_copy(c, &to->to, &from->to) &&
           ir__ids_copy(c, &to->relation, &from->relation) && ir__ids_copy(c, &to->nonzero, &from->nonzero) &&
           ir__ids_copy(c, &to->residue, &from->residue) && ir__ids_copy(c, &to->condition, &from->condition) &&
           ir__map_copy(&to->replaced, &from->replaced) && ir__map_copy(&to->truth, &from->truth);
}

/* Changes the generation: results cached under the old one are not found again. */
static void ir__facts_changed(ind_facts *f) {
    uint32_t *last = &f->context->interner->num_generations;
    f->generation = *last += *last == UINT32_MAX - 1 ? 4 : 2; /* skips 0, which means no set */
}

static void ir__facts_clear(ind_facts *f) {
    ind_context *c = f->context;
    ir__knowledge_free(c, &f->known);
    ind__free(c, f->declared.id);
    ind__free(c, f->guard.id);
    ind__free(c, f->symbol.id);
    ind__free(c, f->agenda.id);
    ir__map_free(&f->memo);
}

static void ir__facts_init(ind_facts *f, ind_context *c) {
    memset(f, 0, sizeof *f);
    f->context = f->memo.context = f->known.replaced.context = f->known.truth.context = c;
    ir__facts_changed(f);
}

static void ir__facts_free(ind__owned *o) {
    ind_facts *f = (ind_facts *)o;
    if (f->context->interner->facts == f) f->context->interner->facts = NULL;
    ir__facts_clear(f);
    ind__free(f->context, f);
}

ind_status ind_facts_create(ind_context *context, ind_facts **facts) {
    if (facts) *facts = NULL;
    if (!context || !facts) return IND_ERROR_INVALID_ARGUMENT;
    ind_facts *f = (ind_facts *)ind__alloc(context, sizeof *f);
    if (!f) return IND_ERROR_OUT_OF_MEMORY;
    ir__facts_init(f, context);
    ind__own(context, &f->owned, ir__facts_free);
    *facts = f;
    return IND_OK;
}

void ind_facts_destroy(ind_facts *f) {
    if (!f) return;
    if (ir__current_facts(f->context) == f) f->context->interner->facts = NULL;
    ind__disown(f->context, &f->owned);
    ir__facts_free(&f->owned);
}

/* ---- simplification under a fact set ---- */

#define IND__MAX_PASSES 8
#define IND__MEMO_LIMIT (1u << 18) /* entries kept between calls */

static ind_expr ir__facts_leaf(ind_expr symbol, void *user) {
    const ind_facts *f = (const ind_facts *)user;
    uint32_t at = f ? ir__map_get(&f->known.replaced, symbol.id) : 0;
    return at ? ir__id_at(f, &f->known.to, at - 1) : symbol;
}

/* Runs passes until nothing changes. A node that cannot be rebuilt over its simplified arguments (an intermediate
   overflow) stays unchanged, which is equally correct. */
static ind_expr ir__passes(ind_facts *f, ir__id_map *memo, ind_expr e) {
    ir__pass p = {
        .memo = memo, .mask = ~0ull, .steps = IND__UNRECORDED_VISITS, .keep = true, .leaf = ir__facts_leaf, .user = f};
    ind__state_of(e.context)->quiet++;
    for (int i = 0; i < IND__MAX_PASSES; i++) {
        ind_expr next = ir__pass_run(&p, e);
        if (next.id == e.id) break;
        e = next;
    }
    ind__state_of(e.context)->quiet--;
    return e;
}

/* Simplifies e under f, which must be in force. */
static ind_expr ir__simplify_under(ind_facts *f, ind_expr e) {
    if (f->memo_generation != f->generation || f->memo.num > IND__MEMO_LIMIT) {
        if (f->memo.num) ir__map_free(&f->memo);
        f->memo_generation = f->generation;
    }
    bool outer = f->simplifying;
    f->simplifying = true;
    e = ir__passes(f, &f->memo, e);
    f->simplifying = outer;
    return e;
}

ind_expr ind_simplify(ind_facts *facts, ind_expr e) {
    if (!ind__ok(e)) return e;
    if (facts) e = ind__in_context(facts->context, e);
    if (!ind__ok(e)) return e;
    ind_context *c = e.context;
    uint32_t failures = ind__state_of(c)->failures;
    ind_facts *before = ind_facts_enter(c, facts);
    if (facts) {
        e = ir__simplify_under(facts, e);
    } else {
        ir__id_map memo = {.context = c};
        e = ir__passes(NULL, &memo, e);
        ir__map_free(&memo);
    }
    ind_facts_enter(c, before);
    if (failures == ind__state_of(c)->failures) return e;
    if (facts) ir__facts_changed(facts); /* drops cached results: without memory they may not be the simplest */
    ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "out of memory while simplifying a size expression");
    return ir__expr_none(c);
}

bool ind_known(ind_facts *facts, ind_expr condition) {
    ind_expr e = ind_simplify(facts, condition);
    int64_t lo, hi;
    ind_expr_bounds(e, &lo, &hi);
    return ind__ok(e) && (lo > 0 || hi < 0);
}

/* ---- bounds under a fact set ---- */

/* Results found with relations and results found without them are cached separately. */
typedef struct ir__bounding {
    ind_facts *facts;
    ir__id_map memo[2]; /* id to 1 + position in done; [1]: without relations */
    ir__range *done;
    uint32_t num_done, cap_done;
    bool plain; /* ignore relations: the sum of an expression and a relation is being bounded */
} ir__bounding;

static ir__range ir__bound(ind_context *c, uint32_t id, void *user);

/* A loop index is less than its extent, which facts may have narrowed since the index was created. */
static ir__range ir__bound_symbol(ir__bounding *b, ind_expr e) {
    ir__range r = ir__stored_range(e.context, e.id, NULL);
    const ind_symbol *s = ind_expr_symbol(e);
    if (!ind__ok(s->extent)) return r;
    ir__range extent = ir__bound(e.context, ir__simplify_under(b->facts, s->extent).id, b);
    if (extent.hi != INT64_MAX && extent.hi - 1 < r.hi && extent.hi > r.lo) r.hi = extent.hi - 1;
    return r;
}

/* With the term c*k*m of e and the term d*m of the relation x >= 0, q = c/d an integer and k >= 0, the terms cancel in
   w = e - q*k*x: for q > 0 e = w + q*k*x >= w, for q < 0 e <= w. */
static void ir__bound_by_term(ir__bounding *b, ind_expr e, ir__term t, ind_expr x, ir__term u, ir__range *r) {
    ir__term k;
    int64_t least;
    if (ind_expr_is_int(u.m, NULL) || t.c == INT64_MIN || !ir__term_divide(t, u, &k) || !ind__ok(k.m)) return;
    ind_expr_bounds(k.m, &least, NULL);
    ind_expr w = least < 0 ? ir__expr_none(e.context) : ind_expr_sub(e, ir__mul2(ir__term_expr(k), x));
    if (!ind__ok(w)) return;
    const ir__range by = ir__bound(e.context, w.id, b);
    if (k.c > 0 && by.lo > r->lo) r->lo = by.lo;
    if (k.c < 0 && by.hi < r->hi) r->hi = by.hi;
}

static void ir__bound_by_relation(ir__bounding *b, ind_expr e, ind_expr x, ir__range *r) {
    for (int i = 0; i < ir__num_terms(e) && i < IND__PROOF_TERMS; i++) {
        const ir__term t = ir__term_of(ir__term_at(e, i));
        for (int k = 0; k < ir__num_terms(x) && k < IND__PROOF_TERMS; k++)
            ir__bound_by_term(b, e, t, x, ir__term_of(ir__term_at(x, k)), r);
    }
}

static void ir__bound_by_relations(ir__bounding *b, ind_expr e, ir__range *r) {
    const ir__ids *list = &b->facts->known.relation;
    if (b->plain) return;
    b->plain = true;
    for (uint32_t i = 0, tries = 0; i < list->num && tries < IND__PROOF_TRIES; i++) {
        ind_expr x = ir__id_at(b->facts, list, i);
        if (!(ir__node_of(x)->symbols & ir__node_of(e)->symbols)) continue;
        ir__bound_by_relation(b, e, x, r);
        tries++;
    }
    b->plain = false;
}

static ir__range ir__bound_node(ir__bounding *b, ind_expr e) {
    const ir__expr_node *n = ir__node_of(e);
    const ir__range stored = ir__stored_range(e.context, e.id, NULL);
    ir__range r = ir__range_node(e.context, (ind_expr_kind)n->kind, ir__node_args(n), (int)n->num_args, ir__bound, b);
    if (stored.lo > r.lo) r.lo = stored.lo;
    if (stored.hi < r.hi) r.hi = stored.hi;
    return r;
}

static ir__range ir__bound(ind_context *c, uint32_t id, void *user) {
    ir__bounding *b = (ir__bounding *)user;
    ind_expr e = ir__expr_make(c, id);
    if (!ir__node_of(e)->symbols) return ir__stored_range(c, id, NULL);
    ir__id_map *memo = &b->memo[b->plain];
    uint32_t known = ir__map_get(memo, id);
    if (known) return b->done[known - 1];
    ir__range r = ind_expr_symbol(e) ? ir__bound_symbol(b, e) : ir__bound_node(b, e);
    ir__bound_by_relations(b, e, &r);
    ir__range *slot = IND__PUSH(c, ir__range, b->done, b->num_done, b->cap_done);
    if (slot && ir__map_put(memo, id, b->num_done)) *slot = r;
    return r;
}

static ir__range ir__bounds_under(ind_facts *f, ind_expr e) {
    ir__bounding b = {.facts = f, .memo = {{.context = e.context}, {.context = e.context}}};
    ir__range r = ir__bound(e.context, e.id, &b);
    ir__map_free(&b.memo[0]);
    ir__map_free(&b.memo[1]);
    ind__free(e.context, b.done);
    ir__range exact = ir__range_multiples(r, ind_known_divisor(e));
    if (exact.lo <= exact.hi) r = exact;
    if ((r.lo == 0) != (r.hi == 0) && ir__known_nonzero(e)) r.lo ? r.hi-- : r.lo++;
    return r;
}

void ind_bounds(ind_facts *facts, ind_expr e, int64_t *lo, int64_t *hi) {
    e = ind_simplify(facts, e);
    ir__range r = ir__full_range;
    if (ind__ok(e)) {
        ind_facts *before = ind_facts_enter(e.context, facts);
        ind__state_of(e.context)->quiet++;
        r = facts ? ir__bounds_under(facts, e) : ir__stored_range(e.context, e.id, NULL);
        ind__state_of(e.context)->quiet--;
        ind_facts_enter(e.context, before);
    }
    if (lo) *lo = r.lo;
    if (hi) *hi = r.hi;
}

void ind__known_bounds(ind_expr e, int64_t *lo, int64_t *hi) {
    ind_facts *f = ind__ok(e) ? ir__current_facts(e.context) : NULL;
    if (f)
        ind_bounds(f, e, lo, hi);
    else
        ind_expr_bounds(e, lo, hi);
}
