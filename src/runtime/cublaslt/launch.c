/* ---- launches of products by cuBLASLt */

/* A batch dimension: its size and the elements between its matrices. */
typedef struct rt__lt_dim {
    int64_t size, a, b, d;
} rt__lt_dim;

/* A product as cuBLASLt computes it: one launch for each point of `dim`. */
typedef struct rt__lt_product {
    rt__lt_key key;
    const char *a, *b;
    rt__lt_pointers pointers;
    char *d;
    int64_t bytes_a, bytes_b, bytes_d; /* of an element */
    rt__lt_dim dim[IND_MAX_RANK];
    int num_dims; /* the last varies fastest */
} rt__lt_product;

/* cudaDataType_t; -1: not one that is multiplied. */
static int rt__lt_type(ind_dtype t) {
    switch (t) {
    case IND_F32: return IND__LT_TYPE_F32;
    case IND_F16: return IND__LT_TYPE_F16;
    case IND_BF16: return IND__LT_TYPE_BF16;
    case IND_F8E4M3FN: return IND__LT_TYPE_F8E4M3;
    case IND_F8E5M2: return IND__LT_TYPE_F8E5M2;
    default: return -1;
    }
}

/* Finds the leading dimension of a matrix, which a single row or column may have any of. False: no dimension has stride
   1. */
static bool rt__lt_matrix(const ind_extern_tensor *t, int64_t *ld, int64_t *transposed) {
    const int row = t->rank - 2, column = t->rank - 1;
    *transposed = t->stride[column] != 1;
    const int along = *transposed ? row : column, across = *transposed ? column : row;
    *ld = t->stride[across];
    if (t->size[across] == 1 && *ld < t->size[along]) *ld = t->size[along];
    return t->stride[along] == 1;
}

/* The stride of batch dimension d of the result in an operand, which may lack it or repeat its matrices. */
static int64_t rt__lt_step(const ind_extern_tensor *t, int rank, int d) {
    const int own = d - (rank - t->rank);
    return own < 0 || t->size[own] == 1 ? 0 : t->stride[own];
}

/* Collects the batch dimensions. Those that continue each other in all tensors become one. */
static void rt__lt_collect(rt__lt_product *p, const ind_extern_tensor *a, const ind_extern_tensor *b,
                           const ind_extern_tensor *d) {
    rt__lt_dim inner[IND_MAX_RANK];
    int num = 0;
    for (int i = d->rank - 2; i-- > 0;) {
        const rt__lt_dim x = {d->size[i], rt__lt_step(a, d->rank, i), rt__lt_step(b, d->rank, i), d->stride[i]};
        rt__lt_dim *last = num ? &inner[num - 1] : NULL;
        if (x.size == 1) continue;
        if (last && x.a == last->a * last->size && x.b == last->b * last->size && x.d == last->d * last->size)
            last->size *= x.size;
        else
            inner[num++] = x;
    }
    for (int i = 0; i < num; i++) p->dim[i] = inner[num - 1 - i];
    p->num_dims = num;
}

/* Makes the innermost batch dimension rows of one product if all its products share b, else a batch of cuBLAS. */
static void rt__lt_fold(rt__lt_product *p) {
    rt__lt_key *key = &p->key;
    key->batch = 1;
    if (!p->num_dims) return;
    const rt__lt_dim x = p->dim[p->num_dims - 1];
    if (key->m == 1 && !key->transposed_a && x.a >= key->k) key->ld_a = x.a;
    const bool rows = !x.b && !key->transposed_a && x.a == key->m * key->ld_a && x.d == key->m * key->n;
    if (!rows && x.size > INT32_MAX) return; /* one launch each */
    p->num_dims--;
    if (rows) {
        key->m *= x.size;
        return;
    }
    key->batch = x.size;
    key->step_a = x.a;
    key->step_b = x.b;
    key->step_d = x.d;
}

/* Checks the operands of a call, which a text may have written by hand, and reads types and sizes. */
static const char *rt__lt_read_sizes(rt__lt_product *p, const ind_extern_call *call, const rt__lt_op *op) {
    const int least = op->scaled ? 4 : 2;
    if (call->num_inputs < least || call->num_inputs > least + 1 || call->num_outputs != 1)
        return "it has another number of operands or results";
    const ind_extern_tensor *a = &call->input[0], *b = &call->input[1], *d = &call->output[0];
    const ind_extern_tensor *bias = call->num_inputs > least ? &call->input[least] : NULL;
    if (a->rank < 2 || b->rank < 2 || d->rank < 2 || d->rank < a->rank || d->rank < b->rank)
        return "an operand or the result is not a matrix";
    const int row = b->rank - (op->scaled ? 1 : 2);
    rt__lt_key *key = &p->key;
    key->m = a->size[a->rank - 2];
    key->k = a->size[a->rank - 1];
    key->n = d->size[d->rank - 1];
    if (b->size[row] != key->k || b->size[2 * b->rank - 3 - row] != key->n || d->size[d->rank - 2] != key->m)
        return "its sizes do not agree";
    if (bias && (bias->rank != 1 || bias->size[0] != key->n)) return "the bias is not one number per column";
    key->type_a = rt__lt_type(a->dtype);
    key->type_b = rt__lt_type(b->dtype);
    key->type_d = rt__lt_type(d->dtype);
    key->type_bias = bias ? rt__lt_type(bias->dtype) : -1;
    if (key->type_a < 0 || key->type_b < 0 || key->type_d < 0 || (bias && key->type_bias < 0))
        return "a type is not supported";
    p->pointers.bias = bias ? (const char *)bias->data : NULL;
    return NULL;
}

