/* The interface of a template of products, and the formulas that all of them share. A new kind of product is one file
   with its row, and the row's place in cg__mm_templates. The epilogue and the way that a block finds its tile are
   common: epilogue.c, load.c. */

/* A configuration: tile of the sums of all products, warps along m and n (FMA: the side of a thread's tile in warps_m;
   bulk-copied wgmma: warps of a tile, and tiles that are multiplied in turn), stages of the pipeline, and registers per
   thread that suffice without spilling (NVRTC 13.0, sm_80, sm_90a, sm_100; 32-bit indices, an epilogue of three ops).
 */
typedef struct cg__mm_config {
    int tile_m, tile_n, tile_k, warps_m, warps_n, stages, registers;
    int splits;         /* blocks that share a tile at the hinted sizes; 1: none do */
    int cluster;        /* of these, blocks of a cluster; 0: the blocks exchange sums through memory */
    int pair_m, pair_n; /* tiles of a cluster along m and n (multicast.c); 0: no such clusters */
} cg__mm_config;

/* What a block does per element of depth. */
typedef struct cg__mm_work {
    double rate; /* multiply-adds per cycle and SM */
    double rows; /* elements read from shared memory */
    int bytes;   /* of an element of the tiles */
} cg__mm_work;

typedef struct cg__mm_template {
    ind_strategy strategy;
    /* match: NULL if the template takes the product, else the reason */
    const char *(*match)(const cg__mm_problem *p, const ind_target *t);
    const cg__mm_config *configs;
    size_t num_configs;
    size_t num_for_tasks; /* of these, the last ones are only for tasks of persistent launches */
    /* configurations: fits one to a depth of at most `depth` .. */
    void (*fit)(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits);
    /* .. and says if the registers and the layouts of the operands allow it */
    bool (*allows)(const cg__mm_config *c, const cg__mm_problem *p, int index_bits);
    int (*threads)(const cg__mm_config *c);
    int64_t (*tile_bytes)(const cg__mm_config *c, const cg__mm_problem *p); /* shared memory of the pipeline */
    int idle_stages;                                                        /* stages that no copy is in flight for */
    cg__mm_work (*work)(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t); /* cost */
    int alignment;       /* of shared memory, bytes */
    bool reads_pointers; /* in a launch of several kernels: reads pointers at each use, to save registers */
    /* prologues, main loop, and the sums to shared memory */
    void (*main_loop)(ind__writer *w, const cg__mm_problem *p);
    bool no_sums;    /* the sums are in registers, not in shared memory */
    bool alone;      /* a block shares its tile with no other */
    bool persistent; /* at most one block per SM, which loops over tiles */
    bool multicasts; /* neighbouring tiles can be a cluster, whose operands are multicast */
    /* in place of the common position, main loop and epilogue; NULL: those */
    void (*body)(ind__writer *w, const cg__mm_problem *p);
    /* fits the configuration to clusters of c->cluster blocks along k, or returns false; NULL:
       cg__mm_fit_cluster */
    bool (*fit_cluster)(cg__mm_config *c, const cg__mm_problem *p, const ind_target *t);
    /* estimated cycles; NULL: cg__mm_cost */
    double (*cost)(const struct cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                   const ind_target *target);
    /* device functions before the kernel; NULL: none */
    void (*functions)(ind__writer *w, ind__text *t);
} cg__mm_template;

/* Sums in shared memory that the epilogue reads, and the threads that do: `thread` is the text of a thread's number. */
typedef struct cg__mm_area {
    int rows, cols, threads;
    const char *thread;
    const char *first_row, *end_row; /* those that the block has of the sums; NULL: all */
    int pitch;                       /* columns of a row in shared memory */
    const char *factor;              /* of the sums of a row; NULL: none */
    const char *second;              /* where ind_sum_read finds those of a second product */
    bool loaded;                     /* what the epilogue reads was requested before the main loop */
} cg__mm_area;

