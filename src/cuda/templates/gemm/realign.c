/* Copies tiles of misaligned rows for tensor cores, and realigns them in shared memory.

   A row of a tile starts at any element of a 16-byte aligned buffer. It is copied in the background from the last
   multiple of 8 elements at or before its start: one chunk of 16 bytes more than the tile has in a row, into stages in
   shared memory. When its step comes, the block writes the tile from them: 8 elements at a time, combined from two
   chunks by shifts. No byte before the aligned start of a row is read; the copy of a row's last chunk sets the elements
   after its end to zero, and is made by loads where the tensor ends in it. In device code raw_b are the stages, at_b
   and end_b the offset of a thread's chunks and the elements from there to the end of the row. */

/* Chunks of a row of a tile, as copied. */
static int cg__mm_raw_chunks(const ind__variant *v, const cg__mm_operand *o, char name) {
    return cg__mm_tile_cols(v, o, name) / 8 + 1;
}

/* Elements of a stage. */
static int cg__mm_raw_elements(const ind__variant *v, const cg__mm_operand *o, char name) {
    return cg__mm_tile_rows(v, o, name) * cg__mm_raw_chunks(v, o, name) * 8;
}

/* Returns the index of the first element of row `row` of the tile of the first step of k. */
static const char *cg__mm_row_start(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, const char *x,
                                    const char *row) {
    cg__mm_set_plain_names(w);
    cg__mm_set_text(w, o->x, x);
    cg__mm_set_text(w, p->k, o->k_major ? "0" : row);
    const char *start = cg__expr_string(w, cg__index_of(w, o->load));
    cg__mm_set_plain_names(w);
    return start;
}

/* A loop over the `chunks` chunks of each of a tile's rows that fall to this thread: row, chunk. */
static void cg__mm_begin_row_chunks(ind__writer *w, int rows, int chunks, bool unroll) {
    const int threads = w->variant->threads, total = rows * chunks;
    if (unroll)
        cg__unroll(w);
    else
        ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int i = 0; i < %d; i++)", (total + threads - 1) / threads);
    ind__textf(&w->code, "const int at = i * %d + (int)threadIdx.x, row = at / %d, chunk = at %% %d;\n", threads,
               chunks, chunks);
    if (total % threads) ind__textf(&w->code, "if (at >= %d) break;\n", total);
}

/* True if the rows that a thread writes are a multiple of 8 apart: they have one misalignment. */
static bool cg__mm_has_one_shift(const ind__variant *v, const cg__mm_operand *o, char name) {
    return v->threads % cg__mm_tile_cols(v, o, name) == 0;
}

static void cg__mm_write_shift(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name,
                               const char *row) {
    const char *x = cg__string(w, o->k_major ? "(first_%c + %s)" : "first_%c", name == 'a' ? 'm' : 'n', row);
    ind__textf(&w->code, "const int shift_%c = (int)((%s) & 7);\n", name, cg__mm_row_start(w, p, o, x, row));
}

/* Declares for a row of the tile: does it exist, and the index of its first element in the first step. */
static void cg__mm_write_row_place(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const char x = name == 'a' ? 'm' : 'n', *type = cg__int(w);
    ind__textf(&w->code, "const bool exists = first_%c + %s < size_%c;\n", x, o->k_major ? "row" : "0", x);
    ind__textf(&w->code, "const %s x = %s;\n", type,
               o->k_major ? cg__string(w, "exists ? first_%c + row : first_%c", x, x) : cg__string(w, "first_%c", x));
    ind__textf(&w->code, "const %s from = %s;\n", type, cg__mm_row_start(w, p, o, "x", "row"));
}

/* Writes raw_b, at_b and end_b. *offset: of raw_b in shared memory, bytes. */
static void cg__mm_write_raw_rows(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name,
                                  int *offset) {
    const ind__variant *v = w->variant;
    const char x = name == 'a' ? 'm' : 'n', *type = cg__int(w);
    const int rows = cg__mm_tile_rows(v, o, name), chunks = cg__mm_raw_chunks(v, o, name);
    const int num = (rows * chunks + v->threads - 1) / v->threads;
    if (!o->misaligned) return;
    ind__textf(&w->code, "unsigned short *const raw_%c = reinterpret_cast<unsigned short *>(ind_smem + %d);\n", name,
               *offset);
    *offset += v->of.tile.stages * cg__mm_raw_elements(v, o, name) * 2;
    ind__textf(&w->code, "%s at_%c[%d], end_%c[%d];\n", type, name, num, name, num);
    cg__mm_begin_row_chunks(w, rows, chunks, true);
    cg__mm_write_row_place(w, p, o, name);
    ind__textf(&w->code, "at_%c[i] = (from & ~7) + chunk * 8;\n", name);
    ind__textf(&w->code, "end_%c[i] = exists ? %s + (from & 7) - chunk * 8 : 0;\n", name,
               o->k_major ? "size_k" : cg__string(w, "size_%c - first_%c", x, x));
    cg__end(w);
    if (cg__mm_has_one_shift(v, o, name))
        cg__mm_write_shift(w, p, o, name, cg__string(w, "((int)threadIdx.x / %d)", chunks - 1));
}

/* Returns the part of the offset of a chunk that depends on the step. */
static const char *cg__mm_step_offset(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    ind_expr stride;
    (void)cg__mm_step_of(w, p, o, &stride);
    cg__mm_set_text(w, p->k, "first_k");
    const char *step = cg__expr_string(w, ind_expr_mul(stride, w->plan->domain.var[p->k]));
    cg__mm_set_plain_names(w);
    return step;
}

