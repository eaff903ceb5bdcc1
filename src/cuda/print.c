/* --------------------------------------------------------------------------------------------------- >>print */

static void cg__print_expr_field(ind__text *t, const char *name, ind_expr e) {
    ind__textf(t, "%s", name);
    ind__text_expr(t, e);
}

/* "[K, M]" */
static void cg__print_list(ind__text *t, const ind_expr *e, int n) {
    for (int d = 0; d < n; d++) {
        ind__textf(t, d ? ", " : "[");
        ind__text_expr(t, e[d]);
    }
    ind__textf(t, "]");
}

static void cg__print_map(ind__text *t, const ind_plan *p, const ind__kernel_arg *a) {
    const ind__tensor_map *m = a->map;
    int64_t offset;
    ind__textf(t, "tensor map of %s ", p->schedule->program->buffer[a->buffer].name);
    cg__print_list(t, m->size, m->rank);
    ind__textf(t, " strides ");
    cg__print_list(t, m->stride, m->rank);
    if (!ind_expr_is_int(m->offset, &offset) || offset) cg__print_expr_field(t, " offset ", m->offset);
    ind__textf(t, " box");
    for (int d = 0; d < m->rank; d++) ind__textf(t, d ? ", %d" : " [%d", m->box[d]);
    ind__textf(t, "] swizzle %d%s", m->swizzle, m->tf32 ? ", rounded to tf32" : "");
    for (int d = m->windows.rank - 1; d >= 0; d--)
        ind__textf(t, "%s[%d, size%s%d) stride %d", d == m->windows.rank - 1 ? " windows in " : " x ",
                   m->windows.lower[d], m->windows.upper[d] < 0 ? "" : "+", m->windows.upper[d], m->windows.step[d]);
}

static void cg__print_args(ind__text *t, const ind_plan *p, const ind__variant *v) {
    ind__textf(t, "arguments:");
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        ind__textf(t, i ? ", " : " ");
        if (a->kind == IND__ARG_BUFFER)
            ind__textf(t, "%s", p->schedule->program->buffer[a->buffer].name);
        else if (a->kind == IND__ARG_SIZE) {
            if (a->reciprocal) ind__textf(t, "multiplier for division by ");
            if (a->meaning) ind__textf(t, "%s", a->meaning);
            ind__text_expr(t, a->reciprocal ? a->divisor : a->size);
        } else if (a->kind == IND__ARG_TENSOR_MAP)
            cg__print_map(t, p, a);
        else
            ind__textf(t, "%s", cg__memory_args[a->kind].text);
    }
    ind__textf(t, "\n");
}

/* Prints which arguments a dependent launch reads before it waits. */
static void cg__print_early(ind__text *t, const ind_plan *p, const ind__variant *v) {
    const char *separator = "";
    ind__textf(t, "programmatic dependent launch (starts loads of ");
    for (uint32_t i = 0; i < v->num_args && i < 32; i++) {
        if (!(ind__tile_of(v)->early >> i & 1)) continue;
        ind__textf(t, "%s%s", separator, p->schedule->program->buffer[v->arg[i].buffer].name);
        separator = ", ";
    }
    ind__textf(t, ", then waits%s)\n", v->dependent == IND__LAUNCH_TRIGGERS ? ", triggers the next launch" : "");
}

/* Prints the fields that the strategy has. Vectors of a variant for any pointers are only of buffers in the workspace,
   which are aligned. */
