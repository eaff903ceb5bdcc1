/* ------------------------------------------------------------------------------------------------- >>boxes */

static void ir__set_order(ind_layout *l, const uint8_t *order) {
    memcpy(l->order, order, sizeof l->order);
    l->ordered = true;
}

/* Graph nodes whose computation was inlined into the body being recorded. */
typedef struct ind__origins {
    ind_context *context;
    uint32_t *node;
    uint32_t num, cap;
    bool failed;
} ind__origins;

static void ir__origins_add(ind__origins *s, uint32_t node) {
    for (uint32_t i = 0; i < s->num; i++)
        if (s->node[i] == node) return;
    uint32_t *at = IND__PUSH(s->context, uint32_t, s->node, s->num, s->cap);
    if (!at) {
        s->failed = true;
        return;
    }
    for (at = &s->node[s->num - 1]; at > s->node && at[-1] > node; at--) *at = at[-1]; /* keeps them ascending */
    *at = node;
}

ind_status ind__lowered_init(ind__lowered *p, ind_context *c, const ind_realise_policy *policy) {
    memset(p, 0, sizeof *p);
    p->context = p->arena.context = p->boxes.context = c;
    if (policy) p->policy = *policy;
    if (!p->policy.max_reads_shared) p->policy.max_reads_shared = 4;
    if (!p->policy.max_ops_shared) p->policy.max_ops_shared = 30;
    if (!p->policy.max_reads) p->policy.max_reads = 8;
    if (!p->policy.max_ops) p->policy.max_ops = 64;
    if (!p->policy.look_steps) p->policy.look_steps = 1 << 20;
    if (!p->policy.list_bytes) p->policy.list_bytes = (int64_t)64 << 20;
    return IND__PUSH(c, ind__buffer, p->buffer, p->num_buffers, p->cap_buffers) ? IND_OK : ind__failed(c);
}

/* All storages are in a list, so that bodies that were never stored are freed too. */
typedef struct ir__storage_link {
    ind__storage storage; /* must be first */
    struct ir__storage_link *next;
} ir__storage_link;

void ind__lowered_free_boxes(ind__lowered *p) {
    for (ir__storage_link *s = (ir__storage_link *)p->storages; s; s = s->next) ind__body_free(s->storage.body);
    p->storages = NULL;
    ind__arena_free(&p->boxes);
}

void ind__lowered_free(ind__lowered *p) {
    if (!p->context) return;
    for (uint32_t i = 0; i < p->num_loops; i++) ind__body_free(p->loop[i].body);
    ind__lowered_free_boxes(p);
    ind__free(p->context, p->buffer);
    ind__free(p->context, p->loop);
    ind__free(p->context, p->copied_whole);
    ind__arena_free(&p->arena);
    memset(p, 0, sizeof *p);
}

static uint32_t ir__add_buffer(ind__lowered *p, const char *name, ind__buffer_kind kind, ind_dtype dtype,
                               const ind_expr *size, int rank) {
    char made[24];
    if (!name) {
        ind__format(made, sizeof made, "buf%u", p->num_buffers);
        name = made;
    }
    name = ind__arena_string(&p->arena, name, strlen(name));
    ind__buffer *b = name ? IND__PUSH(p->context, ind__buffer, p->buffer, p->num_buffers, p->cap_buffers) : NULL;
    if (!b) return 0;
    b->name = name;
    b->kind = kind;
    b->dtype = dtype;
    b->layout.rank = rank;
    b->layout.offset = ind_int(p->context, 0);
    for (int i = 0; i < rank; i++) {
        b->layout.size[i] = size[i];
        b->layout.order[i] = (uint8_t)i;
    }
    return p->num_buffers - 1;
}

uint32_t ind__lowered_input(ind__lowered *p, const char *name, ind__buffer_kind kind, ind_dtype dtype,
                            const ind_expr *size, int rank) {
    uint32_t b = ir__add_buffer(p, name, kind, dtype, size, rank);
    if (b) p->buffer[b].layout.ordered = true;
    return b;
}

