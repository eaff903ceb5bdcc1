/* ---- statements */

static void ind__parse_pattern(ind__parser *p, const char *begin);

/* Returns the line of a position. It counts on from the last request, since statements come in order. */
static int ind__line_of(ind__parser *p, const char *at) {
    if (!p->counted || p->counted > at) {
        p->counted = p->text;
        p->lines = 1;
    }
    for (; p->counted < at; p->counted++) p->lines += *p->counted == '\n';
    return p->lines;
}

/* Turns a failure of the graph into one of the text, at the statement's position. */
static bool ind__check_graph(ind__parser *p, const char *at) {
    if (!p->g->status) return true;
    return ind__parse_error(p, at, p->g->status, "%s", p->g->error);
}

/* Returns the default hint of a size: 64, or the nearest value of its range. */
static int64_t ind__default_hint(const ind_symbol *s) {
    int64_t h = s->lo > 64 ? s->lo : s->hi < 64 ? s->hi : 64, m = s->multiple_of;
    int64_t down = h - h % m;
    return down >= s->lo || down > INT64_MAX - m ? down : down + m;
}

static bool ind__check_size_name(ind__parser *p, const char *at, const char *name) {
    if (strchr(name, '.'))
        return ind__parse_error(p, at, IND_ERROR_PARSE, "size \"%s\": no point is allowed in this name", name);
    if (!strcmp(name, "not") || !strcmp(name, "and") || !strcmp(name, "or"))
        return ind__parse_error(p, at, IND_ERROR_PARSE, "size \"%s\": this is an operator and cannot be a name", name);
    return true;
}

static bool ind__check_size(ind__parser *p, const char *at, ind_symbol *s, bool hinted) {
    if (!ind__check_size_name(p, at, s->name)) return false;
    if (s->lo < 0 || s->hi < s->lo) {
        return ind__parse_error(p, at, IND_ERROR_OUT_OF_RANGE, "size %s: the range [%lld, %lld] is %s", s->name,
                                (long long)s->lo, (long long)s->hi, s->lo < 0 ? "negative" : "empty");
    }
    if (s->multiple_of < 1)
        return ind__parse_error(p, at, IND_ERROR_OUT_OF_RANGE, "size %s: multiple_of must be at least 1", s->name);
    if (!hinted) s->hint = ind__default_hint(s);
    if (s->hint < s->lo || s->hint > s->hi || s->hint % s->multiple_of) {
        return ind__parse_error(p, at, IND_ERROR_OUT_OF_RANGE,
                                hinted ? "size %s: the hint %lld is not a multiple of %lld in [%lld, %lld]"
                                       : "size %s: %lld is not a multiple of %lld in [%lld, %lld]; there is none",
                                s->name, (long long)s->hint, (long long)s->multiple_of, (long long)s->lo,
                                (long long)s->hi);
    }
    return true;
}

/* name "device" "in" "[" expr "," expr "]" [ "hint" int ]: an input of this name, and a size with its value. */
static ind_expr ind__parse_device_size(ind__parser *p, const char *at, const char *name) {
    ind_expr bound[2], none = {p->g->context, 0};
    int64_t hint = -1;
    if (!ind__take_word(p, "in")) return ind__expected(p, "\"in\""), none;
    if (!ind__need(p, '[') || !ind__need_expr(p, &bound[0]) || !ind__need(p, ',') || !ind__need_expr(p, &bound[1]) ||
        !ind__need(p, ']'))
        return none;
    if (ind__take_word(p, "hint") && !ind__need_int(p, &hint)) return none;
    if (!ind__check_size_name(p, at, name)) return none;
    if (ind__ok(ind__find_size(p->g, name, strlen(name))))
        return ind__parse_error(p, at, IND_ERROR_INVALID_ARGUMENT, "size: %s is declared twice", name), none;
    ind_tensor x = ind__graph_source(p->g, IND_OP_INPUT, name, IND_I64, NULL, 0);
    if (!ind__check_graph(p, at)) return none;
    p->g->data_sizes.wanted_name = name;
    x = ind_arange_of_item(x, bound[0], bound[1], hint);
    p->g->data_sizes.wanted_name = NULL;
    if (!ind__check_graph(p, at)) return none;
    char own[IND__MAX_NAME + 8];
    snprintf(own, sizeof own, "%s.arange", name);
    if (strlen(own) <= IND__MAX_NAME && !ind__find_tensor(p->g, own, strlen(own))) ind__rename(p->g, x.id, own, true);
    return ind_tensor_size(x, 0);
}

