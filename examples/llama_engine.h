/* llama_engine.h: runs a model of llama_graph.h for several sequences side by side.
 *
 *     llama_engine e = {0};
 *     llama_engine_desc desc = {.file = &file, .config = &config, .dtype = IND_F32, .slots = 4};
 *     if (llama_engine_open(&e, &desc)) fprintf(stderr, "%s\n", e.why);
 *     llama_engine_start(&e, slot, NULL);               an empty sequence; its tokens will be the most probable ones
 *     llama_engine_feed(&e, slot, ids, count);          its first tokens, or a later message
 *     while (e.sequence[slot].next != end) llama_engine_step(&e);        one token of each sequence that is running
 *     llama_engine_stop(&e, slot);
 *     llama_engine_close(&e);
 *
 * Each sequence has a slot: rows of the caches. Sequences start and stop between steps, without a compile. A step takes
 * the rows up to the last running one; its tokens are those that the step before left in device memory. On a GPU, steps
 * with the same sizes are replays of a captured graph. With desc.multi_step a call of llama_engine_step makes several
 * steps before it waits for their tokens.
 * Functions return 0, or 1 with one line in e.why.
 */
#ifndef LLAMA_ENGINE_H
#define LLAMA_ENGINE_H

#include "llama_graph.h"
#include <stdlib.h>

enum { LLAMA_SLOTS = 64, LLAMA_DRAFTS = 15, LLAMA_STEPS = LLAMA_DRAFTS + 1 };
enum { LLAMA_CHUNK = 256 };     /* tokens of a prompt that one run takes */
enum { LLAMA_ENTRIES = 64 };    /* a run may read a multiple of so many entries of the caches */
enum { LLAMA_CAPTURED = 1024 }; /* a captured step is launched for a multiple of so many, but reads those in use */

/* How tokens are drawn (llama_sample.h). */
typedef struct llama_sampling {
    float temperature, top_p, min_p, penalty;
    int64_t top_k, seed;
} llama_sampling;

typedef struct llama_sequence {
    int64_t used;               /* entries of the caches */
    int32_t next;               /* the token after the last one; it has no entry yet */
    int32_t found[LLAMA_STEPS]; /* tokens that the last step or feeding found, in order; the last one is `next` */
    int num_found;
    bool running; /* steps feed `next` and find the one after it */
    bool stepped; /* a step found `next` */
    llama_sampling sampling;
} llama_sequence;

typedef struct llama_engine_desc {
    const gguf *file;
    const llama_config *config;
    ind_device device;
    ind_dtype dtype;          /* of activations and caches; IND_DTYPE_NONE: bf16 on a GPU, f32 on the host device */
    int slots;                /* 1 to LLAMA_SLOTS */
    int drafts;               /* 0 to LLAMA_DRAFTS: draft tokens of a step (speculative decoding); with one slot */
    int multi_step;           /* 0 or 1, or at most LLAMA_STEPS: tokens of each sequence that llama_engine_step finds on
                                 a GPU. Fewer, if a running sequence has fewer entries left. One, and no graph is
                                 captured, while a sequence with a repetition penalty runs. The caller removes those
                                 after the end of an answer (llama_engine_truncate) */
    bool samples;             /* tokens are drawn: llama_engine_start takes parameters */
    bool targets;             /* for llama_engine_score only */
    bool batch_invariant;     /* a sequence has the same bits whichever run beside it */
    bool all_variants;        /* no run compiles (ind_compile_desc) */
    bool background_variants; /* a thread compiles what later runs may need (ind_compile_desc) */
    bool persistent;          /* CUDA: consecutive small launches are one (ind_fusion_policy) */
    uint32_t watchdog_ms;     /* .. and a step in which a task waits for longer fails; 0: no limit */
    ind_progress progress;    /* of the compile */
    bool emit_only;           /* only compiles: e.module has the texts of all stages */
    int64_t memory; /* bytes; an engine that needs more is refused before any of it is allocated. 0: what the device has
                       left */
} llama_engine_desc;

/* Bytes that an engine needs on its device. */
typedef struct llama_engine_bytes {
    int64_t weights, state; /* constants; caches and all other bindings */
    int64_t workspace;      /* of all instances */
} llama_engine_bytes;

/* Bindings that the engine sets or reads. */
#define LLAMA_BINDINGS(X)                                                                                              \
    X(tokens)                                                                                                          \
    X(position)                                                                                                        \
    X(count)                                                                                                           \
    X(logits)                                                                                                          \
    X(next)                                                                                                            \
    X(history)                                                                                                         \
    X(temperature)                                                                                                     \
    X(top_p)                                                                                                           \
    X(min_p)                                                                                                           \
    X(penalty)                                                                                                         \
    X(top_k)                                                                                                           \
    X(seed)                                                                                                            \
    X(targets)                                                                                                         \
    X(losses)
