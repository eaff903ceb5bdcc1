/* ---- patterns of a context: registered by the user, and built in */

static const ind__pattern *pattern__registered(const ind_context *c) {
    ind__lists_lock(c->root);
    const ind__pattern *newest = c->root->patterns;
    ind__lists_unlock(c->root);
    return newest;
}

/* Appends the patterns of g, whose memory is the context's, to those registered. */
static ind_status pattern__register_all(ind_context *c, const ind_graph *g) {
    const ind__pattern *newest = pattern__registered(c), *oldest = g->patterns;
    for (const ind__pattern *a = g->patterns; a; a = a->next) {
        oldest = a;
        for (const ind__pattern *b = newest; b; b = b->next)
            if (!strcmp(a->name, b->name))
                return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "pattern %s is already registered", a->name);
    }
    if (!oldest) return IND_OK;
    ((ind__pattern *)oldest)->next = newest;
    ind__lists_lock(c->root);
    c->root->patterns = g->patterns;
    ind__lists_unlock(c->root);
    return IND_OK;
}

/* Reads all patterns of a text to a new graph, which owns their memory; NULL on failure. */
static ind_graph *pattern__parse_all(ind_context *c, const char *text, const char *file) {
    const uint32_t refusals = ind__refusals(c);
    ind__parser p = {.text = text, .at = text, .g = ind_graph_create(c, "patterns")};
    if (!p.g) return NULL;
    for (ind__skip_lines(&p); !p.status && *p.at; ind__skip_lines(&p)) {
        const char *begin = p.at;
        if (ind__take_word(&p, "pattern"))
            ind__parse_pattern(&p, begin);
        else
            ind__expected(&p, "\"pattern\"");
    }
    if (p.status) ind__report_position(c, &p, file);
    if (!p.status && !ind__graph_refused(p.g, refusals, "pattern")) return p.g;
    ind_graph_destroy(p.g);
    return NULL;
}

ind_status ind_pattern_register(ind_context *context, const char *text) {
    if (!context) return IND_ERROR_INVALID_ARGUMENT;
    if (!text) return ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "pattern: the text is NULL");
    ind__lock(context);
    ind_graph *g = pattern__parse_all(context, text, "<pattern>");
    ind_status status = g ? pattern__register_all(context, g) : ind__failed(context);
    if (status) ind_graph_destroy(g);
    ind__unlock(context);
    return status;
}

/* Returns the built-in patterns, which the first call parses; NULL: out of memory. */
static const ind__pattern *pattern__builtin(ind_context *c) {
    ind__lock(c->root);
    if (!c->root->builtin_patterns) {
        ind__text text = {.context = c->root};
        const char *const *const files[] = {graph__builtin_patterns_text, graph__convolution_patterns_text,
                                            graph__product_patterns_text, graph__written_patterns_text};
        for (int f = 0; f < 4; f++)
            for (const char *const *line = files[f]; *line; line++) ind__text_raw(&text, *line, strlen(*line));
        ind_graph *g = text.failed ? NULL : pattern__parse_all(c->root, text.data, "<built-in patterns>");
        c->root->builtin_patterns = g ? g->patterns : NULL;
        ind__text_free(&text);
    }
    const ind__pattern *newest = c->root->builtin_patterns;
    ind__unlock(c->root);
    return newest;
}

/* True if the name is one of these, which spaces separate. */
static bool pattern__listed(const char *names, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = names; at && *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strcspn(at, " ") == length && !memcmp(at, name, length)) return true;
    }
    return false;
}

/* True for the name of a pattern or a pass. */
static bool pattern__known(const ind__pattern *const lists[3], const char *name, size_t length) {
    static const char *const passes[] = {
#define X(id, text) text,
        IND_PASSES(X)
#undef X
    };
    for (int p = 0; p < IND_NUM_PASSES; p++)
        if (ind__same_name(passes[p], strlen(passes[p]), name, length)) return true;
    for (int l = 0; l < 3; l++)
        for (const ind__pattern *p = lists[l]; p; p = p->next)
            if (ind__same_name(p->name, strlen(p->name), name, length)) return true;
    return false;
}

/* Fails if one of the names is no pattern and no pass. */
static ind_status pattern__check_names(ind_context *c, const ind__pattern *const lists[3], const char *names) {
    for (const char *at = names; at && *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        const int length = (int)strcspn(at, " ");
        if (length && !pattern__known(lists, at, (size_t)length))
            return ind__fail(c, IND_ERROR_NOT_FOUND, "compile: there is no pattern %.*s", length > 100 ? 100 : length,
                             at);
    }
    return IND_OK;
}
