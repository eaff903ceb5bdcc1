/* ---- patterns: parser. The first part is recorded as steps; of the replacement, the text is kept and parsed again
   each time it is applied. Both are checked here. */

typedef struct pattern__reader {
    ind__pattern *pattern;
    const char *begin;   /* of the pattern's text */
    pattern__step *step; /* that is being read; NULL: a statement of the replacement */
    bool replacement;
} pattern__reader;

static uint32_t pattern__find(const ind__pattern *pt, const char *name, size_t length) {
    for (uint32_t n = 0; n < pt->num_names; n++) {
        const char *have = pt->names[n].name;
        if (have && ind__same_name(have, strlen(have), name, length)) return n;
    }
    return IND__PATTERN_NO_NAME;
}

static pattern__name *pattern__add_name(ind__parser *p, pattern__reader *r, const char *name, size_t length,
                                        pattern__kind kind) {
    ind__pattern *pt = r->pattern;
    if (pt->num_names == IND__MAX_PATTERN_NAMES) {
        ind__parse_error(p, p->at, IND_ERROR_LIMIT, "a pattern has at most %d names and numbers",
                         IND__MAX_PATTERN_NAMES);
        return NULL;
    }
    pattern__name *n = &pt->names[pt->num_names];
    n->kind = kind;
    n->name = name ? ind__arena_string(&p->g->arena, name, length) : NULL;
    if (name && !n->name) return ind__parse_error(p, p->at, IND_ERROR_OUT_OF_MEMORY, "out of memory"), NULL;
    pt->num_names++;
    return n;
}

static pattern__reader *pattern__reader_of(ind__parser *p) {
    return (pattern__reader *)p->scope->user;
}

static const char *pattern__kind_text(pattern__kind kind) {
    static const char *const text[] = {"a tensor", "a number", "a size", "an element type",
                                       "the value of an attribute"};
    return text[kind];
}

static bool pattern__wrong_kind(ind__parser *p, const char *at, const pattern__name *n, const char *wanted) {
    return ind__parse_error(p, at, IND_ERROR_PARSE, "\"%s\" is %s; %s is needed here", n->name,
                            pattern__kind_text(n->kind), wanted);
}

/* Refers to a name of this kind, which the first part may introduce here. */
static uint32_t pattern__name_here(ind__parser *p, pattern__kind kind, const char *wanted) {
    pattern__reader *r = pattern__reader_of(p);
    ind__skip(p);
    const char *at = p->at;
    const size_t length = ind__name_length(at);
    uint32_t n = pattern__find(r->pattern, at, length);
    if (n == IND__PATTERN_NO_NAME) {
        if (r->replacement)
            ind__parse_error(p, at, IND_ERROR_PARSE, "\"%.*s\" is not a name of the pattern's first part", (int)length,
                             at);
        else if (!ind__reserved_name(at, length) && pattern__add_name(p, r, at, length, kind))
            n = r->pattern->num_names - 1;
        else
            ind__expected(p, wanted);
    } else if (r->pattern->names[n].kind != kind) {
        pattern__wrong_kind(p, at, &r->pattern->names[n], wanted);
    }
    if (!p->status) p->at += length;
    return n;
}

/* ---- sizes */

/* Sizes have no values yet: an expression is only checked. Different large primes keep it from an early division by
   zero. */
static ind_expr pattern__size_unknown(ind__parser *p, const char *name, size_t length) {
    static const int64_t prime[] = {1009, 2003, 4001, 8009, 16001, 32003, 64007, 128021};
    pattern__reader *r = pattern__reader_of(p);
    const uint32_t n = pattern__find(r->pattern, name, length);
    ind_expr none = {p->g->context, 0};
    if (n == IND__PATTERN_NO_NAME) {
        ind__parse_error(p, name, IND_ERROR_PARSE, "\"%.*s\" is not a size of the pattern",
                         (int)(length > 60 ? 60 : length), name);
        return none;
    }
    if (r->pattern->names[n].kind != PATTERN__SIZE) {
        pattern__wrong_kind(p, name, &r->pattern->names[n], "a size");
        return none;
    }
    return ind_int(p->g->context, prime[n % 8]);
}

