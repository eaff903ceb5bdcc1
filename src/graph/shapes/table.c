/* ---- attention */

/* Types and inner sizes of query, key and value. */
static ind_status ind__check_attention(ind__infer *in, int least_rank) {
    for (uint32_t k = 0; k < 3; k++) {
        const ind__tensor_info *x = ind__operand(in, k);
        if (ind__need_float(in, k) || ind__need_same_dtype(in, 0, k)) return in->status;
        if (x->rank >= least_rank) continue;
        return ind__reject(in, IND_SHAPE_MISMATCH, "%s is %s with %d dimension%s; at least %d are needed",
                           ind__say_name(in, k), ind__say_type(in, k), x->rank, x->rank == 1 ? "" : "s", least_rank);
    }
    ind__agreement features = {0, ind__operand(in, 0)->rank - 1, " features", 1, ind__operand(in, 1)->rank - 1, "has",
                               ""};
    ind__agreement keys = {1, ind__operand(in, 1)->rank - 2, " keys", 2, ind__operand(in, 2)->rank - 2, "has", ""};
    return ind__need_agree(in, features) ? in->status : ind__need_agree(in, keys);
}

/* The heads of operand k divide those of query. */
static ind_status ind__check_grouped_heads(ind__infer *in, uint32_t k) {
    const ind__tensor_info *q = ind__operand(in, 0), *x = ind__operand(in, k);
    ind_expr heads = q->size[q->rank - 3], own = x->size[x->rank - 3];
    if (ind_known_lt(ind_int(in->c, 0), own) && ind_known_eq(ind_expr_mod(heads, own), ind_int(in->c, 0)))
        return IND_OK;
    return ind__reject(in, IND_SHAPE_MISMATCH,
                       "%s has %s heads (dim %d of %s), %s has %s (dim %d of %s), which is not known to divide them",
                       ind__say_name(in, 0), ind__say_size(in, heads), q->rank - 3, ind__say_type(in, 0),
                       ind__say_name(in, k), ind__say_size(in, own), x->rank - 3, ind__say_type(in, k));
}

/* attn_mask expands to the scores, of this size. */
static ind_status ind__check_attention_mask(ind__infer *in, const ind_expr *size, int rank) {
    const ind__tensor_info *mask = ind__operand(in, 3);
    ind_dtype d = mask->dtype;
    if (d != IND_BOOL && d != IND_F32 && d != ind__operand(in, 0)->dtype) {
        ind_dtype own = ind__operand(in, 0)->dtype;
        return ind__reject(in, IND_TYPE_MISMATCH, "%s is %s; bool%s%s or f32 is needed", ind__say_name(in, 3),
                           ind__say_type(in, 3), own == IND_F32 ? "" : ", ", own == IND_F32 ? "" : ind_dtype_name(own));
    }
    bool fits = mask->rank <= rank;
    for (int i = 0; fits && i < mask->rank; i++) {
        ind_expr have = mask->size[i];
        fits = ind__is_int(have, 1) || ind_known_eq(have, size[rank - mask->rank + i]);
    }
    if (fits) return IND_OK;
    char *scores = ind__scratch(in);
    ind__print_type(scores, sizeof in->scratch[0], ind__operand(in, 0)->dtype, size, rank);
    return ind__reject(in, IND_SHAPE_MISMATCH, "%s (%s) does not expand to the scores, %s", ind__say_name(in, 3),
                       ind__say_type(in, 3), scores);
}

