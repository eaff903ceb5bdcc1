/* ------------------------------------------------------------------------------------------------- >>matmul */

/* out[batch, m, n] = epilogue(sum over k of a[batch, m, k] * b[batch, k, n]). A block computes a tile of TM x TN sums:
   it loops over k in steps of TK, for which both operands' tiles are brought into shared memory ahead of time, spreads
   the sums out in shared memory and runs the epilogue from there, V neighbouring columns a thread at a time. The way
   through shared memory costs 8 bytes per sum and gives an epilogue that exists once in the code and whose accesses are
   whole 16-byte ones, whatever the layout of the accumulators.

   An operand may be computed: a prologue. FMA keeps what it is computed from in registers while the step before is
   multiplied. For tensor cores that is copied to shared memory, stages ahead like an operand, each thread what it will
   need itself; when its step comes, the thread computes from it 8 neighbours at a time for the one tile that is then
   multiplied. What does not lie in rows of 16 bytes (a scale per row) is read when it is needed.

   Two products with the same a, out[..] = epilogue(a * b, a * b2), are computed like one of a wider b: half of the
   columns of each tile are of b, the others of b2. So the tile of a is brought in once. In device code the operand b2
   is named c, and its sums are dot2. */

enum { MM_WINDOW_ROWS = IND__MAX_WINDOW_RANK + 1 }; /* variables that become rows: of an image, and of images */
enum { MM_SCALED = 128 }; /* elements of k that are summed before they are scaled: steps divide it */

/* How an operand's elements are found. x is its other dimension: m for a, n for b. */
typedef struct cg__mm_operand {
    uint32_t value;   /* the instruction that DOT multiplies */
    uint32_t load;    /* the LOAD it is, 0: it is computed from something */
    ind_dtype memory; /* of load */
    int x;            /* domain variable, -1: none */
    bool k_major;     /* the tile has rows along k; else along x, which is contiguous in memory */
    bool across;      /* 8 bits on tensor cores: neighbours in memory lie along x, but k_major is set */
    bool along_rows;  /* 32 bits, not k_major: read along the rows of its tile, which is swizzled like k_major ones */
    bool lines;       /* windows, whose lines are copied to shared memory (window_lines.c) */
    bool windows;     /* neighbouring elements along x are of windows that overlap (windows.c) */
    bool gathered;    /* the rows of its tiles are where indices from memory say */
    const char *nearest_row; /* text of the row to read for the tile's "row"; NULL: rows along k are not gathered */
    bool copy;               /* tiles are copied in chunks of 16 bytes, in the background */
    bool misaligned; /* 16 bits, not `copy`: contiguous rows that start at any element of a 16-byte aligned buffer */
    bool reads_misaligned; /* b: rows_misaligned.c can read the operands */
    bool involved;         /* found by conditions or divisions, as a convolution's: they take registers */
    bool computed;         /* a prologue: value is more than a LOAD and its conversion */
    int staged_bytes; /* computed, 16 bits: what is copied in the background for one element, in stages of its own */
    int statistics;   /* computed: reductions along k, one after another, that it depends on (statistics.c) */
    int run_bits;     /* computed, 16 bits: what is read in runs of bytes for one element (cg__run) */
    int pitch;        /* `copy`: bytes from a row of the tile to the next one at the hinted sizes; 0: not known */
    bool wide_scale;  /* MM_SCALED neighbours along x have one scale */
    uint32_t scale;   /* the factor of MM_SCALED elements of k, by which their sums are multiplied; 0: none */
} cg__mm_operand;

/* Where the packed weights of a product are. LOADs: 0: none. */
typedef struct cg__mm_weights {
    uint32_t load;        /* of the first byte of a block */
    uint32_t scale, zero; /* of the element's scale and zero point */
    uint32_t factor;      /* value that a column's sums are multiplied by */
    ind__tensor_map map;  /* of the bytes */
} cg__mm_weights;

