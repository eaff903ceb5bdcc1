/* -------------------------------------------------------------------------------------------------- >>finish */

/* Computes rows and a reduction over the rows' results, such as a mean of losses, in one launch. For a few rows the
   second kernel takes less time than its launch.

   Each result passes from block to block as a word whose upper half marks it as valid. That takes one trip to the L2.
   Counting finished blocks takes three (the fence, the count, the load of the results). The block with the last ticket
   reads the results; its own are in shared memory. All other blocks have begun before it and end without it, so there
   is no deadlock. Each result has its own word, so the order in which blocks end has no effect. The reader sets each
   word back to 0.

   A thread waits for one word after another, one trip each. A few iterations take as long as a launch, which bounds the
   rows. With more rows the two kernels run in separate launches. Up to two rows per lane are read by one warp: it needs
   no barrier before or after, and polls both words before it waits for one.

   Cross entropy of 1, 16, 32, 64 and 128 rows of 4096 bf16, us above an empty kernel on an H200: 1.2, 1.5, 1.5, 1.6 and
   1.9 by a warp, 1.2, 1.6, 1.5, 1.7 and 1.8 by the block, with one row per lane of the warp; 2.5 to 3.2 with a kernel
   for the mean. Hand-written, 64 rows: 2.5 with a kernel for the mean, 2.1 with a count of finished blocks, 3.0 and
   more in a cluster of 16. Without gain: all words at once through shared memory (0.4 more: it takes instructions that
   are fetched for the first time, some 5 cycles each), polling words twice, a pause before polling, prefetching the
   other operands into the L1 (0.3 more for 256 rows). */

static const char cg__finish_text[] =
    "// Results of the block's own rows.\n"
    "static IND_INLINE unsigned *ind_own() {\n"
    "    __shared__ unsigned own[IND_HANDED * IND_ROWS];\n"
    "    return own;\n"
    "}\n"
    "template <typename T> union ind_handed {\n"
    "    unsigned bits;\n"
    "    T value;\n"
    "};\n"
    "// Index of a block in its kernel, and its number in the order in which blocks start (ind_turn).\n"
    "struct ind_block {\n"
    "    unsigned x, y, z, turn;\n"
    "};\n"
    "// If a block has one row, the thread with its result knows the turn.\n"
    "template <typename T>\n"
    "static IND_INLINE void ind_leave(const ind_block block, unsigned long long *lookback, int which, int row, "
    "int rows, T value) {\n"
    "    ind_handed<T> u = {0};\n"
    "    u.value = value;\n"
    "    if (IND_ROWS == 1 && block.turn != gridDim.x - 1)\n"
    "        ((volatile unsigned long long *)lookback)[1 + which * rows + row] = 1ull << 32 | u.bits;\n"
    "    else\n"
    "        ind_own()[which * IND_ROWS + row - (int)blockIdx.x * IND_ROWS] = u.bits;\n"
    "}\n"
    "// All threads of a block call this at its end. Returns true in the threads of the last block that read the "
    "results\n"
    "// of all rows. The other blocks store their results: 64-bit words, valid if the upper half is not 0.\n"
    "static IND_INLINE bool ind_finishes(unsigned long long *lookback, unsigned turn, int rows) {\n"
    "    bool last;\n"
    "    if (IND_TAKERS > 32 || IND_ROWS > 1) {\n"
    "        last = ind_began_last(turn, gridDim.x);\n"
    "    } else { // the first thread has stored the result\n"
    "        if (threadIdx.x >= 32) return false;\n"
    "        last = __shfl_sync(0xffffffffu, turn, 0) == gridDim.x - 1;\n"
    "        __syncwarp();\n"
    "    }\n"
    "    const int i = threadIdx.x, row = (int)blockIdx.x * IND_ROWS + i % IND_ROWS;\n"
    "    if (IND_ROWS > 1 && !last && i < IND_HANDED * IND_ROWS && row < rows)\n"
    "        ((volatile unsigned long long *)lookback)[1 + i / IND_ROWS * rows + row] = 1ull << 32 | ind_own()[i];\n"
    "    return last && threadIdx.x < IND_TAKERS;\n"
    "}\n"
    "// ind_look: the word, valid or not. ind_take: its value, when it is valid.\n"
    "static IND_INLINE unsigned long long ind_look(unsigned long long *lookback, int which, int row, int rows) {\n"
    "    const unsigned own = row - blockIdx.x * IND_ROWS;\n"
    "    volatile unsigned long long *const from = lookback + 1 + which * rows + row;\n"
    "    return own < IND_ROWS ? 1ull << 32 | ind_own()[which * IND_ROWS + own] : *from;\n"
    "}\n"
    "template <typename T>\n"
    "static IND_INLINE T ind_take(unsigned long long word, unsigned long long *lookback, int which, int row, "
    "int rows) {\n"
    "    const unsigned own = row - blockIdx.x * IND_ROWS;\n"
    "    volatile unsigned long long *const from = lookback + 1 + which * rows + row;\n"
    "    while (word >> 32 == 0) word = *from;\n"
    "    if (own >= IND_ROWS) *from = 0;\n"
    "    const ind_handed<T> u = {(unsigned)word};\n"
    "    return u.value;\n"
    "}\n\n";

