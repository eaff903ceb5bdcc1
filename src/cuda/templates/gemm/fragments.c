/* Writes an epilogue that computes on accumulators in registers and exchanges its 16-bit results. */

/* ---- writing: the epilogue of 16-bit results ---- */

/* A thread of a wgmma has two adjacent sums of a row at a time. An epilogue that reads only vectors along m or n and
   stores one 16-bit tensor computes on these pairs. Only its results pass through shared memory, on the way to accesses
   of 16 bytes: half the bytes of the sums. */

/* The only STORE of such an epilogue; 0: it is another one. */
static uint32_t cg__mm_rounded_store(ind__writer *w, const cg__mm_problem *p) {
    const uint32_t both = 1u << p->m | 1u << p->n;
    uint32_t store = 0;
    if (w->variant->vector != 8) return 0;
    cg__need_stores(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (cg__is_root(w, i) && (store || inst->op != IND_LOOP_STORE)) return 0;
        if (cg__is_root(w, i)) store = i;
        if (inst->op == IND_LOOP_LOAD && w->needed[i] && (w->plan->varies[i] & both) == both) return 0;
    }
    const ind__inst *inst = cg__inst(w, store);
    const bool plain = store && !inst->reduction && !inst->arg[1] && w->plan->vector[store] == 8;
    return plain && ind_dtype_bytes(cg__memory_dtype(w, store)) == 2 ? store : 0;
}

static void cg__mm_write_indices(ind__writer *w, const cg__mm_problem *p) {
    ind__textf(&w->code, "const %s i%d = first_m + row, i%d = first_n + col;\n", cg__int(w), p->m, p->n);
}

/* Two adjacent results of a row: "y". */
static void cg__mm_write_pair(ind__writer *w, const cg__mm_problem *p, uint32_t store) {
    cg__emit(w, ~(1u << p->n), IND__CG_ALL_STAGES);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__mm_is_vector_load(w, i)) continue;
        ind__textf(&w->code, "const ind_vec<%s, 2> x%u = ind_load<2>(&%s);\n",
                   cg__types[cg__memory_dtype(w, i)].memory, i, cg__element(w, i));
        w->memory[i] = cg__string(w, "x%u.at[j]", i);
    }
    w->memory[store] = "y.at[j]";
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < 2; j++)");
    cg__mm_set_text(w, p->n, cg__string(w, "(i%d + j)", p->n));
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
    cg__mm_set_plain_names(w);
    cg__forget_vectors(w);
}

/* The results of a strip of 16 rows: from registers to shared memory. */
static void cg__mm_write_pairs(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols) {
    bool loads = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) loads |= cg__inst(w, i)->op == IND_LOOP_LOAD && w->needed[i];
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", cols / 4);
    ind__textf(&w->code, "const int row = u %% 2 * 8 + lane / 4, col = u / 2 * 8 + lane %% 4 * 2;\n");
    cg__mm_write_indices(w, p);
    ind__textf(&w->code, "const float dot[2] = {part[u / 2][u %% 2 * 2], part[u / 2][u %% 2 * 2 + 1]};\n");
    ind__textf(&w->code, "ind_vec<unsigned short, 2> y = {};\n");
    if (loads) cg__begin(w, "if (i%d < size_m && i%d < size_n)", p->m, p->n);
    cg__mm_write_pair(w, p, store);
    if (loads) cg__end(w);
    ind__textf(&w->code, "ind_store(rounded + row * %d + col, y);\n", cols + 8);
    cg__end(w);
}

/* Writes the epilogue of all strips of a warp, whose shared memory is `sum`. */
static void cg__mm_write_rounded_strips(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols) {
    ind__textf(&w->code, "unsigned short *const rounded = reinterpret_cast<unsigned short *>(sum);\n#pragma unroll 1\n");
    cg__begin(w, "for (int strip = 0; strip < %d; strip++)", w->variant->of.tile.n / cols);
    ind__textf(&w->code, "float part[%d][4];\nind_strip_part(part, acc, strip);\n", cols / 8);
    ind__textf(&w->code, "const %s first_m = tile_m + warp * 16, first_n = tile_n + strip * %d;\n", cg__int(w), cols);
    cg__mm_set_plain_names(w);
    cg__mm_write_pairs(w, p, store, cols);
    ind__textf(&w->code, "__syncwarp();\n");
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", cols / 16);
    ind__textf(&w->code, "const int at = u * 32 + lane, row = at / %d, col = at %% %d * 8;\n", cols / 8, cols / 8);
    cg__mm_write_indices(w, p);
    ind__textf(&w->code, "if (i%d < size_m && i%d < size_n) ind_store(&%s, ind_load<8>(rounded + row * %d + col));\n",
               p->m, p->n, cg__element(w, store), cols + 8);
    cg__end(w);
    ind__textf(&w->code, "__syncwarp();\n");
    cg__end(w);
    cg__use(w, IND__CG_STRIP_SUMS);
}
