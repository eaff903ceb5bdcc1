/* A helper of the tests of bpe.h and bpe_json.h.
 *
 *     tokenizer encode VOCABULARY < TEXTS   ids of each text, "|", and the bytes of its tokens as hexadecimal
 *     tokenizer words NAME < TEXTS          the words that a pre-tokenizer divides each text into
 *     tokenizer find VOCABULARY TEXT        the id of the token
 *     tokenizer damage FILE SEED COUNT      every truncation of a tokenizer.json, then COUNT copies with changed bytes
 *     tokenizer refuse VOCABULARY TEXT      opens and encodes; each allocation is refused once
 *
 * TEXTS: for each text 8 bytes for its length, 1 for `special`, and the text. A VOCABULARY that does not end in .json
 * has the members of bpe_vocabulary as test_bpe.py writes them. Exit status 1: a message says what is wrong. */
#include <stdlib.h>

/* Allocations before one is refused (negative: none is), and those that are not freed. */
static long until_refused = -1, not_freed;

static int refused(void) {
    return until_refused-- == 0;
}

static void *test_malloc(size_t size) {
    void *block = refused() ? NULL : malloc(size);
    not_freed += block != NULL;
    return block;
}

static void *test_calloc(size_t count, size_t size) {
    void *block = refused() ? NULL : calloc(count, size);
    not_freed += block != NULL;
    return block;
}

static void *test_realloc(void *old, size_t size) {
    void *block = refused() ? NULL : realloc(old, size);
    not_freed += block != NULL && !old;
    return block;
}

static void test_free(void *block) {
    not_freed -= block != NULL;
    free(block);
}

#define malloc  test_malloc
#define calloc  test_calloc
#define realloc test_realloc
#define free    test_free
#include "bpe_json.h"

/* ---- files */

static char *read_all(FILE *file, size_t *size) {
    size_t capacity = 1 << 16;
    char *bytes = malloc(capacity);
    *size = 0;
    while (bytes) {
        size_t got = fread(bytes + *size, 1, capacity - *size, file);
        if (!got) break;
        *size += got;
        if (*size == capacity) bytes = realloc(bytes, capacity *= 2);
    }
    return bytes;
}

typedef struct cursor {
    const char *at, *end;
} cursor;

static void take(cursor *c, void *to, size_t size) {
    if ((size_t)(c->end - c->at) < size) exit(3);
    if (size) memcpy(to, c->at, size);
    c->at += size;
}

static int64_t take_int(cursor *c) {
    int64_t value;
    take(c, &value, sizeof value);
    return value;
}

static bpe_text take_text(cursor *c) {
    bpe_text text = {.bytes = (size_t)take_int(c)};
    text.at = c->at;
    if ((size_t)(c->end - c->at) < text.bytes) exit(3);
    c->at += text.bytes;
    return text;
}

/* The file's bytes stay with the caller, as those of a GGUF file do; arrays are freed after bpe_open. */
static int open_binary(char *bytes, size_t size, bpe *t, char *why, size_t why_size) {
    cursor c = {bytes, bytes + size};
    bpe_vocabulary v = {.kind = (bpe_kind)take_int(&c)};
    v.bos = (int32_t)take_int(&c);
    v.eos = (int32_t)take_int(&c);
    v.unknown = (int32_t)take_int(&c);
    v.add_space_prefix = take_int(&c) != 0;
    v.add_bos = take_int(&c) != 0;
    v.num_tokens = (size_t)take_int(&c);
    v.num_merges = (size_t)take_int(&c);
    bool has_scores = take_int(&c) != 0, has_types = take_int(&c) != 0;
    v.pre = take_text(&c);
    bpe_text *texts = malloc((v.num_tokens + v.num_merges + 1) * sizeof *texts);
    float *scores = malloc((v.num_tokens + 1) * sizeof *scores);
    int32_t *types = malloc((v.num_tokens + 1) * sizeof *types);
    int failed = !texts || !scores || !types;
    if (failed) snprintf(why, why_size, "no memory");
    for (size_t i = 0; !failed && i < v.num_tokens + v.num_merges; i++) texts[i] = take_text(&c);
    if (!failed && has_scores) take(&c, scores, v.num_tokens * sizeof *scores);
    if (!failed && has_types) take(&c, types, v.num_tokens * sizeof *types);
    v.tokens = texts;
    v.merges = failed ? NULL : texts + v.num_tokens;
    v.scores = has_scores ? scores : NULL;
    v.types = has_types ? types : NULL;
    failed = failed || bpe_open(&v, t, why, why_size);
    free(texts);
    free(scores);
    free(types);
    return failed;
}

