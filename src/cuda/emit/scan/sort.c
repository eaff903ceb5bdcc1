/* ---- sort */

/* Number of the first STORE of a part of the sort; 0: not stored. */
static uint32_t cg__sorted_store(const ind__writer *w, int part) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *value = cg__inst(w, cg__inst(w, i)->arg[0]);
        bool sorted = value->op == IND_LOOP_PART && value->imm.i == part && cg__is_sort(w, value->arg[0]);
        if (cg__inst(w, i)->op == IND_LOOP_STORE && sorted) return i;
    }
    return 0;
}

/* The type of the keys in memory, which is the stored type if they are stored, and the function that reads them. */
static ind_dtype cg__sorted_dtype(ind__writer *w, const char **key) {
    uint32_t store = cg__sorted_store(w, 0);
    ind_dtype t = store ? cg__memory_dtype(w, store) : (ind_dtype)cg__inst(w, ind__body_sort(w->body))->dtype;
    if (t == IND_F16) cg__use(w, IND__CG_SORT_F16);
    if (t == IND_BF16) cg__use(w, IND__CG_SORT_BF16);
    *key = t == IND_F16    ? "ind_key_f16"
           : t == IND_BF16 ? "ind_key_bf16"
                           : cg__string(w, "ind_key<%s>", cg__types[t].memory);
    return t;
}

/* The row in memory in which result `part` of the sort is stored: "out0 + base" and the stride of its elements. */
static void cg__sorted_row(ind__writer *w, int part, const char **begin, const char **step) {
    uint32_t store = cg__sorted_store(w, part);
    ind_expr stride, base;
    *begin = *step = "";
    if (!store || !ind__affine(cg__index_of(w, store), w->plan->domain.var[w->plan->domain.rank], &stride, &base)) {
        ind__fail(w->context, IND_ERROR_VERIFY, "kernel %s: a sorted row does not lie at one stride", w->kernel->name);
        cg__fail(w);
        return;
    }
    *begin = cg__string(w, "%s + (%s)", cg__buffer(w, cg__inst(w, store)->source), cg__expr_string(w, base));
    *step = cg__string(w, "(%s)(%s)", cg__unsigned(w), cg__expr_string(w, stride));
}

static void cg__begin_row_loop(ind__writer *w, const char *size, int steps) {
    ind__textf(&w->code, "#pragma unroll %d\n", steps);
    cg__begin(w, "for (%s r = threadIdx.x; r < %s; r += %d)", cg__int(w), size, w->variant->threads);
}

/* Names the sort's results: the elements of the row in memory, and their positions. */
static void cg__sorted_results(ind__writer *w, ind_dtype t, const char *key, const char *position) {
    ind__text from = {.context = w->context, .mid_line = true}, keep = w->code;
    w->code = from;
    cg__from_memory(w, t, key);
    from = w->code;
    w->code = keep;
    const char *element = from.data ? ind__arena_string(&w->scratch, from.data, from.size) : NULL;
    ind__text_free(&from);
    if (!element) cg__fail(w);
    cg__scan_results(w, ind__body_sort(w->body), element ? element : "", position);
}

/* Writes the element at r to the memory in which it is sorted. */
static void cg__emit_sort_element(ind__writer *w) {
    const char *key;
    uint32_t x = cg__inst(w, ind__body_sort(w->body))->arg[0];
    ind_dtype t = cg__sorted_dtype(w, &key);
    if (w->variant->strategy == IND_STRATEGY_SORT_SHARED) {
        if (t == IND_F16) cg__use(w, IND__CG_F16);
        if (t == IND_BF16) cg__use(w, IND__CG_BF16);
        ind__textf(&w->code, "keys[r] = %s(", t == IND_F16 ? "ind_f32_to_f16" : t == IND_BF16 ? "ind_f32_to_bf16" : "");
        cg__value(w, x);
        ind__textf(&w->code, ");\nat[r] = (int)r;\n");
        return;
    }
    ind__textf(&w->code, "const %s element = ", cg__types[cg__inst(w, x)->dtype].value);
    cg__value(w, x);
    ind__textf(&w->code, ";\n");
    cg__scan_results(w, ind__body_sort(w->body), "element", "r");
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__sorts_in_place(w, i) >= 0) cg__need(w, i);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
}

