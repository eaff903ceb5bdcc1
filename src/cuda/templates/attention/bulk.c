/* Attention with wgmma on tiles that bulk tensor copies bring in, by persistent blocks: sm_90a. A warpgroup has 64
   queries. One more warpgroup copies tiles of queries, keys and values, as far ahead as there are stages. While a
   warpgroup computes exponentials, the tensor cores multiply for both: its product with the values of the previous step
   is in flight, and so are the products of the other warpgroup. */

/* ---- the maps */

/* Sets the maps of queries, keys and values, or the reason why there are none. */
static void cg__at_find_maps(cg__decider *d, cg__mm_problem *p, const cg__attention *x) {
    const cg__mm_problem *of[3] = {&x->queries, &x->keys, p};
    const cg__mm_operand *o[3] = {&x->queries.a, &x->keys.b, &p->b};
    if (!(d->assume & IND__ASSUME_MAPS)) p->no_maps = "the variant assumes no tensor maps";
    if (!d->w.target->specific || d->w.target->sm != 90) p->no_maps = "wgmma exists on sm_90a only";
    if (x->product != AT_MMA_HALVES) p->no_maps = "the operands are f32";
    if (!x->queries.a.k_major || x->keys.b.k_major || p->b.k_major) p->no_maps = "keys or values lie along the keys";
    if (ind__body_unbacked(d->w.schedule->program, d->w.body)) p->no_maps = "sizes depend on data";
    if (x->kept && (cg__at_columns(x->queries.size_k) > 128 || cg__at_columns(p->size_n) > 128))
        p->no_maps = "dropout takes registers";
    for (int i = 0; i < 3 && !p->no_maps; i++) {
        ind__tensor_map *map = (ind__tensor_map *)ind__arena_alloc(d->w.arena, sizeof *map);
        if (!map) {
            cg__fail(&d->w);
            return;
        }
        p->no_maps = cg__mm_find_map(&d->w, of[i], o[i], map);
        p->map[i] = map;
    }
}

/* The argument of map number i. */
static ind__kernel_arg cg__at_map(const ind__writer *w, int i) {
    const cg__mm_problem *p = w->plan->matmul;
    const uint32_t load = i == 2 ? p->b.load : i ? w->plan->attention->keys.b.load : w->plan->attention->queries.a.load;
    return (ind__kernel_arg){
        .kind = IND__ARG_TENSOR_MAP, .buffer = cg__inst(w, load)->source, .map = p->map[i], .part = (uint32_t)i};
}

/* ---- shared memory: queries, stages of keys and of values, the strips of the warps, the mbarriers */

/* Features or columns, rounded up. Rows in shared memory have a multiple of 64: 128 bytes. Products take a multiple of
   16 features, and of 32 columns: a strip of results. */
static int cg__at_bulk_columns(ind_expr size, int multiple) {
    int64_t n;
    return ind_expr_is_int(size, &n) ? (int)(n + multiple - 1) / multiple * multiple : IND__ATTENTION_COLUMNS;
}

/* Columns of a row of values in shared memory. */
static int cg__at_value_row(const cg__mm_problem *p) {
    return cg__at_bulk_columns(p->size_n, 64);
}

/* Bytes of shared memory. The last are the mbarriers, and the numbers of tiles. */
static int64_t cg__at_bulk_bytes(const cg__attention *x, const cg__mm_problem *p, const ind__tile_plan *tile) {
    const int64_t row = x->features + cg__at_value_row(p), queries = (int64_t)x->query_stages * tile->m * x->features,
                  tiles = 2 * (queries + (int64_t)tile->stages * tile->k * row);
    return tiles + tile->warps_m * cg__mm_strip_bytes(p, tile->n, tile->warps_m, 0) + 80 + 32 * tile->stages;
}

/* Batches whose keys and values take half of the L2. Their tiles run in the order of their lengths, the longest first:
   the tiles that are taken last are short, and the keys are read from the L2. */
static int cg__at_sorted_batches(const cg__decider *d, const cg__mm_problem *p, const cg__attention *x) {
    const ind__lowered *program = d->w.schedule->program;
    const uint32_t load[2] = {x->keys.b.load, p->b.load};
    double bytes = 0;
    for (int i = 0; i < 2; i++)
        bytes += 2.0 * (double)ind_hint(ind__buffer_numel(&program->buffer[cg__inst(&d->w, load[i])->source]));
    const double batch = (double)ind_hint(p->batch),
                 n = bytes > 0 ? (double)d->w.target->l2_bytes / 2 * batch / bytes : 1;
    return n < 1 ? 1 : n > 4096 ? 4096 : (int)n;
}

