/* fuzz_text: the text form's parser, and what comes behind it, under damaged texts.
 *
 *     fuzz_text SECONDS SEED FILE...
 *
 * Takes valid graphs from the files (separated by lines of ---), damages them at random, and parses. A text is refused with a
 * status and a message, or is a graph: then printing and parsing it again must give the same text, and it must compile or be
 * refused. Built with the sanitizers. The text at work lies in fuzz_text.last in the working folder, should one crash. */
#include "inductor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_TEXTS 4096
#define MAX_BYTES 16384

static char *texts[MAX_TEXTS];
static int num_texts;
static uint64_t seed;

static uint32_t rnd(uint32_t n) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return n ? (uint32_t)(seed >> 33) % n : 0;
}

static const char *const words[] = {
    "graph", "size", "in", "input", "const", "output", "multiple_of", "hint", "{", "}", "(", ")", "[", "]", ",", ":", "=", "//",
    "%", "*", "+", "-", "#", "\n", "\"", "\\", "true", "false", "none", "f32", "bf16", "bool", "i64", "f64", "0", "1", "-1", "2",
    "9223372036854775807", "-9223372036854775808", "99999999999999999999", "4294967296", "1e308", "1e-400", "nan", "inf", "0x10",
    "dim", "keepdim", "B", "S", "Min(", "Max(", "Where(", "ModularIndexing(", "CeilDiv(", "and", "not", "<=", "==", "\0", "\xff",
    "\xc3\xa9", "add", "view", "cat", "slice", "max", "layer_norm", "scalar", "custom", "expand", "x1", "x2", "((((((((((((((((",
    "[[[[[[[[[[[[[[[[", "- - - - - - - -", "approximate=\"tanh\"", "dtype=", "function f(x: f32) -> f32 = \"x\"", "f(", "extern(\"e\"", "workspace=", "mutates=[0]",
    "y, z", "()", "[]", "pattern p {", "} => {", "input x", ": any[.., K]", ": number", "optional", "shared a", "guard K % 4 == 0", "off \"\"", "|",
};

/* ---- damage: each edits text[0, n) in place, at most MAX_BYTES, and returns the new length */

static size_t put(char *text, size_t n, size_t at, size_t gone, const char *with, size_t length) {
    if (n - gone + length > MAX_BYTES) return n;
    memmove(text + at + length, text + at + gone, n - at - gone);
    memmove(text + at, with, length);
    return n - gone + length;
}

static size_t change_byte(char *text, size_t n) {
    if (n) text[rnd((uint32_t)n)] = (char)rnd(256);
    return n;
}

static size_t cut(char *text, size_t n) {
    size_t at = rnd((uint32_t)n + 1), gone = rnd(40);
    return put(text, n, at, gone < n - at ? gone : n - at, "", 0);
}

static size_t truncate(char *text, size_t n) {
    (void)text;
    return rnd((uint32_t)n + 1);
}

static size_t insert_word(char *text, size_t n) {
    const char *word = words[rnd(sizeof words / sizeof *words)];
    return put(text, n, rnd((uint32_t)n + 1), 0, word, *word ? strlen(word) : 1);
}

/* Replaces the word or number that begins at or after a random place by one of the list. */
static size_t replace_word(char *text, size_t n) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.";
    size_t at = rnd((uint32_t)n + 1), end;
    while (at < n && !(text[at] && strchr(letters, text[at]))) at++;
    for (end = at; end < n && text[end] && strchr(letters, text[end]);) end++;
    const char *word = words[rnd(sizeof words / sizeof *words)];
    return put(text, n, at, end - at, word, strlen(word));
}

static size_t copy_span(char *text, size_t n) {
    char span[256];
    size_t from = rnd((uint32_t)n + 1), length = rnd(sizeof span);
    if (length > n - from) length = n - from;
    memcpy(span, text + from, length);
    return put(text, n, rnd((uint32_t)n + 1), 0, span, length);
}

/* A line of another text. */
static size_t splice_line(char *text, size_t n) {
    const char *other = texts[rnd((uint32_t)num_texts)];
    size_t length = strlen(other), from = rnd((uint32_t)length + 1), at = rnd((uint32_t)n + 1);
    while (from < length && other[from] != '\n') from++;
    const char *end = from < length ? strchr(other + from + 1, '\n') : NULL;
    while (at < n && text[at] != '\n') at++;
    return end ? put(text, n, at, 0, other + from, (size_t)(end - other) - from) : n;
}

