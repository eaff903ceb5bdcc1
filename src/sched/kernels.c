/* ---- properties of kernels: name, arguments, amounts of work */

static uint32_t sched__collect_loops(const sched__fuser *f, uint32_t g, uint32_t *loop) {
    uint32_t n = 0;
    for (uint32_t l = f->group[g].head; l != IND__SCHED_NONE; l = f->next_loop[l]) loop[n++] = l;
    return n;
}

static bool sched__set_loops(sched__fuser *f, ind_kernel *k, uint32_t g) {
    uint32_t origins = 0, n = 0;
    k->loop = sched__schedule_alloc(f, NULL, f->group[g].count, sizeof *k->loop);
    if (!k->loop) return false;
    k->num_loops = sched__collect_loops(f, g, k->loop);
    for (uint32_t i = 0; i < k->num_loops; i++) origins += f->program->loop[k->loop[i]].num_origins;
    k->origin = sched__schedule_alloc(f, NULL, origins, sizeof *k->origin);
    if (!k->origin) return false;
    for (uint32_t i = 0; i < k->num_loops; i++) {
        const ind__loop *l = &f->program->loop[k->loop[i]];
        for (uint32_t j = 0; j < l->num_origins; j++) k->origin[n++] = l->origin[j];
    }
    sched__sort(k->origin, n, sizeof *k->origin, sched__compare_u32);
    for (uint32_t i = 0; i < n; i++) {
        if (!i || k->origin[i] != k->origin[i - 1]) k->origin[k->num_origins++] = k->origin[i];
    }
    return true;
}

static bool sched__name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* True if the name already contains this part, between underscores. */
static bool sched__name_has(const char *name, const char *part, size_t length) {
    for (const char *at = strstr(name, part); at; at = strstr(at + 1, part)) {
        bool starts = at == name || at[-1] == '_', ends = !at[length] || at[length] == '_';
        if (starts && ends) return true;
    }
    return false;
}

static void sched__append_name(char name[64], const char *op) {
    char part[64];
    size_t n = 0, have = strlen(name);
    for (const char *s = op; *s && n < sizeof part - 1; s++) {
        char c = *s >= 'A' && *s <= 'Z' ? (char)(*s - 'A' + 'a') : *s;
        part[n++] = sched__name_char(c) ? c : '_';
    }
    part[n] = 0;
    if (!n || have + n + 1 > 63 || sched__name_has(name, part, n)) return;
    if (have) name[have++] = '_';
    memcpy(name + have, part, n + 1);
}

static void sched__set_name(sched__fuser *f, ind_kernel *k) {
    for (uint32_t i = 0; f->origin.name && i < k->num_origins; i++) {
        const char *op = f->origin.name(k->origin[i], f->origin.user);
        if (op) sched__append_name(k->name, op);
    }
    if (!k->name[0]) strcpy(k->name, ind__kernel_kind_text(k->kind));
}

/* Derives rows, columns and batch from the operands' indices. A variable of only the first operand is a row, of only
   the second a column. The innermost of several is used; the others are batch dimensions. */
static void sched__set_matmul(ind_kernel *k, const uint32_t *mask) {
    uint8_t operands[IND__SCHED_DIMS];
    k->matmul.m = k->matmul.n = -1;
    k->matmul.dot = sched__operands(k->body, mask, operands);
    if (!k->matmul.dot) return;
    k->matmul.dot2 = sched__next_product(k->body, k->matmul.dot + 1);
    k->scores = sched__find_product(k->body, 1, true);
    k->kind = IND_KERNEL_MATMUL;
    for (int v = 0; v < k->body->rank; v++) {
        if (operands[v] == 1) k->matmul.m = v;
        if (operands[v] == 2) k->matmul.n = v;
    }
    for (int v = 0; v < k->body->rank; v++) {
        if (v != k->matmul.m && v != k->matmul.n) k->matmul.batch_mask |= 1u << v;
    }
}

/* True if the access is to the matrix of a group of rows. */
static bool sched__has_group(const ind_body *body, const ind__inst *in) {
    const uint32_t group = sched__last_group(body);
    return group && ind__expr_depends(body->index[in->index], body->index[body->inst[group].index + 1]);
}

/* True if e has the variable only in var // d, with one d: heads of queries that share a head of keys. */
static bool sched__only_divided(ind_expr e, ind_expr var, ind_expr *d) {
    if (!ind__expr_depends(e, var)) return true;
    const bool divides = ind_expr_query_kind(e) == IND_EXPR_FLOORDIV && ind_expr_same(ind_expr_arg(e, 0), var);
    if (divides && ind__ok(*d) && !ind_expr_same(*d, ind_expr_arg(e, 1))) return false;
    if (divides) *d = ind_expr_arg(e, 1);
    if (divides) return ind__expr_is_size(*d);
    for (int i = 0; i < ind_expr_num_args(e); i++)
        if (!sched__only_divided(ind_expr_arg(e, i), var, d)) return false;
    return ind_expr_num_args(e) > 0;
}

