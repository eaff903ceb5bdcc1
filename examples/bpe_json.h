/* bpe_json.h: opens a tokenizer of bpe.h from a Hugging Face tokenizer.json.
 *
 *     bpe t;
 *     char why[256];
 *     if (bpe_open_json("tokenizer.json", &t, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *
 * Two families are read. Byte-level: model BPE, pre-tokenizer ByteLevel, or Digits or a known regex before it.
 * SentencePiece: model BPE with byte_fallback, and either normalizer Prepend and Replace or pre-tokenizer Metaspace. A
 * setting that changes ids and is not supported is refused by name. Not applied: truncation, padding, post_processor
 * (the caller adds bos: bpe_find), decoder.
 *
 * Everything is checked before it is used: the file may be truncated, damaged or hostile. The JSON becomes one array of
 * nodes, without recursion. Format: the documentation of the `tokenizers` package.
 */
#ifndef BPE_JSON_H
#define BPE_JSON_H

#include "bpe.h"
#include <limits.h>

#define BPE_MAX_JSON (1 << 28) /* bytes of a file */

/* As bpe_open. Tokens of added_tokens are control tokens if "special" is true, else user-defined. bos and eos are -1;
 * unknown is the model's unk_token. */
static inline int bpe_open_json(const char *path, bpe *t, char *why, size_t why_size);

/* ---- JSON */

#define BPE__MAX_DEPTH 64

typedef struct bpe__node {
    char kind;     /* first character of the value: { [ " t f n, or 0 for a number */
    bpe_text text; /* of strings (unescaped) and numbers */
    size_t next;   /* index of the node after this value */
} bpe__node;

/* Nodes in the order of the text. The members of an object are a string and a value each. Node 0 is the file's value,
 * which is no member: index 0 stands for an absent value. */
typedef struct bpe__json {
    char *start, *at, *end; /* strings are unescaped in place, which never makes them longer */
    bpe__node *nodes;
    size_t num_nodes, capacity;
    bpe__fault fault;
} bpe__json;

static inline int bpe__bad_json(bpe__json *j, const char *wanted) {
    return bpe__fail(&j->fault, "byte %ld: %s is wanted", (long)(j->at - j->start), wanted);
}

static inline bool bpe__take(bpe__json *j, char wanted) {
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r')) j->at++;
    if (j->at >= j->end || *j->at != wanted) return false;
    j->at++;
    return true;
}

/* Four hexadecimal digits, or -1. */
static inline int32_t bpe__hex4(bpe__json *j) {
    static const char digits[] = "0123456789abcdefABCDEF";
    int32_t value = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        const char *digit = j->at < j->end ? (const char *)memchr(digits, *j->at, 22) : NULL;
        if (!digit) return -1;
        int32_t nibble = (int32_t)(digit - digits);
        value = value * 16 + (nibble < 16 ? nibble : nibble - 6);
    }
    return value;
}

/* The code point after \u, of one escape or of a surrogate pair; -1 if it is none. */
static inline int32_t bpe__escaped_point(bpe__json *j) {
    int32_t high = bpe__hex4(j);
    if (high < 0 || (high >= 0xDC00 && high < 0xE000)) return -1;
    if (high < 0xD800 || high >= 0xE000) return high;
    if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u') return -1;
    j->at += 2;
    int32_t low = bpe__hex4(j);
    return low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00) : -1;
}

static inline char *bpe__put_utf8(char *to, int32_t c) {
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = more ? (char)((0xF0 << (3 - more)) | (c >> (6 * more))) : (char)c;
    while (more--) *to++ = (char)(0x80 | ((c >> (6 * more)) & 0x3F));
    return to;
}

/* The character after a backslash, to *to. */
static inline bool bpe__unescape(bpe__json *j, char **to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (j->at >= j->end) return false;
    char escape = *j->at++;
    if (escape == 'u') {
        int32_t c = bpe__escaped_point(j);
        if (c >= 0) *to = bpe__put_utf8(*to, c);
        return c >= 0;
    }
    const char *known = (const char *)memchr(from, escape, sizeof from - 1);
    if (known) *(*to)++ = into[known - from];
    return known != NULL;
}

/* A string after its opening quote. */
static inline bool bpe__take_string(bpe__json *j, bpe_text *text) {
    char *to = j->at;
    text->at = j->at;
    while (j->at < j->end && *j->at != '"') {
        if ((unsigned char)*j->at < 0x20) return false;
        if (*j->at != '\\') {
            *to++ = *j->at++;
            continue;
        }
        j->at++;
        if (!bpe__unescape(j, &to)) return false;
    }
    text->bytes = (size_t)(to - text->at);
    return bpe__take(j, '"');
}

