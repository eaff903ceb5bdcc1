/* Tiles of windows whose lines are in shared memory (window_lines.c). */

/* Declares "y" for each outer dimension, "image" and "inside" for line `line` of results and line `part` of its window.
 */
static void cg__mm_write_line_place(ind__writer *w, const cg__mm_problem *p, const cg__mm_lines *y) {
    const cg__mm_window *x = p->windows.image;
    const char *rest = "line", *tap = "part";
    ind__textf(&w->code, "bool inside = line < lines_all && from_line >= 0 && from_line < %lld;\n",
               (long long)y->length);
    ind__textf(&w->code, "%s from = %s + from_line;\n", cg__int(w), cg__expr_string(w, x->offset));
    for (int i = 1; i < x->rank; i++) {
        const cg__mm_window_dim *dim = &x->dim[i];
        const char *places = cg__divisor(w, dim->places);
        ind__textf(&w->code, "const int y_%d = (int)(%s %% %s) * %lld + (int)(%s %% %lldu) * %lld - %lld;\n", i, rest,
                   places, (long long)dim->step, tap, (long long)dim->num_taps, (long long)dim->dilation,
                   (long long)dim->before);
        ind__textf(&w->code, "inside = inside && (unsigned)y_%d < (unsigned)(%s);\nfrom += (%s)y_%d * %s;\n", i,
                   cg__expr_string(w, dim->size), cg__int(w), i, cg__expr_string(w, dim->stride));
        rest = cg__string(w, "(%s / %s)", rest, places);
        tap = cg__string(w, "(%s / %lldu)", tap, (long long)dim->num_taps);
    }
    ind__textf(&w->code, "from += (%s)%s * %s;\n", cg__int(w), rest, cg__expr_string(w, x->image_stride));
    if (x->outer_channels > 1)
        ind__textf(&w->code, "from += (%s)%s * %s;\n", cg__int(w), tap, cg__expr_string(w, x->outer_stride));
}

/* The place of element k of depth in the lines of a window, into places[k]. */
static void cg__mm_write_places(ind__writer *w, const cg__mm_problem *p, const cg__mm_lines *y) {
    const cg__mm_window *x = p->windows.image;
    int64_t k = 0, stride = 0, lines[MM_WINDOW_ROWS] = {0, 1}, all = 1;
    (void)ind_expr_is_int(p->size_k, &k);
    (void)ind_expr_is_int(x->dim[0].stride, &stride);
    for (int i = 1; i < x->rank; i++) lines[i] = all, all *= x->dim[i].num_taps;
    const int tile_k = w->variant->of.tile.k;
    cg__begin(w, "for (int k = threadIdx.x; k < %lld; k += %d)", (long long)((k + tile_k - 1) / tile_k * tile_k),
              w->variant->threads);
    ind__textf(&w->code, "int rest = k < %lld ? k : 0, place = 0;\n", (long long)k);
    for (int i = x->num_depth - 1; i >= 0; i--) {
        const cg__mm_window_depth *depth = &x->depth[i];
        const int64_t by = depth->of == MM_CHANNELS         ? 1
                           : depth->of == MM_OUTER_CHANNELS ? all * y->pitch
                           : depth->of == 0                 ? x->dim[0].dilation * stride
                                                            : lines[depth->of] * y->pitch;
        ind__textf(&w->code, "place += rest %% %lld * %lld;\nrest /= %lld;\n", (long long)depth->size, (long long)by,
                   (long long)depth->size);
    }
    ind__textf(&w->code, "places[k] = (unsigned short)place;\n");
    cg__end(w);
}

/* Copies the lines of the tile, and declares "row_at": where the row of this thread begins in them. *offset: of the
   lines in shared memory, bytes. */
