/* ---- scans and sorts: a row at a time, a lane per element */

/* State of a scan after the elements so far, in double or 64-bit integers. */
typedef union rt__host_lane {
    int64_t i;
    double d;
    float f;
} rt__host_lane;

typedef struct rt__host_scan {
    double d;
    int64_t i, at;                        /* at: position of the maximum or minimum */
    rt__host_lane state[IND__MAX_STATES]; /* COMBINE: the values, in the computation type */
} rt__host_scan;

static double rt__log_add_exp(double a, double b) {
    double high = a > b ? a : b, low = a > b ? b : a;
    if (a != a || b != b) return a + b;
    return low == high && isinf(low) ? low : high + log1p(exp(low - high));
}

/* Combines the state with element x or i at position `at`. */
static void rt__scan_join(rt__host_scan *s, ind_scan kind, bool is_float, double x, int64_t i, int64_t at) {
    bool up = kind == IND_SCAN_MAX;
    switch (kind) {
    case IND_SCAN_SUM:
        s->d += x;
        s->i = (int64_t)((uint64_t)s->i + (uint64_t)i);
        break;
    case IND_SCAN_PROD:
        s->d *= x;
        s->i = (int64_t)((uint64_t)s->i * (uint64_t)i);
        break;
    case IND_SCAN_LOGADDEXP: s->d = rt__log_add_exp(s->d, x); break;
    default:
        if (is_float ? x != x || (s->d == s->d && (up ? x >= s->d : x <= s->d)) : up ? i >= s->i : i <= s->i)
            s->d = x, s->i = i, s->at = at;
    }
}

/* Finds the results of a SCAN (element, position): its PARTs if there are any. NULL: unused. */
static void rt__host_scanned(ind__eval *e, uint32_t scan, ind__lanes *part[2]) {
    part[0] = &e->value[scan], part[1] = NULL;
    for (uint32_t i = scan + 1; i < e->body->num_inst; i++)
        if (e->body->inst[i].op == IND_LOOP_PART && e->body->inst[i].arg[0] == scan)
            part[e->body->inst[i].imm.i] = &e->value[i];
}

/* Computes the values of the scan, and their positions, for elements r .. r + lanes - 1 of a row. */
static void rt__host_scan_lanes(ind__eval *e, uint32_t at, rt__host_scan *s, int64_t r, int lanes) {
    const ind__inst *scan = &e->body->inst[at];
    const ind__lanes *x = &e->value[scan->arg[0]];
    ind__lanes *part[2];
    rt__host_scanned(e, at, part);
    ind__lanes *v = part[0], *position = part[1];
    ind_dtype d = (ind_dtype)scan->dtype;
    bool is_float = ind_dtype_is_float(d);
    for (int l = 0; l < lanes; l++) {
        double f = d == IND_F32 ? (double)x->f[l] : d == IND_F64 ? x->d[l] : 0;
        int64_t i = is_float ? 0 : x->i[l];
        if (r + l == 0)
            s->d = scan->reduction == IND_SCAN_SUM ? 0 + f : f, s->i = i, s->at = 0; /* no sum is -0, as in PyTorch */
        else
            rt__scan_join(s, (ind_scan)scan->reduction, is_float, f, i, r + l);
        if (d == IND_F32)
            v->f[l] = (float)s->d;
        else if (d == IND_F64)
            v->d[l] = s->d;
        else
            v->i[l] = ind__wrap_int(d, s->i);
        if (position) position->i[l] = s->at;
    }
}

static rt__host_lane rt__get_lane(ind_dtype d, const ind__lanes *v, int lane) {
    rt__host_lane x = {0};
    if (d == IND_F32)
        x.f = v->f[lane];
    else if (d == IND_F64)
        x.d = v->d[lane];
    else
        x.i = v->i[lane];
    return x;
}

static void rt__set_lane(ind_dtype d, ind__lanes *v, int lane, rt__host_lane x) {
    if (d == IND_F32)
        v->f[lane] = x.f;
    else if (d == IND_F64)
        v->d[lane] = x.d;
    else
        v->i[lane] = x.i;
}

/* Combines the state with the element of a lane. */
static ind_status rt__host_combine(const rt__host_kernel *h, ind__eval *e, rt__host_scan *s, bool first, int lane) {
    const ind__inst *inst = h->body->inst;
    uint32_t n = h->num_states;
    for (uint32_t k = 0; k < n; k++) {
        ind_dtype d = (ind_dtype)inst[h->element[k]].dtype;
        rt__host_lane x = rt__get_lane(d, &e->value[h->element[k]], lane);
        if (first) s->state[k] = x;
        if (h->state[k]) rt__set_lane(d, &e->value[h->state[k]], 0, s->state[k]);
        if (h->state[n + k]) rt__set_lane(d, &e->value[h->state[n + k]], 0, x);
    }
    ind_status status = first ? IND_OK : rt__host_run_list(e, &h->combine, 1);
    for (uint32_t k = 0; k < n && !first && !status; k++)
        s->state[k] = rt__get_lane((ind_dtype)inst[h->combined[k]].dtype, &e->value[h->combined[k]], 0);
    return status;
}

