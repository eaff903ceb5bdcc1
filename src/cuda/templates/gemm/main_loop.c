/* ---- writing: the multiplication ---- */

/* The loop over the steps of k. The stages go round by counting, as a remainder would cost more than it tells: step n
   is multiplied from `stage`, and `into` takes what comes `ahead` steps later. */
static void cg__mm_begin_stages(ind__writer *w, int ahead) {
    ind__textf(&w->code, "int stage = 0, into = %d;\n#pragma unroll 1\n", ahead);
    cg__begin(w, "for (%s step = 0; step < steps; step++)", cg__int(w));
}

static void cg__mm_end_stages(ind__writer *w) {
    int last = w->variant->stages - 1;
    ind__textf(&w->code, "stage = stage == %d ? 0 : stage + 1;\ninto = into == %d ? 0 : into + 1;\n", last, last);
    cg__end(w);
}

/* Where the tile of `stage` lies: a computed one is made when it is needed, always in the same place. */
static const char *cg__mm_stage_of(ind__writer *w, const cg__mm_operand *o, int tile_x) {
    return o->computed ? "" : cg__string(w, " + stage * %d", tile_x * w->variant->tile_k);
}

static void cg__mm_write_mma_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    const char *a = cg__mm_stage_of(w, &p->a, v->tile_m), *b = cg__mm_stage_of(w, &p->b, v->tile_n);
    cg__unroll(w);
    cg__begin(w, "for (int step = 0; step < %d; step++)", v->stages - 1);
    ind__textf(&w->code, "if (step < steps) load(step, step);\nind_cp_async_commit();\n");
    cg__end(w);
    cg__mm_begin_stages(w, v->stages - 1);
    ind__textf(&w->code, "ind_cp_async_wait<%d>();\n__syncthreads();\n", v->stages - 2);
    ind__textf(&w->code, "if (step + %d < steps) load(step + %d, into);\nind_cp_async_commit();\n", v->stages - 1,
               v->stages - 1);
    if (cg__mm_has_prologue(p)) ind__textf(&w->code, "make(step, stage);\n__syncthreads();\n");
    ind__textf(&w->code, "ind_mma_tile<%s, %d, %d, %d, %s, %s>(acc, tile_a%s, tile_b%s,\n",
               p->a.memory == IND_BF16 ? "true" : "false", v->tile_m, v->tile_n, v->tile_k,
               p->a.k_major ? "true" : "false", p->b.k_major ? "true" : "false", a, b);
    ind__textf(&w->code, "    warp_m, warp_n);\n");
    cg__mm_end_stages(w);
    ind__textf(&w->code, "ind_cp_async_wait<0>();\n__syncthreads();\n");
    cg__use(w, IND__CG_CP_ASYNC);
    cg__use(w, IND__CG_MMA_TILE);
}

/* The steps of k with wgmma, which multiplies in the background. A step's tiles are copied to where the tiles of the
   step before the last were: the multiplication of those has been waited for by all threads before the barrier. */
static void cg__mm_write_wgmma_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    int a = v->tile_m * v->tile_k, b = v->tile_n * v->tile_k;
    cg__unroll(w);
    cg__begin(w, "for (int step = 0; step < %d; step++)", v->stages - 2);
    ind__textf(&w->code, "if (step < steps) load(step, step);\nind_cp_async_commit();\n");
    cg__end(w);
    cg__mm_begin_stages(w, v->stages - 2);
    ind__textf(&w->code, "ind_cp_async_wait<%d>();\nind_wgmma_publish();\n__syncthreads();\n", v->stages - 3);
    ind__textf(&w->code,
               "ind_wgmma_tile<%s, %d, %d, %d, %s, %s>(acc[0], tile_a + stage * %d, tile_b + stage * %d, first_row);\n",
               p->a.memory == IND_BF16 ? "true" : "false", v->tile_m, v->tile_n, v->tile_k,
               p->a.k_major ? "true" : "false", p->b.k_major ? "true" : "false", a, b);
    ind__textf(&w->code,
               "if (step + %d < steps) load(step + %d, into);\nind_cp_async_commit();\nind_wgmma_wait<1>(acc[0]);\n",
               v->stages - 2, v->stages - 2);
    cg__mm_end_stages(w);
    ind__textf(&w->code, "ind_wgmma_wait<0>(acc[0]);\nind_cp_async_wait<0>();\n__syncthreads();\n");
    cg__use(w, IND__CG_CP_ASYNC);
    cg__use(w, IND__CG_WGMMA);
}