/* Keys of a step: 128, or 64 if keys are few. The second step of 129 to 192 keys would be half empty (H200, 64 x 32
   over 8 x 167 x 167 x 128: 100 us with 64, 159 with 128). With more than 64 features, 128 leave two stages only: up to
   256 keys without a mask take less time with 64 (64 x 2 over 1 x 195 x 195 x 128: 14.3 us with 64, 17.3 with 128). */
static int cg__at_bulk_keys(const cg__mm_problem *p, const cg__attention *x, bool wide, int columns) {
    const int64_t keys = ind_hint(p->size_k);
    const bool two_stages = x->features + columns > 128 && x->num_masks == 0;
    return wide || keys <= 64 || (keys > 128 && keys <= (two_stages ? 256 : 192)) ? 64 : 128;
}

/* The time of all tiles of so many queries, in units of a tile with two warpgroups. The times of two and three are
   measured (H200, 4 x 16 x 4096 x 64); that of one is an estimate. */
static double cg__at_tiles_time(int64_t queries, int tile_m) {
    static const double time[4] = {0, 0.75, 1, 1.3}; /* by warpgroups that have queries */
    return (double)(queries / tile_m) * time[tile_m / 64] + time[(queries % tile_m + 63) / 64];
}

/* Queries of a tile: 64 for each warpgroup. Three warpgroups keep the machine busier than two, if they have registers:
   without masks and other work on scores, of up to 64 features. */
static int cg__at_bulk_queries(const cg__decider *d, const cg__mm_problem *p, const cg__attention *x) {
    const int64_t queries = ind_hint(p->size_m), batch = ind_hint(p->batch), sms = d->w.target->num_sms;
    if (queries <= 64 || batch * ((queries + 127) / 128) < sms / 2) return 64;
    const uint32_t scores = cg__inst(&d->w, x->reduce)->arg[0];
    const bool plain = (scores == x->scores || scores == x->scaled) && x->num_masks == 0 && !x->kept;
    const bool narrow = x->features == 64 && cg__at_value_row(p) == 64;
    if (!plain || !narrow || batch * (queries / 192) < 2 * sms) return 128;
    return cg__at_tiles_time(queries, 192) < 0.98 * cg__at_tiles_time(queries, 128) ? 192 : 128;
}

/* True if a mask has limits that differ from query to query by data. The thread that copies reads those of a tile one
   after another. So the results of a tile are written before the block waits for the next tile. */
static bool cg__at_has_row_limits(const ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    bool any = false;
    for (int i = 0; i < x->num_masks; i++)
        any |= ind__ok(x->mask[i].condition) && cg__at_has_row_values(w, p, x->mask[i].condition);
    return any;
}

/* Chooses the tile and sets the grid. Blocks are persistent: one per SM. */
static void cg__at_set_bulk_tile(cg__decider *d, cg__mm_problem *p, cg__attention *x) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    x->features = cg__at_bulk_columns(x->queries.size_k, 64);
    const int columns = cg__at_value_row(p);
    const bool wide = x->features > 128 || columns > 128 || x->kept; /* dropout takes registers */
    v->of.tile = (ind__tile_plan){.m = cg__at_bulk_queries(d, p, x),
                                  .n = cg__at_bulk_columns(p->size_n, 32),
                                  .k = cg__at_bulk_keys(p, x, wide, columns),
                                  .products = 1,
                                  .warps_n = 1,
                                  .stages = 4};
    v->of.tile.warps_m = v->of.tile.m / 16;
    x->query_stages = 1;
    while (v->of.tile.stages > 2 && cg__at_bulk_bytes(x, p, &v->of.tile) > d->w.target->shared_per_block)
        v->of.tile.stages--;
    x->query_stages = 2;
    if (cg__at_bulk_bytes(x, p, &v->of.tile) > d->w.target->shared_per_block) x->query_stages = 1;
    x->starts_ahead = x->query_stages == 2 && !cg__at_has_row_limits(&d->w, p, x);
    /* Tiles of different times: a block takes the next one from a counter. */
    v->memory.num_counters = x->num_masks > 0 || !ind_known_multiple(p->size_m, v->of.tile.m);
    x->sorted_batches = cg__at_has_limits(&d->w, p, x) ? cg__at_sorted_batches(d, p, x) : 0;
    v->strategy = IND_STRATEGY_ATTENTION_TMA;
    v->threads = 32 * (v->of.tile.warps_m + 4);
    v->rows = v->per_thread = v->blocks_per_sm = 1;
    v->memory.shared = ind_int(c, cg__at_bulk_bytes(x, p, &v->of.tile));
    v->guard_aligned = true;
    d->used |= IND__ASSUME_MAPS;
    p->map[0]->box[1] = v->of.tile.m;
    p->map[1]->box[1] = p->map[2]->box[1] = v->of.tile.k;
    const ind_expr tiles = ind_expr_mul(cg__mm_tiles(p->size_m, v->of.tile.m), p->batch);
    v->grid[0] = ind_expr_min(tiles, ind_int(c, d->w.target->num_sms));
    v->grid[1] = v->grid[2] = ind_int(c, 1);
}

