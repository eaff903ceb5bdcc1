/* ---- parts of concatenations ---- */

/* 1: proven true at all points, 0: proven false at all points, -1: neither. */
static int ir__settle_condition(ind_expr e) {
    int64_t v;
    if (ind_expr_is_int(e, &v)) return v != 0;
    ind_expr_kind kind = ind_expr_query_kind(e);
    if (kind == IND_EXPR_AND) {
        int all = 1;
        for (int k = 0; k < ind_expr_num_args(e); k++) {
            int one = ir__settle_condition(ind_expr_arg(e, k));
            if (!one) return 0;
            if (one < 0) all = -1;
        }
        return all;
    }
    if (kind == IND_EXPR_EQ || kind == IND_EXPR_NE || kind == IND_EXPR_OR) return ind_known_true(e) ? 1 : -1;
    if (kind != IND_EXPR_LE && kind != IND_EXPR_LT) return -1; /* a number, not a comparison */
    ind_expr a = ind_expr_arg(e, 0), b = ind_expr_arg(e, 1);
    if (kind == IND_EXPR_LE ? ind_known_le(a, b) : ind_known_lt(a, b)) return 1;
    return (kind == IND_EXPR_LE ? ind_known_lt(b, a) : ind_known_le(b, a)) ? 0 : -1;
}

/* Recorder that uses the conditions known within one part: comparisons become constants, so loads lose their mask or
   disappear. */
static ind_value ir__part_emit(ind_ops *o, const ind__inst *inst, const ind_expr *index) {
    const ind_body *b = ((ind__recorder *)o)->body;
    ind__inst known = *inst;
    const ind__inst *mask = &b->inst[inst->arg[0]]; /* of a load; or the operand of a cast */
    int decided = inst->op == IND_LOOP_INDEX ? ir__settle_condition(index[0]) : -1;
    if (decided >= 0) {
        known = (ind__inst){.op = IND_LOOP_CONSTANT, .dtype = inst->dtype};
        known.imm.i = decided;
    } else if (inst->op == IND_LOOP_CAST && inst->dtype == IND_BOOL && mask->op == IND_LOOP_CONSTANT &&
               mask->dtype == IND_I64) {
        return ind_op_constant_int(o, mask->imm.i, IND_BOOL);
    } else if (inst->op == IND_LOOP_LOAD && inst->arg[0] && mask->op == IND_LOOP_CONSTANT) {
        if (!mask->imm.i) return ind_op_constant(o, 0, (ind_dtype)inst->dtype);
        known.arg[0] = 0;
    }
    return ir__recorder_emit(o, &known, index);
}

/* One part, or several consecutive parts, as a separate loop. */
typedef struct ir__part_loop {
    ind_body *body;
    uint32_t first, end; /* range of parts */
    uint32_t source;     /* 1 + the last loop whose reduction it reads; 0: it is a copy */
    double saved;        /* bytes at the hints, if fused into that loop's kernel */
} ir__part_loop;

/* The variable, or 0 if its extent is 1. */
static ind_expr ir__point_index(const ind_body *b, int d) {
    int64_t n;
    bool one = ind_expr_is_int(ind_expr_symbol(b->var[d])->extent, &n) && n == 1;
    return one ? ind_int(b->context, 0) : b->var[d];
}

/* The loop's body over parts [first, end). Recorded twice, as only a replay drops dead instructions. */
static ind_body *ir__record_part(ind__lowered *p, const ind__loop *loop, uint32_t first, uint32_t end) {
    ind_context *c = p->context;
    const ind__parts *parts = loop->parts;
    const ind_body *from = loop->body;
    ind_body *made = NULL;
    ind_expr start = first ? parts->part[first - 1].end : ind_int(c, 0), size[IND_MAX_RANK], var[IND_MAX_RANK];
    for (int d = 0; d < from->rank; d++) size[d] = ind_expr_symbol(from->var[d])->extent;
    size[parts->dim] = ind_expr_sub(parts->part[end - 1].end, start);
    for (int pass = 0; pass < 2; pass++) {
        ind__recorder r;
        bool ok = ind__ok(size[parts->dim]) && !ind__record_begin(&r, c, size, from->rank, NULL, 0);
        if (!ok) break;
        for (int d = 0; d < from->rank; d++) var[d] = ir__point_index(r.body, d);
        if (!pass) r.ops.emit = ir__part_emit, var[parts->dim] = ind_expr_add(var[parts->dim], start);
        ok = ind__ok(var[parts->dim]) &&
             ind__body_replay(&r.ops, &(ind__replay){.body = pass ? made : from, .var = var}).id;
        ind__body_free(made);
        made = ok ? ind__record_end(&r) : NULL;
        if (!made) {
            ind__record_abort(&r);
            break;
        }
    }
    return made;
}