static ind__storage *ir__add_storage(ind__lowered *p, ind_dtype dtype, const ind_expr *size, int rank) {
    ir__storage_link *s = (ir__storage_link *)ind__arena_alloc(&p->boxes, sizeof *s);
    if (!s) return NULL;
    s->next = (ir__storage_link *)p->storages;
    p->storages = s;
    s->storage.dtype = dtype;
    s->storage.rank = rank;
    for (int i = 0; i < rank; i++) s->storage.size[i] = size[i];
    return &s->storage;
}

static bool ir__keep_origins(ind__lowered *p, const ind__origins *o, uint32_t **node, uint32_t *num) {
    *num = o->num;
    *node = (uint32_t *)ind__arena_copy(&p->arena, o->node, o->num * sizeof *o->node);
    return *node && !o->failed;
}

static ind__box *ir__add_box(ind__lowered *p, ind__storage *s) {
    ind__box *b = s ? (ind__box *)ind__arena_alloc(&p->boxes, sizeof *b) : NULL;
    if (!b) return NULL;
    b->storage = s;
    b->rank = s->rank;
    b->identity = true;
    for (int i = 0; i < s->rank; i++) {
        b->size[i] = s->size[i];
        b->map[i] = ind__index_symbol(p->context, 'i', i, s->size[i]);
        if (!ind__ok(b->map[i])) return NULL;
    }
    return b;
}

ind__box *ind__box_buffer(ind__lowered *p, uint32_t buffer) {
    if (!buffer || buffer >= p->num_buffers) return NULL;
    const ind__buffer *b = &p->buffer[buffer];
    ind__storage *s = ir__add_storage(p, b->dtype, b->layout.size, b->layout.rank);
    if (s) s->buffer = buffer;
    return ir__add_box(p, s);
}

/* points times a size at its hint; stops growing at 2^40. */
static double ir__hinted(double points, ind_expr size) {
    int64_t n = ind_hint(size);
    return n > 0 && points < 0x1p40 ? points * (double)n : points;
}

/* Bytes that a load moves over all points of the body, at the hints: the elements that its index visits, at most the
   buffer. */
static double ir__load_bytes(const ind__lowered *p, const ind_body *b, const ind__inst *load) {
    const ind__buffer *buffer = &p->buffer[load->source];
    double traversed = 1, all = 1;
    for (int v = 0; v < b->rank; v++) {
        bool used = false;
        for (uint32_t k = 0; k < load->num_index; k++) {
            ind_expr e = b->index[load->index + k];
            used = used || ind__expr_depends(e, b->var[v]) || ind__expr_has_kind(e, IND_SYMBOL_INDIRECT);
        }
        if (used) traversed = ir__hinted(traversed, ind_expr_symbol(b->var[v])->extent);
    }
    for (int d = 0; d < buffer->layout.rank; d++) all = ir__hinted(all, buffer->layout.size[d]);
    return (traversed < all ? traversed : all) * (double)ind_dtype_bytes(buffer->dtype);
}

static void ir__count_body(const ind__lowered *p, ind__storage *s) {
    const ind_body *b = s->body;
    s->bytes = (double)ind_dtype_bytes(s->dtype);
    for (int d = 0; d < s->rank; d++) s->bytes = ir__hinted(s->bytes, s->size[d]);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        s->num_reads += b->inst[i].op == IND_LOOP_LOAD;
        s->num_ops += ind__loop_op_class((ind_loop_op)b->inst[i].op) != 's';
        if (b->inst[i].op == IND_LOOP_LOAD) s->read_bytes += ir__load_bytes(p, b, &b->inst[i]);
    }
}

