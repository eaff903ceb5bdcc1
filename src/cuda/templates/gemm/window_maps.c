/* Windows of images that bulk copies bring (cuTensorMapEncodeIm2col): a row of the tile is a window's element of one
   tap, in so many channels. The copy finds windows of the next line and of the next image itself, and what is outside
   an image is 0. Each step of k has channels of one tap. */

/* The corner of the last windows along a dimension, so that there are as many as the product has rows. */
static bool cg__mm_upper_corner(const cg__mm_window_dim *dim, int most, int *upper) {
    ind_context *c = dim->size.context;
    const ind_expr end = ind_expr_add(dim->size, ind_int(c, dim->before)); /* less the lower corner */
    const ind_expr last = ind_expr_mul(ind_expr_sub(dim->places, ind_int(c, 1)), ind_int(c, dim->step));
    int64_t corner = 0;
    bool found = ind_expr_is_int(ind_expr_sub(ind_expr_add(last, ind_int(c, 1)), end), &corner);
    const int64_t first = dim->before - dim->dilation * (dim->num_taps - 1);
    for (int64_t i = 0; i <= dim->step && !found; i++) {
        corner = first - i;
        const ind_expr span = ind_expr_add(end, ind_int(c, corner));
        found = ind_known_eq(ind_expr_ceildiv(span, ind_int(c, dim->step)), dim->places);
    }
    *upper = (int)corner;
    return found && corner <= most && corner >= -most - 1;
}

/* The offset from the first element of a window to the last one, in the last phase. */
static int64_t cg__mm_last_offset(const cg__mm_window_dim *dim) {
    return dim->dilation * (dim->num_taps - 1) + dim->most_shift;
}

/* True if a phase does not have all taps. */
static bool cg__mm_is_limited(const cg__mm_window *x) {
    bool any = false;
    for (int i = 0; i < x->rank; i++) any = any || ind__ok(x->dim[i].limit);
    return any;
}

/* The map of a's windows, if tensor cores multiply them; boxes are of a chunk of channels. */
static const char *cg__mm_find_window_map(const cg__mm_problem *p, ind__tensor_map *map) {
    const cg__mm_window *x = p->windows.image;
    const int channels = 128 / p->tensor_bytes, most = x->rank == 1 ? 32767 : x->rank == 2 ? 127 : 15;
    if (!p->a.copy) return "a chunk of 16 bytes is not inside of a tap";
    if (x->no) return x->no;
    if (!x->taps_first) return "its depth is not the taps in order, then the channels";
    if (x->channels % channels) return "its channels are not a multiple of 128 bytes";
    if (cg__mm_is_limited(x) && !ind_expr_is_int(x->groups, NULL)) return "its groups are not a constant";
    *map = (ind__tensor_map){.dtype = p->a.memory, .swizzle = 128, .tf32 = p->tensor_bytes == 4, .offset = x->offset};
    ind_context *c = x->offset.context;
    const char *no = cg__mm_add_dim(map, ind_expr_mul(x->groups, ind_int(c, x->channels)), ind_int(c, 1), channels);
    for (int i = 0; i < x->rank && !no; i++) {
        const cg__mm_window_dim *dim = &x->dim[i];
        if (dim->step > 8 || dim->before > most || cg__mm_last_offset(dim) > 2 * most + 1)
            return "its stride, padding or dilation is above that of a tensor map";
        map->windows.lower[i] = (int)-dim->before;
        map->windows.step[i] = (int)dim->step;
        if (!cg__mm_upper_corner(dim, most, &map->windows.upper[i]))
            return "the padding after its windows is not a constant of a tensor map";
        no = cg__mm_add_dim(map, dim->size, dim->stride, 1);
    }
    if (!no) no = cg__mm_add_dim(map, x->images, x->image_stride, 1);
    map->windows.rank = x->rank;
    return no || cg__is_declared(x->offset) ? no : "an operand's offset depends on data";
}

