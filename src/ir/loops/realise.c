/* ----------------------------------------------------------------------------------------------- >>realise */

static ind_status ir__realise_storage(ind__lowered *p, ind__storage *s) {
    uint32_t buffer = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, s->dtype, s->size, s->rank);
    uint32_t loop = buffer ? ir__add_loop(p, IND_REDUCE_NONE, s->origin, s->num_origins) : UINT32_MAX;
    if (loop == UINT32_MAX) return ind__failed(p->context);
    ind_body *b = s->body; /* the loop takes ownership */
    s->body = NULL;
    s->buffer = buffer;
    if (s->ordered) ir__set_order(&p->buffer[buffer].layout, s->order);
    ind__recorder r = {.ops = {.context = p->context}, .body = b};
    ind__inst store = {.op = IND_LOOP_STORE, .dtype = b->inst[b->result].dtype, .arg = {b->result}};
    store.source = buffer;
    store.num_index = (uint32_t)s->rank;
    b->result = 0;
    p->loop[loop].body = b;
    p->loop[loop].parts = s->parts;
    p->loop[loop].output[0] = buffer;
    p->loop[loop].num_outputs = 1;
    p->buffer[buffer].loop = loop;
    return ir__recorder_append(&r, &store, b->var).id ? IND_OK : ind__failed(p->context);
}

ind_status ind__box_realise(ind__lowered *p, ind__box *x) {
    if (!x) return ind__failed(p->context);
    return x->storage->buffer ? IND_OK : ir__realise_storage(p, x->storage);
}

ind_status ind__box_mark_use(ind__lowered *p, ind__box *x, int users) {
    if (!x) return ind__failed(p->context);
    const ind__storage *s = x->storage;
    if (s->buffer) return IND_OK;
    bool many = (int)s->num_reads > p->policy.max_reads_shared || (int)s->num_ops > p->policy.max_ops_shared;
    /* inlined, every user reads all that the body reads; stored, one loop reads it and the users read the result */
    bool saves = users * s->read_bytes > s->read_bytes + users * s->bytes;
    bool shared = users > 1 && (many || saves);
    bool large = (int)s->num_reads > p->policy.max_reads || (int)s->num_ops > p->policy.max_ops;
    return shared || large ? ind__box_realise(p, x) : IND_OK;
}

ind__box *ind__box_copy(ind__lowered *p, ind__box *x) {
    ind__box *copy = x ? ind__box_pointwise(p, x->storage->dtype, x->size, x->rank, ir__copy_element, x) : NULL;
    return copy && !ind__box_realise(p, copy) ? copy : NULL;
}

/* ---- mutation ---- */

static uint32_t ir__first_version(const ind__lowered *p, uint32_t buffer) {
    while (p->buffer[buffer].mutates) buffer = p->buffer[buffer].mutates;
    return buffer;
}

uint32_t ind__buffer_home(const ind__lowered *p, uint32_t buffer) {
    uint32_t last = buffer;
    while (p->buffer[last].mutated_by) last = p->buffer[last].mutated_by;
    return p->buffer[last].output ? last : ir__first_version(p, buffer);
}

/* True if the load reads the element that the same point stores. Only then may a loop read a buffer that it mutates. */
static bool ir__loads_own_element(const ind_body *b, const ind__inst *load, uint32_t version) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *store = &b->inst[i];
        if (store->op != IND_LOOP_STORE || store->source != version) continue;
        if (store->num_index != load->num_index) return false;
        for (uint32_t k = 0; k < store->num_index; k++) {
            ind_expr e = b->index[store->index + k];
            if (e.id != b->index[load->index + k].id || ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return false;
        }
    }
    return true;
}

static bool ir__body_loads(const ind_body *b, uint32_t buffer) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_LOAD && b->inst[i].source == buffer) return true;
    return false;
}

/* True if the loop may read the old contents while it stores the version: no load, or one load of the element that its
   point stores. */
static bool ir__reads_in_step(const ind_body *b, uint32_t old, uint32_t version, bool each_once) {
    uint32_t load = 0, loads = 0, stores = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        if (x->op == IND_LOOP_LOAD && x->source == old) load = i, loads++;
        if (x->op == IND_LOOP_STORE && x->source == version) stores++;
    }
    return !loads || (each_once && loads == 1 && stores == 1 && ir__loads_own_element(b, &b->inst[load], version));
}

