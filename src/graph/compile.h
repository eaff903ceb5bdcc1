/* ----------------------------------------------------------------------------------------------- >>compile */

#define IND_STAGES(X)                                                                                                  \
    X(GRAPH, "graph")       /* after the graph passes */                                                               \
    X(PASSES, "passes")     /* what the graph passes changed, and matches that failed late */                          \
    X(LOOPS, "loops")       /* buffers and recorded bodies */                                                          \
    X(SCHEDULE, "schedule") /* kernels, memory plan, why edges were not fused */                                       \
    X(KERNELS, "kernels")   /* each kernel body as a graph: ind_module_kernel_graph */                                 \
    X(PLAN, "plan")         /* strategies, thread layouts, launch formulas */                                          \
    X(CUDA, "cuda")         /* CUDA C */                                                                               \
    X(PTX, "ptx")                                                                                                      \
    X(CUBIN, "cubin") /* resource usage per kernel; ind_module_cubin has the bytes */

typedef enum ind_stage {
#define X(name, text) IND_STAGE_##name,
    IND_STAGES(X)
#undef X
        IND_NUM_STAGES
} ind_stage;

#define IND_PASSES(X)                                                                                                  \
    X(DCE, "dce")                       /* dead code */                                                                \
    X(FOLD, "fold")                     /* constant folding */                                                         \
    X(CANONICAL, "canonical")           /* one form for ops with several: conv2d becomes convolution */                \
    X(NOOP, "noop")                     /* identities: x + 0, x * 1, cast to the same type, identity views */          \
    X(CSE, "cse")                       /* common subexpressions */                                                    \
    X(ALGEBRA, "algebra")               /* parts of one tensor, dead updates */                                        \
    X(PATTERNS, "patterns")             /* matches of patterns: ind_pattern_register */                                \
    X(MERGE_PRODUCTS, "merge_products") /* products of one tensor with weights */                                      \
    X(BATCH_PRODUCTS, "batch_products") /* products of all matrices of a tensor; only if enabled_patterns names it */  \
    X(PAD_PRODUCTS, "pad_products")     /* products whose operands no 16-byte copy reaches */                          \
    X(BLOCK_MAPS, "block_maps")         /* masks of attention that data decide */                                      \
    X(CONVOLUTION_WEIGHTS, "convolution_weights") /* constant weights are stored with channels last */                 \
    X(REINPLACE, "reinplace")                     /* the order in which updates can be written in place */             \
    X(PREPARE, "prepare") /* what depends on constants alone is computed once: ind_module_prepare */                   \
    X(TRANSPOSED_CONVOLUTIONS, "transposed_convolutions") /* become convolutions */

typedef enum ind_pass {
#define X(name, text) IND_PASS_##name,
    IND_PASSES(X)
#undef X
        IND_NUM_PASSES
} ind_pass;

/* Which values that depend on constants alone are prepared (ind_module_prepare). A value is prepared if it costs a run
   more to compute it than to read it: it has ops that cannot be repeated by every reader (reductions, products, scans,
   concatenations, functions such as exp), or more pointwise ops than inline_ops, or it has at most as many bytes as the
   constants that it is computed from. Views are computed by the reader. A cast of a weight to a wider type is not
   prepared if its one reader converts it while it loads: reading the prepared value would move more bytes in every run.
 */
typedef struct ind_prepare_policy {
    /* Bytes of all prepared constants of a module. 0: the bytes of the graph's constants times constants_factor, plus
       extra_bytes. Negative: no value is prepared. If the budget does not suffice, the smallest values are. */
    int64_t budget;
    double constants_factor; /* 0: 1, so weights and their prepared form take at most twice the memory */
    int64_t extra_bytes;     /* 0: 64 MiB, for tables and masks, which are computed from few constants or none */
    int inline_ops; /* 0: 30, as ind_realise_policy.max_ops_shared: so many pointwise ops are cheap beside a load */
} ind_prepare_policy;