static void cg__mm_write_epilogue(ind__writer *w, const cg__mm_problem *p, const cg__mm_area *area);
static bool cg__mm_has_vector_loads(const ind__writer *w);
static void cg__mm_declare_vector_loads(ind__writer *w, const cg__mm_area *area, int rounds);
static void cg__mm_write_requests(ind__writer *w, const cg__mm_area *area);
static void cg__mm_name_vector_loads(ind__writer *w, const cg__mm_area *area);
static void cg__mm_write_column_values(ind__writer *w, const cg__mm_problem *p);
static void cg__mm_write_loads_ahead(ind__writer *w, const cg__mm_problem *p);
static void cg__mm_one_row_main_loop(ind__writer *w, const cg__mm_problem *p);
static bool cg__mm_is_one_row(const ind__writer *w, const cg__mm_problem *p);
static void cg__mm_write_tile_of(ind__writer *w, const cg__mm_problem *p);
static double cg__mm_scale_cost(const cg__mm_problem *p, const cg__mm_config *c, const ind_thresholds *t);
static double cg__mm_turns_cost(double tiles, double multiply, double epilogue, const ind_thresholds *t);
static bool cg__mm_config_in_turn(const cg__mm_template *x, const cg__mm_config *c);
static double cg__mm_split_cost(const cg__mm_problem *p, const cg__mm_config *c, const ind_target *target);
static int cg__mm_cluster_sms(int cluster, const ind_target *t);
static int cg__mm_box_rows(const cg__mm_problem *p, int tile_m);
static uint32_t cg__mm_rounded_store(ind__writer *w, const cg__mm_problem *p);
static uint32_t cg__mm_rounded_load(ind__writer *w, const cg__mm_problem *p);
static void cg__mm_write_fetch(ind__writer *w, const cg__mm_problem *p, uint32_t load, int cols);
static void cg__mm_write_rounded_strips(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols);

/* True if the tiles of all operands are copied in chunks of 16 bytes. */
static bool cg__mm_all_copied(const cg__mm_problem *p) {
    return p->a.copy && p->b.copy && (!p->dot2 || p->b2.copy);
}

#define MM_CONFIGS(list) .configs = list, .num_configs = sizeof list / sizeof *list

/* NULL if tensor cores take the operands, else the reason. */
static const char *cg__mm_no_tensor(const cg__mm_problem *p, const ind_target *t) {
    if (p->tensor_bytes) return NULL;
    if (cg__mm_is_f8(&p->a) && cg__mm_is_f8(&p->b) && t->sm < 89)
        return "tensor cores multiply 8-bit floats from sm_89 on";
    if (p->program->options.allow_tf32 && p->sum == IND_F32)
        return "tensor cores multiply tf32 if both operands are f32 in memory";
    return "tensor cores would round the operands";
}

/* Columns of each product in a tile. */
static int cg__mm_columns(const ind__variant *v) {
    return v->of.tile.n / v->of.tile.products;
}

/* Rows or columns of the tile that an operand has. */
static int cg__mm_edge(const ind__variant *v, char name) {
    return name == 'a' ? v->of.tile.m : cg__mm_columns(v);
}

/* Elements from a stage of an operand's tile to the next one: the tiles of b and b2 are adjacent. */
static int cg__mm_stage_elements(const ind__variant *v, char name) {
    return (name == 'a' ? v->of.tile.m : v->of.tile.n) * v->of.tile.k;
}

/* Returns the type of sums and of FMA tiles: unsigned for integers, which wrap around. */
static const char *cg__mm_sum_type(const cg__mm_problem *p) {
    return ind_dtype_is_float(p->sum) ? cg__types[p->sum].value : cg__types[p->sum].wrapping;
}

static int cg__mm_sum_bytes(const cg__mm_problem *p) {
    return ind_dtype_bytes(p->sum) == 8 ? 8 : 4;
}

/* Rate of tensor cores, times that with 16-bit elements. */
static double cg__mm_tensor_speed(const cg__mm_problem *p, const ind_thresholds *t) {
    return p->tensor_bytes == 1 ? t->byte_speed : p->tensor_bytes == 4 ? t->tf32_percent / 100.0 : 1;
}

