/* Products of up to 64 rows with packed weights, one or two with weights of one format: b is a PACKED value, i8, or an
   8-bit float, perhaps times a scale of its group, with rows along k, perhaps times a factor of the column. Bulk copies
   by a tensor map, or cp.async, bring the bytes of 16 rows of b and a step of k to a ring of each warp. Tensor cores
   multiply what the warp dequantises in registers. The weights are not rounded to the operand's type: an integer times
   its group's scale, which is multiplied in f32. */

/* ---- the problem ---- */

/* Formats of elements of 8 bits that are not PACKED values. */
enum { MM_PACKED_I8 = IND__NUM_QUANTISED, MM_PACKED_F8E4M3FN, MM_PACKED_F8E5M2, MM_NUM_PACKED };

/* The type of a format in the prelude, the function that declares it, the elements of a step, registers of a thread for
   up to 8 rows, elements between rows of a (PAD), and whether elements have a lowest value (OFFSET or SUMS),
   and whether sums of 16 elements of a are stored (SUMS); see packed.cuh. Registers: NVRTC 13.0, sm_90a. */
static const struct {
    const char *type;
    int function, step, registers, pad;
    bool lowest, sums;
} cg__packed_formats[MM_NUM_PACKED] = {
    [IND__QUANTISED_Q8_0] = {"ind_packed_q8_0", IND__CG_PACKED_Q8_0, 256, 72, 16, false, false},
    [IND__QUANTISED_Q4_0] = {"ind_packed_q4<false, false>", IND__CG_PACKED_Q4, 256, 72, 16, false, false},
    [IND__QUANTISED_Q4_1] = {"ind_packed_q4<true, false>", IND__CG_PACKED_Q4, 256, 72, 16, true, false},
    [IND__QUANTISED_Q5_0] = {"ind_packed_q4<false, true>", IND__CG_PACKED_Q4, 256, 72, 16, false, false},
    [IND__QUANTISED_Q5_1] = {"ind_packed_q4<true, true>", IND__CG_PACKED_Q4, 256, 72, 16, true, false},
    [IND__QUANTISED_Q2_K] = {"ind_packed_q2_k", IND__CG_PACKED_Q2_K, 512, 80, 8, true, true},
    [IND__QUANTISED_Q3_K] = {"ind_packed_q3_k", IND__CG_PACKED_Q3_K, 256, 72, 8, false, false},
    [IND__QUANTISED_Q4_K] = {"ind_packed_q45_k<false>", IND__CG_PACKED_Q45_K, 256, 72, 16, true, true},
    [IND__QUANTISED_Q5_K] = {"ind_packed_q45_k<true>", IND__CG_PACKED_Q45_K, 256, 72, 16, true, true},
    [IND__QUANTISED_Q6_K] = {"ind_packed_q6_k", IND__CG_PACKED_Q6_K, 256, 80, 16, false, false},
    [IND__QUANTISED_IQ4_NL] = {"ind_packed_iq4_nl", IND__CG_PACKED_IQ4, 256, 72, 16, false, false},
    [IND__QUANTISED_IQ4_XS] = {"ind_packed_iq4_xs", IND__CG_PACKED_IQ4, 256, 72, 16, false, false},
    [IND__QUANTISED_INT4] = {"ind_packed_int4", IND__CG_PACKED_INT4, 256, 72, 32, false, false},
    [IND__QUANTISED_MXFP4] = {"ind_packed_mxfp4", IND__CG_PACKED_E2M1, 256, 80, 32, false, false},
    [IND__QUANTISED_NVFP4] = {"ind_packed_nvfp4", IND__CG_PACKED_NVFP4, 256, 96, 32, false, false},
    [MM_PACKED_I8] = {"ind_packed_i8", IND__CG_PACKED_I8, 256, 72, 32, false, false},
    [MM_PACKED_F8E4M3FN] = {"ind_packed_f8<false", IND__CG_PACKED_F8, 256, 80, 32, false, false},
    [MM_PACKED_F8E5M2] = {"ind_packed_f8<true", IND__CG_PACKED_F8, 256, 80, 32, false, false},
};

/* Elements of k in a step. */
static int cg__mm_packed_step(const cg__mm_packed *b) {
    return cg__packed_formats[b->format].step;
}

/* Bytes of a row in a step. */
static int cg__mm_packed_step_bytes(const cg__mm_packed *b) {
    return cg__mm_packed_step(b) / b->elements * b->bytes;
}

/* The largest power of two, up to 16, that divides x. */
static int cg__mm_packed_alignment(int x) {
    return x % 16 == 0 ? 16 : x % 8 == 0 ? 8 : x % 4 == 0 ? 4 : x % 2 == 0 ? 2 : 1;
}

/* Bytes from one row to the next in a ring; see ind_packed_slots. */
static int cg__mm_packed_slot(const cg__mm_packed *b) {
    const int bytes = cg__mm_packed_step_bytes(b), of_step = cg__mm_packed_alignment(bytes);
    const int alignment = of_step < b->alignment ? of_step : b->alignment;
    const int slot = b->elements == 1 ? 32 : 16, chunks = (bytes + 31 - alignment) / 16;
    return ((chunks * 16 + slot - 1) / slot | 1) * slot;
}

/* The same, but 0 if the LOAD is under a mask. */
static uint32_t cg__mm_plain_load(const ind__writer *w, uint32_t i) {
    i = cg__mm_converted_load(w, i);
    return i && !cg__inst(w, i)->arg[0] ? i : 0;
}

