/* ---- loads of a chunk */

static bool cg__loads_chunk(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_LOAD && !inst->arg[0] && w->plan->varies[i] & cg__r_mask(w) && !w->value[i] &&
           w->plan->vector[i] == w->variant->vector &&
           !cg__indirect_varies(w, cg__index_of(w, i), w->plan->domain.rank);
}

static void cg__mark_chunk_loads(ind__writer *w, const cg__scan_pass *p, uint8_t mark) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->needed[i] && cg__loads_chunk(w, i)) p->ahead[i] = mark;
}

/* Finds the loads that start together, once the scans' results have names. Sorted rows are read from shared memory. */
static void cg__find_chunk_loads(ind__writer *w, const cg__scan_pass *p) {
    memset(p->ahead, 0, w->body->num_inst);
    if (cg__sorts_rows(w)) return;
    for (int level = 1; level <= p->levels; level++) {
        cg__need_elements_at(w, level);
        cg__mark_chunk_loads(
            w, p, level == 1 && !p->single && !cg__looks_back(w) ? IND__CG_LOADED_AHEAD : IND__CG_LOADED_FIRST);
    }
    cg__need_scanned(w, p->pass);
    cg__mark_chunk_loads(w, p, IND__CG_LOADED_FIRST);
}

static void cg__declare_chunk_loads(ind__writer *w, const cg__scan_pass *p, uint8_t which) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (p->ahead[i] != which) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        if (p->run > 1)
            ind__textf(&w->code, "ind_vec<%s, %d> x%u[%d];\n", type, p->run, i, p->lines);
        else
            ind__textf(&w->code, "%s x%u[%d];\n", type, i, p->lines);
    }
}

/* Writes "x1[k] = ind_load<8>(&in0[4096*i0 + r0]);". Misaligned rows load only elements inside the row: whole vectors,
   or with `parts` partial ones. */
static void cg__start_chunk_load(ind__writer *w, const cg__scan_pass *p, uint32_t i, bool parts) {
    w->memory[i] = NULL;
    const char *element = cg__element(w, i);
    if (w->plan->shift)
        ind__textf(&w->code, "if (%sind_whole<%d>(&%s, r0, %s)) ", parts ? "!" : "", p->run, element, p->size_value);
    if (w->plan->shift && parts)
        ind__textf(&w->code, "x%u[k] = ind_load_part<%d>(&%s, r0, %s);\n", i, p->run, element, p->size_value);
    else if (p->run > 1)
        ind__textf(&w->code, "x%u[k] = ind_load<%d>(&%s);\n", i, p->run, element);
    else
        ind__textf(&w->code, "x%u[k] = %s;\n", i, element);
    w->memory[i] = cg__string(w, p->run > 1 ? "x%u[k].at[j]" : "x%u[k]", i);
    if (p->run > 1) cg__use(w, w->plan->shift ? IND__CG_VEC_PART : IND__CG_VEC);
}

/* Starts the loads of a chunk. Partial vectors come last: they are assembled from scalar loads, for which the warp
   waits. */
static void cg__start_chunk_loads(ind__writer *w, const cg__scan_pass *p, uint8_t which, const char *begin) {
    bool any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) any = any || p->ahead[i] == which;
    for (int parts = 0; any && parts <= (w->plan->shift != 0); parts++) {
        cg__begin_lines(w, p, begin);
        bool guarded = !w->plan->shift && (!p->exact || !p->single);
        if (guarded)
            cg__begin(w, p->team ? "if (r < %s)" : "if (r0 < %s)",
                      p->exact ? cg__expr_string(w, cg__r_numel(w)) : p->size);
        for (uint32_t i = 1; i < w->body->num_inst; i++)
            if (p->ahead[i] == which) cg__start_chunk_load(w, p, i, parts);
        if (guarded) cg__end(w);
        cg__end(w);
    }
}

/* ---- a chunk */