/* Computes a scan with a combine function for elements r .. r + lanes - 1 of a row, one after another. */
static ind_status rt__host_combine_lanes(const rt__host_kernel *h, ind__eval *e, rt__host_scan *s, int64_t r,
                                         int lanes) {
    bool exclusive = h->body->inst[h->scan].flags & IND__INST_EXCLUSIVE;
    ind_status status = IND_OK;
    for (int l = 0; l < lanes && !status; l++) {
        rt__host_scan before = *s;
        status = rt__host_combine(h, e, s, r + l == 0, l);
        for (int k = 0; k < IND__MAX_STATES; k++) {
            if (!h->part[k]) continue;
            ind_dtype d = (ind_dtype)h->body->inst[h->part[k]].dtype;
            rt__set_lane(d, &e->value[h->part[k]], l, exclusive ? before.state[k] : s->state[k]);
        }
    }
    return status;
}

/* An element of a row to be sorted, and its original position. */
typedef struct rt__host_sorted {
    rt__host_lane key;
    int64_t at;
} rt__host_sorted;

static float rt__round_key(ind_dtype d, float x) {
    switch (d) {
    case IND_F16: return ind__f16_to_f32(ind__f32_to_f16(x));
    case IND_BF16: return ind__bf16_to_f32(ind__f32_to_bf16(x));
    case IND_F8E4M3FN: return ind__f8e4m3fn_to_f32(ind__f32_to_f8e4m3fn(x));
    case IND_F8E5M2: return ind__f8e5m2_to_f32(ind__f32_to_f8e5m2(x));
    default: return x;
    }
}

/* Copies elements of a row to the sort's input, with their positions. */
static void rt__host_sort_lanes(const rt__host_kernel *h, const ind__eval *e, rt__host_sorted *row, int64_t r,
                                int lanes) {
    const ind__inst *sort = &h->body->inst[h->sort];
    for (int l = 0; l < lanes; l++) {
        rt__host_lane x = rt__get_lane((ind_dtype)sort->dtype, &e->value[sort->arg[0]], l);
        if (sort->dtype == IND_F32) x.f = rt__round_key(h->sort_dtype, x.f);
        row[r + l] = (rt__host_sorted){x, r + l};
    }
}

/* Reads the results of the sort for elements r .. r + lanes - 1. */
static void rt__host_sorted_lanes(const rt__host_kernel *h, ind__eval *e, const rt__host_sorted *row, int64_t r,
                                  int lanes) {
    ind__lanes *part[2];
    rt__host_scanned(e, h->sort, part);
    for (int l = 0; l < lanes; l++) {
        rt__set_lane((ind_dtype)h->body->inst[h->sort].dtype, part[0], l, row[r + l].key);
        if (part[1]) part[1]->i[l] = row[r + l].at;
    }
}

/* True if a sorts before b. The order is strict, as positions differ. NaN is larger than every number. */
static bool rt__sorted_before(const rt__host_sorted *a, const rt__host_sorted *b, ind_dtype d, bool descending) {
    double x = d == IND_F32 ? (double)a->key.f : d == IND_F64 ? a->key.d : 0;
    double y = d == IND_F32 ? (double)b->key.f : d == IND_F64 ? b->key.d : 0;
    int order = !ind_dtype_is_float(d) ? (a->key.i > b->key.i) - (a->key.i < b->key.i)
                : x != x || y != y     ? (x != x) - (y != y)
                                       : (x > y) - (x < y);
    return order ? (order < 0) != descending : a->at < b->at;
}

/* Heapsort: in place. It is stable, as equal elements are ordered by their positions. */
static void rt__sort_row(rt__host_sorted *row, int64_t n, ind_dtype d, bool descending) {
    for (int64_t start = n / 2, end = n; end > 1;) {
        rt__host_sorted moved = row[start ? start - 1 : end - 1];
        if (start)
            start--;
        else
            row[--end] = row[0];
        int64_t root = start;
        for (int64_t child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && rt__sorted_before(&row[child], &row[child + 1], d, descending)) child++;
            if (!rt__sorted_before(&moved, &row[child], d, descending)) break;
            row[root] = row[child];
        }
        row[root] = moved;
    }
}