/* Declares the first window of the tile, or of the block's part of it: place_0, .., and "image". */
static void cg__mm_write_first_window(ind__writer *w, const cg__mm_problem *p) {
    const ind__tensor_map *map = p->map[0];
    if (!map || !map->windows.rank) return;
    const char *part = cg__mm_sharing_blocks(w->variant, 'a') > 1 ? cg__string(w, " + rank_n * %d", map->box[1]) : "";
    ind__textf(&w->code, "%s image = (%s)(tile_m%s);\n", cg__unsigned(w), cg__unsigned(w), part);
    for (int i = 0; i < map->windows.rank; i++) {
        const char *places = cg__divisor(w, p->windows.image->dim[i].places);
        ind__textf(&w->code, "const int place_%d = (int)(image %% %s) * %d - %d;\nimage /= %s;\n", i, places,
                   map->windows.step[i], -map->windows.lower[i], places);
    }
}

/* Declares the channel and the tap of the step from first_k on: tap_0, .. For a tap that the phase does not have, the
   channel is one that no group has: the copy brings zeros. */
static void cg__mm_write_tap(ind__writer *w, const cg__mm_problem *p) {
    const ind__tensor_map *map = p->map[0];
    if (!map || !map->windows.rank) return;
    const cg__mm_window *x = p->windows.image;
    const bool limited = cg__mm_is_limited(x);
    int64_t groups = 1;
    (void)ind_expr_is_int(x->groups, &groups);
    ind__textf(&w->code, "unsigned tap = (unsigned)first_k / %lldu;\n", (long long)x->channels);
    ind__textf(&w->code, "%sint channel = (int)((unsigned)first_k - tap * %lldu);\n", limited ? "" : "const ",
               (long long)x->channels);
    for (int i = 0; i < map->windows.rank; i++) {
        const cg__mm_window_dim *dim = &x->dim[i];
        const char *shift =
            ind__ok(dim->shift) ? cg__string(w, " + (unsigned)(%s)", cg__expr_string(w, dim->shift)) : "";
        if (ind__ok(dim->limit))
            ind__textf(&w->code, "if ((int)(tap %% %lldu) * %lld + %s < 0) channel = %lld;\n", (long long)dim->num_taps,
                       (long long)dim->limit_by, cg__expr_string(w, dim->limit), (long long)(groups * x->channels));
        ind__textf(&w->code, "const unsigned short tap_%d = (unsigned short)(tap %% %lldu * %lldu%s);\ntap /= %lldu;\n",
                   i, (long long)dim->num_taps, (long long)dim->dilation, shift, (long long)dim->num_taps);
    }
}

/* The copy of the tile's windows. */
static void cg__mm_write_windows(ind__writer *w, const cg__mm_problem *p) {
    const ind__tensor_map *map = p->map[0];
    const bool shared = cg__mm_sharing_blocks(w->variant, 'a') > 1;
    const int rank = map->windows.rank;
    ind__textf(&w->code, "ind_%s_windows<%d>(tile_a + stage * %d", shared ? "multicast" : "copy", rank,
               cg__mm_units(p, cg__mm_stage_elements(w->variant, 'a')));
    if (shared) ind__textf(&w->code, " + rank_n * %d", cg__mm_units(p, map->box[1] * map->box[0]));
    ind__textf(&w->code, ", map_a, full + stage, %schannel", shared ? "share_a, " : "");
    if (ind__ok(p->windows.image->group))
        ind__textf(&w->code, " + (int)%s * %lld", cg__expr_string(w, p->windows.image->group),
                   (long long)p->windows.image->channels);
    ind__textf(&w->code, ", (int)image");
    for (int i = 0; i < rank; i++) ind__textf(&w->code, ", place_%d, tap_%d", i, i);
    ind__textf(&w->code, ");\n");
    cg__use(w, shared ? IND__CG_MULTICAST_WINDOWS : IND__CG_WINDOWS);
}
