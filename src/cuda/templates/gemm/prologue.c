/* ---- writing: prologues for tensor cores ---- */

/* A loop over the chunks of 8 neighbours of an operand's tile that fall to this thread, as long as they have elements:
   their variables, with the chunk's first neighbour. A scope that is open afterwards; the one around it too. */
static void cg__mm_begin_chunks(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    int rows = cg__mm_tile_rows(v, o, name), chunks = cg__mm_tile_cols(v, o, name) / 8, total = rows * chunks;
    char x = name == 'a' ? 'm' : 'n';
    cg__mm_set_plain_names(w);
    cg__unroll(w);
    cg__begin(w, "for (int i = 0; i < %d; i++)", (total + v->threads - 1) / v->threads);
    ind__textf(&w->code, "const int at = i * %d + (int)threadIdx.x, %c = at / %d, %c = at %% %d * 8;\n", v->threads,
               o->k_major ? 'x' : 'k', chunks, o->k_major ? 'k' : 'x', chunks);
    if (total % v->threads) ind__textf(&w->code, "if (at >= %d) break;\n", total);
    if (o->x >= 0) ind__textf(&w->code, "const %s i%d = first_%c + x;\n", cg__int(w), o->x, x);
    if (p->k >= 0) ind__textf(&w->code, "const %s r0 = first_k + k;\n", cg__int(w));
}

/* Where the operand's neighbours end. */
static const char *cg__mm_left(const cg__mm_operand *o, char name) {
    return o->k_major ? "size_k - first_k - k" : name == 'a' ? "size_m - first_m - x" : "size_n - first_n - x";
}

/* raw_a12: the stages of what LOAD 12 reads for a, chunks in the order in which the threads work on them. */
static void cg__mm_write_raw_arrays(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name,
                                    int *offset) {
    const ind__variant *v = w->variant;
    int elements = cg__mm_edge(v, name) * v->of.tile.k;
    for (uint32_t i = 1; o->computed && i <= o->value; i++) {
        if (!cg__mm_is_resident(w, p, o, i, MM_STAGED)) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        ind__textf(&w->code, "%s *const raw_%c%u = reinterpret_cast<%s *>(ind_smem + %d);\n", type, name, i, type,
                   *offset);
        *offset += v->of.tile.stages * elements * ind_dtype_bytes(cg__memory_dtype(w, i));
    }
}

/* Starts the copies of what a step of the operand is computed from. */
static void cg__mm_write_raw(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    char x = name == 'a' ? 'm' : 'n';
    int elements = cg__mm_edge(v, name) * v->of.tile.k;
    const bool cut = cg__mm_cuts(v, p, o, 8);
    if (!o->staged_bytes) return;
    cg__mm_begin_chunks(w, p, o, name);
    cg__begin(w, "if (first_%c + x < size_%c && first_k + k < size_k)", x, x);
    for (uint32_t i = 1; i <= o->value; i++) {
        if (!cg__mm_is_resident(w, p, o, i, MM_STAGED)) continue;
        ind__textf(&w->code, "ind_chunk_copy%s(raw_%c%u + stage * %d + at * 8, &%s", cut ? "_part" : "", name, i,
                   elements, cg__element(w, i));
        if (cut) ind__textf(&w->code, ", %s, %s", cg__mm_left(o, name), cg__mm_buffer_end(w, i));
        ind__textf(&w->code, ");\n");
    }
    cg__end(w);
    cg__end(w);
    cg__use(w, cut ? IND__CG_CHUNK_COPY_PART : IND__CG_CHUNK_COPY);
}

/* The values of one chunk, into `made`. */
static void cg__mm_write_chunk(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    int along = o->k_major ? p->k : o->x, elements = cg__mm_edge(w->variant, name);
    const char *base = w->var[along], *to = ind_dtype_name(o->memory);
    elements *= w->variant->of.tile.k;
    cg__mm_need_operand(w, o);
    cg__emit_same(w, along, 8);
    for (uint32_t i = 1; i <= o->value; i++) {
        bool staged = cg__mm_is_resident(w, p, o, i, MM_STAGED);
        if (!staged && !cg__mm_is_resident(w, p, o, i, MM_VECTOR)) continue;
        const char *from = staged ? cg__string(w, "raw_%c%u + stage * %d + at * 8", name, i, elements)
                                  : cg__string(w, "&%s", cg__element(w, i));
        ind__textf(&w->code, "const ind_vec<%s, 8> x%u = ind_load<8>(%s);\n", cg__types[cg__memory_dtype(w, i)].memory,
                   i, from);
        w->memory[i] = cg__string(w, "x%u.at[j]", i);
    }
    cg__mm_write_runs(w, p, o);
    cg__set_lane_values(w, along, 8, false);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < 8; j++)");
    w->var[along] = cg__string(w, "(%s + j)", base);
    if (!ind_known_multiple(cg__mm_along_size(p, o), 8))
        ind__textf(&w->code, "if (j >= %s) break;\n", cg__mm_left(o, name));
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "made.at[j] = ind_f32_to_%s(", to);
    cg__value(w, o->value);
    ind__textf(&w->code, ");\n");
    cg__end(w);
    w->var[along] = base;
    cg__set_lane_values(w, along, 8, true);
    for (uint32_t i = 1; i <= o->value; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD) w->memory[i] = NULL;
}

/* The tile of a computed or misaligned operand, from what has arrived for it. */
static void cg__mm_write_made(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    if (o->lines) {
        cg__mm_write_gathered_lines(w, p);
        return;
    }
    const ind__variant *v = w->variant;
    char x = name == 'a' ? 'm' : 'n', row = o->k_major ? 'x' : 'k', col = o->k_major ? 'k' : 'x';
    if (o->misaligned) cg__mm_write_realigned(w, p, o, name);
    if (!o->computed) return;
    cg__mm_begin_chunks(w, p, o, name);
    ind__textf(&w->code, "ind_vec<unsigned short, 8> made = {};\n");
    cg__begin(w, "if (first_%c + x < size_%c && first_k + k < size_k)", x, x);
    cg__mm_write_chunk(w, p, o, name);
    cg__end(w);
    ind__textf(&w->code, "ind_store(tile_%c + ind_tile_at<%d, %d>(%c, %c >> 3), made);\n", name,
               cg__mm_tile_rows(v, o, name), cg__mm_tile_cols(v, o, name), row, col);
    cg__end(w);
    cg__use(w, o->memory == IND_F16 ? IND__CG_F16 : IND__CG_BF16);
    cg__use(w, IND__CG_HALF_TILE);
    cg__use(w, IND__CG_VEC);
}

/* "make": all threads write these tiles of one step. */
static void cg__mm_write_make(ind__writer *w, const cg__mm_problem *p) {
    if (!cg__mm_makes_tiles(p)) return;
    ind__textf(&w->code, "const auto make = [&](%s step, int stage) {\n", cg__int(w));
    w->code.indent++;
    w->scope++;
    cg__mm_write_first_k(w, "step");
    cg__mm_write_made(w, p, &p->a, 'a');
    cg__mm_write_made(w, p, &p->b, 'b');
    cg__mm_write_made(w, p, &p->b2, 'c');
    cg__mm_end_lambda(w);
}
