/* ---- launches that let the next one start its blocks early

   griddepcontrol.launch_dependents: once all blocks of a grid have executed it or have ended, blocks of the next launch
   may start. All blocks of this grid have started by then, so none waits for registers or shared memory that the next
   launch takes. The next launch still waits for the end of this one before it reads results. So the trigger never
   changes a result, and it gains only what the next launch does before its wait: the loads of a product's weights.

   It must follow this kernel's wait: then all earlier launches are complete, and the early loads of the next one run
   beside this kernel alone. Called there by column sums and softmax of 4096 rows, chains took 1.4 times as long, as the
   next blocks crowded on the SMs with free slots (cg__launches_dependent). Hence the conditions: the next launch loads
   weights early, and the grid is small, also in the launch. A product calls it after its loop over k, as its own loads
   come first. */

/* Returns the product that the launch after kernel k computes; NULL if it computes something else. */
static const ind_kernel *cg__next_product(const ind_schedule *s, const ind_kernel *k) {
    const ind_kernel *next = k + 1, *const end = s->kernel + s->num_kernels;
    for (uint32_t i = 0; i < s->num_kernels; i++)
        if (s->kernel[i].with_next == k) next = &s->kernel[i] + 2;
    if (next >= end) return NULL;
    if (next->with_next) next = next->with_next;
    /* attention only prefetches into the L2 early */
    return next->kind == IND_KERNEL_MATMUL && !next->scores ? next : NULL;
}

/* True if the product probably loads its right operand before it waits: few rows, and no launch writes what it loads.
 */
static bool cg__probably_early(const ind_schedule *s, const ind_kernel *product) {
    const ind_body *b = product->body;
    const int m = product->matmul.m, n = product->matmul.n;
    if (m >= 0 && ind_hint(ind_expr_symbol(b->var[m])->extent) > MM_PACKED_ROWS) return false;
    bool any = false;
    for (uint32_t i = 1; i < product->matmul.dot && n >= 0; i++) {
        const ind__inst *in = &b->inst[i];
        if (in->op != IND_LOOP_LOAD || !ind__expr_depends(b->index[in->index], b->var[n])) continue;
        if (cg__is_written(s, in->source)) return false;
        any = true;
    }
    return any;
}

/* Decides whether the variant triggers the next launch; its strategy and grid are decided. */
static void cg__choose_trigger(const ind_plan *p, const ind_kernel *k, ind__variant *v) {
    const int64_t most = cg__most_triggering(&p->target);
    const ind_expr blocks = ind_expr_product(p->context, v->grid, 3);
    if (!v->dependent || !most || !ind__ok(blocks) || ind_hint(blocks) > most) return;
    const cg__mm_template *x = cg__mm_template_of(v->strategy);
    if ((x && x->body) || k->scores) return; /* persistent: the loops over tiles have no one end; attention */
    const ind_kernel *next = cg__next_product(p->schedule, k);
    if (next && cg__probably_early(p->schedule, next)) v->dependent = IND__LAUNCH_TRIGGERS;
}