/* Reads a size: a name, which may be new, or an expression. */
static bool pattern__need_size(ind__parser *p, pattern__size *out) {
    ind_expr e;
    ind__skip(p);
    const char *at = p->at;
    ind__parser ahead = {.at = at + ind__name_length(at), .brackets = p->brackets};
    ind__skip(&ahead);
    const bool single = ahead.at > at && (*ahead.at == ',' || *ahead.at == ']' || *ahead.at == ')');
    *out = (pattern__size){(uint32_t)(at - pattern__reader_of(p)->begin), IND__PATTERN_NO_NAME};
    if (single) out->name = pattern__name_here(p, PATTERN__SIZE, "a size");
    return single ? !p->status : ind__need_expr(p, &e);
}

/* Reads sizes up to "]"; the bracket before them has been read. */
static bool pattern__need_sizes(ind__parser *p, const pattern__size **list, int *count) {
    pattern__size size[IND__MAX_LIST];
    *count = 0;
    while (!p->status && !ind__peek(p, ']')) {
        if (*count == IND__MAX_LIST)
            return ind__parse_error(p, p->at, IND_ERROR_LIMIT, "more than %d sizes", IND__MAX_LIST);
        if (!pattern__need_size(p, &size[(*count)++])) return false;
        if (!ind__peek(p, ']') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \"]\"");
    }
    if (!ind__need(p, ']')) return false;
    *list = ind__arena_copy(&p->g->arena, size, (size_t)*count * sizeof *size);
    return *list || ind__parse_error(p, p->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
}

/* ---- inputs */

static bool pattern__need_class(ind__parser *p, pattern__type *t) {
    static const char *const word[] = {"any", "float", "integer", "number"};
    ind__skip(p);
    for (int k = 0; k < 4; k++) {
        if (!ind__take_word(p, word[k])) continue;
        t->class_of = (pattern__class)k;
        return true;
    }
    t->dtype = ind_dtype_parse(p->at, ind__name_length(p->at));
    if (t->dtype != IND_DTYPE_NONE) {
        t->class_of = PATTERN__FIXED;
        p->at += ind__name_length(p->at);
        return true;
    }
    if (!ind__name_length(p->at)) return ind__expected(p, "any, float, integer, number, an element type or a name");
    t->class_of = PATTERN__NAMED;
    t->name = pattern__name_here(p, PATTERN__DTYPE, "an element type");
    return !p->status;
}

/* class [ "[" [ ".." ] { size "," } "]" ] */
static bool pattern__need_type(ind__parser *p, pattern__type *t) {
    if (!pattern__need_class(p, t)) return false;
    if (!ind__take(p, '[')) return true;
    t->shaped = true;
    ind__skip(p);
    t->rest = p->at[0] == '.' && p->at[1] == '.';
    if (t->rest) {
        p->at += 2;
        if (!ind__peek(p, ']') && !ind__need(p, ',')) return false;
    }
    return pattern__need_sizes(p, &t->size, &t->rank);
}

static bool pattern__need_new_name(ind__parser *p, pattern__reader *r, const char *what, pattern__name **out) {
    char name[IND__MAX_NAME + 1];
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_new_name(p, what, name)) return false;
    if (pattern__find(r->pattern, name, strlen(name)) != IND__PATTERN_NO_NAME)
        return ind__parse_error(p, at, IND_ERROR_PARSE, "the name \"%s\" is already taken", name);
    *out = pattern__add_name(p, r, name, strlen(name), PATTERN__TENSOR);
    return *out != NULL;
}

/* "input" operand { "," operand } */
static void pattern__parse_inputs(ind__parser *p, pattern__reader *r) {
    pattern__name *n;
    do {
        if (!pattern__need_new_name(p, r, "the name of an input", &n)) return;
        if (ind__take(p, ':') && !pattern__need_type(p, &n->type)) return;
        n->constant = ind__take_word(p, "const");
        n->varying = !n->constant && ind__take_word(p, "varying");
        n->optional = ind__take_word(p, "optional");
    } while (ind__take(p, ','));
}

/* "shared" name { "," name } */
static void pattern__parse_shared(ind__parser *p, pattern__reader *r) {
    do {
        ind__skip(p);
        const uint32_t n = pattern__find(r->pattern, p->at, ind__name_length(p->at));
        if (n == IND__PATTERN_NO_NAME || !r->pattern->names[n].step) {
            ind__expected(p, "a result of an op above");
            return;
        }
        r->pattern->names[n].shared = true;
        p->at += ind__name_length(p->at);
    } while (ind__take(p, ','));
}

