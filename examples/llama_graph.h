/* llama_graph.h: the graph of a decoder-only language model, built from the metadata of a GGUF file.
 *
 *     llama_config c;
 *     char why[256];
 *     if (llama_read_config(&file, &c, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *     llama_graph_desc desc = {.file = &file, .config = &c, .dtype = IND_F32, .capacity = 2048};
 *     if (llama_build(graph, &desc, why, sizeof why) || ind_compile(graph, NULL, &module)) ...
 *     llama_bind_constants(module, &file, &c, why, sizeof why);
 *
 * A run takes T tokens of each of B sequences and writes their keys and values into caches of N entries. With one
 * sequence N may grow from run to run up to the size of the caches' memory: a run reads the N entries that it is given.
 *
 *     input  tokens     i64[B, T]
 *     input  position   i64[B]                   of the first of the T tokens; position + T <= N
 *     input  last       i64[B]                   in [0, T): the token whose logits are wanted
 *     input  keys<i>    dtype[B, N, kv_heads, head]    of layer i; written in place; and values<i>
 *     output logits     f32[B, vocabulary]
 *     output next       i64[B]                   the token with the largest logit
 *
 * With desc.targets there are instead of `last`, logits and next:
 *
 *     input  targets    i64[B, T]
 *     output losses     f32[B, T]                -log of the probability of each target
 *
 * Weights are constants with the names that they have in the file. Quantised ones stay quantised in memory.
 * Architectures: llama (also Mistral and SmolLM), qwen2, qwen3. Others are refused by name.
 */
#ifndef LLAMA_GRAPH_H
#define LLAMA_GRAPH_H

#include "gguf.h"
#include "inductor.h"
#include <math.h>

enum { LLAMA_MAX_HEAD = 512 };

typedef struct llama_config {
    char architecture[32];
    int64_t layers, width, heads, kv_heads, head, ffn, context, vocabulary;
    int64_t rotary; /* features of a head that are rotated: the first ones */
    double epsilon, rope_base;
    double rope_scale;   /* frequencies are divided by it: linear scaling; 1: none */
    bool rotates_pairs;  /* features 2i and 2i + 1 are rotated together; else i and i + rotary / 2 */
    bool has_head_norms; /* queries and keys are normalised before they are rotated */
} llama_config;

typedef struct llama_graph_desc {
    const gguf *file;
    const llama_config *config;
    ind_dtype dtype;    /* of activations and caches: f32, f16 or bf16 */
    int64_t capacity;   /* the largest N */
    const char *batch;  /* declarations of the sizes B and T; NULL: "B in [1, 64] hint 1" .. */
    const char *tokens; /* .. "T in [1, 512] hint 1" */
    bool targets;
} llama_graph_desc;

/* Reads and checks the metadata. Returns 0, or 1 with one line in why[why_size]. */
static inline int llama_read_config(const gguf *file, llama_config *c, char *why, size_t why_size);

/* Adds the model to an empty graph. Returns 0, or 1 with one line: a tensor is missing or has another shape. Errors of
   the graph itself are reported by ind_compile. */
static inline int llama_build(ind_graph *graph, const llama_graph_desc *desc, char *why, size_t why_size);

/* Copies all constants to the device of a module: the file may then be closed. Returns 0, or 1 with one line. */
static inline int llama_bind_constants(ind_module *module, const gguf *file, const llama_config *c, char *why,
                                       size_t why_size);

/* ---- configuration */

static inline int llama__fail(char *why, size_t why_size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(why, why_size, format, args);
    va_end(args);
    return 1;
}

