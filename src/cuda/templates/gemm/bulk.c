/* Bulk tensor copies of the tiles of persistent blocks: what the templates that use them share. */

/* A thread starts the copies of all steps of all of the block's tiles, as far ahead as there are stages. The mbarrier
   full[stage] completes when the bytes of a step are there, empty[stage] when the step is multiplied.

   The copies need tensor maps of the operands (CUtensorMap). The driver encodes them before the launch. Elements
   outside an operand are copied as 0. Copies of f32 round it to tf32. */

/* ---- the maps ---- */

static bool cg__is_declared(ind_expr e);
static const char *cg__mm_find_window_map(const cg__mm_problem *p, ind__tensor_map *map);
static void cg__mm_write_first_window(ind__writer *w, const cg__mm_problem *p);
static void cg__mm_write_tap(ind__writer *w, const cg__mm_problem *p);
static void cg__mm_write_windows(ind__writer *w, const cg__mm_problem *p);

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
    if (o->windows) return o == &p->a ? cg__mm_find_window_map(p, map) : "the right operand is read through windows";
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
    if (p->tensor_bytes != 4 || !d->w.schedule->program->options.batch_invariant) return false;
    return (!p->a.k_major && !ind_known_multiple(p->size_m, 4)) || (!p->b.k_major && !ind_known_multiple(p->size_n, 4));
}

/* Sets the maps of the operands, or the reason why there are none. */
static void cg__mm_find_maps(cg__decider *d, cg__mm_problem *p) {
    cg__mm_operand *const o[3] = {&p->a, &p->b, &p->b2};
    if (!p->tensor_bytes) p->no_maps = "tensor cores do not take the operands";
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
        if (!p->no_maps) p->map[i] = map;
    }
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
    if (p->a.k_major)
        p->map[0]->box[1] = p->a.windows ? d->variant->of.tile.m : cg__mm_box_rows(p, d->variant->of.tile.m);
    for (int i = 0; p->b.k_major && i < cg__mm_products(p); i++) p->map[1 + i]->box[1] = cg__mm_columns(d->variant);
    for (int i = 0; i < 1 + cg__mm_products(p); i++)
        p->map[i]->box[1] /= cg__mm_sharing_blocks(d->variant, i ? 'b' : 'a');
    d->variant->guard_aligned = true;
}

static ind__kernel_arg cg__at_map(const ind__writer *w, int i);

/* True if a tensor map brings tiles of the rows beside packed weights. */
static bool cg__mm_copies_rows(const cg__mm_problem *p) {
    return p->map[0] && p->a.k_major && p->map[0]->rank == 2;
}

