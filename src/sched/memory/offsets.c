/* ---- offsets in the arena */

typedef struct sched__arena_item {
    sched__lifetime life;
    ind_expr offset, end;
    int64_t offset_hint, end_hint;
} sched__arena_item;

/* Placed lifetimes, by step. A segment tree over the steps finds the lifetimes that are live at one step: each node
   lists the lifetimes that cover it. Lists by first step find those that start later. */
typedef struct sched__index {
    uint32_t leaves;        /* a power of two, at least the number of steps */
    uint32_t *node, *begin; /* first entry of each node; 1 + first item that starts at each step */
    uint32_t *next_begin;   /* by item */
    struct {
        uint32_t item, next;
    } * entry;
    uint32_t num_entries, cap_entries;
} sched__index;

typedef struct sched__arena {
    sched__arena_item *item;
    uint32_t num;
    sched__index index;
    uint32_t *overlap; /* items that are live at the same time as the new one, by offset */
    uint32_t num_overlap;
    sched__term *term;
    ind_expr bytes;
} sched__arena;

static bool sched__index_in_node(sched__fuser *f, sched__index *x, uint32_t node, uint32_t item) {
    if (!ind__grow(f->context, (void **)&x->entry, &x->num_entries, &x->cap_entries, sizeof *x->entry, 1))
        return sched__fail(f);
    x->entry[x->num_entries - 1].item = item;
    x->entry[x->num_entries - 1].next = x->node[node];
    x->node[node] = x->num_entries;
    return true;
}

static bool sched__index_item(sched__fuser *f, sched__arena *m, uint32_t item) {
    sched__index *x = &m->index;
    uint32_t lo = m->item[item].life.begin, hi = m->item[item].life.end;
    x->next_begin[item] = x->begin[lo], x->begin[lo] = item + 1;
    for (lo += x->leaves, hi += x->leaves + 1; lo < hi; lo /= 2, hi /= 2) {
        if (lo & 1 && !sched__index_in_node(f, x, lo++, item)) return false;
        if (hi & 1 && !sched__index_in_node(f, x, --hi, item)) return false;
    }
    return true;
}

static void sched__find_overlaps(sched__arena *m, const sched__lifetime *life) {
    const sched__index *x = &m->index;
    m->num_overlap = 0;
    for (uint32_t node = x->leaves + life->begin; node; node /= 2) {
        for (uint32_t e = x->node[node]; e; e = x->entry[e - 1].next)
            m->overlap[m->num_overlap++] = x->entry[e - 1].item;
    }
    for (uint32_t step = life->begin + 1; step <= life->end; step++) {
        for (uint32_t i = x->begin[step]; i; i = x->next_begin[i - 1]) m->overlap[m->num_overlap++] = i - 1;
    }
}

static bool sched__disjoint(const sched__arena_item *p, ind_expr offset, ind_expr end) {
    return ind__known_le_max(p->end, offset) || ind__known_le_max(end, p->offset);
}

static bool sched__is_free(const sched__arena *m, ind_expr offset, ind_expr size) {
    ind_expr end = ind_expr_add(offset, size);
    for (uint32_t i = 0; i < m->num_overlap; i++) {
        if (!sched__disjoint(&m->item[m->overlap[i]], offset, end)) return false;
    }
    return ind__ok(end);
}

/* Sorts by offset at the hints. */
static void sched__sort_overlaps(sched__arena *m) {
    for (uint32_t i = 0; i < m->num_overlap; i++) {
        const sched__arena_item *p = &m->item[m->overlap[i]];
        m->term[i] = (sched__term){{NULL, m->overlap[i]}, p->offset_hint == INT64_MAX ? 0 : -p->offset_hint};
    }
    sched__sort(m->term, m->num_overlap, sizeof *m->term, sched__compare_term);
    for (uint32_t i = 0; i < m->num_overlap; i++) m->overlap[i] = m->term[i].e.id;
}

/* Tries 0, or the ends of placed items whose hint is `at` bytes. */
static bool sched__try_offset(sched__fuser *f, sched__arena *m, int64_t at, const sched__lifetime *life,
                              ind_expr *offset) {
    int tries = 0;
    *offset = ind_int(f->context, 0);
    if (!at && sched__is_free(m, *offset, life->size)) return true;
    for (uint32_t i = 0; i < m->num_overlap && tries < 4; i++) {
        const sched__arena_item *p = &m->item[m->overlap[i]];
        if (p->end_hint != at || ind_expr_same(p->end, *offset)) continue;
        *offset = p->end, tries++;
        if (sched__is_free(m, *offset, life->size)) return true;
    }
    return false;
}

/* The lowest offset, at the hints, that is proven to be free for all sizes; if none is, the end of all overlapping
   items. */
