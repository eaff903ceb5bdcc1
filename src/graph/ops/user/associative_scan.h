/* ---- scans with a combine function of the user */

#define IND_OPS_ASSOCIATIVE_SCAN(X)                                                                                    \
    X(ASSOCIATIVE_SCAN, "associative_scan", "inputs*",                                                                 \
      "dim:int count:int=1 reverse:bool=false exclusive:bool=false segmented:bool=false combine:str", 0, "R")

/* A scan with a combine function of one's own (torch.associative_scan). An element has 1 to 5 values, each of a type of
   its own: tensors of one shape, made by any ops, ind_pointwise among them, which fuse with the scan. Result k
   (ind_result), of the shape and type of x[k], holds at each place along dim the elements up to it, joined from first
   to last. combine is called once, at once, to record it: it joins what comes first (left) and what comes behind it
   (right) into out, num values each, of the types in which x[k] is computed (f32 for f16 and bf16). It must be
   associative, and may use nothing but these values and constants: no loads, no indices. reverse: from the last place
   to the first. exclusive: without the element itself; where nothing comes before stands identity[k], a number
   (ind_scalar) or a tensor that broadcasts to x[k]. Segments begin anew: where `segments`, a bool tensor that
   broadcasts to the shape, is true, or (not both) at the places along dim in `starts`, i64, in any order; they are
   checked at run time. Segments are one value more an element, of which there are at most 4 then. In order: the
   elements before a place are joined in the order they stand in; how they are parenthesised differs. */
typedef void (*ind_combine_fn)(ind_ops *o, const ind_value *left, const ind_value *right, ind_value *out, void *user);
typedef struct ind_scan_desc {
    const char *name; /* for dumps; may be NULL */
    const ind_tensor *x;
    int num;
    int dim; /* may be negative */
    bool reverse, exclusive;
    const ind_tensor *identity;  /* exclusive: num entries */
    ind_tensor segments, starts; /* IND_NO_TENSOR: one segment */
    ind_combine_fn combine;
    void *user; /* only needed until the call returns */
} ind_scan_desc;
IND_API ind_tensor ind_associative_scan(ind_graph *graph, const ind_scan_desc *desc);
