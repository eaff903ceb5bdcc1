/* Products on tensor cores with mma.sync, and the pipeline that wgmma shares. */

/* The loop over the steps of k. A step is multiplied from `stage`; the copies of the step `ahead` steps later go to
   `into`. Both are counted up and reset: a remainder would be slower. */
static void cg__mm_begin_stages(ind__writer *w, int ahead) {
    ind__textf(&w->code, "int stage = 0, into = %d;\n#pragma unroll 1\n", ahead);
    cg__begin(w, "for (%s step = 0; step < steps; step++)", cg__int(w));
}

static void cg__mm_end_stages(ind__writer *w) {
    int last = w->variant->of.tile.stages - 1;
    ind__textf(&w->code, "stage = stage == %d ? 0 : stage + 1;\ninto = into == %d ? 0 : into + 1;\n", last, last);
    cg__end(w);
}

/* Returns the offset of the tile of `stage`. A computed or misaligned operand has a single tile, written when it is
   needed. */
static const char *cg__mm_stage_of(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, int tile_x) {
    return cg__mm_is_made(o) ? "" : cg__string(w, " + stage * %d", cg__mm_units(p, tile_x * w->variant->of.tile.k));
}

/* The class of the instruction: its first template arguments tell the types of the operands. */
static const char *cg__mm_instruction(ind__writer *w, const cg__mm_problem *p) {
    if (p->tensor_bytes == 4) return "ind_mma_words";
    if (p->tensor_bytes == 2) return cg__string(w, "ind_mma_halves<%s>", p->a.memory == IND_BF16 ? "true" : "false");
    return cg__string(w, "ind_mma_bytes<%s, %s>", p->a.memory == IND_F8E5M2 ? "true" : "false",
                      p->b.memory == IND_F8E5M2 ? "true" : "false");
}

/* Multiplies the tiles of a stage. */
static void cg__mm_write_mma_tile(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *a = cg__mm_stage_of(w, p, &p->a, tile->m), *b = cg__mm_stage_of(w, p, &p->b, tile->n);
    const int mi = tile->m / tile->warps_m / 16, ni = tile->n / tile->warps_n / 8;
    if (cg__mm_is_scaled(p)) cg__mm_write_step_scales(w, p, 16 * mi, 8 * ni, "first_m + warp_m", "first_n + warp_n");
    if (p->promotes) ind__textf(&w->code, "float part[%d][%d][4] = {};\n", mi, ni);
    ind__textf(&w->code, "ind_mma_tile<%s, %d, %d, %d, %s, %s>(%s, tile_a%s, tile_b%s,\n", cg__mm_instruction(w, p),
               tile->m, tile->n, cg__mm_units(p, tile->k), p->a.k_major ? "true" : "false",
               p->b.k_major ? "true" : "false", p->promotes ? "part" : "acc", a, b);
    ind__textf(&w->code, "    warp_m, warp_n);\n");
    cg__use(w, p->tensor_bytes == 1   ? IND__CG_MMA_BYTES
               : p->tensor_bytes == 2 ? IND__CG_MMA_HALVES
                                      : IND__CG_MMA_WORDS);
    cg__use(w, IND__CG_MMA_TILE);
    if (!p->promotes) return;
    cg__unroll(w);
    ind__textf(&w->code, "for (int i = 0; i < %d; i++) ", mi);
    if (cg__mm_is_scaled(p)) {
        ind__textf(&w->code, "ind_promote_scaled(acc[i], part[i], row_scale[i], col_scale);\n");
        return;
    }
    ind__textf(&w->code, "ind_promote(acc[i], part[i]);\n");
    cg__use(w, IND__CG_PROMOTE);
}

static void cg__mm_write_mma_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int step = 0; step < %d; step++)", v->of.tile.stages - 1);
    ind__textf(&w->code, "if (step < steps) load(step, step);\nind_cp_async_commit();\n");
    cg__end(w);
    cg__mm_begin_stages(w, v->of.tile.stages - 1);
    ind__textf(&w->code, "ind_cp_async_wait<%d>();\n__syncthreads();\n", v->of.tile.stages - 2);
    ind__textf(&w->code, "if (step + %d < steps) load(step + %d, into);\nind_cp_async_commit();\n",
               v->of.tile.stages - 1, v->of.tile.stages - 1);
    if (cg__mm_makes_tiles(p)) ind__textf(&w->code, "make(step, stage);\n__syncthreads();\n");
    cg__mm_write_mma_tile(w, p);
    cg__mm_end_stages(w);
    ind__textf(&w->code, "ind_cp_async_wait<0>();\n__syncthreads();\n");
    cg__use(w, IND__CG_CP_ASYNC);
}

