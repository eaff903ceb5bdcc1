/* Products of packed weights with wgmma: sm_90a. The weights are the left operand: a warpgroup dequantises 64 of their
   rows in registers. The right operand is a tile of rows of a in shared memory. So each weight is dequantised once for
   all rows of a tile, and rounded to the operand's type, as `dequantise` rounds it.

   Four warps of a block load the rows of a, 64 elements of k at a time. They reorder the elements, as the words of a
   format do not have weights in the order of k. Bulk copies bring rows that are not computed; these are reordered in
   place. Each of the other warps has a ring of steps of its 16 rows of weights, which bulk copies fill (packed.c). */

/* ---- decisions ---- */

enum {
    MM_PACKED_TILES = 8,       /* tiles of 64 elements of k of a in shared memory, at most .. */
    MM_LEAST_PACKED_TILES = 3, /* .. and at least, of each group of warps along k */
    MM_TILE_BARRIERS = 3,      /* mbarriers of a tile */
    MM_PACKED_FLIGHT = 16,     /* chunks of 8 elements of a that a thread loads before it stores the first .. */
    MM_FEW_REGISTERS = 104     /* .. or half as many, if threads of the block have fewer registers than this */
};

/* Warps that multiply. */
static int cg__mm_packed_tile_warps(const cg__mm_config *c) {
    return c->warps_m * c->warps_n;
}

static int cg__mm_packed_tile_threads(const cg__mm_config *c) {
    return 32 * (cg__mm_packed_tile_warps(c) + 4);
}

/* Tiles of a in shared memory of each group of warps along k: as many as fit beside the rings. Two small blocks share
   an SM. */
static int cg__mm_packed_tiles_of(const cg__mm_problem *p, int rows, int groups, int warps, int stages) {
    const int blocks = warps > 4 ? 1 : 2;
    const int64_t left = p->packed->shared / blocks - cg__mm_packed_ring(p, warps, stages) - 16;
    const int64_t each = rows * 128 + MM_TILE_BARRIERS * 8;
    const int64_t fit = (left < each * MM_PACKED_TILES ? left / each : MM_PACKED_TILES) / groups;
    return fit < 0 ? 0 : (int)fit;
}

static int cg__mm_config_packed_tiles(const cg__mm_config *c, const cg__mm_problem *p) {
    return cg__mm_packed_tiles_of(p, c->tile_m, c->warps_m, cg__mm_packed_tile_warps(c), c->stages);
}

static int64_t cg__mm_packed_tile_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    const int64_t tiles = cg__mm_config_packed_tiles(c, p) * c->warps_m;
    return (tiles * (c->tile_m * 128 + MM_TILE_BARRIERS * 8) + 15) / 16 * 16 +
           cg__mm_packed_ring(p, cg__mm_packed_tile_warps(c), c->stages);
}

static const char *cg__mm_packed_tile_match(const cg__mm_problem *p, const ind_target *t) {
    const char *no = cg__mm_no_ring(p);
    if (no) return no;
    if (p->group.indirect) return "its rows are in groups";
    if (!t->specific || t->sm != 90) return "wgmma exists on sm_90a only";
    return p->packed->mapped ? NULL : "no tensor map brings the packed weights";
}

static void cg__mm_packed_tile_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth;
    (void)index_bits;
    c->tile_k = cg__mm_packed_step(p->packed);
    if (!p->few_rows) return;
    c->tile_m = p->few_rows < 16 ? 16 : p->few_rows;
}

/* Registers of a thread that brings rows of a, in a block whose threads begin with `registers`. */
static int cg__mm_loading_registers(const cg__mm_problem *p, int registers) {
    return registers < MM_FEW_REGISTERS ? 64 : cg__mm_copies_rows(p) ? 72 : 96;
}

/* Registers of a thread that multiplies: the block's, and those that four warps of it do not need. */
static int cg__mm_packed_tile_registers(const cg__mm_problem *p, int registers, int warps) {
    return (registers + (registers - cg__mm_loading_registers(p, registers)) * 4 / warps) / 8 * 8;
}

