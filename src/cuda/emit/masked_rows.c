/* ---- rows that a mask seldom selects. With one thread per point, almost all threads only evaluate the mask, and all
   threads of a row evaluate the same one. Here a warp evaluates it for 32 rows at once, one per lane, and loops over
   the selected rows. A lane does one access per row, so that several warps share a long row. Time of a segment sum over
   index lists, 65536 rows of 512 f32, H200, us in addition to a launch, one thread per point and this variant: 21.2 and
   0.7 if the lists have all rows, 21.4 and 3.5 if they lack a tenth, 84 and 87 if they have none. With four accesses
   per lane: 0.6, 7.9 and 92. */

#define IND__CG_MASKED_ROWS 32 /* one per lane */

/* Returns the number of segments of a row. A warp takes one segment. */
static ind_expr cg__masked_segments(const ind__writer *w) {
    return ind_expr_ceildiv(w->plan->domain.extent[w->plan->domain.rank - 1],
                            ind_int(w->context, 32 * w->variant->per_thread));
}

static ind_expr cg__masked_rows(const ind__writer *w) {
    return ind_expr_product(w->context, w->plan->domain.extent, w->plan->domain.rank - 1);
}

/* Writes "const int segment = .., first = ..": the warp's segment of a row, and its first row. */
static void cg__emit_masked_position(ind__writer *w) {
    const ind_expr segments = cg__masked_segments(w);
    const char *type = cg__int(w), *block = w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x";
    const bool one = ind_known_eq(segments, ind_int(w->context, 1));
    const char *warp = cg__string(w, "(%s * %d + threadIdx.x / 32)", block, w->variant->threads / 32);
    ind__textf(&w->code, "const int lane = threadIdx.x %% 32;\n");
    if (one) {
        ind__textf(&w->code, "const %s first = %s * %d;\n", type, warp, IND__CG_MASKED_ROWS);
        return;
    }
    ind__textf(&w->code, "const %s warp = %s, group = warp / %s, first = group * %d;\n", type, warp,
               cg__expr_string(w, segments), IND__CG_MASKED_ROWS);
    ind__textf(&w->code, "const %s segment = (warp - group * %s) * %d;\n", type, cg__expr_string(w, segments),
               32 * w->variant->per_thread);
}

/* Writes "holds": the mask's value for the row of this lane. */
static void cg__emit_masked_question(ind__writer *w, const char *row, uint32_t mask) {
    ind__textf(&w->code, "bool holds = false;\n");
    cg__begin(w, "if (first + lane < %s)", cg__expr_string(w, cg__masked_rows(w)));
    ind__textf(&w->code, "const %s %s = first + lane;\n", cg__int(w), row);
    cg__split_linear(w, row, 0, w->plan->domain.rank - 1);
    cg__need_none(w);
    cg__need(w, mask);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "holds = ");
    cg__value(w, mask);
    ind__textf(&w->code, ";\n");
    cg__end(w);
}

/* Writes the work of the warp on its segment of the current row. */
static void cg__emit_masked_segment(ind__writer *w, const char *row) {
    const int n = w->variant->vector, last = w->plan->domain.rank - 1;
    const char *length = cg__expr_string(w, w->plan->domain.extent[last]), *at = cg__string(w, "i%d", last);
    const bool one = ind_known_eq(cg__masked_segments(w), ind_int(w->context, 1));
    ind__textf(&w->code, "const %s %s = %slane", cg__int(w), at, one ? "" : "segment + ");
    ind__textf(&w->code, n > 1 ? " * %d;\n" : ";\n", n);
    cg__begin(w, "if (%s < %s)", at, length);
    if (cg__is_used(w, w->linear[last]))
        ind__textf(&w->code, "const %s p = %s * %s + %s;\n", cg__int(w), row, length, at);
    w->var[last] = at;
    w->linear_name[last] = "p";
    if (n > 1)
        cg__emit_vector_body(w, last, at);
    else
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
}

static ind_status cg__emit_masked(ind__writer *w) {
    const int last = w->plan->domain.rank - 1;
    const char *row = last == 1 ? "i0" : "row";
    const uint32_t mask = w->plan->mask;
    cg__use_positions(w);
    cg__emit_masked_position(w);
    cg__emit_masked_question(w, row, mask);
    cg__begin(w, "for (unsigned those = __ballot_sync(0xffffffffu, holds); those; those &= those - 1)");
    ind__textf(&w->code, "const %s %s = first + __ffs(those) - 1;\n", cg__int(w), row);
    cg__split_linear(w, row, 0, last);
    cg__need_stores(w);
    cg__emit(w, ~(1u << last), IND__CG_ALL_STAGES);
    cg__emit_masked_segment(w, row);
    cg__end(w);
    return IND_OK;
}

static ind_status cg__emit_pointwise(ind__writer *w) {
    cg__need_stores(w);
    if (w->variant->misaligned) {
        cg__emit_shifted_points(w);
        return IND_OK;
    }
    if (w->plan->domain.rank == 0) {
        ind__textf(&w->code, "if (threadIdx.x != 0) return;\n");
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    } else if (w->plan->domain.rank == 1) {
        cg__emit_pointwise_line(w);
    } else if (w->variant->per_thread > w->variant->vector) {
        cg__emit_pointwise_steps(w);
    } else {
        cg__emit_pointwise_grid(w);
    }
    return IND_OK;
}