/* An integer of the architecture, from 1 to `most`; `fallback` if it is absent and fallback > 0. Returns 0, or 1. */
static inline int llama__size(const gguf *file, const llama_config *c, const char *key, int64_t most, int64_t fallback,
                              int64_t *out, char *why, size_t why_size) {
    char full[96];
    snprintf(full, sizeof full, "%s.%s", c->architecture, key);
    *out = fallback;
    const bool absent = fallback > 0 && !gguf_find_value(file, full);
    if ((!absent && !gguf_integer(file, full, out)) || *out < 1 || *out > most)
        return llama__fail(why, why_size, "%s is missing or not an integer from 1 to %lld", full, (long long)most);
    return 0;
}

/* A positive number of the architecture; `fallback` if it is absent. Returns 0, or 1. */
static inline int llama__number(const gguf *file, const llama_config *c, const char *key, double fallback, double *out,
                                char *why, size_t why_size) {
    char full[96];
    snprintf(full, sizeof full, "%s.%s", c->architecture, key);
    *out = fallback;
    if (!gguf_find_value(file, full)) return 0;
    if (!gguf_number(file, full, out) || !(*out > 0 && *out < 1e30))
        return llama__fail(why, why_size, "%s is not a positive number", full);
    return 0;
}

static inline int llama__read_rope(const gguf *file, llama_config *c, char *why, size_t why_size) {
    char full[96];
    gguf_text scaling;
    if (llama__size(file, c, "rope.dimension_count", c->head, c->head, &c->rotary, why, why_size)) return 1;
    if (c->rotary % 2)
        return llama__fail(why, why_size, "%lld features are rotated; the number must be even", (long long)c->rotary);
    c->rope_scale = 1;
    if (llama__number(file, c, "rope.freq_base", 10000, &c->rope_base, why, why_size)) return 1;
    snprintf(full, sizeof full, "%s.rope.scaling.type", c->architecture);
    if (!gguf_string(file, full, &scaling) || gguf_text_is(scaling, "none")) return 0;
    if (!gguf_text_is(scaling, "linear"))
        return llama__fail(why, why_size, "rope scaling %s is not supported", gguf_show(scaling).text);
    return llama__number(file, c, "rope.scaling.factor", 1, &c->rope_scale, why, why_size);
}

static inline int llama__read_sizes(const gguf *file, llama_config *c, char *why, size_t why_size) {
    const gguf_tensor *embedding = gguf_find(file, "token_embd.weight");
    if (llama__size(file, c, "block_count", 1024, 0, &c->layers, why, why_size) ||
        llama__size(file, c, "embedding_length", 1 << 20, 0, &c->width, why, why_size) ||
        llama__size(file, c, "feed_forward_length", 1 << 22, 0, &c->ffn, why, why_size) ||
        llama__size(file, c, "attention.head_count", 4096, 0, &c->heads, why, why_size) ||
        llama__size(file, c, "attention.head_count_kv", c->heads, c->heads, &c->kv_heads, why, why_size) ||
        llama__size(file, c, "context_length", 1 << 30, 0, &c->context, why, why_size))
        return 1;
    if (c->heads % c->kv_heads)
        return llama__fail(why, why_size, "%lld heads of queries do not share %lld of keys evenly", (long long)c->heads,
                           (long long)c->kv_heads);
    if (llama__size(file, c, "attention.key_length", LLAMA_MAX_HEAD, c->width / c->heads, &c->head, why, why_size))
        return 1;
    int64_t values;
    if (llama__size(file, c, "attention.value_length", LLAMA_MAX_HEAD, c->head, &values, why, why_size)) return 1;
    if (values != c->head) return llama__fail(why, why_size, "values of other width than keys are not supported");
    if (!embedding || embedding->rank != 2)
        return llama__fail(why, why_size, "no tensor token_embd.weight of two dimensions");
    c->vocabulary = embedding->shape[0];
    return 0;
}

/* True if there is such a number of the architecture that is not 0. */
static inline bool llama__has_number(const gguf *file, const llama_config *c, const char *key) {
    char full[96];
    double x = 0;
    snprintf(full, sizeof full, "%s.%s", c->architecture, key);
    return gguf_number(file, full, &x) && x != 0;
}

