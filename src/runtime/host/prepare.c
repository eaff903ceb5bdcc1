/* ------------------------------------------------------------------------------------------- >>host-device */
/* Executes the schedule: evaluates the fused bodies in blocks of IND__LANES points. It shares no code with the CUDA
   emitter, so that each checks the other. A kernel is split into stages. Every REDUCE ends a pass over the row; values
   that depend on its result belong to the next stage. */

typedef struct rt__host_deps {
    uint32_t source[64]; /* instructions whose values this one uses */
    uint32_t num;
    uint32_t vars; /* bit v: uses loop variable v itself */
} rt__host_deps;

static ind_status rt__deps_add_expr(rt__host_deps *d, const ind_body *b, uint32_t self, ind_expr e) {
    ind_expr symbol[64];
    int n = ind__expr_symbols(e, symbol, 64);
    if (n > 64) return ind__fail(b->context, IND_ERROR_LIMIT, "an index expression has %d symbols, 64 are possible", n);
    for (int i = 0; i < n; i++) {
        ind_symbol_kind kind = ind_expr_symbol(symbol[i])->kind;
        for (int v = 0; kind == IND_SYMBOL_INDEX && v < b->rank + b->rrank; v++)
            if (b->var[v].id == symbol[i].id) d->vars |= 1u << v;
        for (uint32_t k = 1; kind == IND_SYMBOL_INDIRECT && k < self; k++) {
            if (b->inst[k].op != IND_LOOP_INDIRECT || b->index[b->inst[k].index + 1].id != symbol[i].id) continue;
            if (d->num == 64)
                return ind__fail(b->context, IND_ERROR_LIMIT, "an access has more than 60 indirect indices");
            d->source[d->num++] = k;
        }
    }
    return IND_OK;
}

static ind_status rt__host_find_deps(const ind_body *b, uint32_t n, rt__host_deps *d) {
    const ind__inst *i = &b->inst[n];
    d->num = d->vars = 0;
    const int args = i->op == IND_LOOP_PACKED ? 1 : IND__MAX_ARGS; /* the others are there for products */
    for (int k = 0; k < args; k++)
        if (i->arg[k]) d->source[d->num++] = i->arg[k];
    bool accesses = i->op == IND_LOOP_LOAD || i->op == IND_LOOP_STORE || i->op == IND_LOOP_INDEX;
    uint32_t num = i->op == IND_LOOP_INDIRECT ? 1 : accesses ? (i->num_index ? i->num_index : 1) : 0;
    ind_status status = IND_OK;
    for (uint32_t k = 0; k < num && !status; k++) status = rt__deps_add_expr(d, b, n, b->index[i->index + k]);
    return status;
}

/* Properties of an instruction, for preparing a kernel. */
typedef struct rt__host_facts {
    uint32_t vars;  /* loop variables that the value depends on */
    uint32_t level; /* REDUCEs in the longest chain before it */
    bool live, looped, crossing, wanted;
    bool outer;                 /* used by an instruction that is not per element of the row, .. */
    bool rooted;                /* .. and a store or check uses it even if the row is empty */
    bool scanned, scan_reduced; /* depends on results of a scan; on reductions of scan results. Entry 0: true if
                             elements or another reduction use the latter, so that the scan runs in several passes */
} rt__host_facts;

static uint32_t rt__reduced_vars(const ind_body *b) {
    return ((1u << b->rrank) - 1) << b->rank;
}

static bool rt__is_sort(const ind_body *b, uint32_t i) {
    return b->inst[i].op == IND_LOOP_SCAN && ind__scan_sorts((ind_scan)b->inst[i].reduction);
}

/* True if it is part of a scan: its value changes from element to element. */
static bool rt__is_scanned(const ind_body *b, uint32_t i) {
    return b->inst[i].op == IND_LOOP_SCAN || b->inst[i].op == IND_LOOP_STATE || b->inst[i].op == IND_LOOP_PAIR;
}

/* True if it only indexes elements of the row. */
static bool rt__is_row_index(const ind_body *b, const rt__host_facts *f, uint32_t i) {
    return b->inst[i].op == IND_LOOP_INDIRECT && f[i].crossing && !f[i].outer;
}