/* *bytes: the texts of a binary vocabulary, freed by the caller after the tokenizer. */
static int open_any(const char *path, bpe *t, char **bytes, char *why, size_t why_size) {
    size_t length = strlen(path), size;
    memset(t, 0, sizeof *t);
    *bytes = NULL;
    if (length > 5 && !strcmp(path + length - 5, ".json")) return bpe_open_json(path, t, why, why_size);
    FILE *file = fopen(path, "rb");
    if (!file) exit(3);
    *bytes = read_all(file, &size);
    fclose(file);
    if (*bytes) return open_binary(*bytes, size, t, why, why_size);
    snprintf(why, why_size, "no memory");
    return 1;
}

/* ---- commands */

/* The bytes of tokens, through a buffer that is too small for the longest. */
static void print_decoded(const bpe *t, int32_t id, bool special) {
    char few[4], *all = few;
    size_t size = bpe_decode(t, id, special, few, sizeof few);
    if (size > sizeof few) {
        all = malloc(size);
        if (!all || bpe_decode(t, id, special, all, size) != size || memcmp(all, few, sizeof few)) exit(3);
    }
    for (size_t i = 0; i < size; i++) printf("%02x", (unsigned char)all[i]);
    if (all != few) free(all);
}

/* Text that is marked as a whole has the tokens of one that is, or is not, special as a whole. */
static void check_marks(const bpe *t, const char *text, size_t size, bool special, const int32_t *want, int64_t count) {
    char *marks = malloc(size + 1);
    int32_t *ids = malloc(((size_t)count + 1) * sizeof *ids);
    if (!marks || !ids) exit(3);
    memset(marks, special, size);
    if (bpe_encode_marked(t, text, marks, size, ids, count) != count) exit(3);
    if (memcmp(ids, want, (size_t)count * sizeof *ids)) exit(3);
    free(marks);
    free(ids);
}

static void encode_text(const bpe *t, const char *text, size_t size, bool special) {
    int64_t count = bpe_encode(t, text, size, special, NULL, 0), half = size < 10000 ? count / 2 : count;
    int32_t *ids = malloc(((size_t)count + 1) * sizeof *ids);
    if (count < 0 || !ids) exit(3);
    ids[half] = -7;
    if (bpe_encode(t, text, size, special, ids, half) != count || ids[half] != -7) exit(3);
    if (half < count && bpe_encode(t, text, size, special, ids, count) != count) exit(3);
    if (size < 10000) check_marks(t, text, size, special, ids, count);
    for (int64_t i = 0; i < count; i++) printf("%s%d", i ? " " : "", (int)ids[i]);
    putchar('|');
    for (int64_t i = 0; i < count; i++) print_decoded(t, ids[i], special);
    putchar('\n');
    free(ids);
}

static void print_words(const bpe__rule *rule, const char *text, size_t size) {
    bpe__scanner s = {.at = text, .end = text + size, .part_end = text};
    while (s.at < s.end) {
        const char *end = bpe__word_end(&s, rule);
        printf("%ld ", (long)(end - s.at));
        s.at = end;
    }
    putchar('\n');
}

/* Encodes the texts, or divides them into words if there is a rule. */
static int encode(const bpe *t, const bpe__rule *words) {
    size_t size;
    char *texts = read_all(stdin, &size);
    cursor c = {texts, texts + size};
    while (texts && c.at < c.end) {
        char special;
        bpe_text text = {.bytes = (size_t)take_int(&c)};
        take(&c, &special, 1);
        /* In a separate block: AddressSanitizer sees a read after its end. */
        char *copy = malloc(text.bytes ? text.bytes : 1);
        if (!copy) exit(3);
        take(&c, copy, text.bytes);
        if (words) print_words(words, copy, text.bytes);
        if (!words) encode_text(t, copy, text.bytes, special != 0);
        free(copy);
    }
    free(texts);
    return 0;
}