/* Tiles whose products are in flight: two if there are registers for two sets of weights. */
static int cg__mm_tiles_in_flight(int registers) {
    return registers < MM_FEW_REGISTERS ? 1 : 2;
}

static bool cg__mm_packed_tile_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    const int flight = cg__mm_tiles_in_flight(c->registers), kept = cg__packed_formats[p->packed->format].registers / 2;
    const int more = cg__mm_packed_has_many(p->packed) ? 32 : 16;
    const int needed = c->tile_m / 2 + 16 * flight + more + kept;
    if (p->a.statistics && c->tile_m > 128) return false;
    return cg__mm_config_packed_tiles(c, p) >= MM_LEAST_PACKED_TILES && c->tile_n % (64 * cg__mm_products(p)) == 0 &&
           cg__mm_packed_tile_registers(p, c->registers, cg__mm_packed_tile_warps(c)) >= needed;
}

/* Estimated cycles, those of the busiest SM: it reads b at its share of the memory's rate, dequantises it, or
   multiplies it. Each block also orders its rows of a. */
static double cg__mm_packed_tile_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                      const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    const double per_sm = cg__mm_blocks_per_sm(p, c, target), fit = cg__mm_occupancy(x, p, c, target);
    const double together = per_sm < fit ? per_sm : fit, warps = together * cg__mm_packed_tile_warps(c);
    const double depth = cg__mm_hinted_steps(p, c) * c->tile_k, elements = per_sm * c->tile_n * depth;
    const double read = elements * p->packed->bytes / p->packed->elements / cg__mm_memory_rate(target);
    const double busy = warps < t->packed_tile_warps ? warps / t->packed_tile_warps : 1;
    const double dequantise = elements * t->packed_tile_instructions / 8 / 128 / busy;
    const double multiply = elements * c->tile_m / t->wgmma_rate;
    const double rows = per_sm * c->tile_m * depth * t->packed_tile_rows / 8 / 128 + cg__mm_row_cost(p, c, per_sm, t);
    const double work = dequantise > multiply ? dequantise : multiply;
    const double start = cg__mm_start_cost(p, t) + t->packed_start * (1 + p->a.statistics / 2.0);
    return (read > work ? read : work) + rows + start * ceil(per_sm / fit) + cg__mm_split_cost(p, c, target);
}

/* ---- writing ---- */

/* The device function ind_wgmma_packed, whose instruction lists the sums. BF16 selects the type in the emulation's
   function of this name; here the text of the instruction has it. */
static void cg__mm_write_packed_wgmma(ind__writer *w, ind__text *t) {
    const cg__mm_problem *p = w->plan->matmul;
    const int rows = w->variant->of.tile.m;
    const char *type = cg__mm_wgmma_type(&p->a);
    ind__textf(t, "#ifndef IND_EMULATION\n");
    cg__mm_write_sum_registers(t, p, rows);
    ind__textf(
        t,
        "// sums += W * X^T of 64 rows of weights, in registers, and a tile of ROWS rows, 64 elements of k of both: "
        "asynchronous,\n// one warpgroup.\n"
        "template <bool BF16, int ROWS>\n"
        "static IND_INLINE void ind_wgmma_packed(ind_wgmma_sums<float, %d> &, const unsigned (&weight)[4][4], "
        "const unsigned short *tile) {\n",
        rows / 8);
    t->indent++;
    ind__textf(t, "unsigned long long first = ind_wgmma_operand<ROWS, 64, true>(tile, 0, 0);\n"
                  "asm volatile(\"\" : \"+l\"(first));\n"
                  "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n_Pragma(\"unroll\")\n"
                  "for (int k = 0; k < 64; k += 16) {\n");
    t->indent++;
    ind__textf(t, "const unsigned long long b = first + k / 8;\nconst unsigned (&a)[4] = weight[k / 16];\n"
                  "asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, 1, 0;\\n\"\n");
    ind__textf(t, "             \"wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {\"\n", rows, type, type);
    cg__mm_write_sum_names(t, rows, "ind_acc", 0);
    ind__textf(t, "             \"}, {%%0, %%1, %%2, %%3}, %%4, p, 1, 1, 0;\\n}\"\n             :\n"
                  "             : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"l\"(b));\n");
    t->indent--;
    ind__textf(t, "}\nasm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n");
    t->indent--;
    ind__textf(t, "}\n#endif\n\n");
}

