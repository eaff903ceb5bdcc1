/* ---- short rows: lanes per row, and rows whose loads the same lanes have in flight together */

#define IND__CG_MAX_BATCH 8 /* rows per group of lanes whose loads are in flight together */

/* Work of a kernel per row. */
typedef struct cg__row_work {
    int loads, stores; /* per element */
    int bytes;         /* loaded per vector of a row */
    int once;          /* instructions per row */
    double words;      /* cg__resident_words */
    bool few;          /* one warp per row does not fill the GPU */
} cg__row_work;

/* Likely number of rows. Rows of another length than the hinted one are assumed to have as many elements in total. */
static int64_t cg__likely_rows(const ind__writer *w) {
    const int64_t rows = ind_hint(cg__p_numel(w)), likely = cg__likely_row(w);
    return w->variant->range.to ? (int64_t)((double)rows * (double)ind_hint(cg__r_numel(w)) / (double)likely) : rows;
}

static cg__row_work cg__find_row_work(const ind__writer *w) {
    cg__row_work x = {.words = cg__resident_words(w)};
    x.few = cg__likely_rows(w) < (int64_t)w->target->num_sms * w->target->sm_threads / 32;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const uint8_t op = cg__inst(w, i)->op;
        x.once += op != IND_LOOP_CONSTANT && !(w->plan->varies[i] & cg__r_mask(w));
        if (!cg__is_access(w, i) || !(w->plan->varies[i] & cg__r_mask(w))) continue;
        x.stores += op == IND_LOOP_STORE;
        if (op == IND_LOOP_STORE || !(w->plan->varies[i] & cg__p_mask(w))) continue; /* the same for all rows: cached */
        x.bytes += w->plan->vector[i] * ind_dtype_bytes(cg__memory_dtype(w, i));
        x.loads++;
    }
    if (!x.loads) x.loads = 1, x.bytes = w->target->thresholds.flight_bytes; /* rows without loads */
    return x;
}

/* Units of `unit` bytes (lines, sectors) that a step of a row's lanes touches, if rows are adjacent in memory. */
static double cg__touched(double run, double row, int unit) {
    return run > unit ? run / unit : row < unit ? row / unit : 1;
}

/* Cost of a row of so many vectors with so many lanes. With few rows: the steps of a lane, which are sequential, and
   idle lanes. With many rows, whose threads compete: the instructions of all lanes, idle ones too, per element and per
   row, to which combine steps add about 16; per access of a step the lines that the L1 looks up, and for stores the
   sectors that go to the L2. Weights: sums, losses, norms and softmax of rows of 3 to 1024 bf16 and f32 with 1 to 32
   lanes on an H200. */
static double cg__lanes_cost(const ind_thresholds *t, const cg__row_work *x, int64_t vectors, int vector, int lanes) {
    const int64_t steps = (vectors + lanes - 1) / lanes;
    if (x->few) return (double)(steps * lanes) * (1 + t->step_percent / 100.0 * (double)(steps - 1));
    const double bytes = (double)x->bytes / x->loads, row = bytes * (double)vectors;
    const double run = lanes < vectors ? bytes * lanes : row;
    const double lines = cg__touched(run, row, IND__CG_LINE_BYTES),
                 sectors = cg__touched(run, row, IND__CG_SECTOR_BYTES);
    return (double)lanes * (double)(t->row_cost + x->once + steps * vector) +
           (double)steps *
               (lines * (t->load_cost * x->loads + t->store_cost * x->stores) + sectors * t->sector_cost * x->stores);
}

/* The same for the edges of a row: iterations of one element per lane, which touch two lines. */
static double cg__edges_cost(const ind_thresholds *t, const cg__row_work *x, int most, int lanes) {
    const int rounds = (most + lanes - 1) / lanes;
    return rounds * (double)(lanes * t->edge_cost + 2 * (t->load_cost * x->loads + t->store_cost * x->stores));
}

