/* ---- columns */

/* Returns the columns of a block. */
static int cg__split_columns(const ind__writer *w) {
    return w->variant->rows;
}

/* Returns the rows of the arrays in shared memory: warps, and, if the columns are at least as many as lanes, threads
   per column. */
static int cg__split_shared_rows(const ind__writer *w) {
    return w->variant->threads / 32;
}

/* Writes one row: the vector of neighbouring columns that start at `column`. */
static void cg__emit_column_chunk(ind__writer *w, const cg__pass *s) {
    int v = w->plan->domain.rank - 1, n = w->variant->vector;
    const char *base = w->var[v];
    ind__variant scalar;
    if (n > 1) {
        cg__emit(w, ~(1u << v), s->stage);
        cg__vector_loads(w, v);
        cg__vector_sinks(w);
        cg__unroll(w);
        cg__begin(w, "for (int j = 0; j < %d; j++)", n);
        w->var[v] = cg__string(w, "(%s + j)", base);
        if (w->linear_name[v]) w->linear_name[v] = "(column + j)";
    }
    const ind__variant *columns = cg__write_scalars(w, &scalar); /* along the row */
    cg__emit_chunk_arrays(w, s);
    cg__emit(w, IND__CG_ALL_VARS, s->stage);
    cg__emit_accumulate(w, s, "r");
    cg__emit_chunk_adds(w, s);
    w->variant = columns;
    if (n == 1) return;
    cg__end(w);
    w->var[v] = base;
    if (w->linear_name[v]) w->linear_name[v] = "column";
    cg__vector_stores(w);
    cg__forget_vectors(w);
}

/* Writes the loop of a thread over its rows. Rows are interleaved within a block and between blocks. */
static void cg__emit_column_rows(ind__writer *w, const cg__pass *s) {
    const ind__variant *v = w->variant;
    int rows = v->threads / (cg__split_columns(w) / v->vector);
    cg__begin(w, "if (live)");
    if (w->plan->domain.rank == 1)
        w->var[0] = "column";
    else
        cg__split_linear(w, "column", 0, w->plan->domain.rank);
    cg__need_pass(w, s);
    cg__emit(w, cg__p_mask(w) & ~(v->vector > 1 ? 1u << (w->plan->domain.rank - 1) : 0), s->stage);
    cg__emit_split_loop(w, s, cg__string(w, "(%s)blockIdx.y * %d + y", cg__int(w), rows),
                        cg__string(w, "%s * %d", cg__expr_string(w, v->of.split.num), rows),
                        cg__expr_string(w, cg__r_numel(w)), cg__emit_column_chunk);
    cg__end(w);
}

/* Combines states through shared memory. The state of column c of the block is then in the threads that are c modulo
   the number of columns. */
static void cg__combine_columns(ind__writer *w) {
    const ind__variant *v = w->variant;
    int columns = cg__split_columns(w), x = columns / v->vector;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i)) continue;
        const char *lane = w->split.lanes > 1 ? cg__string(w, "l%u[j]", i) : cg__string(w, "s%u", i);
        if (w->split.lanes > 1) cg__unroll(w);
        if (w->split.lanes > 1) cg__begin(w, "for (int j = 0; j < %d; j++)", w->split.lanes);
        if (x < 32) ind__textf(&w->code, "ind_combine_strided<%d>(%s);\n", x, lane);
        if (x < 32) cg__use(w, IND__CG_COMBINE_STRIDED);
        ind__textf(&w->code, "%sshared_s%u[threadIdx.x / 32][x%s] = %s;\n",
                   x < 32 ? cg__string(w, "if (threadIdx.x %% 32 < %d) ", x) : "", i,
                   w->split.lanes > 1 ? cg__string(w, " * %d + j", w->split.lanes) : "", lane);
        if (w->split.lanes > 1) cg__end(w);
    }
    ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, IND__CG_COMBINE_SHARED);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i))
            ind__textf(&w->code, "s%u = ind_combine_shared<%d, %d>(&shared_s%u[0][threadIdx.x %% %d]);\n", i,
                       cg__split_shared_rows(w), columns, i, columns);
}

