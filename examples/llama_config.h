/* llama_config.h: sizes and properties of a decoder-only language model, read from the metadata of a GGUF file.
 *
 *     llama_config c;
 *     char why[256];
 *     if (llama_read_config(&file, 0, &c, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *
 * Architectures: llama (also Mistral and SmolLM), qwen2, qwen3, qwen3moe, olmoe, gemma2, gemma3, phi3. Others are
 * refused by name.
 */
#ifndef LLAMA_CONFIG_H
#define LLAMA_CONFIG_H

#include "gguf.h"
#include <math.h>
#include <stdarg.h>

enum { LLAMA_MAX_HEAD = 512 };

typedef enum llama_head_norms { LLAMA_NO_NORMS, LLAMA_NORM_OF_HEAD, LLAMA_NORM_OF_ALL_HEADS } llama_head_norms;

typedef struct llama_config {
    char architecture[32];
    int64_t layers, width, heads, kv_heads, head, ffn, vocabulary;
    int64_t context;  /* positions that the model was trained for */
    int64_t capacity; /* positions that are used at most */
    double epsilon;

    /* Attention: softmax(cap * tanh(q k^T * scale / cap)) v. */
    double attention_scale, attention_cap; /* cap 0: none */
    llama_head_norms head_norms;           /* queries and keys are normalised before they are rotated */
    int64_t window;        /* of layers that slide: a token sees so many positions, its own included; 0: all */
    int64_t window_period; /* layer i slides unless (i + 1) is a multiple of it; 0: all layers slide */

    /* Rotary embedding. Feature pair i of a head is rotated by position * frequencies[sliding layer][i]. */
    int64_t rotary;     /* features that are rotated: the first ones */
    bool rotates_pairs; /* features 2i and 2i + 1 are rotated together; else i and i + rotary / 2 */
    double rope_factor; /* sine and cosine are multiplied by it (YaRN, LongRoPE) */
    float frequencies[2][LLAMA_MAX_HEAD / 2];

    bool has_post_norms;    /* results of attention and MLP are normalised before they are added */
    bool has_gelu;          /* activation of the MLP: gelu (tanh); else silu */
    double embedding_scale; /* embeddings are multiplied by it */
    double logit_cap;       /* logits are cap * tanh(logits / cap); 0: none */

    /* Mixture of experts. */
    int64_t experts, experts_used; /* 0: none */
    bool normalises_experts;       /* probabilities of the chosen experts are divided by their sum */
} llama_config;

/* Reads and checks the metadata. capacity: positions that will be used at most, of which LongRoPE's frequencies depend;
   0: the model's context, or 2,048 if that is less. Returns 0, or 1 with one line in why[why_size]. */
static inline int llama_read_config(const gguf *file, int64_t capacity, llama_config *c, char *why, size_t why_size);

static inline bool llama_layer_slides(const llama_config *c, int64_t layer) {
    return c->window && (!c->window_period || (layer + 1) % c->window_period != 0);
}

/* ---- keys */

static inline int llama__fail(char *why, size_t why_size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(why, why_size, format, args);
    va_end(args);
    return 1;
}

/* What every function here reads, and where it writes its message. */
typedef struct llama__reader {
    const gguf *file;
    llama_config *config;
    char key[96]; /* of the last value */
    char *why;
    size_t why_size;
} llama__reader;

static inline const char *llama__key(llama__reader *r, const char *key) {
    snprintf(r->key, sizeof r->key, "%s.%s", r->config->architecture, key);
    return r->key;
}

/* An integer of the architecture, from 1 to `most`; `fallback` if it is absent and fallback > 0. Returns 0, or 1. */
static inline int llama__size(llama__reader *r, const char *key, int64_t most, int64_t fallback, int64_t *out) {
    *out = fallback;
    const bool absent = !gguf_find_value(r->file, llama__key(r, key));
    if (absent && fallback > 0) return 0;
    if (absent || !gguf_integer(r->file, r->key, out) || *out < 1 || *out > most)
        return llama__fail(r->why, r->why_size, "%s is missing or not an integer from 1 to %lld", r->key,
                           (long long)most);
    return 0;
}

