/* ---- products that share an operand: finds those that may become one

   x @ w1, x @ w2, .. become slices of x @ cat(w1, w2, ..) if the weights depend on constants alone: x is read once, and
   one larger product fills the GPU better. The slices are views of the merged result, which products, reductions and
   concatenations read in place. A pointwise op after a product is different. It is fused as the epilogue of the
   product, but not as that of the merged one, as it reads a slice; its operand is then stored and read again. So a
   product with an epilogue takes part only if the read of x that it saves costs more. */

typedef struct graph__product {
    uint32_t node, x, bias; /* bias 0: none */
    uint32_t rows;          /* weights as [columns, depth]; 0: only w */
    uint32_t w;             /* weights as [.., depth, columns]; 0: only rows */
    int rank;               /* of the weights */
    int64_t columns;
    uint32_t packing;    /* of packed weights: 1 + the product of x that first has such; 0: not packed */
    uint32_t wanted;     /* number of products on the way to the first product that needs the result */
    const char *refusal; /* why it cannot be merged; NULL: it can */
} graph__product;

typedef struct graph__product_group {
    const graph__product *product;
    uint32_t num;
    bool rows, biased, done; /* rows: all have them; biased: one has a bias */
    double saved;            /* bytes at the hints */
} graph__product_group;

struct graph__product_search {
    const ind_graph *g;
    const ind__pass_options *options;
    bool forced; /* whatever it costs */
    ind__arena arena;
    pattern__uses uses;
    uint32_t *depth, *wanted; /* by node: products on the longest path to it, with it; the smallest depth of a product
                                 that needs it */
    graph__product *product;
    uint32_t num;
    graph__product_group *group;
    uint32_t num_groups;
    uint32_t *group_of; /* by node: 1 + its group; 0: none */
};

/* Results that are needed this many products later than others of x stay products of their own: merging would keep
   them in memory until then. The values of attention are needed two products after x. */
#define GRAPH__LATE_PRODUCTS 4
/* Ops after a product that are looked at, so that long chains after many products take linear time. */
#define GRAPH__MAX_EPILOGUE 64

/* ---- what a product reads and who reads it */

static uint32_t graph__num_uses(const graph__product_search *s, uint32_t tensor) {
    return s->uses.first[tensor + 1] - s->uses.first[tensor] + (s->uses.kept[tensor] ? 1 : 0);
}

/* Finds the operands of a product of at least two dimensions each. */
static bool graph__read_product(const graph__product_search *s, uint32_t node, graph__product *p) {
    const ind_graph *g = s->g;
    const ind__node *n = &g->node[node];
    *p = (graph__product){.node = node};
    switch (n->op) {
    case IND_OP_LINEAR:
        p->x = n->operand[0];
        p->rows = n->operand[1];
        p->bias = n->num_operands > 2 ? n->operand[2] : 0;
        break;
    case IND_OP_ADDMM:
        p->bias = n->operand[0];
        p->x = n->operand[1];
        p->w = n->operand[2];
        break;
    case IND_OP_MM:
    case IND_OP_BMM:
    case IND_OP_MATMUL:
        p->x = n->operand[0];
        p->w = n->operand[1];
        break;
    default: return false;
    }
    const ind__node *before = p->w ? graph__producer_of(g, p->w) : NULL;
    if (before && g->tensor[p->w].rank == 2 && graph__is_permute_op(before) && graph__permuted_dim(before, 2, 0) == 1)
        p->rows = before->operand[0];
    p->rank = g->tensor[p->w ? p->w : p->rows].rank;
    return p->rank > 1 && g->tensor[p->x].rank > 1;
}

/* The DEQUANTISE whose result these weights are; NULL: none. */
static const ind__node *graph__packed_weights(const ind_graph *g, const graph__product *p) {
    const ind__node *n = graph__producer_of(g, p->rows ? p->rows : p->w);
    return n && n->op == IND_OP_DEQUANTISE ? n : NULL;
}

