/* Products of few rows, which are limited by reading b. A thread reads b in vectors of 8 elements along its contiguous
   dimension, several of them before the first is multiplied. All rows of a are in shared memory. The first vectors are
   requested before a is copied there.

   b with rows along k: a warp computes columns, its lanes share k. b with rows along n: a lane computes 8 columns, the
   other lanes and warps share k. Sums of lanes are added by shuffles, those of warps through shared memory, in a fixed
   order. Of two products a lane computes the same columns. */

/* What a warp computes. */
typedef struct cg__mm_strip {
    int rows, cols;     /* sums of a lane */
    int each;           /* columns of each product among them */
    int lanes_n;        /* lanes along n; b with rows along k: 1, all lanes share k */
    int warps_k;        /* warps that share k */
    int apart;          /* from a vector of a lane to its next one: vectors, b with rows along n: elements of k */
    int flight;         /* vectors per column that are requested together */
    int64_t k, vectors; /* elements of k; vectors of a lane's columns, all lanes and warps together */
} cg__mm_strip;

static cg__mm_strip cg__mm_strip_of(const cg__mm_problem *p, const ind__tile_plan *t) {
    cg__mm_strip s = {.rows = t->m, .flight = t->stages, .warps_k = t->warps_m, .lanes_n = 1};
    (void)ind_expr_is_int(p->size_k, &s.k);
    if (p->b.k_major) {
        s.cols = t->n / t->warps_n;
        s.each = s.cols / t->products;
        s.apart = 32 * t->warps_m;
        s.vectors = s.k / 8;
    } else {
        s.each = 8;
        s.cols = 8 * t->products;
        s.lanes_n = t->n / s.cols;
        s.apart = 32 / s.lanes_n * t->warps_m;
        s.vectors = s.k;
    }
    return s;
}

/* True if a thread keeps its elements of the only row in registers (one_row.c): b has rows along k, and a lane requests
   all its vectors together. */
static bool cg__mm_row_in_registers(const cg__mm_strip *s, int warps_n) {
    return s->rows == 1 && warps_n && s->vectors <= s->apart * s->flight;
}

/* True for a LOAD of an operand that is read in vectors. */
static bool cg__mm_in_vectors(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i) {
    const bool misaligned = w->variant->strategy == IND_STRATEGY_MATMUL_ROWS_MISALIGNED;
    if (!o->computed) return (o->copy || misaligned) && i == o->load;
    return i <= o->value && cg__mm_is_resident(w, p, o, i, MM_STAGED | MM_VECTOR);
}

/* The same for a LOAD that is read in vectors or in a run of bytes. */
static bool cg__mm_find_vector(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i,
                               cg__run *run) {
    *run = (cg__run){8, 1, 8};
    return cg__mm_in_vectors(w, p, o, i) || (o->computed && cg__mm_find_run(w, p, o, i, run));
}

/* Ends of the value that an operand's ops compute: it is rounded to the operand's type, as in a tile. */
static void cg__mm_write_rounded(ind__writer *w, const cg__mm_operand *o, bool as_float) {
    const char *type = ind_dtype_name(o->memory);
    if (as_float && o->computed) ind__textf(&w->code, "ind_%s_to_f32(", type);
    if (!as_float || o->computed) ind__textf(&w->code, "ind_f32_to_%s(", type);
    cg__value(w, o->value);
    if (!as_float || o->computed) ind__textf(&w->code, ")");
    if (as_float && o->computed) ind__textf(&w->code, ")");
    cg__use(w, o->memory == IND_F16 ? IND__CG_F16 : IND__CG_BF16);
}

static void cg__mm_forget_memory(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD) w->memory[i] = NULL;
}

/* ---- a, to shared memory ---- */

/* True for a LOAD of a row of a that a vector of 8 elements has. */
static bool cg__mm_in_row_vectors(const ind__writer *w, const cg__mm_problem *p, uint32_t i) {
    return w->needed[i] && p->a.k_major && cg__mm_in_vectors(w, p, &p->a, i);
}