#define X(name) LLAMA__##name,
typedef enum llama__binding { LLAMA_BINDINGS(X) LLAMA__NUM_BINDINGS } llama__binding;
#undef X

/* The memory of the module's bindings, in their order; NULL: a constant. */
typedef struct llama__memory {
    void **pointers;
    int64_t *row_bytes; /* of one sequence */
} llama__memory;

/* A captured step, or as many as desc.multi_step. Its inputs are in device memory, so that a replay continues. */
typedef struct llama__captured {
    ind_instance *instance;
    int64_t rows, entries; /* of the last step */
    bool valid;            /* there is a graph for these */
} llama__captured;

/* A ring buffer of the tokens of steps: a step reads those of place `at` and writes those of the next place. */
typedef struct llama__places {
    int64_t *tokens;  /* on the device: i64[num, row], of which slots are used */
    void ***pointers; /* of the module's bindings, for a step at each place */
    int num, at, row; /* places; of the next step; tokens of a place: an even number, which aligns it to 16 bytes */
} llama__places;

typedef struct llama_engine {
    llama_engine_desc desc;
    llama_sequence sequence[LLAMA_SLOTS];
    ind_context *context;
    ind_module *module;
    ind_instance *instance;
    int index[LLAMA__NUM_BINDINGS]; /* in the module; -1: the model has none */
    llama__memory steps;            /* for a token of each sequence; `tokens` and `next` are in `places` */
    llama__memory prompt; /* for tokens of one sequence. Its caches and history are rows of those of `steps` */
    llama__places places;
    llama_engine_bytes bytes;
    bool captures;                  /* steps: not on the host device, where a replay is a launch */
    llama__captured captured[2];    /* of single steps at places 0 and 1; of several steps, from place 0 on */
    int64_t num_steps, num_replays; /* calls; of these, replays */
    int32_t *ids;                   /* with desc.drafts: the tokens of the sequence, `used` and then `next` */
    int64_t drafted, accepted;      /* draft tokens so far */
    bool rows_known;                /* on the device: tokens, positions and counts of all rows */
    char why[512];
} llama_engine;

static inline int llama_engine_open(llama_engine *e, const llama_engine_desc *desc);
static inline void llama_engine_close(llama_engine *e); /* also if opening failed */

/* Begins an empty sequence in a slot, 0 to slots - 1. NULL: its tokens are the most probable ones. */
static inline int llama_engine_start(llama_engine *e, int slot, const llama_sampling *sampling);
/* Adds tokens to the sequence of a slot, in chunks; then `next` is known and the sequence is running. */
static inline int llama_engine_feed(llama_engine *e, int slot, const int32_t *ids, int64_t count);
/* Adds at most one chunk. *done: how many tokens; the sequence is running once all `count` were added. */
static inline int llama_engine_feed_some(llama_engine *e, int slot, const int32_t *ids, int64_t count, int64_t *done);
/* Feeds `next` of each running sequence, whose context must not be full, and finds the token after it, or several
 * (desc.multi_step, desc.drafts). */
static inline int llama_engine_step(llama_engine *e);
static inline void llama_engine_stop(llama_engine *e, int slot);
/* Removes the last `count` tokens that the last step found, fewer than num_found: those after the end of an answer. */
static inline void llama_engine_truncate(llama_engine *e, int slot, int count);
/* Copies the logits of `next` to f32[vocabulary] in the host's memory; right after the step or the feeding that found
 * it, and before tokens are removed. */
static inline int llama_engine_logits(llama_engine *e, int slot, float *out);
/* Adds -log of the probability of each token after the first one of `count` to *sum. For desc.targets. */
static inline int llama_engine_score(llama_engine *e, const int32_t *ids, int64_t count, double *sum);

/* ---- memory */

static inline int llama__engine_fail(llama_engine *e, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(e->why, sizeof e->why, format, args);
    va_end(args);
    return 1;
}

static inline int llama__failed_call(llama_engine *e) {
    return llama__engine_fail(e, "%s", ind_error(e->context));
}

/* True for state that a sequence keeps from run to run. */
static inline bool llama__is_state(const llama_engine *e, int index) {
    const char *name = ind_module_query_binding(e->module, index)->name;
    return index == e->index[LLAMA__history] || !strncmp(name, "keys", 4) || !strncmp(name, "values", 6);
}

/* True for the tokens that a step reads and writes. */
static inline bool llama__is_placed(const llama_engine *e, int index) {
    return index == e->index[LLAMA__tokens] || index == e->index[LLAMA__next];
}

