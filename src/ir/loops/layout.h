/* ------------------------------------------------------------------------------------------------ >>layout */

/* Position of a buffer's elements in memory: element (i0, i1, ..) is at offset + sum of i * stride, in elements. */
typedef struct ind_layout {
    int rank;
    ind_expr size[IND_MAX_RANK];
    ind_expr stride[IND_MAX_RANK]; /* valid once fixed */
    ind_expr offset;
    uint8_t order[IND_MAX_RANK]; /* dimensions from slowest to fastest; fixing the layout turns it into strides */
    bool ordered;                /* a user of the buffer requires the order */
    bool fixed;
} ind_layout;

/* ------------------------------------------------------------------------------------------------- >>loops */

/* When a computed value is stored instead of inlined into its users: if storing moves fewer bytes than recomputing it
   in each user, and beyond these limits. Zero fields mean the default, the values measured by TorchInductor's authors
   (realize_reads_threshold and so on). */
typedef struct ind_realise_policy {
    int max_reads_shared; /* used more than once: store if it reads more buffers than this; default 4 */
    int max_ops_shared;   /* used more than once: store if its body has more ops than this; default 30 */
    int max_reads;        /* store any value that reads more buffers than this; default 8 */
    int max_ops;          /* store any value whose body has more ops than this; default 64 */
    int64_t look_steps;   /* scatters in a fixed order: each element scans all points if points * elements is at most
                             this; default 2^20 */
    int64_t list_bytes;   /* sums of rows of floats build lists of the few points per row if that saves at least so many
                             bytes; default 64 MiB, the bytes moved in the time of the launches that it needs */
    bool disable_parts;   /* a concatenation is stored as a whole, never in parts by the loops that compute them */
    bool disable_rows; /* a reduction over the results of rows (a mean of losses) reads these, not one value per row */
    /* Results of convolutions, and of the pools, norms and pointwise ops that follow, are stored with channels last:
       [N, C, H, W] with strides [H*W*C, 1, W*C, C]. Inputs and outputs keep their layout; the first and last kernels
       convert while they load and store. 0: those of f16 and bf16, with allow_tf32 of all types, if a GPU runs them;
       above 0: those of all types; below 0: none. */
    int channels_last;
} ind_realise_policy;

/* -------------------------------------------------------------------------------------------------- >>text */

/* (expressions: ind_expr_print above; bodies: ind__body_print below) */

/* ------------------------------------------------------------------------------------------------ >>eval */
/* (the evaluator is internal: ind__eval below) */