/* Marks the operands of instruction i as used by it. */
static void rt__host_mark_uses(const ind_body *b, rt__host_facts *f, uint32_t i) {
    rt__host_deps d;
    const bool inner = f[i].looped || b->inst[i].op == IND_LOOP_REDUCE, stores = b->inst[i].op == IND_LOOP_STORE;
    const bool checks = b->inst[i].op == IND_LOOP_INDIRECT && !rt__is_row_index(b, f, i);
    (void)rt__host_find_deps(b, i, &d);
    for (uint32_t k = 0; k < d.num; k++) {
        f[d.source[k]].live = true;
        if (inner && !f[d.source[k]].looped) f[d.source[k]].crossing = true;
        if (!inner) f[d.source[k]].outer = true;
        if (!inner && (stores || checks || f[i].rooted)) f[d.source[k]].rooted = true;
    }
}

static ind_status rt__host_analyse(const ind_body *b, rt__host_facts *f) {
    rt__host_deps d;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        ind_status status = rt__host_find_deps(b, i, &d);
        if (status) return status;
        f[i].vars = d.vars;
        for (uint32_t k = 0; k < d.num; k++) {
            f[i].vars |= f[d.source[k]].vars;
            if (f[d.source[k]].level > f[i].level) f[i].level = f[d.source[k]].level;
            f[i].scanned |= f[d.source[k]].scanned;
            f[i].scan_reduced |= f[d.source[k]].scan_reduced;
        }
        f[i].scanned |= b->inst[i].op == IND_LOOP_SCAN && !rt__is_sort(b, i);
        if (rt__is_scanned(b, i)) f[i].vars |= rt__reduced_vars(b);
        bool reduces = b->inst[i].op == IND_LOOP_REDUCE;
        f[0].scan_reduced |= f[i].scan_reduced && (reduces || f[i].vars & rt__reduced_vars(b));
        f[i].scan_reduced |= f[i].scanned && reduces;
        if (rt__is_sort(b, i)) f[i].level++;
        if (b->inst[i].op == IND_LOOP_REDUCE) {
            f[i].vars &= ~rt__reduced_vars(b);
            f[i].level++;
        }
        f[i].looped = f[i].vars & rt__reduced_vars(b);
    }
    for (uint32_t i = b->num_inst; i-- > 1;) {
        if (b->inst[i].op == IND_LOOP_STORE || b->inst[i].op == IND_LOOP_INDIRECT) f[i].live = true;
        if (f[i].live) rt__host_mark_uses(b, f, i);
    }
    return IND_OK;
}

/* The last stage with stores per element; scans run in it. Reductions of scan results belong to the next stage, unless
   elements use them. */
static uint32_t rt__host_element_stage(const ind_body *b, rt__host_facts *f) {
    uint32_t stage = 0;
    const bool again = f[0].scan_reduced;
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (f[i].live && (again || !f[i].scan_reduced) && f[i].level > stage) stage = f[i].level;
    if (again) return stage;
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (f[i].scan_reduced) f[i].level = stage + 1;
    return stage;
}

/* Marks the operands of marked instructions as `wanted`: all of them, or only looped ones. */
static void rt__host_mark(const ind_body *b, rt__host_facts *f, bool only_looped) {
    rt__host_deps d;
    for (uint32_t i = b->num_inst; i-- > 1;) {
        if (!f[i].wanted || rt__is_sort(b, i)) continue; /* the previous stage has sorted the row */
        (void)rt__host_find_deps(b, i, &d);
        for (uint32_t k = 0; k < d.num; k++)
            if (!only_looped || f[d.source[k]].looped) f[d.source[k]].wanted = true;
    }
}

typedef bool (*rt__host_filter)(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level);

static bool rt__is_filled(const ind_body *b, uint32_t i) {
    return b->inst[i].op == IND_LOOP_REDUCE || b->inst[i].op == IND_LOOP_PART || rt__is_scanned(b, i);
}

static bool rt__filter_once(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    return f[i].live && !f[i].looped && f[i].level == level && !rt__is_filled(b, i);
}

/* Values computed for an empty row. Indices used only by elements are not checked. Loads used only by elements are
   skipped: their buffers may be as empty as the row. */
static bool rt__filter_empty(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    return rt__filter_once(b, f, i, level) && !rt__is_row_index(b, f, i) &&
           (b->inst[i].op != IND_LOOP_LOAD || f[i].rooted);
}

static bool rt__filter_spread(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    return rt__filter_once(b, f, i, level) && f[i].crossing && b->inst[i].op != IND_LOOP_STORE;
}

