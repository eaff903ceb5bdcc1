/* ---- one pass */

/* True if a loop along the row combines each chunk before the next one. */
static bool cg__combines_chunks(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_REDUCE && cg__two_step(cg__inst(w, i))) return true;
    return false;
}

/* Unrolled steps of a loop along the row, for about 32 bytes per thread in flight, or 64 if each chunk is combined
   before the next one, which takes time (cross entropy of 65536 bf16: 79 and 87 % of copy bandwidth). */
static int cg__unroll_steps(const ind__writer *w) {
    int bytes = 0, steps = 8;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->varies[i] & cg__r_mask(w))
            bytes += w->variant->vector * ind_dtype_bytes(cg__memory_dtype(w, i));
    const int in_flight = w->variant->strategy == IND_STRATEGY_ROW_LOOPED && cg__combines_chunks(w)
                              ? w->target->thresholds.loop_flight
                              : w->target->thresholds.flight_bytes;
    while (steps > 2 && steps * bytes > in_flight) steps /= 2;
    return steps;
}

/* ---- iterations of whole segments: a lane has the same offset in a segment in each of them, so its loads have a
   constant stride, and their offsets take no registers. */

static void cg__emit_segment(ind__writer *w) {
    const int n = w->variant->vector, lanes = cg__row(w)->segment_lanes;
    if (!cg__row(w)->segments) return;
    ind__textf(&w->code, "const int segment = (unsigned)lane / %du", lanes);
    if (!cg__begins_at_sector(w))
        ind__textf(&w->code, n > 1 ? ", within = (lane - segment * %d) * %d" : ", within = lane - segment * %d", lanes,
                   n);
    ind__textf(&w->code, ";\n");
}

/* The store to whose sector boundaries the lanes are aligned. */
static uint32_t cg__segment_store(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_STORE && cg__accesses_row(w, i)) return i;
    return 0;
}

/* The index of access i at the start of segment `segment` of the row. */
static ind_expr cg__segment_start(const ind__writer *w, uint32_t i, int segment) {
    const ind_expr at[2] = {ind_int(w->context, segment), ind_int(w->context, 0)};
    return ind__substitute(cg__index_of(w, i), w->plan->domain.var + w->plan->domain.rank, at, 2);
}

static int cg__sector_elements(const ind__writer *w, uint32_t i) {
    return IND__CG_SECTOR_BYTES / ind_dtype_bytes(cg__memory_dtype(w, i));
}

/* Writes "within" for lanes aligned to sectors, once the row is known. */
static void cg__emit_within(ind__writer *w) {
    if (!cg__begins_at_sector(w)) return;
    const uint32_t i = cg__segment_store(w);
    ind__textf(&w->code, "const int within = lane %% %d - (int)((%s) & %d);\n", cg__row(w)->segment_lanes,
               cg__expr_string(w, cg__segment_start(w, i, 0)), cg__sector_elements(w, i) - 1);
}

/* The condition that a lane has a vector of a segment in the current iteration; "" if all have. */
static const char *cg__segment_condition(ind__writer *w, int rounds) {
    const int lanes = cg__row(w)->segments * cg__row(w)->segment_lanes;
    const long long whole = (long long)cg__whole_rounds(w);
    const char *all = cg__expr_string(w, w->plan->domain.extent[w->plan->domain.rank]), *live = "", *inside = "",
               *last = "";
    if (lanes < cg__row_threads(w)) live = cg__string(w, "lane < %d", lanes);
    if (cg__begins_at_sector(w))
        inside = cg__string(w, "%s(unsigned)within < %lldu", *live ? " && " : "", (long long)cg__segment_vectors(w));
    const char *conjunction = *live || *inside ? " && " : "";
    if (!whole)
        last = cg__string(w, "%sr0 < %s", conjunction, all);
    else if (whole < rounds)
        last = cg__string(w, "%s(k < %lld || r0 < %s)", conjunction, whole, all);
    return cg__string(w, "%s%s%s", live, inside, last);
}

