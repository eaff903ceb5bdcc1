/* ------------------------------------------------------------------------------------------ >>user-passes */

/* When a pass of the user runs. */
#define IND_PASS_POINTS(X)                                                                                             \
    X(START, "start")         /* before the built-in passes */                                                         \
    X(OPTIMISED, "optimised") /* after them; they run again if it changed anything, at most 7 times */                 \
    X(LOWERING, "lowering")   /* last: only unused ops are removed after it */

typedef enum ind_pass_point {
#define X(name, text) IND_POINT_##name,
    IND_PASS_POINTS(X)
#undef X
        IND_NUM_PASS_POINTS
} ind_pass_point;

/* An op that a pass visits. The pass rewrites a graph to a new one: operands are tensors of the new graph, results are
   those of the old one, for ind_tensor_dtype, ind_tensor_size and the like. Valid during the visit. */
typedef struct ind_visited_op {
    ind_graph *graph; /* the new graph; builders called in the visit add to it */
    ind_graph_op op;
    const char *name;      /* "mul"; for ops of the user, their name */
    const char *composite; /* the composite that it was expanded from; NULL: none */
    const ind_tensor *operand;
    int num_operands;
    const ind_tensor *result;
    int num_results;
    int num_users; /* ops that read its results; an output of the graph counts as one */
} ind_visited_op;

/* Visits every op but inputs, constants and numbers, operands first. Returns IND_NO_TENSOR to keep the op, or the
   tensor that replaces its first result: an operand, or a result of ops that the visit has built. If the op has several
   results, those of that tensor's op replace the others. Types and shapes must be equal. */
typedef ind_tensor (*ind_visit_fn)(const ind_visited_op *op, void *user);

typedef struct ind_pass_desc {
    const char *name; /* for IND_STAGE_PASSES and messages; copied */
    ind_pass_point point;
    ind_visit_fn visit;
    void *user;
} ind_pass_desc;

/* Registers a pass for all graphs that are compiled in this context after the call. Passes of one point run in order of
   registration, in the thread that compiles; the graph is verified after each. ind_compile fails with
   IND_ERROR_TYPE_MISMATCH if a replacement has another type or shape, and with the error of a builder if one fails in a
   visit; the message names the pass.
   Errors: IND_ERROR_INVALID_ARGUMENT (NULL; no such point; the name is taken), IND_ERROR_OUT_OF_MEMORY. */
IND_API ind_status ind_pass_register(ind_context *context, const ind_pass_desc *desc);

/* The op that x is a result of; IND_NUM_OPS: x is invalid. With these a visit follows operands to the ops before. */
IND_API ind_graph_op ind_tensor_op(ind_tensor x);
IND_API int ind_tensor_num_operands(ind_tensor x);
IND_API ind_tensor ind_tensor_operand(ind_tensor x, int k); /* IND_NO_TENSOR: absent */
/* True if all elements of x have one value that its op defines: a number, full, zeros, .. */
IND_API bool ind_tensor_number(ind_tensor x, double *value);
/* Reads an attribute of the op of x by its name. False: there is none, it is not given, or it has another kind. */
IND_API bool ind_tensor_attr_int(ind_tensor x, const char *name,
                                 int64_t *value); /* int, bool, ind_dtype, constant size */
/* Returns a string; NULL: none. */
IND_API const char *ind_tensor_attr_string(ind_tensor x, const char *name);
IND_API bool ind_tensor_attr_float(ind_tensor x, const char *name, double *value);
/* Copies up to `max` sizes of a list; returns its length, -1: there is none. */
IND_API int ind_tensor_attr_list(ind_tensor x, const char *name, ind_expr *list, int max);