/* Captured graphs, each of an instance. */
static inline int llama__num_captured(const llama_engine *e) {
    return !e->captures ? 0 : e->desc.multi_step > 1 ? 1 : 2;
}

/* Declared sizes of a run. */
typedef struct llama__sizes {
    int64_t sequences, tokens, entries, wanted;
} llama__sizes;

/* Sizes of the largest run of each kind: a prompt, or a step. */
static inline llama__sizes llama__largest(const llama_engine *e, bool prompt) {
    return (llama__sizes){prompt ? 1 : e->desc.slots, prompt ? LLAMA_CHUNK : 1, e->desc.config->capacity,
                          prompt ? e->desc.drafts + 1 : 1};
}

/* -1: the sizes are not allowed, which e->why says. */
static inline int64_t llama__binding_bytes(llama_engine *e, int index, llama__sizes s) {
    const ind_binding_info *info = ind_module_query_binding(e->module, index);
    char sizes[128];
    int64_t shape[IND_MAX_RANK], bytes = ind_dtype_bytes(info->dtype);
    const int used = snprintf(sizes, sizeof sizes, "B=%lld, T=%lld, N=%lld", (long long)s.sequences,
                              (long long)s.tokens, (long long)s.entries);
    if (e->desc.drafts) snprintf(sizes + used, sizeof sizes - (size_t)used, ", K=%lld", (long long)s.wanted);
    if (ind_module_shape(e->module, index, sizes, NULL, shape)) return llama__failed_call(e), -1;
    for (int d = 0; d < info->rank; d++) bytes *= shape[d];
    return bytes;
}

static inline bool llama__size_value(const ind_symbol *symbol, void *user, int64_t *out) {
    const llama__sizes *s = user;
    switch (*symbol->name) {
    case 'B': *out = s->sequences; break;
    case 'T': *out = s->tokens; break;
    case 'N': *out = s->entries; break;
    default: *out = s->wanted; break;
    }
    return true;
}

/* Adds up what the engine will allocate, and compares it with desc.memory. */
static inline int llama__check_memory(llama_engine *e) {
    llama_engine_bytes *b = &e->bytes;
    int64_t workspace[2];
    for (int k = 0; k < 2; k++) {
        llama__sizes s = llama__largest(e, k);
        if (ind_expr_eval(ind_module_workspace(e->module), llama__size_value, &s, &workspace[k]))
            return llama__failed_call(e);
        for (int i = 0; i < ind_module_num_bindings(e->module); i++) {
            const bool constant = ind_module_query_binding(e->module, i)->kind == IND_BINDING_CONST;
            if (k && (constant || llama__is_state(e, i))) continue;
            const int64_t bytes = llama__binding_bytes(e, i, s);
            if (bytes < 0) return 1;
            *(constant ? &b->weights : &b->state) += bytes;
        }
    }
    b->workspace = workspace[0] > workspace[1] ? workspace[0] : workspace[1];
    b->workspace += llama__num_captured(e) * workspace[0];
    b->state += (e->places.num * e->places.row - 2 * e->desc.slots) * (int64_t)sizeof *e->places.tokens;
    int64_t most = e->desc.memory, total;
    if (!most && ind_module_device_memory(e->module, &most, &total)) return 0; /* not known: an allocation may fail */
    if (b->weights + b->state + b->workspace <= most) return 0;
    return llama__engine_fail(
        e, "the model needs %lld MB: %lld of weights, %lld of caches and %lld of workspace; %lld are %s",
        (long long)(b->weights + b->state + b->workspace) >> 20, (long long)b->weights >> 20, (long long)b->state >> 20,
        (long long)b->workspace >> 20, (long long)most >> 20, e->desc.memory ? "allowed" : "available");
}

/* Allocates the memory of a binding, of zeros: entries of a cache without a token are multiplied by 0. */
static inline int llama__allocate(llama_engine *e, llama__memory *m, int index, llama__sizes sizes) {
    const ind_binding_info *info = ind_module_query_binding(e->module, index);
    const int64_t bytes = llama__binding_bytes(e, index, sizes);
    if (bytes < 0) return 1;
    m->row_bytes[index] = bytes / sizes.sequences;
    void *zeros = calloc(1, (size_t)bytes);
    const bool good = zeros && !ind_module_alloc(e->module, (size_t)bytes, &m->pointers[index]) &&
                      !ind_module_upload(e->module, m->pointers[index], zeros, (size_t)bytes);
    free(zeros);
    return good ? 0 : llama__engine_fail(e, "no memory for %s: %lld bytes", info->name, (long long)bytes);
}

