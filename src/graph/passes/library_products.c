/* ---- products that cuBLASLt runs (ind_compile_desc.cublaslt): they become extern calls

   The operands may be views: the calls take strides. The library adds a bias that is one number per column. It computes
   the product alone: ops before and after it are separate kernels. */

struct graph__library_search {
    const ind__pass_options *options;
    ind__arena arena;
    bool *taken; /* by node */
    uint32_t num;
};

/* Returns why the library does not multiply operands a and b; NULL: it does. */
static const char *graph__refuse_operands(const ind_graph *g, const ind__tensor_info *a, const ind__tensor_info *b) {
    if (a->rank < 2 || b->rank < 2) return "an operand is a vector";
    if (graph__has_data_sizes(g, a) || graph__has_data_sizes(g, b)) return "the sizes of an operand depend on data";
    if (!ind_known_le(ind_int(g->context, 1), a->size[a->rank - 1])) return "its depth may be 0";
    return NULL;
}

static const char *graph__refuse_addmm(const ind_graph *g, const ind__node *n) {
    const ind__tensor_info *bias = &g->tensor[n->operand[0]], *y = &g->tensor[n->result];
    if (!graph__is_one(&n->attr[0]) || !graph__is_one(&n->attr[1])) return "alpha or beta is not 1";
    if (bias->rank != 1 || !ind_known_eq(bias->size[0], y->size[1])) return "its bias is not one number per column";
    return NULL;
}

/* Returns the bias of a product; 0: none. */
static uint32_t graph__library_bias(const ind__node *n) {
    if (n->op == IND_OP_ADDMM) return n->operand[0];
    const uint32_t last = n->op == IND_OP_SCALED_MM ? 4 : n->op == IND_OP_LINEAR ? 2 : n->num_operands;
    return last < n->num_operands ? n->operand[last] : 0;
}

/* cuBLAS takes 8-bit floats in rows of multiples of 16 bytes (its manual, cublasLtMatmul, "FP8"). */
static const char *graph__refuse_scaled(const ind_graph *g, const ind__node *n, const ind_target *target) {
    const ind__tensor_info *a = &g->tensor[n->operand[0]], *b = &g->tensor[n->operand[1]], *y = &g->tensor[n->result];
    const uint32_t last = graph__library_bias(n);
    const ind__tensor_info *bias = last ? &g->tensor[last] : NULL;
    if (target->sm < 89) return "tensor cores multiply 8-bit floats from sm_89 on";
    if (!ind__is_one_element(&g->tensor[n->operand[2]]) || !ind__is_one_element(&g->tensor[n->operand[3]]))
        return "an operand has more than one scale";
    if (a->dtype == IND_F8E5M2 && b->dtype == IND_F8E5M2) return "both operands are f8e5m2";
    if (y->dtype != IND_F16 && y->dtype != IND_BF16 && y->dtype != IND_F32) return "its result is an 8-bit float";
    if (bias && (bias->dtype != y->dtype || y->dtype == IND_F32))
        return "its bias is not f16 or bf16, as the result is";
    if (!ind_known_multiple(a->size[1], 16) || !ind_known_multiple(b->size[1], 16))
        return "its depth or columns are not known to be a multiple of 16";
    return NULL;
}

/* Returns why a product is generated; NULL: the library runs it. */
static const char *graph__refuse_library(const ind_graph *g, const ind__node *n, const ind__pass_options *o) {
    const uint32_t first = n->op == IND_OP_ADDMM;
    const ind__tensor_info *a = &g->tensor[n->operand[first]], *b = &g->tensor[n->operand[first + 1]];
    const bool scaled = n->op == IND_OP_SCALED_MM;
    uint32_t at[2];
    if (o->batch_invariant) return "the bits of a row may depend on the number of rows (batch_invariant)";
    if (!scaled && !graph__matrices_of(n, &at[0], &at[1])) return "the op is none that cuBLASLt runs";
    if (!scaled && a->dtype != IND_F16 && a->dtype != IND_BF16 && a->dtype != IND_F32)
        return "its operands are not f16, bf16 or f32";
    const char *why = graph__refuse_operands(g, a, b);
    if (!why && n->op == IND_OP_ADDMM) why = graph__refuse_addmm(g, n);
    return !why && scaled ? graph__refuse_scaled(g, n, o->target) : why;
}