static void cg__print_block(ind__text *t, const ind__variant *v) {
    const bool several = ind__strategy_row_of(v->strategy)->family == IND__FAMILY_LAUNCH;
    const bool tiled = ind__tile_of(v)->k > 0, rows = ind__strategy_row_of(v->strategy)->of == IND__PLAN_OF_ROW;
    ind__textf(t, "threads %d, ", v->threads);
    if (!several && !tiled) ind__textf(t, "elements per thread %d, ", v->per_thread);
    if (!several)
        ind__textf(t, "vector %d%s, ", v->vector,
                   v->vector > 1 && !v->guard_aligned && !v->misaligned ? " (workspace buffers only)" : "");
    if (rows) ind__textf(t, "rows per block %d, ", v->rows);
    ind__textf(t, "%d-bit indices\n", v->index_bits);
    if (v->misaligned)
        ind__textf(t, "%s may start misaligned: aligned vectors, peeled edges\n", rows ? "rows" : "the output");
}

static void cg__print_tile(ind__text *t, const ind__tile_plan *tile) {
    if (!tile->m) return;
    ind__textf(t, "tile %d x %d", tile->m, tile->n);
    if (tile->k) ind__textf(t, " x %d", tile->k);
    if (tile->products > 1) ind__textf(t, ", half of the columns of each product");
    if (tile->warps_m) ind__textf(t, ", warps %d x %d", tile->warps_m, tile->warps_n);
    if (tile->stages) ind__textf(t, ", stages %d", tile->stages);
    if (tile->pair_m) ind__textf(t, ", multicast in clusters of %d x %d tiles", tile->pair_m, tile->pair_n);
    ind__textf(t, "\n");
}

/* Returns the part of a fallback's reason that its variant's reason does not have. */
static const char *cg__other_reason(const char *why, const char *fallback) {
    size_t same = 0, from = 0;
    for (; why[same] && why[same] == fallback[same]; same++)
        if (same && why[same] == ' ' && why[same - 1] == ';') from = same + 1;
    if (!why[same] && fallback[same] == ';') from = same + 2;
    return fallback[from] ? fallback + from : fallback;
}

static void cg__print_fallbacks(ind__text *t, const ind__variant *v) {
    for (const ind__variant *last = v, *fallback; (fallback = last->fallback) != NULL; last = fallback) {
        const bool leaves = ind__cluster_of(last) > 1 && ind__cluster_of(fallback) < 2;
        const bool same = fallback->strategy == v->strategy;
        ind__textf(t, "fallback if %s: %s%s %s\n", leaves ? "the cluster does not fit" : "registers spill",
                   same ? "the same strategy" : ind__strategy_text(fallback->strategy), same ? "," : ":",
                   same ? cg__other_reason(v->why, fallback->why) : fallback->why);
    }
}

