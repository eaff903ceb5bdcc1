/* Products whose tiles are too few to fill the GPU: several blocks share the steps of k of a tile. Each block writes
   its sums to memory. The last one of a tile adds them in the order of k, whichever block it is, and runs the epilogue.
   So equal launches give equal results. In persistent blocks each warp does so for its rows of the tile.

   The blocks of a cluster send their sums to one another's shared memory instead. Each of them adds a slice of the
   columns in the order of k, and runs the epilogue of that slice. If a tile has several clusters, their slices are
   added through memory, in the order of k too. */

/* ---- decisions */

#define MM_LEAST_STEPS     4  /* steps of k that a block has at least */
#define MM_MAX_CLUSTER     8  /* blocks of a cluster along k, at most: the portable size */
#define MM_EXCHANGE_SHARED 16 /* bytes of static shared memory of ind_last_block */

/* Blocks of a cluster, 1 without clusters. */
static int cg__mm_cluster(const cg__mm_config *c) {
    return c->cluster > 1 ? c->cluster : 1;
}

/* SMs that clusters of so many blocks fill. A cluster lies in a GPC. These have up to 18 SMs, not all the same number
   (H100), so that clusters of 4 and 8 leave some of them idle. A part of a GPU with few SMs is taken to have GPCs of 16
   (not measured). */
static int cg__mm_cluster_sms(int cluster, const ind_target *t) {
    const int n = t->num_sms, few = n < 16 ? n : n / 16 * 16;
    const int sms = cluster <= 2 ? n : n <= 64 ? few : n * t->thresholds.cluster_sms_percent / 100;
    return sms / cluster * cluster;
}

/* The number of blocks per tile with which each SM has `waves` blocks, at the hinted sizes; 1: none share a tile. */
static int cg__mm_splits_of(const cg__mm_problem *p, const cg__mm_config *c, int waves, const ind_target *t) {
    const int cluster = cg__mm_cluster(c);
    const int64_t tiles = cg__mm_hinted_tiles(p, c), steps = ind_hint(p->size_k) / c->tile_k / MM_LEAST_STEPS / cluster;
    if (!p->max_cluster || tiles < 1) return 1;
    const int64_t fill = (int64_t)waves * cg__mm_cluster_sms(cluster, t) / cluster / tiles;
    const int64_t clusters = fill > steps ? steps : fill;
    return clusters < 1 ? 1 : (int)clusters * cluster;
}

/* Rows of a tile whose sums may be sent: those of warps that have rows. */
static int cg__mm_sent_rows(const cg__mm_problem *p, int tile_m) {
    int64_t least, most;
    ind__known_bounds(p->size_m, &least, &most);
    return most > tile_m - 16 ? tile_m : most < 16 ? 16 : (int)(most + 15) / 16 * 16;
}

/* Bytes of shared memory for the sums that other blocks of the cluster send, and an mbarrier per warp. */
static int64_t cg__mm_cluster_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    return c->cluster > 1 ? (int64_t)cg__mm_sent_rows(p, c->tile_m) * c->tile_n * 4 + c->warps_m * 8 : 0;
}

/* Cycles of the exchange through memory: fences and counters; each block of an SM writes its sums, the last one reads
   those of all. `parts`: blocks that share a tile, or a slice of it. */
static double cg__mm_memory_cost(double bytes, double parts, double per_sm, const ind_thresholds *t) {
    return t->product_exchange + bytes * (parts + per_sm) / t->product_l2_rate;
}

/* Cycles of the exchange. Warps without rows send nothing. Each block of a cluster has a slice. */
static double cg__mm_split_cost(const cg__mm_problem *p, const cg__mm_config *c, const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    if (c->splits < 2) return 0;
    const double row = (double)c->tile_n * cg__mm_sum_bytes(p), per_sm = cg__mm_blocks_per_sm(p, c, target);
    if (c->cluster < 2) return cg__mm_memory_cost(c->tile_m * row, c->splits, per_sm, t);
    const double m = ceil(cg__mm_hinted_rows(p) / 16) * 16, rows = m < c->tile_m ? m : c->tile_m;
    const double sent = rows * row * (c->cluster - 1) / c->cluster * per_sm;
    const double memory = c->splits == c->cluster
                              ? 0
                              : cg__mm_memory_cost(rows * row / c->cluster, (double)c->splits / c->cluster, per_sm, t);
    const double start = t->product_cluster + (c->cluster > 2 ? t->product_large_cluster : 0);
    return start * target->num_sms / t->product_cluster_sms + sent / t->product_cluster_rate + memory;
}