/* The format of elements of a type; 0: it is none of 8 bits. */
static int cg__mm_byte_format(ind_dtype t) {
    return t == IND_I8 ? MM_PACKED_I8 : t == IND_F8E4M3FN ? MM_PACKED_F8E4M3FN : t == IND_F8E5M2 ? MM_PACKED_F8E5M2 : 0;
}

/* The LOAD of i8 or 8-bit floats whose value i is: conversions to 16-bit floats are exact. 0: it is none. */
static uint32_t cg__mm_byte_load(const ind__writer *w, uint32_t i) {
    while (cg__inst(w, i)->op == IND_LOOP_ROUND_BF16 || cg__inst(w, i)->op == IND_LOOP_ROUND_F16)
        i = cg__inst(w, i)->arg[0];
    i = cg__mm_plain_load(w, i);
    return i && cg__mm_byte_format(cg__memory_dtype(w, i)) ? i : 0;
}

/* Steps over products with a factor that is the same along k; *factor: 0: none. */
static uint32_t cg__mm_without_factor(const ind__writer *w, const cg__mm_problem *p, uint32_t i, uint32_t *factor) {
    *factor = 0;
    if (cg__inst(w, i)->op != IND_LOOP_MUL || p->k < 0) return i;
    for (int side = 0; side < 2; side++) {
        if (w->plan->varies[cg__inst(w, i)->arg[side]] >> p->k & 1) continue;
        *factor = cg__inst(w, i)->arg[side];
        return cg__inst(w, i)->arg[!side];
    }
    return i;
}

/* The index of a LOAD as row(..) + k / elements * each: *row is its value at k = 0. False: it has another form. */
static bool cg__mm_packed_row(const ind__writer *w, const cg__mm_problem *p, uint32_t load, int elements, int each,
                              ind_expr *row) {
    const ind_expr k = w->plan->domain.var[p->k], of_k = ind_expr_mul(k, ind_int(w->context, elements));
    const ind_expr index = cg__index_of(w, load), blocks = ind_expr_floordiv(k, ind_int(w->context, elements));
    ind_expr step;
    if (ind__expr_has_kind(index, IND_SYMBOL_INDIRECT)) return false;
    if (!ind__affine(ind__substitute(index, &k, &of_k, 1), k, &step, row)) return false;
    const ind_expr each_block = ind_int(w->context, each);
    /* k may begin inside a block, of a slice: then the index is another one between multiples of `elements`. */
    return ind_known_eq(step, each_block) && ind_known_eq(index, ind_expr_add(*row, ind_expr_mul(blocks, each_block)));
}

/* True if e depends on no variable but n, if that is allowed. */
static bool cg__mm_depends_on_n(const ind__writer *w, const cg__mm_problem *p, ind_expr e, bool allowed) {
    const ind__loops *x = &w->plan->domain;
    for (int v = 0; v < x->rank + x->rrank; v++)
        if (ind__expr_depends(e, x->var[v]) && !(allowed && v == p->n)) return false;
    return true;
}

/* The same index as row(n) + .., whose row is linear: its stride along n and its value at 0. */
static bool cg__mm_packed_index(const ind__writer *w, const cg__mm_problem *p, uint32_t load, int elements, int each,
                                ind_expr *stride, ind_expr *offset) {
    ind_expr row;
    if (!cg__mm_packed_row(w, p, load, elements, each, &row)) return false;
    return ind__affine(row, w->plan->domain.var[p->n], stride, offset) && cg__mm_depends_on_n(w, p, *offset, false);
}

/* The map of the bytes, as 16-bit words: along k, then the rows. */
static const char *cg__mm_packed_map(const ind__writer *w, const cg__mm_problem *p, const cg__mm_packed *b,
                                     ind_expr stride, ind_expr offset, ind__tensor_map *map) {
    const ind_expr two = ind_int(w->context, 2);
    ind_expr row;
    row = ind_expr_mul(ind_expr_floordiv(p->size_k, ind_int(w->context, b->elements)), ind_int(w->context, b->bytes));
    *map = (ind__tensor_map){.dtype = IND_F16, .offset = ind_expr_floordiv(offset, two)};
    const char *no = cg__is_declared(offset) ? NULL : "the offset of the packed weights depends on data";
    if (!no) no = cg__mm_add_dim(map, ind_expr_floordiv(row, two), ind_int(w->context, 1), cg__mm_packed_slot(b) / 2);
    if (!no) no = cg__mm_add_dim(map, p->size_n, ind_expr_floordiv(stride, two), 16);
    return no;
}

/* Finds the rows of bytes, and how they are copied: by a tensor map, if the variant assumes maps and rows are aligned
   to 16 bytes, else by cp.async. Lanes read words of 4 bytes, unless a step has an odd number of halves. */
static const char *cg__mm_find_packed_bytes(const cg__decider *d, const cg__mm_problem *p, cg__mm_packed *b) {
    ind_expr stride, offset;
    if (!cg__mm_packed_index(&d->w, p, b->of[0].load, b->elements, b->bytes, &stride, &offset))
        return "the packed weights are no rows of blocks along k";
    b->alignment = 16;
    while (b->alignment > 1 && !(ind_known_multiple(stride, b->alignment) && ind_known_multiple(offset, b->alignment)))
        b->alignment /= 2;
    if (b->alignment < 4 && b->alignment < cg__mm_packed_alignment(cg__mm_packed_step_bytes(b)))
        return "the rows of packed weights are not aligned to 4 bytes";
    b->mapped = d->w.target->sm >= 90 && d->assume & IND__ASSUME_MAPS && b->alignment == 16 &&
                !cg__mm_packed_map(&d->w, p, b, stride, offset, &b->of[0].map);
    return b->mapped || d->assume & IND__ASSUME_ALIGNED ? NULL : "the packed weights may be misaligned";
}

