/* ------------------------------------------------------------------------------------------------- >>launch */

/* Returns the largest value of e. e must grow with every variable in it: a sum of products of nonnegative terms. */
static ind_expr cg__upper(const ind__writer *w, ind_expr e) {
    ind_expr symbol[32], top[32];
    int num = ind__expr_symbols(e, symbol, 32), n = 0;
    if (num > 32) return (ind_expr){0};
    for (int s = 0; s < num; s++) {
        const ind_symbol *sym = ind_expr_symbol(symbol[s]);
        if (!ind__ok(sym->extent)) continue;
        symbol[n] = symbol[s];
        top[n++] = ind_expr_sub(sym->extent, ind_int(w->context, 1));
    }
    return ind__substitute(e, symbol, top, n);
}

static bool cg__fits(ind_expr e, int64_t limit) {
    int64_t lo, hi;
    ind__known_bounds(e, &lo, &hi);
    return lo >= -limit - 1 && hi <= limit;
}

/* True if e grows with every symbol in it: it has only nonnegative sums and products, and their quotients by sizes. */
static bool cg__monotone(ind_expr e, int depth) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    int64_t lo, hi;
    ind__known_bounds(e, &lo, &hi);
    if (lo < 0 || depth > IND__CG_MAX_DEPTH) return false;
    if (kind == IND_EXPR_INT || kind == IND_EXPR_SYM || ind__expr_is_size(e)) return true;
    if (kind != IND_EXPR_ADD && kind != IND_EXPR_MUL && kind != IND_EXPR_FLOORDIV) return false;
    if (kind == IND_EXPR_FLOORDIV && !ind__expr_is_size(ind_expr_arg(e, 1))) return false;
    for (int i = 0; i < ind_expr_num_args(e); i++)
        if (!cg__monotone(ind_expr_arg(e, i), depth + 1)) return false;
    return true;
}

#define IND__CG_SLACK (1 << 20) /* the largest distance of a thread's index beyond the domain */

static ind_expr cg__p_numel(const ind__writer *w) {
    return ind_expr_product(w->context, w->plan->domain.extent, w->plan->domain.rank);
}

static ind_expr cg__r_numel(const ind__writer *w) {
    return ind_expr_product(w->context, w->plan->domain.extent + w->plan->domain.rank, w->plan->domain.rrank);
}

static int64_t cg__upper_bound(ind_expr e) {
    int64_t lo, hi;
    ind__known_bounds(e, &lo, &hi);
    return hi;
}

static bool cg__power_of_two(int n) {
    return n > 0 && !(n & (n - 1));
}

static int cg__pow2_at_least(int64_t n, int lo, int hi) {
    int p = lo;
    while (p < hi && p < n) p *= 2;
    return p;
}

/* Returns "unsigned" in the width of the indices, the type of linear positions when they are divided into variables. */
static const char *cg__unsigned(const ind__writer *w) {
    return w->plan->wide ? "unsigned long long" : "unsigned";
}

/* Returns a size as a divisor of a linear position: "384u" or "(unsigned)n1". */
static const char *cg__divisor(ind__writer *w, ind_expr size) {
    int64_t value;
    if (ind_expr_is_int(size, &value)) return cg__string(w, w->plan->wide ? "%lldull" : "%lldu", (long long)value);
    return cg__string(w, "(%s)%s", cg__unsigned(w), cg__expr_string(w, size));
}

/* True if positions below this many points, plus IND__CG_SLACK, are below 2^31. */
static bool cg__narrow(const ind__writer *w, ind_expr points) {
    return !w->plan->wide || cg__fits(ind_expr_add(points, ind_int(w->context, IND__CG_SLACK)), IND__CG_INT32_MAX);
}

