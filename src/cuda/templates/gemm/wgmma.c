/* Products on tensor cores with wgmma: sm_90a. */

/* The steps of k with wgmma, which is asynchronous. The copies of a step overwrite the tiles of the step before the
   previous one: all threads have waited for its products before the barrier. */
static void cg__mm_write_wgmma_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    int a = v->of.tile.m * v->of.tile.k, b = v->of.tile.n * v->of.tile.k;
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int step = 0; step < %d; step++)", v->of.tile.stages - 2);
    ind__textf(&w->code, "if (step < steps) load(step, step);\nind_cp_async_commit();\n");
    cg__end(w);
    cg__mm_begin_stages(w, v->of.tile.stages - 2);
    ind__textf(&w->code, "ind_cp_async_wait<%d>();\nind_wgmma_publish();\n__syncthreads();\n", v->of.tile.stages - 3);
    ind__textf(&w->code,
               "ind_wgmma_tile<%s, %d, %d, %d, %s, %s>(acc[0], tile_a + stage * %d, tile_b + stage * %d, first_row);\n",
               p->a.memory == IND_BF16 ? "true" : "false", v->of.tile.m, v->of.tile.n, v->of.tile.k,
               p->a.k_major ? "true" : "false", p->b.k_major ? "true" : "false", a, b);
    ind__textf(&w->code,
               "if (step + %d < steps) load(step + %d, into);\nind_cp_async_commit();\nind_wgmma_wait<1>(acc[0]);\n",
               v->of.tile.stages - 2, v->of.tile.stages - 2);
    cg__mm_end_stages(w);
    ind__textf(&w->code, "ind_wgmma_wait<0>(acc[0]);\nind_cp_async_wait<0>();\n__syncthreads();\n");
    cg__use(w, IND__CG_CP_ASYNC);
    cg__use(w, IND__CG_WGMMA);
}

static const char *cg__mm_wgmma_type(const cg__mm_operand *o) {
    switch (o->memory) {
    case IND_BF16: return "bf16";
    case IND_F16: return "f16";
    case IND_F8E5M2: return "e5m2";
    case IND_F8E4M3FN: return "e4m3";
    case IND_F32: return "tf32";
    default: return "s8";
    }
}

/* True if the sums of a thread are PTX registers; see cg__mm_write_sum_registers. */
static bool cg__mm_has_sum_registers(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_MATMUL_TMA && !w->plan->matmul->promotes;
}

/* n / 2 sums of a thread in PTX, from number `first` on: operands ("%") or registers. */
static void cg__mm_write_sum_names(ind__text *t, int n, const char *name, int first) {
    for (int i = 0; i < n / 2; i += 8) {
        ind__textf(t, "             \"");
        for (int j = i; j < i + 8 && j < n / 2; j++)
            ind__textf(t, "%s%d%s", name, first + j, j + 1 < n / 2 ? ", " : "");
        ind__textf(t, "\"\n");
    }
}

/* The same as operands of an asm statement; access: '+' or '='. */
static void cg__mm_write_sum_operands(ind__text *t, const cg__mm_problem *p, int n, char access) {
    ind__textf(t, "             : ");
    for (int i = 0; i < n / 2; i++) {
        ind__textf(t, "\"%c%c\"(c[%d][%d])%s", access, p->sum == IND_F32 ? 'f' : 'r', i / 4, i % 4,
                   i + 1 == n / 2 ? "\n"
                   : i % 8 == 7   ? ",\n               "
                                  : ", ");
    }
}

/* The instruction of one wgmma, for 64 rows with number `piece` among those of the thread. */
static void cg__mm_write_wgmma_instruction(ind__text *t, const cg__mm_problem *p, int n, bool registers, int piece) {
    const int first = registers ? 0 : n / 2; /* the operand that is a's descriptor */
    if (p->tensor_bytes == 1)
        ind__textf(t, "asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %%%d, 0;\\n\"\n", first + 2);
    else
        ind__textf(t, "asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, 1, 0;\\n\"\n");
    ind__textf(t, "             \"wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {\"\n", n, 32 / p->tensor_bytes,
               p->sum == IND_F32 ? "f32" : "s32", cg__mm_wgmma_type(&p->a), cg__mm_wgmma_type(&p->b));
    cg__mm_write_sum_names(t, n, registers ? "ind_acc" : "%", piece * n / 2);
    ind__textf(t, "             \"}, %%%d, %%%d, p%s", first, first + 1, p->sum == IND_F32 ? ", 1, 1" : "");
    if (p->tensor_bytes == 2) ind__textf(t, ", %d, %d", !p->a.k_major, !p->b.k_major);
    ind__textf(t, ";\\n}\"\n");
    if (registers)
        ind__textf(t, "             :\n");
    else
        cg__mm_write_sum_operands(t, p, n, '+');
    ind__textf(t, "             : \"l\"(a), \"l\"(b)%s);\n",
               p->tensor_bytes == 1 ? ", \"r\"((int)(!FRESH || k > 0))" : "");
}