/* The operands of one wgmma that are the n / 2 sums of a thread, and the instruction around them. */
static void cg__mm_write_wgmma_instruction(ind__text *t, const cg__mm_problem *p, int n) {
    const char *type = p->a.memory == IND_BF16 ? "bf16" : "f16";
    ind__textf(t, "asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, 1, 0;\\n\"\n");
    ind__textf(t, "             \"wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {\"\n", n, type, type);
    for (int i = 0; i < n / 2; i += 8) {
        ind__textf(t, "             \"");
        for (int j = i; j < i + 8 && j < n / 2; j++) ind__textf(t, "%%%d%s", j, j + 1 < n / 2 ? ", " : "");
        ind__textf(t, "\"\n");
    }
    ind__textf(t, "             \"}, %%%d, %%%d, p, 1, 1, %d, %d;\\n}\"\n             : ", n / 2, n / 2 + 1,
               !p->a.k_major, !p->b.k_major);
    for (int i = 0; i < n / 2; i++) {
        ind__textf(t, "\"+f\"(c[%d][%d])%s", i / 4, i % 4,
                   i + 1 == n / 2 ? "\n"
                   : i % 8 == 7   ? ",\n               "
                                  : ", ");
    }
    ind__textf(t, "             : \"l\"(a), \"l\"(b));\n");
}

/* Outside the kernel: ind_wgmma_tile, whose instruction lists as many registers as the tile is wide. */
static void cg__mm_write_wgmma(ind__writer *w, ind__text *t) {
    const cg__mm_problem *p = w->plan->matmul;
    int n = w->variant->tile_n;
    const char *place = "ind_wgmma_operand<%c_K_MAJOR ? T%c : TK, %c_K_MAJOR ? TK : T%c, %c_K_MAJOR>(tile_%c, %s, k)%s";
    ind__textf(t, "#ifndef IND_EMULATION\n// c += A[m .. m + 63, TK] * B[TK, TN] of a pair of tiles: "
                  "asynchronous, one warpgroup.\n");
    ind__textf(t, "template <bool BF16, int TM, int TN, int TK, bool A_K_MAJOR, bool B_K_MAJOR>\n");
    ind__textf(
        t, "static __device__ __forceinline__ void ind_wgmma_tile(float (&c)[%d][4], const unsigned short *tile_a,\n",
        n / 8);
    ind__textf(t, "                                                      const unsigned short *tile_b, int m) {\n");
    t->indent++;
    ind__textf(t, "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n_Pragma(\"unroll\")\nfor (int k = 0; k "
                  "< TK; k += 16) {\n");
    t->indent++;
    ind__textf(t, "const unsigned long long a = ");
    ind__textf(t, place, 'A', 'M', 'A', 'M', 'A', 'a', "m", ";\n");
    ind__textf(t, "const unsigned long long b = ");
    ind__textf(t, place, 'B', 'N', 'B', 'N', 'B', 'b', "0", ";\n");
    cg__mm_write_wgmma_instruction(t, p, n);
    t->indent--;
    ind__textf(t, "}\nasm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n");
    t->indent--;
    ind__textf(t, "}\n#endif\n\n");
}

/* What "load" does for one operand. */
static void cg__mm_write_tile(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    if (o->computed)
        cg__mm_write_raw(w, p, o, name);
    else if (o->copy)
        cg__mm_write_copy(w, p, o, name);
    else
        cg__mm_write_halves(w, p, o, name);
}

static void cg__mm_write_mma(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    bool wgmma = v->strategy == IND_STRATEGY_MATMUL_WGMMA;
    int warp_m = wgmma ? 16 : v->tile_m / v->warps_m, warp_n = v->tile_n / v->warps_n;
    ind__textf(&w->code, "unsigned short *const tile_a = reinterpret_cast<unsigned short *>(ind_smem);\n");
    int in_a = (p->a.computed ? 1 : v->stages) * v->tile_m * v->tile_k;
    int offset = 2 * (in_a + (p->b.computed ? 1 : v->stages) * v->tile_n * v->tile_k);
    ind__textf(&w->code, "unsigned short *const tile_b = tile_a + %d;\n", in_a);
    cg__mm_write_raw_arrays(w, p, &p->a, 'a', &offset);
    cg__mm_write_raw_arrays(w, p, &p->b, 'b', &offset);
    cg__mm_write_all_places(w, p);
    cg__mm_begin_load(w, true);
    cg__mm_write_tile(w, p, &p->a, 'a');
    cg__mm_write_tile(w, p, &p->b, 'b');
    cg__mm_end_lambda(w);
    cg__mm_write_make(w, p);
    ind__textf(&w->code, "const int warp = threadIdx.x / 32, warp_m = warp / %d * %d, warp_n = warp %% %d * %d;\n",
               v->warps_n, warp_m, v->warps_n, warp_n);
    ind__textf(&w->code, "float acc[%d][%d][4] = {};\n", warp_m / 16, warp_n / 8);
    if (wgmma) {
        ind__textf(&w->code, "const int first_row = warp_m & ~63;\n");
        cg__mm_write_wgmma_loop(w, p);
    } else {
        cg__mm_write_mma_loop(w, p);
    }
    ind__textf(&w->code, "float *const sum = reinterpret_cast<float *>(ind_smem);\n");
    ind__textf(&w->code, "ind_mma_sums<%d>(sum, acc, warp_m, warp_n);\n__syncthreads();\n", v->tile_n);
    cg__use(w, IND__CG_MMA_SUMS);
}