/* ---- writing: device functions */

/* A wgmma instruction. `weights`: its left operand is in registers; otherwise both are in shared memory. */
static void cg__at_write_wgmma(ind__text *t, const cg__mm_problem *p, int n, bool weights) {
    const int a = n / 2, b = weights ? a + 4 : a + 1;
    const char *type = cg__mm_wgmma_type(&p->b);
    ind__textf(t, "asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %%%d, 0;\\n\"\n", b + 1);
    ind__textf(t, "             \"wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {\"\n", n, type, type);
    cg__mm_write_sum_names(t, n, "%", 0);
    if (weights)
        ind__textf(t, "             \"}, {%%%d, %%%d, %%%d, %%%d}, %%%d, p, 1, 1, 1;\\n}\"\n", a, a + 1, a + 2, a + 3,
                   b);
    else
        ind__textf(t, "             \"}, %%%d, %%%d, p, 1, 1, 0, 0;\\n}\"\n", a, b);
    cg__mm_write_sum_operands(t, p, n, '+');
    ind__textf(t, weights ? "             : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"l\"(b), \"r\"(1));\n"
                          : "             : \"l\"(a), \"l\"(b), \"r\"((int)(k > 0)));\n");
}

/* Begins the loop over the steps of 16 of a wgmma, in a device function. */
static void cg__at_begin_wgmma(ind__text *t, const char *end) {
    ind__textf(t, "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n_Pragma(\"unroll\")\n");
    ind__textf(t, "for (int k = 0; k < %s; k += 16) {\n", end);
    t->indent++;
}

static void cg__at_end_wgmma(ind__text *t) {
    t->indent--;
    ind__textf(t, "}\nasm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n");
    t->indent--;
    ind__textf(t, "}\n");
}

/* ind_wgmma_scores and ind_wgmma_weighted: asynchronous, one warpgroup. The descriptors of a tile differ by constants.
   The first one is opaque in each step: otherwise NVRTC 13.0 keeps all of them in registers, and spills. BF16 selects
   the type in the emulation's functions of these names; here the text of the instruction has it. */
static void cg__at_write_functions(ind__writer *w, ind__text *t) {
    const cg__mm_problem *p = w->plan->matmul;
    const ind__tile_plan *tile = &w->variant->of.tile;
    char end[16];
    ind__textf(t, "#ifndef IND_EMULATION\n// c = Q[m .. m + 63, D] * K[TK, D]^T of a tile of queries and one of keys: "
                  "asynchronous, one warpgroup.\n// Features that are 0, to fill rows of 128 bytes, are left out.\n// "
                  "Products that are not `used` may be of incomplete tiles.\n"
                  "template <bool BF16, int TM, int TK, int D>\n");
    ind__textf(
        t,
        "static IND_INLINE void ind_wgmma_scores(float (&c)[%d][4], const unsigned short *tile_a, const unsigned "
        "short *tile_b, int m, bool used = true) {\n",
        tile->k / 8);
    t->indent++;
    ind__textf(t, "unsigned long long first_a = ind_wgmma_operand<TM, D, true>(tile_a, m, 0);\n"
                  "unsigned long long first_b = ind_wgmma_operand<TK, D, true>(tile_b, 0, 0);\n"
                  "asm volatile(\"\" : \"+l\"(first_a), \"+l\"(first_b));\n");
    ind__format(end, sizeof end, "%d", cg__at_bulk_columns(w->plan->attention->queries.size_k, 16));
    cg__at_begin_wgmma(t, end);
    ind__textf(t, "const unsigned long long a = first_a + (k / 64 * TM * 64 + k %% 64) / 8;\n"
                  "const unsigned long long b = first_b + (k / 64 * TK * 64 + k %% 64) / 8;\n");
    cg__at_write_wgmma(t, p, tile->k, false);
    cg__at_end_wgmma(t);
    ind__textf(t,
               "// c += W * V of weights in registers, fragments of 64 x 16, and the first columns of a tile of values "
               "[TK][TN].\n"
               "template <bool BF16, int TN, int TK>\n");
    ind__textf(t,
               "static IND_INLINE void ind_wgmma_weighted(float (&c)[%d][4], const unsigned (&weight)[%d][4], const "
               "unsigned short *tile) {\n",
               tile->n / 8, tile->k / 16);
    t->indent++;
    ind__textf(t, "unsigned long long first = ind_wgmma_operand<TK, TN, false>(tile, 0, 0);\n"
                  "asm volatile(\"\" : \"+l\"(first));\n");
    cg__at_begin_wgmma(t, "TK");
    ind__textf(t, "const unsigned long long b = first + k * 8;\nconst unsigned (&a)[4] = weight[k / 16];\n");
    cg__at_write_wgmma(t, p, tile->n, true);
    cg__at_end_wgmma(t);
    ind__textf(t, "#endif\n\n");
}

