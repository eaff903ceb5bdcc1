/* ---- reading: operator precedence with explicit stacks, so nesting of the text does not use the C stack. A chain a +
   b - c .. is collected and built once, which makes long sums linear. */

#define IR__MAX_NESTING   1000  /* open operators and parentheses; more than any printed text has */
#define IR__MAX_ARGUMENTS 65536 /* of Min and Max */
#define IR__MAX_EXPONENT  64

enum { /* operations of the text that are neither kinds nor forms */
       IR__READ_SUB = IR__NUM_FORM_OPS,
       IR__READ_POWER,
       IR__READ_PLUS,
       IR__READ_ABS,
       IR__READ_MODULAR,
       IR__READ_GROUP,
       IR__READ_CALL
};

typedef struct ir__function {
    const char *name;
    int least, most; /* arguments */
    int op;
    bool swap; /* Gt(a, b) is Lt(b, a) */
} ir__function;

/* Functions that may be called. The names after the mark are those of other tools. */
static const ir__function ir__functions[] = {
    {"Min", 2, IR__MAX_ARGUMENTS, IND_EXPR_MIN, false},
    {"Max", 2, IR__MAX_ARGUMENTS, IND_EXPR_MAX, false},
    {"Where", 3, 3, IND_EXPR_WHERE, false},
    {"CeilDiv", 2, 2, IR__FORM_CEILDIV, false},
    {"ModularIndexing", 3, 3, IR__READ_MODULAR, false},
    /* ---- */
    {"FloorDiv", 2, 2, IND_EXPR_FLOORDIV, false},
    {"CleanDiv", 2, 2, IND_EXPR_FLOORDIV, false},
    {"Mod", 2, 2, IND_EXPR_MOD, false},
    {"PythonMod", 2, 2, IND_EXPR_MOD, false},
    {"Abs", 1, 1, IR__READ_ABS, false},
    {"Identity", 1, 1, IR__READ_PLUS, false},
    {"Eq", 2, 2, IND_EXPR_EQ, false},
    {"Ne", 2, 2, IND_EXPR_NE, false},
    {"Lt", 2, 2, IND_EXPR_LT, false},
    {"Le", 2, 2, IND_EXPR_LE, false},
    {"Gt", 2, 2, IND_EXPR_LT, true},
    {"Ge", 2, 2, IND_EXPR_LE, true},
    {"And", 2, IR__MAX_ARGUMENTS, IND_EXPR_AND, false},
    {"Or", 2, IR__MAX_ARGUMENTS, IND_EXPR_OR, false},
    {"Not", 1, 1, IND_EXPR_NOT, false},
};

typedef struct ir__infix {
    const char *token;
    int strength, op;
    bool swap;
} ir__infix;

static const ir__infix ir__infixes[] = {
    {"or", 1, IND_EXPR_OR, false},       {"and", 2, IND_EXPR_AND, false},  {"==", 4, IND_EXPR_EQ, false},
    {"!=", 4, IND_EXPR_NE, false},       {"<=", 4, IND_EXPR_LE, false},    {">=", 4, IND_EXPR_LE, true},
    {"<", 4, IND_EXPR_LT, false},        {">", 4, IND_EXPR_LT, true},      {"+", 5, IND_EXPR_ADD, false},
    {"-", 5, IR__READ_SUB, false},       {"**", 8, IR__READ_POWER, false}, {"*", 6, IND_EXPR_MUL, false},
    {"//", 6, IND_EXPR_FLOORDIV, false}, {"%", 6, IND_EXPR_MOD, false},
};

/* An operator that awaits its right operand, or an open parenthesis. */
typedef struct ir__open {
    int op, strength; /* strength 0: a parenthesis */
    bool swap, minus; /* minus: ADD whose next value is subtracted */
    const ir__function *function;
    uint32_t values; /* index of the first of its values */
    const char *at;  /* its token */
} ir__open;

typedef struct ir__expr_parser {
    ind_context *context;
    const char *text, *at;
    ind__find_symbol_fn find;
    void *user;
    ir__open *open;
    uint32_t num_open, cap_open;
    ind_expr *value;
    uint32_t num_values, cap_values;
    const char **before; /* per value: the operator before it */
    uint32_t num_before, cap_before;
    bool operand; /* expects an operand next */
} ir__expr_parser;

