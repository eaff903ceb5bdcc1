/* ---------------------------------------------------------------------------------------------- >>reduction */

/* A reduction kernel runs over its row in passes. Pass A of stage s computes every reduction whose operand needs s
   finished ones. If the row is in registers, welford and online softmax take two exact steps: the mean (or maximum) in
   A, the sum around it in B. The last pass also stores the results per element. */
typedef struct cg__pass {
    int stage;
    bool second; /* B */
    bool stores;
    bool halves; /* 16-bit maxima are already combined */
} cg__pass;

#define IND__CG_MAX_PASSES 64

/* Marks of cg__choose_resident in ind__writer.resident while it works. */
enum { IND__CG_MADE = 1, IND__CG_FRONT = 2, IND__CG_RESIDENT = 4, IND__CG_READ = 8, IND__CG_RESIDENT_LOAD = 16 };

static bool cg__sorts_rows(const ind__writer *w) {
    return ind__strategy_row_of(w->variant->strategy)->family == IND__FAMILY_SORT;
}

static bool cg__looks_back(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_SCAN_LOOKBACK;
}

static bool cg__scans_rows(const ind__writer *w) {
    return ind__strategy_row_of(w->variant->strategy)->family == IND__FAMILY_SCAN || cg__sorts_rows(w);
}

static bool cg__in_registers(const ind__writer *w) {
    return cg__has(w, IND__HAS_REGISTERS);
}

static bool cg__two_step(const ind__inst *inst) {
    return inst->reduction == IND_REDUCE_WELFORD || inst->reduction == IND_REDUCE_ONLINE_SOFTMAX;
}

/* True if pass s computes the REDUCE at i. */
static bool cg__reduces_in(const ind__writer *w, uint32_t i, const cg__pass *s) {
    const ind__inst *inst = cg__inst(w, i);
    if (inst->op != IND_LOOP_REDUCE || w->plan->stage[i] != s->stage + 1) return false;
    return !s->second || (cg__in_registers(w) && cg__two_step(inst));
}

static bool cg__reduces_any(const ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__reduces_in(w, i, s)) return true;
    return false;
}

static int cg__passes(const ind__writer *w, cg__pass *pass) {
    int n = 0, last = cg__last_stage(w);
    for (int s = 0; s <= last && n + 2 <= IND__CG_MAX_PASSES; s++) {
        bool second = false;
        pass[n++] = (cg__pass){.stage = s, .stores = s == last};
        for (uint32_t i = 1; i < w->body->num_inst; i++)
            second |= cg__reduces_in(w, i, &(cg__pass){.stage = s, .second = true});
        if (second) pass[n++] = (cg__pass){.stage = s, .second = true};
    }
    return n;
}

/* Returns the EXP of the body that is a term exp(x - m) of a softmax's sum. In registers, pass B computes this EXP,
   adds it to the sum and keeps it for the result. 0: the body has no such EXP. */
static uint32_t cg__softmax_term(const ind__writer *w, uint32_t reduce) {
    return ind__softmax_term(w->body, reduce);
}

static void cg__need_pass(ind__writer *w, const cg__pass *s) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (s->stores && cg__stores_per_element(w, i)) cg__need(w, i);
        if (w->plan->only_check[i] == IND__CG_CHECK_REDUCED && w->plan->stage[i] == s->stage && !s->second)
            cg__need(w, i);
        if (!cg__reduces_in(w, i, s)) continue;
        bool terms = s->second && cg__inst(w, i)->reduction == IND_REDUCE_ONLINE_SOFTMAX && cg__softmax_term(w, i);
        cg__need(w, terms ? cg__softmax_term(w, i) : cg__inst(w, i)->arg[0]);
        if (cg__inst(w, i)->arg[1]) cg__need(w, cg__inst(w, i)->arg[1]);
    }
    cg__close_needed(w);
}

static bool cg__expensive(const ind__inst *inst) {
    if (inst->op == IND_LOOP_DIV || inst->op == IND_LOOP_POW) return true;
    bool rounding = inst->op >= IND_LOOP_ROUND_F16 && inst->op <= IND_LOOP_ROUND_BF16;
    return ind__loop_op_class((ind_loop_op)inst->op) == 'f' && !rounding;
}

/* True if the load is the same in every row of a run. It is then repeated, from a cache, as the columns need the
   registers. */
static bool cg__repeats(const ind__writer *w, uint32_t i) {
    return w->kernel->run && cg__inst(w, i)->op == IND_LOOP_LOAD && !(w->plan->varies[i] & cg__p_mask(w));
}

/* Returns the 32-bit registers per element of a row: for loads, which stay in registers as they are in memory until
   their pass; for other kept instructions, as values; and for the columns that a run of rows combines. */
static double cg__resident_words(const ind__writer *w) {
    double words = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        bool load = cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->varies[i] & cg__r_mask(w);
        bool vector = load && !cg__mask_of(w, i) && w->plan->vector[i] > 1 &&
                      w->plan->vector[i] == w->variant->vector && !cg__repeats(w, i);
        if (cg__combines_run(w, i)) words += ind_dtype_bytes((ind_dtype)cg__inst(w, i)->dtype) > 4 ? 2 : 1;
        if (!w->plan->resident[i] && !vector) continue;
        int bytes = ind_dtype_bytes(vector ? cg__memory_dtype(w, i) : (ind_dtype)cg__inst(w, i)->dtype);
        words += (vector || bytes > 4 ? bytes : 4) /
                 (w->plan->resident[i] ? 4.0 : 8.0); /* others are kept for one pass only */
    }
    return words;
}
