/* Passes that a block makes over memory if it does not keep the row. */
static int cg__looped_passes(const ind__writer *w) {
    cg__pass pass[IND__CG_MAX_PASSES];
    ind__variant looped = *w->variant;
    ind__writer view = *w;
    looped.strategy = IND_STRATEGY_ROW_LOOPED;
    view.variant = &looped;
    return cg__passes(&view, pass);
}

/* True if few elements per thread suit the row: 16-bit elements that are used again after a combine step. NVRTC takes
   less time (layer_norm of 4096 bf16: 61 ms with 32 elements, 47 with 16). As many rows are in flight if a thread has
   no more registers than its kept values need: layer_norm of 4096, 3000, 2560 and 2304 bf16 99, 95, 92, 90 % of copy
   bandwidth with 32 or 24 elements, and with 16 100, 98, 100, 97 in 40 registers, but 92, 90, 94, 93 in 64 (H200). More
   than 256 threads are slower (of 8192 100 and 93); so are gathered rows (embedding and layer_norm 95 and 93) and f32
   (3000 101 and 98). */
static bool cg__may_have_few(ind__writer *w) {
    const ind__variant *v = w->variant;
    return v->vector > 4 && v->vector <= w->target->thresholds.few_elements && !v->misaligned && !w->plan->part &&
           !w->kernel->run && cg__looped_passes(w) > 1 && !cg__gathers_rows(w);
}

/* True if the variant has few elements per thread. Some row lengths and tuned variants have more. */
static bool cg__has_few(ind__writer *w) {
    return cg__may_have_few(w) && w->variant->per_thread <= w->target->thresholds.few_elements &&
           w->variant->threads <= w->target->thresholds.few_threads;
}

/* Registers per thread, rounded up to the allocation unit of 8: the loads of a row that is only reduced, or the kept
   values of few elements, and the rest of the kernel. Else half of the registers that each of 512 threads may have. */
static int cg__needed_registers(ind__writer *w, bool reduces) {
    const int resident = (int)ceil(cg__resident_words(w) * w->variant->per_thread);
    if (!reduces && !cg__has_few(w)) return w->target->thresholds.full_registers;
    const int needed =
        ((reduces ? cg__waiting_registers(w) : resident) + w->target->thresholds.other_registers + 7) / 8 * 8;
    return reduces || needed < w->target->thresholds.full_registers ? needed : w->target->thresholds.full_registers;
}

/* Blocks for which an SM has the registers and threads. A quarter of an SM allocates registers to whole warps. */
static int cg__blocks_of(const ind__writer *w, int registers) {
    const int most = w->target->sm_threads / 32;
    const int warps = w->target->sm_registers / 4 / (32 * registers) * 4;
    return (warps < most ? warps : most) / (w->variant->threads / 32);
}

/* True if several blocks fit on an SM without a register limit. */
static bool cg__fit_anyway(ind__writer *w) {
    return w->variant->threads < w->target->thresholds.small_block && !cg__gathers_rows(w) && !cg__has_few(w);
}

/* Sets the register limit of a block with a misaligned row, one fallback after another; the first limits come from a
   formula. False: all have been tried, or the row is better looped over, as below (cross entropy of 36007 bf16: 65 % of
   copy bandwidth, 92 by a loop; sum 86 and 105). */
static bool cg__limit_shifted_blocks(cg__decider *d) {
    ind__variant *v = d->variant;
    if (2 * v->threads > d->w.target->thresholds.full_threads && !d->plan->part && cg__looped_passes(&d->w) == 1)
        return false;
    const int many = cg__misaligned_blocks(&d->w, cg__least_registers(&d->w)),
              some = cg__misaligned_blocks(&d->w, d->w.target->thresholds.least_registers);
    const int bounded = many > some ? 2 : 1; /* fallbacks with a limit */
    v->blocks_per_sm = d->alternative == 0 ? many : some;
    if (d->plan->part || v->blocks_per_sm < 2) return true;
    d->more_alternatives = d->alternative < bounded + 1;
    if (d->alternative >= bounded) v->blocks_per_sm = 1;
    if (d->alternative >= bounded) cg__why(d, "%s; one block per SM, without a register limit", v->why);
    return d->alternative < bounded + 1;
}