/* True if the next kernel may write while blocks of this one still run. Memory in the arena that this kernel uses is
   free only once this kernel has completed. */
static bool cg__writes_apart(const ind_schedule *s, const ind_kernel *rows, const ind_kernel *next,
                             const cg__handover *h) {
    for (uint32_t i = next->num_reads; i < next->num_args; i++) {
        const bool placed = s->offset && ind__ok(s->offset[next->arg[i]]);
        for (uint32_t k = 0; k < rows->num_args; k++) {
            bool handed = false;
            for (uint32_t j = 0; j < h->num; j++) handed |= h->buffer[j] == rows->arg[k];
            if (cg__same_storage(s, next->arg[i], rows->arg[k])) return false;
            if (placed && !handed && s->offset && ind__ok(s->offset[rows->arg[k]])) return false;
        }
    }
    return true;
}

/* Finds the buffers that the rows pass to the next kernel. False: there are none, or an element does not fit in a
   word. */
static bool cg__find_handover(const ind_schedule *s, const ind_kernel *rows, const ind_kernel *next, cg__handover *h) {
    for (uint32_t i = 0; i < next->num_reads; i++) {
        for (uint32_t k = rows->num_reads; k < rows->num_args; k++) {
            const uint32_t buffer = next->arg[i];
            if (!cg__same_storage(s, buffer, rows->arg[k])) continue;
            if (buffer != rows->arg[k] || h->num == IND__CG_MAX_HANDED) return false;
            if (ind_dtype_bytes(s->program->buffer[buffer].dtype) > 4) return false;
            h->buffer[h->num++] = buffer;
        }
    }
    return h->num > 0;
}

/* True if kernels k and k + 1 are candidates for one launch. */
static bool cg__may_finish(const ind_plan *p, uint32_t k, cg__handover *h) {
    const ind_schedule *s = p->schedule;
    if (k + 1 >= p->num_kernels || !s->finishes) return false;
    for (uint32_t i = k; i < k + 2; i++) {
        const ind_kernel *kernel = &s->kernel[i];
        const ind_kernel_plan *kp = &p->kernel[i];
        if (kernel->kind != IND_KERNEL_REDUCTION || kernel->run || kp->first != i || kp->num_parts != 1) return false;
        if (ind__body_unbacked(s->program, kernel->body)) return false;
    }
    return cg__find_handover(s, &s->kernel[k], &s->kernel[k + 1], h) &&
           cg__writes_apart(s, &s->kernel[k], &s->kernel[k + 1], h);
}

/* True if each handed-over buffer has exactly one LOAD or STORE, and that of element `place`. */
static bool cg__hands_each(const ind__writer *w, ind_loop_op op, ind_expr place) {
    uint32_t found = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (!cg__is_access(w, i) || cg__handed(w, i) < 0) continue;
        const bool whole = inst->op == op && !inst->arg[op == IND_LOOP_LOAD ? 0 : 1] && !inst->reduction;
        if (!whole || w->plan->vector[i] != 1 || !ind_expr_same(cg__index_of(w, i), place)) return false;
        found++;
    }
    return found == w->plan->handover->num;
}

/* The first part must have one row per point, computed by a block, and at most one result per thread. The second part
   must be one pass over all rows that reads the results. */
static bool cg__suits_finish(const ind__writer *w) {
    const cg__handover *h = w->plan->handover;
    cg__pass pass[IND__CG_MAX_PASSES];
    if (w->calls.num || w->plan->wide || (int64_t)h->num * w->variant->rows > w->variant->threads) return false;
    if (h->takes)
        return w->plan->domain.rank == 0 && w->plan->domain.rrank == 1 && cg__passes(w, pass) == 1 &&
               ind_expr_same(cg__r_numel(w), h->rows) && cg__hands_each(w, IND_LOOP_LOAD, w->plan->domain.var[0]);
    return cg__has(w, IND__HAS_FINISH) && w->plan->domain.rank == 1 &&
           cg__hands_each(w, IND_LOOP_STORE, w->plan->domain.var[0]);
}

