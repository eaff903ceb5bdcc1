/* ---- prologues: operands of a matrix product that are computed in its loads */

/* True if the loop copies whole rows of a matrix, each found by an index of its own. */
static bool sched__gathers_rows(const sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    const ind__inst *store = &body->inst[body->num_inst - 1], *load = &body->inst[store->arg[0]];
    int64_t one;
    if (body->rank != 2 || body->rrank || store->op != IND_LOOP_STORE || load->op != IND_LOOP_LOAD || load->arg[0])
        return false;
    if (f->program->buffer[load->source].dtype != f->program->buffer[store->source].dtype) return false;
    if (!ind_expr_is_int(ind_expr_stride(body->index[load->index], body->var[1]), &one) || one != 1) return false;
    for (const ind__inst *in = body->inst + 1; in < store; in++) {
        if (in == load || in->op == IND_LOOP_INDIRECT) continue;
        for (uint32_t k = 0; k < in->num_index; k++)
            if (ind__expr_depends(body->index[in->index + k], body->var[1])) return false;
    }
    return true;
}

/* True if group a gathers rows that are the left operand of b's product of groups of rows: each row of a tile is copied
   from where it is. */
static bool sched__gathers_left(const sched__fuser *f, uint32_t a, uint32_t b) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    if (x->count != 1 || y->dot == IND__SCHED_NONE || !sched__gathers_rows(f, x->head)) return false;
    const ind__access *left = sched__product_operand(f, y->dot, 0), *right = sched__product_operand(f, y->dot, 1);
    const uint32_t writer = left ? sched__writer(f, left->buffer) : IND__SCHED_NONE;
    return writer == x->head && right && right->indirect;
}

/* True if the loop loads at indices from memory that do not vary along its last variable: it gathers rows. */
static bool sched__computes_gathered(sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    uint32_t *mask = sched__scratch(f, body->num_inst, sizeof *mask), vary = 0;
    bool any = false;
    if (!mask || body->rank < 2 || body->rrank) return false;
    ind__body_var_masks(body, mask);
    for (uint32_t i = 1; i < body->num_inst; i++) {
        if (body->inst[i].op != IND_LOOP_INDIRECT) continue;
        any = true;
        vary |= mask[i];
    }
    return any && !(vary >> (body->rank - 1) & 1);
}

/* True if group a gathers keys or values of pages, and b is attention: blocks read each row from where it is. */
static bool sched__gathers_keys(sched__fuser *f, uint32_t a, uint32_t b) {
    const sched__group *x = &f->group[a];
    return f->group[b].scores != IND__SCHED_NONE && x->count == 1 && sched__computes_gathered(f, x->head);
}

/* True if the product reads neighbours of the operand along a variable other than the keys: features. */
static bool sched__reads_features(const sched__group *y, ind_expr read) {
    ind_expr symbol[32];
    int64_t stride;
    const int num = ind__expr_symbols(read, symbol, 32);
    for (int s = 0; s < num && s < 32; s++)
        if (!ind_expr_same(symbol[s], y->domain->var[y->domain->rank]) &&
            ind_expr_is_int(ind_expr_stride(read, symbol[s]), &stride) && stride == 1)
            return true;
    return false;
}

/* Checks that the loop may be recomputed for each tile, and that only the product reads its stores. Returns a reason if
   not. */
static ind_fusion_reason sched__check_inlinable(sched__fuser *f, uint32_t l, uint32_t a, uint32_t b) {
    const ind_body *body = f->program->loop[l].body;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op == IND_LOOP_INDIRECT && !sched__gathers_left(f, a, b) && !sched__gathers_keys(f, a, b))
            return IND_FUSION_PROLOGUE_GATHERED;
        if (in->op == IND_LOOP_REDUCE || in->op == IND_LOOP_SCAN) return IND_FUSION_PROLOGUE_REDUCED;
        if (in->op != IND_LOOP_STORE) continue;
        if (in->arg[1] || in->reduction || in->flags & IND__INST_SCATTER) return IND_FUSION_PROLOGUE_PARTIAL;
        if (sched__stored(f, in->source, a, b)) return IND_FUSION_PROLOGUE_SHARED;
    }
    const bool attention = f->group[b].scores != IND__SCHED_NONE; /* its template reads sizes from memory */
    for (uint32_t i = f->first_access[l]; i < f->first_access[l + 1]; i++)
        if (f->access[i].whole || (f->access[i].size && !attention)) return IND_FUSION_PROLOGUE_PARTIAL;
    return IND_FUSION_FUSED_PROLOGUE;
}

