/* ---------------------------------------------------------------------------------------------- >>transpose */

/* True if LOAD i is read through the tile: contiguous along y, neither contiguous nor constant along x. */
static bool cg__through_tile(const ind__writer *w, uint32_t i, int x, int y) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_LOAD && !inst->arg[0] && w->plan->varies[i] >> x & 1 && !cg__contiguous(w, i, x) &&
           cg__contiguous(w, i, y) && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* Returns the variable along which loads are contiguous although they are strided along the innermost one. -1: none, or
   it is too short for tiles. */
static int cg__transposed_var(const ind__writer *w) {
    int x = w->plan->domain.rank - 1, best = -1, most = 0;
    for (int y = 0; y < x; y++) {
        int bytes = 0;
        for (uint32_t i = 1; i < w->body->num_inst; i++)
            if (cg__through_tile(w, i, x, y)) bytes += ind_dtype_bytes(cg__memory_dtype(w, i));
        bool long_enough = ind_hint(w->plan->domain.extent[y]) >= 8 && ind_hint(w->plan->domain.extent[x]) >= 8;
        if (bytes > most && long_enough) {
            most = bytes;
            best = y;
        }
    }
    return best;
}

/* Sets the grid: tiles of x (fastest), tiles of y, and the other variables. */
static void cg__tile_blocks(const ind__writer *w, int x, int y, ind_expr blocks[3]) {
    ind_expr tile = ind_int(w->context, w->variant->of.tile.m);
    blocks[0] = ind_expr_ceildiv(w->plan->domain.extent[x], tile);
    blocks[1] = ind_expr_ceildiv(w->plan->domain.extent[y], tile);
    blocks[2] = ind_int(w->context, 1);
    for (int v = 0; v < w->plan->domain.rank; v++)
        if (v != x && v != y) blocks[2] = ind_expr_mul(blocks[2], w->plan->domain.extent[v]);
}

static void cg__emit_tile_position(ind__writer *w, int x, int y) {
    int tile = w->variant->of.tile.m;
    const char *at[3];
    ind_expr blocks[3];
    cg__tile_blocks(w, x, y, blocks);
    ind__textf(&w->code, "const int tx = threadIdx.x %% %d, ty = threadIdx.x / %d;\n", tile, tile);
    cg__write_axes(w, blocks, at);
    ind__textf(&w->code, "const %s x0 = (%s)%s * %d, y0 = (%s)%s * %d;\n", cg__int(w), cg__int(w), at[0], tile,
               cg__int(w), at[1], tile);
    cg__write_outer_vars(w, at[2], 1u << x | 1u << y);
}

/* Opens the loop over a thread's elements of the tile. `along_y`: consecutive threads are neighbours in y, else in x.
 */
static void cg__begin_tile(ind__writer *w, int x, int y, bool along_y) {
    int step = w->variant->threads / w->variant->of.tile.m;
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", w->variant->per_thread);
    ind__textf(&w->code,
               along_y ? "const %s x = x0 + ty + k * %d, y = y0 + tx;\n"
                       : "const %s x = x0 + tx, y = y0 + ty + k * %d;\n",
               cg__int(w), step);
    w->var[x] = "x";
    w->var[y] = "y";
    cg__begin(w, "if (x < %s && y < %s)", cg__expr_string(w, w->plan->domain.extent[x]),
              cg__expr_string(w, w->plan->domain.extent[y]));
}

/* Source of a load's element, in ind__writer.resident. */
enum { IND__CG_DIRECTLY, IND__CG_THROUGH_TILE, IND__CG_BESIDE_TILE };

#define IND__CG_MAX_TILE_BYTES 49152 /* shared memory available without opt-in (CUDA C Programming Guide) */

#define IND__CG_MAX_TILES 4 /* of at most 8.5 KB; further loads are direct */

/* Declares the tiles. Their rows are padded so that the elements of a column are in different banks. */
static void cg__emit_tile_arrays(ind__writer *w) {
    int tile = w->variant->of.tile.m;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (w->plan->resident[i] == IND__CG_DIRECTLY) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i)), pad = bytes < 4 ? 4 / bytes : 1;
        if (w->plan->resident[i] == IND__CG_THROUGH_TILE)
            ind__textf(&w->code, "__shared__ %s tile%u[%d][%d];\n", type, i, tile, tile + pad);
        else
            ind__textf(&w->code, "%s x%u[%d];\n", type, i, w->variant->per_thread);
    }
}

static void cg__emit_tile_loads(ind__writer *w, int x, int y, uint8_t which) {
    int step = w->variant->threads / w->variant->of.tile.m;
    bool tile = which == IND__CG_THROUGH_TILE, any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) any |= w->plan->resident[i] == which;
    if (!any) return;
    cg__begin_tile(w, x, y, tile);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (w->plan->resident[i] != which) continue;
        const char *element = cg__element(w, i);
        if (tile)
            ind__textf(&w->code, "tile%u[ty + k * %d][tx] = %s;\n", i, step, element);
        else
            ind__textf(&w->code, "x%u[k] = %s;\n", i, element);
    }
    cg__end_tile(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->resident[i] == which)
            w->memory[i] = tile ? cg__string(w, "tile%u[tx][ty + k * %d]", i, step) : cg__string(w, "x%u[k]", i);
}