static void cg__print_variant(ind__text *t, const ind_plan *p, const ind__variant *v) {
    ind__textf(t, "%s: %s\n", ind__strategy_text(v->strategy), v->why);
    t->indent++;
    cg__print_block(t, v);
    if (ind__row_of(v)->segments)
        ind__textf(t, "%d whole segments of a row per iteration, %d lanes each\n", ind__row_of(v)->segments,
                   ind__row_of(v)->segment_lanes);
    cg__print_tile(t, ind__tile_of(v));
    if (ind__ok(ind__row_of(v)->fitted)) {
        cg__print_expr_field(t, "active threads ", ind__row_of(v)->fitted);
        ind__textf(t, "\n");
    }
    cg__print_expr_field(t, "grid ", v->grid[0]);
    cg__print_expr_field(t, " x ", v->grid[1]);
    cg__print_expr_field(t, " x ", v->grid[2]);
    cg__print_expr_field(t, ", dynamic shared memory ", v->memory.shared);
    ind__textf(t, " bytes\n");
    const ind_expr splits = ind__tile_of(v)->splits;
    if (ind__ok(splits)) cg__print_expr_field(t, "blocks that share a tile ", splits);
    if (ind__tile_of(v)->cluster > 1) ind__textf(t, ", in clusters of %d", ind__tile_of(v)->cluster);
    if (v->strategy == IND_STRATEGY_ATTENTION_TMA && v->memory.num_counters)
        ind__textf(t, "blocks take the next tile when they are done with one: 1 counter\n");
    else if (v->strategy == IND_STRATEGY_PERSISTENT)
        ind__textf(t,
                   "a task waits for all tasks of earlier phases; %u counters, at most %lld bytes of partial results\n",
                   v->memory.num_counters, (long long)v->memory.partial_bytes);
    else if (v->memory.num_counters)
        ind__textf(t, "%s: %u counters, at most %lld bytes of partial results\n",
                   ind__ok(splits) ? "" : "blocks along y combine their results", v->memory.num_counters,
                   (long long)v->memory.partial_bytes);
    else if (ind__ok(splits))
        ind__textf(t, "\n");
    if (ind__ok(v->guard)) {
        cg__print_expr_field(t, "requires ", v->guard);
        ind__textf(t, "\n");
    }
    if (v->guard_aligned) ind__textf(t, "requires 16-byte aligned base pointers\n");
    if (v->dependent && ind__tile_of(v)->prefetches)
        ind__textf(t, "programmatic dependent launch (prefetches its first keys and values into the L2, then waits)\n");
    else if (v->dependent && !ind__tile_of(v)->early)
        ind__textf(t, "programmatic dependent launch (waits at entry%s)\n",
                   v->dependent == IND__LAUNCH_TRIGGERS ? ", triggers the next launch" : "");
    else if (v->dependent)
        cg__print_early(t, p, v);
    cg__print_args(t, p, v);
    if (v->replaced.local_bytes)
        ind__textf(t, "replaces a variant that spilled %d bytes per thread\n", v->replaced.local_bytes);
    if (v->replaced.cluster)
        ind__textf(t, "replaces a variant with clusters of %d, too large for the device\n", v->replaced.cluster);
    cg__print_fallbacks(t, v);
    t->indent--;
}

/* Prints the kernel's plan as a part of a launch, or that it is not in the launch that the schedule chose. */
static void cg__print_part(ind__text *t, const ind_plan *p, uint32_t kernel) {
    const ind_kernel_plan *k = &p->kernel[kernel];
    const uint32_t wanted = p->schedule->launch[kernel];
    if (k->part)
        ind__textf(t, "part of the launch of kernel %u; %s: %s\n", k->first, ind__strategy_text(k->part->strategy),
                   k->part->why);
    else if (wanted != kernel)
        ind__textf(t, "not in the launch of kernel %u: %s\n", wanted,
                   k->alone ? k->alone : "their threads, shared memory and arguments do not fit into one launch");
}

/* Prints why the kernel is no part of the persistent launch of the kernels before it, or of none. */
static void cg__print_no_task(ind__text *t, const ind_kernel_plan *k) {
    const bool begins = k->num_variants && k->variant->strategy == IND_STRATEGY_PERSISTENT;
    if (k->no_task)
        ind__textf(t, "%s: %s\n", begins ? "begins another persistent launch" : "not in a persistent launch",
                   k->no_task);
}

/* One line: kernels, the number of their tasks, and what these wait for. Those that recompute a kernel follow it. */
static void cg__print_tasks(ind__text *t, const ind_plan *p, const ind__kernel_tasks *part) {
    ind__textf(t, "  phase %u: ", part->phase + 1);
    for (uint32_t k = 0; k < part->num_kernels; k++)
        ind__textf(t, "%skernel %u %s", k ? " and " : "", part->kernel + k, p->schedule->kernel[part->kernel + k].name);
    if (part->recomputed) {
        while (part->recomputed) part++;
        ind__textf(t, ", recomputed by each task of kernel %u\n", part->kernel);
        return;
    }
    cg__print_expr_field(t, ", tasks: ", part->num);
    if (part->phase) ind__textf(t, "; %swaits for phase %u", part->early ? "starts loads, " : "", part->phase);
    ind__textf(t, "\n");
}

