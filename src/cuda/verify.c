/* -------------------------------------------------------------------------------------------------- >>verify */

/* True if e consists of declared sizes, which are known before the launch. */
static bool cg__is_declared(ind_expr e) {
    return ind__ok(e) && ind__expr_is_size(e) && !ind__expr_has_kind(e, IND_SYMBOL_UNBACKED);
}

/* The functions below return the rule that a variant breaks, or NULL. */

static const char *cg__broken_split(const ind__variant *v) {
    const ind_expr num = v->of.split.num;
    if (!ind__strategy_has(v->strategy, IND__HAS_SPLIT)) return NULL;
    if (!ind__ok(num) || !ind_expr_same(v->grid[1], num) || !cg__own_axis(num))
        return "the blocks that share a row do not lie along y of the grid";
    return NULL;
}

/* True if the kernel's first statement waits for the previous launch; any of them, if it waits late. */
static bool cg__waits_first(const ind__variant *v) {
    const char *kernel = strstr(v->source.text, "extern \"C\" __global__"),
               *body = kernel ? strstr(kernel, ") {\n") : NULL;
    if (body && ind__waits_late(v)) return strstr(body, IND__CG_DEPENDENCY_CALL) != NULL;
    return body && !strncmp(body + 4, IND__CG_DEPENDENCY_CALL, sizeof IND__CG_DEPENDENCY_CALL - 1);
}

/* The trigger follows the wait: early loads of the next launch must not run beside the launches before this one. */
static bool cg__triggers_last(const ind__variant *v) {
    const char *wait = strstr(v->source.text, IND__CG_DEPENDENCY_CALL);
    const char *trigger = strstr(v->source.text, IND__CG_TRIGGER_CALL);
    return v->dependent == IND__LAUNCH_TRIGGERS ? wait && trigger && wait < trigger : !trigger;
}

/* A kernel that computes this one and the next one has a guard on its rows, and no memory beside its buffers. */
static const char *cg__broken_with_next(const ind_kernel_plan *k, const ind__variant *v) {
    if (!k->kernel->with_next) return "it runs a next kernel that the schedule does not combine";
    if (!ind__ok(v->guard)) return "it runs the next kernel for any number of rows";
    if (v->memory.num_counters || v->memory.partial_bytes) return "it needs memory that launches of both do not have";
    return NULL;
}

/* A persistent launch runs whole launches, and each of its tasks waits for earlier ones. */
static const char *cg__broken_tasks(const ind_plan *p, const ind_kernel_plan *k, const ind__variant *v) {
    const uint32_t first = (uint32_t)(k - p->kernel), next = first + v->of.tasks.num_kernels;
    if (next > p->num_kernels || v->of.tasks.num_phases < 2) return "it has no further launches";
    if (next < p->num_kernels && p->kernel[next].first < next) return "it runs a part of a launch";
    for (uint32_t i = first; i < next; i++)
        if (p->kernel[i].kernel->kind == IND_KERNEL_EXTERN) return "it runs an extern call";
    if (v->num_args > IND__CG_COMBO_WORDS) return "its table takes more than 4 KiB";
    return v->memory.num_counters < IND__CG_TASK_COUNTERS ? "it lacks the counters of its tasks" : NULL;
}

/* A variant that also runs the next kernel needs that kernel's arguments, and words for at least one value per row. */
static const char *cg__broken_finish(const ind_plan *p, const ind_kernel_plan *k, const ind__variant *v) {
    const ind_kernel_plan *next = k + 1;
    uint32_t buffers = 0, words = 0;
    if (v->strategy == IND_STRATEGY_PERSISTENT) return cg__broken_tasks(p, k, v);
    if (!ind__num_taken(v)) return NULL;
    const bool exists = next < p->kernel + p->num_kernels;
    if (!exists || (next->num_variants ? next->first != next - p->kernel : next->first != k - p->kernel))
        return "it runs a next kernel that does not exist";
    if (!next->num_variants != (ind__num_taken(&k->variant[k->num_variants - 1]) == 1))
        return "no launch runs the next kernel for some sizes";
    if (v->assume & IND__WITH_NEXT) return cg__broken_with_next(k, v);
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        for (uint32_t n = 0; a->kind == IND__ARG_BUFFER && n < next->kernel->num_args; n++)
            buffers += i >= k->kernel->num_args && next->kernel->arg[n] == a->buffer;
        words += a->kind == IND__ARG_LOOKBACK;
    }
    if (buffers < next->kernel->num_args || words != 2) return "it lacks arguments of the next kernel";
    return NULL;
}

