/* ---- the variants of a kernel */

/* True if the sizes passed as arguments fit the index type too; false: 64 bits must be used. */
static bool cg__sizes_fit(cg__decider *d, const ind__writer *w) {
    if (d->plan->wide) return true;
    for (uint32_t i = 0; i < w->args.num; i++)
        if (w->args.arg[i].kind == IND__ARG_SIZE && !w->args.arg[i].reciprocal &&
            !cg__expr_fits(d, w->args.arg[i].size, 0))
            return false;
    return true;
}

/* Threads of a block of a product that may be a part of a persistent launch. Its own launches have the same form, and
   so the same bits. 0: any number. */
static int cg__task_threads(const ind_plan *p, const ind_kernel *k) {
    const double bytes = (double)ind_hint(k->bytes_read) + (double)ind_hint(k->bytes_written);
    const double most = (double)p->target.thresholds.task_ns * p->target.memory_bytes_per_ns;
    return p->schedule->program->options.persistent && k->kind == IND_KERNEL_MATMUL && bytes <= most
               ? IND__CG_TASK_THREADS
               : 0;
}

#define IND__CG_ALONE                                                                                                  \
    64 /* fallbacks from this number on have no cluster: 64 is the first variant without one, and so on */

/* Plans the variant or one of its fallbacks, by its position `alternative`; *more: there is another fallback. */
static ind_status cg__plan_alternative(ind_plan *p, const ind_kernel *k, ind__variant *v, int assume, int alternative,
                                       bool *more, int *used) {
    const bool alone = alternative >= IND__CG_ALONE;
    for (int attempt = 0; attempt < 2; attempt++) {
        cg__decider d;
        ind__writer w = {0};
        *v = (ind__variant){.assume = assume,
                            .vector = assume ? 8 : 1,
                            .range = {p->from, p->to},
                            .dependent = cg__launches_dependent(p) ? IND__LAUNCH_WAITS : IND__LAUNCH_ORDERED};
        ind_status status = cg__init_decider(&d, p, k, v, assume);
        d.force_wide = attempt == 1;
        d.part_threads = cg__task_threads(p, k);
        v->alternative = alternative;
        d.alternative = alone ? alternative - IND__CG_ALONE : alternative;
        if (alone) d.max_cluster = 1;
        if (!status) status = cg__decide(&d);
        if (!status) cg__choose_trigger(p, k, v);
        if (!status) status = cg__write_body(&w, p, &d);
        bool fits = status || cg__sizes_fit(&d, &w);
        if (!status && fits) status = cg__assemble(&w, v);
        *more = d.more_alternatives;
        *used |= d.used;
        cg__free(&w);
        cg__free(&d.w);
        if (status || fits) return status;
    }
    return ind__fail(p->context, IND_ERROR_VERIFY, "kernel %s: sizes do not fit into 64 bits", k->name);
}

/* Fallbacks of a variant. NVRTC 13.0 compiled 370 variants of norms and softmax for sm_90a: 20 spilled. The first
   fallback of 19 does not. */
enum { IND__CG_MAX_FALLBACKS = 2 };

/* Plans a variant and its fallbacks. The last fallback of a variant with a cluster has none. *used: the assumptions
   that became guards, except IND__ASSUME_ALIGNED. */
static ind_status cg__plan_variant(ind_plan *p, const ind_kernel *k, ind__variant *v, int assume, int *used) {
    bool tried = false; /* a fallback without clusters was planned */
    int fallbacks = 0;
    *used = 0;
    for (int alternative = p->tuning.alternative;; alternative++, v = v->fallback) {
        bool more = false;
        ind_status status = cg__plan_alternative(p, k, v, assume, alternative, &more, used);
        tried |= ind__cluster_of(v) < 2;
        if (more ? fallbacks + 1 == IND__CG_MAX_FALLBACKS : ind__cluster_of(v) > 1) {
            more = true;
            alternative = IND__CG_ALONE + (tried ? alternative : -1);
        }
        if (status || !more || fallbacks++ == IND__CG_MAX_FALLBACKS) return status;
        v->fallback = (ind__variant *)ind__arena_alloc(&p->arena, sizeof *v);
        if (!v->fallback) return IND_ERROR_OUT_OF_MEMORY;
    }
}

static bool cg__has_guard(const ind__variant *v) {
    return ind__ok(v->guard) || v->guard_aligned;
}