/* Bytes of the vectors of 8 elements of a row of a. */
static int cg__mm_row_vector_bytes(ind__writer *w, const cg__mm_problem *p) {
    int bytes = 0;
    cg__mm_need_operand(w, &p->a);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_in_row_vectors(w, p, i)) bytes += 8 * (int)ind_dtype_bytes(cg__memory_dtype(w, i));
    return bytes;
}

/* Declares `flight` vectors of each LOAD; false: there are none. */
static bool cg__mm_declare_row_vectors(ind__writer *w, const cg__mm_problem *p, int flight) {
    bool any = false;
    cg__mm_need_operand(w, &p->a);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__mm_in_row_vectors(w, p, i)) continue;
        ind__textf(&w->code, "ind_vec<%s, 8> x%u[%d] = {};\n", cg__types[cg__memory_dtype(w, i)].memory, i, flight);
        any = true;
    }
    return any;
}

/* Loads vector u of each, from k = r0 on. */
static void cg__mm_load_row_vectors(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_need_operand(w, &p->a);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_in_row_vectors(w, p, i)) ind__textf(&w->code, "x%u[u] = ind_load<8>(&%s);\n", i, cg__element(w, i));
}

/* The 8 elements of a row of a from k = r0 on, into `made`. The vector of LOAD 7 is x7 and `which`. */
static void cg__mm_write_chunk_elements(ind__writer *w, const cg__mm_problem *p, const char *which) {
    cg__mm_need_operand(w, &p->a);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_in_row_vectors(w, p, i)) w->memory[i] = cg__string(w, "x%u%s.at[j]", i, which);
    cg__emit(w, ~(1u << p->k), IND__CG_ALL_STAGES);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < 8; j++)");
    cg__mm_set_text(w, p->k, "(r0 + j)");
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "made.at[j] = ");
    cg__mm_write_rounded(w, &p->a, false);
    ind__textf(&w->code, ";\n");
    cg__end(w);
    cg__mm_forget_memory(w);
}

/* The same for a single chunk: loads its vectors. */
static void cg__mm_write_row_chunk(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_need_operand(w, &p->a);
    cg__emit(w, ~(1u << p->k), IND__CG_ALL_STAGES);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_in_row_vectors(w, p, i))
            ind__textf(&w->code, "const ind_vec<%s, 8> x%u = ind_load<8>(&%s);\n",
                       cg__types[cg__memory_dtype(w, i)].memory, i, cg__element(w, i));
    cg__mm_write_chunk_elements(w, p, "");
}

static void cg__mm_write_row_copy(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const int64_t chunks = s->k / 8;
    cg__mm_set_plain_names(w);
    cg__begin(w, "for (int at = threadIdx.x; at < %lld; at += %d)", (long long)(s->rows * chunks), w->variant->threads);
    ind__textf(&w->code, "const int x = at / %lld, r0 = at %% %lld * 8;\n", (long long)chunks, (long long)chunks);
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m + x;\n", cg__int(w), p->m);
    ind__textf(&w->code, "ind_vec<unsigned short, 8> made = {};\n");
    cg__begin(w, "if (first_m + x < size_m)");
    cg__mm_write_row_chunk(w, p);
    cg__end(w);
    ind__textf(&w->code, "ind_store(row_a + x * %lld + r0, made);\n", (long long)s->k);
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
}

/* ---- b ---- */

/* The position of vector u of a lane: r0 and i<n>, in a loop over u, and over the columns r if lanes share k. Open
   afterwards: the loops, and the test that the vector exists. */
static void cg__mm_begin_vectors(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    cg__mm_set_plain_names(w);
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", s->flight);
    ind__textf(&w->code, "const int r0 = (first + u * %d)%s;\n", s->apart, p->b.k_major ? " * 8" : "");
    cg__begin(w, "if (r0 < %lld)", (long long)s->k);
}

static void cg__mm_end_vectors(ind__writer *w) {
    cg__end(w);
    cg__end(w);
}