/* Registers of a thread at the start of the block. */
static int cg__mm_block_registers(const ind__writer *w) {
    return 65536 / (w->variant->threads * w->variant->blocks_per_sm) / 8 * 8;
}

/* Chunks of 8 elements that a thread of those that bring rows of a loads before it stores the first. */
static int cg__mm_packed_tile_flight(ind__writer *w, const cg__mm_problem *p) {
    const bool few = cg__mm_row_vector_bytes(w, p) > 16 || cg__mm_block_registers(w) < MM_FEW_REGISTERS;
    return few ? MM_PACKED_FLIGHT / 2 : MM_PACKED_FLIGHT;
}

/* The position of chunk u of a thread, element r0 of row x of tile number `tile` of the block. Open afterwards: the
   loop over u. */
static void cg__mm_begin_tile_chunk(ind__writer *w, const cg__mm_problem *p, int flight) {
    const int each = w->variant->of.tile.m / 16;
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", flight);
    ind__textf(&w->code, "const int tile = first + u / %d, x = u %% %d * 16 + thread / 8;\n", each, each);
    ind__textf(&w->code, "const %s r0 = first_k + tile * 64 + chunk * 8;\n", cg__int(w));
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m + x;\n", cg__int(w), p->m);
}

/* Declares "number", the index of tile `tile` of the block in its group of warps, and "at", its slot in shared memory.
   `tiles`: slots of a group. */
static void cg__mm_write_tile_slot(ind__writer *w, const cg__mm_problem *p, int tiles) {
    const int of_step = cg__mm_packed_step(p->packed) / 64, groups = w->variant->of.tile.warps_m;
    ind__textf(&w->code,
               "const int number = tile / %d / %d * %d + tile %% %d, at = tile / %d %% %d * %d + number %% %d;\n",
               of_step, groups, of_step, of_step, of_step, groups, tiles, tiles);
}

/* The end of what a thread writes to a tile. */
static void cg__mm_write_tile_ready(ind__writer *w) {
    ind__textf(&w->code,
               "ind_wgmma_publish();\n__syncwarp();\nif (thread %% 32 == 0) ind_barrier_arrive(full + at);\n");
}

/* The warps that load rows of a: each has the 8 chunks of 4 rows at a time. */
static void cg__mm_write_packed_loading(ind__writer *w, const cg__mm_problem *p, int tiles) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int flight = cg__mm_packed_tile_flight(w, p), each = t->m / 16;
    const char *exists = "if (tile < num_tiles && first_m + x < size_m && r0 < size_k)";
    ind__textf(&w->code, "const int chunk = thread %% 8;\n#pragma unroll 1\n");
    cg__begin(w, "for (int first = 0; first < num_tiles; first += %d)", flight / each);
    cg__mm_set_plain_names(w);
    if (cg__mm_declare_row_vectors(w, p, flight)) {
        cg__mm_begin_tile_chunk(w, p, flight);
        cg__begin(w, "%s", exists);
        cg__mm_load_row_vectors(w, p);
        cg__end(w);
        cg__end(w);
    }
    cg__mm_begin_tile_chunk(w, p, flight);
    cg__mm_write_tile_slot(w, p, tiles);
    ind__textf(&w->code, "if (u %% %d == 0 && tile < num_tiles) ind_barrier_wait(empty + at, (number / %d & 1) ^ 1);\n",
               each, tiles);
    if (cg__mm_is_plain_vector(w, p)) {
        ind__textf(&w->code, "const ind_vec<unsigned short, 8> &made = x%u[u];\n", p->a.load);
    } else {
        ind__textf(&w->code, "ind_vec<unsigned short, 8> made = {};\n");
        cg__begin(w, "%s", exists);
        cg__mm_write_chunk_elements(w, p, "[u]");
        cg__end(w);
    }
    cg__begin(w, "if (tile < num_tiles)");
    ind__textf(&w->code, "ind_packed_spread<%s, %d>(tiles + at * %d, x, chunk, made);\n",
               cg__mm_packed_type(w, p->packed), t->m, t->m * 64);
    cg__begin(w, "if (u %% %d == %d)", each, each - 1);
    cg__mm_write_tile_ready(w);
    cg__end(w);
    cg__end(w);
    cg__end(w);
    cg__end(w);
}