/* A positive number of the architecture; `fallback` if it is absent. Returns 0, or 1. */
static inline int llama__number(llama__reader *r, const char *key, double fallback, double *out) {
    *out = fallback;
    if (!gguf_find_value(r->file, llama__key(r, key))) return 0;
    if (!gguf_number(r->file, r->key, out) || !(*out > 0 && *out < 1e30))
        return llama__fail(r->why, r->why_size, "%s is not a positive number", r->key);
    return 0;
}

/* The same, but 0 stands for absent too. */
static inline double llama__optional(llama__reader *r, const char *key) {
    double x = 0;
    return gguf_number(r->file, llama__key(r, key), &x) && x > 0 && x < 1e30 ? x : 0;
}

static inline bool llama__is(const llama_config *c, const char *architecture) {
    return !strcmp(c->architecture, architecture);
}

/* ---- rotary embedding */

typedef struct llama__rope {
    double base;
    double factor;         /* by which the context was extended; 1: not */
    bool yarn;             /* else the scaling is linear */
    double low, high;      /* YaRN: pairs before `low` keep their frequency, those from `high` on are scaled */
    const float *divisors; /* of each pair's frequency, or NULL */
} llama__rope;

/* A tensor f32[rotary / 2] of positive numbers. NULL in *out: there is none of this name. Returns 0, or 1. */
static inline int llama__divisors(llama__reader *r, const char *name, const float **out) {
    const int64_t half = r->config->rotary / 2;
    const gguf_tensor *t = gguf_find(r->file, name);
    *out = t ? t->data : NULL;
    bool good = !t || (t->rank == 1 && t->shape[0] == half && !strcmp(t->format->name, "f32"));
    for (int64_t i = 0; t && good && i < half; i++) good = (*out)[i] > 0;
    if (good) return 0;
    return llama__fail(r->why, r->why_size, "%s is not f32[%lld] of positive numbers", name, (long long)half);
}

/* The pair that turns `turns` times over the context that the model was first trained for. */
static inline double llama__pair_of(const llama__reader *r, const llama__rope *rope, double context, double turns) {
    return (double)r->config->rotary * log(context / (turns * 6.283185307179586)) / (2 * log(rope->base));
}

/* YaRN (Peng et al. 2023): pairs that turn often keep their frequency, those that turn less than once are scaled
   linearly, those between are mixed. Sine and cosine are multiplied by 0.1 ln(factor) + 1. */
static inline int llama__read_yarn(llama__reader *r, llama__rope *rope) {
    double context, fast, slow, attention;
    const double last = (double)r->config->rotary - 1;
    if (llama__number(r, "rope.scaling.original_context_length", (double)r->config->context, &context) ||
        llama__number(r, "rope.scaling.yarn_beta_fast", 32, &fast) ||
        llama__number(r, "rope.scaling.yarn_beta_slow", 1, &slow) ||
        llama__number(r, "rope.scaling.attn_factor", 1, &attention))
        return 1;
    rope->yarn = true;
    rope->low = fmax(floor(llama__pair_of(r, rope, context, fast)), 0);
    rope->high = fmin(ceil(llama__pair_of(r, rope, context, slow)), last);
    if (rope->factor > 1) r->config->rope_factor = attention * (0.1 * log(rope->factor) + 1);
    return 0;
}

/* LongRoPE (Ding et al. 2024): divisors for contexts up to the original one, and for longer ones. */
static inline int llama__read_longrope(llama__reader *r, llama__rope *rope) {
    llama_config *c = r->config;
    double context;
    if (llama__number(r, "rope.scaling.original_context_length", (double)c->context, &context) ||
        llama__number(r, "rope.scaling.attn_factor", 1, &c->rope_factor))
        return 1;
    const bool is_long = (double)c->capacity > context;
    return llama__divisors(r, is_long ? "rope_factors_long.weight" : "rope_factors_short.weight", &rope->divisors);
}

static inline int llama__read_scaling(llama__reader *r, llama__rope *rope) {
    gguf_text kind = {"none", 4};
    gguf_string(r->file, llama__key(r, "rope.scaling.type"), &kind);
    if (gguf_text_is(kind, "longrope") || gguf_find(r->file, "rope_factors_long.weight"))
        return llama__read_longrope(r, rope);
    if (llama__divisors(r, "rope_freqs.weight", &rope->divisors)) return 1;
    if (gguf_text_is(kind, "none")) return 0;
    if (llama__number(r, "rope.scaling.factor", 1, &rope->factor)) return 1;
    if (gguf_text_is(kind, "linear")) return 0;
    if (gguf_text_is(kind, "yarn")) return llama__read_yarn(r, rope);
    return llama__fail(r->why, r->why_size, "rope scaling %s is not supported; linear, yarn and longrope are",
                       gguf_show(kind).text);
}