static bool ir__name_char(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

static void ir__skip_space(ir__expr_parser *p) {
    while (*p->at == ' ' || *p->at == '\t') p->at++;
}

/* Records a failure at `at`; returns false. */
static bool ir__parse_fail(ir__expr_parser *p, const char *at, ind_status status, const char *what) {
    p->at = at;
    ind__fail(p->context, status, "%s", what);
    return false;
}

static bool ir__push_value(ir__expr_parser *p, ind_expr e, const char *at) {
    if (!ind__ok(e)) {
        p->at = at;
        return false;
    }
    ind_expr *v = IND__PUSH(p->context, ind_expr, p->value, p->num_values, p->cap_values);
    const char **before = v ? IND__PUSH(p->context, const char *, p->before, p->num_before, p->cap_before) : NULL;
    if (!before) return false;
    *v = e;
    *before = p->num_open ? p->open[p->num_open - 1].at : at;
    p->operand = false;
    return true;
}

static bool ir__push_open(ir__expr_parser *p, int op, int strength, const char *at) {
    if (p->num_open == IR__MAX_NESTING) {
        p->at = at;
        ind__fail(p->context, IND_ERROR_LIMIT, "the expression is nested more than %d levels deep", IR__MAX_NESTING);
        return false;
    }
    ir__open *o = IND__PUSH(p->context, ir__open, p->open, p->num_open, p->cap_open);
    if (!o) return false;
    o->op = op;
    o->strength = strength;
    o->at = at;
    o->values = p->num_values;
    p->operand = true;
    return true;
}

/* ---- building */

/* Combines conditions as a balanced tree, so a long chain does not become a deep expression. */
static ind_expr ir__balanced_tree(int op, const ind_expr *v, int n) {
    if (n == 1) return v[0];
    ind_expr a = ir__balanced_tree(op, v, n - n / 2), b = ir__balanced_tree(op, v + (n - n / 2), n / 2);
    return op == IND_EXPR_AND ? ind_expr_and(a, b) : ind_expr_or(a, b);
}

static ind_expr ir__power(ind_expr base, ind_expr exponent) {
    int64_t n;
    if (!ind_expr_is_int(exponent, &n) || n < 0 || n > IR__MAX_EXPONENT) {
        ind__fail(base.context, IND_ERROR_PARSE, "the exponent has to be a number from 0 to %d", IR__MAX_EXPONENT);
        return ir__expr_none(base.context);
    }
    ind_expr factor[IR__MAX_EXPONENT];
    for (int64_t i = 0; i < n; i++) factor[i] = base;
    return ind_expr_product(base.context, factor, (int)n);
}

static ind_expr ir__make_nary(int op, ind_context *c, const ind_expr *v, int n) {
    switch (op) {
    case IND_EXPR_ADD: return ind_expr_sum(c, v, n);
    case IND_EXPR_MUL: return ind_expr_product(c, v, n);
    case IND_EXPR_MIN: return ind_expr_min_of(c, v, n);
    case IND_EXPR_MAX: return ind_expr_max_of(c, v, n);
    case IND_EXPR_AND:
    case IND_EXPR_OR: return ir__balanced_tree(op, v, n);
    case IND_EXPR_FLOORDIV: return ind_expr_floordiv(v[0], v[1]);
    case IND_EXPR_MOD: return ind_expr_mod(v[0], v[1]);
    case IND_EXPR_EQ: return ind_expr_eq(v[0], v[1]);
    case IND_EXPR_NE: return ind_expr_ne(v[0], v[1]);
    case IND_EXPR_LT: return ind_expr_lt(v[0], v[1]);
    case IND_EXPR_LE: return ind_expr_le(v[0], v[1]);
    case IND_EXPR_NOT: return ind_expr_not(v[0]);
    case IND_EXPR_WHERE: return ind_expr_where(v[0], v[1], v[2]);
    case IR__FORM_NEG: return ind_expr_neg(v[0]);
    case IR__FORM_CEILDIV: return ind_expr_ceildiv(v[0], v[1]);
    case IR__READ_MODULAR: return ind_expr_modular(v[0], v[1], v[2]);
    case IR__READ_ABS: return ind_expr_max(v[0], ind_expr_neg(v[0]));
    case IR__READ_POWER: return ir__power(v[0], v[1]);
    default: return v[0];
    }
}

/* Locates the failure of a sum or product of n values: the operator before the first value that makes it fail. */
static const char *ir__failing_operator(ir__expr_parser *p, const ir__open *o, int n) {
    int good = 1, bad = n;
    while (bad - good > 1) {
        int middle = good + (bad - good) / 2;
        if (ind__ok(ir__make_nary(o->op, p->context, p->value + o->values, middle)))
            good = middle;
        else
            bad = middle;
    }
    if (n > 2) ir__make_nary(o->op, p->context, p->value + o->values, bad); /* sets the error message */
    return p->before[o->values + (uint32_t)bad - 1];
}

/* Subtraction: negates the last value of an open sum. If it has no 64-bit negation, it is subtracted from the sum of
   the values before it, which become 0. */
static bool ir__settle_minus(ir__expr_parser *p, ir__open *o) {
    if (!o->minus) return true;
    o->minus = false;
    ind_expr *last = &p->value[p->num_values - 1];
    bool failed;
    ind_expr minus = ir__quiet_neg(*last, &failed);
    if (!ind__ok(minus) && !failed) {
        ind_expr *first = &p->value[o->values];
        minus = ind_expr_sub(ind_expr_sum(p->context, first, (int)(last - first)), *last);
        while (first < last) *first++ = ind_int(p->context, 0);
    }
    *last = minus;
    if (!ind__ok(*last)) p->at = p->before[p->num_values - 1];
    return ind__ok(*last);
}

/* Builds the operator on top of the stack from its values. */
static bool ir__reduce(ir__expr_parser *p) {
    ir__open o = p->open[p->num_open - 1];
    if (!ir__settle_minus(p, &o)) return false;
    ind_expr *v = p->value + o.values;
    int n = (int)(p->num_values - o.values);
    if (o.swap && n == 2) {
        ind_expr first = v[0];
        v[0] = v[1];
        v[1] = first;
    }
    ind_expr e = ir__make_nary(o.op, p->context, v, n);
    if (!ind__ok(e)) {
        bool chain = o.op == IND_EXPR_ADD || o.op == IND_EXPR_MUL;
        p->at = chain && n > 1 ? ir__failing_operator(p, &o, n) : o.at;
        return false;
    }
    v[0] = e;
    p->num_open--;
    p->num_values = p->num_before = o.values + 1;
    p->before[o.values] = p->num_open ? p->open[p->num_open - 1].at : o.at;
    return true;
}

/* Builds all operators that bind more strongly than this. */
static bool ir__reduce_above(ir__expr_parser *p, int strength) {
    while (p->num_open && p->open[p->num_open - 1].strength > strength)
        if (!ir__reduce(p)) return false;
    return true;
}

/* ---- operands */

/* 2^63 is only valid after a minus sign. */
static bool ir__parse_least_integer(ir__expr_parser *p, const char *begin) {
    bool minus = p->num_open && p->open[p->num_open - 1].op == IR__FORM_NEG;
    ir__skip_space(p);
    if (!minus || (p->at[0] == '*' && p->at[1] == '*'))
        return ir__parse_fail(p, begin, IND_ERROR_OVERFLOW, "the number exceeds 64 bits");
    p->num_open--;
    return ir__push_value(p, ind_int(p->context, INT64_MIN), begin);
}

static bool ir__parse_number(ir__expr_parser *p) {
    const uint64_t most = (uint64_t)INT64_MAX + 1; /* after a minus sign */
    uint64_t v = 0;
    const char *begin = p->at;
    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        const uint64_t digit = (uint64_t)(*p->at - '0');
        if (v > (most - digit) / 10) return ir__parse_fail(p, begin, IND_ERROR_OVERFLOW, "the number exceeds 64 bits");
        v = v * 10 + digit;
    }
    if (v > (uint64_t)INT64_MAX) return ir__parse_least_integer(p, begin);
    return ir__push_value(p, ind_int(p->context, (int64_t)v), begin);
}

