/* --------------------------------------------------------------------------------------------- >>persistent */

/* One launch for consecutive small ones. Each kernel becomes a function, as in a launch of independent kernels
   (combine.c), and each of its blocks a task, except that tasks of attention may compute small kernels before it
   themselves (recomputed.c). Tasks are numbered in the order of the launches. Persistent blocks take the next number
   from a counter, and wait until all tasks of earlier launches, the phases, have finished. Products of few rows start
   the loads of their weights before they wait, attention those of its first keys and values.

   The block with the lowest number of the unfinished tasks does not wait: all tasks before its phase have finished. So
   the launch ends with any number of resident blocks. A block fetches its next number while it runs a task; it runs
   them in ascending order, so this argument still holds.

   Memory that the schedule reuses is safe: no task of a phase runs beside one of another phase, and kernels that tasks
   recompute read nothing whose memory is free after them. After a wait has timed out (watchdog_ms) this does not hold:
   the results are wrong, and the check of the launch fails and resets the counters. Small products of such a module
   have the configurations of tasks in separate launches, too, and so the same bits, except for those with tensor maps:
   cg__task_threads. */

/* The kernels of a persistent launch while it is planned. */
typedef struct cg__tasks {
    ind_plan *plan;
    ind__arena memory;
    cg__part *part;
    uint32_t num_parts, num_phases;
    uint32_t first, next; /* kernels of the plan: the first one, and the one after the last */
    uint32_t words;       /* of the table */
    int threads;
    int64_t most; /* tasks of a phase, at the hints */
} cg__tasks;

static ind_status cg__find_recomputed(cg__tasks *x);

/* ---- which kernels are parts */

/* True if a warp has several rows. Lanes without one return: in a separate launch they exit, and the others do not
   wait for them. */
static bool cg__shares_warps(const ind__variant *v) {
    const bool warps = v->strategy == IND_STRATEGY_ROW_WARP || v->strategy == IND_STRATEGY_SCAN_WARP;
    return warps && v->threads < 32 * v->rows;
}

static const char *cg__why_no_task(const cg__part *part) {
    const ind__variant *v = &part->variant;
    if (ind__cluster_of(v) > 1) return "its blocks are in clusters";
    if (ind__strategy_has(v->strategy, IND__HAS_TENSOR_MAPS)) return "its operands are copied by tensor maps";
    if (v->threads > 512 || v->threads % 32) return "its blocks have more than 512 threads, or a part of a warp";
    if (cg__shares_warps(v)) return "its rows share warps, whose lanes without a row leave it";
    if (ind__ok(ind__row_of(v)->fitted) || strstr(part->code, "blockDim")) return "its number of threads varies";
    if (strstr(part->code, "gridDim")) return "its blocks loop over rows";
    if (strstr(part->code, "__syncthreads_")) return "its barriers count";
    if (part->outside[0]) return "it has functions of its own";
    return NULL;
}

/* Plans a kernel as a part, as for its variant `like`. */
static ind_status cg__plan_task(ind_plan *p, cg__part *part, const ind__variant *like, int threads) {
    const int assume = like ? like->assume & ~IND__ASSUME_MAPS : IND__CG_ASSUME_PART;
    part->task = true, part->why_not = NULL;
    part->range = like ? like->range : (ind__row_range){0, 0};
    p->from = part->range.from, p->to = part->range.to;
    const ind_status status = cg__plan_part(p, part, assume, threads ? threads : cg__task_threads(p, part->of));
    p->from = p->to = 0;
    if (!status && !part->why_not) part->why_not = cg__why_no_task(part);
    return status;
}

/* The kernels that the likely variant of launch k runs. */
typedef struct cg__task_launch {
    const ind__variant *like; /* the parts are planned as for this variant; NULL: of several independent kernels */
    const ind_kernel *of;     /* the kernel of `like` */
    uint32_t num, next;       /* parts; the kernel of the plan after them */
} cg__task_launch;

/* The kernel of the plan after those of the launch of kernel k. */
static uint32_t cg__task_launch_end(const ind_plan *p, uint32_t k) {
    uint32_t next = k + 1;
    while (next < p->num_kernels && p->kernel[next].first == k) next++;
    return next;
}

