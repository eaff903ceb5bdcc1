/* --------------------------------------------------------------------------------------------------- >>ops */

/* The op table: the only list of graph ops. Each family of ops has its rows in macros of its own, IND_OPS_<FAMILY> and
   IND_COMPOSITES_<FAMILY>; IND_OPS and IND_COMPOSITES combine all families. Columns: enumerator; text name (PyTorch's);
   operands (`?` optional, `*` a list of tensors, `*?` a list with optional elements; a list comes last); attributes in
   order as name:kind or name:kind=default; number of results (0: the attributes decide); flags. Kinds: int, float,
   bool, str, dtype, ints (list of integers), floats (list of numbers), sizes (list of size expressions), size (one; may
   be symbolic), exprs (the text form writes it differently), scalar (number). `none` as default: optional. Flags: N
   random numbers, P pointwise, Q takes storage-only types (8-bit floats; V and D do, too), V view, D data movement, R
   reduction, M matrix product, G gather, S source (no operands), C composite (lowered through several loops), B result
   is bool, F integer operands are computed as floats (f32), T the first operand must be a tensor (other pointwise ops
   take numbers too), U one value fills the result, W the result is the first operand with some elements replaced, H
   convolution (channels-last memory begins at it), L the result has channels-last memory if the first operand has, Z a
   size of the result is data-dependent: the last attribute is its symbol, which the text form shows only in the type of
   the result, _ has an in-place form (add_: the manual, IN PLACE), K commutative (with alpha 1), E expands to other ops
   (IND_COMPOSITES). Types that operands may promote to, as in PyTorch: f floats only, i integers and bool only, n not
   bool; o: all operands have the same type. */

/* "not given" for a list of dimensions; "no tensor" for an optional tensor. */
#define IND_NO_TENSOR ind_no_tensor()
static inline ind_tensor ind_no_tensor(void) {
    ind_tensor t = {0, 0};
    return t;
}

/* Means all dimensions, in place of one. */
#define IND_ALL_DIMS INT32_MIN

/* Returns result k of the op of x. An op with several results returns the first. */
IND_API ind_tensor ind_result(ind_tensor x, int k);
IND_API int ind_num_results(ind_tensor x); /* of the op that x comes from; 0: x is invalid */

/* Adds any op of the table by a call of the text form. $0, $1, .. are the tensors x: ind_apply(g, "kl_div($0, $1,
   reduction=\"sum\")", x, 2). Sizes and tensors of the graph are used by their names. It is the builder of composites,
   which have no functions of their own below. "add_($0, 1)" works in place. x may be NULL if num is 0. Returns the
   first result; for an op in place, the first operand. */
IND_API ind_tensor ind_apply(ind_graph *graph, const char *call, const ind_tensor *x, int num);