static bool cg__mm_has_prologue(const cg__mm_problem *p) {
    return p->a.computed || p->b.computed;
}

/* True if the tile of an operand of tensor cores is written from stages of its sources when it is needed. */
static bool cg__mm_is_made(const cg__mm_operand *o) {
    return o->computed || o->misaligned || o->lines;
}

static bool cg__mm_makes_tiles(const cg__mm_problem *p) {
    return cg__mm_is_made(&p->a) || cg__mm_is_made(&p->b);
}

/* Shared memory: the tiles of the pipeline, reused for the sums (rows padded as in ind_sum_at). */
static int64_t cg__mm_shared(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c) {
    const int64_t sums = (int64_t)c->tile_m * (c->tile_n + 8) * cg__mm_sum_bytes(p), tiles = x->tile_bytes(c, p);
    return x->no_sums || tiles > sums ? tiles : sums;
}

/* Resident blocks of an SM. Its registers belong to four partitions, among which the warps are distributed. FMA on 8
   bytes takes twice the registers. */
static int cg__mm_occupancy(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                            const ind_target *t) {
    const int64_t threads = x->threads(c), registers = cg__mm_sum_bytes(p) == 8 ? 2 * c->registers : c->registers;
    const int64_t by_shared = t->shared_per_sm / (cg__mm_shared(x, p, c) + t->block_shared);
    const int64_t by_registers = t->sm_registers / 4 / (32 * registers) * 4 * 32 / threads;
    const int64_t by_threads = t->sm_threads / threads;
    int64_t n = by_shared < by_registers ? by_shared : by_registers;
    n = n < by_threads ? n : by_threads;
    return n < 1 ? 1 : n > 16 ? 16 : (int)n;
}

/* Reads of the L2 for an element of a tile, 1 if rows of 128 bytes are whole lines. Rows that are no multiple of 128
   bytes apart are parts of two lines. */
static double cg__mm_line_share(const cg__mm_operand *o, const ind_thresholds *t) {
    const int more = o->pitch % 128 == 0 ? 0 : o->pitch % 32 == 0 ? t->product_lines : t->product_sectors;
    return 1 + more / 100.0;
}

/* Elements per element of depth in whose time a block gets its tiles: it reads from the L2 what no other block
   multicasts to it, and receives all. */
static double cg__mm_fetched(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t) {
    const double a = cg__mm_line_share(&p->a, t) * c->tile_m, b = cg__mm_line_share(&p->b, t) * c->tile_n;
    if (!c->pair_m) return a + b;
    const double read = a / c->pair_n + b / c->pair_m, received = (a + b) * t->product_received / 100.0;
    return read > received ? read : received;
}

/* Cycles per element of depth, of the busiest unit: multipliers; L2, which loads TM + TN elements; shared memory, which
   writes what was loaded and is read by warps. */
static double cg__mm_depth_cost(const cg__mm_template *x, const cg__mm_config *c, const cg__mm_problem *p,
                                const ind_thresholds *t) {
    const cg__mm_work work = x->work(c, p, t);
    const double edge = (double)c->tile_m + c->tile_n;
    const double multiply = (double)c->tile_m * c->tile_n / work.rate;
    const double fetch = cg__mm_fetched(c, p, t) * work.bytes / t->product_l2_rate;
    const double feed = (work.rows + edge) * work.bytes / t->product_shared_rate;
    const double slowest = multiply > fetch ? multiply : fetch;
    return (slowest > feed ? slowest : feed) / (t->product_busy / 100.0);
}

/* Rows of a launch: those of the hint, or as many as the variant's guard allows. */
static double cg__mm_hinted_rows(const cg__mm_problem *p) {
    const int64_t m = ind_hint(p->size_m);
    return (double)(p->few_rows && m > p->few_rows ? p->few_rows : m);
}

/* Tiles along a dimension in clusters of so many: with those outside the product. */
static int64_t cg__mm_whole(int64_t tiles, int cluster) {
    return cluster > 1 ? (tiles + cluster - 1) / cluster * cluster : tiles;
}

