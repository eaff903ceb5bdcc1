/* ---- sources and the kernels that run them */

/* Copies of a launch share the text of its variants. So a source is found by its address first; the characters are
   compared once per address. */
typedef struct cg__source_finder {
    const ind_plan *plan;
    ind__source_users *users;
    uint32_t *by_address, *by_text; /* open addressing: 1 + number of the source, 0: free */
    const char **address;           /* by slot of by_address */
    uint32_t size;
} cg__source_finder;

static const ind__variant *cg__source_variant(const ind_plan *p, const ind__source *s) {
    return &p->kernel[s->kernel].variant[s->variant];
}

static uint32_t *cg__slot_of_text(const cg__source_finder *f, const ind__variant *v) {
    uint32_t at = (uint32_t)ind__hash(v->source.text, v->source.bytes, 0) & (f->size - 1);
    for (; f->by_text[at]; at = (at + 1) & (f->size - 1))
        if (ind__same_source(cg__source_variant(f->plan, &f->users->source[f->by_text[at] - 1]), v)) break;
    return &f->by_text[at];
}

/* Number of the source of a variant, which may be a new one. */
static uint32_t cg__find_source(const cg__source_finder *f, uint32_t kernel, int variant) {
    const ind__variant *v = &f->plan->kernel[kernel].variant[variant];
    const char *const address = v->source.text;
    uint32_t at = (uint32_t)ind__hash(&address, sizeof address, 0) & (f->size - 1);
    for (; f->by_address[at]; at = (at + 1) & (f->size - 1))
        if (f->address[at] == address) return f->by_address[at] - 1;
    uint32_t *slot = cg__slot_of_text(f, v);
    if (!*slot) {
        f->users->source[f->users->num_sources] = (ind__source){.kernel = kernel, .variant = variant};
        *slot = ++f->users->num_sources;
    }
    f->address[at] = address;
    f->by_address[at] = *slot;
    return *slot - 1;
}

/* Adds a kernel to the end of a source's list, unless it is there. Kernels are added in ascending order. */
static void cg__add_user(ind__source_users *u, uint32_t source, uint32_t kernel) {
    ind__source *s = &u->source[source];
    if (s->last && u->user[s->last].kernel == kernel) return;
    const uint32_t item = ++u->num_users;
    u->user[item].kernel = kernel;
    if (s->last)
        u->user[s->last].next = item;
    else
        s->first = item;
    s->last = item;
}

bool ind__source_users_init(ind__source_users *u, const ind_plan *p) {
    uint32_t variants = 0, users = 1;
    for (uint32_t k = 0; k < p->num_kernels; k++) {
        variants += (uint32_t)p->kernel[k].num_variants;
        users += (uint32_t)p->kernel[p->kernel[k].first].num_variants;
    }
    *u = (ind__source_users){.memory = {.context = p->context}};
    cg__source_finder f = {.plan = p, .users = u, .size = 16};
    while (f.size / 2 < variants) f.size *= 2;
    ind__arena scratch = {.context = p->context};
    f.by_address = (uint32_t *)ind__arena_alloc(&scratch, f.size * sizeof *f.by_address);
    f.by_text = (uint32_t *)ind__arena_alloc(&scratch, f.size * sizeof *f.by_text);
    f.address = (const char **)ind__arena_alloc(&scratch, f.size * sizeof *f.address);
    u->source = (ind__source *)ind__arena_alloc(&u->memory, (variants + (size_t)1) * sizeof *u->source);
    u->number = (uint32_t *)ind__arena_alloc(&u->memory, (variants + (size_t)1) * sizeof *u->number);
    u->first_variant = (uint32_t *)ind__arena_alloc(&u->memory, (p->num_kernels + (size_t)1) * sizeof *u->number);
    u->user = (ind__source_user *)ind__arena_alloc(&u->memory, users * sizeof *u->user);
    const bool ok = f.by_address && f.by_text && f.address && u->source && u->number && u->first_variant && u->user;
    for (uint32_t k = 0, n = 0; ok && k < p->num_kernels; k++) {
        u->first_variant[k] = n;
        for (int v = 0; v < p->kernel[k].num_variants; v++) u->number[n++] = cg__find_source(&f, k, v);
        const uint32_t launch = p->kernel[k].first;
        for (int v = 0; v < p->kernel[launch].num_variants; v++)
            cg__add_user(u, u->number[u->first_variant[launch] + (uint32_t)v], k);
    }
    ind__arena_free(&scratch);
    return ok;
}

void ind__source_users_free(ind__source_users *u) {
    ind__arena_free(&u->memory);
}
