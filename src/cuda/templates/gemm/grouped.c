/* Products of groups of rows, each with a matrix of its own: out[m, n] = sum over k of a[m, k] * b[group(m), k, n]. A
   tile has rows of one group, so that the main loops of all tile templates multiply it as any other: b starts at the
   matrix of the group, and the rows of a end where the group does. The ends of the groups are data. A launch has as
   many rows of tiles as any ends can need, and a block finds its rows in them. Rows after the last group are a group
   without a matrix: its tiles have no steps. */

/* ---- decisions */

/* True for an INDIRECT that is the group of a row of the product. */
static bool cg__mm_is_group(const ind__writer *w, const cg__mm_problem *p, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_INDIRECT && inst->source && p->m >= 0 && w->plan->varies[i] == 1u << p->m;
}

/* The first INDIRECT by which b is found and that is the group of some row; 0: none. */
static uint32_t cg__mm_group_of_b(ind__writer *w, const cg__mm_problem *p) {
    uint32_t i = 1;
    cg__mm_need_operand(w, &p->b);
    while (i < p->b.value && !(w->needed[i] && cg__inst(w, i)->op == IND_LOOP_INDIRECT && cg__inst(w, i)->source)) i++;
    return i < p->b.value ? i : 0;
}

/* The group has one text in the whole block. */
static void cg__mm_set_group_text(ind__writer *w, const cg__mm_problem *p) {
    if (!p->group.indirect) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_is_group(w, p, i) && !w->value[i] && cg__inst(w, i)->source == p->group.ends)
            w->value[i] = cg__string(w, "t%u", i);
}

static void cg__mm_find_group(cg__decider *d, cg__mm_problem *p) {
    const uint32_t i = cg__mm_group_of_b(&d->w, p);
    if (!i || !cg__mm_is_group(&d->w, p, i)) return;
    p->group.indirect = i;
    p->group.ends = cg__inst(&d->w, i)->source;
    p->group.num = d->plan->domain.index[cg__inst(&d->w, i)->index];
    cg__mm_set_group_text(&d->w, p);
}

/* ---- rows that are gathered: those of a with groups, and of the right operands of attention */

/* The LOAD of an operand whose value is rounded to the type that it has in memory, which changes nothing; 0: another
   value. */
static uint32_t cg__mm_stored_load(const ind__writer *w, uint32_t i) {
    const ind_loop_op op = (ind_loop_op)cg__inst(w, i)->op;
    const uint32_t load = op == IND_LOOP_LOAD ? i : cg__inst(w, i)->arg[0];
    if (op == IND_LOOP_LOAD) return load;
    if (op != IND_LOOP_ROUND_F16 && op != IND_LOOP_ROUND_BF16) return 0;
    const ind_dtype type = op == IND_LOOP_ROUND_F16 ? IND_F16 : IND_BF16;
    return cg__inst(w, load)->op == IND_LOOP_LOAD && cg__memory_dtype(w, load) == type ? load : 0;
}

/* True if the LOAD has indices from memory, which vary with variables of `rows` alone. */
static bool cg__mm_gathers(const ind__writer *w, uint32_t load, uint32_t rows) {
    ind_expr symbol[32];
    if (cg__inst(w, load)->arg[0]) return false;
    const ind_expr index = cg__index_of(w, load);
    const int num = ind__expr_symbols(index, symbol, 32);
    bool any = false;
    for (int s = 0; s < num && s < 32; s++) {
        const ind_symbol *sym = ind_expr_symbol(symbol[s]);
        if (sym->kind != IND_SYMBOL_INDIRECT) continue;
        if (w->plan->varies[sym->slot] & ~rows) return false;
        any = true;
    }
    return any && num <= 32;
}

static bool cg__mm_find_gathered(const ind__writer *w, const cg__mm_problem *p, cg__mm_operand *o) {
    const bool left = p->group.indirect && o == &p->a;
    const int along = left ? p->k : o->x;
    const uint32_t load = left || o->nearest_row ? cg__mm_stored_load(w, o->value) : 0;
    const uint32_t rows = left ? 1u << p->m : along >= 0 ? ~(1u << along) : 0;
    if (!load || along < 0 || !cg__mm_gathers(w, load, rows) || (left && !cg__contiguous(w, load, along))) return false;
    o->load = load;
    o->memory = cg__memory_dtype(w, load);
    o->gathered = true;
    o->k_major = left;
    return true;
}

/* True if tiles after the last group have no steps. If a reads indices, its steps check them. */
static bool cg__mm_skips_steps(const cg__mm_problem *p) {
    return p->group.indirect && !p->a.computed && !p->a.gathered;
}

/* Writes the indices of a gathered row, in the scope of the row. */
static void cg__mm_write_gathered(ind__writer *w, const cg__mm_operand *o) {
    if (!o->gathered) return;
    cg__need_none(w);
    cg__need(w, o->load);
    cg__close_needed(w);
    w->needed[o->load] = 0;
    cg__emit(w, IND__CG_ALL_VARS, 0);
}

/* Rows of tiles that the ends of groups can need: one that is not full for each group, and for the rows after them. */
static ind_expr cg__mm_row_tiles(const cg__mm_problem *p, int tile_m) {
    const ind_expr tiles = ind_expr_ceildiv(p->size_m, ind_int(p->size_m.context, tile_m));
    return p->group.indirect ? ind_expr_min(ind_expr_add(tiles, p->group.num), p->size_m) : tiles;
}

/* Groups that have rows at the hinted sizes, 1 without groups. */
static int64_t cg__mm_hinted_groups(const cg__mm_problem *p) {
    const int64_t m = ind_hint(p->size_m), groups = p->group.indirect ? ind_hint(p->group.num) : 1;
    return groups < m ? groups : m < 1 ? 1 : m;
}

/* ---- writing */

/* True if an index depends on data, other than the group of the block's rows. */
static bool cg__mm_has_indirect(const ind__writer *w, ind_expr index) {
    ind_expr symbol[32];
    if (!ind__expr_has_kind(index, IND_SYMBOL_INDIRECT)) return false;
    const int num = ind__expr_symbols(index, symbol, 32);
    for (int s = 0; s < num && s < 32; s++) {
        const ind_symbol *sym = ind_expr_symbol(symbol[s]);
        if (sym->kind == IND_SYMBOL_INDIRECT && !w->value[sym->slot]) return true;
    }
    return num > 32;
}

/* The rows of a tile: their first one, under the name `first`, "size_m", where their group ends, "grouped", if it has a
   matrix, and the group under the names of its INDIRECTs. `tile`: number of the row of tiles; `none`: what to do
   without rows. */
static void cg__mm_write_group(ind__writer *w, const cg__mm_problem *p, const char *tile, const char *first,
                               const char *none) {
    const char *type = cg__int(w), *num = cg__expr_string(w, p->group.num);
    ind__textf(&w->code, "const ind_group_rows<%s> span = ind_find_group<%s, %d>(%s, (int)%s, %s, (int)(%s));\n", type,
               type, w->variant->of.tile.m, cg__buffer(w, p->group.ends), num, cg__expr_string(w, p->size_m), tile);
    ind__textf(&w->code, "const bool grouped = span.group < %s;\n", num);
    ind__textf(&w->code, "const %s %s = span.first, size_m = span.end;\n", type, first);
    ind__textf(&w->code, "if (%s >= size_m) %s;\n", first, none);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_is_group(w, p, i) && w->value[i])
            ind__textf(&w->code, "const %s t%u = grouped ? span.group : %s - 1;\n", type, i, num);
    cg__use(w, IND__CG_FIND_GROUP);
}