/* Stores every unrealised value that would read the old contents later. */
static ind_status ir__realise_readers(ind__lowered *p, uint32_t buffer) {
    for (ir__storage_link *s = (ir__storage_link *)p->storages; s; s = s->next) {
        ind_status status =
            s->storage.body && ir__body_loads(s->storage.body, buffer) ? ir__realise_storage(p, &s->storage) : IND_OK;
        if (status) return status;
    }
    return IND_OK;
}

/* Adds the new version of the buffer. The layout of the old version becomes fixed, as both share it. */
static uint32_t ir__add_version(ind__lowered *p, uint32_t old) {
    const ind_layout l = p->buffer[old].layout; /* a copy: adding a buffer may move the array */
    uint32_t made = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, p->buffer[old].dtype, l.size, l.rank);
    if (!made) return 0;
    p->buffer[old].layout.ordered = true;
    p->buffer[made].layout = p->buffer[old].layout;
    p->buffer[made].mutates = old;
    p->buffer[old].mutated_by = made;
    return made;
}

static bool ir__stores_into(const ind_body *b, uint32_t buffer) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_STORE && b->inst[i].source == buffer) return true;
    return false;
}

static ind_status ir__add_scatter(ind__lowered *p, ind__recorder *r, uint32_t version, const ind__origins *origins) {
    uint32_t *kept, num_kept;
    if (!ir__keep_origins(p, origins, &kept, &num_kept)) return ind__failed(p->context);
    uint32_t loop = ir__add_loop(p, IND_REDUCE_NONE, kept, num_kept);
    if (loop == UINT32_MAX) return ind__failed(p->context);
    p->loop[loop].body = ind__record_end(r);
    if (!p->loop[loop].body) return ind__failed(p->context);
    p->loop[loop].output[0] = version;
    p->loop[loop].num_outputs = 1;
    p->buffer[version].loop = loop;
    return IND_OK;
}

/* Records the loop. The first attempt inlines unrealised values, which must not read memory that other points change.
   Then the readers of the old contents are stored and, if necessary, the second attempt reads the stored values. */
static ind_status ir__record_scatter(ind__lowered *p, ind__recorder *r, const ind__scatter_desc *d, uint32_t version,
                                     ind__origins *origins) {
    const uint32_t old = p->buffer[version].mutates;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (ind__record_begin(r, p->context, d->size, d->rank, NULL, 0)) return ind__failed(p->context);
        r->ops.origins = origins;
        d->fn(&r->ops, r->body->var, d->rank, version, d->user);
        if (!ir__stores_into(r->body, version)) return ind__failed(p->context);
        const bool in_step = ir__reads_in_step(r->body, old, version, d->each_once);
        ind_status status = attempt ? IND_OK : ir__realise_readers(p, old);
        if (status || in_step) return status;
        if (attempt == 0) ind__record_abort(r);
    }
    return ind__fail(p->context, IND_ERROR_VERIFY, "a scatter reads elements that other points of it change");
}

ind_status ind__box_scatter(ind__lowered *p, ind__box *x, const ind__scatter_desc *d, ind__box **result) {
    ind_context *c = p->context;
    ind__recorder r = {0};
    *result = NULL;
    uint32_t old = x ? x->storage->buffer : 0;
    if (!old || !x->identity || p->buffer[old].mutated_by || p->buffer[old].output)
        return ind__fail(c, IND_ERROR_VERIFY, "a scatter needs a whole buffer that it may change");
    uint32_t version = ir__add_version(p, old);
    if (!version) return ind__failed(c);
    ind__origins origins = {.context = c};
    ir__origins_add(&origins, p->origin);
    ind_status status = ir__record_scatter(p, &r, d, version, &origins);
    if (!status) status = ir__add_scatter(p, &r, version, &origins);
    ind__record_abort(&r);
    ind__free(c, origins.node);
    if (status) return status;
    *result = ind__box_buffer(p, version);
    return *result ? IND_OK : ind__failed(c);
}

/* True if row-major, required or by default. */
static bool ir__is_contiguous(const ind_layout *l) {
    for (int i = 0; l->ordered && i < l->rank; i++)
        if (l->order[i] != i) return false;
    return true;
}

