/* ---- matrix products: operands are evaluated into packed panels, which a micro-kernel multiplies */

#define IND__HOST_MR 4
#define IND__HOST_NR 16
#define IND__HOST_MC 256 /* a multiple of HOST_MR, at most IND__LANES */
#define IND__HOST_NC 96  /* a multiple of HOST_NR */
#define IND__HOST_KC 256

/* Between BEGIN and END the compiler may contract a * b + c to a fused multiply-add. gcc does not contract in C11 mode.
   Contraction depends on the target of a function, not on sizes. Without expensive-optimizations gcc ends functions of
   AVX without vzeroupper; SSE code after them waits for the registers that they wrote. */
#if defined(__GNUC__) && !defined(__clang__)
#define IND__HOST_CONTRACT_BEGIN                                                                                       \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=fast\", \"expensive-optimizations\")")
#define IND__HOST_CONTRACT_END _Pragma("GCC pop_options")
#define IND__HOST_UNROLL       _Pragma("GCC unroll 4")
#else
#define IND__HOST_CONTRACT_BEGIN
#define IND__HOST_CONTRACT_END
#define IND__HOST_UNROLL
#endif

IND__HOST_CONTRACT_BEGIN
#if IND__GNU
#define IND__HOST_INLINE static inline __attribute__((always_inline))
/* Eight floats; the compiler maps them to the machine's vectors. */
typedef float rt__host_v8 __attribute__((vector_size(32)));

IND__HOST_INLINE void rt__host_v8_add(float *c, const rt__host_v8 *v) {
    rt__host_v8 old;
    memcpy(&old, c, sizeof old);
    old += *v;
    memcpy(c, &old, sizeof old);
}

/* c[4][16] += a * b over kc, with 8 accumulators in registers. step: floats from one row of b to the next. */
IND__HOST_INLINE void rt__host_tile_f32(int64_t kc, const float *a, const float *b, int64_t step, float *c) {
    rt__host_v8 c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0}, c20 = {0}, c21 = {0}, c30 = {0}, c31 = {0}, b0, b1;
    for (int64_t k = 0; k < kc; k++, a += IND__HOST_MR, b += step) {
        memcpy(&b0, b, sizeof b0);
        memcpy(&b1, b + 8, sizeof b1);
        c00 += a[0] * b0;
        c01 += a[0] * b1;
        c10 += a[1] * b0;
        c11 += a[1] * b1;
        c20 += a[2] * b0;
        c21 += a[2] * b1;
        c30 += a[3] * b0;
        c31 += a[3] * b1;
    }
    rt__host_v8_add(c, &c00);
    rt__host_v8_add(c + 8, &c01);
    rt__host_v8_add(c + IND__HOST_NC, &c10);
    rt__host_v8_add(c + IND__HOST_NC + 8, &c11);
    rt__host_v8_add(c + 2 * IND__HOST_NC, &c20);
    rt__host_v8_add(c + 2 * IND__HOST_NC + 8, &c21);
    rt__host_v8_add(c + 3 * IND__HOST_NC, &c30);
    rt__host_v8_add(c + 3 * IND__HOST_NC + 8, &c31);
}
#else
#define IND__HOST_INLINE static inline
IND__HOST_INLINE void rt__host_tile_f32(int64_t kc, const float *a, const float *b, int64_t step, float *c) {
    float sum[IND__HOST_MR][IND__HOST_NR] = {{0}};
    for (int64_t k = 0; k < kc; k++, a += IND__HOST_MR, b += step)
        for (int i = 0; i < IND__HOST_MR; i++)
            for (int j = 0; j < IND__HOST_NR; j++) sum[i][j] += a[i] * b[j];
    for (int i = 0; i < IND__HOST_MR; i++)
        for (int j = 0; j < IND__HOST_NR; j++) c[i * IND__HOST_NC + j] += sum[i][j];
}
#endif

/* c[rows][HOST_NC] += a * b, of panel a. Element k of column j of b is b[j * across + k * along] if j is a multiple of
   HOST_NR; the next ones follow it. */
