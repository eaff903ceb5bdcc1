/* Attention of few queries: a decoder's step. The keys of 16 rows are split over blocks. The rows are queries, or the
   heads that share a head of keys. A warp has a quarter of the keys of each step, with a softmax of its own. At the end
   the states of the warps are combined, then those of the blocks, by the last one of them, in a fixed order. */

enum {
    AT_SPLIT_WARPS = 4,
    AT_SPLIT_LEAST = 128,     /* fewest keys of a block, if several blocks have them */
    AT_SPLIT_REGISTERS = 176, /* of a thread, for the sums and for inputs that are loaded ahead */
    AT_SPLIT_STATES = (AT_SPLIT_WARPS + 1) * IND__SPLIT_QUERIES * 8 /* bytes of the states of the rows */
};

/* ---- decisions */

/* Bytes of shared memory: queries and stages of so many keys, reused for the sums of all warps; the states of the rows
   of the warps; their weights. */
static int64_t cg__at_split_bytes(const cg__attention *x, int stages, int keys, int columns) {
    const int64_t tiles = cg__at_bytes(x) * (IND__SPLIT_QUERIES * (int64_t)x->features +
                                             (int64_t)stages * keys * (x->features + columns));
    const int64_t sums = (int64_t)AT_SPLIT_WARPS * IND__SPLIT_QUERIES * 4 * (columns + 8);
    return (tiles > sums ? tiles : sums) + AT_SPLIT_STATES +
           AT_SPLIT_WARPS * cg__at_weight_bytes(x, keys / AT_SPLIT_WARPS);
}

/* Stages that have memory: one if all keys are in one step. */
static int cg__at_split_kept(const cg__mm_problem *p, const ind__tile_plan *tile) {
    int64_t keys;
    return ind_expr_is_int(p->size_k, &keys) && keys <= tile->k ? 1 : tile->stages;
}

/* The byte at which the states begin; the weights come after them. */
static int64_t cg__at_split_states(const cg__mm_problem *p, const cg__attention *x, const ind__tile_plan *tile) {
    return cg__at_split_bytes(x, cg__at_split_kept(p, tile), tile->k, tile->n) - AT_SPLIT_STATES -
           AT_SPLIT_WARPS * cg__at_weight_bytes(x, tile->k / AT_SPLIT_WARPS);
}

/* Keys of a step: 16 of each warp, or 8 with FMA. 0: the target's shared memory has no two stages of them. */
static int cg__at_split_keys(const cg__decider *d, const cg__attention *x, int columns) {
    const int64_t most = d->w.target->shared_per_block;
    if (cg__at_split_bytes(x, 2, 16 * AT_SPLIT_WARPS, columns) <= most) return 16 * AT_SPLIT_WARPS;
    const bool half = x->product == AT_FMA && cg__at_split_bytes(x, 2, 8 * AT_SPLIT_WARPS, columns) <= most;
    return half ? 8 * AT_SPLIT_WARPS : 0;
}

/* True if blocks of few rows are to share keys: there are few rows, or few blocks of more of them. A symbolic number of
   rows may be assumed to be small, but not in a module that is batch_invariant: results of a row would then depend on
   it. */
static bool cg__at_splits_keys(cg__decider *d, const cg__mm_problem *p, cg__attention *x) {
    const int64_t queries = ind_hint(p->size_m), blocks = ind_hint(p->batch) * ((queries + 63) / 64);
    const int64_t few = IND__SPLIT_QUERIES * x->heads; /* of all heads whose queries are rows */
    int64_t most = IND__SPLIT_QUERIES, known;
    x->features = cg__at_columns(x->queries.size_k);
    if (!cg__at_split_keys(d, x, cg__at_columns(p->size_n))) return false;
    const bool fma = x->product == AT_FMA;
    const bool copies = x->queries.a.copy && x->keys.b.copy && p->b.copy;
    const bool gathers = x->queries.a.gathered || x->keys.b.gathered || p->b.gathered;
    /* Blocks of more queries do not compute operands. */
    if ((!copies || gathers) && ind_known_le(p->size_m, ind_int(d->w.context, few))) return true;
    if (ind__attention_splits_keys((double)queries, (double)blocks, fma, d->w.target->num_sms)) {
        if (ind_expr_is_int(p->size_m, &known)) return true;
        most = queries > IND__SHARED_QUERIES ? queries : IND__SHARED_QUERIES;
    }
    if (ind_known_le(p->size_m, ind_int(d->w.context, most))) return true;
    if (d->w.schedule->program->options.batch_invariant || !(d->assume & IND__ASSUME_FEW_ROWS)) return false;
    if (most < few) most = few;
    if (!cg__guard(d->variant, ind_expr_le(p->size_m, ind_int(d->w.context, most)))) return false;
    d->used |= IND__ASSUME_FEW_ROWS;
    return true;
}

