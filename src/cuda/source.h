/* ------------------------------------------------------------------------------------------------ >>source */

/* All distinct sources of the plan one after another, each headed by a comment: what `ind emit --stage cuda` prints. */
void ind__plan_print_source(ind__text *t, const ind_plan *p, ind__node_name_fn origin_name,
                            ind__node_name_fn result_name, void *user);