/* Sets the blocks per tile of a launch: as many as give it the blocks that the hinted sizes have, in whole clusters, or
   1. A counter is of a tile, in persistent blocks of a warp's rows, in clusters of a slice of them. A single cluster
   per tile needs no memory: tiles are shared as long as the SMs run the clusters of all at once. */
static void cg__mm_set_splits(cg__decider *d, const cg__mm_problem *p, const cg__mm_config *c, bool persistent) {
    ind__variant *v = d->variant;
    if (c->splits < 2) return;
    ind_context *x = d->w.context;
    const int cluster = cg__mm_cluster(c);
    const ind_expr one = ind_int(x, 1), deep = ind_int(x, (int64_t)c->tile_k * MM_LEAST_STEPS * cluster);
    int stripe;
    ind_expr blocks[3];
    cg__mm_tile_axes(p, v, &stripe, blocks);
    const ind_expr tiles = persistent ? cg__mm_all_tiles(p, v) : ind_expr_product(x, blocks, 3);
    const int64_t clusters = c->splits / cluster, hinted = clusters * ind_hint(tiles);
    const bool in_cluster = cluster > 1 && clusters == 1;
    const int64_t room = in_cluster ? cg__mm_cluster_sms(cluster, d->w.target) / cluster : 0;
    const int64_t fill = room > hinted ? room : hinted;
    const ind_expr fills = ind_expr_floordiv(ind_int(x, fill), ind_expr_max(tiles, one));
    ind_expr each = ind_expr_min(fills, ind_expr_floordiv(p->size_k, deep));
    if (in_cluster) each = ind_expr_min(each, one);
    v->of.tile.splits = ind_expr_max(ind_expr_mul(each, ind_int(x, cluster)), one);
    v->of.tile.cluster = c->cluster;
    if (in_cluster) return;
    v->memory.num_counters = (uint32_t)(fill * cluster * (persistent ? c->warps_m : 1));
    v->memory.partial_bytes = fill * c->tile_m * c->tile_n * cg__mm_sum_bytes(p);
}

static bool cg__mm_is_split(const ind__variant *v) {
    return ind__ok(v->of.tile.splits);
}

/* The threads of a block that add sums of other blocks: those that multiply, if others bring rows of a. */
static int cg__mm_adding_threads(ind_strategy s, int all) {
    return s == IND_STRATEGY_MATMUL_PACKED_TILES ? all - 128 : all;
}

/* Each of these threads adds whole vectors of the slice. */
static bool cg__mm_fit_cluster(cg__mm_config *c, const cg__mm_template *x, const cg__mm_problem *p) {
    const int vectors = c->tile_m * c->tile_n * cg__mm_sum_bytes(p) / 16 / c->cluster;
    return c->tile_m % c->cluster == 0 && vectors % cg__mm_adding_threads(x->strategy, x->threads(c)) == 0;
}

/* The threads that add sums, and all threads of the block if these are more: arguments of a template. */
static const char *cg__mm_adding_text(ind__writer *w) {
    const int all = w->variant->threads, add = cg__mm_adding_threads(w->variant->strategy, all);
    return add == all ? cg__string(w, "%d", all) : cg__string(w, "%d, %d", add, all);
}

/* ---- writing */

/* "rank", the block's number in its cluster, and the position of the tile along x. */
static void cg__mm_write_rank(ind__writer *w, const char *at[3]) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    ind__textf(&w->code, "const unsigned spread = %s == 1 ? 1 : %d, column = %s / spread, rank = %s %% spread;\n",
               cg__divisor(w, tile->splits), tile->cluster, at[0], at[0]);
    at[0] = "column";
}

/* "split", the block's number among those of its tile, and "tile". In clusters "cluster", the number of the cluster
   among those of the tile. at[]: positions along the axes of blocks, then along those of tiles. */