/* size = name "in" "[" int "," int "]" [ "multiple_of" int ] [ "hint" int ] | name "device" .. */
static ind_expr ind__parse_size(ind__parser *p) {
    char name[IND__MAX_NAME + 1];
    ind_symbol s = {.kind = IND_SYMBOL_SIZE, .slot = (int)p->g->sizes.num, .name = name, .multiple_of = 1};
    ind_expr none = {p->g->context, 0};
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_new_name(p, "the name of a size", name)) return none;
    if (ind__take_word(p, "device")) return ind__parse_device_size(p, at, name);
    if (!ind__take_word(p, "in")) return ind__expected(p, "\"in\""), none;
    if (!ind__need(p, '[') || !ind__need_int(p, &s.lo) || !ind__need(p, ',') || !ind__need_int(p, &s.hi)) return none;
    if (!ind__need(p, ']')) return none;
    if (ind__take_word(p, "multiple_of") && !ind__need_int(p, &s.multiple_of)) return none;
    bool hinted = ind__take_word(p, "hint");
    if (hinted && !ind__need_int(p, &s.hint)) return none;
    if (p->status || !ind__check_size(p, at, &s, hinted)) return none;
    ind_expr e = ind_symbol_expr(p->g->context, &s);
    if (!ind__ok(e))
        ind__parse_error(p, at, ind_error_status(p->g->context), "size %s: %s", name, ind_error(p->g->context));
    if (ind__ok(e) && ind__graph_declare(p->g, e)) ind__check_graph(p, at);
    return p->status ? none : e;
}

/* Copies the source text on one line: messages quote it as written. */
static const char *ind__written(ind_graph *g, const char *from, const char *end) {
    char *text = ind__arena_alloc(&g->arena, (size_t)(end - from) + 1), *to = text;
    if (!text) return ind__graph_no_memory(g, "fact"), NULL;
    for (; from < end; from++) {
        if (*from == '#') from += strcspn(from, "\n");
        bool space = *from == ' ' || *from == '\t' || *from == '\r' || *from == '\n';
        if (!space) *to++ = *from;
        if (space && to > text && to[-1] != ' ') *to++ = ' ';
    }
    while (to > text && to[-1] == ' ') *--to = 0;
    return text;
}

/* fact = "fact" expr     guard = "guard" expr */
static void ind__parse_condition(ind__parser *p, bool guard, bool *holds) {
    ind_expr e;
    ind__skip(p);
    const char *at = p->at;
    ind_facts *before = ind_facts_enter(p->g->context, NULL);
    p->as_written = true;
    const char *text = ind__need_expr(p, &e) ? ind__written(p->g, at, p->at) : NULL;
    if (text) ind__add_condition(p->g, e, text, guard, holds);
    p->as_written = false;
    ind__graph_leave(p->g, before);
    if (!p->status) ind__check_graph(p, at);
}

static void ind__parse_source(ind__parser *p, ind_graph_op op) {
    char name[IND__MAX_NAME + 1];
    ind__type type;
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_new_name(p, "a name", name) || !ind__need(p, ':') || !ind__need_type(p, &type)) return;
    if (!ind__vacate_name(p->g, name)) ind__graph_no_memory(p->g, name);
    ind__graph_source(p->g, op, name, type.dtype, type.size, type.rank);
    ind__check_graph(p, at);
}

