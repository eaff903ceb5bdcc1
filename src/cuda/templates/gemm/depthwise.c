/* Depthwise convolutions: each column, a channel, has its own windows. They are not products of matrices. A thread
   computes a strip: some neighbouring windows of a line (cg__mm_strip_windows), of a vector of channels. It reads each
   element of the line once, and adds it to all windows of the strip that have it. The weights of the tile's channels
   are in shared memory, [tap][channel].

   The rows of a tile are strips of so many lines as its threads have, one after another, so that elements that several
   lines read are in the L1. If the channels are not contiguous (channels first), a tile has one. */

enum {
    MM_STRIP = 4,                 /* windows of a strip, unless others divide the line */
    MM_STRIP_REGISTERS = 80,      /* of a thread for its sums and the weights of a line of taps, at most */
    MM_STRIP_FEW_REGISTERS = 56,  /* if these are at most so many, three blocks fit on an SM */
    MM_STRIP_THREADS = 256,       /* of a block */
    MM_STRIP_WEIGHTS = 32 * 1024, /* bytes of a block's weights */
    MM_UNROLLED_TAPS = 8          /* taps along a dimension up to which its loop is unrolled */
};

/* The channel variable: both operands have it, and it is no row. -1: none, or several. */
static int cg__mm_channel(const cg__decider *d, const cg__mm_problem *p) {
    int found = -1;
    for (int v = 0; v < d->plan->domain.rank; v++) {
        if (!(d->plan->varies[p->a.value] >> v & d->plan->varies[p->b.value] >> v & 1)) continue;
        if (found >= 0) return -1;
        found = v;
    }
    return found;
}

/* Is the left operand in memory as this template reads it? */
static bool cg__mm_is_depthwise(const cg__decider *d, const cg__mm_problem *p) {
    const uint32_t load = cg__mm_same_value(&d->w, p->a.value);
    if (p->n >= 0 || cg__inst(&d->w, load)->op != IND_LOOP_LOAD || p->sum != IND_F32 || cg__mm_channel(d, p) < 0)
        return false;
    const ind_dtype t = cg__memory_dtype(&d->w, load);
    return t == IND_F16 || t == IND_BF16 || t == IND_F32;
}

static int64_t cg__mm_num_taps(const cg__mm_window *x) {
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++) n *= x->dim[i].num_taps;
    return n;
}

/* Windows of a strip, which are of one line: as many as divide the line if their sums and the weights of a line of taps
   fit in the registers, else MM_STRIP. The last strip of a line may have windows that do not exist. */
static int cg__mm_strip_windows(const cg__mm_problem *p) {
    static const int windows[] = {MM_STRIP, 7, 5, 3, 2};
    const cg__mm_window_dim *dim = &p->windows.image->dim[0];
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        if (ind_known_multiple(dim->places, windows[i]) &&
            (windows[i] <= MM_STRIP || (windows[i] + dim->num_taps) * p->windows.vector <= MM_STRIP_REGISTERS))
            return windows[i];
    return MM_STRIP;
}

/* Strips of a line. */
static ind_expr cg__mm_line_strips(const cg__mm_problem *p) {
    return ind_expr_ceildiv(p->windows.image->dim[0].places, ind_int(p->size_m.context, p->windows.strip));
}

/* Chooses the strips. The rows of tiles are then the windows of all strips of all lines. */
static void cg__mm_choose_strips(cg__mm_problem *p) {
    const ind_expr line = p->windows.image->dim[0].places;
    p->windows.strip = cg__mm_strip_windows(p);
    if (ind_known_multiple(line, p->windows.strip)) return;
    const ind_expr longer = ind_expr_mul(cg__mm_line_strips(p), ind_int(line.context, p->windows.strip));
    p->size_m = ind_expr_mul(ind_expr_floordiv(p->size_m, line), longer);
}

