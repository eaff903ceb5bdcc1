/* wordpiece.h: BERT's uncased WordPiece tokeniser: text to the numbers of pieces of words, as a model like MiniLM takes
 * them.
 *
 *     wordpiece vocabulary;
 *     char why[256];
 *     int64_t ids[256];
 *     if (wordpiece_open("vocab.txt", &vocabulary, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *     int n = wordpiece_encode(&vocabulary, "Hello, wörld!", ids, 256);    -> [CLS] hello , world ! [SEP]
 *     wordpiece_close(&vocabulary);
 *
 * The steps, as in Devlin et al. 2018 and the published tokenizer.json: drop control characters; white space of all
 * kinds separates words; ideographs and punctuation are words of their own; accents go (canonical decomposition,
 * non-spacing marks removed) and capitals become small; each word is cut into the longest pieces the vocabulary has,
 * from the left, or is [UNK]. Text that spells a special token
 * ("[MASK]") is that token. What each code point does is a generated table (wordpiece_tables.h). Text that is no UTF-8
 * is skipped byte by byte.
 *
 * Two marks that are kept and follow each other are not put into canonical order: no vocabulary entry has such a pair.
 */
#ifndef WORDPIECE_H
#define WORDPIECE_H

#include "wordpiece_tables.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDPIECE_MAX_WORD 100 /* characters; a longer word is [UNK], as in the reference */

typedef struct wordpiece {
    char *text;          /* the vocabulary file, each line ended with 0 */
    const char **pieces; /* by id */
    int32_t *slots;      /* hash table: id + 1, 0 is empty */
    size_t num_pieces;
    size_t num_slots; /* a power of two */
    size_t longest;   /* bytes of the longest piece */
    int32_t unk, cls, sep;
} wordpiece;

/* Reads a vocabulary: one piece a line, its id is its line number from 0. Returns 0, or 1 with one line in
 * why[why_size] and `w` zeroed. */
static inline int wordpiece_open(const char *path, wordpiece *w, char *why, size_t why_size);

/* Writes [CLS], the pieces of `text` (UTF-8) and [SEP] to ids[most], most >= 2, and returns how many; what does not fit
 * is cut off before [SEP]. Allocates nothing, cannot fail. */
static inline int wordpiece_encode(const wordpiece *w, const char *text, int64_t *ids, int most);

/* Frees all of it; fine on a zeroed vocabulary. */
static inline void wordpiece_close(wordpiece *w);

/* ---- vocabulary */

/* FNV-1a. */
static inline size_t wordpiece__hash(const char *text, size_t length) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32);
}

/* The id of a piece, -1 where the vocabulary lacks it. */
static inline int32_t wordpiece__find(const wordpiece *w, const char *text, size_t length) {
    for (size_t slot = wordpiece__hash(text, length);; slot++) {
        int32_t id = w->slots[slot & (w->num_slots - 1)] - 1;
        if (id < 0) return -1;
        if (!strncmp(w->pieces[id], text, length) && !w->pieces[id][length]) return id;
    }
}

/* A piece that stands there twice keeps its first id. */
static inline void wordpiece__insert(wordpiece *w, int32_t id) {
    size_t length = strlen(w->pieces[id]), slot = wordpiece__hash(w->pieces[id], length);
    if (wordpiece__find(w, w->pieces[id], length) >= 0) return;
    while (w->slots[slot & (w->num_slots - 1)]) slot++;
    w->slots[slot & (w->num_slots - 1)] = id + 1;
    if (length > w->longest) w->longest = length;
}

static inline const char *wordpiece__read_file(const char *path, wordpiece *w, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return "cannot be opened";
    long end = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    const char *failed = end < 0 || end == LONG_MAX || fseek(file, 0, SEEK_SET) ? "cannot be read" : NULL;
    if (!failed && end > INT_MAX / 2) failed = "is too large for a vocabulary";
    if (!failed && !(w->text = (char *)malloc((size_t)end + 1))) failed = "no memory for it";
    if (!failed && fread(w->text, 1, (size_t)end, file) != (size_t)end) failed = "cannot be read in full";
    if (!failed) w->text[end] = 0;
    fclose(file);
    *size = (size_t)end;
    return failed;
}

/* Ends each line with 0, with or without a carriage return before it. */
static inline void wordpiece__split_lines(wordpiece *w, size_t size) {
    for (size_t i = 0, start = 0; i < size; i++) {
        if (w->text[i] != '\n' && i + 1 < size) continue;
        if (w->text[i] == '\n') w->text[i] = 0;
        if (i > start && w->text[i - 1] == '\r') w->text[i - 1] = 0;
        w->pieces[w->num_pieces++] = w->text + start;
        start = i + 1;
    }
}

