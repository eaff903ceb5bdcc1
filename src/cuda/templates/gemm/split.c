/* Products whose tiles are too few to fill the GPU: several blocks share the steps of k of a tile. Each block writes
   its sums to memory. The last one of a tile adds them in the order of k, whichever block it is, and runs the epilogue.
   So equal launches give equal results. In persistent blocks each warp does so for its rows of the tile. */

/* ---- decisions */

#define MM_LEAST_STEPS     4  /* steps of k that a block has at least */
#define MM_EXCHANGE_SHARED 16 /* bytes of static shared memory of ind_last_block */

/* The number of blocks per tile with which each SM has `waves` blocks, at the hinted sizes; 1: none share a tile. */
static int cg__mm_splits_of(const cg__mm_problem *p, const cg__mm_config *c, int waves, const ind_target *t) {
    const int64_t blocks = cg__mm_hinted_tiles(p, c), steps = ind_hint(p->size_k) / c->tile_k / MM_LEAST_STEPS;
    if (p->unsplit || blocks < 1) return 1;
    const int64_t splits = (int64_t)waves * t->num_sms / blocks;
    return splits > steps ? (steps < 1 ? 1 : (int)steps) : splits < 1 ? 1 : (int)splits;
}

/* Cycles of the exchange: fences and counters; each block of an SM writes its sums, the last one reads those of all. */
static double cg__mm_split_cost(const cg__mm_problem *p, const cg__mm_config *c, const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    if (c->splits < 2) return 0;
    const double bytes = (double)c->tile_m * c->tile_n * cg__mm_sum_bytes(p);
    const double per_sm = cg__mm_blocks_per_sm(p, c, target);
    return t->product_exchange + bytes * (c->splits + per_sm) / t->product_l2_rate;
}

/* Sets the blocks per tile of a launch: as many as give it the blocks that the hinted sizes have. A counter is of a
   tile, in persistent blocks of a warp's rows. */
static void cg__mm_set_splits(cg__decider *d, const cg__mm_problem *p, const cg__mm_config *c, bool persistent) {
    ind__variant *v = d->variant;
    if (c->splits < 2) return;
    ind_context *x = d->w.context;
    const ind_expr one = ind_int(x, 1), deep = ind_int(x, (int64_t)c->tile_k * MM_LEAST_STEPS);
    int stripe;
    ind_expr blocks[3];
    cg__mm_blocks(p, v, &stripe, blocks);
    const ind_expr tiles = persistent ? cg__mm_all_tiles(p, v) : ind_expr_product(x, blocks, 3);
    const int64_t fill = c->splits * ind_hint(tiles);
    const ind_expr fills = ind_expr_floordiv(ind_int(x, fill), ind_expr_max(tiles, one));
    v->of.tile.splits = ind_expr_max(ind_expr_min(fills, ind_expr_floordiv(p->size_k, deep)), one);
    v->memory.num_counters = (uint32_t)(fill * (persistent ? c->warps_m : 1));
    v->memory.partial_bytes = fill * c->tile_m * c->tile_n * cg__mm_sum_bytes(p);
}

static bool cg__mm_is_split(const ind__variant *v) {
    return ind__ok(v->of.tile.splits);
}

/* ---- writing */

/* "split", the block's number among those of its tile, and "tile". at[]: positions along the axes. Returns the position
   of the batch. */
static const char *cg__mm_write_split(ind__writer *w, const cg__mm_problem *p, const ind_expr blocks[3],
                                      const char *const at[3]) {
    const ind_expr splits = w->variant->of.tile.splits;
    int64_t batch;
    const bool single = ind_expr_is_int(p->batch, &batch) && batch == 1;
    const char *outer = single ? "0" : "outer", *columns = cg__divisor(w, blocks[0]);
    if (single) {
        ind__textf(&w->code, "const unsigned split = %s, tile = %s + %s * %s;\n", at[2], at[0], columns, at[1]);
        return outer;
    }
    ind__textf(&w->code, "const unsigned outer = %s, split = %s - outer * %s;\n", cg__quotient(w, at[2], splits, true),
               at[2], cg__divisor(w, splits));
    ind__textf(&w->code, "const unsigned tile = %s + %s * (%s + %s * outer);\n", at[0], columns, at[1],
               cg__divisor(w, blocks[1]));
    return outer;
}

/* The steps of the block: the first ones of a tile have one more if they do not divide. */
static void cg__mm_write_steps(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *type = cg__int(w);
    if (!cg__mm_is_split(w->variant)) {
        ind__textf(&w->code, "const %s steps = (size_k + %d) / %d;\n", type, tile->k - 1, tile->k);
        return;
    }
    const ind_expr steps = cg__mm_tiles(p->size_k, tile->k), each = ind_expr_floordiv(steps, tile->splits);
    const ind_expr more = ind_expr_sub(steps, ind_expr_mul(each, tile->splits));
    const char *each_text = cg__expr_string(w, each), *more_text = cg__expr_string(w, more);
    ind__textf(&w->code, "const %s first_step = split * %s + (split < %s ? split : %s);\n", type, each_text, more_text,
               more_text);
    ind__textf(&w->code, "const %s steps = %s + (split < %s);\n", type, each_text, more_text);
}

/* "first_k" of a step of the block. */
static void cg__mm_write_first_k(ind__writer *w, const char *step) {
    if (cg__mm_is_split(w->variant)) step = cg__string(w, "(first_step + %s)", step);
    ind__textf(&w->code, "const %s first_k = %s * %d;\n", cg__int(w), step, w->variant->of.tile.k);
}

/* Adds the sums of a tile's blocks, in the last of them. The others return. */
static void cg__mm_write_exchange(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    if (!cg__mm_is_split(v)) return;
    ind__textf(
        &w->code,
        "if (!ind_add_sums<%d, %d, %d>(sum, reinterpret_cast<%s *>(partials), &counters[tile], tile, split, %s)) "
        "return;\n",
        v->of.tile.m, v->of.tile.n, v->threads, cg__mm_sum_type(p), cg__divisor(w, v->of.tile.splits));
    cg__use(w, IND__CG_ADD_SUMS);
}

/* The same for the rows of a warp, in a loop over tiles. */
static void cg__mm_write_warp_exchange(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (!cg__mm_is_split(w->variant)) return;
    ind__textf(&w->code, "if (tile_m + warp * 16 >= size_m) continue;\n");
    ind__textf(&w->code,
               "if (!ind_add_fragments(acc, reinterpret_cast<%s *>(partials), counters, tile * %d + warp, split, %s)) "
               "continue;\n",
               cg__mm_sum_type(p), tile->warps_m, cg__divisor(w, tile->splits));
    cg__use(w, IND__CG_ADD_FRAGMENTS);
}
