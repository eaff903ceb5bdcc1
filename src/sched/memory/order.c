/* =================================================================================================== >>order */

typedef struct sched__place {
    uint32_t group, order;
} sched__place;

static int sched__compare_place(const void *a, const void *b) {
    return sched__compare_u32(&((const sched__place *)a)->order, &((const sched__place *)b)->order);
}

/* The program's order after fusion: the topological order maintained while fusing. */
static bool sched__program_order(sched__fuser *f, uint32_t *list) {
    sched__place *place = sched__scratch(f, f->program->num_loops, sizeof *place);
    uint32_t n = 0;
    if (!place) return false;
    for (uint32_t l = 0; l < f->program->num_loops; l++) {
        if (f->group_of[l] == l) place[n++] = (sched__place){l, f->group[l].order};
    }
    sched__sort(place, n, sizeof *place, sched__compare_place);
    for (uint32_t i = 0; i < n; i++) list[i] = place[i].group;
    f->num_order = n;
    return true;
}

static bool sched__is_sink(const sched__fuser *f, uint32_t g) {
    for (uint32_t l = f->group[g].head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        const ind__loop *loop = &f->program->loop[l];
        for (uint32_t o = 0; o < loop->num_outputs; o++) {
            uint32_t b = loop->output[o];
            for (uint32_t r = f->first_reader[b]; r < f->first_reader[b + 1]; r++) {
                if (f->group_of[f->reader[r]] != g) return false;
            }
        }
    }
    return true;
}

typedef struct sched__visit {
    uint32_t group, loop, need; /* position in the iteration over the groups that must run before it */
} sched__visit;

/* Number i of the loops that must run before loop l, or SCHED_NONE: one per access, then the loops of `waits`. */
static uint32_t sched__needed(const sched__fuser *f, uint32_t l, uint32_t i) {
    uint32_t accesses = f->first_access[l + 1] - f->first_access[l];
    if (i >= accesses) return f->waits[f->first_wait[l] + i - accesses];
    const ind__access *a = &f->access[f->first_access[l] + i];
    return a->write ? IND__SCHED_NONE : sched__writer(f, a->buffer);
}

static uint32_t sched__num_needed(const sched__fuser *f, uint32_t l) {
    return f->first_access[l + 1] - f->first_access[l] + f->first_wait[l + 1] - f->first_wait[l];
}

/* The next unvisited group that must run before `v`; SCHED_NONE: all are visited. */
static uint32_t sched__next_needed(sched__fuser *f, sched__visit *v) {
    for (; v->loop != IND__SCHED_NONE; v->loop = f->next_loop[v->loop], v->need = 0) {
        while (v->need < sched__num_needed(f, v->loop)) {
            uint32_t before = sched__needed(f, v->loop, v->need++);
            if (before == IND__SCHED_NONE || f->mark[f->group_of[before]] == f->epoch) continue;
            return f->group_of[before];
        }
    }
    return IND__SCHED_NONE;
}

/* Depth first from the results: each value is computed just before its use. */
static bool sched__depth_first(sched__fuser *f, const uint32_t *program_order, uint32_t *list) {
    sched__visit *stack = sched__scratch(f, f->num_order, sizeof *stack);
    uint32_t n = 0;
    if (!stack) return false;
    f->epoch++;
    for (uint32_t i = 0; i < f->num_order; i++) {
        uint32_t depth = 0, next = program_order[i];
        if (!sched__is_sink(f, next) || f->mark[next] == f->epoch) continue;
        for (;;) {
            if (next != IND__SCHED_NONE) {
                f->mark[next] = f->epoch;
                stack[depth++] = (sched__visit){next, f->group[next].head, 0};
            } else {
                list[n++] = stack[--depth].group;
                if (!depth) break;
            }
            next = sched__next_needed(f, &stack[depth - 1]);
        }
    }
    return true;
}

/* ---- orders from a list of ready groups */

typedef struct sched__ready {
    int64_t key;
    uint32_t group;
} sched__ready;