/* Blocks that run at a time. */
static int64_t cg__at_split_fill(const cg__decider *d) {
    return (int64_t)d->variant->blocks_per_sm * d->w.target->num_sms;
}

/* Most parts of so many keys and rows. One block combines the parts, so more of them may take longer. If it reads them
   twice as fast as other blocks read keys, the best number is about sqrt(2 * keys / rows). The result is near that for
   up to 65,536 keys. The speeds are estimated, not measured. */
static ind_expr cg__at_most_parts(ind_context *c, ind_expr keys, int64_t rows) {
    const ind_expr by_keys = ind_expr_floordiv(keys, ind_int(c, AT_SPLIT_LEAST));
    const ind_expr by_time = ind_expr_add(ind_int(c, 24), ind_expr_floordiv(keys, ind_int(c, 1024)));
    return ind_expr_min(by_keys, ind_expr_mul(by_time, ind_int(c, rows == 1 ? 4 : rows <= 4 ? 2 : 1)));
}

/* Blocks that share the keys of a tile: as many as run at a time at the hinted sizes, of a number of keys that is known
   at the launch: the most there can be, if the number comes from data. One block, if the number of tiles comes from
   data, or in a module that is batch_invariant: the number of parts would depend on the batch. */
static ind_expr cg__at_parts(cg__decider *d, const cg__mm_problem *p, ind_expr tiles) {
    ind_context *c = d->w.context;
    const ind__lowered *program = d->w.schedule->program;
    const ind_expr one = ind_int(c, 1), fill = ind_int(c, cg__at_split_fill(d));
    const ind_expr keys = ind__most(program->unbacked, program->num_unbacked, p->size_k);
    if (program->options.batch_invariant || ind__unbacked_in(program->unbacked, program->num_unbacked, tiles))
        return one;
    if (!ind__ok(keys)) return one;
    const ind_expr parts = cg__at_most_parts(c, keys, ind_hint(p->size_m));
    return ind_expr_max(ind_expr_min(ind_expr_floordiv(fill, ind_expr_max(tiles, one)), parts), one);
}

/* Chooses the operands whose inputs are loaded a step ahead. */
static void cg__at_choose_fetches(cg__decider *d, const cg__mm_problem *p, cg__attention *x) {
    const ind__tile_plan *tile = &d->variant->of.tile;
    const int most = AT_SPLIT_REGISTERS - tile->n / 2;
    int keys = cg__at_tile_registers(&d->w, &x->keys, &x->keys.b, tile->k * x->features);
    int values = cg__at_tile_registers(&d->w, p, &p->b, tile->k * tile->n);
    if (keys > most) keys = 0;
    if (keys + values > most) values = 0;
    x->fetches_keys = keys > 0;
    x->fetches_values = values > 0;
}

/* Blocks on an SM: one that keeps many copies in flight, if so few blocks fill the machine as well as two would. Its
   four warps are too few for short rows and for rows that indices find. Of many blocks with short rows four run at a
   time (H200, 64 x 32 over 8 x 1 x 4096 x 64: 133 us with two, 122 with four). */
static int cg__at_split_blocks(const cg__decider *d, const cg__mm_problem *p, const cg__attention *x, ind_expr tiles) {
    const int64_t num = ind_hint(tiles), sms = d->w.target->num_sms, most = ind_hint(p->size_k) / AT_SPLIT_LEAST;
    const bool copies = x->keys.b.copy && p->b.copy && !x->keys.b.gathered && !p->b.gathered;
    const bool wide = x->features + cg__at_columns(p->size_n) >= 128;
    const bool narrow = x->features + cg__at_columns(p->size_n) <= 128;
    if (d->part_threads) return 2; /* of a persistent launch */
    if (copies && narrow && x->product == AT_MMA_HALVES && num > sms) return 4;
    if (!copies || !wide || x->product != AT_MMA_HALVES || num > sms || num < 1) return 2;
    const int64_t one = sms / num < most ? sms / num : most, two = 2 * sms / num < most ? 2 * sms / num : most;
    return 20 * one >= 9 * two ? 1 : 2; /* on an H200, 128 blocks of 132 were faster than 264 */
}

