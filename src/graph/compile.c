/* ---------------------------------------------------------------------------------------------- >>pipeline */

/* The state of one compilation. */
typedef struct ind__compilation {
    ind_context *context; /* the context of the future module */
    ind_compile_desc desc;
    ind_device device;
    ind_target target;
    uint32_t refusals;        /* at the start */
    ind_graph *given;         /* the input graph, in the module's context */
    ind_graph *graph;         /* after the passes, without the prepared constants */
    ind_graph *prepare_graph; /* computes these; NULL: there are none */
    ind_module *prepare;      /* compiled from it */
    bool is_prepare;          /* compiles a prepare graph, whose passes have run */
    char *graph_text;         /* after the passes, with the prepared constants */
    ind__lowered *lowered;
    ind_schedule *schedule;
    ind_plan *plan;
    const char **origin_name; /* op name per graph node */
    const char **called_name; /* the op called: itself, or the composite that the node is a part of */
    const char **result_name; /* names of its results */
    ind__arena names;
    ind__pass_log log;
    ind_module_stats stats;
    double since; /* start of the current stage */
    ind_module *module;
} ind__compilation;

/* Adds the time since the last call to a stage's. */
static void ind__clock_stage(ind__compilation *k, double *ms) {
    double now = ind__now_ms();
    *ms += now - k->since;
    k->since = now;
}

/* Ends a stage. It fails if an allocation has failed, whatever the status: proofs and decisions made without that
   memory may be wrong. */
static ind_status ind__stage_end(const ind__compilation *k, ind_status status) {
    return status ? status : ind__refused_since(k->context, k->refusals);
}

/* Resolves device and target. A target without an architecture is the default one; other zero fields get defaults. */
static ind_status ind__compile_device(ind__compilation *k) {
    k->since = ind__now_ms();
    if (k->desc.emit_only) {
        k->device = IND_DEVICE_HOST;
        k->target = k->desc.target;
        ind__target_defaults(&k->target);
        return IND_OK;
    }
    ind_target found = {0};
    ind_status status = ind__device_resolve(k->context, k->desc.device, &k->device, &found);
    if (status) return status;
    k->target = found;
    ind__target_figures(&k->target, &k->desc.target.thresholds);
    if (k->desc.target.sm) k->target = k->desc.target;
    ind__target_defaults(&k->target);
    k->since = ind__now_ms(); /* opening the device is not part of a stage */
    return IND_OK;
}

/* Copies the graph to a context of its own. From then on, other threads may build in the user's context. */
static ind_status ind__compile_begin(ind__compilation *k, const ind_graph *g) {
    if (g->status) return ind__fail(g->context, g->status, "%s", g->error);
    if (g->outputs.num + g->in_place.num == 0)
        return ind__fail(g->context, IND_ERROR_INVALID_ARGUMENT, "graph %s has no output", g->name);
    k->context = ind__context_fork(g->context);
    k->given = k->context ? ind__graph_import(k->context, g) : NULL;
    if (!k->given) return ind__failed(g->context);
    (void)ind__graph_enter(k->given);
    ind_status status = ind__graph_verify(k->given);
    if (!status) status = ind__compile_device(k);
    return ind__stage_end(k, status);
}

/* Returns "y", or "values, indices"; "" for a number, which has no name. NULL if out of memory. */
static const char *ind__results_text(ind__compilation *k, const ind__node *n) {
    const ind__tensor_info *x = &k->graph->tensor[n->result];
    if (n->op == IND_OP_SCALAR || n->num_results == 0) return "";
    if (n->num_results == 1) return x->name;
    size_t total = 1;
    for (uint32_t r = 0; r < n->num_results; r++) total += strlen(x[r].name) + 2;
    char *text = ind__arena_alloc(&k->names, total), *at = text;
    for (uint32_t r = 0; text && r < n->num_results; r++)
        at += ind__format(at, total - (size_t)(at - text), "%s%s", r ? ", " : "", x[r].name);
    return text;
}

/* Records the user's names of each node: its op and its results. */
static ind_status ind__compile_names(ind__compilation *k) {
    const uint32_t nodes = k->graph->num_nodes;
    k->names.context = k->context;
    k->origin_name = (const char **)ind__arena_alloc(&k->names, nodes * sizeof *k->origin_name);
    k->called_name = (const char **)ind__arena_alloc(&k->names, nodes * sizeof *k->called_name);
    k->result_name = (const char **)ind__arena_alloc(&k->names, nodes * sizeof *k->result_name);
    if (!k->origin_name || !k->called_name || !k->result_name) return ind__failed(k->context);
    for (uint32_t i = 1; i < nodes; i++) {
        const ind__node *n = &k->graph->node[i];
        k->origin_name[i] = n->name ? n->name : ind__op_name(n->op);
        k->called_name[i] = n->composite ? n->composite : k->origin_name[i];
        if (!(k->result_name[i] = ind__results_text(k, n))) return ind__failed(k->context);
    }
    return IND_OK;
}

