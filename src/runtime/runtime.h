/* ----------------------------------------------------------------------------------------------- >>library */

/* Which device a context would use, and why not the other: "cuda: NVIDIA H200, sm_90a, driver 13.0, NVRTC 13.0 from
   /usr/local/cuda/lib64/libnvrtc.so.13" or "host (no driver library: tried libcuda.so.1, libcuda.so)". Never NULL. */
IND_API const char *ind_device_text(ind_context *context);

/* Opens the device (driver, its context, NVRTC) now instead of at the first compile, beside which the driver makes its
   context where the CUDA device is asked for. IND_LIBRARY names every place looked at. */
IND_API ind_status ind_device_open(ind_context *context, ind_device device);

/* ------------------------------------------------------------------------------------------------ >>memory */

typedef enum ind_memory {
    IND_MEMORY_DEVICE, /* memory of the module's device: for the host device, plain host memory */
    IND_MEMORY_HOST    /* host memory: copied in and out by the call */
} ind_memory;

/* ------------------------------------------------------------------------------------------------ >>module */

/* A compiled graph: immutable, may be used by several threads at once (each with its own instance, or ind_run, which
   makes one). */
typedef struct ind_module ind_module;

/* A tensor that the caller gives or takes: contiguous, in the graph's dtype and shape at the sizes of the run. Bound
   memory that a run writes (of outputs, mutated inputs and donated inputs) may share no byte with other bound memory or
   with the workspace; IND_INVALID_ARGUMENT names both. One exception: an output may be bound to the very pointer of the
   donated input that it takes over (ind_binding_info). Inputs and constants that are only read may overlap. Where sizes
   come from data, a tensor's memory is that of the most they can be. */
typedef struct ind_binding {
    const char *name; /* of an input, constant or output */
    void *data;
    size_t bytes; /* of the memory at data, which must be enough at the sizes of the run; 0: not checked */
} ind_binding;

typedef enum ind_binding_kind { IND_BINDING_INPUT, IND_BINDING_CONST, IND_BINDING_OUTPUT } ind_binding_kind;

/* What a module wants bound, in order: inputs, constants, outputs. */
typedef struct ind_binding_info {
    const char *name;
    ind_binding_kind kind;
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK]; /* formulas in the declared sizes */
    bool mutated;                /* an input that every run changes in place (ind_mutate) */
    bool donated;                /* an input whose memory runs write over (ind_donate) */
    int takes_over; /* an output that may be bound to the same pointer as this donated input; -1: to none */
} ind_binding_info;
IND_API int ind_module_num_bindings(const ind_module *module);
IND_API const ind_binding_info *ind_module_query_binding(const ind_module *module, int index); /* NULL: no such */

/* The declared sizes, in order of declaration. */
IND_API int ind_module_num_sizes(const ind_module *module);
IND_API const ind_symbol *ind_module_query_size(const ind_module *module, int index);
/* What a size is by the facts of the graph, as a formula in the others: after `S == 4*T`, 4*T for S. Such a size may be
   left out where sizes are given as text. Invalid, without an error: the size is free, or there is none of this number.
 */
IND_API ind_expr ind_module_size_formula(const ind_module *module, int index);

/* Sizes that come from data (of ind_nonzero and its like), in the order of the ops that make them: known only once a
   run is done. Memory of outputs and of the workspace is that of the most they can be, a formula in the declared sizes;
   an output is row-major in its actual shape at the beginning of its memory. */
IND_API int ind_module_num_data_sizes(const ind_module *module);
IND_API const ind_symbol *ind_module_query_data_size(const ind_module *module, int index);
IND_API ind_expr ind_module_data_size_most(const ind_module *module, int index); /* invalid past the last */
/* The shape of binding `index` (into `shape`, one number per dimension) for declared sizes given as text ("B=7, S=300";
   NULL: none) and those that come from data (NULL: the most they can be, as memory is taken for). Errors:
   IND_INVALID_ARGUMENT (no such binding, shape is NULL), those of ind_run for the sizes. */
