/* bpe.h: tokenizer of language models: byte-level BPE (GPT-2, Llama 3, Qwen 2) and SentencePiece BPE (Llama 2).
 *
 *     bpe_vocabulary v = {.kind = BPE_BYTE_LEVEL, .tokens = tokens, .num_tokens = n, .merges = merges, .num_merges = m,
 *                         .pre = {"smollm", 6}, .bos = 1, .eos = 2, .unknown = -1};
 *     bpe t;
 *     char why[256];
 *     int32_t ids[512];
 *     if (bpe_open(&v, &t, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *     int64_t count = bpe_encode(&t, text, strlen(text), false, ids, 512);
 *     char bytes[256];
 *     size_t length = bpe_decode(&t, ids[0], false, bytes, sizeof bytes);
 *     bpe_close(&t);
 *
 * Encoding has three steps. Tokens that the text names (special tokens) divide it into fragments. The pre-tokenizer
 * divides a fragment into words. In each word the adjacent pair of symbols with the best merge is merged, until no pair
 * has one: Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with Subword Units". The pairs
 * are in a heap: a word of n bytes takes O(n log n) steps.
 *
 * Byte-level BPE starts with bytes; tokens are written with GPT-2's printable code points for the 256 bytes.
 * SentencePiece BPE starts with code points, writes a space as U+2581, and encodes a code point that has no token as
 * byte tokens, "<0x00>" to "<0xFF>". bpe_json.h opens a tokenizer.json.
 *
 * Not done: Unicode normalisation, removal of repeated spaces, encoding with tokens of type unused. C99.
 */
#ifndef BPE_H
#define BPE_H

#include "bpe_tables.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BPE_MAX_TOKENS (1 << 24)       /* also of merges */
#define BPE_MAX_TEXT   (INT32_MAX / 4) /* bytes of one call of bpe_encode */

typedef enum bpe_kind {
    BPE_BYTE_LEVEL,   /* tokenizer.ggml.model "gpt2" */
    BPE_SENTENCEPIECE /* tokenizer.ggml.model "llama" */
} bpe_kind;

/* GGUF's tokenizer.ggml.token_type. */
typedef enum bpe_type { BPE_NORMAL = 1, BPE_UNKNOWN, BPE_CONTROL, BPE_USER_DEFINED, BPE_UNUSED, BPE_BYTE } bpe_type;

/* Not terminated by 0. */
typedef struct bpe_text {
    const char *at;
    size_t bytes;
} bpe_text;

/* The entries of GGUF metadata that define a tokenizer. Arrays are read by bpe_open only; texts of tokens must outlive
 * the tokenizer. A token with an empty text is never encoded. */
typedef struct bpe_vocabulary {
    bpe_kind kind;
    const bpe_text *tokens; /* by id */
    const float *scores;    /* SentencePiece: the highest is merged first; NULL: merges decide */
    const int32_t *types;   /* values of bpe_type; NULL: all are normal */
    size_t num_tokens;
    const bpe_text *merges; /* "left right", the one to apply first in front; not read if scores are given */
    size_t num_merges;
    bpe_text pre;              /* byte-level: "gpt-2", "smollm", "llama-bpe", "qwen2", or an alias in bpe__find_rule */
    bool add_space_prefix;     /* SentencePiece: a space precedes each fragment */
    bool add_bos;              /* copied to the tokenizer */
    int32_t bos, eos, unknown; /* ids; -1: none */
} bpe_vocabulary;

typedef struct bpe__entry {
    bpe_text text;
    int32_t id;
} bpe__entry;

typedef struct bpe__merge {
    int32_t left, right, rank, result;
} bpe__merge;

typedef enum bpe__words { BPE__ONE_WORD, BPE__GPT2, BPE__LLAMA3, BPE__AT_SPACES } bpe__words;
typedef enum bpe__prefix { BPE__NO_PREFIX, BPE__PREFIX_FIRST, BPE__PREFIX_EACH } bpe__prefix;

/* How text becomes words. */
typedef struct bpe__rule {
    bpe__words words;
    bool digits_first;   /* each digit is a word, before the other rules */
    int most_digits;     /* in a word; Llama 3's rule */
    bool ignore_merges;  /* a word that is a token is that token */
    bpe__prefix prefix;  /* a space before the first fragment, or before each */
    bool prefix_missing; /* only if the fragment does not start with a space */
} bpe__rule;

/* An open tokenizer. Members up to missing_bytes may be read. */
typedef struct bpe {
    bpe_kind kind;
    int32_t num_tokens;
    int32_t bos, eos, unknown; /* ids; -1: none */
    bool add_bos;              /* the model expects bos before the text; bpe_encode does not add it */
    int missing_bytes;         /* byte-level: bytes without a token; bpe_encode leaves them out */
    bpe_text *tokens;
    uint8_t *types;
    float *scores;       /* NULL: merges decide */
    bpe__entry *sorted;  /* tokens with a text, by bytes */
    bpe__entry *special; /* those that are recognised in text, by bytes */
    size_t num_sorted, num_special;
    bool starts_special[256];
    bpe__merge *merges;    /* by left, right */
    uint32_t *first_merge; /* of a left id; num_tokens + 1 */
    size_t num_merges;
    int32_t byte_ids[256]; /* -1: none */
    bpe__rule rule;
    char *owned; /* text of a tokenizer.json; else NULL */
} bpe;

/* Checks the vocabulary and builds the tables. Returns 0, or 1 with one line in why[why_size] and *t zeroed. Refused:
 * ids and types out of range, duplicate tokens, merges whose parts or result are not tokens, an unknown pre-tokenizer,
 * scores that are no numbers, missing byte tokens. Byte-level vocabularies must have the tokens of newline and of the
 * printable ASCII characters; published ones lack some of the other bytes. */
