/* ------------------------------------------------------------------------------------------------ >>status */

/* Every function that can fail returns one of these; ind_error() gives the sentence that describes the failure. */
#define IND_STATUSES(X)                                                                                                \
    X(OK, "ok")                                                                                                        \
    X(INVALID_ARGUMENT, "invalid argument")                                                                            \
    X(OUT_OF_MEMORY, "out of memory")                                                                                  \
    X(NOT_SUPPORTED, "not supported")                                                                                  \
    X(NOT_FOUND, "not found")                                                                                          \
    X(SHAPE_MISMATCH, "shapes do not fit")                                                                             \
    X(TYPE_MISMATCH, "types do not fit")                                                                               \
    X(OUT_OF_RANGE, "out of range")                                                                                    \
    X(OVERFLOW, "integer overflow")                                                                                    \
    X(LIMIT, "limit exceeded")                                                                                         \
    X(PARSE, "syntax error")                                                                                           \
    X(IO, "file error")                                                                                                \
    X(LIBRARY, "library not found")                                                                                    \
    X(DEVICE, "device error")                                                                                          \
    X(COMPILE, "kernel compiler error")                                                                                \
    X(INDEX_OUT_OF_RANGE, "index out of range")                                                                        \
    X(VERIFY, "internal invariant broken")

typedef enum ind_status {
#define X(name, text) IND_##name,
    IND_STATUSES(X)
#undef X
} ind_status;

/* The text of a status code, never NULL. */
IND_API const char *ind_status_text(ind_status status);
