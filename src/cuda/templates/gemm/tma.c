/* Products with wgmma on tiles that bulk tensor copies bring in, by persistent blocks: sm_90a. */

/* A block has warps that multiply, four of them (a warpgroup) per 64 rows of the tile, and one warpgroup that copies
   and gives its registers to the others. One thread of it starts the copies of all steps of all of the block's tiles,
   as far ahead as there are stages. The mbarrier full[stage] completes when the bytes of a step are there, empty[stage]
   when all warps have multiplied them. So the copies of the next tile are in flight while the warps run the epilogue. A
   warp spreads its sums in shared memory of its own, a strip of 8 rows at a time, and waits for no other warp.

   The copies need tensor maps of the operands (CUtensorMap). The driver encodes them before the launch. Elements
   outside an operand are copied as 0. Copies of f32 round it to tf32.

   wgmma multiplies tf32 with rows along k only. If an operand is contiguous along m or n, three idle warps of the
   copying warpgroup transpose its tile in shared memory: they wait for full[stage], and the mbarrier ready[stage]
   completes when all of them are done. */

/* ---- the maps ---- */

static bool cg__is_declared(ind_expr e);

/* Adds a dimension of `box` elements: the one along variable v, with the stride that its index has. */
static const char *cg__mm_add_dim(ind__tensor_map *map, ind_expr size, ind_expr stride, int box) {
    int64_t known;
    if (map->rank == IND__MAX_MAP_RANK) return "an operand has more than five dimensions that do not merge";
    if (ind_expr_is_int(stride, &known) && known <= 0) return "an operand is broadcast or reversed along a dimension";
    if (!cg__is_declared(stride) || !cg__is_declared(size)) return "a stride of an operand depends on data";
    map->size[map->rank] = size;
    map->stride[map->rank] = stride;
    map->box[map->rank++] = box;
    return NULL;
}

/* True if the operand has a matrix for each group of rows. */
static bool cg__mm_is_grouped(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    return p->group.indirect && o->load &&
           ind__expr_depends(cg__index_of(w, o->load), w->body->index[cg__inst(w, p->group.indirect)->index + 1]);
}

/* Adds the dimension of matrices of groups, if the index has a group; *rest: the index without. */
static const char *cg__mm_add_groups(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o,
                                     ind_expr *rest, ind__tensor_map *map) {
    if (!cg__mm_is_grouped(w, p, o)) return NULL;
    const ind_expr group = w->body->index[cg__inst(w, p->group.indirect)->index + 1];
    ind_expr stride;
    if (!ind__affine(*rest, group, &stride, rest)) return "an operand's index is not a sum of strides";
    return cg__mm_add_dim(map, p->group.num, stride, 1);
}

/* The map of an operand: the dimension along which neighbours are contiguous, the other one of the tile, then the batch
   variables that its index has, then the group of rows. Boxes are set by the configuration. */
static const char *cg__mm_find_map(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o,
                                   ind__tensor_map *map) {
    const ind__loops *x = &w->plan->domain;
    const int along = o->k_major ? p->k : o->x, other = o->k_major ? o->x : p->k;
    ind_expr stride[2 * IND_MAX_RANK], rest;
    if (!o->copy || along < 0 || other < 0 || cg__inst(w, o->load)->arg[0])
        return "an operand is not copied in vectors, or under a mask";
    rest = cg__index_of(w, o->load);
    for (int v = 0; v < x->rank + x->rrank; v++)
        if (!ind__affine(rest, x->var[v], &stride[v], &rest)) return "an operand's index is not a sum of strides";
    *map = (ind__tensor_map){.dtype = o->memory, .swizzle = 128, .tf32 = p->tensor_bytes == 4};
    const char *no = cg__mm_add_dim(map, x->extent[along], stride[along], 128 / p->tensor_bytes);
    if (!no) no = cg__mm_add_dim(map, x->extent[other], stride[other], 128 / p->tensor_bytes);
    for (int v = x->rank - 1; v >= 0 && !no; v--)
        if (cg__mm_is_batch(p, v) && !ind_known_eq(stride[v], ind_int(w->context, 0)))
            no = cg__mm_add_dim(map, x->extent[v], stride[v], 1);
    if (!no) no = cg__mm_add_groups(w, p, o, &rest, map);
    map->offset = rest;
    return no || cg__is_declared(rest) ? no : "an operand's offset depends on data";
}

