/* ---- maps of the blocks of masks from data

   A mask of attention excludes whole blocks of scores: those of other documents, or of keys that a batch does not have.
   If data decide which, the kernel cannot know it from the mask's expression, and evaluates the mask for every score of
   every head. So the mask m becomes

       any & (all | m)

   any and all are reductions of m over blocks of 128 queries and 128 keys, expanded to its shape. The value is that of
   m. The kernel reads both once per block: it skips blocks whose `any` is false, and evaluates no mask in blocks whose
   `all` is true. All heads that share the mask read the same map, and CSE makes one map of those of
   several layers. */

#define GRAPH__BLOCK           128 /* queries and keys: a multiple of AT_BLOCK, by which the kernel recognises a map */
#define GRAPH__LEAST_BLOCKS    4   /* of keys, and of queries: fewer are not worth a launch */
#define GRAPH__LEAST_HEADS     4   /* that share a mask: it is evaluated for each of them, its map computed once */
#define GRAPH__MAX_CONJUNCTION 8   /* levels of logical_and */
#define GRAPH__MAX_BETWEEN     6   /* ops between a product and the softmax */

/* Data of which a tensor is computed, as bits. */
enum { GRAPH__DATA = 1, GRAPH__ALONG_KEYS = 2 };

/* A mask that may get a map. */
typedef struct graph__block_map {
    uint32_t node;  /* attention, where or masked_fill */
    uint32_t index; /* of the mask among its operands */
    bool excluded;  /* the mask is true where a score does not count */
    double heads;   /* scores per element of the mask, at the hints */
    const char *refusal;
} graph__block_map;

struct graph__map_search {
    const ind_graph *g;
    const ind__pass_options *options;
    bool forced; /* whatever it costs */
    ind__arena arena;
    pattern__uses uses;
    uint8_t *data; /* by tensor */
    graph__block_map *map;
    uint32_t num;
    uint32_t *map_of; /* by node: 1 + its map; 0: none */
};

/* ---- masks that data decide */

static bool graph__has_keys(const ind__tensor_info *t) {
    return t->rank > 0 && !ind__is_int(t->size[t->rank - 1], 1);
}

/* The data of a node's results: an op that is neither pointwise nor a view may depend on them in any way. */
static uint8_t graph__data_of(const graph__map_search *s, const ind__node *n) {
    const ind__tensor_info *t = &s->g->tensor[n->result];
    const bool view = ind__views[n->op].stride != NULL, source = n->op == IND_OP_INPUT || n->op == IND_OP_CONST;
    uint8_t all = source ? GRAPH__DATA : 0;
    for (uint32_t k = 0; k < n->num_operands; k++) all |= s->data[n->operand[k]];
    if (graph__is_pointwise(n)) return all;
    const bool along = all && graph__has_keys(t) && (!view || all & GRAPH__DATA);
    return (uint8_t)((all & GRAPH__DATA) | (along ? GRAPH__ALONG_KEYS : 0));
}

static bool graph__find_data(graph__map_search *s) {
    s->data = ind__arena_alloc(&s->arena, (s->g->num_tensors + (size_t)1) * sizeof *s->data);
    for (uint32_t i = 1; s->data && i < s->g->num_nodes; i++) {
        const ind__node *n = &s->g->node[i];
        const uint8_t data = graph__data_of(s, n);
        for (uint32_t k = 0; k < n->num_results; k++) s->data[n->result + k] = data;
    }
    return s->data != NULL;
}

/* True if a tensor is a map that is expanded to a mask. */
static bool graph__is_expanded_map(const ind_graph *g, uint32_t tensor) {
    const ind__node *n = graph__producer_of(g, tensor);
    for (int i = 0; i < GRAPH__MAX_VIEWS && ind__views[n->op].stride; i++) n = graph__producer_of(g, n->operand[0]);
    return n->op == IND_OP_ANY;
}

/* True if a mask is a conjunction that has a map already, or what that excludes. */
static bool graph__has_map(const ind_graph *g, uint32_t mask, int depth) {
    const ind__node *n = graph__producer_of(g, mask);
    const bool both = n->op == IND_OP_LOGICAL_AND, deep = depth > GRAPH__MAX_CONJUNCTION;
    if (deep || (!both && n->op != IND_OP_LOGICAL_NOT)) return graph__is_expanded_map(g, mask);
    return graph__has_map(g, n->operand[0], depth + 1) || (both && graph__has_map(g, n->operand[1], depth + 1));
}

