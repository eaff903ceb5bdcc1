/* The table of strategies, and lookups of a variant's row in it. */

const ind__strategy_row *ind__strategy_row_of(ind_strategy s) {
    static const ind__strategy_row rows[] = {
#define X(name, text, family, of, file, emit, features) {text, IND__FAMILY_##family, IND__PLAN_OF_##of, features},
        IND_STRATEGIES(X)
#undef X
    };
    return &rows[s];
}

bool ind__strategy_has(ind_strategy s, ind__feature feature) {
    return (ind__strategy_row_of(s)->features & (int)feature) != 0;
}

const char *ind__strategy_text(ind_strategy s) {
    return ind__strategy_row_of(s)->text;
}

static bool cg__has(const ind__writer *w, ind__feature feature) {
    return ind__strategy_has(w->variant->strategy, feature);
}

const ind__row_plan *ind__row_of(const ind__variant *v) {
    static const ind__row_plan none = {0};
    return ind__strategy_row_of(v->strategy)->of == IND__PLAN_OF_ROW ? &v->of.row : &none;
}

static const ind__row_plan *cg__row(const ind__writer *w) {
    return ind__row_of(w->variant);
}

const ind__tile_plan *ind__tile_of(const ind__variant *v) {
    static const ind__tile_plan none = {0};
    return ind__strategy_row_of(v->strategy)->of == IND__PLAN_OF_TILE ? &v->of.tile : &none;
}

bool ind__waits_late(const ind__variant *v) {
    return ind__tile_of(v)->early || ind__tile_of(v)->prefetches;
}

int ind__cluster_of(const ind__variant *v) {
    const ind__tile_plan *tile = ind__tile_of(v);
    return ind__row_of(v)->cluster + tile->cluster + tile->pair_m * tile->pair_n; /* a variant has one of these */
}

uint32_t ind__num_taken(const ind__variant *v) {
    if (v->strategy == IND_STRATEGY_PERSISTENT) return v->of.tasks.num_kernels - 1;
    return v->strategy == IND_STRATEGY_FINISH || v->assume & IND__WITH_NEXT;
}

const ind_kernel *ind__kernel_of(const ind_kernel_plan *k, const ind__variant *v) {
    return v->assume & IND__WITH_NEXT ? k->kernel->with_next : k->kernel;
}