/* Reasons against a prologue that depend on the group alone, not on the product. */
static ind_fusion_reason sched__check_pointwise(const sched__group *x) {
    if (x->domain->rrank || x->scans) return IND_FUSION_PROLOGUE_REDUCED;
    if (x->mutates) return IND_FUSION_MUTATION;
    if (x->call) return x->library ? IND_FUSION_LIBRARY : IND_FUSION_EXTERN;
    return x->dot == IND__SCHED_NONE ? IND_FUSION_FUSED_PROLOGUE : IND_FUSION_TWO_TEMPLATES;
}

/* Checks that the access is a plain load of an operand, the only kind that a prologue supports. Returns a reason if
   not. */
static ind_fusion_reason sched__check_operand(const ind__access *at, bool product, bool padded) {
    if (at->masked || padded) return IND_FUSION_PROLOGUE_PADDED;
    if (at->indirect) return IND_FUSION_PROLOGUE_GATHERED;
    return at->operand && product ? IND_FUSION_FUSED_PROLOGUE : IND_FUSION_PROLOGUE_SHARED;
}

/* Computes the domain's variables at the element with linear index `read`, for a buffer written at `made`. The write
   must cover every element once, so its strides are those of the dimensions in some order. The index is then
   decomposed. Fails for empty dimensions; a size that may be 0 is replaced by 1 in divisions, as nothing is read
   then. */
static bool sched__invert(sched__fuser *f, const sched__domain *d, ind_expr made, ind_expr read, ind_expr *map) {
    ind_expr stride[IND__SCHED_DIMS], one = ind_int(f->context, 1), next = one, rest = made;
    const int rank = d->rank + d->rrank;
    int left = rank;
    int64_t zero;
    for (int k = 0; k < rank; k++) {
        if (ind_expr_is_int(d->size[k], &zero) && !zero) return false;
        if (!ind__affine(rest, d->var[k], &stride[k], &rest)) return false;
        map[k] = (ind_expr){0};
    }
    if (!ind_expr_is_int(rest, &zero) || zero) return false;
    for (bool found = true; found && left;) {
        found = false;
        for (int k = 0; k < rank && !found; k++) {
            if (ind__ok(map[k]) || !ind_known_eq(stride[k], next)) continue;
            found = true, left--;
            const ind_expr size = ind_expr_max(d->size[k], one);
            map[k] = left ? ind_expr_mod(read, size) : read;
            read = left ? ind_expr_floordiv(read, size) : read;
            next = ind_expr_mul(next, d->size[k]);
            if (!ind__ok(map[k]) || !ind__ok(next) || !ind__ok(read)) return sched__fail(f);
        }
    }
    return !left;
}

/* True if every access that is affine in the group's variables is also affine in the product's. */
static bool sched__stays_affine(sched__fuser *f, uint32_t a, const sched__fit *fit) {
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it)) {
        ind_expr own = it.at->index, mapped = sched__index_in(f, it.at, fit->a, fit->map_a), step;
        bool was = true, is = true;
        for (int v = 0; was && v < fit->a->rank; v++) was = ind__affine(own, fit->a->var[v], &step, &own);
        for (int v = 0; is && v < fit->b->rank + fit->b->rrank; v++)
            is = ind__affine(mapped, fit->b->var[v], &step, &mapped);
        if (was && !is) return false;
    }
    return true;
}

/* Number of points of the variables that the index depends on, at the hints; `others`: of the P variables that it does
   not depend on. */
