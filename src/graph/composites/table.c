/* ---- the table */

/* Of every op of IND_COMPOSITES (a test calls them all), and of no other. */
static const ind__expander ind__expanders[IND_NUM_OPS] = {
    [IND_OP_SMOOTH_L1_LOSS] = ind__expand_smooth_loss,
    [IND_OP_HUBER_LOSS] = ind__expand_smooth_loss,
    [IND_OP_BINARY_CROSS_ENTROPY] = ind__expand_binary_cross_entropy,
    [IND_OP_BINARY_CROSS_ENTROPY_WITH_LOGITS] = ind__expand_binary_cross_entropy_with_logits,
    [IND_OP_KL_DIV] = ind__expand_kl_div,
    [IND_OP_POISSON_NLL_LOSS] = ind__expand_poisson_nll_loss,
    [IND_OP_GAUSSIAN_NLL_LOSS] = ind__expand_gaussian_nll_loss,
    [IND_OP_HINGE_EMBEDDING_LOSS] = ind__expand_hinge_embedding_loss,
    [IND_OP_SOFT_MARGIN_LOSS] = ind__expand_soft_margin_loss,
    [IND_OP_MARGIN_RANKING_LOSS] = ind__expand_margin_ranking_loss,
    [IND_OP_TRIPLET_MARGIN_LOSS] = ind__expand_triplet_margin_loss,
    [IND_OP_COSINE_EMBEDDING_LOSS] = ind__expand_cosine_embedding_loss,
    [IND_OP_COSINE_SIMILARITY] = ind__expand_cosine_similarity,
    [IND_OP_PAIRWISE_DISTANCE] = ind__expand_pairwise_distance,
    [IND_OP_NORMALIZE] = ind__expand_normalize,
    [IND_OP_DIST] = ind__expand_dist,
    [IND_OP_SOFTSIGN] = ind__expand_softsign,
    [IND_OP_TANHSHRINK] = ind__expand_tanhshrink,
    [IND_OP_HARDSHRINK] = ind__expand_shrink,
    [IND_OP_SOFTSHRINK] = ind__expand_shrink,
    [IND_OP_SOFTMIN] = ind__expand_softmin,
    [IND_OP_GLU] = ind__expand_glu,
    [IND_OP_PRELU] = ind__expand_prelu,
    [IND_OP_RSUB] = ind__expand_rsub,
    [IND_OP_HEAVISIDE] = ind__expand_heaviside,
    [IND_OP_FLOAT_POWER] = ind__expand_float_power,
    [IND_OP_LDEXP] = ind__expand_ldexp,
    [IND_OP_LOGADDEXP2] = ind__expand_logaddexp2,
    [IND_OP_FMAX] = ind__expand_fmax,
    [IND_OP_FMIN] = ind__expand_fmax,
    [IND_OP_FRAC] = ind__expand_frac,
    [IND_OP_DEG2RAD] = ind__expand_degrees,
    [IND_OP_RAD2DEG] = ind__expand_degrees,
    [IND_OP_CLAMP_MIN] = ind__expand_clamp_min,
    [IND_OP_CLAMP_MAX] = ind__expand_clamp_max,
    [IND_OP_ISCLOSE] = ind__expand_isclose,
    [IND_OP_ISPOSINF] = ind__expand_isinf_signed,
    [IND_OP_ISNEGINF] = ind__expand_isinf_signed,
    [IND_OP_SPECIAL_ENTR] = ind__expand_special_entr,
    [IND_OP_SPECIAL_XLOG1PY] = ind__expand_special_xlog1py,
    [IND_OP_SPECIAL_NDTR] = ind__expand_special_ndtr,
    [IND_OP_TRACE] = ind__expand_trace,
    [IND_OP_NANSUM] = ind__expand_nansum,
    [IND_OP_NANMEAN] = ind__expand_nansum,
    [IND_OP_TRAPEZOID] = ind__expand_trapezoid,
    [IND_OP_CUMULATIVE_TRAPEZOID] = ind__expand_trapezoid,
    [IND_OP_HISTC] = ind__expand_histc,
    [IND_OP_BINCOUNT] = ind__expand_bincount,
    [IND_OP_DOT] = ind__expand_dot,
    [IND_OP_INNER] = ind__expand_inner,
    [IND_OP_OUTER] = ind__expand_outer,
    [IND_OP_MV] = ind__expand_mv,
    [IND_OP_ADDMV] = ind__expand_addmv,
    [IND_OP_ADDR] = ind__expand_addr,
    [IND_OP_BADDBMM] = ind__expand_baddbmm,
    [IND_OP_ADDBMM] = ind__expand_baddbmm,
    [IND_OP_KRON] = ind__expand_kron,
    [IND_OP_TENSORDOT] = ind__expand_tensordot,
    [IND_OP_CROSS] = ind__expand_cross,
    [IND_OP_LINALG_VECDOT] = ind__expand_linalg_vecdot,
    [IND_OP_BILINEAR] = ind__expand_bilinear,
    [IND_OP_EINSUM] = ind__expand_einsum,
    [IND_OP_T] = ind__expand_t,
    [IND_OP_ADJOINT] = ind__expand_adjoint,
    [IND_OP_RAVEL] = ind__expand_ravel,
    [IND_OP_HSTACK] = ind__expand_stacks,
    [IND_OP_VSTACK] = ind__expand_stacks,
    [IND_OP_DSTACK] = ind__expand_stacks,
    [IND_OP_COLUMN_STACK] = ind__expand_stacks,
    [IND_OP_FLIPLR] = ind__expand_flips,
    [IND_OP_FLIPUD] = ind__expand_flips,
    [IND_OP_ROT90] = ind__expand_rot90,
    [IND_OP_DIAG] = ind__expand_diag,
    [IND_OP_DIAG_EMBED] = ind__expand_diag_embed,
    [IND_OP_TAKE_ALONG_DIM] = ind__expand_take_along_dim,
    [IND_OP_CHANNEL_SHUFFLE] = ind__expand_channel_shuffle,
    [IND_OP_VANDER] = ind__expand_vander,
    [IND_OP_TYPE_AS] = ind__expand_type_as,
    [IND_OP_LOGSPACE] = ind__expand_logspace,
    [IND_OP_HANN_WINDOW] = ind__expand_window,
    [IND_OP_HAMMING_WINDOW] = ind__expand_window,
    [IND_OP_BLACKMAN_WINDOW] = ind__expand_window,
    [IND_OP_BARTLETT_WINDOW] = ind__expand_window,
    [IND_OP_KAISER_WINDOW] = ind__expand_kaiser_window,
    [IND_OP_EMBEDDING_BAG] = ind__expand_embedding_bag,
    [IND_OP_UPSAMPLE_BICUBIC2D] = ind__expand_upsample_bicubic,
    [IND_OP_UPSAMPLE_BILINEAR2D_AA] = ind__expand_upsample_aa,
    [IND_OP_UPSAMPLE_BICUBIC2D_AA] = ind__expand_upsample_aa,
    [IND_OP_GRID_SAMPLER] = ind__expand_grid_sampler,
    [IND_OP_AFFINE_GRID] = ind__expand_affine_grid,
    [IND_OP_LP_POOL1D] = ind__expand_lp_pool,
    [IND_OP_LP_POOL2D] = ind__expand_lp_pool,
    [IND_OP_LOCAL_RESPONSE_NORM] = ind__expand_local_response_norm,
    [IND_OP_VIEW_AS_REAL] = ind__expand_view_as_pairs,
    [IND_OP_VIEW_AS_COMPLEX] = ind__expand_view_as_pairs,
    [IND_OP_REAL] = ind__expand_part,
    [IND_OP_IMAG] = ind__expand_part,
    [IND_OP_COMPLEX] = ind__expand_complex,
    [IND_OP_POLAR] = ind__expand_complex,
    [IND_OP_FFT_R2C] = ind__expand_fft_core,
    [IND_OP_FFT_C2R] = ind__expand_fft_core,
    [IND_OP_FFT_C2C] = ind__expand_fft_core,
    [IND_OP_FFT_FFT] = ind__expand_fft,
    [IND_OP_FFT_IFFT] = ind__expand_fft,
    [IND_OP_FFT_RFFT] = ind__expand_fft,
    [IND_OP_FFT_IRFFT] = ind__expand_fft,
    [IND_OP_FFT_HFFT] = ind__expand_fft,
    [IND_OP_FFT_IHFFT] = ind__expand_fft,
    [IND_OP_FFT_FFT2] = ind__expand_fft,
    [IND_OP_FFT_IFFT2] = ind__expand_fft,
    [IND_OP_FFT_RFFT2] = ind__expand_fft,
    [IND_OP_FFT_IRFFT2] = ind__expand_fft,
    [IND_OP_FFT_FFTN] = ind__expand_fft,
    [IND_OP_FFT_IFFTN] = ind__expand_fft,
    [IND_OP_FFT_RFFTN] = ind__expand_fft,
    [IND_OP_FFT_IRFFTN] = ind__expand_fft,
    [IND_OP_STFT] = ind__expand_stft,
    [IND_OP_ISTFT] = ind__expand_istft,
    [IND_OP_FFT_FFTSHIFT] = ind__expand_fftshift,
    [IND_OP_FFT_IFFTSHIFT] = ind__expand_fftshift,
    [IND_OP_FFT_FFTFREQ] = ind__expand_fftfreq,
    [IND_OP_FFT_RFFTFREQ] = ind__expand_fftfreq,
};

