/* ---- states */

/* The type of each reduction's state in the source, and its results; %u is the number of the REDUCE. */
static const struct {
    int function;
    const char *state, *result[2];
} cg__states[IND_NUM_REDUCTIONS] = {
    [IND_REDUCE_SUM] = {IND__CG_SUM, "ind_sum", {"s%u.value", NULL}},
    [IND_REDUCE_PROD] = {IND__CG_PROD, "ind_prod", {"s%u.value", NULL}},
    [IND_REDUCE_MAX] = {IND__CG_MAX, "ind_maximum", {"s%u.value", NULL}},
    [IND_REDUCE_MIN] = {IND__CG_MIN, "ind_minimum", {"s%u.value", NULL}},
    [IND_REDUCE_ANY] = {IND__CG_ANY, "ind_any", {"s%u.value", NULL}},
    [IND_REDUCE_ARGMAX] = {IND__CG_ARGMAX, "ind_argmax", {"s%u.at", NULL}},
    [IND_REDUCE_WELFORD] = {IND__CG_WELFORD, "ind_welford", {"s%u.mean", "s%u.m2"}},
    [IND_REDUCE_ONLINE_SOFTMAX] = {IND__CG_SOFTMAX, "ind_softmax", {"s%u.max", "s%u.sum"}},
    [IND_REDUCE_DOT] = {IND__CG_SUM, "ind_sum", {"s%u.value", NULL}},
};

/* Returns the reduction that pass s computes for REDUCE i, and the letter of its state's name. */
static ind_reduction cg__step(const ind__writer *w, uint32_t i, const cg__pass *s, char *letter) {
    ind_reduction r = (ind_reduction)cg__inst(w, i)->reduction;
    *letter = s->second ? 'd' : 's';
    if (!cg__in_registers(w)) return r;
    if (r == IND_REDUCE_WELFORD) return IND_REDUCE_SUM;
    if (r == IND_REDUCE_ONLINE_SOFTMAX) return s->second ? IND_REDUCE_SUM : IND_REDUCE_MAX;
    return r;
}

/* True if integers wrap around in this reduction. They are then unsigned, whose overflow is defined in C++. */
static bool cg__wraps(const ind__writer *w, uint32_t i) {
    ind_reduction r = (ind_reduction)cg__inst(w, i)->reduction;
    bool grows = r == IND_REDUCE_SUM || r == IND_REDUCE_PROD || r == IND_REDUCE_DOT;
    return grows && !ind_dtype_is_float((ind_dtype)cg__inst(w, i)->dtype);
}

/* Returns the type of a state's value. Narrow integers are reduced as int (and truncated where they are used). ANY
   counts as int. */
static const char *cg__state_type(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    bool operand = inst->reduction == IND_REDUCE_ARGMAX || inst->reduction == IND_REDUCE_ANY;
    ind_dtype t = (ind_dtype)(operand ? cg__inst(w, inst->arg[0])->dtype : inst->dtype);
    if (cg__wraps(w, i)) return ind_dtype_bytes(t) < 8 ? "unsigned" : "unsigned long long";
    if (inst->reduction == IND_REDUCE_ANY || (!ind_dtype_is_float(t) && ind_dtype_bytes(t) < 4)) return "int";
    return cg__types[t].value;
}

/* Returns the neutral element of MAX and MIN: the far end of the type. */
static const char *cg__far_end(const ind__writer *w, uint32_t i, bool lowest) {
    switch (cg__inst(w, i)->dtype) {
    case IND_BOOL: return lowest ? "0" : "1";
    case IND_U8: return lowest ? "0" : "255";
    case IND_I8: return lowest ? "-128" : "127";
    case IND_I16: return lowest ? "-32768" : "32767";
    case IND_I32: return lowest ? "-2147483647 - 1" : "2147483647";
    case IND_I64: return lowest ? "-9223372036854775807LL - 1" : "9223372036854775807LL";
    default: return lowest ? "__uint_as_float(0xff800000u)" : "__uint_as_float(0x7f800000u)";
    }
}