static inline const char *wordpiece__load(const char *path, wordpiece *w) {
    size_t size, lines = 1;
    const char *failed = wordpiece__read_file(path, w, &size);
    if (failed) return failed;
    for (size_t i = 0; i < size; i++) lines += w->text[i] == '\n';
    for (w->num_slots = 16; w->num_slots < 2 * lines; w->num_slots *= 2) {
    }
    w->pieces = (const char **)malloc(lines * sizeof *w->pieces);
    w->slots = (int32_t *)calloc(w->num_slots, sizeof *w->slots);
    if (!w->pieces || !w->slots) return "no memory for its pieces";
    wordpiece__split_lines(w, size);
    for (size_t id = 0; id < w->num_pieces; id++) wordpiece__insert(w, (int32_t)id);
    w->unk = wordpiece__find(w, "[UNK]", 5);
    w->cls = wordpiece__find(w, "[CLS]", 5);
    w->sep = wordpiece__find(w, "[SEP]", 5);
    return w->unk < 0 || w->cls < 0 || w->sep < 0 ? "is no BERT vocabulary: [UNK], [CLS] or [SEP] is missing" : NULL;
}

static inline void wordpiece_close(wordpiece *w) {
    free(w->text);
    free((void *)w->pieces);
    free(w->slots);
    memset(w, 0, sizeof *w);
}

static inline int wordpiece_open(const char *path, wordpiece *w, char *why, size_t why_size) {
    memset(w, 0, sizeof *w);
    const char *failed = wordpiece__load(path, w);
    if (!failed) return 0;
    snprintf(why, why_size, "%s: %s", path, failed);
    wordpiece_close(w);
    return 1;
}

/* ---- UTF-8 */

/* One code point, U+FFFD (which the table drops) for a byte that starts none. */
static inline uint32_t wordpiece__decode(const char **text) {
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)*text;
    int more = *at < 0x80 ? 0 : *at >> 5 == 6 ? 1 : *at >> 4 == 14 ? 2 : *at >> 3 == 30 ? 3 : -1;
    uint32_t c = more < 1 ? *at : *at & (0x3Fu >> more);
    *text += 1;
    if (more < 0) return 0xFFFD;
    for (int i = 1; i <= more; i++) {
        if (at[i] >> 6 != 2) return 0xFFFD;
        c = c << 6 | (at[i] & 0x3Fu);
    }
    if (c < least[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0xFFFD;
    *text += more;
    return c;
}

static inline int wordpiece__put_utf8(char *to, uint32_t c) {
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    to[0] = more ? (char)((0xF0 << (3 - more)) | (c >> (6 * more))) : (char)c;
    for (int i = 1; i <= more; i++) to[i] = (char)(0x80 | ((c >> (6 * (more - i))) & 0x3F));
    return more + 1;
}

/* ---- words to pieces */

/* The word being read, and the ids so far. */
typedef struct wordpiece__writer {
    const wordpiece *vocabulary;
    int64_t *ids;
    int num_ids, most_ids; /* one place is kept free for [SEP] */
    int length;            /* characters; past WORDPIECE_MAX_WORD they are counted and not kept */
    int num_bytes;
    char bytes[2 + 4 * WORDPIECE_MAX_WORD]; /* two bytes free before it, for the "##" of a continued piece */
} wordpiece__writer;

static inline void wordpiece__put_id(wordpiece__writer *s, int32_t id) {
    if (s->num_ids < s->most_ids) s->ids[s->num_ids++] = id;
}

/* The longest piece at word[start..end), to *end. Pieces after the first are spelt with "##" before them: written over
 * the two bytes before `start`, which are used up. */
static inline int32_t wordpiece__longest_piece(const wordpiece *w, char *word, int start, int *end) {
    char *piece = word + start - 2;
    if (start)
        memcpy(piece, "##", 2);
    else
        piece += 2;
    int most = *end - start + (start ? 2 : 0);
    for (int n = most < (int)w->longest ? most : (int)w->longest; n > (start ? 2 : 0); n--) {
        int32_t id = wordpiece__find(w, piece, (size_t)n);
        if (id < 0) continue;
        *end = start + n - (start ? 2 : 0);
        return id;
    }
    return -1;
}

static inline void wordpiece__end_word(wordpiece__writer *s) {
    int first = s->num_ids, too_long = s->length > WORDPIECE_MAX_WORD;
    for (int start = 0, end = s->num_bytes; start < s->num_bytes && !too_long; start = end, end = s->num_bytes) {
        int32_t id = wordpiece__longest_piece(s->vocabulary, s->bytes + 2, start, &end);
        too_long = id < 0;
        if (!too_long) wordpiece__put_id(s, id);
    }
    if (s->length && too_long) { /* one word is cut as a whole or not at all */
        s->num_ids = first;
        wordpiece__put_id(s, s->vocabulary->unk);
    }
    s->length = s->num_bytes = 0;
}

static inline void wordpiece__put_char(wordpiece__writer *s, uint32_t c) {
    if (s->length++ < WORDPIECE_MAX_WORD) s->num_bytes += wordpiece__put_utf8(s->bytes + 2 + s->num_bytes, c);
}

static inline bool wordpiece__is_punctuation(uint32_t c) {
    size_t low = 0, high = sizeof wordpiece__punctuation / sizeof *wordpiece__punctuation;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c < wordpiece__punctuation[middle].first)
            high = middle;
        else if (c > wordpiece__punctuation[middle].last)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

/* One character after normalisation; `apart` ends the word before it and after it. */
static inline void wordpiece__put_normal(wordpiece__writer *s, uint32_t c, bool apart) {
    if (c == ' ') {
        wordpiece__end_word(s);
        return;
    }
    apart = apart || wordpiece__is_punctuation(c);
    if (apart) wordpiece__end_word(s);
    wordpiece__put_char(s, c);
    if (apart) wordpiece__end_word(s);
}

/* ---- normalisation */

static inline const wordpiece__run *wordpiece__find_run(uint32_t c) {
    size_t low = 0, high = sizeof wordpiece__runs / sizeof *wordpiece__runs;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const wordpiece__run *run = &wordpiece__runs[middle];
        if (c < run->first)
            high = middle;
        else if (c > run->last)
            low = middle + 1;
        else
            return (c - run->first) % run->step ? NULL : run;
    }
    return NULL;
}

