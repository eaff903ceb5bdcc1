/* ---- the table of implementations: the rows of all families */

#define IND__LOWERED(X)                                                                                                \
    IND__LOWERED_SOURCES(X)                                                                                            \
    IND__LOWERED_RANDOM(X)                                                                                             \
    IND__LOWERED_COPIES(X)                                                                                             \
    IND__LOWERED_QUANTISED(X)                                                                                          \
    IND__LOWERED_ARITHMETIC(X)                                                                                         \
    IND__LOWERED_MATH(X)                                                                                               \
    IND__LOWERED_SPECIAL(X)                                                                                            \
    IND__LOWERED_LOGIC(X)                                                                                              \
    IND__LOWERED_ACTIVATIONS(X)                                                                                        \
    IND__LOWERED_REDUCTIONS(X)                                                                                         \
    IND__LOWERED_NORMS(X)                                                                                              \
    IND__LOWERED_SOFTMAX(X)                                                                                            \
    IND__LOWERED_LOSSES(X)                                                                                             \
    IND__LOWERED_NORMALISATIONS(X)                                                                                     \
    IND__LOWERED_SCANS(X)                                                                                              \
    IND__LOWERED_SORTING(X)                                                                                            \
    IND__LOWERED_RANKS(X)                                                                                              \
    IND__LOWERED_SEARCHES(X)                                                                                           \
    IND__LOWERED_GATHERS(X)                                                                                            \
    IND__LOWERED_SCATTERS(X)                                                                                           \
    IND__LOWERED_EMBEDDING(X)                                                                                          \
    IND__LOWERED_DATA_SIZES(X)                                                                                         \
    IND__LOWERED_UNIQUE(X)                                                                                             \
    IND__LOWERED_VIEWS(X)                                                                                              \
    IND__LOWERED_MOVES(X)                                                                                              \
    IND__LOWERED_CONCATENATION(X)                                                                                      \
    IND__LOWERED_TRIANGLES(X)                                                                                          \
    IND__LOWERED_PADS(X)                                                                                               \
    IND__LOWERED_VIEW_SCATTERS(X)                                                                                      \
    IND__LOWERED_POOLS(X)                                                                                              \
    IND__LOWERED_CONVOLUTIONS(X)                                                                                       \
    IND__LOWERED_CONVOLUTION_PHASES(X)                                                                                 \
    IND__LOWERED_RESAMPLING(X)                                                                                         \
    IND__LOWERED_GRIDS(X)                                                                                              \
    IND__LOWERED_COLUMNS(X)                                                                                            \
    IND__LOWERED_MATMUL(X)                                                                                             \
    IND__LOWERED_EIGHT_BIT(X)                                                                                          \
    IND__LOWERED_GROUPED(X)                                                                                            \
    IND__LOWERED_ATTENTION(X)                                                                                          \
    IND__LOWERED_FOURIER(X)                                                                                            \
    IND__LOWERED_CUSTOM(X)                                                                                             \
    IND__LOWERED_ASSOCIATIVE_SCAN(X)                                                                                   \
    IND__LOWERED_EXTERN(X)

#define IND__EXPANDED(X)                                                                                               \
    IND__EXPANDED_SOURCES(X)                                                                                           \
    IND__EXPANDED_COPIES(X)                                                                                            \
    IND__EXPANDED_ARITHMETIC(X)                                                                                        \
    IND__EXPANDED_MATH(X)                                                                                              \
    IND__EXPANDED_SPECIAL(X)                                                                                           \
    IND__EXPANDED_LOGIC(X)                                                                                             \
    IND__EXPANDED_ACTIVATIONS(X)                                                                                       \
    IND__EXPANDED_REDUCTIONS(X)                                                                                        \
    IND__EXPANDED_NORMS(X)                                                                                             \
    IND__EXPANDED_SOFTMAX(X)                                                                                           \
    IND__EXPANDED_LOSSES(X)                                                                                            \
    IND__EXPANDED_SCANS(X)                                                                                             \
    IND__EXPANDED_SEARCHES(X)                                                                                          \
    IND__EXPANDED_GATHERS(X)                                                                                           \
    IND__EXPANDED_EMBEDDING(X)                                                                                         \
    IND__EXPANDED_VIEWS(X)                                                                                             \
    IND__EXPANDED_MOVES(X)                                                                                             \
    IND__EXPANDED_CONCATENATION(X)                                                                                     \
    IND__EXPANDED_TRIANGLES(X)                                                                                         \
    IND__EXPANDED_POOLS(X)                                                                                             \
    IND__EXPANDED_RESAMPLING(X)                                                                                        \
    IND__EXPANDED_GRIDS(X)                                                                                             \
    IND__EXPANDED_MATMUL(X)                                                                                            \
    IND__EXPANDED_EINSUM(X)                                                                                            \
    IND__EXPANDED_FOURIER(X)                                                                                           \
    IND__EXPANDED_FRAMES(X)                                                                                            \
    IND__EXPANDED_COMPLEX(X)

static const ind__implementation ind__implementations[IND_NUM_OPS] = {
#define X(name, rule, lower, element, op, bool_op)                                                                     \
    [IND_OP_##name] = {rule, lower, element, IND_LOOP_##op, IND_LOOP_##bool_op, NULL},
    IND__LOWERED(X)
#undef X
#define X(name, expand) [IND_OP_##name] = {NULL, NULL, NULL, IND_LOOP_NONE, IND_LOOP_NONE, expand},
        IND__EXPANDED(X)
#undef X
};

static const ind__implementation *ind__implementation_of(ind_graph_op op) {
    return &ind__implementations[op];
}

/* A missing row, a row in the wrong table or a duplicate row does not compile. */
enum {
#define X(name, rule, lower, element, op, bool_op) IND__LOWERED_##name,
    IND__LOWERED(X)
#undef X
        IND__NUM_LOWERED
};
enum {
#define X(name, expand) IND__EXPANDED_##name,
    IND__EXPANDED(X)
#undef X
        IND__NUM_EXPANDED
};
#define X(name, text, operands, attributes, results, flags)                                                            \
    _Static_assert((int)IND__LOWERED_##name < (int)IND__NUM_LOWERED, #name);
IND_OPS(X)
#undef X
#define X(name, text, operands, attributes, results, flags)                                                            \
    _Static_assert((int)IND__EXPANDED_##name < (int)IND__NUM_EXPANDED, #name);
IND_COMPOSITES(X)
#undef X
_Static_assert((int)IND__NUM_LOWERED + (int)IND__NUM_EXPANDED == (int)IND_NUM_OPS, "every row is of an op");

/* These two ops expand for some attributes only; otherwise they are lowered. */
static ind__expander ind__expander_of(const ind__node *node) {
    if (ind__is_named_padding(node->op, node->attr)) return ind__expand_named_padding;
    if (node->op == IND_OP_INTERPOLATE) return ind__interpolation_expander(node);
    return ind__implementation_of(node->op)->expand;
}
