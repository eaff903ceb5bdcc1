/* Writes an epilogue that computes on accumulators in registers and exchanges its 16-bit results. */

/* ---- writing: the epilogue of 16-bit results ---- */

/* A thread of a wgmma has two adjacent sums of a row at a time. An epilogue that stores one 16-bit tensor computes on
   these pairs. Only its results pass through shared memory, on the way to accesses of 16 bytes: half the bytes of the
   sums. One 16-bit tensor of the shape of the results may be read, such as a residual: the same way back, in vectors
   that are loaded before the product, or while the previous strip is computed. Indices from memory may say where the
   rows of the results are stored, or added. */

static bool cg__mm_is_2d(const ind__writer *w, const cg__mm_problem *p, uint32_t i) {
    return w->needed[i] && cg__inst(w, i)->op == IND_LOOP_LOAD &&
           w->plan->varies[i] >> p->m & w->plan->varies[i] >> p->n & 1;
}

/* True for a 16-bit STORE, or LOAD without a mask, of 8 elements. */
static bool cg__mm_is_rounded(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    const ind_dtype dtype = cg__memory_dtype(w, i);
    const bool masked = inst->op == IND_LOOP_LOAD && inst->arg[0];
    return w->plan->vector[i] == 8 && !masked && (dtype == IND_F16 || dtype == IND_BF16);
}

/* The LOAD of the shape of the results; 0: none. The epilogue is marked as needed. */
static uint32_t cg__mm_rounded_load(ind__writer *w, const cg__mm_problem *p) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_is_2d(w, p, i)) return i;
    return 0;
}

/* The only STORE of such an epilogue; 0: it is another one. */
static uint32_t cg__mm_rounded_store(ind__writer *w, const cg__mm_problem *p) {
    uint32_t store = 0, loads = 0;
    if (w->variant->vector != 8) return 0;
    cg__need_stores(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__is_root(w, i) && (store || cg__inst(w, i)->op != IND_LOOP_STORE)) return 0;
        if (cg__is_root(w, i)) store = i;
        if (!cg__mm_is_2d(w, p, i)) continue;
        if (loads++ || !cg__mm_is_rounded(w, i)) return 0;
    }
    return store && cg__mm_is_rounded(w, store) ? store : 0;
}

/* Vectors of a strip per lane, and the condition under which a lane has one. */
static int cg__mm_strip_vectors(int cols) {
    return cols < 16 ? 1 : cols / 16;
}

static const char *cg__mm_has_vector(int cols) {
    return cols < 16 ? "lane < 16 && " : "";
}

/* "fetch": loads the vectors of a strip of the LOAD into "held". */
static void cg__mm_write_fetch(ind__writer *w, const cg__mm_problem *p, uint32_t load, int cols) {
    const int strips = cg__mm_columns(w->variant) / cols;
    ind__textf(&w->code, "ind_vec<unsigned short, 8> held[%d];\n", cg__mm_strip_vectors(cols));
    ind__textf(&w->code, "const auto fetch = [&](int strip) {\n");
    w->code.indent++;
    w->scope++;
    cg__mm_set_plain_names(w);
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", cg__mm_strip_vectors(cols));
    ind__textf(&w->code, "const int at = u * 32 + lane;\n");
    ind__textf(&w->code, "const %s i%d = tile_m + %s + at / %d, i%d = tile_n + %s * %d + at %% %d * 8;\n", cg__int(w),
               p->m, cg__mm_strip_row(w, strips), cols / 8, p->n, cg__mm_strip_in_piece(w, strips), cols, cols / 8);
    ind__textf(&w->code, "if (%si%d < size_m && i%d < size_n) held[u] = ind_load<8>(&%s);\n", cg__mm_has_vector(cols),
               p->m, p->n, cg__element(w, load));
    cg__end(w);
    cg__mm_end_lambda(w);
    ind__textf(&w->code, "fetch(%s);\n", cg__mm_first_strip(w));
}

