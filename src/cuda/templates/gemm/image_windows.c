/* Reads the LOAD of a convolution's left operand as windows of images: steps, dilations, borders. A tensor map can then
   describe it (cuTensorMapEncodeIm2col). */

/* The LOAD whose value this is, converted or not; 0: it is none. */
static uint32_t cg__mm_converted_load(const ind__writer *w, uint32_t value) {
    while (cg__inst(w, value)->op == IND_LOOP_CAST) value = cg__inst(w, value)->arg[0];
    return cg__inst(w, value)->op == IND_LOOP_LOAD ? value : 0;
}

/* The index expression that a mask is, converted or not. */
static ind_expr cg__mm_mask_index(const ind__writer *w, uint32_t mask) {
    while (cg__inst(w, mask)->op == IND_LOOP_CAST) mask = cg__inst(w, mask)->arg[0];
    return cg__inst(w, mask)->op == IND_LOOP_INDEX ? cg__index_of(w, mask) : (ind_expr){0};
}

/* Is it a variable of rows? */
static bool cg__mm_is_row(const cg__mm_window *x, ind_expr var) {
    for (int i = 0; i < MM_WINDOW_ROWS; i++)
        if (ind__ok(x->dim[i].windows) && ind_expr_same(x->dim[i].windows, var)) return true;
    return false;
}

/* True if the expression depends on a variable of rows or of depth. */
static bool cg__mm_has_rows_or_depth(const ind__writer *w, const cg__mm_window *x, ind_expr e) {
    const ind__loops *l = &w->plan->domain;
    bool any = false;
    for (int v = 0; v < cg__num_vars(w); v++)
        any = any || (ind__expr_depends(e, l->var[v]) && (v >= l->rank || cg__mm_is_row(x, l->var[v])));
    return any;
}

/* Reads a condition on the taps of a dimension and on variables of both operands: a phase does not have all taps. */
static const char *cg__mm_read_limit(const ind__writer *w, cg__mm_window *x, ind_expr slack) {
    for (int i = 0; i < x->rank; i++) {
        cg__mm_window_dim *dim = &x->dim[i];
        ind_expr step = ind_int(w->context, 0), rest = slack;
        const bool taps = ind__ok(dim->taps) && ind__expr_depends(slack, dim->taps);
        if (ind__ok(dim->limit) || (taps && !ind__affine(slack, dim->taps, &step, &rest)) ||
            cg__mm_has_rows_or_depth(w, x, rest) || ind__expr_has_kind(rest, IND_SYMBOL_SIZE) ||
            !ind_expr_is_int(step, &dim->limit_by))
            continue;
        dim->limit = rest;
        return NULL;
    }
    return "a condition of its mask depends on no dimension of the windows";
}

/* Reads what is left of a lower border: shift - before. */
static const char *cg__mm_read_lower(cg__mm_window_dim *of, ind_expr rest) {
    int64_t least = INT64_MIN, most = INT64_MAX;
    ind__known_bounds(rest, &least, &most);
    if (of->before) return "its mask limits a dimension twice";
    if (least == INT64_MIN || most == INT64_MAX || ind__expr_has_kind(rest, IND_SYMBOL_SIZE))
        return "its padding is not a constant";
    if (least > 0) return "its padding is negative";
    of->before = -least;
    if (least == most) return NULL;
    of->shift = ind_expr_sub(rest, ind_int(rest.context, least));
    of->most_shift = most - least;
    return NULL;
}

/* Reads what is left of an upper border: size - 1 + before - shift. `before` is subtracted later. */
static const char *cg__mm_read_upper(cg__mm_window_dim *of, ind_expr rest) {
    if (ind__ok(of->size)) return "its mask limits a dimension twice";
    of->size = ind_expr_add(rest, ind_int(rest.context, 1));
    if (ind__ok(of->shift)) of->size = ind_expr_add(of->size, of->shift);
    return ind__expr_has_kind(of->size, IND_SYMBOL_INDEX)
               ? "its lower and its upper border depend on the phase in different ways"
               : NULL;
}

/* Reads one condition of the mask: 0 <= window * step + tap * dilation + shift - before, or the same < size. Each
   dimension has at most one of both. Those with `lower` come first. */
