/* Products of one row with b along k, if a lane requests all its vectors of b together: a thread keeps the elements of
   the row that it multiplies in registers. It loads and normalises them itself. One barrier is left if no warps share
   k: that before the epilogue. What the epilogue loads in vectors is requested before the first multiplication.

   Other products of few rows copy a to shared memory (rows.c). That takes up to four more barriers and another read of
   the L2. A task of a persistent launch cannot start this before the phase that computes the row has finished. */

static bool cg__mm_is_one_row(const ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    if (v->strategy == IND_STRATEGY_MATMUL_PACKED_ROW) return true;
    if (v->strategy != IND_STRATEGY_MATMUL_ROWS) return false;
    const cg__mm_strip s = cg__mm_strip_of(p, &v->of.tile);
    return cg__mm_row_in_registers(&s, v->of.tile.warps_n);
}

/* The columns and lanes of rows.c; a lane requests only vectors that exist. */
static cg__mm_strip cg__mm_one_row_strip(const cg__mm_problem *p, const ind__tile_plan *t) {
    cg__mm_strip s = cg__mm_strip_of(p, t);
    s.flight = (int)((s.vectors + s.apart - 1) / s.apart);
    return s;
}

/* ---- the row, in registers ---- */

static void cg__mm_set_row_names(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_set_plain_names(w);
    if (p->m >= 0) cg__mm_set_text(w, p->m, "first_m");
}

/* Marks what the row and the reductions that it depends on are computed from. */
static void cg__mm_need_row(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_need_operand(w, &p->a);
    for (uint32_t i = 1; i < p->dot && p->a.statistics; i++)
        if (cg__inst(w, i)->op == IND_LOOP_REDUCE) cg__need(w, cg__inst(w, i)->arg[0]);
    cg__close_needed(w);
}

/* True if the vectors of the LOAD are requested before the wait. */
static bool cg__mm_is_loaded_early(const ind__writer *w, uint32_t i) {
    const uint32_t arg = cg__arg_of(w->kernel, cg__inst(w, i)->source);
    return arg < 32 && w->variant->of.tile.early >> arg & 1;
}

static void cg__mm_declare_row_of_lane(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    cg__mm_need_row(w, p);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_in_row_vectors(w, p, i))
            ind__textf(&w->code, "ind_vec<%s, 8> x%u[%d] = {};\n", cg__types[cg__memory_dtype(w, i)].memory, i,
                       s->flight);
}

/* A loop over the vectors of the row that this lane has. Open afterwards: the loop, and the test that there are any. */
static void cg__mm_begin_row_vectors(ind__writer *w, const cg__mm_strip *s) {
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", s->flight);
    ind__textf(&w->code, "const int r0 = (first + u * %d) * 8;\n", s->apart);
    cg__begin(w, "if (r0 < %lld && first_m < size_m)", (long long)s->k);
}

/* Requests the vectors of the row, those that are loaded before the wait or the others. */
static void cg__mm_write_row_loads(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s, bool early) {
    bool any = false;
    cg__mm_need_row(w, p);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        any |= cg__mm_in_row_vectors(w, p, i) && cg__mm_is_loaded_early(w, i) == early;
    if (!any) return;
    cg__mm_begin_row_vectors(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_in_row_vectors(w, p, i) && cg__mm_is_loaded_early(w, i) == early)
            ind__textf(&w->code, "x%u[u] = ind_load<8>(&%s);\n", i, cg__element(w, i));
    cg__mm_end_vectors(w);
}

/* ---- reductions of the row ---- */

/* Combines the states of lanes, then those of the warps that share k, in a fixed order. Every thread has the result. */
static void cg__mm_combine_row_states(ind__writer *w, const cg__mm_problem *p, const cg__pass *pass) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const bool shared = t->warps_m > 1;
    for (uint32_t i = 1; i < p->dot; i++) {
        if (!cg__reduces_in(w, i, pass)) continue;
        ind__textf(&w->code, "ind_combine_lanes<32>(s%u);\n", i);
        if (shared) ind__textf(&w->code, "if (lane == 0) rows%u[warp] = s%u;\n", i, i);
        cg__use(w, IND__CG_COMBINE_LANES);
    }
    if (!shared) return;
    ind__textf(&w->code, "__syncthreads();\n");
    for (uint32_t i = 1; i < p->dot; i++)
        if (cg__reduces_in(w, i, pass))
            ind__textf(&w->code, "s%u = ind_combine_shared<%d, %d>(rows%u + warp %% %d);\n", i, t->warps_m, t->warps_n,
                       i, t->warps_n);
    cg__use(w, IND__CG_COMBINE_SHARED);
}