/* ---- writing: the kernel */

/* The position and the steps of tile number `tile`. `alone`: of one thread. */
static void cg__at_write_tile_position(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, bool alone) {
    const int tile_m = w->variant->of.tile.m;
    const char *type = cg__int(w);
    if (x->sorted_batches) {
        ind__textf(&w->code, "const unsigned group = tile / (rows * %d), in_group = tile - group * (rows * %d);\n",
                   x->sorted_batches, x->sorted_batches);
        ind__textf(
            &w->code,
            "const unsigned left = tiles / rows - group * %d, high = left < %d ? left : %d, row_of_tiles = in_group "
            "/ high, batch = group * %d + in_group - row_of_tiles * high;\n",
            x->sorted_batches, x->sorted_batches, x->sorted_batches, x->sorted_batches);
    } else {
        ind__textf(&w->code, "const unsigned batch = tile / rows, row_of_tiles = tile - batch * rows;\n");
    }
    ind__textf(&w->code, "const %s tile_m = (%s)%s * %d, tile_n = 0, first_m = tile_m;\n", type, type,
               cg__at_has_limits(w, p, x) ? "(rows - 1 - row_of_tiles)" : "row_of_tiles", tile_m);
    ind__textf(&w->code, "const %s last_m = (first_m + %d < size_m ? first_m + %d : size_m) - 1;\n", type, tile_m,
               tile_m);
    cg__write_outer_vars(w, "batch", cg__at_vars(p));
    cg__at_write_steps(w, p, x, alone);
}

/* The next stage of queries. */
static void cg__at_write_next_queries(ind__writer *w, const cg__attention *x) {
    ind__textf(&w->code, x->query_stages == 2 ? "turn ^= query, query ^= 1;\n" : "turn ^= 1;\n");
}

/* Copies of the boxes of a tile, from `row` on; `place`: of its first element. */
static void cg__at_write_boxes(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, int number,
                               int columns, const char *place, const char *barrier, const char *row) {
    const ind__tensor_map *map = w->plan->matmul->map[number];
    for (int col = 0; col < columns; col += 64) {
        ind__textf(&w->code, "ind_bulk_copy<%d>(%s + %d, map_%c, %s, %d, (int)(%s)", map->rank, place,
                   col * map->box[1], "abc"[number], barrier, col, row);
        for (int u = w->plan->domain.rank - 1; u >= 0; u--) {
            ind_expr stride, rest;
            if (!cg__mm_is_batch(p, u) ||
                !ind__affine(cg__index_of(w, o->load), w->plan->domain.var[u], &stride, &rest) ||
                ind_known_eq(stride, ind_int(w->context, 0)))
                continue;
            ind__textf(&w->code, ", (int)i%d", u);
        }
        ind__textf(&w->code, ");\n");
    }
}

/* The tile of a stage, whose number is `at`. */
static const char *cg__at_stage(ind__writer *w, char name, const char *at, int columns) {
    return cg__string(w, "tile_%c + %s * %d", name, at, w->variant->of.tile.k * columns);
}

/* Starts the copies of a tile: of its queries, and of keys and values as stages become free. */
static void cg__at_write_tile_copies(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    cg__begin(w, "if (first_step == end_step)");
    ind__textf(&w->code, "ind_barrier_arrive(full_a + query);\n");
    cg__else(w, "else");
    ind__textf(&w->code, "ind_barrier_expect(full_a + query, %d);\n", tile->m * x->features * 2);
    cg__at_write_boxes(w, &x->queries, &x->queries.a, 0, x->features,
                       cg__string(w, "tile_a + query * %d", tile->m * x->features), "full_a + query", "tile_m");
    cg__end(w);
    cg__begin(w, "for (%s step = first_step; step < end_step; %s)", cg__int(w),
              cg__at_has_blocks(w, x, false) ? "step = next_step(step + 1)" : "step++");
    const char *row = cg__string(w, "step * %d", tile->k);
    ind__textf(&w->code, "ind_barrier_wait(empty_b + stage, phase ^ 1);\nind_barrier_expect(full_b + stage, %d);\n",
               tile->k * x->features * 2);
    cg__at_write_boxes(w, &x->keys, &x->keys.b, 1, x->features, cg__at_stage(w, 'b', "stage", x->features),
                       "full_b + stage", row);
    ind__textf(&w->code, "ind_barrier_wait(empty_c + stage, phase ^ 1);\nind_barrier_expect(full_c + stage, %d);\n",
               tile->k * cg__at_value_row(p) * 2);
    cg__at_write_boxes(w, p, &p->b, 2, cg__at_value_row(p), cg__at_stage(w, 'c', "stage", cg__at_value_row(p)),
                       "full_c + stage", row);
    cg__mm_write_next_stage(w);
    cg__end(w);
}

