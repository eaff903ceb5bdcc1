/* ------------------------------------------------------------------------------------------------ >>layout */

/* How a buffer lies in memory: element (i0, i1, ..) is at offset + sum of i * stride, in elements. */
typedef struct ind_layout {
    int rank;
    ind_expr size[IND_MAX_RANK];
    ind_expr stride[IND_MAX_RANK]; /* valid once fixed */
    ind_expr offset;
    uint8_t order[IND_MAX_RANK]; /* dimensions from slowest to fastest; what `fixed` turns into strides */
    bool ordered;                /* order was asked for by a user of the buffer */
    bool fixed;
} ind_layout;

/* ------------------------------------------------------------------------------------------------- >>loops */

/* When a value that is computed on the fly is stored instead: where storing moves fewer bytes than computing it again
   in each of its users, and beyond these limits. Zero fields mean the default, which are the values measured by
   TorchInductor's authors (realize_reads_threshold and so on). */
typedef struct ind_realise_policy {
    int max_reads_shared; /* used more than once: store if it reads more buffers than this; default 4 */
    int max_ops_shared;   /* used more than once: store if its body has more ops than this; default 30 */
    int max_reads;        /* store any value that reads more buffers than this; default 8 */
    int max_ops;          /* store any value whose body has more ops than this; default 64 */
    int64_t look_steps;   /* scatters in a fixed order: each element looks at all points where these are so few times
                             elements; default 2^20 */
    int64_t list_bytes; /* sums of rows of floats find the few points that meet at a row where that moves so many bytes
                           less; default 64 MiB, what passes in the time of the launches that it takes */
    bool disable_parts; /* a concatenation is stored as a whole, never part by part by what makes the parts */
    bool disable_rows;  /* a reduction over the results of rows (a mean of losses) reads these, not one value of each */
} ind_realise_policy;

/* -------------------------------------------------------------------------------------------------- >>text */

/* (expressions: ind_expr_print above; bodies: ind__body_print below) */

/* ------------------------------------------------------------------------------------------------ >>eval */
/* (the evaluator is internal: ind__eval below) */
