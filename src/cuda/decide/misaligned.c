/* ---- misaligned rows: their vectors start at the first vector boundary in the row, for any length and start. Both
   ends have fewer elements than a vector, the edges, which are loaded and stored one by one: one per neighbouring
   lane. */

/* True if the variant can tell the misalignment of access i. */
static bool cg__start_known(const ind__writer *w, uint32_t i) {
    return w->variant->assume & IND__ASSUME_ALIGNED || cg__in_arena(w, cg__inst(w, i)->source);
}

/* True if LOAD or STORE i moves along the row one element at a time. */
static bool cg__accesses_row(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    int v = cg__num_vars(w) - 1;
    if (!cg__is_access(w, i) || inst->arg[inst->op == IND_LOOP_STORE] || inst->reduction || !cg__contiguous(w, i, v))
        return false;
    return !cg__indirect_varies(w, cg__index_of(w, i), v);
}

/* The value of an index at 0 for all variables. */
static ind_expr cg__least(const ind__writer *w, ind_expr e) {
    ind_expr symbol[32], zero[32];
    int num = ind__expr_symbols(e, symbol, 32), n = 0;
    if (num > 32) return (ind_expr){0};
    for (int s = 0; s < num; s++) {
        if (!ind__ok(ind_expr_symbol(symbol[s])->extent)) continue;
        symbol[n] = symbol[s];
        zero[n++] = ind_int(w->context, 0);
    }
    return ind__substitute(e, symbol, zero, n);
}

/* Index of the start of access i's row; a linear access has one row. */
static ind_expr cg__row_start(const ind__writer *w, uint32_t i) {
    ind_expr zero = ind_int(w->context, 0), r = w->plan->domain.var[cg__num_vars(w) - 1];
    if (!w->plan->domain.rrank && w->plan->through[i]) return cg__least(w, cg__index_of(w, i));
    return ind__substitute(cg__index_of(w, i), &r, &zero, 1);
}

/* True if the rows of accesses i and k have equal misalignment to a boundary of n elements. */
static bool cg__same_shift(const ind__writer *w, uint32_t i, uint32_t k, int n) {
    if (!w->plan->domain.rrank && !(w->plan->through[i] && w->plan->through[k])) return false;
    if (cg__inst(w, i)->source != cg__inst(w, k)->source && !(cg__start_known(w, i) && cg__start_known(w, k)))
        return false;
    return ind_known_multiple(ind_expr_sub(cg__row_start(w, i), cg__row_start(w, k)), n);
}

/* Bytes per element of the accesses with the misalignment of `leader`. Stores count twice, as they cannot be combined
   from two vectors. */
static int cg__bytes_of_shift(const ind__writer *w, uint32_t leader, int n) {
    int sum = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__accesses_row(w, i) || !cg__same_shift(w, i, leader, n)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        sum += cg__inst(w, i)->op == IND_LOOP_STORE ? 2 * bytes : bytes;
    }
    return sum;
}

/* The access whose misalignment most bytes share; 0: none. */
static uint32_t cg__shift_leader(const ind__writer *w, int n) {
    uint32_t leader = 0;
    int most = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__accesses_row(w, i) || ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT)) continue;
        if (!(w->plan->varies[i] & cg__p_mask(w))) continue;
        int bytes = cg__bytes_of_shift(w, i, n);
        if (bytes <= most) continue;
        most = bytes;
        leader = i;
    }
    return leader;
}

/* Elements of the widest vectors that suit all accesses along the row, or, for points, through all rows; 1: none. */
static int cg__misaligned_width(const ind__writer *w) {
    int narrowest = 16, widest = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__accesses_row(w, i) || !(w->plan->domain.rrank || w->plan->through[i])) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        narrowest = bytes < narrowest ? bytes : narrowest;
        widest = bytes > widest ? bytes : widest;
    }
    int n = 8;
    while (n > 1 && (narrowest * n > 16 || widest * n > 32)) n /= 2;
    return widest && narrowest * n >= 4 ? n : 1;
}