/* Packed weights, as b, or as b and b2; see packed.c. */
typedef struct cg__mm_packed {
    const char *no;       /* why it is none; NULL: it is */
    int unpacks;          /* instructions per element of packed weights for other templates; 0: b is none */
    int format;           /* ind__quantised, or MM_PACKED_.. */
    int group;            /* elements per scale, if scales have a tensor of their own */
    int elements, bytes;  /* of a block */
    int alignment;        /* of its rows in memory, bytes: up to 16 */
    bool together;        /* int4: the scales of a step are aligned to their bytes, and so are the zero points */
    bool mapped;          /* bulk copies by the tensor map bring the bytes; else cp.async */
    int64_t shared;       /* bytes of a block for rings and rows of a */
    cg__mm_weights of[2]; /* of b and b2 */
} cg__mm_packed;

/* Groups of rows, each with a matrix of its own in b; see grouped.c. */
typedef struct cg__mm_group {
    uint32_t indirect; /* the group of a row; 0: rows have no groups */
    uint32_t ends;     /* buffer: where the groups end */
    ind_expr num;
} cg__mm_group;

typedef struct cg__mm_epilogue {
    bool rounded; /* with maps: the epilogue stores one 16-bit tensor and computes on accumulators (fragments.c) .. */
    bool loads;   /* .. and loads a tensor of the same shape */
    int calls;    /* operations per result that take many instructions */
} cg__mm_epilogue;

/* A dimension of an image that is read through windows: window i has the elements i * step + t * dilation - before of
   the dimension, for each tap t. A tap is an element of the convolution's kernel. In a transposed convolution, windows
   of a phase begin `shift` elements later, and may not have all taps. A phase is a variable of both operands. */
typedef struct cg__mm_window_dim {
    ind_expr windows, taps;         /* variables; taps: not set if there is one tap */
    ind_expr places, size;          /* numbers of windows and of elements; the latter not set if nothing limits it */
    ind_expr stride;                /* in memory */
    int64_t step, dilation, before; /* of the convolution: stride, dilation, and padding before the first element */
    int64_t num_taps;
    ind_expr shift, limit; /* of a phase; limit: it has the taps with t * limit_by + limit >= 0. Not set: 0; all */
    int64_t most_shift, limit_by;
} cg__mm_window_dim;

/* A variable of depth: the taps of a dimension, the channels in a tap, or channels of which each has an image. */
typedef struct cg__mm_window_depth {
    int64_t size;
    int of; /* the dimension, MM_CHANNELS or MM_OUTER_CHANNELS */
} cg__mm_window_depth;

enum { MM_CHANNELS = -1, MM_OUTER_CHANNELS = -2, MM_WINDOW_DEPTH = IND__MAX_WINDOW_RANK + 2 };

typedef struct cg__mm_window {
    const char *no;                        /* why a is not read as windows of images; NULL: it is */
    int rank;                              /* dimensions of an image */
    cg__mm_window_dim dim[MM_WINDOW_ROWS]; /* the innermost first; the images may be one after them */
    int num_depth;
    cg__mm_window_depth depth[MM_WINDOW_DEPTH]; /* the outermost first */
    bool taps_first;                            /* channels are the innermost variable, after the taps in order */
    ind_expr images, image_stride;              /* number of images */
    ind_expr group, groups;                     /* variable of groups of channels, not set: there is one group */
    ind_expr offset;                            /* of element 0 of the first image */
    int64_t channels;                           /* of a group, in a tap */
    int64_t outer_channels;                     /* 1: none */
    ind_expr outer_stride;                      /* of outer channels */
} cg__mm_window;

/* The left operand, if it is read through windows. */
typedef struct cg__mm_windows {
    const cg__mm_window *image; /* if a.windows */
    bool depthwise;             /* each column has its own left operand: depthwise.c; the rest is of these: */
    bool channels_last;         /* a is contiguous along the columns */
    int vector;                 /* columns that a thread reads and writes at once */
    int strip;                  /* windows of a strip */
} cg__mm_windows;

