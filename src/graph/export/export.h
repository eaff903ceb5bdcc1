/* ------------------------------------------------------------------------------------------------ >>export */

/* A graph as C: NAME.h, NAME.c and NAME.weights. A program that has them runs the graph with inductor_runtime.h alone,
   built with IND_RUNTIME_ONLY: without the compiler, NVRTC, or this header. */
typedef struct ind_export_desc {
    const char *name;           /* with which the names in both files begin: a C identifier */
    ind_module *const *modules; /* of one graph, compiled with emit_only, each for another target: the order in which
                                   a device tries them */
    int num_modules;
    const char *header, *source; /* paths of NAME.h and NAME.c */
} ind_export_desc;

/* Compiles all kernels, as ind_module_build_cubins, and writes both files. Needs NVRTC but no GPU. Errors: those of
   ind_module_build_cubins; IND_ERROR_IO; IND_ERROR_NOT_SUPPORTED: the graph has extern calls or has sizes
   that depend on data, or the target is PTX. */
IND_API ind_status ind_export(const ind_export_desc *desc);

/* Writes the constants of the module, given by name in host memory, as NAME.weights. */
IND_API ind_status ind_export_weights(ind_module *module, const ind_binding *constants, int num, const char *path);
