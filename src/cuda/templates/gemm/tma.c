/* Products with wgmma on tiles that bulk tensor copies bring in, by persistent blocks: sm_90a. */

/* A block has warps that multiply, four of them (a warpgroup) per 64 rows of the tile, and one warpgroup that copies
   (bulk.c) and gives its registers to the others. empty[stage] completes when all warps have multiplied the step. So
   the copies of the next tile are in flight while the warps run the epilogue. A warp spreads its sums in shared memory
   of its own, a strip of 8 rows at a time, and waits for no other warp.

   wgmma multiplies tf32 with rows along k only. If an operand is contiguous along m or n, three idle warps of the
   copying warpgroup transpose its tile in shared memory: they wait for full[stage], and the mbarrier ready[stage]
   completes when all of them are done. */

/* ---- tiles of 32-bit elements ---- */

enum {
    MM_TRANSPOSING = 3,           /* warps */
    MM_TRANSPOSING_REGISTERS = 56 /* of their threads: with 40 NVRTC 13.0 spills */
};

/* True if the operand's tile is transposed in shared memory. */
static bool cg__mm_is_transposed(const cg__mm_problem *p, const cg__mm_operand *o) {
    return p->tensor_bytes == 4 && !o->k_major;
}

static bool cg__mm_transposes(const cg__mm_problem *p) {
    return cg__mm_is_transposed(p, &p->a) || cg__mm_is_transposed(p, &p->b);
}

/* Bytes of the mbarriers of all stages and turns, a multiple of 16. */
static int cg__mm_barrier_bytes(const cg__mm_problem *p, int stages) {
    return (stages * 8 * (cg__mm_transposes(p) ? 3 : 2) + MM_TURNS * 8 + 15) / 16 * 16;
}

/* ---- shared memory: stages of a, stages of b, the strips of the warps, the mbarriers ---- */

/* Strips of a warp in shared memory: one for results, or one for the sums of each product. */
static int cg__mm_num_strips(const cg__mm_problem *p) {
    return p->dot2 && !p->epilogue.rounded ? 2 : 1;
}

/* Columns of a strip: with 64, a row of 16-bit results is a whole line of 128 bytes. The slice of a block in a cluster
   consists of whole strips. */
static int cg__mm_strip_cols(const cg__mm_problem *p, int tile_n, int warps, int cluster) {
    const int slice = tile_n / cg__mm_products(p) / (cluster > 1 ? cluster : 1);
    if (cluster > 1 && slice % 32) return slice % 16 ? 8 : 16;
    return slice % 64 || warps > 8 || cg__mm_num_strips(p) > 1 ? 32 : 64;
}

static int cg__mm_strip_bytes(const cg__mm_problem *p, int tile_n, int warps, int cluster) {
    return cg__mm_num_strips(p) * 8 * (cg__mm_strip_cols(p, tile_n, warps, cluster) + 8) * 4;
}

static int64_t cg__mm_tma_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    const int warps = c->warps_m * c->warps_n;
    return (int64_t)c->stages * (c->tile_m + c->tile_n) * c->tile_k * p->tensor_bytes +
           cg__mm_barrier_bytes(p, c->stages) + warps * cg__mm_strip_bytes(p, c->tile_n, warps, c->cluster) +
           cg__mm_cluster_bytes(c, p);
}

/* ---- writing ---- */

/* Registers of a thread that copies, and of one that multiplies: multiples of 8. A block begins with the same number
   for all threads, at most 64 K together. A copying warp that finds groups of rows takes more. */
static void cg__mm_write_registers(ind__writer *w, const cg__mm_problem *p, bool copies) {
    const int warps = cg__mm_multiplying_warps(w->variant), all = 65536 / ((warps + 4) * 32) / 8 * 8;
    const int few = cg__mm_transposes(p) ? MM_TRANSPOSING_REGISTERS : p->group.indirect ? 32 : 24;
    if (all > 248) return;
    if (copies)
        ind__textf(&w->code, "ind_fewer_registers<%d>();\n", few);
    else
        ind__textf(&w->code, "ind_more_registers<%d>();\n", (all + (all - few) * 4 / warps) / 8 * 8);
}

