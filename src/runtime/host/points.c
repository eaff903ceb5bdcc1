/* ---- loop variables */

/* Sets the variables (row-major, `extent` each) to one point. */
static void rt__host_point(ind__eval *e, const int *var, int n, const int64_t *extent, int64_t at) {
    for (int d = n; d-- > 0;) {
        ind__eval_set_var(e, var[d], extent[d] ? at % extent[d] : 0, 0);
        at = extent[d] ? at / extent[d] : 0;
    }
}

/* Sets them to the points at .. at + lanes - 1, one per lane. All of these points exist. */
static void rt__host_lanes(ind__eval *e, const int *var, int n, const int64_t *extent, int64_t at, int lanes) {
    if (!n) return;
    int64_t inner = extent[n - 1];
    if (at % inner + lanes <= inner) {
        rt__host_point(e, var, n - 1, extent, at / inner);
        ind__eval_set_var(e, var[n - 1], at % inner, 1);
        return;
    }
    int64_t digit[2 * IND_MAX_RANK], value[2 * IND_MAX_RANK][IND__LANES];
    int changed = n - 1; /* the first variable that is not the same in all lanes */
    for (int d = n; d-- > 0; at /= extent[d]) digit[d] = at % extent[d];
    for (int l = 0; l < lanes;) { /* a run along the last variable at a time */
        const int run = inner - digit[n - 1] < lanes - l ? (int)(inner - digit[n - 1]) : lanes - l;
        for (int k = 0; k < run; k++) value[n - 1][l + k] = digit[n - 1] + k;
        for (int d = 0; d < n - 1; d++)
            for (int k = 0; k < run; k++) value[d][l + k] = digit[d];
        l += run;
        digit[n - 1] += run;
        for (int d = n - 1; d > 0 && digit[d] == extent[d] && l < lanes; d--) {
            digit[d] = 0, digit[d - 1]++;
            if (d - 1 < changed) changed = d - 1;
        }
    }
    for (int d = 0; d < n; d++)
        if (d < changed)
            ind__eval_set_var(e, var[d], digit[d], 0);
        else
            ind__eval_set_var_lanes(e, var[d], value[d], lanes);
}

/* ---- reductions: one accumulator per lane, in double or 64-bit integers */

typedef struct rt__host_accumulator {
    double d[IND__LANES], e[IND__LANES]; /* sum, product, max/min, mean | sum of squared deviations, of exponentials */
    int64_t i[IND__LANES], at[IND__LANES]; /* the same for integers | position of the max/min, -1: none */
} rt__host_accumulator;

static char rt__value_class(ind_dtype d) {
    return ind_dtype_is_float(d) ? 'f' : 'i';
}

static void rt__accumulator_init(rt__host_accumulator *a, const ind__inst *reduce) {
    const ind_reduction r = (ind_reduction)reduce->reduction;
    const double d = r == IND_REDUCE_ONLINE_SOFTMAX ? -INFINITY : ind__neutral_float(r);
    const int64_t i = ind__neutral_int(r, (ind_dtype)reduce->dtype);
    for (int l = 0; l < IND__LANES; l++) {
        a->d[l] = d;
        a->e[l] = 0;
        a->i[l] = i;
        a->at[l] = -1;
    }
}

/* Updates the running maximum m and the sum of exp(x - m). A row of only -inf keeps the sum 0. */
static void rt__online_softmax(double *m, double *sum, double x, double weight) {
    if (x > *m || x != x) {
        *sum = *m == -INFINITY ? weight : *sum * exp(*m - x) + weight;
        *m = x;
    } else if (*m != -INFINITY) {
        *sum += weight * exp(x - *m);
    }
}

/* True if x, at a later position, beats the best so far. NaN is largest. */
static bool rt__argmax_better(double x, double best) {
    return x > best || (x != x && best == best);
}

