/* ---- complex numbers as pairs: expansions */

static void ind__expand_view_as_pairs(ind__expansion *e) {
    if (ind__need_complex(e, 0)) e->y = e->x[0];
}

static void ind__expand_part(ind__expansion *e) {
    if (ind__need_complex(e, 0)) e->y = ind__pick(e, e->x[0], -1, e->node->op == IND_OP_IMAG);
}

static void ind__expand_complex(ind__expansion *e) {
    if (!ind__need_float_of(e, 0)) return;
    ind_tensor both = ind_broadcast_tensors(e->x, 2);
    if (e->g->status) return;
    ind_tensor parts[2] = {both, ind_result(both, 1)};
    if (e->node->op == IND_OP_POLAR) {
        ind_tensor angle = parts[1];
        parts[1] = ind_mul(both, ind_sin(angle));
        parts[0] = ind_mul(both, ind_cos(angle));
    }
    e->y = ind_stack(parts, 2, -1);
}

/* ---- complex numbers as pairs: implementations */

/* Op, its expansion. */
#define IND__EXPANDED_COMPLEX(X)                                                                                       \
    X(VIEW_AS_REAL, ind__expand_view_as_pairs)                                                                         \
    X(VIEW_AS_COMPLEX, ind__expand_view_as_pairs)                                                                      \
    X(REAL, ind__expand_part)                                                                                          \
    X(IMAG, ind__expand_part)                                                                                          \
    X(COMPLEX, ind__expand_complex)                                                                                    \
    X(POLAR, ind__expand_complex)
