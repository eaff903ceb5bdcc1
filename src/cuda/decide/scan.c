/* 4-byte words of a scan's state: ind_scan_words in the prelude. */
static int cg__state_words(const ind__writer *w, uint32_t scan) {
    bool wide = ind_dtype_bytes((ind_dtype)cg__inst(w, scan)->dtype) == 8;
    if (cg__scan_kind(w, scan) == IND_SCAN_COMBINE) return cg__combine_words(w);
    if (!cg__finds_positions(w, scan)) return (wide ? 2 : 1) * (cg__adds_exp(w, scan) ? 2 : 1);
    return wide || w->variant->index_bits == 64 ? 4 : 2;
}

/* Registers for the states of one element of the row. */
static int cg__scan_states(const ind__writer *w) {
    int words = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_scan(w, i)) words += cg__state_words(w, i);
    return words;
}

/* Registers for one element of the row: its states and its loads, or, with `ahead`, also those of the next chunk. */
static double cg__scan_registers(const ind__writer *w, bool ahead) {
    double states = cg__scan_states(w), loads = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        if (cg__loads_chunk(w, i)) loads += w->plan->vector[i] > 1 || bytes > 4 ? bytes / 4.0 : 1;
    }
    return ahead ? states + loads : states > loads ? states : loads;
}

/* Vectors per thread that fit in so many registers, a power of 2. */
static int cg__scan_lines(const ind__writer *w, bool ahead, int words) {
    int lines = w->target->thresholds.scan_lines;
    if (w->plan->shift && !cg__pads(w)) words /= 2; /* elements outside the row take registers too */
    while (lines > 1 && lines * w->variant->vector * cg__scan_registers(w, ahead) > words) lines /= 2;
    return lines;
}

/* The widest vectors along variable v, at most n, whose states fit in a thread's registers: loads are as wide as
   possible. */
static void cg__choose_scan_vector(cg__decider *d, int v, int n) {
    while (n > 1 && n * cg__scan_states(&d->w) > d->w.target->thresholds.scan_words) n /= 2;
    while (n > 1 && !cg__try_vector(d, v, n, false)) n /= 2;
    if (n == 1) cg__no_vectors(d);
    d->variant->vector = n;
}

/* True if LOAD or STORE i moves neighbours of the row, at any misalignment. */
static bool cg__moves_neighbours(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    ind_expr stride, base;
    int64_t one;
    if (!cg__is_access(w, i) || !(w->plan->varies[i] & cg__r_mask(w)) || inst->reduction) return false;
    if (inst->arg[inst->op == IND_LOOP_LOAD ? 0 : 1]) return false; /* masked */
    return ind__affine(cg__index_of(w, i), w->plan->domain.var[w->plan->domain.rank], &stride, &base) &&
           ind_expr_is_int(stride, &one) && one == 1 && !cg__indirect_varies(w, base, w->plan->domain.rank);
}

/* Rows that are misaligned or of any length: vectors start at the aligned address at or before each row's start, and
   their elements outside the row are excluded. One access determines the alignment; others with another misalignment
   are scalar. */
static void cg__choose_scan_shift(cg__decider *d) {
    int narrowest = 16, widest = 1, n = 1;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        if (!cg__moves_neighbours(&d->w, i)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(&d->w, i));
        if (!d->plan->shift && !ind__expr_has_kind(cg__index_of(&d->w, i), IND_SYMBOL_INDIRECT)) d->plan->shift = i;
        narrowest = bytes < narrowest ? bytes : narrowest;
        widest = bytes > widest ? bytes : widest;
    }
    while (n < 8 && 2 * n * narrowest <= 16 && 2 * n * widest <= 32 &&
           2 * n * cg__scan_states(&d->w) <= d->w.target->thresholds.scan_words)
        n *= 2;
    if (n == 1) d->plan->shift = 0;
    if (!d->plan->shift) return;
    d->variant->vector = n;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++)
        if (cg__moves_neighbours(&d->w, i)) d->plan->vector[i] = (uint8_t)n;
}

