/* ---- other work of a kernel with scans: reductions of the same rows, and uses of their results and the scans' */

/* The last pass over the row, which stores elements. */
static cg__pass cg__last_scan_pass(const ind__writer *w) {
    return (cg__pass){.stage = w->plan->scan_stage, .stores = true};
}

/* Declares what passes with scans and sorts share: memory for the states of reductions, and the thread's lane in the
   row. */
static void cg__emit_row_values(ind__writer *w) {
    if (!cg__has_row_values(w)) return;
    for (int s = 0; s <= w->plan->scan_stage; s++) cg__emit_shared_states(w, &(cg__pass){.stage = s});
    bool block = w->variant->strategy == IND_STRATEGY_SCAN_BLOCK || cg__sorts_rows(w);
    if (w->variant->strategy == IND_STRATEGY_SCAN_COLUMN)
        ind__textf(&w->code, "const int lane = 0;\n");
    else
        ind__textf(&w->code, block ? "const int lane = threadIdx.x;\n" : "const int lane = threadIdx.x %% %d;\n",
                   w->variant->threads / w->variant->rows);
}

/* Writes the values that are the same for the whole row, and declares the states of this pass's reductions. */
static void cg__begin_pass_states(ind__writer *w, const cg__pass *s) {
    w->var[w->plan->domain.rank] = "r";
    if (!cg__has_row_values(w)) return;
    cg__need_all(w);
    cg__emit(w, cg__p_mask(w), s->stage);
    cg__emit_states(w, s);
}

static void cg__end_pass_states(ind__writer *w, const cg__pass *s) {
    cg__emit_combine(w, s);
    cg__emit_results(w, s);
}

/* True if the pass computes the operand of the sort at i. */
static bool cg__sorts_in(const ind__writer *w, uint32_t i, const cg__pass *s) {
    return cg__is_sort(w, i) && w->plan->stage[i] == s->stage + 1;
}

/* Marks the values that the pass computes per element: stored, checked, reduced or sorted ones. */
static void cg__need_scanned(ind__writer *w, const cg__pass *s) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (s->stores && (cg__stores_per_element(w, i) || w->plan->only_check[i])) cg__need(w, i);
        if (cg__reduces_in(w, i, s) || cg__sorts_in(w, i, s)) cg__need(w, cg__inst(w, i)->arg[0]);
    }
    cg__close_needed(w);
}

static void cg__emit_sort_element(ind__writer *w);

/* Writes these values of one element, once the scans' results have names. */
static void cg__emit_scanned_element(ind__writer *w, const cg__pass *s) {
    cg__need_scanned(w, s);
    cg__emit(w, IND__CG_ALL_VARS, s->stores ? IND__CG_ALL_STAGES : s->stage);
    cg__emit_accumulate(w, s, "r");
}

static void cg__emit_scanned(ind__writer *w, const cg__pass *s) {
    cg__emit_chunk_arrays(w, s);
    cg__emit_scanned_element(w, s);
    cg__emit_chunk_adds(w, s);
    if (ind__body_sort(w->body) && cg__sorts_in(w, ind__body_sort(w->body), s)) cg__emit_sort_element(w);
}

/* Writes the values that are known after the row's last element. */
static void cg__emit_scan_end(ind__writer *w) {
    cg__pass last = cg__last_scan_pass(w);
    cg__end_pass_states(w, &last);
    cg__emit_row_stores(w);
}

/* ---- passes with scans: a level needs only scans of lower levels */

/* Finds the scans that the pass needs; returns the number of their levels. */
static int cg__find_runs(ind__writer *w, const cg__pass *s) {
    int levels = 0;
    cg__need_scanned(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        w->runs[i] = w->needed[i] && cg__is_scan(w, i);
        if (w->runs[i] && w->plan->level[i] > levels) levels = w->plan->level[i];
    }
    return levels;
}

static bool cg__runs_at(const ind__writer *w, uint32_t i, int level) {
    return w->runs[i] && w->plan->level[i] == level;
}

/* Marks the elements of the scans of a level. */
static void cg__need_elements_at(ind__writer *w, int level) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__runs_at(w, i, level)) cg__need_element(w, i);
    cg__close_needed(w);
}