static bool ir__word_is(const char *name, size_t length, const char *word) {
    return strlen(word) == length && !memcmp(name, word, length);
}

static bool ir__parse_call(ir__expr_parser *p, const char *name, size_t length) {
    const ir__function *f = NULL;
    for (size_t i = 0; i < sizeof ir__functions / sizeof *ir__functions; i++)
        if (ir__word_is(name, length, ir__functions[i].name)) f = &ir__functions[i];
    if (!f) {
        p->at = name;
        ind__fail(p->context, IND_ERROR_PARSE,
                  "unknown function %.*s; known are Min, Max, Where, CeilDiv and ModularIndexing",
                  (int)(length < 64 ? length : 64), name);
        return false;
    }
    p->at++;
    if (!ir__push_open(p, IR__READ_CALL, 0, name)) return false;
    p->open[p->num_open - 1].function = f;
    return true;
}

static bool ir__parse_not(ir__expr_parser *p, const char *name) {
    if (p->num_open && p->open[p->num_open - 1].strength > 3)
        return ir__parse_fail(p, name, IND_ERROR_PARSE, "not binds less than the operator before it: write (not ..)");
    return ir__push_open(p, IND_EXPR_NOT, 3, name);
}

static bool ir__parse_name(ir__expr_parser *p) {
    const char *name = p->at;
    while (ir__name_char(*p->at, p->at == name)) p->at++;
    size_t length = (size_t)(p->at - name);
    if (ir__word_is(name, length, "not")) return ir__parse_not(p, name);
    if (ir__word_is(name, length, "and") || ir__word_is(name, length, "or"))
        return ir__parse_fail(p, name, IND_ERROR_PARSE, "expected a number, a declared size or '('");
    const char *after = p->at;
    ir__skip_space(p);
    if (*p->at == '(') return ir__parse_call(p, name, length);
    p->at = after;
    ind_expr e = p->find ? p->find(name, length, p->user) : ir__expr_none(p->context);
    if (ind__ok(e)) return ir__push_value(p, e, name);
    bool word = ir__word_is(name, length, "True") || ir__word_is(name, length, "False");
    if (word) return ir__push_value(p, ind_int(p->context, *name == 'T'), name);
    p->at = name;
    ind__fail(p->context, IND_ERROR_PARSE, "size %.*s is not declared", (int)(length < 64 ? length : 64), name);
    return false;
}