/* The thread that chooses the block's tiles and starts all copies. The number of a tile, or of none, is in shared
   memory when its queries are. */
static void cg__at_write_copies(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    ind__textf(&w->code, "int stage = 0, phase = 0, query = 0, turn = 0;\n#pragma unroll 1\n");
    cg__begin(w, w->variant->memory.num_counters
                     ? "for (unsigned tile = blockIdx.x;; tile = gridDim.x + atomicInc(counters, tiles - 1))"
                     : "for (unsigned tile = blockIdx.x;; tile += gridDim.x)");
    ind__textf(&w->code, "ind_barrier_wait(empty_a + query, turn ^ 1);\nnumber[query] = tile;\n");
    cg__begin(w, "if (tile >= tiles)");
    ind__textf(&w->code, "groups[query] = 0;\nind_barrier_arrive(full_a + query);\nbreak;\n");
    cg__end(w);
    cg__at_write_tile_position(w, p, x, true);
    ind__textf(&w->code, "groups[query] = first_step < end_step ? (int)(last_m - first_m) / 64 + 1 : 0;\n");
    cg__at_write_tile_copies(w, p, x);
    cg__at_write_next_queries(w, x);
    cg__end(w);
    cg__use(w, IND__CG_BULK_COPY);
}

/* True if warpgroups start their products in turn: while one computes exponentials, the tensor cores multiply for
   another one. Two without masks do not need that (H200, 4 x 32 x 4096 x 128: 1644 us, 1676 in turn; causal: 998, 921
   in turn). */
static bool cg__at_takes_turns(const ind__writer *w) {
    const int groups = w->variant->of.tile.warps_m / 4;
    return groups > 2 || (groups == 2 && w->plan->attention->num_masks > 0);
}

/* The mbarriers of the stages of queries, keys and values, and the numbers of the tiles of the queries. */
static void cg__at_write_barriers(ind__writer *w, int offset) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int n = tile->stages, queries = w->plan->attention->query_stages;
    ind__textf(&w->code,
               "unsigned long long *const full_a = reinterpret_cast<unsigned long long *>(ind_smem + %d), *const "
               "empty_a = full_a + %d;\n",
               offset, queries);
    ind__textf(&w->code,
               "unsigned long long *const full_b = full_a + %d, *const empty_b = full_b + %d, *const full_c = full_b "
               "+ %d, *const empty_c = full_b + %d, *const turns = full_b + %d;\n",
               2 * queries, n, 2 * n, 3 * n, 4 * n);
    ind__textf(&w->code,
               "unsigned *const number = reinterpret_cast<unsigned *>(turns + %d), *const groups = number + %d;\n",
               tile->warps_m / 4, queries);
    cg__begin(w, "if (threadIdx.x == 0)");
    cg__begin(w, "for (int i = 0; i < %d; i++)", queries);
    ind__textf(&w->code, "ind_barrier_init(full_a + i, 1);\nind_barrier_init(empty_a + i, %d);\n", tile->warps_m);
    cg__end(w);
    cg__begin(w, "for (int i = 0; i < %d; i++)", n);
    ind__textf(&w->code, "ind_barrier_init(full_b + i, 1);\nind_barrier_init(empty_b + i, %d);\n", tile->warps_m);
    ind__textf(&w->code, "ind_barrier_init(full_c + i, 1);\nind_barrier_init(empty_c + i, %d);\n", tile->warps_m);
    cg__end(w);
    if (cg__at_takes_turns(w))
        ind__textf(&w->code, "for (int i = 0; i < %d; i++) ind_barrier_init(turns + i, 4);\n", tile->warps_m / 4);
    ind__textf(&w->code, "ind_barrier_publish();\n");
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
}

/* Waits for the keys of a step, and for the warpgroup's turn. */
static void cg__at_write_turn(ind__writer *w) {
    ind__textf(&w->code, "ind_barrier_wait(full_b + stage, phase);\n");
    if (cg__at_takes_turns(w))
        ind__textf(&w->code, "ind_barrier_wait(turns + warp / 4, order ^ (warp < 4));\norder ^= 1;\n");
}

