/* Products of one row with packed weights, dequantised in registers by each lane. One kernel computes one product, or
   two with weights of one format. The layout is that of one_row.c, with 8 elements of a block in place of a vector. The
   lanes of a warp share k. A lane loads the bytes of its 8 elements and what it needs of their block, and multiplies
   their sum by the scale. Weights are not rounded to the operand's type. Tensor cores (packed.c) take 16 columns and
   256 elements of k a warp, which keep few SMs busy if the weights are small. */

/* The type of a format in the prelude, up to what cg__mm_packed8_type adds, the function that declares it, and the
   registers of 8 elements; see packed_row.cuh. */
static const struct {
    const char *type;
    int function, registers;
} cg__packed8_formats[MM_NUM_PACKED] = {
    [IND__QUANTISED_Q8_0] = {"ind_packed8_q8_0<", IND__CG_PACKED8_Q8_0, 5},
    [IND__QUANTISED_Q4_0] = {"ind_packed8_q4<false, false, ", IND__CG_PACKED8_Q4, 5},
    [IND__QUANTISED_Q4_1] = {"ind_packed8_q4<true, false, ", IND__CG_PACKED8_Q4, 3},
    [IND__QUANTISED_Q5_0] = {"ind_packed8_q4<false, true, ", IND__CG_PACKED8_Q4, 6},
    [IND__QUANTISED_Q5_1] = {"ind_packed8_q4<true, true, ", IND__CG_PACKED8_Q4, 4},
    [IND__QUANTISED_Q2_K] = {"ind_packed8_q2_k<", IND__CG_PACKED8_Q2_K, 4},
    [IND__QUANTISED_Q3_K] = {"ind_packed8_q3_k<", IND__CG_PACKED8_Q3_K, 11},
    [IND__QUANTISED_Q4_K] = {"ind_packed8_q45_k<false, ", IND__CG_PACKED8_Q45_K, 6},
    [IND__QUANTISED_Q5_K] = {"ind_packed8_q45_k<true, ", IND__CG_PACKED8_Q45_K, 8},
    [IND__QUANTISED_Q6_K] = {"ind_packed8_q6_k<", IND__CG_PACKED8_Q6_K, 10},
    [IND__QUANTISED_IQ4_NL] = {"ind_packed8_iq4_nl<", IND__CG_PACKED8_IQ4, 5},
    [IND__QUANTISED_IQ4_XS] = {"ind_packed8_iq4_xs<", IND__CG_PACKED8_IQ4, 4},
    [IND__QUANTISED_INT4] = {"ind_packed8_int4<", IND__CG_PACKED8_INT4, 3},
    [IND__QUANTISED_MXFP4] = {"ind_packed8_e2m1<false, ", IND__CG_PACKED8_E2M1, 2},
    [IND__QUANTISED_NVFP4] = {"ind_packed8_e2m1<true, ", IND__CG_PACKED8_E2M1, 2},
    [MM_PACKED_I8] = {"ind_packed8_i8<", IND__CG_PACKED8_I8, 2},
    [MM_PACKED_F8E4M3FN] = {"ind_packed8_f8<false, ", IND__CG_PACKED8_F8, 3},
    [MM_PACKED_F8E5M2] = {"ind_packed8_f8<true, ", IND__CG_PACKED8_F8, 3},
};

/* ---- decisions ---- */

static const char *cg__mm_packed_row_match(const cg__mm_problem *p, const ind_target *t) {
    const cg__mm_packed *b = p->packed;
    (void)t;
    int64_t k, batch;
    if (b->no) return b->no;
    if (p->few_rows != 1) return "it may have more than one row";
    if (!ind_expr_is_int(p->size_k, &k) || k < 8 || k % 8) return "its depth is not a constant multiple of 8";
    if (!ind_expr_is_int(p->batch, &batch) || batch != 1) return "it has batches";
    return p->a.computed && !p->a.statistics ? "a is computed as it is loaded" : NULL;
}

