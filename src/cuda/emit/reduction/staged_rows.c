/* ---- rows in shared memory */

/* 16-byte words per thread of ROW_STAGED in shared memory for one row; only those of the loads before `load`. */
static int cg__staged_words(const ind__writer *w, uint32_t load) {
    int loads = 0;
    for (uint32_t i = 1; i < load; i++) loads += cg__is_staged(w, i);
    return loads * (w->variant->per_thread / w->variant->vector);
}

/* "(turn & 1) * 4096 + ": words before the stage of even or odd iterations. */
static const char *cg__staged_part(ind__writer *w, const char *turn) {
    const int words = cg__staged_words(w, w->body->num_inst);
    return cg__row(w)->stage.num == 1 ? "" : cg__string(w, "(%s & 1) * %d + ", turn, words * w->variant->threads);
}

/* "k * 512", "(8 + k) * 512": offset of word k of a load from the thread's first word, in 1 / scale words. */
static const char *cg__staged_offset(ind__writer *w, uint32_t load, int scale) {
    const int before = cg__staged_words(w, load), each = (cg__is_fitted(w) ? 32 : w->variant->threads) * scale;
    return before ? cg__string(w, "(%d + k) * %d", before, each) : cg__string(w, "k * %d", each);
}

/* Returns the first word of a thread in a stage. The words of a fitted block are in groups of one per lane of a warp,
   as the number of its threads is no constant. */
static const char *cg__first_word(const ind__writer *w) {
    return cg__is_fitted(w) ? "first_word" : "(int)threadIdx.x";
}

/* The slot of word k of a row, in even or odd iterations. The same thread copies and reads it, so threads need not
   synchronise. The constant part of the index stands last and everything is signed, so that it becomes the immediate
   offset of the instruction. A separate address for each k would take registers (layer_norm of 65537 bf16 spilled). */
static const char *cg__staged_slot(ind__writer *w, uint32_t load, const char *turn) {
    return cg__string(w, "staged[%s%s + %s]", cg__staged_part(w, turn), cg__first_word(w),
                      cg__staged_offset(w, load, 1));
}

static const char *cg__staged_element(ind__writer *w, uint32_t i) {
    return cg__string(w, "reinterpret_cast<const %s &>(%s)", cg__types[cg__memory_dtype(w, i)].memory,
                      cg__staged_slot(w, i, "turn"));
}

/* The element that LOAD i reads in memory, in the row of w->var. The current row's may be in registers. */
static const char *cg__element_in_memory(ind__writer *w, uint32_t i) {
    const char *at_hand = w->memory[i];
    w->memory[i] = NULL;
    const char *element = cg__element(w, i);
    w->memory[i] = at_hand;
    return element;
}

/* True if the row of LOAD i is copied with an L2 eviction policy. */
static bool cg__copied_by_policy(const ind__writer *w, uint32_t i) {
    return cg__is_staged(w, i) && w->plan->evict_last[i];
}

/* Declares "own", the thread's first slot, before copies with an eviction policy. */
static void cg__declare_own_slot(ind__writer *w, const char *turn) {
    bool any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) any |= cg__copied_by_policy(w, i);
    if (!any) return;
    cg__use(w, IND__CG_CP_ASYNC_BY);
    ind__textf(&w->code, "const auto own = ind_lane_address(&staged[%s%s]);\n", cg__staged_part(w, turn),
               cg__first_word(w));
}

/* Writes the copies of the current vectors, of the row of w->var. */
static void cg__emit_copies(ind__writer *w, const char *turn) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_staged(w, i)) continue;
        const char *from = cg__element_in_memory(w, i);
        if (cg__copied_by_policy(w, i))
            ind__textf(&w->code, "ind_cp_async16_by(own + %s, &%s, evict_last);\n", cg__staged_offset(w, i, 16), from);
        else
            ind__textf(&w->code, "ind_cp_async16(&%s, &%s, 16);\n", cg__staged_slot(w, i, turn), from);
    }
}

