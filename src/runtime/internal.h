/* ---------------------------------------------------------------------------------------------- >>internal */

/* A condition that holds at every launch: promised (a fact), or compiled for (a guard). As given, not simplified. */
typedef struct ind__condition {
    ind_expr e;
    bool guard;
    const char *text; /* as it was written */
} ind__condition;

/* Everything a module is made of; ownership of lowered (an ind__alloc block), schedule and plan goes to the module,
   also on failure. Names and arrays are copied. */
typedef struct ind__module_desc {
    ind_device device; /* HOST or CUDA, not AUTO */
    ind__lowered *lowered;
    ind_schedule *schedule;
    ind_plan *plan; /* NULL for the host device */
    const char *name;
    const ind_expr *sizes; /* the declared size symbols in order */
    uint32_t num_sizes;
    const char *const *origin_name; /* per graph node, for messages */
    const char *const *called_name; /* the same, of a part of a composite that composite's; NULL: there are none */
    const char *const *result_name; /* per graph node: the tensors that it makes, "values, indices" */
    uint32_t num_origins;
    const ind__condition *condition; /* on sizes, beyond their ranges */
    uint32_t num_conditions;
    bool all_variants;      /* are built now, not only those for the hints */
    ind_module_stats stats; /* lower_ms .. emit_ms filled by the caller */
} ind__module_desc;
/* c: a context of the module's own (ind__context_fork), which it frees, unless this fails; or the user's. */
ind_status ind__module_create(ind_context *c, const ind__module_desc *d, ind_module **module);

struct ind_module {
    ind__owned owned; /* first */
    ind_context *context;
    ind__module_desc desc; /* names and arrays copied into the arena */
    ind__arena arena;
    ind_facts *facts; /* all its conditions; NULL: there are none */
    ind_binding_info *binding;
    uint32_t num_bindings, num_inputs, num_consts;
    void **constant;       /* per binding: device pointer set by ind_module_constant, or NULL */
    void **constant_block; /* per binding: the allocation behind it where the module owns it */
    /* Made on demand by inductor.h, freed with the module. */
    char *stage_text[16]; /* by stage */
    char *html;
    char **name; /* two for each loop: its ops, and what they make; then each buffer's tensor */
    size_t num_names;
    struct ind__executable *executable; /* device part */
};

/* Queries of a module take turns: they make expressions in its context. Between these two, which may be nested. The end
   gives the query's status, IND_OUT_OF_MEMORY where an allocation was refused on the way: the answer may then be wrong.
 */
typedef struct ind__query {
    ind_context *context;
    uint32_t refusals;
} ind__query;
ind__query ind__query_begin(const ind_module *m);
ind_status ind__query_end(const ind__query *q, ind_status status);

/* Resolves AUTO, opens the device; *target is filled for CUDA, whose context may still be being made: whoever needs it
   waits for it. */
ind_status ind__device_resolve(ind_context *c, ind_device wanted, ind_device *device, ind_target *target);
/* Waits for that, where nobody has needed it: a program may end while a compile that has failed is its last call. */
void ind__device_settle(ind_context *c);
/* Compiles CUDA C to a cubin or PTX through NVRTC without a GPU; *out is the caller's (ind__free). */
ind_status ind__nvrtc_compile(ind_context *c, const char *source, const char *name, const ind_target *t, bool ptx,
                              void **out, size_t *bytes);
/* The cubin of a variant of the module's plan, from the context's table or its pack, or compiled now and kept in the
   table, so that ind_pack_save writes it. Needs NVRTC but no GPU. *cubin is the caller's (ind__free). */
ind_status ind__module_cubin(ind_module *m, const struct ind__variant *v, void **cubin, size_t *bytes);
/* Registers and bytes of local memory per thread of the kernel in a cubin; -1: it does not say. */
void ind__cubin_resources(const void *cubin, size_t bytes, int *registers, int *local_bytes);
ind_status ind__read_file(ind_context *c, const char *path, char **data, size_t *bytes); /* terminated copy */
ind_status ind__write_file(ind_context *c, const char *path, const void *data,
                           size_t bytes); /* atomic: temp + rename */
double ind__now_ms(void);
#define IND__SIZE_UNSET INT64_MIN
/* "B=8, S=128" -> values in order, IND__SIZE_UNSET for those not given; ranges of those given are checked. who stands
   before messages ("run"). IND_PARSE, IND_NOT_FOUND, IND_OUT_OF_RANGE (names the range as declared). */
ind_status ind__module_given_sizes(ind_module *m, const char *who, const char *text, int64_t *values);
/* The same for all sizes: those that follow from others are filled in, the conditions are checked.
   IND_INVALID_ARGUMENT names a size that is missing. */
ind_status ind__module_sizes(ind_module *m, const char *who, const char *text, int64_t *values);
