/* Products of few rows whose right operand has rows that start at any element: sizes that 8 does not divide. b is still
   read once, in aligned vectors of 8 elements.

   b with rows along k: columns whose numbers are equal modulo 8 have the same misalignment. A warp computes such
   columns. The elements before the first vector of a row and after its last one, the edges, take one lane each. The
   vectors of a lane are multiplied by 8 elements of a from any k on. So a is in shared memory as f32, its elements with
   the same k modulo 8 next to each other: lanes read neighbours.

   b with rows along n: rows of b whose numbers are equal modulo 8 have the same misalignment. A lane reads such rows,
   so its vectors always have the same columns. The vectors of a row begin before the block's first column, and end
   after its last one: sums of other columns are dropped. A vector may end in the next row; that of the last row is
   read by elements, the edges. */

/* What a warp computes. A lane's vectors along k are those of a row of b; else one of each 8th row. */
static cg__mm_strip cg__mm_misaligned_strip(const cg__mm_problem *p, const ind__tile_plan *t) {
    cg__mm_strip s = cg__mm_strip_of(p, t);
    if (p->b.k_major) return s;
    s.lanes_n = t->n / s.cols + 1;
    s.apart = 32 / s.lanes_n * t->warps_m;
    return s;
}

/* Elements of a row of a in shared memory with the same k modulo 8, and all of them. */
static int64_t cg__mm_row_lines(int64_t k) {
    return (k + 7) / 8;
}

static int64_t cg__mm_row_pitch(int64_t k) {
    return 8 * cg__mm_row_lines(k);
}

static int cg__mm_row_bytes(const cg__mm_problem *p) {
    return p->b.k_major ? 4 : 2;
}

/* Returns where element `k` of row `x` of a is in shared memory. */
static const char *cg__mm_row_at(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s, const char *x,
                                 const char *k) {
    const long long pitch = cg__mm_row_pitch(s->k);
    if (!p->b.k_major) return cg__string(w, "%s * %lld + %s", x, pitch, k);
    return cg__string(w, "%s * %lld + %s %% 8 * %lld + %s / 8", x, pitch, k, (long long)cg__mm_row_lines(s->k), k);
}

/* Returns the distance of element (x, k) of an operand from the last multiple of 8 elements. */
static const char *cg__mm_misalignment(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, const char *x,
                                       const char *k) {
    cg__mm_set_plain_names(w);
    cg__mm_set_text(w, o->x, x);
    cg__mm_set_text(w, p->k, k);
    const char *index = cg__expr_string(w, cg__index_of(w, o->load));
    cg__mm_set_plain_names(w);
    return cg__string(w, "(int)((%s) & 7)", index);
}

/* ---- a, to shared memory ---- */

static void cg__mm_write_row_element(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s, const char *k,
                                     const char *value) {
    if (p->b.k_major) value = cg__string(w, "ind_%s_to_f32(%s)", ind_dtype_name(p->a.memory), value);
    ind__textf(&w->code, "row_a[%s] = %s;\n", cg__mm_row_at(w, p, s, "x", k), value);
    cg__use(w, p->a.memory == IND_F16 ? IND__CG_F16 : IND__CG_BF16);
}

/* Rows along k: aligned vectors, and elements at the ends. */
static void cg__mm_write_misaligned_rows(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const long long chunks = s->k / 8 + 2, k = s->k;
    cg__begin(w, "for (int at = threadIdx.x; at < %lld; at += %d)", s->rows * chunks, w->variant->threads);
    ind__textf(&w->code, "const int x = at / %lld;\n", chunks);
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m + x;\n", cg__int(w), p->m);
    const char *start = cg__mm_misalignment(w, p, &p->a, p->m < 0 ? "0" : cg__string(w, "i%d", p->m), "0");
    ind__textf(&w->code, "const int r0 = (int)(at %% %lld) * 8 - %s;\nind_vec<unsigned short, 8> made = {};\n", chunks,
               start);
    ind__textf(&w->code, "if (first_m + x < size_m) made = ind_load_part<8>(&%s, r0, %lld);\n",
               cg__element(w, p->a.load), k);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < 8; j++)");
    cg__begin(w, "if (r0 + j >= 0 && r0 + j < %lld)", k);
    cg__mm_write_row_element(w, p, s, "(r0 + j)", "made.at[j]");
    cg__end(w);
    cg__end(w);
    cg__end(w);
    cg__use(w, IND__CG_VEC_PART);
}