/* Tiles at the hinted sizes, with those outside the product that fill clusters. */
static int64_t cg__mm_hinted_tiles(const cg__mm_problem *p, const cg__mm_config *c) {
    const int64_t groups = cg__mm_hinted_groups(p), n = ind_hint(p->size_n);
    const int64_t m = groups * (int64_t)ceil(ceil(cg__mm_hinted_rows(p) / (double)groups) / c->tile_m);
    const int64_t columns = c->tile_n / cg__mm_products(p);
    return ind_hint(p->batch) * cg__mm_whole(m, c->pair_m) * cg__mm_whole((n + columns - 1) / columns, c->pair_n);
}

/* Blocks of the busiest SM. */
static double cg__mm_blocks_per_sm(const cg__mm_problem *p, const cg__mm_config *c, const ind_target *target) {
    const int sms = c->pair_m ? cg__mm_cluster_sms(c->pair_m * c->pair_n, target) : target->num_sms;
    return ceil((double)cg__mm_hinted_tiles(p, c) * c->splits / sms);
}

/* Steps of k of a block. */
static double cg__mm_hinted_steps(const cg__mm_problem *p, const cg__mm_config *c) {
    const int64_t k = ind_hint(p->size_k);
    return ceil((double)((k + c->tile_k - 1) / c->tile_k) / c->splits);
}

/* Cycles in which an SM loads an operand's tile of a step, beyond its copies in chunks of 16 bytes. Tensor maps find
   windows themselves. */
static double cg__mm_load_cost(const cg__mm_template *x, const cg__mm_operand *o, double elements,
                               const ind_thresholds *t) {
    if (o->copy && o->windows && !x->persistent) return elements * t->product_window / 100.0;
    if (o->copy || o->computed) return 0;
    return elements * (o->misaligned || o->lines ? t->product_realigned : t->product_element) / 100.0;
}

/* The same for all operands of tensor cores. */
static double cg__mm_loads_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                const ind_thresholds *t) {
    const double a = (double)c->tile_m * c->tile_k, b = (double)c->tile_n * c->tile_k;
    return p->tensor_bytes == 2 ? cg__mm_load_cost(x, &p->a, a, t) + cg__mm_load_cost(x, &p->b, b, t) : 0;
}

/* Estimated cycles. The blocks of an SM share its units, so their work adds up: the steps of k and the epilogue. A step
   takes at least the latency of a copy from L2, divided by the copies in flight. The latency of a block (start, first
   copies, epilogue) counts once for all resident blocks. (For the ten fastest configurations of each of 16 problems the
   estimates are off by 11 % on average, H200.) */
static double cg__mm_tile_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                               const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    const double per_sm = cg__mm_blocks_per_sm(p, c, target), steps = cg__mm_hinted_steps(p, c);
    const double fit = cg__mm_occupancy(x, p, c, target), together = per_sm < fit ? per_sm : fit;
    const double latency = (double)t->product_latency / (c->stages - x->idle_stages);
    const double waits = c->pair_m ? t->product_multicast / 100.0 : 0;
    double step = cg__mm_depth_cost(x, c, p, t) * (1 + waits) * c->tile_k + cg__mm_scale_cost(p, c, t) +
                  cg__mm_loads_cost(x, p, c, t);
    if (step * together < latency) step = latency / together;
    const double each = t->product_epilogue + t->product_epilogue_call * p->epilogue.calls;
    const double multiply = steps * step, epilogue = (double)c->tile_m * c->tile_n * each / 100;
    const double tiles =
        cg__mm_config_in_turn(x, c) ? cg__mm_turns_cost(per_sm, multiply, epilogue, t) : per_sm * (multiply + epilogue);
    return tiles + (t->product_start + latency) * ceil(per_sm / fit) + (c->pair_m ? t->product_pairs : 0);
}