/* Transposes an operand's tile of a stage. */
static void cg__mm_write_transposed(ind__writer *w, const cg__mm_problem *p, char name) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int edge = name == 'a' ? tile->m : tile->n;
    if (!cg__mm_is_transposed(p, name == 'a' ? &p->a : &p->b)) return;
    ind__textf(&w->code, "ind_transpose_panels<%d, %d>(tile_%c + stage * %d, warp - %d);\n", edge / 32, MM_TRANSPOSING,
               name, edge * cg__mm_units(p, tile->k), tile->warps_m + 1);
}

/* The warps that transpose tiles. */
static void cg__mm_write_transposing(ind__writer *w, const cg__mm_problem *p) {
    if (!cg__mm_transposes(p)) return;
    cg__begin(w, "if (warp > %d)", w->variant->of.tile.warps_m);
    cg__mm_write_stage(w);
    cg__mm_begin_tiles(w, p);
    cg__begin(w, "for (int step = 0; step < steps; step++)");
    ind__textf(&w->code, "ind_barrier_wait(full + stage, phase);\n");
    cg__mm_write_transposed(w, p, 'a');
    cg__mm_write_transposed(w, p, 'b');
    ind__textf(&w->code, "ind_wgmma_publish();\n__syncwarp();\nif (lane == 0) ind_barrier_arrive(ready + stage);\n");
    cg__mm_write_next_stage(w);
    for (int i = 0; i < 3; i++) cg__end(w);
    cg__use(w, IND__CG_TRANSPOSE_PANELS);
}

/* The warpgroup that copies: one thread of it, whose warp finds the groups of rows with it. */
static void cg__mm_write_producer(ind__writer *w, const cg__mm_problem *p) {
    const int warps = cg__mm_multiplying_warps(w->variant);
    cg__begin(w, "if (warp >= %d)", warps);
    cg__mm_write_registers(w, p, true);
    if (p->group.indirect)
        cg__begin(w, "if (warp == %d)", warps);
    else
        cg__begin(w, "if (threadIdx.x == %d)", warps * 32);
    cg__mm_write_copies(w, p);
    cg__end(w);
    cg__mm_write_transposing(w, p);
    cg__mm_wait_for_cluster(w);
    cg__mm_write_ended(w);
    cg__end(w);
}

/* Multiplies the tiles of a stage; `fresh`: into sums that are 0. */
static void cg__mm_write_tma_tile(ind__writer *w, const cg__mm_problem *p, const char *sums, bool fresh) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int k = cg__mm_units(p, tile->k);
    if (p->tensor_bytes == 4)
        ind__textf(&w->code, "ind_wgmma_words<%d, %d, %d>(%s,", tile->m, tile->n, k, sums);
    else if (p->tensor_bytes == 2)
        ind__textf(&w->code, "ind_wgmma_tile<%s, %d, %d, %d, %s, %s>(%s,", p->a.memory == IND_BF16 ? "true" : "false",
                   tile->m, tile->n, k, p->a.k_major ? "true" : "false", p->b.k_major ? "true" : "false", sums);
    else
        ind__textf(&w->code, "ind_wgmma_bytes<%s, %s, %s, %d, %d, %d>(%s,",
                   p->a.memory == IND_F8E5M2 ? "true" : "false", p->b.memory == IND_F8E5M2 ? "true" : "false",
                   fresh ? "true" : "false", tile->m, tile->n, k, sums);
    ind__textf(&w->code, " tile_a + stage * %d, tile_b + stage * %d, first_row);\n", tile->m * k, tile->n * k);
}

/* The steps of k, whose sums of 128 products leave the tensor cores: a second set of accumulators. While a warpgroup
   adds them, another one multiplies. */
