/* True if a block with a misaligned row would be alone on an SM, or lacks the registers, and should stage the row in
   shared memory. With one combine step a block alone is as fast in registers (rms_norm of 32771, in registers and
   staged: bf16 0.91 and 0.83 of copy bandwidth, f32 0.94 and 0.85, H200). With two it is not (softmax of 16411: f32,
   alone, 0.83 and 0.89; bf16, two blocks, 0.91 and 0.74). */
static bool cg__misaligned_alone(cg__decider *d, int64_t longest) {
    const ind__variant before = *d->variant;
    const int alternative = d->alternative;
    const bool several = cg__num_combine_steps(&d->w) > 1;
    d->alternative = 0;
    const bool resident = cg__choose_row_block(d, longest), alone = d->variant->blocks_per_sm < 2;
    *d->variant = before;
    d->alternative = alternative;
    d->more_alternatives = false;
    return !resident || (alone && several);
}

/* True if one block has the shared memory for two rows. */
static bool cg__stages_alone(cg__decider *d, int64_t longest) {
    const ind__variant before = *d->variant;
    d->variant->strategy = IND_STRATEGY_ROW_STAGED;
    const bool one =
        cg__choose_cluster(d, longest, d->w.target->thresholds.block_threads, 1, 2) && cg__row(&d->w)->cluster == 1;
    *d->variant = before;
    return one;
}

/* Plans a row that is loaded once. Two blocks of 512 threads with 32 elements each fill the registers of an SM. With
   longer rows a block is alone there, and no data moves during its combine steps. With several of these that costs more
   than copying the next row meanwhile. Not if the copy takes a cluster and broadcast loads bypass it (group_norm of
   32768: f32 92 % of copy bandwidth in registers, 89 in clusters of two; bf16 83 and, in one block, 90). Above 32768
   elements 1024 threads lack the registers. */
static bool cg__choose_row_shared(cg__decider *d, int64_t longest) {
    const ind_thresholds *t = &d->w.target->thresholds;
    const int64_t largest = (int64_t)t->full_threads * t->alone_elements;
    bool alone = longest > largest ||
                 (longest > (int64_t)t->block_threads * t->alone_elements && cg__num_combine_steps(&d->w) > 1);
    if (d->variant->misaligned) alone = cg__misaligned_alone(d, longest);
    if (alone && cg__reads_broadcast(&d->w)) alone = longest > largest || cg__stages_alone(d, longest);
    if (alone && cg__choose_row_staged(d, longest, true)) return true;
    return cg__choose_row_block(d, longest) || cg__choose_row_staged(d, longest, true);
}

/* Rows with more than 16 elements per thread of 512 threads are staged in shared memory, beside those of other blocks,
   instead of kept in registers: shorter rows are as fast in registers (of 8192, 99 to 100 % of copy bandwidth), and
   with longer ones registers allow few blocks. Misaligned 16-bit rows with late operands and several combine steps are
   staged above 32 elements per thread of 128 (layer_norm of 4099 and 5003 bf16: 99 and 80 in registers). Fallbacks that
   are not staged come after those that differ in the values kept in registers. */
static bool cg__choose_row_known(cg__decider *d, int64_t longest) {
    const int alternative = d->alternative;
    const bool late = d->variant->vector > 4 && cg__num_combine_steps(&d->w) > 1 && cg__loads_at_use(&d->w);
    const ind_thresholds *t = &d->w.target->thresholds;
    const bool waits = longest > (late ? t->shifted_threads * t->alone_elements + 2 * d->variant->vector
                                       : t->block_threads * t->waiting_elements);
    const bool found = (waits && cg__choose_row_staged(d, longest, false)) || cg__choose_row_shared(d, longest);
    d->alternative = alternative;
    return found;
}