/* Bytes per cycle and SM of global memory, if all SMs read. */
static double cg__mm_memory_rate(const ind_target *t) {
    const double rate = (double)t->memory_bytes_per_ns * t->thresholds.copy_percent / 100;
    return rate * 100 / t->thresholds.product_clock / t->num_sms;
}

/* Cycles in which the operands are read, if nothing else limits the product. Each time that the copies in flight are
   replaced, an SM waits for a third of a latency. With more blocks per SM, which read more rows at once, the memory is
   slower. (Chosen by hand for timings of 13 products, most of them of 1 to 64 rows, H100.) */
static double cg__mm_read_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                               const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    const double m = cg__mm_hinted_rows(p), k = (double)ind_hint(p->size_k);
    const double n = (double)ind_hint(p->size_n) * cg__mm_products(p) * (double)cg__mm_hinted_groups(p);
    const double bytes = (m * ind_dtype_bytes(p->a.memory) + n * ind_dtype_bytes(p->b.memory)) * k;
    const double read = bytes * (double)ind_hint(p->batch) / cg__mm_memory_rate(target) / target->num_sms;
    const double per_sm = cg__mm_blocks_per_sm(p, c, target), fit = cg__mm_occupancy(x, p, c, target);
    const double together = per_sm < fit ? per_sm : fit;
    const double replaced = per_sm * cg__mm_hinted_steps(p, c) / together / (c->stages - x->idle_stages);
    return t->product_start + read * (1 + t->product_streams / 100.0 * (together - 1)) +
           replaced * t->product_latency / 3;
}

/* Cycles in which the blocks of an SM compute their tiles of packed weights, of 128 instructions per cycle: their warps
   wait as well, 12 warps as long as they compute. (128 rows, H100: int4 4096 x 4096 in 4 warps of an SM 1.0 cycles per
   weight, 28672 x 4096 in 16 warps 0.38, i8 0.46 and 0.36.) */
static double cg__mm_unpack_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                 const ind_target *target) {
    const double per_sm = cg__mm_blocks_per_sm(p, c, target), fit = cg__mm_occupancy(x, p, c, target);
    const double warps = (per_sm < fit ? per_sm : fit) * x->threads(c) / 32.0;
    const double elements = per_sm * cg__mm_hinted_steps(p, c) * c->tile_k * c->tile_n;
    return elements * p->packed->unpacks * (1 + 12 / warps) / 128;
}

/* Cycles in which so many blocks of an SM normalise their rows of a, which they have whole in shared memory. */
static double cg__mm_row_cost(const cg__mm_problem *p, const cg__mm_config *c, double blocks, const ind_thresholds *t) {
    const double elements = blocks * c->tile_m * (double)ind_hint(p->size_k);
    return p->a.statistics ? elements * t->row_instructions / t->fma_rate : 0;
}

/* The first cycles of a block, in which it does not multiply. A pass over its rows takes another read of the L2. */
static double cg__mm_start_cost(const cg__mm_problem *p, const ind_thresholds *t) {
    return t->product_start + (1 + p->a.statistics) * t->product_latency;
}

/* Cycles in which blocks normalise their rows of a, or realign tiles, a step at a time. */
static double cg__mm_making_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                 const ind_target *target) {
    const double waves = ceil(cg__mm_blocks_per_sm(p, c, target) / cg__mm_occupancy(x, p, c, target));
    const bool realigns = p->tensor_bytes == 2 && (p->a.misaligned || p->b.misaligned);
    return waves * cg__mm_hinted_steps(p, c) *
           ((p->a.statistics ? target->thresholds.computed_step : 0) +
            (realigns ? target->thresholds.realigned_step : 0));
}

/* Estimated cycles: the larger of cg__mm_tile_cost and cg__mm_read_cost, plus the exchange of sums. Of configurations
   that memory limits equally, the one with less work is cheaper. */
static double cg__mm_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                          const ind_target *target) {
    const double floor = cg__mm_read_cost(x, p, c, target);
    const double cost = cg__mm_tile_cost(x, p, c, target) + cg__mm_unpack_cost(x, p, c, target);
    return (cost > floor ? cost : floor + cost / 64) + cg__mm_split_cost(p, c, target) +
           cg__mm_making_cost(x, p, c, target);
}

