/* ---- writing: the epilogue ---- */

/* The column group that a thread handles in round u, in a scope that is open afterwards: two cg__end. */
static void cg__mm_begin_columns(ind__writer *w, const cg__mm_problem *p, const cg__mm_area *area, int rounds) {
    const ind__variant *v = w->variant;
    int groups = area->cols / v->vector;
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", rounds);
    ind__textf(&w->code, "const int at = first + u * %d, row = at / %d, col = at %% %d * %d;\n", area->threads, groups,
               groups, v->vector);
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m + row;\n", cg__int(w), p->m);
    if (p->n >= 0) ind__textf(&w->code, "const %s i%d = first_n + col;\n", cg__int(w), p->n);
    cg__begin(w, "if (first_m + row < size_m && first_n + col < size_n)");
}

static bool cg__mm_is_vector_load(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_LOAD && w->needed[i] && w->plan->vector[i] > 1;
}

static bool cg__mm_has_vector_loads(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_is_vector_load(w, i)) return true;
    return false;
}

/* LOAD 7's vectors are x7, or e7 if they are requested before the main loop. */
static char cg__mm_vector_letter(const cg__mm_area *area) {
    return area->loaded ? 'e' : 'x';
}

/* Requests the vectors of round u. */
static void cg__mm_write_requests(ind__writer *w, const cg__mm_area *area) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_is_vector_load(w, i))
            ind__textf(&w->code, "%c%u[u] = ind_load<%d>(&%s);\n", cg__mm_vector_letter(area), i, w->variant->vector,
                       cg__element(w, i));
    cg__use(w, IND__CG_VEC);
}

/* All vectors that all rounds read, before anything is written: so the reads overlap, even where the compiler could not
   reorder them because input and output may be one buffer. */
static void cg__mm_write_vector_loads(ind__writer *w, const cg__mm_problem *p, const cg__mm_area *area, int rounds) {
    cg__mm_begin_columns(w, p, area, rounds);
    cg__mm_write_requests(w, area);
    cg__end(w);
    cg__end(w);
}

static void cg__mm_declare_vector_loads(ind__writer *w, const cg__mm_area *area, int rounds) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_is_vector_load(w, i))
            ind__textf(&w->code, "ind_vec<%s, %d> %c%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory,
                       w->variant->vector, cg__mm_vector_letter(area), i, rounds);
}

static void cg__mm_name_vector_loads(ind__writer *w, const cg__mm_area *area) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_is_vector_load(w, i)) w->memory[i] = cg__string(w, "%c%u[u].at[j]", cg__mm_vector_letter(area), i);
}

/* Results of V columns, whose sums are dot[] and dot2[]. What does not depend on the column is computed once, the rest
   for each j. */
static void cg__mm_write_column_values(ind__writer *w, const cg__mm_problem *p) {
    if (p->n < 0) {
        cg__emit_stores(w);
        return;
    }
    cg__emit(w, ~(1u << p->n), IND__CG_ALL_STAGES);
    cg__vector_sinks(w);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", w->variant->vector);
    cg__mm_set_text(w, p->n, cg__string(w, "(i%d + j)", p->n));
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
    cg__mm_set_plain_names(w);
    cg__vector_stores(w);
}

/* V columns of one row of the tile. */
static void cg__mm_write_columns(ind__writer *w, const cg__mm_problem *p, const cg__mm_area *area) {
    const ind__variant *v = w->variant;
    ind__textf(&w->code, "%s dot[%d];\nind_sum_read<%d>(dot, sum, row, col);\n", cg__mm_sum_type(p), v->vector,
               area->pitch);
    if (area->factor)
        ind__textf(&w->code,
                   "const float row_factor = %s;\n#pragma unroll\nfor (int j = 0; j < %d; j++) dot[j] *= row_factor;\n",
                   area->factor, v->vector);
    if (p->dot2)
        ind__textf(&w->code, "float dot2[%d];\nind_sum_read<%d>(dot2, %s);\n", v->vector, area->pitch, area->second);
    cg__mm_write_column_values(w, p);
}

/* How many rounds a thread does together: up to 4, fewer if they would read more vectors than registers should hold. */
static int cg__mm_epilogue_rounds(const ind__writer *w, const cg__mm_area *area) {
    const int vectors = area->rows * area->cols / w->variant->vector;
    int loads = 0, rounds = vectors % area->threads ? 1 : vectors / area->threads, together = 4;
    for (uint32_t i = 1; i < w->body->num_inst; i++) loads += cg__mm_is_vector_load(w, i);
    while (together > 1 && (rounds < together || rounds % together || together * loads > 8)) together /= 2;
    return together;
}