/* Chooses the stages: as many as the blocks on an SM have room for. A tile whose inputs are in registers needs only
   two. */
static void cg__at_set_split_stages(cg__decider *d, const cg__mm_problem *p, cg__attention *x) {
    ind__tile_plan *tile = &d->variant->of.tile;
    const int blocks = d->variant->blocks_per_sm;
    const int64_t most = d->w.target->shared_per_block;
    cg__at_choose_fetches(d, p, x);
    const bool ahead = (x->fetches_keys || x->fetches_values) && !x->keys.b.copy && !p->b.copy;
    tile->stages = blocks == 1 ? 8 : 4;
    while (tile->stages > 2 && (ahead || blocks * cg__at_split_bytes(x, tile->stages, tile->k, tile->n) > most))
        tile->stages--;
}

/* True if the queries are computed while the copies of the first keys and values are in flight. Copies of queries
   belong to the first group, so they come before. */
static bool cg__at_queries_follow(const cg__attention *x) {
    return x->queries.a.computed && !x->fetches_keys && !x->fetches_values;
}

/* True if the keys of a block depend on data: its first keys are then not known before the wait. */
static bool cg__at_is_limited_by_data(const cg__attention *x) {
    for (int i = 0; i < x->num_masks; i++)
        if (ind__ok(x->mask[i].condition) && ind__expr_has_kind(x->mask[i].condition, IND_SYMBOL_INDIRECT)) return true;
    return false;
}

/* True if the keys' or values' rows are at least their features apart: each element of memory has one key. */
static bool cg__at_rows_are_apart(const ind__writer *w, const cg__mm_problem *p) {
    ind_expr stride;
    return cg__mm_step_of(w, p, &p->b, &stride) && ind_known_le(cg__mm_extent(w, p->n), stride);
}

/* True if blocks prefetch their first keys and values into the L2 before they wait for the previous launch, or in a
   persistent launch for the previous phase. A launch may still write them: a prefetch is no load. The caches of all
   layers may be larger than the L2, so that rows come from memory. */
static bool cg__at_prefetches(const cg__decider *d, const cg__mm_problem *p, const cg__attention *x) {
    const bool copies = x->keys.b.copy && p->b.copy && !x->keys.b.k_major && !p->b.k_major;
    return d->variant->dependent && d->plan->part != IND__PART_OF_LAUNCH && x->product == AT_MMA_HALVES && copies &&
           !x->keys.b.gathered && !p->b.gathered && !cg__at_is_limited_by_data(x) &&
           !ind__body_unbacked(d->w.schedule->program, d->w.body);
}

/* Chooses the tile, and the blocks that share it. */
static void cg__at_set_split_tile(cg__decider *d, const cg__mm_problem *p, cg__attention *x) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    const int columns = cg__at_columns(p->size_n);
    const ind_expr rows = cg__mm_tiles(p->size_m, IND__SPLIT_QUERIES);
    v->of.tile = (ind__tile_plan){.m = IND__SPLIT_QUERIES,
                                  .n = columns,
                                  .k = cg__at_split_keys(d, x, columns),
                                  .products = 1,
                                  .warps_m = 1,
                                  .warps_n = AT_SPLIT_WARPS};
    v->strategy = x->product == AT_FMA ? IND_STRATEGY_ATTENTION_FMA_SPLIT : IND_STRATEGY_ATTENTION_SPLIT;
    v->threads = 32 * AT_SPLIT_WARPS;
    v->rows = v->per_thread = 1;
    const ind_expr tiles = ind_expr_mul(rows, p->batch);
    v->blocks_per_sm = cg__at_split_blocks(d, p, x, tiles);
    cg__at_set_split_stages(d, p, x);
    v->of.tile.prefetches = cg__at_prefetches(d, p, x);
    v->of.tile.loads_first = v->of.tile.prefetches && d->loads_first && cg__at_queries_follow(x) &&
                             cg__at_rows_are_apart(&d->w, &x->keys) && cg__at_rows_are_apart(&d->w, p);
    v->memory.shared = ind_int(c, cg__at_split_bytes(x, cg__at_split_kept(p, &v->of.tile), v->of.tile.k, columns));
    v->of.tile.splits = cg__at_parts(d, p, tiles);
    const bool alone = ind_known_eq(v->of.tile.splits, ind_int(c, 1));
    const int64_t fill = cg__at_split_fill(d);
    v->memory.num_counters = alone ? 0 : (uint32_t)fill;
    v->memory.partial_bytes = alone ? 0 : fill * IND__SPLIT_QUERIES * (columns + 2) * 4;
    const ind_expr blocks[3] = {v->of.tile.splits, rows, p->batch};
    cg__set_axes(d, blocks);
}

