/* ---- writing: where a block works ---- */

static void cg__mm_set_text(ind__writer *w, int v, const char *text) {
    if (v >= 0) w->var[v] = text;
}

/* The domain's variables under their plain names: i0, i1, .. and r0, r1, .. */
static void cg__mm_set_plain_names(ind__writer *w) {
    for (int v = 0; v < w->plan->domain.rank; v++) w->var[v] = cg__string(w, "i%d", v);
    for (int k = 0; k < w->plan->domain.rrank; k++) w->var[w->plan->domain.rank + k] = cg__string(w, "r%d", k);
}

/* The dimension of an operand's tile besides k, in the names of its sizes and positions. */
static char cg__mm_axis(char name) {
    return name == 'a' ? 'm' : name == 'd' ? 'd' : 'n';
}

/* With groups of rows, the block's tile sets size_m. */
static void cg__mm_write_sizes(ind__writer *w, const cg__mm_problem *p) {
    const char *m = p->group.indirect ? "" : cg__string(w, "size_m = %s, ", cg__expr_string(w, p->size_m));
    ind__textf(&w->code, "const %s %ssize_n = %s, size_k = %s;\n", cg__int(w), m, cg__expr_string(w, p->size_n),
               cg__expr_string(w, p->size_k));
}

/* The sizes, and the block's tile and batch. The last stripe may have rows of tiles that do not exist. */
static void cg__mm_write_tile_position(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    const char *type = cg__int(w), *wide = w->plan->wide ? "(long long)" : "", *at[3];
    int stripe;
    ind_expr blocks[3];
    cg__mm_blocks(p, v, &stripe, blocks);
    cg__mm_write_sizes(w, p);
    cg__write_axes(w, blocks, at);
    if (cg__mm_is_split(v)) cg__mm_write_split(w, p, at);
    if (p->group.indirect) {
        const char *row = stripe == 1 ? at[1] : cg__string(w, "%s * %d + %s %% %d", at[1], stripe, at[0], stripe);
        cg__mm_write_group(w, p, row, "first_m", "return");
        const char *column = stripe == 1 ? at[0] : cg__string(w, "(%s / %d)", at[0], stripe);
        ind__textf(&w->code, "const %s first_n = %s%s * %d;\n", type, wide, column, cg__mm_columns(v));
    } else if (stripe == 1) {
        ind__textf(&w->code, "const %s first_m = %s%s * %d, first_n = %s%s * %d;\n", type, wide, at[1], v->of.tile.m,
                   wide, at[0], cg__mm_columns(v));
    } else {
        ind__textf(&w->code, "const %s first_m = (%s%s * %d + %s %% %d) * %d;\n", type, wide, at[1], stripe, at[0],
                   stripe, v->of.tile.m);
        ind__textf(&w->code, "const %s first_n = %s%s / %d * %d;\n", type, wide, at[0], stripe, cg__mm_columns(v));
        ind__textf(&w->code, "if (first_m >= size_m) return;\n");
    }
    if (v->of.tile.cluster > 1) ind__textf(&w->code, "if (first_n >= size_n) return;\n");
    uint32_t skip = (p->m >= 0 ? 1u << p->m : 0) | (p->n >= 0 ? 1u << p->n : 0);
    cg__write_outer_vars(w, at[2], skip);
}

/* The wait of a dependent launch that has started loads of b. */
static void cg__mm_write_wait(ind__writer *w) {
    if (w->variant->dependent && w->variant->of.tile.early) ind__textf(&w->code, "ind_dependency_wait();\n");
}

/* ---- writing: bringing in the operands ---- */

/* `staged`: into one of several stages in shared memory; else into registers. */
static void cg__mm_begin_load(ind__writer *w, bool staged) {
    ind__textf(&w->code, "const auto load = [&](%s step%s) {\n", cg__int(w), staged ? ", int stage" : "");
    w->code.indent++;
    w->scope++;
    cg__mm_write_first_k(w, "step");
}

static void cg__mm_end_lambda(ind__writer *w) {
    cg__forget(w);
    w->scope--;
    w->code.indent--;
    ind__textf(&w->code, "};\n");
}

/* Rows, and elements in a row, of an operand's tile. */
static int cg__mm_tile_rows(const ind__variant *v, const cg__mm_operand *o, char name) {
    return !o->k_major ? v->of.tile.k : cg__mm_edge(v, name);
}

