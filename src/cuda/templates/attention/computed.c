/* Operands of 16 bits that are computed in their loads: dequantised caches, rotated queries. A thread has chunks of 8
   neighbours of a tile. It loads the inputs of several chunks, then computes these chunks. With split keys it loads the
   inputs of a whole tile ahead, if its registers have room: while the tile before is multiplied. */

enum { AT_PRELOAD_REGISTERS = 48 }; /* of a thread */

/* The variable along which neighbours lie. */
static int cg__at_along(const cg__mm_problem *p, const cg__mm_operand *o) {
    return o->k_major ? p->k : o->x;
}

/* Can the LOAD be read ahead for a chunk? Indices from memory may say where the chunk begins. */
static bool cg__at_is_early(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i) {
    const ind__inst *in = cg__inst(w, i);
    return w->needed[i] && in->op == IND_LOOP_LOAD && !in->arg[0] &&
           !cg__indirect_varies(w, cg__index_of(w, i), cg__at_along(p, o));
}

/* Chooses the LOADs of a computed operand that read 8 neighbours as a vector. A rounding at the end is that to the
   tile. */
static void cg__at_choose_vectors(cg__decider *d, const cg__mm_problem *p, cg__mm_operand *o) {
    const int along = cg__at_along(p, o);
    if (!o->computed || p->tensor_bytes != 2) return;
    if (cg__inst(&d->w, o->value)->op != IND_LOOP_LOAD) o->value = cg__inst(&d->w, o->value)->arg[0];
    cg__mm_need_operand(&d->w, o);
    for (uint32_t i = 1; i <= o->value; i++) {
        ind_expr guard = {0};
        bool aligned = false;
        if (!cg__at_is_early(&d->w, p, o, i) || !cg__contiguous(&d->w, i, along)) continue;
        if (ind_dtype_bytes(cg__memory_dtype(&d->w, i)) > 4) continue;
        if (!ind_known_multiple(cg__mm_along_size(p, o), 8) || !cg__vector_access(d, i, along, 8, &guard, &aligned))
            continue;
        if (ind__ok(guard)) cg__guard(d->variant, guard);
        d->variant->guard_aligned |= aligned;
        d->plan->resident[i] |= (uint8_t)(MM_VECTOR << cg__mm_resident_shift(p, o));
    }
}

static bool cg__at_is_vector(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i) {
    return cg__at_is_early(w, p, o, i) && cg__mm_is_resident(w, p, o, i, MM_VECTOR);
}

static bool cg__at_is_float8(const ind__writer *w, uint32_t i) {
    const ind_dtype t = cg__memory_dtype(w, i);
    return t == IND_F8E4M3FN || t == IND_F8E5M2;
}

/* Is the LOAD a vector of elements of 8 bits? It is two words. */
static bool cg__at_is_bytes(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i) {
    const ind_dtype t = cg__memory_dtype(w, i);
    return cg__at_is_vector(w, p, o, i) && (t == IND_I8 || t == IND_U8 || cg__at_is_float8(w, i));
}

/* Is the LOAD one element per chunk? */
static bool cg__at_is_shared(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i) {
    return cg__at_is_early(w, p, o, i) && !(w->plan->varies[i] >> cg__at_along(p, o) & 1);
}

static bool cg__at_is_preloaded(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i) {
    return cg__at_is_vector(w, p, o, i) || cg__at_is_shared(w, p, o, i);
}

/* Marks the instructions that compute the operand, back to the preloaded LOADs. The indices of these are not marked. */
static void cg__at_need_operand(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    cg__need_none(w);
    cg__need(w, o->value);
    for (uint32_t i = o->value + 1; i-- > 1;)
        if (w->needed[i] && !w->known[i] && !w->value[i] && !cg__at_is_preloaded(w, p, o, i))
            cg__each_use(w, i, cg__mark_needed, w);
}

/* Writes the indices from memory that preloaded LOADs have. */
static void cg__at_write_indices(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    for (uint32_t i = 1; i <= o->value; i++) { /* marks those before i, which are done */
        const bool preloaded = cg__at_is_preloaded(w, p, o, i);
        w->needed[i] = 0;
        if (preloaded) cg__each_use(w, i, cg__mark_needed, w);
    }
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__at_need_operand(w, p, o);
}