/* True if a number of rows may decide whether the operands have maps, which round ties to even; mma.sync rounds them
   away from zero. So rows of a batch_invariant module have no maps then. */
static bool cg__mm_rounds_by_size(const cg__decider *d, const cg__mm_problem *p) {
    if (p->tensor_bytes != 4 || !d->w.schedule->program->batch_invariant) return false;
    return (!p->a.k_major && !ind_known_multiple(p->size_m, 4)) || (!p->b.k_major && !ind_known_multiple(p->size_n, 4));
}

/* Sets the maps of the operands, or the reason why there are none. */
static void cg__mm_find_maps(cg__decider *d, cg__mm_problem *p) {
    cg__mm_operand *const o[3] = {&p->a, &p->b, &p->b2};
    if (!(d->assume & IND__ASSUME_MAPS)) p->no_maps = "the variant assumes no tensor maps";
    if (ind__body_unbacked(d->w.schedule->program, d->w.body)) p->no_maps = "sizes depend on data";
    if (cg__mm_rounds_by_size(d, p))
        p->no_maps = "the number of rows would decide how f32 is rounded (batch_invariant)";
    for (int i = 0; i < 1 + cg__mm_products(p) && !p->no_maps; i++) {
        ind__tensor_map *map = (ind__tensor_map *)ind__arena_alloc(d->w.arena, sizeof *map);
        if (!map) {
            cg__fail(&d->w);
            return;
        }
        p->no_maps = cg__mm_find_map(&d->w, p, o[i], map);
        p->map[i] = map;
    }
    p->rounded = !p->no_maps && cg__mm_rounded_store(&d->w, p);
}

/* The rows of a box of a: all rows of the tile, or so many that few rows at the hint fit in one box. Boxes of
   rows that do not exist are not copied. (With boxes of 64 rows, 4 rows x 4096 x 14336 take 40.4 us and 64 rows 33.8,
   H200. Smaller boxes were not measured.) */
static int cg__mm_box_rows(const cg__mm_problem *p, int tile_m) {
    const int64_t groups = cg__mm_hinted_groups(p), m = (ind_hint(p->size_m) + groups - 1) / groups;
    int rows = 8;
    while (rows < m && rows < tile_m) rows *= 2;
    return tile_m % rows ? tile_m : rows;
}

/* The rows of a box: those of the tile, of an operand with rows along m or n; the block's part of them, if it
   multicasts the tile. */
static void cg__mm_set_boxes(cg__decider *d, cg__mm_problem *p) {
    d->used |= IND__ASSUME_MAPS;
    if (p->a.k_major) p->map[0]->box[1] = cg__mm_box_rows(p, d->variant->of.tile.m);
    for (int i = 0; p->b.k_major && i < cg__mm_products(p); i++) p->map[1 + i]->box[1] = cg__mm_columns(d->variant);
    for (int i = 0; i < 1 + cg__mm_products(p); i++)
        p->map[i]->box[1] /= cg__mm_sharing_blocks(d->variant, i ? 'b' : 'a');
    d->variant->guard_aligned = true;
}

/* The argument of operand number i; its map is NULL if the kernel has none. */
static ind__kernel_arg cg__tensor_map(const ind__writer *w, int i) {
    const cg__mm_problem *p = w->plan->matmul;
    if (w->variant->strategy == IND_STRATEGY_MATMUL_PACKED && i == 1 && p->packed->mapped)
        return (ind__kernel_arg){.kind = IND__ARG_TENSOR_MAP,
                                 .buffer = cg__inst(w, p->packed->load)->source,
                                 .map = &p->packed->map,
                                 .part = 1};
    if (w->variant->strategy != IND_STRATEGY_MATMUL_TMA || i > cg__mm_products(p)) return (ind__kernel_arg){0};
    const uint32_t load = i == 2 ? p->b2.load : i ? p->b.load : p->a.load;
    return (ind__kernel_arg){
        .kind = IND__ARG_TENSOR_MAP, .buffer = cg__inst(w, load)->source, .map = p->map[i], .part = (uint32_t)i};
}

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

/* Bytes of the mbarriers of all stages, a multiple of 16. */
static int cg__mm_barrier_bytes(const cg__mm_problem *p, int stages) {
    return (stages * 8 * (cg__mm_transposes(p) ? 3 : 2) + 15) / 16 * 16;
}

/* ---- shared memory: stages of a, stages of b, the strips of the warps, the mbarriers ---- */

