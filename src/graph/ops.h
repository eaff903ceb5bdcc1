typedef enum ind_graph_op {
#define X(name, text, operands, attributes, results, flags) IND_OP_##name,
    IND_OPS(X) IND_COMPOSITES(X)
#undef X
        IND_NUM_OPS
} ind_graph_op;

/* Marks a dimension list or an argument as "not given" / "no optional tensor". */
#define IND_NO_TENSOR ind_no_tensor()
static inline ind_tensor ind_no_tensor(void) {
    ind_tensor t = {0, 0};
    return t;
}

/* Numbers as operands: promote like Python numbers (an integer does not turn a float tensor into f64, and so on). */
IND_API ind_tensor ind_scalar(ind_graph *graph, double value);
IND_API ind_tensor ind_scalar_int(ind_graph *graph, int64_t value);

IND_API ind_tensor ind_full(ind_graph *graph, const ind_expr *size, int rank, double value, ind_dtype dtype);
/* start, step and dtype zeroed: 0, 1 and i64. */
IND_API ind_tensor ind_arange(ind_graph *graph, ind_expr start, ind_expr end, ind_expr step, ind_dtype dtype);
/* m zeroed: n. dtype NONE: f32. */
IND_API ind_tensor ind_eye(ind_graph *graph, ind_expr n, ind_expr m, ind_dtype dtype);
IND_API ind_tensor ind_linspace(ind_graph *graph, double start, double end, ind_expr steps, ind_dtype dtype);

/* Random numbers. Nothing is hidden: element e (row-major) of a result is a function of the seed (a tensor i64[]), the
   op's stream and e alone, the same on every device: the bits of Philox 4x32-10 with key = seed, counter = (e, stream).
   Ops with the same seed and stream give the same numbers; give each op a stream, each run a seed.
     rand       in [0, 1): bits 40 to 63 * 2^-24 for f32, 53 to 63 * 2^-11 for f16, 56 to 63 * 2^-8 for bf16, 11 to 63 *
                2^-53 for f64
     randn      sqrt(-2 log u) cos(2 pi v) (Box and Muller 1958): u = (bits 40 to 63 + 1) * 2^-24, v = bits 104 to 127 *
                2^-24; with f64 u from bits 11 to 63, v from bits 75 to 127, times 2^-53
     randint    low + (bits 0 to 62) mod (high - low); low < high must be known
     randperm   0 to n - 1 in the order of bits 0 to 62 of each (of equal ones the lower first)
     bernoulli  1 where a number as of rand in f32 (f64) is < self, a probability for each element; else 0
     multinomial  of the weights in a row (f64), with replacement the first whose running sum exceeds u * (their sum); u
   as of rand in f64 for each sample. Without, those with the largest weight / -log(v), in order, of equal ones the
   first (Efraimidis and Spirakis 2006): v = (bits 11 to 63 + 1) * 2^-53 for each weight native_dropout  input / (1 - p)
   where a number as of rand in f32 is >= p, else 0; mask: bool, where it was kept */
IND_API ind_tensor ind_rand(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream);
IND_API ind_tensor ind_randn(ind_tensor seed, const ind_expr *size, int rank, ind_dtype dtype, int stream);
IND_API ind_tensor ind_randint(ind_tensor seed, ind_expr low, ind_expr high, const ind_expr *size, int rank,
                               ind_dtype dtype, int stream);
IND_API ind_tensor ind_randperm(ind_tensor seed, ind_expr n, ind_dtype dtype, int stream);
IND_API ind_tensor ind_bernoulli(ind_tensor p, ind_tensor seed, int stream);
/* Bits [first, first + width) of Philox under that key, stream and position (all i64, broadcast), as a number >= 0:
   what the ops above are made of. width in [1, 63], within one half of the 128 bits. Not an op of PyTorch's. */
IND_API ind_tensor ind_philox(ind_tensor key, ind_tensor stream, ind_tensor position, int first, int width);
/* num_samples positions, i64, for each row of weights (p has one or two dimensions; a weight is finite and not
   negative, one of them not 0: else what is drawn is unspecified, but in range). Without replacement num_samples must
   be known to be at most the length of a row; weights of 0 come last, where PyTorch raises. */
IND_API ind_tensor ind_multinomial(ind_tensor p, ind_tensor seed, ind_expr num_samples, bool replacement, int stream);
/* train false: x and a mask of ones. mask may be NULL. */
IND_API ind_tensor ind_native_dropout(ind_tensor x, ind_tensor seed, double p, bool train, int stream,
                                      ind_tensor *mask);