/* "at" and "last": the stages of this step and of the one before. Descriptors of wgmma operands are in uniform
   registers. The reduction makes "at" uniform for the compiler. */
static void cg__at_write_stages(ind__writer *w) {
    ind__textf(
        &w->code,
        "at = __reduce_max_sync(0xffffffffu, stage);\nlast = at == 0 ? %d : at - 1, last_phase = phase ^ (at == 0);\n",
        w->variant->of.tile.stages - 1);
}

/* Starts the products of queries and the keys of stage "at". */
static void cg__at_write_scores_product(ind__writer *w, const cg__mm_problem *p, const cg__attention *x,
                                        const char *used) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    ind__textf(&w->code, "ind_wgmma_scores<%s, %d, %d, %d>(score[0], tile_a + query * %d, %s, warp / 4 * 64%s);\n",
               p->b.memory == IND_BF16 ? "true" : "false", tile->m, tile->k, x->features, tile->m * x->features,
               cg__at_stage(w, 'b', "at", x->features), used);
}

/* Starts the products with the values of the step before, whose stage is "last". */
static void cg__at_write_weighted(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    ind__textf(&w->code, "ind_barrier_wait(full_c + last, last_phase);\n");
    ind__textf(&w->code, "ind_wgmma_weighted<%s, %d, %d>(acc, weight, tile_c + last * %d);\n",
               p->b.memory == IND_BF16 ? "true" : "false", cg__at_value_row(p), tile->k, tile->k * cg__at_value_row(p));
}

/* Lets the next warpgroup start its products. */
static void cg__at_write_turn_end(ind__writer *w) {
    if (cg__at_takes_turns(w))
        ind__textf(&w->code, "__syncwarp();\nif (lane == 0) ind_barrier_arrive(turns + (warp / 4 + 1) %% %d);\n",
                   w->variant->of.tile.warps_m / 4);
}

/* Waits for the queries of a tile, and for the keys of its first step, if the warpgroup has queries and there is a
   step: `ahead`. Starts their products. Otherwise it starts products that are not used: a wgmma in a branch would be
   waited for in it. */
static void cg__at_write_first_product(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    ind__textf(&w->code, "ind_barrier_wait(full_a + query, turn);\nahead = warp / 4 < "
                         "(int)__reduce_max_sync(0xffffffffu, lane == 0 ? groups[query] : 0);\n");
    cg__at_write_stages(w);
    cg__begin(w, "if (ahead)");
    cg__at_write_turn(w);
    cg__end(w);
    cg__at_write_scores_product(w, p, x, ", ahead");
    if (!cg__at_takes_turns(w)) return;
    cg__begin(w, "if (ahead)");
    cg__at_write_turn_end(w);
    cg__end(w);
}

/* Gives the queries back if there are no steps. */
static void cg__at_write_no_steps(ind__writer *w) {
    ind__textf(&w->code,
               "__syncwarp();\nif (lane == 0 && first_step == end_step) ind_barrier_arrive(empty_a + query);\n");
}

/* The next stage of queries; the products of its first step may start before the results of this tile are written. */
static void cg__at_write_next_tile(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    cg__at_write_no_steps(w);
    cg__at_write_next_queries(w, x);
    if (x->starts_ahead) cg__at_write_first_product(w, p, x);
}

/* Gives the stage of the keys back, and the queries after the last step. */
static void cg__at_write_keys_end(ind__writer *w, const cg__attention *x) {
    ind__textf(&w->code,
               "__syncwarp();\nif (lane == 0) {\n    ind_barrier_arrive(empty_b + stage);\n    if (%s == end_step) "
               "ind_barrier_arrive(empty_a + query);\n}\n",
               cg__at_next_step(w, x));
}

/* Gives the keys back, then the exponentials of the scores. */
static void cg__at_write_exponentials(ind__writer *w, const cg__attention *x) {
    cg__at_write_keys_end(w, x);
    ind__textf(&w->code, "compute_scores(step);\nstate.add(score[0], factor, scale);\n");
    if (x->kept) ind__textf(&w->code, "drop(step);\n");
}

/* "weight": the exponentials as operands; then the next stage. */
static void cg__at_write_weights(ind__writer *w, const cg__mm_problem *p) {
    ind__textf(&w->code, "ind_pack_weights(weight, score[0], ind_pack_%s);\n", ind_dtype_name(p->b.memory));
    cg__mm_write_next_stage(w);
}