/* true, false, null or a number. */
static inline bool bpe__take_plain(bpe__json *j, bpe__node *node) {
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(j->end - j->at) < length || memcmp(j->at, words[i], length)) continue;
        node->kind = *words[i];
        j->at += length;
        return true;
    }
    node->text.at = j->at;
    while (j->at < j->end && memchr("+-.0123456789Ee", *j->at, 15)) j->at++;
    node->text.bytes = (size_t)(j->at - node->text.at);
    return node->text.bytes > 0;
}

static inline int bpe__add_node(bpe__json *j) {
    if (j->num_nodes == j->capacity) {
        size_t capacity = j->capacity ? 2 * j->capacity : 1024;
        void *grown = realloc(j->nodes, capacity * sizeof *j->nodes);
        if (!grown) return bpe__fail(&j->fault, "no memory for %zu values", capacity);
        j->nodes = (bpe__node *)grown;
        j->capacity = capacity;
    }
    bpe__node *node = &j->nodes[j->num_nodes++];
    memset(node, 0, sizeof *node);
    node->text.at = "";
    node->next = j->num_nodes;
    return 0;
}

/* The name of a member and its colon. */
static inline int bpe__read_name(bpe__json *j) {
    if (bpe__add_node(j)) return 1;
    bpe__node *node = &j->nodes[j->num_nodes - 1];
    node->kind = '"';
    if (!bpe__take(j, '"') || !bpe__take_string(j, &node->text) || !bpe__take(j, ':'))
        return bpe__bad_json(j, "\"name\":");
    return 0;
}

/* A string, number or word, or the opening bracket of an object or array. */
static inline int bpe__read_value(bpe__json *j) {
    if (bpe__add_node(j)) return 1;
    bpe__node *node = &j->nodes[j->num_nodes - 1];
    if (bpe__take(j, '{') || bpe__take(j, '[') || bpe__take(j, '"')) node->kind = j->at[-1];
    bool done = node->kind == '"' ? bpe__take_string(j, &node->text) : node->kind || bpe__take_plain(j, node);
    return done ? 0 : bpe__bad_json(j, "a value");
}

/* The loop is once per value; `open` are the objects and arrays that the value is in. */
static inline int bpe__parse(bpe__json *j) {
    size_t open[BPE__MAX_DEPTH];
    int depth = 0;
    for (;;) {
        if (depth && j->nodes[open[depth - 1]].kind == '{' && bpe__read_name(j)) return 1;
        if (bpe__read_value(j)) return 1;
        size_t last = j->num_nodes - 1;
        char kind = j->nodes[last].kind;
        bool container = kind == '{' || kind == '[';
        if (container && depth == BPE__MAX_DEPTH) return bpe__bad_json(j, "a value less than 64 deep");
        if (container) open[depth++] = last;
        if (container && !bpe__take(j, (char)(kind + 2))) continue; /* ] and } follow their opening brackets by 2 */
        if (container) depth--;
        while (depth && bpe__take(j, (char)(j->nodes[open[depth - 1]].kind + 2)))
            j->nodes[open[--depth]].next = j->num_nodes;
        if (!depth) break;
        if (!bpe__take(j, ',')) return bpe__bad_json(j, "',' or a closing bracket");
    }
    (void)bpe__take(j, ' '); /* skips white space */
    return j->at == j->end ? 0 : bpe__bad_json(j, "the end");
}

/* ---- values */

static inline bool bpe__is(bpe_text text, const char *other) {
    return strlen(other) == text.bytes && !memcmp(text.at, other, text.bytes);
}

/* The member of that name; 0 if there is none, if it is null, or if `object` is no object. */
static inline size_t bpe__member(const bpe__json *j, size_t object, const char *name) {
    if (j->nodes[object].kind != '{') return 0;
    for (size_t i = object + 1; i < j->nodes[object].next; i = j->nodes[i + 1].next)
        if (bpe__is(j->nodes[i].text, name)) return j->nodes[i + 1].kind == 'n' ? 0 : i + 1;
    return 0;
}

/* The same for values of one kind; another kind is an error: returns false. */
static inline bool bpe__member_of(bpe__json *j, size_t object, const char *name, char kind, size_t *value) {
    *value = bpe__member(j, object, name);
    if (!*value || j->nodes[*value].kind == kind) return true;
    bpe__fail(&j->fault, "\"%s\" is no %s", name, kind == '{' ? "object" : kind == '[' ? "array" : "string");
    return false;
}