/* True if rows of any length are looped over. */
static bool cg__is_looped(const ind__variant *v) {
    if (v->strategy == IND_STRATEGY_SCAN_BLOCK) return v->range.to > (int64_t)v->threads * v->per_thread;
    return ind__strategy_has(v->strategy, IND__HAS_ANY_LENGTH);
}

#define IND__CG_COUNT(list) (sizeof(list) / sizeof *(list))

/* The variants of a kernel while they are planned. */
typedef struct cg__variants {
    ind_plan *plan;
    const ind_kernel *kernel;
    ind__variant variant[IND_MAX_VARIANTS];
    int num;
    int used;         /* assumptions of the variant planned last */
    int64_t few_rows; /* most rows of a variant for few rows; 0: any */
} cg__variants;

/* Plans the next variant, variant[num]; the caller keeps it by incrementing num. */
static ind_status cg__next_variant(cg__variants *x, int assume) {
    if (x->num >= IND_MAX_VARIANTS)
        return ind__fail(x->plan->context, IND_ERROR_LIMIT, "kernel %s: it needs more than %d variants",
                         x->kernel->name, IND_MAX_VARIANTS);
    return cg__plan_variant(x->plan, x->kernel, &x->variant[x->num], assume, &x->used);
}

/* After a variant that requires rows to be multiples of the vector width, adds one without this guard, if it has
   vectors too (misaligned rows). For a range of lengths always, as it then has at least the right number of threads. */
static ind_status cg__plan_undivided(cg__variants *x, int assume) {
    const int used = x->used;
    if (!(used & IND__ASSUME_DIVISIBLE)) return IND_OK;
    ind_status status = cg__next_variant(x, assume & ~IND__ASSUME_DIVISIBLE);
    const ind__variant *made = &x->variant[x->num];
    const bool looped = x->used & IND__ASSUME_LENGTH && cg__is_looped(made);
    x->num += !status && x->used == (used & ~IND__ASSUME_DIVISIBLE) && (made->vector > 1 || made->range.to) && !looped;
    return status;
}

/* The last row length of each range: 1024 in the lanes of a warp, 8192 in the registers of a block, 32768 in its shared
   memory, more in that of a cluster. Each launch has as many threads and bytes of shared memory as its row length
   needs. Fewer ranges are slower. Measured on the H200, layer_norm, softmax, rms_norm and cross entropy of any length:
   without 128 and 512 up to 2.0 and 1.5 times; with as many lanes as the row of the launch needs instead of 512 and
   1024, up to 1.3 times; undivided rows without 4096 and 8192 1.3 times; a cluster of 8 for rows of 131072 1.4 to 1.9
   times. */
static const int64_t cg__narrow_ranges[] = {128,   512,   1024,   8192, /* elements of 1 or 2 bytes */
                                            32768, 65536, 131072, 262144};
static const int64_t cg__wide_ranges[] = {128, 512, 1024, 8192, 16384, 32768, 65536, 131072, 262144};
/* The same if vectors may not divide the rows. */
static const int64_t cg__undivided_ranges[] = {128, 512, 1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144};
/* The same for unaligned pointers, which are rare. */
static const int64_t cg__unaligned_ranges[] = {16384};

/* The number of points of `num` variables of a kernel. */
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

/* Adds a variant for each range of row lengths, so that a launch is as fast as if its row length were known. The first
   launch that needs a variant builds it. A variant for all row lengths has no guard. For unaligned pointers it is the
   last variant if rows do not fit into a warp. Otherwise the variant for any length takes its place. *rest: there are
   rows that no range has. *divisible: some of the variants assume that vectors divide the rows. */
static ind_status cg__plan_ranges(cg__variants *x, int assume, const int64_t *end, size_t num, bool *rest,
                                  bool *divisible) {
    ind_status status = IND_OK;
    int64_t least, most;
    ind__known_bounds(cg__reduced_numel(x->kernel), &least, &most);
    ind_plan *p = x->plan;
    p->from = 0;
    *rest = true;
    for (size_t i = 0; i < num && *rest && !status; i++) {
        p->to = end[i];
        if (p->to >= least) status = cg__next_variant(x, assume);
        const bool last = most <= p->to && !(assume & IND__ASSUME_ALIGNED) && most > IND__WARP_ROW;
        if (p->to >= least && (status || !(x->used & IND__ASSUME_LENGTH || last) || cg__is_looped(&x->variant[x->num])))
            break;
        if (p->to >= least) x->num++, *divisible |= x->used & IND__ASSUME_DIVISIBLE;
        *rest = most > p->to;
        p->from = p->to + 1;
    }
    p->to = 0;
    return status;
}