/* ---- extern calls ---- */

/* True if the box shows all elements of a contiguous buffer in order; then fixes the order of the buffer's
   dimensions. */
static bool ir__settle_contiguous(ind__lowered *p, const ind__box *x) {
    const ind__storage *s = x->storage;
    if (!s->buffer || !ir__is_contiguous(&p->buffer[s->buffer].layout)) return false;
    ind_expr at[IND_MAX_RANK];
    ir__box_symbols(p->context, x, at);
    if (!x->identity) {
        ind_expr seen = ind__linearise(p->context, at, x->size, x->rank);
        ind_expr lies = ind__linearise(p->context, x->map, s->size, s->rank);
        ind_expr all = ind_expr_product(p->context, x->size, x->rank);
        if (!ind__ok(seen) || !ind_expr_same(seen, lies) ||
            !ind_known_eq(all, ind_expr_product(p->context, s->size, s->rank)))
            return false;
    }
    p->buffer[s->buffer].layout.ordered = true;
    return true;
}

static bool ir__is_unit(ind_expr e) {
    int64_t v;
    return ind_expr_is_int(e, &v) && v == 1;
}

/* True if these are the strides of rows or columns of matrices that do not overlap (ind_extern_desc.strided). */
static bool ir__are_matrices(const ind_expr *size, const ind_expr *stride, int rank) {
    const int row = rank - 2, column = rank - 1;
    const bool rows = ir__is_unit(stride[column]), columns = ir__is_unit(stride[row]);
    bool fits =
        (rows && ind_known_le(size[column], stride[row])) || (columns && ind_known_le(size[row], stride[column]));
    for (int d = 0; fits && d < row; d++) fits = ind_known_le(ind_int(size[d].context, 0), stride[d]);
    return fits;
}

/* Finds strides and offset of matrices in a row-major buffer, and fixes the order of its dimensions. False: the call
   needs a copy. */
static bool ir__settle_strided(ind__lowered *p, const ind__box *x, ind__call_arg *arg) {
    const ind__storage *s = x->storage;
    if (x->rank < 2 || !s->buffer || !ir__is_contiguous(&p->buffer[s->buffer].layout)) return false;
    ind_expr at[IND_MAX_RANK], stride[IND_MAX_RANK], zero[IND_MAX_RANK];
    ir__box_symbols(p->context, x, at);
    ind_expr lies = ind__linearise(p->context, x->identity ? at : x->map, s->size, s->rank);
    for (int d = 0; d < x->rank; d++) {
        zero[d] = ind_int(p->context, 0);
        stride[d] = ind_expr_stride(lies, at[d]);
        for (int i = 0; i < x->rank; i++)
            if (!ind__ok(stride[d]) || ind__expr_depends(stride[d], at[i])) return false;
    }
    ind_expr offset = ind__substitute(lies, at, zero, x->rank);
    const int row = x->rank - 2, column = x->rank - 1; /* a dimension of size 1 may have any stride */
    if (ir__is_unit(x->size[column])) stride[column] = x->size[column];
    if (ir__is_unit(x->size[row])) stride[row] = x->size[ir__is_unit(stride[column]) ? column : row];
    if (!ind__ok(offset) || !ir__are_matrices(x->size, stride, x->rank)) return false;
    memcpy(arg->stride, stride, (size_t)x->rank * sizeof *stride);
    arg->offset = offset;
    p->buffer[s->buffer].layout.ordered = true;
    return true;
}

static bool ir__call_input(ind__lowered *p, ind__box *x, bool strided, ind__call_arg *arg) {
    if (!x || ind__box_realise(p, x)) return false;
    memset(arg, 0, sizeof *arg);
    if (!ir__settle_contiguous(p, x) && !(strided && ir__settle_strided(p, x, arg))) {
        x = ind__box_copy(p, x);
        if (!x || !ir__settle_contiguous(p, x)) return false;
    }
    arg->buffer = x->storage->buffer;
    arg->type = (ind_extern_type){.dtype = x->storage->dtype, .rank = x->rank};
    memcpy(arg->type.size, x->size, sizeof x->size);
    return true;
}