static ind_expr ir__points(const ind_body *b) {
    ind_expr n = ind_int(b->context, 1);
    for (int v = 0; v < b->rank + b->rrank; v++) n = ind_expr_mul(n, ind_expr_symbol(b->var[v])->extent);
    return n;
}

static bool ir__reduces(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_REDUCE) return true;
    return false;
}

static double ir__bytes_at_hint(ind_expr points, ind_dtype dtype) {
    int64_t n = ind_hint(points);
    return n > 0 ? (double)n * (double)ind_dtype_bytes(dtype) : 0;
}

/* Uses of a buffer, for the splitting of concatenations. */
typedef struct ir__use {
    uint32_t readers; /* loops that read it */
    bool in_step;     /* one of them has as many points as it has elements, so it could be fused with its loop */
} ir__use;

static bool ir__is_product(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_REDUCE && b->inst[i].reduction == IND_REDUCE_DOT) return true;
    return false;
}

/* True if the loop that computes the source of `read` could store the part itself, dimension by dimension. The elements
   must have the same order. The rows or columns of a matrix product must not be split, as its tiles would become those
   of many small products. The part is in memory as separate segments, each of all dimensions from `dim` on. */
static bool ir__makes_part(const ind__lowered *p, const ind_body *b, const ind__inst *read, int dim) {
    const ind__buffer *x = &p->buffer[read->source];
    const ind_body *from = p->loop[x->loop].body;
    ind_expr size[IND_MAX_RANK], point[IND_MAX_RANK];
    for (int d = 0; d < b->rank; d++) size[d] = ind_expr_symbol(b->var[d])->extent, point[d] = ir__point_index(b, d);
    ind_expr at = ind__linearise(p->context, point, size, b->rank);
    ind_expr lies = ind__linearise(p->context, b->index + read->index, x->layout.size, x->layout.rank);
    if (!ind__ok(at) || !ind_expr_same(at, lies)) return false;
    ind_expr pieces = ind_expr_product(p->context, size, dim), outer = ind_int(p->context, 1);
    bool whole = !ir__is_product(from) || ind_known_eq(pieces, outer);
    for (int d = 0; d < from->rank && !whole; d++) {
        outer = ind_expr_mul(outer, ind_expr_symbol(from->var[d])->extent);
        whole = ind_known_eq(pieces, outer);
    }
    return whole;
}

/* Finds the reduction that the part reads, element by element or row by row. */
static void ir__find_source(const ind__lowered *p, const ir__use *use, int dim, ir__part_loop *part) {
    const ind_body *b = part->body;
    ind_expr points = ir__points(b);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__buffer *x = &p->buffer[b->inst[i].source];
        if (b->inst[i].op != IND_LOOP_LOAD || x->kind != IND__BUFFER_COMPUTED || x->mutates || x->mutated_by) continue;
        const ind_body *from = p->loop[x->loop].body;
        if (!ir__reduces(from) || from->call) continue;
        bool same = ind_known_eq(points, ind__buffer_numel(x));
        if (same ? !ir__makes_part(p, b, &b->inst[i], dim) : !ind_known_eq(points, ir__points(from))) continue;
        double bytes = ir__bytes_at_hint(points, x->dtype);
        part->saved += same && use[b->inst[i].source].readers == 1 && !x->output ? 2 * bytes : bytes;
        if (part->source <= x->loop) part->source = x->loop + 1;
    }
}

/* Splits the loop into parts with a source, one loop each, and runs of the other parts. Returns the number of loops; 0:
   the loop is not split or, with an error set, memory ran out. list has capacity for all parts. */
