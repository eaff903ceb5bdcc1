/* ----------------------------------------------------------------------------------------------- >>library */

/* The device a context would use, and why the other is not used: "cuda: NVIDIA H200, sm_90a, driver 13.0, NVRTC 13.0
   from /usr/local/cuda/lib64/libnvrtc.so.13" or "host (no driver library: tried libcuda.so.1, libcuda.so)". Never
   NULL. */
IND_API const char *ind_device_text(ind_context *context);

/* Opens the device (driver, driver context, NVRTC) now. Otherwise the first compile opens it; for the CUDA device, the
   driver then creates its context concurrently with that compile. The message of IND_ERROR_LIBRARY lists every path
   tried. */
IND_API ind_status ind_device_open(ind_context *context, ind_device device);

/* Called while kernels are compiled from source: `done` of `num`, first with 0. `num` grows if others are needed. Calls
   may come from any thread, one at a time, and must not use the context. False cancels: no further kernel is compiled.
 */
typedef struct ind_progress {
    bool (*report)(int done, int num, void *user); /* NULL: none */
    void *user;
} ind_progress;

/* ------------------------------------------------------------------------------------------------ >>memory */

typedef enum ind_memory {
    IND_MEMORY_DEVICE, /* memory of the module's device; for the host device, plain host memory */
    IND_MEMORY_HOST    /* host memory; the call copies it in and out */
} ind_memory;

/* ------------------------------------------------------------------------------------------------ >>module */

/* A compiled graph. It is immutable. Several threads may use it at once, each with its own instance or through
   ind_run, which creates one. */
typedef struct ind_module ind_module;

/* An input, constant or output tensor that the caller binds: contiguous, in the graph's dtype and shape at the sizes
   of the run. A run writes outputs, mutated inputs and donated inputs. Their memory must not overlap other bound
   memory or the workspace; IND_ERROR_INVALID_ARGUMENT names both. One exception: an output may be bound to the exact
   pointer of the donated input that it takes over (ind_binding_info). Read-only inputs and constants may overlap. If
   sizes come from data, a tensor's memory holds their maximum. */
typedef struct ind_binding {
    const char *name; /* of an input, constant or output */
    void *data;
    size_t bytes; /* size of the memory at data, enough for the sizes of the run; 0: not checked */
} ind_binding;

typedef enum ind_binding_kind { IND_BINDING_INPUT, IND_BINDING_CONST, IND_BINDING_OUTPUT } ind_binding_kind;

/* The bindings of a module, in order: inputs, constants, outputs. */
typedef struct ind_binding_info {
    const char *name;
    ind_binding_kind kind;
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK]; /* formulas in the declared sizes */
    bool mutated;                /* an input that every run mutates in place (ind_mutate) */
    bool donated;                /* an input whose memory runs may overwrite (ind_donate) */
    int takes_over;              /* the donated input whose pointer this output may be bound to; -1: none */
    bool prepare_only;           /* a constant that only prepared constants depend on (ind_module_prepare) */
} ind_binding_info;
IND_API int ind_module_num_bindings(const ind_module *module);
IND_API const ind_binding_info *ind_module_query_binding(const ind_module *module,
                                                         int index); /* NULL if there is no such binding */

/* The declared sizes, in order of declaration. */
IND_API int ind_module_num_sizes(const ind_module *module);
IND_API const ind_symbol *ind_module_query_size(const ind_module *module, int index);
/* The formula that the graph's facts give for a size: after `S == 4*T`, 4*T for S. Such a size may be left out of
   sizes given as text. Invalid, without an error, if the size is free or the index is out of range. */
IND_API ind_expr ind_module_size_formula(const ind_module *module, int index);

/* Data-dependent sizes (of ind_nonzero and similar ops), in the order of the ops that compute them. They are known
   only after a run. Memory of outputs and of the workspace is allocated for their maximum, a formula in the declared
   sizes. An output is row-major in its actual shape, at the beginning of its memory. */
IND_API int ind_module_num_data_sizes(const ind_module *module);
IND_API const ind_symbol *ind_module_query_data_size(const ind_module *module, int index);
IND_API ind_expr ind_module_data_size_most(const ind_module *module, int index); /* invalid if out of range */
/* Writes the shape of binding `index` to `shape`, one number per dimension. `sizes` gives the declared sizes as text
   ("B=7, S=300"; NULL: none). `data_sizes` gives the data-dependent ones; NULL: their maximum, as memory is allocated.
   Errors: IND_ERROR_INVALID_ARGUMENT (no such binding, shape is NULL), those of ind_run for the sizes. */