static uint32_t ir__call_result(ind__lowered *p, const ind_extern_type *t, ind__call_arg *arg) {
    uint32_t made = ir__add_buffer(p, NULL, IND__BUFFER_COMPUTED, t->dtype, t->size, t->rank);
    if (made) p->buffer[made].layout.ordered = true;
    if (arg) *arg = (ind__call_arg){.buffer = made, .type = *t};
    return made;
}

/* Adds the version that the call writes. Other later readers of the old contents store their values before the call. */
static uint32_t ir__call_version(ind__lowered *p, const ind__call_arg *input, ind__call_arg *arg) {
    if (p->buffer[input->buffer].mutated_by || p->buffer[input->buffer].output) {
        ind__fail(p->context, IND_ERROR_VERIFY, "a call overwrites a buffer that it may not change");
        return 0;
    }
    uint32_t made = ir__realise_readers(p, input->buffer) ? 0 : ir__add_version(p, input->buffer);
    *arg = (ind__call_arg){.buffer = made, .type = input->type};
    return made;
}

static bool ir__call_args(ind__lowered *p, const ind__call_desc *d, ind__extern_call *call) {
    ind__call_arg *out = call->arg + d->num_inputs;
    for (uint32_t k = 0; k < d->num_inputs; k++) {
        const bool strided = call->op && call->op->desc.strided && !d->overwrites[k];
        if (!ir__call_input(p, d->input[k], strided, &call->arg[k])) return false;
    }
    for (uint32_t k = 0; k < d->num_results; k++)
        if (!ir__call_result(p, &d->result[k], out + call->num_outputs++)) return false;
    for (uint32_t k = 0; k < d->num_inputs; k++)
        if (d->overwrites[k] && !ir__call_version(p, &call->arg[k], out + call->num_outputs++)) return false;
    ind_extern_type bytes = {.dtype = IND_U8, .rank = 1, .size = {d->workspace}};
    if (!ind__ok(d->workspace)) return true;
    call->workspace = ir__call_result(p, &bytes, NULL);
    return call->workspace != 0;
}

static bool ir__call_touch(ind__lowered *p, ind_ops *o, uint32_t buffer, bool store) {
    const ind__buffer *b = &p->buffer[buffer];
    ind_expr zero[IND_MAX_RANK];
    for (int d = 0; d < b->layout.rank; d++) zero[d] = ind_int(p->context, 0);
    if (!store) return ind__emit_load(o, buffer, b->dtype, zero, b->layout.rank).id;
    uint32_t before = ((ind__recorder *)o)->body->num_inst;
    ind_value v = ind_op_constant_int(o, 0, ind_dtype_compute(b->dtype));
    if (v.id) ind__emit_store(o, buffer, zero, b->layout.rank, v);
    return v.id && ((ind__recorder *)o)->body->num_inst > before;
}

static bool ir__call_record(ind__lowered *p, ind__recorder *r, const ind__extern_call *call) {
    bool ok = true;
    for (uint32_t k = 0; ok && k < call->num_inputs; k++) ok = ir__call_touch(p, &r->ops, call->arg[k].buffer, false);
    for (uint32_t k = 0; ok && k < call->num_outputs; k++)
        ok = ir__call_touch(p, &r->ops, call->arg[call->num_inputs + k].buffer, true);
    return ok && (!call->workspace || ir__call_touch(p, &r->ops, call->workspace, true));
}

static ind_status ir__call_add(ind__lowered *p, ind__recorder *r, const ind__extern_call *call, ind__box **results) {
    uint32_t *origin = (uint32_t *)ind__arena_copy(&p->arena, &p->origin, sizeof p->origin);
    uint32_t loop = origin ? ir__add_loop(p, IND_REDUCE_NONE, origin, 1) : UINT32_MAX;
    if (loop == UINT32_MAX) return ind__failed(p->context);
    ind__loop *l = &p->loop[loop];
    l->body = ind__record_end(r);
    if (!l->body) return ind__failed(p->context);
    for (uint32_t k = 0; k < call->num_outputs; k++)
        l->output[l->num_outputs++] = call->arg[call->num_inputs + k].buffer;
    if (call->workspace) l->output[l->num_outputs++] = call->workspace;
    for (uint32_t k = 0; k < l->num_outputs; k++) p->buffer[l->output[k]].loop = loop;
    for (uint32_t k = 0; k < call->num_outputs; k++)
        if (!(results[k] = ind__box_buffer(p, l->output[k]))) return ind__failed(p->context);
    return IND_OK;
}

