static bool cg__reads_broadcast(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->varies[i] & cg__r_mask(w) && cg__is_broadcast(w, i))
            return true;
    return false;
}

/* True if every load that varies along the row and from row to row is copied by cp.async. Broadcast loads, of which all
   vectors of a warp take one element, are read where they are used: one sector bypasses shared memory for 512 bytes
   that are copied. */
static bool cg__can_stage(const ind__writer *w) {
    const bool whole_warps = ind_hint(w->plan->domain.extent[cg__num_vars(w) - 1]) >= 32 * w->variant->vector;
    bool any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (inst->op == IND_LOOP_STORE && !(w->plan->varies[i] & cg__r_mask(w)) && cg__stores_over(w, i)) return false;
        bool row = w->plan->varies[i] & cg__r_mask(w) && w->plan->varies[i] & cg__p_mask(w);
        if (inst->op != IND_LOOP_LOAD || !row) continue;
        if (!cg__is_staged(w, i) && !(cg__is_broadcast(w, i) && whole_warps)) return false;
        any |= cg__is_staged(w, i);
    }
    return any && !ind__expr_has_kind(cg__p_numel(w), IND_SYMBOL_UNBACKED);
}

static int64_t cg__staged_bytes(const ind__writer *w) {
    return (int64_t)cg__row(w)->stage.num * 16 * cg__staged_words(w, w->body->num_inst) * w->variant->threads;
}

/* Bytes of a block's shared memory besides the rows: states of even and of odd rows, its own and the received ones, and
   barriers. */
static int64_t cg__exchange_bytes(const ind__writer *w) {
    const ind__variant *v = w->variant;
    const int states = cg__exchanges_by_warp(w) ? cg__exchange_states(w) : v->threads / 32 + v->of.row.cluster;
    const int64_t bytes = (int64_t)2 * states * cg__state_bytes(w) + 16 * cg__num_combine_steps(w);
    return (bytes + IND__CG_LINE_BYTES - 1) / IND__CG_LINE_BYTES * IND__CG_LINE_BYTES;
}

/* Sets the elements of a row per thread of the cluster. */
static void cg__share_row(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    const int64_t per_vector = cg__choose_segments(d, v->threads * v->of.row.cluster) * v->vector;
    const int rest = v->misaligned ? v->vector : 1; /* the last elements of a misaligned row are edges */
    v->per_thread = (int)((longest + per_vector - rest) / per_vector) * v->vector;
}

/* True if each block has the capacity for its part of `stages` rows, and a lane for each edge of a row. */
static bool cg__has_stage_capacity(const ind__writer *w) {
    int64_t capacity = w->target->shared_per_sm / w->variant->blocks_per_sm - w->target->block_shared;
    if (capacity > w->target->shared_per_block) capacity = w->target->shared_per_block;
    return cg__staged_bytes(w) + cg__exchange_bytes(w) <= capacity && cg__edge_rounds(w) < 2;
}

/* The smallest cluster whose blocks have the capacity for `stages` rows each, with `blocks` of them on an SM and a lane
   for each edge of a row; false: none. */
static bool cg__choose_cluster(cg__decider *d, int64_t longest, int threads, int blocks, int stages) {
    ind__variant *v = d->variant;
    v->threads = threads;
    v->blocks_per_sm = blocks;
    v->of.row.stage.num = stages;
    for (v->of.row.cluster = 1; v->of.row.cluster <= d->max_cluster; v->of.row.cluster *= 2) {
        cg__share_row(d, longest);
        if (cg__has_stage_capacity(&d->w)) return true;
    }
    return false;
}

/* 32-bit words per element that a thread keeps in registers. Values replace the elements that they are computed
   from. */
static double cg__staged_resident_words(const cg__row_value_words *words, int in_registers, bool once) {
    double sum = in_registers ? words->values : 0;
    if (in_registers == 2 && sum < words->staged) sum = words->staged;
    return once ? sum + words->common : sum;
}

