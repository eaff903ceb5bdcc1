/* ---- the choice of a tile ---- */

/* Tensor cores need two operands of one 16-bit type, as they lie in memory. A LOAD under a mask will do: it gives 0 or
   what lies in memory. */
static bool cg__mm_can_mma(const cg__mm_problem *p) {
    return p->sum == IND_F32 && cg__mm_is_half(&p->a) && p->a.memory == p->b.memory;
}

/* The type in which sums, and the tiles of FMA, are kept: unsigned for integers, which wrap around. */
static const char *cg__mm_sum_type(const cg__mm_problem *p) {
    return ind_dtype_is_float(p->sum) ? cg__types[p->sum].value : cg__types[p->sum].wrapping;
}

static int cg__mm_sum_bytes(const cg__mm_problem *p) {
    return ind_dtype_bytes(p->sum) == 8 ? 8 : 4;
}

/* What multiplies. */
typedef enum cg__mm_unit { MM_FMA, MM_MMA, MM_WGMMA } cg__mm_unit;

/* Tile, warps along m and n (FMA: the side of a thread's block in warps_m), depth of the pipeline, and registers per
   thread that are enough without spilling: measured with NVRTC 13.0 for sm_80, sm_90a and sm_100, 32-bit indices, an
   epilogue of three ops. */
typedef struct cg__mm_config {
    cg__mm_unit unit;
    int tile_m, tile_n, tile_k, warps_m, warps_n, stages, registers;
} cg__mm_config;

static const cg__mm_config cg__mm_configs[] = {
    {MM_WGMMA, 256, 128, 64, 16, 1, 4, 128}, {MM_WGMMA, 128, 256, 64, 8, 1, 4, 255},
    {MM_WGMMA, 128, 192, 64, 8, 1, 4, 255},  {MM_WGMMA, 128, 128, 64, 8, 1, 4, 255},
    {MM_WGMMA, 128, 128, 64, 8, 1, 3, 128},  {MM_WGMMA, 128, 96, 64, 8, 1, 8, 255},
    {MM_WGMMA, 128, 96, 64, 8, 1, 4, 128},   {MM_WGMMA, 128, 64, 64, 8, 1, 8, 255},
    {MM_WGMMA, 128, 64, 64, 8, 1, 4, 128},   {MM_WGMMA, 128, 32, 64, 8, 1, 4, 80},
    {MM_WGMMA, 64, 192, 64, 4, 1, 4, 255},   {MM_WGMMA, 64, 128, 64, 4, 1, 4, 168},
    {MM_WGMMA, 64, 128, 64, 4, 1, 3, 168},   {MM_WGMMA, 64, 96, 64, 4, 1, 4, 168},
    {MM_WGMMA, 64, 96, 64, 4, 1, 3, 168},    {MM_WGMMA, 64, 64, 64, 4, 1, 8, 255},
    {MM_WGMMA, 64, 64, 64, 4, 1, 4, 128},    {MM_WGMMA, 64, 32, 64, 4, 1, 4, 96},
    {MM_MMA, 128, 128, 64, 2, 2, 3, 255},    {MM_MMA, 128, 128, 32, 2, 2, 4, 255},
    {MM_MMA, 128, 128, 32, 2, 4, 4, 128},    {MM_MMA, 128, 96, 64, 2, 2, 3, 240},
    {MM_MMA, 128, 64, 64, 2, 2, 3, 168},     {MM_MMA, 64, 128, 64, 2, 2, 3, 200},
    {MM_MMA, 64, 64, 64, 2, 2, 4, 128},      {MM_MMA, 64, 64, 64, 2, 2, 3, 128},
    {MM_MMA, 128, 32, 64, 4, 1, 3, 96},      {MM_MMA, 64, 32, 64, 4, 1, 3, 96},
    {MM_MMA, 32, 128, 64, 1, 4, 3, 128},     {MM_MMA, 32, 64, 64, 2, 2, 4, 96},
    {MM_MMA, 16, 64, 64, 1, 4, 4, 96},       {MM_FMA, 128, 128, 8, 8, 0, 2, 128},
    {MM_FMA, 64, 64, 16, 4, 0, 2, 128},      {MM_FMA, 32, 32, 16, 4, 0, 2, 128},
};
#define MM_NUM_CONFIGS (sizeof cg__mm_configs / sizeof cg__mm_configs[0])