static size_t (*const damages[])(char *, size_t) = {change_byte, cut,       truncate,     insert_word,
                                                    replace_word, copy_span, splice_line, replace_word};

/* ---- one text */

static int complain(const char *what, const char *text) {
    printf("%s\n%s\n", what, text);
    return 1;
}

static int refused(ind_context *ctx, const char *text) {
    if (!ind_error_status(ctx) || !*ind_error(ctx)) return complain("refused without a reason", text);
    if (!memchr(ind_error(ctx), 0, 4096)) return complain("a message without an end", text);
    return 0;
}

static int compile(ind_context *ctx, ind_graph *g, const char *text) {
    ind_module *m;
    bool emit = rnd(2);
    ind_compile_desc desc = {.device = emit ? IND_DEVICE_CUDA : IND_DEVICE_HOST, .emit_only = emit};
    if (ind_compile(g, &desc, &m)) {
        if (m) return complain("a module from a failed compile", text);
        if (ind_error_status(ctx) == IND_ERROR_VERIFY) return complain(ind_error(ctx), text);
        return refused(ctx, text);
    }
    if (!ind_module_text(m, emit ? IND_STAGE_CUDA : IND_STAGE_SCHEDULE)) return complain(ind_error(ctx), text);
    ind_module_destroy(m);
    return 0;
}

static int check(const char *text, long *graphs) {
    ind_context *ctx;
    int failed = 0;
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST, .verify = 1}, &ctx)) return complain("no memory", text);
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    if (!g) failed = refused(ctx, text);
    const char *first = g ? ind_graph_text(g) : NULL;
    if (g) {
        ++*graphs;
        ind_graph *again = first ? ind_graph_parse(ctx, first, NULL) : NULL;
        const char *second = again ? ind_graph_text(again) : NULL;
        if (!second) failed = complain(ind_error(ctx), first ? first : text);
        else if (strcmp(first, second)) failed = complain("printed, parsed and printed again: another text", text);
        ind_graph_destroy(again);
        if (!failed) failed = compile(ctx, g, text);
    }
    ind_context_destroy(ctx);
    return failed;
}

static void remember(const char *text) {
    FILE *f = fopen("fuzz_text.last", "wb");
    if (!f) return;
    fwrite(text, 1, strlen(text), f);
    fclose(f);
}

static int one(long *graphs) {
    static char text[MAX_BYTES + 1];
    const char *from = texts[rnd((uint32_t)num_texts)];
    size_t n = strlen(from);
    if (n > MAX_BYTES) n = MAX_BYTES;
    memcpy(text, from, n);
    for (uint32_t k = 1 + rnd(2) * rnd(4); k; k--) n = damages[rnd(sizeof damages / sizeof *damages)](text, n);
    text[n] = 0;
    char *exact = malloc(strlen(text) + 1); /* so that reading past the end is seen */
    if (!exact) return 1;
    memcpy(exact, text, strlen(text) + 1);
    remember(exact);
    int failed = check(exact, graphs);
    free(exact);
    return failed;
}

/* ---- texts */

static void add_text(const char *begin, const char *end) {
    if (num_texts == MAX_TEXTS || begin == end) return;
    char *copy = malloc((size_t)(end - begin) + 1);
    if (!copy) return;
    memcpy(copy, begin, (size_t)(end - begin));
    copy[end - begin] = 0;
    texts[num_texts++] = copy;
}

static void add_file(const char *path) {
    static char all[1 << 22];
    FILE *f = fopen(path, "rb");
    if (!f) return;
    all[fread(all, 1, sizeof all - 1, f)] = 0;
    fclose(f);
    const char *begin = all;
    for (const char *end; (end = strstr(begin, "---\n")); begin = end + 4) add_text(begin, end);
    add_text(begin, begin + strlen(begin));
}

int main(int argc, char **argv) {
    if (argc < 4) return puts("usage: fuzz_text SECONDS SEED FILE..."), 2;
    long count = 0, graphs = 0;
    int failed = 0;
    seed = strtoull(argv[2], NULL, 10);
    for (int i = 3; i < argc; i++) add_file(argv[i]);
    if (!num_texts) return puts("no texts"), 2;
    time_t end = time(NULL) + strtol(argv[1], NULL, 10);
    for (; !failed && time(NULL) < end; count++) failed = one(&graphs);
    for (int i = 0; i < num_texts; i++) free(texts[i]);
    if (!failed) {
        remove("fuzz_text.last");
        printf("%ld texts, %ld of them graphs\n", count, graphs);
    }
    return failed;
}
