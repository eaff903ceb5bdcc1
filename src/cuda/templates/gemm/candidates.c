/* The configurations of a product that fit, and the cheapest of them. */

/* The templates, in the order in which they are asked. */
static const cg__mm_template *const cg__mm_templates[] = {&cg__mm_depthwise,   &cg__mm_one_packed_row,
                                                          &cg__mm_packed_tile, &cg__mm_packed_rows,
                                                          &cg__mm_rows,        &cg__mm_misaligned_rows,
                                                          &cg__mm_tcgen05,     &cg__mm_tma,
                                                          &cg__mm_wgmma,       &cg__mm_mma,
                                                          &cg__mm_fma};
#define MM_NUM_TEMPLATES (sizeof cg__mm_templates / sizeof *cg__mm_templates)

static const cg__mm_template *cg__mm_template_of(ind_strategy s) {
    for (size_t i = 0; i < MM_NUM_TEMPLATES; i++)
        if (cg__mm_templates[i]->strategy == s) return cg__mm_templates[i];
    return NULL;
}

typedef struct cg__mm_choice {
    const cg__mm_template *from;
    cg__mm_config config;
    double cost;
    ind__tile_choice values;
} cg__mm_choice;

enum { MM_MEASURED = 8 }; /* choices that tuning measures */
_Static_assert(MM_MEASURED + 2 + MM_NUM_PAIRS <= IND__MAX_TUNED,
               "cg__mm_others lists more choices than there is space for");

/* The cheapest choices, at most `most`: distinct, in the order of their costs. */
typedef struct cg__mm_choices {
    cg__mm_choice *item; /* the caller's */
    int most, num;
    int threads; /* that configurations for few rows must have: of tasks (persistent.c); 0: any number */
} cg__mm_choices;

static bool cg__mm_same_values(const ind__tile_choice *a, const ind__tile_choice *b) {
    return !memcmp(a, b, sizeof *a);
}

static cg__mm_choice cg__mm_choice_of(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                      const ind_target *t) {
    return (cg__mm_choice){.from = x,
                           .config = *c,
                           .cost = (x->cost ? x->cost : cg__mm_cost)(x, p, c, t),
                           .values = {.strategy = (int)x->strategy,
                                      .m = c->tile_m,
                                      .n = c->tile_n,
                                      .k = c->tile_k,
                                      .warps_m = c->warps_m,
                                      .warps_n = c->warps_n,
                                      .stages = c->stages,
                                      .blocks_per_sm = cg__mm_occupancy(x, p, c, t),
                                      .splits = c->splits,
                                      .cluster = c->cluster,
                                      .pair_m = c->pair_m,
                                      .pair_n = c->pair_n}};
}

/* Adds the configuration if it is among the cheapest. Of equal costs, the one tried first comes first. */
static void cg__mm_try_config(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                              const ind_target *t, cg__mm_choices *all) {
    if (all->threads && x->alone && x->threads(c) != all->threads) return;
    const cg__mm_choice choice = cg__mm_choice_of(x, p, c, t);
    int at = 0;
    while (at < all->num && !cg__mm_same_values(&all->item[at].values, &choice.values)) at++;
    if (at == all->most) at--; /* replaces the most expensive one */
    if (at < all->num && all->item[at].cost <= choice.cost) return;
    if (at == all->num) all->num++;
    for (; at && choice.cost < all->item[at - 1].cost; at--) all->item[at] = all->item[at - 1];
    all->item[at] = choice;
}

/* True if the template has the configuration for the product, which it is fitted to. */
static bool cg__mm_fits(const cg__mm_template *x, const cg__mm_problem *p, cg__mm_config *c, int index_bits,
                        const ind_target *t) {
    int64_t least, depth;
    ind__known_bounds(p->size_k, &least, &depth);
    x->fit(c, p, depth, index_bits);
    const int64_t shared = cg__mm_shared(x, p, c) + (p->a.statistics ? MM_STATISTIC_SHARED : 0);
    return x->allows(c, p, index_bits) && shared <= t->shared_per_block;
}

