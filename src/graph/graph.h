/* ------------------------------------------------------------------------------------------------- >>graph */

/* A graph of tensor ops, built by one thread. Every builder returns a handle, which is invalid (id 0) on error. The
   first error stays in the graph, so a long build is checked once, by ind_graph_status or ind_compile. */
typedef struct ind_graph ind_graph;

IND_API ind_graph *ind_graph_create(ind_context *context, const char *name); /* NULL: see ind_error */
IND_API void ind_graph_destroy(ind_graph *graph);                            /* NULL allowed; its modules stay valid */
IND_API ind_status ind_graph_status(const ind_graph *graph);
IND_API const char *ind_graph_error(const ind_graph *graph);
IND_API ind_context *ind_graph_context(const ind_graph *graph);

/* Sets the source position for errors of the next op: IND_HERE(g); y = ind_linear(x, w, b); */
IND_API void ind_here(ind_graph *graph, const char *file, int line);
#define IND_HERE(graph) ind_here((graph), __FILE__, __LINE__)

/* An expression of which all ops, those of nested calls too, have this source position in errors:
   y = IND_AT(g, ind_relu(ind_linear(x, w, b))). Expressions may be nested; from 17 deep on, ops have the position of
   the 16th. */
IND_API void ind_at_begin(ind_graph *graph, const char *file, int line);
IND_API ind_tensor ind_at_end(ind_graph *graph, ind_tensor x); /* returns x */
#define IND_AT(graph, ...) ind_at_end((graph), (ind_at_begin((graph), __FILE__, __LINE__), __VA_ARGS__))

/* Declares a symbolic size: "B in [1, 4096] multiple_of 1 hint 32"; multiple_of and hint are optional. "P device in [0,
   N] hint 100" declares a size whose value lies in device memory, as the input P : i64[]; see ind_arange_of_item. */
IND_API ind_expr ind_size(ind_graph *graph, const char *declaration);

/* Declares that a condition on sizes holds: "S == 4*T", "S <= T", "S % 8 == 0", "S != T", combined by `and`. An
   equality that gives a size in terms of others replaces that size everywhere. Call it before the first tensor with a
   size of the condition. Errors: IND_ERROR_PARSE, IND_ERROR_INVALID_ARGUMENT (contradicts known facts, is not a
   condition, comes too late). */
IND_API ind_status ind_fact(ind_graph *graph, const char *condition);

/* Restricts the module to sizes for which a condition holds. After the call the condition is a fact of the graph. If
   `holds` is not NULL, it receives whether the condition holds at the hints; if not, the negation becomes the guard. So
   a caller may choose between two graphs. A condition that follows from the declarations is not recorded. Errors: as
   ind_fact; IND_ERROR_OUT_OF_RANGE if it does not hold at the hints and holds is NULL. */
IND_API ind_status ind_guard_that(ind_graph *graph, const char *condition, bool *holds);

/* Inputs and constants with their type as text: "f32[B, 256]"; sizes are expressions in declared symbols. Constants
   (weights) do not change between runs. ind_output names a tensor that a run returns to the caller. */
IND_API ind_tensor ind_input(ind_graph *graph, const char *name, const char *type);
IND_API ind_tensor ind_constant(ind_graph *graph, const char *name, const char *type);
IND_API ind_status ind_output(ind_graph *graph, const char *name, ind_tensor x);

/* Stores `value` (of the same type) in the memory bound to `input` at the end of each run, as in-place ops of PyTorch
   do. Ops that read `input` see the old contents. If nothing reads the old contents later, scatters write into that
   memory directly and store only the changed elements. So cache2 = index_put(cache, ..) with ind_mutate(cache, cache2)
   copies no cache. Errors: IND_ERROR_INVALID_ARGUMENT (not an input; mutated twice), IND_ERROR_SHAPE_MISMATCH,
   IND_ERROR_TYPE_MISMATCH. */
IND_API ind_status ind_mutate(ind_tensor input, ind_tensor value);

/* Lets the module overwrite the memory bound to `input` after the last use of the input. Intermediates then take less
   of the workspace, and an output may be bound to the same memory (ind_binding_info.takes_over names it). After a run
   the contents are undefined unless they are such an output. The caller still owns the memory and may free it or bind
   it again. It must not overlap any other bound memory; a run fails if it does. A run with IND_MEMORY_HOST on a GPU
   overwrites the copy on the GPU. Errors: IND_ERROR_INVALID_ARGUMENT (not an input; it is mutated). In text: `donate
   x`. */
IND_API ind_status ind_donate(ind_tensor input);

/* Applies an op in place: x, and the memory that it shares with other tensors through views, becomes `result`. `result`
   is the result of an op, has x's shape and is cast to x's type. x.add_(y) is ind_inplace(x, ind_add(x, y)).
   x[2:5].zero_() is ind_inplace(x2, ind_zeros_like(x2, IND_DTYPE_NONE)) with x2 = ind_slice(x, ..). x.copy_(y) is
   ind_inplace(x, ind_copy(x, y)). After the call all tensors of that memory read as changed; earlier ops, outputs and
   mutations keep the values that they read. For an input's memory, ind_mutate is implied. Returns x; an invalid tensor
   on error: IND_ERROR_SHAPE_MISMATCH, IND_ERROR_TYPE_MISMATCH (a float result to integers, numbers to bool; ind_copy
   and ind_fill convert), IND_ERROR_INVALID_ARGUMENT (x is a constant or a view of one; x has an element of memory
   several times, as after expand; ind_mutate was called for the input). */
IND_API ind_tensor ind_inplace(ind_tensor x, ind_tensor result);

/* Properties of a tensor. */
IND_API ind_dtype ind_tensor_dtype(ind_tensor x);
IND_API int ind_tensor_rank(ind_tensor x);
IND_API ind_expr ind_tensor_size(ind_tensor x, int dim); /* dim may be negative */
/* Names a tensor for dumps; a name that is taken gets a suffix. Returns x. */
IND_API ind_tensor ind_named(ind_tensor x, const char *name);