static cg__task_launch cg__task_launch_of(const ind_plan *p, uint32_t k) {
    const ind_kernel_plan *kp = &p->kernel[k];
    const ind__variant *likely = &kp->variant[ind__plan_likely(kp)];
    cg__task_launch x = {.like = likely, .of = ind__kernel_of(kp, likely), .num = 1, .next = k + 1};
    if (likely->assume & IND__WITH_NEXT) x.next = k + 2;
    if (kp->num_parts == 1) return x;
    x.next = cg__task_launch_end(p, k);
    x.like = NULL, x.num = x.next - k;
    return x;
}

/* Plans the kernels of the launch of kernel k as the parts of the next phase. *why: the reason against it, or NULL.
 *next: the kernel after them. */
static ind_status cg__plan_phase(cg__tasks *x, uint32_t k, uint32_t *next, const char **why) {
    ind_plan *p = x->plan;
    *why = p->kernel[k].num_variants ? NULL : "it is an extern call";
    if (*why) return IND_OK;
    const cg__task_launch launch = cg__task_launch_of(p, k);
    const uint32_t from = x->num_parts;
    uint32_t words = x->words;
    int64_t tasks = 0;
    double bytes = 0;
    *next = launch.next;
    for (uint32_t i = 0; i < launch.num && !*why; i++) {
        const ind_kernel *of = launch.like ? launch.of : p->kernel[k + i].kernel;
        cg__part *part = &x->part[x->num_parts++];
        *part = (cg__part){.kernel = k + i, .of = of, .phase = x->num_phases};
        if (ind__body_unbacked(p->schedule->program, of->body)) *why = "it has a size from data";
        if (*why) break;
        ind_status status = cg__plan_task(p, part, launch.like, 0);
        if (status) return status;
        words += cg__row_words(&part->variant) + 2; /* 2: its step */
        bytes += (double)ind_hint(of->bytes_read) + (double)ind_hint(of->bytes_written);
        tasks += ind_hint(ind_expr_product(p->context, part->variant.grid, 3));
        *why = part->why_not;
    }
    if (!*why && tasks > (int64_t)p->target.thresholds.task_blocks * p->target.num_sms) *why = "it has too many blocks";
    if (!*why && bytes > (double)p->target.thresholds.task_ns * p->target.memory_bytes_per_ns)
        *why = "it moves too many bytes";
    if (!*why && words > IND__CG_COMBO_WORDS - 2) *why = "the table of kernels before it is full";
    if (*why) return x->num_parts = from, IND_OK;
    if (tasks > x->most) x->most = tasks;
    x->words = words, x->num_phases++;
    return IND_OK;
}

/* ---- the variant */

/* Words of ind_counters, up to the end of its last line. */
#define IND__CG_TASK_COUNTERS 96

/* Threads of a block: the most of any part but pointwise ones, which get this number. */
static ind_status cg__level_tasks(cg__tasks *x) {
    ind_status status = IND_OK;
    x->threads = IND__CG_TASK_THREADS;
    for (uint32_t i = 0; i < x->num_parts; i++) {
        const ind__variant *v = &x->part[i].variant;
        if (v->strategy != IND_STRATEGY_POINTWISE && v->threads > x->threads) x->threads = v->threads;
    }
    for (uint32_t i = 0; i < x->num_parts && !status; i++) {
        cg__part *part = &x->part[i];
        if (part->variant.strategy == IND_STRATEGY_POINTWISE && part->variant.threads != x->threads)
            status = cg__plan_task(x->plan, part, NULL, x->threads);
    }
    return status;
}

/* Blocks that an SM has at the same time: as many as the largest phase has tasks, if there is room for them. Three in
   place of two, so that blocks of later phases load their weights earlier, were slower: more blocks poll the counter
   of finished tasks (SmolLM2, H200: 442 us, 425 with two). */