static inline bool bpe__member_is(const bpe__json *j, size_t object, const char *name, const char *text) {
    size_t value = bpe__member(j, object, name);
    return value && j->nodes[value].kind == '"' && bpe__is(j->nodes[value].text, text);
}

/* A bool; `absent` if there is none. */
static inline bool bpe__flag(const bpe__json *j, size_t object, const char *name, bool absent) {
    size_t value = bpe__member(j, object, name);
    return value ? j->nodes[value].kind == 't' : absent;
}

/* An id below `limit`, or -1. */
static inline int32_t bpe__id_of(const bpe__node *node, size_t limit) {
    int64_t id = 0;
    if (node->kind || !node->text.bytes) return -1;
    for (size_t i = 0; i < node->text.bytes; i++) {
        char digit = node->text.at[i];
        if (digit < '0' || digit > '9') return -1;
        id = id * 10 + (digit - '0');
        if (id >= (int64_t)limit) return -1;
    }
    return (int32_t)id;
}

/* The value of "type", for messages and comparisons. */
static inline bpe_text bpe__type_of(const bpe__json *j, size_t object) {
    bpe_text none = {"without a type", 14};
    size_t type = bpe__member(j, object, "type");
    return type && j->nodes[type].kind == '"' ? j->nodes[type].text : none;
}

/* ---- the steps before the model */

/* What has been read of the normalizer and the pre-tokenizer. */
typedef struct bpe__steps {
    bpe__rule rule;
    bool byte_level, gpt2_words; /* ByteLevel, with use_regex */
    bool metaspace, prepend, replace;
} bpe__steps;

#define BPE__AFTER_WORDS   "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define BPE__BEFORE_DIGITS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"

/* The regular expressions whose words bpe.h finds. */
static const struct bpe__regex {
    const char *regex, *name; /* of the rule in bpe.h */
} bpe__regexes[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", "gpt-2"},
    {BPE__BEFORE_DIGITS "\\p{N}{1,3}" BPE__AFTER_WORDS, "llama3"},
    {BPE__BEFORE_DIGITS "\\p{N}" BPE__AFTER_WORDS, "qwen2"},
};

static inline int bpe__read_split(bpe__json *j, size_t node, bpe__steps *steps) {
    size_t pattern = bpe__member(j, node, "pattern"), regex = pattern ? bpe__member(j, pattern, "Regex") : 0;
    if (!bpe__member_is(j, node, "behavior", "Isolated") || bpe__flag(j, node, "invert", false))
        return bpe__fail(&j->fault, "pre_tokenizer Split is implemented for behavior Isolated without invert");
    for (size_t i = 0; regex && i < sizeof bpe__regexes / sizeof *bpe__regexes; i++) {
        if (!bpe__member_is(j, pattern, "Regex", bpe__regexes[i].regex)) continue;
        bpe_text name = {bpe__regexes[i].name, strlen(bpe__regexes[i].name)};
        bool digits = steps->rule.digits_first;
        if (steps->rule.words != BPE__ONE_WORD) return bpe__fail(&j->fault, "pre_tokenizer Split occurs twice");
        steps->rule = *bpe__find_rule(name);
        steps->rule.digits_first = digits;
        return 0;
    }
    return bpe__fail(&j->fault, "pre_tokenizer Split has a pattern that is not supported: %.*s",
                     BPE__SHOW(j->nodes[regex].text));
}

static inline int bpe__read_metaspace(bpe__json *j, size_t node, bpe__steps *steps) {
    bool first = bpe__member_is(j, node, "prepend_scheme", "first");
    bool each = bpe__member_is(j, node, "prepend_scheme", "always");
    if (!bpe__member_is(j, node, "replacement", BPE__SPACE_CHAR))
        return bpe__fail(&j->fault, "pre_tokenizer Metaspace is implemented with replacement U+2581");
    if (!first && !each && !bpe__member_is(j, node, "prepend_scheme", "never"))
        return bpe__fail(&j->fault, "pre_tokenizer Metaspace has no prepend_scheme first, always or never");
    steps->metaspace = true;
    steps->rule.prefix = first ? BPE__PREFIX_FIRST : each ? BPE__PREFIX_EACH : BPE__NO_PREFIX;
    steps->rule.prefix_missing = true;
    steps->rule.words = bpe__flag(j, node, "split", true) ? BPE__AT_SPACES : BPE__ONE_WORD;
    return 0;
}

