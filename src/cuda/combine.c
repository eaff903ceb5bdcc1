/* ------------------------------------------------------------------------------------------------- >>combine */

/* One launch for several kernels. Each kernel becomes a function of the source, called its part; parts with the same
   text share one function. The launch's only parameter is a table with a row per kernel: its arguments and its range of
   blocks. A block finds its row by its index. So the source of a loop over many tensors does not grow with their
   number. */

#define IND__CG_COMBO_WORDS 512 /* words of 8 bytes: 4 KiB of parameters, which every launch may have */

/* A kernel planned as a part of a launch. */
typedef struct cg__part {
    uint32_t kernel;
    const ind_kernel *of;
    ind__variant variant; /* without a source */
    const char *why_not;  /* why the kernel cannot be a part; NULL: it can */
    const char *params;   /* of its function, after the block index */
    const char *code;     /* of its function */
    const char *outside;  /* text before it: ind_wgmma_tile */
    ind__prelude_set prelude;
    bool barrier;            /* all threads of the block must reach its barriers */
    bool narrow;             /* few enough threads that other parts have enough registers */
    uint32_t function, row;  /* row: of the function's table */
    bool task;               /* of a persistent launch .. */
    ind__row_range range;    /* .. as for the variants of a kernel .. */
    uint32_t phase;          /* .. whose tasks start when those of all earlier phases have finished */
    uint32_t num_recomputed; /* parts directly before it that each of its tasks computes after its wait .. */
    bool recomputed;         /* .. this is one of them, and has no tasks .. */
    bool one_warp;           /* .. one warp computes it .. */
    bool hands_rows; /* .. and its results are for tiles of keys and values, too: templates/attention/new_rows.c */
} cg__part;

static char *cg__copy_text(ind__arena *arena, const ind__text *t) {
    return t->failed ? NULL : ind__arena_string(arena, t->data ? t->data : "", t->size);
}

/* Replaces blockIdx by the parameter `block` in the code of a part. */
static void cg__part_code(ind__text *t, const char *code) {
    static const char whole[] = "blockIdx.";
    for (const char *at; (at = strstr(code, whole)) != NULL; code = at + sizeof whole - 1) {
        ind__text_raw(t, code, (size_t)(at - code));
        ind__text_raw(t, "block.", 6);
    }
    ind__text_raw(t, code, strlen(code));
}

/* Upper bound in bytes of the shared arrays that the part's code declares: tiles, states of reductions and scans. */
static int cg__part_shared(const ind__writer *w) {
    const ind__variant *v = w->variant;
    int bytes = 0;
    for (uint32_t i = 1; v->strategy == IND_STRATEGY_TRANSPOSE && i < w->body->num_inst; i++)
        if (w->plan->resident[i] == IND__CG_THROUGH_TILE)
            bytes += (v->of.tile.m + 4) * v->of.tile.m * ind_dtype_bytes(cg__memory_dtype(w, i));
    if (v->strategy == IND_STRATEGY_COLUMN) bytes = v->threads * cg__state_bytes(w);
    if (v->strategy == IND_STRATEGY_COLUMN_SPLIT) bytes = v->threads * v->vector * cg__state_bytes(w) + 16;
    if (v->strategy == IND_STRATEGY_ROW_SPLIT) bytes = v->threads / 32 * cg__state_bytes(w) + 16;
    if (v->strategy == IND_STRATEGY_ROW_BLOCK || v->strategy == IND_STRATEGY_ROW_LOOPED)
        bytes = v->threads / 32 * cg__state_bytes(w);
    if (cg__scans_team(w)) bytes = 2 * v->threads * v->vector * 4 * cg__scan_states(w);
    if (w->plan->matmul && w->plan->matmul->a.statistics) bytes = (int)cg__mm_statistic_bytes(w, w->plan->matmul);
    if (v->strategy == IND_STRATEGY_SCAN_BLOCK)
        bytes = v->threads / 32 * (cg__state_bytes(w) + 2 * 4 * cg__scan_states(w));
    return bytes;
}