/* Elements at the index of instruction i: the points of the variables in it at which it differs. */
static ind_expr sched__index_points(const ind_body *body, const uint32_t *mask, uint32_t i) {
    const ind_expr index = body->index[body->inst[i].index];
    const uint32_t vars = sched__expr_mask(body, mask, i, index), found = sched__indirect_mask(body, mask, i, index);
    ind_expr n = ind_int(body->context, 1);
    for (int v = 0; v < body->rank + body->rrank; v++) {
        ind_expr d = {0}, size = sched__extent(body->var[v]);
        if (!(vars >> v & 1)) continue;
        const bool divided = !(found >> v & 1) && sched__only_divided(index, body->var[v], &d) && ind__ok(d);
        n = ind_expr_mul(n, divided ? ind_expr_ceildiv(size, d) : size);
    }
    return n;
}

/* Elements of the buffer that the body accesses: the points of the variables in its indices, at most the whole
   buffer. */
static ind_expr sched__accessed_elements(sched__fuser *f, const ind_body *body, const uint32_t *mask, uint32_t buffer) {
    ind_expr total = ind_int(f->context, 0), all = ind__buffer_numel(&f->program->buffer[buffer]);
    bool masked = false;
    if (body->call) return buffer == body->call->workspace ? total : all;
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (!sched__is_access(in) || in->source != buffer) continue;
        if (sched__combines_run(in)) return all;
        total = ind_expr_add(total, sched__index_points(body, mask, i));
        masked = masked || in->arg[in->op == IND_LOOP_STORE] || sched__has_group(body, in);
    }
    if (masked && !ind_known_le(total, all)) return ind_expr_min(all, total);
    return ind_known_le(all, total) ? all : total;
}

/* True if a store combines with the old value: then memory is read as well. */
static bool sched__combines(const ind_body *body, uint32_t buffer) {
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        if (in->op != IND_LOOP_STORE || in->source != buffer || sched__combines_run(in)) continue;
        if (in->reduction != IND_REDUCE_NONE) return true;
    }
    return false;
}

static ind_expr sched__accessed_bytes(sched__fuser *f, const ind_kernel *k, const uint32_t *mask, bool written) {
    ind_expr sum = ind_int(f->context, 0);
    for (uint32_t i = written ? k->num_reads : 0; i < k->num_args; i++) {
        if (!written && i >= k->num_reads && !sched__combines(k->body, k->arg[i])) continue;
        int64_t bytes = ind_dtype_bytes(f->program->buffer[k->arg[i]].dtype);
        ind_expr n = sched__accessed_elements(f, k->body, mask, k->arg[i]);
        sum = ind_expr_add(sum, ind_expr_mul(n, ind_int(f->context, bytes)));
    }
    return sum;
}

/* The same for attention, where values do not vary with the columns of the result: each instruction is counted for the
   points of its variables. */
static ind_expr sched__attention_flops(const ind_body *body, const uint32_t *mask) {
    ind_expr sum = ind_int(body->context, 0);
    for (uint32_t i = 1; i < body->num_inst; i++) {
        const ind__inst *in = &body->inst[i];
        const bool reduces = in->op == IND_LOOP_REDUCE, dot = reduces && in->reduction == IND_REDUCE_DOT;
        if (!reduces && ind__loop_op_class((ind_loop_op)in->op) == 's') continue;
        const uint32_t over = reduces ? mask[in->arg[0]] | mask[in->arg[1]] : mask[i];
        const ind_expr ops = ind_int(body->context, dot ? 2 : 1);
        sum = ind_expr_add(sum, ind_expr_mul(sched__points(body, over), ops));
    }
    return sum;
}

/* Counts one per arithmetic instruction and element, one per element of a reduction or scan, two of a DOT. Integers
   that find the group of a row are not counted: a block finds it once. */
static ind_expr sched__flops(const ind_kernel *k, const uint32_t *mask) {
    const ind_body *body = k->body;
    if (body->inner) return sched__attention_flops(body, mask);
    uint32_t inner = ~((1u << body->rank) - 1);
    int64_t per_output = 0, per_element = 0;
    const uint32_t group = sched__last_group(body);
    for (uint32_t i = 1; i < body->num_inst && !body->call; i++) {
        const ind__inst *in = &body->inst[i];
        if (i < group && !ind_dtype_is_float((ind_dtype)in->dtype)) continue;
        char class = ind__loop_op_class((ind_loop_op)in->op);
        if (in->op == IND_LOOP_SCAN || sched__combines_run(in))
            per_element++;
        else if (in->op == IND_LOOP_REDUCE)
            per_element += in->reduction == IND_REDUCE_DOT ? 2 : 1;
        else if (class != 's')
            *(mask[i] & inner ? &per_element : &per_output) += 1;
    }
    ind_context *c = body->context;
    ind_expr rows = ind_expr_mul(k->numel, ind_int(c, per_output));
    return ind_expr_add(rows, ind_expr_mul(ind_expr_mul(k->numel, k->rnumel), ind_int(c, per_element)));
}