ind_status ind__box_call(ind__lowered *p, const ind__call_desc *d, ind__box **results) {
    uint32_t most = d->num_inputs + d->num_results, versions = 0;
    for (uint32_t k = 0; k < d->num_inputs; k++) versions += d->overwrites[k];
    if (d->num_results + versions > IND_MAX_EXTERN_RESULTS)
        return ind__fail(p->context, IND_ERROR_LIMIT, "%s: at most %d results are possible", d->name,
                         IND_MAX_EXTERN_RESULTS);
    ind__extern_call *call = (ind__extern_call *)ind__arena_alloc(&p->arena, sizeof *call);
    if (!call) return ind__failed(p->context);
    call->op = ind__extern_find(p->context, d->name);
    call->name = ind__arena_string(&p->arena, d->name, strlen(d->name));
    call->arg = (ind__call_arg *)ind__arena_alloc(&p->arena, (most + versions + 1) * sizeof *call->arg);
    call->num_inputs = d->num_inputs;
    if (!call->name || !call->arg || !ir__call_args(p, d, call)) return ind__failed(p->context);
    ind__recorder r;
    if (ind__record_begin(&r, p->context, NULL, 0, NULL, 0)) return ind__failed(p->context);
    r.body->call = call;
    ind_status status = ir__call_record(p, &r, call) ? ir__call_add(p, &r, call, results) : ind__failed(p->context);
    ind__record_abort(&r);
    return status;
}

/* True if this buffer can be an output itself. Outputs are contiguous and have separate memory. */
static bool ir__can_be_output(const ind__lowered *p, uint32_t buffer) {
    const ind__buffer *b = &p->buffer[buffer];
    if (b->kind != IND__BUFFER_COMPUTED || b->output || b->mutated_by) return false;
    if (!b->mutates) return ir__is_contiguous(&b->layout);
    return p->buffer[ir__first_version(p, buffer)].kind == IND__BUFFER_COMPUTED && ir__is_contiguous(&b->layout);
}

ind_status ind__box_output(ind__lowered *p, ind__box *x, const char *name, uint32_t position) {
    if (!x) return ind__failed(p->context);
    const ind__storage *s = x->storage;
    ind__buffer *b;
    bool direct = x->identity && (!s->buffer || ir__can_be_output(p, s->buffer));
    if (!s->buffer) x->storage->ordered = false;
    if (!direct) x = ind__box_pointwise(p, s->dtype, x->size, x->rank, ir__copy_element, x);
    if (!x || ind__box_realise(p, x)) return ind__failed(p->context);
    b = &p->buffer[x->storage->buffer];
    b->output = position + 1;
    b->layout.ordered = true;
    b->name = ind__arena_string(&p->arena, name, strlen(name));
    return b->name ? IND_OK : ind__failed(p->context);
}

ind_expr ind__buffer_numel(const ind__buffer *b) {
    return ind_expr_product(b->layout.offset.context, b->layout.size, b->layout.rank);
}

ind_expr ind__buffer_bytes(const ind__buffer *b) {
    return ir__mul2(ind__buffer_numel(b), ind_int(b->layout.offset.context, ind_dtype_bytes(b->dtype)));
}

uint64_t ind__unbacked_in(const ind__unbacked *list, uint32_t num, ind_expr e) {
    uint64_t in = 0;
    if (!num || !ind__expr_has_kind(e, IND_SYMBOL_UNBACKED)) return 0;
    for (uint32_t u = 0; u < num; u++) in |= (uint64_t)ind__expr_depends(e, list[u].symbol) << u;
    return in;
}

uint64_t ind__body_unbacked(const ind__lowered *p, const ind_body *b) {
    uint64_t in = 0;
    if (!p->num_unbacked) return 0;
    for (int v = 0; v < b->rank + b->rrank; v++)
        in |= ind__unbacked_in(p->unbacked, p->num_unbacked, ind_expr_symbol(b->var[v])->extent);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        for (uint32_t k = 0; k < x->num_index; k++)
            in |= ind__unbacked_in(p->unbacked, p->num_unbacked, b->index[x->index + k]);
    }
    return in;
}

typedef struct ir__extreme {
    const ind__unbacked *list;
    uint32_t num;
} ir__extreme;