/* True for a product with packed weights: its variants for few rows are in a separate launch. */
static bool cg__has_packed_weights(const ind__writer *w) {
    const cg__mm_problem *p = w->plan->matmul;
    return p && p->packed && !p->packed->no;
}

/* Saves the texts of a part; corresponds to cg__assemble. */
static ind_status cg__copy_part_texts(ind__writer *w, cg__part *part) {
    ind__text params = {.context = w->context}, code = params, outside = params;
    cg__write_template_functions(w, &outside);
    ind_status status = cg__push_other_args(w);
    params.indent = 1;
    cg__write_params(w, &params);
    if (w->code.size) cg__part_code(&code, w->code.data);
    part->variant = *w->variant;
    part->variant.memory.static_shared = cg__part_shared(w);
    part->prelude = w->prelude;
    part->why_not = w->calls.num                 ? "it calls a function of the user"
                    : ind__ok(w->plan->lookback) ? "its blocks wait for one another"
                    : !part->task && cg__has_packed_weights(w)
                        ? "a product with packed weights has variants by its number of rows"
                        : NULL;
    part->params = cg__copy_text(w->arena, &params);
    part->code = cg__copy_text(w->arena, &code);
    part->outside = cg__copy_text(w->arena, &outside);
    bool in_prelude = w->variant->strategy == IND_STRATEGY_SCAN_BLOCK || cg__scans_team(w) ||
                      cg__sorts_rows(w); /* their barriers are in prelude functions */
    part->narrow = w->variant->threads <= w->target->thresholds.combo_threads;
    part->barrier = part->code && (in_prelude || strstr(part->code, "__syncthreads()"));
    part->variant.arg = (ind__kernel_arg *)ind__arena_copy(w->arena, w->args.arg, w->args.num * sizeof *w->args.arg);
    part->variant.num_args = w->args.num;
    ind__text_free(&params);
    ind__text_free(&code);
    ind__text_free(&outside);
    bool ok = !status && !w->failed && part->params && part->code && part->outside && part->variant.arg;
    return ok ? IND_OK : ind__failed(w->context);
}

/* State while the source of a launch's variant is written. */
typedef struct cg__combo {
    ind_plan *plan;
    cg__part **part;
    uint32_t num_parts, num_functions;
    ind__variant *variant;
    ind__text text;
    ind__kernel_arg *arg;
    uint32_t num_args, cap_args;
    ind_expr blocks; /* of the parts so far */
    bool failed;
} cg__combo;

/* Axes of the part's own grid that can have more than one block; the block's index along them is computed. */
static int cg__num_axes(const ind__variant *v) {
    int64_t blocks;
    int axes = 3;
    while (axes > 1 && ind_expr_is_int(v->grid[axes - 1], &blocks) && blocks == 1) axes--;
    return axes;
}

/* 8-byte words in the part's row: arguments, blocks along all axes but the last with their reciprocals, and the range
   of its blocks. */
static uint32_t cg__row_words(const ind__variant *v) {
    return v->num_args + 2 * (uint32_t)(cg__num_axes(v) - 1) + 2;
}

static bool cg__same_part(const cg__part *a, const cg__part *b) {
    return a->variant.threads == b->variant.threads && cg__num_axes(&a->variant) == cg__num_axes(&b->variant) &&
           a->variant.num_args == b->variant.num_args && !strcmp(a->params, b->params) && !strcmp(a->code, b->code);
}

/* True if the tasks of parts number a and b compute the same functions after their wait. */
static bool cg__recompute_same(const cg__combo *x, uint32_t a, uint32_t b) {
    const uint32_t num = x->part[a]->num_recomputed;
    bool same = x->part[b]->num_recomputed == num;
    for (uint32_t k = 1; k <= num && same; k++) same = x->part[a - k]->function == x->part[b - k]->function;
    return same;
}