static inline int llama__allocate_all(llama_engine *e, llama__memory *m, bool prompt) {
    const int num = ind_module_num_bindings(e->module);
    m->pointers = calloc((size_t)num, sizeof *m->pointers);
    m->row_bytes = calloc((size_t)num, sizeof *m->row_bytes);
    if (!m->pointers || !m->row_bytes) return llama__engine_fail(e, "no memory for pointers");
    for (int i = 0; i < num; i++) {
        if (ind_module_query_binding(e->module, i)->kind == IND_BINDING_CONST) continue;
        if (prompt ? llama__is_state(e, i) : llama__is_placed(e, i)) continue;
        if (llama__allocate(e, m, i, llama__largest(e, prompt))) return 1;
    }
    return 0;
}

/* Allocates the places. */
static inline int llama__allocate_places(llama_engine *e) {
    llama__places *p = &e->places;
    const size_t num = (size_t)ind_module_num_bindings(e->module), row = (size_t)p->row;
    p->pointers = calloc((size_t)p->num, sizeof *p->pointers);
    if (!p->pointers || ind_module_alloc(e->module, (size_t)p->num * row * sizeof *p->tokens, (void **)&p->tokens))
        return llama__engine_fail(e, "no memory for the tokens of steps");
    for (int i = 0; i < p->num; i++) {
        p->pointers[i] = malloc(num * sizeof *p->pointers[i]);
        if (!p->pointers[i]) return llama__engine_fail(e, "no memory for pointers");
        memcpy(p->pointers[i], e->steps.pointers, num * sizeof *p->pointers[i]);
        p->pointers[i][e->index[LLAMA__tokens]] = p->tokens + (size_t)i * row;
        if (e->index[LLAMA__next] < 0) continue; /* desc.targets */
        p->pointers[i][e->index[LLAMA__next]] = p->tokens + (size_t)((i + 1) % p->num) * row;
    }
    return 0;
}

static inline void llama__free_places(llama_engine *e) {
    llama__places *p = &e->places;
    for (int i = 0; p->pointers && i < p->num; i++) free(p->pointers[i]);
    free(p->pointers);
    if (p->tokens) ind_module_free(e->module, p->tokens);
}

static inline void llama__free_memory(llama_engine *e, llama__memory *m, bool prompt) {
    for (int i = 0; m->pointers && i < ind_module_num_bindings(e->module); i++)
        if (!prompt || !llama__is_state(e, i)) ind_module_free(e->module, m->pointers[i]);
    free(m->pointers);
    free(m->row_bytes);
}

/* Copies values to the rows of a binding from `row` on. */
static inline int llama__put(llama_engine *e, const llama__memory *m, llama__binding binding, int row, const void *from,
                             size_t bytes) {
    const int i = e->index[binding];
    char *to = (char *)m->pointers[i] + row * m->row_bytes[i];
    return ind_module_upload(e->module, to, from, bytes) ? llama__failed_call(e) : 0;
}

/* ---- opening and closing */

static inline int llama__compile(llama_engine *e) {
    static const char *const names[] = {
#define X(name) #name,
        LLAMA_BINDINGS(X)
#undef X
    };
    const llama_engine_desc *d = &e->desc;
    const llama_graph_desc desc = {.file = d->file,
                                   .config = d->config,
                                   .dtype = d->dtype,
                                   .samples = d->samples,
                                   .targets = d->targets,
                                   .drafts = d->drafts};
    const ind_compile_desc options = {.emit_only = d->emit_only,
                                      .batch_invariant = d->batch_invariant,
                                      .all_variants = d->all_variants,
                                      .background_variants = d->background_variants,
                                      .progress = d->progress,
                                      .fusion = {.persistent = d->persistent, .watchdog_ms = d->watchdog_ms}};
    ind_graph *g = ind_graph_create(e->context, "llama");
    if (!g) return llama__failed_call(e);
    int failed = llama_build(g, &desc, e->why, sizeof e->why);
    if (!failed && ind_compile(g, &options, &e->module)) failed = llama__failed_call(e);
    ind_graph_destroy(g);
    e->captures = !failed && !d->drafts && !d->targets && ind_module_query_stats(e->module).device == IND_DEVICE_CUDA;
    if (!e->captures) e->desc.multi_step = 1;
    e->places.num = d->multi_step > 2 ? d->multi_step : 2;
    e->places.row = (d->slots + 1) / 2 * 2;
    for (int k = 0; !failed && k < LLAMA__NUM_BINDINGS; k++) {
        e->index[k] = -1;
        for (int i = 0; i < ind_module_num_bindings(e->module); i++)
            if (!strcmp(ind_module_query_binding(e->module, i)->name, names[k])) e->index[k] = i;
    }
    return failed;
}