/* Rows that are not contiguous. */
static void cg__mm_write_strided_rows(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const long long k = s->k;
    cg__begin(w, "for (int at = threadIdx.x; at < %lld; at += %d)", s->rows * k, w->variant->threads);
    ind__textf(&w->code, "const int x = at / %lld, r0 = at %% %lld;\n", k, k);
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m + x;\n", cg__int(w), p->m);
    ind__textf(&w->code, "unsigned short made = 0;\nif (first_m + x < size_m) made = %s;\n", cg__element(w, p->a.load));
    cg__mm_write_row_element(w, p, s, "r0", "made");
    cg__end(w);
}

static void cg__mm_write_misaligned_copy(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    cg__mm_set_plain_names(w);
    if (p->a.k_major && (p->a.copy || p->a.misaligned))
        cg__mm_write_misaligned_rows(w, p, s);
    else
        cg__mm_write_strided_rows(w, p, s);
    ind__textf(&w->code, "__syncthreads();\n");
}

/* ---- b ---- */

/* Where a lane's vectors are, and its edges. Rows along k: `head` elements before the first vector; `offset`: where the
   elements of a are that its elements are multiplied by. */
static void cg__mm_write_start_along_k(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const int warps_n = w->variant->of.tile.warps_n;
    const long long k = s->k, lines = cg__mm_row_lines(s->k);
    ind__textf(&w->code, "const %s column = first_n + warp %% %d < size_n ? first_n + warp %% %d : size_n - 1;\n",
               cg__int(w), warps_n, warps_n);
    ind__textf(&w->code, "const int head = -%s & 7, vectors = (%lld - head) / 8;\n",
               cg__mm_misalignment(w, p, &p->b, "column", "0"), k);
    ind__textf(&w->code, "const int start = warp / %d * 32 + lane;\nint offset[8];\n", warps_n);
    cg__unroll(w);
    ind__textf(&w->code, "for (int j = 0; j < 8; j++) offset[j] = (head + j) %% 8 * %lld + (head + j) / 8 + start;\n",
               lines);
    ind__textf(&w->code, "const int edge = lane < head ? lane : vectors * 8 + lane;\n");
    ind__textf(&w->code, "const bool has_edge = warp < %d && edge < %lld;\n", warps_n, k);
}

/* Rows along n: the lane's first column, perhaps before the block's or after the last one, which is read elsewhere. A
   vector of the last row that ends after it, and perhaps after the buffer, is an edge; the lane reads `rows` in
   vectors.
 */
static void cg__mm_write_start_along_n(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const char *type = cg__int(w);
    const long long k = s->k;
    ind__textf(&w->code, "const int start = warp * %d + lane / %d;\n", 32 / s->lanes_n, s->lanes_n);
    ind__textf(&w->code, "const int shift = %s;\n", cg__mm_misalignment(w, p, &p->b, "first_n", "start"));
    ind__textf(&w->code, "const %s column = first_n - shift + lane %% %d * 8;\n", type, s->lanes_n);
    ind__textf(&w->code, "const %s read = column < size_n ? column : first_n - shift;\n", type);
    const char *idle = 32 % s->lanes_n ? cg__string(w, "lane >= %d ? 0 : ", 32 / s->lanes_n * s->lanes_n) : "";
    ind__textf(&w->code, "const int rows = %sread + 8 <= size_n ? %lld : %lld;\n", idle, k, k - 1);
    ind__textf(&w->code, "const bool has_edge = rows == %lld && (%lld - start) %% %d == 0 && column < size_n;\n", k - 1,
               k - 1, s->apart);
}

/* A loop over the columns r of a lane, along k. A column outside b is read at another one of the same misalignment. */
static void cg__mm_begin_misaligned_columns(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    cg__unroll(w);
    cg__begin(w, "for (int r = 0; r < %d; r++)", s->each);
    ind__textf(&w->code, "const %s i%d = column + r * 8 < size_n ? column + r * 8 : column;\n", cg__int(w), p->n);
}

/* A loop over the edges of a lane. Along k: one of each column. Along n: the elements of the last row. */
static void cg__mm_begin_edges(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    if (p->b.k_major) {
        cg__mm_begin_misaligned_columns(w, p, s);
        ind__textf(&w->code, "const int r0 = edge;\n");
        return;
    }
    cg__unroll(w);
    cg__begin(w, "for (int r = 0; r < 8; r++)");
    ind__textf(&w->code, "const %s i%d = column + r;\nconst int r0 = %lld;\n", cg__int(w), p->n, (long long)s->k - 1);
    ind__textf(&w->code, "if (i%d < 0 || i%d >= size_n) continue;\n", p->n, p->n);
}