/* Numbers the functions; equal parts share one. */
static void cg__number_functions(cg__combo *x) {
    x->num_functions = 0;
    for (uint32_t i = 0; i < x->num_parts; i++) {
        uint32_t same = 0;
        while (same < i && !(cg__same_part(x->part[same], x->part[i]) && cg__recompute_same(x, same, i))) same++;
        x->part[i]->function = same < i ? x->part[same]->function : x->num_functions++;
        x->part[i]->row = 0;
        for (uint32_t k = 0; k < i; k++) x->part[i]->row += x->part[k]->function == x->part[i]->function;
    }
}

static void cg__combo_arg(cg__combo *x, ind__kernel_arg a) {
    ind__kernel_arg *to = IND__PUSH(x->plan->context, ind__kernel_arg, x->arg, x->num_args, x->cap_args);
    x->failed |= !to || (a.kind == IND__ARG_SIZE && !ind__ok(a.size));
    a.wide = true;
    if (to) *to = a;
}

/* Fills a part's row of arguments, in the order of cg__write_function. `first`: its first block. Its counters and
   partial results follow those of the parts before it. */
static void cg__fill_row(cg__combo *x, const cg__part *part, ind_expr first) {
    const ind__variant *v = &part->variant;
    const ind_expr end = ind_expr_add(first, ind_expr_product(x->plan->context, v->grid, 3));
    for (uint32_t i = 0; i < v->num_args; i++) {
        ind__kernel_arg a = v->arg[i];
        a.part = part->kernel - x->part[0]->kernel;
        if (a.kind == IND__ARG_COUNTERS) a.offset = (int64_t)x->variant->memory.num_counters * 4;
        if (a.kind == IND__ARG_PARTIALS) a.offset = x->variant->memory.partial_bytes;
        cg__combo_arg(x, a);
    }
    x->variant->memory.num_counters += (v->memory.num_counters + 1) / 2 * 2; /* 8-byte words may follow */
    x->variant->memory.partial_bytes += v->memory.partial_bytes;
    for (int d = 0; d + 1 < cg__num_axes(v); d++) {
        static const char *const meaning[] = {"blocks along x: ", "blocks along y: "};
        cg__combo_arg(x, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = v->grid[d], .meaning = meaning[d]});
        cg__combo_arg(x, cg__reciprocal(v->grid[d]));
    }
    cg__combo_arg(x, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = first, .meaning = "first block: "});
    cg__combo_arg(x,
                  (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = end, .meaning = "first block of the next part: "});
    x->blocks = end;
}

/* Calls visit with the name of each argument of the part. */
static void cg__each_arg(cg__combo *x, const cg__part *part,
                         void (*visit)(cg__combo *, const ind__kernel_arg *, const char *)) {
    const ind__variant *v = &part->variant;
    const ind_kernel *k = part->of;
    uint32_t number[2] = {0, 0};
    char name[24];
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        if (a->kind == IND__ARG_BUFFER)
            snprintf(name, sizeof name, i < k->num_reads ? "in%u" : "out%u", i < k->num_reads ? i : i - k->num_reads);
        else if (a->kind == IND__ARG_SIZE)
            snprintf(name, sizeof name, a->reciprocal ? "m%u" : "n%u", number[a->reciprocal]++);
        visit(x, a, a->kind == IND__ARG_BUFFER || a->kind == IND__ARG_SIZE ? name : cg__memory_args[a->kind].name);
    }
}

static void cg__row_member(cg__combo *x, const ind__kernel_arg *a, const char *name) {
    const char *type = a->reciprocal ? "unsigned long long " : "long long ";
    if (a->kind == IND__ARG_BUFFER)
        ind__textf(&x->text, "%s *", cg__types[x->plan->schedule->program->buffer[a->buffer].dtype].memory);
    else
        ind__textf(&x->text, "%s", a->kind == IND__ARG_SIZE ? type : cg__memory_args[a->kind].type);
    ind__textf(&x->text, "%s;\n", name);
}