/* True if two weights have the same packed format, or neither is packed. */
static bool graph__packed_alike(const ind_graph *g, const graph__product *a, const graph__product *b) {
    const ind__node *v = graph__packed_weights(g, a), *w = graph__packed_weights(g, b);
    if (!v || !w) return !v && !w;
    bool alike = v->num_operands == w->num_operands && !strcmp(v->attr[0].s, w->attr[0].s) &&
                 v->attr[1].i == w->attr[1].i && v->attr[2].i == w->attr[2].i;
    for (uint32_t k = 0; alike && k < v->num_operands; k++)
        alike = !v->operand[k] == !w->operand[k] &&
                (!v->operand[k] || g->tensor[v->operand[k]].dtype == g->tensor[w->operand[k]].dtype);
    return alike;
}

static bool graph__is_one(const ind__attr *a) {
    return a->is_int ? a->i == 1 : a->f == 1;
}

/* Returns why a product cannot be merged with others of x; NULL: it can. Sets p->columns. */
static const char *graph__refuse_product(const graph__product_search *s, graph__product *p) {
    const ind_graph *g = s->g;
    const ind__node *n = &g->node[p->node];
    const ind__tensor_info *y = &g->tensor[n->result];
    if (!ind_expr_is_int(y->size[y->rank - 1], &p->columns)) return "its number of columns is not a constant";
    if (!s->uses.constant[p->w ? p->w : p->rows]) return "its weights do not depend on constants alone";
    if (p->bias && !s->uses.constant[p->bias]) return "its bias does not depend on constants alone";
    if (n->op == IND_OP_ADDMM && !(graph__is_one(&n->attr[0]) && graph__is_one(&n->attr[1])))
        return "alpha or beta is not 1";
    if (p->bias && (g->tensor[p->bias].rank != 1 || !ind__is_int(g->tensor[p->bias].size[0], p->columns)))
        return "its bias is not one number per column";
    const ind__node *packed = graph__packed_weights(g, p);
    if (packed && (!p->rows || p->rank != 2)) return "its packed weights are not [columns, depth]";
    if (packed && packed->num_operands > 3 && packed->operand[3])
        return "its packed weights have a scale of the tensor";
    if (p->columns * ind_dtype_bytes(y->dtype) % 16) return "its rows are not a multiple of 16 bytes";
    if ((p->w && graph__num_uses(s, p->w) > 1) || (p->rows && graph__num_uses(s, p->rows) > 1))
        return "its weights are read elsewhere, so that they would be in memory twice";
    return NULL;
}

/* ---- epilogues that merging loses */

static bool graph__is_pointwise(const ind__node *n) {
    return ind__op_has(n->op, 'P') && n->op != IND_OP_CAT;
}

/* True for views that have all elements of their operand, each once. */
static bool graph__is_reordering(ind_graph_op op) {
    return op == IND_OP_VIEW || op == IND_OP_PERMUTE || op == IND_OP_TRANSPOSE || op == IND_OP_UNSQUEEZE ||
           op == IND_OP_SQUEEZE;
}

/* Returns the last reader of a tensor if all readers are pointwise ops or views of all elements; else 0. */
static uint32_t graph__last_reader(const graph__product_search *s, uint32_t tensor) {
    uint32_t last = 0;
    for (uint32_t u = s->uses.first[tensor]; u < s->uses.first[tensor + 1]; u++) {
        const uint32_t node = s->uses.user[u];
        const ind__node *n = &s->g->node[node];
        if (!graph__is_pointwise(n) && !graph__is_reordering(n->op)) return 0;
        last = node > last ? node : last;
    }
    return last;
}

/* Returns the last of the pointwise ops after a product that its epilogue computes; 0: none. A reduction after them
   computes them instead. */
