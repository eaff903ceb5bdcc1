/* -------------------------------------------------------------------------------------------------- >>page */

/* The page of ind_module_page. Its data are one JSON object in a script element that is not executed. The page inserts
   them only as text, so names and functions of the user cannot inject code. */

static void graph__page_lines(ind__text *t, const char *const *line) {
    for (; *line; line++) ind__text_raw(t, *line, strlen(*line));
}

static void graph__page_formula(ind__text *t, const char *key, ind_expr e) {
    t->failed |= !ind__ok(e);
    ind__textf(t, "\"%s\": \"", key);
    ind__text_expr(t, e);
    ind__textf(t, "\",\n");
}

/* Prints the kernels and variants that have a source: [[0, 0], [3, 0]]. */
static void graph__page_users(ind__text *t, const ind_plan *plan, const ind__source_users *u, uint32_t source) {
    const char *before = "\"used_by\": [";
    for (uint32_t at = u->source[source].first; at; at = u->user[at].next) {
        const uint32_t i = u->user[at].kernel;
        for (int v = 0; v < plan->kernel[i].num_variants; v++) {
            if (u->number[u->first_variant[i] + (uint32_t)v] != source) continue;
            ind__textf(t, "%s[%u, %d]", before, (unsigned)i, v);
            before = ", ";
        }
    }
    ind__textf(t, "]");
}

static void graph__page_sources(ind__text *t, const ind_plan *plan) {
    ind__source_users u;
    t->failed |= !ind__source_users_init(&u, plan);
    ind__textf(t, "\"sources\": [");
    for (uint32_t i = 0; i < u.num_sources && !t->failed; i++) {
        ind__textf(t, "%s\n{", i ? "," : "");
        graph__page_users(t, plan, &u, i);
        ind__textf(t, ", \"text\": ");
        ind__text_json(t, plan->kernel[u.source[i].kernel].variant[u.source[i].variant].source.text);
        ind__textf(t, "}");
    }
    ind__textf(t, "],\n");
    ind__source_users_free(&u);
}

/* Prints the initial values of the page, the sizes that follow from others by a fact, and the upper bounds of
   data-dependent sizes. */
static void graph__page_sizes(ind__text *t, ind_module *m, const int64_t *value) {
    const char *before = "";
    ind__textf(t, "\"start\": {");
    for (uint32_t i = 0; i < m->desc.num_sizes; i++)
        ind__textf(t, "%s\"%s\": %lld", i ? ", " : "", ind_module_query_size(m, (int)i)->name, (long long)value[i]);
    ind__textf(t, "},\n\"most\": {");
    for (uint32_t u = 0; u < m->desc.lowered->num_unbacked; u++) {
        const ind__unbacked *size = &m->desc.lowered->unbacked[u];
        ind__textf(t, "%s\"%s\": \"", u ? ", " : "", ind_expr_symbol(size->symbol)->name);
        ind__text_expr(t, size->most);
        ind__textf(t, "\"");
    }
    ind__textf(t, "},\n\"follows\": {");
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        ind_expr e = ind_module_size_formula(m, (int)i);
        if (!ind__ok(e)) continue;
        ind__textf(t, "%s\"%s\": \"", before, ind_module_query_size(m, (int)i)->name);
        ind__text_expr(t, e);
        ind__textf(t, "\"");
        before = ", ";
    }
    ind__textf(t, "},\n");
}

/* Prints the text of a stage of the module itself, without that of its prepared constants. */
static ind_status graph__page_stage(ind__text *t, ind_module *m, const char *key, ind_stage stage) {
    ind__text text = {.context = m->context};
    ind_status status = ind__print_stage(&text, m, stage);
    if (!status) status = ind__text_status(&text);
    if (!status) {
        ind__textf(t, "\"%s\": ", key);
        ind__text_json(t, text.data ? text.data : "");
        ind__textf(t, ",\n");
    }
    ind__text_free(&text);
    return status;
}