static void cg__row_argument(cg__combo *x, const ind__kernel_arg *a, const char *name) {
    (void)a;
    ind__textf(&x->text, ", row.%s", name);
}

/* The first part with this function, and the number of parts that have it. */
static const cg__part *cg__first_part(const cg__combo *x, uint32_t function, uint32_t *num) {
    const cg__part *first = NULL;
    *num = 0;
    for (uint32_t i = x->num_parts; i-- > 0;)
        if (x->part[i]->function == function) first = x->part[i], ++*num;
    return first;
}

/* Writes the function and the struct of its table rows: members of 8 bytes each. */
static void cg__write_function(cg__combo *x, uint32_t function) {
    uint32_t num;
    const cg__part *part = cg__first_part(x, function, &num);
    ind__text *t = &x->text;
    ind__textf(t, "// %s\n", ind__strategy_text(part->variant.strategy));
    if (part->num_recomputed) ind__textf(t, "template <class RECOMPUTED> ");
    ind__textf(t, "static __device__ void ind_part_%u(const ind_block block,\n", (unsigned)function);
    if (part->num_recomputed) ind__textf(t, "    const RECOMPUTED &recomputed,\n");
    if (part->hands_rows) ind__textf(t, "    const ind_new_rows &store_row,\n");
    ind__text_raw(t, part->params, strlen(part->params));
    ind__text_raw(t, part->code, strlen(part->code));
    ind__textf(t, "}\n\nstruct ind_row_%u {\n", (unsigned)function);
    t->indent++;
    cg__each_arg(x, part, cg__row_member);
    for (int d = 0; d + 1 < cg__num_axes(&part->variant); d++)
        ind__textf(t, "long long %c;\nunsigned long long m%c;\n", "xy"[d], "xy"[d]);
    ind__textf(t, "long long first, end;\n");
    t->indent--;
    ind__textf(t, "};\n\n");
}

/* Begins the call with the block's index in the grid of its part, computed from its linear index `at`. `scope`: before
   the names of the part's function and row. */
static void cg__write_block_index(ind__text *t, const char *scope, int axes, uint32_t function) {
    static const char *const index[] = {"at", "at - line * (unsigned)row.x, line",
                                        "at - line * (unsigned)row.x, line - z * (unsigned)row.y, z"};
    if (axes > 1) ind__textf(t, "const unsigned line = ind_quotient(at, row.mx);\n");
    if (axes > 2) ind__textf(t, "const unsigned z = ind_quotient(line, row.my);\n");
    ind__textf(t, "%sind_part_%u({%s%s}", scope, (unsigned)function, index[axes - 1],
               axes == 1   ? ", 0, 0"
               : axes == 2 ? ", 0"
                           : "");
}

/* Writes the branch of the blocks that run the function, and their index in the part's own grid. */
static void cg__write_dispatch(cg__combo *x, uint32_t function) {
    uint32_t num;
    const cg__part *part = cg__first_part(x, function, &num);
    ind__text *t = &x->text;
    ind__textf(t, "if (block < (unsigned)rows.part_%u[%u].end) {\n", (unsigned)function, (unsigned)num - 1);
    t->indent++;
    if (part->variant.threads < x->variant->threads)
        ind__textf(t, "if (threadIdx.x >= %d) return;\n", part->variant.threads);
    if (num == 1)
        ind__textf(t, "const ind_row_%u &row = rows.part_%u[0];\n", (unsigned)function, (unsigned)function);
    else
        ind__textf(t, "const ind_row_%u &row = rows.part_%u[ind_row_of(rows.part_%u, %u, block)];\n",
                   (unsigned)function, (unsigned)function, (unsigned)function, (unsigned)num);
    ind__textf(t, "const unsigned at = block - (unsigned)row.first;\n");
    cg__write_block_index(t, "", cg__num_axes(&part->variant), function);
    cg__each_arg(x, part, cg__row_argument);
    ind__textf(t, ");\nreturn;\n");
    t->indent--;
    ind__textf(t, "}\n");
}

