/* --------------------------------------------------------------------------------------------------- >>scan */

/* State of each kind of scan: prelude function, template, neutral element. */
static const struct {
    int function;
    const char *state, *none;
} cg__scans[IND_NUM_SCANS] = {
    [IND_SCAN_SUM] = {IND__CG_SCAN_SUM, "ind_scan_sum", "0"},
    [IND_SCAN_PROD] = {IND__CG_SCAN_PROD, "ind_scan_prod", "1"},
    [IND_SCAN_LOGADDEXP] = {IND__CG_SCAN_LOG, "ind_scan_log", "__uint_as_float(0xff800000u), 0"},
    [IND_SCAN_MAX] = {IND__CG_SCAN_EXTREME, "ind_scan_extreme", "0, -1"},
    [IND_SCAN_MIN] = {IND__CG_SCAN_EXTREME, "ind_scan_extreme", "0, -1"},
    [IND_SCAN_COMBINE] = {IND__CG_SCAN_MAYBE, "ind_scan_maybe", ""},
};

static ind_scan cg__scan_kind(const ind__writer *w, uint32_t scan) {
    return (ind_scan)cg__inst(w, scan)->reduction;
}

static bool cg__combines(const ind__writer *w) {
    return cg__scan_kind(w, ind__body_scan(w->body)) == IND_SCAN_COMBINE;
}

static bool cg__finds_positions(const ind__writer *w, uint32_t scan) {
    return ind__scan_results(cg__scan_kind(w, scan)) > 1;
}

static bool cg__adds_exp(const ind__writer *w, uint32_t scan) {
    return cg__scan_kind(w, scan) == IND_SCAN_LOGADDEXP;
}

/* The PAIR after p; after 0 the first. They are the scan's values in order. 0: none. */
static uint32_t cg__next_pair(const ind__writer *w, uint32_t p) {
    return p ? cg__inst(w, p)->arg[2] : cg__inst(w, ind__body_scan(w->body))->arg[0];
}

/* Type of a value in a state: int for narrower integers, as shuffles take no less. */
static const char *cg__member_type(ind_dtype t) {
    return !ind_dtype_is_float(t) && ind_dtype_bytes(t) < 4 ? "int" : cg__types[t].value;
}

/* 4-byte words of ind_scan_maybe<ind_state>: values of 8 bytes are aligned, and so is the whole. */
static int cg__combine_words(const ind__writer *w) {
    int words = 0, wide = 1;
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p)) {
        int own = ind_dtype_bytes((ind_dtype)cg__inst(w, p)->dtype) == 8 ? 2 : 1;
        if (own == 2) wide = 2, words += words % 2;
        words += own;
    }
    words += words % wide + 1; /* of the state as a whole */
    return words + words % wide;
}

/* Value k of a state, converted to a value of the body. */
static const char *cg__member(ind__writer *w, ind_dtype t, const char *state, int k) {
    if (t == IND_BOOL) return cg__string(w, "(%sx%d != 0)", state, k);
    bool same = ind_dtype_is_float(t) || ind_dtype_bytes(t) >= 4;
    return same ? cg__string(w, "%sx%d", state, k) : cg__string(w, "((%s)%sx%d)", cg__types[t].value, state, k);
}

/* Type in which a scan is computed: integers wrap around in sums and products; types too narrow for shuffles are
   int. */
static const char *cg__scan_type(const ind__writer *w, uint32_t scan) {
    ind_dtype t = (ind_dtype)cg__inst(w, scan)->dtype;
    bool extreme = cg__scan_kind(w, scan) == IND_SCAN_MAX || cg__scan_kind(w, scan) == IND_SCAN_MIN;
    if (ind_dtype_is_float(t)) return cg__types[t].value;
    if (!extreme) return cg__types[t].wrapping;
    return ind_dtype_bytes(t) < 4 ? "int" : cg__types[t].value;
}