ind__box *ind__box_pointwise(ind__lowered *p, ind_dtype dtype, const ind_expr *size, int rank, ind_loop_fn fn,
                             void *user) {
    ind_context *c = p->context;
    ind__recorder r;
    if (ind__record_begin(&r, c, size, rank, NULL, 0)) return NULL;
    ind__origins origins = {.context = c};
    ir__origins_add(&origins, p->origin);
    r.ops.origins = &origins;
    ind_value v = fn(&r.ops, r.body->var, rank, user);
    if (v.id) v = ind_op_cast(&r.ops, v, ind_dtype_compute(dtype));
    r.body->result = v.id;
    ind__storage *s = v.id ? ir__add_storage(p, dtype, size, rank) : NULL;
    ind__box *box = NULL;
    if (s && ir__keep_origins(p, &origins, &s->origin, &s->num_origins)) {
        s->body = ind__record_end(&r);
        if (s->body) ir__count_body(p, s);
        box = s->body ? ir__add_box(p, s) : NULL;
    }
    if (!v.id && !ind__state_of(c)->status)
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "a loop function returned no value");
    ind__record_abort(&r);
    ind__free(c, origins.node);
    return box;
}

static uint32_t ir__add_loop(ind__lowered *p, ind_reduction reduction, const uint32_t *origin, uint32_t num_origins) {
    ind__loop *l = IND__PUSH(p->context, ind__loop, p->loop, p->num_loops, p->cap_loops);
    if (!l) return UINT32_MAX;
    l->reduction = reduction;
    l->origin = (uint32_t *)(uintptr_t)origin;
    l->num_origins = num_origins;
    l->note = p->note;
    l->purpose = p->purpose;
    return p->num_loops - 1;
}

/* Adds a loop with the recorded body, which writes n new buffers; results: boxes over these. */
static bool ir__add_stored(ind__lowered *p, ind__recorder *r, ind_reduction reduction, const ind__origins *origins,
                           const uint32_t *buffers, int n, ind__box **results) {
    uint32_t *kept, num_kept;
    if (!ir__keep_origins(p, origins, &kept, &num_kept)) return false;
    uint32_t loop = ir__add_loop(p, reduction, kept, num_kept);
    if (loop == UINT32_MAX) return false;
    bool ok = true;
    p->loop[loop].body = ind__record_end(r);
    if (!p->loop[loop].body) return false;
    p->loop[loop].num_outputs = (uint32_t)n;
    for (int k = 0; k < n; k++) {
        p->loop[loop].output[k] = buffers[k];
        p->buffer[buffers[k]].loop = loop;
        results[k] = ind__box_buffer(p, buffers[k]);
        ok = ok && results[k];
    }
    return ok;
}

/* Gives a buffer with the dimensions of the results of the node being lowered their order. */
static void ir__order_result(const ind__lowered *p, ind_layout *l) {
    uint8_t order[IND_MAX_RANK] = {0};
    if (!p->channels_last || l->rank != p->channels_last) return;
    for (int k = 1; k < l->rank; k++) order[k] = (uint8_t)(k + 1 < l->rank ? k + 1 : 1);
    ir__set_order(l, order);
}

/* Records the reduction and the stores of its results into new buffers. */
static bool ir__record_reduction(ind__lowered *p, ind__recorder *r, const ind__reduction_desc *d, ind_value a,
                                 uint32_t *buffers) {
    ind_ops *o = &r->ops;
    int n = ind__reduction_results(d->type);
    ind_value b = ir__no_value;
    if (d->second_fn) b = d->second_fn(o, r->body->var, d->rank + d->rrank, d->user);
    ind_value reduced = ind__emit_reduce(o, d->type, a, b, d->flags);
    for (int k = 0; k < n; k++) {
        ind_value v = n > 1 ? ind__emit_part(o, reduced, k) : reduced;
        v = ind_op_cast(o, v, ind_dtype_compute(d->dtype));
        buffers[k] = v.id ? ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, d->dtype, d->size, d->rank) : 0;
        if (!buffers[k]) return false;
        ir__order_result(p, &p->buffer[buffers[k]].layout);
        ind__emit_store(o, buffers[k], r->body->var, d->rank, v);
    }
    return r->body->inst[r->body->num_inst - 1].op == IND_LOOP_STORE;
}

