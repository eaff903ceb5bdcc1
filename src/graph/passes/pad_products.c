/* ---- products whose operands no 16-byte copy reaches: their rows are padded in memory

   Tensor cores take tiles of 16-bit elements, which are copied 8 at a time if every row of an operand starts at a
   multiple of 8 elements. Otherwise they are loaded one by one. So an operand x with other rows becomes
   slice(constant_pad_nd(x)): a copy with longer rows, and a view of it with the sizes of x. The product has its sizes,
   its result and its epilogue as before, and nothing reads the padding. A copy of constants is prepared.

   Rows of 128 bytes of a tile are whole lines of the L2 if the operand's rows are a multiple of 128 bytes apart, else
   parts of two. Prepared constants are padded to that, and other operands whose rows are no multiple of 32 bytes apart
   if copying them takes less time than it saves. */

#define GRAPH__PADDED_TO   8   /* elements of 2 bytes in a copy of 16 bytes */
#define GRAPH__LINE        64  /* elements of 2 bytes in a line of 128 bytes */
#define GRAPH__SECTOR      16  /* elements in a part of a line of 32 bytes */
#define GRAPH__LINE_ROWS   512 /* rows of fewer elements are padded to copies of 16 bytes only */
#define GRAPH__MAX_VIEWS   16  /* views over a tensor that are looked through */
#define GRAPH__FEW_ROWS    64  /* products of so few rows or columns read the other operand once */
#define GRAPH__LOADED_TILE 128.0
/* Bytes of memory traffic in the time in which one element is loaded into a tile one by one, beyond its share of a
   16-byte copy (bf16, 4097 x 4095 x 4103, H100: 3,788 us for 1.09e9 elements, about 200 us if copied; 4,270 bytes per
   ns). Tiles of misaligned rows are realigned in shared memory in less: by instruction counts 1.0, not timed. */
#define GRAPH__LOADED_BYTES 14.0
/* The same for an element of a row that is parts of two lines (with prepared constants, H100: 0.16 for 4016 x 1032 x
   6152, 0.27 for 736 x 13344 x 5656, 0.5 for 776 x 11096 x 728). */
#define GRAPH__SPLIT_BYTES 0.2

typedef struct graph__padded_operand {
    uint32_t tensor, index; /* its number among the operands of the node */
    int along;              /* the dimension along which its rows lie */
    bool copied;            /* 16-byte copies reach it: its rows are parts of two lines */
} graph__padded_operand;

typedef struct graph__padded_product {
    uint32_t node, num;
    graph__padded_operand operand[2];
    double saved, cost; /* bytes of memory traffic in the same time, at the hints */
    const char *refusal;
} graph__padded_product;

struct graph__pad_search {
    const ind_graph *g;
    const ind__pass_options *options;
    bool forced; /* whatever it costs */
    ind__arena arena;
    pattern__uses uses;
    graph__padded_product *product;
    uint32_t num;
    uint32_t *product_of; /* by node: 1 + its product; 0: it is not padded */
};

/* ---- where an operand lies in memory */

/* Applies a view to strides and offset. False: the result may be a copy, or it is found by indices. */
static bool graph__follow_view(const ind_graph *g, uint32_t tensor, ind_expr *stride, ind_expr *offset) {
    const ind__tensor_info *t = &g->tensor[tensor];
    const ind__node *n = &g->node[t->node];
    const uint32_t from = n->operand[0];
    ind_expr to[IND_MAX_RANK];
    ind__view v = {g->context, *n, tensor - n->result, from, g->tensor[from], *t, false};
    if (n->num_operands != 1 || n->op == IND_OP_AS_STRIDED) return false;
    v.from.stride = stride;
    *offset = ind_expr_add(*offset, ind__view_offset(g, &v));
    if (!ind__views[n->op].stride(&v, stride, to)) return false;
    memcpy(stride, to, (size_t)t->rank * sizeof *to);
    return ind__ok(*offset);
}

/* Finds strides and offset of a tensor in its memory. A computed tensor is contiguous. */
static bool graph__find_strides(const ind_graph *g, uint32_t tensor, ind_expr stride[IND_MAX_RANK], ind_expr *offset) {
    uint32_t view[GRAPH__MAX_VIEWS];
    int num = 0;
    ind_expr row[IND_MAX_RANK];
    while (ind__views[graph__producer_of(g, tensor)->op].stride) {
        if (num == GRAPH__MAX_VIEWS) return false;
        view[num++] = tensor;
        tensor = graph__producer_of(g, tensor)->operand[0];
    }
    ind__tensor_info root = g->tensor[tensor];
    root.stride = NULL;
    memcpy(stride, ind__strides_of(g->context, &root, row), (size_t)root.rank * sizeof *row);
    *offset = ind_int(g->context, 0);
    while (num > 0)
        if (!graph__follow_view(g, view[--num], stride, offset)) return false;
    return true;
}