/* True if an access uses vectors narrower than n that could be n wide. */
static bool cg__has_narrow_access(const ind__writer *w, int n) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->vector[i] < n && cg__accesses_row(w, i) && (w->plan->domain.rrank || w->plan->through[i]))
            return true;
    return false;
}

/* Likely and greatest length of a row in elements. For a variant of a range of lengths, the end of the range. */
static int64_t cg__likely_row(const ind__writer *w) {
    const int64_t hint = ind_hint(cg__r_numel(w)), from = w->variant->range.from;
    return w->variant->range.to ? w->variant->range.to : hint < from ? from : hint;
}

static int64_t cg__longest_row(const ind__writer *w) {
    const int64_t most = cg__upper_bound(cg__r_numel(w));
    return w->variant->range.to && w->variant->range.to < most ? w->variant->range.to : most;
}

/* Chooses vectors of n elements that start at the leader's boundaries. Loads of other misalignment are combined from
   two aligned vectors if rows have several vectors per lane. For shorter rows, and for points, they are scalar. */
static void cg__set_misaligned(cg__decider *d, int n, ind_expr guard, bool aligned) {
    ind__variant *v = d->variant;
    v->guard = guard;
    v->guard_aligned = aligned;
    v->misaligned = true;
    d->used &= ~IND__ASSUME_DIVISIBLE;
    const bool combined =
        d->plan->domain.rrank && cg__likely_row(&d->w) >= d->w.target->thresholds.combined_vectors * (int64_t)n;
    d->plan->starts_misaligned =
        !cg__start_known(&d->w, d->plan->leader) || !ind_known_multiple(cg__row_start(&d->w, d->plan->leader), n);
    cg__no_vectors(d);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        const bool in_row = cg__accesses_row(&d->w, i), same = in_row && cg__same_shift(&d->w, i, d->plan->leader, n);
        const bool store = cg__inst(&d->w, i)->op == IND_LOOP_STORE;
        const bool across = d->plan->domain.rrank ? in_row && (combined || store) : d->plan->through[i] && store;
        d->plan->vector[i] = (uint8_t)(same || across ? n : 1);
        d->plan->across[i] = across && !same;
        if (d->plan->vector[i] > 1 && d->assume & IND__ASSUME_ALIGNED &&
            !cg__in_arena(&d->w, cg__inst(&d->w, i)->source))
            v->guard_aligned = true;
    }
}

/* True if a load along the row, in vectors of n elements, has another misalignment than the leader. */
static bool cg__loads_across(const ind__writer *w, int n) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__accesses_row(w, i) && cg__inst(w, i)->op == IND_LOOP_LOAD && !cg__same_shift(w, i, w->plan->leader, n))
            return true;
    return false;
}

/* True if aligned vectors of n elements with peeled edges pay. For elements of 4 bytes and more, scalar loads of a warp
   also read whole lines. If some loads are combined, which takes three loads each, scalar loads are faster as long as a
   thread's registers, one per element in flight, leave the capacity for several blocks per SM. */
static bool cg__shift_pays(const ind__writer *w, int n, bool narrow) {
    const int64_t length = cg__likely_row(w), longest = cg__longest_row(w);
    if (length <
        (int64_t)(narrow ? w->target->thresholds.shifted_vectors : w->target->thresholds.unconditional_vectors) * n)
        return false;
    if (!cg__loads_across(w, n)) return true;
    const bool wide = ind_dtype_bytes(cg__memory_dtype(w, w->plan->leader)) >= 4;
    const bool known = ind_expr_is_int(cg__r_numel(w), NULL);
    return !(wide && known && longest <= w->target->thresholds.shared_row);
}

/* Treats the rows of a reduction as misaligned if that allows vectors wider than `n`. In a part of a launch, which has
   no variant for other row lengths, also if it allows the same width without a condition on the length. Returns the
   width. A variant for misaligned pointers finds the boundaries from its leader's address. Other loads along the row
   are combined from two vectors, and other stores are scalar. */