static int cg__mm_threads(const cg__mm_config *c) {
    return c->unit != MM_FMA ? c->warps_m * c->warps_n * 32 : c->tile_m * c->tile_n / (c->warps_m * c->warps_m);
}

static bool cg__mm_has_prologue(const cg__mm_problem *p) {
    return p->a.computed || p->b.computed;
}

/* Shared memory that an operand of 16 bits takes: a tile in each stage, or what a single tile is computed from. */
static int64_t cg__mm_operand_bytes(const cg__mm_operand *o, int64_t elements, int stages) {
    return elements * (o->computed ? stages * o->staged_bytes + 2 : stages * 2);
}

/* Shared memory: the pipeline's tiles, later the sums in the same place (rows padded as in ind_sum_at). */
static int64_t cg__mm_shared(const cg__mm_problem *p, const cg__mm_config *c) {
    int sum_bytes = cg__mm_sum_bytes(p);
    int64_t sums = (int64_t)c->tile_m * (c->tile_n + 8) * sum_bytes;
    int64_t tiles = c->unit != MM_FMA ? cg__mm_operand_bytes(&p->a, c->tile_m * c->tile_k, c->stages) +
                                            cg__mm_operand_bytes(&p->b, c->tile_n * c->tile_k, c->stages)
                                      : (int64_t)2 * (c->tile_m + c->tile_n + 8) * c->tile_k * sum_bytes;
    return sums > tiles ? sums : tiles;
}

/* The config with no more k per step and no more stages than a known depth can use. The sums of a single step need not
   all be kept at once. */
static cg__mm_config cg__mm_fit_depth(cg__mm_config c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    if (c.unit == MM_FMA) {
        if (index_bits == 64) c.registers += 48; /* addresses of the elements on their way, and what they share */
        if (p->involved) c.registers += 48;
        return c;
    }
    if (depth <= 32) c.tile_k = 32;
    int64_t steps = (depth + c.tile_k - 1) / c.tile_k;
    int ahead = c.unit == MM_WGMMA ? 2 : 1; /* stages beside those that are being filled */
    if (c.stages > steps + ahead) c.stages = steps + ahead < ahead + 1 ? ahead + 1 : (int)steps + ahead;
    if (steps <= 1 && c.registers > 160) c.registers = 160;
    if (cg__mm_has_prologue(p)) c.registers = c.registers > 207 ? 255 : c.registers + 48;
    return c;
}

/* Blocks that fit one multiprocessor together: its registers belong to four quarters, among which the warps are dealt
   out. FMA on 8 bytes takes twice the registers. */
static int cg__mm_occupancy(const cg__mm_problem *p, const cg__mm_config *c, const ind_target *t) {
    int64_t threads = cg__mm_threads(c), registers = cg__mm_sum_bytes(p) == 8 ? 2 * c->registers : c->registers;
    int64_t by_shared = t->shared_per_sm / (cg__mm_shared(p, c) + 1024); /* 1 KiB is the system's */
    int64_t by_registers = 16384 / (32 * registers) * 4 * 32 / threads, by_threads = 2048 / threads;
    int64_t n = by_shared < by_registers ? by_shared : by_registers;
    n = n < by_threads ? n : by_threads;
    return n < 1 ? 1 : n > 16 ? 16 : (int)n;
}

/* Cycles that one element of depth keeps the units busy which a block needs, the slowest of three. Multiplying TM TN:
   at 2048 (wgmma), 800 (mma.sync) or 128 (FMA) multiply-adds per cycle. Fetching TM + TN elements from L2 at 60 bytes
   per cycle and multiprocessor when all of them do. Feeding the multipliers from shared memory at 128 bytes per cycle:
   each warp reads its rows of both tiles, each wgmma its 64 rows of a and all of b, and what was fetched is written.
   None is ever busy for more than 0.85 of the time. */