static uint32_t graph__epilogue_of(const graph__product_search *s, uint32_t tensor) {
    uint32_t end = 0, next;
    for (int i = 0; i < GRAPH__MAX_EPILOGUE && !s->uses.kept[tensor]; i++) {
        if (!(next = graph__last_reader(s, tensor))) break;
        if (graph__is_pointwise(&s->g->node[next])) end = next;
        tensor = s->g->node[next].result;
    }
    for (uint32_t u = s->uses.first[tensor]; u < s->uses.first[tensor + 1]; u++) {
        const ind_graph_op op = s->g->node[s->uses.user[u]].op;
        if (ind__op_has(op, 'R') || (ind__op_has(op, 'C') && op != IND_OP_SCALED_DOT_PRODUCT_ATTENTION)) return 0;
    }
    return end;
}

/* True if a product is an output of the graph, or all of it in another shape is. A slice would be copied. */
static bool graph__is_output(const graph__product_search *s, uint32_t tensor) {
    while (!s->uses.kept[tensor] && s->uses.first[tensor + 1] - s->uses.first[tensor] == 1) {
        const ind__node *n = &s->g->node[s->uses.user[s->uses.first[tensor]]];
        if (!graph__is_reordering(n->op)) break;
        tensor = n->result;
    }
    return s->uses.kept[tensor];
}

/* ---- costs, in bytes at the hints of the sizes */

static double graph__bytes_of(const ind_graph *g, uint32_t tensor) {
    const ind__tensor_info *t = &g->tensor[tensor];
    double bytes = ind_dtype_bytes(t->dtype);
    for (int d = 0; d < t->rank; d++) bytes *= (double)ind_hint(t->size[d]);
    return bytes;
}

/* Bytes that a product stores and reads in addition if it is merged: its epilogue becomes a kernel, or an output is
   copied. Both also cost a launch. Products that end in the same op have one epilogue. */
static double graph__lost_bytes(graph__product_search *s, const graph__product *p) {
    const uint32_t y = s->g->node[p->node].result, end = graph__epilogue_of(s, y);
    if (!graph__is_output(s, y) && (!end || s->uses.taken[end])) return 0;
    s->uses.taken[end] = 1;
    return 2 * graph__bytes_of(s->g, y) + s->options->launch_bytes;
}

/* Bytes of weights that each run concatenates, unless constants are prepared. */
static double graph__weight_bytes(const graph__product_search *s, const graph__product *p) {
    return s->options->prepared ? 0 : 2 * graph__bytes_of(s->g, p->w ? p->w : p->rows);
}

static void graph__miss_product(const graph__product_search *s, const graph__product *p, const char *why) {
    const ind__node *n = &s->g->node[p->node];
    graph__log(s->options->log, "merge_products", true, "%s (%s): not merged with other products of %s: %s",
               s->g->tensor[n->result].name, ind__op_name(n->op), s->g->tensor[p->x].name, why);
}

/* Logs why merging a product costs more than it saves: the larger of its costs. */
static void graph__miss_cost(const graph__product_search *s, const graph__product *p, double x, double stored,
                             double weights) {
    const char *cause = weights > stored ? "its weight would be concatenated in every run"
                        : graph__is_output(s, s->g->node[p->node].result) ? "a kernel would copy the output"
                                                                          : "its epilogue would become a kernel";
    char why[200];
    snprintf(why, sizeof why, "it saves a read of %.0f bytes and costs %.0f bytes: %s", x, stored + weights, cause);
    graph__miss_product(s, p, why);
}

/* True if product i and one other end in the same op: one kernel computes both, and reads x once, without merging. */
static bool graph__is_paired(const graph__product_search *s, const graph__product *p, uint32_t num, uint32_t i) {
    const ind_graph *g = s->g;
    const ind_dtype d = g->tensor[p[i].x].dtype;
    const uint32_t end = graph__epilogue_of(s, g->node[p[i].node].result);
    uint32_t others = 0;
    if (!s->options->product_pairs || (d != IND_F16 && d != IND_BF16) || !end) return false;
    for (uint32_t k = 0; k < num; k++)
        others += k != i && p[k].columns == p[i].columns && graph__epilogue_of(s, g->node[p[k].node].result) == end;
    return others == 1;
}

