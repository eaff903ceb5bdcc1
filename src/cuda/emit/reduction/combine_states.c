/* ---- combining the states of threads into the row's state */

/* True if the number of threads that share a row depends on the row length of the launch. The text names it `threads`.
 */
static bool cg__is_fitted(const ind__writer *w) {
    return ind__ok(cg__row(w)->fitted);
}

/* Returns the number of threads that share a row, as a constant or as `threads`. */
static const char *cg__row_threads_text(ind__writer *w) {
    return cg__is_fitted(w) ? "threads" : cg__string(w, "%d", cg__row_threads(w));
}

/* Vectors per segment of a row; 0: the row has one segment, or the length of segments is unknown. */
static int64_t cg__segment_vectors(const ind__writer *w) {
    int64_t length;
    if (w->plan->domain.rrank != 2 || !ind_expr_is_int(w->plan->domain.extent[w->plan->domain.rank + 1], &length))
        return 0;
    return length % w->variant->vector ? 0 : length / w->variant->vector;
}

/* Lanes of a row that take a vector in each iteration. */
static int cg__round_lanes(const ind__writer *w) {
    const int segments = cg__row(w)->segments;
    return segments ? segments * (int)cg__segment_vectors(w) : cg__row_threads(w);
}

/* True if the lanes of a segment begin at a sector boundary instead of at the start of the segment. */
static bool cg__begins_at_sector(const ind__writer *w) {
    return cg__row(w)->segments && cg__row(w)->segment_lanes > cg__segment_vectors(w);
}

static bool cg__shares_states(const ind__writer *w) {
    if (w->variant->strategy == IND_STRATEGY_COLUMN) return w->variant->threads > w->variant->rows;
    return cg__row_threads(w) > 32;
}

static const char *cg__part_of(const ind__writer *w) {
    return cg__is_parted(w) ? "[turn & 1]" : "";
}

static void cg__emit_shared_states(ind__writer *w, const cg__pass *s) {
    if (!cg__shares_states(w)) return;
    const ind__variant *v = w->variant;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        char letter;
        if (!cg__exchanges(w, i, s)) continue;
        ind_reduction r = cg__exchanged(w, i, s, &letter);
        if (!cg__exchanges_by_warp(w))
            ind__textf(&w->code, "__shared__ %s<%s> shared_%c%u", cg__states[r].state, cg__state_type(w, i), letter, i);
        if (v->strategy == IND_STRATEGY_COLUMN)
            ind__textf(&w->code, "[%d][%d];\n", v->threads / v->rows, v->rows);
        else if (!cg__exchanges_by_warp(w))
            ind__textf(&w->code, cg__is_parted(w) ? "[2][%d];\n" : "[%d];\n", v->threads / 32);
        if (cg__has_cluster(w)) {
            ind__textf(&w->code, "__shared__ %s<%s> cluster_%c%u", cg__states[r].state, cg__state_type(w, i), letter,
                       i);
            ind__textf(&w->code, cg__is_parted(w) ? "[2][%d];\n" : "[%d];\n",
                       cg__exchanges_by_warp(w) ? cg__exchange_states(w) : ind__row_of(v)->cluster);
        }
        cg__use(w, cg__states[r].function);
    }
}

/* Calls f for every state of the pass. */
static void cg__each_state(ind__writer *w, const cg__pass *s, void (*f)(ind__writer *w, uint32_t i, char letter)) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        char letter;
        if (!cg__reduces_in(w, i, s)) continue;
        cg__step(w, i, s, &letter);
        f(w, i, letter);
    }
}

/* Calls f for every state that warps exchange. */
static void cg__each_exchanged(ind__writer *w, const cg__pass *s, void (*f)(ind__writer *w, uint32_t i, char letter)) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        char letter;
        if (!cg__exchanges(w, i, s)) continue;
        cg__exchanged(w, i, s, &letter);
        f(w, i, letter);
    }
}