static inline int bpe_open(const bpe_vocabulary *v, bpe *t, char *why, size_t why_size);

/* Frees the tables; allowed on a zeroed tokenizer. */
static inline void bpe_close(bpe *t);

/* Writes the ids of text[bytes] to ids[most] and returns their number. If it exceeds `most`, only the first `most` are
 * written; ids may be NULL if most is 0. Returns -1 if memory is exhausted or bytes exceeds BPE_MAX_TEXT. The text is
 * UTF-8; a byte that is not part of a code point is a character that is neither letter, number nor space.
 *
 * special: the text of a control token (or of the unknown token) becomes that token. Otherwise it is plain text; text
 * from a user is encoded so. User-defined tokens are always recognised. The leftmost token counts, then the longest. */
static inline int64_t bpe_encode(const bpe *t, const char *text, size_t bytes, bool special, int32_t *ids,
                                 int64_t most);

/* The same for a text of which parts come from a user: names of control tokens count where marks[bytes] is 1 for all of
 * their bytes. Words may lie across the ends of parts: the tokens are those of the whole text. */
static inline int64_t bpe_encode_marked(const bpe *t, const char *text, const char *marks, size_t bytes, int32_t *ids,
                                        int64_t most);

/* Writes the bytes of a token to out[out_size] without a terminating 0 and returns their number. If it exceeds
 * out_size, only the first out_size are written. Control tokens and the unknown token are empty unless `special`; an id
 * out of range is empty. A token may end inside a code point: the caller collects bytes before it shows them.
 *
 * SentencePiece: each U+2581 is a space. With add_space_prefix the first token of a text starts with a space that the
 * text does not have: the caller drops it there. */
static inline size_t bpe_decode(const bpe *t, int32_t id, bool special, char *out, size_t out_size);

/* The id of the token with exactly this text, as in the vocabulary; -1 if there is none. */
static inline int32_t bpe_find(const bpe *t, const char *text);

/* ---- errors */

typedef struct bpe__fault {
    const char *where; /* file; NULL: none */
    char *why;
    size_t why_size;
} bpe__fault;

/* Always 1. Control characters of quoted text are replaced. */
static inline int bpe__fail(bpe__fault *f, const char *format, ...) {
    int used = f->where ? snprintf(f->why, f->why_size, "%s: ", f->where) : 0;
    va_list args;
    va_start(args, format);
    if (used >= 0 && (size_t)used < f->why_size) vsnprintf(f->why + used, f->why_size - (size_t)used, format, args);
    va_end(args);
    for (char *c = f->why; f->why_size && *c; c++)
        if ((unsigned char)*c < 0x20) *c = '?';
    return 1;
}

/* For "%.*s". */
#define BPE__SHOW(text) (int)((text).bytes < 40 ? (text).bytes : 40), (text).at

/* ---- UTF-8 and code points */