static inline int llama_read_config(const gguf *file, llama_config *c, char *why, size_t why_size) {
    static const struct {
        const char *name;
        bool pairs, head_norms;
    } known[] = {{"llama", true, false}, {"qwen2", false, false}, {"qwen3", false, true}};
    gguf_text name;
    memset(c, 0, sizeof *c);
    if (!gguf_string(file, "general.architecture", &name)) return llama__fail(why, why_size, "no general.architecture");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (gguf_text_is(name, known[i].name)) {
            snprintf(c->architecture, sizeof c->architecture, "%s", known[i].name);
            c->rotates_pairs = known[i].pairs;
            c->has_head_norms = known[i].head_norms;
        }
    if (!*c->architecture)
        return llama__fail(why, why_size, "architecture %s is not supported; llama, qwen2 and qwen3 are",
                           gguf_show(name).text);
    if (llama__has_number(file, c, "expert_count"))
        return llama__fail(why, why_size, "mixtures of experts are not supported");
    if (llama__has_number(file, c, "attention.sliding_window"))
        return llama__fail(why, why_size, "sliding windows are not supported");
    if (llama__read_sizes(file, c, why, why_size) || llama__read_rope(file, c, why, why_size)) return 1;
    return llama__number(file, c, "attention.layer_norm_rms_epsilon", 1e-5, &c->epsilon, why, why_size);
}

/* ---- graph */

/* The state of a build. */
typedef struct llama__builder {
    const llama_graph_desc *desc;
    const llama_config *config;
    ind_graph *graph;
    ind_context *context;
    ind_expr entries;     /* N */
    ind_tensor embedding; /* dtype[vocabulary, width] */
    ind_tensor rows;      /* i64[B, T]: entry of the cache of each token */
    ind_tensor cos, sin;  /* dtype[B, T, 1, rotary / 2] */
    ind_tensor sequence;  /* i64[B, 1] */
    ind_tensor seen;      /* bool[B, 1, T, N] */
    char missing[96];     /* the first tensor that is missing or has another shape */
} llama__builder;

/* "blk.3.attn_q.weight", or the name alone for layer -1. */
static inline void llama__name(char *full, size_t size, int64_t layer, const char *name) {
    if (layer < 0)
        snprintf(full, size, "%s", name);
    else
        snprintf(full, size, "blk.%lld.%s", (long long)layer, name);
}

/* A weight of the file in the type of the activations: [rows, cols], or [cols] if rows is 0. */
static inline ind_tensor llama__weight(llama__builder *b, int64_t layer, const char *name, int64_t rows, int64_t cols) {
    char full[80], type[96];
    llama__name(full, sizeof full, layer, name);
    const gguf_tensor *t = gguf_find(b->desc->file, full);
    if (!t || t->rank != (rows ? 2 : 1) || t->shape[t->rank - 1] != cols || (rows && t->shape[0] != rows)) {
        if (!*b->missing) memcpy(b->missing, full, sizeof full);
        return IND_NO_TENSOR;
    }
    const char *format = t->format->name;
    const bool plain = t->format->elements == 1;
    const long long last = plain ? (long long)cols : (long long)t->row_bytes;
    if (rows)
        snprintf(type, sizeof type, "%s[%lld, %lld]", plain ? format : "u8", (long long)rows, last);
    else
        snprintf(type, sizeof type, "%s[%lld]", plain ? format : "u8", last);
    ind_tensor x = ind_constant(b->graph, full, type);
    if (plain) return ind_cast(x, b->desc->dtype);
    return ind_dequantise(x, &(ind_dequantise_desc){.format = format, .dtype = b->desc->dtype});
}

static inline bool llama__has(const llama__builder *b, int64_t layer, const char *name) {
    char full[80];
    llama__name(full, sizeof full, layer, name);
    return gguf_find(b->desc->file, full) != NULL;
}