/* The number of channels that a thread reads and writes at once: `vector` if all of them are contiguous in a. */
static int cg__mm_choose_channels(cg__decider *d, cg__mm_problem *p, int vector) {
    p->windows.channels_last = cg__contiguous(&d->w, p->a.load, p->n);
    ind_expr guard = {0};
    const ind_expr base =
        vector > 1 ? ind__run_base(cg__index_of(&d->w, p->a.load), d->plan->domain.var[p->n], vector) : (ind_expr){0};
    const bool arena = cg__in_arena(&d->w, cg__inst(&d->w, p->a.load)->source);
    if (ind__ok(base) && (arena || d->assume & IND__ASSUME_ALIGNED) && cg__multiple_index(d, base, vector, &guard)) {
        if (ind__ok(guard)) cg__guard(d->variant, guard);
        d->variant->guard_aligned |= !arena;
        return vector;
    }
    cg__no_vectors(d);
    return 1;
}

/* ---- the configuration ---- */

static const char *cg__mm_depthwise_match(const cg__mm_problem *p, const ind_target *t) {
    (void)t;
    return p->windows.depthwise ? NULL : "the convolution is not depthwise";
}

/* Vectors of channels of a tile: those of all channels, or an equal part of them. */
static int cg__mm_tile_vectors(const cg__mm_problem *p) {
    const int64_t taps = cg__mm_num_taps(p->windows.image),
                  all = (ind_hint(p->size_n) + p->windows.vector - 1) / p->windows.vector;
    const int64_t fit = MM_STRIP_WEIGHTS / 4 / taps / p->windows.vector, most = fit < 1 ? 1 : fit > 32 ? 32 : fit;
    const int64_t tiles = (all + most - 1) / most;
    return p->windows.channels_last && all > 0 ? (int)((all + tiles - 1) / tiles) : 1;
}

static void cg__mm_depthwise_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth, (void)index_bits;
    const int vectors = cg__mm_tile_vectors(p);
    c->tile_n = vectors * p->windows.vector;
    c->tile_m = MM_STRIP_THREADS / vectors * p->windows.strip * c->stages;
    c->tile_k = (int)cg__mm_num_taps(p->windows.image);
    if ((p->windows.strip + p->windows.image->dim[0].num_taps) * p->windows.vector <= MM_STRIP_FEW_REGISTERS)
        c->registers = 80;
}

static bool cg__mm_depthwise_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)c, (void)p, (void)index_bits;
    return true;
}

static int cg__mm_depthwise_threads(const cg__mm_config *c) {
    (void)c;
    return MM_STRIP_THREADS;
}

static int64_t cg__mm_depthwise_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    (void)p;
    return ((int64_t)c->tile_k * c->tile_n * 4 + 15) / 16 * 16;
}

/* Cycles in which the blocks of an SM copy their weights to shared memory, which several threads do at once. */
static double cg__mm_strip_weight_cost(const cg__mm_config *c, double per_sm, const ind_thresholds *t) {
    return per_sm * (double)t->product_latency / 2 + per_sm * c->tile_k * c->tile_n * 16 / t->fma_rate;
}

/* Reads of an element by blocks: lines that several tiles have. */
static double cg__mm_line_reads(const cg__mm_problem *p, const cg__mm_config *c) {
    const cg__mm_window *x = p->windows.image;
    const double lines = (double)c->tile_m / (double)ind_hint(x->dim[0].places);
    const double step = x->rank > 1 ? (double)x->dim[1].step : 1;
    const double reach = x->rank > 1 ? (double)(x->dim[1].dilation * (x->dim[1].num_taps - 1) + 1) : 1;
    const double whole = lines < 1 ? 1 : lines, read = (whole - 1) * step + reach;
    return read / (whole * step) < 1 ? 1 : read / (whole * step);
}