/* Plans one of the two parts; *able: it is possible. */
static ind_status cg__plan_handed(ind_plan *p, cg__part *part, cg__handover *h, bool *able) {
    cg__decider d;
    ind__writer w = {0};
    ind__variant v = {.assume = IND__CG_ASSUME_PART, .vector = 8};
    ind_status status = cg__init_decider(&d, p, part->of, &v, v.assume);
    d.tuning = (ind__tuning){0};
    *able = false;
    if (!status) {
        d.plan->part = IND__PART_OF_LAUNCH;
        d.plan->handover = h;
        if (!h->takes) h->rows = cg__p_numel(&d.w);
        d.plan->lookback = ind_expr_add(ind_int(p->context, 1), ind_expr_mul(ind_int(p->context, h->num), h->rows));
        status = cg__decide(&d);
    }
    if (!status) *able = cg__suits_finish(&d.w);
    if (!status && *able) status = cg__write_body(&w, p, &d);
    *able = *able && !status && cg__sizes_fit(&d, &w);
    if (*able) status = cg__copy_part_texts(&w, part);
    cg__free(&w);
    cg__free(&d.w);
    return status;
}

/* Most rows that the finish reads. A warp reads in one iteration; a block reads at most as many rows as there are
   resident blocks. */
static int64_t cg__most_finished(const ind_plan *p, const cg__handover *h) {
    const int rounds = h->threads > 32 ? p->target.launch_ns / p->target.thresholds.trip_ns : 1;
    const int64_t most = (int64_t)h->threads * h->looks * (rounds > 1 ? rounds : 1);
    const int64_t blocks = (int64_t)p->target.num_sms * (p->target.sm_threads / h->threads);
    return h->threads > 32 && most > blocks ? blocks : most;
}

static void cg__call_part(cg__combo *x, int part, const char *member, const char *block) {
    ind__textf(&x->text, "{\n");
    x->text.indent++;
    ind__textf(&x->text, "const ind_row_%d &row = of.%s;\nind_part_%d({%s}", part, member, part, block);
    cg__each_arg(x, x->part[part], cg__row_argument);
    ind__textf(&x->text, ");\n");
    x->text.indent--;
    ind__textf(&x->text, "}\n");
}

/* Writes the source: both parts, and the kernel that calls them. */
static void cg__write_finish(cg__combo *x, const cg__handover *h) {
    ind__text *t = &x->text;
    const ind__variant *v = x->variant;
    ind__prelude_set prelude = x->part[0]->prelude;
    cg__add_prelude_set(&prelude, &x->part[1]->prelude);
    cg__add_prelude(&prelude, IND__CG_TURN);
    if (cg__has_prelude(&prelude, IND__CG_MAX)) cg__add_prelude(&prelude, IND__CG_MAX_WARP);
    if (v->dependent) cg__add_prelude(&prelude, IND__CG_DEPENDENCY);
    ind__textf(t, "#define IND_INLINE __device__ __forceinline__\n\n");
    cg__write_prelude(t, &prelude);
    ind__textf(t, "// Results of a row, rows of a block, threads of the last block that read all results.\n");
    ind__textf(t, "enum { IND_HANDED = %u, IND_ROWS = %d, IND_TAKERS = %d };\n", (unsigned)h->num, v->rows, h->threads);
    ind__text_raw(t, cg__finish_text, sizeof cg__finish_text - 1);
    for (uint32_t f = 0; f < 2; f++) cg__write_function(x, f);
    ind__textf(t, "struct ind_rows {\n    ind_row_0 rows;\n    ind_row_1 finish;\n    long long num_rows;\n};\n\n");
    ind__textf(t, "extern \"C\" __global__ void __launch_bounds__(%d, 1) %s(const __grid_constant__ ind_rows of) {\n",
               v->threads, v->source.entry);
    if (v->dependent) ind__textf(t, "%s", IND__CG_DEPENDENCY_CALL);
    t->indent++;
    ind__textf(t, "const unsigned turn = ind_turn(reinterpret_cast<unsigned *>(of.rows.lookback), gridDim.x);\n");
    cg__call_part(x, 0, "rows", "blockIdx.x, 0, 0, turn");
    ind__textf(t, "if (!ind_finishes(of.rows.lookback, turn, of.num_rows)) return;\n");
    cg__call_part(x, 1, "finish", "0, 0, 0, turn");
    t->indent--;
    ind__textf(t, "}\n");
}

/* Adds the guard. Without rows there is no block. The bound comes first, as it implies most guards of the parts. False:
   there are never so few rows. */
static bool cg__guard_finish(ind__variant *v, ind_expr rows, int64_t most) {
    const ind_expr parts = v->guard;
    v->guard = (ind_expr){0};
    bool able = cg__guard(v, ind_expr_le(ind_int(rows.context, 1), rows)) &&
                cg__guard(v, ind_expr_le(rows, ind_int(rows.context, most)));
    for (int g = 0; g < cg__num_conditions(parts); g++) able = able && cg__guard(v, cg__condition(parts, g));
    return able;
}