/* True if blocks can share tiles of the configuration, in clusters of c->cluster, to which it is fitted. */
static bool cg__mm_fits_shared(const cg__mm_template *x, const cg__mm_problem *p, cg__mm_config *c,
                               const ind_target *t) {
    if (x->alone || !p->max_cluster || cg__mm_config_in_turn(x, c)) return false;
    if (c->cluster && !(x->fit_cluster ? x->fit_cluster(c, p, t) : cg__mm_fit_cluster(c, x, p))) return false;
    return cg__mm_shared(x, p, c) + MM_EXCHANGE_SHARED <= t->shared_per_block;
}

/* Tries the configuration with clusters of each size, and without. */
static void cg__mm_try_splits(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *config,
                              const ind_target *t, int cluster, cg__mm_choices *all) {
    cg__mm_config c = *config;
    c.cluster = cluster;
    if (!cg__mm_fits_shared(x, p, &c, t)) return;
    const int most = cg__mm_occupancy(x, p, &c, t);
    for (int waves = 1; waves <= most; waves++) {
        c.splits = cg__mm_splits_of(p, &c, waves, t);
        if (c.splits > 1) cg__mm_try_config(x, p, &c, t, all);
    }
}

/* Tries the configuration in each form of pairs, unless a figure of the target leaves them to tuning. */
static void cg__mm_try_pairs(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *config,
                             const ind_target *t, cg__mm_choices *all) {
    for (int i = 0; t->thresholds.product_multicast >= 0 && i < MM_NUM_PAIRS; i++) {
        const cg__mm_config c = cg__mm_paired(config, i);
        if (cg__mm_fits_pairs(x, p, &c, t)) cg__mm_try_config(x, p, &c, t, all);
    }
}

static void cg__mm_try_template(const cg__mm_template *x, const cg__mm_problem *p, int index_bits, const ind_target *t,
                                cg__mm_choices *all) {
    const size_t num = x->num_configs - (all->threads ? 0 : x->num_for_tasks);
    for (size_t i = 0; i < num; i++) {
        cg__mm_config c = x->configs[i];
        if (!cg__mm_fits(x, p, &c, index_bits, t)) continue;
        cg__mm_try_config(x, p, &c, t, all);
        cg__mm_try_pairs(x, p, &c, t, all);
        for (int cluster = 2; cluster <= p->max_cluster && cluster <= MM_MAX_CLUSTER; cluster *= 2)
            cg__mm_try_splits(x, p, &c, t, cluster, all);
        cg__mm_try_splits(x, p, &c, t, 0, all);
    }
}

/* Finds the cheapest configurations of the templates that take the product; *reason: why the last one that does not
   take it does not. */
static void cg__mm_choose(const cg__mm_problem *p, int index_bits, const ind_target *t, cg__mm_choices *all,
                          const char **reason) {
    all->num = 0;
    *reason = NULL;
    for (size_t i = 0; i < MM_NUM_TEMPLATES; i++) {
        const char *no = cg__mm_templates[i]->match(p, t);
        if (no && !all->num) *reason = no;
        if (!no) cg__mm_try_template(cg__mm_templates[i], p, index_bits, t, all);
    }
}

/* The same without clusters, for the fallback of a variant that has them: of the same template, whose guards are the
   same. */
static void cg__mm_choose_fallback(cg__mm_problem *p, int index_bits, const ind_target *t, cg__mm_choices *all) {
    const cg__mm_template *x = all->item[0].from;
    all->num = 0;
    p->max_cluster = p->max_cluster > 1 ? 1 : p->max_cluster;
    ind_target alone = *t;
    alone.max_cluster = 1;
    cg__mm_try_template(x, p, index_bits, &alone, all);
}

/* ---- configurations for tuning ---- */