/* The sums of a block, which is not in a cluster. */
static cg__mm_area cg__mm_block_area(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int columns = cg__mm_columns(w->variant);
    return (cg__mm_area){.rows = t->m,
                         .cols = columns,
                         .threads = w->variant->threads,
                         .thread = "threadIdx.x",
                         .pitch = t->n,
                         .second = cg__string(w, "sum, row, col + %d", columns),
                         .loaded = cg__mm_is_one_row(w, p)};
}

/* Requests what the epilogue of a product of one row reads, before its sums are complete. A thread has at most one
   vector of the results. */
static void cg__mm_write_loads_ahead(ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_area area = cg__mm_block_area(w, p);
    cg__mm_set_plain_names(w);
    cg__need_stores(w);
    if (!cg__mm_has_vector_loads(w)) return;
    cg__mm_declare_vector_loads(w, &area, 1);
    cg__begin(w, "if (threadIdx.x < %d)", area.cols / w->variant->vector);
    ind__textf(&w->code, "const int first = threadIdx.x;\n");
    cg__mm_write_vector_loads(w, p, &area, 1);
    cg__end(w);
}

static void cg__mm_write_epilogue(ind__writer *w, const cg__mm_problem *p, const cg__mm_area *area) {
    const ind__variant *v = w->variant;
    cg__mm_set_plain_names(w);
    cg__need_stores(w);
    int rounds = cg__mm_epilogue_rounds(w, area);
    ind__textf(&w->code, "#pragma unroll 1\n");
    const int groups = area->cols / v->vector;
    const char *from = area->first_row ? cg__string(w, "%s * %d + ", area->first_row, groups) : "";
    const char *to =
        area->end_row ? cg__string(w, "%s * %d", area->end_row, groups) : cg__string(w, "%d", area->rows * groups);
    cg__begin(w, "for (int first = %s%s%s; first < %s; first += %d)", from, *from ? "(int)" : "", area->thread, to,
              area->threads * rounds);
    if (cg__mm_has_vector_loads(w) && !area->loaded) {
        cg__mm_declare_vector_loads(w, area, rounds);
        cg__mm_write_vector_loads(w, p, area, rounds);
    }
    cg__mm_name_vector_loads(w, area);
    cg__mm_begin_columns(w, p, area, rounds);
    cg__mm_write_columns(w, p, area);
    cg__end(w);
    cg__end(w);
    cg__end(w);
    cg__forget_vectors(w);
}

/* The body of the kernel function, as cg__choose_matmul decided. */
static ind_status cg__emit_matmul(ind__writer *w) {
    const cg__mm_problem *p = w->plan->matmul;
    const cg__mm_template *x = cg__mm_template_of(w->variant->strategy);
    cg__mm_set_sum_text(w, p);
    cg__mm_set_plain_names(w);
    ind__textf(&w->code, "extern __shared__ __align__(%d) unsigned char ind_smem[];\n", x->alignment);
    if (x->body) {
        x->body(w, p);
        return w->failed ? ind__failed(w->context) : IND_OK;
    }
    const ind__tile_plan *tile = &w->variant->of.tile;
    cg__mm_write_tile_position(w, p);
    cg__mm_write_steps(w, p);
    if (!cg__mm_has_few_rows(x->strategy)) cg__mm_write_statistics(w, p); /* they do so after their first loads of b */
    x->main_loop(w, p);
    if (w->variant->dependent == IND__LAUNCH_TRIGGERS) cg__write_trigger(w, &w->code);
    cg__mm_write_exchange(w, p);
    cg__mm_area area = cg__mm_block_area(w, p);
    if (tile->cluster > 1) {
        area.rows /= tile->cluster;
        area.first_row = "slice";
        area.end_row = "slice_end";
    }
    cg__mm_write_epilogue(w, p, &area);
    cg__mm_end_row_exchange(w);
    return w->failed ? ind__failed(w->context) : IND_OK;
}

static void cg__at_write_functions(ind__writer *w, ind__text *t);

/* Device functions of the kernel's template, before the kernel. */
static void cg__write_template_functions(ind__writer *w, ind__text *t) {
    const cg__mm_template *x = cg__mm_template_of(w->variant->strategy);
    if (x && x->functions) x->functions(w, t);
    if (w->variant->strategy == IND_STRATEGY_ATTENTION_TMA) cg__at_write_functions(w, t);
}

static bool cg__reads_pointers(const ind__writer *w) {
    const cg__mm_template *x = cg__mm_template_of(w->variant->strategy);
    return x && x->reads_pointers;
}