/* Registers of the weights and the row that a lane has. */
static int cg__mm_packed_row_registers(const cg__mm_config *c, const cg__mm_problem *p) {
    const cg__mm_strip s = cg__mm_strip_of_config(c, p);
    const int flight = (int)((s.vectors + s.apart - 1) / s.apart);
    const int of_row = 4 * (p->a.computed ? 3 : 1),
              of_columns = s.cols * cg__packed8_formats[p->packed->format].registers;
    return flight * (of_row + of_columns) + s.cols + 48;
}

static void cg__mm_packed_row_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth;
    (void)index_bits;
    c->tile_m = 1;
    const int kept = c->warps_n ? cg__mm_packed_row_registers(c, p) : 0;
    if (kept > c->registers) c->registers = kept;
}

static bool cg__mm_packed_row_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    const int columns = 8 * cg__mm_products(p);
    return cg__mm_is_config_of_one_row(c, p) && c->tile_n % columns == 0 && c->registers <= 200;
}

/* The loads of the weights take most of the instructions, about one for each of their registers. */
static double cg__mm_packed_row_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                     const ind_target *target) {
    const cg__mm_packed *b = p->packed;
    const ind_thresholds *t = &target->thresholds;
    const int registers = cg__packed8_formats[b->format].registers;
    const cg__mm_strip_work of = {.bytes = (double)b->bytes / b->elements,
                                  .unpack = t->packed_row_instructions + t->packed_row_load * registers / 8.0,
                                  .loaded = 1,
                                  .row = cg__mm_one_row_work(c, p, t)};
    return cg__mm_strips_cost(x, p, c, target, &of);
}

/* ---- writing ---- */

/* The type in the prelude of 8 elements of the format. */
static const char *cg__mm_packed8_type(ind__writer *w, const cg__mm_packed *b) {
    const char *type = cg__packed8_formats[b->format].type;
    const int of_block = b->elements == 1 ? 8 : cg__mm_packed_alignment(b->bytes);
    const int alignment = of_block < b->alignment ? of_block : b->alignment;
    if (b->format == MM_PACKED_F8E4M3FN || b->format == MM_PACKED_F8E5M2)
        return cg__string(w, "%s%d, %d>", type, cg__mm_packed_scale(w, b), alignment);
    if (b->format != IND__QUANTISED_INT4) return cg__string(w, "%s%d>", type, alignment);
    return cg__string(w, "%s%d, %s, %d>", type, cg__mm_packed_scale(w, b), cg__mm_packed_zero(w, b), alignment);
}

/* Requests the weights of column i<n>, of one product. */
static void cg__mm_write_packed_row_column(ind__writer *w, const cg__mm_packed *b, int product) {
    const cg__mm_weights *of = &b->of[product];
    const bool beside = cg__packed8_formats[b->format].function != IND__CG_PACKED8_I8 && b->of[0].scale;
    const bool floats = b->format == MM_PACKED_F8E4M3FN || b->format == MM_PACKED_F8E5M2;
    ind__textf(&w->code, "y%u[u][r].load(%s, r0 %% %d", of->load, cg__mm_byte_address(w, of->load), b->elements);
    if (beside || floats)
        ind__textf(&w->code, ", %s, %s", of->scale ? cg__mm_byte_address(w, of->scale) : "nullptr",
                   of->zero ? cg__mm_byte_address(w, of->zero) : "nullptr");
    ind__textf(&w->code, ");\n");
}