/* The part of "load" for one operand. */
static void cg__mm_write_tile(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    if (o->lines) return; /* they are copied before the steps */
    if (o->computed)
        cg__mm_write_raw(w, p, o, name);
    else if (o->misaligned)
        cg__mm_write_row_copies(w, p, o, name);
    else if (o->copy && o->windows)
        cg__mm_write_window_copy(w, p, o, name);
    else if (o->copy)
        cg__mm_write_copy(w, p, o, name);
    else
        cg__mm_write_units(w, p, o, name);
}

/* Tiles, copies and prologues of an iteration, and the accumulators of a warp. */
static void cg__mm_begin_tensor_tiles(ind__writer *w, const cg__mm_problem *p, int warp_m) {
    const ind__variant *v = w->variant;
    const int warp_n = v->of.tile.n / v->of.tile.warps_n;
    ind__textf(&w->code, "unsigned short *const tile_a = reinterpret_cast<unsigned short *>(ind_smem);\n");
    const int k = cg__mm_units(p, v->of.tile.k);
    int in_a = (cg__mm_is_made(&p->a) ? 1 : v->of.tile.stages) * v->of.tile.m * k;
    int offset = 2 * (in_a + (cg__mm_is_made(&p->b) ? 1 : v->of.tile.stages) * v->of.tile.n * k);
    ind__textf(&w->code, "unsigned short *const tile_b = tile_a + %d;\n", in_a);
    cg__mm_write_raw_arrays(w, p, &p->a, 'a', &offset);
    if (p->dot2) ind__textf(&w->code, "unsigned short *const tile_c = tile_b + %d;\n", cg__mm_columns(v) * k);
    cg__mm_write_raw_arrays(w, p, &p->b, 'b', &offset);
    cg__mm_write_raw_arrays(w, p, &p->b2, 'c', &offset);
    cg__mm_write_raw_rows(w, p, &p->a, 'a', &offset);
    cg__mm_write_raw_rows(w, p, &p->b, 'b', &offset);
    cg__mm_write_raw_rows(w, p, &p->b2, 'c', &offset);
    cg__mm_write_lines(w, p, &offset);
    cg__mm_write_all_addresses(w, p);
    cg__mm_begin_load(w, true);
    cg__mm_write_tile(w, p, &p->a, 'a');
    cg__mm_write_tile(w, p, &p->b, 'b');
    if (p->dot2) cg__mm_write_tile(w, p, &p->b2, 'c');
    cg__mm_end_lambda(w);
    cg__mm_write_make(w, p);
    ind__textf(&w->code, "const int warp = threadIdx.x / 32, warp_m = warp / %d * %d, warp_n = warp %% %d * %d;\n",
               v->of.tile.warps_n, warp_m, v->of.tile.warps_n, warp_n);
    ind__textf(&w->code, "%s acc[%d][%d][4] = {};\n", cg__mm_sum_type(p), warp_m / 16, warp_n / 8);
}

/* The sums to shared memory. */
static void cg__mm_end_tensor_tiles(ind__writer *w, const cg__mm_problem *p) {
    const char *type = cg__mm_sum_type(p);
    ind__textf(&w->code, "%s *const sum = reinterpret_cast<%s *>(ind_smem);\n", type, type);
    ind__textf(&w->code, "ind_mma_sums<%d>(sum, acc, warp_m, warp_n);\n__syncthreads();\n", w->variant->of.tile.n);
    cg__use(w, IND__CG_MMA_SUMS);
}

/* ---- the template ---- */

static const cg__mm_config cg__mm_mma_configs[] = {
    {128, 128, 64, 2, 2, 3, 255, 1, 0, 0, 0}, {128, 128, 32, 2, 2, 4, 255, 1, 0, 0, 0},
    {128, 128, 32, 2, 4, 4, 128, 1, 0, 0, 0}, {128, 96, 64, 2, 2, 3, 240, 1, 0, 0, 0},
    {128, 64, 64, 2, 2, 3, 168, 1, 0, 0, 0},  {64, 128, 64, 2, 2, 3, 200, 1, 0, 0, 0},
    {64, 64, 64, 2, 2, 4, 128, 1, 0, 0, 0},   {64, 64, 64, 2, 2, 3, 128, 1, 0, 0, 0},
    {128, 32, 64, 4, 1, 3, 96, 1, 0, 0, 0},   {64, 32, 64, 4, 1, 3, 96, 1, 0, 0, 0},
    {32, 128, 64, 1, 4, 3, 128, 1, 0, 0, 0},  {32, 64, 64, 2, 2, 4, 96, 1, 0, 0, 0},
    {16, 64, 64, 1, 4, 4, 96, 1, 0, 0, 0},
};

static const char *cg__mm_mma_match(const cg__mm_problem *p, const ind_target *t) {
    return cg__mm_no_tensor(p, t);
}

/* Limits the depth of a step and the stages to a known depth. The sums of a single step need not all be in registers at
   once. A prologue takes registers. */