/* Removes products that cost more than the read of x that they save. Returns the number left, which come first. */
static uint32_t graph__choose_products(graph__product_search *s, graph__product *p, uint32_t num, double *saved) {
    const double x = graph__bytes_of(s->g, p[0].x);
    uint32_t left = 0, paired = 0;
    for (uint32_t i = 0; i < num && !s->forced; i++) paired += graph__is_paired(s, p, num, i);
    for (uint32_t i = 0; i < num && paired == num; i++)
        graph__miss_product(s, &p[i], "one kernel computes both, with one epilogue");
    if (num && paired == num) return 0;
    *saved = -x;
    for (uint32_t i = 0; i < num; i++) {
        const double stored = graph__lost_bytes(s, &p[i]), weights = graph__weight_bytes(s, &p[i]);
        if (stored + weights >= x && !s->forced) {
            graph__miss_cost(s, &p[i], x, stored, weights);
            continue;
        }
        *saved += x - stored - weights;
        p[left++] = p[i];
    }
    return left > 1 && (*saved > 0 || s->forced) ? left : 0;
}

/* ---- groups */

/* Orders by operand, kind of weights, and by when the result is needed. */
static int graph__compare_products(const void *one, const void *other) {
    const graph__product *a = one, *b = other;
    if (a->x != b->x) return a->x < b->x ? -1 : 1;
    if (!a->refusal != !b->refusal) return a->refusal ? 1 : -1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (!a->rows != !b->rows) return a->rows ? -1 : 1;
    if (a->packing != b->packing) return a->packing < b->packing ? -1 : 1;
    if (a->wanted != b->wanted) return a->wanted < b->wanted ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* True if two products of x may be merged: weights of the same kind, needed at about the same time. */
static bool graph__fit_together(const graph__product_search *s, const graph__product *a, const graph__product *b) {
    const ind__tensor_info *v = &s->g->tensor[a->w ? a->w : a->rows], *w = &s->g->tensor[b->w ? b->w : b->rows];
    bool fit = a->rank == b->rank && !a->rows == !b->rows && b->wanted < a->wanted + GRAPH__LATE_PRODUCTS;
    fit = fit && a->packing == b->packing;
    for (int d = 0; fit && d < a->rank - 2; d++) fit = ind_known_eq(v->size[d], w->size[d]);
    return fit;
}

static void graph__add_product_group(graph__product_search *s, graph__product *p, uint32_t num) {
    graph__product_group group = {.product = p, .rows = p->rows != 0};
    group.num = graph__choose_products(s, p, num, &group.saved);
    if (!group.num) return;
    for (uint32_t i = 0; i < group.num; i++) {
        group.biased = group.biased || p[i].bias;
        s->group_of[p[i].node] = s->num_groups + 1;
    }
    s->group[s->num_groups++] = group;
}

/* Divides the products of one operand into groups. Those that cannot be merged come last. */
static void graph__group_products(graph__product_search *s, graph__product *p, uint32_t num) {
    uint32_t fit = 0;
    while (fit < num && !p[fit].refusal) fit++;
    for (uint32_t i = fit; i < num && num > 1; i++) graph__miss_product(s, &p[i], p[i].refusal);
    for (uint32_t first = 0, i = 1; first < fit; i++) {
        if (i < fit && graph__fit_together(s, &p[first], &p[i])) continue;
        if (i - first > 1) graph__add_product_group(s, p + first, i - first);
        if (i < fit && i - first == 1)
            graph__miss_product(s, &p[i],
                                p[first].packing == p[i].packing ? "its result is needed at another time"
                                                                 : "its weights have another format");
        first = i;
    }
}

/* Counts the products on the way to every node, and on the way to the first product that needs it. */
static void graph__count_products(graph__product_search *s) {
    const ind_graph *g = s->g;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const ind__node *n = &g->node[i];
        for (uint32_t k = 0; k < n->num_operands; k++) {
            const uint32_t before = s->depth[g->tensor[n->operand[k]].node];
            s->depth[i] = before > s->depth[i] ? before : s->depth[i];
        }
        s->depth[i] += ind__op_has(n->op, 'M');
        s->wanted[i] = UINT32_MAX;
    }
    for (uint32_t i = g->num_nodes; i-- > 1;) {
        const ind__node *n = &g->node[i];
        const uint32_t at = ind__op_has(n->op, 'M') ? s->depth[i] : s->wanted[i];
        for (uint32_t k = 0; k < n->num_operands; k++) {
            uint32_t *wanted = &s->wanted[g->tensor[n->operand[k]].node];
            *wanted = at < *wanted ? at : *wanted;
        }
    }
}

