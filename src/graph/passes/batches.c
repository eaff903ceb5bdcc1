/* ---- products of equal shape: finds those that may become one batch of products

   x[0] @ w0, x[1] @ w1, .. become matrices of bmm(x, stack([w0, w1, ..])) if they are products of all matrices of x.
   Stacking must cost nothing: the second operands depend on constants alone, or are the matrices of one tensor. */

/* One matrix of a tensor of three dimensions. */
typedef struct graph__matrix {
    uint32_t of; /* the tensor; 0: none */
    int dim;
    int64_t index, count;
} graph__matrix;

typedef struct graph__batched {
    uint32_t node, w; /* w: the second operand, if it depends on constants alone; else 0 */
    graph__matrix left, right;
    bool rows; /* the second operand is [columns, depth] */
} graph__batched;

/* The products of all matrices of a tensor, in their order. */
typedef struct graph__batch {
    const graph__batched *product;
    uint32_t num;
    bool done;
} graph__batch;

struct graph__batch_search {
    const ind_graph *g;
    const ind__pass_options *options;
    ind__arena arena;
    pattern__uses uses;
    graph__batched *product;
    uint32_t num;
    graph__batch *batch;
    uint32_t num_batches;
    uint32_t *batch_of; /* by node: 1 + its batch; 0: none */
};

/* Returns which matrix of which tensor t is. */
static graph__matrix graph__matrix_of(const ind_graph *g, uint32_t t) {
    const ind__node *n = graph__producer_of(g, t);
    graph__matrix m = {0};
    if (n->op == IND_OP_SELECT && ind_expr_is_int(n->attr[1].e, &m.index))
        m.of = n->operand[0];
    else if (n->op == IND_OP_UNBIND)
        m = (graph__matrix){.of = n->operand[0], .index = t - n->result};
    if (!m.of || g->tensor[m.of].rank != 3) return (graph__matrix){0};
    m.dim = (int)(n->attr[0].i < 0 ? n->attr[0].i + 3 : n->attr[0].i);
    if (!ind_expr_is_int(g->tensor[m.of].size[m.dim], &m.count)) return (graph__matrix){0};
    if (m.index < 0) m.index += m.count;
    return m;
}

/* Reads a product of two matrices. False: it is none, or its first operand is no matrix of a larger tensor. */
static bool graph__read_batched(const graph__batch_search *s, uint32_t node, graph__batched *p) {
    const ind_graph *g = s->g;
    const ind__node *n = &g->node[node];
    *p = (graph__batched){.node = node, .rows = n->op == IND_OP_LINEAR};
    if (n->op != IND_OP_MM && n->op != IND_OP_MATMUL && n->op != IND_OP_LINEAR) return false;
    if (n->num_operands > 2 && n->operand[2]) return false;
    if (g->tensor[n->operand[0]].rank != 2 || g->tensor[n->operand[1]].rank != 2) return false;
    p->left = graph__matrix_of(g, n->operand[0]);
    p->right = graph__matrix_of(g, n->operand[1]);
    if (s->uses.constant[n->operand[1]]) {
        p->w = n->operand[1];
        p->right = (graph__matrix){0};
    }
    return p->left.of && (p->w || p->right.of);
}

