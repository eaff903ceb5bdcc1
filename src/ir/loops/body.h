/* ------------------------------------------------------------------------------------------------- >>body */

struct ind_graph;

/* A tensor of a graph (see inductor.h). id 0: none, or a failed op; every op accepts it and records no new error. */
typedef struct ind_tensor {
    struct ind_graph *graph;
    uint32_t id;
} ind_tensor;

/* The handler under which a loop function runs, and a value in it (id 0: invalid; the handler has the reason). */
typedef struct ind_ops ind_ops;
typedef struct ind_value {
    uint32_t id;
} ind_value;

/* The computation of one element. index has one expression per dimension. The function is called once, immediately,
   to record the body; it must be pure. */
typedef ind_value (*ind_loop_fn)(ind_ops *o, const ind_expr *index, int rank, void *user);

IND_API ind_value ind_op_constant(ind_ops *o, double value, ind_dtype dtype);
IND_API ind_value ind_op_constant_int(ind_ops *o, int64_t value, ind_dtype dtype);
IND_API ind_value ind_op_index(ind_ops *o, ind_expr e, ind_dtype dtype);
/* Loads an element of a tensor of the graph under construction; the result has the compute type of its dtype. */
IND_API ind_value ind_op_load(ind_ops *o, ind_tensor x, const ind_expr *index, int rank);
IND_API ind_value ind_op_cast(ind_ops *o, ind_value x, ind_dtype dtype); /* to f16 or bf16: rounds, stays f32 */
/* Converts an integer value to an index in [0, size). It is checked at run time unless its range proves it. A violation
   is reported as IND_ERROR_INDEX_OUT_OF_RANGE and reads element 0. wrap: negative values count from the end. */
IND_API ind_expr ind_op_indirect(ind_ops *o, ind_value x, ind_expr size, bool wrap);
/* Returns fn's value if mask is true, else `other`; fn's loads do not access memory if mask is false. */
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
   a number >= 0. key, stream and position are i64; the counter's low half is the position, its high half the stream.
   The bits depend on these arguments only and are equal on all devices. width is in [1, 63], within one half:
   first / 64 == (first + width - 1) / 64; first + width <= 128. */
IND_API ind_value ind_op_philox(ind_ops *o, ind_value key, ind_value stream, ind_value position, int first, int width);

/* A user function of one element in CUDA C, with a host twin in C for the host device. It fuses like every other op:
   ind_call makes an op of it, ind_op_call uses it inside a loop function. Arguments and result have declared types.
   f16, bf16 and the 8-bit floats are passed as float, and the result is rounded when it is stored. Other types are
   passed as the CUDA type of their name (i64: long long, u8: unsigned char, bool: bool ..). It must be pure. */
#define IND_MAX_FUNCTION_ARGS 5

typedef union ind_element {
    float f;   /* f32, f16, bf16, 8-bit floats */
    double d;  /* f64 */
    int64_t i; /* integers and bool */
} ind_element;

/* The host twin: computes the result for one element; called from several threads at once. */
typedef ind_element (*ind_function_fn)(const ind_element *x, void *user);

typedef struct ind_function_desc {
    const char *signature; /* "swish(x: f32, beta: f32) -> f32"; names are letters, digits and _ */
    const char *cuda;      /* an expression in the arguments, or, if it contains a ;, the body of a function */
    ind_function_fn host;  /* NULL: none, and the host device returns IND_ERROR_NOT_SUPPORTED */
    void *user;
} ind_function_desc;

/* Registers a function in a context under its name; strings are copied. A text that declares it (>>text in inductor.h)
   finds its host twin by name; if this is the only use, cuda may be NULL. Registering the same again is allowed.
   Errors: IND_ERROR_INVALID_ARGUMENT (NULL; another function has the name), IND_ERROR_PARSE (the signature),
   IND_ERROR_LIMIT. */
IND_API ind_status ind_function_register(ind_context *context, const ind_function_desc *desc);

/* An extern call: an op that runs a function of the caller, for example a kernel of another library. It is a separate
   step of the schedule. The function gets contiguous operands and memory for its results. On CUDA it enqueues its work
   on the given stream, which may be under graph capture, and must not synchronise. On the host it does the work itself.
   All memory that `call` points to is valid until it returns. If the size of dimension 0 comes from data, size[0] is
   its upper bound, and `count` points to the size in device memory. The size is valid after the work enqueued before.
   Elements after it are undefined, and may be written. */
typedef struct ind_extern_tensor {
    void *data; /* may be NULL if there are no elements */
    ind_dtype dtype;
    int rank;
    const int64_t *size, *stride; /* rank entries each; strides in elements, row-major unless `strided` */
    const int64_t *count;         /* the size of dimension 0 if it comes from data; else NULL */
} ind_extern_tensor;

#define IND_EXTERN_MESSAGE 256

typedef struct ind_extern_call {
    const char *name;
    ind_device device; /* IND_DEVICE_HOST or IND_DEVICE_CUDA */
    void *stream;      /* CUstream; its context is current during the call; NULL on the host */
    const ind_extern_tensor *input;
    int num_inputs;
    const ind_extern_tensor *output; /* the results, then the overwritten inputs */
    int num_outputs;
    void *workspace; /* aligned to 256 bytes; undefined contents; NULL if none was requested */
    int64_t workspace_bytes;
    char *message; /* room for IND_EXTERN_MESSAGE bytes, "" at first: why the call fails, which the error repeats */
    const ind_symbol *size; /* the module's declared sizes, and their values in this run */
    const int64_t *size_value;
    int num_sizes;
    void *user; /* of the registration */
} ind_extern_call;

/* A status other than IND_OK is returned by ind_run with the op's name, and no later step runs. Modules that run in
   several threads call it in several threads. */
typedef ind_status (*ind_extern_fn)(const ind_extern_call *call);

typedef struct ind_extern_type {
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK];
} ind_extern_type;

/* Sets the types of the results (at most IND_MAX_EXTERN_RESULTS) and the bytes of workspace (0 on entry) for operands
   of these types. It must depend on nothing else. A failure is reported by its status. */
#define IND_MAX_EXTERN_RESULTS 8
typedef ind_status (*ind_extern_shape_fn)(ind_context *context, const ind_extern_type *input, int num_inputs,
                                          ind_extern_type *result, int *num_results, ind_expr *workspace, void *user);

typedef struct ind_extern_desc {
    const char *name;          /* letters, digits, _ and . */
    ind_extern_fn host, cuda;  /* a missing one makes ind_compile for that device IND_ERROR_NOT_SUPPORTED */
    ind_extern_shape_fn shape; /* NULL: each call declares the types of its results */
    void *user;
    /* Operands of two or more dimensions may be views, such as transposed matrices or parts of longer rows. One of the
       last two dimensions has stride 1, the other at least its size, the dimensions before them any stride from 0 on.
       Other views are copied to contiguous memory, as all views are without this flag. */
    bool strided;
} ind_extern_desc;

/* Registers an extern call in a context under its name. Registering the same again is allowed. Errors:
   IND_ERROR_INVALID_ARGUMENT (NULL, no name; another one has the name), IND_ERROR_OUT_OF_MEMORY. */
IND_API ind_status ind_extern_register(ind_context *context, const ind_extern_desc *desc);

/* Returns the value of a user function inside a loop; arguments are cast to the declared types. Errors, as a failed op:
   no such function, wrong number of arguments, a type that does not promote to the declared one. */
IND_API ind_value ind_op_call(ind_ops *o, const char *function, const ind_value *args, int num_args);