/* Registers of a thread for the inputs of a chunk. */
static int cg__at_chunk_registers(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    int registers = 0;
    for (uint32_t i = 1; i <= o->value; i++) {
        if (cg__at_is_vector(w, p, o, i)) registers += 2 * ind_dtype_bytes(cg__memory_dtype(w, i));
        registers += cg__at_is_shared(w, p, o, i);
    }
    return registers;
}

/* The number of chunks whose inputs a thread loads before it computes them: a divisor of `all`. */
static int cg__at_preloaded_chunks(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, int all) {
    const int registers = cg__at_chunk_registers(w, p, o);
    int n = registers ? AT_PRELOAD_REGISTERS / registers : 1;
    n = n < 1 ? 1 : n > all ? all : n;
    while (all % n) n--;
    return n;
}

/* Chunks of a thread of a tile of so many elements. */
static int cg__at_chunks(const ind__variant *v, int elements) {
    return (elements / 8 + v->threads - 1) / v->threads;
}

/* Registers of a thread for the inputs of a whole tile of so many elements; 0: they are not loaded ahead, because the
   operand is copied, none of its LOADs is a vector, or they are too many. */
static int cg__at_tile_registers(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, int elements) {
    bool vector = false;
    if (!o->computed || p->tensor_bytes != 2) return 0;
    cg__mm_set_plain_names(w);
    cg__at_need_operand(w, p, o);
    for (uint32_t i = 1; i <= o->value; i++) vector |= cg__at_is_vector(w, p, o, i);
    const int registers = cg__at_chunk_registers(w, p, o) * cg__at_chunks(w->variant, elements);
    return vector && registers <= AT_PRELOAD_REGISTERS ? registers : 0;
}

/* The variable along k for a chunk. Keys that do not exist are replaced by the last one: their scores and weights are
   not used. Returns the condition that the chunk has elements; NULL: it always has. */
static const char *cg__at_write_key(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const char x = cg__mm_axis(name);
    const bool whole = ind_known_multiple(cg__mm_along_size(p, o), cg__mm_tile_cols(w->variant, o, name));
    if (o->k_major || name == 'a' || p->k < 0) { /* chunks of queries have features along k */
        cg__mm_write_k(w, p, o);
        return cg__string(w, "first_%c + x < size_%c && first_k + k < size_k", x, x);
    }
    if (o->gathered || ind_known_multiple(p->size_k, w->variant->of.tile.k))
        cg__mm_write_k(w, p, o);
    else
        ind__textf(&w->code, "const %s row = first_k + k, %s = row < size_k ? row : size_k - 1;\n", cg__int(w),
                   w->var[p->k]);
    return whole ? NULL : cg__string(w, "first_%c + x < size_%c", x, x);
}

/* Begins a loop over n chunks from number g on, with their variables, and in it the condition that a chunk has
   elements. The caller ends both. before: statements before the condition. */
static void cg__at_begin_chunks(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name, int n,
                                const char *before) {
    const ind__variant *v = w->variant;
    const int rows = cg__mm_tile_rows(v, o, name), chunks = cg__mm_tile_cols(v, o, name) / 8;
    const char x = cg__mm_axis(name);
    cg__begin(w, "for (int i = 0; i < %d; i++)", n);
    ind__textf(&w->code, "const int at = (g + i) * %d + (int)threadIdx.x, %c = at / %d, %c = at %% %d * 8;\n",
               v->threads, o->k_major ? 'x' : 'k', chunks, o->k_major ? 'k' : 'x', chunks);
    if (rows * chunks % v->threads) ind__textf(&w->code, "if (at >= %d) break;\n", rows * chunks);
    if (o->x >= 0) ind__textf(&w->code, "const %s %s = first_%c + x;\n", cg__int(w), w->var[o->x], x);
    const char *when = cg__at_write_key(w, p, o, name);
    ind__textf(&w->code, "%s", before);
    cg__begin(w, when ? "if (%s)" : "%s", when ? when : "");
}

/* Declares the registers of the inputs of n chunks. */
static void cg__at_declare_preloads(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name,
                                    int n) {
    for (uint32_t i = 1; i <= o->value; i++) {
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        if (cg__at_is_bytes(w, p, o, i))
            ind__textf(&w->code, "ind_vec<unsigned, 2> x%u%c[%d];\n", i, name, n);
        else if (cg__at_is_vector(w, p, o, i))
            ind__textf(&w->code, "ind_vec<%s, 8> x%u%c[%d];\n", type, i, name, n);
        else if (cg__at_is_shared(w, p, o, i))
            ind__textf(&w->code, "%s x%u%c[%d];\n", type, i, name, n);
    }
}

