/* ---- functions of the user ---- */

/* Immutable; in the context's memory. */
typedef struct ind__function {
    const struct ind__function *next; /* made before */
    const char *name, *cuda;          /* cuda NULL: only the twin was registered */
    const char *arg[IND_MAX_FUNCTION_ARGS];
    ind_dtype arg_dtype[IND_MAX_FUNCTION_ARGS], dtype;
    int num_args;
    ind_function_fn host;
    void *user;
    bool registered; /* found by its name in the context; else it belongs to a text */
} ind__function;
/* The registered function of this name; NULL: there is none. */
const ind__function *ind__function_find(const ind_context *c, const char *name);
/* The function that a text declares; one made before where it is equal, its twin that of the registered one.
   NULL on failure. */
const ind__function *ind__function_declare(ind_context *c, const char *signature, const char *cuda);
/* May an operand of this type stand for an argument of that one: does it promote to it? */
bool ind__function_takes(ind_dtype argument, ind_dtype given);
ind_value ind__emit_call(ind_ops *o, const ind__function *f, const ind_value *args);
void ind__function_print_signature(ind__text *t, const ind__function *f);

/* ---- opaque calls ---- */

typedef struct ind__extern {
    const struct ind__extern *next; /* registered before */
    ind_extern_desc desc;
} ind__extern;
const ind__extern *ind__extern_find(const ind_context *c, const char *name); /* NULL: not registered */

/* One operand of a call in a lowered program: a buffer, or a part of the program's view of one, that lies contiguous.
 */
typedef struct ind__call_arg {
    uint32_t buffer;
    ind_extern_type type;
} ind__call_arg;

/* A loop that is none. Its body stands for it in all that asks what is read and written: it has no variables, loads an
   element of each buffer that the call reads and stores one of each that it writes. */
typedef struct ind__opaque {
    const char *name;
    const ind__extern *op; /* NULL: nobody registered it */
    ind__call_arg *arg;    /* inputs, then outputs */
    uint32_t num_inputs, num_outputs;
    uint32_t workspace; /* buffer of bytes, written by the call; 0: none */
} ind__opaque;
/* IND_NOT_SUPPORTED, naming it, if it has no callback for the device. */
ind_status ind__call_needs(ind_context *c, const ind__opaque *call, ind_device device);
