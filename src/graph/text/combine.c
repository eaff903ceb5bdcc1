/* ---- combine functions of scans */

#define IND__MAX_COMBINE 256 /* statements of one function */

typedef struct ind__combine_text {
    ind__parser p; /* of its text */
    ind_ops *o;
    const ind_value *left, *right;
    int num, num_made;
    struct {
        const char *name; /* in the text */
        size_t length;
        ind_value value;
    } made[IND__MAX_COMBINE];
} ind__combine_text;

/* Reads l0, r0 or the name of a statement. */
static bool ind__need_combine_name(ind__combine_text *c, ind_value *v) {
    char name[IND__MAX_NAME + 1], found[64];
    ind__skip(&c->p);
    const char *at = c->p.at;
    if (!ind__need_name(&c->p, "a value", name)) return false;
    bool side = (name[0] == 'l' || name[0] == 'r') && name[1] >= '0' && name[1] < '0' + c->num && !name[2];
    *v = side ? (name[0] == 'l' ? c->left : c->right)[name[1] - '0'] : (ind_value){0};
    for (int k = 0; k < c->num_made && !side; k++)
        if (ind__same_name(c->made[k].name, c->made[k].length, name, strlen(name))) *v = c->made[k].value;
    if (v->id) return true;
    return ind__parse_error(&c->p, at, IND_ERROR_PARSE,
                            "%s is no value; there are l0 to l%d, r0 to r%d, and the names of earlier lines",
                            ind__found(at, found, sizeof found), c->num - 1, c->num - 1);
}

/* Reads f32(0.5), or f32(l0), which casts; the type has been read. */
static bool ind__need_combine_typed(ind__combine_text *c, ind_dtype dtype, ind_value *v) {
    ind__attr number = {0};
    bool whole, yes;
    if (!ind__need(&c->p, '(')) return false;
    ind__skip(&c->p);
    if ((yes = ind__take_word(&c->p, "true")) || ind__take_word(&c->p, "false")) {
        *v = ind_op_constant_int(c->o, yes, dtype);
    } else if (ind__number_length(c->p.at, &whole)) {
        if (!ind__need_scalar(&c->p, &number)) return false;
        *v = number.is_int ? ind_op_constant_int(c->o, number.i, dtype) : ind_op_constant(c->o, number.f, dtype);
    } else if (ind__need_combine_name(c, v)) {
        *v = ind_op_cast(c->o, *v, dtype);
    }
    return ind__need(&c->p, ')') && v->id;
}

static bool ind__at_dtype(ind__parser *p, ind_dtype *dtype) {
    ind__skip(p);
    *dtype = ind_dtype_parse(p->at, ind__name_length(p->at));
    return *dtype != IND_DTYPE_NONE;
}

static bool ind__need_combine_argument(ind__combine_text *c, ind_value *v) {
    ind_dtype dtype;
    if (!ind__at_dtype(&c->p, &dtype)) return ind__need_combine_name(c, v);
    return ind__need_dtype(&c->p, &dtype) && ind__need_combine_typed(c, dtype, v);
}

/* Finds a loop op on values by its name; false: there is none. */
static bool ind__find_combine_op(const char *name, ind_loop_op *op) {
    for (int k = 1; k < IND_NUM_LOOP_OPS; k++) {
        char kind = ind__loop_op_class((ind_loop_op)k);
        *op = (ind_loop_op)k;
        if (kind != 's' && kind != 'r' && kind != 'u' && !strcmp(ind__loop_op_name(*op), name)) return true;
    }
    return false;
}

static ind_value ind__emit_combine_op(ind_ops *o, ind_loop_op op, const ind_value *x, int num) {
    return num == 1   ? ind__emit1(o, op, x[0])
           : num == 2 ? ind__emit2(o, op, x[0], x[1])
                      : ind_op_where(o, x[0], x[1], x[2]);
}