/* Sorts the row, once all of its elements are in that memory. */
static void cg__emit_sort_row(ind__writer *w, const char *size) {
    const char *key, *begin[2], *step[2];
    const char *down = cg__scan_kind(w, ind__body_sort(w->body)) == IND_SCAN_DESCENDING ? "true" : "false";
    ind_dtype t = cg__sorted_dtype(w, &key);
    if (w->variant->strategy == IND_STRATEGY_SORT_SHARED) {
        ind__textf(&w->code, "ind_sort<%s, %s, unsigned>(keys, at, (unsigned)%s, %d);\n", key, down, size,
                   w->variant->threads);
        cg__sorted_results(w, t, "keys[r]", "at[r]");
        return;
    }
    cg__use(w, IND__CG_SORT_LONG);
    for (int k = 0; k < 2; k++) cg__sorted_row(w, k, &begin[k], &step[k]);
    ind__textf(&w->code, "ind_sort_long<%s, %s, %d, %s>(%s, %s, %s, %s, (%s)%s, keys, places, %d);\n", key, down,
               w->variant->per_thread, cg__unsigned(w), begin[0], step[0], begin[1], step[1], cg__unsigned(w), size,
               w->variant->threads);
    cg__sorted_results(w, t, cg__string(w, "(%s)[(%s)r * %s]", begin[0], cg__unsigned(w), step[0]),
                       cg__string(w, "(%s)[(%s)r * %s]", begin[1], cg__unsigned(w), step[1]));
}

/* True if the pass uses the sorted row in memory. */
static bool cg__uses_sorted(ind__writer *w, const cg__pass *s) {
    bool any = false;
    cg__need_scanned(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++) any = any || w->needed[i];
    return any;
}

/* Writes one pass of a kernel with a sort. */
static void cg__emit_sort_pass(ind__writer *w, const cg__pass *s, const char *size) {
    uint32_t sort = ind__body_sort(w->body);
    bool fills = cg__sorts_in(w, sort, s), reduces = false;
    int levels = cg__find_runs(w, s);
    if (!fills && !cg__uses_sorted(w, s)) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++) reduces = reduces || cg__reduces_in(w, i, s);
    cg__begin_pass_states(w, s);
    if (levels) {
        cg__emit_scan_pass(w, s, levels, size);
    } else {
        if (fills) {
            cg__need_scanned(w, s);
            cg__emit(w, cg__p_mask(w), s->stage);
        }
        cg__begin_row_loop(w, size, reduces ? cg__unroll_steps(w) : 1);
        cg__emit_scanned(w, s);
        cg__end(w);
    }
    cg__end_pass_states(w, s);
    if (!fills) return;
    cg__emit_sort_row(w, size);
    if (w->variant->strategy == IND_STRATEGY_SORT_LONG && w->plan->scan_stage > s->stage)
        ind__textf(&w->code, "__syncthreads();\n");
}

static ind_status cg__emit_sort(ind__writer *w) {
    const char *key, *size = cg__expr_string(w, w->plan->domain.extent[w->plan->domain.rank]);
    const char *type = cg__types[cg__sorted_dtype(w, &key)].memory;
    bool shared = w->variant->strategy == IND_STRATEGY_SORT_SHARED;
    cg__use(w, IND__CG_SORT);
    ind__textf(&w->code, "__shared__ %s keys[%d];\n__shared__ %s %s[%d];\n", type, w->variant->per_thread,
               shared ? "int" : cg__int(w), shared ? "at" : "places", w->variant->per_thread);
    cg__emit_scan_shared(w, size);
    cg__emit_scan_position(w);
    cg__emit_first_scan_vector(w, size);
    cg__emit_row_values(w);
    for (int stage = 0; stage <= w->plan->scan_stage; stage++) {
        cg__pass s = {.stage = stage, .stores = stage == w->plan->scan_stage};
        cg__emit_sort_pass(w, &s, size);
    }
    cg__emit_row_stores(w);
    return IND_OK;
}
