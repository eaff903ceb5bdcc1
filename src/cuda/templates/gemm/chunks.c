/* ---- writing: 8 neighbours of a computed operand ---- */

/* Finds out if LOAD i reads a run of bytes for 8 neighbours of the operand. */
static bool cg__mm_find_run(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i,
                            cg__run *run) {
    const int along = o->k_major ? p->k : o->x;
    if (i > o->value || along < 0 || !ind_known_multiple(cg__mm_along_size(p, o), 8)) return false;
    return cg__find_aligned_run(w, i, along, 8, run);
}

/* Sets o->run_bits. */
static void cg__mm_measure_runs(ind__writer *w, const cg__mm_problem *p, cg__mm_operand *o) {
    cg__run run;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i <= o->value; i++)
        if (!cg__mm_is_resident(w, p, o, i, MM_STAGED | MM_VECTOR) && cg__mm_find_run(w, p, o, i, &run))
            o->run_bits += run.bytes;
}

/* Writes the runs of the operand. */
static void cg__mm_write_runs(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    cg__run run;
    for (uint32_t i = 1; i <= o->value; i++)
        if (!w->memory[i] && cg__mm_find_run(w, p, o, i, &run)) cg__write_run(w, i, &run);
}