/* Writes the load of a preloaded LOAD from this element; the index of the chunk is "i". */
static void cg__at_write_preload(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name,
                                 uint32_t i, const char *element) {
    if (cg__at_is_bytes(w, p, o, i))
        ind__textf(&w->code, "x%u%c[i] = ind_load<2>(reinterpret_cast<const unsigned *>(&%s));\n", i, name, element);
    else if (cg__at_is_vector(w, p, o, i))
        ind__textf(&w->code, "x%u%c[i] = ind_load<8>(&%s);\n", i, name, element);
    else if (cg__at_is_shared(w, p, o, i))
        ind__textf(&w->code, "x%u%c[i] = %s;\n", i, name, element);
}

/* Writes where the preloaded LOADs of n chunks are: "p5d[i]". The indices from memory that find them are checked
   together: a branch for each would wait for its load. If one is out of range, all are checked again, to record it. */
static void cg__at_write_places(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name, int n) {
    for (uint32_t i = 1; i <= o->value; i++)
        if (cg__at_is_preloaded(w, p, o, i))
            ind__textf(&w->code, "%s p%u%c[%d];\n", cg__int(w), i, name, n);
    ind__textf(&w->code, "bool outside = false;\n");
    cg__unroll(w);
    cg__at_begin_chunks(w, p, o, name, n, "bool &error = outside;\n");
    cg__at_write_indices(w, p, o);
    for (uint32_t i = 1; i <= o->value; i++)
        if (cg__at_is_preloaded(w, p, o, i))
            ind__textf(&w->code, "p%u%c[i] = %s;\n", i, name, cg__expr_string(w, cg__index_of(w, i)));
    cg__end(w);
    cg__end(w);
    cg__begin(w, "if (outside)");
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__at_begin_chunks(w, p, o, name, n, "");
    cg__at_write_indices(w, p, o);
    cg__end(w);
    cg__end(w);
    cg__end(w);
}

/* Loads the inputs of n chunks into registers. */
static void cg__at_write_preloads(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name, int n) {
    if (o->gathered) cg__at_write_places(w, p, o, name, n);
    cg__unroll(w);
    cg__at_begin_chunks(w, p, o, name, n, "");
    if (!o->gathered) cg__at_write_indices(w, p, o);
    for (uint32_t i = 1; i <= o->value; i++) {
        if (!cg__at_is_preloaded(w, p, o, i)) continue;
        const char *buffer = cg__buffer(w, cg__inst(w, i)->source);
        const char *found = cg__string(w, "%s[p%u%c[i]]", buffer, i, name);
        cg__at_write_preload(w, p, o, name, i, o->gathered ? found : cg__element(w, i));
    }
    cg__end(w);
    cg__end(w);
}

/* The preloaded LOADs are in registers from here on. */
static void cg__at_set_preloaded(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    for (uint32_t i = 1; i <= o->value; i++) {
        if (cg__at_is_bytes(w, p, o, i))
            w->memory[i] = cg__string(w, "((%s)(x%u%c[i].at[j / 4] >> j %% 4 * 8))",
                                      cg__types[cg__memory_dtype(w, i)].memory, i, name);
        else if (cg__at_is_vector(w, p, o, i))
            w->memory[i] = cg__string(w, "x%u%c[i].at[j]", i, name);
        else if (cg__at_is_shared(w, p, o, i))
            w->memory[i] = cg__string(w, "x%u%c[i]", i, name);
    }
}

/* Is the value one of an element of 8 bits, which f16 and bf16 have? */
static bool cg__at_is_exact(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i) {
    const ind__inst *in = cg__inst(w, i);
    if (in->dtype != IND_F32) return false;
    if (in->op == IND_LOOP_ROUND_F16 || in->op == IND_LOOP_ROUND_BF16) return cg__at_is_exact(w, p, o, in->arg[0]);
    if (in->op == IND_LOOP_CAST) return cg__at_is_bytes(w, p, o, in->arg[0]);
    return cg__at_is_bytes(w, p, o, i);
}