static bool ir__parse_operand(ir__expr_parser *p) {
    const char *at = p->at;
    if (*at >= '0' && *at <= '9') return ir__parse_number(p);
    if (ir__name_char(*at, true)) return ir__parse_name(p);
    if (*at != '-' && *at != '+' && *at != '(')
        return ir__parse_fail(p, at, IND_ERROR_PARSE, "expected a number, a declared size or '('");
    p->at++;
    if (*at == '(') return ir__push_open(p, IR__READ_GROUP, 0, at);
    return ir__push_open(p, *at == '-' ? IR__FORM_NEG : IR__READ_PLUS, 7, at);
}

/* ---- operators */

static const ir__infix *ir__take_infix(ir__expr_parser *p) {
    for (size_t i = 0; i < sizeof ir__infixes / sizeof *ir__infixes; i++) {
        const char *token = ir__infixes[i].token;
        size_t n = strlen(token);
        if (strncmp(p->at, token, n)) continue;
        if (ir__name_char(token[0], true) && ir__name_char(p->at[n], false)) continue;
        p->at += n;
        return &ir__infixes[i];
    }
    return NULL;
}

static bool ir__is_nary(int op) {
    return op == IND_EXPR_ADD || op == IND_EXPR_MUL || op == IND_EXPR_AND || op == IND_EXPR_OR;
}