/* True if two rows are in flight, for clusters whose blocks wait longest for one another. Vector by vector, the row
   after the next overwrites the row whose results are stored (rms_norm and layer_norm of 262144 f32 in 16 blocks: 81 to
   88 and 89 to 93 % of copy bandwidth, group_norm 75 to 82; in 2 to 4 blocks up to 3 % slower; in 8 blocks, rows of one
   segment -3 to 2 %, of several 2 to 3 % faster). Finding that row in more than one dimension takes registers, which a
   thread has if its block is alone on an SM. Not for misaligned rows, whose last iteration may have one vector more or
   less: copies started after these rows took 2 % longer than copies started before them. */
static bool cg__copies_beside(const ind__writer *w) {
    const ind__variant *v = w->variant;
    if (ind__row_of(v)->cluster <= (w->plan->domain.rrank > 1 ? 4 : 8) || ind__row_of(v)->stage.num != 2 ||
        v->misaligned)
        return false;
    return w->plan->domain.rank == 1 || v->blocks_per_sm == 1;
}

static void cg__name_rows(ind__writer *w, const char *name);

static void cg__emit_copies_beside(ind__writer *w) {
    const char *var[2 * IND_MAX_RANK], *linear_name[IND_MAX_RANK];
    memcpy(var, w->var, sizeof var);
    memcpy(linear_name, w->linear_name, sizeof linear_name);
    cg__begin(w, "if (next < %s)", cg__expr_string(w, cg__p_numel(w)));
    cg__name_rows(w, "next");
    cg__emit_copies(w, "turn");
    cg__end(w);
    memcpy(w->var, var, sizeof var);
    memcpy(w->linear_name, linear_name, sizeof linear_name);
}

/* ---- misaligned rows: only aligned vectors are copied asynchronously. An edge is loaded as early into a register of
   its lane, next_e<number>, and becomes e<number> when its row is computed. */

static void cg__declare_next_edges(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_staged(w, i))
            ind__textf(&w->code, "%s next_e%u = 0;\n", cg__types[cg__memory_dtype(w, i)].memory, i);
}

static void cg__load_next_edges(ind__writer *w) {
    cg__emit_edges(w);
    cg__begin(w, "if (lane < edges)");
    ind__textf(&w->code, "const %s r0 = lane < head ? lane : %s - edges + lane;\n", cg__int(w),
               cg__expr_string(w, cg__r_numel(w)));
    w->var[w->plan->domain.rank] = "r0";
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_staged(w, i)) ind__textf(&w->code, "next_e%u = %s;\n", i, cg__element_in_memory(w, i));
    cg__end(w);
}

/* Makes the next row the current one. Loads the operands that all rows share if this row's misalignment differs from
   the previous row's. */
static void cg__use_next_edges(ind__writer *w) {
    cg__emit_edges(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_staged(w, i))
            ind__textf(&w->code, "const %s e%u = next_e%u;\n", cg__types[cg__memory_dtype(w, i)].memory, i, i);
    if (!cg__row(w)->stage.once) return;
    cg__begin(w, "if (head != held_head)");
    cg__start_loads(w, cg__is_common);
    ind__textf(&w->code, "held_head = head;\n");
    cg__end(w);
}

/* True if operands that all rows share are in registers with a row's misalignment. Rows that are one vector's number of
   elements apart have equal misalignment. Each block takes an equal share of all rows, and computes those of equal
   misalignment one after another. */
static bool cg__orders_rows(const ind__writer *w) {
    return cg__row(w)->stage.persistent && w->variant->misaligned && cg__row(w)->stage.once;
}

/* Writes "first" and "end", the share of a block or cluster as positions in that order; "start", the row at the first
   position; next_row(row), the row at the position after that of a row. */