/* A number for each format of packed weights of x, by which products are ordered. Looks at the last 64 products, so
   that many of them take linear time. */
static uint32_t graph__packing_of(const graph__product_search *s, const graph__product *p) {
    if (!graph__packed_weights(s->g, p)) return 0;
    for (uint32_t i = s->num; i-- > 0 && s->num - i <= 64;)
        if (s->product[i].x == p->x && graph__packed_alike(s->g, &s->product[i], p)) return s->product[i].packing;
    return s->num + 1;
}

static void graph__collect_products(graph__product_search *s) {
    for (uint32_t i = 1; i < s->g->num_nodes; i++) {
        graph__product p;
        if (!ind__op_has(s->g->node[i].op, 'M') || s->uses.constant[s->g->node[i].result]) continue;
        if (!graph__read_product(s, i, &p)) continue;
        p.wanted = s->wanted[i] == UINT32_MAX ? s->depth[i] + 1 : s->wanted[i];
        p.refusal = graph__refuse_product(s, &p);
        p.packing = graph__packing_of(s, &p);
        s->product[s->num++] = p;
    }
}

static uint32_t graph__count_product_ops(const ind_graph *g) {
    uint32_t num = 0;
    for (uint32_t i = 1; i < g->num_nodes; i++) num += ind__op_has(g->node[i].op, 'M');
    return num;
}

static void graph__product_search_end(graph__product_search *s) {
    ind__arena_free(&s->arena);
}

/* Finds the groups of a graph; near misses go to the log. False: out of memory. */
static bool graph__find_products(graph__product_search *s, const ind_graph *g, const ind__pass_options *o) {
    const uint32_t num = graph__count_product_ops(g);
    memset(s, 0, sizeof *s);
    s->g = g;
    s->options = o;
    s->arena.context = g->context;
    s->forced = pattern__listed(o->enabled_patterns, "merge_products");
    if (num < 2) return true;
    s->depth = ind__arena_alloc(&s->arena, g->num_nodes * sizeof *s->depth);
    s->wanted = ind__arena_alloc(&s->arena, g->num_nodes * sizeof *s->wanted);
    s->group_of = ind__arena_alloc(&s->arena, g->num_nodes * sizeof *s->group_of);
    s->product = ind__arena_alloc(&s->arena, num * sizeof *s->product);
    s->group = ind__arena_alloc(&s->arena, num * sizeof *s->group);
    const bool ok = s->depth && s->wanted && s->group_of && s->product && s->group;
    if (!ok || !pattern__make_uses(&s->arena, g, &s->uses)) return false;
    graph__count_products(s);
    graph__collect_products(s);
    qsort(s->product, s->num, sizeof *s->product, graph__compare_products);
    for (uint32_t first = 0, i = 1; i <= s->num; i++) {
        if (i < s->num && s->product[i].x == s->product[first].x) continue;
        graph__group_products(s, s->product + first, i - first);
        first = i;
    }
    return true;
}