/* Angle per position of pair i. */
static inline double llama__frequency(const llama_config *c, const llama__rope *rope, int64_t i) {
    const double f = pow(rope->base, -2.0 * (double)i / (double)c->rotary) / (rope->divisors ? rope->divisors[i] : 1);
    if (!rope->yarn) return f / rope->factor;
    const double x = ((double)i - rope->low) / fmax(rope->high - rope->low, 0.001);
    const double scaled = fmin(fmax(x, 0), 1);
    return f * (1 - scaled) + f / rope->factor * scaled;
}

static inline int llama__read_rope(llama__reader *r) {
    llama_config *c = r->config;
    llama__rope rope = {.factor = 1}, sliding = {.factor = 1};
    c->rope_factor = 1;
    if (llama__size(r, "rope.dimension_count", c->head, c->head, &c->rotary)) return 1;
    if (c->rotary % 2)
        return llama__fail(r->why, r->why_size, "%lld features are rotated; the number must be even",
                           (long long)c->rotary);
    if (llama__number(r, "rope.freq_base", 10000, &rope.base) || llama__read_scaling(r, &rope)) return 1;
    const bool same = !llama__is(c, "gemma3"); /* whose layers that slide have angles of their own, without scaling */
    if (!same && llama__number(r, "rope.freq_base_swa", 10000, &sliding.base)) return 1;
    for (int64_t i = 0; i < c->rotary / 2; i++) {
        c->frequencies[0][i] = (float)llama__frequency(c, &rope, i);
        c->frequencies[1][i] = (float)llama__frequency(c, same ? &rope : &sliding, i);
    }
    return 0;
}

/* ---- sizes */

static inline int llama__read_heads(llama__reader *r) {
    llama_config *c = r->config;
    int64_t values;
    if (llama__size(r, "attention.head_count", 4096, 0, &c->heads) ||
        llama__size(r, "attention.head_count_kv", c->heads, c->heads, &c->kv_heads))
        return 1;
    if (c->heads % c->kv_heads)
        return llama__fail(r->why, r->why_size, "%lld heads of queries do not share %lld of keys evenly",
                           (long long)c->heads, (long long)c->kv_heads);
    if (llama__size(r, "attention.key_length", LLAMA_MAX_HEAD, c->width / c->heads, &c->head) ||
        llama__size(r, "attention.value_length", LLAMA_MAX_HEAD, c->head, &values))
        return 1;
    if (values != c->head) return llama__fail(r->why, r->why_size, "values of other width than keys are not supported");
    return 0;
}

static inline int llama__read_context(llama__reader *r, int64_t capacity) {
    llama_config *c = r->config;
    if (llama__size(r, "context_length", 1 << 30, 0, &c->context)) return 1;
    c->capacity = capacity ? capacity : c->context < 2048 ? c->context : 2048;
    if (c->capacity < 2 || c->capacity > c->context)
        return llama__fail(r->why, r->why_size, "context %lld; allowed is 2 to the model's %lld",
                           (long long)c->capacity, (long long)c->context);
    return 0;
}

static inline int llama__read_sizes(llama__reader *r) {
    llama_config *c = r->config;
    const gguf_tensor *embedding = gguf_find(r->file, "token_embd.weight");
    const char *ffn = c->experts ? "expert_feed_forward_length" : "feed_forward_length";
    if (llama__size(r, "block_count", 1024, 0, &c->layers) || llama__size(r, "embedding_length", 1 << 20, 0, &c->width))
        return 1;
    if (c->experts && !gguf_find_value(r->file, llama__key(r, ffn))) ffn = "feed_forward_length";
    if (llama__size(r, ffn, 1 << 22, 0, &c->ffn) || llama__read_heads(r)) return 1;
    if (!embedding || embedding->rank != 2)
        return llama__fail(r->why, r->why_size, "no tensor token_embd.weight of two dimensions");
    c->vocabulary = embedding->shape[0];
    return 0;
}

/* ---- properties */