static void cg__mm_write_split(ind__writer *w, const cg__mm_problem *p, const char *at[3]) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *name = tile->cluster > 1 ? "cluster" : "split";
    int64_t batch;
    int stripe;
    ind_expr tiles[3];
    const bool single = ind_expr_is_int(p->batch, &batch) && batch == 1;
    if (tile->cluster > 1) cg__mm_write_rank(w, at);
    cg__mm_tile_axes(p, w->variant, &stripe, tiles);
    const char *columns = cg__divisor(w, tiles[0]);
    if (single) {
        ind__textf(&w->code, "const unsigned %s = %s, tile = %s + %s * %s;\n", name, at[2], at[0], columns, at[1]);
    } else {
        const ind_expr groups = cg__mm_groups(tile);
        ind__textf(&w->code, "const unsigned outer = %s, %s = %s - outer * %s;\n", cg__quotient(w, at[2], groups, true),
                   name, at[2], cg__divisor(w, groups));
        ind__textf(&w->code, "const unsigned tile = %s + %s * (%s + %s * outer);\n", at[0], columns, at[1],
                   cg__divisor(w, tiles[1]));
    }
    at[2] = single ? "0" : "outer";
    if (tile->cluster > 1) ind__textf(&w->code, "const unsigned split = cluster * %d + rank;\n", tile->cluster);
}

/* The steps of the block: the first ones of a tile have one more if they do not divide. */
static void cg__mm_write_steps(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *type = cg__int(w);
    if (!cg__mm_is_split(w->variant)) {
        ind__textf(&w->code, "const %s steps = %s(size_k + %d) / %d;\n", type,
                   cg__mm_skips_steps(p) ? "!grouped ? 0 : " : "", tile->k - 1, tile->k);
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

/* In clusters: adds the sums of a slice of rows, from the shared memory of all blocks. Of several clusters per tile,
   the last one has the sums of all. The rows of the block: `slice` to `slice_end`. No block may exit before the others
   have read its sums. */
static void cg__mm_write_row_exchange(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    const ind__tile_plan *tile = &v->of.tile;
    const char *splits = cg__divisor(w, tile->splits), *type = cg__mm_sum_type(p);
    const int rows = tile->m / tile->cluster;
    ind__textf(&w->code, "const int slice = (int)rank * %d, slice_end = %s == 1 ? %d : slice + %d;\n", rows, splits,
               tile->m, rows);
    cg__begin(w, "if (%s > 1)", splits);
    ind__textf(&w->code, "ind_add_rows<%d, %d, %d, %s>(sum, rank, size_m - first_m);\n", tile->cluster, tile->m,
               tile->n, cg__mm_adding_text(w));
    if (v->memory.partial_bytes) {
        ind__textf(&w->code, "const unsigned at = tile * %d + rank;\n", tile->cluster);
        cg__begin(w,
                  "if (!ind_add_sums<%d, %d, %s>(sum + slice * %d, reinterpret_cast<%s *>(partials), "
                  "&counters[at], at, cluster, %s))",
                  rows, tile->n, cg__mm_adding_text(w), tile->n + 8, type, cg__divisor(w, cg__mm_groups(tile)));
        ind__textf(&w->code, "ind_cluster_begun();\nreturn;\n");
        cg__end(w);
        cg__use(w, IND__CG_ADD_SUMS);
    }
    cg__end(w);
    cg__use(w, IND__CG_ADD_ROWS);
}

/* The other half of the barrier after which the block may exit. */
static void cg__mm_end_row_exchange(ind__writer *w) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (tile->cluster > 1) ind__textf(&w->code, "if (%s > 1) ind_cluster_begun();\n", cg__divisor(w, tile->splits));
}

/* Adds the sums of a tile's blocks, in the last of them. The others return. */
static void cg__mm_write_exchange(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    if (!cg__mm_is_split(v)) return;
    if (v->of.tile.cluster > 1) {
        cg__mm_write_row_exchange(w, p);
        return;
    }
    ind__textf(
        &w->code,
        "if (!ind_add_sums<%d, %d, %s>(sum, reinterpret_cast<%s *>(partials), &counters[tile], tile, split, %s)) "
        "return;\n",
        v->of.tile.m, v->of.tile.n, cg__mm_adding_text(w), cg__mm_sum_type(p), cg__divisor(w, v->of.tile.splits));
    cg__use(w, IND__CG_ADD_SUMS);
}

/* In persistent blocks: "split" and "tile" of the number `share`. In clusters, consecutive shares are of a tile; if no
   tile is shared, each is a tile. "rank": the block's number in the cluster. "cluster": the cluster's number in the
   tile. */
static void cg__mm_write_share(ind__writer *w) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (tile->cluster < 2) {
        ind__textf(&w->code, "const unsigned split = share / tiles, tile = share - split * tiles;\n");
        return;
    }
    const char *splits = cg__divisor(w, tile->splits);
    ind__textf(&w->code, "const unsigned rank = %s == 1 ? 0 : share %% %d, pass = %s == 1 ? share : share / %d;\n",
               splits, tile->cluster, splits, tile->cluster);
    ind__textf(&w->code,
               "const unsigned cluster = pass / tiles, tile = pass - cluster * tiles, split = cluster * %d + rank;\n",
               tile->cluster);
}