static const char *cg__mm_read_border(const ind__writer *w, cg__mm_window *x, ind_expr condition, bool lower) {
    const ind_expr_kind kind = ind_expr_query_kind(condition);
    if (kind != IND_EXPR_LT && kind != IND_EXPR_LE) return "a condition of its mask is not a comparison";
    ind_expr slack = cg__slack(condition), step, dilation = ind_int(condition.context, 0), rest;
    cg__mm_window_dim *of = NULL;
    for (int i = 0; i < x->rank; i++)
        if (ind__expr_depends(slack, x->dim[i].windows)) of = &x->dim[i];
    int64_t by, apart = 0;
    if (!of) return lower ? NULL : cg__mm_read_limit(w, x, slack);
    if (!ind__affine(slack, of->windows, &step, &rest) || !ind_expr_is_int(step, &by))
        return "the stride in its mask is not a constant";
    if ((by > 0) != lower) return NULL;
    if (ind__ok(of->taps) && !ind__affine(rest, of->taps, &dilation, &rest))
        return "the dilation in its mask is not a constant";
    if (!ind_expr_is_int(dilation, &apart)) return "the dilation in its mask is not a constant";
    if (cg__mm_has_rows_or_depth(w, x, rest)) return "a condition of its mask depends on two dimensions";
    if (ind__ok(of->taps) && !apart) return "a condition of its mask does not depend on the kernel's element";
    by = lower ? by : -by;
    apart = lower ? apart : -apart;
    if ((of->step && (of->step != by || (apart && of->dilation != apart))) || apart < 0)
        return "conditions of its mask have different strides or dilations";
    of->step = by;
    if (apart) of->dilation = apart;
    return lower ? cg__mm_read_lower(of, rest) : cg__mm_read_upper(of, rest);
}

/* Sets the step, the dilation and the stride of a dimension from its strides in the index. */
static const char *cg__mm_read_strides(cg__mm_window_dim *dim, ind_expr windows, ind_expr taps) {
    ind_context *c = windows.context;
    int64_t ratio;
    if (!dim->step && !ind__ok(dim->taps)) {
        dim->step = 1;
    } else if (!dim->step && ind_expr_is_int(ind__exact_quotient(windows, taps), &ratio)) {
        dim->step = ratio, dim->dilation = 1;
    } else if (!dim->step && ind_expr_is_int(ind__exact_quotient(taps, windows), &ratio)) {
        dim->step = 1, dim->dilation = ratio;
    } else if (!dim->step) {
        return "the stride of its windows and its dilation are not constants";
    }
    dim->stride = ind__exact_quotient(windows, ind_int(c, dim->step));
    if (!dim->dilation) dim->dilation = 1;
    if (!ind__ok(dim->stride)) return "the distance between its windows is not a multiple of their stride";
    return !ind__ok(dim->taps) || ind_known_eq(taps, ind_expr_mul(dim->stride, ind_int(c, dim->dilation)))
               ? NULL
               : "the dilations in its index and in its mask differ";
}

/* The dimension of which a variable of depth has the taps; MM_OUTER_CHANNELS: none. Without a mask it is the innermost
   one whose windows the taps do not leave. */
static int cg__mm_dim_of_taps(const ind__writer *w, const cg__mm_window *x, ind_expr index, ind_expr mask, int v) {
    const ind_expr var = w->plan->domain.var[v];
    for (int c = 0; c < cg__num_conditions(mask); c++)
        for (int i = 0; i < x->rank && ind__expr_depends(cg__condition(mask, c), var); i++)
            if (ind__expr_depends(cg__condition(mask, c), x->dim[i].windows)) return i;
    for (int i = 0; i < x->rank; i++) {
        const int64_t all = ind_hint(ind_expr_stride(index, x->dim[i].windows)) * ind_hint(x->dim[i].places);
        if (!ind__ok(x->dim[i].taps) && all > ind_hint(ind_expr_stride(index, var))) return i;
    }
    return MM_OUTER_CHANNELS;
}

/* The channels in a tap, which are contiguous and have no border: a variable of depth; -1: none. */
static int cg__mm_inner_channels(const ind__writer *w, const cg__mm_problem *p, ind_expr index, ind_expr mask) {
    const ind__loops *l = &w->plan->domain;
    int64_t one;
    for (int v = l->rank; v < cg__num_vars(w) && !p->windows.depthwise; v++)
        if (ind_expr_is_int(ind_expr_stride(index, l->var[v]), &one) && one == 1 &&
            !(ind__ok(mask) && ind__expr_depends(mask, l->var[v])))
            return v;
    return -1;
}