static bool graph__is_aligned(ind_expr e, bool *hinted) {
    *hinted = *hinted && ind_hint(e) % GRAPH__PADDED_TO == 0;
    return ind_known_multiple(e, GRAPH__PADDED_TO);
}

static bool graph__has_data_sizes(const ind_graph *g, const ind__tensor_info *t) {
    for (int d = 0; g->data_sizes.num && d < t->rank; d++)
        if (ind__unbacked_in(g->data_sizes.unbacked, g->data_sizes.num, t->size[d])) return true;
    return false;
}

/* Returns whether 16-byte copies do not reach an operand. Sets the dimension of its rows, and *why if it is not padded.
 */
static bool graph__is_unaligned(const ind_graph *g, graph__padded_operand *o, const char **why) {
    const ind__tensor_info *t = &g->tensor[o->tensor];
    ind_expr stride[IND_MAX_RANK], offset;
    bool hinted = true, repeats = false;
    if (!graph__find_strides(g, o->tensor, stride, &offset)) {
        *why = "the strides of an operand are not known";
        return true;
    }
    const int last = t->rank - 1;
    const bool rows = ind__is_int(stride[last], 1), columns = ind__is_int(stride[last - 1], 1);
    bool aligned = graph__is_aligned(offset, &hinted);
    o->along = rows || !columns ? last : last - 1;
    for (int d = 0; d < t->rank; d++) {
        repeats = repeats || (ind__is_int(stride[d], 0) && !ind__is_int(t->size[d], 1));
        if (d != o->along && !ind__is_int(t->size[d], 1)) aligned = graph__is_aligned(stride[d], &hinted) && aligned;
    }
    hinted = hinted && (rows || columns);
    if (aligned && (rows || columns)) return false;
    if (repeats)
        *why = "an operand is expanded, and a copy would repeat it";
    else if (graph__has_data_sizes(g, t))
        *why = "the sizes of an operand depend on data";
    else if (hinted)
        *why = "its operands are aligned at the hints of the sizes";
    return true;
}

/* ---- when it pays */

static double graph__hinted_elements(const ind__tensor_info *t, int first, int end) {
    double n = 1;
    for (int d = first; d < end; d++) n *= (double)ind_hint(t->size[d]);
    return n;
}

/* Bytes that padding an operand moves in each run, with those of a launch. Constants are padded once. The op that
   computes the operand stores padded rows if only the product reads it. */
static double graph__padding_bytes(const graph__pad_search *s, uint32_t tensor) {
    const bool read_once = s->uses.first[tensor + 1] - s->uses.first[tensor] == 1 && !s->uses.kept[tensor];
    if (s->uses.constant[tensor] && s->options->prepared) return 0;
    if (read_once && graph__is_pointwise(graph__producer_of(s->g, tensor))) return 0;
    return 2 * graph__bytes_of(s->g, tensor) + s->options->launch_bytes;
}

/* Bytes of memory traffic in the time that padding saves in loading an operand into tiles of the result. `other`: the
   size of the result along which the operand is loaded again for each tile. */
static double graph__loading_bytes(const graph__padded_operand *o, double multiplications, double other) {
    const double bytes = o->copied ? GRAPH__SPLIT_BYTES : GRAPH__LOADED_BYTES;
    return multiplications / other * ceil(other / GRAPH__LOADED_TILE) * bytes;
}

/* True if the rows of an operand of a product y, which 16-byte copies reach, are padded to whole lines. `other`: the
   size of y along which it is loaded again. Sets the dimension of its rows. Constants that an op computes are not
   padded: the product may compute them as it loads them. */
static bool graph__splits_lines(const graph__pad_search *s, graph__padded_operand *o, const ind__tensor_info *y,
                                double other) {
    const ind__tensor_info *t = &s->g->tensor[o->tensor];
    const bool constant = s->uses.constant[o->tensor] && s->options->prepared;
    ind_expr stride[IND_MAX_RANK], offset;
    uint32_t root = o->tensor;
    if (t->rank != 2 || (s->uses.constant[o->tensor] && !constant) || graph__has_data_sizes(s->g, t)) return false;
    while (ind__views[graph__producer_of(s->g, root)->op].stride) root = graph__producer_of(s->g, root)->operand[0];
    if ((constant && graph__producer_of(s->g, root)->num_operands) ||
        !graph__find_strides(s->g, o->tensor, stride, &offset))
        return false;
    o->along = ind__is_int(stride[1], 1) ? 1 : 0;
    o->copied = true;
    const double length = (double)ind_hint(t->size[o->along]), rows = graph__hinted_elements(y, 0, y->rank) / other;
    if (!ind__is_int(stride[o->along], 1) || length < GRAPH__LINE_ROWS ||
        ind_known_multiple(stride[1 - o->along], constant ? GRAPH__LINE : GRAPH__SECTOR))
        return false;
    if (constant) return true;
    const double elements = graph__hinted_elements(t, 0, t->rank);
    return rows > GRAPH__FEW_ROWS && other > GRAPH__FEW_ROWS &&
           graph__loading_bytes(o, elements * other, other) > graph__padding_bytes(s, o->tensor);
}

