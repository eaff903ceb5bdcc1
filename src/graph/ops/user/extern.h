/* ---- extern calls */

#define IND_OPS_EXTERN(X)                                                                                              \
    X(EXTERN, "extern", "inputs*", "name:str workspace:size=0 mutates:ints=none types:exprs", 0, "Q") /* opaque */

/* An opaque call (ind_extern_register in inductor_ir.h): a step of its own, for which nothing is written; its operands
   are stored, contiguous. The result is the first one, ind_result gives the others: those declared, then for each
   operand in `mutates` what it holds after the call. Ops that read such an operand itself see what was there before;
   where any comes later, the call gets a copy. A call whose results nobody uses is dropped; any other is made once in
   each run. The callbacks are looked up when the graph is compiled: a missing one is IND_NOT_SUPPORTED there. Errors:
   IND_NOT_FOUND, IND_INVALID_ARGUMENT (no types and no shape rule), IND_TYPE_MISMATCH (the rule gives others),
   IND_PARSE, IND_LIMIT, IND_OUT_OF_RANGE and IND_OVERFLOW (the workspace), what the rule returns. */
typedef struct ind_extern_args {
    const ind_tensor *inputs;
    int num_inputs;
    const char *const *results; /* types as "f32[N, 8]"; none, and none in mutates: the shape rule says them */
    int num_results;
    const char *workspace; /* bytes, as "4*N + 256"; NULL: the shape rule says, else 0 */
    const int *mutates;    /* numbers of operands that it overwrites */
    int num_mutates;
} ind_extern_args;
IND_API ind_tensor ind_extern(ind_graph *graph, const char *name, const ind_extern_args *args);