/* True if the buffer is a result of rows and every point of the body reads its own element of it. */
static bool ir__reads_row_result(const ind__lowered *p, const ind_body *b, const ind__inst *load) {
    const ind__buffer *x = &p->buffer[load->source];
    if (x->kind != IND__BUFFER_COMPUTED || x->mutates || x->mutated_by) return false;
    ind_reduction made_by = p->loop[x->loop].reduction;
    if (made_by == IND_REDUCE_NONE || made_by == IND_REDUCE_DOT) return false;
    uint32_t seen = 0;
    for (uint32_t k = 0; k < load->num_index; k++) {
        for (int v = 0; v < b->rank + b->rrank; v++)
            if (ind_expr_same(b->index[load->index + k], b->var[v])) seen |= 1u << v;
    }
    for (int v = 0; v < b->rank + b->rrank; v++) {
        int64_t one = 0;
        bool whole = ind_expr_is_int(ind_expr_symbol(b->var[v])->extent, &one) && one == 1;
        if (!whole && !(seen >> v & 1)) return false;
    }
    return true;
}

/* True if the reduced values read more bytes of row results than one value per row has. Then that value is computed by
   the rows' kernel and stored instead of these results (the loss of a row instead of its maximum and sum). */
static bool ir__row_values_profitable(const ind__lowered *p, const ind__reduction_desc *d, const ind_body *b,
                                      ind_value v) {
    int bytes = 0;
    if (p->policy.disable_rows || d->second_fn || d->rank + d->rrank > IND_MAX_RANK) return false;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *in = &b->inst[i];
        if (in->op != IND_LOOP_LOAD || !ir__reads_row_result(p, b, in)) continue;
        bool again = false;
        for (uint32_t k = 1; k < i && !again; k++)
            again = b->inst[k].op == IND_LOOP_LOAD && b->inst[k].source == in->source;
        bytes += again ? 0 : ind_dtype_bytes(p->buffer[in->source].dtype);
    }
    return bytes > ind_dtype_bytes((ind_dtype)b->inst[v.id].dtype);
}

static ind_value ir__copy_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    return ind__box_load(o, (const ind__box *)user, index, rank);
}

/* Stores the values to reduce, in this type, over all points, and reduces the stored values. */
static ind_status ir__reduce_stored(ind__lowered *p, const ind__reduction_desc *d, ind_dtype dtype,
                                    ind__box **results) {
    ind_expr size[IND_MAX_RANK];
    for (int k = 0; k < d->rank + d->rrank; k++) size[k] = k < d->rank ? d->size[k] : d->rrange[k - d->rank];
    ind__box *values = ind__box_pointwise(p, dtype, size, d->rank + d->rrank, d->fn, d->user);
    if (!values || ind__box_realise(p, values)) return ind__failed(p->context);
    ind__reduction_desc over = *d;
    over.fn = ir__copy_element, over.user = values;
    return ind__box_reduction(p, &over, results);
}

ind_status ind__box_reduction(ind__lowered *p, const ind__reduction_desc *d, ind__box **results) {
    ind_context *c = p->context;
    ind__recorder r;
    if (ind__record_begin(&r, c, d->size, d->rank, d->rrange, d->rrank)) return ind__failed(c);
    ind__origins origins = {.context = c};
    ir__origins_add(&origins, p->origin);
    r.ops.origins = &origins;
    uint32_t buffers[2] = {0};
    ind_value value = d->fn(&r.ops, r.body->var, d->rank + d->rrank, d->user);
    bool rows = value.id && ir__row_values_profitable(p, d, r.body, value);
    ind_dtype dtype = value.id ? (ind_dtype)r.body->inst[value.id].dtype : d->dtype;
    bool ok = !rows && ir__record_reduction(p, &r, d, value, buffers) &&
              ir__add_stored(p, &r, d->type, &origins, buffers, ind__reduction_results(d->type), results);
    ind__record_abort(&r);
    ind__free(c, origins.node);
    if (rows) return ir__reduce_stored(p, d, dtype, results);
    return ok ? IND_OK : ind__failed(c);
}