/* Writes the lambda "copy": a warp starts the bulk copy of a tile of rows. All lanes wait for the slot, so that the
   warp does not diverge. */
static void cg__mm_write_rows_copy(ind__writer *w, const cg__mm_problem *p, int tiles) {
    const int rows = w->variant->of.tile.m;
    ind__textf(&w->code, "const auto copy = [&](int tile) {\n");
    w->code.indent++;
    cg__mm_write_tile_slot(w, p, tiles);
    ind__textf(&w->code, "ind_barrier_wait(empty + at, (number / %d & 1) ^ 1);\n", tiles);
    cg__begin(w, "if (thread %% 32 == 0)");
    ind__textf(&w->code,
               "ind_barrier_expect(copied + at, %d);\n"
               "ind_bulk_copy<2>(tiles + at * %d, map_a, copied + at, (int)first_k + tile * 64, (int)first_m);\n",
               rows * 128, rows * 64);
    cg__end(w);
    ind__textf(&w->code, "__syncwarp();\n");
    cg__mm_end_lambda(w);
}

/* The index in the block of tile i of the first group of warps. */
static int cg__mm_index_in_block(int i, int of_step, int groups) {
    return i / of_step * groups * of_step + i % of_step;
}

/* Tiles that a warp copies before it reorders the first of them. A copy waits until the former tile of its slot is
   multiplied. If two tiles are in flight, this requires that the next tile of the group is reordered. To exclude a
   deadlock, that tile precedes the warp's next one. */
static int cg__mm_prefetched_tiles(const ind__writer *w, const cg__mm_problem *p, int tiles) {
    const int of_step = cg__mm_packed_step(p->packed) / 64, groups = w->variant->of.tile.warps_m;
    const int behind = cg__mm_tiles_in_flight(cg__mm_block_registers(w)) - 1;
    int ahead = tiles * groups / 4;
    for (int i = tiles; i < tiles + of_step; i++) {
        const int apart =
            cg__mm_index_in_block(i, of_step, groups) - cg__mm_index_in_block(i - tiles + behind, of_step, groups);
        if ((apart + 3) / 4 < ahead) ahead = (apart + 3) / 4;
    }
    return ahead < 1 ? 1 : ahead;
}

/* The warps that copy rows of a in bulk and reorder them for the format: each has every fourth tile. */
static void cg__mm_write_rows_copies(ind__writer *w, const cg__mm_problem *p, int tiles) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int ahead = 4 * cg__mm_prefetched_tiles(w, p, tiles);
    cg__mm_write_rows_copy(w, p, tiles);
    ind__textf(&w->code,
               "for (int tile = thread / 32; tile < %d && tile < num_tiles; tile += 4) copy(tile);\n#pragma unroll 1\n",
               ahead);
    cg__begin(w, "for (int tile = thread / 32; tile < num_tiles; tile += 4)");
    cg__mm_write_tile_slot(w, p, tiles);
    ind__textf(&w->code,
               "ind_barrier_wait(copied + at, number / %d & 1);\nind_packed_reorder<%s, %d>(tiles + at * %d);\n", tiles,
               cg__mm_packed_type(w, p->packed), t->m, t->m * 64);
    cg__mm_write_tile_ready(w);
    ind__textf(&w->code, "if (tile + %d < num_tiles) copy(tile + %d);\n", ahead, ahead);
    cg__end(w);
}