static void cg__write_table(cg__combo *x) {
    ind__text *t = &x->text;
    uint32_t num;
    ind__textf(t, "struct ind_rows {\n");
    for (uint32_t f = 0; f < x->num_functions; f++) {
        cg__first_part(x, f, &num);
        ind__textf(t, "    ind_row_%u part_%u[%u];\n", (unsigned)f, (unsigned)f, (unsigned)num);
    }
    ind__textf(
        t, "};\n\nextern \"C\" __global__ void __launch_bounds__(%d, %d) %s(const __grid_constant__ ind_rows rows) {\n",
        x->variant->threads, x->variant->blocks_per_sm ? x->variant->blocks_per_sm : 1, x->variant->source.entry);
    if (x->variant->dependent) ind__textf(t, "%s", IND__CG_DEPENDENCY_CALL);
    t->indent++;
    ind__textf(t, "const unsigned block = blockIdx.x;\n");
    for (uint32_t f = 0; f < x->num_functions; f++) cg__write_dispatch(x, f);
    t->indent--;
    ind__textf(t, "}\n");
}

static const char cg__row_of[] =
    "// The table row of a block: the first row whose `end` is greater.\n"
    "template <typename T> static IND_INLINE int ind_row_of(const T *row, int num, unsigned block) {\n"
    "    int low = 0;\n"
    "    for (int high = num - 1; low < high;) {\n"
    "        const int middle = (low + high) / 2;\n"
    "        if (block < (unsigned)row[middle].end) high = middle;\n"
    "        else low = middle + 1;\n"
    "    }\n"
    "    return low;\n"
    "}\n\n";

static void cg__write_combo(cg__combo *x) {
    ind__text *t = &x->text;
    ind__prelude_set prelude = {0};
    if (x->variant->dependent) cg__add_prelude(&prelude, IND__CG_DEPENDENCY);
    for (uint32_t i = 0; i < x->num_parts; i++) {
        cg__add_prelude_set(&prelude, &x->part[i]->prelude);
        if (cg__num_axes(&x->part[i]->variant) > 1) cg__add_prelude(&prelude, IND__CG_QUOTIENT);
    }
    ind__textf(t, "#define IND_INLINE __device__ __forceinline__\n\n");
    cg__write_prelude(t, &prelude);
    ind__text_raw(t, x->part[0]->outside, strlen(x->part[0]->outside));
    ind__textf(t, "// Index of a block in its kernel.\nstruct ind_block {\n    unsigned x, y, z;\n};\n\n");
    if (x->num_functions < x->num_parts) ind__text_raw(t, cg__row_of, sizeof cg__row_of - 1);
    for (uint32_t f = 0; f < x->num_functions; f++) cg__write_function(x, f);
    cg__write_table(x);
}

/* Combines the properties of all parts into the variant, except arguments and grid. */
static void cg__merge_properties(cg__combo *x, ind_strategy strategy) {
    ind_context *c = x->plan->context;
    ind__variant *v = x->variant;
    *v = (ind__variant){.strategy = strategy, .index_bits = 32, .vector = 1, .rows = 1, .per_thread = 1};
    v->dependent = cg__launches_dependent(x->plan) ? IND__LAUNCH_WAITS : IND__LAUNCH_ORDERED;
    v->memory.shared = x->blocks = ind_int(c, 0);
    v->grid[1] = v->grid[2] = ind_int(c, 1);
    v->blocks_per_sm = x->part[0]->variant.blocks_per_sm;
    for (uint32_t i = 0; i < x->num_parts; i++) {
        const ind__variant *p = &x->part[i]->variant;
        if (p->threads > v->threads) v->threads = p->threads;
        if (p->index_bits > v->index_bits) v->index_bits = p->index_bits;
        if (p->blocks_per_sm != v->blocks_per_sm) v->blocks_per_sm = 0;
        v->guard_aligned |= p->guard_aligned;
        v->memory.shared = ind_expr_max(v->memory.shared, p->memory.shared);
        for (int g = 0; g < cg__num_conditions(p->guard); g++) cg__guard(v, cg__condition(p->guard, g));
    }
    cg__number_functions(x);
}