/* iteration: number of values that every lane has accumulated before. */
static void rt__accumulate_float(rt__host_accumulator *a, ind_reduction r, const double *x, const double *y, int lanes,
                                 const int64_t *at, int64_t iteration) {
    double inverse = 1.0 / (double)(iteration + 1);
    for (int l = 0; l < lanes; l++) {
        double v = x[l];
        switch (r) {
        case IND_REDUCE_SUM: a->d[l] += v; break;
        case IND_REDUCE_PROD: a->d[l] *= v; break;
        case IND_REDUCE_MAX: a->d[l] = v > a->d[l] || v != v ? v : a->d[l]; break;
        case IND_REDUCE_MIN: a->d[l] = v < a->d[l] || v != v ? v : a->d[l]; break;
        case IND_REDUCE_ANY: a->i[l] |= v != 0; break;
        case IND_REDUCE_DOT: a->d[l] += v * y[l]; break;
        case IND_REDUCE_WELFORD: {
            double delta = v - a->d[l];
            a->d[l] += delta * inverse;
            a->e[l] += delta * (v - a->d[l]);
            break;
        }
        case IND_REDUCE_ONLINE_SOFTMAX: rt__online_softmax(&a->d[l], &a->e[l], v, 1); break;
        default: /* ARGMAX */
            if (a->at[l] >= 0 && !rt__argmax_better(v, a->d[l])) break;
            a->d[l] = v;
            a->at[l] = at[l];
        }
    }
}

static void rt__accumulate_int(rt__host_accumulator *a, ind_reduction r, const int64_t *x, const int64_t *y, int lanes,
                               const int64_t *at) {
    for (int l = 0; l < lanes; l++) {
        int64_t v = x[l];
        switch (r) {
        case IND_REDUCE_SUM: a->i[l] = (int64_t)((uint64_t)a->i[l] + (uint64_t)v); break;
        case IND_REDUCE_PROD: a->i[l] = (int64_t)((uint64_t)a->i[l] * (uint64_t)v); break;
        case IND_REDUCE_MAX: a->i[l] = v > a->i[l] ? v : a->i[l]; break;
        case IND_REDUCE_MIN: a->i[l] = v < a->i[l] ? v : a->i[l]; break;
        case IND_REDUCE_ANY: a->i[l] |= v != 0; break;
        case IND_REDUCE_DOT: a->i[l] = (int64_t)((uint64_t)a->i[l] + (uint64_t)v * (uint64_t)y[l]); break;
        default: /* ARGMAX */
            if (a->at[l] >= 0 && v <= a->i[l]) break;
            a->i[l] = v;
            a->at[l] = at[l];
        }
    }
}

static void rt__lanes_to_double(const ind__lanes *v, ind_dtype d, int lanes, double *out) {
    if (d == IND_F64)
        memcpy(out, v->d, (size_t)lanes * sizeof *out);
    else
        for (int l = 0; l < lanes; l++) out[l] = v->f[l];
}

static void rt__host_accumulate(const ind__eval *e, uint32_t reduce, rt__host_accumulator *a, int lanes,
                                const int64_t *at, int64_t iteration) {
    const ind__inst *i = &e->body->inst[reduce];
    ind_dtype d = (ind_dtype)e->body->inst[i->arg[0]].dtype;
    const ind__lanes *x = &e->value[i->arg[0]], *y = &e->value[i->arg[1]];
    if (rt__value_class(d) == 'i') {
        rt__accumulate_int(a, (ind_reduction)i->reduction, x->i, y->i, lanes, at);
        return;
    }
    double vx[IND__LANES], vy[IND__LANES];
    rt__lanes_to_double(x, d, lanes, vx);
    if (i->arg[1]) rt__lanes_to_double(y, d, lanes, vy);
    rt__accumulate_float(a, (ind_reduction)i->reduction, vx, vy, lanes, at, iteration);
}