static void cg__mm_fit_stages(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int idle) {
    c->tile_k = c->tile_k * 2 / p->tensor_bytes; /* rows of the same bytes */
    if (depth <= 64 / p->tensor_bytes) c->tile_k = 64 / p->tensor_bytes;
    const int64_t steps = (depth + c->tile_k - 1) / c->tile_k;
    if (c->stages > steps + idle) c->stages = steps < 1 ? idle + 1 : (int)steps + idle;
    if (steps <= 1 && c->registers > 160) c->registers = 160;
    const int more = p->a.lines ? 16 : 48;
    if (cg__mm_makes_tiles(p)) c->registers = c->registers > 255 - more ? 255 : c->registers + more;
}

/* Sums of a thread. */
static int cg__mm_thread_sums(const cg__mm_config *c) {
    return c->tile_m / c->warps_m * (c->tile_n / c->warps_n) / 32;
}

/* Converted 8-bit floats take registers, and more of them if a step is deeper; so does f32. */
static void cg__mm_mma_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)index_bits;
    cg__mm_fit_stages(c, p, depth, 1);
    if (p->a.lines) cg__mm_fit_lines(c, depth);
    if (p->converts) {
        c->registers += 48;
        c->tile_k = 64;
    }
    if (p->promotes) c->registers += cg__mm_thread_sums(c) + cg__mm_scale_registers(p, c);
    if (p->tensor_bytes == 4 && c->tile_k > 16) c->registers += 16;
}

/* True if the tiles of two right operands are one tile of twice the columns: they consist of whole panels of 64
   columns, or of whole groups of rows. */
static bool cg__mm_tiles_join(const cg__mm_config *c, const cg__mm_problem *p) {
    return !p->dot2 || c->tile_n / 2 % (p->b.k_major ? 16 : 64) == 0;
}

/* A tile of b with rows along k is one narrow panel, or several of 64 columns: its width is a power of two. */
static bool cg__mm_has_panels(const cg__mm_config *c, const cg__mm_problem *p) {
    return cg__mm_tiles_join(c, p) && (p->b.k_major || !(c->tile_n & (c->tile_n - 1)));
}

/* 64-bit indices leave no registers for the largest tiles per thread, nor do two sets of sums. */
static bool cg__mm_mma_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    if (c->registers > 255 || (p->converts && cg__mm_thread_sums(c) > 64)) return false;
    return cg__mm_has_panels(c, p) && (c->registers <= (cg__mm_makes_tiles(p) ? 216 : 168) || index_bits == 32);
}

static int cg__mm_warp_threads(const cg__mm_config *c) {
    return c->warps_m * c->warps_n * 32;
}

/* Shared memory of an operand: a tile in each stage, or one tile of 16 bits and the stages that it is computed from.
   Misaligned rows have 8 elements more there. */
static int64_t cg__mm_operand_bytes(const cg__mm_problem *p, const cg__mm_operand *o, const cg__mm_config *c,
                                    int edge) {
    const int64_t elements = (int64_t)edge * c->tile_k, stages = c->stages;
    if (o->lines) return 2 * elements;
    if (o->misaligned) return 2 * (elements + stages * (elements + 8 * (o->k_major ? edge : c->tile_k)));
    return elements * (o->computed ? stages * o->staged_bytes + 2 : stages * p->tensor_bytes);
}

static int64_t cg__mm_stage_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    return cg__mm_operand_bytes(p, &p->a, c, c->tile_m) +
           cg__mm_operand_bytes(p, &p->b, c, c->tile_n / cg__mm_products(p)) +
           (p->dot2 ? cg__mm_operand_bytes(p, &p->b2, c, c->tile_n / 2) : 0) +
           cg__mm_lines_bytes(p, c->tile_m, c->tile_k);
}

/* Each warp reads its rows of both tiles. */
static cg__mm_work cg__mm_mma_work(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t) {
    return (cg__mm_work){.rate = (double)t->mma_rate * (p->converts ? 1 : cg__mm_tensor_speed(p, t)),
                         .rows = (double)c->tile_m * c->warps_n + (double)c->tile_n * c->warps_m,
                         .bytes = p->tensor_bytes};
}

static void cg__mm_mma_main_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int warp_m = tile->m / tile->warps_m;
    cg__mm_begin_tensor_tiles(w, p, warp_m);
    cg__mm_write_scales(w, p);
    cg__mm_write_mma_loop(w, p);
    cg__mm_end_tensor_tiles(w, p);
}

static const cg__mm_template cg__mm_mma = {.strategy = IND_STRATEGY_MATMUL_MMA,
                                           .match = cg__mm_mma_match,
                                           MM_CONFIGS(cg__mm_mma_configs),
                                           .fit = cg__mm_mma_fit,
                                           .allows = cg__mm_mma_allows,
                                           .threads = cg__mm_warp_threads,
                                           .tile_bytes = cg__mm_stage_bytes,
                                           .idle_stages = 1,
                                           .work = cg__mm_mma_work,
                                           .alignment = 128,
                                           .main_loop = cg__mm_mma_main_loop};