/* Returns the argument that ind_quotient multiplies by: the reciprocal of a divisor. */
static ind__kernel_arg cg__reciprocal(ind_expr size) {
    ind_context *c = size.context;
    int64_t least;
    ind__known_bounds(size, &least, NULL);
    ind_expr divisor = least < 1 ? ind_expr_max(size, ind_int(c, 1)) : size;
    ind_expr all = ind_expr_floordiv(ind_int(c, ((int64_t)1 << 62) - 1), divisor);
    return (ind__kernel_arg){
        .kind = IND__ARG_SIZE, .size = ind_expr_add(all, ind_int(c, 1)), .reciprocal = true, .divisor = size};
}

/* Returns the expression "position / size". If the size is known only at run time, a position below 2^31 (`narrow`) is
   divided by a multiplication. */
static const char *cg__quotient(ind__writer *w, const char *position, ind_expr size, bool narrow) {
    int64_t value;
    if (ind_expr_is_int(size, &value))
        return cg__string(w, narrow ? "(unsigned)%s / %lldu" : "(unsigned long long)%s / %lldull", position,
                          (long long)value);
    if (!narrow) return cg__string(w, "(%s)%s / %s", cg__unsigned(w), position, cg__divisor(w, size));
    cg__use(w, IND__CG_QUOTIENT);
    return cg__string(w, "ind_quotient(%s, m%u)", position, cg__value_arg(w, cg__reciprocal(size)));
}

/* ---- blocks along three axes: x, which runs fastest, y and z. An axis is folded into x if it may have more blocks
   than y or z of a grid allows. */

#define IND__CG_MAX_GRID_YZ 65535 /* CUDA C Programming Guide, compute capabilities */

static bool cg__own_axis(ind_expr blocks) {
    return ind_known_le(blocks, ind_int(blocks.context, IND__CG_MAX_GRID_YZ));
}