static int cg__shift_rows(cg__decider *d, int n, ind_expr guard, bool aligned) {
    if (d->plan->domain.rrank != 1 || d->w.kernel->run) return n;
    const int wide = cg__misaligned_width(&d->w);
    const bool narrow = cg__has_narrow_access(&d->w, wide), conditional = !ind_known_multiple(cg__r_numel(&d->w), n);
    if (wide < 2 || wide < n || !(narrow || (conditional && d->plan->part))) return n;
    if (!narrow && cg__longest_row(&d->w) > d->w.target->thresholds.shared_row)
        return n; /* longer rows are staged in shared memory */
    d->plan->leader = cg__shift_leader(&d->w, wide);
    if (!d->plan->leader || !cg__shift_pays(&d->w, wide, narrow)) return n;
    cg__set_misaligned(d, wide, guard, aligned);
    return wide;
}

/* True if the index of access i moves by one from each point of the domain to the next. */
static bool cg__is_linear(const ind__writer *w, uint32_t i) {
    if (!cg__accesses_row(w, i)) return false;
    ind_expr rest = cg__index_of(w, i), step, wanted = ind_int(w->context, 1);
    for (int v = w->plan->domain.rank - 1; v >= 0; v--) {
        if (!ind__affine(rest, w->plan->domain.var[v], &step, &rest) || !ind_expr_same(step, wanted)) return false;
        wanted = ind_expr_mul(wanted, w->plan->domain.extent[v]);
    }
    return ind__expr_is_size(rest);
}

/* Like cg__shift_rows for points: they are split into chunks that start at boundaries of a linear store, through all
   rows. */
static int cg__shift_points(cg__decider *d, int n, ind_expr guard, bool aligned) {
    int most = 0;
    if (d->plan->part) return n;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        d->plan->through[i] = cg__is_linear(&d->w, i);
        int bytes = d->plan->through[i] && cg__inst(&d->w, i)->op == IND_LOOP_STORE
                        ? ind_dtype_bytes(cg__memory_dtype(&d->w, i))
                        : 0;
        if (bytes <= most) continue;
        most = bytes;
        d->plan->leader = i;
    }
    const int wide = cg__misaligned_width(&d->w);
    if (!d->plan->leader || wide < 2 || wide < n || !cg__has_narrow_access(&d->w, wide)) return n;
    if (!cg__finds_few(&d->w, d->plan->domain.rank - 1, wide)) return n;
    cg__set_misaligned(d, wide, guard, aligned);
    return wide;
}

/* 32-bit registers for a misaligned row in its memory format, with at least `least` bytes per element. */
static int cg__misaligned_words(const ind__writer *w, int per_thread, int least) {
    int sum = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_LOAD || !(w->plan->varies[i] >> w->plan->domain.rank)) continue;
        if (w->plan->across[i] && !(w->plan->varies[i] & cg__p_mask(w))) continue;
        const int bytes = w->plan->vector[i] > 1 ? ind_dtype_bytes(cg__memory_dtype(w, i)) : 4;
        sum += bytes < least ? least : bytes;
    }
    return per_thread * sum / 4;
}

/* The fewest registers per thread for these rows. With two or more misaligned loads, rows wait for the L2 once more
   after the last combine step, and more warps pay. f16 is unpacked where it is used, with none kept, and nothing spills
   at 48 (layer_norm of 4093, % of copy bandwidth: f16 77.6 at 72, 96.2 at 48; bf16, which spills there, 94.3 and 96.4
   at 64, H200). */
static int cg__least_registers(const ind__writer *w) {
    int across = 0, halves = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->plan->across[i] || cg__inst(w, i)->op != IND_LOOP_LOAD) continue;
        across++;
        halves += cg__memory_dtype(w, i) == IND_F16;
    }
    if (across < 2) return w->target->thresholds.least_registers;
    return halves == across ? w->target->thresholds.shifted_registers : w->target->thresholds.shifted_wide_registers;
}