/* Combines all parts into the variant. Table rows are ordered by function. */
static void cg__merge_parts(cg__combo *x) {
    cg__merge_properties(x, IND_STRATEGY_COMBO);
    for (uint32_t f = 0; f < x->num_functions; f++)
        for (uint32_t i = 0; i < x->num_parts; i++)
            if (x->part[i]->function == f) cg__fill_row(x, x->part[i], x->blocks);
    x->variant->grid[0] = x->blocks;
}

/* Plans the parts as one variant of the first part's kernel. */
static ind_status cg__plan_combo_variant(ind_plan *p, cg__part **part, uint32_t num, ind__variant *v) {
    cg__combo x = {.plan = p, .part = part, .num_parts = num, .variant = v, .text = {.context = p->context}};
    ind__text why = {.context = p->context};
    cg__merge_parts(&x);
    snprintf(v->source.entry, sizeof v->source.entry, "ind_k_combo_%.50s", p->schedule->kernel[part[0]->kernel].name);
    cg__write_combo(&x);
    ind__textf(&why, "%u independent kernels, %u device %s", (unsigned)num, (unsigned)x.num_functions,
               x.num_functions == 1 ? "function" : "functions");
    v->why = cg__copy_text(&p->arena, &why);
    v->source.text = cg__copy_text(&p->arena, &x.text);
    v->source.bytes = x.text.size;
    v->arg = (ind__kernel_arg *)ind__arena_copy(&p->arena, x.arg, x.num_args * sizeof *x.arg);
    v->num_args = x.num_args;
    bool ok = !x.failed && v->why && v->source.text && v->arg && ind__ok(v->grid[0]) && ind__ok(v->memory.shared);
    ind__text_free(&why);
    ind__text_free(&x.text);
    ind__free(p->context, x.arg);
    return ok ? IND_OK : ind__failed(p->context);
}

/* ---- which parts share a launch */

#define IND__CG_ASSUME_PART (IND__ASSUME_ALIGNED | IND__ASSUME_DIVISIBLE)

/* Like cg__plan_variant, for a part. */
static ind_status cg__plan_part(ind_plan *p, cg__part *part, int assume, int threads) {
    const ind_kernel *k = part->of;
    for (int attempt = 0; attempt < 2; attempt++) {
        cg__decider d;
        ind__writer w = {0};
        ind__variant v = {.assume = assume,
                          .vector = assume ? 8 : 1,
                          .range = part->range,
                          .dependent = part->task ? IND__LAUNCH_WAITS : IND__LAUNCH_ORDERED};
        ind_status status = cg__init_decider(&d, p, k, &v, assume);
        d.force_wide = attempt == 1, d.part_threads = threads, d.loads_first = part->num_recomputed > 0;
        if (part->task) d.max_cluster = 1;
        if (!status) d.plan->part = part->task ? IND__PART_OF_PERSISTENT : IND__PART_OF_LAUNCH;
        if (!status) status = cg__decide(&d);
        if (!status) status = cg__write_body(&w, p, &d);
        bool fits = status || cg__sizes_fit(&d, &w);
        if (!status && fits) status = cg__copy_part_texts(&w, part);
        cg__free(&w);
        cg__free(&d.w);
        if (status || fits) return status;
    }
    return ind__fail(p->context, IND_ERROR_VERIFY, "kernel %s: sizes do not fit into 64 bits", k->name);
}

/* Two forms of each kernel of a launch: a fast one, which may have guards, and a general one without guards. */
typedef struct cg__parts {
    cg__part *fast, *general;
    uint32_t num;
    uint8_t *done;
    cg__part **chosen, **chosen_general;
    uint32_t num_chosen;
} cg__parts;