static int graph__compare_batched(const void *one, const void *other) {
    const graph__batched *a = one, *b = other;
    if (a->left.of != b->left.of) return a->left.of < b->left.of ? -1 : 1;
    if (a->left.dim != b->left.dim) return a->left.dim - b->left.dim;
    if (a->right.of != b->right.of) return a->right.of < b->right.of ? -1 : 1;
    if (a->right.dim != b->right.dim) return a->right.dim - b->right.dim;
    if (a->rows != b->rows) return a->rows ? 1 : -1;
    if (a->left.index != b->left.index) return a->left.index < b->left.index ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static bool graph__same_tensors(const graph__batched *a, const graph__batched *b) {
    return a->left.of == b->left.of && a->left.dim == b->left.dim && a->right.of == b->right.of &&
           a->right.dim == b->right.dim && a->rows == b->rows;
}

/* Returns why products are no batch; NULL: they are one. They are ordered by the matrix of the first operand. */
static const char *graph__refuse_batch(const graph__batch_search *s, const graph__batched *p, uint32_t num) {
    const ind_graph *g = s->g;
    if (num != p->left.count) return "not every matrix has one product";
    if (p->right.of && p->right.count != p->left.count) return "the other tensor has another number of matrices";
    for (uint32_t i = 0; i < num; i++) {
        if (p[i].left.index != i) return "not every matrix has one product";
        if (p[i].right.of && p[i].right.index != i) return "the matrices of the other tensor are in another order";
        if (p[i].w && !graph__same_type(&g->tensor[p[i].w], &g->tensor[p[0].w]))
            return "the second operands have other types or shapes";
    }
    return NULL;
}

/* Makes a batch of products with the same tensors, or logs a near miss. */
static void graph__add_batch(graph__batch_search *s, const graph__batched *p, uint32_t num) {
    const ind__node *n = &s->g->node[p->node];
    const char *why = graph__refuse_batch(s, p, num);
    if (!why && num > 1) {
        for (uint32_t i = 0; i < num; i++) s->batch_of[p[i].node] = s->num_batches + 1;
        s->batch[s->num_batches++] = (graph__batch){.product = p, .num = num};
    } else if (why && num > 1) {
        graph__log(s->options->log, "batch_products", true, "%s (%s): no batch with other products of %s: %s",
                   s->g->tensor[n->result].name, ind__op_name(n->op), s->g->tensor[p->left.of].name, why);
    }
}

static void graph__batch_search_end(graph__batch_search *s) {
    ind__arena_free(&s->arena);
}

/* Finds the batches of a graph; near misses go to the log. False: out of memory. */
static bool graph__find_batches(graph__batch_search *s, const ind_graph *g, const ind__pass_options *o) {
    const uint32_t num = graph__count_product_ops(g);
    memset(s, 0, sizeof *s);
    s->g = g;
    s->options = o;
    s->arena.context = g->context;
    if (num < 2) return true;
    s->product = ind__arena_alloc(&s->arena, num * sizeof *s->product);
    s->batch = ind__arena_alloc(&s->arena, num * sizeof *s->batch);
    s->batch_of = ind__arena_alloc(&s->arena, g->num_nodes * sizeof *s->batch_of);
    if (!s->product || !s->batch || !s->batch_of || !pattern__make_uses(&s->arena, g, &s->uses)) return false;
    for (uint32_t i = 1; i < g->num_nodes; i++)
        if (ind__op_has(g->node[i].op, 'M') && graph__read_batched(s, i, &s->product[s->num])) s->num++;
    qsort(s->product, s->num, sizeof *s->product, graph__compare_batched);
    for (uint32_t first = 0, i = 1; i <= s->num; i++) {
        if (i < s->num && graph__same_tensors(&s->product[first], &s->product[i])) continue;
        graph__add_batch(s, s->product + first, i - first);
        first = i;
    }
    return true;
}

/* ---- replaces a batch */

/* Returns a tensor of the rewritten graph whose first dimension counts the matrices. */
static ind_tensor graph__stacked_matrices(graph__rewrite *r, const graph__matrix *m) {
    static const int order[3][3] = {{0, 1, 2}, {1, 0, 2}, {2, 0, 1}};
    const ind_tensor x = {r->to, r->map[m->of]};
    return m->dim ? ind_permute(x, order[m->dim], 3) : x;
}

static ind_tensor graph__stacked_weights(graph__rewrite *r, const graph__batch *b) {
    ind_tensor *part = ind__alloc(r->to->context, b->num * sizeof *part), y = {r->to, 0};
    if (!part) ind__graph_no_memory(r->to, "stack");
    for (uint32_t i = 0; part && i < b->num; i++) part[i] = (ind_tensor){r->to, r->map[b->product[i].w]};
    if (part) y = ind_stack(part, (int)b->num, 0);
    ind__free(r->to->context, part);
    return y;
}

/* Copies the constant operands, which may stand after the first product. */
static bool graph__copy_batch_weights(graph__rewrite *r, const graph__batch *b, uint32_t i, uint32_t *operands) {
    if (!b->product[0].w) return true;
    uint32_t *needed = ind__alloc(r->to->context, b->num * sizeof *needed);
    for (uint32_t k = 0; needed && k < b->num; k++) needed[k] = b->product[k].w;
    const bool ok = needed && graph__copy_needed(r, needed, b->num, i, operands);
    ind__free(r->to->context, needed);
    return ok;
}

/* Replaces the products of the batch of node i, where the first of them stands. False: the new graph failed. */
static bool graph__batch_products(graph__rewrite *r, uint32_t i, uint32_t *operands) {
    graph__batch *b = &r->batched->batch[r->batched->batch_of[i] - 1];
    if (b->done || !graph__may_change(r->log)) return true;
    b->done = true;
    if (!graph__copy_batch_weights(r, b, i, operands)) return false;
    ind_here(r->to, r->from->node[i].file, r->from->node[i].line);
    const graph__batched *p = b->product;
    const ind_tensor x = graph__stacked_matrices(r, &p->left);
    ind_tensor w = p->w ? graph__stacked_weights(r, b) : graph__stacked_matrices(r, &p->right);
    if (p->rows) w = ind_transpose(w, 1, 2);
    const ind_tensor y = ind_bmm(x, w);
    for (uint32_t k = 0; k < b->num && !r->to->status; k++) {
        const uint32_t result = r->from->node[p[k].node].result;
        const ind_tensor part = ind_select(y, 0, ind_int(r->to->context, k));
        if (r->to->status) break;
        graph__take_name(r, part.id, r->from->tensor[result].name);
        r->map[result] = part.id;
    }
    if (r->to->status) return false;
    graph__log(r->log, "batch_products", false, "%u products of the matrices of %s become one bmm: %s .. %s",
               (unsigned)b->num, r->from->tensor[p->left.of].name,
               r->from->tensor[r->from->node[p[0].node].result].name,
               r->from->tensor[r->from->node[p[b->num - 1].node].result].name);
    r->applied++;
    r->changed = true;
    return true;
}