static ind_status ind__rule_attention(ind__infer *in) {
    bool gqa = in->attr[3].i != 0;
    int outer = gqa ? 3 : 2;
    ind__shape s = {0};
    if (in->attr[0].f != 0)
        return ind__reject(in, IND_NOT_SUPPORTED, "dropout_p is %g; only 0 is supported", in->attr[0].f);
    if (in->attr[1].i && ind__has_operand(in, 3))
        return ind__reject(in, IND_INVALID_ARGUMENT, "is_causal and attn_mask are both given; one of them is allowed");
    if (ind__check_attention(in, outer)) return in->status;
    for (uint32_t k = 0; k < 3; k++) {
        if (ind__broadcast(in, &s, k, outer)) return in->status;
    }
    const ind__tensor_info *q = ind__operand(in, 0), *v = ind__operand(in, 2);
    if (gqa && (ind__check_grouped_heads(in, 1) || ind__check_grouped_heads(in, 2))) return in->status;
    if (gqa) s.size[s.rank++] = q->size[q->rank - 3];
    s.size[s.rank++] = q->size[q->rank - 2];
    s.size[s.rank++] = v->size[v->rank - 2];
    if (ind__has_operand(in, 3) && ind__check_attention_mask(in, s.size, s.rank)) return in->status;
    s.size[s.rank - 1] = v->size[v->rank - 1];
    ind__set_result(in, 0, q->dtype, s.size, s.rank);
    return IND_OK;
}