static const char *cg__neutral(ind__writer *w, uint32_t i, ind_reduction r) {
    switch (r) {
    case IND_REDUCE_PROD: return "1";
    case IND_REDUCE_MAX: return cg__far_end(w, i, true);
    case IND_REDUCE_MIN: return cg__far_end(w, i, false);
    case IND_REDUCE_ARGMAX: return "0, -1";
    case IND_REDUCE_WELFORD: return "0, 0, 0";
    case IND_REDUCE_ONLINE_SOFTMAX: return "__uint_as_float(0xff800000u), 0";
    default: return "0";
    }
}

/* Returns the state type of REDUCE i, or of a reduction over columns: "ind_sum<float>". */
static const char *cg__state_type_text(ind__writer *w, uint32_t i) {
    ind_reduction r = (ind_reduction)cg__inst(w, i)->reduction;
    cg__use(w, cg__states[r].function);
    return cg__string(w, "%s<%s>", cg__states[r].state, cg__state_type(w, i));
}

/* Returns the size of that type. */
static int cg__state_bytes_of(const ind__writer *w, uint32_t i) {
    ind_reduction r = (ind_reduction)cg__inst(w, i)->reduction;
    const char *type = cg__state_type(w, i);
    int bytes = strstr(type, "long") || strstr(type, "double") ? 8 : 4;
    return r == IND_REDUCE_ARGMAX           ? 16
           : r == IND_REDUCE_WELFORD        ? 3 * bytes
           : r == IND_REDUCE_ONLINE_SOFTMAX ? 2 * bytes
                                            : bytes;
}

/* True if the blocks of a cluster share a row. */
static bool cg__has_cluster(const ind__writer *w) {
    return cg__row(w)->cluster > 1;
}

static int cg__row_threads(const ind__writer *w) {
    const ind__variant *v = w->variant;
    bool several = v->strategy == IND_STRATEGY_ROW_WARP || cg__scans_rows(w);
    if (v->strategy == IND_STRATEGY_ROW_STAGED || cg__has_cluster(w)) return v->threads * ind__row_of(v)->cluster;
    return several ? v->threads * (ind__row_of(v)->batch ? ind__row_of(v)->batch : 1) / v->rows : v->threads;
}

/* True for ROW_STAGED: the states of even and odd rows have separate memory. Persistent blocks then synchronise once
   per combine step, not again before the next one. */
static bool cg__is_parted(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_ROW_STAGED;
}

#define IND__CG_WARP_STATES 128 /* per row: four per lane of a warp */

/* True if each warp of a cluster sends its states to all blocks, and combines those of all warps itself. That is one
   wait. Otherwise there is a block barrier, a combine step of the block's warps, and a wait for other blocks. With only
   one combine step, as in rms_norm, this gives 81 to 87 % of copy bandwidth with 4 or 8 blocks (131072 f32). With two
   blocks the wait is short. More than four states per lane cost more than the barrier. Both of these lost 2 to 10 %.
   Blocks that loop over a row synchronise only once per pass. */
static bool cg__exchanges_by_warp(const ind__writer *w) {
    return cg__is_parted(w) && cg__row(w)->cluster > 2 && cg__row_threads(w) / 32 <= IND__CG_WARP_STATES;
}

/* Returns the lanes of a warp that combine the states of warps. cg__exchange_states is the number of states of all
   these lanes, padded with neutral ones. */
static int cg__exchange_lanes(const ind__writer *w) {
    const int warps = cg__row_threads(w) / 32;
    return warps > 16 ? 32 : cg__pow2_at_least(warps, 1, 16);
}

static int cg__exchange_states(const ind__writer *w) {
    const int lanes = cg__exchange_lanes(w);
    return (cg__row_threads(w) / 32 + lanes - 1) / lanes * lanes;
}

/* True if warps exchange a mean and its squared deviations in one state. Each warp has its own mean, and deviations
   from it (Chan et al. 1979), so that warps wait for each other once (layer_norm of 98317 bf16 on an H200: 83 and 86 %
   of copy bandwidth, of 200003 f16 77 and 80; others vary by 1 %). */
