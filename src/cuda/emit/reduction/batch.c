/* ---- a batch: several rows of the same lanes, neighbours in the grid's rows. All their loads start before the first
   row is reduced. */

/* Opens the loop over the rows of the batch, and declares the row. */
static void cg__begin_batch(ind__writer *w, bool loads) {
    const ind__variant *v = w->variant;
    const char *name = w->plan->domain.rank == 1 ? "i0" : "p", *rows = cg__expr_string(w, cg__p_numel(w));
    cg__unroll(w);
    cg__begin(w, "for (int b = 0; b < %d; b++)", ind__row_of(v)->batch);
    ind__textf(&w->code, "const %s %s = first + b * %d;\n", cg__int(w), name, v->rows / ind__row_of(v)->batch);
    if (loads)
        cg__begin(w, "if (%s < %s)", name, rows);
    else
        ind__textf(&w->code, "if (%s >= %s) return;\n", name, rows);
    if (w->plan->domain.rank == 1)
        w->var[0] = "i0";
    else
        cg__split_linear(w, "p", 0, w->plan->domain.rank);
}

/* Writes the loads of pass s that need no result of other passes, for all rows of the batch. */
static void cg__emit_batch_loads(ind__writer *w, const cg__pass *s) {
    int n = w->variant->vector, vectors = w->variant->per_thread / n, num = 0;
    cg__need_pass(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        w->needed[i] = w->needed[i] && cg__loads_ahead(w, i);
        if (!w->needed[i]) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        if (n > 1) type = cg__string(w, "ind_vec<%s, %d>", type, n);
        ind__textf(&w->code, "%s x%u[%d][%d];\n", type, i, cg__row(w)->batch, vectors);
        num++;
    }
    if (!num) return;
    cg__close_needed(w);
    cg__begin_batch(w, true);
    cg__emit(w, cg__p_mask(w), 0);
    int scopes = cg__emit_pass_loops(w) + 2;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->needed[i] || !cg__loads_ahead(w, i)) continue;
        const char *element = cg__element(w, i);
        if (n > 1) element = cg__load_expression(w, i);
        ind__textf(&w->code, "x%u[b][k] = %s;\n", i, element);
        w->memory[i] = cg__string(w, n > 1 ? "x%u[b][k].at[j]" : "x%u[b][k]", i);
        if (n > 1) cg__use(w, IND__CG_VEC);
    }
    while (scopes--) cg__end(w);
}

static ind_status cg__emit_reduction(ind__writer *w) {
    cg__pass pass[IND__CG_MAX_PASSES];
    int n = cg__passes(w, pass);
    if (cg__splits_rows(w)) return cg__emit_split(w, &pass[0]);
    for (int s = 0; s < n; s++) cg__emit_shared_states(w, &pass[s]);
    cg__emit_team_columns(w);
    cg__emit_row_position(w);
    if (w->variant->misaligned && w->variant->strategy != IND_STRATEGY_ROW_STAGED) cg__emit_edges(w);
    if (cg__row(w)->batch) cg__emit_batch_loads(w, &pass[0]);
    if (cg__row(w)->batch) cg__begin_batch(w, false);
    cg__emit_resident_arrays(w);
    for (int s = 0; s < n; s++) cg__emit_pass(w, &pass[s]);
    cg__emit_row_stores(w);
    if (cg__row(w)->batch) cg__end(w);
    if (w->kernel->run) cg__end_run(w);
    if (w->variant->strategy == IND_STRATEGY_ROW_STAGED) cg__end_turn(w);
    return IND_OK;
}