static int cg__mm_tile_cols(const ind__variant *v, const cg__mm_operand *o, char name) {
    return o->k_major ? v->of.tile.k : cg__mm_edge(v, name);
}

/* Is an operand with rows along m or n made up of whole tiles? */
static bool cg__mm_is_whole(const ind__variant *v, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind_expr size = name == 'a' ? p->size_m : p->size_n;
    return !cg__mm_starts_anywhere(p, o) && ind_known_multiple(size, cg__mm_tile_rows(v, o, name));
}

/* Can the end of the operand's rows cut the chunk of n elements that begins at a multiple of n? */
static bool cg__mm_cuts(const ind__variant *v, const cg__mm_problem *p, const cg__mm_operand *o, int n) {
    const ind_expr along = cg__mm_along_size(p, o);
    return !ind_known_multiple(along, n) && !cg__promised(v->guard, along, n, 0);
}

/* Can the buffer that a LOAD reads end in such a chunk? */
static bool cg__mm_buffer_cuts(const ind__writer *w, uint32_t load, int n) {
    const ind__buffer *b = &w->schedule->program->buffer[cg__inst(w, load)->source];
    return !ind_known_multiple(ind__buffer_numel(b), n);
}

/* Returns the end of the buffer that a LOAD reads. */
static const char *cg__mm_buffer_end(ind__writer *w, uint32_t load) {
    const uint32_t source = cg__inst(w, load)->source;
    return cg__string(w, "%s + %s", cg__buffer(w, source),
                      cg__expr_string(w, ind__buffer_numel(&w->schedule->program->buffer[source])));
}

/* By how much the operand's elements move when k grows by 1, if that is the same everywhere. */
static bool cg__mm_step_of(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, ind_expr *stride) {
    ind_expr rest;
    *stride = ind_int(w->context, 0);
    if (o->gathered && !o->k_major) return false;
    return p->k < 0 || ind__affine(cg__index_of(w, o->load), w->plan->domain.var[p->k], stride, &rest);
}

/* Writes at_a[] or at_b[]: the offsets in memory of the chunks that a thread copies, without the part by which all of
   them advance from step to step. `first_k`: the step's first k if that part is not separable. A chunk outside the
   operand has an offset inside it, but is not read: bit i of in_a or in_b tells if the i-th row along m or n exists. */
static void cg__mm_write_addresses(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name,
                                   const char *first_k) {
    const ind__variant *v = w->variant;
    const char x = cg__mm_axis(name);
    int rows = cg__mm_tile_rows(v, o, name), chunks = cg__mm_tile_cols(v, o, name) / cg__mm_chunk(p);
    int apart = v->threads / chunks, n = (rows + apart - 1) / apart;
    bool mask = o->k_major && !cg__mm_is_whole(v, p, o, name);
    ind__textf(&w->code, "%s at_%c[%d];\n", cg__int(w), name, n);
    if (mask) ind__textf(&w->code, "unsigned in_%c = 0;\n", name);
    cg__unroll(w);
    cg__begin(w, "for (int i = 0; i < %d; i++)", n);
    ind__textf(&w->code, "const %s row = i * %d + (int)threadIdx.x / %d%s%s;\n", cg__int(w), apart, chunks,
               *first_k ? " + " : "", first_k);
    const bool nearest = o->gathered && !o->k_major;
    if (nearest) ind__textf(&w->code, "const %s nearest = %s;\n", cg__int(w), o->nearest_row);
    const char *row = nearest ? "nearest" : cg__string(w, "(row < size_k ? row : 0)");
    if (o->k_major && o->x >= 0) {
        ind__textf(&w->code, "const %s x = first_%c + row < size_%c ? first_%c + row : first_%c;\n", cg__int(w), x, x,
                   x, x);
    } else if (o->x >= 0) {
        ind__textf(&w->code,
                   "const %s col = first_%c + (int)threadIdx.x %% %d * %d, x = col < size_%c ? col : first_%c;\n",
                   cg__int(w), x, chunks, cg__mm_chunk(p), x, x);
    }
    if (mask) ind__textf(&w->code, "in_%c |= (unsigned)(first_%c + row < size_%c) << i;\n", name, x, x);
    cg__mm_set_text(w, o->x, "x");
    cg__mm_set_text(w, p->k, o->k_major ? "0" : row);
    cg__mm_write_gathered(w, o);
    ind__textf(&w->code, "at_%c[i] = %s;\n", name, cg__expr_string(w, cg__index_of(w, o->load)));
    cg__end(w);
    cg__use(w, IND__CG_TILE_COPY);
}

