/* =================================================================================================== >>print */

const char *ind__fusion_reason_text(ind_fusion_reason r) {
    static const char *const text[] = {
#define X(name, text) text,
        IND_FUSION_REASONS(X)
#undef X
    };
    return (size_t)r < sizeof text / sizeof *text ? text[r] : "?";
}

const char *ind__kernel_kind_text(ind_kernel_kind k) {
    static const char *const text[] = {
#define X(name, text) text,
        IND_KERNEL_KINDS(X)
#undef X
    };
    return (size_t)k < sizeof text / sizeof *text ? text[k] : "?";
}

const char *ind__fusion_reason_name(ind_fusion_reason r) {
    static const char *const name[] = {
#define X(name, text) #name,
        IND_FUSION_REASONS(X)
#undef X
    };
    return (size_t)r < sizeof name / sizeof *name ? name[r] : "?";
}

const char *ind__combo_reason_text(ind_combo_reason r) {
    static const char *const text[] = {
#define X(name, text) text,
        IND_COMBO_REASONS(X)
#undef X
    };
    return (size_t)r < sizeof text / sizeof *text ? text[r] : "?";
}

const char *ind__combo_reason_name(ind_combo_reason r) {
    static const char *const name[] = {
#define X(name, text) #name,
        IND_COMBO_REASONS(X)
#undef X
    };
    return (size_t)r < sizeof name / sizeof *name ? name[r] : "?";
}

bool ind__fusion_reason_fused(ind_fusion_reason r) {
    return sched__fused(r);
}

bool ind__edge_vertical(const ind_schedule *s, const ind_edge *e) {
    const ind__buffer *b = &s->program->buffer[e->buffer];
    return b->kind == IND__BUFFER_COMPUTED && b->loop == e->from;
}

typedef struct sched__printer {
    ind__text *t;
    const ind_schedule *s;
    ind__node_name_fn origin_name;
    void *user;
    ind__node_name_fn result_name;
} sched__printer;

static const char *sched__origin(const sched__printer *p, uint32_t node) {
    const char *name = p->origin_name ? p->origin_name(node, p->user) : NULL;
    return name ? name : "?";
}

static void sched__print_origins(const sched__printer *p, const uint32_t *origin, uint32_t num, const char *between) {
    for (uint32_t i = 0; i < num; i++) ind__textf(p->t, "%s%s", i ? between : "", sched__origin(p, origin[i]));
}

static void sched__print_loop_name(const sched__printer *p, uint32_t l) {
    const ind__loop *loop = &p->s->program->loop[l];
    if (loop->num_origins)
        sched__print_origins(p, loop->origin, loop->num_origins, "+");
    else
        ind__textf(p->t, "%s", p->s->program->buffer[loop->output[0]].name);
}

void ind__schedule_print_loop(ind__text *t, const ind_schedule *s, uint32_t loop, ind__node_name_fn name, void *user) {
    sched__printer p = {.t = t, .s = s, .origin_name = name, .user = user};
    sched__print_loop_name(&p, loop);
}

static void sched__print_domain(const sched__printer *p, const ind_body *body) {
    ind__textf(p->t, "[");
    for (int v = 0; v < body->rank + body->rrank; v++) {
        ind__textf(p->t, "%s", v == body->rank ? (v ? " | " : "| ") : v ? ", " : "");
        ind__text_expr(p->t, sched__extent(body->var[v]));
    }
    ind__textf(p->t, "]");
}

static void sched__print_formula(const sched__printer *p, const char *before, ind_expr e) {
    ind__textf(p->t, "%s", before);
    p->t->failed |= !ind__ok(e);
    ind__text_expr(p->t, e);
}

/* The graph tensor of which the buffer holds the value or a part, as `length` characters: the result of the last op of
   its loop, the result itself for an extern call, or the size for a data-dependent size. NULL: the buffer has the
   tensor's name, or no tensor is known. */
