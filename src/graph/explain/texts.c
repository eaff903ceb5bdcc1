/* ---- texts, created on first use and owned by the module */

static ind_status ind__print_stage(ind__text *t, ind_module *m, ind_stage stage) {
    const bool tasks = stage == IND_STAGE_SCHEDULE && m->desc.lowered->options.persistent && m->desc.plan;
    ind_status status = stage >= IND_STAGE_PLAN ? ind__need_plan(m) : IND_OK;
    if (status) return status;
    switch (stage) {
    case IND_STAGE_LOOPS: ind__lowered_print(t, m->desc.lowered, ind__module_origin, ind__module_result, m); break;
    case IND_STAGE_SCHEDULE: ind__schedule_print(t, m->desc.schedule, ind__module_origin, ind__module_result, m); break;
    case IND_STAGE_KERNELS: return ind__print_kernels(t, m);
    case IND_STAGE_PLAN: ind__plan_print(t, m->desc.plan, ind__module_origin, ind__module_result, m); break;
    case IND_STAGE_CUDA: ind__plan_print_source(t, m->desc.plan, ind__module_origin, ind__module_result, m); break;
    case IND_STAGE_PTX: return ind__print_ptx(t, m);
    case IND_STAGE_CUBIN: return ind__print_cubins(t, m);
    default: break;
    }
    if (tasks) ind__plan_print_tasks(t, m->desc.plan);
    if (stage == IND_STAGE_SCHEDULE || stage == IND_STAGE_PLAN) ind__print_validity(t, m, stage == IND_STAGE_PLAN);
    return IND_OK;
}

/* Prints the stage of the prepare module, in a section of its own: before the kernels as graphs, whose order is that of
   execution, else last. */
static ind_status ind__print_prepare(ind__text *t, ind_module *m, ind_stage stage, bool first) {
    ind_module *prepare = ind_module_prepare_module(m);
    if (!prepare || stage < IND_STAGE_LOOPS || first != (stage == IND_STAGE_KERNELS)) return IND_OK;
    const char *text = ind_module_text(prepare, stage);
    if (!text) return ind__failed(m->context);
    const bool code = stage == IND_STAGE_CUDA || stage == IND_STAGE_PTX;
    ind__textf(t, "%sprepared constants: %d, ", code ? "// " : first ? "# " : "", m->desc.stats.num_prepared);
    ind__text_expr(t, ind_module_prepared_bytes(m));
    ind__textf(t, " bytes, computed once\n%s%s", text, first ? "\n" : "");
    return IND_OK;
}

/* Adds the JSON of the prepare module as a further key of the object at the end of t. */
static ind_status ind__add_json_prepare(ind__text *t, ind_module *m, ind_stage stage) {
    ind_module *prepare = ind_module_prepare_module(m);
    if (!prepare) return IND_OK;
    const char *json = ind_module_json(prepare, stage);
    if (!json) return ind__failed(m->context);
    while (t->size && t->data[t->size - 1] != '}') t->size--;
    if (t->size) t->size--;
    ind__textf(t, ", \"prepared_bytes\": ");
    ind__text_expr(t, ind_module_prepared_bytes(m));
    ind__textf(t, ", \"prepare\": %s}\n", json);
    return IND_OK;
}

/* Stages without a JSON form return their text as one JSON string. */
static ind_status ind__print_stage_json(ind__text *t, ind_module *m, ind_stage stage) {
    ind_status status = stage == IND_STAGE_PLAN ? ind__need_plan(m) : IND_OK;
    if (status) return status;
    if (stage == IND_STAGE_SCHEDULE) {
        ind__schedule_print_json(t, m->desc.schedule, ind__module_origin, ind__module_result, m);
    } else if (stage == IND_STAGE_PLAN) {
        ind__plan_print_json(t, m->desc.plan);
    } else {
        const char *text = ind_module_text(m, stage);
        if (!text) return ind__failed(m->context);
        ind__textf(t, "{\"stage\": \"%s\", \"text\": ", ind__stage_names[stage]);
        ind__text_json(t, text);
        ind__textf(t, "}\n");
    }
    if (stage != IND_STAGE_SCHEDULE && stage != IND_STAGE_PLAN) return IND_OK;
    ind__add_json_validity(t, m);
    return ind__add_json_prepare(t, m, stage);
}