static void sched__collect_args(sched__fuser *f, ind_kernel *k, ind_loop_op op, uint32_t *arg) {
    f->visits.epoch++;
    for (uint32_t i = 1; i < k->body->num_inst; i++) {
        const ind__inst *in = &k->body->inst[i];
        if (in->op != op || f->visits.mark[in->source] == f->visits.epoch) continue;
        f->visits.mark[in->source] = f->visits.epoch;
        arg[k->num_args++] = in->source;
    }
}

static bool sched__set_args(sched__fuser *f, ind_kernel *k) {
    uint32_t accesses = 0;
    for (uint32_t i = 1; i < k->body->num_inst; i++) accesses += sched__is_access(&k->body->inst[i]);
    k->arg = sched__schedule_alloc(f, NULL, accesses + sched__num_sizes(f, k->body), sizeof *k->arg);
    if (!k->arg) return false;
    sched__collect_args(f, k, IND_LOOP_LOAD, k->arg);
    uint64_t sizes = ind__body_unbacked(f->program, k->body);
    for (uint32_t u = 0; u < f->program->num_unbacked; u++) {
        uint32_t count = f->program->unbacked[u].buffer;
        if ((sizes >> u & 1) && f->visits.mark[count] != f->visits.epoch) k->arg[k->num_args++] = count;
    }
    k->num_reads = k->num_args;
    sched__collect_args(f, k, IND_LOOP_STORE, k->arg);
    return true;
}

/* An amount of work as a formula in the declared sizes: an upper bound if it depends on data, 0 if no bound is
   found. */
static ind_expr sched__upper_bound(sched__fuser *f, ind_expr e) {
    ind_expr most = ind__most(f->program->unbacked, f->program->num_unbacked, e);
    return ind__ok(e) && !ind__ok(most) ? ind_int(f->context, 0) : most;
}

static bool sched__set_work(sched__fuser *f, ind_kernel *k, const uint32_t *mask) {
    const ind_body *body = k->body;
    k->numel = sched__points(body, (1u << body->rank) - 1);
    k->rnumel = sched__points(body, ((1u << (body->rrank - body->inner)) - 1) << body->rank);
    k->bytes_read = sched__upper_bound(f, sched__accessed_bytes(f, k, mask, false));
    k->bytes_written = sched__upper_bound(f, sched__accessed_bytes(f, k, mask, true));
    k->flops = sched__upper_bound(f, sched__flops(k, mask));
    bool ok = ind__ok(k->numel) && ind__ok(k->rnumel) && ind__ok(k->bytes_read) && ind__ok(k->bytes_written) &&
              ind__ok(k->flops);
    if (!ok && ind_error_status(f->context) == IND_ERROR_OVERFLOW)
        ind__fail(f->context, IND_ERROR_OVERFLOW, "%s: the number of its elements, bytes or operations exceeds 64 bits",
                  k->name);
    return ok || sched__fail(f);
}

/* The kind follows from the instructions left in the body, as a scan may have been dropped as unused. */
static ind_kernel_kind sched__kernel_kind(const sched__group *group, const ind_body *body) {
    if (group->call) return IND_KERNEL_EXTERN;
    if (ind__body_sort(body)) return IND_KERNEL_SORT;
    if (ind__body_scan(body)) return IND_KERNEL_SCAN;
    return group->reduces || group->scans ? IND_KERNEL_REDUCTION : IND_KERNEL_POINTWISE;
}

static bool sched__make_kernel(sched__fuser *f, ind_kernel *k, uint32_t g) {
    const sched__group *group = &f->group[g];
    k->body = sched__make_body(f, g);
    if (!k->body) return false;
    k->kind = sched__kernel_kind(group, k->body);
    k->run = group->run;
    uint32_t *mask = ind__alloc(f->context, k->body->num_inst * sizeof *mask);
    if (!mask) return sched__fail(f);
    sched__var_masks(k->body, mask, false);
    sched__set_matmul(k, mask);
    ind__body_var_masks(k->body, mask);
    bool ok = sched__set_loops(f, k, g) && sched__set_args(f, k);
    if (ok) sched__set_name(f, k);
    ok = ok && sched__set_work(f, k, mask);
    ind__free(f->context, mask);
    return ok;
}

static bool sched__make_kernels(sched__fuser *f) {
    ind_schedule *s = f->schedule;
    s->kernel = sched__schedule_alloc(f, NULL, f->order.num, sizeof *s->kernel);
    if (!s->kernel) return false;
    for (uint32_t i = 0; i < f->order.num; i++) {
        s->num_kernels = i + 1;
        if (!sched__make_kernel(f, &s->kernel[i], f->order.group[i])) return false;
    }
    return true;
}
