/* ---- writing: reductions of the rows of a */

/* A computed operand a may depend on reductions of its rows: a normalisation. Each block computes those of the rows of
   its tile again, before it computes a. A row is shared by as many warps as the block has per row; each loops over
   neighbours of the row. Their states are combined through shared memory in a fixed order, which depends on the tile
   alone. In device code rows<i> are the states of REDUCE i, and x is the row of the tile. */

/* The warps of a block in this work: rows of the tile that exist, warps per row. */
typedef struct cg__mm_row_warps {
    int rows, each, threads;
} cg__mm_row_warps;

static cg__mm_row_warps cg__mm_row_warps_of(const cg__mm_problem *p, const ind__variant *v) {
    int64_t least, most;
    ind__known_bounds(p->size_m, &least, &most);
    cg__mm_row_warps r = {.rows = most < v->of.tile.m ? (int)most : v->of.tile.m, .threads = v->threads};
    if (r.rows < 1) r.rows = 1;
    r.each = r.threads / 32 / r.rows;
    if (r.each < 1) r.each = 1;
    return r;
}

enum { MM_STATISTIC_SHARED = 2048 }; /* bytes that these states may take beside the tiles of a block */

/* Upper bound in bytes of the static shared memory of these states, for tiles of at most 128 rows, or 32 warps. */
static int64_t cg__mm_statistic_bytes(const ind__writer *w, const cg__mm_problem *p) {
    int64_t bytes = 0;
    for (uint32_t i = 1; i < p->dot; i++)
        if (cg__inst(w, i)->op == IND_LOOP_REDUCE) bytes += (int64_t)128 * cg__state_bytes_of(w, i);
    return bytes;
}

static void cg__mm_declare_row_state(ind__writer *w, uint32_t i, const cg__mm_row_warps *r) {
    ind__textf(&w->code, "__shared__ %s rows%u[%d];\n", cg__state_type_text(w, i), i, r->rows * r->each);
}

/* The neighbours of a row from r0 on: 8 elements, or one. `which`: the vector of LOAD 7 is x7 and this; NULL: it is
   loaded here. */
static void cg__mm_write_row_elements(ind__writer *w, const cg__mm_problem *p, const cg__pass *s, const char *which) {
    const char *base = w->var[p->k];
    cg__emit_chunk_arrays(w, s);
    if (w->variant->vector > 1) {
        for (uint32_t i = 1; i <= p->a.value; i++) {
            if (!w->needed[i] || !cg__mm_is_resident(w, p, &p->a, i, MM_STAGED | MM_VECTOR)) continue;
            if (!which)
                ind__textf(&w->code, "const ind_vec<%s, 8> x%u = ind_load<8>(&%s);\n",
                           cg__types[cg__memory_dtype(w, i)].memory, i, cg__element(w, i));
            w->memory[i] = cg__string(w, "x%u%s.at[j]", i, which ? which : "");
            cg__use(w, IND__CG_VEC);
        }
        cg__unroll(w);
        cg__begin(w, "for (int j = 0; j < 8; j++)");
        w->var[p->k] = cg__string(w, "(%s + j)", base);
    }
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__emit_accumulate(w, s, w->var[p->k]);
    if (w->variant->vector > 1) cg__end(w);
    cg__emit_chunk_adds(w, s);
    w->var[p->k] = base;
    for (uint32_t i = 1; i <= p->a.value; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD) w->memory[i] = NULL;
}

/* The loop of a lane over its part of a row. */
static void cg__mm_write_row_loop(ind__writer *w, const cg__mm_problem *p, const cg__pass *s,
                                  const cg__mm_row_warps *r) {
    const int n = w->variant->vector;
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m + x;\n", cg__int(w), p->m);
    cg__begin(w, "if (first_m + x < size_m)");
    cg__need_none(w);
    for (uint32_t i = 1; i < p->dot; i++)
        if (cg__reduces_in(w, i, s)) cg__need(w, cg__inst(w, i)->arg[0]);
    cg__close_needed(w);
    cg__emit(w, ~(1u << p->k), IND__CG_ALL_STAGES);
    ind__textf(&w->code, "#pragma unroll 4\n");
    cg__begin(w, "for (%s r0 = share%s; r0 < size_k; r0 += %d)", cg__int(w), n > 1 ? " * 8" : "", r->each * 32 * n);
    cg__mm_write_row_elements(w, p, s, NULL);
    cg__end(w);
    cg__end(w);
}

/* Combines the states of lanes, then those of the warps of a row. */
static void cg__mm_write_row_states(ind__writer *w, const cg__mm_problem *p, const cg__pass *s,
                                    const cg__mm_row_warps *r) {
    for (uint32_t i = 1; i < p->dot; i++) {
        if (!cg__reduces_in(w, i, s)) continue;
        ind__textf(&w->code, "ind_combine_lanes<32>(s%u);\nif (share %% 32 == 0) rows%u[x * %d + share / 32] = s%u;\n",
                   i, i, r->each, i);
        cg__use(w, IND__CG_COMBINE_LANES);
    }
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    if (r->each == 1) return;
    cg__begin(w, "if (threadIdx.x < %d)", r->rows);
    ind__textf(&w->code, "const int x = threadIdx.x * %d;\n", r->each);
    for (uint32_t i = 1; i < p->dot; i++)
        if (cg__reduces_in(w, i, s))
            ind__textf(&w->code, "rows%u[x] = ind_combine_shared<%d, 1>(rows%u + x);\n", i, r->each, i);
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, IND__CG_COMBINE_SHARED);
}

/* All reductions whose operands need so many finished ones. */
static void cg__mm_write_row_pass(ind__writer *w, const cg__mm_problem *p, int stage) {
    const cg__pass s = {.stage = stage};
    const cg__mm_row_warps r = cg__mm_row_warps_of(p, w->variant);
    for (uint32_t i = 1; i < p->dot; i++)
        if (cg__reduces_in(w, i, &s)) cg__mm_declare_row_state(w, i, &r);
    cg__mm_set_plain_names(w);
    cg__begin(w, "for (int x = (int)threadIdx.x / %d; x < %d; x += %d)", 32 * r.each, r.rows, r.threads / 32 / r.each);
    ind__textf(&w->code, "const int share = (int)threadIdx.x %% %d;\n", 32 * r.each);
    cg__emit_states(w, &s);
    cg__mm_write_row_loop(w, p, &s, &r);
    cg__mm_write_row_states(w, p, &s, &r);
    for (uint32_t i = 1; i < p->dot; i++)
        if (cg__reduces_in(w, i, &s))
            cg__set_results(w, i, cg__string(w, r.each > 1 ? "rows%u[x * %d]" : "rows%u[x]", i, r.each));
}

/* Computes what a depends on; nothing if it depends on no reduction. Every thread of the block has the states
   afterwards. */
static void cg__mm_write_statistics(ind__writer *w, const cg__mm_problem *p) {
    if (!p->a.statistics) return;
    ind__variant by_elements = *w->variant;
    const ind__variant *before = w->variant;
    by_elements.vector = p->tensor_bytes == 2 && ind_known_multiple(p->size_k, 8) ? 8 : 1;
    w->variant = &by_elements;
    for (int stage = 0; stage < p->a.statistics; stage++) cg__mm_write_row_pass(w, p, stage);
    w->variant = before;
}
