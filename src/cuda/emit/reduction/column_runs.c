/* ---- columns that a block combines over its run of rows (ind_kernel.run). Each thread has the same columns in every
   row. Their states stay in its registers, or in memory if a row is too long. */

/* Returns the partial result of the current column: "out0[run * 1024 + r0]". */
static const char *cg__column_element(ind__writer *w, uint32_t i) {
    ind_expr zero[IND_MAX_RANK];
    for (int v = 0; v < w->plan->domain.rank; v++) zero[v] = ind_int(w->context, 0);
    ind_expr column = ind__substitute(cg__index_of(w, i), w->plan->domain.var, zero, w->plan->domain.rank);
    const char *columns = cg__expr_string(w, cg__r_numel(w));
    return cg__string(w, "%s[run * %s + %s]", cg__buffer(w, cg__inst(w, i)->source), columns,
                      cg__expr_string(w, column));
}

static void cg__combine_column(ind__writer *w, uint32_t i) {
    const char *state = cg__state_type_text(w, i), *element = NULL;
    const char *neutral = cg__neutral(w, i, (ind_reduction)cg__inst(w, i)->reduction);
    if (!cg__in_registers(w)) {
        element = cg__column_element(w, i);
        ind__textf(&w->code, "%s c%u = {%s};\n", state, i, neutral);
        ind__textf(&w->code, "if (row != 0) c%u.value = %s;\n", i, element);
        ind__textf(&w->code, "c%u.combine({", i);
    } else {
        ind__textf(&w->code, "c%u[%s].combine({", i, cg__resident_slot(w));
    }
    if (cg__wraps(w, i)) ind__textf(&w->code, "(%s)", cg__state_type(w, i));
    cg__value(w, cg__inst(w, i)->arg[0]);
    ind__textf(&w->code, "});\n");
    if (element) ind__textf(&w->code, "%s = c%u.value;\n", element, i);
}

static bool cg__has_teams(const ind__writer *w) {
    return w->kernel->run && w->variant->strategy == IND_STRATEGY_ROW_WARP;
}

/* Returns the columns of a team's states in shared memory. */
static int cg__team_columns(const ind__writer *w) {
    return w->variant->per_thread * cg__row_threads(w);
}

/* Declares the states of all columns, before the first row. */
static void cg__emit_columns(ind__writer *w) {
    const ind__variant *v = w->variant;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__combines_run(w, i) || !cg__in_registers(w)) continue;
        ind__textf(&w->code, "%s c%u[%d];\n", cg__state_type_text(w, i), i, v->per_thread);
        cg__unroll(w);
        ind__textf(&w->code, "for (int k = 0; k < %d; k++) c%u[k] = {%s};\n", v->per_thread, i,
                   cg__neutral(w, i, (ind_reduction)cg__inst(w, i)->reduction));
    }
}

/* Opens the loop over the rows of the block's run, and declares the row. Warps take rows in turn; without teams the
   block takes one row after the other. */
static void cg__begin_run(ind__writer *w) {
    bool one = w->plan->domain.rank == 1, teams = cg__has_teams(w);
    const char *name = one ? "i0" : "p", *type = cg__int(w), *rows = cg__expr_string(w, cg__p_numel(w));
    ind__textf(&w->code, "const %s run = blockIdx.x;\n", type);
    cg__emit_columns(w);
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int row = %s; row < %lld; row += %d)", teams ? cg__string(w, "threadIdx.x / 32") : "0",
              (long long)w->kernel->run, teams ? w->variant->rows : 1);
    ind__textf(&w->code, "const %s %s = run * %lld + row;\n", type, name, (long long)w->kernel->run);
    ind__textf(&w->code, "if (%s >= %s) break;\n", name, rows);
}

/* Stores the partial results from the registers of a block. */
static void cg__store_columns(ind__writer *w) {
    int n = w->variant->vector, last = cg__num_vars(w) - 1, scopes = cg__emit_pass_loops(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__combines_run(w, i)) continue;
        ind_dtype memory = cg__memory_dtype(w, i);
        bool vector = n > 1 && w->plan->domain.rrank == 1 && n * ind_dtype_bytes(memory) <= 32;
        const char *base = w->var[last], *element = cg__column_element(w, i);
        if (vector) ind__textf(&w->code, "ind_vec<%s, %d> y%u;\n", cg__types[memory].memory, n, i);
        if (n > 1) cg__unroll(w);
        if (n > 1) cg__begin(w, "for (int j = 0; j < %d; j++)", n);
        if (n > 1) w->var[last] = cg__string(w, "(%s + j)", base);
        if (vector) cg__use(w, IND__CG_VEC);
        ind__textf(&w->code, "%s = c%u[%s].value;\n", vector ? cg__string(w, "y%u.at[j]", i) : cg__column_element(w, i),
                   i, cg__resident_slot(w));
        if (n > 1) cg__end(w);
        if (vector) ind__textf(&w->code, "ind_store(&%s, y%u);\n", element, i);
        w->var[last] = base;
    }
    while (scopes--) cg__end(w);
}

