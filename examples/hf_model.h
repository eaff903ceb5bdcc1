/* hf_model.h: opens a language model in a directory as Hugging Face's transformers saves it: config.json,
 * model.safetensors (or its shards and model.safetensors.index.json), tokenizer.json, tokenizer_config.json.
 *
 *     hf_model m;
 *     char why[256];
 *     if (hf_open("SmolLM2-135M", &m, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *     ... &m.file is what gguf_open returns for a GGUF file of the model; m.tokenizer is its tokenizer ...
 *     hf_close(&m);
 *
 * The settings become metadata, and tensors get the names that GGUF files have, so that llama_config.h and
 * llama_graph.h need no second form. Model types: llama, mistral, qwen2, qwen3, with weights in f32, f16 or bf16. A
 * setting that changes results and is not supported is refused by name. Weights are read into memory, aligned to their
 * elements. C11.
 */
#ifndef HF_MODEL_H
#define HF_MODEL_H

#include "bpe_json.h"
#include "gguf.h"
#include "safetensors.h"
#include <math.h>

enum { HF_MAX_SHARDS = 256, HF_MAX_VALUES = 32, HF_MAX_PATH = 3800, HF_MAX_FILE = 128 };

typedef struct hf_model {
    gguf file;
    bpe tokenizer;
    safetensors *shards;
    size_t num_shards;
    char **texts; /* names of tensors, values of the metadata */
    size_t num_texts;
    float *divisors; /* of the angles of each pair of features (Llama 3); else NULL */
} hf_model;

/* True if the directory `path` has a config.json. */
static inline bool hf_is_model(const char *path);

/* Returns 0, or 1 with one line in why[why_size] and *m zeroed. */
static inline int hf_open(const char *path, hf_model *m, char *why, size_t why_size);

/* Frees all of it; allowed on a zeroed model. */
static inline void hf_close(hf_model *m);

/* ---- files */

typedef struct hf__reader {
    const char *path;
    hf_model *model;
    const char *architecture;                 /* as GGUF names it */
    int head;                                 /* features of a head */
    bool tied;                                /* the embedding is the output's weight, also if there is another */
    char name[HF_MAX_PATH + HF_MAX_FILE + 2]; /* of the file that is read */
    bpe__json config;
    bpe__fault fault; /* where messages are written: control characters of the files are replaced */
} hf__reader;

static inline const char *hf__file(hf__reader *r, const char *name) {
    snprintf(r->name, sizeof r->name, "%s/%s", r->path, name);
    return r->name;
}

static inline bool hf_is_model(const char *path) {
    char name[HF_MAX_PATH + HF_MAX_FILE + 2];
    const int used = snprintf(name, sizeof name, "%s/config.json", path);
    FILE *f = used > 0 && (size_t)used < sizeof name ? fopen(name, "rb") : NULL;
    if (f) fclose(f);
    return f != NULL;
}

/* The bytes of a file, terminated by 0, which the caller frees; NULL: there is no such file. Returns 0, or 1. */
static inline int hf__read(hf__reader *r, const char *name, char **text, size_t *bytes) {
    FILE *f = fopen(hf__file(r, name), "rb");
    *text = NULL;
    if (!f) return 0;
    const long size = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
    const bool fits = size >= 0 && size <= BPE_MAX_JSON && !fseek(f, 0, SEEK_SET);
    char *read = fits ? (char *)malloc((size_t)size + 1) : NULL;
    const bool done = read && fread(read, 1, (size_t)size, f) == (size_t)size;
    fclose(f);
    if (done) {
        read[size] = 0;
        *text = read;
        *bytes = (size_t)size;
        return 0;
    }
    free(read);
    return bpe__fail(&r->fault, !fits   ? "cannot be read, or is too large"
                                : !read ? "no memory for it"
                                        : "cannot be read in full");
}