static void cg__mm_write_edges(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const int products = cg__mm_products(p);
    cg__mm_set_plain_names(w);
    for (int i = 0; i < products; i++) ind__textf(&w->code, "unsigned short edge%d[%d] = {};\n", i, s->each);
    cg__begin(w, "if (has_edge)");
    cg__mm_begin_edges(w, p, s);
    for (int i = 0; i < products; i++)
        ind__textf(&w->code, "edge%d[r] = %s;\n", i, cg__element(w, cg__mm_right(p, i)->load));
    cg__end(w);
    cg__end(w);
}

/* Multiplies the edges: the first of a lane's products. */
static void cg__mm_write_edge_products(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const char *type = ind_dtype_name(p->a.memory);
    const char *k = p->b.k_major ? "edge" : cg__string(w, "%lld", (long long)s->k - 1);
    const char *value = cg__string(w, "row_a[%s]", cg__mm_row_at(w, p, s, "m", k));
    if (!p->b.k_major) value = cg__string(w, "ind_%s_to_f32(%s)", type, value);
    cg__begin(w, "if (has_edge)");
    cg__unroll(w);
    cg__begin(w, "for (int m = 0; m < %d; m++)", s->rows);
    ind__textf(&w->code, "const float value = %s;\n", value);
    cg__unroll(w);
    cg__begin(w, "for (int r = 0; r < %d; r++)", s->each);
    for (int i = 0; i < cg__mm_products(p); i++)
        ind__textf(&w->code, "acc[m][%d + r] = value * ind_%s_to_f32(edge%d[r]);\n", i * s->each, type, i);
    cg__end(w);
    cg__end(w);
    cg__end(w);
}

/* The position of vector u of a lane, in a loop over u. Open afterwards: the loop, and the test that it exists. */
static void cg__mm_begin_misaligned_vectors(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    cg__mm_set_plain_names(w);
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", s->flight);
    if (p->b.k_major) {
        ind__textf(&w->code, "const int v = first + u * %d, r0 = head + v * 8;\n", s->apart);
        cg__begin(w, "if (v < vectors)");
    } else {
        ind__textf(&w->code, "const int r0 = first + u * %d;\n", s->apart);
        cg__begin(w, "if (r0 < rows)");
    }
}

/* "load": requests the vectors of b from `first` on, and those of b2. */
static void cg__mm_write_misaligned_load(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const int products = cg__mm_products(p);
    for (int i = 0; i < products; i++) cg__mm_declare_vectors(w, p, cg__mm_right(p, i), s);
    ind__textf(&w->code, "const auto load = [&](int first) {\n");
    w->code.indent++;
    w->scope++;
    cg__mm_begin_misaligned_vectors(w, p, s);
    if (p->b.k_major)
        cg__mm_begin_misaligned_columns(w, p, s);
    else
        ind__textf(&w->code, "const %s i%d = read;\n", cg__int(w), p->n);
    for (int i = 0; i < products; i++) {
        const uint32_t load = cg__mm_right(p, i)->load;
        ind__textf(&w->code, "y%u[u][%s] = ind_load_once<8>(&%s);\n", load, p->b.k_major ? "r" : "0",
                   cg__element(w, load));
    }
    if (p->b.k_major) cg__end(w);
    cg__mm_end_vectors(w);
    cg__mm_end_lambda(w);
    cg__use(w, IND__CG_LOAD_ONCE);
}

/* The elements of a that a vector along k is multiplied by. */
static void cg__mm_write_shifted_values(ind__writer *w, const cg__mm_strip *s) {
    ind__textf(&w->code, "float value[%d][8];\n", s->rows);
    cg__unroll(w);
    cg__begin(w, "for (int m = 0; m < %d; m++)", s->rows);
    cg__unroll(w);
    ind__textf(&w->code, "for (int j = 0; j < 8; j++) value[m][j] = row_a[m * %lld + offset[j] + u * %d];\n",
               (long long)cg__mm_row_pitch(s->k), s->apart);
    cg__end(w);
}

