/* ---- values by kind */

static ind_expr ind__parser_find_size(const char *name, size_t length, void *user) {
    ind__parser *p = user;
    if (p->scope) return p->scope->size(p, name, length);
    ind_expr e = ind__find_size(p->g, name, length);
    if (!ind__ok(e)) {
        p->unknown = name;
        p->unknown_length = length;
    }
    return e;
}

static void ind__list_sizes(const ind_graph *g, char *out, size_t bytes) {
    size_t used = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < g->sizes.num && used < bytes; i++) {
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i ? ", " : "",
                                 ind_expr_symbol(g->sizes.symbol[i])->name);
    }
    if (g->sizes.num == 0) snprintf(out, bytes, "none");
}

static bool ind__need_expr(ind__parser *p, ind_expr *out) {
    ind__skip(p);
    if (p->status) return false;
    p->unknown = NULL;
    const char *end = p->at;
    *out = ind__expr_parse(p->g->context, p->at, &end, ind__parser_find_size, p);
    if (ind__ok(*out) && !p->as_written) *out = ind__under_facts(p->g, *out);
    if (ind__ok(*out)) {
        p->at = end;
        return true;
    }
    if (p->unknown) {
        char declared[300];
        ind__list_sizes(p->g, declared, sizeof declared);
        return ind__parse_error(p, p->unknown, IND_ERROR_PARSE, "size \"%.*s\" is not declared; declared: %s",
                                (int)(p->unknown_length > 60 ? 60 : p->unknown_length), p->unknown, declared);
    }
    ind_status s = ind_error_status(p->g->context);
    char found[64];
    return ind__parse_error(p, end, s ? s : IND_ERROR_PARSE, "bad expression at %s: %s",
                            ind__found(end, found, sizeof found), ind_error(p->g->context));
}

#define IND__MAX_LIST 16 /* longer than any valid list of dimensions */

/* flags: true and false mean 1 and 0. */
static bool ind__need_list(ind__parser *p, ind_expr list[IND__MAX_LIST], int *count, bool flags) {
    *count = 0;
    if (!ind__need(p, '[')) return false;
    while (!p->status && !ind__peek(p, ']')) {
        if (*count == IND__MAX_LIST) {
            return ind__parse_error(p, p->at, IND_ERROR_LIMIT, "more than %d dimensions; at most %d are possible",
                                    IND__MAX_LIST, IND_MAX_RANK);
        }
        bool yes = flags && ind__take_word(p, "true"), no = flags && !yes && ind__take_word(p, "false");
        if (yes || no)
            list[(*count)++] = ind_int(p->g->context, yes);
        else if (!ind__need_expr(p, &list[(*count)++]))
            return false;
        if (!ind__peek(p, ']') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \"]\"");
    }
    return ind__need(p, ']');
}

static bool ind__need_exprs(ind__parser *p, ind_expr list[IND__MAX_LIST], int *count) {
    return ind__need_list(p, list, count, false);
}

static bool ind__need_dtype(ind__parser *p, ind_dtype *dtype) {
    static const char all[] = ""
#define X(name, text, bytes, cls, ctype) " " text
        IND_DTYPES(X)
#undef X
        ;
    char found[64];
    ind__skip(p);
    size_t n = ind__name_length(p->at);
    *dtype = ind_dtype_parse(p->at, n);
    if (*dtype == IND_DTYPE_NONE) {
        return ind__parse_error(p, p->at, IND_ERROR_PARSE, "expected an element type, found %s; allowed:%s",
                                ind__found(p->at, found, sizeof found), all);
    }
    p->at += n;
    return true;
}

static bool ind__need_type(ind__parser *p, ind__type *type) {
    ind_expr list[IND__MAX_LIST];
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_dtype(p, &type->dtype) || !ind__need_exprs(p, list, &type->rank)) return false;
    if (type->rank > IND_MAX_RANK) {
        return ind__parse_error(p, at, IND_ERROR_LIMIT, "%d dimensions; at most %d are possible", type->rank,
                                IND_MAX_RANK);
    }
    memcpy(type->size, list, sizeof type->size);
    return true;
}

static bool ind__need_scalar(ind__parser *p, ind__attr *a) {
    ind__skip(p);
    size_t n = ind__number_length(p->at, &a->is_int);
    if (p->status) return false;
    if (n == 0) return ind__expected(p, "a number");
    if (a->is_int) return ind__need_int(p, &a->i);
    if (!ind__parse_double(p->at, n, &a->f)) return ind__expected(p, "a number");
    p->at += n;
    return true;
}

/* Reads a string = double quotes on one line; \n is a new line, \" a quote, \\ a backslash, and other escapes are
   errors. Returns its text, in the graph's memory; NULL: an error. */
