/* ---- patterns: conditions on values that are no sizes */

/* True for the value of an attribute that is a number: the replacement may use it as an operand. */
static bool pattern__is_real(const pattern__name *n) {
    return n->kind == PATTERN__ATTR && (n->attr_kind == IND__ATTR_FLOAT || n->attr_kind == IND__ATTR_SCALAR);
}

/* What a test of "where" looks at. */
typedef struct pattern__tested {
    const ind_graph *g;
    const bool *constant;         /* by tensor: depends on constants alone */
    const pattern__binding *b[2]; /* what its names stand for */
} pattern__tested;

static bool pattern__positive(const pattern__tested *t) {
    return t->b[0]->attr && graph__typed_number_value(graph__typed_number_of(t->b[0]->attr)) > 0;
}

/* f32 and f64, which are not rounded to fewer bits than they are computed in. */
static bool pattern__long_float(const pattern__tested *t) {
    return t->b[0]->dtype == IND_F32 || t->b[0]->dtype == IND_F64;
}

static bool pattern__computed_as_f32(const pattern__tested *t) {
    return ind_dtype_is_float(t->b[0]->dtype) && ind_dtype_compute(t->b[0]->dtype) == IND_F32;
}

static bool pattern__same_rank(const pattern__tested *t) {
    return t->g->tensor[t->b[0]->tensor].rank == t->g->tensor[t->b[1]->tensor].rank;
}

/* True if an absent operand, or one that depends on constants alone. */
static bool pattern__constant(const pattern__tested *t) {
    return !t->b[0]->tensor || t->constant[t->b[0]->tensor];
}

/* True if the first tensor, broadcast with the second, has one number for each element of its dimension 1. */
static bool pattern__per_channel(const pattern__tested *t) {
    const ind__tensor_info *s = &t->g->tensor[t->b[0]->tensor], *x = &t->g->tensor[t->b[1]->tensor];
    const int channel = s->rank - x->rank + 1;
    if (s->weak || channel < 0 || s->rank > x->rank) return false;
    for (int d = 0; d < s->rank; d++)
        if (!ind_known_eq(s->size[d], d == channel ? x->size[1] : ind_int(t->g->context, 1))) return false;
    return true;
}

/* The tests: name, number of names, their kind, and how an error describes that. */
#define PATTERN__TESTS(X)                                                                                              \
    X(positive, 1, PATTERN__ATTR, "a name for an attribute that is a number")                                          \
    X(long_float, 1, PATTERN__DTYPE, "a name for an element type")                                                     \
    X(computed_as_f32, 1, PATTERN__DTYPE, "a name for an element type")                                                \
    X(constant, 1, PATTERN__TENSOR, "a tensor")                                                                        \
    X(same_rank, 2, PATTERN__TENSOR, "a tensor")                                                                       \
    X(per_channel, 2, PATTERN__TENSOR, "a tensor")

typedef struct pattern__test {
    const char *name;
    bool (*holds)(const pattern__tested *t);
    uint32_t num;
    pattern__kind kind;
    const char *wanted;
} pattern__test;

static const pattern__test pattern__tests[] = {
#define X(name, num, kind, wanted) {#name, pattern__##name, num, kind, wanted},
    PATTERN__TESTS(X)
#undef X
};
#define PATTERN__NUM_TESTS (uint32_t)(sizeof pattern__tests / sizeof *pattern__tests)

static uint32_t pattern__find_test(const char *name, size_t length) {
    uint32_t t = 0;
    for (; t < PATTERN__NUM_TESTS; t++)
        if (ind__same_name(pattern__tests[t].name, strlen(pattern__tests[t].name), name, length)) break;
    return t;
}

static bool pattern__testable(uint32_t test, const pattern__name *n) {
    return n->kind == pattern__tests[test].kind && (n->kind != PATTERN__ATTR || pattern__is_real(n));
}

static bool pattern__condition_holds(const ind_graph *g, const bool *constant, const pattern__condition *c,
                                     const pattern__binding *bound) {
    const pattern__tested t = {g, constant, {&bound[c->name[0]], &bound[c->name[1]]}};
    return t.b[0]->set && t.b[1]->set && pattern__tests[c->test].holds(&t);
}