static bool rt__filter_reduce(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    return f[i].live && b->inst[i].op == IND_LOOP_REDUCE && f[i].level == level + 1;
}

static bool rt__filter_part(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    return f[i].live && b->inst[i].op == IND_LOOP_PART && f[i].level == level + 1;
}

static bool rt__filter_wanted(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    (void)level;
    return f[i].wanted && !rt__is_filled(b, i);
}

static bool rt__filter_scan(const ind_body *b, const rt__host_facts *f, uint32_t i, uint32_t level) {
    (void)level;
    return f[i].wanted && b->inst[i].op == IND_LOOP_SCAN && !rt__is_sort(b, i);
}

static ind_status rt__host_make_list(ind_module *m, const ind_body *b, const rt__host_facts *f, rt__host_filter filter,
                                     uint32_t level, rt__host_list *list) {
    uint32_t num = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) num += filter(b, f, i, level);
    list->inst = (uint32_t *)ind__arena_alloc(&m->arena, num * sizeof *list->inst);
    if (!list->inst) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (filter(b, f, i, level)) list->inst[list->num++] = i;
    return IND_OK;
}

static ind_status rt__host_make_stage(ind_module *m, rt__host_kernel *h, rt__host_facts *f, uint32_t level) {
    const ind_body *b = h->body;
    rt__host_stage *s = &h->stage[level];
    for (uint32_t i = 1; i < b->num_inst; i++)
        f[i].wanted = level == h->element_stage && b->inst[i].op == IND_LOOP_STORE && f[i].looped;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        if (!rt__filter_reduce(b, f, i, level)) continue;
        for (int k = 0; k < 2; k++)
            if (b->inst[i].arg[k] && f[b->inst[i].arg[k]].looped) f[b->inst[i].arg[k]].wanted = true;
    }
    uint32_t sort = ind__body_sort(b);
    uint32_t key = sort && f[sort].live && f[sort].level == level + 1 ? b->inst[sort].arg[0] : 0;
    if (f[key].looped) f[key].wanted = true;
    rt__host_mark(b, f, true);
    ind_status status = rt__host_make_list(m, b, f, rt__filter_wanted, level, &s->loop);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_scan, level, &s->scan);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_once, level, &s->once);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_empty, level, &s->empty);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_spread, level, &s->spread);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_reduce, level, &s->reduce);
    if (!status) status = rt__host_make_list(m, b, f, rt__filter_part, level, &s->part);
    if (s->reduce.num > h->max_reduces) h->max_reduces = s->reduce.num;
    return status;
}

/* Finds the products of a body: one or two live DOTs, with the same a. False if there are other reductions, or if
   something is stored per element of the row. */
static bool rt__host_find_products(rt__host_kernel *h, const rt__host_facts *f) {
    const ind_body *b = h->body;
    uint32_t num = 0, *dot = h->product.dot;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        if (!f[i].live) continue;
        if (b->inst[i].op == IND_LOOP_STORE && f[i].looped) return false;
        if (b->inst[i].op != IND_LOOP_REDUCE) continue;
        if (num == 2 || b->inst[i].reduction != IND_REDUCE_DOT) return false;
        dot[num++] = i;
    }
    if (num < 2) return num == 1;
    const ind__inst *x = &b->inst[dot[0]], *y = &b->inst[dot[1]];
    return x->arg[0] == y->arg[0] && x->dtype == y->dtype && f[x->arg[1]].vars == f[y->arg[1]].vars;
}

/* Lists the instructions of matrix products: those of their operands, and all others. P variables are rows (not in b),
   columns (not in a) or batches (in both). */