static uint32_t ir__cut(ind__lowered *p, const ir__use *use, const ind__loop *loop, ir__part_loop *list) {
    uint32_t n = 0;
    double saved = 0;
    for (uint32_t k = 0; k < loop->parts->num; k++) {
        ir__part_loop part = {.body = ir__record_part(p, loop, k, k + 1), .first = k, .end = k + 1};
        if (!part.body) break;
        ir__find_source(p, use, loop->parts->dim, &part);
        saved += part.saved;
        bool joins = !part.source && n && !list[n - 1].source;
        if (joins) list[n - 1].end = k + 1;
        ind__body_free(joins ? part.body : NULL);
        if (!joins) list[n++] = part;
    }
    bool ok = n && list[n - 1].end == loop->parts->num;
    for (uint32_t i = 0; ok && i < n; i++) {
        if (list[i].end - list[i].first == 1) continue;
        ind__body_free(list[i].body);
        list[i].body = ir__record_part(p, loop, list[i].first, list[i].end);
        ok = list[i].body != NULL;
    }
    const ind__buffer *whole = &p->buffer[loop->output[0]];
    double lost = use[loop->output[0]].in_step ? ir__bytes_at_hint(ind__buffer_numel(whole), whole->dtype) : 0;
    if (ok && saved > lost) return n;
    for (uint32_t i = 0; i < n; i++) ind__body_free(list[i].body);
    return 0;
}

/* Sorts by source, in execution order; copies come last. Each version depends on the one before. */
static void ir__sort_parts(ir__part_loop *list, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        ir__part_loop at = list[i];
        uint32_t k = i;
        for (; k && list[k - 1].source - 1 > at.source - 1; k--) list[k] = list[k - 1]; /* 0 - 1 comes last */
        list[k] = at;
    }
}

static bool ir__part_origins(ind__lowered *p, const ind__parts *parts, const ir__part_loop *from, ind__loop *to) {
    ind__origins origins = {.context = p->context};
    ir__origins_add(&origins, parts->origin);
    for (uint32_t k = from->first; k < from->end; k++)
        for (uint32_t i = 0; i < parts->part[k].num_origins; i++) ir__origins_add(&origins, parts->part[k].origin[i]);
    bool ok = ir__keep_origins(p, &origins, &to->origin, &to->num_origins);
    ind__free(p->context, origins.node);
    return ok;
}

static void ir__store_to(ind_body *b, uint32_t from, uint32_t to) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_STORE && b->inst[i].source == from) b->inst[i].source = to;
}

/* A concatenation that is split: loop number `loop` becomes made[first..first + num). */
typedef struct ir__cut_loop {
    uint32_t loop, first, num;
} ir__cut_loop;

typedef struct ir__cuts {
    ir__use *use;
    ir__part_loop *list; /* of one concatenation */
    ind__loop *made;
    ir__cut_loop *cut;
    uint32_t num_made, num_cuts;
} ir__cuts;

static void ir__mark_part(ind__buffer *b, const ind__parts *parts, const ir__part_loop *at) {
    b->part_dim = parts->dim;
    b->part_end = parts->part[at->end - 1].end;
    b->part_begin = at->first ? parts->part[at->first - 1].end : ind_int(b->part_end.context, 0);
}

/* The last loop writes the buffer itself; the others write earlier versions of it. */
static bool ir__make_parts(ind__lowered *p, ir__cuts *s, uint32_t number, uint32_t n) {
    const ind__loop *loop = &p->loop[number];
    const uint32_t whole = loop->output[0];
    uint32_t last = 0;
    ir__sort_parts(s->list, n);
    s->cut[s->num_cuts++] = (ir__cut_loop){number, s->num_made, n};
    for (uint32_t i = 0; i < n; i++)
        s->made[s->num_made++] = (ind__loop){.note = loop->note, .body = s->list[i].body, .num_outputs = 1};
    for (uint32_t i = 0; i < n; i++) {
        ind__loop *to = &s->made[s->num_made - n + i];
        const ind__buffer b = p->buffer[whole]; /* a copy: adding a buffer may move the array */
        bool own = i + 1 == n;
        uint32_t version = own ? whole : ir__add_buffer(p, NULL, b.kind, b.dtype, b.layout.size, b.layout.rank);
        if (!version || !ir__part_origins(p, loop->parts, &s->list[i], to)) return false;
        ir__store_to(to->body, whole, version);
        to->output[0] = version;
        p->buffer[version].layout = b.layout;
        p->buffer[version].mutates = last;
        ir__mark_part(&p->buffer[version], loop->parts, &s->list[i]);
        if (last) p->buffer[last].mutated_by = version;
        last = version;
    }
    return true;
}

static bool ir__has_parts(const ind__lowered *p, const ind__loop *l) {
    const ind__buffer *b = &p->buffer[l->output[0]];
    return l->parts && l->parts->num > 1 && l->num_outputs == 1 && !l->body->rrank && !b->mutates &&
           !ind__body_unbacked(p, l->body);
}