/* Blocks per SM for these rows. While one waits at a combine step or for shared operands, others proceed. Registers are
   bounded by a thread's need (40 and its kept words: compiled with NVRTC 13, nothing spills), but not below
   w->target->thresholds.least_registers if they need more than `least`. */
static int cg__misaligned_blocks(const ind__writer *w, int least) {
    const ind__variant *v = w->variant;
    int registers = w->target->thresholds.misaligned_registers + cg__misaligned_words(w, v->per_thread, 1);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->across[i] && cg__inst(w, i)->op == IND_LOOP_LOAD)
            registers += w->target->thresholds.across_registers;
    registers = registers <= w->target->thresholds.least_registers ? least : (registers + 7) / 8 * 8;
    return w->target->sm_registers / (registers * v->threads);
}

/* Elements after the first of a vector that must lie inside the row: ind_load_across reads past the vector. */
static int cg__misaligned_reach(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->across[i] && cg__inst(w, i)->op == IND_LOOP_LOAD) return 2 * w->variant->vector;
    return w->variant->vector;
}

static int cg__num_combine_steps(const ind__writer *w);

/* Elements from one boundary to the next. Rows in shared memory start at lines: a warp's 512 bytes are then four lines
   instead of five, and none of their sectors is stored in two parts (softmax on an H200, % of copy bandwidth at
   boundaries of vectors and of lines: 65537 bf16 84 and 90, f32 88 and 91; 262147 83 and 91, 81 and 86). If shared
   operands are in registers with a row's misalignment, rows of equal misalignment are computed one after another. There
   are at most as many misalignments as blocks, or clusters, so each has at most two of them (rms_norm, at boundaries of
   vectors and these: 131101, 200003, 230003 bf16 87, 87, 87 and 91, 90, 91; f32 131101, 230003, 262111 88, 85, 85 and
   93, 91, 92). */
static int cg__boundary(const ind__writer *w) {
    const ind__variant *v = w->variant;
    if (v->strategy != IND_STRATEGY_ROW_STAGED || !w->plan->starts_misaligned) return v->vector;
    int n = IND__CG_LINE_BYTES / ind_dtype_bytes(cg__memory_dtype(w, w->plan->leader));
    while (ind__row_of(v)->stage.persistent && ind__row_of(v)->stage.once && n > ind__row_of(v)->stage.resident &&
           n > v->vector)
        n /= 2;
    return n > v->vector ? n : v->vector;
}

static int cg__row_threads(const ind__writer *w);
static int cg__round_lanes(const ind__writer *w);
static bool cg__in_registers(const ind__writer *w);

/* 32-bit registers for all that a thread loads of a row: without a branch, its loads start together. */
static int cg__waiting_registers(const ind__writer *w) {
    int sum = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_LOAD || !(w->plan->varies[i] >> w->plan->domain.rank)) continue;
        const int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        sum += w->variant->per_thread * (w->plan->vector[i] > 1 || bytes > 4 ? bytes : 4);
    }
    return sum / 4;
}

/* Elements of a row that may lie outside its whole iterations, or be loaded past them. */
static int cg__round_slack(const ind__writer *w) {
    const ind__variant *v = w->variant;
    return v->misaligned ? (w->plan->starts_misaligned ? cg__boundary(w) - 1 : 0) + cg__misaligned_reach(w) - v->vector
                         : 0;
}

/* Iterations of a register-resident row that surely lie inside the row and need no branch; 0 if a thread lacks the
   registers for the loads then in flight. A fitted block for a row of n elements has at most (n - 1) / per_thread + 32
   threads, of which k iterations are whole if k * vector times that many elements are in the row. */