/* Records the scan and the stores of its results into new buffers. */
static bool ir__record_scan(ind__lowered *p, ind__recorder *r, const ind__scan_desc *d, uint32_t *buffers) {
    ind_ops *o = &r->ops;
    ind_expr at[IND_MAX_RANK];
    for (int k = 0; k < d->rank; k++) at[k] = r->body->var[k == d->dim ? d->rank - 1 : k < d->dim ? k : k - 1];
    ind_value x = d->fn(o, at, d->rank, d->user);
    if (x.id) x = ind_op_cast(o, x, ind__scan_sorts(d->kind) ? d->dtype : ind_dtype_compute(d->dtype));
    ind_value scan = ind__emit_scan(o, d->kind, x);
    int n = ind__scan_results(d->kind);
    for (int k = 0; k < n; k++) {
        ind_value v = n > 1 ? ind__emit_scan_part(o, scan, k) : scan;
        ind_dtype dtype = k ? IND_I64 : d->dtype;
        buffers[k] = v.id ? ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, dtype, d->size, d->rank) : 0;
        if (!buffers[k]) return false;
        ind__emit_store(o, buffers[k], at, d->rank, v);
    }
    return r->body->inst[r->body->num_inst - 1].op == IND_LOOP_STORE;
}

/* Begins the body of a scan along `dim` of `size`: R is that dimension, P are the others. */
static bool ir__record_rows(ind__lowered *p, ind__recorder *r, ind__origins *origins, const ind_expr *size, int rank,
                            int dim) {
    ind_expr outer[IND_MAX_RANK];
    for (int k = 0; k + 1 < rank; k++) outer[k] = size[k < dim ? k : k + 1];
    if (ind__record_begin(r, p->context, outer, rank - 1, size + dim, 1)) return false;
    ir__origins_add(origins, p->origin);
    r->ops.origins = origins;
    return true;
}

ind_status ind__box_scan(ind__lowered *p, const ind__scan_desc *d, ind__box **results) {
    ind_context *c = p->context;
    ind__recorder r;
    ind__origins origins = {.context = c};
    if (!ir__record_rows(p, &r, &origins, d->size, d->rank, d->dim)) return ind__failed(c);
    uint32_t buffers[2] = {0};
    bool ok = ir__record_scan(p, &r, d, buffers) &&
              ir__add_stored(p, &r, IND_REDUCE_NONE, &origins, buffers, ind__scan_results(d->kind), results);
    ind__record_abort(&r);
    ind__free(c, origins.node);
    return ok ? IND_OK : ind__failed(c);
}

/* The scan's combine function over STATEs. */
static bool ir__record_combine(ind_ops *o, const ind__combine_desc *d, const ind_value *element, ind_value *combined) {
    ind_value left[IND__MAX_STATES], right[IND__MAX_STATES];
    for (int k = 0; k < d->states; k++) {
        left[k] = ind__emit_state(o, o->dtype(o, element[k]), k);
        right[k] = ind__emit_state(o, o->dtype(o, element[k]), d->states + k);
        if (!left[k].id || !right[k].id) return false;
    }
    return d->combine(o, left, right, combined, d->user);
}

/* Stores results as ir__record_scan does. at: the element's index; its entry of the scan dimension counts down if
   reverse. */
static bool ir__store_combined(ind__lowered *p, ind_ops *o, const ind__combine_desc *d, ind_value scan,
                               const ind_value *element, const ind_expr *at, uint32_t *buffers) {
    for (int k = 0; k < d->num && scan.id; k++) {
        ind__inst part = {.op = IND_LOOP_PART, .dtype = (uint8_t)o->dtype(o, element[k]), .arg = {scan.id}};
        part.imm.i = k;
        ind_value v = o->emit(o, &part, NULL);
        if (v.id && d->exclusive) v = d->finish(o, at, k, v, d->user);
        if (v.id) v = ind_op_cast(o, v, ind_dtype_compute(d->dtype[k]));
        buffers[k] = v.id ? ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, d->dtype[k], d->size, d->rank) : 0;
        if (!buffers[k]) return false;
        ind__emit_store(o, buffers[k], at, d->rank, v);
    }
    return scan.id != 0;
}

