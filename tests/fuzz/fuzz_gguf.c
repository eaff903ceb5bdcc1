/* fuzz_gguf: a model file that is truncated, damaged or hostile is refused with one line, or can be used.
 *
 *     make fuzz-gguf SECONDS=600                             libFuzzer, beginning with small models
 *     build/tests/fuzz/fuzz_gguf FILE...                     the same check for given files
 *     build/tests/fuzz/fuzz_gguf --damage SEED COUNT FILE    and for copies of a file with changed bytes
 *
 * An input goes the way of examples/chat.c: metadata and tensors, tokenizer, chat template, configuration, graph. The
 * data of each tensor is read to its last byte. A text is encoded, and the tokens decoded. */
#define _GNU_SOURCE
#define GGUF__MMAP 0 /* memory of the file's size: AddressSanitizer finds what is read beyond its end */
#include "bpe_gguf.h"
#include "chat_template.h"
#include "llama_graph.h"

#include <sys/mman.h>
#include <unistd.h>

static struct { long opened, tokenizers, configurations, graphs; } count; /* what was not refused */

/* What went wrong is printed before the trap, so that libFuzzer keeps the input. */
static void require(bool holds, const char *what, const char *detail) {
    if (holds) return;
    fprintf(stderr, "fuzz_gguf: %s: %s\n", what, detail);
    __builtin_trap();
}

/* A refusal has a reason of one line. */
static void check_reason(const char *why) {
    require(*why && !strchr(why, '\n') && !strchr(why, '\033'), "the reason is not one line of text", why);
}

static void read_values(const gguf *file) {
    for (uint64_t i = 0; i < file->num_values; i++) {
        const gguf_value *v = &file->values[i];
        char key[64];
        int64_t integer;
        double number;
        gguf_text text;
        bool flag;
        if (v->key.bytes >= sizeof key) continue;
        memcpy(key, v->key.at, v->key.bytes);
        key[v->key.bytes] = 0;
        gguf_integer(file, key, &integer);
        gguf_number(file, key, &number);
        gguf_bool(file, key, &flag);
        if (gguf_string(file, key, &text)) require(text.bytes <= file->file_bytes, "a text longer than the file", key);
    }
}

static void read_tensors(const gguf *file) {
    volatile unsigned char sum = 0;
    for (uint64_t i = 0; i < file->num_tensors; i++) {
        const gguf_tensor *t = &file->tensors[i];
        require(t->num_bytes > 0 && t->rank >= 1 && t->rank <= GGUF_MAX_RANK, "a tensor without elements", "");
        sum = (unsigned char)(sum + ((const unsigned char *)t->data)[0]);
        sum = (unsigned char)(sum + ((const unsigned char *)t->data)[t->num_bytes - 1]);
    }
}

static void check_tokenizer(const bpe *t) {
    static const char text[] = "A b\xc3\xa9  12345 <|im_end|>\n\xff\xe8\xaa\x9e";
    int32_t ids[4 * sizeof text];
    char bytes[64];
    const int64_t num = bpe_encode(t, text, sizeof text - 1, true, ids, (int64_t)(sizeof ids / sizeof *ids));
    require(num >= 0 && num <= (int64_t)(sizeof ids / sizeof *ids), "the number of tokens is wrong", text);
    for (int64_t i = 0; i < num; i++) {
        require(ids[i] >= 0 && ids[i] < t->num_tokens, "a token is outside the vocabulary", text);
        bpe_decode(t, ids[i], true, bytes, sizeof bytes);
    }
}

static int write_nothing(void *user, const char *text, size_t bytes, bool control) {
    *(size_t *)user += bytes + control;
    return text == NULL;
}

static void check_template(const gguf *file) {
    gguf_text text;
    char system[256];
    size_t bytes = 0;
    const chat_writer writer = {write_nothing, &bytes};
    if (!gguf_string(file, "tokenizer.chat_template", &text)) return;
    const chat_template *t = chat_template_find(text.at, text.bytes);
    if (!t) return;
    chat_template_system(text.at, text.bytes, system, sizeof system);
    require(!chat_template_write(t, system, false, "Hello", &writer) && bytes, "a template writes nothing", t->stop);
}