static const char *sched__tensor_of(const sched__printer *p, uint32_t buffer, int *length) {
    const ind__lowered *program = p->s->program;
    const ind__buffer *b = &program->buffer[buffer];
    const char *name = NULL;
    for (uint32_t u = 0; u < program->num_unbacked; u++)
        if (program->unbacked[u].buffer == buffer) name = ind_expr_symbol(program->unbacked[u].symbol)->name;
    const ind__loop *loop = b->kind == IND__BUFFER_COMPUTED ? &program->loop[b->loop] : NULL;
    if (!name && loop && p->result_name && loop->num_origins) {
        uint32_t last = 0, skip = 0;
        for (uint32_t i = 0; i < loop->num_origins; i++) last = loop->origin[i] > last ? loop->origin[i] : last;
        name = p->result_name(last, p->user);
        while (loop->body->call && skip < loop->num_outputs && loop->output[skip] != buffer) skip++;
        for (; name && loop->body->call && skip; skip--) name = strstr(name, ", ") ? strstr(name, ", ") + 2 : NULL;
        if (loop->body->call && loop->body->call->workspace == buffer) name = "workspace";
    }
    *length = !name ? 0 : (int)(loop && loop->body->call ? strcspn(name, ",") : strlen(name));
    const size_t own = strlen(b->name);
    for (const char *at = name; at; at = strstr(at, ", ") ? strstr(at, ", ") + 2 : NULL)
        if (strcspn(at, ",") == own && !memcmp(at, b->name, own)) return NULL;
    return *length ? name : NULL;
}

/* The name of output `part` of a reduction. */
static const char *sched__part_name(ind_reduction r, uint32_t part) {
    if (r == IND_REDUCE_ONLINE_SOFTMAX) return part ? "sum of exponentials" : "maximum";
    if (r == IND_REDUCE_WELFORD) return part ? "sum of squared deviations" : "mean";
    return r == IND_REDUCE_DOT ? "product" : ind__reduction_name(r);
}

/* The name of the reduction that writes the buffer; NULL: none does. */
static const char *sched__reduction_of(const sched__printer *p, uint32_t buffer) {
    const ind__lowered *program = p->s->program;
    if (program->buffer[buffer].kind != IND__BUFFER_COMPUTED) return NULL;
    const ind__loop *loop = &program->loop[program->buffer[buffer].loop];
    uint32_t part = 0;
    while (part + 1 < loop->num_outputs && loop->output[part] != buffer) part++;
    for (uint32_t i = 1; i < loop->body->num_inst && !loop->body->call; i++)
        if (loop->body->inst[i].op == IND_LOOP_REDUCE)
            return sched__part_name((ind_reduction)loop->body->inst[i].reduction, part);
    return NULL;
}

/* Prints "h", "buf4 (y)" or, of an intermediate result of an op, "buf3 (maximum of y)". */
static void sched__print_buffer(const sched__printer *p, uint32_t buffer) {
    int length;
    const char *tensor = sched__tensor_of(p, buffer, &length), *reduction = sched__reduction_of(p, buffer);
    ind__textf(p->t, "%s", p->s->program->buffer[buffer].name);
    if (tensor) ind__textf(p->t, " (%s%s%.*s)", reduction ? reduction : "", reduction ? " of " : "", length, tensor);
}

/* Prints a loop as the one of its results that is `buffer`, or as the first one. */
static void sched__print_result(const sched__printer *p, uint32_t l, uint32_t buffer) {
    const ind__loop *loop = &p->s->program->loop[l];
    uint32_t part = loop->num_outputs - 1;
    while (part && loop->output[part] != buffer) part--;
    sched__print_buffer(p, loop->output[part]);
}

void ind__schedule_print_tensor(ind__text *t, const ind_schedule *s, uint32_t buffer, ind__node_name_fn result_name,
                                void *user) {
    sched__printer p = {.t = t, .s = s, .user = user, .result_name = result_name};
    int length;
    const char *tensor = sched__tensor_of(&p, buffer, &length);
    if (tensor) ind__text_raw(t, tensor, (size_t)length);
}

void ind__schedule_print_buffer(ind__text *t, const ind_schedule *s, uint32_t buffer, ind__node_name_fn result_name,
                                void *user) {
    sched__printer p = {.t = t, .s = s, .user = user, .result_name = result_name};
    sched__print_buffer(&p, buffer);
}

