/* Neighbouring tiles of persistent blocks as a cluster: 2 x 1, 1 x 2 or 2 x 2 tiles along m and n. Tiles along m have
   the same columns, so their blocks share the tile of b; tiles along n share that of a. Each block copies its part of a
   shared tile by multicast to all blocks that share it: the cluster reads each element once from the L2.

   Each block's full[stage] expects all bytes of the stage, whichever block copies them. As a block writes to the shared
   memory of others, empty[stage] counts the warps of all blocks to which the block multicasts. The blocks of a cluster
   loop over the same clusters of tiles. A tile outside the product is copied as 0 and stores nothing. */

/* ---- decisions ---- */

enum { MM_NUM_PAIRS = 3, MM_LEAST_PART = 8 /* rows of a box: the swizzle repeats every 8 */ };

static cg__mm_config cg__mm_paired(const cg__mm_config *config, int form) {
    static const int pair_m[MM_NUM_PAIRS] = {2, 1, 2}, pair_n[MM_NUM_PAIRS] = {1, 2, 2};
    cg__mm_config c = *config;
    c.pair_m = pair_m[form];
    c.pair_n = pair_n[form];
    return c;
}

/* Blocks of a cluster of the choice; 0 and 1: none. */
static int cg__mm_cluster_blocks(const ind__tile_choice *c) {
    return c->cluster + c->pair_m * c->pair_n;
}

/* Rows of the boxes of an operand's tile: all rows of a panel of 128 bytes. */
static int cg__mm_panel_rows(const cg__mm_operand *o, int edge, int tile_k) {
    return o->k_major ? edge : tile_k;
}

static bool cg__mm_parts(const cg__mm_operand *o, int edge, int tile_k, int blocks) {
    return blocks < 2 || cg__mm_panel_rows(o, edge, tile_k) % (blocks * MM_LEAST_PART) == 0;
}

/* True if the tiles of the configuration can be in its clusters. Blocks share no tile. Rows of groups are found for
   each tile. Boxes of few rows of a are not multicast: a launch may have fewer of them than a tile. Nor are tiles of
   f32, which may be transposed in place. */
static bool cg__mm_fits_pairs(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                              const ind_target *t) {
    const int blocks = c->pair_m * c->pair_n;
    if (!x->multicasts || c->splits > 1 || p->group.indirect || p->tensor_bytes == 4) return false;
    if (blocks > t->max_cluster || cg__mm_cluster_sms(blocks, t) < blocks) return false;
    if (p->a.k_major && cg__mm_box_rows(p, c->tile_m) < c->tile_m) return false;
    return cg__mm_parts(&p->a, c->tile_m, c->tile_k, c->pair_n) &&
           cg__mm_parts(&p->b, c->tile_n / cg__mm_products(p), c->tile_k, c->pair_m);
}

/* The same of a configuration by its values, which may be none of the forms. */
static bool cg__mm_allows_pairs(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                const ind_target *t) {
    if (!c->pair_m && !c->pair_n) return true;
    for (int i = 0; i < MM_NUM_PAIRS; i++) {
        const cg__mm_config form = cg__mm_paired(c, i);
        if (form.pair_m == c->pair_m && form.pair_n == c->pair_n) return cg__mm_fits_pairs(x, p, c, t);
    }
    return false;
}

static const char *cg__mm_multicast_text(const ind__variant *v) {
    return v->of.tile.pair_m < 2 ? "a is" : v->of.tile.pair_n < 2 ? "b is" : "both operands are";
}

/* Blocks to which a block multicasts tiles of the operand, with itself; 1: it copies them for itself. */
static int cg__mm_sharing_blocks(const ind__variant *v, char name) {
    const int blocks = name == 'a' ? v->of.tile.pair_n : v->of.tile.pair_m;
    return blocks > 1 ? blocks : 1;
}

/* Blocks whose warps read what a block copies. */
static int cg__mm_reading_blocks(const ind__variant *v) {
    return cg__mm_sharing_blocks(v, 'a') + cg__mm_sharing_blocks(v, 'b') - 1;
}

/* ---- writing ---- */

/* "rank": the block's number in its cluster; "rank_m" and "rank_n": of its tile along m and n; the masks of the blocks
   that share its tiles of a and b. */
static void cg__mm_write_ranks(ind__writer *w) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (!tile->pair_m) return;
    ind__textf(&w->code, "const unsigned rank = blockIdx.x %% %d, rank_m = rank %% %d, rank_n = rank / %d;\n",
               tile->pair_m * tile->pair_n, tile->pair_m, tile->pair_m);
    if (tile->pair_n > 1)
        ind__textf(&w->code, "const unsigned short share_a = (unsigned short)(%du << rank_m);\n",
                   1 | 1 << tile->pair_m);
    if (tile->pair_m > 1)
        ind__textf(&w->code, "const unsigned short share_b = (unsigned short)(%du << rank_n * %d);\n",
                   (1 << tile->pair_m) - 1, tile->pair_m);
}

/* All mbarriers of the cluster are initialised. */
static void cg__mm_write_begun(ind__writer *w) {
    if (w->variant->of.tile.pair_m)
        ind__textf(&w->code, "ind_cluster_sync();\n");
    else
        ind__textf(&w->code, "__syncthreads();\n");
}

/* A block may exit when no other one accesses its shared memory any more. */
static void cg__mm_write_ended(ind__writer *w) {
    if (w->variant->of.tile.pair_m) ind__textf(&w->code, "__syncwarp();\nind_cluster_sync();\n");
}

/* The warp has read a stage: tells all blocks that copy to it. `when`: an additional condition. */
static void cg__mm_write_release(ind__writer *w, const char *stage, const char *when) {
    const int blocks = cg__mm_reading_blocks(w->variant);
    if (blocks < 2)
        ind__textf(&w->code, "if (%slane == 0) ind_barrier_arrive(empty + %s);\n", when, stage);
    else
        ind__textf(&w->code, "if (%slane < %d) ind_barrier_arrive_at(empty + %s, rank ^ lane);\n", when, blocks, stage);
}

/* Returns the row (along 'm') or column of the block's tile; number: the row or column of its cluster. */
static const char *cg__mm_tile_number(ind__writer *w, const char *number, char along) {
    const int pair = along == 'm' ? w->variant->of.tile.pair_m : w->variant->of.tile.pair_n;
    return pair > 1 ? cg__string(w, "(%s) * %d + rank_%c", number, pair, along) : number;
}
