/* ---- equal launches */

/* The layers of a network are the same kernels with other buffers. A plan and its text depend on the kernel's body and
   its arguments: their types, which are constant, which are in the arena, and which share memory. If all of these equal
   an earlier launch's, its plan is copied and the buffers are exchanged. The verifier plans the
   copies 1, 2, 4, 8 and so on of a launch again and compares. */
typedef struct cg__launch_table {
    ind__arena memory;
    uint32_t *first;  /* by hash: 1 + the first kernel of a launch, 0: free */
    uint64_t *hash;   /* by first kernel */
    uint32_t *copies; /* by first kernel: later launches that equal it */
    uint32_t size;
} cg__launch_table;

static bool cg__launch_table_init(cg__launch_table *t, const ind_plan *p) {
    t->memory.context = p->context;
    t->size = 16;
    while (t->size / 2 < p->schedule->num_kernels) t->size *= 2;
    t->first = (uint32_t *)ind__arena_alloc(&t->memory, t->size * sizeof *t->first);
    t->hash = (uint64_t *)ind__arena_alloc(&t->memory, (p->schedule->num_kernels + 1) * sizeof *t->hash);
    t->copies = (uint32_t *)ind__arena_alloc(&t->memory, (p->schedule->num_kernels + 1) * sizeof *t->copies);
    return t->first && t->hash && t->copies;
}

static uint64_t cg__hash_kernel(const ind_kernel *k, uint64_t hash) {
    const ind_body *b = k->body;
    hash = ind__hash(k->name, strlen(k->name), hash);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *inst = &b->inst[i];
        const uint32_t word[] = {inst->op, inst->dtype, inst->reduction, inst->arg[0], inst->arg[1], inst->index};
        hash = ind__hash(word, sizeof word, hash);
    }
    return hash;
}

/* True if the instructions of two kernels are equal, with buffers compared by their position among the arguments. */
static bool cg__same_inst(const ind_kernel *ka, const ind__inst *a, const ind_kernel *kb, const ind__inst *b) {
    const bool access = a->op == IND_LOOP_LOAD || a->op == IND_LOOP_STORE;
    return a->op == b->op && a->dtype == b->dtype && a->reduction == b->reduction && a->flags == b->flags &&
           !memcmp(a->arg, b->arg, sizeof a->arg) && !memcmp(&a->imm, &b->imm, sizeof a->imm) && a->index == b->index &&
           a->num_index == b->num_index &&
           (access ? cg__arg_of(ka, a->source) == cg__arg_of(kb, b->source) : a->source == b->source);
}

static bool cg__same_exprs(const ind_expr *a, const ind_expr *b, uint32_t num) {
    for (uint32_t i = 0; i < num; i++)
        if (ind__ok(a[i]) != ind__ok(b[i]) || (ind__ok(a[i]) && !ind_expr_same(a[i], b[i]))) return false;
    return true;
}

/* True if two bodies are equal. False if sizes depend on data, as these are read from particular buffers. */
static bool cg__same_body(const ind_plan *p, const ind_kernel *ka, const ind_kernel *kb) {
    const ind_body *a = ka->body, *b = kb->body;
    if (a->rank != b->rank || a->rrank != b->rrank || a->num_inst != b->num_inst || a->num_index != b->num_index ||
        a->call || b->call || !cg__same_exprs(a->var, b->var, (uint32_t)(a->rank + a->rrank)) ||
        !cg__same_exprs(a->index, b->index, a->num_index) || ind__body_unbacked(p->schedule->program, a))
        return false;
    for (uint32_t i = 1; i < a->num_inst; i++)
        if (!cg__same_inst(ka, &a->inst[i], kb, &b->inst[i])) return false;
    return true;
}

static bool cg__same_args(const ind_schedule *s, const ind_kernel *a, const ind_kernel *b) {
    for (uint32_t i = 0; i < a->num_args; i++) {
        const uint32_t x = a->arg[i], y = b->arg[i];
        const ind__buffer *of_x = &s->program->buffer[x], *of_y = &s->program->buffer[y];
        const bool constant = of_x->kind == IND__BUFFER_CONST; /* no earlier launch writes it */
        if (of_x->dtype != of_y->dtype || constant != (of_y->kind == IND__BUFFER_CONST)) return false;
        if (s->offset && ind__ok(s->offset[x]) != ind__ok(s->offset[y])) return false;
        for (uint32_t j = 0; j < i; j++)
            if (cg__same_storage(s, x, a->arg[j]) != cg__same_storage(s, y, b->arg[j])) return false;
    }
    return true;
}

