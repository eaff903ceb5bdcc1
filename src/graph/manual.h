/* ---------------------------------------------------------------------------------------------- >>overview */

/* WHAT IT IS
   A C library that does the job of PyTorch's TorchInductor. You build a graph of tensor ops by calls or from text; ops
   have PyTorch's names and semantics. The library simplifies the graph, lowers it to loops, fuses the loops into few
   kernels and plans memory. It emits CUDA C, compiles it by NVRTC and runs it on your stream. Without a GPU the same
   schedule runs on the host.

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
   range of a size, a number that it is a multiple of, and a hint. The module is right for every size in the range. The
   hint (by default 64 or the nearest value in range) only selects between variants, all of which are right. One compile
   serves the whole range; a run outside it is an error. On a GPU the first launch at sizes unlike the hints may compile
   another variant of a kernel; ind_compile_desc.all_variants compiles all of them ahead of time, background_variants
   in a thread after ind_compile has returned. Where an op needs two equal sizes, the declarations must prove that they
   are equal; the library never assumes that "B" equals "S".

   Facts and guards state more about sizes than their ranges. They come before the first tensor with such a size.
   ind_fact(g, "S == 4*T") is a promise; ind_guard_that(g, "S <= 512", NULL) restricts the module. After that both hold:
   shapes may be equal because of them, and kernels get simpler. Every run checks them. Another compile may leave out a
   guard or choose its negation, but no compile serves sizes that contradict a fact (ind_would_compile tells).

   ERRORS
   Functions return ind_status; ind_error(ctx) returns the message of the calling thread's last failure. Builders return
   a tensor instead. On failure the tensor is invalid and the graph keeps the first error, so a long build is checked
   once, by ind_graph_status or ind_compile, which return it. IND_HERE(g) before a call appends your file and line to
   the message:

       linear: x has 256 features (dim 1 of f32[B, 256]), w expects 128 (dim 1 of f32[512, 128]); x and w must agree
       there   [engine.c:41]

   MEMORY
   All host memory comes from the context's allocator and is freed with the context. A call returns
   IND_ERROR_OUT_OF_MEMORY if one of its allocations fails. A graph is not needed after its compile. A module owns the
   expressions that it returns; they are valid until it is destroyed. Combined with other expressions, they give
   expressions of the context. Inputs, constants and outputs are contiguous and stay yours. Intermediates share one
   workspace. The library allocates it or you pass one (ind_instance_desc); its size is a formula: ind_module_workspace.

   IN PLACE
   An op with an underscore after its name writes its result to the memory of its first operand, as in PyTorch. In text:
   add_(x, y); copy_(part, y) with part = slice(x, 1, 2, 5) for x[:, 2:5] = y; index_put_(x, y, [i, j]). In C:
   ind_inplace(x, ind_add(x, y)) for each of them. Views share memory: x reads as changed after a write to part. The
   view ops are slice, narrow, select, split, chunk, unbind, view, squeeze, unsqueeze, permute, transpose, movedim,
   diagonal, unfold, as_strided, alias and the broadcasting ops. reshape and flatten are views where strides allow it,
   else copies, as in PyTorch. All other results are contiguous and have their own memory. An input whose memory is
   written contains the new values after the run. The graph itself has pure ops only: it prints as slice_scatter(x, y,
   ..) and the like.

   ind_mutate(cache, cache2), or `mutate cache = cache2` in text, means that the memory of an input contains cache2
   after the run, as torch.export does for programs with in-place ops. Both forms avoid copies where possible. Scatters
   (index_put, index_copy, scatter_add, slice_scatter ..) of a tensor that has no later reader store only the changed
   elements, into its own memory. The tensor may be a mutated input or an intermediate; the write may pass through
   several views. Elementwise ops read and write that memory once; other ops read the old contents. So an update of a KV
   cache costs one position, whether the position is data (index_copy) or a symbolic size (slice_scatter). A tensor with
   other readers is copied; the schedule's text says so.

   CUSTOM OPS
   There are three kinds. ind_pointwise records a C function that computes one element. ind_call calls a function
   written in CUDA C, with a twin in C for the host device (ind_function_register). Both fuse with the ops around them.
   ind_extern adds an extern call, of a kernel of another library for example (ind_extern_register). It is a separate
   step that receives the stream, pointers, sizes and workspace.

   A text with functions is code: the source of a function becomes part of a kernel, which may do whatever a kernel may.
   Compiling it reads no other file, however. A source that a text declares is refused (IND_ERROR_NOT_SUPPORTED) if it
   holds
     - a preprocessor directive: #, %: or its trigraph ??= as the first character of a line that is not blank, also
       after comments and line continuations. This includes #pragma, and __has_include, which only a directive may hold;
     - _Pragma or __pragma, which are directives in another form;
     - asm, __asm or __asm__, because PTX has its own directives, among them an #include.
   The check compares characters only and refuses more than a compiler would: a # that begins a line within a comment,
   the word asm in a string. A zero byte ends a text; no escape in a string makes one. ind_context_desc.trust_texts
   turns the check off. Sources that the program registers are never checked.

   THREADS
   Any thread may call any function at any time, with four exceptions:
     - One thread at a time builds in a context: it adds to the context's graphs or creates expressions. Parsing
       (ind_graph_parse), printing and destroying a graph take a lock, so threads may compile texts concurrently.
     - A graph does not change while it is compiled.
     - One thread at a time uses an instance or an evaluator.
     - Destroying an object, setting a constant of a module (ind_module_constant) and asking for the next page
       (ind_module_html) need exclusive access: no other thread uses the object, runs the module or reads the previous
       page.
   So one thread may compile while others run, launch and query finished modules of the same context. Compiles of one
   context hold a lock while NVRTC compiles kernels, and so does a launch that is the first to need a variant. All other
   stages overlap. Queries of one module take a lock of the module; runs never wait for it. The allocator and the logger
   must be thread-safe: every thread that calls the library calls them. ind_error and ind_error_status report the last
   failure of the calling thread.

   DEVICES
   IND_DEVICE_AUTO selects the GPU if the driver, NVRTC and a device of compute capability 8.0 or more are found, else
   the host device. The host device has no requirements and is the reference for results. The driver and NVRTC are
   loaded at run time.

   TEXT FORM
   Every graph prints as text, and the parser reads it (>>text has the grammar). A printed graph parses to the same
   graph and prints the same again. Types after results are optional. Arguments may be positional, in PyTorch's order.

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
   f16 and bf16 are rounded where a value is stored, not after each op: between ops of one kernel they are f32, as in
   TorchInductor. linear takes a 2-D weight. Indices may be i32 or i64. Weights of layer_norm and rms_norm may be f32
   with f16 and bf16 input. full returns f32 by default. arange takes integers. A symbolic size is never squeezed. On
   integers x // 0 is 0 and x % 0 is x. Memory that PyTorch leaves uninitialised (empty) is 0. i0 and special_i1 of
   infinity are infinite. mean and rstd of native norms are f32 for f16 and bf16 input, as on PyTorch's GPUs (group
   norm: as its weight). Batch and instance norm do not update running statistics (_native_batch_norm_legit_functional
   returns new ones). Gradients that are not requested are empty. A NaN counts in every p-norm and distance.
   half_to_float of _softmax also takes bf16. Of several NaN the indices of a max pool name the first. split, chunk and
   unbind need a number of results that does not depend on sizes. as_strided takes all computed tensors to be
   contiguous. fft_fft, ifft and their family take complex tensors (pairs in a last dimension of two) only. Their
   transform lengths are numbers, given or by facts, with prime factors up to 2048. */
