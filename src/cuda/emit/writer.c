/* ------------------------------------------------------------------------------------------------- >>writer */

/* Records that the kernel cannot be written. The step that failed has left its message. */
static void cg__fail(ind__writer *w) {
    w->failed = true;
}

static const char *cg__format(ind__writer *w, const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    char local[256];
    int n = ind__format_list(local, sizeof local, format, again);
    va_end(again);
    char *s = n >= 0 ? (char *)ind__arena_alloc(&w->scratch, (size_t)n + 1) : NULL;
    if (s && (size_t)n < sizeof local)
        memcpy(s, local, (size_t)n + 1);
    else if (s)
        ind__format_list(s, (size_t)n + 1, format, list);
    else
        cg__fail(w);
    return s ? s : "";
}

/* Returns a formatted string that lives as long as the writer; "" on failure. Used for op templates and names. */
IND__PRINTF(2, 3) static const char *cg__string(ind__writer *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const char *s = cg__format(w, format, list);
    va_end(list);
    return s;
}

/* Opens a scope: "text {". cg__end forgets the values written inside. */
IND__PRINTF(2, 3) static void cg__begin(ind__writer *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    ind__textf(&w->code, "%s {\n", cg__format(w, format, list));
    va_end(list);
    w->code.indent++;
    w->scope++;
}

static void cg__forget(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->known[i] >= w->scope) w->known[i] = 0;
}

static void cg__end(ind__writer *w) {
    cg__forget(w);
    w->scope--;
    w->code.indent--;
    ind__textf(&w->code, "}\n");
}

/* Writes "} else {" for the open scope. */
static void cg__else(ind__writer *w, const char *line) {
    cg__forget(w);
    w->code.indent--;
    ind__textf(&w->code, "} %s {\n", line);
    w->code.indent++;
}

static const char *cg__int(const ind__writer *w) {
    return w->plan->wide ? "long long" : "int";
}

/* True if two buffers have the same storage. Also true for an output that may alias a donated input. */
static bool cg__same_storage(const ind_schedule *s, uint32_t a, uint32_t b) {
    if (a == b || !s->storage) return a == b;
    uint32_t x = s->takes_over[a] ? s->takes_over[a] : s->storage[a];
    uint32_t y = s->takes_over[b] ? s->takes_over[b] : s->storage[b];
    return x == y;
}

/* True if a launch of the schedule may write the buffer. */
static bool cg__is_written(const ind_schedule *s, uint32_t buffer) {
    const ind__buffer *b = &s->program->buffer[buffer];
    if (b->kind == IND__BUFFER_COMPUTED || b->mutates || b->mutated_by) return true;
    for (uint32_t k = 0; k < s->num_kernels; k++)
        for (uint32_t i = s->kernel[k].num_reads; i < s->kernel[k].num_args; i++)
            if (cg__same_storage(s, s->kernel[k].arg[i], buffer)) return true;
    return false;
}

/* True if the argument shares memory with another one (an output that took over its input's). Then neither may be
   __restrict__. */
static bool cg__shares_memory(const ind__writer *w, uint32_t arg) {
    for (uint32_t i = 0; i < w->kernel->num_args; i++)
        if (i != arg && cg__same_storage(w->schedule, w->kernel->arg[i], w->kernel->arg[arg])) return true;
    return false;
}

/* Returns the position of a buffer among the kernel's arguments. UINT32_MAX: not an argument, a bug in the schedule. */
static uint32_t cg__arg_of(const ind_kernel *k, uint32_t buffer) {
    for (uint32_t i = 0; i < k->num_args; i++)
        if (k->arg[i] == buffer) return i;
    return UINT32_MAX;
}

/* Returns the name of a buffer in the source: "in0" or "out0". */
static const char *cg__buffer(ind__writer *w, uint32_t buffer) {
    const ind_kernel *k = w->kernel;
    uint32_t i = cg__arg_of(k, buffer);
    if (i == UINT32_MAX) {
        ind__fail(w->context, IND_ERROR_VERIFY, "kernel %s uses buffer %u, which is not among its arguments", k->name,
                  buffer);
        cg__fail(w);
        return "";
    }
    return i < k->num_reads ? cg__string(w, "in%u", i) : cg__string(w, "out%u", i - k->num_reads);
}

#define IND__CG_TRIGGER_CALL "    ind_dependency_trigger("

/* Blocks of a launch, at most, if it lets the next one start before it has completed; 0: none does. */
static int64_t cg__most_triggering(const ind_target *t) {
    return (int64_t)t->thresholds.trigger_blocks * t->num_sms;
}

static void cg__write_trigger(const ind__writer *w, ind__text *t) {
    ind__textf(t, "%s%lld);\n", t->indent ? "ind_dependency_trigger(" : IND__CG_TRIGGER_CALL,
               (long long)cg__most_triggering(w->target));
}