/* True if the row, which is too long for a warp, may be assumed to have about the hinted length. */
static bool cg__assumes_length(const cg__decider *d) {
    const ind_expr row = cg__r_numel(&d->w);
    return d->assume & IND__ASSUME_LENGTH && !d->w.kernel->run && ind__expr_is_size(row) &&
           !ind_expr_is_int(row, NULL) && !ind__expr_has_kind(row, IND_SYMBOL_UNBACKED) &&
           (d->variant->range.to || ind_hint(row) > IND__WARP_ROW);
}

/* Adds this assumption as a guard and returns the longest row under it: the range of the variant, or up to the hinted
   length in whole warps of vectors, and at least so much that of up to four iterations all but the last are whole. The
   guard is the same for all fallbacks. */
static int64_t cg__guard_length(cg__decider *d) {
    ind_context *c = d->w.context;
    const ind_expr row = cg__r_numel(&d->w), before = d->variant->guard;
    const ind_thresholds *t = &d->w.target->thresholds;
    int64_t longest = (ind_hint(row) + t->length_step - 1) / t->length_step * t->length_step,
            most = cg__upper_bound(row);
    if (d->variant->range.to) longest = d->variant->range.to;
    if (longest > most) longest = most;
    d->plan->row_from = d->variant->range.to ? d->variant->range.from
                                             : longest / 4 * t->length_quarters +
                                                   16; /* elements before the first boundary and after the last */
    if (!cg__guard(d->variant, ind_expr_le(row, ind_int(c, longest))) ||
        !cg__guard(d->variant, ind_expr_le(ind_int(c, d->plan->row_from), row)))
        cg__fail(&d->w);
    if (before.id != d->variant->guard.id) d->used |= IND__ASSUME_LENGTH;
    return longest;
}

/* If the number of iterations is known, all loads of a thread start at once, and only the last iteration's are
   conditional. If a row may have fewer iterations, each is a branch, and threads idle. Then looping over the row is
   faster; later passes find it in a cache (symbolic rows of up to 8192 bf16 on an H200, 4096 long, softmax, rms_norm,
   layer_norm: in registers 79, 72, 45 % of copy bandwidth, looped 88, 98, 73). */
static bool cg__choose_row_resident(cg__decider *d, int64_t longest) {
    const ind__variant before = *d->variant;
    const bool known =
        ind_expr_is_int(cg__r_numel(&d->w), NULL) || cg__assumes_length(d) || d->w.kernel->run || d->plan->part;
    if (!cg__choose_row_known(d, longest)) return false;
    if (known || d->variant->strategy == IND_STRATEGY_ROW_STAGED ||
        cg__whole_rounds(&d->w) + 1 >= d->variant->per_thread / d->variant->vector)
        return true;
    *d->variant = before;
    d->more_alternatives = false;
    return false;
}

/* True if a cluster of blocks may loop over a row. All its blocks must run, and none may store a row result over
   elements that others still read. */
static bool cg__can_cluster(const cg__decider *d) {
    if (d->plan->part || d->w.kernel->run || d->max_cluster < 2 || !d->plan->domain.rrank) return false;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++)
        if (cg__inst(&d->w, i)->op == IND_LOOP_STORE && !(d->plan->varies[i] & cg__r_mask(&d->w)) &&
            cg__stores_over(&d->w, i))
            return false;
    return cg__num_combine_steps(&d->w) > 0;
}

/* Blocks that share a looped row: the fewest that give nearly all SMs a block. */
static int cg__looped_cluster(const cg__decider *d) {
    const int64_t rows = ind_hint(cg__p_numel(&d->w)), fill = d->w.target->num_sms - d->w.target->num_sms / 8;
    const double bytes = (double)ind_hint(cg__r_numel(&d->w)) * cg__element_bytes(&d->w);
    int n = 1;
    if (!cg__can_cluster(d)) return 1;
    while (2 * n <= d->max_cluster && rows < fill / n && bytes / (2 * n) >= d->w.target->thresholds.looped_bytes)
        n *= 2;
    return n;
}