static void cg__emit_row_order(ind__writer *w) {
    const int n = cg__boundary(w), cluster = cg__row(w)->cluster;
    const char *type = cg__int(w), *rows = cg__expr_string(w, cg__p_numel(w));
    ind__textf(&w->code, "const int share = blockIdx.x / %d, shares = gridDim.x / %d;\n", cluster, cluster);
    ind__textf(&w->code, "const %s first = (long long)(%s) * share / shares, step = 1;\n", type, rows);
    ind__textf(&w->code, "const %s end = (long long)(%s) * (share + 1) / shares;\n", type, rows);
    ind__textf(&w->code, "const %s each = (%s) / %d, longer = (%s) %% %d * (each + 1);\n", type, rows, n, rows, n);
    ind__textf(&w->code, "const %s start = first < longer ? first / (each + 1) + first %% (each + 1) * %d\n", type, n);
    ind__textf(&w->code, "    : (%s) %% %d + (first - longer) / each + (first - longer) %% each * %d;\n", rows, n, n);
    ind__textf(&w->code, "const auto next_row = [&](%s row) { return row + %d < %s ? row + %d : row %% %d + 1; };\n",
               type, n, rows, n, n);
    ind__textf(&w->code, "%s to = start;\n", type);
}

/* Declares the P variables of the row whose number is `name`. */
static void cg__name_rows(ind__writer *w, const char *name) {
    if (w->plan->domain.rank == 1)
        w->var[0] = name;
    else
        cg__split_linear(w, name, 0, w->plan->domain.rank);
}

/* Starts the copies of row `row`, if it exists; in a different order, of the row `to` at that position. */
static void cg__emit_stage(ind__writer *w, const char *row, const char *turn) {
    const char *var[2 * IND_MAX_RANK], *linear_name[IND_MAX_RANK];
    memcpy(var, w->var, sizeof var);
    memcpy(linear_name, w->linear_name, sizeof linear_name);
    cg__use(w, IND__CG_CP_ASYNC);
    cg__begin(w, "if (%s < %s)", row, cg__orders_rows(w) ? "end" : cg__expr_string(w, cg__p_numel(w)));
    if (cg__orders_rows(w)) row = "to";
    cg__name_rows(w, row);
    if (w->variant->misaligned) cg__load_next_edges(w);
    cg__declare_own_slot(w, turn);
    int scopes = cg__emit_pass_loops(w);
    cg__emit_copies(w, turn);
    while (scopes--) cg__end(w);
    cg__end(w);
    ind__textf(&w->code, "ind_cp_async_commit();\n");
    if (cg__orders_rows(w)) ind__textf(&w->code, "to = next_row(to);\n");
    memcpy(w->var, var, sizeof var);
    memcpy(w->linear_name, linear_name, sizeof linear_name);
}

/* True if a row must move to registers when its turn comes, to free the stage for the next row. */
static bool cg__frees_stage_early(const ind__writer *w) {
    return cg__row(w)->stage.persistent && cg__row(w)->stage.num == 1;
}

/* Number of passes that reduce. A combine step follows each of them, except one of two where warps synchronise once. */
static int cg__num_combine_steps(const ind__writer *w) {
    cg__pass pass[IND__CG_MAX_PASSES];
    int steps = 0, n = cg__passes(w, pass);
    for (int s = 0; s < n; s++) steps += cg__reduces_any(w, &pass[s]);
    return steps;
}

/* Fills the slots of states that no warp sends. */
static void cg__emit_idle_states(ind__writer *w, const cg__pass *s) {
    const int warps = cg__row_threads(w) / 32, idle = cg__exchange_states(w) - warps;
    if (!cg__exchanges_by_warp(w) || !idle) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        char letter;
        if (!cg__exchanges(w, i, s)) continue;
        const char *neutral = cg__neutral(w, i, cg__exchanged(w, i, s, &letter));
        ind__textf(&w->code, "if (threadIdx.x < %d) cluster_%c%u[threadIdx.x %% 2][%d + threadIdx.x / 2] = {%s};\n",
                   2 * idle, letter, i, warps, neutral);
    }
}

