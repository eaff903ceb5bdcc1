/* ------------------------------------------------------------------------------------------------- >>graph */

/* A graph of tensor ops. Built by one thread; every builder returns a handle, an invalid one (id 0) on error, and the
   first error stays in the graph: a long build is checked once, by ind_graph_status or ind_compile. */
typedef struct ind_graph ind_graph;

IND_API ind_graph *ind_graph_create(ind_context *context, const char *name); /* NULL: see ind_error */
IND_API void ind_graph_destroy(ind_graph *graph); /* NULL allowed; modules made from it live on */
IND_API ind_status ind_graph_status(const ind_graph *graph);
IND_API const char *ind_graph_error(const ind_graph *graph);
IND_API ind_context *ind_graph_context(const ind_graph *graph);

/* Remembers the caller's source position for errors of the next op: IND_HERE(g); y = ind_linear(x, w, b); */
IND_API void ind_here(ind_graph *graph, const char *file, int line);
#define IND_HERE(graph) ind_here((graph), __FILE__, __LINE__)

/* Declares a symbolic size: "B in [1, 4096] multiple_of 1 hint 32"; multiple_of and hint may be left out. */
IND_API ind_expr ind_size(ind_graph *graph, const char *declaration);

/* Declares that a condition on sizes holds: "S == 4*T", "S <= T", "S % 8 == 0", "S != T", joined by `and`. A size that
   an equality gives in terms of others is replaced by that everywhere. To be said before the first tensor with a size
   in it. Errors: IND_PARSE, IND_INVALID_ARGUMENT (contradicts what is known, is no condition, comes too late). */
IND_API ind_status ind_fact(ind_graph *graph, const char *condition);

/* Restricts the module to sizes for which a condition holds, and takes it to hold from there on. With `holds` given, it
   says which way the condition goes for the hints, and where it does not hold its negation becomes the guard: so a
   caller may choose between two graphs. Nothing is recorded of what follows from the declarations. Errors: as ind_fact;
   IND_OUT_OF_RANGE if it does not hold for the hints and holds is NULL. */
IND_API ind_status ind_guard_that(ind_graph *graph, const char *condition, bool *holds);

/* Inputs and constants with their type as text: "f32[B, 256]"; sizes are expressions in declared symbols. Constants
   (weights) do not change between runs. ind_output names a tensor that the caller gets back. */
IND_API ind_tensor ind_input(ind_graph *graph, const char *name, const char *type);
IND_API ind_tensor ind_constant(ind_graph *graph, const char *name, const char *type);
IND_API ind_status ind_output(ind_graph *graph, const char *name, ind_tensor x);

/* After each run the memory bound to `input` holds `value` (of the same type), as in PyTorch where an op changes its
   input in place; ops that read `input` see what was there before. Where nothing reads the old contents later, scatters
   write into that memory directly and only what changes is stored: cache2 = index_put(cache, ..) with
   ind_mutate(cache, cache2) copies no cache. Errors: IND_INVALID_ARGUMENT (not an input; mutated twice),
   IND_SHAPE_MISMATCH, IND_TYPE_MISMATCH. */
IND_API ind_status ind_mutate(ind_tensor input, ind_tensor value);

/* The memory bound to `input` is the module's to write over, once nothing needs the input any more: intermediates then
   take less of the workspace, and an output may be bound to that very memory (ind_binding_info.takes_over says which).
   After a run the contents are undefined, unless they are such an output; the memory itself stays the caller's, to free
   or to bind again. So it must not share memory with anything else that is bound: a run fails where it does. On a run
   with IND_MEMORY_HOST on a GPU it is the copy there that is written over. Errors: IND_INVALID_ARGUMENT (not an input;
   it is mutated). In text: `donate x`. */
IND_API ind_status ind_donate(ind_tensor input);

/* An op in place: what x shows, and so the memory that it shares with other tensors through views, becomes `result`, an
   op's result of x's shape, cast to x's type. x.add_(y) is ind_inplace(x, ind_add(x, y)), x[2:5].zero_() is
   ind_inplace(x2, ind_zeros_like(x2, IND_DTYPE_NONE)) with x2 = ind_slice(x, ..), x.copy_(y) is
   ind_inplace(x, ind_copy(x, y)). From here on all tensors of that memory read as changed; ops, outputs and mutations
   that were added before keep what they read. If it is an input's, ind_mutate is implied. Returns x; an invalid tensor
   on error: IND_SHAPE_MISMATCH, IND_TYPE_MISMATCH (a float result to integers, numbers to bool; ind_copy and
   ind_fill convert), IND_INVALID_ARGUMENT (x is or shows a constant; an element of memory several times, as after
   expand; ind_mutate was called for the input). */
IND_API ind_tensor ind_inplace(ind_tensor x, ind_tensor result);

/* What a tensor is. */
IND_API ind_dtype ind_tensor_dtype(ind_tensor x);
IND_API int ind_tensor_rank(ind_tensor x);
IND_API ind_expr ind_tensor_size(ind_tensor x, int dim); /* dim may be negative */
/* Name for dumps; unique names are made where two are equal. Returns x. */
IND_API ind_tensor ind_named(ind_tensor x, const char *name);