/* True if the strategy is of packed weights, which a lane takes from whole blocks. */
static bool cg__mm_takes_packed(ind_strategy s) {
    return s == IND_STRATEGY_MATMUL_PACKED || s == IND_STRATEGY_MATMUL_PACKED_ROW ||
           s == IND_STRATEGY_MATMUL_PACKED_TILES;
}

/* True if bulk copies or cp.async bring packed weights to rings. */
static bool cg__mm_reads_rings(ind_strategy s) {
    return s == IND_STRATEGY_MATMUL_PACKED || s == IND_STRATEGY_MATMUL_PACKED_TILES;
}

/* True if the strategy is of products of few rows, which may have a guard. */
static bool cg__mm_has_few_rows(ind_strategy s) {
    return s == IND_STRATEGY_MATMUL_ROWS || s == IND_STRATEGY_MATMUL_ROWS_MISALIGNED || cg__mm_takes_packed(s);
}

static ind_expr cg__mm_tiles(ind_expr size, int tile) {
    return ind_expr_ceildiv(size, ind_int(size.context, tile));
}

/* Blocks that share a tile, or clusters of them. */
static ind_expr cg__mm_groups(const ind__tile_plan *tile) {
    return tile->cluster > 1 ? cg__mm_tiles(tile->splits, tile->cluster) : tile->splits;
}

/* Tiles of a variant, or of its clusters of tiles. */
static ind_expr cg__mm_all_tiles(const cg__mm_problem *p, const ind__variant *v) {
    const ind__tile_plan *tile = &v->of.tile;
    const int pair_m = tile->pair_m ? tile->pair_m : 1, pair_n = tile->pair_n ? tile->pair_n : 1;
    const ind_expr rows = cg__mm_row_tiles(p, tile->m * pair_m);
    const ind_expr columns = cg__mm_tiles(p->size_n, cg__mm_columns(v) * pair_n);
    return ind_expr_mul(ind_expr_mul(rows, columns), p->batch);
}

/* Tiles along n, then along m, then the batch. With many columns of tiles the order is in stripes of up to 8 rows,
   column by column: resident blocks then read the fewest different rows and columns. */
static void cg__mm_tile_axes(const cg__mm_problem *p, const ind__variant *v, int *stripe, ind_expr tiles[3]) {
    ind_expr rows = cg__mm_row_tiles(p, v->of.tile.m), columns = cg__mm_tiles(p->size_n, cg__mm_columns(v));
    if (cg__mm_has_few_rows(v->strategy) && p->few_rows && v->of.tile.m >= p->few_rows)
        rows = ind_int(columns.context, 1);
    *stripe = 1;
    while (*stripe < 8 && ind_hint(columns) > 8 && 2 * *stripe <= ind_hint(rows)) *stripe *= 2;
    tiles[0] = ind_expr_mul(columns, ind_int(columns.context, *stripe));
    tiles[1] = cg__mm_tiles(rows, *stripe);
    tiles[2] = p->batch;
}

/* The blocks of a launch. Those that share a tile are neighbours: in a cluster along x, else, and the clusters of a
   tile, along z. If no tile is shared, the blocks of a cluster have different tiles. */
static void cg__mm_blocks(const cg__mm_problem *p, const ind__variant *v, int *stripe, ind_expr blocks[3]) {
    const ind__tile_plan *tile = &v->of.tile;
    cg__mm_tile_axes(p, v, stripe, blocks);
    if (!ind__ok(tile->splits)) return;
    if (tile->cluster > 1) {
        const ind_expr cluster = ind_int(tile->splits.context, tile->cluster);
        const ind_expr wide = ind_expr_mul(blocks[0], ind_expr_min(tile->splits, cluster));
        blocks[0] = ind_expr_mul(ind_expr_ceildiv(wide, cluster), cluster);
    }
    blocks[2] = ind_expr_mul(p->batch, cg__mm_groups(tile));
}