/* Sets saved and cost, and the refusal if it costs more. a: the number of the first matrix among the operands. */
static void graph__weigh_padding(const graph__pad_search *s, graph__padded_product *p, uint32_t a) {
    const ind__node *n = &s->g->node[p->node];
    const ind__tensor_info *x = &s->g->tensor[n->operand[a]], *w = &s->g->tensor[n->operand[a + 1]];
    const ind__tensor_info *y = &s->g->tensor[n->result];
    const double depth = (double)ind_hint(x->size[x->rank - 1]), columns = (double)ind_hint(y->size[y->rank - 1]);
    const double rows = graph__hinted_elements(y, w->rank > 2 ? y->rank - 2 : 0, y->rank - 1);
    if (rows < 1 || columns < 1) {
        p->refusal = "it is empty at the hints of the sizes";
        return;
    }
    for (uint32_t k = 0; k < p->num; k++) {
        const graph__padded_operand *o = &p->operand[k];
        const bool again = k > 0 && o->tensor == p->operand[0].tensor;
        p->saved +=
            graph__loading_bytes(o, graph__hinted_elements(y, 0, y->rank) * depth, o->index == a ? columns : rows);
        p->cost += again ? 0 : graph__padding_bytes(s, o->tensor);
    }
    if (s->forced || p->refusal) return;
    if ((p->cost > 0 || p->operand[0].copied) && (rows <= GRAPH__FEW_ROWS || columns <= GRAPH__FEW_ROWS))
        p->refusal = "few rows read the other operand once";
    else if ((p->cost > 0 || !p->operand[0].copied) && p->saved <= p->cost + s->options->launch_bytes)
        p->refusal = "the product is small";
}

/* Finds the two matrices of a product: numbers of operands. */
static bool graph__matrices_of(const ind__node *n, uint32_t *a, uint32_t *b) {
    *a = n->op == IND_OP_ADDMM;
    *b = *a + 1;
    return n->op == IND_OP_MM || n->op == IND_OP_BMM || n->op == IND_OP_MATMUL || n->op == IND_OP_ADDMM ||
           n->op == IND_OP_LINEAR;
}

/* Returns whether a product has operands that no 16-byte copy reaches. */
static bool graph__read_padded(const graph__pad_search *s, uint32_t node, graph__padded_product *p) {
    const ind_graph *g = s->g;
    const ind__node *n = &g->node[node];
    const ind__tensor_info *y = &g->tensor[n->result];
    uint32_t at[2];
    *p = (graph__padded_product){.node = node};
    if (s->uses.constant[n->result] || !graph__matrices_of(n, &at[0], &at[1])) return false;
    for (int k = 0; k < 2; k++) {
        graph__padded_operand *o = &p->operand[p->num];
        const ind__tensor_info *t = &g->tensor[n->operand[at[k]]];
        if (t->rank < 2 || (t->dtype != IND_F16 && t->dtype != IND_BF16)) return false;
        *o = (graph__padded_operand){.tensor = n->operand[at[k]], .index = at[k]};
        p->num += graph__is_unaligned(g, o, &p->refusal) ||
                  (!p->refusal && graph__splits_lines(s, o, y, (double)ind_hint(y->size[y->rank - 1 - k])));
    }
    if (p->num) graph__weigh_padding(s, p, at[0]);
    return p->num != 0;
}

static void graph__pad_search_end(graph__pad_search *s) {
    ind__arena_free(&s->arena);
}

/* Finds the products to pad; near misses go to the log. False: out of memory. */
static bool graph__find_pads(graph__pad_search *s, const ind_graph *g, const ind__pass_options *o) {
    const uint32_t num = graph__count_product_ops(g);
    memset(s, 0, sizeof *s);
    s->g = g;
    s->options = o;
    s->arena.context = g->context;
    s->forced = pattern__listed(o->enabled_patterns, "pad_products");
    if (!num || !(o->tensor_cores || s->forced)) return true;
    s->product = ind__arena_alloc(&s->arena, num * sizeof *s->product);
    s->product_of = ind__arena_alloc(&s->arena, g->num_nodes * sizeof *s->product_of);
    if (!s->product || !s->product_of || !pattern__make_uses(&s->arena, g, &s->uses)) return false;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        graph__padded_product *p = &s->product[s->num];
        if (!ind__op_has(g->node[i].op, 'M') || !graph__read_padded(s, i, p)) continue;
        if (!p->refusal)
            s->product_of[i] = ++s->num;
        else
            graph__log(o->log, "pad_products", true, "%s (%s): rows are not padded: %s: saves %.0f bytes, costs %.0f",
                       g->tensor[g->node[i].result].name, ind__op_name(g->node[i].op), p->refusal, p->saved, p->cost);
    }
    return true;
}