/* A loop over the columns r of a lane. A column outside b is read at the last one. */
static void cg__mm_begin_strip_columns(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const char *type = cg__int(w);
    cg__unroll(w);
    cg__begin(w, "for (int r = 0; r < %d; r++)", p->b.k_major ? s->each : 1);
    if (p->b.k_major)
        ind__textf(&w->code, "const %s i%d = column + r < size_n ? column + r : size_n - 1;\n", type, p->n);
    else
        ind__textf(&w->code, "const %s i%d = column < size_n ? column : 0;\n", type, p->n);
}

/* Vectors of which some lanes have none are set to 0: else ptxas keeps their registers across the loop over the tasks
   of a persistent launch, as a predicated load does not end what they had before. */
static void cg__mm_declare_vectors(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o,
                                   const cg__mm_strip *s) {
    const char *zeros = cg__mm_is_one_row(w, p) && s->vectors % s->apart ? " = {}" : "";
    cg__run run;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_find_vector(w, p, o, i, &run))
            ind__textf(&w->code, "ind_vec<%s, %d> y%u[%d][%d]%s;\n", cg__types[cg__memory_dtype(w, i)].memory,
                       run.bytes, i, s->flight, o->k_major ? s->each : 1, zeros);
}

static void cg__mm_load_vectors(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    cg__run run;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_in_vectors(w, p, o, i))
            ind__textf(&w->code, "y%u[u][r] = ind_load_once<8>(&%s);\n", i, cg__element(w, i));
        else if (cg__mm_find_vector(w, p, o, i, &run))
            ind__textf(&w->code, "y%u[u][r] = ind_load_run<%d, %d>(&%s);\n", i, run.bytes, run.alignment,
                       cg__element(w, i));
    if (o->run_bits) cg__use(w, IND__CG_LOAD_RUN);
}

/* "load": requests the vectors of b from `first` on, and those of b2. */
static void cg__mm_write_strip_load(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const int products = cg__mm_products(p);
    for (int i = 0; i < products; i++) cg__mm_declare_vectors(w, p, cg__mm_right(p, i), s);
    ind__textf(&w->code, "const auto load = [&](int first) {\n");
    w->code.indent++;
    w->scope++;
    cg__mm_begin_vectors(w, p, s);
    cg__mm_begin_strip_columns(w, p, s);
    for (int i = 0; i < products; i++) cg__mm_load_vectors(w, p, cg__mm_right(p, i));
    cg__end(w);
    cg__mm_end_vectors(w);
    cg__mm_end_lambda(w);
    cg__use(w, IND__CG_LOAD_ONCE);
}

/* Multiplies one vector of an operand: 8 elements of k with a column's sums, or 8 columns with one element of k.
   `first` is the first sum of its product. */
static void cg__mm_write_strip_products(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, int first) {
    const bool along_k = o->k_major;
    const int along = along_k ? p->k : p->n;
    const char *base = w->var[along], *sum = along_k ? "r" : "j";
    cg__run run;
    cg__mm_need_operand(w, o);
    cg__emit_same(w, along, 8);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_find_vector(w, p, o, i, &run))
            w->memory[i] = cg__string(w, "y%u[u][r].at[%s]", i, cg__run_element(w, &run));
    cg__set_lane_values(w, along, 8, false);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < 8; j++)");
    w->var[along] = cg__string(w, "(%s + j)", base);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "const float weight = ");
    cg__mm_write_rounded(w, o, true);
    ind__textf(&w->code, ";\n");
    cg__unroll(w);
    ind__textf(&w->code, "for (int m = 0; m < %d; m++) acc[m][%s] += value[m]%s * weight;\n", w->variant->of.tile.m,
               first ? cg__string(w, "%d + %s", first, sum) : sum, along_k ? "[j]" : "");
    cg__end(w);
    w->var[along] = base;
    cg__set_lane_values(w, along, 8, true);
    cg__mm_forget_memory(w);
}