static bool ir__record_combine_scan(ind__lowered *p, ind__recorder *r, const ind__combine_desc *d, uint32_t *buffers) {
    ind_ops *o = &r->ops;
    ind_expr at[IND_MAX_RANK];
    ind_value element[IND__MAX_STATES] = {{0}}, combined[IND__MAX_STATES] = {{0}};
    for (int k = 0; k < d->rank; k++) at[k] = r->body->var[k == d->dim ? d->rank - 1 : k < d->dim ? k : k - 1];
    if (d->reverse) {
        ind_expr last = ind_expr_sub(d->size[d->dim], ind_int(p->context, 1));
        at[d->dim] = ind_expr_sub(last, at[d->dim]);
    }
    if (!d->element(o, at, element, d->user) || !ir__record_combine(o, d, element, combined)) return false;
    ind_value scan = ind__emit_combine_scan(o, element, combined, d->states, d->exclusive);
    return ir__store_combined(p, o, d, scan, element, at, buffers) &&
           r->body->inst[r->body->num_inst - 1].op == IND_LOOP_STORE;
}

ind_status ind__box_combine(ind__lowered *p, const ind__combine_desc *d, ind__box **results) {
    ind_context *c = p->context;
    ind__recorder r;
    ind__origins origins = {.context = c};
    if (!ir__record_rows(p, &r, &origins, d->size, d->rank, d->dim)) return ind__failed(c);
    uint32_t buffers[IND__MAX_STATES] = {0};
    bool ok = ir__record_combine_scan(p, &r, d, buffers) &&
              ir__add_stored(p, &r, IND_REDUCE_NONE, &origins, buffers, d->num, results);
    ind__record_abort(&r);
    ind__free(c, origins.node);
    return ok ? IND_OK : ind__failed(c);
}

static void ir__box_symbols(ind_context *c, const ind__box *x, ind_expr *symbols) {
    for (int i = 0; i < x->rank; i++) symbols[i] = ind__index_symbol(c, 'i', i, x->size[i]);
}

/* Finds the storage's dimensions that show dimensions first .. first + count - 1 of a box, as bits; 0: none, all, or
   one that shows others, too. */
static uint32_t ir__storage_dims(ind_context *c, const ind__box *x, int first, int count) {
    ind_expr symbol[IND_MAX_RANK];
    ir__box_symbols(c, x, symbol);
    uint32_t found = 0;
    for (int k = 0; k < x->storage->rank; k++) {
        bool inside = false, outside = false;
        for (int d = 0; d < x->rank; d++) {
            const bool shows = ind__expr_depends(x->map[k], symbol[d]);
            inside = inside || (shows && d >= first && d < first + count);
            outside = outside || (shows && (d < first || d >= first + count));
        }
        if (inside && outside) return 0;
        found |= (uint32_t)inside << k;
    }
    return found == (1u << x->storage->rank) - 1 ? 0 : found;
}

void ind__box_put_last(ind__lowered *p, ind__box *x, int first, int count) {
    ind__storage *s = x ? x->storage : NULL;
    const uint32_t last = s ? ir__storage_dims(p->context, x, first, count) : 0;
    ind__buffer *b = s && s->buffer ? &p->buffer[s->buffer] : NULL;
    uint8_t order[IND_MAX_RANK] = {0};
    int n = 0;
    if (!last || (b && (b->kind != IND__BUFFER_COMPUTED || b->layout.ordered))) return;
    for (uint32_t part = 0; part < 2; part++)
        for (int k = 0; k < s->rank; k++)
            if ((last >> k & 1) == part) order[n++] = (uint8_t)k;
    if (b) ir__set_order(&b->layout, order);
    memcpy(s->order, order, sizeof order);
    s->ordered = true;
}