/* FMA: what an operand's next tile is computed from, into registers. */
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

/* FMA: an operand's next tile into registers. */
static void cg__mm_write_next(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    cg__mm_spell_plain(w);
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

/* The LOADs of a prologue are where cg__mm_write_next_raw has put them; name 0: where they were. */
static void cg__mm_spell_next(ind__writer *w, const cg__mm_operand *o, char name) {
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i <= o->value; i++)
        if (cg__mm_is_early_load(w, i)) w->memory[i] = name ? cg__string(w, "next_%c%u[i]", name, i) : NULL;
}

/* FMA: registers for what is on its way to the next tile of an operand. */
static void cg__mm_declare_next(ind__writer *w, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    int n = (name == 'a' ? v->tile_m : v->tile_n) * v->tile_k / v->threads;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; o->computed && i <= o->value; i++)
        if (cg__mm_is_early_load(w, i))
            ind__textf(&w->code, "%s next_%c%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory, name, i, n);
}

/* FMA: from registers into the half of the shared memory that nobody reads now. */
static void cg__mm_write_put(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    int pitch = (name == 'a' ? v->tile_m : v->tile_n) + 4;
    cg__mm_spell_plain(w);
    cg__mm_begin_elements(w, o, name, true);
    if (o->computed) {
        cg__mm_spell_next(w, o, name);
        cg__mm_write_element(w, p, o, name);
        cg__mm_spell_next(w, o, 0);
    }
    const char *value =
        o->computed ? cg__string(w, "(%s)value", cg__mm_sum_type(p)) : cg__string(w, "next_%c[i]", name);
    ind__textf(&w->code, "tile_%c[half * %d + k * %d + x] = %s;\n", name, v->tile_k * pitch, pitch, value);
    cg__end(w);
}

static void cg__mm_write_fma_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    ind__textf(&w->code, "if (steps > 0) load(0);\n#pragma unroll 1\n");
    cg__begin(w, "for (%s step = 0; step < steps; step++)", cg__int(w));
    ind__textf(&w->code, "const int half = (int)(step & 1);\nput(half%s);\n__syncthreads();\n",
               cg__mm_has_prologue(p) ? ", step" : "");
    ind__textf(&w->code, "if (step + 1 < steps) load(step + 1);\n");
    ind__textf(&w->code, "ind_fma_tile<%d, %d, %d>(acc, tile_a + half * %d, tile_b + half * %d);\n", v->tile_m,
               v->tile_n, v->tile_k, v->tile_k * (v->tile_m + 4), v->tile_k * (v->tile_n + 4));
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, IND__CG_FMA_TILE);
}

static void cg__mm_write_fma(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    const char *type = cg__mm_sum_type(p);
    ind__textf(&w->code, "%s *const tile_a = reinterpret_cast<%s *>(ind_smem), *const tile_b = tile_a + %d;\n", type,
               type, 2 * v->tile_k * (v->tile_m + 4));
    ind__textf(&w->code, "%s ", type);
    if (!p->a.computed) ind__textf(&w->code, "next_a[%d], ", v->tile_m * v->tile_k / v->threads);
    if (!p->b.computed) ind__textf(&w->code, "next_b[%d], ", v->tile_n * v->tile_k / v->threads);
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
    if (prologue) ind__textf(&w->code, "const %s first_k = step * %d;\n", cg__int(w), v->tile_k);
    cg__mm_write_put(w, p, &p->a, 'a');
    cg__mm_write_put(w, p, &p->b, 'b');
    cg__mm_end_lambda(w);
    cg__mm_write_fma_loop(w, p);
    ind__textf(&w->code, "%s *const sum = reinterpret_cast<%s *>(ind_smem);\n", type, type);
    ind__textf(&w->code, "ind_fma_sums<%d, %d>(sum, acc);\n__syncthreads();\n", v->tile_m, v->tile_n);
}
