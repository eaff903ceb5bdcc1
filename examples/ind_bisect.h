/* ind bisect: finds the first change of a graph pass, or the first fusion, after which a graph gives other results than
 * without passes and fusion. Both are counted by the library (ind_compile_desc.max_changes, ind_fusion_policy.
 * max_fusions), and the same number stops at the same place every time. */

/* Results of one compile and run. */
typedef struct outcome {
    options o;
    session s; /* refers to o */
    int num_changes, num_fusions;
} outcome;

static bool is_result(const tensor *t) {
    return t->info->kind == IND_BINDING_OUTPUT || t->info->mutated;
}

/* Compiles with at most this many changes and fusions, UINT32_MAX: no limit, and runs with the same inputs. */
static int run_limited(outcome *out, ind_context *ctx, ind_graph *g, const options *given, uint32_t changes,
                       uint32_t fusions) {
    *out = (outcome){.o = *given, .s = {.ctx = ctx, .o = &out->o}};
    out->o.max_changes = changes == UINT32_MAX ? 0 : changes;
    out->o.max_fusions = fusions == UINT32_MAX ? 0 : fusions;
    if (changes == 0) out->o.disabled = ~0u;
    out->o.unfused = fusions == 0;
    out->o.quiet = true;
    if (open_session(&out->s, g) || run(&out->s)) return 1;
    const ind_module_stats stats = ind_module_query_stats(out->s.m);
    out->num_changes = stats.num_changes;
    out->num_fusions = stats.num_fusions;
    return 0;
}

/* The allowed difference, relative to the largest value of a result: about 1000 roundings. */
static double tolerance_of(const options *o, ind_dtype dtype) {
    if (o->tolerance >= 0) return o->tolerance;
    switch (dtype) {
    case IND_F64: return 1e-12;
    case IND_F32: return 1e-4;
    case IND_F16: return 2e-2;
    case IND_BF16: return 1e-1;
    default: return ind_dtype_is_float(dtype) ? 0.5 : 0;
    }
}

/* Returns the first result that differs, NULL if none does; *at: its element. */
static const tensor *first_difference(const outcome *a, const outcome *b, const options *o, int64_t *at) {
    for (int i = 0; i < a->s.n; i++) {
        const tensor *x = &a->s.t[i], *y = &b->s.t[i];
        double most = 0;
        *at = 0;
        if (!is_result(x)) continue;
        if (x->count != y->count) return y;
        for (int64_t e = 0; e < x->count; e++) {
            const double v = fabs(element_at(x->data, x->info->dtype, e));
            if (isfinite(v)) most = fmax(most, v);
        }
        for (; *at < x->count; ++*at) {
            const double v = element_at(x->data, x->info->dtype, *at), w = element_at(y->data, y->info->dtype, *at);
            const bool same = v == w || (isnan(v) && isnan(w)) || fabs(v - w) <= tolerance_of(o, x->info->dtype) * most;
            if (!same) return y;
        }
    }
    return NULL;
}

/* Prints the last change of the module's passes but the removal of unused ops. */
static void print_last_change(ind_module *m) {
    const char *last = NULL;
    for (const char *line = ind_module_text(m, IND_STAGE_PASSES); line && *line; line += *line == '\n') {
        if (!strncmp(line, "near misses", 11)) break;
        if (*line == ' ' && strncmp(line, "  dce:", 6) != 0) last = line;
        line += strcspn(line, "\n");
    }
    if (last) printf("%.*s\n", (int)strcspn(last, "\n"), last);
}

static void print_last_fusion(ind_module *m) {
    const char *text = ind_module_text(m, IND_STAGE_SCHEDULE), *line = text ? strstr(text, "last fusion:") : NULL;
    if (line) printf("  %.*s\n", (int)strcspn(line, "\n"), line);
}

/* Searches the first number of changes (or fusions, after all changes) whose results differ from those of `good`. */
static int search(ind_context *ctx, ind_graph *g, const options *o, const outcome *good, bool fusions, uint32_t most) {
    uint32_t same = 0, differs = most;
    outcome now;
    int64_t at;
    while (differs - same > 1) {
        const uint32_t n = same + (differs - same) / 2;
        int failed = run_limited(&now, ctx, g, o, fusions ? UINT32_MAX : n, fusions ? n : 0);
        if (!failed && first_difference(good, &now, o, &at))
            differs = n;
        else
            same = n;
        close_session(&now.s);
        if (failed) return 1;
    }
    if (run_limited(&now, ctx, g, o, fusions ? UINT32_MAX : differs, fusions ? differs : 0)) return 1;
    const tensor *t = first_difference(good, &now, o, &at);
    printf("%s %u of %u gives other results:\n", fusions ? "fusion" : "change", (unsigned)differs, (unsigned)most);
    if (fusions)
        print_last_fusion(now.s.m);
    else
        print_last_change(now.s.m);
    if (t)
        printf("  %s, element %lld: %.9g, without it %.9g\n", t->info->name, (long long)at,
               element_at(t->data, t->info->dtype, at), element_at(good->s.t[t - now.s.t].data, t->info->dtype, at));
    close_session(&now.s);
    return 1;
}

/* Exit status 0: the results agree. */
static int bisect(ind_context *ctx, ind_graph *g, const options *o) {
    outcome good = {0}, full = {0}, unfused = {0};
    int64_t at;
    int failed = run_limited(&good, ctx, g, o, 0, 0) || run_limited(&full, ctx, g, o, UINT32_MAX, UINT32_MAX) ||
                 run_limited(&unfused, ctx, g, o, UINT32_MAX, 0);
    if (!failed && first_difference(&good, &unfused, o, &at))
        failed = search(ctx, g, o, &good, false, (uint32_t)unfused.num_changes);
    else if (!failed && first_difference(&good, &full, o, &at))
        failed = search(ctx, g, o, &good, true, (uint32_t)full.num_fusions);
    else if (!failed)
        printf("same results with %d changes and %d fusions as without\n", full.num_changes, full.num_fusions);
    close_session(&good.s);
    close_session(&full.s);
    close_session(&unfused.s);
    return failed;
}