IND_API ind_status ind_module_shape(ind_module *module, int index, const char *sizes, const int64_t *data_sizes,
                                    int64_t *shape);

/* Conditions on the sizes beyond their ranges, in order of declaration. A fact is promised by the author of the graph.
   A guard is an assumption that the module was compiled under. Every launch checks both. Returns the text of one, NULL
   if out of range; *guard (may be NULL) is true for a guard. */
IND_API int ind_module_num_conditions(const ind_module *module);
IND_API const char *ind_module_query_condition(const ind_module *module, int index, bool *guard);

/* Sets a constant once for all runs (weights). With IND_MEMORY_HOST, the data are copied to the device now. Otherwise
   the pointer is stored and the memory stays the caller's. Not allowed while the module runs. bytes must be the
   constant's exact size, which may not depend on symbolic sizes. If prepared constants depend on it, they are computed
   again by the next launch or ind_module_prepare, on a stream of the module: writes to the memory must be complete by
   then, and a caller that writes to it later calls this function again.
   Errors: IND_ERROR_NOT_FOUND (no such constant), IND_ERROR_INVALID_ARGUMENT (size, NULL). */
IND_API ind_status ind_module_constant(ind_module *module, const char *name, const void *data, size_t bytes,
                                       ind_memory memory);

/* Prepared constants: values that depend on constants alone, such as concatenated or rounded weights. They are computed
   once and kept in memory of the module, which all its instances share (ind_compile_desc.prepare,
   docs/prepared-constants.md). The first launch computes them, or this function, which an engine calls after it has set
   the constants. Both wait until they are computed. If they are up to date, this function does nothing. Replays of
   captured graphs use the same memory, so call it also before a replay after a constant was set anew. Not allowed while
   the module runs and a constant was set since the last call. A launch that binds one of the constants to other memory
   than was set computes the values on its own stream, in memory of its instance: ind_instance_constants_changed.
   Errors: IND_ERROR_INVALID_ARGUMENT (a constant is not set, or was released), IND_ERROR_OUT_OF_MEMORY, those of a
   launch. After a failure the module is usable, and the next call or launch tries again. */
IND_API ind_status ind_module_prepare(ind_module *module);
/* Bytes of the prepared constants of a module: a formula without sizes, 0 if it has none. */
IND_API ind_expr ind_module_prepared_bytes(const ind_module *module);
/* Releases a constant that is set and that the kernels of the module do not read (ind_binding_info.prepare_only), after
   computing the prepared constants if needed. The module frees its copy; the caller may free his memory. If another
   constant of these values is set later, the released one must be set again, too.
   Errors: IND_ERROR_NOT_FOUND, IND_ERROR_INVALID_ARGUMENT (it is not prepare_only), those of ind_module_prepare. */
IND_API ind_status ind_module_release(ind_module *module, const char *name);
/* The module that computes the prepared constants: its constants are those that it reads, its outputs the prepared
   ones. NULL if there is none. It belongs to the module. It may be queried and printed, but not launched. */
IND_API ind_module *ind_module_prepare_module(const ind_module *module);

/* Builds all variants that are not built yet (ind_compile_desc.all_variants), so that no later launch compiles. An
   engine calls it in a thread of its own, while others launch and compile: sources are compiled without a lock, and a
   variant can be launched as soon as it is built. If one fails, the others are still built, and the first error is
   returned; a launch that needs it tries again. ind_compile_desc.background_variants has it called in a thread of the
   library. The host device has no variants. Errors: those of ind_compile. */
IND_API ind_status ind_module_build_variants(ind_module *module);

/* Memory of the module's device, for callers without an allocator. It is aligned to 256 bytes. Free it with
   ind_module_free before the module is destroyed. Copies are synchronous. */
IND_API ind_status ind_module_alloc(ind_module *module, size_t bytes, void **memory);
IND_API void ind_module_free(ind_module *module, void *memory); /* NULL allowed */
IND_API ind_status ind_module_upload(ind_module *module, void *to, const void *from_host, size_t bytes);
IND_API ind_status ind_module_download(ind_module *module, void *to_host, const void *from, size_t bytes);

/* Bytes that can still be allocated on the module's device, and all of its memory. On the host device: what the system
   estimates to be available without swapping; limits of a container are not seen. IND_ERROR_NOT_SUPPORTED: not known.
 */
IND_API ind_status ind_module_device_memory(ind_module *module, int64_t *available, int64_t *total);

