/* ---- grouped matrix products */

#define IND_OPS_GROUPED(X) X(GROUPED_MM, "grouped_mm", "self mat2 offs bias?", "", 1, "M")

/* Products of groups of rows, each with a matrix of its own, as torch._grouped_mm: the experts of a mixture. self is
   [t, k], mat2 [e, k, n] with e at least 1, bias [e, n] or IND_NO_TENSOR. offs is i32[e]: group g has the rows from
   offs[g - 1] (0 for the first) up to offs[g]. y[r] = self[r] @ mat2[g] + bias[g] for the rows r of group g. Rows after
   the last group are 0. An offset that is less than the one before, negative, or greater than t, is reported as
   IND_ERROR_INDEX_OUT_OF_RANGE, and the result is undefined. */
IND_API ind_tensor ind_grouped_mm(ind_tensor self, ind_tensor mat2, ind_tensor offs, ind_tensor bias);