/* Writes the barriers for the combine steps, and the thread's lane in the cluster. */
static void cg__begin_cluster(ind__writer *w) {
    const ind__variant *v = w->variant;
    cg__pass pass[IND__CG_MAX_PASSES];
    const bool parted = cg__is_parted(w);
    int steps = 0;
    for (int s = cg__passes(w, pass) - 1; s >= 0; s--) {
        steps += cg__exchanges_any(w, &pass[s]);
        cg__emit_idle_states(w, &pass[s]);
    }
    ind__textf(&w->code, "__shared__ unsigned long long barrier[%d]%s;\n", steps, parted ? "[2]" : "");
    ind__textf(&w->code, "ind_cluster_begin(barrier%s, %d);\n", parted ? "[0]" : "", parted ? 2 * steps : steps);
    ind__textf(&w->code, "const int block = blockIdx.x %% %d, lane = block * %d + threadIdx.x;\n",
               ind__row_of(v)->cluster, v->threads);
    cg__emit_segment(w);
}

/* Keeps shared operands of narrow types in registers (ind_opaque). */
static void cg__emit_opaque_shared(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_common(w, i) || ind_dtype_bytes(cg__memory_dtype(w, i)) >= 4) continue;
        cg__use(w, IND__CG_OPAQUE);
        ind__textf(&w->code, "ind_opaque(x%u);\n", i);
    }
}

/* Loads the operands that all rows share before the loop. For misaligned rows it only declares them, and
   cg__use_next_edges loads them. */
static void cg__emit_first_common(ind__writer *w) {
    if (!cg__row(w)->stage.once) return;
    if (!w->variant->misaligned) {
        cg__emit_loads(w, cg__is_common);
        return;
    }
    cg__declare_loads(w, cg__is_common);
    ind__textf(&w->code, "int held_head = -1;\n");
}

/* Opens the loop over the rows, up to the point where the copies of the next row have been started. */
static void cg__begin_turn(ind__writer *w, const char *name, bool beside) {
    const ind__variant *v = w->variant;
    const bool orders = cg__orders_rows(w);
    const char *type = cg__int(w), *rows = cg__expr_string(w, cg__p_numel(w));
    if (orders)
        cg__begin(w, "for (%s place = first, %s = start, turn = 0; place < end; place++, %s = next_row(%s), turn++)",
                  type, name, name, name);
    else
        cg__begin(w, "for (%s %s = first, turn = 0; %s < %s; %s += step, turn++)", type, name, name, rows, name);
    if (v->misaligned) cg__name_rows(w, name);
    if (v->misaligned) cg__use_next_edges(w);
    ind__textf(&w->code, "ind_cp_async_wait<%d>();\n", beside);
    if (cg__frees_stage_early(w)) cg__emit_loads(w, cg__is_staged);
    ind__textf(&w->code, "const %s next = %s + %sstep;\n", type, orders ? "place" : name, beside ? "2 * " : "");
    if (!beside && ind__row_of(v)->stage.persistent) cg__emit_stage(w, "next", "(turn + 1)");
}

static void cg__end_turn(ind__writer *w) {
    if (!cg__row(w)->stage.persistent) cg__emit_stage(w, "next", "0");
    cg__end(w);
}

/* Opens the loop over the rows of a block or cluster: `name` is the row, `turn` counts them. A row that has moved to
   registers frees its stage for the next one. Otherwise the next row takes the stage of the previous row, or, if there
   is only one stage, follows when this row is done. Operands that all rows share are loaded before the loop even if
   most blocks compute one row: ptxas moves loads after the combine steps that do not need them. Rows are aligned to
   lines in shared memory as in global memory: if they began 16 bytes after a line, after other variables, twice as many
   sectors were read from the L2 as rows have (ncu; % of copy bandwidth, so and aligned: rms_norm of 131072, 200000,
   262144 bf16 88, 86, 89 and 92, 93, 95; of 65536, 200000 f32 90, 85 and 95, 96; softmax of 262144 f32 90 and 94). */