/* Checks a tensor of scales or zero points: one element per group, in rows along k. */
static bool cg__mm_packed_beside(const ind__writer *w, const cg__mm_problem *p, const cg__mm_packed *b, uint32_t load,
                                 int64_t bytes) {
    ind_expr stride, offset;
    if (!load || !cg__mm_packed_index(w, p, load, b->group, 1, &stride, &offset)) return false;
    return ind_known_multiple(stride, bytes) && ind_known_multiple(offset, bytes);
}

/* True if the element of k is number k % elements of its block: not in a row in reverse order, for example. */
static bool cg__mm_packed_in_order(const ind__writer *w, const cg__mm_problem *p, uint32_t number, int elements) {
    const ind_expr element = ind_expr_mod(w->plan->domain.var[p->k], ind_int(w->context, elements));
    return cg__inst(w, number)->op == IND_LOOP_INDEX ? ind_known_eq(cg__index_of(w, number), element) : elements == 1;
}

/* Finds the LOADs of a PACKED value. */
static const char *cg__mm_packed_value(const ind__writer *w, const cg__mm_problem *p, uint32_t i, cg__mm_packed *b) {
    static const struct {
        int elements, bytes;
        bool scaled;
    } block[] = {
#define X(name, text, elements, bytes, scaled) {elements, bytes, scaled},
        IND__QUANTISED_FORMATS(X)
#undef X
    };
    const ind__inst *inst = cg__inst(w, i);
    b->format = (int)(inst->imm.i & 255);
    b->group = (int)(inst->imm.i >> 8);
    b->elements = block[b->format].elements;
    b->bytes = block[b->format].bytes;
    b->of[0].load = cg__mm_plain_load(w, inst->arg[1]);
    if (!b->of[0].load || cg__memory_dtype(w, b->of[0].load) != IND_U8) return "the bytes of the weights are computed";
    if (!cg__packed_formats[b->format].type) return "the format has no blocks";
    if (!block[b->format].scaled)
        return cg__mm_packed_in_order(w, p, inst->arg[2], b->elements) ? NULL
                                                                       : "the weights of a block are in another order";
    b->of[0].scale = cg__mm_plain_load(w, inst->arg[2]);
    b->of[0].zero = inst->arg[3] ? cg__mm_plain_load(w, inst->arg[3]) : 0;
    const int64_t groups = cg__packed_formats[b->format].step / b->group;
    if (!cg__mm_packed_beside(w, p, b, b->of[0].scale, 1)) return "the scales are no rows along k";
    if (inst->arg[3] &&
        (!cg__mm_packed_beside(w, p, b, b->of[0].zero, 1) || ind_dtype_bytes(cg__memory_dtype(w, b->of[0].zero)) > 1))
        return "the zero points are no rows of 8-bit integers along k";
    b->together = cg__mm_packed_beside(w, p, b, b->of[0].scale, groups) &&
                  (!b->of[0].zero || cg__mm_packed_beside(w, p, b, b->of[0].zero, groups));
    return NULL;
}

/* Elements of k with one scale, which is a LOAD: the largest group; 0: the LOAD is no such scale. */
static int cg__mm_scale_group(ind__writer *w, const cg__mm_problem *p, uint32_t scale) {
    ind_expr row;
    const ind_dtype t = cg__memory_dtype(w, scale);
    if (t != IND_F32 && t != IND_F16 && t != IND_BF16) return 0;
    for (int group = 256; group >= 16; group /= 2)
        if (cg__mm_packed_row(w, p, scale, group, 1, &row) && cg__mm_depends_on_n(w, p, row, true) &&
            cg__mm_is_same_in_blocks(w, scale, p->k, group))
            return group;
    return 0;
}

/* Steps over the product of an 8-bit float with a scale of its group, and sets b->of[0].scale. */
static uint32_t cg__mm_without_group_scale(ind__writer *w, const cg__mm_problem *p, uint32_t i, cg__mm_packed *b) {
    const ind__inst *product = cg__inst(w, i);
    if (product->op != IND_LOOP_MUL) return i;
    for (int side = 0; side < 2; side++) {
        const uint32_t load = cg__mm_byte_load(w, product->arg[side]),
                       scale = cg__mm_plain_load(w, product->arg[!side]);
        if (!load || !cg__is_f8(cg__memory_dtype(w, load)) || !scale) continue;
        const int group = cg__mm_scale_group(w, p, scale);
        if (!group) continue;
        b->group = group;
        b->of[0].scale = scale;
        return product->arg[side];
    }
    return i;
}

/* Finds the LOADs of i8 or an 8-bit float. */
static const char *cg__mm_packed_element(ind__writer *w, const cg__mm_problem *p, uint32_t i, cg__mm_packed *b) {
    b->of[0].load = cg__mm_byte_load(w, cg__mm_without_group_scale(w, p, i, b));
    if (!b->of[0].load) return "its weights are not packed";
    b->format = cg__mm_byte_format(cg__memory_dtype(w, b->of[0].load));
    if (!b->of[0].scale) b->group = cg__packed_formats[b->format].step;
    return NULL;
}