/* ---- writing */

/* Calls functions of keys and of values, of those operands whose inputs are loaded ahead, or of the others. */
static void cg__at_write_calls(ind__writer *w, const cg__attention *x, bool ahead, const char *function,
                               const char *arguments) {
    if (x->fetches_keys == ahead) ind__textf(&w->code, "%s_keys(%s);\n", function, arguments);
    if (x->fetches_values == ahead) ind__textf(&w->code, "%s_values(%s);\n", function, arguments);
}

/* Begins the step's loads that are in flight while it is multiplied. */
static void cg__at_write_split_loads(ind__writer *w, const cg__attention *x) {
    const int ahead = w->variant->of.tile.stages - 1;
    ind__textf(&w->code, "ind_cp_async_wait<%d>();\n__syncthreads();\n", ahead - 1);
    if (!x->fetches_keys || !x->fetches_values) {
        cg__begin(w, "if (step + %d < end_step)", ahead);
        cg__at_write_calls(w, x, false, "load", cg__string(w, "step + %d, into", ahead));
        cg__end(w);
    }
    ind__textf(&w->code, "ind_cp_async_commit();\n");
    if (!x->fetches_keys && !x->fetches_values) return;
    cg__begin(w, "if (step + 1 < end_step)");
    const char *next = cg__string(w, "step + 1, stage == %d ? 0 : stage + 1", ahead);
    cg__at_write_calls(w, x, true, "load", ahead == 1 ? "step + 1, stage ^ 1" : next);
    cg__end(w);
    cg__begin(w, "if (step + 2 < end_step)");
    cg__at_write_calls(w, x, true, "fetch", "step + 2");
    cg__end(w);
}

/* Prefetches the lines of a step's tile of keys or values into the L2. A line of 128 bytes has 8 chunks. */
static void cg__at_write_tile_prefetch(ind__writer *w, const cg__mm_problem *p, char name, int columns) {
    const ind__variant *v = w->variant;
    const int chunks = columns / 8, apart = v->threads / chunks, lines = chunks < 8 ? chunks : 8;
    ind_expr stride;
    if (!cg__mm_step_of(w, p, &p->b, &stride)) return;
    cg__mm_set_text(w, p->k, "first_k");
    const char *from = cg__expr_string(w, ind_expr_mul(stride, w->plan->domain.var[p->k]));
    cg__unroll(w);
    cg__begin(w, "for (int i = 0; i < %d; i++)", (v->of.tile.k + apart - 1) / apart);
    ind__textf(&w->code, "const bool first = (int)threadIdx.x %% %d == 0;\n", lines);
    ind__textf(&w->code,
               "if (first && first_k + i * %d + (int)threadIdx.x / %d < size_k) ind_prefetch(%s + %s + at_%c[i]);\n",
               apart, chunks, cg__buffer(w, cg__inst(w, p->b.load)->source), from, name);
    cg__end(w);
}

/* Prefetches the tiles into the L2 that are loaded before the first step, then waits for the previous launch. */
static void cg__at_write_prefetches(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (!tile->prefetches || tile->loads_first) return;
    cg__begin(w, "for (int step = first_step; step < end_step && step < first_step + %d; step++)", tile->stages - 1);
    ind__textf(&w->code, "const %s first_k = step * %d;\n", cg__int(w), tile->k);
    cg__at_write_tile_prefetch(w, &x->keys, 'd', x->features);
    cg__at_write_tile_prefetch(w, p, 'b', tile->n);
    cg__end(w);
    ind__textf(&w->code, "ind_dependency_wait();\n");
    cg__mm_set_plain_names(w);
    cg__use(w, IND__CG_PREFETCH);
}