/* Registers per thread of ROW_STAGED for kept words. */
static int cg__staged_registers(const ind__writer *w) {
    const ind__variant *v = w->variant;
    const int other =
        w->target->thresholds.staged_registers + (v->misaligned ? w->target->thresholds.edge_registers : 0);
    const int warps = (v->threads / 32 * v->blocks_per_sm + 3) / 4; /* per quarter of an SM */
    const int each = w->target->sm_registers / 4 / (32 * warps);
    return (each < 255 ? each : 255) - other;
}

/* Registers left of these. */
static int cg__spare_registers(const ind__writer *w) {
    const ind__variant *v = w->variant;
    const cg__row_value_words words = cg__count_value_words(w);
    return cg__staged_registers(w) -
           (int)ceil(cg__staged_resident_words(&words, v->of.row.stage.in_registers, v->of.row.stage.once) *
                     v->per_thread);
}

/* Chooses the values that a thread keeps in registers, the most useful first. Otherwise operands that all rows share
   are read again from the L2 for each row, which for a norm's weights is as much as the row itself. Values are computed
   again. The row is read again from shared memory, which costs least. For misaligned 16-bit rows, a cluster's block
   that is alone on its SM uses too many registers with both row and shared operands (layer_norm of 200003 f16 83 and 85
   % of copy bandwidth, bf16 86 and 86). */
static bool cg__choose_staged_resident(cg__decider *d) {
    static const struct {
        int in_registers;
        bool once;
    } order[] = {{2, true}, {1, true}, {2, false}, {1, false}, {0, false}};
    enum { N = sizeof order / sizeof *order };
    ind__variant *v = d->variant;
    const cg__row_value_words words = cg__count_value_words(&d->w);
    const int registers = cg__staged_registers(&d->w);
    const bool crowded = v->misaligned && v->vector > 4 && v->blocks_per_sm == 1 && v->of.row.stage.num > 1 &&
                         cg__exchanges_by_warp(&d->w) && cg__num_combine_steps(&d->w) > 1;
    int seen = 0;
    for (int o = 0; o < N; o++) {
        const double needed = cg__staged_resident_words(&words, order[o].in_registers, order[o].once);
        if (cg__frees_stage_early(&d->w) ? order[o].in_registers < 2 || needed * v->per_thread > registers
                                         : needed * v->per_thread > registers && o < N - 1)
            continue;
        if (!v->of.row.stage.persistent && (order[o].in_registers == 2 || (order[o].once && v->misaligned))) continue;
        if (crowded && order[o].in_registers == 2 && order[o].once) continue;
        if (order[o].once ? words.common == 0 : order[o].in_registers == 1 && words.values == 0) continue;
        if (seen <= d->alternative)
            v->of.row.stage.in_registers = order[o].in_registers, v->of.row.stage.once = order[o].once;
        d->more_alternatives = seen++ > d->alternative;
    }
    if (v->of.row.stage.persistent && v->of.row.stage.num > 1) return true;
    d->more_alternatives = seen > d->alternative; /* the next fallback is another strategy */
    if (!d->more_alternatives && !v->of.row.stage.persistent) d->alternative -= seen;
    return d->more_alternatives;
}

/* True if a thread has the registers for `words` words per element. */
static bool cg__holds(const ind__writer *w, double words) {
    return words * w->variant->per_thread <= cg__staged_registers(w);
}

/* Doubles the blocks per row until their threads can keep `words` per element. Read from the L2 for each row,
   layer_norm's weights take as long as the row (99991 f32 on an H200: 70 and 85 % of copy bandwidth). */
static void cg__widen_cluster(cg__decider *d, int64_t longest, double words) {
    ind__variant *v = d->variant;
    const ind__variant before = *v;
    while (!cg__holds(&d->w, words) && v->of.row.cluster < d->max_cluster) {
        v->of.row.cluster *= 2;
        cg__share_row(d, longest);
    }
    if (!cg__holds(&d->w, words)) *v = before;
}

/* Clusters of 2 or 4 blocks for rows with several combine steps and without weights. Of these it takes the one that
   uses most shared memory of an SM, and of equal ones that with more blocks. (Softmax, % of copy bandwidth, with
   persistent blocks and with these: 65536 bf16 90 and 96, f32 96 and 96, 32768 f32 93 and 97, 98304 bf16 89 and 97,
   131072 bf16 91 and 94. With 8 blocks, which wait longer for one another, it is 1 % faster to 1 % slower. With
   weights, which each block reads, 94 to 96 and 80 to 88; with one combine step 88 to 91 and 81 to 88.) */
