/* ---- CSE ---- */

/* The fields that an attribute of a kind has; the others differ between a value and the same value by default. */
typedef struct graph__attr_key {
    int64_t kind, is_int, i, count, e;
    double f;
} graph__attr_key;

static graph__attr_key graph__attr_fields(const ind__attr *a) {
    graph__attr_key key = {.kind = a->kind, .count = a->count};
    key.is_int = a->kind == IND__ATTR_SCALAR && a->is_int;
    if (key.is_int || a->kind == IND__ATTR_INT || a->kind == IND__ATTR_BOOL || a->kind == IND__ATTR_DTYPE) key.i = a->i;
    if (a->kind == IND__ATTR_FLOAT || (a->kind == IND__ATTR_SCALAR && !a->is_int)) key.f = a->f;
    if (a->kind == IND__ATTR_SIZE) key.e = a->e.id;
    return key;
}

static uint64_t graph__attr_hash(const ind__attr *a, uint64_t h) {
    const graph__attr_key key = graph__attr_fields(a);
    h = ind__hash(&key, sizeof key, h);
    if (a->s) h = ind__hash(a->s, strlen(a->s), h);
    for (int k = 0; a->list && k < a->count; k++) h = ind__hash(&a->list[k].id, sizeof a->list[k].id, h);
    for (int k = 0; a->floats && k < a->count; k++) h = ind__hash(&a->floats[k], sizeof a->floats[k], h);
    return h;
}

static bool graph__attr_equal(const ind__attr *a, const ind__attr *b) {
    const graph__attr_key x = graph__attr_fields(a), y = graph__attr_fields(b);
    if (memcmp(&x, &y, sizeof x) != 0 || (a->s == NULL) != (b->s == NULL)) return false;
    if (a->s && strcmp(a->s, b->s) != 0) return false;
    for (int k = 0; a->list && b->list && k < a->count; k++) {
        if (a->list[k].id != b->list[k].id) return false;
    }
    return !a->floats || !b->floats || !a->count || !memcmp(a->floats, b->floats, (size_t)a->count * sizeof(double));
}

static uint32_t graph__node_hash(const ind__node *n) {
    uint64_t h = ind__hash(n->operand, n->num_operands * sizeof *n->operand, (uint64_t)n->op);
    for (uint32_t k = 0; k < n->num_attrs; k++) h = graph__attr_hash(&n->attr[k], h);
    return (uint32_t)h;
}

static bool graph__node_equal(const ind__node *a, const ind__node *b) {
    if (a->op != b->op || a->num_operands != b->num_operands || a->num_attrs != b->num_attrs) return false;
    if (a->num_operands && memcmp(a->operand, b->operand, a->num_operands * sizeof *a->operand) != 0) return false;
    for (uint32_t k = 0; k < a->num_attrs; k++) {
        if (!graph__attr_equal(&a->attr[k], &b->attr[k])) return false;
    }
    return true;
}

static bool graph__mergeable(ind_graph_op op) {
    bool own = op == IND_OP_CUSTOM || op == IND_OP_ASSOCIATIVE_SCAN || op == IND_OP_EXTERN; /* made by C functions */
    return op != IND_OP_INPUT && op != IND_OP_CONST && !own;
}

/* Returns the slot of an equal node of r->to, or the free slot for it. */
static graph__seen *graph__seen_slot(graph__rewrite *r, const ind__node *n, uint32_t hash) {
    uint32_t at = hash & (r->seen_size - 1);
    for (; r->seen[at].node; at = (at + 1) & (r->seen_size - 1))
        if (r->seen[at].hash == hash && graph__node_equal(&r->to->node[r->seen[at].node], n)) break;
    return &r->seen[at];
}

/* Same op, same operands, same attributes: one result. */
static uint32_t graph__pass_cse(graph__rewrite *r, const ind__node *n) {
    if (!graph__mergeable(n->op)) return 0;
    r->hashed = n;
    r->hash = graph__node_hash(n);
    const uint32_t node = graph__seen_slot(r, n, r->hash)->node;
    return node ? r->to->node[node].result : 0;
}