static bool cg__same_kernel(const ind_plan *p, const ind_kernel *a, const ind_kernel *b) {
    return a->kind == b->kind && a->num_args == b->num_args && a->num_reads == b->num_reads && a->run == b->run &&
           a->matmul.dot == b->matmul.dot && a->matmul.dot2 == b->matmul.dot2 && a->matmul.m == b->matmul.m &&
           a->matmul.n == b->matmul.n && a->matmul.batch_mask == b->matmul.batch_mask && !strcmp(a->name, b->name) &&
           cg__same_body(p, a, b) && cg__same_args(p->schedule, a, b);
}

/* The buffer of the kernels from `to` on that corresponds to `buffer` of those from `from` on, num each. UINT32_MAX:
   none, or more than one. */
static uint32_t cg__buffer_there(const ind_kernel *from, const ind_kernel *to, uint32_t num, uint32_t buffer) {
    uint32_t found = UINT32_MAX;
    for (uint32_t k = 0; k < num; k++) {
        const ind_kernel *a = &from[k], *b = &to[k];
        const uint32_t i = cg__arg_of(a, buffer);
        if (i == UINT32_MAX || b->arg[i] == found) continue;
        if (found != UINT32_MAX) return UINT32_MAX;
        found = b->arg[i];
    }
    return found;
}

/* True if the launches of both kernels precede one that loads weights early, or none does: only then may they trigger.
 */
static bool cg__same_followers(const ind_plan *p, uint32_t a, uint32_t b) {
    const ind_schedule *s = p->schedule;
    const uint32_t kernel[2] = {a, b};
    bool early[2];
    if (!p->target.thresholds.trigger_blocks) return true;
    for (int i = 0; i < 2; i++) {
        const ind_kernel *next = cg__next_product(s, &s->kernel[kernel[i]]);
        early[i] = next && cg__probably_early(s, next);
    }
    return early[0] == early[1];
}

static bool cg__same_launch(const ind_plan *p, uint32_t from, uint32_t to, uint32_t num) {
    const ind_schedule *s = p->schedule;
    if (!cg__same_followers(p, from, to)) return false;
    if (from + num < s->num_kernels && s->launch[from + num] == from) return false;
    for (uint32_t k = 0; k < num; k++)
        if (s->launch[from + k] != from || !cg__same_kernel(p, &s->kernel[from + k], &s->kernel[to + k])) return false;
    for (uint32_t k = 0; k < num && num > 1; k++)
        for (uint32_t i = 0; i < s->kernel[from + k].num_args; i++)
            if (cg__buffer_there(&s->kernel[from], &s->kernel[to], num, s->kernel[from + k].arg[i]) == UINT32_MAX)
                return false;
    return true;
}

/* Returns an earlier launch that equals the one at `first`; if none, adds `first` to the table and returns it. */
static uint32_t cg__find_launch(cg__launch_table *t, const ind_plan *p, uint32_t first, uint32_t num) {
    uint64_t hash = num;
    for (uint32_t k = 0; k < num; k++) hash = cg__hash_kernel(&p->schedule->kernel[first + k], hash);
    uint32_t at = (uint32_t)hash & (t->size - 1);
    for (; t->first[at]; at = (at + 1) & (t->size - 1)) {
        const uint32_t other = t->first[at] - 1;
        if (t->hash[other] == hash && cg__same_launch(p, other, first, num)) return other;
    }
    t->first[at] = first + 1;
    t->hash[first] = hash;
    return first;
}

/* Replaces the buffers of a variant and of its fallbacks, from the kernels at `from` to those at `to`. */
static bool cg__exchange_buffers(ind_plan *p, const ind_kernel *from, const ind_kernel *to, uint32_t num,
                                 ind__variant *v) {
    for (;; v = v->fallback) {
        v->arg = (ind__kernel_arg *)ind__arena_copy(&p->arena, v->arg, v->num_args * sizeof *v->arg);
        for (uint32_t i = 0; v->arg && i < v->num_args; i++)
            if (v->arg[i].kind == IND__ARG_BUFFER || v->arg[i].kind == IND__ARG_TENSOR_MAP)
                v->arg[i].buffer = cg__buffer_there(from, to, num, v->arg[i].buffer);
        if (!v->arg || !v->fallback) return v->arg != NULL;
        v->fallback = (ind__variant *)ind__arena_copy(&p->arena, v->fallback, sizeof *v->fallback);
        if (!v->fallback) return false;
    }
}