/* torch.<name>; broadcasting and type promotion as PyTorch does them. */
IND_API ind_tensor ind_add(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_sub(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_mul(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_div(ind_tensor a, ind_tensor b); /* true division: integers give f32 */
/* The quotient rounded toward zero or down, in the type that a and b promote to (torch.div's rounding_mode). On
   integers x / 0 is 0, and the remainder of it x: PyTorch raises on the CPU and leaves it undefined on a GPU. */
typedef enum ind_rounding { IND_ROUND_NONE, IND_ROUND_TRUNC, IND_ROUND_FLOOR } ind_rounding;
IND_API ind_tensor ind_div_mode(ind_tensor a, ind_tensor b, ind_rounding mode);
IND_API ind_tensor ind_pow(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_maximum(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_minimum(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_eq(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_ne(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_lt(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_le(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_gt(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_ge(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_neg(ind_tensor a);
IND_API ind_tensor ind_exp(ind_tensor a);
IND_API ind_tensor ind_log(ind_tensor a);
IND_API ind_tensor ind_sqrt(ind_tensor a);
IND_API ind_tensor ind_rsqrt(ind_tensor a);
IND_API ind_tensor ind_reciprocal(ind_tensor a);
IND_API ind_tensor ind_tanh(ind_tensor a);
IND_API ind_tensor ind_erf(ind_tensor a);
IND_API ind_tensor ind_sigmoid(ind_tensor a);
IND_API ind_tensor ind_relu(ind_tensor a);
typedef enum ind_gelu_form { IND_GELU_ERF, IND_GELU_TANH } ind_gelu_form;
IND_API ind_tensor ind_gelu(ind_tensor a, ind_gelu_form form);
IND_API ind_tensor ind_silu(ind_tensor a);
IND_API ind_tensor ind_where(ind_tensor condition, ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_cast(ind_tensor a, ind_dtype dtype);

/* torch.<name>, of one tensor: integers come out as f32, or as they are from abs, the roundings, sign and square. bool
   is refused where PyTorch refuses it; bitwise ops refuse floats. */
IND_API ind_tensor ind_abs(ind_tensor a);
IND_API ind_tensor ind_acos(ind_tensor a);
IND_API ind_tensor ind_acosh(ind_tensor a);
IND_API ind_tensor ind_asin(ind_tensor a);
IND_API ind_tensor ind_asinh(ind_tensor a);
IND_API ind_tensor ind_atan(ind_tensor a);
IND_API ind_tensor ind_atanh(ind_tensor a);
IND_API ind_tensor ind_ceil(ind_tensor a);
IND_API ind_tensor ind_cos(ind_tensor a);
IND_API ind_tensor ind_cosh(ind_tensor a);
IND_API ind_tensor ind_erfc(ind_tensor a);
IND_API ind_tensor ind_exp2(ind_tensor a);
IND_API ind_tensor ind_expm1(ind_tensor a);
IND_API ind_tensor ind_floor(ind_tensor a);
IND_API ind_tensor ind_lgamma(ind_tensor a);
IND_API ind_tensor ind_erfinv(ind_tensor a);
IND_API ind_tensor ind_digamma(ind_tensor a);
IND_API ind_tensor ind_i0(ind_tensor a); /* modified Bessel functions of the first kind; e: times exp(-|a|) */
IND_API ind_tensor ind_special_i0e(ind_tensor a);
IND_API ind_tensor ind_special_i1(ind_tensor a);
IND_API ind_tensor ind_special_i1e(ind_tensor a);
IND_API ind_tensor ind_special_bessel_j0(ind_tensor a);
IND_API ind_tensor ind_special_bessel_j1(ind_tensor a);
IND_API ind_tensor ind_special_bessel_y0(ind_tensor a);
IND_API ind_tensor ind_special_bessel_y1(ind_tensor a);
IND_API ind_tensor ind_polygamma(int n, ind_tensor a); /* the n-th derivative of digamma */
IND_API ind_tensor ind_log10(ind_tensor a);
IND_API ind_tensor ind_log1p(ind_tensor a);
IND_API ind_tensor ind_log2(ind_tensor a);
IND_API ind_tensor ind_sin(ind_tensor a);
IND_API ind_tensor ind_sinh(ind_tensor a);
IND_API ind_tensor ind_tan(ind_tensor a);
IND_API ind_tensor ind_trunc(ind_tensor a);
IND_API ind_tensor ind_isnan(ind_tensor a);
IND_API ind_tensor ind_isinf(ind_tensor a);
IND_API ind_tensor ind_isfinite(ind_tensor a);
IND_API ind_tensor ind_logical_not(ind_tensor a);
IND_API ind_tensor ind_bitwise_not(ind_tensor a);
IND_API ind_tensor ind_round(ind_tensor a, int decimals); /* half to even; decimals may be negative */
IND_API ind_tensor ind_sign(ind_tensor a);                /* -1, 0 or 1; 0 for NaN */
IND_API ind_tensor ind_signbit(ind_tensor a);             /* true for -0 too */
IND_API ind_tensor ind_square(ind_tensor a);
IND_API ind_tensor ind_sinc(ind_tensor a);              /* sin(pi x) / (pi x) */
IND_API ind_tensor ind_logit(ind_tensor a, double eps); /* clamped to [eps, 1 - eps]; eps < 0: not */
/* A number in the place of NaN, of infinity and of -infinity; NULL: the largest and the smallest finite number. */
IND_API ind_tensor ind_nan_to_num(ind_tensor a, double nan, const double *posinf, const double *neginf);

/* torch.<name>, of two tensors or numbers (ind_scalar). */
IND_API ind_tensor ind_logical_and(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_logical_or(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_logical_xor(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_and(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_or(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_xor(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_atan2(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_copysign(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bitwise_left_shift(ind_tensor a, ind_tensor b);  /* by b < 0 or the width and more: 0 .. */
IND_API ind_tensor ind_bitwise_right_shift(ind_tensor a, ind_tensor b); /* .. and -1 for negative a to the right */
IND_API ind_tensor ind_gcd(ind_tensor a, ind_tensor b);                 /* of integers, >= 0; gcd(0, 0) is 0 */
IND_API ind_tensor ind_lcm(ind_tensor a, ind_tensor b);                 /* >= 0, wraps around; 0 if one is 0 */
IND_API ind_tensor ind_floor_divide(ind_tensor a, ind_tensor b);        /* ind_div_mode with IND_ROUND_FLOOR */
IND_API ind_tensor ind_fmod(ind_tensor a, ind_tensor b);                /* has the sign of a */
IND_API ind_tensor ind_remainder(ind_tensor a, ind_tensor b);           /* has the sign of b */
IND_API ind_tensor ind_hypot(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_nextafter(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_xlogy(ind_tensor a, ind_tensor b); /* a log(b), 0 where a is 0 */
IND_API ind_tensor ind_logaddexp(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_special_zeta(ind_tensor a, ind_tensor b); /* Hurwitz': sum of (b + k) ** -a */
IND_API ind_tensor ind_igamma(ind_tensor a, ind_tensor b);       /* regularised; igammac is 1 - igamma */
IND_API ind_tensor ind_igammac(ind_tensor a, ind_tensor b);

/* Of three. min or max may be IND_NO_TENSOR, not both; max counts where min > max. */
IND_API ind_tensor ind_clamp(ind_tensor a, ind_tensor min, ind_tensor max);
IND_API ind_tensor ind_lerp(ind_tensor a, ind_tensor end, ind_tensor weight);
IND_API ind_tensor ind_addcmul(ind_tensor a, ind_tensor b, ind_tensor c, double value); /* a + value * b * c */
IND_API ind_tensor ind_addcdiv(ind_tensor a, ind_tensor b, ind_tensor c, double value); /* a + value * b / c */
IND_API ind_tensor ind_masked_fill(ind_tensor a, ind_tensor mask, ind_tensor value);    /* value: number or 0-d */

/* torch.nn.functional.<name>. hardtanh, relu6 and threshold take integers too. */
IND_API ind_tensor ind_threshold(ind_tensor a, double threshold, double value); /* value where a <= threshold */
IND_API ind_tensor ind_hardtanh(ind_tensor a, double min_val, double max_val);
IND_API ind_tensor ind_relu6(ind_tensor a);
IND_API ind_tensor ind_hardsigmoid(ind_tensor a);
IND_API ind_tensor ind_hardswish(ind_tensor a);
IND_API ind_tensor ind_leaky_relu(ind_tensor a, double negative_slope);
/* scale * (a > 0 ? a : alpha * expm1(input_scale * a)) */
IND_API ind_tensor ind_elu(ind_tensor a, double alpha, double scale, double input_scale);
IND_API ind_tensor ind_celu(ind_tensor a, double alpha); /* alpha: not 0 */
IND_API ind_tensor ind_selu(ind_tensor a);
IND_API ind_tensor ind_softplus(ind_tensor a, double beta, double threshold);
IND_API ind_tensor ind_mish(ind_tensor a);
IND_API ind_tensor ind_log_sigmoid(ind_tensor a);

/* Copies. alias and clone are a itself to a graph whose tensors never change; copy is b, expanded to the shape of a and
   in its type; fill is a number or 0-d tensor likewise. */
IND_API ind_tensor ind_clone(ind_tensor a);
IND_API ind_tensor ind_alias(ind_tensor a);
IND_API ind_tensor ind_copy(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_fill(ind_tensor a, ind_tensor b);

/* Sources; dtype NONE is f32, or the type of a. What PyTorch calls empty is 0 here. */
IND_API ind_tensor ind_zeros(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_ones(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_empty(ind_graph *graph, const ind_expr *size, int rank, ind_dtype dtype);
/* stride is checked for its length only: nobody can see it. */
IND_API ind_tensor ind_empty_strided(ind_graph *graph, const ind_expr *size, const ind_expr *stride, int rank,
                                     ind_dtype dtype);
IND_API ind_tensor ind_scalar_tensor(ind_graph *graph, double value, ind_dtype dtype); /* 0-d */
IND_API ind_tensor ind_full_like(ind_tensor a, double value, ind_dtype dtype);
IND_API ind_tensor ind_zeros_like(ind_tensor a, ind_dtype dtype);
IND_API ind_tensor ind_ones_like(ind_tensor a, ind_dtype dtype);
IND_API ind_tensor ind_empty_like(ind_tensor a, ind_dtype dtype);
IND_API ind_tensor ind_new_full(ind_tensor a, const ind_expr *size, int rank, double value, ind_dtype dtype);
IND_API ind_tensor ind_new_zeros(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_new_ones(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype);
IND_API ind_tensor ind_new_empty(ind_tensor a, const ind_expr *size, int rank, ind_dtype dtype);

/* dims: num_dims dimensions, negative ones from the end; num_dims 0: all. dtype NONE: PyTorch's default. */
IND_API ind_tensor ind_sum(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_mean(ind_tensor x, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_amax(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_amin(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_any(ind_tensor x, const int *dims, int num_dims, bool keepdim);
#define IND_ALL_DIMS INT32_MIN
IND_API ind_tensor ind_argmax(ind_tensor x, int dim, bool keepdim); /* IND_ALL_DIMS: over the flattened tensor */
IND_API ind_tensor ind_argmin(ind_tensor x, int dim, bool keepdim);
/* Values; *indices (may be NULL) are those of the first extreme. IND_ALL_DIMS: of all elements, without indices. */
IND_API ind_tensor ind_max(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
IND_API ind_tensor ind_min(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
IND_API ind_tensor ind_aminmax(ind_tensor x, int dim, bool keepdim, ind_tensor *max); /* the least; max may be NULL */
IND_API ind_tensor ind_all(ind_tensor x, const int *dims, int num_dims, bool keepdim);
IND_API ind_tensor ind_prod(ind_tensor x, int dim, bool keepdim, ind_dtype dtype);
IND_API ind_tensor ind_count_nonzero(ind_tensor x, const int *dims, int num_dims);
/* Sum of squared deviations over max(n - correction, 0); correction 1: unbiased. *mean may be NULL. */
IND_API ind_tensor ind_var(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim);
IND_API ind_tensor ind_std(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim);
IND_API ind_tensor ind_var_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                                ind_tensor *mean);
IND_API ind_tensor ind_std_mean(ind_tensor x, const int *dims, int num_dims, double correction, bool keepdim,
                                ind_tensor *mean);
IND_API ind_tensor ind_logsumexp(ind_tensor x, const int *dims, int num_dims, bool keepdim);
/* (sum |x|^ord)^(1/ord); 0 counts what is not 0, INFINITY and -INFINITY are the largest and smallest |x|. */
IND_API ind_tensor ind_linalg_vector_norm(ind_tensor x, double ord, const int *dims, int num_dims, bool keepdim,
                                          ind_dtype dtype);
IND_API ind_tensor ind_norm(ind_tensor x, double p, const int *dims, int num_dims, bool keepdim, ind_dtype dtype);
/* [.., P, M], [.., R, M]: the p-norms (p >= 0) of the differences of all rows, [.., P, R]. */
IND_API ind_tensor ind_cdist(ind_tensor x1, ind_tensor x2, double p);
/* [N, M]: those of rows i < j, [N * (N - 1) / 2]. torch.pdist, which is _pdist_forward in the text form. */
IND_API ind_tensor ind_pdist(ind_tensor x, double p);
typedef enum ind_loss_reduction { IND_LOSS_MEAN, IND_LOSS_SUM, IND_LOSS_NONE } ind_loss_reduction;
IND_API ind_tensor ind_mse_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction);
IND_API ind_tensor ind_l1_loss(ind_tensor x, ind_tensor target, ind_loss_reduction reduction);
/* x: [C] or [N, C, ..], log-probabilities of classes; target: [] or [N, ..], classes, those equal to ignore_index
   (PyTorch's default: -100) counting nothing; weight: [C] or IND_NO_TENSOR. */
IND_API ind_tensor ind_nll_loss(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                                ind_loss_reduction reduction);
/* As ind_nll_loss of the log_softmax of x; target may also be probabilities, of x's shape and type. */
IND_API ind_tensor ind_cross_entropy(ind_tensor x, ind_tensor target, ind_tensor weight, int ignore_index,
                                     ind_loss_reduction reduction, double label_smoothing);
IND_API ind_tensor ind_softmax(ind_tensor x, int dim);
IND_API ind_tensor ind_log_softmax(ind_tensor x, int dim);
/* weight, bias: IND_NO_TENSOR to leave out. Normalises over the last num_dims dimensions. */
IND_API ind_tensor ind_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps);
/* As ind_layer_norm, without mean and bias. eps < 0: the epsilon of x's type. */
IND_API ind_tensor ind_rms_norm(ind_tensor x, int num_dims, ind_tensor weight, double eps);
/* As ind_layer_norm; *mean and *rstd (either may be NULL) are of the type computed in and keep the dimensions. */
IND_API ind_tensor ind_native_layer_norm(ind_tensor x, int num_dims, ind_tensor weight, ind_tensor bias, double eps,
                                         ind_tensor *mean, ind_tensor *rstd);
/* x is [N, C, ..], weight and bias [C]; each group of C / num_groups channels of a sample is normalised. */
IND_API ind_tensor ind_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps);
/* As ind_group_norm; *mean and *rstd (may be NULL) are [N, num_groups]. */
IND_API ind_tensor ind_native_group_norm(ind_tensor x, int num_groups, ind_tensor weight, ind_tensor bias, double eps,
                                         ind_tensor *mean, ind_tensor *rstd);
/* x is [N, C, ..], all others [C]. With mean and variance given they are used, else those of the batch are. Statistics
   are not updated. */
IND_API ind_tensor ind_batch_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                                  ind_tensor running_var, double eps);
/* As ind_batch_norm; *mean and *rstd (may be NULL) are those of the batch, [C], or empty where running ones are used.
 */
IND_API ind_tensor ind_native_batch_norm_legit(ind_tensor x, ind_tensor weight, ind_tensor bias,
                                               ind_tensor running_mean, ind_tensor running_var, double eps,
                                               ind_tensor *mean, ind_tensor *rstd);
/* As ind_native_batch_norm_legit in training; *new_mean and *new_var (may be NULL) are what running_mean and
   running_var become: (1 - momentum) times themselves plus momentum times the batch's, for ind_mutate. */
IND_API ind_tensor ind_native_batch_norm_legit_functional(ind_tensor x, ind_tensor weight, ind_tensor bias,
                                                          ind_tensor running_mean, ind_tensor running_var,
                                                          double momentum, double eps, ind_tensor *new_mean,
                                                          ind_tensor *new_var);
/* Gradients: the result is that of x, *weight_grad and *bias_grad (NULL: not wanted) those of weight and bias. mean and
   rstd are what the forward op gave. */
IND_API ind_tensor ind_native_layer_norm_backward(ind_tensor grad_out, ind_tensor x, int num_dims, ind_tensor mean,
                                                  ind_tensor rstd, ind_tensor weight, ind_tensor bias,
                                                  ind_tensor *weight_grad, ind_tensor *bias_grad);
IND_API ind_tensor ind_native_group_norm_backward(ind_tensor grad_out, ind_tensor x, ind_tensor mean, ind_tensor rstd,
                                                  ind_tensor weight, int num_groups, ind_tensor *weight_grad,
                                                  ind_tensor *bias_grad);
/* As ind_batch_norm, but every channel of every sample by itself. */
IND_API ind_tensor ind_instance_norm(ind_tensor x, ind_tensor weight, ind_tensor bias, ind_tensor running_mean,
                                     ind_tensor running_var, double eps);

/* Views: cost nothing. One size of ind_view may be -1 (given as ind_int(ctx, -1)). */
IND_API ind_tensor ind_view(ind_tensor x, const ind_expr *size, int rank);
IND_API ind_tensor ind_view_text(ind_tensor x, const char *size); /* "[B, S, 12, 32]" */
IND_API ind_tensor ind_permute(ind_tensor x, const int *dims, int num_dims);
IND_API ind_tensor ind_transpose(ind_tensor x, int dim0, int dim1);
IND_API ind_tensor ind_expand(ind_tensor x, const ind_expr *size, int rank); /* -1: keep */
IND_API ind_tensor ind_unsqueeze(ind_tensor x, int dim);
IND_API ind_tensor ind_squeeze(ind_tensor x, int dim); /* IND_ALL_DIMS: every dimension of size 1 */
/* Python's x[start:end:step] along one dimension; step > 0. A zeroed start, end or step means "not given". */
IND_API ind_tensor ind_slice(ind_tensor x, int dim, ind_expr start, ind_expr end, ind_expr step);
IND_API ind_tensor ind_select(ind_tensor x, int dim, ind_expr index);
IND_API ind_tensor ind_cat(const ind_tensor *tensors, int num, int dim);

/* An op with several results returns the first; this is number k of those that the op of x has. */
IND_API ind_tensor ind_result(ind_tensor x, int k);
IND_API int ind_num_results(ind_tensor x); /* of the op that x comes from; 0: x is invalid */

/* Views as torch.<name>; a reshape of a view that is no view itself costs index arithmetic, never a copy. */
IND_API ind_tensor ind_reshape(ind_tensor x, const ind_expr *size, int rank); /* as ind_view */
IND_API ind_tensor ind_view_as(ind_tensor x, ind_tensor other);
IND_API ind_tensor ind_flatten(ind_tensor x, int start_dim, int end_dim);
IND_API ind_tensor ind_unflatten(ind_tensor x, int dim, const ind_expr *sizes, int num_sizes);
IND_API ind_tensor ind_broadcast_to(ind_tensor x, const ind_expr *size, int rank);
IND_API ind_tensor ind_expand_as(ind_tensor x, ind_tensor other);
IND_API ind_tensor ind_broadcast_tensors(const ind_tensor *tensors, int num); /* as many results */
/* As many results as 0-d or 1-d tensors; xy: indexing="xy", which exchanges the first two dimensions. */
IND_API ind_tensor ind_meshgrid(const ind_tensor *tensors, int num, bool xy);
IND_API ind_tensor ind_movedim(ind_tensor x, int source, int destination);
IND_API ind_tensor ind_narrow(ind_tensor x, int dim, ind_expr start, ind_expr length);
/* Pieces of a size, the last of what is left; their number must be the same for all sizes. */
IND_API ind_tensor ind_split(ind_tensor x, ind_expr split_size, int dim);
IND_API ind_tensor ind_split_with_sizes(ind_tensor x, const ind_expr *sizes, int num_sizes, int dim);
IND_API ind_tensor ind_chunk(ind_tensor x, int chunks, int dim); /* pieces of ceil(size / chunks): maybe fewer */
IND_API ind_tensor ind_unbind(ind_tensor x, int dim);
IND_API ind_tensor ind_unfold(ind_tensor x, int dim, ind_expr size, ind_expr step); /* windows as a last dimension */
IND_API ind_tensor ind_diagonal(ind_tensor x, int offset, int dim1, int dim2);
/* The elements of x's storage at these strides. What is computed lies there contiguously, row by row; a view shows the
   storage of what it is a view of, and storage_offset counts from the beginning of that (left out: where x begins). */
IND_API ind_tensor ind_as_strided(ind_tensor x, const ind_expr *size, const ind_expr *stride, int rank,
                                  ind_expr storage_offset);
IND_API ind_tensor ind_flip(ind_tensor x, const int *dims, int num_dims);
IND_API ind_tensor ind_roll(ind_tensor x, ind_expr shift, int dim); /* IND_ALL_DIMS: as if it were flat */
IND_API ind_tensor ind_repeat(ind_tensor x, const ind_expr *repeats, int num_repeats);
IND_API ind_tensor ind_tile(ind_tensor x, const ind_expr *repeats, int num_repeats);
IND_API ind_tensor ind_pixel_shuffle(ind_tensor x, int upscale_factor);
IND_API ind_tensor ind_pixel_unshuffle(ind_tensor x, int downscale_factor);

/* torch.<name>; src takes the element type of x. */
IND_API ind_tensor ind_stack(const ind_tensor *tensors, int num, int dim);
IND_API ind_tensor ind_select_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr index);
IND_API ind_tensor ind_slice_scatter(ind_tensor x, ind_tensor src, int dim, ind_expr start, ind_expr end,
                                     ind_expr step); /* as ind_slice */
IND_API ind_tensor ind_diagonal_scatter(ind_tensor x, ind_tensor src, int offset, int dim1, int dim2);
IND_API ind_tensor ind_tril(ind_tensor x, ind_expr diagonal); /* zeroed: 0 */
IND_API ind_tensor ind_triu(ind_tensor x, ind_expr diagonal);
/* i64 with one more dimension of num_classes; a class outside of it is an index out of range at run time. */
IND_API ind_tensor ind_one_hot(ind_tensor x, ind_expr num_classes);

/* torch.nn.functional.pad and its modes. pad: before and after the last dimension, then the one before it, and so on;
   negative ones crop. value: for IND_PAD_CONSTANT. */
typedef enum ind_pad_mode { IND_PAD_CONSTANT, IND_PAD_REFLECT, IND_PAD_REPLICATE, IND_PAD_CIRCULAR } ind_pad_mode;
IND_API ind_tensor ind_pad(ind_tensor x, const ind_expr *pad, int num_pad, ind_pad_mode mode, double value);

/* The windows of a pool. Zero is the default: stride that of the kernel, dilation 1, the padding counted in averages.
 */
typedef struct ind_pool_desc {
    int kernel_size[3], stride[3], padding[3], dilation[3]; /* as many as the pool has dimensions */
    bool ceil_mode, count_exclude_pad;
    int divisor_override; /* of averages; 0: the number of elements */
} ind_pool_desc;
/* torch.nn.functional.<name> over the last `dims` (1 to 3) dimensions of an image with channels, with or without a
   batch. indices (may be NULL): positions in the input's plane, i64; the first of equals, of NaN too. Averages are of
   floats, those of ind_avg_pool and its gradient also of i64, which are rounded toward 0. */
IND_API ind_tensor ind_max_pool(ind_tensor x, int dims, const ind_pool_desc *pool, ind_tensor *indices);
IND_API ind_tensor ind_avg_pool(ind_tensor x, int dims, const ind_pool_desc *pool);
IND_API ind_tensor ind_adaptive_max_pool(ind_tensor x, const ind_expr *output_size, int dims, ind_tensor *indices);
IND_API ind_tensor ind_adaptive_avg_pool(ind_tensor x, const ind_expr *output_size, int dims);

/* A convolution. Zero is the default: stride, dilation and groups 1. */
typedef struct ind_conv_desc {
    int stride[3], padding[3], dilation[3], output_padding[3]; /* as many as the weight has spatial dimensions */
    int groups;
    bool transposed; /* torch.conv_transpose*d; output_padding is for it alone */
} ind_conv_desc;
/* torch.convolution: x [batch?, channels, sizes..], weight [out, in / groups, kernel..] or, transposed, [in, out /
   groups, kernel..]; bias: IND_NO_TENSOR to leave out. conv may be NULL. */
IND_API ind_tensor ind_convolution(ind_tensor x, ind_tensor weight, ind_tensor bias, const ind_conv_desc *conv);

/* torch.nn.functional.interpolate of [batch, channels, 1 to 3 sizes]. One of size and scale_factor is given, the other
   NULL with 0; num: 1 for all dimensions, or one for each. Places are computed as PyTorch does, in f32 (linear in f64:
   in f64). align_corners: for IND_INTERPOLATE_LINEAR. The text form also has the modes "area" and "bicubic", and
   antialias. */
typedef enum ind_interpolation {
    IND_INTERPOLATE_NEAREST,
    IND_INTERPOLATE_NEAREST_EXACT,
    IND_INTERPOLATE_LINEAR /* bilinear, trilinear */
} ind_interpolation;
IND_API ind_tensor ind_interpolate(ind_tensor x, const ind_expr *size, int num_size, const double *scale_factor,
                                   int num_scale_factor, ind_interpolation mode, bool align_corners);
/* torch.grid_sampler_2d: x [batch, channels, h, w], grid [batch, rows, columns, 2] of x and y in [-1, 1].
   interpolation_mode 0 bilinear, 1 nearest, 2 bicubic; padding_mode 0 zeros, 1 border, 2 reflection. _3d: x [batch,
   channels, d, h, w], grid [batch, planes, rows, columns, 3] of x, y and z; 0 trilinear, 1 nearest. */
IND_API ind_tensor ind_grid_sampler_2d(ind_tensor x, ind_tensor grid, int interpolation_mode, int padding_mode,
                                       bool align_corners);
IND_API ind_tensor ind_grid_sampler_3d(ind_tensor x, ind_tensor grid, int interpolation_mode, int padding_mode,
                                       bool align_corners);
/* torch.nn.functional.unfold and fold of images of two dimensions; a stride of 0 means 1 here. */
IND_API ind_tensor ind_im2col(ind_tensor x, const ind_pool_desc *window);
IND_API ind_tensor ind_col2im(ind_tensor x, ind_expr height, ind_expr width, const ind_pool_desc *window);

/* aten::<name>; what of the gradients is not used is not computed. */
/* Gradients of x, weight and bias: ind_result(.., 0), 1 and 2. conv may be NULL. */
IND_API ind_tensor ind_convolution_backward(ind_tensor grad_output, ind_tensor x, ind_tensor weight,
                                            const ind_conv_desc *conv);

IND_API ind_tensor ind_embedding(ind_tensor weight, ind_tensor indices);
IND_API ind_tensor ind_gather(ind_tensor x, int dim, ind_tensor index);
IND_API ind_tensor ind_index_select(ind_tensor x, int dim, ind_tensor index);

/* x[indices]: one index tensor per leading dimension, IND_NO_TENSOR for all of it; the index tensors broadcast, and
   their dimensions stand where the first of them stood, or in front if there is a gap between them. Negative indices
   count from the end. Masks (bool) have a size that depends on data: IND_NOT_SUPPORTED. */
IND_API ind_tensor ind_index(ind_tensor x, const ind_tensor *indices, int num);
IND_API ind_tensor ind_take(ind_tensor x, ind_tensor index); /* of x flattened; negative ones from the end */

/* Scatters: x with some elements replaced or combined; x itself stays (see ind_mutate). Where the same element is named
   twice, replacing keeps the last one on the host device and any one on a GPU, and sums of floats come in any order on
   a GPU, as in PyTorch. An index that is out of range stores nothing and is IND_INDEX_OUT_OF_RANGE.
   ind_index_put: as ind_index; a single mask goes with values of one element. */
IND_API ind_tensor ind_index_put(ind_tensor x, const ind_tensor *indices, int num, ind_tensor values, bool accumulate);
IND_API ind_tensor ind_put(ind_tensor x, ind_tensor index, ind_tensor source, bool accumulate);
IND_API ind_tensor ind_scatter(ind_tensor x, int dim, ind_tensor index, ind_tensor src);
IND_API ind_tensor ind_scatter_value(ind_tensor x, int dim, ind_tensor index, double value);
IND_API ind_tensor ind_scatter_add(ind_tensor x, int dim, ind_tensor index, ind_tensor src);
/* reduce: "sum", "prod", "mean", "amax" or "amin". */
IND_API ind_tensor ind_scatter_reduce(ind_tensor x, int dim, ind_tensor index, ind_tensor src, const char *reduce,
                                      bool include_self);
IND_API ind_tensor ind_index_add(ind_tensor x, int dim, ind_tensor index, ind_tensor source, double alpha);
IND_API ind_tensor ind_index_copy(ind_tensor x, int dim, ind_tensor index, ind_tensor source);
IND_API ind_tensor ind_index_fill(ind_tensor x, int dim, ind_tensor index, double value);
/* Gradient of ind_embedding with respect to its weight [num_weights, features]; padding_idx < 0: none. */
IND_API ind_tensor ind_embedding_dense_backward(ind_tensor grad_output, ind_tensor indices, ind_expr num_weights,
                                                int64_t padding_idx, bool scale_grad_by_freq);
/* Gradients of pools over the last two dimensions with respect to x: zeros, to which every window adds its own.
   indices: as ind_max_pool gave them. */
IND_API ind_tensor ind_avg_pool2d_backward(ind_tensor grad_output, ind_tensor x, const ind_pool_desc *pool);
IND_API ind_tensor ind_adaptive_avg_pool2d_backward(ind_tensor grad_output, ind_tensor x);
IND_API ind_tensor ind_max_pool2d_with_indices_backward(ind_tensor grad_output, ind_tensor x, const ind_pool_desc *pool,
                                                        ind_tensor indices);

/* Running sums, products and extremes along one dimension, first to last, each with its own element (torch.cumsum ..).
   dtype NONE: PyTorch's default, i64 for integers and bool. Results have x's size; indices may be NULL, else i64
   positions along dim: of equal values the last so far, and of the last NaN once one was met. */
IND_API ind_tensor ind_cumsum(ind_tensor x, int dim, ind_dtype dtype);
IND_API ind_tensor ind_cumprod(ind_tensor x, int dim, ind_dtype dtype);
IND_API ind_tensor ind_cummax(ind_tensor x, int dim, ind_tensor *indices);
IND_API ind_tensor ind_cummin(ind_tensor x, int dim, ind_tensor *indices);
IND_API ind_tensor ind_logcumsumexp(ind_tensor x, int dim); /* floats only */
/* Values, and in *indices (may be NULL) where they were along dim, i64. Always stable; NaN is larger than every number.
 */
IND_API ind_tensor ind_sort(ind_tensor x, int dim, bool descending, ind_tensor *indices);
IND_API ind_tensor ind_argsort(ind_tensor x, int dim, bool descending);
/* The k largest (smallest) elements along dim, in order, and their i64 positions; of equal ones the first. k must be
   known to be at most the size of dim; it may be symbolic. Not for bool. */
IND_API ind_tensor ind_topk(ind_tensor x, ind_expr k, int dim, bool largest, ind_tensor *indices);
IND_API ind_tensor ind_msort(ind_tensor x); /* the values of ind_sort along dimension 0 */
/* The k-th smallest along dim (k from 1; may be symbolic, then known to be at most the size), as in ind_sort; in
 *indices (may be NULL) where it is, of equal ones the k-th in order. */
IND_API ind_tensor ind_kthvalue(ind_tensor x, ind_expr k, int dim, bool keepdim, ind_tensor *indices);
/* The lower of the two in the middle; NaN where there is one. Of all elements: of ind_flatten(x, 0, -1). Not for bool.
   *indices (may be NULL): where it is, of equal ones the one that a stable sort puts there, of NaNs the first.
   ind_nanmedian: of what is not NaN; NaN where that is nothing. */
IND_API ind_tensor ind_median(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
IND_API ind_tensor ind_nanmedian(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
/* The value that occurs most often along dim, the smallest of several; each NaN is a value of its own, and the
 *smallest. indices (may be NULL): where it occurs last (of NaNs the first), as PyTorch does on the CPU. */
IND_API ind_tensor ind_mode(ind_tensor x, int dim, bool keepdim, ind_tensor *indices);
/* Quantile q, f32 and f64: a number (ind_scalar), or a tensor of x's type with one dimension, which the result then
   begins with, or none. interpolation: "linear" (NULL), "lower", "higher", "nearest",
   "midpoint". NaN where there is one; ind_nanquantile: of what is not NaN. A q outside [0, 1] is refused, in a tensor
   at run time: IND_INDEX_OUT_OF_RANGE. */
IND_API ind_tensor ind_quantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation);
IND_API ind_tensor ind_nanquantile(ind_tensor x, ind_tensor q, int dim, bool keepdim, const char *interpolation);
/* Differences of neighbours along dim, n times over (0 to 16); prepend and append (IND_NO_TENSOR: none), of x's type,
   are put before and behind it first. Of bools: whether they differ. */
IND_API ind_tensor ind_diff(ind_tensor x, int n, int dim, ind_tensor prepend, ind_tensor append);
/* How many elements of the ascending sequence come before each x (right: before or equal), i64 or i32. sorted_sequence
   has one dimension, or x's with the last one free. sorter (or IND_NO_TENSOR): i64, what sorts the sequence; its values
   are checked at run time. Both are compared in the type that they promote to; x may be a number. */
IND_API ind_tensor ind_searchsorted(ind_tensor sorted_sequence, ind_tensor x, bool out_int32, bool right,
                                    ind_tensor sorter);
/* searchsorted with one-dimensional boundaries. */
IND_API ind_tensor ind_bucketize(ind_tensor x, ind_tensor boundaries, bool out_int32, bool right);
/* x where mask is false, and where it is true the elements of source, in order. Too few of them are found at run time:
   IND_INDEX_OUT_OF_RANGE. mask is bool; x and mask broadcast; x and source have one type. */
IND_API ind_tensor ind_masked_scatter(ind_tensor x, ind_tensor mask, ind_tensor source);

/* Results of a size that only the data decide: a symbol u0, u1, .. (ind_tensor_size) that later ops may use, at most
   the number of elements looked through. Nothing waits for it: memory is taken for the most there can be, and kernels
   read the size where an earlier one has written it (>>sizes of inductor_runtime.h reads it back).
   In the text form two attributes bound the size for later ops that need it, min_length and max_length, which may be
   sizes, also such that come from data: elements fewer or more are found at run time, IND_INDEX_OUT_OF_RANGE, and
   nothing is written outside. Where both are one size, the result has that. A fact behind the op, as u1 == u0 or
   u0 <= 4*N, sets them (torch._check). ind_nonzero: the indices of
   the elements that are not 0 (or false), i64[u0, rank], in row-major order; ind_argwhere: the same. ind_masked_select:
   the elements of x where mask holds, [u0]; both broadcast. */
IND_API ind_tensor ind_nonzero(ind_tensor x);
IND_API ind_tensor ind_argwhere(ind_tensor x);
IND_API ind_tensor ind_masked_select(ind_tensor x, ind_tensor mask);
/* The values that occur in x, ascending, [u0]; every NaN counts as another. inverse (i64, like x): which of them each
   element is; counts (i64[u0]): how often each occurs; NULL: not wanted. ind_unique_consecutive: of equal neighbours in
   row-major order the first. */
IND_API ind_tensor ind_unique(ind_tensor x, ind_tensor *inverse, ind_tensor *counts);
IND_API ind_tensor ind_unique_consecutive(ind_tensor x, ind_tensor *inverse, ind_tensor *counts);
/* The same of whole slices along dim (torch.unique with dim), in the order of their elements; inverse and counts are of
   the slices. x without dimensions or with one: as above. The sizes of the slices must be known to be above 0. */
IND_API ind_tensor ind_unique_dim(ind_tensor x, int dim, ind_tensor *inverse, ind_tensor *counts);
IND_API ind_tensor ind_unique_dim_consecutive(ind_tensor x, int dim, ind_tensor *inverse, ind_tensor *counts);
/* Each element of x along dim (IND_ALL_DIMS: of x flattened) as often as repeats says, a tensor of i32 or i64 with one
   element or as many as there are along dim. output_size, if valid, is the length of the result; else it comes from
   data and is at most max_output_size. Repeats that are negative or that come to another or a larger length are found
   at run time: IND_INDEX_OUT_OF_RANGE, and nothing is written outside. */
IND_API ind_tensor ind_repeat_interleave(ind_tensor x, ind_tensor repeats, int dim, ind_expr output_size,
                                         ind_expr max_output_size);

IND_API ind_tensor ind_matmul(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_mm(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_bmm(ind_tensor a, ind_tensor b);
IND_API ind_tensor ind_addmm(ind_tensor bias, ind_tensor a, ind_tensor b, double beta, double alpha);
IND_API ind_tensor ind_linear(ind_tensor x, ind_tensor weight, ind_tensor bias); /* bias: IND_NO_TENSOR to leave out */

/* softmax(query @ key^T * scale + mask) @ value for query [.., L, E], key [.., S, E], value [.., S, V]; the leading
   dimensions broadcast. attn_mask (IND_NO_TENSOR: none) broadcasts to [.., L, S]: bool, false where a key is left out,
   or floats that are added. A row of which every key is left out gives 0. desc may be NULL. */
typedef struct ind_attention_desc {
    bool is_causal;  /* query i sees the keys 0 to i; not together with a mask */
    double scale;    /* 0: 1 / sqrt(E) */
    bool enable_gqa; /* dimension -3, the heads: key and value may have fewer, each for several of query in a row */
} ind_attention_desc;
IND_API ind_tensor ind_scaled_dot_product_attention(ind_tensor query, ind_tensor key, ind_tensor value,
                                                    ind_tensor attn_mask, const ind_attention_desc *desc);

/* Any op of the table by a call of the text form, in which $0, $1, .. are the tensors x: ind_apply(g, "kl_div($0, $1,
   reduction=\"sum\")", x, 2). Sizes of the graph stand by their names, and so do tensors. Of ops that have no function
   of their own above, the composites, it is the builder; "add_($0, 1)" works in place. x may be NULL where num is 0.
   Returns the first result, in place the first operand. */
IND_API ind_tensor ind_apply(ind_graph *graph, const char *call, const ind_tensor *x, int num);

/* An op of one's own. fn is called once, at once, to record the body; user_bytes of *user are only needed until then.
   The result has the size of `like` (or size/rank) and dtype (IND_DTYPE_NONE: that of `like`). The body may load any
   tensor of the graph at any index (ind_op_load). It fuses like every other op. */
typedef struct ind_loop_desc {
    const char *name;
    ind_tensor like;
    const ind_expr *size;
    int rank;
    ind_dtype dtype;
    ind_loop_fn fn;
    void *user;
} ind_loop_desc;
IND_API ind_tensor ind_pointwise(ind_graph *graph, const ind_loop_desc *desc);

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
    ind_tensor segments, starts; /* IND_NO_TENSOR: there is one segment */
    ind_combine_fn combine;
    void *user; /* only needed until the call returns */
} ind_scan_desc;
IND_API ind_tensor ind_associative_scan(ind_graph *graph, const ind_scan_desc *desc);
/* A device function of one's own (ind_function_register in inductor_ir.h), element by element: operands broadcast and
   become what the function declares. Numbers (ind_scalar) are allowed. Errors: IND_NOT_FOUND (no such function),
   IND_INVALID_ARGUMENT (another number of operands; an op has that name), IND_TYPE_MISMATCH (an operand's type does not
   promote to that of the argument), IND_SHAPE_MISMATCH. Without a host twin, ind_compile for the host device is
   IND_NOT_SUPPORTED. */
IND_API ind_tensor ind_call(ind_graph *graph, const char *function, const ind_tensor *args, int num_args);

/* An opaque call (ind_extern_register in inductor_ir.h): a step of its own, for which nothing is written; its operands
   are stored, contiguous. The result is the first one, ind_result gives the others: those declared, then for each
   operand in `mutates` what it holds after the call. Ops that read such an operand itself see what was there before;
   where any comes later, the call gets a copy. A call whose results nobody uses is dropped; any other is made once in
   each run. The callbacks are looked up when the graph is compiled: a missing one is IND_NOT_SUPPORTED there. Errors:
   IND_NOT_FOUND, IND_INVALID_ARGUMENT (no types and no shape rule), IND_TYPE_MISMATCH (the rule gives others),
   IND_PARSE, IND_LIMIT, IND_OUT_OF_RANGE and IND_OVERFLOW (the workspace), what the rule returns. */
typedef struct ind_extern_args {
    const ind_tensor *inputs;
    int num_inputs;
    const char *const *results; /* types as "f32[N, 8]"; none, and none in mutates: the shape rule says them */
    int num_results;
    const char *workspace; /* bytes, as "4*N + 256"; NULL: the shape rule says, else 0 */
    const int *mutates;    /* numbers of operands that it overwrites */
    int num_mutates;
} ind_extern_args;
IND_API ind_tensor ind_extern(ind_graph *graph, const char *name, const ind_extern_args *args);
