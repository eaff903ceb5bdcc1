/* llama_graph.h: the graph of a decoder-only language model, built from the metadata of a GGUF file.
 *
 *     llama_config c;
 *     char why[256];
 *     if (llama_read_config(&file, 0, &c, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *     llama_graph_desc desc = {.file = &file, .config = &c, .dtype = IND_F32};
 *     if (llama_build(graph, &desc, why, sizeof why) || ind_compile(graph, NULL, &module)) ...
 *     llama_bind_constants(module, &file, &c, why, sizeof why);
 *
 * A run takes T tokens of each of B sequences and writes their keys and values into caches of C = config.capacity
 * entries, of which the first N are read. B, T and N are symbolic sizes: one module serves prompts and single tokens.
 *
 *     input  tokens     i64[B, T]
 *     input  position   i64[B]                   of the first of the T tokens; position + T <= N. Written in place:
 *                                                `count` more, at most C - 1
 *     input  count      i64[B]                   in [0, T]: tokens of the sequence; those after them are padding
 *     input  keys<i>    dtype[B, C, kv_heads, head]    of layer i; written in place; and values<i>
 *     output logits     f32[B, K, vocabulary]    of the last K of `count` tokens
 *     output next       i64[B, K]                their successors: tokens with the largest logit, or samples
 *
 * K is 1, or a symbolic size with desc.drafts, for the verification of draft tokens. If a sequence has fewer than K
 * tokens, its first rows repeat the first token. With desc.samples the inputs of llama_sample.h are added. With
 * desc.targets there are instead of `count`, logits and next:
 *
 *     input  targets    i64[B, T]
 *     output losses     f32[B, T]                -log of the probability of each target
 *
 * `next` may be bound as `tokens` of the following run with T = 1, whose own `next` needs other memory: no copy between
 * steps. Weights are constants with their names in the file. They are quantised in memory as in the file. Weights of
 * experts are dequantised in each run.
 */
#ifndef LLAMA_GRAPH_H
#define LLAMA_GRAPH_H

#include "inductor.h"
#include "llama_config.h"
#include "llama_sample.h"

typedef struct llama_graph_desc {
    const gguf *file;
    const llama_config *config;
    ind_dtype dtype;    /* of activations and caches: f32, f16 or bf16 */
    const char *batch;  /* declarations of the sizes B and T; NULL: "B in [1, 64] hint 1" .. */
    const char *tokens; /* .. "T in [1, 512] hint 1" */
    bool samples, targets;
    int drafts; /* draft tokens of a run: K is at most one more */
} llama_graph_desc;

/* Adds the model to an empty graph. Returns 0, or 1 with one line: a tensor is missing or has another shape. Errors of
   the graph itself are reported by ind_compile. */
static inline int llama_build(ind_graph *graph, const llama_graph_desc *desc, char *why, size_t why_size);

/* Copies all constants to the device of a module: the file may then be closed. Returns 0, or 1 with one line. */
static inline int llama_bind_constants(ind_module *module, const gguf *file, const llama_config *c, char *why,
                                       size_t why_size);

/* ---- state of a build */

typedef struct llama__builder {
    const llama_graph_desc *desc;
    const llama_config *config;
    ind_graph *graph;
    ind_context *context;
    ind_expr entries, wanted;  /* N, K */
    ind_tensor embedding;      /* dtype[vocabulary, width] */
    ind_tensor rows;           /* i64[B, T]: entry of the cache of each token */
    ind_tensor sequence;       /* i64[B, 1] */
    ind_tensor cos[2], sin[2]; /* dtype[B, T, 1, rotary / 2]; [1]: of layers that slide */
    ind_tensor seen[2];        /* bool[B, 1, T, N]: keys that a token sees */
    char missing[96];          /* the first tensor that is missing or has another shape */
} llama__builder;

static inline ind_expr llama__int(llama__builder *b, int64_t n) {
    return ind_int(b->context, n);
}

static inline ind_tensor llama__scale(llama__builder *b, ind_tensor x, double by) {
    return by == 1 ? x : ind_mul(x, ind_scalar(b->graph, by));
}

/* cap * tanh(x / cap); x if cap is 0. */
static inline ind_tensor llama__cap(llama__builder *b, ind_tensor x, double cap) {
    return cap ? llama__scale(b, ind_tanh(llama__scale(b, x, 1 / cap)), cap) : x;
}