typedef struct cg__mm_problem {
    cg__mm_operand a, b, b2; /* b2: of the second product */
    int m, n, k;             /* domain variables, -1: none */
    uint32_t dot, dot2;      /* dot2 0: there is one product */
    ind_expr size_m, size_n, size_k, batch;
    ind_dtype sum;    /* type of the result of DOT */
    int tensor_bytes; /* of an element that tensor cores multiply: 4, 2 or 1; 0: they do not take the operands */
    const ind__lowered *program; /* its flags: allow_tf32, tcgen05 */
    bool converts;               /* mma.sync of the target converts 8-bit floats to f16, which takes registers */
    bool promotes;               /* the sums of 128 products are added in f32, outside the tensor cores */
    ind__tensor_map *map[3];     /* of a, b and b2; not set if there is a reason: */
    const char *no_maps;
    cg__mm_epilogue epilogue;
    const cg__mm_packed *packed; /* of b, and of b2 */
    cg__mm_group group;
    int max_cluster; /* blocks of a cluster, at most; 1: no clusters; 0: blocks cannot share a tile */
    int few_rows;    /* rows of a tile that has them all: up to 2, of packed weights up to 64; 0: there may be more */
    cg__mm_windows windows;
} cg__mm_problem;

static int cg__mm_products(const cg__mm_problem *p) {
    return p->dot2 ? 2 : 1;
}

static void cg__mm_find_scales(ind__writer *w, cg__mm_problem *p);
static void cg__mm_join_windows(cg__decider *d, cg__mm_problem *p);
static bool cg__mm_is_depthwise(const cg__decider *d, const cg__mm_problem *p);
static int cg__mm_channel(const cg__decider *d, const cg__mm_problem *p);
static bool cg__mm_can_copy_windows(cg__decider *d, const cg__mm_problem *p, const cg__mm_operand *o);
static bool cg__mm_is_scaled(const cg__mm_problem *p);

/* The right operand of a product. */
static const cg__mm_operand *cg__mm_right(const cg__mm_problem *p, int product) {
    return product ? &p->b2 : &p->b;
}

/* ---- the problem ---- */

/* Joins the R variables into one, k: by merging where the accesses allow it, else by division. */
static void cg__mm_merge_depth(cg__decider *d) {
    ind__loops *x = &d->plan->domain;
    for (int v = x->rank + x->rrank - 2; v >= x->rank; v--) ind__loops_merge(x, v);
    if (x->rrank < 2 || d->w.failed) return;
    ind_expr part[2 * IND_MAX_RANK], size = ind_expr_product(d->w.context, x->extent + x->rank, x->rrank);
    ind_expr k = ind__index_symbol(d->w.context, 'r', 0, size);
    ind__delinearise(d->w.context, k, x->extent + x->rank, x->rrank, part);
    for (uint32_t i = 0; i < d->w.body->num_index; i++)
        x->index[i] = ind__substitute(x->index[i], x->var + x->rank, part, x->rrank);
    x->var[x->rank] = k;
    x->extent[x->rank] = size;
    x->rrank = 1;
}

/* A batch variable that only a knows, next to m and merging with it, makes more rows: [batch, row] x [column] products
   with one weight become a single one. */
static void cg__mm_merge_rows(cg__decider *d, cg__mm_problem *p) {
    while (p->m > 0 && p->m - 1 != p->n) {
        ind_expr outer = d->plan->domain.var[p->m - 1];
        const uint32_t varies = d->plan->varies[p->b.value] | (p->dot2 ? d->plan->varies[p->b2.value] : 0);
        if (!ind__ok(outer) || varies >> (p->m - 1) & 1 || !ind__loops_merge(&d->plan->domain, p->m - 1)) return;
        if (p->n > p->m) p->n--;
        if (p->k > p->m) p->k--;
        p->m--;
        cg__analyse(d);
    }
}