/* The elements of a that a vector of b is multiplied by, as f32. */
static void cg__mm_write_row_values(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const char *type = ind_dtype_name(p->a.memory);
    ind__textf(&w->code, p->b.k_major ? "float value[%d][8];\n" : "float value[%d];\n", s->rows);
    cg__unroll(w);
    cg__begin(w, "for (int m = 0; m < %d; m++)", s->rows);
    if (p->b.k_major) {
        ind__textf(&w->code, "const ind_vec<unsigned short, 8> of_a = ind_load<8>(row_a + m * %lld + r0);\n",
                   (long long)s->k);
        cg__unroll(w);
        ind__textf(&w->code, "for (int j = 0; j < 8; j++) value[m][j] = ind_%s_to_f32(of_a.at[j]);\n", type);
    } else {
        ind__textf(&w->code, "value[m] = ind_%s_to_f32(row_a[m * %lld + r0]);\n", type, (long long)s->k);
    }
    cg__end(w);
}

static void cg__mm_write_strip_loop(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    ind__textf(&w->code, "float acc[%d][%d] = {};\n#pragma unroll 1\n", s->rows, s->cols);
    cg__begin(w, "for (int first = start; first < %lld; first += %d)", (long long)s->vectors, s->apart * s->flight);
    cg__mm_begin_vectors(w, p, s);
    cg__mm_write_row_values(w, p, s);
    cg__mm_begin_strip_columns(w, p, s);
    for (int i = 0; i < cg__mm_products(p); i++) cg__mm_write_strip_products(w, p, cg__mm_right(p, i), i * s->each);
    cg__end(w);
    cg__mm_end_vectors(w);
    ind__textf(&w->code, "load(first + %d);\n", s->apart * s->flight);
    cg__end(w);
}

/* ---- sums ---- */

/* The column of the tile that sum number `at` of a lane is of. The columns of a second product are the second half. */
static const char *cg__mm_strip_column(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const char *lanes = p->b.k_major ? cg__string(w, "warp %% %d * %d", t->warps_n, s->each) : "lane * 8";
    if (t->products == 1) return cg__string(w, "%s + at %% %d", lanes, s->cols);
    return cg__string(w, "at %% %d / %d * %d + %s + at %% %d", s->cols, s->each, t->n / t->products, lanes, s->each);
}

/* Adds `num` sets of sums of the tile, in their order, into the tile that the epilogue reads. */
static void cg__mm_write_strip_total(ind__writer *w, int num) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int sums = t->m * t->n;
    ind__textf(&w->code, "__syncthreads();\n");
    cg__begin(w, "for (int at = threadIdx.x; at < %d; at += %d)", sums, w->variant->threads);
    ind__textf(&w->code, "float total = part[at];\n");
    cg__unroll(w);
    ind__textf(&w->code, "for (int k = 1; k < %d; k++) total += part[k * %d + at];\n", num, sums);
    ind__textf(&w->code, "sum[ind_sum_at<%d>(at / %d, at %% %d)] = total;\n", t->n, t->n, t->n);
    cg__end(w);
    ind__textf(&w->code, sums <= 32 ? "__syncwarp();\n" : "__syncthreads();\n"); /* 32: one warp has them */
    cg__use(w, IND__CG_SUM_TILE);
}

/* Adds the sums of lanes and warps, into the tile that the epilogue reads. */
static void cg__mm_write_strip_sums(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int sums = t->m * t->n;
    const bool whole = p->b.k_major && s->warps_k == 1; /* a warp has all products of its sums */
    const char *column = cg__mm_strip_column(w, p, s);
    cg__unroll(w);
    cg__begin(w, "for (int at = 0; at < %d; at++)", s->rows * s->cols);
    ind__textf(&w->code, "float x = acc[at / %d][at %% %d];\n", s->cols, s->cols);
    cg__unroll(w);
    ind__textf(&w->code, "for (int d = 16; d >= %d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);\n", s->lanes_n);
    if (whole)
        ind__textf(&w->code, "if (lane == 0) sum[ind_sum_at<%d>(at / %d, %s)] = x;\n", t->n, s->cols, column);
    else if (p->b.k_major)
        ind__textf(&w->code, "if (lane == 0) part[warp / %d * %d + at / %d * %d + %s] = x;\n", t->warps_n, sums,
                   s->cols, t->n, column);
    else
        ind__textf(&w->code, "if (lane < %d) part[warp * %d + at / %d * %d + %s] = x;\n", s->lanes_n, sums, s->cols,
                   t->n, column);
    cg__end(w);
    if (whole) ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, IND__CG_SUM_TILE);
    if (!whole) cg__mm_write_strip_total(w, s->warps_k);
}