void ind__plan_print_tasks(ind__text *t, const ind_plan *p) {
    for (uint32_t k = 0; k < p->num_kernels; k++) {
        const ind__variant *v = &p->kernel[k].variant[0];
        if (!p->kernel[k].num_variants || v->strategy != IND_STRATEGY_PERSISTENT) continue;
        ind__textf(t,
                   "persistent launch of kernels %u to %u: a counter gives tasks to blocks in the order of the phases, "
                   "another counts finished tasks\n",
                   k, k + v->of.tasks.num_kernels - 1);
        for (uint32_t i = 0; i < v->of.tasks.num_parts; i++) cg__print_tasks(t, p, &v->of.tasks.part[i]);
    }
}

void ind__plan_print(ind__text *t, const ind_plan *p, ind__node_name_fn origin_name, ind__node_name_fn result_name,
                     void *user) {
    char arch[16];
    ind__target_name(&p->target, arch);
    ind__textf(t, "plan for %s: %u kernels", arch, p->num_kernels);
    if (p->num_launches < p->num_kernels)
        ind__textf(t, " in %u launch%s", p->num_launches, p->num_launches > 1 ? "es" : "");
    ind__textf(t, "\n");
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const ind_kernel *k = p->kernel[i].kernel;
        ind__textf(t, "kernel %u %s", i, k->name);
        if (origin_name) ind__textf(t, ": %s ", ind__kernel_purpose(p->schedule, k));
        if (origin_name) ind__print_made(t, k->origin, k->num_origins, origin_name, result_name, user);
        ind__textf(t, "\n");
        t->indent++;
        if (k->body->call) ind__textf(t, "extern call of %s\n", k->body->call->name);
        cg__print_part(t, p, i);
        cg__print_no_task(t, &p->kernel[i]);
        for (int v = 0; v < p->kernel[i].num_variants; v++) cg__print_variant(t, p, &p->kernel[i].variant[v]);
        if (p->kernel[i].first == i)
            cg__print_expr_field(t, "predicted ns: ", p->kernel[i].time_ns);
        else
            ind__textf(t, "predicted ns: part of kernel %u", p->kernel[i].first);
        ind__textf(t, "\n");
        t->indent--;
    }
    cg__print_expr_field(t, "predicted ns, total: ", p->time_ns);
    ind__textf(t,
               "; device: %d bytes of memory per ns (copies reach %d %%), %d f32 and %d "
               "tensor-core flops per ns; %d ns "
               "per launch\n",
               p->target.memory_bytes_per_ns, p->target.thresholds.copy_percent, p->target.f32_flops_per_ns,
               p->target.tensor_flops_per_ns, p->target.launch_ns);
}

static void cg__print_json_expr(ind__text *t, ind_expr e) {
    ind__text s = {.context = t->context};
    ind__text_expr(&s, e);
    ind__text_json(t, s.data ? s.data : "");
    t->failed |= s.failed;
    ind__text_free(&s);
}

static void cg__print_json_map(ind__text *t, const ind_plan *p, const ind__kernel_arg *a) {
    const ind__tensor_map *m = a->map;
    ind__textf(t, "\"tensor_map\": ");
    ind__text_json(t, p->schedule->program->buffer[a->buffer].name);
    ind__textf(t, ", \"dtype\": \"%s\", \"offset\": ", ind_dtype_name(m->dtype));
    cg__print_json_expr(t, m->offset);
    for (int i = 0; i < 2; i++) {
        ind__textf(t, i ? "], \"strides\": [" : ", \"sizes\": [");
        for (int d = 0; d < m->rank; d++) {
            if (d) ind__textf(t, ", ");
            cg__print_json_expr(t, i ? m->stride[d] : m->size[d]);
        }
    }
    ind__textf(t, "], \"box\": [");
    for (int d = 0; d < m->rank; d++) ind__textf(t, d ? ", %d" : "%d", m->box[d]);
    ind__textf(t, "], \"swizzle\": %d, \"tf32\": %s", m->swizzle, m->tf32 ? "true" : "false");
    if (!m->windows.rank) return;
    const int *list[3] = {m->windows.lower, m->windows.upper, m->windows.step};
    static const char *const name[3] = {"lower", "upper", "step"};
    for (int i = 0; i < 3; i++) {
        ind__textf(t, "%s\"%s\": [", i ? "], " : ", \"windows\": {", name[i]);
        for (int d = 0; d < m->windows.rank; d++) ind__textf(t, d ? ", %d" : "%d", list[i][d]);
    }
    ind__textf(t, "]}");
}