/* The rule of each op; pointwise ops without a row have the general one. INPUT and CONST carry their type. */
static const ind__rule ind__rules[IND_NUM_OPS] = {
    [IND_OP_SCALAR] = ind__rule_scalar,
    [IND_OP_FULL] = ind__rule_full,
    [IND_OP_ZEROS] = ind__rule_full,
    [IND_OP_ONES] = ind__rule_full,
    [IND_OP_EMPTY] = ind__rule_full,
    [IND_OP_EMPTY_STRIDED] = ind__rule_full,
    [IND_OP_NEW_FULL] = ind__rule_full,
    [IND_OP_NEW_ZEROS] = ind__rule_full,
    [IND_OP_NEW_ONES] = ind__rule_full,
    [IND_OP_NEW_EMPTY] = ind__rule_full,
    [IND_OP_FULL_LIKE] = ind__rule_full_like,
    [IND_OP_ZEROS_LIKE] = ind__rule_full_like,
    [IND_OP_ONES_LIKE] = ind__rule_full_like,
    [IND_OP_EMPTY_LIKE] = ind__rule_full_like,
    [IND_OP_SCALAR_TENSOR] = ind__rule_scalar_tensor,
    [IND_OP_DFT_MATRIX] = ind__rule_dft_matrix,
    [IND_OP_ALIAS] = ind__rule_full_like,
    [IND_OP_MASKED_FILL] = ind__rule_masked_fill,
    [IND_OP_FILL] = ind__rule_fill,
    [IND_OP_COPY] = ind__rule_fill,
    [IND_OP_ARANGE] = ind__rule_arange,
    [IND_OP_RAND] = ind__rule_rand,
    [IND_OP_RANDN] = ind__rule_rand,
    [IND_OP_RANDINT] = ind__rule_randint,
    [IND_OP_RANDPERM] = ind__rule_randperm,
    [IND_OP_BERNOULLI] = ind__rule_random_like,
    [IND_OP_NATIVE_DROPOUT] = ind__rule_random_like,
    [IND_OP_EYE] = ind__rule_eye,
    [IND_OP_LINSPACE] = ind__rule_linspace,
    [IND_OP_CUSTOM] = ind__rule_custom,
    [IND_OP_CALL] = ind__rule_call,
    [IND_OP_EXTERN] = ind__rule_extern,
    [IND_OP_SUM] = ind__rule_sum,
    [IND_OP_MEAN] = ind__rule_sum,
    [IND_OP_AMAX] = ind__rule_extremum,
    [IND_OP_AMIN] = ind__rule_extremum,
    [IND_OP_ANY] = ind__rule_extremum,
    [IND_OP_ARGMAX] = ind__rule_argmax,
    [IND_OP_MAX] = ind__rule_max,
    [IND_OP_ARGMIN] = ind__rule_argmax,
    [IND_OP_MIN] = ind__rule_max,
    [IND_OP_AMINMAX] = ind__rule_aminmax,
    [IND_OP_ALL] = ind__rule_extremum,
    [IND_OP_PROD] = ind__rule_prod,
    [IND_OP_COUNT_NONZERO] = ind__rule_count_nonzero,
    [IND_OP_VAR] = ind__rule_var,
    [IND_OP_STD] = ind__rule_var,
    [IND_OP_VAR_MEAN] = ind__rule_var,
    [IND_OP_STD_MEAN] = ind__rule_var,
    [IND_OP_LOGSUMEXP] = ind__rule_logsumexp,
    [IND_OP_LINALG_VECTOR_NORM] = ind__rule_vector_norm,
    [IND_OP_NORM] = ind__rule_vector_norm,
    [IND_OP_CDIST] = ind__rule_cdist,
    [IND_OP_CDIST_FORWARD] = ind__rule_cdist,
    [IND_OP_PDIST_FORWARD] = ind__rule_pdist,
    [IND_OP_SOFTMAX_HALF] = ind__rule_softmax_half,
    [IND_OP_LOG_SOFTMAX_HALF] = ind__rule_softmax_half,
    [IND_OP_MSE_LOSS] = ind__rule_distance_loss,
    [IND_OP_L1_LOSS] = ind__rule_distance_loss,
    [IND_OP_NLL_LOSS] = ind__rule_class_loss,
    [IND_OP_CROSS_ENTROPY] = ind__rule_class_loss,
    [IND_OP_SOFTMAX] = ind__rule_softmax,
    [IND_OP_LOG_SOFTMAX] = ind__rule_softmax,
    [IND_OP_LAYER_NORM] = ind__rule_norm,
    [IND_OP_RMS_NORM] = ind__rule_norm,
    [IND_OP_NATIVE_LAYER_NORM] = ind__rule_native_layer_norm,
    [IND_OP_GROUP_NORM] = ind__rule_group_norm,
    [IND_OP_NATIVE_GROUP_NORM] = ind__rule_group_norm,
    [IND_OP_BATCH_NORM] = ind__rule_batch_norm,
    [IND_OP_NATIVE_BATCH_NORM_LEGIT] = ind__rule_batch_norm,
    [IND_OP_NATIVE_BATCH_NORM_LEGIT_NO_TRAINING] = ind__rule_batch_norm,
    [IND_OP_NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL] = ind__rule_batch_norm,
    [IND_OP_INSTANCE_NORM] = ind__rule_batch_norm,
    [IND_OP_NATIVE_LAYER_NORM_BACKWARD] = ind__rule_layer_norm_backward,
    [IND_OP_NATIVE_GROUP_NORM_BACKWARD] = ind__rule_group_norm_backward,
    [IND_OP_VIEW] = ind__rule_view,
    [IND_OP_PERMUTE] = ind__rule_permute,
    [IND_OP_TRANSPOSE] = ind__rule_transpose,
    [IND_OP_EXPAND] = ind__rule_expand,
    [IND_OP_UNSQUEEZE] = ind__rule_unsqueeze,
    [IND_OP_SQUEEZE] = ind__rule_squeeze,
    [IND_OP_SLICE] = ind__rule_slice,
    [IND_OP_SELECT] = ind__rule_select,
    [IND_OP_CAT] = ind__rule_cat,
    [IND_OP_RESHAPE] = ind__rule_view,
    [IND_OP_VIEW_AS] = ind__rule_reshape_as,
    [IND_OP_FLATTEN] = ind__rule_flatten,
    [IND_OP_UNFLATTEN] = ind__rule_unflatten,
    [IND_OP_BROADCAST_TO] = ind__rule_expand,
    [IND_OP_EXPAND_AS] = ind__rule_expand_as,
    [IND_OP_BROADCAST_TENSORS] = ind__rule_broadcast_tensors,
    [IND_OP_MESHGRID] = ind__rule_meshgrid,
    [IND_OP_MOVEDIM] = ind__rule_movedim,
    [IND_OP_NARROW] = ind__rule_narrow,
    [IND_OP_SPLIT] = ind__rule_split,
    [IND_OP_SPLIT_WITH_SIZES] = ind__rule_split_with_sizes,
    [IND_OP_CHUNK] = ind__rule_chunk,
    [IND_OP_UNBIND] = ind__rule_unbind,
    [IND_OP_UNFOLD] = ind__rule_unfold,
    [IND_OP_DIAGONAL] = ind__rule_diagonal,
    [IND_OP_AS_STRIDED] = ind__rule_as_strided,
    [IND_OP_FLIP] = ind__rule_flip,
    [IND_OP_ROLL] = ind__rule_roll,
    [IND_OP_REPEAT] = ind__rule_repeat,
    [IND_OP_TILE] = ind__rule_repeat,
    [IND_OP_PIXEL_SHUFFLE] = ind__rule_pixel_shuffle,
    [IND_OP_PIXEL_UNSHUFFLE] = ind__rule_pixel_shuffle,
    [IND_OP_STACK] = ind__rule_stack,
    [IND_OP_SELECT_SCATTER] = ind__rule_select_scatter,
    [IND_OP_SLICE_SCATTER] = ind__rule_slice_scatter,
    [IND_OP_DIAGONAL_SCATTER] = ind__rule_diagonal_scatter,
    [IND_OP_TRIL] = ind__rule_tril,
    [IND_OP_TRIU] = ind__rule_tril,
    [IND_OP_ONE_HOT] = ind__rule_one_hot,
    [IND_OP_CONSTANT_PAD_ND] = ind__rule_pad,
    [IND_OP_PAD] = ind__rule_pad,
    [IND_OP_REFLECTION_PAD1D] = ind__rule_pad,
    [IND_OP_REFLECTION_PAD2D] = ind__rule_pad,
    [IND_OP_REFLECTION_PAD3D] = ind__rule_pad,
    [IND_OP_REPLICATION_PAD1D] = ind__rule_pad,
    [IND_OP_REPLICATION_PAD2D] = ind__rule_pad,
    [IND_OP_REPLICATION_PAD3D] = ind__rule_pad,
    [IND_OP_AVG_POOL1D] = ind__rule_pool,
    [IND_OP_AVG_POOL2D] = ind__rule_pool,
    [IND_OP_AVG_POOL3D] = ind__rule_pool,
    [IND_OP_MAX_POOL1D] = ind__rule_pool,
    [IND_OP_MAX_POOL2D] = ind__rule_pool,
    [IND_OP_MAX_POOL3D] = ind__rule_pool,
    [IND_OP_MAX_POOL1D_WITH_INDICES] = ind__rule_pool,
    [IND_OP_MAX_POOL2D_WITH_INDICES] = ind__rule_pool,
    [IND_OP_MAX_POOL3D_WITH_INDICES] = ind__rule_pool,
    [IND_OP_ADAPTIVE_AVG_POOL1D] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_AVG_POOL2D] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_AVG_POOL3D] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_MAX_POOL1D] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_MAX_POOL2D] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_MAX_POOL3D] = ind__rule_adaptive_pool,
    [IND_OP_CONVOLUTION] = ind__rule_convolution,
    [IND_OP_CONV1D] = ind__rule_convolution,
    [IND_OP_CONV2D] = ind__rule_convolution,
    [IND_OP_CONV3D] = ind__rule_convolution,
    [IND_OP_CONV_TRANSPOSE1D] = ind__rule_convolution,
    [IND_OP_CONV_TRANSPOSE2D] = ind__rule_convolution,
    [IND_OP_CONV_TRANSPOSE3D] = ind__rule_convolution,
    [IND_OP_ADAPTIVE_AVG_POOL2D_CORE] = ind__rule_adaptive_pool,
    [IND_OP_ADAPTIVE_AVG_POOL3D_CORE] = ind__rule_adaptive_pool,
    [IND_OP_UPSAMPLE_NEAREST1D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_NEAREST2D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_NEAREST3D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_NEAREST_EXACT1D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_NEAREST_EXACT2D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_NEAREST_EXACT3D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_LINEAR1D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_BILINEAR2D] = ind__rule_upsample,
    [IND_OP_UPSAMPLE_TRILINEAR3D] = ind__rule_upsample,
    [IND_OP_INTERPOLATE] = ind__rule_upsample,
    [IND_OP_GRID_SAMPLER_2D] = ind__rule_grid_sampler,
    [IND_OP_GRID_SAMPLER_3D] = ind__rule_grid_sampler,
    [IND_OP_IM2COL] = ind__rule_im2col,
    [IND_OP_COL2IM] = ind__rule_col2im,
    [IND_OP_CONVOLUTION_BACKWARD] = ind__rule_convolution_backward,
    [IND_OP_EMBEDDING] = ind__rule_embedding,
    [IND_OP_GATHER] = ind__rule_gather,
    [IND_OP_INDEX_SELECT] = ind__rule_index_select,
    [IND_OP_INDEX] = ind__rule_index,
    [IND_OP_TAKE] = ind__rule_take,
    [IND_OP_INDEX_PUT] = ind__rule_index_put,
    [IND_OP_PUT] = ind__rule_put,
    [IND_OP_SCATTER] = ind__rule_scatter,
    [IND_OP_SCATTER_ADD] = ind__rule_scatter,
    [IND_OP_SCATTER_REDUCE] = ind__rule_scatter,
    [IND_OP_INDEX_ADD] = ind__rule_index_scatter,
    [IND_OP_INDEX_COPY] = ind__rule_index_scatter,
    [IND_OP_INDEX_FILL] = ind__rule_index_scatter,
    [IND_OP_EMBEDDING_DENSE_BACKWARD] = ind__rule_embedding_backward,
    [IND_OP_AVG_POOL2D_BACKWARD] = ind__rule_pool_backward,
    [IND_OP_ADAPTIVE_AVG_POOL2D_BACKWARD] = ind__rule_pool_backward,
    [IND_OP_MAX_POOL2D_WITH_INDICES_BACKWARD] = ind__rule_pool_backward,
    [IND_OP_CUMSUM] = ind__rule_cumsum,
    [IND_OP_CUMPROD] = ind__rule_cumsum,
    [IND_OP_CUMMAX] = ind__rule_cummax,
    [IND_OP_CUMMIN] = ind__rule_cummax,
    [IND_OP_LOGCUMSUMEXP] = ind__rule_cummax,
    [IND_OP_SORT] = ind__rule_cummax,
    [IND_OP_ARGSORT] = ind__rule_cummax,
    [IND_OP_TOPK] = ind__rule_topk,
    [IND_OP_SEARCHSORTED] = ind__rule_searchsorted,
    [IND_OP_BUCKETIZE] = ind__rule_searchsorted,
    [IND_OP_MSORT] = ind__rule_msort,
    [IND_OP_KTHVALUE] = ind__rule_ranked,
    [IND_OP_MEDIAN] = ind__rule_ranked,
    [IND_OP_NANMEDIAN] = ind__rule_ranked,
    [IND_OP_MODE] = ind__rule_ranked,
    [IND_OP_QUANTILE] = ind__rule_quantile,
    [IND_OP_NANQUANTILE] = ind__rule_quantile,
    [IND_OP_DIFF] = ind__rule_diff,
    [IND_OP_MULTINOMIAL] = ind__rule_multinomial,
    [IND_OP_ASSOCIATIVE_SCAN] = ind__rule_associative_scan,
    [IND_OP_MASKED_SCATTER] = ind__rule_masked_scatter,
    [IND_OP_NONZERO] = ind__rule_nonzero,
    [IND_OP_ARGWHERE] = ind__rule_nonzero,
    [IND_OP_MASKED_SELECT] = ind__rule_masked_select,
    [IND_OP_UNIQUE] = ind__rule_unique,
    [IND_OP_UNIQUE_CONSECUTIVE] = ind__rule_unique,
    [IND_OP_REPEAT_INTERLEAVE] = ind__rule_repeat_interleave,
    [IND_OP_MATMUL] = ind__rule_matmul,
    [IND_OP_MM] = ind__rule_mm,
    [IND_OP_BMM] = ind__rule_mm,
    [IND_OP_ADDMM] = ind__rule_addmm,
    [IND_OP_LINEAR] = ind__rule_linear,
    [IND_OP_SCALED_DOT_PRODUCT_ATTENTION] = ind__rule_attention,
};
