/* ---- products that share an operand: replaces a group by one product and its slices */

/* Returns the tensor of the rewritten graph that is the concatenation of one operand of all products of a group. */
static ind_tensor graph__cat_products(graph__rewrite *r, const graph__product_group *group, bool bias) {
    const int dim = bias || group->rows ? 0 : group->product[0].rank - 1;
    ind_tensor *part = ind__alloc(r->to->context, group->num * sizeof *part), y = {r->to, 0};
    if (!part) ind__graph_no_memory(r->to, "cat");
    for (uint32_t i = 0; part && i < group->num; i++) {
        const graph__product *p = &group->product[i];
        const uint32_t from = bias ? p->bias : group->rows ? p->rows : p->w;
        const ind_expr columns = ind_int(r->to->context, p->columns);
        part[i] =
            from ? (ind_tensor){r->to, r->map[from]} : ind_zeros(r->to, &columns, 1, r->to->tensor[r->map[p->x]].dtype);
    }
    if (part) y = ind_cat(part, (int)group->num, dim);
    ind__free(r->to->context, part);
    return y;
}

/* Returns the concatenation of packed weights: of their bytes, scales and zero points, so that they stay packed. */
static ind_tensor graph__cat_packed(graph__rewrite *r, const graph__product_group *group) {
    const ind__node *first = graph__packed_weights(r->from, &group->product[0]);
    ind_tensor *part = ind__alloc(r->to->context, group->num * sizeof *part), operand[4] = {{0}};
    if (!part) ind__graph_no_memory(r->to, "cat");
    for (uint32_t k = 0; part && k < first->num_operands && k < 4; k++) {
        for (uint32_t i = 0; first->operand[k] && i < group->num; i++) {
            const ind__node *n = graph__packed_weights(r->from, &group->product[i]);
            part[i] = (ind_tensor){r->to, r->map[n->operand[k]]};
        }
        if (first->operand[k]) operand[k] = ind_cat(part, (int)group->num, 0);
    }
    const bool ok = part != NULL;
    ind__free(r->to->context, part);
    return ok ? ind__call(first->op, operand, first->num_operands, first->attr, first->num_attrs) : operand[0];
}

static ind_tensor graph__merged_product(graph__rewrite *r, const graph__product_group *group) {
    const bool packed = graph__packed_weights(r->from, &group->product[0]) != NULL;
    const ind_tensor x = {r->to, r->map[group->product[0].x]};
    const ind_tensor w = packed ? graph__cat_packed(r, group) : graph__cat_products(r, group, false);
    const ind_tensor bias = group->biased ? graph__cat_products(r, group, true) : ind_no_tensor();
    if (group->rows) return ind_linear(x, w, bias);
    return group->biased ? ind_addmm(bias, x, w, 1, 1) : ind_matmul(x, w);
}

static bool graph__copy_needed(graph__rewrite *r, const uint32_t *tensor, uint32_t num, uint32_t i, uint32_t *operands);

/* Copies the weights and biases, which may stand after the first product of the group. */
static bool graph__copy_weights(graph__rewrite *r, const graph__product_group *group, uint32_t i, uint32_t *operands) {
    uint32_t *needed = ind__alloc(r->to->context, (size_t)group->num * 2 * sizeof *needed), num = 0;
    for (uint32_t k = 0; needed && k < group->num; k++) {
        const graph__product *p = &group->product[k];
        needed[num++] = group->rows ? p->rows : p->w;
        if (p->bias) needed[num++] = p->bias;
    }
    const bool ok = needed && graph__copy_needed(r, needed, num, i, operands);
    ind__free(r->to->context, needed);
    return ok;
}

static void graph__log_merged(graph__rewrite *r, const graph__product_group *group) {
    ind__text t = {.context = r->to->context};
    int64_t columns = 0;
    for (uint32_t k = 0; k < group->num; k++) {
        const ind__node *n = &r->from->node[group->product[k].node];
        ind__textf(&t, "%s%s (%s)", k ? ", " : "", r->from->tensor[n->result].name, ind__op_name(n->op));
        columns += group->product[k].columns;
    }
    graph__log(r->log, "merge_products", false,
               "%s become slices of one product of %s with %lld columns: %s %.0f bytes", t.data ? t.data : "",
               r->from->tensor[group->product[0].x].name, (long long)columns, group->saved < 0 ? "costs" : "saves",
               group->saved < 0 ? -group->saved : group->saved);
    r->log->failed = r->log->failed || t.failed;
    ind__text_free(&t);
}

/* Replaces the products of the group of node i, where the first of them stands. False: the new graph failed. */
static bool graph__merge_products(graph__rewrite *r, uint32_t i, uint32_t *operands) {
    graph__product_group *group = &r->merged->group[r->merged->group_of[i] - 1];
    if (group->done || !graph__may_change(r->log)) return true;
    group->done = true;
    const ind__node *first = &r->from->node[i];
    ind_here(r->to, first->file, first->line);
    if (!graph__copy_weights(r, group, i, operands)) return false;
    ind_context *c = r->to->context;
    const ind_tensor y = graph__merged_product(r, group);
    int64_t begin = 0;
    for (uint32_t k = 0; k < group->num && !r->to->status; k++) {
        const graph__product *p = &group->product[k];
        const uint32_t result = r->from->node[p->node].result;
        const ind_expr step = {NULL, 0};
        const ind_tensor part =
            ind_slice(y, ind_tensor_rank(y) - 1, ind_int(c, begin), ind_int(c, begin + p->columns), step);
        if (r->to->status) break;
        graph__take_name(r, part.id, r->from->tensor[result].name);
        r->map[result] = part.id;
        begin += p->columns;
    }
    if (r->to->status) return false;
    graph__log_merged(r, group);
    r->applied++;
    r->changed = true;
    return true;
}