IND_API ind_status ind_module_shape(ind_module *module, int index, const char *sizes, const int64_t *data_sizes,
                                    int64_t *shape);

/* Conditions on the sizes beyond their ranges, in order of declaration: facts (promised by whoever made the graph) and
   guards (the module was compiled for sizes where they hold). Every launch checks them. The text of one; *guard (may be
   NULL) says which it is. NULL past the last. */
IND_API int ind_module_num_conditions(const ind_module *module);
IND_API const char *ind_module_query_condition(const ind_module *module, int index, bool *guard);

/* A constant given once for all runs (weights). With IND_MEMORY_HOST the data are copied to the device now; else the
   pointer is kept and stays the caller's. Not while the module runs. bytes must be the constant's exact size: it may
   not depend on symbolic sizes. Errors: IND_NOT_FOUND (no such constant), IND_INVALID_ARGUMENT (size, NULL). */
IND_API ind_status ind_module_constant(ind_module *module, const char *name, const void *data, size_t bytes,
                                       ind_memory memory);

/* Memory of the module's device, for callers without an allocator of their own: aligned to 256 bytes, freed with
   ind_module_free before the module is destroyed. Copies wait until they are done. */
IND_API ind_status ind_module_alloc(ind_module *module, size_t bytes, void **memory);
IND_API void ind_module_free(ind_module *module, void *memory); /* NULL allowed */
IND_API ind_status ind_module_upload(ind_module *module, void *to, const void *from_host, size_t bytes);
IND_API ind_status ind_module_download(ind_module *module, void *to_host, const void *from, size_t bytes);

/* Formulas in the declared sizes, in bytes: workspace an instance needs, largest sum of live intermediates. */
IND_API ind_expr ind_module_workspace(const ind_module *module);
IND_API ind_expr ind_module_peak(const ind_module *module);

typedef struct ind_module_stats {
    ind_device device;
    int num_kernels;   /* launches per run */
    int num_distinct;  /* kernels compiled (variants of one kernel count once) */
    int num_sources;   /* texts compiled so far, variants counted */
    int num_from_pack; /* of these, found in the kernel pack or in memory */
    int num_late;      /* of the texts, those of variants that a launch was the first to need */
    double lower_ms, schedule_ms, emit_ms, compile_ms, load_ms; /* wall clock of the stages */
    /* Waiting for the driver with its context, and for NVRTC: of the first module that needs them in a context, else 0.
       Part of none of the stages. */
    double device_ms, library_ms;
    double late_ms; /* that launches took to build these variants; part of none of the stages either */
} ind_module_stats;
IND_API ind_module_stats ind_module_query_stats(const ind_module *module);
/* Also frees the instances of the module that are left. Before its context; NULL allowed. */
IND_API void ind_module_destroy(ind_module *module);

/* ----------------------------------------------------------------------------------------------- >>verdict */

/* What a run at given sizes would meet, without running: enumerator, text. */
#define IND_READINESSES(X)                                                                                             \
    X(READY, "ready")             /* the module runs as it is, but for variants */                                     \
    X(GUARD_FAILS, "guard fails") /* the graph must be compiled again, without that guard or with other hints */       \
    X(OUTSIDE, "outside")     /* against a declared range or a fact, or beyond the device: compiling does not help */  \
    X(BAD_SIZES, "bad sizes") /* the text cannot be read, or names or leaves out a size it should not */

typedef enum ind_readiness {
#define X(name, text) IND_##name,
    IND_READINESSES(X)
#undef X
} ind_readiness;

typedef struct ind_verdict {
    ind_readiness ready;
    ind_status status; /* what ind_run would return because of the sizes */
    int num_kernels;   /* READY: launches of a run .. */
    int num_general;   /* .. those that take a slower variant, because the guard of their first one fails .. */
    int num_late;      /* .. and those whose variant is not built yet: the first such run compiles it */
    double compile_ms; /* GUARD_FAILS: what compiling this module took, as a likely price of the next */
    char reason[256];  /* "guard S <= 512 does not hold: S = 600", "2 of 13 kernels run a general variant: S % 8 == 0
                          fails, 1 compiles it first"; empty if there is nothing to say */
} ind_verdict;

