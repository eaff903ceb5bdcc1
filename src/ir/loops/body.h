/* ------------------------------------------------------------------------------------------------- >>body */

struct ind_graph;

/* A tensor of a graph (see inductor.h). id 0: none, or a failed op; every op accepts it and stays quiet. */
typedef struct ind_tensor {
    struct ind_graph *graph;
    uint32_t id;
} ind_tensor;

/* The handler a loop function is run under, and a value in it (id 0: invalid; the handler keeps the reason). */
typedef struct ind_ops ind_ops;
typedef struct ind_value {
    uint32_t id;
} ind_value;

/* The computation of one element. index has one expression per dimension. The function is called once, at once,
   to record the body; it must be pure. */
typedef ind_value (*ind_loop_fn)(ind_ops *o, const ind_expr *index, int rank, void *user);

IND_API ind_value ind_op_constant(ind_ops *o, double value, ind_dtype dtype);
IND_API ind_value ind_op_constant_int(ind_ops *o, int64_t value, ind_dtype dtype);
IND_API ind_value ind_op_index(ind_ops *o, ind_expr e, ind_dtype dtype);
/* Element of a tensor of the graph that is being built; the result has the compute type of its dtype. */
IND_API ind_value ind_op_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank);
IND_API ind_value ind_op_cast(ind_ops *o, ind_value x, ind_dtype dtype); /* to f16 or bf16: rounds, stays f32 */
/* Turns an integer value into an index in [0, size): checked at run time where ranges do not prove it; a violation is
   reported as IND_INDEX_OUT_OF_RANGE and reads element 0. wrap: negative values count from the end. */
IND_API ind_expr ind_op_indirect(ind_ops *o, ind_value x, ind_expr size, bool wrap);
/* fn's value where mask holds, else `other`; fn's loads do not touch memory where it does not. */
IND_API ind_value ind_op_masked(ind_ops *o, ind_value mask, ind_loop_fn fn, const ind_expr *index, int rank, void *user,
                                double other);
IND_API ind_dtype ind_op_dtype(ind_ops *o, ind_value x);
IND_API ind_context *ind_op_context(ind_ops *o);

/* One function per row of IND_LOOP_OPS: ind_op_neg(o, x), ind_op_add(o, a, b), ind_op_where(o, c, a, b) ... */
#define IND__DECLARE_UNARY(text)  IND_API ind_value ind_op_##text(ind_ops *o, ind_value a);
#define IND__DECLARE_BINARY(text) IND_API ind_value ind_op_##text(ind_ops *o, ind_value a, ind_value b);
/* clang-format off */
#define IND__UNARY_OPS(X)                                                                                              \
    X(neg) X(abs) X(exp) X(log) X(sqrt) X(rsqrt) X(reciprocal) X(tanh) X(erf) X(sigmoid) X(sin) X(cos) X(tan)          \
    X(asin) X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(exp2) X(expm1) X(log2) X(log10) X(log1p)      \
    X(floor) X(ceil) X(trunc) X(rint) X(erfc) X(lgamma) X(erfinv) X(digamma) X(i0e) X(i1e) X(j0) X(j1) X(y0) X(y1)     \
    X(not)
#define IND__BINARY_OPS(X)                                                                                             \
    X(add) X(sub) X(mul) X(div) X(pow) X(maximum) X(minimum) X(fmod) X(atan2) X(hypot) X(copysign) X(nextafter)        \
    X(zeta) X(igamma) X(igammac) X(bit_and) X(bit_or) X(bit_xor) X(shift_left) X(shift_right) X(gcd)                   \
    X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(and) X(or)
/* clang-format on */
IND__UNARY_OPS(IND__DECLARE_UNARY)
IND__BINARY_OPS(IND__DECLARE_BINARY)
IND_API ind_value ind_op_where(ind_ops *o, ind_value condition, ind_value a, ind_value b);
/* Bits [first, first + width) of Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") as
   a number >= 0: key, stream and position are i64; the counter's low half is the position, its high half the stream. A
   number of random bits that depends on nothing else, on any device. width in [1, 63], within one half: first / 64 ==
   (first + width - 1) / 64; first + width <= 128. */
IND_API ind_value ind_op_philox(ind_ops *o, ind_value key, ind_value stream, ind_value position, int first, int width);

/* A function of the user's for one element, written in CUDA C, with a twin in C for the host device. It fuses like
   every other op: ind_call makes an op of it, ind_op_call uses it inside a loop function. Arguments and result have
   declared types; f16, bf16 and the 8-bit floats arrive as float and the result is rounded where it is stored, all
   other types arrive as the CUDA type of their name (i64: long long, u8: unsigned char, bool: bool ..). It must be
   pure. */
