/* ---------------------------------------------------------------------------------------------- >>pointwise */

/* True if load i is read with evict_first: it is added to memory and read once. Then the sums stay in the L2. This
   saves 7 percent of the time for 128 MB added to 64 MB on an H200. Storing the 64 MB with evict_last saved another 6
   percent. But unused lines then stayed in the L2, and the next kernel that used the L2 took 10 percent longer. */
static bool cg__reads_once(const ind__writer *w, uint32_t i) {
    bool sums = false;
    for (uint32_t k = 1; k < w->body->num_inst; k++)
        sums |= cg__inst(w, k)->op == IND_LOOP_STORE && cg__inst(w, k)->reduction && w->plan->vector[k] > 1;
    const bool each = (w->plan->varies[i] & cg__p_mask(w)) == cg__p_mask(w);
    return sums && each && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* Writes the masks that apply to whole vectors along variable v. */
static void cg__emit_uniform(ind__writer *w, int v) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->plan->uniform[i] || !w->needed[i] || w->known[i] || w->value[i] || !cg__varies_along(w, i, v)) continue;
        cg__instruction(w, i);
        w->known[i] = (uint8_t)w->scope;
    }
}

/* Writes the vector loads of the w->variant->vector neighbours along variable v, from the current base on, after the
   masks that apply to whole vectors. */
static void cg__vector_loads(ind__writer *w, int v) {
    cg__emit_uniform(w, v);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_LOAD || !w->needed[i] || w->known[i] || w->value[i] ||
            w->plan->vector[i] < 2)
            continue;
        if (!(w->plan->varies[i] >> v & 1) || w->memory[i]) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        const uint32_t mask = cg__inst(w, i)->arg[0];
        ind__textf(&w->code, "%sind_vec<%s, %d> x%u = ", mask ? "" : "const ", type, w->plan->vector[i], i);
        if (mask) {
            ind__textf(&w->code, "{};\n");
            cg__write_mask(w, mask);
            ind__textf(&w->code, "x%u = ", i);
        }
        const bool once = cg__reads_once(w, i) && !cg__is_staged(w, i);
        if (once) cg__use(w, IND__CG_LOAD_ONCE);
        if (once)
            ind__textf(&w->code, "ind_load_once<%d>(&%s);\n", w->plan->vector[i], cg__element(w, i));
        else
            ind__textf(&w->code, "%s;\n", cg__load_expression(w, i));
        if (mask) w->code.indent--;
        w->memory[i] = cg__string(w, "x%u.at[j]", i);
        cg__use(w, IND__CG_VEC);
    }
}

/* Marks the values that depend on data. */
static void cg__mark_data(const ind__writer *w, uint8_t *data) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *in = cg__inst(w, i);
        data[i] = in->op == IND_LOOP_LOAD || in->op == IND_LOOP_INDIRECT;
        if (in->op == IND_LOOP_INDEX) data[i] = ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
        for (int k = 0; k < IND__MAX_ARGS; k++) data[i] |= in->arg[k] && data[in->arg[k]];
    }
}

/* True for a LOAD of a vector along variable v that can be requested before indices from memory are known. */
static bool cg__is_independent(const ind__writer *w, uint32_t i, int v, const uint8_t *data) {
    const ind__inst *in = cg__inst(w, i);
    if (in->op != IND_LOOP_LOAD || !w->needed[i] || w->plan->vector[i] < 2 || !(w->plan->varies[i] >> v & 1))
        return false;
    return !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT) && !(in->arg[0] && data[in->arg[0]]);
}

/* Writes the vector loads that depend on no index from memory, if there are such indices: their checks branch, so loads
   after them would wait for the indices. */