static void pattern__parse_guard(ind__parser *p, pattern__reader *r) {
    ind_expr e;
    ind__pattern *pt = r->pattern;
    ind__skip(p);
    if (pt->num_guards == IND__MAX_PATTERN_CONDITIONS) {
        ind__parse_error(p, p->at, IND_ERROR_LIMIT, "a pattern has at most %d guards", IND__MAX_PATTERN_CONDITIONS);
        return;
    }
    pt->guard[pt->num_guards++] = (uint32_t)(p->at - r->begin);
    ind__need_expr(p, &e);
}

/* test "(" name { "," name } ")" */
static bool pattern__parse_condition(ind__parser *p, pattern__reader *r) {
    ind__pattern *pt = r->pattern;
    ind__skip(p);
    const uint32_t test = pattern__find_test(p->at, ind__name_length(p->at));
    if (pt->num_conditions == IND__MAX_PATTERN_CONDITIONS)
        return ind__parse_error(p, p->at, IND_ERROR_LIMIT, "a pattern has at most %d conditions",
                                IND__MAX_PATTERN_CONDITIONS);
    if (test == PATTERN__NUM_TESTS) return ind__expected(p, "the name of a condition");
    const pattern__test *t = &pattern__tests[test];
    pattern__condition *c = &pt->condition[pt->num_conditions++];
    c->test = test;
    p->at += strlen(t->name);
    for (uint32_t k = 0; k < t->num; k++) {
        if (!ind__need(p, k ? ',' : '(')) return false;
        ind__skip(p);
        const uint32_t n = pattern__find(pt, p->at, ind__name_length(p->at));
        if (n == IND__PATTERN_NO_NAME || !pattern__testable(test, &pt->names[n])) return ind__expected(p, t->wanted);
        p->at += ind__name_length(p->at);
        c->name[k] = n;
        if (t->num == 1) c->name[1] = n;
    }
    return ind__need(p, ')');
}

/* "where" condition { "," condition } */
static void pattern__parse_where(ind__parser *p, pattern__reader *r) {
    while (pattern__parse_condition(p, r) && ind__take(p, ','))
        ;
}

/* ---- ops */

static uint32_t pattern__operand_name(ind__parser *p, const ind__parsed_call *call, uint32_t k) {
    pattern__reader *r = pattern__reader_of(p);
    ind__skip(p);
    const char *at = p->at;
    const size_t length = ind__name_length(at);
    const uint32_t n = pattern__find(r->pattern, at, length);
    const char *wanted = ind__number_allowed(call->op, k) ? "a tensor or a number" : "a tensor";
    if (!length) {
        ind__expected(p, wanted);
    } else if (n == IND__PATTERN_NO_NAME) {
        ind__parse_error(p, at, IND_ERROR_PARSE,
                         r->replacement ? "there is no tensor \"%.*s\" in the pattern"
                                        : "there is no tensor \"%.*s\" above this line; \"input %.*s\" declares one",
                         (int)length, at, (int)length, at);
    } else if (r->pattern->names[n].kind != PATTERN__TENSOR &&
               !(r->replacement && ind__number_allowed(call->op, k) && pattern__is_real(&r->pattern->names[n]))) {
        pattern__wrong_kind(p, at, &r->pattern->names[n], wanted);
    } else {
        p->at += length;
        r->pattern->names[n].used = true;
    }
    return n;
}

/* Reads an operand; *id is 1 + its name, 0 if absent. */
static bool pattern__read_operand(ind__parser *p, const ind__parsed_call *call, uint32_t k, uint32_t *id) {
    pattern__reader *r = pattern__reader_of(p);
    bool whole;
    ind__skip(p);
    if (ind__operand_row(call->schema, k)->optional && ind__take_word(p, "none")) return true;
    if (ind__number_length(p->at, &whole) && ind__number_allowed(call->op, k)) {
        ind__attr number = {.kind = IND__ATTR_SCALAR};
        pattern__name *n = NULL;
        *id = 1; /* in the replacement, any */
        if (!ind__need_scalar(p, &number) || r->replacement) return true;
        n = pattern__add_name(p, r, NULL, 0, PATTERN__NUMBER);
        if (n) n->number = number;
        *id = r->pattern->num_names;
        return true;
    }
    *id = pattern__operand_name(p, call, k) + 1;
    return true;
}

