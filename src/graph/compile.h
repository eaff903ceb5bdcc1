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
       (the last to come stays). With it they are joined in an order that the data alone decides, the points' own for
       the first few; of those that replace, the last stays, as on the host. Everything else, as integers and extremes,
       is the same either way and costs no more.
       Of n points and d elements to choose from, where n * d is small (realise.look_steps, for the hints) each element
       looks at all points. Else, of points that replace, the last one of each element is found first; sums and
       products have their points sorted by element, by all blocks of threads, and each element's are joined in groups,
       then the groups, so that it does not matter how the points are spread. Sorting takes two launches and some 64
       bytes a point for each 8 bits of the number of elements (of rows, where points store whole rows), and some ten
       launches besides. The schedule's text says which was chosen: "in order: ..". */
    bool deterministic;
    /* Kernels have variants for conditions on sizes and on the pointers' alignment; a launch takes the first whose
       conditions hold. Compiled with the module is the one that the hints and aligned pointers select, any other when a
       launch is the first to need it: that launch takes as long as a compile, or fails for its reasons. With this all
       are compiled now, so that no launch ever compiles, and ind_pack_save writes all of them. */
    bool all_variants;
    uint32_t disabled_passes; /* bit per ind_pass */
    ind_realise_policy realise;
    ind_fusion_policy fusion;
} ind_compile_desc;

/* What code is made for, by its name: "sm_80", "sm_90a". Error: IND_INVALID_ARGUMENT names what is allowed. */
IND_API ind_status ind_target_named(ind_context *context, const char *arch, ind_target *target);

/* The staircase: graph -> passes -> lowering -> schedule -> plan -> CUDA C -> cubin. The graph is not changed and may
   be destroyed afterwards. desc may be NULL. On failure *module is NULL. */
IND_API ind_status ind_compile(ind_graph *graph, const ind_compile_desc *desc, ind_module **module);