static void cg__print_json_args(ind__text *t, const ind_plan *p, const ind__variant *v) {
    ind__textf(t, "\"args\": [");
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        ind__textf(t, i ? ", {" : "{");
        if (a->kind == IND__ARG_BUFFER) {
            ind__textf(t, "\"buffer\": ");
            ind__text_json(t, p->schedule->program->buffer[a->buffer].name);
        } else if (a->kind == IND__ARG_SIZE) {
            ind__textf(t, "\"size\": ");
            cg__print_json_expr(t, a->size);
        } else if (a->kind == IND__ARG_LOOKBACK) {
            ind__textf(t, "\"lookback_words\": ");
            cg__print_json_expr(t, a->size);
        } else if (a->kind == IND__ARG_TENSOR_MAP) {
            cg__print_json_map(t, p, a);
        } else {
            ind__textf(t, "\"%s\": true", cg__memory_args[a->kind].name);
        }
        ind__textf(t, "}");
    }
    ind__textf(t, "]");
}

static void cg__print_json_variant(ind__text *t, const ind_plan *p, const ind__variant *v) {
    const ind__tile_plan *tile = ind__tile_of(v);
    ind__textf(t, "{\"strategy\": ");
    ind__text_json(t, ind__strategy_text(v->strategy));
    ind__textf(t, ", \"why\": ");
    ind__text_json(t, v->why);
    ind__textf(t,
               ", \"threads\": %d, \"blocks_per_sm\": %d, \"per_thread\": %d, \"vector\": %d, \"misaligned\": %s, "
               "\"rows\": %d, ",
               v->threads, v->blocks_per_sm, v->per_thread, v->vector, v->misaligned ? "true" : "false", v->rows);
    ind__textf(t, "\"segments\": %d, \"segment_lanes\": %d, ", ind__row_of(v)->segments, ind__row_of(v)->segment_lanes);
    ind__textf(t,
               "\"index_bits\": %d, \"cluster\": %d, \"persistent\": %d, \"replaced_local_bytes\": %d, "
               "\"replaced_cluster\": %d, \"fallbacks\": [",
               v->index_bits, ind__cluster_of(v), ind__row_of(v)->stage.persistent, v->replaced.local_bytes,
               v->replaced.cluster);
    for (const ind__variant *f = v->fallback; f; f = f->fallback) {
        ind__textf(t, f == v->fallback ? "{\"strategy\": " : ", {\"strategy\": ");
        ind__text_json(t, ind__strategy_text(f->strategy));
        ind__textf(t, ", \"cluster\": %d, \"why\": ", ind__cluster_of(f));
        ind__text_json(t, f->why);
        ind__textf(t, "}");
    }
    ind__textf(t, "], \"tile\": [%d, %d, %d], \"warps\": [%d, %d], \"stages\": %d, \"products\": %d, \"splits\": ",
               tile->m, tile->n, tile->k, tile->warps_m, tile->warps_n, tile->stages, tile->products);
    if (ind__ok(tile->splits))
        cg__print_json_expr(t, tile->splits);
    else
        ind__textf(t, "null");
    ind__textf(t, ", \"pairs\": [%d, %d]", tile->pair_m, tile->pair_n);
    ind__textf(t, ", \"cost_ns\": %.0f, \"early\": %u, \"grid\": [", tile->cost_ns, (unsigned)tile->early);
    for (int d = 0; d < 3; d++) {
        if (d) ind__textf(t, ", ");
        cg__print_json_expr(t, v->grid[d]);
    }
    ind__textf(t, "], \"shared_bytes\": ");
    cg__print_json_expr(t, v->memory.shared);
    ind__textf(t, ", \"counters\": %u, \"partial_bytes\": %lld", v->memory.num_counters,
               (long long)v->memory.partial_bytes);
    ind__textf(t, ", \"fitted_threads\": ");
    if (ind__ok(ind__row_of(v)->fitted))
        cg__print_json_expr(t, ind__row_of(v)->fitted);
    else
        ind__textf(t, "null");
    ind__textf(t, ", \"guard\": ");
    if (ind__ok(v->guard))
        cg__print_json_expr(t, v->guard);
    else
        ind__textf(t, "null");
    ind__textf(t, ", \"guard_aligned\": %s, \"dependent\": %s, \"triggers\": %s, \"with_next\": %s, \"entry\": ",
               v->guard_aligned ? "true" : "false", v->dependent ? "true" : "false",
               v->dependent == IND__LAUNCH_TRIGGERS ? "true" : "false", v->assume & IND__WITH_NEXT ? "true" : "false");
    ind__text_json(t, v->source.entry);
    ind__textf(t, ", ");
    cg__print_json_args(t, p, v);
    ind__textf(t, "}");
}