/* Prints the texts of the steps of lowering. Kernels that cannot become graphs leave the reason. */
static ind_status graph__page_stages(ind__text *t, ind_module *m) {
    ind_status status = graph__page_stage(t, m, "loops", IND_STAGE_LOOPS);
    if (!status) status = graph__page_stage(t, m, "schedule_text", IND_STAGE_SCHEDULE);
    if (!status) status = graph__page_stage(t, m, "plan_text", IND_STAGE_PLAN);
    if (status) return status;
    status = graph__page_stage(t, m, "kernels_text", IND_STAGE_KERNELS);
    if (status && status != IND_ERROR_NOT_SUPPORTED) return status;
    if (status) ind__textf(t, "\"kernels_text\": \"\",\n");
    ind__textf(t, "\"no_kernels\": ");
    ind__text_json(t, status ? ind_error(m->context) : "");
    ind__textf(t, ",\n\"kernel_of_loop\": [");
    for (uint32_t l = 0; l < m->desc.lowered->num_loops; l++)
        ind__textf(t, l ? ", %d" : "%d", (int)m->desc.schedule->kernel_of[l]);
    ind__textf(t, "],\n");
    return IND_OK;
}

/* Prints measured times by kernel, in ns: 0 for kernels that another one launches. */
static ind_status graph__page_times(ind__text *t, const ind_module *m, const ind_page_desc *desc) {
    const uint32_t *launch = m->desc.schedule->launch;
    int num = 0;
    if (!desc->times) {
        ind__textf(t, "\"measured\": null,\n");
        return IND_OK;
    }
    ind__textf(t, "\"measured\": {\"device\": ");
    ind__text_json(t, ind_device_text(m->context));
    ind__textf(t, ", \"total\": %.0f, \"launches\": [", desc->total_ms * 1e6);
    for (uint32_t k = 0; k < m->desc.schedule->num_kernels; k++) {
        const bool first = launch[k] == k;
        ind__textf(t, k ? ", %.0f" : "%.0f", first && num < desc->num_times ? desc->times[num].ms * 1e6 : 0.0);
        num += first;
    }
    ind__textf(t, "]},\n");
    if (num == desc->num_times) return IND_OK;
    return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "html: %d times are given, the module has %d launches",
                     desc->num_times, num);
}

static ind_status graph__page_sass(ind__text *t, const ind_module *m, const ind_page_desc *desc) {
    const int sources = desc->sass ? ind__num_sources(m->desc.plan) : 0, num = desc->sass ? desc->num_sass : 0;
    ind__textf(t, "\"sass\": [");
    for (int i = 0; i < sources && i < num; i++) {
        ind__textf(t, i ? ",\n" : "\n");
        ind__text_json(t, desc->sass[i] ? desc->sass[i] : "");
    }
    ind__textf(t, "],\n");
    if (num >= sources) return IND_OK;
    return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                     "html: %d texts of SASS are given, the plan has %d sources", num, sources);
}

/* Prints all data of the page as one JSON object. */
static ind_status graph__page_data(ind__text *t, ind_module *m, const ind_page_desc *desc, const int64_t *value) {
    const char *graph = ind_module_text(m, IND_STAGE_GRAPH), *schedule = ind_module_json(m, IND_STAGE_SCHEDULE),
               *plan = ind_module_json(m, IND_STAGE_PLAN), *passes = ind_module_json(m, IND_STAGE_PASSES);
    if (!graph || !schedule || !plan || !passes) return ind__failed(m->context);
    ind__textf(t, "{\"name\": ");
    ind__text_json(t, m->desc.name);
    ind__textf(t, ",\n\"graph\": ");
    ind__text_json(t, graph);
    ind__textf(t, ",\n");
    graph__page_sizes(t, m, value);
    graph__page_formula(t, "bytes_read", ind_module_bytes_read(m));
    graph__page_formula(t, "bytes_written", ind_module_bytes_written(m));
    graph__page_formula(t, "flops", ind_module_flops(m));
    graph__page_sources(t, m->desc.plan);
    ind_status status = graph__page_stages(t, m);
    if (!status) status = graph__page_times(t, m, desc);
    if (!status) status = graph__page_sass(t, m, desc);
    if (status) return status;
    ind__textf(t, "\"passes\": %s, \"schedule\": %s, \"plan\": %s}", passes, schedule, plan);
    return ind__text_status(t);
}