static int cg__task_blocks(const cg__tasks *x, const ind__variant *v, int fixed) {
    const ind_target *t = &x->plan->target;
    int64_t least, shared = 0;
    ind__known_bounds(v->memory.shared, &least, &shared);
    int blocks = x->most > 3 * t->num_sms ? 4 : (int)((x->most + t->num_sms - 1) / t->num_sms);
    while (blocks > 1 && (blocks * (shared + fixed + 2048) > t->shared_per_sm || blocks * x->threads > 512)) blocks--;
    return blocks > 1 ? blocks : 1;
}

/* Pushes the rows of the table, by function, in cells of 8 bytes. The memory of a phase's counters and partial results
   is free after it. */
static void cg__fill_task_rows(cg__combo *c, const ind_expr *first) {
    ind__launch_memory most = {0};
    for (uint32_t f = 0; f < c->num_functions; f++) {
        for (uint32_t i = 0; i < c->num_parts; i++) {
            if (c->part[i]->function != f) continue;
            ind__launch_memory *m = &c->variant->memory;
            m->num_counters = IND__CG_TASK_COUNTERS, m->partial_bytes = 0;
            for (uint32_t k = i; k-- > 0 && c->part[k]->phase == c->part[i]->phase;) {
                m->num_counters += (c->part[k]->variant.memory.num_counters + 1) / 2 * 2;
                m->partial_bytes += c->part[k]->variant.memory.partial_bytes;
            }
            cg__fill_row(c, c->part[i], first[i]);
            if (m->num_counters > most.num_counters) most.num_counters = m->num_counters;
            if (m->partial_bytes > most.partial_bytes) most.partial_bytes = m->partial_bytes;
        }
    }
    c->variant->memory.num_counters =
        most.num_counters > IND__CG_TASK_COUNTERS ? most.num_counters : IND__CG_TASK_COUNTERS;
    c->variant->memory.partial_bytes = most.partial_bytes;
}

/* Milliseconds that a task waits at most. 0: no limit. */
static uint32_t cg__watchdog(const cg__combo *c) {
    return c->plan->schedule->program->options.watchdog_ms;
}

/* Pushes the arguments: the rows, the steps, the number of tasks, the counters, and the record of a wait that has
   timed out. Records the tasks of each kernel for the schedule's text. */
static ind_status cg__fill_task_args(cg__combo *c, ind__arena *memory) {
    ind_context *context = c->plan->context;
    ind_expr *first = (ind_expr *)ind__arena_alloc(memory, (c->num_parts + 1) * sizeof *first);
    uint32_t start = 0;
    if (!first) return ind__failed(context);
    first[0] = ind_int(context, 0);
    for (uint32_t i = 0; i < c->num_parts; i++)
        first[i + 1] = c->part[i]->recomputed
                           ? first[i]
                           : ind_expr_add(first[i], ind_expr_product(context, c->part[i]->variant.grid, 3));
    cg__fill_task_rows(c, first);
    ind__kernel_tasks *tasks = (ind__kernel_tasks *)ind__arena_alloc(&c->plan->arena, c->num_parts * sizeof *tasks);
    if (!tasks) return ind__failed(context);
    for (uint32_t i = 0; i < c->num_parts; i++) {
        if (i && c->part[i]->phase != c->part[i - 1]->phase) start = i;
        tasks[i] = (ind__kernel_tasks){.kernel = c->part[i]->kernel,
                                       .num_kernels = 1 + ind__num_taken(&c->part[i]->variant),
                                       .phase = c->part[i]->phase - c->part[0]->phase,
                                       .num = ind_expr_sub(first[i + 1], first[i]),
                                       .early = ind__waits_late(&c->part[i]->variant),
                                       .recomputed = c->part[i]->recomputed};
        if (c->part[i]->recomputed) continue;
        cg__combo_arg(
            c, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = first[i + 1], .meaning = "end of a kernel's tasks: "});
        cg__combo_arg(
            c, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = first[start], .meaning = "waits for tasks before: "});
    }
    cg__combo_arg(c, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = first[c->num_parts], .meaning = "tasks: "});
    cg__combo_arg(c, (ind__kernel_arg){.kind = IND__ARG_COUNTERS});
    if (cg__watchdog(c)) cg__combo_arg(c, (ind__kernel_arg){.kind = IND__ARG_ERROR});
    c->blocks = first[c->num_parts];
    c->variant->of.tasks.part = tasks;
    c->variant->of.tasks.num_parts = c->num_parts;
    return IND_OK;
}