static void cg__mm_write_promoted_steps(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const bool scaled = cg__mm_is_scaled(p);
    ind__textf(&w->code, "float acc[%d][4] = {}, part[%d][4] = {};\n#pragma unroll 1\n", tile->n / 8, tile->n / 8);
    cg__begin(w, "for (int step = 0; step < steps; step++)");
    if (scaled) cg__mm_write_step_scales(w, p, 16, tile->n, "tile_m + warp * 16", "tile_n");
    ind__textf(&w->code, "ind_barrier_wait(full + stage, phase);\n");
    cg__mm_write_tma_tile(w, p, "part", true);
    ind__textf(&w->code, "ind_wgmma_wait<0>(part);\n");
    cg__mm_write_release(w, "stage", "");
    ind__textf(&w->code,
               scaled ? "ind_promote_scaled(acc, part, row_scale[0], col_scale);\n" : "ind_promote(acc, part);\n");
    cg__mm_write_next_stage(w);
    cg__end(w);
    if (!scaled) cg__use(w, IND__CG_PROMOTE);
}

/* The steps of k. A stage is given back one step later, when its products are complete. */
static void cg__mm_write_tma_steps(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (p->promotes) {
        cg__mm_write_promoted_steps(w, p);
        return;
    }
    ind__textf(&w->code, "sums.clear();\nint last = 0;\n");
    cg__mm_write_turn_wait(w);
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int step = 0; step < steps; step++)");
    ind__textf(&w->code, "ind_barrier_wait(full + stage, phase);\n");
    if (cg__mm_transposes(p)) ind__textf(&w->code, "ind_barrier_wait(ready + stage, phase);\n");
    cg__mm_write_tma_tile(w, p, "sums", false);
    ind__textf(&w->code, "sums.wait<1>();\n");
    cg__mm_write_release(w, "last", "step && ");
    ind__textf(&w->code, "last = stage;\n");
    cg__mm_write_next_stage(w);
    cg__end(w);
    cg__mm_write_turn_end(w);
    ind__textf(&w->code, "sums.wait<0>();\n");
    cg__mm_write_release(w, "last", p->group.indirect ? "steps && " : "");
    ind__textf(&w->code, "%s acc[%d][4];\nsums.read(acc);\n", cg__mm_sum_type(p),
               cg__mm_row_pieces(w->variant) * tile->n / 8);
}

/* A tile: the steps of k, then the epilogue, strip by strip. */
static void cg__mm_write_strips(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int columns = cg__mm_columns(w->variant);
    const int cols = cg__mm_strip_cols(p, tile->n, cg__mm_multiplying_warps(w->variant), tile->cluster);
    cg__mm_write_scales(w, p);
    const uint32_t store = cg__mm_rounded_store(w, p), load = store ? cg__mm_rounded_load(w, p) : 0;
    cg__mm_write_strip_range(w, (store ? 1 : 2) * tile->n / cols);
    if (load) cg__mm_write_fetch(w, p, load, cols);
    cg__mm_write_tma_steps(w, p);
    cg__mm_write_warp_exchange(w, p);
    if (store) {
        cg__mm_write_rounded_strips(w, p, store, cols);
        return;
    }
    ind__textf(&w->code, "#pragma unroll 1\n");
    const int strips = 2 * columns / cols, apart = 8 * (cols + 8);
    cg__begin(w, "for (int strip = %s; strip < %s; strip++)", cg__mm_first_strip(w),
              cg__mm_end_strip(w, cg__mm_row_pieces(w->variant) * strips));
    ind__textf(&w->code, "ind_strip_sums<%d>(sum, acc, strip);\n", cols);
    if (p->dot2) ind__textf(&w->code, "ind_strip_sums<%d>(sum + %d, acc, strip + %d);\n", cols, apart, strips);
    ind__textf(&w->code, "__syncwarp();\n");
    ind__textf(&w->code, "const %s first_m = tile_m + %s + strip %% 2 * 8, first_n = tile_n + %s / 2 * %d;\n",
               cg__int(w), cg__mm_strip_row(w, strips), cg__mm_strip_in_piece(w, strips), cols);
    const char *second = cg__string(w, "sum + %d, row, col", apart);
    cg__mm_write_epilogue(
        w, p,
        &(cg__mm_area){.rows = 8, .cols = cols, .threads = 32, .thread = "lane", .pitch = cols, .second = second});
    ind__textf(&w->code, "__syncwarp();\n");
    cg__end(w);
}