/* Shared memory of a block that is left for sums and counters of the epilogue. */
enum { MM_PACKED_EPILOGUE = 3 << 10 };

/* Finds out if the right operand is packed weights that the target can take; the reason if not. */
static const char *cg__mm_match_packed(cg__decider *d, const cg__mm_problem *p, const cg__mm_operand *o,
                                       cg__mm_packed *b) {
    ind__writer *w = &d->w;
    const ind_thresholds *t = &d->w.target->thresholds;
    const char *no = NULL;
    *b = (cg__mm_packed){.format = MM_PACKED_I8, .group = 1, .elements = 1, .bytes = 1};
    if (p->tensor_bytes != 2 || !o->computed || p->k < 0 || p->n < 0) return "its weights are not packed";
    const uint32_t i = cg__mm_without_factor(w, p, o->value, &b->of[0].factor);
    if (cg__inst(w, i)->op == IND_LOOP_PACKED) {
        b->unpacks = t->unpack_instructions;
        no = cg__mm_packed_value(w, p, i, b);
    } else {
        no = cg__mm_packed_element(w, p, i, b);
        if (b->of[0].load) b->unpacks = t->computed_instructions;
    }
    return no ? no : cg__mm_find_packed_bytes(d, p, b);
}

/* True if both LOADs are none, or of elements of one type. */
static bool cg__mm_same_type(const ind__writer *w, uint32_t x, uint32_t y) {
    return !x == !y && (!x || cg__memory_dtype(w, x) == cg__memory_dtype(w, y));
}

/* Adds the weights of a second product: warps of one block dequantise both. Returns the reason if they cannot. */
static const char *cg__mm_add_packed(cg__decider *d, const cg__mm_problem *p, cg__mm_packed *b) {
    cg__mm_packed second;
    const char *no = cg__mm_match_packed(d, p, &p->b2, &second);
    if (no) return no;
    const cg__mm_weights *x = &b->of[0], *y = &second.of[0];
    const bool same = b->format == second.format && b->group == second.group &&
                      cg__mm_same_type(&d->w, x->scale, y->scale) && cg__mm_same_type(&d->w, x->zero, y->zero);
    if (!same) return "the weights of its two products have different formats";
    b->of[1] = *y;
    b->together &= second.together;
    b->mapped &= second.mapped;
    if (second.alignment < b->alignment) b->alignment = second.alignment;
    return NULL;
}

static void cg__mm_find_packed(cg__decider *d, cg__mm_problem *p) {
    cg__mm_packed *b = (cg__mm_packed *)ind__arena_alloc(d->w.arena, sizeof *b);
    if (!b) {
        cg__fail(&d->w);
        return;
    }
    b->no = cg__mm_match_packed(d, p, &p->b, b);
    if (!b->no && p->dot2) b->no = cg__mm_add_packed(d, p, b);
    b->shared = d->w.target->shared_per_block - MM_PACKED_EPILOGUE;
    p->packed = b;
}

/* ---- decisions ---- */

/* Rows along n (warps_n x 16), warps along k in warps_m. `fit` sets rows and registers. Three stages are for formats of
   8 bits and more: with more copies in flight at first, smaller ones take longer (14336 x 4096, H100, two and three
   stages: q4_0 15.4 and 16.2 us, fp8, 4 rows, 24.9 and 24.1 us). */
static const cg__mm_config cg__mm_packed_configs[] = {
    {1, 112, 8, 4, 7, 3, 0, 1, 0, 0, 0}, {1, 112, 8, 2, 7, 3, 0, 1, 0, 0, 0}, {1, 112, 8, 4, 7, 2, 0, 1, 0, 0, 0},
    {1, 112, 8, 3, 7, 2, 0, 1, 0, 0, 0}, {1, 112, 8, 2, 7, 2, 0, 1, 0, 0, 0}, {1, 128, 8, 4, 8, 2, 0, 1, 0, 0, 0},
    {1, 128, 8, 2, 8, 3, 0, 1, 0, 0, 0}, {1, 128, 8, 2, 8, 2, 0, 1, 0, 0, 0}, {1, 64, 8, 4, 4, 2, 0, 1, 0, 0, 0},
    {1, 64, 8, 2, 4, 2, 0, 1, 0, 0, 0},  {1, 32, 8, 8, 2, 2, 0, 1, 0, 0, 0},  {1, 112, 8, 1, 7, 2, 0, 1, 0, 0, 0},
    {1, 128, 8, 1, 8, 2, 0, 1, 0, 0, 0}, {1, 64, 8, 1, 4, 2, 0, 1, 0, 0, 0},  {1, 32, 8, 4, 2, 2, 0, 1, 0, 0, 0},
    {1, 48, 8, 8, 3, 2, 0, 1, 0, 0, 0},  {1, 16, 8, 8, 1, 2, 0, 1, 0, 0, 0},  {1, 32, 8, 2, 2, 2, 0, 1, 0, 0, 0},
    {1, 16, 8, 4, 1, 2, 0, 1, 0, 0, 0},  {1, 16, 8, 2, 1, 2, 0, 1, 0, 0, 0},
};