/* Would a run at these sizes ("B=7, S=300"; NULL: none) need another graph to be compiled, or variants of kernels, and
   how well would it run? Touches no device and keeps no memory. Pointers are taken to be aligned to 16 bytes. The price
   in variants is known where there is a plan: modules for CUDA, emit_only ones, and host modules whose plan was asked
   for. */
IND_API ind_verdict ind_would_compile(ind_module *module, const char *sizes);

/* --------------------------------------------------------------------------------------------------- >>run */

/* One call: allocates what it needs, copies (host memory), runs, waits. Inputs that the graph mutates are written.
   Errors: IND_INVALID_ARGUMENT (a binding missing, twice, NULL, too short, or overlapping another: see ind_binding),
   IND_NOT_FOUND (a binding of another name), IND_OUT_OF_RANGE (sizes against their declaration), IND_INDEX_OUT_OF_RANGE
   (an index found in the data), IND_OUT_OF_MEMORY, IND_DEVICE. */
typedef struct ind_run_desc {
    const ind_binding *bindings;
    int num_bindings;
    const char *sizes;      /* "B=8, S=128"; or */
    const int64_t *sizes_v; /* values in the order of declaration */
    ind_memory memory;
    void *stream;        /* CUstream; NULL: the default stream */
    int64_t *data_sizes; /* gets the sizes that came from data, as ind_instance_data_sizes; NULL: not wanted */
} ind_run_desc;
IND_API ind_status ind_run(ind_module *module, const ind_run_desc *desc);

/* An instance: workspace and argument blocks of one module, for one stream at a time. It also has memory of its own on
   the device, taken when it is created: where kernels note bad indices, and where blocks that share a reduction meet,
   rarely more than a megabyte. */
typedef struct ind_instance ind_instance;
typedef struct ind_instance_desc {
    void *workspace; /* the caller's device memory, 256-byte aligned; NULL: allocated and grown as needed */
    size_t workspace_bytes;
} ind_instance_desc;
IND_API ind_status ind_instance_create(ind_module *module, const ind_instance_desc *desc, ind_instance **instance);
IND_API void ind_instance_destroy(ind_instance *instance);

typedef struct ind_launch_desc {
    void *stream;
    const ind_binding *bindings; /* by name, or */
    int num_bindings;
    void *const *pointers; /* device pointers in the order of the module's bindings (fastest); constants that
                              were set by ind_module_constant may be NULL */
    const char *sizes;
    const int64_t *sizes_v;
} ind_launch_desc;
/* Enqueues the module on the stream and returns. After the first call with given sizes: no allocation (unless the
   workspace must grow and is not the caller's), no lock (but where the stream is being captured), no string work. Index
   errors show up at ind_instance_check.
   A call whose sizes or pointers are the first to select a variant of a kernel compiles and loads it (also while the
   stream is being captured): IND_LIBRARY, IND_COMPILE or IND_DEVICE say why it cannot; other launches go on as before.
   Captured by the caller right behind another launch of a module of the same context, the first of several kernels may
   begin before that launch is done, and waits for it (sm_90 and later, drivers for CUDA 12.3 and later): the graph has
   a programmatic edge there. Not if it reads constants that are not the module's own copies, as that launch may write
   them. ind_compile_desc.fusion.disable_dependent_launch forbids it.
   Bindings are checked as by ind_run whenever a pointer or a size is not that of the launch before; the memory of
   `pointers` has no byte count. */
IND_API ind_status ind_launch(ind_instance *instance, const ind_launch_desc *desc);
/* Waits for the stream and reports index errors of the launches since the last check: IND_INDEX_OUT_OF_RANGE. An index
   is checked where its op makes an element of its result with it; a result without elements asks nothing of indices. */
IND_API ind_status ind_instance_check(ind_instance *instance);
/* The sizes that came from the data of the last launch, in the order of ind_module_query_data_size, up to `max` of
   them. Waits for the stream; nothing else ever does, so a launch with such sizes can be captured. Before any launch:
   IND_INVALID_ARGUMENT. */