static inline ind_tensor llama__range(llama__builder *b, ind_expr end) {
    return ind_arange(b->graph, llama__int(b, 0), end, llama__int(b, 1), IND_I64);
}

static inline ind_tensor llama__slice(llama__builder *b, ind_tensor x, int64_t from, int64_t to) {
    return ind_slice(x, -1, llama__int(b, from), llama__int(b, to), llama__int(b, 1));
}

/* ---- weights */

/* "blk.3.attn_q.weight", or the name alone for layer -1. */
static inline void llama__name(char *full, size_t size, int64_t layer, const char *name) {
    if (layer < 0)
        snprintf(full, size, "%s", name);
    else
        snprintf(full, size, "blk.%lld.%s", (long long)layer, name);
}

static inline bool llama__has(const llama__builder *b, int64_t layer, const char *name) {
    char full[80];
    llama__name(full, sizeof full, layer, name);
    return gguf_find(b->desc->file, full) != NULL;
}

/* A weight of the file in the type of the activations: [matrices, rows, cols]; without the sizes that are 0. */
static inline ind_tensor llama__weights(llama__builder *b, int64_t layer, const char *name, int64_t matrices,
                                        int64_t rows, int64_t cols) {
    const int64_t shape[3] = {matrices, rows, cols};
    const int first = matrices ? 0 : rows ? 1 : 2, rank = 3 - first;
    char full[80], type[96];
    llama__name(full, sizeof full, layer, name);
    const gguf_tensor *t = gguf_find(b->desc->file, full);
    bool good = t && t->rank == rank;
    for (int d = 0; good && d < rank; d++) good = t->shape[d] == shape[first + d];
    if (!good) {
        if (!*b->missing) memcpy(b->missing, full, sizeof full);
        return IND_NO_TENSOR;
    }
    const bool plain = t->format->elements == 1;
    size_t at = (size_t)snprintf(type, sizeof type, "%s[", plain ? t->format->name : "u8");
    for (int d = first; d < 2; d++) at += (size_t)snprintf(type + at, sizeof type - at, "%lld, ", (long long)shape[d]);
    snprintf(type + at, sizeof type - at, "%lld]", (long long)(plain ? cols : (int64_t)t->row_bytes));
    ind_tensor x = ind_constant(b->graph, full, type);
    if (plain) return ind_cast(x, b->desc->dtype);
    return ind_dequantise(x, &(ind_dequantise_desc){.format = t->format->name, .dtype = b->desc->dtype});
}