/* Sets the register limit of a block with a row, one fallback after another; false: all have been tried. A block that
   waits at a combine step moves no data, so other blocks should be resident: with 64 registers per thread an SM has
   1024 threads, in several blocks, and more if the row is only reduced or a thread has few elements, which take fewer
   registers. The build shows whether they suffice.

   A row that is only reduced is not kept if its block would be alone on an SM: a loop also reads it once, and does not
   wait (cross entropy of 40000 bf16 74 and 92 % of copy bandwidth, of 36008, two blocks, 101 and 94). A part of a
   launch, which may have few rows, loops only if it takes all 1024 threads. Below 256 threads several blocks fit
   without a limit, which suffices unless rows are gathered (embedding and layer_norm of 2048 bf16: 0.93 and 0.98 of
   copy bandwidth, H200). */
static bool cg__limit_blocks(cg__decider *d) {
    ind__variant *v = d->variant;
    if (v->misaligned) return cg__limit_shifted_blocks(d);
    const bool reduces = cg__looped_passes(&d->w) == 1;
    const ind_thresholds *t = &d->w.target->thresholds;
    const int least = cg__needed_registers(&d->w, reduces),
              fewest = least < t->full_registers ? 2 : 1; /* fallbacks with a limit */
    const bool alone = d->plan->part ? v->threads == t->full_threads : cg__blocks_of(&d->w, least) < 2;
    if (reduces && !d->w.kernel->run && alone) return false;
    if (d->plan->part || d->w.kernel->run || cg__fit_anyway(&d->w)) return true;
    const bool may = v->threads < t->full_threads && (reduces || v->per_thread <= t->bounded_elements);
    const bool few = may && least <= t->full_registers && d->alternative < fewest;
    const int registers = d->alternative == 0 ? least : t->full_registers;
    d->more_alternatives = d->alternative < (may ? fewest + 1 : 1);
    if (few) v->blocks_per_sm = cg__blocks_of(&d->w, registers);
    if (few)
        cg__why(d, "%s; %d registers per thread for %d resident blocks per SM", v->why, registers, v->blocks_per_sm);
    else if (may)
        cg__why(d, "%s; without the limit of %d registers per thread", v->why, t->full_registers);
    return few || d->more_alternatives;
}

/* Fits the warps of a block for a range of row lengths to the launch's row, with as many elements per thread as in the
   longest row. So rows of any length fill the iterations of a block, and SMs have as many threads. */
static void cg__fit_threads(cg__decider *d) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    if (!v->range.to || d->plan->part || v->of.row.segments) return;
    ind_expr vectors = v->misaligned ? ind_expr_floordiv(cg__r_numel(&d->w), ind_int(c, v->vector))
                                     : ind_expr_ceildiv(cg__r_numel(&d->w), ind_int(c, v->vector));
    if (d->plan->row_from < v->vector)
        vectors = ind_expr_max(vectors, ind_int(c, 1)); /* edges and results need a warp too */
    v->of.row.fitted =
        ind_expr_mul(ind_expr_ceildiv(vectors, ind_int(c, (int64_t)32 * v->per_thread / v->vector)), ind_int(c, 32));
    if (!ind__ok(v->of.row.fitted)) cg__fail(&d->w);
    cg__why(d, "%s; each launch has as many warps as its rows need", v->why);
}

/* True if the row length is known at launch, but not when the plan is made. */
static bool cg__knows_at_launch(const ind__writer *w) {
    const ind_expr row = cg__r_numel(w);
    return !w->plan->part && !w->plan->handover && !w->kernel->run && ind__expr_is_size(row) &&
           !ind_expr_is_int(row, NULL) && !ind__expr_has_kind(row, IND_SYMBOL_UNBACKED);
}

/* Fits the warps to the launch's row: four iterations per thread, or the maximum of threads. */
static void cg__fit_loop_threads(cg__decider *d) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    const ind_expr warps =
        ind_expr_ceildiv(cg__r_numel(&d->w), ind_int(c, (int64_t)32 * d->w.target->thresholds.loop_steps * v->vector));
    if (v->threads < d->w.target->thresholds.loop_threads) v->threads = d->w.target->thresholds.loop_threads;
    v->of.row.fitted =
        ind_expr_max(ind_int(c, 32), ind_expr_min(ind_int(c, v->threads), ind_expr_mul(warps, ind_int(c, 32))));
    if (!ind__ok(v->of.row.fitted)) cg__fail(&d->w);
}