static void cg__independent_loads(ind__writer *w, int v) {
    const uint32_t num = w->body->num_inst;
    bool indices = false;
    for (uint32_t i = 1; i < num; i++) indices |= w->needed[i] && cg__inst(w, i)->op == IND_LOOP_INDIRECT;
    if (!indices) return;
    uint8_t *needed = (uint8_t *)ind__arena_copy(&w->scratch, w->needed, num);
    uint8_t *data = (uint8_t *)ind__arena_alloc(&w->scratch, num);
    if (!needed || !data) {
        cg__fail(w);
        return;
    }
    cg__mark_data(w, data);
    for (uint32_t i = 1; i < num; i++) w->needed[i] = cg__is_independent(w, i, v, data);
    cg__close_needed(w);
    cg__emit(w, ~(1u << v), IND__CG_ALL_STAGES);
    cg__vector_loads(w, v);
    memcpy(w->needed, needed, num);
}

/* Declares the vectors that collect the elements of each vector store. */
static void cg__vector_sinks(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_STORE || !w->needed[i] || w->plan->vector[i] < 2) continue;
        ind__textf(&w->code, "ind_vec<%s, %d> y%u;\n", cg__types[cg__memory_dtype(w, i)].memory, w->plan->vector[i], i);
        w->memory[i] = cg__string(w, "y%u.at[j]", i);
        cg__use(w, IND__CG_VEC);
    }
}

static void cg__vector_stores(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_STORE || !w->needed[i] || w->plan->vector[i] < 2) continue;
        const ind__inst *inst = cg__inst(w, i);
        w->memory[i] = NULL;
        cg__write_mask(w, inst->arg[1]);
        const cg__adder_row *adder = inst->reduction ? cg__adder(w, i, w->plan->vector[i]) : NULL;
        if (adder) cg__use(w, adder->function);
        if (w->plan->across[i]) cg__use(w, IND__CG_STORE_ACROSS);
        const char *store = w->plan->across[i] ? "ind_store_across" : "ind_store";
        ind__textf(&w->code, "%s(&%s, y%u);\n", adder ? adder->name : store, cg__element(w, i), i);
        if (inst->arg[1]) w->code.indent--;
    }
}

static void cg__forget_vectors(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->vector[i] > 1) w->memory[i] = NULL;
}

static void cg__unroll(ind__writer *w) {
    ind__textf(&w->code, "#pragma unroll\n");
}

/* Writes the runs of bytes that the neighbours along v read, or forgets them. */
static void cg__vector_runs(ind__writer *w, int v, bool forget) {
    cg__run run;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (w->known[i] || w->value[i] || w->plan->resident[i] || w->plan->vector[i] > 1) continue;
        if (!cg__find_aligned_run(w, i, v, w->variant->vector, &run)) continue;
        if (forget)
            w->memory[i] = NULL;
        else
            cg__write_run(w, i, &run);
    }
}

/* Writes a vector of neighbours along variable v, from `base` on, a multiple of their number. */
static void cg__emit_vector_body(ind__writer *w, int v, const char *base) {
    w->var[v] = base;
    cg__independent_loads(w, v);
    cg__emit(w, ~(1u << v), IND__CG_ALL_STAGES);
    cg__emit_same(w, v, w->variant->vector);
    cg__vector_loads(w, v);
    cg__vector_runs(w, v, false);
    cg__vector_sinks(w);
    cg__set_lane_values(w, v, w->variant->vector, false);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", w->variant->vector);
    w->var[v] = cg__string(w, "(%s + j)", base);
    if (w->linear_name[v]) w->linear_name[v] = "(p + j)";
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
    w->var[v] = base;
    if (w->linear_name[v]) w->linear_name[v] = "p";
    cg__vector_stores(w);
    cg__forget_vectors(w);
    cg__vector_runs(w, v, true);
    cg__set_lane_values(w, v, w->variant->vector, true);
}

static void cg__need_stores(ind__writer *w) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_root(w, i)) cg__need(w, i);
    cg__close_needed(w);
}