/* Writes the offsets of the chunks of copied operands, before the loop. */
static void cg__mm_write_all_addresses(ind__writer *w, const cg__mm_problem *p) {
    ind_expr stride;
    if (p->a.copy && !p->a.windows && cg__mm_step_of(w, p, &p->a, &stride))
        cg__mm_write_addresses(w, p, &p->a, 'a', "");
    if (p->b.copy && !p->b.windows && cg__mm_step_of(w, p, &p->b, &stride))
        cg__mm_write_addresses(w, p, &p->b, 'b', "");
    if (p->b2.copy && cg__mm_step_of(w, p, &p->b2, &stride)) cg__mm_write_addresses(w, p, &p->b2, 'c', "");
}

/* Has the tile rows along m or n of 32-bit elements? ldmatrix does not transpose these: lanes read them one by one. */
static bool cg__mm_is_across(const cg__mm_problem *p, const cg__mm_operand *o) {
    return p->tensor_bytes == 4 && !o->k_major && !o->along_rows;
}

/* One asynchronous copy of an operand's tile. */
static void cg__mm_write_copy(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const char x = cg__mm_axis(name);
    int rows = cg__mm_tile_rows(v, o, name), cols = cg__mm_tile_cols(v, o, name);
    ind_expr stride, step;
    bool separable = cg__mm_step_of(w, p, o, &stride);
    if (!separable) cg__mm_write_addresses(w, p, o, name, "first_k");
    cg__mm_set_text(w, p->k, "first_k");
    step = separable && p->k >= 0 ? ind_expr_mul(stride, w->plan->domain.var[p->k]) : ind_int(w->context, 0);
    bool whole = ind_known_multiple(p->size_k, v->of.tile.k);
    const char *from = cg__string(w, "%s + %s", cg__buffer(w, cg__inst(w, o->load)->source), cg__expr_string(w, step));
    const int size = cg__mm_chunk(p), units = cg__mm_units(p, cols);
    const char *chunk = cg__string(w, "(int)threadIdx.x %% %d * %d", cols / size, size);
    const bool across = cg__mm_is_across(p, o);
    const int cut = !cg__mm_cuts(v, p, o, size) ? 0 : cg__mm_buffer_cuts(w, o->load, size) ? 2 : 1;
    const char *end = cut == 2 ? cg__string(w, ", %s", cg__mm_buffer_end(w, o->load)) : "";
    ind__textf(&w->code, "ind_tile_copy<%d, %d, %d%s>(tile_%c + stage * %d,\n", rows, units, v->threads,
               cut      ? cg__string(w, ", %s, %d", across ? "true" : "false", cut)
               : across ? ", true"
                        : "",
               name, cg__mm_units(p, cg__mm_stage_elements(v, name)));
    if (cut) cg__use(w, IND__CG_CP_ASYNC_PART);
    if (o->k_major) {
        ind__textf(&w->code, "    %s + %s, at_%c, %d, ", from, chunk, name, rows);
        if (whole)
            ind__textf(&w->code, "16, ");
        else
            ind__textf(&w->code, "ind_chunk_bytes<%d>(size_k - first_k - %s), ", size, chunk);
        bool all = cg__mm_is_whole(v, p, o, name);
        ind__textf(&w->code, "%s%s);\n", all ? "~0u" : cg__string(w, "in_%c", name), end);
    } else {
        ind__textf(&w->code, "    %s, at_%c, %s, ", from, name, whole ? cg__string(w, "%d", rows) : "size_k - first_k");
        ind__textf(&w->code, "ind_chunk_bytes<%d>(size_%c - first_%c - %s), ~0u%s);\n", size, x, x, chunk, end);
    }
}

/* Declares the variable along k for the tile's "k". Of gathered rows it is that of the row to read. */
static void cg__mm_write_k(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    if (p->k < 0) return;
    if (o->gathered && !o->k_major)
        ind__textf(&w->code, "const %s row = first_k + k, %s = %s;\n", cg__int(w), w->var[p->k], o->nearest_row);
    else
        ind__textf(&w->code, "const %s %s = first_k + k;\n", cg__int(w), w->var[p->k]);
}