static const char *cg__broken_shape(const ind__variant *v) {
    if (v->threads < 1 || v->threads > 1024 || v->threads % 32)
        return "threads per block are not a multiple of 32 up to 1024";
    if (v->index_bits != 32 && v->index_bits != 64) return "indices have neither 32 nor 64 bits";
    if (!cg__power_of_two(v->vector) || v->vector > 16) return "the vector width is not a power of two up to 16";
    if (v->vector > 1 && !ind__strategy_has(v->strategy, IND__HAS_VECTORS)) return "the strategy has no vectors";
    if (v->misaligned && (v->vector < 2 || !ind__strategy_has(v->strategy, IND__HAS_MISALIGNED)))
        return "only vectors can be misaligned";
    return NULL;
}

/* A launch may evaluate only formulas of declared sizes. */
static const char *cg__broken_launch(const ind_plan *p, const ind__variant *v) {
    if (!v->source.text || !v->source.bytes || !v->source.entry[0] || !v->why)
        return "source, name or reason is missing";
    if (!v->dependent == cg__waits_first(v)) return "the kernel does not wait first for the previous launch";
    if (!cg__triggers_last(v)) return "the kernel does not trigger the next launch after its wait";
    for (int d = 0; d < 3; d++)
        if (!cg__is_declared(v->grid[d])) return "the grid is not a formula of the sizes";
    if (ind__ok(v->guard) && !cg__is_declared(v->guard)) return "the guard is not a condition on the sizes";
    if (!cg__is_declared(v->memory.shared)) return "shared memory is not a formula of the sizes";
    if (cg__upper_bound(v->memory.shared) > p->target.shared_per_block)
        return "shared memory exceeds the limit of a block";
    return NULL;
}

static const char *cg__broken_stage(const ind__variant *v) {
    const ind__stage_plan *s = &v->of.row.stage;
    if (!s->persistent) return NULL;
    if (!ind__strategy_has(v->strategy, IND__HAS_PERSISTENT)) return "the strategy has no persistent blocks";
    if (s->resident < 1) return "persistent blocks compute no rows at the same time";
    return s->num == 2 || (s->num == 1 && s->in_registers == 2) ? NULL : "the next row has no shared memory";
}

static const char *cg__broken_row(const ind_plan *p, const ind__variant *v) {
    const ind__row_plan *row = &v->of.row;
    if (ind__strategy_row_of(v->strategy)->of != IND__PLAN_OF_ROW) return NULL;
    if (ind__ok(row->fitted) && (!ind__strategy_has(v->strategy, IND__HAS_FITTED) || row->cluster > 1))
        return "a launch cannot set the active threads of this strategy";
    if (ind__ok(row->fitted) && !cg__is_declared(row->fitted))
        return "the active threads are not a formula of the sizes";
    if (row->cluster && !ind__strategy_has(v->strategy, IND__HAS_CLUSTER)) return "the strategy has no clusters";
    if (row->cluster && (!cg__power_of_two(row->cluster) || row->cluster > p->target.max_cluster))
        return "the target has no clusters of this size";
    if (row->cluster > 1 && !v->fallback) return "a variant with a cluster has no fallback without one";
    if (row->segments &&
        (v->misaligned || row->segment_lanes < 1 || !ind__strategy_has(v->strategy, IND__HAS_SEGMENTS)))
        return "the strategy has no segments of rows";
    if (row->batch && (!ind__strategy_has(v->strategy, IND__HAS_BATCH) || v->rows % row->batch))
        return "the rows of a block are not a multiple of the batch";
    return cg__broken_stage(v);
}