static void cg__mm_rows_main_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const cg__mm_strip s = cg__mm_strip_of(p, t);
    if (cg__mm_is_one_row(w, p)) {
        cg__mm_one_row_main_loop(w, p);
        return;
    }
    ind__textf(&w->code, "unsigned short *const row_a = reinterpret_cast<unsigned short *>(ind_smem);\n");
    ind__textf(&w->code, "float *const part = reinterpret_cast<float *>(ind_smem + %lld), *const sum = part + %d;\n",
               (long long)s.rows * s.k * 2, s.warps_k * t->m * t->n);
    ind__textf(&w->code, "const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;\n");
    if (p->b.k_major)
        ind__textf(&w->code, "const int start = warp / %d * 32 + lane;\nconst %s column = first_n + warp %% %d * %d;\n",
                   t->warps_n, cg__int(w), t->warps_n, s.each);
    else
        ind__textf(&w->code, "const int start = warp * %d + lane / %d;\nconst %s column = first_n + lane %% %d * 8;\n",
                   32 / s.lanes_n, s.lanes_n, cg__int(w), s.lanes_n);
    cg__mm_write_strip_load(w, p, &s);
    ind__textf(&w->code, "load(start);\n");
    cg__mm_write_wait(w);
    cg__mm_write_statistics(w, p);
    cg__mm_write_row_copy(w, p, &s);
    cg__mm_write_strip_loop(w, p, &s);
    cg__mm_write_strip_sums(w, p, &s);
    cg__use(w, IND__CG_VEC);
}

/* ---- the template ---- */

/* b with rows along k: warps along k, warps along n. Along n: warps_n is 0; all warps share k. The rows of the tile are
   set by `fit`. The last ones, of 4 warps, are for tasks of persistent launches. */
static const cg__mm_config cg__mm_rows_configs[] = {
    {1, 8, 8, 4, 2, 2, 96, 1, 0, 0, 0},   {1, 8, 8, 2, 4, 4, 96, 1, 0, 0, 0},   {1, 16, 8, 1, 8, 4, 96, 1, 0, 0, 0},
    {1, 8, 8, 1, 8, 4, 64, 1, 0, 0, 0},   {1, 8, 8, 1, 8, 8, 96, 1, 0, 0, 0},   {1, 32, 8, 1, 8, 2, 96, 1, 0, 0, 0},
    {1, 8, 8, 4, 4, 2, 64, 1, 0, 0, 0},   {1, 8, 8, 8, 2, 2, 96, 1, 0, 0, 0},   {1, 16, 8, 8, 0, 8, 96, 1, 0, 0, 0},
    {1, 32, 8, 32, 0, 2, 64, 1, 0, 0, 0}, {1, 32, 8, 16, 0, 4, 96, 1, 0, 0, 0}, {1, 16, 8, 16, 0, 4, 96, 1, 0, 0, 0},
    {1, 64, 8, 8, 0, 4, 96, 1, 0, 0, 0},  {1, 64, 8, 16, 0, 4, 96, 1, 0, 0, 0}, {1, 128, 8, 8, 0, 4, 96, 1, 0, 0, 0},
    {1, 8, 8, 1, 4, 4, 96, 1, 0, 0, 0},   {1, 8, 8, 2, 2, 4, 96, 1, 0, 0, 0},   {1, 8, 8, 4, 1, 2, 96, 1, 0, 0, 0},
    {1, 16, 8, 1, 4, 4, 96, 1, 0, 0, 0},  {1, 16, 8, 2, 2, 4, 96, 1, 0, 0, 0},  {1, 32, 8, 1, 4, 2, 96, 1, 0, 0, 0},
    {1, 8, 8, 1, 4, 8, 128, 1, 0, 0, 0},
};