/* ---- where masks are applied */

static bool graph__is_row_softmax(const ind_graph *g, const ind__node *n) {
    if (n->op != IND_OP_SOFTMAX && n->op != IND_OP_SOFTMAX_HALF) return false;
    const int rank = g->tensor[n->operand[0]].rank;
    return n->attr[0].i == -1 || n->attr[0].i == rank - 1;
}

static bool graph__is_between(const ind__node *n) {
    return graph__is_pointwise(n) || graph__is_reordering(n->op);
}

/* True if pointwise ops and views compute a tensor from a product. */
static bool graph__is_of_product(const ind_graph *g, uint32_t tensor, int depth) {
    const ind__node *n = graph__producer_of(g, tensor);
    bool any = ind__op_has(n->op, 'M');
    for (uint32_t k = 0; k < n->num_operands && !any && depth < GRAPH__MAX_BETWEEN && graph__is_between(n); k++)
        any = n->operand[k] && graph__is_of_product(g, n->operand[k], depth + 1);
    return any;
}

/* True if a product reads a tensor, or what pointwise ops and views compute from it. */
static bool graph__feeds_product(const graph__map_search *s, uint32_t tensor, int depth) {
    bool any = false;
    for (uint32_t u = s->uses.first[tensor]; u < s->uses.first[tensor + 1] && !any; u++) {
        const ind__node *n = &s->g->node[s->uses.user[u]];
        any = ind__op_has(n->op, 'M') ||
              (depth < GRAPH__MAX_BETWEEN && graph__is_between(n) && graph__feeds_product(s, n->result, depth + 1));
    }
    return any;
}

/* True for a softmax between two products. */
static bool graph__is_attention_softmax(const graph__map_search *s, const ind__node *n) {
    return graph__is_row_softmax(s->g, n) && graph__is_of_product(s->g, n->operand[0], 0) &&
           graph__feeds_product(s, n->result, 0);
}

/* True if all readers of a tensor are softmaxes of attention, its op, or additions before these. */
static bool graph__is_score(const graph__map_search *s, uint32_t tensor, int depth) {
    const uint32_t first = s->uses.first[tensor], end = s->uses.first[tensor + 1];
    bool all = first < end && !s->uses.kept[tensor];
    for (uint32_t u = first; u < end && all; u++) {
        const ind__node *n = &s->g->node[s->uses.user[u]];
        all = graph__is_attention_softmax(s, n) ||
              (n->op == IND_OP_SCALED_DOT_PRODUCT_ATTENTION && n->operand[3] == tensor) ||
              ((n->op == IND_OP_ADD || n->op == IND_OP_CAST) && depth < 3 && graph__is_score(s, n->result, depth + 1));
    }
    return all;
}

static bool graph__is_minus_infinity(const ind_graph *g, uint32_t tensor) {
    graph__typed_number x;
    return graph__uniform_of(g, tensor, &x) && ind_dtype_is_float(x.dtype) && x.f == -INFINITY;
}

/* Sets the mask that a node applies. False: it applies none. */
static bool graph__find_mask(const graph__map_search *s, uint32_t node, graph__block_map *m) {
    const ind_graph *g = s->g;
    const ind__node *n = &g->node[node];
    *m = (graph__block_map){.node = node};
    switch (n->op) {
    case IND_OP_SCALED_DOT_PRODUCT_ATTENTION:
        m->index = 3;
        return n->num_operands > 3 && n->operand[3] && g->tensor[n->operand[3]].dtype == IND_BOOL;
    case IND_OP_WHERE:
        m->excluded = graph__is_minus_infinity(g, n->operand[1]);
        return (m->excluded || graph__is_minus_infinity(g, n->operand[2])) && graph__is_score(s, n->result, 0);
    case IND_OP_MASKED_FILL:
        m->index = 1, m->excluded = true;
        return graph__is_minus_infinity(g, n->operand[2]) && graph__is_score(s, n->result, 0);
    default: return false;
    }
}

/* The number of scores that a node masks, at the hints. The result of `where` may be added to them. */
static double graph__masked_scores(const graph__map_search *s, const ind__node *n) {
    while (n->op != IND_OP_SCALED_DOT_PRODUCT_ATTENTION && !graph__is_row_softmax(s->g, n))
        n = &s->g->node[s->uses.user[s->uses.first[n->result]]];
    const ind__tensor_info *x = &s->g->tensor[n->operand[0]], *y = &s->g->tensor[n->result];
    if (n->op != IND_OP_SCALED_DOT_PRODUCT_ATTENTION) return graph__hinted_elements(x, 0, x->rank);
    const ind__tensor_info *k = &s->g->tensor[n->operand[1]];
    return graph__hinted_elements(y, 0, y->rank - 1) * (double)ind_hint(k->size[k->rank - 2]);
}