static double cg__mm_depth_cost(const cg__mm_config *c, int sum_bytes) {
    double area = (double)c->tile_m * c->tile_n, edge = (double)c->tile_m + c->tile_n, bytes = 2;
    double rate = 2048, rows = area / 64 + c->tile_m;
    if (c->unit == MM_MMA) {
        rate = 800;
        rows = (double)c->tile_m * c->warps_n + (double)c->tile_n * c->warps_m;
    } else if (c->unit == MM_FMA) {
        rate = 128.0 * 4 / sum_bytes;
        rows = 2 * area / c->warps_m;
        bytes = sum_bytes;
    }
    double multiply = area / rate, fetch = edge * bytes / 60, feed = (rows + edge) * bytes / 128;
    double slowest = multiply > fetch ? multiply : fetch;
    return (slowest > feed ? slowest : feed) / 0.85;
}

/* Estimated cycles. Blocks are dealt out evenly; those of one multiprocessor share its units, so their work adds up:
   the steps of k and the epilogue, whose 12 bytes per sum take 1 cycle per 100. A step cannot be faster than a copy's
   way from L2, 900 cycles, divided by the copies that are under way at a time in all blocks that run together. The
   latency of a block (start, first copies, epilogue) is paid once for as many blocks as fit together. The constants
   that are no data of the processor were fitted to 480 timings of 16 problems with 30 configs on an H200: for the ten
   fastest configs of each they are off by 11 % on average. */
static double cg__mm_cost(const cg__mm_problem *p, const cg__mm_config *c, int sum_bytes, const ind_target *t) {
    int64_t m = ind_hint(p->size_m), n = ind_hint(p->size_n), k = ind_hint(p->size_k), batch = ind_hint(p->batch);
    double tiles_m = (double)((m + c->tile_m - 1) / c->tile_m), tiles_n = (double)((n + c->tile_n - 1) / c->tile_n);
    double per_sm = ceil((double)batch * tiles_m * tiles_n / t->num_sms), fit = cg__mm_occupancy(p, c, t);
    double steps = (double)((k + c->tile_k - 1) / c->tile_k), together = per_sm < fit ? per_sm : fit;
    double way = 900.0 / (c->unit == MM_WGMMA ? c->stages - 2 : c->stages - 1);
    double step = cg__mm_depth_cost(c, sum_bytes) * c->tile_k;
    if (step * together < way) step = way / together;
    return per_sm * (steps * step + (double)c->tile_m * c->tile_n * 0.12) + (800 + way) * ceil(per_sm / fit);
}

/* Can the target run this config on this problem? A tile with rows along k consists of one narrow panel or of several
   of 64 columns, and the threads are spread evenly over its width. wgmma exists on sm_90a only; it reads tiles that the
   copies have brought in. 64-bit indices, or sums of 8 bytes, leave no room for the largest blocks per thread. */
static bool cg__mm_fits(const cg__mm_problem *p, const cg__mm_config *c, int index_bits, const ind_target *t) {
    int sum_bytes = cg__mm_sum_bytes(p);
    if ((c->unit != MM_FMA) != cg__mm_can_mma(p) || cg__mm_shared(p, c) > t->shared_per_block) return false;
    if (c->unit == MM_FMA) return c->warps_m * sum_bytes <= 32;
    if (!p->b.k_major && (c->tile_n & (c->tile_n - 1))) return false;
    if (c->unit == MM_MMA) return c->registers <= (p->a.computed || p->b.computed ? 216 : 168) || index_bits == 32;
    return t->specific && t->sm == 90 && p->a.copy && p->b.copy;
}

/* The cheapest config. */
static cg__mm_config cg__mm_choose_config(const cg__mm_problem *p, int index_bits, const ind_target *t) {
    int64_t lo, hi;
    ind__known_bounds(p->size_k, &lo, &hi);
    cg__mm_config best = {.unit = MM_FMA};
    double best_cost = 0;
    for (size_t i = 0; i < MM_NUM_CONFIGS; i++) {
        cg__mm_config c = cg__mm_fit_depth(cg__mm_configs[i], p, hi, index_bits);
        if (!cg__mm_fits(p, &c, index_bits, t)) continue;
        double cost = cg__mm_cost(p, &c, cg__mm_sum_bytes(p), t);
        if (best_cost == 0 || cost < best_cost) best = c, best_cost = cost;
    }
    return best;
}