/* Bytes moved per element of the row. */
static int cg__scan_bytes_moved(const ind__writer *w) {
    int bytes = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_access(w, i) && w->plan->varies[i] & cg__r_mask(w)) bytes += ind_dtype_bytes(cg__memory_dtype(w, i));
    return bytes;
}

/* True if blocks should share rows (decoupled lookback): there are too few rows to give all SMs an equal part, and
   memory at full rate takes less than half the time of the SM with the most rows, at its share of the rate. Waiting for
   previous blocks takes as long as a launch or two. There must be one pass over the rows, and no value per row. */
static bool cg__prefers_lookback(const ind__writer *w) {
    const ind_target *t = w->target;
    int64_t rows = ind_hint(cg__p_numel(w)), length = ind_hint(cg__r_numel(w));
    if (rows < 1 || !cg__scans_only(w)) return false;
    if (ind__expr_has_kind(cg__r_numel(w), IND_SYMBOL_UNBACKED)) return false;
    if (ind__expr_has_kind(cg__p_numel(w), IND_SYMBOL_UNBACKED)) return false;
    double row =
        (double)length * cg__scan_bytes_moved(w) / (t->thresholds.copy_percent / 100.0 * t->memory_bytes_per_ns);
    double looped = row * t->num_sms * (double)((rows + t->num_sms - 1) / t->num_sms);
    return looped >
           t->thresholds.lookback_gain * (row * (double)rows + (double)t->thresholds.lookback_launches * t->launch_ns);
}

/* Plans tiles so large that each SM has one, or as large as its registers allow. */
static void cg__choose_lookback(cg__decider *d) {
    ind__variant *v = d->variant;
    int lines = cg__scan_lines(&d->w, false, d->w.target->thresholds.scan_words);
    int64_t points = ind_hint(cg__p_numel(&d->w)) * ind_hint(cg__r_numel(&d->w)) / d->w.target->num_sms;
    v->threads = cg__pow2_at_least(points / (lines * v->vector), d->w.target->thresholds.scan_small,
                                   d->w.target->thresholds.scan_threads);
    while (lines > 1 && (int64_t)v->threads * lines / 2 * v->vector >= points) lines /= 2;
    v->strategy = IND_STRATEGY_SCAN_LOOKBACK;
    v->rows = 1;
    v->per_thread = lines * v->vector;
    int64_t chunk = (int64_t)v->threads * v->per_thread;
    ind_expr places = ind_expr_add(cg__r_numel(&d->w), ind_int(d->w.context, cg__most_shift(&d->w)));
    ind_expr tiles = ind_expr_ceildiv(places, ind_int(d->w.context, chunk));
    ind_expr groups =
        ind_expr_add(ind_expr_floordiv(tiles, ind_int(d->w.context, IND__CG_SCAN_GROUP)), ind_int(d->w.context, 1));
    ind_expr per_row = ind_expr_mul(ind_expr_add(tiles, groups), ind_int(d->w.context, cg__scan_states(&d->w)));
    d->plan->lookback = ind_expr_add(ind_expr_mul(cg__p_numel(&d->w), per_row), ind_int(d->w.context, 2));
    cg__why(d, "too few rows for one block per row: blocks share rows, %lld elements per block", (long long)chunk);
    cg__grid(d, ind_expr_mul(cg__p_numel(&d->w), tiles), 1);
}

/* Plans a row of at most `longest` elements in the registers of lanes, with up to `lines` vectors each: the number of
   lanes that leaves the fewest elements unused. Fewer than 8 lanes with several vectors would access too few neighbours
   at once. */