static ind_expr sched__find_offset(sched__fuser *f, sched__arena *m, const sched__lifetime *life) {
    ind_expr offset;
    int64_t at = 0;
    int tries = 0;
    sched__find_overlaps(m, life);
    sched__sort_overlaps(m);
    for (uint32_t i = 0; i <= m->num_overlap && tries < IND__SCHED_GAP_TRIES; i++) {
        const sched__arena_item *p = i < m->num_overlap ? &m->item[m->overlap[i]] : NULL;
        bool gap = !p || (p->offset_hint > at && p->offset_hint - at >= life->hint);
        if (gap && ++tries && sched__try_offset(f, m, at, life, &offset)) return offset;
        if (p && p->end_hint > at) at = p->end_hint;
    }
    for (uint32_t i = 0; i < m->num_overlap; i++) {
        const sched__arena_item *p = &m->item[m->overlap[i]];
        m->term[i] = (sched__term){p->end, p->end_hint};
    }
    return sched__max_of(f, m->term, m->num_overlap);
}

static bool sched__arena_init(sched__fuser *f, sched__arena *m, uint32_t num, uint32_t steps) {
    m->index.leaves = 1;
    while (m->index.leaves < steps) m->index.leaves *= 2;
    m->item = sched__scratch(f, num, sizeof *m->item);
    m->overlap = sched__scratch(f, num, sizeof *m->overlap);
    m->term = sched__scratch(f, num, sizeof *m->term);
    m->index.next_begin = sched__scratch(f, num, sizeof(uint32_t));
    m->index.node = sched__scratch(f, 2 * (size_t)m->index.leaves, sizeof(uint32_t));
    m->index.begin = sched__scratch(f, (size_t)steps + 1, sizeof(uint32_t));
    return !f->failed;
}

static int sched__compare_size(const void *p, const void *q) {
    const sched__lifetime *a = p, *b = q;
    if (a->hint != b->hint) return a->hint > b->hint ? -1 : 1;
    return sched__compare_begin(p, q);
}

static int sched__compare_length(const void *p, const void *q) {
    const sched__lifetime *a = p, *b = q;
    uint32_t x = a->end - a->begin, y = b->end - b->begin;
    if (x != y) return x > y ? -1 : 1;
    return sched__compare_size(p, q);
}

/* Places the lifetimes in the given order, each at the lowest free offset. */
static bool sched__assign_offsets(sched__fuser *f, sched__arena *m, const sched__lifetime *life, uint32_t num) {
    for (uint32_t i = 0; i < num; i++) {
        ind_expr offset = sched__find_offset(f, m, &life[i]), end = ind_expr_add(offset, life[i].size);
        if (!ind__ok(end)) return sched__fail(f);
        m->item[i] = (sched__arena_item){life[i], offset, end, sched__hint(offset), sched__hint(end)};
        m->num++;
        if (!sched__index_item(f, m, i)) return false;
    }
    for (uint32_t i = 0; i < num; i++) m->term[i] = (sched__term){m->item[i].end, m->item[i].end_hint};
    m->bytes = sched__max_of(f, m->term, num);
    return !f->failed;
}

/* Sizes at which a plan is evaluated: the hints; the ends of the ranges, all at the same end or alternating; and points
   within them, near the lower end, where rounding up matters most, and in between. */
enum {
    IND__SCHED_AT_HINT,
    IND__SCHED_AT_MIN,
    IND__SCHED_AT_MAX,
    IND__SCHED_EVEN_MIN,
    IND__SCHED_ODD_MIN,
    IND__SCHED_NUM_CORNERS,
    IND__SCHED_NEAR_MIN = IND__SCHED_NUM_CORNERS,  /* and the next two sizes */
    IND__SCHED_QUARTERS = IND__SCHED_NEAR_MIN + 3, /* at one, two and three quarters of the range */
    IND__SCHED_NUM_POINTS = IND__SCHED_QUARTERS + 3
};

static bool sched__corner_value(const ind_symbol *s, void *user, int64_t *out) {
    int corner = *(const int *)user;
    int64_t step = s->multiple_of > 1 ? s->multiple_of : 1;
    int64_t lo = s->lo > 0 ? (s->lo + step - 1) / step * step : s->lo;
    int64_t hi = s->hi < IND__SCHED_UNBOUNDED ? s->hi : IND__SCHED_UNBOUNDED > s->lo ? IND__SCHED_UNBOUNDED : s->lo;
    int64_t steps = hi / step - lo / step;
    bool least = corner == IND__SCHED_AT_MIN || corner == (s->slot & 1 ? IND__SCHED_ODD_MIN : IND__SCHED_EVEN_MIN);
    if (least)
        steps = 0;
    else if (corner >= IND__SCHED_QUARTERS)
        steps = steps * (corner - IND__SCHED_QUARTERS + 1) / 4;
    else if (corner >= IND__SCHED_NEAR_MIN && corner - IND__SCHED_NEAR_MIN + 1 < steps)
        steps = corner - IND__SCHED_NEAR_MIN + 1;
    *out = corner == IND__SCHED_AT_HINT ? s->hint : lo + steps * step;
    return true;
}