/* Reads a file as JSON. *absent: there is none, which is no failure. The caller frees it. */
static inline int hf__read_json(hf__reader *r, const char *name, bpe__json *j, bool *absent) {
    size_t bytes = 0;
    char *text;
    memset(j, 0, sizeof *j);
    *absent = false;
    if (hf__read(r, name, &text, &bytes)) return 1;
    *absent = !text;
    if (!text) return 0;
    *j = (bpe__json){.start = text, .at = text, .end = text + bytes, .fault = r->fault};
    if (bpe__parse(j)) return 1;
    return j->nodes[0].kind == '{' ? 0 : bpe__fail(&r->fault, "is no object");
}

static inline void hf__free_json(bpe__json *j) {
    free(j->start);
    free(j->nodes);
    memset(j, 0, sizeof *j);
}

/* ---- metadata */

/* Memory that hf_close frees. */
static inline char *hf__keep(hf__reader *r, const void *from, size_t bytes) {
    hf_model *m = r->model;
    char **grown = (char **)realloc(m->texts, (m->num_texts + 1) * sizeof *grown);
    char *copy = grown ? (char *)malloc(bytes ? bytes : 1) : NULL;
    if (grown) m->texts = grown;
    if (!copy) return NULL;
    memcpy(copy, from, bytes);
    return m->texts[m->num_texts++] = copy;
}

/* Adds a value whose bytes are as in a GGUF file. A dot begins a key of the architecture. */
static inline int hf__add(hf__reader *r, const char *key, gguf_type type, const void *bytes, size_t size) {
    char full[96];
    gguf *f = &r->model->file;
    snprintf(full, sizeof full, "%s%s", *key == '.' ? r->architecture : "", key);
    const char *name = hf__keep(r, full, strlen(full) + 1), *at = hf__keep(r, bytes, size);
    if (!name || !at || f->num_values == HF_MAX_VALUES) return bpe__fail(&r->fault, "no memory for its settings");
    f->values[f->num_values++] =
        (gguf_value){.key = {name, strlen(name)}, .type = type, .count = 1, .at = (const unsigned char *)at};
    return 0;
}

static inline int hf__add_number(hf__reader *r, const char *key, double value) {
    return hf__add(r, key, GGUF_F64, &value, sizeof value);
}

static inline int hf__add_integer(hf__reader *r, const char *key, int64_t value) {
    return hf__add(r, key, GGUF_I64, &value, sizeof value);
}

static inline int hf__add_flag(hf__reader *r, const char *key, bool value) {
    const unsigned char byte = value;
    return hf__add(r, key, GGUF_BOOL, &byte, 1);
}

static inline int hf__add_text(hf__reader *r, const char *key, const char *text, size_t bytes) {
    const uint64_t length = bytes;
    char *both = (char *)malloc(bytes + sizeof length);
    if (!both) return bpe__fail(&r->fault, "no memory for its settings");
    memcpy(both, &length, sizeof length);
    memcpy(both + sizeof length, text, bytes);
    const int failed = hf__add(r, key, GGUF_STRING, both, bytes + sizeof length);
    free(both);
    return failed;
}

/* A number as JSON writes it; NAN: it is none. No function of the C library: those depend on the locale. Numbers of up
   to 15 digits and small exponents are rounded once or twice. */
static inline double hf__decimal(bpe_text text) {
    double value = 0, scale = 1;
    size_t i = text.bytes && *text.at == '-', digits = 0;
    for (; i < text.bytes && text.at[i] >= '0' && text.at[i] <= '9'; i++, digits++)
        value = value * 10 + (text.at[i] - '0');
    if (i < text.bytes && text.at[i] == '.')
        for (i++; i < text.bytes && text.at[i] >= '0' && text.at[i] <= '9'; i++, digits++)
            value = value * 10 + (text.at[i] - '0'), scale *= 10;
    if (digits && i < text.bytes && (text.at[i] == 'e' || text.at[i] == 'E')) {
        const bool less = i + 1 < text.bytes && text.at[i + 1] == '-',
                   sign = less || (i + 1 < text.bytes && text.at[i + 1] == '+');
        int exponent = 0;
        for (i += 1 + sign, digits = 0; i < text.bytes && text.at[i] >= '0' && text.at[i] <= '9' && exponent < 1000;
             i++, digits++)
            exponent = exponent * 10 + (text.at[i] - '0');
        if (less)
            scale *= pow(10, exponent);
        else
            value *= pow(10, exponent);
    }
    value /= scale;
    if (!digits || i != text.bytes || !isfinite(value)) return NAN;
    return *text.at == '-' ? -value : value;
}