/* Opens the loop over the iterations; returns the number of scopes. */
static int cg__begin_segments(ind__writer *w) {
    const ind__variant *v = w->variant;
    const int rounds = v->per_thread / v->vector, first = w->plan->domain.rank;
    const char *condition = cg__segment_condition(w, rounds);
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", rounds);
    ind__textf(&w->code, "const %s r0 = k * %d + segment;\n", cg__int(w), ind__row_of(v)->segments);
    w->var[first] = "r0";
    w->var[first + 1] = "within";
    if (!*condition) return 1;
    cg__begin(w, "if (%s)", condition);
    return 2;
}

/* True in the second part of a FINISH, which loops over the results of the first. All lanes have the same number of
   iterations and reconverge in each. If they reconverged only after the loop, the shuffles after it took a slow path
   for diverged lanes, 0.5 us. */
static bool cg__takes_rows(const ind__writer *w) {
    return w->plan->handover && w->plan->handover->takes;
}

/* Opens the loop over the rows that a thread polls together; returns the number of scopes. */
static int cg__begin_polls(ind__writer *w) {
    cg__unroll(w);
    const char *r = w->plan->domain.rrank == 1 ? "r0" : "r";
    cg__begin(w, "for (int k = 0; k < %d; k++)", w->plan->handover->looks);
    ind__textf(&w->code, "const %s %s = from + k * %d + lane;\n", cg__int(w), r, w->plan->handover->threads);
    cg__begin(w, "if (%s < %s)", r, cg__expr_string(w, cg__r_numel(w)));
    return 2;
}

/* Names the row's variables at the current position of the loop. */
static void cg__name_position(ind__writer *w) {
    if (w->plan->domain.rrank == 1)
        w->var[w->plan->domain.rank] = "r0";
    else
        cg__split_linear(w, "r", w->plan->domain.rank, w->plan->domain.rrank);
}

/* True for a handed-over element, or a load beside it, whose index is not from memory. */
static bool cg__is_ahead(const ind__writer *w, uint32_t i) {
    return w->needed[i] && cg__inst(w, i)->op == IND_LOOP_LOAD && !cg__inst(w, i)->arg[0] &&
           w->plan->varies[i] & cg__r_mask(w) && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* Starts all loads from the L2 before it waits for any. */
static void cg__emit_polls(ind__writer *w) {
    const int looks = w->plan->handover->looks;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_ahead(w, i))
            ind__textf(&w->code, "%s ahead%u[%d];\n",
                       cg__handed(w, i) < 0 ? cg__types[cg__memory_dtype(w, i)].memory : "unsigned long long", i,
                       looks);
    int scopes = cg__begin_polls(w);
    cg__name_position(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_ahead(w, i)) continue;
        if (cg__handed(w, i) >= 0) {
            ind__textf(&w->code, "ahead%u[k] = ind_look(%s);\n", i, cg__handover_args(w, i));
            continue;
        }
        ind__textf(&w->code, "ahead%u[k] = %s;\n", i, cg__element(w, i));
        w->memory[i] = cg__string(w, "ahead%u[k]", i);
    }
    while (scopes--) cg__end(w);
}