static inline int llama_engine_open(llama_engine *e, const llama_engine_desc *desc) {
    *e = (llama_engine){.desc = *desc};
    if (desc->slots < 1 || desc->slots > LLAMA_SLOTS)
        return llama__engine_fail(e, "%d slots; allowed is 1 to %d", desc->slots, LLAMA_SLOTS);
    if (desc->drafts < 0 || desc->drafts > (desc->slots == 1 ? LLAMA_DRAFTS : 0))
        return llama__engine_fail(e, "%d draft tokens; allowed is 0 to %d, with one slot", desc->drafts, LLAMA_DRAFTS);
    if (desc->multi_step < 0 || desc->multi_step > LLAMA_STEPS || (desc->multi_step > 1 && desc->drafts))
        return llama__engine_fail(e, "%d steps at once; allowed is 0 to %d, and 1 with draft tokens", desc->multi_step,
                                  LLAMA_STEPS);
    e->ids = desc->drafts ? malloc(((size_t)desc->config->capacity + LLAMA_DRAFTS + 2) * sizeof *e->ids) : NULL;
    if (desc->drafts && !e->ids) return llama__engine_fail(e, "no memory for the tokens of a sequence");
    if (ind_context_create(&(ind_context_desc){.device = desc->device}, &e->context))
        return llama__engine_fail(e, "no memory for a context");
    if (!e->desc.dtype) e->desc.dtype = strncmp(ind_device_text(e->context), "cuda", 4) ? IND_F32 : IND_BF16;
    if (llama__compile(e)) return 1;
    if (desc->emit_only) return 0;
    if (llama__check_memory(e) || llama_bind_constants(e->module, desc->file, desc->config, e->why, sizeof e->why) ||
        llama__allocate_all(e, &e->steps, false) || llama__allocate_all(e, &e->prompt, true) ||
        llama__allocate_places(e))
        return 1;
    if (ind_module_prepare(e->module) || ind_instance_create(e->module, NULL, &e->instance))
        return llama__failed_call(e);
    for (int i = 0; i < llama__num_captured(e); i++)
        if (ind_instance_create(e->module, NULL, &e->captured[i].instance)) return llama__failed_call(e);
    return 0;
}

static inline void llama_engine_close(llama_engine *e) {
    ind_instance_destroy(e->instance);
    for (int i = 0; i < 2; i++) ind_instance_destroy(e->captured[i].instance);
    llama__free_places(e);
    llama__free_memory(e, &e->steps, false);
    llama__free_memory(e, &e->prompt, true);
    ind_context_destroy(e->context);
    free(e->ids);
    *e = (llama_engine){0};
}

/* ---- sequences */

static inline int llama__put_sampling(llama_engine *e, const llama__memory *m, int row, const llama_sampling *s) {
    return llama__put(e, m, LLAMA__temperature, row, &s->temperature, sizeof s->temperature) ||
           llama__put(e, m, LLAMA__top_p, row, &s->top_p, sizeof s->top_p) ||
           llama__put(e, m, LLAMA__min_p, row, &s->min_p, sizeof s->min_p) ||
           llama__put(e, m, LLAMA__penalty, row, &s->penalty, sizeof s->penalty) ||
           llama__put(e, m, LLAMA__top_k, row, &s->top_k, sizeof s->top_k) ||
           llama__put(e, m, LLAMA__seed, row, &s->seed, sizeof s->seed);
}

static inline int llama_engine_start(llama_engine *e, int slot, const llama_sampling *sampling) {
    static const llama_sampling greedy = {.top_p = 1, .penalty = 1};
    const llama_sampling *s = sampling ? sampling : &greedy;
    if (slot < 0 || slot >= e->desc.slots) return llama__engine_fail(e, "slot %d of %d", slot, e->desc.slots);
    e->sequence[slot] = (llama_sequence){.next = -1, .sampling = *s};
    e->rows_known = false;
    if (!(s->temperature >= 0 && s->temperature < 1e30f) || !(s->top_p > 0 && s->top_p <= 1) ||
        !(s->min_p >= 0 && s->min_p <= 1) || !(s->penalty > 0 && s->penalty < 1e30f) || s->top_k < 0)
        return llama__engine_fail(e, "a parameter of sampling is out of range");
    if (e->desc.drafts && s->penalty != 1)
        return llama__engine_fail(e, "a repetition penalty is not supported with draft tokens");
    if (!e->desc.samples) return sampling ? llama__engine_fail(e, "the engine was opened without desc.samples") : 0;
    const size_t bytes = (size_t)e->steps.row_bytes[e->index[LLAMA__history]];
    void *zeros = calloc(1, bytes);
    if (!zeros) return llama__engine_fail(e, "no memory");
    const int failed = llama__put(e, &e->steps, LLAMA__history, slot, zeros, bytes);
    free(zeros);
    return failed || llama__put_sampling(e, &e->steps, slot, s);
}

