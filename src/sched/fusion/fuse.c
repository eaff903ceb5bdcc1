/* ==================================================================================================== >>fuse */

static int sched__compare_order(const sched__fuser *f, uint32_t a, uint32_t b) {
    return (f->group[a].order > f->group[b].order) - (f->group[a].order < f->group[b].order);
}

/* By position in the topological order; the lists are short. */
static void sched__sort_groups(const sched__fuser *f, uint32_t *list, uint32_t num) {
    for (uint32_t i = 1; i < num; i++) {
        uint32_t g = list[i], k = i;
        for (; k > 0 && sched__compare_order(f, list[k - 1], g) > 0; k--) list[k] = list[k - 1];
        list[k] = g;
    }
}

/* Places the fused group `a` and moves the groups that the cycle test found: b's dependencies before it, a's dependents
   after it. They share their positions with those of the two groups. */
static void sched__reorder(sched__fuser *f, uint32_t a, uint32_t b) {
    uint32_t slot[2 * IND__SCHED_VISITS + 2], n = 0;
    uint32_t order_a = f->group[a].order, order_b = f->group[b].order;
    if (!f->visits.num_after) f->group[a].order = order_b;
    if (!f->visits.num_after || !f->visits.num_before) return;
    sched__sort_groups(f, f->visits.before, f->visits.num_before);
    sched__sort_groups(f, f->visits.after, f->visits.num_after);
    slot[n++] = order_a, slot[n++] = order_b;
    for (uint32_t i = 0; i < f->visits.num_before; i++) slot[n++] = f->group[f->visits.before[i]].order;
    for (uint32_t i = 0; i < f->visits.num_after; i++) slot[n++] = f->group[f->visits.after[i]].order;
    sched__sort(slot, n, sizeof *slot, sched__compare_u32);
    for (uint32_t i = 0; i < f->visits.num_before; i++) f->group[f->visits.before[i]].order = slot[i];
    f->group[a].order = slot[f->visits.num_before];
    for (uint32_t i = 0; i < f->visits.num_after; i++)
        f->group[f->visits.after[i]].order = slot[n - f->visits.num_after + i];
}

/* Rewrites the accesses and variables of the group in those of the common domain. */
static bool sched__move_to(sched__fuser *f, uint32_t g, const ind_expr *map) {
    const sched__domain *own = f->group[g].domain;
    int n = own->rank + own->rrank;
    if (sched__identity(own->var, map, n)) return true;
    for (uint32_t l = f->group[g].head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        for (uint32_t a = f->first_access[l]; a < f->first_access[l + 1]; a++) {
            if (!sched__map(f, &f->access[a].index, own->var, map, n)) return false;
        }
        for (uint32_t v = f->vars.first[l]; v < f->vars.first[l + 1]; v++) {
            if (!sched__map(f, &f->vars.var[v], own->var, map, n)) return false;
        }
    }
    return true;
}

static void sched__concatenate_loops(sched__fuser *f, uint32_t a, uint32_t b) {
    uint32_t x = f->group[a].head, y = f->group[b].head, head = IND__SCHED_NONE, last = IND__SCHED_NONE;
    while (x != IND__SCHED_NONE || y != IND__SCHED_NONE) {
        uint32_t *from = x < y ? &x : &y, l = *from; /* SCHED_NONE is the largest number */
        if (last == IND__SCHED_NONE)
            head = l;
        else
            f->next_loop[last] = l;
        last = l, *from = f->next_loop[l];
        f->group_of[l] = a;
    }
    f->group[a].head = head, f->group[a].tail = last;
}

/* True if the policy's limit is reached. Else counts a fusion of these groups. */
static bool sched__limited(sched__fuser *f, uint32_t a, uint32_t b) {
    ind_schedule *s = f->schedule;
    if (f->policy.max_fusions && s->num_fusions >= f->policy.max_fusions) return true;
    s->num_fusions++;
    s->last_fused[0] = f->group[a].head;
    s->last_fused[1] = f->group[b].head;
    return false;
}