/* x[.., cols] times a weight [rows, cols], with its bias if the file has one. `name` is without ".weight". */
static inline ind_tensor llama__linear(llama__builder *b, ind_tensor x, int64_t layer, const char *name, int64_t rows,
                                       int64_t cols) {
    char weight[48], bias[48];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    ind_tensor w = llama__weight(b, layer, weight, rows, cols);
    return ind_linear(x, w, llama__has(b, layer, bias) ? llama__weight(b, layer, bias, 0, rows) : IND_NO_TENSOR);
}

static inline ind_tensor llama__norm(llama__builder *b, ind_tensor x, int64_t layer, const char *name, int64_t width) {
    return ind_rms_norm(x, 1, llama__weight(b, layer, name, 0, width), b->config->epsilon);
}

static inline ind_expr llama__int(llama__builder *b, int64_t n) {
    return ind_int(b->context, n);
}

static inline ind_tensor llama__range(llama__builder *b, ind_expr end) {
    return ind_arange(b->graph, llama__int(b, 0), end, llama__int(b, 1), IND_I64);
}

/* x[B, T, heads * head] as [B, T, heads, head]. */
static inline ind_tensor llama__heads(ind_tensor x, int64_t heads, int64_t head) {
    char size[64];
    snprintf(size, sizeof size, "[B, T, %lld, %lld]", (long long)heads, (long long)head);
    return ind_view_text(x, size);
}

/* Rotates the first `rotary` features of x[B, T, heads, head] by the angles of their positions. */
static inline ind_tensor llama__rotate(llama__builder *b, ind_tensor x, int64_t heads) {
    const llama_config *c = b->config;
    const ind_expr zero = llama__int(b, 0), one = llama__int(b, 1), half = llama__int(b, c->rotary / 2);
    const ind_expr all = llama__int(b, c->rotary);
    char size[80];
    ind_tensor rest = x, u, v;
    if (c->rotary < c->head) x = ind_slice(x, -1, zero, all, one);
    if (c->rotates_pairs) {
        snprintf(size, sizeof size, "[B, T, %lld, %lld, 2]", (long long)heads, (long long)c->rotary / 2);
        ind_tensor pairs = ind_view_text(x, size);
        u = ind_select(pairs, -1, zero);
        v = ind_select(pairs, -1, one);
    } else {
        u = ind_slice(x, -1, zero, half, one);
        v = ind_slice(x, -1, half, all, one);
    }
    ind_tensor turned[2] = {ind_sub(ind_mul(u, b->cos), ind_mul(v, b->sin)),
                            ind_add(ind_mul(v, b->cos), ind_mul(u, b->sin))};
    if (c->rotates_pairs)
        x = llama__heads(ind_stack(turned, 2, -1), heads, c->rotary);
    else
        x = ind_cat(turned, 2, -1);
    if (c->rotary == c->head) return x;
    ind_tensor parts[2] = {x, ind_slice(rest, -1, all, llama__int(b, c->head), one)};
    return ind_cat(parts, 2, -1);
}

/* Writes x[B, T, kv_heads, head] into the cache of this name. Returns the cache as [B, kv_heads, N, head]. */
static inline ind_tensor llama__cache(llama__builder *b, ind_tensor x, const char *name, int64_t layer) {
    const llama_config *c = b->config;
    char full[32], type[96];
    snprintf(full, sizeof full, "%s%lld", name, (long long)layer);
    snprintf(type, sizeof type, "%s[B, N, %lld, %lld]", ind_dtype_name(b->desc->dtype), (long long)c->kv_heads,
             (long long)c->head);
    ind_tensor cache = ind_input(b->graph, full, type), at[2] = {b->sequence, b->rows};
    ind_tensor written = ind_index_put(cache, at, 2, x, false);
    ind_mutate(cache, written);
    return ind_transpose(written, 1, 2);
}

