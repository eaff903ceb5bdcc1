/* ---- the variants of a kernel */

/* Sizes that are passed must fit the index type too; false: they do not, and 64 bits must be used. */
static bool cg__sizes_fit(cg__decider *d, const ind__writer *w) {
    if (d->plan->wide) return true;
    for (uint32_t i = 0; i < w->args.num; i++)
        if (w->args.arg[i].kind == IND__ARG_SIZE && !w->args.arg[i].reciprocal &&
            !cg__expr_fits(d, w->args.arg[i].size, 0))
            return false;
    return true;
}

#define IND__CG_ALONE 64 /* the ways from this on need no cluster: way 0 without one, and so on */

/* One way to make the variant; *more: there is another one. */
static ind_status cg__plan_way(ind_plan *p, const ind_kernel *k, ind__variant *v, int assume, int way, bool *more,
                               int *used) {
    const bool alone = way >= IND__CG_ALONE;
    for (int attempt = 0; attempt < 2; attempt++) {
        cg__decider d;
        ind__writer w = {0};
        *v = (ind__variant){.assume = assume,
                            .vector = assume ? 8 : 1,
                            .range = {p->from, p->to},
                            .dependent = cg__launches_dependent(p)};
        ind_status status = cg__init_decider(&d, p, k, v, assume);
        d.force_wide = attempt == 1;
        v->way = way;
        d.way = alone ? way - IND__CG_ALONE : way;
        if (alone) d.max_cluster = 1;
        if (!status) status = cg__decide(&d);
        if (!status) status = cg__write_body(&w, p, &d);
        bool fits = status || cg__sizes_fit(&d, &w);
        if (!status && fits) status = cg__assemble(&w, v);
        *more = d.more_ways;
        *used |= d.used;
        cg__free(&w);
        cg__free(&d.w);
        if (status || fits) return status;
    }
    return ind__fail(p->context, IND_VERIFY, "kernel %s: sizes do not fit into 64 bits", k->name);
}

/* *used: what its conditions come from, but for IND__ASSUME_ALIGNED. */
static ind_status cg__plan_variant(ind_plan *p, const ind_kernel *k, ind__variant *v, int assume, int *used) {
    bool tried = false; /* to do without clusters */
    *used = 0;
    for (int way = p->tuning.way;; way++, v = v->fallback) {
        bool more = false;
        ind_status status = cg__plan_way(p, k, v, assume, way, &more, used);
        tried |= ind__row_of(v)->cluster < 2;
        if (!more && ind__row_of(v)->cluster > 1) {
            more = true;
            way = IND__CG_ALONE + (tried ? way : -1);
        }
        if (status || !more) return status;
        v->fallback = (ind__variant *)ind__arena_alloc(&p->arena, sizeof *v);
        if (!v->fallback) return IND_OUT_OF_MEMORY;
    }
}

static bool cg__has_guard(const ind__variant *v) {
    return ind__ok(v->guard) || v->guard_aligned;
}

/* Rows that are walked along do not need to be of a certain length. */
static bool cg__is_walked(const ind__variant *v) {
    if (v->strategy == IND_STRATEGY_SCAN_BLOCK) return v->range.to > (int64_t)v->threads * v->per_thread;
    return ind__strategy_has(v->strategy, IND__HAS_ANY_LENGTH);
}

#define IND__CG_COUNT(list) (sizeof(list) / sizeof *(list))

/* The variants of a kernel while they are made. */
typedef struct cg__variants {
    ind_plan *plan;
    const ind_kernel *kernel;
    ind__variant variant[IND_MAX_VARIANTS];
    int num;
    int used; /* by the one that was made last */
} cg__variants;

/* The next variant, of `num`, which whoever asks for it keeps by counting it. */
static ind_status cg__next_variant(cg__variants *x, int assume) {
    if (x->num >= IND_MAX_VARIANTS)
        return ind__fail(x->plan->context, IND_LIMIT, "kernel %s: it needs more than %d variants", x->kernel->name,
                         IND_MAX_VARIANTS);
    return cg__plan_variant(x->plan, x->kernel, &x->variant[x->num], assume, &x->used);
}

/* Behind a variant that vectors must divide the rows for, the one that knows no such condition, if it has vectors, too,
   as between boundaries; of a range of lengths in any case, as then it has at least the right number of threads. */
static ind_status cg__plan_undivided(cg__variants *x, int assume) {
    const int used = x->used;
    if (!(used & IND__ASSUME_DIVISIBLE)) return IND_OK;
    ind_status status = cg__next_variant(x, assume & ~IND__ASSUME_DIVISIBLE);
    const ind__variant *made = &x->variant[x->num];
    const bool walked = x->used & IND__ASSUME_LENGTH && cg__is_walked(made);
    x->num += !status && x->used == (used & ~IND__ASSUME_DIVISIBLE) && (made->vector > 1 || made->range.to) && !walked;
    return status;
}

/* Where a range of lengths ends. Lanes hold rows of up to 1024 elements, as few of them as each takes; a block is
   fitted to a row, of which at least half of the rounds are whole if it is longer than a quarter of the longest; what
   waits in shared memory has its place there, so that half of it is empty at the most. */
static const int64_t cg__row_ranges[] = {128, 512, 1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144};
/* The same for unaligned pointers, which are rare: those that do not wait in shared memory, by as few variants as that
   takes. */