static void cg__combine_lanes_line(ind__writer *w, uint32_t i, char letter) {
    int lanes = cg__row_threads(w) < 32 ? cg__row_threads(w) : 32;
    if (lanes > 1) ind__textf(&w->code, "ind_combine_lanes<%d>(%c%u);\n", lanes, letter, i);
    if (lanes > 1) cg__use(w, IND__CG_COMBINE_LANES);
}

static void cg__warp_to_shared_line(ind__writer *w, uint32_t i, char letter) {
    const char *lane = cg__has_cluster(w) ? "threadIdx.x" : "lane";
    ind__textf(&w->code, "shared_%c%u%s[%s / 32] = %c%u;\n", letter, i, cg__part_of(w), lane, letter, i);
}

static void cg__column_to_shared_line(ind__writer *w, uint32_t i, char letter) {
    ind__textf(&w->code, "shared_%c%u[y][x] = %c%u;\n", letter, i, letter, i);
}

/* True if lanes combine the states of warps as a tree, instead of each thread all of them as a chain. Combining
   softmaxes or means takes ten times the instructions of sums: for 16 warps, a tenth of NVRTC's work for cross entropy
   of 128256. */
static bool cg__lanes_combine_warps(const ind__writer *w, uint32_t i) {
    const int warps = w->variant->threads / 32;
    if (w->variant->strategy == IND_STRATEGY_COLUMN || warps < 4 || warps > 32 || warps & (warps - 1)) return false;
    return !cg__in_registers(w) && cg__two_step(cg__inst(w, i));
}

static void cg__from_shared_line(ind__writer *w, uint32_t i, char letter) {
    const ind__variant *v = w->variant;
    const int warps = v->threads / 32;
    const char *part = cg__part_of(w);
    if (cg__is_fitted(w)) {
        cg__use(w, IND__CG_COMBINE_WARPS);
        ind__textf(&w->code, "%c%u = ind_combine_warps<%d>(shared_%c%u%s, threads / 32);\n", letter, i, warps, letter,
                   i, part);
        return;
    }
    if (cg__lanes_combine_warps(w, i)) {
        ind__textf(&w->code, "%c%u = shared_%c%u%s[threadIdx.x %% %d];\nind_combine_lanes<%d>(%c%u);\n", letter, i,
                   letter, i, part, warps, warps, letter, i);
        return;
    }
    cg__use(w, IND__CG_COMBINE_SHARED);
    if (v->strategy == IND_STRATEGY_COLUMN)
        ind__textf(&w->code, "%c%u = ind_combine_shared<%d, %d>(&shared_%c%u[0][x]);\n", letter, i,
                   v->threads / v->rows, v->rows, letter, i);
    else
        ind__textf(&w->code, "%c%u = ind_combine_shared<%d, 1>(shared_%c%u%s);\n", letter, i, warps, letter, i, part);
}

static void cg__to_cluster_line(ind__writer *w, uint32_t i, char letter) {
    const char *part = cg__part_of(w);
    ind__textf(&w->code, "ind_cluster_send(&cluster_%c%u%s[block], &barrier[%d]%s, threadIdx.x, %c%u);\n", letter, i,
               part, w->combine_step, part, letter, i);
}

static void cg__from_cluster_line(ind__writer *w, uint32_t i, char letter) {
    cg__use(w, IND__CG_COMBINE_SHARED);
    ind__textf(&w->code, "%c%u = ind_combine_shared<%d, 1>(cluster_%c%u%s);\n", letter, i, cg__row(w)->cluster, letter,
               i, cg__part_of(w));
}

static void cg__state_size(ind__writer *w, uint32_t i, char letter) {
    ind__textf(&w->code, " + sizeof %c%u", letter, i);
}