/* Copies all of each chunk of a step, or the elements before the end of its row. */
static void cg__mm_write_chunk_copies(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name,
                                      bool whole) {
    const ind__variant *v = w->variant;
    const char *bytes = o->k_major ? cg__string(w, "ind_row_bytes(end_%c[i] - first_k)", name)
                                   : cg__string(w, "row < size_k - first_k ? ind_row_bytes(end_%c[i]) : 0", name);
    cg__mm_begin_row_chunks(w, cg__mm_tile_rows(v, o, name), cg__mm_raw_chunks(v, o, name), true);
    ind__textf(&w->code, "ind_cp_async16%s(raw_%c + stage * %d + at * 8, %s + at_%c[i] + %s, %s);\n",
               whole ? "" : "_partial", name, cg__mm_raw_elements(v, o, name),
               cg__buffer(w, cg__inst(w, o->load)->source), name, cg__mm_step_offset(w, p, o), whole ? "16" : bytes);
    cg__end(w);
}

/* The same in a step in which the tensor may end. The loop is not unrolled, and computes the places of chunks again
   from a hidden step: otherwise the compiler has no registers for the addresses of chunks in the loop over steps. */
static void cg__mm_write_last_copies(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const char *left = o->k_major ? "size_k - first_k" : name == 'a' ? "size_m - first_m" : "size_n - first_n";
    cg__mm_write_first_k(w, "ind_hidden(step)");
    cg__mm_begin_row_chunks(w, cg__mm_tile_rows(v, o, name), cg__mm_raw_chunks(v, o, name), false);
    cg__mm_write_row_place(w, p, o, name);
    ind__textf(&w->code, "const int bytes = exists%s ? ind_row_bytes(%s + (from & 7) - chunk * 8) : 0;\n",
               o->k_major ? "" : " && row < size_k - first_k", left);
    ind__textf(&w->code,
               "ind_cp_async16_before(raw_%c + stage * %d + at * 8, %s + (from & ~7) + chunk * 8 + %s, bytes,\n"
               "    %s);\n",
               name, cg__mm_raw_elements(v, o, name), cg__buffer(w, cg__inst(w, o->load)->source),
               cg__mm_step_offset(w, p, o), cg__mm_buffer_end(w, o->load));
    cg__end(w);
    cg__use(w, IND__CG_HIDDEN);
}

/* Does the operand advance along v? */
static bool cg__mm_advances(ind__writer *w, const cg__mm_operand *o, int v) {
    ind_expr stride, rest;
    return v >= 0 && ind__affine(cg__index_of(w, o->load), w->plan->domain.var[v], &stride, &rest) &&
           ind_known_le(ind_int(w->context, 1), stride);
}

/* Returns the condition that the tensor does not end in a chunk of a step. The last element of a row that it ends in is
   among its last 8. Each row, or step of k, that follows has at least one element more. */
static const char *cg__mm_ends_later(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const char x = name == 'a' ? 'm' : 'n';
    const char *k = cg__string(w, "first_k + %d <= size_k", w->variant->of.tile.k + 8);
    const char *rows = cg__string(w, "first_%c + %d <= size_%c", x, cg__mm_edge(w->variant, name) + 8, x);
    if (!cg__mm_advances(w, o, o->k_major ? o->x : p->k)) return o->k_major ? k : rows;
    return cg__string(w, "%s || %s", k, rows);
}

/* The copies of a step. If all rows exist and their last chunks are inside them, all chunks are copied whole. */
static void cg__mm_write_row_copies(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const char x = name == 'a' ? 'm' : 'n';
    const int k = v->of.tile.k, edge = cg__mm_edge(v, name);
    cg__begin(w, "if (first_k + %d <= size_k && first_%c + %d <= size_%c)", o->k_major ? k + 8 : k, x,
              o->k_major ? edge : edge + 8, x);
    cg__mm_write_chunk_copies(w, p, o, name, true);
    cg__end(w);
    const bool cuts = cg__mm_buffer_cuts(w, o->load, 8);
    cg__begin(w, "%s", cuts ? cg__string(w, "else if (%s)", cg__mm_ends_later(w, p, o, name)) : "else");
    cg__mm_write_chunk_copies(w, p, o, name, false);
    cg__end(w);
    if (cuts) {
        cg__begin(w, "else");
        cg__mm_write_last_copies(w, p, o, name);
        cg__end(w);
    }
    cg__use(w, IND__CG_ROW_BYTES);
    cg__use(w, IND__CG_CP_ASYNC_PART);
}

/* The operand's tile, from what has arrived. */
static void cg__mm_write_realigned(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const int rows = cg__mm_tile_rows(v, o, name), cols = cg__mm_tile_cols(v, o, name);
    cg__mm_begin_row_chunks(w, rows, cols / 8, true);
    if (!cg__mm_has_one_shift(v, o, name)) cg__mm_write_shift(w, p, o, name, "row");
    ind__textf(&w->code,
               "ind_store(tile_%c + ind_tile_at<%d, %d>(row, chunk),\n"
               "    ind_load_across<8>(raw_%c + stage * %d + (row * %d + chunk) * 8 + shift_%c, shift_%c));\n",
               name, rows, cols, name, cg__mm_raw_elements(v, o, name), cols / 8 + 1, name, name);
    cg__end(w);
    cg__use(w, IND__CG_HALF_TILE);
    cg__use(w, IND__CG_LOAD_ACROSS);
}