/* Reads op(l0, r0), of a loop op or a function. */
static bool ind__need_combine_call(ind__combine_text *c, ind_value *v) {
    char name[IND__MAX_NAME + 1];
    ind_value x[IND__MAX_ARGS];
    ind_loop_op op;
    const char *at = c->p.at;
    int num = 0;
    if (!ind__need_name(&c->p, "the name of a loop op", name)) return false;
    bool known = ind__find_combine_op(name, &op);
    const ind__function *f = known ? NULL : ind__graph_find_function(c->p.g, name);
    if (!known && !f)
        return ind__parse_error(&c->p, at, IND_ERROR_PARSE, "%s is no loop op on values and no function", name);
    const int arity = f ? f->num_args : ind__loop_op_arity(op);
    if (!ind__need(&c->p, '(')) return false;
    for (; num < arity; num++)
        if ((num && !ind__need(&c->p, ',')) || !ind__need_combine_argument(c, &x[num])) return false;
    if (!ind__need(&c->p, ')')) return false;
    for (int k = 0; f && k < num; k++) {
        ind_dtype given = c->o->dtype(c->o, x[k]), wanted = f->arg_dtype[k];
        if (!ind__function_takes(wanted, given) && given != ind_dtype_compute(wanted))
            return ind__parse_error(&c->p, at, IND_ERROR_TYPE_MISMATCH, "%s: %s is %s, which does not become %s", name,
                                    f->arg[k], ind_dtype_name(given), ind_dtype_name(wanted));
    }
    *v = f ? ind__emit_call(c->o, f, x) : ind__emit_combine_op(c->o, op, x, num);
    return v->id != 0;
}

static bool ind__need_combine_value(ind__combine_text *c, ind_value *v) {
    ind_dtype dtype;
    if (ind__at_dtype(&c->p, &dtype) || !ind__at_call(&c->p)) return ind__need_combine_argument(c, v);
    return ind__need_combine_call(c, v);
}

static bool ind__need_combine_statement(ind__combine_text *c) {
    char name[IND__MAX_NAME + 1];
    if (c->num_made == IND__MAX_COMBINE)
        return ind__parse_error(&c->p, c->p.at, IND_ERROR_LIMIT, "more than %d statements", IND__MAX_COMBINE);
    ind_value v = {0};
    const char *at = c->p.at;
    if (!ind__need_name(&c->p, "a name", name) || !ind__need(&c->p, '=')) return false;
    if (!ind__need_combine_value(c, &v) || !ind__need(&c->p, ';')) return false;
    c->made[c->num_made].name = at;
    c->made[c->num_made].length = strlen(name);
    c->made[c->num_made++].value = v;
    return true;
}

/* combine = { name "=" value ";" } value { "," value } */
static void ind__combine_of_text(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out,
                                 void *user) {
    ind__combine_text *c = user;
    ind__parser *p = &c->p;
    c->o = o, c->left = left, c->right = right;
    while (!p->status && ind__at_keyword(p) && ind__need_combine_statement(c)) {
    }
    for (int k = 0; k < c->num && !p->status && (!k || ind__need(p, ',')); k++)
        if (!ind__need_combine_value(c, &out[k])) break;
    ind__skip(p);
    if (!p->status && !ind__state_of(o->context)->status && *p->at) ind__expected(p, "the end");
    if (p->status) ind__fail(o->context, p->status, "column %d: %s", (int)(p->error_at - p->text) + 1, p->error);
}

/* Returns the combine function of a parsed scan. NULL without an error: its operands are wrong, which its rule
   reports. */
static ind_body *ind__parsed_combine(ind__parser *p, const ind__parsed_call *call) {
    ind_tensor x[IND__MAX_STATES];
    if (call->op != IND_OP_ASSOCIATIVE_SCAN) return NULL;
    const int64_t num = call->attr_set[1] ? call->attr[1].i : call->schema->attr[1].value.i;
    if (num < 1 || num > IND__MAX_STATES || call->num_operands < (uint32_t)num) return NULL;
    ind__combine_text *c = ind__alloc(p->g->context, sizeof *c);
    if (!c) return ind__parse_error(p, call->at, IND_ERROR_OUT_OF_MEMORY, "out of memory"), NULL;
    for (int k = 0; k < (int)num; k++) x[k] = ind__graph_tensor(p->g, call->operand[k]);
    c->p = (ind__parser){.g = p->g, .text = call->attr[5].s, .at = call->attr[5].s};
    c->num = (int)num;
    ind__state_of(p->g->context)->status = IND_OK;
    ind_body *body =
        ind__combine_record(p->g, &(ind_scan_desc){.x = x, .num = c->num, .combine = ind__combine_of_text, .user = c});
    ind_status status = ind_error_status(p->g->context);
    if (!body)
        ind__parse_error(p, call->at, status ? status : IND_ERROR_PARSE, "combine: %s",
                         status ? ind_error(p->g->context) : "a value is missing");
    ind__free(p->g->context, c);
    return body;
}