/* True if a reduction returns positions along the row. */
static bool cg__returns_positions(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_REDUCE && cg__inst(w, i)->reduction == IND_REDUCE_ARGMAX) return true;
    return false;
}

/* Lanes per segment. With scalar accesses a warp's elements begin and end inside a sector, which is then written twice.
   With a few idle lanes they begin at a sector boundary, if it has the same offset in all segments. (7 x 7: f32 58 to
   63 % of copy bandwidth, bf16 47 to 52.) */
static int64_t cg__lanes_of_segment(const ind__writer *w) {
    const int64_t vectors = cg__segment_vectors(w);
    const uint32_t i = cg__segment_store(w);
    if (w->variant->vector > 1 || w->variant->strategy != IND_STRATEGY_ROW_BLOCK || !i) return vectors;
    const ind_expr apart = ind_expr_sub(cg__segment_start(w, i, 1), cg__segment_start(w, i, 0));
    const int sector = cg__sector_elements(w, i);
    const int64_t lanes = (vectors + sector - 1 + 31) / 32 * 32;
    return ind_known_multiple(apart, sector) && (lanes - vectors) * w->target->thresholds.segment_extra <= vectors
               ? lanes
               : vectors;
}

/* Assigns `each` lanes to a segment, if that leaves at most a sixteenth of the lanes idle. */
static bool cg__take_segments(cg__decider *d, int lanes, int64_t each) {
    const int64_t segments = lanes / each;
    if (!segments || (lanes - segments * each) * d->w.target->thresholds.segment_idle > lanes) return false;
    d->variant->of.row.segments = (int)segments;
    d->variant->of.row.segment_lanes = (int)each;
    return true;
}

/* Chooses whole segments per iteration of so many lanes, if possible; returns the vectors per iteration. (A channel of
   256 segments of 7 x 7 f32 in 512 threads: 96 registers and one block per SM; with whole segments 48 and two. 54 and
   58 % of copy bandwidth, bf16 36 and 47.) */
static int64_t cg__choose_segments(cg__decider *d, int lanes) {
    const int64_t vectors = cg__segment_vectors(&d->w);
    d->variant->of.row.segments = d->variant->of.row.segment_lanes = 0;
    if (!vectors || d->variant->misaligned || d->w.kernel->run || d->plan->handover || cg__returns_positions(&d->w))
        return lanes;
    const bool taken = cg__take_segments(d, lanes, cg__lanes_of_segment(&d->w)) || cg__take_segments(d, lanes, vectors);
    return taken ? cg__row(&d->w)->segments * vectors : lanes;
}

/* 32-bit words per element of the row: staged loads, computed values that are used again, and operands that all rows
   share. */
typedef struct cg__row_value_words {
    double staged, values, common;
} cg__row_value_words;

static cg__row_value_words cg__count_value_words(const ind__writer *w) {
    cg__row_value_words words = {0};
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        double memory = ind_dtype_bytes(cg__inst(w, i)->op == IND_LOOP_LOAD ? cg__memory_dtype(w, i) : IND_F32) / 4.0;
        if (cg__is_staged(w, i))
            words.staged += memory;
        else if (cg__is_row_load(w, i))
            words.common += memory;
        else if (w->plan->resident[i])
            words.values += ind_dtype_bytes((ind_dtype)cg__inst(w, i)->dtype) > 4 ? 2 : 1;
    }
    return words;
}

/* True if the blocks of warp_blocks fit on an SM when a lane keeps its part of the row in words of at least `least`
   bytes. */
static bool cg__warp_blocks_fit(const ind__writer *w, int least) {
    const ind__variant *v = w->variant;
    const int words =
        (int)(cg__count_value_words(w).values * v->per_thread) + cg__misaligned_words(w, v->per_thread, least);
    return (w->target->thresholds.warp_registers + words) * v->threads * w->target->thresholds.warp_blocks <=
           w->target->sm_registers;
}

/* Sets the register limit for rows in the registers of lanes. Without a limit ptxas may also keep values that it
   converted to f32. Then too few blocks are resident to hide memory latency (layer_norm of 1000: bf16 97.9 and 93.6 %
   of copy bandwidth with and without a limit, f16 97.5 and 91.6, H200). The limit is set only if values fit in their
   memory format, but not as f32 (f32: 97.2 % without, 76.6 with a limit). */