static int64_t cg__whole_rounds(const ind__writer *w) {
    const ind__variant *v = w->variant;
    const int each = w->target->sm_registers / v->threads, registers = each < 255 ? each : 255;
    int64_t least;
    const bool waits = v->strategy != IND_STRATEGY_ROW_STAGED; /* in registers, not in shared memory */
    if (waits && cg__waiting_registers(w) + w->target->thresholds.other_registers > registers) return 0;
    ind__known_bounds(cg__r_numel(w), &least, NULL);
    if (least < w->plan->row_from) least = w->plan->row_from;
    least -= cg__round_slack(w);
    if (ind__ok(ind__row_of(v)->fitted) && least > 0)
        return least * v->per_thread / v->vector / (least + cg__round_slack(w) + 32 * v->per_thread - 1);
    return least > 0 ? least / ((int64_t)cg__round_lanes(w) * v->vector) : 0;
}

static bool cg__is_staged(const ind__writer *w, uint32_t i);
static const char *cg__staged_element(ind__writer *w, uint32_t i);
static bool cg__holds_across(const ind__writer *w);
static int cg__looped_passes(const ind__writer *w);
static int cg__row_threads(const ind__writer *w);

/* Bytes that must be in flight to keep memory busy: 3.8 MB on an H200, 29 KB per SM. */
static int64_t cg__bytes_in_flight(const ind__writer *w) {
    return (int64_t)w->target->memory_bytes_per_ns * w->target->thresholds.memory_ns;
}

/* Lanes of a reduction whose vectors are neighbours in memory. */
static int cg__lanes_abreast(const ind__writer *w) {
    const ind__variant *v = w->variant;
    const bool columns = cg__has(w, IND__HAS_COLUMNS);
    return columns ? v->rows / v->vector : cg__row_threads(w);
}

/* True if LOAD i is the only load of a row, reads each element once, and the kernel only reduces. Loads that do not
   allocate in the L1 arrive sooner (% of copy bandwidth on an H200: cross entropy of 1000 bf16 99 and 107, of 65536 93
   and 95; sum of 1024 rows of 4096 f32 5.73 us and 5.46), if the lanes of a line load it together (sum of 128 bf16 fell
   from 103 to 91). An element at an index from memory is then read again from the L2: only in rows of which its sector
   is at most 2 % (of 128 f32, cross entropy fell from 96 to 90). Not if most of the data is in flight at once, so that
   nothing arrives later (256 rows), and not if per-element results are stored: rms_norm fell from 97 to 92. */
static bool cg__passes_l1(ind__writer *w, uint32_t i) {
    const uint32_t all = (1u << cg__num_vars(w)) - 1;
    const double row = (double)ind_hint(cg__r_numel(w)) * ind_dtype_bytes(cg__memory_dtype(w, i));
    const uint32_t arg = cg__arg_of(w->kernel, cg__inst(w, i)->source);
    if (w->plan->vector[i] * ind_dtype_bytes(cg__memory_dtype(w, i)) != 16 || w->plan->across[i] ||
        (w->plan->varies[i] & all) != all)
        return false;
    if (arg >= w->kernel->num_reads || cg__shares_memory(w, arg) || cg__looped_passes(w) != 1) return false;
    if (cg__lanes_abreast(w) * 16 < IND__CG_LINE_BYTES) return false;
    if (row * (double)ind_hint(cg__p_numel(w)) < 2.0 * (double)cg__bytes_in_flight(w)) return false;
    for (uint32_t k = 1; k < w->body->num_inst; k++) {
        const ind__inst *inst = cg__inst(w, k);
        if (inst->op == IND_LOOP_STORE && w->plan->varies[k] & cg__r_mask(w)) return false;
        const bool again = k != i && inst->op == IND_LOOP_LOAD && inst->source == cg__inst(w, i)->source;
        if (again &&
            (w->plan->varies[k] & cg__r_mask(w) || row < IND__CG_SECTOR_BYTES * w->target->thresholds.index_sectors))
            return false;
    }
    return w->plan->domain.rrank && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}