/* ---- replaces operands */

/* Rows are padded to a multiple of so many elements. */
static int graph__padding_unit(ind_expr size) {
    return ind_hint(size) >= GRAPH__LINE_ROWS ? GRAPH__LINE : GRAPH__PADDED_TO;
}

/* Elements by which rows of `size` are padded. Rows of a whole multiple that start elsewhere get 8 more. */
static ind_expr graph__row_padding(ind_expr size) {
    const int multiple = graph__padding_unit(size);
    const ind_expr unit = ind_int(size.context, multiple);
    if (ind_known_multiple(size, multiple)) return ind_int(size.context, GRAPH__PADDED_TO);
    return ind_expr_sub(ind_expr_mul(ind_expr_ceildiv(size, unit), unit), size);
}

/* True if the op exchanges the last two dimensions and no others. */
static bool graph__is_transposed(const ind__node *n, int rank) {
    if (!graph__is_permute_op(n)) return false;
    for (int d = 0; d < rank; d++)
        if (graph__permuted_dim(n, rank, d) != (d < rank - 2 ? d : 2 * rank - 3 - d)) return false;
    return true;
}

/* Returns the operand with padded rows. Rows along the second to last dimension are those of the transposed matrix. */
static ind_tensor graph__pad_operand(graph__rewrite *r, const graph__padded_operand *o) {
    const ind__tensor_info *t = &r->from->tensor[o->tensor];
    const ind__node *n = graph__producer_of(r->from, o->tensor);
    const bool columns = o->along == t->rank - 2;
    const ind_expr size = t->size[o->along], pad[2] = {ind_int(r->to->context, 0), graph__row_padding(size)};
    ind_tensor x = {r->to, r->map[o->tensor]};
    if (columns && graph__is_transposed(n, t->rank))
        x.id = r->map[n->operand[0]];
    else if (columns)
        x = ind_transpose(x, -2, -1);
    const ind__attr attr[2] = {ind__attr_sizes(pad, 2), ind__attr_scalar(0)};
    const ind_tensor y = ind__call(IND_OP_CONSTANT_PAD_ND, &x, 1, attr, 2);
    const ind_tensor rows = ind_slice(y, t->rank - 1, pad[0], size, (ind_expr){NULL, 0});
    return columns ? ind_transpose(rows, -2, -1) : rows;
}

static uint32_t graph__rewrite_add(graph__rewrite *r, const ind__node *n);

static int graph__unit_of(const ind_graph *g, const graph__padded_operand *o) {
    return graph__padding_unit(g->tensor[o->tensor].size[o->along]);
}

static void graph__log_padded(const graph__rewrite *r, const graph__padded_product *p) {
    const ind__node *n = &r->from->node[p->node];
    const bool both = p->num > 1 && p->operand[0].tensor != p->operand[1].tensor;
    graph__log(r->log, "pad_products", false,
               "%s (%s): rows of %s%s%s are padded to a multiple of %d elements: saves %.0f bytes, costs %.0f",
               r->from->tensor[n->result].name, ind__op_name(n->op), r->from->tensor[p->operand[0].tensor].name,
               both ? " and " : "", both ? r->from->tensor[p->operand[1].tensor].name : "",
               graph__unit_of(r->from, &p->operand[0]), p->saved, p->cost);
}

/* Adds the product of node i, with padded operands. False: the new graph failed. */
static bool graph__pad_product(graph__rewrite *r, uint32_t i, uint32_t *operands) {
    const graph__padded_product *p = &r->padded->product[r->padded->product_of[i] - 1];
    ind__node n = r->from->node[i];
    if (!graph__may_change(r->log)) return true;
    ind_here(r->to, n.file, n.line);
    for (uint32_t k = 0; k < n.num_operands; k++) operands[k] = r->map[n.operand[k]];
    for (uint32_t k = 0; k < p->num; k++) operands[p->operand[k].index] = graph__pad_operand(r, &p->operand[k]).id;
    if (r->to->status) return false;
    n.operand = operands;
    r->hashed = NULL;
    const uint32_t y = graph__rewrite_add(r, &n);
    if (!y) return false;
    r->map[n.result] = y;
    graph__log_padded(r, p);
    r->applied++;
    r->changed = true;
    return true;
}
