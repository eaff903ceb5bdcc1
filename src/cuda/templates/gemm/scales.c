/* Scales of 8-bit operands: factors that are the same in each block of MM_SCALED elements of k. The tensor cores sum
   the products of a block. The sum is multiplied by the scales of its row and column, and added in f32. */

/* ---- the problem ---- */

/* True if the value is the same for `size` neighbours along variable v, from each multiple of `size` on. */
static bool cg__mm_is_same_in_blocks(ind__writer *w, uint32_t value, int v, int size) {
    uint8_t *same = (uint8_t *)ind__arena_alloc(&w->scratch, value + 1);
    if (!same) {
        cg__fail(w);
        return false;
    }
    memset(same, 0, value + 1);
    for (uint32_t i = 1; i <= value; i++) same[i] = v < 0 || cg__is_same_in_vector(w, i, v, size, same);
    return same[value];
}

/* Splits an operand that is an 8-bit float from memory times a scale. */
static void cg__mm_find_scale(ind__writer *w, const cg__mm_problem *p, cg__mm_operand *o) {
    const ind__inst *product = cg__inst(w, o->value);
    if (product->op != IND_LOOP_MUL) return;
    for (int side = 0; side < 2; side++) {
        uint32_t from = product->arg[side];
        while (cg__inst(w, from)->op == IND_LOOP_CAST) from = cg__inst(w, from)->arg[0];
        if (cg__inst(w, from)->op != IND_LOOP_LOAD || !cg__is_f8(cg__memory_dtype(w, from))) continue;
        if (!cg__mm_is_same_in_blocks(w, product->arg[!side], p->k, MM_SCALED)) continue;
        o->scale = product->arg[!side];
        o->value = product->arg[side];
        return;
    }
}

static void cg__mm_find_scales(ind__writer *w, cg__mm_problem *p) {
    if (!(cg__inst(w, p->dot)->flags & IND__INST_TENSOR_SUMS) || p->dot2 || p->k < 0) return;
    cg__mm_find_scale(w, p, &p->a);
    cg__mm_find_scale(w, p, &p->b);
    p->b.wide_scale = p->b.scale && cg__mm_is_same_in_blocks(w, p->b.scale, p->n, MM_SCALED);
}

static bool cg__mm_is_scaled(const cg__mm_problem *p) {
    return p->a.scale || p->b.scale;
}

/* ---- decisions ---- */

/* Scales of b in a thread, whose warp has `cols` columns of a tile of `tile_n`: 1 if they are the same for the tile, or
   one for each 8 columns, or one for each of the thread's columns. */
static int cg__mm_column_scales(const cg__mm_problem *p, int tile_n, int cols) {
    if (!p->b.scale || (p->b.wide_scale && MM_SCALED % tile_n == 0)) return 1;
    return p->b.wide_scale ? cols / 8 : cols / 4;
}

/* Registers of a thread for its scales, and to find them. */
static int cg__mm_scale_registers(const cg__mm_problem *p, const cg__mm_config *c) {
    if (!cg__mm_is_scaled(p)) return 0;
    return c->tile_m / c->warps_m / 8 + cg__mm_column_scales(p, c->tile_n, c->tile_n / c->warps_n) + 8;
}

/* Cycles of an SM for the scales of one step of a block: each thread loads its own, and multiplies its sums. */
static double cg__mm_scale_cost(const cg__mm_problem *p, const cg__mm_config *c, const ind_thresholds *t) {
    if (!cg__mm_is_scaled(p)) return 0;
    const int rows = c->tile_m / c->warps_m, cols = c->tile_n / c->warps_n;
    const double scales = rows / 8.0 + cg__mm_column_scales(p, c->tile_n, cols);
    return c->warps_m * c->warps_n * (scales * t->scale_instructions + rows * cols / 32.0) * 32 / t->fma_rate;
}

/* ---- writing ---- */

/* "scale_a" or "scale_b": the scale at r0 and a row or column. */
static void cg__mm_write_scale(ind__writer *w, const cg__mm_operand *o, char name) {
    const char *type = cg__int(w);
    if (!o->scale) return;
    cg__mm_set_plain_names(w);
    ind__textf(&w->code, "const auto scale_%c = [&](%s r0%s) {\n", name, type,
               o->x < 0 ? "" : cg__string(w, ", %s i%d", type, o->x));
    w->code.indent++;
    w->scope++;
    cg__need_none(w);
    cg__need(w, o->scale);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, 0);
    ind__textf(&w->code, "return ");
    cg__value(w, o->scale);
    ind__textf(&w->code, ";\n");
    cg__mm_end_lambda(w);
}

static void cg__mm_write_scales(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_write_scale(w, &p->a, 'a');
    cg__mm_write_scale(w, &p->b, 'b');
}

/* A loop over a thread's `num` scales of an operand, which sets `to` for the row or column x, the text `at`. One
   outside the operand has the scale of the last one. `whole`: there is none, or it has the scale of the tile. */
static void cg__mm_write_scale_loop(ind__writer *w, const cg__mm_operand *o, char name, int num, const char *to,
                                    const char *at, bool whole) {
    const char *size = name == 'a' ? "size_m" : "size_n";
    cg__unroll(w);
    cg__begin(w, "for (int i = 0; i < %d; i++)", num);
    if (o->scale && o->x >= 0) ind__textf(&w->code, "const %s x = %s;\n", cg__int(w), at);
    ind__textf(&w->code, "%s = ", to);
    if (!o->scale)
        ind__textf(&w->code, "1.0f;\n");
    else if (o->x < 0)
        ind__textf(&w->code, "scale_%c(first_k);\n", name);
    else
        ind__textf(&w->code, "scale_%c(first_k, %s);\n", name,
                   whole ? "x" : cg__string(w, "x < %s ? x : %s - 1", size, size));
    cg__end(w);
}

/* "row_scale" and "col_scale": the scales of a thread in a step. Its warp has `rows` rows and `cols` columns, from
   first_row and first_col on. */
static void cg__mm_write_step_scales(ind__writer *w, const cg__mm_problem *p, int rows, int cols, const char *first_row,
                                     const char *first_col) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int num = cg__mm_column_scales(p, tile->n, cols);
    const char *row = cg__string(w, "%s + (int)threadIdx.x %% 32 / 4 + i * 8", first_row);
    const char *col = num == 1 ? first_col
                      : p->b.wide_scale
                          ? cg__string(w, "%s + i * 8", first_col)
                          : cg__string(w, "%s + i / 2 * 8 + (int)threadIdx.x %% 4 * 2 + i %% 2", first_col);
    cg__mm_write_first_k(w, cg__string(w, "(%s)step", cg__int(w)));
    ind__textf(&w->code, "float row_scale[%d][2], col_scale[%d];\n", rows / 16, num);
    cg__mm_write_scale_loop(w, &p->a, 'a', rows / 8, "row_scale[i / 2][i % 2]", row,
                            ind_known_multiple(p->size_m, tile->m) && tile->pair_m < 2);
    cg__mm_write_scale_loop(w, &p->b, 'b', num, "col_scale[i]", col,
                            (num == 1 || ind_known_multiple(p->size_n, tile->n)) && tile->pair_n < 2);
    cg__use(w, IND__CG_PROMOTE_SCALED);
}