static bool cg__is_product(const cg__part *part) {
    return ind__strategy_row_of(part->variant.strategy)->family == IND__FAMILY_MATMUL;
}

/* True if the part fits a launch with `first` and so many threads. A part with barriers needs exactly its own number; a
   pointwise part takes any number. */
static bool cg__suits(const cg__part *first, int threads, const cg__part *part) {
    if (part->why_not || cg__is_product(first) != cg__is_product(part)) return false;
    if (cg__is_product(first))
        return part->variant.threads == threads && part->variant.strategy == first->variant.strategy &&
               !strcmp(first->outside, part->outside);
    if (part->barrier) return part->variant.threads == threads && part->narrow;
    return part->variant.strategy == IND_STRATEGY_POINTWISE || part->variant.threads <= threads;
}

/* Threads of a launch with part i: the number that suits most parts from i on. */
static int cg__combo_threads(const cg__part *part, const uint8_t *done, uint32_t i, uint32_t num) {
    int best = part[i].variant.threads;
    uint32_t most = 0;
    for (uint32_t k = i; k < num; k++) {
        const int threads = part[k].variant.threads;
        uint32_t count = 0;
        if (done[k] || !cg__suits(&part[i], threads, &part[k]) || !cg__suits(&part[i], threads, &part[i])) continue;
        for (uint32_t j = i; j < num; j++) count += !done[j] && cg__suits(&part[i], threads, &part[j]);
        if (count > most) best = threads, most = count;
    }
    return best;
}

/* True if the shared memory and arguments of the chosen parts and one more fit a launch. */
static bool cg__combo_fits(cg__parts *x, const cg__part *more, bool general) {
    cg__part **chosen = general ? x->chosen_general : x->chosen;
    int64_t bytes = more->variant.memory.static_shared;
    uint32_t words = cg__row_words(&more->variant);
    for (uint32_t i = 0; i < x->num_chosen; i++) {
        bytes += chosen[i]->variant.memory.static_shared, words += cg__row_words(&chosen[i]->variant);
        if (cg__same_part(chosen[i], more)) bytes -= more->variant.memory.static_shared;
    }
    return bytes <= IND__CG_STATIC_SHARED && words <= IND__CG_COMBO_WORDS;
}

/* Chooses the parts from `first` on that share its launch; none if `first` itself does not fit. */
static void cg__choose_parts(cg__parts *x, uint32_t first) {
    int fast = cg__combo_threads(x->fast, x->done, first, x->num);
    int general = cg__combo_threads(x->general, x->done, first, x->num);
    x->num_chosen = 0;
    for (uint32_t i = first; i < x->num; i++) {
        if (x->done[i] || !cg__suits(&x->fast[first], fast, &x->fast[i]) ||
            !cg__suits(&x->general[first], general, &x->general[i]) || !cg__combo_fits(x, &x->fast[i], false) ||
            !cg__combo_fits(x, &x->general[i], true)) {
            if (i == first) return;
            continue;
        }
        x->done[i] = 1;
        x->chosen[x->num_chosen] = &x->fast[i];
        x->chosen_general[x->num_chosen++] = &x->general[i];
    }
}

/* Plans pointwise parts again with the number of threads of the other parts. */
static ind_status cg__level_threads(ind_plan *p, cg__part **part, uint32_t num, int assume) {
    int threads = 0;
    for (uint32_t i = 0; i < num; i++)
        if (part[i]->variant.threads > threads &&
            (part[i]->barrier || part[i]->variant.strategy != IND_STRATEGY_POINTWISE))
            threads = part[i]->variant.threads;
    for (uint32_t i = 0; i < num && threads; i++) {
        if (part[i]->variant.strategy != IND_STRATEGY_POINTWISE || part[i]->variant.threads == threads) continue;
        ind_status status = cg__plan_part(p, part[i], assume, threads);
        if (status) return status;
    }
    return IND_OK;
}

