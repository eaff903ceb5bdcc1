/* ------------------------------------------------------------------------------------------------ >>status */

/* Every function that can fail returns one of these; ind_error() gives the sentence that describes the failure. */
#define IND_STATUSES(X)                                                                                                \
    X(IND_OK, "ok")                                                                                                    \
    X(IND_ERROR_INVALID_ARGUMENT, "invalid argument")                                                                  \
    X(IND_ERROR_OUT_OF_MEMORY, "out of memory")                                                                        \
    X(IND_ERROR_NOT_SUPPORTED, "not supported")                                                                        \
    X(IND_ERROR_NOT_FOUND, "not found")                                                                                \
    X(IND_ERROR_SHAPE_MISMATCH, "shapes do not fit")                                                                   \
    X(IND_ERROR_TYPE_MISMATCH, "types do not fit")                                                                     \
    X(IND_ERROR_OUT_OF_RANGE, "out of range")                                                                          \
    X(IND_ERROR_OVERFLOW, "integer overflow")                                                                          \
    X(IND_ERROR_LIMIT, "limit exceeded")                                                                               \
    X(IND_ERROR_PARSE, "syntax error")                                                                                 \
    X(IND_ERROR_IO, "file error")                                                                                      \
    X(IND_ERROR_LIBRARY, "library not found")                                                                          \
    X(IND_ERROR_DEVICE, "device error")                                                                                \
    X(IND_ERROR_COMPILE, "kernel compiler error")                                                                      \
    X(IND_ERROR_INDEX_OUT_OF_RANGE, "index out of range")                                                              \
    X(IND_ERROR_VERIFY, "internal invariant broken")                                                                   \
    X(IND_ERROR_CANCELLED, "cancelled")

typedef enum ind_status {
#define X(status, text) status,
    IND_STATUSES(X)
#undef X
} ind_status;

/* The names of version 0.1, which 0.3 will not have. IND_NO_OLD_NAMES leaves them out. */
#ifndef IND_NO_OLD_NAMES
#define IND_INVALID_ARGUMENT   IND_ERROR_INVALID_ARGUMENT
#define IND_OUT_OF_MEMORY      IND_ERROR_OUT_OF_MEMORY
#define IND_NOT_SUPPORTED      IND_ERROR_NOT_SUPPORTED
#define IND_NOT_FOUND          IND_ERROR_NOT_FOUND
#define IND_SHAPE_MISMATCH     IND_ERROR_SHAPE_MISMATCH
#define IND_TYPE_MISMATCH      IND_ERROR_TYPE_MISMATCH
#define IND_OUT_OF_RANGE       IND_ERROR_OUT_OF_RANGE
#define IND_OVERFLOW           IND_ERROR_OVERFLOW
#define IND_LIMIT              IND_ERROR_LIMIT
#define IND_PARSE              IND_ERROR_PARSE
#define IND_IO                 IND_ERROR_IO
#define IND_LIBRARY            IND_ERROR_LIBRARY
#define IND_DEVICE             IND_ERROR_DEVICE
#define IND_COMPILE            IND_ERROR_COMPILE
#define IND_INDEX_OUT_OF_RANGE IND_ERROR_INDEX_OUT_OF_RANGE
#define IND_VERIFY             IND_ERROR_VERIFY
#endif

/* The text of a status code, never NULL. */
IND_API const char *ind_status_text(ind_status status);