/* The reductions whose operands need so many finished ones. */
static void cg__mm_write_one_row_pass(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s, int stage) {
    const cg__pass pass = {.stage = stage};
    const ind__tile_plan *t = &w->variant->of.tile;
    for (uint32_t i = 1; i < p->dot && t->warps_m > 1; i++)
        if (cg__reduces_in(w, i, &pass))
            ind__textf(&w->code, "__shared__ %s rows%u[%d];\n", cg__state_type_text(w, i), i, t->warps_m * t->warps_n);
    cg__emit_states(w, &pass);
    cg__need_none(w);
    for (uint32_t i = 1; i < p->dot; i++)
        if (cg__reduces_in(w, i, &pass)) cg__need(w, cg__inst(w, i)->arg[0]);
    cg__close_needed(w);
    cg__mm_begin_row_vectors(w, s);
    cg__emit(w, ~(1u << p->k), IND__CG_ALL_STAGES);
    cg__mm_write_row_elements(w, p, &pass, "[u]");
    cg__mm_end_vectors(w);
    cg__mm_combine_row_states(w, p, &pass);
    for (uint32_t i = 1; i < p->dot; i++)
        if (cg__reduces_in(w, i, &pass)) cg__set_results(w, i, cg__string(w, "s%u", i));
}

static void cg__mm_write_one_row_statistics(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    ind__variant by_elements = *w->variant;
    const ind__variant *before = w->variant;
    by_elements.vector = 8;
    w->variant = &by_elements;
    for (int stage = 0; stage < p->a.statistics; stage++) cg__mm_write_one_row_pass(w, p, s, stage);
    w->variant = before;
}

/* ---- the product ---- */

/* True if the vectors of the row are those that are loaded: a is an operand without a prologue. */
static bool cg__mm_row_is_loaded(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_need_row(w, p);
    return !p->a.computed && cg__mm_in_row_vectors(w, p, p->a.load);
}

/* "row_a": the vectors of the row. */
static void cg__mm_write_row_of_lane(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    if (cg__mm_row_is_loaded(w, p)) {
        ind__textf(&w->code, "const auto &row_a = x%u;\n", (unsigned)p->a.load);
        return;
    }
    ind__textf(&w->code, "ind_vec<unsigned short, 8> row_a[%d];\n", s->flight);
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", s->flight);
    ind__textf(&w->code, "const int r0 = (first + u * %d) * 8;\n", s->apart);
    ind__textf(&w->code, "ind_vec<unsigned short, 8> made = {};\n");
    cg__begin(w, "if (r0 < %lld && first_m < size_m)", (long long)s->k);
    cg__mm_write_chunk_elements(w, p, "[u]");
    cg__end(w);
    ind__textf(&w->code, "row_a[u] = made;\n");
    cg__end(w);
}

/* The elements of the row that vector u of a lane is multiplied by, as f32: value[0]. */
static void cg__mm_write_one_row_values(ind__writer *w, const cg__mm_problem *p) {
    ind__textf(&w->code,
               "float value[1][8];\n#pragma unroll\n"
               "for (int j = 0; j < 8; j++) value[0][j] = ind_%s_to_f32(row_a[u].at[j]);\n",
               ind_dtype_name(p->a.memory));
}

static void cg__mm_write_one_row_products(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    ind__textf(&w->code, "float acc[1][%d] = {};\n", s->cols);
    cg__mm_begin_vectors(w, p, s);
    cg__mm_write_one_row_values(w, p);
    cg__mm_begin_strip_columns(w, p, s);
    for (int i = 0; i < cg__mm_products(p); i++) cg__mm_write_strip_products(w, p, cg__mm_right(p, i), i * s->each);
    cg__end(w);
    cg__mm_end_vectors(w);
}

/* "lane", "warp", "first": the lane's first vector, "column": its first column; "part" and "sum" in shared memory. */
static void cg__mm_write_one_row_names(ind__writer *w, const cg__mm_strip *s) {
    const ind__tile_plan *t = &w->variant->of.tile;
    ind__textf(&w->code, "float *const part = reinterpret_cast<float *>(ind_smem), *const sum = part + %d;\n",
               s->warps_k * t->m * t->n);
    ind__textf(&w->code, "const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;\n");
    ind__textf(&w->code, "const int first = warp / %d * 32 + lane;\nconst %s column = first_n + warp %% %d * %d;\n",
               t->warps_n, cg__int(w), t->warps_n, s->each);
    cg__use(w, IND__CG_VEC);
}

/* Requests the vectors of the row, those before the wait and the others, and what the epilogue reads. */
static void cg__mm_write_one_row_loads(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    cg__mm_set_row_names(w, p);
    cg__mm_declare_row_of_lane(w, p, s);
    cg__mm_write_row_loads(w, p, s, true);
    cg__mm_write_wait(w);
    cg__mm_write_row_loads(w, p, s, false);
    cg__mm_write_loads_ahead(w, p);
}

/* "row_a": the row, after its reductions. */
static void cg__mm_write_one_row(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    cg__mm_set_row_names(w, p);
    cg__mm_write_one_row_statistics(w, p, s);
    cg__mm_write_row_of_lane(w, p, s);
}

static void cg__mm_one_row_main_loop(ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_strip s = cg__mm_one_row_strip(p, &w->variant->of.tile);
    cg__mm_write_one_row_names(w, &s);
    cg__mm_write_strip_load(w, p, &s);
    ind__textf(&w->code, "load(first);\n");
    cg__mm_write_one_row_loads(w, p, &s);
    cg__mm_write_one_row(w, p, &s);
    cg__mm_write_one_row_products(w, p, &s);
    cg__mm_write_strip_sums(w, p, &s);
}