/* True if the kernel gets a variant per range of row lengths: the length is known only at launch, and the likely
   variant keeps rows in registers or in shared memory. With fewer rows than SMs, most of the time is not a block's own
   work. */
static bool cg__has_ranges(const ind_plan *p, const ind_kernel *k, const ind__variant *likely) {
    if ((k->kind != IND_KERNEL_REDUCTION && k->kind != IND_KERNEL_SCAN) || k->run) return false;
    return ind__strategy_has(likely->strategy, IND__HAS_RANGES) && !ind_expr_is_int(cg__reduced_numel(k), NULL) &&
           ind_hint(cg__points_of(k, 0, k->body->rank)) >= p->target.num_sms;
}

/* The most variants that cg__plan_variants adds: two for each range, two for any length, one for each range of
   unaligned pointers, the last one. cg__plan_finish adds two. */
_Static_assert(IND__CG_COUNT(cg__wide_ranges) + IND__CG_COUNT(cg__undivided_ranges) + 2 +
                       IND__CG_COUNT(cg__unaligned_ranges) + 1 + 2 <=
                   IND_MAX_VARIANTS,
               "IND_MAX_VARIANTS is below what a kernel with all ranges needs");

/* Adds the variants for ranges of row lengths: first those with divided rows. */
static ind_status cg__plan_all_ranges(cg__variants *x, int assume, bool *rest) {
    bool divisible = false, undivided_rest = false;
    const bool narrow = x->variant->vector > 4;
    ind_status status =
        narrow ? cg__plan_ranges(x, assume, cg__narrow_ranges, IND__CG_COUNT(cg__narrow_ranges), rest, &divisible)
               : cg__plan_ranges(x, assume, cg__wide_ranges, IND__CG_COUNT(cg__wide_ranges), rest, &divisible);
    if (status || !divisible) return status;
    status = cg__plan_ranges(x, assume & ~IND__ASSUME_DIVISIBLE, cg__undivided_ranges,
                             IND__CG_COUNT(cg__undivided_ranges), &undivided_rest, &divisible);
    *rest |= undivided_rest;
    return status;
}

/* Adds the variants for any row length, with and without divided rows. */
static ind_status cg__plan_any_length(cg__variants *x, int assume) {
    const bool vectors = x->kernel->kind == IND_KERNEL_POINTWISE || x->kernel->kind == IND_KERNEL_REDUCTION;
    ind_status status = cg__next_variant(x, assume);
    x->num++;
    return !status && vectors ? cg__plan_undivided(x, assume) : status;
}

/* True for a product whose number of rows a guard can bound: a size that is no constant. */
static bool cg__may_have_few_rows(const ind_kernel *k) {
    bool constant = true;
    for (int v = 0; v < k->body->rank; v++)
        constant = constant && ind_expr_is_int(ind_expr_symbol(k->body->var[v])->extent, NULL);
    return k->kind == IND_KERNEL_MATMUL && !constant;
}

/* The last numbers of rows of the variants of a product with packed weights. */
static const int64_t cg__packed_ranges[] = {1, 4, 16, 64};

/* True for a product that reads elements of 8 bits, or packed ones: the weights may be packed. */
static bool cg__may_have_packed_weights(const ind_plan *p, const ind_kernel *k) {
    for (uint32_t i = 1; i < k->body->num_inst; i++) {
        const ind__inst *x = &k->body->inst[i];
        if (x->op == IND_LOOP_LOAD && ind_dtype_bytes(p->schedule->program->buffer[x->source].dtype) == 1) return true;
    }
    return false;
}

/* Adds the variants of a product with packed weights that assume few rows, one for each range. For one row another
   strategy of few rows may be faster. *packed: it has such weights, and may have few rows. */
static ind_status cg__plan_packed_rows(cg__variants *x, int assume, bool *packed) {
    ind_status status = IND_OK;
    const int first = x->num;
    bool more = cg__may_have_packed_weights(x->plan, x->kernel);
    for (size_t i = 0; i < IND__CG_COUNT(cg__packed_ranges) && more && !status; i++) {
        if (x->few_rows && cg__packed_ranges[i] > x->few_rows) break;
        x->plan->to = cg__packed_ranges[i];
        status = cg__next_variant(x, assume);
        if (status) break;
        const bool is_packed = cg__mm_takes_packed(x->variant[x->num].strategy);
        const bool guard = x->used & IND__ASSUME_FEW_ROWS;
        *packed |= is_packed;
        more = guard || !is_packed; /* else it never has more rows: the next variants assume no less */
        x->num += guard;
    }
    if (!*packed) x->num = first;
    x->plan->to = 0;
    return status;
}