/* The strips of a tile whose epilogue the block computes: all of them, or those of its slice. */
static void cg__mm_write_strip_range(ind__writer *w, int strips) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (tile->cluster < 2) return;
    const char *splits = cg__divisor(w, tile->splits);
    ind__textf(&w->code, "const int first_strip = (int)rank * %d, end_strip = %s == 1 ? %d : first_strip + %d;\n",
               strips / tile->cluster, splits, strips, strips / tile->cluster);
}

static const char *cg__mm_first_strip(const ind__writer *w) {
    return w->variant->of.tile.cluster > 1 ? "first_strip" : "0";
}

static const char *cg__mm_end_strip(ind__writer *w, int strips) {
    return w->variant->of.tile.cluster > 1 ? "end_strip" : cg__string(w, "%d", strips);
}

/* That memory, from byte `offset` on, and the first half of a barrier of the cluster. Threads wait for the other half
   before they send sums, or exit. */
static void cg__mm_begin_cluster(ind__writer *w, const cg__mm_problem *p, int offset) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (tile->cluster < 2) return;
    ind__textf(&w->code,
               "float *const sent = reinterpret_cast<float *>(ind_smem + %d);\n"
               "unsigned long long *const arrived = reinterpret_cast<unsigned long long *>(sent + %d);\n",
               offset, cg__mm_sent_rows(p, tile->m) * tile->n);
    ind__textf(&w->code, "ind_cluster_begin(arrived, %d);\n", tile->warps_m);
    cg__use(w, IND__CG_ADD_SLICES);
}

static void cg__mm_wait_for_cluster(ind__writer *w) {
    if (w->variant->of.tile.cluster > 1) ind__textf(&w->code, "__syncwarp();\nind_cluster_begun();\n");
}

/* The sums of a warp's rows: the slice of the block, of all blocks of the tile. */
static void cg__mm_write_cluster_exchange(ind__writer *w) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *splits = cg__divisor(w, tile->splits);
    cg__begin(w, "if (%s > 1)", splits);
    ind__textf(&w->code, "float slice[%d][4];\n", tile->n / 8 / tile->cluster);
    ind__textf(&w->code, "ind_add_slices<%d>(slice, acc, sent + warp * %d, arrived + warp, rank);\n", tile->cluster,
               tile->n * 16);
    if (w->variant->memory.partial_bytes) {
        ind__textf(&w->code,
                   "if (!ind_add_fragments(slice, reinterpret_cast<float *>(partials), counters, (tile * %d + warp) * "
                   "%d + rank, cluster, %s)) continue;\n",
                   tile->warps_m, tile->cluster, cg__divisor(w, cg__mm_groups(tile)));
        cg__use(w, IND__CG_ADD_FRAGMENTS);
    }
    ind__textf(&w->code, "ind_put_slice(acc, slice, rank);\n");
    cg__end(w);
}

/* The same for the rows of a warp, in a loop over tiles. */
static void cg__mm_write_warp_exchange(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (!cg__mm_is_split(w->variant)) return;
    ind__textf(&w->code, "if (tile_m + warp * 16 >= size_m) continue;\n");
    if (tile->cluster > 1) {
        cg__mm_write_cluster_exchange(w);
        return;
    }
    ind__textf(&w->code,
               "if (!ind_add_fragments(acc, reinterpret_cast<%s *>(partials), counters, tile * %d + warp, split, %s)) "
               "continue;\n",
               cg__mm_sum_type(p), tile->warps_m, cg__divisor(w, tile->splits));
    cg__use(w, IND__CG_ADD_FRAGMENTS);
}
