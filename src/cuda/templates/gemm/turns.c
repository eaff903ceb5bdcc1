/* Two tiles of a block in turn: bulk-copied wgmma tiles whose two warpgroups multiply different tiles, so that one runs
   its epilogue while the other one multiplies. */

/* The copying thread fills the ring of stages tile by tile. Warpgroup 0 multiplies the first, third, .. of the block's
   tiles, warpgroup 1 the others. Each skips the stages of the other's tiles. The mbarrier turn[g] completes when the
   other warpgroup has issued all products of its tile. Without it the tensor cores would alternate between two tiles,
   whose epilogues would then coincide; and a warpgroup could wait for a stage that is two phases ahead, which an
   mbarrier cannot tell from the current phase.

   A configuration has warps_n 2: warps_m warps multiply a tile, all of its rows by one warpgroup. A thread has the sums
   of tile.m / 64 rows of fragments, as if the tile were 64 rows of tile.m / 64 times the columns. */

enum {
    MM_TURNS = 2,
    MM_GROUP_ROWS = 64, /* of the wgmma of a warpgroup */
    MM_MOST_SUMS = 160  /* of a thread, beside which it has registers for any epilogue */
};

/* Warps that multiply. */
static int cg__mm_multiplying_warps(const ind__variant *v) {
    return v->of.tile.warps_m * v->of.tile.warps_n;
}

static bool cg__mm_in_turn(const ind__variant *v) {
    return v->strategy == IND_STRATEGY_MATMUL_TMA && v->of.tile.warps_n == MM_TURNS;
}

static bool cg__mm_config_in_turn(const cg__mm_template *x, const cg__mm_config *c) {
    return x->strategy == IND_STRATEGY_MATMUL_TMA && c->warps_n == MM_TURNS;
}

/* Pieces of 64 rows of a tile that the same warps multiply. */
static int cg__mm_row_pieces(const ind__variant *v) {
    return cg__mm_in_turn(v) ? v->of.tile.m / MM_GROUP_ROWS : 1;
}

/* The sums of a tile leave the tensor cores once, and are of one product. All tiles have the same number of steps.
   Beside the most sums there are registers for an epilogue that loads no tensor of the shape of the results. */
static bool cg__mm_allows_turns(const cg__mm_config *c, const cg__mm_problem *p) {
    const int sums = c->tile_m * c->tile_n / (32 * c->warps_m);
    if (c->warps_n < MM_TURNS) return true;
    if (sums > MM_MOST_SUMS && (!p->epilogue.rounded || p->epilogue.loads)) return false;
    return !p->promotes && !p->dot2 && !p->group.indirect && p->tensor_bytes < 4;
}

/* Cycles of the tiles of a block: the tensor cores multiply one tile while the epilogue of the other one runs, which
   takes four warps longer than eight. Nothing hides the last epilogue. */
static double cg__mm_turns_cost(double tiles, double multiply, double epilogue, const ind_thresholds *t) {
    epilogue *= t->product_turn_epilogue / 100.0;
    const double tile = multiply > (multiply + epilogue) / 2 ? multiply : (multiply + epilogue) / 2;
    return tiles * tile + epilogue;
}

/* ---- writing ---- */

/* The first row of the warp's strip, relative to the tile. `per_piece`: strips of 64 rows. */
static const char *cg__mm_strip_row(ind__writer *w, int per_piece) {
    if (!cg__mm_in_turn(w->variant)) return "warp * 16";
    if (cg__mm_row_pieces(w->variant) < 2) return "warp % 4 * 16";
    return cg__string(w, "strip / %d * 64 + warp %% 4 * 16", per_piece);
}

/* The number of the strip in its 64 rows. */
static const char *cg__mm_strip_in_piece(ind__writer *w, int per_piece) {
    return cg__mm_row_pieces(w->variant) < 2 ? "strip" : cg__string(w, "strip %% %d", per_piece);
}

static void cg__mm_write_turn_barriers(ind__writer *w) {
    if (!cg__mm_in_turn(w->variant)) return;
    ind__textf(&w->code, "for (int i = 0; i < %d; i++) ind_barrier_init(turn + i, %d);\n", MM_TURNS,
               w->variant->of.tile.warps_m);
}

/* The loop over the tiles of a warpgroup: "order" is the position of a tile among those of the block. */
static void cg__mm_begin_turns(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int blocks = tile->pair_m ? tile->pair_m * tile->pair_n : 1;
    const char *block = blocks > 1 ? cg__string(w, "blockIdx.x / %d", blocks) : "blockIdx.x";
    const char *apart = blocks > 1 ? cg__string(w, "gridDim.x / %d", blocks) : "gridDim.x";
    ind__textf(&w->code, "const int warpgroup = warp / %d;\nunsigned order = warpgroup;\n#pragma unroll 1\n",
               tile->warps_m);
    cg__begin(w, "for (unsigned tile = %s + warpgroup * (%s); tile < tiles; tile += %d * (%s), order += %d)", block,
              apart, MM_TURNS, apart, MM_TURNS);
    cg__mm_write_tile_of(w, p);
    ind__textf(&w->code, "const unsigned first_stage = order * (unsigned)steps;\n");
    ind__textf(&w->code, "int stage = first_stage %% %d, phase = first_stage / %d & 1;\n", tile->stages, tile->stages);
}

/* Before the products of a tile: the other warpgroup has issued those of its tile. */
static void cg__mm_write_turn_wait(ind__writer *w) {
    if (!cg__mm_in_turn(w->variant)) return;
    ind__textf(&w->code, "ind_barrier_wait(turn + warpgroup, (order / %d + warpgroup + 1) & 1);\n", MM_TURNS);
}

static void cg__mm_write_turn_end(ind__writer *w) {
    if (!cg__mm_in_turn(w->variant)) return;
    ind__textf(&w->code, "if (lane == 0) ind_barrier_arrive(turn + (warpgroup ^ 1));\n");
}