static double sched__points_of(const sched__domain *d, ind_expr index, bool others) {
    double n = 1;
    for (int v = 0; v < (others ? d->rank : d->rank + d->rrank); v++)
        if (ind__expr_depends(index, d->var[v]) != others) n *= (double)sched__hint(d->size[v]);
    return n;
}

/* f32 operations of an instruction; divisions, libm functions and user functions count as several. */
static double sched__inst_ops(const ind_fusion_policy *p, const ind__inst *in) {
    ind_loop_op op = (ind_loop_op)in->op;
    char class = ind__loop_op_class(op);
    bool rounds = op == IND_LOOP_ROUND_F16 || op == IND_LOOP_ROUND_BF16;
    bool function = (class == 'f' && !rounds) || op == IND_LOOP_DIV;
    return class == 's' ? 0 : function ? p->function_ops : class == 'r' || class == 'u' ? p->random_ops : 1;
}

/* f32 operations per element of the loop. */
static double sched__element_ops(const ind_fusion_policy *p, const ind_body *body) {
    double n = 0;
    for (uint32_t i = 1; i < body->num_inst; i++) n += sched__inst_ops(p, &body->inst[i]);
    return n;
}

/* Rows of tiles of a product that run at the same time, the rows and columns of a tile of 16-bit operands, and 16-bit
   multiply-adds per byte of memory traffic that a product loses if it computes overlapping windows in its loads. Not
   measured: taken from windows that were read one by one (64 x 256 channels, 56 x 56, 3 x 3 on an H200: 10.4 ms; 0.3
   with copies of windows). */
enum { SCHED__STRIPE = 8, SCHED__HALF_TILE = 128, SCHED__WINDOW_MACS = 2 };

/* Cost in bytes of reading `bytes` of an operand for `times` tiles: the first read is from memory, the others from the
   L2. If the operand does not fit there, each row of tiles that starts after others reads it from memory again. */
static double sched__reread(const sched__fuser *f, double bytes, double times) {
    const double passes = bytes <= (double)f->policy.l2_bytes ? 1 : ceil(times / SCHED__STRIPE);
    return bytes * (passes + (times - passes) * f->policy.reread_percent / 100.0);
}

/* Cost of one prologue, at the hints. */
typedef struct sched__inlining {
    double points, times;       /* elements of the operand; number of times that each of them is computed */
    double others, reads;       /* points of the product that use an element; number of tiles that read the operand */
    double inputs, made, inner; /* bytes read by the prologue and written; operations per element */
    double loads, row_loads;    /* bytes of all loads, and of those that differ from row to row of the operand */
    double blocks, steps, macs; /* of the product */
    bool half, eighth;          /* 16-bit elements; i8 or an 8-bit float */
    bool windows;               /* the product reads overlapping windows: each element at several points of depth */
} sched__inlining;

static bool sched__is_eighth(ind_dtype t) {
    return t == IND_I8 || t == IND_F8E4M3FN || t == IND_F8E5M2;
}

/* True if the index depends on a P variable. */
static bool sched__varies_by_row(const sched__domain *d, ind_expr index) {
    bool varies = false;
    for (int v = 0; v < d->rank; v++) varies |= ind__expr_depends(index, d->var[v]);
    return varies;
}

/* Bytes that an access of group a touches, if group a has that buffer in memory; else 0. */
static double sched__touched(sched__fuser *f, uint32_t a, const sched__fit *fit, const ind__access *at) {
    const double size = ind_dtype_bytes(f->program->buffer[at->buffer].dtype);
    const uint32_t writer = sched__writer(f, at->buffer);
    const bool inside = !at->write && writer != IND__SCHED_NONE && f->group_of[writer] == a;
    if (inside || (at->write && !sched__stored(f, at->buffer, a, a))) return 0; /* never reaches memory */
    return size * sched__points_of(fit->b, sched__index_in(f, at, fit->a, fit->map_a), false);
}