static bool pattern__at_literal(ind__parser *p, const ind__attr_schema *s) {
    bool whole;
    ind__skip(p);
    const size_t n = ind__name_length(p->at);
    if (!n || ind__number_length(p->at, &whole)) return true;
    if (s->kind == IND__ATTR_DTYPE && ind_dtype_parse(p->at, n) != IND_DTYPE_NONE) return true;
    return ind__reserved_name(p->at, n);
}

static bool pattern__is_size(ind__attr_kind kind) {
    return kind == IND__ATTR_INT || kind == IND__ATTR_SIZE;
}

/* Reads a name as the value of attribute i. */
static uint32_t pattern__attr_name(ind__parser *p, const ind__attr_schema *s) {
    const pattern__kind kind = pattern__is_size(s->kind)    ? PATTERN__SIZE
                               : s->kind == IND__ATTR_DTYPE ? PATTERN__DTYPE
                                                            : PATTERN__ATTR;
    pattern__reader *r = pattern__reader_of(p);
    const char *at = p->at;
    const uint32_t before = r->pattern->num_names,
                   n = pattern__name_here(p, kind, ind__attr_kind_rows[s->kind].description);
    if (p->status || kind != PATTERN__ATTR) return n;
    if (n == before) r->pattern->names[n].attr_kind = s->kind;
    if (r->pattern->names[n].attr_kind != s->kind)
        ind__parse_error(p, at, IND_ERROR_PARSE, "\"%s\" is %s; %s is needed here", r->pattern->names[n].name,
                         ind__attr_kind_rows[r->pattern->names[n].attr_kind].description,
                         ind__attr_kind_rows[s->kind].description);
    return n;
}

/* Finds the number that a name stands for; false: it is not a name for a number. */
typedef struct pattern__factor_fn {
    bool (*value)(const void *user, const char *name, size_t length, graph__typed_number *value);
    const void *user;
} pattern__factor_fn;

/* Reads a factor of a product: a number, or a name for one. */
static bool pattern__need_factor(ind__parser *p, const pattern__factor_fn *find, graph__typed_number *value) {
    ind__attr number = {.kind = IND__ATTR_SCALAR};
    bool whole;
    ind__skip(p);
    if (ind__number_length(p->at, &whole)) {
        *value = (graph__typed_number){IND_I64, 0, 0};
        if (ind__need_scalar(p, &number)) *value = graph__typed_number_of(&number);
        return !p->status;
    }
    const size_t length = ind__name_length(p->at);
    if (!length || !find->value(find->user, p->at, length, value)) return ind__expected(p, "a number of the pattern");
    p->at += length;
    return true;
}

/* Reads factor { ("*" | "/") factor }. One factor keeps its type; a product is computed in double. */
static bool pattern__need_product(ind__parser *p, const pattern__factor_fn *find, graph__typed_number *value) {
    graph__typed_number factor;
    if (!pattern__need_factor(p, find, value)) return false;
    for (bool times = ind__take(p, '*'); times || ind__take(p, '/'); times = ind__take(p, '*')) {
        if (!pattern__need_factor(p, find, &factor)) return false;
        const double a = graph__typed_number_value(*value), b = graph__typed_number_value(factor);
        *value = (graph__typed_number){IND_F64, 0, times ? a * b : a / b};
    }
    return true;
}

static bool pattern__is_number_name(const void *user, const char *name, size_t length, graph__typed_number *value) {
    const ind__pattern *pt = user;
    const uint32_t n = pattern__find(pt, name, length);
    *value = (graph__typed_number){IND_I64, 1, 0};
    return n != IND__PATTERN_NO_NAME && pt->names[n].kind == PATTERN__TENSOR &&
           pt->names[n].type.class_of == PATTERN__UNIFORM;
}