/* The blocks of a cluster share the steps of a tile, or each has a tile. Both need clusters, and a fallback for devices
   that they do not fit. */
static const char *cg__broken_tile(const ind_plan *p, const ind__variant *v) {
    const ind__tile_plan *tile = ind__tile_of(v);
    const int cluster = ind__cluster_of(v);
    if (!tile->cluster && !tile->pair_m && !tile->pair_n) return NULL;
    const bool pairs = tile->pair_m * tile->pair_n > 1;
    if (!pairs && cluster < 2) return NULL;
    if (!ind__strategy_has(v->strategy, IND__HAS_CLUSTER) || pairs == ind__ok(tile->splits))
        return "the strategy has no clusters";
    if (!cg__power_of_two(cluster) || cluster > p->target.max_cluster) return "the target has no clusters of this size";
    return v->fallback ? NULL : "a variant with a cluster has no fallback without one";
}

/* What is read before the wait may have been written by no launch: the previous one may still run. */
static const char *cg__broken_early(const ind_plan *p, const ind_kernel *k, const ind__variant *v) {
    const uint32_t early = ind__tile_of(v)->early;
    if (!early) return NULL;
    if (!v->dependent) return "a launch that does not wait reads arguments before the wait";
    for (uint32_t i = 0; i < 32; i++) {
        if (!(early >> i & 1)) continue;
        if (i >= k->num_reads || v->arg[i].buffer != k->arg[i])
            return "what is read before the wait is no argument that the kernel reads";
        if (cg__is_written(p->schedule, v->arg[i].buffer)) return "what is read before the wait is written by a launch";
    }
    return NULL;
}

static const char *cg__broken_guards(const ind__variant *v, bool last) {
    const ind__variant *other = v->fallback;
    if (last && (ind__ok(v->guard) || v->guard_aligned)) return "the last variant has a guard";
    if (!last && !ind__ok(v->guard) && !v->guard_aligned) return "a variant without a guard precedes another one";
    if (other && (other->guard_aligned != v->guard_aligned || ind__ok(other->guard) != ind__ok(v->guard)))
        return "the fallback has another guard";
    if (other && ind__ok(v->guard) && !ind_expr_same(other->guard, v->guard)) return "the fallback has another guard";
    return NULL;
}

/* Limits of cuTensorMapEncodeIm2col. */
static const char *cg__broken_windows(const ind__tensor_map *m) {
    const ind__map_windows *x = &m->windows;
    if (!x->rank) return NULL;
    if (x->rank > IND__MAX_WINDOW_RANK || m->rank != x->rank + 2) return "the rank of windows is not the map's less 2";
    const int most = x->rank == 1 ? 32767 : x->rank == 2 ? 127 : 15;
    for (int d = 0; d < x->rank; d++) {
        if (x->lower[d] < -most - 1 || x->lower[d] > most || x->upper[d] < -most - 1 || x->upper[d] > most)
            return "a corner of the windows of a tensor map is out of range";
        if (x->step[d] < 1 || x->step[d] > 8) return "windows of a tensor map are not 1 to 8 elements apart";
    }
    return NULL;
}

