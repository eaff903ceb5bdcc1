/* ---- operands shared by all elements of a vector, as a channel's weight. They are loaded before the states of a row
   are combined: after that, no other work hides their latency (group_norm of 262144 bf16: 79 to 83 % of copy
   bandwidth). */

static int cg__spare_registers(const ind__writer *w);

static bool cg__is_shared_load(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_LOAD && !inst->arg[0] && w->plan->varies[i] & cg__r_mask(w) && cg__is_broadcast(w, i) &&
           !w->memory[i] && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* True if there is a register for each of them in every iteration. */
static bool cg__shared_come_ahead(const ind__writer *w) {
    int num = 0;
    if (w->variant->strategy != IND_STRATEGY_ROW_STAGED) return false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) num += cg__is_shared_load(w, i);
    return num && num * (w->variant->per_thread / w->variant->vector) <= cg__spare_registers(w);
}

static void cg__emit_shared_loads(ind__writer *w) {
    if (!cg__shared_come_ahead(w)) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_shared_load(w, i))
            ind__textf(&w->code, "%s b%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory, i,
                       w->variant->per_thread / w->variant->vector);
    int scopes = cg__emit_pass_loops(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_shared_load(w, i)) continue;
        ind__textf(&w->code, "b%u[k] = %s;\n", i, cg__element(w, i));
        w->memory[i] = cg__string(w, "b%u[k]", i);
    }
    while (scopes--) cg__end(w);
}

/* True if operands shared by all rows are loaded at their use, while the row is in shared memory. ptxas would start all
   these loads at once, and lacks the registers. It moves few loads before a possible barrier. (layer_norm of 24576
   bf16, three blocks of 256 threads: 80 registers and a spill, and 64 and none.) */
static bool cg__reads_apart(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_ROW_STAGED && !cg__row(w)->stage.persistent && !cg__row(w)->stage.once;
}

/* Unmarks `user` if it is computed once for a row from a load of the row, as it would wait for that load. A check whose
   index is unused is still done early, as no result needs it. */
static void cg__unmark_waiting(void *self, uint32_t user, uint32_t used) {
    ind__writer *w = (ind__writer *)self;
    const bool row = !((w->plan->varies[user] | w->plan->varies[used]) & ~cg__p_mask(w)),
               there = w->known[used] || w->value[used];
    if (!row || there || cg__is_root(w, user)) return;
    if (cg__inst(w, used)->op == IND_LOOP_LOAD || !w->needed[used]) w->needed[user] = 0;
}

/* Marks the values that are computed once for a row before its pass. A block that loops over the row once starts the
   load of an index but does not wait for it. The elements at that index are read together with the results (cross
   entropy of 160001 f32: 84 and 98 % of copy bandwidth, H200). Exception: values that the pass itself uses. */
static void cg__need_ahead(ind__writer *w) {
    cg__need_all(w);
    if (w->variant->strategy != IND_STRATEGY_ROW_LOOPED || cg__looped_passes(w) != 1) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->needed[i]) cg__each_use(w, i, cg__unmark_waiting, w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__stores_per_element(w, i)) cg__each_use(w, i, cg__mark_needed, w);
    cg__close_needed(w);
}

/* A row of 16-bit elements in registers is converted again in each pass. As f32 it takes twice as many registers
   (layer_norm of 200003 bf16: 88 bytes spilled, and none). */
static void cg__emit_opaque_row(ind__writer *w) {
    const ind__variant *v = w->variant;
    if (v->strategy != IND_STRATEGY_ROW_STAGED || !ind__row_of(v)->stage.persistent ||
        ind__row_of(v)->stage.in_registers < 2)
        return;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_staged(w, i) || !w->memory[i] || ind_dtype_bytes(cg__memory_dtype(w, i)) >= 4) continue;
        cg__use(w, IND__CG_OPAQUE);
        ind__textf(&w->code, "ind_opaque(x%u);\n", i);
    }
}

static void cg__emit_pass(ind__writer *w, const cg__pass *s) {
    const bool first = cg__loads_come_first(w, s);
    if (s->stage || s->second) cg__emit_opaque_row(w);
    cg__emit_shared_loads(w);
    cg__need_pass(w, s);
    if (first) cg__emit_loads(w, cg__starts_here);
    cg__need_ahead(w);
    cg__emit(w, cg__p_mask(w), s->stage);
    cg__emit_pass_comment(w, s);
    cg__need_pass(w, s);
    if (!first) cg__emit_loads(w, cg__starts_here);
    cg__emit_states(w, s);
    const bool beside = s->stores && cg__copies_beside(w);
    if (beside) cg__declare_own_slot(w, "turn");
    int scopes = cg__emit_pass_loops(w);
    cg__emit_chunk(w, s);
    if (beside) cg__emit_copies_beside(w);
    const bool apart = s->stores && cg__reads_apart(w);
    if (apart && scopes == 1) ind__textf(&w->code, "__syncwarp();\n");
    while (scopes--) {
        cg__end(w);
        if ((scopes == 1 && apart) || (scopes == 2 && cg__takes_rows(w))) ind__textf(&w->code, "__syncwarp();\n");
    }
    if (beside) ind__textf(&w->code, "ind_cp_async_commit();\n");
    if (w->variant->misaligned) cg__emit_edge(w, s);
    cg__use_resident(w);
    cg__emit_combine(w, s);
    cg__emit_results(w, s);
}

/* True if the instruction stores to memory that the kernel also reads. */
static bool cg__stores_over(const ind__writer *w, uint32_t i) {
    for (uint32_t a = w->kernel->num_reads; a < w->kernel->num_args; a++)
        if (w->kernel->arg[a] == cg__inst(w, i)->source) return cg__shares_memory(w, a);
    return false;
}

/* Writes values stored once per row, in its first thread after all passes, and remaining checks. If other threads may
   still read the memory, a barrier comes first. */
static void cg__emit_row_stores(ind__writer *w) {
    bool any = false, over = false;
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const bool store = cg__inst(w, i)->op == IND_LOOP_STORE;
        if (!cg__is_root(w, i) || w->known[i] || (w->plan->varies[i] & cg__r_mask(w))) continue;
        cg__need(w, i);
        any = true;
        over = over || (store && cg__stores_over(w, i));
    }
    if (!any) return;
    cg__close_needed(w);
    bool column = w->variant->strategy == IND_STRATEGY_COLUMN;
    bool alone = column ? !cg__shares_states(w) : cg__row_threads(w) == 1;
    if (over && !alone) ind__textf(&w->code, cg__row_threads(w) > 32 ? "__syncthreads();\n" : "__syncwarp();\n");
    if (!alone) cg__begin(w, "%s", column ? "if (live && y == 0)" : "if (lane == 0)");
    cg__emit(w, cg__p_mask(w), IND__CG_ALL_STAGES);
    if (!alone) cg__end(w);
}
