/* Products with tcgen05.mma on tiles that bulk tensor copies bring in, by persistent blocks: sm_100a and sm_103a. */

/* Compiled by NVRTC and run in the emulation, not run on hardware; so it is off by default (ind_compile_desc.tcgen05).

   A block has six warps. One thread of warp 4 starts the copies (bulk.c). One thread of warp 5 starts the products,
   which run asynchronously and add up in tensor memory: 128 lanes (rows) of 512 columns. tcgen05.commit arrives at
   empty[stage] when the products of a step are complete, and at summed[set] when those of a tile are. Warps 0 to 3 read
   the sums, 32 lanes each, which no other warp can reach, and run the epilogue in strips of columns, through shared
   memory of their own. drained[set] completes when all four have read their sums. There are two sets of sums: the
   epilogue of a tile overlaps the products of the next one.

   Threads that hand tensor memory to each other need tcgen05.fence besides the mbarrier or __syncthreads: one before
   they signal, one after they have waited. */

enum { MM_TCGEN05_SETS = 2, MM_TCGEN05_READERS = 4, MM_TCGEN05_COPIER = 4, MM_TCGEN05_MULTIPLIER = 5 };

/* ---- shared memory: stages of a, stages of b, the strips of the warps, the mbarriers, the address of the sums ---- */

/* Columns of a strip, of each product. */
static int cg__mm_tcgen05_strip_cols(const cg__mm_problem *p) {
    return 32 / cg__mm_products(p);
}

/* Floats of a strip of one product: a row per lane, padded as in ind_sum_at. */
static int cg__mm_tcgen05_strip(const cg__mm_problem *p) {
    return 32 * (cg__mm_tcgen05_strip_cols(p) + 8);
}

static int cg__mm_tcgen05_strip_bytes(const cg__mm_problem *p) {
    return 4 * cg__mm_products(p) * cg__mm_tcgen05_strip(p);
}

static int64_t cg__mm_tcgen05_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    return (int64_t)c->stages * ((c->tile_m + c->tile_n) * c->tile_k * p->tensor_bytes + 16) +
           MM_TCGEN05_READERS * cg__mm_tcgen05_strip_bytes(p) + MM_TCGEN05_SETS * 16 + 16;
}

/* Columns of tensor memory for both sets of sums: a power of two, as tcgen05.alloc takes it. */
static int cg__mm_tcgen05_columns(int tile_n) {
    int columns = 32;
    while (columns < MM_TCGEN05_SETS * tile_n) columns *= 2;
    return columns;
}

/* ---- writing ---- */

/* The next set of sums. */
static void cg__mm_write_next_set(ind__writer *w) {
    ind__textf(&w->code, "set ^= 1;\nif (!set) set_phase ^= 1;\n");
}

/* The mbarriers, and the tensor memory, which warp MM_TCGEN05_MULTIPLIER allocates: "sums" is its address. */
static void cg__mm_begin_tcgen05(ind__writer *w, const cg__mm_problem *p, int barriers) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    cg__mm_begin_bulk(w, p, barriers);
    ind__textf(&w->code,
               "unsigned long long *const summed = empty + %d, *const drained = summed + %d;\n"
               "unsigned *const allocated = reinterpret_cast<unsigned *>(drained + %d);\n",
               tile->stages, MM_TCGEN05_SETS, MM_TCGEN05_SETS);
    cg__mm_begin_barriers(w, 1, "");
    ind__textf(&w->code, "for (int i = 0; i < %d; i++) {\n    ind_barrier_init(summed + i, 1);\n", MM_TCGEN05_SETS);
    ind__textf(&w->code, "    ind_barrier_init(drained + i, %d);\n}\n", MM_TCGEN05_READERS);
    cg__mm_end_barriers(w);
    cg__mm_write_map_prefetch(w, p, MM_TCGEN05_COPIER * 32);
    ind__textf(&w->code, "if (warp == %d) ind_tcgen05_alloc<%d>(allocated);\n", MM_TCGEN05_MULTIPLIER,
               cg__mm_tcgen05_columns(tile->n));
    ind__textf(&w->code, "ind_tcgen05_before_sync();\n__syncthreads();\nind_tcgen05_after_sync();\n"
                         "const unsigned sums = *allocated;\n");
}