/* True if a lane can keep so many vectors of a row while enough other lanes are resident. */
static bool cg__lane_holds(const ind_thresholds *t, const cg__row_work *x, int64_t vectors, int vector) {
    if (vectors * vector > t->lane_elements) return false;
    if (x->few || vectors == 1) return true;
    return vectors * x->bytes <= (x->stores ? 1 : 2) * t->flight_bytes &&
           x->words * (double)(vectors * vector) <= t->lane_registers;
}

/* Rows per group of lanes whose loads start together: as many as give a thread FLIGHT_BYTES in flight, as long as there
   are rows for all threads of the GPU. */
static int cg__choose_batch(const ind__writer *w, int lanes, int bytes) {
    const int64_t rows = cg__likely_rows(w), fill = (int64_t)w->target->num_sms * w->target->sm_threads / lanes;
    int batch = 1;
    while (batch < IND__CG_MAX_BATCH && 2 * batch * bytes <= w->target->thresholds.flight_bytes &&
           rows / (2 * batch) >= fill)
        batch *= 2;
    return batch > 1 && !w->kernel->run ? batch : 0;
}

/* Plans a row in the registers of up to 32 lanes, within the limit per lane. */
static void cg__choose_row_warp(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    const int rest = v->misaligned ? 0 : v->vector - 1; /* elements that need another vector, unless they are edges */
    const int edges = v->misaligned ? v->vector + cg__misaligned_reach(&d->w) - 2 : 0; /* at most */
    const int64_t vectors = (longest + rest) / v->vector;
    const int64_t likely = (cg__likely_row(&d->w) + rest) / v->vector;
    const cg__row_work x = cg__find_row_work(&d->w);
    const ind_thresholds *t = &d->w.target->thresholds;
    int best = 32;
    const bool exchange =
        d->w.kernel->run ||
        d->plan->handover; /* warps synchronise at the end of a run, or of the first part of a launch */
    double least = cg__lanes_cost(t, &x, likely, v->vector, best) + cg__edges_cost(t, &x, edges, best);
    for (int lanes = 16; lanes * t->edge_rounds >= edges && lanes && !exchange; lanes /= 2) {
        if (!cg__lane_holds(t, &x, (vectors + lanes - 1) / lanes, v->vector)) break;
        const double cost = cg__lanes_cost(t, &x, likely, v->vector, lanes) + cg__edges_cost(t, &x, edges, lanes);
        if (cost < least) best = lanes, least = cost;
    }
    v->strategy = IND_STRATEGY_ROW_WARP;
    v->threads = t->warp_threads;
    v->rows = v->threads / best;
    v->per_thread = (int)((vectors + best - 1) / best) * v->vector;
    cg__why(d, "rows of at most %lld elements fit into the registers of %d lanes", (long long)longest, best);
    if (!v->misaligned && !exchange)
        v->of.row.batch = cg__choose_batch(&d->w, best, v->per_thread / v->vector * x.bytes);
    if (!v->of.row.batch) return;
    v->rows *= v->of.row.batch;
    cg__why(d, "%s; each group of lanes has %d rows in flight", v->why, v->of.row.batch);
}

/* Registers of a thread for its part of a row, of 65536 per SM. A run's columns and their addresses take registers
   too. */
static int cg__row_registers(const ind__writer *w, int threads) {
    const ind_thresholds *t = &w->target->thresholds;
    const bool wide = threads == IND__CG_MAX_THREADS;
    if (w->kernel->run) return wide ? t->run_wide_registers : t->run_block_registers;
    return wide ? t->wide_registers : t->row_registers;
}

/* The fewest threads, in whole warps, for so many vectors in so many iterations. */
static int cg__threads_of(int64_t vectors, int rounds) {
    return (int)((vectors + 32 * (int64_t)rounds - 1) / (32 * (int64_t)rounds)) * 32;
}

/* True if rows are gathered by an index from memory: two dependent loads precede a block's work. */
static bool cg__gathers_rows(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->varies[i] & cg__r_mask(w) &&
            ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT))
            return true;
    return false;
}