/* Finds what the variable of depth v is. */
static const char *cg__mm_read_depth(const ind__writer *w, const cg__mm_problem *p, cg__mm_window *x, ind_expr index,
                                     ind_expr mask, int v) {
    const ind__loops *l = &w->plan->domain;
    cg__mm_window_depth *depth = &x->depth[x->num_depth++];
    if (!ind_expr_is_int(l->extent[v], &depth->size))
        return "the number of its channels or the size of its kernel is not a constant";
    depth->of = v == cg__mm_inner_channels(w, p, index, mask) ? MM_CHANNELS : cg__mm_dim_of_taps(w, x, index, mask, v);
    if (depth->of >= 0 && ind__ok(x->dim[depth->of].taps)) return "the kernel has two variables for one dimension";
    if (depth->of == MM_OUTER_CHANNELS && (x->outer_channels > 1 || p->windows.depthwise))
        return "its channels are two dimensions";
    if (depth->of == MM_CHANNELS) {
        x->channels = depth->size;
    } else if (depth->of == MM_OUTER_CHANNELS) {
        x->outer_channels = depth->size;
        x->outer_stride = ind_expr_stride(index, l->var[v]);
    } else {
        x->dim[depth->of].taps = l->var[v];
        x->dim[depth->of].num_taps = depth->size;
    }
    return NULL;
}

/* Finds the taps of all dimensions, and the channels. */
static const char *cg__mm_find_taps(const ind__writer *w, const cg__mm_problem *p, cg__mm_window *x, ind_expr index,
                                    ind_expr mask) {
    const ind__loops *l = &w->plan->domain;
    x->channels = x->outer_channels = 1;
    if (l->rrank > MM_WINDOW_DEPTH) return "its depth has more than five dimensions";
    for (int v = cg__num_vars(w) - 1; v >= l->rank; v--) { /* the innermost first: its dimension is, too */
        const char *no = cg__mm_read_depth(w, p, x, index, mask, v);
        if (no) return no;
    }
    x->taps_first = x->outer_channels == 1;
    for (int i = 0; i < x->num_depth; i++) {
        const int of = x->depth[i].of, before = i ? x->depth[i - 1].of : MM_CHANNELS;
        x->taps_first = x->taps_first && (i ? of > before : of == MM_CHANNELS || x->channels == 1);
    }
    for (int i = 0; i < x->num_depth / 2; i++) {
        const cg__mm_window_depth other = x->depth[x->num_depth - 1 - i];
        x->depth[x->num_depth - 1 - i] = x->depth[i];
        x->depth[i] = other;
    }
    return NULL;
}

/* The index without the shifts of phases. */
static ind_expr cg__mm_unshifted(const cg__mm_window *x, ind_expr index) {
    for (int i = 0; i < x->rank; i++)
        if (ind__ok(x->dim[i].shift)) index = ind_expr_sub(index, ind_expr_mul(x->dim[i].stride, x->dim[i].shift));
    return index;
}

/* The variable of groups: both operands have it, a as so many channels. */
static const char *cg__mm_find_window_group(const cg__decider *d, const cg__mm_problem *p, cg__mm_window *x) {
    const ind__loops *l = &d->plan->domain;
    const ind_expr index = cg__mm_unshifted(x, cg__index_of(&d->w, cg__mm_converted_load(&d->w, p->a.value)));
    x->groups = ind_int(d->w.context, 1);
    for (int v = 0; v < l->rank; v++) {
        if (!(d->plan->varies[p->a.value] >> v & 1) || cg__mm_is_row(x, l->var[v])) continue;
        if (!ind__expr_depends(index, l->var[v])) continue; /* a phase */
        if (v == p->n || ind__ok(x->group)) return "its windows are not one dimension of the results";
        if (!ind_known_eq(ind_expr_stride(index, l->var[v]), ind_int(d->w.context, x->channels)))
            return "the channels of a group are not adjacent";
        x->group = l->var[v], x->groups = l->extent[v];
    }
    return NULL;
}

static int cg__mm_position(const ind__loops *x, ind_expr var) {
    int v = x->rank - 1;
    while (v >= 0 && !ind_expr_same(x->var[v], var)) v--;
    return v;
}

/* True if elements of neighbouring rows of v overlap along a variable of depth. */
static bool cg__mm_overlaps(const ind__writer *w, ind_expr index, ind_expr v) {
    const ind__loops *l = &w->plan->domain;
    const int64_t apart = ind_hint(ind_expr_stride(index, v));
    for (int k = l->rank; k < cg__num_vars(w); k++) {
        const int64_t taps = ind_hint(l->extent[k]) - 1;
        if (taps > 0 && ind_hint(ind_expr_stride(index, l->var[k])) >= (apart + taps - 1) / taps) return true;
    }
    return false;
}

/* The outermost rows are images if no border limits them and they share no elements. */
static void cg__mm_find_images(const ind__writer *w, cg__mm_window *x, ind_expr index, ind_expr mask) {
    const cg__mm_window_dim *last = &x->dim[x->rank - 1];
    x->images = ind_int(w->context, 1);
    if (x->rank < 2 || (ind__ok(mask) && ind__expr_depends(mask, last->windows))) return;
    if (cg__mm_overlaps(w, index, last->windows)) return;
    x->images = last->places;
    x->image_stride = ind_expr_stride(index, last->windows);
    x->rank--;
}