/* The reason if a warp cannot take whole steps of scales. */
static const char *cg__mm_packed_no_steps(const cg__mm_problem *p) {
    const cg__mm_packed *b = p->packed;
    if (b->no || !b->of[0].scale) return NULL;
    if (!ind_known_multiple(p->size_k, cg__mm_packed_step(b))) return "its depth is no multiple of 256";
    const bool vectors = b->format == IND__QUANTISED_MXFP4 || b->format == IND__QUANTISED_NVFP4;
    return vectors && !b->together ? "the scales of a step are not aligned to their bytes" : NULL;
}

/* The reason if a ring of packed weights cannot take the product. */
static const char *cg__mm_no_ring(const cg__mm_problem *p) {
    int64_t k, batch;
    const char *no = cg__mm_packed_no_steps(p);
    if (p->packed->no) return p->packed->no;
    if (no) return no;
    if (!ind_expr_is_int(p->size_k, &k) || k % 8) return "its depth is not a constant multiple of 8";
    if (!ind_expr_is_int(p->batch, &batch) || batch != 1) return "it has batches";
    return p->a.computed && !p->a.statistics ? "a is computed as it is loaded" : NULL;
}

static const char *cg__mm_packed_match(const cg__mm_problem *p, const ind_target *t) {
    (void)t;
    if (!p->packed->no && !p->few_rows) return "it may have more than 64 rows";
    return cg__mm_no_ring(p);
}

static int cg__mm_packed_threads(const cg__mm_config *c) {
    return 32 * c->warps_m * c->warps_n;
}

/* The rings, and the mbarriers of bulk copies; a multiple of 16 bytes. */
static int64_t cg__mm_packed_ring(const cg__mm_problem *p, int warps, int stages) {
    const int64_t num = (int64_t)warps * stages;
    return num * cg__mm_packed_slot(p->packed) * 16 + (p->packed->mapped ? (num * 8 + 15) / 16 * 16 : 0);
}

/* Bytes of a row of a in shared memory, of so many elements of k, and of its sums. */
static int64_t cg__mm_packed_row_bytes(const cg__mm_packed *b, int64_t depth) {
    return 2 * (depth + cg__packed_formats[b->format].pad) +
           (cg__packed_formats[b->format].sums ? 3 * 2 * (depth / 16 + 16) : 0);
}

/* Elements of k of which a is in shared memory: all, or as many steps of all warps as fit. */
static int64_t cg__mm_packed_depth(const cg__mm_problem *p, int rows, int warps_m, int warps_n, int stages) {
    const int64_t step = cg__mm_packed_step(p->packed),
                  left = p->packed->shared - cg__mm_packed_ring(p, warps_m * warps_n, stages);
    int64_t k = 0;
    (void)ind_expr_is_int(p->size_k, &k);
    const int64_t all = (k + step - 1) / step * step, round = step * warps_m;
    const int64_t begin = cg__mm_packed_row_bytes(p->packed, 0), each = cg__mm_packed_row_bytes(p->packed, 16) - begin;
    const int64_t fits = (left / rows - begin) * 16 / each / round * round;
    return fits < all ? (fits < 0 ? 0 : fits) : all;
}

static int64_t cg__mm_packed_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    const int64_t ring = cg__mm_packed_ring(p, c->warps_m * c->warps_n, c->stages);
    const int64_t depth = cg__mm_packed_depth(p, c->tile_m, c->warps_m, c->warps_n, c->stages);
    const int64_t main = ring + c->tile_m * cg__mm_packed_row_bytes(p->packed, depth),
                  parts = (int64_t)4 * c->warps_m * c->tile_m * c->tile_n;
    const int64_t sums = parts + (int64_t)4 * c->tile_m * (c->tile_n + 8);
    return main > sums ? main : sums;
}

/* True for int4 with 8 scales per step: with those of the next step a thread has 32 of them, and 32 zero points. */
static bool cg__mm_packed_has_many(const cg__mm_packed *b) {
    return b->format == IND__QUANTISED_INT4 && cg__mm_packed_step(b) / b->group >= 8;
}

/* The most rows of a tile: more would spill. With cp.async, also those of blocks of 32 elements: their rows are less
   aligned. */
static int cg__mm_packed_most_rows(const cg__mm_packed *b) {
    const bool lowest = cg__packed_formats[b->format].lowest, of_32 = b->elements == 32;
    const bool spills =
        cg__mm_packed_has_many(b) || b->format == IND__QUANTISED_MXFP4 || b->format == IND__QUANTISED_IQ4_XS || of_32;
    if (b->mapped) return lowest ? 32 : 64;
    return lowest && of_32 ? 16 : lowest || spills ? 32 : 64;
}

/* Registers of a thread. With cp.async: NVRTC 13.0, sm_80, sm_86, sm_89. */
static int cg__mm_packed_registers(const cg__mm_packed *b, int rows) {
    const int more = !b->mapped ? 16 : cg__mm_packed_has_many(b) ? 8 : 0;
    const int few = cg__packed_formats[b->format].registers + more;
    const int sixteen = !b->mapped ? 168 : cg__packed_formats[b->format].lowest ? 136 : 128;
    const int registers = rows > 32 ? 255 : rows > 16 ? 168 : rows > 8 ? sixteen : few;
    if (b->mapped || !b->of[0].zero || !cg__mm_packed_has_many(b)) return registers;
    return rows > 16 ? 255 : 168;
}