static bool cg__fit_clusters(cg__decider *d, int64_t longest) {
    const cg__row_value_words words = cg__count_value_words(&d->w);
    const ind_thresholds *t = &d->w.target->thresholds;
    ind__variant best = *d->variant;
    int64_t most = 0;
    if (words.common > 0 || cg__num_combine_steps(&d->w) < 2) return false;
    for (int blocks = 4; blocks > 1; blocks--) {
        if (!cg__choose_cluster(d, longest, blocks > 2 ? t->turn_threads : t->block_threads, blocks, 1)) continue;
        if (cg__row(&d->w)->cluster < 2 || cg__row(&d->w)->cluster > t->turn_cluster ||
            blocks * cg__staged_bytes(&d->w) <= most)
            continue;
        most = blocks * cg__staged_bytes(&d->w);
        best = *d->variant;
    }
    *d->variant = best;
    return most > 0;
}

/* True if one block of `threads` has the capacity for a row of `least` bytes or more, and an SM for `blocks` such
   blocks. */
static bool cg__fits_block(cg__decider *d, int64_t longest, int threads, int blocks, int64_t least) {
    return cg__choose_cluster(d, longest, threads, blocks, 1) && cg__row(&d->w)->cluster == 1 &&
           cg__staged_bytes(&d->w) >= least;
}

/* True if rows are misaligned and have weights, which are then loaded where they are used and combined from two
   vectors. */
static bool cg__loads_at_use(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->across[i] && cg__inst(w, i)->op == IND_LOOP_LOAD && !(w->plan->varies[i] & cg__p_mask(w)))
            return w->variant->misaligned;
    return false;
}

/* True if the L1 has so many bytes besides the rows of the blocks. L1 and shared memory are one memory, 28 KB larger
   than the part that blocks may use (H200: 256 and 228, A100: 192 and 164, L4: 128 and 100). */
static bool cg__l1_holds(const ind__writer *w, double bytes) {
    return bytes <= (double)w->target->l1_bytes - (double)(w->variant->blocks_per_sm * cg__staged_bytes(w));
}

/* Misaligned rows with weights, of 16-bit elements or with several combine steps: small blocks at 64 registers per
   thread, as many as an SM has the registers for, so that others work while one waits for a combine step and then for
   its weights. A third of the memory must remain as L1 for the weights; or three blocks, and a quarter. % of copy
   bandwidth on an H200, in registers or in two blocks of 512, and with these: layer_norm of 5003, 6151, 9001, 10007,
   12289, 16001 and 20011 bf16 80, 87, 71, 67, 76, 83, 89 and 93, 95, 91, 94, 94, 91, 91, of 8209 and 12289 f32 82, 89
   and 95, 94; rms_norm of 14009 and 16001 bf16 90, 93 and 99, 98. */
static bool cg__fit_loads_at_use(cg__decider *d, int64_t longest) {
    const int64_t capacity = d->w.target->shared_per_sm;
    const ind_thresholds *t = &d->w.target->thresholds;
    const bool several = cg__num_combine_steps(&d->w) > 1;
    if (!several && d->variant->vector <= 4) return false;
    if (longest <= t->shifted_threads * t->most_elements &&
        cg__fits_block(d, longest, t->shifted_threads, t->shifted_blocks, 0))
        return true;
    if (cg__fits_block(d, longest, t->turn_threads, 4, 0) &&
        4 * cg__staged_bytes(&d->w) <= capacity - capacity / t->four_share)
        return true;
    return several && cg__fits_block(d, longest, t->turn_threads, 3, 0) &&
           3 * cg__staged_bytes(&d->w) <= capacity - capacity / t->three_share;
}