static void cg__begin_staged_rows(ind__writer *w, const char *name) {
    const ind__variant *v = w->variant;
    const char *type = cg__int(w);
    ind__textf(&w->code, "extern __shared__ __align__(%d) uint4 staged[];\n", IND__CG_LINE_BYTES);
    if (cg__has_cluster(w)) {
        cg__begin_cluster(w);
    } else {
        ind__textf(&w->code, "const int lane = threadIdx.x%s;\n", cg__is_fitted(w) ? ", threads = blockDim.x" : "");
        if (cg__is_fitted(w))
            ind__textf(&w->code, "const int first_word = lane / 32 * %d + lane %% 32;\n",
                       32 * cg__staged_words(w, w->body->num_inst));
        cg__emit_segment(w);
    }
    if (cg__orders_rows(w))
        cg__emit_row_order(w);
    else
        ind__textf(&w->code, "const %s first = blockIdx.x / %d, step = gridDim.x / %d;\n", type,
                   ind__row_of(v)->cluster, ind__row_of(v)->cluster);
    const bool beside = cg__copies_beside(w);
    if (v->misaligned) cg__declare_next_edges(w);
    cg__emit_stage(w, "first", "0");
    if (beside) cg__emit_stage(w, "(first + step)", "1");
    cg__emit_first_common(w);
    if (cg__has_cluster(w)) ind__textf(&w->code, "ind_cluster_begun();\n");
    cg__begin_turn(w, name, beside);
    if (ind__row_of(v)->stage.once) cg__emit_opaque_shared(w);
}

/* True if i is another value that several passes need: it is kept in registers as a value. */
static bool cg__is_resident_value(const ind__writer *w, uint32_t i) {
    return w->plan->resident[i] && !cg__is_row_load(w, i);
}

static void cg__emit_resident_arrays(ind__writer *w) {
    const int edges = cg__edge_rounds(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_resident_value(w, i))
            ind__textf(&w->code, "%s k%u[%d];\n", cg__types[cg__inst(w, i)->dtype].value, i,
                       w->variant->per_thread + (edges ? (edges - 1) * w->variant->vector + 1 : 0));
}

static const char *cg__resident_slot(ind__writer *w) {
    return w->variant->vector > 1 ? cg__string(w, "k * %d + j", w->variant->vector) : "k";
}

static void cg__save_resident(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_resident_value(w, i) && w->needed[i] && !w->value[i])
            ind__textf(&w->code, "k%u[%s] = v%u;\n", i, cg__resident_slot(w), i);
}

/* From here on, the kept values that this pass read are found in their arrays. */
static void cg__use_resident(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_resident_value(w, i) && w->needed[i] && !w->value[i])
            w->value[i] = cg__string(w, "k%u[%s]", i, cg__resident_slot(w));
}

/* Forgets vectors that were read or gathered in this chunk; those in arrays remain. */
static void cg__forget_chunk_vectors(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->vector[i] > 1 && !cg__loads_ahead(w, i)) w->memory[i] = NULL;
}

/* Writes the needed loads from memory except handed-over elements, before the wait for those. */
static void cg__emit_beside_handed(ind__writer *w, int stage) {
    uint8_t *needed = (uint8_t *)ind__arena_copy(&w->scratch, w->needed, w->body->num_inst);
    if (!needed) {
        cg__fail(w);
        return;
    }
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (needed[i] && cg__inst(w, i)->op == IND_LOOP_LOAD && cg__handed(w, i) < 0) cg__need(w, i);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, stage);
    memcpy(w->needed, needed, w->body->num_inst);
}

/* Returns the prelude function for a maximum of 16-bit values that are in registers in their memory format, else 0. It
   takes two values with one instruction; conversion and maximum take three or four. The maximum of the floats equals
   that of the 16-bit values, so the result is the same. */