/* Kernels that have tasks. */
static uint32_t cg__num_steps(const cg__combo *c) {
    uint32_t num = 0;
    for (uint32_t i = 0; i < c->num_parts; i++) num += !c->part[i]->recomputed;
    return num;
}

/* Writes the table rows of the kernels that tasks of the function compute after their wait. */
static void cg__write_recomputed_rows(cg__combo *c, uint32_t function) {
    ind__text *t = &c->text;
    uint32_t num;
    const uint32_t recomputes = cg__first_part(c, function, &num)->num_recomputed;
    if (!recomputes) return;
    ind__textf(t, "static __constant__ const unsigned short ind_recomputed_%u[%u][%u] = {", (unsigned)function,
               (unsigned)num, (unsigned)recomputes);
    const char *separator = "";
    for (uint32_t i = 0; i < c->num_parts; i++) {
        if (c->part[i]->function != function) continue;
        for (uint32_t k = recomputes; k > 0; k--) {
            const char *open = k == recomputes ? "{" : "", *close = k == 1 ? "}" : "";
            ind__textf(t, "%s%s%u%s", separator, open, (unsigned)c->part[i - k]->row, close);
            separator = ", ";
        }
    }
    ind__textf(t, "};\n\n");
}

/* Writes the function and table row of each kernel that has tasks, and whether its function waits. */
static void cg__write_task_parts(cg__combo *c) {
    ind__text *t = &c->text;
    ind__textf(t, "static __constant__ const ind_part ind_parts[%u] = {\n", (unsigned)cg__num_steps(c));
    for (uint32_t i = 0; i < c->num_parts; i++) {
        const cg__part *part = c->part[i];
        if (part->recomputed) continue;
        ind__textf(t, "    {%u, %u, %d},\n", (unsigned)part->function, (unsigned)part->row,
                   ind__waits_late(&part->variant));
    }
    ind__textf(t, "};\n\n");
    for (uint32_t f = 0; f < c->num_functions; f++) cg__write_recomputed_rows(c, f);
}

/* The namespace of the part's function, "ind_of_128::" if its tasks have fewer threads than a block. */
typedef struct cg__task_scope {
    char name[24];
} cg__task_scope;

static cg__task_scope cg__task_scope_of(const cg__combo *c, const cg__part *part) {
    cg__task_scope scope = {""};
    if (part->variant.threads < c->variant->threads)
        snprintf(scope.name, sizeof scope.name, "ind_of_%d::", part->variant.threads);
    return scope;
}

/* Writes "recomputed": what tasks of part i compute after their wait. */
static void cg__write_recomputed(cg__combo *c, uint32_t i) {
    const cg__part *part = c->part[i];
    ind__text *t = &c->text;
    if (!part->num_recomputed) return;
    ind__textf(t, "const unsigned short *const of = ind_recomputed_%u[ind_parts[at].row];\n", (unsigned)part->function);
    ind__textf(t, "const auto recomputed = [&]%s {\n",
               part->variant.of.tile.loads_first ? "(const ind_new_rows &store_row)" : "");
    t->indent++;
    for (uint32_t k = part->num_recomputed; k > 0; k--) {
        const cg__part *before = c->part[i - k];
        const unsigned f = before->function, number = part->num_recomputed - k;
        const unsigned last = (unsigned)part->variant.threads / 32 - 1; /* the first warps have the queries */
        ind__textf(t, before->one_warp ? "if (threadIdx.x / 32 == %u) {\n" : "{\n", last - number);
        t->indent++;
        ind__textf(t, "const ind_row_%u &row = rows.part_%u[of[%u]];\n", f, f, number);
        ind__textf(t, "ind_part_%u({0, 0, 0}%s", f, before->hands_rows ? ", store_row" : "");
        cg__each_arg(c, before, cg__row_argument);
        ind__textf(t, ");\n");
        t->indent--;
        ind__textf(t, "}\n");
    }
    t->indent--;
    ind__textf(t, "};\n");
}