static inline int bpe__read_pre_step(bpe__json *j, size_t node, bpe__steps *steps) {
    bpe_text type = bpe__type_of(j, node);
    if (steps->byte_level || steps->metaspace)
        return bpe__fail(&j->fault, "pre_tokenizer %.*s after ByteLevel or Metaspace is not supported",
                         BPE__SHOW(type));
    if (bpe__is(type, "Split")) return bpe__read_split(j, node, steps);
    if (bpe__is(type, "Metaspace")) return bpe__read_metaspace(j, node, steps);
    if (bpe__is(type, "Digits")) {
        if (!bpe__flag(j, node, "individual_digits", false) || steps->rule.words != BPE__ONE_WORD)
            return bpe__fail(&j->fault, "pre_tokenizer Digits is implemented with individual_digits, in front");
        steps->rule.digits_first = true;
        return 0;
    }
    if (!bpe__is(type, "ByteLevel"))
        return bpe__fail(&j->fault, "pre_tokenizer %.*s is not supported", BPE__SHOW(type));
    if (bpe__flag(j, node, "add_prefix_space", true))
        return bpe__fail(&j->fault, "pre_tokenizer ByteLevel with add_prefix_space is not supported");
    steps->byte_level = true;
    steps->gpt2_words = bpe__flag(j, node, "use_regex", true);
    return 0;
}

/* The normalizers of Llama 2: a space in front, and spaces as U+2581. */
static inline int bpe__read_normal_step(bpe__json *j, size_t node, bpe__steps *steps) {
    bpe_text type = bpe__type_of(j, node);
    if (bpe__is(type, "Prepend") && bpe__member_is(j, node, "prepend", BPE__SPACE_CHAR)) {
        steps->prepend = true;
        return 0;
    }
    size_t pattern = bpe__member(j, node, "pattern");
    if (bpe__is(type, "Replace") && pattern && bpe__member_is(j, pattern, "String", " ") &&
        bpe__member_is(j, node, "content", BPE__SPACE_CHAR)) {
        steps->replace = true;
        return 0;
    }
    return bpe__fail(&j->fault, "normalizer %.*s is not supported", BPE__SHOW(type));
}

/* A member of the file that is one step or a Sequence of steps in the array `list`. */
static inline int bpe__read_steps(bpe__json *j, const char *name, const char *list, bpe__steps *steps,
                                  int (*read)(bpe__json *, size_t, bpe__steps *)) {
    size_t node, array;
    if (!bpe__member_of(j, 0, name, '{', &node)) return 1;
    if (!node) return 0;
    if (!bpe__is(bpe__type_of(j, node), "Sequence")) return read(j, node, steps);
    if (!bpe__member_of(j, node, list, '[', &array)) return 1;
    for (size_t i = array + 1; array && i < j->nodes[array].next; i = j->nodes[i].next)
        if (read(j, i, steps)) return 1;
    return 0;
}

/* The kind of the tokenizer and its rule from the steps together. */
static inline int bpe__read_rule(bpe__json *j, size_t model, bpe_kind *kind, bpe__steps *steps) {
    if (bpe__read_steps(j, "normalizer", "normalizers", steps, bpe__read_normal_step) ||
        bpe__read_steps(j, "pre_tokenizer", "pretokenizers", steps, bpe__read_pre_step))
        return 1;
    bpe__rule *rule = &steps->rule;
    bool normalizer = steps->prepend || steps->replace;
    if (steps->byte_level) {
        *kind = BPE_BYTE_LEVEL;
        if (normalizer) return bpe__fail(&j->fault, "a normalizer before ByteLevel is not supported");
        if (steps->gpt2_words == (rule->words != BPE__ONE_WORD))
            return bpe__fail(&j->fault, "pre_tokenizer ByteLevel needs either use_regex or a Split before it");
        if (steps->gpt2_words) rule->words = BPE__GPT2;
        if (rule->digits_first && rule->words != BPE__GPT2)
            return bpe__fail(&j->fault, "pre_tokenizer Digits before this Split is not supported");
    } else {
        *kind = BPE_SENTENCEPIECE;
        if (!bpe__flag(j, model, "byte_fallback", false))
            return bpe__fail(&j->fault, "a model with neither pre_tokenizer ByteLevel nor byte_fallback is refused");
        if (steps->metaspace ? normalizer : !steps->replace || rule->digits_first || rule->words != BPE__ONE_WORD)
            return bpe__fail(&j->fault, "byte_fallback needs either pre_tokenizer Metaspace or normalizer Replace");
        if (steps->prepend) rule->prefix = BPE__PREFIX_EACH;
    }
    rule->ignore_merges = bpe__flag(j, model, "ignore_merges", false);
    return 0;
}