static inline void llama_engine_stop(llama_engine *e, int slot) {
    e->sequence[slot].running = false;
    e->rows_known = false;
}

/* Entries of the caches that a run reads: those in use, rounded up to a multiple of the unit. */
static inline int64_t llama__entries(const llama_engine *e, int64_t used, int64_t unit) {
    const int64_t most = e->desc.config->capacity;
    const int64_t n = (used + unit - 1) / unit * unit;
    return n < most ? n : most;
}

static inline int llama__finish_run(llama_engine *e, ind_instance *instance, ind_status status) {
    if (!status) status = ind_instance_check(instance);
    return status ? llama__engine_fail(e, "%s", ind_instance_error(instance)) : 0;
}

static inline int llama__launch(llama_engine *e, const llama__memory *m, int64_t rows, int64_t tokens, int64_t used,
                                int64_t wanted) {
    /* The last one only with desc.drafts. */
    const int64_t sizes[4] = {rows, tokens, llama__entries(e, used, LLAMA_ENTRIES), wanted};
    const ind_launch_desc desc = {.pointers = m->pointers, .sizes_v = sizes};
    return llama__finish_run(e, e->instance, ind_launch(e->instance, &desc));
}

/* Launches a number of steps one after another. */
static inline int llama__launch_all(llama_engine *e, ind_instance *instance, const ind_launch_desc *step, int num) {
    ind_status status = IND_OK;
    for (int i = 0; i < num && !status; i++) status = ind_launch(instance, &step[i]);
    return llama__finish_run(e, instance, status);
}

/* Runs `num` steps; `used`: entries in use after the last one. On a GPU, of consecutive calls with the same sizes the
   first one launches the steps, or the first two if each is one step. The next ones capture them, and all others are
   replays. */
static inline int llama__run_steps(llama_engine *e, int64_t rows, int64_t used, int num) {
    llama__places *p = &e->places;
    llama__captured *c = &e->captured[p->at % 2];
    const bool captures = e->captures && num == (e->desc.multi_step > 1 ? e->desc.multi_step : 1);
    int64_t unit = captures ? LLAMA_CAPTURED : LLAMA_ENTRIES;
    while (captures && 4 * unit <= used) unit *= 2;
    const int64_t sizes[4] = {rows, 1, llama__entries(e, used, unit), 1}; /* the last one only with desc.drafts */
    ind_launch_desc step[LLAMA_STEPS];
    for (int i = 0; i < num; i++)
        step[i] = (ind_launch_desc){.pointers = p->pointers[(p->at + i) % p->num], .sizes_v = sizes};
    if (!captures) return llama__launch_all(e, e->instance, step, num);
    const bool again = c->rows == rows && c->entries == sizes[2];
    if (!again) c->valid = false;
    c->rows = rows, c->entries = sizes[2];
    if (!again) return llama__launch_all(e, c->instance, step, num);
    ind_status status = c->valid ? IND_OK : ind_capture_launches(c->instance, step, num);
    c->valid = !status;
    e->num_replays++;
    return llama__finish_run(e, c->instance, status ? status : ind_replay(c->instance, NULL));
}

/* Runs the model for at most a chunk of tokens of one sequence. Outputs, of the last `wanted` tokens, are in the memory
   of e->prompt. */
static inline int llama__run_prompt(llama_engine *e, int slot, const int32_t *ids, int64_t count, int64_t wanted) {
    llama_sequence *s = &e->sequence[slot];
    int64_t tokens[LLAMA_CHUNK];
    for (int64_t i = 0; i < count; i++) tokens[i] = ids[i];
    for (int i = 0; i < ind_module_num_bindings(e->module); i++)
        if (llama__is_state(e, i)) e->prompt.pointers[i] = (char *)e->steps.pointers[i] + slot * e->steps.row_bytes[i];
    if (llama__put(e, &e->prompt, LLAMA__tokens, 0, tokens, (size_t)count * sizeof *tokens) ||
        llama__put(e, &e->prompt, LLAMA__position, 0, &s->used, sizeof s->used) ||
        (!e->desc.targets && llama__put(e, &e->prompt, LLAMA__count, 0, &count, sizeof count)) ||
        (e->desc.samples && llama__put_sampling(e, &e->prompt, 0, &s->sampling)))
        return 1;
    s->used += count;
    e->rows_known = false;
    if (e->ids) memmove(e->ids + s->used - count, ids, (size_t)count * sizeof *ids);
    return llama__launch(e, &e->prompt, 1, count, s->used, wanted);
}