ind__box *ind__box_view(ind__lowered *p, ind__box *x, const ind_expr *size, int rank, const ind_expr *map) {
    ind_context *c = p->context;
    ind__box *b = x ? (ind__box *)ind__arena_alloc(&p->boxes, sizeof *b) : NULL;
    if (!b) return NULL;
    ind_expr from[IND_MAX_RANK];
    ir__box_symbols(c, x, from);
    b->storage = x->storage;
    b->rank = rank;
    b->identity = rank == x->storage->rank;
    for (int i = 0; i < rank; i++) b->size[i] = size[i];
    for (int k = 0; k < x->storage->rank; k++) {
        b->map[k] = x->identity ? map[k] : ind__substitute(x->map[k], from, map, x->rank);
        if (!ind__ok(b->map[k])) return NULL;
        b->identity = b->identity && b->map[k].id == ind__index_symbol(c, 'i', k, size[k]).id &&
                      size[k].id == x->storage->size[k].id;
    }
    return b;
}

/* True if x is a permutation of the whole storage; order[k]: the storage dimension at position k. */
static bool ir__is_permutation(ind_context *c, const ind__box *x, uint8_t *order) {
    if (x->identity || x->rank != x->storage->rank) return false;
    ind_expr symbol[IND_MAX_RANK];
    ir__box_symbols(c, x, symbol);
    for (int d = 0; d < x->rank; d++) {
        int found = -1;
        for (int k = 0; k < x->rank; k++)
            if (x->map[k].id == symbol[d].id) found = k;
        if (found < 0 || !ind_expr_same(x->size[d], x->storage->size[found])) return false;
        order[d] = (uint8_t)found;
    }
    return true;
}

ind__box *ind__box_reshape(ind__lowered *p, ind__box *x, const ind_expr *size, int rank) {
    ind_context *c = p->context;
    if (!x) return NULL;
    uint8_t order[IND_MAX_RANK];
    ind__buffer *b = x->storage->buffer ? &p->buffer[x->storage->buffer] : NULL;
    if (b && !b->layout.ordered && ir__is_permutation(c, x, order)) {
        ir__set_order(&b->layout, order);
    }
    ind_expr symbol[IND_MAX_RANK], map[IND_MAX_RANK];
    for (int i = 0; i < rank; i++) symbol[i] = ind__index_symbol(c, 'i', i, size[i]);
    ind__delinearise(c, ind__linearise(c, symbol, size, rank), x->size, x->rank, map);
    return ind__box_view(p, x, size, rank, map);
}

static ind_value ir__inline_load(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    (void)user;
    return o->emit(o, inst, index);
}

ind_value ind__box_load(ind_ops *o, const ind__box *x, const ind_expr *index, int rank) {
    if (!o || !x) return ir__no_value;
    if (rank != x->rank) {
        ind__fail(o->context, IND_ERROR_INVALID_ARGUMENT, "a load gives %d indices for a tensor of rank %d", rank,
                  x->rank);
        return ir__no_value;
    }
    const ind__storage *s = x->storage;
    ind_expr from[IND_MAX_RANK], at[IND_MAX_RANK];
    ir__box_symbols(o->context, x, from);
    for (int k = 0; k < s->rank; k++) {
        at[k] = x->identity ? index[k] : ind__substitute(x->map[k], from, index, rank);
        if (!ind__ok(at[k])) return ir__no_value;
    }
    if (s->buffer) return ind__emit_load(o, s->buffer, s->dtype, at, s->rank);
    for (uint32_t i = 0; o->origins && i < s->num_origins; i++) ir__origins_add(o->origins, s->origin[i]);
    ind__replay r = {.body = s->body, .var = at, .load = ir__inline_load};
    return ind__body_replay(o, &r);
}