/* Waits for all threads, and frees the tensor memory. */
static void cg__mm_end_tcgen05(ind__writer *w) {
    ind__textf(&w->code, "ind_tcgen05_before_sync();\n__syncthreads();\nind_tcgen05_after_sync();\n");
    ind__textf(&w->code, "if (warp == %d) ind_tcgen05_free<%d>(sums);\n", MM_TCGEN05_MULTIPLIER,
               cg__mm_tcgen05_columns(w->variant->of.tile.n));
}

/* ind_tcgen05_type of an operand. */
static int cg__mm_tcgen05_type(const cg__mm_operand *o) {
    return o->memory == IND_BF16 || o->memory == IND_F8E5M2;
}

/* The thread that starts the products of all of the block's tiles. */
static void cg__mm_write_tcgen05_products(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int k = cg__mm_units(p, tile->k);
    cg__mm_write_stage(w);
    ind__textf(&w->code, "int set = 0, set_phase = 0;\n");
    cg__mm_begin_tile_loop(w, p);
    ind__textf(&w->code, "ind_barrier_wait(drained + set, set_phase ^ 1);\n#pragma unroll 1\n");
    cg__begin(w, "for (int step = 0; step < steps; step++)");
    ind__textf(&w->code, "ind_barrier_wait(full + stage, phase);\nind_tcgen05_after_sync();\n");
    ind__textf(&w->code, "ind_tcgen05_tile<%s, %d, %d, %d, %d, %d, %s, %s>(sums + set * %d,",
               p->tensor_bytes == 1 ? "true" : "false", cg__mm_tcgen05_type(&p->a), cg__mm_tcgen05_type(&p->b), tile->m,
               tile->n, k, p->a.k_major ? "true" : "false", p->b.k_major ? "true" : "false", tile->n);
    ind__textf(&w->code, " tile_a + stage * %d, tile_b + stage * %d, step > 0);\n", tile->m * k, tile->n * k);
    ind__textf(&w->code, "ind_tcgen05_commit(empty + stage);\n");
    cg__mm_write_next_stage(w);
    cg__end(w);
    ind__textf(&w->code, "ind_tcgen05_commit(summed + set);\n");
    cg__mm_write_next_set(w);
    cg__end(w);
}

/* A strip of each product from tensor memory to shared memory. */
static void cg__mm_write_tcgen05_strip(ind__writer *w, const cg__mm_problem *p) {
    const int cols = cg__mm_tcgen05_strip_cols(p), products = cg__mm_products(p);
    ind__textf(&w->code, "float part[%d][%d];\n", products, cols);
    for (int i = 0; i < products; i++)
        ind__textf(&w->code, "ind_tcgen05_load(part[%d], lanes + set * %d + %d + strip * %d);\n", i,
                   w->variant->of.tile.n, i * cg__mm_columns(w->variant), cols);
    ind__textf(&w->code, "ind_tcgen05_loaded(part);\n");
    for (int i = 0; i < products; i++)
        ind__textf(&w->code, "ind_row_sums(sum + %d, part[%d]);\n", i * cg__mm_tcgen05_strip(p), i);
    ind__textf(&w->code, "__syncwarp();\n");
}

/* The four warps that run the epilogue of all of the block's tiles. */
static void cg__mm_write_tcgen05_epilogue(ind__writer *w, const cg__mm_problem *p) {
    const int cols = cg__mm_tcgen05_strip_cols(p);
    ind__textf(&w->code, "const unsigned lanes = sums + (unsigned)(warp << 21);\n"); /* lane 32 * warp, in bits 16 .. */
    ind__textf(&w->code, "int set = 0, set_phase = 0;\n");
    cg__mm_begin_tiles(w, p);
    ind__textf(&w->code, "ind_barrier_wait(summed + set, set_phase);\nind_tcgen05_after_sync();\n");
    ind__textf(&w->code, "const int strips = tile_m + warp * 32 < size_m ? %d : 0;\n#pragma unroll 1\n",
               cg__mm_columns(w->variant) / cols);
    cg__begin(w, "for (int strip = 0; strip < strips; strip++)");
    cg__mm_write_tcgen05_strip(w, p);
    ind__textf(&w->code, "const %s first_m = tile_m + warp * 32, first_n = tile_n + strip * %d;\n", cg__int(w), cols);
    const char *second = cg__string(w, "sum + %d, row, col", cg__mm_tcgen05_strip(p));
    cg__mm_write_epilogue(
        w, p,
        &(cg__mm_area){.rows = 32, .cols = cols, .threads = 32, .thread = "lane", .pitch = cols, .second = second});
    ind__textf(&w->code, "__syncwarp();\n");
    cg__end(w);
    ind__textf(&w->code,
               "ind_tcgen05_before_sync();\n__syncwarp();\nif (lane == 0) ind_barrier_arrive(drained + set);\n");
    cg__mm_write_next_set(w);
    cg__end(w);
}