static void cg__mm_packed_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth;
    (void)index_bits;
    c->tile_k = cg__mm_packed_step(p->packed);
    const int most = cg__mm_packed_most_rows(p->packed);
    c->tile_m = p->few_rows < most ? p->few_rows : most;
    c->registers = cg__mm_packed_registers(p->packed, c->tile_m);
}

static bool cg__mm_packed_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    const bool fits = cg__mm_packed_depth(p, c->tile_m, c->warps_m, c->warps_n, c->stages) > 0;
    if (p->dot2 && c->warps_n % 2) return false; /* half of the warps for each product */
    if (c->stages > 2 && c->warps_n == 7 && p->packed->bytes < p->packed->elements) return false;
    return fits && cg__mm_packed_threads(c) * c->registers <= 65536 && cg__mm_packed_threads(c) <= 1024;
}

/* Cycles in which tensor cores multiply so many weights by tiles of 8 rows. */
static double cg__mm_packed_tensor_cost(double elements, double tiles, const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    const double per_ns = target->tensor_flops_per_ns / 2.0 * t->packed_mma_percent / 100;
    return elements * 8 * tiles / (per_ns * 100 / t->product_clock / target->num_sms);
}

/* Estimated cycles: those of the busiest SM. It reads b at its share of the memory's rate, dequantises it, or
   multiplies it; then a, which every block copies to shared memory. */
static double cg__mm_packed_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                 const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    const double n = (double)ind_hint(p->size_n) * cg__mm_products(p), k = (double)ind_hint(p->size_k);
    const double rows = ceil(cg__mm_hinted_rows(p) / c->tile_m);
    const double per_sm = ceil(rows * ceil(n / c->tile_n) / target->num_sms), fit = cg__mm_occupancy(x, p, c, target);
    const double together = per_sm < fit ? per_sm : fit, warps = together * cg__mm_packed_threads(c) / 32;
    const double elements = per_sm * c->tile_n * k, tiles = c->tile_m > 8 ? c->tile_m / 8 : 1;
    const double bytes = elements * p->packed->bytes / p->packed->elements;
    const double read = bytes / cg__mm_memory_rate(target);
    const double issue = elements * (t->packed_instructions + 4 * (tiles - 1)) / 8 / 128;
    const double busy = warps < t->packed_warps ? warps / t->packed_warps : 1;
    const double copies = per_sm * c->tile_m * k * 2 / t->product_l2_rate + cg__mm_row_cost(p, c, per_sm, t);
    const double dequantise = issue / busy, multiply = cg__mm_packed_tensor_cost(elements, tiles, target);
    const double work = dequantise > multiply ? dequantise : multiply;
    const double start = cg__mm_start_cost(p, t) + t->packed_start * (1 + p->a.statistics / 2.0);
    return (read > work ? read : work) + copies + start * ceil(per_sm / fit);
}

/* ---- writing ---- */

/* The scale's type in the prelude: 4 f32, 2 f16, 1 bf16, 0: there is none in another tensor. */
static int cg__mm_packed_scale(const ind__writer *w, const cg__mm_packed *b) {
    const ind_dtype dtype = b->of[0].scale ? cg__memory_dtype(w, b->of[0].scale) : IND_DTYPE_NONE;
    return dtype == IND_F32 ? 4 : dtype == IND_F16 ? 2 : dtype == IND_BF16 ? 1 : 0;
}

/* The type of zero points. */
static const char *cg__mm_packed_zero(const ind__writer *w, const cg__mm_packed *b) {
    return b->of[0].zero ? cg__types[cg__memory_dtype(w, b->of[0].zero)].memory : "int";
}

/* The type of the format in the prelude. */
static const char *cg__mm_packed_type(ind__writer *w, const cg__mm_packed *b) {
    const char *type = cg__packed_formats[b->format].type;
    const bool floats = b->format == MM_PACKED_F8E4M3FN || b->format == MM_PACKED_F8E5M2;
    if (floats) return cg__string(w, "%s, %d, %d>", type, cg__mm_packed_scale(w, b), b->group);
    if (b->format != IND__QUANTISED_INT4) return type;
    return cg__string(w, "%s<%d, %d, %s, %s>", type, cg__mm_packed_scale(w, b), b->group, cg__mm_packed_zero(w, b),
                      b->together ? "true" : "false");
}

/* The address of the element of a LOAD as bytes. */
static const char *cg__mm_byte_address(ind__writer *w, uint32_t load) {
    return cg__string(w, "reinterpret_cast<const unsigned char *>(&%s)", cg__element(w, load));
}

/* The same of the product whose columns the warp computes. */
static const char *cg__mm_packed_address(ind__writer *w, uint32_t load, uint32_t of_second) {
    const char *first = cg__mm_byte_address(w, load);
    return of_second ? cg__string(w, "second ? %s : %s", cg__mm_byte_address(w, of_second), first) : first;
}

/* One tensor of scales or zero points: its row as bytes. */
static void cg__mm_write_beside_row(ind__writer *w, const char *name, uint32_t load, uint32_t of_second) {
    ind__textf(&w->code, "%s = %s;\n", name, load ? cg__mm_packed_address(w, load, of_second) : "nullptr");
}