/* The argument of operand number i; its map is NULL if the kernel has none. */
static ind__kernel_arg cg__tensor_map(const ind__writer *w, int i) {
    const cg__mm_problem *p = w->plan->matmul;
    const bool rows = !i && w->variant->strategy == IND_STRATEGY_MATMUL_PACKED_TILES && cg__mm_copies_rows(p);
    if (cg__mm_reads_rings(w->variant->strategy) && p->packed->mapped && i && i <= cg__mm_products(p))
        return (ind__kernel_arg){.kind = IND__ARG_TENSOR_MAP,
                                 .buffer = cg__inst(w, p->packed->of[i - 1].load)->source,
                                 .map = &p->packed->of[i - 1].map,
                                 .part = (uint32_t)i};
    if (w->variant->strategy == IND_STRATEGY_ATTENTION_TMA) return cg__at_map(w, i);
    if (!rows && (!cg__has(w, IND__HAS_TENSOR_MAPS) || i > cg__mm_products(p))) return (ind__kernel_arg){0};
    const uint32_t load = i == 2 ? p->b2.load : i ? p->b.load : p->a.load;
    return (ind__kernel_arg){
        .kind = IND__ARG_TENSOR_MAP, .buffer = cg__inst(w, load)->source, .map = p->map[i], .part = (uint32_t)i};
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

/* The loop over the block's tiles, or its shares of them. */
static void cg__mm_begin_tile_loop(ind__writer *w, const cg__mm_problem *p) {
    ind__textf(&w->code, "#pragma unroll 1\n");
    const ind__tile_plan *plan = &w->variant->of.tile;
    if (plan->pair_m) {
        const int blocks = plan->pair_m * plan->pair_n;
        cg__begin(w, "for (unsigned tile = blockIdx.x / %d; tile < tiles; tile += gridDim.x / %d)", blocks, blocks);
        return;
    }
    if (!cg__mm_is_split(w->variant)) {
        cg__begin(w, "for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x)");
        return;
    }
    const char *splits = cg__divisor(w, w->variant->of.tile.splits);
    cg__begin(w, "for (unsigned share = blockIdx.x; share < tiles * %s; share += gridDim.x)", splits);
    cg__mm_write_share(w);
    cg__mm_write_steps(w, p);
}

/* The position in the ring of stages. */
static void cg__mm_write_stage(ind__writer *w) {
    ind__textf(&w->code, "int stage = 0, phase = 0;\n");
}

static void cg__mm_begin_tiles(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_begin_tile_loop(w, p);
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

/* The loop in which a thread starts the copies of all steps of all of the block's tiles. The whole warp calls it if
   there are groups of rows. */
static void cg__mm_write_copies(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_write_stage(w);
    cg__mm_begin_tiles(w, p);
    cg__mm_write_first_window(w, p);
    cg__begin(w, "for (int step = 0; step < steps%s; step++)", p->group.indirect ? " && lane == 0" : "");
    cg__mm_write_first_k(w, cg__string(w, "(%s)step", cg__int(w)));
    ind__textf(&w->code, "ind_barrier_wait(empty + stage, phase ^ 1);\n");
    cg__mm_write_expect(w, p);
    cg__mm_write_tap(w, p);
    if (p->a.windows)
        cg__mm_write_windows(w, p);
    else
        cg__mm_write_boxes(w, p, &p->a, 'a');
    cg__mm_write_boxes(w, p, &p->b, 'b');
    if (p->dot2) cg__mm_write_boxes(w, p, &p->b2, 'c');
    cg__mm_write_next_stage(w);
    cg__end(w);
    cg__end(w);
    cg__use(w, w->variant->of.tile.pair_m ? IND__CG_MULTICAST : IND__CG_BULK_COPY);
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

/* Sizes, the number of tiles, and the memory of the block: stages of a, stages of b, and the mbarriers of the stages
   from byte `barriers` on. */
static void cg__mm_begin_bulk(ind__writer *w, const cg__mm_problem *p, int barriers) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    cg__mm_write_sizes(w, p);
    ind__textf(&w->code, "const int warp = threadIdx.x / 32, lane = threadIdx.x %% 32;\n");
    if (!cg__mm_is_split(w->variant) && !p->group.indirect) cg__mm_write_steps(w, p);
    cg__mm_write_tile_counts(w, p);
    cg__mm_write_ranks(w);
    ind__textf(&w->code,
               "unsigned short *const tile_a = reinterpret_cast<unsigned short *>(ind_smem), *const tile_b = "
               "tile_a + %d;\n",
               tile->stages * cg__mm_units(p, tile->m * tile->k));
    if (p->dot2)
        ind__textf(&w->code, "unsigned short *const tile_c = tile_b + %d;\n",
                   cg__mm_units(p, cg__mm_columns(w->variant) * tile->k));
    ind__textf(&w->code,
               "unsigned long long *const full = reinterpret_cast<unsigned long long *>(ind_smem + %d), *const "
               "empty = full + %d;\n",
               barriers, tile->stages);
}

/* Initialises the mbarriers of the stages, in a scope of one thread that is open afterwards. `arrivals`: at empty;
   `more`: initialises further mbarriers of stage i. */
static void cg__mm_begin_barriers(ind__writer *w, int arrivals, const char *more) {
    cg__begin(w, "if (threadIdx.x == 0)");
    ind__textf(&w->code, "for (int i = 0; i < %d; i++) {\n    ind_barrier_init(full + i, 1);\n",
               w->variant->of.tile.stages);
    ind__textf(&w->code, "    ind_barrier_init(empty + i, %d);\n%s}\n", arrivals, more);
}

static void cg__mm_end_barriers(ind__writer *w) {
    ind__textf(&w->code, "ind_barrier_publish();\n");
    cg__end(w);
}

/* The thread that starts the copies reads the maps ahead. */
static void cg__mm_write_map_prefetch(ind__writer *w, const cg__mm_problem *p, int thread) {
    ind__textf(&w->code, "if (threadIdx.x == %d) {\n    ind_map_prefetch(map_a);\n    ind_map_prefetch(map_b);\n%s}\n",
               thread, p->dot2 ? "    ind_map_prefetch(map_c);\n" : "");
}