/* Opens a copy and uses it. Returns 1 if it is refused; a refusal needs a message. */
static int try_json(const char *json, size_t size) {
    static const char text[] = "ab <s> 12  don't\n\xF0\x9F\x98\x80\xFF";
    char why[200] = "", out[16], *copy = malloc(size + 1);
    int32_t ids[64];
    bpe t;
    bpe__fault fault = {NULL, why, sizeof why};
    if (!copy) exit(3);
    memcpy(copy, json, size);
    char *fits = realloc(copy, size ? size : 1); /* no byte more: AddressSanitizer sees a read after the end */
    if (bpe__open_json_text(fault, fits, size, &t)) {
        if (!*why) exit(4);
        return 1;
    }
    int64_t count = bpe_encode(&t, text, sizeof text - 1, true, ids, 64);
    for (int64_t i = 0; i < count && i < 64; i++) (void)bpe_decode(&t, ids[i], true, out, sizeof out);
    (void)bpe_find(&t, "ab");
    bpe_close(&t);
    return 0;
}

static int damage(const char *path, uint64_t seed, long count) {
    size_t size;
    FILE *file = fopen(path, "rb");
    char *json = file ? read_all(file, &size) : NULL;
    if (!json || !size) return 3;
    fclose(file);
    size_t truncated = 0, changed = 0;
    for (size_t n = 0; n < size; n++) truncated += (size_t)try_json(json, n);
    for (long i = 0; i < count; i++) {
        char old[4];
        size_t places[4];
        int places_used = 1 + (int)(i % 4);
        for (int k = 0; k < places_used; k++) {
            static const char often[] = "{}[]\",:\\0u";
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            places[k] = (size_t)(seed >> 33) % size;
            old[k] = json[places[k]];
            json[places[k]] = seed & 1 << 16 ? often[(seed >> 20) % 10] : (char)(seed >> 24);
        }
        changed += (size_t)try_json(json, size);
        for (int k = places_used; k--;) json[places[k]] = old[k];
    }
    printf("%zu truncations, %zu refused; %ld changes, %zu refused\n", size, truncated, count, changed);
    free(json);
    return 0;
}

/* Returns how many allocations were refused before all went well. Exits 4 after a leak or a wrong answer. */
static int refuse(const char *path, const char *text) {
    for (long n = 0;; n++) {
        char why[200] = "", *bytes;
        bpe t;
        until_refused = n;
        int failed = open_any(path, &t, &bytes, why, sizeof why);
        if (failed && (!*why || t.tokens || t.owned)) return 4;
        int64_t count = failed ? -1 : bpe_encode(&t, text, strlen(text), true, NULL, 0);
        bool all = until_refused >= 0;
        until_refused = -1;
        bpe_close(&t);
        free(bytes);
        if (not_freed || (count < 0) == all) return 4;
        if (all) {
            printf("%ld\n", n);
            return 0;
        }
    }
}

int main(int argc, char **argv) {
    char why[256], *bytes;
    bpe t;
    if (argc == 5 && !strcmp(argv[1], "damage")) return damage(argv[2], strtoull(argv[3], NULL, 10), atol(argv[4]));
    if (argc == 4 && !strcmp(argv[1], "refuse")) return refuse(argv[2], argv[3]);
    if (argc < 3) return 2;
    bpe_text name = {argv[2], strlen(argv[2])};
    if (!strcmp(argv[1], "words")) return bpe__find_rule(name) ? encode(NULL, bpe__find_rule(name)) : 1;
    int status = open_any(argv[2], &t, &bytes, why, sizeof why);
    if (status) fprintf(stderr, "%s\n", why);
    if (!status && !strcmp(argv[1], "encode")) status = encode(&t, NULL);
    if (!status && argc == 4 && !strcmp(argv[1], "find")) printf("%d\n", (int)bpe_find(&t, argv[3]));
    bpe_close(&t);
    free(bytes);
    return status;
}