/* One block per row, two or three of which fit on an SM: while one waits for loads, combine steps or stores, the rows
   of others are in flight, and registers wait for nothing. The hardware gives the next row to the block that finishes
   first, while some persistent blocks have one row more than others (4096 rows on 132 SMs: 32 and 31). Three blocks of
   256 threads have twice the bytes that must be in flight, two of 512 four times. With one combine step each has as
   many, as weights are in flight with the row, in registers. With weights in half of its registers such a block may be
   alone. Weights that are read late should be in the L1, which then has a third of the memory. % of copy bandwidth on
   an H200, in registers or with persistent blocks, and with these: softmax of 12288, 16384, 24576 and 32768 bf16 88,
   97, 88, 88 and 100, 100, 99, 99; rms_norm of 24576 and 32768 bf16 88, 96 and 100, 100, of 65536 92 and 97; layer_norm
   of 12288, 24576 and 32768 bf16 89, 89, 90 and 100, 95, 97, of 16384 f32 88 and 98. Not layer_norm of 49152 bf16,
   whose weights then come from the L2 (94 and 88), and rms_norm of 49152 f32 (96 and 92).
     Misaligned rows read weights where they are used: with one combine step rms_norm of 32771 bf16 86 and 96, of
     12289 f32 84 and 99. But rows that fit in registers remain there if their weights are not in the L1 (of 20011 f32
   93 and 96, of 24593 96 and 85). */
static bool cg__fit_row(cg__decider *d, int64_t longest) {
    const ind_thresholds *t = &d->w.target->thresholds;
    const bool late = cg__loads_at_use(&d->w);
    const cg__row_value_words words = cg__count_value_words(&d->w);
    const ind__variant before = *d->variant;
    const bool several = cg__num_combine_steps(&d->w) > 1, weights = words.common > 0, shifted = before.misaligned;
    const int64_t in_flight = cg__bytes_in_flight(&d->w) / d->w.target->num_sms;
    const bool across = several && weights && shifted;
    if (late && cg__fit_loads_at_use(d, longest)) return true;
    if ((!across || before.vector <= 4) &&
        cg__fits_block(d, longest, t->block_threads, 2, several && !across ? 2 * in_flight : in_flight) &&
        (several && weights ? cg__staged_bytes(&d->w) <= d->w.target->shared_per_sm / t->weights_share
         : late             ? longest > (int64_t)t->full_threads * t->alone_elements ||
                      cg__l1_holds(&d->w, words.common * 4 * (double)longest)
                : several || shifted || cg__holds(&d->w, words.common)))
        return true;
    if (!across && cg__fits_block(d, longest, t->turn_threads, t->turn_blocks, 2 * in_flight / 3)) return true;
    if (!several && !shifted && cg__fits_block(d, longest, t->block_threads, 1, in_flight) &&
        words.common * d->variant->per_thread <= t->row_registers)
        return true;
    if (cg__fit_clusters(d, longest)) return true;
    *d->variant = before;
    return false;
}

/* Clusters of 4 for misaligned 16-bit rows with several combine steps and weights, if a thread has four vectors of
   each, which it keeps in registers with the weights. Blocks then wait for others once, and others on the same SM work
   meanwhile. As many threads as have the registers: two weights are 32 words, for which three blocks of 288 threads
   have 72 registers each; with the row 48 words, for which two of 320 have 96. (layer_norm on an H200, % of copy
   bandwidth, two blocks of 256 in clusters of 2 and these: 32003, 36007 and 40009 bf16 85, 85, 85 and 89, 87, 90, f16
   85, 79, 85 and 88, 87, 89. With five vectors 49157 bf16 89 and 66; with three, instead of one block per row, 24593 88
   and 78. So not if rows of a variant may be shorter.) */
static bool cg__fit_four(cg__decider *d, int64_t longest, int threads, int blocks) {
    ind__variant *v = d->variant;
    const cg__row_value_words words = cg__count_value_words(&d->w);
    const int cluster = d->w.target->thresholds.turn_cluster;
    if (d->max_cluster < cluster || !cg__choose_cluster(d, longest, threads, blocks, 2) || v->of.row.cluster > cluster)
        return false;
    v->of.row.cluster = cluster;
    cg__share_row(d, longest);
    return v->per_thread == d->w.target->thresholds.loop_steps * v->vector && cg__has_stage_capacity(&d->w) &&
           cg__holds(&d->w, words.values + words.common);
}