static bool cg__is_exclusive(const ind__writer *w, uint32_t scan) {
    return cg__inst(w, scan)->flags & IND__INST_EXCLUSIVE;
}

/* Writes the results of the scans up to a level, at element j of vector k of the thread. */
static void cg__emit_run_results(ind__writer *w, const cg__scan_pass *p, int levels) {
    const char *line = p->team ? "j" : "k", *step = p->team ? "k" : "j";
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->runs[i] || w->plan->level[i] > levels) continue;
        const char *t = cg__of_scan(w, "t", i), *s = cg__of_scan(w, "s", i);
        ind__textf(&w->code, "%s %s = %s[%s];\n", cg__scan_state(w, i), t, cg__of_scan(w, "before", i), line);
        if (cg__is_exclusive(w, i))
            ind__textf(&w->code, "if (%s > 0) %s.combine(%s[%s > 0 ? k * %d + j - %d : 0]);\n", step, t, s, step,
                       p->run, p->team ? p->run : 1);
        else
            ind__textf(&w->code, "%s.combine(%s[k * %d + j]);\n", t, s, p->run);
        cg__scan_results_of(w, i, t);
    }
}

/* Writes the states s[] of element j of vector k of the thread. */
static void cg__emit_run_elements(ind__writer *w, const cg__scan_pass *p, int level) {
    const bool guarded = !p->exact && !p->pads;
    uint32_t num = w->body->num_inst;
    const char *at = cg__string(w, "k * %d + j", p->run);
    for (uint32_t i = 1; i < num && guarded; i++)
        if (cg__runs_at(w, i, level))
            ind__textf(&w->code, "%s[%s] = %s;\n", cg__of_scan(w, "s", i), at, cg__of_scan(w, "none", i));
    if (guarded) cg__begin(w, w->plan->shift ? "if (r >= 0 && r < %s)" : "if (r < %s)", p->size);
    cg__emit_run_results(w, p, level - 1);
    cg__need_elements_at(w, level);
    cg__emit(w, IND__CG_ALL_VARS, p->pass->stage);
    for (uint32_t i = 1; i < num; i++)
        if (cg__runs_at(w, i, level))
            cg__scan_element(w, i, cg__string(w, "%s[%s] = %s", cg__of_scan(w, "s", i), at, cg__scan_state(w, i)));
    if (guarded) cg__end(w);
}

/* Resets the states of elements outside the row. */
static void cg__leave_out(ind__writer *w, const cg__scan_pass *p, int level) {
    cg__begin(w, "if (r0 < 0 || r0 > %s - %d)", p->size_value, p->run);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", p->run);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__runs_at(w, i, level))
            ind__textf(&w->code, "if (r0 + j < 0 || r0 + j >= %s) %s[k * %d + j] = %s;\n", p->size_value,
                       cg__of_scan(w, "s", i), p->run, cg__of_scan(w, "none", i));
    cg__end(w);
    cg__end(w);
}

/* Combines each state with the previous element's. */
static void cg__emit_run_combine(ind__writer *w, const cg__scan_pass *p, int level) {
    uint32_t num = w->body->num_inst;
    const char *at = cg__string(w, "k * %d + j", p->run);
    if ((p->team ? p->lines : p->run) == 1) return;
    const char *step = p->team ? "k" : "j";
    ind__textf(&w->code, "if (%s > 0) {\n", step);
    for (uint32_t i = 1; i < num; i++) {
        if (!cg__runs_at(w, i, level)) continue;
        const char *s = cg__of_scan(w, "s", i), *t = cg__of_scan(w, "t", i);
        ind__textf(&w->code, "    %s %s = %s[%s > 0 ? %s - %d : 0];\n    %s.combine(%s[%s]);\n    %s[%s] = %s;\n",
                   cg__scan_state(w, i), t, s, step, at, p->team ? p->run : 1, t, s, at, s, at, t);
    }
    ind__textf(&w->code, "}\n");
}
