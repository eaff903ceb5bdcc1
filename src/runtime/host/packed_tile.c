/* ---- tiles of products with packed weights */

#if IND__HOST_DECODES
/* Where byte 0 of each column begins, for each product. */
typedef struct rt__host_blocks {
    int64_t from[2][IND__HOST_NC];
} rt__host_blocks;

/* Finds the rows of blocks of these columns. Returns false if b is not packed, or a block is outside its buffer: the
   evaluator then reports it. */
static bool rt__host_find_blocks(const rt__host_task *t, ind__eval *e, const rt__host_tile_range *at,
                                 rt__host_blocks *x) {
    const struct rt__host_kernel_product *p = &t->kernel->product;
    for (int i = 0; i < 2 && p->dot[i]; i++) {
        const rt__host_packed *b = &p->packed_b[i];
        if (!b->valid || t->reduced % b->elements || (b->elements > 1) != (p->packed_b[0].elements > 1)) return false;
        const int64_t bytes = t->reduced / b->elements * b->bytes, base = rt__direct_base(t, e, &b->blocks, at->batch);
        const int64_t last = t->instance->host.buffer[b->blocks.buffer].numel - bytes;
        const int64_t *const slot = t->instance->sizes.slot, step = slot[b->blocks.stride_slot[p->col[0]]];
        int64_t outside = 0;
        for (int64_t u = 0; u < at->cols; u++) {
            const int64_t offset =
                p->num_col == 1 ? (int64_t)((uint64_t)(at->col + u) * (uint64_t)step)
                                : rt__direct_offset(t, &b->blocks, p->col, p->num_col, t->col_extent, at->col + u);
            const int64_t from = x->from[i][u] = (int64_t)((uint64_t)base + (uint64_t)offset);
            outside |= from | (int64_t)((uint64_t)last - (uint64_t)from);
        }
        if (outside < 0) return false;
    }
    return true;
}

/* Brings the rows in panel a into the order of the decoded elements. */
static void rt__host_order_rows(const rt__host_task *t, const rt__host_panel *a) {
    if (!IND__HOST_HAS_AVX512 && t->kernel->product.packed_b[0].elements > 1)
        rt__host_pair_order((float *)a->out, a->count * a->kc);
}

/* Adds to the tile of product number i the product of the rows in panel a, [rows][kc], and elements [k0, k0 + kc) of
   these columns. */
static void rt__host_packed_multiply(const rt__host_task *t, const rt__host_worker *w, int i, const rt__host_panel *a,
                                     const rt__host_blocks *x, int64_t cols) {
    const rt__host_packed *b = &t->kernel->product.packed_b[i];
    const uint8_t *data =
        (const uint8_t *)t->instance->host.buffer[b->blocks.buffer].data + a->k0 / b->elements * b->bytes;
    rt__host_packed_tile tile = {
        .packed = b, .kc = a->kc, .rows = a->count, .x = (const float *)a->out, .w = (float *)w->panel_b};
    for (int64_t u = 0; u < cols; u += IND__HOST_COLUMNS) {
        for (int j = 0; j < IND__HOST_COLUMNS; j++) {
            const int64_t next = u + IND__HOST_COLUMNS + j;
            tile.from[j] = data + x->from[i][u + j < cols ? u + j : u];
            tile.next[j] = data + x->from[i][next < cols ? next : u];
        }
        tile.c = (float *)rt__host_tile_of(w, i) + u;
        if (IND__HOST_HAS_AVX512)
            rt__host_packed_columns_avx512(&tile);
        else if (IND__HOST_HAS_AVX2)
            rt__host_packed_columns_avx2(&tile);
        else
            rt__host_packed_columns_any(&tile);
    }
}
#else
typedef char rt__host_blocks;
static bool rt__host_find_blocks(const rt__host_task *t, ind__eval *e, const rt__host_tile_range *at,
                                 rt__host_blocks *x) {
    return (void)t, (void)e, (void)at, (void)x, false;
}
static void rt__host_order_rows(const rt__host_task *t, const rt__host_panel *a) {
    (void)t, (void)a;
}
static void rt__host_packed_multiply(const rt__host_task *t, const rt__host_worker *w, int i, const rt__host_panel *a,
                                     const rt__host_blocks *x, int64_t cols) {
    (void)t, (void)w, (void)i, (void)a, (void)x, (void)cols;
}
#endif
