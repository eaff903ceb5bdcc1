/* A persistent launch: attention loads its first tiles of keys and values before the phase that computes the new rows
   of the caches. Each of its tasks computes these rows again (recomputed.c) and puts those of its own tiles there. They
   are found by their address. */

/* Writes the tiles of keys or values, as a value of ind_loaded_tiles. */
static void cg__at_write_loaded_tiles(ind__writer *w, const cg__mm_problem *p, char name, int columns) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const cg__mm_operand *o = &p->b;
    ind_expr stride;
    if (!cg__mm_step_of(w, p, o, &stride)) return;
    cg__mm_set_text(w, o->x, "0");
    cg__mm_set_text(w, p->k, "0");
    ind__textf(&w->code, "{tile_%c, &%s, %s, size_k, (int)size_%c, %d, %d, (int)first_step, %d}", name,
               cg__element(w, o->load), cg__expr_string(w, stride), cg__mm_axis(name), columns, tile->k,
               tile->stages - 1);
    cg__mm_set_plain_names(w);
}

/* Waits for the copies of the first tiles and for the phase before, computes the new rows, and puts them into the
   tiles. The barrier of the first step follows. */
static void cg__at_write_new_rows(ind__writer *w, const cg__mm_problem *p, const cg__attention *x) {
    ind__textf(&w->code, "ind_cp_async_wait<0>();\nind_dependency_wait();\nrecomputed(ind_new_rows{");
    cg__at_write_loaded_tiles(w, &x->keys, 'd', x->features);
    ind__textf(&w->code, ",\n    ");
    cg__at_write_loaded_tiles(w, p, 'b', w->variant->of.tile.n);
    ind__textf(&w->code, "});\n");
    cg__use(w, IND__CG_NEW_ROWS);
}