/* Opens the loops over the row; returns the number of scopes. */
static int cg__emit_pass_loops(ind__writer *w) {
    const ind__variant *v = w->variant;
    int threads = cg__row_threads(w), n = v->vector;
    bool one_r = w->plan->domain.rrank == 1;
    const char *r = one_r ? "r0" : "r", *type = cg__int(w);
    const char *extent = cg__expr_string(w, cg__r_numel(w)), *times = n > 1 ? cg__string(w, " * %d", n) : "";
    int scopes = 1;
    if (v->strategy == IND_STRATEGY_COLUMN) {
        int step = v->threads / v->rows;
        const char *start = step > 1 ? cg__string(w, "live ? y : (%s)(%s)", type, extent) : "0";
        ind__textf(&w->code, "#pragma unroll %d\n", cg__unroll_steps(w));
        cg__begin(w, "for (%s %s = %s; %s < %s; %s += %d)", type, r, start, r, extent, r, step);
    } else if (cg__takes_rows(w)) {
        ind__textf(&w->code, "#pragma unroll 1\n");
        cg__begin(w, "for (%s from = 0; from < %s; from += %d)", type, extent, threads * w->plan->handover->looks);
        cg__emit_polls(w);
        scopes += cg__begin_polls(w);
    } else if (v->strategy == IND_STRATEGY_ROW_LOOPED || cg__scans_rows(w)) {
        const char *step = cg__is_fitted(w) ? cg__string(w, "threads * %d", n) : cg__string(w, "%d", threads * n);
        ind__textf(&w->code, "#pragma unroll %d\n", cg__unroll_steps(w));
        if (v->misaligned)
            cg__begin(w, "for (%s %s = head + lane%s; %s + %d <= %s; %s += %s)", type, r, times, r,
                      cg__misaligned_reach(w), extent, r, step);
        else
            cg__begin(w, "for (%s %s = lane%s; %s < %s; %s += %s)", type, r, times, r, extent, r, step);
    } else if (ind__row_of(v)->segments) {
        return cg__begin_segments(w);
    } else {
        int64_t row = 0;
        bool exact = ind_expr_is_int(cg__r_numel(w), &row) && row == (int64_t)threads * v->per_thread;
        cg__unroll(w);
        cg__begin(w, "for (int k = 0; k < %d; k++)", v->per_thread / n);
        ind__textf(&w->code, n > 1 ? "const %s %s = (k * %s + lane)%s%s;\n" : "const %s %s = k * %s + lane%s%s;\n",
                   type, r, cg__row_threads_text(w), times, v->misaligned ? " + head" : "");
        exact &= !v->misaligned;
        const char *sure = cg__whole_rounds(w) ? cg__string(w, "k < %lld || ", (long long)cg__whole_rounds(w)) : "";
        const char *end = v->misaligned ? cg__string(w, " + %d <=", cg__misaligned_reach(w)) : " <";
        if (!exact) cg__begin(w, "if (%s%s%s %s)", sure, r, end, extent);
        scopes += !exact;
    }
    cg__name_position(w);
    return scopes;
}

/* True if operands that all rows share are combined from two vectors only when the misalignment of rows changes. */
static bool cg__holds_across(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_ROW_STAGED && cg__row(w)->stage.once;
}

/* True if the load is the same for all neighbours in a vector, as the weight of a channel for its elements. */
static bool cg__is_broadcast(const ind__writer *w, uint32_t i) {
    return w->plan->domain.rrank > 1 && !(w->plan->varies[i] >> (cg__num_vars(w) - 1) & 1);
}

/* True for an unmasked load along the row of full vector width, whose index depends on no element of the row. */
static bool cg__is_row_load(const ind__writer *w, uint32_t i) {
    uint32_t r = cg__r_mask(w);
    if (!cg__in_registers(w) || cg__inst(w, i)->op != IND_LOOP_LOAD || cg__inst(w, i)->arg[0] ||
        !(w->plan->varies[i] & r))
        return false;
    if (cg__repeats(w, i) || (w->plan->across[i] && !(w->plan->varies[i] & cg__p_mask(w)) && !cg__holds_across(w)))
        return false;
    if (cg__is_broadcast(w, i)) return false;
    for (int v = w->plan->domain.rank; v < cg__num_vars(w); v++)
        if (cg__indirect_varies(w, cg__index_of(w, i), v)) return false;
    return w->plan->vector[i] == w->variant->vector;
}

/* True for a load of the row that is copied to shared memory while the block computes the previous row. */
static bool cg__is_staged(const ind__writer *w, uint32_t i) {
    if (w->variant->strategy != IND_STRATEGY_ROW_STAGED || !cg__is_row_load(w, i) || w->plan->across[i]) return false;
    if (!(w->plan->varies[i] & cg__p_mask(w)) || ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT))
        return false;
    return w->variant->vector * ind_dtype_bytes(cg__memory_dtype(w, i)) == 16;
}

/* True if the load starts before the pass, with the row's other loads, and stays in registers in its memory format;
   false if the registers do not suffice. */
static bool cg__loads_ahead(const ind__writer *w, uint32_t i) {
    const ind__variant *v = w->variant;
    if (!cg__is_row_load(w, i)) return false;
    if (v->strategy != IND_STRATEGY_ROW_STAGED) return true;
    const bool full = ind__row_of(v)->stage.num == 1 && !ind__row_of(v)->stage.once &&
                      !cg__is_staged(w, i); /* the row has the registers */
    return ind__row_of(v)->stage.in_registers > cg__is_staged(w, i) && !full;
}

