/* ------------------------------------------------------------------------------------------------- >>packed */

/* Formats of packed tensors, whose elements are read from blocks of bytes. Enumerator, text name, elements per block,
   bytes per block, scale in a tensor of its own. INT4: the block is a group of 32; groups of 64 and 128 are longer. */
#define IND__QUANTISED_FORMATS(X)                                                                                      \
    X(F16, "f16", 1, 2, false)                                                                                         \
    X(BF16, "bf16", 1, 2, false)                                                                                       \
    X(Q8_0, "q8_0", 32, 34, false)                                                                                     \
    X(Q4_0, "q4_0", 32, 18, false)                                                                                     \
    X(Q4_1, "q4_1", 32, 20, false)                                                                                     \
    X(Q5_0, "q5_0", 32, 22, false)                                                                                     \
    X(Q5_1, "q5_1", 32, 24, false)                                                                                     \
    X(Q2_K, "q2_k", 256, 84, false)                                                                                    \
    X(Q3_K, "q3_k", 256, 110, false)                                                                                   \
    X(Q4_K, "q4_k", 256, 144, false)                                                                                   \
    X(Q5_K, "q5_k", 256, 176, false)                                                                                   \
    X(Q6_K, "q6_k", 256, 210, false)                                                                                   \
    X(IQ4_NL, "iq4_nl", 32, 18, false)                                                                                 \
    X(IQ4_XS, "iq4_xs", 256, 136, false)                                                                               \
    X(INT4, "int4", 32, 16, true)                                                                                      \
    X(MXFP4, "mxfp4", 32, 16, true)                                                                                    \
    X(NVFP4, "nvfp4", 16, 8, true)

typedef enum ind__quantised {
#define X(name, text, elements, bytes, scaled) IND__QUANTISED_##name,
    IND__QUANTISED_FORMATS(X)
#undef X
        IND__NUM_QUANTISED
} ind__quantised;

/* Returns `value`, an f32 computed from the bytes of a packed tensor, and records of what format its element is, so
   that a template can read whole blocks in place of it. first: byte 0 of the element's block, as i32. scale, zero:
   those of the element, for formats that have them in tensors of their own (id 0: none); for the others scale is the
   number of the element in its block. group: elements per scale, of INT4. imm.i of the instruction is
   format | group << 8. */
ind_value ind__op_packed(ind_ops *o, ind_value value, ind_value first, ind_value scale, ind_value zero,
                         ind__quantised format, int64_t group);