static inline ind_tensor llama__attention(llama__builder *b, ind_tensor x, int64_t i) {
    const llama_config *c = b->config;
    ind_tensor q = llama__heads(llama__linear(b, x, i, "attn_q", c->heads * c->head, c->width), c->heads, c->head);
    ind_tensor k =
        llama__heads(llama__linear(b, x, i, "attn_k", c->kv_heads * c->head, c->width), c->kv_heads, c->head);
    ind_tensor v =
        llama__heads(llama__linear(b, x, i, "attn_v", c->kv_heads * c->head, c->width), c->kv_heads, c->head);
    if (c->has_head_norms) {
        q = llama__norm(b, q, i, "attn_q_norm.weight", c->head);
        k = llama__norm(b, k, i, "attn_k_norm.weight", c->head);
    }
    q = ind_transpose(llama__rotate(b, q, c->heads), 1, 2);
    k = llama__cache(b, llama__rotate(b, k, c->kv_heads), "keys", i);
    v = llama__cache(b, v, "values", i);
    ind_tensor y = ind_scaled_dot_product_attention(q, k, v, b->seen, &(ind_attention_desc){.enable_gqa = true});
    char size[48];
    snprintf(size, sizeof size, "[B, T, %lld]", (long long)(c->heads * c->head));
    y = ind_view_text(ind_transpose(y, 1, 2), size);
    return llama__linear(b, y, i, "attn_output", c->width, c->heads * c->head);
}

static inline ind_tensor llama__mlp(llama__builder *b, ind_tensor x, int64_t i) {
    const llama_config *c = b->config;
    ind_tensor gate = ind_silu(llama__linear(b, x, i, "ffn_gate", c->ffn, c->width));
    ind_tensor up = llama__linear(b, x, i, "ffn_up", c->ffn, c->width);
    return llama__linear(b, ind_mul(gate, up), i, "ffn_down", c->width, c->ffn);
}

static inline ind_tensor llama__layers(llama__builder *b, ind_tensor x) {
    const llama_config *c = b->config;
    for (int64_t i = 0; i < c->layers; i++) {
        x = ind_add(x, llama__attention(b, llama__norm(b, x, i, "attn_norm.weight", c->width), i));
        x = ind_add(x, llama__mlp(b, llama__norm(b, x, i, "ffn_norm.weight", c->width), i));
    }
    return llama__norm(b, x, -1, "output_norm.weight", c->width);
}

/* Positions, angles and the mask, which all layers share. */
static inline void llama__positions(llama__builder *b, ind_tensor tokens) {
    const llama_config *c = b->config;
    ind_graph *g = b->graph;
    char type[32];
    ind_tensor position = ind_unsqueeze(ind_input(g, "position", "i64[B]"), 1);
    b->rows = ind_add(position, llama__range(b, ind_tensor_size(tokens, 1)));
    b->sequence = ind_unsqueeze(llama__range(b, ind_tensor_size(tokens, 0)), 1);
    snprintf(type, sizeof type, "f32[%lld]", (long long)c->rotary / 2);
    ind_tensor at = ind_unsqueeze(ind_unsqueeze(ind_cast(b->rows, IND_F32), -1), -1);
    ind_tensor angle = ind_mul(at, ind_constant(g, "rope.frequencies", type));
    b->cos = ind_cast(ind_cos(angle), b->desc->dtype);
    b->sin = ind_cast(ind_sin(angle), b->desc->dtype);
    ind_tensor keys = llama__range(b, b->entries);
    b->seen = ind_le(keys, ind_unsqueeze(ind_unsqueeze(b->rows, 1), -1));
}

static inline ind_tensor llama__logits(llama__builder *b, ind_tensor x) {
    const llama_config *c = b->config;
    ind_tensor w = b->embedding; /* tied */
    if (llama__has(b, -1, "output.weight")) w = llama__weight(b, -1, "output.weight", c->vocabulary, c->width);
    return ind_cast(ind_linear(x, w, IND_NO_TENSOR), IND_F32);
}