/* A number of an object; *out is `absent` if there is none. Returns 0, or 1 if the member is no number. */
static inline int hf__number(hf__reader *r, size_t object, const char *name, double absent, double *out) {
    const bpe__json *j = &r->config;
    const size_t value = bpe__member(j, object, name);
    *out = !value ? absent : j->nodes[value].kind ? NAN : hf__decimal(j->nodes[value].text);
    return value && *out != *out ? bpe__fail(&r->fault, "\"%s\" is no number", name) : 0;
}

/* ---- config.json */

/* The setting `name` as an integer under `key`; it may be absent unless `wanted`. */
static inline int hf__copy_integer(hf__reader *r, const char *name, const char *key, bool wanted) {
    double x;
    if (hf__number(r, 0, name, NAN, &x)) return 1;
    if (x != x) return wanted ? bpe__fail(&r->fault, "it has no \"%s\"", name) : 0;
    if (x != floor(x) || fabs(x) > 1e15) return bpe__fail(&r->fault, "\"%s\" is no integer", name);
    return hf__add_integer(r, key, (int64_t)x);
}

static inline int hf__read_type(hf__reader *r) {
    static const struct {
        const char *type, *architecture;
    } known[] = {{"llama", "llama"}, {"mistral", "llama"}, {"qwen2", "qwen2"}, {"qwen3", "qwen3"}};
    const bpe__json *j = &r->config;
    const size_t type = bpe__member(j, 0, "model_type");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bpe__member_is(j, 0, "model_type", known[i].type)) r->architecture = known[i].architecture;
    if (!r->architecture)
        return bpe__fail(&r->fault, "model type %.*s is not supported; llama, mistral, qwen2 and qwen3 are",
                         type ? (int)j->nodes[type].text.bytes : 4, type ? j->nodes[type].text.at : "none");
    if (bpe__member(j, 0, "hidden_act") && !bpe__member_is(j, 0, "hidden_act", "silu"))
        return bpe__fail(&r->fault, "its activation is not silu");
    r->tied = bpe__flag(j, 0, "tie_word_embeddings", false);
    if (bpe__member(j, 0, "quantization_config")) return bpe__fail(&r->fault, "quantised weights are not supported");
    if (hf__add_text(r, "general.architecture", r->architecture, strlen(r->architecture))) return 1;
    return hf__add_flag(r, ".rope.rotates_pairs", false); /* the rows of GGUF's llama are in another order */
}

static inline int hf__read_sizes(hf__reader *r) {
    double heads, width, head, epsilon;
    if (hf__copy_integer(r, "num_hidden_layers", ".block_count", true) ||
        hf__copy_integer(r, "hidden_size", ".embedding_length", true) ||
        hf__copy_integer(r, "intermediate_size", ".feed_forward_length", true) ||
        hf__copy_integer(r, "num_attention_heads", ".attention.head_count", true) ||
        hf__copy_integer(r, "num_key_value_heads", ".attention.head_count_kv", false) ||
        hf__copy_integer(r, "max_position_embeddings", ".context_length", true))
        return 1;
    if (hf__number(r, 0, "num_attention_heads", 0, &heads) || hf__number(r, 0, "hidden_size", 0, &width) ||
        hf__number(r, 0, "head_dim", heads > 0 ? floor(width / heads) : 0, &head) ||
        hf__number(r, 0, "rms_norm_eps", 1e-6, &epsilon))
        return 1;
    if (head != floor(head) || head < 2 || head > 1024) return bpe__fail(&r->fault, "heads of %g features", head);
    r->head = (int)head;
    return hf__add_integer(r, ".attention.key_length", r->head) ||
           hf__add_integer(r, ".attention.value_length", r->head) ||
           hf__add_number(r, ".attention.layer_norm_rms_epsilon", epsilon);
}

