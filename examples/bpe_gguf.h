/* bpe_gguf.h: the tokenizer of a GGUF file's metadata.
 *
 *     bpe tokenizer = {0};
 *     char why[256];
 *     if (bpe_gguf_open(&file, &tokenizer, why, sizeof why)) fprintf(stderr, "%s\n", why);
 */
#ifndef BPE_GGUF_H
#define BPE_GGUF_H

#include "bpe.h"
#include "gguf.h"
#include <stdarg.h>
#include <stdlib.h>

/* Tokenizers `gpt2` (byte-level BPE) and `llama` (SentencePiece BPE); others are refused by name. Copies what it needs:
   the file may then be closed. Returns 0, or 1 with one line in why[why_size]. */
static inline int bpe_gguf_open(const gguf *file, bpe *tokenizer, char *why, size_t why_size);

static inline int bpe_gguf__fail(char *why, size_t why_size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(why, why_size, format, args);
    va_end(args);
    return 1;
}

/* What a tokenizer is opened with, in memory of its own. */
typedef struct bpe_gguf__parts {
    bpe_text *tokens, *merges;
    size_t num_tokens, num_merges;
    int32_t *types;
    float *scores;
} bpe_gguf__parts;

/* The elements of an array of `count` texts. NULL: there is no such array, or no memory. */
static inline bpe_text *bpe_gguf__texts(const gguf *file, const char *key, size_t *count) {
    const gguf_value *v = gguf_find_value(file, key);
    gguf_text *from = v && v->count ? malloc((size_t)v->count * sizeof *from) : NULL;
    bpe_text *to = from && gguf_strings(v, from) ? malloc((size_t)v->count * sizeof *to) : NULL;
    for (uint64_t i = 0; to && i < v->count; i++) to[i] = (bpe_text){from[i].at, from[i].bytes};
    *count = to ? (size_t)v->count : 0;
    free(from);
    return to;
}

static inline int32_t bpe_gguf__special(const gguf *file, const char *key) {
    int64_t id;
    return gguf_integer(file, key, &id) && id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
}

/* Types and scores, one for each token. NULL: the file has none. */
static inline int bpe_gguf__values(const gguf *file, bpe_gguf__parts *p, char *why, size_t why_size) {
    const gguf_value *t = gguf_find_value(file, "tokenizer.ggml.token_type");
    const gguf_value *s = gguf_find_value(file, "tokenizer.ggml.scores");
    const size_t num = p->num_tokens;
    if ((t && t->count != num) || (s && s->count != num))
        return bpe_gguf__fail(why, why_size, "types and scores of tokens: not one for each");
    p->types = t ? malloc(num * sizeof *p->types) : NULL;
    p->scores = s ? malloc(num * sizeof *p->scores) : NULL;
    if ((t && !p->types) || (s && !p->scores)) return bpe_gguf__fail(why, why_size, "no memory for %zu tokens", num);
    if ((t && !gguf_integers(t, p->types)) || (s && !gguf_floats(s, p->scores)))
        return bpe_gguf__fail(why, why_size, "types or scores of tokens have another type");
    return 0;
}

static inline int bpe_gguf__open(const gguf *f, bpe_gguf__parts *p, bpe *tokenizer, char *why, size_t why_size) {
    gguf_text model = {"", 0}, pre = {"", 0};
    bpe_vocabulary v = {.bos = bpe_gguf__special(f, "tokenizer.ggml.bos_token_id"),
                        .eos = bpe_gguf__special(f, "tokenizer.ggml.eos_token_id"),
                        .unknown = bpe_gguf__special(f, "tokenizer.ggml.unknown_token_id")};
    gguf_string(f, "tokenizer.ggml.model", &model);
    gguf_string(f, "tokenizer.ggml.pre", &pre);
    if (!gguf_text_is(model, "gpt2") && !gguf_text_is(model, "llama"))
        return bpe_gguf__fail(why, why_size, "tokenizer %s is not supported; gpt2 and llama are",
                              gguf_show(model).text);
    v.kind = gguf_text_is(model, "gpt2") ? BPE_BYTE_LEVEL : BPE_SENTENCEPIECE;
    v.pre = (bpe_text){pre.at, pre.bytes};
    v.add_space_prefix = v.kind == BPE_SENTENCEPIECE;
    v.add_bos = v.add_space_prefix || gguf_text_is(pre, "llama-bpe") || gguf_text_is(pre, "llama3");
    gguf_bool(f, "tokenizer.ggml.add_bos_token", &v.add_bos);
    gguf_bool(f, "tokenizer.ggml.add_space_prefix", &v.add_space_prefix);
    p->tokens = bpe_gguf__texts(f, "tokenizer.ggml.tokens", &p->num_tokens);
    p->merges = bpe_gguf__texts(f, "tokenizer.ggml.merges", &p->num_merges);
    if (!p->tokens) return bpe_gguf__fail(why, why_size, "the model has no tokens");
    if (bpe_gguf__values(f, p, why, why_size)) return 1;
    if (v.kind == BPE_BYTE_LEVEL && !p->merges)
        return bpe_gguf__fail(why, why_size, "the tokenizer has no merges, or there is no memory for them");
    v.tokens = p->tokens, v.num_tokens = p->num_tokens, v.merges = p->merges, v.num_merges = p->num_merges;
    v.types = p->types, v.scores = v.kind == BPE_SENTENCEPIECE ? p->scores : NULL;
    return bpe_open(&v, tokenizer, why, why_size);
}

static inline int bpe_gguf_open(const gguf *file, bpe *tokenizer, char *why, size_t why_size) {
    bpe_gguf__parts p = {0};
    const int failed = bpe_gguf__open(file, &p, tokenizer, why, why_size);
    free(p.tokens), free(p.merges), free(p.types), free(p.scores);
    return failed;
}

#endif /* BPE_GGUF_H */