/* One chunk of a scan with a combine function. */
static ind_status rt__host_combine_chunk(const rt__host_kernel *h, ind__eval *e, rt__host_scan *state, int64_t r,
                                         int lanes) {
    ind_status status = rt__host_run_list(e, &h->before, lanes);
    if (!status) status = rt__host_combine_lanes(h, e, state, r, lanes);
    return status ? status : rt__host_run_list(e, &h->after, lanes);
}

/* Runs the loop for elements r .. r + lanes - 1 of a pass, split at the scans. */
static ind_status rt__host_scan_chunk(const rt__host_stage *s, ind__eval *e, rt__host_scan *state, int64_t r,
                                      int lanes) {
    ind_status status = IND_OK;
    uint32_t done = 0;
    for (uint32_t k = 0; k <= s->scan.num && !status; k++) {
        uint32_t end = done;
        while (end < s->loop.num && (k == s->scan.num || s->loop.inst[end] < s->scan.inst[k])) end++;
        status = rt__host_run_list(e, &(rt__host_list){s->loop.inst + done, end - done}, lanes);
        if (!status && k < s->scan.num) rt__host_scan_lanes(e, s->scan.inst[k], &state[k], r, lanes);
        done = end;
    }
    return status;
}

/* Runs a pass over the row; reductions of the scans' results run in the same pass. */
static ind_status rt__host_scan_pass(const rt__host_task *t, rt__host_worker *w, uint32_t stage) {
    const rt__host_kernel *h = t->kernel;
    const rt__host_stage *s = &h->stage[stage];
    ind__eval *e = &w->eval;
    rt__host_scan state[IND__MAX_SCANS] = {0};
    ind_status status = IND_OK;
    int64_t at[IND__LANES];
    for (uint32_t k = 0; k < s->reduce.num; k++)
        rt__accumulator_init(&w->accumulator[k], &e->body->inst[s->reduce.inst[k]]);
    for (int64_t r = 0; r < t->reduced && !status; r += IND__LANES) {
        int lanes = t->reduced - r < IND__LANES ? (int)(t->reduced - r) : IND__LANES;
        rt__host_lanes(e, t->var + h->body->rank, 1, t->extent + h->body->rank, r, lanes);
        if (h->sort && stage >= h->sort_stage) rt__host_sorted_lanes(h, e, w->row, r, lanes);
        status = h->num_states && stage == h->element_stage ? rt__host_combine_chunk(h, e, state, r, lanes)
                                                            : rt__host_scan_chunk(s, e, state, r, lanes);
        if (!status && h->sort && stage + 1 == h->sort_stage) rt__host_sort_lanes(h, e, w->row, r, lanes);
        for (int l = 0; l < lanes; l++) at[l] = r + l;
        for (uint32_t k = 0; k < s->reduce.num && !status; k++)
            rt__host_accumulate(e, s->reduce.inst[k], &w->accumulator[k], lanes, at, r / IND__LANES);
    }
    if (!status) rt__stage_results(e, s, w->accumulator, true, 0, t->reduced);
    return status;
}

static ind_status rt__host_scan_row(const rt__host_task *t, rt__host_worker *w, int64_t point) {
    const rt__host_kernel *h = t->kernel;
    const ind__inst *sort = &h->body->inst[h->sort];
    ind__eval *e = &w->eval;
    ind_status status = IND_OK;
    rt__host_point(e, t->var, h->body->rank, t->extent, point);
    int64_t width = t->reduced < IND__LANES ? t->reduced : IND__LANES;
    for (uint32_t s = 0; s < h->num_stages && !status; s++) {
        status = rt__host_run_list(e, rt__host_once(t, s), h->full_lanes && width > 0 ? (int)width : 1);
        if (status) return status;
        rt__host_spread(e, &h->stage[s].spread);
        status = rt__host_scan_pass(t, w, s);
        if (!status && h->sort && s + 1 == h->sort_stage)
            rt__sort_row(w->row, t->reduced, (ind_dtype)sort->dtype, sort->reduction == IND_SCAN_DESCENDING);
    }
    return status;
}

static void rt__host_chunk(void *arg, int64_t index, int worker) {
    const rt__host_task *t = (const rt__host_task *)arg;
    rt__host_worker *w = &t->instance->worker[worker];
    int64_t begin = index * t->chunk, end = begin + t->chunk < t->points ? begin + t->chunk : t->points;
    int64_t step = t->lanes_along_row ? 1 : IND__LANES;
    for (int64_t p = begin; p < end && !w->status; p += step) {
        int lanes = end - p < IND__LANES ? (int)(end - p) : IND__LANES;
        w->status = t->kernel->scan      ? rt__host_scan_row(t, w, p)
                    : t->lanes_along_row ? rt__host_row(t, w, p)
                                         : rt__host_block(t, w, p, lanes);
    }
}