/* How many layers have sliding windows, of Qwen with use_sliding_window: those that layer_types names, or those from
   max_window_layers on. */
static inline int hf__count_sliding(hf__reader *r, double layers, double *sliding) {
    const bpe__json *j = &r->config;
    const size_t types = bpe__member(j, 0, "layer_types");
    double from;
    if (hf__number(r, 0, "max_window_layers", 28, &from)) return 1;
    *sliding = from < layers ? layers - from : 0;
    if (!types) return 0;
    *sliding = 0;
    for (size_t i = types + 1; i < j->nodes[types].next; i = j->nodes[i].next) {
        const bool slides = bpe__is(j->nodes[i].text, "sliding_attention");
        if (!slides && !bpe__is(j->nodes[i].text, "full_attention"))
            return bpe__fail(&r->fault, "layers of type %.*s are not supported", BPE__SHOW(j->nodes[i].text));
        *sliding += slides;
    }
    return 0;
}

/* The window of Mistral's layers, or of Qwen's: all have it, or none. */
static inline int hf__read_window(hf__reader *r) {
    const bool qwen = strcmp(r->architecture, "llama") != 0;
    double layers, sliding;
    if (!qwen && !bpe__member_is(&r->config, 0, "model_type", "mistral")) return 0;
    if (hf__number(r, 0, "num_hidden_layers", 0, &layers) || hf__count_sliding(r, layers, &sliding)) return 1;
    if (qwen && (!bpe__flag(&r->config, 0, "use_sliding_window", false) || sliding <= 0)) return 0;
    if (qwen && sliding < layers)
        return bpe__fail(&r->fault, "sliding windows of %g layers of %g are not supported", sliding, layers);
    return hf__copy_integer(r, "sliding_window", ".attention.sliding_window", false);
}

/* Llama 3: pairs that turn often keep their angle, those that turn less than `low` times over the first context turn
   slower by the factor, those between are mixed. The divisors become the tensor that GGUF files have. */
static inline int hf__read_llama3(hf__reader *r, size_t rope, double base, double factor) {
    double low, high, context;
    if (hf__number(r, rope, "low_freq_factor", NAN, &low) || hf__number(r, rope, "high_freq_factor", NAN, &high) ||
        hf__number(r, rope, "original_max_position_embeddings", NAN, &context))
        return 1;
    if (!(low < high) || !(context > 0)) return bpe__fail(&r->fault, "Llama 3's rope scaling is incomplete");
    r->model->divisors = (float *)malloc((size_t)r->head / 2 * sizeof(float));
    if (!r->model->divisors) return bpe__fail(&r->fault, "no memory for its angles");
    for (int i = 0; i < r->head / 2; i++) {
        const double turns = context * pow(base, -2.0 * i / r->head) / 6.283185307179586;
        const double kept = fmin(fmax((turns - low) / (high - low), 0), 1);
        r->model->divisors[i] = (float)(1 / ((1 - kept) / factor + kept));
    }
    return 0;
}