/* Sets size and stride of dimension i, and where it begins. Without a border its windows have all of it. */
static const char *cg__mm_find_window_dim(const ind__writer *w, cg__mm_window *x, int i, ind_expr index) {
    ind_context *c = w->context;
    cg__mm_window_dim *dim = &x->dim[i];
    const ind_expr taps = ind__ok(dim->taps) ? ind_expr_stride(index, dim->taps) : ind_int(c, 0);
    const char *no = cg__mm_read_strides(dim, ind_expr_stride(index, dim->windows), taps);
    if (no) return no;
    const ind_expr last = ind_expr_mul(ind_expr_sub(dim->places, ind_int(c, 1)), ind_int(c, dim->step));
    if (!ind__ok(dim->size)) dim->size = ind_expr_add(last, ind_int(c, dim->dilation * (dim->num_taps - 1) + 1));
    dim->size = ind_expr_sub(dim->size, ind_int(c, dim->before));
    return NULL;
}

/* True if windows or taps differ from phase to phase. */
static bool cg__mm_has_phases(const cg__mm_window *x) {
    bool any = false;
    for (int i = 0; i < x->rank; i++) any = any || ind__ok(x->dim[i].shift) || ind__ok(x->dim[i].limit);
    return any;
}

/* Finds the offset of element 0 of the first image. */
static const char *cg__mm_find_offset(const ind__writer *w, cg__mm_window *x, ind_expr index) {
    const ind__loops *l = &w->plan->domain;
    ind_expr stride;
    x->offset = cg__mm_unshifted(x, index);
    for (int v = 0; v < cg__num_vars(w); v++)
        if (!ind__affine(x->offset, l->var[v], &stride, &x->offset)) return "its index is not a sum of strides";
    for (int i = 0; i < x->rank; i++)
        x->offset = ind_expr_add(x->offset, ind_expr_mul(x->dim[i].stride, ind_int(w->context, x->dim[i].before)));
    return NULL;
}

/* Reads the dimensions, the channels and the groups; returns the reason if the LOAD does not read windows. */
static const char *cg__mm_read_window(const cg__decider *d, const cg__mm_problem *p, cg__mm_window *x) {
    const ind__writer *w = &d->w;
    const uint32_t load = cg__mm_converted_load(w, p->a.value), of_mask = cg__inst(w, load)->arg[0];
    const ind_expr index = cg__index_of(w, load), mask = of_mask ? cg__mm_mask_index(w, of_mask) : (ind_expr){0};
    if (of_mask && !ind__ok(mask)) return "its mask depends on data";
    cg__mm_find_images(w, x, index, mask);
    if (x->rank > IND__MAX_WINDOW_RANK) return "an image has more than three dimensions";
    const char *no = cg__mm_find_taps(w, p, x, index, mask);
    for (int i = 0; i < cg__num_conditions(mask) && !no; i++)
        no = cg__mm_read_border(w, x, cg__condition(mask, i), true);
    for (int i = 0; i < cg__num_conditions(mask) && !no; i++)
        no = cg__mm_read_border(w, x, cg__condition(mask, i), false);
    for (int i = 0; i < x->rank && !no; i++) no = cg__mm_find_window_dim(w, x, i, index);
    if (!no) no = cg__mm_find_offset(w, x, index);
    if (no) return no;
    const cg__mm_window_dim *outer = &x->dim[x->rank - 1];
    if (!ind__ok(x->image_stride)) x->image_stride = ind_expr_mul(outer->size, outer->stride);
    if (p->windows.depthwise) return cg__mm_has_phases(x) ? "its windows have phases" : NULL;
    return cg__mm_find_window_group(d, p, x);
}

/* The windows of a, whose rows are `num` variables from the innermost on. NULL: out of memory. */
static const cg__mm_window *cg__mm_find_window(cg__decider *d, const cg__mm_problem *p, const ind_expr *row, int num) {
    cg__mm_window *x = (cg__mm_window *)ind__arena_alloc(&d->w.scratch, sizeof *x);
    if (!x) {
        cg__fail(&d->w);
        return NULL;
    }
    *x = (cg__mm_window){.rank = num};
    for (int i = 0; i < num; i++) {
        const int v = cg__mm_position(&d->plan->domain, row[i]);
        x->dim[i] = (cg__mm_window_dim){.windows = row[i], .places = d->plan->domain.extent[v], .num_taps = 1};
    }
    x->no = cg__mm_read_window(d, p, x);
    return x;
}