static void cg__mm_write_misaligned_loop(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    ind__textf(&w->code, "float acc[%d][%d] = {};\n", s->rows, s->cols);
    cg__mm_write_edge_products(w, p, s);
    ind__textf(&w->code, "#pragma unroll 1\n");
    const char *end = p->b.k_major ? "vectors" : "rows";
    cg__begin(w, "for (int first = start; first < %s; first += %d)", end, s->apart * s->flight);
    cg__mm_begin_misaligned_vectors(w, p, s);
    if (p->b.k_major) {
        cg__mm_write_shifted_values(w, s);
    } else {
        cg__mm_strip padded = *s;
        padded.k = cg__mm_row_pitch(s->k);
        cg__mm_write_row_values(w, p, &padded);
    }
    cg__unroll(w);
    cg__begin(w, "for (int r = 0; r < %d; r++)", p->b.k_major ? s->each : 1);
    for (int i = 0; i < cg__mm_products(p); i++) cg__mm_write_strip_products(w, p, cg__mm_right(p, i), i * s->each);
    cg__end(w);
    cg__mm_end_vectors(w);
    if (p->b.k_major) {
        cg__unroll(w);
        ind__textf(&w->code, "for (int j = 0; j < 8; j++) offset[j] += %d;\n", s->apart * s->flight);
    }
    ind__textf(&w->code, "load(first + %d);\n", s->apart * s->flight);
    cg__end(w);
}

/* ---- sums ---- */

/* Adds the sums of lanes along k by shuffles, those of other lanes and warps through shared memory. */
static void cg__mm_write_misaligned_sums(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int sums = t->m * t->n, columns = t->n / t->products, lanes = 32 / s->lanes_n * s->lanes_n;
    const char *row = cg__string(w, "at / %d * %d + at %% %d / %d * %d", s->cols, t->n, s->cols, s->each, columns);
    cg__unroll(w);
    cg__begin(w, "for (int at = 0; at < %d; at++)", s->rows * s->cols);
    ind__textf(&w->code, "float x = acc[at / %d][at %% %d];\n", s->cols, s->cols);
    if (p->b.k_major) {
        cg__unroll(w);
        ind__textf(&w->code, "for (int d = 16; d >= 1; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);\n");
        ind__textf(&w->code, "if (lane == 0) part[warp / %d * %d + %s + at %% %d * 8 + warp %% %d] = x;\n", t->warps_n,
                   sums, row, s->each, t->warps_n);
    } else {
        ind__textf(&w->code, "const int col = lane %% %d * 8 - shift + at %% 8;\n", s->lanes_n);
        ind__textf(&w->code, "if (%scol >= 0 && col < %d) part[start * %d + %s + col] = x;\n",
                   lanes < 32 ? cg__string(w, "lane < %d && ", lanes) : "", columns, sums, row);
    }
    cg__end(w);
    cg__mm_write_strip_total(w, p->b.k_major ? t->warps_m : s->apart);
}

static void cg__mm_misaligned_main_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const cg__mm_strip s = cg__mm_misaligned_strip(p, t);
    const char *type = p->b.k_major ? "float" : "unsigned short";
    const int sets = p->b.k_major ? t->warps_m : s.apart;
    ind__textf(&w->code, "%s *const row_a = reinterpret_cast<%s *>(ind_smem);\n", type, type);
    ind__textf(&w->code, "float *const part = reinterpret_cast<float *>(ind_smem + %lld), *const sum = part + %d;\n",
               (long long)s.rows * cg__mm_row_pitch(s.k) * cg__mm_row_bytes(p), sets * t->m * t->n);
    ind__textf(&w->code, "const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;\n");
    if (p->b.k_major)
        cg__mm_write_start_along_k(w, p, &s);
    else
        cg__mm_write_start_along_n(w, p, &s);
    cg__mm_write_misaligned_load(w, p, &s);
    ind__textf(&w->code, "load(start);\n");
    cg__mm_write_edges(w, p, &s);
    cg__mm_write_wait(w);
    cg__mm_write_misaligned_copy(w, p, &s);
    cg__mm_write_misaligned_loop(w, p, &s);
    cg__mm_write_misaligned_sums(w, p, &s);
    cg__use(w, IND__CG_VEC);
}

/* ---- the template ---- */

/* Columns of each product. b with rows along k: 8 warps along n, one for each misalignment. Along n: warps_n is 0; a
   block has one vector less of columns than lanes along n, and the lanes of a warp that are left are idle. The rows of
   the tile are set by `fit`. */