static inline bool wordpiece__put_sequence(wordpiece__writer *s, uint32_t c) {
    for (size_t i = 0; i < sizeof wordpiece__sequences / sizeof *wordpiece__sequences; i++) {
        if (wordpiece__sequences[i].from != c) continue;
        for (int k = 0; k < 3 && wordpiece__sequences[i].to[k]; k++)
            wordpiece__put_normal(s, wordpiece__sequences[i].to[k], false);
        return true;
    }
    return false;
}

/* A Hangul syllable becomes its letters: The Unicode Standard, 3.12, "Hangul Syllable Decomposition". */
static inline void wordpiece__put_hangul(wordpiece__writer *s, uint32_t c) {
    uint32_t index = c - 0xAC00, tail = index % 28;
    wordpiece__put_normal(s, 0x1100 + index / 588, false);
    wordpiece__put_normal(s, 0x1161 + index % 588 / 28, false);
    if (tail) wordpiece__put_normal(s, 0x11A7 + tail, false);
}

static inline void wordpiece__put_raw(wordpiece__writer *s, uint32_t c) {
    const wordpiece__run *run = wordpiece__find_run(c);
    if (run && run->action == WORDPIECE_DROP) return;
    if (run && run->action == WORDPIECE_SPACE)
        wordpiece__end_word(s);
    else if (run)
        wordpiece__put_normal(s, (uint32_t)((int32_t)c + run->delta), run->action == WORDPIECE_APART);
    else if (c >= 0xAC00 && c < 0xD7A4)
        wordpiece__put_hangul(s, c);
    else if (c < 0x80 || !wordpiece__put_sequence(s, c))
        wordpiece__put_normal(s, c, false);
}

/* Length of the special token that the text spells here, 0 for none. */
static inline size_t wordpiece__special(const char *text) {
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (!strncmp(text, special[i], strlen(special[i]))) return strlen(special[i]);
    return 0;
}

static inline int wordpiece_encode(const wordpiece *w, const char *text, int64_t *ids, int most) {
    wordpiece__writer s = {.vocabulary = w, .ids = ids, .most_ids = most - 1};
    wordpiece__put_id(&s, w->cls);
    while (*text && s.num_ids < s.most_ids) {
        size_t special = *text == '[' ? wordpiece__special(text) : 0;
        int32_t id = special ? wordpiece__find(w, text, special) : -1;
        if (id < 0) {
            wordpiece__put_raw(&s, wordpiece__decode(&text));
            continue;
        }
        wordpiece__end_word(&s);
        wordpiece__put_id(&s, id);
        text += special;
    }
    wordpiece__end_word(&s);
    ids[s.num_ids++] = w->sep;
    return s.num_ids;
}

#endif /* WORDPIECE_H */