static const int64_t cg__unaligned_ranges[] = {1024, 16384};

/* The points of so many variables of a kernel. */
static ind_expr cg__points_of(const ind_kernel *k, int from, int num) {
    ind_expr extent[2 * IND_MAX_RANK];
    const ind_body *b = k->body;
    for (int v = 0; v < num; v++) extent[v] = ind_expr_symbol(b->var[from + v])->extent;
    return ind_expr_product(b->context, extent, num);
}

/* Elements of a row of a reduction or a scan. */
static ind_expr cg__reduced_numel(const ind_kernel *k) {
    return cg__points_of(k, k->body->rank, k->body->rrank);
}

/* Variants for rows of other lengths than the hinted one, range by range: so that a launch is as fast as if its lengths
   were known. None is built before a launch needs it. *rest: there are rows that no range has. */
static ind_status cg__plan_ranges(cg__variants *x, int assume, const int64_t *end, size_t num, bool *rest) {
    ind_status status = IND_OK;
    int64_t least, most;
    ind__known_bounds(cg__reduced_numel(x->kernel), &least, &most);
    ind_plan *p = x->plan;
    p->from = 0;
    for (size_t i = 0; i < num && *rest && !status; i++) {
        p->to = end[i];
        if (p->to >= least) status = cg__next_variant(x, assume);
        if (p->to >= least && (status || !(x->used & IND__ASSUME_LENGTH) || cg__is_walked(&x->variant[x->num]))) break;
        if (p->to >= least) x->num++, status = cg__plan_undivided(x, assume);
        *rest = most > p->to;
        p->from = p->to + 1;
    }
    p->to = 0;
    return status;
}

/* Do rows of a length that only a launch knows stay in registers or in shared memory, if that is known? Of fewer rows
   than there are multiprocessors most of the time is not what a block takes for its own. */
static bool cg__has_ranges(const ind_plan *p, const ind_kernel *k, const ind__variant *likely) {
    if ((k->kind != IND_KERNEL_REDUCTION && k->kind != IND_KERNEL_SCAN) || k->run) return false;
    return ind__strategy_has(likely->strategy, IND__HAS_RANGES) && !ind_expr_is_int(cg__reduced_numel(k), NULL) &&
           ind_hint(cg__points_of(k, 0, k->body->rank)) >= p->target.num_sms;
}

/* The most that cg__plan_variants makes: for the hinted length, each range and any length one with divided rows and one
   without; one for each range of unaligned pointers; the last one. cg__plan_finish adds two. */
_Static_assert(2 + 2 * IND__CG_COUNT(cg__row_ranges) + 2 + IND__CG_COUNT(cg__unaligned_ranges) + 1 + 2 <=
                   IND_MAX_VARIANTS,
               "IND_MAX_VARIANTS is below what a kernel with all ranges needs");

/* First the way that is fast for the hinted sizes, with the conditions it needs; then those for rows of other lengths,
   and those for sizes that vectors do not divide. If the last of these has conditions in turn, then also the way that
   always works. */
static ind_status cg__plan_variants(cg__variants *x) {
    const int all = IND__ASSUME_ALIGNED | IND__ASSUME_DIVISIBLE | IND__ASSUME_LENGTH, any = all & ~IND__ASSUME_LENGTH;
    const bool vectors = x->kernel->kind == IND_KERNEL_POINTWISE || x->kernel->kind == IND_KERNEL_REDUCTION;
    bool rest = true, unaligned = true;
    ind_status status = cg__next_variant(x, all);
    if (status) return status;
    const bool ranges = cg__has_ranges(x->plan, x->kernel, x->variant);
    const bool known = x->used & IND__ASSUME_LENGTH && !cg__is_walked(x->variant);
    if (known) x->num++, status = cg__plan_undivided(x, all);
    if (!status && ranges) status = cg__plan_ranges(x, all, cg__row_ranges, IND__CG_COUNT(cg__row_ranges), &rest);
    if (!status && rest) {
        status = cg__next_variant(x, any);
        x->num++;
        if (!status && vectors) status = cg__plan_undivided(x, any);
    }
    x->plan->from = 0;
    if (status || !cg__has_guard(&x->variant[x->num - 1])) return status;
    if (ranges && x->variant[x->num - 1].guard_aligned)
        status = cg__plan_ranges(x, IND__ASSUME_LENGTH, cg__unaligned_ranges, IND__CG_COUNT(cg__unaligned_ranges),
                                 &unaligned);
    x->plan->from = 0;
    if (!status) status = cg__next_variant(x, IND__ASSUME_NOTHING);
    x->num++;
    return status;
}

/* The variants that the plan keeps. */
static bool cg__keep_variants(ind_plan *p, ind_kernel_plan *kp, const ind__variant *v, int num) {
    kp->variant = (ind__variant *)ind__arena_copy(&p->arena, v, (size_t)num * sizeof *v);
    kp->num_variants = kp->variant ? num : 0;
    return kp->variant != NULL;
}

static ind_status cg__plan_kernel(ind_plan *p, const ind_kernel *k, ind_kernel_plan *kp) {
    if (k->kind == IND_KERNEL_EXTERN) return IND_OK; /* there is nothing to write */
    cg__variants x = {.plan = p, .kernel = k};
    ind_status status = cg__plan_variants(&x);
    if (!status && !cg__keep_variants(p, kp, x.variant, x.num)) status = ind__failed(p->context);
    return status;
}
