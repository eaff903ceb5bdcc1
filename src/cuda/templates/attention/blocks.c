/* Masks that are the same for all scores of a block: they read a map of blocks of at least AT_BLOCK queries and keys,
   which the pass BLOCK_MAPS or the graph computes. Steps without a key are skipped, and in full blocks the mask is not
   evaluated. */

/* Queries and keys of a block: a multiple of those of every tile. */
#define AT_BLOCK 128

/* True if the expression depends on the variable by blocks only. */
static bool cg__at_is_by_block(ind_expr e, ind_expr var, int depth) {
    int64_t by;
    if (!ind__expr_depends(e, var)) return true;
    if (depth > 8) return false;
    if (ind_expr_query_kind(e) == IND_EXPR_FLOORDIV && ind_expr_is_int(ind_expr_arg(e, 1), &by) && by % AT_BLOCK == 0 &&
        ind_known_eq(ind_expr_arg(e, 0), var))
        return true;
    const int num = ind_expr_num_args(e);
    bool by_block = num > 0;
    for (int i = 0; i < num && by_block; i++) by_block = cg__at_is_by_block(ind_expr_arg(e, i), var, depth + 1);
    return by_block;
}

/* True if a value is the same for all scores of a block. */
static bool cg__at_is_of_block(const ind__writer *w, const cg__mm_problem *p, uint32_t i, int depth) {
    const ind__inst *in = cg__inst(w, i);
    const ind__loops *d = &w->plan->domain;
    if (in->op == IND_LOOP_LOAD) {
        const ind_expr e = cg__index_of(w, i);
        return !ind__expr_has_kind(e, IND_SYMBOL_INDIRECT) && cg__at_is_by_block(e, d->var[p->k], 0) &&
               (p->m < 0 || cg__at_is_by_block(e, d->var[p->m], 0));
    }
    if ((in->op != IND_LOOP_AND && in->op != IND_LOOP_OR && in->op != IND_LOOP_NOT) || depth > 8) return false;
    for (int k = 0; k < IND__MAX_ARGS; k++)
        if (in->arg[k] && !cg__at_is_of_block(w, p, in->arg[k], depth + 1)) return false;
    return true;
}

/* The operand of an OR, or of an AND if `when` is false, that is the same for all scores of a block. If it is `when`,
   so is the value. 0: none. */
static uint32_t cg__at_full_value(const ind__writer *w, const cg__mm_problem *p, uint32_t value, bool when) {
    const ind__inst *in = cg__inst(w, value);
    for (int k = 0; k < 2 && in->op == (when ? IND_LOOP_OR : IND_LOOP_AND); k++)
        if (cg__at_is_of_block(w, p, in->arg[k], 0)) return in->arg[k];
    return 0;
}

/* Few queries: the blocks divide the keys, and skip none of them. */
static bool cg__at_reads_blocks(const ind__writer *w) {
    const ind_strategy s = w->variant->strategy;
    return s == IND_STRATEGY_ATTENTION || s == IND_STRATEGY_ATTENTION_FMA || s == IND_STRATEGY_ATTENTION_TMA;
}

/* True if steps may be skipped, or if blocks may be full. */
static bool cg__at_has_blocks(const ind__writer *w, const cg__attention *x, bool full) {
    bool any = false;
    for (int i = 0; i < x->num_masks && cg__at_reads_blocks(w); i++)
        any |= full ? x->mask[i].full != 0 : x->mask[i].of_block;
    return any;
}

/* Sets what is known of the masks in the blocks of a step, or that every query sees every key: `whole`. */
static void cg__at_set_masks(ind__writer *w, const cg__attention *x, bool whole) {
    const bool blocks = cg__at_reads_blocks(w);
    int full = 0;
    for (int i = 0; i < x->num_masks; i++) full += x->mask[i].full != 0;
    for (int i = 0; i < x->num_masks; i++) {
        const cg__at_mask *m = &x->mask[i];
        if (whole || (blocks && m->of_block)) w->value[m->value] = cg__at_bool(m->when);
        if (blocks && m->full && full == 1) w->value[m->full] = m->when ? "full_block" : "!full_block";
    }
}