static ind_status rt__host_make_matmul(ind_module *m, rt__host_kernel *h, rt__host_facts *f) {
    const ind_body *b = h->body;
    const uint32_t *dot = h->product.dot;
    if (!rt__host_find_products(h, f)) return IND_OK;
    uint32_t in_a = f[b->inst[dot[0]].arg[0]].vars, in_b = f[b->inst[dot[0]].arg[1]].vars;
    for (int v = 0; v < b->rank; v++) {
        bool a = in_a >> v & 1, c = in_b >> v & 1;
        if (a && c)
            h->product.batch[h->product.num_batch++] = v;
        else if (c)
            h->product.col[h->product.num_col++] = v;
        else
            h->product.row[h->product.num_row++] = v;
    }
    rt__host_list *const list[4] = {&h->product.a, &h->product.b[0], &h->product.b[1], &h->product.epilogue};
    const uint32_t operand[3] = {b->inst[dot[0]].arg[0], b->inst[dot[0]].arg[1], dot[1] ? b->inst[dot[1]].arg[1] : 0};
    ind_status status = IND_OK;
    for (int k = 0; k < 4 && !status; k++) {
        for (uint32_t i = 1; i < b->num_inst; i++)
            f[i].wanted = k < 3 ? i == operand[k] : b->inst[i].op == IND_LOOP_STORE;
        rt__host_mark(b, f, false);
        if (k == 3) { /* without the values that only the operands use */
            for (uint32_t i = 1; i < b->num_inst; i++) f[i].wanted = f[i].wanted && !f[i].looped;
        }
        status = rt__host_make_list(m, b, f, rt__filter_wanted, 0, list[k]);
    }
    h->matmul = !status;
    return status;
}

static bool rt__host_is_batch(const rt__host_kernel *h, int var) {
    for (int k = 0; k < h->product.num_batch; k++)
        if (h->product.batch[k] == var) return true;
    return false;
}

/* Fills the offset of an access at index e, if it is linear in the loop variables, except perhaps those of the batch.
 */
static ind_status rt__host_make_linear(ind_module *m, const rt__host_kernel *h, const ind__inst *i, ind_expr e,
                                       rt__host_direct *d) {
    const ind_body *b = h->body;
    ind_expr rest = e, stride[2 * IND_MAX_RANK];
    d->buffer = i->source;
    d->index = i->index;
    for (int v = 0; v < b->rank + b->rrank; v++) {
        ind_expr left;
        if (ind__affine(rest, b->var[v], &stride[v], &left) && ind__expr_is_size(stride[v])) {
            rest = left;
            continue;
        }
        if (!rt__host_is_batch(h, v)) return IND_OK;
        stride[v] = ind_int(m->context, 0);
        d->evaluated = true;
    }
    if (!d->evaluated && !ind__expr_is_size(rest)) return IND_OK;
    if (ind__expr_has_kind(rest, IND_SYMBOL_INDIRECT)) return IND_OK;
    ind_status status = IND_OK;
    if (!d->evaluated) status = rt__exec_slot(m->executable, rest, &d->base_slot);
    for (int v = 0; v < b->rank + b->rrank && !status; v++)
        status = rt__exec_slot(m->executable, stride[v], &d->stride_slot[v]);
    d->valid = !status;
    return status;
}

/* Recognises a direct operand. All other operands go through the evaluator. */
static ind_status rt__host_make_direct(ind_module *m, const rt__host_kernel *h, uint32_t value, rt__host_direct *d) {
    const ind_body *b = h->body;
    const ind__inst *i = &b->inst[value];
    bool plain = i->dtype == IND_F32 || i->dtype == IND_F64 || i->dtype == IND_I64;
    if (i->op != IND_LOOP_LOAD || i->arg[0] || !plain || b->rrank != 1) return IND_OK;
    return rt__host_make_linear(m, h, i, b->index[i->index], d);
}

/* Recognises an operand in rows of blocks: byte 0 of the block of element k is at k / elements * bytes of its row. */
static ind_status rt__host_make_packed(ind_module *m, const rt__host_kernel *h, uint32_t value, rt__host_packed *p) {
    static const struct {
        int elements, bytes;
        bool scaled;
    } formats[] = {
#define X(name, text, elements, bytes, scaled) {elements, bytes, scaled},
        IND__QUANTISED_FORMATS(X)
#undef X
    };
    const ind_body *b = h->body;
    const ind__inst *i = &b->inst[value];
    p->round = i->op == IND_LOOP_ROUND_BF16 ? IND_BF16 : i->op == IND_LOOP_ROUND_F16 ? IND_F16 : IND_F32;
    if (p->round != IND_F32) i = &b->inst[i->arg[0]];
    if (!IND__HOST_DECODES || i->op != IND_LOOP_PACKED || b->rrank != 1) return IND_OK;
    p->format = (ind__quantised)(i->imm.i & 255);
    p->elements = formats[p->format].elements;
    p->bytes = formats[p->format].bytes;
    if (formats[p->format].scaled) return IND_OK;
    const ind_expr k = b->var[b->rank], elements = ind_int(m->context, p->elements), first = ind_int(m->context, 0);
    const ind__inst *number = &b->inst[i->arg[2]];
    if (p->elements > 1 && number->op != IND_LOOP_INDEX) return IND_OK;
    if (p->elements > 1 && !ind_known_eq(b->index[number->index], ind_expr_mod(k, elements))) return IND_OK;
    i = &b->inst[i->arg[1]];
    while (i->op == IND_LOOP_CAST) i = &b->inst[i->arg[0]];
    if (i->op != IND_LOOP_LOAD || i->arg[0] || m->desc.lowered->buffer[i->source].dtype != IND_U8) return IND_OK;
    const ind_expr index = b->index[i->index], of_k = ind_expr_mul(k, elements);
    const ind_expr block = ind_expr_mul(ind_expr_floordiv(k, elements), ind_int(m->context, p->bytes));
    const ind_expr row = ind__substitute(index, &k, &first, 1);
    if (!ind_known_eq(index, ind_expr_add(row, block))) return IND_OK; /* k does not start with a block */
    ind_status status = rt__host_make_linear(m, h, i, ind__substitute(index, &k, &of_k, 1), &p->blocks);
    p->valid = !status && p->blocks.valid;
    return status;
}

