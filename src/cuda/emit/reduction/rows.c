/* ---- rows */

/* Writes the elements after the last whole vector; the first block takes them. */
static void cg__emit_row_rest(ind__writer *w, const cg__pass *s) {
    int n = w->variant->vector, last = w->plan->domain.rank;
    ind_expr row = cg__r_numel(w);
    ind__variant scalar;
    if (n == 1 || ind_known_multiple(row, n) || cg__promised(w->variant->guard, row, n, 0)) return;
    const char *extent = cg__expr_string(w, row);
    cg__begin(w, "if (blockIdx.y == 0 && lane < %s %% %d)", extent, n);
    ind__textf(&w->code, "const %s r = %s / %d * %d + lane;\n", cg__int(w), extent, n, n);
    w->var[last] = "r";
    const ind__variant *rows = cg__write_scalars(w, &scalar);
    w->split.lanes = 1;
    cg__emit_chunk(w, s);
    w->variant = rows;
    w->split.lanes = n;
    cg__end(w);
}

/* True if the blocks of a row exchange states through words in memory (a mailbox). The last block then has at least one
   thread per block. */
static bool cg__exchanges_by_mailbox(const ind__writer *w) {
    return cg__shares_results(w) && w->variant->of.split.max_blocks <= w->variant->threads;
}

/* Returns the offset of the 8-byte words, after the 4-byte counters. */
static int cg__words_from(int64_t blocks) {
    return (int)(blocks + 1) / 2 * 2;
}

/* Returns the number of words of a block's states. */
static int cg__split_words(const ind__writer *w) {
    int words = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i)) words += cg__state_bytes_of(w, i) / 4;
    return words;
}

/* Writes the exchange through words. The block that began last combines the states of all others, one per thread, with
   its own in the form that lane 0 would send. (Lanes that combine means or softmaxes differ in the last bits, and any
   block may be the last.) A word is valid if its upper half is not 0, as in FINISH. So no counter is needed at the end
   of a block, which would take a fence and two more trips to the L2. */
static void cg__combine_row_words(ind__writer *w, const cg__pass *s) {
    const char *splits = cg__expr_string(w, w->variant->of.split.num);
    const int64_t blocks = w->variant->of.split.max_blocks;
    const int words = cg__split_words(w), from = cg__words_from(blocks);
    cg__use(w, IND__CG_SPLIT_WORDS);
    cg__begin(w, "if (%s > 1)", splits);
    ind__textf(&w->code,
               "unsigned long long *word = reinterpret_cast<unsigned long long *>(counters + %d) + "
               "blockIdx.x * (%s) * %d;\n",
               from, splits, words);
    ind__textf(&w->code, "const bool last = ind_began_last(turn, %s);\n", splits);
    cg__begin(w, "if (!last)");
    cg__begin(w, "if (lane == 0)");
    ind__textf(&w->code, "word += blockIdx.y * %d;\n", words);
    for (uint32_t i = 1, at = 0; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i)) continue;
        ind__textf(&w->code, "ind_split_leave(word + %u, s%u);\n", at, i);
        at += (uint32_t)cg__state_bytes_of(w, i) / 4;
    }
    cg__end(w);
    ind__textf(&w->code, "return;\n");
    cg__end(w);
    ind__textf(&w->code, "word += lane * %d;\n", words);
    for (uint32_t i = 1, at = 0; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i)) continue;
        if (cg__lanes_combine_warps(w, i)) ind__textf(&w->code, "s%u = s%u.lane(blockIdx.y %% 32);\n", i, i);
        ind__textf(&w->code, "if (lane >= %s) s%u = {%s};\n", splits, i,
                   cg__neutral(w, i, (ind_reduction)cg__inst(w, i)->reduction));
        ind__textf(&w->code, "else if (lane != (int)blockIdx.y) ind_split_take(word + %u, s%u);\n", at, i);
        at += (uint32_t)cg__state_bytes_of(w, i) / 4;
    }
    cg__emit_combine(w, s);
    cg__end(w);
}

static void cg__combine_row_splits(ind__writer *w, const cg__pass *s) {
    const char *splits = cg__expr_string(w, w->variant->of.split.num);
    if (cg__exchanges_by_mailbox(w)) {
        cg__combine_row_words(w, s);
        return;
    }
    cg__begin(w, "if (%s > 1)", splits);
    cg__leave_partials(w, 1, "lane == 0", cg__string(w, "blockIdx.x * %s + blockIdx.y", splits));
    cg__take_partials(w, "lane", w->variant->threads, cg__string(w, "blockIdx.x * %s + i", splits));
    cg__emit_combine(w, s);
    cg__end(w);
}

static void cg__emit_row_split(ind__writer *w, const cg__pass *s) {
    int n = w->variant->vector;
    bool one = w->plan->domain.rank == 1, whole = n == 1 || w->plan->domain.rrank > 1;
    const char *extent = cg__expr_string(w, cg__r_numel(w)), *type = cg__int(w);
    const char *splits = cg__expr_string(w, w->variant->of.split.num);
    whole = whole || ind_known_multiple(cg__r_numel(w), n) || cg__promised(w->variant->guard, cg__r_numel(w), n, 0);
    ind__textf(&w->code, "const int lane = threadIdx.x;\n");
    if (cg__exchanges_by_mailbox(w))
        ind__textf(&w->code, "const unsigned turn = %s > 1 ? ind_turn(&counters[blockIdx.x], %s) : 0;\n", splits,
                   splits);
    if (w->plan->domain.rank) ind__textf(&w->code, "const %s %s = blockIdx.x;\n", type, one ? "i0" : "p");
    if (one)
        w->var[0] = "i0";
    else
        cg__split_linear(w, "p", 0, w->plan->domain.rank);
    cg__need_all(w);
    cg__emit(w, cg__p_mask(w), s->stage);
    cg__emit_pass_comment(w, s);
    cg__need_pass(w, s);
    cg__emit_states(w, s);
    cg__emit_lanes(w);
    ind__textf(&w->code, "// The blocks of a row read it interleaved: together they read consecutive memory.\n");
    cg__emit_split_loop(w, s, cg__string(w, "((%s)blockIdx.y * %d + lane) * %d", type, w->variant->threads, n),
                        cg__string(w, "%s * %d", splits, w->variant->threads * n),
                        whole ? extent : cg__string(w, "%s / %d * %d", extent, n, n), cg__emit_chunk);
    cg__emit_row_rest(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i) || !cg__has_lanes(w, i)) continue;
        cg__use(w, IND__CG_COMBINE_NEIGHBOURS);
        ind__textf(&w->code, "s%u.combine(ind_combine_neighbours(l%u));\n", i, i);
    }
    cg__emit_combine(w, s);
    cg__combine_row_splits(w, s);
    cg__emit_results(w, s);
    cg__emit_row_stores(w);
}