/* Strips of a warp in shared memory: one for results, or one for the sums of each product. */
static int cg__mm_num_strips(const cg__mm_problem *p) {
    return p->dot2 && !p->rounded ? 2 : 1;
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
    return (int64_t)c->stages * (c->tile_m + c->tile_n) * c->tile_k * p->tensor_bytes +
           cg__mm_barrier_bytes(p, c->stages) + c->warps_m * cg__mm_strip_bytes(p, c->tile_n, c->warps_m, c->cluster) +
           cg__mm_cluster_bytes(c, p);
}

/* ---- writing ---- */

/* The tile's first row and column, and the batch variables, for the number `tile`. Tiles are in groups of 8 rows of
   tiles, column by column: resident blocks then read the fewest different rows and columns. In clusters of tiles,
   `tile` numbers the clusters, in the same order. */
static void cg__mm_write_tile_of(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    const uint32_t skip = 1u << p->m | 1u << p->n;
    const int stripe = 8 / cg__mm_sharing_blocks(v, 'b');
    int64_t batch;
    const bool single = ind_expr_is_int(p->batch, &batch) && batch == 1;
    const char *type = cg__int(w);
    if (!single) ind__textf(&w->code, "const unsigned batch = tile / (rows * columns);\n");
    ind__textf(&w->code, "const unsigned in_batch = tile%s, group = in_batch / (columns * %d);\n",
               single ? "" : " - batch * (rows * columns)", stripe);
    ind__textf(&w->code,
               "const unsigned in_group = in_batch - group * (columns * %d), left = rows - group * %d, high = left < "
               "%d ? left : %d, column = in_group / high;\n",
               stripe, stripe, stripe, stripe);
    const char *row = cg__string(w, "group * %d + in_group - column * high", stripe);
    if (p->group.indirect)
        cg__mm_write_group(w, p, row, "tile_m", "continue");
    else
        ind__textf(&w->code, "const %s tile_m = (%s)(%s) * %d;\n", type, type, cg__mm_tile_number(w, row, 'm'),
                   v->of.tile.m);
    const bool pair = v->of.tile.pair_n > 1;
    ind__textf(&w->code, "const %s tile_n = (%s)%s%s%s * %d;\n", type, type, pair ? "(" : "",
               cg__mm_tile_number(w, "column", 'n'), pair ? ")" : "", cg__mm_columns(v));
    if (!single) cg__write_outer_vars(w, "batch", skip);
}

static void cg__mm_begin_tiles(ind__writer *w, const cg__mm_problem *p) {
    ind__textf(&w->code, "int stage = 0, phase = 0;\n#pragma unroll 1\n");
    const ind__tile_plan *plan = &w->variant->of.tile;
    if (plan->pair_m) {
        const int blocks = plan->pair_m * plan->pair_n;
        cg__begin(w, "for (unsigned tile = blockIdx.x / %d; tile < tiles; tile += gridDim.x / %d)", blocks, blocks);
    } else if (!cg__mm_is_split(w->variant)) {
        cg__begin(w, "for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x)");
    } else {
        const char *splits = cg__divisor(w, w->variant->of.tile.splits);
        cg__begin(w, "for (unsigned share = blockIdx.x; share < tiles * %s; share += gridDim.x)", splits);
        cg__mm_write_share(w);
        cg__mm_write_steps(w, p);
    }
    cg__mm_write_tile_of(w, p);
    if (p->group.indirect) cg__mm_write_steps(w, p);
}

static void cg__mm_write_next_stage(ind__writer *w) {
    ind__textf(&w->code, "stage++;\nif (stage == %d) {\n    stage = 0;\n    phase ^= 1;\n}\n",
               w->variant->of.tile.stages);
}

/* One copy of a box of an operand: at element `offset` of the stage's tile, at coordinates first and second. Of a tile
   that is multicast, the block copies the part with its number among those that share it. */