static bool sched__fuse_pair(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit, uint32_t round) {
    sched__group *x = &f->group[a], *y = &f->group[b];
    if (!sched__move_to(f, a, fit->map_a) || !sched__move_to(f, b, fit->map_b)) return false;
    for (uint32_t l = y->head; ind__ok(fit->bound) && l != IND__SCHED_NONE; l = f->next_loop[l])
        f->vars.bound[l] = fit->bound;
    sched__reorder(f, a, b);
    sched__concatenate_loops(f, a, b);
    x->domain = fit->domain;
    x->count += y->count;
    if (x->dot != IND__SCHED_NONE && y->dot != IND__SCHED_NONE)
        x->dot2 = y->dot;
    else if (x->dot == IND__SCHED_NONE)
        x->dot = y->dot, x->dot2 = y->dot2;
    if (x->scores == IND__SCHED_NONE) x->scores = y->scores, x->few_queries = y->few_queries;
    x->reduces |= y->reduces;
    x->mutates |= y->mutates;
    x->scans |= y->scans;
    x->care = x->care > y->care ? x->care : y->care;
    x->run = x->run ? x->run : y->run;
    x->sorts |= y->sorts;
    x->combines |= y->combines;
    x->num_scans += y->num_scans;
    x->changed = round;
    return true;
}

/* Greedy: each pair is checked again, because its groups may have grown since it was scored. */
static bool sched__fuse_round(sched__fuser *f, sched__pairs *p, bool *changed) {
    if (!sched__find_candidates(f, p)) return false;
    for (uint32_t i = 0; i < p->num; i++) {
        uint32_t a = f->group_of[p->items[i].a], b = f->group_of[p->items[i].b];
        const sched__fit *fit;
        if (a == b) continue;
        if (f->group[a].order > f->group[b].order) {
            uint32_t t = a;
            a = b, b = t;
        }
        if (!sched__fused(sched__can_fuse(f, a, b, &fit)) || sched__limited(f, a, b)) continue;
        if (!sched__fuse_pair(f, a, b, fit, p->round + 1)) return false;
        *changed = true;
    }
    return !f->failed;
}

/* Fuses prologues into the product `dot`: groups whose results only it reads, as operands. Their accesses count as
   operand accesses from then on. */
static bool sched__fuse_prologues(sched__fuser *f, uint32_t dot, uint32_t round) {
    for (uint32_t i = f->first_access[dot]; i < f->first_access[dot + 1] && !f->failed; i++) {
        uint32_t writer = sched__writer(f, f->access[i].buffer), a, b = f->group_of[dot];
        const sched__fit *fit;
        if (f->access[i].write || !f->access[i].operand || writer == IND__SCHED_NONE) continue;
        a = f->group_of[writer];
        if (a == b || sched__can_inline(f, a, b, &fit) != IND_FUSION_FUSED_PROLOGUE || sched__limited(f, a, b))
            continue;
        for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it))
            f->access[it.at - f->access].operand = true;
        f->group[a].reserved = false;
        if (!sched__fuse_pair(f, a, b, fit, round)) return false;
    }
    return !f->failed;
}

static void sched__fuse_rounds(sched__fuser *f, sched__pairs *p) {
    bool changed = true;
    for (; changed && p->round < IND__SCHED_ROUNDS && !f->failed; p->round++) {
        changed = false;
        sched__fuse_round(f, p, &changed);
    }
}

static bool sched__fuse(sched__fuser *f) {
    sched__pairs p = {0};
    const bool prologues = !f->policy.disable && !f->policy.disable_prologue;
    f->tried_attention = f->policy.disable_attention || f->policy.attention < 2;
    for (uint32_t l = 0; l < f->program->num_loops && !f->failed && prologues; l++) {
        if (!sched__multiplies(f, l)) continue;
        if (!f->policy.disable_row_prologues) sched__reserve_rows(f, l);
        sched__reserve_gather(f, l);
    }
    if (!f->policy.disable) sched__fuse_rounds(f, &p);
    sched__fuse_attentions(f, p.round + 1);
    const bool softmaxes = sched__release_softmaxes(f, p.round);
    if (sched__release_rows(f, p.round) || softmaxes) sched__fuse_rounds(f, &p);
    ind__free(f->context, p.items);
    for (uint32_t l = 0; l < f->program->num_loops && !f->failed; l++)
        if (sched__multiplies(f, l)) sched__fuse_prologues(f, l, p.round + 1);
    for (uint32_t l = 0; l < f->program->num_loops; l++) f->group[l].reserved = false; /* no reason against a fusion */
    return !f->failed;
}