/* Finds the inputs and results of a combine function. Unused STATEs are 0. */
static void rt__host_find_states(rt__host_kernel *h) {
    const ind_body *b = h->body;
    for (uint32_t p = b->inst[h->scan.first].arg[0]; p; p = b->inst[p].arg[2]) {
        h->scan.element[h->scan.num_states] = b->inst[p].arg[0];
        h->scan.combined[h->scan.num_states++] = b->inst[p].arg[1];
    }
    for (uint32_t i = 1; i < h->scan.first; i++)
        if (b->inst[i].op == IND_LOOP_STATE) h->scan.state[b->inst[i].imm.i] = i;
}

/* Moves the instructions that depend on STATEs from `before` to the list `combine`. */
static ind_status rt__host_split_combine(ind_module *m, rt__host_kernel *h) {
    const ind_body *b = h->body;
    bool *from_state = (bool *)ind__alloc(m->context, b->num_inst * sizeof *from_state);
    uint32_t *inst = (uint32_t *)ind__arena_alloc(&m->arena, (h->scan.before.num + 1) * sizeof *inst), kept = 0;
    if (from_state && inst) {
        rt__host_find_states(h);
        for (uint32_t i = 1; i < h->scan.first; i++) {
            from_state[i] = b->inst[i].op == IND_LOOP_STATE;
            for (int k = 0; k < IND__MAX_ARGS; k++) from_state[i] = from_state[i] || from_state[b->inst[i].arg[k]];
        }
        h->scan.combine.inst = inst;
        for (uint32_t k = 0; k < h->scan.before.num; k++) {
            uint32_t i = h->scan.before.inst[k];
            if (from_state[i])
                h->scan.combine.inst[h->scan.combine.num++] = i;
            else
                h->scan.before.inst[kept++] = i;
        }
        h->scan.before.num = kept;
    }
    ind__free(m->context, from_state);
    return from_state && inst ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

/* For a scan with a combine function: splits the loop at the SCAN and finds the results. */
static ind_status rt__host_make_combine(ind_module *m, rt__host_kernel *h) {
    const ind_body *b = h->body;
    const rt__host_list *loop = &h->stage[h->element_stage].loop;
    uint32_t cut = 0;
    while (cut < loop->num && loop->inst[cut] < h->scan.first) cut++;
    h->scan.before = (rt__host_list){loop->inst, cut};
    h->scan.after = (rt__host_list){loop->inst + cut, loop->num - cut};
    for (uint32_t i = h->scan.first + 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_PART && b->inst[i].arg[0] == h->scan.first) h->scan.part[b->inst[i].imm.i] = i;
    return rt__host_split_combine(m, h);
}

/* Rounds a sort's keys to the dtype in which they are stored, if they are stored. */
static void rt__host_make_sort(const ind_module *m, rt__host_kernel *h, const rt__host_facts *f) {
    const ind_body *b = h->body;
    h->sort.scan = ind__body_sort(b);
    h->sort.stage = f[h->sort.scan].level;
    h->sort.dtype = (ind_dtype)b->inst[h->sort.scan].dtype;
    for (uint32_t i = b->num_inst; h->sort.scan && i-- > 1;) {
        const ind__inst *value = &b->inst[b->inst[i].arg[0]];
        bool key = value->op == IND_LOOP_PART && value->arg[0] == h->sort.scan && !value->imm.i;
        if (b->inst[i].op == IND_LOOP_STORE && key) h->sort.dtype = m->desc.lowered->buffer[b->inst[i].source].dtype;
    }
}

static ind_status rt__host_prepare_kernel(ind_module *m, rt__host_kernel *h, const ind_kernel *k) {
    ind_context *c = m->context;
    const ind_body *b = h->body = k->body;
    h->kernel = k;
    rt__host_facts *f = (rt__host_facts *)ind__alloc(c, b->num_inst * sizeof *f);
    if (!f) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = rt__host_analyse(b, f);
    if (!status) h->element_stage = rt__host_element_stage(b, f);
    for (uint32_t i = 1; i < b->num_inst && !status; i++) {
        h->num_live += f[i].live;
        if (f[i].live && f[i].level > h->num_stages) h->num_stages = f[i].level;
        if (f[i].live && b->inst[i].op == IND_LOOP_INDIRECT && f[i].crossing) h->full_lanes = true;
        h->in_order |= b->inst[i].op == IND_LOOP_STORE && (b->inst[i].flags & IND__INST_SCATTER);
    }
    h->num_stages++;
    h->scan.first = ind__body_scan(b);
    h->stage = status ? NULL : (rt__host_stage *)ind__arena_alloc(&m->arena, h->num_stages * sizeof *h->stage);
    if (!status && !h->stage) status = IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t s = 0; s < h->num_stages && !status; s++) status = rt__host_make_stage(m, h, f, s);
    if (!status) rt__host_make_sort(m, h, f);
    if (!status && h->scan.first && b->inst[h->scan.first].reduction == IND_SCAN_COMBINE)
        status = rt__host_make_combine(m, h);
    if (!status) status = rt__host_make_matmul(m, h, f);
    for (int i = 0; i < 2 && h->matmul && h->product.dot[i] && !status; i++) {
        const ind__inst *dot = &b->inst[h->product.dot[i]];
        if (!i) status = rt__host_make_direct(m, h, dot->arg[0], &h->product.direct_a);
        if (!status) status = rt__host_make_direct(m, h, dot->arg[1], &h->product.direct_b[i]);
        if (!status) status = rt__host_make_packed(m, h, dot->arg[1], &h->product.packed_b[i]);
    }
    ind__free(c, f);
    for (int v = 0; v < b->rank + b->rrank && !status; v++)
        status = rt__exec_slot(m->executable, ind_expr_symbol(b->var[v])->extent, &h->extent_slot[v]);
    return status;
}