static void cg__mm_write_box(ind__writer *w, const cg__mm_problem *p, char name, const char *offset, const char *first,
                             const char *second) {
    const cg__mm_operand *o = name == 'a' ? &p->a : name == 'b' ? &p->b : &p->b2;
    const bool shared = cg__mm_sharing_blocks(w->variant, name) > 1;
    const ind__tensor_map *map = p->map[name - 'a'];
    if (shared) {
        const char *part = name == 'a' ? "rank_n" : "rank_m";
        offset = cg__string(w, "%s + %s * %d", offset, part, cg__mm_units(p, map->box[1] * map->box[0]));
        second = cg__string(w, "(%s + %s * %d)", second, part, map->box[1]);
    }
    ind__textf(&w->code, "ind_bulk_%s<%d>(tile_%c + stage * %d%s, map_%c, full + stage, ",
               shared ? "multicast" : "copy", map->rank, name, cg__mm_units(p, cg__mm_stage_elements(w->variant, name)),
               offset, name);
    if (shared) ind__textf(&w->code, "share_%c, ", name == 'a' ? 'a' : 'b');
    ind__textf(&w->code, "(int)%s, (int)%s", first, second);
    for (int u = w->plan->domain.rank - 1; u >= 0; u--) {
        ind_expr stride, rest;
        if (!cg__mm_is_batch(p, u) || !ind__affine(cg__index_of(w, o->load), w->plan->domain.var[u], &stride, &rest) ||
            ind_known_eq(stride, ind_int(w->context, 0)))
            continue;
        ind__textf(&w->code, ", (int)i%d", u);
    }
    if (cg__mm_is_grouped(w, p, o)) ind__textf(&w->code, ", (int)t%u", p->group.indirect);
    ind__textf(&w->code, ");\n");
}

/* Rows of a box of a, if it has fewer than the tile or the block's part of it; else 0. */
static int cg__mm_few_box_rows(const ind__writer *w, const cg__mm_problem *p) {
    const int rows = p->map[0]->box[1];
    return p->a.k_major && rows < w->variant->of.tile.m / cg__mm_sharing_blocks(w->variant, 'a') ? rows : 0;
}

/* The copies of one operand's tile: boxes of 128 bytes along the contiguous dimension. */
static void cg__mm_write_boxes(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const int x = cg__mm_edge(v, name), cols = o->k_major ? v->of.tile.k : x;
    const int rows = o->k_major ? x : v->of.tile.k, few = name == 'a' ? cg__mm_few_box_rows(w, p) : 0;
    const char *tile = name == 'a' ? "tile_m" : "tile_n";
    if (few) {
        cg__unroll(w);
        cg__begin(w, "for (int row = 0; row < %d; row += %d)", rows, few);
        ind__textf(&w->code, "if (tile_m + row < size_m) ");
        cg__mm_write_box(w, p, name, cg__string(w, " + row * %d", cg__mm_units(p, cols)), "first_k", "(tile_m + row)");
        cg__end(w);
        return;
    }
    for (int col = 0; col < cols; col += 128 / p->tensor_bytes) {
        const char *first = o->k_major ? "first_k" : tile, *second = o->k_major ? tile : "first_k";
        const char *at = col ? cg__string(w, " + %d", cg__mm_units(p, col * rows)) : "";
        cg__mm_write_box(w, p, name, at, col ? cg__string(w, "%s + %d", first, col) : first, second);
    }
}

/* The bytes of a step. */
static void cg__mm_write_expect(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int few = cg__mm_few_box_rows(w, p);
    const char *rows = cg__string(w, "%d", tile->m);
    if (few)
        rows = cg__string(w, "(size_m - tile_m < %d ? (int)(size_m - tile_m + %d) / %d * %d : %d)", tile->m, few - 1,
                          few, few, tile->m);
    if (few)
        ind__textf(&w->code, "ind_barrier_expect(full + stage, (%s + %d) * %d);\n", rows, tile->n,
                   tile->k * p->tensor_bytes);
    else
        ind__textf(&w->code, "ind_barrier_expect(full + stage, %d);\n",
                   (tile->m + tile->n) * tile->k * p->tensor_bytes);
}

/* Registers of a thread that copies, and of one that multiplies: multiples of 8. A block begins with the same number
   for all threads, at most 64 K together. A copying warp that finds groups of rows takes more. */