/* One block of 512 threads per SM, whose registers can keep the operands that all rows share. But threads take as long
   for 16-bit elements as for 32-bit ones, so copies hide less of the wait at combine steps. With several of these and
   no shared operands, three blocks of 256 threads alternate, in clusters of twice the size. (Rows with weights: two
   blocks of 512 threads took 1 to 7 % longer than one, layer_norm of 65536 to 262144 bf16. Misaligned rows with
   weights: two blocks of 256 threads in clusters of 4 took 2 % less than one in clusters of 2, and 4 % longer in larger
   ones. Of 16-bit elements in clusters of 2 they took less than one alone: layer_norm of 32003, 36007 and 40009 bf16
   85, 75, 84 and 87, 87, 87 % of copy bandwidth. With one combine step they took 2 to 4 % less than one in clusters of
   4, and as much longer than one in clusters of 2: rms_norm of 98317 f32 84 and 87, of 40009 90 and 88. Without weights
   one block is as fast there, 65537 to 262147.) If more than 8 blocks would wait for one another and registers can keep
   a row, one row is in registers and one in shared memory, with half the blocks: softmax of 262147 f32 86 and 90 % of
   copy bandwidth. */
static bool cg__fit_staged(cg__decider *d, int64_t longest) {
    const cg__row_value_words words = cg__count_value_words(&d->w);
    const bool several = cg__num_combine_steps(&d->w) > 1;
    const ind_thresholds *t = &d->w.target->thresholds;
    if (!cg__choose_cluster(d, longest, t->block_threads, 1, 2))
        return cg__choose_cluster(d, longest, t->block_threads, 1, 1);
    const ind__variant one = *d->variant;
    if (words.common > 0) {
        const bool turns =
            one.misaligned &&
            (several ? one.of.row.cluster == 2 || (one.of.row.cluster < 2 && one.vector > 4) : one.of.row.cluster > 2);
        if (turns && several && one.vector > 4 && ind_expr_is_int(cg__r_numel(&d->w), NULL) &&
            (cg__fit_four(d, longest, 288, 3) || cg__fit_four(d, longest, 320, 2)))
            return true;
        if (turns && cg__choose_cluster(d, longest, t->turn_threads, 2, 2) &&
            cg__holds(&d->w, words.values + words.common))
            return true;
        *d->variant = one;
        cg__widen_cluster(d, longest, words.values + words.common);
        return true;
    }
    if (!one.misaligned && one.vector > 4 && one.of.row.cluster > 1 && several &&
        cg__choose_cluster(d, longest, t->turn_threads, t->turn_blocks, 2))
        return true;
    *d->variant = one;
    if (one.of.row.cluster <= t->wide_cluster || cg__copies_beside(&d->w)) return true;
    if (!cg__choose_cluster(d, longest, t->block_threads, 1, 1) ||
        !cg__holds(&d->w, words.values > words.staged ? words.values : words.staged))
        *d->variant = one;
    return true;
}

/* Treats rows of whole vectors, whose length is not a multiple of a line, as misaligned rows whose vectors start at
   lines, with elements of vectors as edges (softmax of 65544 bf16 on an H200: 75 and 88 % of copy bandwidth). False if
   that is impossible. */
static bool cg__start_at_lines(cg__decider *d) {
    ind__variant *v = d->variant;
    if (v->misaligned || v->vector == 1 || d->plan->domain.rrank != 1 || !d->assume ||
        !ind_expr_is_int(cg__r_numel(&d->w), NULL))
        return false;
    const uint32_t leader = cg__shift_leader(&d->w, v->vector);
    if (!leader || !cg__start_known(&d->w, leader)) return false;
    const int line = IND__CG_LINE_BYTES / ind_dtype_bytes(cg__memory_dtype(&d->w, leader));
    if (ind_known_multiple(cg__row_start(&d->w, leader), line)) return false;
    d->plan->leader = leader;
    return v->misaligned = d->plan->starts_misaligned = true;
}

/* Reduces the threads of a cluster's block to those that its iterations need, if that saves a tenth. 200003 elements
   are 6.1 vectors for each of 4096 lanes: one block takes the seventh, and the others wait for it (layer_norm, f16 80
   and 85 % of copy bandwidth, bf16 82 and 86; 100000 bf16 88 and 90). */
