/* ---- several blocks share rows or columns. Each block reduces its part and stores its states. The last block (to
   finish for columns, to begin for a row) combines these in a fixed order and does the rest alone. So one launch
   suffices, and results are equal in every run. */

static bool cg__splits_rows(const ind__writer *w) {
    return cg__has(w, IND__HAS_SPLIT);
}

/* True if a row may have several blocks. If not, a launch formula chose this variant for the whole row. */
static bool cg__shares_results(const ind__writer *w) {
    return cg__upper_bound(w->variant->of.split.num) > 1;
}

static bool cg__is_reduce(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_REDUCE;
}

/* Returns the bytes loaded per element of a row. */
static int cg__element_bytes(const ind__writer *w) {
    int bytes = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->varies[i] & cg__r_mask(w))
            bytes += ind_dtype_bytes(cg__memory_dtype(w, i));
    return bytes ? bytes : 1;
}

/* Returns the unrolled steps of the loop over the row. A thread then has split_flight bytes (ind_thresholds) in flight,
   at most as many in chunks, and at most 40 registers for loads in flight and the states of lanes. Of 128 registers,
   the rest is for addresses and for 64-bit values that are being added to the states (u8 values that are added and
   multiplied as i64). */
static int cg__split_steps(const ind__writer *w, const cg__pass *s) {
    int n = w->variant->vector, bytes = n * cg__element_bytes(w), kept = 0, states = 0, steps = 16;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const int state = n * ind_dtype_bytes((ind_dtype)cg__inst(w, i)->dtype);
        if (cg__takes_chunks(w, i, s)) kept += state;
        if (cg__reduces_in(w, i, s) && cg__has_lanes(w, i)) states += state;
    }
    while (steps > 1 &&
           (steps * bytes > w->target->thresholds.split_flight || steps * kept > w->target->thresholds.split_flight ||
            steps * bytes + states > w->target->thresholds.split_registers * 4))
        steps /= 2;
    return steps;
}

/* Writes one step of the loop over a row, at `r`. */
static void cg__emit_split_step(ind__writer *w, const cg__pass *s, void (*chunk)(ind__writer *, const cg__pass *)) {
    if (w->plan->domain.rrank == 1)
        w->var[w->plan->domain.rank] = "r";
    else
        cg__split_linear(w, "r", w->plan->domain.rank, w->plan->domain.rrank);
    chunk(w, s);
}

/* Declares the chunks of one group of unrolled steps; columns have one chunk per lane. */
static void cg__emit_round_arrays(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__takes_chunks(w, i, s)) continue;
        bool columns = cg__has_lanes(w, i);
        int n = columns || w->variant->strategy == IND_STRATEGY_COLUMN_SPLIT ? 1 : w->variant->vector;
        ind__textf(&w->code, columns ? "%s a%u[%d][%d];\n" : "%s a%u[%d];\n", cg__state_type(w, i), i,
                   columns ? w->split.lanes : w->split.steps * n, w->split.steps);
    }
}

static void cg__emit_round_adds(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__takes_chunks(w, i, s)) continue;
        if (cg__has_lanes(w, i)) {
            cg__unroll(w);
            ind__textf(&w->code, "for (int j = 0; j < %d; j++) l%u[j].add(a%u[j]);\n", w->split.lanes, i, i);
        } else {
            ind__textf(&w->code, "s%u.add(a%u);\n", i, i);
        }
    }
}

/* Writes a loop over a row from `first` on, `step` at a time. It is unrolled by the loads that a thread has in flight.
   The remainder is unrolled too, as short rows consist of nothing else. */
static void cg__emit_split_loop(ind__writer *w, const cg__pass *s, const char *first, const char *step,
                                const char *extent, void (*chunk)(ind__writer *, const cg__pass *)) {
    const char *type = cg__int(w);
    int steps = cg__split_steps(w, s);
    ind__textf(&w->code, "const %s step = %s, end = %s;\n%s next = %s;\n", type, step, extent, type, first);
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (; next < end - %d * step; next += %d * step)", steps - 1, steps);
    w->split.steps = steps;
    cg__emit_round_arrays(w, s);
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", steps);
    ind__textf(&w->code, "const %s r = next + k * step;\n", type);
    cg__emit_split_step(w, s, chunk);
    cg__end(w);
    cg__emit_round_adds(w, s);
    w->split.steps = 0;
    cg__end(w);
    if (steps == 1) return;
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", steps - 1);
    ind__textf(&w->code, "const %s r = next + k * step;\n", type);
    cg__begin(w, "if (r < end)");
    cg__emit_split_step(w, s, chunk);
    cg__end(w);
    cg__end(w);
}

/* Declares the states of the lanes, with neutral values. */
static void cg__emit_lanes(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i) || !cg__has_lanes(w, i)) continue;
        ind__textf(&w->code, "%s l%u[%d];\n", cg__state_type_text(w, i), i, w->split.lanes);
        cg__unroll(w);
        ind__textf(&w->code, "for (int j = 0; j < %d; j++) l%u[j] = {%s};\n", w->split.lanes, i,
                   cg__neutral(w, i, (ind_reduction)cg__inst(w, i)->reduction));
    }
}

/* Returns the bytes of the states that all blocks store for one reduction, with `own` results each. */
static int64_t cg__partial_bytes(const ind__writer *w, uint32_t i, int own) {
    return (w->variant->of.split.max_blocks * own * cg__state_bytes_of(w, i) + 15) / 16 * 16;
}

/* Writes the states of a block's `own` results, indexed by its position along y and x of the grid. */
static void cg__leave_partials(ind__writer *w, int own, const char *mine, const char *at) {
    int64_t offset = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i)) continue;
        const char *type = cg__state_type_text(w, i);
        ind__textf(&w->code, "%s *const partial_%u = reinterpret_cast<%s *>(partials + %lld);\n", type, i, type,
                   (long long)offset);
        ind__textf(&w->code, "if (%s) partial_%u[%s] = s%u;\n", mine, i, at, i);
        offset += cg__partial_bytes(w, i, own);
    }
    cg__use(w, IND__CG_LAST_BLOCK);
    ind__textf(&w->code, "if (!ind_last_block(&counters[blockIdx.x], %s)) return;\n",
               cg__expr_string(w, w->variant->of.split.num));
}

/* Combines the states of all blocks, which the threads of a group divide among themselves. A thread has 4 loads in
   flight if it takes at least 4 states. With fewer, unrolling would only cost NVRTC time (a seventh of it for the sum
   of 4096 columns). */
static void cg__take_partials(ind__writer *w, const char *group, int groups, const char *at) {
    const bool several = ind_hint(w->variant->of.split.num) >= 4 * groups;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i))
            ind__textf(&w->code, "s%u = {%s};\n", i, cg__neutral(w, i, (ind_reduction)cg__inst(w, i)->reduction));
    ind__textf(&w->code, "#pragma unroll %d\n", several ? 4 : 1);
    cg__begin(w, "for (int i = %s; i < %s; i += %d)", group, cg__expr_string(w, w->variant->of.split.num), groups);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i)) ind__textf(&w->code, "s%u.combine(partial_%u[%s]);\n", i, i, at);
    cg__end(w);
}