/* Names of passes in the list of patterns disable them, too. */
static void ind__disable_named_passes(ind_compile_desc *d) {
    for (int p = 0; p < IND_NUM_PASSES; p++)
        if (pattern__listed(d->disabled_patterns, graph__pass_name[p])) d->disabled_passes |= 1u << p;
}

/* True if what depends on constants alone is computed once. */
static bool ind__prepares(const ind__compilation *k) {
    return !k->is_prepare && !(k->desc.disabled_passes >> IND_PASS_PREPARE & 1) && k->desc.prepare.budget >= 0;
}

static bool ind__is_for_gpu(const ind__compilation *k) {
    return k->desc.emit_only || k->device == IND_DEVICE_CUDA;
}

static bool ind__uses_cublaslt(const ind__compilation *k) {
    return k->desc.cublaslt && ind__is_for_gpu(k);
}

static ind_status ind__compile_passes(ind__compilation *k) {
    if (ind__uses_cublaslt(k)) {
        const ind_status status = ind__cublaslt_register(k->context, !k->desc.emit_only);
        if (status) return status;
    }
    ind__disable_named_passes(&k->desc);
    k->log.context = k->log.arena.context = k->context;
    k->log.limit = k->desc.max_changes;
    ind_fusion_policy figures = k->desc.fusion;
    ind__target_fusion(&k->target, &figures);
    const ind__pass_options options = {.disabled = k->desc.disabled_passes,
                                       .enabled_patterns = k->desc.enabled_patterns,
                                       .disabled_patterns = k->desc.disabled_patterns,
                                       .builtin = pattern__builtin(k->context),
                                       .prepared = ind__prepares(k),
                                       .launch_bytes = (double)figures.launch_bytes,
                                       .product_pairs = !figures.disable && !figures.disable_product_pairs,
                                       .tensor_cores = ind__is_for_gpu(k),
                                       .channels_last = k->desc.realise.channels_last,
                                       .library = ind__uses_cublaslt(k),
                                       .batch_invariant = k->desc.batch_invariant,
                                       .allow_tf32 = k->desc.allow_tf32,
                                       .target = &k->target,
                                       .log = &k->log};
    if (!options.builtin) return ind__failed(k->context);
    ind_status status = ind__graph_optimise(k->given, &options, &k->graph);
    if (status) return status;
    ind__graph_take_facts(k->graph, k->given);
    ind_graph_destroy(k->given);
    k->given = NULL;
    status = k->graph->status;
    if (!status && ind__verifying(k->context)) status = ind__graph_verify(k->graph);
    return ind__stage_end(k, status);
}

/* Keeps the text of the whole graph, then moves what depends on constants alone to a graph of its own. */
static ind_status ind__compile_split(ind__compilation *k) {
    ind_graph *rest = NULL;
    if (!ind_graph_text(k->graph)) return ind__failed(k->context);
    k->graph_text = k->graph->text.data;
    memset(&k->graph->text, 0, sizeof k->graph->text);
    ind_status status = IND_OK;
    if (ind__prepares(k)) status = ind__graph_split(k->graph, &k->desc.prepare, &k->log, &k->prepare_graph, &rest);
    if (!status && rest) {
        ind__graph_take_facts(rest, k->graph);
        ind_graph_destroy(k->graph);
        k->graph = rest;
        status = rest->status;
        if (!status && ind__verifying(k->context)) status = ind__graph_verify(rest);
    }
    k->stats.num_changes = (int)k->log.changes;
    if (!status) status = ind__compile_names(k);
    return ind__stage_end(k, status);
}

/* Checks that the called functions exist on the device of the compile. */
static ind_status ind__check_callbacks(const ind__compilation *k) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; !status && i < k->lowered->num_loops; i++) {
        const ind_body *b = k->lowered->loop[i].body;
        if (k->device == IND_DEVICE_HOST)
            status = ind__body_needs_host(b);
        else if (b->call)
            status = ind__call_needs(k->context, b->call, IND_DEVICE_CUDA);
    }
    return status;
}

static ind_status ind__compile_lower(ind__compilation *k) {
    k->lowered = ind__alloc(k->context, sizeof *k->lowered);
    if (!k->lowered) return ind__failed(k->context);
    ind_realise_policy realise = k->desc.realise;
    if (!realise.channels_last) realise.channels_last = !ind__is_for_gpu(k) ? -1 : k->desc.allow_tf32;
    ind_status status = ind__graph_lower(k->graph, &realise, k->desc.deterministic, k->lowered);
    if (!status && ind__verifying(k->context)) status = ind__lowered_verify(k->lowered);
    if (!status && !k->desc.emit_only) status = ind__check_callbacks(k);
    ind__clock_stage(k, &k->stats.lower_ms);
    return ind__stage_end(k, status);
}