/* Prints JSON within HTML. Every < is inside a string, where an escape can replace it, so the data cannot close the
   element. */
static void graph__page_json(ind__text *t, const char *json) {
    for (size_t n; *json; json += n) {
        n = strcspn(json, "<");
        if (n) ind__text_raw(t, json, n);
        if (json[n] == '<') ind__textf(t, "\\u003c"), n++;
    }
}

static ind_status graph__print_page(ind__text *t, ind_module *m, const ind_page_desc *desc, const int64_t *value) {
    static const char *const *const script[] = {
        graph__page_formulas, graph__page_graph,   graph__page_kernels, graph__page_tables, graph__page_fold,
        graph__page_layout,   graph__page_drawing, graph__page_steps,   graph__page_select,
    };
    ind__text data = {.context = m->context};
    ind_status status = graph__page_data(&data, m, desc, value);
    if (!status) {
        ind__textf(t, "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>Kernels of a graph</title>\n");
        graph__page_lines(t, graph__page_head);
        graph__page_lines(t, graph__page_style);
        graph__page_lines(t, graph__page_body);
        ind__textf(t, "<script type='application/json' id='data'>");
        graph__page_json(t, data.data);
        ind__textf(t, "</script>\n<script>\n");
        for (size_t i = 0; i < sizeof script / sizeof *script; i++) graph__page_lines(t, script[i]);
        ind__textf(t, "</script></html>\n");
        status = ind__text_status(t);
    }
    ind__text_free(&data);
    return status;
}

/* Computes the values of all sizes: the given ones; the others by facts on the given ones and the hints. */
static ind_status graph__page_start(ind_module *m, const char *sizes, int64_t *value) {
    ind_status status = ind__module_given_sizes(m, "html", sizes, value);
    ind__text all = {.context = m->context};
    for (uint32_t i = 0; i < m->desc.num_sizes && !status; i++) {
        const ind_symbol *s = ind_module_query_size(m, (int)i);
        if (value[i] == IND__SIZE_UNSET && ind__ok(ind_module_size_formula(m, (int)i))) continue;
        int64_t at = value[i] == IND__SIZE_UNSET ? s->hint : value[i];
        ind__textf(&all, "%s=%lld, ", s->name, (long long)at);
    }
    if (!status) status = ind__text_status(&all);
    if (!status) status = ind__module_sizes(m, "html", all.data ? all.data : "", value);
    ind__text_free(&all);
    return status;
}

const char *ind_module_page(ind_module *module, const ind_page_desc *desc) {
    const ind_page_desc none = {0};
    if (!module) return NULL;
    if (!desc) desc = &none;
    ind_context *c = module->context;
    int64_t *value = ind__alloc(c, (module->desc.num_sizes + (size_t)1) * sizeof *value);
    if (!value) return NULL;
    const ind__query q = ind__query_begin(module);
    ind__text t = {.context = c};
    ind_status status = graph__page_start(module, desc->sizes, value);
    if (!status) status = graph__print_page(&t, module, desc, value);
    if (!status) status = ind__refused_since(c, q.refusals);
    if (status) {
        ind__text_free(&t);
    } else {
        ind__free(c, module->html);
        module->html = t.data;
    }
    ind__free(c, value);
    return ind__query_end(&q, status) ? NULL : t.data;
}

const char *ind_module_html(ind_module *module, const char *sizes) {
    const ind_page_desc desc = {.sizes = sizes};
    return ind_module_page(module, &desc);
}
