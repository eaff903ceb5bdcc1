/* ---- misaligned rows: edges, and loads of vectors */

/* Writes "const int head = ..", the elements before the first aligned address in the current row, and `edges`, the
   number of elements in head and tail. */
static void cg__emit_edges(ind__writer *w) {
    const int n = w->variant->vector, reach = cg__misaligned_reach(w) - n, boundary = cg__boundary(w);
    const ind_expr row = cg__r_numel(w);
    const char *length = cg__expr_string(w, row), *start = cg__expr_string(w, cg__row_start(w, w->plan->leader));
    if (!cg__start_known(w, w->plan->leader)) {
        cg__use(w, IND__CG_BOUNDARY);
        ind__textf(&w->code, "const int head = -ind_misalignment<%d>(&%s[%s]) & %d;\n", boundary,
                   cg__buffer(w, cg__inst(w, w->plan->leader)->source), start, boundary - 1);
    } else {
        ind__textf(&w->code,
                   w->plan->starts_misaligned ? "const int head = (int)(-(%s) & %d);\n" : "const int head = 0;\n",
                   start, boundary - 1);
    }
    ind__textf(&w->code, "const int edges = ");
    if (!ind_known_le(ind_int(w->context, boundary + reach - 1), row))
        ind__textf(&w->code, "%s < head + %d ? (int)%s : ", length, reach, length);
    ind__textf(&w->code, "head + %d + ((int)(%s - head - %d) & %d);\n", reach, length, reach, n - 1);
}

/* Writes "const int shift = ...": the distance of the first point from the aligned address before it, in elements. */
static void cg__emit_shift(ind__writer *w) {
    const int n = w->variant->vector;
    const char *start = cg__expr_string(w, cg__row_start(w, w->plan->leader));
    if (!w->plan->starts_misaligned) return;
    if (cg__start_known(w, w->plan->leader)) {
        ind__textf(&w->code, "const int shift = (int)((%s) & %d);\n", start, n - 1);
        return;
    }
    cg__use(w, IND__CG_BOUNDARY);
    ind__textf(&w->code, "const int shift = ind_misalignment<%d>(&%s[%s]);\n", n,
               cg__buffer(w, cg__inst(w, w->plan->leader)->source), start);
}

/* Returns the misalignment of the vectors that LOAD i reads in the current row. It is the same for all of them. */
static const char *cg__misalignment(ind__writer *w, uint32_t i) {
    const int n = w->plan->vector[i];
    const ind_expr start = cg__row_start(w, i);
    if (cg__start_known(w, i) && ind_known_multiple(start, n)) return "head";
    const char *from = cg__expr_string(w, start);
    if (cg__start_known(w, i)) return cg__string(w, "(int)((%s) & %d) + head", from, n - 1);
    cg__use(w, IND__CG_BOUNDARY);
    return cg__string(w, "ind_misalignment<%d>(&%s[%s]) + head", n, cg__buffer(w, cg__inst(w, i)->source), from);
}

/* Returns the expression that loads the current vector of LOAD i. Operands shared by all rows are loaded rarely, while
   a thread holds its row in registers. They are then loaded as words: two vectors and the combined one take too many
   registers (layer_norm of 262147 f32 spilled because of these). */
static const char *cg__load_expression(ind__writer *w, uint32_t i) {
    const bool words = w->plan->across[i] && cg__holds_across(w), past = !cg__is_staged(w, i) && cg__passes_l1(w, i);
    cg__use(w, words                ? IND__CG_LOAD_WORDS
               : w->plan->across[i] ? IND__CG_LOAD_ACROSS
               : past               ? IND__CG_LOAD_PAST
                                    : IND__CG_VEC);
    const char *element = cg__is_staged(w, i) ? cg__staged_element(w, i) : cg__element(w, i);
    if (w->plan->across[i] && !words)
        return cg__string(w, "ind_load_across<%d>(&%s, %s)", w->plan->vector[i], element, cg__misalignment(w, i));
    return cg__string(w, "ind_load%s<%d>(&%s)", words ? "_words" : past ? "_past" : "", w->plan->vector[i], element);
}
