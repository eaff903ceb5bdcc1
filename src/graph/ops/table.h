/* ---- the op table: the ops of all families */

#define IND_OPS(X)                                                                                                     \
    IND_OPS_SOURCES(X)                                                                                                 \
    IND_OPS_RANDOM(X)                                                                                                  \
    IND_OPS_COPIES(X)                                                                                                  \
    IND_OPS_QUANTISED(X)                                                                                               \
    IND_OPS_ARITHMETIC(X)                                                                                              \
    IND_OPS_MATH(X)                                                                                                    \
    IND_OPS_SPECIAL(X)                                                                                                 \
    IND_OPS_LOGIC(X)                                                                                                   \
    IND_OPS_ACTIVATIONS(X)                                                                                             \
    IND_OPS_REDUCTIONS(X)                                                                                              \
    IND_OPS_NORMS(X)                                                                                                   \
    IND_OPS_SOFTMAX(X)                                                                                                 \
    IND_OPS_LOSSES(X)                                                                                                  \
    IND_OPS_NORMALISATIONS(X)                                                                                          \
    IND_OPS_SCANS(X)                                                                                                   \
    IND_OPS_SORTING(X)                                                                                                 \
    IND_OPS_RANKS(X)                                                                                                   \
    IND_OPS_SEARCHES(X)                                                                                                \
    IND_OPS_GATHERS(X)                                                                                                 \
    IND_OPS_SCATTERS(X)                                                                                                \
    IND_OPS_EMBEDDING(X)                                                                                               \
    IND_OPS_DATA_SIZES(X)                                                                                              \
    IND_OPS_UNIQUE(X)                                                                                                  \
    IND_OPS_VIEWS(X)                                                                                                   \
    IND_OPS_MOVES(X)                                                                                                   \
    IND_OPS_CONCATENATION(X)                                                                                           \
    IND_OPS_TRIANGLES(X)                                                                                               \
    IND_OPS_PADS(X)                                                                                                    \
    IND_OPS_VIEW_SCATTERS(X)                                                                                           \
    IND_OPS_POOLS(X)                                                                                                   \
    IND_OPS_CONVOLUTIONS(X)                                                                                            \
    IND_OPS_CONVOLUTION_PHASES(X)                                                                                      \
    IND_OPS_RESAMPLING(X)                                                                                              \
    IND_OPS_GRIDS(X)                                                                                                   \
    IND_OPS_COLUMNS(X)                                                                                                 \
    IND_OPS_MATMUL(X)                                                                                                  \
    IND_OPS_EIGHT_BIT(X)                                                                                               \
    IND_OPS_GROUPED(X)                                                                                                 \
    IND_OPS_ATTENTION(X)                                                                                               \
    IND_OPS_FOURIER(X)                                                                                                 \
    IND_OPS_CUSTOM(X)                                                                                                  \
    IND_OPS_ASSOCIATIVE_SCAN(X)                                                                                        \
    IND_OPS_EXTERN(X)

/* Composite ops: a call expands them into other ops, as PyTorch decomposes its composite ops. The graph, its text and
   its schedule show the expansion. Columns as above. Complex tensors are real ones as torch.view_as_real returns them,
   with a last dimension of two. Dimension arguments do not count that one. */
#define IND_COMPOSITES(X)                                                                                              \
    IND_COMPOSITES_SOURCES(X)                                                                                          \
    IND_COMPOSITES_COPIES(X)                                                                                           \
    IND_COMPOSITES_ARITHMETIC(X)                                                                                       \
    IND_COMPOSITES_MATH(X)                                                                                             \
    IND_COMPOSITES_SPECIAL(X)                                                                                          \
    IND_COMPOSITES_LOGIC(X)                                                                                            \
    IND_COMPOSITES_ACTIVATIONS(X)                                                                                      \
    IND_COMPOSITES_REDUCTIONS(X)                                                                                       \
    IND_COMPOSITES_NORMS(X)                                                                                            \
    IND_COMPOSITES_SOFTMAX(X)                                                                                          \
    IND_COMPOSITES_LOSSES(X)                                                                                           \
    IND_COMPOSITES_SCANS(X)                                                                                            \
    IND_COMPOSITES_SEARCHES(X)                                                                                         \
    IND_COMPOSITES_GATHERS(X)                                                                                          \
    IND_COMPOSITES_EMBEDDING(X)                                                                                        \
    IND_COMPOSITES_VIEWS(X)                                                                                            \
    IND_COMPOSITES_MOVES(X)                                                                                            \
    IND_COMPOSITES_CONCATENATION(X)                                                                                    \
    IND_COMPOSITES_TRIANGLES(X)                                                                                        \
    IND_COMPOSITES_POOLS(X)                                                                                            \
    IND_COMPOSITES_RESAMPLING(X)                                                                                       \
    IND_COMPOSITES_GRIDS(X)                                                                                            \
    IND_COMPOSITES_MATMUL(X)                                                                                           \
    IND_COMPOSITES_EINSUM(X)                                                                                           \
    IND_COMPOSITES_FOURIER(X)                                                                                          \
    IND_COMPOSITES_FRAMES(X)                                                                                           \
    IND_COMPOSITES_COMPLEX(X)

typedef enum ind_graph_op {
#define X(name, text, operands, attributes, results, flags) IND_OP_##name,
    IND_OPS(X) IND_COMPOSITES(X)
#undef X
        IND_NUM_OPS
} ind_graph_op;