/* Prints "producer -> consumer", or "a, b access c" for two users of a buffer. */
static void sched__print_edge(const sched__printer *p, const ind_edge *e) {
    const bool fused = sched__fused(e->reason), vertical = ind__edge_vertical(p->s, e);
    ind__textf(p->t, "  ");
    sched__print_result(p, e->from, e->buffer);
    ind__textf(p->t, vertical ? " -> " : ", ");
    sched__print_result(p, e->to, e->buffer);
    if (!vertical) {
        ind__textf(p->t, " access ");
        sched__print_buffer(p, e->buffer);
    }
    ind__textf(p->t, "  %s%s", fused ? "" : "not fused: ", ind__fusion_reason_text(e->reason));
    sched__print_formula(p, fused ? ", saves " : ", costs ", e->bytes);
    ind__textf(p->t, fused ? " bytes and a launch\n" : " bytes\n");
}

/* Groups the edges by the loop in which they end: 1 + the first edge of each loop in `first`, linked by `next`. */
static bool sched__link_edges(const ind_schedule *s, uint32_t **first, uint32_t **next) {
    *first = ind__alloc(s->context, ((size_t)s->program->num_loops + s->num_edges + 1) * sizeof **first);
    if (!*first) return false;
    *next = *first + s->program->num_loops;
    for (uint32_t e = s->num_edges; e-- > 0;) (*next)[e] = (*first)[s->edge[e].to], (*first)[s->edge[e].to] = e + 1;
    return true;
}

/* "; reads 2048*B bytes of x, buf4 (h)" */
static void sched__print_traffic(const sched__printer *p, const char *how, const uint32_t *buffer, uint32_t num,
                                 ind_expr bytes) {
    ind__textf(p->t, "; %s", how);
    sched__print_formula(p, " ", bytes);
    ind__textf(p->t, " bytes");
    for (uint32_t i = 0; i < num; i++) {
        ind__textf(p->t, i ? ", " : " of ");
        sched__print_buffer(p, buffer[i]);
    }
}

const char *ind__kernel_purpose(const ind_schedule *s, const ind_kernel *k) {
    const char *const first = s->program->loop[k->loop[0]].purpose;
    for (uint32_t i = 0; i < k->num_loops; i++) {
        const char *const purpose = s->program->loop[k->loop[i]].purpose;
        if (!first || !purpose || strcmp(first, purpose)) return "computes";
    }
    return first;
}

static void sched__print_kernel(const sched__printer *p, uint32_t number) {
    const ind_kernel *k = &p->s->kernel[number];
    ind__textf(p->t, "kernel %u  %s  %s ", number, k->name, ind__kernel_kind_text(k->kind));
    sched__print_domain(p, k->body);
    ind__textf(p->t, "\n  %s ", ind__kernel_purpose(p->s, k));
    ind__print_made(p->t, k->origin, k->num_origins, p->origin_name, p->result_name, p->user);
    sched__print_traffic(p, "reads", k->arg, k->num_reads, k->bytes_read);
    sched__print_traffic(p, "writes", k->arg + k->num_reads, k->num_args - k->num_reads, k->bytes_written);
    sched__print_formula(p, "; flops ", k->flops);
    const char *before = "";
    for (uint32_t i = 0; i < k->num_loops; i++) {
        const char *note = p->s->program->loop[k->loop[i]].note;
        if (!note || !strcmp(note, before)) continue;
        ind__textf(p->t, "  # %s", note);
        before = note;
    }
    ind__textf(p->t, "\n");
    if (p->s->launch[number] != number) ind__textf(p->t, "  in one launch with kernel %u\n", p->s->launch[number]);
    if (k->with_next)
        ind__textf(p->t, "  one kernel with kernel %u in launches of at most %lld row%s\n", number + 1,
                   (long long)k->few_rows, k->few_rows > 1 ? "s" : "");
    if (p->s->combo[number] >= IND_COMBO_FULL)
        ind__textf(p->t, "  separate launch: %s\n", ind__combo_reason_text(p->s->combo[number]));
}

