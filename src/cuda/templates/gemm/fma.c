/* Products with FMA, for types that tensor cores do not multiply exactly. */

/* Loads the sources of an operand's next tile into registers. */
static void cg__mm_write_next_raw(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    char x = name == 'a' ? 'm' : 'n';
    if (o->x >= 0) ind__textf(&w->code, "const %s i%d = first_%c + x;\n", cg__int(w), o->x, x);
    if (p->k >= 0) ind__textf(&w->code, "const %s r0 = first_k + k;\n", cg__int(w));
    ind__textf(&w->code, "const bool inside = first_%c + x < size_%c && first_k + k < size_k;\n", x, x);
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i <= o->value; i++)
        if (cg__mm_is_early_load(w, i))
            ind__textf(&w->code, "if (inside) next_%c%u[i] = %s;\n", name, i, cg__element(w, i));
}

/* Loads an operand's next tile into registers. */
static void cg__mm_write_next(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    cg__mm_set_plain_names(w);
    cg__mm_begin_elements(w, o, name, true);
    if (o->computed) {
        cg__mm_write_next_raw(w, p, o, name);
        cg__end(w);
        return;
    }
    cg__mm_write_element(w, p, o, name);
    ind__textf(&w->code, "next_%c[i] = (%s)value;\n", name, cg__mm_sum_type(p));
    cg__end(w);
}

/* Makes the LOADs of a prologue read the registers of cg__mm_write_next_raw; name 0: memory again. */
static void cg__mm_set_next_loads(ind__writer *w, const cg__mm_operand *o, char name) {
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i <= o->value; i++)
        if (cg__mm_is_early_load(w, i)) w->memory[i] = name ? cg__string(w, "next_%c%u[i]", name, i) : NULL;
}

/* Declares registers for the sources of an operand's next tile. */
static void cg__mm_declare_next(ind__writer *w, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    int n = (name == 'a' ? v->of.tile.m : v->of.tile.n) * v->of.tile.k / v->threads;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; o->computed && i <= o->value; i++)
        if (cg__mm_is_early_load(w, i))
            ind__textf(&w->code, "%s next_%c%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory, name, i, n);
}

/* Stores an operand's tile from registers to the half of the shared memory that is not being read. */
static void cg__mm_write_put(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    int pitch = (name == 'a' ? v->of.tile.m : v->of.tile.n) + 4;
    cg__mm_set_plain_names(w);
    cg__mm_begin_elements(w, o, name, true);
    if (o->computed) {
        cg__mm_set_next_loads(w, o, name);
        cg__mm_write_element(w, p, o, name);
        cg__mm_set_next_loads(w, o, 0);
    }
    const char *value =
        o->computed ? cg__string(w, "(%s)value", cg__mm_sum_type(p)) : cg__string(w, "next_%c[i]", name);
    ind__textf(&w->code, "tile_%c[half * %d + k * %d + x] = %s;\n", name, v->of.tile.k * pitch, pitch, value);
    cg__end(w);
}

/* Products of a chain, whose sum starts at 0 (ind_fma_chains); 0: the accumulators add all products in the order of k.
   Chains need registers for a second set of sums: the largest tiles have none, nor have sums of 8 bytes. In a model of
   the rounding errors chains of 4 are best up to k = 24, chains of 8 above. With k = 16 and 80, RMS errors are 0.78 and
   0.51 of those in the order of k. With cuBLAS they are 0.58 at k = 80 (H100). */
static int cg__mm_fma_chain(const cg__mm_problem *p, int per_thread) {
    int64_t least, most;
    if (p->sum != IND_F32 || per_thread > 4) return 0;
    ind__known_bounds(p->size_k, &least, &most);
    return most <= 24 ? 4 : 8;
}

static void cg__mm_write_fma_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    ind__textf(&w->code, "if (steps > 0) load(0);\n#pragma unroll 1\n");
    cg__begin(w, "for (%s step = 0; step < steps; step++)", cg__int(w));
    ind__textf(&w->code, "const int half = (int)(step & 1);\nput(half%s);\n__syncthreads();\n",
               cg__mm_has_prologue(p) ? ", step" : "");
    ind__textf(&w->code, "if (step + 1 < steps) load(step + 1);\n");
    const int chain = cg__mm_fma_chain(p, v->per_thread);
    const char *sums = chain ? cg__string(w, ", %d", chain) : "";
    ind__textf(&w->code, "%s<%d, %d, %d%s>(acc, tile_a + half * %d, tile_b + half * %d);\n",
               chain ? "ind_fma_chains" : "ind_fma_tile", v->of.tile.m, v->of.tile.n, v->of.tile.k, sums,
               v->of.tile.k * (v->of.tile.m + 4), v->of.tile.k * (v->of.tile.n + 4));
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, IND__CG_FMA_TILE);
}

