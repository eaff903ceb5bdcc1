/* ---- attention */

#define IND_OPS_ATTENTION(X)                                                                                           \
    X(SCALED_DOT_PRODUCT_ATTENTION, "scaled_dot_product_attention", "query key value attn_mask?",                      \
      "dropout_p:float=0 is_causal:bool=false scale:float=none enable_gqa:bool=false nan_rows:bool=false", 1, "C")

/* softmax(query @ key^T * scale + mask) @ value for query [.., L, E], key [.., S, E], value [.., S, V]; the leading
   dimensions broadcast. attn_mask (IND_NO_TENSOR: none) broadcasts to [.., L, S]: bool, false excludes a key; or floats
   that are added. A row whose keys are all excluded is 0. On CUDA it is one kernel for f16 and bf16 with E and V of at
   most 256: no memory grows with L x S. Otherwise scores and probabilities are stored. desc may be NULL. */
typedef struct ind_attention_desc {
    bool is_causal;  /* query i sees the keys 0 to i; not together with a mask */
    double scale;    /* 0: 1 / sqrt(E) */
    bool enable_gqa; /* heads (dimension -3): key and value may have fewer, each for several consecutive query heads */
    bool nan_rows;   /* a row whose scores are all -inf is NaN, as of softmax, instead of 0 */
} ind_attention_desc;
IND_API ind_tensor ind_scaled_dot_product_attention(ind_tensor query, ind_tensor key, ind_tensor value,
                                                    ind_tensor attn_mask, const ind_attention_desc *desc);
