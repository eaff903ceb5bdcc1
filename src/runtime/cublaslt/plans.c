/* ---- plans of products by cuBLASLt: descriptors, layouts and the algorithm, for the sizes of a product */

static void rt__lt_plan_destroy(rt__cublaslt *lt, rt__lt_plan *p) {
    if (!p) return;
    if (p->desc) (void)lt->f.cublasLtMatmulDescDestroy(p->desc);
    if (p->layout_a) (void)lt->f.cublasLtMatrixLayoutDestroy(p->layout_a);
    if (p->layout_b) (void)lt->f.cublasLtMatrixLayoutDestroy(p->layout_b);
    if (p->layout_d) (void)lt->f.cublasLtMatrixLayoutDestroy(p->layout_d);
    ind__free(lt->context, p);
}

/* Requires the device's context to be current, if a handle exists. The library is never closed, as the driver is not.
 */
static void rt__cublaslt_destroy(rt__cublaslt *lt) {
    if (!lt) return;
    for (uint32_t i = 0; i < IND__LT_PLANS; i++) rt__lt_plan_destroy(lt, lt->plan[i]);
    if (lt->handle) (void)lt->f.cublasLtDestroy(lt->handle);
    rt__mutex_destroy(&lt->mutex);
    ind__free(lt->context, lt);
}

/* The first failure of a launch. */
typedef struct rt__lt_error {
    ind_status status;
    char *text; /* IND_EXTERN_MESSAGE bytes */
} rt__lt_error;

/* Records a failure of a function. Returns true if there is none yet. */
static bool rt__lt_ok(rt__lt_error *e, int status, const char *function) {
    if (!e->status) e->status = rt__lt_status(status, function, e->text, IND_EXTERN_MESSAGE);
    return !e->status;
}

/* Calls a function unless one has failed. */
#define IND__LT_CALL(lt, e, name, args) ((e)->status ? false : rt__lt_ok((e), (lt)->f.name args, #name))

static void rt__lt_describe(rt__cublaslt *lt, rt__lt_plan *p, rt__lt_error *e) {
    const rt__lt_key *key = &p->key;
    const int32_t transpose_b = key->transposed_b ? IND__LT_OPERATION_T : IND__LT_OPERATION_N;
    const int32_t transpose_a = key->transposed_a ? IND__LT_OPERATION_T : IND__LT_OPERATION_N;
    const int32_t epilogue = IND__LT_EPILOGUE_BIAS, bias = (int32_t)key->type_bias;
    const int8_t fast = 1;
    const struct {
        int attribute;
        bool set;
        const void *value;
        size_t bytes;
    } list[] = {{IND__LT_DESC_TRANSPOSE_A, true, &transpose_b, sizeof transpose_b},
                {IND__LT_DESC_TRANSPOSE_B, true, &transpose_a, sizeof transpose_a},
                {IND__LT_DESC_EPILOGUE, bias >= 0, &epilogue, sizeof epilogue},
                {IND__LT_DESC_BIAS_TYPE, bias >= 0, &bias, sizeof bias},
                {IND__LT_DESC_FAST_ACCUM, key->fast != 0, &fast, sizeof fast}};
    (void)IND__LT_CALL(lt, e, cublasLtMatmulDescCreate,
                       (&p->desc, key->tf32 ? IND__LT_COMPUTE_TF32 : IND__LT_COMPUTE_F32, IND__LT_TYPE_F32));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].set)
            (void)IND__LT_CALL(lt, e, cublasLtMatmulDescSetAttribute,
                               (p->desc, list[i].attribute, list[i].value, list[i].bytes));
}

/* Vectors and numbers that a descriptor points to; NULL: none. */
typedef struct rt__lt_pointers {
    const char *bias, *scale_a, *scale_b;
} rt__lt_pointers;