/* Declares the block's position along each axis and returns its name in at[]. */
static void cg__write_axes(ind__writer *w, const ind_expr blocks[3], const char *at[3]) {
    static const char *const axis[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
    for (int d = 0; d < 3; d++) at[d] = axis[d];
    for (int d = 2; d > 0; d--) {
        if (cg__own_axis(blocks[d])) continue;
        ind_expr faster = d == 2 && !cg__own_axis(blocks[1]) ? ind_expr_mul(blocks[0], blocks[1]) : blocks[0];
        at[d] = cg__string(w, "block_%c", "xyz"[d]);
        ind__textf(&w->code, "const unsigned %s = %s;\n", at[d], cg__quotient(w, at[0], faster, true));
        const char *rest = cg__string(w, "in_block_%c", "xyz"[d]);
        ind__textf(&w->code, "const unsigned %s = %s - %s * %s;\n", rest, at[0], at[d], cg__divisor(w, faster));
        at[0] = rest;
    }
}

/* Declares the P variables, except those in `skip` (bits), as the digits of a position below 2^31. */
static void cg__write_outer_vars(ind__writer *w, const char *position, uint32_t skip) {
    int first = 0;
    while (first < w->plan->domain.rank && skip >> first & 1) first++;
    for (int v = w->plan->domain.rank - 1; v >= first; v--) {
        if (skip >> v & 1) continue;
        w->var[v] = cg__string(w, "i%d", v);
        if (v == first) {
            ind__textf(&w->code, "const %s i%d = %s;\n", cg__int(w), v, position);
            break;
        }
        const char *rest = cg__string(w, "outside_%d", v);
        ind_expr extent = w->plan->domain.extent[v];
        ind__textf(&w->code, "const unsigned %s = %s;\n", rest, cg__quotient(w, position, extent, true));
        ind__textf(&w->code, "const %s i%d = %s - %s * %s;\n", cg__int(w), v, position, rest, cg__divisor(w, extent));
        position = rest;
    }
}

/* ---- digits of a linear position */

/* True if an index uses the variable, or the linear position symbol. */
static bool cg__is_used(const ind__writer *w, ind_expr symbol) {
    for (uint32_t k = 0; k < w->body->num_index; k++)
        if (ind__expr_depends(w->plan->domain.index[k], symbol)) return true;
    return false;
}

/* Returns e with its terms in the P variables 0 .. last replaced by c * position. Returns e unchanged if those terms
   are not c times the linear position. */
static ind_expr cg__by_position(const ind__writer *w, ind_expr e, int last, ind_expr position) {
    const ind__loops *d = &w->plan->domain;
    ind_expr c, stride, rest;
    if (!ind__affine(e, d->var[last], &c, &rest) || ind_known_eq(c, ind_int(w->context, 0))) return e;
    stride = c;
    for (int v = last - 1; v >= 0; v--) {
        ind_expr own;
        stride = ind_expr_mul(stride, d->extent[v + 1]);
        if (!ind__affine(rest, d->var[v], &own, &rest) || !ind_expr_same(own, stride)) return e;
    }
    for (int v = 0; v <= last; v++)
        if (ind__expr_depends(c, d->var[v])) return e;
    return ind_expr_add(ind_expr_mul(c, position), rest);
}

/* Rewrites indices in linear positions: 384 * p instead of 384 * S * i0 + 384 * i1. A position is known before its
   digits, and the digits are then often unused. */
static void cg__use_positions(ind__writer *w) {
    for (int last = w->plan->domain.rank - 1; last > 0; last--) {
        ind_expr points = ind_expr_product(w->context, w->plan->domain.extent, last + 1);
        w->linear[last] = ind__index_symbol(w->context, 'p', last, points);
        for (uint32_t k = 0; k < w->body->num_index && ind__ok(w->linear[last]); k++) {
            ind_expr e = cg__by_position(w, w->plan->domain.index[k], last, w->linear[last]);
            if (ind__ok(e)) w->plan->domain.index[k] = e;
        }
    }
}

/* True if an index uses the position in the variables from .. v. */
static bool cg__needs_position(const ind__writer *w, int from, int v) {
    for (int k = from; k <= v; k++)
        if (cg__is_used(w, w->plan->domain.var[k]) || (k < w->plan->domain.rank && cg__is_used(w, w->linear[k])))
            return true;
    return false;
}

/* Declares the variables from + 0 .. from + n - 1 of the domain as i0, i1 .. or r0, r1 ..: the digits of `linear`.
   Unused digits are left out. */
static void cg__split_linear(ind__writer *w, const char *linear, int from, int n) {
    bool parallel = from < w->plan->domain.rank;
    if (parallel && n > 1 && !ind__ok(w->linear[n - 1])) cg__use_positions(w); /* for a batch of rows, once */
    const char *position = linear;
    for (int v = from + n - 1; v >= from; v--) {
        ind_expr extent = w->plan->domain.extent[v];
        ind_expr points = ind_expr_product(w->context, w->plan->domain.extent + from, v - from + 1);
        bool digit = cg__is_used(w, w->plan->domain.var[v]), outer = v > from && cg__needs_position(w, from, v - 1);
        w->var[v] = cg__string(w, parallel ? "i%d" : "r%d", v - from);
        if (parallel) w->linear_name[v] = position;
        if (v == from) break;
        const char *rest =
            v - 1 == from ? cg__string(w, parallel ? "i0" : "r0") : cg__string(w, "%s_%d", linear, v - 1);
        if (outer || (digit && !ind_expr_is_int(extent, NULL)))
            ind__textf(&w->code, "const %s %s = %s;\n", cg__int(w), rest,
                       cg__quotient(w, position, extent, cg__narrow(w, points)));
        else if (digit)
            ind__textf(&w->code, "const %s %s = (%s)%s %% %s;\n", cg__int(w), w->var[v], cg__unsigned(w), position,
                       cg__divisor(w, extent));
        if (digit && (outer || !ind_expr_is_int(extent, NULL)))
            ind__textf(&w->code, "const %s %s = %s - %s * %s;\n", cg__int(w), w->var[v], position, rest,
                       cg__expr_string(w, extent));
        position = rest;
    }
}