/* The warps that do not multiply. */
static void cg__mm_write_rows_of_tiles(ind__writer *w, const cg__mm_problem *p, int tiles) {
    const ind__tile_plan *t = &w->variant->of.tile;
    cg__mm_write_first_k(w, "0");
    ind__textf(&w->code, "const int thread = (int)threadIdx.x - %d, num_tiles = (int)steps * %d;\n",
               t->warps_m * t->warps_n * 32, cg__mm_packed_step(p->packed) / 64);
    if (cg__mm_copies_rows(p))
        cg__mm_write_rows_copies(w, p, tiles);
    else
        cg__mm_write_packed_loading(w, p, tiles);
}

/* Multiplies the sums by the factors of their columns. */
static void cg__mm_write_tile_factors(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    if (!p->packed->of[0].factor && !p->packed->of[1].factor) return;
    cg__begin(w, "for (int at = threadIdx.x; at < %d; at += %d)", t->m * t->n, w->variant->threads);
    ind__textf(&w->code, "float &total = sum[ind_sum_at<%d>(at / %d, at %% %d)];\n", t->n, t->n, t->n);
    cg__mm_write_packed_factor(w, p, 0);
    cg__mm_write_packed_factor(w, p, 1);
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
}

/* The mbarriers of the tiles of a. */
static void cg__mm_write_tile_barriers(ind__writer *w, int tiles, bool copied) {
    const ind__tile_plan *t = &w->variant->of.tile;
    cg__begin(w, "if (threadIdx.x == 0)");
    ind__textf(&w->code,
               "for (int i = 0; i < %d; i++) {\n    ind_barrier_init(full + i, %d);\n    ind_barrier_init(empty + i, "
               "%d);\n    ind_barrier_init(copied + i, 1);\n}\n",
               tiles, copied ? 1 : 4, t->warps_n);
    ind__textf(&w->code, "ind_barrier_publish();\n");
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
}

/* Declares the product, and starts the copies of weights that need no wait for the previous launch. */
static void cg__mm_write_tile_product(ind__writer *w, const cg__mm_problem *p, int tiles, const char *from) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const char *second = p->dot2 ? cg__string(w, " - (second ? %d : 0)", cg__mm_columns(w->variant)) : "";
    if (p->dot2)
        ind__textf(&w->code,
                   "const bool second = threadIdx.x %% %d >= %d;\nconst ind_tensor_map &%s = second ? map_c : map_b;\n",
                   t->warps_n * 32, t->warps_n * 16, from);
    ind__textf(&w->code, "ind_packed_tiles<%s, %s, %d, %d, %d, %d, %d, %d> product;\n",
               cg__mm_packed_type(w, p->packed), p->a.memory == IND_BF16 ? "true" : "false", t->m, t->warps_n,
               t->warps_m, t->stages, tiles, cg__mm_tiles_in_flight(cg__mm_block_registers(w)));
    ind__textf(&w->code, "product.start<%d>(%s, ind_smem + %d, (int)first_n%s, %s, (int)steps, (int)size_n);\n",
               cg__mm_packed_early(w), from, tiles * t->warps_m * t->m * 128, second,
               cg__mm_is_split(w->variant) ? "(int)first_step" : "0");
}

/* Registers of a thread from here on, if a block's threads have so few that some need more than others. After the warps
   have met, all take some: otherwise ptxas (13.0) limits the rest of the kernel to the fewest. */
static void cg__mm_write_register_move(ind__writer *w, const char *direction, int of_block, int registers) {
    if (of_block <= 248) ind__textf(&w->code, "ind_%s_registers<%d>();\n", direction, registers);
}