/* An asm statement with one mov.b32 per sum: clears the registers, or reads them to operands. */
static void cg__mm_write_sum_moves(ind__text *t, int n, bool read) {
    ind__textf(t, "        asm volatile(");
    for (int i = 0; i < n / 2; i++) {
        ind__textf(t, "%s", i % 4 ? " " : i ? "                     \"" : "\"");
        if (read)
            ind__textf(t, "mov.b32 %%%d, ind_acc%d;", i, i);
        else
            ind__textf(t, "mov.b32 ind_acc%d, 0;", i);
        ind__textf(t, "%s", i % 4 < 3 ? "" : i + 1 < n / 2 ? "\\n\"\n" : "\\n\"");
    }
}

/* The struct ind_wgmma_sums. */
static void cg__mm_write_sum_registers(ind__text *t, const cg__mm_problem *p, int n) {
    ind__textf(t,
               "// The sums of a thread: registers that PTX declares. A kernel has one object. asm statements with all "
               "sums as\n// operands would take NVRTC longer.\n"
               "template <typename T, int NI> struct ind_wgmma_sums {\n"
               "    IND_INLINE ind_wgmma_sums() {\n");
    ind__textf(t, "        asm volatile(\".reg .b32 ind_acc<%d>;\");\n    }\n    IND_INLINE void clear() {\n", n / 2);
    cg__mm_write_sum_moves(t, n, false);
    ind__textf(t, ");\n    }\n"
                  "    // Waits until at most N wgmma groups are in flight.\n"
                  "    template <int N> IND_INLINE void wait() {\n"
                  "        asm volatile(\"wgmma.wait_group.sync.aligned %%0;\" :: \"n\"(N) : \"memory\");\n    }\n"
                  "    // Requires wait<0>.\n"
                  "    IND_INLINE void read(T (&c)[NI][4]) {\n");
    cg__mm_write_sum_moves(t, n, true);
    ind__textf(t, "\n");
    cg__mm_write_sum_operands(t, p, n, '=');
    ind__textf(t, "        );\n    }\n};\n");
}

/* The device function ind_wgmma_tile. Its instruction lists n / 2 registers. */
static void cg__mm_write_wgmma(ind__writer *w, ind__text *t) {
    const cg__mm_problem *p = w->plan->matmul;
    const bool registers = cg__mm_has_sum_registers(w);
    int n = w->variant->of.tile.n;
    const char *place = "ind_wgmma_operand<%c_K_MAJOR ? T%c : TK, %c_K_MAJOR ? TK : T%c, %c_K_MAJOR>(tile_%c, %s, k)%s";
    const int pieces = cg__mm_row_pieces(w->variant);
    ind__textf(t, "#ifndef IND_EMULATION\n");
    if (registers) cg__mm_write_sum_registers(t, p, pieces * n);
    ind__textf(t, "// c += A[m .. m + 63, TK] * B[TK, TN] of a pair of tiles: "
                  "asynchronous, one warpgroup.\n");
    if (p->tensor_bytes == 1)
        ind__textf(t, "// TK: pairs of 8-bit elements. FRESH: c = A * B.\n"
                      "template <bool A_E5M2, bool B_E5M2, bool FRESH, int TM, int TN, int TK, bool A_K_MAJOR = true, "
                      "bool B_K_MAJOR = true>\n");
    else if (p->tensor_bytes == 4)
        ind__textf(t, "// TK: 16-bit units of tf32.\n"
                      "template <int TM, int TN, int TK, bool A_K_MAJOR = true, bool B_K_MAJOR = true>\n");
    else
        ind__textf(t, "template <bool BF16, int TM, int TN, int TK, bool A_K_MAJOR, bool B_K_MAJOR>\n");
    ind__textf(t, "static IND_INLINE void ind_wgmma_%s(",
               p->tensor_bytes == 1   ? "bytes"
               : p->tensor_bytes == 4 ? "words"
                                      : "tile");
    if (registers)
        ind__textf(t, "ind_wgmma_sums<%s, %d> &", cg__mm_sum_type(p), pieces * n / 8);
    else
        ind__textf(t, "%s (&c)[%d][4]", cg__mm_sum_type(p), n / 8);
    ind__textf(t, ", const unsigned short *tile_a,\n");
    ind__textf(t, "                                       const unsigned short *tile_b, int m) {\n");
    t->indent++;
    ind__textf(t, "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n_Pragma(\"unroll\")\nfor (int k = 0; k "
                  "< TK; k += 16) {\n");
    t->indent++;
    ind__textf(t, "unsigned long long a = ");
    ind__textf(t, place, 'A', 'M', 'A', 'M', 'A', 'a', "m", ";\n");
    ind__textf(t, "const unsigned long long b = ");
    ind__textf(t, place, 'B', 'N', 'B', 'N', 'B', 'b', "0", ";\n");
    for (int piece = 0; piece < pieces; piece++) {
        if (piece) {
            ind__textf(t, "a = ");
            ind__textf(t, place, 'A', 'M', 'A', 'M', 'A', 'a', cg__string(w, "m + %d", piece * MM_GROUP_ROWS), ";\n");
        }
        cg__mm_write_wgmma_instruction(t, p, n, registers, piece);
    }
    t->indent--;
    ind__textf(t, "}\nasm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n");
    t->indent--;
    ind__textf(t, "}\n#endif\n\n");
}

