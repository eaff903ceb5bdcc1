/* ---- user functions ---- */

/* Immutable; allocated in the context's memory. */
typedef struct ind__function {
    const struct ind__function *next; /* created earlier */
    const char *name, *cuda;          /* cuda NULL: only the host twin was registered */
    const char *arg[IND_MAX_FUNCTION_ARGS];
    ind_dtype arg_dtype[IND_MAX_FUNCTION_ARGS], dtype;
    int num_args;
    ind_function_fn host;
    void *user;
    bool registered; /* found by name in the context; else declared by a text */
} ind__function;
/* Returns the registered function of this name; NULL: none. */
const ind__function *ind__function_find(const ind_context *c, const char *name);
/* Returns the function that a text declares, or an equal earlier one, with the host twin of the registered function.
   NULL on failure. */
const ind__function *ind__function_declare(ind_context *c, const char *signature, const char *cuda);
/* True if `given` promotes to `argument`. */
bool ind__function_takes(ind_dtype argument, ind_dtype given);
ind_value ind__emit_call(ind_ops *o, const ind__function *f, const ind_value *args);
void ind__function_print_signature(ind__text *t, const ind__function *f);

/* ---- extern calls ---- */

typedef struct ind__extern {
    const struct ind__extern *next; /* registered earlier */
    ind_extern_desc desc;
    bool product; /* a matrix product by cuBLASLt */
} ind__extern;
/* Like ind_extern_register. */
ind_status ind__extern_register(ind_context *context, const ind_extern_desc *desc, bool product);
const ind__extern *ind__extern_find(const ind_context *c, const char *name); /* NULL: not registered */

/* One operand of a call in a lowered program: a buffer, or a view of one. */
typedef struct ind__call_arg {
    uint32_t buffer;
    ind_extern_type type;
    ind_expr stride[IND_MAX_RANK], offset; /* of a view, in elements; offset invalid: contiguous */
} ind__call_arg;

/* An extern call in place of a loop. Its body describes its reads and writes to the analyses: it has no variables,
   loads one element of each buffer that the call reads, and stores one of each that it writes. */
typedef struct ind__extern_call {
    const char *name;
    const ind__extern *op; /* NULL: not registered */
    ind__call_arg *arg;    /* inputs, then outputs */
    uint32_t num_inputs, num_outputs;
    uint32_t workspace; /* buffer of bytes, written by the call; 0: none */
} ind__extern_call;
/* Returns IND_ERROR_NOT_SUPPORTED, with the call's name, if it has no callback for the device. */
ind_status ind__call_needs(ind_context *c, const ind__extern_call *call, ind_device device);
