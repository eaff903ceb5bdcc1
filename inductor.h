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
   >>raise >>explain >>formula >>solve
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

   IN PLACE
   An op with an underscore behind its name writes its result to what its first operand shows, as in PyTorch: in text
   add_(x, y), copy_(part, y) with part = slice(x, 1, 2, 5) for x[:, 2:5] = y, index_put_(x, y, [i, j]); in C
   ind_inplace(x, ind_add(x, y)) for each of them. Views share memory: x reads as changed after a write to part. Views
   are made by slice, narrow, select, split, chunk, unbind, view, reshape and flatten (where strides allow it, else they
   copy, as in PyTorch), squeeze, unsqueeze, permute, transpose, movedim, diagonal, unfold, as_strided, alias and the
   broadcasting ops; all other results lie contiguously in memory of their own. Where an input's memory is written to,
   it holds what was written after the run. The graph itself keeps pure ops: it prints as slice_scatter(x, y, ..) and
   the like, and

   ind_mutate(cache, cache2), or `mutate cache = cache2` in text, says that an input's memory holds cache2 after the
   run, as torch.export says it of a program whose ops work in place. Nothing is copied for either where that can be
   avoided: scatters (index_put, index_copy, scatter_add, slice_scatter ..) of a tensor that nobody reads afterwards
   store what changes into its own memory, be it an input that is mutated or an intermediate, also through several
   views; elementwise ops read and write it once; other ops read what was there before. A KV cache so costs what one
   position has, whether the position is data (index_copy) or a symbolic size (slice_scatter). What others still read is
   copied; the schedule's text says so.

   OPS OF ONE'S OWN
   In three ways: ind_pointwise records a C function that describes one element, and ind_call calls a function that is
   written in CUDA C, with a twin in C for the host device (ind_function_register); both fuse with the ops around them.
   ind_extern calls what is not to be looked into, a kernel of another library for example (ind_extern_register): a
   step of its own that gets stream, pointers, sizes and workspace.

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
   and bf16 input; full gives f32 unless told otherwise; arange takes integers; a symbolic size is never squeezed; on
   integers x // 0 is 0 and x % 0 is x; what PyTorch calls empty is 0; i0 and special_i1 of infinity are infinite; mean
   and rstd of native norms are f32 for f16 and bf16 input, as on PyTorch's GPUs (group norm: as its weight); batch and
   instance norm do not update running statistics (_native_batch_norm_legit_functional gives new ones); gradients that
   are not asked for are empty; a NaN counts in every p-norm and distance; half_to_float of _softmax also takes bf16;
   of several NaN the indices of a max pool name the first; split, chunk and unbind need a number of results that does
   not hang on the sizes; as_strided needs an input, a constant or a reshape of one. */

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

/* --------------------------------------------------------------------------------------------------- >>ops */

/* The op table: the only list of graph ops. Columns: enumerator; text name (PyTorch's); operands (`?` optional, `*` a
   list of tensors, `*?` a list that may have gaps; a list stands last); attributes in order as name:kind or
   name:kind=default; number of results (0: as many as the attributes say); flags.
   Kinds: int, float, bool, str, dtype, ints (list of integers), floats (list of numbers), sizes (list of size
   expressions), size (one; may be symbolic), exprs (what the text form writes otherwise), scalar (number). `none` as
   default: may be left out. Flags: N random numbers, P pointwise, Q takes types that are only stored (8-bit floats; V
   and D do, too), V view, D data movement, R reduction, M matrix product, G gather, S source (no operands), C composite
   (lowered through several loops), B result is bool, F integer operands are computed as floats (f32), T the first
   operand must be a tensor (pointwise ops else take numbers too), U one value fills the result, Z a size of the result
   comes from data: the last attribute is its symbol, which the text form shows in the type of the result alone, _ has a
   form in place (add_: the manual, IN PLACE). Types that operands may promote to, as in PyTorch: f floats only, i
   integers and bool only, n not bool. */
#define IND_OPS(X)                                                                                                     \
    X(INPUT, "input", "", "", 1, "S")                                                                                  \
    X(CONST, "const", "", "", 1, "S")                                                                                  \
    X(SCALAR, "scalar", "", "value:scalar", 1, "SU") /* a Python number: promotes weakly */                            \
    X(FULL, "full", "", "size:sizes fill_value:scalar dtype:dtype=f32", 1, "SU")                                       \
    X(ARANGE, "arange", "", "start:size=0 end:size step:size=1 dtype:dtype=i64", 1, "S")                               \
    X(RAND, "rand", "seed", "size:sizes dtype:dtype=f32 stream:int=0", 1, "N")                                         \
    X(RANDN, "randn", "seed", "size:sizes dtype:dtype=f32 stream:int=0", 1, "N")                                       \
    X(RANDINT, "randint", "seed", "low:size=0 high:size size:sizes dtype:dtype=i64 stream:int=0", 1, "N")              \
    X(RANDPERM, "randperm", "seed", "n:size dtype:dtype=i64 stream:int=0", 1, "N")                                     \
    X(BERNOULLI, "bernoulli", "self seed", "stream:int=0", 1, "N")                                                     \
    X(NATIVE_DROPOUT, "native_dropout", "input seed", "p:float train:bool=true stream:int=0", 2, "N")                  \
    X(PHILOX, "philox", "key stream position", "first:int width:int", 1, "Pi") /* random bits: ind_philox */           \
    X(EYE, "eye", "", "n:size m:size=none dtype:dtype=f32", 1, "S")                                                    \
    X(LINSPACE, "linspace", "", "start:scalar end:scalar steps:size dtype:dtype=f32", 1, "S")                          \
    X(ADD, "add", "self other", "alpha:scalar=1", 1, "P_")                                                             \
    X(SUB, "sub", "self other", "alpha:scalar=1", 1, "P_")                                                             \
    X(MUL, "mul", "self other", "", 1, "P_")                                                                           \
    X(DIV, "div", "self other", "rounding_mode:str=none", 1, "PF_")                                                    \
    X(POW, "pow", "self exponent", "", 1, "P_")                                                                        \
    X(MAXIMUM, "maximum", "self other", "", 1, "P")                                                                    \
    X(MINIMUM, "minimum", "self other", "", 1, "P")                                                                    \
    X(EQ, "eq", "self other", "", 1, "PB_")                                                                            \
    X(NE, "ne", "self other", "", 1, "PB_")                                                                            \
    X(LT, "lt", "self other", "", 1, "PB_")                                                                            \
    X(LE, "le", "self other", "", 1, "PB_")                                                                            \
    X(GT, "gt", "self other", "", 1, "PB_")                                                                            \
    X(GE, "ge", "self other", "", 1, "PB_")                                                                            \
    X(NEG, "neg", "self", "", 1, "Pn_")                                                                                \
    X(EXP, "exp", "self", "", 1, "PF_")                                                                                \
    X(LOG, "log", "self", "", 1, "PF_")                                                                                \
    X(SQRT, "sqrt", "self", "", 1, "PF_")                                                                              \
    X(RSQRT, "rsqrt", "self", "", 1, "PF_")                                                                            \
    X(RECIPROCAL, "reciprocal", "self", "", 1, "PF_")                                                                  \
    X(TANH, "tanh", "self", "", 1, "PF_")                                                                              \
    X(ERF, "erf", "self", "", 1, "PF_")                                                                                \
    X(SIGMOID, "sigmoid", "self", "", 1, "PF_")                                                                        \
    X(RELU, "relu", "self", "", 1, "Pn_")                                                                              \
    X(GELU, "gelu", "self", "approximate:str=\"none\"", 1, "Pf_")                                                      \
    X(SILU, "silu", "self", "", 1, "Pf_")                                                                              \
    X(WHERE, "where", "condition self other", "", 1, "PQT")                                                            \
    X(CAST, "cast", "self", "dtype:dtype", 1, "PQ")                                                                    \
    X(SIN, "sin", "self", "", 1, "PF_")                                                                                \
    X(COS, "cos", "self", "", 1, "PF_")                                                                                \
    X(TAN, "tan", "self", "", 1, "PF_")                                                                                \
    X(ASIN, "asin", "self", "", 1, "PF_")                                                                              \
    X(ACOS, "acos", "self", "", 1, "PF_")                                                                              \
    X(ATAN, "atan", "self", "", 1, "PF_")                                                                              \
    X(SINH, "sinh", "self", "", 1, "PF_")                                                                              \
    X(COSH, "cosh", "self", "", 1, "PF_")                                                                              \
    X(ASINH, "asinh", "self", "", 1, "PF_")                                                                            \
    X(ACOSH, "acosh", "self", "", 1, "PF_")                                                                            \
    X(ATANH, "atanh", "self", "", 1, "PF_")                                                                            \
    X(EXP2, "exp2", "self", "", 1, "PF_")                                                                              \
    X(EXPM1, "expm1", "self", "", 1, "PF_")                                                                            \
    X(LOG2, "log2", "self", "", 1, "PF_")                                                                              \
    X(LOG10, "log10", "self", "", 1, "PF_")                                                                            \
    X(LOG1P, "log1p", "self", "", 1, "PF_")                                                                            \
    X(ERFC, "erfc", "self", "", 1, "PF_")                                                                              \
    X(LGAMMA, "lgamma", "self", "", 1, "PF_")                                                                          \
    X(ERFINV, "erfinv", "self", "", 1, "PF_")                                                                          \
    X(DIGAMMA, "digamma", "self", "", 1, "PF_")                                                                        \
    X(I0, "i0", "self", "", 1, "PF_")                                                                                  \
    X(SPECIAL_I0E, "special_i0e", "self", "", 1, "PF")                                                                 \
    X(SPECIAL_I1, "special_i1", "self", "", 1, "PF")                                                                   \
    X(SPECIAL_I1E, "special_i1e", "self", "", 1, "PF")                                                                 \
    X(SPECIAL_BESSEL_J0, "special_bessel_j0", "self", "", 1, "PF")                                                     \
    X(SPECIAL_BESSEL_J1, "special_bessel_j1", "self", "", 1, "PF")                                                     \
    X(SPECIAL_BESSEL_Y0, "special_bessel_y0", "self", "", 1, "PF")                                                     \
    X(SPECIAL_BESSEL_Y1, "special_bessel_y1", "self", "", 1, "PF")                                                     \
    X(POLYGAMMA, "polygamma", "self", "n:int", 1, "PF_")                                                               \
    X(SPECIAL_ZETA, "special_zeta", "self other", "", 1, "PF")                                                         \
    X(IGAMMA, "igamma", "self other", "", 1, "Pf_")                                                                    \
    X(IGAMMAC, "igammac", "self other", "", 1, "Pf_")                                                                  \
    X(SINC, "sinc", "self", "", 1, "PF_")                                                                              \
    X(LOGIT, "logit", "self", "eps:float=none", 1, "PF_")                                                              \
    X(FLOOR, "floor", "self", "", 1, "Pn_")                                                                            \
    X(CEIL, "ceil", "self", "", 1, "Pn_")                                                                              \
    X(TRUNC, "trunc", "self", "", 1, "Pn_")                                                                            \
    X(ROUND, "round", "self", "decimals:int=0", 1, "Pn_")                                                              \
    X(ABS, "abs", "self", "", 1, "Pn_")                                                                                \
    X(SIGN, "sign", "self", "", 1, "P_")                                                                               \
    X(SQUARE, "square", "self", "", 1, "P_")                                                                           \
    X(SIGNBIT, "signbit", "self", "", 1, "PB")                                                                         \
    X(ISNAN, "isnan", "self", "", 1, "PB")                                                                             \
    X(ISINF, "isinf", "self", "", 1, "PB")                                                                             \
    X(ISFINITE, "isfinite", "self", "", 1, "PB")                                                                       \
    X(LOGICAL_NOT, "logical_not", "self", "", 1, "PB_")                                                                \
    X(LOGICAL_AND, "logical_and", "self other", "", 1, "PB_")                                                          \
    X(LOGICAL_OR, "logical_or", "self other", "", 1, "PB_")                                                            \
    X(LOGICAL_XOR, "logical_xor", "self other", "", 1, "PB_")                                                          \
    X(BITWISE_NOT, "bitwise_not", "self", "", 1, "Pi_")                                                                \
    X(BITWISE_AND, "bitwise_and", "self other", "", 1, "Pi_")                                                          \
    X(BITWISE_OR, "bitwise_or", "self other", "", 1, "Pi_")                                                            \
    X(BITWISE_XOR, "bitwise_xor", "self other", "", 1, "Pi_")                                                          \
    X(BITWISE_LEFT_SHIFT, "bitwise_left_shift", "self other", "", 1, "Pin_")                                           \
    X(BITWISE_RIGHT_SHIFT, "bitwise_right_shift", "self other", "", 1, "Pin_")                                         \
    X(FLOOR_DIVIDE, "floor_divide", "self other", "", 1, "Pn_")                                                        \
    X(FMOD, "fmod", "self other", "", 1, "Pn_")                                                                        \
    X(REMAINDER, "remainder", "self other", "", 1, "Pn_")                                                              \
    X(ATAN2, "atan2", "self other", "", 1, "PF_")                                                                      \
    X(HYPOT, "hypot", "self other", "", 1, "Pf_")                                                                      \
    X(COPYSIGN, "copysign", "self other", "", 1, "PF_")                                                                \
    X(NEXTAFTER, "nextafter", "self other", "", 1, "Pf_")                                                              \
    X(XLOGY, "xlogy", "self other", "", 1, "PF_")                                                                      \
    X(LOGADDEXP, "logaddexp", "self other", "", 1, "Pf")                                                               \
    X(CLAMP, "clamp", "self min? max?", "", 1, "P_")                                                                   \
    X(LERP, "lerp", "self end weight", "", 1, "Pf_")                                                                   \
    X(ADDCMUL, "addcmul", "self tensor1 tensor2", "value:scalar=1", 1, "Pn_")                                          \
    X(ADDCDIV, "addcdiv", "self tensor1 tensor2", "value:scalar=1", 1, "Pf_")                                          \
    X(MASKED_FILL, "masked_fill", "self mask value", "", 1, "PT_")                                                     \
    X(NAN_TO_NUM, "nan_to_num", "self", "nan:float=0 posinf:float=none neginf:float=none", 1, "P_")                    \
    X(THRESHOLD, "threshold", "self", "threshold:scalar value:scalar", 1, "Pn_")                                       \
    X(HARDTANH, "hardtanh", "self", "min_val:scalar=-1 max_val:scalar=1", 1, "Pn_")                                    \
    X(RELU6, "relu6", "self", "", 1, "Pn_")                                                                            \
    X(HARDSIGMOID, "hardsigmoid", "self", "", 1, "Pf_")                                                                \
    X(HARDSWISH, "hardswish", "self", "", 1, "Pf_")                                                                    \
    X(LEAKY_RELU, "leaky_relu", "self", "negative_slope:float=0.01", 1, "Pf_")                                         \
    X(ELU, "elu", "self", "alpha:float=1 scale:float=1 input_scale:float=1", 1, "Pf_")                                 \
    X(CELU, "celu", "self", "alpha:float=1", 1, "Pf_")                                                                 \
    X(SELU, "selu", "self", "", 1, "Pf_")                                                                              \
    X(SOFTPLUS, "softplus", "self", "beta:float=1 threshold:float=20", 1, "Pf")                                        \
    X(MISH, "mish", "self", "", 1, "Pf_")                                                                              \
    X(LOG_SIGMOID, "log_sigmoid", "self", "", 1, "Pf")                                                                 \
    X(FILL, "fill", "self value", "", 1, "PT_")                                                                        \
    X(COPY, "copy", "self src", "", 1, "PT_")                                                                          \
    X(CLONE, "clone", "self", "", 1, "PQ")                                                                             \
    X(ALIAS, "alias", "self", "", 1, "V")                                                                              \
    X(FULL_LIKE, "full_like", "self", "fill_value:scalar dtype:dtype=none", 1, "U")                                    \
    X(ZEROS_LIKE, "zeros_like", "self", "dtype:dtype=none", 1, "U")                                                    \
    X(ONES_LIKE, "ones_like", "self", "dtype:dtype=none", 1, "U")                                                      \
    X(EMPTY_LIKE, "empty_like", "self", "dtype:dtype=none", 1, "U")                                                    \
    X(NEW_FULL, "new_full", "self", "size:sizes fill_value:scalar dtype:dtype=none", 1, "U")                           \
    X(NEW_ZEROS, "new_zeros", "self", "size:sizes dtype:dtype=none", 1, "U")                                           \
    X(NEW_ONES, "new_ones", "self", "size:sizes dtype:dtype=none", 1, "U")                                             \
    X(NEW_EMPTY, "new_empty", "self", "size:sizes dtype:dtype=none", 1, "U")                                           \
    X(ZEROS, "zeros", "", "size:sizes dtype:dtype=f32", 1, "SU")                                                       \
    X(ONES, "ones", "", "size:sizes dtype:dtype=f32", 1, "SU")                                                         \
    X(EMPTY, "empty", "", "size:sizes dtype:dtype=f32", 1, "SU") /* 0 where PyTorch leaves memory as it is */          \
    X(EMPTY_STRIDED, "empty_strided", "", "size:sizes stride:sizes dtype:dtype=f32", 1, "SU")                          \
    X(SCALAR_TENSOR, "scalar_tensor", "", "s:scalar dtype:dtype=f32", 1, "SU")                                         \
    X(CUSTOM, "custom", "inputs*", "dtype:dtype", 1, "PQ") /* ind_pointwise: a loop function of the user */            \
    X(CALL, "call", "inputs*", "function:str", 1, "PQ")    /* ind_call: a device function of the user */               \
    X(EXTERN, "extern", "inputs*", "name:str workspace:size=0 mutates:ints=none types:exprs", 0, "Q") /* opaque */     \
    X(SUM, "sum", "self", "dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                                 \
    X(MEAN, "mean", "self", "dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                               \
    X(AMAX, "amax", "self", "dim:ints=none keepdim:bool=false", 1, "R")                                                \
    X(AMIN, "amin", "self", "dim:ints=none keepdim:bool=false", 1, "R")                                                \
    X(ARGMAX, "argmax", "self", "dim:int=none keepdim:bool=false", 1, "R")                                             \
    X(ANY, "any", "self", "dim:ints=none keepdim:bool=false", 1, "RB")                                                 \
    X(MAX, "max", "self", "dim:int=none keepdim:bool=false", 2, "R")                                                   \
    X(ARGMIN, "argmin", "self", "dim:int=none keepdim:bool=false", 1, "R")                                             \
    X(MIN, "min", "self", "dim:int=none keepdim:bool=false", 2, "R")                                                   \
    X(AMINMAX, "aminmax", "self", "dim:int=none keepdim:bool=false", 2, "R")                                           \
    X(ALL, "all", "self", "dim:ints=none keepdim:bool=false", 1, "RB")                                                 \
    X(PROD, "prod", "self", "dim:int=none keepdim:bool=false dtype:dtype=none", 1, "R")                                \
    X(COUNT_NONZERO, "count_nonzero", "self", "dim:ints=none", 1, "R")                                                 \
    X(VAR, "var", "self", "dim:ints=none unbiased:bool=none keepdim:bool=false correction:scalar=none", 1, "R")        \
    X(STD, "std", "self", "dim:ints=none unbiased:bool=none keepdim:bool=false correction:scalar=none", 1, "R")        \
    X(VAR_MEAN, "var_mean", "self", "dim:ints=none unbiased:bool=none keepdim:bool=false correction:scalar=none", 2,   \
      "R")                                                                                                             \
    X(STD_MEAN, "std_mean", "self", "dim:ints=none unbiased:bool=none keepdim:bool=false correction:scalar=none", 2,   \
      "R")                                                                                                             \
    X(LOGSUMEXP, "logsumexp", "self", "dim:ints keepdim:bool=false", 1, "R")                                           \
    X(LINALG_VECTOR_NORM, "linalg_vector_norm", "self",                                                                \
      "ord:scalar=2 dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                                        \
    X(NORM, "norm", "self", "p:scalar=2 dim:ints=none keepdim:bool=false dtype:dtype=none", 1, "R")                    \
    X(CDIST, "cdist", "x1 x2", "p:float=2 compute_mode:int=none", 1, "R")                                              \
    X(CDIST_FORWARD, "_cdist_forward", "x1 x2", "p:float compute_mode:int=none", 1, "R")                               \
    X(PDIST_FORWARD, "_pdist_forward", "self", "p:float=2", 1, "R")                                                    \
    X(SOFTMAX_HALF, "_softmax", "self", "dim:int half_to_float:bool=false", 1, "C")                                    \
    X(LOG_SOFTMAX_HALF, "_log_softmax", "self", "dim:int half_to_float:bool=false", 1, "C")                            \
    X(MSE_LOSS, "mse_loss", "self target", "reduction:str=\"mean\"", 1, "R")                                           \
    X(L1_LOSS, "l1_loss", "self target", "reduction:str=\"mean\"", 1, "R")                                             \
    X(NLL_LOSS, "nll_loss", "self target weight?", "ignore_index:int=-100 reduction:str=\"mean\"", 1, "R")             \
    X(CROSS_ENTROPY, "cross_entropy", "self target weight?",                                                           \
      "ignore_index:int=-100 reduction:str=\"mean\" label_smoothing:float=0", 1, "C")                                  \
    X(SOFTMAX, "softmax", "self", "dim:int dtype:dtype=none", 1, "C")                                                  \
    X(LOG_SOFTMAX, "log_softmax", "self", "dim:int dtype:dtype=none", 1, "C")                                          \
    X(LAYER_NORM, "layer_norm", "input weight? bias?", "normalized_shape:sizes eps:float=1e-05", 1, "C")               \
    X(RMS_NORM, "rms_norm", "input weight?", "normalized_shape:sizes eps:float=none", 1, "C")                          \
    X(NATIVE_LAYER_NORM, "native_layer_norm", "input weight? bias?", "normalized_shape:sizes eps:float", 3, "C")       \
    X(GROUP_NORM, "group_norm", "input weight? bias?", "num_groups:int eps:float=1e-05", 1, "C")                       \
    X(NATIVE_GROUP_NORM, "native_group_norm", "input weight? bias?", "N:size C:size HxW:size group:int eps:float", 3,  \
      "C")                                                                                                             \
    X(BATCH_NORM, "batch_norm", "input weight? bias? running_mean? running_var?",                                      \
      "training:bool=false momentum:float=0.1 eps:float=1e-05", 1, "C")                                                \
    X(NATIVE_BATCH_NORM_LEGIT, "_native_batch_norm_legit", "input weight? bias? running_mean? running_var?",           \
      "training:bool momentum:float eps:float", 3, "C")                                                                \
    X(NATIVE_BATCH_NORM_LEGIT_NO_TRAINING, "_native_batch_norm_legit_no_training",                                     \
      "input weight? bias? running_mean running_var", "momentum:float eps:float", 3, "C")                              \
    X(NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL, "_native_batch_norm_legit_functional",                                       \
      "input weight? bias? running_mean running_var", "training:bool momentum:float eps:float", 5, "C")                \
    X(INSTANCE_NORM, "instance_norm", "input weight? bias? running_mean? running_var?",                                \
      "use_input_stats:bool=true momentum:float=0.1 eps:float=1e-05", 1, "C")                                          \
    X(NATIVE_LAYER_NORM_BACKWARD, "native_layer_norm_backward", "grad_out input mean rstd weight? bias?",              \
      "normalized_shape:sizes output_mask:ints", 3, "C")                                                               \
    X(NATIVE_GROUP_NORM_BACKWARD, "native_group_norm_backward", "grad_out input mean rstd weight?",                    \
      "N:size C:size HxW:size group:int output_mask:ints", 3, "C")                                                     \
    X(VIEW, "view", "self", "size:sizes", 1, "V")                                                                      \
    X(PERMUTE, "permute", "self", "dims:ints", 1, "V")                                                                 \
    X(TRANSPOSE, "transpose", "self", "dim0:int dim1:int", 1, "V")                                                     \
    X(EXPAND, "expand", "self", "size:sizes", 1, "V")                                                                  \
    X(UNSQUEEZE, "unsqueeze", "self", "dim:int", 1, "V")                                                               \
    X(SQUEEZE, "squeeze", "self", "dim:ints=none", 1, "V")                                                             \
    X(SLICE, "slice", "self", "dim:int=0 start:size=none end:size=none step:size=1", 1, "V")                           \
    X(SELECT, "select", "self", "dim:int index:size", 1, "V")                                                          \
    X(CAT, "cat", "tensors*", "dim:int=0", 1, "PQ")                                                                    \
    X(RESHAPE, "reshape", "self", "shape:sizes", 1, "V")                                                               \
    X(VIEW_AS, "view_as", "self other", "", 1, "V")                                                                    \
    X(FLATTEN, "flatten", "self", "start_dim:int=0 end_dim:int=-1", 1, "V")                                            \
    X(UNFLATTEN, "unflatten", "self", "dim:int sizes:sizes", 1, "V")                                                   \
    X(BROADCAST_TO, "broadcast_to", "self", "size:sizes", 1, "V")                                                      \
    X(EXPAND_AS, "expand_as", "self other", "", 1, "V")                                                                \
    X(BROADCAST_TENSORS, "broadcast_tensors", "tensors*", "", 0, "V")                                                  \
    X(MESHGRID, "meshgrid", "tensors*", "indexing:str=\"ij\"", 0, "V")                                                 \
    X(MOVEDIM, "movedim", "self", "source:ints destination:ints", 1, "V")                                              \
    X(NARROW, "narrow", "self", "dim:int start:size length:size", 1, "V")                                              \
    X(SPLIT, "split", "self", "split_size:size dim:int=0", 0, "V")                                                     \
    X(SPLIT_WITH_SIZES, "split_with_sizes", "self", "split_sizes:sizes dim:int=0", 0, "V")                             \
    X(CHUNK, "chunk", "self", "chunks:int dim:int=0", 0, "V")                                                          \
    X(UNBIND, "unbind", "self", "dim:int=0", 0, "V")                                                                   \
    X(UNFOLD, "unfold", "self", "dimension:int size:size step:size", 1, "V")                                           \
    X(DIAGONAL, "diagonal", "self", "offset:int=0 dim1:int=0 dim2:int=1", 1, "V")                                      \
    X(AS_STRIDED, "as_strided", "self", "size:sizes stride:sizes storage_offset:size=0", 1, "V")                       \
    X(FLIP, "flip", "self", "dims:ints", 1, "V")                                                                       \
    X(ROLL, "roll", "self", "shifts:sizes dims:ints=none", 1, "V")                                                     \
    X(REPEAT, "repeat", "self", "repeats:sizes", 1, "V")                                                               \
    X(TILE, "tile", "self", "dims:sizes", 1, "V")                                                                      \
    X(PIXEL_SHUFFLE, "pixel_shuffle", "self", "upscale_factor:int", 1, "V")                                            \
    X(PIXEL_UNSHUFFLE, "pixel_unshuffle", "self", "downscale_factor:int", 1, "V")                                      \
    X(STACK, "stack", "tensors*", "dim:int=0", 1, "D")                                                                 \
    X(SELECT_SCATTER, "select_scatter", "self src", "dim:int index:size", 1, "D")                                      \
    X(SLICE_SCATTER, "slice_scatter", "self src", "dim:int=0 start:size=none end:size=none step:size=1", 1, "D")       \
    X(DIAGONAL_SCATTER, "diagonal_scatter", "self src", "offset:int=0 dim1:int=0 dim2:int=1", 1, "D")                  \
    X(TRIL, "tril", "self", "diagonal:size=0", 1, "D_")                                                                \
    X(TRIU, "triu", "self", "diagonal:size=0", 1, "D_")                                                                \
    X(ONE_HOT, "one_hot", "self", "num_classes:size", 1, "G")                                                          \
    X(CONSTANT_PAD_ND, "constant_pad_nd", "self", "pad:sizes value:scalar=0", 1, "D")                                  \
    X(PAD, "pad", "self", "pad:sizes mode:str=\"constant\" value:scalar=none", 1, "D")                                 \
    X(REFLECTION_PAD1D, "reflection_pad1d", "self", "padding:sizes", 1, "D")                                           \
    X(REFLECTION_PAD2D, "reflection_pad2d", "self", "padding:sizes", 1, "D")                                           \
    X(REFLECTION_PAD3D, "reflection_pad3d", "self", "padding:sizes", 1, "D")                                           \
    X(REPLICATION_PAD1D, "replication_pad1d", "self", "padding:sizes", 1, "D")                                         \
    X(REPLICATION_PAD2D, "replication_pad2d", "self", "padding:sizes", 1, "D")                                         \
    X(REPLICATION_PAD3D, "replication_pad3d", "self", "padding:sizes", 1, "D")                                         \
    X(AVG_POOL1D, "avg_pool1d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true", 1, "R")  \
    X(AVG_POOL2D, "avg_pool2d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true "          \
      "divisor_override:int=none",                                                                                     \
      1, "R")                                                                                                          \
    X(AVG_POOL3D, "avg_pool3d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true "          \
      "divisor_override:int=none",                                                                                     \
      1, "R")                                                                                                          \
    X(MAX_POOL1D, "max_pool1d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "R")           \
    X(MAX_POOL2D, "max_pool2d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "R")           \
    X(MAX_POOL3D, "max_pool3d", "self",                                                                                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "R")           \
    X(MAX_POOL1D_WITH_INDICES, "max_pool1d_with_indices", "self",                                                      \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 2, "R")           \
    X(MAX_POOL2D_WITH_INDICES, "max_pool2d_with_indices", "self",                                                      \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 2, "R")           \
    X(MAX_POOL3D_WITH_INDICES, "max_pool3d_with_indices", "self",                                                      \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 2, "R")           \
    X(ADAPTIVE_AVG_POOL1D, "adaptive_avg_pool1d", "self", "output_size:sizes", 1, "R")                                 \
    X(ADAPTIVE_AVG_POOL2D, "adaptive_avg_pool2d", "self", "output_size:sizes", 1, "R")                                 \
    X(ADAPTIVE_AVG_POOL3D, "adaptive_avg_pool3d", "self", "output_size:sizes", 1, "R")                                 \
    X(ADAPTIVE_MAX_POOL1D, "adaptive_max_pool1d", "self", "output_size:sizes", 2, "R")                                 \
    X(ADAPTIVE_MAX_POOL2D, "adaptive_max_pool2d", "self", "output_size:sizes", 2, "R")                                 \
    X(ADAPTIVE_MAX_POOL3D, "adaptive_max_pool3d", "self", "output_size:sizes", 2, "R")                                 \
    X(CONVOLUTION, "convolution", "input weight bias?",                                                                \
      "stride:sizes padding:sizes dilation:sizes transposed:bool output_padding:sizes groups:int", 1, "M")             \
    X(CONV1D, "conv1d", "input weight bias?", "stride:sizes=none padding:sizes=none dilation:sizes=none groups:int=1", \
      1, "M")                                                                                                          \
    X(CONV2D, "conv2d", "input weight bias?", "stride:sizes=none padding:sizes=none dilation:sizes=none groups:int=1", \
      1, "M")                                                                                                          \
    X(CONV3D, "conv3d", "input weight bias?", "stride:sizes=none padding:sizes=none dilation:sizes=none groups:int=1", \
      1, "M")                                                                                                          \
    X(CONV_TRANSPOSE1D, "conv_transpose1d", "input weight bias?",                                                      \
      "stride:sizes=none padding:sizes=none output_padding:sizes=none groups:int=1 dilation:sizes=none", 1, "M")       \
    X(CONV_TRANSPOSE2D, "conv_transpose2d", "input weight bias?",                                                      \
      "stride:sizes=none padding:sizes=none output_padding:sizes=none groups:int=1 dilation:sizes=none", 1, "M")       \
    X(CONV_TRANSPOSE3D, "conv_transpose3d", "input weight bias?",                                                      \
      "stride:sizes=none padding:sizes=none output_padding:sizes=none groups:int=1 dilation:sizes=none", 1, "M")       \
    X(ADAPTIVE_AVG_POOL2D_CORE, "_adaptive_avg_pool2d", "self", "output_size:sizes", 1, "R")                           \
    X(ADAPTIVE_AVG_POOL3D_CORE, "_adaptive_avg_pool3d", "self", "output_size:sizes", 1, "R")                           \
    X(UPSAMPLE_NEAREST1D, "upsample_nearest1d", "self", "output_size:sizes=none scale_factors:floats=none", 1, "D")    \
    X(UPSAMPLE_NEAREST2D, "upsample_nearest2d", "self", "output_size:sizes=none scale_factors:floats=none", 1, "D")    \
    X(UPSAMPLE_NEAREST3D, "upsample_nearest3d", "self", "output_size:sizes=none scale_factors:floats=none", 1, "D")    \
    X(UPSAMPLE_NEAREST_EXACT1D, "_upsample_nearest_exact1d", "self",                                                   \
      "output_size:sizes=none scale_factors:floats=none", 1, "D")                                                      \
    X(UPSAMPLE_NEAREST_EXACT2D, "_upsample_nearest_exact2d", "self",                                                   \
      "output_size:sizes=none scale_factors:floats=none", 1, "D")                                                      \
    X(UPSAMPLE_NEAREST_EXACT3D, "_upsample_nearest_exact3d", "self",                                                   \
      "output_size:sizes=none scale_factors:floats=none", 1, "D")                                                      \
    X(UPSAMPLE_LINEAR1D, "upsample_linear1d", "self",                                                                  \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "G")                             \
    X(UPSAMPLE_BILINEAR2D, "upsample_bilinear2d", "self",                                                              \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "G")                             \
    X(UPSAMPLE_TRILINEAR3D, "upsample_trilinear3d", "self",                                                            \
      "output_size:sizes=none align_corners:bool=false scale_factors:floats=none", 1, "G")                             \
    X(INTERPOLATE, "interpolate", "self",                                                                              \
      "size:sizes=none scale_factor:floats=none mode:str=\"nearest\" align_corners:bool=false", 1, "G")                \
    X(GRID_SAMPLER_2D, "grid_sampler_2d", "input grid", "interpolation_mode:int padding_mode:int align_corners:bool",  \
      1, "G")                                                                                                          \
    X(IM2COL, "im2col", "self", "kernel_size:ints dilation:ints padding:ints stride:ints", 1, "D")                     \
    X(COL2IM, "col2im", "self", "output_size:sizes kernel_size:ints dilation:ints padding:ints stride:ints", 1, "R")   \
    X(CONVOLUTION_BACKWARD, "convolution_backward", "grad_output input weight",                                        \
      "bias_sizes:sizes=none stride:sizes padding:sizes dilation:sizes transposed:bool output_padding:sizes "          \
      "groups:int output_mask:ints=none",                                                                              \
      3, "M")                                                                                                          \
    X(EMBEDDING, "embedding", "weight indices",                                                                        \
      "padding_idx:int=none scale_grad_by_freq:bool=false sparse:bool=false", 1, "GQ") /* they mean gradients only */  \
    X(GATHER, "gather", "self index", "dim:int", 1, "GQ")                                                              \
    X(INDEX_SELECT, "index_select", "self index", "dim:int", 1, "GQ")                                                  \
    X(INDEX, "index", "self indices*?", "", 1, "G")                                                                    \
    X(TAKE, "take", "self index", "", 1, "G")                                                                          \
    X(INDEX_PUT, "index_put", "self values indices*?", "accumulate:bool=false", 1, "G_")                               \
    X(PUT, "put", "self index source", "accumulate:bool=false", 1, "G_")                                               \
    X(SCATTER, "scatter", "self index src?", "dim:int value:scalar=none", 1, "G_")                                     \
    X(SCATTER_ADD, "scatter_add", "self index src", "dim:int", 1, "G_")                                                \
    X(SCATTER_REDUCE, "scatter_reduce", "self index src", "dim:int reduce:str include_self:bool=true", 1, "G_")        \
    X(INDEX_ADD, "index_add", "self index source", "dim:int alpha:scalar=1", 1, "G_")                                  \
    X(INDEX_COPY, "index_copy", "self index source", "dim:int", 1, "G_")                                               \
    X(INDEX_FILL, "index_fill", "self index", "dim:int value:scalar", 1, "G_")                                         \
    X(EMBEDDING_DENSE_BACKWARD, "embedding_dense_backward", "grad_output indices",                                     \
      "num_weights:size padding_idx:int=none scale_grad_by_freq:bool=false", 1, "G")                                   \
    X(AVG_POOL2D_BACKWARD, "avg_pool2d_backward", "grad_output self",                                                  \
      "kernel_size:ints stride:ints=none padding:ints=none ceil_mode:bool=false count_include_pad:bool=true "          \
      "divisor_override:int=none",                                                                                     \
      1, "G")                                                                                                          \
    X(ADAPTIVE_AVG_POOL2D_BACKWARD, "_adaptive_avg_pool2d_backward", "grad_output self", "", 1, "G")                   \
    X(MAX_POOL2D_WITH_INDICES_BACKWARD, "max_pool2d_with_indices_backward", "grad_output self indices",                \
      "kernel_size:ints stride:ints=none padding:ints=none dilation:ints=none ceil_mode:bool=false", 1, "G")           \
    X(CUMSUM, "cumsum", "self", "dim:int dtype:dtype=none", 1, "R_")                                                   \
    X(CUMPROD, "cumprod", "self", "dim:int dtype:dtype=none", 1, "R_")                                                 \
    X(CUMMAX, "cummax", "self", "dim:int", 2, "R")                                                                     \
    X(CUMMIN, "cummin", "self", "dim:int", 2, "R")                                                                     \
    X(LOGCUMSUMEXP, "logcumsumexp", "self", "dim:int", 1, "R")                                                         \
    X(ASSOCIATIVE_SCAN, "associative_scan", "inputs*",                                                                 \
      "dim:int count:int=1 reverse:bool=false exclusive:bool=false segmented:bool=false", 0, "R")                      \
    X(SORT, "sort", "self", "dim:int=-1 descending:bool=false stable:bool=false", 2, "R")                              \
    X(ARGSORT, "argsort", "self", "dim:int=-1 descending:bool=false stable:bool=false", 1, "R")                        \
    X(TOPK, "topk", "self", "k:size dim:int=-1 largest:bool=true sorted:bool=true", 2, "R")                            \
    X(MSORT, "msort", "self", "", 1, "R")                                                                              \
    X(KTHVALUE, "kthvalue", "self", "k:size dim:int=-1 keepdim:bool=false", 2, "R")                                    \
    X(MEDIAN, "median", "self", "dim:int=none keepdim:bool=false", 2, "R")                                             \
    X(NANMEDIAN, "nanmedian", "self", "dim:int=none keepdim:bool=false", 2, "R")                                       \
    X(MODE, "mode", "self", "dim:int=-1 keepdim:bool=false", 2, "R")                                                   \
    X(QUANTILE, "quantile", "self q", "dim:int=none keepdim:bool=false interpolation:str=\"linear\"", 1, "R")          \
    X(NANQUANTILE, "nanquantile", "self q", "dim:int=none keepdim:bool=false interpolation:str=\"linear\"", 1, "R")    \
    X(DIFF, "diff", "self prepend? append?", "n:int=1 dim:int=-1", 1, "D")                                             \
    X(MULTINOMIAL, "multinomial", "self seed", "num_samples:size replacement:bool=false stream:int=0", 1, "N")         \
    X(SEARCHSORTED, "searchsorted", "sorted_sequence self sorter?",                                                    \
      "out_int32:bool=false right:bool=false side:str=none", 1, "G")                                                   \
    X(BUCKETIZE, "bucketize", "self boundaries", "out_int32:bool=false right:bool=false", 1, "G")                      \
    X(MASKED_SCATTER, "masked_scatter", "self mask source", "", 1, "G_")                                               \
    X(NONZERO, "nonzero", "self", "min_length:int=0 max_length:size=none length:size=none", 1, "Z")                    \
    X(ARGWHERE, "argwhere", "self", "min_length:int=0 max_length:size=none length:size=none", 1, "Z")                  \
    X(MASKED_SELECT, "masked_select", "self mask", "min_length:int=0 max_length:size=none length:size=none", 1, "Z")   \
    X(UNIQUE, "unique", "self",                                                                                        \
      "sorted:bool=true return_inverse:bool=false return_counts:bool=false dim:int=none length:size=none", 0, "Z")     \
    X(UNIQUE_CONSECUTIVE, "unique_consecutive", "self",                                                                \
      "return_inverse:bool=false return_counts:bool=false dim:int=none length:size=none", 0, "Z")                      \
    X(REPEAT_INTERLEAVE, "repeat_interleave", "self repeats?",                                                         \
      "dim:int=none output_size:size=none max_output_size:size=none length:size=none", 1, "Z")                         \
    X(MATMUL, "matmul", "self other", "", 1, "M")                                                                      \
    X(MM, "mm", "self mat2", "", 1, "M")                                                                               \
    X(BMM, "bmm", "self mat2", "", 1, "M")                                                                             \
    X(ADDMM, "addmm", "self mat1 mat2", "beta:scalar=1 alpha:scalar=1", 1, "M_")                                       \
    X(LINEAR, "linear", "input weight bias?", "", 1, "M")                                                              \
    X(SCALED_DOT_PRODUCT_ATTENTION, "scaled_dot_product_attention", "query key value attn_mask?",                      \
      "dropout_p:float=0 is_causal:bool=false scale:float=none enable_gqa:bool=false", 1, "C")

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
/* m zeroed: n. dtype NONE: f32. */
IND_API ind_tensor ind_eye(ind_graph *graph, ind_expr n, ind_expr m, ind_dtype dtype);
IND_API ind_tensor ind_linspace(ind_graph *graph, double start, double end, ind_expr steps, ind_dtype dtype);

/* Random numbers. Nothing is hidden: element e (row-major) of a result is a function of the seed (a tensor i64[]), the
   op's stream and e alone, the same on every device: the bits of Philox 4x32-10 with key = seed, counter = (e, stream).
   Ops with the same seed and stream give the same numbers; give each op a stream, each run a seed.
     rand       in [0, 1): bits 40 to 63 * 2^-24 for f32, 53 to 63 * 2^-11 for f16, 56 to 63 * 2^-8 for bf16, 11 to 63 *
                2^-53 for f64
     randn      sqrt(-2 log u) cos(2 pi v) (Box and Muller 1958): u = (bits 40 to 63 + 1) * 2^-24, v = bits 104 to 127 *
                2^-24; with f64 u from bits 11 to 63, v from bits 75 to 127, times 2^-53
     randint    low + (bits 0 to 62) mod (high - low); low < high must be known
     randperm   0 to n - 1 in the order of bits 0 to 62 of each (of equal ones the lower first)
     bernoulli  1 where a number as of rand in f32 (f64) is < self, a probability for each element; else 0
     multinomial  of the weights in a row (f64), with replacement the first whose running sum exceeds u * (their sum); u
   as of rand in f64 for each sample. Without, those with the largest weight / -log(v), in order, of equal ones the
   first (Efraimidis and Spirakis 2006): v = (bits 11 to 63 + 1) * 2^-53 for each weight native_dropout  input / (1 - p)
   where a number as of rand in f32 is >= p, else 0; mask: bool, where it was kept */
IND_API ind_tensor ind_rand(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream);
IND_API ind_tensor ind_randn(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream);
IND_API ind_tensor ind_randint(ind_tensor seed, ind_expr low, ind_expr high, const ind_expr *size, int rank,
                               ind_dtype dtype, int stream);
IND_API ind_tensor ind_randperm(ind_tensor seed, ind_expr n, ind_dtype dtype, int stream);
IND_API ind_tensor ind_bernoulli(ind_tensor p, ind_tensor seed, int stream);
/* Bits [first, first + width) of Philox under that key, stream and position (all i64, broadcast), as a number >= 0:
   what the ops above are made of. width in [1, 63], within one half of the 128 bits. Not an op of PyTorch's. */
IND_API ind_tensor ind_philox(ind_tensor key, ind_tensor stream, ind_tensor position, int first, int width);
/* num_samples positions, i64, for each row of weights (p has one or two dimensions; a weight is finite and not
   negative, one of them not 0: else what is drawn is unspecified, but in range). Without replacement num_samples must
   be known to be at most the length of a row; weights of 0 come last, where PyTorch raises. */
IND_API ind_tensor ind_multinomial(ind_tensor p, ind_tensor seed, ind_expr num_samples, bool replacement, int stream);
/* train false: x and a mask of ones. mask may be NULL. */
IND_API ind_tensor ind_native_dropout(ind_tensor x, ind_tensor seed, double p, bool train, int stream,
                                      ind_tensor *mask);

/* torch.<name>; broadcasting and type promotion as PyTorch does them. */
IND_API ind_tensor ind_add(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_sub(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_mul(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_div(ind_tensor a, ind_tensor b); /* true division: integers give f32 */
/* The quotient rounded toward zero or down, in the type that a and b promote to (torch.div's rounding_mode). On
   integers x / 0 is 0, and the remainder of it x: PyTorch raises on the CPU and leaves it undefined on a GPU. */
typedef enum ind_rounding { IND_ROUND_NONE, IND_ROUND_TRUNC, IND_ROUND_FLOOR } ind_rounding;
IND_API ind_tensor ind_div_mode(ind_tensor a, ind_tensor b, ind_rounding mode);
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

/* torch.<name>, of one tensor: integers come out as f32, or as they are from abs, the roundings, sign and square. bool
   is refused where PyTorch refuses it; bitwise ops refuse floats. */
IND_API ind_tensor ind_abs(ind_tensor a);
IND_API ind_tensor ind_acos(ind_tensor a);
IND_API ind_tensor ind_acosh(ind_tensor a);
IND_API ind_tensor ind_asin(ind_tensor a);
IND_API ind_tensor ind_asinh(ind_tensor a);
IND_API ind_tensor ind_atan(ind_tensor a);
IND_API ind_tensor ind_atanh(ind_tensor a);
IND_API ind_tensor ind_ceil(ind_tensor a);
IND_API ind_tensor ind_cos(ind_tensor a);
IND_API ind_tensor ind_cosh(ind_tensor a);
IND_API ind_tensor ind_erfc(ind_tensor a);
IND_API ind_tensor ind_exp2(ind_tensor a);
IND_API ind_tensor ind_expm1(ind_tensor a);
IND_API ind_tensor ind_floor(ind_tensor a);
IND_API ind_tensor ind_lgamma(ind_tensor a);
IND_API ind_tensor ind_erfinv(ind_tensor a);
IND_API ind_tensor ind_digamma(ind_tensor a);
IND_API ind_tensor ind_i0(ind_tensor a); /* modified Bessel functions of the first kind; e: times exp(-|a|) */
IND_API ind_tensor ind_special_i0e(ind_tensor a);
IND_API ind_tensor ind_special_i1(ind_tensor a);
IND_API ind_tensor ind_special_i1e(ind_tensor a);
IND_API ind_tensor ind_special_bessel_j0(ind_tensor a);
IND_API ind_tensor ind_special_bessel_j1(ind_tensor a);
IND_API ind_tensor ind_special_bessel_y0(ind_tensor a);
IND_API ind_tensor ind_special_bessel_y1(ind_tensor a);
IND_API ind_tensor ind_polygamma(int n, ind_tensor a); /* the n-th derivative of digamma */
IND_API ind_tensor ind_log10(ind_tensor a);
IND_API ind_tensor ind_log1p(ind_tensor a);
IND_API ind_tensor ind_log2(ind_tensor a);
IND_API ind_tensor ind_sin(ind_tensor a);
IND_API ind_tensor ind_sinh(ind_tensor a);
IND_API ind_tensor ind_tan(ind_tensor a);
IND_API ind_tensor ind_trunc(ind_tensor a);
IND_API ind_tensor ind_isnan(ind_tensor a);
IND_API ind_tensor ind_isinf(ind_tensor a);
IND_API ind_tensor ind_isfinite(ind_tensor a);
IND_API ind_tensor ind_logical_not(ind_tensor a);
IND_API ind_tensor ind_bitwise_not(ind_tensor a);
IND_API ind_tensor ind_round(ind_tensor a, int decimals); /* half to even; decimals may be negative */
IND_API ind_tensor ind_sign(ind_tensor a);                /* -1, 0 or 1; 0 for NaN */
IND_API ind_tensor ind_signbit(ind_tensor a);             /* true for -0 too */
IND_API ind_tensor ind_square(ind_tensor a);
IND_API ind_tensor ind_sinc(ind_tensor a);              /* sin(pi x) / (pi x) */
IND_API ind_tensor ind_logit(ind_tensor a, double eps); /* clamped to [eps, 1 - eps]; eps < 0: not */
/* A number in the place of NaN, of infinity and of -infinity; NULL: the largest and the smallest finite number. */
IND_API ind_tensor ind_nan_to_num(ind_tensor a, double nan, const double *posinf, const double *neginf);

/* torch.<name>, of two tensors or numbers (ind_scalar). */
IND_API ind_tensor ind_logical_and(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_logical_or(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_logical_xor(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_and(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_or(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_xor(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_atan2(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_copysign(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_left_shift(ind_tensor a, ind_tensor b);  /* by b < 0 or the width and more: 0 .. */
IND_API ind_tensor ind_bitwise_right_shift(ind_tensor a, ind_tensor b); /* .. and -1 for negative a to the right */
IND_API ind_tensor ind_floor_divide(ind_tensor a, ind_tensor b);        /* ind_div_mode with IND_ROUND_FLOOR */
IND_API ind_tensor ind_fmod(ind_tensor a, ind_tensor b);                /* has the sign of a */
IND_API ind_tensor ind_remainder(ind_tensor a, ind_tensor b);           /* has the sign of b */
IND_API ind_tensor ind_hypot(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_nextafter(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_xlogy(ind_tensor a, ind_tensor b); /* a log(b), 0 where a is 0 */
IND_API ind_tensor ind_logaddexp(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_special_zeta(ind_tensor a, ind_tensor b); /* Hurwitz': sum of (b + k) ** -a */
IND_API ind_tensor ind_igamma(ind_tensor a, ind_tensor b);       /* regularised; igammac is 1 - igamma */
IND_API ind_tensor ind_igammac(ind_tensor a, ind_tensor b);

/* Of three. min or max may be IND_NO_TENSOR, not both; max counts where min > max. */
IND_API ind_tensor ind_clamp(ind_tensor a, ind_tensor min, ind_tensor max);
IND_API ind_tensor ind_lerp(ind_tensor a, ind_tensor end, ind_tensor weight);
IND_API ind_tensor ind_addcmul(ind_tensor a, ind_tensor b, ind_tensor c, double value); /* a + value * b * c */
IND_API ind_tensor ind_addcdiv(ind_tensor a, ind_tensor b, ind_tensor c, double value); /* a + value * b / c */
IND_API ind_tensor ind_masked_fill(ind_tensor a, ind_tensor mask, ind_tensor value);    /* value: number or 0-d */

/* torch.nn.functional.<name>. hardtanh, relu6 and threshold take integers too. */
IND_API ind_tensor ind_threshold(ind_tensor a, double threshold, double value); /* value where a <= threshold */
IND_API ind_tensor ind_hardtanh(ind_tensor a, double min_val, double max_val);
IND_API ind_tensor ind_relu6(ind_tensor a);
IND_API ind_tensor ind_hardsigmoid(ind_tensor a);
IND_API ind_tensor ind_hardswish(ind_tensor a);
IND_API ind_tensor ind_leaky_relu(ind_tensor a, double negative_slope);
/* scale * (a > 0 ? a : alpha * expm1(input_scale * a)) */
IND_API ind_tensor ind_elu(ind_tensor a, double alpha, double scale, double input_scale);
IND_API ind_tensor ind_celu(ind_tensor a, double alpha); /* alpha: not 0 */
IND_API ind_tensor ind_selu(ind_tensor a);
IND_API ind_tensor ind_softplus(ind_tensor a, double beta, double threshold);
IND_API ind_tensor ind_mish(ind_tensor a);
IND_API ind_tensor ind_log_sigmoid(ind_tensor a);

/* Copies. alias and clone are a itself to a graph whose tensors never change; copy is b, expanded to the shape of a and
   in its type; fill is a number or 0-d tensor likewise. */
IND_API ind_tensor ind_clone(ind_tensor a);
IND_API ind_tensor ind_alias(ind_tensor a);
IND_API ind_tensor ind_copy(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_fill(ind_tensor a, ind_tensor b);

/* Sources; dtype NONE is f32, or the type of a. What PyTorch calls empty is 0 here. */
IND_API ind_tensor ind_zeros(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_ones(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_empty(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype);
/* stride is checked for its length only: nobody can see it. */
IND_API ind_tensor ind_empty_strided(ind_graph *graph, const ind_expr *size, const ind_expr *stride, int rank,
                                     ind_dtype dtype);
IND_API ind_tensor ind_scalar_tensor(ind_graph *graph, double value, ind_dtype dtype); /* 0-d */
IND_API ind_tensor ind_full_like(ind_tensor a, double value, ind_dtype dtype);
IND_API ind_tensor ind_zeros_like(ind_tensor a, ind_dtype dtype);
IND_API ind_tensor ind_ones_like(ind_tensor a, ind_dtype dtype);
IND_API ind_tensor ind_empty_like(ind_tensor a, ind_dtype dtype);
IND_API ind_tensor ind_new_full(ind_tensor a, const ind_expr *size, int rank, double value, ind_dtype dtype);
IND_API ind_tensor ind_new_zeros(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_new_ones(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_new_empty(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype);

/* dims: num_dims dimensions, negative ones from the end; num_dims 0: all. dtype NONE: PyTorch's default. */
IND_API ind_tensor ind_sum(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_mean(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_amax(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_amin(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_any(ind_tensor x, const int *dims, int num_dims, bool keepdim);
#define IND_ALL_DIMS INT32_MIN
IND_API ind_tensor ind_argmax(ind_tensor x, int dim, bool keepdim); /* IND_ALL_DIMS: over the flattened tensor */
IND_API ind_tensor ind_argmin(ind_tensor x, int dim, bool keepdim);
/* Values; *indices (may be NULL) are those of the first extreme. IND_ALL_DIMS: of all elements, without indices. */
IND_API ind_tensor ind_max(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
IND_API ind_tensor ind_min(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
IND_API ind_tensor ind_aminmax(ind_tensor x, int dim, bool keepdim, ind_tensor *max); /* the least; max may be NULL */
IND_API ind_tensor ind_all(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_prod(ind_tensor x, int dim, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_count_nonzero(ind_tensor x, const int *dims, int num_dims);
/* Sum of squared deviations over max(n - correction, 0); correction 1: unbiased. *mean may be NULL. */
IND_API ind_tensor ind_var(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim);
IND_API ind_tensor ind_std(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim);
IND_API ind_tensor ind_var_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                                ind_tensor *mean);
IND_API ind_tensor ind_std_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                                ind_tensor *mean);
IND_API ind_tensor ind_logsumexp(ind_tensor x, const int *dims, int num_dims, bool keepdim);
/* (sum |x|^ord)^(1/ord); 0 counts what is not 0, INFINITY and -INFINITY are the largest and smallest |x|. */
IND_API ind_tensor ind_linalg_vector_norm(ind_tensor x, double ord, const int *dims, int num_dims, bool keepdim,
                                          ind_dtype dtype);
IND_API ind_tensor ind_norm(ind_tensor x, double p, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
/* [.., P, M], [.., R, M]: the p-norms (p >= 0) of the differences of all rows, [.., P, R]. */
IND_API ind_tensor ind_cdist(ind_tensor x1, ind_tensor x2, double p);
/* [N, M]: those of rows i < j, [N * (N - 1) / 2]. torch.pdist, which is _pdist_forward in the text form. */
IND_API ind_tensor ind_pdist(ind_tensor x, double p);
typedef enum ind_loss_reduction { IND_LOSS_MEAN, IND_LOSS_SUM, IND_LOSS_NONE } ind_loss_reduction;
IND_API ind_tensor ind_mse_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction);
IND_API ind_tensor ind_l1_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction);
/* x: [C] or [N, C, ..], log-probabilities of classes; target: [] or [N, ..], classes, those equal to ignore_index
   (PyTorch's default: -100) counting nothing; weight: [C] or IND_NO_TENSOR. */
IND_API ind_tensor ind_nll_loss(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                                ind_loss_reduction reduction);
/* As ind_nll_loss of the log_softmax of x; target may also be probabilities, of x's shape and type. */
IND_API ind_tensor ind_cross_entropy(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                                     ind_loss_reduction reduction, double label_smoothing);
IND_API ind_tensor ind_softmax(ind_tensor x, int dim);
IND_API ind_tensor ind_log_softmax(ind_tensor x, int dim);
/* weight, bias: IND_NO_TENSOR to leave out. Normalises over the last num_dims dimensions. */
IND_API ind_tensor ind_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps);
/* As ind_layer_norm, without mean and bias. eps < 0: the epsilon of x's type. */
IND_API ind_tensor ind_rms_norm(ind_tensor x, int num_dims, ind_tensor weight, double eps);
/* As ind_layer_norm; *mean and *rstd (either may be NULL) are of the type computed in and keep the dimensions. */
IND_API ind_tensor ind_native_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps,
                                         ind_tensor *mean, ind_tensor *rstd);
/* x is [N, C, ..], weight and bias [C]; each group of C / num_groups channels of a sample is normalised. */
IND_API ind_tensor ind_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps);
/* As ind_group_norm; *mean and *rstd (may be NULL) are [N, num_groups]. */
IND_API ind_tensor ind_native_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps,
                                         ind_tensor *mean, ind_tensor *rstd);
/* x is [N, C, ..], all others [C]. With mean and variance given they are used, else those of the batch are. Statistics
   are not updated. */
IND_API ind_tensor ind_batch_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                                  ind_tensor running_var, double eps);
/* As ind_batch_norm; *mean and *rstd (may be NULL) are those of the batch, [C], or empty where running ones are used.
 */
IND_API ind_tensor ind_native_batch_norm_legit(ind_tensor x, ind_tensor weight, ind_tensor bias,
                                               ind_tensor running_mean, ind_tensor running_var, double eps,
                                               ind_tensor *mean, ind_tensor *rstd);
/* As ind_native_batch_norm_legit in training; *new_mean and *new_var (may be NULL) are what running_mean and
   running_var become: (1 - momentum) times themselves plus momentum times the batch's, for ind_mutate. */
IND_API ind_tensor ind_native_batch_norm_legit_functional(ind_tensor x, ind_tensor weight, ind_tensor bias,
                                                          ind_tensor running_mean, ind_tensor running_var,
                                                          double momentum, double eps, ind_tensor *new_mean,
                                                          ind_tensor *new_var);
/* Gradients: the result is that of x, *weight_grad and *bias_grad (NULL: not wanted) those of weight and bias. mean and
   rstd are what the forward op gave. */
IND_API ind_tensor ind_native_layer_norm_backward(ind_tensor grad_out, ind_tensor x, int num_dims, ind_tensor mean,
                                                  ind_tensor rstd, ind_tensor weight, ind_tensor bias,
                                                  ind_tensor *weight_grad, ind_tensor *bias_grad);
IND_API ind_tensor ind_native_group_norm_backward(ind_tensor grad_out, ind_tensor x, ind_tensor mean, ind_tensor rstd,
                                                  ind_tensor weight, int num_groups, ind_tensor *weight_grad,
                                                  ind_tensor *bias_grad);
/* As ind_batch_norm, but every channel of every sample by itself. */
IND_API ind_tensor ind_instance_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                                     ind_tensor running_var, double eps);

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

/* An op with several results returns the first; this is number k of those that the op of x has. */
IND_API ind_tensor ind_result(ind_tensor x, int k);
IND_API int ind_num_results(ind_tensor x); /* of the op that x comes from; 0: x is invalid */

/* Views as torch.<name>; a reshape of a view that is no view itself costs index arithmetic, never a copy. */
IND_API ind_tensor ind_reshape(ind_tensor x, const ind_expr *size, int rank); /* as ind_view */
IND_API ind_tensor ind_view_as(ind_tensor x, ind_tensor other);
IND_API ind_tensor ind_flatten(ind_tensor x, int start_dim, int end_dim);
IND_API ind_tensor ind_unflatten(ind_tensor x, int dim, const ind_expr *sizes, int num_sizes);
IND_API ind_tensor ind_broadcast_to(ind_tensor x, const ind_expr *size, int rank);
IND_API ind_tensor ind_expand_as(ind_tensor x, ind_tensor other);
IND_API ind_tensor ind_broadcast_tensors(const ind_tensor *tensors, int num); /* as many results */
/* As many results as 0-d or 1-d tensors; xy: indexing="xy", which exchanges the first two dimensions. */
IND_API ind_tensor ind_meshgrid(const ind_tensor *tensors, int num, bool xy);
IND_API ind_tensor ind_movedim(ind_tensor x, int source, int destination);
IND_API ind_tensor ind_narrow(ind_tensor x, int dim, ind_expr start, ind_expr length);
/* Pieces of a size, the last of what is left; their number must be the same for all sizes. */
IND_API ind_tensor ind_split(ind_tensor x, ind_expr split_size, int dim);
IND_API ind_tensor ind_split_with_sizes(ind_tensor x, const ind_expr *sizes, int num_sizes, int dim);
IND_API ind_tensor ind_chunk(ind_tensor x, int chunks, int dim); /* pieces of ceil(size / chunks): maybe fewer */
IND_API ind_tensor ind_unbind(ind_tensor x, int dim);
IND_API ind_tensor ind_unfold(ind_tensor x, int dim, ind_expr size, ind_expr step); /* windows as a last dimension */
IND_API ind_tensor ind_diagonal(ind_tensor x, int offset, int dim1, int dim2);
/* x must be an input or a constant, or a reshape of one: others have no layout (IND_NOT_SUPPORTED). */
IND_API ind_tensor ind_as_strided(ind_tensor x, const ind_expr *size, const ind_expr *stride, int rank,
                                  ind_expr storage_offset);
IND_API ind_tensor ind_flip(ind_tensor x, const int *dims, int num_dims);
IND_API ind_tensor ind_roll(ind_tensor x, ind_expr shift, int dim); /* IND_ALL_DIMS: as if it were flat */
IND_API ind_tensor ind_repeat(ind_tensor x, const ind_expr *repeats, int num_repeats);
IND_API ind_tensor ind_tile(ind_tensor x, const ind_expr *repeats, int num_repeats);
IND_API ind_tensor ind_pixel_shuffle(ind_tensor x, int upscale_factor);
IND_API ind_tensor ind_pixel_unshuffle(ind_tensor x, int downscale_factor);

/* torch.<name>; src takes the element type of x. */
IND_API ind_tensor ind_stack(const ind_tensor *tensors, int num, int dim);
IND_API ind_tensor ind_select_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr index);
IND_API ind_tensor ind_slice_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr start, ind_expr end,
                                     ind_expr step); /* as ind_slice */
IND_API ind_tensor ind_diagonal_scatter(ind_tensor x, ind_tensor src, int offset, int dim1, int dim2);
IND_API ind_tensor ind_tril(ind_tensor x, ind_expr diagonal); /* zeroed: 0 */
IND_API ind_tensor ind_triu(ind_tensor x, ind_expr diagonal);
/* i64 with one more dimension of num_classes; a class outside of it is an index out of range at run time. */
IND_API ind_tensor ind_one_hot(ind_tensor x, ind_expr num_classes);

/* torch.nn.functional.pad and its modes. pad: before and after the last dimension, then the one before it, and so on;
   negative ones crop. value: for IND_PAD_CONSTANT. */
typedef enum ind_pad_mode { IND_PAD_CONSTANT, IND_PAD_REFLECT, IND_PAD_REPLICATE, IND_PAD_CIRCULAR } ind_pad_mode;
IND_API ind_tensor ind_pad(ind_tensor x, const ind_expr *pad, int num_pad, ind_pad_mode mode, double value);

/* The windows of a pool. Zero is the default: stride that of the kernel, dilation 1, the padding counted in averages.
 */
typedef struct ind_pool_desc {
    int kernel_size[3], stride[3], padding[3], dilation[3]; /* as many as the pool has dimensions */
    bool ceil_mode, count_exclude_pad;
    int divisor_override; /* of averages; 0: the number of elements */
} ind_pool_desc;
/* torch.nn.functional.<name> over the last `dims` (1 to 3) dimensions of an image with channels, with or without a
   batch. indices (may be NULL): positions in the input's plane, i64; the first of equals, of NaN too. */
IND_API ind_tensor ind_max_pool(ind_tensor x, int dims, const ind_pool_desc *pool, ind_tensor *indices);
IND_API ind_tensor ind_avg_pool(ind_tensor x, int dims, const ind_pool_desc *pool);
IND_API ind_tensor ind_adaptive_max_pool(ind_tensor x, const ind_expr *output_size, int dims, ind_tensor *indices);
IND_API ind_tensor ind_adaptive_avg_pool(ind_tensor x, const ind_expr *output_size, int dims);

/* A convolution. Zero is the default: stride, dilation and groups 1. */
typedef struct ind_conv_desc {
    int stride[3], padding[3], dilation[3], output_padding[3]; /* as many as the weight has spatial dimensions */
    int groups;
    bool transposed; /* torch.conv_transpose*d; output_padding is for it alone */
} ind_conv_desc;
/* torch.convolution: x [batch?, channels, sizes..], weight [out, in / groups, kernel..] or, transposed, [in, out /
   groups, kernel..]; bias: IND_NO_TENSOR to leave out. conv may be NULL. */
IND_API ind_tensor ind_convolution(ind_tensor x, ind_tensor weight, ind_tensor bias, const ind_conv_desc *conv);

/* torch.nn.functional.interpolate of [batch, channels, 1 to 3 sizes]. One of size and scale_factor is given, the other
   NULL with 0; num: 1 for all dimensions, or one for each. Places are computed as PyTorch does, in f32 (linear in f64:
   in f64). align_corners: for IND_INTERPOLATE_LINEAR. */
typedef enum ind_interpolation {
    IND_INTERPOLATE_NEAREST,
    IND_INTERPOLATE_NEAREST_EXACT,
    IND_INTERPOLATE_LINEAR /* bilinear, trilinear */
} ind_interpolation;
IND_API ind_tensor ind_interpolate(ind_tensor x, const ind_expr *size, int num_size, const double *scale_factor,
                                   int num_scale_factor, ind_interpolation mode, bool align_corners);
/* torch.grid_sampler_2d: x [batch, channels, h, w], grid [batch, rows, columns, 2] of x and y in [-1, 1].
   interpolation_mode 0 bilinear, 1 nearest; padding_mode 0 zeros, 1 border, 2 reflection. */
IND_API ind_tensor ind_grid_sampler_2d(ind_tensor x, ind_tensor grid, int interpolation_mode, int padding_mode,
                                       bool align_corners);
/* torch.nn.functional.unfold and fold of images of two dimensions; a stride of 0 means 1 here. */
IND_API ind_tensor ind_im2col(ind_tensor x, const ind_pool_desc *window);
IND_API ind_tensor ind_col2im(ind_tensor x, ind_expr height, ind_expr width, const ind_pool_desc *window);

/* aten::<name>; what of the gradients is not used is not computed. */
/* Gradients of x, weight and bias: ind_result(.., 0), 1 and 2. conv may be NULL. */
IND_API ind_tensor ind_convolution_backward(ind_tensor grad_output, ind_tensor x, ind_tensor weight,
                                            const ind_conv_desc *conv);

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
/* Gradients of pools over the last two dimensions with respect to x: zeros, to which every window adds its own.
   indices: as ind_max_pool gave them. */
IND_API ind_tensor ind_avg_pool2d_backward(ind_tensor grad_output, ind_tensor x, const ind_pool_desc *pool);
IND_API ind_tensor ind_adaptive_avg_pool2d_backward(ind_tensor grad_output, ind_tensor x);
IND_API ind_tensor ind_max_pool2d_with_indices_backward(ind_tensor grad_output, ind_tensor x, const ind_pool_desc *pool,
                                                        ind_tensor indices);

/* Running sums, products and extremes along one dimension, first to last, each with its own element (torch.cumsum ..).
   dtype NONE: PyTorch's default, i64 for integers and bool. Results have x's size; indices may be NULL, else i64
   positions along dim: of equal values the last so far, and of the last NaN once one was met. */
IND_API ind_tensor ind_cumsum(ind_tensor x, int dim, ind_dtype dtype);
IND_API ind_tensor ind_cumprod(ind_tensor x, int dim, ind_dtype dtype);
IND_API ind_tensor ind_cummax(ind_tensor x, int dim, ind_tensor *indices);
IND_API ind_tensor ind_cummin(ind_tensor x, int dim, ind_tensor *indices);
IND_API ind_tensor ind_logcumsumexp(ind_tensor x, int dim); /* floats only */
/* Values, and in *indices (may be NULL) where they were along dim, i64. Always stable; NaN is larger than every number.
 */
IND_API ind_tensor ind_sort(ind_tensor x, int dim, bool descending, ind_tensor *indices);
IND_API ind_tensor ind_argsort(ind_tensor x, int dim, bool descending);
/* The k largest (smallest) elements along dim, in order, and their i64 positions; of equal ones the first. k must be
   known to be at most the size of dim; it may be symbolic. Not for bool. */
IND_API ind_tensor ind_topk(ind_tensor x, ind_expr k, int dim, bool largest, ind_tensor *indices);
IND_API ind_tensor ind_msort(ind_tensor x); /* the values of ind_sort along dimension 0 */
/* The k-th smallest along dim (k from 1; may be symbolic, then known to be at most the size), as in ind_sort; in
 *indices (may be NULL) where it is, of equal ones the k-th in order. */
IND_API ind_tensor ind_kthvalue(ind_tensor x, ind_expr k, int dim, bool keepdim, ind_tensor *indices);
/* The lower of the two in the middle; NaN where there is one. Of all elements: of ind_flatten(x, 0, -1). Not for bool.
   *indices (may be NULL): where it is, of equal ones the one that a stable sort puts there, of NaNs the first.
   ind_nanmedian: of what is not NaN; NaN where that is nothing. */
IND_API ind_tensor ind_median(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
IND_API ind_tensor ind_nanmedian(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
/* The value that occurs most often along dim, the smallest of several; each NaN is a value of its own, and the
 *smallest. indices (may be NULL): where it occurs last (of NaNs the first), as PyTorch does on the CPU. */
IND_API ind_tensor ind_mode(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
/* Quantile q, f32 and f64: a number (ind_scalar), or a tensor of x's type with one dimension, which the result then
   begins with, or none. interpolation: "linear" (NULL), "lower", "higher", "nearest",
   "midpoint". NaN where there is one; ind_nanquantile: of what is not NaN. A q outside [0, 1] is refused, in a tensor
   at run time: IND_INDEX_OUT_OF_RANGE. */
IND_API ind_tensor ind_quantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation);
IND_API ind_tensor ind_nanquantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation);
/* Differences of neighbours along dim, n times over (0 to 16); prepend and append (IND_NO_TENSOR: none), of x's type,
   are put before and behind it first. Of bools: whether they differ. */
IND_API ind_tensor ind_diff(ind_tensor x, int n, int dim, ind_tensor prepend, ind_tensor append);
/* How many elements of the ascending sequence come before each x (right: before or equal), i64 or i32. sorted_sequence
   has one dimension, or x's with the last one free. sorter (or IND_NO_TENSOR): i64, what sorts the sequence; its values
   are checked at run time. Both are compared in the type that they promote to; x may be a number. */
IND_API ind_tensor ind_searchsorted(ind_tensor sorted_sequence, ind_tensor x, bool out_int32, bool right,
                                    ind_tensor sorter);
/* searchsorted with one-dimensional boundaries. */
IND_API ind_tensor ind_bucketize(ind_tensor x, ind_tensor boundaries, bool out_int32, bool right);
/* x where mask is false, and where it is true the elements of source, in order. Too few of them are found at run time:
   IND_INDEX_OUT_OF_RANGE. mask is bool; x and mask broadcast; x and source have one type. */
IND_API ind_tensor ind_masked_scatter(ind_tensor x, ind_tensor mask, ind_tensor source);

/* Results of a size that only the data decide: a symbol u0, u1, .. (ind_size_of) that later ops may use, at most the
   number of elements looked through. Nothing waits for it: memory is taken for the most there can be, and kernels read
   the size where an earlier one has written it (>>sizes of inductor_runtime.h reads it back).
   In the text form two attributes bound the size for later ops that need it, min_length and max_length: elements fewer
   or more are found at run time, IND_INDEX_OUT_OF_RANGE, and nothing is written outside. ind_nonzero: the indices of
   the elements that are not 0 (or false), i64[u0, rank], in row-major order; ind_argwhere: the same. ind_masked_select:
   the elements of x where mask holds, [u0]; both broadcast. */
IND_API ind_tensor ind_nonzero(ind_tensor x);
IND_API ind_tensor ind_argwhere(ind_tensor x);
IND_API ind_tensor ind_masked_select(ind_tensor x, ind_tensor mask);
/* The values that occur in x, ascending, [u0]; every NaN counts as another. inverse (i64, like x): which of them each
   element is; counts (i64[u0]): how often each occurs; NULL: not wanted. ind_unique_consecutive: of equal neighbours in
   row-major order the first. */
IND_API ind_tensor ind_unique(ind_tensor x, ind_tensor *inverse, ind_tensor *counts);
IND_API ind_tensor ind_unique_consecutive(ind_tensor x, ind_tensor *inverse, ind_tensor *counts);
/* Each element of x along dim (IND_ALL_DIMS: of x flattened) as often as repeats says, a tensor of i32 or i64 with one
   element or as many as there are along dim. output_size, if valid, is the length of the result; else it comes from
   data and is at most max_output_size. Repeats that are negative or that come to another or a larger length are found
   at run time: IND_INDEX_OUT_OF_RANGE, and nothing is written outside. */
IND_API ind_tensor ind_repeat_interleave(ind_tensor x, ind_tensor repeats, int dim, ind_expr output_size,
                                         ind_expr max_output_size);

IND_API ind_tensor ind_matmul(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_mm(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bmm(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_addmm(ind_tensor bias, ind_tensor a, ind_tensor b, double beta, double alpha);
IND_API ind_tensor ind_linear(ind_tensor x, ind_tensor weight, ind_tensor bias); /* bias: IND_NO_TENSOR to leave out */

/* softmax(query @ key^T * scale + mask) @ value for query [.., L, E], key [.., S, E], value [.., S, V]; the leading
   dimensions broadcast. attn_mask (IND_NO_TENSOR: none) broadcasts to [.., L, S]: bool, false where a key is left out,
   or floats that are added. A row of which every key is left out gives 0. desc may be NULL. */
typedef struct ind_attention_desc {
    bool is_causal;  /* query i sees the keys 0 to i; not together with a mask */
    double scale;    /* 0: 1 / sqrt(E) */
    bool enable_gqa; /* dimension -3, the heads: key and value may have fewer, each for several of query in a row */
} ind_attention_desc;
IND_API ind_tensor ind_scaled_dot_product_attention(ind_tensor query, ind_tensor key, ind_tensor value,
                                                    ind_tensor attn_mask, const ind_attention_desc *desc);

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

/* A scan with a combine function of one's own (torch.associative_scan). An element has 1 to 4 values, each of a type of
   its own: tensors of one shape, made by any ops, ind_pointwise among them, which fuse with the scan. Result k
   (ind_result), of the shape and type of x[k], holds at each place along dim the elements up to it, joined from first
   to last. combine is called once, at once, to record it: it joins what comes first (left) and what comes behind it
   (right) into out, num values each, of the types in which x[k] is computed (f32 for f16 and bf16). It must be
   associative, and may use nothing but these values and constants: no loads, no indices. reverse: from the last place
   to the first. exclusive: without the element itself; where nothing comes before stands identity[k], a number
   (ind_scalar) or a tensor that broadcasts to x[k]. Segments begin anew: where `segments`, a bool tensor that
   broadcasts to the shape, is true, or (not both) at the places along dim in `starts`, i64, in any order; they are
   checked at run time. Segments cost one value more an element. In order: the elements before a place are joined in the
   order they stand in; how they are parenthesised differs. */
typedef void (*ind_combine_fn)(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out, void *user);
typedef struct ind_scan_desc {
    const char *name; /* for dumps; may be NULL */
    const ind_tensor *x;
    int num;
    int dim; /* may be negative */
    bool reverse, exclusive;
    const ind_tensor *identity;  /* exclusive: num entries */
    ind_tensor segments, starts; /* IND_NO_TENSOR: there is one segment */
    ind_combine_fn combine;
    void *user; /* only needed until the call returns */
} ind_scan_desc;
IND_API ind_tensor ind_associative_scan(ind_graph *graph, const ind_scan_desc *desc);
/* A device function of one's own (ind_function_register in inductor_ir.h), element by element: operands broadcast and
   become what the function declares. Numbers (ind_scalar) are allowed. Errors: IND_NOT_FOUND (no such function),
   IND_INVALID_ARGUMENT (another number of operands; an op has that name), IND_TYPE_MISMATCH (an operand's type does not
   promote to that of the argument), IND_SHAPE_MISMATCH. Without a host twin, ind_compile for the host device is
   IND_NOT_SUPPORTED. */
IND_API ind_tensor ind_call(ind_graph *graph, const char *function, const ind_tensor *args, int num_args);

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

/* -------------------------------------------------------------------------------------------------- >>text */

/* Reads a graph in the text form; `file` is for messages (NULL: "<text>"). NULL on failure: ind_error says file, line,
   column, what was found and what is allowed.

   grammar:
     graph     = "graph" name "{" { statement newline } "}"
     statement = size | fact | guard | function | input | const | assign | mutate | output
     size      = "size" name "in" "[" int "," int "]" [ "multiple_of" int ] [ "hint" int ]
     fact      = "fact" expr                      guard = "guard" expr      (a condition on sizes; see ind_fact)
     input     = "input" name ":" type            const = "const" name ":" type
     function  = "function" name "(" [ name ":" dtype { "," name ":" dtype } ] ")" "->" dtype "=" string
                 (CUDA C; see ind_function_register, which gives it a host twin. In its string \n is a new line)
     assign    = [ result { "," result } "=" ] op "(" [ argument { "," argument } ] ")"
                 (op: also a function's name; with an underscore behind a name of the op table in place, then its result
                 may stay without a name: one given to it is another name for its first operand)
               | result { "," result } "=" "extern" "(" string { "," name } [ "," "workspace" "=" expr ]
                 [ "," "mutates" "=" "[" int { "," int } "]" ] ")"
                 (see ind_extern; the results have types unless a shape rule is registered)
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
    X(KERNELS, "kernels")   /* the body of each kernel as a graph: ind_module_kernel_graph */                          \
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
    ind_device device; /* IND_DEVICE_AUTO: the context's */
    ind_target target; /* zero: the device's; for emit_only any */
    bool emit_only;    /* stop after the CUDA text: needs no GPU; the module runs on the host */
    /* Every run gives the same bits. Without it only scatters may differ from run to run, where several values meet at
       one element: floats that are added or multiplied (atomics join them in any order), and what replaces an element
       (the last to come stays). With it they are joined in the order of the points; of those that replace, the last
       stays, as on the host. Everything else, as integers and extremes, is the same either way and costs no more.
       Of n points and d elements to choose from, where n * d is small (up to 2^20 for the hints) each element looks at
       all points; else the points are sorted by their element, one block of threads taking n log^2(n) steps and 16
       bytes of workspace a point, and each element's are then joined by a segmented scan, a block again. That is
       several times slower than atomics from some 10,000 points on. The schedule's text says which was chosen. */
    bool deterministic;
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

/* What kernel `kernel` (0-based, in the order in which they run) computes, as a graph of ops: its recorded body, with
   f16 and bf16 widened where they are loaded and rounded where they are stored. Inputs are the buffers that it reads
   and outputs those that it writes, under their names and with the sizes that they have in memory: so the graphs of all
   kernels, run one after another, do what the module does. A buffer that the kernel changes in place is an input that
   is mutated (`mutate old = new`). Sizes, facts and guards are the module's; the graph is in its context, lives on
   after it and may be changed. What the body has in other words is said in ops that mean the same: parts of a Welford
   reduction by var_mean, of an online softmax by amax and sum, a masked access by where. NULL on failure: IND_NOT_FOUND
   past the last kernel; IND_NOT_SUPPORTED says what there is no op for. IND_STAGE_KERNELS has the text of all. */
IND_API ind_graph *ind_module_kernel_graph(ind_module *module, int kernel);
/* The same of the function of a custom op, x being the result of ind_pointwise: its inputs are the tensors that the
   function loads, its output is x. Errors: IND_INVALID_ARGUMENT, IND_NOT_SUPPORTED. */
IND_API ind_graph *ind_pointwise_graph(ind_tensor x);

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
    X(FLOATS, "floats", "a list of numbers")                                                                           \
    X(SIZES, "sizes", "a list of sizes")                                                                               \
    X(SIZE, "size", "a size")                                                                                          \
    X(EXPRS, "exprs", "a list of expressions")                                                                         \
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
    const double *floats; /* FLOATS */
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
    ind_body *body;   /* CUSTOM: loads have source = operand position. ASSOCIATIVE_SCAN: loads are the values left and
                         right, stores those joined. Owned by the graph */
    const char *name; /* CUSTOM, ASSOCIATIVE_SCAN: the op's name */
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
    /* Memory, for ops in place (only where a graph is built): */
    uint32_t viewed, root;  /* the operand whose memory it shows, and the tensor whose own that is; 0: its own */
    const ind_expr *stride; /* in elements of the root's memory, in the graph's arena; NULL: contiguous */
    uint32_t writes;        /* of a root: how often its memory was written to */
    uint32_t now, seen;     /* the tensor that holds what it shows since write `seen`; 0: itself */
    uint32_t unsure,
        since; /* of a root: whose memory it shows for some sizes only, and how often that was written to */
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
    ind__unbacked unbacked[IND__MAX_UNBACKED]; /* sizes that come from data, in order */
    uint32_t num_unbacked;
    const char *wanted_size; /* name for the next of them; NULL: the first free of u0, u1, .. */
    struct ind__output {
        uint32_t tensor;
        const char *name;
    } * output;
    uint32_t num_outputs, cap_outputs;
    struct ind__mutation {
        uint32_t input, value; /* tensors: after a run, the input's memory holds the value */
    } * mutation;
    uint32_t num_mutations, cap_mutations;
    uint32_t num_writes;            /* ops in place so far */
    const ind__function **function; /* of the user, that CALLs of this graph may name */
    uint32_t num_functions, cap_functions;
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
/* Type that tensors and numbers promote to (torch.result_type); absent ones (0) have no say. IND_DTYPE_NONE for none.
 */
ind_dtype ind__result_type(const ind_graph *g, const uint32_t *tensors, uint32_t n);
/* A new graph in the same context with the passes applied (>>passes). It uses g's facts: g must outlive it. */
ind_status ind__graph_optimise(const ind_graph *g, uint32_t disabled_passes, ind_graph **out);
/* Lowers every op to loops over boxes and realises outputs (>>lowerings); layouts are fixed. */
ind_status ind__graph_lower(const ind_graph *g, const ind_realise_policy *policy, bool deterministic,
                            ind__lowered *out);
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
#define IND__MAX_RESULTS  1024

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

/* An integer among the table's defaults; they are small. */
static int64_t ind__digits(const char *s, size_t n) {
    int64_t v = 0;
    bool negative = n > 0 && s[0] == '-';
    for (size_t i = negative; i < n && s[i] >= '0' && s[i] <= '9'; i++) v = v * 10 + (s[i] - '0');
    return negative ? -v : v;
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
    ind__type *result;    /* few, or allocated */
    uint32_t num_results; /* the table's, or as the rule says */
    ind__type few[5];
    ind_expr length, limit; /* Z: the size that comes from data, and what it never exceeds */
    int64_t least;          /* Z: what it never is below */
    bool bounded;           /* Z: the caller gave bounds */
    uint32_t source;        /* Z: as in ind__unbacked */
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
    if (ind__expr_has_kind(condition, IND_SYMBOL_UNBACKED))
        return "; min_length and max_length of the op that makes a size from data bound it";
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

/* Room for n results, where the op table does not say how many there are. */
static ind_status ind__need_results(ind__infer *in, int64_t n) {
    if (n < 1) return ind__reject(in, IND_INVALID_ARGUMENT, "it would have no result");
    if (n > IND__MAX_RESULTS) {
        return ind__reject(in, IND_LIMIT, "it would have %lld results; at most %d are possible", (long long)n,
                           IND__MAX_RESULTS);
    }
    in->num_results = (uint32_t)n;
    if (n <= (int64_t)(sizeof in->few / sizeof *in->few)) return IND_OK;
    in->result = ind__alloc(in->c, (size_t)n * sizeof *in->result);
    if (in->result) return IND_OK;
    in->result = in->few;
    return ind__reject(in, IND_OUT_OF_MEMORY, "out of memory");
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
        if (tensors[i] == 0) continue;
        ind_dtype *r = &type[t->weak ? 2 : t->rank == 0 ? 1 : 0];
        *r = *r == IND_DTYPE_NONE ? t->dtype : ind_dtype_promote(*r, t->dtype);
    }
    return ind__combine_ranks(type[0], ind__combine_ranks(type[1], type[2]));
}

static bool ind__only_stored(ind_dtype dtype) {
    return ind_dtype_is_float(dtype) && ind_dtype_bytes(dtype) == 1;
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

static ind_status ind__need_dimensions(ind__infer *in, uint32_t k) {
    if (ind__operand(in, k)->rank > 0) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) has no dimensions", ind__say_name(in, k), ind__say_type(in, k));
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

/* Element k of a list of dimensions that ind__dims has let pass. */
static int ind__list_dim(const ind__attr *a, int k, int rank) {
    int64_t d = 0;
    ind_expr_is_int(a->list[k], &d);
    return (int)(d < 0 ? d + rank : d);
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

/* The attribute of kind dtype, where it is given (or has a default in the table). */
static ind_dtype ind__given_dtype(const ind__infer *in, ind_dtype otherwise) {
    for (uint32_t i = 0; i < in->g->schema[in->op].num_attrs; i++) {
        if (in->attr[i].kind == IND__ATTR_DTYPE) return (ind_dtype)in->attr[i].i;
    }
    return otherwise;
}

/* full and its kin, new_full and its kin: the size is the first attribute, the dtype the last. */
static ind_status ind__rule_full(ind__infer *in) {
    const ind__attr *size = &in->attr[0];
    if (ind__need_sizes(in, size->list, size->count)) return in->status;
    if (in->op == IND_OP_EMPTY_STRIDED && in->attr[1].count != size->count) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "size has %d dimensions, stride %d; they must agree", size->count,
                           in->attr[1].count);
    }
    ind_dtype own = ind__has_operand(in, 0) ? ind__operand(in, 0)->dtype : IND_F32;
    ind__set_result(in, 0, ind__given_dtype(in, own), size->list, size->count);
    return IND_OK;
}

static ind_status ind__rule_full_like(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, ind__given_dtype(in, x->dtype), x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_scalar_tensor(ind__infer *in) {
    ind__set_result(in, 0, ind__given_dtype(in, IND_F32), NULL, 0);
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

/* ---- random numbers */

static ind_status ind__need_seed(ind__infer *in, uint32_t k) {
    const ind__tensor_info *seed = ind__operand(in, k);
    if (seed->dtype == IND_I64 && seed->rank == 0) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; the seed must be i64[]", ind__say_name(in, k),
                       ind__say_type(in, k));
}

static ind_status ind__rule_rand(ind__infer *in) {
    ind_dtype dtype = (ind_dtype)in->attr[1].i;
    if (ind__need_seed(in, 0) || ind__need_sizes(in, in->attr[0].list, in->attr[0].count)) return in->status;
    if (!ind_dtype_is_float(dtype))
        return ind__reject(in, IND_TYPE_MISMATCH, "dtype must be a floating-point type, not %s", ind_dtype_name(dtype));
    ind__set_result(in, 0, dtype, in->attr[0].list, in->attr[0].count);
    return IND_OK;
}

static ind_status ind__rule_randint(ind__infer *in) {
    ind_expr low = in->attr[0].e, high = in->attr[1].e;
    if (ind__need_seed(in, 0) || ind__need_sizes(in, in->attr[2].list, in->attr[2].count)) return in->status;
    if (!ind_known_lt(low, high))
        return ind__reject(in, IND_INVALID_ARGUMENT, "low %s is not known to be less than high %s",
                           ind__say_size(in, low), ind__say_size(in, high));
    ind__set_result(in, 0, (ind_dtype)in->attr[3].i, in->attr[2].list, in->attr[2].count);
    return IND_OK;
}

static ind_status ind__rule_randperm(ind__infer *in) {
    ind_dtype dtype = (ind_dtype)in->attr[1].i;
    if (ind__need_seed(in, 0) || ind__need_sizes(in, &in->attr[0].e, 1)) return in->status;
    if (dtype != IND_I64 && dtype != IND_I32)
        return ind__reject(in, IND_TYPE_MISMATCH, "dtype must be i64 or i32, not %s", ind_dtype_name(dtype));
    ind__set_result(in, 0, dtype, &in->attr[0].e, 1);
    return IND_OK;
}

/* bernoulli, native_dropout: the type and size of operand 0. */
static ind_status ind__rule_random_like(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_float(in, 0) || ind__need_seed(in, 1)) return in->status;
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    if (in->op != IND_OP_NATIVE_DROPOUT) return IND_OK;
    if (!(in->attr[0].f >= 0 && in->attr[0].f <= 1))
        return ind__reject(in, IND_INVALID_ARGUMENT, "p is %g; it must be in [0, 1]", in->attr[0].f);
    ind__set_result(in, 1, IND_BOOL, x->size, x->rank);
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
    return ind__reject(in, IND_TYPE_MISMATCH, "%s must be an integer where the result is %s",
                       in->op == IND_OP_ADDCMUL ? "value" : "alpha", ind_dtype_name(result));
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
    if (form && (!strcmp(form, "none") || !strcmp(form, "tanh"))) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "approximate is \"%.40s\"; allowed: \"none\", \"tanh\"",
                       form ? form : "");
}

static bool ind__is_rounded_div(ind_graph_op op, const ind__attr *attr) {
    return op == IND_OP_FLOOR_DIVIDE || (op == IND_OP_DIV && attr[0].kind != IND__ATTR_NONE);
}

static ind_status ind__check_div(ind__infer *in, ind_dtype result) {
    const char *mode = in->attr[0].s;
    if (!ind__is_rounded_div(in->op, in->attr)) return IND_OK;
    if (!mode || (strcmp(mode, "floor") && strcmp(mode, "trunc"))) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "rounding_mode is \"%.40s\"; allowed: none, \"floor\", \"trunc\"",
                           mode ? mode : "");
    }
    if (result != IND_BOOL) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
}

static ind_status ind__check_round(ind__infer *in, ind_dtype result) {
    if (in->attr[0].i == 0 || ind_dtype_is_float(result)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; decimals only exist for floating-point types",
                       ind__say_name(in, 0), ind__say_type(in, 0));
}

static ind_status ind__check_clamp(ind__infer *in) {
    if (ind__has_operand(in, 1) || ind__has_operand(in, 2)) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "neither min nor max is given; at least one is needed");
}

static ind_status ind__check_celu(ind__infer *in) {
    if (in->attr[0].f != 0) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "alpha is 0; it is divided by");
}

static ind_status ind__check_hardtanh(ind__infer *in, ind_dtype result) {
    const ind__attr *low = &in->attr[0], *high = &in->attr[1];
    if (result != IND_U8 || ((low->is_int ? low->i >= 0 : low->f >= 0) && (high->is_int ? high->i >= 0 : high->f >= 0)))
        return IND_OK;
    return ind__reject(in, IND_OUT_OF_RANGE, "%s is u8; its limits cannot be negative", ind__say_name(in, 0));
}

/* What the op table's flags allow the operands to promote to. */
static ind_status ind__check_promoted(ind__infer *in, ind_dtype result) {
    if (ind__op_has(in->op, 'f') && !ind_dtype_is_float(result)) return ind__need_float(in, 0);
    if (ind__op_has(in->op, 'n') && result == IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
    }
    if (!ind__op_has(in->op, 'i') || !ind_dtype_is_float(result)) return IND_OK;
    uint32_t k = in->num_operands > 1 && !ind_dtype_is_float(ind__operand(in, 0)->dtype);
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; an integer type is needed", ind__say_name(in, k),
                       ind__say_type(in, k));
}

static ind_status ind__check_philox(ind__infer *in, ind_dtype result) {
    int64_t first = in->attr[0].i, width = in->attr[1].i;
    if (result != IND_I64)
        return ind__reject(in, IND_TYPE_MISMATCH, "key, stream and position are %s; they must be i64",
                           ind_dtype_name(result));
    if (width > 0 && width < 64 && first >= 0 && first < 128 && first % 64 + width <= 64) return IND_OK;
    return ind__reject(in, IND_OUT_OF_RANGE,
                       "first is %lld and width %lld; at most 63 bits of one half of the 128 are allowed",
                       (long long)first, (long long)width);
}

/* What single pointwise ops ask beyond broadcasting and promotion. */
static ind_status ind__check_pointwise(ind__infer *in, ind_dtype result) {
    if (ind__check_promoted(in, result)) return in->status;
    switch (in->op) {
    case IND_OP_ADD:
    case IND_OP_SUB:
    case IND_OP_ADDCMUL: return ind__check_alpha(in, result);
    case IND_OP_POW: return ind__check_pow(in, result);
    case IND_OP_GELU: return ind__check_gelu(in);
    case IND_OP_DIV: return ind__check_div(in, result);
    case IND_OP_ROUND: return ind__check_round(in, result);
    case IND_OP_CLAMP: return ind__check_clamp(in);
    case IND_OP_CELU: return ind__check_celu(in);
    case IND_OP_PHILOX: return ind__check_philox(in, result);
    case IND_OP_POLYGAMMA:
        if (in->attr[0].i >= 0) return IND_OK;
        return ind__reject(in, IND_OUT_OF_RANGE, "n is %lld; it must not be negative", (long long)in->attr[0].i);
    case IND_OP_LERP:
        return ind__need_float(in, 0) || ind__operand(in, 1)->weak ? in->status : ind__need_same_dtype(in, 0, 1);
    case IND_OP_HARDTANH: return ind__check_hardtanh(in, result);
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
        if (ind__has_operand(in, k) && ind__broadcast(in, &s, k, 0)) return in->status;
    }
    uint32_t first = in->op == IND_OP_WHERE;
    ind_dtype dtype = ind__result_type(in->g, in->operand + first, in->num_operands - first);
    if (in->op == IND_OP_SQUARE && dtype == IND_BOOL) dtype = IND_I64; /* pow(self, 2), and 2 is a number */
    if (ind__check_pointwise(in, dtype)) return in->status;
    bool as_float = ind__op_has(in->op, 'F') && !ind__is_rounded_div(in->op, in->attr);
    if (as_float && !ind_dtype_is_float(dtype)) dtype = IND_F32;
    if (ind__op_has(in->op, 'B')) dtype = IND_BOOL;
    if (in->op == IND_OP_CAST) dtype = (ind_dtype)in->attr[0].i;
    ind__set_result(in, 0, dtype, s.size, s.rank);
    return IND_OK;
}

/* A value that goes into a tensor of self's type: a number or a 0-d tensor, of no higher class than self. */
static ind_status ind__check_filled(ind__infer *in, uint32_t k) {
    const ind__tensor_info *x = ind__operand(in, 0), *v = ind__operand(in, k);
    if (v->rank != 0) return ind__need_rank(in, k, 0);
    if (!ind_dtype_is_float(v->dtype) || ind_dtype_is_float(x->dtype)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s, which a value of type %s does not fit into",
                       ind__say_name(in, 0), ind__say_type(in, 0), ind_dtype_name(v->dtype));
}

static ind_status ind__rule_masked_fill(ind__infer *in) {
    ind__shape s = {0};
    if (ind__operand(in, 1)->dtype != IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; mask must be bool", ind__say_name(in, 1),
                           ind__say_type(in, 1));
    }
    if (ind__check_filled(in, 2) || ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, s.size, s.rank);
    return IND_OK;
}

/* fill and copy: a value or src that expands to self's shape, converted to its type. */
static ind_status ind__rule_fill(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__shape s = {0};
    if (in->op == IND_OP_FILL && ind__operand(in, 1)->rank != 0) return ind__need_rank(in, 1, 0);
    if (ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    bool expands = s.rank == x->rank;
    for (int d = 0; expands && d < s.rank; d++) expands = ind_known_eq(s.size[d], x->size[d]);
    if (!expands) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) does not expand to the shape of %s (%s)",
                           ind__say_name(in, 1), ind__say_type(in, 1), ind__say_name(in, 0), ind__say_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
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

static const ind__function *ind__graph_function(const ind_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->num_functions; i++)
        if (!strcmp(g->function[i]->name, name)) return g->function[i];
    return NULL;
}

/* A tensor must promote to the argument's type, a Python number be of no higher class. */
static ind_status ind__rule_call(ind__infer *in) {
    const ind__function *f = ind__graph_function(in->g, in->attr[0].s);
    ind__shape s = {0};
    if (!f) return ind__reject(in, IND_NOT_FOUND, "no function of this name is known here");
    if (in->num_operands != (uint32_t)f->num_args) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%u operands are given; it takes %d", (unsigned)in->num_operands,
                           f->num_args);
    }
    for (uint32_t k = 0; k < in->num_operands; k++) {
        const ind__tensor_info *x = ind__operand(in, k);
        ind_dtype takes = f->arg_dtype[k];
        if (x->weak ? ind__combine_ranks(takes, x->dtype) != takes : !ind__function_takes(takes, x->dtype)) {
            return ind__reject(in, IND_TYPE_MISMATCH, "argument %s is %s; %s does not promote to it", f->arg[k],
                               ind_dtype_name(takes), x->weak ? ind_dtype_name(x->dtype) : ind__say_type(in, k));
        }
        if (ind__broadcast(in, &s, k, 0)) return in->status;
    }
    ind__set_result(in, 0, f->dtype, s.size, s.rank);
    return IND_OK;
}

/* An opaque call's declared results: for each a dtype, a rank and the sizes. */
static ind_status ind__declared_result(ind__infer *in, const ind__attr *types, int *at, uint32_t k) {
    int64_t dtype = 0, rank = -1;
    bool ok = *at + 2 <= types->count && ind_expr_is_int(types->list[*at], &dtype) &&
              ind_expr_is_int(types->list[*at + 1], &rank);
    ok = ok && dtype > IND_DTYPE_NONE && dtype < IND_NUM_DTYPES && rank >= 0 && rank <= IND_MAX_RANK &&
         *at + 2 + rank <= types->count;
    if (!ok) return ind__reject(in, IND_INVALID_ARGUMENT, "result %u has no type", (unsigned)k);
    const ind_expr *size = types->list + *at + 2;
    if (ind__need_sizes(in, size, (int)rank)) return in->status;
    ind__set_result(in, k, (ind_dtype)dtype, size, (int)rank);
    *at += 2 + (int)rank;
    return IND_OK;
}

static ind_status ind__check_mutates(ind__infer *in, const ind__attr *mutates, uint32_t first) {
    for (int k = 0; k < mutates->count; k++) {
        int64_t x = -1;
        ind_expr_is_int(mutates->list[k], &x);
        bool ok = x >= 0 && x < in->num_operands;
        for (int j = 0; j < k; j++) ok = ok && !ind_expr_same(mutates->list[j], mutates->list[k]);
        if (!ok) return ind__reject(in, IND_INVALID_ARGUMENT, "it cannot overwrite operand %lld", (long long)x);
        const ind__tensor_info *t = ind__operand(in, (uint32_t)x);
        ind__set_result(in, first + (uint32_t)k, t->dtype, t->size, t->rank);
    }
    return IND_OK;
}

/* The declared results, then the operands that it overwrites. */
static ind_status ind__rule_extern(ind__infer *in) {
    const ind__attr *types = &in->attr[3], *mutates = &in->attr[2];
    int num = 0, at = 0, overwritten = mutates->kind == IND__ATTR_NONE ? 0 : mutates->count;
    int64_t rank, least, most;
    for (int i = 0; i + 1 < types->count; num++) {
        if (!ind_expr_is_int(types->list[i + 1], &rank) || rank < 0 || rank > IND_MAX_RANK) break;
        i += 2 + (int)rank;
    }
    if (num + overwritten < 1 || num + overwritten > IND_MAX_EXTERN_RESULTS) {
        return ind__reject(in, IND_LIMIT, "%d results; 1 to %d are possible", num + overwritten,
                           IND_MAX_EXTERN_RESULTS);
    }
    if (!ind_known_le(ind_int(in->c, 0), in->attr[1].e))
        return ind__reject(in, IND_OUT_OF_RANGE, "the bytes of workspace may be negative");
    ind_expr_bounds(in->attr[1].e, &least, &most);
    if (most > INT64_MAX / 2)
        return ind__reject(in, IND_OVERFLOW, "the workspace can have more bytes than 64 bits count");
    if (ind__need_results(in, num + overwritten)) return in->status;
    for (int k = 0; k < num; k++) {
        if (ind__declared_result(in, types, &at, (uint32_t)k)) return in->status;
    }
    if (at != types->count) return ind__reject(in, IND_INVALID_ARGUMENT, "result %d has no type", num);
    return overwritten ? ind__check_mutates(in, mutates, (uint32_t)num) : IND_OK;
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
    bool logic = ind__op_has(in->op, 'B');
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (!logic && ind__need_elements(in, mask)) return in->status;
    if (logic && in->attr[0].kind != IND__ATTR_NONE && in->attr[0].count == 0) mask = 0; /* torch.any(x, []) */
    if (logic && dtype != IND_U8) dtype = IND_BOOL; /* torch.any and torch.all keep uint8 */
    ind__reduced(in, mask, in->attr[1].i != 0, dtype, 0);
    return IND_OK;
}

/* The dimension that an attribute names as a mask; all of them where it is left out. */
static ind_status ind__dim_or_all(ind__infer *in, const ind__attr *a, uint32_t *mask) {
    int rank = ind__operand(in, 0)->rank, dim;
    *mask = (1u << rank) - 1;
    if (a->kind == IND__ATTR_NONE) return IND_OK;
    if (ind__dim(in, 0, a->i, rank, &dim)) return in->status;
    *mask = 1u << dim;
    return IND_OK;
}

static ind_status ind__rule_argmax(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask)) return in->status;
    if (x->dtype == IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
    }
    if (ind__need_elements(in, mask)) return in->status;
    ind__reduced(in, mask, in->attr[1].i != 0, IND_I64, 0);
    return IND_OK;
}

/* Without dim there are no indices. */
static ind_status ind__rule_max(ind__infer *in) {
    bool all = in->attr[0].kind == IND__ATTR_NONE, keepdim = in->attr[1].i != 0;
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask) || ind__need_elements(in, mask)) return in->status;
    if (all && keepdim) return ind__reject(in, IND_INVALID_ARGUMENT, "keepdim needs a dim");
    ind__reduced(in, mask, keepdim, ind__operand(in, 0)->dtype, 0);
    ind__reduced(in, mask, keepdim, IND_I64, 1);
    if (all) in->num_results = 1;
    return IND_OK;
}

static ind_status ind__rule_aminmax(ind__infer *in) {
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask) || ind__need_elements(in, mask)) return in->status;
    for (int r = 0; r < 2; r++) ind__reduced(in, mask, in->attr[1].i != 0, ind__operand(in, 0)->dtype, r);
    return IND_OK;
}

static ind_status ind__rule_prod(ind__infer *in) {
    ind_dtype from = ind__operand(in, 0)->dtype;
    uint32_t mask;
    if (ind__dim_or_all(in, &in->attr[0], &mask)) return in->status;
    ind_dtype dtype = in->attr[2].kind != IND__ATTR_NONE ? (ind_dtype)in->attr[2].i
                      : ind_dtype_is_float(from)         ? from
                                                         : IND_I64;
    ind__reduced(in, mask, in->attr[1].i != 0, dtype, 0);
    return IND_OK;
}

static ind_status ind__rule_count_nonzero(ind__infer *in) {
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    ind__reduced(in, mask, false, IND_I64, 0);
    return IND_OK;
}

static ind_status ind__rule_var(ind__infer *in) {
    uint32_t mask;
    if (ind__need_float(in, 0) || ind__dims(in, &in->attr[0], &mask)) return in->status;
    if (in->attr[1].kind != IND__ATTR_NONE && in->attr[3].kind != IND__ATTR_NONE) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "unbiased and correction are both given; one says it all");
    }
    for (int r = 0; r < 2; r++) ind__reduced(in, mask, in->attr[2].i != 0, ind__operand(in, 0)->dtype, r);
    return IND_OK;
}

static ind_status ind__rule_logsumexp(ind__infer *in) {
    ind_dtype dtype = ind__operand(in, 0)->dtype;
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    ind__reduced(in, mask, in->attr[1].i != 0, ind_dtype_is_float(dtype) ? dtype : IND_F32, 0);
    return IND_OK;
}

/* The order of a norm, be it written as an integer or not. */
static double ind__norm_order(const ind__attr *a) {
    return a->kind == IND__ATTR_SCALAR && a->is_int ? (double)a->i : a->f;
}

static ind_status ind__rule_vector_norm(ind__infer *in) {
    ind_dtype from = ind__operand(in, 0)->dtype, dtype = (ind_dtype)in->attr[3].i;
    double order = ind__norm_order(&in->attr[0]);
    uint32_t mask;
    if (ind__need_float(in, 0) || ind__dims(in, &in->attr[1], &mask)) return in->status;
    if (in->attr[3].kind == IND__ATTR_NONE) dtype = from;
    if (!ind_dtype_is_float(dtype) || ind_dtype_promote(from, dtype) != dtype) {
        return ind__reject(in, IND_TYPE_MISMATCH, "dtype %s cannot hold what %s (%s) holds", ind_dtype_name(dtype),
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (order != order) return ind__reject(in, IND_INVALID_ARGUMENT, "the order of the norm is not a number");
    if ((order < 0 || order > DBL_MAX) && ind__need_elements(in, mask)) return in->status;
    ind__reduced(in, mask, in->attr[2].i != 0, dtype, 0);
    return IND_OK;
}

static ind_status ind__check_distance(ind__infer *in, double p) {
    if (p >= 0) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "p is %g; it must not be negative", p);
}

/* [.., P, M] and [.., R, M] give [.., P, R]. */
static ind_status ind__rule_cdist(ind__infer *in) {
    const ind__tensor_info *a = ind__operand(in, 0), *b = ind__operand(in, 1);
    ind__agreement columns = {0, a->rank - 1, " columns", 1, b->rank - 1, "has", ""};
    ind__shape s = {0};
    if (ind__need_float(in, 0) || ind__need_same_dtype(in, 0, 1)) return in->status;
    for (uint32_t k = 0; k < 2; k++) {
        if (ind__operand(in, k)->rank >= 2) continue;
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; at least 2 dimensions are needed", ind__say_name(in, k),
                           ind__say_type(in, k));
    }
    if (ind__need_agree(in, columns) || ind__check_distance(in, in->attr[0].f)) return in->status;
    if (in->attr[1].kind != IND__ATTR_NONE && (in->attr[1].i < 0 || in->attr[1].i > 2)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "compute_mode is %lld; allowed: 0, 1, 2",
                           (long long)in->attr[1].i);
    }
    if (ind__broadcast(in, &s, 0, 2) || ind__broadcast(in, &s, 1, 2)) return in->status;
    if (s.rank + 3 > IND_MAX_RANK) return ind__too_many_dims(in, s.rank + 3);
    s.size[s.rank++] = a->size[a->rank - 2];
    s.size[s.rank++] = b->size[b->rank - 2];
    ind__set_result(in, 0, a->dtype, s.size, s.rank);
    return IND_OK;
}

/* Every pair of rows once: N * (N - 1) / 2. */
static ind_status ind__rule_pdist(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_rank(in, 0, 2) || ind__need_float(in, 0) || ind__check_distance(in, in->attr[0].f)) return in->status;
    ind_expr n = x->size[0], one = ind_int(in->c, 1);
    ind_expr pairs = ind_expr_floordiv(ind_expr_mul(n, ind_expr_sub(n, one)), ind_int(in->c, 2));
    ind__set_result(in, 0, x->dtype, &pairs, 1);
    return IND_OK;
}

/* The loss of every element, or of all together. reduction: which attribute says so. */
static ind_status ind__set_loss(ind__infer *in, const ind__attr *reduction, ind_dtype dtype, const ind_expr *size,
                                int rank) {
    const char *how = reduction->s ? reduction->s : "";
    bool none = !strcmp(how, "none");
    if (!none && strcmp(how, "mean") && strcmp(how, "sum")) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "reduction is \"%.40s\"; allowed: \"none\", \"mean\", \"sum\"",
                           how);
    }
    ind__set_result(in, 0, dtype, size, none ? rank : 0);
    return IND_OK;
}

static ind_status ind__rule_distance_loss(ind__infer *in) {
    ind_dtype dtype = ind__result_type(in->g, in->operand, 2);
    ind__shape s = {0};
    if (!ind_dtype_is_float(dtype) && ind__need_float(in, 0)) return in->status;
    if (ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    return ind__set_loss(in, &in->attr[0], dtype, s.size, s.rank);
}

/* Where the classes of a loss stand: [C] or [N, C, ..]. */
static int ind__class_dim(int rank) {
    return rank > 1;
}

/* Classes, or for cross_entropy probabilities. */
static ind_status ind__check_loss_target(ind__infer *in, const ind_expr *rows, int num_rows) {
    const ind__tensor_info *x = ind__operand(in, 0), *t = ind__operand(in, 1);
    bool probabilities = in->op == IND_OP_CROSS_ENTROPY && ind_dtype_is_float(t->dtype);
    if (probabilities ? ind__need_same_dtype(in, 1, 0) : ind__need_index(in, 1)) return in->status;
    const ind_expr *size = probabilities ? x->size : rows;
    int rank = probabilities ? x->rank : num_rows;
    bool fits = t->rank == rank;
    for (int d = 0; fits && d < rank; d++) fits = ind_known_eq(t->size[d], size[d]);
    if (fits) return IND_OK;
    char *want = ind__scratch(in);
    ind__print_type(want, sizeof in->scratch[0], t->dtype, size, rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; with %s being %s it must be %s", ind__say_name(in, 1),
                       ind__say_type(in, 1), ind__say_name(in, 0), ind__say_type(in, 0), want);
}

static ind_status ind__rule_class_loss(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr rows[IND_MAX_RANK];
    int num_rows = 0, classes = ind__class_dim(x->rank);
    if (ind__need_float(in, 0) || ind__need_dimensions(in, 0)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        if (d != classes) rows[num_rows++] = x->size[d];
    }
    if (!ind_known_le(ind_int(in->c, 1), x->size[classes])) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) may have no classes (dim %d)", ind__say_name(in, 0),
                           ind__say_type(in, 0), classes);
    }
    if (ind__check_loss_target(in, rows, num_rows)) return in->status;
    ind__agreement weights = {2, 0, " elements", 0, classes, "has", " classes"};
    if (ind__has_operand(in, 2) &&
        (ind__need_rank(in, 2, 1) || ind__need_same_dtype(in, 2, 0) || ind__need_agree(in, weights))) {
        return in->status;
    }
    double smoothing = in->op == IND_OP_CROSS_ENTROPY ? in->attr[2].f : 0;
    if (!(smoothing >= 0 && smoothing <= 1)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "label_smoothing is %g; it must be in [0, 1]", smoothing);
    }
    return ind__set_loss(in, &in->attr[1], x->dtype, rows, num_rows);
}

/* _softmax and _log_softmax of Core ATen. */
static ind_status ind__rule_softmax_half(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    bool half = x->dtype == IND_F16 || x->dtype == IND_BF16, widens = in->attr[1].i != 0;
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim) || ind__need_float(in, 0)) return in->status;
    if (widens && !half) {
        return ind__reject(in, IND_TYPE_MISMATCH, "half_to_float is for f16 and bf16; %s is %s", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    }
    ind__set_result(in, 0, widens ? IND_F32 : x->dtype, x->size, x->rank);
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

static ind_status ind__check_normalized_shape(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shape = &in->attr[0];
    bool fits = shape->count >= 1 && shape->count <= x->rank;
    for (int d = 0; fits && d < shape->count; d++) {
        fits = ind_known_eq(shape->list[d], x->size[x->rank - shape->count + d]);
    }
    if (!fits) {
        return ind__reject(in, IND_SHAPE_MISMATCH,
                           "normalized_shape must be the last dimensions of %s (%s), at least one",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    return IND_OK;
}

static ind_status ind__rule_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shape = &in->attr[0];
    if (ind__need_float(in, 0) || ind__check_normalized_shape(in)) return in->status;
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__has_operand(in, k) && ind__check_norm_parameter(in, k, shape)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* Results besides the output: mean and 1 / sqrt(variance + eps), with the normalised dimensions kept. */
static ind_status ind__rule_native_layer_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    if (ind__rule_norm(in)) return in->status;
    int kept = x->rank - in->attr[0].count;
    for (int d = 0; d < x->rank; d++) size[d] = d < kept ? x->size[d] : ind_int(in->c, 1);
    for (int r = 1; r < 3; r++) ind__set_result(in, r, ind_dtype_compute(x->dtype), size, x->rank);
    return IND_OK;
}

/* Weight, bias and statistics of a norm over channels: one number per channel, of the input's type or f32. */
static ind_status ind__check_channel_parameter(ind__infer *in, uint32_t k) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, k);
    if (w->rank != 1 || !ind_known_eq(w->size[0], x->size[1])) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; it must have one element per channel (dim 1) of %s (%s)",
                           ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (w->dtype == x->dtype || (w->dtype == IND_F32 && x->dtype != IND_F64)) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s, %s is %s; it must have the same element type, or f32",
                       ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0), ind__say_type(in, 0));
}

static ind_status ind__need_channels(ind__infer *in) {
    if (ind__need_float(in, 0) || ind__operand(in, 0)->rank >= 2) return in->status;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; at least 2 dimensions, [N, C, ..], are needed",
                       ind__say_name(in, 0), ind__say_type(in, 0));
}

static ind_status ind__check_channel_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_channels(in)) return in->status;
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__has_operand(in, k) && ind__check_channel_parameter(in, k)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* The type of mean and rstd: f32 where a parameter beside f16 or bf16 input is f32. */
static ind_dtype ind__mixed_type(const ind__infer *in) {
    ind_dtype dtype = ind__operand(in, 0)->dtype;
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__has_operand(in, k)) dtype = ind_dtype_promote(dtype, ind__operand(in, k)->dtype);
    }
    return dtype;
}

/* N, C and HxW of native_group_norm say again what the input's sizes are. */
static ind_status ind__check_group_sizes(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr have[3] = {x->size[0], x->size[1], ind_expr_product(in->c, x->size + 2, x->rank - 2)};
    for (int k = 0; k < 3; k++) {
        if (ind_known_eq(have[k], in->attr[k].e)) continue;
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is given as %s; %s (%s) has %s there%s",
                           k == 0   ? "N"
                           : k == 1 ? "C"
                                    : "HxW",
                           ind__say_size(in, in->attr[k].e), ind__say_name(in, 0), ind__say_type(in, 0),
                           ind__say_size(in, have[k]), ind__say_differ(in, in->attr[k].e, have[k]));
    }
    return IND_OK;
}

/* Groups must divide the channels; the lowering needs a dimension for them. */
static ind_status ind__check_groups(ind__infer *in, int64_t groups) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    if (groups > 0 && ind_known_eq(ind_expr_mod(x->size[1], ind_int(in->c, groups)), ind_int(in->c, 0))) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "%s channels (dim 1 of %s (%s)) do not divide into %lld groups",
                       ind__say_size(in, x->size[1]), ind__say_name(in, 0), ind__say_type(in, 0), (long long)groups);
}

static ind_status ind__rule_group_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    bool native = in->op == IND_OP_NATIVE_GROUP_NORM;
    int64_t groups = in->attr[native ? 3 : 0].i;
    if (ind__check_channel_norm(in) || (native && ind__check_group_sizes(in))) return in->status;
    if (ind__check_groups(in, groups)) return in->status;
    ind_expr size[2] = {x->size[0], ind_int(in->c, groups)};
    for (int r = 1; r < 3; r++) ind__set_result(in, r, ind__mixed_type(in), size, 2);
    return IND_OK;
}

/* Whether a norm takes mean and variance from its operands 3 and 4: where training, or use_input_stats, is false. */
static bool ind__uses_running(ind_graph_op op, const ind__attr *attr) {
    return op == IND_OP_NATIVE_BATCH_NORM_LEGIT_NO_TRAINING || attr[0].i == 0;
}

static ind_status ind__rule_batch_norm(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr empty = ind_int(in->c, 0);
    if (ind__check_channel_norm(in)) return in->status;
    bool mean = ind__has_operand(in, 3), variance = ind__has_operand(in, 4),
         running = ind__uses_running(in->op, in->attr);
    if (mean != variance || (running && !mean)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "running_mean and running_var must %s",
                           running ? "be given where the batch's statistics are not used" : "come together");
    }
    bool functional = in->op == IND_OP_NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL;
    if (mean && !running && !functional) {
        return ind__reject(in, IND_NOT_SUPPORTED,
                           "running_mean and running_var are not updated; leave them out to use the batch's "
                           "statistics (_native_batch_norm_legit_functional gives their new values)");
    }
    for (int r = 3; functional && r < 5; r++) {
        ind__set_result(in, r, ind__operand(in, (uint32_t)r)->dtype, &x->size[1], 1);
    }
    for (int r = 1; r < 3; r++) {
        ind__set_result(in, r, running ? x->dtype : ind_dtype_compute(x->dtype), running ? &empty : &x->size[1], 1);
    }
    return IND_OK;
}

/* Operand k has this shape, and the type of operand 0 or the one that is computed in. */
static ind_status ind__check_like(ind__infer *in, uint32_t k, const ind_expr *size, int rank) {
    const ind__tensor_info *x = ind__operand(in, 0), *t = ind__operand(in, k);
    bool fits = t->rank == rank && (t->dtype == x->dtype || t->dtype == ind_dtype_compute(x->dtype));
    for (int d = 0; fits && d < rank; d++) fits = ind_known_eq(t->size[d], size[d]);
    if (fits) return IND_OK;
    char *want = ind__scratch(in);
    ind__print_type(want, sizeof in->scratch[0], x->dtype, size, rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; it must be %s", ind__say_name(in, k), ind__say_type(in, k),
                       want);
}

/* Is gradient r (of the input, the weight, the bias) asked for? That of a weight of layer norm only where there is one.
 */
static bool ind__gives_gradient(ind_graph_op op, const uint32_t *operand, const ind__attr *mask, uint32_t r) {
    int64_t wanted = 0;
    (void)ind_expr_is_int(mask->list[r], &wanted);
    return wanted && (op == IND_OP_NATIVE_GROUP_NORM_BACKWARD || r == 0 || operand[3 + r]);
}

/* What is common to the gradients of norms: operands grad_out, input, mean, rstd; what is not asked for is empty. */
static ind_status ind__check_norm_backward(ind__infer *in, const ind__attr *mask, const ind_expr *statistics,
                                           int rank) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_same_dtype(in, 1, 0) || ind__check_like(in, 1, x->size, x->rank)) return in->status;
    if (ind__check_like(in, 2, statistics, rank) || ind__check_like(in, 3, statistics, rank)) return in->status;
    if (mask->count == 3) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "output_mask has %d elements; 3 are needed", mask->count);
}

static void ind__set_gradients(ind__infer *in, const ind__attr *mask, const ind_expr *size, int rank) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_dtype dtype = ind__has_operand(in, 4) ? ind__operand(in, 4)->dtype : x->dtype;
    ind_expr empty = ind_int(in->c, 0);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    for (int r = 1; r < 3; r++) ind__set_result(in, r, dtype, size, rank);
    for (uint32_t r = 0; r < 3; r++) {
        if (ind__gives_gradient(in->op, in->operand, mask, r)) continue;
        ind__set_result(in, (int)r, x->dtype, &empty, 1);
    }
}

static ind_status ind__rule_layer_norm_backward(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shape = &in->attr[0];
    ind_expr size[IND_MAX_RANK];
    if (ind__need_float(in, 0) || ind__check_normalized_shape(in)) return in->status;
    for (int d = 0; d < x->rank; d++) size[d] = d < x->rank - shape->count ? x->size[d] : ind_int(in->c, 1);
    if (ind__check_norm_backward(in, &in->attr[1], size, x->rank)) return in->status;
    for (uint32_t k = 4; k < 6; k++) {
        if (ind__has_operand(in, k) && ind__check_norm_parameter(in, k, shape)) return in->status;
    }
    ind__set_gradients(in, &in->attr[1], shape->list, shape->count);
    return IND_OK;
}

static ind_status ind__rule_group_norm_backward(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind__need_channels(in) || ind__check_group_sizes(in) || ind__check_groups(in, in->attr[3].i)) return in->status;
    ind_expr size[2] = {x->size[0], ind_int(in->c, in->attr[3].i)};
    if (ind__check_norm_backward(in, &in->attr[4], size, 2)) return in->status;
    if (ind__has_operand(in, 4) && ind__check_channel_parameter(in, 4)) return in->status;
    ind__set_gradients(in, &in->attr[4], &x->size[1], 1);
    return IND_OK;
}

/* ---- views */

/* Takes out of both lists what they share, so that symbolic sizes cancel. A 0 stays: it makes all of a side 0. */
static void ind__cancel(ind_context *c, ind_expr *a, int na, ind_expr *b, int nb) {
    for (int i = 0; i < na; i++) {
        for (int j = 0; j < nb; j++) {
            if (ind_expr_same(a[i], b[j]) && !ind__is_int(a[i], 1) && !ind__is_int(a[i], 0)) {
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

static ind_status ind__view_to(ind__infer *in, const ind_expr *want, int rank) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK], from[IND_MAX_RANK], to[IND_MAX_RANK];
    int open = -1;
    for (int d = 0; d < rank; d++) {
        size[d] = to[d] = want[d];
        if (!ind__is_int(size[d], -1)) continue;
        if (open >= 0) return ind__reject(in, IND_INVALID_ARGUMENT, "only one size may be -1");
        open = d;
        size[d] = to[d] = ind_int(in->c, 1);
    }
    if (ind__need_sizes(in, size, rank)) return in->status;
    memcpy(from, x->size, sizeof from);
    ind__cancel(in->c, from, x->rank, to, rank);
    ind_expr have = ind_expr_product(in->c, from, x->rank), given = ind_expr_product(in->c, to, rank);
    if (open >= 0) {
        ind_expr rest = ind_known_lt(ind_int(in->c, 0), given) ? ind_expr_floordiv(have, given) : ind_int(in->c, 0);
        size[open] = rest;
        given = ind_expr_mul(given, rest);
    }
    if (!ind_known_eq(have, given)) return ind__view_clash(in, want, rank, ind_expr_eq(have, given));
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_view(ind__infer *in) {
    return ind__view_to(in, in->attr[0].list, in->attr[0].count);
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

static ind_status ind__expand_to(ind__infer *in, const ind_expr *want, int rank) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK] = {{0}};
    int lead = rank - x->rank;
    if (lead < 0) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d sizes are given; %s (%s) has %d dimensions already", rank,
                           ind__say_name(in, 0), ind__say_type(in, 0), x->rank);
    }
    for (int d = 0; d < rank; d++) {
        size[d] = want[d];
        if (d < lead) continue;
        ind_expr old = x->size[d - lead];
        if (ind__is_int(size[d], -1)) size[d] = old;
        if (!ind__is_int(old, 1) && !ind_known_eq(old, size[d])) {
            return ind__reject(in, IND_SHAPE_MISMATCH, "dim %d of %s (%s) is %s and cannot become %s; only 1 expands%s",
                               d - lead, ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, old),
                               ind__say_size(in, size[d]), ind__say_differ(in, old, size[d]));
        }
    }
    if (ind__need_sizes(in, size, rank)) return in->status;
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_expand(ind__infer *in) {
    return ind__expand_to(in, in->attr[0].list, in->attr[0].count);
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

/* ---- more views, and ops that move elements */

static ind_status ind__rule_reshape_as(ind__infer *in) {
    const ind__tensor_info *other = ind__operand(in, 1);
    return ind__view_to(in, other->size, other->rank);
}

static ind_status ind__rule_expand_as(ind__infer *in) {
    const ind__tensor_info *other = ind__operand(in, 1);
    return ind__expand_to(in, other->size, other->rank);
}

static ind_status ind__rule_flatten(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    int first, last, rank = 0;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &first) || ind__dim(in, 0, in->attr[1].i, x->rank, &last))
        return in->status;
    if (first > last) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "start_dim %d comes after end_dim %d", first, last);
    }
    for (int d = 0; d < first; d++) size[rank++] = x->size[d];
    size[rank++] = ind_expr_product(in->c, x->size + first, x->rank ? last - first + 1 : 0);
    for (int d = last + 1; d < x->rank; d++) size[rank++] = x->size[d];
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_unflatten(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *sizes = &in->attr[1];
    ind_expr size[2 * IND_MAX_RANK];
    int dim, rank = 0;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (sizes->count == 0) return ind__reject(in, IND_INVALID_ARGUMENT, "sizes is empty");
    if (x->rank - 1 + sizes->count > IND_MAX_RANK) return ind__too_many_dims(in, x->rank - 1 + sizes->count);
    for (int d = 0; d < dim; d++) size[rank++] = x->size[d];
    for (int k = 0; k < sizes->count; k++) size[rank++] = sizes->list[k];
    for (int d = dim + 1; d < x->rank; d++) size[rank++] = x->size[d];
    return ind__view_to(in, size, rank);
}

static ind_status ind__need_tensors(ind__infer *in) {
    if (in->num_operands > 0) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "at least one tensor is needed");
}

static ind_status ind__rule_broadcast_tensors(ind__infer *in) {
    ind__shape s = {0};
    if (ind__need_tensors(in) || ind__need_results(in, in->num_operands)) return in->status;
    for (uint32_t k = 0; k < in->num_operands; k++) {
        if (ind__broadcast(in, &s, k, 0)) return in->status;
    }
    for (uint32_t k = 0; k < in->num_operands; k++) {
        ind__set_result(in, (int)k, ind__operand(in, k)->dtype, s.size, s.rank);
    }
    return IND_OK;
}

/* Where operand k of a meshgrid varies: with indexing "xy" the first two dimensions are exchanged. */
static int ind__meshgrid_dim(const ind__attr *indexing, uint32_t k, uint32_t n) {
    bool xy = indexing->s && strcmp(indexing->s, "xy") == 0;
    return xy && n > 1 && k < 2 ? (int)(1 - k) : (int)k;
}

static ind_status ind__rule_meshgrid(ind__infer *in) {
    ind_expr size[IND_MAX_RANK];
    const char *indexing = in->attr[0].s;
    if (ind__need_tensors(in) || ind__need_results(in, in->num_operands)) return in->status;
    if (in->num_operands > IND_MAX_RANK) return ind__too_many_dims(in, (int)in->num_operands);
    if (!indexing || (strcmp(indexing, "ij") && strcmp(indexing, "xy"))) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "indexing is \"%.40s\"; allowed: \"ij\", \"xy\"",
                           indexing ? indexing : "");
    }
    for (uint32_t k = 0; k < in->num_operands; k++) {
        const ind__tensor_info *x = ind__operand(in, k);
        if (ind__need_same_dtype(in, 0, k) || (x->rank != 0 && ind__need_rank(in, k, 1))) return in->status;
        size[ind__meshgrid_dim(&in->attr[0], k, in->num_operands)] = x->rank ? x->size[0] : ind_int(in->c, 1);
    }
    for (uint32_t k = 0; k < in->num_operands; k++)
        ind__set_result(in, (int)k, ind__operand(in, k)->dtype, size, (int)in->num_operands);
    return IND_OK;
}

/* from[d]: the dimension of the operand that is seen at dimension d. The dims that are named go where they are told;
   the others keep their order (torch.movedim). */
static void ind__movedim_order(const ind__attr *source, const ind__attr *destination, int rank, int *from) {
    int next = 0;
    uint32_t used = 0;
    for (int d = 0; d < rank; d++) from[d] = -1;
    for (int k = 0; k < source->count; k++) {
        int s = ind__list_dim(source, k, rank);
        from[ind__list_dim(destination, k, rank)] = s;
        used |= 1u << s;
    }
    for (int d = 0; d < rank; d++) {
        while (used >> next & 1) next++;
        if (from[d] < 0) from[d] = next++;
    }
}

static ind_status ind__moved_dims(ind__infer *in, int from[IND_MAX_RANK]) {
    const ind__attr *source = &in->attr[0], *destination = &in->attr[1];
    uint32_t used;
    if (source->count != destination->count) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "source has %d dims, destination %d; they must be as many",
                           source->count, destination->count);
    }
    if (ind__dims(in, source, &used) || ind__dims(in, destination, &used)) return in->status;
    ind__movedim_order(source, destination, ind__operand(in, 0)->rank, from);
    return IND_OK;
}

static ind_status ind__rule_movedim(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    int from[IND_MAX_RANK];
    if (ind__need_dimensions(in, 0) || ind__moved_dims(in, from)) return in->status;
    for (int d = 0; d < x->rank; d++) size[d] = x->size[from[d]];
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

/* The position that an index which may count from the end means; invalid where it is not known which. */
static ind_expr ind__from_front(ind_expr index, ind_expr size) {
    ind_expr zero = ind_int(size.context, 0);
    if (ind_known_le(zero, index)) return index;
    return ind_known_lt(index, zero) ? ind_expr_add(index, size)
                                     : ind_expr_where(ind_expr_lt(index, zero), ind_expr_add(index, size), index);
}

static ind_status ind__rule_narrow(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr length = in->attr[2].e, zero = ind_int(in->c, 0);
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    ind_expr start = ind__from_front(in->attr[1].e, x->size[dim]);
    bool fits = ind_known_le(zero, start) && ind_known_le(zero, length) &&
                ind_known_le(ind_expr_add(start, length), x->size[dim]);
    if (!fits) {
        return ind__reject(in, IND_OUT_OF_RANGE, "[%s, %s + %s) is not known to lie within dim %d of %s (%s)",
                           ind__say_size(in, start), ind__say_size(in, start), ind__say_size(in, length), dim,
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    in->result[0].size[dim] = length;
    return IND_OK;
}

/* Pieces of a dimension: how many, which is the same for all sizes or else an error, and their lengths; the last of
   equal ones is what is left. */
static ind_status ind__split_evenly(ind__infer *in, int dim, ind_expr length) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr zero = ind_int(in->c, 0), whole = x->size[dim];
    int64_t pieces = 1;
    if (!ind_known_lt(zero, length) && !(ind__is_int(length, 0) && ind__is_int(whole, 0))) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "pieces of %s; it must be greater than 0",
                           ind__say_size(in, length));
    }
    if (!ind__is_int(whole, 0) && !ind_expr_is_int(ind_expr_ceildiv(whole, length), &pieces)) {
        return ind__reject(in, IND_NOT_SUPPORTED,
                           "the number of pieces, %s, depends on the sizes; it must be the same for all of them",
                           ind__say_size(in, ind_expr_ceildiv(whole, length)));
    }
    if (ind__need_results(in, pieces)) return in->status;
    for (int64_t k = 0; k < pieces; k++) {
        ind__set_result(in, (int)k, x->dtype, x->size, x->rank);
        if (k + 1 < pieces) in->result[k].size[dim] = length;
        if (pieces > 1 && k + 1 == pieces) {
            in->result[k].size[dim] = ind_expr_sub(whole, ind_expr_mul(length, ind_int(in->c, pieces - 1)));
        }
    }
    return IND_OK;
}

static ind_status ind__rule_split(ind__infer *in) {
    int dim, rank = ind__operand(in, 0)->rank;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[1].i, rank, &dim)) return in->status;
    return ind__split_evenly(in, dim, in->attr[0].e);
}

/* torch.chunk: pieces of ceil(size / chunks), which may be fewer than asked for. An empty dimension gives all of them.
 */
static ind_status ind__rule_chunk(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (in->attr[0].i < 1) return ind__reject(in, IND_INVALID_ARGUMENT, "chunks must be greater than 0");
    if (!ind__is_int(x->size[dim], 0)) {
        return ind__split_evenly(in, dim, ind_expr_ceildiv(x->size[dim], ind_int(in->c, in->attr[0].i)));
    }
    if (ind__need_results(in, in->attr[0].i)) return in->status;
    for (int64_t k = 0; k < in->attr[0].i; k++) ind__set_result(in, (int)k, x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_split_with_sizes(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *sizes = &in->attr[0];
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (ind__need_sizes(in, sizes->list, sizes->count)) return in->status;
    ind_expr total = ind_expr_sum(in->c, sizes->list, sizes->count);
    if (!ind_known_eq(total, x->size[dim])) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "split_sizes add up to %s; dim %d of %s (%s) has %s%s",
                           ind__say_size(in, total), dim, ind__say_name(in, 0), ind__say_type(in, 0),
                           ind__say_size(in, x->size[dim]), ind__say_differ(in, total, x->size[dim]));
    }
    if (ind__need_results(in, sizes->count)) return in->status;
    for (int k = 0; k < sizes->count; k++) {
        ind__set_result(in, k, x->dtype, x->size, x->rank);
        in->result[k].size[dim] = sizes->list[k];
    }
    return IND_OK;
}

static ind_status ind__rule_unbind(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK];
    int64_t n;
    int dim;
    if (ind__need_dimensions(in, 0) || ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (!ind_expr_is_int(x->size[dim], &n)) {
        return ind__reject(in, IND_NOT_SUPPORTED,
                           "dim %d of %s (%s) is symbolic, and so would be the number of results", dim,
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (ind__need_results(in, n)) return in->status;
    for (int d = 0; d + 1 < x->rank; d++) size[d] = x->size[d + (d >= dim)];
    for (int64_t k = 0; k < n; k++) ind__set_result(in, (int)k, x->dtype, size, x->rank - 1);
    return IND_OK;
}

static ind_status ind__need_positive(ind__infer *in, ind_expr e, const char *what) {
    if (ind_known_lt(ind_int(in->c, 0), e)) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "%s %s; it must be greater than 0", what, ind__say_size(in, e));
}

static ind_status ind__rule_unfold(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr length = in->attr[1].e, step = in->attr[2].e, size[IND_MAX_RANK + 1];
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim) || ind__need_positive(in, step, "step")) return in->status;
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    ind_expr whole = x->rank ? x->size[dim] : ind_int(in->c, 1);
    if (!ind_known_le(ind_int(in->c, 0), length) || !ind_known_le(length, whole)) {
        return ind__reject(in, IND_OUT_OF_RANGE, "size %s is not known to lie within dim %d of %s (%s)",
                           ind__say_size(in, length), dim, ind__say_name(in, 0), ind__say_type(in, 0));
    }
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    ind_expr windows = ind_expr_floordiv(ind_expr_sub(whole, length), step);
    if (x->rank) size[dim] = ind_expr_add(windows, ind_int(in->c, 1));
    size[x->rank] = length;
    ind__set_result(in, 0, x->dtype, size, x->rank + 1);
    return IND_OK;
}

/* Elements of the diagonal of the plane of two dimensions. */
static ind_expr ind__diagonal_length(ind_expr rows, ind_expr columns, int64_t offset) {
    ind_context *c = rows.context;
    if (offset >= 0) columns = ind_expr_sub(columns, ind_int(c, offset));
    if (offset < 0) rows = ind_expr_add(rows, ind_int(c, offset));
    ind_expr n = ind_known_le(rows, columns)   ? rows
                 : ind_known_le(columns, rows) ? columns
                                               : ind_expr_min(rows, columns);
    return ind_known_le(ind_int(c, 0), n) ? n : ind_expr_max(n, ind_int(c, 0));
}

/* The type of a diagonal of operand 0; attr: offset, dim1, dim2. */
static ind_status ind__diagonal_type(ind__infer *in, ind__type *t) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int a, b;
    if (ind__dim(in, 0, in->attr[1].i, x->rank, &a) || ind__dim(in, 0, in->attr[2].i, x->rank, &b)) return in->status;
    if (a == b) return ind__reject(in, IND_INVALID_ARGUMENT, "dim1 and dim2 are both %d", a);
    t->dtype = x->dtype;
    t->rank = 0;
    for (int d = 0; d < x->rank; d++) {
        if (d != a && d != b) t->size[t->rank++] = x->size[d];
    }
    t->size[t->rank++] = ind__diagonal_length(x->size[a], x->size[b], in->attr[0].i);
    return IND_OK;
}

static ind_status ind__rule_diagonal(ind__infer *in) {
    return ind__diagonal_type(in, &in->result[0]);
}

/* How the elements of an operand lie in its storage is known where it is an input or constant, or a reshape of one. */
static bool ind__is_contiguous(const ind_graph *g, uint32_t tensor) {
    for (;;) {
        const ind__node *n = &g->node[g->tensor[tensor].node];
        switch (n->op) {
        case IND_OP_INPUT:
        case IND_OP_CONST: return true;
        case IND_OP_VIEW:
        case IND_OP_VIEW_AS:
        case IND_OP_RESHAPE:
        case IND_OP_FLATTEN:
        case IND_OP_UNFLATTEN:
        case IND_OP_SQUEEZE:
        case IND_OP_UNSQUEEZE: tensor = n->operand[0]; break;
        default: return false;
        }
    }
}

static ind_status ind__rule_as_strided(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *size = &in->attr[0], *stride = &in->attr[1];
    ind_expr one = ind_int(in->c, 1), last = in->attr[2].e;
    if (size->count != stride->count) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d sizes and %d strides are given; they must be as many",
                           size->count, stride->count);
    }
    if (!ind__is_contiguous(in->g, in->operand[0])) {
        return ind__reject(in, IND_NOT_SUPPORTED,
                           "the strides of %s are not known: only inputs, constants and reshapes of them have a layout",
                           ind__say_name(in, 0));
    }
    if (ind__need_sizes(in, size->list, size->count) || ind__need_sizes(in, stride->list, stride->count))
        return in->status;
    bool empty = false;
    for (int d = 0; d < size->count; d++) {
        empty = empty || ind__is_int(size->list[d], 0);
        last = ind_expr_add(last, ind_expr_mul(ind_expr_sub(size->list[d], one), stride->list[d]));
    }
    bool begins = ind_known_le(ind_int(in->c, 0), in->attr[2].e);
    ind_expr numel = ind_expr_product(in->c, x->size, x->rank);
    if (!begins || (!empty && !ind_known_lt(last, numel))) {
        return ind__reject(in, IND_OUT_OF_RANGE, "elements up to %s are not known to lie within %s (%s)",
                           ind__say_size(in, last), ind__say_name(in, 0), ind__say_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, size->list, size->count);
    return IND_OK;
}

static ind_status ind__rule_flip(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    uint32_t mask;
    if (ind__dims(in, &in->attr[0], &mask)) return in->status;
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* Without dims the tensor is rolled as if it were flat, by one shift. A dim may come twice: its shifts add up. */
static ind_status ind__rule_roll(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *shifts = &in->attr[0], *dims = &in->attr[1];
    int want = dims->kind == IND__ATTR_NONE || dims->count == 0 ? 1 : dims->count, dim;
    if (shifts->count != want) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%d shifts are given, %d %s needed", shifts->count, want,
                           want == 1 ? "is" : "are");
    }
    for (int k = 0; dims->kind != IND__ATTR_NONE && k < dims->count; k++) {
        int64_t given = 0;
        ind_expr_is_int(dims->list[k], &given);
        if (ind__need_dimensions(in, 0) || ind__dim(in, 0, given, x->rank, &dim)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* repeat and tile: the numbers belong to the last dimensions; what is missing in front is 1. */
static ind_status ind__rule_repeat(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *times = &in->attr[0];
    ind_expr size[IND_MAX_RANK];
    int rank = times->count > x->rank ? times->count : x->rank;
    if (in->op == IND_OP_REPEAT && times->count < x->rank) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d repeats are given; %s (%s) has %d dimensions", times->count,
                           ind__say_name(in, 0), ind__say_type(in, 0), x->rank);
    }
    if (ind__need_sizes(in, times->list, times->count)) return in->status;
    for (int d = 0; d < rank; d++) {
        int own = d - (rank - x->rank), given = d - (rank - times->count);
        size[d] = own >= 0 ? x->size[own] : ind_int(in->c, 1);
        if (given >= 0) size[d] = ind_expr_mul(size[d], times->list[given]);
    }
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__need_multiple(ind__infer *in, int dim, int64_t of) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (ind_known_multiple(x->size[dim], of)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "dim %d of %s (%s) is not known to be a multiple of %lld", dim,
                       ind__say_name(in, 0), ind__say_type(in, 0), (long long)of);
}

/* pixel_shuffle: [.., C*r*r, H, W] to [.., C, H*r, W*r]; pixel_unshuffle: back. */
static ind_status ind__rule_pixel_shuffle(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int64_t r = in->attr[0].i;
    int channels = x->rank - 3;
    if (x->rank < 3) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; at least 3 dimensions are needed", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    }
    if (r < 1 || r > INT32_MAX) return ind__reject(in, IND_INVALID_ARGUMENT, "the factor must be greater than 0");
    bool grow = in->op == IND_OP_PIXEL_SHUFFLE;
    for (int k = grow ? 0 : 1; k < (grow ? 1 : 3); k++) {
        if (ind__need_multiple(in, channels + k, grow ? r * r : r)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    for (int k = 0; k < 3; k++) {
        ind_expr *size = &in->result[0].size[channels + k], by = ind_int(in->c, k ? r : r * r);
        *size = (k == 0) == grow ? ind_expr_floordiv(*size, by) : ind_expr_mul(*size, by);
    }
    return IND_OK;
}

static ind_status ind__rule_stack(ind__infer *in) {
    int dim, rank;
    ind_expr size[IND_MAX_RANK];
    if (ind__need_tensors(in)) return in->status;
    const ind__tensor_info *x = ind__operand(in, 0);
    rank = x->rank + 1;
    if (ind__dim(in, 0, in->attr[0].i, rank, &dim)) return in->status;
    if (rank > IND_MAX_RANK) return ind__too_many_dims(in, rank);
    for (uint32_t k = 1; k < in->num_operands; k++) {
        if (ind__check_cat_operand(in, k, -1)) return in->status;
    }
    for (int d = 0; d < rank; d++) size[d] = d == dim ? ind_int(in->c, in->num_operands) : x->size[d - (d > dim)];
    ind__set_result(in, 0, ind__result_type(in->g, in->operand, in->num_operands), size, rank);
    return IND_OK;
}

/* What is put into a view of operand 0 must have the view's sizes; it takes over the element type. */
static ind_status ind__check_replacement(ind__infer *in, const ind__type *view) {
    const ind__tensor_info *x = ind__operand(in, 0), *src = ind__operand(in, 1);
    bool fits = src->rank == view->rank;
    for (int d = 0; fits && d < src->rank; d++) fits = ind_known_eq(src->size[d], view->size[d]);
    if (!fits) {
        char *want = ind__scratch(in);
        ind__print_type(want, sizeof in->scratch[0], src->dtype, view->size, view->rank);
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; what it replaces is %s", ind__say_name(in, 1),
                           ind__say_type(in, 1), want);
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_select_scatter(ind__infer *in) {
    if (ind__rule_select(in)) return in->status;
    ind__type view = in->result[0];
    return ind__check_replacement(in, &view);
}

static ind_status ind__rule_slice_scatter(ind__infer *in) {
    if (ind__rule_slice(in)) return in->status;
    ind__type view = in->result[0];
    return ind__check_replacement(in, &view);
}

static ind_status ind__rule_diagonal_scatter(ind__infer *in) {
    ind__type view;
    if (ind__diagonal_type(in, &view)) return in->status;
    return ind__check_replacement(in, &view);
}

static ind_status ind__rule_tril(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (x->rank < 2) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; at least 2 dimensions are needed", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_one_hot(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[IND_MAX_RANK + 1];
    if (ind__need_index(in, 0)) return in->status;
    if (ind__is_int(in->attr[0].e, -1)) {
        return ind__reject(in, IND_NOT_SUPPORTED, "num_classes is -1: the size would depend on the data; give it");
    }
    if (ind__need_positive(in, in->attr[0].e, "num_classes")) return in->status;
    if (x->rank == IND_MAX_RANK) return ind__too_many_dims(in, x->rank + 1);
    memcpy(size, x->size, sizeof x->size);
    size[x->rank] = in->attr[0].e;
    ind__set_result(in, 0, IND_I64, size, x->rank + 1);
    return IND_OK;
}

static ind_status ind__rule_eye(ind__infer *in) {
    ind_expr size[2] = {in->attr[0].e, in->attr[1].kind == IND__ATTR_NONE ? in->attr[0].e : in->attr[1].e};
    if (ind__need_sizes(in, size, 2)) return in->status;
    ind__set_result(in, 0, (ind_dtype)in->attr[2].i, size, 2);
    return IND_OK;
}

static ind_status ind__rule_linspace(ind__infer *in) {
    if (ind__need_sizes(in, &in->attr[2].e, 1)) return in->status;
    ind_dtype dtype = (ind_dtype)in->attr[3].i;
    if (dtype == IND_BOOL || ind__only_stored(dtype)) {
        return ind__reject(in, IND_TYPE_MISMATCH, "dtype is %s; a type that is computed with is needed, and not bool",
                           ind_dtype_name(dtype));
    }
    ind__set_result(in, 0, dtype, &in->attr[2].e, 1);
    return IND_OK;
}

/* ---- pads */

/* Spatial dimensions of a pool, convolution, pad or resampling: the digit before the d in its name. */
static int ind__spatial_rank(ind_graph_op op) {
    const char *digit = strpbrk(ind__op_name(op), "123");
    return digit ? *digit - '0' : 2;
}

typedef enum ind__pad_mode { IND__PAD_CONSTANT, IND__PAD_REFLECT, IND__PAD_REPLICATE, IND__PAD_CIRCULAR } ind__pad_mode;

static const char *const ind__pad_modes[] = {"constant", "reflect", "replicate", "circular"};

/* The mode, -1 if there is none of this name. */
static int ind__pad_mode_of(ind_graph_op op, const ind__attr *attr) {
    if (op == IND_OP_CONSTANT_PAD_ND) return IND__PAD_CONSTANT;
    if (op != IND_OP_PAD) return strncmp(ind__op_name(op), "refl", 4) ? IND__PAD_REPLICATE : IND__PAD_REFLECT;
    for (int m = 0; attr[1].s && m < 4; m++) {
        if (strcmp(attr[1].s, ind__pad_modes[m]) == 0) return m;
    }
    return -1;
}

/* How much is put before (side 0) or after (side 1) dimension d; the list begins with the last dimension. */
static ind_expr ind__pad_of(ind_context *c, const ind__attr *pad, int rank, int d, int side) {
    int at = 2 * (rank - 1 - d) + side;
    return at < pad->count ? pad->list[at] : ind_int(c, 0);
}

/* A reflection needs more elements than it mirrors, a wrap as many. */
static ind_status ind__check_pad(ind__infer *in, int d, int mode) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size = x->size[d], one = ind_int(in->c, 1);
    ind_expr most = mode == IND__PAD_REFLECT ? ind_expr_sub(size, one) : size;
    for (int side = 0; side < 2; side++) {
        ind_expr pad = ind__pad_of(in->c, &in->attr[0], x->rank, d, side);
        if (mode == IND__PAD_REPLICATE ? ind_known_le(one, size) : ind_known_le(pad, most)) continue;
        return ind__reject(in, IND_OUT_OF_RANGE,
                           "dim %d of %s (%s) is not known to have enough elements to pad %s with", d,
                           ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, pad));
    }
    return IND_OK;
}

/* The number of padded dimensions, which modes other than "constant" tie to the operand's. */
static ind_status ind__check_pad_rank(ind__infer *in, int mode) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int count = in->attr[0].count, dims = count / 2;
    int want = in->op == IND_OP_PAD || mode == IND__PAD_CONSTANT ? dims : ind__spatial_rank(in->op);
    if (count % 2 || dims > x->rank || dims != want) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%d paddings are given for %s (%s); two are needed for each of %s",
                           count, ind__say_name(in, 0), ind__say_type(in, 0),
                           dims != want ? "the dimensions that it pads" : "the last dimensions");
    }
    if (mode == IND__PAD_CONSTANT || (dims >= 1 && dims <= 3 && (x->rank == dims + 1 || x->rank == dims + 2)))
        return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; %d paddings need %d or %d dimensions", ind__say_name(in, 0),
                       ind__say_type(in, 0), count, dims + 1, dims + 2);
}

static ind_status ind__rule_pad(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int mode = ind__pad_mode_of(in->op, in->attr);
    ind_expr size[IND_MAX_RANK];
    if (mode < 0) {
        return ind__reject(in, IND_INVALID_ARGUMENT,
                           "mode is \"%.40s\"; allowed: \"constant\", \"reflect\", \"replicate\", \"circular\"",
                           in->attr[1].s ? in->attr[1].s : "");
    }
    if (ind__check_pad_rank(in, mode)) return in->status;
    for (int d = 0; d < x->rank; d++) {
        bool padded = d >= x->rank - in->attr[0].count / 2;
        if (padded && mode != IND__PAD_CONSTANT && ind__check_pad(in, d, mode)) return in->status;
        size[d] = ind_expr_add(x->size[d], ind_expr_add(ind__pad_of(in->c, &in->attr[0], x->rank, d, 0),
                                                        ind__pad_of(in->c, &in->attr[0], x->rank, d, 1)));
    }
    if (ind__need_sizes(in, size, x->rank)) return in->status;
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

/* ---- windows: pools and convolutions */

/* How windows lie over the last `rank` dimensions of an operand. */
typedef struct ind__window {
    int rank;
    ind_expr kernel[3], stride[3], padding[3], dilation[3];
} ind__window;

/* The attribute of this name, NULL if the op has none. */
static const ind__attr *ind__attr_named(const ind_graph *g, ind_graph_op op, const ind__attr *attr, const char *name) {
    const ind__schema *s = &g->schema[op];
    for (uint32_t i = 0; i < s->num_attrs; i++) {
        if (ind__same_name(s->attr[i].name, (size_t)s->attr[i].length, name, strlen(name))) return &attr[i];
    }
    return NULL;
}

/* One number for each of `rank` dimensions: a list of as many, a list of one for all, or `otherwise` if it is left out
   or empty. False: another count. */
static bool ind__spatial_list(const ind__attr *a, int rank, const ind_expr *otherwise, ind_expr out[3]) {
    bool given = a && a->kind != IND__ATTR_NONE && a->count > 0;
    if (given && a->count != 1 && a->count != rank) return false;
    for (int s = 0; s < rank; s++) out[s] = !given ? otherwise[s] : a->list[a->count == 1 ? 0 : s];
    return true;
}

/* The windows of a pool (stride: left out, that of the kernel) or, with a given kernel, of a convolution (1). NULL, or
   the name of the attribute that has the wrong count. */
static const char *ind__window_of(const ind_graph *g, ind_graph_op op, const ind__attr *attr, const ind_expr *kernel,
                                  ind__window *w) {
    int rank = w->rank;
    ind_expr zero[3], one[3];
    for (int s = 0; s < 3; s++) {
        zero[s] = ind_int(g->context, 0);
        one[s] = ind_int(g->context, 1);
        if (kernel && s < rank) w->kernel[s] = kernel[s];
    }
    if (!kernel && !ind__spatial_list(ind__attr_named(g, op, attr, "kernel_size"), rank, one, w->kernel))
        return "kernel_size";
    if (!ind__spatial_list(ind__attr_named(g, op, attr, "stride"), rank, kernel ? one : w->kernel, w->stride))
        return "stride";
    if (!ind__spatial_list(ind__attr_named(g, op, attr, "padding"), rank, zero, w->padding)) return "padding";
    return ind__spatial_list(ind__attr_named(g, op, attr, "dilation"), rank, one, w->dilation) ? NULL : "dilation";
}

static ind_status ind__check_window(ind__infer *in, const ind_expr *kernel, ind__window *w) {
    const char *wrong = ind__window_of(in->g, in->op, in->attr, kernel, w);
    if (wrong) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%s has the wrong number of elements; 1 or %d %s needed", wrong,
                           w->rank, w->rank == 1 ? "is" : "are");
    }
    for (int s = 0; s < w->rank; s++) {
        if (ind__need_positive(in, w->kernel[s], "kernel size") || ind__need_positive(in, w->stride[s], "stride") ||
            ind__need_positive(in, w->dilation[s], "dilation"))
            return in->status;
        if (!ind_known_le(ind_int(in->c, 0), w->padding[s])) {
            return ind__reject(in, IND_INVALID_ARGUMENT, "padding %s may be negative",
                               ind__say_size(in, w->padding[s]));
        }
    }
    return IND_OK;
}

/* Elements between the first and the last that a window touches. */
static ind_expr ind__window_reach(const ind__window *w, int s) {
    ind_expr one = ind_int(w->kernel[s].context, 1);
    return ind_expr_mul(w->dilation[s], ind_expr_sub(w->kernel[s], one));
}

/* Windows that fit into a padded dimension; `ceil` also counts those that begin in it or in the padding before it. */
static ind_expr ind__windows_in(const ind__window *w, int s, ind_expr size, bool ceil) {
    ind_expr one = ind_int(size.context, 1), two = ind_int(size.context, 2);
    ind_expr room = ind_expr_sub(ind_expr_add(size, ind_expr_mul(two, w->padding[s])), ind__window_reach(w, s));
    room = ind_expr_sub(room, one);
    ind_expr whole = ind_expr_add(ind_expr_floordiv(room, w->stride[s]), one);
    if (!ceil || ind__is_int(w->stride[s], 1)) return whole;
    ind_expr any = ind_expr_ceildiv(room, w->stride[s]);
    ind_expr begins = ind_expr_floordiv(ind_expr_sub(ind_expr_add(size, w->padding[s]), one), w->stride[s]);
    return ind_expr_add(ind_known_le(any, begins) ? any : ind_expr_min(any, begins), one);
}

static ind_status ind__need_windows(ind__infer *in, ind_expr windows, int d) {
    if (ind_known_le(ind_int(in->c, 1), windows)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "dim %d of %s (%s) is not known to hold a window: there would be %s%s",
                       d, ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, windows),
                       ind__say_fact(in, ind_expr_le(ind_int(in->c, 1), windows)));
}

/* An image may come with or without a batch in front. */
static ind_status ind__need_image(ind__infer *in, int spatial) {
    const ind__tensor_info *x = ind__operand(in, 0);
    if (x->rank == spatial + 1 || x->rank == spatial + 2) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; %d or %d dimensions are needed", ind__say_name(in, 0),
                       ind__say_type(in, 0), spatial + 1, spatial + 2);
}

static ind_status ind__need_number(ind__infer *in, uint32_t k) {
    if (ind__operand(in, k)->dtype != IND_BOOL) return IND_OK;
    return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, k));
}

static bool ind__is_max_pool(ind_graph_op op) {
    return strstr(ind__op_name(op), "max_pool") != NULL;
}

static ind_status ind__pool_results(ind__infer *in, const ind_expr *size) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, x->dtype, size, x->rank);
    if (in->num_results > 1) ind__set_result(in, 1, IND_I64, size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_pool(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *ceil = ind__attr_named(in->g, in->op, in->attr, "ceil_mode");
    ind__window w = {.rank = ind__spatial_rank(in->op)};
    ind_expr size[IND_MAX_RANK], two = ind_int(in->c, 2);
    if (ind__need_image(in, w.rank) || ind__check_window(in, NULL, &w)) return in->status;
    if (ind__is_max_pool(in->op) ? ind__need_number(in, 0) : ind__need_float(in, 0)) return in->status;
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    for (int s = 0; s < w.rank; s++) {
        int d = x->rank - w.rank + s;
        if (!ind_known_le(ind_expr_mul(two, w.padding[s]), ind_expr_add(ind__window_reach(&w, s), ind_int(in->c, 1)))) {
            return ind__reject(in, IND_INVALID_ARGUMENT, "padding %s is more than half of the kernel",
                               ind__say_size(in, w.padding[s]));
        }
        size[d] = ind__windows_in(&w, s, x->size[d], ceil->i != 0);
        if (ind__need_windows(in, size[d], d)) return in->status;
    }
    const ind__attr *divisor = ind__attr_named(in->g, in->op, in->attr, "divisor_override");
    if (divisor && divisor->kind != IND__ATTR_NONE && divisor->i == 0)
        return ind__reject(in, IND_INVALID_ARGUMENT, "divisor_override is 0");
    return ind__pool_results(in, size);
}

static ind_status ind__rule_adaptive_pool(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int spatial = ind__spatial_rank(in->op);
    ind_expr size[IND_MAX_RANK], out[3], one[3] = {{0}};
    if (ind__need_image(in, spatial)) return in->status;
    if (ind__is_max_pool(in->op) ? ind__need_number(in, 0) : ind__need_float(in, 0)) return in->status;
    if (in->attr[0].count == 0 || !ind__spatial_list(&in->attr[0], spatial, one, out)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "output_size has %d elements; 1 or %d %s needed",
                           in->attr[0].count, spatial, spatial == 1 ? "is" : "are");
    }
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    for (int s = 0; s < spatial; s++) {
        int d = x->rank - spatial + s;
        if (ind__need_positive(in, out[s], "output size") || ind__need_positive(in, x->size[d], "input size"))
            return in->status;
        size[d] = out[s];
    }
    return ind__pool_results(in, size);
}

/* Gradients of pools: operand 0 is like what the pool of operand 1 gives, the result like operand 1. */
static ind_status ind__rule_pool_backward(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 1), *grad = ind__operand(in, 0);
    const ind__attr *ceil = ind__attr_named(in->g, in->op, in->attr, "ceil_mode");
    const ind__attr *divisor = ind__attr_named(in->g, in->op, in->attr, "divisor_override");
    ind__window w = {.rank = 2};
    if (ind__need_image(in, 2) || ind__need_rank(in, 1, grad->rank) || ind__need_same_dtype(in, 0, 1))
        return in->status;
    if (ind__need_float(in, 0) || (ceil && ind__check_window(in, NULL, &w))) return in->status;
    if (divisor && divisor->kind != IND__ATTR_NONE && divisor->i == 0)
        return ind__reject(in, IND_INVALID_ARGUMENT, "divisor_override is 0");
    const bool max = ind__is_max_pool(in->op);
    if (max && (ind__need_index(in, 2) || ind__need_rank(in, 2, grad->rank))) return in->status;
    for (int d = 0; d < x->rank; d++) {
        const int s = d - (x->rank - 2);
        ind__agreement same = {0, d, "", 1, d, "has", ""}, index = {0, d, "", 2, d, "has", ""};
        if (max && ind__need_agree(in, index)) return in->status;
        if (s < 0 && ind__need_agree(in, same)) return in->status;
        if (s < 0) continue;
        if (!ceil &&
            (ind__need_positive(in, grad->size[d], "output size") || ind__need_positive(in, x->size[d], "input size")))
            return in->status;
        if (!ceil) continue;
        ind_expr windows = ind__windows_in(&w, s, x->size[d], ceil->i != 0);
        if (!ind_known_eq(windows, grad->size[d]))
            return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) has %s in dim %d; the windows over %s (%s) are %s",
                               ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, grad->size[d]), d,
                               ind__say_name(in, 1), ind__say_type(in, 1), ind__say_size(in, windows));
    }
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

/* A convolution's numbers, from the attributes of any of its ops. */
typedef struct ind__conv {
    ind__window window;
    ind_expr output_padding[3];
    bool transposed;
    int64_t groups;
} ind__conv;

static bool ind__is_transposed(const ind_graph *g, ind_graph_op op, const ind__attr *attr) {
    const ind__attr *given = ind__attr_named(g, op, attr, "transposed");
    return given ? given->i != 0 : strstr(ind__op_name(op), "transpose") != NULL;
}

/* NULL, or the name of the attribute that has the wrong count. The weight gives the kernel. */
static const char *ind__conv_of(const ind_graph *g, ind_graph_op op, const ind__attr *attr,
                                const ind__tensor_info *weight, ind__conv *c) {
    int rank = c->window.rank = weight->rank - 2;
    ind_expr zero[3];
    for (int s = 0; s < 3; s++) zero[s] = c->output_padding[s] = ind_int(g->context, 0);
    c->transposed = ind__is_transposed(g, op, attr);
    c->groups = ind__attr_named(g, op, attr, "groups")->i;
    const char *wrong = ind__window_of(g, op, attr, weight->size + 2, &c->window);
    if (wrong || !c->transposed) return wrong;
    bool ok = ind__spatial_list(ind__attr_named(g, op, attr, "output_padding"), rank, zero, c->output_padding);
    return ok ? NULL : "output_padding";
}

/* Elements of spatial dimension s of the result. */
static ind_expr ind__conv_size(const ind__conv *c, int s, ind_expr size) {
    const ind__window *w = &c->window;
    ind_expr one = ind_int(size.context, 1), two = ind_int(size.context, 2);
    if (!c->transposed) return ind__windows_in(w, s, size, false);
    ind_expr n = ind_expr_add(ind_expr_mul(ind_expr_sub(size, one), w->stride[s]), ind__window_reach(w, s));
    n = ind_expr_sub(n, ind_expr_mul(two, w->padding[s]));
    return ind_expr_add(ind_expr_add(n, c->output_padding[s]), one);
}

static ind_status ind__check_conv_numbers(ind__infer *in, ind__conv *c) {
    const ind__tensor_info *w = ind__operand(in, 1);
    const char *wrong = ind__conv_of(in->g, in->op, in->attr, w, c);
    if (!wrong && ind__check_window(in, w->size + 2, &c->window)) return in->status;
    if (wrong) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "%s has the wrong number of elements; 1 or %d are needed", wrong,
                           c->window.rank);
    }
    for (int s = 0; s < c->window.rank; s++) {
        ind_expr pad = c->output_padding[s];
        bool below = ind_known_lt(pad, c->window.stride[s]) || ind_known_lt(pad, c->window.dilation[s]);
        if (ind__is_int(pad, 0) || (ind_known_le(ind_int(in->c, 0), pad) && below)) continue;
        return ind__reject(in, IND_INVALID_ARGUMENT, "output_padding %s must be smaller than stride or dilation",
                           ind__say_size(in, pad));
    }
    return IND_OK;
}

/* Channels: the weight is [out, in / groups, ..] or, transposed, [in, out / groups, ..]. */
static ind_status ind__check_channels(ind__infer *in, const ind__conv *c, int channel, ind_expr *out) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, 1);
    ind_expr groups = ind_int(in->c, c->groups);
    if (c->groups < 1)
        return ind__reject(in, IND_INVALID_ARGUMENT, "groups is %lld; it must be greater than 0", (long long)c->groups);
    ind_expr have = x->size[channel], want = c->transposed ? w->size[0] : ind_expr_mul(w->size[1], groups);
    if (!ind_known_eq(have, want)) {
        return ind__reject(
            in, IND_SHAPE_MISMATCH, "%s has %s channels (dim %d of %s), %s expects %s (%s, groups %lld)%s",
            ind__say_name(in, 0), ind__say_size(in, have), channel, ind__say_type(in, 0), ind__say_name(in, 1),
            ind__say_size(in, want), ind__say_type(in, 1), (long long)c->groups, ind__say_differ(in, have, want));
    }
    *out = c->transposed ? ind_expr_mul(w->size[1], groups) : w->size[0];
    if (ind_known_multiple(w->size[0], c->groups)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "dim 0 of %s (%s) is not known to be a multiple of groups, %lld",
                       ind__say_name(in, 1), ind__say_type(in, 1), (long long)c->groups);
}

static ind_status ind__check_conv_bias(ind__infer *in, ind_expr channels) {
    const ind__tensor_info *bias = ind__operand(in, 2);
    if (!ind__has_operand(in, 2)) return IND_OK;
    if (ind__need_rank(in, 2, 1) || ind__need_same_dtype(in, 2, 1)) return in->status;
    if (ind_known_eq(bias->size[0], channels)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; %s elements are needed, one for each channel of the result",
                       ind__say_name(in, 2), ind__say_type(in, 2), ind__say_size(in, channels));
}

static ind_status ind__rule_convolution(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *w = ind__operand(in, 1);
    bool any = in->op == IND_OP_CONVOLUTION || in->op == IND_OP_CONVOLUTION_BACKWARD;
    int rank = any ? w->rank - 2 : ind__spatial_rank(in->op);
    ind__conv c;
    ind_expr size[IND_MAX_RANK];
    if (rank < 1 || rank > 3) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; a weight has 3, 4 or 5 dimensions", ind__say_name(in, 1),
                           ind__say_type(in, 1));
    }
    if (ind__need_rank(in, 1, rank + 2) || ind__need_image(in, rank) || ind__need_same_dtype(in, 0, 1) ||
        ind__need_number(in, 0))
        return in->status;
    int channel = x->rank - rank - 1;
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    if (ind__check_conv_numbers(in, &c) || ind__check_channels(in, &c, channel, &size[channel]) ||
        ind__check_conv_bias(in, size[channel]))
        return in->status;
    for (int s = 0; s < rank; s++) {
        int d = channel + 1 + s;
        size[d] = ind__conv_size(&c, s, x->size[d]);
        if (ind__need_windows(in, size[d], d)) return in->status;
    }
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

/* The gradient of a result has the result's sizes. */
static ind_status ind__check_gradient(ind__infer *in, uint32_t k, const ind_expr *size, int rank) {
    const ind__tensor_info *g = ind__operand(in, k);
    bool fits = g->rank == rank;
    for (int d = 0; fits && d < rank; d++) fits = ind_known_eq(g->size[d], size[d]);
    if (fits) return IND_OK;
    char *want = ind__scratch(in);
    ind__print_type(want, sizeof in->scratch[0], g->dtype, size, rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; the op's result is %s", ind__say_name(in, k),
                       ind__say_type(in, k), want);
}

/* grad_output input weight; all three gradients are results, and what is not used of them is not computed. */
static ind_status ind__rule_convolution_backward(ind__infer *in) {
    uint32_t forward[3] = {in->operand[1], in->operand[2], 0};
    const uint32_t *operand = in->operand;
    if (ind__need_float(in, 1)) return in->status;
    if (ind__operand(in, 2)->rank < 3 || ind__operand(in, 2)->rank > 5 ||
        ind__need_rank(in, 1, ind__operand(in, 2)->rank)) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; input and weight must both have 3, 4 or 5 dimensions",
                           ind__say_name(in, 2), ind__say_type(in, 2));
    }
    in->operand = forward; /* the convolution's own rule says what its result is */
    ind_status status = ind__rule_convolution(in);
    in->operand = operand;
    if (status) return status;
    ind__type y = in->result[0];
    if (ind__need_same_dtype(in, 0, 1) || ind__check_gradient(in, 0, y.size, y.rank)) return in->status;
    const ind__tensor_info *x = ind__operand(in, 1), *w = ind__operand(in, 2);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    ind__set_result(in, 1, w->dtype, w->size, w->rank);
    ind__set_result(in, 2, w->dtype, &y.size[1], 1);
    return IND_OK;
}

/* ---- resampling */

typedef enum ind__resample_mode { IND__NEAREST, IND__NEAREST_EXACT, IND__LINEAR } ind__resample_mode;

/* How the last `rank` dimensions are resampled; scale 0: that of the sizes. */
typedef struct ind__resample {
    int rank, mode; /* mode -1: there is none of this name */
    bool align_corners;
    double scale[3];
    const ind__attr *size, *scales;
} ind__resample;

/* torch.nn.functional.interpolate calls linear by the number of dimensions. */
static int ind__interpolation_mode(const char *mode, int rank) {
    static const char *const linear[] = {"linear", "bilinear", "trilinear"};
    if (mode && strcmp(mode, "nearest") == 0) return IND__NEAREST;
    if (mode && strcmp(mode, "nearest-exact") == 0) return IND__NEAREST_EXACT;
    return mode && rank >= 1 && rank <= 3 && strcmp(mode, linear[rank - 1]) == 0 ? IND__LINEAR : -1;
}

/* False: scale factors are given that are not 1 or as many as dimensions, or are not positive. */
static bool ind__resample_of(const ind_graph *g, ind_graph_op op, const ind__attr *attr, int operand_rank,
                             ind__resample *r) {
    bool any = op == IND_OP_INTERPOLATE;
    const ind__attr *align = ind__attr_named(g, op, attr, "align_corners");
    r->rank = any ? operand_rank - 2 : ind__spatial_rank(op);
    r->mode = strstr(ind__op_name(op), "exact")     ? IND__NEAREST_EXACT
              : strstr(ind__op_name(op), "nearest") ? IND__NEAREST
                                                    : IND__LINEAR;
    if (any) r->mode = ind__interpolation_mode(attr[2].s, r->rank);
    r->align_corners = align && align->i && r->mode == IND__LINEAR;
    r->size = &attr[0];
    r->scales = ind__attr_named(g, op, attr, any ? "scale_factor" : "scale_factors");
    bool given = r->scales->kind != IND__ATTR_NONE && r->scales->count > 0;
    if (given && r->scales->count != 1 && r->scales->count != r->rank) return false;
    for (int s = 0; s < 3; s++) {
        r->scale[s] = given && s < r->rank ? r->scales->floats[r->scales->count == 1 ? 0 : s] : 0;
        if (given && s < r->rank && !(r->scale[s] > 0 && r->scale[s] <= 1e9)) return false;
    }
    return true;
}

/* floor(size * scale); a symbolic size needs a scale with a denominator that is a power of two. Invalid if it has not.
 */
static ind_expr ind__scaled_size(ind_expr size, double scale) {
    int64_t known, denominator = 1;
    ind_context *c = size.context;
    if (ind_expr_is_int(size, &known)) {
        double n = floor((double)known * scale);
        return n < 9e15 ? ind_int(c, (int64_t)n) : (ind_expr){c, 0};
    }
    while (denominator < 1 << 20 && scale * (double)denominator != floor(scale * (double)denominator)) denominator *= 2;
    double numerator = scale * (double)denominator;
    if (numerator != floor(numerator) || numerator > 1e12) return (ind_expr){c, 0};
    return ind_expr_floordiv(ind_expr_mul(size, ind_int(c, (int64_t)numerator)), ind_int(c, denominator));
}

static ind_status ind__check_resample(ind__infer *in, ind__resample *r) {
    const ind__tensor_info *x = ind__operand(in, 0);
    bool scales = ind__resample_of(in->g, in->op, in->attr, x->rank, r);
    if (r->mode < 0) {
        return ind__reject(in, IND_INVALID_ARGUMENT,
                           "mode is \"%.40s\"; allowed for %s (%s): \"nearest\", \"nearest-exact\", \"linear\" (3-d), "
                           "\"bilinear\" (4-d), \"trilinear\" (5-d)",
                           in->attr[2].s ? in->attr[2].s : "", ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (r->rank < 1 || r->rank > 3 || ind__need_rank(in, 0, r->rank + 2)) {
        return ind__reject(in, IND_SHAPE_MISMATCH,
                           "%s is %s; a batch, channels and 1 to 3 dimensions of this op are needed",
                           ind__say_name(in, 0), ind__say_type(in, 0));
    }
    if (!scales) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "1 or %d positive scale factors are needed", r->rank);
    }
    bool sized = r->size->kind != IND__ATTR_NONE && r->size->count > 0;
    if (sized == (r->scale[0] > 0)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "either the output size or scale factors must be given");
    }
    return r->mode == IND__LINEAR ? ind__need_float(in, 0) : IND_OK;
}

static ind_status ind__rule_upsample(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__resample r;
    ind_expr size[IND_MAX_RANK], given[3], none[3] = {{0}};
    if (ind__check_resample(in, &r)) return in->status;
    if (!ind__spatial_list(r.size, r.rank, none, given)) {
        return ind__reject(in, IND_INVALID_ARGUMENT, "the output size has %d elements; 1 or %d %s needed",
                           r.size->count, r.rank, r.rank == 1 ? "is" : "are");
    }
    for (int d = 0; d < x->rank; d++) {
        int s = d - 2;
        size[d] = s < 0 ? x->size[d] : r.scale[0] > 0 ? ind__scaled_size(x->size[d], r.scale[s]) : given[s];
        if (s < 0) continue;
        if (!ind__ok(size[d])) {
            return ind__reject(in, IND_NOT_SUPPORTED,
                               "dim %d of %s (%s) times %g is no expression of sizes; give the output size", d,
                               ind__say_name(in, 0), ind__say_type(in, 0), r.scale[s]);
        }
        if (ind__need_positive(in, size[d], "output size") || ind__need_positive(in, x->size[d], "input size"))
            return in->status;
    }
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_grid_sampler(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *grid = ind__operand(in, 1);
    int64_t mode = in->attr[0].i, padding = in->attr[1].i;
    if (ind__need_rank(in, 0, 4) || ind__need_rank(in, 1, 4) || ind__need_float(in, 0) ||
        ind__need_same_dtype(in, 0, 1))
        return in->status;
    ind__agreement batch = {0, 0, " images", 1, 0, "has", ""};
    if (ind__need_agree(in, batch)) return in->status;
    if (!ind__is_int(grid->size[3], 2)) {
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; its last dimension must be 2: x and y",
                           ind__say_name(in, 1), ind__say_type(in, 1));
    }
    if (mode == 2) return ind__reject(in, IND_NOT_SUPPORTED, "interpolation_mode 2 (bicubic); 0 and 1 are supported");
    if (mode < 0 || mode > 1 || padding < 0 || padding > 2) {
        return ind__reject(in, IND_INVALID_ARGUMENT,
                           "interpolation_mode is 0 (bilinear) or 1 (nearest), padding_mode 0 (zeros), 1 (border) or 2 "
                           "(reflection)");
    }
    for (int d = 2; d < 4; d++) {
        if (ind__need_positive(in, x->size[d], "input size")) return in->status;
    }
    ind_expr size[4] = {x->size[0], x->size[1], grid->size[1], grid->size[2]};
    ind__set_result(in, 0, x->dtype, size, 4);
    return IND_OK;
}

/* The windows of im2col and col2im, over an image of these two sizes; *count: how many there are. */
static ind_status ind__check_columns(ind__infer *in, const ind_expr *image, ind__window *w, ind_expr count[2]) {
    w->rank = 2;
    if (ind__check_window(in, NULL, w)) return in->status;
    for (int s = 0; s < 2; s++) {
        count[s] = ind__windows_in(w, s, image[s], false);
        if (ind_known_le(ind_int(in->c, 1), count[s])) continue;
        return ind__reject(in, IND_SHAPE_MISMATCH, "an image of %s is not known to hold a window: there would be %s",
                           ind__say_size(in, image[s]), ind__say_size(in, count[s]));
    }
    return IND_OK;
}

static ind_status ind__rule_im2col(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__window w;
    ind_expr count[2], size[3];
    if (ind__need_image(in, 2) || ind__check_columns(in, x->size + x->rank - 2, &w, count)) return in->status;
    int rank = 0;
    if (x->rank == 4) size[rank++] = x->size[0];
    size[rank++] = ind_expr_mul(x->size[x->rank - 3], ind_expr_mul(w.kernel[0], w.kernel[1]));
    size[rank++] = ind_expr_mul(count[0], count[1]);
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_col2im(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *image = &in->attr[0];
    ind__window w;
    ind_expr count[2], size[4];
    if (x->rank != 2 && ind__need_rank(in, 0, 3)) return in->status;
    if (ind__need_number(in, 0)) return in->status;
    if (image->count != 2) return ind__reject(in, IND_INVALID_ARGUMENT, "output_size must have 2 elements");
    if (ind__need_sizes(in, image->list, 2) || ind__check_columns(in, image->list, &w, count)) return in->status;
    ind_expr taps = ind_expr_mul(w.kernel[0], w.kernel[1]), windows = ind_expr_mul(count[0], count[1]);
    ind_expr channels = ind_expr_floordiv(x->size[x->rank - 2], taps);
    bool whole = ind_known_eq(ind_expr_mul(channels, taps), x->size[x->rank - 2]);
    if (!whole || !ind_known_eq(windows, x->size[x->rank - 1])) {
        return ind__reject(in, IND_SHAPE_MISMATCH,
                           "%s is %s; its last dimensions must be a multiple of %s (the kernel) and %s (the windows)",
                           ind__say_name(in, 0), ind__say_type(in, 0), ind__say_size(in, taps),
                           ind__say_size(in, windows));
    }
    int rank = 0;
    if (x->rank == 3) size[rank++] = x->size[0];
    size[rank++] = channels;
    size[rank++] = image->list[0];
    size[rank++] = image->list[1];
    ind__set_result(in, 0, x->dtype, size, rank);
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
    if (!strcmp(in->attr[1].s, "mean") && ind__operand(in, 0)->dtype == IND_BOOL)
        return ind__reject(in, IND_TYPE_MISMATCH, "%s (%s) has no mean; cast it first", ind__say_name(in, 0),
                           ind__say_type(in, 0));
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
    if (ind__need_positive(in, in->attr[0].e, "num_weights")) return in->status;
    ind_expr size[2] = {in->attr[0].e, grad->size[index->rank]};
    ind__set_result(in, 0, grad->dtype, size, 2);
    return IND_OK;
}

/* ---- scans, sorts, searches */

static ind_status ind__rule_cumsum(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    bool given = in->attr[1].kind != IND__ATTR_NONE;
    ind_dtype dtype = given ? (ind_dtype)in->attr[1].i : ind_dtype_is_float(x->dtype) ? x->dtype : IND_I64;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (dtype == IND_BOOL) return ind__reject(in, IND_TYPE_MISMATCH, "dtype is bool; a number type is needed");
    ind__set_result(in, 0, dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_cummax(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int dim;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim)) return in->status;
    if (in->op == IND_OP_LOGCUMSUMEXP && ind__need_float(in, 0)) return in->status;
    ind__set_result(in, 0, in->op == IND_OP_ARGSORT ? IND_I64 : x->dtype, x->size, x->rank);
    if (ind__op_rows[in->op].results > 1) ind__set_result(in, 1, IND_I64, x->size, x->rank);
    return IND_OK;
}

/* Operand k of a scan is value k of an element (all have one shape), else an identity or the segments. */
static ind_status ind__check_scanned(ind__infer *in, uint32_t k, uint32_t count) {
    const ind__tensor_info *x = ind__operand(in, 0), *y = ind__operand(in, k);
    ind__shape s = {0};
    bool weak = y->weak, same = y->rank == x->rank;
    for (int d = 0; d < x->rank; d++) s.size[d] = x->size[d];
    s.rank = x->rank;
    for (int d = 0; same && d < x->rank; d++) same = ind_known_eq(x->size[d], y->size[d]);
    if (k < count && weak)
        return ind__reject(in, IND_TYPE_MISMATCH, "value %u is a number; a tensor is needed (ind_full makes one)",
                           (unsigned)k);
    if (k < count)
        return same ? IND_OK
                    : ind__reject(in, IND_SHAPE_MISMATCH, "value %u, %s, is %s; all must have the shape of %s (%s)",
                                  (unsigned)k, ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0),
                                  ind__say_type(in, 0));
    if (weak) return IND_OK;
    if (ind__broadcast(in, &s, k, 0)) return in->status;
    bool expands = s.rank == x->rank;
    for (int d = 0; expands && d < s.rank; d++) expands = ind_known_eq(s.size[d], x->size[d]);
    return expands
               ? IND_OK
               : ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) does not expand to the shape of %s (%s)",
                             ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0), ind__say_type(in, 0));
}

static ind_status ind__rule_associative_scan(ind__infer *in) {
    uint32_t count = (uint32_t)in->attr[1].i;
    bool exclusive = in->attr[3].i, segmented = in->attr[4].i;
    int dim;
    if (!in->body) return ind__reject(in, IND_INVALID_ARGUMENT, "the op has no combine function");
    if (in->attr[1].i < 1 || in->attr[1].i > IND__MAX_SCANNED)
        return ind__reject(in, IND_LIMIT, "%lld values an element are given; 1 to %d are possible",
                           (long long)in->attr[1].i, IND__MAX_SCANNED);
    if (in->num_operands != count + (exclusive ? count : 0) + segmented)
        return ind__reject(in, IND_INVALID_ARGUMENT, "%u operands are given, which does not fit",
                           (unsigned)in->num_operands);
    const ind__tensor_info *x = ind__operand(in, 0);
    for (uint32_t k = 0; k < in->num_operands; k++)
        if (ind__check_scanned(in, k, count)) return in->status;
    if (ind__dim(in, 0, in->attr[0].i, x->rank, &dim) || ind__need_results(in, count)) return in->status;
    if (segmented && ind__operand(in, in->num_operands - 1)->dtype != IND_BOOL)
        return ind__reject(in, IND_TYPE_MISMATCH, "the segments are %s; they must be bool",
                           ind__say_type(in, in->num_operands - 1));
    for (uint32_t k = 0; k < count; k++) ind__set_result(in, (int)k, ind__operand(in, k)->dtype, x->size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_topk(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr k = in->attr[0].e, zero = ind_int(in->c, 0), size[IND_MAX_RANK];
    int dim;
    if (ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (x->dtype == IND_BOOL)
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
    ind_expr all = x->rank ? x->size[dim] : ind_int(in->c, 1);
    if (!ind_known_le(zero, k) || !ind_known_le(k, all)) {
        return ind__reject(in, IND_OUT_OF_RANGE, "k is %s; it is not known to be in [0, %s], dim %d of %s (%s)%s",
                           ind__say_size(in, k), ind__say_size(in, all), dim, ind__say_name(in, 0),
                           ind__say_type(in, 0), ind__say_fact(in, ind_expr_le(k, all)));
    }
    for (int d = 0; d < x->rank; d++) size[d] = d == dim ? k : x->size[d];
    ind__set_result(in, 0, x->dtype, size, x->rank);
    ind__set_result(in, 1, IND_I64, size, x->rank);
    return IND_OK;
}

/* median, nanmedian, mode, kthvalue: values and positions along a dimension; without dim (median) values alone. */
static ind_status ind__rule_ranked(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    bool kth = in->op == IND_OP_KTHVALUE;
    const ind__attr *along = &in->attr[kth ? 1 : 0];
    bool all = along->kind == IND__ATTR_NONE, keepdim = in->attr[kth ? 2 : 1].i != 0;
    uint32_t mask;
    if (ind__dim_or_all(in, along, &mask)) return in->status;
    if (all && keepdim) return ind__reject(in, IND_INVALID_ARGUMENT, "keepdim needs a dim");
    if (x->dtype == IND_BOOL && in->op != IND_OP_MODE)
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is bool; a number type is needed", ind__say_name(in, 0));
    if ((!all || !ind_dtype_is_float(x->dtype)) && ind__need_elements(in, mask)) return in->status;
    ind_expr one = ind_int(in->c, 1), size = one;
    for (int d = 0; d < x->rank; d++) size = mask >> d & 1 ? x->size[d] : size;
    if (kth && (!ind_known_le(one, in->attr[0].e) || !ind_known_le(in->attr[0].e, size))) {
        return ind__reject(in, IND_OUT_OF_RANGE, "k is %s; it is not known to be in [1, %s]%s",
                           ind__say_size(in, in->attr[0].e), ind__say_size(in, size),
                           ind__say_fact(in, ind_expr_le(in->attr[0].e, size)));
    }
    ind__reduced(in, mask, keepdim, x->dtype, 0);
    ind__reduced(in, mask, keepdim, IND_I64, 1);
    if (all) in->num_results = 1;
    return IND_OK;
}

static ind_status ind__rule_msort(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind__set_result(in, 0, x->dtype, x->size, x->rank);
    return IND_OK;
}

typedef enum ind__interpolation {
    IND__BETWEEN,
    IND__LOWER,
    IND__HIGHER,
    IND__NEAREST_RANK,
    IND__MIDPOINT,
    IND__NUM_INTERPOLATIONS
} ind__interpolation;

static ind__interpolation ind__interpolation_of(const char *s) {
    static const char *const names[] = {"linear", "lower", "higher", "nearest", "midpoint"};
    int k = 0;
    while (k < IND__NUM_INTERPOLATIONS && (!s || strcmp(s, names[k]))) k++;
    return (ind__interpolation)k;
}

static ind_status ind__rule_quantile(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0), *q = ind__operand(in, 1);
    const ind__attr *number = q->weak ? &in->g->node[q->node].attr[0] : NULL;
    bool all = in->attr[0].kind == IND__ATTR_NONE;
    ind__type reduced;
    uint32_t mask;
    if (x->dtype != IND_F32 && x->dtype != IND_F64)
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; it must be f32 or f64", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    if (!number && (q->dtype != x->dtype || q->rank > 1))
        return ind__reject(in, IND_TYPE_MISMATCH, "q is %s; it must be %s with one dimension or none",
                           ind__say_type(in, 1), ind_dtype_name(x->dtype));
    double v = !number ? 0 : number->is_int ? (double)number->i : number->f;
    if (!(v >= 0 && v <= 1)) return ind__reject(in, IND_INVALID_ARGUMENT, "q is %g; it must be in [0, 1]", v);
    if (ind__interpolation_of(in->attr[2].s) == IND__NUM_INTERPOLATIONS)
        return ind__reject(in, IND_INVALID_ARGUMENT,
                           "interpolation is \"%.40s\"; allowed: linear, lower, higher, nearest, midpoint",
                           in->attr[2].s ? in->attr[2].s : "");
    if (ind__dim_or_all(in, &in->attr[0], &mask) || ind__need_elements(in, mask)) return in->status;
    ind__reduced(in, mask, in->attr[1].i != 0, x->dtype, 0);
    reduced = in->result[0];
    if (all && in->attr[1].i) /* then every dimension is kept */
        for (int d = 0; d < x->rank; d++) reduced.size[d] = ind_int(in->c, 1);
    if (q->rank && reduced.rank == IND_MAX_RANK) return ind__too_many_dims(in, reduced.rank + 1);
    ind_expr size[IND_MAX_RANK];
    if (q->rank) size[0] = q->size[0];
    for (int d = 0; d < reduced.rank; d++) size[d + q->rank] = reduced.size[d];
    ind__set_result(in, 0, x->dtype, size, reduced.rank + q->rank);
    return IND_OK;
}

#define IND__MAX_DIFFS 16

static ind_status ind__rule_diff(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    int64_t n = in->attr[0].i;
    ind_expr size[IND_MAX_RANK], zero = ind_int(in->c, 0);
    int dim;
    if (x->rank == 0)
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s has no dimensions; at least one is needed",
                           ind__say_name(in, 0));
    if (ind__dim(in, 0, in->attr[1].i, x->rank, &dim)) return in->status;
    if (n < 0 || n > IND__MAX_DIFFS)
        return ind__reject(in, IND_LIMIT, "n is %lld; 0 to %d are possible", (long long)n, IND__MAX_DIFFS);
    for (int d = 0; d < x->rank; d++) size[d] = x->size[d];
    for (uint32_t k = 1; k < 3; k++) {
        if (!ind__has_operand(in, k) || n == 0) continue; /* PyTorch looks at neither where there is nothing to do */
        const ind__tensor_info *y = ind__operand(in, k);
        if (ind__need_same_dtype(in, 0, k)) return in->status;
        bool fits = y->rank == x->rank;
        for (int d = 0; fits && d < x->rank; d++) fits = d == dim || ind_known_eq(y->size[d], x->size[d]);
        if (!fits)
            return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) must have the shape of %s (%s) but for dim %d",
                               ind__say_name(in, k), ind__say_type(in, k), ind__say_name(in, 0), ind__say_type(in, 0),
                               dim);
        size[dim] = ind_expr_add(size[dim], y->size[dim]);
    }
    size[dim] = ind_expr_max(ind_expr_sub(size[dim], ind_int(in->c, n)), zero);
    ind__set_result(in, 0, x->dtype, size, x->rank);
    return IND_OK;
}

static ind_status ind__rule_multinomial(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr samples = in->attr[0].e, one = ind_int(in->c, 1), size[2];
    if (ind__need_float(in, 0) || ind__need_seed(in, 1)) return in->status;
    if (x->rank != 1 && x->rank != 2)
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) must have one or two dimensions", ind__say_name(in, 0),
                           ind__say_type(in, 0));
    if (ind__need_elements(in, 1u << (x->rank - 1))) return in->status;
    ind_expr weights = x->size[x->rank - 1];
    if (!ind_known_le(one, samples) || (!in->attr[1].i && !ind_known_le(samples, weights))) {
        return ind__reject(in, IND_OUT_OF_RANGE, "num_samples is %s; it is not known to be in [1, %s]",
                           ind__say_size(in, samples), in->attr[1].i ? "..)" : ind__say_size(in, weights));
    }
    size[0] = x->size[0];
    size[x->rank - 1] = samples;
    ind__set_result(in, 0, IND_I64, size, x->rank);
    return IND_OK;
}

/* Sequence s is one-dimensional, or has the leading dimensions of x. */
static ind_status ind__check_sequence(ind__infer *in, uint32_t s, uint32_t x) {
    const ind__tensor_info *a = ind__operand(in, s), *b = ind__operand(in, x);
    bool fits = a->rank == 1 || (a->rank > 1 && a->rank == b->rank && in->op == IND_OP_SEARCHSORTED);
    for (int d = 0; fits && d + 1 < a->rank; d++) fits = ind_known_eq(a->size[d], b->size[d]);
    if (fits) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s; it must have one dimension%s", ind__say_name(in, s),
                       ind__say_type(in, s),
                       in->op == IND_OP_SEARCHSORTED ? ", or all but the last as the values have them" : "");
}

static ind_status ind__check_sorter(ind__infer *in) {
    const ind__tensor_info *a = ind__operand(in, 0), *sorter = ind__operand(in, 2);
    bool fits = sorter->dtype == IND_I64 && sorter->rank == a->rank;
    for (int d = 0; fits && d < a->rank; d++) fits = ind_known_eq(a->size[d], sorter->size[d]);
    if (fits) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "sorter %s is %s; it must be i64 and of the sequence's shape (%s)",
                       ind__say_name(in, 2), ind__say_type(in, 2), ind__say_type(in, 0));
}

static ind_status ind__rule_searchsorted(ind__infer *in) {
    bool named = in->op == IND_OP_SEARCHSORTED;
    const ind__tensor_info *x = ind__operand(in, named ? 1 : 0);
    const char *side = named && in->attr[2].kind != IND__ATTR_NONE ? in->attr[2].s : NULL;
    if (ind__check_sequence(in, named ? 0 : 1, named ? 1 : 0)) return in->status;
    if (named && ind__has_operand(in, 2) && ind__check_sorter(in)) return in->status;
    if (side && strcmp(side, "right") != 0 && (strcmp(side, "left") != 0 || in->attr[1].i))
        return ind__reject(in, IND_INVALID_ARGUMENT, "side is \"%s\"; it is \"left\" or \"right\"%s", side,
                           in->attr[1].i ? ", and with right=true the latter" : "");
    ind__set_result(in, 0, in->attr[0].i ? IND_I32 : IND_I64, x->size, x->rank);
    return IND_OK;
}

/* ---- sizes that come from data */

/* A symbol of the graph with this number, or the name that it is wanted to have, which no size has yet. */
static ind_expr ind__new_length(ind__infer *in, const char *name) {
    ind_symbol s = {.kind = IND_SYMBOL_UNBACKED, .slot = (int)in->g->num_unbacked, .name = name, .multiple_of = 1};
    int64_t hint = ind_hint(in->limit);
    ind_expr_bounds(in->limit, NULL, &s.hi);
    s.lo = in->least;
    s.hint = hint < s.lo ? s.lo : hint > s.hi ? s.hi : hint;
    return ind_symbol_expr(in->c, &s);
}

static ind_expr ind__find_size(const ind_graph *g, const char *name, size_t length);

/* The size of a result that comes from data and never exceeds `limit`: the op's own, if it has one already, or that of
   another op which counts the same tensor's elements. */
static ind_status ind__data_length(ind__infer *in, ind_expr limit, uint32_t source, ind_expr *length) {
    const ind__attr *own = &in->attr[in->g->schema[in->op].num_attrs - 1];
    char name[24];
    in->limit = limit;
    in->source = source;
    if (!ind__ok(limit)) return ind__reject(in, ind__failed(in->c), "%s", ind_error(in->c));
    if (ind__is_int(limit, 0)) return *length = limit, IND_OK;
    if (own->kind == IND__ATTR_SIZE) {
        const ind_symbol *s = ind_expr_symbol(own->e);
        if (!s || s->kind != IND_SYMBOL_UNBACKED)
            return ind__reject(in, IND_INVALID_ARGUMENT, "length is no size that comes from data");
        return *length = in->length = own->e, IND_OK;
    }
    bool shares = source && !in->bounded; /* who has bounds of their own counts for themselves */
    for (uint32_t u = 0; shares && u < in->g->num_unbacked; u++)
        if (in->g->unbacked[u].source == source) return *length = in->length = in->g->unbacked[u].symbol, IND_OK;
    if (in->g->num_unbacked == IND__MAX_UNBACKED)
        return ind__reject(in, IND_LIMIT, "more than %d sizes of the graph come from data", IND__MAX_UNBACKED);
    for (uint32_t k = 0;; k++) {
        int n = snprintf(name, sizeof name, "u%u", (unsigned)k);
        if (!ind__ok(ind__find_size(in->g, name, (size_t)n))) break;
    }
    *length = in->length = ind__new_length(in, in->g->wanted_size ? in->g->wanted_size : name);
    return ind__ok(*length) ? IND_OK : ind__reject(in, ind__failed(in->c), "%s", ind_error(in->c));
}

/* What the elements chosen from so many are at most; checks what the caller promises of that. */
static ind_expr ind__length_limit(ind__infer *in, ind_expr limit) {
    const ind__attr *least = &in->attr[0], *most = &in->attr[1];
    ind_expr none = {in->c, 0};
    if (most->kind != IND__ATTR_NONE) limit = most->e;
    in->least = least->i;
    in->bounded = least->i > 0 || most->kind != IND__ATTR_NONE;
    if (least->i >= 0 && ind__expr_is_size(limit) && ind_known_le(ind_int(in->c, least->i), limit)) return limit;
    if (ind__ok(limit))
        ind__reject(in, IND_OUT_OF_RANGE, "min_length is %lld; it must lie between 0 and the largest length, %s",
                    (long long)least->i, ind__say_size(in, limit));
    return none;
}

static ind_status ind__rule_nonzero(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    ind_expr size[2] = {{0}, ind_int(in->c, x->rank)};
    ind_expr limit = ind__length_limit(in, ind_expr_product(in->c, x->size, x->rank));
    if (in->status) return in->status;
    if (ind__data_length(in, limit, in->operand[0], size)) return in->status;
    ind__set_result(in, 0, IND_I64, size, 2);
    return IND_OK;
}

static ind_status ind__rule_masked_select(ind__infer *in) {
    ind__shape s = {0};
    ind_expr length;
    if (ind__operand(in, 1)->dtype != IND_BOOL) {
        return ind__reject(in, IND_TYPE_MISMATCH, "mask %s is %s; it must be bool", ind__say_name(in, 1),
                           ind__say_type(in, 1));
    }
    if (ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0)) return in->status;
    const ind__tensor_info *mask = ind__operand(in, 1);
    bool whole = mask->rank == s.rank;
    for (int d = 0; whole && d < s.rank; d++) whole = ind_expr_same(mask->size[d], s.size[d]);
    ind_expr limit = ind__length_limit(in, ind_expr_product(in->c, s.size, s.rank));
    if (in->status || ind__data_length(in, limit, whole ? in->operand[1] : 0, &length)) return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, &length, 1);
    return IND_OK;
}

/* unique, unique_consecutive: the values; for each element of x which of them it is; how many of x each of them is. */
static ind_status ind__rule_unique(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *inverse = &in->attr[in->op == IND_OP_UNIQUE], *counts = inverse + 1, *along = inverse + 2;
    ind_expr length;
    int dim, r = 1;
    if (along->kind != IND__ATTR_NONE && ind__dim(in, 0, along->i, x->rank, &dim)) return in->status;
    if (along->kind != IND__ATTR_NONE && x->rank > 1)
        return ind__reject(in, IND_NOT_SUPPORTED, "dim %d of %s (%s): whole slices are not compared, only elements",
                           dim, ind__say_name(in, 0), ind__say_type(in, 0));
    if (ind__need_results(in, 1 + (inverse->i != 0) + (counts->i != 0))) return in->status;
    if (ind__data_length(in, ind_expr_product(in->c, x->size, x->rank), 0, &length)) return in->status;
    ind__set_result(in, 0, x->dtype, &length, 1);
    if (inverse->i) ind__set_result(in, r++, IND_I64, x->size, x->rank);
    if (counts->i) ind__set_result(in, r, IND_I64, &length, 1);
    return IND_OK;
}

/* The repeats: one number, a tensor of one, or a tensor with as many as there are along the dimension. */
static ind_status ind__check_repeats(ind__infer *in, uint32_t k, ind_expr size) {
    const ind__tensor_info *repeats = ind__operand(in, k);
    if (repeats->weak) {
        const ind__attr *n = &in->g->node[repeats->node].attr[0];
        if (n->is_int && n->i >= 0) return IND_OK;
        return ind__reject(in, IND_OUT_OF_RANGE, "repeats must be an integer that is not negative");
    }
    if (ind__need_index(in, k)) return in->status;
    if (repeats->rank > 1)
        return ind__reject(in, IND_SHAPE_MISMATCH, "repeats %s is %s; it must have one dimension at most",
                           ind__say_name(in, k), ind__say_type(in, k));
    if (repeats->rank == 0 || ind__is_int(repeats->size[0], 1) || ind_known_eq(repeats->size[0], size)) return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH, "repeats %s (%s) must have one element or %s%s", ind__say_name(in, k),
                       ind__say_type(in, k), ind__say_size(in, size), ind__say_differ(in, repeats->size[0], size));
}

/* The length of a result that repeats decide: given, or from data and at most what is given. */
static ind_status ind__repeated_length(ind__infer *in, ind_expr *length) {
    const ind__attr *given = &in->attr[1], *most = &in->attr[2];
    const ind__attr *bound = given->kind != IND__ATTR_NONE ? given : most;
    if (bound->kind == IND__ATTR_NONE)
        return ind__reject(in, IND_INVALID_ARGUMENT,
                           "the length of the result comes from data: give output_size, or max_output_size, which it "
                           "never exceeds");
    if (!ind__expr_is_size(bound->e) || !ind_known_le(ind_int(in->c, 0), bound->e))
        return ind__reject(in, IND_OUT_OF_RANGE, "%s may be negative: %s",
                           bound == given ? "output_size" : "max_output_size", ind__say_size(in, bound->e));
    return bound == given ? (*length = given->e, IND_OK) : ind__data_length(in, most->e, 0, length);
}

static ind_status ind__rule_repeat_interleave(ind__infer *in) {
    const ind__tensor_info *x = ind__operand(in, 0);
    const ind__attr *along = &in->attr[0];
    ind_expr size[IND_MAX_RANK], whole = ind_expr_product(in->c, x->size, x->rank);
    int dim = 0, rank = x->rank;
    if (!ind__has_operand(in, 1)) { /* positions in the repeats themselves */
        if (ind__need_index(in, 0) || ind__need_rank(in, 0, 1) || ind__repeated_length(in, size)) return in->status;
        ind__set_result(in, 0, IND_I64, size, 1);
        return IND_OK;
    }
    if (along->kind != IND__ATTR_NONE && ind__dim(in, 0, along->i, rank, &dim)) return in->status;
    for (int d = 0; d < rank; d++) size[d] = x->size[d];
    if (along->kind == IND__ATTR_NONE || rank == 0) size[0] = whole, rank = 1;
    if (ind__check_repeats(in, 1, size[dim])) return in->status;
    const ind__tensor_info *repeats = ind__operand(in, 1);
    if (repeats->weak)
        size[dim] = ind_expr_mul(size[dim], ind_int(in->c, in->g->node[repeats->node].attr[0].i));
    else if (ind__repeated_length(in, &size[dim]))
        return in->status;
    ind__set_result(in, 0, x->dtype, size, rank);
    return IND_OK;
}

static ind_status ind__rule_masked_scatter(ind__infer *in) {
    ind__shape s = {0};
    if (ind__operand(in, 1)->dtype != IND_BOOL)
        return ind__reject(in, IND_TYPE_MISMATCH, "mask %s is %s; it must be bool", ind__say_name(in, 1),
                           ind__say_type(in, 1));
    if (ind__need_same_dtype(in, 0, 2) || ind__broadcast(in, &s, 0, 0) || ind__broadcast(in, &s, 1, 0))
        return in->status;
    ind__set_result(in, 0, ind__operand(in, 0)->dtype, s.size, s.rank);
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

/* ---- attention */

/* Types and inner sizes of query, key and value. */
static ind_status ind__check_attention(ind__infer *in, int least_rank) {
    for (uint32_t k = 0; k < 3; k++) {
        const ind__tensor_info *x = ind__operand(in, k);
        if (ind__need_float(in, k) || ind__need_same_dtype(in, 0, k)) return in->status;
        if (x->rank >= least_rank) continue;
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s with %d dimension%s; at least %d are needed",
                           ind__say_name(in, k), ind__say_type(in, k), x->rank, x->rank == 1 ? "" : "s", least_rank);
    }
    ind__agreement features = {0, ind__operand(in, 0)->rank - 1, " features", 1, ind__operand(in, 1)->rank - 1, "has",
                               ""};
    ind__agreement keys = {1, ind__operand(in, 1)->rank - 2, " keys", 2, ind__operand(in, 2)->rank - 2, "has", ""};
    return ind__need_agree(in, features) ? in->status : ind__need_agree(in, keys);
}

/* The heads of operand k divide those of query. */
static ind_status ind__check_grouped_heads(ind__infer *in, uint32_t k) {
    const ind__tensor_info *q = ind__operand(in, 0), *x = ind__operand(in, k);
    ind_expr heads = q->size[q->rank - 3], own = x->size[x->rank - 3];
    if (ind_known_lt(ind_int(in->c, 0), own) && ind_known_eq(ind_expr_mod(heads, own), ind_int(in->c, 0)))
        return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH,
                       "%s has %s heads (dim %d of %s), %s has %s (dim %d of %s), which is not known to divide them",
                       ind__say_name(in, 0), ind__say_size(in, heads), q->rank - 3, ind__say_type(in, 0),
                       ind__say_name(in, k), ind__say_size(in, own), x->rank - 3, ind__say_type(in, k));
}

/* attn_mask expands to the scores, of this size. */
static ind_status ind__check_attention_mask(ind__infer *in, const ind_expr *size, int rank) {
    const ind__tensor_info *mask = ind__operand(in, 3);
    ind_dtype d = mask->dtype;
    if (d != IND_BOOL && d != IND_F32 && d != ind__operand(in, 0)->dtype) {
        ind_dtype own = ind__operand(in, 0)->dtype;
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; bool%s%s or f32 is needed", ind__say_name(in, 3),
                           ind__say_type(in, 3), own == IND_F32 ? "" : ", ", own == IND_F32 ? "" : ind_dtype_name(own));
    }
    bool fits = mask->rank <= rank;
    for (int i = 0; fits && i < mask->rank; i++) {
        ind_expr have = mask->size[i];
        fits = ind__is_int(have, 1) || ind_known_eq(have, size[rank - mask->rank + i]);
    }
    if (fits) return IND_OK;
    char *scores = ind__scratch(in);
    ind__print_type(scores, sizeof in->scratch[0], ind__operand(in, 0)->dtype, size, rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) does not expand to the scores, %s", ind__say_name(in, 3),
                       ind__say_type(in, 3), scores);
}

static ind_status ind__rule_attention(ind__infer *in) {
    bool gqa = in->attr[3].i != 0;
    int outer = gqa ? 3 : 2;
    ind__shape s = {0};
    if (in->attr[0].f != 0)
        return ind__reject(in, IND_NOT_SUPPORTED, "dropout_p is %g; only 0 is supported", in->attr[0].f);
    if (in->attr[1].i && ind__has_operand(in, 3))
        return ind__reject(in, IND_INVALID_ARGUMENT, "is_causal and attn_mask are both given; one of them is allowed");
    if (ind__check_attention(in, outer)) return in->status;
    for (uint32_t k = 0; k < 3; k++) {
        if (ind__broadcast(in, &s, k, outer)) return in->status;
    }
    const ind__tensor_info *q = ind__operand(in, 0), *v = ind__operand(in, 2);
    if (gqa && (ind__check_grouped_heads(in, 1) || ind__check_grouped_heads(in, 2))) return in->status;
    if (gqa) s.size[s.rank++] = q->size[q->rank - 3];
    s.size[s.rank++] = q->size[q->rank - 2];
    s.size[s.rank++] = v->size[v->rank - 2];
    if (ind__has_operand(in, 3) && ind__check_attention_mask(in, s.size, s.rank)) return in->status;
    s.size[s.rank - 1] = v->size[v->rank - 1];
    ind__set_result(in, 0, q->dtype, s.size, s.rank);
    return IND_OK;
}

/* The rule of each op; pointwise ops without a row have the general one. INPUT and CONST carry their type. */
static const ind__rule ind__rules[IND_NUM_OPS] = {
    [IND_OP_SCALAR] = ind__rule_scalar,
    [IND_OP_FULL] = ind__rule_full,
    [IND_OP_ZEROS] = ind__rule_full,
    [IND_OP_ONES] = ind__rule_full,
    [IND_OP_EMPTY] = ind__rule_full,
    [IND_OP_EMPTY_STRIDED] = ind__rule_full,
    [IND_OP_NEW_FULL] = ind__rule_full,
    [IND_OP_NEW_ZEROS] = ind__rule_full,
    [IND_OP_NEW_ONES] = ind__rule_full,
    [IND_OP_NEW_EMPTY] = ind__rule_full,
    [IND_OP_FULL_LIKE] = ind__rule_full_like,
    [IND_OP_ZEROS_LIKE] = ind__rule_full_like,
    [IND_OP_ONES_LIKE] = ind__rule_full_like,
    [IND_OP_EMPTY_LIKE] = ind__rule_full_like,
    [IND_OP_SCALAR_TENSOR] = ind__rule_scalar_tensor,
    [IND_OP_ALIAS] = ind__rule_full_like,
    [IND_OP_MASKED_FILL] = ind__rule_masked_fill,
    [IND_OP_FILL] = ind__rule_fill,
    [IND_OP_COPY] = ind__rule_fill,
    [IND_OP_ARANGE] = ind__rule_arange,
    [IND_OP_RAND] = ind__rule_rand,
    [IND_OP_RANDN] = ind__rule_rand,
    [IND_OP_RANDINT] = ind__rule_randint,
    [IND_OP_RANDPERM] = ind__rule_randperm,
    [IND_OP_BERNOULLI] = ind__rule_random_like,
    [IND_OP_NATIVE_DROPOUT] = ind__rule_random_like,
    [IND_OP_EYE] = ind__rule_eye,
    [IND_OP_LINSPACE] = ind__rule_linspace,
    [IND_OP_CUSTOM] = ind__rule_custom,
    [IND_OP_CALL] = ind__rule_call,
    [IND_OP_EXTERN] = ind__rule_extern,
    [IND_OP_SUM] = ind__rule_sum,
    [IND_OP_MEAN] = ind__rule_sum,
    [IND_OP_AMAX] = ind__rule_extremum,
    [IND_OP_AMIN] = ind__rule_extremum,
    [IND_OP_ANY] = ind__rule_extremum,
    [IND_OP_ARGMAX] = ind__rule_argmax,
    [IND_OP_MAX] = ind__rule_max,
    [IND_OP_ARGMIN] = ind__rule_argmax,
    [IND_OP_MIN] = ind__rule_max,
    [IND_OP_AMINMAX] = ind__rule_aminmax,
    [IND_OP_ALL] = ind__rule_extremum,
    [IND_OP_PROD] = ind__rule_prod,
    [IND_OP_COUNT_NONZERO] = ind__rule_count_nonzero,
    [IND_OP_VAR] = ind__rule_var,
    [IND_OP_STD] = ind__rule_var,
    [IND_OP_VAR_MEAN] = ind__rule_var,
    [IND_OP_STD_MEAN] = ind__rule_var,
    [IND_OP_LOGSUMEXP] = ind__rule_logsumexp,
    [IND_OP_LINALG_VECTOR_NORM] = ind__rule_vector_norm,
    [IND_OP_NORM] = ind__rule_vector_norm,
    [IND_OP_CDIST] = ind__rule_cdist,
    [IND_OP_CDIST_FORWARD] = ind__rule_cdist,
    [IND_OP_PDIST_FORWARD] = ind__rule_pdist,
    [IND_OP_SOFTMAX_HALF] = ind__rule_softmax_half,
    [IND_OP_LOG_SOFTMAX_HALF] = ind__rule_softmax_half,
    [IND_OP_MSE_LOSS] = ind__rule_distance_loss,
    [IND_OP_L1_LOSS] = ind__rule_distance_loss,
    [IND_OP_NLL_LOSS] = ind__rule_class_loss,
    [IND_OP_CROSS_ENTROPY] = ind__rule_class_loss,
    [IND_OP_SOFTMAX] = ind__rule_softmax,
    [IND_OP_LOG_SOFTMAX] = ind__rule_softmax,
    [IND_OP_LAYER_NORM] = ind__rule_norm,
    [IND_OP_RMS_NORM] = ind__rule_norm,
    [IND_OP_NATIVE_LAYER_NORM] = ind__rule_native_layer_norm,
    [IND_OP_GROUP_NORM] = ind__rule_group_norm,
    [IND_OP_NATIVE_GROUP_NORM] = ind__rule_group_norm,
    [IND_OP_BATCH_NORM] = ind__rule_batch_norm,
    [IND_OP_NATIVE_BATCH_NORM_LEGIT] = ind__rule_batch_norm,
    [IND_OP_NATIVE_BATCH_NORM_LEGIT_NO_TRAINING] = ind__rule_batch_norm,
    [IND_OP_NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL] = ind__rule_batch_norm,
    [IND_OP_INSTANCE_NORM] = ind__rule_batch_norm,
    [IND_OP_NATIVE_LAYER_NORM_BACKWARD] = ind__rule_layer_norm_backward,
    [IND_OP_NATIVE_GROUP_NORM_BACKWARD] = ind__rule_group_norm_backward,
    [IND_OP_VIEW] = ind__rule_view,
    [IND_OP_PERMUTE] = ind__rule_permute,
    [IND_OP_TRANSPOSE] = ind__rule_transpose,
    [IND_OP_EXPAND] = ind__rule_expand,
    [IND_OP_UNSQUEEZE] = ind__rule_unsqueeze,
    [IND_OP_SQUEEZE] = ind__rule_squeeze,
    [IND_OP_SLICE] = ind__rule_slice,
    [IND_OP_SELECT] = ind__rule_select,
    [IND_OP_CAT] = ind__rule_cat,
    [IND_OP_RESHAPE] = ind__rule_view,
    [IND_OP_VIEW_AS] = ind__rule_reshape_as,
    [IND_OP_FLATTEN] = ind__rule_flatten,
    [IND_OP_UNFLATTEN] = ind__rule_unflatten,
    [IND_OP_BROADCAST_TO] = ind__rule_expand,
    [IND_OP_EXPAND_AS] = ind__rule_expand_as,
    [IND_OP_BROADCAST_TENSORS] = ind__rule_broadcast_tensors,
    [IND_OP_MESHGRID] = ind__rule_meshgrid,
    [IND_OP_MOVEDIM] = ind__rule_movedim,
    [IND_OP_NARROW] = ind__rule_narrow,
    [IND_OP_SPLIT] = ind__rule_split,
    [IND_OP_SPLIT_WITH_SIZES] = ind__rule_split_with_sizes,
    [IND_OP_CHUNK] = ind__rule_chunk,
    [IND_OP_UNBIND] = ind__rule_unbind,
    [IND_OP_UNFOLD] = ind__rule_unfold,
    [IND_OP_DIAGONAL] = ind__rule_diagonal,
    [IND_OP_AS_STRIDED] = ind__rule_as_strided,
    [IND_OP_FLIP] = ind__rule_flip,
    [IND_OP_ROLL] = ind__rule_roll,
    [IND_OP_REPEAT] = ind__rule_repeat,
    [IND_OP_TILE] = ind__rule_repeat,
    [IND_OP_PIXEL_SHUFFLE] = ind__rule_pixel_shuffle,
    [IND_OP_PIXEL_UNSHUFFLE] = ind__rule_pixel_shuffle,
    [IND_OP_STACK] = ind__rule_stack,
    [IND_OP_SELECT_SCATTER] = ind__rule_select_scatter,
    [IND_OP_SLICE_SCATTER] = ind__rule_slice_scatter,
    [IND_OP_DIAGONAL_SCATTER] = ind__rule_diagonal_scatter,
    [IND_OP_TRIL] = ind__rule_tril,
    [IND_OP_TRIU] = ind__rule_tril,
    [IND_OP_ONE_HOT] = ind__rule_one_hot,
    [IND_OP_CONSTANT_PAD_ND] = ind__rule_pad,
    [IND_OP_PAD] = ind__rule_pad,
    [IND_OP_REFLECTION_PAD1D] = ind__rule_pad,
    [IND_OP_REFLECTION_PAD2D] = ind__rule_pad,
    [IND_OP_REFLECTION_PAD3D] = ind__rule_pad,
    [IND_OP_REPLICATION_PAD1D] = ind__rule_pad,
    [IND_OP_REPLICATION_PAD2D] = ind__rule_pad,
    [IND_OP_REPLICATION_PAD3D] = ind__rule_pad,
    [IND_OP_AVG_POOL1D] = ind__rule_pool,
    [IND_OP_AVG_POOL2D] = ind__rule_pool,
    [IND_OP_AVG_POOL3D] = ind__rule_pool,
    [IND_OP_MAX_POOL1D] = ind__rule_pool,
    [IND_OP_MAX_POOL2D] = ind__rule_pool,
    [IND_OP_MAX_POOL3D] = ind__rule_pool,
    [IND_OP_MAX_POOL1D_WITH_INDICES] = ind__rule_pool,
    [IND_OP_MAX_POOL2D_WITH_INDICES] = ind__rule_pool,
    [IND_OP_MAX_POOL3D_WITH_INDICES] = ind__rule_pool,
    [IND_OP_ADAPTIVE_AVG_POOL1D] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_AVG_POOL2D] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_AVG_POOL3D] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_MAX_POOL1D] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_MAX_POOL2D] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_MAX_POOL3D] = ind__rule_adaptive_pool,
    [IND_OP_CONVOLUTION] = ind__rule_convolution,
    [IND_OP_CONV1D] = ind__rule_convolution,
    [IND_OP_CONV2D] = ind__rule_convolution,
    [IND_OP_CONV3D] = ind__rule_convolution,
    [IND_OP_CONV_TRANSPOSE1D] = ind__rule_convolution,
    [IND_OP_CONV_TRANSPOSE2D] = ind__rule_convolution,
    [IND_OP_CONV_TRANSPOSE3D] = ind__rule_convolution,
    [IND_OP_ADAPTIVE_AVG_POOL2D_CORE] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_AVG_POOL3D_CORE] = ind__rule_adaptive_pool,
    [IND_OP_UPSAMPLE_NEAREST1D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_NEAREST2D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_NEAREST3D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_NEAREST_EXACT1D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_NEAREST_EXACT2D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_NEAREST_EXACT3D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_LINEAR1D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_BILINEAR2D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_TRILINEAR3D] = ind__rule_upsample,
    [IND_OP_INTERPOLATE] = ind__rule_upsample,
    [IND_OP_GRID_SAMPLER_2D] = ind__rule_grid_sampler,
    [IND_OP_IM2COL] = ind__rule_im2col,
    [IND_OP_COL2IM] = ind__rule_col2im,
    [IND_OP_CONVOLUTION_BACKWARD] = ind__rule_convolution_backward,
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
    [IND_OP_AVG_POOL2D_BACKWARD] = ind__rule_pool_backward,
    [IND_OP_ADAPTIVE_AVG_POOL2D_BACKWARD] = ind__rule_pool_backward,
    [IND_OP_MAX_POOL2D_WITH_INDICES_BACKWARD] = ind__rule_pool_backward,
    [IND_OP_CUMSUM] = ind__rule_cumsum,
    [IND_OP_CUMPROD] = ind__rule_cumsum,
    [IND_OP_CUMMAX] = ind__rule_cummax,
    [IND_OP_CUMMIN] = ind__rule_cummax,
    [IND_OP_LOGCUMSUMEXP] = ind__rule_cummax,
    [IND_OP_SORT] = ind__rule_cummax,
    [IND_OP_ARGSORT] = ind__rule_cummax,
    [IND_OP_TOPK] = ind__rule_topk,
    [IND_OP_SEARCHSORTED] = ind__rule_searchsorted,
    [IND_OP_BUCKETIZE] = ind__rule_searchsorted,
    [IND_OP_MSORT] = ind__rule_msort,
    [IND_OP_KTHVALUE] = ind__rule_ranked,
    [IND_OP_MEDIAN] = ind__rule_ranked,
    [IND_OP_NANMEDIAN] = ind__rule_ranked,
    [IND_OP_MODE] = ind__rule_ranked,
    [IND_OP_QUANTILE] = ind__rule_quantile,
    [IND_OP_NANQUANTILE] = ind__rule_quantile,
    [IND_OP_DIFF] = ind__rule_diff,
    [IND_OP_MULTINOMIAL] = ind__rule_multinomial,
    [IND_OP_ASSOCIATIVE_SCAN] = ind__rule_associative_scan,
    [IND_OP_MASKED_SCATTER] = ind__rule_masked_scatter,
    [IND_OP_NONZERO] = ind__rule_nonzero,
    [IND_OP_ARGWHERE] = ind__rule_nonzero,
    [IND_OP_MASKED_SELECT] = ind__rule_masked_select,
    [IND_OP_UNIQUE] = ind__rule_unique,
    [IND_OP_UNIQUE_CONSECUTIVE] = ind__rule_unique,
    [IND_OP_REPEAT_INTERLEAVE] = ind__rule_repeat_interleave,
    [IND_OP_MATMUL] = ind__rule_matmul,
    [IND_OP_MM] = ind__rule_mm,
    [IND_OP_BMM] = ind__rule_mm,
    [IND_OP_ADDMM] = ind__rule_addmm,
    [IND_OP_LINEAR] = ind__rule_linear,
    [IND_OP_SCALED_DOT_PRODUCT_ATTENTION] = ind__rule_attention,
};

/* ---- what holds for every op */

/* May a number stand for this operand? */
static bool ind__number_allowed(ind_graph_op op, uint32_t k) {
    bool elementwise = ind__op_has(op, 'P') && op != IND_OP_CAT && op != IND_OP_CUSTOM;
    if (op == IND_OP_ASSOCIATIVE_SCAN) return true; /* its rule says where */
    if (op == IND_OP_QUANTILE || op == IND_OP_NANQUANTILE) return k == 1;
    if (op == IND_OP_SEARCHSORTED || op == IND_OP_BUCKETIZE) return k == (op == IND_OP_SEARCHSORTED);
    if (op == IND_OP_REPEAT_INTERLEAVE) return k == 1;
    if (op == IND_OP_CALL) return true;
    return elementwise && strchr(ind__op_rows[op].operands, ' ') && !(ind__op_has(op, 'T') && k == 0);
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
        ind_dtype dtype = in->g->tensor[id].dtype;
        const ind__tensor_info *x = &in->g->tensor[id];
        for (int d = 0; in->op == IND_OP_EXTERN && d < x->rank; d++) {
            if (ind__expr_has_kind(x->size[d], IND_SYMBOL_UNBACKED))
                return ind__reject(in, IND_NOT_SUPPORTED,
                                   "%s is %s: an opaque call is given numbers, and this size is known to kernels alone",
                                   ind__say_name(in, k), ind__say_type(in, k));
        }
        if (ind__only_stored(dtype) && !ind__op_has(in->op, 'V') && !ind__op_has(in->op, 'D') &&
            !ind__op_has(in->op, 'Q')) {
            return ind__reject(in, IND_TYPE_MISMATCH, "%.*s is %s, which is only stored; cast it to compute with it",
                               o->length, o->name, ind_dtype_name(dtype));
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

static ind_status ind__check_floats(ind__infer *in, const ind__attr_schema *s, const ind__attr *a) {
    if (a->count > IND_MAX_RANK) return ind__too_many_dims(in, a->count);
    if (a->count >= 0 && (a->count == 0 || a->floats)) return IND_OK;
    return ind__reject(in, IND_INVALID_ARGUMENT, "%.*s is NULL", s->length, s->name);
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
    if (s->kind == IND__ATTR_INTS || s->kind == IND__ATTR_SIZES || s->kind == IND__ATTR_EXPRS)
        return ind__check_list(in, s, a);
    if (s->kind == IND__ATTR_FLOATS) return ind__check_floats(in, s, a);
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
    if (t->dtype == IND_DTYPE_NONE)
        return ind__reject(in, IND_TYPE_MISMATCH, "an 8-bit float and another type have no common type; cast one");
    int64_t total = ind_dtype_bytes(t->dtype), lo, hi;
    for (int d = 0; d < t->rank; d++) {
        if (!ind__ok(t->size[d])) {
            ind_status why = ind_error_status(in->c) == IND_OUT_OF_MEMORY ? IND_OUT_OF_MEMORY : IND_OVERFLOW;
            return ind__reject(in, why, "size of dim %d of the result cannot be computed: %s", d, ind_error(in->c));
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
    for (uint32_t r = 0; r < in->num_results; r++) {
        if (ind__check_result(in, &in->result[r])) return in->status;
    }
    return IND_OK;
}

/* ----------------------------------------------------------------------------------------------- >>builder */

static ind_status ind__graph_fail(ind_graph *g, ind_status status, const char *format, ...) IND__PRINTF(3, 4);
static ind_status ind__graph_add_function(ind_graph *g, const ind__function *f);

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

/* One more name, which is free, for a tensor that keeps its own. */
static bool ind__also_named(ind_graph *g, uint32_t tensor, const char *name) {
    const char *own = g->tensor[tensor].name;
    const bool named = g->tensor[tensor].named;
    if (!ind__put_name(g, tensor, name, true)) return false;
    g->tensor[tensor].name = own;
    g->tensor[tensor].named = named;
    return true;
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
    ind__free(c, (void *)g->function);
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

/* Is anything known of the sizes but their ranges? */
static bool ind__has_facts(const ind_graph *g) {
    return g->num_conditions || g->num_unbacked;
}

ind_facts *ind__graph_enter(const ind_graph *g) {
    return ind_facts_enter(g->context, ind__has_facts(g) ? g->facts : NULL);
}

static void ind__graph_leave(const ind_graph *g, ind_facts *before) {
    (void)ind_facts_enter(g->context, before);
}

/* e as it stands under the graph's facts; what is not of this context is left for the checks to find. */
static ind_expr ind__under_facts(const ind_graph *g, ind_expr e) {
    bool ours = ind__ok(e) && e.context == g->context;
    return ours && ind__has_facts(g) ? ind_simplify(g->facts, e) : e;
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
    if (from->kind == IND__ATTR_FLOATS && from->count > 0 && from->count <= IND_MAX_RANK && from->floats) {
        to->floats = ind__arena_copy(&g->arena, from->floats, (size_t)from->count * sizeof *from->floats);
        return to->floats != NULL;
    }
    bool list = from->kind == IND__ATTR_INTS || from->kind == IND__ATTR_SIZES || from->kind == IND__ATTR_EXPRS;
    if (list && from->count > 0 && from->list) {
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
static bool ind__append_node(ind_graph *g, ind__node *node, const ind__type *types, uint32_t num_results,
                             const char *base_name) {
    uint32_t number = g->num_nodes, first = g->num_tensors;
    node->result = first;
    node->num_results = num_results;
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
    in->result = in->few;
    in->num_results = ind__op_rows[node->op].results;
}

static void ind__infer_free(ind__infer *in) {
    if (in->result != in->few) ind__free(in->c, in->result);
}

/* The size from data that is this symbol; NULL: the graph has none. */
static const ind__unbacked *ind__find_length(const ind_graph *g, ind_expr length) {
    for (uint32_t u = 0; u < g->num_unbacked; u++)
        if (ind_expr_same(g->unbacked[u].symbol, length)) return &g->unbacked[u];
    return NULL;
}

/* Takes the size from data of the node that was added last into the graph, with the fact that bounds it. */
static ind_status ind__add_length(ind_graph *g, ind__infer *in) {
    ind__attr *own = &g->node[g->num_nodes - 1].attr[g->schema[in->op].num_attrs - 1];
    ind_expr most = ind__most(g->unbacked, g->num_unbacked, in->limit);
    if (!ind__ok(most))
        return ind__graph_fail(g, IND_NOT_SUPPORTED, "%s: no bound in the declared sizes is found for its result",
                               in->op_name);
    *own = (ind__attr){.kind = IND__ATTR_SIZE, .e = in->length};
    if (ind__find_length(g, in->length)) return IND_OK;
    g->unbacked[g->num_unbacked++] = (ind__unbacked){in->length, most, 0, g->num_nodes - 1, in->source};
    if (g->facts_borrowed || ind_expr_is_int(in->limit, NULL)) return IND_OK;
    ind_status status = ind_facts_assume(g->facts, ind_expr_le(in->length, in->limit));
    return status ? ind__graph_fail(g, status, "%s: %s", in->op_name, ind_error(g->context)) : IND_OK;
}

static ind_tensor ind__graph_try_add(ind_graph *g, ind__node *node, const uint32_t *operands, uint32_t num_operands,
                                     const ind__attr *attrs, uint32_t num_attrs) {
    const char *name = node->name ? node->name : ind__op_name(node->op);
    ind__infer in;
    const ind__unbacked *other = NULL;
    if (!ind__fill_node(g, node, operands, num_operands, attrs, num_attrs)) {
        ind__graph_no_memory(g, name);
        return ind__graph_tensor(g, 0);
    }
    ind__infer_init(&in, g, node);
    if (ind__infer_results(&in)) {
        ind__graph_fail(g, in.status, "%s: %s", name, in.error);
    } else if (ind__ok(in.length) && (other = ind__find_length(g, in.length)) != NULL &&
               (!in.source || in.source != other->source)) {
        ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: its length is that of another op", name);
    } else if (!ind__append_node(g, node, in.result, in.num_results, node->op == IND_OP_SCALAR ? NULL : name)) {
        ind__graph_no_memory(g, name);
    } else if (ind__ok(in.length)) {
        ind__add_length(g, &in);
    }
    ind__infer_free(&in);
    return ind__graph_tensor(g, g->status ? 0 : node->result);
}

static ind_tensor ind__add_node(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                                const ind__attr *attrs, uint32_t num_attrs, ind_body *body, const char *custom_name);

/* ---- masks as indices: a mask of rank k stands for the k columns of its nonzero */

/* Is an index of x[indices] a mask? One mask whose places all get the same number needs no indices. */
static bool ind__indexed_by_mask(const ind_graph *g, ind_graph_op op, const uint32_t *operand, uint32_t n) {
    uint32_t first = op == IND_OP_INDEX ? 1 : 2;
    bool mask = false, one = op == IND_OP_INDEX_PUT && n == 3;
    if (op != IND_OP_INDEX && op != IND_OP_INDEX_PUT) return false;
    for (uint32_t k = 0; k < n; k++) {
        if (operand[k] >= g->num_tensors || (!operand[k] && k < first)) return false; /* an error, found later */
        mask = mask || (k >= first && operand[k] && g->tensor[operand[k]].dtype == IND_BOOL);
    }
    for (int d = 0; one && d < g->tensor[operand[1]].rank; d++) one = ind__is_int(g->tensor[operand[1]].size[d], 1);
    return mask && !one;
}

/* nonzero of the mask: the one that the graph has already, or a new one. */
static uint32_t ind__mask_places(ind_graph *g, uint32_t mask) {
    for (uint32_t i = 1; i < g->num_nodes; i++)
        if (g->node[i].op == IND_OP_NONZERO && g->node[i].operand[0] == mask) return g->node[i].result;
    return ind__add_node(g, IND_OP_NONZERO, &mask, 1, NULL, 0, NULL, NULL).id;
}

/* Puts the columns that stand for a mask at dimension `at` of x behind the operands; false: the graph has the error. */
static bool ind__expand_mask(ind_graph *g, ind_graph_op op, uint32_t x, uint32_t mask, int at, uint32_t *operand,
                             uint32_t *n) {
    const ind__tensor_info m = g->tensor[mask], self = g->tensor[x];
    bool fits = m.rank > 0 && at + m.rank <= self.rank;
    for (int d = 0; fits && d < m.rank; d++) fits = ind_known_eq(m.size[d], self.size[at + d]);
    if (!fits) {
        char of_mask[200], of_x[200];
        ind__print_type(of_mask, sizeof of_mask, m.dtype, m.size, m.rank);
        ind__print_type(of_x, sizeof of_x, self.dtype, self.size, self.rank);
        ind__graph_fail(g, IND_SHAPE_MISMATCH,
                        "%s: mask %s (%s) must have one dimension or more, and the sizes of %s (%s) from dim %d on",
                        ind__op_name(op), m.name, of_mask, self.name ? self.name : "self", of_x, at);
        return false;
    }
    uint32_t places = ind__mask_places(g, mask);
    for (int d = 0; places && d < m.rank; d++) {
        ind__attr a[2] = {{.kind = IND__ATTR_INT, .i = 1}, {.kind = IND__ATTR_SIZE, .e = ind_int(g->context, d)}};
        operand[*n] = ind__add_node(g, IND_OP_SELECT, &places, 1, a, 2, NULL, NULL).id;
        if (!operand[(*n)++]) return false;
    }
    return places != 0;
}

/* index and index_put with masks among the indices. */
static ind_tensor ind__add_by_mask(ind_graph *g, ind_graph_op op, const uint32_t *given, uint32_t num_given,
                                   const ind__attr *attrs, uint32_t num_attrs) {
    uint32_t operand[2 * IND_MAX_RANK + 2], n = op == IND_OP_INDEX ? 1 : 2, first = n;
    memcpy(operand, given, n * sizeof *operand);
    ind_facts *before = ind__graph_enter(g);
    for (uint32_t k = n; k < num_given && !g->status; k++) {
        bool mask = given[k] && g->tensor[given[k]].dtype == IND_BOOL;
        if (n - first >= IND_MAX_RANK)
            ind__graph_fail(g, IND_LIMIT, "%s: more than %d dimensions are indexed", ind__op_name(op), IND_MAX_RANK);
        else if (mask)
            ind__expand_mask(g, op, given[0], given[k], (int)(n - first), operand, &n);
        else
            operand[n++] = given[k];
    }
    ind__graph_leave(g, before);
    if (g->status) return ind__graph_tensor(g, 0);
    return ind__add_node(g, op, operand, n, attrs, num_attrs, NULL, NULL);
}

/* A node of pure meaning: operands are values, whatever was written to their memory since. */
static ind_tensor ind__add_node(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                                const ind__attr *attrs, uint32_t num_attrs, ind_body *body, const char *custom_name) {
    ind_tensor result = {g, 0};
    ind__node node = {.op = op, .body = body};
    if (g && !g->status && ind__indexed_by_mask(g, op, operands, num_operands))
        return ind__add_by_mask(g, op, operands, num_operands, attrs, num_attrs);
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

/* ---- attributes from values ---- */

static ind__attr ind__attr_int(int64_t v) {
    return (ind__attr){.kind = IND__ATTR_INT, .i = v};
}

static ind__attr ind__attr_bool(bool v) {
    return (ind__attr){.kind = IND__ATTR_BOOL, .i = v};
}

static ind__attr ind__attr_float(double v) {
    return (ind__attr){.kind = IND__ATTR_FLOAT, .f = v};
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

/* A whole number is an integer, which also fits integer tensors. */
static ind__attr ind__attr_number(double v) {
    bool whole = v >= -1e15 && v <= 1e15 && v == (double)(int64_t)v;
    return (ind__attr){.kind = IND__ATTR_SCALAR, .is_int = whole, .i = whole ? (int64_t)v : 0, .f = v};
}

static ind__attr ind__attr_dtype(ind_dtype d) {
    return (ind__attr){.kind = d == IND_DTYPE_NONE ? IND__ATTR_NONE : IND__ATTR_DTYPE, .i = d};
}

/* ---- memory that tensors share, and ops in place ----

   A tensor is a handle of memory: its own, or through an op of ind__views that of another. An op in place makes a new
   value for the whole memory, by the inverses of those ops from the written tensor to the root; tensors that show the
   memory are made again from that when they are next used. So the graph itself has pure ops only, and nodes that were
   added before a write keep reading what was there. (PyTorch: functionalization.) */

/* Result k of a view op: what it is made of. Copies, as adding nodes moves the graph's tables. */
typedef struct ind__view {
    ind_context *c;
    ind__node node;
    uint32_t k, viewed;
    ind__tensor_info from, to;
    bool unsure; /* for some sizes it is a view, for others a copy */
} ind__view;

static ind__view ind__view_of(const ind_graph *g, uint32_t x) {
    const ind__tensor_info *t = &g->tensor[x];
    return (ind__view){g->context, g->node[t->node], x - g->node[t->node].result, t->viewed, g->tensor[t->viewed], *t,
                       false};
}

static uint32_t ind__root_of(const ind_graph *g, uint32_t x) {
    return g->tensor[x].root ? g->tensor[x].root : x;
}

/* Strides of a view from those of what it shows; false: it cannot lie there and is a copy. */
typedef bool (*ind__stride_fn)(ind__view *v, const ind_expr *from, ind_expr *to);
/* The new value of what the view shows, which is `value` where the view shows it; 0: the graph has the error. */
typedef uint32_t (*ind__write_fn)(ind_graph *g, const ind__view *v, uint32_t value);

static uint32_t ind__add_pure(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t n,
                              const ind__attr *attrs, uint32_t num_attrs) {
    return ind__add_node(g, op, operands, n, attrs, num_attrs, NULL, NULL).id;
}

static uint32_t ind__current(ind_graph *g, uint32_t x);

static uint32_t ind__add_view(ind_graph *g, uint32_t x, const ind_expr *size, int rank) {
    ind__attr a = {.kind = IND__ATTR_SIZES, .list = size, .count = rank};
    return ind__add_pure(g, IND_OP_VIEW, &x, 1, &a, 1);
}

static uint32_t ind__add_onto(ind_graph *g, ind_graph_op op, const ind__view *v, uint32_t value, const ind__attr *attrs,
                              uint32_t num_attrs) {
    uint32_t x[2] = {ind__current(g, v->viewed), value};
    return x[0] ? ind__add_pure(g, op, x, 2, attrs, num_attrs) : 0;
}

static int ind__view_dim(const ind__view *v, uint32_t attr) {
    int64_t d = v->node.attr[attr].i;
    return (int)(d < 0 ? d + v->from.rank : d);
}

/* .. the same elements in the same order */

/* Are the sizes equal? What hangs on the symbols is noted. */
static bool ind__view_equal(ind__view *v, ind_expr a, ind_expr b) {
    if (ind_known_eq(a, b)) return true;
    v->unsure = v->unsure || !ind__is_int(ind_expr_eq(a, b), 0);
    return false;
}

/* at::detail::computeStride: dimensions that lie behind each other without a gap may be cut anew. */
static bool ind__stride_reshape(ind__view *v, const ind_expr *from, ind_expr *to) {
    const ind_expr one = ind_int(v->c, 1), *size = v->from.size;
    ind_expr base = one, many = one, found = one;
    int j = v->to.rank - 1;
    if (v->from.rank) base = from[v->from.rank - 1];
    for (int d = v->from.rank; d-- > 0;) {
        many = ind_expr_mul(many, size[d]);
        if (d > 0 &&
            (ind__view_equal(v, size[d - 1], one) || ind__view_equal(v, from[d - 1], ind_expr_mul(many, base))))
            continue;
        for (; j >= 0 && (!ind__view_equal(v, found, many) || ind__view_equal(v, v->to.size[j], one)); j--) {
            to[j] = ind_expr_mul(found, base);
            found = ind_expr_mul(found, v->to.size[j]);
        }
        if (!ind__view_equal(v, found, many)) return false;
        if (d > 0) base = from[d - 1];
        many = found = one;
    }
    for (; j >= 0 && ind__view_equal(v, v->to.size[j], one); j--) to[j] = base;
    return j < 0;
}

static uint32_t ind__write_reshape(ind_graph *g, const ind__view *v, uint32_t value) {
    return ind__add_view(g, value, v->from.size, v->from.rank);
}

static bool ind__stride_same(ind__view *v, const ind_expr *from, ind_expr *to) {
    memcpy(to, from, (size_t)v->to.rank * sizeof *to);
    return true;
}

static uint32_t ind__write_same(ind_graph *g, const ind__view *v, uint32_t value) {
    (void)g;
    (void)v;
    return value;
}

/* .. dimensions in another order */

/* Which dimension of the operand each one of the result is. */
static void ind__view_order(const ind__view *v, int *from) {
    const ind__node *n = &v->node;
    const int rank = v->to.rank;
    if (n->op == IND_OP_MOVEDIM) {
        ind__movedim_order(&n->attr[0], &n->attr[1], rank, from);
        return;
    }
    for (int d = 0; d < rank; d++) from[d] = n->op == IND_OP_PERMUTE ? ind__list_dim(&n->attr[0], d, rank) : d;
    if (n->op != IND_OP_TRANSPOSE || rank == 0) return;
    from[ind__view_dim(v, 0)] = ind__view_dim(v, 1);
    from[ind__view_dim(v, 1)] = ind__view_dim(v, 0);
}

static bool ind__stride_permute(ind__view *v, const ind_expr *from, ind_expr *to) {
    int order[IND_MAX_RANK];
    ind__view_order(v, order);
    for (int d = 0; d < v->to.rank; d++) to[d] = from[order[d]];
    return true;
}

static uint32_t ind__write_permute(ind_graph *g, const ind__view *v, uint32_t value) {
    int order[IND_MAX_RANK];
    ind_expr back[IND_MAX_RANK];
    ind__view_order(v, order);
    for (int d = 0; d < v->to.rank; d++) back[order[d]] = ind_int(g->context, d);
    ind__attr a = {.kind = IND__ATTR_INTS, .list = back, .count = v->to.rank};
    return ind__add_pure(g, IND_OP_PERMUTE, &value, 1, &a, 1);
}

/* .. an element at several places */

static bool ind__stride_expand(ind__view *v, const ind_expr *from, ind_expr *to) {
    const int more = v->to.rank - v->from.rank;
    for (int d = 0; d < v->to.rank; d++) {
        bool own = d >= more && ind_known_eq(v->from.size[d - more], v->to.size[d]);
        to[d] = own ? from[d - more] : ind_int(v->c, 0);
    }
    return true;
}

static bool ind__stride_meshgrid(ind__view *v, const ind_expr *from, ind_expr *to) {
    for (int d = 0; d < v->to.rank; d++) to[d] = ind_int(v->c, 0);
    if (v->from.rank) to[ind__meshgrid_dim(&v->node.attr[0], v->k, v->node.num_operands)] = from[0];
    return true;
}

static uint32_t ind__overlaps(ind_graph *g, const ind__view *v) {
    ind__graph_fail(g, IND_INVALID_ARGUMENT,
                    "an op in place writes to the result of %s, which shows an element of %s at several places, or is "
                    "not known not to; clone it first",
                    ind__op_name(v->node.op), v->from.name ? v->from.name : "a tensor");
    return 0;
}

/* Nothing is at several places where all that is new has size 1. */
static uint32_t ind__write_expand(ind_graph *g, const ind__view *v, uint32_t value) {
    ind_expr all = ind_expr_product(g->context, v->to.size, v->to.rank);
    ind_expr own = ind_expr_product(g->context, v->from.size, v->from.rank);
    return ind_known_eq(all, own) ? ind__write_reshape(g, v, value) : ind__overlaps(g, v);
}

/* .. a part of a dimension, or one position of it */

/* Dimension and range of what a slice, a narrow or a piece of a split shows, as attributes of slice_scatter. */
static void ind__view_range(const ind_graph *g, const ind__view *v, ind__attr a[4]) {
    const ind__node *n = &v->node;
    const uint32_t at = n->op == IND_OP_SLICE || n->op == IND_OP_NARROW ? 0 : 1;
    const int dim = ind__view_dim(v, at);
    ind_expr first = ind_int(g->context, 0);
    if (n->op == IND_OP_SLICE) {
        memcpy(a, n->attr, 4 * sizeof *a);
        return;
    }
    if (n->op == IND_OP_NARROW) first = ind__from_front(n->attr[1].e, v->from.size[dim]);
    for (uint32_t k = 0; k < v->k; k++) first = ind_expr_add(first, g->tensor[n->result + k].size[dim]);
    a[0] = (ind__attr){.kind = IND__ATTR_INT, .i = dim};
    a[1] = ind__attr_size(first);
    a[2] = ind__attr_size(ind_expr_add(first, v->to.size[dim]));
    a[3] = ind__attr_size(ind_int(g->context, 1));
}

static bool ind__stride_slice(ind__view *v, const ind_expr *from, ind_expr *to) {
    memcpy(to, from, (size_t)v->to.rank * sizeof *to);
    if (v->node.op == IND_OP_SLICE) {
        int dim = ind__view_dim(v, 0);
        to[dim] = ind_expr_mul(to[dim], v->node.attr[3].e);
    }
    return true;
}

static uint32_t ind__write_slice(ind_graph *g, const ind__view *v, uint32_t value) {
    ind__attr a[4];
    ind__view_range(g, v, a);
    return ind__add_onto(g, IND_OP_SLICE_SCATTER, v, value, a, 4);
}

static bool ind__stride_select(ind__view *v, const ind_expr *from, ind_expr *to) {
    const int dim = ind__view_dim(v, 0);
    for (int d = 0; d < v->to.rank; d++) to[d] = from[d + (d >= dim)];
    return true;
}

/* select, and result k of unbind, which is position k. */
static uint32_t ind__write_select(ind_graph *g, const ind__view *v, uint32_t value) {
    ind__attr a[2] = {v->node.attr[0], ind__attr_size(ind_int(g->context, v->k))};
    if (v->node.op == IND_OP_SELECT) a[1] = v->node.attr[1];
    return ind__add_onto(g, IND_OP_SELECT_SCATTER, v, value, a, 2);
}

static bool ind__stride_diagonal(ind__view *v, const ind_expr *from, ind_expr *to) {
    const int a = ind__view_dim(v, 1), b = ind__view_dim(v, 2);
    int next = 0;
    for (int d = 0; d < v->from.rank; d++)
        if (d != a && d != b) to[next++] = from[d];
    to[next] = ind_expr_add(from[a], from[b]);
    return true;
}

static uint32_t ind__write_diagonal(ind_graph *g, const ind__view *v, uint32_t value) {
    return ind__add_onto(g, IND_OP_DIAGONAL_SCATTER, v, value, v->node.attr, 3);
}

/* .. elements at places that are counted */

/* Do the steps along the dimensions lead to different elements, each beyond all that the smaller ones reach? */
static bool ind__distinct(ind_context *c, const ind_expr *size, const ind_expr *stride, int rank) {
    ind_expr one = ind_int(c, 1), reach = one;
    uint32_t left = 0;
    for (int d = 0; d < rank; d++) {
        if (ind__is_int(size[d], 0)) return true;
        if (!ind__is_int(size[d], 1)) left |= 1u << d;
    }
    while (left) {
        int least = -1;
        for (int d = 0; d < rank; d++)
            if (left >> d & 1 && (least < 0 || ind_known_lt(stride[d], stride[least]))) least = d;
        if (!ind_known_le(reach, stride[least])) return false;
        reach = ind_expr_add(reach, ind_expr_mul(ind_expr_sub(size[least], one), stride[least]));
        left &= ~(1u << least);
    }
    return true;
}

static bool ind__stride_unfold(ind__view *v, const ind_expr *from, ind_expr *to) {
    const int rank = v->from.rank, dim = rank ? ind__view_dim(v, 0) : 0;
    memcpy(to, from, (size_t)rank * sizeof *to);
    to[rank] = rank ? from[dim] : ind_int(v->c, 1);
    if (rank) to[dim] = ind_expr_mul(from[dim], v->node.attr[2].e);
    return true;
}

static bool ind__stride_as_strided(ind__view *v, const ind_expr *from, ind_expr *to) {
    (void)from;
    memcpy(to, v->node.attr[1].list, (size_t)v->to.rank * sizeof *to);
    return true;
}

/* start, start + step, .. of `count` numbers, as dimension d of `rank`. */
static uint32_t ind__add_places(ind_graph *g, ind_expr start, ind_expr step, ind_expr count, int d, int rank) {
    ind__attr a[4] = {ind__attr_size(start),
                      ind__attr_size(ind_expr_add(start, ind_expr_mul(count, step))),
                      ind__attr_size(step),
                      {.kind = IND__ATTR_DTYPE, .i = IND_I64}};
    ind_expr size[IND_MAX_RANK];
    for (int k = 0; k < rank; k++) size[k] = k == d ? count : ind_int(g->context, 1);
    uint32_t x = ind__add_pure(g, IND_OP_ARANGE, NULL, 0, a, 4);
    return x ? ind__add_view(g, x, size, rank) : 0;
}

/* Strides of what the view shows: given, or those of a contiguous tensor. */
static const ind_expr *ind__strides_of(ind_context *c, const ind__tensor_info *x, ind_expr row[IND_MAX_RANK]) {
    if (x->stride) return x->stride;
    for (int d = x->rank; d-- > 0;) row[d] = d + 1 < x->rank ? ind_expr_mul(row[d + 1], x->size[d + 1]) : ind_int(c, 1);
    return row;
}

/* Steps through the memory of what a view shows, which is contiguous: the storage of as_strided, or the one that
   unfold cuts up. */
static void ind__place_steps(const ind__view *v, ind_expr step[IND_MAX_RANK]) {
    ind_expr row[IND_MAX_RANK];
    ind__view shown = *v;
    shown.from.stride = NULL;
    const ind_expr *from = ind__strides_of(v->c, &shown.from, row);
    if (v->node.op == IND_OP_AS_STRIDED)
        ind__stride_as_strided(&shown, from, step);
    else
        ind__stride_unfold(&shown, from, step);
}

/* The places of the view's elements, as a tensor of its shape. */
static uint32_t ind__add_all_places(ind_graph *g, const ind__view *v) {
    const int rank = v->to.rank;
    ind_expr zero = ind_int(g->context, 0), one = ind_int(g->context, 1), step[IND_MAX_RANK];
    ind__place_steps(v, step);
    uint32_t x = ind__add_places(g, v->node.op == IND_OP_AS_STRIDED ? v->node.attr[2].e : zero, one, one, -1, rank);
    for (int d = 0; x && d < rank; d++) {
        if (ind__is_int(v->to.size[d], 1) || ind__is_int(step[d], 0)) continue;
        uint32_t pair[2] = {x, ind__add_places(g, zero, step[d], v->to.size[d], d, rank)};
        x = pair[1] ? ind__add_pure(g, IND_OP_ADD, pair, 2, NULL, 0) : 0;
    }
    ind__attr size = {.kind = IND__ATTR_SIZES, .list = v->to.size, .count = rank};
    return x ? ind__add_pure(g, IND_OP_EXPAND, &x, 1, &size, 1) : 0;
}

static uint32_t ind__write_places(ind_graph *g, const ind__view *v, uint32_t value) {
    ind_expr step[IND_MAX_RANK];
    ind__place_steps(v, step);
    if (!ind__distinct(v->c, v->to.size, step, v->to.rank)) return ind__overlaps(g, v);
    uint32_t x[3] = {ind__current(g, v->viewed), ind__add_all_places(g, v), value};
    return x[0] && x[1] ? ind__add_pure(g, IND_OP_PUT, x, 3, NULL, 0) : 0;
}

/* The ops whose results show the memory of an operand. reshape and flatten copy where strides do not allow a view; what
   is copied or computed lies contiguously. */
static const struct ind__view_row {
    ind__stride_fn stride;
    ind__write_fn write;
} ind__views[IND_NUM_OPS] = {
    [IND_OP_ALIAS] = {ind__stride_same, ind__write_same},
    [IND_OP_VIEW] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_RESHAPE] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_VIEW_AS] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_FLATTEN] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_UNFLATTEN] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_SQUEEZE] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_UNSQUEEZE] = {ind__stride_reshape, ind__write_reshape},
    [IND_OP_PERMUTE] = {ind__stride_permute, ind__write_permute},
    [IND_OP_TRANSPOSE] = {ind__stride_permute, ind__write_permute},
    [IND_OP_MOVEDIM] = {ind__stride_permute, ind__write_permute},
    [IND_OP_EXPAND] = {ind__stride_expand, ind__write_expand},
    [IND_OP_EXPAND_AS] = {ind__stride_expand, ind__write_expand},
    [IND_OP_BROADCAST_TO] = {ind__stride_expand, ind__write_expand},
    [IND_OP_BROADCAST_TENSORS] = {ind__stride_expand, ind__write_expand},
    [IND_OP_MESHGRID] = {ind__stride_meshgrid, ind__write_expand},
    [IND_OP_SLICE] = {ind__stride_slice, ind__write_slice},
    [IND_OP_NARROW] = {ind__stride_slice, ind__write_slice},
    [IND_OP_SPLIT] = {ind__stride_slice, ind__write_slice},
    [IND_OP_SPLIT_WITH_SIZES] = {ind__stride_slice, ind__write_slice},
    [IND_OP_CHUNK] = {ind__stride_slice, ind__write_slice},
    [IND_OP_SELECT] = {ind__stride_select, ind__write_select},
    [IND_OP_UNBIND] = {ind__stride_select, ind__write_select},
    [IND_OP_DIAGONAL] = {ind__stride_diagonal, ind__write_diagonal},
    [IND_OP_UNFOLD] = {ind__stride_unfold, ind__write_places},
    [IND_OP_AS_STRIDED] = {ind__stride_as_strided, ind__write_places},
};

/* Result x, just made from the handle `viewed`, shows its memory, if strides say it can. */
static bool ind__show_memory(ind_graph *g, uint32_t x, uint32_t viewed) {
    ind__tensor_info *t = &g->tensor[x];
    ind_expr row[IND_MAX_RANK], to[IND_MAX_RANK];
    const ind__stride_fn stride = ind__views[g->node[t->node].op].stride;
    t->viewed = viewed;
    ind__view v = ind__view_of(g, x);
    bool dense = !v.from.stride && (stride == ind__stride_reshape || stride == ind__stride_same);
    if (!dense && !stride(&v, ind__strides_of(g->context, &v.from, row), to)) {
        t->viewed = 0;
        t->unsure = v.unsure ? ind__root_of(g, viewed) : 0;
        t->since = g->tensor[t->unsure].writes;
        return true;
    }
    t->root = ind__root_of(g, viewed);
    t->seen = v.node.op == IND_OP_AS_STRIDED ? 0 : g->tensor[t->root].writes;
    if (!dense) t->stride = ind__arena_copy(&g->arena, to, (size_t)t->rank * sizeof *to);
    return dense || t->rank == 0 || t->stride;
}

/* A stale view as of now; as_strided names places in a storage, and takes them from whatever that holds. */
static uint32_t ind__show_now(ind_graph *g, const ind__view *v) {
    uint32_t base = g->tensor[v->viewed].now ? g->tensor[v->viewed].now : v->viewed;
    if (v->node.op == IND_OP_AS_STRIDED) {
        uint32_t taken[2] = {base, ind__add_all_places(g, v)};
        return taken[1] ? ind__add_pure(g, IND_OP_TAKE, taken, 2, NULL, 0) : 0;
    }
    const bool each = v->node.op == IND_OP_BROADCAST_TENSORS || v->node.op == IND_OP_MESHGRID;
    uint32_t *x = ind__arena_copy(&g->arena, v->node.operand, v->node.num_operands * sizeof *x);
    if (!x) return ind__graph_no_memory(g, ind__op_name(v->node.op)), 0;
    x[each ? v->k : 0] = base;
    return ind__add_pure(g, v->node.op, x, v->node.num_operands, v->node.attr, v->node.num_attrs);
}

/* Makes a stale view again, with the other results of its node that show the same. */
static bool ind__show_again(ind_graph *g, uint32_t x) {
    ind__view v = ind__view_of(g, x);
    uint32_t made = ind__show_now(g, &v);
    for (uint32_t k = 0; made && k < v.node.num_results; k++) {
        ind__tensor_info *t = &g->tensor[v.node.result + k];
        if (t->viewed != v.viewed) continue;
        t->now = made + k;
        t->seen = g->tensor[v.to.root].writes;
    }
    return made != 0;
}

static bool ind__is_stale(const ind_graph *g, uint32_t x) {
    return g->tensor[x].seen != g->tensor[ind__root_of(g, x)].writes;
}

/* A reshape that is a view for some sizes only must not meet a write: PyTorch's result would hang on the sizes. */
static bool ind__check_sure(ind_graph *g, uint32_t x, bool written) {
    const ind__tensor_info *t = &g->tensor[ind__root_of(g, x)];
    if (!t->unsure || (!written && g->tensor[t->unsure].writes == t->since)) return true;
    ind__graph_fail(g, IND_NOT_SUPPORTED,
                    "%s: whether it shows the memory of %s or is a copy depends on the sizes, and one of them was "
                    "written to; clone it, or reshape before the other views",
                    t->name, g->tensor[t->unsure].name);
    return false;
}

/* The tensor that holds what x shows by now; 0 on failure. */
static uint32_t ind__current(ind_graph *g, uint32_t x) {
    uint32_t depth = 0;
    if (!g->num_writes || !x || x >= g->num_tensors) return x;
    if (!ind__check_sure(g, x, false)) return 0;
    for (uint32_t v = x; ind__is_stale(g, v); v = g->tensor[v].viewed) depth++;
    uint32_t *stale = ind__arena_alloc(&g->arena, (depth + (size_t)1) * sizeof *stale), n = 0;
    if (!stale) return ind__graph_no_memory(g, "view"), 0;
    for (uint32_t v = x; ind__is_stale(g, v); v = g->tensor[v].viewed) stale[n++] = v;
    while (n-- > 0)
        if (!ind__show_again(g, stale[n])) return 0;
    return g->tensor[x].now ? g->tensor[x].now : x;
}

/* Operands as they are now; NULL on failure. The strided storage is named as it was: see ind__show_memory. */
static const uint32_t *ind__current_operands(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t n) {
    const char *file = g->here_file; /* it is the caller's op that stands there */
    const int line = g->here_line;
    uint32_t *now = g->num_writes && n ? ind__arena_copy(&g->arena, operands, n * sizeof *now) : NULL;
    if (!g->num_writes || !n) return operands;
    if (!now) return ind__graph_no_memory(g, ind__op_name(op)), NULL;
    for (uint32_t k = 0; k < n && op != IND_OP_AS_STRIDED; k++) {
        now[k] = ind__current(g, operands[k]);
        if (operands[k] && !now[k]) return NULL;
    }
    ind_here(g, file, line);
    return now;
}

ind_tensor ind__graph_add(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                          const ind__attr *attrs, uint32_t num_attrs, ind_body *body, const char *custom_name) {
    const uint32_t *now = g && !g->status ? ind__current_operands(g, op, operands, num_operands) : operands;
    ind_tensor result = ind__add_node(g, op, now, num_operands, attrs, num_attrs, body, custom_name);
    if (!result.id || !ind__views[op].stride || g->facts_borrowed) return result;
    const bool each = op == IND_OP_BROADCAST_TENSORS || op == IND_OP_MESHGRID;
    ind_facts *before = ind__graph_enter(g);
    for (uint32_t k = 0; k < g->node[g->tensor[result.id].node].num_results; k++) {
        if (ind__show_memory(g, result.id + k, operands[each ? k : 0])) continue;
        ind__graph_no_memory(g, ind__op_name(op));
        result.id = 0;
        break;
    }
    ind__graph_leave(g, before);
    return result;
}

/* ---- sizes, inputs, outputs */

static ind_expr ind__find_size(const ind_graph *g, const char *name, size_t length) {
    for (uint32_t i = 0; i < g->num_sizes; i++) {
        const char *s = ind_expr_symbol(g->size_symbol[i])->name;
        if (ind__same_name(s, strlen(s), name, length)) return g->size_symbol[i];
    }
    for (uint32_t u = 0; u < g->num_unbacked; u++) {
        const char *s = ind_expr_symbol(g->unbacked[u].symbol)->name;
        if (ind__same_name(s, strlen(s), name, length)) return g->unbacked[u].symbol;
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
    } else if (!ind__append_node(g, &node, in.result, 1, NULL) || !ind__put_name(g, node.result, name, true)) {
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
    } else if (!ind__check_output(graph, name, x.id)) {
        x.id = ind__current(graph, x.id);
        if (!graph->status && !ind__add_output(graph, name, x.id)) ind__graph_no_memory(graph, "output");
    }
    ind__graph_leave_here(graph);
    return graph->status;
}

static const ind__tensor_info *ind__tensor_of(ind_tensor x) {
    return x.graph && x.id && x.id < x.graph->num_tensors ? &x.graph->tensor[x.id] : NULL;
}

static struct ind__mutation *ind__find_mutation(const ind_graph *g, uint32_t input) {
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

static void ind__add_mutation(ind_graph *g, uint32_t input, uint32_t value) {
    struct ind__mutation *m =
        IND__PUSH(g->context, struct ind__mutation, g->mutation, g->num_mutations, g->cap_mutations);
    if (m) *m = (struct ind__mutation){input, value};
    if (!m) ind__graph_no_memory(g, "mutate");
}

ind_status ind_mutate(ind_tensor input, ind_tensor value) {
    ind_graph *g = input.graph ? input.graph : value.graph;
    if (!g) return IND_INVALID_ARGUMENT;
    if (g->status) return g->status;
    if (input.graph != value.graph) {
        ind__graph_fail(g, IND_INVALID_ARGUMENT, "mutate: not two tensors of this graph");
    } else if (!ind__check_mutation(g, input.id, value.id) && (value.id = ind__current(g, value.id)) != 0) {
        ind__add_mutation(g, input.id, value.id);
    }
    ind__graph_leave_here(g);
    return g->status;
}

/* ---- ops in place: writing to what a tensor shows ---- */

/* As torch.can_cast: floats to no integers, numbers to no bool. */
static bool ind__can_write(ind_dtype from, ind_dtype to) {
    if (ind_dtype_is_float(from)) return ind_dtype_is_float(to);
    return to != IND_BOOL || from == IND_BOOL;
}

static ind_status ind__check_write(ind_graph *g, const char *op, uint32_t x, uint32_t value) {
    const ind__tensor_info *t = &g->tensor[x], *v = &g->tensor[value], *root = &g->tensor[ind__root_of(g, x)];
    char a[200], b[200];
    if (t->weak || v->weak)
        return ind__graph_fail(g, IND_TYPE_MISMATCH, "%s: %s is a number; a tensor is needed", op,
                               t->weak ? "self" : "the result");
    if (g->node[root->node].op == IND_OP_CONST)
        return ind__graph_fail(g, IND_INVALID_ARGUMENT,
                               "%s: %s is a constant, which no run changes; clone makes a tensor of it", op,
                               root->name);
    if (g->node[root->node].op == IND_OP_INPUT && !root->writes && ind__find_mutation(g, ind__root_of(g, x)))
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: a mutate statement already says what %s becomes", op,
                               root->name);
    ind__print_type(a, sizeof a, t->dtype, t->size, t->rank);
    ind__print_type(b, sizeof b, v->dtype, v->size, v->rank);
    bool same = t->rank == v->rank;
    ind_facts *before = ind__graph_enter(g);
    for (int d = 0; same && d < t->rank; d++) same = ind_known_eq(t->size[d], v->size[d]);
    ind__graph_leave(g, before);
    if (!same)
        return ind__graph_fail(g, IND_SHAPE_MISMATCH, "%s: the result is %s, %s is %s, which cannot grow", op, b,
                               t->name, a);
    if (ind__can_write(v->dtype, t->dtype)) return IND_OK;
    return ind__graph_fail(g, IND_TYPE_MISMATCH, "%s: the result is %s, which cannot be written to %s (%s)", op, b,
                           t->name, a);
}

/* The memory of `root` holds `value` from here on. */
static void ind__write_root(ind_graph *g, uint32_t root, uint32_t value) {
    ind__tensor_info *t = &g->tensor[root];
    g->num_writes++;
    t->seen = ++t->writes;
    t->now = value;
    if (g->node[t->node].op != IND_OP_INPUT) return;
    struct ind__mutation *m = ind__find_mutation(g, root);
    if (m)
        m->value = value;
    else
        ind__add_mutation(g, root, value);
}

/* What x shows becomes `value`, a tensor of its shape. */
static ind_status ind__write(ind_graph *g, const char *op, uint32_t x, uint32_t value) {
    if (ind__check_write(g, op, x, value) || !ind__check_sure(g, x, true)) return g->status;
    ind__attr dtype = ind__attr_dtype(g->tensor[x].dtype);
    if (g->tensor[value].dtype != g->tensor[x].dtype) value = ind__add_pure(g, IND_OP_CAST, &value, 1, &dtype, 1);
    ind_facts *before = ind__graph_enter(g);
    for (uint32_t t = x; value && g->tensor[t].viewed; t = g->tensor[t].viewed) {
        ind__view v = ind__view_of(g, t);
        value = ind__views[v.node.op].write(g, &v, value);
    }
    ind__graph_leave(g, before);
    if (!value) return g->status;
    ind__write_root(g, ind__root_of(g, x), value);
    return g->status;
}

ind_tensor ind_inplace(ind_tensor x, ind_tensor result) {
    ind_graph *g = x.graph ? x.graph : result.graph;
    if (!g || g->status) return ind__graph_tensor(g, 0);
    char op[IND__MAX_NAME + 2] = "inplace";
    if (x.graph != result.graph || !ind__tensor_of(x) || !ind__tensor_of(result)) {
        ind__graph_fail(g, IND_INVALID_ARGUMENT, "inplace: not two tensors of this graph");
    } else if ((result.id = ind__current(g, result.id)) != 0) {
        const ind__node *n = &g->node[g->tensor[result.id].node];
        snprintf(op, sizeof op, "%.250s_", n->name ? n->name : ind__op_name(n->op));
        ind__write(g, op, x.id, result.id);
    }
    ind__graph_leave_here(g);
    return ind__graph_tensor(g, g->status ? 0 : x.id);
}

/* ---- what a tensor is */

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
IND__DEFINE_UNARY(abs, ABS)
IND__DEFINE_UNARY(acos, ACOS)
IND__DEFINE_UNARY(acosh, ACOSH)
IND__DEFINE_UNARY(asin, ASIN)
IND__DEFINE_UNARY(asinh, ASINH)
IND__DEFINE_UNARY(atan, ATAN)
IND__DEFINE_UNARY(atanh, ATANH)
IND__DEFINE_UNARY(ceil, CEIL)
IND__DEFINE_UNARY(cos, COS)
IND__DEFINE_UNARY(cosh, COSH)
IND__DEFINE_UNARY(erfc, ERFC)
IND__DEFINE_UNARY(exp2, EXP2)
IND__DEFINE_UNARY(expm1, EXPM1)
IND__DEFINE_UNARY(floor, FLOOR)
IND__DEFINE_UNARY(lgamma, LGAMMA)
IND__DEFINE_UNARY(erfinv, ERFINV)
IND__DEFINE_UNARY(digamma, DIGAMMA)
IND__DEFINE_UNARY(i0, I0)
IND__DEFINE_UNARY(special_i0e, SPECIAL_I0E)
IND__DEFINE_UNARY(special_i1, SPECIAL_I1)
IND__DEFINE_UNARY(special_i1e, SPECIAL_I1E)
IND__DEFINE_UNARY(special_bessel_j0, SPECIAL_BESSEL_J0)
IND__DEFINE_UNARY(special_bessel_j1, SPECIAL_BESSEL_J1)
IND__DEFINE_UNARY(special_bessel_y0, SPECIAL_BESSEL_Y0)
IND__DEFINE_UNARY(special_bessel_y1, SPECIAL_BESSEL_Y1)
IND__DEFINE_BINARY(special_zeta, SPECIAL_ZETA)
IND__DEFINE_BINARY(igamma, IGAMMA)
IND__DEFINE_BINARY(igammac, IGAMMAC)
IND__DEFINE_UNARY(log10, LOG10)
IND__DEFINE_UNARY(log1p, LOG1P)
IND__DEFINE_UNARY(log2, LOG2)
IND__DEFINE_UNARY(sign, SIGN)
IND__DEFINE_UNARY(sin, SIN)
IND__DEFINE_UNARY(sinc, SINC)
IND__DEFINE_UNARY(sinh, SINH)
IND__DEFINE_UNARY(square, SQUARE)
IND__DEFINE_UNARY(tan, TAN)
IND__DEFINE_UNARY(trunc, TRUNC)
IND__DEFINE_UNARY(signbit, SIGNBIT)
IND__DEFINE_UNARY(isnan, ISNAN)
IND__DEFINE_UNARY(isinf, ISINF)
IND__DEFINE_UNARY(isfinite, ISFINITE)
IND__DEFINE_UNARY(logical_not, LOGICAL_NOT)
IND__DEFINE_UNARY(bitwise_not, BITWISE_NOT)
IND__DEFINE_UNARY(relu6, RELU6)
IND__DEFINE_UNARY(hardsigmoid, HARDSIGMOID)
IND__DEFINE_UNARY(hardswish, HARDSWISH)
IND__DEFINE_UNARY(selu, SELU)
IND__DEFINE_UNARY(mish, MISH)
IND__DEFINE_UNARY(log_sigmoid, LOG_SIGMOID)
IND__DEFINE_UNARY(clone, CLONE)
IND__DEFINE_UNARY(alias, ALIAS)
IND__DEFINE_BINARY(logical_and, LOGICAL_AND)
IND__DEFINE_BINARY(logical_or, LOGICAL_OR)
IND__DEFINE_BINARY(logical_xor, LOGICAL_XOR)
IND__DEFINE_BINARY(bitwise_and, BITWISE_AND)
IND__DEFINE_BINARY(bitwise_or, BITWISE_OR)
IND__DEFINE_BINARY(bitwise_xor, BITWISE_XOR)
IND__DEFINE_BINARY(bitwise_left_shift, BITWISE_LEFT_SHIFT)
IND__DEFINE_BINARY(bitwise_right_shift, BITWISE_RIGHT_SHIFT)
IND__DEFINE_BINARY(floor_divide, FLOOR_DIVIDE)
IND__DEFINE_BINARY(fmod, FMOD)
IND__DEFINE_BINARY(remainder, REMAINDER)
IND__DEFINE_BINARY(atan2, ATAN2)
IND__DEFINE_BINARY(hypot, HYPOT)
IND__DEFINE_BINARY(copysign, COPYSIGN)
IND__DEFINE_BINARY(nextafter, NEXTAFTER)
IND__DEFINE_BINARY(xlogy, XLOGY)
IND__DEFINE_BINARY(logaddexp, LOGADDEXP)
IND__DEFINE_BINARY(fill, FILL)
IND__DEFINE_BINARY(copy, COPY)

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

ind_tensor ind_rand(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype), ind__attr_int(stream)};
    return ind__call(IND_OP_RAND, &seed, 1, a, 3);
}

ind_tensor ind_randn(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype), ind__attr_int(stream)};
    return ind__call(IND_OP_RANDN, &seed, 1, a, 3);
}

ind_tensor ind_randint(ind_tensor seed, ind_expr low, ind_expr high, const ind_expr *size, int rank, ind_dtype dtype,
                       int stream) {
    ind__attr a[5] = {ind__attr_size(low), ind__attr_size(high), ind__attr_sizes(size, rank), ind__attr_dtype(dtype),
                      ind__attr_int(stream)};
    return ind__call(IND_OP_RANDINT, &seed, 1, a, 5);
}

ind_tensor ind_randperm(ind_tensor seed, ind_expr n, ind_dtype dtype, int stream) {
    ind__attr a[3] = {ind__attr_size(n), ind__attr_dtype(dtype), ind__attr_int(stream)};
    return ind__call(IND_OP_RANDPERM, &seed, 1, a, 3);
}

ind_tensor ind_bernoulli(ind_tensor p, ind_tensor seed, int stream) {
    ind_tensor x[2] = {p, seed};
    ind__attr a = ind__attr_int(stream);
    return ind__call(IND_OP_BERNOULLI, x, 2, &a, 1);
}

ind_tensor ind_multinomial(ind_tensor p, ind_tensor seed, ind_expr num_samples, bool replacement, int stream) {
    ind_tensor x[2] = {p, seed};
    ind__attr a[3] = {ind__attr_size(num_samples), ind__attr_bool(replacement), ind__attr_int(stream)};
    return ind__call(IND_OP_MULTINOMIAL, x, 2, a, 3);
}

ind_tensor ind_native_dropout(ind_tensor x, ind_tensor seed, double p, bool train, int stream, ind_tensor *mask) {
    ind_tensor operand[2] = {x, seed};
    ind__attr a[3] = {ind__attr_float(p), ind__attr_bool(train), ind__attr_int(stream)};
    ind_tensor y = ind__call(IND_OP_NATIVE_DROPOUT, operand, 2, a, 3);
    if (mask) *mask = ind__graph_tensor(y.graph, y.id ? y.id + 1 : 0);
    return y;
}

ind_tensor ind_gelu(ind_tensor a, ind_gelu_form form) {
    ind__attr approximate = {.kind = IND__ATTR_STR, .s = form == IND_GELU_TANH ? "tanh" : "none"};
    return ind__call(IND_OP_GELU, &a, 1, &approximate, 1);
}

static ind_tensor ind__call_ternary(ind_graph_op op, ind_tensor a, ind_tensor b, ind_tensor c, const ind__attr *attrs,
                                    uint32_t num_attrs) {
    ind_tensor x[3] = {a, b, c};
    return ind__call(op, x, 3, attrs, num_attrs);
}

ind_tensor ind_where(ind_tensor condition, ind_tensor a, ind_tensor b) {
    return ind__call_ternary(IND_OP_WHERE, condition, a, b, NULL, 0);
}

ind_tensor ind_div_mode(ind_tensor a, ind_tensor b, ind_rounding mode) {
    static const char *const names[] = {"", "trunc", "floor"};
    ind_tensor x[2] = {a, b};
    ind__attr rounding = {.kind = mode == IND_ROUND_NONE ? IND__ATTR_NONE : IND__ATTR_STR};
    rounding.s = (unsigned)mode <= IND_ROUND_FLOOR ? names[mode] : "?";
    return ind__call(IND_OP_DIV, x, 2, &rounding, 1);
}

ind_tensor ind_round(ind_tensor a, int decimals) {
    ind__attr d = ind__attr_int(decimals);
    return ind__call(IND_OP_ROUND, &a, 1, &d, 1);
}

ind_tensor ind_philox(ind_tensor key, ind_tensor stream, ind_tensor position, int first, int width) {
    ind_tensor x[3] = {key, stream, position};
    ind__attr a[2] = {ind__attr_int(first), ind__attr_int(width)};
    return ind__call(IND_OP_PHILOX, x, 3, a, 2);
}

ind_tensor ind_polygamma(int n, ind_tensor a) {
    ind__attr order = ind__attr_int(n);
    return ind__call(IND_OP_POLYGAMMA, &a, 1, &order, 1);
}

ind_tensor ind_logit(ind_tensor a, double eps) {
    ind__attr e = eps < 0 ? (ind__attr){.kind = IND__ATTR_NONE} : ind__attr_float(eps);
    return ind__call(IND_OP_LOGIT, &a, 1, &e, 1);
}

ind_tensor ind_nan_to_num(ind_tensor a, double nan, const double *posinf, const double *neginf) {
    ind__attr v[3] = {ind__attr_float(nan)};
    if (posinf) v[1] = ind__attr_float(*posinf);
    if (neginf) v[2] = ind__attr_float(*neginf);
    return ind__call(IND_OP_NAN_TO_NUM, &a, 1, v, 3);
}

ind_tensor ind_clamp(ind_tensor a, ind_tensor min, ind_tensor max) {
    return ind__call_ternary(IND_OP_CLAMP, a, min, max, NULL, 0);
}

ind_tensor ind_lerp(ind_tensor a, ind_tensor end, ind_tensor weight) {
    return ind__call_ternary(IND_OP_LERP, a, end, weight, NULL, 0);
}

ind_tensor ind_addcmul(ind_tensor a, ind_tensor b, ind_tensor c, double value) {
    ind__attr v = ind__attr_scalar(value);
    v.is_int = ind_dtype_is_integer(ind_tensor_dtype(a)) && fabs(value) < 9.2e18 && value == floor(value);
    if (v.is_int) v.i = (int64_t)value;
    return ind__call_ternary(IND_OP_ADDCMUL, a, b, c, &v, 1);
}

ind_tensor ind_addcdiv(ind_tensor a, ind_tensor b, ind_tensor c, double value) {
    ind__attr v = ind__attr_scalar(value);
    return ind__call_ternary(IND_OP_ADDCDIV, a, b, c, &v, 1);
}

ind_tensor ind_masked_fill(ind_tensor a, ind_tensor mask, ind_tensor value) {
    return ind__call_ternary(IND_OP_MASKED_FILL, a, mask, value, NULL, 0);
}

ind_tensor ind_threshold(ind_tensor a, double threshold, double value) {
    ind__attr v[2] = {ind__attr_scalar(threshold), ind__attr_scalar(value)};
    return ind__call(IND_OP_THRESHOLD, &a, 1, v, 2);
}

ind_tensor ind_hardtanh(ind_tensor a, double min_val, double max_val) {
    ind__attr v[2] = {ind__attr_scalar(min_val), ind__attr_scalar(max_val)};
    return ind__call(IND_OP_HARDTANH, &a, 1, v, 2);
}

ind_tensor ind_leaky_relu(ind_tensor a, double negative_slope) {
    ind__attr v = ind__attr_float(negative_slope);
    return ind__call(IND_OP_LEAKY_RELU, &a, 1, &v, 1);
}

ind_tensor ind_elu(ind_tensor a, double alpha, double scale, double input_scale) {
    ind__attr v[3] = {ind__attr_float(alpha), ind__attr_float(scale), ind__attr_float(input_scale)};
    return ind__call(IND_OP_ELU, &a, 1, v, 3);
}

ind_tensor ind_celu(ind_tensor a, double alpha) {
    ind__attr v = ind__attr_float(alpha);
    return ind__call(IND_OP_CELU, &a, 1, &v, 1);
}

ind_tensor ind_softplus(ind_tensor a, double beta, double threshold) {
    ind__attr v[2] = {ind__attr_float(beta), ind__attr_float(threshold)};
    return ind__call(IND_OP_SOFTPLUS, &a, 1, v, 2);
}

static ind_tensor ind__call_source(ind_graph *graph, ind_graph_op op, const ind_expr *size, int rank, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, op, NULL, 0, a, 2, NULL, NULL);
}

ind_tensor ind_zeros(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_source(graph, IND_OP_ZEROS, size, rank, dtype);
}

ind_tensor ind_ones(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_source(graph, IND_OP_ONES, size, rank, dtype);
}

ind_tensor ind_empty(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_source(graph, IND_OP_EMPTY, size, rank, dtype);
}

ind_tensor ind_empty_strided(ind_graph *graph, const ind_expr *size, const ind_expr *stride, int rank,
                             ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_sizes(stride, rank), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_EMPTY_STRIDED, NULL, 0, a, 3, NULL, NULL);
}

ind_tensor ind_scalar_tensor(ind_graph *graph, double value, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_SCALAR_TENSOR, NULL, 0, a, 2, NULL, NULL);
}

ind_tensor ind_full_like(ind_tensor a, double value, ind_dtype dtype) {
    ind__attr v[2] = {ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_FULL_LIKE, &a, 1, v, 2);
}

ind_tensor ind_zeros_like(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_ZEROS_LIKE, &a, 1, &d, 1);
}

ind_tensor ind_ones_like(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_ONES_LIKE, &a, 1, &d, 1);
}

ind_tensor ind_empty_like(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_EMPTY_LIKE, &a, 1, &d, 1);
}

ind_tensor ind_new_full(ind_tensor a, const ind_expr *size, int rank, double value, ind_dtype dtype) {
    ind__attr v[3] = {ind__attr_sizes(size, rank), ind__attr_scalar(value), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_NEW_FULL, &a, 1, v, 3);
}

static ind_tensor ind__call_new(ind_graph_op op, ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    ind__attr v[2] = {ind__attr_sizes(size, rank), ind__attr_dtype(dtype)};
    return ind__call(op, &a, 1, v, 2);
}

ind_tensor ind_new_zeros(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_new(IND_OP_NEW_ZEROS, a, size, rank, dtype);
}

ind_tensor ind_new_ones(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_new(IND_OP_NEW_ONES, a, size, rank, dtype);
}

ind_tensor ind_new_empty(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype) {
    return ind__call_new(IND_OP_NEW_EMPTY, a, size, rank, dtype);
}

ind_tensor ind_cast(ind_tensor a, ind_dtype dtype) {
    ind__attr d = ind__attr_dtype(dtype);
    return ind__call(IND_OP_CAST, &a, 1, &d, 1);
}

/* A list of dimensions as an attribute; none given is left out where the op allows that. A list that cannot be is the
   graph's error. */
static ind__attr ind__dims_attr(ind_graph *g, ind_graph_op op, const int *dims, int num_dims,
                                ind_expr list[IND_MAX_RANK]) {
    if (num_dims < 0 || num_dims > IND_MAX_RANK || (num_dims > 0 && !dims)) {
        ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: %d dims are given; 0 to %d are possible, and not NULL",
                        ind__op_name(op), num_dims, IND_MAX_RANK);
        return (ind__attr){.kind = IND__ATTR_NONE};
    }
    for (int i = 0; i < num_dims; i++) list[i] = ind_int(g->context, dims[i]);
    bool given = num_dims > 0; /* none is no list, unless the op needs one */
    for (uint32_t i = 0; i < g->schema[op].num_attrs; i++)
        given |= g->schema[op].attr[i].kind == IND__ATTR_INTS && g->schema[op].attr[i].required;
    return (ind__attr){.kind = given ? IND__ATTR_INTS : IND__ATTR_NONE, .list = list, .count = num_dims};
}

/* An op with a list of dimensions, which becomes its first attribute. */
static ind_tensor ind__call_dims(ind_graph_op op, ind_tensor x, const int *dims, int num_dims, ind__attr *attrs,
                                 uint32_t num_attrs) {
    ind_expr list[IND_MAX_RANK];
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    attrs[0] = ind__dims_attr(x.graph, op, dims, num_dims, list);
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

/* Result k of the op that made its first one, x. */
static void ind__give_result(ind_tensor x, uint32_t k, ind_tensor *out) {
    if (out) *out = ind__graph_tensor(x.graph, x.id ? x.id + k : 0);
}

/* An op with one dimension, or all, and keepdim; dtype or none as its third attribute. */
static ind_tensor ind__call_dim(ind_graph_op op, ind_tensor x, int dim, bool keepdim, ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    if (dim == IND_ALL_DIMS) a[0].kind = IND__ATTR_NONE;
    return ind__call(op, &x, 1, a, 3);
}

static ind_tensor ind__call_extreme(ind_graph_op op, ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    ind_tensor values = ind__call_dim(op, x, dim, keepdim, IND_DTYPE_NONE);
    ind__give_result(values, 1, indices);
    if (indices && dim == IND_ALL_DIMS) indices->id = 0;
    return values;
}

ind_tensor ind_argmin(ind_tensor x, int dim, bool keepdim) {
    return ind__call_dim(IND_OP_ARGMIN, x, dim, keepdim, IND_DTYPE_NONE);
}

ind_tensor ind_max(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_extreme(IND_OP_MAX, x, dim, keepdim, indices);
}

ind_tensor ind_min(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_extreme(IND_OP_MIN, x, dim, keepdim, indices);
}

ind_tensor ind_aminmax(ind_tensor x, int dim, bool keepdim, ind_tensor *max) {
    ind_tensor min = ind__call_dim(IND_OP_AMINMAX, x, dim, keepdim, IND_DTYPE_NONE);
    ind__give_result(min, 1, max);
    return min;
}

ind_tensor ind_all(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_ALL, x, dims, num_dims, a, 2);
}

ind_tensor ind_prod(ind_tensor x, int dim, bool keepdim, ind_dtype dtype) {
    return ind__call_dim(IND_OP_PROD, x, dim, keepdim, dtype);
}

ind_tensor ind_count_nonzero(ind_tensor x, const int *dims, int num_dims) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_COUNT_NONZERO, x, dims, num_dims, a, 1);
}

static ind_tensor ind__call_var(ind_graph_op op, ind_tensor x, const int *dims, int num_dims, double correction,
                                bool keepdim) {
    ind__attr a[4] = {{0}, {0}, ind__attr_bool(keepdim), ind__attr_scalar(correction)};
    return ind__call_dims(op, x, dims, num_dims, a, 4);
}

ind_tensor ind_var(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim) {
    return ind__call_var(IND_OP_VAR, x, dims, num_dims, correction, keepdim);
}

ind_tensor ind_std(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim) {
    return ind__call_var(IND_OP_STD, x, dims, num_dims, correction, keepdim);
}

ind_tensor ind_var_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                        ind_tensor *mean) {
    ind_tensor v = ind__call_var(IND_OP_VAR_MEAN, x, dims, num_dims, correction, keepdim);
    ind__give_result(v, 1, mean);
    return v;
}

ind_tensor ind_std_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                        ind_tensor *mean) {
    ind_tensor v = ind__call_var(IND_OP_STD_MEAN, x, dims, num_dims, correction, keepdim);
    ind__give_result(v, 1, mean);
    return v;
}

ind_tensor ind_logsumexp(ind_tensor x, const int *dims, int num_dims, bool keepdim) {
    ind__attr a[2] = {{0}, ind__attr_bool(keepdim)};
    return ind__call_dims(IND_OP_LOGSUMEXP, x, dims, num_dims, a, 2);
}

static ind_tensor ind__call_norm(ind_graph_op op, ind_tensor x, double order, const int *dims, int num_dims,
                                 bool keepdim, ind_dtype dtype) {
    ind_expr list[IND_MAX_RANK];
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    ind__attr a[4] = {ind__attr_scalar(order), ind__dims_attr(x.graph, op, dims, num_dims, list),
                      ind__attr_bool(keepdim), ind__attr_dtype(dtype)};
    return ind__call(op, &x, 1, a, 4);
}

ind_tensor ind_linalg_vector_norm(ind_tensor x, double ord, const int *dims, int num_dims, bool keepdim,
                                  ind_dtype dtype) {
    return ind__call_norm(IND_OP_LINALG_VECTOR_NORM, x, ord, dims, num_dims, keepdim, dtype);
}

ind_tensor ind_norm(ind_tensor x, double p, const int *dims, int num_dims, bool keepdim, ind_dtype dtype) {
    return ind__call_norm(IND_OP_NORM, x, p, dims, num_dims, keepdim, dtype);
}

ind_tensor ind_cdist(ind_tensor x1, ind_tensor x2, double p) {
    ind_tensor x[2] = {x1, x2};
    ind__attr a = ind__attr_float(p);
    return ind__call(IND_OP_CDIST, x, 2, &a, 1);
}

ind_tensor ind_pdist(ind_tensor x, double p) {
    ind__attr a = ind__attr_float(p);
    return ind__call(IND_OP_PDIST_FORWARD, &x, 1, &a, 1);
}

static ind__attr ind__attr_loss(ind_loss_reduction reduction) {
    return (ind__attr){.kind = IND__ATTR_STR,
                       .s = reduction == IND_LOSS_MEAN   ? "mean"
                            : reduction == IND_LOSS_SUM  ? "sum"
                            : reduction == IND_LOSS_NONE ? "none"
                                                         : "?"};
}

ind_tensor ind_mse_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction) {
    ind_tensor operands[2] = {x, target};
    ind__attr a = ind__attr_loss(reduction);
    return ind__call(IND_OP_MSE_LOSS, operands, 2, &a, 1);
}

ind_tensor ind_l1_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction) {
    ind_tensor operands[2] = {x, target};
    ind__attr a = ind__attr_loss(reduction);
    return ind__call(IND_OP_L1_LOSS, operands, 2, &a, 1);
}

ind_tensor ind_nll_loss(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                        ind_loss_reduction reduction) {
    ind_tensor operands[3] = {x, target, weight};
    ind__attr a[2] = {ind__attr_int(ignore_index), ind__attr_loss(reduction)};
    return ind__call(IND_OP_NLL_LOSS, operands, 3, a, 2);
}

ind_tensor ind_cross_entropy(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                             ind_loss_reduction reduction, double label_smoothing) {
    ind_tensor operands[3] = {x, target, weight};
    ind__attr a[3] = {ind__attr_int(ignore_index), ind__attr_loss(reduction), ind__attr_float(label_smoothing)};
    return ind__call(IND_OP_CROSS_ENTROPY, operands, 3, a, 3);
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

ind_tensor ind_native_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps,
                                 ind_tensor *mean, ind_tensor *rstd) {
    ind_expr size[IND_MAX_RANK];
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__attr_float(eps)};
    ind_tensor y = ind__call(IND_OP_NATIVE_LAYER_NORM, operands, 3, a, 2);
    ind__give_result(y, 1, mean);
    ind__give_result(y, 2, rstd);
    return y;
}

ind_tensor ind_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps) {
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[2] = {ind__attr_int(num_groups), ind__attr_float(eps)};
    return ind__call(IND_OP_GROUP_NORM, operands, 3, a, 2);
}

/* N, C and HxW are what x says; of a tensor of fewer dimensions the rule says what is missing. */
static void ind__group_attrs(ind_tensor x, int num_groups, ind__attr a[4]) {
    const ind__tensor_info *t = ind__tensor_of(x);
    ind_expr one = ind_int(x.graph ? x.graph->context : NULL, 1);
    bool fits = t && t->rank >= 2;
    a[0] = ind__attr_size(fits ? t->size[0] : one);
    a[1] = ind__attr_size(fits ? t->size[1] : one);
    a[2] = ind__attr_size(fits ? ind_expr_product(x.graph->context, t->size + 2, t->rank - 2) : one);
    a[3] = ind__attr_int(num_groups);
}

ind_tensor ind_native_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps,
                                 ind_tensor *mean, ind_tensor *rstd) {
    ind_tensor operands[3] = {x, weight, bias};
    ind__attr a[5];
    ind__group_attrs(x, num_groups, a);
    a[4] = ind__attr_float(eps);
    ind_tensor y = ind__call(IND_OP_NATIVE_GROUP_NORM, operands, 3, a, 5);
    ind__give_result(y, 1, mean);
    ind__give_result(y, 2, rstd);
    return y;
}

/* output_mask: the gradient of x always, the others where they have a place to go. */
static ind__attr ind__gradient_mask(ind_tensor x, const ind_tensor *weight, const ind_tensor *bias, ind_expr list[3]) {
    ind_context *c = x.graph ? x.graph->context : NULL;
    list[0] = ind_int(c, 1);
    list[1] = ind_int(c, weight != NULL);
    list[2] = ind_int(c, bias != NULL);
    return (ind__attr){.kind = IND__ATTR_INTS, .list = list, .count = 3};
}

ind_tensor ind_native_layer_norm_backward(ind_tensor grad_out, ind_tensor x, int num_dims, ind_tensor mean,
                                          ind_tensor rstd, ind_tensor weight, ind_tensor bias, ind_tensor *weight_grad,
                                          ind_tensor *bias_grad) {
    ind_expr size[IND_MAX_RANK], list[3];
    ind_tensor operands[6] = {grad_out, x, mean, rstd, weight, bias};
    ind__attr a[2] = {ind__last_sizes(x, num_dims, size), ind__gradient_mask(x, weight_grad, bias_grad, list)};
    ind_tensor y = ind__call(IND_OP_NATIVE_LAYER_NORM_BACKWARD, operands, 6, a, 2);
    ind__give_result(y, 1, weight_grad);
    ind__give_result(y, 2, bias_grad);
    return y;
}

ind_tensor ind_native_group_norm_backward(ind_tensor grad_out, ind_tensor x, ind_tensor mean, ind_tensor rstd,
                                          ind_tensor weight, int num_groups, ind_tensor *weight_grad,
                                          ind_tensor *bias_grad) {
    ind_expr list[3];
    ind_tensor operands[5] = {grad_out, x, mean, rstd, weight};
    ind__attr a[5];
    ind__group_attrs(x, num_groups, a);
    a[4] = ind__gradient_mask(x, weight_grad, bias_grad, list);
    ind_tensor y = ind__call(IND_OP_NATIVE_GROUP_NORM_BACKWARD, operands, 5, a, 5);
    ind__give_result(y, 1, weight_grad);
    ind__give_result(y, 2, bias_grad);
    return y;
}

/* flag: training, or use_input_stats. */
static ind_tensor ind__call_batch_norm(ind_graph_op op, const ind_tensor operands[5], bool flag, double eps) {
    ind__attr a[3] = {ind__attr_bool(flag), ind__attr_float(0.1), ind__attr_float(eps)};
    return ind__call(op, operands, 5, a, 3);
}

ind_tensor ind_batch_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                          ind_tensor running_var, double eps) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    return ind__call_batch_norm(IND_OP_BATCH_NORM, operands, !running_mean.id && !running_var.id, eps);
}

ind_tensor ind_native_batch_norm_legit(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                                       ind_tensor running_var, double eps, ind_tensor *mean, ind_tensor *rstd) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    bool training = !running_mean.id && !running_var.id;
    ind_tensor y = ind__call_batch_norm(IND_OP_NATIVE_BATCH_NORM_LEGIT, operands, training, eps);
    ind__give_result(y, 1, mean);
    ind__give_result(y, 2, rstd);
    return y;
}

ind_tensor ind_native_batch_norm_legit_functional(ind_tensor x, ind_tensor weight, ind_tensor bias,
                                                  ind_tensor running_mean, ind_tensor running_var, double momentum,
                                                  double eps, ind_tensor *new_mean, ind_tensor *new_var) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    ind__attr a[3] = {ind__attr_bool(true), ind__attr_float(momentum), ind__attr_float(eps)};
    ind_tensor y = ind__call(IND_OP_NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL, operands, 5, a, 3);
    ind__give_result(y, 3, new_mean);
    ind__give_result(y, 4, new_var);
    return y;
}

ind_tensor ind_instance_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                             ind_tensor running_var, double eps) {
    ind_tensor operands[5] = {x, weight, bias, running_mean, running_var};
    return ind__call_batch_norm(IND_OP_INSTANCE_NORM, operands, !running_mean.id && !running_var.id, eps);
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

int ind_num_results(ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    return t ? (int)x.graph->node[t->node].num_results : 0;
}

ind_tensor ind_result(ind_tensor x, int k) {
    const ind__tensor_info *t = ind__tensor_of(x);
    if (!t || x.graph->status) return ind__graph_tensor(x.graph, 0);
    const ind__node *n = &x.graph->node[t->node];
    if (k >= 0 && (uint32_t)k < n->num_results) return ind__graph_tensor(x.graph, n->result + (uint32_t)k);
    ind__graph_fail(x.graph, IND_OUT_OF_RANGE, "result %d of %s does not exist; it has %u", k, ind__op_name(n->op),
                    (unsigned)n->num_results);
    return ind__graph_tensor(x.graph, 0);
}

/* An op of one tensor and a list of sizes. */
static ind_tensor ind__call_sizes(ind_graph_op op, ind_tensor x, const ind_expr *size, int count) {
    ind__attr a = ind__attr_sizes(size, count);
    return ind__call(op, &x, 1, &a, 1);
}

/* An op of one tensor and an integer. */
static ind_tensor ind__call_int(ind_graph_op op, ind_tensor x, int value) {
    ind__attr a = ind__attr_int(value);
    return ind__call(op, &x, 1, &a, 1);
}

static ind_tensor ind__call_list(ind_graph_op op, const ind_tensor *tensors, int num, const ind__attr *a, uint32_t n) {
    return ind__call(op, tensors, tensors && num > 0 ? (uint32_t)num : 0, a, n);
}

/* What a builder of one integer or size makes of an attribute that is a list. */
static ind__attr ind__attr_one(ind__attr_kind kind, const ind_expr *e) {
    return (ind__attr){.kind = kind, .list = e, .count = 1};
}

ind_tensor ind_reshape(ind_tensor x, const ind_expr *size, int rank) {
    return ind__call_sizes(IND_OP_RESHAPE, x, size, rank);
}

IND__DEFINE_BINARY(view_as, VIEW_AS)
IND__DEFINE_BINARY(expand_as, EXPAND_AS)

ind_tensor ind_flatten(ind_tensor x, int start_dim, int end_dim) {
    ind__attr a[2] = {ind__attr_int(start_dim), ind__attr_int(end_dim)};
    return ind__call(IND_OP_FLATTEN, &x, 1, a, 2);
}

ind_tensor ind_unflatten(ind_tensor x, int dim, const ind_expr *sizes, int num_sizes) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_sizes(sizes, num_sizes)};
    return ind__call(IND_OP_UNFLATTEN, &x, 1, a, 2);
}

ind_tensor ind_broadcast_to(ind_tensor x, const ind_expr *size, int rank) {
    return ind__call_sizes(IND_OP_BROADCAST_TO, x, size, rank);
}

ind_tensor ind_broadcast_tensors(const ind_tensor *tensors, int num) {
    return ind__call_list(IND_OP_BROADCAST_TENSORS, tensors, num, NULL, 0);
}

ind_tensor ind_meshgrid(const ind_tensor *tensors, int num, bool xy) {
    ind__attr indexing = {.kind = IND__ATTR_STR, .s = xy ? "xy" : "ij"};
    return ind__call_list(IND_OP_MESHGRID, tensors, num, &indexing, 1);
}

ind_tensor ind_movedim(ind_tensor x, int source, int destination) {
    if (!x.graph) return x;
    ind_expr from = ind_int(x.graph->context, source), to = ind_int(x.graph->context, destination);
    ind__attr a[2] = {ind__attr_one(IND__ATTR_INTS, &from), ind__attr_one(IND__ATTR_INTS, &to)};
    return ind__call(IND_OP_MOVEDIM, &x, 1, a, 2);
}

ind_tensor ind_narrow(ind_tensor x, int dim, ind_expr start, ind_expr length) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_size(start), ind__attr_size(length)};
    return ind__call(IND_OP_NARROW, &x, 1, a, 3);
}

ind_tensor ind_split(ind_tensor x, ind_expr split_size, int dim) {
    ind__attr a[2] = {ind__attr_size(split_size), ind__attr_int(dim)};
    return ind__call(IND_OP_SPLIT, &x, 1, a, 2);
}

ind_tensor ind_split_with_sizes(ind_tensor x, const ind_expr *sizes, int num_sizes, int dim) {
    ind__attr a[2] = {ind__attr_sizes(sizes, num_sizes), ind__attr_int(dim)};
    return ind__call(IND_OP_SPLIT_WITH_SIZES, &x, 1, a, 2);
}

ind_tensor ind_chunk(ind_tensor x, int chunks, int dim) {
    ind__attr a[2] = {ind__attr_int(chunks), ind__attr_int(dim)};
    return ind__call(IND_OP_CHUNK, &x, 1, a, 2);
}

ind_tensor ind_unbind(ind_tensor x, int dim) {
    return ind__call_int(IND_OP_UNBIND, x, dim);
}

ind_tensor ind_unfold(ind_tensor x, int dim, ind_expr size, ind_expr step) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_size(size), ind__attr_size(step)};
    return ind__call(IND_OP_UNFOLD, &x, 1, a, 3);
}

ind_tensor ind_diagonal(ind_tensor x, int offset, int dim1, int dim2) {
    ind__attr a[3] = {ind__attr_int(offset), ind__attr_int(dim1), ind__attr_int(dim2)};
    return ind__call(IND_OP_DIAGONAL, &x, 1, a, 3);
}

ind_tensor ind_as_strided(ind_tensor x, const ind_expr *size, const ind_expr *stride, int rank,
                          ind_expr storage_offset) {
    ind__attr a[3] = {ind__attr_sizes(size, rank), ind__attr_sizes(stride, rank), ind__attr_size(storage_offset)};
    return ind__call(IND_OP_AS_STRIDED, &x, 1, a, 3);
}

ind_tensor ind_flip(ind_tensor x, const int *dims, int num_dims) {
    ind__attr a[1] = {{0}};
    return ind__call_dims(IND_OP_FLIP, x, dims, num_dims, a, 1);
}

ind_tensor ind_roll(ind_tensor x, ind_expr shift, int dim) {
    if (!x.graph) return x;
    ind_expr at = ind_int(x.graph->context, dim);
    ind__attr a[2] = {ind__attr_one(IND__ATTR_SIZES, &shift), {.kind = IND__ATTR_NONE}};
    if (dim != IND_ALL_DIMS) a[1] = ind__attr_one(IND__ATTR_INTS, &at);
    return ind__call(IND_OP_ROLL, &x, 1, a, 2);
}

ind_tensor ind_repeat(ind_tensor x, const ind_expr *repeats, int num_repeats) {
    return ind__call_sizes(IND_OP_REPEAT, x, repeats, num_repeats);
}

ind_tensor ind_tile(ind_tensor x, const ind_expr *repeats, int num_repeats) {
    return ind__call_sizes(IND_OP_TILE, x, repeats, num_repeats);
}

ind_tensor ind_pixel_shuffle(ind_tensor x, int upscale_factor) {
    return ind__call_int(IND_OP_PIXEL_SHUFFLE, x, upscale_factor);
}

ind_tensor ind_pixel_unshuffle(ind_tensor x, int downscale_factor) {
    return ind__call_int(IND_OP_PIXEL_UNSHUFFLE, x, downscale_factor);
}

ind_tensor ind_stack(const ind_tensor *tensors, int num, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call_list(IND_OP_STACK, tensors, num, &a, 1);
}

ind_tensor ind_select_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr index) {
    ind_tensor operands[2] = {x, src};
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_size(index)};
    return ind__call(IND_OP_SELECT_SCATTER, operands, 2, a, 2);
}

ind_tensor ind_slice_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr start, ind_expr end, ind_expr step) {
    ind_tensor operands[2] = {x, src};
    ind__attr a[4] = {ind__attr_int(dim), ind__attr_size(start), ind__attr_size(end), ind__attr_size(step)};
    return ind__call(IND_OP_SLICE_SCATTER, operands, 2, a, 4);
}

ind_tensor ind_diagonal_scatter(ind_tensor x, ind_tensor src, int offset, int dim1, int dim2) {
    ind_tensor operands[2] = {x, src};
    ind__attr a[3] = {ind__attr_int(offset), ind__attr_int(dim1), ind__attr_int(dim2)};
    return ind__call(IND_OP_DIAGONAL_SCATTER, operands, 2, a, 3);
}

ind_tensor ind_tril(ind_tensor x, ind_expr diagonal) {
    ind__attr a = ind__attr_size(diagonal);
    return ind__call(IND_OP_TRIL, &x, 1, &a, 1);
}

ind_tensor ind_triu(ind_tensor x, ind_expr diagonal) {
    ind__attr a = ind__attr_size(diagonal);
    return ind__call(IND_OP_TRIU, &x, 1, &a, 1);
}

ind_tensor ind_one_hot(ind_tensor x, ind_expr num_classes) {
    ind__attr a = ind__attr_size(num_classes);
    return ind__call(IND_OP_ONE_HOT, &x, 1, &a, 1);
}

ind_tensor ind_eye(ind_graph *graph, ind_expr n, ind_expr m, ind_dtype dtype) {
    ind__attr a[3] = {ind__attr_size(n), ind__attr_size(m), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_EYE, NULL, 0, a, 3, NULL, NULL);
}

ind_tensor ind_linspace(ind_graph *graph, double start, double end, ind_expr steps, ind_dtype dtype) {
    ind__attr a[4] = {ind__attr_scalar(start), ind__attr_scalar(end), ind__attr_size(steps), ind__attr_dtype(dtype)};
    return ind__graph_add(graph, IND_OP_LINSPACE, NULL, 0, a, 4, NULL, NULL);
}

ind_tensor ind_pad(ind_tensor x, const ind_expr *pad, int num_pad, ind_pad_mode mode, double value) {
    ind__attr a[3] = {ind__attr_sizes(pad, num_pad), {.kind = IND__ATTR_STR}, {.kind = IND__ATTR_NONE}};
    bool known = mode >= IND_PAD_CONSTANT && mode <= IND_PAD_CIRCULAR;
    a[1].s = known ? ind__pad_modes[mode] : "?";
    if (mode == IND_PAD_CONSTANT) a[2] = ind__attr_number(value);
    return ind__call(IND_OP_PAD, &x, 1, a, 3);
}

/* Lists of up to three integers as attributes; one that is all 0 is left out. */
typedef struct ind__int_lists {
    ind_expr list[4][3];
    ind__attr attr[4];
} ind__int_lists;

static void ind__int_list(ind__int_lists *l, int k, ind_context *c, ind__attr_kind kind, const int *v, int n) {
    bool given = false;
    for (int s = 0; s < n; s++) {
        l->list[k][s] = ind_int(c, v[s]);
        given = given || v[s] != 0;
    }
    l->attr[k] = (ind__attr){.kind = given ? kind : IND__ATTR_NONE, .list = l->list[k], .count = n};
}

/* The op of a family for this number of dimensions; the table has them in a row. IND_NUM_OPS: there is none. */
static ind_graph_op ind__op_of_dims(ind_tensor x, ind_graph_op first, int dims) {
    if (!x.graph || x.graph->status) return IND_NUM_OPS;
    if (dims >= 1 && dims <= 3) return (ind_graph_op)((int)first + dims - 1);
    ind__graph_fail(x.graph, IND_INVALID_ARGUMENT, "%s: %d dimensions; 1 to 3 are possible", ind__op_name(first), dims);
    return IND_NUM_OPS;
}

static bool ind__pool_lists(ind_tensor x, ind_graph_op op, int dims, const ind_pool_desc *pool, ind__int_lists *l) {
    if (op == IND_NUM_OPS || !x.graph || x.graph->status) return false;
    if (!pool) {
        ind__graph_fail(x.graph, IND_INVALID_ARGUMENT, "%s: the pool's desc is NULL", ind__op_name(op));
        return false;
    }
    ind__int_list(l, 0, x.graph->context, IND__ATTR_INTS, pool->kernel_size, dims);
    ind__int_list(l, 1, x.graph->context, IND__ATTR_INTS, pool->stride, dims);
    ind__int_list(l, 2, x.graph->context, IND__ATTR_INTS, pool->padding, dims);
    ind__int_list(l, 3, x.graph->context, IND__ATTR_INTS, pool->dilation, dims);
    return true;
}

static ind_tensor ind__with_second(ind_tensor first, ind_tensor *second) {
    if (second) *second = ind__graph_tensor(first.graph, first.id ? first.id + 1 : 0);
    return first;
}

ind_tensor ind_max_pool(ind_tensor x, int dims, const ind_pool_desc *pool, ind_tensor *indices) {
    ind__int_lists l;
    ind_graph_op op = ind__op_of_dims(x, indices ? IND_OP_MAX_POOL1D_WITH_INDICES : IND_OP_MAX_POOL1D, dims);
    if (indices) *indices = ind__graph_tensor(x.graph, 0);
    if (!ind__pool_lists(x, op, dims, pool, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[5] = {l.attr[0], l.attr[1], l.attr[2], l.attr[3], ind__attr_bool(pool->ceil_mode)};
    return ind__with_second(ind__call(op, &x, 1, a, 5), indices);
}

ind_tensor ind_avg_pool(ind_tensor x, int dims, const ind_pool_desc *pool) {
    ind__int_lists l;
    ind_graph_op op = ind__op_of_dims(x, IND_OP_AVG_POOL1D, dims);
    if (!ind__pool_lists(x, op, dims, pool, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[6] = {l.attr[0], l.attr[1], l.attr[2], ind__attr_bool(pool->ceil_mode),
                      ind__attr_bool(!pool->count_exclude_pad)};
    if (pool->divisor_override && dims > 1) a[5] = ind__attr_int(pool->divisor_override);
    return ind__call(op, &x, 1, a, 6);
}

ind_tensor ind_adaptive_avg_pool2d_backward(ind_tensor grad_output, ind_tensor x) {
    ind_tensor operands[2] = {grad_output, x};
    return ind__call(IND_OP_ADAPTIVE_AVG_POOL2D_BACKWARD, operands, 2, NULL, 0);
}

ind_tensor ind_avg_pool2d_backward(ind_tensor grad_output, ind_tensor x, const ind_pool_desc *pool) {
    ind_tensor operands[2] = {grad_output, x};
    ind__int_lists l;
    if (!ind__pool_lists(x, IND_OP_AVG_POOL2D_BACKWARD, 2, pool, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[6] = {l.attr[0], l.attr[1], l.attr[2], ind__attr_bool(pool->ceil_mode),
                      ind__attr_bool(!pool->count_exclude_pad)};
    if (pool->divisor_override) a[5] = ind__attr_int(pool->divisor_override);
    return ind__call(IND_OP_AVG_POOL2D_BACKWARD, operands, 2, a, 6);
}

ind_tensor ind_max_pool2d_with_indices_backward(ind_tensor grad_output, ind_tensor x, const ind_pool_desc *pool,
                                                ind_tensor indices) {
    ind_tensor operands[3] = {grad_output, x, indices};
    ind__int_lists l;
    if (!ind__pool_lists(x, IND_OP_MAX_POOL2D_WITH_INDICES_BACKWARD, 2, pool, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[5] = {l.attr[0], l.attr[1], l.attr[2], l.attr[3], ind__attr_bool(pool->ceil_mode)};
    return ind__call(IND_OP_MAX_POOL2D_WITH_INDICES_BACKWARD, operands, 3, a, 5);
}

ind_tensor ind_adaptive_max_pool(ind_tensor x, const ind_expr *output_size, int dims, ind_tensor *indices) {
    ind_graph_op op = ind__op_of_dims(x, IND_OP_ADAPTIVE_MAX_POOL1D, dims);
    if (indices) *indices = ind__graph_tensor(x.graph, 0);
    if (op == IND_NUM_OPS) return ind__graph_tensor(x.graph, 0);
    return ind__with_second(ind__call_sizes(op, x, output_size, dims), indices);
}

ind_tensor ind_adaptive_avg_pool(ind_tensor x, const ind_expr *output_size, int dims) {
    ind_graph_op op = ind__op_of_dims(x, IND_OP_ADAPTIVE_AVG_POOL1D, dims);
    return op == IND_NUM_OPS ? ind__graph_tensor(x.graph, 0) : ind__call_sizes(op, x, output_size, dims);
}

ind_tensor ind_convolution(ind_tensor x, ind_tensor weight, ind_tensor bias, const ind_conv_desc *conv) {
    static const ind_conv_desc plain;
    const ind__tensor_info *w = ind__tensor_of(weight);
    ind_tensor operands[3] = {x, weight, bias};
    ind__int_lists l;
    if (!conv) conv = &plain;
    ind_graph_op first = conv->transposed ? IND_OP_CONV_TRANSPOSE1D : IND_OP_CONV1D;
    ind_graph_op op = ind__op_of_dims(x, first, w ? w->rank - 2 : 1);
    if (op == IND_NUM_OPS) return ind__graph_tensor(x.graph, 0);
    int dims = (int)op - (int)first + 1;
    ind__int_list(&l, 0, x.graph->context, IND__ATTR_SIZES, conv->stride, dims);
    ind__int_list(&l, 1, x.graph->context, IND__ATTR_SIZES, conv->padding, dims);
    ind__int_list(&l, 2, x.graph->context, IND__ATTR_SIZES, conv->dilation, dims);
    ind__int_list(&l, 3, x.graph->context, IND__ATTR_SIZES, conv->output_padding, dims);
    ind__attr groups = ind__attr_int(conv->groups ? conv->groups : 1);
    ind__attr a[5] = {l.attr[0], l.attr[1], l.attr[2], groups};
    if (conv->transposed) {
        a[2] = l.attr[3];
        a[4] = l.attr[2];
    }
    return ind__call(op, operands, 3, a, 5);
}

ind_tensor ind_embedding(ind_tensor weight, ind_tensor indices) {
    ind_tensor operands[2] = {weight, indices};
    ind__attr a[3] = {{0}, ind__attr_bool(false), ind__attr_bool(false)};
    return ind__call(IND_OP_EMBEDDING, operands, 2, a, 3);
}

ind_tensor ind_interpolate(ind_tensor x, const ind_expr *size, int num_size, const double *scale_factor,
                           int num_scale_factor, ind_interpolation mode, bool align_corners) {
    static const char *const linear[] = {"linear", "bilinear", "trilinear"};
    int rank = ind_tensor_rank(x);
    ind__attr a[4] = {ind__attr_sizes(size, num_size),
                      {.kind = IND__ATTR_FLOATS, .floats = scale_factor, .count = num_scale_factor},
                      {.kind = IND__ATTR_STR, .s = "?"},
                      ind__attr_bool(align_corners)};
    if (!size && num_size == 0) a[0].kind = IND__ATTR_NONE;
    if (!scale_factor && num_scale_factor == 0) a[1].kind = IND__ATTR_NONE;
    if (mode == IND_INTERPOLATE_NEAREST) a[2].s = "nearest";
    if (mode == IND_INTERPOLATE_NEAREST_EXACT) a[2].s = "nearest-exact";
    if (mode == IND_INTERPOLATE_LINEAR && rank >= 3 && rank <= 5) a[2].s = linear[rank - 3];
    return ind__call(IND_OP_INTERPOLATE, &x, 1, a, 4);
}

ind_tensor ind_grid_sampler_2d(ind_tensor x, ind_tensor grid, int interpolation_mode, int padding_mode,
                               bool align_corners) {
    ind_tensor operands[2] = {x, grid};
    ind__attr a[3] = {ind__attr_int(interpolation_mode), ind__attr_int(padding_mode), ind__attr_bool(align_corners)};
    return ind__call(IND_OP_GRID_SAMPLER_2D, operands, 2, a, 3);
}

/* The lists of windows in two dimensions, none of them left out: strides and dilations of 0 are 1. */
static bool ind__full_pool_lists(ind_tensor x, ind_graph_op op, const ind_pool_desc *pool, ind__int_lists *l) {
    ind_pool_desc full;
    if (!x.graph || x.graph->status) return false;
    if (!ind__pool_lists(x, op, 2, pool, l)) return false;
    full = *pool;
    for (int s = 0; s < 2; s++) {
        if (!full.stride[s]) full.stride[s] = 1;
        if (!full.dilation[s]) full.dilation[s] = 1;
    }
    (void)ind__pool_lists(x, op, 2, &full, l);
    for (int k = 0; k < 4; k++) l->attr[k].kind = IND__ATTR_INTS;
    return true;
}

ind_tensor ind_im2col(ind_tensor x, const ind_pool_desc *window) {
    ind__int_lists l;
    if (!ind__full_pool_lists(x, IND_OP_IM2COL, window, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[4] = {l.attr[0], l.attr[3], l.attr[2], l.attr[1]};
    return ind__call(IND_OP_IM2COL, &x, 1, a, 4);
}

ind_tensor ind_col2im(ind_tensor x, ind_expr height, ind_expr width, const ind_pool_desc *window) {
    ind__int_lists l;
    ind_expr size[2] = {height, width};
    if (!ind__full_pool_lists(x, IND_OP_COL2IM, window, &l)) return ind__graph_tensor(x.graph, 0);
    ind__attr a[5] = {ind__attr_sizes(size, 2), l.attr[0], l.attr[3], l.attr[2], l.attr[1]};
    return ind__call(IND_OP_COL2IM, &x, 1, a, 5);
}

ind_tensor ind_convolution_backward(ind_tensor grad_output, ind_tensor x, ind_tensor weight,
                                    const ind_conv_desc *conv) {
    ind_tensor operands[3] = {grad_output, x, weight};
    static const ind_conv_desc plain;
    ind_conv_desc full = conv ? *conv : plain;
    const ind__tensor_info *w = ind__tensor_of(weight);
    int dims = w && w->rank >= 3 && w->rank <= 5 ? w->rank - 2 : 1;
    ind__int_lists l;
    if (!x.graph || x.graph->status) return ind__graph_tensor(x.graph, 0);
    for (int s = 0; s < 3; s++) {
        if (!full.stride[s]) full.stride[s] = 1;
        if (!full.dilation[s]) full.dilation[s] = 1;
    }
    const int *lists[4] = {full.stride, full.padding, full.dilation, full.output_padding};
    for (int k = 0; k < 4; k++) {
        ind__int_list(&l, k, x.graph->context, IND__ATTR_SIZES, lists[k], dims);
        l.attr[k].kind = IND__ATTR_SIZES;
    }
    ind__attr a[7] = {{.kind = IND__ATTR_NONE},
                      l.attr[0],
                      l.attr[1],
                      l.attr[2],
                      ind__attr_bool(full.transposed),
                      l.attr[3],
                      ind__attr_int(full.groups ? full.groups : 1)};
    return ind__call(IND_OP_CONVOLUTION_BACKWARD, operands, 3, a, 7);
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
static ind_tensor ind__call_gaps(ind_graph_op op, const ind_tensor *first, uint32_t n, const ind_tensor *list, int num,
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
    return ind__call_gaps(IND_OP_INDEX, &x, 1, indices, num, NULL, 0);
}

ind_tensor ind_index_put(ind_tensor x, const ind_tensor *indices, int num, ind_tensor values, bool accumulate) {
    ind_tensor first[2] = {x, values};
    ind__attr a = ind__attr_bool(accumulate);
    return ind__call_gaps(IND_OP_INDEX_PUT, first, 2, indices, num, &a, 1);
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

ind_tensor ind_cumsum(ind_tensor x, int dim, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_CUMSUM, &x, 1, a, 2);
}

ind_tensor ind_cumprod(ind_tensor x, int dim, ind_dtype dtype) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_dtype(dtype)};
    return ind__call(IND_OP_CUMPROD, &x, 1, a, 2);
}

/* An op with two results; the second goes to *indices unless that is NULL. */
static ind_tensor ind__call_pair(ind_graph_op op, ind_tensor x, const ind__attr *a, uint32_t n, ind_tensor *indices) {
    ind_tensor values = ind__call(op, &x, 1, a, n);
    if (indices) *indices = ind__graph_tensor(values.graph, values.id ? values.id + 1 : 0);
    return values;
}

ind_tensor ind_cummax(ind_tensor x, int dim, ind_tensor *indices) {
    ind__attr a = ind__attr_int(dim);
    return ind__call_pair(IND_OP_CUMMAX, x, &a, 1, indices);
}

ind_tensor ind_cummin(ind_tensor x, int dim, ind_tensor *indices) {
    ind__attr a = ind__attr_int(dim);
    return ind__call_pair(IND_OP_CUMMIN, x, &a, 1, indices);
}

ind_tensor ind_logcumsumexp(ind_tensor x, int dim) {
    ind__attr a = ind__attr_int(dim);
    return ind__call(IND_OP_LOGCUMSUMEXP, &x, 1, &a, 1);
}

ind_tensor ind_sort(ind_tensor x, int dim, bool descending, ind_tensor *indices) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_bool(descending), ind__attr_bool(true)};
    return ind__call_pair(IND_OP_SORT, x, a, 3, indices);
}

ind_tensor ind_argsort(ind_tensor x, int dim, bool descending) {
    ind__attr a[3] = {ind__attr_int(dim), ind__attr_bool(descending), ind__attr_bool(true)};
    return ind__call(IND_OP_ARGSORT, &x, 1, a, 3);
}

ind_tensor ind_topk(ind_tensor x, ind_expr k, int dim, bool largest, ind_tensor *indices) {
    ind__attr a[4] = {ind__attr_size(k), ind__attr_int(dim), ind__attr_bool(largest), ind__attr_bool(true)};
    return ind__call_pair(IND_OP_TOPK, x, a, 4, indices);
}

ind_tensor ind_msort(ind_tensor x) {
    return ind__call(IND_OP_MSORT, &x, 1, NULL, 0);
}

ind_tensor ind_kthvalue(ind_tensor x, ind_expr k, int dim, bool keepdim, ind_tensor *indices) {
    ind__attr a[3] = {ind__attr_size(k), ind__attr_int(dim), ind__attr_bool(keepdim)};
    return ind__call_pair(IND_OP_KTHVALUE, x, a, 3, indices);
}

static ind_tensor ind__call_ranked(ind_graph_op op, ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_bool(keepdim)};
    return ind__call_pair(op, x, a, 2, indices);
}

ind_tensor ind_median(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_ranked(IND_OP_MEDIAN, x, dim, keepdim, indices);
}

ind_tensor ind_nanmedian(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_ranked(IND_OP_NANMEDIAN, x, dim, keepdim, indices);
}

ind_tensor ind_mode(ind_tensor x, int dim, bool keepdim, ind_tensor *indices) {
    return ind__call_ranked(IND_OP_MODE, x, dim, keepdim, indices);
}

static ind_tensor ind__call_quantile(ind_graph_op op, ind_tensor x, ind_tensor q, int dim, bool keepdim,
                                     const char *interpolation) {
    ind_tensor operands[2] = {x, q};
    ind__attr a[3] = {ind__attr_int(dim),
                      ind__attr_bool(keepdim),
                      {.kind = IND__ATTR_STR, .s = interpolation ? interpolation : "linear"}};
    return ind__call(op, operands, 2, a, 3);
}

ind_tensor ind_quantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation) {
    return ind__call_quantile(IND_OP_QUANTILE, x, q, dim, keepdim, interpolation);
}

ind_tensor ind_nanquantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation) {
    return ind__call_quantile(IND_OP_NANQUANTILE, x, q, dim, keepdim, interpolation);
}

ind_tensor ind_diff(ind_tensor x, int n, int dim, ind_tensor prepend, ind_tensor append) {
    ind_tensor operands[3] = {x, prepend, append};
    ind__attr a[2] = {ind__attr_int(n), ind__attr_int(dim)};
    return ind__call(IND_OP_DIFF, operands, 3, a, 2);
}

ind_tensor ind_searchsorted(ind_tensor sorted_sequence, ind_tensor x, bool out_int32, bool right, ind_tensor sorter) {
    ind_tensor operands[3] = {sorted_sequence, x, sorter};
    ind__attr a[2] = {ind__attr_bool(out_int32), ind__attr_bool(right)};
    return ind__call(IND_OP_SEARCHSORTED, operands, 3, a, 2);
}

ind_tensor ind_bucketize(ind_tensor x, ind_tensor boundaries, bool out_int32, bool right) {
    ind_tensor operands[2] = {x, boundaries};
    ind__attr a[2] = {ind__attr_bool(out_int32), ind__attr_bool(right)};
    return ind__call(IND_OP_BUCKETIZE, operands, 2, a, 2);
}

IND__DEFINE_UNARY(nonzero, NONZERO)
IND__DEFINE_UNARY(argwhere, ARGWHERE)

ind_tensor ind_masked_select(ind_tensor x, ind_tensor mask) {
    ind_tensor operands[2] = {x, mask};
    return ind__call(IND_OP_MASKED_SELECT, operands, 2, NULL, 0);
}

static ind_tensor ind__call_unique(ind_graph_op op, ind_tensor x, ind_tensor *inverse, ind_tensor *counts) {
    ind__attr a[5] = {ind__attr_bool(true), ind__attr_bool(inverse != NULL), ind__attr_bool(counts != NULL)};
    bool sorted = op == IND_OP_UNIQUE;
    ind_tensor y = ind__call(op, &x, 1, a + !sorted, 2 + sorted), none = ind__graph_tensor(x.graph, 0);
    if (inverse) *inverse = y.id ? ind__graph_tensor(y.graph, y.id + 1) : none;
    if (counts) *counts = y.id ? ind__graph_tensor(y.graph, y.id + 1 + (inverse != NULL)) : none;
    return y;
}

ind_tensor ind_unique(ind_tensor x, ind_tensor *inverse, ind_tensor *counts) {
    return ind__call_unique(IND_OP_UNIQUE, x, inverse, counts);
}

ind_tensor ind_unique_consecutive(ind_tensor x, ind_tensor *inverse, ind_tensor *counts) {
    return ind__call_unique(IND_OP_UNIQUE_CONSECUTIVE, x, inverse, counts);
}

ind_tensor ind_repeat_interleave(ind_tensor x, ind_tensor repeats, int dim, ind_expr output_size,
                                 ind_expr max_output_size) {
    ind_tensor operands[2] = {x, repeats};
    ind__attr a[3] = {{0}, {0}, {0}};
    if (dim != IND_ALL_DIMS) a[0] = ind__attr_int(dim);
    if (ind__ok(output_size)) a[1] = ind__attr_size(output_size);
    if (ind__ok(max_output_size)) a[2] = ind__attr_size(max_output_size);
    return ind__call(IND_OP_REPEAT_INTERLEAVE, operands, 2, a, 3);
}

ind_tensor ind_masked_scatter(ind_tensor x, ind_tensor mask, ind_tensor source) {
    ind_tensor operands[3] = {x, mask, source};
    return ind__call(IND_OP_MASKED_SCATTER, operands, 3, NULL, 0);
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

ind_tensor ind_scaled_dot_product_attention(ind_tensor query, ind_tensor key, ind_tensor value, ind_tensor attn_mask,
                                            const ind_attention_desc *desc) {
    ind_attention_desc d = {0};
    if (desc) d = *desc;
    ind_tensor operands[4] = {query, key, value, attn_mask};
    ind__attr a[4] = {ind__attr_float(0), ind__attr_bool(d.is_causal), ind__attr_float(d.scale),
                      ind__attr_bool(d.enable_gqa)};
    if (d.scale == 0) a[2].kind = IND__ATTR_NONE;
    return ind__call(IND_OP_SCALED_DOT_PRODUCT_ATTENTION, operands, 4, a, 4);
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

/* A name that text can use: no op has it. */
static ind_status ind__graph_add_function(ind_graph *g, const ind__function *f) {
    const ind__function *have = ind__graph_function(g, f->name);
    if (g->status) return g->status;
    if (have) {
        return have == f ? IND_OK : ind__graph_fail(g, IND_INVALID_ARGUMENT, "function: %s is declared twice", f->name);
    }
    bool taken = ind__reserved_name(f->name, strlen(f->name));
    for (int op = 0; op < IND_NUM_OPS; op++) taken = taken || !strcmp(ind__op_rows[op].name, f->name);
    if (taken) return ind__graph_fail(g, IND_INVALID_ARGUMENT, "function: %s is the name of an op", f->name);
    const ind__function **place =
        IND__PUSH(g->context, const ind__function *, g->function, g->num_functions, g->cap_functions);
    if (!place) return ind__graph_no_memory(g, "function");
    *place = f;
    return IND_OK;
}

/* The function of this name in the graph; one that is registered in the context becomes one of it. */
static const ind__function *ind__graph_find_function(ind_graph *g, const char *name) {
    const ind__function *f = ind__graph_function(g, name);
    if (f) return f;
    f = ind__function_find(g->context, name);
    return f && f->cuda && !ind__graph_add_function(g, f) ? f : NULL;
}

ind_tensor ind_call(ind_graph *graph, const char *function, const ind_tensor *args, int num_args) {
    uint32_t id[IND_MAX_FUNCTION_ARGS];
    if (!graph || graph->status) return ind__graph_tensor(graph, 0);
    const ind__function *f = function ? ind__graph_find_function(graph, function) : NULL;
    if (!f && !graph->status) {
        ind__graph_fail(graph, IND_NOT_FOUND, "call: no function %.63s is registered", function ? function : "(NULL)");
    } else if (f && (num_args != f->num_args || (num_args > 0 && !args))) {
        ind__graph_fail(graph, IND_INVALID_ARGUMENT, "%s: %d operands are given; it takes %d", f->name,
                        args ? num_args : 0, f->num_args);
    }
    for (int k = 0; !graph->status && k < num_args; k++) {
        if (!ind__check_handle(graph, f->name, (uint32_t)k, args[k])) id[k] = args[k].id;
    }
    if (graph->status) {
        ind__graph_leave_here(graph);
        return ind__graph_tensor(graph, 0);
    }
    ind__attr a = {.kind = IND__ATTR_STR, .s = f->name};
    return ind__graph_add(graph, IND_OP_CALL, id, (uint32_t)num_args, &a, 1, NULL, f->name);
}

/* ---- opaque calls */

typedef struct ind__extern_build {
    ind_graph *g;
    const char *name;
    uint32_t *operand;
    uint32_t num_operands;
    ind_extern_type type[IND_MAX_EXTERN_RESULTS]; /* declared results */
    int num_types;                                /* -1: the shape rule says */
    ind_expr workspace;                           /* invalid: the shape rule says, or 0 */
    ind_expr mutates[IND_MAX_EXTERN_RESULTS];
    int num_mutates;
} ind__extern_build;

static ind_status ind__extern_rule_failed(ind__extern_build *b, ind_status status) {
    const char *why = ind_error_status(b->g->context) == status ? ind_error(b->g->context) : ind_status_text(status);
    char copy[400];
    snprintf(copy, sizeof copy, "%.390s", why);
    return ind__graph_fail(b->g, status, "%s: the shape rule failed: %s", b->name, copy);
}

/* What was said must agree with the rule. */
static bool ind__extern_agrees(const ind__extern_build *b, const ind_extern_type *type, int num) {
    bool same = b->num_types == num;
    for (int k = 0; same && k < num; k++) {
        same = b->type[k].dtype == type[k].dtype && b->type[k].rank == type[k].rank;
        for (int d = 0; same && d < type[k].rank; d++) same = ind_known_eq(b->type[k].size[d], type[k].size[d]);
    }
    return same;
}

/* Asks the shape rule of the registered call, where there is one. */
static ind_status ind__extern_rule(ind__extern_build *b) {
    ind_graph *g = b->g;
    const ind__extern *e = ind__extern_find(g->context, b->name);
    if (!e || !e->desc.shape) {
        if (b->num_types >= 0) return IND_OK;
        return ind__graph_fail(g, e ? IND_INVALID_ARGUMENT : IND_NOT_FOUND,
                               "%s: the types of its results are not given, and no shape rule is registered", b->name);
    }
    ind_extern_type *input = ind__alloc(g->context, (b->num_operands + 1) * sizeof *input),
                    result[IND_MAX_EXTERN_RESULTS];
    if (!input) return ind__graph_no_memory(g, b->name), g->status;
    memset(result, 0, sizeof result);
    for (uint32_t k = 0; k < b->num_operands; k++) {
        const ind__tensor_info *t = &g->tensor[b->operand[k]];
        input[k] = (ind_extern_type){.dtype = t->dtype, .rank = t->rank};
        memcpy(input[k].size, t->size, sizeof t->size);
    }
    ind_expr workspace = ind_int(g->context, 0);
    int num = 0;
    g->context->error.status = IND_OK;
    ind_status status = e->desc.shape(g->context, input, (int)b->num_operands, result, &num, &workspace, e->desc.user);
    ind__free(g->context, input);
    if (status) return ind__extern_rule_failed(b, status);
    if (num < 0 || num > IND_MAX_EXTERN_RESULTS)
        return ind__graph_fail(g, IND_LIMIT, "%s: the shape rule gives %d results; at most %d are possible", b->name,
                               num, IND_MAX_EXTERN_RESULTS);
    if (b->num_types >= 0 && !ind__extern_agrees(b, result, num))
        return ind__graph_fail(g, IND_TYPE_MISMATCH, "%s: the shape rule gives other results than are written",
                               b->name);
    if (b->num_types < 0) memcpy(b->type, result, sizeof result);
    b->num_types = num;
    if (!ind__ok(b->workspace)) b->workspace = workspace;
    return IND_OK;
}

static ind_tensor ind__add_extern(ind__extern_build *b) {
    ind_graph *g = b->g;
    ind_expr list[IND_MAX_EXTERN_RESULTS * (2 + IND_MAX_RANK)];
    int n = 0;
    bool whole = true;
    for (uint32_t k = 0; k < b->num_operands; k++) whole = whole && b->operand[k] && !g->tensor[b->operand[k]].weak;
    ind_facts *before = ind__graph_enter(g);
    if (whole && !g->status) ind__extern_rule(b); /* other operands are refused below */
    ind__graph_leave(g, before);
    for (int k = 0; !g->status && k < b->num_types; k++) {
        int rank = b->type[k].rank;
        if (rank < 0 || rank > IND_MAX_RANK)
            return ind__graph_fail(g, IND_LIMIT, "%s: result %d has %d dimensions", b->name, k, rank),
                   ind__graph_tensor(g, 0);
        list[n++] = ind_int(g->context, b->type[k].dtype);
        list[n++] = ind_int(g->context, rank);
        for (int d = 0; d < rank; d++) list[n++] = b->type[k].size[d];
    }
    if (g->status) return ind__graph_leave_here(g), ind__graph_tensor(g, 0);
    ind__attr a[4] = {
        {.kind = IND__ATTR_STR, .s = b->name},
        {.kind = ind__ok(b->workspace) ? IND__ATTR_SIZE : IND__ATTR_NONE, .e = b->workspace},
        {.kind = b->num_mutates ? IND__ATTR_INTS : IND__ATTR_NONE, .list = b->mutates, .count = b->num_mutates},
        {.kind = IND__ATTR_EXPRS, .list = list, .count = n}};
    return ind__graph_add(g, IND_OP_EXTERN, b->operand, b->num_operands, a, 4, NULL, b->name);
}

static bool ind__extern_texts(ind__extern_build *b, const ind_extern_args *args);

ind_tensor ind_extern(ind_graph *graph, const char *name, const ind_extern_args *args) {
    ind__extern_build b = {.g = graph, .name = name, .num_types = -1};
    if (!graph || graph->status) return ind__graph_tensor(graph, 0);
    bool lists = args && args->num_inputs >= 0 && args->num_results >= 0 && args->num_mutates >= 0 &&
                 (args->inputs || !args->num_inputs) && (args->results || !args->num_results) &&
                 (args->mutates || !args->num_mutates);
    if (!name || !lists) {
        ind__graph_fail(graph, IND_INVALID_ARGUMENT, "extern: the name, the arguments or one of their lists is NULL");
    } else if (!ind__valid_name(name) || strlen(name) > 63) {
        ind__graph_fail(graph, IND_INVALID_ARGUMENT, "extern: \"%.80s\" is not a name", name);
    } else if (args->num_results > IND_MAX_EXTERN_RESULTS || args->num_mutates > IND_MAX_EXTERN_RESULTS) {
        ind__graph_fail(graph, IND_LIMIT, "%s: at most %d results are possible", name, IND_MAX_EXTERN_RESULTS);
    }
    if (!graph->status) {
        b.num_operands = (uint32_t)args->num_inputs;
        b.operand = ind__arena_alloc(&graph->arena, (b.num_operands + (size_t)1) * sizeof *b.operand);
        if (!b.operand) ind__graph_no_memory(graph, name);
        for (uint32_t k = 0; !graph->status && k < b.num_operands; k++)
            if (!ind__check_handle(graph, name, k, args->inputs[k])) b.operand[k] = args->inputs[k].id;
    }
    if (graph->status || !ind__extern_texts(&b, args)) {
        ind__graph_leave_here(graph);
        return ind__graph_tensor(graph, 0);
    }
    for (; b.num_mutates < args->num_mutates; b.num_mutates++)
        b.mutates[b.num_mutates] = ind_int(graph->context, args->mutates[b.num_mutates]);
    return ind__add_extern(&b);
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

static ind_value ind__combine_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank) {
    (void)x, (void)index, (void)rank;
    ind__fail(o->context, IND_INVALID_ARGUMENT, "a combine function loads nothing");
    return (ind_value){0};
}

/* Value k of an element left (side 0) or right (side 1), while the combine function is recorded. */
static ind_value ind__combine_value(ind_ops *o, const ind_scan_desc *d, int side, int k) {
    const ind__tensor_info *t = ind__tensor_of(d->x[k]);
    return ind__emit_load(o, (uint32_t)(side * d->num + k), ind_dtype_compute(t->dtype), NULL, 0);
}

/* Stores what the function gave; each value has the type that it came with. */
static bool ind__combine_store(ind_ops *o, const ind_scan_desc *d, const ind_value *out) {
    for (int k = 0; k < d->num; k++) {
        const ind__tensor_info *t = ind__tensor_of(d->x[k]);
        ind_value v = out[k].id ? ind_op_cast(o, out[k], ind_dtype_compute(t->dtype)) : out[k];
        if (!v.id && !o->context->error.status) ind__fail(o->context, IND_INVALID_ARGUMENT, "it gave no value %d", k);
        if (!v.id) return false;
        ind__emit_store(o, (uint32_t)k, NULL, 0, v);
    }
    return !o->context->error.status;
}

static bool ind__combine_is_pure(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        ind_loop_op op = (ind_loop_op)b->inst[i].op;
        bool own = op == IND_LOOP_LOAD || op == IND_LOOP_STORE || op == IND_LOOP_CONSTANT || op == IND_LOOP_CAST ||
                   op == IND_LOOP_CALL;
        if (!own && ind__loop_op_class(op) == 's')
            return ind__fail(b->context, IND_INVALID_ARGUMENT, "a combine function has no indices"), false;
    }
    return true;
}

static ind_body *ind__combine_record(ind_graph *g, const ind_scan_desc *d) {
    ind__recorder r;
    ind_value left[IND__MAX_SCANNED], right[IND__MAX_SCANNED], out[IND__MAX_SCANNED] = {{0}};
    memset(&r, 0, sizeof r);
    if (ind__record_begin(&r, g->context, NULL, 0, NULL, 0)) return NULL;
    r.ops.load_tensor = ind__combine_load;
    bool ok = true;
    for (int k = 0; k < d->num && ok; k++) {
        left[k] = ind__combine_value(&r.ops, d, 0, k);
        right[k] = ind__combine_value(&r.ops, d, 1, k);
        ok = left[k].id && right[k].id;
    }
    if (ok) d->combine(&r.ops, left, right, out, d->user);
    if (ok && !g->status && ind__combine_store(&r.ops, d, out) && ind__combine_is_pure(r.body))
        return ind__record_end(&r);
    ind__record_abort(&r);
    return NULL;
}

static ind_status ind__check_scan_tensor(ind_graph *g, const char *name, const char *what, ind_tensor x) {
    if (x.graph == g && ind__tensor_of(x)) return IND_OK;
    return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: %s is not a tensor of this graph", name, what);
}

static ind_status ind__check_scan_desc(ind_graph *g, const char *name, const ind_scan_desc *d) {
    if (!d || !d->combine || !d->x) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: no %s given", name,
                               !d            ? "desc is"
                               : !d->combine ? "combine function is"
                                             : "x is");
    }
    if (d->num < 1 || d->num > IND__MAX_SCANNED) {
        return ind__graph_fail(g, IND_LIMIT, "%s: an element has %d values; 1 to %d are possible", name, d->num,
                               IND__MAX_SCANNED);
    }
    if (d->exclusive && !d->identity) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: an exclusive scan needs the identity", name);
    }
    if (d->segments.id && d->starts.id) {
        return ind__graph_fail(g, IND_INVALID_ARGUMENT, "%s: segments and starts are both given", name);
    }
    for (int k = 0; k < d->num && !g->status; k++) {
        ind__check_scan_tensor(g, name, "a value", d->x[k]);
        if (d->exclusive) ind__check_scan_tensor(g, name, "an identity", d->identity[k]);
    }
    if (d->segments.id) ind__check_scan_tensor(g, name, "segments", d->segments);
    if (d->starts.id) ind__check_scan_tensor(g, name, "starts", d->starts);
    return g->status;
}

/* The flags of segments that begin at `starts` along dim of x: of x's rank, 1 in all other dimensions. */
static ind_tensor ind__segment_flags(ind_graph *g, ind_tensor x, int dim, ind_tensor starts) {
    int rank = ind_tensor_rank(x), at = dim < 0 ? dim + rank : dim;
    ind_tensor none = {g, 0};
    if (at < 0 || at >= rank) return none;
    ind_expr size = ind_tensor_size(x, at);
    ind_tensor flags = ind_index_fill(ind_zeros(g, &size, 1, IND_BOOL), 0, starts, 1);
    for (int d = 0; d < rank; d++)
        if (d != at) flags = ind_unsqueeze(flags, d);
    return flags;
}

static ind_tensor ind__add_scan(ind_graph *graph, const ind_scan_desc *d) {
    char name[64];
    uint32_t operand[2 * IND__MAX_SCANNED + 1], num = 0;
    ind__clean_name(name, sizeof name, d ? d->name : NULL, "associative_scan");
    if (ind__check_scan_desc(graph, name, d)) return ind__graph_tensor(graph, 0);
    ind_tensor flags = d->starts.id ? ind__segment_flags(graph, d->x[0], d->dim, d->starts) : d->segments;
    for (int k = 0; k < d->num; k++) operand[num++] = d->x[k].id;
    for (int k = 0; k < d->num && d->exclusive; k++) operand[num++] = d->identity[k].id;
    if (flags.id) operand[num++] = flags.id;
    graph->context->error.status = IND_OK; /* what fails from here on is the function's doing */
    ind_body *body = graph->status ? NULL : ind__combine_record(graph, d);
    if (!body && !graph->status) {
        ind_status status = ind_error_status(graph->context);
        char copy[512];
        snprintf(copy, sizeof copy, "%.500s", status ? ind_error(graph->context) : "it returned no value");
        ind__graph_fail(graph, status ? status : IND_INVALID_ARGUMENT, "%s: the function failed: %s", name, copy);
    }
    ind__attr a[5] = {ind__attr_int(d->dim), ind__attr_int(d->num), ind__attr_bool(d->reverse),
                      ind__attr_bool(d->exclusive), ind__attr_bool(flags.id != 0)};
    return body ? ind__graph_add(graph, IND_OP_ASSOCIATIVE_SCAN, operand, num, a, 5, body, name)
                : ind__graph_tensor(graph, 0);
}

ind_tensor ind_associative_scan(ind_graph *graph, const ind_scan_desc *desc) {
    if (!graph || graph->status) return ind__graph_tensor(graph, 0);
    ind_facts *before = ind__graph_enter(graph);
    ind_tensor result = ind__add_scan(graph, desc);
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
        bool sizes = a->kind == IND__ATTR_SIZES || a->kind == IND__ATTR_EXPRS;
        for (int k = 0; sizes && k < a->count; k++) ind__mark_expr(g, a->list[k]);
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
    if (ind__expr_has_kind(e, IND_SYMBOL_UNBACKED))
        return ind__graph_fail(g, IND_NOT_SUPPORTED,
                               "%s: %s is about a size that comes from data, which no launch can check; min_length and "
                               "max_length of the op that makes it bound it, and are checked where it is counted",
                               what, text);
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
    case IND__ATTR_EXPRS:
    case IND__ATTR_SIZES: ind__print_dims(t, a->list, a->count); break;
    case IND__ATTR_FLOATS:
        for (int i = 0; i < a->count; i++) {
            ind__textf(t, i ? ", " : "[");
            ind__text_double(t, a->floats[i]);
        }
        ind__textf(t, a->count ? "]" : "[]");
        break;
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
    case IND__ATTR_EXPRS:
    case IND__ATTR_SIZES: return ind__same_list(a, b);
    case IND__ATTR_SIZE: return ind_expr_same(a->e, b->e);
    case IND__ATTR_FLOATS:
        return a->count == b->count && (!a->count || !memcmp(a->floats, b->floats, (size_t)a->count * sizeof(double)));
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

static void ind__print_user_call(ind__text *t, const ind_graph *g, const ind__node *n) {
    bool opaque = n->op == IND_OP_EXTERN;
    ind__textf(t, opaque ? "extern(\"%s\"" : "%s(", n->attr[0].s);
    for (uint32_t k = 0; k < n->num_operands; k++) {
        if (k || opaque) ind__textf(t, ", ");
        ind__print_operand(t, g, n->operand[k]);
    }
    for (uint32_t i = 1; opaque && i < 3; i++) {
        const ind__attr_schema *s = &g->schema[n->op].attr[i];
        if (ind__same_attr(&n->attr[i], &s->value)) continue;
        ind__textf(t, ", %.*s=", s->length, s->name);
        ind__print_attr(t, &n->attr[i]);
    }
    ind__textf(t, ")");
}

/* function swish(x: f32) -> f32 = "x / (1.0f + expf(-x))" */
static void ind__print_function(ind__text *t, const ind__function *f) {
    ind__textf(t, "  function ");
    ind__function_print_signature(t, f);
    ind__textf(t, " = \"");
    for (const char *s = f->cuda; *s; s++) {
        if (*s == '"' || *s == '\\') ind__textf(t, "\\");
        if (*s == '\n')
            ind__textf(t, "\\n");
        else
            ind__text_raw(t, s, 1);
    }
    ind__textf(t, "\"\n");
}

static void ind__print_call(ind__text *t, const ind_graph *g, const ind__node *n) {
    if (n->op == IND_OP_CALL || n->op == IND_OP_EXTERN) {
        ind__print_user_call(t, g, n);
        return;
    }
    const ind__schema *schema = &g->schema[n->op];
    ind__textf(t, "%s(", ind__op_name(n->op));
    bool comma = ind__print_operands(t, g, n);
    for (uint32_t i = 0; i < n->num_attrs; i++) {
        const ind__attr_schema *s = &schema->attr[i];
        if (!s->required && ind__same_attr(&n->attr[i], &s->value)) continue;
        if (ind__op_has(n->op, 'Z') && i + 1 == n->num_attrs) continue;
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
    for (uint32_t i = 0; i < g->num_functions; i++) ind__print_function(t, g->function[i]);
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

/* flags: true and false stand for 1 and 0. */
static bool ind__need_list(ind__parser *p, ind_expr list[IND__MAX_LIST], int *count, bool flags) {
    *count = 0;
    if (!ind__need(p, '[')) return false;
    while (!p->status && !ind__peek(p, ']')) {
        if (*count == IND__MAX_LIST) {
            return ind__parse_error(p, p->at, IND_LIMIT, "more than %d dimensions; at most %d are possible",
                                    IND__MAX_LIST, IND_MAX_RANK);
        }
        bool yes = flags && ind__take_word(p, "true"), no = flags && !yes && ind__take_word(p, "false");
        if (yes || no)
            list[(*count)++] = ind_int(p->g->context, yes);
        else if (!ind__need_expr(p, &list[(*count)++]))
            return false;
        if (!ind__peek(p, ']') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \"]\"");
    }
    return ind__need(p, ']');
}

static bool ind__need_exprs(ind__parser *p, ind_expr list[IND__MAX_LIST], int *count) {
    return ind__need_list(p, list, count, false);
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
    if (ind__peek(p, '[')) return ind__need_list(p, list, &a->count, true);
    if (!ind__need_int(p, &v)) return false;
    list[0] = ind_int(p->g->context, v);
    return true;
}

/* [B, 2], or one size for a list of one. */
static bool ind__need_size_list(ind__parser *p, ind__attr *a, ind_expr list[IND__MAX_LIST]) {
    a->count = 1;
    return ind__peek(p, '[') ? ind__need_exprs(p, list, &a->count) : ind__need_expr(p, &list[0]);
}

/* [1.5, 2], or one number for a list of one. */
static bool ind__need_floats(ind__parser *p, ind__attr *a) {
    ind__attr number = {.kind = IND__ATTR_SCALAR};
    double v[IND_MAX_RANK];
    bool list = ind__peek(p, '[');
    if (list) ind__need(p, '[');
    while (!p->status && !(list && ind__peek(p, ']')) && (list || a->count == 0)) {
        if (a->count == IND_MAX_RANK)
            return ind__parse_error(p, p->at, IND_LIMIT, "more than %d numbers", IND_MAX_RANK);
        if (!ind__need_scalar(p, &number)) return false;
        v[a->count++] = number.is_int ? (double)number.i : number.f;
        if (list && !ind__peek(p, ']') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \"]\"");
    }
    if (list && !ind__need(p, ']')) return false;
    if (a->count == 0) return true;
    a->floats = ind__arena_copy(&p->g->arena, v, (size_t)a->count * sizeof *v);
    return a->floats || ind__parse_error(p, p->at, IND_OUT_OF_MEMORY, "out of memory");
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
    case IND__ATTR_SIZES: return ind__need_size_list(p, a, list);
    case IND__ATTR_FLOATS: return ind__need_floats(p, a);
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
    bool in_place; /* its name ends in an underscore */
    const ind__schema *schema;
    const char *at;                /* of the op's name */
    const ind__function *function; /* CALL */
    uint32_t *operand;             /* ids; for an op with a list of tensors as many as there are */
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
    return op != IND_OP_INPUT && op != IND_OP_CONST && op != IND_OP_SCALAR && op != IND_OP_CALL;
}

static bool ind__unknown_op(ind__parser *p, const char *at, const char *name) {
    int best[3] = {-1, -1, -1}, distance[3] = {99, 99, 99};
    for (int op = 0; op < IND_NUM_OPS; op++) {
        int d = ind__edit_distance(name, strlen(name), ind__op_rows[op].name, strlen(ind__op_rows[op].name));
        if (!ind__op_in_text(op) || op == IND_OP_CUSTOM || op == IND_OP_ASSOCIATIVE_SCAN) continue;
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

/* The op's name, or with an underscore behind it that of the op in place. */
static bool ind__is_op_name(const char *name, int op, bool *in_place) {
    const size_t n = strlen(ind__op_rows[op].name);
    *in_place = ind__op_has((ind_graph_op)op, '_') && strlen(name) == n + 1 && name[n] == '_';
    return !strncmp(name, ind__op_rows[op].name, n) && (*in_place || !name[n]);
}

static bool ind__need_op(ind__parser *p, ind__parsed_call *call) {
    char name[IND__MAX_NAME + 1];
    ind__skip(p);
    call->at = p->at;
    if (!ind__need_name(p, "the name of an op", name)) return false;
    for (int op = 0; op < IND_NUM_OPS; op++) {
        if (!ind__op_in_text(op) || !ind__is_op_name(name, op, &call->in_place)) continue;
        call->op = (ind_graph_op)op;
        call->schema = &p->g->schema[op];
        if (op != IND_OP_CUSTOM && op != IND_OP_ASSOCIATIVE_SCAN) return true;
        return ind__parse_error(p, call->at, IND_NOT_SUPPORTED,
                                "custom ops are C functions and cannot be read from text");
    }
    call->function = ind__graph_find_function(p->g, name);
    if (p->g->status) return ind__parse_error(p, call->at, p->g->status, "%s", p->g->error);
    if (call->function) {
        call->op = IND_OP_CALL;
        call->schema = &p->g->schema[IND_OP_CALL];
        return true;
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
    if (*p->at == '[' || *p->at == '"') return false;
    size_t word = ind__name_length(p->at);
    bool gap = call->schema->operand[k].optional && ind__same_name(p->at, word, "none", 4);
    if (ind__reserved_name(p->at, word) && !gap && !ind__number_allowed(call->op, k)) return false;
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

/* The argument of a function that comes next: the one named, or the first that has none yet. */
static bool ind__need_function_argument(ind__parser *p, const ind__parsed_call *call, int *k) {
    const ind__function *f = call->function;
    char name[IND__MAX_NAME + 1];
    const char *at = p->at;
    bool keyword = ind__at_keyword(p);
    if (keyword && (!ind__need_name(p, "the name of an argument", name) || !ind__need(p, '='))) return false;
    for (*k = 0; *k < f->num_args; ++*k)
        if (keyword ? !strcmp(f->arg[*k], name) : !call->operand_set[*k]) break;
    if (*k == f->num_args) {
        if (keyword) return ind__parse_error(p, at, IND_PARSE, "%s has no argument \"%.60s\"", f->name, name);
        return ind__parse_error(p, at, IND_PARSE, "%s takes %d arguments", f->name, f->num_args);
    }
    return !call->operand_set[*k] || ind__parse_error(p, at, IND_PARSE, "argument \"%s\" is given twice", f->arg[*k]);
}

static bool ind__parse_function_arguments(ind__parser *p, ind__parsed_call *call) {
    const ind__function *f = call->function;
    int k;
    for (k = 0; k < f->num_args; k++)
        if (!ind__push_operand(p, call, 0)) return false;
    if (!ind__need(p, '(')) return false;
    while (!p->status && !ind__peek(p, ')')) {
        if (!ind__need_function_argument(p, call, &k)) return false;
        call->operand_set[k] = true;
        if (!ind__need_operand(p, call, 0, &call->operand[k])) return false;
        if (!ind__peek(p, ')') && !ind__take(p, ',')) return ind__expected(p, "\",\" or \")\"");
    }
    if (!ind__need(p, ')')) return false;
    for (k = 0; k < f->num_args; k++) {
        if (!call->operand_set[k])
            return ind__parse_error(p, call->at, IND_PARSE, "%s: argument \"%s\" is missing", f->name, f->arg[k]);
    }
    call->attr[0] = (ind__attr){.kind = IND__ATTR_STR, .s = f->name};
    return true;
}

static bool ind__parse_arguments(ind__parser *p, ind__parsed_call *call) {
    const ind__schema *s = call->schema;
    if (call->function) return ind__parse_function_arguments(p, call);
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

/* The text of a string with its escapes resolved: \" \\ \n. In the graph's memory. */
static const char *ind__need_code(ind__parser *p) {
    if (!ind__peek(p, '"')) return ind__expected(p, "a string in double quotes"), NULL;
    const char *begin = p->at, *s = p->at + 1;
    while (*s && *s != '"' && *s != '\n') s += *s == '\\' && s[1] && s[1] != '\n' ? 2 : 1;
    if (*s != '"') return ind__parse_error(p, begin, IND_PARSE, "the string does not end on its line"), NULL;
    char *code = ind__arena_alloc(&p->g->arena, (size_t)(s - begin) + 1), *to = code;
    if (!code) return ind__parse_error(p, begin, IND_OUT_OF_MEMORY, "out of memory"), NULL;
    for (const char *from = begin + 1; from < s; from++) {
        bool escaped = *from == '\\';
        if (escaped) from++;
        *to++ = escaped && *from == 'n' ? '\n' : *from;
    }
    p->at = s + 1;
    return code;
}

/* function = "function" signature "=" string */
static void ind__parse_function(ind__parser *p) {
    ind__skip(p);
    const char *at = p->at;
    size_t n = strcspn(at, "=\"\n{}#");
    const char *signature = ind__arena_string(&p->g->arena, at, n);
    if (!signature) {
        ind__parse_error(p, at, IND_OUT_OF_MEMORY, "out of memory");
        return;
    }
    p->at = at + n;
    const char *code = ind__need(p, '=') ? ind__need_code(p) : NULL;
    if (!code) return;
    if (!code[strspn(code, " \t\n")]) {
        ind__parse_error(p, at, IND_PARSE, "the function's text is empty");
        return;
    }
    const ind__function *f = ind__function_declare(p->g->context, signature, code);
    if (!f) {
        ind_status s = ind_error_status(p->g->context);
        ind__parse_error(p, at, s ? s : IND_PARSE, "%s", ind_error(p->g->context));
        return;
    }
    ind__graph_add_function(p->g, f);
    ind__check_graph(p, at);
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
    const char *late;             /* the type, which names a size that the op makes: read after that */
    char size[IND__MAX_NAME + 1]; /* that size */
} ind__parsed_result;

/* Finds the first name within the brackets of a type that is no size of the graph yet; false: there is none. *end is
   set behind the type. */
static bool ind__find_new_size(ind__parser *p, char name[IND__MAX_NAME + 1], const char **end) {
    const char *at = p->at + strspn(p->at, " ");
    bool found = false;
    at += ind__name_length(at);
    at += strspn(at, " ");
    if (*at != '[') return false;
    for (at++; *at && *at != ']' && *at != '\n';) {
        size_t n = ind__name_length(at);
        bool taken = found || n > IND__MAX_NAME || at[n] == '(' || ind__ok(ind__find_size(p->g, at, n));
        if (n && !taken && !memchr(at, '.', n)) {
            snprintf(name, IND__MAX_NAME + 1, "%.*s", (int)n, at);
            found = true;
        }
        at += n ? n : 1;
    }
    *end = *at == ']' ? at + 1 : at;
    return found;
}

static bool ind__parse_result(ind__parser *p, ind__parsed_result *r) {
    ind__skip(p);
    r->at = p->at;
    if (!ind__need_new_name(
            p, "a statement: size, fact, guard, function, input, const, mutate, output, or NAME = OP(..)", r->name))
        return false;
    uint32_t other = ind__find_tensor(p->g, r->name, strlen(r->name));
    if (other && p->g->tensor[other].named)
        return ind__parse_error(p, r->at, IND_PARSE, "the name \"%s\" is already taken", r->name);
    if (other && !ind__rename(p->g, other, "made", false)) /* a made-up name gives way */
        return ind__parse_error(p, r->at, IND_OUT_OF_MEMORY, "out of memory");
    const char *end = NULL;
    r->typed = ind__take(p, ':');
    if (!r->typed || !ind__find_new_size(p, r->size, &end)) return !r->typed || ind__need_type(p, &r->type);
    r->late = p->at;
    p->at = end;
    return true;
}

/* Reads the types that were put off. */
static bool ind__parse_late_types(ind__parser *p, ind__parsed_result *r, uint32_t n) {
    const char *at = p->at;
    for (uint32_t k = 0; k < n && !p->status; k++) {
        if (!r[k].late) continue;
        p->at = r[k].late;
        if (ind__need_type(p, &r[k].type)) p->at = at;
    }
    return !p->status;
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

static bool ind__check_num_results(ind__parser *p, const ind__parsed_call *call, const ind__parsed_result *r,
                                   uint32_t given, uint32_t want) {
    if (given == want) return true;
    return ind__parse_error(p, r->at, IND_PARSE, "%s has %u result%s, %u name%s given", ind__op_name(call->op),
                            (unsigned)want, want == 1 ? "" : "s", (unsigned)given, given == 1 ? " is" : "s are");
}

/* Gives the results of the op that was just added the names, and checks the types, that were written. */
static bool ind__name_results(ind__parser *p, const ind__parsed_call *call, const ind__parsed_result *r, uint32_t num,
                              ind_tensor x) {
    if (!ind__check_num_results(p, call, r, num, p->g->node[p->g->num_nodes - 1].num_results)) return false;
    p->g->node[p->g->num_nodes - 1].line = ind__line_of(p, call->at);
    for (uint32_t k = 0; k < num; k++) {
        if (!ind__check_annotation(p, &r[k], &p->g->tensor[x.id + k])) return false;
        if (!ind__rename(p->g, x.id + k, r[k].name, true))
            return ind__parse_error(p, call->at, IND_OUT_OF_MEMORY, "out of memory");
    }
    return true;
}

/* add_(x, y), which may have a name: another one for x. */
static void ind__write_parsed(ind__parser *p, const ind__parsed_call *call, const ind__parsed_result *r,
                              uint32_t num_results, uint32_t value) {
    const uint32_t x = call->operand[0];
    char op[IND__MAX_NAME + 2];
    snprintf(op, sizeof op, "%s_", ind__op_name(call->op));
    if (num_results > 1) {
        ind__check_num_results(p, call, r, num_results, 1);
        return;
    }
    ind__write(p->g, op, x, value);
    if (!ind__check_graph(p, call->at) || !num_results || !ind__check_annotation(p, r, &p->g->tensor[x])) return;
    if (!ind__also_named(p->g, x, r->name)) ind__parse_error(p, call->at, IND_OUT_OF_MEMORY, "out of memory");
}

static void ind__add_parsed(ind__parser *p, ind__parsed_call *call, ind__parsed_result *r, uint32_t num_results) {
    const ind__schema *s = call->schema;
    for (uint32_t k = num_results; ind__op_has(call->op, 'Z') && k-- > 0;)
        if (r[k].late) p->g->wanted_size = r[k].size;
    ind_tensor x = ind__graph_add(p->g, call->op, call->operand, call->num_operands, call->attr, s->num_attrs, NULL,
                                  call->function ? call->function->name : NULL);
    p->g->wanted_size = NULL;
    if (!ind__check_graph(p, call->at)) return;
    p->g->node[p->g->num_nodes - 1].line = ind__line_of(p, call->at);
    if (call->in_place) {
        ind__write_parsed(p, call, r, num_results, x.id);
        return;
    }
    if (!ind__parse_late_types(p, r, num_results)) return;
    ind__name_results(p, call, r, num_results, x);
}

/* The names before "=", all different. */
static bool ind__parse_results(ind__parser *p, ind__parsed_result **list, uint32_t *n, uint32_t *capacity) {
    do {
        if (*n == IND__MAX_RESULTS)
            return ind__parse_error(p, p->at, IND_LIMIT, "no op has more than %d results", IND__MAX_RESULTS);
        ind__parsed_result *r = IND__PUSH(p->g->context, ind__parsed_result, *list, *n, *capacity);
        if (!r) return ind__parse_error(p, p->at, IND_OUT_OF_MEMORY, "out of memory");
        if (!ind__parse_result(p, r)) return false;
        for (uint32_t k = 0; k + 1 < *n; k++) {
            if (strcmp((*list)[k].name, r->name) == 0)
                return ind__parse_error(p, r->at, IND_PARSE, "the name \"%s\" is given twice", r->name);
        }
    } while (ind__take(p, ','));
    return true;
}

/* Does a call stand here, whose result has no name? */
static bool ind__at_call(ind__parser *p) {
    ind__skip(p);
    ind__parser ahead = {.at = p->at + ind__name_length(p->at)};
    ind__skip(&ahead);
    return ahead.at > p->at && *ahead.at == '(';
}

static bool ind__need_extern_argument(ind__parser *p, ind__parsed_call *call, ind__extern_build *b) {
    char name[IND__MAX_NAME + 1];
    ind__attr list = {0};
    ind_expr ints[IND__MAX_LIST];
    uint32_t id;
    const char *at = p->at;
    if (!ind__at_keyword(p)) return ind__need_operand(p, call, 0, &id) && ind__push_operand(p, call, id);
    if (!ind__need_name(p, "the name of an argument", name) || !ind__need(p, '=')) return false;
    if (!strcmp(name, "workspace") && !ind__ok(b->workspace)) return ind__need_expr(p, &b->workspace);
    if (strcmp(name, "mutates") || b->num_mutates)
        return ind__parse_error(p, at, IND_PARSE,
                                "extern has no argument \"%.60s\", or it is given twice; allowed: "
                                "workspace, mutates",
                                name);
    if (!ind__need_ints(p, &list, ints)) return false;
    if (list.count > IND_MAX_EXTERN_RESULTS)
        return ind__parse_error(p, at, IND_LIMIT, "at most %d results are possible", IND_MAX_EXTERN_RESULTS);
    memcpy(b->mutates, ints, (size_t)list.count * sizeof *ints);
    b->num_mutates = list.count;
    return true;
}

/* The types written before "=" are those of the declared results, unless a shape rule gives them. */
static bool ind__extern_written_types(ind__parser *p, ind__extern_build *b, const ind__parsed_result *r, int num) {
    bool any = false, all = true;
    for (int k = 0; k < num - b->num_mutates; k++) any = any || r[k].typed, all = all && r[k].typed;
    if (num < b->num_mutates || num > IND_MAX_EXTERN_RESULTS)
        return ind__parse_error(p, r->at, IND_LIMIT, "%d results; %d to %d are possible", num, b->num_mutates,
                                IND_MAX_EXTERN_RESULTS);
    const ind__extern *e = ind__extern_find(p->g->context, b->name);
    b->num_types = -1;
    if (!all && e && e->desc.shape) return true; /* what is written is compared with what it gives */
    if (!all)
        return ind__parse_error(p, r->at, IND_PARSE,
                                "%s: the types of its results are not written, and no shape rule "
                                "is registered",
                                b->name);
    b->num_types = num - b->num_mutates;
    for (int k = 0; any && k < b->num_types; k++) {
        b->type[k] = (ind_extern_type){.dtype = r[k].type.dtype, .rank = r[k].type.rank};
        memcpy(b->type[k].size, r[k].type.size, sizeof r[k].type.size);
    }
    return true;
}

/* extern "(" string { "," name } .. ")" */
static bool ind__parse_extern(ind__parser *p, ind__parsed_call *call, const ind__parsed_result *r, uint32_t num) {
    ind__attr name = {0};
    ind__extern_build b = {.g = p->g};
    if (!ind__need(p, '(') || !ind__need_string(p, &name)) return false;
    b.name = name.s;
    if (!ind__valid_name(b.name)) return ind__parse_error(p, call->at, IND_PARSE, "\"%.63s\" is not a name", b.name);
    while (!p->status && ind__take(p, ',')) {
        ind__skip(p);
        ind__need_extern_argument(p, call, &b);
    }
    if (p->status || !ind__need(p, ')') || !ind__extern_written_types(p, &b, r, (int)num)) return false;
    b.operand = call->operand;
    b.num_operands = call->num_operands;
    ind_tensor x = ind__add_extern(&b);
    return ind__check_graph(p, call->at) && ind__name_results(p, call, r, num, x);
}

/* assign = [ result { "," result } "=" ] op "(" [ argument { "," argument } ] ")" */
static void ind__parse_assign(ind__parser *p) {
    ind__parsed_result *result = NULL;
    ind__parsed_call call;
    uint32_t n = 0, capacity = 0;
    memset(&call, 0, sizeof call);
    bool named = !ind__at_call(p);
    bool ok = !named || (ind__parse_results(p, &result, &n, &capacity) && ind__need(p, '='));
    ok = ok && ind__need_op(p, &call);
    if (ok && !named && !call.in_place)
        ok = ind__parse_error(p, call.at, IND_PARSE, "%s: its result needs a name; only an op in place (add_) has none",
                              ind__op_name(call.op));
    uint32_t want = ok ? ind__op_rows[call.op].results : 0;
    if (ok && want && n > want) ok = ind__check_num_results(p, &call, result, n, want);
    if (ok && call.op == IND_OP_EXTERN)
        ind__parse_extern(p, &call, result, n);
    else if (ok && ind__parse_arguments(p, &call))
        ind__add_parsed(p, &call, result, n);
    ind__free(p->g->context, call.operand);
    ind__free(p->g->context, result);
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
    } else if (ind__take_keyword(p, "function")) {
        ind__parse_function(p);
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

/* The types of the results and the bytes of workspace, as far as they are given. */
static bool ind__extern_texts(ind__extern_build *b, const ind_extern_args *args) {
    if (args->num_results || args->num_mutates) b->num_types = 0;
    for (; b->num_types >= 0 && b->num_types < args->num_results; b->num_types++) {
        const char *text = args->results[b->num_types];
        ind__parser p = {.g = b->g, .text = text, .at = text};
        ind__type t = {0};
        if (!text) {
            ind__graph_fail(b->g, IND_INVALID_ARGUMENT, "%s: the type of result %d is NULL", b->name, b->num_types);
            return false;
        }
        ind__need_type(&p, &t);
        if (!ind__finish_string(&p, b->name)) return false;
        b->type[b->num_types] = (ind_extern_type){.dtype = t.dtype, .rank = t.rank};
        memcpy(b->type[b->num_types].size, t.size, sizeof t.size);
    }
    if (!args->workspace) return true;
    ind__parser p = {.g = b->g, .text = args->workspace, .at = args->workspace};
    ind__need_expr(&p, &b->workspace);
    return ind__finish_string(&p, b->name);
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
    ind_status status = IND_OK;
    ind__infer_init(&in, g, n);
    if (ind__infer_results(&in)) {
        status = in.status == IND_OUT_OF_MEMORY ? in.status : IND_VERIFY;
        ind__fail(g->context, status, "graph %s: %s: %s", g->name, in.op_name, in.error);
    } else if (in.num_results != n->num_results) {
        status = ind__fail(g->context, IND_VERIFY, "graph %s: %s: it has %u results, the op gives %u", g->name,
                           in.op_name, (unsigned)n->num_results, (unsigned)in.num_results);
    }
    for (uint32_t r = 0; status == IND_OK && r < n->num_results; r++) {
        const ind__tensor_info *t = &g->tensor[n->result + r];
        bool same = t->dtype == in.result[r].dtype && t->rank == in.result[r].rank;
        for (int d = 0; same && d < t->rank; d++) same = ind_known_eq(t->size[d], in.result[r].size[d]);
        if (!same && ind_error_status(g->context) == IND_OUT_OF_MEMORY) {
            status = IND_OUT_OF_MEMORY; /* the sizes could not be compared */
        } else if (!same)
            status = ind__fail(g->context, IND_VERIFY, "graph %s: %s: result %u has another type than the op gives",
                               g->name, in.op_name, (unsigned)r);
    }
    ind__infer_free(&in);
    return status;
}

/* Invariants: operands come before their users; results are numbered in order and have the types that the op gives;
   names are unique and found; outputs exist and are no numbers. */
static ind_status ind__verify_nodes(const ind_graph *g) {
    uint32_t next = 1;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const ind__node *n = &g->node[i];
        bool ok = n->op < IND_NUM_OPS && n->result == next;
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
        ind_status status = source ? IND_OK : ind__verify_types(g, n);
        if (status) return status;
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
    case IND_F8E4M3FN: return (double)ind__f8e4m3fn_to_f32(ind__f32_to_f8e4m3fn((float)v));
    case IND_F8E5M2: return (double)ind__f8e5m2_to_f32(ind__f32_to_f8e5m2((float)v));
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

/* What an op of class U fills its result with, before it is converted to the result's type. */
static graph__typed_number graph__filled_with(const ind__node *n) {
    switch (n->op) {
    case IND_OP_SCALAR:
    case IND_OP_SCALAR_TENSOR:
    case IND_OP_FULL_LIKE: return graph__typed_number_of(&n->attr[0]);
    case IND_OP_FULL:
    case IND_OP_NEW_FULL: return graph__typed_number_of(&n->attr[1]);
    case IND_OP_ONES:
    case IND_OP_ONES_LIKE:
    case IND_OP_NEW_ONES: return (graph__typed_number){IND_I64, 1, 0};
    default: return (graph__typed_number){IND_I64, 0, 0};
    }
}

/* The one value that all elements of a tensor have, if its op says so. A Python number keeps its full precision. */
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
    case IND_OP_ABS:
        out->f = fabs(a.f);
        out->i = ind__wrap_int(t, a.i < 0 ? (int64_t)(0 - (uint64_t)a.i) : a.i);
        return true;
    case IND_OP_FLOOR: out->f = floor(a.f); return true;
    case IND_OP_CEIL: out->f = ceil(a.f); return true;
    case IND_OP_TRUNC: out->f = trunc(a.f); return true;
    case IND_OP_SQRT: out->f = graph__round_to_dtype(t, sqrt(a.f)); return true;
    case IND_OP_RECIPROCAL: out->f = graph__round_to_dtype(t, 1 / a.f); return true;
    default: return false;
    }
}

/* Only ops whose result every device rounds alike: exp and its kin are left to the device. */
static bool graph__fold_value(const ind_graph *g, const ind__node *n, ind_dtype result, graph__typed_number *out) {
    graph__typed_number x[3];
    if (ind__op_has(n->op, 'U')) {
        return n->op != IND_OP_SCALAR && n->op != IND_OP_FULL &&
               graph__typed_number_cast(graph__filled_with(n), result, out);
    }
    if (n->op == IND_OP_FILL)
        return graph__uniform_of(g, n->operand[1], &x[0]) && graph__typed_number_cast(x[0], result, out);
    if (ind__is_rounded_div(n->op, n->attr)) return false;
    if (n->num_operands == 0 || n->num_operands > 3) return false;
    for (uint32_t k = 0; k < n->num_operands; k++) {
        if (n->operand[k] == 0 || !graph__uniform_of(g, n->operand[k], &x[k])) return false;
    }
    if (ind__op_has(n->op, 'V')) return graph__typed_number_cast(x[0], result, out);
    if (n->op == IND_OP_WHERE) return graph__typed_number_cast(x[0].i != 0 || x[0].f != 0 ? x[1] : x[2], result, out);
    if (!ind__op_has(n->op, 'P') || n->op == IND_OP_CUSTOM || n->op == IND_OP_CALL || n->op == IND_OP_CAT) return false;
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
    case IND_OP_DIV: return graph__uniform_is(g, b, 1) && !ind__is_rounded_div(n->op, n->attr) ? a : 0;
    case IND_OP_POW: return graph__uniform_is(g, b, 1) ? a : 0;
    case IND_OP_CLONE:
    case IND_OP_ALIAS: return a;
    case IND_OP_COPY: return b;
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

/* x + 0, x - 0, x * 1, x / 1, x ** 1, --x, relu(relu(x)), where with a constant condition or equal branches, copies,
   and casts and views that change nothing. A Python number never stands for a tensor: it would promote differently. */
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
    for (int k = 0; a->list && k < a->count; k++) h = ind__hash(&a->list[k].id, sizeof a->list[k].id, h);
    for (int k = 0; a->floats && k < a->count; k++) h = ind__hash(&a->floats[k], sizeof a->floats[k], h);
    return h;
}

static bool graph__attr_equal(const ind__attr *a, const ind__attr *b) {
    if (a->kind != b->kind || a->is_int != b->is_int || a->i != b->i || a->count != b->count || a->e.id != b->e.id)
        return false;
    if (memcmp(&a->f, &b->f, sizeof a->f) != 0 || (a->s == NULL) != (b->s == NULL)) return false;
    if (a->s && strcmp(a->s, b->s) != 0) return false;
    for (int k = 0; a->list && b->list && k < a->count; k++) {
        if (a->list[k].id != b->list[k].id) return false;
    }
    return !a->floats || !b->floats || !a->count || !memcmp(a->floats, b->floats, (size_t)a->count * sizeof(double));
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
    bool own = op == IND_OP_CUSTOM || op == IND_OP_ASSOCIATIVE_SCAN || op == IND_OP_EXTERN; /* made by C functions */
    return op != IND_OP_INPUT && op != IND_OP_CONST && !own;
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

/* The sizes from data in what a node is given and gives, as bits. */
static uint64_t graph__sizes_from_data(const ind_graph *g, const ind__node *n) {
    uint64_t in = 0;
    for (uint32_t r = 0; g->num_unbacked && r < n->num_results; r++) {
        const ind__tensor_info *t = &g->tensor[n->result + r];
        for (int d = 0; d < t->rank; d++) in |= ind__unbacked_in(g->unbacked, g->num_unbacked, t->size[d]);
    }
    for (uint32_t i = 0; g->num_unbacked && i < n->num_attrs; i++) {
        const ind__attr *a = &n->attr[i];
        if (a->kind == IND__ATTR_SIZE) in |= ind__unbacked_in(g->unbacked, g->num_unbacked, a->e);
        for (int k = 0; (a->kind == IND__ATTR_SIZES || a->kind == IND__ATTR_INTS) && k < a->count; k++)
            in |= ind__unbacked_in(g->unbacked, g->num_unbacked, a->list[k]);
    }
    return in;
}

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
        uint64_t sizes = r->live[i] ? graph__sizes_from_data(g, n) : 0;
        for (uint32_t u = 0; u < g->num_unbacked; u++)
            if (sizes >> u & 1) r->live[g->unbacked[u].node] = true;
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
    for (uint32_t i = 0; i < g->num_functions; i++) {
        ind_status status = ind__graph_add_function(r->to, g->function[i]);
        if (status) return status;
    }
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
    bool deterministic;     /* scatters join what meets in the order of the points */
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

static const graph__lowering_row *graph__lowering_of(ind_graph_op op);

/* The node being lowered: what its loop functions are given. */
struct graph__lower_ctx {
    const graph__lower_walk *w;
    ind_context *context;
    const ind__node *node;
    const graph__lowering_row *row;
    const ind__tensor_info *result;  /* of the first result; the others follow */
    ind_dtype compute;               /* type the operands are cast to */
    graph__lower_element_fn element; /* of the pointwise loop or the reduction being recorded */
    ind__box *part[2];               /* results of an earlier loop of this node */
    graph__lower_scatter_fn scatter; /* of the scatter being recorded */
    ind_reduction mode;              /* .. how its values join what is there */
    ind__box *into;                  /* memory of which operand 0 is a part, if that is scattered into instead .. */
    ind_expr place[IND_MAX_RANK];    /* .. at these indices, by the index in operand 0 */
    double number;                   /* of graph__number_element, for floats and for the others */
    int64_t number_int;
    struct { /* dimensions of what a reduction reads, mostly operand 0 */
        int rank;
        int kept[IND_MAX_RANK], num_kept, reduced[IND_MAX_RANK], num_reduced;
        ind_expr size[IND_MAX_RANK], range[IND_MAX_RANK]; /* of the kept and of the reduced ones */
        ind_expr count;                                   /* elements that one result is made of */
    } axes;
    struct { /* norm: its input, with the channel dimension split into groups if it has groups */
        ind__box *x, *gradient;
        bool grouped;
        int rows; /* leading dimensions of x that number what is normalised together */
    } norm;
    struct {                         /* loss over classes */
        ind__box *scores, *smooth;   /* log-probabilities; their (weighted) sums over the classes, or NULL */
        ind_expr size[IND_MAX_RANK]; /* of the rows: all dimensions but that of the classes */
        int rank, classes;
    } loss;
    ind__window window; /* of a pool or a convolution */
    ind__conv conv;
    ind_expr conv_channels, conv_outputs; /* of one group: of the operand, of the result */
    bool adaptive[3];                     /* the window's size and place depend on its number */
    struct {                              /* matrix product: out[batch.., m, n] += a[.., m, k] * b[.., k, n] */
        ind__box *a, *b;
        bool has_m, has_n, transposed; /* transposed: b is [n, k] */
        ind_expr size[IND_MAX_RANK];
        int rank, batch;
    } product;
    struct { /* points of which some are chosen: their sizes, which they are, and how many up to each of them */
        ind_expr size[IND_MAX_RANK];
        int rank;
        graph__lower_element_fn flag;
        ind__box *counts;
    } chosen;
    struct { /* repeat_interleave: the dimension of the result, and how long it is at most */
        int dim;
        ind_expr most;
    } repeats;
    struct {
        ind__box *scores;  /* query @ key^T */
        ind_expr features; /* of query and key */
    } attention;
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
    if (l->compute == IND_BOOL) return f.i || f.f != 0 ? x : ind_op_constant_int(o, 0, IND_BOOL);
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
    graph__typed_number alpha = graph__typed_number_of(&l->node->attr[0]);
    if (l->compute == IND_BOOL) return alpha.i || alpha.f != 0 ? ind__emit2(o, l->row->bool_op, a, b) : a;
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
    return graph__lower_number(o, graph__filled_with(l->node), l->result->dtype);
}

static ind_value graph__lower_arange(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank;
    ind_expr at = ind_expr_add(l->node->attr[0].e, ind_expr_mul(index[0], l->node->attr[2].e));
    return graph__lower_cast(o, ind_op_index(o, at, IND_I64), l->compute);
}

/* ---- random numbers ---- */

/* Bits [first, first + width) for the element at `index` of the result; operand k is the seed, the last attribute the
   stream. */
static ind_value graph__random_bits(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index, int rank,
                                    int first, int width) {
    ind_value seed = ind__box_load(o, graph__lower_operand_box(l, k), index, 0);
    ind_value stream = ind_op_constant_int(o, l->node->attr[l->node->num_attrs - 1].i, IND_I64);
    ind_expr at = ind__linearise(l->context, index, l->result->size, rank);
    return ind_op_philox(o, seed, stream, ind_op_index(o, at, IND_I64), first, width);
}

/* The topmost `width` bits of a half, plus `add`, times 2^-width. */
static ind_value graph__random_fraction(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                        int rank, int half, int width, int add) {
    ind_value bits = graph__random_bits(o, l, k, index, rank, 64 * half + 64 - width, width);
    if (add) bits = ind_op_add(o, bits, ind_op_constant_int(o, add, IND_I64));
    return ind_op_mul(o, ind_op_cast(o, bits, l->compute), graph__lower_float(o, l, ldexp(1, -width)));
}

static ind_value graph__lower_philox(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value v[3];
    for (uint32_t k = 0; k < 3; k++) v[k] = graph__lower_operand(o, l, k, index, rank);
    return ind_op_philox(o, v[0], v[1], v[2], (int)l->node->attr[0].i, (int)l->node->attr[1].i);
}

static ind_value graph__lower_rand(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_dtype d = l->result->dtype;
    int width = d == IND_F64 ? 53 : d == IND_F16 ? 11 : d == IND_BF16 ? 8 : 24;
    return graph__random_fraction(o, l, 0, index, rank, 0, width, 0);
}

static ind_value graph__lower_randn(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int width = l->compute == IND_F64 ? 53 : 24;
    ind_value u = graph__random_fraction(o, l, 0, index, rank, 0, width, 1);
    ind_value v = graph__random_fraction(o, l, 0, index, rank, 1, width, 0);
    ind_value radius = ind_op_sqrt(o, ind_op_mul(o, graph__lower_float(o, l, -2), ind_op_log(o, u)));
    return ind_op_mul(o, radius, ind_op_cos(o, ind_op_mul(o, graph__lower_float(o, l, 6.28318530717958647693), v)));
}

static ind_value graph__lower_randint(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr low = l->node->attr[0].e, high = l->node->attr[1].e;
    ind_value bits = graph__random_bits(o, l, 0, index, rank, 0, 63);
    ind_value n = ind_op_index(o, ind_expr_sub(high, low), IND_I64);
    ind_value rest = ind_op_sub(o, bits, ind_op_mul(o, ind_op_div(o, bits, n), n));
    return graph__lower_cast(o, ind_op_add(o, rest, ind_op_index(o, low, IND_I64)), l->compute);
}

static ind_value graph__lower_bernoulli(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value u = graph__random_fraction(o, l, 1, index, rank, 0, l->compute == IND_F64 ? 53 : 24, 0);
    return ind_op_cast(o, ind_op_lt(o, u, graph__lower_operand(o, l, 0, index, rank)), l->compute);
}

static ind_value graph__dropout_kept(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    if (!l->node->attr[1].i) return ind_op_constant_int(o, 1, IND_BOOL);
    ind_value u = graph__random_fraction(o, l, 1, index, rank, 0, 24, 0);
    return ind_op_ge(o, u, graph__lower_float(o, l, l->node->attr[0].f));
}

static ind_value graph__dropout_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    double p = l->node->attr[0].f;
    if (!l->node->attr[1].i) return x;
    ind_value scaled = ind_op_mul(o, x, graph__lower_float(o, l, p < 1 ? 1 / (1 - p) : 0));
    return ind_op_where(o, graph__dropout_kept(o, index, rank, l), scaled, graph__lower_float(o, l, 0));
}

static ind_status graph__lower_native_dropout(graph__lower_ctx *l, ind__box **results) {
    ind_status status =
        graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__dropout_element, &results[0]);
    if (status) return status;
    return graph__lower_loop(l, IND_BOOL, l->result->size, l->result->rank, graph__dropout_kept, &results[1]);
}

/* ---- pointwise ops made of others */

static ind_value graph__lower_int(ind_ops *o, const graph__lower_ctx *l, int64_t v) {
    return graph__lower_number(o, (graph__typed_number){IND_I64, v, 0}, l->compute);
}

static ind_value graph__lower_attr(ind_ops *o, const graph__lower_ctx *l, uint32_t i) {
    const ind__attr *a = &l->node->attr[i];
    return a->kind == IND__ATTR_FLOAT ? graph__lower_float(o, l, a->f)
                                      : graph__lower_number(o, graph__typed_number_of(a), l->compute);
}

/* floor, ceil, trunc and round leave integers as they are. */
static ind_value graph__lower_to_whole(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    if (!ind_dtype_is_float(l->compute)) return x;
    int64_t decimals = l->node->op == IND_OP_ROUND ? l->node->attr[0].i : 0;
    if (decimals == 0) return ind__emit1(o, l->row->op, x);
    ind_value power = graph__lower_float(o, l, pow(10, fabs((double)decimals)));
    if (decimals < 0) return ind_op_mul(o, ind_op_rint(o, ind_op_div(o, x, power)), power);
    return ind_op_div(o, ind_op_rint(o, ind_op_mul(o, x, power)), power);
}

/* (x > 0) - (x < 0): 0 for NaN, as in PyTorch. */
static ind_value graph__lower_sign(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    if (l->compute == IND_BOOL) return x;
    ind_value zero = graph__lower_int(o, l, 0);
    return ind_op_sub(o, ind_op_cast(o, ind_op_gt(o, x, zero), l->compute),
                      ind_op_cast(o, ind_op_lt(o, x, zero), l->compute));
}

static ind_value graph__lower_square(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_mul(o, x, x);
}

/* signbit isnan isinf isfinite. */
static ind_value graph__lower_predicate(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    bool of_float = ind_dtype_is_float(l->compute);
    if (l->node->op == IND_OP_SIGNBIT) {
        x = of_float ? ind_op_copysign(o, graph__lower_float(o, l, 1), x) : x;
        return ind_op_lt(o, x, graph__lower_int(o, l, 0));
    }
    if (!of_float) return ind_op_constant_int(o, l->node->op == IND_OP_ISFINITE, IND_BOOL);
    if (l->node->op == IND_OP_ISNAN) return ind_op_ne(o, x, x);
    ind_value infinity = graph__lower_float(o, l, INFINITY);
    ind_loop_op compare = l->node->op == IND_OP_ISINF ? IND_LOOP_EQ : IND_LOOP_LT;
    return ind__emit2(o, compare, ind_op_abs(o, x), infinity);
}

static ind_value graph__lower_bitwise_not(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return l->compute == IND_BOOL ? ind_op_not(o, x) : ind_op_bit_xor(o, x, graph__lower_int(o, l, -1));
}

/* Is the remainder r of a division not 0, with another sign than the divisor? */
static ind_value graph__lower_astray(ind_ops *o, const graph__lower_ctx *l, ind_value r, ind_value divisor) {
    ind_value zero = graph__lower_int(o, l, 0);
    ind_value below = ind_op_and(o, ind_op_lt(o, r, zero), ind_op_gt(o, divisor, zero));
    return ind_op_or(o, below, ind_op_and(o, ind_op_gt(o, r, zero), ind_op_lt(o, divisor, zero)));
}

/* a - b floor(a / b): the sign of the divisor. x % 0 is x on integers (PyTorch: an error or anything), NaN on
 * floats.
 */
static ind_value graph__lower_remainder(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    ind_value r = ind_op_fmod(o, a, b);
    return ind_op_where(o, graph__lower_astray(o, l, r, b), ind_op_add(o, r, b), r);
}

/* The largest whole number not above a / b, from the exact remainder (Python's float_floor_div). */
static ind_value graph__float_floor_div(ind_ops *o, graph__lower_ctx *l, ind_value a, ind_value b) {
    ind_value zero = graph__lower_int(o, l, 0), one = graph__lower_int(o, l, 1);
    ind_value ratio = ind_op_div(o, a, b), r = ind_op_fmod(o, a, b);
    ind_value q = ind_op_div(o, ind_op_sub(o, a, r), b);
    q = ind_op_where(o, graph__lower_astray(o, l, r, b), ind_op_sub(o, q, one), q);
    ind_value whole = ind_op_floor(o, q);
    ind_value above = ind_op_gt(o, ind_op_sub(o, q, whole), graph__lower_float(o, l, 0.5));
    whole = ind_op_where(o, above, ind_op_add(o, whole, one), whole);
    whole = ind_op_where(o, ind_op_eq(o, q, zero), ind_op_copysign(o, zero, ratio), whole);
    return ind_op_where(o, ind_op_eq(o, b, zero), ratio, whole);
}

/* x // 0 is 0 on integers, where PyTorch fails on the CPU and gives anything on a GPU. */
static ind_value graph__lower_div(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    bool of_float = ind_dtype_is_float(l->compute);
    if (!ind__is_rounded_div(l->node->op, l->node->attr)) return ind_op_div(o, a, b);
    if (l->node->op == IND_OP_DIV && !strcmp(l->node->attr[0].s, "trunc")) {
        ind_value q = ind_op_div(o, a, b);
        return of_float ? ind_op_trunc(o, q) : q;
    }
    if (of_float) return graph__float_floor_div(o, l, a, b);
    ind_value astray = graph__lower_astray(o, l, ind_op_fmod(o, a, b), b);
    return ind_op_sub(o, ind_op_div(o, a, b), ind_op_cast(o, astray, l->compute));
}

/* I0 and I1 in two factors of exp(|x| / 2), so that they overflow no sooner than they must. */
static ind_value graph__lower_bessel(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), size = ind_op_abs(o, x);
    ind_value root = ind_op_exp(o, ind_op_mul(o, size, graph__lower_float(o, l, 0.5)));
    ind_value v = ind_op_mul(o, ind_op_mul(o, ind__emit1(o, l->row->op, x), root), root);
    ind_value infinite = ind_op_eq(o, size, graph__lower_float(o, l, INFINITY));
    return ind_op_where(o, infinite, l->node->op == IND_OP_I0 ? size : x, v);
}

/* (-1)^(n+1) n! zeta(n + 1, x) (Abramowitz and Stegun 6.4.10) */
static ind_value graph__lower_polygamma(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    double n = (double)l->node->attr[0].i;
    if (n == 0) return ind_op_digamma(o, x);
    double factor = fmod(n, 2) ? tgamma(n + 1) : -tgamma(n + 1);
    return ind_op_mul(o, graph__lower_float(o, l, factor), ind_op_zeta(o, graph__lower_float(o, l, n + 1), x));
}

/* sin(pi x) / (pi x), 1 at 0 */
static ind_value graph__lower_sinc(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    ind_value angle = ind_op_mul(o, x, graph__lower_float(o, l, 3.14159265358979323846));
    return ind_op_where(o, ind_op_eq(o, x, graph__lower_int(o, l, 0)), graph__lower_int(o, l, 1),
                        ind_op_div(o, ind_op_sin(o, angle), angle));
}

/* log(x / (1 - x)), with x clamped to [eps, 1 - eps] where eps is given */
static ind_value graph__lower_logit(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), one = graph__lower_int(o, l, 1);
    if (l->node->attr[0].kind != IND__ATTR_NONE) {
        ind_value eps = graph__lower_attr(o, l, 0);
        x = ind_op_minimum(o, ind_op_maximum(o, x, eps), ind_op_sub(o, one, eps));
    }
    return ind_op_log(o, ind_op_div(o, x, ind_op_sub(o, one, x)));
}

/* x log(y): 0 where x is 0, unless y is NaN */
static ind_value graph__lower_xlogy(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), y = graph__lower_operand(o, l, 1, index, rank);
    ind_value zero = graph__lower_int(o, l, 0), product = ind_op_mul(o, x, ind_op_log(o, y));
    ind_value v = ind_op_where(o, ind_op_eq(o, x, zero), zero, product);
    return ind_op_where(o, ind_op_ne(o, y, y), y, v);
}

/* log(exp(a) + exp(b)) = max(a, b) + log1p(exp(-|a - b|)); equal infinities are themselves */
static ind_value graph__lower_logaddexp(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    ind_value gap = ind_op_neg(o, ind_op_abs(o, ind_op_sub(o, a, b)));
    ind_value v = ind_op_add(o, ind_op_maximum(o, a, b), ind_op_log1p(o, ind_op_exp(o, gap)));
    ind_value infinite = ind_op_eq(o, ind_op_abs(o, a), graph__lower_float(o, l, INFINITY));
    return ind_op_where(o, ind_op_and(o, infinite, ind_op_eq(o, a, b)), a, v);
}

/* minimum(maximum(x, min), max): NaN of any operand is the result, and max counts where min > max. */
static ind_value graph__lower_clamp(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    bool logic = l->compute == IND_BOOL;
    for (uint32_t k = 1; k <= 2; k++) {
        ind_loop_op op = k == 1 ? (logic ? IND_LOOP_OR : IND_LOOP_MAXIMUM) : (logic ? IND_LOOP_AND : IND_LOOP_MINIMUM);
        if (graph__lower_has_operand(l, k)) x = ind__emit2(o, op, x, graph__lower_operand(o, l, k, index, rank));
    }
    return x;
}

static ind_value graph__lower_hardtanh(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    bool six = l->node->op == IND_OP_RELU6;
    ind_value low = six ? graph__lower_int(o, l, 0) : graph__lower_attr(o, l, 0);
    ind_value high = six ? graph__lower_int(o, l, 6) : graph__lower_attr(o, l, 1);
    return ind_op_minimum(o, ind_op_maximum(o, graph__lower_operand(o, l, 0, index, rank), low), high);
}

/* relu6(x + 3) / 6; hardswish: x times that */
static ind_value graph__lower_hardsigmoid(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), six = graph__lower_int(o, l, 6);
    ind_value v = ind_op_maximum(o, ind_op_add(o, x, graph__lower_int(o, l, 3)), graph__lower_int(o, l, 0));
    v = ind_op_minimum(o, v, six);
    return ind_op_div(o, l->node->op == IND_OP_HARDSWISH ? ind_op_mul(o, x, v) : v, six);
}

/* From the end that is nearer, so that weights 0 and 1 give the ends. */
static ind_value graph__lower_lerp(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    ind_value w = graph__lower_operand(o, l, 2, index, rank), d = ind_op_sub(o, b, a);
    ind_value low = ind_op_add(o, a, ind_op_mul(o, w, d));
    ind_value high = ind_op_sub(o, b, ind_op_mul(o, d, ind_op_sub(o, graph__lower_int(o, l, 1), w)));
    return ind_op_where(o, ind_op_lt(o, ind_op_abs(o, w), graph__lower_float(o, l, 0.5)), low, high);
}

/* self + value * tensor1 * tensor2, or / tensor2 */
static ind_value graph__lower_addcmul(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank), a = graph__lower_operand(o, l, 1, index, rank);
    ind_value b = graph__lower_operand(o, l, 2, index, rank);
    graph__typed_number value = graph__typed_number_of(&l->node->attr[0]);
    if (value.i != 1 && value.f != 1) a = ind_op_mul(o, graph__lower_number(o, value, l->compute), a);
    return ind_op_add(o, x, l->node->op == IND_OP_ADDCDIV ? ind_op_div(o, a, b) : ind_op_mul(o, a, b));
}

static ind_value graph__lower_masked_fill(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value mask = graph__lower_operand_as(o, l, 1, index, rank, IND_BOOL);
    return ind_op_where(o, mask, graph__lower_operand(o, l, 2, index, rank),
                        graph__lower_operand(o, l, 0, index, rank));
}

static double graph__largest(ind_dtype dtype) {
    return dtype == IND_F16 ? 65504.0 : dtype == IND_BF16 ? 0x1.fep127 : dtype == IND_F32 ? FLT_MAX : DBL_MAX;
}

/* The neighbour of size > 0 in f16 or bf16, computed in f32: 0.7 to 1.4 units in the last place away, and rounded; one
   smallest number away among the subnormal ones; below infinity the largest. */
static ind_value graph__narrow_neighbour(ind_ops *o, const graph__lower_ctx *l, ind_value size, bool outward) {
    ind_dtype t = l->result->dtype;
    double unit = t == IND_F16 ? 0x1p-10 : 0x1p-7, normal = t == IND_F16 ? 0x1p-14 : 0x1p-126, sign = outward ? 1 : -1;
    ind_value scaled = ind_op_mul(o, size, graph__lower_float(o, l, 1 + sign * 0.7 * unit));
    ind_value subnormal = ind_op_add(o, size, graph__lower_float(o, l, sign * normal * unit));
    ind_value v =
        ind_op_where(o, ind_op_lt(o, size, graph__lower_float(o, l, normal)), subnormal, ind_op_cast(o, scaled, t));
    ind_value infinity = graph__lower_float(o, l, INFINITY);
    return outward ? v : ind_op_where(o, ind_op_eq(o, size, infinity), graph__lower_float(o, l, graph__largest(t)), v);
}

static ind_value graph__lower_nextafter(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value a = graph__lower_operand(o, l, 0, index, rank), b = graph__lower_operand(o, l, 1, index, rank);
    ind_dtype t = l->result->dtype;
    if (t != IND_F16 && t != IND_BF16) return ind_op_nextafter(o, a, b);
    ind_value size = ind_op_abs(o, a), zero = graph__lower_int(o, l, 0);
    ind_value rises = ind_op_gt(o, b, a), falls = ind_op_lt(o, b, a), positive = ind_op_gt(o, a, zero);
    ind_value outward = ind_op_or(o, ind_op_and(o, positive, rises), ind_op_and(o, ind_op_not(o, positive), falls));
    ind_value v =
        ind_op_where(o, outward, graph__narrow_neighbour(o, l, size, true), graph__narrow_neighbour(o, l, size, false));
    v = ind_op_copysign(o, v, ind_op_where(o, ind_op_eq(o, a, zero), b, a));
    v = ind_op_where(o, ind_op_eq(o, a, b), b, v);
    ind_value nan = ind_op_or(o, ind_op_ne(o, a, a), ind_op_ne(o, b, b));
    return ind_op_where(o, nan, ind_op_add(o, a, b), v);
}

/* What nan_to_num puts in the place of an infinity: attribute i, or the largest finite number of the type. */
static ind_value graph__lower_finite(ind_ops *o, const graph__lower_ctx *l, uint32_t i, double sign) {
    const ind__attr *a = &l->node->attr[i];
    double v = a->kind == IND__ATTR_NONE ? sign * graph__largest(l->result->dtype) : a->f;
    return graph__lower_number(o, (graph__typed_number){IND_F64, 0, v}, l->result->dtype);
}

static ind_value graph__lower_nan_to_num(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    if (!ind_dtype_is_float(l->compute)) return x;
    ind_value high = graph__lower_finite(o, l, 1, 1), low = graph__lower_finite(o, l, 2, -1);
    ind_value v = ind_op_where(o, ind_op_eq(o, x, graph__lower_float(o, l, -INFINITY)), low, x);
    v = ind_op_where(o, ind_op_eq(o, x, graph__lower_float(o, l, INFINITY)), high, v);
    return ind_op_where(o, ind_op_ne(o, x, x), graph__lower_attr(o, l, 0), v);
}

static ind_value graph__lower_threshold(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_where(o, ind_op_le(o, x, graph__lower_attr(o, l, 0)), graph__lower_attr(o, l, 1), x);
}

static ind_value graph__lower_leaky_relu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    return ind_op_where(o, ind_op_gt(o, x, graph__lower_int(o, l, 0)), x, ind_op_mul(o, x, graph__lower_attr(o, l, 0)));
}

/* scale * (x > 0 ? x : alpha * expm1(input_scale * x)); selu has the constants of Klambauer et al. 2017. */
static ind_value graph__lower_elu(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    double alpha = 1.6732632423543772848, scale = 1.0507009873554804934, input_scale = 1;
    if (l->node->op != IND_OP_SELU) alpha = l->node->attr[0].f, scale = 1;
    if (l->node->op == IND_OP_ELU) scale = l->node->attr[1].f, input_scale = l->node->attr[2].f;
    if (l->node->op == IND_OP_CELU) input_scale = 1 / alpha;
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    ind_value below = ind_op_expm1(o, ind_op_mul(o, x, graph__lower_float(o, l, input_scale)));
    return ind_op_where(o, ind_op_gt(o, x, graph__lower_int(o, l, 0)),
                        ind_op_mul(o, x, graph__lower_float(o, l, scale)),
                        ind_op_mul(o, below, graph__lower_float(o, l, alpha * scale)));
}

/* log(1 + exp(beta x)) / beta, x itself beyond the threshold; mish: x tanh(log(1 + exp(x))) */
static ind_value graph__lower_softplus(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    if (l->node->op == IND_OP_MISH) return ind_op_mul(o, x, ind_op_tanh(o, ind_op_log1p(o, ind_op_exp(o, x))));
    ind_value beta = graph__lower_attr(o, l, 0), scaled = ind_op_mul(o, x, beta);
    ind_value v = ind_op_div(o, ind_op_log1p(o, ind_op_exp(o, scaled)), beta);
    return ind_op_where(o, ind_op_gt(o, scaled, graph__lower_attr(o, l, 1)), x, v);
}

/* log(sigmoid(x)) = min(x, 0) - log1p(exp(-|x|)) */
static ind_value graph__lower_log_sigmoid(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    ind_value tail = ind_op_log1p(o, ind_op_exp(o, ind_op_neg(o, ind_op_abs(o, x))));
    return ind_op_sub(o, ind_op_minimum(o, x, graph__lower_int(o, l, 0)), tail);
}

/* The last operand in the type of the result: clone, copy and fill. */
static ind_value graph__lower_copy(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    uint32_t k = l->node->num_operands - 1;
    const ind__node *from = &l->w->graph->node[graph__lower_operand_info(l, k)->node];
    if (from->op == IND_OP_SCALAR)
        return graph__lower_number(o, graph__typed_number_of(&from->attr[0]), l->result->dtype);
    return ind_op_cast(o, graph__lower_load_broadcast(o, graph__lower_operand_box(l, k), index, rank),
                       l->result->dtype);
}

static ind_status graph__lower_alias(graph__lower_ctx *l, ind__box **results) {
    results[0] = graph__lower_operand_box(l, 0);
    return IND_OK;
}

/* ---- cat ---- */

/* Where each operand ends along the dimension (a stacked one takes one place), and what is computed for it alone. */
static const ind__parts *graph__parts_of(graph__lower_ctx *l, int dim) {
    ind__arena *arena = &l->w->program->arena;
    ind__parts *parts = ind__arena_alloc(arena, sizeof *parts);
    ind__part *part = ind__arena_alloc(arena, l->node->num_operands * sizeof *part);
    ind_expr end = ind_int(l->context, 0);
    if (!parts || !part) return NULL;
    *parts = (ind__parts){.dim = dim, .origin = l->w->program->origin, .part = part};
    for (uint32_t k = 0; k < l->node->num_operands; k++) {
        const ind__tensor_info *x = graph__lower_operand_info(l, k);
        const ind__storage *from = graph__lower_operand_box(l, k)->storage;
        ind_expr size = x->rank == l->result->rank ? x->size[dim] : ind_int(l->context, 1);
        if (graph__size_is_zero(size)) continue;
        end = ind_expr_add(end, size);
        part[parts->num] = (ind__part){.end = end};
        if (!from->buffer) part[parts->num].origin = from->origin, part[parts->num].num_origins = from->num_origins;
        parts->num++;
    }
    return ind__ok(end) ? parts : NULL;
}

/* One loop for now; where it is stored, its parts may be stored one by one. */
static ind_status graph__lower_parts(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_pointwise(l, results);
    int dim = (int)(l->node->attr[0].i < 0 ? l->node->attr[0].i + l->result->rank : l->node->attr[0].i);
    if (status) return status;
    results[0]->storage->parts = graph__parts_of(l, dim);
    return results[0]->storage->parts ? IND_OK : ind__failed(l->context);
}

/* Input k of a cat, which begins at `start` of the result. */
static ind_value graph__cat_element(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index, int rank,
                                    int dim, ind_expr start) {
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    at[dim] = ind_expr_sub(index[dim], start);
    return graph__lower_operand(o, l, k, at, rank);
}

/* From the last input to the first: where(i is in input k, input k, what comes after it). Each input is read only
   where it is the one, so the loads are masked; inputs without elements along the dimension take no part. */
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

/* Arguments come in the types that the function declares. */
static ind_value graph__lower_call(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__function *f = ind__graph_function(l->w->graph, l->node->attr[0].s);
    ind_value x[IND_MAX_FUNCTION_ARGS];
    for (int k = 0; k < f->num_args; k++)
        x[k] = graph__lower_operand_as(o, l, (uint32_t)k, index, rank, ind_dtype_compute(f->arg_dtype[k]));
    return ind__emit_call(o, f, x);
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

/* The element of operand 0 at indices read from memory. A table that may be empty must not be read when it is:
   every index is out of range then, and its check says so. */
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
    if (rank == 0) { /* the one index that there is must be 0 */
        ind_op_indirect(o, graph__lower_operand_as(o, l, 1, index, 0, IND_I64), ind_int(l->context, 1), false);
        return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), at, 0), l->compute);
    }
    at[dim] = graph__lower_indirect(o, l, 1, select ? index + dim : index, select ? 1 : rank, 0, dim);
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

/* Is operand 0 read by this op for the last time, and not as anything else? An output that is still to be stored, as
   constants are at the end, is a reader. */
static bool graph__last_read(const graph__lower_ctx *l, const ind__box *x) {
    return x->storage->last_reader <= (uint32_t)(l->node - l->w->graph->node);
}

static bool graph__dies_here(const graph__lower_ctx *l, const ind__box *x) {
    if (!graph__may_overwrite(l->w, x)) return false;
    for (uint32_t k = 1; k < l->node->num_operands; k++)
        if (graph__same_memory(x, graph__lower_operand_box(l, k))) return false;
    return graph__last_read(l, x);
}

/* Remembers for the schedule's text who keeps operand 0 from being changed in place, if it may be at all. */
static void graph__note_kept(const graph__lower_ctx *l, const ind__box *x) {
    ind__lowered *p = l->w->program;
    const uint32_t here = (uint32_t)(l->node - l->w->graph->node);
    if (!x->storage->buffer || !graph__may_overwrite(l->w, x)) return;
    ind__kept *k = IND__PUSH(p->context, ind__kept, p->kept, p->num_kept, p->cap_kept);
    uint32_t reader = graph__last_read(l, x) ? here : x->storage->last_reader;
    if (k) *k = (ind__kept){x->storage->buffer, here, reader};
}

/* A buffer with the values of operand 0 that this op may change. */
static ind__box *graph__lower_base(graph__lower_ctx *l) {
    ind__box *self = graph__lower_operand_box(l, 0);
    if (l->into) return l->into;
    if (!graph__dies_here(l, self)) {
        graph__note_kept(l, self);
        return ind__box_copy(l->w->program, self);
    }
    return ind__box_realise(l->w->program, self) ? NULL : self;
}

static void graph__lower_run_scatter(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    graph__lower_ctx *l = user;
    l->scatter(o, index, rank, to, l);
}

static void graph__put_part_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l);

/* The element of the memory written to that is element `at` of operand 0. */
static int graph__placed(const graph__lower_ctx *l, const ind_expr *at, int rank, ind_expr *out) {
    ind_expr from[IND_MAX_RANK];
    if (!l->into) {
        memcpy(out, at, (size_t)rank * sizeof *at);
        return rank;
    }
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    for (int d = 0; d < x->rank; d++) from[d] = ind__index_symbol(l->context, 'i', d, x->size[d]);
    for (int k = 0; k < l->into->rank; k++) out[k] = ind__substitute(l->place[k], from, at, x->rank);
    return l->into->rank;
}

static void graph__emit_scatter(ind_ops *o, const graph__lower_ctx *l, uint32_t to, const ind_expr *at, int rank,
                                ind_value v, ind_value mask) {
    ind_expr placed[IND_MAX_RANK];
    rank = graph__placed(l, at, rank, placed);
    ind__emit_scatter(o, to, placed, rank, v, mask, l->mode);
}

/* ---- scatters that give the same bits on every run (ind_compile_desc.deterministic) */

/* One of them: it changes `places` elements of base at `points` points. */
typedef struct graph__ordered {
    graph__lower_ctx *l;
    ind__box *base;
    ind_dtype compute;    /* type that its elements are joined in */
    const ind_expr *size; /* of the points */
    int rank;
    ind_expr points, places;
    ind__box *key, *value;                       /* per point: the element, `places` for none; what goes there */
    ind__box *sorted, *position, *sum, *meeting; /* per point in the order of keys; sum, meeting: of one key */
} graph__ordered;

static ind__capture graph__ordered_capture(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind__capture c = {.set = false};
    o->capture = &c;
    l->scatter(o, index, rank, 0, l);
    o->capture = NULL;
    return c;
}

static ind_value graph__ordered_key(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    ind__capture c = graph__ordered_capture(o, index, rank, u->l);
    if (!c.set) return (ind_value){0};
    ind_expr place = ind__linearise(u->l->context, c.index, u->base->size, u->base->rank);
    ind_value key = ind_op_index(o, place, IND_I64);
    return c.mask.id ? ind_op_where(o, c.mask, key, ind_op_index(o, u->places, IND_I64)) : key;
}

static ind_value graph__ordered_value(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    return graph__ordered_capture(o, index, rank, u->l).value;
}

/* x at the point of this number. */
static ind_value graph__ordered_point(ind_ops *o, const graph__ordered *u, const ind__box *x, ind_expr number) {
    ind_expr at[IND_MAX_RANK];
    ind__delinearise(u->l->context, number, u->size, u->rank, at);
    return ind__box_load(o, x, at, u->rank);
}

static ind_value graph__ordered_flat_key(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    (void)rank;
    return graph__ordered_point(o, u, u->key, index[0]);
}

/* Does another key stand at the neighbouring place `at`, or is there none? */
static ind_value graph__ordered_differs(ind_ops *o, const graph__ordered *u, ind_expr here, ind_expr at,
                                        ind_expr inside) {
    ind_value outer = o->mask, within = ind_op_index(o, inside, IND_BOOL);
    o->mask = outer.id ? ind_op_and(o, outer, within) : within;
    ind_value other = ind__box_load(o, u->sorted, &at, 1);
    o->mask = outer;
    return ind_op_or(o, ind_op_not(o, within), ind_op_ne(o, other, ind__box_load(o, u->sorted, &here, 1)));
}

static ind_value graph__ordered_begins(ind_ops *o, const graph__ordered *u, ind_expr at) {
    ind_expr zero = ind_int(u->l->context, 0), one = ind_int(u->l->context, 1);
    return graph__ordered_differs(o, u, at, ind_expr_sub(at, one), ind_expr_lt(zero, at));
}

static ind_value graph__ordered_ends(ind_ops *o, const graph__ordered *u, ind_expr at) {
    ind_expr next = ind_expr_add(at, ind_int(u->l->context, 1));
    return graph__ordered_differs(o, u, at, next, ind_expr_lt(next, u->points));
}

/* The value of the point that stands at this place of the sorted keys. */
static ind_value graph__ordered_sorted_value(ind_ops *o, const graph__ordered *u, ind_expr at) {
    ind_expr some = ind_expr_max(u->points, ind_int(u->l->context, 1)); /* of none nothing is read */
    ind_expr number = ind_op_indirect(o, ind__box_load(o, u->position, &at, 1), some, false);
    return ind__ok(number) ? graph__ordered_point(o, u, u->value, number) : (ind_value){0};
}

static ind_value graph__ordered_join(ind_ops *o, const graph__ordered *u, ind_value a, ind_value b) {
    return u->l->mode == IND_REDUCE_PROD ? ind_op_mul(o, a, b) : ind_op_add(o, a, b);
}

static bool graph__ordered_scanned(ind_ops *o, const ind_expr *index, ind_value *out, void *user) {
    const graph__ordered *u = user;
    out[0] = graph__ordered_sorted_value(o, u, index[0]);
    out[1] = graph__ordered_begins(o, u, index[0]);
    return out[0].id && out[1].id;
}

static bool graph__ordered_combine(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out,
                                   void *user) {
    out[0] = ind_op_where(o, right[1], right[0], graph__ordered_join(o, user, left[0], right[0]));
    out[1] = ind_op_or(o, left[1], right[1]);
    return out[0].id && out[1].id;
}

/* The last point of each key, and it alone, joins what all of them come to with the element, or replaces that. */
static void graph__ordered_store(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *user) {
    graph__ordered *u = user;
    ind_expr at[IND_MAX_RANK];
    ind_value outer = o->mask, key = ind__box_load(o, u->sorted, index, rank), v;
    ind_value inside = ind_op_lt(o, key, ind_op_index(o, u->places, IND_I64));
    ind_value mask = ind_op_and(o, graph__ordered_ends(o, u, index[0]), inside);
    o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    ind_expr place = ind_op_indirect(o, key, u->places, false);
    if (ind__ok(place)) {
        ind__delinearise(u->l->context, place, u->base->size, u->base->rank, at);
        v = u->sum ? ind__box_load(o, u->sum, index, rank) : graph__ordered_sorted_value(o, u, index[0]);
        ind__emit_scatter(o, to, at, u->base->rank, v, mask, u->l->mode);
    }
    o->mask = outer;
}

static ind_status graph__ordered_by_sorting(graph__ordered *u, ind__box **result) {
    ind__lowered *p = u->l->w->program;
    ind__box *sorted[2] = {NULL};
    ind__scan_desc sort = {IND_SCAN_ASCENDING, IND_I64, &u->points, 1, 0, graph__ordered_flat_key, u};
    ind_status status = ind__box_scan(p, &sort, sorted);
    u->sorted = sorted[0];
    u->position = sorted[1];
    if (!status && u->l->mode != IND_REDUCE_NONE) {
        ind__combine_desc d = {.num = 1, .states = 2, .dtype = &u->compute, .size = &u->points, .rank = 1, .user = u};
        d.element = graph__ordered_scanned;
        d.combine = graph__ordered_combine;
        status = ind__box_combine(p, &d, &u->sum);
    }
    ind__scatter_desc store = {.size = &u->points, .rank = 1, .fn = graph__ordered_store, .user = u};
    return status ? status : ind__box_scatter(p, u->base, &store, result);
}

/* Of every point: its value where it is for this element, else what changes nothing. index: the element, the point. */
static ind_value graph__ordered_looked_at(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    const ind_expr *point = index + u->base->rank;
    ind_expr place = ind__linearise(u->l->context, index, u->base->size, u->base->rank);
    ind_value own = ind_op_eq(o, ind__box_load(o, u->key, point, u->rank), ind_op_index(o, place, IND_I64));
    (void)rank;
    if (u->l->mode == IND_REDUCE_NONE) {
        ind_value number = ind_op_index(o, ind__linearise(u->l->context, point, u->size, u->rank), IND_I64);
        return ind_op_where(o, own, number, ind_op_constant_int(o, -1, IND_I64));
    }
    ind_value neutral = ind_op_constant(o, u->l->mode == IND_REDUCE_PROD, u->compute);
    return ind_op_where(o, own, ind__box_load(o, u->value, point, u->rank), neutral);
}

static ind_value graph__ordered_changed(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ordered *u = user;
    ind_value old = ind__box_load(o, u->base, index, rank), met = ind__box_load(o, u->meeting, index, rank);
    if (u->l->mode != IND_REDUCE_NONE) return graph__ordered_join(o, u, old, met);
    ind_value any = ind_op_ge(o, met, ind_op_constant_int(o, 0, IND_I64)), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, any) : any;
    ind_expr number = ind_op_indirect(o, met, ind_expr_max(u->points, ind_int(u->l->context, 1)), false);
    ind_value v = ind__ok(number) ? graph__ordered_point(o, u, u->value, number) : (ind_value){0};
    o->mask = outer;
    return ind_op_where(o, any, v, old);
}

static ind_status graph__ordered_by_looking(graph__ordered *u, ind__box **result) {
    ind__lowered *p = u->l->w->program;
    bool picks = u->l->mode == IND_REDUCE_NONE;
    ind__reduction_desc d = {.type = picks ? IND_REDUCE_MAX : u->l->mode,
                             .dtype = picks ? IND_I64 : u->compute,
                             .size = u->base->size,
                             .rank = u->base->rank,
                             .rrange = u->size,
                             .rrank = u->rank,
                             .fn = graph__ordered_looked_at,
                             .user = u};
    ind_status status = ind__box_realise(p, u->key);
    if (!status) status = ind__box_realise(p, u->value);
    if (!status) status = ind__box_reduction(p, &d, &u->meeting);
    if (status) return status;
    *result = ind__box_pointwise(p, u->base->storage->dtype, u->base->size, u->base->rank, graph__ordered_changed, u);
    return ind__box_realise(p, *result);
}

#define GRAPH__FEW_STEPS 1048576.0 /* points times places that are looked at rather than sorted */

static ind_status graph__lower_ordered(graph__lower_ctx *l, ind__box *base, const ind_expr *size, int rank,
                                       ind__box **result) {
    ind__lowered *p = l->w->program;
    graph__ordered u = {.l = l, .base = base, .size = size, .rank = rank};
    u.points = ind_expr_product(l->context, size, rank);
    u.places = ind_expr_product(l->context, base->size, base->rank);
    u.compute = ind_dtype_compute(base->storage->dtype);
    u.key = ind__box_pointwise(p, IND_I64, size, rank, graph__ordered_key, &u);
    u.value = ind__box_pointwise(p, u.compute, size, rank, graph__ordered_value, &u);
    if (!u.key || !u.value) return ind__failed(l->context);
    bool few = (double)ind_hint(u.points) * (double)ind_hint(u.places) <= GRAPH__FEW_STEPS;
    p->note = few ? "deterministic: each element looks at all points" : "deterministic: points sorted by element";
    ind_status status = few ? graph__ordered_by_looking(&u, result) : graph__ordered_by_sorting(&u, result);
    p->note = NULL;
    return status;
}

/* May it matter in which order what meets at an element comes? */
static bool graph__order_matters(const graph__lower_ctx *l, const ind__box *base, const ind_expr *size, int rank) {
    ind_expr points = ind_expr_product(l->context, size, rank);
    bool joins = l->mode == IND_REDUCE_SUM || l->mode == IND_REDUCE_PROD;
    bool one_value = l->part[0] || l->node->op == IND_OP_INDEX_FILL ||
                     (l->node->op == IND_OP_SCATTER && !graph__lower_has_operand(l, 2));
    if (graph__size_is_zero(points) || graph__size_is_one(points)) return false;
    if (joins) return ind_dtype_is_float(base->storage->dtype);
    return l->mode == IND_REDUCE_NONE && !one_value && l->scatter != graph__put_part_element;
}

/* fn over `size`, storing into base; *result is what it is then. */
static ind_status graph__lower_scatter_loop(graph__lower_ctx *l, ind__box *base, const ind_expr *size, int rank,
                                            graph__lower_scatter_fn fn, ind_reduction mode, ind__box **result) {
    const bool once = fn == graph__put_part_element; /* all other places are data */
    ind__scatter_desc d = {.size = size, .rank = rank, .fn = graph__lower_run_scatter, .user = l, .each_once = once};
    l->scatter = fn;
    l->mode = mode;
    if (base && l->w->deterministic && graph__order_matters(l, base, size, rank))
        return graph__lower_ordered(l, base, size, rank, result);
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
    graph__emit_scatter(o, l, to, at, rank, v, mask);
}

static ind_status graph__lower_scatter(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    return graph__lower_scatter_loop(l, graph__lower_base(l), index->size, index->rank, graph__scatter_element,
                                     l->node->op == IND_OP_SCATTER_ADD ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

/* ---- opaque calls ---- */

/* The operand in a buffer that the call may overwrite: its own, where nobody reads it afterwards, else a copy. */
static ind__box *graph__lower_overwritten(graph__lower_ctx *l, uint32_t k) {
    ind__box *x = graph__lower_operand_box(l, k);
    bool dies = graph__may_overwrite(l->w, x) && x->storage->last_reader <= (uint32_t)(l->node - l->w->graph->node);
    for (uint32_t i = 0; i < l->node->num_operands; i++)
        dies = dies && (i == k || !graph__same_memory(x, graph__lower_operand_box(l, i)));
    return dies ? x : ind__box_copy(l->w->program, x);
}

static ind_status graph__lower_extern(graph__lower_ctx *l, ind__box **results) {
    ind__arena *arena = &l->w->program->arena;
    uint32_t n = l->node->num_operands;
    const ind__attr *mutates = &l->node->attr[2];
    int overwritten = mutates->kind == IND__ATTR_NONE ? 0 : mutates->count;
    ind__box **input = ind__arena_alloc(arena, (n + 1) * sizeof *input);
    bool *overwrites = ind__arena_alloc(arena, n + 1);
    ind_extern_type type[IND_MAX_EXTERN_RESULTS];
    if (!input || !overwrites) return ind__failed(l->context);
    int64_t operand[IND_MAX_EXTERN_RESULTS], none = 0;
    for (int k = 0; k < overwritten; k++) {
        ind_expr_is_int(mutates->list[k], &operand[k]);
        overwrites[operand[k]] = true;
    }
    for (uint32_t k = 0; k < n; k++)
        input[k] = overwrites[k] ? graph__lower_overwritten(l, k) : graph__lower_operand_box(l, k);
    ind__call_desc d = {.name = l->node->attr[0].s,
                        .input = input,
                        .overwrites = overwrites,
                        .num_inputs = n,
                        .result = type,
                        .num_results = l->node->num_results - (uint32_t)overwritten};
    for (uint32_t k = 0; k < d.num_results; k++) {
        type[k] = (ind_extern_type){.dtype = l->result[k].dtype, .rank = l->result[k].rank};
        memcpy(type[k].size, l->result[k].size, sizeof type[k].size);
    }
    if (!ind_expr_is_int(l->node->attr[1].e, &none) || none) d.workspace = l->node->attr[1].e;
    ind__box *made[IND_MAX_EXTERN_RESULTS];
    ind_status status = ind__box_call(l->w->program, &d, made);
    for (uint32_t k = 0; !status && k < d.num_results; k++) results[k] = made[k];
    for (int k = 0; !status && k < overwritten;
         k++) { /* the boxes come by operand, the results as they were asked for */
        int before = 0;
        for (int j = 0; j < overwritten; j++) before += operand[j] < operand[k];
        results[d.num_results + (uint32_t)k] = made[d.num_results + (uint32_t)before];
    }
    return status;
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
    graph__emit_scatter(o, l, to, at, rank, v, mask);
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
    graph__emit_scatter(o, l, to, at.at, l->result->rank, graph__lower_operand(o, l, 1, index, rank), at.mask);
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
    graph__emit_scatter(o, l, to, at, l->result->rank, v, mask);
}

static ind_status graph__lower_put(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *index = graph__lower_operand_info(l, 1);
    return graph__lower_scatter_loop(l, graph__lower_base(l), index->size, index->rank, graph__put_element,
                                     l->node->attr[0].i ? IND_REDUCE_SUM : IND_REDUCE_NONE, results);
}

/* Is this op one scatter into operand 0 and nothing else? */
static bool graph__scatters_once(const graph__lower_walk *w, const ind__node *n) {
    const graph__lower_fn fn = graph__lowering_of(n->op)->lower;
    if (fn == graph__lower_index_put) return !n->operand[2] || w->graph->tensor[n->operand[2]].dtype != IND_BOOL;
    return fn == graph__lower_scatter || fn == graph__lower_index_scatter || fn == graph__lower_put;
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

static bool graph__lower_put_through(graph__lower_ctx *l, ind__box **results, ind_status *status);

static ind_status graph__lower_view(graph__lower_ctx *l, ind__box **results) {
    ind_status status;
    if (graph__lower_put_through(l, results, &status)) return status;
    results[0] = ind__box_reshape(l->w->program, graph__lower_operand_box(l, 0), l->result->size, l->result->rank);
    return results[0] ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_permute(graph__lower_ctx *l, ind__box **results) {
    ind_status status;
    if (graph__lower_put_through(l, results, &status)) return status;
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
    ind_status status;
    if (graph__lower_put_through(l, results, &status)) return status;
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

/* ---- more views ---- */

static int graph__from_end(int64_t dim, int rank) {
    return (int)(dim < 0 ? dim + (rank ? rank : 1) : dim);
}

/* Every index of operand 0 as that of the result with the same number. */
static void graph__lower_same_indices(const graph__lower_ctx *l, ind_expr map[IND_MAX_RANK]) {
    for (int d = 0; d < graph__lower_operand_info(l, 0)->rank; d++)
        map[d] = d < l->result->rank ? graph__lower_view_index(l, d) : ind_int(l->context, 0);
}

/* Operand k broadcast to result r. */
static ind_status graph__lower_broadcast_view(graph__lower_ctx *l, uint32_t k, uint32_t r, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, k), *y = &l->w->graph->tensor[l->node->result + r];
    ind_expr map[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        int to = y->rank - x->rank + d;
        map[d] = graph__size_is_one(x->size[d]) ? ind_int(l->context, 0)
                                                : ind__index_symbol(l->context, 'i', to, y->size[to]);
    }
    results[r] = ind__box_view(l->w->program, graph__lower_operand_box(l, k), y->size, y->rank, map);
    return results[r] ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_broadcast_tensors(graph__lower_ctx *l, ind__box **results) {
    ind_status status = IND_OK;
    for (uint32_t k = 0; !status && k < l->node->num_operands; k++)
        status = graph__lower_broadcast_view(l, k, k, results);
    return status;
}

static ind_status graph__lower_meshgrid(graph__lower_ctx *l, ind__box **results) {
    uint32_t n = l->node->num_operands;
    for (uint32_t k = 0; k < n; k++) {
        int d = ind__meshgrid_dim(&l->node->attr[0], k, n);
        ind_expr at = graph__lower_view_index(l, d);
        results[k] =
            ind__box_view(l->w->program, graph__lower_operand_box(l, k), l->result->size, l->result->rank, &at);
        if (!results[k]) return ind__failed(l->context);
    }
    return IND_OK;
}

static ind_status graph__lower_movedim(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *source = &l->node->attr[0], *destination = &l->node->attr[1];
    int rank = l->result->rank, next = 0;
    ind_expr map[IND_MAX_RANK] = {{0}};
    uint32_t taken = 0;
    for (int k = 0; k < source->count; k++) {
        int to = ind__list_dim(destination, k, rank);
        map[ind__list_dim(source, k, rank)] = graph__lower_view_index(l, to);
        taken |= 1u << to;
    }
    for (int d = 0; d < rank; d++) {
        while (taken >> next & 1) next++;
        if (!map[d].id) map[d] = graph__lower_view_index(l, next++);
    }
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_narrow(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = graph__from_end(l->node->attr[0].i, x->rank);
    ind_expr map[IND_MAX_RANK];
    graph__lower_same_indices(l, map);
    map[dim] = ind_expr_add(map[dim], ind__from_front(l->node->attr[1].e, x->size[dim]));
    return graph__lower_make_view(l, map, results);
}

/* split, split_with_sizes, chunk: the pieces follow each other along a dimension. */
static ind_status graph__lower_split(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = graph__from_end(l->node->attr[1].i, x->rank);
    ind_expr map[IND_MAX_RANK], start = ind_int(l->context, 0);
    for (uint32_t k = 0; k < l->node->num_results; k++) {
        const ind__tensor_info *piece = &l->w->graph->tensor[l->node->result + k];
        for (int d = 0; d < x->rank; d++) map[d] = ind__index_symbol(l->context, 'i', d, piece->size[d]);
        map[dim] = ind_expr_add(map[dim], start);
        results[k] = ind__box_view(l->w->program, graph__lower_operand_box(l, 0), piece->size, x->rank, map);
        if (!results[k]) return ind__failed(l->context);
        start = ind_expr_add(start, piece->size[dim]);
    }
    return IND_OK;
}

static ind_status graph__lower_unbind(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = graph__from_end(l->node->attr[0].i, x->rank);
    ind_expr map[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        if (d != dim) map[d] = graph__lower_view_index(l, d - (d > dim));
    }
    for (uint32_t k = 0; k < l->node->num_results; k++) {
        map[dim] = ind_int(l->context, k);
        results[k] =
            ind__box_view(l->w->program, graph__lower_operand_box(l, 0), l->result->size, l->result->rank, map);
        if (!results[k]) return ind__failed(l->context);
    }
    return IND_OK;
}

/* Window i of a dimension begins at i * step; its elements are a dimension of their own, the last. */
static ind_status graph__lower_unfold(graph__lower_ctx *l, ind__box **results) {
    int rank = l->result->rank - 1, dim = graph__from_end(l->node->attr[0].i, rank);
    ind_expr map[IND_MAX_RANK];
    graph__lower_same_indices(l, map);
    if (rank > 0) {
        map[dim] = ind_expr_add(ind_expr_mul(map[dim], l->node->attr[2].e), graph__lower_view_index(l, rank));
    }
    return graph__lower_make_view(l, map, results);
}

/* Where element `index` of a diagonal stands in the tensor of this rank. */
static void graph__diagonal_place(const ind__attr *attr, int rank, const ind_expr *index, ind_expr *map) {
    int64_t offset = attr[0].i;
    int a = graph__from_end(attr[1].i, rank), b = graph__from_end(attr[2].i, rank), next = 0;
    ind_expr at = index[rank - 2];
    for (int d = 0; d < rank; d++) {
        if (d != a && d != b) map[d] = index[next++];
    }
    map[a] = offset < 0 ? ind_expr_add(at, ind_int(at.context, -offset)) : at;
    map[b] = offset > 0 ? ind_expr_add(at, ind_int(at.context, offset)) : at;
}

static ind_status graph__lower_diagonal(graph__lower_ctx *l, ind__box **results) {
    ind_expr map[IND_MAX_RANK], index[IND_MAX_RANK];
    for (int d = 0; d < l->result->rank; d++) index[d] = graph__lower_view_index(l, d);
    graph__diagonal_place(l->node->attr, graph__lower_operand_info(l, 0)->rank, index, map);
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_as_strided(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK], at = l->node->attr[2].e;
    for (int d = 0; d < l->result->rank; d++)
        at = ind_expr_add(at, ind_expr_mul(graph__lower_view_index(l, d), l->node->attr[1].list[d]));
    ind__delinearise(l->context, at, x->size, x->rank, map);
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_flip(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *dims = &l->node->attr[0];
    ind_expr map[IND_MAX_RANK], one = ind_int(l->context, 1);
    int rank = l->result->rank;
    graph__lower_same_indices(l, map);
    for (int k = 0; rank > 0 && k < dims->count; k++) {
        int d = ind__list_dim(dims, k, rank);
        map[d] = ind_expr_sub(ind_expr_sub(l->result->size[d], one), map[d]);
    }
    return graph__lower_make_view(l, map, results);
}

/* x mod size, where a size that may be 0 is not divided by: nothing is read then. */
static ind_expr graph__wrapped(ind_expr x, ind_expr size) {
    ind_expr one = ind_int(size.context, 1);
    return ind_expr_mod(x, ind_known_le(one, size) ? size : ind_expr_max(size, one));
}

static ind_status graph__lower_roll(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *shifts = &l->node->attr[0], *dims = &l->node->attr[1];
    int rank = l->result->rank;
    ind_expr map[IND_MAX_RANK];
    graph__lower_same_indices(l, map);
    for (int k = 0; rank > 0 && dims->kind != IND__ATTR_NONE && k < dims->count; k++) {
        int d = ind__list_dim(dims, k, rank);
        map[d] = graph__wrapped(ind_expr_sub(map[d], shifts->list[k]), l->result->size[d]);
    }
    if (dims->kind == IND__ATTR_NONE || dims->count == 0) {
        ind_expr at = ind_expr_sub(ind__linearise(l->context, map, l->result->size, rank), shifts->list[0]);
        at = graph__wrapped(at, ind_expr_product(l->context, l->result->size, rank));
        ind__delinearise(l->context, at, l->result->size, rank, map);
    }
    return graph__lower_make_view(l, map, results);
}

static ind_status graph__lower_repeat(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        int to = l->result->rank - x->rank + d;
        bool once = ind_expr_same(x->size[d], l->result->size[to]);
        map[d] = graph__lower_view_index(l, to);
        if (!once) map[d] = graph__wrapped(map[d], x->size[d]);
    }
    return graph__lower_make_view(l, map, results);
}

/* pixel_shuffle: out[c, h, w] = in[(c, h % r, w % r), h / r, w / r], and the other way round. */
static ind_status graph__lower_pixel_shuffle(graph__lower_ctx *l, ind__box **results) {
    int rank = l->result->rank, c = rank - 3;
    ind_expr r = ind_int(l->context, l->node->attr[0].i), map[IND_MAX_RANK], *at = map + c;
    graph__lower_same_indices(l, map);
    if (l->node->op == IND_OP_PIXEL_SHUFFLE) {
        ind_expr row = ind_expr_add(ind_expr_mul(at[0], r), ind_expr_mod(at[1], r));
        at[0] = ind_expr_add(ind_expr_mul(row, r), ind_expr_mod(at[2], r));
        for (int k = 1; k < 3; k++) at[k] = ind_expr_floordiv(at[k], r);
    } else {
        ind_expr column = ind_expr_mod(at[0], r), row = ind_expr_modular(at[0], r, r);
        at[1] = ind_expr_add(ind_expr_mul(at[1], r), row);
        at[2] = ind_expr_add(ind_expr_mul(at[2], r), column);
        at[0] = ind_expr_floordiv(at[0], ind_expr_mul(r, r));
    }
    return graph__lower_make_view(l, map, results);
}

/* ---- ops that choose between elements ---- */

/* Element `at` of operand k, in the type of `otherwise`, where `inside` holds; `otherwise` elsewhere, without a read.
 */
static ind_value graph__lower_inside(ind_ops *o, const graph__lower_ctx *l, uint32_t k, ind_expr inside,
                                     const ind_expr *at, ind_value otherwise) {
    if (!otherwise.id) return otherwise;
    ind_dtype dtype = ind_op_dtype(o, otherwise);
    const ind__box *x = graph__lower_operand_box(l, k);
    ind_value mask = ind_op_index(o, inside, IND_BOOL), outer = o->mask;
    if (ind_known_true(inside)) return graph__lower_cast(o, ind__box_load(o, x, at, x->rank), dtype);
    if (ind__is_int(inside, 0)) return otherwise;
    o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    ind_value v = graph__lower_cast(o, ind__box_load(o, x, at, x->rank), dtype);
    o->mask = outer;
    return ind_op_where(o, mask, v, otherwise);
}

static ind_value graph__lower_zero(ind_ops *o, const graph__lower_ctx *l) {
    return graph__lower_number(o, (graph__typed_number){IND_I64, 0, 0}, l->compute);
}

/* inside, and 0 <= i < size. */
static ind_expr graph__and_within(ind_expr inside, ind_expr i, ind_expr size) {
    ind_expr within = ind_expr_and(ind_expr_le(ind_int(size.context, 0), i), ind_expr_lt(i, size));
    return ind_expr_and(inside, within);
}

/* From the last tensor to the first: where(i == k, tensor k, what comes after it). */
static ind_value graph__lower_stack(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int dim = graph__from_end(l->node->attr[0].i, rank);
    ind_expr at[IND_MAX_RANK];
    ind_value v = {0};
    for (int d = 0; d + 1 < rank; d++) at[d] = index[d + (d >= dim)];
    for (uint32_t k = l->node->num_operands; k-- > 0;) {
        ind_expr inside = ind_expr_eq(index[dim], ind_int(l->context, k));
        v = graph__lower_inside(o, l, k, inside, at, v.id ? v : graph__lower_zero(o, l));
    }
    return v;
}

/* Which element of the source stands at an index of the result, and whether one does. */
static ind_expr graph__select_source(const graph__lower_ctx *l, const ind_expr *index, int rank, ind_expr *at) {
    int dim = graph__from_end(l->node->attr[0].i, rank);
    for (int d = 0; d + 1 < rank; d++) at[d] = index[d + (d >= dim)];
    return ind_expr_eq(index[dim], ind__from_front(l->node->attr[1].e, l->result->size[dim]));
}

static ind_expr graph__slice_source(const graph__lower_ctx *l, const ind_expr *index, int rank, ind_expr *at) {
    int dim = graph__from_end(l->node->attr[0].i, rank);
    ind_expr first, last, step = l->node->attr[3].e;
    ind__slice_bounds(l->result->size[dim], &l->node->attr[1], &l->node->attr[2], &first, &last);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr from = ind_expr_sub(index[dim], first);
    at[dim] = ind_expr_floordiv(from, step);
    ind_expr hit = ind_expr_eq(ind_expr_mod(from, step), ind_int(l->context, 0));
    return ind_expr_and(ind_expr_and(ind_expr_le(first, index[dim]), ind_expr_lt(index[dim], last)), hit);
}

static ind_expr graph__diagonal_source(const graph__lower_ctx *l, const ind_expr *index, int rank, ind_expr *at) {
    int a = graph__from_end(l->node->attr[1].i, rank), b = graph__from_end(l->node->attr[2].i, rank), next = 0;
    int64_t offset = l->node->attr[0].i;
    for (int d = 0; d < rank; d++) {
        if (d != a && d != b) at[next++] = index[d];
    }
    at[next] = offset < 0 ? index[b] : index[a];
    return ind_expr_eq(ind_expr_sub(index[b], index[a]), ind_int(l->context, offset));
}

static ind_value graph__lower_view_scatter(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], inside;
    switch (l->node->op) {
    case IND_OP_SELECT_SCATTER: inside = graph__select_source(l, index, rank, at); break;
    case IND_OP_SLICE_SCATTER: inside = graph__slice_source(l, index, rank, at); break;
    default: inside = graph__diagonal_source(l, index, rank, at); break;
    }
    return graph__lower_inside(o, l, 1, inside, at, graph__lower_operand(o, l, 0, index, rank));
}

/* tril keeps what lies on or below the diagonal (column - row <= diagonal), triu the rest and the diagonal. */
static ind_value graph__lower_triangle(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr across = ind_expr_sub(index[rank - 1], index[rank - 2]), diagonal = l->node->attr[0].e;
    bool lower = l->node->op == IND_OP_TRIL;
    ind_expr inside = lower ? ind_expr_le(across, diagonal) : ind_expr_le(diagonal, across);
    return graph__lower_inside(o, l, 0, inside, index, graph__lower_zero(o, l));
}

/* A class that does not exist is an index out of range. */
static ind_value graph__lower_one_hot(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value v = graph__lower_operand_as(o, l, 0, index, rank - 1, IND_I64);
    ind_expr hot = ind_op_indirect(o, v, l->node->attr[0].e, false);
    return ind_op_index(o, ind_expr_eq(hot, index[rank - 1]), IND_I64);
}

static ind_value graph__lower_eye(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    (void)rank;
    return ind_op_index(o, ind_expr_eq(index[0], index[1]), l->compute);
}

/* start + i * step in the first half, end - (steps - 1 - i) * step in the second, so that both ends are met; integers
   are computed as floats (ATen/native/RangeFactories). */
static ind_value graph__lower_linspace(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *a = l->node->attr;
    ind_dtype dtype = ind_dtype_is_float(l->compute) ? l->compute : IND_F32;
    double start = a[0].is_int ? (double)a[0].i : a[0].f, end = a[1].is_int ? (double)a[1].i : a[1].f;
    ind_expr steps = a[2].e, one = ind_int(l->context, 1), back = ind_expr_sub(ind_expr_sub(steps, one), index[0]);
    ind_expr gaps = ind_expr_max(ind_expr_sub(steps, one), one);
    (void)rank;
    ind_value first = ind_op_constant(o, start, dtype), last = ind_op_constant(o, end, dtype);
    ind_value step = ind_op_div(o, ind_op_sub(o, last, first), ind_op_index(o, gaps, dtype));
    ind_value up = ind_op_add(o, first, ind_op_mul(o, step, ind_op_index(o, index[0], dtype)));
    ind_value down = ind_op_sub(o, last, ind_op_mul(o, step, ind_op_index(o, back, dtype)));
    ind_expr half = ind_expr_floordiv(steps, ind_int(l->context, 2));
    ind_expr front = ind_expr_or(ind_expr_lt(index[0], half), ind_expr_eq(steps, one));
    return graph__lower_cast(o, ind_op_where(o, ind_op_index(o, front, IND_BOOL), up, down), l->compute);
}

/* ---- pads ---- */

/* Index i of a padded dimension as one of the operand of `size`, for the modes that repeat elements. */
static ind_expr graph__padded_index(int mode, ind_expr i, ind_expr size) {
    ind_expr zero = ind_int(size.context, 0), last = ind_expr_sub(size, ind_int(size.context, 1));
    if (mode == IND__PAD_CIRCULAR) return graph__wrapped(i, size);
    if (mode == IND__PAD_REPLICATE) return ind_expr_min(ind_expr_max(i, zero), last);
    ind_expr back = ind_expr_sub(last, ind_expr_max(i, ind_expr_neg(i))); /* last - |i| */
    return ind_expr_sub(last, ind_expr_max(back, ind_expr_neg(back)));    /* last - |last - |i|| */
}

static ind_value graph__lower_constant_pad(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *value = &l->node->attr[l->node->op == IND_OP_PAD ? 2 : 1];
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr at[IND_MAX_RANK], inside = ind_int(l->context, 1);
    graph__typed_number outside = {IND_I64, 0, 0};
    if (value->kind != IND__ATTR_NONE) outside = graph__typed_number_of(value);
    for (int d = 0; d < rank; d++) {
        at[d] = ind_expr_sub(index[d], ind__pad_of(l->context, &l->node->attr[0], rank, d, 0));
        inside = graph__and_within(inside, at[d], x->size[d]);
    }
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_number(o, outside, l->result->dtype));
}

static ind_status graph__lower_pad(graph__lower_ctx *l, ind__box **results) {
    int mode = ind__pad_mode_of(l->node->op, l->node->attr), rank = l->result->rank;
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr map[IND_MAX_RANK];
    if (mode == IND__PAD_CONSTANT)
        return graph__lower_loop(l, l->result->dtype, l->result->size, rank, graph__lower_constant_pad, results);
    graph__lower_same_indices(l, map);
    for (int d = rank - l->node->attr[0].count / 2; d < rank; d++) {
        map[d] = ind_expr_sub(map[d], ind__pad_of(l->context, &l->node->attr[0], rank, d, 0));
        map[d] = graph__padded_index(mode, map[d], x->size[d]);
    }
    return graph__lower_make_view(l, map, results);
}

/* ---- reductions ---- */

/* Splits dimensions into kept and reduced ones (bits of `mask`). */
static void graph__split_sizes(graph__lower_ctx *l, const ind_expr *size, int rank, uint32_t mask) {
    memset(&l->axes, 0, sizeof l->axes);
    l->axes.rank = rank;
    for (int d = 0; d < rank; d++) {
        if (mask >> d & 1) {
            l->axes.range[l->axes.num_reduced] = size[d];
            l->axes.reduced[l->axes.num_reduced++] = d;
        } else {
            l->axes.size[l->axes.num_kept] = size[d];
            l->axes.kept[l->axes.num_kept++] = d;
        }
    }
    l->axes.count = ind_expr_product(l->context, l->axes.range, l->axes.num_reduced);
}

/* The same of operand 0. */
static void graph__split_axes(graph__lower_ctx *l, uint32_t mask) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    graph__split_sizes(l, x->size, x->rank, mask);
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

/* Splits the dimensions of operand 0 as attribute k says. */
static void graph__split_dims(graph__lower_ctx *l, int k) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[k], graph__lower_operand_info(l, 0)->rank));
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

/* The squared deviation of a single element: 0, but not a number where the element is not finite. */
static ind_value graph__deviation_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    ind_value x = graph__reduced_element(o, index, rank, user);
    return ind_op_sub(o, x, x);
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
        bool element = !empty && (k == 0 ? type != IND_REDUCE_ARGMAX : type == IND_REDUCE_WELFORD);
        bool one = !empty ? k == 1 && type == IND_REDUCE_ONLINE_SOFTMAX : type == IND_REDUCE_PROD;
        graph__typed_number v = {dtype, one, one};
        ind_loop_fn fn = !element ? graph__neutral_element : k ? graph__deviation_element : graph__reduced_element;
        results[k] =
            ind__box_pointwise(l->w->program, dtype, l->axes.size, l->axes.num_kept, fn, element ? (void *)l : &v);
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

/* keepdim: in result `to` the reduced dimensions come back with size 1. */
static ind_status graph__lower_keep_dims_of(graph__lower_ctx *l, const ind__tensor_info *to, ind__box **x) {
    ind_expr map[IND_MAX_RANK];
    if (to->rank == l->axes.num_kept) return IND_OK;
    for (int k = 0; k < l->axes.num_kept; k++) {
        map[k] = ind__index_symbol(l->context, 'i', l->axes.kept[k], to->size[l->axes.kept[k]]);
    }
    *x = ind__box_view(l->w->program, *x, to->size, to->rank, map);
    return *x ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_keep_dims(graph__lower_ctx *l, ind__box **x) {
    return graph__lower_keep_dims_of(l, l->result, x);
}

static ind_value graph__lower_self(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_operand(o, l, 0, index, rank);
}

/* Part k, an earlier result of the same shape as this one. */
static ind_value graph__lower_part(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->part[0], index, rank), ind_dtype_compute(l->result->dtype));
}

/* sum, prod, amax, amin: one reduction. Bools are reduced as u8 and turned back; their sum as bool is any. */
static ind_status graph__lower_reduction(graph__lower_ctx *l, ind_reduction type, ind__box **results) {
    if (l->compute == IND_BOOL && type == IND_REDUCE_SUM) type = IND_REDUCE_ANY;
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
    bool least = l->node->op == IND_OP_AMIN || l->node->op == IND_OP_MIN;
    return graph__lower_reduction(l, least ? IND_REDUCE_MIN : IND_REDUCE_MAX, results);
}

static ind_value graph__lower_is_zero(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_not(o, graph__lower_operand(o, l, 0, index, rank));
}

static ind_value graph__lower_not_part(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind_op_not(o, ind__box_load(o, l->part[0], index, rank)),
                             ind_dtype_compute(l->result->dtype));
}

/* torch.any and torch.all give u8 for u8 and bool for all others; all is none that is not. An empty list of dimensions
   is one, unlike in the other reductions. */
static ind_status graph__lower_any(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *dims = &l->node->attr[0];
    bool all = l->node->op == IND_OP_ALL, none = dims->kind != IND__ATTR_NONE && dims->count == 0;
    graph__split_axes(l, none ? 0 : graph__dim_mask(dims, graph__lower_operand_info(l, 0)->rank));
    l->compute = IND_BOOL;
    ind_status status =
        graph__lower_reduce(l, IND_REDUCE_ANY, IND_BOOL, all ? graph__lower_is_zero : graph__lower_self, results);
    if (status == IND_OK) status = graph__lower_keep_dims(l, results);
    if (status || (l->result->dtype == IND_BOOL && !all)) return status;
    l->part[0] = results[0];
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank,
                             all ? graph__lower_not_part : graph__lower_part, results);
}

/* Operand 0 in the opposite order: -x, and -1 - x of integers, which does not overflow. */
static ind_value graph__lower_reversed(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__lower_operand(o, l, 0, index, rank);
    if (ind_dtype_is_float(l->compute)) return ind_op_neg(o, x);
    return ind_op_sub(o, graph__lower_number(o, (graph__typed_number){IND_I64, -1, 0}, l->compute), x);
}

static ind_status graph__lower_argmax(graph__lower_ctx *l, ind__box **results) {
    bool least = l->node->op == IND_OP_ARGMIN || l->node->op == IND_OP_MIN;
    graph__split_dims(l, 0);
    l->compute = ind_dtype_compute(graph__lower_operand_info(l, 0)->dtype);
    if (l->compute == IND_BOOL) l->compute = IND_U8;
    ind_status status =
        graph__lower_reduce(l, IND_REDUCE_ARGMAX, IND_I64, least ? graph__lower_reversed : graph__lower_self, results);
    return status ? status : graph__lower_keep_dims(l, results);
}

/* Values and indices: two reductions over the same rows, which share a kernel. */
static ind_status graph__lower_max(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_amax(l, &results[0]);
    return status || l->node->num_results == 1 ? status : graph__lower_argmax(l, &results[1]);
}

/* Smallest and largest likewise. */
static ind_status graph__lower_aminmax(graph__lower_ctx *l, ind__box **results) {
    ind_dtype compute = l->compute;
    graph__split_dims(l, 0);
    ind_status status = graph__lower_reduction(l, IND_REDUCE_MIN, &results[0]);
    l->compute = compute;
    return status ? status : graph__lower_reduction(l, IND_REDUCE_MAX, &results[1]);
}

static ind_status graph__lower_prod(graph__lower_ctx *l, ind__box **results) {
    graph__split_dims(l, 0);
    return graph__lower_reduction(l, IND_REDUCE_PROD, results);
}

static ind_value graph__lower_nonzero(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, graph__lower_operand_as(o, l, 0, index, rank, IND_BOOL), l->compute);
}

static ind_status graph__lower_count_nonzero(graph__lower_ctx *l, ind__box **results) {
    graph__split_dims(l, 0);
    return graph__lower_reduce(l, IND_REDUCE_SUM, l->result->dtype, graph__lower_nonzero, results);
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

/* Is it proven that every row has an element? */
static bool graph__has_elements(const graph__lower_ctx *l) {
    return ind_known_le(ind_int(l->context, 1), l->axes.count);
}

/* max(n - correction, 0), as PyTorch clamps it: what the sum of squared deviations is divided by. */
static ind_value graph__degrees_of_freedom(ind_ops *o, const graph__lower_ctx *l) {
    const ind__attr *unbiased = &l->node->attr[1], *correction = &l->node->attr[3];
    double c = correction->kind != IND__ATTR_NONE ? ind__norm_order(correction)
               : unbiased->kind != IND__ATTR_NONE ? (double)unbiased->i
                                                  : 1;
    int64_t n;
    if (ind_expr_is_int(l->axes.count, &n)) return graph__lower_float(o, l, fmax((double)n - c, 0));
    ind_value freedom = ind_op_sub(o, graph__lower_count(o, l), graph__lower_float(o, l, c));
    return ind_op_maximum(o, freedom, graph__lower_float(o, l, 0));
}

static ind_value graph__variance_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value v = ind_op_div(o, ind__box_load(o, l->part[1], index, rank), graph__degrees_of_freedom(o, l));
    bool root = l->node->op == IND_OP_STD || l->node->op == IND_OP_STD_MEAN;
    return root ? ind_op_sqrt(o, v) : v;
}

/* What is a mean is not a number where there is nothing: 0 / n is added where n may be 0. */
static ind_value graph__mean_of_some(ind_ops *o, const graph__lower_ctx *l, ind_value mean) {
    if (graph__has_elements(l)) return mean;
    return ind_op_add(o, mean, ind_op_div(o, graph__lower_float(o, l, 0), graph__lower_count(o, l)));
}

static ind_value graph__row_mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__mean_of_some(o, l, ind__box_load(o, l->part[0], index, rank));
}

/* var, std, var_mean, std_mean: one pass (Welford), which gives both results. */
static ind_status graph__lower_var(graph__lower_ctx *l, ind__box **results) {
    graph__split_dims(l, 0);
    ind_status status = graph__lower_reduce(l, IND_REDUCE_WELFORD, l->compute, graph__lower_self, l->part);
    for (int k = 0; status == IND_OK && k < 2; k++) status = graph__lower_keep_dims(l, &l->part[k]);
    for (uint32_t k = 0; status == IND_OK && k < l->node->num_results; k++) {
        status = graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank,
                                   k ? graph__row_mean_element : graph__variance_element, &results[k]);
    }
    return status;
}

/* max + log(sum of exp(x - max)); an infinite maximum is the result itself, as x - max has no meaning then. */
static ind_value graph__logsumexp_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value m = ind__box_load(o, l->part[0], index, rank), sum = ind__box_load(o, l->part[1], index, rank);
    ind_value infinite = ind_op_eq(o, ind_op_abs(o, m), graph__lower_float(o, l, INFINITY));
    return ind_op_where(o, infinite, m, ind_op_add(o, m, ind_op_log(o, sum)));
}

static ind_status graph__lower_logsumexp(graph__lower_ctx *l, ind__box **results) {
    graph__split_dims(l, 0);
    ind_status status = graph__lower_reduce(l, IND_REDUCE_ONLINE_SOFTMAX, l->compute, graph__lower_self, l->part);
    for (int k = 0; status == IND_OK && k < 2; k++) status = graph__lower_keep_dims(l, &l->part[k]);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__logsumexp_element, results);
}

/* ---- p-norms and distances ---- */

/* The order of the norm that the node takes: an attribute of its own kind in each op, always the first. */
static double graph__order(const graph__lower_ctx *l) {
    return ind__norm_order(&l->node->attr[0]);
}

/* What is reduced: |x|^p by a sum, |x| by a maximum or minimum, x != 0 counted. */
static ind_value graph__norm_term(ind_ops *o, const graph__lower_ctx *l, ind_value x) {
    double p = graph__order(l);
    if (p == 0) return graph__lower_cast(o, ind_op_cast(o, x, IND_BOOL), l->compute);
    if (p == 2) return ind_op_mul(o, x, x);
    x = ind_op_abs(o, x);
    return p == 1 || isinf(p) ? x : ind_op_pow(o, x, graph__lower_float(o, l, p));
}

static ind_reduction graph__norm_reduction(const graph__lower_ctx *l) {
    double p = graph__order(l);
    return !isinf(p) ? IND_REDUCE_SUM : p > 0 ? IND_REDUCE_MAX : IND_REDUCE_MIN;
}

/* The root of the sum; the largest |x| of nothing is 0. */
static ind_value graph__norm_root(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind__box_load(o, l->part[0], index, rank);
    double p = graph__order(l);
    if (p == 2) return ind_op_sqrt(o, x);
    if (isinf(p) && p > 0 && !graph__has_elements(l)) return ind_op_maximum(o, x, graph__lower_float(o, l, 0));
    return p == 0 || p == 1 || isinf(p) ? x : ind_op_pow(o, x, graph__lower_float(o, l, 1 / p));
}

static ind_status graph__lower_norm_of(graph__lower_ctx *l, graph__lower_element_fn element, ind__box **results) {
    ind_status status = graph__lower_reduce(l, graph__norm_reduction(l), l->compute, element, l->part);
    if (status == IND_OK) status = graph__lower_keep_dims(l, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__norm_root, results);
}

static ind_value graph__vector_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__norm_term(o, l, graph__lower_operand(o, l, 0, index, rank));
}

static ind_status graph__lower_vector_norm(graph__lower_ctx *l, ind__box **results) {
    graph__split_dims(l, 1);
    return graph__lower_norm_of(l, graph__vector_norm_element, results);
}

/* index: batch.., i, j, m: the difference of x1[.., i, m] and x2[.., j, m]. */
static ind_value graph__cdist_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    ind_value row[2];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    at[rank - 2] = index[rank - 1];
    for (int k = 0; k < 2; k++) {
        at[rank - 3] = index[rank - 3 + k];
        row[k] = graph__lower_operand(o, l, (uint32_t)k, at, rank - 1);
    }
    return graph__norm_term(o, l, ind_op_sub(o, row[0], row[1]));
}

/* Reduces over the columns of operand 0 what the element function gives for an element of the result and a column. */
static ind_status graph__lower_distance(graph__lower_ctx *l, graph__lower_element_fn element, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr size[IND_MAX_RANK];
    int rank = l->result->rank;
    for (int d = 0; d < rank; d++) size[d] = l->result->size[d];
    size[rank] = x->size[x->rank - 1];
    graph__split_sizes(l, size, rank + 1, 1u << rank);
    return graph__lower_norm_of(l, element, results);
}

static ind_status graph__lower_cdist(graph__lower_ctx *l, ind__box **results) {
    return graph__lower_distance(l, graph__cdist_element, results);
}

/* Row i of pair k of n rows, the pairs (i, j) with i < j being counted row by row: the root of i(2n - i - 1)/2 = k,
   rounded down. With b = n - 1/2 it is b - sqrt(b^2 - 1 - 2k), the 1 keeping it above i where k is the first of its row
   (ATen/native/cpu/DistanceOpsKernel.cpp). */
static ind_value graph__pair_row(ind_ops *o, ind_value k, ind_expr n) {
    ind_value b = ind_op_sub(o, ind_op_cast(o, ind_op_index(o, n, IND_I64), IND_F64), ind_op_constant(o, 0.5, IND_F64));
    ind_value square = ind_op_sub(o, ind_op_mul(o, b, b), ind_op_constant(o, 1, IND_F64));
    ind_value twice = ind_op_mul(o, ind_op_constant(o, 2, IND_F64), ind_op_cast(o, k, IND_F64));
    return ind_op_cast(o, ind_op_sub(o, b, ind_op_sqrt(o, ind_op_sub(o, square, twice))), IND_I64);
}

/* index: pair k, column. j = k - i(2n - i - 1)/2 + i + 1. */
static ind_value graph__pdist_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr n = graph__lower_operand_info(l, 0)->size[0], at[2] = {{0}, index[rank - 1]};
    ind_value k = ind_op_index(o, index[0], IND_I64), i = graph__pair_row(o, k, n), row[2];
    ind_value before = ind_op_mul(
        o, i,
        ind_op_sub(
            o, ind_op_index(o, ind_expr_sub(ind_expr_mul(n, ind_int(l->context, 2)), ind_int(l->context, 1)), IND_I64),
            i));
    before = ind_op_div(o, before, ind_op_constant_int(o, 2, IND_I64));
    ind_value j = ind_op_add(o, ind_op_sub(o, k, before), ind_op_add(o, i, ind_op_constant_int(o, 1, IND_I64)));
    for (int r = 0; r < 2; r++) {
        at[0] = ind_op_indirect(o, r ? j : i, n, false);
        row[r] = graph__lower_operand(o, l, 0, at, 2);
    }
    return graph__norm_term(o, l, ind_op_sub(o, row[0], row[1]));
}

static ind_status graph__lower_pdist(graph__lower_ctx *l, ind__box **results) {
    return graph__lower_distance(l, graph__pdist_element, results);
}

/* ---- composites: a reduction and a pointwise loop over the same rows ---- */

/* Result k of the row that `index` (of the full shape) lies in. */
static ind_value graph__lower_row_part(ind_ops *o, const graph__lower_ctx *l, int k, const ind_expr *index) {
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < l->axes.num_kept; d++) at[d] = index[l->axes.kept[d]];
    return ind__box_load(o, l->part[k], at, l->axes.num_kept);
}

/* A row whose largest value is infinite is NaN throughout, as inf - inf is; the one-pass sum does not see that, m -
 * m does. */
static ind_value graph__log_softmax_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value m = graph__lower_row_part(o, l, 0, index);
    ind_value sum = ind_op_add(o, graph__lower_row_part(o, l, 1, index), ind_op_sub(o, m, m));
    return ind_op_sub(o, ind_op_sub(o, graph__lower_operand(o, l, 0, index, rank), m), ind_op_log(o, sum));
}

static ind_value graph__softmax_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value m = graph__lower_row_part(o, l, 0, index);
    ind_value sum = ind_op_add(o, graph__lower_row_part(o, l, 1, index), ind_op_sub(o, m, m));
    return ind_op_div(o, ind_op_exp(o, ind_op_sub(o, graph__lower_operand(o, l, 0, index, rank), m)), sum);
}

static ind_status graph__lower_softmax(graph__lower_ctx *l, ind__box **results) {
    graph__split_axes(l, graph__dim_mask(&l->node->attr[0], l->result->rank));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_ONLINE_SOFTMAX, l->compute, graph__lower_self, l->part);
    if (status) return status;
    bool logs = l->node->op == IND_OP_LOG_SOFTMAX || l->node->op == IND_OP_LOG_SOFTMAX_HALF;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank,
                             logs ? graph__log_softmax_element : graph__softmax_element, results);
}

/* ---- losses */

static ind_value graph__distance_loss_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value d = ind_op_sub(o, graph__lower_operand(o, l, 0, index, rank), graph__lower_operand(o, l, 1, index, rank));
    return l->node->op == IND_OP_MSE_LOSS ? ind_op_mul(o, d, d) : ind_op_abs(o, d);
}

/* The reduced sum, or the mean: over part 1 where that is given, else over the number of elements. */
static ind_value graph__loss_mean(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value sum = ind__box_load(o, l->part[0], index, rank);
    return ind_op_div(o, sum, l->part[1] ? ind__box_load(o, l->part[1], index, rank) : graph__lower_count(o, l));
}

/* element: the loss at an index; weight: what it counts in the mean, NULL for 1. */
static ind_status graph__lower_loss(graph__lower_ctx *l, const char *how, const ind_expr *size, int rank,
                                    graph__lower_element_fn element, graph__lower_element_fn weight,
                                    ind__box **results) {
    if (!strcmp(how, "none")) return graph__lower_loop(l, l->result->dtype, size, rank, element, results);
    bool mean = !strcmp(how, "mean");
    graph__split_sizes(l, size, rank, (1u << rank) - 1);
    l->part[1] = NULL;
    ind_status status = graph__lower_reduce(l, IND_REDUCE_SUM, mean ? l->compute : l->result->dtype, element, l->part);
    if (status == IND_OK && !mean) results[0] = l->part[0];
    if (status || !mean) return status;
    if (weight) status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, weight, &l->part[1]);
    return status ? status : graph__lower_loop(l, l->result->dtype, NULL, 0, graph__loss_mean, results);
}

static ind_status graph__lower_distance_loss(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x[2] = {graph__lower_operand_info(l, 0), graph__lower_operand_info(l, 1)};
    const ind__tensor_info *longer = x[x[1]->rank > x[0]->rank], *other = x[x[1]->rank <= x[0]->rank];
    ind_expr size[IND_MAX_RANK];
    for (int d = 0; d < longer->rank; d++) {
        int e = d - (longer->rank - other->rank);
        size[d] = e >= 0 && graph__size_is_one(longer->size[d]) ? other->size[e] : longer->size[d];
    }
    return graph__lower_loss(l, l->node->attr[0].s, size, longer->rank, graph__distance_loss_element, NULL, results);
}

/* Index of the scores: that of a row with a class put into it. */
static void graph__class_index(const graph__lower_ctx *l, const ind_expr *row, ind_expr class_, ind_expr *at) {
    for (int d = 0; d <= l->loss.rank; d++) at[d] = d == l->loss.classes ? class_ : row[d - (d > l->loss.classes)];
}

/* weight[class], or 1. */
static ind_value graph__class_weight(ind_ops *o, const graph__lower_ctx *l, ind_expr class_) {
    if (!graph__lower_has_operand(l, 2)) return graph__lower_float(o, l, 1);
    return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 2), &class_, 1), l->compute);
}

/* The class of a row, checked; one that is ignored reads the first instead. *counts: it is not ignored. */
static ind_expr graph__target_class(ind_ops *o, const graph__lower_ctx *l, const ind_expr *row, ind_value *counts) {
    ind_value t = graph__lower_operand_as(o, l, 1, row, l->loss.rank, IND_I64);
    *counts = ind_op_ne(o, t, ind_op_constant_int(o, l->node->attr[0].i, IND_I64));
    t = ind_op_where(o, *counts, t, ind_op_constant_int(o, 0, IND_I64));
    return ind_op_indirect(o, t, graph__lower_operand_info(l, 0)->size[l->loss.classes], false);
}

static double graph__label_smoothing(const graph__lower_ctx *l) {
    return l->node->op == IND_OP_CROSS_ENTROPY ? l->node->attr[2].f : 0;
}

/* label_smoothing / number of classes. */
static ind_value graph__smooth_share(ind_ops *o, const graph__lower_ctx *l) {
    ind_expr classes = graph__lower_operand_info(l, 0)->size[l->loss.classes];
    ind_value n = ind_op_cast(o, ind_op_index(o, classes, IND_I64), l->compute);
    return ind_op_div(o, graph__lower_float(o, l, graph__label_smoothing(l)), n);
}

/* -weight[t] * score[t]; with smoothing (1 - e) times that, minus e / C times the sum over all classes. */
static ind_value graph__class_loss_element(ind_ops *o, const ind_expr *row, int rank, graph__lower_ctx *l) {
    ind_value counts, zero = graph__lower_float(o, l, 0);
    ind_expr at[IND_MAX_RANK], t = graph__target_class(o, l, row, &counts);
    graph__class_index(l, row, t, at);
    ind_value score = graph__lower_cast(o, ind__box_load(o, l->loss.scores, at, rank + 1), l->compute);
    if (graph__lower_has_operand(l, 2)) score = ind_op_mul(o, score, graph__class_weight(o, l, t));
    if (l->loss.smooth) {
        ind_value all = ind_op_mul(o, ind__box_load(o, l->loss.smooth, row, rank), graph__smooth_share(o, l));
        score = ind_op_mul(o, score, graph__lower_float(o, l, 1 - graph__label_smoothing(l)));
        score = ind_op_add(o, score, all);
    }
    return ind_op_where(o, counts, ind_op_neg(o, score), zero);
}

static ind_value graph__class_loss_weight(ind_ops *o, const ind_expr *row, int rank, graph__lower_ctx *l) {
    ind_value counts;
    (void)rank;
    ind_expr t = graph__target_class(o, l, row, &counts);
    return ind_op_where(o, counts, graph__class_weight(o, l, t), graph__lower_float(o, l, 0));
}

static void graph__split_classes(graph__lower_ctx *l) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    l->loss.classes = ind__class_dim(x->rank);
    graph__split_axes(l, 1u << l->loss.classes);
    l->loss.rank = l->axes.num_kept;
    memcpy(l->loss.size, l->axes.size, sizeof l->loss.size);
}

static ind_status graph__lower_nll_loss(graph__lower_ctx *l, ind__box **results) {
    graph__split_classes(l);
    l->loss.scores = graph__lower_operand_box(l, 0);
    return graph__lower_loss(l, l->node->attr[1].s, l->loss.size, l->loss.rank, graph__class_loss_element,
                             graph__class_loss_weight, results);
}

/* weight[c] * score[c], at an index of the scores. */
static ind_value graph__weighted_score(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value score = ind__box_load(o, l->loss.scores, index, rank);
    if (!graph__lower_has_operand(l, 2)) return score;
    return ind_op_mul(o, score, graph__class_weight(o, l, index[l->loss.classes]));
}

/* The same times the target's probability, smoothed. */
static ind_value graph__expected_score(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value p = graph__lower_operand(o, l, 1, index, rank), score = graph__weighted_score(o, index, rank, l);
    if (graph__label_smoothing(l) != 0) {
        p = ind_op_mul(o, p, graph__lower_float(o, l, 1 - graph__label_smoothing(l)));
        p = ind_op_add(o, p, graph__smooth_share(o, l));
    }
    return ind_op_mul(o, p, score);
}

static ind_value graph__negative_row(ind_ops *o, const ind_expr *row, int rank, graph__lower_ctx *l) {
    return ind_op_neg(o, ind__box_load(o, l->loss.smooth, row, rank));
}

static ind_status graph__lower_cross_entropy(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    bool probabilities = ind_dtype_is_float(graph__lower_operand_info(l, 1)->dtype);
    graph__split_classes(l);
    ind_status status = graph__lower_reduce(l, IND_REDUCE_ONLINE_SOFTMAX, l->compute, graph__lower_self, l->part);
    if (!status)
        status = graph__lower_loop(l, l->compute, x->size, x->rank, graph__log_softmax_element, &l->loss.scores);
    if (!status && (probabilities || graph__label_smoothing(l) != 0)) {
        status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute,
                                     probabilities ? graph__expected_score : graph__weighted_score, &l->loss.smooth);
    }
    if (status) return status;
    return graph__lower_loss(l, l->node->attr[1].s, l->loss.size, l->loss.rank,
                             probabilities ? graph__negative_row : graph__class_loss_element,
                             probabilities ? NULL : graph__class_loss_weight, results);
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

/* 1 / sqrt(variance + eps) of a row; eps is the last attribute of every norm. */
static ind_value graph__norm_rstd(ind_ops *o, const graph__lower_ctx *l, ind_value deviations) {
    double eps = l->node->attr[l->node->num_attrs - 1].f;
    ind_value variance = ind_op_div(o, deviations, graph__lower_count(o, l));
    return ind_op_rsqrt(o, ind_op_add(o, variance, graph__lower_float(o, l, eps)));
}

static ind_value graph__norm_rstd_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__norm_rstd(o, l, ind__box_load(o, l->part[1], index, rank));
}

/* The rows' mean and graph__norm_rstd as results 1 and 2, where the op has them. */
static ind_status graph__lower_norm_statistics(graph__lower_ctx *l, ind__box **results) {
    ind_status status = IND_OK;
    for (uint32_t k = 1; status == IND_OK && k < 3 && k < l->node->num_results; k++) {
        status = graph__lower_loop(l, l->result[k].dtype, l->axes.size, l->axes.num_kept,
                                   k == 1 ? graph__row_mean_element : graph__norm_rstd_element, &results[k]);
        if (status == IND_OK) status = graph__lower_keep_dims_of(l, &l->result[k], &results[k]);
    }
    return status;
}

static ind_status graph__lower_native_layer_norm(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_layer_norm(l, results);
    return status ? status : graph__lower_norm_statistics(l, results);
}

/* ---- norms over channels: group, instance and batch norm */

/* Operand k, [N, C, ..], seen as [N, groups, C / groups, ..]. */
static ind__box *graph__split_channels(graph__lower_ctx *l, uint32_t k, int64_t groups) {
    const ind__tensor_info *x = graph__lower_operand_info(l, k);
    ind_expr map[IND_MAX_RANK], size[IND_MAX_RANK];
    size[0] = x->size[0];
    size[1] = ind_int(l->context, groups);
    size[2] = ind_expr_floordiv(x->size[1], size[1]);
    for (int d = 2; d < x->rank; d++) size[d + 1] = x->size[d];
    for (int d = 0; d < x->rank; d++) {
        map[d] = ind__index_symbol(l->context, 'i', d ? d + 1 : 0, size[d ? d + 1 : 0]);
    }
    ind_expr group = ind__index_symbol(l->context, 'i', 1, size[1]);
    map[1] = ind_expr_add(ind_expr_mul(group, size[2]), map[1]);
    return ind__box_view(l->w->program, graph__lower_operand_box(l, k), size, x->rank + 1, map);
}

static ind_value graph__norm_input(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->norm.x, index, rank), l->compute);
}

/* Operand k, which has one element per channel. */
static ind_value graph__norm_parameter(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index) {
    ind_expr channel = index[1];
    if (l->norm.grouped) channel = ind_expr_add(ind_expr_mul(index[1], l->norm.x->size[2]), index[2]);
    return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, k), &channel, 1), l->compute);
}

static ind_value graph__norm_scaled(ind_ops *o, const graph__lower_ctx *l, ind_value x, const ind_expr *index) {
    if (graph__lower_has_operand(l, 1)) x = ind_op_mul(o, x, graph__norm_parameter(o, l, 1, index));
    return graph__lower_has_operand(l, 2) ? ind_op_add(o, x, graph__norm_parameter(o, l, 2, index)) : x;
}

static ind_value graph__channel_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind_op_sub(o, graph__norm_input(o, index, rank, l), graph__lower_row_part(o, l, 0, index));
    x = ind_op_mul(o, x, graph__norm_rstd(o, l, graph__lower_row_part(o, l, 1, index)));
    return graph__norm_scaled(o, l, x, index);
}

/* With given statistics: (x - mean) / sqrt(variance + eps). */
static ind_value graph__frozen_norm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    double eps = l->node->attr[l->node->num_attrs - 1].f;
    ind_value x = ind_op_sub(o, graph__norm_input(o, index, rank, l), graph__norm_parameter(o, l, 3, index));
    ind_value variance = ind_op_add(o, graph__norm_parameter(o, l, 4, index), graph__lower_float(o, l, eps));
    return graph__norm_scaled(o, l, ind_op_mul(o, x, ind_op_rsqrt(o, variance)), index);
}

/* Back from groups to channels. */
static ind_status graph__lower_ungroup(graph__lower_ctx *l, const ind__tensor_info *to, ind__box **x) {
    if ((*x)->rank == to->rank) return IND_OK;
    *x = ind__box_reshape(l->w->program, *x, to->size, to->rank);
    return *x ? IND_OK : ind__failed(l->context);
}

/* Result r without elements: what PyTorch leaves undefined or empty. */
static ind_status graph__lower_empty_result(graph__lower_ctx *l, uint32_t r, ind__box **results) {
    graph__typed_number zero = {l->result[r].dtype, 0, 0};
    results[r] = ind__box_pointwise(l->w->program, zero.dtype, l->result[r].size, 1, graph__neutral_element, &zero);
    return results[r] ? IND_OK : ind__failed(l->context);
}

/* Statistics over the dimensions of `mask` of l->norm.x. */
static ind_status graph__lower_channel_norm(graph__lower_ctx *l, uint32_t mask, ind__box **results) {
    const ind__box *x = l->norm.x;
    graph__split_sizes(l, x->size, x->rank, mask);
    ind_status status = graph__lower_reduce(l, IND_REDUCE_WELFORD, l->compute, graph__norm_input, l->part);
    if (status) return status;
    status = graph__lower_loop(l, l->result->dtype, x->size, x->rank, graph__channel_norm_element, results);
    if (status == IND_OK) status = graph__lower_ungroup(l, l->result, results);
    return status ? status : graph__lower_norm_statistics(l, results);
}

static ind_status graph__lower_group_norm(graph__lower_ctx *l, ind__box **results) {
    int64_t groups = l->node->attr[l->node->op == IND_OP_GROUP_NORM ? 0 : 3].i;
    l->norm.x = graph__split_channels(l, 0, groups);
    l->norm.grouped = true;
    if (!l->norm.x) return ind__failed(l->context);
    return graph__lower_channel_norm(l, ((1u << l->norm.x->rank) - 1) & ~3u, results);
}

/* (1 - momentum) * running + momentum * batch, with the unbiased variance. The old value is operand 3 or 4. */
static ind_value graph__running_element(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index,
                                        ind_value batch) {
    double momentum = l->node->attr[1].f;
    ind_value old = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, k), index, 1), l->compute);
    old = ind_op_mul(o, old, graph__lower_float(o, l, 1 - momentum));
    return ind_op_add(o, old, ind_op_mul(o, batch, graph__lower_float(o, l, momentum)));
}

static ind_value graph__running_mean_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__running_element(o, l, 3, index, graph__row_mean_element(o, index, rank, l));
}

static ind_value graph__running_var_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value n = ind_op_sub(o, graph__lower_count(o, l), graph__lower_float(o, l, 1));
    ind_value variance = ind_op_div(o, ind__box_load(o, l->part[1], index, rank), n);
    return graph__running_element(o, l, 4, index, graph__mean_of_some(o, l, variance));
}

/* Results 3 and 4, where the op has them: the statistics as they are or, in training, brought up to date. */
static ind_status graph__lower_running(graph__lower_ctx *l, bool training, ind__box **results) {
    ind_status status = IND_OK;
    for (uint32_t k = 3; status == IND_OK && k < l->node->num_results; k++) {
        results[k] = graph__lower_operand_box(l, k);
        if (!training) continue;
        status = graph__lower_loop(l, l->result[k].dtype, l->result[k].size, 1,
                                   k == 3 ? graph__running_mean_element : graph__running_var_element, &results[k]);
    }
    return status;
}

/* Batch norm keeps channels, instance norm samples and channels. Where statistics are given, the results for those of
   the batch are empty, as PyTorch's are. */
static ind_status graph__lower_batch_norm(graph__lower_ctx *l, ind__box **results) {
    uint32_t kept = l->node->op == IND_OP_INSTANCE_NORM ? 3u : 2u;
    l->norm.x = graph__lower_operand_box(l, 0);
    if (!ind__uses_running(l->node->op, l->node->attr)) {
        ind_status status = graph__lower_channel_norm(l, ((1u << l->result->rank) - 1) & ~kept, results);
        return status ? status : graph__lower_running(l, true, results);
    }
    ind_status status =
        graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__frozen_norm_element, results);
    for (uint32_t k = 1; status == IND_OK && k < 3 && k < l->node->num_results; k++) {
        status = graph__lower_empty_result(l, k, results);
    }
    return status ? status : graph__lower_running(l, false, results);
}

/* ---- gradients of layer norm and group norm: operands grad_out, input, mean, rstd, weight */

/* Operand k, mean or rstd, of the row that `index` lies in. */
static ind_value graph__norm_statistic(ind_ops *o, const graph__lower_ctx *l, uint32_t k, const ind_expr *index) {
    const ind__box *box = graph__lower_operand_box(l, k);
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < box->rank; d++) at[d] = d < l->norm.rows ? index[d] : ind_int(l->context, 0);
    return graph__lower_cast(o, ind__box_load(o, box, at, box->rank), l->compute);
}

/* (input - mean) * rstd */
static ind_value graph__norm_normalised(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind_op_sub(o, graph__norm_input(o, index, rank, l), graph__norm_statistic(o, l, 2, index));
    return ind_op_mul(o, x, graph__norm_statistic(o, l, 3, index));
}

static ind_value graph__norm_gradient(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->norm.gradient, index, rank), l->compute);
}

static ind_value graph__norm_gradient_normalised(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_mul(o, graph__norm_gradient(o, index, rank, l), graph__norm_normalised(o, index, rank, l));
}

/* grad_out * weight */
static ind_value graph__norm_weighted(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value g = graph__norm_gradient(o, index, rank, l);
    if (!graph__lower_has_operand(l, 4)) return g;
    return ind_op_mul(
        o, g, l->norm.grouped ? graph__norm_parameter(o, l, 4, index) : graph__lower_operand(o, l, 4, index, rank));
}

static ind_value graph__norm_weighted_normalised(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind_op_mul(o, graph__norm_weighted(o, index, rank, l), graph__norm_normalised(o, index, rank, l));
}

/* With g the weighted gradient and x the normalised input: (g - (sum g + x sum(g x)) / n) rstd. */
static ind_value graph__norm_backward_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = graph__norm_normalised(o, index, rank, l), g = graph__norm_weighted(o, index, rank, l);
    ind_value along = ind_op_mul(o, x, graph__lower_row_part(o, l, 1, index));
    along = ind_op_div(o, ind_op_add(o, graph__lower_row_part(o, l, 0, index), along), graph__lower_count(o, l));
    return ind_op_mul(o, ind_op_sub(o, g, along), graph__norm_statistic(o, l, 3, index));
}

static ind_status graph__lower_input_gradient(graph__lower_ctx *l, ind__box **results) {
    const ind__box *x = l->norm.x;
    graph__split_sizes(l, x->size, x->rank, ((1u << x->rank) - 1) & ~((1u << l->norm.rows) - 1));
    ind_status status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, graph__norm_weighted, &l->part[0]);
    if (!status)
        status = graph__lower_reduce(l, IND_REDUCE_SUM, l->compute, graph__norm_weighted_normalised, &l->part[1]);
    if (!status)
        status = graph__lower_loop(l, l->result->dtype, x->size, x->rank, graph__norm_backward_element, results);
    return status ? status : graph__lower_ungroup(l, l->result, results);
}

/* Sums over all that shares an element of weight or bias: the rows, or samples and positions of a channel. */
static ind_status graph__lower_parameter_gradient(graph__lower_ctx *l, uint32_t r, ind__box **results) {
    const ind__box *x = l->norm.x;
    uint32_t all = (1u << x->rank) - 1, kept = l->norm.grouped ? 6u : all & ~((1u << l->norm.rows) - 1);
    graph__split_sizes(l, x->size, x->rank, all & ~kept);
    ind_status status =
        graph__lower_reduce(l, IND_REDUCE_SUM, l->result[r].dtype,
                            r == 1 ? graph__norm_gradient_normalised : graph__norm_gradient, &results[r]);
    return status ? status : graph__lower_ungroup(l, &l->result[r], &results[r]);
}

static ind_status graph__lower_norm_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__node *n = l->node;
    const ind__attr *mask = &n->attr[n->num_attrs - 1];
    l->norm.grouped = n->op == IND_OP_NATIVE_GROUP_NORM_BACKWARD;
    l->norm.gradient = l->norm.grouped ? graph__split_channels(l, 0, n->attr[3].i) : graph__lower_operand_box(l, 0);
    l->norm.x = l->norm.grouped ? graph__split_channels(l, 1, n->attr[3].i) : graph__lower_operand_box(l, 1);
    if (!l->norm.gradient || !l->norm.x) return ind__failed(l->context);
    l->norm.rows = l->norm.grouped ? 2 : l->norm.x->rank - n->attr[0].count;
    l->compute = ind_dtype_compute(graph__lower_operand_info(l, 1)->dtype);
    ind_status status = IND_OK;
    for (uint32_t r = 0; status == IND_OK && r < 3; r++) {
        status = !ind__gives_gradient(n->op, n->operand, mask, r) ? graph__lower_empty_result(l, r, results)
                 : r == 0                                         ? graph__lower_input_gradient(l, results)
                                                                  : graph__lower_parameter_gradient(l, r, results);
    }
    return status;
}

/* ---- pools: a reduction over the window, whose elements outside of the operand are not read ---- */

/* The only element of a window. */
static ind_value graph__only_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    ind_expr at[2 * IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int s = 0; s < l->window.rank; s++) at[rank + s] = ind_int(l->context, 0);
    return l->element(o, at, rank + l->window.rank, l);
}

/* Reduces element(indices of the result, then of the window) over l->window. */
static ind_status graph__lower_window(graph__lower_ctx *l, ind_reduction type, ind_dtype dtype,
                                      graph__lower_element_fn element, ind__box **result) {
    const ind__tensor_info *y = l->result;
    graph__typed_number zero = {dtype, 0, 0};
    l->element = element;
    if (graph__size_is_one(ind_expr_product(l->context, l->window.kernel, l->window.rank))) {
        bool position = type == IND_REDUCE_ARGMAX;
        *result =
            ind__box_pointwise(l->w->program, dtype, y->size, y->rank,
                               position ? graph__neutral_element : graph__only_element, position ? (void *)&zero : l);
        return *result ? IND_OK : ind__failed(l->context);
    }
    ind__reduction_desc d = {.type = type,
                             .dtype = dtype,
                             .size = y->size,
                             .rank = y->rank,
                             .rrange = l->window.kernel,
                             .rrank = l->window.rank,
                             .fn = graph__lower_run_element,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, result);
}

/* Where adaptive window index[d] begins. */
static ind_expr graph__adaptive_start(const graph__lower_ctx *l, const ind_expr *index, int d) {
    ind_expr whole = ind_expr_mul(index[d], graph__lower_operand_info(l, 0)->size[d]);
    return ind_expr_floordiv(whole, l->result->size[d]);
}

/* Where the element of the operand lies that a window index means, and whether it does. An adaptive window runs from
   floor(o * in / out) to ceil((o + 1) * in / out). */
static ind_expr graph__window_element(const graph__lower_ctx *l, const ind_expr *index, ind_expr *at) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const ind__window *w = &l->window;
    ind_expr inside = ind_int(l->context, 1), one = inside;
    for (int d = 0; d < x->rank; d++) {
        int s = d - (x->rank - w->rank);
        at[d] = index[d];
        if (s < 0) continue;
        ind_expr step = index[x->rank + s];
        if (l->adaptive[s]) {
            ind_expr end = ind_expr_mul(ind_expr_add(index[d], one), x->size[d]);
            at[d] = ind_expr_add(graph__adaptive_start(l, index, d), step);
            inside = ind_expr_and(inside, ind_expr_lt(at[d], ind_expr_ceildiv(end, l->result->size[d])));
        } else {
            at[d] = ind_expr_sub(ind_expr_mul(index[d], w->stride[s]), w->padding[s]);
            at[d] = ind_expr_add(at[d], ind_expr_mul(step, w->dilation[s]));
            inside = graph__and_within(inside, at[d], x->size[d]);
        }
    }
    return inside;
}

/* Which of `count` windows has its element k at place i of the operand, if one has: the division is without remainder.
 */
static ind_expr graph__window_over(const ind__window *w, int s, ind_expr i, ind_expr k, ind_expr count, ind_expr *at) {
    ind_expr from = ind_expr_sub(ind_expr_add(i, w->padding[s]), ind_expr_mul(k, w->dilation[s]));
    *at = ind_expr_floordiv(from, w->stride[s]);
    ind_expr whole = ind_expr_eq(ind_expr_mod(from, w->stride[s]), ind_int(i.context, 0));
    return graph__and_within(whole, *at, count);
}

/* Less than or equal to every number of a type. */
static ind_value graph__lower_lowest(ind_ops *o, ind_dtype dtype) {
    int bits = 8 * ind_dtype_bytes(dtype);
    if (ind_dtype_is_float(dtype)) return ind_op_constant(o, -HUGE_VAL, dtype);
    return ind_op_constant_int(o, dtype == IND_U8 ? 0 : bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1)), dtype);
}

static ind_value graph__max_pool_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], inside = graph__window_element(l, index, at);
    (void)rank;
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_lowest(o, l->compute));
}

static ind_value graph__avg_pool_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK], inside = graph__window_element(l, index, at);
    (void)rank;
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_zero(o, l));
}

/* From the position in the window to that in the operand's plane. A position outside of the operand can only be the
   first, where every element is the lowest number: then the first element inside is meant. */
static ind_value graph__pool_index_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const ind__window *w = &l->window;
    ind_expr zero = ind_int(l->context, 0);
    ind_value at = ind__box_load(o, l->part[1], index, rank), flat = ind_op_constant_int(o, 0, IND_I64);
    for (int s = 0; s < w->rank; s++) {
        int d = x->rank - w->rank + s;
        ind_expr below = ind_expr_product(l->context, w->kernel + s + 1, w->rank - s - 1);
        ind_value size = ind_op_index(o, below, IND_I64), step = ind_op_div(o, at, size);
        at = ind_op_sub(o, at, ind_op_mul(o, step, size));
        ind_expr start = graph__adaptive_start(l, index, d);
        if (!l->adaptive[s]) start = ind_expr_sub(ind_expr_mul(index[d], w->stride[s]), w->padding[s]);
        step = ind_op_mul(o, step, ind_op_index(o, w->dilation[s], IND_I64));
        ind_value i = ind_op_add(o, ind_op_index(o, start, IND_I64), step);
        if (!ind_known_le(zero, start)) {
            ind_expr skip = ind_expr_ceildiv(ind_expr_neg(start), w->dilation[s]);
            ind_expr first = ind_expr_add(start, ind_expr_mul(skip, w->dilation[s]));
            ind_value outside = ind_op_lt(o, i, ind_op_constant_int(o, 0, IND_I64));
            i = ind_op_where(o, outside, ind_op_index(o, first, IND_I64), i);
        }
        flat = ind_op_add(o, ind_op_mul(o, flat, ind_op_index(o, x->size[d], IND_I64)), i);
    }
    return flat;
}

/* Values and, where they are asked for, positions: two reductions over the same windows, which share a kernel. */
static ind_status graph__lower_max_windows(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_window(l, IND_REDUCE_MAX, l->result->dtype, graph__max_pool_element, &results[0]);
    if (status || l->node->num_results == 1) return status;
    status = graph__lower_window(l, IND_REDUCE_ARGMAX, IND_I64, graph__max_pool_element, &l->part[1]);
    if (status) return status;
    return graph__lower_loop(l, IND_I64, l->result->size, l->result->rank, graph__pool_index_element, &results[1]);
}

/* Elements that an average is taken of: all of the window with the padding, but not what ceil_mode adds behind it; or
   only what lies inside of the operand. */
static ind_expr graph__pooled_count(const graph__lower_ctx *l, const ind_expr *index) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const ind__window *w = &l->window;
    ind_expr count = ind_int(l->context, 1), zero = ind_int(l->context, 0);
    const ind__attr *include = ind__attr_named(l->w->graph, l->node->op, l->node->attr, "count_include_pad");
    bool padded = include && include->i;
    for (int s = 0; s < w->rank; s++) {
        int d = x->rank - w->rank + s;
        ind_expr start = graph__adaptive_start(l, index, d), end, size = x->size[d];
        if (l->adaptive[s]) {
            end = ind_expr_mul(ind_expr_add(index[d], ind_int(l->context, 1)), size);
            end = ind_expr_ceildiv(end, l->result->size[d]);
        } else {
            start = ind_expr_sub(ind_expr_mul(index[d], w->stride[s]), w->padding[s]);
            end = ind_expr_add(start, w->kernel[s]);
            if (padded) size = ind_expr_add(size, w->padding[s]);
            if (!padded && !ind_known_le(zero, start)) start = ind_expr_max(start, zero);
            if (!ind_known_le(end, size)) end = ind_expr_min(end, size);
        }
        count = ind_expr_mul(count, ind_expr_sub(end, start));
    }
    return count;
}

static ind_value graph__avg_pool_divided(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *divisor = ind__attr_named(l->w->graph, l->node->op, l->node->attr, "divisor_override");
    bool given = divisor && divisor->kind != IND__ATTR_NONE;
    ind_expr count = given ? ind_int(l->context, divisor->i) : graph__pooled_count(l, index);
    return ind_op_div(o, ind__box_load(o, l->part[0], index, rank), ind_op_index(o, count, l->compute));
}

static ind_status graph__lower_avg_windows(graph__lower_ctx *l, ind__box **results) {
    ind_status status = graph__lower_window(l, IND_REDUCE_SUM, l->compute, graph__avg_pool_element, l->part);
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__avg_pool_divided, results);
}

static ind_status graph__lower_pool(graph__lower_ctx *l, ind__box **results) {
    l->window.rank = ind__spatial_rank(l->node->op);
    (void)ind__window_of(l->w->graph, l->node->op, l->node->attr, NULL, &l->window);
    return ind__is_max_pool(l->node->op) ? graph__lower_max_windows(l, results) : graph__lower_avg_windows(l, results);
}

/* Where the input is a multiple of the output, adaptive windows are plain ones; else the longest has at most
   ceil(in / out) + 1 elements, of which each uses its own. */
static void graph__set_adaptive_windows(graph__lower_ctx *l) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr zero = ind_int(l->context, 0), one = ind_int(l->context, 1);
    l->window.rank = ind__spatial_rank(l->node->op);
    for (int s = 0; s < l->window.rank; s++) {
        int d = x->rank - l->window.rank + s;
        ind_expr size = x->size[d], out = l->result->size[d];
        bool even = ind_known_eq(ind_expr_mod(size, out), zero);
        l->adaptive[s] = !even;
        l->window.padding[s] = zero;
        l->window.dilation[s] = one;
        l->window.stride[s] = ind_expr_floordiv(size, out);
        l->window.kernel[s] = even ? l->window.stride[s] : ind_expr_add(ind_expr_ceildiv(size, out), one);
    }
}

static ind_status graph__lower_adaptive_pool(graph__lower_ctx *l, ind__box **results) {
    graph__set_adaptive_windows(l);
    return ind__is_max_pool(l->node->op) ? graph__lower_max_windows(l, results) : graph__lower_avg_windows(l, results);
}

/* ---- gradients of pools: zeros, to which every window adds. In f32 where the result is shorter. ---- */

/* The pool itself, of which this is the gradient: operand 0 is what it pools, the result is like grad_output. */
typedef struct graph__pool_forward {
    graph__lower_ctx l;
    ind__node node;
    uint32_t operand[2];
} graph__pool_forward;

static void graph__forward_pool(const graph__lower_ctx *l, graph__pool_forward *f) {
    f->l = *l;
    f->node = *l->node;
    f->operand[0] = l->node->operand[1];
    f->operand[1] = l->node->operand[0];
    f->node.operand = f->operand;
    f->node.num_operands = 2;
    f->l.node = &f->node;
    f->l.result = graph__lower_operand_info(l, 0);
}

/* index: of grad_output, then of the window. */
static void graph__avg_backward_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    graph__pool_forward f;
    ind_expr at[IND_MAX_RANK];
    const ind__attr *divisor = ind__attr_named(l->w->graph, l->node->op, l->node->attr, "divisor_override");
    const int whole = rank - l->window.rank;
    graph__forward_pool(l, &f);
    ind_expr inside = graph__window_element(&f.l, index, at), count = {0};
    bool given = divisor && divisor->kind != IND__ATTR_NONE;
    count = given ? ind_int(l->context, divisor->i) : graph__pooled_count(&f.l, index);
    ind_value mask = ind_known_true(inside) ? (ind_value){0} : ind_op_index(o, inside, IND_BOOL);
    ind_value v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), index, whole), l->compute);
    v = ind_op_div(o, v, ind_op_index(o, count, l->compute));
    ind__emit_scatter(o, to, at, whole, v, mask, l->mode);
}

static void graph__max_backward_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    const ind__tensor_info *x = l->result;
    ind_expr at[IND_MAX_RANK], plane = ind_expr_product(l->context, x->size + rank - 2, 2);
    ind_value mask = {0}, place = graph__lower_operand_as(o, l, 2, index, rank, IND_I64);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr flat = graph__lower_target(o, place, plane, false, &mask);
    ind__delinearise(l->context, flat, x->size + rank - 2, 2, at + rank - 2);
    ind_value v = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), index, rank), l->compute);
    ind__emit_scatter(o, to, at, rank, v, mask, l->mode);
}

static ind_value graph__rounded_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return ind__box_load(o, l->part[0], index, rank);
}

/* Zeros like the result, to which fn adds over the loops of `size`; then in the result's type. */
static ind_status graph__lower_added_up(graph__lower_ctx *l, const ind_expr *size, int rank, graph__lower_scatter_fn fn,
                                        ind__box **results) {
    const ind__tensor_info *y = l->result;
    ind__box *base;
    ind_status status = graph__lower_zeros(l, l->compute, y->size, y->rank, &base);
    if (!status) status = graph__lower_scatter_loop(l, base, size, rank, fn, IND_REDUCE_SUM, &l->part[0]);
    results[0] = l->part[0];
    if (status || l->compute == y->dtype) return status;
    return graph__lower_loop(l, y->dtype, y->size, y->rank, graph__rounded_element, results);
}

static ind_status graph__lower_avg_pool_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *grad = graph__lower_operand_info(l, 0);
    graph__pool_forward f;
    ind_expr size[IND_MAX_RANK];
    l->window.rank = 2;
    graph__forward_pool(l, &f);
    if (l->node->op == IND_OP_ADAPTIVE_AVG_POOL2D_BACKWARD)
        graph__set_adaptive_windows(&f.l);
    else
        (void)ind__window_of(l->w->graph, l->node->op, l->node->attr, NULL, &f.l.window);
    l->window = f.l.window;
    memcpy(l->adaptive, f.l.adaptive, sizeof l->adaptive);
    for (int d = 0; d < grad->rank; d++) size[d] = grad->size[d];
    for (int s = 0; s < 2; s++) size[grad->rank + s] = l->window.kernel[s];
    return graph__lower_added_up(l, size, grad->rank + 2, graph__avg_backward_element, results);
}

static ind_status graph__lower_max_pool_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *grad = graph__lower_operand_info(l, 0);
    return graph__lower_added_up(l, grad->size, grad->rank, graph__max_backward_element, results);
}

/* ---- matrix products ---- */

/* Batch indices of operand x (whose last `inner` dimensions are the matrix), broadcast from those of the product.
 */
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

/* *out: what l->product says, in dtype. Over an inner dimension of size 0 it is 0. */
static ind_status graph__lower_product(graph__lower_ctx *l, ind_dtype dtype, ind__box **out) {
    const ind_expr *k = &l->product.a->size[l->product.a->rank - 1];
    graph__typed_number zero = {dtype, 0, 0};
    if (graph__size_is_zero(*k)) {
        *out = ind__box_pointwise(l->w->program, zero.dtype, l->product.size, l->product.rank, graph__neutral_element,
                                  &zero);
        return *out ? IND_OK : ind__failed(l->context);
    }
    ind__reduction_desc d = {.type = IND_REDUCE_DOT,
                             .dtype = dtype,
                             .size = l->product.size,
                             .rank = l->product.rank,
                             .rrange = k,
                             .rrank = 1,
                             .fn = graph__product_a,
                             .second_fn = graph__product_b,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, out);
}

/* *out: the product of operands x and y, of l->product.size. */
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
    return graph__lower_product(l, l->result->dtype, out);
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

/* input @ weight^T + bias; the bias is added to the product as the kernel has it, before it is rounded to memory.
 */
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

/* ---- scans, sorts, searches ---- */

/* A scan of element(index of the result of a scan) along dim of these sizes; results[1], where there is one, are
   positions. Over one element or none it is the element itself, at 0. */
static ind_status graph__lower_scan_of(graph__lower_ctx *l, ind_scan kind, ind_dtype dtype, const ind_expr *size,
                                       int rank, int dim, graph__lower_element_fn element, ind__box **results) {
    bool one = rank == 0 || graph__size_is_one(size[dim]) || graph__size_is_zero(size[dim]);
    graph__typed_number zero = {IND_I64, 0, 0};
    if (!one) {
        l->element = element;
        ind__scan_desc d = {kind, dtype, size, rank, dim, graph__lower_run_element, l};
        return ind__box_scan(l->w->program, &d, results);
    }
    ind_status status = graph__lower_loop(l, dtype, size, rank, element, results);
    if (status || ind__scan_results(kind) < 2) return status;
    results[1] = ind__box_pointwise(l->w->program, IND_I64, size, rank, graph__neutral_element, &zero);
    return results[1] ? IND_OK : ind__failed(l->context);
}

static ind_status graph__lower_scan(graph__lower_ctx *l, ind_scan kind, const ind__attr *along, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    int dim = (int)(along->i < 0 ? along->i + x->rank : along->i);
    ind_dtype dtype = l->node->op == IND_OP_ARGSORT ? x->dtype : l->result->dtype;
    l->compute = ind_dtype_compute(dtype);
    return graph__lower_scan_of(l, kind, dtype, x->size, x->rank, dim, graph__lower_self, results);
}

static ind_status graph__lower_cumulate(graph__lower_ctx *l, ind__box **results) {
    ind_graph_op op = l->node->op;
    ind_scan kind = op == IND_OP_CUMSUM    ? IND_SCAN_SUM
                    : op == IND_OP_CUMPROD ? IND_SCAN_PROD
                    : op == IND_OP_CUMMAX  ? IND_SCAN_MAX
                    : op == IND_OP_CUMMIN  ? IND_SCAN_MIN
                                           : IND_SCAN_LOGADDEXP;
    return graph__lower_scan(l, kind, &l->node->attr[0], results);
}

/* ---- scans with a combine function of the user: operands are the values, the identities, the segments */

typedef struct graph__combine {
    graph__lower_ctx *l;
    int num, rank, dim;
    bool reverse, exclusive, segmented;
    ind_dtype dtype[IND__MAX_SCANNED];
    const ind_value *left, *right;
    ind_value *out;
} graph__combine;

/* Does a segment begin at this place, in the direction of the scan? In reverse it does where the next one's first
   element came before; what the very last place is said to be is of no account. */
static ind_value graph__combine_flag(ind_ops *o, const graph__combine *u, const ind_expr *index) {
    ind_expr at[IND_MAX_RANK], next = ind_expr_add(index[u->dim], ind_int(ind_op_context(o), 1));
    uint32_t k = u->l->node->num_operands - 1;
    if (!u->reverse) return graph__lower_operand_as(o, u->l, k, index, u->rank, IND_BOOL);
    for (int d = 0; d < u->rank; d++) at[d] = d == u->dim ? next : index[d];
    ind_value inside = ind_op_index(o, ind_expr_lt(next, u->l->result->size[u->dim]), IND_BOOL), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    ind_value flag = graph__lower_operand_as(o, u->l, k, at, u->rank, IND_BOOL);
    o->mask = outer;
    return ind_op_and(o, inside, flag);
}

static bool graph__combine_element(ind_ops *o, const ind_expr *index, ind_value *out, void *user) {
    const graph__combine *u = user;
    for (int k = 0; k < u->num; k++) {
        ind_dtype type = ind_dtype_compute(u->dtype[k]);
        out[k] = graph__lower_operand_as(o, u->l, (uint32_t)k, index, u->rank, type);
        if (!out[k].id) return false;
    }
    if (u->segmented) out[u->num] = graph__combine_flag(o, u, index);
    return !u->segmented || out[u->num].id;
}

static ind_value graph__combine_argument(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    const graph__combine *u = user;
    int k = (int)inst->source;
    (void)o, (void)index;
    return k < u->num ? u->left[k] : u->right[k - u->num];
}

static void graph__combine_result(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user) {
    const graph__combine *u = user;
    (void)o, (void)index;
    u->out[inst->source].id = inst->arg[0];
}

/* (flag, x) of a segmented scan joins to (either flag, right x where a segment begins there, else the joined x). */
static bool graph__combine_run(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out, void *user) {
    graph__combine *u = user;
    ind__replay replay = {
        .body = u->l->node->body, .load = graph__combine_argument, .store = graph__combine_result, .user = u};
    u->left = left, u->right = right, u->out = out;
    if (!ind__body_replay(o, &replay).id) return false;
    for (int k = 0; k < u->num; k++) {
        if (u->segmented) out[k] = ind_op_where(o, right[u->num], right[k], out[k]);
        if (!out[k].id) return false;
    }
    if (u->segmented) out[u->num] = ind_op_or(o, left[u->num], right[u->num]);
    return !u->segmented || out[u->num].id;
}

/* Where nothing comes before the place, in all or in its segment, stands the identity. */
static ind_value graph__combine_finish(ind_ops *o, const ind_expr *index, int which, ind_value v, void *user) {
    const graph__combine *u = user;
    ind_context *c = ind_op_context(o);
    ind_expr first = ind_int(c, 0);
    if (u->reverse) first = ind_expr_sub(u->l->result->size[u->dim], ind_int(c, 1));
    ind_value begins = ind_op_index(o, ind_expr_eq(index[u->dim], first), IND_BOOL);
    if (u->segmented) begins = ind_op_or(o, begins, graph__combine_flag(o, u, index));
    ind_value none = graph__lower_operand_as(o, u->l, (uint32_t)(u->num + which), index, u->rank, ind_op_dtype(o, v));
    return ind_op_where(o, begins, none, v);
}

/* The only element, or (exclusive) the identity, where there is no other. */
static ind_value graph__combine_alone(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_operand(o, l, (uint32_t)l->number_int, index, rank);
}

static ind_status graph__lower_associative_scan(graph__lower_ctx *l, ind__box **results) {
    const ind__attr *a = l->node->attr;
    const ind__tensor_info *x = l->result;
    graph__combine u = {.l = l, .num = (int)a[1].i, .rank = x->rank, .reverse = a[2].i, .exclusive = a[3].i};
    u.dim = (int)(a[0].i < 0 ? a[0].i + x->rank : a[0].i);
    u.segmented = a[4].i;
    ind_status status = IND_OK;
    for (int k = 0; k < u.num; k++) u.dtype[k] = x[k].dtype;
    if (x->rank > 0 && !graph__size_is_one(x->size[u.dim]) && !graph__size_is_zero(x->size[u.dim])) {
        ind__combine_desc d = {u.num,
                               u.num + u.segmented,
                               u.dtype,
                               x->size,
                               x->rank,
                               u.dim,
                               u.reverse,
                               u.exclusive,
                               graph__combine_element,
                               graph__combine_run,
                               graph__combine_finish,
                               &u};
        return ind__box_combine(l->w->program, &d, results);
    }
    for (int k = 0; k < u.num && !status; k++) {
        l->number_int = u.exclusive ? u.num + k : k;
        l->compute = ind_dtype_compute(u.dtype[k]);
        status = graph__lower_loop(l, u.dtype[k], x->size, x->rank, graph__combine_alone, &results[k]);
    }
    return status;
}

static ind_status graph__lower_sort(graph__lower_ctx *l, ind__box **results) {
    ind_scan kind = l->node->attr[1].i ? IND_SCAN_DESCENDING : IND_SCAN_ASCENDING;
    ind_status status = graph__lower_scan(l, kind, &l->node->attr[0], l->part);
    bool positions = l->node->op == IND_OP_ARGSORT;
    results[0] = l->part[positions];
    if (!positions) results[1] = l->part[1];
    return status;
}

static ind_value graph__random_key(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__random_bits(o, l, 0, index, rank, 0, 63);
}

static ind_value graph__randperm_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_cast(o, ind__box_load(o, l->part[1], index, rank), l->compute);
}

static ind_status graph__lower_randperm(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *y = l->result;
    ind_status status = graph__lower_scan_of(l, IND_SCAN_ASCENDING, IND_I64, y->size, 1, 0, graph__random_key, l->part);
    return status ? status : graph__lower_loop(l, y->dtype, y->size, 1, graph__randperm_element, results);
}

/* The first k of the sorted row. */
static ind_status graph__lower_topk(graph__lower_ctx *l, ind__box **results) {
    ind_expr map[IND_MAX_RANK];
    ind_scan kind = l->node->attr[2].i ? IND_SCAN_DESCENDING : IND_SCAN_ASCENDING;
    ind_status status = graph__lower_scan(l, kind, &l->node->attr[1], l->part);
    for (int d = 0; d < l->result->rank; d++) map[d] = graph__lower_view_index(l, d);
    for (int k = 0; k < 2 && !status; k++) {
        results[k] = ind__box_view(l->w->program, l->part[k], l->result->size, l->result->rank, map);
        if (!results[k]) status = ind__failed(l->context);
    }
    return status;
}

/* One search: the sequence, its sorter or NULL, the index of their last dimension still to be filled in. */
typedef struct graph__search {
    const ind__box *sequence, *sorter;
    ind_expr at[IND_MAX_RANK], size;
    int dim; /* of the sequence, along which it ascends */
    bool right;
    bool numbers; /* not x is looked for, but the first NaN */
} graph__search;

/* Element `middle` of the sequence in its sorted order; only read where o->mask holds. */
static ind_value graph__search_element(ind_ops *o, graph__search *s, ind_value middle) {
    ind_expr one = ind_int(ind_op_context(o), 1), some = ind_expr_max(s->size, one); /* an empty one is never read */
    int rank = s->sequence->rank;
    ind_expr *at = &s->at[s->dim];
    *at = ind_op_indirect(o, middle, some, false);
    if (!ind__ok(*at)) return (ind_value){0};
    if (s->sorter) *at = ind_op_indirect(o, ind__box_load(o, s->sorter, s->at, rank), some, false);
    return ind__ok(*at) ? ind__box_load(o, s->sequence, s->at, rank) : (ind_value){0};
}

#define GRAPH__MAX_SEARCHED ((int64_t)1 << 48) /* no memory holds more elements */

/* Halving steps until no sequence of that size has anything left; the comparisons are PyTorch's, so that NaN comes last
   as there. */
static ind_value graph__search_steps(ind_ops *o, graph__search *s, ind_value x) {
    int64_t lo, most;
    ind_expr_bounds(s->size, &lo, &most);
    if (most > GRAPH__MAX_SEARCHED) most = GRAPH__MAX_SEARCHED;
    ind_value low = ind_op_constant_int(o, 0, IND_I64), high = ind_op_index(o, s->size, IND_I64), outer = o->mask;
    ind_value one = ind_op_constant_int(o, 1, IND_I64), two = ind_op_constant_int(o, 2, IND_I64);
    for (; most > 0; most /= 2) {
        ind_value open = ind_op_lt(o, low, high);
        ind_value middle = ind_op_add(o, low, ind_op_div(o, ind_op_sub(o, high, low), two));
        o->mask = outer.id ? ind_op_and(o, outer, open) : open;
        ind_value y = graph__lower_cast(o, graph__search_element(o, s, middle), ind_op_dtype(o, x));
        o->mask = outer;
        ind_value stop = s->numbers ? ind_op_ne(o, y, y) : s->right ? ind_op_gt(o, y, x) : ind_op_ge(o, y, x);
        low = ind_op_where(o, ind_op_and(o, open, ind_op_not(o, stop)), ind_op_add(o, middle, one), low);
        high = ind_op_where(o, ind_op_and(o, open, stop), middle, high);
    }
    return low;
}

static ind_value graph__search_one(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    bool named = l->node->op == IND_OP_SEARCHSORTED;
    uint32_t sequence = named ? 0 : 1, x = named ? 1 : 0;
    const ind__attr *side = named && l->node->attr[2].kind != IND__ATTR_NONE ? &l->node->attr[2] : NULL;
    graph__search s = {.sequence = graph__lower_operand_box(l, sequence),
                       .right = l->node->attr[1].i || (side && side->s[0] == 'r')};
    if (named && graph__lower_has_operand(l, 2)) s.sorter = graph__lower_operand_box(l, 2);
    s.dim = s.sequence->rank - 1;
    for (int d = 0; d < s.dim; d++) s.at[d] = index[d];
    s.size = s.sequence->size[s.dim];
    const uint32_t both[2] = {l->node->operand[sequence], l->node->operand[x]};
    ind_dtype common = ind__result_type(l->w->graph, both, 2);
    ind_value v = graph__lower_operand_as(o, l, x, index, rank, common == IND_BOOL ? IND_U8 : common);
    return v.id ? graph__search_steps(o, &s, v) : v;
}

/* The sequence is read many times at places that data decide: it must be in memory. */
static ind_status graph__lower_search(graph__lower_ctx *l, ind__box **results) {
    uint32_t sequence = l->node->op == IND_OP_SEARCHSORTED ? 0 : 1;
    ind_status status = ind__box_realise(l->w->program, graph__lower_operand_box(l, sequence));
    if (status) return status;
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__search_one, results);
}

/* ---- ranks: what stands at a place of the sorted row */

typedef struct graph__ranked {
    graph__lower_ctx *l;
    ind__box *x, *sorted[2]; /* sorted along dim: values, positions */
    int dim, which;          /* which of the two is wanted */
    bool keepdim, all;       /* all: x is flat */
    ind__box *start, *place; /* mode: where the run of each begins; at which place of the row the longest ends */
} graph__ranked;

static ind_status graph__sort_rows(graph__ranked *u, ind_scan kind) {
    ind__lowered *p = u->l->w->program;
    ind_expr n = u->x->rank ? u->x->size[u->dim] : ind_int(u->l->context, 1);
    graph__typed_number zero = {IND_I64, 0, 0};
    if (!graph__size_is_one(n) && !graph__size_is_zero(n)) {
        ind__scan_desc d = {kind, u->x->storage->dtype, u->x->size, u->x->rank, u->dim, graph__lower_box_element, u->x};
        return ind__box_scan(p, &d, u->sorted);
    }
    u->sorted[0] = u->x;
    u->sorted[1] = ind__box_pointwise(p, IND_I64, u->x->size, u->x->rank, graph__neutral_element, &zero);
    return u->sorted[1] ? IND_OK : ind__failed(u->l->context);
}

/* Operand 0, or all of it as one row, sorted along the dimension that the attribute names. */
static ind_status graph__rank_operand(graph__ranked *u, const ind__attr *along) {
    graph__lower_ctx *l = u->l;
    ind__box *x = graph__lower_operand_box(l, 0);
    u->all = along->kind == IND__ATTR_NONE;
    u->dim = u->all ? 0 : (int)(along->i < 0 ? along->i + x->rank : along->i);
    u->x = x;
    if (u->all && x->rank != 1) {
        ind_expr numel = ind_expr_product(l->context, x->size, x->rank);
        if (ind__box_realise(l->w->program, x)) return ind__failed(l->context);
        u->x = ind__box_reshape(l->w->program, x, &numel, 1);
        if (!u->x) return ind__failed(l->context);
    }
    return graph__sort_rows(u, IND_SCAN_ASCENDING);
}

/* From an index of what remains of the dimensions (they may be kept as 1) to one of the row's first element. */
static void graph__row_at(const graph__ranked *u, const ind_expr *index, ind_expr *at) {
    for (int d = 0, k = 0; d < u->x->rank; d++) {
        bool own = d == u->dim;
        at[d] = own ? ind_int(u->l->context, 0) : index[k];
        k += !own || (u->keepdim && !u->all);
    }
}

static ind_expr graph__row_size(const graph__ranked *u) {
    return u->x->rank ? u->x->size[u->dim] : ind_int(u->l->context, 1);
}

/* Value or position `place` of the sorted row. */
static ind_value graph__row_element(ind_ops *o, const graph__ranked *u, ind_expr *at, ind_value place) {
    ind_expr some = ind_expr_max(graph__row_size(u), ind_int(u->l->context, 1)); /* of none nothing is read */
    if (u->x->rank) at[u->dim] = ind_op_indirect(o, place, some, false);
    if (u->x->rank && !ind__ok(at[u->dim])) return (ind_value){0};
    return ind__box_load(o, u->sorted[u->which], at, u->x->rank);
}

/* How many elements of the sorted row are not NaN: it ends with those that are. */
static ind_value graph__row_numbers(ind_ops *o, const graph__ranked *u, const ind_expr *at) {
    graph__search s = {.sequence = u->sorted[0], .size = graph__row_size(u), .dim = u->dim, .numbers = true};
    for (int d = 0; d < u->x->rank; d++) s.at[d] = at[d];
    ind_dtype type = ind_dtype_compute(u->x->storage->dtype);
    if (!ind_dtype_is_float(type)) return ind_op_index(o, s.size, IND_I64);
    if (u->x->rank) return graph__search_steps(o, &s, ind_op_constant(o, 0, type));
    ind_value v = ind__box_load(o, u->sorted[0], NULL, 0);
    return ind_op_cast(o, ind_op_eq(o, v, v), IND_I64);
}

/* The place of a median: the middle of the row, or of its numbers; the first NaN where that is not wanted. */
static ind_value graph__median_place(ind_ops *o, const graph__ranked *u, const ind_expr *at) {
    ind_value zero = ind_op_constant_int(o, 0, IND_I64), one = ind_op_constant_int(o, 1, IND_I64);
    ind_value n = ind_op_index(o, graph__row_size(u), IND_I64), numbers = graph__row_numbers(o, u, at);
    ind_value of = u->l->node->op == IND_OP_NANMEDIAN ? numbers : n;
    ind_value middle = ind_op_div(o, ind_op_sub(o, of, one), ind_op_constant_int(o, 2, IND_I64));
    middle = ind_op_maximum(o, middle, zero);
    return u->l->node->op == IND_OP_MEDIAN ? ind_op_where(o, ind_op_lt(o, numbers, n), numbers, middle) : middle;
}

static ind_value graph__ranked_place(ind_ops *o, const graph__ranked *u, const ind_expr *at) {
    ind_expr outer[IND_MAX_RANK];
    ind_expr one = ind_int(u->l->context, 1);
    if (u->l->node->op == IND_OP_KTHVALUE) return ind_op_index(o, ind_expr_sub(u->l->node->attr[0].e, one), IND_I64);
    if (u->l->node->op != IND_OP_MODE) return graph__median_place(o, u, at);
    if (!u->place) return ind_op_constant_int(o, 0, IND_I64);
    for (int d = 0, k = 0; d < u->x->rank; d++)
        if (d != u->dim) outer[k++] = at[d];
    return ind__box_load(o, u->place, outer, u->x->rank - 1);
}

/* The median of nothing is NaN. */
static ind_value graph__ranked_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ranked *u = user;
    ind_expr at[IND_MAX_RANK], some = ind_expr_lt(ind_int(u->l->context, 0), graph__row_size(u));
    (void)rank;
    graph__row_at(u, index, at);
    if (ind_known_true(some)) return graph__row_element(o, u, at, graph__ranked_place(o, u, at));
    ind_value inside = ind_op_index(o, some, IND_BOOL), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    ind_value v = graph__row_element(o, u, at, graph__ranked_place(o, u, at));
    o->mask = outer;
    ind_dtype type = v.id ? ind_op_dtype(o, v) : IND_I64;
    return ind_dtype_is_float(type) ? ind_op_where(o, inside, v, ind_op_constant(o, NAN, type)) : v;
}

/* ---- mode: runs of equal elements in the sorted row */

/* 0 where a run goes on at this element, else its place: their maximum so far is where the run began. */
static ind_value graph__run_start(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ranked *u = user;
    ind_expr at[IND_MAX_RANK], one = ind_int(u->l->context, 1), place = index[u->dim];
    for (int d = 0; d < rank; d++) at[d] = d == u->dim ? ind_expr_sub(place, one) : index[d];
    ind_value inside = ind_op_index(o, ind_expr_le(one, place), IND_BOOL), outer = o->mask;
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    ind_value before = ind__box_load(o, u->sorted[0], at, rank);
    o->mask = outer;
    ind_value goes_on = ind_op_and(o, inside, ind_op_eq(o, before, ind__box_load(o, u->sorted[0], index, rank)));
    return ind_op_where(o, goes_on, ind_op_constant_int(o, 0, IND_I64), ind_op_index(o, place, IND_I64));
}

/* Twice the length of the run up to here; a NaN, always alone, comes before other single ones. */
static ind_value graph__run_length(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__ranked *u = user;
    ind_expr at[IND_MAX_RANK];
    ind_expr place = index[rank - 1];
    for (int d = 0, k = 0; d < rank; d++) at[d] = d == u->dim ? place : index[k++];
    ind_value x = ind__box_load(o, u->sorted[0], at, rank), start = ind__box_load(o, u->start, at, rank);
    ind_value length = ind_op_sub(o, ind_op_index(o, ind_expr_add(place, ind_int(u->l->context, 1)), IND_I64), start);
    length = ind_op_add(o, length, length);
    if (!x.id || !ind_dtype_is_float(ind_op_dtype(o, x))) return length;
    return ind_op_add(o, length, ind_op_cast(o, ind_op_ne(o, x, x), IND_I64));
}

static ind_status graph__find_longest_run(graph__ranked *u) {
    ind__lowered *p = u->l->w->program;
    ind__box *starts[2];
    ind_expr outer[IND_MAX_RANK];
    ind_expr n = graph__row_size(u);
    if (graph__size_is_one(n)) return IND_OK;
    ind__scan_desc scan = {IND_SCAN_MAX, IND_I64, u->x->size, u->x->rank, u->dim, graph__run_start, u};
    ind_status status = ind__box_scan(p, &scan, starts);
    u->start = status ? NULL : starts[0];
    for (int d = 0, k = 0; d < u->x->rank; d++)
        if (d != u->dim) outer[k++] = u->x->size[d];
    ind__reduction_desc d = {.type = IND_REDUCE_ARGMAX,
                             .dtype = IND_I64,
                             .size = outer,
                             .rank = u->x->rank - 1,
                             .rrange = &n,
                             .rrank = 1,
                             .fn = graph__run_length,
                             .user = u};
    return status ? status : ind__box_reduction(p, &d, &u->place);
}

static ind_status graph__lower_ranked(graph__lower_ctx *l, ind__box **results) {
    bool kth = l->node->op == IND_OP_KTHVALUE;
    graph__ranked u = {.l = l, .keepdim = l->node->attr[kth ? 2 : 1].i};
    ind_status status = graph__rank_operand(&u, &l->node->attr[kth ? 1 : 0]);
    if (!status && l->node->op == IND_OP_MODE) status = graph__find_longest_run(&u);
    for (uint32_t k = 0; k < l->node->num_results && !status; k++) {
        const ind__tensor_info *y = &l->result[k];
        u.which = (int)k;
        results[k] = ind__box_pointwise(l->w->program, y->dtype, y->size, y->rank, graph__ranked_element, &u);
        if (!results[k]) status = ind__failed(l->context);
    }
    return status;
}

static ind_status graph__lower_msort(graph__lower_ctx *l, ind__box **results) {
    graph__ranked u = {.l = l, .x = graph__lower_operand_box(l, 0)};
    ind_status status = graph__sort_rows(&u, IND_SCAN_ASCENDING);
    results[0] = u.sorted[0];
    return status;
}

/* As PyTorch has it: a place q * (n - 1) in x's type; between its neighbours torch.lerp. */
static ind_value graph__quantile_element(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__ranked *u = user;
    graph__lower_ctx *l = u->l;
    int lists = graph__lower_operand_info(l, 1)->rank;
    ind_expr at[IND_MAX_RANK];
    ind_dtype type = l->compute;
    ind_value zero = ind_op_constant_int(o, 0, IND_I64), one = ind_op_constant_int(o, 1, IND_I64);
    (void)rank;
    graph__row_at(u, index + lists, at);
    ind_value n = ind_op_index(o, graph__row_size(u), IND_I64), numbers = graph__row_numbers(o, u, at);
    bool skips = l->node->op == IND_OP_NANQUANTILE;
    ind_value last = ind_op_maximum(o, ind_op_sub(o, skips ? numbers : n, one), zero);
    ind_value q = graph__lower_operand(o, l, 1, index, lists);
    ind_value place = ind_op_mul(o, q, ind_op_cast(o, last, type));
    if (!skips) place = ind_op_where(o, ind_op_lt(o, numbers, n), ind_op_cast(o, last, type), place);
    ind__interpolation how = ind__interpolation_of(l->node->attr[2].s);
    if (how == IND__LOWER) place = ind_op_floor(o, place);
    if (how == IND__HIGHER) place = ind_op_ceil(o, place);
    if (how == IND__NEAREST_RANK) place = ind__emit1(o, IND_LOOP_RINT, place);
    ind_value low = ind_op_floor(o, place), weight = ind_op_sub(o, place, low);
    ind_value a = graph__row_element(o, u, at, ind_op_cast(o, low, IND_I64));
    if (how == IND__LOWER || how == IND__HIGHER || how == IND__NEAREST_RANK) return a;
    ind_value half = ind_op_constant(o, 0.5, type);
    ind_value b = graph__row_element(o, u, at, ind_op_cast(o, ind_op_ceil(o, place), IND_I64));
    if (how == IND__MIDPOINT) weight = half;
    ind_value span = ind_op_sub(o, b, a), rest = ind_op_sub(o, ind_op_constant(o, 1, type), weight);
    return ind_op_where(o, ind_op_lt(o, weight, half), ind_op_add(o, a, ind_op_mul(o, weight, span)),
                        ind_op_sub(o, b, ind_op_mul(o, span, rest)));
}

static ind_status graph__lower_quantile(graph__lower_ctx *l, ind__box **results) {
    graph__ranked u = {.l = l, .keepdim = l->node->attr[1].i};
    ind_status status = graph__rank_operand(&u, &l->node->attr[0]);
    if (status) return status;
    results[0] = ind__box_pointwise(l->w->program, l->result->dtype, l->result->size, l->result->rank,
                                    graph__quantile_element, &u);
    return results[0] ? IND_OK : ind__failed(l->context);
}

/* Element index[dim] of prepend, self and append one behind the other. */
static ind_value graph__diff_operand(ind_ops *o, const ind_expr *index, int rank, int dim, graph__lower_ctx *l) {
    static const uint32_t order[] = {1, 0, 2};
    ind_expr at[IND_MAX_RANK], start = ind_int(l->context, 0);
    ind_value v = {0}, outer = o->mask;
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int k = 0; k < 3; k++) {
        if (!graph__lower_has_operand(l, order[k]) || (order[k] && !l->node->attr[0].i)) continue;
        const ind__tensor_info *x = graph__lower_operand_info(l, order[k]);
        ind_expr end = ind_expr_add(start, x->size[dim]);
        at[dim] = ind_expr_sub(index[dim], start);
        ind_expr within = ind_expr_and(ind_expr_le(start, index[dim]), ind_expr_lt(index[dim], end));
        ind_value mask = ind_op_index(o, within, IND_BOOL);
        o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
        ind_value own = ind__box_load(o, graph__lower_operand_box(l, order[k]), at, rank);
        o->mask = outer;
        v = v.id ? ind_op_where(o, mask, own, v) : own;
        start = end;
    }
    return v;
}

static ind_value graph__lower_diff(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int n = (int)l->node->attr[0].i, dim = (int)l->node->attr[1].i;
    ind_value v[IND__MAX_DIFFS + 1];
    ind_expr at[IND_MAX_RANK];
    dim += dim < 0 ? rank : 0;
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int k = 0; k <= n; k++) {
        at[dim] = ind_expr_add(index[dim], ind_int(l->context, k));
        v[k] = graph__diff_operand(o, at, rank, dim, l);
    }
    for (int left = n; left > 0; left--)
        for (int k = 0; k < left; k++) {
            if (l->compute == IND_BOOL)
                v[k] = ind_op_ne(o, v[k + 1], v[k]);
            else /* PyTorch stores the differences between the steps */
                v[k] = ind_op_cast(o, ind_op_sub(o, v[k + 1], v[k]), l->result->dtype);
        }
    return v[0];
}

/* ---- multinomial */

static ind_value graph__weight(ind_ops *o, const ind_expr *index, int rank, void *user) {
    return graph__lower_operand_as(o, user, 0, index, rank, IND_F64);
}

/* The first place at which the running sum of the weights exceeds a random part of the whole. */
static ind_value graph__multinomial_drawn(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    graph__search s = {.sequence = l->part[0], .right = true, .dim = rank - 1, .size = l->part[0]->size[rank - 1]};
    ind_expr one = ind_int(l->context, 1), last = ind_expr_sub(s.size, one);
    l->compute = IND_F64;
    ind_value u = graph__random_fraction(o, l, 1, index, rank, 0, 53, 0);
    for (int d = 0; d + 1 < rank; d++) s.at[d] = index[d];
    s.at[rank - 1] = last;
    ind_value all = ind__box_load(o, l->part[0], s.at, rank);
    ind_value place = graph__search_steps(o, &s, ind_op_mul(o, u, all));
    return ind_op_minimum(o, place, ind_op_index(o, last, IND_I64));
}

static ind_value graph__multinomial_key(ind_ops *o, const ind_expr *index, int rank, void *user) {
    graph__lower_ctx *l = user;
    const ind__tensor_info *y = l->result, *x = graph__lower_operand_info(l, 0);
    ind_value p = graph__weight(o, index, rank, l), zero = ind_op_constant(o, 0, IND_F64);
    l->compute = IND_F64;
    l->result = x; /* numbers are drawn for its elements */
    ind_value v = graph__random_fraction(o, l, 1, index, rank, 0, 53, 1);
    l->result = y;
    return ind_op_where(o, ind_op_gt(o, p, zero), ind_op_div(o, p, ind_op_neg(o, ind_op_log(o, v))), zero);
}

static ind_status graph__lower_multinomial(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0), *y = l->result;
    bool again = l->node->attr[1].i;
    ind_expr map[IND_MAX_RANK];
    graph__typed_number zero = {IND_I64, 0, 0};
    if (graph__size_is_one(x->size[x->rank - 1])) {
        results[0] = ind__box_pointwise(l->w->program, IND_I64, y->size, y->rank, graph__neutral_element, &zero);
        return results[0] ? IND_OK : ind__failed(l->context);
    }
    ind__scan_desc d = {again ? IND_SCAN_SUM : IND_SCAN_DESCENDING,     IND_F64, x->size, x->rank, x->rank - 1,
                        again ? graph__weight : graph__multinomial_key, l};
    ind_status status = ind__box_scan(l->w->program, &d, l->part);
    if (status) return status;
    if (again) return graph__lower_loop(l, IND_I64, y->size, y->rank, graph__multinomial_drawn, results);
    for (int k = 0; k < y->rank; k++) map[k] = graph__lower_view_index(l, k);
    results[0] = ind__box_view(l->w->program, l->part[1], y->size, y->rank, map);
    return results[0] ? IND_OK : ind__failed(l->context);
}

/* The mask as 0 or 1 at a position of the result. */
static ind_value graph__mask_number(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    (void)rank;
    ind__delinearise(l->context, index[0], l->result->size, l->result->rank, at);
    return ind_op_cast(o, graph__lower_operand_as(o, l, 1, at, l->result->rank, IND_BOOL), IND_I64);
}

static ind_value graph__masked_scatter_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value mask = graph__lower_operand_as(o, l, 1, index, rank, IND_BOOL), outer = o->mask;
    ind_expr position = ind__linearise(l->context, index, l->result->size, rank), count = l->part[1]->size[0];
    ind_value rank_of = ind__box_load(o, l->part[0], &position, 1);
    ind_value from = ind_op_sub(o, rank_of, ind_op_constant_int(o, 1, IND_I64));
    o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    ind_expr at = ind_op_indirect(o, from, count, false);
    ind_expr some = ind_expr_lt(ind_int(l->context, 0), count);
    if (!ind_known_true(some)) o->mask = ind_op_and(o, o->mask, ind_op_index(o, some, IND_BOOL));
    ind_value taken =
        ind__ok(at) ? graph__lower_cast(o, ind__box_load(o, l->part[1], &at, 1), l->compute) : (ind_value){0};
    o->mask = outer;
    return ind_op_where(o, mask, taken, graph__lower_operand(o, l, 0, index, rank));
}

/* The n-th true of the mask takes element n of the source: n is a running count. */
static ind_status graph__lower_masked_scatter(graph__lower_ctx *l, ind__box **results) {
    ind_expr numel = ind_expr_product(l->context, l->result->size, l->result->rank);
    const ind__tensor_info *source = graph__lower_operand_info(l, 2);
    ind_expr flat = ind_expr_product(l->context, source->size, source->rank);
    ind_status status = graph__lower_scan_of(l, IND_SCAN_SUM, IND_I64, &numel, 1, 0, graph__mask_number, &l->part[0]);
    if (!status) status = ind__box_realise(l->w->program, graph__lower_operand_box(l, 2));
    if (status) return status;
    l->part[1] = ind__box_reshape(l->w->program, graph__lower_operand_box(l, 2), &flat, 1);
    if (!l->part[1]) return ind__failed(l->context);
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__masked_scatter_element,
                             results);
}

/* ---- sizes that come from data ---- */

/* Is the point at this index of what is looked through chosen? As 0 or 1, in i64. */
static ind_value graph__chosen_number(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at[IND_MAX_RANK];
    (void)rank;
    ind__delinearise(l->context, index[0], l->chosen.size, l->chosen.rank, at);
    return ind_op_cast(o, l->chosen.flag(o, at, l->chosen.rank, l), IND_I64);
}

static ind_value graph__last_count(ind_ops *o, const ind_expr *index, int rank, void *user) {
    (void)rank;
    return ind__box_load(o, (const ind__box *)user, index, 1);
}

/* How many are chosen: the last of the running counts, 0 if there is none. */
static ind_value graph__count_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_context *c = l->context;
    ind_expr numel = l->chosen.counts->size[0], last = ind_expr_sub(numel, ind_int(c, 1));
    ind_expr some = ind_expr_lt(ind_int(c, 0), numel);
    (void)index, (void)rank;
    if (ind_known_true(some)) return ind__box_load(o, l->chosen.counts, &last, 1);
    ind_value zero = ind_op_constant_int(o, 0, IND_I64), has = ind_op_index(o, some, IND_BOOL);
    return ind_op_where(o, has, ind_op_masked(o, has, graph__last_count, &last, 1, l->chosen.counts, 0), zero);
}

/* From here on the box, of one i64, holds the size from data that this op makes. */
static ind_status graph__lower_length(graph__lower_ctx *l, ind__box *count) {
    const ind__attr *length = &l->node->attr[l->node->num_attrs - 1];
    const ind_graph *g = l->w->graph;
    ind__lowered *p = l->w->program;
    if (length->kind != IND__ATTR_SIZE) return IND_OK; /* always 0 */
    for (uint32_t u = 0; u < p->num_unbacked; u++)
        if (ind_expr_same(p->unbacked[u].symbol, length->e)) return IND_OK; /* counted before */
    ind_status status = ind__box_realise(p, count);
    for (uint32_t u = 0; !status && u < g->num_unbacked; u++) {
        if (!ind_expr_same(g->unbacked[u].symbol, length->e)) continue;
        p->unbacked[p->num_unbacked] = g->unbacked[u];
        p->unbacked[p->num_unbacked++].buffer = count->storage->buffer;
    }
    return status;
}

/* The op whose count the size from data of this one is: itself, or one that counts the same. */
static const ind__node *graph__counting_node(const graph__lower_ctx *l) {
    const ind_graph *g = l->w->graph;
    const ind__unbacked *u = ind__find_length(g, l->node->attr[l->node->num_attrs - 1].e);
    return u ? &g->node[u->node] : l->node;
}

/* Did the caller bound it? */
static bool graph__is_bounded(const graph__lower_ctx *l) {
    const ind__node *n = graph__counting_node(l);
    bool chooses = n->op == IND_OP_NONZERO || n->op == IND_OP_ARGWHERE || n->op == IND_OP_MASKED_SELECT;
    return chooses && (n->attr[0].i > 0 || n->attr[1].kind != IND__ATTR_NONE);
}

/* The same where the caller gave bounds: if they do not hold, that is reported, and the least is taken. */
static ind_value graph__bounded_count(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *a = graph__counting_node(l)->attr;
    ind_expr least = ind_int(l->context, a[0].i);
    ind_expr most = a[1].kind == IND__ATTR_NONE ? l->chosen.counts->size[0] : a[1].e;
    ind_value count = graph__count_element(o, index, rank, l), none = ind_op_constant_int(o, -1, IND_I64);
    count = ind_op_where(o, ind_op_ge(o, count, ind_op_index(o, least, IND_I64)), count, none);
    ind_expr at = ind_op_indirect(o, count, ind_expr_add(most, ind_int(l->context, 1)), false);
    return ind__ok(at) ? ind_op_index(o, ind_expr_max(at, least), IND_I64) : (ind_value){0};
}

/* Counts the points of these sizes for which `flag`, a bool, holds; how many there are is the op's size from data. */
static ind_status graph__lower_choose(graph__lower_ctx *l, const ind_expr *size, int rank,
                                      graph__lower_element_fn flag) {
    ind_expr numel = ind_expr_product(l->context, size, rank);
    ind__box *count;
    l->chosen.flag = flag;
    l->chosen.rank = rank;
    for (int d = 0; d < rank; d++) l->chosen.size[d] = size[d];
    ind_status status =
        graph__lower_scan_of(l, IND_SCAN_SUM, IND_I64, &numel, 1, 0, graph__chosen_number, &l->chosen.counts);
    if (!status) status = ind__box_realise(l->w->program, l->chosen.counts);
    graph__lower_element_fn number = graph__is_bounded(l) ? graph__bounded_count : graph__count_element;
    if (!status) status = graph__lower_loop(l, IND_I64, NULL, 0, number, &count);
    return status ? status : graph__lower_length(l, count);
}

/* The number of a chosen point among all that are; *mask: is this one chosen? */
static ind_expr graph__chosen_place(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l, ind_value *mask) {
    ind_context *c = l->context;
    ind_expr at = ind__linearise(c, index, l->chosen.size, rank), one = ind_int(c, 1);
    ind_expr most = ind_expr_max(ind_expr_product(c, l->chosen.size, rank), one);
    ind_value outer = o->mask, count = ind__box_load(o, l->chosen.counts, &at, 1);
    *mask = l->chosen.flag(o, index, rank, l);
    if (graph__is_bounded(l))
        *mask = ind_op_and(o, *mask,
                           ind_op_le(o, count, ind_op_index(o, l->node->attr[l->node->num_attrs - 1].e, IND_I64)));
    o->mask = *mask;
    at = ind_op_indirect(o, ind_op_sub(o, count, ind_op_constant_int(o, 1, IND_I64)), most, false);
    o->mask = outer;
    return at;
}

static ind_value graph__is_nonzero(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value x = ind__box_load(o, graph__lower_operand_box(l, 0), index, rank);
    return ind_op_cast(o, x, IND_BOOL);
}

static void graph__nonzero_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_value mask;
    ind_expr at[2] = {graph__chosen_place(o, index, rank, l, &mask)};
    for (int d = 0; d < rank; d++) {
        at[1] = ind_int(l->context, d);
        ind__emit_scatter(o, to, at, 2, ind_op_index(o, index[d], IND_I64), mask, IND_REDUCE_NONE);
    }
}

static ind_status graph__lower_where_nonzero(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind__box *base;
    ind_status status = graph__lower_choose(l, x->size, x->rank, graph__is_nonzero);
    if (!status) status = graph__lower_zeros(l, IND_I64, l->result->size, 2, &base);
    if (!status && x->rank == 0) results[0] = base;
    if (status || x->rank == 0) return status;
    return graph__lower_scatter_loop(l, base, x->size, x->rank, graph__nonzero_element, IND_REDUCE_NONE, results);
}

static ind_value graph__is_selected(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    return graph__lower_operand_as(o, l, 1, index, rank, IND_BOOL);
}

static void graph__select_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_value mask;
    ind_expr at = graph__chosen_place(o, index, rank, l, &mask);
    ind__emit_scatter(o, to, &at, 1, graph__lower_operand(o, l, 0, index, rank), mask, IND_REDUCE_NONE);
}

static ind_status graph__lower_masked_select(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0), *mask = graph__lower_operand_info(l, 1);
    int rank = x->rank > mask->rank ? x->rank : mask->rank;
    ind_expr size[IND_MAX_RANK];
    ind__box *base;
    for (int d = 0; d < rank; d++) {
        int a = d - (rank - x->rank), b = d - (rank - mask->rank);
        size[d] = a < 0 || (b >= 0 && graph__size_is_one(x->size[a])) ? mask->size[b] : x->size[a];
    }
    ind_status status = graph__lower_choose(l, size, rank, graph__is_selected);
    if (!status) status = graph__lower_zeros(l, l->result->dtype, l->result->size, 1, &base);
    if (status) return status;
    return graph__lower_scatter_loop(l, base, size, rank, graph__select_element, IND_REDUCE_NONE, results);
}

/* ---- unique ---- */

static ind_value graph__flat_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__box *x = graph__lower_operand_box(l, 0);
    ind_expr at[IND_MAX_RANK];
    (void)rank;
    ind__delinearise(l->context, index[0], x->size, x->rank, at);
    return ind__box_load(o, x, at, x->rank);
}

/* Is it the first, or another than the one before? NaN is always another. */
static ind_value graph__is_new(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_context *c = l->context;
    ind_expr before = ind_expr_sub(index[0], ind_int(c, 1));
    ind_value x = ind__box_load(o, l->part[0], index, rank);
    ind_value first = ind_op_index(o, ind_expr_eq(index[0], ind_int(c, 0)), IND_BOOL);
    ind_value y = ind_op_masked(o, ind_op_not(o, first), graph__lower_box_element, &before, 1, l->part[0], 0);
    return ind_op_or(o, first, ind_op_ne(o, x, y));
}

static void graph__unique_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_value mask;
    ind_expr at = graph__chosen_place(o, index, rank, l, &mask);
    ind__emit_scatter(o, to, &at, 1, ind__box_load(o, l->part[0], index, rank), mask, IND_REDUCE_NONE);
}

/* Which of the unique values it is: the number of new ones up to it, less one. */
static ind_value graph__unique_number(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr at = ind__linearise(l->context, index, graph__lower_operand_info(l, 0)->size, rank);
    return ind_op_sub(o, ind__box_load(o, l->chosen.counts, &at, 1), ind_op_constant_int(o, 1, IND_I64));
}

/* The same where the element was before it was sorted. */
static void graph__inverse_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr numel = l->chosen.size[0], some = ind_expr_max(numel, ind_int(l->context, 1)), at[IND_MAX_RANK];
    ind_expr from = ind_op_indirect(o, ind__box_load(o, l->part[1], index, rank), some, false);
    ind_value number = ind__box_load(o, l->chosen.counts, index, 1);
    ind__delinearise(l->context, from, x->size, x->rank, at);
    number = ind_op_sub(o, number, ind_op_constant_int(o, 1, IND_I64));
    ind__emit_scatter(o, to, at, x->rank, number, (ind_value){0}, IND_REDUCE_NONE);
}

static void graph__unique_count_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr some = ind_expr_max(l->chosen.size[0], ind_int(l->context, 1));
    ind_value number = ind__box_load(o, l->chosen.counts, index, rank), one = ind_op_constant_int(o, 1, IND_I64);
    ind_expr at = ind_op_indirect(o, ind_op_sub(o, number, one), some, false);
    ind__emit_scatter(o, to, &at, 1, one, (ind_value){0}, IND_REDUCE_SUM);
}

static ind_status graph__lower_inverse(graph__lower_ctx *l, bool sorted, ind__box **result) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind__box *base;
    if (!sorted) return graph__lower_loop(l, IND_I64, x->size, x->rank, graph__unique_number, result);
    ind_status status = graph__lower_zeros(l, IND_I64, x->size, x->rank, &base);
    if (status) return status;
    return graph__lower_scatter_loop(l, base, l->chosen.size, 1, graph__inverse_element, IND_REDUCE_NONE, result);
}

static ind_status graph__lower_unique(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const bool sorted = l->node->op == IND_OP_UNIQUE;
    const ind__attr *inverse = &l->node->attr[sorted];
    ind_expr numel = ind_expr_product(l->context, x->size, x->rank);
    ind__lowered *p = l->w->program;
    ind__box *base;
    int r = 1;
    ind_status status;
    if (sorted)
        status = graph__lower_scan_of(l, IND_SCAN_ASCENDING, x->dtype, &numel, 1, 0, graph__flat_element, l->part);
    else
        status = graph__lower_loop(l, x->dtype, &numel, 1, graph__flat_element, l->part);
    for (int k = 0; k <= sorted && !status; k++) status = ind__box_realise(p, l->part[k]);
    if (!status) status = graph__lower_choose(l, &numel, 1, graph__is_new);
    if (!status) status = graph__lower_zeros(l, x->dtype, l->result->size, 1, &base);
    if (!status)
        status = graph__lower_scatter_loop(l, base, &numel, 1, graph__unique_element, IND_REDUCE_NONE, results);
    if (!status && inverse->i) status = graph__lower_inverse(l, sorted, &results[r++]);
    if (status || !inverse[1].i) return status;
    status = graph__lower_zeros(l, IND_I64, l->result->size, 1, &base);
    if (status) return status;
    return graph__lower_scatter_loop(l, base, &numel, 1, graph__unique_count_element, IND_REDUCE_SUM, &results[r]);
}

/* ---- repeat_interleave ---- */

/* The repeats of element index[0], in [0, most]: others are reported. */
static ind_value graph__repeats_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const uint32_t k = graph__lower_has_operand(l, 1);
    const ind__box *repeats = graph__lower_operand_box(l, k);
    ind_expr zero = ind_int(l->context, 0), end = ind_expr_add(l->repeats.most, ind_int(l->context, 1));
    (void)rank;
    bool one = k && repeats->rank == 1 && graph__size_is_one(repeats->size[0]);
    ind_value v = graph__lower_cast(o, ind__box_load(o, repeats, one ? &zero : index, repeats->rank), IND_I64);
    return ind_op_index(o, ind_op_indirect(o, v, end, false), IND_I64);
}

/* All repeats together, 0 if they are more than there may be: that is reported. */
static ind_value graph__repeats_total(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_expr end = ind_expr_add(l->repeats.most, ind_int(l->context, 1));
    ind_value total = graph__count_element(o, index, rank, l);
    return ind_op_index(o, ind_op_indirect(o, total, end, false), IND_I64);
}

/* Element `source` of the result's dimension l->repeats.dim, for a result at index. */
static ind_value graph__repeated_load(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l,
                                      ind_expr source) {
    const ind__box *x = graph__lower_operand_box(l, 0);
    ind_expr at[IND_MAX_RANK], flat[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = d == l->repeats.dim ? source : index[d];
    if (x->rank == rank && l->node->attr[0].kind != IND__ATTR_NONE) return ind__box_load(o, x, at, rank);
    ind__delinearise(l->context, source, x->size, x->rank, flat);
    return ind__box_load(o, x, flat, x->rank);
}

static ind_value graph__repeated_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__tensor_info *repeats = graph__lower_operand_info(l, graph__lower_has_operand(l, 1));
    ind_context *c = l->context;
    if (repeats->weak) {
        int64_t n = l->w->graph->node[repeats->node].attr[0].i;
        ind_expr source = ind_expr_floordiv(index[l->repeats.dim], ind_int(c, n ? n : 1));
        return graph__repeated_load(o, index, rank, l, source);
    }
    graph__search s = {.sequence = l->chosen.counts, .right = true, .size = l->chosen.counts->size[0]};
    ind_value j = ind_op_index(o, index[l->repeats.dim], IND_I64), outer = o->mask;
    if (!j.id) return j;
    ind_value found = graph__search_steps(o, &s, j);
    ind_expr some = ind_expr_lt(ind_int(c, 0), s.size);
    if (l->node->attr[1].kind != IND__ATTR_NONE) { /* output_size: neither less nor more is there */
        ind_value most = ind_op_index(o, l->repeats.most, IND_I64), none = ind_op_constant_int(o, -1, IND_I64);
        found = ind_op_where(o, ind_op_le(o, graph__count_element(o, NULL, 0, l), most), found, none);
    }
    ind_expr source = ind_op_indirect(o, found, s.size, false);
    if (!graph__lower_has_operand(l, 1)) return ind_op_index(o, source, IND_I64);
    if (!ind__ok(source)) return (ind_value){0};
    ind_value has = ind_op_index(o, some, IND_BOOL);
    if (!ind_known_true(some)) o->mask = outer.id ? ind_op_and(o, outer, has) : has;
    ind_value v = graph__repeated_load(o, index, rank, l, source);
    o->mask = outer;
    return graph__lower_cast(o, v, l->compute);
}

/* Running sums of the repeats; the element that holds j is the first whose sum is above j. */
static ind_status graph__lower_repeat_interleave(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0), *y = l->result;
    const ind__attr *a = l->node->attr;
    const uint32_t k = graph__lower_has_operand(l, 1);
    bool along = a[0].kind != IND__ATTR_NONE && x->rank > 0;
    ind_expr n =
        along ? x->size[a[0].i < 0 ? a[0].i + x->rank : a[0].i] : ind_expr_product(l->context, x->size, x->rank);
    l->repeats.dim = along ? (int)(a[0].i < 0 ? a[0].i + x->rank : a[0].i) : 0;
    l->repeats.most = a[1].kind != IND__ATTR_NONE ? a[1].e : a[2].e;
    ind__box *total;
    ind_status status = IND_OK;
    if (!graph__lower_operand_info(l, k)->weak) {
        status = graph__lower_scan_of(l, IND_SCAN_SUM, IND_I64, &n, 1, 0, graph__repeats_element, &l->chosen.counts);
        if (!status) status = ind__box_realise(l->w->program, l->chosen.counts);
        if (!status && a[3].kind == IND__ATTR_SIZE) {
            status = graph__lower_loop(l, IND_I64, NULL, 0, graph__repeats_total, &total);
            if (!status) status = graph__lower_length(l, total);
        }
    }
    return status ? status : graph__lower_loop(l, y->dtype, y->size, y->rank, graph__repeated_element, results);
}

/* ---- resampling ---- */

/* What a place in the result is multiplied by to give one in the operand, as PyTorch has it in f32 (f64 for f64). */
static ind_value graph__resample_step(ind_ops *o, const graph__lower_ctx *l, const ind__resample *r, int s,
                                      ind_dtype dtype) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    ind_expr in = x->size[2 + s], out = l->result->size[2 + s], one = ind_int(l->context, 1);
    if (!r->align_corners && r->scale[s] > 0) return ind_op_constant(o, 1 / r->scale[s], dtype);
    if (r->align_corners) {
        in = ind_expr_sub(in, one);
        out = ind_expr_max(ind_expr_sub(out, one), one); /* a single place is the first: it is multiplied by 0 */
    }
    return ind_op_div(o, ind_op_index(o, in, dtype), ind_op_index(o, out, dtype));
}

/* The step as a number, where the sizes are known; else 0. */
static float graph__nearest_step(const graph__lower_ctx *l, const ind__resample *r, int s) {
    int64_t in, out;
    bool known = ind_expr_is_int(graph__lower_operand_info(l, 0)->size[2 + s], &in) &&
                 ind_expr_is_int(l->result->size[2 + s], &out);
    if (r->scale[s] > 0) return (float)(1 / r->scale[s]);
    return known ? (float)in / (float)out : 0;
}

/* Whether floor((i + shift) * step) in f32, which is what PyTorch computes, is the floor of the exact quotient at every
   place: for a power of two it is, else known sizes are tried one by one. */
static bool graph__nearest_is_exact(const graph__lower_ctx *l, const ind__resample *r, int s) {
    int64_t in, out;
    float step = graph__nearest_step(l, r, s), shift = r->mode == IND__NEAREST_EXACT ? 0.5f : 0.0f;
    ind_expr x = graph__lower_operand_info(l, 0)->size[2 + s], y = l->result->size[2 + s];
    if (!ind_expr_is_int(x, &in) || !ind_expr_is_int(y, &out)) {
        int exponent;
        bool doubled = r->scale[s] >= 1 && frexp(r->scale[s], &exponent) == 0.5;
        ind_expr times = ind_int(l->context, doubled ? (int64_t)r->scale[s] : 1);
        ind_expr_bounds(y, &in, &out);
        return doubled && out < 1 << 23 && ind_known_eq(ind_expr_mul(x, times), y);
    }
    if (out > 1 << 16) return false;
    for (int64_t i = 0; i < out; i++) {
        int64_t place = (int64_t)floorf(((float)i + shift) * step), twice = 2 * i + (shift > 0);
        if ((place < in ? place : in - 1) != twice * in / (2 * out)) return false;
    }
    return true;
}

static ind_expr graph__nearest_place(const graph__lower_ctx *l, const ind__resample *r, int s, ind_expr i) {
    ind_expr in = graph__lower_operand_info(l, 0)->size[2 + s], out = l->result->size[2 + s];
    ind_expr two = ind_int(l->context, 2);
    if (r->mode == IND__NEAREST) return ind_expr_floordiv(ind_expr_mul(i, in), out);
    i = ind_expr_add(ind_expr_mul(i, two), ind_int(l->context, 1));
    return ind_expr_floordiv(ind_expr_mul(i, in), ind_expr_mul(out, two));
}

/* As PyTorch rounds it: min(floor((i + shift) * step), in - 1) in f32. */
static ind_expr graph__nearest_computed(ind_ops *o, const graph__lower_ctx *l, const ind__resample *r, int s,
                                        ind_expr i) {
    ind_expr in = graph__lower_operand_info(l, 0)->size[2 + s], one = ind_int(l->context, 1);
    ind_value at = ind_op_index(o, i, IND_F32);
    if (r->mode == IND__NEAREST_EXACT) at = ind_op_add(o, at, ind_op_constant(o, 0.5, IND_F32));
    at = ind_op_mul(o, at, graph__resample_step(o, l, r, s, IND_F32));
    at = ind_op_minimum(o, ind_op_cast(o, at, IND_I64), ind_op_index(o, ind_expr_sub(in, one), IND_I64));
    return ind_op_indirect(o, at, in, false);
}

static ind_value graph__nearest_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind__resample r;
    ind_expr at[IND_MAX_RANK];
    (void)ind__resample_of(l->w->graph, l->node->op, l->node->attr, rank, &r);
    for (int d = 0; d < rank; d++) {
        bool exact = d < 2 || graph__nearest_is_exact(l, &r, d - 2);
        at[d] = d < 2   ? index[d]
                : exact ? graph__nearest_place(l, &r, d - 2, index[d])
                        : graph__nearest_computed(o, l, &r, d - 2, index[d]);
    }
    return graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), at, rank), l->compute);
}

/* The two neighbours of a place in the operand, and the weight of the second. */
typedef struct graph__neighbours {
    ind_expr at[2];
    ind_value weight[2];
} graph__neighbours;

static void graph__find_neighbours(ind_ops *o, const graph__lower_ctx *l, const ind__resample *r, int s, ind_expr i,
                                   graph__neighbours *n) {
    ind_expr in = graph__lower_operand_info(l, 0)->size[2 + s], one = ind_int(l->context, 1);
    ind_value place = ind_op_index(o, i, l->compute), step = graph__resample_step(o, l, r, s, l->compute);
    ind_value half = ind_op_constant(o, 0.5, l->compute);
    if (!r->align_corners) place = ind_op_add(o, place, half);
    place = ind_op_mul(o, place, step);
    if (!r->align_corners) {
        place = ind_op_maximum(o, ind_op_sub(o, place, half), ind_op_constant(o, 0, l->compute));
    }
    ind_value last = ind_op_index(o, ind_expr_sub(in, one), IND_I64);
    ind_value first = ind_op_minimum(o, ind_op_cast(o, place, IND_I64), last);
    ind_value second = ind_op_minimum(o, ind_op_add(o, first, ind_op_constant_int(o, 1, IND_I64)), last);
    n->weight[1] = ind_op_sub(o, place, ind_op_cast(o, first, l->compute));
    n->weight[1] = ind_op_minimum(o, n->weight[1], ind_op_constant(o, 1, l->compute));
    n->weight[0] = ind_op_sub(o, ind_op_constant(o, 1, l->compute), n->weight[1]);
    n->at[0] = ind_op_indirect(o, first, in, false);
    n->at[1] = ind_op_indirect(o, second, in, false);
}

/* The sum over the 2, 4 or 8 neighbours, the last dimension innermost. */
static ind_value graph__linear_resample_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind__resample r;
    graph__neighbours n[3];
    ind_value v[8];
    ind_expr at[IND_MAX_RANK];
    (void)ind__resample_of(l->w->graph, l->node->op, l->node->attr, rank, &r);
    for (int s = 0; s < r.rank; s++) graph__find_neighbours(o, l, &r, s, index[2 + s], &n[s]);
    for (int k = 0; k < 1 << r.rank; k++) {
        for (int d = 0; d < rank; d++) at[d] = d < 2 ? index[d] : n[d - 2].at[k >> (rank - 1 - d) & 1];
        v[k] = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 0), at, rank), l->compute);
    }
    for (int s = r.rank - 1; s >= 0; s--) {
        for (int k = 0; k < 1 << s; k++) {
            ind_value a = ind_op_mul(o, n[s].weight[0], v[2 * k]), b = ind_op_mul(o, n[s].weight[1], v[2 * k + 1]);
            v[k] = ind_op_add(o, a, b);
        }
    }
    return v[0];
}

/* The operand is read several times for each element, and by computed indices. */
static ind_status graph__lower_upsample(graph__lower_ctx *l, ind__box **results) {
    ind__resample r;
    (void)ind__resample_of(l->w->graph, l->node->op, l->node->attr, graph__lower_operand_info(l, 0)->rank, &r);
    if (r.mode == IND__LINEAR && !graph__stored_operand(l, 0)) return ind__failed(l->context);
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank,
                             r.mode == IND__LINEAR ? graph__linear_resample_element : graph__nearest_element, results);
}

/* ---- grid_sampler_2d ---- */

/* Coordinate x folded back into [low / 2, high / 2] as often as it takes (ATen's reflect_coordinates). */
static ind_value graph__reflected(ind_ops *o, const graph__lower_ctx *l, ind_value x, ind_expr low, ind_expr high) {
    ind_value half = ind_op_constant(o, 0.5, l->compute), zero = ind_op_constant(o, 0, l->compute);
    ind_value from = ind_op_mul(o, ind_op_index(o, low, l->compute), half);
    ind_value span = ind_op_mul(o, ind_op_index(o, ind_expr_sub(high, low), l->compute), half);
    ind_value away = ind_op_abs(o, ind_op_sub(o, x, from)), extra = ind_op_fmod(o, away, span);
    ind_value flips = ind_op_floor(o, ind_op_div(o, away, span));
    ind_value odd = ind_op_ne(o, ind_op_fmod(o, flips, ind_op_constant(o, 2, l->compute)), zero);
    ind_value there = ind_op_add(o, extra, from), back = ind_op_add(o, ind_op_sub(o, span, extra), from);
    return ind_op_where(o, ind_op_index(o, ind_expr_eq(low, high), IND_BOOL), zero, ind_op_where(o, odd, back, there));
}

/* From [-1, 1] to elements of a dimension; what is no number, or far outside, is before the first element. */
static ind_value graph__grid_place(ind_ops *o, const graph__lower_ctx *l, ind_value x, ind_expr size) {
    bool align = l->node->attr[2].i != 0;
    int64_t padding = l->node->attr[1].i;
    ind_context *c = l->context;
    ind_expr one = ind_int(c, 1), two = ind_int(c, 2), last = ind_expr_sub(size, one);
    ind_value unit = ind_op_constant(o, 1, l->compute), half = ind_op_constant(o, 0.5, l->compute);
    x = ind_op_add(o, x, unit);
    if (align) {
        x = ind_op_mul(o, ind_op_mul(o, x, half), ind_op_index(o, last, l->compute));
    } else {
        x = ind_op_mul(o, ind_op_sub(o, ind_op_mul(o, x, ind_op_index(o, size, l->compute)), unit), half);
    }
    if (padding == 2) {
        ind_expr twice = ind_expr_mul(two, align ? last : size);
        x = graph__reflected(o, l, x, ind_int(c, align ? 0 : -1), align ? twice : ind_expr_sub(twice, one));
    }
    if (padding != 0) {
        x = ind_op_maximum(o, x, ind_op_constant(o, 0, l->compute));
        x = ind_op_minimum(o, x, ind_op_index(o, last, l->compute));
    }
    ind_value far = ind_op_constant(o, 2147483646.0, l->compute);
    ind_value near = ind_op_lt(o, ind_op_abs(o, x), far);
    return ind_op_where(o, near, x, ind_op_constant(o, -100, l->compute));
}

/* The image's element at a row and a column, 0 outside of it. */
static ind_value graph__grid_element(ind_ops *o, graph__lower_ctx *l, const ind_expr *index, ind_value row,
                                     ind_value column) {
    const ind__box *x = graph__lower_operand_box(l, 0);
    ind_value at[2] = {ind_op_cast(o, row, IND_I64), ind_op_cast(o, column, IND_I64)}, inside = {0}, outer = o->mask;
    ind_value zero = ind_op_constant_int(o, 0, IND_I64);
    for (int s = 0; s < 2; s++) {
        ind_value size = ind_op_index(o, x->size[2 + s], IND_I64);
        ind_value within = ind_op_and(o, ind_op_le(o, zero, at[s]), ind_op_lt(o, at[s], size));
        inside = inside.id ? ind_op_and(o, inside, within) : within;
    }
    o->mask = outer.id ? ind_op_and(o, outer, inside) : inside;
    ind_expr place[4] = {index[0], index[1], ind_op_indirect(o, at[0], x->size[2], false),
                         ind_op_indirect(o, at[1], x->size[3], false)};
    ind_value v = graph__lower_cast(o, ind__box_load(o, x, place, 4), l->compute);
    o->mask = outer;
    return ind_op_where(o, inside, v, ind_op_constant(o, 0, l->compute));
}

static ind_value graph__grid_sampled(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value place[2], first[2], weight[2][2], sum = {0}, unit = ind_op_constant(o, 1, l->compute);
    (void)rank;
    for (int s = 0; s < 2; s++) { /* the grid has x before y */
        ind_expr at[4] = {index[0], index[2], index[3], ind_int(l->context, 1 - s)};
        ind_value x = graph__lower_cast(o, ind__box_load(o, graph__lower_operand_box(l, 1), at, 4), l->compute);
        place[s] = graph__grid_place(o, l, x, graph__lower_operand_info(l, 0)->size[2 + s]);
        first[s] = ind_op_floor(o, place[s]);
        weight[s][1] = ind_op_sub(o, place[s], first[s]);
        weight[s][0] = ind_op_sub(o, ind_op_add(o, first[s], unit), place[s]);
    }
    if (l->node->attr[0].i == 1)
        return graph__grid_element(o, l, index, ind_op_rint(o, place[0]), ind_op_rint(o, place[1]));
    for (int k = 0; k < 4; k++) {
        int y = k >> 1, x = k & 1;
        ind_value row = y ? ind_op_add(o, first[0], unit) : first[0],
                  column = x ? ind_op_add(o, first[1], unit) : first[1];
        ind_value v =
            ind_op_mul(o, graph__grid_element(o, l, index, row, column), ind_op_mul(o, weight[0][y], weight[1][x]));
        sum = sum.id ? ind_op_add(o, sum, v) : v;
    }
    return sum;
}

static ind_status graph__lower_grid_sampler(graph__lower_ctx *l, ind__box **results) {
    if (!graph__stored_operand(l, 0)) return ind__failed(l->context);
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__grid_sampled, results);
}

/* ---- im2col and col2im ---- */

/* Row (c, i, j) and column (y, x) of the matrix: element (c, y * stride - padding + i * dilation, ..) of the image. */
static ind_value graph__im2col_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 0);
    const ind__window *w = &l->window;
    ind_expr row[3], column[2], at[4], inside = ind_int(l->context, 1), count[2];
    int lead = x->rank - 3;
    ind_expr rows[3] = {x->size[lead], w->kernel[0], w->kernel[1]};
    for (int s = 0; s < 2; s++) count[s] = ind__windows_in(w, s, x->size[lead + 1 + s], false);
    ind__delinearise(l->context, index[rank - 2], rows, 3, row);
    ind__delinearise(l->context, index[rank - 1], count, 2, column);
    if (lead) at[0] = index[0];
    at[lead] = row[0];
    for (int s = 0; s < 2; s++) {
        ind_expr start = ind_expr_sub(ind_expr_mul(column[s], w->stride[s]), w->padding[s]);
        at[lead + 1 + s] = ind_expr_add(start, ind_expr_mul(row[1 + s], w->dilation[s]));
        inside = graph__and_within(inside, at[lead + 1 + s], x->size[lead + 1 + s]);
    }
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_zero(o, l));
}

static ind_status graph__lower_im2col(graph__lower_ctx *l, ind__box **results) {
    l->window.rank = 2;
    (void)ind__window_of(l->w->graph, l->node->op, l->node->attr, NULL, &l->window);
    return graph__lower_loop(l, l->result->dtype, l->result->size, l->result->rank, graph__im2col_element, results);
}

/* Element (.., y, x) of the image under element (i, j) of a window, if the window's place comes out whole. */
static ind_value graph__col2im_element(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__window *w = &l->window;
    int image = l->result->rank, lead = image - 3;
    ind_expr at[3], place[2], count[2], inside = ind_int(l->context, 1);
    const ind_expr *step = index + image;
    (void)rank;
    for (int s = 0; s < 2; s++) {
        ind_expr i = index[lead + 1 + s];
        count[s] = ind__windows_in(w, s, l->result->size[lead + 1 + s], false);
        inside = ind_expr_and(inside, graph__window_over(w, s, i, step[s], count[s], &place[s]));
    }
    ind_expr row = ind_expr_add(ind_expr_mul(index[lead], w->kernel[0]), step[0]);
    if (lead) at[0] = index[0];
    at[lead] = ind_expr_add(ind_expr_mul(row, w->kernel[1]), step[1]);
    at[lead + 1] = ind_expr_add(ind_expr_mul(place[0], count[1]), place[1]);
    return graph__lower_inside(o, l, 0, inside, at, graph__lower_zero(o, l));
}

static ind_status graph__lower_col2im(graph__lower_ctx *l, ind__box **results) {
    l->window.rank = 2;
    (void)ind__window_of(l->w->graph, l->node->op, l->node->attr, NULL, &l->window);
    return graph__lower_window(l, IND_REDUCE_SUM, l->result->dtype, graph__col2im_element, results);
}

/* ---- attention: two products with a softmax between them; only the scores and the probabilities are stored ---- */

/* Score of a query and a key as the softmax takes it: scaled, and -inf where the key is left out. */
static ind_value graph__attention_score(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    const ind__attr *scale = &l->node->attr[2];
    ind_value x = graph__lower_cast(o, ind__box_load(o, l->attention.scores, index, rank), l->compute);
    ind_value out = graph__lower_float(o, l, -INFINITY), factor;
    if (scale->kind != IND__ATTR_NONE) {
        factor = graph__lower_float(o, l, scale->f);
    } else {
        factor = ind_op_index(o, l->attention.features, IND_I64);
        factor = ind_op_rsqrt(o, ind_op_cast(o, factor, l->compute));
    }
    x = ind_op_mul(o, x, factor);
    if (l->node->attr[1].i) {
        ind_expr seen = ind_expr_le(index[rank - 1], index[rank - 2]);
        return ind_op_where(o, ind_op_index(o, seen, IND_BOOL), x, out);
    }
    if (!graph__lower_has_operand(l, 3)) return x;
    ind_value mask = graph__lower_load_broadcast(o, graph__lower_operand_box(l, 3), index, rank);
    if (graph__lower_operand_info(l, 3)->dtype == IND_BOOL) return ind_op_where(o, mask, x, out);
    return ind_op_add(o, x, graph__lower_cast(o, mask, l->compute));
}

/* softmax as of that op, but 0 throughout a row of -inf: nothing is seen there. */
static ind_value graph__attention_probability(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    ind_value m = graph__lower_row_part(o, l, 0, index);
    ind_value sum = ind_op_add(o, graph__lower_row_part(o, l, 1, index), ind_op_sub(o, m, m));
    ind_value p = ind_op_exp(o, ind_op_sub(o, graph__attention_score(o, index, rank, l), m));
    ind_value none = ind_op_eq(o, m, graph__lower_float(o, l, -INFINITY));
    return ind_op_where(o, none, graph__lower_float(o, l, 0), ind_op_div(o, p, sum));
}

/* Operand k in memory, each of its heads as often as query has heads for it (enable_gqa). */
static ind__box *graph__attention_operand(graph__lower_ctx *l, uint32_t k) {
    ind__box *x = graph__stored_operand(l, k);
    const ind__tensor_info *q = graph__lower_operand_info(l, 0);
    if (!x || k == 0 || !l->node->attr[3].i) return x;
    int head = x->rank - 3;
    ind_expr size[IND_MAX_RANK], map[IND_MAX_RANK], group = ind_expr_floordiv(q->size[q->rank - 3], x->size[head]);
    for (int d = 0; d < x->rank; d++) {
        size[d] = d == head ? q->size[q->rank - 3] : x->size[d];
        map[d] = ind__index_symbol(l->context, 'i', d, size[d]);
    }
    map[head] = ind_expr_floordiv(map[head], group);
    return ind__box_view(l->w->program, x, size, x->rank, map);
}

/* *out: a [.., m, k] times b ([.., n, k] where transposed, else [.., k, n]), with the leading dimensions of the result.
 */
static ind_status graph__attention_product(graph__lower_ctx *l, ind__box *a, ind__box *b, bool transposed,
                                           ind_dtype dtype, ind__box **out) {
    if (!a || !b) return ind__failed(l->context);
    l->product.a = a;
    l->product.b = b;
    l->product.has_m = l->product.has_n = true;
    l->product.transposed = transposed;
    graph__product_sizes(l);
    return graph__lower_product(l, dtype, out);
}

static ind_status graph__lower_attention(graph__lower_ctx *l, ind__box **results) {
    ind__box *q = graph__attention_operand(l, 0), *v = graph__attention_operand(l, 2), *p;
    l->attention.features = graph__lower_operand_info(l, 0)->size[graph__lower_operand_info(l, 0)->rank - 1];
    ind_status status =
        graph__attention_product(l, q, graph__attention_operand(l, 1), true, l->compute, &l->attention.scores);
    if (status) return status;
    const ind__box *scores = l->attention.scores;
    graph__split_sizes(l, scores->size, scores->rank, 1u << (scores->rank - 1));
    status = graph__lower_reduce(l, IND_REDUCE_ONLINE_SOFTMAX, l->compute, graph__attention_score, l->part);
    if (status) return status;
    status = graph__lower_loop(l, l->result->dtype, scores->size, scores->rank, graph__attention_probability, &p);
    if (status == IND_OK) status = ind__box_realise(l->w->program, p);
    return status ? status : graph__attention_product(l, p, v, false, l->result->dtype, results);
}

/* ---- convolutions: matrix products whose first operand is found by index arithmetic (an im2col that is not stored) */

/* The loops of a convolution: image?, group?, channel of the result, places; channel of the operand, window. */
typedef struct graph__conv_index {
    ind_expr channel; /* of the operand, of all groups */
    const ind_expr *place, *window;
    ind_expr group, out, in; /* channels within the group */
} graph__conv_index;

static graph__conv_index graph__conv_index_of(const graph__lower_ctx *l, const ind_expr *index) {
    int next = graph__lower_operand_info(l, 0)->rank - l->conv.window.rank - 1; /* 1 where there is a batch */
    graph__conv_index at = {.group = ind_int(l->context, 0)};
    if (l->conv.groups > 1) at.group = index[next++];
    at.out = index[next++];
    at.place = index + next;
    next += l->conv.window.rank;
    at.in = index[next++];
    at.window = index + next;
    at.channel = ind_expr_add(ind_expr_mul(at.group, l->conv_channels), at.in);
    return at;
}

/* Place o of the result under element k of the window. Transposed, the operand's element i is spread to the places
   i * stride - padding + k * dilation: o has one if the division is without remainder. */
static ind_expr graph__conv_place(const graph__lower_ctx *l, int s, ind_expr o, ind_expr k, ind_expr size,
                                  ind_expr *at) {
    const ind__window *w = &l->conv.window;
    ind_expr step = ind_expr_mul(k, w->dilation[s]), one = ind_int(l->context, 1);
    if (!l->conv.transposed) {
        *at = ind_expr_sub(ind_expr_add(ind_expr_mul(o, w->stride[s]), step), w->padding[s]);
        return graph__and_within(one, *at, size);
    }
    return graph__window_over(w, s, o, k, size, at);
}

/* The operand lies in memory, so a load under a mask gives 0 where the window sticks out. */
static ind_value graph__conv_input(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind__box *x = l->product.a;
    graph__conv_index c = graph__conv_index_of(l, index);
    ind_expr at[IND_MAX_RANK], inside = ind_int(l->context, 1);
    int lead = x->rank - l->conv.window.rank - 1;
    (void)rank;
    for (int d = 0; d < lead; d++) at[d] = index[d];
    at[lead] = c.channel;
    for (int s = 0; s < l->conv.window.rank; s++) {
        int d = lead + 1 + s;
        inside = ind_expr_and(inside, graph__conv_place(l, s, c.place[s], c.window[s], x->size[d], &at[d]));
    }
    ind_value outer = o->mask;
    if (!ind_known_true(inside)) {
        ind_value mask = ind_op_index(o, inside, IND_BOOL);
        o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    }
    ind_value v = graph__lower_cast(o, ind__box_load(o, x, at, x->rank), l->compute);
    o->mask = outer;
    return v;
}

static ind_value graph__conv_weight(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    graph__conv_index c = graph__conv_index_of(l, index);
    ind_expr at[IND_MAX_RANK];
    (void)rank;
    at[0] = c.channel;
    at[1] = c.out;
    if (!l->conv.transposed) {
        at[0] = ind_expr_add(ind_expr_mul(c.group, l->conv_outputs), c.out);
        at[1] = c.in;
    }
    for (int s = 0; s < l->conv.window.rank; s++) at[2 + s] = c.window[s];
    return graph__lower_cast(o, ind__box_load(o, l->product.b, at, l->product.b->rank), l->compute);
}

/* A single product: no channel and no window to sum over. */
static ind_value graph__conv_single(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    ind_expr at[2 * IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int s = 0; s <= l->conv.window.rank; s++) at[rank + s] = ind_int(l->context, 0);
    return ind_op_mul(o, graph__conv_input(o, at, rank, user), graph__conv_weight(o, at, rank, user));
}

/* The sums over channels and windows, of l->product.size. */
static ind_status graph__conv_sums(graph__lower_ctx *l, ind__box **out) {
    ind_expr range[4] = {l->conv_channels};
    int n = 1 + l->conv.window.rank;
    for (int s = 0; s < l->conv.window.rank; s++) range[1 + s] = l->conv.window.kernel[s];
    ind_expr count = ind_expr_product(l->context, range, n);
    graph__typed_number zero = {l->result->dtype, 0, 0};
    if (graph__size_is_zero(count) || graph__size_is_one(count)) {
        bool none = graph__size_is_zero(count);
        *out = ind__box_pointwise(l->w->program, zero.dtype, l->product.size, l->product.rank,
                                  none ? graph__neutral_element : graph__conv_single, none ? (void *)&zero : l);
        return *out ? IND_OK : ind__failed(l->context);
    }
    ind__reduction_desc d = {.type = IND_REDUCE_DOT,
                             .dtype = l->result->dtype,
                             .size = l->product.size,
                             .rank = l->product.rank,
                             .rrange = range,
                             .rrank = n,
                             .fn = graph__conv_input,
                             .second_fn = graph__conv_weight,
                             .user = l};
    return ind__box_reduction(l->w->program, &d, out);
}

/* Channel c of the result is channel c of a group's with as many before it; the bias has one element for each. */
static ind_value graph__conv_biased(ind_ops *o, const ind_expr *index, int rank, graph__lower_ctx *l) {
    int lead = graph__lower_operand_info(l, 0)->rank - l->conv.window.rank - 1;
    ind_expr channel = index[lead];
    if (l->conv.groups > 1) channel = ind_expr_add(ind_expr_mul(channel, l->conv_outputs), index[lead + 1]);
    ind_value bias = ind__box_load(o, graph__lower_operand_box(l, 2), &channel, 1);
    return ind_op_add(o, ind__box_load(o, l->part[0], index, rank), graph__lower_cast(o, bias, l->compute));
}

/* Sums of windows of operand a times those of operand b, to the size of y. */
static ind_status graph__conv_product(graph__lower_ctx *l, uint32_t a, uint32_t b, const ind__tensor_info *y,
                                      ind__box **out) {
    const ind__tensor_info *w = graph__lower_operand_info(l, b);
    ind_expr *size = l->product.size, groups = ind_int(l->context, l->conv.groups);
    int channel = y->rank - l->conv.window.rank - 1, rank = 0;
    l->conv_channels = l->conv.transposed ? ind_expr_floordiv(w->size[0], groups) : w->size[1];
    l->conv_outputs = l->conv.transposed ? w->size[1] : ind_expr_floordiv(w->size[0], groups);
    l->product.a = graph__stored_operand(l, a);
    l->product.b = graph__stored_operand(l, b);
    if (!l->product.a || !l->product.b) return ind__failed(l->context);
    for (int d = 0; d < y->rank; d++) {
        if (d == channel && l->conv.groups > 1) size[rank++] = groups;
        size[rank++] = d == channel ? l->conv_outputs : y->size[d];
    }
    l->product.rank = rank;
    return graph__conv_sums(l, out);
}

static ind_status graph__lower_convolution(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *y = l->result;
    (void)ind__conv_of(l->w->graph, l->node->op, l->node->attr, graph__lower_operand_info(l, 1), &l->conv);
    ind_status status = graph__conv_product(l, 0, 1, y, results);
    if (status == IND_OK && graph__lower_has_operand(l, 2)) {
        l->part[0] = results[0];
        status = graph__lower_loop(l, y->dtype, l->product.size, l->product.rank, graph__conv_biased, results);
    }
    return status ? status : graph__lower_unflatten(l, results);
}

/* ---- gradients of convolutions ---- */

/* Element of the weight's gradient: group?, channel of the dense operand, channel of the windowed one, window; summed
   over images and places of the dense one. Both channels are within the group. */
static ind_value graph__weight_gradient_dense(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind__box *x = l->product.a;
    int spatial = l->conv.window.rank, next = l->conv.groups > 1;
    const ind_expr *sum = index + rank - spatial - 1;
    ind_expr at[IND_MAX_RANK] = {sum[0], index[next]};
    if (next) at[1] = ind_expr_add(ind_expr_mul(index[0], l->conv_outputs), at[1]);
    for (int s = 0; s < spatial; s++) at[2 + s] = sum[1 + s];
    return graph__lower_cast(o, ind__box_load(o, x, at, x->rank), l->compute);
}

static ind_value graph__weight_gradient_windowed(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    const ind__box *x = l->product.b;
    const ind__window *w = &l->conv.window;
    int next = l->conv.groups > 1;
    const ind_expr *sum = index + rank - w->rank - 1;
    ind_expr at[IND_MAX_RANK] = {sum[0], index[next + 1]}, inside = ind_int(l->context, 1);
    if (next) at[1] = ind_expr_add(ind_expr_mul(index[0], l->conv_channels), at[1]);
    for (int s = 0; s < w->rank; s++) {
        ind_expr step = ind_expr_mul(index[next + 2 + s], w->dilation[s]);
        at[2 + s] = ind_expr_sub(ind_expr_add(ind_expr_mul(sum[1 + s], w->stride[s]), step), w->padding[s]);
        inside = graph__and_within(inside, at[2 + s], x->size[2 + s]);
    }
    ind_value outer = o->mask;
    if (!ind_known_true(inside)) {
        ind_value mask = ind_op_index(o, inside, IND_BOOL);
        o->mask = outer.id ? ind_op_and(o, outer, mask) : mask;
    }
    ind_value v = graph__lower_cast(o, ind__box_load(o, x, at, x->rank), l->compute);
    o->mask = outer;
    return v;
}

static ind_value graph__weight_gradient_single(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const graph__lower_ctx *l = user;
    ind_expr at[2 * IND_MAX_RANK];
    int n = l->conv.window.rank + 1;
    for (int d = 0; d < rank; d++) at[d] = index[d];
    for (int s = 0; s < n; s++) at[rank + s] = ind_int(l->context, 0);
    return ind_op_mul(o, graph__weight_gradient_dense(o, at, rank + n, user),
                      graph__weight_gradient_windowed(o, at, rank + n, user));
}

static ind_status graph__lower_weight_gradient(graph__lower_ctx *l, bool transposed, ind__box **out) {
    const ind__tensor_info *w = graph__lower_operand_info(l, 2),
                           *dense = graph__lower_operand_info(l, transposed ? 1 : 0);
    ind_expr size[IND_MAX_RANK], groups = ind_int(l->context, l->conv.groups);
    int rank = 0, n = 1 + l->conv.window.rank;
    l->product.a = graph__stored_operand(l, transposed ? 1 : 0);
    l->product.b = graph__stored_operand(l, transposed ? 0 : 1);
    if (!l->product.a || !l->product.b) return ind__failed(l->context);
    l->conv_outputs = ind_expr_floordiv(w->size[0], groups);
    l->conv_channels = w->size[1];
    if (l->conv.groups > 1) size[rank++] = groups;
    size[rank++] = l->conv_outputs;
    for (int d = 1; d < w->rank; d++) size[rank++] = w->size[d];
    ind_expr range[4] = {dense->size[0]};
    for (int s = 1; s < n; s++) range[s] = dense->size[1 + s];
    ind_expr count = ind_expr_product(l->context, range, n);
    graph__typed_number zero = {w->dtype, 0, 0};
    if (graph__size_is_zero(count) || graph__size_is_one(count)) {
        bool none = graph__size_is_zero(count);
        *out =
            ind__box_pointwise(l->w->program, w->dtype, size, rank,
                               none ? graph__neutral_element : graph__weight_gradient_single, none ? (void *)&zero : l);
    } else {
        ind__reduction_desc d = {.type = IND_REDUCE_DOT,
                                 .dtype = w->dtype,
                                 .size = size,
                                 .rank = rank,
                                 .rrange = range,
                                 .rrank = n,
                                 .fn = graph__weight_gradient_dense,
                                 .second_fn = graph__weight_gradient_windowed,
                                 .user = l};
        if (ind__box_reduction(l->w->program, &d, out)) return ind__failed(l->context);
    }
    if (*out && l->conv.groups > 1) *out = ind__box_reshape(l->w->program, *out, w->size, w->rank);
    return *out ? IND_OK : ind__failed(l->context);
}

/* Gradients of input, weight and bias. That of the input is the convolution the other way round. */
static ind_status graph__lower_convolution_backward(graph__lower_ctx *l, ind__box **results) {
    const ind__tensor_info *x = graph__lower_operand_info(l, 1);
    (void)ind__conv_of(l->w->graph, l->node->op, l->node->attr, graph__lower_operand_info(l, 2), &l->conv);
    bool transposed = l->conv.transposed;
    l->conv.transposed = !transposed;
    ind_status status = graph__conv_product(l, 0, 2, x, &results[0]);
    if (status == IND_OK && l->conv.groups > 1) {
        results[0] = ind__box_reshape(l->w->program, results[0], x->size, x->rank);
        if (!results[0]) status = ind__failed(l->context);
    }
    if (status == IND_OK) status = graph__lower_weight_gradient(l, transposed, &results[1]);
    if (status) return status;
    graph__split_axes(l, ((1u << x->rank) - 1) & ~2u);
    return graph__lower_reduce(l, IND_REDUCE_SUM, x->dtype, graph__lower_self, &results[2]);
}

/* ---- parts put into a buffer: in place where that is given up, else one loop over all elements ----

   A write through several views is a chain: slice_scatter(x, select_scatter(slice(x, ..), y, ..), ..). Where the inner
   op changes just the part that the outer one puts back, only y is stored (TorchInductor: _generalized_scatter). */

/* Tensor `src`, whose element i.. belongs at `at`, in the memory that is written to. */
typedef struct graph__part {
    uint32_t src;
    ind_expr at[IND_MAX_RANK];
} graph__part;

/* Where element `index` of operand 1 of the view scatter n stands in its result. */
static void graph__part_place(const graph__lower_walk *w, const ind__node *n, const ind_expr *index, ind_expr *at) {
    const ind__tensor_info *x = &w->graph->tensor[n->result];
    const ind__attr *a = n->attr;
    const int rank = x->rank, dim = graph__from_end(a[0].i, rank);
    ind_expr first, last;
    int next = 0;
    if (n->op == IND_OP_DIAGONAL_SCATTER) {
        graph__diagonal_place(a, rank, index, at);
        return;
    }
    for (int d = 0; d < rank; d++)
        if (n->op == IND_OP_SLICE_SCATTER || d != dim) at[d] = index[next++];
    if (n->op == IND_OP_SLICE_SCATTER) {
        ind__slice_bounds(x->size[dim], &a[1], &a[2], &first, &last);
        at[dim] = ind_expr_add(first, ind_expr_mul(index[dim], a[3].e));
    } else {
        at[dim] = ind__from_front(a[1].e, x->size[dim]);
    }
}

/* The same for what a view shows: where its element `index` stands in the view. False: no view that only turns or
   reshapes. */
static bool graph__view_place(const graph__lower_walk *w, const ind__node *n, const ind_expr *index, ind_expr *at) {
    const ind__tensor_info *x = &w->graph->tensor[n->result], *from = &w->graph->tensor[n->operand[0]];
    ind_context *c = w->graph->context;
    if (graph__is_permute_op(n)) {
        for (int d = 0; d < x->rank; d++) at[d] = index[graph__permuted_dim(n, x->rank, d)];
        return true;
    }
    if (ind__views[n->op].stride != ind__stride_reshape) return false;
    ind__delinearise(c, ind__linearise(c, index, from->size, from->rank), x->size, x->rank, at);
    return true;
}

/* Goes on from element i.. of the part's src, which stands at step[i..] in what the part was before. */
static void graph__part_step(const graph__lower_walk *w, graph__part *p, uint32_t src, const ind_expr *step, int rank) {
    const ind__tensor_info *x = &w->graph->tensor[p->src];
    ind_expr from[IND_MAX_RANK];
    for (int d = 0; d < x->rank; d++) from[d] = ind__index_symbol(w->graph->context, 'i', d, x->size[d]);
    for (int k = 0; k < rank; k++) p->at[k] = ind__substitute(p->at[k], from, step, x->rank);
    p->src = src;
}

static void graph__part_symbols(const graph__lower_walk *w, uint32_t tensor, ind_expr *symbol) {
    const ind__tensor_info *x = &w->graph->tensor[tensor];
    for (int d = 0; d < x->rank; d++) symbol[d] = ind__index_symbol(w->graph->context, 'i', d, x->size[d]);
}

/* Does `base` show the very part of the memory of `self` that p stands for? */
static bool graph__shows_part(const graph__lower_walk *w, const ind__box *self, const graph__part *p, uint32_t base) {
    const ind__box *x = w->box[base];
    const ind__tensor_info *src = &w->graph->tensor[p->src];
    if (!x || x->storage != self->storage || x->rank != src->rank) return false;
    for (int d = 0; d < x->rank; d++)
        if (!ind_expr_same(x->size[d], src->size[d])) return false;
    for (int k = 0; k < self->rank; k++) {
        ind_expr map = x->identity ? ind__index_symbol(w->graph->context, 'i', k, x->size[k]) : x->map[k];
        if (!ind_expr_same(map, p->at[k])) return false;
    }
    return true;
}

static bool graph__is_part_put(const ind__node *n) {
    return n->op == IND_OP_SELECT_SCATTER || n->op == IND_OP_SLICE_SCATTER || n->op == IND_OP_DIAGONAL_SCATTER;
}

/* What has to be stored at all: goes into the src of p as long as that changes a part of the part. */
static void graph__narrow_part(const graph__lower_walk *w, const ind__box *self, graph__part *p) {
    graph__part at = *p;
    for (;;) {
        const ind__node *n = graph__producer_of(w->graph, at.src);
        ind_expr index[IND_MAX_RANK], step[IND_MAX_RANK];
        const bool put = graph__is_part_put(n);
        if (put) {
            if (!graph__shows_part(w, self, &at, n->operand[0])) return;
            graph__part_symbols(w, n->operand[1], index);
            graph__part_place(w, n, index, step);
        } else {
            if (!ind__op_has(n->op, 'V')) return;
            graph__part_symbols(w, n->operand[0], index);
            if (!graph__view_place(w, n, index, step)) return;
        }
        graph__part_step(w, &at, n->operand[put ? 1 : 0], step, self->rank);
        if (put || graph__scatters_once(w, graph__producer_of(w->graph, at.src))) *p = at;
    }
}

/* The one index of a dimension of size 1 is 0, as broadcast operands have it: equal places have equal indices. */
static void graph__only_indices(const ind__box *x, const ind_expr *index, ind_expr *only) {
    for (int d = 0; d < x->rank; d++)
        only[d] = graph__size_is_one(x->size[d]) ? ind_int(x->size[d].context, 0) : index[d];
}

static void graph__put_part_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, graph__lower_ctx *l) {
    ind_expr from[IND_MAX_RANK], at[IND_MAX_RANK], only[IND_MAX_RANK];
    const ind__box *src = l->part[0];
    graph__only_indices(src, index, only);
    for (int d = 0; d < rank; d++) from[d] = ind__index_symbol(l->context, 'i', d, src->size[d]);
    for (int k = 0; k < l->result->rank; k++) at[k] = ind__substitute(l->place[k], from, only, rank);
    ind__emit_store(o, to, at, l->result->rank, graph__lower_cast(o, ind__box_load(o, src, only, rank), l->compute));
}

/* The part is what a scatter makes of it: that scatters into the memory itself. */
static ind_status graph__scatter_into(const graph__lower_ctx *l, const graph__part *p, ind__box *self,
                                      ind__box **results) {
    const ind__node *n = graph__producer_of(l->w->graph, p->src);
    graph__lower_ctx inner = {.w = l->w, .context = l->context, .node = n, .row = graph__lowering_of(n->op)};
    inner.result = &l->w->graph->tensor[n->result];
    inner.compute = ind_dtype_compute(inner.result->dtype);
    inner.into = self;
    memcpy(inner.place, p->at, sizeof p->at);
    return inner.row->lower(&inner, results);
}

static bool graph__reads_memory(const graph__lower_walk *w, const ind__node *n, const ind__box *self) {
    for (uint32_t k = 1; k < n->num_operands; k++)
        if (n->operand[k] && graph__same_memory(w->box[n->operand[k]], self)) return true;
    return false;
}

/* Stores the part where it belongs in self. */
static ind_status graph__store_part(graph__lower_ctx *l, ind__box *self, const graph__part *p, ind__box **results) {
    const graph__lower_walk *w = l->w;
    const ind__node *n = graph__producer_of(w->graph, p->src);
    const ind__tensor_info *src = &w->graph->tensor[p->src];
    if (graph__scatters_once(w, n) && graph__shows_part(w, self, p, n->operand[0]) && !graph__reads_memory(w, n, self))
        return graph__scatter_into(l, p, self, results);
    l->part[0] = w->box[p->src];
    if (graph__same_memory(l->part[0], self)) l->part[0] = ind__box_copy(w->program, l->part[0]);
    if (!l->part[0]) return ind__failed(l->context);
    memcpy(l->place, p->at, sizeof p->at);
    return graph__lower_scatter_loop(l, self, src->size, src->rank, graph__put_part_element, IND_REDUCE_NONE, results);
}

static ind_status graph__lower_put_part(graph__lower_ctx *l, ind__box **results) {
    ind__box *self = graph__lower_operand_box(l, 0);
    const graph__lower_walk *w = l->w;
    graph__part p = {.src = l->node->operand[1]};
    ind_expr index[IND_MAX_RANK];
    if (!self->storage->buffer || !graph__may_overwrite(w, self) || !graph__last_read(l, self)) {
        graph__note_kept(l, self);
        return graph__lower_pointwise(l, results);
    }
    graph__part_symbols(w, p.src, index);
    graph__part_place(w, l->node, index, p.at);
    graph__narrow_part(w, self, &p);
    return graph__store_part(l, self, &p, results);
}

/* The whole of a buffer that part of is put back into, if the op n turns or reshapes what was put: the memory that the
   chain of views before the put begins with. NULL: none. */
static ind__box *graph__put_home(const graph__lower_walk *w, const ind__node *n) {
    const ind__tensor_info *x = &w->graph->tensor[n->result];
    while (graph__is_permute_op(n) || ind__views[n->op].stride == ind__stride_reshape)
        n = graph__producer_of(w->graph, n->operand[0]);
    const ind__box *base = graph__is_part_put(n) || graph__scatters_once(w, n) ? w->box[n->operand[0]] : NULL;
    if (!base || base->identity || !base->storage->buffer || base->storage->rank != x->rank) return NULL;
    for (int d = 0; d < x->rank; d++)
        if (!ind_expr_same(x->size[d], base->storage->size[d])) return NULL;
    ind__box *whole = ind__arena_alloc(&w->program->arena, sizeof *whole);
    if (!whole) return NULL;
    whole->storage = base->storage;
    whole->rank = x->rank;
    whole->identity = true;
    memcpy(whole->size, x->size, (size_t)x->rank * sizeof *whole->size);
    return whole;
}

/* A view of what was put into a view of a buffer may be the buffer again: x.T[i] = y is put into x. */
static bool graph__lower_put_through(graph__lower_ctx *l, ind__box **results, ind_status *status) {
    ind__box *self = graph__put_home(l->w, l->node);
    graph__part p = {.src = l->node->result};
    if (!self || !graph__may_overwrite(l->w, self) || !graph__last_read(l, self)) return false;
    graph__part_symbols(l->w, p.src, p.at);
    graph__narrow_part(l->w, self, &p);
    if (p.src == l->node->result) return false;
    *status = graph__store_part(l, self, &p, results);
    return true;
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
    X(RAND, pointwise, graph__lower_rand, NONE, NONE)                                                                  \
    X(RANDN, pointwise, graph__lower_randn, NONE, NONE)                                                                \
    X(RANDINT, pointwise, graph__lower_randint, NONE, NONE)                                                            \
    X(RANDPERM, randperm, NULL, NONE, NONE)                                                                            \
    X(BERNOULLI, pointwise, graph__lower_bernoulli, NONE, NONE)                                                        \
    X(NATIVE_DROPOUT, native_dropout, NULL, NONE, NONE)                                                                \
    X(PHILOX, pointwise, graph__lower_philox, NONE, NONE)                                                              \
    X(EYE, pointwise, graph__lower_eye, NONE, NONE)                                                                    \
    X(LINSPACE, pointwise, graph__lower_linspace, NONE, NONE)                                                          \
    X(ADD, pointwise, graph__lower_add, ADD, OR)                                                                       \
    X(SUB, pointwise, graph__lower_add, SUB, NE)                                                                       \
    X(MUL, pointwise, graph__lower_binary, MUL, AND)                                                                   \
    X(DIV, pointwise, graph__lower_div, DIV, NONE)                                                                     \
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
    X(SIN, pointwise, graph__lower_unary, SIN, NONE)                                                                   \
    X(COS, pointwise, graph__lower_unary, COS, NONE)                                                                   \
    X(TAN, pointwise, graph__lower_unary, TAN, NONE)                                                                   \
    X(ASIN, pointwise, graph__lower_unary, ASIN, NONE)                                                                 \
    X(ACOS, pointwise, graph__lower_unary, ACOS, NONE)                                                                 \
    X(ATAN, pointwise, graph__lower_unary, ATAN, NONE)                                                                 \
    X(SINH, pointwise, graph__lower_unary, SINH, NONE)                                                                 \
    X(COSH, pointwise, graph__lower_unary, COSH, NONE)                                                                 \
    X(ASINH, pointwise, graph__lower_unary, ASINH, NONE)                                                               \
    X(ACOSH, pointwise, graph__lower_unary, ACOSH, NONE)                                                               \
    X(ATANH, pointwise, graph__lower_unary, ATANH, NONE)                                                               \
    X(EXP2, pointwise, graph__lower_unary, EXP2, NONE)                                                                 \
    X(EXPM1, pointwise, graph__lower_unary, EXPM1, NONE)                                                               \
    X(LOG2, pointwise, graph__lower_unary, LOG2, NONE)                                                                 \
    X(LOG10, pointwise, graph__lower_unary, LOG10, NONE)                                                               \
    X(LOG1P, pointwise, graph__lower_unary, LOG1P, NONE)                                                               \
    X(ERFC, pointwise, graph__lower_unary, ERFC, NONE)                                                                 \
    X(LGAMMA, pointwise, graph__lower_unary, LGAMMA, NONE)                                                             \
    X(ERFINV, pointwise, graph__lower_unary, ERFINV, NONE)                                                             \
    X(DIGAMMA, pointwise, graph__lower_unary, DIGAMMA, NONE)                                                           \
    X(I0, pointwise, graph__lower_bessel, I0E, NONE)                                                                   \
    X(SPECIAL_I0E, pointwise, graph__lower_unary, I0E, NONE)                                                           \
    X(SPECIAL_I1, pointwise, graph__lower_bessel, I1E, NONE)                                                           \
    X(SPECIAL_I1E, pointwise, graph__lower_unary, I1E, NONE)                                                           \
    X(SPECIAL_BESSEL_J0, pointwise, graph__lower_unary, J0, NONE)                                                      \
    X(SPECIAL_BESSEL_J1, pointwise, graph__lower_unary, J1, NONE)                                                      \
    X(SPECIAL_BESSEL_Y0, pointwise, graph__lower_unary, Y0, NONE)                                                      \
    X(SPECIAL_BESSEL_Y1, pointwise, graph__lower_unary, Y1, NONE)                                                      \
    X(POLYGAMMA, pointwise, graph__lower_polygamma, ZETA, NONE)                                                        \
    X(SPECIAL_ZETA, pointwise, graph__lower_binary, ZETA, NONE)                                                        \
    X(IGAMMA, pointwise, graph__lower_binary, IGAMMA, NONE)                                                            \
    X(IGAMMAC, pointwise, graph__lower_binary, IGAMMAC, NONE)                                                          \
    X(SINC, pointwise, graph__lower_sinc, NONE, NONE)                                                                  \
    X(LOGIT, pointwise, graph__lower_logit, NONE, NONE)                                                                \
    X(FLOOR, pointwise, graph__lower_to_whole, FLOOR, NONE)                                                            \
    X(CEIL, pointwise, graph__lower_to_whole, CEIL, NONE)                                                              \
    X(TRUNC, pointwise, graph__lower_to_whole, TRUNC, NONE)                                                            \
    X(ROUND, pointwise, graph__lower_to_whole, RINT, NONE)                                                             \
    X(ABS, pointwise, graph__lower_unary, ABS, NONE)                                                                   \
    X(SIGN, pointwise, graph__lower_sign, NONE, NONE)                                                                  \
    X(SQUARE, pointwise, graph__lower_square, NONE, NONE)                                                              \
    X(SIGNBIT, compare, graph__lower_predicate, NONE, NONE)                                                            \
    X(ISNAN, compare, graph__lower_predicate, NONE, NONE)                                                              \
    X(ISINF, compare, graph__lower_predicate, NONE, NONE)                                                              \
    X(ISFINITE, compare, graph__lower_predicate, NONE, NONE)                                                           \
    X(LOGICAL_NOT, pointwise, graph__lower_unary, NOT, NONE)                                                           \
    X(LOGICAL_AND, pointwise, graph__lower_binary, NONE, AND)                                                          \
    X(LOGICAL_OR, pointwise, graph__lower_binary, NONE, OR)                                                            \
    X(LOGICAL_XOR, pointwise, graph__lower_binary, NONE, NE)                                                           \
    X(BITWISE_NOT, pointwise, graph__lower_bitwise_not, NONE, NONE)                                                    \
    X(BITWISE_AND, pointwise, graph__lower_binary, BIT_AND, AND)                                                       \
    X(BITWISE_OR, pointwise, graph__lower_binary, BIT_OR, OR)                                                          \
    X(BITWISE_XOR, pointwise, graph__lower_binary, BIT_XOR, NE)                                                        \
    X(BITWISE_LEFT_SHIFT, pointwise, graph__lower_binary, SHIFT_LEFT, NONE)                                            \
    X(BITWISE_RIGHT_SHIFT, pointwise, graph__lower_binary, SHIFT_RIGHT, NONE)                                          \
    X(FLOOR_DIVIDE, pointwise, graph__lower_div, NONE, NONE)                                                           \
    X(FMOD, pointwise, graph__lower_binary, FMOD, NONE)                                                                \
    X(REMAINDER, pointwise, graph__lower_remainder, FMOD, NONE)                                                        \
    X(ATAN2, pointwise, graph__lower_binary, ATAN2, NONE)                                                              \
    X(HYPOT, pointwise, graph__lower_binary, HYPOT, NONE)                                                              \
    X(COPYSIGN, pointwise, graph__lower_binary, COPYSIGN, NONE)                                                        \
    X(NEXTAFTER, pointwise, graph__lower_nextafter, NEXTAFTER, NONE)                                                   \
    X(XLOGY, pointwise, graph__lower_xlogy, NONE, NONE)                                                                \
    X(LOGADDEXP, pointwise, graph__lower_logaddexp, NONE, NONE)                                                        \
    X(CLAMP, pointwise, graph__lower_clamp, NONE, NONE)                                                                \
    X(LERP, pointwise, graph__lower_lerp, NONE, NONE)                                                                  \
    X(ADDCMUL, pointwise, graph__lower_addcmul, NONE, NONE)                                                            \
    X(ADDCDIV, pointwise, graph__lower_addcmul, NONE, NONE)                                                            \
    X(MASKED_FILL, pointwise, graph__lower_masked_fill, NONE, NONE)                                                    \
    X(NAN_TO_NUM, pointwise, graph__lower_nan_to_num, NONE, NONE)                                                      \
    X(THRESHOLD, pointwise, graph__lower_threshold, NONE, NONE)                                                        \
    X(HARDTANH, pointwise, graph__lower_hardtanh, NONE, NONE)                                                          \
    X(RELU6, pointwise, graph__lower_hardtanh, NONE, NONE)                                                             \
    X(HARDSIGMOID, pointwise, graph__lower_hardsigmoid, NONE, NONE)                                                    \
    X(HARDSWISH, pointwise, graph__lower_hardsigmoid, NONE, NONE)                                                      \
    X(LEAKY_RELU, pointwise, graph__lower_leaky_relu, NONE, NONE)                                                      \
    X(ELU, pointwise, graph__lower_elu, NONE, NONE)                                                                    \
    X(CELU, pointwise, graph__lower_elu, NONE, NONE)                                                                   \
    X(SELU, pointwise, graph__lower_elu, NONE, NONE)                                                                   \
    X(SOFTPLUS, pointwise, graph__lower_softplus, NONE, NONE)                                                          \
    X(MISH, pointwise, graph__lower_softplus, NONE, NONE)                                                              \
    X(LOG_SIGMOID, pointwise, graph__lower_log_sigmoid, NONE, NONE)                                                    \
    X(FILL, pointwise, graph__lower_copy, NONE, NONE)                                                                  \
    X(COPY, pointwise, graph__lower_copy, NONE, NONE)                                                                  \
    X(CLONE, pointwise, graph__lower_copy, NONE, NONE)                                                                 \
    X(ALIAS, alias, NULL, NONE, NONE)                                                                                  \
    X(FULL_LIKE, pointwise, graph__lower_full, NONE, NONE)                                                             \
    X(ZEROS_LIKE, pointwise, graph__lower_full, NONE, NONE)                                                            \
    X(ONES_LIKE, pointwise, graph__lower_full, NONE, NONE)                                                             \
    X(EMPTY_LIKE, pointwise, graph__lower_full, NONE, NONE)                                                            \
    X(NEW_FULL, pointwise, graph__lower_full, NONE, NONE)                                                              \
    X(NEW_ZEROS, pointwise, graph__lower_full, NONE, NONE)                                                             \
    X(NEW_ONES, pointwise, graph__lower_full, NONE, NONE)                                                              \
    X(NEW_EMPTY, pointwise, graph__lower_full, NONE, NONE)                                                             \
    X(ZEROS, pointwise, graph__lower_full, NONE, NONE)                                                                 \
    X(ONES, pointwise, graph__lower_full, NONE, NONE)                                                                  \
    X(EMPTY, pointwise, graph__lower_full, NONE, NONE)                                                                 \
    X(EMPTY_STRIDED, pointwise, graph__lower_full, NONE, NONE)                                                         \
    X(SCALAR_TENSOR, pointwise, graph__lower_full, NONE, NONE)                                                         \
    X(CUSTOM, pointwise, graph__lower_custom, NONE, NONE)                                                              \
    X(CALL, pointwise, graph__lower_call, NONE, NONE)                                                                  \
    X(EXTERN, extern, NULL, NONE, NONE)                                                                                \
    X(SUM, sum, NULL, NONE, NONE)                                                                                      \
    X(MEAN, mean, NULL, NONE, NONE)                                                                                    \
    X(AMAX, amax, NULL, NONE, NONE)                                                                                    \
    X(AMIN, amax, NULL, NONE, NONE)                                                                                    \
    X(ARGMAX, argmax, NULL, NONE, NONE)                                                                                \
    X(ANY, any, NULL, NONE, NONE)                                                                                      \
    X(MAX, max, NULL, NONE, NONE)                                                                                      \
    X(ARGMIN, argmax, NULL, NONE, NONE)                                                                                \
    X(MIN, max, NULL, NONE, NONE)                                                                                      \
    X(AMINMAX, aminmax, NULL, NONE, NONE)                                                                              \
    X(ALL, any, NULL, NONE, NONE)                                                                                      \
    X(PROD, prod, NULL, NONE, NONE)                                                                                    \
    X(COUNT_NONZERO, count_nonzero, NULL, NONE, NONE)                                                                  \
    X(VAR, var, NULL, NONE, NONE)                                                                                      \
    X(STD, var, NULL, NONE, NONE)                                                                                      \
    X(VAR_MEAN, var, NULL, NONE, NONE)                                                                                 \
    X(STD_MEAN, var, NULL, NONE, NONE)                                                                                 \
    X(LOGSUMEXP, logsumexp, NULL, NONE, NONE)                                                                          \
    X(LINALG_VECTOR_NORM, vector_norm, NULL, NONE, NONE)                                                               \
    X(NORM, vector_norm, NULL, NONE, NONE)                                                                             \
    X(CDIST, cdist, NULL, NONE, NONE)                                                                                  \
    X(CDIST_FORWARD, cdist, NULL, NONE, NONE)                                                                          \
    X(PDIST_FORWARD, pdist, NULL, NONE, NONE)                                                                          \
    X(SOFTMAX_HALF, softmax, NULL, NONE, NONE)                                                                         \
    X(LOG_SOFTMAX_HALF, softmax, NULL, NONE, NONE)                                                                     \
    X(MSE_LOSS, distance_loss, NULL, NONE, NONE)                                                                       \
    X(L1_LOSS, distance_loss, NULL, NONE, NONE)                                                                        \
    X(NLL_LOSS, nll_loss, NULL, NONE, NONE)                                                                            \
    X(CROSS_ENTROPY, cross_entropy, NULL, NONE, NONE)                                                                  \
    X(SOFTMAX, softmax, NULL, NONE, NONE)                                                                              \
    X(LOG_SOFTMAX, softmax, NULL, NONE, NONE)                                                                          \
    X(LAYER_NORM, layer_norm, NULL, NONE, NONE)                                                                        \
    X(RMS_NORM, rms_norm, NULL, NONE, NONE)                                                                            \
    X(NATIVE_LAYER_NORM, native_layer_norm, NULL, NONE, NONE)                                                          \
    X(GROUP_NORM, group_norm, NULL, NONE, NONE)                                                                        \
    X(NATIVE_GROUP_NORM, group_norm, NULL, NONE, NONE)                                                                 \
    X(BATCH_NORM, batch_norm, NULL, NONE, NONE)                                                                        \
    X(NATIVE_BATCH_NORM_LEGIT, batch_norm, NULL, NONE, NONE)                                                           \
    X(NATIVE_BATCH_NORM_LEGIT_NO_TRAINING, batch_norm, NULL, NONE, NONE)                                               \
    X(NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL, batch_norm, NULL, NONE, NONE)                                                \
    X(INSTANCE_NORM, batch_norm, NULL, NONE, NONE)                                                                     \
    X(NATIVE_LAYER_NORM_BACKWARD, norm_backward, NULL, NONE, NONE)                                                     \
    X(NATIVE_GROUP_NORM_BACKWARD, norm_backward, NULL, NONE, NONE)                                                     \
    X(VIEW, view, NULL, NONE, NONE)                                                                                    \
    X(PERMUTE, permute, NULL, NONE, NONE)                                                                              \
    X(TRANSPOSE, permute, NULL, NONE, NONE)                                                                            \
    X(EXPAND, expand, NULL, NONE, NONE)                                                                                \
    X(UNSQUEEZE, squeeze, NULL, NONE, NONE)                                                                            \
    X(SQUEEZE, squeeze, NULL, NONE, NONE)                                                                              \
    X(SLICE, slice, NULL, NONE, NONE)                                                                                  \
    X(SELECT, select, NULL, NONE, NONE)                                                                                \
    X(CAT, parts, graph__lower_cat, NONE, NONE)                                                                        \
    X(RESHAPE, view, NULL, NONE, NONE)                                                                                 \
    X(VIEW_AS, view, NULL, NONE, NONE)                                                                                 \
    X(FLATTEN, view, NULL, NONE, NONE)                                                                                 \
    X(UNFLATTEN, view, NULL, NONE, NONE)                                                                               \
    X(BROADCAST_TO, expand, NULL, NONE, NONE)                                                                          \
    X(EXPAND_AS, expand, NULL, NONE, NONE)                                                                             \
    X(BROADCAST_TENSORS, broadcast_tensors, NULL, NONE, NONE)                                                          \
    X(MESHGRID, meshgrid, NULL, NONE, NONE)                                                                            \
    X(MOVEDIM, movedim, NULL, NONE, NONE)                                                                              \
    X(NARROW, narrow, NULL, NONE, NONE)                                                                                \
    X(SPLIT, split, NULL, NONE, NONE)                                                                                  \
    X(SPLIT_WITH_SIZES, split, NULL, NONE, NONE)                                                                       \
    X(CHUNK, split, NULL, NONE, NONE)                                                                                  \
    X(UNBIND, unbind, NULL, NONE, NONE)                                                                                \
    X(UNFOLD, unfold, NULL, NONE, NONE)                                                                                \
    X(DIAGONAL, diagonal, NULL, NONE, NONE)                                                                            \
    X(AS_STRIDED, as_strided, NULL, NONE, NONE)                                                                        \
    X(FLIP, flip, NULL, NONE, NONE)                                                                                    \
    X(ROLL, roll, NULL, NONE, NONE)                                                                                    \
    X(REPEAT, repeat, NULL, NONE, NONE)                                                                                \
    X(TILE, repeat, NULL, NONE, NONE)                                                                                  \
    X(PIXEL_SHUFFLE, pixel_shuffle, NULL, NONE, NONE)                                                                  \
    X(PIXEL_UNSHUFFLE, pixel_shuffle, NULL, NONE, NONE)                                                                \
    X(STACK, parts, graph__lower_stack, NONE, NONE)                                                                    \
    X(SELECT_SCATTER, put_part, graph__lower_view_scatter, NONE, NONE)                                                 \
    X(SLICE_SCATTER, put_part, graph__lower_view_scatter, NONE, NONE)                                                  \
    X(DIAGONAL_SCATTER, put_part, graph__lower_view_scatter, NONE, NONE)                                               \
    X(TRIL, pointwise, graph__lower_triangle, NONE, NONE)                                                              \
    X(TRIU, pointwise, graph__lower_triangle, NONE, NONE)                                                              \
    X(ONE_HOT, pointwise, graph__lower_one_hot, NONE, NONE)                                                            \
    X(CONSTANT_PAD_ND, pad, NULL, NONE, NONE)                                                                          \
    X(PAD, pad, NULL, NONE, NONE)                                                                                      \
    X(REFLECTION_PAD1D, pad, NULL, NONE, NONE)                                                                         \
    X(REFLECTION_PAD2D, pad, NULL, NONE, NONE)                                                                         \
    X(REFLECTION_PAD3D, pad, NULL, NONE, NONE)                                                                         \
    X(REPLICATION_PAD1D, pad, NULL, NONE, NONE)                                                                        \
    X(REPLICATION_PAD2D, pad, NULL, NONE, NONE)                                                                        \
    X(REPLICATION_PAD3D, pad, NULL, NONE, NONE)                                                                        \
    X(AVG_POOL1D, pool, NULL, NONE, NONE)                                                                              \
    X(AVG_POOL2D, pool, NULL, NONE, NONE)                                                                              \
    X(AVG_POOL3D, pool, NULL, NONE, NONE)                                                                              \
    X(MAX_POOL1D, pool, NULL, NONE, NONE)                                                                              \
    X(MAX_POOL2D, pool, NULL, NONE, NONE)                                                                              \
    X(MAX_POOL3D, pool, NULL, NONE, NONE)                                                                              \
    X(MAX_POOL1D_WITH_INDICES, pool, NULL, NONE, NONE)                                                                 \
    X(MAX_POOL2D_WITH_INDICES, pool, NULL, NONE, NONE)                                                                 \
    X(MAX_POOL3D_WITH_INDICES, pool, NULL, NONE, NONE)                                                                 \
    X(ADAPTIVE_AVG_POOL1D, adaptive_pool, NULL, NONE, NONE)                                                            \
    X(ADAPTIVE_AVG_POOL2D, adaptive_pool, NULL, NONE, NONE)                                                            \
    X(ADAPTIVE_AVG_POOL3D, adaptive_pool, NULL, NONE, NONE)                                                            \
    X(ADAPTIVE_MAX_POOL1D, adaptive_pool, NULL, NONE, NONE)                                                            \
    X(ADAPTIVE_MAX_POOL2D, adaptive_pool, NULL, NONE, NONE)                                                            \
    X(ADAPTIVE_MAX_POOL3D, adaptive_pool, NULL, NONE, NONE)                                                            \
    X(CONVOLUTION, convolution, NULL, NONE, NONE)                                                                      \
    X(CONV1D, convolution, NULL, NONE, NONE)                                                                           \
    X(CONV2D, convolution, NULL, NONE, NONE)                                                                           \
    X(CONV3D, convolution, NULL, NONE, NONE)                                                                           \
    X(CONV_TRANSPOSE1D, convolution, NULL, NONE, NONE)                                                                 \
    X(CONV_TRANSPOSE2D, convolution, NULL, NONE, NONE)                                                                 \
    X(CONV_TRANSPOSE3D, convolution, NULL, NONE, NONE)                                                                 \
    X(ADAPTIVE_AVG_POOL2D_CORE, adaptive_pool, NULL, NONE, NONE)                                                       \
    X(ADAPTIVE_AVG_POOL3D_CORE, adaptive_pool, NULL, NONE, NONE)                                                       \
    X(UPSAMPLE_NEAREST1D, upsample, NULL, NONE, NONE)                                                                  \
    X(UPSAMPLE_NEAREST2D, upsample, NULL, NONE, NONE)                                                                  \
    X(UPSAMPLE_NEAREST3D, upsample, NULL, NONE, NONE)                                                                  \
    X(UPSAMPLE_NEAREST_EXACT1D, upsample, NULL, NONE, NONE)                                                            \
    X(UPSAMPLE_NEAREST_EXACT2D, upsample, NULL, NONE, NONE)                                                            \
    X(UPSAMPLE_NEAREST_EXACT3D, upsample, NULL, NONE, NONE)                                                            \
    X(UPSAMPLE_LINEAR1D, upsample, NULL, NONE, NONE)                                                                   \
    X(UPSAMPLE_BILINEAR2D, upsample, NULL, NONE, NONE)                                                                 \
    X(UPSAMPLE_TRILINEAR3D, upsample, NULL, NONE, NONE)                                                                \
    X(INTERPOLATE, upsample, NULL, NONE, NONE)                                                                         \
    X(GRID_SAMPLER_2D, grid_sampler, NULL, NONE, NONE)                                                                 \
    X(IM2COL, im2col, NULL, NONE, NONE)                                                                                \
    X(COL2IM, col2im, NULL, NONE, NONE)                                                                                \
    X(CONVOLUTION_BACKWARD, convolution_backward, NULL, NONE, NONE)                                                    \
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
    X(AVG_POOL2D_BACKWARD, avg_pool_backward, NULL, NONE, NONE)                                                        \
    X(ADAPTIVE_AVG_POOL2D_BACKWARD, avg_pool_backward, NULL, NONE, NONE)                                               \
    X(MAX_POOL2D_WITH_INDICES_BACKWARD, max_pool_backward, NULL, NONE, NONE)                                           \
    X(CUMSUM, cumulate, NULL, NONE, NONE)                                                                              \
    X(CUMPROD, cumulate, NULL, NONE, NONE)                                                                             \
    X(CUMMAX, cumulate, NULL, NONE, NONE)                                                                              \
    X(CUMMIN, cumulate, NULL, NONE, NONE)                                                                              \
    X(LOGCUMSUMEXP, cumulate, NULL, NONE, NONE)                                                                        \
    X(ASSOCIATIVE_SCAN, associative_scan, NULL, NONE, NONE)                                                            \
    X(SORT, sort, NULL, NONE, NONE)                                                                                    \
    X(ARGSORT, sort, NULL, NONE, NONE)                                                                                 \
    X(TOPK, topk, NULL, NONE, NONE)                                                                                    \
    X(MSORT, msort, NULL, NONE, NONE)                                                                                  \
    X(KTHVALUE, ranked, NULL, NONE, NONE)                                                                              \
    X(MEDIAN, ranked, NULL, NONE, NONE)                                                                                \
    X(NANMEDIAN, ranked, NULL, NONE, NONE)                                                                             \
    X(MODE, ranked, NULL, NONE, NONE)                                                                                  \
    X(QUANTILE, quantile, NULL, NONE, NONE)                                                                            \
    X(NANQUANTILE, quantile, NULL, NONE, NONE)                                                                         \
    X(DIFF, pointwise, graph__lower_diff, NONE, NONE)                                                                  \
    X(MULTINOMIAL, multinomial, NULL, NONE, NONE)                                                                      \
    X(SEARCHSORTED, search, NULL, NONE, NONE)                                                                          \
    X(BUCKETIZE, search, NULL, NONE, NONE)                                                                             \
    X(MASKED_SCATTER, masked_scatter, NULL, NONE, NONE)                                                                \
    X(NONZERO, where_nonzero, NULL, NONE, NONE)                                                                        \
    X(ARGWHERE, where_nonzero, NULL, NONE, NONE)                                                                       \
    X(MASKED_SELECT, masked_select, NULL, NONE, NONE)                                                                  \
    X(UNIQUE, unique, NULL, NONE, NONE)                                                                                \
    X(UNIQUE_CONSECUTIVE, unique, NULL, NONE, NONE)                                                                    \
    X(REPEAT_INTERLEAVE, repeat_interleave, NULL, NONE, NONE)                                                          \
    X(MATMUL, matmul, NULL, NONE, NONE)                                                                                \
    X(MM, matmul, NULL, NONE, NONE)                                                                                    \
    X(BMM, matmul, NULL, NONE, NONE)                                                                                   \
    X(ADDMM, addmm, NULL, NONE, NONE)                                                                                  \
    X(LINEAR, linear, NULL, NONE, NONE)                                                                                \
    X(SCALED_DOT_PRODUCT_ATTENTION, attention, NULL, NONE, NONE)

static const graph__lowering_row graph__lowering_table[] = {
#define X(name, lower, element, op, bool_op) {graph__lower_##lower, element, IND_LOOP_##op, IND_LOOP_##bool_op},
    IND__LOWERINGS(X)
#undef X
};

static const graph__lowering_row *graph__lowering_of(ind_graph_op op) {
    return &graph__lowering_table[op];
}

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

/* Outputs are stored where they are made, so that later ops read them; a constant is stored last: later ops know
 * its value. */
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

/* Says which op could not be lowered. */
static ind_status graph__lower_failed(ind_context *c, const ind__node *n, ind_status status) {
    const char *op = ind__op_name(n->op);
    char why[256];
    snprintf(why, sizeof why, "%.255s", ind_error(c));
    if (status == IND_OUT_OF_MEMORY || strncmp(why, op, strlen(op)) == 0) return status;
    return ind__fail(c, status, "%s: %s", op, why);
}

static ind_status graph__lower_node(graph__lower_walk *w, uint32_t number) {
    const ind__node *n = &w->graph->node[number];
    graph__lower_ctx l = {.w = w, .context = w->graph->context, .node = n, .row = graph__lowering_of(n->op)};
    ind__box *few[5] = {NULL}, **results = few;
    if (n->num_results > sizeof few / sizeof *few) {
        results = ind__arena_alloc(&w->program->arena, n->num_results * sizeof *results);
        if (!results) return ind__failed(w->graph->context);
    }
    l.result = &w->graph->tensor[n->result];
    l.compute = ind_dtype_compute(l.result->dtype);
    w->program->origin = number;
    ind_status status = l.row->lower(&l, results);
    for (uint32_t k = 0; status == IND_OK && k < n->num_results; k++) {
        uint32_t users = w->users[n->result + k];
        w->box[n->result + k] = results[k];
        if (results[k] && w->last_user[n->result + k] > results[k]->storage->last_reader)
            results[k]->storage->last_reader = w->last_user[n->result + k];
        if (!ind__op_has(n->op, 'S')) {
            status = ind__box_mark_use(w->program, results[k], users > INT32_MAX ? INT32_MAX : (int)users);
        }
        if (status == IND_OK) status = graph__lower_outputs(w, n->result + k, false);
        if (status == IND_OK && w->first_output[n->result + k]) results[k]->storage->last_reader = UINT32_MAX;
    }
    return status ? graph__lower_failed(w->graph->context, n, status) : IND_OK;
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

static bool graph__is_mutated(const graph__lower_walk *w, uint32_t home) {
    const ind__buffer *b = &w->program->buffer[home];
    return b->kind == IND__BUFFER_INPUT &&
           ind__find_mutation(w->graph, ind__find_tensor(w->graph, b->name, strlen(b->name)));
}

/* Does the body read memory that runs change, other than `own`? */
static bool graph__reads_mutated(const graph__lower_walk *w, const ind_body *b, uint32_t own) {
    for (uint32_t i = 1; i < b->num_inst; i++) {
        if (b->inst[i].op != IND_LOOP_LOAD) continue;
        uint32_t home = ind__buffer_home(w->program, b->inst[i].source);
        if (home != own && graph__is_mutated(w, home)) return true;
    }
    return false;
}

/* Makes the value safe from the stores into inputs that follow: it is kept if it lies in the memory of one, or would
   be computed from that of another one later. */
static ind_status graph__keep_value(const graph__lower_walk *w, const struct ind__mutation *m, ind__box **value) {
    ind__lowered *p = w->program;
    ind__box *v = *value = w->box[m->value];
    if (graph__mutation_is_done(w, m)) return IND_OK;
    if (v->storage->buffer) {
        if (graph__is_mutated(w, ind__buffer_home(p, v->storage->buffer))) *value = ind__box_copy(p, v);
        return *value ? IND_OK : ind__failed(w->graph->context);
    }
    uint32_t own = ind__buffer_home(p, graph__newest(w, m->input));
    return graph__reads_mutated(w, v->storage->body, own) ? ind__box_realise(p, v) : IND_OK;
}

static void graph__mutate_element(ind_ops *o, const ind_expr *index, int rank, uint32_t to, void *value) {
    ind_expr only[IND_MAX_RANK];
    graph__only_indices(value, index, only);
    ind__emit_store(o, to, only, rank, ind__box_load(o, (const ind__box *)value, only, rank));
}

static ind_status graph__lower_mutation(const graph__lower_walk *w, const struct ind__mutation *m, ind__box *value) {
    if (graph__mutation_is_done(w, m)) return IND_OK;
    const ind__tensor_info *x = &w->graph->tensor[m->input];
    ind__scatter_desc d = {
        .size = x->size, .rank = x->rank, .fn = graph__mutate_element, .user = value, .each_once = true};
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

ind_status ind__graph_lower(const ind_graph *g, const ind_realise_policy *policy, bool deterministic,
                            ind__lowered *out) {
    ind_context *c = g->context;
    ind_status status = ind__lowered_init(out, c, policy);
    if (status) return status;
    graph__lower_walk w = {.graph = g, .program = out, .deterministic = deterministic};
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

/* What the program calls must exist on the device that it is compiled for. */
static ind_status ind__check_callbacks(const ind__compilation *k) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; !status && i < k->lowered->num_loops; i++) {
        const ind_body *b = k->lowered->loop[i].body;
        if (k->device == IND_DEVICE_HOST)
            status = ind__body_needs_host(b);
        else if (b->call)
            status = ind__call_needs(k->context, b->call, IND_DEVICE_CUDA);
    }
    return status;
}

static ind_status ind__compile_lower(ind__compilation *k) {
    k->lowered = ind__alloc(k->context, sizeof *k->lowered);
    if (!k->lowered) return ind__failed(k->context);
    ind_status status = ind__graph_lower(k->graph, &k->desc.realise, k->desc.deterministic, k->lowered);
    if (!status && ind__verifying(k->context)) status = ind__lowered_verify(k->lowered);
    if (!status && !k->desc.emit_only) status = ind__check_callbacks(k);
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

/* ------------------------------------------------------------------------------------------------- >>raise */
/* The opposite of a lowering: the recorded body of a kernel, or of a custom op, as a graph of ops. Its inputs are the
   buffers that it reads, its outputs those that it writes, under their names.

   Every loop of the body is a dimension, so a value is a tensor of that rank, of size 1 along the loops that it does
   not depend on; numbers stay numbers until an op needs a tensor. Loops are split first where that rids an index of a
   division, as every affine index is a view. An index that is no view becomes a tensor of integers and the access a
   take, whose lowering turns it back into an index. */

typedef struct graph__raised_buffer {
    ind_tensor held; /* what it holds now; of `size`, contiguous as in memory */
    const char *name;
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK];
} graph__raised_buffer;

typedef struct graph__raise {
    ind_graph *g;
    ind_context *c;
    const ind_body *body;
    ind__loops loops;
    int rank; /* loops, of both kinds; the first loops.rank are parallel */
    ind_tensor *value;
    graph__raised_buffer *buffer; /* by source */
    uint32_t num_buffers;
    struct {
        ind_expr e;
        ind_tensor t;
    } * made; /* tensors of index expressions, each made once */
    uint32_t num_made, cap_made;
} graph__raise;

/* The op of a graph that computes what the loop op does; 0: it takes more than a name. */
static const uint16_t graph__raised_op[IND_NUM_LOOP_OPS] = {
    [IND_LOOP_NEG] = IND_OP_NEG,
    [IND_LOOP_ABS] = IND_OP_ABS,
    [IND_LOOP_EXP] = IND_OP_EXP,
    [IND_LOOP_LOG] = IND_OP_LOG,
    [IND_LOOP_SQRT] = IND_OP_SQRT,
    [IND_LOOP_RSQRT] = IND_OP_RSQRT,
    [IND_LOOP_RECIPROCAL] = IND_OP_RECIPROCAL,
    [IND_LOOP_TANH] = IND_OP_TANH,
    [IND_LOOP_ERF] = IND_OP_ERF,
    [IND_LOOP_SIGMOID] = IND_OP_SIGMOID,
    [IND_LOOP_SIN] = IND_OP_SIN,
    [IND_LOOP_COS] = IND_OP_COS,
    [IND_LOOP_TAN] = IND_OP_TAN,
    [IND_LOOP_ASIN] = IND_OP_ASIN,
    [IND_LOOP_ACOS] = IND_OP_ACOS,
    [IND_LOOP_ATAN] = IND_OP_ATAN,
    [IND_LOOP_SINH] = IND_OP_SINH,
    [IND_LOOP_COSH] = IND_OP_COSH,
    [IND_LOOP_ASINH] = IND_OP_ASINH,
    [IND_LOOP_ACOSH] = IND_OP_ACOSH,
    [IND_LOOP_ATANH] = IND_OP_ATANH,
    [IND_LOOP_EXP2] = IND_OP_EXP2,
    [IND_LOOP_EXPM1] = IND_OP_EXPM1,
    [IND_LOOP_LOG2] = IND_OP_LOG2,
    [IND_LOOP_LOG10] = IND_OP_LOG10,
    [IND_LOOP_LOG1P] = IND_OP_LOG1P,
    [IND_LOOP_FLOOR] = IND_OP_FLOOR,
    [IND_LOOP_CEIL] = IND_OP_CEIL,
    [IND_LOOP_TRUNC] = IND_OP_TRUNC,
    [IND_LOOP_RINT] = IND_OP_ROUND,
    [IND_LOOP_ERFC] = IND_OP_ERFC,
    [IND_LOOP_LGAMMA] = IND_OP_LGAMMA,
    [IND_LOOP_ERFINV] = IND_OP_ERFINV,
    [IND_LOOP_DIGAMMA] = IND_OP_DIGAMMA,
    [IND_LOOP_I0E] = IND_OP_SPECIAL_I0E,
    [IND_LOOP_I1E] = IND_OP_SPECIAL_I1E,
    [IND_LOOP_J0] = IND_OP_SPECIAL_BESSEL_J0,
    [IND_LOOP_J1] = IND_OP_SPECIAL_BESSEL_J1,
    [IND_LOOP_Y0] = IND_OP_SPECIAL_BESSEL_Y0,
    [IND_LOOP_Y1] = IND_OP_SPECIAL_BESSEL_Y1,
    [IND_LOOP_NOT] = IND_OP_LOGICAL_NOT,
    [IND_LOOP_ADD] = IND_OP_ADD,
    [IND_LOOP_SUB] = IND_OP_SUB,
    [IND_LOOP_MUL] = IND_OP_MUL,
    [IND_LOOP_DIV] = IND_OP_DIV,
    [IND_LOOP_POW] = IND_OP_POW,
    [IND_LOOP_MAXIMUM] = IND_OP_MAXIMUM,
    [IND_LOOP_MINIMUM] = IND_OP_MINIMUM,
    [IND_LOOP_FMOD] = IND_OP_FMOD,
    [IND_LOOP_ATAN2] = IND_OP_ATAN2,
    [IND_LOOP_HYPOT] = IND_OP_HYPOT,
    [IND_LOOP_COPYSIGN] = IND_OP_COPYSIGN,
    [IND_LOOP_NEXTAFTER] = IND_OP_NEXTAFTER,
    [IND_LOOP_ZETA] = IND_OP_SPECIAL_ZETA,
    [IND_LOOP_IGAMMA] = IND_OP_IGAMMA,
    [IND_LOOP_IGAMMAC] = IND_OP_IGAMMAC,
    [IND_LOOP_BIT_AND] = IND_OP_BITWISE_AND,
    [IND_LOOP_BIT_OR] = IND_OP_BITWISE_OR,
    [IND_LOOP_BIT_XOR] = IND_OP_BITWISE_XOR,
    [IND_LOOP_SHIFT_LEFT] = IND_OP_BITWISE_LEFT_SHIFT,
    [IND_LOOP_SHIFT_RIGHT] = IND_OP_BITWISE_RIGHT_SHIFT,
    [IND_LOOP_EQ] = IND_OP_EQ,
    [IND_LOOP_NE] = IND_OP_NE,
    [IND_LOOP_LT] = IND_OP_LT,
    [IND_LOOP_LE] = IND_OP_LE,
    [IND_LOOP_GT] = IND_OP_GT,
    [IND_LOOP_GE] = IND_OP_GE,
    [IND_LOOP_AND] = IND_OP_LOGICAL_AND,
    [IND_LOOP_OR] = IND_OP_LOGICAL_OR,
    [IND_LOOP_WHERE] = IND_OP_WHERE,
    [IND_LOOP_PHILOX] = IND_OP_PHILOX,
};

/* ---- one op each */

static ind_tensor graph__raise_call(graph__raise *r, ind_graph_op op, const ind_tensor *x, uint32_t n,
                                    const ind__attr *attrs, uint32_t num_attrs) {
    for (uint32_t k = 0; k < n; k++)
        if (!x[k].id) return (ind_tensor){r->g, 0};
    return r->g->status ? (ind_tensor){r->g, 0} : ind__call_in(r->g, op, x, n, attrs, num_attrs);
}

static ind_tensor graph__raise_one(graph__raise *r, ind_graph_op op, ind_tensor a) {
    return graph__raise_call(r, op, &a, 1, NULL, 0);
}

static ind_tensor graph__raise_two(graph__raise *r, ind_graph_op op, ind_tensor a, ind_tensor b) {
    ind_tensor x[2] = {a, b};
    return graph__raise_call(r, op, x, 2, NULL, 0);
}

/* condition ? a : b */
static ind_tensor graph__raise_where(graph__raise *r, ind_tensor condition, ind_tensor a, ind_tensor b) {
    ind_tensor x[3] = {condition, a, b};
    return graph__raise_call(r, IND_OP_WHERE, x, 3, NULL, 0);
}

/* What a tensor is a reshape of; id 0: it is none. */
static ind_tensor graph__raised_from(const graph__raise *r, ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    const ind__node *n = t ? &r->g->node[t->node] : NULL;
    return (ind_tensor){r->g, n && n->op == IND_OP_RESHAPE ? n->operand[0] : 0};
}

static ind_tensor graph__raise_reshape(graph__raise *r, ind_tensor x, const ind_expr *size, int rank);

static ind_tensor graph__raise_permute(graph__raise *r, ind_tensor x, const int *dims, int rank);

/* The narrow float that x is the f32 of, be it seen reshaped or permuted; id 0: of none. */
static ind_tensor graph__raised_narrow(const graph__raise *r, ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    const ind__node *n = t ? &r->g->node[t->node] : NULL;
    while (n && (n->op == IND_OP_RESHAPE || n->op == IND_OP_PERMUTE)) n = &r->g->node[r->g->tensor[n->operand[0]].node];
    ind_tensor from = {r->g, n && n->op == IND_OP_CAST ? n->operand[0] : 0};
    ind_dtype dtype = ind_tensor_dtype(from);
    return ind_dtype_is_float(dtype) && ind_dtype_compute(dtype) != dtype ? from : (ind_tensor){r->g, 0};
}

/* What is reshaped or permuted is cast before: so that views meet. What was widened is as it was when narrowed again.
   Views meet, so there are few of them in a row. */
static ind_tensor graph__raise_cast(graph__raise *r, ind_tensor x, ind_dtype dtype) {
    const ind__tensor_info *t = ind__tensor_of(x);
    const ind__node *n = t ? &r->g->node[t->node] : NULL;
    ind__attr a = ind__attr_dtype(dtype);
    if (!n || t->dtype == dtype) return x;
    ind_tensor narrow = graph__raised_narrow(r, x), from = {r->g, n->num_operands ? n->operand[0] : 0};
    if (n->op == IND_OP_CAST && narrow.id && ind_tensor_dtype(narrow) == dtype) return narrow;
    if (n->op != IND_OP_RESHAPE && n->op != IND_OP_PERMUTE) return graph__raise_call(r, IND_OP_CAST, &x, 1, &a, 1);
    ind_expr size[IND_MAX_RANK];
    int dims[IND_MAX_RANK], rank = t->rank;
    bool permutes = n->op == IND_OP_PERMUTE;
    for (int d = 0; d < rank; d++) {
        size[d] = t->size[d];
        dims[d] = permutes ? graph__permuted_dim(n, rank, d) : d;
    }
    from = graph__raise_cast(r, from, dtype);
    return permutes ? graph__raise_permute(r, from, dims, rank) : graph__raise_reshape(r, from, size, rank);
}

static ind_tensor graph__raise_integer(graph__raise *r, int64_t v) {
    return ind_scalar_int(r->g, v);
}

static bool graph__raised_has_size(ind_tensor x, const ind_expr *size, int rank) {
    const ind__tensor_info *t = ind__tensor_of(x);
    bool same = t && t->rank == rank;
    for (int d = 0; same && d < rank; d++) same = ind_known_eq(t->size[d], size[d]);
    return same;
}

/* An op that takes sizes and does nothing where the tensor has them already. */
static ind_tensor graph__raise_sized(graph__raise *r, ind_graph_op op, ind_tensor x, const ind_expr *size, int rank) {
    ind__attr a = ind__attr_sizes(size, rank);
    return graph__raised_has_size(x, size, rank) ? x : graph__raise_call(r, op, &x, 1, &a, 1);
}

static ind_tensor graph__raise_reshape(graph__raise *r, ind_tensor x, const ind_expr *size, int rank) {
    ind_tensor from = graph__raised_from(r, x);
    return graph__raise_sized(r, IND_OP_RESHAPE, from.id ? from : x, size, rank);
}

static ind_tensor graph__raise_expand(graph__raise *r, ind_tensor x, const ind_expr *size, int rank) {
    return graph__raise_sized(r, IND_OP_EXPAND, x, size, rank);
}

static ind__attr graph__raise_dims(graph__raise *r, ind_expr *list, const int *dims, int n) {
    for (int k = 0; k < n; k++) list[k] = ind_int(r->c, dims[k]);
    return (ind__attr){.kind = IND__ATTR_INTS, .list = list, .count = n};
}

/* Dimensions of size 1 are left out of it: where only they are moved, a reshape does. */
static ind_tensor graph__raise_permute(graph__raise *r, ind_tensor x, const int *dims, int rank) {
    ind_expr list[IND_MAX_RANK], size[IND_MAX_RANK], kept[IND_MAX_RANK], one = ind_int(r->c, 1);
    int place[IND_MAX_RANK], moved[IND_MAX_RANK], last = -1, n = 0, m = 0;
    bool in_order = true;
    for (int d = 0; d < rank; d++) {
        place[d] = n; /* of dimension d among those not of size 1 */
        if (!ind_expr_same(ind_tensor_size(x, d), one)) kept[n++] = ind_tensor_size(x, d);
    }
    for (int d = 0; d < rank; d++) {
        size[d] = ind_tensor_size(x, dims[d]);
        if (ind_expr_same(size[d], one)) continue;
        in_order = in_order && dims[d] > last;
        last = dims[d];
        moved[m++] = place[dims[d]];
    }
    if (in_order) return graph__raise_reshape(r, x, size, rank);
    x = graph__raise_reshape(r, x, kept, n);
    const ind__node *from = x.id ? &r->g->node[r->g->tensor[x.id].node] : NULL;
    if (from && from->op == IND_OP_PERMUTE) { /* two of them are one */
        for (int d = 0; d < n; d++) moved[d] = graph__permuted_dim(from, n, moved[d]);
        x.id = from->operand[0];
        for (int d = 0; d < n; d++) kept[d] = ind_tensor_size(x, moved[d]);
    }
    in_order = true;
    for (int d = 0; d < n; d++) in_order = in_order && moved[d] == d;
    if (in_order) return graph__raise_reshape(r, x, size, rank);
    ind__attr a = graph__raise_dims(r, list, moved, n);
    return graph__raise_reshape(r, graph__raise_call(r, IND_OP_PERMUTE, &x, 1, &a, 1), size, rank);
}

static ind_tensor graph__raise_flat(graph__raise *r, ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    ind_expr numel = t ? ind_expr_product(r->c, t->size, t->rank) : ind_int(r->c, 0);
    return graph__raise_reshape(r, x, &numel, 1);
}

/* A 0-d tensor of what is a number in the body. */
static ind_tensor graph__raise_full(graph__raise *r, const ind__inst *i) {
    ind_dtype dtype = (ind_dtype)i->dtype;
    bool is_float = ind_dtype_is_float(dtype);
    ind__attr a[3] = {{.kind = IND__ATTR_SIZES},
                      {.kind = IND__ATTR_SCALAR,
                       .is_int = !is_float,
                       .i = is_float ? 0 : i->imm.i,
                       .f = is_float ? i->imm.f : (double)i->imm.i},
                      ind__attr_dtype(dtype)};
    return graph__raise_call(r, IND_OP_FULL, NULL, 0, a, 3);
}

static bool graph__raised_is_one(const graph__raise *r, ind_expr e) {
    return ind_expr_same(e, ind_int(r->c, 1));
}

/* Size along dimension d of the loops; values of no dimension depend on no loop. */
static ind_expr graph__raised_size(const graph__raise *r, ind_tensor x, int d) {
    const ind__tensor_info *t = ind__tensor_of(x);
    return t && t->rank == r->rank ? t->size[d] : ind_int(r->c, 1);
}

static bool graph__raised_varies(const graph__raise *r, ind_tensor x, int d) {
    return !graph__raised_is_one(r, graph__raised_size(r, x, d));
}

/* x, whose dimensions are those listed of n, in that order, as a tensor over all n: permuted to their order, of size 1
   along the others. */
static ind_tensor graph__raise_over(graph__raise *r, ind_tensor x, const int *of, int num, int n) {
    int dims[IND_MAX_RANK], k = 0;
    ind_expr size[IND_MAX_RANK];
    const ind__tensor_info *t = ind__tensor_of(x);
    for (int d = 0; d < n; d++) size[d] = ind_int(r->c, 1);
    for (int j = 0; t && j < num; j++) size[of[j]] = t->size[j];
    for (int d = 0; d < n; d++)
        for (int j = 0; j < num; j++)
            if (of[j] == d) dims[k++] = j;
    return graph__raise_reshape(r, graph__raise_permute(r, x, dims, num), size, n);
}

/* ---- affine indices */

/* e = offset + sum of stride[k] * symbol[k], each symbol going from 0 to below extent[k]. A negative stride is turned
   round, and its symbol marked as flipped. */
typedef struct graph__strided {
    int n;
    ind_expr symbol[IND_MAX_RANK + 1], extent[IND_MAX_RANK + 1], stride[IND_MAX_RANK + 1], offset;
    bool used[IND_MAX_RANK + 1], flipped[IND_MAX_RANK + 1];
} graph__strided;

static bool graph__strided_of(graph__raise *r, graph__strided *s, ind_expr e) {
    ind_expr zero = ind_int(r->c, 0), one = ind_int(r->c, 1);
    s->offset = e;
    for (int k = 0; k < s->n; k++) {
        s->stride[k] = zero;
        s->used[k] = ind__expr_depends(s->offset, s->symbol[k]);
        if (!s->used[k]) continue;
        if (!ind__affine(s->offset, s->symbol[k], &s->stride[k], &s->offset)) return false;
        if (!ind__expr_is_size(s->stride[k])) return false;
        if (!ind_known_lt(s->stride[k], zero)) continue;
        ind_expr last = ind_expr_mul(s->stride[k], ind_expr_sub(s->extent[k], one));
        s->offset = ind_expr_add(s->offset, last);
        s->stride[k] = ind_expr_neg(s->stride[k]);
        s->flipped[k] = true;
    }
    return ind__expr_is_size(s->offset);
}

/* The used symbols from the largest stride to the smallest, where each stride is that below times its extent and the
   last is 1: then they number `covered` elements. False: they do not. */
static bool graph__strided_order(graph__raise *r, const graph__strided *s, int *order, int *num, ind_expr *covered) {
    int left = 0;
    uint32_t taken = 0;
    ind_expr next = ind_int(r->c, 1);
    for (int k = 0; k < s->n; k++) left += s->used[k];
    *num = left;
    while (left > 0) {
        int found = -1;
        for (int k = s->n; found < 0 && k-- > 0;)
            if (s->used[k] && !(taken >> k & 1) && ind_known_eq(s->stride[k], next)) found = k;
        if (found < 0) return false;
        taken |= 1u << found;
        order[--left] = found;
        next = ind_expr_mul(next, s->extent[found]);
    }
    *covered = next;
    return true;
}

static void graph__strided_loops(const graph__raise *r, graph__strided *s, int at) {
    for (int v = 0; v < r->rank; v++) {
        s->symbol[at + v] = r->loops.var[v];
        s->extent[at + v] = r->loops.extent[v];
    }
    s->n = at + r->rank;
}

/* ---- index expressions as tensors */

static ind_tensor graph__raise_expr(graph__raise *r, ind_expr e);

/* start, start + step, .. along loop v */
static ind_tensor graph__raise_arange(graph__raise *r, ind_expr start, ind_expr step, ind_expr n, int v) {
    ind_expr one = ind_int(r->c, 1);
    bool plain = graph__size_is_zero(start) && graph__raised_is_one(r, step);
    ind__attr a[3] = {ind__attr_size(start), ind__attr_size(ind_expr_add(start, ind_expr_mul(step, n))),
                      ind__attr_size(step)};
    if (graph__raised_is_one(r, step)) a[2].kind = IND__ATTR_NONE;
    if (plain) a[0].kind = IND__ATTR_NONE;
    ind_tensor x = graph__raise_call(r, IND_OP_ARANGE, NULL, 0, a, 3);
    if (v < 0) return graph__raise_reshape(r, x, &one, 0);
    return graph__raise_over(r, x, &v, 1, r->rank);
}

/* Numbers that follow each other over several loops: one arange in their shape. id 0, without an error: they do not. */
static ind_tensor graph__raise_run(graph__raise *r, ind_expr e) {
    graph__strided s = {0};
    int order[IND_MAX_RANK + 1], num;
    ind_expr covered, size[IND_MAX_RANK + 1];
    graph__strided_loops(r, &s, 0);
    bool run = ind_expr_query_kind(e) == IND_EXPR_ADD && graph__strided_of(r, &s, e) &&
               graph__strided_order(r, &s, order, &num, &covered) && num > 1;
    for (int v = 0; v < s.n; v++) run = run && !s.flipped[v];
    if (!run) return (ind_tensor){r->g, 0};
    ind__attr a[2] = {ind__attr_size(s.offset), ind__attr_size(ind_expr_add(s.offset, covered))};
    if (graph__size_is_zero(s.offset)) a[0].kind = IND__ATTR_NONE;
    for (int k = 0; k < num; k++) size[k] = s.extent[order[k]];
    ind_tensor x = graph__raise_call(r, IND_OP_ARANGE, NULL, 0, a, 2);
    if (!ind_known_eq(ind_tensor_size(x, 0), covered)) return (ind_tensor){r->g, 0};
    return graph__raise_over(r, graph__raise_reshape(r, x, size, num), order, num, r->rank);
}

static int graph__raised_loop(const graph__raise *r, ind_expr symbol) {
    for (int v = 0; v < r->rank; v++)
        if (ind_expr_same(r->loops.var[v], symbol)) return v;
    return -1;
}

/* The only loop in e, in which it is affine with a coefficient whose sign is known; -1: there is no such. */
static int graph__raised_affine_loop(const graph__raise *r, ind_expr e, ind_expr *coefficient, ind_expr *rest) {
    ind_expr zero = ind_int(r->c, 0);
    for (int v = 0; v < r->rank; v++) {
        if (!ind__expr_depends(e, r->loops.var[v])) continue;
        bool affine = ind__affine(e, r->loops.var[v], coefficient, rest) && ind__expr_is_size(*coefficient) &&
                      ind__expr_is_size(*rest);
        return affine && (ind_known_lt(zero, *coefficient) || ind_known_lt(*coefficient, zero)) ? v : -1;
    }
    return -1;
}

static ind_tensor graph__raise_checked(graph__raise *r, uint32_t n);

/* Tensors of indices that were read from memory are made when first needed: rows of a table do without. */
static ind_tensor graph__raise_indirect(graph__raise *r, ind_expr symbol) {
    uint32_t n = (uint32_t)ind_expr_symbol(symbol)->slot;
    if (n >= r->body->num_inst) return (ind_tensor){r->g, 0};
    if (!r->value[n].id) r->value[n] = graph__raise_checked(r, n);
    return r->value[n];
}

static ind_tensor graph__raise_symbol(graph__raise *r, ind_expr e) {
    int v = graph__raised_loop(r, e);
    ind_expr one = ind_int(r->c, 1);
    if (v >= 0) return graph__raise_arange(r, ind_int(r->c, 0), one, r->loops.extent[v], v);
    return ind_expr_symbol(e)->kind == IND_SYMBOL_INDIRECT ? graph__raise_indirect(r, e)
                                                           : graph__raise_arange(r, e, one, one, -1);
}

/* a op b op c ..; a number stands behind a tensor, as some ops need one first. */
static ind_tensor graph__raise_chain(graph__raise *r, ind_graph_op op, ind_expr e) {
    ind_tensor all = {r->g, 0};
    for (int i = ind_expr_num_args(e); i-- > 0;) {
        ind_tensor x = graph__raise_expr(r, ind_expr_arg(e, i));
        all = all.id ? graph__raise_two(r, op, all, x) : x;
        if (!all.id) break;
    }
    return all;
}

static ind_tensor graph__raise_expr_op(graph__raise *r, ind_expr e) {
    static const uint16_t op[] = {
        [IND_EXPR_ADD] = IND_OP_ADD,
        [IND_EXPR_MUL] = IND_OP_MUL,
        [IND_EXPR_FLOORDIV] = IND_OP_FLOOR_DIVIDE,
        [IND_EXPR_MOD] = IND_OP_REMAINDER,
        [IND_EXPR_MIN] = IND_OP_MINIMUM,
        [IND_EXPR_MAX] = IND_OP_MAXIMUM,
        [IND_EXPR_EQ] = IND_OP_EQ,
        [IND_EXPR_NE] = IND_OP_NE,
        [IND_EXPR_LT] = IND_OP_LT,
        [IND_EXPR_LE] = IND_OP_LE,
        [IND_EXPR_AND] = IND_OP_LOGICAL_AND,
        [IND_EXPR_OR] = IND_OP_LOGICAL_OR,
        [IND_EXPR_NOT] = IND_OP_LOGICAL_NOT,
    };
    ind_expr_kind kind = ind_expr_query_kind(e);
    ind_expr coefficient, rest;
    int v = graph__raised_affine_loop(r, e, &coefficient, &rest);
    if (v >= 0) return graph__raise_arange(r, rest, coefficient, r->loops.extent[v], v);
    ind_tensor run = graph__raise_run(r, e);
    if (run.id) return run;
    if (ind__expr_is_size(e) && kind <= IND_EXPR_MAX)
        return graph__raise_arange(r, e, ind_int(r->c, 1), ind_int(r->c, 1), -1);
    switch (kind) {
    case IND_EXPR_SYM: return graph__raise_symbol(r, e);
    case IND_EXPR_WHERE:
        return graph__raise_where(r, graph__raise_expr(r, ind_expr_arg(e, 0)), graph__raise_expr(r, ind_expr_arg(e, 1)),
                                  graph__raise_expr(r, ind_expr_arg(e, 2)));
    case IND_EXPR_NOT: return graph__raise_one(r, IND_OP_LOGICAL_NOT, graph__raise_expr(r, ind_expr_arg(e, 0)));
    case IND_EXPR_ADD:
    case IND_EXPR_MUL:
    case IND_EXPR_MIN:
    case IND_EXPR_MAX:
    case IND_EXPR_AND:
    case IND_EXPR_OR: return graph__raise_chain(r, (ind_graph_op)op[kind], e);
    default:
        return graph__raise_two(r, (ind_graph_op)op[kind], graph__raise_expr(r, ind_expr_arg(e, 0)),
                                graph__raise_expr(r, ind_expr_arg(e, 1)));
    }
}

/* Value of e over the loops: i64, a condition bool, an integer a number. Expressions are at most 160 levels deep. */
static ind_tensor graph__raise_expr(graph__raise *r, ind_expr e) {
    int64_t number;
    if (ind_expr_is_int(e, &number)) return graph__raise_integer(r, number);
    for (uint32_t k = 0; k < r->num_made; k++)
        if (ind_expr_same(r->made[k].e, e)) return r->made[k].t;
    ind_tensor t = graph__raise_expr_op(r, e);
    void *place = ind__grow(r->c, (void **)&r->made, &r->num_made, &r->cap_made, sizeof *r->made, 1);
    if (!place) return (ind_tensor){r->g, 0};
    r->made[r->num_made - 1].e = e;
    r->made[r->num_made - 1].t = t;
    return t;
}

/* ---- accesses */

/* All of x, its dimensions regrouped and permuted. */
static ind_tensor graph__raise_whole_view(graph__raise *r, const graph__raised_buffer *b, const graph__strided *s) {
    int order[IND_MAX_RANK + 1], num;
    ind_expr covered, size[IND_MAX_RANK + 1];
    ind_expr numel = ind_expr_product(r->c, b->size, b->rank);
    bool whole = ind_known_eq(s->offset, ind_int(r->c, 0)) && graph__strided_order(r, s, order, &num, &covered) &&
                 ind_known_eq(covered, numel);
    if (!whole) return (ind_tensor){r->g, 0};
    bool sorted = true;
    for (int k = 0; k < num; k++) size[k] = s->extent[order[k]];
    for (int k = 1; k < num; k++) sorted = sorted && order[k] > order[k - 1];
    ind_tensor x = b->held;
    if (!sorted) x = graph__raise_reshape(r, x, size, num);
    if (!sorted) return graph__raise_over(r, x, order, num, s->n);
    for (int k = 0; k < s->n; k++) size[k] = s->used[k] ? s->extent[k] : ind_int(r->c, 1);
    return graph__raise_reshape(r, x, size, s->n);
}

/* Which symbol moves along each dimension of the buffer, by how many places, and where it begins. */
typedef struct graph__slices {
    int symbol[IND_MAX_RANK]; /* -1: none */
    ind_expr step[IND_MAX_RANK], first[IND_MAX_RANK];
} graph__slices;

static bool graph__slice_dim(graph__raise *r, const graph__raised_buffer *b, const graph__strided *s, int k,
                             graph__slices *p) {
    ind_expr stride = ind_int(r->c, 1), one = stride;
    for (int d = b->rank; d-- > 0; stride = ind_expr_mul(stride, b->size[d])) {
        ind_expr step = ind__exact_quotient(s->stride[k], stride);
        if (!ind__ok(step) || p->symbol[d] >= 0) continue;
        ind_expr last = ind_expr_add(p->first[d], ind_expr_mul(step, ind_expr_sub(s->extent[k], one)));
        if (!ind_known_lt(last, b->size[d])) continue;
        p->symbol[d] = k;
        p->step[d] = step;
        return true;
    }
    return false;
}

static bool graph__find_slices(graph__raise *r, const graph__raised_buffer *b, const graph__strided *s,
                               graph__slices *p) {
    ind_expr zero = ind_int(r->c, 0);
    ind__delinearise(r->c, s->offset, b->size, b->rank, p->first);
    for (int d = 0; d < b->rank; d++) {
        p->symbol[d] = -1;
        if (!ind__ok(p->first[d]) || !ind_known_le(zero, p->first[d]) || !ind_known_lt(p->first[d], b->size[d]))
            return false;
    }
    for (int k = 0; k < s->n; k++)
        if (s->used[k] && !graph__slice_dim(r, b, s, k, p)) return false;
    return b->rank > 0;
}

static ind_tensor graph__raise_select(graph__raise *r, ind_tensor x, int dim, ind_expr at) {
    ind__attr a[2] = {ind__attr_int(dim), ind__attr_size(at)};
    return graph__raise_call(r, IND_OP_SELECT, &x, 1, a, 2);
}

static ind_tensor graph__raise_slice(graph__raise *r, ind_tensor x, int dim, ind_expr first, ind_expr step,
                                     ind_expr count) {
    ind_expr one = ind_int(r->c, 1);
    ind_expr end = ind_expr_add(ind_expr_add(first, ind_expr_mul(step, ind_expr_sub(count, one))), one);
    ind__attr a[4] = {ind__attr_int(dim), ind__attr_size(first), ind__attr_size(end), ind__attr_size(step)};
    bool all =
        graph__size_is_zero(first) && graph__raised_is_one(r, step) && ind_known_eq(count, ind_tensor_size(x, dim));
    return all ? x : graph__raise_call(r, IND_OP_SLICE, &x, 1, a, 4);
}

/* A part of x: along each dimension one element or a range of them. */
static ind_tensor graph__raise_part_view(graph__raise *r, const graph__raised_buffer *b, const graph__strided *s) {
    graph__slices p;
    ind_tensor x = b->held;
    int of[IND_MAX_RANK], num = 0;
    if (!graph__find_slices(r, b, s, &p)) return (ind_tensor){r->g, 0};
    for (int d = 0; d < b->rank; d++)
        if (p.symbol[d] >= 0) of[num++] = p.symbol[d];
    for (int d = b->rank; d-- > 0;) {
        int k = p.symbol[d];
        x = k < 0 ? graph__raise_select(r, x, d, p.first[d])
                  : graph__raise_slice(r, x, d, p.first[d], p.step[d], s->extent[k]);
        if (k >= 0 && !ind_known_eq(ind_tensor_size(x, d), s->extent[k])) return (ind_tensor){r->g, 0};
    }
    return graph__raise_over(r, x, of, num, s->n);
}

static ind_tensor graph__raise_as_strided(graph__raise *r, const graph__raised_buffer *b, const graph__strided *s) {
    ind_expr zero = ind_int(r->c, 0), one = ind_int(r->c, 1), size[IND_MAX_RANK + 1], last = s->offset;
    bool empty = false, known = ind_known_le(zero, s->offset);
    for (int k = 0; k < s->n; k++) {
        size[k] = s->used[k] ? s->extent[k] : one;
        empty = empty || graph__size_is_zero(size[k]);
        known = known && ind_known_le(zero, s->stride[k]);
        last = ind_expr_add(last, ind_expr_mul(s->stride[k], ind_expr_sub(size[k], one)));
    }
    known = known && (empty || ind_known_lt(last, ind_expr_product(r->c, b->size, b->rank)));
    ind__attr a[3] = {ind__attr_sizes(size, s->n), ind__attr_sizes(s->stride, s->n), ind__attr_size(s->offset)};
    if (!known || s->n > IND_MAX_RANK) return (ind_tensor){r->g, 0};
    return graph__raise_call(r, IND_OP_AS_STRIDED, &b->held, 1, a, 3);
}

/* The elements of a buffer at e as a view of it with one dimension for each symbol; id 0, without an error: there is
   none, or it is not proven that all lie within. */
static ind_tensor graph__raise_view(graph__raise *r, const graph__raised_buffer *b, ind_expr e, graph__strided *s) {
    ind_tensor x = {r->g, 0};
    if (s->n > IND_MAX_RANK || !graph__strided_of(r, s, e)) return x;
    x = graph__raise_whole_view(r, b, s);
    if (!x.id) x = graph__raise_part_view(r, b, s);
    if (!x.id) x = graph__raise_as_strided(r, b, s);
    int flipped[IND_MAX_RANK + 1] = {0}, n = 0;
    for (int k = 0; k < s->n; k++)
        if (s->flipped[k]) flipped[n++] = k;
    ind_expr list[IND_MAX_RANK];
    ind__attr a = graph__raise_dims(r, list, flipped, n);
    return n && x.id ? graph__raise_call(r, IND_OP_FLIP, &x, 1, &a, 1) : x;
}

/* The one index symbol in e that was read from memory, where it is the only one; else invalid. */
static ind_expr graph__raised_indirect_in(const graph__raise *r, ind_expr e) {
    ind_expr found = {r->c, 0}, symbol[32];
    int n = ind__expr_symbols(e, symbol, 32);
    for (int k = 0; k < n && k < 32; k++) {
        if (ind_expr_symbol(symbol[k])->kind != IND_SYMBOL_INDIRECT) continue;
        if (ind__ok(found)) return (ind_expr){r->c, 0};
        found = symbol[k];
    }
    return n > 32 ? (ind_expr){r->c, 0} : found;
}

/* table [T, loops..] at t, where they share no loop: index_select, or index where t counts from the end. */
static ind_tensor graph__raise_rows(graph__raise *r, ind_tensor table, ind_tensor t, bool wrap) {
    int of[IND_MAX_RANK], num = 0;
    ind_expr size[IND_MAX_RANK];
    const ind__tensor_info *x = ind__tensor_of(table);
    for (int d = 0; d < r->rank; d++)
        if (graph__raised_varies(r, t, d)) of[num] = d, size[num++] = graph__raised_size(r, t, d);
    int rows = num;
    for (int d = 0; d < r->rank; d++)
        if (!graph__raised_is_one(r, x->size[d + 1])) of[num] = d, size[num++] = x->size[d + 1];
    ind_expr inner[IND_MAX_RANK];
    inner[0] = x->size[0];
    for (int k = rows; k < num; k++) inner[1 + k - rows] = size[k];
    table = graph__raise_reshape(r, table, inner, 1 + num - rows);
    ind_tensor operand[2] = {table, rows ? graph__raise_reshape(r, t, size, rows) : graph__raise_flat(r, t)};
    ind__attr dim = ind__attr_int(0);
    if (!wrap) operand[1] = graph__raise_flat(r, operand[1]);
    ind_tensor y = wrap ? graph__raise_call(r, IND_OP_INDEX, operand, 2, NULL, 0)
                        : graph__raise_call(r, IND_OP_INDEX_SELECT, operand, 2, &dim, 1);
    y = graph__raise_reshape(r, y, size, num);
    return graph__raise_over(r, y, of, num, r->rank);
}

/* table [T, loops..] at t, element by element. */
static ind_tensor graph__raise_gather(graph__raise *r, ind_tensor table, ind_tensor t) {
    const ind__tensor_info *x = ind__tensor_of(table);
    ind_expr size[IND_MAX_RANK + 1];
    ind__attr dim = ind__attr_int(0);
    for (int d = 0; d < r->rank; d++)
        size[d + 1] = graph__raised_is_one(r, x->size[d + 1]) ? graph__raised_size(r, t, d) : x->size[d + 1];
    size[0] = x->size[0];
    table = graph__raise_expand(r, table, size, r->rank + 1);
    t = graph__raise_expand(r, t, size + 1, r->rank);
    size[0] = ind_int(r->c, 1);
    ind_tensor operand[2] = {table, graph__raise_reshape(r, t, size, r->rank + 1)};
    ind_tensor y = graph__raise_call(r, IND_OP_GATHER, operand, 2, &dim, 1);
    return graph__raise_reshape(r, y, size + 1, r->rank);
}

static ind_tensor graph__raise_operand(graph__raise *r, uint32_t n);

/* A buffer at e, which has one index that was read from memory, as rows of a table; id 0: it is more than that. */
static ind_tensor graph__raise_lookup(graph__raise *r, const graph__raised_buffer *b, ind_expr e) {
    ind_expr symbol = graph__raised_indirect_in(r, e);
    graph__strided s = {0};
    if (!ind__ok(symbol) || r->rank + 1 > IND_MAX_RANK) return (ind_tensor){r->g, 0};
    const ind__inst *i = &r->body->inst[ind_expr_symbol(symbol)->slot];
    bool wrap = i->flags & IND__INST_WRAP, shared = false;
    s.symbol[0] = symbol;
    s.extent[0] = ind_expr_symbol(symbol)->extent;
    graph__strided_loops(r, &s, 1);
    ind_tensor t = graph__raise_operand(r, i->arg[0]), table = graph__raise_view(r, b, e, &s);
    if (!table.id || !t.id || (graph__raised_is_one(r, s.extent[0]))) return (ind_tensor){r->g, 0};
    for (int d = 0; d < r->rank; d++)
        shared = shared || (graph__raised_varies(r, t, d) && !graph__raised_is_one(r, ind_tensor_size(table, d + 1)));
    if (!shared) return graph__raise_rows(r, table, t, wrap);
    return wrap ? (ind_tensor){r->g, 0} : graph__raise_gather(r, table, t);
}

/* The flat buffer with one element more, for those that a mask leaves out. */
static ind_tensor graph__raise_padded(graph__raise *r, ind_tensor flat) {
    ind_expr one = ind_int(r->c, 1);
    ind__attr a[3] = {ind__attr_sizes(&one, 1), ind__attr_number(0), ind__attr_dtype(ind_tensor_dtype(flat))};
    ind_tensor x[2] = {flat, graph__raise_call(r, IND_OP_FULL, NULL, 0, a, 3)};
    return graph__raise_call(r, IND_OP_CAT, x, 2, NULL, 0);
}

/* The elements at e; where the mask is false any. */
static ind_tensor graph__raise_take(graph__raise *r, const graph__raised_buffer *b, ind_expr e, ind_tensor mask) {
    ind_expr numel = ind_expr_product(r->c, b->size, b->rank), zero = ind_int(r->c, 0), one = ind_int(r->c, 1);
    ind_tensor at = graph__raise_expr(r, e), x = graph__raise_cast(r, b->held, ind_dtype_compute(b->dtype));
    if (mask.id && !ind_known_lt(zero, numel)) {
        x = graph__raise_padded(r, graph__raise_flat(r, x));
        at = graph__raise_where(r, mask, at, graph__raise_expr(r, numel));
    } else if (mask.id) {
        at = graph__raise_where(r, mask, at, graph__raise_integer(r, 0));
    }
    if (ind__tensor_of(at) && ind__tensor_of(at)->weak) at = graph__raise_arange(r, e, one, one, -1);
    return graph__raise_two(r, IND_OP_TAKE, x, at);
}

/* Offset of an access in its buffer, over the loops as they are now. */
static ind_expr graph__raised_offset(const graph__raise *r, const ind__inst *i) {
    const graph__raised_buffer *b = &r->buffer[i->source];
    const ind_expr *index = r->loops.index + i->index;
    bool linear = !r->body->result; /* the body of a kernel, whose layouts are fixed */
    return linear ? index[0] : ind__linearise(r->c, index, b->size, b->rank);
}

/* Is the value of a masked load only looked at where the mask holds? */
static bool graph__raised_mask_idle(const graph__raise *r, uint32_t load) {
    const ind_body *b = r->body;
    for (uint32_t n = load + 1; n < b->num_inst; n++) {
        const ind__inst *i = &b->inst[n];
        bool uses = false;
        for (int k = 0; k < IND__MAX_ARGS; k++) uses = uses || i->arg[k] == load;
        if (!uses) continue;
        if (i->op != IND_LOOP_WHERE || i->arg[0] != b->inst[load].arg[0] || i->arg[2] == load) return false;
    }
    return b->result != load;
}

static bool graph__raised_is_empty(const graph__raise *r, const ind_expr *size, int rank) {
    bool empty = false;
    for (int d = 0; d < rank; d++) empty = empty || graph__size_is_zero(size[d]);
    return empty && r->c;
}

/* Zeros of these sizes. */
static ind_tensor graph__raise_zeros(graph__raise *r, const ind_expr *size, int rank, ind_dtype dtype) {
    bool is_float = ind_dtype_is_float(dtype);
    ind__attr a[3] = {
        ind__attr_sizes(size, rank), {.kind = IND__ATTR_SCALAR, .is_int = !is_float}, ind__attr_dtype(dtype)};
    return graph__raise_call(r, IND_OP_FULL, NULL, 0, a, 3);
}

static ind_tensor graph__raise_load(graph__raise *r, uint32_t n) {
    const ind__inst *i = &r->body->inst[n];
    const graph__raised_buffer *b = &r->buffer[i->source];
    graph__strided s = {0};
    ind_expr e = graph__raised_offset(r, i);
    ind_tensor mask = {r->g, 0}, x;
    if (i->arg[0] && !(mask = graph__raise_operand(r, i->arg[0])).id) return mask;
    if (graph__raised_is_empty(r, b->size, b->rank)) {
        bool never = graph__raised_is_empty(r, r->loops.extent, r->rank);
        return graph__raise_zeros(r, r->loops.extent, never ? r->rank : 0, (ind_dtype)i->dtype);
    }
    graph__strided_loops(r, &s, 0);
    x = graph__raise_view(r, b, e, &s);
    if (!x.id && !i->arg[0]) x = graph__raise_lookup(r, b, e);
    if (!x.id) x = graph__raise_take(r, b, e, mask);
    x = graph__raise_cast(r, x, (ind_dtype)i->dtype);
    if (!i->arg[0] || graph__raised_mask_idle(r, n)) return x;
    ind_tensor zero = i->dtype == IND_BOOL                      ? graph__raise_full(r, &(ind__inst){.dtype = IND_BOOL})
                      : ind_dtype_is_float((ind_dtype)i->dtype) ? ind_scalar(r->g, 0)
                                                                : graph__raise_integer(r, 0);
    return graph__raise_where(r, mask, x, zero);
}

/* ---- instructions */

/* The value of an index expression; that of a condition is bool, though the instruction is not. */
static ind_tensor graph__raise_index(graph__raise *r, const ind__inst *i) {
    ind_expr e = r->loops.index[i->index], one = ind_int(r->c, 1);
    return ind_expr_is_int(e, NULL) ? graph__raise_arange(r, e, one, one, -1) : graph__raise_expr(r, e);
}

/* The value of an instruction as a tensor, be it a number. Numbers and indices are made when first needed. */
static ind_tensor graph__raise_operand(graph__raise *r, uint32_t n) {
    const ind__inst *i = &r->body->inst[n];
    if (i->op == IND_LOOP_INDIRECT) return graph__raise_indirect(r, r->body->index[i->index + 1]);
    if (i->op == IND_LOOP_CONSTANT && !r->value[n].id) r->value[n] = graph__raise_full(r, i);
    if (i->op == IND_LOOP_INDEX && !r->value[n].id)
        r->value[n] = graph__raise_cast(r, graph__raise_index(r, i), IND_I64);
    return r->value[n];
}

/* Operands of an op on values: numbers stay numbers beside a tensor of their type, where they promote weakly and so
   change nothing. The condition of a where, bools, and both numbers of pow (which knows some exponents by name) do not.
 */
static void graph__raise_operands(graph__raise *r, const ind__inst *i, ind_tensor *x, int n) {
    bool tensor = false;
    int first = i->op == IND_LOOP_WHERE;
    for (int k = first; k < n; k++) tensor = tensor || r->body->inst[i->arg[k]].op != IND_LOOP_CONSTANT;
    for (int k = 0; k < n; k++) {
        const ind__inst *from = &r->body->inst[i->arg[k]];
        bool number =
            tensor && k >= first && from->op == IND_LOOP_CONSTANT && from->dtype != IND_BOOL && i->op != IND_LOOP_POW;
        if (!number)
            x[k] = graph__raise_operand(r, i->arg[k]);
        else
            x[k] = ind_dtype_is_float((ind_dtype)from->dtype) ? ind_scalar(r->g, from->imm.f)
                                                              : graph__raise_integer(r, from->imm.i);
    }
}

static ind_tensor graph__raise_pointwise(graph__raise *r, const ind__inst *i) {
    ind_tensor x[3];
    int n = ind__loop_op_arity((ind_loop_op)i->op);
    ind_graph_op op = (ind_graph_op)graph__raised_op[i->op];
    graph__raise_operands(r, i, x, n);
    ind__attr bits[2] = {ind__attr_int(i->imm.i & 255), ind__attr_int(i->imm.i >> 8)};
    if (i->op == IND_LOOP_PHILOX) return graph__raise_call(r, op, x, 3, bits, 2);
    ind__attr trunc = {.kind = IND__ATTR_STR, .s = "trunc"};
    bool whole = i->op == IND_LOOP_DIV && !ind_dtype_is_float((ind_dtype)i->dtype);
    return graph__raise_call(r, op, x, (uint32_t)n, &trunc, whole);
}

/* A function of the user's, which the graph declares. */
static ind_tensor graph__raise_user_call(graph__raise *r, const ind__inst *i) {
    const ind__function *f = i->imm.function;
    uint32_t id[IND__MAX_ARGS];
    ind__attr name = {.kind = IND__ATTR_STR, .s = f->name};
    if (ind__graph_add_function(r->g, f)) return (ind_tensor){r->g, 0};
    for (int k = 0; k < f->num_args; k++)
        if (!(id[k] = graph__raise_operand(r, i->arg[k]).id)) return (ind_tensor){r->g, 0};
    ind_tensor y = ind__graph_add(r->g, IND_OP_CALL, id, (uint32_t)f->num_args, &name, 1, NULL, f->name);
    return graph__raise_cast(r, y, (ind_dtype)i->dtype);
}

/* Rounds an f32 to a type of memory and back. */
static ind_tensor graph__raise_round(graph__raise *r, const ind__inst *i, ind_dtype to) {
    ind_tensor x = graph__raise_cast(r, graph__raise_operand(r, i->arg[0]), to);
    return graph__raise_cast(r, x, (ind_dtype)i->dtype);
}

/* The value checked as an index: what the table of all indices has at it. */
static ind_tensor graph__raise_checked(graph__raise *r, uint32_t n) {
    const ind__inst *i = &r->body->inst[n];
    ind_expr extent = r->loops.index[i->index], one = ind_int(r->c, 1);
    ind__attr end[2] = {{0}, ind__attr_size(extent)}, dim = ind__attr_int(0);
    ind_tensor t = graph__raise_operand(r, i->arg[0]);
    ind_tensor x[2] = {graph__raise_call(r, IND_OP_ARANGE, NULL, 0, end, 2), t};
    const ind__tensor_info *info = ind__tensor_of(t);
    ind_expr size[IND_MAX_RANK];
    if (i->flags & IND__INST_WRAP || !info) return graph__raise_call(r, IND_OP_TAKE, x, 2, NULL, 0);
    int rank = info->rank;
    for (int d = 0; d < rank; d++) size[d] = info->size[d];
    x[1] = rank ? graph__raise_flat(r, t) : graph__raise_reshape(r, t, &one, 1);
    return graph__raise_reshape(r, graph__raise_call(r, IND_OP_GATHER, x, 2, &dim, 1), size, rank);
}

/* A cast; a condition on indices needs none to be bool. */
static ind_tensor graph__raise_cast_op(graph__raise *r, const ind__inst *i) {
    const ind__inst *from = &r->body->inst[i->arg[0]];
    ind_tensor x = from->op == IND_LOOP_INDEX && i->dtype == IND_BOOL ? graph__raise_index(r, from)
                                                                      : graph__raise_operand(r, i->arg[0]);
    return graph__raise_cast(r, x, (ind_dtype)i->dtype);
}

/* ---- reductions */

/* x over all reduction loops, and over no fewer parallel ones than it was. */
static ind_tensor graph__raise_over_row(graph__raise *r, ind_tensor x) {
    ind_expr size[IND_MAX_RANK];
    for (int d = 0; d < r->rank; d++) size[d] = d < r->loops.rank ? graph__raised_size(r, x, d) : r->loops.extent[d];
    return graph__raise_expand(r, x, size, r->rank);
}

/* An op that takes several dimensions: over all reduction loops, which stay with size 1. */
static ind_tensor graph__raise_reduce_dims(graph__raise *r, ind_graph_op op, ind_tensor x, ind_dtype dtype) {
    int dims[IND_MAX_RANK], n = 0;
    ind_expr list[IND_MAX_RANK];
    x = graph__raise_over_row(r, x);
    for (int d = r->loops.rank; d < r->rank; d++) dims[n++] = d;
    ind__attr a[3] = {graph__raise_dims(r, list, dims, n), ind__attr_bool(true), ind__attr_dtype(dtype)};
    return graph__raise_call(r, op, &x, 1, a, op == IND_OP_SUM ? 3 : 2);
}

/* One that takes one dimension, along which the reduction loops are laid out. */
static ind_tensor graph__raise_reduce_dim(graph__raise *r, ind_graph_op op, ind_tensor x, ind_dtype dtype) {
    ind_expr size[IND_MAX_RANK];
    int rank = r->loops.rank;
    x = graph__raise_over_row(r, x);
    for (int d = 0; d < rank; d++) size[d] = ind_tensor_size(x, d);
    size[rank] = ind_expr_product(r->c, r->loops.extent + rank, r->rank - rank);
    x = graph__raise_reshape(r, x, size, rank + 1);
    ind__attr a[3] = {ind__attr_int(rank), ind__attr_bool(true), ind__attr_dtype(dtype)};
    x = graph__raise_call(r, op, &x, 1, a, op == IND_OP_PROD ? 3 : 2);
    for (int d = rank; d < r->rank; d++) size[d] = ind_int(r->c, 1);
    return graph__raise_reshape(r, x, size, r->rank);
}

/* The sum of squared deviations is the variance with 1 for the degrees of freedom, where the number of elements is
   known; else the variance times that number. */
static ind_tensor graph__raise_welford(graph__raise *r, ind_tensor x, int64_t part) {
    int dims[IND_MAX_RANK], n = 0;
    int64_t count;
    ind_expr list[IND_MAX_RANK], numel = ind_expr_product(r->c, r->loops.extent + r->loops.rank, r->loops.rrank);
    x = graph__raise_over_row(r, x);
    for (int d = r->loops.rank; d < r->rank; d++) dims[n++] = d;
    ind__attr a[4] = {graph__raise_dims(r, list, dims, n), {0}, ind__attr_bool(true), ind__attr_number(0)};
    bool known = ind_expr_is_int(numel, &count);
    if (known) a[3] = ind__attr_number((double)count - 1);
    ind_tensor v = graph__raise_call(r, IND_OP_VAR_MEAN, &x, 1, a, 4);
    if (v.id && part == 0) return (ind_tensor){r->g, v.id + 1};
    if (known) return v;
    return graph__raise_two(r, IND_OP_MUL, v, graph__raise_cast(r, graph__raise_expr(r, numel), ind_tensor_dtype(v)));
}

/* max(x), or sum(exp(x - max(x))) */
static ind_tensor graph__raise_softmax_part(graph__raise *r, ind_tensor x, int64_t part) {
    ind_tensor most = graph__raise_reduce_dims(r, IND_OP_AMAX, x, IND_DTYPE_NONE);
    if (part == 0) return most;
    ind_tensor term = graph__raise_one(r, IND_OP_EXP, graph__raise_two(r, IND_OP_SUB, x, most));
    return graph__raise_reduce_dims(r, IND_OP_SUM, term, ind_tensor_dtype(term));
}

/* Loops of a matrix product by what they index: both operands, the first, the second, or the elements summed. */
typedef struct graph__product_loops {
    int batch[IND_MAX_RANK], m[IND_MAX_RANK], n[IND_MAX_RANK], k[IND_MAX_RANK];
    int num_batch, num_m, num_n, num_k;
} graph__product_loops;

static void graph__find_product_loops(const graph__raise *r, ind_tensor a, ind_tensor b, graph__product_loops *p) {
    *p = (graph__product_loops){.num_batch = 0};
    for (int d = 0; d < r->rank; d++) {
        bool in_a = graph__raised_varies(r, a, d), in_b = graph__raised_varies(r, b, d);
        if (d >= r->loops.rank)
            p->k[p->num_k++] = d;
        else if (in_a && in_b)
            p->batch[p->num_batch++] = d;
        else if (in_a)
            p->m[p->num_m++] = d;
        else if (in_b)
            p->n[p->num_n++] = d;
    }
}

static ind_expr graph__raise_push(const graph__raise *r, ind_tensor x, const int *loops, int n, int *dims, int *rank) {
    ind_expr points = ind_int(r->c, 1);
    for (int k = 0; k < n; k++) {
        dims[(*rank)++] = loops[k];
        points = ind_expr_mul(points, graph__raised_size(r, x, loops[k]));
    }
    return points;
}

/* An operand as a matrix: [batch, first, second], its loops in this order; no batch where there is none. */
static ind_tensor graph__raise_matrix(graph__raise *r, ind_tensor x, const graph__product_loops *p, const int *first,
                                      int num_first, const int *second, int num_second) {
    int dims[IND_MAX_RANK], rank = 0, n = 0;
    ind_expr size[3];
    x = graph__raise_over_row(r, x);
    if (p->num_batch) size[n++] = graph__raise_push(r, x, p->batch, p->num_batch, dims, &rank);
    size[n++] = graph__raise_push(r, x, first, num_first, dims, &rank);
    size[n++] = graph__raise_push(r, x, second, num_second, dims, &rank);
    for (int d = 0; d < r->loops.rank; d++) {
        bool there = false;
        for (int k = 0; k < rank; k++) there = there || dims[k] == d;
        if (!there) dims[rank++] = d; /* of size 1 */
    }
    return graph__raise_reshape(r, graph__raise_permute(r, x, dims, rank), size, n);
}

/* A product of narrow floats is that of what they are widened to, and as good as that inside a kernel, where results
   are not rounded. */
static void graph__raise_narrow_operands(graph__raise *r, ind_tensor *a, ind_tensor *b) {
    ind_tensor *x[2] = {a, b}, narrow[2];
    ind_dtype dtype[2];
    for (int k = 0; k < 2; k++) {
        narrow[k] = graph__raised_narrow(r, *x[k]);
        dtype[k] = ind_tensor_dtype(narrow[k]);
    }
    if (dtype[0] != dtype[1] || (dtype[0] != IND_F16 && dtype[0] != IND_BF16)) return;
    for (int k = 0; k < 2; k++) *x[k] = graph__raise_cast(r, *x[k], dtype[k]);
}

static ind_tensor graph__raise_product(graph__raise *r, ind_tensor a, ind_tensor b, ind_dtype dtype) {
    graph__product_loops p;
    ind_expr size[IND_MAX_RANK];
    int of[IND_MAX_RANK], rank = 0;
    graph__find_product_loops(r, a, b, &p);
    graph__raise_push(r, a, p.batch, p.num_batch, of, &rank);
    graph__raise_push(r, a, p.m, p.num_m, of, &rank);
    int rows = rank;
    graph__raise_push(r, b, p.n, p.num_n, of, &rank);
    for (int k = 0; k < rank; k++) size[k] = graph__raised_size(r, k < rows ? a : b, of[k]);
    graph__raise_narrow_operands(r, &a, &b);
    a = graph__raise_matrix(r, a, &p, p.m, p.num_m, p.k, p.num_k);
    b = graph__raise_matrix(r, b, &p, p.k, p.num_k, p.n, p.num_n);
    ind_tensor y = graph__raise_cast(r, graph__raise_two(r, IND_OP_MATMUL, a, b), dtype);
    y = graph__raise_reshape(r, y, size, rank);
    return graph__raise_over(r, y, of, rank, r->rank);
}

static ind_tensor graph__raise_reduce(graph__raise *r, const ind__inst *i, int64_t part) {
    ind_tensor x = graph__raise_operand(r, i->arg[0]);
    ind_dtype dtype = (ind_dtype)i->dtype;
    switch (i->reduction) {
    case IND_REDUCE_SUM: return graph__raise_reduce_dims(r, IND_OP_SUM, x, dtype);
    case IND_REDUCE_MAX: return graph__raise_reduce_dims(r, IND_OP_AMAX, x, dtype);
    case IND_REDUCE_MIN: return graph__raise_reduce_dims(r, IND_OP_AMIN, x, dtype);
    case IND_REDUCE_ANY: return graph__raise_reduce_dims(r, IND_OP_ANY, x, dtype);
    case IND_REDUCE_PROD: return graph__raise_reduce_dim(r, IND_OP_PROD, x, dtype);
    case IND_REDUCE_ARGMAX: return graph__raise_reduce_dim(r, IND_OP_ARGMAX, x, dtype);
    case IND_REDUCE_WELFORD: return graph__raise_welford(r, x, part);
    case IND_REDUCE_ONLINE_SOFTMAX: return graph__raise_softmax_part(r, x, part);
    case IND_REDUCE_DOT: return graph__raise_product(r, x, graph__raise_operand(r, i->arg[1]), dtype);
    default: break;
    }
    ind__graph_fail(r->g, IND_NOT_SUPPORTED, "there is no op for the reduction %s",
                    ind__reduction_name((ind_reduction)i->reduction));
    return (ind_tensor){r->g, 0};
}

/* ---- scans: along the last loop */

/* The loops in the order in which the first result of scan n is laid out, which is that of its dimensions: so what is
   written needs no permutation. */
static void graph__raised_scan_order(graph__raise *r, uint32_t n, int *order) {
    graph__strided s = {0};
    int num = 0, found[IND_MAX_RANK + 1];
    ind_expr covered;
    for (int d = 0; d < r->rank; d++) order[d] = d;
    graph__strided_loops(r, &s, 0);
    for (uint32_t k = n + 1; k < r->body->num_inst; k++) {
        const ind__inst *i = &r->body->inst[k], *v = &r->body->inst[i->arg[0]];
        if (i->op != IND_LOOP_STORE || (i->arg[0] != n && (v->op != IND_LOOP_PART || v->arg[0] != n))) continue;
        bool laid = graph__strided_of(r, &s, graph__raised_offset(r, i)) &&
                    graph__strided_order(r, &s, found, &num, &covered) && num == r->rank;
        for (int d = 0; laid && d < r->rank; d++) order[d] = found[d];
        return;
    }
}

/* A result of scan n over the loops in their own order. */
static ind_tensor graph__raise_scanned(graph__raise *r, uint32_t n, ind_tensor x) {
    int order[IND_MAX_RANK], back[IND_MAX_RANK];
    graph__raised_scan_order(r, n, order);
    for (int d = 0; d < r->rank; d++) back[order[d]] = d;
    return x.id ? graph__raise_permute(r, x, back, r->rank) : x;
}

/* The results follow each other, laid out as they are written. */
static ind_tensor graph__raise_scan(graph__raise *r, uint32_t at) {
    const ind__inst *i = &r->body->inst[at];
    static const uint16_t op[IND_NUM_SCANS] = {
        [IND_SCAN_SUM] = IND_OP_CUMSUM,
        [IND_SCAN_PROD] = IND_OP_CUMPROD,
        [IND_SCAN_MAX] = IND_OP_CUMMAX,
        [IND_SCAN_MIN] = IND_OP_CUMMIN,
        [IND_SCAN_LOGADDEXP] = IND_OP_LOGCUMSUMEXP,
        [IND_SCAN_ASCENDING] = IND_OP_SORT,
        [IND_SCAN_DESCENDING] = IND_OP_SORT,
    };
    ind_tensor x = graph__raise_over_row(r, graph__raise_operand(r, i->arg[0]));
    ind_graph_op scan = (ind_graph_op)op[i->reduction];
    int order[IND_MAX_RANK], dim = 0;
    graph__raised_scan_order(r, at, order);
    while (order[dim] != r->loops.rank) dim++;
    x = graph__raise_permute(r, x, order, r->rank);
    ind__attr a[3] = {ind__attr_int(dim)};
    uint32_t n = 1;
    if (!op[i->reduction]) {
        ind__graph_fail(r->g, IND_NOT_SUPPORTED, "there is no op for the scan %s",
                        ind__scan_name((ind_scan)i->reduction));
        return (ind_tensor){r->g, 0};
    }
    if (scan == IND_OP_CUMSUM || scan == IND_OP_CUMPROD) a[n++] = ind__attr_dtype((ind_dtype)i->dtype);
    if (scan == IND_OP_SORT) {
        a[n++] = ind__attr_bool(i->reduction == IND_SCAN_DESCENDING);
        a[n++] = ind__attr_bool(true);
    }
    x = graph__raise_call(r, scan, &x, 1, a, n);
    return ind__scan_results((ind_scan)i->reduction) > 1 ? x : graph__raise_scanned(r, at, x);
}

/* ---- stores */

/* x over no loops but those that the symbols stand for, or id 0 where it varies along others. */
static bool graph__raised_within(const graph__raise *r, ind_tensor x, const graph__strided *s) {
    for (int v = 0; v < r->rank; v++)
        if (!s->used[v] && !graph__raised_is_one(r, r->loops.extent[v]) && graph__raised_varies(r, x, v)) return false;
    return true;
}

/* A value that fills a whole buffer: laid out as that is. id 0, without an error: it does not. */
static ind_tensor graph__raise_fill(graph__raise *r, const graph__raised_buffer *b, ind_expr e, ind_tensor x) {
    graph__strided s = {0};
    int order[IND_MAX_RANK + 1], num, n = 0, dims[IND_MAX_RANK];
    ind_expr covered, size[IND_MAX_RANK], numel = ind_expr_product(r->c, b->size, b->rank);
    graph__strided_loops(r, &s, 0);
    bool whole = graph__strided_of(r, &s, e) && ind_known_eq(s.offset, ind_int(r->c, 0)) &&
                 graph__strided_order(r, &s, order, &num, &covered) && ind_known_eq(covered, numel);
    if (!whole || !graph__raised_within(r, x, &s)) return (ind_tensor){r->g, 0};
    int flipped[IND_MAX_RANK], turned = 0;
    for (int v = 0; v < r->rank; v++) {
        size[v] = s.used[v] ? r->loops.extent[v] : ind_int(r->c, 1);
        if (s.flipped[v]) flipped[turned++] = v;
        if (!s.used[v]) dims[n++] = v;
    }
    for (int k = 0; k < num; k++) dims[n++] = order[k];
    x = graph__raise_expand(r, x, size, r->rank);
    ind_expr list[IND_MAX_RANK];
    ind__attr a = graph__raise_dims(r, list, flipped, turned);
    if (turned) x = graph__raise_call(r, IND_OP_FLIP, &x, 1, &a, 1);
    bool sorted = true;
    for (int k = 1; k < num; k++) sorted = sorted && order[k] > order[k - 1];
    if (!sorted) x = graph__raise_permute(r, x, dims, r->rank);
    return graph__raise_reshape(r, x, b->size, b->rank);
}

/* All points of the loops that v or the index varies over, in their order. */
static ind_tensor graph__raise_points(graph__raise *r, ind_tensor x, ind_tensor like) {
    ind_expr size[IND_MAX_RANK];
    for (int d = 0; d < r->rank; d++)
        size[d] = graph__size_is_zero(r->loops.extent[d]) ? r->loops.extent[d]
                  : graph__raised_varies(r, x, d)         ? graph__raised_size(r, x, d)
                                                          : graph__raised_size(r, like, d);
    return graph__raise_expand(r, x, size, r->rank);
}

/* x, as if it were flat, with the values at the indices, put there or joined with what is there. */
static ind_tensor graph__raise_put(graph__raise *r, ind_reduction mode, ind_tensor x, ind_tensor at, ind_tensor v) {
    static const char *const reduce[IND_NUM_REDUCTIONS] = {
        [IND_REDUCE_PROD] = "prod", [IND_REDUCE_MAX] = "amax", [IND_REDUCE_MIN] = "amin"};
    ind_tensor operand[3] = {x, at, v};
    ind__attr joined[2] = {ind__attr_int(0), {.kind = IND__ATTR_STR, .s = reduce[mode]}};
    ind__attr added = ind__attr_bool(mode == IND_REDUCE_SUM);
    if (!reduce[mode]) return graph__raise_call(r, IND_OP_PUT, operand, 3, &added, 1);
    for (int k = 0; k < 3; k++) operand[k] = graph__raise_flat(r, operand[k]);
    return graph__raise_call(r, IND_OP_SCATTER_REDUCE, operand, 3, joined, 2);
}

/* Is what a mask asks of x implied by the check of an index of the store? */
static bool graph__raised_checked(const graph__raise *r, const ind__inst *store, const ind__inst *compare) {
    ind_expr symbol[32];
    int n = ind__expr_symbols(r->loops.index[store->index], symbol, 32);
    const ind__inst *bound = &r->body->inst[compare->arg[1]];
    for (int k = 0; k < n && k < 32; k++) {
        const ind_symbol *s = ind_expr_symbol(symbol[k]);
        if (s->kind != IND_SYMBOL_INDIRECT) continue;
        const ind__inst *i = &r->body->inst[s->slot];
        ind_expr least = i->flags & IND__INST_WRAP ? ind_expr_neg(s->extent) : ind_int(r->c, 0);
        ind_expr limit = compare->op == IND_LOOP_GE ? least : s->extent, e = ind_int(r->c, bound->imm.i);
        if (bound->op == IND_LOOP_INDEX) e = r->loops.index[bound->index];
        if (i->arg[0] == compare->arg[0] && ind_known_eq(e, limit)) return true;
    }
    return false;
}

/* The terms of the mask of a store that say more than that its indices are in range, which the ops check themselves.
 *more: is there any? */
static ind_tensor graph__raise_store_mask(graph__raise *r, const ind__inst *store, bool *more) {
    uint32_t todo[64], n = 0;
    ind_tensor all = {r->g, 0};
    todo[n++] = store->arg[1];
    *more = false;
    while (n > 0) {
        uint32_t at = todo[--n];
        const ind__inst *i = &r->body->inst[at];
        if (i->op == IND_LOOP_AND && n + 2 <= sizeof todo / sizeof *todo) {
            todo[n++] = i->arg[1], todo[n++] = i->arg[0];
            continue;
        }
        bool compares = i->op == IND_LOOP_GE || i->op == IND_LOOP_LT;
        if (compares && graph__raised_checked(r, store, i)) continue;
        ind_tensor x = graph__raise_operand(r, at);
        all = *more ? graph__raise_two(r, IND_OP_LOGICAL_AND, all, x) : x;
        *more = true;
    }
    return all;
}

/* Where a store goes. An index into the whole buffer that was read from memory is checked by the op. */
static ind_tensor graph__raise_target(graph__raise *r, ind_expr e, ind_expr numel) {
    const ind_symbol *s = ind_expr_symbol(e);
    ind_expr one = ind_int(r->c, 1);
    bool whole = s && s->kind == IND_SYMBOL_INDIRECT && ind_known_eq(s->extent, numel);
    if (whole && r->body->inst[s->slot].flags & IND__INST_WRAP)
        return graph__raise_operand(r, r->body->inst[s->slot].arg[0]);
    return ind_expr_is_int(e, NULL) ? graph__raise_arange(r, e, one, one, -1) : graph__raise_expr(r, e);
}

/* The buffer after a store that leaves the rest of it as it was. What a mask leaves out goes to an element more, that
   is cut off again. */
static ind_tensor graph__raise_scatter(graph__raise *r, const graph__raised_buffer *b, const ind__inst *i, ind_expr e,
                                       ind_tensor v) {
    bool masked = false;
    ind_expr numel = ind_expr_product(r->c, b->size, b->rank), one = ind_int(r->c, 1), zero = ind_int(r->c, 0);
    ind_tensor mask = {r->g, 0}, x = b->held, at = graph__raise_target(r, e, numel);
    if (i->arg[1]) mask = graph__raise_store_mask(r, i, &masked);
    if (masked) {
        x = graph__raise_padded(r, graph__raise_flat(r, x));
        at = graph__raise_where(r, mask, at, graph__raise_expr(r, numel));
    }
    at = graph__raise_points(r, at, v);
    ind_tensor y = graph__raise_put(r, (ind_reduction)i->reduction, x, at, graph__raise_points(r, v, at));
    if (masked) y = graph__raise_slice(r, y, 0, zero, one, numel);
    return graph__raise_reshape(r, y, b->size, b->rank);
}

static void graph__raise_store(graph__raise *r, const ind__inst *i) {
    graph__raised_buffer *b = &r->buffer[i->source];
    ind_expr e = graph__raised_offset(r, i);
    ind_tensor x = graph__raise_cast(r, graph__raise_operand(r, i->arg[0]), b->dtype), y = {r->g, 0};
    if (!x.id) return;
    if (graph__raised_is_empty(r, b->size, b->rank)) {
        y = graph__raise_zeros(r, b->size, b->rank, b->dtype);
    } else if (!i->arg[1] && !i->reduction) {
        y = graph__raise_fill(r, b, e, x);
    }
    if (!y.id && b->held.id) y = graph__raise_scatter(r, b, i, e, x);
    if (!y.id && !r->g->status) ind__graph_fail(r->g, IND_NOT_SUPPORTED, "what is stored does not fill %s", b->name);
    b->held = y;
}

/* ---- the body */

static ind_tensor graph__raise_inst(graph__raise *r, uint32_t n) {
    const ind__inst *i = &r->body->inst[n], *from = &r->body->inst[i->arg[0]];
    ind_tensor part = {r->g, 0};
    switch (i->op) {
    case IND_LOOP_CONSTANT:
    case IND_LOOP_INDEX:
    case IND_LOOP_INDIRECT: return (ind_tensor){r->g, 0};
    case IND_LOOP_LOAD: return graph__raise_load(r, n);
    case IND_LOOP_CAST: return graph__raise_cast_op(r, i);
    case IND_LOOP_CALL: return graph__raise_user_call(r, i);
    case IND_LOOP_ROUND_F16: return graph__raise_round(r, i, IND_F16);
    case IND_LOOP_ROUND_BF16: return graph__raise_round(r, i, IND_BF16);
    case IND_LOOP_ROUND_F8E4M3FN: return graph__raise_round(r, i, IND_F8E4M3FN);
    case IND_LOOP_ROUND_F8E5M2: return graph__raise_round(r, i, IND_F8E5M2);
    case IND_LOOP_REDUCE:
        return ind__reduction_results((ind_reduction)i->reduction) > 1 ? (ind_tensor){r->g, 0}
                                                                       : graph__raise_reduce(r, i, 0);
    case IND_LOOP_SCAN: return graph__raise_scan(r, n);
    case IND_LOOP_PART:
        if (from->op == IND_LOOP_REDUCE) return graph__raise_reduce(r, from, i->imm.i);
        part.id = r->value[i->arg[0]].id ? r->value[i->arg[0]].id + (uint32_t)i->imm.i : 0;
        return graph__raise_scanned(r, i->arg[0], part);
    default: break;
    }
    if (graph__raised_op[i->op]) return graph__raise_pointwise(r, i);
    ind__graph_fail(r->g, IND_NOT_SUPPORTED, "there is no op for the loop op %s",
                    ind__loop_op_name((ind_loop_op)i->op));
    return (ind_tensor){r->g, 0};
}

/* Makes loops v and v + 1 one, whatever the indices come to. */
static bool graph__raise_force_join(ind__loops *l, int v) {
    ind_expr inner = l->extent[v + 1], pair[2] = {l->var[v], l->var[v + 1]};
    ind_expr extent = ind_expr_mul(l->extent[v], inner);
    ind_expr joined = ind__index_symbol(l->context, v < l->rank ? 'i' : 'r', 2 * IND_MAX_RANK + v, extent);
    if (!ind_known_le(ind_int(l->context, 1), inner)) return false;
    ind_expr value[2] = {ind_expr_floordiv(joined, inner), ind_expr_mod(joined, inner)};
    for (uint32_t k = 0; k < l->num_index; k++) l->index[k] = ind__substitute(l->index[k], pair, value, 2);
    l->var[v] = joined, l->extent[v] = extent;
    for (int k = v + 1; k + 1 < l->rank + l->rrank; k++) l->var[k] = l->var[k + 1], l->extent[k] = l->extent[k + 1];
    if (v < l->rank)
        l->rank--;
    else
        l->rrank--;
    return true;
}

/* More loops than a tensor may have dimensions are joined: those of which no index minds first, then the last of the
   reduction or of the parallel ones. */
static bool graph__raise_join_loops(ind__loops *l) {
    bool joined = true;
    while (joined && l->rank + l->rrank > IND_MAX_RANK) {
        joined = false;
        for (int v = l->rank + l->rrank - 2; !joined && v >= 0; v--)
            joined = v + 1 != l->rank && ind__loops_merge(l, v);
        if (!joined && l->rrank > 1) joined = graph__raise_force_join(l, l->rank + l->rrank - 2);
        if (!joined && l->rank > 1) joined = graph__raise_force_join(l, l->rank - 2);
    }
    return l->rank + l->rrank <= IND_MAX_RANK;
}

/* Splits that rid an index of a division; a scan stays one loop. */
static void graph__raise_split_loops(ind__loops *l, bool scans) {
    ind_expr one = ind_int(l->context, 1);
    for (int v = 0; v < (scans ? l->rank : l->rank + l->rrank); v++) {
        while (l->rank + l->rrank < IND_MAX_RANK) {
            ind_expr size = ind__loops_split_size(l, v, NULL);
            if (!ind__ok(size) || !ind_known_le(one, size) || !ind__loops_split(l, v, size)) break;
        }
    }
}

/* Splits the loop that runs across the places `stride` apart in a buffer: what lies in a dimension is a loop then. */
static void graph__raise_split_at(graph__raise *r, uint32_t index, ind_expr stride) {
    ind__loops *l = &r->loops;
    ind_expr one = ind_int(r->c, 1), coefficient;
    for (int v = 0; v < l->rank + l->rrank && l->rank + l->rrank < IND_MAX_RANK; v++) {
        if (!ind__expr_depends(l->index[index], l->var[v])) continue;
        if (!ind__affine(l->index[index], l->var[v], &coefficient, NULL)) continue;
        ind_expr size = ind__exact_quotient(stride, coefficient);
        if (!ind__ok(size) || !ind_known_le(one, size) || graph__raised_is_one(r, size)) continue;
        if (!ind_known_le(l->extent[v], size) && ind__loops_split(l, v, size)) return;
    }
}

/* Loops that were joined are told apart as the dimensions of the first buffer that is filled. */
static void graph__raise_split_dims(graph__raise *r) {
    const ind_body *body = r->body;
    for (uint32_t n = 1; n < body->num_inst; n++) {
        const ind__inst *i = &body->inst[n];
        if (i->op != IND_LOOP_STORE || i->flags & IND__INST_SCATTER) continue;
        const graph__raised_buffer *b = &r->buffer[i->source];
        ind_expr stride = ind_int(r->c, 1);
        for (int d = b->rank; d-- > 1;) {
            stride = ind_expr_mul(stride, b->size[d]);
            graph__raise_split_at(r, i->index, stride);
        }
        return;
    }
}

static bool graph__raise_loops(graph__raise *r, ind_expr *index) {
    bool scans = ind__body_scan(r->body) != 0, reduces = scans;
    ind__loops *l = &r->loops;
    for (uint32_t n = 1; n < r->body->num_inst; n++) reduces = reduces || r->body->inst[n].op == IND_LOOP_REDUCE;
    ind__loops_init(l, r->body, index);
    if (reduces && l->rrank == 0 && l->rank < 2 * IND_MAX_RANK) { /* over one element */
        l->extent[l->rank] = ind_int(r->c, 1);
        l->var[l->rank] = ind__index_symbol(r->c, 'r', 0, l->extent[l->rank]);
        l->rrank = 1;
    }
    if (!graph__raise_join_loops(l)) {
        ind__graph_fail(r->g, IND_NOT_SUPPORTED, "its %d loops are more than a tensor has dimensions",
                        l->rank + l->rrank);
        return false;
    }
    graph__raise_split_loops(l, scans);
    if (!scans) graph__raise_split_dims(r);
    r->rank = l->rank + l->rrank;
    return !l->failed;
}

/* Where a parallel loop has no points nothing happens: what is written is empty or stays as it is. */
static bool graph__raise_nothing(graph__raise *r) {
    if (!graph__raised_is_empty(r, r->loops.extent, r->loops.rank) || r->body->result) return false;
    for (uint32_t n = 1; n < r->body->num_inst; n++) {
        graph__raised_buffer *b = &r->buffer[r->body->inst[n].source];
        if (r->body->inst[n].op != IND_LOOP_STORE || b->held.id) continue;
        b->held = graph__raise_zeros(r, b->size, b->rank, b->dtype);
    }
    return true;
}

static void graph__raise_body(graph__raise *r) {
    if (r->body->call) {
        ind__graph_fail(r->g, IND_NOT_SUPPORTED, "an opaque call has no body");
        return;
    }
    ind_expr *index = ind__alloc(r->c, (r->body->num_index + (size_t)1) * sizeof *index);
    r->value = ind__alloc(r->c, r->body->num_inst * sizeof *r->value);
    r->loops.index = index; /* graph__raise_free frees it */
    if (!index || !r->value || !graph__raise_loops(r, index)) {
        if (!r->g->status) ind__graph_no_memory(r->g, "kernel graph");
    }
    if (!r->g->status && graph__raise_nothing(r)) return;
    for (uint32_t n = 1; !r->g->status && n < r->body->num_inst; n++) {
        if (r->body->inst[n].op == IND_LOOP_STORE)
            graph__raise_store(r, &r->body->inst[n]);
        else
            r->value[n] = graph__raise_inst(r, n);
    }
    if (r->body->result && !r->g->status) {
        ind_tensor y = graph__raise_operand(r, r->body->result);
        r->value[r->body->result] = graph__raise_expand(r, y, r->loops.extent, r->rank);
    }
}

static void graph__raise_free(graph__raise *r) {
    ind__free(r->c, r->loops.index);
    ind__free(r->c, r->value);
    ind__free(r->c, r->buffer);
    ind__free(r->c, r->made);
}

/* A new graph with the sizes, facts and guards of another or of a module. */
static void graph__raise_condition(ind_graph *g, const char *text, bool guard) {
    if (guard)
        (void)ind_guard_that(g, text, NULL);
    else
        (void)ind_fact(g, text);
}

/* An input or constant for a buffer, once. */
static void graph__raise_source(graph__raise *r, uint32_t n, ind_graph_op op) {
    graph__raised_buffer *b = &r->buffer[n];
    if (!b->held.id) b->held = ind__graph_source(r->g, op, b->name, b->dtype, b->size, b->rank);
}

/* ---- a kernel */

/* A name of the program's own making that a user has as well gets a tail. */
static const char *graph__raised_name(graph__raise *r, const ind__lowered *p, uint32_t n) {
    const ind__buffer *b = &p->buffer[n];
    bool taken = false;
    for (uint32_t k = 1; k < p->num_buffers; k++)
        taken = taken || (k != n && (p->buffer[k].kind != IND__BUFFER_COMPUTED || p->buffer[k].output) &&
                          !strcmp(p->buffer[k].name, b->name));
    if (!taken || b->kind != IND__BUFFER_COMPUTED || b->output) return b->name;
    char *name = ind__arena_alloc(&r->g->arena, strlen(b->name) + 8);
    if (name) snprintf(name, strlen(b->name) + 8, "%s.own", b->name);
    return name ? name : b->name;
}

/* Sizes in the order in which they lie in memory. */
static void graph__raise_describe(graph__raise *r, const ind__lowered *p, uint32_t n) {
    const ind__buffer *b = &p->buffer[n];
    graph__raised_buffer *to = &r->buffer[n];
    to->name = graph__raised_name(r, p, n);
    to->dtype = b->dtype;
    to->rank = b->layout.rank;
    for (int d = 0; d < to->rank; d++) to->size[d] = b->layout.size[b->layout.order[d]];
}

static void graph__raise_kernel_buffers(graph__raise *r, const ind__lowered *p, const ind_kernel *k) {
    for (uint32_t i = 0; i < k->num_args; i++) {
        uint32_t n = k->arg[i], old = p->buffer[n].mutates;
        graph__raise_describe(r, p, n);
        if (i < k->num_reads)
            graph__raise_source(r, n, p->buffer[n].kind == IND__BUFFER_CONST ? IND_OP_CONST : IND_OP_INPUT);
        if (i < k->num_reads || !old) continue;
        graph__raise_describe(r, p, old);
        graph__raise_source(r, old, IND_OP_INPUT);
        r->buffer[n].held = r->buffer[old].held;
    }
}

/* What is written comes out under its name, or becomes what its old version holds. */
static void graph__raise_kernel_results(graph__raise *r, const ind__lowered *p, const ind_kernel *k) {
    for (uint32_t i = k->num_reads; i < k->num_args && !r->g->status; i++) {
        const graph__raised_buffer *b = &r->buffer[k->arg[i]];
        uint32_t old = p->buffer[k->arg[i]].mutates;
        ind_tensor y = b->held;
        if (!old) {
            (void)ind_output(r->g, b->name, y);
            continue;
        }
        if (y.id && (ind__is_source(r->g, y.id) || r->g->tensor[y.id].named)) y = graph__raise_one(r, IND_OP_CLONE, y);
        (void)ind_mutate(r->buffer[old].held, ind_named(y, b->name));
    }
}

/* Results get names anew, in order: of those that came and went numbers are left. Outputs and new values keep theirs.
 */
static bool graph__raise_rename(ind_graph *g) {
    uint8_t *kept = ind__alloc(g->context, g->num_tensors);
    bool ok = kept != NULL;
    for (uint32_t i = 0; ok && i < g->num_outputs; i++) kept[g->output[i].tensor] = 1;
    for (uint32_t i = 0; ok && i < g->num_mutations; i++) kept[g->mutation[i].value] = 1;
    for (uint32_t t = 1; ok && t < g->num_tensors; t++) {
        kept[t] = kept[t] || g->tensor[t].weak || ind__is_source(g, t);
        const char *name = kept[t] ? NULL : g->tensor[t].name;
        if (name) ind__find_slot(g, name, strlen(name))->tensor = 0;
        if (!kept[t]) g->tensor[t].name = NULL;
    }
    for (uint32_t t = 1; ok && t < g->num_tensors; t++) {
        ind_graph_op op = g->node[g->tensor[t].node].op;
        if (!kept[t]) ok = ind__make_name(g, t, op, ind__op_name(op));
    }
    ind__free(g->context, kept);
    return ok;
}

/* The graph without what was made on the way and is not used, or is there twice: a rewritten copy that takes over the
   conditions. */
static ind_graph *graph__raise_tidy(ind_graph *g) {
    ind_graph *out = NULL;
    if (g->status || ind__graph_optimise(g, 1u << IND_PASS_FOLD | 1u << IND_PASS_NOOP, &out)) {
        if (!g->status) ind__graph_fail(g, ind__failed(g->context), "%s", ind_error(g->context));
        return g;
    }
    for (uint32_t i = 0; i < out->num_conditions; i++) {
        const char *text = out->condition[i].text;
        out->condition[i].text = ind__arena_string(&out->arena, text, strlen(text));
        if (!out->condition[i].text) ind__graph_no_memory(out, "kernel graph");
    }
    memset(out->op_count, 0, sizeof out->op_count);
    if (!graph__raise_rename(out)) ind__graph_no_memory(out, "kernel graph");
    out->facts_borrowed = false;
    g->facts_borrowed = true;
    ind_graph_destroy(g);
    return out;
}

static ind_graph *graph__raise_kernel(ind_module *m, const ind_kernel *k) {
    const ind__lowered *p = m->desc.lowered;
    ind_graph *g = ind_graph_create(m->context, k->name);
    if (!g) return NULL;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) (void)ind__graph_declare(g, m->desc.sizes[i]);
    bool guard;
    const char *text;
    for (int i = 0; (text = ind_module_query_condition(m, i, &guard)) != NULL; i++)
        graph__raise_condition(g, text, guard);
    graph__raise r = {.g = g, .c = m->context, .body = k->body, .num_buffers = p->num_buffers};
    ind_facts *before = ind__graph_enter(g);
    r.buffer = ind__alloc(r.c, p->num_buffers * sizeof *r.buffer);
    if (!r.buffer) ind__graph_no_memory(g, "kernel graph");
    if (!g->status) graph__raise_kernel_buffers(&r, p, k);
    if (!g->status) graph__raise_body(&r);
    if (!g->status) graph__raise_kernel_results(&r, p, k);
    ind_graph *tidy = graph__raise_tidy(g);
    ind__graph_leave(tidy, before);
    graph__raise_free(&r);
    return tidy;
}

/* The finished graph, or NULL with the reason. What was not proven for lack of memory must not show. */
static ind_graph *graph__raise_end(ind_graph *g, uint32_t refusals, const char *name) {
    if (!g) return NULL;
    ind_context *c = g->context;
    ind_status status = ind__refused_since(c, refusals);
    if (!status && !g->status) return g;
    if (!status) status = g->status == IND_OUT_OF_MEMORY ? IND_OUT_OF_MEMORY : IND_NOT_SUPPORTED;
    ind__fail(c, status, "kernel graph of %s: %s", name, g->status ? g->error : "out of memory");
    ind_graph_destroy(g);
    return NULL;
}

ind_graph *ind_module_kernel_graph(ind_module *module, int kernel) {
    if (!module) return NULL;
    const ind_schedule *s = module->desc.schedule;
    if (kernel < 0 || (uint32_t)kernel >= s->num_kernels) {
        ind__fail(module->context, IND_NOT_FOUND, "kernel graph: there is no kernel %d", kernel);
        return NULL;
    }
    const uint32_t refusals = module->context->refusals;
    ind_graph *g = graph__raise_kernel(module, &s->kernel[kernel]);
    return graph__raise_end(g, refusals, s->kernel[kernel].name);
}

/* All kernels as graphs, in the order in which they run; where there is none, why. */
static ind_status ind__print_kernels(ind__text *t, ind_module *m) {
    for (uint32_t k = 0; k < m->desc.schedule->num_kernels; k++) {
        ind_graph *g = ind_module_kernel_graph(m, (int)k);
        const char *text = g ? ind_graph_text(g) : NULL;
        ind_status status = text ? IND_OK : ind_error_status(m->context);
        ind__textf(t, "%s# kernel %u", k ? "\n" : "", (unsigned)k);
        if (text) ind__textf(t, "\n%s", text);
        if (!text) ind__textf(t, ": %s\n", ind_error(m->context));
        ind_graph_destroy(g);
        if (status && status != IND_NOT_SUPPORTED) return status;
    }
    return IND_OK;
}

/* ---- a custom op */

static void graph__raise_custom(graph__raise *r, const ind_graph *from, const ind__node *n) {
    const ind__tensor_info *result = &from->tensor[n->result];
    for (uint32_t k = 0; k < n->num_operands; k++) {
        const ind__tensor_info *t = &from->tensor[n->operand[k]];
        graph__raised_buffer *b = &r->buffer[k];
        b->name = t->name;
        b->dtype = t->dtype;
        b->rank = t->rank;
        memcpy(b->size, t->size, sizeof b->size);
        graph__raise_source(r, k, IND_OP_INPUT);
    }
    if (!r->g->status) graph__raise_body(r);
    if (r->g->status) return;
    ind_tensor y = graph__raise_cast(r, r->value[n->body->result], result->dtype);
    (void)ind_output(r->g, result->name, graph__raise_reshape(r, y, result->size, result->rank));
}

ind_graph *ind_pointwise_graph(ind_tensor x) {
    const ind__tensor_info *t = ind__tensor_of(x);
    const ind__node *n = t ? &x.graph->node[t->node] : NULL;
    if (!n || !n->body) {
        if (x.graph)
            ind__fail(x.graph->context, IND_INVALID_ARGUMENT, "pointwise graph: the tensor is not of ind_pointwise");
        return NULL;
    }
    ind_context *c = x.graph->context;
    const uint32_t refusals = c->refusals;
    ind_graph *g = ind_graph_create(c, n->name);
    if (!g) return NULL;
    for (uint32_t i = 0; i < x.graph->num_sizes; i++) (void)ind__graph_declare(g, x.graph->size_symbol[i]);
    for (uint32_t i = 0; i < x.graph->num_conditions; i++)
        graph__raise_condition(g, x.graph->condition[i].text, x.graph->condition[i].guard);
    graph__raise r = {.g = g, .c = c, .body = n->body, .num_buffers = n->num_operands};
    ind_facts *before = ind__graph_enter(g);
    r.buffer = ind__alloc(c, (n->num_operands + (size_t)1) * sizeof *r.buffer);
    if (!r.buffer) ind__graph_no_memory(g, "pointwise graph");
    if (!g->status) graph__raise_custom(&r, x.graph, n);
    g = graph__raise_tidy(g);
    ind__graph_leave(g, before);
    graph__raise_free(&r);
    return graph__raise_end(g, refusals, n->name);
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

/* Registers and stack frame from the ELF file that a cubin is: the section .nv.info lists them per kernel, and
   there is one kernel in it. What is not found stays -1. */
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
    case IND_STAGE_KERNELS: return ind__print_kernels(t, m);
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
/* The largest value of one size for which a formula stays within a limit and all conditions hold. Both are one
   straight program over the sizes. A box is a range of the size. Walking the program once with intervals instead of
   numbers says of every slot what it lies between in the box, whether it rises or falls with the size, and whether
   every op has a value everywhere. Boxes are taken from the top: one in which nothing fits is dropped, one that
   fits as a whole ends the search, in one that rises the last value that fits is found by bisection, any other is
   halved. So the answer is right for every formula, and takes a few dozen steps for those that rise. */

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