/* Prints the ops that were not done in place, and the readers that prevent it. */
static void sched__print_not_in_place(const sched__printer *p) {
    for (uint32_t i = 0; i < p->s->program->num_copied_whole; i++) {
        const ind__copied_whole *x = &p->s->program->copied_whole[i];
        const char *op = p->origin_name ? p->origin_name(x->op, p->user) : NULL;
        const char *reader = x->reader != UINT32_MAX && p->origin_name ? p->origin_name(x->reader, p->user) : NULL;
        ind__textf(p->t, "%s of %s not in place: %s%s\n", op ? op : "?", p->s->program->buffer[x->buffer].name,
                   reader ? reader : "its old contents are an output",
                   !reader              ? ""
                   : x->op == x->reader ? " itself reads other elements of it"
                                        : " reads its old contents later");
    }
}

static void sched__print_buffers(const sched__printer *p) {
    for (uint32_t b = 1; b < p->s->program->num_buffers; b++) {
        const ind__buffer *buffer = &p->s->program->buffer[b];
        uint32_t donated = sched__donated_storage(p->s, b);
        if (!ind__ok(p->s->offset[b]) && !donated) continue;
        sched__print_buffer(p, b);
        if (donated)
            ind__textf(p->t, "  %s donated %s", p->s->takes_over[b] ? "may be" : "in",
                       p->s->program->buffer[donated].name);
        else
            sched__print_formula(p, "  offset ", p->s->offset[b]);
        sched__print_formula(p, ", ", ind__buffer_bytes(buffer));
        ind__textf(p->t, " bytes");
        if (!donated && p->s->storage[b] != b)
            ind__textf(p->t, ", in place: the memory of %s", p->s->program->buffer[p->s->storage[b]].name);
        ind__textf(p->t, "\n");
    }
}

/* True if this edge is already printed: loops of a kernel that read the same buffer, unfused for the same reason, share
   a line. */
static bool sched__edge_printed(const sched__printer *p, const ind_kernel *k, uint32_t loop, const ind_edge *e,
                                const uint32_t *first, const uint32_t *next) {
    for (uint32_t i = 0; i < loop && !sched__fused(e->reason); i++) {
        for (uint32_t d = first[k->loop[i]]; d; d = next[d - 1]) {
            const ind_edge *other = &p->s->edge[d - 1];
            if (other->buffer == e->buffer && other->reason == e->reason && other->from == e->from) return true;
        }
    }
    return false;
}

static void sched__print_edges(const sched__printer *p, const ind_kernel *k, const uint32_t *first,
                               const uint32_t *next) {
    for (uint32_t i = 0; i < k->num_loops; i++) {
        for (uint32_t e = first[k->loop[i]]; e; e = next[e - 1]) {
            if (!sched__edge_printed(p, k, i, &p->s->edge[e - 1], first, next))
                sched__print_edge(p, &p->s->edge[e - 1]);
        }
    }
}

void ind__schedule_print(ind__text *t, const ind_schedule *s, ind__node_name_fn origin_name,
                         ind__node_name_fn result_name, void *user) {
    sched__printer p = {.t = t, .s = s, .origin_name = origin_name, .user = user, .result_name = result_name};
    uint32_t *first, *next;
    if (!sched__link_edges(s, &first, &next)) {
        t->failed = true;
        return;
    }
    for (uint32_t k = 0; k < s->num_kernels; k++) {
        sched__print_kernel(&p, k);
        sched__print_edges(&p, &s->kernel[k], first, next);
    }
    sched__print_not_in_place(&p);
    sched__print_buffers(&p);
    sched__print_formula(&p, "workspace ", s->arena_bytes);
    sched__print_formula(&p, " bytes; live at once, at most ", s->peak_bytes);
    sched__print_formula(&p, "; without fusion ", s->op_by_op_bytes);
    ind__textf(t, "\n");
    if (s->fusion_limit && s->num_fusions) {
        ind__textf(t, "last fusion: ");
        sched__print_result(&p, s->last_fused[0], 0);
        ind__textf(t, " with ");
        sched__print_result(&p, s->last_fused[1], 0);
        ind__textf(t, "\n");
    }
    ind__free(s->context, first);
}