/* Cycles: what memory, the L2 or the multiplications of the blocks of an SM take. */
static double cg__mm_depthwise_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                    const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    const double per_sm = cg__mm_blocks_per_sm(p, c, target), tile = (double)c->tile_m * c->tile_n;
    const double bytes = per_sm * tile * ind_dtype_bytes(p->a.memory);
    const double multiply = per_sm * tile * c->tile_k * 2 / t->fma_rate;
    const double alone = per_sm < 2 ? 1.5 : 1; /* one block of an SM waits for its lines */
    const double cached = alone * bytes * (1 + cg__mm_line_reads(p, c)) / t->product_l2_rate;
    const double read = alone * bytes * 2 / cg__mm_memory_rate(target), slowest = cached > read ? cached : read;
    (void)x;
    return t->product_start + (multiply > slowest ? multiply : slowest) + cg__mm_strip_weight_cost(c, per_sm, t);
}

/* ---- writing ---- */

/* Copies the weights of the tile's channels to shared memory. */
static void cg__mm_write_strip_weights(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    cg__mm_set_plain_names(w);
    ind__textf(&w->code, "float *const weights = reinterpret_cast<float *>(ind_smem);\nconst %s first_k = 0;\n",
               cg__int(w));
    cg__begin(w, "for (int at = threadIdx.x; at < %d; at += %d)", t->k * t->n, w->variant->threads);
    ind__textf(&w->code, "const int k = at / %d, x = at %% %d;\n", t->n, t->n);
    cg__mm_write_element(w, p, &p->b, 'b');
    ind__textf(&w->code, "weights[at] = value;\n");
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
}

/* Declares "row", the first window of the strip at "first", and "place_d", the element of dimension d where it begins.
 */
static void cg__mm_write_strip_places(ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_window_dim *inner = &p->windows.image->dim[0];
    const bool whole = ind_known_multiple(inner->places, p->windows.strip);
    const char *const position = cg__unsigned(w);
    const char *length = cg__divisor(w, inner->places), *strips = whole ? "" : cg__divisor(w, cg__mm_line_strips(p));
    if (whole)
        ind__textf(&w->code, "const %s line = (%s)first / %s;\nconst int in_line = (int)((%s)first %% %s);\n", position,
                   position, length, position, length);
    else
        ind__textf(&w->code,
                   "const %s number = (%s)first / %d, line = number / %s;\nconst int in_line = "
                   "(int)(number %% %s) * %d;\n",
                   position, position, p->windows.strip, strips, strips, p->windows.strip);
    ind__textf(&w->code, "const %s row = (%s)line * %s + in_line;\n", cg__int(w), cg__int(w), length);
    ind__textf(&w->code, "const int place_0 = in_line * %lld - %lld;\n", (long long)inner->step,
               (long long)inner->before);
    const char *rest = "line";
    for (int i = 1; i < p->windows.image->rank; i++) {
        const cg__mm_window_dim *dim = &p->windows.image->dim[i];
        const char *places = cg__divisor(w, dim->places);
        ind__textf(&w->code, "const int place_%d = (int)(%s %% %s) * %lld - %lld;\n", i, rest, places,
                   (long long)dim->step, (long long)dim->before);
        rest = cg__string(w, "(%s / %s)", rest, places);
    }
}

/* Opens the loop over the strips of a thread; "base": the element of its first tap, which may be outside of the image.
 */
static void cg__mm_begin_strips(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int vectors = t->n / w->variant->vector, strips = MM_STRIP_THREADS / vectors;
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int strip = threadIdx.x / %d; strip < %d; strip += %d)", vectors, t->m / p->windows.strip,
              strips);
    ind__textf(&w->code, "const %s first = first_m + strip * %d, col = first_n + threadIdx.x %% %d * %d;\n", cg__int(w),
               p->windows.strip, vectors, w->variant->vector);
    if (MM_STRIP_THREADS % vectors) ind__textf(&w->code, "if (threadIdx.x >= %d) break;\n", strips * vectors);
    ind__textf(&w->code, "if (first >= size_m || col >= size_n) break;\n");
    cg__mm_write_strip_places(w, p);
    cg__mm_set_text(w, p->m, "row");
    cg__mm_set_text(w, p->n, "col");
    cg__mm_set_text(w, p->k, "0");
    ind__textf(&w->code, "const %s base = %s;\n", cg__int(w), cg__expr_string(w, cg__index_of(w, p->a.load)));
    cg__mm_set_plain_names(w);
}