/* Returns "(blockIdx.x * 256 + threadIdx.x) * 4". */
static const char *cg__thread_position(ind__writer *w, int threads, int vector) {
    const char *block = w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x";
    if (vector == 1) return cg__string(w, "%s * %d + threadIdx.x", block, threads);
    return cg__string(w, "(%s * %d + threadIdx.x) * %d", block, threads, vector);
}

/* True if the function also serves other sizes: a part of a launch of independent kernels. */
static bool cg__serves_other_sizes(const ind__writer *w) {
    return w->plan->part == IND__PART_OF_LAUNCH;
}

/* Returns the condition that n elements from i0 on exist. With a constant extent it also says that i0 is not negative,
   which the compiler cannot see: quotients by powers of two are then shifts (q3_k: 168 and 195 instructions per 8
   elements). */
static const char *cg__line_condition(ind__writer *w, const char *extent, int n) {
    int64_t points;
    const bool constant =
        !cg__serves_other_sizes(w) && !w->plan->wide && ind_expr_is_int(w->plan->domain.extent[0], &points);
    if (constant && points >= n) return cg__string(w, "(unsigned)i0 <= %lldu", (long long)points - n);
    return cg__string(w, "i0 + %d <= %s", n, extent);
}

/* Writes a domain of one variable: full vectors, then single elements at its end. */
static void cg__emit_pointwise_line(ind__writer *w) {
    int n = w->variant->vector, t = w->variant->threads;
    const char *extent = cg__serves_other_sizes(w) ? cg__string(w, "n%u", cg__size_arg(w, w->plan->domain.extent[0]))
                                                   : cg__expr_string(w, w->plan->domain.extent[0]);
    ind__textf(&w->code, "const %s i0 = %s;\n", cg__int(w), cg__thread_position(w, t, n));
    w->var[0] = "i0";
    if (n == 1) {
        cg__begin(w, "if (i0 < %s)", extent);
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
        cg__end(w);
        return;
    }
    const bool full = !cg__serves_other_sizes(w) && ind_known_multiple(w->plan->domain.extent[0], n);
    cg__begin(w, "if (%s)", cg__line_condition(w, extent, n));
    cg__emit_vector_body(w, 0, "i0");
    if (!full) {
        cg__else(w, "else");
        ind__textf(&w->code, "#pragma unroll 1\n");
        cg__begin(w, "for (%s i = i0; i < %s; i++)", cg__int(w), extent);
        w->var[0] = "i";
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
        cg__end(w);
    }
    cg__end(w);
}

static void cg__end_tile(ind__writer *w) {
    cg__end(w);
    cg__end(w);
}

/* True if load i is a vector at an index read from memory: two dependent accesses. */
static bool cg__gathers(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->vector[i] > 1 &&
           ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* Opens the loop over a thread's vectors. Consecutive ones are a block's vectors apart. */
static void cg__begin_steps(ind__writer *w) {
    const ind__variant *v = w->variant;
    const char *block = w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x";
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", v->per_thread / v->vector);
    ind__textf(&w->code, "const %s p = (%s * %d + k * %d + threadIdx.x) * %d;\n", cg__int(w), block,
               v->threads * (v->per_thread / v->vector), v->threads, v->vector);
    cg__begin(w, "if (p < %s)", cg__expr_string(w, cg__p_numel(w)));
    cg__split_linear(w, "p", 0, w->plan->domain.rank);
}

/* Writes threads with several vectors each. A thread starts all gathered loads before it waits for the first. */
static void cg__emit_pointwise_steps(ind__writer *w) {
    const int n = w->variant->vector, last = w->plan->domain.rank - 1;
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__gathers(w, i)) continue;
        cg__need(w, i);
        ind__textf(&w->code, "ind_vec<%s, %d> x%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory, n, i,
                   w->variant->per_thread / n);
    }
    cg__use(w, IND__CG_VEC);
    cg__close_needed(w);
    cg__begin_steps(w);
    cg__emit(w, ~(1u << last), IND__CG_ALL_STAGES);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__gathers(w, i)) ind__textf(&w->code, "x%u[k] = ind_load<%d>(&%s);\n", i, n, cg__element(w, i));
    cg__end_tile(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__gathers(w, i)) w->memory[i] = cg__string(w, "x%u[k].at[j]", i);
    cg__need_stores(w);
    cg__begin_steps(w);
    cg__emit_vector_body(w, last, w->var[last]);
    cg__end_tile(w);
}