#define IND_MAX_FUNCTION_ARGS 5

typedef union ind_element {
    float f;   /* f32, f16, bf16, 8-bit floats */
    double d;  /* f64 */
    int64_t i; /* integers and bool */
} ind_element;

/* The host twin: the result for one element; called from several threads at once. */
typedef ind_element (*ind_function_fn)(const ind_element *x, void *user);

typedef struct ind_function_desc {
    const char *signature; /* "swish(x: f32, beta: f32) -> f32"; names are letters, digits and _ */
    const char *cuda;      /* an expression in the arguments, or, if there is a ; in it, the body of a function */
    ind_function_fn host;  /* NULL: none, and the host device says IND_NOT_SUPPORTED */
    void *user;
} ind_function_desc;

/* Makes a function known in a context under its name; strings are copied. A text that declares it (>>text in
   inductor.h) finds its host twin by the name; for that alone, cuda may be NULL. The same may be said again.
   Errors: IND_INVALID_ARGUMENT (NULL; another function has the name), IND_PARSE (the signature), IND_LIMIT. */
IND_API ind_status ind_function_register(ind_context *context, const ind_function_desc *desc);

/* An opaque call: an op that is a function of the caller's, a kernel of another library for example. It is a step of
   the schedule of its own. The function gets its operands as they lie in memory, contiguous, and memory for its
   results; on CUDA it enqueues its work on the stream that it is given (which may be one that is being captured into a
   graph) and must not wait; on the host it does it. All that `call` points to is valid until it returns. Where the size
   of dimension 0 comes from data, size[0] is the most it can be, and `count` where the size itself is: in the device's
   memory, and there once what was enqueued before is done. Elements behind it are undefined, and may be written. */
typedef struct ind_extern_tensor {
    void *data; /* may be NULL where there are no elements */
    ind_dtype dtype;
    int rank;
    const int64_t *size, *stride; /* rank entries each; strides in elements, row-major */
    const int64_t *count;         /* the size of dimension 0 if it comes from data; else NULL */
} ind_extern_tensor;

typedef struct ind_extern_call {
    const char *name;
    ind_device device; /* IND_DEVICE_HOST or IND_DEVICE_CUDA */
    void *stream;      /* CUstream, of whose context it is called in; NULL on the host */
    const ind_extern_tensor *input;
    int num_inputs;
    const ind_extern_tensor *output; /* the results, then the inputs that it overwrites */
    int num_outputs;
    void *workspace; /* aligned to 256 bytes; its contents are undefined; NULL if it asked for none */
    int64_t workspace_bytes;
    const ind_symbol *size; /* the module's declared sizes, and their values in this run */
    const int64_t *size_value;
    int num_sizes;
    void *user; /* of the registration */
} ind_extern_call;

/* What is returned, if not IND_OK, comes out of ind_run with the op's name; nothing after it runs. Modules that run in
   several threads call it in several threads. */
typedef ind_status (*ind_extern_fn)(const ind_extern_call *call);

typedef struct ind_extern_type {
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK];
} ind_extern_type;

/* Types of the results (at most IND_MAX_EXTERN_RESULTS) and bytes of workspace (0 when it is called) for operands of
   these types. It must depend on nothing else. What fails says why by its status. */
#define IND_MAX_EXTERN_RESULTS 8
typedef ind_status (*ind_extern_shape_fn)(ind_context *context, const ind_extern_type *input, int num_inputs,
                                          ind_extern_type *result, int *num_results, ind_expr *workspace, void *user);

typedef struct ind_extern_desc {
    const char *name;          /* letters, digits, _ and . */
    ind_extern_fn host, cuda;  /* a missing one makes ind_compile for that device IND_NOT_SUPPORTED */
    ind_extern_shape_fn shape; /* NULL: each call says the types of its results */
    void *user;
} ind_extern_desc;

/* Makes an opaque call known in a context under its name. The same may be said again. Errors: IND_INVALID_ARGUMENT
   (NULL, no name; another one has the name), IND_OUT_OF_MEMORY. */
IND_API ind_status ind_extern_register(ind_context *context, const ind_extern_desc *desc);

/* Its value for values in a loop; arguments are cast to the declared types. Errors, as a failed op: no such function,
   another number of arguments, a type that does not promote to the declared one. */
IND_API ind_value ind_op_call(ind_ops *o, const char *function, const ind_value *args, int num_args);
