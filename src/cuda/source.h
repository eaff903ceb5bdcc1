/* ------------------------------------------------------------------------------------------------ >>source */

/* Prints all distinct sources of the plan in order, each after a comment: the output of `ind emit --stage cuda`. */
void ind__plan_print_source(ind__text *t, const ind_plan *p, ind__node_name_fn origin_name,
                            ind__node_name_fn result_name, void *user);