/* Stores the partial results of the warps of a block, combined in shared memory in a fixed order. */
static void cg__store_team_columns(ind__writer *w, uint32_t i) {
    const ind__variant *v = w->variant;
    int n = v->vector, columns = cg__team_columns(w);
    bool one_r = w->plan->domain.rrank == 1;
    const char *r = one_r ? "r0" : "r";
    int scopes = cg__emit_pass_loops(w);
    if (n > 1) cg__unroll(w);
    if (n > 1) ind__textf(&w->code, "for (int j = 0; j < %d; j++) ", n);
    ind__textf(&w->code, "team_%u[threadIdx.x / 32][%s%s] = c%u[%s];\n", i, r, n > 1 ? " + j" : "", i,
               cg__resident_slot(w));
    while (scopes--) cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__begin(w, "for (int %s = threadIdx.x; %s < %s; %s += %d)", r, r, cg__expr_string(w, cg__r_numel(w)), r,
              v->threads);
    if (one_r)
        w->var[w->plan->domain.rank] = "r0";
    else
        cg__split_linear(w, "r", w->plan->domain.rank, w->plan->domain.rrank);
    cg__use(w, IND__CG_COMBINE_SHARED);
    ind__textf(&w->code, "%s = ind_combine_shared<%d, %d>(&team_%u[0][%s]).value;\n", cg__column_element(w, i), v->rows,
               columns, i, r);
    cg__end(w);
}

static void cg__end_run(ind__writer *w) {
    bool reduces = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) reduces |= cg__inst(w, i)->op == IND_LOOP_REDUCE;
    if (reduces && cg__shares_states(w))
        ind__textf(&w->code, "__syncthreads();\n"); /* the next row's states go to the same memory */
    cg__end(w);
    if (!cg__in_registers(w)) return;
    ind__textf(&w->code, "// Results of each column over the block's rows.\n");
    if (!cg__has_teams(w)) {
        cg__store_columns(w);
        return;
    }
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__combines_run(w, i)) cg__store_team_columns(w, i);
}

static void cg__emit_team_columns(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst && cg__has_teams(w); i++)
        if (cg__combines_run(w, i))
            ind__textf(&w->code, "__shared__ %s team_%u[%d][%d];\n", cg__state_type_text(w, i), i, w->variant->rows,
                       cg__team_columns(w));
}

/* Declares the row (P point) that this thread works on, and its part of it. */
static void cg__emit_row_position(ind__writer *w) {
    const ind__variant *v = w->variant;
    bool one = w->plan->domain.rank == 1, column = v->strategy == IND_STRATEGY_COLUMN;
    const char *name = one ? "i0" : "p", *type = cg__int(w);
    const char *rows = cg__expr_string(w, cg__p_numel(w)),
               *block = w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x";
    int per_row = column ? v->rows : cg__row_threads(w);
    if (column) {
        ind__textf(&w->code, "const int x = threadIdx.x %% %d, y = threadIdx.x / %d;\n", per_row, per_row);
        ind__textf(&w->code, "const %s column = %s * %d + x;\n", type, block, per_row);
        ind__textf(&w->code, "const bool live = column < %s;\n", rows);
        if (!cg__shares_states(w)) ind__textf(&w->code, "if (!live) return;\n");
        if (w->plan->domain.rank)
            ind__textf(&w->code, "const %s %s = live ? column : (%s)(%s) - 1;\n", type, name, type, rows);
    } else if (w->kernel->run) {
        ind__textf(&w->code,
                   per_row < v->threads ? "const int lane = threadIdx.x %% %d;\n" : "const int lane = threadIdx.x;\n",
                   per_row);
        cg__begin_run(w);
    } else if (v->strategy == IND_STRATEGY_ROW_WARP) {
        ind__textf(&w->code, "const int lane = threadIdx.x %% %d;\n", per_row);
        ind__textf(&w->code, "const %s %s = %s * %d + threadIdx.x / %d;\n", type,
                   ind__row_of(v)->batch ? "first" : name, block, v->rows, per_row);
        if (ind__row_of(v)->batch) return; /* cg__begin_batch declares each */
        ind__textf(&w->code, "if (%s >= %s) return;\n", name, rows);
    } else if (v->strategy == IND_STRATEGY_ROW_STAGED) {
        cg__begin_staged_rows(w, name);
        if (v->misaligned) return;
    } else if (cg__has_cluster(w)) {
        cg__begin_cluster(w);
        if (w->plan->domain.rank)
            ind__textf(&w->code, "const %s %s = blockIdx.x / %d;\n", type, name, ind__row_of(v)->cluster);
        ind__textf(&w->code, "ind_cluster_begun();\n");
    } else {
        ind__textf(&w->code, "const int lane = threadIdx.x%s;\n", cg__is_fitted(w) ? ", threads = blockDim.x" : "");
        cg__emit_segment(w);
        if (w->plan->domain.rank) ind__textf(&w->code, "const %s %s = blockIdx.x;\n", type, name);
    }
    if (one)
        w->var[0] = "i0";
    else
        cg__split_linear(w, "p", 0, w->plan->domain.rank);
    cg__emit_within(w);
}