static void cg__mm_write_beside(ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_weights *of = p->packed->of;
    if (!of[0].scale) return;
    cg__mm_set_plain_names(w);
    ind__textf(&w->code,
               "product.beside((int)steps, (int)size_n, [&](int i%d, const unsigned char *&scales, const unsigned char "
               "*&zeros) {\n",
               p->n);
    w->code.indent++;
    w->scope++;
    cg__mm_set_text(w, p->k, "0");
    cg__mm_write_beside_row(w, "scales", of[0].scale, of[1].scale);
    cg__mm_write_beside_row(w, "zeros", of[0].zero, of[1].zero);
    cg__forget(w);
    w->scope--;
    w->code.indent--;
    ind__textf(&w->code, "});\n");
}

/* True if a is a LOAD of whole vectors, which shared memory has as they are. */
static bool cg__mm_is_plain_vector(const ind__writer *w, const cg__mm_problem *p) {
    return !p->a.computed && p->a.k_major && cg__mm_in_vectors(w, p, &p->a, p->a.load) &&
           cg__memory_dtype(w, p->a.load) == p->a.memory;
}

/* Chunks of 8 elements of a that a thread loads before it stores the first: at most 16, as many as its registers hold
   beside 48 for other values. Iterations have equal numbers of them. */
static int cg__mm_packed_flight(ind__writer *w, const cg__mm_problem *p, int64_t chunks) {
    const int64_t each = (chunks + w->variant->threads - 1) / w->variant->threads;
    const int registers = cg__mm_row_vector_bytes(w, p) / 4,
              left = cg__mm_packed_registers(p->packed, w->variant->of.tile.m) - 48;
    const int most = registers ? left / registers : 4;
    const int64_t fits = most < 1 ? 1 : most < 16 ? most : 16, iterations = (each + fits - 1) / fits;
    return (int)((each + iterations - 1) / iterations);
}

/* A loop over the chunks of an iteration; open afterwards. Chunk `at` is elements r0 to r0 + 7 of row x. Chunks after
   the last one have no row. */
static void cg__mm_begin_packed_chunk(ind__writer *w, const cg__mm_problem *p, int64_t depth, int flight) {
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", flight);
    ind__textf(&w->code,
               "const int at = first + u * %d + (int)threadIdx.x, x = at / %lld, col = at %% %lld * 8, r0 = begin * %d "
               "+ col;\n",
               w->variant->threads, (long long)(depth / 8), (long long)(depth / 8), cg__mm_packed_step(p->packed));
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m + x;\n", cg__int(w), p->m);
}

/* Stages of weights whose copies start before the wait for the previous launch. Without that wait, all start after the
   first loads of a, which they would delay. (q4_0, 1 x 14336 x 4096, H100: 15.4 us with one stage before a, 17.3 us
   with two.) */
static int cg__mm_packed_early(const ind__writer *w) {
    return w->variant->dependent && w->variant->of.tile.early ? w->variant->of.tile.stages - 1 : 0;
}

/* The rows of a, from `begin` on, for as many elements of k as are in shared memory. After the first loads, the copies
   of the other stages of weights start. */
static void cg__mm_write_packed_rows(ind__writer *w, const cg__mm_problem *p, int64_t depth, const char *from) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int64_t chunks = t->m * depth / 8, stride = depth + cg__packed_formats[p->packed->format].pad;
    const int flight = cg__mm_packed_flight(w, p, chunks);
    const bool plain = cg__mm_is_plain_vector(w, p);
    cg__mm_set_plain_names(w);
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int first = 0; first < %lld; first += %d)", (long long)chunks, flight * w->variant->threads);
    if (cg__mm_declare_row_vectors(w, p, flight)) {
        cg__mm_begin_packed_chunk(w, p, depth, flight);
        cg__begin(w, "if (first_m + x < size_m && r0 < size_k)");
        cg__mm_load_row_vectors(w, p);
        cg__end(w);
        cg__end(w);
    }
    ind__textf(&w->code, "if (begin == 0 && first == 0) product.copy_ahead<%d, %d>(%s, (int)steps);\n",
               cg__mm_packed_early(w), t->stages, from);
    cg__mm_begin_packed_chunk(w, p, depth, flight);
    if (plain) {
        ind__textf(&w->code, "const ind_vec<unsigned short, 8> &made = x%u[u];\n", p->a.load);
    } else {
        ind__textf(&w->code, "ind_vec<unsigned short, 8> made = {};\n");
        cg__begin(w, "if (first_m + x < size_m && r0 < size_k)");
        cg__mm_write_chunk_elements(w, p, "[u]");
        cg__end(w);
    }
    ind__textf(&w->code, "if (at < %lld) ind_store(row_a + x * %lld + col, ind_packed_order<%s>(made));\n",
               (long long)chunks, (long long)stride, cg__mm_packed_type(w, p->packed));
    cg__end(w);
    cg__end(w);
}

/* Multiplies the sum `total` of element `at` of the tile by the factor of its column, if that is of product number i.
 */
static void cg__mm_write_packed_factor(ind__writer *w, const cg__mm_problem *p, int i) {
    const int cols = cg__mm_columns(w->variant);
    const uint32_t factor = p->packed->of[i].factor;
    if (!factor) return;
    cg__mm_set_plain_names(w);
    if (p->dot2) cg__begin(w, "if (at / %d %% 2 == %d)", cols, i);
    ind__textf(&w->code, "const %s i%d = first_n + at %% %d;\n", cg__int(w), p->n, cols);
    cg__begin(w, "if (i%d < size_n)", p->n);
    cg__need_none(w);
    cg__need(w, factor);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "total *= ");
    cg__value(w, factor);
    ind__textf(&w->code, ";\n");
    cg__end(w);
    if (p->dot2) cg__end(w);
}