/* The same of a read, without what reads of the same buffer before it have touched: no more than the buffer has. */
static double sched__first_touched(sched__fuser *f, uint32_t a, const sched__fit *fit, const ind__access *at) {
    double left = (double)f->buffers.bytes_hint[at->buffer];
    for (sched__access_iter it = sched__first_access(f, a); it.at && it.at != at; sched__next_access(f, &it))
        if (it.at->buffer == at->buffer && !it.at->write) left -= sched__touched(f, a, fit, it.at);
    const double touched = sched__touched(f, a, fit, at);
    return left <= 0 ? 0 : touched < left ? touched : left;
}

/* True if an operand is read through overlapping windows: it varies along several variables of depth, and they reach an
   element more than twice. (Heads that share keys have one variable of depth.) */
static bool sched__has_windows(const sched__fuser *f, const sched__domain *d, const ind__access *read, double points) {
    const double bytes = (double)f->buffers.bytes_hint[read->buffer];
    int along = 0;
    for (int v = d->rank; v < d->rank + d->rrank; v++) along += ind__expr_depends(read->index, d->var[v]);
    return along > 1 && points > 2 * bytes / ind_dtype_bytes(f->program->buffer[read->buffer].dtype);
}

static void sched__measure_inlining(sched__fuser *f, uint32_t a, const sched__fit *fit, const ind__access *read,
                                    sched__inlining *n) {
    const sched__domain *d = fit->b;
    double tile = f->policy.product_tile;
    *n = (sched__inlining){.points = sched__points_of(d, read->index, false),
                           .others = sched__points_of(d, read->index, true)};
    n->windows = sched__has_windows(f, d, read, n->points);
    double rows = n->others > 0 ? (double)d->hint / n->others : 0;
    n->times = n->others > tile ? ceil(n->others / tile) : 1;
    n->blocks = ceil(rows / tile) * n->times;
    n->steps = ceil((double)d->rhint / f->policy.product_depth), n->macs = (double)d->hint * (double)d->rhint;
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it)) {
        const ind_dtype t = f->program->buffer[it.at->buffer].dtype;
        const double touched = sched__touched(f, a, fit, it.at);
        if (it.at->write) {
            n->made += touched;
            n->half |= touched > 0 && ind_dtype_bytes(t) == 2;
            n->eighth |= touched > 0 && sched__is_eighth(t);
            continue;
        }
        const double own = (double)f->buffers.bytes_hint[it.at->buffer], load = own < touched ? own : touched;
        n->inputs += sched__first_touched(f, a, fit, it.at);
        n->loads += load;
        if (sched__varies_by_row(d, sched__index_in(f, it.at, fit->a, fit->map_a))) n->row_loads += load;
    }
    n->reads = n->half && n->others > SCHED__HALF_TILE ? ceil(n->others / SCHED__HALF_TILE) : n->half ? 1 : n->times;
    for (uint32_t l = f->group[a].head; l != IND__SCHED_NONE; l = f->next_loop[l])
        n->inner += sched__element_ops(&f->policy, f->program->loop[l].body);
}

/* True if the group computes its result from inputs and constants alone, bytes among them: a quantised weight. */
static bool sched__is_quantised(const sched__fuser *f, uint32_t a) {
    bool bytes = false;
    for (sched__access_iter it = sched__first_access(f, a); it.at; sched__next_access(f, &it)) {
        if (it.at->write) continue;
        if (!sched__is_given(f, it.at->buffer)) return false;
        bytes |= sched__is_given_bytes(f, it.at->buffer);
    }
    return bytes;
}

/* True if a product of groups of rows gathers the rows of its left operand at less cost than the kernel that stores
   them. It loses the bulk copies of that operand, unless reading the matrices limits it. */
static bool sched__gathering_is_profitable(const sched__fuser *f, uint32_t b, const sched__inlining *n) {
    const sched__group *y = &f->group[b];
    const ind_body *body = f->program->loop[y->dot].body;
    const ind_expr groups = body->index[body->inst[sched__last_group(body)].index];
    const double rows = (double)sched__hint(y->domain->size[0]) / (double)sched__hint(groups);
    double lost = n->macs * (y->dot2 == IND__SCHED_NONE ? 1 : 2) / f->policy.macs_per_byte;
    if (rows <= f->policy.group_rows) lost = 0;
    return sched__reread(f, n->inputs, n->times) + lost <=
           n->inputs + n->made + sched__reread(f, n->made, n->times) + (double)f->policy.launch_bytes;
}

