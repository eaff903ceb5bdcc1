/* ------------------------------------------------------------------------------------------------ >>passes */

/* An iteration copies the graph, front to back, and applies every enabled pass to each node once its operands are in
   the copy. So an iteration is linear, chains collapse within it, and a pass is one function:

       FOLD   needs  all operands uniform (scalar or full)      keeps  dtype, shape and the value bit by bit
       NOOP   needs  nothing                                    keeps  dtype, shape and the value; -0 + 0 may stay -0
       CSE    needs  nothing                                    keeps  everything; custom ops and inputs are not merged
       DCE    needs  nothing (it chooses what is copied)        keeps  inputs and constants: they stay bindings
       CANONICAL  one form for ops with several                 keeps  everything; patterns know this form
       ALGEBRA    parts of one tensor, dead updates             keeps  everything
       PAD_PRODUCTS  after patterns and merged products      keeps  everything
       cublaslt   before PAD_PRODUCTS, if asked for          keeps  everything
       BLOCK_MAPS  masks from data, after PAD_PRODUCTS      keeps  everything
       REINPLACE  after all those: changes the order         keeps  everything
       TRANSPOSED_CONVOLUTIONS  stride 1 as CANONICAL, last  keeps  everything but the order of sums

   Iterations repeat until nothing changes, at most IND__MAX_ITERATIONS times. Then a round finds the matches of all
   patterns (>>patterns) and replaces them in one more iteration; rounds repeat until no pattern matches. */
#define IND__MAX_ITERATIONS 8
#define GRAPH__MAX_ROUNDS   64

typedef struct graph__seen {
    uint32_t node; /* 0: free */
    uint32_t hash;
} graph__seen;

typedef struct graph__product_search graph__product_search;
typedef struct graph__batch_search graph__batch_search;
typedef struct graph__pad_search graph__pad_search;
typedef struct graph__weight_search graph__weight_search;
typedef struct graph__map_search graph__map_search;
typedef struct graph__library_search graph__library_search;

typedef struct graph__rewrite {
    const ind_graph *from;
    ind_graph *to;
    uint32_t enabled;  /* bit per ind_pass */
    uint32_t *map;     /* tensor of `from` to tensor of `to` */
    bool *live;        /* by node of `from` */
    graph__seen *seen; /* CSE: open addressing, nodes of `to` by hash */
    uint32_t seen_size;
    const ind__node *hashed; /* CSE: the node that `hash` is of */
    uint32_t hash;
    pattern__application *application;    /* NULL: patterns are not applied in this iteration */
    uint32_t *application_of;             /* by node: 1 + the application that replaces an output; 0: none */
    const graph__product_search *merged;  /* NULL: products are not merged in this iteration */
    const graph__batch_search *batched;   /* NULL: nor become batches */
    const graph__pad_search *padded;      /* NULL: nor are their operands padded */
    const graph__weight_search *weights;  /* NULL: nor do weights of convolutions get another order */
    const graph__map_search *maps;        /* NULL: nor do their masks get maps */
    const graph__library_search *library; /* NULL: nor are they run by a library */
    uint32_t applied;
    const ind_pass_desc *pass;           /* a pass of the user, in place of the built-in ones; or NULL */
    uint32_t *users;                     /* readers of every tensor of `from`; NULL: not known */
    ind_tensor *visited;                 /* for a pass of the user: room for the operands and results of an op */
    const struct graph__reinplace *plan; /* the order of the nodes, and views that are read from elsewhere; or NULL */
    ind__pass_log *log;
    bool given; /* `from` is the graph of the caller */
    bool changed;
} graph__rewrite;

/* Visits a node whose operands are tensors of r->to and whose results are tensors of r->from. Returns the tensor of
   r->to that replaces its first result (the others follow); 0: the node is kept. */
typedef uint32_t (*graph__pass_fn)(graph__rewrite *r, const ind__node *n);

/* True if a tensor is proven to have the type and shape of another. */
static bool graph__same_type(const ind__tensor_info *a, const ind__tensor_info *b) {
    bool same = a->dtype == b->dtype && a->rank == b->rank && a->weak == b->weak;
    for (int d = 0; same && d < a->rank; d++) same = ind_known_eq(a->size[d], b->size[d]);
    return same;
}

/* Gives a tensor of r->to a name of the old graph, which a tensor with a generated name may have. */
static void graph__take_name(graph__rewrite *r, uint32_t tensor, const char *name) {
    if (!ind__vacate_name(r->to, name)) ind__graph_no_memory(r->to, name);
    ind_named((ind_tensor){r->to, tensor}, name);
}

/* Logs that a tensor of r->to replaces the first result of n. */
static void graph__log_replaced(graph__rewrite *r, const char *pass, const ind__node *n, uint32_t by) {
    const ind__node *m = graph__producer_of(r->to, by);
    const char *name = r->to->tensor[by].name;
    if (n->op == IND_OP_SCALAR) return;
    graph__log(r->log, pass, false, "%s (%s) becomes %s (%s)", r->from->tensor[n->result].name,
               n->name ? n->name : ind__op_name(n->op), name ? name : "a number",
               m->name ? m->name : ind__op_name(m->op));
}

static bool graph__same_shape(const ind__tensor_info *a, const ind__tensor_info *b) {
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = ind_expr_same(a->size[d], b->size[d]);
    return same;
}

/* Returns the value of all elements of a tensor if its op defines one. A Python number keeps its full precision. */
static bool graph__uniform_of(const ind_graph *g, uint32_t tensor, graph__typed_number *out) {
    const ind__node *n = graph__producer_of(g, tensor);
    if (!ind__op_has(n->op, 'U')) return false;
    *out = graph__filled_with(n);
    return n->op == IND_OP_SCALAR || graph__typed_number_cast(*out, g->tensor[tensor].dtype, out);
}

static bool graph__uniform_is(const ind_graph *g, uint32_t tensor, int64_t value) {
    graph__typed_number x;
    if (!graph__uniform_of(g, tensor, &x)) return false;
    return ind_dtype_is_float(x.dtype) ? x.f == (double)value : x.i == value;
}
