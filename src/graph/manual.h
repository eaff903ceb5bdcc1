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
           ind_binding io[] = {{"x", X, sizeof X}, {"w", W, sizeof W}, {"y", Y, sizeof Y}};
           ind_run_desc run = {.bindings = io, .num_bindings = 3, .sizes = "B=8", .memory = IND_MEMORY_HOST};
           if (ind_run(m, &run)) fprintf(stderr, "%s\n", ind_error(ctx));
           ind_context_destroy(ctx);
       }

   SIZES
   A size of a tensor is an integer or an expression in declared symbols: "f32[2*B, S + 1]". A declaration gives the
   range within which the module must be right, what the size is known to be a multiple of, and a hint (64 or the
   nearest in range, if left out) that only ever decides between ways that are all right. One compile serves every size
   in the range; a run outside is an error. On a GPU the first launch at sizes unlike the hints may build a variant of a
   kernel for them, or all are built at once (ind_compile_desc.all_variants). Where an op needs two sizes to be equal,
   that must follow from the declarations; "B" and "S" are not taken to be equal because they might be.

   What is known of sizes beyond their ranges is said by facts and guards, before the first tensor with such a size:
   ind_fact(g, "S == 4*T") is a promise, ind_guard_that(g, "S <= 512", NULL) restricts the module. From there on both
   hold: shapes that agree only because of them agree, kernels get simpler. Every run checks them. A guard is what one
   may leave out or choose otherwise in another compile; against a fact no compile helps (ind_would_compile tells).

   ERRORS
   Functions return ind_status; ind_error(ctx) has the sentence, of the calling thread's last failure. Builders return a
   tensor instead: on failure an invalid one, and the graph keeps the first error, so a long build is checked once
   (ind_graph_status, or ind_compile, which returns it). IND_HERE(g) before a call puts your file and line behind the
   message:

       linear: x has 256 features (dim 1 of f32[B, 256]), w expects 128 (dim 1 of f32[512, 128]); x and w must agree
       there   [engine.c:41]

   MEMORY
   All host memory comes from the context's allocator and goes back with the context. A call to which an allocation was
   refused returns IND_OUT_OF_MEMORY. Graphs are not needed once they are compiled. Expressions that a module returns
   are its own, and valid until it is destroyed; together with other expressions they give expressions of the context.
   Inputs, constants and outputs are contiguous and stay yours; intermediates share one workspace, which is made for you
   or given by you (ind_instance_desc), and whose size is a formula: ind_module_workspace.

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

   A text with functions is code: the source of a function becomes part of a kernel, which may do what any kernel may.
   Compiling it reads no other file, however: a source that a text declares is refused (IND_NOT_SUPPORTED) if it holds
     - a preprocessor directive: #, %: or its trigraph ??= as the first character of a line that is not blank, also
   after comments and line continuations. This includes #pragma, and __has_include, which only a directive may hold;
     - _Pragma or __pragma, which are directives in another form;
     - asm, __asm or __asm__, as PTX has directives of its own, an #include among them.
   The check looks at characters alone and refuses more than a compiler would take for these: a # that begins a line
   within a comment, the word asm in a string. A zero byte ends a text, and no escape in a string makes one.
   ind_context_desc.trust_texts turns the check off; sources that the program registers are never checked.

   THREADS
   Any thread may call anything at any time, with four exceptions:
     - One thread at a time builds in a context: adds to its graphs, or makes expressions of it by calls. Graphs that
   are parsed (ind_graph_parse), printed and destroyed take turns by a lock, so that threads may compile texts side by
       side.
     - A graph does not change while it is compiled.
     - One thread at a time uses an instance or an evaluator.
     - Whoever destroys an object, sets a constant of a module (ind_module_constant) or asks for the next page
       (ind_module_html) sees to it that no other thread uses the object, runs the module or reads the page before.
   So one thread may compile while others run, launch and query finished modules of the same context. Compiles of one
   context take turns by a lock while kernels go through NVRTC, and so does a launch that is the first to need a
   variant; all other stages overlap. Queries of one module take turns by a lock of the module, which no run waits for.
   The allocator and the logger are called by every thread that calls the library, and need to be safe for that.
   ind_error and ind_error_status tell of the last failure of the calling thread.

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
   f16 and bf16 are rounded where a value is stored, not behind each op: between ops of one kernel they are f32, as in
   TorchInductor. linear takes a 2-D weight; indices may be i32 beside i64; weights of layer_norm and rms_norm may be
   f32 beside f16 and bf16 input; full gives f32 unless told otherwise; arange takes integers; a symbolic size is never
   squeezed; on integers x // 0 is 0 and x % 0 is x; what PyTorch calls empty is 0; i0 and special_i1 of infinity are
   infinite; mean and rstd of native norms are f32 for f16 and bf16 input, as on PyTorch's GPUs (group norm: as its
   weight); batch and instance norm do not update running statistics (_native_batch_norm_legit_functional gives new
   ones); gradients that are not asked for are empty; a NaN counts in every p-norm and distance; half_to_float of
   _softmax also takes bf16; of several NaN the indices of a max pool name the first; split, chunk and unbind need a
   number of results that does not hang on the sizes; as_strided takes all that is computed to lie contiguously;
   fft_fft, ifft and their kin take complex tensors (pairs in a last dimension of two) only, and lengths of transforms
   are numbers, given or by facts, with prime factors up to 2048. */