static bool cg__mm_has_indirect(const ind__writer *w, ind_expr index);
static void cg__mm_find_group(cg__decider *d, cg__mm_problem *p);

static bool cg__mm_find_gathered(const ind__writer *w, const cg__mm_problem *p, cg__mm_operand *o);

static bool cg__mm_contiguous(const ind__writer *w, uint32_t i, int v) {
    return v >= 0 && !cg__mm_has_indirect(w, cg__index_of(w, i)) && cg__contiguous(w, i, v);
}

/* Is the LOAD or STORE of the epilogue contiguous along variable v? Indices from memory may say where a STORE begins:
   a scatter of rows. */
static bool cg__mm_result_contiguous(const ind__writer *w, uint32_t i, int v) {
    if (cg__inst(w, i)->op != IND_LOOP_STORE) return cg__mm_contiguous(w, i, v);
    return v >= 0 && !cg__indirect_varies(w, cg__index_of(w, i), v) && cg__contiguous(w, i, v);
}

/* Is some STORE contiguous along variable v? */
static bool cg__mm_stores_along(const ind__writer *w, int v) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_STORE && cg__mm_result_contiguous(w, i, v)) return true;
    return false;
}

static void cg__mm_swap_operands(cg__mm_problem *p) {
    cg__mm_operand a = p->a;
    p->a = p->b;
    p->b = a;
    int m = p->m;
    p->m = p->n;
    p->n = m;
}

static bool cg__mm_is_half(const cg__mm_operand *o) {
    return o->memory == IND_F16 || o->memory == IND_BF16;
}

/* Marks what the operand is computed from. */
static void cg__mm_need_operand(ind__writer *w, const cg__mm_operand *o) {
    cg__need_none(w);
    cg__need(w, o->value);
    cg__close_needed(w);
}

/* Is it a LOAD of a prologue that can be read ahead, wherever the operand has an element? */
static bool cg__mm_is_early_load(const ind__writer *w, uint32_t i) {
    const ind__inst *in = cg__inst(w, i);
    if (!w->needed[i] || in->op != IND_LOOP_LOAD || in->arg[0]) return false;
    return !cg__mm_has_indirect(w, cg__index_of(w, i));
}

/* Has the LOAD other elements in every row and column of the operand? */
static bool cg__mm_is_tile(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i) {
    return p->k >= 0 && o->x >= 0 && w->plan->varies[i] >> p->k & w->plan->varies[i] >> o->x & 1;
}

/* True if the operand's tiles start at any row, so that no vectors lie along x: those of a with groups of rows. */
static bool cg__mm_starts_anywhere(const cg__mm_problem *p, const cg__mm_operand *o) {
    return p->group.indirect && o == &p->a;
}

/* Is the LOAD of a prologue contiguous along v? The rows of a gathered operand may begin anywhere. */
static bool cg__mm_runs_along(const ind__writer *w, const cg__mm_operand *o, uint32_t i, int v) {
    if (!o->gathered) return cg__mm_contiguous(w, i, v);
    return v >= 0 && !cg__indirect_varies(w, cg__index_of(w, i), v) && cg__contiguous(w, i, v);
}

/* A prologue: rounded to 16 bits it is for tensor cores. The tile's rows lie along what most of the bytes lie along. */
static void cg__mm_find_computed(ind__writer *w, const cg__mm_problem *p, cg__mm_operand *o) {
    const ind__inst *last = cg__inst(w, o->value);
    int along_k = 0, along_x = 0;
    o->computed = true;
    o->memory = last->op == IND_LOOP_ROUND_F16    ? IND_F16
                : last->op == IND_LOOP_ROUND_BF16 ? IND_BF16
                                                  : (ind_dtype)last->dtype;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i <= o->value && o->nearest_row; i++)
        o->gathered |= w->needed[i] && cg__inst(w, i)->op == IND_LOOP_INDIRECT;
    for (uint32_t i = 1; i <= o->value; i++) {
        const bool load = w->needed[i] && cg__inst(w, i)->op == IND_LOOP_LOAD && !cg__inst(w, i)->arg[0];
        if (!(o->gathered ? load : cg__mm_is_early_load(w, i)) || !cg__mm_is_tile(w, p, o, i)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        along_k += cg__mm_runs_along(w, o, i, p->k) ? bytes : 0;
        along_x += cg__mm_runs_along(w, o, i, o->x) ? bytes : 0;
    }
    o->k_major = along_k >= along_x || cg__mm_starts_anywhere(p, o);
}

