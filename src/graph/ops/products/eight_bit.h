/* ---- matrix products of 8-bit operands */

#define IND_OPS_EIGHT_BIT(X)                                                                                           \
    X(SCALED_MM, "scaled_mm", "self mat2 scale_a scale_b bias?", "out_dtype:dtype=none use_fast_accum:bool=false", 1,  \
      "MQ")                                                                                                            \
    X(INT_MM, "int_mm", "self mat2", "", 1, "M")

/* (a @ b) * scale_a * scale_b + bias, as torch._scaled_mm, for a [m, k] and b [k, n] of 8-bit floats. The result is
   rounded once, as by a cast. Products are summed in f32. On tensor cores the sum of each 128 of them may have fewer
   bits (sm_90: about 14), the sum of these sums has 24. desc may be NULL.
   A scale is f32, and has one of these sizes:
     scale_a                             scale_b                             one number for
     one element                         one element                         the operand
     [m, 1]                              [1, n]                              a row of a, a column of b
     [m, CeilDiv(k, 128)]                [CeilDiv(k, 128), n]                128 elements of such a row or column
     [CeilDiv(m, 128), CeilDiv(k, 128)]  [CeilDiv(k, 128), CeilDiv(n, 128)]  128 x 128 elements of the operand
   With scales of the last two forms, the sum over each block of 128 along k is multiplied by the block's scales in f32,
   then added, whatever use_fast_accum is. Where such a scale is infinite or NaN, results are infinite or NaN. Each
   operand's scale has a form of its own. Sizes that fit two forms mean the same in both. Error:
   IND_ERROR_SHAPE_MISMATCH for other sizes. */
typedef struct ind_scaled_mm_desc {
    ind_tensor bias;     /* [n], f32, f16 or bf16; IND_NO_TENSOR: none */
    ind_dtype out_dtype; /* a float type; IND_DTYPE_NONE: that of a */
    bool use_fast_accum; /* all products may be summed with the precision of tensor cores, which is faster */
} ind_scaled_mm_desc;
IND_API ind_tensor ind_scaled_mm(ind_tensor a, ind_tensor b, ind_tensor scale_a, ind_tensor scale_b,
                                 const ind_scaled_mm_desc *desc);
/* a @ b for i8 matrices, as torch._int_mm: i32, exact but for overflow. */
IND_API ind_tensor ind_int_mm(ind_tensor a, ind_tensor b);
