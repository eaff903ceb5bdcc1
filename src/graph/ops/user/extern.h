/* ---- extern calls */

#define IND_OPS_EXTERN(X)                                                                                              \
    X(EXTERN, "extern", "inputs*", "name:str workspace:size=0 mutates:ints=none types:exprs", 0, "Q") /* extern call   \
                                                                                                       */

/* An extern call (ind_extern_register in inductor_ir.h): a separate step without generated code. Its operands are
   stored, and contiguous unless the call is registered with `strided`. It returns the first result, ind_result the
   others: the declared ones, then the contents after the call of each operand in `mutates`. Ops that read such an
   operand itself see its contents before the call; if a later op does, the call gets a copy. A call without used
   results is dropped; any other runs once per run. ind_compile looks up the callbacks: a missing one is
   IND_ERROR_NOT_SUPPORTED there. Errors: IND_ERROR_NOT_FOUND, IND_ERROR_INVALID_ARGUMENT (no types and no shape rule),
   IND_ERROR_TYPE_MISMATCH (the rule returns other types), IND_ERROR_PARSE, IND_ERROR_LIMIT, IND_ERROR_OUT_OF_RANGE and
   IND_ERROR_OVERFLOW (the workspace), any error of the rule. */
typedef struct ind_extern_args {
    const ind_tensor *inputs;
    int num_inputs;
    const char *const *results; /* types as "f32[N, 8]"; none, and none in mutates: from the shape rule */
    int num_results;
    const char *workspace; /* bytes, as "4*N + 256"; NULL: from the shape rule, else 0 */
    const int *mutates;    /* indices of the operands that it overwrites */
    int num_mutates;
} ind_extern_args;
IND_API ind_tensor ind_extern(ind_graph *graph, const char *name, const ind_extern_args *args);