/* Adds the variants of a product that assume few rows, if they gain. */
static ind_status cg__plan_few_rows(cg__variants *x, int all) {
    bool packed = false;
    if (!cg__may_have_few_rows(x->kernel)) return IND_OK;
    if (x->kernel->scores) {
        ind_status status = cg__next_variant(x, all | IND__ASSUME_FEW_ROWS);
        x->num += !status && x->used & IND__ASSUME_FEW_ROWS ? 1 : 0;
        return status;
    }
    ind_status status = cg__plan_packed_rows(x, all | IND__ASSUME_FEW_ROWS | IND__ASSUME_MAPS, &packed);
    if (status || packed) return status;
    status = cg__next_variant(x, all | IND__ASSUME_FEW_ROWS);
    x->num += !status && x->used & IND__ASSUME_FEW_ROWS ? 1 : 0;
    return status;
}

/* Adds the variants of a product that assume few rows, or tensor maps, if they gain. */
static ind_status cg__plan_product(cg__variants *x, int all) {
    ind_status status = cg__plan_few_rows(x, all);
    if (!status) status = cg__next_variant(x, all | IND__ASSUME_MAPS);
    x->num += !status && x->used & IND__ASSUME_MAPS ? 1 : 0;
    return status;
}

/* After a variant of a product that requires sizes to be multiples of the vector width, adds one without this guard, if
   its operands are copied from aligned buffers too. */
static ind_status cg__plan_misaligned_product(cg__variants *x) {
    if (x->kernel->kind != IND_KERNEL_MATMUL || !ind__ok(x->variant[x->num - 1].guard)) return IND_OK;
    ind_status status = cg__next_variant(x, IND__ASSUME_ALIGNED);
    x->num += !status && x->variant[x->num].guard_aligned;
    return status;
}

/* Adds the variants in the order in which a launch selects: for ranges of row lengths, or for the hinted length, if it
   is of use; for any length. If the last of these has a guard, adds a variant without any. */
static ind_status cg__plan_variants(cg__variants *x) {
    const int all = IND__ASSUME_ALIGNED | IND__ASSUME_DIVISIBLE | IND__ASSUME_LENGTH, any = all & ~IND__ASSUME_LENGTH;
    bool rest = true, unaligned = true, divisible = false;
    ind_status status = cg__plan_product(x, all);
    if (status) return status;
    const bool ranges = cg__has_ranges(x->plan, x->kernel, x->variant);
    if (ranges)
        status = cg__plan_all_ranges(x, all, &rest);
    else if (x->used & IND__ASSUME_LENGTH && !cg__is_looped(x->variant))
        x->num++, status = cg__plan_undivided(x, all);
    if (!status && rest) status = cg__plan_any_length(x, any);
    if (!status) status = cg__plan_misaligned_product(x);
    x->plan->from = 0;
    if (status || !cg__has_guard(&x->variant[x->num - 1])) return status;
    if (ranges && x->variant[x->num - 1].guard_aligned)
        status = cg__plan_ranges(x, IND__ASSUME_LENGTH, cg__unaligned_ranges, IND__CG_COUNT(cg__unaligned_ranges),
                                 &unaligned, &divisible);
    x->plan->from = 0;
    if (status || !cg__has_guard(&x->variant[x->num - 1])) return status;
    status = cg__next_variant(x, IND__ASSUME_NOTHING);
    x->num++;
    return status;
}

static bool cg__store_variants(ind_plan *p, ind_kernel_plan *kp, const ind__variant *v, int num) {
    kp->variant = (ind__variant *)ind__arena_copy(&p->arena, v, (size_t)num * sizeof *v);
    kp->num_variants = kp->variant ? num : 0;
    return kp->variant != NULL;
}

static ind_status cg__plan_kernel(ind_plan *p, const ind_kernel *k, ind_kernel_plan *kp) {
    if (k->kind == IND_KERNEL_EXTERN) return IND_OK; /* nothing to write */
    cg__variants x = {.plan = p, .kernel = k};
    ind_status status = cg__plan_variants(&x);
    if (!status && !cg__store_variants(p, kp, x.variant, x.num)) status = ind__failed(p->context);
    return status;
}