/* True if as many blocks as the configuration says can share a tile. A persistent block has one share at most. */
static bool cg__mm_allows_splits(const cg__mm_template *x, const cg__mm_problem *p, cg__mm_config *c,
                                 const ind_target *t) {
    const int cluster = cg__mm_cluster(c), most_waves = x->persistent ? 1 : 1 << 16;
    if (c->splits == 1) return !c->cluster;
    if (c->cluster && (c->cluster < 2 || c->cluster > p->max_cluster || c->cluster > MM_MAX_CLUSTER)) return false;
    if (c->splits < 2 || cluster & (cluster - 1) || c->splits % cluster || !cg__mm_fits_shared(x, p, c, t))
        return false;
    return c->splits <= cg__mm_splits_of(p, c, most_waves, t);
}

/* Finds the configuration with these values. False: no template that takes the product has it, or it does not fit. */
static bool cg__mm_find_values(const cg__mm_problem *p, int index_bits, const ind_target *t,
                               const ind__tile_choice *values, cg__mm_choice *found) {
    const cg__mm_template *x = cg__mm_template_of((ind_strategy)values->strategy);
    if (!x || x->match(p, t)) return false;
    for (size_t i = 0; i < x->num_configs; i++) {
        cg__mm_config c = x->configs[i];
        if (!cg__mm_fits(x, p, &c, index_bits, t)) continue;
        c.splits = values->splits;
        c.cluster = values->cluster;
        if (!cg__mm_allows_splits(x, p, &c, t)) continue;
        c.pair_m = values->pair_m;
        c.pair_n = values->pair_n;
        if (!cg__mm_allows_pairs(x, p, &c, t)) continue;
        *found = cg__mm_choice_of(x, p, &c, t);
        if (cg__mm_same_values(&found->values, values)) return true;
    }
    return false;
}

static bool cg__mm_has_values(const cg__mm_choices *all, const ind__tile_choice *values) {
    for (int i = 0; i < all->num; i++)
        if (cg__mm_same_values(&all->item[i].values, values)) return true;
    return false;
}

/* Writes the cheapest choice that fits each form of pairs, in that form. Returns their number. */
static int cg__mm_other_pairs(const cg__mm_problem *p, const cg__mm_choices *all, const cg__mm_template *only,
                              const ind_target *t, ind__tile_choice others[MM_NUM_PAIRS]) {
    int num = 0;
    for (int form = 0; form < MM_NUM_PAIRS; form++) {
        for (int i = 0; i < all->num; i++) {
            const cg__mm_template *x = all->item[i].from;
            const cg__mm_config c = cg__mm_paired(&all->item[i].config, form);
            if ((only && x != only) || !cg__mm_fits_pairs(x, p, &c, t)) continue;
            const cg__mm_choice choice = cg__mm_choice_of(x, p, &c, t);
            if (!cg__mm_has_values(all, &choice.values)) others[num++] = choice.values;
            break;
        }
    }
    return num;
}

/* Writes the choices after the first one, the first one in pairs, and with one share of a tile more and less. Returns
   their number. `only`: those of this template, unless it is NULL. */
static int cg__mm_others(const cg__mm_problem *p, const cg__mm_choices *all, const cg__mm_template *only,
                         const ind_target *t, ind__tile_choice others[IND__MAX_TUNED]) {
    const cg__mm_template *x = all->item[0].from;
    int num = cg__mm_other_pairs(p, all, only, t, others);
    for (int i = 1; i < all->num; i++)
        if (!only || all->item[i].from == only) others[num++] = all->item[i].values;
    for (int sign = -1; sign <= 1; sign += 2) {
        cg__mm_config c = all->item[0].config;
        c.splits += sign * cg__mm_cluster(&c);
        if (c.pair_m || !cg__mm_allows_splits(x, p, &c, t)) continue;
        const cg__mm_choice choice = cg__mm_choice_of(x, p, &c, t);
        if (!cg__mm_has_values(all, &choice.values)) others[num++] = choice.values;
    }
    return num;
}