static void cg__trim_cluster(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    const ind__variant before = *v;
    if (v->of.row.cluster < 2 || v->of.row.segments) return;
    const int64_t vectors = (longest - (v->misaligned ? v->vector : 1)) / v->vector + 1; /* the rest are edges */
    v->threads = cg__threads_of((vectors + v->of.row.cluster - 1) / v->of.row.cluster, v->per_thread / v->vector);
    cg__share_row(d, longest);
    if (v->threads * 100 > before.threads * d->w.target->thresholds.trim_percent || v->per_thread > before.per_thread ||
        !cg__has_stage_capacity(&d->w))
        *v = before;
}

/* A block for a range of row lengths has as many warps as the row of the launch needs, at least a lane for each edge,
   and as much shared memory. */
static void cg__fit_staged_threads(cg__decider *d) {
    ind__variant *v = d->variant;
    if (v->of.row.stage.persistent || v->of.row.cluster > 1) return;
    cg__fit_threads(d);
    if (!ind__ok(v->of.row.fitted)) return;
    const int edges = v->misaligned ? cg__boundary(&d->w) + cg__misaligned_reach(&d->w) - 2 : 1;
    const ind_expr least = ind_int(d->w.context, (edges + 31) / 32 * 32), most = ind_int(d->w.context, v->threads);
    v->of.row.fitted = ind_expr_max(least, ind_expr_min(most, v->of.row.fitted));
}

static bool cg__stage_rows(cg__decider *d, int64_t longest, bool persistent) {
    ind__variant *v = d->variant;
    const ind__variant before = *v;
    const ind_thresholds *t = &d->w.target->thresholds;
    if (longest > t->staged_row || cg__likely_row(&d->w) * t->likely_part < longest || d->plan->part ||
        d->w.kernel->run)
        return false;
    v->strategy = IND_STRATEGY_ROW_STAGED;
    v->of.row.stage.persistent = persistent;
    v->of.row.stage.once = v->misaligned; /* assumed while fitting; cg__choose_staged_resident decides */
    v->rows = 1;
    const bool fits = v->vector > 1 && cg__looped_passes(&d->w) >= 2 && cg__can_stage(&d->w) &&
                      (persistent ? cg__fit_staged(d, longest) : cg__fit_row(d, longest));
    if (fits) cg__trim_cluster(d, longest);
    if (!fits || !cg__choose_staged_resident(d)) {
        *v = before;
        return false;
    }
    v->of.row.stage.resident = persistent ? d->w.target->num_sms * v->blocks_per_sm / v->of.row.cluster : 0;
    v->of.row.stage.items = cg__p_numel(&d->w);
    const int64_t bytes = cg__staged_bytes(&d->w);
    v->grid[0] = ind__staged_grid(v);
    v->grid[1] = v->grid[2] = ind_int(d->w.context, 1);
    static const char *const part[] = {"nothing", "values computed from the row", "the row"};
    char owner[32] = "a block";
    if (v->of.row.cluster > 1) snprintf(owner, sizeof owner, "a cluster of %d blocks", v->of.row.cluster);
    cg__why(d, "rows of at most %lld elements are staged in the shared memory of %s; %s; in registers: %s%s",
            (long long)longest, owner,
            persistent ? "persistent blocks copy the next row meanwhile" : "other blocks of the SM compute meanwhile",
            part[v->of.row.stage.in_registers], v->of.row.stage.once ? ", operands that all rows share" : "");
    cg__fit_staged_threads(d);
    v->memory.shared = ind__ok(v->of.row.fitted)
                           ? ind_expr_mul(v->of.row.fitted, ind_int(d->w.context, bytes / v->threads))
                           : ind_int(d->w.context, bytes);
    return true;
}

static bool cg__choose_row_staged(cg__decider *d, int64_t longest, bool persistent) {
    const ind__variant before = *d->variant;
    if (cg__start_at_lines(d)) {
        if (cg__stage_rows(d, longest, persistent) && cg__boundary(&d->w) > d->variant->vector) return true;
        *d->variant = before;
    }
    return cg__stage_rows(d, longest, persistent);
}