static const char *ind__need_text(ind__parser *p) {
    if (!ind__peek(p, '"')) return ind__expected(p, "a string in double quotes"), NULL;
    const char *begin = p->at, *end = begin + 1;
    while (*end && *end != '"' && *end != '\n') end += *end == '\\' && end[1] && end[1] != '\n' ? 2 : 1;
    if (*end != '"') return ind__parse_error(p, begin, IND_ERROR_PARSE, "the string does not end on its line"), NULL;
    char *text = (char *)ind__arena_alloc(&p->g->arena, (size_t)(end - begin)), *to = text;
    if (!text) return ind__parse_error(p, begin, IND_ERROR_OUT_OF_MEMORY, "out of memory"), NULL;
    for (const char *s = begin + 1; s < end; s++) {
        const bool escape = *s == '\\';
        if (escape && !strchr("n\"\\", *++s))
            return ind__parse_error(p, s - 1, IND_ERROR_PARSE, "unknown escape; \\n, \\\" and \\\\ are allowed"), NULL;
        *to++ = *s;
        if (escape && *s == 'n') to[-1] = '\n';
    }
    p->at = end + 1;
    return text;
}

static bool ind__need_string(ind__parser *p, ind__attr *a) {
    a->s = ind__need_text(p);
    return a->s != NULL;
}

static bool ind__need_bool(ind__parser *p, ind__attr *a) {
    a->i = ind__take_word(p, "true");
    return a->i || ind__take_word(p, "false") || ind__expected(p, "true or false");
}

/* Reads [1, 2]; one integer is a list of one. */
static bool ind__need_ints(ind__parser *p, ind__attr *a, ind_expr list[IND__MAX_LIST]) {
    int64_t v;
    a->count = 1;
    if (ind__peek(p, '[')) return ind__need_list(p, list, &a->count, true);
    if (!ind__need_int(p, &v)) return false;
    list[0] = ind_int(p->g->context, v);
    return true;
}

/* Reads [B, 2]; one size is a list of one. */
static bool ind__need_size_list(ind__parser *p, ind__attr *a, ind_expr list[IND__MAX_LIST]) {
    a->count = 1;
    return ind__peek(p, '[') ? ind__need_exprs(p, list, &a->count) : ind__need_expr(p, &list[0]);
}

/* Reads [1.5, 2]; one number is a list of one. */
static bool ind__need_floats(ind__parser *p, ind__attr *a) {
    ind__attr number = {.kind = IND__ATTR_SCALAR};
    double v[IND_MAX_RANK];
    bool list = ind__peek(p, '[');
    if (list) ind__need(p, '[');
    while (!p->status && !(list && ind__peek(p, ']')) && (list || a->count == 0)) {
        if (a->count == IND_MAX_RANK)
            return ind__parse_error(p, p->at, IND_ERROR_LIMIT, "more than %d numbers", IND_MAX_RANK);
        if (!ind__need_scalar(p, &number)) return false;
        v[a->count++] = number.is_int ? (double)number.i : number.f;
        if (list && !ind__peek(p, ']') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \"]\"");
    }
    if (list && !ind__need(p, ']')) return false;
    if (a->count == 0) return true;
    a->floats = ind__arena_copy(&p->g->arena, v, (size_t)a->count * sizeof *v);
    return a->floats || ind__parse_error(p, p->at, IND_ERROR_OUT_OF_MEMORY, "out of memory");
}

/* Reads the value of an attribute; list: a buffer for its elements. */
static bool ind__need_value(ind__parser *p, const ind__attr_schema *s, ind__attr *a, ind_expr list[IND__MAX_LIST]) {
    ind_dtype dtype;
    memset(a, 0, sizeof *a);
    if (!s->required && s->value.kind == IND__ATTR_NONE && ind__take_word(p, "none")) return true;
    a->kind = s->kind;
    a->list = list;
    switch (s->kind) {
    case IND__ATTR_INT: return ind__need_int(p, &a->i);
    case IND__ATTR_BOOL: return ind__need_bool(p, a);
    case IND__ATTR_STR: return ind__need_string(p, a);
    case IND__ATTR_INTS: return ind__need_ints(p, a, list);
    case IND__ATTR_SIZES:
        if (!ind__peek(p, '"')) return ind__need_size_list(p, a, list);
        a->kind = IND__ATTR_STR; /* padding="same"; an error elsewhere */
        return ind__need_string(p, a);
    case IND__ATTR_FLOATS: return ind__need_floats(p, a);
    case IND__ATTR_SIZE: return ind__need_expr(p, &a->e);
    case IND__ATTR_SCALAR: return ind__need_scalar(p, a);
    case IND__ATTR_DTYPE:
        if (!ind__need_dtype(p, &dtype)) return false;
        a->i = dtype;
        return true;
    default:
        if (!ind__need_scalar(p, a)) return false;
        if (a->is_int) a->f = (double)a->i;
        a->is_int = false;
        a->i = 0;
        return true;
    }
}