static void cg__emit_cluster_wait(ind__writer *w) {
    ind__textf(&w->code, "ind_cluster_wait(&barrier[%d]%s, %s);\n", w->combine_step, cg__part_of(w),
               cg__is_parted(w) ? "turn >> 1 & 1" : "0");
}

/* Combines the states of a cluster's blocks. Persistent blocks have separate barriers for even and odd rows, whose
   phase changes every other row. No block can be two rows ahead of another, as it needs that block's states for each
   row. */
static void cg__emit_cluster_combine(ind__writer *w, const cg__pass *s) {
    const int cluster = cg__row(w)->cluster;
    const char *part = cg__part_of(w);
    cg__use(w, IND__CG_CLUSTER);
    ind__textf(&w->code, "if (threadIdx.x == 0) ind_cluster_expect(&barrier[%d]%s, %d * (0", w->combine_step, part,
               cluster);
    cg__each_state(w, s, cg__state_size);
    ind__textf(&w->code, "));\n");
    cg__begin(w, "if (threadIdx.x < %d)", cluster);
    cg__each_state(w, s, cg__to_cluster_line);
    cg__end(w);
    cg__emit_cluster_wait(w);
    cg__each_state(w, s, cg__from_cluster_line);
    w->combine_step++;
}

static void cg__warp_to_cluster_line(ind__writer *w, uint32_t i, char letter) {
    const char *part = cg__part_of(w);
    ind__textf(&w->code, "ind_cluster_send(&cluster_%c%u%s[lane / 32], &barrier[%d]%s, threadIdx.x %% 32, %c%u);\n",
               letter, i, part, w->combine_step, part, letter, i);
}

/* Each lane combines every 32nd state, then lanes combine theirs, in the same order in all blocks. */
static void cg__from_warps_line(ind__writer *w, uint32_t i, char letter) {
    const int lanes = cg__exchange_lanes(w), each = cg__exchange_states(w) / lanes;
    if (letter == 'w') {
        cg__use(w, IND__CG_COMBINE_MOMENTS);
        ind__textf(&w->code, "w%u = ind_combine_moments<%d, %d, %d>(&cluster_w%u%s[threadIdx.x %% %d], (%s)(%s));\n", i,
                   each, lanes, lanes, i, cg__part_of(w), lanes, cg__state_type(w, i),
                   cg__expr_string(w, cg__r_numel(w)));
        return;
    }
    ind__textf(&w->code, "%c%u = ind_combine_shared<%d, %d>(&cluster_%c%u%s[threadIdx.x %% %d]);\n", letter, i, each,
               lanes, letter, i, cg__part_of(w), lanes);
    ind__textf(&w->code, "ind_combine_lanes<%d>(%c%u);\n", lanes, letter, i);
    cg__use(w, IND__CG_COMBINE_SHARED);
}

/* Writes a warp's moments, if warps synchronise once: count, mean, and squared deviations from this mean. */
static void cg__warp_moments_line(ind__writer *w, uint32_t i, char letter) {
    const char *type = cg__state_type(w, i);
    if (!cg__exchanges_moments(w, i)) return;
    if (letter == 'd') {
        ind__textf(&w->code, "ind_welford<%s> w%u = {(%s)count%u.value, near%u, d%u.value};\n", type, i, type, i, i, i);
        return;
    }
    ind__textf(&w->code, "ind_combine_lanes<32>(count%u);\n", i);
    ind__textf(&w->code, "const %s near%u = s%u.value / (%s)(count%u.value ? count%u.value : 1);\n", type, i, i, type,
               i, i);
}

static bool cg__exchanges_any(const ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__exchanges(w, i, s)) return true;
    return false;
}

/* Combines the states of a cluster's warps. No warp can be two rows ahead of another, as it needs that warp's states
   for each row. */