static ind_status cg__emit_scalar_transpose(ind__writer *w, int y) {
    int x = w->plan->domain.rank - 1;
    cg__emit_tile_arrays(w);
    cg__emit_tile_position(w, x, y);
    cg__emit_tile_loads(w, x, y, IND__CG_BESIDE_TILE);
    cg__emit_tile_loads(w, x, y, IND__CG_THROUGH_TILE);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__begin_tile(w, x, y, false);
    cg__need_stores(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end_tile(w);
    return IND_OK;
}

/* ---- tiles moved by vectors. Memory is read in vectors of n along y and written in vectors of n along x. A tile in
   shared memory has the layout in which it is read, x by x. A unit has `group` neighbours in y that fill 4 bytes (one
   element, if it is that wide). One unit of padding follows each x. A thread writes one vector for each y of a group:
   it reads n units, each from another x, and takes one element of each per y. Lanes of a warp have no bank conflicts. A
   warp stores 8 vectors of 4 units for 4 neighbours in x (x * (odd) + 4 * vector). It reads 32 / n vectors of n
   neighbours, in units of y (n * (odd) * vector + unit). */

typedef struct cg__tiling {
    int x, y, size, n, group;
    bool full_x, full_y;         /* no tile crosses the end */
    int load_steps, load_rows;   /* iterations of the loop that fills the tile, and the x of each */
    int store_steps, store_rows; /* iterations of the loop that writes results, and the units of y of each */
} cg__tiling;

static int cg__widest_tile(const ind__writer *w, int x, int y) {
    int widest = 1;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__through_tile(w, i, x, y)) continue;
        const int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

static cg__tiling cg__tiling_of(const ind__writer *w, int x, int y) {
    const ind__variant *v = w->variant;
    cg__tiling t = {.x = x, .y = y, .size = v->of.tile.m, .n = v->vector};
    const int widest = cg__widest_tile(w, x, y), warps_x = t.size / 32;
    t.group = widest < 4 ? 4 / widest : 1;
    t.full_x = ind_known_multiple(w->plan->domain.extent[x], t.size);
    t.full_y = ind_known_multiple(w->plan->domain.extent[y], t.size);
    t.load_rows = v->threads / (t.size / t.n);
    t.load_steps = t.size / t.load_rows;
    t.store_rows = v->threads / 32 / warps_x * t.n;
    t.store_steps = t.size / t.group / t.store_rows;
    return t;
}

/* Returns the type of a group of neighbours of load i, as "unsigned short". */
static const char *cg__tile_unit(const ind__writer *w, const cg__tiling *t, uint32_t i) {
    ind_dtype type = cg__memory_dtype(w, i);
    const int bytes = t->group * ind_dtype_bytes(type);
    return t->group == 1 ? cg__types[type].memory : bytes == 4 ? "unsigned" : "unsigned short";
}

static void cg__emit_vector_tile_arrays(ind__writer *w, const cg__tiling *t) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const int units = t->size / t->group;
        if (w->plan->resident[i] == IND__CG_THROUGH_TILE) {
            ind__textf(&w->code, "__shared__ %s tile%u[%d][%d];\n", cg__tile_unit(w, t, i), i, t->size, units + 1);
            ind__textf(&w->code, "ind_vec<%s, %d> z%u[%d];\n", cg__tile_unit(w, t, i), t->n / t->group, i,
                       t->load_steps);
        }
        if (w->plan->resident[i] == IND__CG_BESIDE_TILE)
            ind__textf(&w->code, "ind_vec<%s, %d> x%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory, t->n, i,
                       t->store_steps * t->group);
    }
}

/* Declares the thread's positions in the tile, for the vectors that it reads and for those that it writes. */
static void cg__emit_vector_tile_position(ind__writer *w, const cg__tiling *t) {
    const int vectors = t->size / t->n / 8, across = 32 / t->n, warps_x = t->size / 32;
    const char *at[3];
    ind_expr blocks[3];
    cg__tile_blocks(w, t->x, t->y, blocks);
    ind__textf(&w->code, "const int lane = threadIdx.x %% 32, warp = threadIdx.x / 32;\n");
    ind__textf(&w->code, "const int from_x = lane / 8 + warp / %d * 4, from_y = (lane %% 8 + warp %% %d * 8) * %d;\n",
               vectors, vectors, t->n);
    ind__textf(&w->code, "const int to_x = (lane %% %d + warp %% %d * %d) * %d, to_y = lane / %d + warp / %d * %d;\n",
               across, warps_x, across, t->n, across, warps_x, t->n);
    cg__write_axes(w, blocks, at);
    ind__textf(&w->code, "const %s x0 = (%s)%s * %d, y0 = (%s)%s * %d;\n", cg__int(w), cg__int(w), at[0], t->size,
               cg__int(w), at[1], t->size);
    cg__write_outer_vars(w, at[2], 1u << t->x | 1u << t->y);
}