static inline void llama__set_next(llama_sequence *s, int32_t next) {
    s->next = s->found[0] = next;
    s->num_found = 1;
}

static inline int llama_engine_feed_some(llama_engine *e, int slot, const int32_t *ids, int64_t count, int64_t *done) {
    if (slot < 0 || slot >= e->desc.slots) return llama__engine_fail(e, "slot %d of %d", slot, e->desc.slots);
    llama_sequence *s = &e->sequence[slot];
    int64_t next;
    *done = count < LLAMA_CHUNK ? count : LLAMA_CHUNK;
    if (count < 1 || s->used + count > e->desc.config->capacity)
        return llama__engine_fail(e, "the context of %lld tokens is full: %lld are used, the message has %lld",
                                  (long long)e->desc.config->capacity, (long long)s->used, (long long)count);
    if (llama__run_prompt(e, slot, ids, *done, 1)) return 1;
    if (ind_module_download(e->module, &next, e->prompt.pointers[e->index[LLAMA__next]], sizeof next))
        return llama__failed_call(e);
    llama__set_next(s, (int32_t)next);
    s->running = *done == count;
    s->stepped = false;
    return 0;
}

static inline int llama_engine_feed(llama_engine *e, int slot, const int32_t *ids, int64_t count) {
    for (int64_t first = 0, done = 0; first < count; first += done)
        if (llama_engine_feed_some(e, slot, ids + first, count - first, &done)) return 1;
    return count > 0 ? 0 : llama__engine_fail(e, "no tokens");
}

/* Copies the tokens, positions and counts of all rows to the device, unless it has them from the step before. What a
   step writes for a row that is not running is overwritten before it is read. */
static inline int llama__put_rows(llama_engine *e) {
    int64_t token[LLAMA_SLOTS], position[LLAMA_SLOTS], count[LLAMA_SLOTS];
    const size_t bytes = (size_t)e->desc.slots * sizeof *position;
    if (e->rows_known) return 0;
    for (int i = 0; i < e->desc.slots; i++) {
        const int64_t used = e->sequence[i].used, last = e->desc.config->capacity - 1;
        token[i] = e->sequence[i].running ? e->sequence[i].next : 0;
        position[i] = used < last ? used : last;
        count[i] = e->sequence[i].running;
    }
    if (ind_module_upload(e->module, e->places.tokens + e->places.at * e->places.row, token, bytes))
        return llama__failed_call(e);
    e->rows_known = !llama__put(e, &e->steps, LLAMA__position, 0, position, bytes) &&
                    !llama__put(e, &e->steps, LLAMA__count, 0, count, bytes);
    return !e->rows_known;
}

/* Prompt lookup: the draft tokens are those after the last earlier occurrence of the last three, or two, of ids[num].
   Writes at most `most` tokens and returns their number. */
static inline int64_t llama_draft(const int32_t *ids, int64_t num, int64_t most, int32_t *out) {
    for (int64_t n = 3; n >= 2; n--)
        for (int64_t i = num - n - 1; i >= 0; i--) {
            if (memcmp(ids + i, ids + num - n, (size_t)n * sizeof *ids)) continue;
            const int64_t have = num - n - i < most ? num - n - i : most;
            memcpy(out, ids + i + n, (size_t)have * sizeof *out);
            return have;
        }
    return 0;
}

/* Speculative decoding: `next` and the draft tokens are fed in one run. A draft token is accepted if the model finds
   the same token in its place, so the result equals that of one token a step. */
static inline int llama__step_drafts(llama_engine *e) {
    llama_sequence *s = &e->sequence[0];
    int32_t ids[LLAMA_DRAFTS + 1] = {s->next};
    int64_t found[LLAMA_DRAFTS + 1], most = e->desc.config->capacity - s->used - 1;
    most = most < e->desc.drafts ? most : e->desc.drafts;
    e->ids[s->used] = s->next;
    const int64_t num = 1 + llama_draft(e->ids, s->used + 1, most, ids + 1);
    if (llama__run_prompt(e, 0, ids, num, num)) return 1;
    const void *from = e->prompt.pointers[e->index[LLAMA__next]];
    if (ind_module_download(e->module, found, from, (size_t)num * sizeof *found)) return llama__failed_call(e);
    int accepted = 0;
    while (accepted + 1 < num && ids[accepted + 1] == found[accepted]) accepted++;
    for (int i = 0; i <= accepted; i++) s->found[i] = (int32_t)found[i];
    s->num_found = accepted + 1;
    s->next = s->found[accepted];
    s->used -= num - 1 - accepted; /* entries of rejected tokens */
    e->drafted += num - 1;
    e->accepted += accepted;
    return 0;
}