/* Most rows, and bytes of shared memory for a. With 8 rows of 4096 x 4096 bf16 tensor cores were faster: 20 us, 23 here
   (H100). */
enum { MM_MOST_ROWS = 2, MM_ROW_BYTES = 96 << 10, MM_PACKED_ROWS = 64 };

static const char *cg__mm_packed_no_steps(const cg__mm_problem *p);

/* Sets p->few_rows: from the bound of m, or from its hint or the variant's range, if the variant may have a guard. */
static void cg__mm_find_rows(const cg__decider *d, cg__mm_problem *p) {
    const bool packed = !p->packed->no && !cg__mm_packed_no_steps(p);
    const int64_t few = packed ? MM_PACKED_ROWS : MM_MOST_ROWS, hint = ind_hint(p->size_m);
    const int64_t range = p->packed->no ? 0 : d->variant->range.to;
    const bool guard = d->assume & IND__ASSUME_FEW_ROWS && !d->w.schedule->program->options.batch_invariant;
    int64_t least, most;
    if (p->group.indirect) return; /* a tile has the rows of one group */
    ind__known_bounds(p->size_m, &least, &most);
    if (least > few || (most > few && !guard)) return;
    if (guard && range && most > range)
        most = range;
    else if (most > few)
        most = hint <= few ? hint : 1;
    if (most < least) most = least; /* else no launch meets the guard */
    p->few_rows = 1;
    while (p->few_rows < most) p->few_rows *= 2;
}

/* The guard of a variant with few rows, if m has no such bound. */
static void cg__mm_guard_rows(cg__decider *d, const cg__mm_problem *p) {
    int64_t least, most;
    ind__known_bounds(p->size_m, &least, &most);
    if (!p->few_rows || most <= p->few_rows) return;
    d->used |= IND__ASSUME_FEW_ROWS;
    cg__guard(d->variant, ind_expr_le(p->size_m, ind_int(d->w.context, p->few_rows)));
}

static bool cg__mm_reads_vectors(const cg__mm_operand *o) {
    return o->copy || o->staged_bytes || o->run_bits;
}

static const char *cg__mm_rows_match(const cg__mm_problem *p, const ind_target *t) {
    int64_t k;
    (void)t;
    if (!p->few_rows || p->few_rows > MM_MOST_ROWS) return "it may have more than 2 rows";
    if (p->tensor_bytes != 2) return "its operands are not f16 or bf16";
    if (p->n < 0 || p->k < 0) return "it has no columns or no depth";
    if (!ind_expr_is_int(p->size_k, &k) || k < 8 || k % 8) return "its depth is not a constant multiple of 8";
    if (2 * k * p->few_rows > MM_ROW_BYTES) return "its rows exceed shared memory";
    if (p->a.computed && !p->a.statistics) return "a is computed as it is loaded";
    if (p->a.windows || p->b.windows) return "an operand is read through windows";
    for (int i = 0; i < cg__mm_products(p); i++)
        if (!cg__mm_reads_vectors(cg__mm_right(p, i))) return "b is read neither in vectors nor in runs of bytes";
    return p->b.k_major || ind_known_multiple(p->size_n, 8) ? NULL : "its columns are no multiple of 8";
}

/* The lanes' columns and vectors in a configuration. */
static cg__mm_strip cg__mm_strip_of_config(const cg__mm_config *c, const cg__mm_problem *p) {
    const ind__tile_plan tile = {.m = c->tile_m,
                                 .n = c->tile_n,
                                 .products = cg__mm_products(p),
                                 .warps_m = c->warps_m,
                                 .warps_n = c->warps_n,
                                 .stages = c->stages};
    return cg__mm_strip_of(p, &tile);
}