typedef struct rt__host_f32_product {
    int64_t kc, rows, cols;
    const float *a, *b;
    int64_t across, along;
    float *c;
} rt__host_f32_product;

IND__HOST_INLINE void rt__host_panel_f32(const rt__host_f32_product *p) {
    for (int64_t j = 0; j < p->cols; j += IND__HOST_NR)
        for (int64_t i = 0; i < p->rows; i += IND__HOST_MR)
            rt__host_tile_f32(p->kc, p->a + i * p->kc, p->b + j * p->across, p->along, p->c + i * IND__HOST_NC + j);
}

#if IND__HOST_X86
__attribute__((target("avx2,fma"))) static void rt__host_panel_f32_avx2(const rt__host_f32_product *p) {
    rt__host_panel_f32(p);
}
#if defined(__clang__) || __GNUC__ < 11 /* they do not know the name; CPUs with AVX2 have it */
#define IND__HOST_HAS_F16C 1
#else
#define IND__HOST_HAS_F16C __builtin_cpu_supports("f16c")
#endif
#define IND__HOST_HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && IND__HOST_HAS_F16C)
#else
#define rt__host_panel_f32_avx2 rt__host_panel_f32
#define IND__HOST_HAS_AVX2      0
#endif

IND__HOST_CONTRACT_END

static void rt__host_multiply_f32(const rt__host_f32_product *p) {
    if (IND__HOST_HAS_AVX2)
        rt__host_panel_f32_avx2(p);
    else
        rt__host_panel_f32(p);
}

/* The same for the other types; integers multiply as unsigned, to wrap around. */
#define IND__HOST_MULTIPLY(T, NAME)                                                                                    \
    static void NAME(int64_t kc, int64_t rows, int64_t cols, const T *a, const T *b, T *c) {                           \
        for (int64_t j = 0; j < cols; j += IND__HOST_NR)                                                               \
            for (int64_t i = 0; i < rows; i++) {                                                                       \
                const T *x = a + i / IND__HOST_MR * IND__HOST_MR * kc + i % IND__HOST_MR, *y = b + j * kc;             \
                T sum[IND__HOST_NR] = {0};                                                                             \
                for (int64_t k = 0; k < kc; k++, x += IND__HOST_MR, y += IND__HOST_NR)                                 \
                    for (int n = 0; n < IND__HOST_NR; n++) sum[n] += *x * y[n];                                        \
                for (int n = 0; n < IND__HOST_NR; n++) c[i * IND__HOST_NC + j + n] += sum[n];                          \
            }                                                                                                          \
    }
IND__HOST_MULTIPLY(double, host_multiply_f64)
IND__HOST_MULTIPLY(uint64_t, host_multiply_i64)

static void copy_lane(void *to, int64_t at, const ind__lanes *v, int lane, bool f32) {
    if (f32)
        ((float *)to)[at] = v->f[lane];
    else
        ((int64_t *)to)[at] = v->i[lane]; /* also the bits of f64 */
}

/* Rows, columns and batch of the results that a tile has. */
typedef struct rt__host_tile_range {
    int64_t row, rows, col, cols, batch;
} rt__host_tile_range;

static rt__host_tile_range rt__host_tile_range_of(const rt__host_task *t, int64_t index) {
    rt__host_tile_range at = {.col = index % t->col_tiles * IND__HOST_NC,
                              .row = index / t->col_tiles % t->row_tiles * IND__HOST_MC,
                              .batch = index / t->col_tiles / t->row_tiles};
    at.rows = t->rows - at.row < IND__HOST_MC ? t->rows - at.row : IND__HOST_MC;
    at.cols = t->cols - at.col < IND__HOST_NC ? t->cols - at.col : IND__HOST_NC;
    return at;
}

/* One operand of the product: `count` rows (or columns) from `first`, kc elements of K from k0, packed in groups of
   `group`. Rows of a group are adjacent, K is the slower dimension. The last group is padded with zeros. Lanes run
   along the longer of the two dimensions. */