/* The numbers of YaRN that have the same meaning in GGUF files. */
static inline int hf__read_yarn(hf__reader *r, size_t rope, double factor) {
    static const char *const kept[][2] = {
        {"beta_fast", ".rope.scaling.yarn_beta_fast"},
        {"beta_slow", ".rope.scaling.yarn_beta_slow"},
        {"original_max_position_embeddings", ".rope.scaling.original_context_length"}};
    double x;
    if (bpe__member(&r->config, rope, "mscale") || bpe__member(&r->config, rope, "mscale_all_dim"))
        return bpe__fail(&r->fault, "mscale of rope scaling is not supported");
    if (!bpe__flag(&r->config, rope, "truncate", true))
        return bpe__fail(&r->fault, "rope scaling without truncation is not supported");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (hf__number(r, rope, kept[i][0], NAN, &x) || (x == x && hf__add_number(r, kept[i][1], x))) return 1;
    if (hf__number(r, rope, "attention_factor", NAN, &x)) return 1;
    return x == x && hf__add_number(r, ".rope.scaling.attn_factor", x / (0.1 * log(factor) + 1));
}

static inline int hf__read_scaling(hf__reader *r, size_t rope, double base) {
    const bpe__json *j = &r->config;
    double factor;
    if (j->nodes[rope].kind != '{') return bpe__fail(&r->fault, "its rope scaling is no object");
    if (bpe__member(j, rope, "partial_rotary_factor"))
        return bpe__fail(&r->fault, "partial_rotary_factor is not supported");
    size_t kind = bpe__member(j, rope, "rope_type");
    if (!kind) kind = bpe__member(j, rope, "type");
    if (!kind || bpe__is(j->nodes[kind].text, "default")) return 0;
    const bpe_text name = j->nodes[kind].text;
    if (hf__number(r, rope, "factor", NAN, &factor)) return 1;
    if (!(factor >= 1)) return bpe__fail(&r->fault, "rope scaling has no factor of 1 or more");
    if (bpe__is(name, "llama3")) return hf__read_llama3(r, rope, base, factor);
    if (!bpe__is(name, "linear") && !bpe__is(name, "yarn"))
        return bpe__fail(&r->fault, "rope scaling %.*s is not supported; linear, yarn and llama3 are", BPE__SHOW(name));
    if (bpe__is(name, "yarn") && hf__read_yarn(r, rope, factor)) return 1;
    return hf__add_text(r, ".rope.scaling.type", name.at, name.bytes) ||
           hf__add_number(r, ".rope.scaling.factor", factor);
}

/* rope_theta and rope_scaling, or both in rope_parameters. */
static inline int hf__read_rope(hf__reader *r) {
    const bpe__json *j = &r->config;
    const size_t both = bpe__member(j, 0, "rope_parameters"), scaling = bpe__member(j, 0, "rope_scaling");
    double base;
    if (bpe__member(j, 0, "partial_rotary_factor"))
        return bpe__fail(&r->fault, "partial_rotary_factor is not supported");
    if (hf__number(r, both, "rope_theta", 10000, &base) || hf__number(r, 0, "rope_theta", base, &base)) return 1;
    if (hf__add_number(r, ".rope.freq_base", base)) return 1;
    return scaling || both ? hf__read_scaling(r, scaling ? scaling : both, base) : 0;
}

static inline int hf__read_config(hf__reader *r) {
    bool absent;
    r->model->file.values = (gguf_value *)calloc(HF_MAX_VALUES, sizeof *r->model->file.values);
    if (hf__read_json(r, "config.json", &r->config, &absent)) return 1;
    if (absent) return bpe__fail(&r->fault, "cannot be read");
    if (!r->model->file.values) return bpe__fail(&r->fault, "no memory for its settings");
    return hf__read_type(r) || hf__read_sizes(r) || hf__read_window(r) || hf__read_rope(r);
}

/* ---- tensors */