/* Opens the loops over the taps of outer dimensions: "tap", the number of the first tap of a line, and "from", where
   the line is. Returns the number of loops. */
static int cg__mm_begin_taps(ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_window *x = p->windows.image;
    const char *tap = "0", *from = "base";
    int loops = 0;
    for (int i = x->rank - 1; i > 0; i--) {
        const cg__mm_window_dim *dim = &x->dim[i];
        if (dim->num_taps <= MM_UNROLLED_TAPS)
            cg__unroll(w);
        else
            ind__textf(&w->code, "#pragma unroll 1\n");
        cg__begin(w, "for (int tap_%d = 0; tap_%d < %lld; tap_%d++)", i, i, (long long)dim->num_taps, i);
        ind__textf(&w->code, "const int at_%d = place_%d + tap_%d * %lld;\n", i, i, i, (long long)dim->dilation);
        ind__textf(&w->code, "if ((unsigned)at_%d >= (unsigned)(%s)) continue;\n", i, cg__expr_string(w, dim->size));
        tap = loops ? cg__string(w, "(%s * %lld + tap_%d)", tap, (long long)dim->num_taps, i)
                    : cg__string(w, "tap_%d", i);
        from = cg__string(w, "%s + tap_%d * %s", from, i,
                          cg__expr_string(w, ind_expr_mul(dim->stride, ind_int(w->context, dim->dilation))));
        loops++;
    }
    ind__textf(&w->code, "const int tap = %s * %lld;\nconst %s from = %s;\n", tap, (long long)x->dim[0].num_taps,
               cg__int(w), from);
    return loops;
}

/* Reads the elements of a line that the strip has, and adds them to its windows. */
static void cg__mm_write_strip_line(ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_window_dim *dim = &p->windows.image->dim[0];
    const int v = w->variant->vector, n = w->variant->of.tile.n;
    const int64_t step = dim->step, dilation = dim->dilation;
    const int64_t reach = (p->windows.strip - 1) * step + (dim->num_taps - 1) * dilation + 1;
    const char *buffer = cg__buffer(w, cg__inst(w, p->a.load)->source);
    const char *element = v > 1 ? "x.at[j]" : "x";
    if (p->a.memory == IND_BF16 && v > 1) {
        element = "ind_bf16_at(x, j)";
        cg__use(w, IND__CG_BF16_AT);
    } else if (p->a.memory != IND_F32) {
        element = cg__string(w, "ind_%s_to_f32(%s)", ind_dtype_name(p->a.memory), element);
    }
    const char *memory = cg__types[p->a.memory].memory, *size = cg__expr_string(w, dim->size);
    const char *from = cg__string(w, "%s[from + u * %s]", buffer, cg__expr_string(w, dim->stride));
    ind__textf(&w->code, reach <= 4 * MM_UNROLLED_TAPS ? "#pragma unroll\n" : "#pragma unroll 8\n");
    cg__begin(w, "for (int u = 0; u < %lld; u++)", (long long)reach);
    if (v > 1)
        ind__textf(&w->code,
                   "ind_vec<%s, %d> x = {};\nif ((unsigned)(place_0 + u) < (unsigned)(%s)) x = ind_load<%d>(&%s);\n",
                   memory, v, size, v, from);
    else
        ind__textf(&w->code, "%s x = 0;\nif ((unsigned)(place_0 + u) < (unsigned)(%s)) x = %s;\n", memory, size, from);
    cg__unroll(w);
    cg__begin(w, "for (int i = 0; i < %d; i++)", p->windows.strip);
    ind__textf(&w->code, "const int apart = u - i * %lld;\n", (long long)step);
    ind__textf(&w->code, "if (apart < 0 || apart %% %lld || apart >= %lld) continue;\n", (long long)dilation,
               (long long)(dim->num_taps * dilation));
    ind__textf(&w->code,
               "const float *const weight = weights + (tap + apart / %lld) * %d + (int)(threadIdx.x %% %d) * %d;\n",
               (long long)dilation, n, n / v, v);
    cg__unroll(w);
    ind__textf(&w->code, "for (int j = 0; j < %d; j++) acc[i][j] = fmaf(%s, weight[j], acc[i][j]);\n", v, element);
    cg__end(w);
    cg__end(w);
    if (v > 1) cg__use(w, IND__CG_VEC);
}

