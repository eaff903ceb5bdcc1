/* Windows of few channels, as of red, green and blue: no chunk of 16 bytes lies in a tap. The lines that the windows of
   a tile have elements of are copied to shared memory in such chunks, for each tap of outer dimensions, and each
   channel if these have images of their own. Chunks before or after an image are 0. A table has, for each element of
   depth, its offset from the first element of a row in the lines. The tile is then gathered from shared memory.

   A line begins at a multiple of 8 elements, and so has whole chunks. What a tile has of it begins at the chunk of its
   first element. */

#define MM_LINES_BYTES (96 * 1024) /* of lines, for tiles of MM_MOST_LINE_ROWS rows: places have 16 bits */
enum { MM_MOST_LINE_ROWS = 128 };

/* The lines of a tile, whose widths are constants. */
typedef struct cg__mm_lines {
    int64_t places, apart; /* windows of a line, and elements from one to the next */
    int64_t length;        /* elements of a line of an image */
    int64_t each;          /* lines of a window */
    int64_t pitch;         /* elements of a line in shared memory */
    int64_t num;           /* lines of results that a tile has windows of */
} cg__mm_lines;

static bool cg__mm_find_lines(const cg__mm_problem *p, int rows, cg__mm_lines *y) {
    const cg__mm_window *x = p->windows.image;
    const cg__mm_window_dim *dim = &x->dim[0];
    int64_t size, stride;
    if (!ind_expr_is_int(dim->places, &y->places) || !ind_expr_is_int(dim->size, &size) ||
        !ind_expr_is_int(dim->stride, &stride) || y->places < 1)
        return false;
    y->apart = dim->step * stride;
    y->length = (size - 1) * stride + (x->channels > stride ? x->channels : stride);
    y->each = x->outer_channels;
    for (int i = 1; i < x->rank; i++) y->each *= x->dim[i].num_taps;
    const int64_t most = y->places < rows ? y->places : rows;
    const int64_t reach = (most - 1) * y->apart + (dim->num_taps - 1) * dim->dilation * stride + x->channels;
    y->pitch = (reach + 7 + 7) / 8 * 8;
    y->num = y->places % rows == 0 ? 1 : rows % y->places == 0 ? rows / y->places : (rows - 2) / y->places + 2;
    return true;
}

/* Bytes of lines, and of the table. */
static int64_t cg__mm_lines_bytes(const cg__mm_problem *p, int rows, int tile_k) {
    cg__mm_lines y;
    int64_t k;
    if (!p->a.lines || !cg__mm_find_lines(p, rows, &y) || !ind_expr_is_int(p->size_k, &k)) return 0;
    return y.num * y.each * y.pitch * 2 + (k + tile_k - 1) / tile_k * tile_k * 2;
}

/* May the windows' lines be copied to shared memory? */
static bool cg__mm_can_copy_lines(cg__decider *d, cg__mm_problem *p, const cg__mm_operand *o) {
    const cg__mm_window *x = p->windows.image;
    cg__mm_lines y;
    if (o != &p->a || !o->windows || o->copy || !o->load || x->no || p->tensor_bytes != 2) return false;
    if (!cg__mm_find_lines(p, MM_MOST_LINE_ROWS, &y) || y.length % 8 || ind__ok(x->group) || cg__mm_has_phases(x))
        return false;
    if (!ind_expr_is_int(p->size_k, NULL) || y.num * y.each * y.pitch * 2 > MM_LINES_BYTES) return false;
    if (!ind_known_multiple(x->offset, 8) || !ind_known_multiple(x->image_stride, 8)) return false;
    if (x->outer_channels > 1 && !ind_known_multiple(x->outer_stride, 8)) return false;
    for (int i = 1; i < x->rank; i++)
        if (!ind_known_multiple(x->dim[i].stride, 8)) return false;
    const bool arena = cg__in_arena(&d->w, cg__inst(&d->w, o->load)->source);
    if (!arena && !(d->assume & IND__ASSUME_ALIGNED)) return false;
    d->variant->guard_aligned |= !arena;
    return true;
}

/* Only b has stages. The depth, which is small, is filled up to whole steps. */
static void cg__mm_fit_lines(cg__mm_config *c, int64_t depth) {
    if ((depth + 63) / 64 * 64 > (depth + 31) / 32 * 32) c->tile_k = 32;
    c->stages = 2;
}