static inline ind_tensor llama__weight(llama__builder *b, int64_t layer, const char *name, int64_t rows, int64_t cols) {
    return llama__weights(b, layer, name, 0, rows, cols);
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

/* ---- attention */

/* x[B, T, heads * head] as [B, T, heads, head]. */
static inline ind_tensor llama__heads(ind_tensor x, int64_t heads, int64_t head) {
    char size[64];
    snprintf(size, sizeof size, "[B, T, %lld, %lld]", (long long)heads, (long long)head);
    return ind_view_text(x, size);
}

/* Rotates the first `rotary` features of x[B, T, heads, head] by the angles of their positions. */
static inline ind_tensor llama__rotate(llama__builder *b, ind_tensor x, int64_t heads, int64_t layer) {
    const llama_config *c = b->config;
    const int slides = llama_layer_slides(c, layer);
    const int64_t half = c->rotary / 2;
    char size[80];
    ind_tensor rest = x, u, v, cos = b->cos[slides], sin = b->sin[slides];
    if (c->rotary < c->head) x = llama__slice(b, x, 0, c->rotary);
    if (c->rotates_pairs) {
        snprintf(size, sizeof size, "[B, T, %lld, %lld, 2]", (long long)heads, (long long)half);
        ind_tensor pairs = ind_view_text(x, size);
        u = ind_select(pairs, -1, llama__int(b, 0));
        v = ind_select(pairs, -1, llama__int(b, 1));
    } else {
        u = llama__slice(b, x, 0, half);
        v = llama__slice(b, x, half, c->rotary);
    }
    ind_tensor turned[2] = {ind_sub(ind_mul(u, cos), ind_mul(v, sin)), ind_add(ind_mul(v, cos), ind_mul(u, sin))};
    x = c->rotates_pairs ? llama__heads(ind_stack(turned, 2, -1), heads, c->rotary) : ind_cat(turned, 2, -1);
    if (c->rotary == c->head) return x;
    ind_tensor parts[2] = {x, llama__slice(b, rest, c->rotary, c->head)};
    return ind_cat(parts, 2, -1);
}

/* Writes x[B, T, kv_heads, head] into the cache of this name. Returns its first N entries as [B, kv_heads, N, head]. */
static inline ind_tensor llama__cache(llama__builder *b, ind_tensor x, const char *name, int64_t layer) {
    const llama_config *c = b->config;
    char full[32], type[96];
    snprintf(full, sizeof full, "%s%lld", name, (long long)layer);
    snprintf(type, sizeof type, "%s[B, %lld, %lld, %lld]", ind_dtype_name(b->desc->dtype), (long long)c->capacity,
             (long long)c->kv_heads, (long long)c->head);
    ind_tensor cache = ind_input(b->graph, full, type), at[2] = {b->sequence, b->rows};
    ind_tensor written = ind_index_put(cache, at, 2, x, false);
    ind_mutate(cache, written);
    return ind_transpose(ind_slice(written, 1, llama__int(b, 0), b->entries, llama__int(b, 1)), 1, 2);
}

/* Attention with capped scores, written out. q is [B, heads, T, head], k and v are [B, kv_heads, N, head]. */
static inline ind_tensor llama__capped_attention(llama__builder *b, ind_tensor q, ind_tensor k, ind_tensor v,
                                                 ind_tensor seen) {
    const llama_config *c = b->config;
    char size[96];
    snprintf(size, sizeof size, "[B, %lld, %lld, T, %lld]", (long long)c->kv_heads, (long long)(c->heads / c->kv_heads),
             (long long)c->head);
    q = llama__scale(b, ind_view_text(q, size), c->attention_scale);
    ind_tensor scores = ind_matmul(q, ind_transpose(ind_unsqueeze(k, 2), -2, -1));
    scores = llama__cap(b, scores, c->attention_cap);
    scores = ind_where(ind_unsqueeze(seen, 1), scores, ind_scalar(b->graph, -INFINITY));
    ind_tensor y = ind_matmul(ind_softmax(scores, -1), ind_unsqueeze(v, 2));
    snprintf(size, sizeof size, "[B, %lld, T, %lld]", (long long)c->heads, (long long)c->head);
    return ind_view_text(y, size);
}

/* Queries, keys and values of x[B, T, width]: [B, T, heads * head]. Some files have one weight for the three. */
static inline void llama__project(llama__builder *b, ind_tensor x, int64_t layer, ind_tensor out[3]) {
    const llama_config *c = b->config;
    const int64_t queries = c->heads * c->head, keys = c->kv_heads * c->head;
    if (llama__has(b, layer, "attn_qkv.weight")) {
        ind_tensor all = llama__linear(b, x, layer, "attn_qkv", queries + 2 * keys, c->width);
        out[0] = llama__slice(b, all, 0, queries);
        out[1] = llama__slice(b, all, queries, queries + keys);
        out[2] = llama__slice(b, all, queries + keys, queries + 2 * keys);
    } else {
        out[0] = llama__linear(b, x, layer, "attn_q", queries, c->width);
        out[1] = llama__linear(b, x, layer, "attn_k", keys, c->width);
        out[2] = llama__linear(b, x, layer, "attn_v", keys, c->width);
    }
}

/* Divides x[B, T, heads * head] into heads, and normalises it if the model does. */
static inline ind_tensor llama__normed_heads(llama__builder *b, ind_tensor x, int64_t layer, const char *norm,
                                             int64_t heads) {
    const llama_config *c = b->config;
    if (c->head_norms == LLAMA_NORM_OF_ALL_HEADS) x = llama__norm(b, x, layer, norm, heads * c->head);
    x = llama__heads(x, heads, c->head);
    return c->head_norms == LLAMA_NORM_OF_HEAD ? llama__norm(b, x, layer, norm, c->head) : x;
}

static inline ind_tensor llama__attention(llama__builder *b, ind_tensor x, int64_t layer) {
    const llama_config *c = b->config;
    ind_tensor qkv[3], y, seen = b->seen[llama_layer_slides(c, layer)];
    llama__project(b, x, layer, qkv);
    ind_tensor q = llama__normed_heads(b, qkv[0], layer, "attn_q_norm.weight", c->heads);
    ind_tensor k = llama__normed_heads(b, qkv[1], layer, "attn_k_norm.weight", c->kv_heads);
    q = ind_transpose(llama__rotate(b, q, c->heads, layer), 1, 2);
    k = llama__cache(b, llama__rotate(b, k, c->kv_heads, layer), "keys", layer);
    ind_tensor v = llama__cache(b, llama__heads(qkv[2], c->kv_heads, c->head), "values", layer);
    if (c->attention_cap)
        y = llama__capped_attention(b, q, k, v, seen);
    else
        y = ind_scaled_dot_product_attention(q, k, v, seen,
                                             &(ind_attention_desc){.enable_gqa = true, .scale = c->attention_scale});
    char size[48];
    snprintf(size, sizeof size, "[B, T, %lld]", (long long)(c->heads * c->head));
    y = ind_view_text(ind_transpose(y, 1, 2), size);
    return llama__linear(b, y, layer, "attn_output", c->width, c->heads * c->head);
}

/* ---- MLP */

static inline ind_tensor llama__activate(llama__builder *b, ind_tensor gate, ind_tensor up) {
    return ind_mul(b->config->has_gelu ? ind_gelu(gate, IND_GELU_TANH) : ind_silu(gate), up);
}

static inline ind_tensor llama__mlp(llama__builder *b, ind_tensor x, int64_t layer) {
    const llama_config *c = b->config;
    ind_tensor gate, up;
    if (llama__has(b, layer, "ffn_gate.weight")) {
        gate = llama__linear(b, x, layer, "ffn_gate", c->ffn, c->width);
        up = llama__linear(b, x, layer, "ffn_up", c->ffn, c->width);
    } else { /* one weight for both */
        ind_tensor both = llama__linear(b, x, layer, "ffn_up", 2 * c->ffn, c->width);
        gate = llama__slice(b, both, 0, c->ffn);
        up = llama__slice(b, both, c->ffn, 2 * c->ffn);
    }
    return llama__linear(b, llama__activate(b, gate, up), layer, "ffn_down", c->width, c->ffn);
}

/* Rows x, sorted by their experts, times each expert's weight: [rows of x, rows]. */
static inline ind_tensor llama__expert_product(llama__builder *b, ind_tensor x, int64_t layer, const char *name,
                                               int64_t rows, int64_t cols, ind_tensor ends) {
    ind_tensor w = llama__weights(b, layer, name, b->config->experts, rows, cols);
    return ind_grouped_mm(x, ind_transpose(w, 1, 2), ends, IND_NO_TENSOR);
}

/* Each token goes to the `experts_used` experts with the largest probabilities; results are added with these as
   weights. Pairs of token and expert are sorted by expert for the products, and then sorted back. */
static inline ind_tensor llama__experts(llama__builder *b, ind_tensor x, int64_t layer) {
    const llama_config *c = b->config;
    const int last = -1, chosen_ones = 1;
    char size[80];
    ind_tensor chosen;
    snprintf(size, sizeof size, "[B * T, %lld]", (long long)c->width);
    x = ind_view_text(x, size);
    ind_tensor router = llama__weight(b, layer, "ffn_gate_inp.weight", c->experts, c->width);
    ind_tensor p = ind_softmax(ind_cast(ind_linear(x, router, IND_NO_TENSOR), IND_F32), -1);
    p = ind_topk(p, llama__int(b, c->experts_used), -1, true, &chosen);
    if (c->normalises_experts) p = ind_div(p, ind_sum(p, &last, 1, true, IND_DTYPE_NONE));
    snprintf(size, sizeof size, "[B * T * %lld]", (long long)c->experts_used);
    chosen = ind_view_text(chosen, size);
    ind_tensor order = ind_argsort(chosen, 0, false), every = llama__range(b, llama__int(b, c->experts));
    ind_tensor up_to = ind_le(ind_unsqueeze(chosen, 0), ind_unsqueeze(every, 1));
    ind_tensor ends = ind_cast(ind_sum(up_to, &last, 1, false, IND_I64), IND_I32);
    ind_tensor token = ind_floor_divide(order, ind_scalar_int(b->graph, c->experts_used));
    x = ind_index_select(x, 0, token);
    ind_tensor gate = llama__expert_product(b, x, layer, "ffn_gate_exps.weight", c->ffn, c->width, ends);
    ind_tensor up = llama__expert_product(b, x, layer, "ffn_up_exps.weight", c->ffn, c->width, ends);
    x = llama__activate(b, gate, up);
    x = llama__expert_product(b, x, layer, "ffn_down_exps.weight", c->width, c->ffn, ends);
    x = ind_index_select(x, 0, ind_argsort(order, 0, false));
    snprintf(size, sizeof size, "[B * T, %lld, %lld]", (long long)c->experts_used, (long long)c->width);
    x = ind_mul(ind_view_text(x, size), ind_unsqueeze(ind_cast(p, b->desc->dtype), -1));
    snprintf(size, sizeof size, "[B, T, %lld]", (long long)c->width);
    return ind_view_text(ind_sum(x, &chosen_ones, 1, false, IND_DTYPE_NONE), size);
}

/* ---- model */

static inline ind_tensor llama__layers(llama__builder *b, ind_tensor x) {
    const llama_config *c = b->config;
    for (int64_t i = 0; i < c->layers; i++) {
        ind_tensor y = llama__attention(b, llama__norm(b, x, i, "attn_norm.weight", c->width), i);
        if (c->has_post_norms) y = llama__norm(b, y, i, "post_attention_norm.weight", c->width);
        x = ind_add(x, y);
        y = llama__norm(b, x, i, "ffn_norm.weight", c->width);
        y = c->experts ? llama__experts(b, y, i) : llama__mlp(b, y, i);
        if (c->has_post_norms) y = llama__norm(b, y, i, "post_ffw_norm.weight", c->width);
        x = ind_add(x, y);
    }
    return llama__norm(b, x, -1, "output_norm.weight", c->width);
}

/* Sine and cosine of the angles, of layers that slide or do not. */
static inline void llama__angles(llama__builder *b, const char *frequencies, int slides) {
    const llama_config *c = b->config;
    char type[32];
    snprintf(type, sizeof type, "f32[%lld]", (long long)c->rotary / 2);
    ind_tensor at = ind_unsqueeze(ind_unsqueeze(ind_cast(b->rows, IND_F32), -1), -1);
    ind_tensor angle = ind_mul(at, ind_constant(b->graph, frequencies, type));
    b->cos[slides] = ind_cast(llama__scale(b, ind_cos(angle), c->rope_factor), b->desc->dtype);
    b->sin[slides] = ind_cast(llama__scale(b, ind_sin(angle), c->rope_factor), b->desc->dtype);
}

/* Positions, angles and masks, which all layers share. Returns the position of the first token, i64[B]. */
static inline ind_tensor llama__positions(llama__builder *b, ind_tensor tokens) {
    const llama_config *c = b->config;
    ind_graph *g = b->graph;
    ind_tensor position = ind_input(g, "position", "i64[B]");
    b->rows = ind_add(ind_unsqueeze(position, 1), llama__range(b, ind_tensor_size(tokens, 1)));
    b->sequence = ind_unsqueeze(llama__range(b, ind_tensor_size(tokens, 0)), 1);
    llama__angles(b, "rope.frequencies", 0);
    if (llama__is(c, "gemma3"))
        llama__angles(b, "rope.frequencies.sliding", 1);
    else
        b->cos[1] = b->cos[0], b->sin[1] = b->sin[0];
    ind_tensor keys = llama__range(b, b->entries), rows = ind_unsqueeze(ind_unsqueeze(b->rows, 1), -1);
    b->seen[0] = b->seen[1] = ind_le(keys, rows);
    if (c->window) {
        ind_tensor first = ind_sub(rows, ind_scalar_int(g, c->window));
        b->seen[1] = ind_logical_and(b->seen[0], ind_gt(keys, first));
    }
    return position;
}

static inline ind_tensor llama__logits(llama__builder *b, ind_tensor x) {
    const llama_config *c = b->config;
    ind_tensor w = b->embedding; /* tied */
    if (llama__has(b, -1, "output.weight")) w = llama__weight(b, -1, "output.weight", c->vocabulary, c->width);
    return llama__cap(b, ind_cast(ind_linear(x, w, IND_NO_TENSOR), IND_F32), c->logit_cap);
}

static inline void llama__outputs(llama__builder *b, ind_tensor x, ind_tensor tokens, ind_tensor position) {
    ind_graph *g = b->graph;
    if (b->desc->targets) {
        ind_tensor targets = ind_unsqueeze(ind_input(g, "targets", "i64[B, T]"), -1);
        ind_tensor p = ind_log_softmax(llama__logits(b, x), -1);
        ind_output(g, "losses", ind_neg(ind_squeeze(ind_gather(p, -1, targets), -1)));
        return;
    }
    ind_tensor count = ind_input(g, "count", "i64[B]");
    /* The last K of `count`: count - K, .. count - 1. */
    ind_tensor back =
        ind_arange(g, ind_expr_sub(llama__int(b, 0), b->wanted), llama__int(b, 0), llama__int(b, 1), IND_I64);
    ind_tensor last = ind_maximum(ind_add(ind_unsqueeze(count, 1), back), ind_scalar_int(g, 0));
    ind_tensor at[2] = {b->sequence, last}, logits = llama__logits(b, ind_index(x, at, 2));
    ind_output(g, "logits", logits);
    if (b->desc->samples) {
        const llama_sample_desc desc = {
            .graph = g, .tokens = tokens, .count = count, .vocabulary = b->config->vocabulary};
        ind_tensor drawn = ind_add(ind_add(ind_unsqueeze(position, 1), last), ind_scalar_int(g, 1));
        ind_output(g, "next", llama_sample(&desc, logits, drawn));
    } else {
        ind_output(g, "next", ind_argmax(logits, -1, false));
    }
    ind_mutate(position, ind_minimum(ind_add(position, count), ind_scalar_int(g, b->config->capacity - 1)));
}

static inline int llama_build(ind_graph *graph, const llama_graph_desc *desc, char *why, size_t why_size) {
    llama__builder b = {.desc = desc, .config = desc->config, .graph = graph, .context = ind_graph_context(graph)};
    const llama_config *c = desc->config;
    char entries[64], wanted[32];
    ind_size(graph, desc->batch ? desc->batch : "B in [1, 64] hint 1");
    ind_size(graph, desc->tokens ? desc->tokens : "T in [1, 512] hint 1");
    snprintf(entries, sizeof entries, "N in [1, %lld] hint %lld", (long long)c->capacity,
             (long long)(c->capacity < 1024 ? c->capacity : 1024));
    b.entries = ind_size(graph, entries);
    snprintf(wanted, sizeof wanted, "K in [1, %d] hint 1", desc->drafts + 1);
    b.wanted = desc->drafts ? ind_size(graph, wanted) : llama__int(&b, 1);
    ind_tensor tokens = ind_input(graph, "tokens", "i64[B, T]"), position = llama__positions(&b, tokens);
    b.embedding = llama__weight(&b, -1, "token_embd.weight", c->vocabulary, c->width);
    ind_tensor x = llama__scale(&b, ind_embedding(b.embedding, tokens), c->embedding_scale);
    llama__outputs(&b, llama__layers(&b, x), tokens, position);
    return *b.missing ? llama__fail(why, why_size, "tensor %s is missing or has another shape", b.missing) : 0;
}

/* ---- constants */

static inline int llama_bind_constants(ind_module *module, const gguf *file, const llama_config *c, char *why,
                                       size_t why_size) {
    for (int i = 0; i < ind_module_num_bindings(module); i++) {
        const ind_binding_info *info = ind_module_query_binding(module, i);
        if (info->kind != IND_BINDING_CONST) continue;
        const gguf_tensor *t = gguf_find(file, info->name);
        const void *data = t ? t->data : c->frequencies[!strcmp(info->name, "rope.frequencies.sliding")];
        const size_t bytes = t ? t->num_bytes : (size_t)c->rotary / 2 * sizeof **c->frequencies;
        const ind_status status = ind_module_constant(module, info->name, data, bytes, IND_MEMORY_HOST);
        if (status) return llama__fail(why, why_size, "%s: %s", info->name, ind_status_text(status));
    }
    return 0;
}

#endif /* LLAMA_GRAPH_H */