/* The type of a scan's state. */
static const char *cg__scan_state(ind__writer *w, uint32_t scan) {
    ind_scan kind = cg__scan_kind(w, scan);
    cg__use(w, cg__scans[kind].function);
    if (cg__finds_positions(w, scan))
        return cg__string(w, "ind_scan_extreme<%s, %s, %s>", cg__scan_type(w, scan), cg__int(w),
                          kind == IND_SCAN_MAX ? "true" : "false");
    return cg__string(w, "%s<%s>", cg__scans[kind].state,
                      kind == IND_SCAN_COMBINE ? "ind_state" : cg__scan_type(w, scan));
}

/* A name of the scan; with its number if there are several scans. */
static const char *cg__of_scan(ind__writer *w, const char *name, uint32_t scan) {
    uint32_t scans = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) scans += cg__is_scan(w, i);
    return scans > 1 ? cg__string(w, "%s%u", name, scan) : name;
}

/* Marks the operands of an element of the scan. */
static void cg__need_element(ind__writer *w, uint32_t scan) {
    if (cg__scan_kind(w, scan) != IND_SCAN_COMBINE) {
        cg__need(w, cg__inst(w, scan)->arg[0]);
        return;
    }
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p)) cg__need(w, cg__inst(w, p)->arg[0]);
}

/* Writes "{ind_state{v1, v2}, 1};". */
static void cg__combine_element(ind__writer *w, const char *into) {
    ind__textf(&w->code, "%s{ind_state{", into);
    for (uint32_t p = cg__next_pair(w, 0), first = p; p; p = cg__next_pair(w, p)) {
        ind__textf(&w->code, "%s(%s)", p == first ? "" : ", ", cg__member_type((ind_dtype)cg__inst(w, p)->dtype));
        cg__value(w, cg__inst(w, p)->arg[0]);
    }
    ind__textf(&w->code, "}, 1};\n");
}

/* Writes the state of one element: "{v7}" or "{v7, r}". */
static void cg__scan_element(ind__writer *w, uint32_t scan, const char *into) {
    if (cg__scan_kind(w, scan) == IND_SCAN_COMBINE) {
        cg__combine_element(w, into);
        return;
    }
    ind__textf(&w->code, "%s{(%s)", into, cg__scan_type(w, scan));
    cg__value(w, cg__inst(w, scan)->arg[0]);
    ind__textf(&w->code, cg__finds_positions(w, scan) ? ", r};\n" : cg__adds_exp(w, scan) ? ", 1};\n" : "};\n");
}

/* Names the results of the scan, element and position (NULL: none), as values of the body. */
static void cg__scan_results(ind__writer *w, uint32_t scan, const char *element, const char *position) {
    ind_dtype t = (ind_dtype)cg__inst(w, scan)->dtype;
    const char *value = t == IND_BOOL           ? cg__string(w, "(%s != 0)", element)
                        : ind_dtype_is_float(t) ? element
                                                : cg__string(w, "((%s)%s)", cg__types[t].value, element);
    w->value[scan] = value;
    for (uint32_t i = scan + 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (inst->op == IND_LOOP_PART && inst->arg[0] == scan)
            w->value[i] = inst->imm.i ? cg__string(w, "((long long)%s)", position ? position : "0") : value;
    }
}

/* Names the results as members of the state called `name`. */
static void cg__scan_results_of(ind__writer *w, uint32_t scan, const char *name) {
    if (cg__scan_kind(w, scan) == IND_SCAN_COMBINE) {
        w->value[scan] = "";
        for (uint32_t i = scan + 1; i < w->body->num_inst; i++) {
            const ind__inst *inst = cg__inst(w, i);
            if (inst->op == IND_LOOP_PART && inst->arg[0] == scan)
                w->value[i] = cg__member(w, (ind_dtype)inst->dtype, cg__string(w, "%s.state.", name), (int)inst->imm.i);
        }
        return;
    }
    cg__scan_results(w, scan, cg__string(w, cg__adds_exp(w, scan) ? "%s.value()" : "%s.value", name),
                     cg__finds_positions(w, scan) ? cg__string(w, "%s.at", name) : NULL);
}

/* True if a value per row is stored or reduced. */
static bool cg__has_row_values(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        ind_loop_op op = (ind_loop_op)cg__inst(w, i)->op;
        if (op == IND_LOOP_REDUCE || (op == IND_LOOP_STORE && !(w->plan->varies[i] & cg__r_mask(w)))) return true;
    }
    return false;
}