/* True if the product has few rows, for which the template of packed weights is the faster form. If their number is
   known at launch only, launches of few rows gain more than those of up to twice as many lose. */
static bool sched__has_few_rows(const sched__fuser *f, const sched__domain *d, ind_expr read, double rows) {
    bool constant = true;
    for (int v = 0; v < d->rank; v++)
        constant &= ind__expr_depends(read, d->var[v]) || ind_expr_is_int(d->size[v], NULL);
    return rows <= (constant ? 1 : 2) * (double)f->policy.quantised_rows;
}

/* True if the prologue costs less, in bytes of memory traffic in the same time. Unfused: its inputs once, its result
   written and read back, read again for every tile of the product's other dimension, and a launch. Fused: its inputs
   and operations for every tile; for 16 bits also the lost asynchronous copies, most of all of windows, and steps that
   wait for their tile: the other blocks of an SM work at that time. (int8, fp8, q4_0 and int4 weights of 128 to 4096
   rows and four sizes, H100: the estimated time beyond that of bf16 weights is 0.5 to 2 times the measured one.) A
   quantised weight of a product with few rows is not stored: packed weights are the faster form. Operands of 8 bits are
   stored: tensor cores take them from memory only. */
static bool sched__inlining_is_profitable(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit *fit,
                                          const ind__access *read) {
    const ind_fusion_policy *p = &f->policy;
    sched__inlining n;
    sched__measure_inlining(f, a, fit, read, &n);
    if (n.eighth) return false;
    if (sched__gathers_left(f, a, b)) return sched__gathering_is_profitable(f, b, &n);
    if (sched__has_few_rows(f, fit->b, read->index, n.others) && sched__is_quantised(f, a)) return true;
    double busy = n.blocks < p->fill_blocks ? n.blocks / p->fill_blocks : 1;
    double unfused = n.inputs + n.made + sched__reread(f, n.made, n.reads) + (double)p->launch_bytes;
    double fused = sched__reread(f, n.inputs, n.reads);
    fused += busy > 0 ? n.points * n.times * n.inner / p->ops_per_byte / busy : 0;
    if (n.half) fused += n.steps * (double)p->step_bytes;
    const double macs_per_byte = n.windows ? SCHED__WINDOW_MACS : p->macs_per_byte;
    if (n.half) fused += n.macs * (f->group[b].dot2 == IND__SCHED_NONE ? 1 : 2) / macs_per_byte;
    return fused <= unfused;
}

static ind_expr sched__depth(const sched__fuser *f, uint32_t l);

/* Operations of the loop, each as often as its variables have points. */
static double sched__loop_ops(sched__fuser *f, uint32_t l) {
    const ind_body *body = f->program->loop[l].body;
    uint32_t *mask = sched__scratch(f, body->num_inst, sizeof *mask);
    double n = 0;
    if (!mask) return 0;
    ind__body_var_masks(body, mask);
    for (uint32_t i = 1; i < body->num_inst; i++)
        n += sched__inst_ops(&f->policy, &body->inst[i]) * (double)sched__hint(sched__points(body, mask[i]));
    return n;
}

/* True if blocks of attention compute the operand of `product` in their loads. They have few queries, so each key is
   read once per head: blocks of many queries would compute it again, and lose the bulk copies of other operands. Fused:
   the operations. Unfused: the result written and read, and a launch. In bytes of memory traffic in the same time. */