/* Is it the cast of an i8 from memory to i32? */
static bool cg__is_widened_i8(const ind__writer *w, uint32_t i) {
    const uint32_t from = cg__inst(w, i)->arg[0];
    return cg__inst(w, i)->op == IND_LOOP_CAST && cg__inst(w, i)->dtype == IND_I32 &&
           cg__inst(w, from)->op == IND_LOOP_LOAD && cg__memory_dtype(w, from) == IND_I8;
}

/* The value before casts to the type that it has. */
static uint32_t cg__mm_same_value(const ind__writer *w, uint32_t i) {
    while (cg__inst(w, i)->op == IND_LOOP_CAST && cg__inst(w, i)->dtype == cg__inst(w, cg__inst(w, i)->arg[0])->dtype)
        i = cg__inst(w, i)->arg[0];
    return i;
}

static void cg__mm_find_operand(ind__writer *w, const cg__mm_problem *p, cg__mm_operand *o, int x) {
    uint32_t i = cg__mm_same_value(w, o->value), source;
    o->x = x;
    o->k_major = true;
    if (cg__mm_find_gathered(w, p, o)) return;
    for (source = i; cg__inst(w, source)->op == IND_LOOP_CAST;) source = cg__inst(w, source)->arg[0];
    if (cg__inst(w, source)->op != IND_LOOP_LOAD) {
        cg__mm_find_computed(w, p, o);
        return;
    }
    if (p->sum == IND_I32 && cg__is_widened_i8(w, i)) i = source;
    if (cg__inst(w, i)->op != IND_LOOP_LOAD) return;
    o->load = i;
    o->memory = cg__memory_dtype(w, i);
    o->k_major = cg__mm_contiguous(w, i, p->k) || !cg__mm_contiguous(w, i, x) || cg__mm_starts_anywhere(p, o);
    if (o->windows) o->k_major = cg__in_runs(w, i, p->k) || !cg__in_runs(w, i, x);
}

/* The tiles of two right operands have one layout, and both are copied or both computed. */
static void cg__mm_find_second(ind__writer *w, cg__mm_problem *p) {
    if (!p->dot2) return;
    cg__mm_find_operand(w, p, &p->b2, p->n);
    p->b2.k_major = p->b.k_major;
    if (p->b.computed == p->b2.computed) return;
    cg__mm_operand *loaded = p->b.computed ? &p->b2 : &p->b;
    loaded->computed = true;
    loaded->load = 0;
}

/* Is the operand found by conditions or divisions? */
static bool cg__mm_is_involved(const ind__writer *w, const cg__mm_operand *o) {
    if (!o->load || cg__inst(w, o->load)->arg[0]) return true;
    ind_expr stride, rest = cg__index_of(w, o->load);
    for (int v = 0; v < w->plan->domain.rank + w->plan->domain.rrank; v++)
        if (!ind__affine(rest, w->plan->domain.var[v], &stride, &rest)) return true;
    return false;
}

static bool cg__is_f8(ind_dtype t) {
    return t == IND_F8E4M3FN || t == IND_F8E5M2;
}

static bool cg__mm_is_f8(const cg__mm_operand *o) {
    return o->load && cg__is_f8(o->memory);
}

static bool cg__mm_is_f32(const cg__mm_operand *o) {
    return o->load && o->memory == IND_F32;
}