/* "drop": dropout of the exponentials of a step. */
static void cg__at_write_drop(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    if (!x->kept) return;
    ind__textf(&w->code, "const auto drop = [&](%s step) {\n", cg__int(w));
    w->code.indent++;
    w->scope++;
    ind__textf(&w->code, "const %s first_t = step * %d + lane %% 4 * 2;\n", cg__int(w), w->variant->of.tile.k);
    cg__at_write_dropout(w, p, x, w->variant->of.tile.k / 8);
    cg__mm_end_lambda(w);
}

/* The steps of a tile of queries. */
static void cg__at_write_bulk_steps(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    ind__textf(&w->code, "const auto compute_scores = [&](%s step) {\n", cg__int(w));
    w->code.indent++;
    w->scope++;
    cg__at_write_step_scores(w, p, x, tile->k / 8, cg__string(w, "step * %d", tile->k));
    cg__mm_end_lambda(w);
    cg__at_write_drop(w, p, x);
    cg__begin(w, "if (first_step < end_step)");
    ind__textf(&w->code, "%s step = first_step;\n", cg__int(w));
    cg__at_write_step_blocks(w, x);
    cg__at_write_exponentials(w, x);
    cg__at_write_weights(w, p);
    ind__textf(&w->code, "#pragma unroll 1\n");
    const char *next = cg__at_has_blocks(w, x, false) ? "step = next" : "step++";
    cg__begin(w, "for (%s; step < end_step; %s)", next, next);
    cg__at_write_stages(w);
    cg__at_write_turn(w);
    cg__at_write_scores_product(w, p, x, "");
    cg__at_write_weighted(w, p);
    cg__at_write_turn_end(w);
    cg__at_write_step_blocks(w, x);
    ind__textf(&w->code, "ind_wgmma_ready<1>(score[0]);\n");
    cg__at_write_exponentials(w, x);
    ind__textf(&w->code, "ind_wgmma_ready<0>(acc);\n__syncwarp();\nif (lane == 0) ind_barrier_arrive(empty_c + last);\n"
                         "ind_scale_rows(acc, factor);\n");
    cg__at_write_weights(w, p);
    cg__end(w);
    cg__at_write_stages(w);
    cg__at_write_weighted(w, p);
    cg__end(w);
    cg__at_write_next_tile(w, p, x);
    ind__textf(&w->code,
               "ind_wgmma_ready<%d>(acc);\n__syncwarp();\nif (lane == 0 && first_step < end_step) "
               "ind_barrier_arrive(empty_c + last);\n",
               x->starts_ahead);
}

/* The results of a tile of queries: strip by strip through the memory of the warp. */
static void cg__at_write_results(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols) {
    const int strips = 2 * w->variant->of.tile.n / cols;
    cg__mm_set_sum_text(w, p);
    cg__need_stores(w);
    if (store) {
        cg__mm_write_rounded_strips(w, p, store, cols);
        return;
    }
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int strip = 0; strip < %d; strip++)", strips);
    ind__textf(&w->code, "ind_strip_sums<%d>(sum, acc, strip);\n__syncwarp();\n", cols);
    ind__textf(&w->code, "const %s first_m = tile_m + warp * 16 + strip %% 2 * 8, first_n = tile_n + strip / 2 * %d;\n",
               cg__int(w), cols);
    cg__mm_write_epilogue(w, p,
                          &(cg__mm_area){.rows = 8, .cols = cols, .threads = 32, .thread = "lane", .pitch = cols});
    ind__textf(&w->code, "__syncwarp();\n");
    cg__end(w);
}

/* A warpgroup whose queries do not exist takes part in the steps of the others. */
static void cg__at_write_idle_steps(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    const bool blocks = cg__at_has_blocks(w, x, false);
    const int tile_m = w->variant->of.tile.m;
    if (tile_m == 64 || ind_known_multiple(p->size_m, tile_m)) return;
    cg__begin(w, "if (!ahead && first_step < end_step)");
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (%s step = first_step; step < end_step; %s)", cg__int(w), blocks ? "step = next" : "step++");
    cg__at_write_turn(w);
    cg__at_write_turn_end(w);
    cg__at_write_step_blocks(w, x);
    cg__at_write_keys_end(w, x);
    ind__textf(&w->code, "ind_barrier_wait(full_c + stage, phase);\n__syncwarp();\nif (lane == 0) "
                         "ind_barrier_arrive(empty_c + stage);\n");
    cg__mm_write_next_stage(w);
    cg__end(w);
    cg__at_write_next_tile(w, p, x);
    ind__textf(&w->code, "continue;\n");
    cg__end(w);
}

/* True for a number of steps that is known, and at which NVRTC would unroll the loop: that needs more registers than
   there are. */
static bool cg__at_has_few_steps(const ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    const int keys = w->variant->of.tile.k;
    int64_t all;
    return x->num_masks == 0 && ind_expr_is_int(p->size_k, &all) && all > keys && all <= 3 * keys;
}