/* Opens "if (x < 100 && y < 60)", without the conditions that always hold. */
static void cg__begin_inside(ind__writer *w, const cg__tiling *t) {
    const ind_expr *extent = w->plan->domain.extent;
    const char *in_x = t->full_x ? "" : cg__string(w, "x < %s", cg__expr_string(w, extent[t->x]));
    const char *in_y = t->full_y ? "" : cg__string(w, "y < %s", cg__expr_string(w, extent[t->y]));
    if (t->full_x && t->full_y) return;
    cg__begin(w, "if (%s%s%s)", in_x, t->full_x || t->full_y ? "" : " && ", in_y);
}

static void cg__end_vector_tile(ind__writer *w, const cg__tiling *t) {
    if (!t->full_x || !t->full_y) cg__end(w);
    cg__end(w);
}

static void cg__begin_tile_load(ind__writer *w, const cg__tiling *t) {
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", t->load_steps);
    ind__textf(&w->code, "const %s x = x0 + from_x + k * %d, y = y0 + from_y;\n", cg__int(w), t->load_rows);
    cg__begin_inside(w, t);
}

/* Writes the loop that fills the tile. All loads are in flight before the first one is waited for. */
static void cg__emit_vector_tile_loads(ind__writer *w, const cg__tiling *t) {
    for (int pass = 0; pass < 2; pass++) {
        cg__begin_tile_load(w, t);
        for (uint32_t i = 1; i < w->body->num_inst; i++) {
            if (w->plan->resident[i] != IND__CG_THROUGH_TILE) continue;
            const char *unit = cg__tile_unit(w, t, i);
            const int units = t->n / t->group;
            if (pass == 0) {
                ind__textf(&w->code, "z%u[k] = ind_load<%d>((const %s *)&%s);\n", i, units, unit, cg__element(w, i));
                continue;
            }
            cg__unroll(w);
            ind__textf(&w->code, "for (int j = 0; j < %d; j++) tile%u[from_x + k * %d][from_y / %d + j] = ", units, i,
                       t->load_rows, t->group);
            ind__textf(&w->code, "z%u[k].at[j];\n", i);
        }
        cg__end_vector_tile(w, t);
    }
}

/* Opens the loop over the vectors that a thread writes; cg__end_vector_tile closes it. */
static void cg__begin_tile_store(ind__writer *w, const cg__tiling *t) {
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", t->store_steps * t->group);
    if (t->group == 1)
        ind__textf(&w->code, "const %s x = x0 + to_x, y = y0 + to_y + k * %d;\n", cg__int(w), t->store_rows);
    else
        ind__textf(&w->code, "const %s x = x0 + to_x, y = y0 + (to_y + k / %d * %d) * %d + k %% %d;\n", cg__int(w),
                   t->group, t->store_rows, t->group, t->group);
    cg__begin_inside(w, t);
}

static void cg__emit_vector_loads_beside(ind__writer *w, const cg__tiling *t) {
    bool any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) any |= w->plan->resident[i] == IND__CG_BESIDE_TILE;
    if (!any) return;
    cg__begin_tile_store(w, t);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->resident[i] == IND__CG_BESIDE_TILE)
            ind__textf(&w->code, "x%u[k] = ind_load<%d>(&%s);\n", i, t->n, cg__element(w, i));
    cg__end_vector_tile(w, t);
}

/* Sets the expression with which each load reads element j of the vector that is written. */
static void cg__set_tile_elements(ind__writer *w, const cg__tiling *t) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (w->plan->resident[i] == IND__CG_BESIDE_TILE) w->memory[i] = cg__string(w, "x%u[k].at[j]", i);
        if (w->plan->resident[i] != IND__CG_THROUGH_TILE) continue;
        const ind_dtype type = cg__memory_dtype(w, i);
        w->memory[i] = t->group == 1 ? cg__string(w, "tile%u[to_x + j][to_y + k * %d]", i, t->store_rows)
                                     : cg__string(w, "(%s)(tile%u[to_x + j][to_y + k / %d * %d] >> k %% %d * %d)",
                                                  cg__types[type].memory, i, t->group, t->store_rows, t->group,
                                                  8 * ind_dtype_bytes(type));
    }
}

static ind_status cg__emit_vector_transpose(ind__writer *w, int y) {
    const cg__tiling t = cg__tiling_of(w, w->plan->domain.rank - 1, y);
    w->var[t.x] = "x";
    w->var[t.y] = "y";
    cg__use(w, IND__CG_VEC);
    cg__emit_vector_tile_arrays(w, &t);
    cg__emit_vector_tile_position(w, &t);
    cg__emit_vector_loads_beside(w, &t);
    cg__emit_vector_tile_loads(w, &t);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__set_tile_elements(w, &t);
    cg__begin_tile_store(w, &t);
    cg__need_stores(w);
    cg__emit_vector_body(w, t.x, "x");
    cg__end_vector_tile(w, &t);
    return IND_OK;
}

static ind_status cg__emit_transpose(ind__writer *w) {
    const int y = w->plan->tile_y;
    return w->variant->vector > 1 ? cg__emit_vector_transpose(w, y) : cg__emit_scalar_transpose(w, y);
}