/* Writes the operands of the scans' elements and of the uses of their results that are the same for the whole row. */
static void cg__emit_scanned_rows(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->runs[i]) cg__scan_results_of(w, i, cg__of_scan(w, "t", i));
    cg__need_scanned(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->runs[i]) cg__need_element(w, i);
    cg__close_needed(w);
    bool beside = w->variant->strategy == IND_STRATEGY_SCAN_COLUMN && w->variant->vector > 1;
    cg__emit(w, beside ? cg__p_mask(w) & ~(1u << (w->plan->domain.rank - 1)) : cg__p_mask(w), s->stage);
}

/* Forgets the scans' results, as the next pass scans again. */
static void cg__forget_scans(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (w->runs[i] || (inst->op == IND_LOOP_PART && w->runs[inst->arg[0]])) w->value[i] = NULL;
    }
}

static int cg__scan_warps(const ind__writer *w) {
    bool block = w->variant->strategy == IND_STRATEGY_SCAN_BLOCK || cg__looks_back(w) || cg__sorts_rows(w);
    return block ? w->variant->threads / 32 : 1;
}

static bool cg__has_scans(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_scan(w, i)) return true;
    return false;
}

/* How a pass iterates along the row: in chunks. A chunk has a part for each warp, one after another. A part consists of
   lines, one after another. A line has a vector of `run` neighbours for each lane. */
typedef struct cg__scan_pass {
    const cg__pass *pass;
    const char *size;         /* elements of the row that the thread works on */
    const char *size_value;   /* the same in the type of indices */
    int levels;               /* of scans that depend on one another */
    int run, lines, lanes;    /* neighbours of a thread in a line, lines in a warp's part, lanes in a line */
    int team;                 /* SCAN_COLUMN: threads, each with `lines` of the row; `run` adjacent rows */
    bool single, exact, turn; /* one chunk covers every row; it is full; shared memory alternates */
    bool pads;                /* elements outside the row are computed too, then excluded: see cg__pads */
    uint8_t *ahead;           /* per LOAD: IND__CG_LOADED_* */
    const char *base;         /* SCAN_COLUMN: name of the variable along which rows are adjacent */
} cg__scan_pass;

/* All loads of a chunk start together: during the previous chunk, or, if they are also needed for its results, at its
   beginning. */
enum { IND__CG_LOADED_AHEAD = 1, IND__CG_LOADED_FIRST = 2 };

/* The most elements before a row at which its first vector may start. */
static int cg__most_shift(const ind__writer *w) {
    return w->plan->shift ? w->variant->vector - 1 : 0;
}

/* True if elements outside the row are computed like others. Vectors of misaligned rows are partly outside the row. For
   narrow elements a test of each element costs as much as the scan. If all loads and stores are such vectors, elements
   outside are loaded as 0, their states are reset, and they are not stored. */
static bool cg__pads(const ind__writer *w) {
    const int n = w->variant->vector;
    if (!w->plan->shift) return false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (!(w->plan->varies[i] & cg__r_mask(w))) continue;
        if (inst->op == IND_LOOP_INDIRECT || inst->op == IND_LOOP_CALL) return false;
        if (cg__is_access(w, i) && w->plan->vector[i] != n) return false;
    }
    return true;
}

/* Elements of a row in one chunk. */
static int cg__scan_chunk(const ind__writer *w, const cg__scan_pass *p) {
    if (p->team) return p->team * p->lines;
    return cg__scan_warps(w) * p->lanes * p->lines * p->run;
}

static cg__scan_pass cg__begin_scan_pass(ind__writer *w, const cg__pass *s, int levels, const char *size) {
    const ind__variant *v = w->variant;
    bool sorts = cg__sorts_rows(w);
    cg__scan_pass p = {.pass = s, .size = size, .levels = levels, .run = v->vector, .lanes = 32};
    if (sorts) p.run = w->target->thresholds.sort_run;
    p.lines = sorts ? 1 : v->per_thread / v->vector;
    if (v->strategy == IND_STRATEGY_SCAN_WARP) p.lanes = v->threads / v->rows;
    if (cg__scans_team(w)) {
        p.lanes = v->rows / v->vector;
        p.team = v->threads / p.lanes;
    }
    int64_t row = 0, columns = 0, chunk = cg__scan_chunk(w, &p);
    p.single = !cg__looks_back(w) && cg__longest_row(w) <= chunk - cg__most_shift(w);
    p.exact = !w->plan->shift && ind_expr_is_int(cg__r_numel(w), &row) && row % chunk == 0;
    if (p.team) {
        p.size = "limit";
        p.exact = p.exact && ind_expr_is_int(cg__p_numel(w), &columns) && columns % v->rows == 0;
        p.turn = p.team > 1 && !p.single;
    }
    p.turn |= cg__scan_warps(w) > 1 && !cg__looks_back(w) && (!p.single || w->plan->scan_stage > 0);
    p.ahead = (uint8_t *)ind__arena_alloc(&w->scratch, w->body->num_inst);
    p.size_value = cg__string(w, "(%s)(%s)", cg__int(w), size);
    if (w->plan->domain.rank) p.base = w->var[w->plan->domain.rank - 1];
    if (!p.ahead) cg__fail(w);
    return p;
}