/* "value = ..." for the operand's element at the variables' present values, in a scope of its own. */
static void cg__mm_write_element(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const char x = cg__mm_axis(name);
    const char *type = cg__types[cg__inst(w, o->value)->dtype].value;
    if (o->x >= 0) ind__textf(&w->code, "const %s %s = first_%c + x;\n", cg__int(w), w->var[o->x], x);
    cg__mm_write_k(w, p, o);
    ind__textf(&w->code, "%s value = 0;\n", type);
    cg__begin(w, "if (first_%c + x < size_%c && first_k + k < size_k)", x, x);
    cg__need_none(w);
    cg__need(w, o->value);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "value = ");
    cg__value(w, o->value);
    ind__textf(&w->code, ";\n");
    cg__end(w);
}

/* A loop over the elements of an operand's tile that fall to this thread: neighbours in memory go to neighbours. */
static void cg__mm_begin_elements(ind__writer *w, const cg__mm_operand *o, char name, bool unroll) {
    const ind__variant *v = w->variant;
    const bool rows = o->k_major && !o->across;
    int tile_x = cg__mm_edge(v, name), along = rows ? v->of.tile.k : tile_x;
    ind__textf(&w->code, unroll ? "#pragma unroll\n" : "#pragma unroll 4\n");
    cg__begin(w, "for (int i = 0; i < %d; i++)", tile_x * v->of.tile.k / v->threads);
    ind__textf(&w->code, "const int at = i * %d + (int)threadIdx.x, %c = at / %d, %c = at %% %d;\n", v->threads,
               rows ? 'x' : 'k', along, rows ? 'k' : 'x', along);
}

/* Stores "value" as an element of 8 bits. */
static void cg__mm_write_byte(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const int tile_x = name == 'a' ? v->of.tile.m : v->of.tile.n, units = cg__mm_units(p, v->of.tile.k);
    const char *value = "(unsigned char)value";
    if (cg__mm_is_f8(o)) {
        value = cg__string(w, "ind_f32_to_%s(value)", ind_dtype_name(o->memory));
        cg__use(w, o->memory == IND_F8E5M2 ? IND__CG_F8E5M2 : IND__CG_F8E4M3FN);
    }
    ind__textf(
        &w->code,
        "reinterpret_cast<unsigned char *>(tile_%c + stage * %d + ind_tile_at<%d, %d>(x, k >> 4))[k & 15] = %s;\n",
        name, tile_x * units, tile_x, units, value);
}

/* Stores "value" as an element of 32 bits. */
static void cg__mm_write_word(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const int rows = cg__mm_tile_rows(w->variant, o, name),
              units = cg__mm_units(p, cg__mm_tile_cols(w->variant, o, name));
    const char row = o->k_major ? 'x' : 'k', col = o->k_major ? 'k' : 'x';
    ind__textf(
        &w->code,
        "reinterpret_cast<float *>(tile_%c + stage * %d + ind_tile_at<%d, %d%s>(%c, %c >> 2))[%c & 3] = value;\n", name,
        cg__mm_units(p, cg__mm_stage_elements(w->variant, name)), rows, units, cg__mm_is_across(p, o) ? ", true" : "",
        row, col, col);
}

/* An operand's tile brought in element by element. */
static void cg__mm_write_units(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    cg__mm_set_plain_names(w);
    cg__mm_begin_elements(w, o, name, false);
    cg__mm_write_element(w, p, o, name);
    cg__use(w, IND__CG_HALF_TILE);
    if (p->tensor_bytes != 2) {
        if (p->tensor_bytes == 1)
            cg__mm_write_byte(w, p, o, name);
        else
            cg__mm_write_word(w, p, o, name);
        cg__end(w);
        return;
    }
    char row = o->k_major ? 'x' : 'k', col = o->k_major ? 'k' : 'x';
    ind__textf(&w->code, "tile_%c[stage * %d + ind_tile_at<%d, %d>(%c, %c >> 3) + (%c & 7)] = ind_f32_to_%s(value);\n",
               name, cg__mm_stage_elements(v, name), cg__mm_tile_rows(v, o, name), cg__mm_tile_cols(v, o, name), row,
               col, col, ind_dtype_name(o->memory));
    cg__use(w, o->memory == IND_F16 ? IND__CG_F16 : IND__CG_BF16);
    cg__end(w);
}