typedef struct llama__architecture {
    const char *name;
    bool rotates_pairs, has_experts, normalises_experts, is_gemma;
    llama_head_norms head_norms;
    int window_period;   /* if the file does not say it */
    int64_t wide_layers; /* a model of so many layers scales scores by sqrt(width / heads), not by sqrt(head) */
} llama__architecture;

static inline const llama__architecture *llama__find_architecture(gguf_text name) {
    static const llama__architecture known[] = {
        {.name = "llama", .rotates_pairs = true},
        {.name = "qwen2"},
        {.name = "qwen3", .head_norms = LLAMA_NORM_OF_HEAD},
        {.name = "qwen3moe", .has_experts = true, .normalises_experts = true, .head_norms = LLAMA_NORM_OF_HEAD},
        {.name = "olmoe", .has_experts = true, .head_norms = LLAMA_NORM_OF_ALL_HEADS},
        {.name = "gemma2", .is_gemma = true, .window_period = 2, .wide_layers = 46},
        {.name = "gemma3", .is_gemma = true, .head_norms = LLAMA_NORM_OF_HEAD, .window_period = 6, .wide_layers = 62},
        {.name = "phi3"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (gguf_text_is(name, known[i].name)) return &known[i];
    return NULL;
}

static inline int llama__read_experts(llama__reader *r, const llama__architecture *a) {
    llama_config *c = r->config;
    c->normalises_experts = a->normalises_experts;
    if (!a->has_experts) {
        if (llama__optional(r, "expert_count"))
            return llama__fail(r->why, r->why_size, "mixtures of experts are not supported for %s", c->architecture);
        return 0;
    }
    gguf_bool(r->file, llama__key(r, "expert_weights_norm"), &c->normalises_experts);
    return llama__size(r, "expert_count", 1 << 16, 0, &c->experts) ||
           llama__size(r, "expert_used_count", c->experts, 0, &c->experts_used);
}

static inline int llama__read_attention(llama__reader *r, const llama__architecture *a) {
    llama_config *c = r->config;
    const int64_t width = c->layers == a->wide_layers ? c->width / c->heads : c->head;
    c->head_norms = a->head_norms;
    c->attention_cap = llama__optional(r, "attn_logit_softcapping");
    c->window = (int64_t)llama__optional(r, "attention.sliding_window");
    if (llama__number(r, "attention.scale", 1 / sqrt((double)width), &c->attention_scale)) return 1;
    if (llama__optional(r, "attention.clamp_kqv"))
        return llama__fail(r->why, r->why_size, "clamped queries, keys and values are not supported");
    if (!a->window_period) return 0;
    return llama__size(r, "attention.sliding_window_pattern", 1 << 10, a->window_period, &c->window_period);
}

static inline int llama__read_properties(llama__reader *r, const llama__architecture *a) {
    llama_config *c = r->config;
    c->rotates_pairs = a->rotates_pairs;
    gguf_bool(r->file, llama__key(r, "rope.rotates_pairs"), &c->rotates_pairs); /* hf_model.h */
    c->has_post_norms = c->has_gelu = a->is_gemma;
    c->embedding_scale = a->is_gemma ? sqrt((double)c->width) : 1;
    c->logit_cap = llama__optional(r, "final_logit_softcapping");
    return llama__number(r, "attention.layer_norm_rms_epsilon", 1e-5, &c->epsilon);
}

static inline int llama_read_config(const gguf *file, int64_t capacity, llama_config *c, char *why, size_t why_size) {
    llama__reader r = {.file = file, .config = c, .why = why, .why_size = why_size};
    gguf_text name;
    memset(c, 0, sizeof *c);
    if (!gguf_string(file, "general.architecture", &name)) return llama__fail(why, why_size, "no general.architecture");
    const llama__architecture *a = llama__find_architecture(name);
    if (!a)
        return llama__fail(why, why_size,
                           "architecture %s is not supported; llama, qwen2, qwen3, qwen3moe, olmoe, gemma2, gemma3 and "
                           "phi3 are",
                           gguf_show(name).text);
    snprintf(c->architecture, sizeof c->architecture, "%s", a->name);
    return llama__read_experts(&r, a) || llama__read_context(&r, capacity) || llama__read_sizes(&r) ||
           llama__read_attention(&r, a) || llama__read_properties(&r, a) || llama__read_rope(&r);
}

#endif /* LLAMA_CONFIG_H */