static const char *ind__stage_text(ind_module *m, ind_stage stage, bool json) {
    if (!m) return NULL;
    if ((unsigned)stage >= IND_NUM_STAGES) {
        ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "there is no stage %d", (int)stage);
        return NULL;
    }
    const ind__query q = ind__query_begin(m);
    char **cached = &m->stage_text[(int)stage + (json ? IND_NUM_STAGES : 0)];
    ind__text t = {.context = m->context};
    ind_status status = *cached || json ? IND_OK : ind__print_prepare(&t, m, stage, true);
    if (!status && !*cached) status = json ? ind__print_stage_json(&t, m, stage) : ind__print_stage(&t, m, stage);
    if (!status && !*cached && !json) status = ind__print_prepare(&t, m, stage, false);
    if (!status) status = ind__text_status(&t);
    if (!status) status = ind__refused_since(m->context, q.refusals);
    if (!status && t.data)
        *cached = t.data;
    else
        ind__text_free(&t);
    const char *text = status ? NULL : *cached ? *cached : "";
    (void)ind__query_end(&q, status);
    return text;
}

const char *ind_module_text(ind_module *module, ind_stage stage) {
    return ind__stage_text(module, stage, false);
}

const char *ind_module_json(ind_module *module, ind_stage stage) {
    return ind__stage_text(module, stage, true);
}

/* ---- edges */

int ind_module_num_edges(const ind_module *module) {
    return module ? (int)module->desc.schedule->num_edges : 0;
}

/* Returns name i in the order of ind_module.name. */
static char *ind__name_text(ind_module *m, size_t i) {
    const uint32_t loops = m->desc.lowered->num_loops;
    ind__text t = {.context = m->context};
    if (i > 2 * (size_t)loops) /* buffer 0 is unused */
        ind__schedule_print_tensor(&t, m->desc.schedule, (uint32_t)(i - 2 * (size_t)loops), ind__module_result, m);
    else if (i < 2 * (size_t)loops)
        ind__schedule_print_loop(&t, m->desc.schedule, (uint32_t)(i / 2),
                                 i % 2 ? ind__module_result : ind__module_origin, m);
    if (!ind__text_status(&t)) return t.data ? t.data : ind__alloc(m->context, 1);
    ind__text_free(&t);
    return NULL;
}

/* Creates the names of loops and buffers on first use. */
static ind_status ind__need_names(ind_module *m) {
    const size_t num = 2 * (size_t)m->desc.lowered->num_loops + m->desc.lowered->num_buffers;
    const ind__query q = ind__query_begin(m);
    char **name = m->name ? m->name : ind__alloc(m->context, (num + 1) * sizeof *name);
    bool ok = name != NULL;
    for (size_t i = 0; i < num && ok && !m->name; i++) ok = (name[i] = ind__name_text(m, i)) != NULL;
    ok = ok && !ind__refused_since(m->context, q.refusals);
    for (size_t i = 0; name && i < num && !ok; i++) ind__free(m->context, name[i]);
    if (ok)
        m->name = name, m->num_names = num;
    else
        ind__free(m->context, name);
    return ind__query_end(&q, ok ? IND_OK : ind__failed(m->context));
}

static const char *ind__buffer_tensor_name(const ind_module *m, uint32_t buffer) {
    return m->name[2 * (size_t)m->desc.lowered->num_loops + buffer];
}

ind_status ind_module_query_edge(ind_module *module, int index, ind_edge_info *info) {
    if (!module || !info) return IND_ERROR_INVALID_ARGUMENT;
    memset(info, 0, sizeof *info);
    const ind_schedule *s = module->desc.schedule;
    if (index < 0 || (uint32_t)index >= s->num_edges)
        return ind__fail(module->context, IND_ERROR_NOT_FOUND, "graph \"%s\" has no edge %d; it has %u",
                         module->desc.name, index, (unsigned)s->num_edges);
    ind_status status = ind__need_names(module);
    if (status) return status;
    const ind_edge *e = &s->edge[index];
    *info = (ind_edge_info){
        .from = module->name[2 * e->from],
        .to = module->name[2 * e->to],
        .from_results = module->name[2 * e->from + 1],
        .to_results = module->name[2 * e->to + 1],
        .from_kernel = (int)s->kernel_of[e->from],
        .to_kernel = (int)s->kernel_of[e->to],
        .buffer = s->program->buffer[e->buffer].name,
        .tensor = ind__buffer_tensor_name(module, e->buffer),
        .vertical = ind__edge_vertical(s, e),
        .fused = ind__fusion_reason_fused(e->reason),
        .reason = e->reason,
        .code = ind__fusion_reason_name(e->reason),
        .text = ind__fusion_reason_text(e->reason),
        .bytes = e->bytes,
    };
    return IND_OK;
}