/* Bytes of the elements if tensor cores multiply them as exactly as the graph asks for: two operands of one 16-bit
   type, of i8, 8-bit floats whose sums may have fewer bits, or f32 that may be rounded; as in memory. A LOAD under a
   mask qualifies: its value is 0 or the value in memory. */
static int cg__mm_tensor_bytes(const ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_operand *a = &p->a, *b = &p->b;
    if (p->dot2 && p->b2.memory != b->memory) return 0;
    if (cg__mm_is_half(a)) return p->sum == IND_F32 && a->memory == b->memory ? 2 : 0;
    if (p->program->options.allow_tf32 && cg__mm_is_f32(a) && cg__mm_is_f32(b)) return p->sum == IND_F32 ? 4 : 0;
    if (a->load && b->load && a->memory == IND_I8 && b->memory == IND_I8)
        return (p->sum == IND_I32 || p->sum == IND_I8) && w->target->sm >= 80;
    return cg__mm_is_f8(a) && cg__mm_is_f8(b) && p->sum == IND_F32 && w->target->sm >= 89 &&
           cg__inst(w, p->dot)->flags & IND__INST_TENSOR_SUMS;
}

/* Tiles of 8-bit elements have rows along k: tensor cores read no others. */
static void cg__mm_set_tensor(const ind__writer *w, cg__mm_problem *p) {
    p->tensor_bytes = p->windows.depthwise ? 0 : cg__mm_tensor_bytes(w, p);
    if (p->tensor_bytes != 1) return;
    p->converts = p->sum == IND_F32 && w->target->sm >= 90 && w->target->sm < 120;
    p->promotes = p->sum == IND_F32 && (cg__mm_is_scaled(p) || !(cg__inst(w, p->dot)->flags & IND__INST_FAST_SUMS));
    p->a.across = !p->a.k_major;
    p->b.across = !p->b.k_major;
    p->a.k_major = p->b.k_major = true;
}

static ind_expr cg__mm_extent(const ind__writer *w, int v) {
    return v < 0 ? ind_int(w->context, 1) : w->plan->domain.extent[v];
}

static bool cg__mm_is_batch(const cg__mm_problem *p, int v) {
    return v != p->m && v != p->n;
}

static void cg__mm_find_sizes(const cg__decider *d, cg__mm_problem *p) {
    p->size_m = cg__mm_extent(&d->w, p->m);
    p->size_n = cg__mm_extent(&d->w, p->n);
    p->size_k = cg__mm_extent(&d->w, p->k);
    p->batch = ind_int(d->w.context, 1);
    for (int v = 0; v < d->plan->domain.rank; v++)
        if (cg__mm_is_batch(p, v)) p->batch = ind_expr_mul(p->batch, d->plan->domain.extent[v]);
}

/* Sets what depends on the operands' values. */
static void cg__mm_find_operands(ind__writer *w, cg__mm_problem *p) {
    cg__mm_find_operand(w, p, &p->a, p->m);
    cg__mm_find_operand(w, p, &p->b, p->n);
    cg__mm_find_second(w, p);
    cg__mm_set_tensor(w, p);
}

/* The same. Scales are separate if tensor cores multiply what is left; else they are factors of computed operands. */
static void cg__mm_find_scaled_operands(ind__writer *w, cg__mm_problem *p) {
    const cg__mm_problem unknown = *p;
    cg__mm_find_scales(w, p);
    cg__mm_find_operands(w, p);
    if (!cg__mm_is_scaled(p) || p->tensor_bytes == 1) return;
    *p = unknown;
    cg__mm_find_operands(w, p);
}

/* Reads the problem off the kernel. If only m is contiguous in the results, the transposed product is computed, so
   that neighbouring columns of a tile are always contiguous in memory. Two products, which share the left operand, are
   not transposed, nor is one whose left operand depends on reductions of its rows. */