/* The first part with tasks that run the function; num_parts: none. */
static uint32_t cg__first_with_tasks(const cg__combo *c, uint32_t function) {
    uint32_t i = 0;
    while (i < c->num_parts && (c->part[i]->function != function || c->part[i]->recomputed)) i++;
    return i;
}

/* Writes the branch of the tasks that run the function. */
static void cg__write_task_call(cg__combo *c, uint32_t function) {
    const uint32_t first = cg__first_with_tasks(c, function);
    if (first == c->num_parts) return;
    const cg__part *part = c->part[first];
    const cg__task_scope scope = cg__task_scope_of(c, part);
    ind__text *t = &c->text;
    ind__textf(t, "case %u: {\n", (unsigned)function);
    t->indent++;
    if (*scope.name) ind__textf(t, "if (threadIdx.x >= %d) break;\n", part->variant.threads);
    ind__textf(t, "const %sind_row_%u &row = rows.part_%u[ind_parts[at].row];\n", scope.name, (unsigned)function,
               (unsigned)function);
    cg__write_recomputed(c, first);
    ind__textf(t, "const unsigned at = ind_task().number - (unsigned)row.first;\n");
    cg__write_block_index(t, scope.name, cg__num_axes(&part->variant), function);
    if (part->num_recomputed) ind__textf(t, ", recomputed");
    cg__each_arg(c, part, cg__row_argument);
    ind__textf(t, ");\nbreak;\n");
    t->indent--;
    ind__textf(t, "}\n");
}

static void cg__write_task_table(cg__combo *c) {
    ind__text *t = &c->text;
    uint32_t num;
    ind__textf(t, "struct ind_rows {\n");
    for (uint32_t f = 0; f < c->num_functions; f++) {
        const cg__part *part = cg__first_part(c, f, &num);
        ind__textf(t, "    %sind_row_%u part_%u[%u];\n", cg__task_scope_of(c, part).name, (unsigned)f, (unsigned)f,
                   (unsigned)num);
    }
    ind__textf(t, "    ind_step step[%u];\n    long long num_tasks;\n    unsigned *counters;\n%s};\n\n",
               (unsigned)cg__num_steps(c), cg__watchdog(c) ? "    unsigned long long *error;\n" : "");
}

static void cg__write_task_kernel(cg__combo *c) {
    ind__text *t = &c->text;
    const ind__variant *v = c->variant;
    ind__textf(t,
               "extern \"C\" __global__ void __launch_bounds__(%d, %d) %s(const __grid_constant__ ind_rows rows) {\n",
               v->threads, v->blocks_per_sm, v->source.entry);
    if (v->dependent) ind__textf(t, "%s", IND__CG_DEPENDENCY_CALL);
    t->indent++;
    ind__textf(t, "ind_counters *const counters = reinterpret_cast<ind_counters *>(rows.counters);\n");
    ind__textf(t, "const unsigned num = (unsigned)rows.num_tasks;\n");
    ind__textf(t, "unsigned at = 0, next = ind_add_once(&counters->taken);\n#pragma unroll 1\n");
    ind__textf(t, "while (ind_take_task(counters, rows.step, ind_parts, num, at, next)) {\n");
    t->indent++;
    ind__textf(t, "switch (ind_parts[at].function) {\n");
    for (uint32_t f = 0; f < c->num_functions; f++) cg__write_task_call(c, f);
    ind__textf(t, "}\nind_finish_task(counters);\n");
    t->indent--;
    ind__textf(t, "}\nind_end_tasks(counters%s);\n", cg__watchdog(c) ? ", rows.error" : "");
    t->indent--;
    ind__textf(t, "}\n");
}

/* Writes the functions of tasks with so many threads, and the prelude functions that they call. In their text the wait
   for the previous launch is that for the tasks before the phase, and __syncthreads the barrier of the task's threads.
   `but`: prelude functions that are outside. */
