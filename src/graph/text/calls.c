/* ---- calls */

typedef struct ind__parsed_call {
    ind_graph_op op;
    bool in_place; /* its name ends with an underscore */
    const ind__schema *schema;
    const char *at;                /* of the op's name */
    const ind__function *function; /* CALL */
    uint32_t *operand;             /* ids; any number for an op with a list of tensors */
    uint32_t num_operands, cap_operands;
    bool operand_set[IND__MAX_OPERANDS], attr_set[IND__MAX_ATTRS];
    ind__attr attr[IND__MAX_ATTRS];
    ind_expr list[IND__MAX_ATTRS][IND__MAX_LIST];
    uint32_t positional; /* number of arguments without a name */
} ind__parsed_call;

/* Returns the number of letters to change, insert or delete (Levenshtein). Names are short; longer ones are never
   close. */
static int ind__edit_distance(const char *a, size_t na, const char *b, size_t nb) {
    int row[32];
    if (na > 30 || nb > 30) return 99;
    for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

static bool ind__op_in_text(int op) {
    return op != IND_OP_INPUT && op != IND_OP_CONST && op != IND_OP_SCALAR && op != IND_OP_CALL;
}

static bool ind__unknown_op(ind__parser *p, const char *at, const char *name) {
    int best[3] = {-1, -1, -1}, distance[3] = {99, 99, 99};
    for (int op = 0; op < IND_NUM_OPS; op++) {
        int d = ind__edit_distance(name, strlen(name), ind__op_rows[op].name, strlen(ind__op_rows[op].name));
        if (!ind__op_in_text(op) || op == IND_OP_CUSTOM) continue;
        for (int k = 0; k < 3; k++) { /* insertion into the three best; ties keep the earlier one */
            if (d >= distance[k]) continue;
            for (int j = 2; j > k; j--) {
                best[j] = best[j - 1];
                distance[j] = distance[j - 1];
            }
            best[k] = op;
            distance[k] = d;
            break;
        }
    }
    if (best[0] < 0 || best[1] < 0 || best[2] < 0)
        return ind__parse_error(p, at, IND_ERROR_PARSE, "unknown op \"%.60s..\"", name);
    return ind__parse_error(p, at, IND_ERROR_PARSE, "unknown op \"%s\"; the closest are %s, %s, %s", name,
                            ind__op_rows[best[0]].name, ind__op_rows[best[1]].name, ind__op_rows[best[2]].name);
}

/* True if it is the op's name, or the name of its in-place op, with an underscore after it. */
static bool ind__is_op_name(const char *name, int op, bool *in_place) {
    *in_place = false;
    if (name[0] != ind__op_rows[op].name[0]) return false;
    const size_t n = strlen(ind__op_rows[op].name);
    *in_place = ind__op_has((ind_graph_op)op, '_') && strlen(name) == n + 1 && name[n] == '_';
    return !strncmp(name, ind__op_rows[op].name, n) && (*in_place || !name[n]);
}

static bool ind__need_op(ind__parser *p, ind__parsed_call *call) {
    char name[IND__MAX_NAME + 1];
    ind__skip(p);
    call->at = p->at;
    if (!ind__need_name(p, "the name of an op", name)) return false;
    for (int op = 0; op < IND_NUM_OPS; op++) {
        if (!ind__op_in_text(op) || !ind__is_op_name(name, op, &call->in_place)) continue;
        call->op = (ind_graph_op)op;
        call->schema = &p->g->schema[op];
        if (op != IND_OP_CUSTOM) return true;
        return ind__parse_error(p, call->at, IND_ERROR_NOT_SUPPORTED,
                                "custom ops are C functions and cannot be read from text");
    }
    call->function = ind__graph_find_function(p->g, name);
    if (p->g->status) return ind__parse_error(p, call->at, p->g->status, "%s", p->g->error);
    if (call->function) {
        call->op = IND_OP_CALL;
        call->schema = &p->g->schema[IND_OP_CALL];
        return true;
    }
    return ind__unknown_op(p, call->at, name);
}

static bool ind__push_operand(ind__parser *p, ind__parsed_call *call, uint32_t id) {
    uint32_t *slot = IND__PUSH(p->g->context, uint32_t, call->operand, call->num_operands, call->cap_operands);
    if (!slot) return ind__parse_error(p, p->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
    *slot = id;
    return true;
}

/* Reads $k, a tensor given to ind_apply. */
static bool ind__need_given(ind__parser *p, uint32_t *id) {
    const char *at = p->at++;
    int64_t k = -1;
    if (!ind__need_int(p, &k)) return false;
    if (k < 0 || k >= p->num_given)
        return ind__parse_error(p, at, IND_ERROR_OUT_OF_RANGE, "there is no tensor $%lld; %d are given", (long long)k,
                                p->num_given);
    ind_tensor x = p->given[k];
    *id = x.graph == p->g && ind__tensor_of(x) ? x.id : 0;
    return *id ||
           ind__parse_error(p, at, IND_ERROR_INVALID_ARGUMENT, "$%lld is not a tensor of this graph", (long long)k);
}

/* Reads a tensor's name, or a number if the op takes one. */
static bool ind__need_operand(ind__parser *p, ind__parsed_call *call, uint32_t k, uint32_t *id) {
    char name[IND__MAX_NAME + 1];
    ind__attr number = {.kind = IND__ATTR_SCALAR};
    bool whole;
    ind__skip(p);
    const char *at = p->at;
    *id = 0;
    if (p->scope && p->scope->operand(p, call, k, id)) return !p->status;
    if (call->schema->operand[k].optional && ind__take_word(p, "none")) return true;
    if (*p->at == '$' && p->given) return ind__need_given(p, id);
    if (ind__number_length(p->at, &whole) && ind__number_allowed(call->op, k)) {
        if (!ind__need_scalar(p, &number)) return false;
        *id = ind__add_scalar(p->g, number).id;
        return *id || ind__parse_error(p, at, p->g->status, "%s", p->g->error);
    }
    if (!ind__need_name(p, ind__number_allowed(call->op, k) ? "a tensor or a number" : "the name of a tensor", name))
        return false;
    *id = ind__find_named(p->g, name);
    if (*id) return true;
    bool is_size = ind__ok(ind__find_size(p->g, name, strlen(name)));
    return ind__parse_error(p, at, IND_ERROR_PARSE,
                            is_size ? "\"%s\" is a size; a tensor is needed here"
                                    : "there is no tensor \"%s\" "
                                      "above this line",
                            name);
}

static bool ind__need_operand_list(ind__parser *p, ind__parsed_call *call, uint32_t k) {
    uint32_t id;
    if (!ind__need(p, '[')) return false;
    while (!p->status && !ind__peek(p, ']')) {
        if (!ind__need_operand(p, call, k, &id) || !ind__push_operand(p, call, id)) return false;
        if (!ind__peek(p, ']') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \"]\"");
    }
    return ind__need(p, ']');
}

static bool ind__parse_operand(ind__parser *p, ind__parsed_call *call, uint32_t k) {
    ind__skip(p);
    if (call->operand_set[k]) {
        const ind__operand_schema *o = &call->schema->operand[k];
        return ind__parse_error(p, p->at, IND_ERROR_PARSE, "argument \"%.*s\" is given twice", o->length, o->name);
    }
    call->operand_set[k] = true;
    if (call->schema->operand[k].list) return ind__need_operand_list(p, call, k);
    return ind__need_operand(p, call, k, &call->operand[k]);
}

static bool ind__parse_attr(ind__parser *p, ind__parsed_call *call, uint32_t i) {
    const ind__attr_schema *s = &call->schema->attr[i];
    ind__skip(p);
    if (call->attr_set[i]) {
        return ind__parse_error(p, p->at, IND_ERROR_PARSE, "argument \"%.*s\" is given twice", s->length, s->name);
    }
    call->attr_set[i] = true;
    if (p->scope && p->scope->attr(p, call, i)) return !p->status;
    return ind__need_value(p, s, &call->attr[i], call->list[i]);
}

static bool ind__bad_keyword(ind__parser *p, const ind__parsed_call *call, const char *at, const char *name) {
    char allowed[200];
    size_t used = 0;
    const ind__schema *s = call->schema;
    allowed[0] = 0;
    for (uint32_t k = 0; k < s->num_operands + s->num_attrs && used < sizeof allowed; k++) {
        bool tensor = k < s->num_operands;
        int length = tensor ? s->operand[k].length : s->attr[k - s->num_operands].length;
        const char *text = tensor ? s->operand[k].name : s->attr[k - s->num_operands].name;
        used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%.*s", k ? ", " : "", length, text);
    }
    return ind__parse_error(p, at, IND_ERROR_PARSE, "%s has no argument \"%.60s\"; allowed: %s", ind__op_name(call->op),
                            name, allowed);
}

static bool ind__parse_keyword(ind__parser *p, ind__parsed_call *call) {
    char name[IND__MAX_NAME + 1];
    const char *at = p->at;
    const ind__schema *s = call->schema;
    if (!ind__need_name(p, "the name of an argument", name) || !ind__need(p, '=')) return false;
    for (uint32_t k = 0; k < s->num_operands; k++) {
        if (ind__same_name(s->operand[k].name, (size_t)s->operand[k].length, name, strlen(name))) {
            return ind__parse_operand(p, call, k);
        }
    }
    for (uint32_t i = 0; i < s->num_attrs; i++) {
        if (ind__same_name(s->attr[i].name, (size_t)s->attr[i].length, name, strlen(name)))
            return ind__parse_attr(p, call, i);
    }
    return ind__bad_keyword(p, call, at, name);
}

/* True if the next token can be operand k. PyTorch writes gather(x, dim, index) and layer_norm(x, shape, weight, bias):
   there a number or list in place of a tensor is the next attribute. */
static bool ind__fits_operand(ind__parser *p, const ind__parsed_call *call, uint32_t k) {
    bool whole;
    if (call->schema->operand[k].list) return true;
    if (*p->at == '[' || *p->at == '"') return false;
    size_t word = ind__name_length(p->at);
    bool gap = call->schema->operand[k].optional && ind__same_name(p->at, word, "none", 4);
    if (ind__reserved_name(p->at, word) && !gap && !ind__number_allowed(call->op, k)) return false;
    return !ind__number_length(p->at, &whole) || ind__number_allowed(call->op, k) || call->schema->num_attrs == 0;
}

static bool ind__parse_positional(ind__parser *p, ind__parsed_call *call) {
    const ind__schema *s = call->schema;
    uint32_t k = 0, i = 0;
    ind__skip(p);
    while (k < s->num_operands && call->operand_set[k]) k++;
    uint32_t list = ind__num_single(s); /* index_put(x, [i, j], v): brackets are the list, at any position */
    if (*p->at == '[' && list < s->num_operands && !call->operand_set[list]) k = list;
    while (i < s->num_attrs && call->attr_set[i]) i++;
    call->positional++;
    if (k < s->num_operands && (ind__fits_operand(p, call, k) || i == s->num_attrs))
        return ind__parse_operand(p, call, k);
    if (i < s->num_attrs) return ind__parse_attr(p, call, i);
    return ind__parse_error(p, p->at, IND_ERROR_PARSE, "%s takes at most %u arguments", ind__op_name(call->op),
                            (unsigned)(s->num_operands + s->num_attrs));
}

static bool ind__at_keyword(ind__parser *p) {
    ind__skip(p);
    size_t n = ind__name_length(p->at);
    ind__parser ahead = {.at = p->at + n, .brackets = 1};
    return n > 0 && ind__peek(&ahead, '=') && ahead.at[1] != '=';
}

/* arange(n) gives the end, as in PyTorch. */
static void ind__fix_arange(ind__parsed_call *call) {
    if (call->op != IND_OP_ARANGE || call->positional != 1 || call->attr_set[1]) return;
    call->attr[1] = call->attr[0];
    memset(&call->attr[0], 0, sizeof call->attr[0]);
    call->attr_set[0] = false;
    call->attr_set[1] = true;
}

static bool ind__check_arguments(ind__parser *p, ind__parsed_call *call) {
    const ind__schema *s = call->schema;
    for (uint32_t k = 0; k < s->num_operands; k++) {
        const ind__operand_schema *o = &s->operand[k];
        if (!call->operand_set[k] && (!o->optional || o->list)) {
            return ind__parse_error(p, call->at, IND_ERROR_PARSE, "%s: argument \"%.*s\" is missing",
                                    ind__op_name(call->op), o->length, o->name);
        }
    }
    for (uint32_t i = 0; i < s->num_attrs; i++) {
        const ind__attr_schema *a = &s->attr[i];
        if (!call->attr_set[i] && a->required) {
            return ind__parse_error(p, call->at, IND_ERROR_PARSE, "%s: argument \"%.*s\" (%s) is missing",
                                    ind__op_name(call->op), a->length, a->name,
                                    ind__attr_kind_rows[a->kind].description);
        }
    }
    return true;
}

/* Finds the next argument of a function: the named one, or the first without a value. */
static bool ind__need_function_argument(ind__parser *p, const ind__parsed_call *call, int *k) {
    const ind__function *f = call->function;
    char name[IND__MAX_NAME + 1];
    const char *at = p->at;
    bool keyword = ind__at_keyword(p);
    if (keyword && (!ind__need_name(p, "the name of an argument", name) || !ind__need(p, '='))) return false;
    for (*k = 0; *k < f->num_args; ++*k)
        if (keyword ? !strcmp(f->arg[*k], name) : !call->operand_set[*k]) break;
    if (*k == f->num_args) {
        if (keyword) return ind__parse_error(p, at, IND_ERROR_PARSE, "%s has no argument \"%.60s\"", f->name, name);
        return ind__parse_error(p, at, IND_ERROR_PARSE, "%s takes %d arguments", f->name, f->num_args);
    }
    return !call->operand_set[*k] ||
           ind__parse_error(p, at, IND_ERROR_PARSE, "argument \"%s\" is given twice", f->arg[*k]);
}

static bool ind__parse_function_arguments(ind__parser *p, ind__parsed_call *call) {
    const ind__function *f = call->function;
    int k;
    for (k = 0; k < f->num_args; k++)
        if (!ind__push_operand(p, call, 0)) return false;
    if (!ind__need(p, '(')) return false;
    while (!p->status && !ind__peek(p, ')')) {
        if (!ind__need_function_argument(p, call, &k)) return false;
        call->operand_set[k] = true;
        if (!ind__need_operand(p, call, 0, &call->operand[k])) return false;
        if (!ind__peek(p, ')') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \")\"");
    }
    if (!ind__need(p, ')')) return false;
    for (k = 0; k < f->num_args; k++) {
        if (!call->operand_set[k])
            return ind__parse_error(p, call->at, IND_ERROR_PARSE, "%s: argument \"%s\" is missing", f->name, f->arg[k]);
    }
    call->attr[0] = (ind__attr){.kind = IND__ATTR_STR, .s = f->name};
    return true;
}

static bool ind__parse_arguments(ind__parser *p, ind__parsed_call *call) {
    const ind__schema *s = call->schema;
    if (call->function) return ind__parse_function_arguments(p, call);
    for (uint32_t k = 0; k < ind__num_single(s); k++) {
        if (!ind__push_operand(p, call, 0)) return false;
    }
    if (!ind__need(p, '(')) return false;
    while (!p->status && !ind__peek(p, ')')) {
        if (ind__at_keyword(p)) {
            ind__parse_keyword(p, call);
        } else {
            ind__parse_positional(p, call);
        }
        if (!p->status && !ind__peek(p, ')') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \")\"");
    }
    if (!ind__need(p, ')')) return false;
    ind__fix_arange(call);
    return ind__check_arguments(p, call);
}