static void cg__print_json_part(ind__text *t, const ind__variant *part) {
    ind__textf(t, ", \"part\": {\"strategy\": ");
    ind__text_json(t, ind__strategy_text(part->strategy));
    ind__textf(t, ", \"why\": ");
    ind__text_json(t, part->why);
    ind__textf(t, "}");
}

void ind__plan_print_json(ind__text *t, const ind_plan *p) {
    char arch[16];
    ind__target_name(&p->target, arch);
    ind__textf(t, "{\"arch\": ");
    ind__text_json(t, arch);
    ind__textf(t, ", \"memory_bytes_per_ns\": %d, \"copy_percent\": %d, \"f32_flops_per_ns\": %d, ",
               p->target.memory_bytes_per_ns, p->target.thresholds.copy_percent, p->target.f32_flops_per_ns);
    ind__textf(t, "\"tensor_flops_per_ns\": %d, \"launch_ns\": %d, \"time_ns\": ", p->target.tensor_flops_per_ns,
               p->target.launch_ns);
    cg__print_json_expr(t, p->time_ns);
    ind__textf(t, ", \"kernels\": [\n");
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        ind__textf(t, "{\"name\": ");
        ind__text_json(t, p->kernel[i].kernel->name);
        if (p->kernel[i].kernel->body->call) {
            ind__textf(t, ", \"call\": ");
            ind__text_json(t, p->kernel[i].kernel->body->call->name);
        }
        ind__textf(t, ", \"launch\": %u", p->kernel[i].first);
        if (p->kernel[i].part) cg__print_json_part(t, p->kernel[i].part);
        ind__textf(t, ", \"time_ns\": ");
        cg__print_json_expr(t, p->kernel[i].time_ns);
        ind__textf(t, ", \"variants\": [\n");
        for (int v = 0; v < p->kernel[i].num_variants; v++) {
            cg__print_json_variant(t, p, &p->kernel[i].variant[v]);
            ind__textf(t, v + 1 < p->kernel[i].num_variants ? ",\n" : "\n");
        }
        ind__textf(t, i + 1 < p->num_kernels ? "]},\n" : "]}\n");
    }
    ind__textf(t, "]}\n");
}

ind_expr ind__staged_grid(const ind__variant *v) {
    ind_context *c = ind__row_of(v)->stage.items.context;
    const ind_expr rows = ind__row_of(v)->stage.persistent
                              ? ind_expr_min(ind__row_of(v)->stage.items, ind_int(c, ind__row_of(v)->stage.resident))
                              : ind__row_of(v)->stage.items;
    return ind_expr_mul(rows, ind_int(c, ind__row_of(v)->cluster));
}