/* True if there is one pass over the rows, and no value per row. */
static bool cg__scans_only(const ind__writer *w) {
    return w->plan->scan_stage == 0 && !cg__has_row_values(w);
}

/* SCAN_COLUMN: true if threads share rows. */
static bool cg__scans_team(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_SCAN_COLUMN && cg__scans_only(w);
}

/* Writes the member function that combines the state with the following state o. */
static void cg__emit_combine_member(ind__writer *w) {
    int n = 0, k = 0;
    cg__need_none(w);
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p), n++) cg__need(w, cg__inst(w, p)->arg[1]);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_STATE) continue;
        int which = (int)cg__inst(w, i)->imm.i;
        w->value[i] =
            cg__member(w, (ind_dtype)cg__inst(w, i)->dtype, which < n ? "" : "o.", which < n ? which : which - n);
    }
    cg__close_needed(w);
    cg__begin(w, "IND_INLINE void combine(const ind_state &o)");
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p), k++) {
        ind__textf(&w->code, "const %s to%d = ", cg__member_type((ind_dtype)cg__inst(w, p)->dtype), k);
        cg__value(w, cg__inst(w, p)->arg[1]);
        ind__textf(&w->code, ";\n");
    }
    for (k = 0; k < n; k++) ind__textf(&w->code, "x%d = to%d;\n", k, k);
    cg__end(w);
}

static void cg__emit_shuffle(ind__writer *w, const char *head, const char *shuffle) {
    int k = 0;
    ind__textf(&w->code, "%s { return {", head);
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p), k++)
        ind__textf(&w->code, "%s%s(0xffffffffu, x%d, n)", k ? ", " : "", shuffle, k);
    ind__textf(&w->code, "}; }\n");
}

/* Writes the scan's state as a type of the kernel. */
static void cg__emit_combine_state(ind__writer *w) {
    int k = 0;
    cg__begin(w, "struct ind_state");
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p), k++)
        ind__textf(&w->code, "%s x%d;\n", cg__member_type((ind_dtype)cg__inst(w, p)->dtype), k);
    cg__emit_combine_member(w);
    cg__emit_shuffle(w, "IND_INLINE ind_state up(int n) const", "__shfl_up_sync");
    cg__emit_shuffle(w, "IND_INLINE ind_state lane(int n) const", "__shfl_sync");
    cg__end(w);
    ind__textf(&w->code, ";\n");
}

/* Declares the row that the thread computes: one per block, warp or thread. */
static void cg__emit_scan_position(ind__writer *w) {
    const ind__variant *v = w->variant;
    bool one = w->plan->domain.rank == 1;
    const char *name = one ? "i0" : "p", *type = cg__int(w),
               *block = w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x";
    if (w->plan->domain.rank && v->rows == 1)
        ind__textf(&w->code, "const %s %s = %s;\n", type, name, cg__looks_back(w) ? "row" : "blockIdx.x");
    if (cg__scans_team(w)) {
        const char *place = cg__string(w, "threadIdx.x %% %d", v->rows / v->vector),
                   *size = cg__expr_string(w, cg__r_numel(w));
        ind__textf(&w->code,
                   v->vector > 1 ? "const %s column = (%s * %d + %s) * %d;\n" : "const %s column = %s * %d + %s;\n",
                   type, block, v->rows / v->vector, place, v->vector);
        ind__textf(&w->code, "const %s p = column < %s ? column : 0, limit = column < %s ? %s : 0;\n", type,
                   cg__expr_string(w, cg__p_numel(w)), cg__expr_string(w, cg__p_numel(w)), size);
    } else if (v->rows > 1) {
        ind__textf(&w->code, "const %s p = %s * %d + threadIdx.x", type, block, v->rows);
        ind__textf(&w->code, v->threads > v->rows ? " / %d;\n" : ";\n", v->threads / v->rows);
        ind__textf(&w->code, "if (p >= %s) return;\n", cg__expr_string(w, cg__p_numel(w)));
    }
    if (one)
        w->var[0] = v->rows > 1 ? "p" : "i0";
    else
        cg__split_linear(w, "p", 0, w->plan->domain.rank);
    w->var[w->plan->domain.rank] = "r";
}