/* ---- tokens */

typedef struct bpe__tokens {
    bpe_text *texts; /* by id; at is NULL while there is none */
    int32_t *types;
    size_t count, limit;
} bpe__tokens;

static inline int bpe__put_token(bpe__json *j, bpe__tokens *k, bpe_text text, size_t id_node, int32_t type) {
    int32_t id = id_node ? bpe__id_of(&j->nodes[id_node], k->limit) : -1;
    if (id < 0) return bpe__fail(&j->fault, "token \"%.*s\" has no id below %zu", BPE__SHOW(text), k->limit);
    bpe_text *old = &k->texts[id];
    bool same = old->at && old->bytes == text.bytes && !memcmp(old->at, text.at, text.bytes);
    if (old->at && (type == BPE_NORMAL || !same))
        return bpe__fail(&j->fault, "id %d is of both \"%.*s\" and \"%.*s\"", (int)id, BPE__SHOW(*old),
                         BPE__SHOW(text));
    *old = text;
    k->types[id] = type;
    if ((size_t)id >= k->count) k->count = (size_t)id + 1;
    return 0;
}

static inline int bpe__read_added(bpe__json *j, size_t node, bpe__tokens *k, const bpe__steps *steps) {
    static const char *const refused[] = {"single_word", "lstrip", "rstrip"};
    size_t content = bpe__member(j, node, "content");
    if (!content || j->nodes[content].kind != '"') return bpe__fail(&j->fault, "an added token has no content");
    bpe_text text = j->nodes[content].text;
    for (int i = 0; i < 3; i++)
        if (bpe__flag(j, node, refused[i], false))
            return bpe__fail(&j->fault, "added token \"%.*s\": %s is not supported", BPE__SHOW(text), refused[i]);
    bool special = bpe__flag(j, node, "special", false);
    if (steps->replace && bpe__flag(j, node, "normalized", !special))
        return bpe__fail(&j->fault, "added token \"%.*s\": normalized is not supported with a normalizer",
                         BPE__SHOW(text));
    return bpe__put_token(j, k, text, bpe__member(j, node, "id"), special ? BPE_CONTROL : BPE_USER_DEFINED);
}

static inline int bpe__read_tokens(bpe__json *j, size_t vocab, size_t added, bpe__tokens *k, const bpe__steps *steps) {
    const bpe__node *nodes = j->nodes;
    for (size_t i = vocab + 1; i < nodes[vocab].next; i = nodes[i + 1].next) k->limit++;
    for (size_t i = added + 1; added && i < nodes[added].next; i = nodes[i].next) k->limit++;
    k->texts = (bpe_text *)calloc(k->limit + 1, sizeof *k->texts);
    k->types = (int32_t *)calloc(k->limit + 1, sizeof *k->types);
    if (!k->texts || !k->types) return bpe__fail(&j->fault, "no memory for %zu tokens", k->limit);
    for (size_t i = vocab + 1; i < nodes[vocab].next; i = nodes[i + 1].next)
        if (bpe__put_token(j, k, nodes[i].text, i + 1, BPE_NORMAL)) return 1;
    for (size_t i = added + 1; added && i < nodes[added].next; i = nodes[i].next)
        if (bpe__read_added(j, i, k, steps)) return 1;
    for (size_t i = 0; i < k->count; i++)
        if (!k->texts[i].at) return bpe__fail(&j->fault, "no token has id %zu", i);
    return 0;
}

/* ---- the model */

/* Settings of the model that change ids. */
static inline int bpe__check_model(bpe__json *j, size_t model) {
    static const char *const refused[] = {"dropout", "continuing_subword_prefix", "end_of_word_suffix"};
    bpe_text type = bpe__type_of(j, model);
    if (!bpe__is(type, "BPE")) return bpe__fail(&j->fault, "model %.*s is not supported", BPE__SHOW(type));
    for (int i = 0; i < 3; i++)
        if (bpe__member(j, model, refused[i]) && !bpe__member_is(j, model, refused[i], ""))
            return bpe__fail(&j->fault, "model BPE with %s is not supported", refused[i]);
    return 0;
}