/* The vectors of the strip to shared memory; those of the next one are fetched. */
static void cg__mm_write_held(ind__writer *w, int cols) {
    cg__unroll(w);
    ind__textf(&w->code,
               "for (int u = 0; u < %d; u++)\n    %sind_store(rounded + (u * 32 + lane) / %d * %d + lane %% %d * 8, "
               "held[u]);\n",
               cg__mm_strip_vectors(cols), cols < 16 ? "if (lane < 16) " : "", cols / 8, cols + 8, cols / 8);
    ind__textf(&w->code, "__syncwarp();\nif (strip + 1 < %s) fetch(strip + 1);\n",
               cg__mm_end_strip(w, cg__mm_row_pieces(w->variant) * cg__mm_columns(w->variant) / cols));
}

/* Two adjacent results of a row: "y". */
static void cg__mm_write_pair(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols) {
    cg__emit(w, ~(1u << p->n), IND__CG_ALL_STAGES);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__mm_is_vector_load(w, i)) continue;
        const char *from = cg__mm_is_2d(w, p, i) ? cg__string(w, "rounded + row * %d + col", cols + 8)
                                                 : cg__string(w, "&%s", cg__element(w, i));
        ind__textf(&w->code, "const ind_vec<%s, 2> x%u = ind_load<2>(%s);\n", cg__types[cg__memory_dtype(w, i)].memory,
                   i, from);
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

enum { MM_PIECE_CALLS = 16 }; /* expensive operations of a piece, per lane */

/* Columns of a piece of a strip: all, unless each result takes expensive operations, or the sums leave too few
   registers. A lane computes the results of a piece together, so that their operations overlap. The pieces of a strip
   share their code: NVRTC compiles gelu on 16 results per lane in half of its time on 32. (4096 x 16384 x 256 with
   gelu_tanh: 149, 125 and 114 us with 8, 16 and 32 results, H100.) */
static int cg__mm_piece_cols(const ind__writer *w, int cols) {
    const bool many = cg__mm_row_pieces(w->variant) * w->variant->of.tile.n > 2 * MM_MOST_SUMS;
    const int most = many ? MM_PIECE_CALLS / 2 : MM_PIECE_CALLS;
    int calls = 0;
    if (cols > 32 && many) cols = 32;
    for (uint32_t i = 1; i < w->body->num_inst; i++) calls += w->needed[i] && cg__expensive(cg__inst(w, i));
    while (cols > 8 && cols % 16 == 0 && calls * cols / 2 > most) cols /= 2;
    return cols;
}

/* The results of 16 rows of a piece of `cols` columns: from registers to shared memory. Sums beyond the edges have the
   indices of others, without a branch: the pairs are then computed together. Their results are not stored. */
static void cg__mm_write_pairs(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols, int piece_cols) {
    const char *piece = piece_cols < cols ? cg__string(w, "piece * %d + ", piece_cols) : "";
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", piece_cols / 4);
    ind__textf(&w->code, "const int row = u %% 2 * 8 + lane / 4, col = %su / 2 * 8 + lane %% 4 * 2;\n", piece);
    ind__textf(&w->code, "const %s i%d = first_m + row < size_m ? first_m + row : 0;\n", cg__int(w), p->m);
    ind__textf(&w->code, "const %s i%d = first_n + col < size_n ? first_n + col : 0;\n", cg__int(w), p->n);
    ind__textf(&w->code, "const %s dot[2] = {part[u / 2][u %% 2 * 2], part[u / 2][u %% 2 * 2 + 1]};\n",
               cg__mm_sum_type(p));
    if (p->dot2)
        ind__textf(&w->code, "const float dot2[2] = {part2[u / 2][u %% 2 * 2], part2[u / 2][u %% 2 * 2 + 1]};\n");
    ind__textf(&w->code, "ind_vec<unsigned short, 2> y;\n");
    cg__mm_write_pair(w, p, store, cols);
    ind__textf(&w->code, "ind_store(rounded + row * %d + col, y);\n", cols + 8);
    cg__end(w);
}