static const char *cg__broken_map(const ind_plan *p, const ind__kernel_arg *a) {
    const ind__tensor_map *m = a->map;
    if (a->kind != IND__ARG_TENSOR_MAP) return NULL;
    if (!m || a->buffer >= p->schedule->program->num_buffers) return "a tensor map has no buffer";
    if (m->rank < 2 || m->rank > IND__MAX_MAP_RANK) return "the rank of a tensor map is not 2 to 5";
    if (!cg__is_declared(m->offset)) return "the offset of a tensor map is not a formula of the sizes";
    for (int d = 0; d < m->rank; d++) {
        if (!cg__is_declared(m->size[d]) || !cg__is_declared(m->stride[d]))
            return "a size or stride of a tensor map is not a formula of the sizes";
        if (m->box[d] < 1 || m->box[d] > 256)
            return "a box of a tensor map has not 1 to 256 elements in each dimension";
    }
    if (m->swizzle && m->box[0] * ind_dtype_bytes(m->dtype) > m->swizzle)
        return "a row of the box of a tensor map is longer than the swizzle's span";
    if (cg__broken_windows(m)) return cg__broken_windows(m);
    if (ind_dtype_bytes(m->dtype) > 2 && !m->tf32) return "a tensor map has elements of more than 16 bits";
    if (m->tf32 && m->dtype != IND_F32) return "a tensor map rounds elements that are not f32";
    return NULL;
}

static const char *cg__broken_arg(const ind_plan *p, const ind__variant *v, const ind__kernel_arg *a) {
    const bool size = a->kind == IND__ARG_SIZE || a->kind == IND__ARG_LOOKBACK;
    if (a->kind == IND__ARG_BUFFER && a->buffer >= p->schedule->program->num_buffers)
        return "an argument is a buffer that does not exist";
    if (size && !cg__is_declared(a->size)) return "a size argument is not a formula of the sizes";
    if (a->kind == IND__ARG_COUNTERS && a->offset / 4 >= (int64_t)v->memory.num_counters)
        return "the counters are not allocated";
    if (a->kind == IND__ARG_PARTIALS && (a->offset >= v->memory.partial_bytes || a->offset % 16))
        return "the memory of partial results is not allocated, or misaligned";
    return cg__broken_map(p, a);
}

static const char *cg__broken_args(const ind_plan *p, const ind_kernel_plan *k, const ind__variant *v) {
    const char *rule = NULL;
    const bool one = ind__strategy_row_of(v->strategy)->family != IND__FAMILY_LAUNCH;
    if (v->strategy != IND_STRATEGY_PERSISTENT && (v->strategy == IND_STRATEGY_COMBO) != (k->num_parts > 1))
        return "the kernels of the launch are not the parts of the variant";
    if (v->strategy == IND_STRATEGY_COMBO && v->num_args > IND__CG_COMBO_WORDS)
        return "the arguments of its parts take more than 4 KiB";
    if (v->num_args < ind__kernel_of(k, v)->num_args) return "a buffer of the kernel is not an argument";
    for (uint32_t i = 0; i < v->num_args && !rule; i++) {
        rule = cg__broken_arg(p, v, &v->arg[i]);
        if (!rule && i && one && v->arg[i - 1].kind > v->arg[i].kind)
            rule = "arguments are not in the order buffers, sizes, memory of the instance, tensor maps";
    }
    return rule;
}

static const char *cg__broken_rule(const ind_plan *p, const ind_kernel_plan *k, const ind__variant *v, bool last) {
    const char *rule = cg__broken_guards(v, last);
    if (!rule) rule = cg__broken_shape(v);
    if (!rule) rule = cg__broken_launch(p, v);
    if (!rule) rule = cg__broken_row(p, v);
    if (!rule) rule = cg__broken_tile(p, v);
    if (!rule) rule = cg__broken_early(p, ind__kernel_of(k, v), v);
    if (!rule) rule = cg__broken_split(v);
    if (!rule) rule = cg__broken_finish(p, k, v);
    return rule ? rule : cg__broken_args(p, k, v);
}

ind_status ind__plan_verify(const ind_plan *p) {
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const ind_kernel_plan *k = &p->kernel[i];
        for (int v = 0; v < k->num_variants; v++) {
            const char *rule = NULL;
            for (const ind__variant *one = &k->variant[v]; one && !rule; one = one->fallback)
                rule = cg__broken_rule(p, k, one, v + 1 == k->num_variants);
            if (rule)
                return ind__fail(p->context, IND_ERROR_VERIFY, "plan of kernel %u (%s), variant %d: %s", i,
                                 k->kernel->name, v, rule);
        }
    }
    return IND_OK;
}