/* The name that GGUF has for a tensor; false: it is not known. *skip: it is not needed. */
static inline bool hf__tensor_name(const char *name, char *out, size_t size, bool *skip) {
    static const char *const whole[][2] = {{"model.embed_tokens.weight", "token_embd.weight"},
                                           {"model.norm.weight", "output_norm.weight"},
                                           {"lm_head.weight", "output.weight"}};
    static const char *const parts[][2] = {
        {"input_layernorm", "attn_norm"},    {"post_attention_layernorm", "ffn_norm"},
        {"self_attn.q_proj", "attn_q"},      {"self_attn.k_proj", "attn_k"},
        {"self_attn.v_proj", "attn_v"},      {"self_attn.o_proj", "attn_output"},
        {"self_attn.q_norm", "attn_q_norm"}, {"self_attn.k_norm", "attn_k_norm"},
        {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
        {"mlp.down_proj", "ffn_down"}};
    const size_t bytes = strlen(name), prefix = strlen("model.layers.");
    *skip = bytes > 8 && !strcmp(name + bytes - 8, "inv_freq");
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (!strcmp(name, whole[i][0])) return snprintf(out, size, "%s", whole[i][1]) > 0;
    if (strncmp(name, "model.layers.", prefix) || name[prefix] < '0' || name[prefix] > '9') return *skip;
    char *end;
    const unsigned long layer = strtoul(name + prefix, &end, 10);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && *end == '.'; i++) {
        const size_t length = strlen(parts[i][0]);
        if (strncmp(end + 1, parts[i][0], length)) continue;
        const bool biased = strstr(parts[i][0], "_proj") && !strcmp(end + 1 + length, ".bias");
        if (!biased && strcmp(end + 1 + length, ".weight")) continue;
        return snprintf(out, size, "blk.%lu.%s%s", layer, parts[i][1], end + 1 + length) > 0;
    }
    return *skip;
}

static inline const gguf_format *hf__format(const char *dtype) {
    return !strcmp(dtype, "F32")    ? gguf__format(0)
           : !strcmp(dtype, "F16")  ? gguf__format(1)
           : !strcmp(dtype, "BF16") ? gguf__format(30)
                                    : NULL;
}

static inline int hf__add_tensor(hf__reader *r, const safetensors_tensor *t) {
    gguf *f = &r->model->file;
    char name[128];
    bool skip;
    const bool known = hf__tensor_name(t->name, name, sizeof name, &skip);
    if (skip || (known && r->tied && !strcmp(name, "output.weight"))) return 0;
    const gguf_format *format = hf__format(t->dtype);
    if (!known) return bpe__fail(&r->fault, "tensor %.60s is not known", t->name);
    if (!format || t->rank < 1 || t->rank > 2)
        return bpe__fail(&r->fault, "tensor %.60s is %s of %d dimensions; F32, F16 and BF16 of 1 or 2 are supported",
                         t->name, t->dtype, t->rank);
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] < 1) return bpe__fail(&r->fault, "tensor %.60s is empty", t->name);
    const char *kept = hf__keep(r, name, strlen(name) + 1);
    gguf_tensor *grown = (gguf_tensor *)realloc(f->tensors, ((size_t)f->num_tensors + 2) * sizeof *grown);
    if (grown) f->tensors = grown;
    if (!kept || !grown) return bpe__fail(&r->fault, "no memory for its tensors");
    gguf_tensor *to = &f->tensors[f->num_tensors++];
    *to = (gguf_tensor){
        .name = {kept, strlen(kept)}, .format = format, .rank = t->rank, .data = t->data, .num_bytes = t->num_bytes};
    for (int d = 0; d < t->rank; d++) to->shape[d] = t->shape[d];
    to->row_bytes = t->shape[t->rank - 1] * format->bytes;
    return 0;
}

static inline int hf__open_shard(hf__reader *r, const char *name) {
    hf_model *m = r->model;
    safetensors *grown = (safetensors *)realloc(m->shards, (m->num_shards + 1) * sizeof *grown);
    if (grown) m->shards = grown;
    if (!grown || m->num_shards == HF_MAX_SHARDS)
        return bpe__fail(&r->fault, "more than %d files, or no memory", HF_MAX_SHARDS);
    safetensors *s = &m->shards[m->num_shards];
    if (safetensors_open(hf__file(r, name), s, r->fault.why, r->fault.why_size)) return 1;
    m->num_shards++;
    for (size_t i = 0; i < s->num_tensors; i++)
        if (hf__add_tensor(r, &s->tensors[i])) return 1;
    return 0;
}

