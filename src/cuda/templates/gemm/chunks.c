/* ---- writing: 8 neighbours of a computed operand ---- */

/* Returns e at n*g + l in place of the variable; *lane is l. If n divides d, (n*g + l) // d does not depend on l. */
static ind_expr cg__mm_in_chunk(const ind__writer *w, ind_expr e, int along, int n, ind_expr *lane) {
    return ind__by_vectors(e, w->plan->domain.var[along], n, lane);
}

/* True if instruction i has one value for n neighbours from a multiple of n on. `same` has this for those before it. */
static bool cg__mm_is_same_in_chunk(const ind__writer *w, uint32_t i, int along, int n, const uint8_t *same) {
    const ind__inst *inst = cg__inst(w, i);
    if (!(w->plan->varies[i] >> along & 1)) return true;
    if (inst->op == IND_LOOP_INDIRECT || inst->op == IND_LOOP_STORE) return false;
    for (int k = 0; k < IND__MAX_ARGS; k++)
        if (inst->arg[k] && !same[inst->arg[k]]) return false;
    for (uint32_t k = 0; k < inst->num_index; k++) {
        ind_expr lane, e = w->plan->domain.index[inst->index + k];
        if (ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return false;
        e = cg__mm_in_chunk(w, e, along, n, &lane);
        if (!ind__ok(e) || ind__expr_depends(e, lane)) return false;
    }
    return true;
}

/* Writes the needed instructions that have one value for 8 neighbours: a scale of a block of 32 elements is read and
   converted once. The loop variable stands for the first neighbour. */
static void cg__mm_emit_chunk(ind__writer *w, int along) {
    uint8_t *same = (uint8_t *)ind__arena_alloc(&w->scratch, w->body->num_inst);
    if (!same) {
        cg__fail(w);
        return;
    }
    memset(same, 0, w->body->num_inst);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->needed[i]) continue;
        same[i] = cg__mm_is_same_in_chunk(w, i, along, 8, same);
        if (!same[i] || w->known[i] || w->value[i]) continue;
        cg__instruction(w, i);
        w->known[i] = (uint8_t)w->scope;
    }
}

/* What 8 neighbours read: adjacent bytes, each of them by 1, 2 or 4 neighbours. */
typedef struct cg__mm_run {
    int bytes, per_byte, alignment;
} cg__mm_run;

/* The largest power of two up to `most` that divides the offset of a run, if the pointer has this alignment. */
static int cg__mm_run_alignment(const ind__writer *w, uint32_t load, ind_expr base, int most) {
    int n = 1;
    if (!w->variant->guard_aligned && !cg__in_arena(w, cg__inst(w, load)->source)) return 1;
    while (n < most && ind_known_multiple(base, 2 * (int64_t)n)) n *= 2;
    return n;
}

/* Finds out if LOAD i of bytes reads a run. */
static bool cg__mm_find_run(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i,
                            cg__mm_run *run) {
    const int along = o->k_major ? p->k : o->x;
    if (i > o->value || along < 0 || !cg__mm_is_early_load(w, i) || ind_dtype_bytes(cg__memory_dtype(w, i)) != 1)
        return false;
    if (!ind_known_multiple(cg__mm_along_size(p, o), 8)) return false;
    ind_expr lane, e = cg__mm_in_chunk(w, cg__index_of(w, i), along, 8, &lane);
    if (!ind__ok(e) || !ind__expr_depends(e, lane)) return false;
    for (int n = 1; n < 8; n *= 2) {
        ind_expr base = ind_expr_sub(e, ind_expr_floordiv(lane, ind_int(w->context, n)));
        if (!ind__ok(base) || ind__expr_depends(base, lane)) continue;
        *run = (cg__mm_run){8 / n, n, cg__mm_run_alignment(w, i, base, 8 / n)};
        return true;
    }
    return false;
}

/* The byte of a run that neighbour j reads. */
static const char *cg__mm_run_element(ind__writer *w, const cg__mm_run *run) {
    return run->per_byte > 1 ? cg__string(w, "j / %d", run->per_byte) : "j";
}

/* Sets o->run_bits. */
static void cg__mm_measure_runs(ind__writer *w, const cg__mm_problem *p, cg__mm_operand *o) {
    cg__mm_run run;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i <= o->value; i++)
        if (!cg__mm_is_resident(w, p, o, i, MM_STAGED | MM_VECTOR) && cg__mm_find_run(w, p, o, i, &run))
            o->run_bits += run.bytes;
}

/* Writes "const ind_vec<unsigned char, 4> x12 = ind_load_run<4, 2>(&in0[..]);" for each run of the operand. */
static void cg__mm_write_runs(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    cg__mm_run run;
    for (uint32_t i = 1; i <= o->value; i++) {
        if (w->memory[i] || !cg__mm_find_run(w, p, o, i, &run)) continue;
        ind__textf(&w->code, "const ind_vec<%s, %d> x%u = ind_load_run<%d, %d>(&%s);\n",
                   cg__types[cg__memory_dtype(w, i)].memory, run.bytes, i, run.bytes, run.alignment, cg__element(w, i));
        w->memory[i] = cg__string(w, "x%u.at[%s]", i, cg__mm_run_element(w, &run));
        cg__use(w, IND__CG_LOAD_RUN);
    }
}