typedef struct rt__host_panel {
    const rt__host_list *list;
    uint32_t value;
    const int *var;
    int num_var, group;
    const int64_t *extent;
    int64_t first, count, k0, kc;
    void *out;
    bool f32;
} rt__host_panel;

static int64_t rt__panel_at(const rt__host_panel *p, int64_t u) {
    return u / p->group * p->group * p->kc + u % p->group;
}

static void rt__panel_pad(const rt__host_panel *p) {
    static const ind__lanes zero;
    for (int64_t u = p->count; u % p->group; u++)
        for (int64_t k = 0; k < p->kc; k++) copy_lane(p->out, rt__panel_at(p, u) + k * p->group, &zero, 0, p->f32);
}

/* Offset of point `at` of some loop variables in a direct operand. It may wrap around: the caller checks the result. */
static int64_t rt__direct_offset(const rt__host_task *t, const rt__host_direct *d, const int *var, int n,
                                 const int64_t *extent, int64_t at) {
    uint64_t offset = 0;
    for (int k = n; k-- > 0 && extent[k];) {
        const int64_t digit = k ? at % extent[k] : at;
        offset += (uint64_t)digit * (uint64_t)t->instance->sizes.slot[d->stride_slot[var[k]]];
        if (k) at /= extent[k];
    }
    return (int64_t)offset;
}

/* Copies up to HOST_NR rows that start at from[0 .. num), `step` elements apart in K. The other rows of the group are
   0. */
#define IND__HOST_COPY(NAME, T, M, LOAD)                                                                               \
    static void NAME(T *out, const M *data, const int64_t *from, int num, int group, int64_t kc, int64_t step) {       \
        for (int64_t k = 0; k < kc; k++, out += group) {                                                               \
            for (int j = 0; j < num; j++) out[j] = LOAD(data[from[j] + k * step]);                                     \
            for (int j = num; j < group; j++) out[j] = 0;                                                              \
        }                                                                                                              \
    }
IND__HOST_COPY(copy_f32, float, float, )
IND__HOST_COPY(copy_f16, float, uint16_t, ind__f16_to_f32)
IND__HOST_COPY(copy_bf16, float, uint16_t, ind__bf16_to_f32)
IND__HOST_COPY(copy_word, uint64_t, uint64_t, )

#if IND__GNU
IND__HOST_CONTRACT_BEGIN
#if defined(__clang__)
#define IND__HOST_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t rt__host_order __attribute__((vector_size(32)));
#define IND__HOST_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (rt__host_order){__VA_ARGS__})
#endif