/* Why a mask gets no map; NULL: it gets one. */
static const char *graph__refuse_map(const graph__map_search *s, graph__block_map *m) {
    const ind__node *n = &s->g->node[m->node];
    const ind__tensor_info *t = &s->g->tensor[n->operand[m->index]];
    const double elements = graph__hinted_elements(t, 0, t->rank);
    const int64_t least = GRAPH__LEAST_BLOCKS * GRAPH__BLOCK;
    m->heads = elements > 0 ? graph__masked_scores(s, n) / elements : 0;
    if (t->rank + 2 > IND_MAX_RANK) return "it has too many dimensions";
    if (graph__has_data_sizes(s->g, t)) return "its sizes depend on data";
    if (s->forced) return NULL;
    if (ind_hint(t->size[t->rank - 1]) < least) return "there are few keys";
    if (t->rank > 1 && !ind__is_int(t->size[t->rank - 2], 1) && ind_hint(t->size[t->rank - 2]) < least)
        return "there are few queries";
    return m->heads < GRAPH__LEAST_HEADS ? "few heads share it" : NULL;
}

static void graph__map_search_end(graph__map_search *s) {
    ind__arena_free(&s->arena);
}

static bool graph__has_rows(const ind_graph *g) {
    bool any = false;
    for (uint32_t i = 1; i < g->num_nodes && !any; i++)
        any = g->node[i].op == IND_OP_SCALED_DOT_PRODUCT_ATTENTION || graph__is_row_softmax(g, &g->node[i]);
    return any;
}

/* Adds the mask of a node, if it has one that data decide along the keys. */
static void graph__add_mask(graph__map_search *s, uint32_t node) {
    graph__block_map *m = &s->map[s->num];
    const ind__node *n = &s->g->node[node];
    if (!graph__find_mask(s, node, m)) return;
    const uint32_t mask = n->operand[m->index];
    if (!(s->data[mask] & GRAPH__ALONG_KEYS) || graph__has_map(s->g, mask, 0)) return;
    m->refusal = graph__refuse_map(s, m);
    if (!m->refusal)
        s->map_of[node] = ++s->num;
    else
        graph__log(s->options->log, "block_maps", true, "%s (%s): no map of the blocks of %s: %s",
                   s->g->tensor[n->result].name, ind__op_name(n->op), s->g->tensor[mask].name, m->refusal);
}

/* Finds the masks that get a map; the others that data decide go to the log. False: out of memory. */
static bool graph__find_maps(graph__map_search *s, const ind_graph *g, const ind__pass_options *o) {
    memset(s, 0, sizeof *s);
    s->g = g;
    s->options = o;
    s->arena.context = g->context;
    s->forced = pattern__listed(o->enabled_patterns, "block_maps");
    if (!(o->tensor_cores || s->forced) || !graph__has_rows(g)) return true;
    s->map = ind__arena_alloc(&s->arena, g->num_nodes * sizeof *s->map);
    s->map_of = ind__arena_alloc(&s->arena, g->num_nodes * sizeof *s->map_of);
    if (!s->map || !s->map_of || !pattern__make_uses(&s->arena, g, &s->uses) || !graph__find_data(s)) return false;
    for (uint32_t i = 1; i < g->num_nodes; i++) graph__add_mask(s, i);
    return true;
}

/* ---- adds a map */

/* The sizes of a mask, in blocks. */
typedef struct graph__blocks {
    ind_expr size[IND_MAX_RANK];       /* whole blocks in the last two dimensions */
    ind_expr split[IND_MAX_RANK];      /* the same, each dimension of blocks as two */
    int rank, split_rank, dim[2], num; /* dim: the dimensions within a block */
    bool padded;
} graph__blocks;

