static ind_status cg__emit_body(ind__writer *w) {
    static ind_status (*const emit[])(ind__writer *) = {
#define X(name, text, family, of, file, emit, features) emit,
        IND_STRATEGIES(X)
#undef X
    };
    return emit[w->variant->strategy](w);
}

static ind_status cg__write_once(ind__writer *w, ind_plan *p, const ind_kernel *k, const ind__variant *v,
                                 const ind__body_plan *plan) {
    ind_status status = cg__init(w, p, k, v, plan);
    if (!status) status = cg__emit_body(w);
    if (status) return status;
    return w->failed || w->code.failed ? ind__failed(w->context) : IND_OK;
}

static bool cg__same_text(const ind__writer *a, const ind__writer *b) {
    return a->code.size == b->code.size && (!a->code.size || !memcmp(a->code.data, b->code.data, a->code.size)) &&
           !memcmp(&a->prelude, &b->prelude, sizeof a->prelude) && a->args.num == b->args.num;
}

/* If stages are verified: writes the text again, from a copy of the decided plan. Both texts must be equal. */
static ind_status cg__check_text(ind_plan *p, const ind__writer *first) {
    ind__arena arena = {.context = p->context};
    const ind__variant variant = *first->variant;
    const ind__body_plan *plan = cg__new_body_plan(&arena, first->plan, first->body);
    ind__writer again = {0};
    const uint32_t refusals = ind__refusals(p->context);
    ind_status status = plan ? cg__write_once(&again, p, first->kernel, &variant, plan) : ind__failed(p->context);
    if (!status) status = ind__refused_since(p->context, refusals);
    if (!status && !cg__same_text(&again, first))
        status = ind__fail(p->context, IND_ERROR_VERIFY, "kernel %s: a copy of its plan gives another text",
                           first->kernel->name);
    cg__free(&again);
    ind__arena_free(&arena);
    return status;
}

/* Writes the body of the kernel that d has decided. *w must be fresh; the caller frees it. */
static ind_status cg__write_body(ind__writer *w, ind_plan *p, const cg__decider *d) {
    ind_status status = cg__write_once(w, p, d->w.kernel, d->variant, d->plan);
    return !status && ind__verifying(p->context) ? cg__check_text(p, w) : status;
}