static bool sched__operand_is_profitable(sched__fuser *f, uint32_t a, uint32_t b, uint32_t product,
                                         const ind__access *read) {
    const sched__group *y = &f->group[b];
    const double elements = (double)sched__hint(f->group[a].domain->numel);
    double points = sched__points_of(y->domain, read->index, false), ops = 0;
    if (product == y->scores) points *= (double)ind_hint(sched__depth(f, product));
    for (uint32_t l = f->group[a].head; l != IND__SCHED_NONE; l = f->next_loop[l]) ops += sched__loop_ops(f, l);
    ops *= elements > 0 ? points / elements : 1;
    return y->few_queries && ops / f->policy.ops_per_byte <=
                                 2 * (double)f->buffers.bytes_hint[read->buffer] + (double)f->policy.launch_bytes;
}

static bool sched__normalises_rows(const sched__group *x);
static ind_fusion_reason sched__can_inline_rows(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit);

/* Checks whether group a may be computed in the operand load of b's matrix product. Returns
   FUSED_PROLOGUE and *fit, or the reason against it. */
static ind_fusion_reason sched__can_inline(sched__fuser *f, uint32_t a, uint32_t b, const sched__fit **fit) {
    const sched__group *x = &f->group[a], *y = &f->group[b];
    const ind__access *read = NULL;
    uint32_t product = IND__SCHED_NONE;
    if (f->policy.disable || f->policy.disable_prologue) return IND_FUSION_DISABLED;
    if (sched__normalises_rows(x)) return sched__can_inline_rows(f, a, b, fit);
    ind_fusion_reason reason = sched__check_pointwise(x);
    if (!sched__fused(reason)) return reason;
    if (y->dot == IND__SCHED_NONE || y->mutates) return IND_FUSION_PROLOGUE;
    for (uint32_t l = x->head; l != IND__SCHED_NONE; l = f->next_loop[l]) {
        reason = sched__check_inlinable(f, l, a, b);
        if (!sched__fused(reason)) return reason;
    }
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t writer = sched__writer(f, it.at->buffer);
        if (it.at->write || writer == IND__SCHED_NONE || f->group_of[writer] != a) continue;
        reason =
            sched__check_operand(it.at, sched__multiplies(f, it.loop), f->program->buffer[it.at->buffer].padded_rows);
        if (!sched__fused(reason)) return reason;
        read = it.at, product = it.loop;
    }
    if (!read) return IND_FUSION_PROLOGUE;
    if (sched__gathers_keys(f, a, b) && !sched__reads_features(y, read->index)) return IND_FUSION_PROLOGUE_GATHERED;
    sched__fit *own = sched__scratch(f, 1, sizeof *own);
    if (!own) return IND_FUSION_PROLOGUE;
    *own = (sched__fit){.a = x->domain, .b = y->domain, .domain = y->domain};
    memcpy(own->map_b, y->domain->var, sizeof own->map_b);
    if (!sched__invert(f, x->domain, f->access[f->buffers.written[read->buffer] - 1].index, read->index, own->map_a))
        return IND_FUSION_PROLOGUE;
    for (sched__access_iter it = sched__first_access(f, b); it.at; sched__next_access(f, &it)) {
        uint32_t writer = sched__writer(f, it.at->buffer);
        bool made = !it.at->write && writer != IND__SCHED_NONE && f->group_of[writer] == a;
        if (made && !sched__reads_same_point(f, it.at, own)) return IND_FUSION_PROLOGUE;
    }
    const bool attention = y->scores != IND__SCHED_NONE; /* divides a block's number into batches once */
    if (!attention && !sched__stays_affine(f, a, own)) return IND_FUSION_PROLOGUE;
    if (sched__memory_scarcity(f, a, b) && !sched__is_quantised(f, a))
        return IND_FUSION_MEMORY; /* constants take no memory of the arena */
    if (attention ? !sched__operand_is_profitable(f, a, b, product, read)
                  : !sched__inlining_is_profitable(f, a, b, own, read))
        return IND_FUSION_NO_GAIN;
    if (sched__too_large(f, a, b)) return IND_FUSION_TOO_LARGE;
    reason = sched__check_cycle(f, a, b);
    if (!sched__fused(reason)) return reason;
    *fit = own;
    return IND_FUSION_FUSED_PROLOGUE;
}