static graph__blocks graph__blocks_of(const ind__tensor_info *t) {
    graph__blocks b = {.rank = t->rank};
    for (int d = 0; d < t->rank; d++) {
        const ind_expr block = ind_int(t->size[d].context, GRAPH__BLOCK);
        if (d < t->rank - 2 || ind__is_int(t->size[d], 1)) {
            b.size[d] = b.split[b.split_rank++] = t->size[d];
            continue;
        }
        const ind_expr num = ind_expr_ceildiv(t->size[d], block);
        b.size[d] = ind_expr_mul(num, block);
        b.split[b.split_rank++] = num;
        b.dim[b.num++] = b.split_rank;
        b.split[b.split_rank++] = block;
        b.padded = b.padded || !ind_known_multiple(t->size[d], GRAPH__BLOCK);
    }
    return b;
}

/* The mask, with excluded scores in the last blocks. `every`: with others. */
static ind_tensor graph__padded_mask(ind_tensor mask, const ind__tensor_info *t, const graph__blocks *b, bool every) {
    const ind_expr zero = ind_int(mask.graph->context, 0);
    ind_expr pad[4] = {zero, zero, zero, zero};
    if (!b->padded) return mask;
    for (int d = 0; d < 2 && d < t->rank; d++)
        pad[2 * d + 1] = ind_expr_sub(b->size[t->rank - 1 - d], t->size[t->rank - 1 - d]);
    const ind__attr attr[2] = {ind__attr_sizes(pad, t->rank > 1 ? 4 : 2), ind__attr_scalar(every)};
    return ind__call(IND_OP_CONSTANT_PAD_ND, &mask, 1, attr, 2);
}

/* The mask reduced over blocks, and expanded to its shape. */
static ind_tensor graph__expanded_map(ind_tensor mask, const ind__tensor_info *t, const graph__blocks *b, bool every) {
    const ind_expr zero = ind_int(mask.graph->context, 0);
    ind_tensor x = ind_reshape(graph__padded_mask(mask, t, b, every), b->split, b->split_rank);
    x = every ? ind_all(x, b->dim, b->num, true) : ind_any(x, b->dim, b->num, true);
    x = ind_reshape(ind_expand(x, b->split, b->split_rank), b->size, b->rank);
    for (int d = 0; d < t->rank; d++)
        if (!ind_known_eq(b->size[d], t->size[d])) x = ind_slice(x, d, zero, t->size[d], (ind_expr){NULL, 0});
    return x;
}

/* The parts of a conjunction that data do not decide along the keys, and the mask: the kernel knows their blocks. */
static ind_tensor graph__known_parts(graph__rewrite *r, uint32_t mask, ind_tensor x, int depth) {
    const ind__node *n = graph__producer_of(r->from, mask);
    for (int k = 0; k < 2 && n->op == IND_OP_LOGICAL_AND && depth < GRAPH__MAX_CONJUNCTION; k++) {
        const uint32_t part = n->operand[k];
        if (r->maps->data[part] & GRAPH__ALONG_KEYS)
            x = graph__known_parts(r, part, x, depth + 1);
        else if (r->from->tensor[part].dtype == IND_BOOL)
            x = ind_logical_and((ind_tensor){r->to, r->map[part]}, x);
    }
    return x;
}

/* Adds node i with the map of its mask. False: the new graph failed. */
static bool graph__add_map(graph__rewrite *r, uint32_t i, uint32_t *operands) {
    const graph__block_map *m = &r->maps->map[r->maps->map_of[i] - 1];
    ind__node n = r->from->node[i];
    if (!graph__may_change(r->log)) return true;
    ind_here(r->to, n.file, n.line);
    for (uint32_t k = 0; k < n.num_operands; k++) operands[k] = r->map[n.operand[k]];
    const uint32_t mask = n.operand[m->index];
    const ind__tensor_info *t = &r->from->tensor[mask];
    const graph__blocks b = graph__blocks_of(t);
    ind_tensor x = {r->to, operands[m->index]};
    if (m->excluded) x = ind_logical_not(x);
    const ind_tensor rest = ind_logical_or(graph__expanded_map(x, t, &b, true), x);
    x = ind_logical_and(graph__expanded_map(x, t, &b, false), rest);
    x = m->excluded ? ind_logical_not(x) : graph__known_parts(r, mask, x, 0);
    operands[m->index] = x.id;
    if (r->to->status) return false;
    n.operand = operands;
    r->hashed = NULL;
    const uint32_t y = graph__rewrite_add(r, &n);
    if (!y) return false;
    r->map[n.result] = y;
    graph__log(r->log, "block_maps", false, "%s (%s): a map of the blocks of %s is computed once for %.0f heads",
               r->from->tensor[n.result].name, ind__op_name(n.op), t->name, m->heads);
    r->applied++;
    r->changed = true;
    return true;
}
