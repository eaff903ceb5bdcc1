/* ----------------------------------------------------------------------------------------------- >>explain */

/* The text of a stage. Owned by the module. NULL on failure (ind_error). PLAN and later exist on CUDA modules, and on
   host modules are made for the default target. */
IND_API const char *ind_module_text(ind_module *module, ind_stage stage);
IND_API const char *ind_module_json(ind_module *module, ind_stage stage); /* SCHEDULE and PLAN */

/* One HTML page that needs nothing else: the graph after the passes, its kernels with what they move and take, every
   edge between loops with the reason why it was fused or not, memory over time, and the CUDA source. A click on an op
   shows its kernels, their source and the buffers that it makes; sizes can be changed in the page. It starts at `sizes`
   ("B=8, S=128"; NULL: none given), and at the hints of those that are not given. Valid until the next call for this
   module, whose it is. NULL on failure: as ind_module_text of PLAN; IND_NOT_FOUND, IND_OUT_OF_RANGE for the sizes. */
IND_API const char *ind_module_html(ind_module *module, const char *sizes);

/* A buffer between two loops, and why they became one kernel or did not. */
typedef struct ind_edge_info {
    const char *from, *to; /* the ops that each loop computes, joined by +; all strings are the module's */
    const char *from_results, *to_results; /* the tensors that these ops make, joined by + */
    int from_kernel, to_kernel;            /* where the loops are; equal does not mean that this edge fused them */
    const char *buffer,
        *tensor;   /* tensor: the one whose value a buffer of the module's own holds, or a part of; or "" */
    bool vertical; /* `from` makes the buffer; else both only read it: such edges join neighbouring readers */
    bool fused;
    ind_fusion_reason reason;
    const char *code, *text; /* of the reason: "INDEX_DIFFERS", and a sentence */
    ind_expr bytes;          /* that memory moves because of the edge or, if it is fused, that it does not: a formula */
} ind_edge_info;

/* Every edge of the schedule, in no order of importance. IND_NOT_FOUND past the last. */
IND_API int ind_module_num_edges(const ind_module *module);
IND_API ind_status ind_module_query_edge(ind_module *module, int index, ind_edge_info *info);

/* What kernel `kernel` (0-based, in the order in which they run) computes, as a graph of ops: its recorded body, with
   f16 and bf16 widened where they are loaded and rounded where they are stored. Inputs are the buffers that it reads
   and outputs those that it writes, under their names and with the sizes that they have in memory: so the graphs of all
   kernels, run one after another, do what the module does. A buffer that the kernel changes in place is an input that
   is mutated (`mutate old = new`). Sizes, facts and guards are the module's, and a size that comes from data is a size
   of the graph, to be given the number that a kernel before it has left in one of the inputs (the text of the stage
   says in which: "# kernel 2 makes i (nonzero), u0 in buf3"). The graph is in the module's context, lives on after it
   and may be changed. What the body has in other words is said in ops that mean the same: parts of a Welford reduction
   by var_mean, of an online softmax by amax and sum, a masked access by where. NULL on failure: IND_NOT_FOUND past the
   last kernel; IND_NOT_SUPPORTED says what there is no op for. IND_STAGE_KERNELS has the text of all. */
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
/* Compiles source `index` (0-based) for the plan's target; where the plan names another way for a build that spills,
   and this one does, that other way, as a module for the device would. IND_NOT_FOUND past the last. Free with
   ind_cubin_free. */
IND_API ind_status ind_module_cubin(ind_module *module, int index, ind_cubin *cubin);
IND_API void ind_cubin_free(ind_module *module, ind_cubin *cubin); /* NULL allowed */
