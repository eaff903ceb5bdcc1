/* -------------------------------------------------------------------------------------------------- >>verify */

/* Made of declared sizes alone: known before the launch. */
static bool cg__is_declared(ind_expr e) {
    return ind__expr_is_size(e) && !ind__expr_has_kind(e, IND_SYMBOL_UNBACKED);
}

/* The same for what blocks that share rows meet by. */
static const char *cg__broken_split(const ind__variant *v) {
    bool splits = v->strategy == IND_STRATEGY_ROW_SPLIT || v->strategy == IND_STRATEGY_COLUMN_SPLIT;
    if (splits && (!ind__ok(v->splits) || !ind_expr_same(v->grid[1], v->splits) || !cg__own_axis(v->splits)))
        return "the blocks that share a row are not those along y of the grid";
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        if (a->kind == IND__ARG_COUNTERS && a->offset / 4 >= (int64_t)v->num_counters) return "it has no counters";
        if (a->kind == IND__ARG_PARTIALS && (a->offset >= v->partial_bytes || a->offset % 16))
            return "it has no memory for the results of blocks";
    }
    return NULL;
}

/* Is the wait the first statement of the kernel? */
static bool cg__waits_first(const ind__variant *v) {
    const char *kernel = strstr(v->source, "extern \"C\" __global__"), *body = kernel ? strstr(kernel, ") {\n") : NULL;
    return body && !strncmp(body + 4, IND__CG_DEPENDENCY_CALL, sizeof IND__CG_DEPENDENCY_CALL - 1);
}

/* A variant that runs the next kernel, too, has all that kernel's arguments, leaves it the other sizes, and words to
   hand over at least one value of each row. */
static const char *cg__broken_finish(const ind_plan *p, const ind_kernel_plan *k, const ind__variant *v) {
    const ind_kernel_plan *next = k + 1;
    uint32_t buffers = 0, words = 0;
    if (v->takes_next != (v->strategy == IND_STRATEGY_FINISH)) return "it runs the next kernel, or hides that it does";
    if (!v->takes_next) return NULL;
    const bool there = next < p->kernel + p->num_kernels;
    if (!there || (next->num_variants ? next->first != next - p->kernel : next->first != k - p->kernel))
        return "there is no next kernel to run";
    if (!next->num_variants != k->variant[k->num_variants - 1].takes_next)
        return "what it does not run, no other launch does";
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        for (uint32_t n = 0; a->kind == IND__ARG_BUFFER && n < next->kernel->num_args; n++)
            buffers += i >= k->kernel->num_args && next->kernel->arg[n] == a->buffer;
        words += a->kind == IND__ARG_LOOKBACK;
    }
    if (buffers < next->kernel->num_args || words != 2) return "it lacks arguments of the next kernel";
    return NULL;
}

/* What every variant promises, as a list; NULL: all holds. */
static const char *cg__broken_rule(const ind_plan *p, const ind_kernel_plan *k, const ind__variant *v, bool last) {
    if (last && (ind__ok(v->guard) || v->guard_aligned)) return "the last variant has a guard";
    if (!last && !ind__ok(v->guard) && !v->guard_aligned) return "a variant that always runs hides the next one";
    if (v->threads < 1 || v->threads > 1024 || v->threads % 32)
        return "threads per block are no multiple of 32 up to 1024";
    if (v->index_bits != 32 && v->index_bits != 64) return "indices are neither 32 nor 64 bits";
    if (!cg__power_of_two(v->vector) || v->vector > 16) return "the vector width is no power of two up to 16";
    if (v->misaligned && v->vector < 2) return "single elements have no boundaries";
    if (!v->source || !v->source_bytes || !v->entry[0] || !v->why) return "it has no source, name or reason";
    const bool block = v->strategy == IND_STRATEGY_ROW_BLOCK || v->strategy == IND_STRATEGY_ROW_LOOPED;
    if (ind__ok(v->fitted) && (!block || v->cluster > 1 || !cg__is_declared(v->fitted)))
        return "the threads of a launch are no formula of the sizes";
    if (v->dependent != cg__waits_first(v)) return "it does not wait first for the launch before it, as it should";
    for (int d = 0; d < 3; d++)
        if (!ind__ok(v->grid[d]) || !cg__is_declared(v->grid[d])) return "the grid is no formula of the sizes";
    if (ind__ok(v->guard) && !cg__is_declared(v->guard)) return "the guard is no condition on the sizes";
    if (!ind__ok(v->shared_bytes) || !cg__is_declared(v->shared_bytes) ||
        cg__upper_bound(v->shared_bytes) > p->target.shared_per_block)
        return "more shared memory than a block can have";
    const ind__variant *way = v->fallback;
    if (way && (way->guard_aligned != v->guard_aligned || ind__ok(way->guard) != ind__ok(v->guard) ||
                (ind__ok(v->guard) && !ind_expr_same(way->guard, v->guard))))
        return "what is built in its place has another guard";
    if (v->cluster > 1 && !way) return "no way to do without a cluster";
    const bool staged = v->strategy == IND_STRATEGY_ROW_STAGED;
    if ((staged || v->cluster) && (!cg__power_of_two(v->cluster) || v->cluster > p->target.max_cluster))
        return "no cluster of the target";
    if (v->persistent && v->stages != 2 && (v->stages != 1 || v->held != 2)) return "a staged row has no shared memory";
    if (v->persistent && (!staged || v->resident < 1)) return "persistent blocks without rows";
    if (v->segments && (v->misaligned || v->segment_lanes < 1 || (!staged && v->strategy != IND_STRATEGY_ROW_BLOCK)))
        return "segments of a row that is not in registers";
    if (v->batch && (v->strategy != IND_STRATEGY_ROW_WARP || v->rows % v->batch))
        return "the rows of a block are no whole number of batches";
    const char *finish = cg__broken_finish(p, k, v);
    if (finish) return finish;
    const bool combo = v->strategy == IND_STRATEGY_COMBO;
    if (combo != (k->num_parts > 1)) return "the kernels of one launch are no parts of one";
    if (combo && v->num_args > IND__CG_COMBO_WORDS) return "the arguments of its parts take more than 4 KiB";
    if (v->num_args < k->kernel->num_args) return "a buffer of the kernel is no argument";
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        if (i && v->arg[i - 1].kind > a->kind && !combo && !v->takes_next)
            return "arguments are not in the order buffers, sizes, memory of the instance";
        if (a->kind == IND__ARG_BUFFER && a->buffer >= p->schedule->program->num_buffers)
            return "an argument is no buffer";
        if ((a->kind == IND__ARG_SIZE || a->kind == IND__ARG_LOOKBACK) &&
            (!ind__ok(a->size) || !cg__is_declared(a->size)))
            return "a size argument is no formula of the sizes";
    }
    return cg__broken_split(v);
}

ind_status ind__plan_verify(const ind_plan *p) {
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const ind_kernel_plan *k = &p->kernel[i];
        for (int v = 0; v < k->num_variants; v++) {
            const char *rule = NULL;
            for (const ind__variant *way = &k->variant[v]; way && !rule; way = way->fallback)
                rule = cg__broken_rule(p, k, way, v + 1 == k->num_variants);
            if (rule)
                return ind__fail(p->context, IND_VERIFY, "plan of kernel %u (%s), variant %d: %s", i, k->kernel->name,
                                 v, rule);
        }
    }
    return IND_OK;
}