/* Plans both parts as one variant of the first part's kernel. */
static ind_status cg__plan_finish_variant(ind_plan *p, cg__part **part, const cg__handover *h, ind__variant *v,
                                          bool *able) {
    ind_context *c = p->context;
    cg__combo x = {.plan = p, .part = part, .num_parts = 2, .variant = v, .text = {.context = c}};
    ind__text why = {.context = c};
    const ind__variant *rows = &part[0]->variant;
    cg__merge_parts(&x);
    v->strategy = IND_STRATEGY_FINISH;
    v->grid[0] = rows->grid[0];
    v->rows = rows->rows, v->vector = rows->vector, v->per_thread = rows->per_thread, v->misaligned = rows->misaligned;
    *able = cg__guard_finish(v, h->rows, cg__most_finished(p, h));
    snprintf(v->source.entry, sizeof v->source.entry, "ind_k_finish_%.50s", p->schedule->kernel[part[0]->kernel].name);
    cg__combo_arg(&x, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = h->rows});
    cg__write_finish(&x, h);
    ind__textf(&why, "%s; %sthe last block to start reduces the results: no second launch", rows->why,
               h->threads < v->threads ? "a warp of " : "");
    v->why = cg__copy_text(&p->arena, &why);
    v->source.text = cg__copy_text(&p->arena, &x.text);
    v->source.bytes = x.text.size;
    v->arg = (ind__kernel_arg *)ind__arena_copy(&p->arena, x.arg, x.num_args * sizeof *x.arg);
    v->num_args = x.num_args;
    bool ok = !x.failed && v->why && v->source.text && v->arg && ind__ok(v->grid[0]);
    ind__text_free(&why);
    ind__text_free(&x.text);
    ind__free(c, x.arg);
    return ok ? IND_OK : ind__failed(c);
}

/* The variant has no guard: it becomes the only variant of both kernels. */
static ind_status cg__always_finish(ind_plan *p, ind_kernel_plan *kp, const ind__variant *v, const ind__variant *next) {
    if (!cg__store_variants(p, kp, v, 1)) return ind__failed(p->context);
    kp[1].part = (ind__variant *)ind__arena_copy(&p->arena, next, sizeof *next);
    kp[1].first = kp->first;
    kp[1].num_parts = 0;
    kp[1].num_variants = 0;
    p->num_launches--;
    return kp[1].part ? IND_OK : ind__failed(p->context);
}

/* Adds a first variant to kernel k that also runs the next kernel. */
static ind_status cg__add_finish(ind_plan *p, cg__part *rows, cg__handover *h) {
    ind_kernel_plan *kp = &p->kernel[rows->kernel];
    cg__part next = {.kernel = rows->kernel + 1, .of = rows->of + 1}, *part[2] = {rows, &next};
    ind__variant v;
    bool able = false;
    if (kp->num_variants >= IND_MAX_VARIANTS) return IND_OK;
    h->takes = true;
    ind_status status = cg__plan_handed(p, &next, h, &able);
    if (status || !able) return status;
    status = cg__plan_finish_variant(p, part, h, &v, &able);
    if (status || !able) return status;
    if (!cg__has_guard(&v)) return cg__always_finish(p, kp, &v, &next.variant);
    ind__variant list[IND_MAX_VARIANTS];
    memcpy(&list[1], kp->variant, (size_t)kp->num_variants * sizeof v);
    list[0] = v;
    return cg__store_variants(p, kp, list, kp->num_variants + 1) ? IND_OK : ind__failed(p->context);
}

/* Lets kernel k also run the next one if the likely number of rows is small enough: with a block that reads the
   results, and with one warp, which needs no barrier, if it can read them in one iteration. */
static ind_status cg__plan_finish(ind_plan *p, uint32_t k) {
    cg__handover h = {0};
    cg__part rows = {.kernel = k, .of = &p->schedule->kernel[k]};
    bool able = false;
    if (!cg__may_finish(p, k, &h)) return IND_OK;
    ind_status status = cg__plan_handed(p, &rows, &h, &able);
    if (status || !able) return status;
    const int64_t likely = ind_hint(h.rows);
    const bool warp = likely <= 32 * p->target.thresholds.most_looks;
    cg__handover few = h;
    h.threads = rows.variant.threads, h.looks = 1;
    few.threads = 32, few.looks = likely > 32 ? (int)((likely + 31) / 32) : 1;
    if (!warp && likely > cg__most_finished(p, &h)) return IND_OK;
    if (!warp || (h.threads > 32 && cg__upper_bound(h.rows) > cg__most_finished(p, &few)))
        status = cg__add_finish(p, &rows, &h);
    return status || !warp ? status : cg__add_finish(p, &rows, &few);
}