/* True if the bytes exceed the unfused peak, with the sizes at this point. False if the evaluation overflows. */
static bool sched__exceeds_unfused(const ind_schedule *s, ind_expr bytes, int point) {
    int64_t n, most;
    return !ind_expr_eval(bytes, sched__corner_value, &point, &n) &&
           !ind_expr_eval(s->op_by_op_bytes, sched__corner_value, &point, &most) && n > most;
}

/* Number of points at which the bytes exceed the unfused peak. */
static uint32_t sched__num_exceeding(const ind_schedule *s, ind_expr bytes) {
    uint32_t n = 0;
    if (ind__known_le_max(bytes, s->op_by_op_bytes)) return 0;
    for (int point = 0; point < IND__SCHED_NUM_POINTS; point++) n += sched__exceeds_unfused(s, bytes, point);
    return n;
}

/* True if an arena of this size is better than the current one. If both are equal at the hints, one that is proven not
   to exceed the unfused peak for all sizes is better. */
static bool sched__better_arena(const ind_schedule *s, ind_expr arena) {
    if (!ind__ok(s->arena_bytes)) return true;
    uint32_t above = sched__num_exceeding(s, arena), had = sched__num_exceeding(s, s->arena_bytes);
    if (above != had) return above < had;
    int64_t bytes = ind_hint(arena), least = ind_hint(s->arena_bytes);
    if (bytes != least || ind_expr_same(arena, s->arena_bytes)) return bytes < least;
    return !ind__known_le_max(s->arena_bytes, s->op_by_op_bytes) && ind__known_le_max(arena, s->op_by_op_bytes);
}

static bool sched__try_order(sched__fuser *f, sched__lifetime *life, uint32_t num,
                             int (*order)(const void *, const void *)) {
    ind_schedule *s = f->schedule;
    sched__arena m = {0};
    sched__sort(life, num, sizeof *life, order);
    bool ok = sched__arena_init(f, &m, num, s->num_kernels) && sched__assign_offsets(f, &m, life, num);
    ind__free(f->context, m.index.entry);
    if (!ok || !sched__better_arena(s, m.bytes)) return ok;
    s->arena_bytes = m.bytes;
    for (uint32_t i = 0; i < num; i++) s->offset[m.item[i].life.buffer] = m.item[i].offset;
    return true;
}

/* Tries three orders and keeps the best at the hints. Largest first leaves small gaps. Longest lifetime first lets
   short-lived buffers share the rest, also if sizes cannot be compared. First come first served is an allocator's
   order. */
static bool sched__choose_offsets(sched__fuser *f, sched__lifetime *life, uint32_t num) {
    return sched__try_order(f, life, num, sched__compare_size) &&
           sched__try_order(f, life, num, sched__compare_length) &&
           sched__try_order(f, life, num, sched__compare_begin);
}

/* What a kernel reads lives until the next one has run if a launch of few rows runs both as one. Such a launch stores
   no result of the first one, so that result may be in place of what the kernel reads. */
static void sched__extend_few_rows(const ind_schedule *s, sched__lifetime *life) {
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        for (uint32_t i = 0; i < s->kernel[k].num_reads && sched__may_run_next(s, k); i++) {
            sched__lifetime *at = &life[s->storage[s->kernel[k].arg[i]]];
            if (ind__ok(at->size) && at->end < k + 1) at->end = k + 1;
        }
    }
}

static bool sched__plan_memory(sched__fuser *f) {
    ind_schedule *s = f->schedule;
    uint32_t buffers = f->program->num_buffers, n = 0;
    sched__lifetime *life = sched__scratch(f, buffers, sizeof *life), *root = sched__scratch(f, buffers, sizeof *root);
    s->offset = sched__schedule_alloc(f, NULL, buffers, sizeof *s->offset);
    s->storage = sched__schedule_alloc(f, NULL, buffers, sizeof *s->storage);
    s->takes_over = sched__schedule_alloc(f, NULL, buffers, sizeof *s->takes_over);
    if (f->failed || !sched__find_lifetimes(f, life) || !sched__list_donated(f, life)) return false;
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        sched__alias_versions(f, k, life);
        if (!f->policy.disable_inplace && !sched__reuse_inputs(f, k, life)) return false;
    }
    sched__extend_few_rows(s, life);
    for (uint32_t b = 1; b < buffers; b++) {
        if (ind__ok(life[b].size) && s->storage[b] == b) root[n++] = life[b];
    }
    s->peak_bytes = sched__peak(f, root, n, s->num_kernels);
    if (f->failed || !sched__choose_offsets(f, root, n)) return false;
    for (uint32_t b = 1; b < buffers; b++) {
        if (ind__ok(life[b].size)) s->offset[b] = s->offset[s->storage[b]];
    }
    return true;
}