/* Adds the op of a parsed call; ind_apply uses it too. names_follow: the caller names the results. */
static ind_tensor ind__add_call(ind__parser *p, const ind__parsed_call *call, bool names_follow) {
    ind_body *body = ind__parsed_combine(p, call);
    if (p->status) return ind__graph_tensor(p->g, 0);
    return (names_follow ? ind__add_unnamed : ind__graph_add)(p->g, call->op, call->operand, call->num_operands,
                                                              call->attr, call->schema->num_attrs, body,
                                                              call->function ? call->function->name : NULL);
}

/* add_(x, y), which may have a name: an alias of x. */
static void ind__write_parsed(ind__parser *p, const ind__parsed_call *call, const ind__parsed_result *r,
                              uint32_t num_results, uint32_t value) {
    const uint32_t x = call->operand[0];
    char op[IND__MAX_NAME + 2];
    snprintf(op, sizeof op, "%s_", ind__op_name(call->op));
    if (num_results > 1) {
        ind__check_num_results(p, call, r, num_results, 1);
        return;
    }
    ind__write(p->g, op, x, value);
    if (!ind__check_graph(p, call->at) || !num_results || !ind__check_annotation(p, r, &p->g->tensor[x])) return;
    if (!ind__also_named(p->g, x, r->name)) ind__parse_error(p, call->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
}

static void ind__add_parsed(ind__parser *p, ind__parsed_call *call, ind__parsed_result *r, uint32_t num_results) {
    uint32_t first = p->g->num_nodes;
    for (uint32_t k = num_results; ind__op_has(call->op, 'Z') && k-- > 0;)
        if (r[k].late) p->g->data_sizes.wanted_name = r[k].size;
    ind_tensor x = ind__add_call(p, call, !call->in_place);
    p->g->data_sizes.wanted_name = NULL;
    if (p->status || !ind__check_graph(p, call->at)) return;
    for (; first < p->g->num_nodes; first++) p->g->node[first].line = ind__line_of(p, call->at);
    if (call->in_place) {
        ind__write_parsed(p, call, r, num_results, x.id);
        return;
    }
    if (!ind__parse_late_types(p, r, num_results)) return;
    ind__name_results(p, call, r, num_results, x);
}

/* Reads the names before "=", all different. */
static bool ind__parse_results(ind__parser *p, ind__parsed_result **list, uint32_t *n, uint32_t *capacity) {
    do {
        if (*n == IND__MAX_RESULTS)
            return ind__parse_error(p, p->at, IND_ERROR_LIMIT, "no op has more than %d results", IND__MAX_RESULTS);
        ind__parsed_result *r = IND__PUSH(p->g->context, ind__parsed_result, *list, *n, *capacity);
        if (!r) return ind__parse_error(p, p->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
        if (!ind__parse_result(p, r)) return false;
        for (uint32_t k = 0; k + 1 < *n; k++) {
            if (strcmp((*list)[k].name, r->name) == 0)
                return ind__parse_error(p, r->at, IND_ERROR_PARSE, "the name \"%s\" is given twice", r->name);
        }
    } while (ind__take(p, ','));
    return true;
}

static bool ind__need_extern_argument(ind__parser *p, ind__parsed_call *call, ind__extern_build *b) {
    char name[IND__MAX_NAME + 1];
    ind__attr list = {0};
    ind_expr ints[IND__MAX_LIST];
    uint32_t id;
    const char *at = p->at;
    if (!ind__at_keyword(p)) return ind__need_operand(p, call, 0, &id) && ind__push_operand(p, call, id);
    if (!ind__need_name(p, "the name of an argument", name) || !ind__need(p, '=')) return false;
    if (!strcmp(name, "workspace") && !ind__ok(b->workspace)) return ind__need_expr(p, &b->workspace);
    if (strcmp(name, "mutates") || b->num_mutates)
        return ind__parse_error(p, at, IND_ERROR_PARSE,
                                "extern has no argument \"%.60s\", or it is given twice; allowed: "
                                "workspace, mutates",
                                name);
    if (!ind__need_ints(p, &list, ints)) return false;
    if (list.count > IND_MAX_EXTERN_RESULTS)
        return ind__parse_error(p, at, IND_ERROR_LIMIT, "at most %d results are possible", IND_MAX_EXTERN_RESULTS);
    memcpy(b->mutates, ints, (size_t)list.count * sizeof *ints);
    b->num_mutates = list.count;
    return true;
}

/* Uses the types before "=" as the types of the declared results, unless a shape rule gives them. */
static bool ind__extern_written_types(ind__parser *p, ind__extern_build *b, const ind__parsed_result *r, int num) {
    bool any = false, all = true;
    for (int k = 0; k < num - b->num_mutates; k++) any = any || r[k].typed, all = all && r[k].typed;
    if (num < b->num_mutates || num > IND_MAX_EXTERN_RESULTS)
        return ind__parse_error(p, r->at, IND_ERROR_LIMIT, "%d results; %d to %d are possible", num, b->num_mutates,
                                IND_MAX_EXTERN_RESULTS);
    const ind__extern *e = ind__extern_find(p->g->context, b->name);
    b->num_types = -1;
    if (!all && e && e->desc.shape) return true; /* the written types are compared with those of the rule */
    if (!all)
        return ind__parse_error(p, r->at, IND_ERROR_PARSE,
                                "%s: the types of its results are not written, and no shape rule "
                                "is registered",
                                b->name);
    b->num_types = num - b->num_mutates;
    for (int k = 0; any && k < b->num_types; k++) {
        b->type[k] = (ind_extern_type){.dtype = r[k].type.dtype, .rank = r[k].type.rank};
        memcpy(b->type[k].size, r[k].type.size, sizeof r[k].type.size);
    }
    return true;
}

/* extern "(" string { "," name } .. ")" */
static bool ind__parse_extern(ind__parser *p, ind__parsed_call *call, const ind__parsed_result *r, uint32_t num) {
    ind__attr name = {0};
    ind__extern_build b = {.g = p->g};
    if (!ind__need(p, '(') || !ind__need_string(p, &name)) return false;
    b.name = name.s;
    if (!ind__valid_name(b.name))
        return ind__parse_error(p, call->at, IND_ERROR_PARSE, "\"%.63s\" is not a name", b.name);
    while (!p->status && ind__take(p, ',')) {
        ind__skip(p);
        ind__need_extern_argument(p, call, &b);
    }
    if (p->status || !ind__need(p, ')') || !ind__extern_written_types(p, &b, r, (int)num)) return false;
    b.operand = call->operand;
    b.num_operands = call->num_operands;
    ind_tensor x = ind__add_extern(&b);
    return ind__check_graph(p, call->at) && ind__name_results(p, call, r, num, x);
}

/* assign = [ result { "," result } "=" ] op "(" [ argument { "," argument } ] ")" */
static void ind__parse_assign(ind__parser *p) {
    ind__parsed_result *result = NULL;
    ind__parsed_call call;
    uint32_t n = 0, capacity = 0;
    memset(&call, 0, sizeof call);
    bool named = !ind__at_call(p);
    bool ok = !named || (ind__parse_results(p, &result, &n, &capacity) && ind__need(p, '='));
    ok = ok && ind__need_op(p, &call);
    if (ok && !named && !call.in_place)
        ok =
            ind__parse_error(p, call.at, IND_ERROR_PARSE,
                             "%s: its result needs a name; only an op in place (add_) has none", ind__op_name(call.op));
    uint32_t want = ok ? ind__op_rows[call.op].results : 0;
    if (ok && want && n > want) ok = ind__check_num_results(p, &call, result, n, want);
    if (ok && call.op == IND_OP_EXTERN)
        ind__parse_extern(p, &call, result, n);
    else if (ok && ind__parse_arguments(p, &call))
        ind__add_parsed(p, &call, result, n);
    ind__free(p->g->context, call.operand);
    ind__free(p->g->context, result);
}

/* True if this word is a keyword of a statement, not a tensor of that name. A name follows a keyword. */
static bool ind__take_keyword(ind__parser *p, const char *word) {
    if (!ind__at_word(p, word)) return false;
    ind__parser ahead = {.at = p->at + strlen(word)};
    ind__skip(&ahead);
    if (*ahead.at == '=' || *ahead.at == ':' || *ahead.at == ',') return false;
    return ind__take_word(p, word);
}

static void ind__parse_statement(ind__parser *p) {
    ind__skip(p);
    const char *begin = p->at;
    if (ind__take_keyword(p, "size")) {
        ind__parse_size(p);
    } else if (ind__take_keyword(p, "pattern")) {
        ind__parse_pattern(p, begin);
    } else if (ind__take_keyword(p, "fact")) {
        ind__parse_condition(p, false, NULL);
    } else if (ind__take_keyword(p, "guard")) {
        ind__parse_condition(p, true, NULL);
    } else if (ind__take_keyword(p, "function")) {
        ind__parse_function(p);
    } else if (ind__take_keyword(p, "input")) {
        ind__parse_source(p, IND_OP_INPUT);
    } else if (ind__take_keyword(p, "const")) {
        ind__parse_source(p, IND_OP_CONST);
    } else if (ind__take_keyword(p, "mutate")) {
        ind__parse_mutate(p);
    } else if (ind__take_keyword(p, "donate")) {
        ind__parse_donate(p);
    } else if (ind__take_keyword(p, "output")) {
        ind__parse_output(p);
    } else {
        ind__parse_assign(p);
    }
    if (!ind__peek(p, '\n') && !ind__peek(p, '}')) ind__expected(p, "the end of the line");
}

/* Reads the graph's name before the graph exists. */
static bool ind__parse_head(ind__parser *p, char name[IND__MAX_NAME + 1]) {
    ind__skip_lines(p);
    if (!ind__take_word(p, "graph")) return ind__expected(p, "\"graph\"");
    return ind__need_name(p, "the graph's name", name);
}

static void ind__parse_body(ind__parser *p) {
    if (!ind__need(p, '{')) return;
    for (ind__skip_lines(p); !p->status && !ind__peek(p, '}'); ind__skip_lines(p)) ind__parse_statement(p);
    if (!ind__need(p, '}')) return;
    ind__skip_lines(p);
    if (*p->at) ind__expected(p, "the end of the text after \"}\"");
}

static void ind__report_position(ind_context *c, ind__parser *p, const char *file) {
    const char *line = p->error_at;
    while (line > p->text && line[-1] != '\n') line--;
    ind__fail(c, p->status, "%.200s:%d:%d: %s", file ? file : "<text>", ind__line_of(p, p->error_at),
              (int)(p->error_at - line) + 1, p->error);
}

static ind_graph *ind__parse_graph(ind_context *context, const char *text, const char *file) {
    char name[IND__MAX_NAME + 1];
    ind__parser p = {.text = text, .at = text};
    const uint32_t refusals = ind__refusals(context);
    if (ind__parse_head(&p, name)) {
        p.g = ind_graph_create(context, name);
        if (!p.g) return NULL;
        ind__parse_body(&p);
    }
    if (!p.status && !ind__graph_refused(p.g, refusals, "parse")) return p.g;
    if (p.status) ind__report_position(context, &p, file);
    ind_graph_destroy(p.g);
    return NULL;
}

ind_graph *ind_graph_parse(ind_context *context, const char *text, const char *file) {
    if (!context) return NULL;
    if (!text) {
        ind__fail(context, IND_ERROR_INVALID_ARGUMENT, "parse: the text is NULL");
        return NULL;
    }
    ind__lock(context);
    ind_graph *g = ind__parse_graph(context, text, file);
    ind__unlock(context);
    return g;
}
