/* ----------------------------------------------------------------------------------------------- >>program */

ind_status ind__program_init(ind__program *p, ind_context *c, const ind_expr *inputs, uint32_t num_inputs) {
    memset(p, 0, sizeof *p);
    p->context = c;
    p->num_inputs = num_inputs;
    p->input = (ind_expr *)ind__alloc(c, (num_inputs + 1) * sizeof *p->input);
    if (!p->input) return ind__failed(c);
    if (num_inputs) memcpy(p->input, inputs, num_inputs * sizeof *inputs);
    return IND_OK;
}

void ind__program_free(ind__program *p) {
    if (!p->context) return;
    ind__free(p->context, p->input);
    ind__free(p->context, p->op);
    ind__free(p->context, p->memo);
    memset(p, 0, sizeof *p);
}

void ind__program_close(ind__program *p) {
    if (p->context) ind__free(p->context, p->memo);
    p->memo = NULL;
    p->num_memo = p->cap_memo = 0;
}

static uint32_t *ir__memo_slot(ind__program *p, uint32_t expr) {
    if (p->num_memo * 2 >= p->cap_memo) {
        uint32_t cap = p->cap_memo ? p->cap_memo * 2 : 64;
        struct ind__slot *old = p->memo, *table = (struct ind__slot *)ind__alloc(p->context, cap * sizeof *table);
        if (!table) return NULL;
        for (uint32_t i = 0; i < p->cap_memo; i++) {
            if (!old[i].expr) continue;
            uint32_t at = old[i].expr * 2654435761u & (cap - 1);
            while (table[at].expr) at = (at + 1) & (cap - 1);
            table[at] = old[i];
        }
        ind__free(p->context, old);
        p->memo = table;
        p->cap_memo = cap;
    }
    uint32_t at = expr * 2654435761u & (p->cap_memo - 1);
    while (p->memo[at].expr && p->memo[at].expr != expr) at = (at + 1) & (p->cap_memo - 1);
    if (!p->memo[at].expr) {
        p->memo[at].expr = expr;
        p->memo[at].slot = UINT32_MAX;
        p->num_memo++;
    }
    return &p->memo[at].slot;
}

static uint32_t ir__program_push(ind__program *p, ind_expr_kind kind, uint32_t a, uint32_t b, uint32_t c, int64_t imm) {
    ind__program_op *op = IND__PUSH(p->context, ind__program_op, p->op, p->num_ops, p->cap_ops);
    if (!op) return UINT32_MAX;
    ind__program_op value = {(uint8_t)kind, a, b, c, imm};
    *op = value;
    return p->num_inputs + p->num_ops - 1;
}

/* True if both are the same declared size: facts replace a symbol by one with a narrower range. */
static bool ir__same_size(ind_expr a, ind_expr b) {
    const ind_symbol *x = ind_expr_symbol(a), *y = ind_expr_symbol(b);
    bool sizes = x && y && x->kind == IND_SYMBOL_SIZE && y->kind == IND_SYMBOL_SIZE;
    return sizes && x->slot == y->slot && !strcmp(x->name, y->name);
}

static uint32_t ir__program_symbol(ind__program *p, ind_expr e) {
    for (uint32_t i = 0; i < p->num_inputs; i++)
        if (p->input[i].id == e.id || ir__same_size(p->input[i], e)) return i;
    ind__fail(p->context, IND_ERROR_NOT_FOUND, "no value is given for %s", ind_expr_symbol(e)->name);
    return UINT32_MAX;
}

static uint32_t ir__program_node(ind__program *p, ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    int64_t v;
    if (kind == IND_EXPR_SYM) return ir__program_symbol(p, e);
    if (ind_expr_is_int(e, &v)) return ir__program_push(p, kind, 0, 0, 0, v);
    uint32_t a = ind__program_add(p, ind_expr_arg(e, 0));
    if (ir__is_chain(kind)) {
        for (int i = 1; i < ind_expr_num_args(e) && a != UINT32_MAX; i++) {
            uint32_t b = ind__program_add(p, ind_expr_arg(e, i));
            a = b == UINT32_MAX ? b : ir__program_push(p, kind, a, b, 0, 0);
        }
        return a;
    }
    uint32_t b = ind_expr_num_args(e) > 1 ? ind__program_add(p, ind_expr_arg(e, 1)) : 0;
    uint32_t third = ind_expr_num_args(e) > 2 ? ind__program_add(p, ind_expr_arg(e, 2)) : 0;
    if (a == UINT32_MAX || b == UINT32_MAX || third == UINT32_MAX) return UINT32_MAX;
    return ir__program_push(p, kind, a, b, third, 0);
}

uint32_t ind__program_add(ind__program *p, ind_expr e) {
    if (!ind__ok(e)) return UINT32_MAX;
    uint32_t *slot = ir__memo_slot(p, e.id);
    if (!slot) return UINT32_MAX;
    if (*slot != UINT32_MAX) return *slot;
    uint32_t made = ir__program_node(p, e);
    if (made != UINT32_MAX && (slot = ir__memo_slot(p, e.id))) *slot = made; /* the table may have moved */
    return made;
}

ind_status ind__program_run(const ind__program *p, int64_t *slots) {
    for (uint32_t i = 0; i < p->num_ops; i++) {
        const ind__program_op *op = &p->op[i];
        int64_t *out = &slots[p->num_inputs + i];
        if (op->kind == IND_EXPR_INT) {
            *out = op->imm;
            continue;
        }
        ind_status s = ir__apply(p->context, (ind_expr_kind)op->kind, slots[op->a], slots[op->b], slots[op->c], out);
        if (s) return s;
    }
    return IND_OK;
}