/* Bytes of a worker's evaluator: values, slots, stamps, flags, in this order. */
static size_t rt__host_eval_bytes(const ind__eval *e) {
    size_t slots = (size_t)e->program.num_inputs + e->program.num_ops;
    return e->body->num_inst * sizeof *e->value + slots * sizeof *e->slots +
           (e->program.num_ops + 1) * sizeof *e->stamp + slots;
}

static ind_status rt__host_prepare(ind_module *m) {
    ind__executable *x = m->executable;
    ind_context *c = m->context;
    x->on_host.kernel =
        (rt__host_kernel *)ind__arena_alloc(&m->arena, x->launches.num_steps * sizeof *x->on_host.kernel);
    ind_status status = x->on_host.kernel ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < x->launches.num_steps && !status; i++) {
        rt__host_kernel *h = &x->on_host.kernel[i];
        if (x->launches.step[i].call) continue;
        status = rt__host_prepare_kernel(m, h, &m->desc.schedule->kernel[i]);
        if (!status)
            status =
                ind__eval_compile(&h->eval, c, h->body, x->sizes.symbol, x->sizes.num_symbols, x->memory.num_buffers);
        if (status) break;
        size_t bytes = rt__host_eval_bytes(&h->eval);
        if (bytes > x->on_host.max_eval_bytes) x->on_host.max_eval_bytes = bytes;
        if (h->max_reduces > x->on_host.max_reduces) x->on_host.max_reduces = h->max_reduces;
        x->on_host.any_matmul |= h->matmul;
    }
    return status;
}

static void rt__host_free(ind_module *m) {
    ind__executable *x = m->executable;
    for (uint32_t i = 0; x->on_host.kernel && i < x->launches.num_steps; i++)
        ind__eval_free(&x->on_host.kernel[i].eval);
}
