/* The products of a warp's 16 queries with keys, and of its weights with values, by the type of the operands: 16-bit
   types and tf32 with mma.sync, f32 with FMA. Scores and sums have the layout of accumulators of mma.sync; with 32-bit
   operands a lane has the keys lane % 4 and lane % 4 + 4 of each 8. */

/* Bytes per warp of the weights of so many keys, which FMA reads from shared memory. */
static int64_t cg__at_weight_bytes(const cg__attention *x, int keys) {
    return x->product == AT_FMA ? 16 * 4 * ((int64_t)keys + 4) : 0;
}

static int cg__at_bytes(const cg__attention *x) {
    return x->product == AT_MMA_HALVES ? 2 : 4;
}

/* 16-bit units of so many elements of a tile. */
static int cg__at_units(const cg__attention *x, int elements) {
    return elements * cg__at_bytes(x) / 2;
}

/* The type of the operands: both products have the same one. */
static void cg__at_set_product(const ind__writer *w, cg__mm_problem *p, cg__attention *x) {
    const bool halves = p->b.memory == IND_F16 || p->b.memory == IND_BF16;
    x->product = halves ? AT_MMA_HALVES : w->schedule->program->options.allow_tf32 ? AT_MMA_TF32 : AT_FMA;
    p->tensor_bytes = x->queries.tensor_bytes = x->keys.tensor_bytes = halves ? 2 : 4;
    x->keys.b.along_rows = true;
}

static const char *cg__at_bool(bool value) {
    return value ? "true" : "false";
}

static const char *cg__at_halves(const cg__mm_problem *p) {
    return p->b.memory == IND_BF16 ? "ind_mma_halves<true>" : "ind_mma_halves<false>";
}

/* score += queries * keys, for the warp's queries from `m` on and the stage's keys from `first` on; NULL: all keys. */
static void cg__at_write_keys_product(ind__writer *w, const cg__mm_problem *p, const cg__attention *x, const char *m,
                                      const char *first) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const bool by_query = x->queries.a.k_major, by_key = !x->keys.b.k_major;
    const char *stage = cg__string(w, "tile_d + stage * %d", cg__at_units(x, tile->k * x->features));
    if (x->product != AT_MMA_HALVES) {
        const bool fma = x->product == AT_FMA;
        ind__textf(&w->code, "%s<%d, %d, %d, %s, %s>(score[0], tile_a, %s, %s, %s);\n",
                   fma ? "ind_fma_keys" : "ind_tf32_keys", tile->m, tile->k, x->features, cg__at_bool(by_query),
                   cg__at_bool(by_key), stage, m, first ? first : "0");
        cg__use(w, fma ? IND__CG_FMA_KEYS : IND__CG_TF32_KEYS);
        return;
    }
    cg__use(w, IND__CG_MMA_HALVES);
    cg__use(w, first ? IND__CG_MMA_KEYS : IND__CG_MMA_TILE);
    if (first)
        ind__textf(&w->code, "ind_mma_keys<%s, %d, %d, %d, %s, %s>(score[0], tile_a, %s, %s);\n", cg__at_halves(p),
                   tile->m, tile->k, x->features, cg__at_bool(by_query), cg__at_bool(by_key), stage, first);
    else
        ind__textf(&w->code, "ind_mma_tile<%s, %d, %d, %d, %s, %s>(score, tile_a, %s, %s, 0);\n", cg__at_halves(p),
                   tile->m, tile->k, x->features, cg__at_bool(by_query), cg__at_bool(by_key), stage, m);
}

/* acc += weights * values, for the same keys. */
static void cg__at_write_values_product(ind__writer *w, const cg__mm_problem *p, const cg__attention *x,
                                        const char *first) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *stage = cg__string(w, "tile_b + stage * %d", cg__at_units(x, tile->k * tile->n));
    const char *from = first ? cg__string(w, ", %s", first) : "";
    if (x->product == AT_MMA_HALVES) {
        ind__textf(&w->code, "ind_mma_weighted<%s, %d, %d, %s>(acc[0], score[0], %s, ind_pack_%s%s);\n",
                   cg__at_halves(p), tile->n, tile->k, cg__at_bool(p->b.k_major), stage, ind_dtype_name(p->b.memory),
                   from);
        cg__use(w, IND__CG_MMA_WEIGHTED);
        cg__use(w, p->b.memory == IND_BF16 ? IND__CG_PACK_BF16 : IND__CG_PACK_F16);
    } else if (x->product == AT_FMA) {
        ind__textf(&w->code, "ind_fma_weighted<%d, %d, %s>(acc[0], score[0], %s, own_weights%s);\n", tile->n, tile->k,
                   cg__at_bool(!p->b.k_major), stage, from);
        cg__use(w, IND__CG_FMA_WEIGHTED);
    } else {
        ind__textf(&w->code, "ind_tf32_weighted<%d, %d, %s>(acc[0], score[0], %s%s);\n", tile->n, tile->k,
                   cg__at_bool(!p->b.k_major), stage, from);
        cg__use(w, IND__CG_TF32_WEIGHTED);
    }
}

/* Declares where the warp has its weights, from this byte of shared memory on. */
static void cg__at_write_own_weights(ind__writer *w, const cg__attention *x, int64_t at, int keys) {
    if (x->product != AT_FMA) return;
    ind__textf(&w->code,
               "float *const own_weights = reinterpret_cast<float *>(ind_smem + %lld) + threadIdx.x / 32 * %d;\n",
               (long long)at, 16 * (keys + 4));
}

/* The key of score number u, from the lane's first one on, as a text. */
static const char *cg__at_key_text(const cg__attention *x) {
    return x->product == AT_MMA_HALVES ? "first_t + u / 4 * 8 + u % 2" : "first_t + u / 4 * 8 + u % 2 * 4";
}