static bool cg__mm_is_config_of_one_row(const cg__mm_config *c, const cg__mm_problem *p) {
    if (!c->warps_n || !p->b.k_major) return false;
    const cg__mm_strip s = cg__mm_strip_of_config(c, p);
    return cg__mm_row_in_registers(&s, c->warps_n);
}

/* Registers of the vectors of a lane's columns and of the row (one_row.c); 0: the row is in shared memory. */
static int cg__mm_one_row_registers(const cg__mm_config *c, const cg__mm_problem *p) {
    if (!cg__mm_is_config_of_one_row(c, p)) return 0;
    const cg__mm_strip s = cg__mm_strip_of_config(c, p);
    const int flight = (int)((s.vectors + s.apart - 1) / s.apart);
    return 4 * flight * (s.cols + (p->a.computed ? 3 : 1)) + 40;
}

/* Sets the rows of the tile, and adds the registers of their sums. */
static void cg__mm_strips_fit(cg__mm_config *c, const cg__mm_problem *p) {
    const int products = cg__mm_products(p);
    c->tile_m = p->few_rows;
    const int sums = c->tile_m * (c->warps_n ? c->tile_n / c->warps_n : 8 * products);
    const int second = c->warps_n ? 0 : (products - 1) * c->stages * 4;
    c->registers += (c->tile_m - 1) * (c->warps_n ? 8 : 1) + sums + second + (p->b.computed ? 32 * products : 0);
}

static void cg__mm_rows_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth;
    (void)index_bits;
    c->tile_m = p->few_rows;
    const int kept = cg__mm_one_row_registers(c, p);
    if (kept > c->registers) c->registers = kept;
    cg__mm_strips_fit(c, p);
}

/* A lane has columns of each product, and the epilogue has vectors of 8. Computed weights: the configurations that were
   fastest for i8 with a scale per column, 1 x 14336 x 4096 (H100: 51 us along k, 65 along n; tensor cores 82). */
static bool cg__mm_rows_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    const int products = cg__mm_products(p);
    if (c->tile_n % ((c->warps_n > 8 ? c->warps_n : 8) * products)) return false;
    const bool fastest = c->warps_n ? c->warps_n == 8 && c->tile_n == 8 * products && c->stages == 4 : c->warps_m == 32;
    if (p->b.computed && !(fastest && p->few_rows == 1)) return false;
    return (c->warps_n > 0) == p->b.k_major && c->registers <= 200;
}

static int cg__mm_rows_threads(const cg__mm_config *c) {
    return 32 * c->warps_m * (c->warps_n ? c->warps_n : 1);
}

static int64_t cg__mm_rows_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    const int64_t sums = (int64_t)4 * c->tile_m * (c->warps_m * c->tile_n + c->tile_n + 8);
    int64_t k = 0;
    (void)ind_expr_is_int(p->size_k, &k);
    return sums + (cg__mm_is_config_of_one_row(c, p) ? 0 : 2 * k * c->tile_m);
}

/* Bytes of an element of b in memory: the mean of two products. */
static double cg__mm_weight_bytes(const cg__mm_problem *p) {
    const cg__mm_operand *const o[2] = {&p->b, p->dot2 ? &p->b2 : &p->b};
    double bytes = 0;
    for (int i = 0; i < 2; i++)
        bytes += o[i]->computed ? o[i]->staged_bytes + o[i]->run_bits / 8.0 : ind_dtype_bytes(o[i]->memory);
    return bytes / 2;
}

/* Starts of blocks that an SM waits for. Later blocks start while the other resident ones read, if the vectors that
   these have in flight keep the SM busy: it takes `wait` of the `busy` cycles to receive all with those of all resident
   blocks. Such starts count only to prefer fewer of them where times are equal. */
static double cg__mm_exposed_starts(double per_sm, double fit, double wait, double busy) {
    const double starts = ceil(per_sm / fit);
    const bool hidden = fit > 1 && per_sm > fit && wait * fit / (fit - 1) <= busy;
    return hidden ? 1 + (starts - 1) / 64 : starts;
}

