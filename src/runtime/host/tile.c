/* ---- tiles of matrix products */

/* Adds the products of elements [a->k0, a->k0 + a->kc) of K. blocks: those of packed operands b, or NULL. */
static ind_status rt__host_tile_step(const rt__host_task *t, rt__host_worker *w, const rt__host_tile_range *at,
                                     const rt__host_panel *a, const rt__host_blocks *blocks) {
    const struct rt__host_kernel_product *p = &t->kernel->product;
    const ind_body *body = t->kernel->body;
    const ind_dtype d = (ind_dtype)body->inst[a->value].dtype;
    ind_status status =
        rt__host_pack(t, &w->eval, &p->direct_a, rt__direct_base(t, &w->eval, &p->direct_a, at->batch), a);
    if (!status && blocks) rt__host_order_rows(t, a);
    for (int i = 0; i < 2 && p->dot[i] && !status; i++) {
        if (blocks) {
            rt__host_packed_multiply(t, w, i, a, blocks, at->cols);
            continue;
        }
        rt__host_panel b = {&p->b[i],     body->inst[p->dot[i]].arg[1],
                            p->col,       p->num_col,
                            IND__HOST_NR, t->col_extent,
                            at->col,      at->cols,
                            a->k0,        a->kc,
                            w->panel_b,   d == IND_F32};
        const int64_t base = rt__direct_base(t, &w->eval, &p->direct_b[i], at->batch);
        float *const tile = (float *)rt__host_tile_of(w, i);
        const int64_t done = rt__host_multiply_unpacked(t, &p->direct_b[i], base, &b, a, tile);
        b.first += done, b.count -= done;
        if (!b.count) continue;
        status = rt__host_pack(t, &w->eval, &p->direct_b[i], base, &b);
        if (!status) rt__host_multiply(d, a->kc, at->rows, b.count, w, tile + done);
    }
    return status;
}

/* Computes the tiles of all products of the kernel, and their epilogue. */
static ind_status rt__host_tile(const rt__host_task *t, rt__host_worker *w, int64_t index) {
    const struct rt__host_kernel_product *p = &t->kernel->product;
    const rt__host_tile_range at = rt__host_tile_range_of(t, index);
    const ind_body *body = t->kernel->body;
    const uint32_t left = body->inst[p->dot[0]].arg[0];
    const bool f32 = body->inst[left].dtype == IND_F32;
    rt__host_blocks blocks;
    rt__host_point(&w->eval, p->batch, p->num_batch, t->batch_extent, at.batch);
    const bool packed = rt__host_find_blocks(t, &w->eval, &at, &blocks);
    rt__host_panel a = {&p->a, left, p->row,     p->num_row, packed ? 1 : IND__HOST_MR, t->row_extent, at.row, at.rows,
                        0,     0,    w->panel_a, f32};
    const int64_t rows = (at.rows + IND__HOST_MR - 1) / IND__HOST_MR * IND__HOST_MR;
    for (int i = 0; i < 2 && p->dot[i]; i++)
        memset(rt__host_tile_of(w, i), 0, (size_t)rows * IND__HOST_NC * (f32 ? 4 : 8));
    const int64_t step = packed ? IND__HOST_SEGMENT : IND__HOST_KC;
    for (a.k0 = 0; a.k0 < t->reduced; a.k0 += step) {
        a.kc = t->reduced - a.k0 < step ? t->reduced - a.k0 : step;
        ind_status status = rt__host_tile_step(t, w, &at, &a, packed ? &blocks : NULL);
        if (status) return status;
    }
    return rt__host_tile_epilogue(t, w, at.row, at.rows, at.col, at.cols);
}

static void rt__host_tile_work(void *arg, int64_t index, int worker) {
    const rt__host_task *t = (const rt__host_task *)arg;
    rt__host_worker *w = &t->instance->host.worker[worker];
    if (!w->status) w->status = rt__host_tile(t, w, index);
}

static int64_t rt__pick_extents(const rt__host_task *t, const int *var, int n, int64_t *extent) {
    int64_t product = 1;
    for (int d = 0; d < n; d++) product *= extent[d] = t->extent[var[d]];
    return product;
}
