#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_GRAPH_IMPLEMENTATION
#endif
/* inductor.h - a compiler for tensor graphs: ops in through a C API, fused CUDA C out, compiled at run time by NVRTC.

   Do this in *one* .c file (C11) to create the implementation of all five headers:

       #define INDUCTOR_IMPLEMENTATION
       #include "inductor.h"

   and include it plainly (C99, C++11) everywhere else. Link with -lm -lpthread -ldl. The manual stands at >>overview.

   Optional macros, defined before the implementation
       IND_API        linkage of every public function (default: extern)

   Contents: >>overview >>version >>graph >>ops >>text >>compile >>explain >>formula >>internal
   implementation: >>op-table >>shapes >>builder >>conditions >>printer >>parser >>passes >>lowerings >>pipeline
   >>explain >>formula >>solve
*/
#include "inductor_runtime.h"
#ifndef INDUCTOR_H
#define INDUCTOR_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- >>overview */

/* WHAT IT IS
   The job of PyTorch's TorchInductor as a C library. You build a graph of tensor ops with PyTorch's names and meanings
   (by calls, or from text); it is simplified, lowered to loops, fused into few kernels, given one memory plan, written
   as CUDA C, compiled by NVRTC and run on your stream. Where there is no GPU the same schedule runs on the host.

       ops on tensors        graph, passes, lowering, compile, explain            inductor.h
         |
       loops over elements   buffers = layout + inner function over indices       inductor_ir.h
         |
       schedule              dependencies, fusion, order, memory plan             inductor_sched.h
         |
       kernels               strategy, thread layout, CUDA C text                 inductor_codegen_cuda.h
         |
       results               NVRTC, kernel pack, memory, launch, CUDA graphs      inductor_runtime.h

   WHAT IT DOES NOT DO
   No training (no autograd), no Python, no file formats of models, no graph capture from another framework. Nothing
   aborts, exits or prints. Nothing is sent anywhere.

   EXAMPLE
       #define INDUCTOR_IMPLEMENTATION
       #include "inductor.h"
       #include <stdio.h>

       int main(void) {
           ind_context *ctx;
           if (ind_context_create(NULL, &ctx)) return 1;

           ind_graph *g = ind_graph_create(ctx, "mlp");
           ind_size(g, "B in [1, 4096] hint 32");
           ind_tensor x = ind_input(g, "x", "f32[B, 256]");
           ind_tensor w = ind_constant(g, "w", "f32[512, 256]");
           ind_output(g, "y", ind_gelu(ind_linear(x, w, IND_NO_TENSOR), IND_GELU_TANH));

           ind_module *m;
           if (ind_compile(g, NULL, &m)) {
               fprintf(stderr, "%s\n", ind_error(ctx));
               return 1;
           }
           static float X[8 * 256], W[512 * 256], Y[8 * 512];
           ind_binding io[] = {{"x", X}, {"w", W}, {"y", Y}};
           ind_run_desc run = {.bindings = io, .num_bindings = 3, .sizes = "B=8", .memory = IND_MEMORY_HOST};
           if (ind_run(m, &run)) fprintf(stderr, "%s\n", ind_error(ctx));
           ind_context_destroy(ctx);
       }

   SIZES
   A size of a tensor is an integer or an expression in declared symbols: "f32[2*B, S + 1]". A declaration gives the
   range within which the module must be right, what the size is known to be a multiple of, and a hint (64 or the
   nearest in range, if left out) that only ever decides between ways that are all right. One compile serves every size
   in the range; a run outside is an error. Where an op needs two sizes to be equal, that must follow from the
   declarations; "B" and "S" are not taken to be equal because they might be.

   What is known of sizes beyond their ranges is said by facts and guards, before the first tensor with such a size:
   ind_fact(g, "S == 4*T") is a promise, ind_guard_that(g, "S <= 512", NULL) restricts the module. From there on both
   hold: shapes that agree only because of them agree, kernels get simpler. Every run checks them. A guard is what one
   may leave out or choose otherwise in another compile; against a fact no compile helps (ind_would_compile tells).

   ERRORS
   Functions return ind_status; ind_error(ctx) has the sentence. Builders return a tensor instead: on failure an
   invalid one, and the graph keeps the first error, so a long build is checked once (ind_graph_status, or ind_compile,
   which returns it). IND_HERE(g) before a call puts your file and line behind the message:

       linear: x has 256 features (dim 1 of f32[B, 256]), w expects 128 (dim 1 of f32[512, 128]); x and w must agree
       there   [engine.c:41]

   MEMORY
   All host memory comes from the context's allocator and goes back with the context. Graphs are not needed once they
   are compiled. Inputs, constants and outputs are contiguous and stay yours; intermediates share one workspace, which
   is made for you or given by you (ind_instance_desc), and whose size is a formula: ind_module_workspace.

   THREADS
   One thread at a time builds in a context. A module is immutable: threads run it side by side, each with an
   instance of its own. The explaining calls (ind_module_text and so on) make their text on first use: one thread at a
   time.

   DEVICES
   IND_DEVICE_AUTO takes the GPU where the driver, NVRTC and a device of compute capability 8.0 or more are found, else
   the host device, which needs nothing and is the reference for results. Both libraries are opened at run time.

   TEXT FORM
   Every graph prints as text and can be read from it (>>text has the grammar); what is printed parses to the same graph
   and prints the same again. Types after results may be left out; arguments may be given by position, in PyTorch's
   order.

       graph mlp {
         size B in [1, 4096] multiple_of 1 hint 32
         input x : f32[B, 256]
         const w : f32[512, 256]
         h : f32[B, 512] = linear(x, w)
         y : f32[B, 512] = gelu(h, approximate="tanh")
         s : f32[B], i : i64[B] = max(y, dim=-1)
         output y, best = i
       }

   DIFFERENCES TO PYTORCH
   linear takes a 2-D weight; indices may be i32 beside i64; weights of layer_norm and rms_norm may be f32 beside f16
   and bf16 input; full gives f32 unless told otherwise; arange takes integers; a symbolic size is never squeezed. */

/* ----------------------------------------------------------------------------------------------- >>version */

#define IND_VERSION 100 /* major * 10000 + minor * 100 + patch: 0.1.0 */

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

/* What a tensor is. */
IND_API ind_dtype ind_tensor_dtype(ind_tensor x);
IND_API int ind_tensor_rank(ind_tensor x);
IND_API ind_expr ind_tensor_size(ind_tensor x, int dim); /* dim may be negative */
/* Name for dumps; unique names are made where two are equal. Returns x. */
IND_API ind_tensor ind_named(ind_tensor x, const char *name);

/* --------------------------------------------------------------------------------------------------- >>ops */

/* The op table: the only list of graph ops. Columns: enumerator; text name (PyTorch's); operands (`?` optional, `*` a
   list of tensors, `*?` a list that may have gaps; a list stands last); attributes in order as name:kind or
   name:kind=default; number of results; flags. Kinds: int, float, bool, str, dtype, ints (list of integers), sizes
   (list of size expressions), size (one; may be symbolic), scalar (number). `none` as default: may be left out. Flags:
   P pointwise, V view, R reduction, M matrix product, G gather, S source (no operands), C composite (lowered through
   several loops), B result is bool, F integer operands are computed as floats (f32). */
#define IND_OPS(X)                                                                                                     \
    X(INPUT, "input", "", "", 1, "S")                                                                                  \
    X(CONST, "const", "", "", 1, "S")                                                                                  \
    X(SCALAR, "scalar", "", "value:scalar", 1, "S") /* a Python number: promotes weakly */                             \
    X(FULL, "full", "", "size:sizes fill_value:scalar dtype:dtype=f32", 1, "S")                                        \
    X(ARANGE, "arange", "", "start:size=0 end:size step:size=1 dtype:dtype=i64", 1, "S")                               \
    X(ADD, "add", "self other", "alpha:scalar=1", 1, "P")                                                              \
    X(SUB, "sub", "self other", "alpha:scalar=1", 1, "P")                                                              \
    X(MUL, "mul", "self other", "", 1, "P")                                                                            \
    X(DIV, "div", "self other", "", 1, "PF")                                                                           \
    X(POW, "pow", "self exponent", "", 1, "P")                                                                         \
    X(MAXIMUM, "maximum", "self other", "", 1, "P")                                                                    \
    X(MINIMUM, "minimum", "self other", "", 1, "P")                                                                    \
    X(EQ, "eq", "self other", "", 1, "PB")                                                                             \
    X(NE, "ne", "self other", "", 1, "PB")                                                                             \
    X(LT, "lt", "self other", "", 1, "PB")                                                                             \
    X(LE, "le", "self other", "", 1, "PB")                                                                             \
    X(GT, "gt", "self other", "", 1, "PB")                                                                             \
    X(GE, "ge", "self other", "", 1, "PB")                                                                             \
    X(NEG, "neg", "self", "", 1, "P")                                                                                  \
    X(EXP, "exp", "self", "", 1, "PF")                                                                                 \
    X(LOG, "log", "self", "", 1, "PF")                                                                                 \
    X(SQRT, "sqrt", "self", "", 1, "PF")                                                                               \
    X(RSQRT, "rsqrt", "self", "", 1, "PF")                                                                             \
    X(RECIPROCAL, "reciprocal", "self", "", 1, "PF")                                                                   \
    X(TANH, "tanh", "self", "", 1, "PF")                                                                               \
    X(ERF, "erf", "self", "", 1, "PF")                                                                                 \
    X(SIGMOID, "sigmoid", "self", "", 1, "PF")                                                                         \
    X(RELU, "relu", "self", "", 1, "P")                                                                                \
    X(GELU, "gelu", "self", "approximate:str=\"none\"", 1, "P")                                                        \
    X(SILU, "silu", "self", "", 1, "P")                                                                                \
    X(WHERE, "where", "condition self other", "", 1, "P")                                                              \
    X(CAST, "cast", "self", "dtype:dtype", 1, "P")                                                                     \
    X(CUSTOM, "custom", "inputs*", "dtype:dtype", 1, "P") /* ind_pointwise: a loop function of the user */             \
    X(SUM, "sum", "self", "dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                                 \
    X(MEAN, "mean", "self", "dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                               \
    X(AMAX, "amax", "self", "dim:ints=none keepdim:bool=false", 1, "R")                                                \
    X(AMIN, "amin", "self", "dim:ints=none keepdim:bool=false", 1, "R")                                                \
    X(ARGMAX, "argmax", "self", "dim:int=none keepdim:bool=false", 1, "R")                                             \
    X(ANY, "any", "self", "dim:ints=none keepdim:bool=false", 1, "RB")                                                 \
    X(MAX, "max", "self", "dim:int keepdim:bool=false", 2, "R")                                                        \
    X(SOFTMAX, "softmax", "self", "dim:int dtype:dtype=none", 1, "C")                                                  \
    X(LOG_SOFTMAX, "log_softmax", "self", "dim:int dtype:dtype=none", 1, "C")                                          \
    X(LAYER_NORM, "layer_norm", "input weight? bias?", "normalized_shape:sizes eps:float=1e-05", 1, "C")               \
    X(RMS_NORM, "rms_norm", "input weight?", "normalized_shape:sizes eps:float=none", 1, "C")                          \
    X(VIEW, "view", "self", "size:sizes", 1, "V")                                                                      \
    X(PERMUTE, "permute", "self", "dims:ints", 1, "V")                                                                 \
    X(TRANSPOSE, "transpose", "self", "dim0:int dim1:int", 1, "V")                                                     \
    X(EXPAND, "expand", "self", "size:sizes", 1, "V")                                                                  \
    X(UNSQUEEZE, "unsqueeze", "self", "dim:int", 1, "V")                                                               \
    X(SQUEEZE, "squeeze", "self", "dim:ints=none", 1, "V")                                                             \
    X(SLICE, "slice", "self", "dim:int=0 start:size=none end:size=none step:size=1", 1, "V")                           \
    X(SELECT, "select", "self", "dim:int index:size", 1, "V")                                                          \
    X(CAT, "cat", "tensors*", "dim:int=0", 1, "P")                                                                     \
    X(EMBEDDING, "embedding", "weight indices",                                                                        \
      "padding_idx:int=none scale_grad_by_freq:bool=false sparse:bool=false", 1, "G") /* they mean gradients only */   \
    X(GATHER, "gather", "self index", "dim:int", 1, "G")                                                               \
    X(INDEX_SELECT, "index_select", "self index", "dim:int", 1, "G")                                                   \
    X(INDEX, "index", "self indices*?", "", 1, "G")                                                                    \
    X(TAKE, "take", "self index", "", 1, "G")                                                                          \
    X(INDEX_PUT, "index_put", "self values indices*?", "accumulate:bool=false", 1, "G")                                \
    X(PUT, "put", "self index source", "accumulate:bool=false", 1, "G")                                                \
    X(SCATTER, "scatter", "self index src?", "dim:int value:scalar=none", 1, "G")                                      \
    X(SCATTER_ADD, "scatter_add", "self index src", "dim:int", 1, "G")                                                 \
    X(SCATTER_REDUCE, "scatter_reduce", "self index src", "dim:int reduce:str include_self:bool=true", 1, "G")         \
    X(INDEX_ADD, "index_add", "self index source", "dim:int alpha:scalar=1", 1, "G")                                   \
    X(INDEX_COPY, "index_copy", "self index source", "dim:int", 1, "G")                                                \
    X(INDEX_FILL, "index_fill", "self index", "dim:int value:scalar", 1, "G")                                          \
    X(EMBEDDING_DENSE_BACKWARD, "embedding_dense_backward", "grad_output indices",                                     \
      "num_weights:size padding_idx:int=none scale_grad_by_freq:bool=false", 1, "G")                                   \
    X(MATMUL, "matmul", "self other", "", 1, "M")                                                                      \
    X(MM, "mm", "self mat2", "", 1, "M")                                                                               \
    X(BMM, "bmm", "self mat2", "", 1, "M")                                                                             \
    X(ADDMM, "addmm", "self mat1 mat2", "beta:scalar=1 alpha:scalar=1", 1, "M")                                        \
    X(LINEAR, "linear", "input weight bias?", "", 1, "M")

typedef enum ind_graph_op {
#define X(name, text, operands, attributes, results, flags) IND_OP_##name,
    IND_OPS(X)
#undef X
        IND_NUM_OPS
} ind_graph_op;

/* Marks a dimension list or an argument as "not given" / "no optional tensor". */
#define IND_NO_TENSOR ind_no_tensor()
static inline ind_tensor ind_no_tensor(void) {
    ind_tensor t = {0, 0};
    return t;
}

/* Numbers as operands: promote like Python numbers (an integer does not turn a float tensor into f64, and so on). */
IND_API ind_tensor ind_scalar(ind_graph *graph, double value);
IND_API ind_tensor ind_scalar_int(ind_graph *graph, int64_t value);

IND_API ind_tensor ind_full(ind_graph *graph, const ind_expr *size, int rank, double value, ind_dtype dtype);
/* start, step and dtype zeroed: 0, 1 and i64. */
IND_API ind_tensor ind_arange(ind_graph *graph, ind_expr start, ind_expr end, ind_expr step, ind_dtype dtype);

/* torch.<name>; broadcasting and type promotion as PyTorch does them. */
IND_API ind_tensor ind_add(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_sub(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_mul(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_div(ind_tensor a, ind_tensor b); /* true division: integers give f32 */
IND_API ind_tensor ind_pow(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_maximum(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_minimum(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_eq(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_ne(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_lt(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_le(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_gt(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_ge(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_neg(ind_tensor a);
IND_API ind_tensor ind_exp(ind_tensor a);
IND_API ind_tensor ind_log(ind_tensor a);
IND_API ind_tensor ind_sqrt(ind_tensor a);
IND_API ind_tensor ind_rsqrt(ind_tensor a);
IND_API ind_tensor ind_reciprocal(ind_tensor a);
IND_API ind_tensor ind_tanh(ind_tensor a);
IND_API ind_tensor ind_erf(ind_tensor a);
IND_API ind_tensor ind_sigmoid(ind_tensor a);
IND_API ind_tensor ind_relu(ind_tensor a);
typedef enum ind_gelu_form { IND_GELU_ERF, IND_GELU_TANH } ind_gelu_form;
IND_API ind_tensor ind_gelu(ind_tensor a, ind_gelu_form form);
IND_API ind_tensor ind_silu(ind_tensor a);
IND_API ind_tensor ind_where(ind_tensor condition, ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_cast(ind_tensor a, ind_dtype dtype);

/* dims: num_dims dimensions, negative ones from the end; num_dims 0: all. dtype NONE: PyTorch's default. */
IND_API ind_tensor ind_sum(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_mean(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_amax(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_amin(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_any(ind_tensor x, const int *dims, int num_dims, bool keepdim);
#define IND_ALL_DIMS INT32_MIN
IND_API ind_tensor ind_argmax(ind_tensor x, int dim, bool keepdim); /* IND_ALL_DIMS: over the flattened tensor */
IND_API ind_tensor ind_max(ind_tensor x, int dim, bool keepdim, ind_tensor *indices); /* values; indices may be NULL */
IND_API ind_tensor ind_softmax(ind_tensor x, int dim);
IND_API ind_tensor ind_log_softmax(ind_tensor x, int dim);
/* weight, bias: IND_NO_TENSOR to leave out. Normalises over the last num_dims dimensions. */
IND_API ind_tensor ind_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps);
/* As ind_layer_norm, without mean and bias. eps < 0: the epsilon of x's type. */
IND_API ind_tensor ind_rms_norm(ind_tensor x, int num_dims, ind_tensor weight, double eps);

/* Views: cost nothing. One size of ind_view may be -1 (given as ind_int(ctx, -1)). */
IND_API ind_tensor ind_view(ind_tensor x, const ind_expr *size, int rank);
IND_API ind_tensor ind_view_text(ind_tensor x, const char *size); /* "[B, S, 12, 32]" */
IND_API ind_tensor ind_permute(ind_tensor x, const int *dims, int num_dims);
IND_API ind_tensor ind_transpose(ind_tensor x, int dim0, int dim1);
IND_API ind_tensor ind_expand(ind_tensor x, const ind_expr *size, int rank); /* -1: keep */
IND_API ind_tensor ind_unsqueeze(ind_tensor x, int dim);
IND_API ind_tensor ind_squeeze(ind_tensor x, int dim); /* IND_ALL_DIMS: every dimension of size 1 */
/* Python's x[start:end:step] along one dimension; step > 0. A zeroed start, end or step means "not given". */
IND_API ind_tensor ind_slice(ind_tensor x, int dim, ind_expr start, ind_expr end, ind_expr step);
IND_API ind_tensor ind_select(ind_tensor x, int dim, ind_expr index);
IND_API ind_tensor ind_cat(const ind_tensor *tensors, int num, int dim);

IND_API ind_tensor ind_embedding(ind_tensor weight, ind_tensor indices);
IND_API ind_tensor ind_gather(ind_tensor x, int dim, ind_tensor index);
IND_API ind_tensor ind_index_select(ind_tensor x, int dim, ind_tensor index);

/* x[indices]: one index tensor per leading dimension, IND_NO_TENSOR for all of it; the index tensors broadcast, and
   their dimensions stand where the first of them stood, or in front if there is a gap between them. Negative indices
   count from the end. Masks (bool) have a size that depends on data: IND_NOT_SUPPORTED. */
IND_API ind_tensor ind_index(ind_tensor x, const ind_tensor *indices, int num);
IND_API ind_tensor ind_take(ind_tensor x, ind_tensor index); /* of x flattened; negative ones from the end */

/* Scatters: x with some elements replaced or combined; x itself stays (see ind_mutate). Where the same element is named
   twice, replacing keeps the last one on the host device and any one on a GPU, and sums of floats come in any order on
   a GPU, as in PyTorch. An index that is out of range stores nothing and is IND_INDEX_OUT_OF_RANGE.
   ind_index_put: as ind_index; a single mask goes with values of one element. */
IND_API ind_tensor ind_index_put(ind_tensor x, const ind_tensor *indices, int num, ind_tensor values, bool accumulate);
IND_API ind_tensor ind_put(ind_tensor x, ind_tensor index, ind_tensor source, bool accumulate);
IND_API ind_tensor ind_scatter(ind_tensor x, int dim, ind_tensor index, ind_tensor src);
IND_API ind_tensor ind_scatter_value(ind_tensor x, int dim, ind_tensor index, double value);
IND_API ind_tensor ind_scatter_add(ind_tensor x, int dim, ind_tensor index, ind_tensor src);
/* reduce: "sum", "prod", "mean", "amax" or "amin". */
IND_API ind_tensor ind_scatter_reduce(ind_tensor x, int dim, ind_tensor index, ind_tensor src, const char *reduce,
                                      bool include_self);
IND_API ind_tensor ind_index_add(ind_tensor x, int dim, ind_tensor index, ind_tensor source, double alpha);
IND_API ind_tensor ind_index_copy(ind_tensor x, int dim, ind_tensor index, ind_tensor source);
IND_API ind_tensor ind_index_fill(ind_tensor x, int dim, ind_tensor index, double value);
/* Gradient of ind_embedding with respect to its weight [num_weights, features]; padding_idx < 0: none. */
IND_API ind_tensor ind_embedding_dense_backward(ind_tensor grad_output, ind_tensor indices, ind_expr num_weights,
                                                int64_t padding_idx, bool scale_grad_by_freq);

IND_API ind_tensor ind_matmul(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_mm(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bmm(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_addmm(ind_tensor bias, ind_tensor a, ind_tensor b, double beta, double alpha);
IND_API ind_tensor ind_linear(ind_tensor x, ind_tensor weight, ind_tensor bias); /* bias: IND_NO_TENSOR to leave out */

/* An op of one's own. fn is called once, at once, to record the body; user_bytes of *user are only needed until then.
   The result has the size of `like` (or size/rank) and dtype (IND_DTYPE_NONE: that of `like`). The body may load any
   tensor of the graph at any index (ind_op_load). It fuses like every other op. */
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

/* -------------------------------------------------------------------------------------------------- >>text */

/* Reads a graph in the text form; `file` is for messages (NULL: "<text>"). NULL on failure: ind_error says file, line,
   column, what was found and what is allowed.

   grammar:
     graph     = "graph" name "{" { statement newline } "}"
     statement = size | fact | guard | input | const | assign | mutate | output
     size      = "size" name "in" "[" int "," int "]" [ "multiple_of" int ] [ "hint" int ]
     fact      = "fact" expr                      guard = "guard" expr      (a condition on sizes; see ind_fact)
     input     = "input" name ":" type            const = "const" name ":" type
     assign    = result { "," result } "=" op "(" [ argument { "," argument } ] ")"
     result    = name [ ":" type ]
     mutate    = "mutate" name "=" name              (an input, and what its memory holds after; see ind_mutate)
     output    = "output" named { "," named }       named = name [ "=" name ]   (output y = x: x comes back as y)
     type      = dtype "[" [ expr { "," expr } ] "]"
     argument  = [ name "=" ] value
     value     = name | number | string | "true" | "false" | "none" | dtype | expr | "[" [ value { "," value } ] "]"
     comments run from # to the end of the line. */
IND_API ind_graph *ind_graph_parse(ind_context *context, const char *text, const char *file);
/* The graph as text; parses back to the same graph. Owned by the graph, valid until it changes. NULL: no memory. */
IND_API const char *ind_graph_text(ind_graph *graph);

/* ----------------------------------------------------------------------------------------------- >>compile */

#define IND_STAGES(X)                                                                                                  \
    X(GRAPH, "graph")       /* after the passes */                                                                     \
    X(LOOPS, "loops")       /* buffers and recorded bodies */                                                          \
    X(SCHEDULE, "schedule") /* kernels, memory plan, why edges were not fused */                                       \
    X(PLAN, "plan")         /* strategies, thread layouts, launch formulas */                                          \
    X(CUDA, "cuda")         /* CUDA C */                                                                               \
    X(PTX, "ptx")                                                                                                      \
    X(CUBIN, "cubin") /* resource usage per kernel; the bytes through ind_module_cubin */

typedef enum ind_stage {
#define X(name, text) IND_STAGE_##name,
    IND_STAGES(X)
#undef X
        IND_NUM_STAGES
} ind_stage;

#define IND_PASSES(X)                                                                                                  \
    X(DCE, "dce")   /* dead code */                                                                                    \
    X(FOLD, "fold") /* constant folding */                                                                             \
    X(NOOP, "noop") /* ops that do nothing: x + 0, x * 1, cast to the same type, identity views */                     \
    X(CSE, "cse")   /* common subexpressions */

typedef enum ind_pass {
#define X(name, text) IND_PASS_##name,
    IND_PASSES(X)
#undef X
        IND_NUM_PASSES
} ind_pass;

typedef struct ind_compile_desc {
    ind_device device;        /* IND_DEVICE_AUTO: the context's */
    ind_target target;        /* zero: the device's; for emit_only any */
    bool emit_only;           /* stop after the CUDA text: needs no GPU; the module runs on the host */
    uint32_t disabled_passes; /* bit per ind_pass */
    ind_realise_policy realise;
    ind_fusion_policy fusion;
} ind_compile_desc;

/* What code is made for, by its name: "sm_80", "sm_90a". Error: IND_INVALID_ARGUMENT names what is allowed. */
IND_API ind_status ind_target_named(ind_context *context, const char *arch, ind_target *target);

/* The staircase: graph -> passes -> lowering -> schedule -> plan -> CUDA C -> cubin. The graph is not changed and may
   be destroyed afterwards. desc may be NULL. On failure *module is NULL. */
IND_API ind_status ind_compile(ind_graph *graph, const ind_compile_desc *desc, ind_module **module);

/* ----------------------------------------------------------------------------------------------- >>explain */

/* The text of a stage. Owned by the module. NULL on failure (ind_error). PLAN and later exist on CUDA modules, and on
   host modules are made for the default target. */
IND_API const char *ind_module_text(ind_module *module, ind_stage stage);
IND_API const char *ind_module_json(ind_module *module, ind_stage stage); /* SCHEDULE and PLAN */

/* One compiled kernel of the plan. Each distinct source is compiled once; PTX and CUBIN need NVRTC but no GPU. */
typedef struct ind_cubin {
    const char *name; /* of its entry; the module's */
    void *data;
    size_t bytes;
    int registers, local_bytes; /* per thread; -1: the file does not say */
} ind_cubin;
/* Compiles source `index` (0-based) for the plan's target. IND_NOT_FOUND past the last. Free with ind_cubin_free. */
IND_API ind_status ind_module_cubin(ind_module *module, int index, ind_cubin *cubin);
IND_API void ind_cubin_free(ind_module *module, ind_cubin *cubin); /* NULL allowed */

/* ----------------------------------------------------------------------------------------------- >>formula */

/* What a module needs and does, as formulas in the declared sizes: bytes of workspace and at the peak
   (ind_module_workspace, ind_module_peak), and what follows. ind_expr_print prints one. */
typedef ind_expr ind_formula;

/* One way to run a kernel: variants are tried in order, the first whose guard holds and whose alignment is met runs. */
typedef struct ind_variant_info {
    const char *strategy;     /* "row per warp" */
    ind_formula grid[3];      /* blocks */
    int threads;              /* per block */
    ind_formula shared_bytes; /* dynamic shared memory */
    ind_formula guard;        /* condition on sizes; invalid: always valid */
    bool aligned;             /* pointers must be multiples of 16 bytes */
    int vector;               /* elements per memory access */
    int index_bits;           /* 32 or 64 */
} ind_variant_info;

typedef struct ind_kernel_info {
    const char *name;                      /* the module's */
    int num_origins;                       /* ops of the graph that it computes: ind_module_kernel_origin */
    ind_formula bytes_read, bytes_written; /* of memory, each element touched counted once */
    ind_formula flops;                     /* one per arithmetic op and element, two per step of a matrix product */
    int num_variants;
    ind_variant_info variant[2];
} ind_kernel_info;

/* The kernels in the order in which they run. A host module has the launches that CUDA would have on the default target
   (its plan is made when first asked for; IND_NOT_SUPPORTED where there can be none). IND_NOT_FOUND past the last. */
IND_API int ind_module_num_kernels(const ind_module *module);
IND_API ind_status ind_module_query_kernel(ind_module *module, int index, ind_kernel_info *info);
IND_API const char *ind_module_kernel_origin(const ind_module *module, int kernel, int index); /* NULL: no such */

/* Totals over all kernels. Invalid only without memory or beyond 64 bits (ind_error). */
IND_API ind_formula ind_module_bytes_read(const ind_module *module);
IND_API ind_formula ind_module_bytes_written(const ind_module *module);
IND_API ind_formula ind_module_flops(const ind_module *module);

/* Value at sizes ("B=8, S=128"; those that follow by a fact may be left out). The sizes must be allowed. */
IND_API ind_status ind_formula_eval(ind_module *module, ind_formula f, const char *sizes, int64_t *value);
/* What the values lie between over all allowed sizes; INT64_MIN, INT64_MAX: no bound is known. Not always the closest.
 */
IND_API ind_status ind_formula_bounds(ind_module *module, ind_formula f, int64_t *lo, int64_t *hi);

/* The largest value of the size `name` for which f <= limit, with the other sizes given: within its range, a multiple
   of what it is declared to be, all facts and guards holding. Right for every formula; a value at which f exceeds 64
   bits does not fit. -1 with an error: IND_OUT_OF_RANGE (none fits), IND_NOT_FOUND (no such size), IND_INVALID_ARGUMENT
   (a size missing, or `name` follows from others by a fact), IND_NOT_SUPPORTED (f goes up and down over a range too
   wide to search). */
IND_API int64_t ind_formula_solve(ind_module *module, ind_formula f, const char *name, const char *sizes,
                                  int64_t limit);
/* The same as a formula in the other sizes, (limit - rest) // coefficient, where f is affine in the size and the
   coefficient is proven positive; rounded down to the size's multiple, not clamped to its range. Errors: as above;
   IND_NOT_SUPPORTED says why there is none. */
IND_API ind_formula ind_formula_invert(ind_module *module, ind_formula f, const char *name, int64_t limit);

/* Formulas made ready to be evaluated at many sizes: a few nanoseconds each, no memory, no lock; one thread at a time
   each. sizes_v: values of all sizes in the order of declaration, not checked. values gets one per formula.
   Errors: IND_OVERFLOW, IND_INVALID_ARGUMENT (a division by zero). Destroy before the context; NULL allowed. */
typedef struct ind_evaluator ind_evaluator;
IND_API ind_status ind_evaluator_create(ind_module *module, const ind_formula *f, int num, ind_evaluator **evaluator);
IND_API ind_status ind_evaluator_run(ind_evaluator *evaluator, const int64_t *sizes_v, int64_t *values);
IND_API void ind_evaluator_destroy(ind_evaluator *evaluator);

/* ---------------------------------------------------------------------------------------------- >>internal */

/* Kinds of attributes: enumerator, name in the op table, what an error calls it. */
#define IND__ATTR_KINDS(X)                                                                                             \
    X(NONE, "none", "none") /* not given, and the default is none */                                                   \
    X(INT, "int", "an integer")                                                                                        \
    X(FLOAT, "float", "a number")                                                                                      \
    X(BOOL, "bool", "true or false")                                                                                   \
    X(STR, "str", "a string")                                                                                          \
    X(DTYPE, "dtype", "an element type")                                                                               \
    X(INTS, "ints", "a list of integers")                                                                              \
    X(SIZES, "sizes", "a list of sizes")                                                                               \
    X(SIZE, "size", "a size")                                                                                          \
    X(SCALAR, "scalar", "a number") /* i if is_int, else f */

typedef enum ind__attr_kind {
#define X(name, text, description) IND__ATTR_##name,
    IND__ATTR_KINDS(X)
#undef X
        IND__NUM_ATTR_KINDS
} ind__attr_kind;

typedef struct ind__attr {
    ind__attr_kind kind;
    bool is_int;
    int64_t i; /* INT, BOOL, DTYPE, SCALAR */
    double f;  /* FLOAT, SCALAR */
    const char *s;
    ind_expr e;           /* SIZE */
    const ind_expr *list; /* INTS (integer expressions) and SIZES */
    int count;
} ind__attr;

/* One op. Operand positions are those of the op table; an absent optional operand is 0. */
typedef struct ind__node {
    ind_graph_op op;
    uint32_t *operand; /* tensor ids */
    uint32_t num_operands;
    ind__attr *attr; /* as many as the table says */
    uint32_t num_attrs;
    uint32_t result; /* first tensor id; the others follow */
    uint32_t num_results;
    ind_body *body;   /* CUSTOM: loads have source = operand position; owned by the graph */
    const char *name; /* CUSTOM: the op's name */
    const char *file; /* caller's position or NULL */
    int line;
} ind__node;

typedef struct ind__tensor_info {
    const char *name;
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK];
    uint32_t node;
    bool weak;  /* SCALAR: a Python number; it has no name */
    bool named; /* the name was given, not made up */
} ind__tensor_info;

struct ind_graph {
    ind__owned owned; /* first */
    ind_context *context;
    ind__arena arena;
    const char *name;
    ind__node *node; /* [0] unused; topological by construction */
    uint32_t num_nodes, cap_nodes;
    ind__tensor_info *tensor; /* [0] unused */
    uint32_t num_tensors, cap_tensors;
    ind_expr *size_symbol; /* declared sizes in order */
    uint32_t num_sizes, cap_sizes;
    ind__condition *condition; /* facts and guards in order, as given */
    uint32_t num_conditions, cap_conditions;
    ind_facts *facts;    /* the same as a fact set */
    bool facts_borrowed; /* a rewritten copy uses those of the graph it was made from */
    bool *used;          /* by size: one of the first num_scanned nodes has it */
    uint32_t num_used, cap_used, num_scanned;
    struct ind__output {
        uint32_t tensor;
        const char *name;
    } * output;
    uint32_t num_outputs, cap_outputs;
    struct ind__mutation {
        uint32_t input, value; /* tensors: after a run, the input's memory holds the value */
    } * mutation;
    uint32_t num_mutations, cap_mutations;
    struct ind__name {
        const char *name; /* NULL: free */
        uint32_t tensor;  /* 0: the name was given up */
    } * names;            /* open addressing, cap_names a power of two */
    uint32_t num_names, cap_names;
    uint32_t op_count[IND_NUM_OPS];   /* for made-up names: gelu, gelu_1, .. */
    const struct ind__schema *schema; /* the op table's strings, parsed; by op */
    ind_status status;
    char error[1024];
    const char *here_file;
    int here_line;
    ind__text text;
};

/* Flag of the op table. */
bool ind__op_has(ind_graph_op op, char flag);
const char *ind__op_name(ind_graph_op op);
/* Appends a node (operands and attributes complete), infers its results; returns the first result or an invalid one.
   The only way nodes are made: by the API, the parser and the passes. body: CUSTOM only, ownership passes. */
ind_tensor ind__graph_add(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                          const ind__attr *attrs, uint32_t num_attrs, ind_body *body, const char *custom_name);
/* Adds an INPUT or CONST (their type is not an attribute); declares a size symbol. For the passes, which copy graphs.
 */
ind_tensor ind__graph_source(ind_graph *g, ind_graph_op op, const char *name, ind_dtype dtype, const ind_expr *size,
                             int rank);
ind_status ind__graph_declare(ind_graph *g, ind_expr symbol);
/* Puts the graph's facts into force for all that is built or asked in its context, until the fact set that was in force
   before, which is returned, is put back by ind_facts_enter. */
ind_facts *ind__graph_enter(const ind_graph *g);
/* The elements [*first, *last) that a slice takes of a dimension of this size, in Python's way; first <= last. */
void ind__slice_bounds(ind_expr size, const ind__attr *start, const ind__attr *end, ind_expr *first, ind_expr *last);
/* Type that tensors and numbers promote to (torch.result_type); IND_DTYPE_NONE for n == 0. */
ind_dtype ind__result_type(const ind_graph *g, const uint32_t *tensors, uint32_t n);
/* A new graph in the same context with the passes applied (>>passes). It uses g's facts: g must outlive it. */
ind_status ind__graph_optimise(const ind_graph *g, uint32_t disabled_passes, ind_graph **out);
/* Lowers every op to loops over boxes and realises outputs (>>lowerings); layouts are fixed. */
ind_status ind__graph_lower(const ind_graph *g, const ind_realise_policy *policy, ind__lowered *out);
ind_status ind__graph_verify(const ind_graph *g);

#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_H */

/* ====================================================================================================================
 */
#ifdef INDUCTOR_GRAPH_IMPLEMENTATION
#ifndef INDUCTOR_GRAPH_IMPLEMENTATION_DONE
#define INDUCTOR_GRAPH_IMPLEMENTATION_DONE

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------- >>op-table */

#define IND__MAX_OPERANDS 8
#define IND__MAX_ATTRS    12

static const struct ind__op_row {
    const char *name, *operands, *attributes;
    uint32_t results;
    const char *flags;
} ind__op_rows[IND_NUM_OPS] = {
#define X(name, text, operands, attributes, results, flags) {text, operands, attributes, results, flags},
    IND_OPS(X)
#undef X
};

static const struct ind__attr_kind_row {
    const char *name, *description;
} ind__attr_kind_rows[IND__NUM_ATTR_KINDS] = {
#define X(name, text, description) {text, description},
    IND__ATTR_KINDS(X)
#undef X
};

typedef struct ind__operand_schema {
    const char *name; /* not terminated: points into the table */
    int length;
    bool optional, list; /* both: elements of the list may be absent */
} ind__operand_schema;

typedef struct ind__attr_schema {
    const char *name;
    int length;
    ind__attr_kind kind;
    bool required;
    ind__attr value; /* the default */
} ind__attr_schema;

typedef struct ind__schema {
    uint32_t num_operands, num_attrs;
    ind__operand_schema operand[IND__MAX_OPERANDS];
    ind__attr_schema attr[IND__MAX_ATTRS];
} ind__schema;

bool ind__op_has(ind_graph_op op, char flag) {
    return strchr(ind__op_rows[op].flags, flag) != NULL;
}

const char *ind__op_name(ind_graph_op op) {
    return (unsigned)op < IND_NUM_OPS ? ind__op_rows[op].name : "?";
}

/* Operands that stand by themselves: all but a list, which comes last. */
static uint32_t ind__num_single(const ind__schema *s) {
    return s->num_operands - (s->num_operands && s->operand[s->num_operands - 1].list);
}

/* What operand k of a node is; elements of the list share a row. */
static const ind__operand_schema *ind__operand_row(const ind__schema *s, uint32_t k) {
    return &s->operand[k < s->num_operands ? k : s->num_operands - 1];
}

static bool ind__same_name(const char *a, size_t a_length, const char *b, size_t b_length) {
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

static ind__attr_kind ind__attr_kind_named(const char *name, size_t length) {
    int k = IND__ATTR_NONE;
    for (int i = 0; i < IND__NUM_ATTR_KINDS; i++) {
        if (ind__same_name(name, length, ind__attr_kind_rows[i].name, strlen(ind__attr_kind_rows[i].name))) k = i;
    }
    return (ind__attr_kind)k;
}

/* Digits of the table's defaults; they are small. */
static int64_t ind__digits(const char *s, size_t n) {
    int64_t v = 0;
    for (size_t i = 0; i < n && s[i] >= '0' && s[i] <= '9'; i++) v = v * 10 + (s[i] - '0');
    return v;
}

static void ind__schema_default(ind_context *c, ind__arena *arena, ind__attr_schema *a, const char *s, size_t n) {
    ind__attr *v = &a->value;
    if (ind__same_name(s, n, "none", 4)) return;
    v->kind = a->kind;
    v->is_int = true;
    v->i = ind__digits(s, n);
    if (a->kind == IND__ATTR_BOOL) v->i = s[0] == 't';
    if (a->kind == IND__ATTR_DTYPE) v->i = ind_dtype_parse(s, n);
    if (a->kind == IND__ATTR_FLOAT) ind__parse_double(s, n, &v->f);
    if (a->kind == IND__ATTR_SIZE) v->e = ind_int(c, v->i);
    if (a->kind == IND__ATTR_STR) v->s = ind__arena_string(arena, s + 1, n - 2);
}

static void ind__schema_parse_attr(ind_context *c, ind__arena *arena, ind__attr_schema *a, const char *s, size_t n) {
    const char *colon = memchr(s, ':', n), *equals = memchr(s, '=', n), *end = s + n;
    const char *kind_end = equals ? equals : end;
    a->name = s;
    a->length = (int)(colon - s);
    a->kind = ind__attr_kind_named(colon + 1, (size_t)(kind_end - colon - 1));
    a->required = !equals;
    if (equals) ind__schema_default(c, arena, a, equals + 1, (size_t)(end - equals - 1));
}

static void ind__schema_parse(ind_context *c, ind__arena *arena, ind__schema *schema, const struct ind__op_row *row) {
    for (const char *s = row->operands; *s;) {
        ind__operand_schema *o = &schema->operand[schema->num_operands++];
        size_t n = strcspn(s, " ");
        o->name = s;
        o->optional = s[n - 1] == '?';
        o->list = s[n - 1 - o->optional] == '*';
        o->length = (int)n - o->optional - o->list;
        s += n + strspn(s + n, " ");
    }
    for (const char *s = row->attributes; *s;) {
        size_t n = strcspn(s, " ");
        ind__schema_parse_attr(c, arena, &schema->attr[schema->num_attrs++], s, n);
        s += n + strspn(s + n, " ");
    }
}

/* ------------------------------------------------------------------------------------------------ >>shapes */
/* What each op gives for its operands: dtypes and sizes as PyTorch documents them. Sizes that are not known to be equal
   are an error that says which; nothing is guessed from hints. */

typedef struct ind__type {
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK];
} ind__type;

typedef struct ind__infer {
    const ind_graph *g;
    ind_context *c;
    ind_graph_op op;
    const char *op_name;
    const uint32_t *operand;
    uint32_t num_operands;
    const ind__attr *attr;
    const ind_body *body; /* CUSTOM */
    ind__type result[2];
    ind_status status;
    char error[800];
    char scratch[8][360]; /* texts of operands and types while an error is written */
    int next_scratch;
} ind__infer;

typedef ind_status (*ind__rule)(ind__infer *in);

static ind_status ind__reject(ind__infer *in, ind_status status, const char *format, ...) IND__PRINTF(3, 4);
static ind_status ind__reject(ind__infer *in, ind_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(in->error, sizeof in->error, format, args);
    va_end(args);
    in->status = status;
    return status;
}

static char *ind__scratch(ind__infer *in) {
    in->next_scratch = (in->next_scratch + 1) % 8;
    return in->scratch[in->next_scratch];
}

static bool ind__is_int(ind_expr e, int64_t value) {
    int64_t v;
    return ind_expr_is_int(e, &v) && v == value;
}

static const ind__tensor_info *ind__operand(const ind__infer *in, uint32_t k) {
    return &in->g->tensor[in->operand[k]];
}

static bool ind__has_operand(const ind__infer *in, uint32_t k) {
    return k < in->num_operands && in->operand[k] != 0;
}

/* "f32[B, 256]" into a buffer; cut short if it does not fit. */
static void ind__print_type(char *out, size_t bytes, ind_dtype dtype, const ind_expr *size, int rank) {
    char dim[96];
    size_t used = (size_t)snprintf(out, bytes, "%s[", ind_dtype_name(dtype));
    for (int d = 0; d < rank && used < bytes; d++) {
        ind_expr_print(size[d], dim, sizeof dim);
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", d ? ", " : "", dim);
    }
    if (used < bytes) used += (size_t)snprintf(out + used, bytes - used, "]");
    if (used >= bytes && bytes > 4) memcpy(out + bytes - 4, "...", 4);
}

static const char *ind__say_type(ind__infer *in, uint32_t k) {
    const ind__tensor_info *t = ind__operand(in, k);
    char *out = ind__scratch(in);
    ind__print_type(out, sizeof in->scratch[0], t->dtype, t->size, t->rank);
    return out;
}

static const char *ind__say_size(ind__infer *in, ind_expr e) {
    char *out = ind__scratch(in);
    ind_expr_print(e, out, sizeof in->scratch[0]);
    return out;
}

/* The tensor's name, or the number that it is. */
static const char *ind__say_name(ind__infer *in, uint32_t k) {
    const ind__tensor_info *t = ind__operand(in, k);
    return t->name ? t->name : "a number";
}

/* "; 'fact S == 4*T' would make them agree", where one could. */
static const char *ind__say_fact(ind__infer *in, ind_expr condition) {
    char fact[128];
    if (!ind__ok(condition) || ind_expr_is_int(condition, NULL)) return "";
    if (ind_expr_print(condition, fact, sizeof fact) >= sizeof fact) return "";
    char *out = ind__scratch(in);
    snprintf(out, sizeof in->scratch[0], "; 'fact %s' would make them agree", fact);
    return out;
}

static const char *ind__say_differ(ind__infer *in, ind_expr a, ind_expr b) {
    char first[64], second[64];
    if (ind_expr_is_int(a, NULL) && ind_expr_is_int(b, NULL)) return "";
    const char *fact = ind__say_fact(in, ind_expr_eq(a, b));
    char *out = ind__scratch(in);
    ind_expr_print(a, first, sizeof first);
    ind_expr_print(b, second, sizeof second);
    snprintf(out, sizeof in->scratch[0], " (%s and %s are not known to be equal%.180s)", first, second, fact);
    return out;
}

static void ind__set_result(ind__infer *in, int r, ind_dtype dtype, const ind_expr *size, int rank) {
    ind__type *t = &in->result[r];
    t->dtype = dtype;
    t->rank = rank;
    for (int d = 0; d < rank && d < IND_MAX_RANK; d++) t->size[d] = size[d];
}

static ind_status ind__too_many_dims(ind__infer *in, int rank) {
    return ind__reject(in, IND_LIMIT, "the result would have %d dimensions; at most %d are possible", rank,
                       IND_MAX_RANK);
}

/* ---- promotion */

/* torch.result_type has three ranks of operands: tensors with dimensions, zero-dimensional tensors, Python numbers. A
   lower rank changes the type only if it is of a higher class (ATen/native/TypeProperties.cpp, combine_categories). */
static ind_dtype ind__combine_ranks(ind_dtype higher, ind_dtype lower) {
    if (higher == IND_DTYPE_NONE) return lower;
    if (lower == IND_DTYPE_NONE || ind_dtype_is_float(higher)) return higher;
    if (higher == IND_BOOL || ind_dtype_is_float(lower)) return ind_dtype_promote(higher, lower);
    return higher;
}

ind_dtype ind__result_type(const ind_graph *g, const uint32_t *tensors, uint32_t n) {
    ind_dtype type[3] = {IND_DTYPE_NONE, IND_DTYPE_NONE, IND_DTYPE_NONE};
    for (uint32_t i = 0; i < n; i++) {
        const ind__tensor_info *t = &g->tensor[tensors[i]];
        ind_dtype *r = &type[t->weak ? 2 : t->rank == 0 ? 1 : 0];
        *r = *r == IND_DTYPE_NONE ? t->dtype : ind_dtype_promote(*r, t->dtype);
    }
    return ind__combine_ranks(type[0], ind__combine_ranks(type[1], type[2]));
}

static ind_status ind__need_float(ind__infer *in, uint32_t k) {
    if (ind_dtype_is_float(ind__operand(in, k)->dtype)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; a floating-point type is needed (f16, bf16, f32, f64)",
                       ind__say_name(in, k), ind__say_type(in, k));
}

static ind_status ind__need_index(ind__infer *in, uint32_t k) {
    ind_dtype d = ind__operand(in, k)->dtype;
    if (d == IND_I32 || d == IND_I64) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; indices must be i32 or i64", ind__say_name(in, k),
                       ind__say_type(in, k));
}

static ind_status ind__need_same_dtype(ind__infer *in, uint32_t a, uint32_t b) {
    if (ind__operand(in, a)->dtype == ind__operand(in, b)->dtype) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH,
                       "%s is %s, %s is %s; both must have the same element type (cast one of them)",
                       ind__say_name(in, a), ind__say_type(in, a), ind__say_name(in, b), ind__say_type(in, b));
}

static ind_status ind__need_rank(ind__infer *in, uint32_t k, int rank) {
    if (ind__operand(in, k)->rank == rank) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s with %d dimension%s; exactly %d %s needed",
                       ind__say_name(in, k), ind__say_type(in, k), ind__operand(in, k)->rank,
                       ind__operand(in, k)->rank == 1 ? "" : "s", rank, rank == 1 ? "is" : "are");
}

/* Dimension da of operand a and db of b must have one size. The words make the sentence: "x has 256 features (..), w
   expects 128 (..)". */
typedef struct ind__agreement {
    uint32_t a;
    int da;
    const char *a_noun;
    uint32_t b;
    int db;
    const char *b_verb, *b_noun;
} ind__agreement;

static ind_status ind__need_agree(ind__infer *in, ind__agreement w) {
    ind_expr a = ind__operand(in, w.a)->size[w.da], b = ind__operand(in, w.b)->size[w.db];
    if (ind_known_eq(a, b)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH,
                       "%s has %s%s (dim %d of %s), %s %s %s%s (dim %d of %s); %s and %s must agree there%s",
                       ind__say_name(in, w.a), ind__say_size(in, a), w.a_noun, w.da, ind__say_type(in, w.a),
                       ind__say_name(in, w.b), w.b_verb, ind__say_size(in, b), w.b_noun, w.db, ind__say_type(in, w.b),
                       ind__say_name(in, w.a), ind__say_name(in, w.b), ind__say_differ(in, a, b));
}

/* ---- dimensions */

/* A dimension as PyTorch counts: negative from the end; a scalar is taken to have one. */
static ind_status ind__dim(ind__infer *in, uint32_t k, int64_t given, int rank, int *dim) {
    int range = rank ? rank : 1;
    *dim = (int)(given < 0 ? given + range : given);
    if (given >= -range && given < range) return IND_OK;
    *dim = 0;
    return ind__reject(in, IND_OUT_OF_RANGE, "dim %lld does not exist; dims of %s (%s) are in [%d, %d]",
                       (long long)given, ind__say_name(in, k), ind__say_type(in, k), -range, range - 1);
}

/* A list of dimensions as a mask; none and the empty list are all of them. */
static ind_status ind__dims(ind__infer *in, const ind__attr *a, uint32_t *mask) {
    int rank = ind__operand(in, 0)->rank, dim;
    *mask = rank ? (1u << rank) - 1 : 1;
    if (a->kind == IND__ATTR_NONE || a->count == 0) return IND_OK;
    *mask = 0;
    for (int i = 0; i < a->count; i++) {
        int64_t given = 0;
        ind_expr_is_int(a->list[i], &given);
        if (ind__dim(in, 0, given, rank, &dim)) return in->status;
        if (*mask >> dim & 1) return ind__reject(in, IND_INVALID_ARGUMENT, "dim %d is given twice", dim);
        *mask |= 1u << dim;
    }
    return IND_OK;
}

typedef struct ind__shape {
    int rank;
    ind_expr size[IND_MAX_RANK];
    uint32_t from[IND_MAX_RANK]; /* operand that decided the size, for messages */
} ind__shape;

static ind_status ind__broadcast_clash(ind__infer *in, const ind__shape *s, int dim, uint32_t k, int k_dim, int skip) {
    uint32_t f = s->from[dim];
    const ind__tensor_info *a = ind__operand(in, f), *b = ind__operand(in, k);
    int a_dim = dim - (s->rank - (a->rank - skip));
    return ind__reject(in, IND_SHAPE_MISMATCH,
                       "%s has %s (dim %d of %s), %s has %s (dim %d of %s); to broadcast they must be equal or 1%s",
                       ind__say_name(in, f), ind__say_size(in, a->size[a_dim]), a_dim, ind__say_type(in, f),
                       ind__say_name(in, k), ind__say_size(in, b->size[k_dim]), k_dim, ind__say_type(in, k),
                       ind__say_differ(in, a->size[a_dim], b->size[k_dim]));
}

/* Broadcasts operand k, without its last `skip` dimensions, into the shape. */
static ind_status ind__broadcast(ind__infer *in, ind__shape *s, uint32_t k, int skip) {
    const ind__tensor_info *t = ind__operand(in, k);
    int rank = t->rank - skip, grow = rank > s->rank ? rank - s->rank : 0;
    for (int d = s->rank - 1; grow && d >= 0; d--) {
        s->size[d + grow] = s->size[d];
        s->from[d + grow] = s->from[d];
    }
    for (int d = 0; d < grow; d++) s->size[d] = ind_int(in->c, 1);
    s->rank += grow;
    for (int i = 0; i < rank; i++) {
        int d = s->rank - rank + i;
        bool one = ind__is_int(s->size[d], 1);
        if (d < grow || (one && !ind__is_int(t->size[i], 1))) {
            s->size[d] = t->size[i];
            s->from[d] = k;
        } else if (!ind__is_int(t->size[i], 1) && !ind_known_eq(s->size[d], t->size[i])) {
            return ind__broadcast_clash(in, s, d, k, i, skip);
        }
    }
    return IND_OK;
}

/* ---- sources */

static ind_status ind__need_sizes(ind__infer *in, const ind_expr *size, int rank) {
    for (int d = 0; d < rank; d++) {
        if (!ind_known_le(ind_int(in->c, 0), size[d])) {
            return ind__reject(in, IND_OUT_OF_RANGE, "size %s (dim %d) may be negative", ind__say_size(in, size[d]), d);
        }
    }
    return IND_OK;
}

static ind_status ind__rule_scalar(ind__infer *in) {
    ind__set_result(in, 0, in->attr[0].is_int ? IND_I64 : IND_F32, NULL, 0);
    return IND_OK;
}

static ind_status ind__rule_full(ind__infer *in) {
    if (ind__need_sizes(in, in->attr[0].list, in->attr[0].count)) return in->status;
    ind__set_result(in, 0, (ind_dtype)in->attr[2].i, in->attr[0].list, in->attr[0].count);
    return IND_OK;
}

static ind_status ind__rule_arange(ind__infer *in) {
    ind_expr start = in->attr[0].e, end = in->attr[1].e, step = in->attr[2].e, zero = ind_int(in->c, 0);
    if (!ind_known_lt(zero, step) && !ind_known_lt(step, zero)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "step %s may be 0, or its sign is not known",
                           ind__say_size(in, step));
    }
    ind_expr n = ind_expr_ceildiv(ind_expr_sub(end, start), step);
    if (!ind_known_le(zero, n)) n = ind_expr_max(n, zero);
    ind__set_result(in, 0, (ind_dtype)in->attr[3].i, &n, 1);
    return IND_OK;
}

/* ---- pointwise */

static bool ind__is_fraction(const ind__attr *a) {
    return a->kind == IND__ATTR_SCALAR && !a->is_int;
}

static ind_status ind__check_alpha(ind__infer *in, ind_dtype result) {
    if (in->op == IND_OP_SUB && result == IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "bool minus bool has no meaning; use ne, or cast to an integer type");
    }
    if (!ind__is_fraction(&in->attr[0]) || ind_dtype_is_float(result)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "alpha must be an integer where the result is %s",
                       ind_dtype_name(result));
}

static ind_status ind__check_pow(ind__infer *in, ind_dtype result) {
    if (result == IND_BOOL) return ind__reject(in, IND_TYPE_MISMATCH, "bool to the power of bool has no meaning");
    const ind__tensor_info *e = ind__operand(in, 1);
    if (ind_dtype_is_float(result) || !e->weak) return IND_OK;
    if (in->g->node[e->node].attr[0].i >= 0) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "an integer to a negative power; cast %s to a floating-point type",
                       ind__say_name(in, 0));
}

static ind_status ind__check_gelu(ind__infer *in) {
    const char *form = in->attr[0].s;
    if (!form || (strcmp(form, "none") && strcmp(form, "tanh"))) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "approximate is \"%.40s\"; allowed: \"none\", \"tanh\"",
                           form ? form : "");
    }
    return ind__need_float(in, 0);
}

/* What single pointwise ops ask beyond broadcasting and promotion. */
static ind_status ind__check_pointwise(ind__infer *in, ind_dtype result) {
    switch (in->op) {
    case IND_OP_ADD:
    case IND_OP_SUB: return ind__check_alpha(in, result);
    case IND_OP_POW: return ind__check_pow(in, result);
    case IND_OP_GELU: return ind__check_gelu(in);
    case IND_OP_SILU: return ind__need_float(in, 0);
    case IND_OP_NEG:
    case IND_OP_RELU:
        if (result != IND_BOOL) return IND_OK;
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
    case IND_OP_WHERE:
        if (ind__operand(in, 0)->dtype == IND_BOOL) return IND_OK;
        return ind__reject(in, IND_TYPE_MISMATCH, "the condition %s is %s; it must be bool", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    default: return IND_OK;
    }
}

static ind_status ind__rule_pointwise(ind__infer *in) {
    ind__shape s = {0};
    for (uint32_t k = 0; k < in->num_operands; k++) {
        if (ind__broadcast(in, &s, k, 0)) return in->status;
    }
    uint32_t first = in->op == IND_OP_WHERE;
    ind_dtype dtype = ind__result_type(in->g, in->operand + first, in->num_operands - first);
    if (ind__check_pointwise(in, dtype)) return in->status;
    if (ind__op_has(in->op, 'F') && !ind_dtype_is_float(dtype)) dtype = IND_F32;
    if (ind__op_has(in->op, 'B')) dtype = IND_BOOL;
    if (in->op == IND_OP_CAST) dtype = (ind_dtype)in->attr[0].i;
    ind__set_result(in, 0, dtype, s.size, s.rank);
    return IND_OK;
}

static ind_status ind__rule_custom(ind__infer *in) {
    ind_expr size[IND_MAX_RANK];
    if (!in->body) return ind__reject(in, IND_INVALID_ARGUMENT, "the op has no body");
    for (int d = 0; d < in->body->rank; d++) {
        const ind_symbol *s = ind_expr_symbol(in->body->var[d]);
        size[d] = s ? s->extent : ind_int(in->c, 1);
    }
    ind__set_result(in, 0, (ind_dtype)in->attr[0].i, size, in->body->rank);
    return IND_OK;
}

/* ---- reductions */

static void ind__reduced(ind__infer *in, uint32_t mask, bool keepdim, ind_dtype dtype, int r) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < x->rank; d++) {
        bool gone = mask >> d & 1;
        if (!gone || keepdim) size[rank++] = gone ? ind_int(in->c, 1) : x->size[d];
    }
    ind__set_result(in, r, dtype, size, rank);
}

static ind_status ind__rule_sum(ind__infer *in) {
    ind_dtype dtype = (ind_dtype)in->attr[2].i, from = ind__operand(in, 0)->dtype;
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (in->attr[2].kind == IND__ATTR_NONE) dtype = ind_dtype_is_float(from) || in->op == IND_OP_MEAN ? from : IND_I64;
    if (in->op == IND_OP_MEAN && !ind_dtype_is_float(dtype)) {
        return ind__reject(in, IND_TYPE_MISMATCH,
                           "the mean of %s (%s) needs a floating-point type; cast it or give dtype",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    ind__reduced(in, mask, in->attr[1].i != 0, dtype, 0);
    return IND_OK;
}

/* Largest and smallest elements do not exist in an empty dimension. */
static ind_status ind__need_elements(ind__infer *in, uint32_t mask) {
    const ind__tensor_info *x = ind__operand(in, 0);
    for (int d = 0; d < x->rank; d++) {
        if ((mask >> d & 1) && ind__is_int(x->size[d], 0)) {
            return ind__reject(in, IND_SHAPE_MISMATCH, "dim %d of %s (%s) has no elements", d, ind__say_name(in, 0),
                               ind__say_type(in, 0));
        }
    }
    return IND_OK;
}

static ind_status ind__rule_extremum(ind__infer *in) {
    ind_dtype dtype = ind__operand(in, 0)->dtype;
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (in->op != IND_OP_ANY && ind__need_elements(in, mask)) return in->status;
    if (in->op == IND_OP_ANY && dtype != IND_U8) dtype = IND_BOOL; /* torch.any keeps uint8 */
    ind__reduced(in, mask, in->attr[1].i != 0, dtype, 0);
    return IND_OK;
}

static ind_status ind__rule_argmax(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    uint32_t mask = (1u << x->rank) - 1;
    int dim;
    if (in->attr[0].kind != IND__ATTR_NONE) {
        if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
        mask = 1u << dim;
    }
    if (in->op == IND_OP_ARGMAX && x->dtype == IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
    }
    if (ind__need_elements(in, mask)) return in->status;
    ind__reduced(in, mask, in->attr[1].i != 0, in->op == IND_OP_MAX ? x->dtype : IND_I64, 0);
    if (in->op == IND_OP_MAX) ind__reduced(in, mask, in->attr[1].i != 0, IND_I64, 1);
    return IND_OK;
}

static ind_status ind__rule_softmax(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_dtype dtype = in->attr[1].kind == IND__ATTR_NONE ? x->dtype : (ind_dtype)in->attr[1].i;
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (!ind_dtype_is_float(dtype)) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; cast it to a floating-point type or give dtype",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    ind__set_result(in, 0, dtype, x->size, x->rank);
    return IND_OK;
}

/* weight and bias of a norm: the normalised shape, and the input's type or f32 beside f16 and bf16 input. */
static ind_status ind__check_norm_parameter(ind__infer *in, uint32_t k, const ind__attr *shape) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, k);
    bool fits = w->rank == shape->count;
    for (int d = 0; fits && d < w->rank; d++) fits = ind_known_eq(w->size[d], shape->list[d]);
    if (!fits) {
        return ind__reject(in, IND_SHAPE_MISMATCH,
                           "%s is %s; its shape must be normalized_shape, the last %d dimension%s of "
                           "%s (%s)",
                           ind__say_name(in, k), ind__say_type(in, k), shape->count, shape->count == 1 ? "" : "s",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (w->dtype == x->dtype || (w->dtype == IND_F32 && x->dtype != IND_F64)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s, %s is %s; it must have the same element type, or f32",
                       ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0), ind__say_type(in, 0));
}

static ind_status ind__rule_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shape = &in->attr[0];
    if (ind__need_float(in, 0)) return in->status;
    bool fits = shape->count >= 1 && shape->count <= x->rank;
    for (int d = 0; fits && d < shape->count; d++) {
        fits = ind_known_eq(shape->list[d], x->size[x->rank - shape->count + d]);
    }
    if (!fits) {
        return ind__reject(in, IND_SHAPE_MISMATCH,
                           "normalized_shape must be the last dimensions of %s (%s), at least one",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__has_operand(in, k) && ind__check_norm_parameter(in, k, shape)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* ---- views */

/* Takes out of both lists what they share, so that symbolic sizes cancel. */
static void ind__cancel(ind_context *c, ind_expr *a, int na, ind_expr *b, int nb) {
    for (int i = 0; i < na; i++) {
        for (int j = 0; j < nb; j++) {
            if (ind_expr_same(a[i], b[j]) && !ind__is_int(a[i], 1)) {
                a[i] = b[j] = ind_int(c, 1);
                break;
            }
        }
    }
}

static ind_status ind__view_clash(ind__infer *in, const ind_expr *size, int rank, ind_expr agree) {
    char *to = ind__scratch(in);
    ind__print_type(to, sizeof in->scratch[0], ind__operand(in, 0)->dtype, size, rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s and cannot be seen as %s: the number of elements %s%s",
                       ind__say_name(in, 0), ind__say_type(in, 0), to,
                       strstr(to, "-1") ? "is not a multiple of the given sizes"
                                        : "differs, or is not known to be equal",
                       ind__say_fact(in, agree));
}

static ind_status ind__rule_view(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *want = &in->attr[0];
    ind_expr size[IND_MAX_RANK], from[IND_MAX_RANK], to[IND_MAX_RANK];
    int open = -1;
    for (int d = 0; d < want->count; d++) {
        size[d] = to[d] = want->list[d];
        if (!ind__is_int(size[d], -1)) continue;
        if (open >= 0) return ind__reject(in, IND_INVALID_ARGUMENT, "only one size may be -1");
        open = d;
        size[d] = to[d] = ind_int(in->c, 1);
    }
    if (ind__need_sizes(in, size, want->count)) return in->status;
    memcpy(from, x->size, sizeof from);
    ind__cancel(in->c, from, x->rank, to, want->count);
    ind_expr have = ind_expr_product(in->c, from, x->rank), given = ind_expr_product(in->c, to, want->count);
    if (open >= 0) {
        ind_expr rest = ind_known_lt(ind_int(in->c, 0), given) ? ind_expr_floordiv(have, given) : ind_int(in->c, 0);
        size[open] = rest;
        given = ind_expr_mul(given, rest);
    }
    if (!ind_known_eq(have, given)) return ind__view_clash(in, want->list, want->count, ind_expr_eq(have, given));
    ind__set_result(in, 0, x->dtype, size, want->count);
    return IND_OK;
}

static ind_status ind__rule_permute(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    uint32_t mask;
    if (in->attr[0].count != x->rank) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d dims are given; %s (%s) has %d", in->attr[0].count,
                           ind__say_name(in, 0), ind__say_type(in, 0), x->rank);
    }
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        int64_t from = 0;
        ind_expr_is_int(in->attr[0].list[d], &from);
        size[d] = x->size[from < 0 ? from + x->rank : from];
    }
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_transpose(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int a, b;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &a) || ind__dim(in, 0, in->attr[1].i, x->rank, &b)) return in->status;
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    if (x->rank == 0) return IND_OK;
    in->result[0].size[a] = x->size[b];
    in->result[0].size[b] = x->size[a];
    return IND_OK;
}

static ind_status ind__rule_expand(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *want = &in->attr[0];
    ind_expr size[IND_MAX_RANK];
    int lead = want->count - x->rank;
    if (lead < 0) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d sizes are given; %s (%s) has %d dimensions already", want->count,
                           ind__say_name(in, 0), ind__say_type(in, 0), x->rank);
    }
    for (int d = 0; d < want->count; d++) {
        size[d] = want->list[d];
        if (d < lead) continue;
        ind_expr old = x->size[d - lead];
        if (ind__is_int(size[d], -1)) size[d] = old;
        if (!ind__is_int(old, 1) && !ind_known_eq(old, size[d])) {
            return ind__reject(in, IND_SHAPE_MISMATCH, "dim %d of %s (%s) is %s and cannot become %s; only 1 expands%s",
                               d - lead, ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, old),
                               ind__say_size(in, size[d]), ind__say_differ(in, old, size[d]));
        }
    }
    if (ind__need_sizes(in, size, want->count)) return in->status;
    ind__set_result(in, 0, x->dtype, size, want->count);
    return IND_OK;
}

static ind_status ind__rule_unsqueeze(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK + 1];
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank + 1, &dim)) return in->status;
    for (int d = 0; d <= x->rank; d++) size[d] = d == dim ? ind_int(in->c, 1) : x->size[d - (d > dim)];
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    ind__set_result(in, 0, x->dtype, size, x->rank + 1);
    return IND_OK;
}

/* Only dimensions that are 1 whatever the sizes go: a symbolic one stays. */
static ind_status ind__rule_squeeze(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    uint32_t mask;
    int rank = 0;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        if (!(mask >> d & 1) || !ind__is_int(x->size[d], 1)) size[rank++] = x->size[d];
    }
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_expr ind__slice_bound(ind_expr size, const ind__attr *given, ind_expr otherwise) {
    ind_expr zero = ind_int(size.context, 0), e = given->e;
    if (given->kind == IND__ATTR_NONE) return otherwise;
    if (ind_known_lt(e, zero)) {
        e = ind_expr_add(e, size);
    } else if (!ind_known_le(zero, e)) {
        e = ind_expr_where(ind_expr_lt(e, zero), ind_expr_add(e, size), e);
    }
    if (!ind_known_le(zero, e)) e = ind_expr_max(e, zero);
    return ind_known_le(e, size) ? e : ind_expr_min(e, size);
}

void ind__slice_bounds(ind_expr size, const ind__attr *start, const ind__attr *end, ind_expr *first, ind_expr *last) {
    *first = ind__slice_bound(size, start, ind_int(size.context, 0));
    *last = ind__slice_bound(size, end, size);
    if (!ind_known_le(*first, *last)) *last = ind_expr_max(*first, *last);
}

static ind_status ind__need_dimensions(ind__infer *in, uint32_t k) {
    if (ind__operand(in, k)->rank > 0) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) has no dimensions", ind__say_name(in, k), ind__say_type(in, k));
}

static ind_status ind__rule_slice(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr first, last, step = in->attr[3].e;
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (!ind_known_lt(ind_int(in->c, 0), step)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "step %s; it must be greater than 0", ind__say_size(in, step));
    }
    ind__slice_bounds(x->size[dim], &in->attr[1], &in->attr[2], &first, &last);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    in->result[0].size[dim] = ind_expr_ceildiv(ind_expr_sub(last, first), step);
    return IND_OK;
}

static ind_status ind__rule_select(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr index = in->attr[1].e, zero = ind_int(in->c, 0), size[IND_MAX_RANK];
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    bool front = ind_known_le(zero, index) && ind_known_lt(index, x->size[dim]);
    bool back = ind_known_lt(index, zero) && ind_known_le(zero, ind_expr_add(index, x->size[dim]));
    if (!front && !back) {
        return ind__reject(in, IND_OUT_OF_RANGE, "index %s is not known to lie within dim %d of %s (%s)",
                           ind__say_size(in, index), dim, ind__say_name(in, 0), ind__say_type(in, 0));
    }
    for (int d = 0; d + 1 < x->rank; d++) size[d] = x->size[d + (d >= dim)];
    ind__set_result(in, 0, x->dtype, size, x->rank - 1);
    return IND_OK;
}

static ind_status ind__check_cat_operand(ind__infer *in, uint32_t k, int dim) {
    const ind__tensor_info *a = ind__operand(in, 0), *b = ind__operand(in, k);
    if (a->rank != b->rank) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s, %s is %s; all must have the same number of dimensions",
                           ind__say_name(in, 0), ind__say_type(in, 0), ind__say_name(in, k), ind__say_type(in, k));
    }
    for (int d = 0; d < a->rank; d++) {
        ind__agreement w = {0, d, "", k, d, "has", ""};
        if (d != dim && ind__need_agree(in, w)) return in->status;
    }
    return IND_OK;
}

static ind_status ind__rule_cat(ind__infer *in) {
    if (in->num_operands == 0) return ind__reject(in, IND_INVALID_ARGUMENT, "at least one tensor is needed");
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    ind_expr total = x->size[dim];
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__check_cat_operand(in, k, dim)) return in->status;
        total = ind_expr_add(total, ind__operand(in, k)->size[dim]);
    }
    ind__set_result(in, 0, ind__result_type(in->g, in->operand, in->num_operands), x->size, x->rank);
    in->result[0].size[dim] = total;
    return IND_OK;
}

/* ---- gathers */

static ind_status ind__rule_embedding(ind__infer *in) {
    const ind__tensor_info *table = ind__operand(in, 0), *index = ind__operand(in, 1);
    ind_expr size[IND_MAX_RANK + 1];
    if (ind__need_rank(in, 0, 2) || ind__need_index(in, 1)) return in->status;
    if (index->rank == IND_MAX_RANK) return ind__too_many_dims(in, index->rank + 1);
    memcpy(size, index->size, sizeof index->size);
    size[index->rank] = table->size[1];
    ind__set_result(in, 0, table->dtype, size, index->rank + 1);
    return IND_OK;
}

/* Dimension d of operand a is at most that of operand b. */
static ind_status ind__need_within(ind__infer *in, uint32_t a, uint32_t b, int d) {
    ind_expr x = ind__operand(in, a)->size[d], y = ind__operand(in, b)->size[d];
    if (ind_known_le(x, y)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) is not known to fit into %s (%s) in dim %d: %s against %s%s",
                       ind__say_name(in, a), ind__say_type(in, a), ind__say_name(in, b), ind__say_type(in, b), d,
                       ind__say_size(in, x), ind__say_size(in, y), ind__say_fact(in, ind_expr_le(x, y)));
}

static ind_status ind__rule_gather(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *index = ind__operand(in, 1);
    int dim;
    if (ind__need_index(in, 1) || ind__need_rank(in, 1, x->rank)) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        if (d != dim && ind__need_within(in, 1, 0, d)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, index->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_index_select(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *index = ind__operand(in, 1);
    int dim;
    if (ind__need_index(in, 1) || (index->rank != 0 && ind__need_rank(in, 1, 1))) return in->status;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    in->result[0].size[dim] = index->rank ? index->size[0] : ind_int(in->c, 1);
    return IND_OK;
}

static ind_status ind__rule_take(ind__infer *in) {
    const ind__tensor_info *index = ind__operand(in, 1);
    if (ind__need_index(in, 1)) return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, index->size, index->rank);
    return IND_OK;
}

/* ---- advanced indexing: operands first .. are one index per leading dimension of operand 0, absent: all of it */

/* How the dimensions of x[indices] come about. */
typedef struct ind__indexing {
    uint32_t first;              /* operand that indexes dimension 0 */
    int rank;                    /* of the result */
    int at, num_broadcast;       /* dimensions at .. at + num_broadcast - 1 are those of the index tensors */
    int result_of[IND_MAX_RANK]; /* by dimension of x: of the result, -1 where an index tensor stands */
} ind__indexing;

static void ind__indexing_layout(const uint32_t *operand, uint32_t num_operands, int rank, ind__indexing *x) {
    int indexed = 0, runs = 0, start = 0;
    for (int d = 0; d < rank; d++) {
        uint32_t k = x->first + (uint32_t)d;
        bool here = k < num_operands && operand[k];
        bool before = d > 0 && k - 1 < num_operands && operand[k - 1];
        if (here && !indexed++) start = d;
        runs += here && !before;
    }
    x->at = runs == 1 ? start : 0;
    x->rank = rank - indexed + x->num_broadcast;
    for (int d = 0, next = 0; d < rank; d++) {
        uint32_t k = x->first + (uint32_t)d;
        if (next == x->at) next += x->num_broadcast;
        x->result_of[d] = k < num_operands && operand[k] ? -1 : next++;
    }
}

static ind_status ind__reject_mask(ind__infer *in, uint32_t k) {
    return ind__reject(in, IND_NOT_SUPPORTED,
                       "%s is a mask; how many elements it takes depends on its data, which no declared size can say "
                       "(where and masked reductions do most of what masks do)",
                       ind__say_name(in, k));
}

/* The type of x[indices], with the number of broadcast dimensions in *x. */
static ind_status ind__indexing_type(ind__infer *in, ind__indexing *x, ind__type *type) {
    const ind__tensor_info *self = ind__operand(in, 0);
    ind__shape s = {0};
    if (in->num_operands - x->first > (uint32_t)self->rank)
        return ind__reject(in, IND_SHAPE_MISMATCH, "%u indices are given for %s (%s)",
                           (unsigned)(in->num_operands - x->first), ind__say_name(in, 0), ind__say_type(in, 0));
    bool any = false;
    for (uint32_t k = x->first; k < in->num_operands; k++) {
        if (!in->operand[k]) continue;
        any = true;
        if (ind__operand(in, k)->dtype == IND_BOOL || ind__operand(in, k)->dtype == IND_U8)
            return ind__reject_mask(in, k);
        if (ind__need_index(in, k) || ind__broadcast(in, &s, k, 0)) return in->status;
    }
    if (!any) return ind__reject(in, IND_INVALID_ARGUMENT, "no index is given");
    x->num_broadcast = s.rank;
    ind__indexing_layout(in->operand, in->num_operands, self->rank, x);
    if (x->rank > IND_MAX_RANK) return ind__too_many_dims(in, x->rank);
    type->dtype = self->dtype;
    type->rank = x->rank;
    for (int d = 0; d < s.rank; d++) type->size[x->at + d] = s.size[d];
    for (int d = 0; d < self->rank; d++)
        if (x->result_of[d] >= 0) type->size[x->result_of[d]] = self->size[d];
    return IND_OK;
}

static ind_status ind__rule_index(ind__infer *in) {
    ind__indexing x = {.first = 1};
    return ind__indexing_type(in, &x, &in->result[0]);
}

/* ---- scatters: the result is like operand 0 */

static ind_status ind__like_self(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* x[mask] = value, with one value: masked_fill. */
static ind_status ind__check_mask_put(ind__infer *in) {
    const ind__tensor_info *self = ind__operand(in, 0), *mask = ind__operand(in, 2), *value = ind__operand(in, 1);
    bool one = in->num_operands == 3;
    for (int d = 0; d < value->rank; d++) one = one && ind__is_int(value->size[d], 1);
    if (!one) return ind__reject_mask(in, 2);
    if (mask->rank > self->rank || ind__need_same_dtype(in, 0, 1))
        return in->status ? in->status : ind__need_rank(in, 2, self->rank);
    for (int d = 0; d < mask->rank; d++) {
        ind__agreement w = {2, d, "", 0, d, "has", ""};
        if (ind__need_agree(in, w)) return in->status;
    }
    return ind__like_self(in);
}

/* May operand k be broadcast to this type? */
static ind_status ind__need_broadcast_to(ind__infer *in, uint32_t k, const ind__type *to) {
    const ind__tensor_info *x = ind__operand(in, k);
    bool fits = x->rank <= to->rank;
    for (int d = 0; fits && d < x->rank; d++)
        fits = ind__is_int(x->size[d], 1) || ind_known_eq(x->size[d], to->size[to->rank - x->rank + d]);
    if (fits) return IND_OK;
    char *text = ind__scratch(in);
    ind__print_type(text, sizeof in->scratch[0], to->dtype, to->size, to->rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; what is indexed is %s, to which it must broadcast",
                       ind__say_name(in, k), ind__say_type(in, k), text);
}

static ind_status ind__rule_index_put(ind__infer *in) {
    ind__indexing x = {.first = 2};
    ind__type indexed = {0};
    if (ind__has_operand(in, 2) && ind__operand(in, 2)->dtype == IND_BOOL) return ind__check_mask_put(in);
    if (ind__indexing_type(in, &x, &indexed) || ind__need_same_dtype(in, 0, 1)) return in->status;
    if (ind__need_broadcast_to(in, 1, &indexed)) return in->status;
    return ind__like_self(in);
}

static ind_status ind__rule_put(ind__infer *in) {
    const ind__tensor_info *index = ind__operand(in, 1);
    if (ind__need_index(in, 1) || ind__need_same_dtype(in, 0, 2) || ind__need_rank(in, 2, index->rank))
        return in->status;
    for (int d = 0; d < index->rank; d++) {
        ind__agreement w = {1, d, "", 2, d, "has", ""};
        if (ind__need_agree(in, w)) return in->status;
    }
    return ind__like_self(in);
}

static ind_status ind__check_scatter_value(ind__infer *in) {
    const ind__attr *v = &in->attr[1];
    bool given = v->kind != IND__ATTR_NONE;
    if (given == ind__has_operand(in, 2)) return ind__reject(in, IND_INVALID_ARGUMENT, "either src or value is needed");
    if (!given || !ind__is_fraction(v) || ind_dtype_is_float(ind__operand(in, 0)->dtype)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "value must be an integer where self is %s", ind__say_type(in, 0));
}

static ind_status ind__check_reduce(ind__infer *in) {
    static const char *const allowed[] = {"sum", "prod", "mean", "amax", "amin"};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (!strcmp(in->attr[1].s, allowed[i])) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT,
                       "reduce is \"%.40s\"; allowed: \"sum\", \"prod\", \"mean\", \"amax\", \"amin\"", in->attr[1].s);
}

static ind_status ind__rule_scatter(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__need_index(in, 1) || ind__need_rank(in, 1, x->rank)) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (in->op == IND_OP_SCATTER && ind__check_scatter_value(in)) return in->status;
    if (in->op == IND_OP_SCATTER_REDUCE && ind__check_reduce(in)) return in->status;
    bool src = ind__has_operand(in, 2);
    if (src && (ind__need_same_dtype(in, 0, 2) || ind__need_rank(in, 2, x->rank))) return in->status;
    for (int d = 0; d < x->rank; d++) {
        if (d != dim && ind__need_within(in, 1, 0, d)) return in->status;
        if (src && ind__need_within(in, 1, 2, d)) return in->status;
    }
    return ind__like_self(in);
}

/* The source of index_add and index_copy: like self, but as long as the index along dim. */
static ind_status ind__check_index_source(ind__infer *in, int dim) {
    int rank = ind__operand(in, 0)->rank;
    bool line = ind__operand(in, 1)->rank == 1;
    if (ind__need_same_dtype(in, 0, 2) || ind__need_rank(in, 2, rank)) return in->status;
    for (int d = 0; d < rank; d++) {
        ind__agreement other = {2, d, "", 0, d, "has", ""}, along = {2, d, "", 1, 0, "has", " indices"};
        if (d == dim && !line && !ind__is_int(ind__operand(in, 2)->size[d], 1))
            return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) must have one element in dim %d, as there is one index",
                               ind__say_name(in, 2), ind__say_type(in, 2), d);
        if ((d != dim || line) && ind__need_agree(in, d == dim ? along : other)) return in->status;
    }
    return IND_OK;
}

static ind_status ind__rule_index_scatter(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *index = ind__operand(in, 1);
    int dim;
    if (ind__need_index(in, 1) || (index->rank != 0 && ind__need_rank(in, 1, 1))) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (in->op != IND_OP_INDEX_FILL && ind__check_index_source(in, dim)) return in->status;
    if (in->op != IND_OP_INDEX_COPY && ind__is_fraction(&in->attr[1]) && !ind_dtype_is_float(x->dtype))
        return ind__reject(in, IND_TYPE_MISMATCH, "%s must be an integer where self is %s",
                           in->op == IND_OP_INDEX_ADD ? "alpha" : "value", ind__say_type(in, 0));
    return ind__like_self(in);
}

static ind_status ind__rule_embedding_backward(ind__infer *in) {
    const ind__tensor_info *grad = ind__operand(in, 0), *index = ind__operand(in, 1);
    if (ind__need_index(in, 1) || ind__need_rank(in, 0, index->rank + 1) || ind__need_float(in, 0)) return in->status;
    for (int d = 0; d < index->rank; d++) {
        ind__agreement w = {0, d, "", 1, d, "has", ""};
        if (ind__need_agree(in, w)) return in->status;
    }
    if (!ind_known_le(ind_int(in->c, 0), in->attr[0].e))
        return ind__reject(in, IND_OUT_OF_RANGE, "num_weights may be negative: %s", ind__say_size(in, in->attr[0].e));
    ind_expr size[2] = {in->attr[0].e, grad->size[index->rank]};
    ind__set_result(in, 0, grad->dtype, size, 2);
    return IND_OK;
}

/* ---- matrix products */

/* Both operands of a product, and the shared dimension: the last of a, the last but one of b (its last where it has
 * one). */
static ind_status ind__check_product(ind__infer *in, uint32_t a, uint32_t b) {
    int ra = ind__operand(in, a)->rank, rb = ind__operand(in, b)->rank;
    if (ind__need_same_dtype(in, a, b)) return in->status;
    if (ind__operand(in, a)->dtype == IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s and %s are bool; a number type is needed", ind__say_name(in, a),
                           ind__say_name(in, b));
    }
    ind__agreement w = {a, ra - 1, " columns", b, rb > 1 ? rb - 2 : 0, "has", " rows"};
    return ind__need_agree(in, w);
}

static ind_status ind__rule_matmul(ind__infer *in) {
    const ind__tensor_info *a = ind__operand(in, 0), *b = ind__operand(in, 1);
    ind__shape s = {0};
    if (ind__need_dimensions(in, 0) || ind__need_dimensions(in, 1) || ind__check_product(in, 0, 1)) return in->status;
    if (a->rank > 2 && ind__broadcast(in, &s, 0, 2)) return in->status;
    if (b->rank > 2 && ind__broadcast(in, &s, 1, 2)) return in->status;
    if (a->rank > 1) s.size[s.rank++] = a->size[a->rank - 2];
    if (b->rank > 1) s.size[s.rank++] = b->size[b->rank - 1];
    ind__set_result(in, 0, a->dtype, s.size, s.rank);
    return IND_OK;
}

static ind_status ind__rule_mm(ind__infer *in) {
    int rank = in->op == IND_OP_BMM ? 3 : 2;
    if (ind__need_rank(in, 0, rank) || ind__need_rank(in, 1, rank)) return in->status;
    ind__agreement batch = {0, 0, " matrices", 1, 0, "has", ""};
    if (rank == 3 && ind__need_agree(in, batch)) return in->status;
    return ind__rule_matmul(in);
}

static ind_status ind__check_scale(ind__infer *in, const ind__attr *a, const char *name) {
    if (!ind__is_fraction(a) || ind_dtype_is_float(ind__operand(in, 0)->dtype)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s must be an integer where the operands are integers", name);
}

static ind_status ind__rule_addmm(ind__infer *in) {
    const ind__tensor_info *bias = ind__operand(in, 0);
    if (ind__need_rank(in, 1, 2) || ind__need_rank(in, 2, 2) || ind__check_product(in, 1, 2)) return in->status;
    if (ind__need_same_dtype(in, 0, 1)) return in->status;
    if (ind__check_scale(in, &in->attr[0], "beta") || ind__check_scale(in, &in->attr[1], "alpha")) return in->status;
    ind_expr size[2] = {ind__operand(in, 1)->size[0], ind__operand(in, 2)->size[1]};
    bool fits = bias->rank <= 2;
    for (int d = 0; fits && d < bias->rank; d++) {
        ind_expr have = bias->size[d], want = size[2 - bias->rank + d];
        fits = ind__is_int(have, 1) || ind_known_eq(have, want);
    }
    if (!fits) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) does not expand to [%s, %s]", ind__say_name(in, 0),
                           ind__say_type(in, 0), ind__say_size(in, size[0]), ind__say_size(in, size[1]));
    }
    ind__set_result(in, 0, bias->dtype, size, 2);
    return IND_OK;
}

static ind_status ind__rule_linear(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, 1);
    if (ind__need_dimensions(in, 0) || ind__need_rank(in, 1, 2) || ind__need_same_dtype(in, 0, 1)) return in->status;
    ind__agreement features = {0, x->rank - 1, " features", 1, 1, "expects", ""};
    if (ind__need_agree(in, features)) return in->status;
    if (x->dtype == IND_BOOL) return ind__reject(in, IND_TYPE_MISMATCH, "bool operands; a number type is needed");
    if (ind__has_operand(in, 2)) {
        ind__agreement outputs = {2, 0, " elements", 1, 0, "has", " rows"};
        if (ind__need_rank(in, 2, 1) || ind__need_same_dtype(in, 2, 1) || ind__need_agree(in, outputs))
            return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    in->result[0].size[x->rank - 1] = w->size[0];
    return IND_OK;
}

/* The rule of each op; pointwise ops without a row have the general one. INPUT and CONST carry their type. */
static const ind__rule ind__rules[IND_NUM_OPS] = {
    [IND_OP_SCALAR] = ind__rule_scalar,
    [IND_OP_FULL] = ind__rule_full,
    [IND_OP_ARANGE] = ind__rule_arange,
    [IND_OP_CUSTOM] = ind__rule_custom,
    [IND_OP_SUM] = ind__rule_sum,
    [IND_OP_MEAN] = ind__rule_sum,
    [IND_OP_AMAX] = ind__rule_extremum,
    [IND_OP_AMIN] = ind__rule_extremum,
    [IND_OP_ANY] = ind__rule_extremum,
    [IND_OP_ARGMAX] = ind__rule_argmax,
    [IND_OP_MAX] = ind__rule_argmax,
    [IND_OP_SOFTMAX] = ind__rule_softmax,
    [IND_OP_LOG_SOFTMAX] = ind__rule_softmax,
    [IND_OP_LAYER_NORM] = ind__rule_norm,
    [IND_OP_RMS_NORM] = ind__rule_norm,
    [IND_OP_VIEW] = ind__rule_view,
    [IND_OP_PERMUTE] = ind__rule_permute,
    [IND_OP_TRANSPOSE] = ind__rule_transpose,
    [IND_OP_EXPAND] = ind__rule_expand,
    [IND_OP_UNSQUEEZE] = ind__rule_unsqueeze,
    [IND_OP_SQUEEZE] = ind__rule_squeeze,
    [IND_OP_SLICE] = ind__rule_slice,
    [IND_OP_SELECT] = ind__rule_select,
    [IND_OP_CAT] = ind__rule_cat,
    [IND_OP_EMBEDDING] = ind__rule_embedding,
    [IND_OP_GATHER] = ind__rule_gather,
    [IND_OP_INDEX_SELECT] = ind__rule_index_select,
    [IND_OP_INDEX] = ind__rule_index,
    [IND_OP_TAKE] = ind__rule_take,
    [IND_OP_INDEX_PUT] = ind__rule_index_put,
    [IND_OP_PUT] = ind__rule_put,
    [IND_OP_SCATTER] = ind__rule_scatter,
    [IND_OP_SCATTER_ADD] = ind__rule_scatter,
    [IND_OP_SCATTER_REDUCE] = ind__rule_scatter,
    [IND_OP_INDEX_ADD] = ind__rule_index_scatter,
    [IND_OP_INDEX_COPY] = ind__rule_index_scatter,
    [IND_OP_INDEX_FILL] = ind__rule_index_scatter,
    [IND_OP_EMBEDDING_DENSE_BACKWARD] = ind__rule_embedding_backward,
    [IND_OP_MATMUL] = ind__rule_matmul,
    [IND_OP_MM] = ind__rule_mm,
    [IND_OP_BMM] = ind__rule_mm,
    [IND_OP_ADDMM] = ind__rule_addmm,
    [IND_OP_LINEAR] = ind__rule_linear,
};

/* ---- what holds for every op */

/* May a number stand for this operand? */
static bool ind__number_allowed(ind_graph_op op, uint32_t k) {
    bool elementwise = ind__op_has(op, 'P') && op != IND_OP_CAT && op != IND_OP_CUSTOM;
    return elementwise && strchr(ind__op_rows[op].operands, ' ') && !(op == IND_OP_WHERE && k == 0);
}

static ind_status ind__check_operands(ind__infer *in) {
    const ind__schema *schema = &in->g->schema[in->op];
    uint32_t least = ind__num_single(schema);
    bool list = least != schema->num_operands;
    if (list ? in->num_operands < least : in->num_operands != least) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%u operands are given; it takes %u%s", (unsigned)in->num_operands,
                           (unsigned)least, list ? " and a list" : "");
    }
    for (uint32_t k = 0; k < in->num_operands; k++) {
        const ind__operand_schema *o = ind__operand_row(schema, k);
        uint32_t id = in->operand[k];
        if (id == 0 && o->optional) continue;
        if (id == 0 || id >= in->g->num_tensors) {
            return ind__reject(in, IND_INVALID_ARGUMENT, "%.*s is not a tensor of this graph", o->length, o->name);
        }
        if (in->g->tensor[id].weak && !ind__number_allowed(in->op, k)) {
            return ind__reject(in, IND_TYPE_MISMATCH, "%.*s is a number; a tensor is needed (ind_full makes one)",
                               o->length, o->name);
        }
    }
    return IND_OK;
}

static ind_status ind__check_list(ind__infer *in, const ind__attr_schema *s, const ind__attr *a) {
    if (a->count < 0 || (a->count > 0 && !a->list)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%.*s is NULL", s->length, s->name);
    }
    if (s->kind == IND__ATTR_SIZES && a->count > IND_MAX_RANK) return ind__too_many_dims(in, a->count);
    for (int i = 0; i < a->count; i++) {
        if (!ind__ok(a->list[i]) || a->list[i].context != in->c) {
            return ind__reject(in, IND_INVALID_ARGUMENT, "element %d of %.*s is not a valid expression of this context",
                               i, s->length, s->name);
        }
        if (s->kind == IND__ATTR_INTS && !ind_expr_is_int(a->list[i], NULL)) {
            return ind__reject(in, IND_TYPE_MISMATCH, "element %d of %.*s is not an integer", i, s->length, s->name);
        }
    }
    return IND_OK;
}

static ind_status ind__check_attr(ind__infer *in, const ind__attr_schema *s, const ind__attr *a) {
    if (a->kind == IND__ATTR_NONE) {
        if (!s->required) return IND_OK;
        return ind__reject(in, IND_INVALID_ARGUMENT, "argument %.*s is missing", s->length, s->name);
    }
    if (a->kind != s->kind) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%.*s must be %s", s->length, s->name,
                           ind__attr_kind_rows[s->kind].description);
    }
    if (s->kind == IND__ATTR_INTS || s->kind == IND__ATTR_SIZES) return ind__check_list(in, s, a);
    if (s->kind == IND__ATTR_DTYPE && (a->i <= IND_DTYPE_NONE || a->i >= IND_NUM_DTYPES)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%.*s is not an element type", s->length, s->name);
    }
    if (s->kind == IND__ATTR_SIZE && (!ind__ok(a->e) || a->e.context != in->c)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%.*s is not a valid expression of this context", s->length,
                           s->name);
    }
    return IND_OK;
}

/* Every result must be countable: its bytes at the largest sizes fit 63 bits. */
static ind_status ind__check_result(ind__infer *in, const ind__type *t) {
    if (t->rank > IND_MAX_RANK) return ind__too_many_dims(in, t->rank);
    int64_t total = ind_dtype_bytes(t->dtype), lo, hi;
    for (int d = 0; d < t->rank; d++) {
        if (!ind__ok(t->size[d])) {
            return ind__reject(in, IND_OVERFLOW, "size of dim %d of the result cannot be computed: %s", d,
                               ind_error(in->c));
        }
        ind_expr_bounds(t->size[d], &lo, &hi);
        if (hi > 0 && total > INT64_MAX / hi) {
            char *text = ind__scratch(in);
            ind__print_type(text, sizeof in->scratch[0], t->dtype, t->size, t->rank);
            return ind__reject(in, IND_OVERFLOW,
                               "the result %s can have more bytes than 64 bits count (dim %d is at most "
                               "%lld)",
                               text, d, (long long)hi);
        }
        if (hi > 0) total *= hi;
    }
    return IND_OK;
}

static ind_status ind__infer_results(ind__infer *in) {
    const ind__schema *schema = &in->g->schema[in->op];
    if (ind__check_operands(in)) return in->status;
    for (uint32_t i = 0; i < schema->num_attrs; i++) {
        if (ind__check_attr(in, &schema->attr[i], &in->attr[i])) return in->status;
    }
    if (in->op == IND_OP_INPUT || in->op == IND_OP_CONST) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "made by ind_input and ind_constant only");
    }
    ind__rule rule = ind__rules[in->op];
    if (!rule) rule = ind__rule_pointwise;
    if (rule(in)) return in->status;
    for (uint32_t r = 0; r < ind__op_rows[in->op].results; r++) {
        if (ind__check_result(in, &in->result[r])) return in->status;
    }
    return IND_OK;
}

/* ----------------------------------------------------------------------------------------------- >>builder */

static ind_status ind__graph_fail(ind_graph *g, ind_status status, const char *format, ...) IND__PRINTF(3, 4);

/* The first failure stays; the caller's position, where known, is put behind it. */
static ind_status ind__graph_fail(ind_graph *g, ind_status status, const char *format, ...) {
    if (g->status) return g->status;
    g->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(g->error, sizeof g->error - 160, format, args);
    va_end(args);
    size_t used = strlen(g->error);
    if (g->here_file) {
        snprintf(g->error + used, sizeof g->error - used, "   [%.120s:%d]", g->here_file, g->here_line);
    }
    return ind__fail(g->context, status, "%s", g->error);
}

static ind_status ind__graph_no_memory(ind_graph *g, const char *what) {
    return ind__graph_fail(g, IND_OUT_OF_MEMORY, "%s: out of memory", what);
}

static ind_tensor ind__graph_tensor(ind_graph *g, uint32_t id) {
    ind_tensor t = {g, id};
    return t;
}

/* A position holds for one op. */
static void ind__graph_leave_here(ind_graph *g) {
    g->here_file = NULL;
    g->here_line = 0;
}

/* ---- names */

static bool ind__name_char(char ch, bool first) {
    bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
    return letter || (!first && ((ch >= '0' && ch <= '9') || ch == '.'));
}

/* Words that mean a value where a tensor's name could stand. */
static bool ind__reserved_name(const char *name, size_t length) {
    static const char *const words[] = {"true", "false", "none", "inf", "nan"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (ind__same_name(name, length, words[i], strlen(words[i]))) return true;
    }
    return false;
}

#define IND__MAX_NAME 255

static bool ind__valid_name(const char *name) {
    size_t n = 0;
    if (!name || !*name) return false;
    for (; name[n]; n++) {
        if (n >= IND__MAX_NAME || !ind__name_char(name[n], n == 0)) return false;
    }
    return !ind__reserved_name(name, n);
}

/* The slot of the name, or the free slot where it would be put; NULL only if the table is empty. */
static struct ind__name *ind__find_slot(const ind_graph *g, const char *name, size_t length) {
    if (g->cap_names == 0) return NULL;
    uint32_t at = (uint32_t)ind__hash(name, length, 0) & (g->cap_names - 1);
    while (g->names[at].name && !ind__same_name(g->names[at].name, strlen(g->names[at].name), name, length)) {
        at = (at + 1) & (g->cap_names - 1);
    }
    return &g->names[at];
}

/* Tensor of this name, 0 if there is none. */
static uint32_t ind__find_tensor(const ind_graph *g, const char *name, size_t length) {
    struct ind__name *slot = ind__find_slot(g, name, length);
    return slot && slot->name ? slot->tensor : 0;
}

static bool ind__grow_names(ind_graph *g) {
    uint32_t old_cap = g->cap_names, cap = old_cap ? old_cap * 2 : 64;
    struct ind__name *old = g->names, *grown;
    if ((g->num_names + 1) * 2 <= old_cap) return true;
    if (cap < old_cap || !(grown = ind__alloc(g->context, cap * sizeof *grown))) return false;
    g->names = grown;
    g->cap_names = cap;
    g->num_names = 0;
    for (uint32_t i = 0; i < old_cap; i++) {
        if (!old[i].name || !old[i].tensor) continue;
        *ind__find_slot(g, old[i].name, strlen(old[i].name)) = old[i];
        g->num_names++;
    }
    ind__free(g->context, old);
    return true;
}

static bool ind__put_name(ind_graph *g, uint32_t tensor, const char *name, bool named) {
    if (!ind__grow_names(g)) return false;
    char *copy = ind__arena_string(&g->arena, name, strlen(name));
    if (!copy) return false;
    struct ind__name *slot = ind__find_slot(g, copy, strlen(copy));
    if (!slot->name) g->num_names++;
    slot->name = copy;
    slot->tensor = tensor;
    g->tensor[tensor].name = copy;
    g->tensor[tensor].named = named;
    return true;
}

/* Frees the old name, if any, then takes `name` or, where that is taken, the first free of name_1, name_2, .. */
static bool ind__rename(ind_graph *g, uint32_t tensor, const char *name, bool named) {
    char unique[IND__MAX_NAME + 16];
    const char *old = g->tensor[tensor].name;
    if (old) ind__find_slot(g, old, strlen(old))->tensor = 0;
    snprintf(unique, sizeof unique, "%.*s", IND__MAX_NAME, name);
    for (uint32_t k = 1; ind__find_tensor(g, unique, strlen(unique)); k++) {
        snprintf(unique, sizeof unique, "%.*s_%u", IND__MAX_NAME, name, (unsigned)k);
    }
    return ind__put_name(g, tensor, unique, named);
}

/* gelu, gelu_1, gelu_2: the count goes on, so that many equal ops do not search. */
static bool ind__make_name(ind_graph *g, uint32_t tensor, ind_graph_op op, const char *base) {
    char name[96];
    uint32_t k = g->op_count[op]++;
    if (k == 0) return ind__rename(g, tensor, base, false);
    snprintf(name, sizeof name, "%.80s_%u", base, (unsigned)k);
    return ind__rename(g, tensor, name, false);
}

/* Copies a user's name with every character that the text form does not allow replaced. */
static void ind__clean_name(char *out, size_t bytes, const char *name, const char *otherwise) {
    size_t n = 0;
    if (!name || !*name) name = otherwise;
    if (!ind__name_char(name[0], true)) out[n++] = '_';
    for (; *name && n + 2 < bytes && n < IND__MAX_NAME; name++) out[n++] = ind__name_char(*name, false) ? *name : '_';
    if (ind__reserved_name(out, n)) out[n++] = '_';
    out[n] = 0;
}

/* ---- the graph itself */

static void ind__graph_destroy_owned(ind__owned *owned) {
    ind_graph *g = (ind_graph *)owned;
    ind_context *c = g->context;
    for (uint32_t i = 1; i < g->num_nodes; i++) ind__body_free(g->node[i].body);
    ind__free(c, g->node);
    ind__free(c, g->tensor);
    ind__free(c, g->size_symbol);
    ind__free(c, g->condition);
    ind__free(c, g->used);
    if (!g->facts_borrowed) ind_facts_destroy(g->facts);
    ind__free(c, g->output);
    ind__free(c, g->mutation);
    ind__free(c, g->names);
    ind__text_free(&g->text);
    ind__arena_free(&g->arena);
    ind__free(c, g);
}

/* Element 0 of nodes and tensors means "none". */
static bool ind__graph_init(ind_graph *g, const char *name) {
    char clean[IND__MAX_NAME + 2];
    ind_context *c = g->context;
    ind__clean_name(clean, sizeof clean, name, "graph");
    g->name = ind__arena_string(&g->arena, clean, strlen(clean));
    ind__schema *schema = ind__arena_alloc(&g->arena, IND_NUM_OPS * sizeof *schema);
    if (!g->name || !schema) return false;
    for (int op = 0; op < IND_NUM_OPS; op++) ind__schema_parse(c, &g->arena, &schema[op], &ind__op_rows[op]);
    g->schema = schema;
    return schema[IND_OP_GELU].attr[0].value.s && ind__ok(schema[IND_OP_SLICE].attr[3].value.e) &&
           IND__PUSH(c, ind__node, g->node, g->num_nodes, g->cap_nodes) &&
           IND__PUSH(c, ind__tensor_info, g->tensor, g->num_tensors, g->cap_tensors);
}

ind_graph *ind_graph_create(ind_context *context, const char *name) {
    if (!context) return NULL;
    ind_graph *g = ind__alloc(context, sizeof *g);
    if (!g) return NULL;
    g->context = g->arena.context = g->text.context = context;
    (void)ind_facts_create(context, &g->facts); /* before the graph: a context destroys what is younger first */
    ind__own(context, &g->owned, ind__graph_destroy_owned);
    if (g->facts && ind__graph_init(g, name)) return g;
    ind_graph_destroy(g);
    ind__fail(context, IND_OUT_OF_MEMORY, "graph: out of memory");
    return NULL;
}

void ind_graph_destroy(ind_graph *graph) {
    if (!graph) return;
    ind__disown(graph->context, &graph->owned);
    ind__graph_destroy_owned(&graph->owned);
}

ind_status ind_graph_status(const ind_graph *graph) {
    return graph ? graph->status : IND_INVALID_ARGUMENT;
}

const char *ind_graph_error(const ind_graph *graph) {
    return graph ? graph->error : "the graph is NULL";
}

ind_context *ind_graph_context(const ind_graph *graph) {
    return graph ? graph->context : NULL;
}

void ind_here(ind_graph *graph, const char *file, int line) {
    if (!graph) return;
    graph->here_file = file;
    graph->here_line = line;
}

/* ---- adding nodes */

ind_facts *ind__graph_enter(const ind_graph *g) {
    return ind_facts_enter(g->context, g->num_conditions ? g->facts : NULL);
}

static void ind__graph_leave(const ind_graph *g, ind_facts *before) {
    (void)ind_facts_enter(g->context, before);
}

/* e as it stands under the graph's facts; what is not of this context is left for the checks to find. */
static ind_expr ind__under_facts(const ind_graph *g, ind_expr e) {
    bool ours = ind__ok(e) && e.context == g->context;
    return ours && g->num_conditions ? ind_simplify(g->facts, e) : e;
}

/* A copy of a list of sizes, as they stand under the facts. */
static const ind_expr *ind__copy_sizes(ind_graph *g, const ind_expr *from, int count) {
    ind_expr *to = ind__arena_copy(&g->arena, from, (size_t)count * sizeof *from);
    for (int i = 0; to && i < count; i++) {
        to[i] = ind__under_facts(g, from[i]);
        if (ind__ok(from[i]) && !ind__ok(to[i])) return NULL;
    }
    return to;
}

static bool ind__copy_attr(ind_graph *g, ind__attr *to, const ind__attr *from) {
    *to = *from;
    if (from->kind == IND__ATTR_SIZE) {
        to->e = ind__under_facts(g, from->e);
        return ind__ok(to->e) || !ind__ok(from->e);
    }
    if (from->kind == IND__ATTR_STR && from->s) {
        to->s = ind__arena_string(&g->arena, from->s, strlen(from->s));
        return to->s != NULL;
    }
    if ((from->kind == IND__ATTR_INTS || from->kind == IND__ATTR_SIZES) && from->count > 0 && from->list) {
        /* a list that ind__check_list rejects for its length may be shorter than that: it is never read */
        if (from->kind == IND__ATTR_SIZES && from->count > IND_MAX_RANK) return true;
        to->list = ind__copy_sizes(g, from->list, from->count);
        return to->list != NULL;
    }
    return true;
}

/* Copies of operands and attributes, with the table's defaults for what is not given. */
static bool ind__fill_node(ind_graph *g, ind__node *node, const uint32_t *operands, uint32_t num_operands,
                           const ind__attr *attrs, uint32_t num_attrs) {
    const ind__schema *schema = &g->schema[node->op];
    node->num_operands = num_operands;
    node->num_attrs = schema->num_attrs;
    if (num_operands > 0) node->operand = ind__arena_copy(&g->arena, operands, num_operands * sizeof *operands);
    if (node->num_attrs > 0) node->attr = ind__arena_alloc(&g->arena, node->num_attrs * sizeof *node->attr);
    if ((num_operands > 0 && !node->operand) || (node->num_attrs > 0 && !node->attr)) return false;
    for (uint32_t i = 0; i < node->num_attrs; i++) {
        bool given = i < num_attrs && attrs[i].kind != IND__ATTR_NONE;
        if (!ind__copy_attr(g, &node->attr[i], given ? &attrs[i] : &schema->attr[i].value)) return false;
    }
    return true;
}

static bool ind__append_result(ind_graph *g, const ind__type *type, uint32_t node, bool weak) {
    ind__tensor_info *t = IND__PUSH(g->context, ind__tensor_info, g->tensor, g->num_tensors, g->cap_tensors);
    if (!t) return false;
    t->dtype = type->dtype;
    t->rank = type->rank;
    memcpy(t->size, type->size, sizeof t->size);
    t->node = node;
    t->weak = weak;
    return true;
}

/* Puts a finished node and its results into the graph; all of it or nothing. */
static bool ind__append_node(ind_graph *g, ind__node *node, const ind__type *types, const char *base_name) {
    uint32_t number = g->num_nodes, first = g->num_tensors;
    node->result = first;
    node->num_results = ind__op_rows[node->op].results;
    node->line = g->here_line;
    if (g->here_file) node->file = ind__arena_string(&g->arena, g->here_file, strlen(g->here_file));
    bool ok = !g->here_file || node->file;
    for (uint32_t r = 0; ok && r < node->num_results; r++) {
        ok = ind__append_result(g, &types[r], number, node->op == IND_OP_SCALAR);
        if (ok && base_name) ok = ind__make_name(g, first + r, node->op, base_name);
    }
    ind__node *place = ok ? IND__PUSH(g->context, ind__node, g->node, g->num_nodes, g->cap_nodes) : NULL;
    if (place) {
        *place = *node;
        return true;
    }
    for (uint32_t t = first; t < g->num_tensors; t++) {
        const char *name = g->tensor[t].name;
        if (name) ind__find_slot(g, name, strlen(name))->tensor = 0;
    }
    g->num_tensors = first;
    return false;
}

static void ind__infer_init(ind__infer *in, const ind_graph *g, const ind__node *node) {
    memset(in, 0, sizeof *in);
    in->g = g;
    in->c = g->context;
    in->op = node->op;
    in->op_name = node->name ? node->name : ind__op_name(node->op);
    in->operand = node->operand;
    in->num_operands = node->num_operands;
    in->attr = node->attr;
    in->body = node->body;
}

static ind_tensor ind__graph_try_add(ind_graph *g, ind__node *node, const uint32_t *operands, uint32_t num_operands,
                                     const ind__attr *attrs, uint32_t num_attrs) {
    const char *name = node->name ? node->name : ind__op_name(node->op);
    ind__infer in;
    if (!ind__fill_node(g, node, operands, num_operands, attrs, num_attrs)) {
        ind__graph_no_memory(g, name);
        return ind__graph_tensor(g, 0);
    }
    ind__infer_init(&in, g, node);
    if (ind__infer_results(&in)) {
        ind__graph_fail(g, in.status, "%s: %s", name, in.error);
    } else if (!ind__append_node(g, node, in.result, node->op == IND_OP_SCALAR ? NULL : name)) {
        ind__graph_no_memory(g, name);
    }
    return ind__graph_tensor(g, g->status ? 0 : node->result);
}

ind_tensor ind__graph_add(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                          const ind__attr *attrs, uint32_t num_attrs, ind_body *body, const char *custom_name) {
    ind_tensor result = {g, 0};
    ind__node node = {.op = op, .body = body};
    if (g && !g->status) {
        if (custom_name) node.name = ind__arena_string(&g->arena, custom_name, strlen(custom_name));
        if (custom_name && !node.name) {
            ind__graph_no_memory(g, custom_name);
        } else {
            ind_facts *before = ind__graph_enter(g);
            result = ind__graph_try_add(g, &node, operands, num_operands, attrs, num_attrs);
            ind__graph_leave(g, before);
        }
    }
    if (!result.id) ind__body_free(body);
    if (g) ind__graph_leave_here(g);
    return result;
}

/* ---- sizes, inputs, outputs */

static ind_expr ind__find_size(const ind_graph *g, const char *name, size_t length) {
    for (uint32_t i = 0; i < g->num_sizes; i++) {
        const char *s = ind_expr_symbol(g->size_symbol[i])->name;
        if (ind__same_name(s, strlen(s), name, length)) return g->size_symbol[i];
    }
    return (ind_expr){g->context, 0};
}

ind_status ind__graph_declare(ind_graph *g, ind_expr symbol) {
    const ind_symbol *s = ind_expr_symbol(symbol);
    if (g->status) return g->status;
    if (!s || s->kind != IND_SYMBOL_SIZE) return ind__graph_fail(g, IND_INVALID_ARGUMENT, "size: not a size symbol");
    if (ind__ok(ind__find_size(g, s->name, strlen(s->name)))) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "size: %s is declared twice", s->name);
    }
    bool *used = IND__PUSH(g->context, bool, g->used, g->num_used, g->cap_used);
    ind_expr *place = used ? IND__PUSH(g->context, ind_expr, g->size_symbol, g->num_sizes, g->cap_sizes) : NULL;
    if (!place) return ind__graph_no_memory(g, "size");
    *place = symbol;
    return IND_OK;
}

static bool ind__is_source(const ind_graph *g, uint32_t tensor) {
    ind_graph_op op = g->node[g->tensor[tensor].node].op;
    return op == IND_OP_INPUT || op == IND_OP_CONST;
}

static bool ind__find_output(const ind_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        if (!strcmp(g->output[i].name, name)) return true;
    }
    return false;
}

static ind_status ind__check_source(ind__infer *in, const char *name, ind_dtype dtype, int rank) {
    const ind_graph *g = in->g;
    if (!ind__valid_name(name)) {
        return ind__reject(in, IND_INVALID_ARGUMENT,
                           "\"%.60s\" is not a name; letters, digits, _ and . are allowed, a letter or "
                           "_ first, up to %d",
                           name ? name : "(NULL)", IND__MAX_NAME);
    }
    if (ind__find_tensor(g, name, strlen(name)) || ind__find_output(g, name)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%s is already the name of a tensor", name);
    }
    if (dtype <= IND_DTYPE_NONE || dtype >= IND_NUM_DTYPES) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%s has no element type", name);
    }
    if (rank < 0 || rank > IND_MAX_RANK) {
        return ind__reject(in, IND_LIMIT, "%s has %d dimensions; at most %d are possible", name, rank, IND_MAX_RANK);
    }
    return IND_OK;
}

static ind_status ind__infer_source(ind__infer *in, const char *name, ind_dtype dtype, const ind_expr *size, int rank) {
    ind_expr now[IND_MAX_RANK];
    if (ind__check_source(in, name, dtype, rank)) return in->status;
    for (int d = 0; d < rank; d++) {
        now[d] = ind__under_facts(in->g, size[d]);
        if (!ind__ok(now[d]))
            return ind__reject(in, ind__failed(in->c), "size %d of %s: %s", d, name, ind_error(in->c));
    }
    ind__set_result(in, 0, dtype, now, rank);
    return ind__need_sizes(in, now, rank) ? in->status : ind__check_result(in, &in->result[0]);
}

ind_tensor ind__graph_source(ind_graph *g, ind_graph_op op, const char *name, ind_dtype dtype, const ind_expr *size,
                             int rank) {
    ind_tensor result = {g, 0};
    ind__node node = {.op = op};
    ind__infer in;
    if (!g || g->status) return result;
    ind__infer_init(&in, g, &node);
    ind_facts *before = ind__graph_enter(g);
    if (ind__infer_source(&in, name, dtype, size, rank)) {
        ind__graph_fail(g, in.status, "%s: %s", ind__op_name(op), in.error);
    } else if (!ind__append_node(g, &node, in.result, NULL) || !ind__put_name(g, node.result, name, true)) {
        ind__graph_no_memory(g, ind__op_name(op));
    } else {
        result.id = node.result;
    }
    ind__graph_leave(g, before);
    ind__graph_leave_here(g);
    return result;
}

static ind_status ind__check_output(ind_graph *g, const char *name, uint32_t x) {
    if (!ind__valid_name(name)) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT,
                               "output: \"%.60s\" is not a name; letters, digits, _ and . are allowed",
                               name ? name : "(NULL)");
    }
    if (x == 0 || x >= g->num_tensors) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "output %s: not a tensor of this graph", name);
    }
    if (g->tensor[x].weak) {
        return ind__graph_fail(g, IND_TYPE_MISMATCH, "output %s: it is a number; ind_full makes a tensor of it", name);
    }
    if (ind__find_output(g, name)) return ind__graph_fail(g, IND_INVALID_ARGUMENT, "output %s: given twice", name);
    uint32_t other = ind__find_tensor(g, name, strlen(name));
    if (other && ind__is_source(g, other)) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT,
                               "output %s: this is the name of an input or constant; give the output "
                               "another",
                               name);
    }
    return IND_OK;
}

/* A result whose name was made up takes the output's. */
static bool ind__add_output(ind_graph *g, const char *name, uint32_t x) {
    if (!g->tensor[x].named && !ind__find_tensor(g, name, strlen(name)) && !ind__rename(g, x, name, true)) return false;
    char *copy = ind__arena_string(&g->arena, name, strlen(name));
    struct ind__output *o =
        copy ? IND__PUSH(g->context, struct ind__output, g->output, g->num_outputs, g->cap_outputs) : NULL;
    if (!o) return false;
    o->name = copy;
    o->tensor = x;
    return true;
}

ind_status ind_output(ind_graph *graph, const char *name, ind_tensor x) {
    if (!graph) return IND_INVALID_ARGUMENT;
    if (graph->status) return graph->status;
    if (x.graph != graph) {
        ind__graph_fail(graph, IND_INVALID_ARGUMENT, "output %.60s: not a tensor of this graph",
                        name ? name : "(NULL)");
    } else if (!ind__check_output(graph, name, x.id) && !ind__add_output(graph, name, x.id)) {
        ind__graph_no_memory(graph, "output");
    }
    ind__graph_leave_here(graph);
    return graph->status;
}

static const struct ind__mutation *ind__find_mutation(const ind_graph *g, uint32_t input) {
    for (uint32_t i = 0; i < g->num_mutations; i++)
        if (g->mutation[i].input == input) return &g->mutation[i];
    return NULL;
}

static ind_status ind__check_mutation(ind_graph *g, uint32_t input, uint32_t value) {
    const ind__tensor_info *x = &g->tensor[input], *v = &g->tensor[value];
    char a[200], b[200];
    if (!input || !value || input >= g->num_tensors || value >= g->num_tensors)
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "mutate: not a tensor of this graph");
    const char *name = x->name ? x->name : "a number";
    if (g->node[x->node].op != IND_OP_INPUT)
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "mutate: %s is not an input", name);
    if (ind__find_mutation(g, input))
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "mutate: %s is given twice", name);
    ind__print_type(a, sizeof a, x->dtype, x->size, x->rank);
    ind__print_type(b, sizeof b, v->dtype, v->size, v->rank);
    bool same = x->rank == v->rank;
    ind_facts *before = ind__graph_enter(g);
    for (int d = 0; same && d < x->rank; d++) same = ind_known_eq(x->size[d], v->size[d]);
    ind__graph_leave(g, before);
    if (x->dtype == v->dtype && !v->weak && same) return IND_OK;
    return ind__graph_fail(g, same ? IND_TYPE_MISMATCH : IND_SHAPE_MISMATCH,
                           "mutate: %s is %s, its new value is %s; they must be of one type", name, a, b);
}

ind_status ind_mutate(ind_tensor input, ind_tensor value) {
    ind_graph *g = input.graph ? input.graph : value.graph;
    if (!g) return IND_INVALID_ARGUMENT;
    if (g->status) return g->status;
    if (input.graph != value.graph) {
        ind__graph_fail(g, IND_INVALID_ARGUMENT, "mutate: not two tensors of this graph");
    } else if (!ind__check_mutation(g, input.id, value.id)) {
        struct ind__mutation *m =
            IND__PUSH(g->context, struct ind__mutation, g->mutation, g->num_mutations, g->cap_mutations);
        if (m) *m = (struct ind__mutation){input.id, value.id};
        if (!m) ind__graph_no_memory(g, "mutate");
    }
    ind__graph_leave_here(g);
    return g->status;
}

/* ---- what a tensor is */

static const ind__tensor_info *ind__tensor_of(ind_tensor x) {
    return x.graph && x.id && x.id < x.graph->num_tensors ? &x.graph->tensor[x.id] : NULL;
}

ind_dtype ind_tensor_dtype(ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    return t ? t->dtype : IND_DTYPE_NONE;
}

int ind_tensor_rank(ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    return t ? t->rank : 0;
}

ind_expr ind_tensor_size(ind_tensor x, int dim) {
    const ind__tensor_info *t = ind__tensor_of(x);
    ind_expr none = {x.graph ? x.graph->context : NULL, 0};
    if (!t || dim < -t->rank || dim >= t->rank) return none;
    return t->size[dim < 0 ? dim + t->rank : dim];
}

ind_tensor ind_named(ind_tensor x, const char *name) {
    const ind__tensor_info *t = ind__tensor_of(x);
    char clean[IND__MAX_NAME + 2];
    if (!t || t->weak || x.graph->status || ind__is_source(x.graph, x.id)) return x;
    ind__clean_name(clean, sizeof clean, name, "t");
    if (!ind__rename(x.graph, x.id, clean, true)) {
        ind__graph_no_memory(x.graph, "named");
        x.id = 0;
    }
    return x;
}

/* ---- the ops: handles are checked here, all else by ind__graph_add */

static ind__attr ind__attr_int(int64_t v) {
    return (ind__attr){.kind = IND__ATTR_INT, .i = v};
}

static ind__attr ind__attr_bool(bool v) {
    return (ind__attr){.kind = IND__ATTR_BOOL, .i = v};
}

static ind__attr ind__attr_float(double v) {
    return (ind__attr){.kind = IND__ATTR_FLOAT, .f = v};
}

static ind__attr ind__attr_dtype(ind_dtype d) {
    return (ind__attr){.kind = d == IND_DTYPE_NONE ? IND__ATTR_NONE : IND__ATTR_DTYPE, .i = d};
}

/* A zeroed expression means "not given"; one that failed still has its context. */
static ind__attr ind__attr_size(ind_expr e) {
    return (ind__attr){.kind = e.context ? IND__ATTR_SIZE : IND__ATTR_NONE, .e = e};
}

static ind__attr ind__attr_sizes(const ind_expr *size, int rank) {
    return (ind__attr){.kind = IND__ATTR_SIZES, .list = size, .count = rank};
}

/* A C double that is a whole number is printed and promoted as what it was given as: a float. */
static ind__attr ind__attr_scalar(double v) {
    return (ind__attr){.kind = IND__ATTR_SCALAR, .f = v};
}

static ind_status ind__check_handle(ind_graph *g, const char *op, uint32_t k, ind_tensor x) {
    if (x.graph && x.graph != g) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: operand %u is a tensor of another graph, \"%s\"", op,
                               (unsigned)k, x.graph->name);
    }
    if (x.id >= g->num_tensors) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: operand %u is not a tensor of this graph", op,
                               (unsigned)k);
    }
    return IND_OK;
}

static ind_tensor ind__call_in(ind_graph *g, ind_graph_op op, const ind_tensor *x, uint32_t n, const ind__attr *attrs,
                               uint32_t num_attrs) {
    uint32_t few[8], *ids = few;
    if (n > 8 && !(ids = ind__arena_alloc(&g->arena, n * sizeof *ids))) ind__graph_no_memory(g, ind__op_name(op));
    for (uint32_t k = 0; !g->status && k < n; k++) {
        if (!ind__check_handle(g, ind__op_name(op), k, x[k])) ids[k] = x[k].id;
    }
    return ind__graph_add(g, op, ids, n, attrs, num_attrs, NULL, NULL);
}

/* An op belongs to the graph of its first operand that has one. */
static ind_tensor ind__call(ind_graph_op op, const ind_tensor *x, uint32_t n, const ind__attr *attrs,
                            uint32_t num_attrs) {
    ind_graph *g = NULL;
    for (uint32_t k = 0; k < n && !g; k++) g = x[k].graph;
    if (!g || g->status) return ind__graph_tensor(g, 0);
    return ind__call_in(g, op, x, n, attrs, num_attrs);
}

#define IND__DEFINE_UNARY(function, op)                                                                                \
    ind_tensor ind_##function(ind_tensor a) {                                                                          \
        return ind__call(IND_OP_##op, &a, 1, NULL, 0);                                                                 \
    }
#define IND__DEFINE_BINARY(function, op)                                                                               \
    ind_tensor ind_##function(ind_tensor a, ind_tensor b) {                                                            \
        ind_tensor x[2] = {a, b};                                                                                      \
        return ind__call(IND_OP_##op, x, 2, NULL, 0);                                                                  \
    }

IND__DEFINE_BINARY(add, ADD)
IND__DEFINE_BINARY(sub, SUB)
IND__DEFINE_BINARY(mul, MUL)
IND__DEFINE_BINARY(div, DIV)
IND__DEFINE_BINARY(pow, POW)
IND__DEFINE_BINARY(maximum, MAXIMUM)
IND__DEFINE_BINARY(minimum, MINIMUM)
IND__DEFINE_BINARY(eq, EQ)
IND__DEFINE_BINARY(ne, NE)
IND__DEFINE_BINARY(lt, LT)
IND__DEFINE_BINARY(le, LE)
IND__DEFINE_BINARY(gt, GT)
IND__DEFINE_BINARY(ge, GE)
IND__DEFINE_BINARY(matmul, MATMUL)
IND__DEFINE_BINARY(mm, MM)
IND__DEFINE_BINARY(bmm, BMM)
IND__DEFINE_UNARY(neg, NEG)
IND__DEFINE_UNARY(exp, EXP)
IND__DEFINE_UNARY(log, LOG)
IND__DEFINE_UNARY(sqrt, SQRT)
IND__DEFINE_UNARY(rsqrt, RSQRT)
IND__DEFINE_UNARY(reciprocal, RECIPROCAL)
IND__DEFINE_UNARY(tanh, TANH)
IND__DEFINE_UNARY(erf, ERF)
IND__DEFINE_UNARY(sigmoid, SIGMOID)
IND__DEFINE_UNARY(relu, RELU)
IND__DEFINE_UNARY(silu, SILU)

static ind_tensor ind__add_scalar(ind_graph *g, ind__attr value) {
    if (!g || g->status) return ind__graph_tensor(g, 0);
    const char *file = g->here_file;
    int line = g->here_line;
    ind_tensor x = ind__graph_add(g, IND_OP_SCALAR, NULL, 0, &value, 1, NULL, NULL);
    if (x.id) ind_here(g, file, line); /* a number is written inside the call whose position this is */
    return x;
}

ind_tensor ind_scalar(ind_graph *graph, double value) {
    return ind__add_scalar(graph, ind__attr_scalar(value));
}

ind_tensor ind_scalar_int(ind_graph *graph, int64_t value) {
    return ind__add_scalar(graph, (ind__attr){.kind = IND__ATTR_SCALAR, .is_int = true, .i = value});
}

ind_tensor ind_full(ind_graph *graph, const ind_expr *size, int rank, double value, ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_FULL, NULL, 0, a, 3, NULL, NULL);
}

ind_tensor ind_arange(ind_graph *graph, ind_expr start, ind_expr end, ind_expr step, ind_dtype dtype) {
    ind__attr a[4] = {ind__attr_size(start), ind__attr_size(end), ind__attr_size(step), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_ARANGE, NULL, 0, a, 4, NULL, NULL);
}

ind_tensor ind_gelu(ind_tensor a, ind_gelu_form form) {
    ind__attr approximate = {.kind = IND__ATTR_STR, .s = form == IND_GELU_TANH ? "tanh" : "none"};
    return ind__call(IND_OP_GELU, &a, 1, &approximate, 1);
}

ind_tensor ind_where(ind_tensor condition, ind_tensor a, ind_tensor b) {
    ind_tensor x[3] = {condition, a, b};
    return ind__call(IND_OP_WHERE, x, 3, NULL, 0);
}

ind_tensor ind_cast(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_CAST, &a, 1, &d, 1);
}

/* An op with a list of dimensions, which becomes its first attribute. */
static ind_tensor ind__call_dims(ind_graph_op op, ind_tensor x, const int *dims, int num_dims, ind__attr *attrs,
                                 uint32_t num_attrs) {
    ind_expr list[IND_MAX_RANK];
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    if (num_dims < 0 || num_dims > IND_MAX_RANK || (num_dims > 0 && !dims)) {
        ind__graph_fail(x.graph, IND_INVALID_ARGUMENT, "%s: %d dims are given; 0 to %d are possible, and not NULL",
                        ind__op_name(op), num_dims, IND_MAX_RANK);
        return ind__graph_tensor(x.graph, 0);
    }
    for (int i = 0; i < num_dims; i++) list[i] = ind_int(x.graph->context, dims[i]);
    bool given = num_dims > 0 || op == IND_OP_PERMUTE;
    attrs[0] = (ind__attr){.kind = given ? IND__ATTR_INTS : IND__ATTR_NONE, .list = list, .count = num_dims};
    return ind__call(op, &x, 1, attrs, num_attrs);
}

ind_tensor ind_sum(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype) {
    ind__attr a[3] = {{0}, ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    return ind__call_dims(IND_OP_SUM, x, dims, num_dims, a, 3);
}

ind_tensor ind_mean(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype) {
    ind__attr a[3] = {{0}, ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    return ind__call_dims(IND_OP_MEAN, x, dims, num_dims, a, 3);
}

ind_tensor ind_amax(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_AMAX, x, dims, num_dims, a, 2);
}

ind_tensor ind_amin(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_AMIN, x, dims, num_dims, a, 2);
}

ind_tensor ind_any(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_ANY, x, dims, num_dims, a, 2);
}

ind_tensor ind_permute(ind_tensor x, const int *dims, int num_dims) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_PERMUTE, x, dims, num_dims, a, 1);
}

ind_tensor ind_squeeze(ind_tensor x, int dim) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_SQUEEZE, x, &dim, dim == IND_ALL_DIMS ? 0 : 1, a, 1);
}

ind_tensor ind_argmax(ind_tensor x, int dim, bool keepdim) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_bool(keepdim)};
    if (dim == IND_ALL_DIMS) a[0].kind = IND__ATTR_NONE;
    return ind__call(IND_OP_ARGMAX, &x, 1, a, 2);
}

ind_tensor ind_max(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_bool(keepdim)};
    ind_tensor values = ind__call(IND_OP_MAX, &x, 1, a, 2);
    if (indices) *indices = ind__graph_tensor(values.graph, values.id ? values.id + 1 : 0);
    return values;
}

ind_tensor ind_softmax(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_SOFTMAX, &x, 1, &a, 1);
}

ind_tensor ind_log_softmax(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_LOG_SOFTMAX, &x, 1, &a, 1);
}

/* The last num_dims sizes of x as a normalized_shape; num_dims that do not exist give an empty one, which is rejected.
 */
static ind__attr ind__last_sizes(ind_tensor x, int num_dims, ind_expr *size) {
    const ind__tensor_info *t = ind__tensor_of(x);
    int n = t && num_dims >= 1 && num_dims <= t->rank ? num_dims : 0;
    for (int i = 0; i < n; i++) size[i] = t->size[t->rank - n + i];
    return ind__attr_sizes(size, n);
}

ind_tensor ind_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps) {
    ind_expr size[IND_MAX_RANK];
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__attr_float(eps)};
    return ind__call(IND_OP_LAYER_NORM, operands, 3, a, 2);
}

ind_tensor ind_rms_norm(ind_tensor x, int num_dims, ind_tensor weight, double eps) {
    ind_expr size[IND_MAX_RANK];
    ind_tensor operands[2] = {x, weight};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__attr_float(eps)};
    if (eps < 0) a[1].kind = IND__ATTR_NONE;
    return ind__call(IND_OP_RMS_NORM, operands, 2, a, 2);
}

ind_tensor ind_view(ind_tensor x, const ind_expr *size, int rank) {
    ind__attr a = ind__attr_sizes(size, rank);
    return ind__call(IND_OP_VIEW, &x, 1, &a, 1);
}

ind_tensor ind_transpose(ind_tensor x, int dim0, int dim1) {
    ind__attr a[2] = {ind__attr_int(dim0), ind__attr_int(dim1)};
    return ind__call(IND_OP_TRANSPOSE, &x, 1, a, 2);
}

ind_tensor ind_expand(ind_tensor x, const ind_expr *size, int rank) {
    ind__attr a = ind__attr_sizes(size, rank);
    return ind__call(IND_OP_EXPAND, &x, 1, &a, 1);
}

ind_tensor ind_unsqueeze(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_UNSQUEEZE, &x, 1, &a, 1);
}

ind_tensor ind_slice(ind_tensor x, int dim, ind_expr start, ind_expr end, ind_expr step) {
    ind__attr a[4] = {ind__attr_int(dim), ind__attr_size(start), ind__attr_size(end), ind__attr_size(step)};
    return ind__call(IND_OP_SLICE, &x, 1, a, 4);
}

ind_tensor ind_select(ind_tensor x, int dim, ind_expr index) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_size(index)};
    return ind__call(IND_OP_SELECT, &x, 1, a, 2);
}

ind_tensor ind_cat(const ind_tensor *tensors, int num, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_CAT, tensors, tensors && num > 0 ? (uint32_t)num : 0, &a, 1);
}

ind_tensor ind_embedding(ind_tensor weight, ind_tensor indices) {
    ind_tensor operands[2] = {weight, indices};
    ind__attr a[3] = {{0}, ind__attr_bool(false), ind__attr_bool(false)};
    return ind__call(IND_OP_EMBEDDING, operands, 2, a, 3);
}

ind_tensor ind_gather(ind_tensor x, int dim, ind_tensor index) {
    ind_tensor operands[2] = {x, index};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_GATHER, operands, 2, &a, 1);
}

ind_tensor ind_index_select(ind_tensor x, int dim, ind_tensor index) {
    ind_tensor operands[2] = {x, index};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_INDEX_SELECT, operands, 2, &a, 1);
}

ind_tensor ind_take(ind_tensor x, ind_tensor index) {
    ind_tensor operands[2] = {x, index};
    return ind__call(IND_OP_TAKE, operands, 2, NULL, 0);
}

/* The tensors in `first`, then those of a list that may have gaps. */
static ind_tensor ind__call_list(ind_graph_op op, const ind_tensor *first, uint32_t n, const ind_tensor *list, int num,
                                 const ind__attr *attrs, uint32_t num_attrs) {
    ind_tensor all[2 + IND_MAX_RANK];
    ind_graph *g = first[0].graph;
    if (!g || g->status) return ind__graph_tensor(g, 0);
    if (num < 0 || num > IND_MAX_RANK || (num && !list)) {
        ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: %d indices are given; 0 to %d are possible", ind__op_name(op),
                        list || num < 0 ? num : 0, IND_MAX_RANK);
        return ind__graph_tensor(g, 0);
    }
    for (uint32_t k = 0; k < n; k++) all[k] = first[k];
    for (int k = 0; k < num; k++) all[n + (uint32_t)k] = list[k];
    return ind__call_in(g, op, all, n + (uint32_t)num, attrs, num_attrs);
}

ind_tensor ind_index(ind_tensor x, const ind_tensor *indices, int num) {
    return ind__call_list(IND_OP_INDEX, &x, 1, indices, num, NULL, 0);
}

ind_tensor ind_index_put(ind_tensor x, const ind_tensor *indices, int num, ind_tensor values, bool accumulate) {
    ind_tensor first[2] = {x, values};
    ind__attr a = ind__attr_bool(accumulate);
    return ind__call_list(IND_OP_INDEX_PUT, first, 2, indices, num, &a, 1);
}

ind_tensor ind_put(ind_tensor x, ind_tensor index, ind_tensor source, bool accumulate) {
    ind_tensor operands[3] = {x, index, source};
    ind__attr a = ind__attr_bool(accumulate);
    return ind__call(IND_OP_PUT, operands, 3, &a, 1);
}

ind_tensor ind_scatter(ind_tensor x, int dim, ind_tensor index, ind_tensor src) {
    ind_tensor operands[3] = {x, index, src};
    ind__attr a[2] = {ind__attr_int(dim), {0}};
    return ind__call(IND_OP_SCATTER, operands, 3, a, 2);
}

/* A C double that is a whole number also fits integer tensors. */
static ind__attr ind__attr_number(double v) {
    ind__attr a = ind__attr_scalar(v);
    a.is_int =
        v >= -9007199254740992.0 && v <= 9007199254740992.0 && v == (double)(int64_t)v && !(v == 0 && signbit(v));
    if (a.is_int) a.i = (int64_t)v, a.f = 0;
    return a;
}

ind_tensor ind_scatter_value(ind_tensor x, int dim, ind_tensor index, double value) {
    ind_tensor operands[3] = {x, index, IND_NO_TENSOR};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_number(value)};
    return ind__call(IND_OP_SCATTER, operands, 3, a, 2);
}

ind_tensor ind_scatter_add(ind_tensor x, int dim, ind_tensor index, ind_tensor src) {
    ind_tensor operands[3] = {x, index, src};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_SCATTER_ADD, operands, 3, &a, 1);
}

ind_tensor ind_scatter_reduce(ind_tensor x, int dim, ind_tensor index, ind_tensor src, const char *reduce,
                              bool include_self) {
    ind_tensor operands[3] = {x, index, src};
    ind__attr a[3] = {
        ind__attr_int(dim), {.kind = IND__ATTR_STR, .s = reduce ? reduce : ""}, ind__attr_bool(include_self)};
    return ind__call(IND_OP_SCATTER_REDUCE, operands, 3, a, 3);
}

ind_tensor ind_index_add(ind_tensor x, int dim, ind_tensor index, ind_tensor source, double alpha) {
    ind_tensor operands[3] = {x, index, source};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_number(alpha)};
    return ind__call(IND_OP_INDEX_ADD, operands, 3, a, 2);
}

ind_tensor ind_index_copy(ind_tensor x, int dim, ind_tensor index, ind_tensor source) {
    ind_tensor operands[3] = {x, index, source};
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_INDEX_COPY, operands, 3, &a, 1);
}

ind_tensor ind_index_fill(ind_tensor x, int dim, ind_tensor index, double value) {
    ind_tensor operands[2] = {x, index};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_number(value)};
    return ind__call(IND_OP_INDEX_FILL, operands, 2, a, 2);
}

ind_tensor ind_embedding_dense_backward(ind_tensor grad_output, ind_tensor indices, ind_expr num_weights,
                                        int64_t padding_idx, bool scale_grad_by_freq) {
    ind_tensor operands[2] = {grad_output, indices};
    ind__attr a[3] = {ind__attr_size(num_weights), {0}, ind__attr_bool(scale_grad_by_freq)};
    if (padding_idx >= 0) a[1] = ind__attr_int(padding_idx);
    return ind__call(IND_OP_EMBEDDING_DENSE_BACKWARD, operands, 2, a, 3);
}

ind_tensor ind_addmm(ind_tensor bias, ind_tensor a, ind_tensor b, double beta, double alpha) {
    ind_tensor x[3] = {bias, a, b};
    ind__attr scale[2] = {ind__attr_scalar(beta), ind__attr_scalar(alpha)};
    for (int i = 0; i < 2; i++) { /* whole numbers also fit integer matrices */
        scale[i].is_int = scale[i].f >= -1e15 && scale[i].f <= 1e15 && scale[i].f == (double)(int64_t)scale[i].f;
        if (scale[i].is_int) scale[i].i = (int64_t)scale[i].f;
    }
    return ind__call(IND_OP_ADDMM, x, 3, scale, 2);
}

ind_tensor ind_linear(ind_tensor x, ind_tensor weight, ind_tensor bias) {
    ind_tensor operands[3] = {x, weight, bias};
    return ind__call(IND_OP_LINEAR, operands, 3, NULL, 0);
}

/* ---- ops of the user */

typedef struct ind__custom {
    ind_graph *graph;
    const char *name;
    uint32_t *operand;
    uint32_t num, capacity;
} ind__custom;

static uint32_t ind__custom_operand(ind__custom *u, uint32_t tensor) {
    for (uint32_t i = 0; i < u->num; i++) {
        if (u->operand[i] == tensor) return i;
    }
    uint32_t *place = IND__PUSH(u->graph->context, uint32_t, u->operand, u->num, u->capacity);
    if (!place) {
        ind__graph_no_memory(u->graph, u->name);
        return UINT32_MAX;
    }
    *place = tensor;
    return u->num - 1;
}

/* ind_op_load under the recorder: a LOAD whose source is the operand's position. */
static ind_value ind__custom_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank) {
    ind__custom *u = ((ind__recorder *)o)->user;
    const ind__tensor_info *t = ind__tensor_of(x);
    ind_value none = {0};
    if (x.graph != u->graph || !t) {
        ind__graph_fail(u->graph, IND_INVALID_ARGUMENT, "%s: loads a tensor that is not of this graph", u->name);
        return none;
    }
    if (t->weak) {
        const ind__attr *v = &u->graph->node[t->node].attr[0];
        return v->is_int ? ind_op_constant_int(o, v->i, IND_I64) : ind_op_constant(o, v->f, IND_F32);
    }
    if (rank != t->rank || (rank > 0 && !index)) {
        ind__graph_fail(u->graph, IND_SHAPE_MISMATCH, "%s: loads %s with %d indices; it has %d dimensions", u->name,
                        t->name, rank, t->rank);
        return none;
    }
    uint32_t source = ind__custom_operand(u, x.id);
    return source == UINT32_MAX ? none : ind__emit_load(o, source, t->dtype, index, rank);
}

static ind_body *ind__custom_record(ind__custom *u, const ind_loop_desc *desc, const ind_expr *size, int rank,
                                    ind_dtype *dtype) {
    ind__recorder r;
    memset(&r, 0, sizeof r);
    if (ind__record_begin(&r, u->graph->context, size, rank, NULL, 0)) return NULL;
    r.ops.load_tensor = ind__custom_load;
    r.user = u;
    ind_value v = desc->fn(&r.ops, r.body->var, rank, desc->user);
    if (v.id) {
        ind_dtype have = ind_op_dtype(&r.ops, v);
        if (*dtype == IND_DTYPE_NONE) *dtype = have;
        if (have != ind_dtype_compute(*dtype)) v = ind_op_cast(&r.ops, v, ind_dtype_compute(*dtype));
    }
    if (!v.id || u->graph->status) {
        ind__record_abort(&r);
        return NULL;
    }
    r.body->result = v.id;
    return ind__record_end(&r);
}

static ind_status ind__check_loop_desc(ind_graph *g, const char *name, const ind_loop_desc *d) {
    if (!d || !d->fn) return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: no function is given", name);
    if (d->like.id && (d->like.graph != g || !ind__tensor_of(d->like))) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: like is not a tensor of this graph", name);
    }
    if (!d->like.id && d->rank > 0 && !d->size) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: neither like nor a size is given", name);
    }
    if (d->rank < 0 || d->rank > IND_MAX_RANK) {
        return ind__graph_fail(g, IND_LIMIT, "%s: %d dimensions; 0 to %d are possible", name, d->rank, IND_MAX_RANK);
    }
    for (int i = 0; !d->like.id && i < d->rank; i++) {
        if (!ind__ok(d->size[i]) || d->size[i].context != g->context || !ind__expr_is_size(d->size[i]) ||
            !ind_known_le(ind_int(g->context, 0), d->size[i])) {
            return ind__graph_fail(g, IND_INVALID_ARGUMENT,
                                   "%s: size %d is not a size of this context, or may be negative", name, i);
        }
    }
    return IND_OK;
}

static ind_tensor ind__add_custom(ind_graph *graph, const ind_loop_desc *desc) {
    char name[64];
    ind__custom u = {.graph = graph, .name = name};
    ind__clean_name(name, sizeof name, desc ? desc->name : NULL, "custom");
    if (ind__check_loop_desc(graph, name, desc)) return ind__graph_tensor(graph, 0);

    const ind__tensor_info *like = ind__tensor_of(desc->like);
    int rank = like ? like->rank : desc->rank;
    ind_expr size[IND_MAX_RANK]; /* a copy: fn may add to the graph, which moves its tensors */
    for (int d = 0; d < rank; d++) size[d] = like ? like->size[d] : ind__under_facts(graph, desc->size[d]);
    ind_dtype dtype = desc->dtype == IND_DTYPE_NONE && like ? like->dtype : desc->dtype;
    graph->context->error.status = IND_OK; /* what fails from here on is the function's doing */
    ind_body *body = ind__custom_record(&u, desc, size, rank, &dtype);
    ind_tensor result = {graph, 0};
    if (body) {
        ind__attr a = ind__attr_dtype(dtype);
        result = ind__graph_add(graph, IND_OP_CUSTOM, u.operand, u.num, &a, 1, body, name);
    } else if (!graph->status) {
        ind_status s = ind_error_status(graph->context);
        char copy[512];
        snprintf(copy, sizeof copy, "%.500s", s ? ind_error(graph->context) : "it returned no value");
        ind__graph_fail(graph, s ? s : IND_INVALID_ARGUMENT, "%s: the function failed: %s", name, copy);
    }
    ind__free(graph->context, u.operand);
    return result;
}

ind_tensor ind_pointwise(ind_graph *graph, const ind_loop_desc *desc) {
    if (!graph || graph->status) return ind__graph_tensor(graph, 0);
    ind_facts *before = ind__graph_enter(graph);
    ind_tensor result = ind__add_custom(graph, desc);
    ind__graph_leave(graph, before);
    return result;
}

/* -------------------------------------------------------------------------------------------- >>conditions */
/* Facts and guards. They are kept as given, for texts and for the module's checks, and as a fact set, which is in force
   wherever sizes of the graph are built or compared. Tensors hold sizes as they stand under the set: equal sizes are
   one expression. That is why a condition may not come after a tensor that has one of its sizes. */

/* Whether the size of this number is in e, be it with the range that the facts give it. */
static bool ind__has_size(const ind_graph *g, ind_expr e, uint32_t number) {
    ind_expr symbol = g->size_symbol[number];
    return ind__expr_depends(e, symbol) || ind__expr_depends(e, ind__under_facts(g, symbol));
}

static void ind__mark_expr(ind_graph *g, ind_expr e) {
    for (uint32_t i = 0; !ind_expr_is_int(e, NULL) && i < g->num_sizes; i++) {
        g->used[i] = g->used[i] || ind__has_size(g, e, i);
    }
}

static void ind__mark_node(ind_graph *g, const ind__node *n) {
    for (uint32_t r = 0; r < n->num_results; r++) {
        const ind__tensor_info *t = &g->tensor[n->result + r];
        for (int d = 0; d < t->rank; d++) ind__mark_expr(g, t->size[d]);
    }
    for (uint32_t i = 0; i < n->num_attrs; i++) {
        const ind__attr *a = &n->attr[i];
        if (a->kind == IND__ATTR_SIZE) ind__mark_expr(g, a->e);
        for (int k = 0; a->kind == IND__ATTR_SIZES && k < a->count; k++) ind__mark_expr(g, a->list[k]);
    }
    for (uint32_t i = 0; n->body && i < n->body->num_index; i++) ind__mark_expr(g, n->body->index[i]);
}

/* The first size of the condition that a node has already; NULL: none. Every node is looked at once. */
static const char *ind__used_size(ind_graph *g, ind_expr condition) {
    if (g->num_scanned == 0) g->num_scanned = 1;
    while (g->num_scanned < g->num_nodes) ind__mark_node(g, &g->node[g->num_scanned++]);
    for (uint32_t i = 0; i < g->num_sizes; i++) {
        if (g->used[i] && ind__has_size(g, condition, i)) {
            return ind_expr_symbol(g->size_symbol[i])->name;
        }
    }
    return NULL;
}

static bool ind__is_condition(ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    return kind == IND_EXPR_INT || (kind >= IND_EXPR_EQ && kind <= IND_EXPR_NOT);
}

/* What is known of a condition: 1 it holds, 0 it does not, -1 neither. */
static int ind__settled(const ind_graph *g, ind_expr e) {
    int64_t value;
    if (ind_expr_is_int(e, &value)) return value != 0;
    if (ind_known(g->facts, e)) return 1;
    return ind_known(g->facts, ind_expr_not(e)) ? 0 : -1;
}

/* "S in [1, 4096], T in [1, 64]" */
static const char *ind__say_declared(const ind_graph *g, char *out, size_t bytes) {
    size_t used = 0;
    snprintf(out, bytes, "no size");
    for (uint32_t i = 0; i < g->num_sizes && used < bytes; i++) {
        const ind_symbol *s = ind_expr_symbol(g->size_symbol[i]);
        used += (size_t)snprintf(out + used, bytes - used, "%s%s in [%lld, %lld]", used ? ", " : "", s->name,
                                 (long long)s->lo, (long long)s->hi);
    }
    return out;
}

static ind_status ind__record_condition(ind_graph *g, ind_expr e, const char *text, bool guard) {
    ind__condition *place = IND__PUSH(g->context, ind__condition, g->condition, g->num_conditions, g->cap_conditions);
    if (!place) return ind__graph_no_memory(g, "fact");
    *place = (ind__condition){e, guard, text};
    ind_status status = ind_facts_assume(g->facts, e);
    if (!status) return IND_OK;
    g->num_conditions--;
    char why[400];
    snprintf(why, sizeof why, "%.390s", ind_error(g->context));
    return ind__graph_fail(g, status, "%s: %s", guard ? "guard" : "fact", why);
}

/* The guard of a condition that does not hold for the hints. */
static ind_status ind__record_negation(ind_graph *g, ind_expr e, const char *text) {
    size_t bytes = strlen(text) + sizeof "not ()";
    char *negation = ind__arena_alloc(&g->arena, bytes);
    if (!negation) return ind__graph_no_memory(g, "guard");
    snprintf(negation, bytes, "not (%s)", text);
    return ind__record_condition(g, ind_expr_not(e), negation, true);
}

/* Takes a condition, as read from `text` (of the graph's arena), into the graph; see ind_fact and ind_guard_that. No
   fact set is in force. */
static ind_status ind__add_condition(ind_graph *g, ind_expr e, const char *text, bool guard, bool *holds) {
    const char *what = guard ? "guard" : "fact";
    char declared[200];
    ind_expr now = ind__under_facts(g, e);
    if (!ind__ok(now)) return ind__graph_fail(g, ind__failed(g->context), "%s %s: out of memory", what, text);
    if (!ind__is_condition(e)) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: %s is no condition; write a comparison, as in S == 4*T",
                               what, text);
    }
    int settled = ind__settled(g, now);
    bool hint = settled >= 0 ? settled : ind_hint(now) != 0;
    if (holds) *holds = hint;
    if (settled == 1 || (settled == 0 && holds)) return IND_OK;
    if (settled == 0) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: %s contradicts what is known; declared: %s", what, text,
                               ind__say_declared(g, declared, sizeof declared));
    }
    if (guard && !hint && !holds) {
        return ind__graph_fail(g, IND_OUT_OF_RANGE,
                               "guard: %s does not hold for the hints; give its sizes hints for which it holds", text);
    }
    const char *used = ind__used_size(g, now);
    if (used) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT,
                               "%s: %s comes after a tensor with %s in its size; it must stand before the first", what,
                               text, used);
    }
    return guard && !hint ? ind__record_negation(g, e, text) : ind__record_condition(g, e, text, guard);
}

/* ----------------------------------------------------------------------------------------------- >>printer */
/* Beside the parser on purpose: what one writes the other reads. Canonical text is a fixed point of both. */

static void ind__print_dims(ind__text *t, const ind_expr *list, int count) {
    ind__textf(t, "[");
    for (int i = 0; i < count; i++) {
        if (i) ind__textf(t, ", ");
        ind__text_expr(t, list[i]);
    }
    ind__textf(t, "]");
}

static void ind__print_string(ind__text *t, const char *s) {
    ind__textf(t, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') ind__textf(t, "\\");
        ind__text_raw(t, s, 1);
    }
    ind__textf(t, "\"");
}

static void ind__print_attr(ind__text *t, const ind__attr *a) {
    switch (a->kind) {
    case IND__ATTR_INT: ind__textf(t, "%lld", (long long)a->i); break;
    case IND__ATTR_FLOAT: ind__text_double(t, a->f); break;
    case IND__ATTR_BOOL: ind__textf(t, "%s", a->i ? "true" : "false"); break;
    case IND__ATTR_STR: ind__print_string(t, a->s); break;
    case IND__ATTR_DTYPE: ind__textf(t, "%s", ind_dtype_name((ind_dtype)a->i)); break;
    case IND__ATTR_INTS:
    case IND__ATTR_SIZES: ind__print_dims(t, a->list, a->count); break;
    case IND__ATTR_SIZE: ind__text_expr(t, a->e); break;
    case IND__ATTR_SCALAR:
        if (a->is_int) {
            ind__textf(t, "%lld", (long long)a->i);
        } else {
            ind__text_double(t, a->f);
        }
        break;
    default: ind__textf(t, "none"); break;
    }
}

static bool ind__same_list(const ind__attr *a, const ind__attr *b) {
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++) same = ind_expr_same(a->list[i], b->list[i]);
    return same;
}

static bool ind__same_attr(const ind__attr *a, const ind__attr *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case IND__ATTR_NONE: return true;
    case IND__ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case IND__ATTR_STR: return strcmp(a->s, b->s) == 0;
    case IND__ATTR_INTS:
    case IND__ATTR_SIZES: return ind__same_list(a, b);
    case IND__ATTR_SIZE: return ind_expr_same(a->e, b->e);
    case IND__ATTR_SCALAR:
        return a->is_int == b->is_int && (a->is_int ? a->i == b->i : memcmp(&a->f, &b->f, sizeof a->f) == 0);
    default: return a->i == b->i;
    }
}

static void ind__print_operand(ind__text *t, const ind_graph *g, uint32_t id) {
    const ind__tensor_info *x = &g->tensor[id];
    if (id == 0) {
        ind__textf(t, "none");
    } else if (x->weak) {
        ind__print_attr(t, &g->node[x->node].attr[0]);
    } else {
        ind__textf(t, "%s", x->name);
    }
}

/* Absent optional operands at the end are left out; a list stands in brackets. */
static bool ind__print_operands(ind__text *t, const ind_graph *g, const ind__node *n) {
    uint32_t count = n->num_operands, single = ind__num_single(&g->schema[n->op]);
    bool list = single != g->schema[n->op].num_operands;
    while (!list && count > 0 && n->operand[count - 1] == 0) count--;
    for (uint32_t k = 0; k < count; k++) {
        ind__textf(t, k ? ", %s" : "%s", list && k == single ? "[" : "");
        ind__print_operand(t, g, n->operand[k]);
    }
    if (list) ind__textf(t, count > single ? "]" : single ? ", []" : "[]");
    return list || count > 0;
}

static void ind__print_call(ind__text *t, const ind_graph *g, const ind__node *n) {
    const ind__schema *schema = &g->schema[n->op];
    ind__textf(t, "%s(", ind__op_name(n->op));
    bool comma = ind__print_operands(t, g, n);
    for (uint32_t i = 0; i < n->num_attrs; i++) {
        const ind__attr_schema *s = &schema->attr[i];
        if (!s->required && ind__same_attr(&n->attr[i], &s->value)) continue;
        ind__textf(t, "%s%.*s=", comma ? ", " : "", s->length, s->name);
        ind__print_attr(t, &n->attr[i]);
        comma = true;
    }
    ind__textf(t, ")%s%s", n->name ? "   # " : "", n->name ? n->name : "");
}

static void ind__print_result(ind__text *t, const ind_graph *g, uint32_t id) {
    const ind__tensor_info *x = &g->tensor[id];
    ind__textf(t, "%s : %s", x->name, ind_dtype_name(x->dtype));
    ind__print_dims(t, x->size, x->rank);
}

static void ind__print_node(ind__text *t, const ind_graph *g, const ind__node *n) {
    if (n->op == IND_OP_SCALAR) return;
    ind__textf(t, "  ");
    if (n->op == IND_OP_INPUT || n->op == IND_OP_CONST) ind__textf(t, "%s ", ind__op_name(n->op));
    for (uint32_t r = 0; r < n->num_results; r++) {
        if (r) ind__textf(t, ", ");
        ind__print_result(t, g, n->result + r);
    }
    if (n->op != IND_OP_INPUT && n->op != IND_OP_CONST) {
        ind__textf(t, " = ");
        ind__print_call(t, g, n);
    }
    ind__textf(t, "\n");
}

static void ind__print_size(ind__text *t, const ind_symbol *s) {
    ind__textf(t, "  size %s in [%lld, %lld] multiple_of %lld hint %lld\n", s->name, (long long)s->lo, (long long)s->hi,
               (long long)s->multiple_of, (long long)s->hint);
}

static void ind__print_outputs(ind__text *t, const ind_graph *g) {
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        const char *name = g->output[i].name, *tensor = g->tensor[g->output[i].tensor].name;
        ind__textf(t, "%s%s", i ? ", " : "  output ", name);
        if (strcmp(name, tensor)) ind__textf(t, " = %s", tensor);
    }
    if (g->num_outputs) ind__textf(t, "\n");
}

static void ind__print_mutations(ind__text *t, const ind_graph *g) {
    for (uint32_t i = 0; i < g->num_mutations; i++)
        ind__textf(t, "  mutate %s = %s\n", g->tensor[g->mutation[i].input].name, g->tensor[g->mutation[i].value].name);
}

static void ind__print_graph(ind__text *t, const ind_graph *g) {
    ind__textf(t, "graph %s {\n", g->name);
    for (uint32_t i = 0; i < g->num_sizes; i++) ind__print_size(t, ind_expr_symbol(g->size_symbol[i]));
    for (uint32_t i = 0; i < g->num_conditions; i++) {
        ind__textf(t, "  %s %s\n", g->condition[i].guard ? "guard" : "fact", g->condition[i].text);
    }
    for (uint32_t i = 1; i < g->num_nodes; i++) ind__print_node(t, g, &g->node[i]);
    ind__print_mutations(t, g);
    ind__print_outputs(t, g);
    ind__textf(t, "}\n");
}

const char *ind_graph_text(ind_graph *graph) {
    if (!graph) return NULL;
    ind__text_free(&graph->text);
    memset(&graph->text, 0, sizeof graph->text);
    graph->text.context = graph->context;
    ind_facts *before = ind_facts_enter(graph->context, NULL); /* as the text is read */
    ind__print_graph(&graph->text, graph);
    ind__graph_leave(graph, before);
    return ind__text_status(&graph->text) ? NULL : graph->text.data;
}

/* ------------------------------------------------------------------------------------------------ >>parser */
/* Recursive descent without recursion: statements hold calls, calls hold values, lists do not nest. Whatever the bytes,
   the first error stays and every function after it returns at once. */

typedef struct ind__parser {
    ind_graph *g;
    const char *text, *at;
    bool as_written;     /* expressions are not put under the graph's facts */
    const char *unknown; /* name of an undeclared size that an expression used */
    size_t unknown_length;
    int brackets;        /* within ( or [ lines may be broken */
    const char *counted; /* up to here lines are counted */
    int lines;
    ind_status status;
    const char *error_at;
    char error[900];
} ind__parser;

static bool ind__parse_error(ind__parser *p, const char *at, ind_status status, const char *format, ...)
    IND__PRINTF(4, 5);
static bool ind__parse_error(ind__parser *p, const char *at, ind_status status, const char *format, ...) {
    if (p->status) return false;
    va_list args;
    va_start(args, format);
    vsnprintf(p->error, sizeof p->error, format, args);
    va_end(args);
    p->status = status;
    p->error_at = at;
    return false;
}

/* ---- tokens */

static void ind__skip(ind__parser *p) {
    for (;; p->at++) {
        if (*p->at == '#') p->at += strcspn(p->at, "\n");
        bool space = *p->at == ' ' || *p->at == '\t' || *p->at == '\r';
        if (!space && !(*p->at == '\n' && p->brackets > 0)) return;
    }
}

static void ind__skip_lines(ind__parser *p) {
    for (ind__skip(p); *p->at == '\n'; ind__skip(p)) p->at++;
}

static size_t ind__name_length(const char *s) {
    size_t n = 0;
    while (ind__name_char(s[n], n == 0)) n++;
    return n;
}

/* What stands at the position, for messages: a word, or one character; bytes that cannot be printed as \xNN. */
static const char *ind__found(const char *at, char *out, size_t bytes) {
    static const char digits[] = "0123456789abcdef";
    unsigned char ch = (unsigned char)*at;
    size_t n = ind__name_length(at);
    if (ch == 0) {
        snprintf(out, bytes, "the end of the text");
    } else if (ch == '\n') {
        snprintf(out, bytes, "the end of the line");
    } else if (ch < 32 || ch > 126) {
        snprintf(out, bytes, "byte \\x%c%c", digits[ch >> 4], digits[ch & 15]);
    } else {
        while (n == 0 || (at[n] >= '0' && at[n] <= '9')) n++;
        snprintf(out, bytes, "\"%.*s%s\"", (int)(n > 40 ? 40 : n), at, n > 40 ? ".." : "");
    }
    return out;
}

static bool ind__expected(ind__parser *p, const char *what) {
    char found[64];
    return ind__parse_error(p, p->at, IND_PARSE, "expected %s, found %s", what, ind__found(p->at, found, sizeof found));
}

static bool ind__peek(ind__parser *p, char ch) {
    ind__skip(p);
    return !p->status && *p->at == ch;
}

static bool ind__take(ind__parser *p, char ch) {
    if (!ind__peek(p, ch)) return false;
    p->at++;
    if (ch == '(' || ch == '[') p->brackets++;
    if (ch == ')' || ch == ']') p->brackets--;
    return true;
}

static bool ind__need(ind__parser *p, char ch) {
    char what[4] = {'"', ch, '"', 0};
    return ind__take(p, ch) || ind__expected(p, what);
}

static bool ind__at_word(ind__parser *p, const char *word) {
    ind__skip(p);
    return ind__same_name(p->at, ind__name_length(p->at), word, strlen(word));
}

static bool ind__take_word(ind__parser *p, const char *word) {
    if (p->status || !ind__at_word(p, word)) return false;
    p->at += strlen(word);
    return true;
}

/* A name, copied; `what` says which for the message. */
static bool ind__need_name(ind__parser *p, const char *what, char out[IND__MAX_NAME + 1]) {
    ind__skip(p);
    if (p->status) return false;
    size_t n = ind__name_length(p->at);
    if (n == 0) return ind__expected(p, what);
    if (n > IND__MAX_NAME)
        return ind__parse_error(p, p->at, IND_LIMIT, "a name of %zu characters; at most %d", n, IND__MAX_NAME);
    memcpy(out, p->at, n);
    out[n] = 0;
    p->at += n;
    return true;
}

/* Like ind__need_name, for a name that is about to be given to something. */
static bool ind__need_new_name(ind__parser *p, const char *what, char out[IND__MAX_NAME + 1]) {
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_name(p, what, out)) return false;
    if (!ind__reserved_name(out, strlen(out))) return true;
    return ind__parse_error(p, at, IND_PARSE, "\"%s\" is a value and cannot be a name", out);
}

static bool ind__need_int(ind__parser *p, int64_t *out) {
    ind__skip(p);
    const char *begin = p->at, *s = p->at + (*p->at == '-');
    uint64_t v = 0, limit = (uint64_t)INT64_MAX + (*begin == '-');
    if (p->status) return false;
    if (*s < '0' || *s > '9') return ind__expected(p, "an integer");
    for (; *s >= '0' && *s <= '9'; s++) {
        uint64_t digit = (uint64_t)(*s - '0');
        if (v > (limit - digit) / 10) return ind__parse_error(p, begin, IND_OVERFLOW, "the number exceeds 64 bits");
        v = v * 10 + digit;
    }
    if (*s == '.' || ind__name_char(*s, false)) return ind__expected(p, "an integer");
    p->at = s;
    *out = *begin == '-' ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* Length of a number, 0 if there is none; *whole: written without point and exponent. */
static size_t ind__number_length(const char *s, bool *whole) {
    size_t n = *s == '-', from;
    *whole = false;
    size_t word = ind__name_length(s + n);
    if (ind__same_name(s + n, word, "inf", 3) || ind__same_name(s + n, word, "nan", 3)) return n + 3;
    for (from = n; s[n] >= '0' && s[n] <= '9'; n++) {
    }
    if (n == from) return 0;
    *whole = s[n] != '.' && s[n] != 'e' && s[n] != 'E';
    if (s[n] == '.') n += 1 + strspn(s + n + 1, "0123456789");
    if (s[n] != 'e' && s[n] != 'E') return n;
    size_t exponent = n + 1 + (s[n + 1] == '-' || s[n + 1] == '+'), digits = strspn(s + exponent, "0123456789");
    return digits ? exponent + digits : n;
}

/* ---- values by kind */

static ind_expr ind__parser_find_size(const char *name, size_t length, void *user) {
    ind__parser *p = user;
    ind_expr e = ind__find_size(p->g, name, length);
    if (!ind__ok(e)) {
        p->unknown = name;
        p->unknown_length = length;
    }
    return e;
}

static void ind__list_sizes(const ind_graph *g, char *out, size_t bytes) {
    size_t used = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < g->num_sizes && used < bytes; i++) {
        used +=
            (size_t)snprintf(out + used, bytes - used, "%s%s", i ? ", " : "", ind_expr_symbol(g->size_symbol[i])->name);
    }
    if (g->num_sizes == 0) snprintf(out, bytes, "none");
}

static bool ind__need_expr(ind__parser *p, ind_expr *out) {
    ind__skip(p);
    if (p->status) return false;
    p->unknown = NULL;
    const char *end = p->at;
    *out = ind__expr_parse(p->g->context, p->at, &end, ind__parser_find_size, p);
    if (ind__ok(*out) && !p->as_written) *out = ind__under_facts(p->g, *out);
    if (ind__ok(*out)) {
        p->at = end;
        return true;
    }
    if (p->unknown) {
        char declared[300];
        ind__list_sizes(p->g, declared, sizeof declared);
        return ind__parse_error(p, p->unknown, IND_PARSE, "size \"%.*s\" is not declared; declared: %s",
                                (int)(p->unknown_length > 60 ? 60 : p->unknown_length), p->unknown, declared);
    }
    ind_status s = ind_error_status(p->g->context);
    char found[64];
    return ind__parse_error(p, end, s ? s : IND_PARSE, "bad expression at %s: %s", ind__found(end, found, sizeof found),
                            ind_error(p->g->context));
}

#define IND__MAX_LIST 16 /* longer than any valid list of dimensions */

static bool ind__need_exprs(ind__parser *p, ind_expr list[IND__MAX_LIST], int *count) {
    *count = 0;
    if (!ind__need(p, '[')) return false;
    while (!p->status && !ind__peek(p, ']')) {
        if (*count == IND__MAX_LIST) {
            return ind__parse_error(p, p->at, IND_LIMIT, "more than %d dimensions; at most %d are possible",
                                    IND__MAX_LIST, IND_MAX_RANK);
        }
        if (!ind__need_expr(p, &list[(*count)++])) return false;
        if (!ind__peek(p, ']') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \"]\"");
    }
    return ind__need(p, ']');
}

static bool ind__need_dtype(ind__parser *p, ind_dtype *dtype) {
    static const char all[] = ""
#define X(name, text, bytes, cls, ctype) " " text
        IND_DTYPES(X)
#undef X
        ;
    char found[64];
    ind__skip(p);
    size_t n = ind__name_length(p->at);
    *dtype = ind_dtype_parse(p->at, n);
    if (*dtype == IND_DTYPE_NONE) {
        return ind__parse_error(p, p->at, IND_PARSE, "expected an element type, found %s; allowed:%s",
                                ind__found(p->at, found, sizeof found), all);
    }
    p->at += n;
    return true;
}

static bool ind__need_type(ind__parser *p, ind__type *type) {
    ind_expr list[IND__MAX_LIST];
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_dtype(p, &type->dtype) || !ind__need_exprs(p, list, &type->rank)) return false;
    if (type->rank > IND_MAX_RANK) {
        return ind__parse_error(p, at, IND_LIMIT, "%d dimensions; at most %d are possible", type->rank, IND_MAX_RANK);
    }
    memcpy(type->size, list, sizeof type->size);
    return true;
}

static bool ind__need_scalar(ind__parser *p, ind__attr *a) {
    ind__skip(p);
    size_t n = ind__number_length(p->at, &a->is_int);
    if (p->status) return false;
    if (n == 0) return ind__expected(p, "a number");
    if (a->is_int) return ind__need_int(p, &a->i);
    if (!ind__parse_double(p->at, n, &a->f)) return ind__expected(p, "a number");
    p->at += n;
    return true;
}

static bool ind__need_string(ind__parser *p, ind__attr *a) {
    char text[64];
    size_t n = 0;
    if (!ind__peek(p, '"')) return ind__expected(p, "a string in double quotes");
    const char *begin = p->at, *s = p->at + 1;
    for (; *s && *s != '"' && *s != '\n'; s++) {
        if (*s == '\\' && s[1] && s[1] != '\n') s++;
        if (n == sizeof text - 1) return ind__parse_error(p, begin, IND_LIMIT, "a string of more than 63 characters");
        text[n++] = *s;
    }
    if (*s != '"') return ind__parse_error(p, begin, IND_PARSE, "the string does not end on its line");
    p->at = s + 1;
    a->s = ind__arena_string(&p->g->arena, text, n);
    return a->s || ind__parse_error(p, begin, IND_OUT_OF_MEMORY, "out of memory");
}

static bool ind__need_bool(ind__parser *p, ind__attr *a) {
    a->i = ind__take_word(p, "true");
    return a->i || ind__take_word(p, "false") || ind__expected(p, "true or false");
}

/* [1, 2], or one integer for a list of one. */
static bool ind__need_ints(ind__parser *p, ind__attr *a, ind_expr list[IND__MAX_LIST]) {
    int64_t v;
    a->count = 1;
    if (ind__peek(p, '[')) return ind__need_exprs(p, list, &a->count);
    if (!ind__need_int(p, &v)) return false;
    list[0] = ind_int(p->g->context, v);
    return true;
}

/* The value of an attribute; list: room for its elements. */
static bool ind__need_value(ind__parser *p, const ind__attr_schema *s, ind__attr *a, ind_expr list[IND__MAX_LIST]) {
    ind_dtype dtype;
    memset(a, 0, sizeof *a);
    if (!s->required && s->value.kind == IND__ATTR_NONE && ind__take_word(p, "none")) return true;
    a->kind = s->kind;
    a->list = list;
    switch (s->kind) {
    case IND__ATTR_INT: return ind__need_int(p, &a->i);
    case IND__ATTR_BOOL: return ind__need_bool(p, a);
    case IND__ATTR_STR: return ind__need_string(p, a);
    case IND__ATTR_INTS: return ind__need_ints(p, a, list);
    case IND__ATTR_SIZES: return ind__need_exprs(p, list, &a->count);
    case IND__ATTR_SIZE: return ind__need_expr(p, &a->e);
    case IND__ATTR_SCALAR: return ind__need_scalar(p, a);
    case IND__ATTR_DTYPE:
        if (!ind__need_dtype(p, &dtype)) return false;
        a->i = dtype;
        return true;
    default:
        if (!ind__need_scalar(p, a)) return false;
        if (a->is_int) a->f = (double)a->i;
        a->is_int = false;
        a->i = 0;
        return true;
    }
}

/* ---- calls */

typedef struct ind__parsed_call {
    ind_graph_op op;
    const ind__schema *schema;
    const char *at;    /* of the op's name */
    uint32_t *operand; /* ids; for an op with a list of tensors as many as there are */
    uint32_t num_operands, cap_operands;
    bool operand_set[IND__MAX_OPERANDS], attr_set[IND__MAX_ATTRS];
    ind__attr attr[IND__MAX_ATTRS];
    ind_expr list[IND__MAX_ATTRS][IND__MAX_LIST];
    uint32_t positional; /* how many arguments came without a name */
} ind__parsed_call;

/* Letters to change, insert or delete (Levenshtein); names are short, longer ones are never close. */
static int ind__edit_distance(const char *a, size_t na, const char *b, size_t nb) {
    int row[32];
    if (na > 30 || nb > 30) return 99;
    for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

static bool ind__op_in_text(int op) {
    return op != IND_OP_INPUT && op != IND_OP_CONST && op != IND_OP_SCALAR;
}

static bool ind__unknown_op(ind__parser *p, const char *at, const char *name) {
    int best[3] = {-1, -1, -1}, distance[3] = {99, 99, 99};
    for (int op = 0; op < IND_NUM_OPS; op++) {
        int d = ind__edit_distance(name, strlen(name), ind__op_rows[op].name, strlen(ind__op_rows[op].name));
        if (!ind__op_in_text(op) || op == IND_OP_CUSTOM) continue;
        for (int k = 0; k < 3; k++) { /* insertion into the three best, first come first */
            if (d >= distance[k]) continue;
            for (int j = 2; j > k; j--) {
                best[j] = best[j - 1];
                distance[j] = distance[j - 1];
            }
            best[k] = op;
            distance[k] = d;
            break;
        }
    }
    if (best[0] < 0 || best[1] < 0 || best[2] < 0)
        return ind__parse_error(p, at, IND_PARSE, "unknown op \"%.60s..\"", name);
    return ind__parse_error(p, at, IND_PARSE, "unknown op \"%s\"; the closest are %s, %s, %s", name,
                            ind__op_rows[best[0]].name, ind__op_rows[best[1]].name, ind__op_rows[best[2]].name);
}

static bool ind__need_op(ind__parser *p, ind__parsed_call *call) {
    char name[IND__MAX_NAME + 1];
    ind__skip(p);
    call->at = p->at;
    if (!ind__need_name(p, "the name of an op", name)) return false;
    for (int op = 0; op < IND_NUM_OPS; op++) {
        if (!ind__op_in_text(op) || strcmp(name, ind__op_rows[op].name)) continue;
        call->op = (ind_graph_op)op;
        call->schema = &p->g->schema[op];
        if (op != IND_OP_CUSTOM) return true;
        return ind__parse_error(p, call->at, IND_NOT_SUPPORTED,
                                "custom ops are C functions and cannot be read from text");
    }
    return ind__unknown_op(p, call->at, name);
}

static bool ind__push_operand(ind__parser *p, ind__parsed_call *call, uint32_t id) {
    uint32_t *place = IND__PUSH(p->g->context, uint32_t, call->operand, call->num_operands, call->cap_operands);
    if (!place) return ind__parse_error(p, p->at, IND_OUT_OF_MEMORY, "out of memory");
    *place = id;
    return true;
}

/* A tensor's name, or a number where the op takes one. */
static bool ind__need_operand(ind__parser *p, ind__parsed_call *call, uint32_t k, uint32_t *id) {
    char name[IND__MAX_NAME + 1];
    ind__attr number = {.kind = IND__ATTR_SCALAR};
    bool whole;
    ind__skip(p);
    const char *at = p->at;
    *id = 0;
    if (call->schema->operand[k].optional && ind__take_word(p, "none")) return true;
    if (ind__number_length(p->at, &whole) && ind__number_allowed(call->op, k)) {
        if (!ind__need_scalar(p, &number)) return false;
        *id = ind__add_scalar(p->g, number).id;
        return *id || ind__parse_error(p, at, p->g->status, "%s", p->g->error);
    }
    if (!ind__need_name(p, ind__number_allowed(call->op, k) ? "a tensor or a number" : "the name of a tensor", name))
        return false;
    *id = ind__find_tensor(p->g, name, strlen(name));
    if (*id) return true;
    bool is_size = ind__ok(ind__find_size(p->g, name, strlen(name)));
    return ind__parse_error(p, at, IND_PARSE,
                            is_size ? "\"%s\" is a size; a tensor is needed here"
                                    : "there is no tensor \"%s\" "
                                      "above this line",
                            name);
}

static bool ind__need_operand_list(ind__parser *p, ind__parsed_call *call, uint32_t k) {
    uint32_t id;
    if (!ind__need(p, '[')) return false;
    while (!p->status && !ind__peek(p, ']')) {
        if (!ind__need_operand(p, call, k, &id) || !ind__push_operand(p, call, id)) return false;
        if (!ind__peek(p, ']') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \"]\"");
    }
    return ind__need(p, ']');
}

static bool ind__parse_operand(ind__parser *p, ind__parsed_call *call, uint32_t k) {
    ind__skip(p);
    if (call->operand_set[k]) {
        const ind__operand_schema *o = &call->schema->operand[k];
        return ind__parse_error(p, p->at, IND_PARSE, "argument \"%.*s\" is given twice", o->length, o->name);
    }
    call->operand_set[k] = true;
    if (call->schema->operand[k].list) return ind__need_operand_list(p, call, k);
    return ind__need_operand(p, call, k, &call->operand[k]);
}

static bool ind__parse_attr(ind__parser *p, ind__parsed_call *call, uint32_t i) {
    const ind__attr_schema *s = &call->schema->attr[i];
    ind__skip(p);
    if (call->attr_set[i]) {
        return ind__parse_error(p, p->at, IND_PARSE, "argument \"%.*s\" is given twice", s->length, s->name);
    }
    call->attr_set[i] = true;
    return ind__need_value(p, s, &call->attr[i], call->list[i]);
}

static bool ind__bad_keyword(ind__parser *p, const ind__parsed_call *call, const char *at, const char *name) {
    char allowed[200];
    size_t used = 0;
    const ind__schema *s = call->schema;
    allowed[0] = 0;
    for (uint32_t k = 0; k < s->num_operands + s->num_attrs && used < sizeof allowed; k++) {
        bool tensor = k < s->num_operands;
        int length = tensor ? s->operand[k].length : s->attr[k - s->num_operands].length;
        const char *text = tensor ? s->operand[k].name : s->attr[k - s->num_operands].name;
        used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%.*s", k ? ", " : "", length, text);
    }
    return ind__parse_error(p, at, IND_PARSE, "%s has no argument \"%.60s\"; allowed: %s", ind__op_name(call->op), name,
                            allowed);
}

static bool ind__parse_keyword(ind__parser *p, ind__parsed_call *call) {
    char name[IND__MAX_NAME + 1];
    const char *at = p->at;
    const ind__schema *s = call->schema;
    if (!ind__need_name(p, "the name of an argument", name) || !ind__need(p, '=')) return false;
    for (uint32_t k = 0; k < s->num_operands; k++) {
        if (ind__same_name(s->operand[k].name, (size_t)s->operand[k].length, name, strlen(name))) {
            return ind__parse_operand(p, call, k);
        }
    }
    for (uint32_t i = 0; i < s->num_attrs; i++) {
        if (ind__same_name(s->attr[i].name, (size_t)s->attr[i].length, name, strlen(name)))
            return ind__parse_attr(p, call, i);
    }
    return ind__bad_keyword(p, call, at, name);
}

/* Can what stands here be operand k? PyTorch writes gather(x, dim, index) and layer_norm(x, shape, weight, bias): a
   number or a list where only a tensor fits is the next attribute. */
static bool ind__fits_operand(ind__parser *p, const ind__parsed_call *call, uint32_t k) {
    bool whole;
    if (call->schema->operand[k].list) return true;
    if (*p->at == '[') return false;
    return !ind__number_length(p->at, &whole) || ind__number_allowed(call->op, k) || call->schema->num_attrs == 0;
}

static bool ind__parse_positional(ind__parser *p, ind__parsed_call *call) {
    const ind__schema *s = call->schema;
    uint32_t k = 0, i = 0;
    ind__skip(p);
    while (k < s->num_operands && call->operand_set[k]) k++;
    uint32_t list = ind__num_single(s); /* index_put(x, [i, j], v): brackets are the list, wherever they stand */
    if (*p->at == '[' && list < s->num_operands && !call->operand_set[list]) k = list;
    while (i < s->num_attrs && call->attr_set[i]) i++;
    call->positional++;
    if (k < s->num_operands && (ind__fits_operand(p, call, k) || i == s->num_attrs))
        return ind__parse_operand(p, call, k);
    if (i < s->num_attrs) return ind__parse_attr(p, call, i);
    return ind__parse_error(p, p->at, IND_PARSE, "%s takes at most %u arguments", ind__op_name(call->op),
                            (unsigned)(s->num_operands + s->num_attrs));
}

static bool ind__at_keyword(ind__parser *p) {
    ind__skip(p);
    size_t n = ind__name_length(p->at);
    ind__parser ahead = {.at = p->at + n, .brackets = 1};
    return n > 0 && ind__peek(&ahead, '=') && ahead.at[1] != '=';
}

/* arange(n) gives the end, as in PyTorch. */
static void ind__fix_arange(ind__parsed_call *call) {
    if (call->op != IND_OP_ARANGE || call->positional != 1 || call->attr_set[1]) return;
    call->attr[1] = call->attr[0];
    memset(&call->attr[0], 0, sizeof call->attr[0]);
    call->attr_set[0] = false;
    call->attr_set[1] = true;
}

static bool ind__check_arguments(ind__parser *p, ind__parsed_call *call) {
    const ind__schema *s = call->schema;
    for (uint32_t k = 0; k < s->num_operands; k++) {
        const ind__operand_schema *o = &s->operand[k];
        if (!call->operand_set[k] && (!o->optional || o->list)) {
            return ind__parse_error(p, call->at, IND_PARSE, "%s: argument \"%.*s\" is missing", ind__op_name(call->op),
                                    o->length, o->name);
        }
    }
    for (uint32_t i = 0; i < s->num_attrs; i++) {
        const ind__attr_schema *a = &s->attr[i];
        if (!call->attr_set[i] && a->required) {
            return ind__parse_error(p, call->at, IND_PARSE, "%s: argument \"%.*s\" (%s) is missing",
                                    ind__op_name(call->op), a->length, a->name,
                                    ind__attr_kind_rows[a->kind].description);
        }
    }
    return true;
}

static bool ind__parse_arguments(ind__parser *p, ind__parsed_call *call) {
    const ind__schema *s = call->schema;
    for (uint32_t k = 0; k < ind__num_single(s); k++) {
        if (!ind__push_operand(p, call, 0)) return false;
    }
    if (!ind__need(p, '(')) return false;
    while (!p->status && !ind__peek(p, ')')) {
        if (ind__at_keyword(p)) {
            ind__parse_keyword(p, call);
        } else {
            ind__parse_positional(p, call);
        }
        if (!p->status && !ind__peek(p, ')') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \")\"");
    }
    if (!ind__need(p, ')')) return false;
    ind__fix_arange(call);
    return ind__check_arguments(p, call);
}

/* ---- statements */

/* Line of a position; counts on from the last one asked for, since statements come in order. */
static int ind__line_of(ind__parser *p, const char *at) {
    if (!p->counted || p->counted > at) {
        p->counted = p->text;
        p->lines = 1;
    }
    for (; p->counted < at; p->counted++) p->lines += *p->counted == '\n';
    return p->lines;
}

/* A failure of the graph becomes one of the text: its position is the statement's. */
static bool ind__check_graph(ind__parser *p, const char *at) {
    if (!p->g->status) return true;
    return ind__parse_error(p, at, p->g->status, "%s", p->g->error);
}

/* The hint that a size without one has: 64, or what of its range comes nearest. */
static int64_t ind__default_hint(const ind_symbol *s) {
    int64_t h = s->lo > 64 ? s->lo : s->hi < 64 ? s->hi : 64, m = s->multiple_of;
    int64_t down = h - h % m;
    return down >= s->lo || down > INT64_MAX - m ? down : down + m;
}

static bool ind__check_size(ind__parser *p, const char *at, ind_symbol *s, bool hinted) {
    if (strchr(s->name, '.'))
        return ind__parse_error(p, at, IND_PARSE, "size \"%s\": no point is allowed in this name", s->name);
    if (!strcmp(s->name, "not") || !strcmp(s->name, "and") || !strcmp(s->name, "or"))
        return ind__parse_error(p, at, IND_PARSE, "size \"%s\": this is an operator and cannot be a name", s->name);
    if (s->lo < 0 || s->hi < s->lo) {
        return ind__parse_error(p, at, IND_OUT_OF_RANGE, "size %s: the range [%lld, %lld] is %s", s->name,
                                (long long)s->lo, (long long)s->hi, s->lo < 0 ? "negative" : "empty");
    }
    if (s->multiple_of < 1)
        return ind__parse_error(p, at, IND_OUT_OF_RANGE, "size %s: multiple_of must be at least 1", s->name);
    if (!hinted) s->hint = ind__default_hint(s);
    if (s->hint < s->lo || s->hint > s->hi || s->hint % s->multiple_of) {
        return ind__parse_error(p, at, IND_OUT_OF_RANGE,
                                hinted ? "size %s: the hint %lld is not a multiple of %lld in [%lld, %lld]"
                                       : "size %s: %lld is not a multiple of %lld in [%lld, %lld]; there is none",
                                s->name, (long long)s->hint, (long long)s->multiple_of, (long long)s->lo,
                                (long long)s->hi);
    }
    return true;
}

/* size = name "in" "[" int "," int "]" [ "multiple_of" int ] [ "hint" int ] */
static ind_expr ind__parse_size(ind__parser *p) {
    char name[IND__MAX_NAME + 1];
    ind_symbol s = {.kind = IND_SYMBOL_SIZE, .slot = (int)p->g->num_sizes, .name = name, .multiple_of = 1};
    ind_expr none = {p->g->context, 0};
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_new_name(p, "the name of a size", name)) return none;
    if (!ind__take_word(p, "in")) return ind__expected(p, "\"in\""), none;
    if (!ind__need(p, '[') || !ind__need_int(p, &s.lo) || !ind__need(p, ',') || !ind__need_int(p, &s.hi)) return none;
    if (!ind__need(p, ']')) return none;
    if (ind__take_word(p, "multiple_of") && !ind__need_int(p, &s.multiple_of)) return none;
    bool hinted = ind__take_word(p, "hint");
    if (hinted && !ind__need_int(p, &s.hint)) return none;
    if (p->status || !ind__check_size(p, at, &s, hinted)) return none;
    ind_expr e = ind_symbol_expr(p->g->context, &s);
    if (!ind__ok(e))
        ind__parse_error(p, at, ind_error_status(p->g->context), "size %s: %s", name, ind_error(p->g->context));
    if (ind__ok(e) && ind__graph_declare(p->g, e)) ind__check_graph(p, at);
    return p->status ? none : e;
}

/* What was written, on one line: messages say it in the words of whoever wrote it. */
static const char *ind__written(ind_graph *g, const char *from, const char *end) {
    char *text = ind__arena_alloc(&g->arena, (size_t)(end - from) + 1), *to = text;
    if (!text) return ind__graph_no_memory(g, "fact"), NULL;
    for (; from < end; from++) {
        if (*from == '#') from += strcspn(from, "\n");
        bool space = *from == ' ' || *from == '\t' || *from == '\r' || *from == '\n';
        if (!space) *to++ = *from;
        if (space && to > text && to[-1] != ' ') *to++ = ' ';
    }
    while (to > text && to[-1] == ' ') *--to = 0;
    return text;
}

/* fact = "fact" expr     guard = "guard" expr */
static void ind__parse_condition(ind__parser *p, bool guard, bool *holds) {
    ind_expr e;
    ind__skip(p);
    const char *at = p->at;
    ind_facts *before = ind_facts_enter(p->g->context, NULL);
    p->as_written = true;
    const char *text = ind__need_expr(p, &e) ? ind__written(p->g, at, p->at) : NULL;
    if (text) ind__add_condition(p->g, e, text, guard, holds);
    p->as_written = false;
    ind__graph_leave(p->g, before);
    if (!p->status) ind__check_graph(p, at);
}

static void ind__parse_source(ind__parser *p, ind_graph_op op) {
    char name[IND__MAX_NAME + 1];
    ind__type type;
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_new_name(p, "a name", name) || !ind__need(p, ':') || !ind__need_type(p, &type)) return;
    ind__graph_source(p->g, op, name, type.dtype, type.size, type.rank);
    ind__check_graph(p, at);
}

static uint32_t ind__need_tensor(ind__parser *p) {
    char name[IND__MAX_NAME + 1];
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_name(p, "the name of a tensor", name)) return 0;
    uint32_t id = ind__find_tensor(p->g, name, strlen(name));
    if (!id) ind__parse_error(p, at, IND_PARSE, "there is no tensor \"%s\" above this line", name);
    return id;
}

/* output = "output" named { "," named }     named = name [ "=" name ] */
static void ind__parse_output(ind__parser *p) {
    char name[IND__MAX_NAME + 1];
    do {
        ind__skip(p);
        const char *at = p->at;
        if (!ind__need_new_name(p, "the name of an output", name)) return;
        ind__skip(p);
        uint32_t id = 0;
        if (ind__take(p, '=')) {
            ind__skip(p);
            at = p->at;
            id = ind__need_tensor(p);
        } else if (!(id = ind__find_tensor(p->g, name, strlen(name)))) {
            ind__parse_error(p, at, IND_PARSE, "there is no tensor \"%s\" above this line", name);
        }
        if (!id) return;
        ind_output(p->g, name, ind__graph_tensor(p->g, id));
        ind__check_graph(p, at);
    } while (ind__take(p, ','));
}

/* mutate = "mutate" name "=" name */
static void ind__parse_mutate(ind__parser *p) {
    ind__skip(p);
    const char *at = p->at;
    uint32_t input = ind__need_tensor(p), value = 0;
    if (input && ind__need(p, '=')) value = ind__need_tensor(p);
    if (!value) return;
    ind_mutate(ind__graph_tensor(p->g, input), ind__graph_tensor(p->g, value));
    ind__check_graph(p, at);
}

typedef struct ind__parsed_result {
    char name[IND__MAX_NAME + 1];
    const char *at;
    ind__type type;
    bool typed;
} ind__parsed_result;

static bool ind__parse_result(ind__parser *p, ind__parsed_result *r) {
    ind__skip(p);
    r->at = p->at;
    if (!ind__need_new_name(p, "a statement: size, fact, guard, input, const, mutate, output, or NAME = OP(..)",
                            r->name))
        return false;
    if (ind__find_tensor(p->g, r->name, strlen(r->name))) {
        return ind__parse_error(p, r->at, IND_PARSE, "the name \"%s\" is already taken", r->name);
    }
    r->typed = ind__take(p, ':');
    return !r->typed || ind__need_type(p, &r->type);
}

/* The type written after a result must be the one that the op gives. */
static bool ind__check_annotation(ind__parser *p, const ind__parsed_result *r, const ind__tensor_info *t) {
    bool same = r->type.dtype == t->dtype && r->type.rank == t->rank;
    ind_facts *before = ind__graph_enter(p->g);
    for (int d = 0; same && d < t->rank; d++) same = ind_known_eq(r->type.size[d], t->size[d]);
    ind__graph_leave(p->g, before);
    if (!r->typed || same) return true;
    char written[200], given[200];
    ind__print_type(written, sizeof written, r->type.dtype, r->type.size, r->type.rank);
    ind__print_type(given, sizeof given, t->dtype, t->size, t->rank);
    return ind__parse_error(p, r->at, IND_TYPE_MISMATCH, "%s is written as %s, the op gives %s", r->name, written,
                            given);
}

static void ind__add_parsed(ind__parser *p, ind__parsed_call *call, const ind__parsed_result *r, uint32_t num_results) {
    const ind__schema *s = call->schema;
    ind_tensor x =
        ind__graph_add(p->g, call->op, call->operand, call->num_operands, call->attr, s->num_attrs, NULL, NULL);
    if (!ind__check_graph(p, call->at)) return;
    p->g->node[p->g->num_nodes - 1].line = ind__line_of(p, call->at);
    for (uint32_t k = 0; k < num_results; k++) {
        if (!ind__check_annotation(p, &r[k], &p->g->tensor[x.id + k])) return;
        if (!ind__rename(p->g, x.id + k, r[k].name, true)) {
            ind__parse_error(p, call->at, IND_OUT_OF_MEMORY, "out of memory");
            return;
        }
    }
}

/* assign = result { "," result } "=" op "(" [ argument { "," argument } ] ")" */
static void ind__parse_assign(ind__parser *p) {
    ind__parsed_result result[2];
    ind__parsed_call call;
    uint32_t n = 0;
    memset(&call, 0, sizeof call);
    do {
        if (n == 2) {
            ind__parse_error(p, p->at, IND_PARSE, "no op has more than 2 results");
            return;
        }
        if (!ind__parse_result(p, &result[n++])) return;
    } while (ind__take(p, ','));
    if (n == 2 && !strcmp(result[0].name, result[1].name)) {
        ind__parse_error(p, result[1].at, IND_PARSE, "the name \"%s\" is given twice", result[1].name);
    }
    bool ok = ind__need(p, '=') && ind__need_op(p, &call);
    if (ok && ind__op_rows[call.op].results != n) {
        ok = ind__parse_error(p, result[0].at, IND_PARSE, "%s has %u result%s, %u name%s given", ind__op_name(call.op),
                              (unsigned)ind__op_rows[call.op].results, ind__op_rows[call.op].results == 1 ? "" : "s",
                              (unsigned)n, n == 1 ? " is" : "s are");
    }
    if (ok && ind__parse_arguments(p, &call)) ind__add_parsed(p, &call, result, n);
    ind__free(p->g->context, call.operand);
}

/* Is the word here a statement's keyword, not a tensor that bears its name? Then a name follows. */
static bool ind__take_keyword(ind__parser *p, const char *word) {
    if (!ind__at_word(p, word)) return false;
    ind__parser ahead = {.at = p->at + strlen(word)};
    ind__skip(&ahead);
    if (*ahead.at == '=' || *ahead.at == ':' || *ahead.at == ',') return false;
    return ind__take_word(p, word);
}

static void ind__parse_statement(ind__parser *p) {
    if (ind__take_keyword(p, "size")) {
        ind__parse_size(p);
    } else if (ind__take_keyword(p, "fact")) {
        ind__parse_condition(p, false, NULL);
    } else if (ind__take_keyword(p, "guard")) {
        ind__parse_condition(p, true, NULL);
    } else if (ind__take_keyword(p, "input")) {
        ind__parse_source(p, IND_OP_INPUT);
    } else if (ind__take_keyword(p, "const")) {
        ind__parse_source(p, IND_OP_CONST);
    } else if (ind__take_keyword(p, "mutate")) {
        ind__parse_mutate(p);
    } else if (ind__take_keyword(p, "output")) {
        ind__parse_output(p);
    } else {
        ind__parse_assign(p);
    }
    if (!ind__peek(p, '\n') && !ind__peek(p, '}')) ind__expected(p, "the end of the line");
}

/* The graph's name is read before there is a graph. */
static bool ind__parse_head(ind__parser *p, char name[IND__MAX_NAME + 1]) {
    ind__skip_lines(p);
    if (!ind__take_word(p, "graph")) return ind__expected(p, "\"graph\"");
    return ind__need_name(p, "the graph's name", name);
}

static void ind__parse_body(ind__parser *p) {
    if (!ind__need(p, '{')) return;
    for (ind__skip_lines(p); !p->status && !ind__peek(p, '}'); ind__skip_lines(p)) ind__parse_statement(p);
    if (!ind__need(p, '}')) return;
    ind__skip_lines(p);
    if (*p->at) ind__expected(p, "the end of the text after \"}\"");
}

static void ind__report_position(ind_context *c, ind__parser *p, const char *file) {
    const char *line = p->error_at;
    while (line > p->text && line[-1] != '\n') line--;
    ind__fail(c, p->status, "%.200s:%d:%d: %s", file ? file : "<text>", ind__line_of(p, p->error_at),
              (int)(p->error_at - line) + 1, p->error);
}

ind_graph *ind_graph_parse(ind_context *context, const char *text, const char *file) {
    char name[IND__MAX_NAME + 1];
    ind__parser p = {.text = text, .at = text};
    if (!context) return NULL;
    if (!text) {
        ind__fail(context, IND_INVALID_ARGUMENT, "parse: the text is NULL");
        return NULL;
    }
    if (ind__parse_head(&p, name)) {
        p.g = ind_graph_create(context, name);
        if (!p.g) return NULL;
        ind__parse_body(&p);
    }
    if (!p.status) return p.g;
    ind__report_position(context, &p, file);
    ind_graph_destroy(p.g);
    return NULL;
}

/* ---- the same language in strings given to builders */

/* Hands a failure on to the graph, with the place in the string. */
static bool ind__finish_string(ind__parser *p, const char *what) {
    ind__skip(p);
    if (!p->status && *p->at) ind__expected(p, "the end");
    if (!p->status) return true;
    ind__graph_fail(p->g, p->status, "%s: \"%.120s\": column %d: %s", what, p->text, (int)(p->error_at - p->text) + 1,
                    p->error);
    return false;
}

ind_expr ind_size(ind_graph *graph, const char *declaration) {
    ind_expr none = {graph ? graph->context : NULL, 0};
    ind__parser p = {.g = graph, .text = declaration, .at = declaration};
    if (!graph || graph->status) return none;
    if (!declaration) {
        ind__graph_fail(graph, IND_INVALID_ARGUMENT, "size: the declaration is NULL");
        return none;
    }
    ind_expr e = ind__parse_size(&p);
    bool ok = ind__finish_string(&p, "size");
    ind__graph_leave_here(graph);
    return ok ? e : none;
}

static ind_status ind__add_condition_text(ind_graph *g, const char *text, bool guard, bool *holds) {
    ind__parser p = {.g = g, .text = text, .at = text};
    const char *what = guard ? "guard" : "fact";
    if (holds) *holds = false;
    if (!g) return IND_INVALID_ARGUMENT;
    if (g->status) return g->status;
    if (text) {
        ind__parse_condition(&p, guard, holds);
        if (!g->status) ind__finish_string(&p, what);
    } else {
        ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: the condition is NULL; it is written as \"S == 4*T\"", what);
    }
    ind__graph_leave_here(g);
    return g->status;
}

ind_status ind_fact(ind_graph *graph, const char *condition) {
    return ind__add_condition_text(graph, condition, false, NULL);
}

ind_status ind_guard_that(ind_graph *graph, const char *condition, bool *holds) {
    return ind__add_condition_text(graph, condition, true, holds);
}

static ind_tensor ind__add_source_text(ind_graph *g, ind_graph_op op, const char *name, const char *type) {
    ind__parser p = {.g = g, .text = type, .at = type};
    ind__type t = {0};
    char what[80];
    if (!g || g->status) return ind__graph_tensor(g, 0);
    snprintf(what, sizeof what, "%s %.60s", ind__op_name(op), name ? name : "(NULL)");
    if (!type) {
        ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: the type is NULL; it is written as \"f32[B, 256]\"", what);
        return ind__graph_tensor(g, 0);
    }
    ind__need_type(&p, &t);
    if (!ind__finish_string(&p, what)) return ind__graph_tensor(g, 0);
    return ind__graph_source(g, op, name, t.dtype, t.size, t.rank);
}

ind_tensor ind_input(ind_graph *graph, const char *name, const char *type) {
    return ind__add_source_text(graph, IND_OP_INPUT, name, type);
}

ind_tensor ind_constant(ind_graph *graph, const char *name, const char *type) {
    return ind__add_source_text(graph, IND_OP_CONST, name, type);
}

ind_tensor ind_view_text(ind_tensor x, const char *size) {
    ind__parser p = {.g = x.graph, .text = size, .at = size};
    ind_expr list[IND__MAX_LIST];
    int rank = 0;
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    if (!size) {
        ind__graph_fail(x.graph, IND_INVALID_ARGUMENT, "view: the size is NULL; it is written as \"[B, 256]\"");
        return ind__graph_tensor(x.graph, 0);
    }
    ind__need_exprs(&p, list, &rank);
    return ind__finish_string(&p, "view") ? ind_view(x, list, rank) : ind__graph_tensor(x.graph, 0);
}

/* ---- verifier */

static ind_status ind__verify_types(const ind_graph *g, const ind__node *n) {
    ind__infer in;
    ind__infer_init(&in, g, n);
    if (ind__infer_results(&in))
        return ind__fail(g->context, IND_VERIFY, "graph %s: %s: %s", g->name, in.op_name, in.error);
    for (uint32_t r = 0; r < n->num_results; r++) {
        const ind__tensor_info *t = &g->tensor[n->result + r];
        bool same = t->dtype == in.result[r].dtype && t->rank == in.result[r].rank;
        for (int d = 0; same && d < t->rank; d++) same = ind_known_eq(t->size[d], in.result[r].size[d]);
        if (!same)
            return ind__fail(g->context, IND_VERIFY, "graph %s: %s: result %u has another type than the op gives",
                             g->name, in.op_name, (unsigned)r);
    }
    return IND_OK;
}

/* Invariants: operands come before their users; results are numbered in order and have the types that the op gives;
   names are unique and found; outputs exist and are no numbers. */
static ind_status ind__verify_nodes(const ind_graph *g) {
    uint32_t next = 1;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const ind__node *n = &g->node[i];
        bool ok = n->op < IND_NUM_OPS && n->result == next && n->num_results == ind__op_rows[n->op].results;
        for (uint32_t k = 0; ok && k < n->num_operands; k++) ok = n->operand[k] < next;
        for (uint32_t r = 0; ok && r < n->num_results; r++) {
            const ind__tensor_info *t = &g->tensor[next + r];
            ok = t->node == i && (t->weak || ind__find_tensor(g, t->name, strlen(t->name)) == next + r);
        }
        if (!ok)
            return ind__fail(g->context, IND_VERIFY, "graph %s: node %u (%s) is out of order", g->name, (unsigned)i,
                             ind__op_name(n->op));
        next += n->num_results;
        bool source = n->op == IND_OP_INPUT || n->op == IND_OP_CONST;
        if (!source && ind__verify_types(g, n)) return IND_VERIFY;
    }
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        uint32_t x = g->output[i].tensor;
        if (x == 0 || x >= next || g->tensor[x].weak) {
            return ind__fail(g->context, IND_VERIFY, "graph %s: output %s is not a tensor", g->name, g->output[i].name);
        }
    }
    for (uint32_t i = 0; i < g->num_mutations; i++) {
        const struct ind__mutation *m = &g->mutation[i];
        bool ok = m->input && m->value && m->input < next && m->value < next && !g->tensor[m->value].weak;
        if (!ok || g->node[g->tensor[m->input].node].op != IND_OP_INPUT || ind__find_mutation(g, m->input) != m)
            return ind__fail(g->context, IND_VERIFY, "graph %s: mutation %u is not of one input", g->name, (unsigned)i);
    }
    return IND_OK;
}

ind_status ind__graph_verify(const ind_graph *g) {
    if (!g) return IND_INVALID_ARGUMENT;
    if (g->status) return ind__fail(g->context, g->status, "%s", g->error);
    ind_facts *before = ind__graph_enter(g);
    ind_status status = ind__verify_nodes(g);
    ind__graph_leave(g, before);
    return status;
}

/* ------------------------------------------------------------------------------------------------ >>passes */

/* A round copies the graph, front to back, and asks every enabled pass about each node once its operands are in the
   copy. So one round is linear, chains collapse within it, and a pass is one function:

       FOLD   needs  all operands uniform (scalar or full)      keeps  dtype, shape and the value bit by bit
       NOOP   needs  nothing                                    keeps  dtype, shape and the value; -0 + 0 may stay -0
       CSE    needs  nothing                                    keeps  everything; custom ops and inputs are not merged
       DCE    needs  nothing (it chooses what is copied)        keeps  inputs and constants: they stay bindings

   Rounds repeat until none changes anything, at most IND__MAX_ROUNDS. */
#define IND__MAX_ROUNDS 8

typedef struct graph__rewrite {
    const ind_graph *from;
    ind_graph *to;
    uint32_t enabled; /* bit per ind_pass */
    uint32_t *map;    /* tensor of `from` to tensor of `to` */
    bool *live;       /* by node of `from` */
    uint32_t *seen;   /* CSE: open addressing, nodes of `to` by hash */
    uint32_t seen_size;
    bool changed;
} graph__rewrite;

/* Gets a node whose operands are tensors of r->to but whose results are still those of r->from. Returns the tensor of
   r->to that stands for its first result (the others follow), 0: the node stays. */
typedef uint32_t (*graph__pass_fn)(graph__rewrite *r, const ind__node *n);

static const ind__node *graph__producer_of(const ind_graph *g, uint32_t tensor) {
    return &g->node[g->tensor[tensor].node];
}

static bool graph__same_shape(const ind__tensor_info *a, const ind__tensor_info *b) {
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = ind_expr_same(a->size[d], b->size[d]);
    return same;
}

/* ---- numbers with the semantics of their dtype ---- */

/* i for integers and bool, f for floats; always a value that the dtype can hold. */
typedef struct graph__typed_number {
    ind_dtype dtype;
    int64_t i;
    double f;
} graph__typed_number;

static double graph__round_to_dtype(ind_dtype dtype, double v) {
    switch (dtype) {
    case IND_F16: return (double)ind__f16_to_f32(ind__f32_to_f16((float)v));
    case IND_BF16: return (double)ind__bf16_to_f32(ind__f32_to_bf16((float)v));
    case IND_F32: return (double)(float)v;
    default: return v;
    }
}

/* False where C leaves the conversion undefined: a float outside the integers, or NaN. */
static bool graph__typed_number_cast(graph__typed_number x, ind_dtype to, graph__typed_number *out) {
    bool from_float = ind_dtype_is_float(x.dtype);
    graph__typed_number y = {to, 0, 0};
    if (ind_dtype_is_float(to)) {
        y.f = graph__round_to_dtype(to, from_float ? x.f : (double)x.i);
    } else if (to == IND_BOOL) {
        y.i = from_float ? x.f != 0 : x.i != 0;
    } else {
        if (from_float && !(x.f > -9.2e18 && x.f < 9.2e18)) return false;
        y.i = ind__wrap_int(to, from_float ? (int64_t)x.f : x.i);
    }
    *out = y;
    return true;
}

static graph__typed_number graph__typed_number_of(const ind__attr *a) {
    graph__typed_number x = {a->is_int ? IND_I64 : IND_F64, a->is_int ? a->i : 0, a->is_int ? 0 : a->f};
    return x;
}

/* The one value that all elements of a tensor have, if its op says so. A Python number keeps its full precision. */
static bool graph__uniform_of(const ind_graph *g, uint32_t tensor, graph__typed_number *out) {
    const ind__node *n = graph__producer_of(g, tensor);
    if (n->op != IND_OP_SCALAR && n->op != IND_OP_FULL) return false;
    if (n->op == IND_OP_FULL)
        return graph__typed_number_cast(graph__typed_number_of(&n->attr[1]), g->tensor[tensor].dtype, out);
    *out = graph__typed_number_of(&n->attr[0]);
    return true;
}

static bool graph__uniform_is(const ind_graph *g, uint32_t tensor, int64_t value) {
    graph__typed_number x;
    if (!graph__uniform_of(g, tensor, &x)) return false;
    return ind_dtype_is_float(x.dtype) ? x.f == (double)value : x.i == value;
}

/* ---- FOLD ---- */

static bool graph__fold_float(ind_graph_op op, double a, double b, double *out) {
    switch (op) {
    case IND_OP_ADD: *out = a + b; return true;
    case IND_OP_SUB: *out = a - b; return true;
    case IND_OP_MUL: *out = a * b; return true;
    case IND_OP_DIV: *out = a / b; return true;
    case IND_OP_MAXIMUM: *out = isnan(a) || a > b ? a : b; return true;
    case IND_OP_MINIMUM: *out = isnan(a) || a < b ? a : b; return true;
    default: return false;
    }
}

/* Through unsigned numbers: integers wrap around. */
static bool graph__fold_int(ind_graph_op op, int64_t a, int64_t b, int64_t *out) {
    switch (op) {
    case IND_OP_ADD: *out = (int64_t)((uint64_t)a + (uint64_t)b); return true;
    case IND_OP_SUB: *out = (int64_t)((uint64_t)a - (uint64_t)b); return true;
    case IND_OP_MUL: *out = (int64_t)((uint64_t)a * (uint64_t)b); return true;
    case IND_OP_MAXIMUM: *out = a > b ? a : b; return true;
    case IND_OP_MINIMUM: *out = a < b ? a : b; return true;
    default: return false;
    }
}

/* Both operands have dtype t. Computing in double and rounding once more is exact for f32 (53 >= 2 * 24 + 2 bits). */
static bool graph__fold_binary(ind_graph_op op, ind_dtype t, graph__typed_number a, graph__typed_number b,
                               graph__typed_number *out) {
    out->dtype = t;
    if (!ind_dtype_is_float(t)) {
        if (!graph__fold_int(op, a.i, b.i, &out->i)) return false;
        out->i = ind__wrap_int(t, out->i);
        return true;
    }
    if (!graph__fold_float(op, a.f, b.f, &out->f)) return false;
    out->f = graph__round_to_dtype(t, out->f);
    return true;
}

static bool graph__fold_compare(ind_graph_op op, graph__typed_number a, graph__typed_number b,
                                graph__typed_number *out) {
    bool is_float = ind_dtype_is_float(a.dtype);
    bool less = is_float ? a.f < b.f : a.i < b.i;
    bool equal = is_float ? a.f == b.f : a.i == b.i;
    bool greater = is_float ? a.f > b.f : a.i > b.i;
    out->dtype = IND_BOOL;
    switch (op) {
    case IND_OP_EQ: out->i = equal; return true;
    case IND_OP_NE: out->i = !equal; return true;
    case IND_OP_LT: out->i = less; return true;
    case IND_OP_LE: out->i = less || equal; return true;
    case IND_OP_GT: out->i = greater; return true;
    case IND_OP_GE: out->i = greater || equal; return true;
    default: return false;
    }
}

static bool graph__fold_unary(ind_graph_op op, ind_dtype t, graph__typed_number a, graph__typed_number *out) {
    *out = a;
    switch (op) {
    case IND_OP_CAST: return true;
    case IND_OP_NEG:
        out->f = -a.f;
        out->i = ind__wrap_int(t, (int64_t)(0 - (uint64_t)a.i));
        return true;
    case IND_OP_RELU:
        out->f = a.f < 0 ? 0 : a.f;
        out->i = a.i < 0 ? 0 : a.i;
        return true;
    case IND_OP_SQRT: out->f = graph__round_to_dtype(t, sqrt(a.f)); return true;
    case IND_OP_RECIPROCAL: out->f = graph__round_to_dtype(t, 1 / a.f); return true;
    default: return false;
    }
}

/* Only ops whose result every device rounds alike: exp and its kin are left to the device. */
static bool graph__fold_value(const ind_graph *g, const ind__node *n, ind_dtype result, graph__typed_number *out) {
    graph__typed_number x[3];
    if (n->num_operands == 0 || n->num_operands > 3) return false;
    for (uint32_t k = 0; k < n->num_operands; k++) {
        if (n->operand[k] == 0 || !graph__uniform_of(g, n->operand[k], &x[k])) return false;
    }
    if (ind__op_has(n->op, 'V')) return graph__typed_number_cast(x[0], result, out);
    if (n->op == IND_OP_WHERE) return graph__typed_number_cast(x[0].i != 0 || x[0].f != 0 ? x[1] : x[2], result, out);
    if (!ind__op_has(n->op, 'P') || n->op == IND_OP_CUSTOM || n->op == IND_OP_CAT) return false;
    ind_dtype t =
        ind_dtype_compute(ind__op_has(n->op, 'B') ? ind__result_type(g, n->operand, n->num_operands) : result);
    if (n->op == IND_OP_CAST) t = result;
    if (t == IND_BOOL && n->op != IND_OP_CAST) return false;
    for (uint32_t k = 0; k < n->num_operands; k++) {
        if (!graph__typed_number_cast(x[k], t, &x[k])) return false;
    }
    graph__typed_number v = {t, 0, 0}, alpha;
    if (n->num_operands == 1) return graph__fold_unary(n->op, t, x[0], &v) && graph__typed_number_cast(v, result, out);
    if (ind__op_has(n->op, 'B')) return graph__fold_compare(n->op, x[0], x[1], out);
    if (n->op == IND_OP_ADD || n->op == IND_OP_SUB) {
        if (!graph__typed_number_cast(graph__typed_number_of(&n->attr[0]), t, &alpha)) return false;
        graph__fold_binary(IND_OP_MUL, t, x[1], alpha, &x[1]);
    }
    return graph__fold_binary(n->op, t, x[0], x[1], &v) && graph__typed_number_cast(v, result, out);
}

static uint32_t graph__rewrite_add(graph__rewrite *r, const ind__node *n);

/* Arithmetic and views of uniform tensors become one full(). (TorchInductor's constant_fold_uniform_value.) */
static uint32_t graph__pass_fold(graph__rewrite *r, const ind__node *n) {
    const ind__tensor_info *result = &r->from->tensor[n->result];
    graph__typed_number v;
    if (n->num_results != 1 || !graph__fold_value(r->to, n, result->dtype, &v)) return 0;
    ind__attr attr[3] = {{.kind = IND__ATTR_SIZES, .list = result->size, .count = result->rank},
                         {.kind = IND__ATTR_SCALAR, .is_int = !ind_dtype_is_float(v.dtype), .i = v.i, .f = v.f},
                         {.kind = IND__ATTR_DTYPE, .i = result->dtype}};
    ind__node full = {.op = IND_OP_FULL, .attr = attr, .num_attrs = 3, .result = n->result, .num_results = 1};
    full.file = n->file;
    full.line = n->line;
    return graph__rewrite_add(r, &full);
}

/* ---- NOOP ---- */

/* A cast to `wide` and back loses nothing. */
static bool graph__lossless(ind_dtype narrow, ind_dtype wide) {
    if (ind_dtype_is_float(narrow) && !ind_dtype_is_float(wide)) return false;
    if (ind_dtype_is_integer(narrow) && ind_dtype_is_float(wide)) {
        return wide == IND_F64 ? ind_dtype_bytes(narrow) <= 4 : wide == IND_F32 && ind_dtype_bytes(narrow) <= 2;
    }
    return narrow == IND_BOOL || ind_dtype_promote(narrow, wide) == wide;
}

/* Where dimension d of the result of a permute or transpose comes from. */
static int graph__permuted_dim(const ind__node *n, int rank, int d) {
    int64_t v[2] = {0, 0};
    if (n->op == IND_OP_PERMUTE) {
        (void)ind_expr_is_int(n->attr[0].list[d], &v[0]);
        return (int)(v[0] < 0 ? v[0] + rank : v[0]);
    }
    for (int k = 0; k < 2; k++) v[k] = n->attr[k].i < 0 ? n->attr[k].i + rank : n->attr[k].i;
    return (int)(d == v[0] ? v[1] : d == v[1] ? v[0] : d);
}

static bool graph__is_permute_op(const ind__node *n) {
    return n->op == IND_OP_PERMUTE || n->op == IND_OP_TRANSPOSE;
}

/* x, if n or n over another permutation puts every dimension back where it was. */
static uint32_t graph__unpermuted(const graph__rewrite *r, const ind__node *n) {
    const ind__node *inner = graph__producer_of(r->to, n->operand[0]);
    int rank = r->from->tensor[n->result].rank;
    bool alone = true, pair = graph__is_permute_op(inner);
    for (int d = 0; d < rank; d++) {
        int from = graph__permuted_dim(n, rank, d);
        alone = alone && from == d;
        pair = pair && graph__permuted_dim(inner, rank, from) == d;
    }
    return alone ? n->operand[0] : pair ? inner->operand[0] : 0;
}

/* Reshapes in a row depend on the first input and the last shape alone: the earliest input that already has it. */
static uint32_t graph__unreshaped(const graph__rewrite *r, const ind__node *n) {
    const ind__tensor_info *result = &r->from->tensor[n->result];
    uint32_t x = n->operand[0];
    for (int depth = 0; depth < IND_MAX_RANK; depth++) {
        if (graph__same_shape(&r->to->tensor[x], result)) return x;
        const ind__node *inner = graph__producer_of(r->to, x);
        if (inner->op != IND_OP_VIEW && inner->op != IND_OP_UNSQUEEZE && inner->op != IND_OP_SQUEEZE) return 0;
        x = inner->operand[0];
    }
    return 0;
}

static uint32_t graph__same_as_inner(const graph__rewrite *r, const ind__node *n) {
    const ind__node *inner = graph__producer_of(r->to, n->operand[0]);
    if (n->op == IND_OP_NEG) return inner->op == IND_OP_NEG ? inner->operand[0] : 0;
    if (n->op == IND_OP_RELU) return inner->op == IND_OP_RELU ? n->operand[0] : 0;
    if (inner->op != IND_OP_CAST) return n->operand[0];
    uint32_t x = inner->operand[0];
    bool back = graph__lossless(r->to->tensor[x].dtype, r->to->tensor[n->operand[0]].dtype);
    return back && r->to->tensor[x].dtype == (ind_dtype)n->attr[0].i ? x : n->operand[0];
}

/* The operand that n may be replaced by, if its dtype and shape are the result's; 0: none. */
static uint32_t graph__noop_candidate(const graph__rewrite *r, const ind__node *n) {
    const ind_graph *g = r->to;
    uint32_t a = n->num_operands > 0 ? n->operand[0] : 0, b = n->num_operands > 1 ? n->operand[1] : 0;
    graph__typed_number condition;
    switch (n->op) {
    case IND_OP_ADD:
        return graph__uniform_is(g, b, 0)                                             ? a
               : graph__uniform_is(g, a, 0) && n->attr[0].is_int && n->attr[0].i == 1 ? b
                                                                                      : 0;
    case IND_OP_SUB: return graph__uniform_is(g, b, 0) ? a : 0;
    case IND_OP_MUL: return graph__uniform_is(g, b, 1) ? a : graph__uniform_is(g, a, 1) ? b : 0;
    case IND_OP_DIV:
    case IND_OP_POW: return graph__uniform_is(g, b, 1) ? a : 0;
    case IND_OP_MAXIMUM:
    case IND_OP_MINIMUM: return a == b ? a : 0;
    case IND_OP_WHERE:
        if (b == n->operand[2]) return b;
        if (!graph__uniform_of(g, a, &condition)) return 0;
        return condition.i != 0 || condition.f != 0 ? b : n->operand[2];
    case IND_OP_NEG:
    case IND_OP_RELU:
    case IND_OP_CAST: return graph__same_as_inner(r, n);
    case IND_OP_PERMUTE:
    case IND_OP_TRANSPOSE: return graph__unpermuted(r, n);
    case IND_OP_VIEW:
    case IND_OP_UNSQUEEZE:
    case IND_OP_SQUEEZE: return graph__unreshaped(r, n);
    case IND_OP_SLICE: /* the same size can only be the full range */
    case IND_OP_EXPAND: return a;
    case IND_OP_CAT: return n->num_operands == 1 ? a : 0;
    default: return 0;
    }
}

/* x + 0, x - 0, x * 1, x / 1, x ** 1, --x, relu(relu(x)), where with a constant condition or equal branches, casts and
   views that change nothing. A Python number never stands for a tensor: it would promote differently. */
static uint32_t graph__pass_noop(graph__rewrite *r, const ind__node *n) {
    uint32_t x = graph__noop_candidate(r, n);
    if (x == 0) return 0;
    const ind__tensor_info *have = &r->to->tensor[x], *want = &r->from->tensor[n->result];
    return !have->weak && have->dtype == want->dtype && graph__same_shape(have, want) ? x : 0;
}

/* ---- CSE ---- */

static uint64_t graph__attr_hash(const ind__attr *a, uint64_t h) {
    struct {
        int64_t kind, is_int, i, count, e;
        double f;
    } key = {a->kind, a->is_int, a->i, a->count, a->e.id, a->f};
    h = ind__hash(&key, sizeof key, h);
    if (a->s) h = ind__hash(a->s, strlen(a->s), h);
    for (int k = 0; k < a->count; k++) h = ind__hash(&a->list[k].id, sizeof a->list[k].id, h);
    return h;
}

static bool graph__attr_equal(const ind__attr *a, const ind__attr *b) {
    if (a->kind != b->kind || a->is_int != b->is_int || a->i != b->i || a->count != b->count || a->e.id != b->e.id)
        return false;
    if (memcmp(&a->f, &b->f, sizeof a->f) != 0 || (a->s == NULL) != (b->s == NULL)) return false;
    if (a->s && strcmp(a->s, b->s) != 0) return false;
    for (int k = 0; k < a->count; k++) {
        if (a->list[k].id != b->list[k].id) return false;
    }
    return true;
}

static uint64_t graph__node_hash(const ind__node *n) {
    uint64_t h = ind__hash(n->operand, n->num_operands * sizeof *n->operand, (uint64_t)n->op);
    for (uint32_t k = 0; k < n->num_attrs; k++) h = graph__attr_hash(&n->attr[k], h);
    return h;
}

static bool graph__node_equal(const ind__node *a, const ind__node *b) {
    if (a->op != b->op || a->num_operands != b->num_operands || a->num_attrs != b->num_attrs) return false;
    if (a->num_operands && memcmp(a->operand, b->operand, a->num_operands * sizeof *a->operand) != 0) return false;
    for (uint32_t k = 0; k < a->num_attrs; k++) {
        if (!graph__attr_equal(&a->attr[k], &b->attr[k])) return false;
    }
    return true;
}

static bool graph__mergeable(ind_graph_op op) {
    return op != IND_OP_INPUT && op != IND_OP_CONST && op != IND_OP_CUSTOM;
}

/* The slot that holds an equal node of r->to, or the free one where it would go. */
static uint32_t *graph__seen_slot(graph__rewrite *r, const ind__node *n) {
    uint32_t at = (uint32_t)graph__node_hash(n) & (r->seen_size - 1);
    while (r->seen[at] && !graph__node_equal(&r->to->node[r->seen[at]], n)) at = (at + 1) & (r->seen_size - 1);
    return &r->seen[at];
}

/* Same op, same operands, same attributes: one result. */
static uint32_t graph__pass_cse(graph__rewrite *r, const ind__node *n) {
    if (!graph__mergeable(n->op)) return 0;
    uint32_t node = *graph__seen_slot(r, n);
    return node ? r->to->node[node].result : 0;
}

/* ---- rounds ---- */

static const graph__pass_fn graph__pass_table[IND_NUM_PASSES] = {
    [IND_PASS_DCE] = NULL, /* chooses the nodes: mark_live_nodes */
    [IND_PASS_FOLD] = graph__pass_fold,
    [IND_PASS_NOOP] = graph__pass_noop,
    [IND_PASS_CSE] = graph__pass_cse,
};

/* Dead code: what no output needs. Inputs and constants are part of the graph's signature and always stay. */
static void graph__mark_live_nodes(graph__rewrite *r) {
    const ind_graph *g = r->from;
    bool all = !(r->enabled >> IND_PASS_DCE & 1);
    for (uint32_t i = 0; i < g->num_outputs; i++) r->live[g->tensor[g->output[i].tensor].node] = true;
    for (uint32_t i = 0; i < g->num_mutations; i++) r->live[g->tensor[g->mutation[i].value].node] = true;
    for (uint32_t i = g->num_nodes; i-- > 1;) {
        const ind__node *n = &g->node[i];
        r->live[i] = r->live[i] || all || n->op == IND_OP_INPUT || n->op == IND_OP_CONST;
        r->changed = r->changed || !r->live[i];
        for (uint32_t k = 0; r->live[i] && k < n->num_operands; k++) {
            if (n->operand[k]) r->live[g->tensor[n->operand[k]].node] = true;
        }
    }
}

static ind_body *graph__body_clone(ind_context *c, const ind_body *b) {
    ind_body *copy = ind__alloc(c, sizeof *copy);
    if (!copy) return NULL;
    *copy = *b;
    copy->inst = ind__alloc(c, (b->cap_inst ? b->cap_inst : 1) * sizeof *b->inst);
    copy->index = ind__alloc(c, (b->cap_index ? b->cap_index : 1) * sizeof *b->index);
    if (!copy->inst || !copy->index) {
        ind__body_free(copy);
        return NULL;
    }
    if (b->num_inst) memcpy(copy->inst, b->inst, b->num_inst * sizeof *b->inst);
    if (b->num_index) memcpy(copy->index, b->index, b->num_index * sizeof *b->index);
    return copy;
}

/* Adds n to r->to under the names and the position it has in r->from. Returns its first result, 0 on failure. */
static uint32_t graph__rewrite_add(graph__rewrite *r, const ind__node *n) {
    ind_tensor made;
    ind_body *body = NULL;
    if (n->body && !(body = graph__body_clone(r->to->context, n->body))) return 0;
    ind_here(r->to, n->file, n->line);
    const ind__tensor_info *x = &r->from->tensor[n->result];
    if (n->op == IND_OP_INPUT || n->op == IND_OP_CONST) {
        made = ind__graph_source(r->to, n->op, x->name, x->dtype, x->size, x->rank);
    } else {
        made = ind__graph_add(r->to, n->op, n->operand, n->num_operands, n->attr, n->num_attrs, body, n->name);
        for (uint32_t k = 0; made.id && n->op != IND_OP_SCALAR && k < n->num_results; k++) {
            ind_named((ind_tensor){r->to, made.id + k}, x[k].name);
        }
    }
    if (made.id && graph__mergeable(n->op)) {
        uint32_t node = r->to->tensor[made.id].node;
        *graph__seen_slot(r, &r->to->node[node]) = node;
    }
    return made.id;
}

static uint32_t graph__rewrite_node(graph__rewrite *r, const ind__node *n) {
    for (int p = 0; p < IND_NUM_PASSES; p++) {
        uint32_t x = graph__pass_table[p] && (r->enabled >> p & 1) ? graph__pass_table[p](r, n) : 0;
        if (x) {
            r->changed = true;
            return x;
        }
    }
    return graph__rewrite_add(r, n);
}

static ind_status graph__rewrite_status(const graph__rewrite *r) {
    ind_status status = ind_graph_status(r->to);
    return status ? status : ind__failed(r->to->context);
}

static bool graph__borrow_facts(ind_graph *to, const ind_graph *from) {
    ind_facts_destroy(to->facts);
    to->facts = from->facts;
    to->facts_borrowed = true;
    for (uint32_t i = 0; i < from->num_conditions; i++) {
        ind__condition *c =
            IND__PUSH(to->context, ind__condition, to->condition, to->num_conditions, to->cap_conditions);
        if (!c) return false;
        *c = from->condition[i];
    }
    return true;
}

static ind_status graph__copy_nodes(graph__rewrite *r, uint32_t *operands) {
    const ind_graph *g = r->from;
    for (uint32_t i = 0; i < g->num_sizes; i++) {
        ind_status status = ind__graph_declare(r->to, g->size_symbol[i]);
        if (status) return status;
    }
    if (!graph__borrow_facts(r->to, g)) return ind__failed(g->context);
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        ind__node n = g->node[i];
        if (!r->live[i]) continue;
        for (uint32_t k = 0; k < n.num_operands; k++) operands[k] = r->map[n.operand[k]];
        n.operand = operands;
        uint32_t x = graph__rewrite_node(r, &n);
        if (!x) return graph__rewrite_status(r);
        for (uint32_t k = 0; k < n.num_results; k++) r->map[n.result + k] = x + k;
    }
    for (uint32_t i = 0; i < g->num_outputs; i++) {
        ind_status status = ind_output(r->to, g->output[i].name, (ind_tensor){r->to, r->map[g->output[i].tensor]});
        if (status) return status;
    }
    for (uint32_t i = 0; i < g->num_mutations; i++) {
        const struct ind__mutation *m = &g->mutation[i];
        ind_status status = ind_mutate((ind_tensor){r->to, r->map[m->input]}, (ind_tensor){r->to, r->map[m->value]});
        if (status) return status;
    }
    return IND_OK;
}

/* One round: *out is a rewritten copy of g. */
static ind_status graph__rewrite_round(const ind_graph *g, uint32_t enabled, ind_graph **out, bool *changed) {
    ind_context *c = g->context;
    graph__rewrite r = {.from = g, .enabled = enabled, .seen_size = 64};
    uint32_t most = 1;
    for (uint32_t i = 1; i < g->num_nodes; i++) most = g->node[i].num_operands > most ? g->node[i].num_operands : most;
    while (r.seen_size < 2 * (uint64_t)g->num_nodes && r.seen_size < UINT32_MAX / 4) r.seen_size *= 2;
    uint32_t *operands = ind__alloc(c, most * sizeof *operands);
    r.map = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *r.map);
    r.live = ind__alloc(c, (g->num_nodes + (size_t)1) * sizeof *r.live);
    r.seen = ind__alloc(c, r.seen_size * sizeof *r.seen);
    r.to = operands && r.map && r.live && r.seen ? ind_graph_create(c, g->name) : NULL;
    ind_status status = r.to ? IND_OK : ind__failed(c);
    if (status == IND_OK) {
        graph__mark_live_nodes(&r);
        status = graph__copy_nodes(&r, operands);
    }
    if (status) {
        ind_graph_destroy(r.to);
        r.to = NULL;
    }
    ind__free(c, operands);
    ind__free(c, r.map);
    ind__free(c, r.live);
    ind__free(c, r.seen);
    *out = r.to;
    *changed = r.changed;
    return status;
}

ind_status ind__graph_optimise(const ind_graph *g, uint32_t disabled_passes, ind_graph **out) {
    bool changed;
    ind_graph *next = NULL;
    *out = NULL;
    ind_status status = graph__rewrite_round(g, ~disabled_passes, out, &changed);
    for (int round = 1; status == IND_OK && changed && round < IND__MAX_ROUNDS; round++) {
        status = graph__rewrite_round(*out, ~disabled_passes, &next, &changed);
        ind_graph_destroy(*out);
        *out = next;
    }
    return status;
}

/* --------------------------------------------------------------------------------------------- >>lowerings */

/* One row per graph op says how it becomes loops over boxes: the function that lowers it, and for pointwise ops the
   loop function or even just the loop op, with the one that stands in for it on bools.

   Two kinds of types: a tensor has the dtype of the graph; inside a loop a value has a compute type (f32 for f16 and
   bf16). Every operand is cast to the compute type of its op first, which is the whole of type promotion. An f16 or
   bf16 result that stays inside a kernel is not rounded in between (as in TorchInductor); an explicit cast rounds. */

typedef struct graph__lower_walk {
    const ind_graph *graph;
    ind__lowered *program;
    ind__box **box;         /* by tensor */
    uint32_t *users;        /* by tensor: how often later ops read it */
    uint32_t *first_output; /* by tensor: 1 + first position among the graph's outputs, 0: none */
    uint32_t *next_output;  /* by output: 1 + the next position of the same tensor */
    uint32_t *last_user;    /* by tensor: last node that reads it; UINT32_MAX: an input becomes it after the run */
} graph__lower_walk;

typedef struct graph__lower_ctx graph__lower_ctx;
typedef ind_value (*graph__lower_element_fn)(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l);
typedef void (*graph__lower_scatter_fn)(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l);
typedef ind_status (*graph__lower_fn)(graph__lower_ctx *l, ind__box **results);

typedef struct graph__lowering_row {
    graph__lower_fn lower;
    graph__lower_element_fn element;
    ind_loop_op op, bool_op;
} graph__lowering_row;

/* The node being lowered: what its loop functions are given. */
struct graph__lower_ctx {
    const graph__lower_walk *w;
    ind_context *context;
    const ind__node *node;
    const graph__lowering_row *row;
    const ind__tensor_info *result;  /* of the first result */
    ind_dtype compute;               /* type the operands are cast to */
    graph__lower_element_fn element; /* of the pointwise loop or the reduction being recorded */
    ind__box *part[2];               /* results of an earlier loop of this node */
    graph__lower_scatter_fn scatter; /* of the scatter being recorded */
    ind_reduction mode;              /* .. how its values join what is there */
    double number;                   /* of graph__number_element, for floats and for the others */
    int64_t number_int;
    struct { /* dimensions of operand 0 of a reduction */
        int rank;
        int kept[IND_MAX_RANK], num_kept, reduced[IND_MAX_RANK], num_reduced;
        ind_expr size[IND_MAX_RANK], range[IND_MAX_RANK]; /* of the kept and of the reduced ones */
        ind_expr count;                                   /* elements that one result is made of */
    } axes;
    struct { /* matrix product: out[batch.., m, n] += a[.., m, k] * b[.., k, n] */
        ind__box *a, *b;
        bool has_m, has_n, transposed; /* transposed: b is [n, k] */
        ind_expr size[IND_MAX_RANK];
        int rank, batch;
    } product;
};

static const ind__tensor_info *graph__lower_operand_info(const graph__lower_ctx *l, uint32_t k) {
    return &l->w->graph->tensor[l->node->operand[k]];
}

static bool graph__lower_has_operand(const graph__lower_ctx *l, uint32_t k) {
    return k < l->node->num_operands && l->node->operand[k] != 0;
}

static ind__box *graph__lower_operand_box(const graph__lower_ctx *l, uint32_t k) {
    return l->w->box[l->node->operand[k]];
}

static bool graph__size_is_one(ind_expr size) {
    return ind_known_eq(size, ind_int(size.context, 1));
}

static bool graph__size_is_zero(ind_expr size) {
    return ind_known_eq(size, ind_int(size.context, 0));
}

static ind_value graph__lower_cast(ind_ops *o, ind_value v, ind_dtype dtype) {
    return v.id && ind_op_dtype(o, v) != dtype ? ind_op_cast(o, v, dtype) : v;
}

static ind_value graph__lower_number(ind_ops *o, graph__typed_number x, ind_dtype dtype) {
    if (!graph__typed_number_cast(x, dtype, &x)) {
        ind__fail(ind_op_context(o), IND_OUT_OF_RANGE, "a number does not fit in %s", ind_dtype_name(dtype));
        return (ind_value){0};
    }
    ind_dtype compute = ind_dtype_compute(dtype);
    return ind_dtype_is_float(dtype) ? ind_op_constant(o, x.f, compute) : ind_op_constant_int(o, x.i, compute);
}

/* Element of a box of `rank` dimensions under broadcasting: missing leading dimensions, and index 0 where the size
 * is 1. */
static ind_value graph__lower_load_broadcast(ind_ops *o, const ind__box *x, const ind_expr *index, int rank) {
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        at[d] = graph__size_is_one(x->size[d]) ? ind_int(ind_op_context(o), 0) : index[rank - x->rank + d];
    }
    return ind__box_load(o, x, at, x->rank);
}

/* Operand k at an index of the result, in `dtype`. A Python number is a constant of that type, unrounded until then. */
static ind_value graph__lower_operand_as(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                         int rank, ind_dtype dtype) {
    const ind__node *from = &l->w->graph->node[graph__lower_operand_info(l, k)->node];
    if (from->op == IND_OP_SCALAR) return graph__lower_number(o, graph__typed_number_of(&from->attr[0]), dtype);
    return graph__lower_cast(o, graph__lower_load_broadcast(o, graph__lower_operand_box(l, k), index, rank), dtype);
}

static ind_value graph__lower_operand(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                      int rank) {
    return graph__lower_operand_as(o, l, k, index, rank, l->compute);
}

static ind_value graph__lower_float(ind_ops *o, const graph__lower_ctx *l, double v) {
    return ind_op_constant(o, v, l->compute);
}

static ind_value graph__lower_scaled(ind_ops *o, const graph__lower_ctx *l, ind_value x, const ind__attr *factor) {
    graph__typed_number f = graph__typed_number_of(factor);
    return f.i == 1 || f.f == 1 ? x : ind_op_mul(o, x, graph__lower_number(o, f, l->compute));
}

/* ---- pointwise ---- */

static ind_value graph__lower_run_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    return l->element(o, index, rank, l);
}

static ind_status graph__lower_loop(graph__lower_ctx *l, ind_dtype dtype, const ind_expr *size, int rank,
                                    graph__lower_element_fn element, ind__box **out) {
    l->element = element;
    *out = ind__box_pointwise(l->w->program, dtype, size, rank, graph__lower_run_element, l);
    return *out ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_pointwise(graph__lower_ctx *l, ind__box **results) {
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, l->row->element, results);
}

/* Comparisons compute in the common type of their operands; bools compare as numbers. */
static ind_status graph__lower_compare(graph__lower_ctx *l, ind__box **results) {
    l->compute = ind_dtype_compute(ind__result_type(l->w->graph, l->node->operand, l->node->num_operands));
    if (l->compute == IND_BOOL) l->compute = IND_U8;
    return graph__lower_pointwise(l, results);
}

static ind_value graph__lower_unary(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind__emit1(o, l->row->op, graph__lower_operand(o, l, 0, index, rank));
}

static ind_value graph__lower_binary(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    return ind__emit2(o, l->compute == IND_BOOL ? l->row->bool_op : l->row->op, a, b);
}

/* self + alpha * other, and the same with minus. */
static ind_value graph__lower_add(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    if (l->compute == IND_BOOL) return ind__emit2(o, l->row->bool_op, a, b);
    graph__typed_number alpha = graph__typed_number_of(&l->node->attr[0]);
    if (alpha.i != 1 && alpha.f != 1) b = ind_op_mul(o, b, graph__lower_number(o, alpha, l->compute));
    return ind__emit2(o, l->row->op, a, b);
}

/* The exponents that PyTorch's pow_tensor_scalar treats apart, on every device. */
static ind_value graph__pow_special(ind_ops *o, ind_value x, double exponent) {
    ind_value square = ind_op_mul(o, x, x);
    if (exponent == 2) return square;
    if (exponent == 3) return ind_op_mul(o, square, x);
    if (exponent == -2) return ind_op_reciprocal(o, square);
    if (exponent == 0.5) return ind_op_sqrt(o, x);
    if (exponent == -0.5) return ind_op_rsqrt(o, x);
    return ind_op_reciprocal(o, x);
}

static ind_value graph__lower_pow(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    static const double special[] = {2, 3, -2, 0.5, -0.5, -1};
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    const ind__node *from = &l->w->graph->node[graph__lower_operand_info(l, 1)->node];
    if (from->op == IND_OP_SCALAR && ind_dtype_is_float(l->compute)) {
        graph__typed_number e = graph__typed_number_of(&from->attr[0]);
        for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
            if (e.f + (double)e.i == special[i]) return graph__pow_special(o, x, special[i]);
        }
    }
    return ind_op_pow(o, x, graph__lower_operand(o, l, 1, index, rank));
}

/* maximum(x, 0), which keeps NaN as torch.relu does. */
static ind_value graph__lower_relu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_maximum(o, x, graph__lower_number(o, (graph__typed_number){IND_I64, 0, 0}, l->compute));
}

/* erf: x/2 (1 + erf(x / sqrt 2)); tanh: x/2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016). */
static ind_value graph__lower_gelu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const char *form = l->node->attr[0].s;
    ind_value x = graph__lower_operand(o, l, 0, index, rank), t;
    if (form && strcmp(form, "tanh") == 0) {
        ind_value cube = ind_op_mul(o, ind_op_mul(o, x, x), x);
        t = ind_op_add(o, x, ind_op_mul(o, graph__lower_float(o, l, 0.044715), cube));
        t = ind_op_tanh(o, ind_op_mul(o, graph__lower_float(o, l, 0.79788456080286535588), t));
    } else {
        t = ind_op_erf(o, ind_op_mul(o, x, graph__lower_float(o, l, 0.70710678118654752440)));
    }
    return ind_op_mul(o, ind_op_mul(o, graph__lower_float(o, l, 0.5), x),
                      ind_op_add(o, graph__lower_float(o, l, 1), t));
}

static ind_value graph__lower_silu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_mul(o, x, ind_op_sigmoid(o, x));
}

static ind_value graph__lower_where(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value condition = graph__lower_operand_as(o, l, 0, index, rank, IND_BOOL);
    return ind_op_where(o, condition, graph__lower_operand(o, l, 1, index, rank),
                        graph__lower_operand(o, l, 2, index, rank));
}

static ind_value graph__lower_cast_op(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__node *from = &l->w->graph->node[graph__lower_operand_info(l, 0)->node];
    if (from->op == IND_OP_SCALAR)
        return graph__lower_number(o, graph__typed_number_of(&from->attr[0]), l->result->dtype);
    return ind_op_cast(o, graph__lower_load_broadcast(o, graph__lower_operand_box(l, 0), index, rank),
                       l->result->dtype);
}

static ind_value graph__lower_full(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)index, (void)rank;
    const ind__attr *value = &l->node->attr[l->node->op == IND_OP_FULL ? 1 : 0];
    return graph__lower_number(o, graph__typed_number_of(value), l->result->dtype);
}

static ind_value graph__lower_arange(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank;
    ind_expr at = ind_expr_add(l->node->attr[0].e, ind_expr_mul(index[0], l->node->attr[2].e));
    return graph__lower_cast(o, ind_op_index(o, at, IND_I64), l->compute);
}

/* ---- cat ---- */

/* Input k of a cat, which begins at `start` of the result. */
static ind_value graph__cat_element(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index, int rank,
                                    int dim, ind_expr start) {
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    at[dim] = ind_expr_sub(index[dim], start);
    return graph__lower_operand(o, l, k, at, rank);
}

/* From the last input to the first: where(i is in input k, input k, what comes after it). Each input is read only where
   it is the one, so the loads are masked; inputs without elements along the dimension take no part. */
static ind_value graph__lower_cat(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    ind_expr end = l->result->size[dim];
    ind_value v = {0}, outer = o->mask;
    for (uint32_t k = l->node->num_operands; k-- > 0;) {
        const ind__tensor_info *x = graph__lower_operand_info(l, k);
        if (graph__size_is_zero(x->size[dim])) continue;
        ind_expr start = ind_expr_sub(end, x->size[dim]);
        ind_expr inside = ind_expr_and(ind_expr_le(start, index[dim]), ind_expr_lt(index[dim], end));
        ind_value mask = ind_op_index(o, inside, IND_BOOL);
        o->mask = ind_known_true(inside) ? outer : outer.id ? ind_op_and(o, outer, mask) : mask;
        ind_value here = graph__cat_element(o, l, k, index, rank, dim, start);
        o->mask = outer;
        v = v.id ? ind_op_where(o, mask, here, v) : here;
        end = start;
    }
    return v.id ? v : graph__lower_number(o, (graph__typed_number){IND_I64, 0, 0}, l->compute);
}

/* ---- custom ops ---- */

static ind_value graph__custom_load(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    const graph__lower_ctx *l = user;
    return ind__box_load(o, graph__lower_operand_box(l, inst->source), index, (int)inst->num_index);
}

static ind_value graph__lower_custom(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank;
    ind__replay replay = {.body = l->node->body, .var = index, .load = graph__custom_load, .user = l};
    return graph__lower_cast(o, ind__body_replay(o, &replay), l->compute);
}

/* ---- gathers ---- */

/* The value of index tensor k as a checked index into dimension d of operand x; negative ones are errors, as in
 * PyTorch. */
static ind_expr graph__lower_indirect(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                      int rank, uint32_t x, int d) {
    ind_value v = graph__lower_operand_as(o, l, k, index, rank, IND_I64);
    return ind_op_indirect(o, v, graph__lower_operand_info(l, x)->size[d], false);
}

static ind_value graph__lower_box_element(ind_ops *o, const ind_expr *index, int rank, void *box) {
    return ind__box_load(o, (const ind__box *)box, index, rank);
}

/* The element of operand 0 at indices read from memory. A table that may be empty must not be read when it is: every
   index is out of range then, and its check says so. */
static ind_value graph__lower_gathered(ind_ops *o, graph__lower_ctx *l, const ind_expr *at, int rank, int dim) {
    ind__box *box = graph__lower_operand_box(l, 0);
    ind_expr some = ind_expr_lt(ind_int(l->context, 0), graph__lower_operand_info(l, 0)->size[dim]);
    if (ind_known_true(some)) return ind__box_load(o, box, at, rank);
    return ind_op_masked(o, ind_op_index(o, some, IND_BOOL), graph__lower_box_element, at, rank, box, 0);
}

/* weight[indices] */
static ind_value graph__lower_embedding(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[2] = {graph__lower_indirect(o, l, 1, index, rank - 1, 0, 0), index[rank - 1]};
    return graph__lower_cast(o, graph__lower_gathered(o, l, at, 2, 0), l->compute);
}

/* gather: self[.., index[i..], ..]; index_select: self[.., index[i_dim], ..] */
static ind_value graph__lower_gather(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    bool select = l->node->op == IND_OP_INDEX_SELECT;
    ind_expr at[IND_MAX_RANK] = {{0}};
    for (int d = 0; d < rank; d++) at[d] = index[d];
    if (rank > 0) at[dim] = graph__lower_indirect(o, l, 1, select ? index + dim : index, select ? 1 : rank, 0, dim);
    if (rank == 0) return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), at, 0), l->compute);
    return graph__lower_cast(o, graph__lower_gathered(o, l, at, rank, dim), l->compute);
}

/* Common shape of the index tensors from operand `first` on; they are known to broadcast. */
static void graph__index_shape(const graph__lower_ctx *l, uint32_t first, ind__shape *s) {
    for (uint32_t k = first; k < l->node->num_operands; k++) {
        if (!graph__lower_has_operand(l, k)) continue;
        const ind__tensor_info *t = graph__lower_operand_info(l, k);
        int grow = t->rank > s->rank ? t->rank - s->rank : 0;
        for (int d = s->rank; grow && d-- > 0;) s->size[d + grow] = s->size[d];
        for (int d = 0; d < grow; d++) s->size[d] = t->size[d];
        s->rank += grow;
        for (int d = 0; d < t->rank; d++) {
            ind_expr *size = &s->size[s->rank - t->rank + d];
            if (graph__size_is_one(*size)) *size = t->size[d];
        }
    }
}

/* Where x[indices] reads or stores for one index of its result. */
typedef struct graph__lower_indices {
    uint32_t first;            /* operand that indexes dimension 0 */
    bool scatter;              /* wants a mask */
    ind_expr at[IND_MAX_RANK]; /* in x */
    ind_value mask;            /* are all in range? 0: proven */
    ind_expr some;             /* no indexed dimension is empty */
} graph__lower_indices;

static ind_expr graph__lower_target(ind_ops *o, ind_value v, ind_expr size, bool wrap, ind_value *mask);

static void graph__lower_index_at(ind_ops *o, const ind_expr *index, const graph__lower_ctx *l,
                                  graph__lower_indices *p) {
    const ind__tensor_info *self = graph__lower_operand_info(l, 0);
    ind__indexing x = {.first = p->first};
    ind__shape s = {0};
    ind_expr zero = ind_int(l->context, 0);
    graph__index_shape(l, p->first, &s);
    x.num_broadcast = s.rank;
    ind__indexing_layout(l->node->operand, l->node->num_operands, self->rank, &x);
    p->some = ind_expr_lt(zero, ind_int(l->context, 1));
    for (int d = 0; d < self->rank; d++) {
        uint32_t k = p->first + (uint32_t)d;
        if (x.result_of[d] >= 0) {
            p->at[d] = index[x.result_of[d]];
            continue;
        }
        ind_value v = graph__lower_operand_as(o, l, k, index + x.at, s.rank, IND_I64);
        p->at[d] = p->scatter ? graph__lower_target(o, v, self->size[d], true, &p->mask)
                              : ind_op_indirect(o, v, self->size[d], true);
        p->some = ind_expr_and(p->some, ind_expr_lt(zero, self->size[d]));
    }
}

/* x[indices]: the element of operand 0 at result index `index`, with one index tensor per leading dimension or none. */
static ind_value graph__lower_index(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind__box *self = graph__lower_operand_box(l, 0);
    graph__lower_indices at = {.first = 1};
    (void)rank;
    graph__lower_index_at(o, index, l, &at);
    ind_value v = ind_known_true(at.some) ? ind__box_load(o, self, at.at, self->rank)
                                          : ind_op_masked(o, ind_op_index(o, at.some, IND_BOOL),
                                                          graph__lower_box_element, at.at, self->rank, self, 0);
    return graph__lower_cast(o, v, l->compute);
}

static ind_value graph__lower_take(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind__box *self = graph__lower_operand_box(l, 0);
    ind_expr numel = ind_expr_product(l->context, self->size, self->rank), at[IND_MAX_RANK];
    ind_value v = graph__lower_operand_as(o, l, 1, index, rank, IND_I64);
    ind__delinearise(l->context, ind_op_indirect(o, v, numel, true), self->size, self->rank, at);
    ind_expr some = ind_expr_lt(ind_int(l->context, 0), numel);
    if (ind_known_true(some)) return graph__lower_cast(o, ind__box_load(o, self, at, self->rank), l->compute);
    v = ind_op_masked(o, ind_op_index(o, some, IND_BOOL), graph__lower_box_element, at, self->rank, self, 0);
    return graph__lower_cast(o, v, l->compute);
}

/* ---- scatters: the buffer of operand 0, or a copy of it, is changed in place (>>realise, mutation) ---- */

/* Do both boxes show the same memory, or will they? */
static bool graph__same_memory(const ind__box *a, const ind__box *b) {
    return a && b && (a->storage == b->storage || (a->storage->buffer && a->storage->buffer == b->storage->buffer));
}

/* May what the box holds be given up for good: as its buffer belongs to the program, or to an input that is mutated? */
static bool graph__may_overwrite(const graph__lower_walk *w, const ind__box *x) {
    if (!x->identity) return false;
    if (!x->storage->buffer) return true;
    const ind__buffer *b = &w->program->buffer[x->storage->buffer];
    if (b->output || b->mutated_by || b->kind == IND__BUFFER_CONST) return false;
    if (b->kind == IND__BUFFER_COMPUTED) return true;
    uint32_t input = ind__find_tensor(w->graph, b->name, strlen(b->name));
    return ind__find_mutation(w->graph, input) != NULL;
}

/* Is operand 0 read by this op for the last time, and not as anything else? */
static bool graph__dies_here(const graph__lower_ctx *l, const ind__box *x) {
    const graph__lower_walk *w = l->w;
    const uint32_t here = (uint32_t)(l->node - w->graph->node);
    if (!graph__may_overwrite(w, x)) return false;
    for (uint32_t k = 1; k < l->node->num_operands; k++)
        if (graph__same_memory(x, graph__lower_operand_box(l, k))) return false;
    for (uint32_t t = 1; t < w->graph->num_tensors; t++)
        if (w->last_user[t] > here && graph__same_memory(x, w->box[t])) return false;
    return true;
}

/* A buffer with the values of operand 0 that this op may change. */
static ind__box *graph__lower_base(graph__lower_ctx *l) {
    ind__box *self = graph__lower_operand_box(l, 0);
    if (!graph__dies_here(l, self)) return ind__box_copy(l->w->program, self);
    return ind__box_realise(l->w->program, self) ? NULL : self;
}

static void graph__lower_run_scatter(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    graph__lower_ctx *l = user;
    l->scatter(o, index, rank, to, l);
}

/* fn over `size`, storing into base; *result is what it is then. */
static ind_status graph__lower_scatter_loop(graph__lower_ctx *l, ind__box *base, const ind_expr *size, int rank,
                                            graph__lower_scatter_fn fn, ind_reduction mode, ind__box **result) {
    ind__scatter_desc d = {.size = size, .rank = rank, .fn = graph__lower_run_scatter, .user = l};
    l->scatter = fn;
    l->mode = mode;
    return base ? ind__box_scatter(l->w->program, base, &d, result) : ind__failed(l->context);
}

/* An index into a dimension, read from memory, and in *mask whether it and those before are in range: what is not is
   reported, and stores nothing. */
static ind_expr graph__lower_target(ind_ops *o, ind_value v, ind_expr size, bool wrap, ind_value *mask) {
    v = graph__lower_cast(o, v, IND_I64);
    ind_expr at = ind_op_indirect(o, v, size, wrap);
    if (!ind__ok(at) || !ind__expr_has_kind(at, IND_SYMBOL_INDIRECT)) return at;
    ind_expr least = wrap ? ind_expr_sub(ind_int(size.context, 0), size) : ind_int(size.context, 0);
    ind_value inside = ind_op_and(o, ind_op_ge(o, v, ind_op_index(o, least, IND_I64)),
                                  ind_op_lt(o, v, ind_op_index(o, size, IND_I64)));
    *mask = mask->id ? ind_op_and(o, *mask, inside) : inside;
    return at;
}

/* scatter: self[.., index[i..], ..] from src[i..] or the value. */
static void graph__scatter_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    ind_value mask = {0}, v, target = graph__lower_operand_as(o, l, 1, index, rank, IND_I64);
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    ind_expr one = ind_int(l->context, 1);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr place = graph__lower_target(o, target, rank ? l->result->size[dim] : one, false, &mask);
    if (rank) at[dim] = place;
    if (l->part[0]) /* what the elements that are named start from, or are counted by */
        v = ind__box_load(o, l->part[0], NULL, 0);
    else if (graph__lower_has_operand(l, 2))
        v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), index, rank), l->compute);
    else
        v = graph__lower_number(o, graph__typed_number_of(&l->node->attr[1]), l->result->dtype);
    ind__emit_scatter(o, to, at, rank, v, mask, l->mode);
}

static ind_status graph__lower_scatter(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    return graph__lower_scatter_loop(l, graph__lower_base(l), index->size, index->rank, graph__scatter_element,
                                     l->node->op == IND_OP_SCATTER_ADD ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

/* A 0-d box with a number. */
static ind_value graph__number_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)index;
    (void)rank;
    bool is_float = ind_dtype_is_float(l->result->dtype);
    return is_float ? ind_op_constant(o, l->number, l->compute) : ind_op_constant_int(o, l->number_int, l->compute);
}

static ind_status graph__lower_number_box(graph__lower_ctx *l, double f, int64_t i, const ind_expr *size, int rank,
                                          ind__box **out) {
    l->number = f;
    l->number_int = i;
    return graph__lower_loop(l, l->result->dtype, size, rank, graph__number_element, out);
}

/* What a reduction of nothing is: sum 0, product 1, the ends of the type for extremes. */
static ind_status graph__lower_neutral(graph__lower_ctx *l, ind_reduction mode, ind__box **out) {
    ind_dtype d = l->result->dtype;
    int bits = d == IND_BOOL ? 1 : 8 * ind_dtype_bytes(d), is_signed = d != IND_BOOL && d != IND_U8;
    int64_t most = is_signed ? (int64_t)((uint64_t)-1 >> (65 - bits)) : ((int64_t)1 << bits) - 1;
    switch (mode) {
    case IND_REDUCE_SUM: return graph__lower_number_box(l, 0, 0, NULL, 0, out);
    case IND_REDUCE_PROD: return graph__lower_number_box(l, 1, 1, NULL, 0, out);
    case IND_REDUCE_MAX: return graph__lower_number_box(l, -INFINITY, is_signed ? -most - 1 : 0, NULL, 0, out);
    default: return graph__lower_number_box(l, INFINITY, most, NULL, 0, out);
    }
}

/* The elements of base that are named by the index, replaced by part[0] or combined with it. */
static ind_status graph__lower_each_named(graph__lower_ctx *l, ind__box **base, ind_reduction mode) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    ind__box *before = *base;
    return graph__lower_scatter_loop(l, before, index->size, index->rank, graph__scatter_element, mode, base);
}

/* part[0] / max(part[1], 1): a mean from a sum and a count. */
static ind_value graph__scatter_mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value sum = ind__box_load(o, l->part[0], index, rank), count = ind__box_load(o, l->part[1], index, rank);
    ind_value one = ind_op_constant(o, 1, ind_op_dtype(o, count));
    count = graph__lower_cast(o, ind_op_maximum(o, count, one), l->compute);
    if (ind_dtype_is_float(l->compute)) return ind_op_div(o, sum, count);
    ind_value quotient = ind_op_div(o, sum, count); /* PyTorch rounds this one down */
    ind_value rest = ind_op_sub(o, sum, ind_op_mul(o, quotient, count));
    ind_value down = ind_op_lt(o, rest, ind_op_constant_int(o, 0, l->compute));
    return ind_op_sub(o, quotient, graph__lower_cast(o, down, l->compute));
}

/* How many values each element is the mean of; counted in i64 whatever the type of the values. */
static ind_status graph__lower_count_named(graph__lower_ctx *l, int64_t first, ind__box **count) {
    const ind__tensor_info *counted = l->result;
    ind__tensor_info as_count = *counted;
    as_count.dtype = IND_I64;
    l->result = &as_count;
    l->compute = IND_I64;
    ind__box *start;
    ind_status status = graph__lower_number_box(l, 0, first, counted->size, counted->rank, &start);
    if (!status) status = graph__lower_number_box(l, 0, 1, NULL, 0, &l->part[0]);
    *count = status || ind__box_realise(l->w->program, start) ? NULL : start;
    status = *count ? graph__lower_each_named(l, count, IND_REDUCE_SUM) : ind__failed(l->context);
    l->result = counted;
    l->compute = ind_dtype_compute(counted->dtype);
    return status;
}

static ind_status graph__lower_scatter_reduce(graph__lower_ctx *l, ind__box **results) {
    const char *how = l->node->attr[1].s;
    bool include = l->node->attr[2].i, mean = !strcmp(how, "mean");
    ind_reduction mode = !strcmp(how, "prod")   ? IND_REDUCE_PROD
                         : !strcmp(how, "amax") ? IND_REDUCE_MAX
                         : !strcmp(how, "amin") ? IND_REDUCE_MIN
                                                : IND_REDUCE_SUM;
    ind__box *base = graph__lower_base(l);
    ind_status status = base ? IND_OK : ind__failed(l->context);
    if (!status && !include) status = graph__lower_neutral(l, mode, &l->part[0]);
    if (!status && !include) status = graph__lower_each_named(l, &base, IND_REDUCE_NONE);
    l->part[0] = NULL;
    if (!status) status = graph__lower_each_named(l, &base, mode);
    if (!status && !mean) results[0] = base;
    if (status || !mean) return status;
    status = graph__lower_count_named(l, include, &l->part[1]);
    l->part[0] = base;
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__scatter_mean_element,
                             results);
}

/* index_add, index_copy, index_fill: self[.., index[i_dim], ..] and source[i..]. */
static void graph__index_scatter_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to,
                                         graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    ind_value mask = {0}, v;
    const bool fill = l->node->op == IND_OP_INDEX_FILL;
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    ind_value target = graph__lower_operand_as(o, l, 1, rank ? index + dim : index, rank != 0, IND_I64);
    ind_expr one = ind_int(l->context, 1);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr place = graph__lower_target(o, target, rank ? l->result->size[dim] : one, fill, &mask);
    if (rank) at[dim] = place;
    if (fill)
        v = graph__lower_number(o, graph__typed_number_of(&l->node->attr[1]), l->result->dtype);
    else
        v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), index, rank), l->compute);
    if (l->node->op == IND_OP_INDEX_ADD) v = graph__lower_scaled(o, l, v, &l->node->attr[1]);
    ind__emit_scatter(o, to, at, rank, v, mask, l->mode);
}

static ind_status graph__lower_index_scatter(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    ind_expr size[IND_MAX_RANK];
    int rank = l->result->rank;
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + rank : l->node->attr[0].i);
    for (int d = 0; d < rank; d++) size[d] = l->result->size[d];
    if (rank) size[dim] = index->rank ? index->size[0] : ind_int(l->context, 1);
    return graph__lower_scatter_loop(l, graph__lower_base(l), size, rank, graph__index_scatter_element,
                                     l->node->op == IND_OP_INDEX_ADD ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

static void graph__index_put_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    graph__lower_indices at = {.first = 2, .scatter = true};
    graph__lower_index_at(o, index, l, &at);
    ind__emit_scatter(o, to, at.at, l->result->rank, graph__lower_operand(o, l, 1, index, rank), at.mask, l->mode);
}

/* self[mask] = value */
static ind_value graph__mask_put_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__box *value = graph__lower_operand_box(l, 1);
    ind_expr zero[IND_MAX_RANK];
    for (int d = 0; d < value->rank; d++) zero[d] = ind_int(l->context, 0);
    ind_value mask = ind__box_load(o, graph__lower_operand_box(l, 2), index, graph__lower_operand_info(l, 2)->rank);
    ind_value old = graph__lower_operand(o, l, 0, index, rank);
    ind_value v = graph__lower_cast(o, ind__box_load(o, value, zero, value->rank), l->compute);
    if (l->node->attr[0].i) v = l->compute == IND_BOOL ? ind_op_or(o, old, v) : ind_op_add(o, old, v);
    return ind_op_where(o, mask, v, old);
}

static ind_status graph__lower_index_put(graph__lower_ctx *l, ind__box **results) {
    ind__indexing x = {.first = 2};
    ind__shape s = {0};
    ind_expr size[IND_MAX_RANK];
    if (graph__lower_has_operand(l, 2) && graph__lower_operand_info(l, 2)->dtype == IND_BOOL)
        return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__mask_put_element,
                                 results);
    graph__index_shape(l, x.first, &s);
    x.num_broadcast = s.rank;
    ind__indexing_layout(l->node->operand, l->node->num_operands, l->result->rank, &x);
    for (int d = 0; d < s.rank; d++) size[x.at + d] = s.size[d];
    for (int d = 0; d < l->result->rank; d++)
        if (x.result_of[d] >= 0) size[x.result_of[d]] = l->result->size[d];
    return graph__lower_scatter_loop(l, graph__lower_base(l), size, x.rank, graph__index_put_element,
                                     l->node->attr[0].i ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

static void graph__put_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], numel = ind_expr_product(l->context, l->result->size, l->result->rank);
    ind_value mask = {0}, target = graph__lower_operand_as(o, l, 1, index, rank, IND_I64);
    ind_expr place = graph__lower_target(o, target, numel, true, &mask);
    ind__delinearise(l->context, place, l->result->size, l->result->rank, at);
    ind_value v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), index, rank), l->compute);
    ind__emit_scatter(o, to, at, l->result->rank, v, mask, l->mode);
}

static ind_status graph__lower_put(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    return graph__lower_scatter_loop(l, graph__lower_base(l), index->size, index->rank, graph__put_element,
                                     l->node->attr[0].i ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

/* ---- gradient of embedding: rows of zeros, to which every row of grad_output is added ---- */

/* The row of the weight that an index names; `mask` is false for padding. */
static ind_expr graph__embedding_row(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l,
                                     ind_value *mask) {
    const ind__attr *padding = &l->node->attr[1];
    ind_value target = graph__lower_operand_as(o, l, 1, index, rank, IND_I64);
    ind_expr row = graph__lower_target(o, target, l->node->attr[0].e, false, mask);
    if (padding->kind == IND__ATTR_NONE || padding->i < 0) return row;
    ind_value other = ind_op_ne(o, target, ind_op_constant_int(o, padding->i, IND_I64));
    *mask = mask->id ? ind_op_and(o, *mask, other) : other;
    return row;
}

static void graph__embedding_count_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to,
                                           graph__lower_ctx *l) {
    ind_value mask = {0};
    ind_expr row = graph__embedding_row(o, index, rank, l, &mask);
    ind__emit_scatter(o, to, &row, 1, ind_op_constant_int(o, 1, IND_I64), mask, l->mode);
}

static void graph__embedding_add_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to,
                                         graph__lower_ctx *l) {
    ind_value mask = {0};
    ind_expr at[2] = {graph__embedding_row(o, index, rank - 1, l, &mask), index[rank - 1]};
    ind_value v = graph__lower_operand(o, l, 0, index, rank);
    if (l->part[1]) v = ind_op_div(o, v, graph__lower_cast(o, ind__box_load(o, l->part[1], at, 1), l->compute));
    ind__emit_scatter(o, to, at, 2, v, mask, l->mode);
}

static ind_status graph__lower_zeros(graph__lower_ctx *l, ind_dtype dtype, const ind_expr *size, int rank,
                                     ind__box **out) {
    l->number = 0;
    l->number_int = 0;
    ind_status status = graph__lower_loop(l, dtype, size, rank, graph__number_element, out);
    return status ? status : ind__box_realise(l->w->program, *out);
}

static ind_status graph__lower_embedding_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *grad = graph__lower_operand_info(l, 0), *index = graph__lower_operand_info(l, 1);
    ind__box *base;
    ind_status status = IND_OK;
    if (l->node->attr[2].i) { /* scale_grad_by_freq */
        status = graph__lower_zeros(l, IND_I64, l->result->size, 1, &base);
        if (!status)
            status = graph__lower_scatter_loop(l, base, index->size, index->rank, graph__embedding_count_element,
                                               IND_REDUCE_SUM, &l->part[1]);
    }
    if (!status) status = graph__lower_zeros(l, l->result->dtype, l->result->size, 2, &base);
    if (status) return status;
    return graph__lower_scatter_loop(l, base, grad->size, grad->rank, graph__embedding_add_element, IND_REDUCE_SUM,
                                     results);
}

/* ---- views ---- */

/* Index d of the result of the view being built. */
static ind_expr graph__lower_view_index(const graph__lower_ctx *l, int d) {
    return ind__index_symbol(l->context, 'i', d, l->result->size[d]);
}

static ind_status graph__lower_make_view(graph__lower_ctx *l, const ind_expr *map, ind__box **results) {
    results[0] = ind__box_view(l->w->program, graph__lower_operand_box(l, 0), l->result->size, l->result->rank, map);
    return results[0] ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_view(graph__lower_ctx *l, ind__box **results) {
    results[0] = ind__box_reshape(l->w->program, graph__lower_operand_box(l, 0), l->result->size, l->result->rank);
    return results[0] ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_permute(graph__lower_ctx *l, ind__box **results) {
    ind_expr map[IND_MAX_RANK];
    int rank = l->result->rank;
    for (int d = 0; d < rank; d++) map[graph__permuted_dim(l->node, rank, d)] = graph__lower_view_index(l, d);
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_expand(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        map[d] = graph__size_is_one(x->size[d]) ? ind_int(l->context, 0)
                                                : graph__lower_view_index(l, l->result->rank - x->rank + d);
    }
    return graph__lower_make_view(l, map, results);
}

/* squeeze and unsqueeze: the dimensions of size 1 aside, those of operand and result correspond in order. */
static ind_status graph__lower_squeeze(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK];
    int from = 0;
    for (int d = 0; d < x->rank; d++) {
        map[d] = ind_int(l->context, 0);
        if (graph__size_is_one(x->size[d])) continue;
        while (from < l->result->rank && graph__size_is_one(l->result->size[from])) from++;
        map[d] = graph__lower_view_index(l, from++);
    }
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_slice(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + x->rank : l->node->attr[0].i);
    ind_expr map[IND_MAX_RANK], first, last;
    for (int d = 0; d < x->rank; d++) map[d] = graph__lower_view_index(l, d);
    ind__slice_bounds(x->size[dim], &l->node->attr[1], &l->node->attr[2], &first, &last);
    map[dim] = ind_expr_add(first, ind_expr_mul(map[dim], l->node->attr[3].e));
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_select(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + x->rank : l->node->attr[0].i);
    ind_expr map[IND_MAX_RANK], at = l->node->attr[1].e;
    for (int d = 0; d < x->rank; d++) {
        if (d != dim) map[d] = graph__lower_view_index(l, d < dim ? d : d - 1);
    }
    map[dim] = ind_known_lt(at, ind_int(l->context, 0)) ? ind_expr_add(at, x->size[dim]) : at;
    return graph__lower_make_view(l, map, results);
}

/* ---- reductions ---- */

/* Splits the dimensions of operand 0 into kept and reduced ones (bits of `mask`). */
static void graph__split_axes(graph__lower_ctx *l, uint32_t mask) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    memset(&l->axes, 0, sizeof l->axes);
    l->axes.rank = x->rank;
    for (int d = 0; d < x->rank; d++) {
        if (mask >> d & 1) {
            l->axes.range[l->axes.num_reduced] = x->size[d];
            l->axes.reduced[l->axes.num_reduced++] = d;
        } else {
            l->axes.size[l->axes.num_kept] = x->size[d];
            l->axes.kept[l->axes.num_kept++] = d;
        }
    }
    l->axes.count = ind_expr_product(l->context, l->axes.range, l->axes.num_reduced);
}

/* Bits of the dimensions that an attribute names: one, a list, or all where it is left out. */
static uint32_t graph__dim_mask(const ind__attr *dims, int rank) {
    uint32_t mask = 0;
    if (dims->kind == IND__ATTR_NONE || (dims->kind != IND__ATTR_INT && dims->count == 0)) return (1u << rank) - 1;
    for (int k = 0; k < (dims->kind == IND__ATTR_INT ? 1 : dims->count); k++) {
        int64_t d = dims->i;
        if (dims->kind != IND__ATTR_INT) (void)ind_expr_is_int(dims->list[k], &d);
        d += d < 0 ? rank : 0;
        if (d >= 0 && d < rank) mask |= 1u << d;
    }
    return mask;
}

/* From indices of the kept, then of the reduced dimensions to one of operand 0. */
static ind_value graph__reduced_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    ind_expr at[IND_MAX_RANK];
    for (int k = 0; k < l->axes.num_kept; k++) at[l->axes.kept[k]] = index[k];
    for (int k = 0; k < l->axes.num_reduced; k++) {
        at[l->axes.reduced[k]] = l->axes.num_kept + k < rank ? index[l->axes.num_kept + k] : ind_int(l->context, 0);
    }
    return l->element(o, at, l->axes.rank, l);
}

/* What a reduction gives over one element, apart from the element itself, or over none. */
static ind_value graph__neutral_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__typed_number *v = user;
    (void)index, (void)rank;
    return graph__lower_number(o, *v, v->dtype);
}

/* One element or none is no loop: the element, or a constant. */
static ind_status graph__lower_reduce_trivially(graph__lower_ctx *l, ind_reduction type, ind_dtype dtype,
                                                ind__box **results) {
    bool empty = graph__size_is_zero(l->axes.count);
    for (int k = 0; k < ind__reduction_results(type); k++) {
        bool element = k == 0 && !empty && type != IND_REDUCE_ARGMAX;
        bool one = !empty ? k == 1 && type == IND_REDUCE_ONLINE_SOFTMAX : type == IND_REDUCE_PROD;
        graph__typed_number v = {dtype, one, one};
        results[k] =
            ind__box_pointwise(l->w->program, dtype, l->axes.size, l->axes.num_kept,
                               element ? graph__reduced_element : graph__neutral_element, element ? (void *)l : &v);
        if (!results[k]) return ind__failed(l->context);
    }
    return IND_OK;
}

/* Reduces element(index of operand 0) over the reduced axes; results have the kept dimensions only. */
static ind_status graph__lower_reduce(graph__lower_ctx *l, ind_reduction type, ind_dtype dtype,
                                      graph__lower_element_fn element, ind__box **results) {
    l->element = element;
    if (graph__size_is_one(l->axes.count) || graph__size_is_zero(l->axes.count))
        return graph__lower_reduce_trivially(l, type, dtype, results);
    ind__reduction_desc d = {.type = type,
                             .dtype = dtype,
                             .size = l->axes.size,
                             .rank = l->axes.num_kept,
                             .rrange = l->axes.range,
                             .rrank = l->axes.num_reduced,
                             .fn = graph__reduced_element,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, results);
}

/* keepdim: the reduced dimensions come back with size 1. */
static ind_status graph__lower_keep_dims(graph__lower_ctx *l, ind__box **x) {
    ind_expr map[IND_MAX_RANK];
    if (l->result->rank == l->axes.num_kept) return IND_OK;
    for (int k = 0; k < l->axes.num_kept; k++) map[k] = graph__lower_view_index(l, l->axes.kept[k]);
    *x = ind__box_view(l->w->program, *x, l->result->size, l->result->rank, map);
    return *x ? IND_OK : ind__failed(l->context);
}

static ind_value graph__lower_self(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_operand(o, l, 0, index, rank);
}

/* Part k, an earlier result of the same shape as this one. */
static ind_value graph__lower_part(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->part[0], index, rank), ind_dtype_compute(l->result->dtype));
}

/* sum, amax, amin, any: one reduction (the row has its two operands: on numbers, on bools). Bools are reduced as u8 and
   turned back. */
static ind_status graph__lower_reduction(graph__lower_ctx *l, ind_reduction type, ind__box **results) {
    bool as_u8 = l->compute == IND_BOOL && type != IND_REDUCE_ANY;
    if (as_u8) l->compute = IND_U8;
    ind_status status = graph__lower_reduce(l, type, as_u8 ? IND_U8 : l->result->dtype, graph__lower_self, results);
    if (status == IND_OK) status = graph__lower_keep_dims(l, results);
    if (status || !as_u8) return status;
    l->part[0] = results[0];
    return graph__lower_loop(l, IND_BOOL, l->result->size, l->result->rank, graph__lower_part, results);
}

static ind_status graph__lower_sum(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], graph__lower_operand_info(l, 0)->rank));
    return graph__lower_reduction(l, IND_REDUCE_SUM, results);
}

static ind_status graph__lower_amax(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], graph__lower_operand_info(l, 0)->rank));
    return graph__lower_reduction(l, l->node->op == IND_OP_AMIN ? IND_REDUCE_MIN : IND_REDUCE_MAX, results);
}

/* torch.any gives u8 for u8 and bool for all others. */
static ind_status graph__lower_any(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], graph__lower_operand_info(l, 0)->rank));
    l->compute = IND_BOOL;
    ind_status status = graph__lower_reduce(l, IND_REDUCE_ANY, IND_BOOL, graph__lower_self, results);
    if (status == IND_OK) status = graph__lower_keep_dims(l, results);
    if (status || l->result->dtype == IND_BOOL) return status;
    l->part[0] = results[0];
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__lower_part, results);
}

static ind_status graph__lower_argmax(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], graph__lower_operand_info(l, 0)->rank));
    l->compute = ind_dtype_compute(graph__lower_operand_info(l, 0)->dtype);
    if (l->compute == IND_BOOL) l->compute = IND_U8;
    ind_status status = graph__lower_reduce(l, IND_REDUCE_ARGMAX, IND_I64, graph__lower_self, results);
    return status ? status : graph__lower_keep_dims(l, results);
}

/* Values and indices: two reductions over the same rows, which share a kernel. */
static ind_status graph__lower_max(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_amax(l, &results[0]);
    return status ? status : graph__lower_argmax(l, &results[1]);
}

/* Number of elements reduced, as a value. */
static ind_value graph__lower_count(ind_ops *o, const graph__lower_ctx *l) {
    int64_t n;
    if (ind_expr_is_int(l->axes.count, &n)) return graph__lower_float(o, l, (double)n);
    return ind_op_cast(o, ind_op_index(o, l->axes.count, IND_I64), l->compute);
}

static ind_value graph__mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_div(o, ind__box_load(o, l->part[0], index, rank), graph__lower_count(o, l));
}

static ind_status graph__lower_mean(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], graph__lower_operand_info(l, 0)->rank));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, graph__lower_self, l->part);
    if (status == IND_OK) status = graph__lower_keep_dims(l, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__mean_element, results);
}

/* ---- composites: a reduction and a pointwise loop over the same rows ---- */

/* Result k of the row that `index` (of the full shape) lies in. */
static ind_value graph__lower_row_part(ind_ops *o, const graph__lower_ctx *l, int k, const ind_expr *index) {
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < l->axes.num_kept; d++) at[d] = index[l->axes.kept[d]];
    return ind__box_load(o, l->part[k], at, l->axes.num_kept);
}

/* A row whose largest value is infinite is NaN throughout, as inf - inf is; the one-pass sum does not see that, m - m
 * does. */
static ind_value graph__softmax_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value m = graph__lower_row_part(o, l, 0, index);
    ind_value sum = ind_op_add(o, graph__lower_row_part(o, l, 1, index), ind_op_sub(o, m, m));
    ind_value x = ind_op_sub(o, graph__lower_operand(o, l, 0, index, rank), m);
    return l->node->op == IND_OP_SOFTMAX ? ind_op_div(o, ind_op_exp(o, x), sum) : ind_op_sub(o, x, ind_op_log(o, sum));
}

static ind_status graph__lower_softmax(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], l->result->rank));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_ONLINE_SOFTMAX, l->compute, graph__lower_self, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__softmax_element, results);
}

/* Bits of the last dimensions that normalized_shape names. */
static uint32_t graph__normalised_mask(const graph__lower_ctx *l) {
    int rank = l->result->rank, count = l->node->attr[0].count;
    return ((1u << rank) - 1) & ~((1u << (rank - count)) - 1);
}

static ind_value graph__layer_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind_op_sub(o, graph__lower_operand(o, l, 0, index, rank), graph__lower_row_part(o, l, 0, index));
    ind_value variance = ind_op_div(o, graph__lower_row_part(o, l, 1, index), graph__lower_count(o, l));
    x = ind_op_mul(o, x, ind_op_rsqrt(o, ind_op_add(o, variance, graph__lower_float(o, l, l->node->attr[1].f))));
    if (graph__lower_has_operand(l, 1)) x = ind_op_mul(o, x, graph__lower_operand(o, l, 1, index, rank));
    return graph__lower_has_operand(l, 2) ? ind_op_add(o, x, graph__lower_operand(o, l, 2, index, rank)) : x;
}

static ind_status graph__lower_layer_norm(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__normalised_mask(l));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_WELFORD, l->compute, graph__lower_self, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__layer_norm_element, results);
}

static ind_value graph__square_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_mul(o, x, x);
}

/* eps left out: the epsilon of the type computed in (torch.rms_norm). */
static ind_value graph__rms_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *given = &l->node->attr[1];
    double eps = given->kind != IND__ATTR_NONE ? given->f : l->compute == IND_F64 ? DBL_EPSILON : FLT_EPSILON;
    ind_value mean = ind_op_div(o, graph__lower_row_part(o, l, 0, index), graph__lower_count(o, l));
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    x = ind_op_mul(o, x, ind_op_rsqrt(o, ind_op_add(o, mean, graph__lower_float(o, l, eps))));
    return graph__lower_has_operand(l, 1) ? ind_op_mul(o, x, graph__lower_operand(o, l, 1, index, rank)) : x;
}

static ind_status graph__lower_rms_norm(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__normalised_mask(l));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, graph__square_element, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__rms_norm_element, results);
}

/* ---- matrix products ---- */

/* Batch indices of operand x (whose last `inner` dimensions are the matrix), broadcast from those of the product. */
static void graph__batch_index(const graph__lower_ctx *l, const ind__box *x, int inner, const ind_expr *index,
                               ind_expr *at) {
    int own = x->rank - inner;
    for (int d = 0; d < own; d++) {
        at[d] = graph__size_is_one(x->size[d]) ? ind_int(l->context, 0) : index[l->product.batch - own + d];
    }
}

/* index: batch.., m, n, k; m and n may be absent. */
static ind_value graph__product_a(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    ind_expr at[IND_MAX_RANK];
    int own = l->product.a->rank - (l->product.has_m ? 2 : 1);
    graph__batch_index(l, l->product.a, l->product.has_m ? 2 : 1, index, at);
    if (l->product.has_m) at[own] = index[l->product.batch];
    at[l->product.a->rank - 1] = index[rank - 1];
    return graph__lower_cast(o, ind__box_load(o, l->product.a, at, l->product.a->rank), l->compute);
}

static ind_value graph__product_b(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    ind_expr at[IND_MAX_RANK];
    int last = l->product.b->rank - 1, k_at = l->product.transposed || !l->product.has_n ? last : last - 1;
    graph__batch_index(l, l->product.b, l->product.has_n ? 2 : 1, index, at);
    at[k_at] = index[rank - 1];
    if (l->product.has_n) at[l->product.transposed ? last - 1 : last] = index[rank - 2];
    return graph__lower_cast(o, ind__box_load(o, l->product.b, at, l->product.b->rank), l->compute);
}

/* Operand k in memory: a kernel reads each of its elements many times. */
static ind__box *graph__stored_operand(graph__lower_ctx *l, uint32_t k) {
    ind__box *x = graph__lower_operand_box(l, k);
    return ind__box_realise(l->w->program, x) == IND_OK ? x : NULL;
}

/* a[.., m, k] against one matrix b: all of a's leading dimensions are rows of one product. */
static ind_status graph__flatten_rows(graph__lower_ctx *l) {
    ind__box *a = l->product.a;
    ind_expr size[2] = {ind_expr_product(l->context, a->size, a->rank - 1), a->size[a->rank - 1]};
    if (a->rank <= 2) return IND_OK;
    l->product.a = ind__box_reshape(l->w->program, a, size, 2);
    return l->product.a ? IND_OK : ind__failed(l->context);
}

static bool graph__has_no_batch(const ind__box *x, int inner) {
    bool none = true;
    for (int d = 0; d < x->rank - inner; d++) none = none && graph__size_is_one(x->size[d]);
    return none;
}

/* Sizes of the product: batch dimensions of the result, then m and n. */
static void graph__product_sizes(graph__lower_ctx *l) {
    const ind__box *a = l->product.a, *b = l->product.b;
    int rank = l->product.batch = l->result->rank - l->product.has_m - l->product.has_n;
    for (int d = 0; d < rank; d++) l->product.size[d] = l->result->size[d];
    if (l->product.has_m) l->product.size[rank++] = a->size[a->rank - 2];
    if (l->product.has_n) l->product.size[rank++] = b->size[b->rank - (l->product.transposed ? 2 : 1)];
    l->product.rank = rank;
}

/* *out: the product of operands x and y, of l->product.size. Over an inner dimension of size 0 it is 0. */
static ind_status graph__lower_dot(graph__lower_ctx *l, uint32_t x, uint32_t y, bool transposed, ind__box **out) {
    l->product.a = graph__stored_operand(l, x);
    l->product.b = graph__stored_operand(l, y);
    if (!l->product.a || !l->product.b) return ind__failed(l->context);
    l->product.has_m = l->product.a->rank > 1;
    l->product.has_n = l->product.b->rank > 1;
    l->product.transposed = transposed;
    graph__product_sizes(l);
    if (l->product.has_m && graph__has_no_batch(l->product.b, l->product.has_n ? 2 : 1) && l->product.b->rank <= 2) {
        ind_status status = graph__flatten_rows(l);
        if (status) return status;
        l->product.batch = 0;
        l->product.size[0] = l->product.a->size[0];
        if (l->product.has_n) l->product.size[1] = l->result->size[l->result->rank - 1];
        l->product.rank = 1 + l->product.has_n;
    }
    const ind_expr *k = &l->product.a->size[l->product.a->rank - 1];
    graph__typed_number zero = {l->result->dtype, 0, 0};
    if (graph__size_is_zero(*k)) {
        *out = ind__box_pointwise(l->w->program, zero.dtype, l->product.size, l->product.rank, graph__neutral_element,
                                  &zero);
        return *out ? IND_OK : ind__failed(l->context);
    }
    ind__reduction_desc d = {.type = IND_REDUCE_DOT,
                             .dtype = l->result->dtype,
                             .size = l->product.size,
                             .rank = l->product.rank,
                             .rrange = k,
                             .rrank = 1,
                             .fn = graph__product_a,
                             .second_fn = graph__product_b,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, out);
}

/* Back to the shape of the graph, where rows were flattened for the product. */
static ind_status graph__lower_unflatten(graph__lower_ctx *l, ind__box **x) {
    if ((*x)->rank == l->result->rank) return IND_OK;
    *x = ind__box_reshape(l->w->program, *x, l->result->size, l->result->rank);
    return *x ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_matmul(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_dot(l, 0, 1, false, results);
    return status ? status : graph__lower_unflatten(l, results);
}

static ind_value graph__linear_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value product = ind__box_load(o, l->part[0], index, rank);
    return ind_op_add(o, product, graph__lower_operand(o, l, 2, index, rank));
}

/* input @ weight^T + bias; the bias is added to the product as the kernel has it, before it is rounded to memory. */
static ind_status graph__lower_linear(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_dot(l, 0, 1, true, results);
    if (status == IND_OK && graph__lower_has_operand(l, 2)) {
        l->part[0] = results[0];
        status =
            graph__lower_loop(l, l->result->dtype, l->product.size, l->product.rank, graph__linear_element, results);
    }
    return status ? status : graph__lower_unflatten(l, results);
}

/* beta * self + alpha * (mat1 @ mat2); with beta 0 self is not read, so its NaN do not spread. */
static ind_value graph__addmm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *beta = &l->node->attr[0], *alpha = &l->node->attr[1];
    ind_value product = graph__lower_scaled(o, l, ind__box_load(o, l->part[0], index, rank), alpha);
    if (beta->is_int ? beta->i == 0 : beta->f == 0) return product;
    return ind_op_add(o, graph__lower_scaled(o, l, graph__lower_operand(o, l, 0, index, rank), beta), product);
}

static ind_status graph__lower_addmm(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_dot(l, 1, 2, false, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__addmm_element, results);
}

/* ---- inputs, and the table ---- */

static ind_status graph__lower_source(graph__lower_ctx *l, ind__box **results) {
    ind__buffer_kind kind = l->node->op == IND_OP_INPUT ? IND__BUFFER_INPUT : IND__BUFFER_CONST;
    uint32_t buffer =
        ind__lowered_input(l->w->program, l->result->name, kind, l->result->dtype, l->result->size, l->result->rank);
    results[0] = buffer ? ind__box_buffer(l->w->program, buffer) : NULL;
    return results[0] ? IND_OK : ind__failed(l->context);
}

/* Op of the graph, function, element function of a pointwise loop, loop op, loop op on bools. In the order of IND_OPS.
 */
#define IND__LOWERINGS(X)                                                                                              \
    X(INPUT, source, NULL, NONE, NONE)                                                                                 \
    X(CONST, source, NULL, NONE, NONE)                                                                                 \
    X(SCALAR, pointwise, graph__lower_full, NONE, NONE)                                                                \
    X(FULL, pointwise, graph__lower_full, NONE, NONE)                                                                  \
    X(ARANGE, pointwise, graph__lower_arange, NONE, NONE)                                                              \
    X(ADD, pointwise, graph__lower_add, ADD, OR)                                                                       \
    X(SUB, pointwise, graph__lower_add, SUB, NE)                                                                       \
    X(MUL, pointwise, graph__lower_binary, MUL, AND)                                                                   \
    X(DIV, pointwise, graph__lower_binary, DIV, NONE)                                                                  \
    X(POW, pointwise, graph__lower_pow, POW, NONE)                                                                     \
    X(MAXIMUM, pointwise, graph__lower_binary, MAXIMUM, OR)                                                            \
    X(MINIMUM, pointwise, graph__lower_binary, MINIMUM, AND)                                                           \
    X(EQ, compare, graph__lower_binary, EQ, EQ)                                                                        \
    X(NE, compare, graph__lower_binary, NE, NE)                                                                        \
    X(LT, compare, graph__lower_binary, LT, LT)                                                                        \
    X(LE, compare, graph__lower_binary, LE, LE)                                                                        \
    X(GT, compare, graph__lower_binary, GT, GT)                                                                        \
    X(GE, compare, graph__lower_binary, GE, GE)                                                                        \
    X(NEG, pointwise, graph__lower_unary, NEG, NONE)                                                                   \
    X(EXP, pointwise, graph__lower_unary, EXP, NONE)                                                                   \
    X(LOG, pointwise, graph__lower_unary, LOG, NONE)                                                                   \
    X(SQRT, pointwise, graph__lower_unary, SQRT, NONE)                                                                 \
    X(RSQRT, pointwise, graph__lower_unary, RSQRT, NONE)                                                               \
    X(RECIPROCAL, pointwise, graph__lower_unary, RECIPROCAL, NONE)                                                     \
    X(TANH, pointwise, graph__lower_unary, TANH, NONE)                                                                 \
    X(ERF, pointwise, graph__lower_unary, ERF, NONE)                                                                   \
    X(SIGMOID, pointwise, graph__lower_unary, SIGMOID, NONE)                                                           \
    X(RELU, pointwise, graph__lower_relu, NONE, NONE)                                                                  \
    X(GELU, pointwise, graph__lower_gelu, NONE, NONE)                                                                  \
    X(SILU, pointwise, graph__lower_silu, NONE, NONE)                                                                  \
    X(WHERE, pointwise, graph__lower_where, NONE, NONE)                                                                \
    X(CAST, pointwise, graph__lower_cast_op, NONE, NONE)                                                               \
    X(CUSTOM, pointwise, graph__lower_custom, NONE, NONE)                                                              \
    X(SUM, sum, NULL, NONE, NONE)                                                                                      \
    X(MEAN, mean, NULL, NONE, NONE)                                                                                    \
    X(AMAX, amax, NULL, NONE, NONE)                                                                                    \
    X(AMIN, amax, NULL, NONE, NONE)                                                                                    \
    X(ARGMAX, argmax, NULL, NONE, NONE)                                                                                \
    X(ANY, any, NULL, NONE, NONE)                                                                                      \
    X(MAX, max, NULL, NONE, NONE)                                                                                      \
    X(SOFTMAX, softmax, NULL, NONE, NONE)                                                                              \
    X(LOG_SOFTMAX, softmax, NULL, NONE, NONE)                                                                          \
    X(LAYER_NORM, layer_norm, NULL, NONE, NONE)                                                                        \
    X(RMS_NORM, rms_norm, NULL, NONE, NONE)                                                                            \
    X(VIEW, view, NULL, NONE, NONE)                                                                                    \
    X(PERMUTE, permute, NULL, NONE, NONE)                                                                              \
    X(TRANSPOSE, permute, NULL, NONE, NONE)                                                                            \
    X(EXPAND, expand, NULL, NONE, NONE)                                                                                \
    X(UNSQUEEZE, squeeze, NULL, NONE, NONE)                                                                            \
    X(SQUEEZE, squeeze, NULL, NONE, NONE)                                                                              \
    X(SLICE, slice, NULL, NONE, NONE)                                                                                  \
    X(SELECT, select, NULL, NONE, NONE)                                                                                \
    X(CAT, pointwise, graph__lower_cat, NONE, NONE)                                                                    \
    X(EMBEDDING, pointwise, graph__lower_embedding, NONE, NONE)                                                        \
    X(GATHER, pointwise, graph__lower_gather, NONE, NONE)                                                              \
    X(INDEX_SELECT, pointwise, graph__lower_gather, NONE, NONE)                                                        \
    X(INDEX, pointwise, graph__lower_index, NONE, NONE)                                                                \
    X(TAKE, pointwise, graph__lower_take, NONE, NONE)                                                                  \
    X(INDEX_PUT, index_put, NULL, NONE, NONE)                                                                          \
    X(PUT, put, NULL, NONE, NONE)                                                                                      \
    X(SCATTER, scatter, NULL, NONE, NONE)                                                                              \
    X(SCATTER_ADD, scatter, NULL, NONE, NONE)                                                                          \
    X(SCATTER_REDUCE, scatter_reduce, NULL, NONE, NONE)                                                                \
    X(INDEX_ADD, index_scatter, NULL, NONE, NONE)                                                                      \
    X(INDEX_COPY, index_scatter, NULL, NONE, NONE)                                                                     \
    X(INDEX_FILL, index_scatter, NULL, NONE, NONE)                                                                     \
    X(EMBEDDING_DENSE_BACKWARD, embedding_backward, NULL, NONE, NONE)                                                  \
    X(MATMUL, matmul, NULL, NONE, NONE)                                                                                \
    X(MM, matmul, NULL, NONE, NONE)                                                                                    \
    X(BMM, matmul, NULL, NONE, NONE)                                                                                   \
    X(ADDMM, addmm, NULL, NONE, NONE)                                                                                  \
    X(LINEAR, linear, NULL, NONE, NONE)

static const graph__lowering_row graph__lowering_table[] = {
#define X(name, lower, element, op, bool_op) {graph__lower_##lower, element, IND_LOOP_##op, IND_LOOP_##bool_op},
    IND__LOWERINGS(X)
#undef X
};

/* A missing row, or one out of place, does not compile. */
enum {
#define X(name, lower, element, op, bool_op) IND__LOWERING_##name,
    IND__LOWERINGS(X)
#undef X
        IND__NUM_LOWERINGS
};
#define X(name, lower, element, op, bool_op)                                                                           \
    _Static_assert((int)IND__LOWERING_##name == (int)IND_OP_##name, "lowering of " #name " is out of place");
IND__LOWERINGS(X)
#undef X
_Static_assert((int)IND__NUM_LOWERINGS == (int)IND_NUM_OPS, "every op has a lowering");

/* ---- the walk ---- */

/* Reads of each tensor by later ops; a composite op reads its input once to reduce it and once more after. */
static void graph__count_users(const graph__lower_walk *w) {
    for (uint32_t i = 1; i < w->graph->num_nodes; i++) {
        const ind__node *n = &w->graph->node[i];
        for (uint32_t k = 0; k < n->num_operands; k++)
            w->users[n->operand[k]] += k == 0 && ind__op_has(n->op, 'C') ? 2 : 1;
        for (uint32_t k = 0; k < n->num_operands; k++) w->last_user[n->operand[k]] = i;
    }
    for (uint32_t i = 0; i < w->graph->num_mutations; i++) {
        w->users[w->graph->mutation[i].value]++;
        w->last_user[w->graph->mutation[i].value] = UINT32_MAX;
    }
}

/* Outputs are stored where they are made, so that later ops read them; a constant is stored last: later ops know its
 * value. */
static ind_status graph__lower_outputs(const graph__lower_walk *w, uint32_t tensor, bool constants) {
    ind__box *x = w->box[tensor];
    bool constant = !x->storage->buffer && x->storage->num_reads == 0;
    if (constant && !constants) return IND_OK;
    uint32_t i = w->first_output[tensor];
    w->first_output[tensor] = 0; /* done: by the last pass a constant may have been stored for a matrix product */
    for (; i; i = w->next_output[i - 1]) {
        ind_status status = ind__box_output(w->program, x, w->graph->output[i - 1].name, i - 1);
        if (status) return status;
    }
    return IND_OK;
}

static void graph__link_outputs(const graph__lower_walk *w) {
    for (uint32_t i = w->graph->num_outputs; i-- > 0;) {
        uint32_t *first = &w->first_output[w->graph->output[i].tensor];
        w->next_output[i] = *first;
        *first = i + 1;
    }
}

static ind_status graph__lower_node(graph__lower_walk *w, uint32_t number) {
    const ind__node *n = &w->graph->node[number];
    graph__lower_ctx l = {.w = w, .context = w->graph->context, .node = n, .row = &graph__lowering_table[n->op]};
    ind__box *results[2] = {NULL, NULL};
    l.result = &w->graph->tensor[n->result];
    l.compute = ind_dtype_compute(l.result->dtype);
    w->program->origin = number;
    ind_status status = l.row->lower(&l, results);
    for (uint32_t k = 0; status == IND_OK && k < n->num_results; k++) {
        uint32_t users = w->users[n->result + k];
        w->box[n->result + k] = results[k];
        if (!ind__op_has(n->op, 'S')) {
            status = ind__box_mark_use(w->program, results[k], users > INT32_MAX ? INT32_MAX : (int)users);
        }
        if (status == IND_OK) status = graph__lower_outputs(w, n->result + k, false);
    }
    return status;
}

/* ---- mutated inputs: each memory holds its new value when all is done ---- */

/* The newest version of an input's buffer. */
static uint32_t graph__newest(const graph__lower_walk *w, uint32_t input) {
    uint32_t buffer = w->box[input]->storage->buffer;
    while (w->program->buffer[buffer].mutated_by) buffer = w->program->buffer[buffer].mutated_by;
    return buffer;
}

static bool graph__mutation_is_done(const graph__lower_walk *w, const struct ind__mutation *m) {
    const ind__box *v = w->box[m->value];
    return v->identity && v->storage->buffer && v->storage->buffer == graph__newest(w, m->input);
}

/* Is every load of this body one of `own` at the indices of the loop, or of memory that no run changes? */
static bool graph__reads_in_step(const graph__lower_walk *w, const ind_body *b, uint32_t own) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *x = &b->inst[i];
        if (x->op != IND_LOOP_LOAD) continue;
        bool step = x->source == own && x->num_index == (uint32_t)b->rank;
        for (uint32_t k = 0; step && k < x->num_index; k++) step = b->index[x->index + k].id == b->var[k].id;
        if (!step && w->program->buffer[ind__buffer_home(w->program, x->source)].kind == IND__BUFFER_INPUT)
            return false;
    }
    return true;
}

/* Makes the value safe from the stores into inputs that follow: it is kept if it lies in the memory of an input, or
   would be computed from that later, unless point by point from the very memory that it goes to. */
static ind_status graph__keep_value(const graph__lower_walk *w, const struct ind__mutation *m, ind__box **value) {
    ind__lowered *p = w->program;
    ind__box *v = *value = w->box[m->value];
    if (graph__mutation_is_done(w, m)) return IND_OK;
    if (v->storage->buffer) {
        bool safe = p->buffer[ind__buffer_home(p, v->storage->buffer)].kind == IND__BUFFER_COMPUTED;
        if (!safe) *value = ind__box_copy(p, v);
        return *value ? IND_OK : ind__failed(w->graph->context);
    }
    return v->identity && graph__reads_in_step(w, v->storage->body, graph__newest(w, m->input))
               ? IND_OK
               : ind__box_realise(p, v);
}

static void graph__mutate_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *value) {
    ind__emit_store(o, to, index, rank, ind__box_load(o, (const ind__box *)value, index, rank));
}

static ind_status graph__lower_mutation(const graph__lower_walk *w, const struct ind__mutation *m, ind__box *value) {
    if (graph__mutation_is_done(w, m)) return IND_OK;
    const ind__tensor_info *x = &w->graph->tensor[m->input];
    ind__scatter_desc d = {.size = x->size, .rank = x->rank, .fn = graph__mutate_element, .user = value};
    ind__box *to = ind__box_buffer(w->program, graph__newest(w, m->input)), *result;
    w->program->origin = w->graph->tensor[m->value].node;
    return to ? ind__box_scatter(w->program, to, &d, &result) : ind__failed(w->graph->context);
}

static ind_status graph__lower_mutations(const graph__lower_walk *w) {
    const ind_graph *g = w->graph;
    ind_status status = IND_OK;
    ind__box **value = ind__alloc(g->context, (g->num_mutations + (size_t)1) * sizeof *value);
    if (!value) return ind__failed(g->context);
    for (uint32_t i = 0; !status && i < g->num_mutations; i++) {
        w->program->origin = g->tensor[g->mutation[i].value].node;
        status = graph__keep_value(w, &g->mutation[i], &value[i]);
    }
    for (uint32_t i = 0; !status && i < g->num_mutations; i++)
        status = graph__lower_mutation(w, &g->mutation[i], value[i]);
    ind__free(g->context, value);
    return status;
}

static ind_status graph__lower_all(graph__lower_walk *w) {
    const ind_graph *g = w->graph;
    ind_status status = IND_OK;
    graph__count_users(w);
    graph__link_outputs(w);
    for (uint32_t i = 1; status == IND_OK && i < g->num_nodes; i++) status = graph__lower_node(w, i);
    for (uint32_t i = 0; status == IND_OK && i < g->num_outputs; i++) {
        uint32_t tensor = g->output[i].tensor;
        w->program->origin = g->tensor[tensor].node;
        if (w->first_output[tensor] == i + 1) status = graph__lower_outputs(w, tensor, true);
    }
    if (!status) status = graph__lower_mutations(w);
    return status ? status : ind__lowered_fix_layouts(w->program);
}

ind_status ind__graph_lower(const ind_graph *g, const ind_realise_policy *policy, ind__lowered *out) {
    ind_context *c = g->context;
    ind_status status = ind__lowered_init(out, c, policy);
    if (status) return status;
    graph__lower_walk w = {.graph = g, .program = out};
    w.box = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.box);
    w.users = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.users);
    w.first_output = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.first_output);
    w.next_output = ind__alloc(c, (g->num_outputs + (size_t)1) * sizeof *w.next_output);
    w.last_user = ind__alloc(c, (g->num_tensors + (size_t)1) * sizeof *w.last_user);
    bool ready = w.box && w.users && w.first_output && w.next_output && w.last_user;
    status = ready ? graph__lower_all(&w) : ind__failed(c);
    ind__free(c, w.box);
    ind__free(c, w.users);
    ind__free(c, w.first_output);
    ind__free(c, w.next_output);
    ind__free(c, w.last_user);
    if (status) ind__lowered_free(out);
    return status;
}

/* ---------------------------------------------------------------------------------------------- >>pipeline */

/* What one compilation holds on its way down. */
typedef struct ind__compilation {
    ind_context *context;
    ind_compile_desc desc;
    ind_device device;
    ind_target target;
    ind_graph *graph; /* after the passes */
    ind__lowered *lowered;
    ind_schedule *schedule;
    ind_plan *plan;
    const char **origin_name; /* op name per graph node */
    ind_module_stats stats;
    double since; /* when the stage that runs now began */
    ind_module *module;
} ind__compilation;

/* Adds the time since the last call to a stage's. */
static void ind__clock_stage(ind__compilation *k, double *ms) {
    double now = ind__now_ms();
    *ms += now - k->since;
    k->since = now;
}

/* A target with no architecture is the default one; the other zero fields are filled in as well. */
static ind_status ind__compile_begin(ind__compilation *k, const ind_graph *g) {
    if (g->num_outputs + g->num_mutations == 0)
        return ind__fail(k->context, IND_INVALID_ARGUMENT, "graph %s has no output", g->name);
    k->since = ind__now_ms();
    if (k->desc.emit_only) {
        k->device = IND_DEVICE_HOST;
        k->target = k->desc.target;
        ind__target_defaults(&k->target);
        return IND_OK;
    }
    ind_target found = {0};
    ind_status status = ind__device_resolve(k->context, k->desc.device, &k->device, &found);
    if (status) return status;
    k->target = k->desc.target.sm ? k->desc.target : found;
    ind__target_defaults(&k->target);
    k->since = ind__now_ms(); /* opening the device is no stage */
    return IND_OK;
}

static ind_status ind__compile_passes(ind__compilation *k, const ind_graph *g) {
    ind_status status = ind__graph_optimise(g, k->desc.disabled_passes, &k->graph);
    if (!status && ind__verifying(k->context)) status = ind__graph_verify(k->graph);
    if (status) return status;
    k->origin_name = ind__alloc(k->context, k->graph->num_nodes * sizeof *k->origin_name);
    if (!k->origin_name) return ind__failed(k->context);
    for (uint32_t i = 1; i < k->graph->num_nodes; i++) {
        const ind__node *n = &k->graph->node[i];
        k->origin_name[i] = n->name ? n->name : ind__op_name(n->op);
    }
    return IND_OK;
}

static ind_status ind__compile_lower(ind__compilation *k) {
    k->lowered = ind__alloc(k->context, sizeof *k->lowered);
    if (!k->lowered) return ind__failed(k->context);
    ind_status status = ind__graph_lower(k->graph, &k->desc.realise, k->lowered);
    if (!status && ind__verifying(k->context)) status = ind__lowered_verify(k->lowered);
    ind__clock_stage(k, &k->stats.lower_ms);
    return status;
}

static const char *ind__compilation_origin(uint32_t node, void *user) {
    const ind__compilation *k = user;
    return node < k->graph->num_nodes ? k->origin_name[node] : NULL;
}

static ind_status ind__compile_schedule(ind__compilation *k) {
    ind_status status =
        ind__schedule_create(k->context, k->lowered, &k->desc.fusion, ind__compilation_origin, k, &k->schedule);
    if (!status && ind__verifying(k->context)) status = ind__schedule_verify(k->schedule);
    ind__clock_stage(k, &k->stats.schedule_ms);
    return status;
}

/* The host device walks the schedule itself; it has a plan only where the CUDA text is what is asked for. */
static ind_status ind__compile_plan(ind__compilation *k) {
    if (k->device != IND_DEVICE_CUDA && !k->desc.emit_only) return IND_OK;
    ind_status status = ind__plan_create(k->context, k->schedule, &k->target, &k->plan);
    if (!status && ind__verifying(k->context)) status = ind__plan_verify(k->plan);
    ind__clock_stage(k, &k->stats.emit_ms);
    return status;
}

/* The module takes lowered, schedule and plan, whether it succeeds or not; the text of the graph stays with it. */
static ind_status ind__compile_module(ind__compilation *k) {
    ind__module_desc d = {
        .device = k->device,
        .lowered = k->lowered,
        .schedule = k->schedule,
        .plan = k->plan,
        .name = k->graph->name,
        .sizes = k->graph->size_symbol,
        .num_sizes = k->graph->num_sizes,
        .condition = k->graph->condition,
        .num_conditions = k->graph->num_conditions,
        .origin_name = k->origin_name,
        .num_origins = k->graph->num_nodes,
        .stats = k->stats,
    };
    if (!ind_graph_text(k->graph)) return ind__failed(k->context);
    k->lowered = NULL;
    k->schedule = NULL;
    k->plan = NULL;
    ind_status status = ind__module_create(k->context, &d, &k->module);
    if (status) return status;
    k->module->stage_text[IND_STAGE_GRAPH] = k->graph->text.data;
    memset(&k->graph->text, 0, sizeof k->graph->text);
    return IND_OK;
}

static void ind__compile_end(ind__compilation *k) {
    ind__plan_free(k->plan);
    ind__schedule_free(k->schedule);
    if (k->lowered) ind__lowered_free(k->lowered);
    ind__free(k->context, k->lowered);
    ind__free(k->context, k->origin_name);
    ind_graph_destroy(k->graph);
}

ind_status ind_target_named(ind_context *context, const char *arch, ind_target *target) {
    if (!context) return IND_INVALID_ARGUMENT;
    if (!arch || !target) return ind__fail(context, IND_INVALID_ARGUMENT, "target: arch or target is NULL");
    return ind__target_parse(context, arch, target);
}

/* The staircase, one step a line:

     ops on tensors      verify, passes           inductor.h
       |
     loops over elements lower                    inductor.h onto inductor_ir.h
       |
     schedule            deps, fusion, memory     inductor_sched.h
       |
     kernels             plan, CUDA C             inductor_codegen_cuda.h      (skipped for the host device)
       |
     module              NVRTC, load              inductor_runtime.h */
ind_status ind_compile(ind_graph *graph, const ind_compile_desc *desc, ind_module **module) {
    if (module) *module = NULL;
    if (!graph) return IND_INVALID_ARGUMENT;
    if (!module) return ind__fail(graph->context, IND_INVALID_ARGUMENT, "compile: module is NULL");
    ind__compilation k = {.context = graph->context};
    if (desc) k.desc = *desc;

    ind_facts *before = ind__graph_enter(graph);
    ind_status status = ind__graph_verify(graph);
    if (!status) status = ind__compile_begin(&k, graph);
    if (!status) status = ind__compile_passes(&k, graph);
    if (!status) status = ind__compile_lower(&k);
    if (!status) status = ind__compile_schedule(&k);
    if (!status) status = ind__compile_plan(&k);
    if (!status) status = ind__compile_module(&k);

    ind__compile_end(&k);
    ind__graph_leave(graph, before);
    *module = k.module;
    return status;
}

/* ----------------------------------------------------------------------------------------------- >>explain */

static const char *const ind__stage_names[IND_NUM_STAGES] = {
#define X(name, text) text,
    IND_STAGES(X)
#undef X
};

static const char *ind__module_origin(uint32_t node, void *user) {
    const ind_module *m = user;
    return node < m->desc.num_origins ? m->desc.origin_name[node] : NULL;
}

/* A host module gets the plan for the default target when one is first asked for. */
static ind_status ind__need_plan(ind_module *m) {
    ind_target target = {0};
    if (m->desc.plan) return IND_OK;
    ind__target_defaults(&target);
    ind_facts *before = ind_facts_enter(m->context, m->facts);
    ind_status status = ind__plan_create(m->context, m->desc.schedule, &target, &m->desc.plan);
    (void)ind_facts_enter(m->context, before);
    return status;
}

/* ---- compiled kernels */

/* The nth source of the plan that is not equal to an earlier one; NULL past the last. */
static const ind__variant *ind__distinct_source(const ind_plan *plan, int index) {
    for (uint32_t i = 0; i < plan->num_kernels; i++) {
        for (int v = 0; v < plan->kernel[i].num_variants; v++) {
            const ind__variant *a = &plan->kernel[i].variant[v];
            bool seen = false;
            for (uint32_t j = 0; j <= i && !seen; j++) {
                int limit = j < i ? plan->kernel[j].num_variants : v;
                for (int w = 0; w < limit && !seen; w++) {
                    const ind__variant *b = &plan->kernel[j].variant[w];
                    seen = a->source_bytes == b->source_bytes && !memcmp(a->source, b->source, a->source_bytes);
                }
            }
            if (!seen && index-- == 0) return a;
        }
    }
    return NULL;
}

static uint64_t ind__little(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    while (bytes-- > 0) v = v << 8 | p[bytes];
    return v;
}

/* Attribute records of a .nv.info section: format, attribute, 16-bit value or length of what follows. */
static void ind__read_nv_info(const unsigned char *p, size_t n, ind_cubin *cubin) {
    enum { IND__FORMAT_SIZED = 4, IND__REGISTERS = 0x2f, IND__FRAME_SIZE = 0x11 };
    for (size_t at = 0; at + 4 <= n;) {
        size_t length = p[at] == IND__FORMAT_SIZED ? (size_t)ind__little(p + at + 2, 2) : 0;
        if (length > n - at - 4) return;
        if (length >= 8 && p[at + 1] == IND__REGISTERS) cubin->registers = (int)ind__little(p + at + 8, 4);
        if (length >= 8 && p[at + 1] == IND__FRAME_SIZE) cubin->local_bytes = (int)ind__little(p + at + 8, 4);
        at += 4 + length;
    }
}

/* Registers and stack frame from the ELF file that a cubin is: the section .nv.info lists them per kernel, and there is
   one kernel in it. What is not found stays -1. */
static void ind__read_cubin(ind_cubin *cubin) {
    const unsigned char *p = cubin->data;
    size_t n = cubin->bytes;
    cubin->registers = cubin->local_bytes = -1;
    if (n < 64 || memcmp(p, "\177ELF", 4)) return;
    uint64_t table = ind__little(p + 40, 8), count = ind__little(p + 60, 2), names = ind__little(p + 62, 2);
    if (table > n || count * 64 > n - table || names >= count) return;
    uint64_t strings = ind__little(p + table + names * 64 + 24, 8);
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *section = p + table + i * 64;
        uint64_t name = strings + ind__little(section, 4), from = ind__little(section + 24, 8),
                 size = ind__little(section + 32, 8);
        if (name > n || n - name < 9 || memcmp(p + name, ".nv.info", 9)) continue;
        if (from <= n && size <= n - from) ind__read_nv_info(p + from, (size_t)size, cubin);
    }
}

ind_status ind_module_cubin(ind_module *module, int index, ind_cubin *cubin) {
    if (!module || !cubin) return IND_INVALID_ARGUMENT;
    memset(cubin, 0, sizeof *cubin);
    ind_status status = ind__need_plan(module);
    if (status) return status;
    const ind__variant *v = index >= 0 ? ind__distinct_source(module->desc.plan, index) : NULL;
    if (!v) return ind__fail(module->context, IND_NOT_FOUND, "cubin: there is no source %d", index);
    cubin->name = v->entry;
    status = ind__nvrtc_compile(module->context, v->source, v->entry, &module->desc.plan->target, false, &cubin->data,
                                &cubin->bytes);
    if (!status) ind__read_cubin(cubin);
    return status;
}

void ind_cubin_free(ind_module *module, ind_cubin *cubin) {
    if (!module || !cubin) return;
    ind__free(module->context, cubin->data);
    memset(cubin, 0, sizeof *cubin);
}

static ind_status ind__print_ptx(ind__text *t, ind_module *m) {
    const ind__variant *v;
    for (int i = 0; (v = ind__distinct_source(m->desc.plan, i)) != NULL; i++) {
        void *ptx = NULL;
        size_t bytes = 0;
        ind_status status =
            ind__nvrtc_compile(m->context, v->source, v->entry, &m->desc.plan->target, true, &ptx, &bytes);
        if (status) return status;
        while (bytes > 0 && ((char *)ptx)[bytes - 1] == 0) bytes--;
        ind__text_raw(t, ptx, bytes);
        ind__free(m->context, ptx);
    }
    return IND_OK;
}

static ind_status ind__print_cubins(ind__text *t, ind_module *m) {
    char arch[16];
    ind__target_name(&m->desc.plan->target, arch);
    for (int i = 0; ind__distinct_source(m->desc.plan, i); i++) {
        ind_cubin cubin;
        ind_status status = ind_module_cubin(m, i, &cubin);
        if (status) return status;
        ind__textf(t, "%s  %s  %zu bytes  registers %d  local %d bytes\n", cubin.name, arch, cubin.bytes,
                   cubin.registers, cubin.local_bytes);
        ind_cubin_free(m, &cubin);
    }
    return IND_OK;
}

/* ---- for which sizes a module is right */

/* "B in [1, 4096], S in [8, 512] multiple of 8" */
static void ind__print_ranges(ind__text *t, const ind_module *m) {
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        const ind_symbol *s = ind_module_query_size(m, (int)i);
        ind__textf(t, "%s%s in [%lld, %lld]", i ? ", " : "", s->name, (long long)s->lo, (long long)s->hi);
        if (s->multiple_of > 1) ind__textf(t, " multiple of %lld", (long long)s->multiple_of);
    }
}

/* Returns how many there are. */
static int ind__print_conditions(ind__text *t, const ind_module *m, bool guards, bool json) {
    int n = 0;
    bool guard;
    const char *text;
    for (int i = 0; (text = ind_module_query_condition(m, i, &guard)) != NULL; i++) {
        if (guard != guards) continue;
        if (n++) ind__textf(t, ", ");
        if (json) {
            ind__text_json(t, text);
        } else {
            ind__textf(t, "%s", text);
        }
    }
    return n;
}

static void ind__print_index_bits(ind__text *t, const ind_plan *plan) {
    uint32_t wide = 0;
    for (uint32_t i = 0; i < plan->num_kernels; i++) {
        bool any = false;
        for (int v = 0; v < plan->kernel[i].num_variants; v++) any |= plan->kernel[i].variant[v].index_bits > 32;
        wide += any;
    }
    if (wide == 0) {
        ind__textf(t, "; 32-bit indices");
    } else {
        ind__textf(t, "; 64-bit indices in %u of %u kernels", (unsigned)wide, (unsigned)plan->num_kernels);
    }
}

/* "facts: S == 4*T; guards: none; kernels valid for B in [1, 4096]; 32-bit indices" */
static void ind__print_validity(ind__text *t, const ind_module *m, bool plan) {
    if (m->desc.num_sizes == 0) return;
    size_t before = t->size;
    ind__textf(t, "facts: ");
    if (ind__print_conditions(t, m, false, false)) {
        ind__textf(t, "; guards: ");
    } else {
        t->size = before; /* without facts there is nothing to say of them */
        ind__textf(t, "guards: ");
    }
    if (!ind__print_conditions(t, m, true, false)) ind__textf(t, "none");
    ind__textf(t, "; kernels valid for ");
    ind__print_ranges(t, m);
    if (plan) ind__print_index_bits(t, m->desc.plan);
    ind__textf(t, "\n");
}

/* The same as further keys of the JSON object that t ends with. */
static void ind__add_json_validity(ind__text *t, const ind_module *m) {
    while (t->size && t->data[t->size - 1] != '}') t->size--;
    if (t->size) t->size--;
    ind__textf(t, ", \"sizes\": [");
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        const ind_symbol *s = ind_module_query_size(m, (int)i);
        ind__textf(t, "%s{\"name\": \"%s\", \"lo\": %lld, \"hi\": %lld, \"multiple_of\": %lld}", i ? ", " : "", s->name,
                   (long long)s->lo, (long long)s->hi, (long long)s->multiple_of);
    }
    ind__textf(t, "], \"facts\": [");
    ind__print_conditions(t, m, false, true);
    ind__textf(t, "], \"guards\": [");
    ind__print_conditions(t, m, true, true);
    ind__textf(t, "]}\n");
}

/* ---- texts, made when first asked for and kept by the module */

static ind_status ind__print_stage(ind__text *t, ind_module *m, ind_stage stage) {
    ind_status status = stage >= IND_STAGE_PLAN ? ind__need_plan(m) : IND_OK;
    if (status) return status;
    switch (stage) {
    case IND_STAGE_LOOPS: ind__lowered_print(t, m->desc.lowered); break;
    case IND_STAGE_SCHEDULE: ind__schedule_print(t, m->desc.schedule, ind__module_origin, m); break;
    case IND_STAGE_PLAN: ind__plan_print(t, m->desc.plan); break;
    case IND_STAGE_CUDA: ind__plan_print_source(t, m->desc.plan); break;
    case IND_STAGE_PTX: return ind__print_ptx(t, m);
    case IND_STAGE_CUBIN: return ind__print_cubins(t, m);
    default: break;
    }
    if (stage == IND_STAGE_SCHEDULE || stage == IND_STAGE_PLAN) ind__print_validity(t, m, stage == IND_STAGE_PLAN);
    return IND_OK;
}

/* The stages without a JSON form of their own are their text as one string. */
static ind_status ind__print_stage_json(ind__text *t, ind_module *m, ind_stage stage) {
    ind_status status = stage == IND_STAGE_PLAN ? ind__need_plan(m) : IND_OK;
    if (status) return status;
    if (stage == IND_STAGE_SCHEDULE) {
        ind__schedule_print_json(t, m->desc.schedule, ind__module_origin, m);
    } else if (stage == IND_STAGE_PLAN) {
        ind__plan_print_json(t, m->desc.plan);
    } else {
        const char *text = ind_module_text(m, stage);
        if (!text) return ind__failed(m->context);
        ind__textf(t, "{\"stage\": \"%s\", \"text\": ", ind__stage_names[stage]);
        ind__text_json(t, text);
        ind__textf(t, "}\n");
    }
    if (stage == IND_STAGE_SCHEDULE || stage == IND_STAGE_PLAN) ind__add_json_validity(t, m);
    return IND_OK;
}

static const char *ind__stage_text(ind_module *m, ind_stage stage, bool json) {
    if (!m) return NULL;
    if ((unsigned)stage >= IND_NUM_STAGES) {
        ind__fail(m->context, IND_INVALID_ARGUMENT, "there is no stage %d", (int)stage);
        return NULL;
    }
    char **kept = &m->stage_text[(int)stage + (json ? IND_NUM_STAGES : 0)];
    if (*kept) return *kept;
    ind__text t = {.context = m->context};
    ind_status status = json ? ind__print_stage_json(&t, m, stage) : ind__print_stage(&t, m, stage);
    if (!status) ind__text_raw(&t, "", 0);
    if (!status) status = ind__text_status(&t);
    if (status || !t.data) {
        ind__text_free(&t);
        return status ? NULL : "";
    }
    *kept = t.data;
    return *kept;
}

const char *ind_module_text(ind_module *module, ind_stage stage) {
    return ind__stage_text(module, stage, false);
}

const char *ind_module_json(ind_module *module, ind_stage stage) {
    return ind__stage_text(module, stage, true);
}

/* ------------------------------------------------------------------------------------------------ >>formula */

static ind_status ind__check_formula(ind_module *m, ind_formula f) {
    if (!ind__ok(f)) return ind__fail(m->context, IND_INVALID_ARGUMENT, "formula: not a valid expression");
    if (f.context == m->context) return IND_OK;
    return ind__fail(m->context, IND_INVALID_ARGUMENT, "formula: it belongs to another context than the module");
}

/* ---- what a module does */

int ind_module_num_kernels(const ind_module *module) {
    return module ? (int)module->desc.schedule->num_kernels : 0;
}

static void ind__fill_variant(ind_context *c, ind_variant_info *out, const ind__variant *v) {
    out->strategy = ind__strategy_text(v->strategy);
    for (int d = 0; d < 3; d++) out->grid[d] = ind__ok(v->grid[d]) ? v->grid[d] : ind_int(c, 1);
    out->threads = v->threads;
    out->shared_bytes = ind__ok(v->shared_bytes) ? v->shared_bytes : ind_int(c, 0);
    out->guard = (ind_formula){c, ind_expr_is_int(v->guard, NULL) ? 0 : v->guard.id}; /* the number 1: always */
    out->aligned = v->guard_aligned;
    out->vector = v->vector;
    out->index_bits = v->index_bits;
}

_Static_assert(sizeof(((ind_kernel_info *)0)->variant) / sizeof(ind_variant_info) == IND__MAX_VARIANTS, "one for each");

ind_status ind_module_query_kernel(ind_module *module, int index, ind_kernel_info *info) {
    if (!module || !info) return IND_INVALID_ARGUMENT;
    memset(info, 0, sizeof *info);
    ind_context *c = module->context;
    if (index < 0 || (uint32_t)index >= module->desc.schedule->num_kernels) {
        return ind__fail(c, IND_NOT_FOUND, "graph \"%s\" has no kernel %d; it has %u", module->desc.name, index,
                         (unsigned)module->desc.schedule->num_kernels);
    }
    ind_status status = ind__need_plan(module);
    if (status) return status;
    const ind_kernel *k = &module->desc.schedule->kernel[index];
    const ind_kernel_plan *p = &module->desc.plan->kernel[index];
    info->name = k->name;
    info->num_origins = (int)k->num_origins;
    info->bytes_read = k->bytes_read;
    info->bytes_written = k->bytes_written;
    info->flops = k->flops;
    info->num_variants = p->num_variants;
    for (int v = 0; v < p->num_variants; v++) {
        ind__fill_variant(c, &info->variant[v], &p->variant[v]);
        if (!ind__ok(info->variant[v].shared_bytes) || !ind__ok(info->variant[v].grid[2])) return ind__failed(c);
    }
    return IND_OK;
}

const char *ind_module_kernel_origin(const ind_module *module, int kernel, int index) {
    if (!module || kernel < 0 || kernel >= ind_module_num_kernels(module) || index < 0) return NULL;
    const ind_kernel *k = &module->desc.schedule->kernel[kernel];
    uint32_t node = (uint32_t)index < k->num_origins ? k->origin[index] : UINT32_MAX;
    return node < module->desc.num_origins ? module->desc.origin_name[node] : NULL;
}

/* The sum over all kernels of the formula at this place in ind_kernel. */
static ind_formula ind__module_total(const ind_module *m, size_t place) {
    if (!m) return (ind_formula){0};
    uint32_t n = m->desc.schedule->num_kernels;
    ind_expr none = {m->context, 0}, *term = ind__alloc(m->context, (n + (size_t)1) * sizeof *term);
    if (!term || n > INT32_MAX) return none;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&term[i], (const char *)&m->desc.schedule->kernel[i] + place, sizeof *term);
    }
    ind_facts *before = ind_facts_enter(m->context, m->facts);
    ind_expr sum = ind_expr_sum(m->context, term, (int)n);
    (void)ind_facts_enter(m->context, before);
    ind__free(m->context, term);
    return sum;
}

ind_formula ind_module_bytes_read(const ind_module *module) {
    return ind__module_total(module, offsetof(ind_kernel, bytes_read));
}

ind_formula ind_module_bytes_written(const ind_module *module) {
    return ind__module_total(module, offsetof(ind_kernel, bytes_written));
}

ind_formula ind_module_flops(const ind_module *module) {
    return ind__module_total(module, offsetof(ind_kernel, flops));
}

/* ---- values */

struct ind_evaluator {
    ind__owned owned; /* first */
    ind__program program;
    uint32_t *slot; /* by formula */
    int num;
    int64_t *values; /* slots of the program */
};

static void ind__evaluator_destroy_owned(ind__owned *owned) {
    ind_evaluator *e = (ind_evaluator *)owned;
    ind_context *c = e->program.context;
    ind__program_free(&e->program);
    ind__free(c, e->slot);
    ind__free(c, e->values);
    ind__free(c, e);
}

static ind_status ind__evaluator_fill(ind_evaluator *e, ind_module *m, const ind_formula *f) {
    ind_status status = ind__program_init(&e->program, m->context, m->desc.sizes, m->desc.num_sizes);
    e->slot = ind__alloc(m->context, ((size_t)e->num + 1) * sizeof *e->slot);
    if (!status && !e->slot) status = ind__failed(m->context);
    for (int i = 0; i < e->num && !status; i++) {
        status = ind__check_formula(m, f[i]);
        if (status) break;
        e->slot[i] = ind__program_add(&e->program, f[i]);
        if (e->slot[i] == UINT32_MAX) status = ind__failed(m->context);
    }
    size_t slots = (size_t)e->program.num_inputs + e->program.num_ops;
    if (!status && !(e->values = ind__alloc(m->context, (slots + 1) * sizeof *e->values)))
        status = ind__failed(m->context);
    return status;
}

ind_status ind_evaluator_create(ind_module *module, const ind_formula *f, int num, ind_evaluator **evaluator) {
    if (evaluator) *evaluator = NULL;
    if (!module) return IND_INVALID_ARGUMENT;
    if (!evaluator || !f || num < 1) {
        return ind__fail(module->context, IND_INVALID_ARGUMENT,
                         "evaluator: formulas or the place for it are NULL, or none");
    }
    ind_evaluator *e = ind__alloc(module->context, sizeof *e);
    if (!e) return ind__failed(module->context);
    e->num = num;
    e->program.context = module->context;
    ind_status status = ind__evaluator_fill(e, module, f);
    if (status) {
        ind__evaluator_destroy_owned(&e->owned);
        return status;
    }
    ind__own(module->context, &e->owned, ind__evaluator_destroy_owned);
    *evaluator = e;
    return IND_OK;
}

ind_status ind_evaluator_run(ind_evaluator *e, const int64_t *sizes_v, int64_t *values) {
    if (!e) return IND_INVALID_ARGUMENT;
    if (!values || (!sizes_v && e->program.num_inputs)) {
        return ind__fail(e->program.context, IND_INVALID_ARGUMENT, "evaluator: sizes or the place for values are NULL");
    }
    if (e->program.num_inputs) memcpy(e->values, sizes_v, e->program.num_inputs * sizeof *sizes_v);
    ind_status status = ind__program_run(&e->program, e->values);
    for (int i = 0; i < e->num && !status; i++) values[i] = e->values[e->slot[i]];
    return status;
}

void ind_evaluator_destroy(ind_evaluator *evaluator) {
    if (!evaluator) return;
    ind__disown(evaluator->program.context, &evaluator->owned);
    ind__evaluator_destroy_owned(&evaluator->owned);
}

typedef struct ind__size_values {
    const ind_module *module;
    const int64_t *value;
} ind__size_values;

static bool ind__size_value(const ind_symbol *symbol, void *user, int64_t *out) {
    const ind__size_values *v = user;
    for (uint32_t i = 0; i < v->module->desc.num_sizes; i++) {
        if (strcmp(ind_expr_symbol(v->module->desc.sizes[i])->name, symbol->name)) continue;
        *out = v->value[i];
        return true;
    }
    return false;
}

ind_status ind_formula_eval(ind_module *module, ind_formula f, const char *sizes, int64_t *value) {
    if (!module || !value) return IND_INVALID_ARGUMENT;
    ind_status status = ind__check_formula(module, f);
    if (status) return status;
    int64_t *values = ind__alloc(module->context, (module->desc.num_sizes + (size_t)1) * sizeof *values);
    if (!values) return ind__failed(module->context);
    status = ind__module_sizes(module, "run", sizes ? sizes : "", values);
    ind__size_values v = {module, values};
    if (!status) status = ind_expr_eval(f, ind__size_value, &v, value);
    ind__free(module->context, values);
    return status;
}

ind_status ind_formula_bounds(ind_module *module, ind_formula f, int64_t *lo, int64_t *hi) {
    if (lo) *lo = INT64_MIN;
    if (hi) *hi = INT64_MAX;
    if (!module) return IND_INVALID_ARGUMENT;
    if (!lo || !hi) return ind__fail(module->context, IND_INVALID_ARGUMENT, "formula: the place for a bound is NULL");
    ind_status status = ind__check_formula(module, f);
    if (!status) ind_bounds(module->facts, f, lo, hi);
    return status;
}

/* Number of the size of this name; UINT32_MAX, with an error: there is none, or it follows from others. */
static uint32_t ind__free_size(ind_module *m, const char *name) {
    uint32_t i = 0;
    while (i < m->desc.num_sizes && strcmp(ind_module_query_size(m, (int)i)->name, name)) i++;
    if (i == m->desc.num_sizes) {
        ind__fail(m->context, IND_NOT_FOUND, "formula: graph \"%s\" has no size \"%.60s\"", m->desc.name, name);
        return UINT32_MAX;
    }
    ind_expr e = ind_module_size_formula(m, (int)i);
    if (!ind__ok(e)) return i;
    char text[200];
    ind_expr_print(e, text, sizeof text);
    ind__fail(m->context, IND_INVALID_ARGUMENT, "formula: %s follows from a fact, it is %s; ask for a size in that",
              name, text);
    return UINT32_MAX;
}

static void ind__refuse_inverse(ind_context *c, const char *name, ind_expr coefficient) {
    char text[200];
    ind_expr_print(coefficient, text, sizeof text);
    if (ind__ok(coefficient)) {
        ind__fail(c, IND_NOT_SUPPORTED, "formula: it is not known to grow with %s, whose coefficient is %s", name,
                  text);
    } else {
        ind__fail(c, IND_NOT_SUPPORTED, "formula: it is not affine in %s; ind_formula_solve finds values", name);
    }
}

ind_formula ind_formula_invert(ind_module *module, ind_formula f, const char *name, int64_t limit) {
    ind_formula none = {module ? module->context : NULL, 0};
    ind_expr coefficient, rest;
    if (!module || ind__check_formula(module, f)) return none;
    ind_context *c = module->context;
    if (!name) return ind__fail(c, IND_INVALID_ARGUMENT, "formula: the name of the size is NULL"), none;
    uint32_t at = ind__free_size(module, name);
    if (at == UINT32_MAX) return none;
    ind_facts *before = ind_facts_enter(c, module->facts);
    c->error.status = IND_OK;
    ind_expr size = module->desc.sizes[at], inverse = none;
    if (module->facts) size = ind_simplify(module->facts, size); /* the symbol with the range that they give it */
    f = module->facts ? ind_simplify(module->facts, f) : f;
    bool affine = ind__ok(f) && ind__affine(f, size, &coefficient, &rest) && !ind__expr_depends(coefficient, size);
    if (affine && ind_known_lt(ind_int(c, 0), coefficient)) {
        ind_expr step = ind_int(c, ind_expr_symbol(size)->multiple_of);
        ind_expr room = ind_expr_sub(ind_int(c, limit), rest);
        inverse = ind_expr_mul(ind_expr_floordiv(room, ind_expr_mul(coefficient, step)), step);
    } else if (ind_error_status(c) == IND_OK) {
        ind__refuse_inverse(c, name, affine ? coefficient : none);
    }
    (void)ind_facts_enter(c, before);
    return inverse;
}

/* --------------------------------------------------------------------------------------------------- >>solve */
/* The largest value of one size for which a formula stays within a limit and all conditions hold. Both are one straight
   program over the sizes. A box is a range of the size. Walking the program once with intervals instead of numbers says
   of every slot what it lies between in the box, whether it rises or falls with the size, and whether every op has a
   value everywhere. Boxes are taken from the top: one in which nothing fits is dropped, one that fits as a whole ends
   the search, in one that rises the last value that fits is found by bisection, any other is halved. So the answer is
   right for every formula, and takes a few dozen steps for those that rise. */

typedef struct ind__span {
    int64_t lo, hi;
    bool rises, falls; /* it never falls, it never rises while the size grows; both: it does not change */
} ind__span;

typedef struct ind__solver {
    ind_module *module;
    ind__program program;
    uint32_t size, formula; /* slots */
    uint32_t *condition;    /* slots */
    uint32_t num_conditions;
    int64_t step, limit; /* the size is a multiple of step */
    int64_t *slot;
    ind__span *span;
    bool total; /* of the last box: every op has a value everywhere .. */
    bool never; /* .. or some op has one nowhere */
} ind__solver;

static ind__span ind__flip(ind__span a) {
    bool rises = a.rises;
    a.rises = a.falls;
    a.falls = rises;
    return a;
}

static bool ind__steady(ind__span a) {
    return a.rises && a.falls;
}

/* Overflow of an end: that point has no value. `above`: beyond the largest, else below the least number. */
static int64_t ind__saturate(bool overflow, bool above, int64_t exact) {
    return !overflow ? exact : above ? INT64_MAX : INT64_MIN;
}

static ind__span ind__span_add(ind__solver *s, ind__span a, ind__span b) {
    ind__span r = {0, 0, a.rises && b.rises, a.falls && b.falls};
    bool low = __builtin_add_overflow(a.lo, b.lo, &r.lo), high = __builtin_add_overflow(a.hi, b.hi, &r.hi);
    s->never |= (low && a.lo > 0) || (high && a.hi < 0); /* even the least is too large; even the largest too small */
    s->total &= !low && !high;
    r.lo = ind__saturate(low, a.lo > 0, r.lo);
    r.hi = ind__saturate(high, a.hi > 0, r.hi);
    return r;
}

/* How a product changes with the size: by the signs of its operands. */
static void ind__product_trend(ind__span *r, ind__span a, ind__span b) {
    bool a_up = a.lo >= 0, b_up = b.lo >= 0, a_down = a.hi <= 0, b_down = b.hi <= 0;
    ind__span x = b_down && !b_up ? ind__flip(a) : a, y = a_down && !a_up ? ind__flip(b) : b;
    r->rises = r->falls = ind__steady(a) && ind__steady(b);
    if (ind__steady(a) && (a_up || a_down)) { /* a number times b */
        r->rises = y.rises, r->falls = y.falls;
    } else if (ind__steady(b) && (b_up || b_down)) {
        r->rises = x.rises, r->falls = x.falls;
    } else if ((a_up || a_down) && (b_up || b_down)) {
        r->rises = x.rises && y.rises, r->falls = x.falls && y.falls;
    }
}

/* Ends of a function of two operands that is monotone in each while the other stands still: at the corners. */
static ind__span ind__corners(ind__solver *s, ind__span a, ind__span b,
                              bool (*apply)(int64_t, int64_t, int64_t *, bool *)) {
    ind__span r = {INT64_MAX, INT64_MIN, false, false};
    int above = 0, below = 0;
    for (int k = 0; k < 4; k++) {
        int64_t v;
        bool up;
        if (apply(k & 1 ? a.hi : a.lo, k & 2 ? b.hi : b.lo, &v, &up)) {
            above += up, below += !up;
            v = up ? INT64_MAX : INT64_MIN;
        }
        if (v < r.lo) r.lo = v;
        if (v > r.hi) r.hi = v;
    }
    s->total &= above + below == 0;
    s->never |= above == 4 || below == 4;
    return r;
}

static bool ind__mul_ends(int64_t a, int64_t b, int64_t *out, bool *above) {
    *above = (a < 0) == (b < 0);
    return __builtin_mul_overflow(a, b, out);
}

static bool ind__div_ends(int64_t a, int64_t b, int64_t *out, bool *above) {
    *above = true;
    *out = INT64_MAX;
    if (a == INT64_MIN && b == -1) return true;
    *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return false;
}

static ind__span ind__span_mul(ind__solver *s, ind__span a, ind__span b) {
    ind__span r = ind__corners(s, a, b, ind__mul_ends);
    ind__product_trend(&r, a, b);
    return r;
}

/* a // b where b may be 0 has no value there; elsewhere it is no larger than a. */
static ind__span ind__span_div_zero(ind__solver *s, ind__span a, ind__span b) {
    int64_t low = a.lo == INT64_MIN ? INT64_MAX : a.lo < 0 ? -a.lo : a.lo;
    int64_t high = a.hi == INT64_MIN ? INT64_MAX : a.hi < 0 ? -a.hi : a.hi, most = low > high ? low : high;
    ind__span r = {-most, most, false, false};
    s->total = false;
    s->never |= b.lo == 0 && b.hi == 0;
    return r;
}

static ind__span ind__span_div(ind__solver *s, ind__span a, ind__span b) {
    if (b.lo <= 0 && b.hi >= 0) return ind__span_div_zero(s, a, b);
    ind__span r = ind__corners(s, a, b, ind__div_ends);
    ind__product_trend(&r, a, ind__flip(b)); /* 1 / b falls where b rises, and has its sign */
    return r;
}

static ind__span ind__span_mod(ind__solver *s, ind__span a, ind__span b) {
    if (b.lo <= 0 && b.hi >= 0) {
        ind__span r = {b.lo < 0 ? b.lo + 1 : 0, b.hi > 0 ? b.hi - 1 : 0, false, false};
        s->total = false;
        s->never |= b.lo == 0 && b.hi == 0;
        return r;
    }
    int64_t first, last;
    bool above, one = b.lo == b.hi && b.lo > -INT32_MAX && b.lo < INT32_MAX && a.lo > INT64_MIN / 2;
    if (one && !ind__div_ends(a.lo, b.lo, &first, &above) && !ind__div_ends(a.hi, b.lo, &last, &above) &&
        first == last) {
        int64_t from = first * b.lo; /* all within one multiple of b: only shifted */
        return (ind__span){a.lo - from, a.hi - from, a.rises, a.falls};
    }
    if (a.lo >= 0 && a.hi < b.lo) return a;
    bool steady = ind__steady(a) && ind__steady(b);
    ind__span r = {b.hi < 0 ? b.lo + 1 : 0, b.hi < 0 ? 0 : b.hi - 1, steady, steady};
    if (a.lo >= 0 && b.lo > 0 && a.hi < r.hi) r.hi = a.hi;
    return r;
}

static ind__span ind__span_pick(ind__span a, ind__span b, bool largest) {
    bool lo_a = (a.lo > b.lo) == largest, hi_a = (a.hi > b.hi) == largest;
    return (ind__span){lo_a ? a.lo : b.lo, hi_a ? a.hi : b.hi, a.rises && b.rises, a.falls && b.falls};
}

/* Whether it is not 0, as 0 or 1. */
static ind__span ind__span_truth(ind__span a) {
    bool steady = ind__steady(a), grows = a.lo >= 0;
    return (ind__span){a.lo > 0 || a.hi < 0, a.lo != 0 || a.hi != 0, steady || (grows && a.rises),
                       steady || (grows && a.falls)};
}

static ind__span ind__span_not(ind__span a) {
    ind__span t = ind__flip(ind__span_truth(a));
    return (ind__span){!t.hi, !t.lo, t.rises, t.falls};
}

/* a <= b */
static ind__span ind__span_le(ind__span a, ind__span b) {
    return (ind__span){a.hi <= b.lo, a.lo <= b.hi, a.falls && b.rises, a.rises && b.falls};
}

static ind__span ind__span_eq(ind__span a, ind__span b) {
    bool steady = ind__steady(a) && ind__steady(b), apart = a.hi < b.lo || b.hi < a.lo;
    return (ind__span){a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, !apart, steady || apart, steady || apart};
}

static ind__span ind__span_where(ind__span condition, ind__span a, ind__span b) {
    ind__span t = ind__span_truth(condition);
    if (t.lo == t.hi) return t.lo ? a : b;
    return (ind__span){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, false, false};
}

static ind__span ind__span_op(ind__solver *s, const ind__program_op *op) {
    ind__span a = s->span[op->a], b = s->span[op->b], c = s->span[op->c];
    switch ((ind_expr_kind)op->kind) {
    case IND_EXPR_INT: return (ind__span){op->imm, op->imm, true, true};
    case IND_EXPR_ADD: return ind__span_add(s, a, b);
    case IND_EXPR_MUL: return ind__span_mul(s, a, b);
    case IND_EXPR_FLOORDIV: return ind__span_div(s, a, b);
    case IND_EXPR_MOD: return ind__span_mod(s, a, b);
    case IND_EXPR_MIN: return ind__span_pick(a, b, false);
    case IND_EXPR_MAX: return ind__span_pick(a, b, true);
    case IND_EXPR_EQ: return ind__span_eq(a, b);
    case IND_EXPR_NE: return ind__span_not(ind__span_eq(a, b));
    case IND_EXPR_LE: return ind__span_le(a, b);
    case IND_EXPR_LT: return ind__span_not(ind__span_le(b, a));
    case IND_EXPR_AND: return ind__span_pick(ind__span_truth(a), ind__span_truth(b), false);
    case IND_EXPR_OR: return ind__span_pick(ind__span_truth(a), ind__span_truth(b), true);
    case IND_EXPR_NOT: return ind__span_not(a);
    case IND_EXPR_WHERE: return ind__span_where(a, b, c);
    default: s->total = false; return (ind__span){INT64_MIN, INT64_MAX, false, false};
    }
}

/* Fills the spans for the size in [first, last], in steps. */
static void ind__survey(ind__solver *s, int64_t first, int64_t last) {
    s->total = true;
    s->never = false;
    for (uint32_t i = 0; i < s->program.num_inputs; i++) s->span[i] = (ind__span){s->slot[i], s->slot[i], true, true};
    s->span[s->size] = (ind__span){first * s->step, last * s->step, true, first == last};
    for (uint32_t i = 0; i < s->program.num_ops && !s->never; i++) {
        s->span[s->program.num_inputs + i] = ind__span_op(s, &s->program.op[i]);
    }
}

static bool ind__fits(ind__solver *s, int64_t steps) {
    s->slot[s->size] = steps * s->step;
    bool ok = !ind__program_run(&s->program, s->slot) && s->slot[s->formula] <= s->limit;
    for (uint32_t i = 0; ok && i < s->num_conditions; i++) ok = s->slot[s->condition[i]] != 0;
    return ok;
}

typedef enum ind__box_kind { IND__BOX_NONE, IND__BOX_ALL, IND__BOX_PREFIX, IND__BOX_MIXED } ind__box_kind;

/* What fits of a box: nothing, all, a first part of it (or nothing), or that is not known. */
static ind__box_kind ind__judge(ind__solver *s, int64_t first, int64_t last) {
    ind__survey(s, first, last);
    if (s->never || s->span[s->formula].lo > s->limit) return IND__BOX_NONE;
    bool all = s->total && s->span[s->formula].hi <= s->limit, prefix = s->total && s->span[s->formula].rises;
    for (uint32_t i = 0; i < s->num_conditions; i++) {
        ind__span t = ind__span_truth(s->span[s->condition[i]]);
        if (!t.hi) return IND__BOX_NONE;
        all &= t.lo != 0;
        prefix &= t.lo || t.falls; /* once it fails it goes on failing */
    }
    return all ? IND__BOX_ALL : prefix ? IND__BOX_PREFIX : IND__BOX_MIXED;
}

/* The middle, rounded up; ends of any sign. */
static int64_t ind__upper_middle(int64_t a, int64_t b) {
    uint64_t width = (uint64_t)b - (uint64_t)a;
    return (int64_t)((uint64_t)a + width / 2 + width % 2);
}

/* The last of [first, last] that fits, where all up to it do. False: none does. */
static bool ind__bisect(ind__solver *s, int64_t first, int64_t last, int64_t *found) {
    if (!ind__fits(s, first)) return false;
    while (first < last) {
        int64_t middle = ind__upper_middle(first, last);
        if (ind__fits(s, middle)) {
            first = middle;
        } else {
            last = middle - 1;
        }
    }
    *found = first;
    return true;
}

#define IND__SOLVE_WORK (INT64_C(1) << 26) /* ops that may be looked at: a second or so */

/* Searches [first, last] from the top. IND_OUT_OF_RANGE: nothing fits; IND_LIMIT: gave up. */
static ind_status ind__search(ind__solver *s, int64_t first, int64_t last, int64_t *found) {
    int64_t low[72], high[72], work = 0; /* halves of halves: at most 64 wait */
    int n = 1;
    low[0] = first, high[0] = last;
    while (n > 0) {
        int64_t a = low[--n], b = high[n], middle = ind__upper_middle(a, b);
        if ((work += s->program.num_ops + 16) > IND__SOLVE_WORK) return IND_LIMIT;
        ind__box_kind kind = a == b ? (ind__fits(s, a) ? IND__BOX_ALL : IND__BOX_NONE) : ind__judge(s, a, b);
        if (kind == IND__BOX_ALL) return *found = b, IND_OK;
        if (kind == IND__BOX_PREFIX && ind__bisect(s, a, b, found)) return IND_OK;
        if (kind != IND__BOX_MIXED) continue;
        low[n] = a, high[n++] = middle - 1;
        low[n] = middle, high[n++] = b;
    }
    return IND_OUT_OF_RANGE;
}

static ind_status ind__solver_require(ind__solver *s, ind_expr condition) {
    int64_t value;
    if (ind_expr_is_int(condition, &value) && value) return IND_OK;
    uint32_t slot = ind__program_add(&s->program, condition);
    if (slot == UINT32_MAX) return ind__failed(s->module->context);
    s->condition[s->num_conditions++] = slot;
    return IND_OK;
}

/* A size that follows from others lies in its range too, and is what was given for it, if it was. */
static ind_status ind__require_derived(ind__solver *s, uint32_t size, int64_t given) {
    ind_context *c = s->module->context;
    const ind_symbol *symbol = ind_module_query_size(s->module, (int)size);
    ind_expr e = ind_module_size_formula(s->module, (int)size);
    ind_status status = ind__solver_require(s, ind_expr_le(ind_int(c, symbol->lo), e));
    if (!status) status = ind__solver_require(s, ind_expr_le(e, ind_int(c, symbol->hi)));
    if (!status) {
        ind_expr rest = ind_expr_mod(e, ind_int(c, symbol->multiple_of));
        status = ind__solver_require(s, ind_expr_eq(rest, ind_int(c, 0)));
    }
    bool fixed = given != IND__SIZE_UNSET;
    return status || !fixed ? status : ind__solver_require(s, ind_expr_eq(e, ind_int(c, given)));
}

/* Conditions in the free sizes alone; built under no facts, since under them they would hold. */
static ind_status ind__solver_conditions(ind__solver *s, const int64_t *given) {
    ind_module *m = s->module;
    ind_expr *from = ind__alloc(m->context, (2 * (size_t)m->desc.num_sizes + 1) * sizeof *from);
    ind_status status = from ? IND_OK : ind__failed(m->context);
    int n = 0;
    for (uint32_t i = 0; i < m->desc.num_sizes && !status; i++) {
        ind_expr e = ind_module_size_formula(m, (int)i);
        if (!ind__ok(e)) continue;
        from[n] = m->desc.sizes[i];
        from[m->desc.num_sizes + (uint32_t)n++] = e;
        status = ind__require_derived(s, i, given[i]);
    }
    for (uint32_t i = 0; i < m->desc.num_conditions && !status; i++) {
        ind_expr e = ind__substitute(m->desc.condition[i].e, from, from + m->desc.num_sizes, n);
        status = ind__ok(e) ? ind__solver_require(s, e) : ind__failed(m->context);
    }
    ind__free(m->context, from);
    return status;
}

/* The sizes that are given; each free one but the unknown must be. */
static ind_status ind__solver_sizes(ind__solver *s, const char *sizes, int64_t *given) {
    ind_module *m = s->module;
    ind_status status = ind__module_given_sizes(m, "formula", sizes, given);
    for (uint32_t i = 0; i < m->desc.num_sizes && !status; i++) {
        const char *name = ind_module_query_size(m, (int)i)->name;
        bool missing = given[i] == IND__SIZE_UNSET, derived = ind__ok(ind_module_size_formula(m, (int)i));
        s->slot[i] = missing ? 0 : given[i];
        if (i == s->size && !missing) {
            status = ind__fail(m->context, IND_INVALID_ARGUMENT, "formula: size %s is both asked for and given", name);
        } else if (i != s->size && missing && !derived) {
            status =
                ind__fail(m->context, IND_INVALID_ARGUMENT, "formula: size %s has no value: give it as in \"%s=%lld\"",
                          name, name, (long long)ind_module_query_size(m, (int)i)->hint);
        }
    }
    return status;
}

static ind_status ind__solver_prepare(ind__solver *s, ind_formula f, const char *sizes) {
    ind_module *m = s->module;
    ind_context *c = m->context;
    uint32_t n = m->desc.num_sizes;
    ind_expr now = m->facts ? ind_simplify(m->facts, f) : f;
    ind_status status = ind__program_init(&s->program, c, m->desc.sizes, n);
    int64_t *given = ind__alloc(c, (n + (size_t)1) * sizeof *given);
    s->condition = ind__alloc(c, (4 * (size_t)n + m->desc.num_conditions + 1) * sizeof *s->condition);
    if (!status && (!given || !s->condition)) status = ind__failed(c);
    s->formula = status ? UINT32_MAX : ind__program_add(&s->program, now);
    if (!status && s->formula == UINT32_MAX) status = ind__failed(c);
    s->slot = status ? NULL : ind__alloc(c, (n + (size_t)1) * sizeof *s->slot); /* the program still grows */
    if (!status && !s->slot) status = ind__failed(c);
    if (!status) status = ind__solver_sizes(s, sizes, given);
    ind_facts *before = ind_facts_enter(c, NULL);
    if (!status) status = ind__solver_conditions(s, given);
    (void)ind_facts_enter(c, before);
    ind__free(c, given);
    if (status) return status;
    size_t slots = (size_t)n + s->program.num_ops;
    int64_t *all = ind__resize(c, s->slot, (n + (size_t)1) * sizeof *all, (slots + 1) * sizeof *all);
    s->span = ind__alloc(c, (slots + 1) * sizeof *s->span);
    if (all) s->slot = all;
    return all && s->span ? IND_OK : ind__failed(c);
}

static void ind__solver_free(ind__solver *s) {
    ind_context *c = s->module->context;
    ind__program_free(&s->program);
    ind__free(c, s->condition);
    ind__free(c, s->slot);
    ind__free(c, s->span);
}

/* IND_OK, and the largest number of steps that fits in *found. */
static ind_status ind__solve(ind__solver *s, int64_t *found) {
    const ind_symbol *symbol = ind_module_query_size(s->module, (int)s->size);
    int64_t m = s->step, first, last;
    bool above;
    ind__div_ends(symbol->lo, m, &first, &above);
    ind__div_ends(symbol->hi, m, &last, &above);
    first += symbol->lo % m != 0;
    ind_status status = first <= last ? ind__search(s, first, last, found) : IND_OUT_OF_RANGE;
    if (!status) return IND_OK;
    if (status == IND_LIMIT) {
        return ind__fail(s->module->context, IND_NOT_SUPPORTED,
                         "formula: it goes up and down with %s, or its conditions do, over too wide a range to search: "
                         "[%lld, %lld]",
                         symbol->name, (long long)symbol->lo, (long long)symbol->hi);
    }
    return ind__fail(s->module->context, status, "formula: for no %s in [%lld, %lld] is it allowed and at most %lld",
                     symbol->name, (long long)symbol->lo, (long long)symbol->hi, (long long)s->limit);
}

int64_t ind_formula_solve(ind_module *module, ind_formula f, const char *name, const char *sizes, int64_t limit) {
    int64_t found = 0;
    if (!module || ind__check_formula(module, f)) return -1;
    if (!name) return ind__fail(module->context, IND_INVALID_ARGUMENT, "formula: the name of the size is NULL"), -1;
    ind__solver s = {.module = module, .size = ind__free_size(module, name), .limit = limit};
    if (s.size == UINT32_MAX) return -1;
    s.step = ind_module_query_size(module, (int)s.size)->multiple_of;
    ind_status before = ind_error_status(module->context), status = ind__solver_prepare(&s, f, sizes);
    if (!status) status = ind__solve(&s, &found);
    ind__solver_free(&s);
    if (!status) module->context->error.status = before; /* values that overflowed on the way were no failure */
    return status ? -1 : found * s.step;
}

#endif /* INDUCTOR_GRAPH_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_GRAPH_IMPLEMENTATION */