/* Plans the chosen kernels as one launch, the launch of the first of them. */
static ind_status cg__plan_chosen(ind_plan *p, cg__parts *x) {
    const uint32_t first = x->chosen[0]->kernel;
    ind_kernel_plan *kp = &p->kernel[first];
    bool guarded = false;
    if (x->num_chosen == 1) return cg__plan_kernel(p, kp->kernel, kp);
    for (uint32_t i = 0; i < x->num_chosen; i++) guarded |= cg__has_guard(&x->chosen[i]->variant);
    ind_status status = cg__level_threads(p, x->chosen, x->num_chosen, IND__CG_ASSUME_PART);
    kp->variant = (ind__variant *)ind__arena_alloc(&p->arena, 2 * sizeof *kp->variant);
    if (!kp->variant) return IND_ERROR_OUT_OF_MEMORY;
    if (!status) status = cg__plan_combo_variant(p, x->chosen, x->num_chosen, &kp->variant[0]);
    kp->num_variants = guarded ? 2 : 1;
    if (!status && guarded) status = cg__level_threads(p, x->chosen_general, x->num_chosen, IND__ASSUME_NOTHING);
    if (!status && guarded) status = cg__plan_combo_variant(p, x->chosen_general, x->num_chosen, &kp->variant[1]);
    for (uint32_t i = 0; i < x->num_chosen && !status; i++) {
        ind_kernel_plan *part = &p->kernel[x->chosen[i]->kernel];
        part->first = first, part->num_parts = i ? 0 : x->num_chosen;
        part->part = (ind__variant *)ind__arena_copy(&p->arena, &x->chosen[i]->variant, sizeof *part->part);
        if (!part->part) status = ind__failed(p->context);
    }
    return status;
}

static ind_status cg__plan_parts(ind_plan *p, cg__parts *x, uint32_t first) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < x->num && !status; i++) {
        x->fast[i].kernel = x->general[i].kernel = first + i;
        x->fast[i].of = x->general[i].of = p->kernel[first + i].kernel;
        status = cg__plan_part(p, &x->fast[i], IND__CG_ASSUME_PART, 0);
        if (status) break;
        if (cg__has_guard(&x->fast[i].variant))
            status = cg__plan_part(p, &x->general[i], IND__ASSUME_NOTHING, 0);
        else
            x->general[i] = x->fast[i];
    }
    for (uint32_t i = 0; i < x->num && !status; i++) {
        if (x->done[i]) continue;
        cg__choose_parts(x, i);
        if (!x->done[i]) { /* fits no launch as a part: planned alone */
            p->kernel[first + i].alone = x->fast[i].why_not;
            x->chosen[0] = &x->fast[i];
            x->done[i] = 1, x->num_chosen = 1;
        }
        status = cg__plan_chosen(p, x);
    }
    return status;
}

/* Plans the kernels of a launch of the schedule: one launch, or several if their numbers of threads differ or they
   exceed the shared memory or parameters of one launch. */
static ind_status cg__plan_launch(ind_plan *p, uint32_t first, uint32_t num) {
    if (num == 1) return cg__plan_kernel(p, p->kernel[first].kernel, &p->kernel[first]);
    ind__arena memory = {.context = p->context};
    cg__parts x = {.num = num};
    x.fast = (cg__part *)ind__arena_alloc(&memory, num * sizeof *x.fast);
    x.general = (cg__part *)ind__arena_alloc(&memory, num * sizeof *x.general);
    x.chosen = (cg__part **)ind__arena_alloc(&memory, num * sizeof *x.chosen);
    x.chosen_general = (cg__part **)ind__arena_alloc(&memory, num * sizeof *x.chosen_general);
    x.done = (uint8_t *)ind__arena_alloc(&memory, num);
    bool ok = x.fast && x.general && x.chosen && x.chosen_general && x.done;
    ind_status status = ok ? cg__plan_parts(p, &x, first) : ind__failed(p->context);
    ind__arena_free(&memory);
    return status;
}
