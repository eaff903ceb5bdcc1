/* ---- scans with a combine function of the user */

#define IND_OPS_ASSOCIATIVE_SCAN(X)                                                                                    \
    X(ASSOCIATIVE_SCAN, "associative_scan", "inputs*",                                                                 \
      "dim:int count:int=1 reverse:bool=false exclusive:bool=false segmented:bool=false combine:str", 0, "R")

/* A scan with a combine function of the user (torch.associative_scan). An element has 1 to 5 values, each with its own
   type. The values are tensors of the same shape. The ops that compute them, ind_pointwise among them, fuse with the
   scan. Result k (ind_result) has the shape and type of x[k]. At each position along dim it is the combination of the
   elements up to it, from first to last. combine is called once, immediately, to record it. It combines the earlier
   element (left) with the later one (right) into out, num values each, in the compute types of x[k] (f32 for f16 and
   bf16). It must be associative, and may use only these values and constants: no loads, no indices. reverse: from the
   last position to the first. exclusive: without the element itself; the first result is identity[k], a number
   (ind_scalar) or a tensor that broadcasts to x[k]. The scan restarts where a segment begins: where `segments`, a bool
   tensor that broadcasts to the shape, is true; or (not both) at the positions along dim in `starts`, i64, in any
   order, checked at run time. Segments take one value per element, which leaves 4. Elements are combined in order; only
   the grouping differs. */
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
    void *user; /* used only until the call returns */
} ind_scan_desc;
IND_API ind_tensor ind_associative_scan(ind_graph *graph, const ind_scan_desc *desc);