#define IND__MAX_EXTREME_DEPTH 64

static ind_expr ir__extreme_of(const ir__extreme *x, ind_expr e, bool most, int depth);

/* Sums, minima and maxima are nondecreasing in each term. */
static ind_expr ir__extreme_terms(const ir__extreme *x, ind_expr e, bool most, int depth) {
    ind_expr sum = {e.context, 0};
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        ind_expr a = ir__extreme_of(x, ind_expr_arg(e, i), most, depth);
        if (!ind__ok(a)) return a;
        sum = i ? ind__expr_rebuild(e, (ind_expr[]){sum, a}, 2) : a;
    }
    return sum;
}

/* A product of nonnegative factors and integers, also negative ones. */
static ind_expr ir__extreme_product(const ir__extreme *x, ind_expr e, bool most, int depth) {
    ind_expr product = ind_int(e.context, 1), none = {e.context, 0};
    bool negative = false;
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        int64_t value;
        if (ind_expr_is_int(ind_expr_arg(e, i), &value) && value < 0) negative = !negative;
    }
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        ind_expr a = ind_expr_arg(e, i);
        if (!ind_expr_is_int(a, NULL)) {
            if (!ind_known_le(ind_int(e.context, 0), a)) return none;
            a = ir__extreme_of(x, a, most != negative, depth);
        }
        if (!ind__ok(a)) return none;
        product = ind_expr_mul(product, a);
    }
    return product;
}

/* x // d and x % d by a positive d without unbacked symbols; for other positive d only if x is nonnegative. */
static ind_expr ir__extreme_quotient(const ir__extreme *x, ind_expr e, bool most, int depth) {
    ind_context *c = e.context;
    ind_expr a = ind_expr_arg(e, 0), d = ind_expr_arg(e, 1), zero = ind_int(c, 0), none = {c, 0};
    bool known = !ind__unbacked_in(x->list, x->num, d), natural = ind_known_le(zero, a);
    if (!ind_known_lt(zero, d)) return none;
    if (ind_expr_query_kind(e) == IND_EXPR_MOD) {
        if (!most) return zero;
        return natural ? ir__extreme_of(x, a, true, depth) : none;
    }
    if (!known && !natural) return none;
    if (!known) return most ? ir__extreme_of(x, a, true, depth) : zero;
    a = ir__extreme_of(x, a, most, depth);
    return ind__ok(a) ? ind_expr_floordiv(a, d) : a;
}

static ind_expr ir__extreme_of(const ir__extreme *x, ind_expr e, bool most, int depth) {
    ind_expr none = {e.context, 0};
    ind_expr_kind kind = ind_expr_query_kind(e);
    if (!ind__ok(e) || depth > IND__MAX_EXTREME_DEPTH) return none;
    if (!ind__unbacked_in(x->list, x->num, e)) return e;
    if (kind == IND_EXPR_SYM) {
        for (uint32_t u = 0; u < x->num; u++)
            if (ind_expr_same(e, x->list[u].symbol))
                return most ? x->list[u].most : ind_int(e.context, ind_expr_symbol(e)->lo);
        return none;
    }
    if (kind == IND_EXPR_ADD || kind == IND_EXPR_MIN || kind == IND_EXPR_MAX)
        return ir__extreme_terms(x, e, most, depth + 1);
    if (kind == IND_EXPR_MUL) return ir__extreme_product(x, e, most, depth + 1);
    if (kind == IND_EXPR_FLOORDIV || kind == IND_EXPR_MOD) return ir__extreme_quotient(x, e, most, depth + 1);
    if (kind != IND_EXPR_WHERE) return none;
    ind_expr a = ir__extreme_of(x, ind_expr_arg(e, 1), most, depth + 1);
    ind_expr b = ir__extreme_of(x, ind_expr_arg(e, 2), most, depth + 1);
    if (!ind__ok(a) || !ind__ok(b)) return none;
    return most ? ind_expr_max(a, b) : ind_expr_min(a, b);
}

ind_expr ind__most(const ind__unbacked *list, uint32_t num, ind_expr e) {
    ir__extreme x = {list, num};
    return num ? ir__extreme_of(&x, e, true, 0) : e;
}