/* ---- the template ---- */

static const cg__mm_config cg__mm_wgmma_configs[] = {
    {256, 128, 64, 16, 1, 4, 128, 1, 0, 0, 0}, {128, 256, 64, 8, 1, 4, 255, 1, 0, 0, 0},
    {128, 192, 64, 8, 1, 4, 255, 1, 0, 0, 0},  {128, 128, 64, 8, 1, 4, 255, 1, 0, 0, 0},
    {128, 128, 64, 8, 1, 3, 128, 1, 0, 0, 0},  {128, 96, 64, 8, 1, 8, 255, 1, 0, 0, 0},
    {128, 96, 64, 8, 1, 4, 128, 1, 0, 0, 0},   {128, 64, 64, 8, 1, 8, 255, 1, 0, 0, 0},
    {128, 64, 64, 8, 1, 4, 128, 1, 0, 0, 0},   {128, 32, 64, 8, 1, 4, 80, 1, 0, 0, 0},
    {64, 192, 64, 4, 1, 4, 255, 1, 0, 0, 0},   {64, 128, 64, 4, 1, 4, 168, 1, 0, 0, 0},
    {64, 128, 64, 4, 1, 3, 168, 1, 0, 0, 0},   {64, 96, 64, 4, 1, 4, 168, 1, 0, 0, 0},
    {64, 96, 64, 4, 1, 3, 168, 1, 0, 0, 0},    {64, 64, 64, 4, 1, 8, 255, 1, 0, 0, 0},
    {64, 64, 64, 4, 1, 4, 128, 1, 0, 0, 0},    {64, 32, 64, 4, 1, 4, 96, 1, 0, 0, 0},
};

static const char *cg__mm_wgmma_match(const cg__mm_problem *p, const ind_target *t) {
    if (!t->specific || t->sm != 90) return "wgmma exists on sm_90a only";
    if (!p->tensor_bytes) return cg__mm_no_tensor(p, t);
    if (p->a.across || p->b.across) return "wgmma takes 8-bit operands that are contiguous along k only";
    return cg__mm_all_copied(p) ? NULL : "wgmma needs all operands copied in 16-byte vectors";
}

/* wgmma on tiles that the multiplying threads copy. */
static const char *cg__mm_copied_wgmma_match(const cg__mm_problem *p, const ind_target *t) {
    if (p->tensor_bytes == 4) return "wgmma truncates f32 operands that no tensor map rounds to tf32";
    return p->tensor_bytes == 1 ? "wgmma of 8-bit operands needs tensor maps" : cg__mm_wgmma_match(p, t);
}

static void cg__mm_wgmma_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)index_bits;
    cg__mm_fit_stages(c, p, depth, 2);
}

static bool cg__mm_wgmma_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    return cg__mm_has_panels(c, p);
}

/* Each wgmma reads its 64 rows of a and all of b. */
static cg__mm_work cg__mm_wgmma_work(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t) {
    return (cg__mm_work){.rate = (double)t->wgmma_rate * cg__mm_tensor_speed(p, t),
                         .rows = (double)c->tile_m * c->tile_n / 64 + c->tile_m,
                         .bytes = p->tensor_bytes};
}

static void cg__mm_wgmma_main_loop(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_begin_tensor_tiles(w, p, 16);
    ind__textf(&w->code, "const int first_row = warp_m & ~63;\n");
    cg__mm_write_wgmma_loop(w, p);
    cg__mm_end_tensor_tiles(w, p);
}

static const cg__mm_template cg__mm_wgmma = {.strategy = IND_STRATEGY_MATMUL_WGMMA,
                                             .match = cg__mm_copied_wgmma_match,
                                             MM_CONFIGS(cg__mm_wgmma_configs),
                                             .fit = cg__mm_wgmma_fit,
                                             .allows = cg__mm_wgmma_allows,
                                             .threads = cg__mm_warp_threads,
                                             .tile_bytes = cg__mm_stage_bytes,
                                             .idle_stages = 2,
                                             .work = cg__mm_wgmma_work,
                                             .alignment = 1024,
                                             .main_loop = cg__mm_wgmma_main_loop,
                                             .functions = cg__mm_write_wgmma};