static void cg__mm_write_tma(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int k = cg__mm_units(p, tile->k), in_a = tile->stages * tile->m * k, in_b = tile->stages * tile->n * k;
    const int warps = cg__mm_multiplying_warps(w->variant), strips = 2 * (in_a + in_b);
    const int strip_bytes = cg__mm_strip_bytes(p, tile->n, warps, tile->cluster),
              barriers = strips + warps * strip_bytes;
    if (cg__mm_has_sum_registers(w))
        ind__textf(&w->code, "ind_wgmma_sums<%s, %d> sums;\n", cg__mm_sum_type(p),
                   cg__mm_row_pieces(w->variant) * tile->n / 8);
    cg__mm_begin_bulk(w, p, barriers);
    if (cg__mm_transposes(p)) ind__textf(&w->code, "unsigned long long *const ready = empty + %d;\n", tile->stages);
    if (cg__mm_in_turn(w->variant))
        ind__textf(&w->code, "unsigned long long *const turn = empty + %d;\n", tile->stages);
    const char *ready = cg__string(w, "    ind_barrier_init(ready + i, %d);\n", MM_TRANSPOSING);
    cg__mm_begin_barriers(w, tile->warps_m * cg__mm_reading_blocks(w->variant), cg__mm_transposes(p) ? ready : "");
    cg__mm_write_turn_barriers(w);
    cg__mm_end_barriers(w);
    cg__mm_write_map_prefetch(w, p, warps * 32);
    cg__mm_begin_cluster(w, p, barriers + cg__mm_barrier_bytes(p, tile->stages));
    cg__mm_write_begun(w);
    cg__mm_write_producer(w, p);
    cg__begin(w, "else");
    cg__mm_write_registers(w, p, false);
    ind__textf(&w->code, "%s *const sum = reinterpret_cast<%s *>(ind_smem + %d) + warp * %d;\n", cg__mm_sum_type(p),
               cg__mm_sum_type(p), strips, strip_bytes / 4);
    ind__textf(&w->code, "const int first_row = %s;\n", cg__mm_in_turn(w->variant) ? "0" : "warp / 4 * 64");
    cg__mm_wait_for_cluster(w);
    if (cg__mm_in_turn(w->variant)) {
        cg__mm_begin_turns(w, p);
    } else {
        cg__mm_write_stage(w);
        cg__mm_begin_tiles(w, p);
    }
    cg__mm_write_strips(w, p);
    cg__end(w);
    cg__mm_write_ended(w);
    cg__end(w);
    cg__use(w, IND__CG_WGMMA);
    cg__use(w, IND__CG_STRIP_SUMS);
}

/* ---- the template ---- */