static int cg__combines_halves(const ind__writer *w, uint32_t i, const cg__pass *s) {
    char letter;
    if (!cg__in_registers(w) || s->second || w->variant->vector % 2 || !cg__reduces_in(w, i, s)) return 0;
    const uint32_t load = cg__inst(w, i)->arg[0];
    if (cg__step(w, i, s, &letter) != IND_REDUCE_MAX || cg__inst(w, load)->op != IND_LOOP_LOAD) return 0;
    if (!cg__is_row_load(w, load) || strcmp(cg__state_type(w, i), "float") != 0) return 0;
    const ind_dtype memory = cg__memory_dtype(w, load);
    return memory == IND_BF16 ? IND__CG_MAX_BF16 : memory == IND_F16 ? IND__CG_MAX_F16 : 0;
}

static void cg__emit_halves(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const int function = cg__combines_halves(w, i, s);
        if (!function) continue;
        const char *vector = cg__vector_of(w, cg__inst(w, i)->arg[0]);
        if (!vector) {
            cg__fail(w);
            return;
        }
        cg__use(w, function);
        ind__textf(&w->code, "ind_combine_%s(s%u, %s);\n", function == IND__CG_MAX_BF16 ? "bf16" : "f16", i, vector);
    }
}

/* True if the pass computes only such maxima. */
static bool cg__only_halves(const ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__reduces_in(w, i, s) && !cg__combines_halves(w, i, s)) return false;
        if (cg__is_resident_value(w, i) && w->needed[i]) return false;
        if (w->needed[i] && (w->plan->only_check[i] || (s->stores && cg__stores_per_element(w, i)))) return false;
    }
    return true;
}

/* Combines one element with the states of the pass. position: index of the element in the row, for ARGMAX. */
static void cg__emit_accumulate(ind__writer *w, const cg__pass *s, const char *position) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        char letter;
        if (!cg__reduces_in(w, i, s) || (s->halves && cg__combines_halves(w, i, s))) continue;
        ind_reduction r = cg__step(w, i, s, &letter);
        if (cg__takes_chunks(w, i, s)) {
            ind__textf(&w->code, "a%u%s = ", i, cg__chunk_subscript(w, i));
            cg__value(w, inst->arg[0]);
            ind__textf(&w->code, ";\n");
            continue;
        }
        if (cg__has_lanes(w, i))
            ind__textf(&w->code, "l%u[j].combine({", i);
        else
            ind__textf(&w->code, "%c%u.combine({", letter, i);
        if (cg__wraps(w, i)) ind__textf(&w->code, "(%s)", cg__state_type(w, i));
        if (s->second)
            cg__emit_second_term(w, i);
        else
            cg__value(w, inst->arg[0]);
        if (r == IND_REDUCE_ANY) ind__textf(&w->code, " != 0");
        if (r == IND_REDUCE_ARGMAX) ind__textf(&w->code, ", (long long)(%s)", position);
        if (r == IND_REDUCE_DOT) {
            ind__textf(&w->code, " * ");
            cg__value(w, inst->arg[1]);
        }
        ind__textf(&w->code, "});\n");
        if (cg__exchanges_moments(w, i) && !s->second) ind__textf(&w->code, "count%u.combine({1});\n", i);
    }
}

/* Writes the elements of a vector, one after another. */
static void cg__emit_elements(ind__writer *w, const cg__pass *s, int stage) {
    const int v = cg__num_vars(w) - 1;
    const char *base = w->var[v];
    cg__pass rest = *s;
    rest.halves = true;
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", w->variant->vector);
    w->var[v] = cg__string(w, "(%s + j)", base);
    cg__emit(w, IND__CG_ALL_VARS, stage);
    cg__save_resident(w);
    cg__emit_accumulate(w, &rest, w->plan->domain.rrank == 1 ? w->var[v] : "r + j");
    cg__end(w);
    w->var[v] = base;
}