static void rt__lt_point(rt__cublaslt *lt, const rt__lt_plan *plan, const rt__lt_pointers *p, rt__lt_error *e) {
    const struct {
        int attribute;
        const char *const *pointer;
    } list[] = {{IND__LT_DESC_BIAS_POINTER, &p->bias},
                {IND__LT_DESC_SCALE_A_POINTER, &p->scale_b},
                {IND__LT_DESC_SCALE_B_POINTER, &p->scale_a}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (*list[i].pointer)
            (void)IND__LT_CALL(lt, e, cublasLtMatmulDescSetAttribute,
                               (plan->desc, list[i].attribute, list[i].pointer, sizeof *list[i].pointer));
}

/* Creates the layout of `rows` rows of `columns` elements in memory: to cuBLAS, the columns are rows. */
static void rt__lt_lay(rt__cublaslt *lt, void **layout, int64_t type, int64_t rows, int64_t columns, int64_t ld,
                       int64_t batch, int64_t step, rt__lt_error *e) {
    const int32_t count = (int32_t)batch;
    (void)IND__LT_CALL(lt, e, cublasLtMatrixLayoutCreate, (layout, (int)type, (uint64_t)columns, (uint64_t)rows, ld));
    if (batch == 1) return;
    (void)IND__LT_CALL(lt, e, cublasLtMatrixLayoutSetAttribute,
                       (*layout, IND__LT_LAYOUT_BATCH_COUNT, &count, sizeof count));
    (void)IND__LT_CALL(lt, e, cublasLtMatrixLayoutSetAttribute,
                       (*layout, IND__LT_LAYOUT_BATCH_STRIDE, &step, sizeof step));
}

static void rt__lt_lay_all(rt__cublaslt *lt, rt__lt_plan *p, rt__lt_error *e) {
    const rt__lt_key *key = &p->key;
    const int64_t rows_a = key->transposed_a ? key->k : key->m, rows_b = key->transposed_b ? key->n : key->k;
    rt__lt_lay(lt, &p->layout_a, key->type_a, rows_a, key->m + key->k - rows_a, key->ld_a, key->batch, key->step_a, e);
    rt__lt_lay(lt, &p->layout_b, key->type_b, rows_b, key->k + key->n - rows_b, key->ld_b, key->batch, key->step_b, e);
    rt__lt_lay(lt, &p->layout_d, key->type_d, key->m, key->n, key->n, key->batch, key->step_d, e);
}

/* Asks cuBLAS for the algorithm that it expects to be fastest. */
static void rt__lt_choose(rt__cublaslt *lt, rt__lt_plan *p, rt__lt_error *e) {
    const rt__lt_key *key = &p->key;
    const uint64_t workspace = (uint64_t)key->workspace;
    const int64_t align[4] = {key->align_b, key->align_a, key->align_d, key->align_d};
    void *preference = NULL;
    int found = 0;
    (void)IND__LT_CALL(lt, e, cublasLtMatmulPreferenceCreate, (&preference));
    (void)IND__LT_CALL(lt, e, cublasLtMatmulPreferenceSetAttribute,
                       (preference, IND__LT_PREFER_WORKSPACE, &workspace, sizeof workspace));
    for (int i = 0; i < 4; i++) {
        const uint32_t bytes = (uint32_t)align[i];
        (void)IND__LT_CALL(lt, e, cublasLtMatmulPreferenceSetAttribute,
                           (preference, IND__LT_PREFER_ALIGNMENT_A + i, &bytes, sizeof bytes));
    }
    (void)IND__LT_CALL(
        lt, e, cublasLtMatmulAlgoGetHeuristic,
        (lt->handle, p->desc, p->layout_b, p->layout_a, p->layout_d, p->layout_d, preference, 1, &p->choice, &found));
    if (preference) (void)lt->f.cublasLtMatmulPreferenceDestroy(preference);
    if (e->status) return;
    (void)rt__lt_ok(e, p->choice.status, "the algorithm of cublasLtMatmulAlgoGetHeuristic");
    if (e->status || found > 0) return;
    e->status = IND_ERROR_NOT_SUPPORTED;
    snprintf(e->text, IND_EXTERN_MESSAGE, "cublasLtMatmulAlgoGetHeuristic: no algorithm for %lld x %lld x %lld",
             (long long)key->m, (long long)key->n, (long long)key->k);
}

static uint32_t rt__lt_hash(const rt__lt_key *key) {
    const unsigned char *at = (const unsigned char *)key;
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < sizeof *key; i++) hash = (hash ^ at[i]) * 1099511628211u;
    return (uint32_t)(hash >> 32);
}

/* Finds the place of a plan: its own, else a free one, else one whose plan is replaced. */
static rt__lt_plan **rt__lt_place(rt__cublaslt *lt, const rt__lt_key *key) {
    const uint32_t first = rt__lt_hash(key);
    for (uint32_t i = 0; i < IND__LT_PROBES; i++) {
        rt__lt_plan **at = &lt->plan[(first + i) % IND__LT_PLANS];
        if (!*at || !memcmp(&(*at)->key, key, sizeof *key)) return at;
    }
    return &lt->plan[(first + lt->replaced++ % IND__LT_PROBES) % IND__LT_PLANS];
}

/* Makes the plan of a product. NULL: see the error. */
static rt__lt_plan *rt__lt_make_plan(rt__cublaslt *lt, const rt__lt_key *key, const rt__lt_pointers *pointers,
                                     rt__lt_error *e) {
    rt__lt_plan *p = (rt__lt_plan *)ind__alloc(lt->context, sizeof *p);
    if (!p) return e->status = IND_ERROR_OUT_OF_MEMORY, NULL;
    p->key = *key;
    rt__lt_describe(lt, p, e);
    rt__lt_point(lt, p, pointers, e);
    rt__lt_lay_all(lt, p, e);
    rt__lt_choose(lt, p, e);
    if (!e->status) return p;
    rt__lt_plan_destroy(lt, p);
    return NULL;
}

/* Returns the plan of a product, made at its first launch, for these pointers. NULL: see the error. The mutex is
   locked. */
static const rt__lt_plan *rt__lt_plan_of(rt__cublaslt *lt, const rt__lt_key *key, const rt__lt_pointers *pointers,
                                         rt__lt_error *e) {
    rt__lt_plan **at = rt__lt_place(lt, key);
    if (*at && !memcmp(&(*at)->key, key, sizeof *key)) {
        rt__lt_point(lt, *at, pointers, e);
        return e->status ? NULL : *at;
    }
    rt__lt_plan *p = rt__lt_make_plan(lt, key, pointers, e);
    if (!p) return NULL;
    rt__lt_plan_destroy(lt, *at);
    return *at = p;
}