/* True if this pass is the first to need the load. */
static bool cg__starts_here(const ind__writer *w, uint32_t i) {
    return w->needed[i] && !w->value[i] && !w->memory[i] && cg__loads_ahead(w, i);
}

/* True for a load of the row that is the same for all rows. */
static bool cg__is_common(const ind__writer *w, uint32_t i) {
    return cg__is_row_load(w, i) && !cg__is_staged(w, i);
}

/* Iterations in which the lanes of a row take all of its edges; 0: no edges. */
static int cg__edge_rounds(const ind__writer *w) {
    if (!w->variant->misaligned) return 0;
    const int lanes = cg__row_threads(w), most = cg__boundary(w) + cg__misaligned_reach(w) - 2;
    return (most + lanes - 1) / lanes;
}

/* Opens the scopes of the lanes that have an edge; returns the number of scopes. An edge is element 0 of a vector after
   those of the row. */
static int cg__begin_edge(ind__writer *w) {
    const ind__variant *v = w->variant;
    const int rounds = cg__edge_rounds(w);
    const char *length = cg__expr_string(w, cg__r_numel(w)), *at = rounds > 1 ? "edge" : "lane";
    if (rounds > 1) {
        cg__unroll(w);
        cg__begin(w, "for (int e = 0; e < %d; e++)", rounds);
        ind__textf(&w->code, "const int edge = e * %d + lane;\n", cg__row_threads(w));
    }
    cg__begin(w, "if (%s < edges)", at);
    if (cg__in_registers(w))
        ind__textf(&w->code, "const int k = %d%s, j = 0;\n", v->per_thread / v->vector, rounds > 1 ? " + e" : "");
    ind__textf(&w->code, "const %s r0 = %s < head ? %s : %s - edges + %s;\n", cg__int(w), at, at, length, at);
    w->var[w->plan->domain.rank] = "r0";
    return rounds > 1 ? 2 : 1;
}

static void cg__emit_edge_loads(ind__writer *w, bool (*chosen)(const ind__writer *w, uint32_t i)) {
    int scopes = cg__begin_edge(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (chosen(w, i))
            ind__textf(&w->code, "x%u[k].at[j] = %s;\n", i,
                       cg__is_staged(w, i) ? cg__string(w, "e%u", i) : cg__element(w, i));
    while (scopes--) cg__end(w);
}

/* Declares the variables of the chosen loads; returns their number. */
static int cg__declare_loads(ind__writer *w, bool (*chosen)(const ind__writer *w, uint32_t i)) {
    int n = w->variant->vector, vectors = w->variant->per_thread / n, loads = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!chosen(w, i)) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        if (n > 1)
            ind__textf(&w->code, "ind_vec<%s, %d> x%u[%d];\n", type, n, i, vectors + cg__edge_rounds(w));
        else
            ind__textf(&w->code, "%s x%u[%d];\n", type, i, vectors);
        loads++;
    }
    return loads;
}

/* Writes the loop that starts the chosen loads. */
static void cg__start_loads(ind__writer *w, bool (*chosen)(const ind__writer *w, uint32_t i)) {
    const int n = w->variant->vector;
    if (w->variant->misaligned) cg__emit_edge_loads(w, chosen);
    int scopes = cg__emit_pass_loops(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!chosen(w, i)) continue;
        const char *vector = n > 1 ? cg__load_expression(w, i) : cg__element(w, i);
        ind__textf(&w->code, "x%u[k] = %s;\n", i, vector);
        w->memory[i] = cg__string(w, n > 1 ? "x%u[k].at[j]" : "x%u[k]", i);
        if (n > 1) cg__use(w, IND__CG_VEC);
    }
    while (scopes--) cg__end(w);
}

static void cg__emit_loads(ind__writer *w, bool (*chosen)(const ind__writer *w, uint32_t i)) {
    if (cg__declare_loads(w, chosen)) cg__start_loads(w, chosen);
}