static const cg__mm_config cg__mm_misaligned_rows_configs[] = {
    {1, 16, 8, 1, 8, 4, 104, 1, 0, 0, 0}, {1, 8, 8, 1, 8, 4, 72, 1, 0, 0, 0},   {1, 8, 8, 1, 8, 8, 104, 1, 0, 0, 0},
    {1, 32, 8, 1, 8, 2, 104, 1, 0, 0, 0}, {1, 8, 8, 2, 8, 4, 64, 1, 0, 0, 0},   {1, 16, 8, 2, 8, 2, 64, 1, 0, 0, 0},
    {1, 16, 8, 8, 0, 8, 96, 1, 0, 0, 0},  {1, 32, 8, 8, 0, 8, 96, 1, 0, 0, 0},  {1, 32, 8, 16, 0, 4, 96, 1, 0, 0, 0},
    {1, 64, 8, 16, 0, 4, 96, 1, 0, 0, 0}, {1, 24, 8, 8, 0, 8, 96, 1, 0, 0, 0},  {1, 24, 8, 16, 0, 4, 96, 1, 0, 0, 0},
    {1, 56, 8, 8, 0, 8, 96, 1, 0, 0, 0},  {1, 56, 8, 16, 0, 4, 96, 1, 0, 0, 0}, {1, 120, 8, 8, 0, 4, 96, 1, 0, 0, 0},
    {1, 248, 8, 8, 0, 4, 96, 1, 0, 0, 0},
};

enum { MM_MISALIGNED_BYTES = 128 << 10 }; /* of a in shared memory */

static const char *cg__mm_misaligned_rows_match(const cg__mm_problem *p, const ind_target *t) {
    int64_t k;
    if (!cg__mm_rows_match(p, t)) return "its rows are aligned";
    if (!p->few_rows || p->few_rows > MM_MOST_ROWS) return "it may have more than 2 rows";
    if (p->n < 0 || p->k < 0) return "it has no columns or no depth";
    if (!ind_expr_is_int(p->size_k, &k) || k < 8) return "its depth is not a constant of at least 8";
    if (cg__mm_row_pitch(k) * cg__mm_row_bytes(p) * p->few_rows > MM_MISALIGNED_BYTES)
        return "its rows exceed shared memory";
    return p->b.reads_misaligned ? NULL : "a is computed, or b has no contiguous rows of one misalignment";
}

/* Columns are those of each product. */
static void cg__mm_misaligned_rows_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    c->tile_n *= cg__mm_products(p);
    (void)depth;
    (void)index_bits;
    cg__mm_strips_fit(c, p);
}

static bool cg__mm_misaligned_rows_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    return (c->warps_n > 0) == p->b.k_major && c->registers <= 200;
}

/* Sets of sums of the tile, which are added at the end. */
static int cg__mm_misaligned_sets(const cg__mm_config *c, const cg__mm_problem *p) {
    return c->warps_n ? c->warps_m : 32 / (c->tile_n / cg__mm_products(p) / 8 + 1) * c->warps_m;
}

static int64_t cg__mm_misaligned_rows_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    int64_t k = 0;
    (void)ind_expr_is_int(p->size_k, &k);
    const int64_t sums = (int64_t)cg__mm_misaligned_sets(c, p) * c->tile_m * c->tile_n;
    return cg__mm_row_pitch(k) * cg__mm_row_bytes(p) * c->tile_m + 4 * (sums + (int64_t)c->tile_m * (c->tile_n + 8));
}

static double cg__mm_misaligned_rows_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                          const ind_target *target) {
    const double columns = c->tile_n / cg__mm_products(p);
    cg__mm_strip_work of = cg__mm_strip_work_of(c, p, &target->thresholds);
    of.loaded = c->warps_n ? 1 : (columns + 8) / columns;
    return cg__mm_strips_cost(x, p, c, target, &of);
}

static const cg__mm_template cg__mm_misaligned_rows = {.strategy = IND_STRATEGY_MATMUL_ROWS_MISALIGNED,
                                                       .match = cg__mm_misaligned_rows_match,
                                                       MM_CONFIGS(cg__mm_misaligned_rows_configs),
                                                       .fit = cg__mm_misaligned_rows_fit,
                                                       .allows = cg__mm_misaligned_rows_allows,
                                                       .threads = cg__mm_rows_threads,
                                                       .tile_bytes = cg__mm_misaligned_rows_bytes,
                                                       .cost = cg__mm_misaligned_rows_cost,
                                                       .alone = true,
                                                       .alignment = 16,
                                                       .main_loop = cg__mm_misaligned_main_loop};