/* The code point at `at` and its length in bytes; U+FFFD and 1 if there is none. at < end. */
static inline uint32_t bpe__code_point(const char *at, const char *end, size_t *length) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)at;
    int more = *s < 0x80 ? 0 : *s >> 5 == 6 ? 1 : *s >> 4 == 14 ? 2 : *s >> 3 == 30 ? 3 : -1;
    uint32_t c = more < 1 ? *s : *s & (0x3Fu >> more);
    *length = 1;
    if (more < 0 || end - at <= more) return more ? 0xFFFD : c;
    for (int i = 1; i <= more; i++) {
        if (s[i] >> 6 != 2) return 0xFFFD;
        c = c << 6 | (s[i] & 0x3Fu);
    }
    if (c < least[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0xFFFD;
    *length = (size_t)more + 1;
    return c;
}

typedef enum bpe__class { BPE__OTHER, BPE__LETTER, BPE__NUMBER, BPE__SPACE } bpe__class;

/* Unicode's property White_Space. */
static inline bool bpe__is_space(uint32_t c) {
    return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static inline bpe__class bpe__classify(uint32_t c) {
    if (bpe__is_space(c)) return BPE__SPACE;
    if (c < 0x80 && c - '0' < 10u) return BPE__NUMBER;
    if (c < 0x80) return (c | 32) - 'a' < 26u ? BPE__LETTER : BPE__OTHER;
    return bpe__is_letter(c) ? BPE__LETTER : bpe__is_number(c) ? BPE__NUMBER : BPE__OTHER;
}

/* The class of the code point at `at` and its length in bytes; BPE__OTHER and 0 at the end. */
static inline bpe__class bpe__class_at(const char *at, const char *end, size_t *length) {
    *length = 0;
    return at < end ? bpe__classify(bpe__code_point(at, end, length)) : BPE__OTHER;
}

/* The end of the code points of one class from `at`; at most `most` of them, -1: all. */
static inline const char *bpe__class_end(const char *at, const char *end, bpe__class class_, int most) {
    size_t length;
    for (; most && bpe__class_at(at, end, &length) == class_ && length; most -= most > 0) at += length;
    return at;
}

/* GPT-2's code point for a byte. Printable bytes of Latin-1 are themselves, the other 68 follow from U+0100. */
static inline uint32_t bpe__byte_to_char(unsigned byte) {
    if (byte < 33) return 256 + byte;
    if (byte >= 127 && byte <= 160) return 289 + byte - 127;
    return byte == 173 ? 323 : byte;
}

/* The byte of a code point; -1 if it has none. */
static inline int bpe__char_to_byte(uint32_t c) {
    if (c >= 256 && c <= 288) return (int)c - 256;
    if (c >= 289 && c <= 322) return (int)c - 289 + 127;
    if (c == 323) return 173;
    return c < 256 && bpe__byte_to_char(c) == c ? (int)c : -1;
}

/* Writes the UTF-8 of a byte's code point to `to`; returns its length, 1 or 2. */
static inline size_t bpe__put_byte_char(char *to, unsigned char byte) {
    uint32_t c = bpe__byte_to_char(byte);
    to[0] = (char)(c < 0x80 ? c : 0xC0 | c >> 6);
    to[1] = (char)(0x80 | (c & 0x3F)); /* not used below 0x80 */
    return c < 0x80 ? 1 : 2;
}

#define BPE__SPACE_CHAR "\xE2\x96\x81" /* U+2581 */

/* ---- tokens by text */

/* memcmp's order of the concatenation of a and b, and of y. */
static inline int bpe__order_parts(bpe_text a, bpe_text b, bpe_text y) {
    size_t in_a = a.bytes < y.bytes ? a.bytes : y.bytes, rest = y.bytes - in_a;
    int order = memcmp(a.at, y.at, in_a);
    if (!order && b.bytes && rest) order = memcmp(b.at, y.at + in_a, b.bytes < rest ? b.bytes : rest);
    return order ? order : (a.bytes + b.bytes > y.bytes) - (a.bytes + b.bytes < y.bytes);
}

static inline int bpe__order_entries(const void *a, const void *b) {
    bpe_text none = {NULL, 0};
    return bpe__order_parts(((const bpe__entry *)a)->text, none, ((const bpe__entry *)b)->text);
}

/* The id of the token whose text is the concatenation of a and b; -1 if there is none. a is not empty. */
static inline int32_t bpe__find_parts(const bpe *t, bpe_text a, bpe_text b) {
    size_t low = 0, high = t->num_sorted;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = bpe__order_parts(a, b, t->sorted[middle].text);
        if (!order) return t->sorted[middle].id;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static inline int32_t bpe__find(const bpe *t, const char *at, size_t bytes) {
    bpe_text text = {at, bytes}, none = {NULL, 0};
    return bytes ? bpe__find_parts(t, text, none) : -1;
}

/* Of a type that text may become. */
static inline int32_t bpe__find_plain(const bpe *t, const char *at, size_t bytes) {
    int32_t id = bpe__find(t, at, bytes);
    return id >= 0 && (t->types[id] == BPE_NORMAL || t->types[id] == BPE_USER_DEFINED) ? id : -1;
}

static inline int32_t bpe_find(const bpe *t, const char *text) {
    return bpe__find(t, text, strlen(text));
}

/* ---- special tokens in text */

/* Where the entries in [low, high) no longer have bytes below `byte` at offset k. All are longer than k. */
static inline size_t bpe__lower_bound(const bpe__entry *entries, size_t low, size_t high, size_t k, unsigned byte) {
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((unsigned char)entries[middle].text.at[k] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A text and where names of control tokens count in it: nowhere, or everywhere, or at these marks. */
typedef struct bpe__input {
    bpe_text text;
    bool special;
    const char *marks;
} bpe__input;

/* The longest token that the text has at this offset; -1: none. Each byte narrows the range of candidates. */
static inline int32_t bpe__special_at(const bpe *t, const bpe__input *in, size_t at) {
    const char *text = in->text.at + at;
    const size_t bytes = in->text.bytes - at;
    size_t low = 0, high = t->num_special;
    int32_t best = -1;
    for (size_t k = 0; low < high; k++) {
        if (t->special[low].text.bytes == k) { /* the shortest is in front */
            int32_t id = t->special[low++].id;
            const bool control = in->special && !(in->marks && memchr(in->marks + at, 0, k));
            if (control || t->types[id] == BPE_USER_DEFINED) best = id;
        }
        if (k == bytes) break;
        unsigned byte = (unsigned char)text[k];
        low = bpe__lower_bound(t->special, low, high, k, byte);
        high = bpe__lower_bound(t->special, low, high, k, byte + 1);
    }
    return best;
}

/* The offset of the next token that the text names, and its id; its length and -1 if there is none. */
static inline size_t bpe__next_special(const bpe *t, const bpe__input *in, size_t at, int32_t *id) {
    const size_t bytes = in->text.bytes;
    for (; at < bytes; at++) {
        if (!t->starts_special[(unsigned char)in->text.at[at]]) continue;
        *id = bpe__special_at(t, in, at);
        if (*id >= 0) return at;
    }
    *id = -1;
    return bytes;
}

/* ---- pre-tokenizers */

static const struct bpe__named_rule {
    const char *name; /* tokenizer.ggml.pre */
    bpe__rule rule;
} bpe__named_rules[] = {
    {"gpt-2", {.words = BPE__GPT2}},
    {"gpt2", {.words = BPE__GPT2}},
    {"smollm", {.words = BPE__GPT2, .digits_first = true}},
    {"llama-bpe", {.words = BPE__LLAMA3, .most_digits = 3, .ignore_merges = true}},
    {"llama3", {.words = BPE__LLAMA3, .most_digits = 3, .ignore_merges = true}},
    {"llama-v3", {.words = BPE__LLAMA3, .most_digits = 3, .ignore_merges = true}},
    {"qwen2", {.words = BPE__LLAMA3, .most_digits = 1}},
};

static inline const bpe__rule *bpe__find_rule(bpe_text name) {
    for (size_t i = 0; i < sizeof bpe__named_rules / sizeof *bpe__named_rules; i++) {
        const char *known = bpe__named_rules[i].name;
        if (name.bytes == strlen(known) && !memcmp(name.at, known, name.bytes)) return &bpe__named_rules[i].rule;
    }
    return NULL;
}

/* The end of 's 't 'm 'd 're 've 'll at `at`; `at` if there is none. In any case U+017F is an s, as in Unicode. */
static inline const char *bpe__contraction_end(const char *at, const char *end, bool any_case) {
    if (end - at < 2 || *at != '\'') return at;
    if (any_case && end - at >= 3 && !memcmp(at + 1, "\xC5\xBF", 2)) return at + 3;
    char a = at[1], b = end - at > 2 ? at[2] : 0;
    if (any_case && a >= 'A' && a <= 'Z') a = (char)(a | 32);
    if (any_case && b >= 'A' && b <= 'Z') b = (char)(b | 32);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return at + 3;
    return at;
}

/* \s+(?!\S)|\s+ : all white space, but the last of it if text follows and more precedes. */
static inline const char *bpe__space_end(const char *at, const char *end) {
    const char *last = at, *next = at;
    size_t length;
    while (bpe__class_at(next, end, &length) == BPE__SPACE) {
        last = next;
        next += length;
    }
    return next == end || last == at ? next : last;
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static inline const char *bpe__gpt2_word(const char *at, const char *end) {
    const char *word = bpe__contraction_end(at, end, false);
    if (word > at) return word;
    size_t length;
    const char *first = at + (*at == ' ' && end - at > 1);
    bpe__class class_ = bpe__class_at(first, end, &length);
    return class_ == BPE__SPACE ? bpe__space_end(at, end) : bpe__class_end(first, end, class_, -1);
}

/* \s*[\r\n]+ : up to the last line break of the white space; `at` if it has none. */
static inline const char *bpe__lines_end(const char *at, const char *end) {
    const char *found = at;
    size_t length;
    for (; bpe__class_at(at, end, &length) == BPE__SPACE; at += length)
        if (*at == '\r' || *at == '\n') found = at + 1;
    return found;
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * Qwen 2 has \p{N} for \p{N}{1,3}. */
static inline const char *bpe__llama3_word(const char *at, const char *end, int most_digits) {
    const char *word = bpe__contraction_end(at, end, true);
    if (word > at) return word;
    size_t length, next_length;
    bpe__class class_ = bpe__class_at(at, end, &length);
    if (class_ == BPE__NUMBER) return bpe__class_end(at, end, BPE__NUMBER, most_digits);
    if (class_ == BPE__LETTER) return bpe__class_end(at, end, BPE__LETTER, -1);
    bpe__class next = bpe__class_at(at + length, end, &next_length);
    bool line_break = *at == '\r' || *at == '\n';
    if (!line_break && next == BPE__LETTER) return bpe__class_end(at + length, end, BPE__LETTER, -1);
    if (class_ == BPE__OTHER || (*at == ' ' && next == BPE__OTHER && next_length)) {
        at = bpe__class_end(at + (*at == ' '), end, BPE__OTHER, -1);
        while (at < end && (*at == '\r' || *at == '\n')) at++;
        return at;
    }
    word = bpe__lines_end(at, end);
    return word > at ? word : bpe__space_end(at, end);
}

/* The fragment that is divided into words. */
typedef struct bpe__scanner {
    const char *at, *end;
    const char *part_end; /* with digits_first: of the text without digits at `at` */
} bpe__scanner;

/* The end of the word at s->at < s->end. */
static inline const char *bpe__word_end(bpe__scanner *s, const bpe__rule *rule) {
    size_t length;
    if (rule->words == BPE__ONE_WORD) return s->end;
    if (rule->words == BPE__LLAMA3) return bpe__llama3_word(s->at, s->end, rule->most_digits);
    if (rule->words == BPE__AT_SPACES) {
        const char *at = s->at;
        do {
            at++;
        } while (at < s->end && (s->end - at < 3 || memcmp(at, BPE__SPACE_CHAR, 3)));
        return at;
    }
    if (!rule->digits_first) return bpe__gpt2_word(s->at, s->end);
    if (s->part_end <= s->at) {
        if (bpe__class_at(s->at, s->end, &length) == BPE__NUMBER) return s->at + length;
        s->part_end = s->at;
        while (bpe__class_at(s->part_end, s->end, &length) != BPE__NUMBER && length) s->part_end += length;
    }
    return bpe__gpt2_word(s->at, s->part_end);
}

/* ---- merging */

/* A part of a word. The parts are a doubly linked list of indices, -1 at both ends. */
typedef struct bpe__symbol {
    const char *at;
    uint32_t bytes; /* 0: merged into the one before */
    int32_t id;     /* -1: no token */
    int32_t before, after;
} bpe__symbol;

/* A possible merge of `left` and the symbol after it. */
typedef struct bpe__pair {
    double key; /* the lowest is merged first: the rank of the merge, or the negative score of the token */
    int32_t left;
    int32_t id;     /* of the result */
    uint32_t bytes; /* of the result: a pair one of whose symbols has changed since has another length */
} bpe__pair;

/* State of one bpe_encode. A word of n symbols has at most 2 n pairs in the heap: n - 1 at first, and a merge removes
 * one and adds two at most. */
typedef struct bpe__work {
    const bpe *t;
    bpe__symbol *symbols;
    bpe__pair *heap;
    char *mapped; /* 2 * capacity bytes */
    size_t capacity, num_pairs;
    int32_t *ids;
    int64_t most, count;
} bpe__work;

static inline bool bpe__reserve(bpe__work *w, size_t symbols) {
    if (symbols <= w->capacity) return true;
    if (symbols > SIZE_MAX / 4 / sizeof *w->heap) return false;
    size_t capacity = symbols < 64 ? 64 : symbols + symbols / 2;
    free(w->symbols);
    free(w->heap);
    free(w->mapped);
    w->symbols = (bpe__symbol *)malloc(capacity * sizeof *w->symbols);
    w->heap = (bpe__pair *)malloc(2 * capacity * sizeof *w->heap);
    w->mapped = (char *)malloc(2 * capacity);
    w->capacity = w->symbols && w->heap && w->mapped ? capacity : 0;
    return w->capacity != 0;
}

static inline void bpe__emit(bpe__work *w, int32_t id) {
    if (w->count < w->most) w->ids[w->count] = id;
    w->count++;
}

static inline bool bpe__is_before(const bpe__pair *a, const bpe__pair *b) {
    return a->key != b->key ? a->key < b->key : a->left < b->left;
}

static inline void bpe__push(bpe__work *w, bpe__pair pair) {
    size_t at = w->num_pairs++;
    for (; at && bpe__is_before(&pair, &w->heap[(at - 1) / 2]); at = (at - 1) / 2) w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = pair;
}

static inline bpe__pair bpe__pop(bpe__work *w) {
    bpe__pair first = w->heap[0], last = w->heap[--w->num_pairs];
    size_t at = 0;
    for (size_t child = 1; child < w->num_pairs; child = 2 * at + 1) {
        if (child + 1 < w->num_pairs && bpe__is_before(&w->heap[child + 1], &w->heap[child])) child++;
        if (!bpe__is_before(&w->heap[child], &last)) break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = last;
    return first;
}

/* The merge of two ids; NULL if there is none. left >= 0. */
static inline const bpe__merge *bpe__find_merge(const bpe *t, int32_t left, int32_t right) {
    size_t low = t->first_merge[left], end = t->first_merge[left + 1], high = end;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->merges[middle].right < right)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && t->merges[low].right == right ? &t->merges[low] : NULL;
}

/* Adds the pair of `left` and the symbol after it if it can be merged. */
static inline void bpe__add_pair(bpe__work *w, int32_t left) {
    const bpe *t = w->t;
    if (left < 0 || w->symbols[left].after < 0) return;
    const bpe__symbol *a = &w->symbols[left], *b = &w->symbols[a->after];
    bpe__pair pair = {.left = left, .bytes = a->bytes + b->bytes};
    if (t->scores) {
        pair.id = bpe__find_plain(t, a->at, pair.bytes);
        if (pair.id < 0) return;
        pair.key = -(double)t->scores[pair.id];
    } else {
        const bpe__merge *merge = a->id >= 0 && b->id >= 0 ? bpe__find_merge(t, a->id, b->id) : NULL;
        if (!merge) return;
        pair.id = merge->result;
        pair.key = merge->rank;
    }
    bpe__push(w, pair);
}

static inline void bpe__apply(bpe__work *w, bpe__pair pair) {
    bpe__symbol *a = &w->symbols[pair.left];
    if (!a->bytes || a->after < 0) return;
    bpe__symbol *b = &w->symbols[a->after];
    if (a->bytes + b->bytes != pair.bytes) return;
    a->id = pair.id;
    a->bytes = pair.bytes;
    a->after = b->after;
    b->bytes = 0;
    if (a->after >= 0) w->symbols[a->after].before = pair.left;
    bpe__add_pair(w, a->before);
    bpe__add_pair(w, pair.left);
}

/* Divides a word into bytes or code points. Returns their number. */
static inline int32_t bpe__split_word(bpe__work *w, const char *at, const char *end) {
    int32_t count = 0;
    size_t length = 1;
    for (; at < end; at += length, count++) {
        if (w->t->kind == BPE_SENTENCEPIECE) (void)bpe__code_point(at, end, &length);
        int32_t id =
            w->t->kind == BPE_SENTENCEPIECE ? bpe__find_plain(w->t, at, length) : w->t->byte_ids[(unsigned char)*at];
        w->symbols[count] = (bpe__symbol){at, (uint32_t)length, id, count - 1, count + 1};
    }
    w->symbols[count - 1].after = -1;
    return count;
}

/* The token that is the whole word; -1 if there is none. */
static inline int32_t bpe__whole_word(bpe__work *w, const char *at, size_t bytes) {
    size_t length = 0;
    if (w->t->kind == BPE_SENTENCEPIECE) return bpe__find_plain(w->t, at, bytes);
    for (size_t i = 0; i < bytes; i++) length += bpe__put_byte_char(w->mapped + length, (unsigned char)at[i]);
    return bpe__find_plain(w->t, w->mapped, length);
}

/* Returns false if memory is exhausted. The word is not empty. */
static inline bool bpe__encode_word(bpe__work *w, const char *at, const char *end) {
    if (!bpe__reserve(w, (size_t)(end - at))) return false;
    int32_t whole = w->t->rule.ignore_merges ? bpe__whole_word(w, at, (size_t)(end - at)) : -1;
    if (whole >= 0) {
        bpe__emit(w, whole);
        return true;
    }
    int32_t count = bpe__split_word(w, at, end);
    w->num_pairs = 0;
    for (int32_t i = 0; i + 1 < count; i++) bpe__add_pair(w, i);
    while (w->num_pairs) bpe__apply(w, bpe__pop(w));
    for (int32_t i = 0; i >= 0; i = w->symbols[i].after) {
        const bpe__symbol *s = &w->symbols[i];
        if (s->id >= 0) bpe__emit(w, s->id);
        for (uint32_t k = 0; s->id < 0 && k < s->bytes; k++) {
            int32_t id = w->t->byte_ids[(unsigned char)s->at[k]];
            if (id >= 0) bpe__emit(w, id);
        }
    }
    return true;
}

/* ---- encoding */

/* Writes spaces as U+2581, with the space prefix. Returns the new text, which the caller frees; NULL: no memory. */
static inline char *bpe__escape_spaces(const bpe__rule *rule, const char *text, bool first, size_t *bytes) {
    char *out = (char *)malloc(3 * *bytes + 3);
    if (!out) return NULL;
    bool spaced = *text == ' ' || (*bytes >= 3 && !memcmp(text, BPE__SPACE_CHAR, 3));
    bool prefix = rule->prefix == BPE__PREFIX_EACH || (rule->prefix == BPE__PREFIX_FIRST && first);
    size_t n = prefix && !(rule->prefix_missing && spaced) ? 3 : 0;
    memcpy(out, BPE__SPACE_CHAR, n);
    for (size_t i = 0; i < *bytes; i++) {
        size_t length = text[i] == ' ' ? 3 : 1;
        memcpy(out + n, length == 3 ? BPE__SPACE_CHAR : text + i, length);
        n += length;
    }
    *bytes = n;
    return out;
}

/* Text without special tokens; `first`: at the start of the text. Returns false if memory is exhausted. */
static inline bool bpe__encode_fragment(bpe__work *w, const char *text, size_t bytes, bool first) {
    bool escape = w->t->kind == BPE_SENTENCEPIECE;
    char *escaped = escape ? bpe__escape_spaces(&w->t->rule, text, first, &bytes) : NULL;
    const char *start = escape ? escaped : text;
    bool done = start != NULL;
    bpe__scanner s = {.at = start, .end = done ? start + bytes : start, .part_end = start};
    while (done && s.at < s.end) {
        const char *end = bpe__word_end(&s, &w->t->rule);
        done = bpe__encode_word(w, s.at, end);
        s.at = end;
    }
    free(escaped);
    return done;
}

static inline int64_t bpe__encode(const bpe *t, const bpe__input *in, int32_t *ids, int64_t most) {
    bpe__work w = {.t = t, .ids = ids, .most = most};
    bool done = in->text.bytes <= BPE_MAX_TEXT;
    for (size_t at = 0; done && at < in->text.bytes;) {
        int32_t id;
        size_t stop = bpe__next_special(t, in, at, &id);
        if (stop > at) done = bpe__encode_fragment(&w, in->text.at + at, stop - at, at == 0);
        if (id >= 0) bpe__emit(&w, id);
        at = stop + (id >= 0 ? t->tokens[id].bytes : 0);
    }
    free(w.symbols);
    free(w.heap);
    free(w.mapped);
    return done ? w.count : -1;
}

static inline int64_t bpe_encode(const bpe *t, const char *text, size_t bytes, bool special, int32_t *ids,
                                 int64_t most) {
    return bpe__encode(t, &(bpe__input){.text = {text, bytes}, .special = special}, ids, most);
}

static inline int64_t bpe_encode_marked(const bpe *t, const char *text, const char *marks, size_t bytes, int32_t *ids,
                                        int64_t most) {
    return bpe__encode(t, &(bpe__input){.text = {text, bytes}, .special = true, .marks = marks}, ids, most);
}

/* ---- decoding */

/* A token of a byte-level vocabulary; its own bytes if it has other code points than those of bytes. */
static inline size_t bpe__decode_chars(bpe_text token, char *out, size_t out_size) {
    const char *end = token.at + token.bytes;
    size_t n = 0, length;
    bool mapped = true;
    for (const char *at = token.at; at < end; at += length)
        mapped = bpe__char_to_byte(bpe__code_point(at, end, &length)) >= 0 && mapped;
    for (const char *at = token.at; at < end; at += length, n++) {
        int byte = bpe__char_to_byte(bpe__code_point(at, end, &length));
        if (!mapped) {
            byte = *at;
            length = 1;
        }
        if (n < out_size) out[n] = (char)byte;
    }
    return n;
}

static inline size_t bpe__decode_spaces(bpe_text token, char *out, size_t out_size) {
    size_t n = 0;
    for (size_t i = 0; i < token.bytes; n++) {
        bool space = token.bytes - i >= 3 && !memcmp(token.at + i, BPE__SPACE_CHAR, 3);
        if (n < out_size) out[n] = space ? ' ' : token.at[i];
        i += space ? 3 : 1;
    }
    return n;
}

/* The byte of "<0xE2>"; -1 if the text has another form. */
static inline int bpe__byte_of(bpe_text token) {
    static const char digits[] = "0123456789ABCDEF";
    if (token.bytes != 6 || memcmp(token.at, "<0x", 3) || token.at[5] != '>') return -1;
    const char *high = (const char *)memchr(digits, token.at[3], 16);
    const char *low = (const char *)memchr(digits, token.at[4], 16);
    return high && low ? (int)(16 * (high - digits) + (low - digits)) : -1;
}

static inline size_t bpe_decode(const bpe *t, int32_t id, bool special, char *out, size_t out_size) {
    if (id < 0 || id >= t->num_tokens) return 0;
    bpe_text token = t->tokens[id];
    bpe_type type = (bpe_type)t->types[id];
    if (type == BPE_BYTE) {
        if (out_size) *out = (char)bpe__byte_of(token);
        return 1;
    }
    bool control = type == BPE_CONTROL || type == BPE_UNKNOWN;
    if (control && !special) return 0;
    if (control || (t->kind == BPE_BYTE_LEVEL && type == BPE_USER_DEFINED)) {
        size_t most = token.bytes < out_size ? token.bytes : out_size;
        if (most) memcpy(out, token.at, most);
        return token.bytes;
    }
    return t->kind == BPE_BYTE_LEVEL ? bpe__decode_chars(token, out, out_size)
                                     : bpe__decode_spaces(token, out, out_size);
}

/* ---- opening */

static inline int bpe__copy_tokens(bpe *t, const bpe_vocabulary *v, bpe__fault *f) {
    if (!v->num_tokens || v->num_tokens > BPE_MAX_TOKENS || v->num_merges > BPE_MAX_TOKENS)
        return bpe__fail(f, "%zu tokens and %zu merges are too few or too many", v->num_tokens, v->num_merges);
    t->kind = v->kind;
    t->num_tokens = (int32_t)v->num_tokens;
    t->add_bos = v->add_bos;
    t->tokens = (bpe_text *)malloc(v->num_tokens * sizeof *t->tokens);
    t->types = (uint8_t *)malloc(v->num_tokens);
    t->sorted = (bpe__entry *)malloc(v->num_tokens * sizeof *t->sorted);
    if (!t->tokens || !t->types || !t->sorted) return bpe__fail(f, "no memory for %zu tokens", v->num_tokens);
    bpe_text empty = {"", 0};
    for (size_t i = 0; i < v->num_tokens; i++) {
        int32_t type = v->types ? v->types[i] : BPE_NORMAL;
        if (type < BPE_NORMAL || type > BPE_BYTE) return bpe__fail(f, "token %zu has type %d", i, (int)type);
        t->tokens[i] = v->tokens[i].bytes ? v->tokens[i] : empty;
        t->types[i] = (uint8_t)(type == BPE_BYTE && v->kind == BPE_BYTE_LEVEL ? BPE_NORMAL : type);
        t->sorted[t->num_sorted] = (bpe__entry){v->tokens[i], (int32_t)i};
        t->num_sorted += v->tokens[i].bytes > 0;
    }
    return 0;
}

static inline int bpe__check_id(const bpe *t, int32_t id, const char *name, bpe__fault *f) {
    if (id >= -1 && id < t->num_tokens) return 0;
    return bpe__fail(f, "the %s token is %d, the vocabulary has %d tokens", name, (int)id, (int)t->num_tokens);
}

static inline int bpe__sort_tokens(bpe *t, bpe__fault *f) {
    if (t->num_sorted) qsort(t->sorted, t->num_sorted, sizeof *t->sorted, bpe__order_entries);
    for (size_t i = 1; i < t->num_sorted; i++)
        if (!bpe__order_entries(&t->sorted[i - 1], &t->sorted[i]))
            return bpe__fail(f, "tokens %d and %d are both \"%.*s\"", (int)t->sorted[i - 1].id, (int)t->sorted[i].id,
                             BPE__SHOW(t->sorted[i].text));
    return 0;
}

static inline bool bpe__is_special(uint8_t type) {
    return type == BPE_CONTROL || type == BPE_UNKNOWN || type == BPE_USER_DEFINED;
}

static inline int bpe__list_special(bpe *t, bpe__fault *f) {
    t->special = (bpe__entry *)malloc((t->num_sorted + 1) * sizeof *t->special);
    if (!t->special) return bpe__fail(f, "no memory for %zu tokens", t->num_sorted);
    for (size_t i = 0; i < t->num_sorted; i++) {
        if (!bpe__is_special(t->types[t->sorted[i].id])) continue;
        t->special[t->num_special++] = t->sorted[i];
        t->starts_special[(unsigned char)*t->sorted[i].text.at] = true;
    }
    return 0;
}

static inline int bpe__find_byte_chars(bpe *t, bpe__fault *f) {
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[2];
        t->byte_ids[byte] = bpe__find(t, text, bpe__put_byte_char(text, (unsigned char)byte));
        if (t->byte_ids[byte] >= 0) continue;
        if (byte == '\n' || (byte >= 0x20 && byte < 0x7F))
            return bpe__fail(f, "the token of byte 0x%02X is missing", byte);
        t->missing_bytes++;
    }
    return 0;
}

static inline int bpe__find_byte_tokens(bpe *t, bpe__fault *f) {
    for (int32_t id = 0; id < t->num_tokens; id++) {
        int byte = bpe__byte_of(t->tokens[id]);
        if (byte < 0 && t->types[id] == BPE_BYTE)
            return bpe__fail(f, "token %d, \"%.*s\", has the type of a byte", (int)id, BPE__SHOW(t->tokens[id]));
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", byte);
        int32_t id = t->byte_ids[byte] = bpe__find(t, text, 6);
        if (id < 0) return bpe__fail(f, "the token of byte %s is missing", text);
        t->types[id] = BPE_BYTE;
    }
    return 0;
}

/* The tokens with their checks, without merges. */
static inline int bpe__set_tokens(bpe *t, const bpe_vocabulary *v, bpe__fault *f) {
    if (v->kind != BPE_BYTE_LEVEL && v->kind != BPE_SENTENCEPIECE)
        return bpe__fail(f, "kind %d is not known", (int)v->kind);
    if (bpe__copy_tokens(t, v, f) || bpe__check_id(t, t->bos = v->bos, "bos", f) ||
        bpe__check_id(t, t->eos = v->eos, "eos", f) || bpe__check_id(t, t->unknown = v->unknown, "unknown", f) ||
        bpe__sort_tokens(t, f))
        return 1;
    if (v->kind == BPE_BYTE_LEVEL ? bpe__find_byte_chars(t, f) : bpe__find_byte_tokens(t, f)) return 1;
    return bpe__list_special(t, f);
}

static inline int bpe__set_scores(bpe *t, const bpe_vocabulary *v, bpe__fault *f) {
    for (size_t i = 0; i < v->num_tokens; i++)
        if (v->scores[i] != v->scores[i]) return bpe__fail(f, "the score of token %zu is not a number", i);
    t->scores = (float *)malloc(v->num_tokens * sizeof *t->scores);
    if (!t->scores) return bpe__fail(f, "no memory for %zu scores", v->num_tokens);
    memcpy(t->scores, v->scores, v->num_tokens * sizeof *t->scores);
    return 0;
}

/* ---- merges */

static inline int bpe__reserve_merges(bpe *t, size_t count, bpe__fault *f) {
    t->merges = (bpe__merge *)malloc((count ? count : 1) * sizeof *t->merges);
    t->first_merge = (uint32_t *)calloc((size_t)t->num_tokens + 1, sizeof *t->first_merge);
    return t->merges && t->first_merge ? 0 : bpe__fail(f, "no memory for %zu merges", count);
}

/* Adds the merge of the next rank. */
static inline int bpe__add_merge(bpe *t, bpe_text left, bpe_text right, bpe__fault *f) {
    int32_t rank = (int32_t)t->num_merges;
    int32_t a = bpe__find(t, left.at, left.bytes), b = bpe__find(t, right.at, right.bytes);
    if (a < 0 || b < 0)
        return bpe__fail(f, "merge %d: \"%.*s\" is not a token", (int)rank, BPE__SHOW(a < 0 ? left : right));
    int32_t result = bpe__find_parts(t, left, right);
    if (result < 0)
        return bpe__fail(f, "merge %d: \"%.*s%.*s\" is not a token", (int)rank, BPE__SHOW(left), BPE__SHOW(right));
    t->merges[t->num_merges++] = (bpe__merge){a, b, rank, result};
    return 0;
}

/* Adds "left right". A token may start with a space, as llama.cpp reads it. */
static inline int bpe__add_merge_text(bpe *t, bpe_text merge, bpe__fault *f) {
    const char *space = merge.bytes > 1 ? (const char *)memchr(merge.at + 1, ' ', merge.bytes - 1) : NULL;
    if (!space)
        return bpe__fail(f, "merge %zu: \"%.*s\" is not two tokens with a space between them", t->num_merges,
                         BPE__SHOW(merge));
    bpe_text left = {merge.at, (size_t)(space - merge.at)};
    bpe_text right = {space + 1, merge.bytes - left.bytes - 1};
    return bpe__add_merge(t, left, right, f);
}

static inline int bpe__order_merges(const void *a, const void *b) {
    const bpe__merge *x = (const bpe__merge *)a, *y = (const bpe__merge *)b;
    if (x->left != y->left) return x->left < y->left ? -1 : 1;
    if (x->right != y->right) return x->right < y->right ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sorts the merges. Of a repeated pair the first in rank counts: bpe__find_merge finds it first. */
static inline void bpe__sort_merges(bpe *t) {
    if (t->num_merges) qsort(t->merges, t->num_merges, sizeof *t->merges, bpe__order_merges);
    for (size_t i = 0; i < t->num_merges; i++) t->first_merge[t->merges[i].left + 1]++;
    for (int32_t id = 0; id < t->num_tokens; id++) t->first_merge[id + 1] += t->first_merge[id];
}

/* ---- the tokenizer */

static inline int bpe__set_rule(bpe *t, const bpe_vocabulary *v, bpe__fault *f) {
    bpe__rule plain = {.prefix = v->add_space_prefix ? BPE__PREFIX_EACH : BPE__NO_PREFIX};
    bpe_text none = {"", 0}, name = v->pre.bytes ? v->pre : none;
    const bpe__rule *rule = v->kind == BPE_SENTENCEPIECE ? &plain : bpe__find_rule(name);
    if (!rule) return bpe__fail(f, "pre-tokenizer \"%.*s\" is not supported", BPE__SHOW(name));
    t->rule = *rule;
    return 0;
}

static inline int bpe__set_merges(bpe *t, const bpe_vocabulary *v, bpe__fault *f) {
    if (bpe__reserve_merges(t, v->num_merges, f)) return 1;
    for (size_t i = 0; i < v->num_merges; i++)
        if (bpe__add_merge_text(t, v->merges[i], f)) return 1;
    bpe__sort_merges(t);
    return 0;
}

static inline void bpe_close(bpe *t) {
    free(t->tokens);
    free(t->types);
    free(t->scores);
    free(t->sorted);
    free(t->special);
    free(t->merges);
    free(t->first_merge);
    free(t->owned);
    memset(t, 0, sizeof *t);
}

static inline int bpe_open(const bpe_vocabulary *v, bpe *t, char *why, size_t why_size) {
    bpe__fault f = {.why = why, .why_size = why_size};
    memset(t, 0, sizeof *t);
    bool scores = v->kind == BPE_SENTENCEPIECE && v->scores;
    int failed = bpe__set_tokens(t, v, &f) || bpe__set_rule(t, v, &f) ||
                 (scores ? bpe__set_scores(t, v, &f) : bpe__set_merges(t, v, &f));
    if (failed) bpe_close(t);
    return failed;
}

#endif /* BPE_H */
