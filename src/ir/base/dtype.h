/* ------------------------------------------------------------------------------------------------- >>dtype */

/* Element types: enumerator, text name, bytes, class (b bool, u unsigned, i signed, f float), type in emitted code.
   The order inside a class is the order of promotion. */
#define IND_DTYPES(X)                                                                                                  \
    X(BOOL, "bool", 1, 'b', "unsigned char")                                                                           \
    X(U8, "u8", 1, 'u', "unsigned char")                                                                               \
    X(I8, "i8", 1, 'i', "signed char")                                                                                 \
    X(I16, "i16", 2, 'i', "short")                                                                                     \
    X(I32, "i32", 4, 'i', "int")                                                                                       \
    X(I64, "i64", 8, 'i', "long long")                                                                                 \
    X(F16, "f16", 2, 'f', "unsigned short")                                                                            \
    X(BF16, "bf16", 2, 'f', "unsigned short")                                                                          \
    X(F32, "f32", 4, 'f', "float")                                                                                     \
    X(F64, "f64", 8, 'f', "double")                                                                                    \
    X(F8E4M3FN, "f8e4m3fn", 1, 'f', "unsigned char") /* at most 448, no infinity; storage and casts only */            \
    X(F8E5M2, "f8e5m2", 1, 'f', "unsigned char") /* storage and casts only; has infinity (Micikevicius et al. 2022) */

typedef enum ind_dtype {
    IND_DTYPE_NONE, /* zero in a desc: the type of the input */
#define X(name, text, bytes, cls, ctype) IND_##name,
    IND_DTYPES(X)
#undef X
        IND_NUM_DTYPES
} ind_dtype;

IND_API const char *ind_dtype_name(ind_dtype dtype);
IND_API int ind_dtype_bytes(ind_dtype dtype);
IND_API bool ind_dtype_is_float(ind_dtype dtype);
IND_API bool ind_dtype_is_integer(ind_dtype dtype); /* u8 to i64; bool is neither */
/* The type in which values of this storage type are computed: f32 for f16, bf16 and the 8-bit floats, else the type
   itself. */
IND_API ind_dtype ind_dtype_compute(ind_dtype dtype);
/* PyTorch's promotion of two tensor types (torch.promote_types); NONE for an 8-bit float and another type. */
IND_API ind_dtype ind_dtype_promote(ind_dtype a, ind_dtype b);
/* The type with this text name; IND_DTYPE_NONE if there is none, or name is NULL. */
IND_API ind_dtype ind_dtype_parse(const char *name, size_t length);
