/* Unmasked loads along x start before the barrier, so that they are in flight while the tile is filled. */
static void cg__choose_tile_loads(cg__decider *d, int x, int y) {
    int ahead = 0, tiles = 0;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        const ind__inst *inst = cg__inst(&d->w, i);
        bool plain = inst->op == IND_LOOP_LOAD && !inst->arg[0] && cg__contiguous(&d->w, i, x) &&
                     !ind__expr_has_kind(cg__index_of(&d->w, i), IND_SYMBOL_INDIRECT);
        d->plan->resident[i] =
            tiles < IND__CG_MAX_TILES && cg__through_tile(&d->w, i, x, y) ? IND__CG_THROUGH_TILE : IND__CG_DIRECTLY;
        tiles += d->plan->resident[i] == IND__CG_THROUGH_TILE;
        if (!plain || d->plan->vector[i] != d->variant->vector) continue;
        const int bytes = ind_dtype_bytes(cg__memory_dtype(&d->w, i)), words = bytes < 4 ? 4 / bytes : 1;
        const int registers = d->variant->per_thread / (d->variant->vector > 1 ? words : 1);
        if (ahead + registers > d->w.target->thresholds.ahead) continue;
        d->plan->resident[i] = IND__CG_BESIDE_TILE;
        ahead += registers;
    }
}