/* "left right" or ["left", "right"]. */
static inline int bpe__read_merges(bpe__json *j, size_t merges, bpe *t) {
    size_t count = 0;
    for (size_t i = merges + 1; i < j->nodes[merges].next; i = j->nodes[i].next) count++;
    if (count > BPE_MAX_TOKENS) return bpe__fail(&j->fault, "%zu merges are refused", count);
    if (bpe__reserve_merges(t, count, &j->fault)) return 1;
    for (size_t i = merges + 1; i < j->nodes[merges].next; i = j->nodes[i].next) {
        const bpe__node *node = &j->nodes[i];
        bool pair = node->kind == '[' && node->next == i + 3 && node[1].kind == '"' && node[2].kind == '"';
        if (!pair && node->kind != '"')
            return bpe__fail(&j->fault, "merge %zu is neither a string nor two", t->num_merges);
        if (pair ? bpe__add_merge(t, node[1].text, node[2].text, &j->fault)
                 : bpe__add_merge_text(t, node->text, &j->fault))
            return 1;
    }
    bpe__sort_merges(t);
    return 0;
}

static inline int bpe__find_unknown(bpe__json *j, size_t model, bpe *t) {
    size_t unknown;
    if (!bpe__member_of(j, model, "unk_token", '"', &unknown)) return 1;
    if (!unknown) return 0;
    t->unknown = bpe__find(t, j->nodes[unknown].text.at, j->nodes[unknown].text.bytes);
    if (t->unknown < 0)
        return bpe__fail(&j->fault, "unk_token \"%.*s\" is not a token", BPE__SHOW(j->nodes[unknown].text));
    if (t->missing_bytes)
        return bpe__fail(&j->fault, "unk_token is not supported for the %d bytes without a token", t->missing_bytes);
    return 0;
}

static inline int bpe__read_file(bpe__json *j, bpe__tokens *k, bpe *t) {
    bpe__steps steps = {.metaspace = false};
    bpe_kind kind;
    size_t model, vocab, merges, added;
    if (!bpe__member_of(j, 0, "model", '{', &model) || !bpe__member_of(j, model, "vocab", '{', &vocab) ||
        !bpe__member_of(j, model, "merges", '[', &merges) || !bpe__member_of(j, 0, "added_tokens", '[', &added))
        return 1;
    if (!model) return bpe__fail(&j->fault, "it has no model");
    if (bpe__check_model(j, model)) return 1;
    if (!vocab || !merges) return bpe__fail(&j->fault, "the model has no vocab or no merges");
    if (bpe__read_rule(j, model, &kind, &steps) || bpe__read_tokens(j, vocab, added, k, &steps)) return 1;
    bpe_vocabulary v = {.kind = kind, .tokens = k->texts, .types = k->types, .num_tokens = k->count};
    v.bos = v.eos = v.unknown = -1;
    if (bpe__set_tokens(t, &v, &j->fault)) return 1;
    t->rule = steps.rule;
    return bpe__find_unknown(j, model, t) || bpe__read_merges(j, merges, t);
}

/* Takes text[size], which malloc returned, also if it fails. */
static inline int bpe__open_json_text(bpe__fault fault, char *text, size_t size, bpe *t) {
    bpe__json j = {.start = text, .at = text, .end = text + size, .fault = fault};
    bpe__tokens tokens = {.texts = NULL};
    memset(t, 0, sizeof *t);
    int failed = bpe__parse(&j) || bpe__read_file(&j, &tokens, t);
    t->owned = text;
    free(j.nodes);
    free(tokens.texts);
    free(tokens.types);
    if (failed) bpe_close(t);
    return failed;
}

static inline int bpe_open_json(const char *path, bpe *t, char *why, size_t why_size) {
    bpe__fault fault = {path, why, why_size};
    memset(t, 0, sizeof *t);
    FILE *file = fopen(path, "rb");
    if (!file) return bpe__fail(&fault, "cannot be opened");
    long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    bool readable = size >= 0 && size != LONG_MAX && !fseek(file, 0, SEEK_SET), small = size <= BPE_MAX_JSON;
    char *text = readable && small ? (char *)malloc((size_t)size + 1) : NULL;
    bool done = text && fread(text, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (done) return bpe__open_json_text(fault, text, (size_t)size, t);
    const char *failed = !readable ? "cannot be read" : !small ? "is too large" : !text ? "no memory for it" : NULL;
    bpe__fail(&fault, "%s", failed ? failed : "cannot be read in full");
    free(text);
    return 1;
}

#endif /* BPE_JSON_H */