/* Eight rows of 8 floats from from[0 .. 8) on, as 8 columns `group` floats apart. */
IND__HOST_INLINE void rt__host_transpose(float *out, const float *data, const int64_t *from, int group) {
    rt__host_v8 x[8], y[8];
    for (int i = 0; i < 8; i++) memcpy(&x[i], data + from[i], sizeof x[i]);
    for (int i = 0; i < 8; i += 2) {
        y[i] = IND__HOST_SHUFFLE(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        y[i + 1] = IND__HOST_SHUFFLE(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            x[i + 2 * k] = IND__HOST_SHUFFLE(y[i + k], y[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            x[i + 2 * k + 1] = IND__HOST_SHUFFLE(y[i + k], y[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        y[i] = IND__HOST_SHUFFLE(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        y[i + 4] = IND__HOST_SHUFFLE(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < 8; i++) memcpy(out + i * group, &y[i], sizeof y[i]);
}

/* copy_f32 of rows that are side by side, or whose elements are. In the latter case, rows of the group that do not
   exist may be copies of the first one: nothing reads their products. */
IND__HOST_INLINE void rt__host_copy_any(float *out, const float *data, const int64_t *from, int num, int group,
                                        int64_t kc, int64_t step) {
    bool side_by_side = num == group;
    for (int j = 1; j < num; j++) side_by_side &= from[j] == from[0] + j;
    int64_t done = 0, row[IND__HOST_NR];
    for (int j = 0; j < group; j++) row[j] = from[j < num ? j : 0];
    if (step == 1 && group == 1) {
        memcpy(out, data + from[0], (size_t)kc * sizeof *out);
        return;
    }
    if (side_by_side && group == IND__HOST_NR)
        for (; done < kc; done++) memcpy(out + done * group, data + from[0] + done * step, IND__HOST_NR * sizeof *out);
    else if (step == 1 && group % 8 == 0)
        for (; done + 8 <= kc; done += 8)
            for (int j = 0; j < group; j += 8) rt__host_transpose(out + done * group + j, data + done, row + j, group);
    copy_f32(out + done * group, data + done * step, from, num, group, kc - done, step);
}

#if IND__HOST_X86
__attribute__((target("avx2"))) static void rt__host_copy_avx2(float *out, const float *data, const int64_t *from,
                                                               int num, int group, int64_t kc, int64_t step) {
    rt__host_copy_any(out, data, from, num, group, kc, step);
}
#else
#define rt__host_copy_avx2 rt__host_copy_any
#endif

static void rt__host_copy_f32(float *out, const float *data, const int64_t *from, int num, int group, int64_t kc,
                              int64_t step) {
    if (IND__HOST_HAS_AVX2)
        rt__host_copy_avx2(out, data, from, num, group, kc, step);
    else
        rt__host_copy_any(out, data, from, num, group, kc, step);
}
IND__HOST_CONTRACT_END
#else
#define rt__host_copy_f32 copy_f32
#endif

/* Packs without the evaluator. False if an access would be out of bounds; the evaluator then reports it. */
static bool host_pack_direct(const rt__host_task *t, const rt__host_direct *d, int64_t base, const rt__host_panel *p) {
    const ind__eval_buffer *m = &t->instance->host.buffer[d->buffer];
    int64_t step = t->instance->sizes.slot[d->stride_slot[t->kernel->body->rank]], from[IND__HOST_NR];
    for (int64_t u = 0; u < p->count; u += p->group) {
        int num = p->count - u < p->group ? (int)(p->count - u) : p->group;
        for (int j = 0; j < num; j++) {
            uint64_t at = (uint64_t)base + (uint64_t)p->k0 * (uint64_t)step;
            at += (uint64_t)rt__direct_offset(t, d, p->var, p->num_var, p->extent, p->first + u + j);
            int64_t last = (int64_t)(at + (uint64_t)(p->kc - 1) * (uint64_t)step);
            from[j] = (int64_t)at;
            if (from[j] < 0 || from[j] >= m->numel || last < 0 || last >= m->numel) return false;
        }
        int64_t to = u * p->kc;
        switch (m->dtype) {
        case IND_F32:
            rt__host_copy_f32((float *)p->out + to, (const float *)m->data, from, num, p->group, p->kc, step);
            break;
        case IND_F16:
            copy_f16((float *)p->out + to, (const uint16_t *)m->data, from, num, p->group, p->kc, step);
            break;
        case IND_BF16:
            copy_bf16((float *)p->out + to, (const uint16_t *)m->data, from, num, p->group, p->kc, step);
            break;
        case IND_F64:
        case IND_I64:
            copy_word((uint64_t *)p->out + to, (const uint64_t *)m->data, from, num, p->group, p->kc, step);
            break;
        default: return false;
        }
    }
    return true;
}

/* Evaluates at most IND__LANES elements of K, from k0 + first on, of each row. */
static ind_status rt__host_pack_along_k(const rt__host_task *t, ind__eval *e, const rt__host_panel *p, int64_t first) {
    const ind_body *b = t->kernel->body;
    const int lanes = (int)(p->kc - first < IND__LANES ? p->kc - first : IND__LANES);
    rt__host_lanes(e, t->var + b->rank, b->rrank, t->extent + b->rank, p->k0 + first, lanes);
    for (int64_t u = 0; u < p->count; u++) {
        rt__host_point(e, p->var, p->num_var, p->extent, p->first + u);
        ind_status status = rt__host_run_list(e, p->list, lanes);
        if (status) return status;
        for (int l = 0; l < lanes; l++)
            copy_lane(p->out, rt__panel_at(p, u) + (first + l) * p->group, &e->value[p->value], l, p->f32);
    }
    return IND_OK;
}

static ind_status rt__host_pack_along_rows(const rt__host_task *t, ind__eval *e, const rt__host_panel *p) {
    const ind_body *b = t->kernel->body;
    const int lanes = (int)p->count;
    rt__host_lanes(e, p->var, p->num_var, p->extent, p->first, lanes);
    for (int64_t k = 0; k < p->kc; k++) {
        rt__host_point(e, t->var + b->rank, b->rrank, t->extent + b->rank, p->k0 + k);
        ind_status status = rt__host_run_list(e, p->list, lanes);
        if (status) return status;
        for (int l = 0; l < lanes; l++)
            copy_lane(p->out, rt__panel_at(p, l) + k * p->group, &e->value[p->value], l, p->f32);
    }
    return IND_OK;
}

static ind_status rt__host_pack_evaluated(const rt__host_task *t, ind__eval *e, const rt__host_panel *p) {
    ind_status status = IND_OK;
    if (p->kc < p->count) status = rt__host_pack_along_rows(t, e, p);
    for (int64_t first = 0; p->kc >= p->count && first < p->kc && !status; first += IND__LANES)
        status = rt__host_pack_along_k(t, e, p, first);
    if (!status) rt__panel_pad(p);
    return status;
}

static ind_status rt__host_pack(const rt__host_task *t, ind__eval *e, const rt__host_direct *d, int64_t base,
                                const rt__host_panel *p) {
    if (d->valid && host_pack_direct(t, d, base, p)) return IND_OK;
    return rt__host_pack_evaluated(t, e, p);
}

/* The tile of product number `i`. Elements have 8 bytes at most. */
static void *rt__host_tile_of(const rt__host_worker *w, int i) {
    return (unsigned char *)w->tile + (size_t)i * IND__HOST_MC * IND__HOST_NC * 8;
}

/* Copies a product for one row of the tile (or one column) to lanes: row `at`, lanes along the other dimension. */
static void rt__tile_to_lanes(const rt__host_task *t, rt__host_worker *w, int i, int64_t at, bool along_cols,
                              int lanes) {
    const ind_body *b = t->kernel->body;
    const uint32_t dot = t->kernel->product.dot[i];
    const void *tile = rt__host_tile_of(w, i);
    ind_dtype d = (ind_dtype)b->inst[dot].dtype, operand = (ind_dtype)b->inst[b->inst[dot].arg[0]].dtype;
    ind__lanes *v = &w->eval.value[dot];
    if (along_cols && operand == IND_F32)
        memcpy(v->f, (const float *)tile + at * IND__HOST_NC, (size_t)lanes * sizeof *v->f);
    for (int l = 0; l < lanes && !(along_cols && operand == IND_F32); l++) {
        int64_t from = along_cols ? at * IND__HOST_NC + l : l * IND__HOST_NC + at;
        if (operand == IND_F32)
            v->f[l] = ((const float *)tile)[from];
        else if (operand == IND_F64)
            v->d[l] = ((const double *)tile)[from];
        else
            v->i[l] = ind__wrap_int(d, ((const int64_t *)tile)[from]);
    }
    for (uint32_t s = 0; s < t->kernel->num_stages; s++)
        for (uint32_t p = 0; p < t->kernel->stage[s].part.num; p++) {
            const uint32_t part = t->kernel->stage[s].part.inst[p];
            if (b->inst[part].arg[0] == dot) w->eval.value[part] = *v;
        }
}

static ind_status rt__host_tile_epilogue(const rt__host_task *t, rt__host_worker *w, int64_t row, int64_t rows,
                                         int64_t col, int64_t cols) {
    const rt__host_kernel *h = t->kernel;
    ind__eval *e = &w->eval;
    bool along_cols = cols >= rows;
    int lanes = (int)(along_cols ? cols : rows);
    if (along_cols)
        rt__host_lanes(e, h->product.col, h->product.num_col, t->col_extent, col, lanes);
    else
        rt__host_lanes(e, h->product.row, h->product.num_row, t->row_extent, row, lanes);
    for (int64_t o = 0; o < (along_cols ? rows : cols); o++) {
        if (along_cols)
            rt__host_point(e, h->product.row, h->product.num_row, t->row_extent, row + o);
        else
            rt__host_point(e, h->product.col, h->product.num_col, t->col_extent, col + o);
        for (int i = 0; i < 2 && h->product.dot[i]; i++) rt__tile_to_lanes(t, w, i, o, along_cols, lanes);
        ind_status status = rt__host_run_list(e, &h->product.epilogue, lanes);
        if (status) return status;
    }
    return IND_OK;
}

/* Offset of an operand's first element of this batch, to which the worker's variables are set. */
static int64_t rt__direct_base(const rt__host_task *t, ind__eval *e, const rt__host_direct *d, int64_t batch) {
    const rt__host_kernel *h = t->kernel;
    if (!d->valid) return 0;
    if (!d->evaluated)
        return (
            int64_t)((uint64_t)t->instance->sizes.slot[d->base_slot] +
                     (uint64_t)rt__direct_offset(t, d, h->product.batch, h->product.num_batch, t->batch_extent, batch));
    for (int v = 0; v < h->body->rank + h->body->rrank; v++)
        if (!rt__host_is_batch(h, v)) ind__eval_set_var(e, v, 0, 0);
    return ind__eval_index(e, d->index);
}

/* Adds the products of panel a, of at most HOST_MR rows, with columns of b that are side by side in memory: each
   element is read once, so they are not packed first. Returns the number of columns, whole groups; 0: b is no such
   operand, or reaches outside its buffer. */
static int64_t rt__host_multiply_unpacked(const rt__host_task *t, const rt__host_direct *d, int64_t base,
                                          const rt__host_panel *b, const rt__host_panel *a, float *tile) {
    const ind__eval_buffer *m = &t->instance->host.buffer[d->buffer];
    const int64_t *slot = t->instance->sizes.slot;
    const int64_t cols = b->count / IND__HOST_NR * IND__HOST_NR, numel = m->numel;
    if (!d->valid || m->dtype != IND_F32 || !b->f32 || a->count > IND__HOST_MR || !cols) return 0;
    const int64_t step = slot[d->stride_slot[t->kernel->body->rank]];
    if (b->num_var != 1 || slot[d->stride_slot[b->var[0]]] != 1 || step < 0 || base < 0 || base > numel) return 0;
    if (step && b->k0 + b->kc > numel / step) return 0;
    const int64_t first = base + b->k0 * step + b->first;
    if (first > numel - (b->kc - 1) * step - cols) return 0;
    rt__host_multiply_f32(&(rt__host_f32_product){.kc = b->kc,
                                                  .rows = a->count,
                                                  .cols = cols,
                                                  .a = (const float *)a->out,
                                                  .b = (const float *)m->data + first,
                                                  .across = 1,
                                                  .along = step,
                                                  .c = tile});
    return cols;
}

static void rt__host_multiply(ind_dtype d, int64_t kc, int64_t rows, int64_t cols, const rt__host_worker *w,
                              void *tile) {
    if (d == IND_F32)
        rt__host_multiply_f32(&(rt__host_f32_product){.kc = kc,
                                                      .rows = rows,
                                                      .cols = cols,
                                                      .a = (const float *)w->panel_a,
                                                      .b = (const float *)w->panel_b,
                                                      .across = kc,
                                                      .along = IND__HOST_NR,
                                                      .c = (float *)tile});
    else if (d == IND_F64)
        host_multiply_f64(kc, rows, cols, (double *)w->panel_a, (double *)w->panel_b, (double *)tile);
    else
        host_multiply_i64(kc, rows, cols, (uint64_t *)w->panel_a, (uint64_t *)w->panel_b, (uint64_t *)tile);
}