/* Combines lane l into lane 0. na and nb are the numbers of values in each. Squared deviations: Chan et al. */
static void rt__accumulator_merge(rt__host_accumulator *a, ind_reduction r, bool is_float, int l, double na,
                                  double nb) {
    double delta = a->d[l] - a->d[0];
    int64_t x = a->i[l];
    switch (r) {
    case IND_REDUCE_SUM:
    case IND_REDUCE_DOT:
        a->d[0] += a->d[l];
        a->i[0] = (int64_t)((uint64_t)a->i[0] + (uint64_t)x);
        break;
    case IND_REDUCE_PROD:
        a->d[0] *= a->d[l];
        a->i[0] = (int64_t)((uint64_t)a->i[0] * (uint64_t)x);
        break;
    case IND_REDUCE_MAX:
        if (a->d[l] > a->d[0] || a->d[l] != a->d[l]) a->d[0] = a->d[l];
        if (x > a->i[0]) a->i[0] = x;
        break;
    case IND_REDUCE_MIN:
        if (a->d[l] < a->d[0] || a->d[l] != a->d[l]) a->d[0] = a->d[l];
        if (x < a->i[0]) a->i[0] = x;
        break;
    case IND_REDUCE_ANY: a->i[0] |= x; break;
    case IND_REDUCE_WELFORD:
        a->d[0] += delta * nb / (na + nb);
        a->e[0] += a->e[l] + delta * delta * na * nb / (na + nb);
        break;
    case IND_REDUCE_ONLINE_SOFTMAX:
        if (a->d[l] != -INFINITY) rt__online_softmax(&a->d[0], &a->e[0], a->d[l], a->e[l]);
        break;
    default: { /* ARGMAX: the first position among equals */
        bool better = is_float ? rt__argmax_better(a->d[l], a->d[0]) : x > a->i[0];
        bool worse = is_float ? rt__argmax_better(a->d[0], a->d[l]) : x < a->i[0];
        if (better || (!worse && a->at[l] < a->at[0])) {
            a->d[0] = a->d[l];
            a->i[0] = x;
            a->at[0] = a->at[l];
        }
    }
    }
}

/* Lane l has accumulated the elements l, l + LANES, .. of a row of `total` elements. */
static void rt__accumulator_merge_all(rt__host_accumulator *a, ind_reduction r, bool is_float, int64_t total) {
    int used = total < IND__LANES ? (int)total : IND__LANES;
    double before = (double)((total + IND__LANES - 1) / IND__LANES);
    for (int l = 1; l < used; l++) {
        double n = (double)((total - l + IND__LANES - 1) / IND__LANES);
        rt__accumulator_merge(a, r, is_float, l, before, n);
        before += n;
    }
}

/* Writes one lane of a reduction's result. part: as in PART. */
static void rt__result_lane(const rt__host_accumulator *a, const ind__inst *reduce, ind_dtype d, bool is_float,
                            int part, int from, ind__lanes *v, int to) {
    double f = part ? a->e[from] : a->d[from];
    int64_t i = a->i[from];
    if (reduce->reduction == IND_REDUCE_ARGMAX) {
        f = (double)a->at[from];
        i = a->at[from] < 0 ? 0 : a->at[from];
    } else if (!is_float || reduce->reduction == IND_REDUCE_ANY) {
        f = (double)i;
    }
    if (d == IND_F32)
        v->f[to] = (float)f;
    else if (d == IND_F64)
        v->d[to] = f;
    else
        v->i[to] = ind__wrap_int(
            d,
            is_float && reduce->reduction != IND_REDUCE_ARGMAX && reduce->reduction != IND_REDUCE_ANY ? (int64_t)f : i);
}

/* Fills the result of a REDUCE (or of a PART of one): per lane, or the merged lane 0 in every lane. */
static void rt__result_fill(ind__eval *e, uint32_t to, uint32_t reduce, const rt__host_accumulator *a, bool merged,
                            int lanes) {
    const ind__inst *i = &e->body->inst[reduce], *target = &e->body->inst[to];
    bool is_float = rt__value_class((ind_dtype)e->body->inst[i->arg[0]].dtype) == 'f';
    int part = to == reduce ? 0 : (int)target->imm.i;
    for (int l = 0; l < (merged ? 1 : lanes); l++)
        rt__result_lane(a, i, (ind_dtype)target->dtype, is_float, part, l, &e->value[to], l);
    if (merged) ind__eval_spread(&e->value[to], (ind_dtype)target->dtype, IND__LANES);
}

static void rt__stage_results(ind__eval *e, const rt__host_stage *s, rt__host_accumulator *a, bool merged, int lanes,
                              int64_t total) {
    for (uint32_t k = 0; k < s->reduce.num; k++) {
        uint32_t reduce = s->reduce.inst[k];
        const ind__inst *i = &e->body->inst[reduce];
        if (merged)
            rt__accumulator_merge_all(&a[k], (ind_reduction)i->reduction,
                                      rt__value_class((ind_dtype)e->body->inst[i->arg[0]].dtype) == 'f', total);
        rt__result_fill(e, reduce, reduce, &a[k], merged, lanes);
        for (uint32_t p = 0; p < s->part.num; p++)
            if (e->body->inst[s->part.inst[p]].arg[0] == reduce)
                rt__result_fill(e, s->part.inst[p], reduce, &a[k], merged, lanes);
    }
}