static const char *ind__compilation_origin(uint32_t node, void *user) {
    const ind__compilation *k = user;
    return node < k->graph->num_nodes ? k->origin_name[node] : NULL;
}

static ind_status ind__compile_schedule(ind__compilation *k) {
    const bool planned = k->device == IND_DEVICE_CUDA || k->desc.emit_only;
    if (planned) ind__target_fusion(&k->target, &k->desc.fusion);
    k->lowered->options = (ind__kernel_options){.batch_invariant = k->desc.batch_invariant,
                                                .allow_tf32 = k->desc.allow_tf32,
                                                .tcgen05 = k->desc.tcgen05,
                                                .persistent = k->desc.fusion.persistent,
                                                .watchdog_ms = k->desc.fusion.watchdog_ms};
    k->desc.fusion.disable_split |= k->desc.batch_invariant;
    k->desc.fusion.disable_row_prologues |= !planned; /* the host computes all points of a kernel */
    k->desc.fusion.disable_attention |= !planned;     /* the host stores scores */
    ind_status status = ind__split_reductions(k->lowered, &k->desc.fusion);
    if (!status && ind__verifying(k->context)) status = ind__lowered_verify(k->lowered);
    if (!status)
        status =
            ind__schedule_create(k->context, k->lowered, &k->desc.fusion, ind__compilation_origin, k, &k->schedule);
    if (!status) k->stats.num_fusions = (int)k->schedule->num_fusions;
    ind__clock_stage(k, &k->stats.schedule_ms);
    return ind__stage_end(k, status);
}

/* Creates the plan. The host device executes the schedule and has a plan only for emit_only. */
static ind_status ind__compile_plan(ind__compilation *k) {
    if (k->device != IND_DEVICE_CUDA && !k->desc.emit_only) return IND_OK;
    ind_status status = ind__plan_create(k->context, k->schedule, &k->target, &k->plan);
    if (!status && ind__verifying(k->context)) status = ind__plan_verify(k->plan);
    ind__clock_stage(k, &k->stats.emit_ms);
    return ind__stage_end(k, status);
}

/* Stores text and JSON of the passes in the module. */
static ind_status ind__keep_log(ind__compilation *k) {
    ind__text text = {.context = k->context}, json = {.context = k->context};
    ind__pass_log_print(&text, &k->log);
    ind__pass_log_json(&json, &k->log);
    k->module->stage_text[IND_STAGE_PASSES] = text.data;
    k->module->stage_text[IND_NUM_STAGES + IND_STAGE_PASSES] = json.data;
    return text.failed || json.failed ? ind__failed(k->context) : IND_OK;
}

/* Adds the times of the prepare module's stages, as the caller waits for both. */
static void ind__add_times(ind_module_stats *to, const ind_module_stats *part) {
    to->lower_ms += part->lower_ms;
    to->schedule_ms += part->schedule_ms;
    to->emit_ms += part->emit_ms;
    to->compile_ms += part->compile_ms;
    to->load_ms += part->load_ms;
    to->device_ms += part->device_ms;
    to->library_ms += part->library_ms;
}

/* Creates the module and stores the text of the graph. The module takes ownership of lowered, schedule and plan, even
   on failure, and of its context from here on. */
static ind_status ind__compile_module(ind__compilation *k) {
    ind__module_desc d = {
        .device = k->device,
        .lowered = k->lowered,
        .schedule = k->schedule,
        .plan = k->plan,
        .name = k->graph->name,
        .sizes = k->graph->sizes.symbol,
        .num_sizes = k->graph->sizes.num,
        .condition = k->graph->conditions.condition,
        .num_conditions = k->graph->conditions.num,
        .all_variants = k->desc.all_variants,
        .prepare = k->prepare,
        .origin_name = k->origin_name,
        .called_name = k->called_name,
        .result_name = k->result_name,
        .num_origins = k->graph->num_nodes,
        .stats = k->stats,
    };
    if (k->prepare) d.progress = k->prepare->desc.progress; /* it goes on */
    d.progress.call = k->desc.progress;
    k->lowered = NULL;
    k->prepare = NULL;
    k->schedule = NULL;
    k->plan = NULL;
    const ind_module_stats before = d.prepare ? d.prepare->desc.stats : (ind_module_stats){0};
    ind_status status = ind__module_create(k->context, &d, &k->module);
    if (status) return status;
    ind__add_times(&k->module->desc.stats, &before);
    k->module->stage_text[IND_STAGE_GRAPH] = k->graph_text;
    k->graph_text = NULL;
    return ind__keep_log(k);
}

