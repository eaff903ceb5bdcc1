/* ------------------------------------------------------------------------------------------------- >>raise */
/* The opposite of a lowering: turns the recorded body of a kernel, or of a custom op, into a graph of ops. Inputs are
   the buffers that it reads, outputs the buffers that it writes, under their names.

   Every loop of the body becomes a dimension. A value is a tensor of that rank, with size 1 along loops on which it
   does not depend. Numbers stay numbers until an op needs a tensor. Every affine index becomes a view, so loops are
   first split if that removes a division from an index. Any other index becomes a tensor of integers and the access a
   take, whose lowering turns it back into an index. */

typedef struct graph__raised_buffer {
    ind_tensor held; /* its current contents; of `size`, contiguous as in memory */
    const char *name;
    ind_dtype dtype;
    bool parts;       /* other kernels store into it after this one */
    uint32_t mutates; /* the buffer that this is a new version of; 0: none */
    int rank;
    ind_expr size[IND_MAX_RANK];
} graph__raised_buffer;

typedef struct graph__raise {
    ind_graph *g;
    ind_context *c;
    const ind_body *body;
    ind__loops loops;
    int rank; /* loops, of both kinds; the first loops.rank are parallel */
    ind_tensor *value;
    graph__raised_buffer *buffer; /* by source */
    uint32_t num_buffers;
    struct {
        ind_expr e;
        ind_tensor t;
    } * made; /* tensors of index expressions, each created once */
    uint32_t num_made, cap_made;
    const ind__unbacked *unbacked; /* data-dependent sizes; those used are sizes of the graph */
    uint32_t num_unbacked;
    ind_expr from_data[IND__MAX_UNBACKED], declared[IND__MAX_UNBACKED]; /* each, and the size that replaces it here */
    int num_declared;
    bool keeps_checks; /* checks of unused indices were added */
} graph__raise;

/* The graph op that computes the loop op; 0: it takes more than one op. */
static const uint16_t graph__raised_op[IND_NUM_LOOP_OPS] = {
    [IND_LOOP_NEG] = IND_OP_NEG,
    [IND_LOOP_ABS] = IND_OP_ABS,
    [IND_LOOP_EXP] = IND_OP_EXP,
    [IND_LOOP_LOG] = IND_OP_LOG,
    [IND_LOOP_SQRT] = IND_OP_SQRT,
    [IND_LOOP_RSQRT] = IND_OP_RSQRT,
    [IND_LOOP_RECIPROCAL] = IND_OP_RECIPROCAL,
    [IND_LOOP_TANH] = IND_OP_TANH,
    [IND_LOOP_ERF] = IND_OP_ERF,
    [IND_LOOP_SIGMOID] = IND_OP_SIGMOID,
    [IND_LOOP_SIN] = IND_OP_SIN,
    [IND_LOOP_COS] = IND_OP_COS,
    [IND_LOOP_TAN] = IND_OP_TAN,
    [IND_LOOP_ASIN] = IND_OP_ASIN,
    [IND_LOOP_ACOS] = IND_OP_ACOS,
    [IND_LOOP_ATAN] = IND_OP_ATAN,
    [IND_LOOP_SINH] = IND_OP_SINH,
    [IND_LOOP_COSH] = IND_OP_COSH,
    [IND_LOOP_ASINH] = IND_OP_ASINH,
    [IND_LOOP_ACOSH] = IND_OP_ACOSH,
    [IND_LOOP_ATANH] = IND_OP_ATANH,
    [IND_LOOP_EXP2] = IND_OP_EXP2,
    [IND_LOOP_EXPM1] = IND_OP_EXPM1,
    [IND_LOOP_LOG2] = IND_OP_LOG2,
    [IND_LOOP_LOG10] = IND_OP_LOG10,
    [IND_LOOP_LOG1P] = IND_OP_LOG1P,
    [IND_LOOP_FLOOR] = IND_OP_FLOOR,
    [IND_LOOP_CEIL] = IND_OP_CEIL,
    [IND_LOOP_TRUNC] = IND_OP_TRUNC,
    [IND_LOOP_RINT] = IND_OP_ROUND,
    [IND_LOOP_ERFC] = IND_OP_ERFC,
    [IND_LOOP_LGAMMA] = IND_OP_LGAMMA,
    [IND_LOOP_ERFINV] = IND_OP_ERFINV,
    [IND_LOOP_DIGAMMA] = IND_OP_DIGAMMA,
    [IND_LOOP_I0E] = IND_OP_SPECIAL_I0E,
    [IND_LOOP_I1E] = IND_OP_SPECIAL_I1E,
    [IND_LOOP_J0] = IND_OP_SPECIAL_BESSEL_J0,
    [IND_LOOP_J1] = IND_OP_SPECIAL_BESSEL_J1,
    [IND_LOOP_Y0] = IND_OP_SPECIAL_BESSEL_Y0,
    [IND_LOOP_Y1] = IND_OP_SPECIAL_BESSEL_Y1,
    [IND_LOOP_NOT] = IND_OP_LOGICAL_NOT,
    [IND_LOOP_ADD] = IND_OP_ADD,
    [IND_LOOP_SUB] = IND_OP_SUB,
    [IND_LOOP_MUL] = IND_OP_MUL,
    [IND_LOOP_DIV] = IND_OP_DIV,
    [IND_LOOP_POW] = IND_OP_POW,
    [IND_LOOP_MAXIMUM] = IND_OP_MAXIMUM,
    [IND_LOOP_MINIMUM] = IND_OP_MINIMUM,
    [IND_LOOP_FMOD] = IND_OP_FMOD,
    [IND_LOOP_ATAN2] = IND_OP_ATAN2,
    [IND_LOOP_HYPOT] = IND_OP_HYPOT,
    [IND_LOOP_COPYSIGN] = IND_OP_COPYSIGN,
    [IND_LOOP_NEXTAFTER] = IND_OP_NEXTAFTER,
    [IND_LOOP_ZETA] = IND_OP_SPECIAL_ZETA,
    [IND_LOOP_IGAMMA] = IND_OP_IGAMMA,
    [IND_LOOP_IGAMMAC] = IND_OP_IGAMMAC,
    [IND_LOOP_BIT_AND] = IND_OP_BITWISE_AND,
    [IND_LOOP_BIT_OR] = IND_OP_BITWISE_OR,
    [IND_LOOP_BIT_XOR] = IND_OP_BITWISE_XOR,
    [IND_LOOP_SHIFT_LEFT] = IND_OP_BITWISE_LEFT_SHIFT,
    [IND_LOOP_SHIFT_RIGHT] = IND_OP_BITWISE_RIGHT_SHIFT,
    [IND_LOOP_GCD] = IND_OP_GCD,
    [IND_LOOP_EQ] = IND_OP_EQ,
    [IND_LOOP_NE] = IND_OP_NE,
    [IND_LOOP_LT] = IND_OP_LT,
    [IND_LOOP_LE] = IND_OP_LE,
    [IND_LOOP_GT] = IND_OP_GT,
    [IND_LOOP_GE] = IND_OP_GE,
    [IND_LOOP_AND] = IND_OP_LOGICAL_AND,
    [IND_LOOP_OR] = IND_OP_LOGICAL_OR,
    [IND_LOOP_WHERE] = IND_OP_WHERE,
    [IND_LOOP_PHILOX] = IND_OP_PHILOX,
};