static void cg__mm_write_tcgen05(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int strips = tile->stages * (tile->m + tile->n) * tile->k * p->tensor_bytes;
    const int bytes = cg__mm_tcgen05_strip_bytes(p);
    cg__mm_begin_tcgen05(w, p, strips + MM_TCGEN05_READERS * bytes);
    cg__begin(w, "if (threadIdx.x == %d)", MM_TCGEN05_COPIER * 32);
    cg__mm_write_copies(w, p);
    cg__end(w);
    cg__begin(w, "else if (threadIdx.x == %d)", MM_TCGEN05_MULTIPLIER * 32);
    cg__mm_write_tcgen05_products(w, p);
    cg__end(w);
    cg__begin(w, "else if (warp < %d)", MM_TCGEN05_READERS);
    ind__textf(&w->code, "float *const sum = reinterpret_cast<float *>(ind_smem + %d) + warp * %d;\n", strips,
               bytes / 4);
    cg__mm_write_tcgen05_epilogue(w, p);
    cg__end(w);
    cg__mm_end_tcgen05(w);
    cg__use(w, IND__CG_TCGEN05);
    cg__use(w, IND__CG_ROW_SUMS);
}

/* ---- the template ---- */

/* Registers: of the epilogue's threads. Of all 192 threads, 65,536 registers allow 255. */
static const cg__mm_config cg__mm_tcgen05_configs[] = {
    {128, 256, 64, 4, 1, 4, 255, 1, 0, 0, 0}, {128, 224, 64, 4, 1, 4, 255, 1, 0, 0, 0},
    {128, 192, 64, 4, 1, 5, 255, 1, 0, 0, 0}, {128, 160, 64, 4, 1, 5, 255, 1, 0, 0, 0},
    {128, 128, 64, 4, 1, 6, 255, 1, 0, 0, 0}, {128, 96, 64, 4, 1, 7, 255, 1, 0, 0, 0},
    {128, 64, 64, 4, 1, 8, 255, 1, 0, 0, 0},
};

static bool cg__has_tensor_memory(const ind_target *t);

static const char *cg__mm_tcgen05_match(const cg__mm_problem *p, const ind_target *t) {
    if (!p->program->options.tcgen05) return "products with tcgen05.mma are off";
    if (!cg__has_tensor_memory(t)) return "tcgen05.mma exists on sm_100a and sm_103a";
    if (!p->tensor_bytes) return cg__mm_no_tensor(p, t);
    if (p->tensor_bytes == 4 || p->sum != IND_F32) return "tcgen05 tiles are of 16-bit or 8-bit floats";
    if (p->promotes) return "the sums of 128 products are added outside the tensor cores";
    if (p->a.across || p->b.across) return "tiles of 8-bit operands are contiguous along k";
    if (p->group.indirect) return "tcgen05 tiles have no groups of rows";
    if (!cg__mm_all_copied(p)) return "tcgen05 tiles need all operands copied in 16-byte vectors";
    return p->no_maps;
}

/* An instruction reads the 128 rows of a and all of b once. */
static cg__mm_work cg__mm_tcgen05_work(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t) {
    return (cg__mm_work){.rate = (double)t->tcgen05_rate * cg__mm_tensor_speed(p, t),
                         .rows = (double)c->tile_m + c->tile_n,
                         .bytes = p->tensor_bytes};
}

static int cg__mm_tcgen05_threads(const cg__mm_config *c) {
    (void)c;
    return (MM_TCGEN05_MULTIPLIER + 1) * 32;
}

static const cg__mm_template cg__mm_tcgen05 = {.strategy = IND_STRATEGY_MATMUL_TCGEN05,
                                               .match = cg__mm_tcgen05_match,
                                               MM_CONFIGS(cg__mm_tcgen05_configs),
                                               .fit = cg__mm_tma_fit,
                                               .allows = cg__mm_tma_allows,
                                               .threads = cg__mm_tcgen05_threads,
                                               .tile_bytes = cg__mm_tcgen05_bytes,
                                               .idle_stages = 1,
                                               .work = cg__mm_tcgen05_work,
                                               .alignment = 1024,
                                               .alone = true,
                                               .persistent = true,
                                               .body = cg__mm_write_tcgen05};