static void cg__choose_scan_warp(cg__decider *d, int64_t longest, int lines) {
    ind__variant *v = d->variant;
    int64_t covered = INT64_MAX;
    int best = 32;
    for (int lanes = 32; lanes >= 1; lanes /= 2) {
        const int64_t line = (int64_t)lanes * v->vector, needed = (longest + line - 1) / line;
        if (needed > lines || (needed > 1 && lanes < d->w.target->thresholds.scan_lanes && covered < INT64_MAX)) break;
        if (needed * line >= covered && needed > 1) continue;
        best = lanes;
        covered = needed * line;
        v->per_thread = (int)needed * v->vector;
    }
    v->strategy = IND_STRATEGY_SCAN_WARP;
    v->threads = d->w.target->thresholds.warp_threads;
    v->rows = v->threads / best;
    cg__why(d, "rows of at most %lld elements fit into the registers of %d lanes", (long long)longest, best);
}

/* Threads of a block that loops over a row with per_thread elements each, in whole warps from `least` to `most`: the
   number that idles least in the last iteration; of equals the largest. */
static int cg__scan_threads(int64_t length, int per_thread, int least, int most) {
    int best = most;
    int64_t covered = INT64_MAX;
    for (int threads = most; threads >= least; threads -= 32) {
        const int64_t chunk = (int64_t)threads * per_thread, all = (length + chunk - 1) / chunk * chunk;
        if (all < covered) best = threads, covered = all;
    }
    return best;
}

/* Plans a row of at most `longest` elements in the registers of a block, with so many vectors per thread, up to
   `lines`, that the fewest threads idle; false: it is too long. If 512 threads need more than half of `lines`, 1024
   threads with half as many are as fast and compile sooner, if registers allow two blocks: with 8 and 4 vectors 280 and
   168 instructions, 61 and 32 registers, 58 and 48 ms (cumsum of 16384 f32, 100 % of copy bandwidth, H200). */
static bool cg__choose_scan_block(cg__decider *d, int64_t longest, int lines) {
    ind__variant *v = d->variant;
    const bool any = cg__scans_only(&d->w); /* any number of threads; else powers of two */
    int64_t covered = INT64_MAX;
    int most = d->w.target->thresholds.scan_threads;
    if (longest > most * (int64_t)lines * v->vector) return false;
    if (longest > most * (int64_t)(lines / 2) * v->vector && lines > 1 && cg__scan_states(&d->w) == 1)
        most *= 2, lines /= 2;
    for (int n = lines; n >= (any ? (lines + 1) / 2 : lines); n--) {
        const int per_thread = n * v->vector;
        const int64_t needed = (longest + per_thread - 1) / per_thread, threads = (needed + 31) / 32 * 32;
        if (threads > most || threads * per_thread >= covered) continue;
        covered = threads * per_thread;
        v->per_thread = per_thread;
        v->threads = any ? (int)threads : cg__pow2_at_least(needed, 64, most);
    }
    cg__why(d, "rows of at most %lld elements fit into the registers of a block", (long long)longest);
    return true;
}

/* Plans a row of at most `longest` elements in the registers of up to 32 lanes, or of a block; else a block loops over
   it. */
static void cg__choose_scan_rows(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    const int run = v->vector, lines = cg__scan_lines(&d->w, false, d->w.target->thresholds.scan_words);
    if (longest <= 32 * (int64_t)lines * run) {
        cg__choose_scan_warp(d, longest, lines);
        return;
    }
    v->strategy = IND_STRATEGY_SCAN_BLOCK;
    v->rows = 1;
    if (cg__choose_scan_block(d, longest, lines)) return;
    const ind_thresholds *t = &d->w.target->thresholds;
    const int most = ind_hint(cg__p_numel(&d->w)) < 2 * d->w.target->num_sms ? t->scan_threads : t->scan_small;
    const int64_t length = ind_hint(cg__r_numel(&d->w)) + cg__most_shift(&d->w);
    v->per_thread = cg__scan_lines(&d->w, true, d->w.target->thresholds.scan_words) * run;
    v->threads = cg__pow2_at_least(length / v->per_thread, t->scan_least, most);
    if (cg__scans_only(&d->w)) v->threads = cg__scan_threads(length, v->per_thread, t->scan_least, v->threads);
    cg__why(d, "a block loops over each row, %d elements per iteration", v->threads * v->per_thread);
}