/* True at the value of a float or scalar that begins with a number or a name for one: a product in the replacement. */
static bool pattern__at_product(ind__parser *p, const ind__pattern *pt, const ind__attr_schema *s) {
    graph__typed_number one;
    bool whole;
    ind__skip(p);
    if (s->kind != IND__ATTR_FLOAT && s->kind != IND__ATTR_SCALAR) return false;
    const size_t length = ind__name_length(p->at);
    return ind__number_length(p->at, &whole) || (length && pattern__is_number_name(pt, p->at, length, &one));
}

/* Reads attribute i: a name, a size or a list of sizes; anything else is left to the parser. */
static bool pattern__read_attr(ind__parser *p, ind__parsed_call *call, uint32_t i) {
    const ind__attr_schema *s = &call->schema->attr[i];
    pattern__attr *a = pattern__reader_of(p)->step ? &pattern__reader_of(p)->step->attr[i] : &(pattern__attr){0};
    const pattern__factor_fn find = {pattern__is_number_name, pattern__reader_of(p)->pattern};
    pattern__size one;
    graph__typed_number value;
    const bool list = s->kind == IND__ATTR_INTS || s->kind == IND__ATTR_SIZES;
    if (s->kind == IND__ATTR_EXPRS)
        return ind__parse_error(p, p->at, IND_ERROR_NOT_SUPPORTED, "patterns have no ops with expressions"), true;
    if (list && ind__take(p, '[')) {
        a->form = PATTERN__SIZES;
        pattern__need_sizes(p, &a->size, &a->count);
        return true;
    }
    if (pattern__reader_of(p)->replacement && pattern__at_product(p, find.user, s))
        return (void)pattern__need_product(p, &find, &value), true;
    if (!pattern__at_literal(p, s)) {
        a->form = PATTERN__BOUND;
        a->name = pattern__attr_name(p, s);
        return true;
    }
    if (!pattern__is_size(s->kind) && !list) return false;
    if (!s->required && s->value.kind == IND__ATTR_NONE && ind__take_word(p, "none")) return true;
    a->form = PATTERN__SIZES;
    a->count = 1;
    if (!pattern__need_size(p, &one)) return true;
    a->size = ind__arena_copy(&p->g->arena, &one, sizeof one);
    if (!a->size) ind__parse_error(p, p->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
    return true;
}

/* Takes over operands and attributes of a call of the first part. */
static bool pattern__set_step(ind__parser *p, pattern__step *step, const ind__parsed_call *call) {
    step->op = call->op;
    step->function = call->function;
    step->num_operands = call->num_operands;
    step->operand = ind__arena_copy(&p->g->arena, call->operand, call->num_operands * sizeof *step->operand);
    step->commutative = ind__op_has(call->op, 'K') && call->num_operands == 2;
    for (uint32_t i = 0; i < step->num_attrs; i++) {
        pattern__attr *a = &step->attr[i];
        if (call->attr_set[i] && a->form == PATTERN__DEFAULT) {
            a->form = PATTERN__VALUE;
            a->value = call->attr[i];
            a->value.list = NULL;
        }
        step->commutative = step->commutative && a->form == PATTERN__DEFAULT;
    }
    if (call->function) step->attr[0] = (pattern__attr){.form = PATTERN__VALUE, .value = call->attr[0]};
    return step->operand || ind__parse_error(p, p->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
}

/* op "(" arguments ")" */
static bool pattern__parse_call(ind__parser *p, pattern__step *step) {
    ind__parsed_call call;
    memset(&call, 0, sizeof call);
    bool ok = ind__need_op(p, &call);
    const bool node = ok && !call.in_place && call.op != IND_OP_EXTERN && call.op != IND_OP_ASSOCIATIVE_SCAN;
    if (ok && (!node || (step && ind__op_has(call.op, 'E'))))
        ok = ind__parse_error(p, call.at, IND_ERROR_NOT_SUPPORTED,
                              !node ? "%s%s cannot be part of a pattern"
                                    : "%s%s is expanded when a graph is built; write the ops of its expansion",
                              ind__op_name(call.op), call.in_place ? "_" : "");
    if (ok && step) {
        step->num_attrs = call.schema->num_attrs;
        step->attr = ind__arena_alloc(&p->g->arena, (step->num_attrs + 1) * sizeof *step->attr);
        ok = step->attr || ind__parse_error(p, p->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    ok = ok && ind__parse_arguments(p, &call) && (!step || pattern__set_step(p, step, &call));
    ind__free(p->g->context, call.operand);
    return ok;
}

/* Reads one alternative: op(..), or a name. Returns its step. */
static pattern__step *pattern__parse_alternative(ind__parser *p, pattern__reader *r, uint32_t first,
                                                 uint32_t num_results) {
    ind__pattern *pt = r->pattern;
    ind__parsed_call any = {.op = IND_OP_ADD};
    if (pt->num_steps == IND__MAX_PATTERN_STEPS) {
        ind__parse_error(p, p->at, IND_ERROR_LIMIT, "a pattern has at most %d ops", IND__MAX_PATTERN_STEPS);
        return NULL;
    }
    pattern__step *step = &pt->step[pt->num_steps];
    step->first = first;
    step->num_results = num_results;
    r->step = step;
    if (ind__at_call(p)) {
        pattern__parse_call(p, step);
    } else {
        const uint32_t n = pattern__operand_name(p, &any, 0) + 1;
        *step = (pattern__step){.alias = true, .first = first, .num_results = 1, .num_operands = 1};
        step->operand = ind__arena_copy(&p->g->arena, &n, sizeof n);
        if (!step->operand) ind__parse_error(p, p->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    r->step = NULL;
    pt->num_steps += !p->status;
    return p->status ? NULL : step;
}

/* name [ ":" type ] { "," .. } "=" alternative { "|" alternative }, of the first part */
static void pattern__parse_step(ind__parser *p, pattern__reader *r) {
    ind__pattern *pt = r->pattern;
    pattern__name *n;
    uint32_t first = pt->num_names, num = 0, result[IND_MAX_RANK];
    do {
        if (num == IND_MAX_RANK) {
            ind__parse_error(p, p->at, IND_ERROR_LIMIT, "at most %d results", IND_MAX_RANK);
            return;
        }
        if (!pattern__need_new_name(p, r, "input, shared, guard, or NAME = OP(..)", &n)) return;
        result[num++] = (uint32_t)(n - pt->names);
    } while (ind__take(p, ','));
    for (uint32_t k = 0; num == 1 && ind__take(p, ':'); k++)
        if (k || !pattern__need_type(p, &n->type)) return;
    if (!ind__need(p, '=')) return;
    const uint32_t number = pt->num_steps + 1;
    pattern__step *last = pattern__parse_alternative(p, r, first, num);
    while (last && ind__take(p, '|')) {
        if (num > 1) {
            ind__parse_error(p, p->at, IND_ERROR_PARSE, "only an op with one result has alternatives");
            return;
        }
        last->other = pt->num_steps + 1;
        last = pattern__parse_alternative(p, r, first, num);
    }
    for (uint32_t k = 0; last && k < num; k++) {
        pt->names[result[k]].step = number;
        pt->names[result[k]].result = k;
    }
}

/* op(..), or the name of a tensor. */
static bool pattern__parse_made_alternative(ind__parser *p) {
    const ind__parsed_call any = {.op = IND_OP_CAT}; /* takes no numbers */
    if (ind__at_call(p)) return pattern__parse_call(p, NULL);
    pattern__operand_name(p, &any, 0);
    return !p->status;
}

/* A statement of the replacement. Results that the first part assigns are outputs. */
static void pattern__parse_made(ind__parser *p, pattern__reader *r) {
    ind__pattern *pt = r->pattern;
    uint32_t result[IND_MAX_RANK], num = 0;
    if (pt->num_made == IND__MAX_PATTERN_STEPS) {
        ind__parse_error(p, p->at, IND_ERROR_LIMIT, "a replacement has at most %d ops", IND__MAX_PATTERN_STEPS);
        return;
    }
    ind__skip(p);
    pt->made[pt->num_made++] = (uint32_t)(p->at - r->begin);
    const uint32_t before = pt->num_names;
    do {
        char name[IND__MAX_NAME + 1];
        const char *at = p->at;
        if (!ind__need_new_name(p, "NAME = OP(..)", name)) return;
        uint32_t n = pattern__find(pt, name, strlen(name));
        if (n == IND__PATTERN_NO_NAME && pattern__add_name(p, r, name, strlen(name), PATTERN__TENSOR))
            n = pt->num_names - 1;
        if (p->status) return;
        if (num == IND_MAX_RANK || (n < before && (!pt->names[n].step || pt->names[n].output))) {
            ind__parse_error(p, at, IND_ERROR_PARSE, "\"%s\" is not a result of the first part, or is assigned twice",
                             name);
            return;
        }
        result[num++] = n;
    } while (ind__take(p, ','));
    if (!ind__need(p, '=')) return;
    do {
        if (!pattern__parse_made_alternative(p)) return;
    } while (num == 1 && ind__take(p, '|'));
    for (uint32_t k = 0; k < num; k++) {
        pattern__name *n = &pt->names[result[k]];
        n->made = !n->step;
        n->output = n->step != 0;
    }
}

static void pattern__parse_line(ind__parser *p, pattern__reader *r) {
    if (r->replacement)
        pattern__parse_made(p, r);
    else if (ind__take_keyword(p, "input"))
        pattern__parse_inputs(p, r);
    else if (ind__take_keyword(p, "shared"))
        pattern__parse_shared(p, r);
    else if (ind__take_keyword(p, "guard"))
        pattern__parse_guard(p, r);
    else if (ind__take_keyword(p, "where"))
        pattern__parse_where(p, r);
    else if (ind__take_keyword(p, "off"))
        r->pattern->off = ind__need_text(p);
    else
        pattern__parse_step(p, r);
    if (!ind__peek(p, '\n') && !ind__peek(p, '}')) ind__expected(p, "the end of the line");
}

static bool pattern__parse_part(ind__parser *p, pattern__reader *r) {
    if (!ind__need(p, '{')) return false;
    for (ind__skip_lines(p); !p->status && !ind__peek(p, '}'); ind__skip_lines(p)) pattern__parse_line(p, r);
    return ind__need(p, '}');
}

/* ---- checks of a whole pattern */

/* Marks the steps that the root or a marked step connects: through an operand that both read, or a result. */
static bool pattern__connected(const ind__pattern *pt) {
    bool step[IND__MAX_PATTERN_STEPS] = {false}, name[IND__MAX_PATTERN_NAMES] = {false}, changed = true;
    uint32_t count = 0;
    for (step[pt->root] = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < pt->num_steps; i++) {
            const pattern__step *s = &pt->step[i];
            for (uint32_t k = 0; k < s->num_operands; k++)
                step[i] = step[i] || (s->operand[k] && name[s->operand[k] - 1]);
            for (uint32_t k = 0; k < s->num_results; k++) step[i] = step[i] || name[s->first + k];
            for (uint32_t k = 0; step[i] && k < s->num_operands + s->num_results; k++) {
                const uint32_t n = k < s->num_operands ? s->operand[k] - 1 : s->first + k - s->num_operands;
                if (n == IND__PATTERN_NO_NAME || pt->names[n].kind != PATTERN__TENSOR) continue;
                changed = changed || !name[n];
                name[n] = true;
            }
        }
    }
    for (uint32_t i = 0; i < pt->num_steps; i++) count += step[i];
    return count == pt->num_steps;
}

/* Returns a step that no output needs, with its result's name; NULL: there is none. */
static const char *pattern__unneeded(const ind__pattern *pt) {
    bool needed[IND__MAX_PATTERN_NAMES] = {false};
    for (uint32_t n = 0; n < pt->num_names; n++) needed[n] = pt->names[n].output;
    for (uint32_t i = pt->num_steps; i-- > 0;) {
        const pattern__step *s = &pt->step[i];
        bool used = s->root;
        for (uint32_t k = 0; k < s->num_results; k++) used = used || needed[s->first + k];
        for (uint32_t k = 0; used && k < s->num_operands; k++)
            if (s->operand[k]) needed[s->operand[k] - 1] = true;
        if (!used) return pt->names[s->first].name;
    }
    return NULL;
}

static bool pattern__check(ind__parser *p, ind__pattern *pt, const char *at) {
    bool output = false;
    for (uint32_t n = 0; n < pt->num_names; n++) {
        const pattern__name *name = &pt->names[n];
        if (name->kind == PATTERN__TENSOR && !name->step && !name->made && !name->used)
            return ind__parse_error(p, at, IND_ERROR_PARSE, "pattern %s: no op of the first part reads input %s",
                                    pt->name, name->name);
        if (!name->output) continue;
        if (pt->step[name->step - 1].other && output)
            return ind__parse_error(p, at, IND_ERROR_PARSE, "pattern %s: only a single output has alternatives",
                                    pt->name);
        for (uint32_t i = name->step; i; i = pt->step[i - 1].other)
            if (pt->step[i - 1].alias)
                return ind__parse_error(p, at, IND_ERROR_PARSE, "pattern %s: output %s may be no op", pt->name,
                                        name->name);
        pt->step[name->step - 1].root = true;
        pt->root = output && pt->root > name->step - 1 ? pt->root : name->step - 1;
        output = true;
    }
    if (!output)
        return ind__parse_error(p, at, IND_ERROR_PARSE,
                                "pattern %s: the replacement assigns no result of the first part", pt->name);
    const char *unneeded = pattern__unneeded(pt);
    if (unneeded) return ind__parse_error(p, at, IND_ERROR_PARSE, "pattern %s: no output needs %s", pt->name, unneeded);
    return pattern__connected(pt) ||
           ind__parse_error(p, at, IND_ERROR_PARSE, "pattern %s: its ops are not connected by tensors", pt->name);
}

/* first "=>" second */
static bool pattern__parse_parts(ind__parser *p, pattern__reader *r) {
    ind__parse_scope scope = {pattern__read_operand, pattern__read_attr, pattern__size_unknown, r};
    p->scope = &scope;
    bool ok = pattern__parse_part(p, r);
    ind__skip_lines(p);
    r->replacement = true;
    if (ok && p->at[0] == '=' && p->at[1] == '>') {
        p->at += 2;
        ok = pattern__parse_part(p, r);
    } else if (ok) {
        ok = ind__expected(p, "\"=>\"");
    }
    p->scope = NULL;
    return ok;
}

/* Moves names and steps, which were read to the largest arrays, to the arena. */
static bool pattern__keep(ind__arena *arena, ind__pattern *pt, const char *begin, size_t length) {
    pattern__name *names = ind__arena_copy(arena, pt->names, pt->num_names * sizeof *names);
    pattern__step *step = ind__arena_copy(arena, pt->step, pt->num_steps * sizeof *step);
    pt->names = names;
    pt->step = step;
    pt->text = ind__arena_string(arena, begin, length);
    return names && step && pt->text;
}

/* Reads a pattern after its keyword; `begin`: the position of that. Its memory is the arena of p->g. */
static ind__pattern *pattern__parse(ind__parser *p, const char *begin) {
    char name[IND__MAX_NAME + 1];
    ind_context *c = p->g->context;
    if (!ind__need_name(p, "the name of the pattern", name)) return NULL;
    pattern__name *names = ind__alloc(c, IND__MAX_PATTERN_NAMES * sizeof *names);
    pattern__step *steps = ind__alloc(c, IND__MAX_PATTERN_STEPS * sizeof *steps);
    ind__pattern *pt = ind__arena_alloc(&p->g->arena, sizeof *pt);
    pattern__reader r = {.pattern = pt, .begin = begin};
    bool ok = names && steps && pt && (pt->name = ind__arena_string(&p->g->arena, name, strlen(name))) != NULL;
    if (!ok) ind__parse_error(p, begin, IND_ERROR_OUT_OF_MEMORY, "out of memory");
    if (ok) {
        pt->names = names;
        pt->step = steps;
        ok = pattern__parse_parts(p, &r) && pattern__check(p, pt, begin);
    }
    if (ok && !pattern__keep(&p->g->arena, pt, begin, (size_t)(p->at - begin)))
        ok = ind__parse_error(p, begin, IND_ERROR_OUT_OF_MEMORY, "out of memory");
    ind__free(c, names);
    ind__free(c, steps);
    return ok ? pt : NULL;
}

/* "pattern" name ..: declares a pattern of the graph. */
static void ind__parse_pattern(ind__parser *p, const char *begin) {
    ind__pattern *pt = pattern__parse(p, begin);
    if (!pt) return;
    for (const ind__pattern *other = p->g->patterns; other; other = other->next)
        if (!strcmp(other->name, pt->name))
            ind__parse_error(p, begin, IND_ERROR_PARSE, "pattern %s is declared twice", pt->name);
    pt->next = p->g->patterns;
    p->g->patterns = pt;
}