static void cg__mm_find_problem(cg__decider *d, cg__mm_problem *p) {
    const ind_kernel *k = d->w.kernel;
    const ind__inst *dot = cg__inst(&d->w, k->matmul.dot), *dot2 = cg__inst(&d->w, k->matmul.dot2);
    *p = (cg__mm_problem){.a.value = dot->arg[0],
                          .b.value = dot->arg[1],
                          .m = k->matmul.m,
                          .n = k->matmul.n,
                          .dot = k->matmul.dot,
                          .dot2 = k->matmul.dot2,
                          .sum = (ind_dtype)dot->dtype,
                          .program = d->w.schedule->program};
    cg__mm_join_windows(d, p);
    cg__mm_merge_depth(d);
    if (d->w.failed) return;
    cg__analyse(d);
    p->k = d->plan->domain.rrank ? d->plan->domain.rank : -1;
    p->b2.value = p->dot2 ? dot2->arg[1] : 0;
    cg__mm_merge_rows(d, p);
    p->a.statistics = d->plan->stage[p->a.value];
    cg__mm_find_group(d, p);
    if (!p->dot2 && !p->windows.depthwise && !p->a.statistics && !p->group.indirect &&
        !cg__mm_stores_along(&d->w, p->n) && cg__mm_stores_along(&d->w, p->m))
        cg__mm_swap_operands(p);
    cg__mm_find_scaled_operands(&d->w, p);
    p->a.involved = cg__mm_is_involved(&d->w, &p->a);
    p->b.involved = cg__mm_is_involved(&d->w, &p->b);
    cg__mm_find_sizes(d, p);
}

/* Elements of 16 bytes of an operand in memory. */
static int cg__mm_chunk(const cg__mm_problem *p) {
    return 16 / p->tensor_bytes;
}

/* 16-bit units of a tile of so many elements. */
static int cg__mm_units(const cg__mm_problem *p, int elements) {
    return elements * p->tensor_bytes / 2;
}

/* May the operand's tiles be copied in chunks of 16 bytes? */
static bool cg__mm_can_copy(cg__decider *d, const cg__mm_problem *p, const cg__mm_operand *o) {
    ind_expr guard = {0};
    bool aligned = false;
    int along = o->k_major ? p->k : o->x;
    if (o->windows) return cg__mm_can_copy_windows(d, p, o);
    if (!o->load || (!o->gathered && !cg__mm_contiguous(&d->w, o->load, along)) ||
        !cg__vector_access(d, o->load, along, cg__mm_chunk(p), &guard, &aligned))
        return false;
    if (ind__ok(guard)) cg__guard(d->variant, guard);
    d->variant->guard_aligned |= aligned;
    return true;
}

/* Have the operand's tiles contiguous rows whose misalignment is the same for each 8th of them, in each step of k? 8
   divides the steps. */
static bool cg__mm_has_contiguous_rows(const cg__decider *d, const cg__mm_problem *p, const cg__mm_operand *o) {
    ind_expr stride, rest;
    if (!o->load || p->k < 0 || cg__inst(&d->w, o->load)->arg[0]) return false;
    if (!cg__mm_contiguous(&d->w, o->load, o->k_major ? p->k : o->x) || !cg__start_known(&d->w, o->load)) return false;
    const ind_expr index = cg__index_of(&d->w, o->load);
    return ind__affine(index, d->plan->domain.var[p->k], &stride, &rest) &&
           (o->x < 0 || ind__affine(index, d->plan->domain.var[o->x], &stride, &rest));
}

static bool cg__mm_is_misaligned(cg__decider *d, const cg__mm_problem *p, const cg__mm_operand *o) {
    if (o->copy || p->tensor_bytes != 2 || !cg__mm_has_contiguous_rows(d, p, o)) return false;
    if (!cg__in_arena(&d->w, cg__inst(&d->w, o->load)->source)) d->variant->guard_aligned = true;
    return true;
}