/* Declares the weights of a lane, y<load>, and "load", which requests those from `first` on. */
static void cg__mm_write_packed_row_load(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const cg__mm_packed *b = p->packed;
    for (int i = 0; i < cg__mm_products(p); i++)
        ind__textf(&w->code, "%s y%u[%d][%d]%s;\n", cg__mm_packed8_type(w, b), b->of[i].load, s->flight, s->each,
                   s->vectors % s->apart ? " = {}" : "");
    ind__textf(&w->code, "const auto load = [&](int first) {\n");
    w->code.indent++;
    w->scope++;
    cg__mm_begin_vectors(w, p, s);
    cg__mm_begin_strip_columns(w, p, s);
    for (int i = 0; i < cg__mm_products(p); i++) cg__mm_write_packed_row_column(w, b, i);
    cg__end(w);
    cg__mm_end_vectors(w);
    cg__mm_end_lambda(w);
    cg__use(w, cg__packed8_formats[b->format].function);
}

/* "factor": of the columns of a lane, for the products that have one. */
static void cg__mm_write_packed_row_factors(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const cg__mm_weights *of = p->packed->of;
    if (!of[0].factor && !of[1].factor) return;
    ind__textf(&w->code, "float factor[%d];\n", s->cols);
    cg__mm_set_plain_names(w);
    cg__mm_begin_strip_columns(w, p, s);
    for (int i = 0; i < cg__mm_products(p); i++) {
        if (!of[i].factor) continue;
        cg__need_none(w);
        cg__need(w, of[i].factor);
        cg__close_needed(w);
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
        ind__textf(&w->code, "factor[%d + r] = ", i * s->each);
        cg__value(w, of[i].factor);
        ind__textf(&w->code, ";\n");
    }
    cg__end(w);
}

static void cg__mm_write_packed_row_products(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const cg__mm_packed *b = p->packed;
    ind__textf(&w->code, "float acc[1][%d] = {};\n", s->cols);
    cg__mm_begin_vectors(w, p, s);
    cg__mm_write_one_row_values(w, p);
    ind__textf(&w->code, "float of_row = 0.0f;\n#pragma unroll\nfor (int j = 0; j < 8; j++) of_row += value[0][j];\n");
    cg__unroll(w);
    cg__begin(w, "for (int r = 0; r < %d; r++)", s->each);
    for (int i = 0; i < cg__mm_products(p); i++)
        ind__textf(&w->code, "acc[0][%d + r] += y%u[u][r].dot(r0 %% %d, value[0], of_row);\n", i * s->each,
                   b->of[i].load, b->elements);
    cg__end(w);
    cg__mm_end_vectors(w);
    for (int i = 0; i < cg__mm_products(p); i++) {
        if (!b->of[i].factor) continue;
        cg__unroll(w);
        ind__textf(&w->code, "for (int r = %d; r < %d; r++) acc[0][r] *= factor[r];\n", i * s->each, (i + 1) * s->each);
    }
}

static void cg__mm_packed_row_main_loop(ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_strip s = cg__mm_one_row_strip(p, &w->variant->of.tile);
    cg__mm_write_one_row_names(w, &s);
    cg__mm_write_packed_row_load(w, p, &s);
    ind__textf(&w->code, "load(first);\n");
    cg__mm_write_one_row_loads(w, p, &s);
    cg__mm_write_packed_row_factors(w, p, &s);
    cg__mm_write_one_row(w, p, &s);
    cg__mm_write_packed_row_products(w, p, &s);
    cg__mm_write_strip_sums(w, p, &s);
}

static const cg__mm_template cg__mm_one_packed_row = {.strategy = IND_STRATEGY_MATMUL_PACKED_ROW,
                                                      .match = cg__mm_packed_row_match,
                                                      MM_CONFIGS(cg__mm_rows_configs),
                                                      .num_for_tasks = 7,
                                                      .fit = cg__mm_packed_row_fit,
                                                      .allows = cg__mm_packed_row_allows,
                                                      .threads = cg__mm_rows_threads,
                                                      .tile_bytes = cg__mm_rows_bytes,
                                                      .cost = cg__mm_packed_row_cost,
                                                      .alone = true,
                                                      .alignment = 16,
                                                      .main_loop = cg__mm_packed_row_main_loop};
