/* ---- views, and the updates that write them back ---- */

static const struct graph__written_view {
    ind_graph_op update, view;
} graph__written_views[] = {{IND_OP_SELECT_SCATTER, IND_OP_SELECT},
                            {IND_OP_SLICE_SCATTER, IND_OP_SLICE},
                            {IND_OP_DIAGONAL_SCATTER, IND_OP_DIAGONAL}};

/* The dimensions of both ops count from the front or from the end. */
static bool graph__same_view_attrs(const ind_graph *g, const ind__node *view, const ind__node *update) {
    const int rank = g->tensor[update->result].rank;
    const bool offset = update->op == IND_OP_DIAGONAL_SCATTER; /* attribute 0 is no dimension */
    for (uint32_t k = 0; k < view->num_attrs; k++) {
        ind__attr a = view->attr[k], b = update->attr[k];
        const bool dim = a.kind == IND__ATTR_INT && (!offset || k > 0);
        if (dim && a.i < 0) a.i += rank;
        if (dim && b.i < 0) b.i += rank;
        if (!graph__attr_equal(&a, &b)) return false;
    }
    return true;
}

/* True if tensor x is a view of the update's first operand, of the part that the update writes. */
static bool graph__shows_written_part(const ind_graph *g, uint32_t x, const ind__node *update) {
    const ind__node *view = graph__producer_of(g, x);
    for (size_t i = 0; i < sizeof graph__written_views / sizeof *graph__written_views; i++)
        if (graph__written_views[i].update == update->op && graph__written_views[i].view == view->op)
            return view->operand[0] == update->operand[0] && graph__same_view_attrs(g, view, update);
    return false;
}