IND_API ind_status ind_instance_data_sizes(ind_instance *instance, int64_t *values, int max);
/* The last failure of this instance. */
IND_API const char *ind_instance_error(const ind_instance *instance);

/* ------------------------------------------------------------------------------------------------- >>graph */

/* Records one launch as a CUDA graph and keeps it: ind_replay runs it again with the same pointers and sizes.
   Constants set by ind_module_constant must stay until the last replay. On the host device replay is a launch with the
   remembered arguments. */
IND_API ind_status ind_capture(ind_instance *instance, const ind_launch_desc *desc);
IND_API ind_status ind_replay(ind_instance *instance, void *stream);
/* The captured CUgraph, to be added to the caller's own as a child node; NULL if none or on the host device. */
IND_API void *ind_captured_graph(ind_instance *instance);

/* ----------------------------------------------------------------------------------------------- >>profile */

typedef struct ind_kernel_time {
    const char *name;
    double ms; /* median of the repeats */
    int64_t bytes_read, bytes_written;
    double flops;
} ind_kernel_time;
/* Runs every launch `repeats` times by itself, timed with events (host device: clock). times has one entry per launch;
   one of several kernels has the name of the first. */
IND_API ind_status ind_profile(ind_instance *instance, const ind_launch_desc *desc, int repeats, ind_kernel_time *times,
                               int max_times, int *num_times, double *total_ms);

/* -------------------------------------------------------------------------------------------------- >>tune */

/* What was tried for one kernel, in microseconds. */
typedef struct ind_tuned {
    const char *name;           /* of the kernel; the module's */
    const char *why;            /* what the fastest is, as the plan says it; the module's */
    int first_threads, threads; /* of a block: those that formulas choose, and those of the fastest */
    double first_us, us;        /* medians; the same if the first choice is the fastest */
    double least_us;            /* predicted for a kernel without flaws: nothing is tried for one that comes close */
    int num_tried;              /* ways besides the first */
} ind_tuned;

/* Measures, at these sizes and with these bindings, every different kernel of the module in other ways than the
   formulas choose: with other numbers of threads, with what the plan would build if the first choice spilled (other
   registers, blocks on a multiprocessor, parts of a staged row in registers), with more or fewer vectors or rows of a
   thread under way together. Few, each only while the best so far is more than 2 % above what the bytes and operations
   of the kernel take at the least, and always on data that are in no cache. A way that is more than 2 % faster than the
   first choice is kept with its figures in the context, and by ind_pack_save in the pack: modules that are compiled
   from then on in this context, or with that pack, run the kernel so, at all sizes; what it sums, it then sums in
   another order, the same in every run. This module stays as it is. Kernels that share a launch, products, scans and
   sorts are left as they are. As every launch runs many times, what the graph mutates and outputs hold anything
   afterwards. At most max_tuned of tuned are filled (NULL with 0); *num_tuned (may be NULL) is the number of kernels
   measured. Errors: as ind_launch; IND_NOT_SUPPORTED (the host device), IND_INVALID_ARGUMENT (repeats below 1 or above
   1000). Compiles of the context and queries of the module wait for it. */
IND_API ind_status ind_tune(ind_instance *instance, const ind_launch_desc *desc, int repeats, ind_tuned *tuned,
                            int max_tuned, int *num_tuned);

/* -------------------------------------------------------------------------------------------------- >>pack */

/* Writes all kernels that this context has compiled, and what ind_tune has found, to one file, which another process
   names in its context desc: nothing is compiled there if the pack holds everything. Variants that no launch has
   needed so far are not in it, unless the module was compiled with ind_compile_desc.all_variants. Of a module made with
   ind_compile_desc.emit_only it has what ind_module_cubin was asked for. Damaged entries are ignored and compiled
   again. The file is replaced as a whole: after a failure it is as it was. Errors: IND_IO, also where path is something
   else than a regular file (a directory, a device, a FIFO, or a link to one). A symbolic link to a regular file is
   itself replaced; what it leads to stays as it is. */
IND_API ind_status ind_pack_save(ind_context *context, const char *path);