static void cg__mm_write_fma(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    const char *type = cg__mm_sum_type(p);
    ind__textf(&w->code, "%s *const tile_a = reinterpret_cast<%s *>(ind_smem), *const tile_b = tile_a + %d;\n", type,
               type, 2 * v->of.tile.k * (v->of.tile.m + 4));
    ind__textf(&w->code, "%s ", type);
    if (!p->a.computed) ind__textf(&w->code, "next_a[%d], ", v->of.tile.m * v->of.tile.k / v->threads);
    if (!p->b.computed) ind__textf(&w->code, "next_b[%d], ", v->of.tile.n * v->of.tile.k / v->threads);
    ind__textf(&w->code, "acc[%d][%d] = {};\n", v->per_thread, v->per_thread);
    cg__mm_declare_next(w, &p->a, 'a');
    cg__mm_declare_next(w, &p->b, 'b');
    cg__mm_begin_load(w, false);
    cg__mm_write_next(w, p, &p->a, 'a');
    cg__mm_write_next(w, p, &p->b, 'b');
    cg__mm_end_lambda(w);
    bool prologue = cg__mm_has_prologue(p);
    const char *step = prologue ? cg__string(w, ", %s step", cg__int(w)) : "";
    ind__textf(&w->code, "const auto put = [&](int half%s) {\n", step);
    w->code.indent++;
    w->scope++;
    if (prologue) cg__mm_write_first_k(w, "step");
    cg__mm_write_put(w, p, &p->a, 'a');
    cg__mm_write_put(w, p, &p->b, 'b');
    cg__mm_end_lambda(w);
    cg__mm_write_fma_loop(w, p);
    ind__textf(&w->code, "%s *const sum = reinterpret_cast<%s *>(ind_smem);\n", type, type);
    ind__textf(&w->code, "ind_fma_sums<%d, %d>(sum, acc);\n__syncthreads();\n", v->of.tile.m, v->of.tile.n);
}

/* ---- the template ---- */

static const cg__mm_config cg__mm_fma_configs[] = {
    {128, 128, 8, 8, 0, 2, 128, 1, 0, 0, 0},
    {64, 64, 16, 4, 0, 2, 128, 1, 0, 0, 0},
    {32, 32, 16, 4, 0, 2, 128, 1, 0, 0, 0},
};

static const char *cg__mm_fma_match(const cg__mm_problem *p, const ind_target *t) {
    (void)t;
    if (p->dot2) return "it has two products";
    if (p->windows.depthwise) return "the convolution is depthwise";
    return p->tensor_bytes ? "tensor cores multiply these types" : NULL;
}

/* The addresses of elements in flight take registers with 64-bit indices, and with conditions or divisions. */
static void cg__mm_fma_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth;
    if (index_bits == 64) c->registers += 48;
    if (p->a.involved || p->b.involved) c->registers += 48;
}

/* Sums of 8 bytes leave no registers for the largest tiles per thread. */
static bool cg__mm_fma_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    return c->warps_m * cg__mm_sum_bytes(p) <= 32;
}

static int cg__mm_fma_threads(const cg__mm_config *c) {
    return c->tile_m * c->tile_n / (c->warps_m * c->warps_m);
}

static int64_t cg__mm_fma_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    return (int64_t)2 * (c->tile_m + c->tile_n + 8) * c->tile_k * cg__mm_sum_bytes(p);
}

static cg__mm_work cg__mm_fma_work(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t) {
    const int sum_bytes = cg__mm_sum_bytes(p);
    return (cg__mm_work){.rate = (double)t->fma_rate * 4 / sum_bytes,
                         .rows = 2.0 * c->tile_m * c->tile_n / c->warps_m,
                         .bytes = sum_bytes};
}

static const cg__mm_template cg__mm_fma = {.strategy = IND_STRATEGY_MATMUL_SIMT,
                                           .match = cg__mm_fma_match,
                                           MM_CONFIGS(cg__mm_fma_configs),
                                           .fit = cg__mm_fma_fit,
                                           .allows = cg__mm_fma_allows,
                                           .threads = cg__mm_fma_threads,
                                           .tile_bytes = cg__mm_fma_bytes,
                                           .idle_stages = 1,
                                           .work = cg__mm_fma_work,
                                           .alignment = 128,
                                           .reads_pointers = true,
                                           .main_loop = cg__mm_write_fma};