/* Formulas in the declared sizes, in bytes: the workspace an instance needs; the largest sum of live intermediates. */
IND_API ind_expr ind_module_workspace(const ind_module *module);
IND_API ind_expr ind_module_peak(const ind_module *module);

typedef struct ind_module_stats {
    ind_device device;
    int num_kernels;         /* launches per run */
    int num_distinct;        /* kernels compiled (variants of one kernel count once) */
    int num_sources;         /* sources compiled so far, variants counted */
    int num_from_pack;       /* of these, found in the kernel pack or in memory */
    int num_late;            /* of the sources, variants compiled on demand by a launch */
    int num_changes;         /* by graph passes; removing unused ops is none */
    int num_fusions;         /* pairs of groups of loops that were fused */
    int num_prepared;        /* prepared constants */
    int num_prepare_kernels; /* launches that compute them, not counted in num_kernels */
    int num_prepares;        /* number of times they were computed for all instances */
    double lower_ms, schedule_ms, emit_ms, compile_ms, load_ms; /* wall clock of the stages */
    /* Time spent waiting for the driver context, and for NVRTC. Counted for the first module of a context that needs
       them, else 0. Not included in the stages. */
    double device_ms, library_ms;
    double late_ms; /* time launches spent building these variants; not included in the stages */
} ind_module_stats;
IND_API ind_module_stats ind_module_query_stats(const ind_module *module);
/* Also frees the module's remaining instances. Call it before the context is destroyed. NULL allowed. */
IND_API void ind_module_destroy(ind_module *module);

/* ----------------------------------------------------------------------------------------------- >>verdict */

/* Result of checking sizes without running: enumerator, text. */
#define IND_READINESSES(X)                                                                                             \
    X(READY, "ready")             /* the module runs as compiled; variants may differ */                               \
    X(GUARD_FAILS, "guard fails") /* the graph must be recompiled, without that guard or with other hints */           \
    X(OUTSIDE, "outside")         /* violates a range or a fact, or exceeds the device: recompiling does not help */   \
    X(BAD_SIZES, "bad sizes")     /* the text is malformed, has an unknown name, or lacks a size */

typedef enum ind_readiness {
#define X(name, text) IND_##name,
    IND_READINESSES(X)
#undef X
} ind_readiness;

typedef struct ind_verdict {
    ind_readiness ready;
    ind_status status; /* the status ind_run would return for these sizes */
    int num_kernels;   /* READY: launches of a run .. */
    int num_general;   /* .. those with a slower variant: the first variant's condition fails .. */
    int num_late;      /* .. and those whose variant is not built yet: the first such run compiles it */
    double compile_ms; /* GUARD_FAILS: compile time of this module, an estimate for the next */
    char reason[256];  /* "guard S <= 512 does not hold: S = 600", "2 of 13 kernels run a general variant: S % 8 == 0
                          fails, 1 compiles it first"; empty if there is nothing to report */
} ind_verdict;

/* Checks whether a run at these sizes ("B=7, S=300"; NULL: none) needs the graph recompiled or variants built, and how
   well it would run. Does not touch the device and allocates no lasting memory. Assumes pointers aligned to 16 bytes.
   The number of variants is known only if there is a plan: modules for CUDA, emit_only modules, and host modules whose
   plan was queried. */
IND_API ind_verdict ind_would_compile(ind_module *module, const char *sizes);

/* --------------------------------------------------------------------------------------------------- >>run */

/* Runs the module in one call: allocates, copies (host memory), runs, waits. Writes the inputs that the graph mutates.
   Errors: IND_ERROR_INVALID_ARGUMENT (a binding is missing, duplicate, NULL, too short, or overlaps another: see
   ind_binding), IND_ERROR_NOT_FOUND (unknown binding name), IND_ERROR_OUT_OF_RANGE (sizes outside their declaration),
   IND_ERROR_INDEX_OUT_OF_RANGE (an index in the data), IND_ERROR_OUT_OF_MEMORY, IND_ERROR_DEVICE. */
typedef struct ind_run_desc {
    const ind_binding *bindings;
    int num_bindings;
    const char *sizes;      /* "B=8, S=128"; or */
    const int64_t *sizes_v; /* values in the order of declaration */
    ind_memory memory;
    void *stream;        /* CUstream; NULL: the default stream */
    int64_t *data_sizes; /* receives the data-dependent sizes, as from ind_instance_data_sizes; may be NULL */
} ind_run_desc;
IND_API ind_status ind_run(ind_module *module, const ind_run_desc *desc);