/* Registers of a thread that loops over a row in one pass and combines chunk by chunk: 64 bytes of loads in flight, as
   32-bit values, and the rest (bf16 56, f32 40, or 48 in a launch that runs a second kernel). */
static double cg__loop_registers(const ind__writer *w) {
    const ind_thresholds *t = &w->target->thresholds;
    const double registers = t->other_registers + (double)t->loop_flight / cg__element_bytes(w);
    return w->plan->handover && registers < t->loop_registers ? t->loop_registers : registers;
}

/* Average share of occupied slots for blocks of so many threads, if the rows take several waves; 1 if all rows are
   resident at once. */
static double cg__occupied_slots(const ind__writer *w, double rows, int threads) {
    const double blocks = floor(w->target->sm_registers / (cg__loop_registers(w) * threads));
    const double turns = rows / (blocks * w->target->num_sms);
    return turns > 1 ? turns / ceil(turns) : 1;
}

/* True if a thread of 1024 lacks registers: a variance, whose state has three words, along a row of unknown length (var
   of f16 or f32, one row: 64 or 80 bytes of local memory, NVRTC 13.0, sm_90a; 512 threads, or a known length: none). */
static bool cg__lacks_loop_registers(const ind__writer *w) {
    if (ind_expr_is_int(cg__r_numel(w), NULL)) return false;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_REDUCE && cg__state_bytes_of(w, i) > 8) return true;
    return false;
}

/* The most threads of a block that loops over a row. With one pass that combines chunk by chunk, more and smaller
   blocks wait less for last iterations and combine steps (cross entropy with 512 and 256 threads, % of copy bandwidth
   on an H200: 36007, 57601, 65536 bf16 85, 87, 97 and 92, 96, 100; 120011 f32 88 and 98), unless many slots are idle in
   the last wave (671 rows of 200003 bf16 89 and 77, 1118 of 120011 91 and 85, 838 of 80021 f32 90 and 80; but 291 of
   230003 f32, which are all resident at once, 79 and 94). */
static int cg__most_loop_threads(ind__writer *w, int64_t rows) {
    const ind_thresholds *t = &w->target->thresholds;
    if (rows < 2 * w->target->num_sms && !cg__lacks_loop_registers(w)) return IND__CG_MAX_THREADS;
    if (cg__looped_passes(w) > 1 || !cg__combines_chunks(w)) return t->loop_threads;
    const double few = cg__occupied_slots(w, (double)rows, t->loop_threads),
                 many = cg__occupied_slots(w, (double)rows, t->loop_small);
    return many + t->loop_idle / 100.0 < few ? t->loop_threads : t->loop_small;
}

/* Why a row is not kept in registers. */
static const char *cg__too_long(const ind__writer *w) {
    return ind_expr_is_int(cg__r_numel(w), NULL) ? "rows do not fit into registers" : "rows may not fit into registers";
}

/* Plans a block that loops over each row, with at least four iterations per thread. */
static void cg__choose_row_looped(cg__decider *d) {
    ind__variant *v = d->variant;
    int64_t length = cg__likely_row(&d->w), rows = ind_hint(cg__p_numel(&d->w));
    v->strategy = IND_STRATEGY_ROW_LOOPED;
    v->rows = 1;
    v->per_thread = v->vector;
    v->threads = cg__pow2_at_least(length / (v->vector * d->w.target->thresholds.loop_steps), 32,
                                   cg__most_loop_threads(&d->w, rows));
    if (cg__knows_at_launch(&d->w)) cg__fit_loop_threads(d);
    cg__why(d, "%s: a block loops over each", cg__too_long(&d->w));
    if (rows < d->w.target->num_sms) cg__why(d, "%s; there are fewer rows than SMs", v->why);
    v->of.row.cluster = cg__looped_cluster(d);
    if (v->of.row.cluster < 2) return;
    v->of.row.fitted = (ind_expr){0};
    cg__why(d, "%s: a cluster of %d blocks loops over each", cg__too_long(&d->w), v->of.row.cluster);
}