static void cg__at_forget_masks(ind__writer *w, const cg__attention *x) {
    for (int i = 0; i < x->num_masks; i++) w->value[x->mask[i].value] = w->value[x->mask[i].full] = NULL;
}

/* The number of the step after `step`. */
static const char *cg__at_next_step(const ind__writer *w, const cg__attention *x) {
    return cg__at_has_blocks(w, x, false) ? "next" : "step + 1";
}

/* A function of a key: whether the masks leave some of its block, or all of it. */
static void cg__at_write_block_test(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, bool full) {
    const char *and = "";
    ind__textf(&w->code, "const auto %s = [&](%s r0) {\n", full ? "is_full" : "has_keys", cg__int(w));
    w->code.indent++;
    w->scope++;
    cg__mm_set_plain_names(w);
    cg__need_none(w);
    for (int i = 0; i < x->num_masks; i++) {
        if (full && x->mask[i].full) cg__need(w, x->mask[i].full);
        if (!full && x->mask[i].of_block) cg__need(w, x->mask[i].value);
    }
    cg__close_needed(w);
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m;\n", cg__int(w), p->m);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "return ");
    for (int i = 0; i < x->num_masks; i++) {
        const cg__at_mask *m = &x->mask[i];
        if (full ? !m->full : !m->of_block) continue;
        ind__textf(&w->code, "%s%s", and, m->when ? "" : "!");
        cg__value(w, full ? m->full : m->value);
        and = " && ";
    }
    ind__textf(&w->code, ";\n");
    cg__mm_end_lambda(w);
}

/* "next_step": the first step from `step` on whose block has keys. A warp tests 32 blocks at a time, a thread 8. */
static void cg__at_write_next_step(ind__writer *w, bool alone) {
    const char *type = cg__int(w);
    const int keys = w->variant->of.tile.k, num = alone ? 8 : 32;
    ind__textf(&w->code, "const auto next_step = [&](%s step) {\n", type);
    w->code.indent++;
    w->scope++;
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (; step < end_step; step += %d)", num);
    if (alone) {
        ind__textf(&w->code, "unsigned found = 0;\n");
        cg__unroll(w);
        ind__textf(&w->code,
                   "for (int s = 0; s < 8; s++)\n    if (step + s < end_step && has_keys((step + s) * %d)) found |= 1u "
                   "<< s;\n",
                   keys);
    } else {
        ind__textf(&w->code,
                   "const unsigned found = __ballot_sync(0xffffffffu, step + lane < end_step && has_keys((step + lane) "
                   "* %d));\n",
                   keys);
    }
    ind__textf(&w->code, "if (found) return step + (%s)__ffs((int)found) - 1;\n", type);
    cg__end(w);
    ind__textf(&w->code, "return end_step;\n");
    cg__mm_end_lambda(w);
    ind__textf(&w->code, "first_step = next_step(first_step);\n");
}

/* The functions of blocks that the masks allow; "first_step" is one with keys. */
static void cg__at_write_blocks(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, bool alone) {
    if (cg__at_has_blocks(w, x, false)) {
        cg__at_write_block_test(w, p, x, false);
        cg__at_write_next_step(w, alone);
    }
    if (cg__at_has_blocks(w, x, false) && !alone) ind__textf(&w->code, "%s next = first_step;\n", cg__int(w));
    if (cg__at_has_blocks(w, x, true) && !alone) {
        cg__at_write_block_test(w, p, x, true);
        ind__textf(&w->code, "bool full_block = false;\n");
    }
}

/* At the begin of a step: "next", the step after it, and "full_block". */
static void cg__at_write_step_blocks(ind__writer *w, const cg__attention *x) {
    if (cg__at_has_blocks(w, x, false)) ind__textf(&w->code, "next = next_step(step + 1);\n");
    if (cg__at_has_blocks(w, x, true))
        ind__textf(&w->code, "full_block = is_full(step * %d);\n", w->variant->of.tile.k);
}