int ind__plan_likely(const ind_kernel_plan *k) {
    int at = 0;
    while (at + 1 < k->num_variants && ind__ok(k->variant[at].guard) && !ind_hint(k->variant[at].guard)) at++;
    return at;
}

bool ind__same_source(const ind__variant *a, const ind__variant *b) {
    return a->source.bytes == b->source.bytes && !memcmp(a->source.text, b->source.text, a->source.bytes);
}

/* Prints the comment above a source: the kernels that run it. */
static void cg__print_source_heading(ind__text *t, const ind_plan *p, const ind__source_users *u, uint32_t source) {
    const ind__source *s = &u->source[source];
    const uint32_t kernel = s->kernel;
    const int variant = s->variant;
    const ind__variant *v = &p->kernel[kernel].variant[variant];
    const char *before = "// kernel ";
    for (uint32_t at = s->first; at; at = u->user[at].next) {
        const uint32_t i = u->user[at].kernel;
        for (int k = 0; k < p->kernel[i].num_variants; k++) {
            if (u->number[u->first_variant[i] + (uint32_t)k] != source) continue;
            ind__textf(t, "%s%u", before, i);
            before = ", ";
            if (p->kernel[i].num_parts > 1) ind__textf(t, " with %u more", p->kernel[i].num_parts - 1);
        }
    }
    ind__textf(t, ": %s, %s, variant %d of %d", ind__kernel_of(&p->kernel[kernel], v)->name,
               ind__strategy_text(v->strategy), variant + 1, p->kernel[kernel].num_variants);
    if (ind__ok(v->guard)) cg__print_expr_field(t, ", only if ", v->guard);
    if (v->guard_aligned) ind__textf(t, ", only for aligned pointers");
    ind__textf(t, "\n// %s\n", v->why);
}

/* Prints "// kernel 3 computes h (add), y (layer_norm): in0 x, in1 buf4 (z), out0 h, out1 y". in0 and out0 are argument
   names in the source, a variant's, which several kernels may share. */
static void cg__print_made(ind__text *t, const ind_plan *p, uint32_t number, const ind__variant *v,
                           ind__node_name_fn origin_name, ind__node_name_fn result_name, void *user) {
    const ind_kernel *k = ind__kernel_of(&p->kernel[number], v);
    ind__textf(t, "// kernel %u %s ", (unsigned)number, ind__kernel_purpose(p->schedule, k));
    ind__print_made(t, k->origin, k->num_origins, origin_name, result_name, user);
    for (uint32_t i = 0; i < k->num_args; i++) {
        bool in = i < k->num_reads;
        ind__textf(t, "%s %s%u ", i ? "," : ":", in ? "in" : "out", (unsigned)(in ? i : i - k->num_reads));
        ind__schedule_print_buffer(t, p->schedule, k->arg[i], result_name, user);
    }
    ind__textf(t, "\n");
}

void ind__plan_print_source(ind__text *t, const ind_plan *p, ind__node_name_fn origin_name,
                            ind__node_name_fn result_name, void *user) {
    ind__source_users u;
    t->failed |= !ind__source_users_init(&u, p);
    for (uint32_t i = 0; i < u.num_sources && !t->failed; i++) {
        const ind__variant *v = &p->kernel[u.source[i].kernel].variant[u.source[i].variant];
        const ind__kernel_text *source = &v->source;
        cg__print_source_heading(t, p, &u, i);
        for (uint32_t at = u.source[i].first; origin_name && result_name && at; at = u.user[at].next)
            cg__print_made(t, p, u.user[at].kernel, v, origin_name, result_name, user);
        ind__textf(t, "\n");
        ind__text_raw(t, source->text, source->bytes);
        ind__textf(t, "\n");
    }
    ind__source_users_free(&u);
}