static void cg__limit_warp_blocks(cg__decider *d) {
    ind__variant *v = d->variant;
    if (v->misaligned) {
        v->blocks_per_sm =
            d->alternative == 0 ? cg__misaligned_blocks(&d->w, d->w.target->thresholds.least_registers) : 1;
        d->more_alternatives = !d->plan->part && d->alternative == 0 && v->blocks_per_sm > 1;
        if (d->alternative > 0) cg__why(d, "%s; one block per SM, without a register limit", v->why);
        return;
    }
    if (v->of.row.batch || d->w.kernel->run || d->plan->part || !cg__warp_blocks_fit(&d->w, 1) ||
        cg__warp_blocks_fit(&d->w, 4))
        return;
    d->more_alternatives = d->alternative == 0;
    if (d->alternative > 0) return;
    v->blocks_per_sm = d->w.target->thresholds.warp_blocks;
    cg__why(d, "%s; %d resident blocks per SM", v->why, v->blocks_per_sm);
}

/* The fewest threads to try for a row in the registers of a block. For 16-bit elements that are only reduced, two per
   register, a thread has up to 64, so that several blocks fit on an SM, each with its whole row in flight (cross
   entropy of 10007, 12289 and 16001 bf16: 84, 91, 84 % of copy bandwidth with 32 per thread, 103, 104, 102 with 40 to
   64; sum of 10007: 99 and 108; cross entropy of 10000 84 and 104, H200). Not for rows of whole vectors that need fewer
   than 512 threads. For 16-bit elements that are used again a thread has few, if so many threads are allowed:
   cg__may_have_few. */
static int cg__least_threads(ind__writer *w, int64_t longest) {
    const ind__variant *v = w->variant;
    const ind_thresholds *t = &w->target->thresholds;
    const int threads = cg__pow2_at_least(longest / t->block_elements, 32 * t->block_warps, t->block_threads);
    if (cg__may_have_few(w)) {
        const int few = cg__threads_of((longest + v->vector - 1) / v->vector, t->few_elements / v->vector);
        if (few >= 32 * t->block_warps && few <= t->few_threads) return few;
    }
    if (v->vector <= 4 || threads < (v->misaligned ? t->small_block : t->block_threads) || cg__looped_passes(w) > 1)
        return threads;
    const int fewest = cg__threads_of(longest / v->vector, t->most_elements / v->vector);
    return fewest > t->small_block ? fewest : cg__pow2_at_least(fewest, 32 * t->small_warps, t->small_block);
}

/* True if the loads in flight of a row that is only reduced need more registers than a thread has. They do if an
   element is a sum of several loads. */
static bool cg__waits_for_many(const ind__writer *w) {
    return cg__looped_passes(w) == 1 &&
           cg__waiting_registers(w) + w->target->thresholds.other_registers > w->target->registers_per_thread;
}

/* Plans a row in the registers of a block; false if it is too long. */
static bool cg__choose_row_block(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    const ind_thresholds *t = &d->w.target->thresholds;
    double words = cg__resident_words(&d->w);
    if (longest > t->register_row || cg__likely_row(&d->w) * t->likely_part < longest) return false;
    for (int threads = cg__least_threads(&d->w, longest); threads <= IND__CG_MAX_THREADS; threads *= 2) {
        v->strategy = IND_STRATEGY_ROW_BLOCK;
        int64_t per_vector = cg__choose_segments(d, threads) * v->vector;
        int64_t per_thread = (longest + (v->misaligned ? -v->vector : -1) + per_vector) / per_vector * v->vector;
        if (per_thread > t->most_elements || words * (double)per_thread > cg__row_registers(&d->w, threads)) continue;
        if (v->misaligned &&
            cg__misaligned_words(&d->w, (int)per_thread, 3) + t->other_registers > d->w.target->sm_registers / threads)
            continue;
        v->strategy = IND_STRATEGY_ROW_BLOCK;
        v->threads = threads;
        v->rows = 1;
        v->per_thread = (int)per_thread;
        if (cg__waits_for_many(&d->w)) continue;
        if (v->misaligned) v->threads = cg__threads_of(longest / v->vector, (int)per_thread / v->vector);
        cg__why(d, "rows of at most %lld elements fit into the registers of a block", (long long)longest);
        cg__fit_threads(d);
        if (cg__limit_blocks(d)) return true;
        v->of.row.fitted = (ind_expr){0};
        break;
    }
    v->of.row.segments = 0;
    return false;
}