static inline int llama_build(ind_graph *graph, const llama_graph_desc *desc, char *why, size_t why_size) {
    llama__builder b = {.desc = desc, .config = desc->config, .graph = graph, .context = ind_graph_context(graph)};
    const llama_config *c = desc->config;
    char entries[64];
    ind_size(graph, desc->batch ? desc->batch : "B in [1, 64] hint 1");
    ind_size(graph, desc->tokens ? desc->tokens : "T in [1, 512] hint 1");
    snprintf(entries, sizeof entries, "N in [1, %lld] hint %lld", (long long)desc->capacity,
             (long long)(desc->capacity < 1024 ? desc->capacity : 1024));
    b.entries = ind_size(graph, entries);
    ind_tensor tokens = ind_input(graph, "tokens", "i64[B, T]");
    llama__positions(&b, tokens);
    b.embedding = llama__weight(&b, -1, "token_embd.weight", c->vocabulary, c->width);
    ind_tensor x = llama__layers(&b, ind_embedding(b.embedding, tokens));
    if (desc->targets) {
        ind_tensor targets = ind_unsqueeze(ind_input(graph, "targets", "i64[B, T]"), -1);
        ind_tensor p = ind_log_softmax(llama__logits(&b, x), -1);
        ind_output(graph, "losses", ind_neg(ind_squeeze(ind_gather(p, -1, targets), -1)));
    } else {
        ind_tensor at[2] = {ind_squeeze(b.sequence, 1), ind_input(graph, "last", "i64[B]")};
        ind_tensor logits = llama__logits(&b, ind_index(x, at, 2));
        ind_output(graph, "logits", logits);
        ind_output(graph, "next", ind_argmax(logits, -1, false));
    }
    return *b.missing ? llama__fail(why, why_size, "tensor %s is missing or has another shape", b.missing) : 0;
}

/* ---- constants */

/* The angle per position of each pair of features. rope_freqs.weight has divisors of them (Llama 3.1). */
static inline int llama__frequencies(const gguf *file, const llama_config *c, float *out, char *why, size_t why_size) {
    const gguf_tensor *divisors = gguf_find(file, "rope_freqs.weight");
    if (divisors &&
        (divisors->rank != 1 || divisors->shape[0] != c->rotary / 2 || strcmp(divisors->format->name, "f32")))
        return llama__fail(why, why_size, "rope_freqs.weight is not f32[%lld]", (long long)c->rotary / 2);
    for (int64_t i = 0; i < c->rotary / 2; i++) {
        const double by = divisors ? (double)((const float *)divisors->data)[i] : 1;
        if (!(by > 0)) return llama__fail(why, why_size, "rope_freqs.weight has a number that is not positive");
        out[i] = (float)(pow(c->rope_base, -2.0 * (double)i / (double)c->rotary) / c->rope_scale / by);
    }
    return 0;
}

static inline int llama_bind_constants(ind_module *module, const gguf *file, const llama_config *c, char *why,
                                       size_t why_size) {
    float frequencies[LLAMA_MAX_HEAD / 2];
    if (llama__frequencies(file, c, frequencies, why, why_size)) return 1;
    for (int i = 0; i < ind_module_num_bindings(module); i++) {
        const ind_binding_info *info = ind_module_query_binding(module, i);
        if (info->kind != IND_BINDING_CONST) continue;
        const gguf_tensor *t = gguf_find(file, info->name);
        const void *data = t ? t->data : frequencies;
        const size_t bytes = t ? t->num_bytes : (size_t)c->rotary / 2 * sizeof *frequencies;
        const ind_status status = ind_module_constant(module, info->name, data, bytes, IND_MEMORY_HOST);
        if (status) return llama__fail(why, why_size, "%s: %s", info->name, ind_status_text(status));
    }
    return 0;
}

#endif /* LLAMA_GRAPH_H */