static void cg__mm_write_registers(ind__writer *w, const cg__mm_problem *p, bool copies) {
    const int warps = w->variant->of.tile.warps_m, all = 65536 / ((warps + 4) * 32) / 8 * 8;
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
    const ind__tile_plan *tile = &w->variant->of.tile;
    cg__begin(w, "if (warp >= %d)", tile->warps_m);
    cg__mm_write_registers(w, p, true);
    if (p->group.indirect)
        cg__begin(w, "if (warp == %d)", tile->warps_m);
    else
        cg__begin(w, "if (threadIdx.x == %d)", tile->warps_m * 32);
    cg__mm_begin_tiles(w, p);
    cg__begin(w, "for (int step = 0; step < steps%s; step++)", p->group.indirect ? " && lane == 0" : "");
    cg__mm_write_first_k(w, cg__string(w, "(%s)step", cg__int(w)));
    ind__textf(&w->code, "ind_barrier_wait(empty + stage, phase ^ 1);\n");
    cg__mm_write_expect(w, p);
    cg__mm_write_boxes(w, p, &p->a, 'a');
    cg__mm_write_boxes(w, p, &p->b, 'b');
    if (p->dot2) cg__mm_write_boxes(w, p, &p->b2, 'c');
    cg__mm_write_next_stage(w);
    for (int i = 0; i < 3; i++) cg__end(w);
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
    ind__textf(&w->code, "sums.clear();\nint last = 0;\n#pragma unroll 1\n");
    cg__begin(w, "for (int step = 0; step < steps; step++)");
    ind__textf(&w->code, "ind_barrier_wait(full + stage, phase);\n");
    if (cg__mm_transposes(p)) ind__textf(&w->code, "ind_barrier_wait(ready + stage, phase);\n");
    cg__mm_write_tma_tile(w, p, "sums", false);
    ind__textf(&w->code, "sums.wait<1>();\n");
    cg__mm_write_release(w, "last", "step && ");
    ind__textf(&w->code, "last = stage;\n");
    cg__mm_write_next_stage(w);
    cg__end(w);
    ind__textf(&w->code, "sums.wait<0>();\n");
    cg__mm_write_release(w, "last", p->group.indirect ? "steps && " : "");
    ind__textf(&w->code, "%s acc[%d][4];\nsums.read(acc);\n", cg__mm_sum_type(p), tile->n / 8);
}

/* A tile: the steps of k, then the epilogue, strip by strip. */
static void cg__mm_write_strips(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int columns = cg__mm_columns(w->variant);
    const int cols = cg__mm_strip_cols(p, tile->n, tile->warps_m, tile->cluster);
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
    cg__begin(w, "for (int strip = %s; strip < %s; strip++)", cg__mm_first_strip(w), cg__mm_end_strip(w, strips));
    ind__textf(&w->code, "ind_strip_sums<%d>(sum, acc, strip);\n", cols);
    if (p->dot2) ind__textf(&w->code, "ind_strip_sums<%d>(sum + %d, acc, strip + %d);\n", cols, apart, strips);
    ind__textf(&w->code, "__syncwarp();\n");
    ind__textf(&w->code, "const %s first_m = tile_m + warp * 16 + strip %% 2 * 8, first_n = tile_n + strip / 2 * %d;\n",
               cg__int(w), cols);
    const char *second = cg__string(w, "sum + %d, row, col", apart);
    cg__mm_write_epilogue(
        w, p,
        &(cg__mm_area){.rows = 8, .cols = cols, .threads = 32, .thread = "lane", .pitch = cols, .second = second});
    ind__textf(&w->code, "__syncwarp();\n");
    cg__end(w);
}

/* "rows", "columns" and "tiles": of tiles, or of clusters of them. */
static void cg__mm_write_tile_counts(ind__writer *w, const cg__mm_problem *p) {
    const int tile_m = w->variant->of.tile.m * cg__mm_sharing_blocks(w->variant, 'b');
    const int columns = cg__mm_columns(w->variant) * cg__mm_sharing_blocks(w->variant, 'a');
    const char *rows = p->group.indirect ? cg__expr_string(w, cg__mm_row_tiles(p, tile_m))
                                         : cg__string(w, "(size_m + %d) / %d", tile_m - 1, tile_m);
    ind__textf(&w->code, "const unsigned rows = (unsigned)(%s), columns = (unsigned)((size_n + %d) / %d);\n", rows,
               columns - 1, columns);
    ind__textf(&w->code, "const unsigned tiles = rows * columns * (unsigned)(%s);\n", cg__expr_string(w, p->batch));
}

/* Initialises the mbarriers. */
static void cg__mm_write_barriers(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    cg__begin(w, "if (threadIdx.x == 0)");
    ind__textf(&w->code, "for (int i = 0; i < %d; i++) {\n    ind_barrier_init(full + i, 1);\n", tile->stages);
    ind__textf(&w->code, "    ind_barrier_init(empty + i, %d);\n", tile->warps_m * cg__mm_reading_blocks(w->variant));
    if (cg__mm_transposes(p)) ind__textf(&w->code, "    ind_barrier_init(ready + i, %d);\n", MM_TRANSPOSING);
    ind__textf(&w->code, "}\nind_barrier_publish();\n");
    cg__end(w);
}