/* Finds the products that the library runs, and logs the others. False: out of memory. */
static bool graph__find_library_products(graph__library_search *s, const ind_graph *g, const ind__pass_options *o) {
    pattern__uses uses;
    memset(s, 0, sizeof *s);
    s->options = o;
    s->arena.context = g->context;
    s->taken = ind__arena_alloc(&s->arena, g->num_nodes * sizeof *s->taken);
    if (!s->taken || !pattern__make_uses(&s->arena, g, &uses)) return false;
    for (uint32_t i = 1; i < g->num_nodes; i++) {
        const ind__node *n = &g->node[i];
        if (!ind__op_has(n->op, 'M') || (o->prepared && uses.constant[n->result])) continue;
        const char *why = graph__refuse_library(g, n, o);
        s->taken[i] = !why;
        s->num += !why;
        if (why)
            graph__log(o->log, "cublaslt", true, "%s (%s) is a generated kernel: %s", g->tensor[n->result].name,
                       ind__op_name(n->op), why);
    }
    return true;
}

/* ---- replaces products */

static const char *graph__library_name(const ind_graph *g, const ind__node *n, bool tf32) {
    if (n->op == IND_OP_SCALED_MM) return n->attr[1].i ? IND__CUBLASLT_SCALED_FAST : IND__CUBLASLT_SCALED;
    return tf32 && g->tensor[n->result].dtype == IND_F32 ? IND__CUBLASLT_MATMUL_TF32 : IND__CUBLASLT_MATMUL;
}

/* Returns the right matrix of node n in the new graph, transposed if the call or the op has it the other way round. */
static uint32_t graph__library_right(graph__rewrite *r, const ind__node *n, uint32_t at) {
    const ind__tensor_info *t = &r->from->tensor[n->operand[at]];
    const ind__node *before = graph__producer_of(r->from, n->operand[at]);
    if (n->op != IND_OP_LINEAR && n->op != IND_OP_SCALED_MM) return r->map[n->operand[at]];
    if (graph__is_transposed(before, t->rank)) return r->map[before->operand[0]];
    return ind_transpose((ind_tensor){r->to, r->map[n->operand[at]]}, -2, -1).id;
}

/* Fills the operands of the call: matrices, scales, bias. */
static uint32_t graph__library_operands(graph__rewrite *r, const ind__node *n, uint32_t *operand) {
    const uint32_t first = n->op == IND_OP_ADDMM, bias = graph__library_bias(n);
    uint32_t num = 0;
    operand[num++] = r->map[n->operand[first]];
    operand[num++] = graph__library_right(r, n, first + 1);
    if (n->op == IND_OP_SCALED_MM) {
        operand[num++] = r->map[n->operand[2]];
        operand[num++] = r->map[n->operand[3]];
    }
    if (bias) operand[num++] = r->map[bias];
    return num;
}

/* Adds the call that replaces the product of node i. False: the new graph failed. */
static bool graph__library_product(graph__rewrite *r, uint32_t i) {
    const ind__pass_options *o = r->library->options;
    const ind__node *from = &r->from->node[i];
    const ind__tensor_info *y = &r->from->tensor[from->result];
    ind__node n = *from;
    uint32_t operand[5];
    ind_expr type[2 + IND_MAX_RANK] = {ind_int(r->to->context, y->dtype), ind_int(r->to->context, y->rank)};
    if (!graph__may_change(r->log)) return true;
    ind_here(r->to, n.file, n.line);
    for (int d = 0; d < y->rank; d++) type[2 + d] = y->size[d];
    const char *name = graph__library_name(r->from, from, o->allow_tf32);
    ind__attr attr[4] = {{.kind = IND__ATTR_STR, .s = name},
                         {.kind = IND__ATTR_SIZE, .e = ind_int(r->to->context, o->target->cublas_bytes)},
                         {.kind = IND__ATTR_NONE},
                         {.kind = IND__ATTR_EXPRS, .list = type, .count = 2 + y->rank}};
    n.op = IND_OP_EXTERN;
    n.name = name;
    n.num_operands = graph__library_operands(r, from, operand);
    n.operand = operand;
    n.attr = attr;
    n.num_attrs = 4;
    if (r->to->status) return false;
    r->hashed = NULL;
    if (!(r->map[from->result] = graph__rewrite_add(r, &n))) return false;
    graph__log(r->log, "cublaslt", false, "%s (%s) is run by %s: the library computes the product alone", y->name,
               ind__op_name(from->op), name);
    r->applied++;
    r->changed = true;
    return true;
}
