/* ------------------------------------------------------------------------------------------------ >>replay */

typedef struct ir__replay_state {
    ind_ops *o;
    const ind__replay *r;
    uint32_t *map;
    ind_expr *from, *to; /* symbols of the body and their replacements */
    int num;
} ir__replay_state;

static ind_value ir__replay_inst(ir__replay_state *s, const ind__inst *x) {
    const ind_body *b = s->r->body;
    ind_ops *o = s->o;
    ind_expr index[IND_MAX_RANK];
    ind__inst i = *x;
    for (uint32_t k = 0; k < x->num_index; k++) {
        index[k] = ind__substitute(b->index[x->index + k], s->from, s->to, s->num);
        if (!ind__ok(index[k])) return ir__no_value;
    }
    for (int k = 0; k < IND__MAX_ARGS; k++) {
        i.arg[k] = x->arg[k] ? s->map[x->arg[k]] : 0;
        if (x->arg[k] && !i.arg[k]) return ir__no_value;
    }
    if (x->op == IND_LOOP_INDEX) return ind_op_index(o, index[0], (ind_dtype)x->dtype);
    if (x->op == IND_LOOP_STORE && s->r->store) {
        s->r->store(o, &i, index, s->r->user);
        return (ind_value){i.arg[0]};
    }
    if (x->op == IND_LOOP_REDUCE && s->r->reduce) return s->r->reduce(o, &i, s->r->user);
    if (x->op != IND_LOOP_LOAD) return o->emit(o, &i, index);
    ind_value outer = o->mask, own = {i.arg[0]};
    o->mask = own.id && outer.id && own.id != outer.id ? ind_op_and(o, outer, own) : own.id ? own : outer;
    i.arg[0] = o->mask.id;
    ind_value v = s->r->load ? s->r->load(o, &i, index, s->r->user) : o->emit(o, &i, index);
    o->mask = outer;
    return v;
}

static ind_value ir__replay_all(ir__replay_state *s, const uint8_t *live) {
    const ind_body *b = s->r->body;
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        if (!live[i]) continue;
        if (x->op == IND_LOOP_INDIRECT) {
            ind_expr extent = ind__substitute(b->index[x->index], s->from, s->to, s->num);
            s->from[s->num] = b->index[x->index + 1];
            const bool checked = s->o->checked;
            s->o->checked = x->flags & IND__INST_CHECKED;
            s->o->group_ends = x->source;
            s->to[s->num] = ind_op_indirect(s->o, (ind_value){s->map[x->arg[0]]}, extent, x->flags & IND__INST_WRAP);
            s->o->checked = checked;
            s->o->group_ends = 0;
            if (!ind__ok(s->to[s->num])) return ir__no_value;
            s->num++;
            continue;
        }
        s->map[i] = ir__replay_inst(s, x).id;
        if (!s->map[i]) return ir__no_value;
    }
    return (ind_value){b->result ? s->map[b->result] : 1};
}

ind_value ind__body_replay(ind_ops *o, const ind__replay *r) {
    const ind_body *b = r->body;
    ind_context *c = o->context;
    int vars = b->rank + b->rrank;
    uint32_t indirect = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) indirect += b->inst[i].op == IND_LOOP_INDIRECT;
    uint8_t *live = (uint8_t *)ind__alloc(c, b->num_inst);
    ir__replay_state s = {o, r, r->map, NULL, NULL, vars};
    if (!s.map) s.map = (uint32_t *)ind__alloc(c, b->num_inst * sizeof *s.map);
    s.from = (ind_expr *)ind__alloc(c, 2 * ((uint32_t)vars + indirect + 1) * sizeof *s.from);
    ind_value result = ir__no_value;
    if (live && s.map && s.from) {
        s.to = s.from + vars + indirect + 1;
        for (int i = 0; i < vars; i++) s.from[i] = b->var[i], s.to[i] = r->var[i];
        ir__mark_live(b, live);
        result = ir__replay_all(&s, live);
    }
    ind__free(c, live);
    if (s.map != r->map) ind__free(c, s.map);
    ind__free(c, s.from);
    return result;
}