static void cg__mm_write_tma(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int k = cg__mm_units(p, tile->k), in_a = tile->stages * tile->m * k, in_b = tile->stages * tile->n * k;
    const int strips = 2 * (in_a + in_b),
              barriers = strips + tile->warps_m * cg__mm_strip_bytes(p, tile->n, tile->warps_m, tile->cluster);
    if (cg__mm_has_sum_registers(w))
        ind__textf(&w->code, "ind_wgmma_sums<%s, %d> sums;\n", cg__mm_sum_type(p), tile->n / 8);
    cg__mm_write_sizes(w, p);
    ind__textf(&w->code, "const int warp = threadIdx.x / 32, lane = threadIdx.x %% 32;\n");
    if (!cg__mm_is_split(w->variant) && !p->group.indirect) cg__mm_write_steps(w, p);
    cg__mm_write_tile_counts(w, p);
    cg__mm_write_ranks(w);
    ind__textf(&w->code,
               "unsigned short *const tile_a = reinterpret_cast<unsigned short *>(ind_smem), *const tile_b = "
               "tile_a + %d;\n",
               in_a);
    if (p->dot2) ind__textf(&w->code, "unsigned short *const tile_c = tile_b + %d;\n", cg__mm_columns(w->variant) * k);
    ind__textf(&w->code,
               "unsigned long long *const full = reinterpret_cast<unsigned long long *>(ind_smem + %d), *const "
               "empty = full + %d;\n",
               barriers, tile->stages);
    if (cg__mm_transposes(p)) ind__textf(&w->code, "unsigned long long *const ready = empty + %d;\n", tile->stages);
    cg__mm_write_barriers(w, p);
    ind__textf(&w->code, "if (threadIdx.x == %d) {\n    ind_map_prefetch(map_a);\n    ind_map_prefetch(map_b);\n%s}\n",
               tile->warps_m * 32, p->dot2 ? "    ind_map_prefetch(map_c);\n" : "");
    cg__mm_begin_cluster(w, p, barriers + cg__mm_barrier_bytes(p, tile->stages));
    cg__mm_write_begun(w);
    cg__mm_write_producer(w, p);
    cg__begin(w, "else");
    cg__mm_write_registers(w, p, false);
    ind__textf(&w->code, "%s *const sum = reinterpret_cast<%s *>(ind_smem + %d) + warp * %d;\n", cg__mm_sum_type(p),
               cg__mm_sum_type(p), strips, cg__mm_strip_bytes(p, tile->n, tile->warps_m, tile->cluster) / 4);
    ind__textf(&w->code, "const int first_row = warp / 4 * 64;\n");
    cg__mm_wait_for_cluster(w);
    cg__mm_begin_tiles(w, p);
    cg__mm_write_strips(w, p);
    cg__end(w);
    cg__mm_write_ended(w);
    cg__end(w);
    cg__use(w, IND__CG_WGMMA);
    cg__use(w, tile->pair_m ? IND__CG_MULTICAST : IND__CG_BULK_COPY);
    cg__use(w, IND__CG_STRIP_SUMS);
}

/* ---- the template ---- */

static const cg__mm_config cg__mm_tma_configs[] = {
    {256, 128, 64, 16, 1, 4, 112, 1, 0}, {192, 128, 64, 12, 1, 5, 160, 1, 0}, {128, 256, 64, 8, 1, 4, 240, 1, 0},
    {128, 224, 64, 8, 1, 4, 240, 1, 0},  {128, 192, 64, 8, 1, 4, 240, 1, 0},  {128, 160, 64, 8, 1, 5, 240, 1, 0},
    {128, 128, 64, 8, 1, 6, 240, 1, 0},  {128, 96, 64, 8, 1, 7, 240, 1, 0},   {128, 64, 64, 8, 1, 8, 240, 1, 0},
    {64, 256, 64, 4, 1, 5, 255, 1, 0},   {64, 192, 64, 4, 1, 6, 255, 1, 0},   {64, 128, 64, 4, 1, 8, 255, 1, 0},
    {64, 64, 64, 4, 1, 12, 255, 1, 0},
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
    return (c->warps_m + 4) * 32;
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