typedef struct ind_compile_desc {
    ind_device device; /* IND_DEVICE_AUTO: the device of the context */
    ind_target target; /* no architecture (sm 0): the target of the device, with the thresholds that are not 0; with
                          emit_only any target */
    bool emit_only;    /* stop after the CUDA text: needs no GPU; the module runs on the host */
    /* Every run returns the same bits. Without this flag, only scatters may differ between runs, and only if several
       values go to one element. Sums and products of floats use atomics, whose order varies. If values replace an
       element, any of them may be stored last. With this flag, the data alone decide the order of combining: for the
       first few points, the order of the points. If values replace an element, the last one is stored, as on the host.
       Everything else, including integers, minima and maxima, is the same in both modes and costs no more. Let n be the
       number of points and d the number of elements. If n * d is small (realise.look_steps, at the hints), each element
       scans all points. Otherwise, if points replace elements, a first pass finds the last point of each element. Sums
       and products sort their points by element, with all thread blocks. They combine the points of each element in
       groups, then the groups, so the distribution of the points does not matter. Sorting takes two launches and about
       64 bytes per point for each 8 bits of the number of elements (of rows, if points store whole rows), and about ten
       more launches. The schedule's text shows the choice: "in order: ..". */
    bool deterministic;
    /* The result of a row of a product, or of a reduction along rows, has the same bits whatever the number of rows is,
       for launches of one module with a symbolic number of rows and the same alignment of pointers. Products have then
       no variant for few rows, and no blocks share a tile or a row: products of few rows take longer. */
    bool batch_invariant;
    /* Products of f32 operands may round them to tf32, which has 11 significant bits, and run on tensor cores with sums
       in f32: |error| up to about 2^-10 * sum over k of |a * b|, besides the rounding of the sums. As PyTorch's flag,
       it is off by default. The host device computes in f32 in any case. */
    bool allow_tf32;
    /* On sm_100a and sm_103a, products of f16, bf16 and, with use_fast_accum, 8-bit floats may run on tcgen05.mma, with
       sums in tensor memory. Off by default: these kernels are compiled by NVRTC and run in the emulation of the tests,
       but they have not been run on hardware. Other architectures ignore the flag. */
    bool tcgen05;
    /* Kernels have variants with conditions on sizes and on pointer alignment; a launch takes the first variant whose
       conditions hold. The module is compiled with the variant that the hints and aligned pointers select. Any other
       variant is compiled by the first launch that needs it; that launch takes as long as a compile and may fail like
       one. With this flag all variants are compiled ahead of time: no launch compiles, and ind_pack_save writes all of
       them. */
    bool all_variants;
    /* The other variants are compiled by a thread of the library that starts when ind_compile returns: a launch
       compiles only what the thread has not reached. ind_module_destroy waits until the source being compiled is
       finished. Off by default: the thread uses a core, and calls the allocator and the logger. Without threads
       (num_threads 1) and with all_variants it does nothing. ind_module_build_variants does the same in a thread of the
       caller. */
    bool background_variants;
    /* Reports the kernels that this call compiles from source, and may cancel it: IND_ERROR_CANCELLED. Kernels that are
       found in a pack, or that launches compile, are not reported. The host device compiles none. */
    ind_progress progress;
    uint32_t disabled_passes; /* one bit per ind_pass */
    /* Names of patterns and passes, separated by spaces; may be NULL. enabled: patterns and passes that are off by
       default, because their replacement is not faster yet, or because it changes results by more than rounding. A pass
       that decides by cost is applied whatever it costs. IND_ERROR_NOT_FOUND: no such pattern or pass. */
    const char *enabled_patterns, *disabled_patterns;
    /* Passes stop after this many changes; 0: no limit. With fusion.max_fusions it finds the change that gives a wrong
       result: `ind bisect`. Removing unused ops is no change. */
    uint32_t max_changes;
    ind_prepare_policy prepare;
    ind_realise_policy realise;
    ind_fusion_policy fusion;
    /* Matrix products are run by cuBLASLt, as extern calls (docs/custom-ops.md): matmul, mm, bmm, linear and addmm of
       f16, bf16 and f32, and scaled_mm with one scale per operand. The library is opened by the first such compile:
       ind_context_desc.cuda.cublaslt_path. It adds a bias that is one number per column. Everything else is fused into
       generated kernels before and after. A product that cuBLASLt does not take, or of constants alone, is generated;
       the text of IND_STAGE_PASSES says why. The flag is ignored for the host device. With emit_only the library is not
       opened, and a module with such products does not run. Error: IND_ERROR_LIBRARY says what was tried. */
    bool cublaslt;
} ind_compile_desc;

/* Finds the target of an architecture or device: "sm_80", "sm_90a", "L4"; "compute_80" is PTX for this and later
   architectures. Error: IND_ERROR_INVALID_ARGUMENT lists the allowed
   names. */
IND_API ind_status ind_target_named(ind_context *context, const char *arch, ind_target *target);

/* Compiles a graph: passes, lowering, schedule, plan, CUDA C, cubin. The graph is not changed and may be destroyed
   afterwards. desc may be NULL. On failure *module is NULL. */
IND_API ind_status ind_compile(ind_graph *graph, const ind_compile_desc *desc, ind_module **module);