/* Dependents of each group and its effect on memory. Lists are concatenated: list i is first[i]..first[i+1]. */
typedef struct sched__flow {
    uint32_t *first_next, *next; /* by group: those that must run after it */
    uint32_t *pending;           /* by group: number of its dependencies that have not run */
    uint32_t *first_user, *user; /* by buffer in the arena: groups that need its memory, except for the first */
    uint32_t *first_used, *used; /* by group: the buffers that it uses */
    uint32_t *left;              /* by buffer: users that have not run */
    int64_t *net;                /* by group: bytes that it allocates less the bytes that it would free as last user */
    sched__ready *heap;          /* the least key is on top */
    uint32_t num_heap, num_pairs;
} sched__flow;

static bool sched__ready_before(const sched__fuser *f, const sched__ready *a, const sched__ready *b) {
    return a->key != b->key ? a->key < b->key : sched__compare_order(f, a->group, b->group) < 0;
}

static void sched__push_ready(const sched__fuser *f, sched__flow *w, int64_t key, uint32_t group) {
    sched__ready item = {key, group};
    uint32_t at = w->num_heap++;
    for (; at && sched__ready_before(f, &item, &w->heap[(at - 1) / 2]); at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = item;
}

static sched__ready sched__pop_ready(const sched__fuser *f, sched__flow *w) {
    sched__ready top = w->heap[0], last = w->heap[--w->num_heap];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < w->num_heap) {
        if (child + 1 < w->num_heap && sched__ready_before(f, &w->heap[child + 1], &w->heap[child])) child++;
        if (!sched__ready_before(f, &w->heap[child], &last)) break;
        w->heap[at] = w->heap[child], at = child;
    }
    w->heap[at] = last;
    return top;
}

/* Calls visit with each group that must run before `g`, once. */
static void sched__each_needed(sched__fuser *f, sched__flow *w, uint32_t g,
                               void (*visit)(sched__flow *w, uint32_t before, uint32_t g)) {
    sched__visit at = {g, f->group[g].head, 0};
    f->mark[g] = ++f->epoch;
    for (uint32_t before; (before = sched__next_needed(f, &at)) != IND__SCHED_NONE;) {
        f->mark[before] = f->epoch;
        visit(w, before, g);
    }
}

static void sched__count_next(sched__flow *w, uint32_t before, uint32_t g) {
    w->first_next[before + 1]++, w->pending[g]++, w->num_pairs++;
}

static void sched__put_next(sched__flow *w, uint32_t before, uint32_t g) {
    w->next[w->first_next[before]++] = g;
}

/* Turns counts at [i + 1] into offsets. */
static void sched__sum_up(uint32_t *first, uint32_t num) {
    for (uint32_t i = 0; i < num; i++) first[i + 1] += first[i];
}

/* Restores the offsets after the lists were filled through them. */
static void sched__set_back(uint32_t *first, uint32_t num) {
    for (uint32_t i = num; i > 0; i--) first[i] = first[i - 1];
    first[0] = 0;
}

static bool sched__find_next(sched__fuser *f, sched__flow *w) {
    uint32_t loops = f->program->num_loops;
    w->first_next = sched__scratch(f, (size_t)loops + 1, sizeof *w->next);
    w->pending = sched__scratch(f, loops, sizeof *w->pending);
    if (f->failed) return false;
    for (uint32_t i = 0; i < f->num_order; i++) sched__each_needed(f, w, f->order[i], sched__count_next);
    w->next = sched__scratch(f, w->num_pairs, sizeof *w->next);
    if (!w->next) return false;
    sched__sum_up(w->first_next, loops);
    for (uint32_t i = 0; i < f->num_order; i++) sched__each_needed(f, w, f->order[i], sched__put_next);
    sched__set_back(w->first_next, loops);
    return true;
}

/* True if the buffer allocates memory in the arena; its later versions share it. */
static bool sched__begins_memory(sched__fuser *f, uint32_t b) {
    return sched__in_arena(f, b) && !f->program->buffer[b].mutates &&
           sched__stored(f, b, IND__SCHED_NONE, IND__SCHED_NONE);
}

/* Bytes in the arena. */
static int64_t sched__memory_hint(const sched__fuser *f, uint32_t b) {
    int64_t bytes = f->bytes_hint[b], over = bytes % IND__ALIGNMENT;
    return over ? sched__add_hint(bytes, IND__ALIGNMENT - over) : bytes;
}