/* Converts the chunk's elements of 8 bits. */
static void cg__at_write_bytes(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    for (uint32_t i = 1; i <= o->value; i++) {
        const ind__inst *in = cg__inst(w, i);
        if (!w->needed[i] || !cg__at_is_exact(w, p, o, i)) continue;
        const uint32_t from = in->op == IND_LOOP_LOAD ? i : in->arg[0];
        if (in->op == IND_LOOP_ROUND_F16 || in->op == IND_LOOP_ROUND_BF16) {
            w->value[i] = w->value[from];
            continue;
        }
        const bool real = cg__at_is_float8(w, from);
        const bool flag = cg__memory_dtype(w, from) == (real ? IND_F8E5M2 : IND_I8);
        ind__textf(&w->code, "float f%u[8];\n%s<%s>(f%u, x%u%c[i]);\n", i,
                   real ? "ind_floats8_to_f32" : "ind_bytes_to_f32", cg__at_bool(flag), i, from, name);
        w->value[i] = cg__string(w, "f%u[j]", i);
        cg__use(w, real ? IND__CG_FLOATS8_TO_F32 : IND__CG_BYTES_TO_F32);
    }
    cg__at_need_operand(w, p, o);
}

/* The values of one chunk, into `made`. */
static void cg__at_write_chunk(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const int along = cg__at_along(p, o);
    const char *base = w->var[along], x = cg__mm_axis(name);
    const char *left = o->k_major ? "size_k - first_k - k" : cg__string(w, "size_%c - first_%c - x", x, x);
    cg__at_write_bytes(w, p, o, name);
    cg__emit_same(w, along, 8);
    cg__mm_write_runs(w, p, o);
    cg__set_lane_values(w, along, 8, false);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < 8; j++)");
    w->var[along] = cg__string(w, "(%s + j)", base);
    if (!ind_known_multiple(cg__mm_along_size(p, o), 8)) ind__textf(&w->code, "if (j >= %s) break;\n", left);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "made.at[j] = ind_f32_to_%s(", ind_dtype_name(o->memory));
    cg__value(w, o->value);
    ind__textf(&w->code, ");\n");
    cg__end(w);
    w->var[along] = base;
    cg__set_lane_values(w, along, 8, true);
}

/* Computes n chunks from number g on, from the registers, into the stage. */
static void cg__at_write_chunks(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name, int n) {
    const ind__variant *v = w->variant;
    const int rows = cg__mm_tile_rows(v, o, name), cols = cg__mm_tile_cols(v, o, name);
    const char row = o->k_major ? 'x' : 'k', col = o->k_major ? 'k' : 'x';
    cg__at_set_preloaded(w, p, o, name);
    cg__unroll(w);
    cg__at_begin_chunks(w, p, o, name, n, "ind_vec<unsigned short, 8> made = {};\n");
    cg__at_write_chunk(w, p, o, name);
    cg__end(w);
    ind__textf(&w->code, "ind_store(tile_%c + stage * %d + ind_tile_at<%d, %d>(%c, %c >> 3), made);\n", name,
               cg__mm_stage_elements(v, name), rows, cols, row, col);
    cg__end(w);
    for (uint32_t i = 1; i <= o->value; i++) {
        const ind_loop_op op = (ind_loop_op)cg__inst(w, i)->op;
        const bool rounds = op == IND_LOOP_ROUND_F16 || op == IND_LOOP_ROUND_BF16;
        if (op == IND_LOOP_LOAD) w->memory[i] = NULL;
        if (op == IND_LOOP_CAST || rounds || (op == IND_LOOP_LOAD && cg__at_is_float8(w, i))) w->value[i] = NULL;
    }
    cg__use(w, o->memory == IND_F16 ? IND__CG_F16 : IND__CG_BF16);
    cg__use(w, IND__CG_HALF_TILE);
    cg__use(w, IND__CG_VEC);
}

/* The operand's tile in its stage. */
static void cg__at_write_computed(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const int all = cg__at_chunks(v, cg__mm_tile_rows(v, o, name) * cg__mm_tile_cols(v, o, name));
    cg__mm_set_plain_names(w);
    cg__at_need_operand(w, p, o);
    const int n = cg__at_preloaded_chunks(w, p, o, all);
    cg__unroll(w);
    cg__begin(w, "for (int g = 0; g < %d; g += %d)", all, n);
    cg__at_declare_preloads(w, p, o, name, n);
    cg__at_write_preloads(w, p, o, name, n);
    cg__at_write_chunks(w, p, o, name, n);
    cg__end(w);
}