/* The sums of the warps that share k, times the factor of the column. */
static void cg__mm_write_packed_sums(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    ind__textf(&w->code, "float *const part = reinterpret_cast<float *>(ind_smem), *const sum = part + %d;\n",
               t->warps_m * t->m * t->n);
    ind__textf(&w->code, "product.finish(part);\n");
    cg__begin(w, "for (int at = threadIdx.x; at < %d; at += %d)", t->m * t->n, w->variant->threads);
    ind__textf(&w->code, "float total = part[at];\n");
    cg__unroll(w);
    ind__textf(&w->code, "for (int k = 1; k < %d; k++) total += part[k * %d + at];\n", t->warps_m, t->m * t->n);
    cg__mm_write_packed_factor(w, p, 0);
    cg__mm_write_packed_factor(w, p, 1);
    ind__textf(&w->code, "sum[ind_sum_at<%d>(at / %d, at %% %d)] = total;\n", t->n, t->n, t->n);
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, IND__CG_SUM_TILE);
}

/* Declares where the warp's weights are, as `from`: a tensor map, or a function that returns the address of a row. Of
   two products, the first half of the warps computes columns of the first one. */
static void cg__mm_write_packed_from(ind__writer *w, const cg__mm_problem *p, const char *from) {
    const cg__mm_packed *b = p->packed;
    if (p->dot2) ind__textf(&w->code, "const bool second = threadIdx.x >= %d;\n", w->variant->threads / 2);
    if (b->mapped) {
        if (p->dot2) ind__textf(&w->code, "const ind_tensor_map &%s = second ? map_c : map_b;\n", from);
        return;
    }
    cg__mm_set_plain_names(w);
    w->scope++;
    cg__mm_set_text(w, p->k, "0");
    ind__textf(&w->code, "const auto %s = [&](int i%d) { return %s; };\n", from, p->n,
               cg__mm_packed_address(w, b->of[0].load, b->of[1].load));
    cg__forget(w);
    w->scope--;
}

/* Declares the sums. */
static void cg__mm_write_packed_product(ind__writer *w, const cg__mm_problem *p, const char *from) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const cg__mm_packed *b = p->packed;
    int64_t k = 0;
    (void)ind_expr_is_int(p->size_k, &k);
    cg__mm_write_packed_from(w, p, from);
    ind__textf(&w->code, "ind_packed_product<%s, %s, %d, %d, %d, %d, %s> product;\n", cg__mm_packed_type(w, b),
               p->a.memory == IND_BF16 ? "true" : "false", t->m, t->warps_n, t->warps_m, t->stages,
               b->mapped ? "ind_packed_maps"
                         : cg__string(w, "ind_packed_copies<%d, %lld>", b->alignment,
                                      (long long)(k / b->elements * b->bytes)));
    const char *first = p->dot2 ? cg__string(w, " - (second ? %d : 0)", cg__mm_columns(w->variant)) : "";
    ind__textf(&w->code, "product.start<%d>(%s, ind_smem, (int)first_n%s, (int)steps, (int)size_n);\n",
               cg__mm_packed_early(w), from, first);
}

static void cg__mm_packed_main_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const char *from = p->packed->mapped && !p->dot2 ? "map_b" : "weights";
    const int64_t step = cg__mm_packed_step(p->packed);
    const int64_t depth = cg__mm_packed_depth(p, t->m, t->warps_m, t->warps_n, t->stages);
    ind__textf(&w->code, "unsigned short *const row_a = reinterpret_cast<unsigned short *>(ind_smem + %lld);\n",
               (long long)cg__mm_packed_ring(p, t->warps_m * t->warps_n, t->stages));
    cg__mm_write_packed_product(w, p, from);
    cg__mm_write_wait(w);
    cg__mm_write_beside(w, p);
    cg__mm_write_statistics(w, p);
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int begin = 0; begin < steps; begin += %lld)", (long long)(depth / step));
    ind__textf(&w->code, "if (begin) __syncthreads();\n");
    cg__mm_write_packed_rows(w, p, depth, from);
    ind__textf(&w->code, "__syncthreads();\n");
    ind__textf(&w->code, "const int end = begin + %lld < steps ? begin + %lld : (int)steps;\n",
               (long long)(depth / step), (long long)(depth / step));
    ind__textf(&w->code, "product.run(%s, begin, end, (int)steps, row_a, %lld);\n", from,
               (long long)(depth + cg__packed_formats[p->packed->format].pad));
    cg__end(w);
    cg__mm_write_packed_sums(w, p);
    cg__use(w, p->packed->mapped ? IND__CG_PACKED_MAPS : IND__CG_PACKED_COPIES);
    cg__use(w, cg__packed_formats[p->packed->format].function);
}

static const cg__mm_template cg__mm_packed_rows = {.strategy = IND_STRATEGY_MATMUL_PACKED,
                                                   .match = cg__mm_packed_match,
                                                   MM_CONFIGS(cg__mm_packed_configs),
                                                   .fit = cg__mm_packed_fit,
                                                   .allows = cg__mm_packed_allows,
                                                   .threads = cg__mm_packed_threads,
                                                   .tile_bytes = cg__mm_packed_bytes,
                                                   .cost = cg__mm_packed_cost,
                                                   .alone = true,
                                                   .alignment = 128,
                                                   .main_loop = cg__mm_packed_main_loop};