/* The tiles of two right operands are both copied, or both written from misaligned rows. */
static void cg__mm_choose_same_loads(const cg__decider *d, cg__mm_problem *p) {
    if (!p->dot2 || p->b.misaligned == p->b2.misaligned) return;
    cg__mm_operand *other = p->b.misaligned ? &p->b2 : &p->b;
    const bool both = !other->computed && cg__mm_has_contiguous_rows(d, p, other);
    p->b.misaligned = p->b2.misaligned = both;
    if (both) other->copy = false;
}

/* Can rows_misaligned.c read the operands, the right ones in aligned vectors? All right ones have the same
   misalignments. Of rows along n, the next row begins at least 8 elements later: a vector that begins in a row ends in
   the buffer, except in the last row. */
static bool cg__mm_reads_misaligned(const cg__decider *d, const cg__mm_problem *p) {
    ind_expr stride, rest;
    if (!p->a.load || p->a.computed || cg__inst(&d->w, p->a.load)->arg[0]) return false;
    if (cg__mm_has_indirect(&d->w, cg__index_of(&d->w, p->a.load))) return false;
    for (int i = 0; i < cg__mm_products(p); i++) {
        const cg__mm_operand *o = cg__mm_right(p, i);
        if (p->tensor_bytes != 2 || !cg__mm_has_contiguous_rows(d, p, o)) return false;
        const ind_expr index = cg__index_of(&d->w, o->load), b = cg__index_of(&d->w, p->b.load);
        ind__affine(index, d->plan->domain.var[p->k], &stride, &rest);
        if (!o->k_major && !ind_known_le(ind_int(d->w.context, 8), stride)) return false;
        if (i && !ind_known_multiple(ind_expr_sub(index, b), 8)) return false;
    }
    return true;
}

/* Bits of ind__writer.resident: a LOAD of operand a is copied in the background; it is read as a vector when it is
   needed. Those of b are the next two, then those of b2. */
#define MM_STAGED 1
#define MM_VECTOR 2

static int cg__mm_resident_shift(const cg__mm_problem *p, const cg__mm_operand *o) {
    return o == &p->a ? 0 : o == &p->b ? 2 : 4;
}

static bool cg__mm_is_resident(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i,
                               int bit) {
    return cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->resident[i] & bit << cg__mm_resident_shift(p, o);
}

/* The size of what neighbours lie along. */
static ind_expr cg__mm_along_size(const cg__mm_problem *p, const cg__mm_operand *o) {
    return o->k_major ? p->size_k : o == &p->a ? p->size_m : p->size_n;
}

/* Chooses the LOADs of a prologue that move 8 neighbours at a time: in the background, unless all rows of the tile have
   the same ones, which the nearest cache holds. A rounding at the end is then that to the tile. */
static void cg__mm_choose_staged(cg__decider *d, const cg__mm_problem *p, cg__mm_operand *o) {
    int along = o->k_major ? p->k : o->x;
    if (cg__inst(&d->w, o->value)->op != IND_LOOP_LOAD) o->value = cg__inst(&d->w, o->value)->arg[0];
    cg__mm_need_operand(&d->w, o);
    for (uint32_t i = 1; i <= o->value; i++) {
        ind_expr guard = {0};
        bool aligned = false, tile = cg__mm_is_tile(&d->w, p, o, i);
        if (!cg__mm_is_early_load(&d->w, i) || !cg__mm_contiguous(&d->w, i, along)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(&d->w, i));
        if (bytes > 4 || (!tile && !ind_known_multiple(cg__mm_along_size(p, o), 8))) continue;
        if (!cg__vector_access(d, i, along, 8, &guard, &aligned)) continue;
        if (ind__ok(guard)) cg__guard(d->variant, guard);
        d->variant->guard_aligned |= aligned;
        d->plan->resident[i] |= (uint8_t)((tile ? MM_STAGED : MM_VECTOR) << cg__mm_resident_shift(p, o));
        o->staged_bytes += tile ? bytes : 0;
    }
}
