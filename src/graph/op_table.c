/* ---------------------------------------------------------------------------------------------- >>op-table */

#define IND__MAX_OPERANDS 8
#define IND__MAX_ATTRS    12
#define IND__MAX_RESULTS  1024

static const struct ind__op_row {
    const char *name, *operands, *attributes;
    uint32_t results;
    const char *flags;
} ind__op_rows[IND_NUM_OPS] = {
#define X(name, text, operands, attributes, results, flags) {text, operands, attributes, results, flags},
    IND_OPS(X) IND_COMPOSITES(X)
#undef X
};

static const struct ind__attr_kind_row {
    const char *name, *description;
} ind__attr_kind_rows[IND__NUM_ATTR_KINDS] = {
#define X(name, text, description) {text, description},
    IND__ATTR_KINDS(X)
#undef X
};

typedef struct ind__operand_schema {
    const char *name; /* not terminated: points into the table */
    int length;
    bool optional, list; /* both: elements of the list may be absent */
} ind__operand_schema;

typedef struct ind__attr_schema {
    const char *name;
    int length;
    ind__attr_kind kind;
    bool required;
    ind__attr value; /* the default */
} ind__attr_schema;

typedef struct ind__schema {
    uint32_t num_operands, num_attrs;
    ind__operand_schema operand[IND__MAX_OPERANDS];
    ind__attr_schema attr[IND__MAX_ATTRS];
} ind__schema;

bool ind__op_has(ind_graph_op op, char flag) {
    return strchr(ind__op_rows[op].flags, flag) != NULL;
}

const char *ind__op_name(ind_graph_op op) {
    return (unsigned)op < IND_NUM_OPS ? ind__op_rows[op].name : "?";
}

/* Counts the operands that are not a list; a list comes last. */
static uint32_t ind__num_single(const ind__schema *s) {
    return s->num_operands - (s->num_operands && s->operand[s->num_operands - 1].list);
}

/* Returns the schema of operand k of a node; elements of the list share one. */
static const ind__operand_schema *ind__operand_row(const ind__schema *s, uint32_t k) {
    return &s->operand[k < s->num_operands ? k : s->num_operands - 1];
}

static bool ind__same_name(const char *a, size_t a_length, const char *b, size_t b_length) {
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

static ind__attr_kind ind__attr_kind_named(const char *name, size_t length) {
    int k = IND__ATTR_NONE;
    for (int i = 0; i < IND__NUM_ATTR_KINDS; i++) {
        if (ind__same_name(name, length, ind__attr_kind_rows[i].name, strlen(ind__attr_kind_rows[i].name))) k = i;
    }
    return (ind__attr_kind)k;
}

/* Reads an integer of the table's defaults; they are small. */
static int64_t ind__digits(const char *s, size_t n) {
    int64_t v = 0;
    bool negative = n > 0 && s[0] == '-';
    for (size_t i = negative; i < n && s[i] >= '0' && s[i] <= '9'; i++) v = v * 10 + (s[i] - '0');
    return negative ? -v : v;
}

static void ind__schema_default(ind_context *c, ind__arena *arena, ind__attr_schema *a, const char *s, size_t n) {
    ind__attr *v = &a->value;
    if (ind__same_name(s, n, "none", 4)) return;
    v->kind = a->kind;
    v->is_int = true;
    v->i = ind__digits(s, n);
    if (a->kind == IND__ATTR_BOOL) v->i = s[0] == 't';
    if (a->kind == IND__ATTR_DTYPE) v->i = ind_dtype_parse(s, n);
    if (a->kind == IND__ATTR_FLOAT) ind__parse_double(s, n, &v->f);
    if (a->kind == IND__ATTR_SIZE) v->e = ind_int(c, v->i);
    if (a->kind == IND__ATTR_STR) v->s = ind__arena_string(arena, s + 1, n - 2);
}

static void ind__schema_parse_attr(ind_context *c, ind__arena *arena, ind__attr_schema *a, const char *s, size_t n) {
    const char *colon = memchr(s, ':', n), *equals = memchr(s, '=', n), *end = s + n;
    const char *kind_end = equals ? equals : end;
    a->name = s;
    a->length = (int)(colon - s);
    a->kind = ind__attr_kind_named(colon + 1, (size_t)(kind_end - colon - 1));
    a->required = !equals;
    if (equals) ind__schema_default(c, arena, a, equals + 1, (size_t)(end - equals - 1));
}

static void ind__schema_parse(ind_context *c, ind__arena *arena, ind__schema *schema, const struct ind__op_row *row) {
    for (const char *s = row->operands; *s;) {
        ind__operand_schema *o = &schema->operand[schema->num_operands++];
        size_t n = strcspn(s, " ");
        o->name = s;
        o->optional = s[n - 1] == '?';
        o->list = s[n - 1 - o->optional] == '*';
        o->length = (int)n - o->optional - o->list;
        s += n + strspn(s + n, " ");
    }
    for (const char *s = row->attributes; *s;) {
        size_t n = strcspn(s, " ");
        ind__schema_parse_attr(c, arena, &schema->attr[schema->num_attrs++], s, n);
        s += n + strspn(s + n, " ");
    }
}
