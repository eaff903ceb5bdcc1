/* Writes once what the neighbours of a vector share, and reads runs of bytes. A block of quantised weights has a scale
   that many elements use, and a header before its bytes, which are no aligned vector. */

/* Returns e at n*g + l in place of the variable, and of the linear position that ends with it; *lane is l. If n divides
   d, (n*g + l) // d does not depend on l. Invalid if e depends on a linear position that goes on after it. */
static ind_expr cg__in_vector(const ind__writer *w, ind_expr e, int along, int n, ind_expr *lane) {
    e = ind__by_vectors(e, w->plan->domain.var[along], n, lane);
    for (int d = along; ind__ok(e) && d < w->plan->domain.rank; d++) {
        if (!ind__ok(w->linear[d]) || !ind__expr_depends(e, w->linear[d])) continue;
        if (d > along) return (ind_expr){0};
        e = ind__by_vectors(e, w->linear[d], n, lane);
    }
    return e;
}

/* True if instruction i has one value for n neighbours from a multiple of n on. `same` has this for those before it. */
static bool cg__is_same_in_vector(const ind__writer *w, uint32_t i, int along, int n, const uint8_t *same) {
    const ind__inst *inst = cg__inst(w, i);
    if (!(w->plan->varies[i] >> along & 1)) return true;
    if (inst->op == IND_LOOP_INDIRECT || inst->op == IND_LOOP_STORE) return false;
    for (int k = 0; k < IND__MAX_ARGS; k++)
        if (inst->arg[k] && !same[inst->arg[k]]) return false;
    for (uint32_t k = 0; k < inst->num_index; k++) {
        ind_expr lane, e = w->plan->domain.index[inst->index + k];
        if (ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return false;
        e = cg__in_vector(w, e, along, n, &lane);
        if (!ind__ok(e) || ind__expr_depends(e, lane)) return false;
    }
    return true;
}

/* Writes the needed instructions that have one value for n neighbours: a scale of a block of 32 elements is read and
   converted once. The loop variable stands for the first neighbour. */
static void cg__emit_same(ind__writer *w, int along, int n) {
    uint8_t *same = (uint8_t *)ind__arena_alloc(&w->scratch, w->body->num_inst);
    if (!same) {
        cg__fail(w);
        return;
    }
    memset(same, 0, w->body->num_inst);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->needed[i]) continue;
        same[i] = cg__is_same_in_vector(w, i, along, n, same);
        if (!same[i] || w->known[i] || w->value[i]) continue;
        cg__instruction(w, i);
        w->known[i] = (uint8_t)w->scope;
    }
}

/* The value of INDEX i in terms of the variable as the number of the neighbour, if it does not depend on the vector:
   (n*g + l) % 2 is l % 2. Else invalid without an error. */
static ind_expr cg__lane_value(const ind__writer *w, uint32_t i, int along, int n) {
    const ind__inst *inst = cg__inst(w, i);
    const ind_expr none = {0}, e = cg__index_of(w, i);
    if (inst->op != IND_LOOP_INDEX || inst->dtype == IND_BOOL || !(w->plan->varies[i] >> along & 1)) return none;
    if (ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return none;
    ind_expr lane, symbol[32], of_vectors = cg__in_vector(w, e, along, n, &lane);
    const int num = ind__ok(of_vectors) ? ind__expr_symbols(of_vectors, symbol, 32) : 33;
    if (num > 32) return none;
    for (int s = 0; s < num; s++)
        if (!ind_expr_same(symbol[s], lane) && !ind__expr_depends(e, symbol[s])) return none;
    return ind__substitute(of_vectors, &lane, &w->plan->domain.var[along], 1);
}

/* Sets the texts of such values for a loop over neighbours j, or forgets them: they are constants in an unrolled
   loop. */
static void cg__set_lane_values(ind__writer *w, int along, int n, bool forget) {
    const char *var = w->var[along];
    w->var[along] = "j";
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->needed[i] || w->known[i]) continue;
        const ind_expr value = cg__lane_value(w, i, along, n);
        if (!ind__ok(value)) continue;
        const char *type = cg__types[cg__inst(w, i)->dtype].value;
        w->value[i] = forget ? NULL : cg__string(w, "(%s)(%s)", type, cg__expr_string(w, value));
    }
    w->var[along] = var;
}

/* What neighbours read: adjacent bytes, each of them by 1, 2 or more neighbours. */
typedef struct cg__run {
    int bytes, per_byte, alignment;
} cg__run;

/* The largest power of two up to `most` that divides the offset of a run, if the pointer has this alignment. */
static int cg__run_alignment(ind_expr base, int most) {
    int n = 1;
    while (n < most && ind_known_multiple(base, 2 * (int64_t)n)) n *= 2;
    return n;
}

/* Finds out if LOAD i, which is needed, reads a run of bytes for n neighbours along a variable. The alignment is that
   of the offset. */
static bool cg__find_run(const ind__writer *w, uint32_t i, int along, int n, cg__run *run) {
    const ind__inst *in = cg__inst(w, i);
    if (!w->needed[i] || in->op != IND_LOOP_LOAD || in->arg[0] || ind_dtype_bytes(cg__memory_dtype(w, i)) != 1)
        return false;
    ind_expr lane, e = cg__index_of(w, i);
    if (ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return false;
    e = cg__in_vector(w, e, along, n, &lane);
    if (!ind__ok(e) || !ind__expr_depends(e, lane)) return false;
    for (int each = 1; each < n; each *= 2) {
        ind_expr base = ind_expr_sub(e, ind_expr_floordiv(lane, ind_int(w->context, each)));
        if (!ind__ok(base) || ind__expr_depends(base, lane)) continue;
        *run = (cg__run){n / each, each, cg__run_alignment(base, n / each)};
        return true;
    }
    return false;
}

/* The same; a pointer that may be misaligned aligns to 1 byte. */
static bool cg__find_aligned_run(const ind__writer *w, uint32_t i, int along, int n, cg__run *run) {
    if (!cg__find_run(w, i, along, n, run)) return false;
    if (!w->variant->guard_aligned && !cg__in_arena(w, cg__inst(w, i)->source)) run->alignment = 1;
    return true;
}

/* The byte of a run that neighbour j reads. */
static const char *cg__run_element(ind__writer *w, const cg__run *run) {
    return run->per_byte > 1 ? cg__string(w, "j / %d", run->per_byte) : "j";
}

/* Writes "const ind_vec<unsigned char, 4> x12 = ind_load_run<4, 2>(&in0[..]);" for LOAD i. */
static void cg__write_run(ind__writer *w, uint32_t i, const cg__run *run) {
    ind__textf(&w->code, "const ind_vec<%s, %d> x%u = ind_load_run<%d, %d>(&%s);\n",
               cg__types[cg__memory_dtype(w, i)].memory, run->bytes, i, run->bytes, run->alignment, cg__element(w, i));
    w->memory[i] = cg__string(w, "x%u.at[%s]", i, cg__run_element(w, run));
    cg__use(w, IND__CG_LOAD_RUN);
}