/* The loads before the first step. */
static void cg__at_write_first_loads(ind__writer *w, const cg__attention *x) {
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int ahead = 0; ahead < %d; ahead++)", w->variant->of.tile.stages - 1);
    if (!x->fetches_keys || !x->fetches_values) {
        cg__begin(w, "if (first_step + ahead < end_step)");
        cg__at_write_calls(w, x, false, "load", "first_step + ahead, ahead");
        cg__end(w);
    }
    ind__textf(&w->code, "ind_cp_async_commit();\n");
    cg__end(w);
    if (!x->fetches_keys && !x->fetches_values) return;
    cg__begin(w, "if (first_step < end_step)");
    cg__at_write_calls(w, x, true, "fetch", "first_step");
    cg__at_write_calls(w, x, true, "load", "first_step, 0");
    cg__end(w);
    cg__begin(w, "if (first_step + 1 < end_step)");
    cg__at_write_calls(w, x, true, "fetch", "first_step + 1");
    cg__end(w);
}

/* A step: the keys of the warp. */
static void cg__at_write_split_step(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int keys = tile->k / AT_SPLIT_WARPS;
    const char *first = cg__string(w, "warp * %d", keys);
    cg__at_write_split_loads(w, x);
    ind__textf(&w->code, "float score[1][%d][4] = {};\n", keys / 8);
    cg__at_write_keys_product(w, p, x, "0", first);
    cg__at_write_step_scores(w, p, x, keys / 8, cg__string(w, "step * %d + %s", tile->k, first));
    ind__textf(&w->code,
               "state.add(score[0], factor, scale);\nif (__any_sync(0xffffffffu, factor[0] != 1 || factor[1] != 1)) "
               "ind_scale_rows(acc[0], factor);\n");
    cg__at_write_dropout(w, p, x, keys / 8);
    cg__at_write_values_product(w, p, x, first);
    cg__mm_end_stages(w);
}

/* The steps of the block, of those that the masks leave. */
static void cg__at_write_part(ind__writer *w) {
    ind__textf(&w->code, "const %s all_steps = end_step - first_step, part = (%s)split, parts = %s;\n", cg__int(w),
               cg__int(w), cg__expr_string(w, w->variant->of.tile.splits));
    ind__textf(
        &w->code,
        "first_step += all_steps * part / parts;\nend_step = first_step - all_steps * part / parts + all_steps * "
        "(part + 1) / parts;\n");
}

/* "weight_of": the factor of the sums of a row, from its state. */
static void cg__at_write_weight_function(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    ind__textf(&w->code, "const auto weight_of = [&](int r) {\n");
    w->code.indent++;
    w->scope++;
    ind__textf(&w->code, "const %s row = first_m + r;\n", cg__int(w));
    cg__at_write_query(w, p);
    const uint32_t weight = cg__at_write_weight(w, p, x, "states[r]");
    ind__textf(&w->code, "return ");
    cg__value(w, weight);
    ind__textf(&w->code, ";\n");
    cg__mm_end_lambda(w);
}

/* Results of each query: a thread has one. */
static void cg__at_write_split_rows(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    if (!cg__at_hide_row_stores(w, p)) return;
    cg__begin(w, "if (threadIdx.x < %d)", IND__SPLIT_QUERIES);
    ind__textf(&w->code, "const %s row = first_m + (int)threadIdx.x;\n", cg__int(w));
    cg__at_write_query(w, p);
    cg__at_write_row_stores(w, p, x, "row < size_m", "states[threadIdx.x].max", "states[threadIdx.x].sum");
    cg__end(w);
}

/* Combines warps, then blocks. */
static void cg__at_write_combined(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const bool shared = w->variant->memory.partial_bytes > 0;
    ind__textf(&w->code, "state.combine();\nind_cp_async_wait<0>();\n__syncthreads();\n");
    ind__textf(&w->code, "float *const sum = reinterpret_cast<float *>(ind_smem);\n");
    ind__textf(&w->code,
               "ind_softmax<float> *const states = reinterpret_cast<ind_softmax<float> *>(ind_smem + %lld);\n",
               (long long)cg__at_split_states(p, x, tile));
    ind__textf(&w->code, "const int num_rows = (int)(last_m - first_m) + 1;\n");
    if (shared)
        ind__textf(
            &w->code,
            "float *const own = ind_part_of_keys<%d>(reinterpret_cast<float *>(partials), tile, split, parts);\n",
            tile->n);
    ind__textf(&w->code, "ind_combine_warps_of_keys<%d, %d%s>(sum, states, acc, state, num_rows, %s);\n",
               AT_SPLIT_WARPS, tile->n, x->product == AT_FMA ? ", true" : "", shared ? "own" : "nullptr");
    if (shared)
        ind__textf(
            &w->code,
            "if (!ind_combine_blocks_of_keys<%d, %d>(sum, states, own, &counters[tile], split, parts, num_rows)) "
            "return;\n",
            tile->n, w->variant->threads);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, shared ? IND__CG_COMBINE_BLOCKS_OF_KEYS : IND__CG_COMBINE_WARPS_OF_KEYS);
    cg__at_write_split_rows(w, p, x);
    cg__at_write_weight_function(w, p, x);
}