static inline void llama_engine_truncate(llama_engine *e, int slot, int count) {
    llama_sequence *s = &e->sequence[slot];
    s->num_found -= count;
    s->next = s->found[s->num_found - 1];
    s->used -= count;
    e->rows_known = false;
}

/* The number of steps of a call: at most as many as the fullest running sequence has entries left. `used`: most entries
   in use after the first step. */
static inline int llama__num_steps(const llama_engine *e, int64_t used) {
    const int64_t most = e->desc.config->capacity + 1 - used;
    const int num = e->desc.multi_step > 1 ? e->desc.multi_step : 1;
    for (int i = 0; i < e->desc.slots; i++)
        if (e->sequence[i].running && e->sequence[i].sampling.penalty != 1) return 1;
    return num < most ? num : (int)most;
}

/* Copies the tokens that `num` steps found from the device. */
static inline int llama__take_tokens(llama_engine *e, int num) {
    llama__places *p = &e->places;
    int64_t token[LLAMA_STEPS * LLAMA_SLOTS];
    const size_t bytes = (size_t)p->num * (size_t)p->row * sizeof *token;
    if (ind_module_download(e->module, token, p->tokens, bytes)) return llama__failed_call(e);
    for (int i = 0; i < e->desc.slots; i++) {
        llama_sequence *s = &e->sequence[i];
        if (!s->running) continue;
        for (int k = 0; k < num; k++) s->found[k] = (int32_t)token[(p->at + 1 + k) % p->num * p->row + i];
        s->num_found = num;
        s->next = s->found[num - 1];
        s->used += num;
        s->stepped = true;
    }
    p->at = (p->at + num) % p->num;
    return 0;
}

static inline int llama_engine_step(llama_engine *e) {
    int64_t used = 0;
    int rows = 0;
    for (int i = 0; i < e->desc.slots; i++) {
        const llama_sequence *s = &e->sequence[i];
        if (!s->running) continue;
        if (s->used >= e->desc.config->capacity)
            return llama__engine_fail(e, "the context of slot %d is full: stop it before the step", i);
        rows = i + 1;
        used = s->used + 1 > used ? s->used + 1 : used;
    }
    if (!rows) return 0;
    if (e->desc.drafts) return llama__step_drafts(e);
    const int num = llama__num_steps(e, used);
    if (num > 1 && e->places.at) { /* several steps begin at place 0 */
        e->places.at = 0;
        e->rows_known = false;
    }
    e->num_steps++;
    if (!llama__put_rows(e) && !llama__run_steps(e, rows, used + num - 1, num) && !llama__take_tokens(e, num)) return 0;
    e->rows_known = false; /* some of the steps may have run */
    return 1;
}

static inline int llama_engine_logits(llama_engine *e, int slot, float *out) {
    const bool stepped = e->sequence[slot].stepped;
    const llama__memory *m = stepped ? &e->steps : &e->prompt;
    const int i = e->index[LLAMA__logits];
    const size_t bytes = (size_t)e->desc.config->vocabulary * sizeof *out;
    const int64_t row = stepped ? slot : e->desc.drafts ? e->sequence[slot].num_found - 1 : 0;
    const char *from = (const char *)m->pointers[i] + (size_t)row * bytes;
    return ind_module_download(e->module, out, from, bytes) ? llama__failed_call(e) : 0;
}

static inline int llama_engine_score(llama_engine *e, const int32_t *ids, int64_t count, double *sum) {
    if (llama_engine_start(e, 0, NULL)) return 1;
    for (int64_t first = 0; first + 1 < count; first += LLAMA_CHUNK) {
        int64_t targets[LLAMA_CHUNK], num = count - 1 - first < LLAMA_CHUNK ? count - 1 - first : LLAMA_CHUNK;
        float losses[LLAMA_CHUNK];
        for (int64_t i = 0; i < num; i++) targets[i] = ids[first + i + 1];
        if (llama__put(e, &e->prompt, LLAMA__targets, 0, targets, (size_t)num * sizeof *targets) ||
            llama__run_prompt(e, 0, ids + first, num, 1))
            return 1;
        const void *from = e->prompt.pointers[e->index[LLAMA__losses]];
        if (ind_module_download(e->module, losses, from, (size_t)num * sizeof *losses)) return llama__failed_call(e);
        for (int64_t i = 0; i < num; i++) *sum += (double)losses[i];
    }
    return 0;
}

#endif /* LLAMA_ENGINE_H */