/* What a lane loads and computes for each element of b. */
typedef struct cg__mm_strip_work {
    double bytes;  /* of an element in memory */
    double unpack; /* instructions that it takes before its conversion and the FMAs */
    double loaded; /* elements of b in the vectors of a block, for each element of its columns */
    double row;    /* instructions of a block for each element of its rows of a */
} cg__mm_strip_work;

/* Instructions of a block for each element of the only row, which each warp loads and normalises. */
static double cg__mm_one_row_work(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t) {
    return c->warps_n * t->row_instructions / (p->a.statistics ? 1.0 : 3);
}

/* For bf16 and f16 weights, the work does not count the row that each warp loads: its figures were fitted so. */
static cg__mm_strip_work cg__mm_strip_work_of(const cg__mm_config *c, const cg__mm_problem *p,
                                              const ind_thresholds *t) {
    const double unpack = p->packed->unpacks ? p->packed->unpacks : 4;
    const bool row = p->b.computed && cg__mm_is_config_of_one_row(c, p);
    return (cg__mm_strip_work){.bytes = cg__mm_weight_bytes(p),
                               .unpack = p->b.computed ? unpack : 0,
                               .loaded = 1,
                               .row = row               ? cg__mm_one_row_work(c, p, t)
                                      : p->a.statistics ? t->row_instructions
                                                        : 0};
}

/* Estimated cycles: those of the busiest SM. It reads b at its share of the memory's rate, or as fast as the vectors in
   flight arrive, or multiplies: a conversion and an FMA per row. (1 x 14336 x 4096: 41 us, estimated 41.9; 1 x 4096 x
   14336: 42.3 and 41.8; H100.) */
static double cg__mm_strips_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                 const ind_target *target, const cg__mm_strip_work *of) {
    const ind_thresholds *t = &target->thresholds;
    const double n = (double)ind_hint(p->size_n), k = (double)ind_hint(p->size_k);
    const int products = cg__mm_products(p);
    const double per_sm = ceil(ceil(n * products / c->tile_n) * (double)ind_hint(p->batch) / target->num_sms);
    const double fit = cg__mm_occupancy(x, p, c, target), together = per_sm < fit ? per_sm : fit;
    const double elements = per_sm * c->tile_n * k, bytes = elements * of->bytes;
    const double all = 2 * together * c->tile_n * k * of->bytes;
    double flight = together * cg__mm_rows_threads(c) * c->stages * 8 * of->bytes *
                    (c->warps_n ? c->tile_n / c->warps_n : products);
    if (flight > all) flight = all; /* the last vectors in flight are waited for half of a latency */
    const double read = bytes / cg__mm_memory_rate(target), wait = bytes * of->loaded / flight * t->product_latency;
    const double multiply =
        (elements * of->loaded * (1 + c->tile_m + of->unpack) + per_sm * c->tile_m * k * of->row) / t->fma_rate;
    const double slowest = read > wait ? read : wait;
    const double busy = slowest > multiply ? slowest : multiply;
    const double start = cg__mm_start_cost(p, t) + (c->warps_m > 1 ? t->product_barrier : 0);
    return busy + start * cg__mm_exposed_starts(per_sm, fit, wait, busy);
}

static double cg__mm_rows_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                               const ind_target *target) {
    const cg__mm_strip_work of = cg__mm_strip_work_of(c, p, &target->thresholds);
    return cg__mm_strips_cost(x, p, c, target, &of);
}

static const cg__mm_template cg__mm_rows = {.strategy = IND_STRATEGY_MATMUL_ROWS,
                                            .match = cg__mm_rows_match,
                                            MM_CONFIGS(cg__mm_rows_configs),
                                            .num_for_tasks = 7,
                                            .fit = cg__mm_rows_fit,
                                            .allows = cg__mm_rows_allows,
                                            .threads = cg__mm_rows_threads,
                                            .tile_bytes = cg__mm_rows_bytes,
                                            .cost = cg__mm_rows_cost,
                                            .alone = true,
                                            .alignment = 16,
                                            .main_loop = cg__mm_rows_main_loop};