static const cg__mm_config cg__mm_tma_configs[] = {
    {256, 128, 64, 16, 1, 4, 112, 1, 0, 0, 0}, {192, 192, 64, 12, 1, 4, 160, 1, 0, 0, 0},
    {192, 160, 64, 12, 1, 4, 160, 1, 0, 0, 0}, {192, 128, 64, 12, 1, 5, 160, 1, 0, 0, 0},
    {128, 256, 64, 8, 1, 4, 240, 1, 0, 0, 0},  {128, 224, 64, 8, 1, 4, 240, 1, 0, 0, 0},
    {128, 192, 64, 8, 1, 4, 240, 1, 0, 0, 0},  {128, 160, 64, 8, 1, 5, 240, 1, 0, 0, 0},
    {128, 128, 64, 8, 1, 6, 240, 1, 0, 0, 0},  {128, 96, 64, 8, 1, 7, 240, 1, 0, 0, 0},
    {128, 64, 64, 8, 1, 8, 240, 1, 0, 0, 0},   {64, 256, 64, 4, 1, 5, 255, 1, 0, 0, 0},
    {64, 192, 64, 4, 1, 6, 255, 1, 0, 0, 0},   {64, 128, 64, 4, 1, 8, 255, 1, 0, 0, 0},
    {64, 64, 64, 4, 1, 12, 255, 1, 0, 0, 0},   {128, 192, 64, 4, 2, 5, 168, 1, 0, 0, 0},
    {128, 160, 64, 4, 2, 5, 168, 1, 0, 0, 0},  {128, 128, 64, 4, 2, 6, 168, 1, 0, 0, 0},
    {128, 96, 64, 4, 2, 7, 168, 1, 0, 0, 0},   {128, 64, 64, 4, 2, 8, 168, 1, 0, 0, 0},
    {64, 256, 64, 4, 2, 5, 168, 1, 0, 0, 0},   {64, 192, 64, 4, 2, 6, 168, 1, 0, 0, 0},
    {64, 128, 64, 4, 2, 8, 168, 1, 0, 0, 0},   {64, 64, 64, 4, 2, 12, 168, 1, 0, 0, 0},
};

static const char *cg__mm_tma_match(const cg__mm_problem *p, const ind_target *t) {
    const char *no = cg__mm_wgmma_match(p, t);
    return no ? no : p->no_maps;
}

static void cg__mm_tma_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth, (void)index_bits;
    c->tile_k = c->tile_k * 2 / p->tensor_bytes; /* rows of 128 bytes */
}

/* Boxes of 128 bytes fill the rows of a tile of b along n. A strip has columns of one product. Two sets of sums fit in
   the registers of a thread. */
static bool cg__mm_tma_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    if (!cg__mm_allows_turns(c, p)) return false;
    if (p->promotes && c->tile_n + 32 + cg__mm_scale_registers(p, c) > c->registers) return false;
    return c->tile_n / cg__mm_products(p) % (p->b.k_major ? 32 : 128 / p->tensor_bytes) == 0;
}

/* The slices of a cluster are of whole fragments of 8 columns. Their sums take the memory of some stages. */
static bool cg__mm_tma_fit_cluster(cg__mm_config *c, const cg__mm_problem *p, const ind_target *t) {
    if (p->sum != IND_F32) return false;
    while (c->stages > 3 && cg__mm_tma_bytes(c, p) > t->shared_per_block) c->stages--;
    return c->tile_n % (8 * c->cluster) == 0 && cg__mm_tma_bytes(c, p) <= t->shared_per_block;
}

/* A tile that is transposed is read and written once more. */
static cg__mm_work cg__mm_tma_work(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t) {
    cg__mm_work work = cg__mm_wgmma_work(c, p, t);
    if (cg__mm_is_transposed(p, &p->a)) work.rows += 2 * c->tile_m;
    if (cg__mm_is_transposed(p, &p->b)) work.rows += 2 * c->tile_n;
    return work;
}

static int cg__mm_tma_threads(const cg__mm_config *c) {
    return (c->warps_m * c->warps_n + 4) * 32;
}

static const cg__mm_template cg__mm_tma = {.strategy = IND_STRATEGY_MATMUL_TMA,
                                           .match = cg__mm_tma_match,
                                           MM_CONFIGS(cg__mm_tma_configs),
                                           .fit = cg__mm_tma_fit,
                                           .allows = cg__mm_tma_allows,
                                           .threads = cg__mm_tma_threads,
                                           .tile_bytes = cg__mm_tma_bytes,
                                           .idle_stages = 1,
                                           .work = cg__mm_tma_work,
                                           .alignment = 1024,
                                           .persistent = true,
                                           .multicasts = true,
                                           .body = cg__mm_write_tma,
                                           .fit_cluster = cg__mm_tma_fit_cluster,
                                           .functions = cg__mm_write_wgmma};