/* Reads a call. Returns why it is refused; NULL: it is not. */
static const char *rt__lt_read(rt__lt_product *p, const ind_extern_call *call, const rt__lt_op *op) {
    const char *why = rt__lt_read_sizes(p, call, op);
    if (why) return why;
    const ind_extern_tensor *a = &call->input[0], *b = &call->input[1], *d = &call->output[0];
    rt__lt_key *key = &p->key;
    if (!rt__lt_matrix(a, &key->ld_a, &key->transposed_a) || !rt__lt_matrix(b, &key->ld_b, &key->transposed_b))
        return "neither rows nor columns of an operand have stride 1";
    if (op->scaled) key->transposed_b = 1; /* w [n, k] is b^T */
    p->a = (const char *)a->data;
    p->b = (const char *)b->data;
    p->d = (char *)d->data;
    p->bytes_a = ind_dtype_bytes(a->dtype);
    p->bytes_b = ind_dtype_bytes(b->dtype);
    p->bytes_d = ind_dtype_bytes(d->dtype);
    p->pointers.scale_a = op->scaled ? (const char *)call->input[2].data : NULL;
    p->pointers.scale_b = op->scaled ? (const char *)call->input[3].data : NULL;
    key->workspace = call->workspace_bytes;
    key->tf32 = op->tf32;
    key->scaled = op->scaled;
    key->fast = op->fast;
    rt__lt_collect(p, a, b, d);
    rt__lt_fold(p);
    return NULL;
}

static int64_t rt__lt_alignment(const char *pointer) {
    const uintptr_t bits = (uintptr_t)pointer | IND__LT_MOST_ALIGNMENT;
    return (int64_t)(bits & (~bits + 1));
}

/* Enqueues one product or batch. */
static void rt__lt_enqueue(rt__cublaslt *lt, rt__lt_product *p, const char *a, const char *b, char *d,
                           const ind_extern_call *call, rt__lt_error *e) {
    const float one = 1, zero = 0;
    p->key.align_a = rt__lt_alignment(a);
    p->key.align_b = rt__lt_alignment(b);
    p->key.align_d = rt__lt_alignment(d);
    p->key.align_bias = rt__lt_alignment(p->pointers.bias);
    const rt__lt_plan *plan = rt__lt_plan_of(lt, &p->key, &p->pointers, e);
    if (!plan) return;
    (void)IND__LT_CALL(lt, e, cublasLtMatmul,
                       (lt->handle, plan->desc, &one, b, plan->layout_b, a, plan->layout_a, &zero, d, plan->layout_d, d,
                        plan->layout_d, plan->choice.algorithm, call->workspace, (size_t)call->workspace_bytes,
                        call->stream));
}

/* Enqueues the products of all points of the batch dimensions that are left. */
static void rt__lt_enqueue_all(rt__cublaslt *lt, rt__lt_product *p, const ind_extern_call *call, rt__lt_error *e) {
    int64_t points = 1;
    for (int i = 0; i < p->num_dims; i++) points *= p->dim[i].size;
    for (int64_t at = 0; at < points && !e->status; at++) {
        int64_t rest = at, a = 0, b = 0, d = 0;
        for (int i = p->num_dims; i-- > 0; rest /= p->dim[i].size) {
            const int64_t index = rest % p->dim[i].size;
            a += index * p->dim[i].a;
            b += index * p->dim[i].b;
            d += index * p->dim[i].d;
        }
        rt__lt_enqueue(lt, p, p->a + a * p->bytes_a, p->b + b * p->bytes_b, p->d + d * p->bytes_d, call, e);
    }
}

static bool rt__lt_is_empty(const ind_extern_tensor *t) {
    for (int d = 0; d < t->rank; d++)
        if (!t->size[d]) return true;
    return false;
}

/* The callback of the extern calls. cuBLAS loads kernels at their first launch, which a capture in progress permits in
   the relaxed mode only. */
static ind_status rt__lt_call(const ind_extern_call *call) {
    const rt__lt_op *op = (const rt__lt_op *)call->user;
    rt__cublaslt *lt = op->library;
    rt__lt_product p;
    rt__lt_error e = {.status = IND_OK, .text = call->message};
    int mode = IND__CUDA_CAPTURE_RELAXED;
    memset(&p, 0, sizeof p);
    const char *why = lt->handle ? rt__lt_read(&p, call, op) : "the library is not open";
    if (why) {
        snprintf(call->message, IND_EXTERN_MESSAGE, "%s", why);
        return IND_ERROR_INVALID_ARGUMENT;
    }
    if (rt__lt_is_empty(&call->output[0])) return IND_OK;
    const int result = lt->runtime->driver.cuThreadExchangeStreamCaptureMode(&mode);
    if (result) {
        snprintf(call->message, IND_EXTERN_MESSAGE, "cuThreadExchangeStreamCaptureMode: error %d", result);
        return IND_ERROR_DEVICE;
    }
    rt__mutex_lock(&lt->mutex);
    rt__lt_enqueue_all(lt, &p, call, &e);
    rt__mutex_unlock(&lt->mutex);
    (void)lt->runtime->driver.cuThreadExchangeStreamCaptureMode(&mode);
    return e.status;
}