static void sched__add_user(sched__fuser *f, sched__flow *w, uint32_t buffer, uint32_t loop) {
    uint32_t g = f->group_of[loop];
    if (f->mark[g] == f->epoch) return;
    f->mark[g] = f->epoch;
    if (w->user) w->user[w->first_user[buffer]] = g;
    w->first_user[buffer + !w->user]++;
    w->num_pairs++;
}

/* Counts the users of each buffer, or lists them. */
static void sched__each_user(sched__fuser *f, sched__flow *w) {
    w->num_pairs = 0;
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        if (!sched__begins_memory(f, b)) continue;
        f->mark[f->group_of[sched__writer(f, b)]] = ++f->epoch;
        for (uint32_t v = b; v; v = f->program->buffer[v].mutated_by) {
            if (sched__writer(f, v) != IND__SCHED_NONE) sched__add_user(f, w, b, sched__writer(f, v));
            for (uint32_t r = f->first_reader[v]; r < f->first_reader[v + 1]; r++)
                sched__add_user(f, w, b, f->reader[r]);
        }
    }
}

static bool sched__find_users(sched__fuser *f, sched__flow *w) {
    uint32_t loops = f->program->num_loops, buffers = f->program->num_buffers;
    w->first_user = sched__scratch(f, (size_t)buffers + 1, sizeof *w->user);
    w->first_used = sched__scratch(f, (size_t)loops + 1, sizeof *w->used);
    w->left = sched__scratch(f, buffers, sizeof *w->left);
    w->net = sched__scratch(f, loops, sizeof *w->net);
    if (f->failed) return false;
    sched__each_user(f, w);
    uint32_t *user = sched__scratch(f, w->num_pairs, sizeof *w->user);
    w->used = sched__scratch(f, w->num_pairs, sizeof *w->used);
    if (f->failed) return false;
    sched__sum_up(w->first_user, buffers);
    w->user = user;
    sched__each_user(f, w);
    sched__set_back(w->first_user, buffers);
    for (uint32_t i = 0; i < w->num_pairs; i++) w->first_used[w->user[i] + 1]++;
    sched__sum_up(w->first_used, loops);
    for (uint32_t b = 0; b < buffers; b++)
        for (uint32_t i = w->first_user[b]; i < w->first_user[b + 1]; i++) w->used[w->first_used[w->user[i]]++] = b;
    sched__set_back(w->first_used, loops);
    return true;
}

/* If only one group still needs the buffer, that group will free it. */
static void sched__find_last_user(sched__fuser *f, sched__flow *w, uint32_t buffer, bool by_memory) {
    for (uint32_t i = w->first_user[buffer]; i < w->first_user[buffer + 1]; i++) {
        uint32_t g = w->user[i];
        if (w->pending[g] == IND__SCHED_NONE) continue;
        w->net[g] -= sched__memory_hint(f, buffer);
        if (by_memory && !w->pending[g]) sched__push_ready(f, w, w->net[g], g);
    }
}

static void sched__start_flow(sched__fuser *f, sched__flow *w, uint32_t *pending) {
    memcpy(w->pending, pending, f->program->num_loops * sizeof *pending);
    memset(w->net, 0, f->program->num_loops * sizeof *w->net);
    w->num_heap = 0;
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        w->left[b] = w->first_user[b + 1] - w->first_user[b];
        if (!sched__begins_memory(f, b)) continue;
        int64_t *net = &w->net[f->group_of[sched__writer(f, b)]];
        *net = sched__add_hint(*net, sched__memory_hint(f, b));
        if (w->left[b] == 1) sched__find_last_user(f, w, b, false);
    }
}

/* Runs the ready groups in order: the first one ready (breadth first), or the one that adds the least to the live
   bytes. */
