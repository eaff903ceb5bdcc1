/* ---- how an op is implemented: one row of its family, in src/graph/ops

   An op of IND_OPS has a shape rule and a lowering. The row of a pointwise loop or a reduction also names the element
   function, or just the loop op and the loop op for bools. A composite has its expansion. */

struct ind__infer;
struct ind__expansion;
typedef struct graph__lower_ctx graph__lower_ctx;

typedef ind_status (*ind__rule)(struct ind__infer *in);
typedef void (*ind__expander)(struct ind__expansion *e);
typedef ind_value (*graph__lower_element_fn)(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l);
typedef ind_status (*graph__lower_fn)(graph__lower_ctx *l, ind__box **results);

typedef struct ind__implementation {
    ind__rule rule; /* NULL: a composite; no node has such an op */
    graph__lower_fn lower;
    graph__lower_element_fn element;
    ind_loop_op op, bool_op;
    ind__expander expand; /* NULL: not a composite */
} ind__implementation;

static const ind__implementation *ind__implementation_of(ind_graph_op op);