static void cg__write_task_functions(cg__combo *c, int threads, ind__prelude_set prelude, const ind__prelude_set *but) {
    ind__text *t = &c->text;
    const bool all = threads == c->variant->threads;
    uint32_t num;
    for (uint32_t i = 0; i < c->num_parts; i++)
        if (c->part[i]->variant.threads == threads) cg__add_prelude_set(&prelude, &c->part[i]->prelude);
    for (size_t i = 0; i < sizeof but->word / sizeof *but->word; i++) prelude.word[i] &= ~but->word[i];
    if (!all) ind__textf(t, "namespace ind_of_%d {\n#define __syncthreads() ind_barrier_of<%d>()\n", threads, threads);
    ind__textf(t, "#define ind_dependency_wait() ind_task_wait<%d>()\n\n", all ? 0 : threads);
    cg__write_prelude(t, &prelude);
    for (uint32_t f = 0; f < c->num_functions; f++) {
        const cg__part *part = cg__first_part(c, f, &num);
        if (part->variant.threads != threads) continue;
        const bool recomputes =
            part->num_recomputed && !part->variant.of.tile.loads_first; /* else its code says when */
        if (recomputes)
            ind__textf(t, "#undef ind_dependency_wait\n#define ind_dependency_wait() ind_task_wait<0>(recomputed)\n\n");
        cg__write_function(c, f);
        if (recomputes)
            ind__textf(t, "#undef ind_dependency_wait\n#define ind_dependency_wait() ind_task_wait<0>()\n\n");
    }
    ind__textf(t, "#undef ind_dependency_wait\n");
    ind__textf(t, all ? "\n" : "#undef __syncthreads\n} // namespace\n\n");
}

static void cg__write_tasks(cg__combo *c) {
    ind__text *t = &c->text;
    ind__prelude_set first = {0}, own = {0}, none = {0};
    cg__add_prelude(&first, IND__CG_TASKS);
    if (c->variant->dependent) cg__add_prelude(&first, IND__CG_DEPENDENCY);
    ind__textf(t, "#define IND_INLINE __device__ __forceinline__\n\n");
    if (cg__watchdog(c)) ind__textf(t, "#define IND_TASK_LIMIT %u000000ull\n\n", (unsigned)cg__watchdog(c));
    cg__write_prelude(t, &first);
    ind__textf(t, "// Index of a block in its kernel.\nstruct ind_block {\n    unsigned x, y, z;\n};\n\n");
    for (int threads = 32; threads < c->variant->threads; threads += 32)
        for (uint32_t i = 0; i < c->num_parts; i++) {
            if (c->part[i]->variant.threads != threads) continue;
            cg__write_task_functions(c, threads, none, &first);
            break;
        }
    for (uint32_t i = 0; i < c->num_parts; i++)
        if (cg__num_axes(&c->part[i]->variant) > 1) cg__add_prelude(&own, IND__CG_QUOTIENT);
    cg__write_task_functions(c, c->variant->threads, own, &first);
    cg__write_task_table(c);
    cg__write_task_parts(c);
    cg__write_task_kernel(c);
}

/* Bytes of shared memory that the functions declare. */
static int cg__task_static_shared(const cg__combo *c) {
    int bytes = 64; /* ind_task_state, the flags of last blocks */
    uint32_t num;
    for (uint32_t f = 0; f < c->num_functions; f++) bytes += cg__first_part(c, f, &num)->variant.memory.static_shared;
    return bytes;
}

/* Adds the guard that the phases are small: at other sizes than the hints they may not be. False: they never are. */
static bool cg__guard_tasks(const cg__tasks *x, ind__variant *v, ind_expr tasks) {
    const int64_t most = (int64_t)x->plan->target.thresholds.task_blocks * x->plan->target.num_sms * x->num_phases;
    return cg__guard(v, ind_expr_le(tasks, ind_int(tasks.context, most)));
}