/* The innermost part of a pass: one vector (or one element) of the row, whose first position is w->var. */
static void cg__emit_chunk(ind__writer *w, const cg__pass *s) {
    int v = cg__num_vars(w) - 1, n = w->variant->vector;
    bool one_r = w->plan->domain.rrank == 1;
    const char *base = w->var[v];
    int stage = s->stage + s->second; /* the terms of a softmax need its maximum */
    cg__emit_chunk_arrays(w, s);
    if (n == 1) {
        if (w->plan->handover && w->plan->handover->takes) cg__emit_beside_handed(w, stage);
        cg__emit(w, IND__CG_ALL_VARS, stage);
        cg__save_resident(w);
        cg__emit_accumulate(w, s, one_r ? base : "r");
        cg__emit_chunk_adds(w, s);
        return;
    }
    cg__emit(w, ~(1u << v), stage);
    cg__vector_loads(w, v);
    cg__vector_sinks(w);
    cg__emit_halves(w, s);
    if (!cg__only_halves(w, s)) cg__emit_elements(w, s, stage);
    cg__emit_chunk_adds(w, s);
    cg__vector_stores(w);
    cg__forget_chunk_vectors(w);
}

/* Edges of operands in shared memory are in the registers that cg__use_next_edges filled, unless they are in arrays. */
static void cg__set_staged_edges(ind__writer *w, bool at_edge) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_staged(w, i) && !cg__loads_ahead(w, i)) w->memory[i] = at_edge ? cg__string(w, "e%u", i) : NULL;
}

/* Like cg__emit_chunk for an edge: one element. */
static void cg__emit_edge(ind__writer *w, const cg__pass *s) {
    const ind__variant *rows = w->variant;
    ind__variant scalar;
    int scopes = cg__begin_edge(w);
    cg__set_staged_edges(w, true);
    if (!cg__in_registers(w)) cg__write_scalars(w, &scalar);
    cg__emit_chunk_arrays(w, s);
    cg__emit(w, IND__CG_ALL_VARS, s->stage + s->second);
    cg__save_resident(w);
    cg__emit_accumulate(w, s, "r0");
    cg__emit_chunk_adds(w, s);
    w->variant = rows;
    cg__set_staged_edges(w, false);
    while (scopes--) cg__end(w);
}

static void cg__need_all(ind__writer *w) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (cg__is_root(w, i)) cg__need(w, i);
        if (inst->op == IND_LOOP_REDUCE && inst->arg[0]) cg__need(w, inst->arg[0]);
        if (inst->op == IND_LOOP_REDUCE && inst->arg[1]) cg__need(w, inst->arg[1]);
    }
    cg__close_needed(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_STORE) w->needed[i] = 0;
}

/* "// Pass: s2 = maximum, s5 = any." */
static void cg__emit_pass_comment(ind__writer *w, const cg__pass *s) {
    const char *before = "// Pass: ";
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        char letter;
        if (!cg__reduces_in(w, i, s)) continue;
        ind_reduction r = cg__step(w, i, s, &letter);
        bool welford = inst->reduction == IND_REDUCE_WELFORD, steps = cg__in_registers(w) && cg__two_step(inst);
        const char *what =
            !steps ? ind__reduction_name(r)
            : cg__exchanges_moments(w, i)
                ? (s->second ? "sum of squared deviations from the mean of the warp" : "sum for the mean of the warp")
            : s->second ? (welford ? "sum of squared deviations" : "sum of exp")
                        : (welford ? "sum for the mean" : "max");
        ind__textf(&w->code, "%s%c%u = %s", before, letter, i, what);
        before = ", ";
    }
    ind__textf(&w->code, before[0] == '/' ? "// Pass: results.\n" : s->stores ? "; results.\n" : ".\n");
}

/* True if loads of the row start before other reads of the row, and depend on none of them. An index read from memory
   that another load needs is such a read. */
static bool cg__loads_come_first(ind__writer *w, const cg__pass *s) {
    bool loads = false, others = false;
    cg__need_all(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        others |= w->needed[i] && !w->known[i] && !w->value[i] && cg__inst(w, i)->op == IND_LOOP_LOAD &&
                  !(w->plan->varies[i] & ~cg__p_mask(w)) && w->plan->stage[i] <= s->stage;
    cg__need_pass(w, s);
    for (uint32_t i = 1; i < w->body->num_inst && others; i++) {
        if (!cg__starts_here(w, i)) continue;
        if (ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT)) return false;
        loads = true;
    }
    return loads;
}