/* The warps that multiply. */
static void cg__at_write_consumers(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, int strips) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int cols = cg__mm_strip_cols(p, tile->n, tile->warps_m, 0);
    cg__mm_set_sum_text(w, p);
    const uint32_t store = cg__mm_rounded_store(w, p), load = store ? cg__mm_rounded_load(w, p) : 0;
    ind__textf(&w->code, "float *const sum = reinterpret_cast<float *>(ind_smem + %d) + warp * %d;\n", strips,
               cg__mm_strip_bytes(p, tile->n, tile->warps_m, 0) / 4);
    ind__textf(&w->code, "int stage = 0, phase = 0, query = 0, turn = 0%s, at, last, last_phase;\nbool ahead;\n",
               cg__at_takes_turns(w) ? ", order = 0" : "");
    ind__textf(&w->code, "float score[1][%d][4];\nunsigned weight[%d][4];\n", tile->k / 8, tile->k / 16);
    if (x->starts_ahead) cg__at_write_first_product(w, p, x);
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "%s", "for (;;)");
    if (!x->starts_ahead) cg__at_write_first_product(w, p, x);
    ind__textf(&w->code, "ind_wgmma_ready<0>(score[0]);\nconst unsigned tile = __reduce_max_sync(0xffffffffu, lane == "
                         "0 ? number[query] : 0);\nif (tile >= tiles) break;\n");
    cg__at_write_tile_position(w, p, x, false);
    if (cg__at_has_few_steps(w, p, x))
        ind__textf(&w->code, "end_step = __reduce_max_sync(0xffffffffu, (int)end_step);\n");
    cg__at_write_idle_steps(w, p, x);
    ind__textf(&w->code, "const %s row_m = first_m + warp * 16 + lane / 4;\n", cg__int(w));
    if (load) cg__mm_write_fetch(w, p, load, cols);
    cg__at_need_score(w, p, x, true);
    cg__at_write_state(w, "acc[%d][4]", tile->n / 8);
    cg__at_write_bulk_steps(w, p, x);
    cg__at_write_factor(w, p, x, "acc");
    cg__at_write_results(w, p, store, cols);
    cg__end(w);
}

/* The body of the kernel function with bulk copies. */
static ind_status cg__emit_bulk_attention(ind__writer *w) {
    const cg__mm_problem *p = w->plan->matmul;
    const cg__attention *x = w->plan->attention;
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int keys = x->query_stages * tile->m * x->features, values = keys + tile->stages * tile->k * x->features;
    const int strips = 2 * (values + tile->stages * tile->k * cg__at_value_row(p));
    cg__mm_set_plain_names(w);
    ind__textf(&w->code, "extern __shared__ __align__(1024) unsigned char ind_smem[];\n");
    ind__textf(&w->code, "const %s size_m = %s, size_n = %s, size_k = %s;\n", cg__int(w), cg__expr_string(w, p->size_m),
               cg__expr_string(w, p->size_n), cg__expr_string(w, p->size_k));
    ind__textf(&w->code,
               "const int warp = __reduce_max_sync(0xffffffffu, (int)threadIdx.x / 32), lane = threadIdx.x %% 32;\n");
    ind__textf(&w->code, "const unsigned rows = (unsigned)((size_m + %d) / %d), tiles = rows * (unsigned)(%s);\n",
               tile->m - 1, tile->m, cg__expr_string(w, p->batch));
    ind__textf(&w->code,
               "unsigned short *const tile_a = reinterpret_cast<unsigned short *>(ind_smem), *const tile_b = tile_a "
               "+ %d, *const tile_c = tile_a + %d;\n",
               keys, values);
    cg__at_write_barriers(w, strips + tile->warps_m * cg__mm_strip_bytes(p, tile->n, tile->warps_m, 0));
    cg__begin(w, "if (warp >= %d)", tile->warps_m);
    cg__mm_write_registers(w, p, true);
    cg__begin(w, "if (threadIdx.x == %d)", tile->warps_m * 32);
    cg__at_write_copies(w, p, x);
    cg__end(w);
    cg__else(w, "else");
    cg__mm_write_registers(w, p, false);
    cg__at_write_consumers(w, p, x, strips);
    cg__end(w);
    cg__use(w, IND__CG_WGMMA_READY);
    cg__use(w, IND__CG_PACK_WEIGHTS);
    cg__use(w, p->b.memory == IND_BF16 ? IND__CG_PACK_BF16 : IND__CG_PACK_F16);
    cg__use(w, IND__CG_STRIP_SUMS);
    return w->failed ? ind__failed(w->context) : IND_OK;
}