/* True if an earlier member of the object has the same text. */
static inline bool hf__seen(const bpe__json *j, size_t object, size_t member) {
    for (size_t i = object + 1; i < member; i = j->nodes[i + 1].next)
        if (j->nodes[i + 1].text.bytes == j->nodes[member].text.bytes &&
            !memcmp(j->nodes[i + 1].text.at, j->nodes[member].text.at, j->nodes[member].text.bytes))
            return i + 1 < member;
    return false;
}

/* The files that the index names, each once. */
static inline int hf__open_shards(hf__reader *r, const bpe__json *j) {
    const size_t map = bpe__member(j, 0, "weight_map");
    if (!map || j->nodes[map].kind != '{') return bpe__fail(&r->fault, "it has no weight_map");
    for (size_t i = map + 1; i < j->nodes[map].next; i = j->nodes[i + 1].next) {
        char name[HF_MAX_FILE];
        const bpe_text file = j->nodes[i + 1].text;
        if (j->nodes[i + 1].kind != '"' || file.bytes >= sizeof name || memchr(file.at, '/', file.bytes) ||
            memchr(file.at, '\\', file.bytes) || memchr(file.at, 0, file.bytes)) {
            hf__file(r, "model.safetensors.index.json");
            return bpe__fail(&r->fault, "a value of weight_map is no name of a file");
        }
        if (hf__seen(j, map, i + 1)) continue;
        snprintf(name, sizeof name, "%.*s", (int)file.bytes, file.at);
        if (hf__open_shard(r, name)) return 1;
    }
    return 0;
}

static inline int hf__read_tensors(hf__reader *r) {
    gguf *f = &r->model->file;
    bpe__json index;
    bool absent;
    int failed = hf__read_json(r, "model.safetensors.index.json", &index, &absent);
    if (!failed) failed = absent ? hf__open_shard(r, "model.safetensors") : hf__open_shards(r, &index);
    hf__free_json(&index);
    if (failed) return 1;
    if (r->model->divisors && f->num_tensors) /* hf__add_tensor has left room for one more */
        f->tensors[f->num_tensors++] = (gguf_tensor){.name = {"rope_freqs.weight", strlen("rope_freqs.weight")},
                                                     .format = gguf__format(0),
                                                     .rank = 1,
                                                     .shape = {r->head / 2},
                                                     .row_bytes = r->head / 2 * 4,
                                                     .data = r->model->divisors,
                                                     .num_bytes = (size_t)r->head / 2 * 4};
    if (f->num_tensors) qsort(f->tensors, (size_t)f->num_tensors, sizeof *f->tensors, gguf__by_name);
    for (uint64_t i = 1; i < f->num_tensors; i++)
        if (!gguf__by_name(&f->tensors[i - 1], &f->tensors[i]))
            return bpe__fail(&r->fault, "tensor %s occurs twice", f->tensors[i].name.at);
    if (bpe__member(&r->config, 0, "tie_word_embeddings") && !r->tied && !gguf_find(f, "output.weight"))
        return bpe__fail(&r->fault, "it has no lm_head.weight, and tie_word_embeddings is false");
    return 0;
}

/* ---- the tokenizer */

/* The id of a token that a setting names: a number, the first of a list, or -1. */
static inline int32_t hf__id(const bpe__json *j, const char *name, int32_t num_tokens) {
    const size_t value = bpe__member(j, 0, name);
    if (!value) return -1;
    const size_t first = j->nodes[value].kind == '[' && j->nodes[value].next > value + 1 ? value + 1 : value;
    return bpe__id_of(&j->nodes[first], (size_t)num_tokens);
}