/* A graph of many layers takes longer and shows no more. */
static void check_graph(const gguf *file, const llama_config *config) {
    char why[512] = "";
    ind_context *context;
    if (config->layers > 3 || ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST}, &context)) return;
    ind_graph *g = ind_graph_create(context, "fuzz");
    const llama_graph_desc desc = {.file = file, .config = config, .dtype = IND_F32};
    require(g != NULL, "no graph", ind_error(context));
    if (llama_build(g, &desc, why, sizeof why))
        check_reason(why);
    else
        count.graphs++;
    ind_graph_destroy(g);
    ind_context_destroy(context);
}

static void check_model(const gguf *file) {
    char why[512] = "";
    bpe tokenizer = {0};
    llama_config config;
    read_values(file);
    read_tensors(file);
    check_template(file);
    if (bpe_gguf_open(file, &tokenizer, why, sizeof why))
        check_reason(why);
    else
        count.tokenizers++, check_tokenizer(&tokenizer);
    bpe_close(&tokenizer);
    if (llama_read_config(file, 0, &config, why, sizeof why))
        check_reason(why);
    else
        count.configurations++, check_graph(file, &config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64], why[512] = "";
    gguf file;
    const int f = memfd_create("fuzz.gguf", 0);
    if (f < 0 || write(f, data, size) != (ssize_t)size) exit(2);
    snprintf(path, sizeof path, "/proc/self/fd/%d", f);
    if (gguf_open(path, &file, why, sizeof why)) {
        check_reason(why);
        require(!file.file && !file.values && !file.tensors, "a refused file is not zeroed", why);
    } else {
        count.opened++;
        check_model(&file);
    }
    gguf_close(&file);
    close(f);
    return 0;
}

#ifndef FUZZ_GGUF_LIBFUZZER
static int print_counts(long inputs) {
    printf("%ld inputs: %ld opened, %ld tokenizers, %ld configurations, %ld graphs\n", inputs, count.opened,
           count.tokenizers, count.configurations, count.graphs);
    return 0;
}

static size_t read_file(const char *path, unsigned char **out) {
    FILE *f = fopen(path, "rb");
    const size_t room = 1 << 22;
    *out = malloc(room);
    const size_t bytes = f && *out ? fread(*out, 1, room, f) : 0;
    if (f) fclose(f);
    return bytes;
}

/* Changes up to eight bytes of each copy, most of them in the part before the data, or cuts its end off. */
static int damage(unsigned seed, long copies, const char *path) {
    static const unsigned char values[] = {0, 1, 127, 128, 255};
    unsigned char *data;
    const size_t bytes = read_file(path, &data), head = bytes < 12000 ? bytes : 12000;
    unsigned char *copy = malloc(bytes + 1);
    if (!bytes || !copy) return fprintf(stderr, "%s: cannot be read\n", path), 1;
    srand(seed);
    for (long i = 0; i < copies; i++) {
        memcpy(copy, data, bytes);
        for (int k = 1 << rand() % 4; k > 0; k--)
            copy[(size_t)rand() % (k % 4 ? head : bytes)] = rand() % 2 ? values[rand() % 5] : (unsigned char)rand();
        LLVMFuzzerTestOneInput(copy, i % 8 ? bytes : (size_t)rand() % bytes);
    }
    free(data), free(copy);
    return print_counts(copies);
}

int main(int argc, char **argv) {
    if (argc == 5 && !strcmp(argv[1], "--damage")) return damage((unsigned)atoi(argv[2]), atol(argv[3]), argv[4]);
    for (int i = 1; i < argc; i++) {
        unsigned char *data;
        const size_t bytes = read_file(argv[i], &data);
        LLVMFuzzerTestOneInput(data, bytes);
        free(data);
    }
    return print_counts(argc - 1);
}
#endif
