/* ----------------------------------------------------------------------------------------------- >>explain */

/* Returns the text of a stage, which the module owns. NULL on failure (ind_error). CUDA modules have PLAN and later
   stages. Host modules create them for the default target. */
IND_API const char *ind_module_text(ind_module *module, ind_stage stage);
IND_API const char *ind_module_json(ind_module *module, ind_stage stage); /* SCHEDULE and PLAN */

/* What a page shows besides the stages of the module. The page copies all of it. */
typedef struct ind_page_desc {
    const char *sizes;            /* initial sizes: "B=8, S=128". The page uses the hints of all others. NULL: hints */
    const ind_kernel_time *times; /* of ind_profile at these sizes, one per launch; NULL: none */
    int num_times;
    double total_ms; /* of ind_profile */
    /* Disassembly of the sources, in the order of ind_module_cubin. Entries may be NULL. NULL: none. */
    const char *const *sass;
    int num_sass;
} ind_page_desc;
/* Returns one self-contained HTML page, for a browser without a network. It draws the graph after the passes with
   repeated layers folded, and lists the kernels with their bytes, predicted and measured times. For an op or a kernel
   it shows the steps of lowering side by side: graph, loops, schedule, plan, CUDA, SASS. It shows memory over time,
   every edge between loops with the reason why it was fused or not, and what each graph pass changed. Sizes can be
   changed in the page. desc may be NULL. The module owns the page, which is valid until the next call for this module.
   NULL on failure: as ind_module_text of PLAN; IND_ERROR_NOT_FOUND or IND_ERROR_OUT_OF_RANGE for the sizes;
   IND_ERROR_INVALID_ARGUMENT if num_times is not the number of launches or num_sass is less than that of sources. */
IND_API const char *ind_module_page(ind_module *module, const ind_page_desc *desc);
IND_API const char *ind_module_html(ind_module *module, const char *sizes); /* the page with these sizes alone */

/* A buffer between two loops, and the reason why they were fused into one kernel or not. */
typedef struct ind_edge_info {
    const char *from, *to; /* the ops that each loop computes, separated by +; the module owns all strings */
    const char *from_results, *to_results; /* the tensors that these ops compute, separated by + */
    int from_kernel, to_kernel;            /* kernels of the loops; they may be equal although this edge is not fused */
    const char *buffer, *tensor; /* tensor: the one whose value, or a part of it, an internal buffer stores; or "" */
    bool vertical;               /* `from` writes the buffer; else both only read it (fusion of two readers) */
    bool fused;
    ind_fusion_reason reason;
    const char *code, *text; /* of the reason: "INDEX_DIFFERS", and a sentence */
    ind_expr bytes;          /* memory traffic of the edge, or the traffic saved if it is fused: a formula */
} ind_edge_info;

/* All edges of the schedule, in no particular order. IND_ERROR_NOT_FOUND past the last. */
IND_API int ind_module_num_edges(const ind_module *module);
IND_API ind_status ind_module_query_edge(ind_module *module, int index, ind_edge_info *info);

/* Returns the computation of kernel `kernel` (0-based, in execution order) as a graph of ops. It is the recorded body,
   with f16 and bf16 widened at loads and rounded at stores. Inputs are the buffers that the kernel reads, outputs the
   buffers that it writes, with their names and sizes in memory. So the graphs of all kernels, run in order, compute the
   same as the module. A buffer that the kernel changes in place is a mutated input (`mutate old = new`). Sizes, facts
   and guards are the module's. A data-dependent size is a size of the graph. Its value is the number that an earlier
   kernel wrote to one of the inputs (the text of the stage names it: "# kernel 2 makes i (nonzero), u0 in buf3"). The
   graph is in the module's context, outlives the module and may be changed. Instructions without a corresponding op
   become ops of equal meaning: a part of a Welford reduction var_mean, of an online softmax amax and sum, a masked
   access where. NULL on failure: IND_ERROR_NOT_FOUND past the last kernel; IND_ERROR_NOT_SUPPORTED names the part that
   has no op. IND_STAGE_KERNELS has the text of all graphs. */
IND_API ind_graph *ind_module_kernel_graph(ind_module *module, int kernel);
/* Returns the function of a custom op as such a graph; x is the result of ind_pointwise. Its inputs are the tensors
   that the function loads, its output is x. Errors: IND_ERROR_INVALID_ARGUMENT, IND_ERROR_NOT_SUPPORTED. */
IND_API ind_graph *ind_pointwise_graph(ind_tensor x);

/* One compiled kernel of the plan. Each distinct source is compiled once; PTX and CUBIN need NVRTC but no GPU. */
typedef struct ind_cubin {
    const char *name; /* entry point; owned by the module */
    void *data;
    size_t bytes;
    int registers, local_bytes; /* per thread; -1: not in the file */
} ind_cubin;
/* Compiles source `index` (0-based) for the plan's target. If it spills and the plan has a fallback variant, it
   compiles the fallback instead, as a module for the device does. IND_ERROR_NOT_FOUND past the last. Free with
   ind_cubin_free. */
IND_API ind_status ind_module_cubin(ind_module *module, int index, ind_cubin *cubin);
IND_API void ind_cubin_free(ind_module *module, ind_cubin *cubin); /* NULL allowed */
/* Compiles all sources of the module for the plan's target, on all workers: all variants, those of the module that
   prepares constants, and what a device may run in place of a kernel that spills or whose clusters do not fit.
   ind_pack_save then writes them. It needs NVRTC but no GPU; an emit_only module (ind_compile_desc) is for any target.
   Sources that the context or its pack has are not compiled again. Errors: as ind_module_cubin. */
IND_API ind_status ind_module_build_cubins(ind_module *module);
