/* --------------------------------------------------------------------------------------------------- >>ops */

/* The op table: the only list of graph ops. Each family of ops has its rows in macros of its own, IND_OPS_<FAMILY> and
   IND_COMPOSITES_<FAMILY>; IND_OPS and IND_COMPOSITES are those of all families. Columns: enumerator; text name
   (PyTorch's); operands (`?` optional, `*` a list of tensors, `*?` a list that may have gaps; a list stands last);
   attributes in order as name:kind or name:kind=default; number of results (0: as many as the attributes say); flags.
   Kinds: int, float, bool, str, dtype, ints (list of integers), floats (list of numbers), sizes (list of size
   expressions), size (one; may be symbolic), exprs (what the text form writes otherwise), scalar (number). `none` as
   default: may be left out. Flags: N random numbers, P pointwise, Q takes types that are only stored (8-bit floats; V
   and D do, too), V view, D data movement, R reduction, M matrix product, G gather, S source (no operands), C composite
   (lowered through several loops), B result is bool, F integer operands are computed as floats (f32), T the first
   operand must be a tensor (pointwise ops else take numbers too), U one value fills the result, Z a size of the result
   comes from data: the last attribute is its symbol, which the text form shows in the type of the result alone, _ has a
   form in place (add_: the manual, IN PLACE), E expands to other ops (IND_COMPOSITES). Types that operands may promote
   to, as in PyTorch: f floats only, i integers and bool only, n not bool; o: all operands have one type. */

/* Marks a dimension list or an argument as "not given" / "no optional tensor". */
#define IND_NO_TENSOR ind_no_tensor()
static inline ind_tensor ind_no_tensor(void) {
    ind_tensor t = {0, 0};
    return t;
}

/* Stands for all dimensions where one is asked for. */
#define IND_ALL_DIMS INT32_MIN

/* An op with several results returns the first; this is number k of those that the op of x has. */
IND_API ind_tensor ind_result(ind_tensor x, int k);
IND_API int ind_num_results(ind_tensor x); /* of the op that x comes from; 0: x is invalid */

/* Any op of the table by a call of the text form, in which $0, $1, .. are the tensors x: ind_apply(g, "kl_div($0, $1,
   reduction=\"sum\")", x, 2). Sizes of the graph stand by their names, and so do tensors. Of ops that have no function
   of their own below, the composites, it is the builder; "add_($0, 1)" works in place. x may be NULL where num is 0.
   Returns the first result, in place the first operand. */
IND_API ind_tensor ind_apply(ind_graph *graph, const char *call, const ind_tensor *x, int num);