/* The same for the whole strip, of `strips` strips of each product: piece by piece. */
static void cg__mm_write_pieces(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols, int strips) {
    const int piece = cg__mm_piece_cols(w, cols), pieces = cols / piece;
    const char *at = pieces > 1 ? cg__string(w, "strip * %d + piece", pieces) : "strip";
    if (pieces > 1) {
        ind__textf(&w->code, "#pragma unroll 1\n");
        cg__begin(w, "for (int piece = 0; piece < %d; piece++)", pieces);
    }
    ind__textf(&w->code, "%s part[%d][4];\nind_strip_part(part, acc, %s);\n", cg__mm_sum_type(p), piece / 8, at);
    if (p->dot2)
        ind__textf(&w->code, "float part2[%d][4];\nind_strip_part(part2, acc, %s + %d);\n", piece / 8, at,
                   strips * pieces);
    cg__mm_write_pairs(w, p, store, cols, piece);
    if (pieces > 1) cg__end(w);
}

/* Marks what the value of the STORE is computed from, not where it is stored. */
static void cg__mm_need_value(ind__writer *w, uint32_t store) {
    cg__need_none(w);
    cg__need(w, cg__inst(w, store)->arg[0]);
    cg__close_needed(w);
    cg__need(w, store);
}

/* The reverse: the indices and the mask of the STORE. */
static void cg__mm_need_target(ind__writer *w, uint32_t store) {
    cg__need_none(w);
    cg__each_use(w, store, cg__mark_needed, w);
    w->needed[cg__stored_value(w, store)] = 0;
    cg__close_needed(w);
}

/* Stores a vector of results, or adds it to memory. */
static void cg__mm_write_vector(ind__writer *w, uint32_t store, int cols) {
    const cg__adder_row *adder = cg__inst(w, store)->reduction ? cg__adder(w, store, 8) : NULL;
    cg__mm_need_target(w, store);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__write_mask(w, cg__inst(w, store)->arg[1]);
    if (adder) cg__use(w, adder->function);
    ind__textf(&w->code, "%s(&%s, ind_load<8>(rounded + row * %d + col));\n", adder ? adder->name : "ind_store",
               cg__element(w, store), cols + 8);
    if (cg__inst(w, store)->arg[1]) w->code.indent--;
}

/* True if all rows and columns of every strip exist. In attention a warpgroup whose 64 queries do not exist writes no
   strips. */
static bool cg__mm_strips_are_whole(const ind__writer *w, const cg__mm_problem *p) {
    const int rows = w->plan->attention ? 64 : w->variant->of.tile.m;
    return ind_known_multiple(p->size_m, rows) && ind_known_multiple(p->size_n, cg__mm_columns(w->variant));
}

/* Writes the epilogue of all strips of a warp, whose shared memory is `sum`. */
static void cg__mm_write_rounded_strips(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols) {
    ind__textf(&w->code,
               "unsigned short *const rounded = reinterpret_cast<unsigned short *>(sum);\n#pragma unroll 1\n");
    const int strips = cg__mm_columns(w->variant) / cols;
    cg__begin(w, "for (int strip = %s; strip < %s; strip++)", cg__mm_first_strip(w),
              cg__mm_end_strip(w, cg__mm_row_pieces(w->variant) * strips));
    ind__textf(&w->code, "const %s first_m = tile_m + %s, first_n = tile_n + %s * %d;\n", cg__int(w),
               cg__mm_strip_row(w, strips), cg__mm_strip_in_piece(w, strips), cols);
    cg__mm_set_plain_names(w);
    if (cg__mm_rounded_load(w, p)) cg__mm_write_held(w, cols);
    cg__mm_need_value(w, store);
    cg__mm_write_pieces(w, p, store, cols, strips);
    ind__textf(&w->code, "__syncwarp();\n");
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", cg__mm_strip_vectors(cols));
    ind__textf(&w->code, "const int at = u * 32 + lane, row = at / %d, col = at %% %d * 8;\n", cols / 8, cols / 8);
    ind__textf(&w->code, "const %s i%d = first_m + row, i%d = first_n + col;\n", cg__int(w), p->m, p->n);
    const bool whole = cg__mm_strips_are_whole(w, p) && !*cg__mm_has_vector(cols);
    if (!whole) cg__begin(w, "if (%si%d < size_m && i%d < size_n)", cg__mm_has_vector(cols), p->m, p->n);
    cg__mm_write_vector(w, store, cols);
    if (!whole) cg__end(w);
    cg__end(w);
    ind__textf(&w->code, "__syncwarp();\n");
    cg__end(w);
    cg__use(w, IND__CG_STRIP_SUMS);
}