static uint32_t ind__need_tensor(ind__parser *p) {
    char name[IND__MAX_NAME + 1];
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_name(p, "the name of a tensor", name)) return 0;
    uint32_t id = ind__find_named(p->g, name);
    if (!id) ind__parse_error(p, at, IND_ERROR_PARSE, "there is no tensor \"%s\" above this line", name);
    return id;
}

/* output = "output" named { "," named }     named = name [ "=" name ] */
static void ind__parse_output(ind__parser *p) {
    char name[IND__MAX_NAME + 1];
    do {
        ind__skip(p);
        const char *at = p->at;
        if (!ind__need_new_name(p, "the name of an output", name)) return;
        ind__skip(p);
        uint32_t id = 0;
        if (ind__take(p, '=')) {
            ind__skip(p);
            at = p->at;
            id = ind__need_tensor(p);
        } else if (!(id = ind__find_named(p->g, name))) {
            ind__parse_error(p, at, IND_ERROR_PARSE, "there is no tensor \"%s\" above this line", name);
        }
        if (!id) return;
        ind_output(p->g, name, ind__graph_tensor(p->g, id));
        ind__check_graph(p, at);
    } while (ind__take(p, ','));
}

/* function = "function" signature "=" string */
static void ind__parse_function(ind__parser *p) {
    ind__skip(p);
    const char *at = p->at;
    size_t n = strcspn(at, "=\"\n{}#");
    const char *signature = ind__arena_string(&p->g->arena, at, n);
    if (!signature) {
        ind__parse_error(p, at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
        return;
    }
    p->at = at + n;
    const char *code = ind__need(p, '=') ? ind__need_text(p) : NULL;
    if (!code) return;
    if (!code[strspn(code, " \t\n")]) {
        ind__parse_error(p, at, IND_ERROR_PARSE, "the function's text is empty");
        return;
    }
    const ind__function *f = ind__function_declare(p->g->context, signature, code);
    if (!f) {
        ind_status s = ind_error_status(p->g->context);
        ind__parse_error(p, at, s ? s : IND_ERROR_PARSE, "%s", ind_error(p->g->context));
        return;
    }
    ind__graph_add_function(p->g, f);
    ind__check_graph(p, at);
}

/* mutate = "mutate" name "=" name */
static void ind__parse_mutate(ind__parser *p) {
    ind__skip(p);
    const char *at = p->at;
    uint32_t input = ind__need_tensor(p), value = 0;
    if (input && ind__need(p, '=')) value = ind__need_tensor(p);
    if (!value) return;
    ind_mutate(ind__graph_tensor(p->g, input), ind__graph_tensor(p->g, value));
    ind__check_graph(p, at);
}

/* donate = "donate" name */
static void ind__parse_donate(ind__parser *p) {
    ind__skip(p);
    const char *at = p->at;
    uint32_t input = ind__need_tensor(p);
    if (!input) return;
    ind_donate(ind__graph_tensor(p->g, input));
    ind__check_graph(p, at);
}

typedef struct ind__parsed_result {
    char name[IND__MAX_NAME + 1];
    const char *at;
    ind__type type;
    bool typed;
    const char *late;             /* a type that names a size that the op computes: parsed after the op */
    char size[IND__MAX_NAME + 1]; /* the name of that size */
} ind__parsed_result;

/* Finds the first name within the brackets of a type that is not yet a size of the graph; false: there is none. *end
   points after the type. */
static bool ind__find_new_size(ind__parser *p, char name[IND__MAX_NAME + 1], const char **end) {
    const char *at = p->at + strspn(p->at, " ");
    bool found = false;
    at += ind__name_length(at);
    at += strspn(at, " ");
    if (*at != '[') return false;
    for (at++; *at && *at != ']' && *at != '\n';) {
        size_t n = ind__name_length(at);
        bool taken = found || n > IND__MAX_NAME || at[n] == '(' || ind__ok(ind__find_size(p->g, at, n));
        if (n && !taken && !memchr(at, '.', n)) {
            snprintf(name, IND__MAX_NAME + 1, "%.*s", (int)n, at);
            found = true;
        }
        at += n ? n : 1;
    }
    *end = *at == ']' ? at + 1 : at;
    return found;
}

static bool ind__parse_result(ind__parser *p, ind__parsed_result *r) {
    ind__skip(p);
    r->at = p->at;
    if (!ind__need_new_name(
            p, "a statement: size, fact, guard, function, input, const, mutate, donate, output, or NAME = OP(..)",
            r->name))
        return false;
    if (!ind__vacate_name(p->g, r->name)) return ind__parse_error(p, r->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
    uint32_t other = ind__find_tensor(p->g, r->name, strlen(r->name));
    if (other && p->g->tensor[other].named)
        return ind__parse_error(p, r->at, IND_ERROR_PARSE, "the name \"%s\" is already taken", r->name);
    if (other && !ind__rename(p->g, other, "made", false)) /* a generated name is replaced */
        return ind__parse_error(p, r->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
    const char *end = NULL;
    r->typed = ind__take(p, ':');
    if (!r->typed || !ind__find_new_size(p, r->size, &end)) return !r->typed || ind__need_type(p, &r->type);
    r->late = p->at;
    p->at = end;
    return true;
}

/* Parses the deferred types. */
static bool ind__parse_late_types(ind__parser *p, ind__parsed_result *r, uint32_t n) {
    const char *at = p->at;
    for (uint32_t k = 0; k < n && !p->status; k++) {
        if (!r[k].late) continue;
        p->at = r[k].late;
        if (ind__need_type(p, &r[k].type)) p->at = at;
    }
    return !p->status;
}

/* Checks that the type written after a result equals that of the op. */
static bool ind__check_annotation(ind__parser *p, const ind__parsed_result *r, const ind__tensor_info *t) {
    bool same = r->type.dtype == t->dtype && r->type.rank == t->rank;
    ind_facts *before = ind__graph_enter(p->g);
    for (int d = 0; same && d < t->rank; d++) same = ind_known_eq(r->type.size[d], t->size[d]);
    ind__graph_leave(p->g, before);
    if (!r->typed || same) return true;
    char written[200], given[200];
    ind__print_type(written, sizeof written, r->type.dtype, r->type.size, r->type.rank);
    ind__print_type(given, sizeof given, t->dtype, t->size, t->rank);
    return ind__parse_error(p, r->at, IND_ERROR_TYPE_MISMATCH, "%s is written as %s, the op gives %s", r->name, written,
                            given);
}

static bool ind__check_num_results(ind__parser *p, const ind__parsed_call *call, const ind__parsed_result *r,
                                   uint32_t given, uint32_t want) {
    if (given == want) return true;
    return ind__parse_error(p, r->at, IND_ERROR_PARSE, "%s has %u result%s, %u name%s given", ind__op_name(call->op),
                            (unsigned)want, want == 1 ? "" : "s", (unsigned)given, given == 1 ? " is" : "s are");
}

/* Gives the results of the last op their written names and checks their written types. */
static bool ind__name_results(ind__parser *p, const ind__parsed_call *call, const ind__parsed_result *r, uint32_t num,
                              ind_tensor x) {
    if (!ind__check_num_results(p, call, r, num, p->g->last_results)) return false;
    p->g->node[p->g->num_nodes - 1].line = ind__line_of(p, call->at);
    for (uint32_t k = 0; k < num; k++) {
        if (!ind__check_annotation(p, &r[k], &p->g->tensor[x.id + k])) return false;
        if (!ind__rename(p->g, x.id + k, r[k].name, true))
            return ind__parse_error(p, call->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    return true;
}

/* True if a call without a result name starts here. */
static bool ind__at_call(ind__parser *p) {
    ind__skip(p);
    ind__parser ahead = {.at = p->at + ind__name_length(p->at)};
    ind__skip(&ahead);
    return ahead.at > p->at && *ahead.at == '(';
}