/* Declares the shared memory through which the warps of a block exchange the states of their parts. */
static void cg__emit_scan_shared(ind__writer *w, const char *size) {
    cg__scan_pass p = cg__begin_scan_pass(w, NULL, 0, size);
    int states = p.team > 1 ? w->variant->threads * p.run : cg__scan_warps(w) + cg__looks_back(w);
    if (states == 1) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_scan(w, i))
            ind__textf(&w->code, p.turn ? "__shared__ %s %s[2][%d];\n" : "__shared__ %s %s[%d];\n",
                       cg__scan_state(w, i), cg__of_scan(w, "shared", i), states);
}

/* Declares the position of the thread's first vector in a chunk. */
static void cg__emit_first_scan_vector(ind__writer *w, const char *size) {
    cg__scan_pass p = cg__begin_scan_pass(w, NULL, 0, size);
    bool loops = w->variant->strategy == IND_STRATEGY_SCAN_COLUMN && !p.team;
    if (loops || (cg__sorts_rows(w) && !cg__has_scans(w))) return;
    if (w->plan->shift) {
        w->var[w->plan->domain.rank] = "0";
        ind__textf(&w->code, "const int shift = (unsigned long long)&%s / %d %% %d;\n", cg__element(w, w->plan->shift),
                   ind_dtype_bytes(cg__memory_dtype(w, w->plan->shift)), p.run);
        w->var[w->plan->domain.rank] = "r";
    }
    ind__textf(&w->code, "const int first = ");
    if (p.team)
        ind__textf(&w->code, p.team > 1 ? "threadIdx.x / %d * %d" : "0", p.lanes, p.lines);
    else if (cg__scan_warps(w) == 1)
        ind__textf(&w->code, "threadIdx.x %% %d * %d", p.lanes, p.run);
    else if (p.lines == 1)
        ind__textf(&w->code, "threadIdx.x * %d", p.run);
    else
        ind__textf(&w->code, "threadIdx.x / 32 * %d + threadIdx.x %% 32 * %d", 32 * p.lines * p.run, p.run);
    ind__textf(&w->code, w->plan->shift ? " - shift;\n" : ";\n");
    if (p.turn) ind__textf(&w->code, "int turn = 0;\n");
}

/* Opens the loop over the lines; r0 is the start of a thread's vector. */
static void cg__begin_lines(ind__writer *w, const cg__scan_pass *p, const char *begin) {
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", p->lines);
    if (p->team) {
        ind__textf(&w->code, "const %s r = %sfirst + k;\n", cg__int(w), begin);
        return;
    }
    ind__textf(&w->code, "const %s r0 = %sfirst + k * %d;\n", cg__int(w), begin, p->lanes * p->run);
    w->var[w->plan->domain.rank] = "r0";
}

/* Moves the row variable to base + j, if adjacent rows form a vector. */
static void cg__move_row(ind__writer *w, const cg__scan_pass *p, bool back) {
    int v = w->plan->domain.rank - 1;
    if (p->run == 1) return;
    w->var[v] = back ? p->base : cg__string(w, "(%s + j)", p->base);
    if (w->linear_name[v]) w->linear_name[v] = back ? "p" : "(p + j)";
}

static void cg__move_back(ind__writer *w, const cg__scan_pass *p) {
    if (p->team) cg__move_row(w, p, true);
}

/* Opens the loop over a vector's elements, or over adjacent rows. */
static void cg__begin_neighbours(ind__writer *w, const cg__scan_pass *p) {
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", p->run);
    if (p->team) {
        cg__move_row(w, p, false);
        return;
    }
    ind__textf(&w->code, "const %s r = r0 + j;\n", cg__int(w));
    w->var[w->plan->domain.rank] = "r";
}
