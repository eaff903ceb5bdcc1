/* Windows of the left operand (windows.c), copied by cp.async in chunks of 16 bytes. */

/* The offsets of the chunks that a thread copies of the step from first_k on. Those under a mask that does not hold,
   and those of rows that do not exist, are not read: bit i of in_a tells if chunk i is. */
static void cg__mm_write_window_addresses(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const int rows = cg__mm_tile_rows(v, o, name), chunks = cg__mm_tile_cols(v, o, name) / cg__mm_chunk(p);
    const int apart = v->threads / chunks, n = (rows + apart - 1) / apart;
    const char x = cg__mm_axis(name);
    const uint32_t mask = cg__inst(w, o->load)->arg[0];
    ind__textf(&w->code, "%s at_%c[%d];\nunsigned in_%c = 0;\n", cg__int(w), name, n, name);
    ind__textf(&w->code, "const %s k = first_k + (int)threadIdx.x %% %d * %d;\n", cg__int(w), chunks, cg__mm_chunk(p));
    cg__unroll(w);
    cg__begin(w, "for (int i = 0; i < %d; i++)", n);
    ind__textf(&w->code, "const %s x = first_%c + i * %d + (int)threadIdx.x / %d;\nat_%c[i] = 0;\n", cg__int(w), x,
               apart, chunks, name);
    cg__begin(w, "if (x < size_%c && k < size_k)", x);
    cg__mm_set_text(w, o->x, "x");
    cg__mm_set_text(w, p->k, "k");
    if (mask) {
        cg__need_none(w);
        cg__need(w, mask);
        cg__close_needed(w);
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
        ind__textf(&w->code, "if (");
        cg__value(w, mask);
        ind__textf(&w->code, ") ");
    }
    ind__textf(&w->code, "in_%c |= 1u << i, at_%c[i] = %s;\n", name, name,
               cg__expr_string(w, cg__index_of(w, o->load)));
    cg__end(w);
    cg__end(w);
    cg__use(w, IND__CG_TILE_COPY);
}

/* One asynchronous copy of the windows of a tile. */
static void cg__mm_write_window_copy(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const int rows = cg__mm_tile_rows(v, o, name), cols = cg__mm_tile_cols(v, o, name);
    cg__mm_write_window_addresses(w, p, o, name);
    ind__textf(&w->code, "ind_tile_copy<%d, %d, %d>(tile_%c + stage * %d, %s, at_%c, %d, 16, in_%c);\n", rows,
               cg__mm_units(p, cols), v->threads, name, cg__mm_units(p, cg__mm_stage_elements(v, name)),
               cg__buffer(w, cg__inst(w, o->load)->source), name, rows, name);
}