/* Combines the states of all blocks in the last block. All threads are divided among the columns. */
static void cg__combine_column_splits(ind__writer *w) {
    int columns = cg__split_columns(w), groups = w->variant->threads / columns;
    const char *splits = cg__expr_string(w, w->variant->of.split.num);
    if (!cg__shares_results(w)) return;
    cg__begin(w, "if (%s > 1)", splits);
    ind__textf(&w->code, "const int c = threadIdx.x %% %d, group = threadIdx.x / %d;\n", columns, columns);
    cg__leave_partials(w, columns, "group == 0",
                       cg__string(w, "(blockIdx.x * %s + blockIdx.y) * %d + c", splits, columns));
    cg__take_partials(w, "group", groups, cg__string(w, "(blockIdx.x * %s + i) * %d + c", splits, columns));
    if (columns < 32) groups = cg__split_shared_rows(w);
    for (uint32_t i = 1; i < w->body->num_inst && groups > 1; i++) {
        if (!cg__is_reduce(w, i)) continue;
        if (columns < 32) ind__textf(&w->code, "ind_combine_strided<%d>(s%u);\n", columns, i);
        if (columns < 32) cg__use(w, IND__CG_COMBINE_STRIDED);
        ind__textf(&w->code,
                   columns < 32 ? "shared_s%u[threadIdx.x / 32][c] = s%u;\n" : "shared_s%u[group][c] = s%u;\n", i, i);
    }
    if (groups > 1) ind__textf(&w->code, "__syncthreads();\n");
    for (uint32_t i = 1; i < w->body->num_inst && groups > 1; i++)
        if (cg__is_reduce(w, i))
            ind__textf(&w->code, "s%u = ind_combine_shared<%d, %d>(&shared_s%u[0][c]);\n", i, groups, columns, i);
    cg__end(w);
}

/* Writes the values that are stored once per column, one thread for each. */
static void cg__emit_column_stores(ind__writer *w) {
    int columns = cg__split_columns(w);
    const char *type = cg__int(w);
    ind__textf(&w->code, "const %s own = %s * %d + threadIdx.x;\n", type,
               w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x", columns);
    cg__begin(w, "if (threadIdx.x < %d && own < %s)", columns, cg__expr_string(w, cg__p_numel(w)));
    if (w->plan->domain.rank == 1)
        w->var[0] = "own";
    else
        cg__split_linear(w, "own", 0, w->plan->domain.rank);
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_root(w, i) && !(w->plan->varies[i] & cg__r_mask(w))) cg__need(w, i);
    cg__close_needed(w);
    cg__emit(w, cg__p_mask(w), IND__CG_ALL_STAGES);
    cg__end(w);
}

static void cg__emit_column_split(ind__writer *w, const cg__pass *s) {
    const ind__variant *v = w->variant;
    int x = cg__split_columns(w) / v->vector;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i))
            ind__textf(&w->code, "__shared__ %s shared_s%u[%d][%d];\n", cg__state_type_text(w, i), i,
                       cg__split_shared_rows(w), cg__split_columns(w));
    ind__textf(&w->code, "const int x = threadIdx.x %% %d, y = threadIdx.x / %d;\n", x, x);
    ind__textf(&w->code, v->vector > 1 ? "const %s column = (%s * %d + x) * %d;\n" : "const %s column = %s * %d + x;\n",
               cg__int(w), w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x", x, v->vector);
    ind__textf(&w->code, "const bool live = column < %s;\n", cg__expr_string(w, cg__p_numel(w)));
    cg__emit_pass_comment(w, s);
    cg__emit_states(w, s);
    cg__emit_lanes(w);
    cg__emit_column_rows(w, s);
    cg__combine_columns(w);
    cg__combine_column_splits(w);
    cg__emit_results(w, s);
    cg__emit_column_stores(w);
}

static ind_status cg__emit_split(ind__writer *w, const cg__pass *s) {
    w->split.lanes = w->variant->vector;
    if (w->variant->strategy == IND_STRATEGY_COLUMN_SPLIT) {
        cg__emit_column_split(w, s);
    } else {
        cg__emit_shared_states(w, s);
        cg__emit_row_split(w, s);
    }
    return IND_OK;
}