static void cg__mm_packed_tile_main_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int warps = t->warps_m * t->warps_n, registers = cg__mm_block_registers(w);
    const int tiles = cg__mm_packed_tiles_of(p, t->m, t->warps_m, warps, t->stages), all = tiles * t->warps_m;
    const char *from = p->dot2 ? "weights" : "map_b";
    ind__textf(&w->code,
               "unsigned short *const tiles = reinterpret_cast<unsigned short *>(ind_smem);\n"
               "unsigned long long *const full = reinterpret_cast<unsigned long long *>(ind_smem + %lld), *const empty "
               "= full + %d, *const copied = empty + %d;\n",
               (long long)(all * t->m * 128 + cg__mm_packed_ring(p, warps, t->stages)), all, all);
    cg__mm_write_tile_product(w, p, tiles, from);
    cg__mm_write_tile_barriers(w, all, cg__mm_copies_rows(p));
    cg__mm_write_wait(w);
    cg__mm_write_statistics(w, p);
    ind__textf(&w->code, "ind_wgmma_sums<float, %d> sums;\nfloat *const sum = reinterpret_cast<float *>(ind_smem);\n",
               t->m / 8);
    cg__begin(w, "if (threadIdx.x >= %d)", warps * 32);
    cg__mm_write_register_move(w, "fewer", registers, cg__mm_loading_registers(p, registers));
    cg__mm_write_rows_of_tiles(w, p, tiles);
    ind__textf(&w->code, "product.wait_for_sums();\n");
    cg__end(w);
    cg__begin(w, "else");
    cg__mm_write_register_move(w, "more", registers, cg__mm_packed_tile_registers(p, registers, warps));
    cg__mm_write_beside(w, p);
    ind__textf(&w->code, "product.copy_ahead<%d, %d>(%s, (int)steps);\n", cg__mm_packed_early(w), t->stages, from);
    ind__textf(&w->code,
               "product.run(%s, (int)steps, sums, tiles, full, empty, %s, [&](const unsigned (&weight)[4][4], const "
               "unsigned short *tile) {\n"
               "    ind_wgmma_packed<%s, %d>(sums, weight, tile);\n});\n",
               from, cg__mm_copies_rows(p) ? "copied" : "nullptr", p->a.memory == IND_BF16 ? "true" : "false", t->m);
    ind__textf(&w->code, "product.finish<%d>(sum, sums);\n", t->n);
    cg__mm_write_register_move(w, "fewer", registers, registers - 8);
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__mm_write_register_move(w, "more", registers, registers);
    cg__mm_write_tile_factors(w, p);
    cg__use(w, IND__CG_SUM_TILE);
    cg__use(w, IND__CG_PACKED_TILES);
    cg__use(w, cg__packed_formats[p->packed->format].function);
}

/* ---- the template ---- */

/* Warps along k in warps_m. Of a product of few rows, `fit` sets the rows. */
static const cg__mm_config cg__mm_packed_tile_configs[] = {
    {64, 128, 256, 2, 8, 2, 96, 1, 0, 0, 0},   {64, 128, 256, 1, 8, 3, 168, 1, 0, 0, 0},
    {64, 128, 256, 1, 8, 2, 168, 1, 0, 0, 0},  {64, 64, 256, 2, 4, 2, 168, 1, 0, 0, 0},
    {64, 64, 256, 1, 4, 3, 128, 1, 0, 0, 0},   {64, 64, 256, 1, 4, 2, 128, 1, 0, 0, 0},
    {128, 128, 256, 1, 8, 2, 168, 1, 0, 0, 0}, {256, 128, 256, 1, 8, 2, 168, 1, 0, 0, 0},
};

static const cg__mm_template cg__mm_packed_tile = {.strategy = IND_STRATEGY_MATMUL_PACKED_TILES,
                                                   .match = cg__mm_packed_tile_match,
                                                   MM_CONFIGS(cg__mm_packed_tile_configs),
                                                   .fit = cg__mm_packed_tile_fit,
                                                   .allows = cg__mm_packed_tile_allows,
                                                   .threads = cg__mm_packed_tile_threads,
                                                   .tile_bytes = cg__mm_packed_tile_bytes,
                                                   .cost = cg__mm_packed_tile_cost,
                                                   .alignment = 1024,
                                                   .main_loop = cg__mm_packed_tile_main_loop,
                                                   .functions = cg__mm_write_packed_wgmma};