static void ir__count_uses(const ind__lowered *p, ir__use *use) {
    uint32_t *last = (uint32_t *)ind__alloc(p->context, p->num_buffers * sizeof *last);
    for (uint32_t l = 0; last && l < p->num_loops; l++) {
        const ind_body *b = p->loop[l].body;
        ind_expr points = {NULL, 0};
        for (uint32_t i = 1; i < b->num_inst; i++) {
            uint32_t x = b->inst[i].source;
            if (b->inst[i].op != IND_LOOP_LOAD || last[x] == l + 1) continue;
            last[x] = l + 1;
            use[x].readers++;
            const ind__buffer *read = &p->buffer[x];
            if (read->kind != IND__BUFFER_COMPUTED || !p->loop[read->loop].parts || b->call) continue;
            if (!ind__ok(points)) points = ir__points(b);
            use[x].in_step |= ind_known_eq(points, ind__buffer_numel(read));
        }
    }
    ind__free(p->context, last);
}

/* Maximum number of loops that concatenations are split into; 0: there are no concatenations. */
static uint32_t ir__count_parts(const ind__lowered *p) {
    uint32_t n = 0;
    for (uint32_t l = 0; l < p->num_loops; l++) n += ir__has_parts(p, &p->loop[l]) ? p->loop[l].parts->num : 0;
    return n;
}

/* Replaces each split loop by its new loops. */
static bool ir__place_parts(ind__lowered *p, ir__cuts *s) {
    uint32_t from = p->num_loops, to, at = s->num_cuts;
    if (!at) return true;
    if (!ind__grow(p->context, (void **)&p->loop, &p->num_loops, &p->cap_loops, sizeof *p->loop, s->num_made - at))
        return false;
    for (to = p->num_loops; from-- > 0;) { /* backwards, as to >= from */
        const ir__cut_loop *cut = at && s->cut[at - 1].loop == from ? &s->cut[--at] : NULL;
        if (cut) ind__body_free(p->loop[from].body);
        for (uint32_t k = cut ? cut->num : 1; k-- > 0;) p->loop[--to] = cut ? s->made[cut->first + k] : p->loop[from];
    }
    s->num_made = 0;
    for (uint32_t l = 0; l < p->num_loops; l++)
        for (uint32_t k = 0; k < p->loop[l].num_outputs; k++) p->buffer[p->loop[l].output[k]].loop = l;
    return true;
}

static ind_status ir__split_parts(ind__lowered *p) {
    ind_context *c = p->context;
    uint32_t most = p->policy.disable_parts ? 0 : ir__count_parts(p);
    if (!most) return IND_OK;
    ir__cuts s = {.use = (ir__use *)ind__alloc(c, p->num_buffers * sizeof *s.use),
                  .list = (ir__part_loop *)ind__alloc(c, most * sizeof *s.list),
                  .made = (ind__loop *)ind__alloc(c, most * sizeof *s.made),
                  .cut = (ir__cut_loop *)ind__alloc(c, most * sizeof *s.cut)};
    bool ok = s.use && s.list && s.made && s.cut;
    if (ok) ir__count_uses(p, s.use);
    for (uint32_t l = 0; ok && l < p->num_loops; l++) {
        uint32_t n = ir__has_parts(p, &p->loop[l]) ? ir__cut(p, s.use, &p->loop[l], s.list) : 0;
        ok = !n || ir__make_parts(p, &s, l, n);
    }
    ok = ok && ir__place_parts(p, &s);
    for (uint32_t i = 0; i < s.num_made; i++) ind__body_free(s.made[i].body);
    ind__free(c, s.cut);
    ind__free(c, s.made);
    ind__free(c, s.list);
    ind__free(c, s.use);
    return ok ? IND_OK : ind__failed(c);
}

ind_status ind__lowered_fix_layouts(ind__lowered *p) {
    if (p->layouts_fixed) return IND_OK;
    ind_status status = ir__drop_dead_loops(p);
    if (!status) status = ir__split_parts(p);
    if (status) return status;
    for (uint32_t b = 1; b < p->num_buffers; b++)
        if (!ir__fix_layout(p->context, &p->buffer[b].layout)) return ind__failed(p->context);
    for (uint32_t l = 0; l < p->num_loops; l++) {
        ind_body *body = p->loop[l].body;
        for (uint32_t i = 1; i < body->num_inst; i++) {
            bool access = body->inst[i].op == IND_LOOP_LOAD || body->inst[i].op == IND_LOOP_STORE;
            if (access && !ir__flatten_access(p, body, &body->inst[i])) return ind__failed(p->context);
        }
    }
    p->layouts_fixed = true;
    return IND_OK;
}