/* An instance: workspace and argument blocks of one module, for one stream at a time. It also allocates its own device
   memory when it is created. Kernels record bad indices there, and blocks that share a reduction exchange partial
   results there. That memory rarely exceeds a megabyte. */
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
    void *const *pointers; /* device pointers in the order of the module's bindings (fastest); constants set by
                              ind_module_constant may be NULL */
    const char *sizes;
    const int64_t *sizes_v;
} ind_launch_desc;
/* Enqueues the module on the stream and returns. After the first call with given sizes, a call does no string work. It
   allocates only if a workspace that is not the caller's must grow. It locks only while the stream is being captured.
   ind_instance_check reports index errors.
   A call whose sizes or pointers are the first to select a kernel variant compiles and loads it, also during stream
   capture. IND_ERROR_LIBRARY, IND_ERROR_COMPILE or IND_ERROR_DEVICE report a failure; other launches are not affected.
   Programmatic dependent launch: applies if the caller captures this launch directly after another launch of the
   same context. The first of several kernels may then begin before that launch is done, and waits for it; the graph
   has a programmatic edge. It needs sm_90 or later and a driver for CUDA 12.3 or later. It is not used if that kernel
   reads constants that are not the module's own copies, as the earlier launch may write them, or if it reads inputs
   before it waits.
   ind_compile_desc.fusion.disable_dependent_launch disables it.
   Bindings are checked as by ind_run whenever a pointer or a size differs from the previous launch. The memory of
   `pointers` has no byte count.
   The first launch computes the prepared constants and waits for them (ind_module_prepare). On a stream that is being
   captured this is IND_ERROR_INVALID_ARGUMENT: call ind_module_prepare before. */
IND_API ind_status ind_launch(ind_instance *instance, const ind_launch_desc *desc);
/* The memory that launches bind to constants has new contents: the next launch of the instance computes its own
   prepared constants again (ind_module_prepare). Without this call, a launch or replay that binds the same memory to
   them as the one before uses the same values. NULL is allowed. */
IND_API void ind_instance_constants_changed(ind_instance *instance);
/* Waits for the stream and reports index errors of the launches since the last check: IND_ERROR_INDEX_OUT_OF_RANGE. An
   index is checked when its op computes an element with it. A result without elements checks no index. */
IND_API ind_status ind_instance_check(ind_instance *instance);
/* Data-dependent sizes of the last launch, in the order of ind_module_query_data_size, at most `max` of them. Waits
   for the stream. A launch never waits, so a launch with such sizes can be captured. Before any launch:
   IND_ERROR_INVALID_ARGUMENT. */
IND_API ind_status ind_instance_data_sizes(ind_instance *instance, int64_t *values, int max);
/* Message of this instance's last failure. */
IND_API const char *ind_instance_error(const ind_instance *instance);

/* ------------------------------------------------------------------------------------------------- >>graph */

/* Records one launch as a CUDA graph and stores it; ind_replay runs it again with the same pointers and sizes.
   Constants set by ind_module_constant must stay valid until the last replay. On the host device, a replay is a launch
   with the stored arguments. */
IND_API ind_status ind_capture(ind_instance *instance, const ind_launch_desc *desc);
/* Records `num` launches, one after another, as one CUDA graph: for a loop whose state is in device memory. They share
   the instance's workspace. The graph replaces the stored one; after a failure there may be none. On the host device, a
   replay runs the launches. IND_ERROR_NOT_SUPPORTED: num > 1, and a launch binds its own memory to a constant that
   prepared constants are computed from. */
IND_API ind_status ind_capture_launches(ind_instance *instance, const ind_launch_desc *launches, int num);
IND_API ind_status ind_replay(ind_instance *instance, void *stream);
/* The captured CUgraph, for use as a child node of the caller's graph. NULL if none, or on the host device. */
IND_API void *ind_captured_graph(ind_instance *instance);

/* ----------------------------------------------------------------------------------------------- >>profile */

typedef struct ind_kernel_time {
    const char *name;
    double ms; /* median of the repeats */
    int64_t bytes_read, bytes_written;
    double flops;
} ind_kernel_time;
/* Runs each launch separately `repeats` times, timed with events (host device: clock). times has one entry per launch;
   a launch of several kernels has the name of the first. Entries of launches that another one runs too are 0
   (ind_fusion_policy.persistent): it has their bytes and operations. */
IND_API ind_status ind_profile(ind_instance *instance, const ind_launch_desc *desc, int repeats, ind_kernel_time *times,
                               int max_times, int *num_times, double *total_ms);

/* -------------------------------------------------------------------------------------------------- >>tune */