/* Plans rows that are adjacent in memory (columns), with threads across them. Vectors are as wide as give most SMs a
   block of 32 threads, or fewer threads that still load whole sectors. Along the rows a block has as many such groups
   of threads as keep enough bytes in flight, and whose states fit in shared memory. */
static void cg__choose_scan_team(cg__decider *d) {
    ind__variant *v = d->variant;
    const ind_thresholds *t = &d->w.target->thresholds;
    int64_t rows = ind_hint(cg__p_numel(&d->w)), length = ind_hint(cg__r_numel(&d->w)),
            most = d->w.target->num_sms * t->scan_columns_fill / 100;
    int lanes = 32, n = 8, bytes = 0, widest = 0;
    while (n > 1 && rows / (lanes * n) < most) n /= 2;
    cg__choose_scan_vector(d, d->plan->domain.rank - 1, n);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        int own = cg__loads_chunk(&d->w, i) ? ind_dtype_bytes(cg__memory_dtype(&d->w, i)) : 0;
        bytes += own;
        widest = own > widest ? own : widest;
    }
    while (rows / (lanes * v->vector) < most && lanes / 2 * v->vector * widest >= IND__CG_SECTOR_BYTES) lanes /= 2;
    int lines = cg__scan_lines(&d->w, true, t->scan_columns_words),
        line = lanes * lines * v->vector * (bytes ? bytes : 1);
    int64_t blocks = (rows + lanes * v->vector - 1) / (lanes * v->vector), flight = t->scan_flight;
    int team = cg__pow2_at_least(flight * d->w.target->num_sms / (blocks > 0 ? blocks : 1) / line,
                                 t->scan_least / lanes, t->scan_threads / lanes);
    while (team > 1 && (int64_t)team / 2 * lines >= length) team /= 2;
    while (team > 1 && 2 * team * lanes * v->vector * 4 * cg__scan_states(&d->w) > IND__CG_STATIC_SHARED) team /= 2;
    if (team * lanes < t->scan_least) lanes = t->scan_least / team;
    v->per_thread = lines * v->vector;
    v->rows = lanes * v->vector;
    v->threads = lanes * team;
    cg__why(d, "loads are contiguous along an output dimension: %d threads per row", team);
}

static void cg__choose_scan(cg__decider *d) {
    ind__variant *v = d->variant;
    cg__analyse(d);
    uint32_t r = cg__r_mask(&d->w);
    int best = cg__best_p(&d->w, r);
    bool column = best >= 0 && ind_hint(cg__p_numel(&d->w)) >= IND__SCAN_COLUMNS &&
                  cg__bytes_along(&d->w, best, r, true) < cg__bytes_along(&d->w, cg__num_vars(&d->w) - 1, r, true);
    if (column && best != d->plan->domain.rank - 1) cg__move_last(d, best);
    cg__merge_vars(d);
    cg__analyse(d);
    cg__choose_index_bits(d);
    v->vector = v->per_thread = 1;
    cg__no_vectors(d);
    v->strategy = IND_STRATEGY_SCAN_COLUMN;
    if (column && cg__scans_only(&d->w)) {
        cg__choose_scan_team(d);
    } else if (column) {
        v->threads = v->rows = d->w.target->thresholds.warp_threads;
        cg__why(d, "loads are contiguous along an output dimension: one thread per row");
    } else {
        int64_t longest =
            v->range.to && cg__assumes_length(d) ? cg__guard_length(d) : cg__upper_bound(cg__r_numel(&d->w));
        cg__choose_scan_vector(d, cg__num_vars(&d->w) - 1, 8);
        if (v->vector == 1 && cg__scans_only(&d->w)) cg__choose_scan_shift(d);
        if (cg__prefers_lookback(&d->w)) {
            cg__choose_lookback(d);
            return;
        }
        cg__choose_scan_rows(d, longest > 0 ? longest + cg__most_shift(&d->w) : 1);
    }
    cg__grid(d, cg__p_numel(&d->w), v->rows);
}