static ind__expander ind__expander_of(const ind__node *node) {
    if (ind__is_named_padding(node->op, node->attr)) return ind__expand_named_padding;
    return node->op == IND_OP_INTERPOLATE ? ind__interpolation_expander(node) : ind__expanders[node->op];
}

static bool ind__expands(const ind__node *node) {
    return ind__expander_of(node) != NULL;
}

/* The failure of an op inside says which composite it belongs to. */
static void ind__expansion_failed(ind_graph *g, const char *name) {
    char why[sizeof g->error];
    memcpy(why, g->error, sizeof why);
    snprintf(g->error, sizeof g->error, "%.60s: %.*s", name, (int)sizeof why - 64, why);
    ind__fail(g->context, g->status, "%s", g->error);
}

/* The result takes the composite's name. One that was there before, or is a number, keeps its own: it gets an alias. */
static ind_tensor ind__finish_expansion(ind__expansion *e, uint32_t first) {
    ind_graph *g = e->g;
    if (!g->status && !e->y.id) ind__graph_fail(g, IND_VERIFY, "nothing was made");
    if (!g->status && e->y.id < first) e->y = ind_alias(e->y);
    if (!g->status && !ind__make_name(g, e->y.id, e->node->op, e->name)) ind__graph_no_memory(g, e->name);
    return g->status ? ind__graph_tensor(g, 0) : e->y;
}

static ind_tensor ind__expand(ind_graph *g, const ind__node *node) {
    const uint32_t first = g->num_tensors, n = node->num_operands;
    ind__expansion e = {.g = g, .c = g->context, .node = node, .name = ind__op_name(node->op), .a = node->attr};
    e.x = ind__arena_alloc(&g->arena, (n ? n : 1) * sizeof *e.x);
    if (!e.x) {
        ind__graph_no_memory(g, e.name);
        return ind__graph_tensor(g, 0);
    }
    for (uint32_t k = 0; k < n; k++) e.x[k] = node->operand[k] ? ind__graph_tensor(g, node->operand[k]) : IND_NO_TENSOR;
    e.num_x = (int)n;
    e.y = ind__graph_tensor(g, 0);
    const char *outer = g->composite;
    if (!outer) g->composite = e.name;
    ind__expander_of(node)(&e);
    ind_tensor y = ind__finish_expansion(&e, first);
    g->composite = outer;
    g->last_results = 1;
    if (g->status) ind__expansion_failed(g, e.name);
    return y;
}