/* Threads that store nothing return before they compute the values. */
static void cg__leave_masked(ind__writer *w) {
    const int last = w->plan->domain.rank - 1;
    const uint32_t mask = w->plan->mask;
    if (!mask) return;
    cg__need_none(w);
    cg__need(w, mask);
    cg__close_needed(w);
    cg__emit(w, w->variant->vector > 1 ? ~(1u << last) : IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__emit_uniform(w, last);
    ind__textf(&w->code, "if (!");
    cg__value(w, mask);
    ind__textf(&w->code, ") return;\n");
    cg__need_stores(w);
}

/* Writes one vector (or point) per thread, in a domain of several variables. */
static void cg__emit_pointwise_grid(ind__writer *w) {
    int n = w->variant->vector, last = w->plan->domain.rank - 1;
    const char *points = cg__expr_string(w, cg__p_numel(w));
    ind__textf(&w->code, "const %s p = %s;\n", cg__int(w), cg__thread_position(w, w->variant->threads, n));
    ind__textf(&w->code, "if (p >= %s) return;\n", points);
    cg__split_linear(w, "p", 0, w->plan->domain.rank);
    cg__leave_masked(w);
    if (n > 1)
        cg__emit_vector_body(w, last, w->var[last]);
    else
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
}

/* Writes a chunk of consecutive points that may cross rows. Each point computes its position in its row. Accesses that
   are contiguous across rows are vectors. */
static void cg__emit_flat_body(ind__writer *w) {
    const int n = w->variant->vector, last = w->plan->domain.rank - 1;
    const bool rows = last > 0;
    w->var[last] = "p";
    if (rows) cg__use_positions(w);
    w->linear_name[last] = "p";
    cg__vector_loads(w, last);
    cg__vector_sinks(w);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", n);
    w->var[last] = "(p + j)";
    if (rows) ind__textf(&w->code, "const %s q = p + j;\n", cg__int(w));
    if (rows) cg__split_linear(w, "q", 0, w->plan->domain.rank);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
    w->var[last] = w->linear_name[last] = "p";
    cg__vector_stores(w);
    cg__forget_vectors(w);
}

/* Writes the points of a partial chunk at either end of the domain, one after another. */
static void cg__emit_edge_points(ind__writer *w, const char *points) {
    const int n = w->variant->vector;
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (%s q = %s; q < p + %d && q < %s; q++)", cg__int(w),
              w->plan->starts_misaligned ? "p < 0 ? 0 : p" : "p", n, points);
    if (w->plan->domain.rank == 1)
        w->var[0] = "q";
    else
        cg__split_linear(w, "q", 0, w->plan->domain.rank);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
}

/* Writes the domain as chunks of consecutive points, independent of row boundaries. */
static void cg__emit_shifted_points(ind__writer *w) {
    const int n = w->variant->vector;
    const char *points = cg__expr_string(w, cg__p_numel(w)), *position = cg__thread_position(w, w->variant->threads, n);
    cg__emit_shift(w);
    ind__textf(&w->code, "const %s p = %s%s;\n", cg__int(w), position, w->plan->starts_misaligned ? " - shift" : "");
    ind__textf(&w->code, "if (p >= %s) return;\n", points);
    cg__begin(w, "if (%sp <= %s - %d)", w->plan->starts_misaligned ? "p >= 0 && " : "", points, n);
    cg__emit_flat_body(w);
    cg__else(w, "else");
    cg__emit_edge_points(w, points);
    cg__end(w);
}