/* An infix operator: continues the open chain of its kind, or opens one over the value before it. */
static bool ir__parse_infix(ir__expr_parser *p, const ir__infix *x, const char *at) {
    int op = x->op == IR__READ_SUB ? IND_EXPR_ADD : x->op;
    if (!ir__reduce_above(p, x->op == IR__READ_POWER ? 8 : x->strength)) return false; /* ** binds to the right */
    ir__open *top = p->num_open ? &p->open[p->num_open - 1] : NULL;
    if (top && top->strength == x->strength && x->strength == 4)
        return ir__parse_fail(p, at, IND_ERROR_PARSE, "a chain of comparisons: write a < b and b < c");
    if (top && top->op == op && ir__is_nary(op)) {
        if (!ir__settle_minus(p, top)) return false;
        top->at = at;
    } else {
        if (top && top->strength == x->strength && x->op != IR__READ_POWER && !ir__reduce(p)) return false;
        if (!ir__push_open(p, op, x->strength, at)) return false;
        top = &p->open[p->num_open - 1];
        top->swap = x->swap;
        top->values--;
    }
    top->minus = x->op == IR__READ_SUB;
    p->operand = true;
    return true;
}

static bool ir__finish_call(ir__expr_parser *p) {
    ir__open *o = &p->open[p->num_open - 1];
    const ir__function *f = o->function;
    int n = (int)(p->num_values - o->values);
    if (n < f->least || n > f->most) {
        p->at = o->at;
        ind__fail(p->context, IND_ERROR_PARSE, "wrong number of arguments: %s takes %d%s, not %d", f->name, f->least,
                  f->most > f->least ? " or more" : "", n);
        return false;
    }
    o->op = f->op;
    o->swap = f->swap;
    return ir__reduce(p);
}

/* Builds everything up to the innermost parenthesis; *done if there is none. */
static bool ir__parse_close(ir__expr_parser *p, bool *done) {
    const char *at = p->at;
    if (!ir__reduce_above(p, 0)) return false;
    *done = !p->num_open;
    if (*done) return true;
    bool call = p->open[p->num_open - 1].op == IR__READ_CALL;
    p->at++;
    if (*at == ',' && call) {
        p->operand = true;
        return true;
    }
    if (*at != ')') return ir__parse_fail(p, at, IND_ERROR_PARSE, call ? "expected ',' or ')'" : "expected ')'");
    if (call) return ir__finish_call(p);
    p->num_open--; /* ( value ) */
    p->before[p->num_values - 1] = p->num_open ? p->open[p->num_open - 1].at : at;
    return true;
}

static bool ir__parse_operator(ir__expr_parser *p, bool *done) {
    const char *at = p->at;
    const ir__infix *x = ir__take_infix(p);
    return x ? ir__parse_infix(p, x, at) : ir__parse_close(p, done);
}

ind_expr ind__expr_parse(ind_context *c, const char *text, const char **end, ind__find_symbol_fn find, void *user) {
    ir__expr_parser p = {.context = c, .text = text, .at = text, .find = find, .user = user, .operand = true};
    bool done = false, ok = true;
    while (ok && !done) {
        ir__skip_space(&p);
        ok = p.at - text <= IR__MAX_TEXT ||
             ir__parse_fail(&p, text + IR__MAX_TEXT, IND_ERROR_LIMIT, "the text is too long");
        if (ok) ok = p.operand ? ir__parse_operand(&p) : ir__parse_operator(&p, &done);
    }
    ind_expr e = ok ? p.value[0] : ir__expr_none(c);
    if (end) *end = p.at;
    ind__free(c, p.open);
    ind__free(c, p.value);
    ind__free(c, p.before);
    return e;
}

ind_expr ind_expr_parse(ind_context *c, const char *text, ind_find_symbol_fn find, void *user, int *column) {
    if (column) *column = 0;
    if (!c) return ir__expr_none(c);
    if (!text) {
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "ind_expr_parse: no text");
        return ir__expr_none(c);
    }
    const char *end = text;
    ind_expr e = ind__expr_parse(c, text, &end, find, user);
    bool read = ind__ok(e);
    if (read && *end) ind__fail(c, IND_ERROR_PARSE, "expected an operator or the end of the text");
    if (read && !*end) return e;
    if (column && ind_error_status(c) != IND_ERROR_OUT_OF_MEMORY) *column = (int)(end - text) + 1;
    return ir__expr_none(c);
}