static void cg__mm_write_lines(ind__writer *w, const cg__mm_problem *p, int *offset) {
    const ind__tile_plan *t = &w->variant->of.tile;
    cg__mm_lines y;
    if (!p->a.lines || !cg__mm_find_lines(p, t->m, &y)) return;
    const int64_t elements = y.num * y.each * y.pitch,
                  start = p->windows.image->dim[0].before * y.apart / p->windows.image->dim[0].step;
    const char *source = cg__buffer(w, cg__inst(w, p->a.load)->source), *position = cg__unsigned(w);
    ind__textf(&w->code,
               "unsigned short *const lines = reinterpret_cast<unsigned short *>(ind_smem + %d);\n"
               "unsigned short *const places = reinterpret_cast<unsigned short *>(ind_smem + %lld);\n",
               *offset, (long long)(*offset + elements * 2));
    *offset += (int)cg__mm_lines_bytes(p, t->m, t->k);
    ind__textf(&w->code, "const %s first_line = (%s)first_m / %lldu, lines_all = (%s)size_m / %lldu;\n", position,
               position, (long long)y.places, position, (long long)y.places);
    ind__textf(&w->code, "const int first_start = (int)((%s)first_m %% %lldu) * %lld - %lld;\n", position,
               (long long)y.places, (long long)y.apart, (long long)start);
    cg__begin(w, "for (int at = threadIdx.x; at < %lld; at += %d)", (long long)(elements / 8), w->variant->threads);
    ind__textf(&w->code,
               "const unsigned number = (unsigned)at / %lldu, out = number / %lldu, part = number - out * %lldu;\n",
               (long long)(y.pitch / 8), (long long)y.each, (long long)y.each);
    ind__textf(&w->code,
               "const %s line = first_line + out;\nconst int from_line = ((out ? %lld : first_start) & ~7) + (at "
               "- (int)number * %lld) * 8;\n",
               position, (long long)-start, (long long)(y.pitch / 8));
    cg__mm_write_line_place(w, p, &y);
    ind__textf(&w->code, "ind_cp_async16(lines + at * 8, %s + (inside ? from : 0), inside ? 16 : 0);\n", source);
    cg__end(w);
    cg__mm_write_places(w, p, &y);
    ind__textf(&w->code,
               "ind_cp_async_commit();\n"
               "const %s own_row = (%s)first_m + threadIdx.x %% %d, own_line = own_row / %lldu - first_line;\n"
               "const int row_at = (int)own_line * %lld + (int)(own_row %% %lldu) * %lld - %lld - ((own_line ? %lld : "
               "first_start) & ~7);\n",
               position, position, t->m, (long long)y.places, (long long)(y.each * y.pitch), (long long)y.places,
               (long long)y.apart, (long long)start, (long long)-start);
    ind__textf(&w->code, "ind_cp_async_wait<0>();\n__syncthreads();\n");
    cg__use(w, IND__CG_CP_ASYNC);
    cg__use(w, IND__CG_VEC);
}

/* A step of the tile: chunks of 8 elements of the thread's row. Elements after the depth are 0. */
static void cg__mm_write_gathered_lines(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int apart = w->variant->threads / t->m, chunks = t->k / 8;
    int64_t k = 0;
    (void)ind_expr_is_int(p->size_k, &k);
    cg__unroll(w);
    cg__begin(w, "for (int i = 0; i < %d; i++)", (chunks + apart - 1) / apart);
    ind__textf(&w->code, "const int chunk = i * %d + (int)threadIdx.x / %d, k = (int)first_k + chunk * 8;\n", apart,
               t->m);
    if (chunks % apart) ind__textf(&w->code, "if (chunk >= %d) break;\n", chunks);
    ind__textf(&w->code, "const ind_vec<unsigned short, 8> place = ind_load<8>(places + k);\n"
                         "ind_vec<unsigned short, 8> x;\n#pragma unroll\n"
                         "for (int j = 0; j < 8; j++) x.at[j] = lines[row_at + place.at[j]];\n");
    if (k % 8) {
        cg__begin(w, "if (k + 8 > %lld)", (long long)k);
        cg__unroll(w);
        ind__textf(&w->code, "for (int j = 0; j < 8; j++) x.at[j] = k + j < %lld ? x.at[j] : 0;\n", (long long)k);
        cg__end(w);
    } else if (k % t->k) {
        ind__textf(&w->code, "if (k >= %lld) x = {};\n", (long long)k);
    }
    ind__textf(&w->code, "ind_store(tile_a + ind_tile_at<%d, %d>(threadIdx.x %% %d, chunk), x);\n", t->m, t->k, t->m);
    cg__end(w);
    cg__use(w, IND__CG_HALF_TILE);
}