static void cg__emit_warps_combine(ind__writer *w, const cg__pass *s) {
    const char *part = cg__part_of(w);
    cg__use(w, IND__CG_CLUSTER);
    ind__textf(&w->code, "if (threadIdx.x == 0) ind_cluster_expect(&barrier[%d]%s, %d * (0", w->combine_step, part,
               cg__row_threads(w) / 32);
    cg__each_exchanged(w, s, cg__state_size);
    ind__textf(&w->code, "));\n");
    cg__begin(w, "if (threadIdx.x %% 32 < %d)", cg__row(w)->cluster);
    cg__each_exchanged(w, s, cg__warp_to_cluster_line);
    cg__end(w);
    cg__emit_cluster_wait(w);
    cg__each_exchanged(w, s, cg__from_warps_line);
    w->combine_step++;
}

static void cg__emit_combine(ind__writer *w, const cg__pass *s) {
    bool column = w->variant->strategy == IND_STRATEGY_COLUMN;
    if (!cg__reduces_any(w, s)) return;
    if (!column) cg__each_state(w, s, cg__combine_lanes_line);
    if (!cg__shares_states(w)) return;
    if (cg__exchanges_by_warp(w)) {
        cg__each_state(w, s, cg__warp_moments_line);
        if (cg__exchanges_any(w, s)) cg__emit_warps_combine(w, s);
        return;
    }
    if (!column) cg__begin(w, "if (lane %% 32 == 0)");
    cg__each_state(w, s, column ? cg__column_to_shared_line : cg__warp_to_shared_line);
    if (!column) cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__each_state(w, s, cg__from_shared_line);
    if (cg__has_cluster(w)) cg__emit_cluster_combine(w, s);
}

static void cg__set_parts(ind__writer *w, uint32_t reduce, const char *first, const char *second) {
    if (second) w->value[reduce] = first;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_PART && cg__inst(w, i)->arg[0] == reduce)
            w->value[i] = cg__inst(w, i)->imm.i ? second : first;
}

/* Sets the names of the results of REDUCE i, whose state has this name. */
static void cg__set_results(ind__writer *w, uint32_t i, const char *state) {
    const ind__inst *inst = cg__inst(w, i);
    const char *const *result = cg__states[inst->reduction].result, *type = cg__types[inst->dtype].value;
    const bool cut = strcmp(type, cg__state_type(w, i)) != 0 && inst->reduction != IND_REDUCE_ARGMAX;
    const char *first = cg__string(w, "%s%s", state, strchr(result[0], '.'));
    if (cut) first = cg__string(w, "((%s)%s)", type, first);
    if (inst->reduction == IND_REDUCE_ARGMAX && !ind_known_le(ind_int(w->context, 1), cg__r_numel(w)))
        first = cg__string(w, "(%s < 0 ? 0 : %s)", first, first); /* of an empty row */
    cg__set_parts(w, i, first, result[1] ? cg__string(w, "%s%s", state, strchr(result[1], '.')) : "");
}

/* Sets the names of the pass's results. */
static void cg__emit_results(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (!cg__reduces_in(w, i, s)) continue;
        if (cg__in_registers(w) && cg__two_step(inst)) {
            bool welford = inst->reduction == IND_REDUCE_WELFORD;
            if (cg__exchanges_moments(w, i)) {
                if (s->second) cg__set_parts(w, i, cg__string(w, "w%u.mean", i), cg__string(w, "w%u.m2", i));
                continue;
            }
            if (welford && !s->second)
                ind__textf(&w->code, "const %s mean%u = s%u.value / (%s)(%s);\n", cg__state_type(w, i), i, i,
                           cg__state_type(w, i), cg__expr_string(w, cg__r_numel(w)));
            if (!welford && !s->second) cg__set_parts(w, i, cg__string(w, "s%u.value", i), NULL);
            if (s->second)
                cg__set_parts(w, i, cg__string(w, welford ? "mean%u" : "s%u.value", i), cg__string(w, "d%u.value", i));
            continue;
        }
        cg__set_results(w, i, cg__string(w, "s%u", i));
    }
}
