/* ---- loop functions and device functions of the user */

#define IND_OPS_CUSTOM(X)                                                                                              \
    X(CUSTOM, "custom", "inputs*", "dtype:dtype", 1, "PQ") /* ind_pointwise: a loop function of the user */            \
    X(CALL, "call", "inputs*", "function:str", 1, "PQ")    /* ind_call: a device function of the user */

/* A custom op. ind_pointwise calls fn once, immediately, to record the body; *user (user_bytes) is only needed until
   then. The result has the size of `like` (or size/rank) and dtype (IND_DTYPE_NONE: that of `like`). The body may load
   any tensor of the graph at any index (ind_op_load). It fuses like every other op. */
typedef struct ind_loop_desc {
    const char *name;
    ind_tensor like;
    const ind_expr *size;
    int rank;
    ind_dtype dtype;
    ind_loop_fn fn;
    void *user;
} ind_loop_desc;
IND_API ind_tensor ind_pointwise(ind_graph *graph, const ind_loop_desc *desc);

/* Calls a device function of the user (ind_function_register in inductor_ir.h) for each element. Operands broadcast and
   are cast to the declared types. Numbers (ind_scalar) are allowed. Errors: IND_ERROR_NOT_FOUND (no such function),
   IND_ERROR_INVALID_ARGUMENT (another number of operands; an op has that name), IND_ERROR_TYPE_MISMATCH (an operand's
   type does not promote to the argument's), IND_ERROR_SHAPE_MISMATCH. Without a host twin, ind_compile for the host
   device is IND_ERROR_NOT_SUPPORTED. */
IND_API ind_tensor ind_call(ind_graph *graph, const char *function, const ind_tensor *args, int num_args);