ind_expr ind__buffer_most_bytes(const ind__lowered *p, const ind__buffer *b) {
    ind_expr bytes = ind__buffer_bytes(b), most = ind__most(p->unbacked, p->num_unbacked, bytes);
    char text[200];
    if (!ind__ok(bytes) || ind__ok(most)) return most;
    ind_expr_print(bytes, text, sizeof text);
    ind__fail(p->context, IND_ERROR_NOT_SUPPORTED,
              "buffer %s: no bound in the declared sizes is found for its %s bytes", b->name, text);
    return most;
}

static bool ir__fix_layout(ind_context *c, ind_layout *l) {
    ind_expr stride = ind_int(c, 1);
    for (int k = l->rank - 1; k >= 0; k--) {
        int d = l->order[k];
        l->stride[d] = stride;
        stride = ir__mul2(stride, l->size[d]);
    }
    l->fixed = true;
    return ind__ok(stride);
}

/* Replaces the indices of an access by its offset in elements. */
static bool ir__flatten_access(ind__lowered *p, ind_body *b, ind__inst *i) {
    const ind_layout *l = &p->buffer[i->source].layout;
    ir__sum s = {.context = p->context};
    ir__sum_add(&s, l->offset, 1);
    for (int k = 0; k < l->rank; k++) ir__sum_add(&s, ir__mul2(b->index[i->index + (uint32_t)k], l->stride[k]), 1);
    ind_expr offset = ir__sum_finish(&s);
    if (!ind__ok(offset)) return false;
    if (!l->rank) { /* an access to a 0-d tensor has no index */
        ind_expr *slot = IND__PUSH(p->context, ind_expr, b->index, b->num_index, b->cap_index);
        if (!slot) return false;
        i->index = b->num_index - 1;
    }
    b->index[i->index] = offset;
    i->num_index = 1;
    return true;
}

/* Removes loops whose results are not read. In reverse order, so readers are removed before the loops that they
   read. */
static ind_status ir__drop_dead_loops(ind__lowered *p) {
    uint8_t *used = (uint8_t *)ind__alloc(p->context, p->num_buffers);
    if (!used) return ind__failed(p->context);
    for (uint32_t b = 1; b < p->num_buffers; b++) { /* versions come after the buffer that they change */
        const ind__buffer *x = &p->buffer[b];
        uint64_t sizes = 0;
        for (int d = 0; x->output && d < x->layout.rank; d++)
            sizes |= ind__unbacked_in(p->unbacked, p->num_unbacked, x->layout.size[d]);
        for (uint32_t u = 0; u < p->num_unbacked; u++) used[p->unbacked[u].buffer] |= sizes >> u & 1;
        used[b] |= x->output || (x->mutates ? used[x->mutates] : x->kind != IND__BUFFER_COMPUTED);
    }
    for (uint32_t l = p->num_loops; l-- > 0;) {
        ind__loop *loop = &p->loop[l];
        bool live = false;
        for (uint32_t k = 0; k < loop->num_outputs; k++) live = live || used[loop->output[k]];
        if (!live) { /* the buffer that it would change keeps its old version */
            for (uint32_t k = 0; k < loop->num_outputs; k++) {
                uint32_t old = p->buffer[loop->output[k]].mutates;
                if (old) p->buffer[old].mutated_by = 0;
            }
            ind__body_free(loop->body);
            loop->body = NULL;
            continue;
        }
        for (uint32_t i = 1; i < loop->body->num_inst; i++)
            if (loop->body->inst[i].op == IND_LOOP_LOAD) used[loop->body->inst[i].source] = 1;
        uint64_t sizes = ind__body_unbacked(p, loop->body);
        for (uint32_t u = 0; u < p->num_unbacked; u++) used[p->unbacked[u].buffer] |= sizes >> u & 1;
        for (uint32_t k = 0; k < loop->num_outputs; k++) used[p->buffer[loop->output[k]].mutates] = 1;
    }
    ind__free(p->context, used);
    uint32_t kept = 0;
    for (uint32_t l = 0; l < p->num_loops; l++) {
        if (!p->loop[l].body) continue;
        p->loop[kept] = p->loop[l];
        for (uint32_t k = 0; k < p->loop[kept].num_outputs; k++) p->buffer[p->loop[kept].output[k]].loop = kept;
        kept++;
    }
    p->num_loops = kept;
    return IND_OK;
}