/* Tuning result of one kernel; times in microseconds. */
typedef struct ind_tuned {
    const char *name;           /* of the kernel; owned by the module */
    const char *why;            /* description of the fastest candidate, as in the plan; owned by the module */
    int first_threads, threads; /* threads per block: the plan's first choice, and the fastest */
    double first_us, us;        /* medians; equal if the first choice is the fastest */
    double least_us;            /* predicted minimum; a kernel close to it is not tuned */
    int num_tried;              /* candidates besides the first choice */
} ind_tuned;

/* Measures, at these sizes and with these bindings, alternatives to the plan's first choice for every distinct kernel.
   Candidates: other block sizes, more or fewer vectors or rows in flight per thread, and the fallbacks for a first
   choice that spills. Those fallbacks change the registers per thread, the blocks per SM, or the parts of a staged row
   in registers. Of a matrix product: the configurations (template, tile, stages, blocks that share a tile) with the
   least estimated costs. There are few candidates. Each is measured on cold caches, and only while the best is more
   than 2 % above the minimum time for the kernel's bytes and operations.
   A candidate that is more than 2 % faster than the first choice is stored in the context, and by ind_pack_save in
   the pack. Modules compiled later in this context, or with that pack, use it at all sizes. It may sum in another
   order; that order is the same in every run, and in a batch_invariant module for any number of rows. This module is
   not changed. Kernels that share a launch, products whose sizes depend on data, scans and sorts are not tuned.
   Every launch runs many times, so the contents of outputs and mutated inputs are undefined afterwards. At most
   max_tuned entries of tuned are filled (NULL with 0); *num_tuned (may be NULL) is the number of kernels measured.
   Errors: as ind_launch; IND_ERROR_NOT_SUPPORTED (the host device), IND_ERROR_INVALID_ARGUMENT (repeats below 1 or
   above 1000). Compiles of the context and queries of the module wait for it. */
IND_API ind_status ind_tune(ind_instance *instance, const ind_launch_desc *desc, int repeats, ind_tuned *tuned,
                            int max_tuned, int *num_tuned);

/* -------------------------------------------------------------------------------------------------- >>pack */

/* Writes all kernels that this context has compiled, the results of ind_tune, and the targets that modules were planned
   for, to one file. Another process names the file in its context desc, and compiles nothing there if the pack is
   complete. Variants that no launch has needed are missing, unless the module was compiled with
   ind_compile_desc.all_variants. For an emit_only module (ind_compile_desc), it holds what ind_module_build_cubins and
   ind_module_cubin have compiled. Damaged entries are ignored and compiled again.
   A context with a pack plans modules for a target of the pack, not for the opened device: the one with most SMs of
   those with the same architecture, at most as many SMs, and at most as much shared memory as the device has. So it
   finds the kernels of a pack that was made for a similar device, or without a device.
   The file is replaced atomically: after a failure the old one is unchanged. Errors: IND_ERROR_IO, also if path is not
   a regular file (a directory, a device, a FIFO, or a link to one). A symbolic link to a regular file is itself
   replaced; its target is unchanged. */
IND_API ind_status ind_pack_save(ind_context *context, const char *path);

/* What a pack holds. */
typedef struct ind_pack_info {
    int num_kernels, num_tuned, num_targets;
    int num_damaged; /* kernels, results and targets with a wrong checksum, and targets of another version */
    bool truncated;
} ind_pack_info;
/* Adds the contents of a pack to the context, as ind_context_desc.pack.path does at the first compile; several packs
   can be added, and ind_pack_save then writes all of them into one. Damaged entries are skipped and counted. info may
   be NULL. Errors: IND_ERROR_IO, IND_ERROR_INVALID_ARGUMENT (the file is no pack of this format, or
   ind_context_desc.pack.verify refuses it). */
IND_API ind_status ind_pack_load(ind_context *context, const char *path, ind_pack_info *info);

/* A compiled kernel of the context. */
typedef struct ind_pack_kernel {
    char name[72], arch[16];    /* its function, and "sm_90a", or "compute_80" for PTX */
    size_t bytes;               /* of the cubin or PTX */
    int nvrtc_version;          /* 1300 for 13.0 */
    int least_driver;           /* of CUDA; of NVRTC 13.1: 1300 for a cubin, 1301 for PTX */
    int registers, local_bytes; /* per thread; -1: not in the file */
} ind_pack_kernel;
/* Kernel number `index` (from 0) of those that ind_pack_save writes. IND_ERROR_NOT_FOUND past the last. */
IND_API ind_status ind_pack_query_kernel(ind_context *context, int index, ind_pack_kernel *kernel);