/* Plans the parts as one variant of the first kernel. *able: it fits. */
static ind_status cg__plan_tasks_variant(cg__tasks *x, ind__variant *v, bool *able) {
    ind_plan *p = x->plan;
    cg__combo c = {.plan = p, .num_parts = x->num_parts, .variant = v, .text = {.context = p->context}};
    ind__text why = {.context = p->context};
    c.part = (cg__part **)ind__arena_alloc(&x->memory, x->num_parts * sizeof *c.part);
    if (!c.part) return ind__failed(p->context);
    for (uint32_t i = 0; i < x->num_parts; i++) c.part[i] = &x->part[i];
    cg__merge_properties(&c, IND_STRATEGY_PERSISTENT);
    v->of.tasks = (ind__tasks_plan){.num_kernels = x->next - x->first, .num_phases = x->num_phases};
    const int fixed = cg__task_static_shared(&c);
    *able = fixed <= IND__CG_STATIC_SHARED;
    if (!*able) return IND_OK;
    v->blocks_per_sm = cg__task_blocks(x, v, fixed);
    ind_status status = cg__fill_task_args(&c, &x->memory);
    *able = !status && cg__guard_tasks(x, v, c.blocks);
    if (!cg__has_guard(v)) v->guard_aligned = true; /* else the other variants would never run */
    const int blocks = v->blocks_per_sm * p->target.num_sms;
    v->grid[0] = ind_expr_min(ind_int(p->context, blocks), c.blocks);
    snprintf(v->source.entry, sizeof v->source.entry, "ind_k_persistent_%.48s", x->part[0].of->name);
    if (!status) cg__write_tasks(&c);
    ind__textf(&why, "%u kernels of %u launches, %u device functions; blocks take their tasks in order",
               (unsigned)x->num_parts, (unsigned)x->num_phases, (unsigned)c.num_functions);
    v->why = cg__copy_text(&p->arena, &why);
    v->source.text = cg__copy_text(&p->arena, &c.text);
    v->source.bytes = c.text.size;
    v->arg = (ind__kernel_arg *)ind__arena_copy(&p->arena, c.arg, c.num_args * sizeof *c.arg);
    v->num_args = c.num_args;
    const bool ok = !status && !c.failed && v->why && v->source.text && v->arg && ind__ok(v->grid[0]);
    ind__text_free(&why);
    ind__text_free(&c.text);
    ind__free(p->context, c.arg);
    return ok ? IND_OK : ind__failed(p->context);
}

/* Plans the launches from kernel k on that can be one. *next: the first kernel that is not part of it. */
static ind_status cg__plan_tasks_from(cg__tasks *x, uint32_t k, uint32_t *next) {
    ind_plan *p = x->plan;
    ind_status status = IND_OK;
    const char *why = NULL;
    bool able = true;
    *x = (cg__tasks){.plan = p, .memory = x->memory, .part = x->part, .first = k, .next = k};
    while (x->next < p->num_kernels && !status) {
        uint32_t after;
        status = cg__plan_phase(x, x->next, &after, &why);
        if (status || why) break;
        x->next = after;
    }
    if (why) p->kernel[x->next].no_task = why;
    *next = x->next > k ? x->next : cg__task_launch_end(p, k);
    ind_kernel_plan *kp = &p->kernel[k];
    if (status || x->num_phases < 2 || kp->num_variants >= IND_MAX_VARIANTS) return status;
    ind__variant v;
    status = cg__level_tasks(x);
    if (!status) status = cg__find_recomputed(x);
    if (!status) status = cg__plan_tasks_variant(x, &v, &able);
    return status || !able ? status : cg__prepend_variants(p, kp, &v, 1);
}

/* Adds the variants of persistent launches. */
static ind_status cg__plan_persistent(ind_plan *p) {
    cg__tasks x = {.plan = p, .memory = {.context = p->context}};
    x.part = (cg__part *)ind__arena_alloc(&x.memory, (p->num_kernels + 1) * sizeof *x.part);
    ind_status status = x.part ? IND_OK : ind__failed(p->context);
    for (uint32_t k = 0, next; k < p->num_kernels && !status; k = next) status = cg__plan_tasks_from(&x, k, &next);
    ind__arena_free(&x.memory);
    return status;
}