static ind_status cg__copy_launch(ind_plan *p, uint32_t from, uint32_t to, uint32_t num) {
    const ind_kernel *there = &p->schedule->kernel[from], *here = &p->schedule->kernel[to];
    for (uint32_t k = 0; k < num; k++) {
        ind_kernel_plan *kp = &p->kernel[to + k];
        *kp = p->kernel[from + k];
        kp->kernel = &p->schedule->kernel[to + k];
        kp->first += to - from;
        if (kp->num_variants && !cg__store_variants(p, kp, kp->variant, kp->num_variants))
            return ind__failed(p->context);
        for (int i = 0; i < kp->num_variants; i++)
            if (!cg__exchange_buffers(p, there, here, num, &kp->variant[i])) return ind__failed(p->context);
        if (!kp->part) continue;
        kp->part = (ind__variant *)ind__arena_copy(&p->arena, kp->part, sizeof *kp->part);
        if (!kp->part || !cg__exchange_buffers(p, there, here, num, kp->part)) return ind__failed(p->context);
    }
    return IND_OK;
}

static bool cg__same_map(const ind__tensor_map *a, const ind__tensor_map *b) {
    return a->dtype == b->dtype && a->rank == b->rank && a->swizzle == b->swizzle && a->tf32 == b->tf32 &&
           !memcmp(a->box, b->box, sizeof a->box) && !memcmp(&a->windows, &b->windows, sizeof a->windows) &&
           cg__same_exprs(&a->offset, &b->offset, 1) && cg__same_exprs(a->size, b->size, (uint32_t)a->rank) &&
           cg__same_exprs(a->stride, b->stride, (uint32_t)a->rank);
}

/* True if y, a variant of the kernels at `to`, equals x, of those at `from`, with the buffers exchanged. */
static bool cg__same_variant(const ind_kernel *from, const ind_kernel *to, uint32_t num, const ind__variant *x,
                             const ind__variant *y) {
    bool same = x->strategy == y->strategy && x->threads == y->threads && x->num_args == y->num_args &&
                !x->source.text == !y->source.text && (!x->source.text || !strcmp(x->source.text, y->source.text)) &&
                cg__same_exprs(x->grid, y->grid, 3) && cg__same_exprs(&x->memory.shared, &y->memory.shared, 1) &&
                cg__same_exprs(&x->guard, &y->guard, 1) && x->guard_aligned == y->guard_aligned;
    for (uint32_t j = 0; same && j < x->num_args; j++) {
        const ind__kernel_arg *a = &x->arg[j], *b = &y->arg[j];
        const bool buffer = a->kind == IND__ARG_BUFFER || a->kind == IND__ARG_TENSOR_MAP;
        same = a->kind == b->kind && (buffer ? cg__buffer_there(from, to, num, a->buffer) == b->buffer
                                             : cg__same_exprs(&a->size, &b->size, 1));
        if (same && a->kind == IND__ARG_TENSOR_MAP) same = cg__same_map(a->map, b->map);
    }
    return same;
}

/* Verifies that the plan of the launch at `to` equals the one that cg__copy_launch derives from the launch at
   `from`. */
static ind_status cg__compare_launches(const ind_plan *p, uint32_t from, uint32_t to, uint32_t num) {
    for (uint32_t k = 0; k < num; k++) {
        const ind_kernel_plan *a = &p->kernel[from + k], *b = &p->kernel[to + k];
        bool same = a->num_variants == b->num_variants && a->first - from == b->first - to && !a->part == !b->part;
        for (int i = 0; same && i < a->num_variants; i++) {
            const ind__variant *x = &a->variant[i], *y = &b->variant[i];
            for (; same && x && y; x = x->fallback, y = y->fallback)
                same = cg__same_variant(&p->schedule->kernel[from], &p->schedule->kernel[to], num, x, y) &&
                       !x->fallback == !y->fallback;
        }
        if (!same)
            return ind__fail(p->context, IND_ERROR_VERIFY, "kernels %u and %u (%s) are equal, but their plans differ",
                             from + k, to + k, b->kernel->name);
    }
    return IND_OK;
}

/* Plans the launch at `to` in memory of its own and compares that plan with the launch at `from`. */
static ind_status cg__check_launch(ind_plan *p, uint32_t from, uint32_t to, uint32_t num) {
    const ind__arena kept = p->arena;
    const uint32_t refusals = ind__refusals(p->context);
    p->arena = (ind__arena){.context = p->context};
    ind_status status = cg__plan_launch(p, to, num);
    if (!status) status = ind__refused_since(p->context, refusals);
    if (!status) status = cg__compare_launches(p, from, to, num);
    ind__arena_free(&p->arena);
    p->arena = kept;
    for (uint32_t k = 0; k < num; k++)
        p->kernel[to + k] = (ind_kernel_plan){.kernel = p->kernel[to + k].kernel, .first = to + k, .num_parts = 1};
    return status;
}

/* Does the verifier plan this copy of a launch again? */
static bool cg__is_checked(const ind_plan *p, uint32_t copy) {
    return ind__verifying(p->context) && !(copy & (copy - 1));
}