/* Frees the state that the module did not take over; on failure, also the module. */
static ind_status ind__compile_end(ind__compilation *k, ind_status status) {
    if (!k->context) return status;
    ind__plan_free(k->plan);
    ind__schedule_free(k->schedule);
    if (k->lowered) ind__lowered_free(k->lowered);
    ind__free(k->context, k->lowered);
    ind__free(k->context, k->graph_text);
    ind_module_destroy(k->prepare);
    ind__arena_free(&k->names);
    if (k->log.context) ind__pass_log_free(&k->log);
    (void)ind_facts_enter(k->context, NULL);
    ind_graph_destroy(k->graph);
    ind_graph_destroy(k->given);
    ind_graph_destroy(k->prepare_graph);
    status = ind__stage_end(k, status);
    if (!status) return status;
    ind__device_settle(k->context);
    if (k->module)
        ind_module_destroy(k->module);
    else
        ind__context_leave(k->context);
    k->module = NULL;
    return status;
}

/* Lowers and compiles the graph after its passes. */
static ind_status ind__compile_stages(ind__compilation *k) {
    ind_status status = ind__compile_lower(k);
    if (!status) status = ind__compile_schedule(k);
    if (!status) status = ind__compile_plan(k);
    return status ? status : ind__compile_module(k);
}

/* Compiles the prepare graph to a module that belongs to the main one. */
static ind_status ind__compile_prepare(ind__compilation *k) {
    if (!k->prepare_graph) return IND_OK;
    ind__compilation p = {.refusals = k->refusals, .desc = k->desc, .is_prepare = true};
    p.desc.target = k->target;
    ind_status status = ind__compile_begin(&p, k->prepare_graph);
    p.log.context = p.log.arena.context = p.context;
    p.graph = p.given;
    p.given = NULL;
    if (!status) status = ind__compile_split(&p);
    if (!status) status = ind__compile_stages(&p);
    status = ind__compile_end(&p, status);
    k->prepare = p.module;
    if (k->prepare) ind__disown(k->context->root, &k->prepare->owned);
    k->since = ind__now_ms();
    return ind__stage_end(k, status);
}

ind_status ind_target_named(ind_context *context, const char *arch, ind_target *target) {
    if (!context) return IND_ERROR_INVALID_ARGUMENT;
    if (!arch || !target) return ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "target: arch or target is NULL");
    return ind__target_parse(context, arch, target);
}

static void ind__log_compile(const ind_module *m) {
    const ind_module_stats *s = &m->desc.stats;
    ind__log(
        m->context, 2, IND_LOG_COMPILE,
        "graph %s: %d kernels of %d sources, %d of them from a pack or an earlier module; ms: lower %.1f, schedule "
        "%.1f, emit %.1f, compile %.1f, load %.1f, device %.1f, NVRTC %.1f",
        m->desc.name, s->num_kernels, s->num_sources, s->num_from_pack, s->lower_ms, s->schedule_ms, s->emit_ms,
        s->compile_ms, s->load_ms, s->device_ms, s->library_ms);
}

/* Compiles a graph, one stage per line:

     ops on tensors      verify, passes, prepare  inductor.h
       |
     loops over elements lower                    inductor.h onto inductor_ir.h
       |
     schedule            deps, fusion, memory     inductor_sched.h
       |
     kernels             plan, CUDA C             inductor_codegen_cuda.h      (skipped for the host device)
       |
     module              NVRTC, load              inductor_runtime.h */
ind_status ind_compile(ind_graph *graph, const ind_compile_desc *desc, ind_module **module) {
    if (module) *module = NULL;
    if (!graph) return IND_ERROR_INVALID_ARGUMENT;
    if (!module) return ind__fail(graph->context, IND_ERROR_INVALID_ARGUMENT, "compile: module is NULL");
    ind__compilation k = {.refusals = ind__refusals(graph->context)};
    if (desc) k.desc = *desc;

    ind_status status = ind__compile_begin(&k, graph);
    if (!status) status = ind__compile_passes(&k);
    if (!status) status = ind__compile_split(&k);
    if (!status) status = ind__compile_prepare(&k); /* the stages below, for the prepared constants */
    if (!status) status = ind__compile_stages(&k);

    status = ind__compile_end(&k, status);
    if (!status) ind__log_compile(k.module);
    if (!status && k.desc.background_variants && !k.desc.all_variants) ind__module_start_ahead(k.module);
    *module = k.module;
    return status;
}