static bool cg__exchanges_moments(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->reduction == IND_REDUCE_WELFORD && cg__exchanges_by_warp(w);
}

/* True if warps exchange a state of REDUCE i after this pass. */
static bool cg__exchanges(const ind__writer *w, uint32_t i, const cg__pass *s) {
    return cg__reduces_in(w, i, s) && (!cg__exchanges_moments(w, i) || s->second);
}

/* Returns the reduction of the exchanged state, and the letter of its name. */
static ind_reduction cg__exchanged(const ind__writer *w, uint32_t i, const cg__pass *s, char *letter) {
    const ind_reduction r = cg__step(w, i, s, letter);
    if (!cg__exchanges_moments(w, i)) return r;
    *letter = 'w';
    return IND_REDUCE_WELFORD;
}

static void cg__emit_states(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        char letter;
        if (!cg__reduces_in(w, i, s)) continue;
        ind_reduction r = cg__step(w, i, s, &letter);
        cg__use(w, cg__states[r].function);
        ind__textf(&w->code, "%s<%s> %c%u = {%s};\n", cg__states[r].state, cg__state_type(w, i), letter, i,
                   cg__neutral(w, i, r));
        if (cg__exchanges_moments(w, i) && !s->second) ind__textf(&w->code, "ind_sum<int> count%u = {0};\n", i);
    }
}

/* True for reductions that take a whole chunk of elements at once. An array a<number> collects it: neighbours, or the
   reads of a thread in one group of steps (ind__writer.steps). */
static bool cg__takes_chunks(const ind__writer *w, uint32_t i, const cg__pass *s) {
    return !cg__in_registers(w) && cg__reduces_in(w, i, s) && cg__two_step(cg__inst(w, i));
}

/* True if its states are in an array with one state per neighbour. This is so for columns. For sums and products of a
   row, chains of additions are shorter and more accurate that way. */
static bool cg__has_lanes(const ind__writer *w, uint32_t i) {
    ind_reduction r = (ind_reduction)cg__inst(w, i)->reduction;
    return w->split.lanes > 1 &&
           (w->variant->strategy == IND_STRATEGY_COLUMN_SPLIT || r == IND_REDUCE_SUM || r == IND_REDUCE_PROD);
}

/* Returns the subscript of an element in a<number>: "[j]". */
static const char *cg__chunk_subscript(ind__writer *w, uint32_t i) {
    int n = w->variant->vector;
    if (!w->split.steps) return n > 1 ? "[j]" : "[0]";
    if (cg__has_lanes(w, i)) return "[j][k]";
    return n > 1 ? cg__string(w, "[k * %d + j]", n) : "[k]";
}

static void cg__emit_chunk_arrays(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst && !w->split.steps; i++)
        if (cg__takes_chunks(w, i, s))
            ind__textf(&w->code, "%s a%u[%d];\n", cg__state_type(w, i), i, w->variant->vector);
}

static void cg__emit_chunk_adds(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst && !w->split.steps; i++)
        if (cg__takes_chunks(w, i, s))
            ind__textf(&w->code, cg__has_lanes(w, i) ? "l%u[j].add(a%u);\n" : "s%u.add(a%u);\n", i, i);
}

/* Writes the term that an element adds to the sum of pass B. */
static void cg__emit_second_term(ind__writer *w, uint32_t i) {
    uint32_t x = cg__inst(w, i)->arg[0], term = cg__softmax_term(w, i);
    if (cg__inst(w, i)->reduction == IND_REDUCE_WELFORD) {
        const char *mean = cg__exchanges_moments(w, i) ? "near" : "mean";
        ind__textf(&w->code, "(");
        cg__value(w, x);
        ind__textf(&w->code, " - %s%u) * (", mean, i);
        cg__value(w, x);
        ind__textf(&w->code, " - %s%u)", mean, i);
    } else if (term) {
        cg__value(w, term);
    } else {
        cg__use(w, IND__CG_EXP_BELOW);
        ind__textf(&w->code, "ind_exp_below(");
        cg__value(w, x);
        ind__textf(&w->code, ", ind_exp_base(s%u.value))", i);
    }
}