/* True if the step after the model writes the token: then a text begins with it. */
static inline int hf__writes_bos(hf__reader *r, bool *writes) {
    const bpe *t = &r->model->tokenizer;
    bpe__json j;
    bool absent;
    *writes = false;
    const int failed = hf__read_json(r, "tokenizer.json", &j, &absent);
    const size_t step = failed || absent || t->bos < 0 ? 0 : bpe__member(&j, 0, "post_processor");
    for (size_t i = step; step && i < j.nodes[step].next; i++) {
        const bpe_text text = j.nodes[i].text, bos = t->tokens[t->bos];
        *writes |= j.nodes[i].kind == '"' && text.bytes == bos.bytes && !memcmp(text.at, bos.at, bos.bytes);
    }
    hf__free_json(&j);
    return failed;
}

/* The chat template: a file, or else a setting: a text, or the one named "default" of a list. */
static inline int hf__read_template(hf__reader *r, const bpe__json *j) {
    size_t value = j->nodes ? bpe__member(j, 0, "chat_template") : 0, bytes = 0;
    char *text;
    if (hf__read(r, "chat_template.jinja", &text, &bytes)) return 1;
    const int failed = text ? hf__add_text(r, "tokenizer.chat_template", text, bytes) : 0;
    const bool found = text != NULL;
    free(text);
    if (found) return failed;
    for (size_t i = value + 1; value && j->nodes[value].kind == '[' && i < j->nodes[value].next; i = j->nodes[i].next)
        if (bpe__member_is(j, i, "name", "default")) value = bpe__member(j, i, "template");
    if (value && j->nodes[value].kind == '"')
        return hf__add_text(r, "tokenizer.chat_template", j->nodes[value].text.at, j->nodes[value].text.bytes);
    return 0;
}

static inline int hf__read_tokenizer(hf__reader *r) {
    bpe *t = &r->model->tokenizer;
    bpe__json j;
    bool absent, writes;
    if (bpe_open_json(hf__file(r, "tokenizer.json"), t, r->fault.why, r->fault.why_size)) return 1;
    t->bos = hf__id(&r->config, "bos_token_id", t->num_tokens);
    t->eos = hf__id(&r->config, "eos_token_id", t->num_tokens);
    if (hf__writes_bos(r, &writes)) return 1;
    int failed = hf__read_json(r, "tokenizer_config.json", &j, &absent);
    if (!failed) {
        t->add_bos = t->bos >= 0 && (absent ? writes : bpe__flag(&j, 0, "add_bos_token", writes));
        failed = hf__read_template(r, &j);
    }
    hf__free_json(&j);
    return failed;
}

/* ---- the model */

static inline void hf_close(hf_model *m) {
    bpe_close(&m->tokenizer);
    for (size_t i = 0; i < m->num_shards; i++) safetensors_close(&m->shards[i]);
    for (size_t i = 0; i < m->num_texts; i++) free(m->texts[i]);
    free(m->shards);
    free(m->texts);
    free(m->divisors);
    free(m->file.values);
    free(m->file.tensors);
    memset(m, 0, sizeof *m);
}

static inline int hf_open(const char *path, hf_model *m, char *why, size_t why_size) {
    hf__reader r = {.path = path, .model = m};
    memset(m, 0, sizeof *m);
    r.fault = (bpe__fault){r.name, why, why_size};
    snprintf(r.name, sizeof r.name, "%.200s", path);
    if (strlen(path) > HF_MAX_PATH) return bpe__fail(&r.fault, "the path has more than %d bytes", HF_MAX_PATH);
    int failed = hf__read_config(&r) || hf__read_tokenizer(&r);
    if (!failed) qsort(m->file.values, (size_t)m->file.num_values, sizeof *m->file.values, gguf__by_key);
    if (!failed) failed = hf__read_tensors(&r);
    hf__free_json(&r.config);
    if (failed) hf_close(m);
    return failed;
}

#endif /* HF_MODEL_H */