static void sched__run_ready(sched__fuser *f, sched__flow *w, uint32_t *pending, bool by_memory, uint32_t *list) {
    uint32_t n = 0;
    int64_t turn = 0;
    sched__start_flow(f, w, pending);
    for (uint32_t i = 0; i < f->num_order; i++)
        if (!w->pending[f->order[i]]) sched__push_ready(f, w, by_memory ? w->net[f->order[i]] : turn, f->order[i]);
    while (w->num_heap) {
        uint32_t g = sched__pop_ready(f, w).group;
        if (w->pending[g] == IND__SCHED_NONE) continue; /* was in the heap twice; this is the older key */
        w->pending[g] = IND__SCHED_NONE;
        list[n++] = g, turn++;
        for (uint32_t i = w->first_used[g]; i < w->first_used[g + 1]; i++)
            if (--w->left[w->used[i]] == 1) sched__find_last_user(f, w, w->used[i], by_memory);
        for (uint32_t i = w->first_next[g]; i < w->first_next[g + 1]; i++) {
            uint32_t next = w->next[i];
            if (!--w->pending[next]) sched__push_ready(f, w, by_memory ? w->net[next] : turn, next);
        }
    }
}

/* Largest sum of live intermediates at the hints, if the groups run in this order. */
static bool sched__order_peak(sched__fuser *f, const uint32_t *list, int64_t *peak) {
    uint32_t *step = sched__scratch(f, f->program->num_loops, sizeof *step);
    int64_t *freed = sched__scratch(f, (size_t)f->num_order + 1, sizeof *freed), live = 0;
    int64_t *made = sched__scratch(f, (size_t)f->num_order + 1, sizeof *made);
    if (f->failed) return false;
    for (uint32_t i = 0; i < f->num_order; i++) step[list[i]] = i;
    for (uint32_t b = 1; b < f->program->num_buffers; b++) {
        uint32_t writer = sched__writer(f, b), end;
        if (!sched__begins_memory(f, b)) continue;
        end = step[f->group_of[writer]];
        made[end] = sched__add_hint(made[end], sched__memory_hint(f, b));
        for (uint32_t v = b; v; v = f->program->buffer[v].mutated_by) {
            for (uint32_t r = f->first_reader[v]; r < f->first_reader[v + 1]; r++) {
                uint32_t at = step[f->group_of[f->reader[r]]];
                if (at > end) end = at;
            }
        }
        freed[end] = sched__add_hint(freed[end], sched__memory_hint(f, b));
    }
    *peak = 0;
    for (uint32_t i = 0; i < f->num_order; i++) {
        live = sched__add_hint(live, made[i]);
        if (live > *peak) *peak = live;
        live -= freed[i];
    }
    return true;
}

/* Copies the order into `best` if its peak is lower than *least. */
static bool sched__judge_order(sched__fuser *f, const uint32_t *list, uint32_t *best, int64_t *least) {
    int64_t peak;
    if (!sched__order_peak(f, list, &peak)) return false;
    if (peak < *least) memcpy(best, list, f->num_order * sizeof *list), *least = peak;
    return true;
}

/* Chooses the order with the lowest peak, the first such in this sequence: the program's own, depth first, smallest
   memory increase first, breadth first. TorchInductor's orders (reorder_for_peak_memory). */
static bool sched__choose_order(sched__fuser *f) {
    uint32_t loops = f->program->num_loops;
    uint32_t *list = sched__scratch(f, loops, sizeof *list), *pending = sched__scratch(f, loops, sizeof *pending);
    uint32_t *best = sched__scratch(f, loops, sizeof *best);
    sched__flow flow = {0};
    int64_t least;
    if (f->failed || !sched__program_order(f, f->order) || !sched__order_peak(f, f->order, &least)) return false;
    memcpy(best, f->order, f->num_order * sizeof *best);
    if (f->keep_order) return true;
    if (!sched__depth_first(f, f->order, list) || !sched__judge_order(f, list, best, &least)) return false;
    if (!sched__find_next(f, &flow) || !sched__find_users(f, &flow)) return false;
    flow.heap = sched__scratch(f, (size_t)loops + flow.num_pairs, sizeof *flow.heap);
    if (!flow.heap) return false;
    memcpy(pending, flow.pending, loops * sizeof *pending);
    for (int by_memory = 1; by_memory >= 0; by_memory--) {
        sched__run_ready(f, &flow, pending, by_memory, list);
        if (!sched__judge_order(f, list, best, &least)) return false;
    }
    memcpy(f->order, best, f->num_order * sizeof *best);
    return true;
}