static void cg__at_write_split_position(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    const ind_expr rows = cg__mm_tiles(p->size_m, IND__SPLIT_QUERIES);
    const ind_expr blocks[3] = {w->variant->of.tile.splits, rows, p->batch};
    const char *at[3], *type = cg__int(w);
    ind__textf(&w->code, "const %s size_m = %s, size_n = %s, size_k = %s, size_d = %s;\n", type,
               cg__expr_string(w, p->size_m), cg__expr_string(w, p->size_n), cg__expr_string(w, p->size_k),
               cg__expr_string(w, x->queries.size_k));
    cg__write_axes(w, blocks, at);
    ind__textf(&w->code, "const unsigned split = %s, tile = %s * (unsigned)(%s) + %s;\n", at[0], at[2],
               cg__expr_string(w, rows), at[1]);
    ind__textf(&w->code, "const %s first_m = (%s)%s * %d, first_n = 0, first_d = 0;\n", type, type, at[1],
               IND__SPLIT_QUERIES);
    ind__textf(&w->code, "const %s last_m = (first_m + %d < size_m ? first_m + %d : size_m) - 1;\n", type,
               IND__SPLIT_QUERIES, IND__SPLIT_QUERIES);
    cg__write_outer_vars(w, at[2], cg__at_vars(p));
    ind__textf(&w->code, "const int lane = threadIdx.x %% 32, warp = threadIdx.x / 32;\n");
    ind__textf(&w->code, "const %s row_m = first_m + lane / 4;\n", type);
}

/* The body of the kernel function for few queries. */
static ind_status cg__emit_split_attention(ind__writer *w) {
    const cg__mm_problem *p = w->plan->matmul;
    const cg__attention *x = w->plan->attention;
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int keys = cg__at_units(x, tile->m * x->features);
    const int values = keys + cg__at_units(x, cg__at_split_kept(p, tile) * tile->k * x->features);
    cg__mm_set_plain_names(w);
    ind__textf(&w->code, "extern __shared__ __align__(128) unsigned char ind_smem[];\n");
    cg__at_write_split_position(w, p, x);
    cg__at_write_steps(w, p, x, false);
    cg__at_write_part(w);
    cg__at_write_tiles(w, p, x, keys, values);
    cg__at_write_prefetches(w, p, x);
    if (!cg__at_queries_follow(x)) cg__at_write_queries(w, x);
    cg__at_write_own_weights(w, x, cg__at_split_states(p, x, tile) + AT_SPLIT_STATES, tile->k / AT_SPLIT_WARPS);
    cg__at_write_first_loads(w, x);
    if (tile->loads_first) cg__at_write_new_rows(w, p, x);
    if (cg__at_queries_follow(x)) cg__at_write_queries(w, x);
    cg__at_need_score(w, p, x, true);
    cg__at_write_state(w, "acc[1][%d][4]", tile->n / 8);
    ind__textf(&w->code, "int stage = 0, into = %d;\n#pragma unroll 1\n", tile->stages - 1);
    cg__begin(w, "for (%s step = first_step; step < end_step; step++)", cg__int(w));
    cg__at_write_split_step(w, p, x);
    cg__at_write_combined(w, p, x);
    cg__mm_set_sum_text(w, p);
    cg__mm_write_epilogue(w, p,
                          &(cg__mm_area){.rows = tile->m,
                                         .cols = tile->n,
                                         .threads = w->variant->threads,
                                         .thread = "threadIdx.x",
                                         .pitch = tile->n,
                                         .factor = "weight_of(row)"});
    return w->failed ? ind__failed(w->context) : IND_OK;
}