/* Opens a loop over the windows of a strip: window u. */
static void cg__mm_begin_strip_windows(ind__writer *w, const cg__mm_problem *p) {
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", p->windows.strip);
    if (!ind_known_multiple(p->windows.image->dim[0].places, p->windows.strip))
        ind__textf(&w->code, "if (in_line + u >= %s) break;\n", cg__expr_string(w, p->windows.image->dim[0].places));
    ind__textf(&w->code, "const %s i%d = row + u, i%d = col;\n", cg__int(w), p->m, p->n);
}

/* The strip's results: all that the epilogue reads in vectors is requested first. */
static void cg__mm_write_strip_results(ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_area area = {.loaded = false};
    cg__mm_set_plain_names(w);
    cg__need_stores(w);
    if (cg__mm_has_vector_loads(w)) {
        cg__mm_declare_vector_loads(w, &area, p->windows.strip);
        cg__mm_begin_strip_windows(w, p);
        cg__mm_write_requests(w, &area);
        cg__end(w);
    }
    cg__mm_name_vector_loads(w, &area);
    cg__mm_begin_strip_windows(w, p);
    ind__textf(&w->code, "const float (&dot)[%d] = acc[u];\n", w->variant->vector);
    cg__mm_write_column_values(w, p);
    cg__end(w);
    cg__forget_vectors(w);
}

static void cg__mm_write_depthwise(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_write_tile_position(w, p);
    cg__mm_write_strip_weights(w, p);
    cg__mm_begin_strips(w, p);
    ind__textf(&w->code, "float acc[%d][%d] = {};\n", p->windows.strip, w->variant->vector);
    const int loops = cg__mm_begin_taps(w, p);
    cg__mm_write_strip_line(w, p);
    for (int i = 0; i < loops; i++) cg__end(w);
    cg__mm_write_strip_results(w, p);
    cg__end(w);
}

/* ---- the template ---- */

/* stages: strips of a thread. */
static const cg__mm_config cg__mm_depthwise_configs[] = {{0, 0, 0, 8, 1, 16, 96, 1, 0, 0, 0},
                                                         {0, 0, 0, 8, 1, 8, 96, 1, 0, 0, 0},
                                                         {0, 0, 0, 8, 1, 4, 96, 1, 0, 0, 0},
                                                         {0, 0, 0, 8, 1, 2, 96, 1, 0, 0, 0},
                                                         {0, 0, 0, 8, 1, 1, 96, 1, 0, 0, 0}};

static const cg__mm_template cg__mm_depthwise = {.strategy = IND_STRATEGY_CONVOLUTION_DEPTHWISE,
                                                 .match = cg__mm_depthwise_match,
                                                 MM_CONFIGS(cg__mm_depthwise_configs),
                                                 .fit = cg__mm_depthwise_fit,
                                                 .allows = cg__mm_depthwise_allows,
                                                 .threads = cg__mm_depthwise_threads,
                                                 .tile_bytes = cg__mm_depthwise_bytes,
                                                 .cost = cg__mm_depthwise_cost,
                                                 .alignment = 16,
                                                 .alone = true,
                                                 .no_sums = true,
                                                 .body = cg__mm_write_depthwise};
