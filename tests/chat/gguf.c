/* Prints what gguf.h reads from a file, as lines of JSON; status 1 and a message if it refuses the file. With a number
 * as second argument that allocation fails. */
#define GGUF__MMAP 0 /* the file is one block of memory, which AddressSanitizer guards */
#include <inttypes.h>
#include <stdlib.h>

static long refused = -1, allocations;

static void *test_malloc(size_t size) {
    return allocations++ == refused ? NULL : malloc(size);
}

static void *test_calloc(size_t count, size_t size) {
    return allocations++ == refused ? NULL : calloc(count, size);
}

#define malloc test_malloc
#define calloc test_calloc
#include "gguf.h"
#undef malloc
#undef calloc

static void print_text(gguf_text t) {
    putchar('"');
    for (size_t i = 0; i < t.bytes; i++) printf("%02x", (unsigned char)t.at[i]);
    putchar('"');
}

static void print_element(const gguf_value *v, uint64_t i) {
    int64_t n;
    double x;
    if (gguf__integer_at(v, i, &n))
        printf("%" PRId64, n);
    else if (gguf__float_at(v, i, &x))
        printf("%.17g", x);
    else
        printf("%d", v->at[i]);
}

static int print_value(const gguf_value *v) {
    gguf_text *texts = v->type == GGUF_STRING ? (gguf_text *)malloc((size_t)(v->count + 1) * sizeof *texts) : NULL;
    if (v->type == GGUF_STRING && (!texts || !gguf_strings(v, texts))) return 1;
    printf("{\"key\": ");
    print_text(v->key);
    printf(", \"type\": %d, \"array\": %d, \"values\": [", v->type, v->is_array);
    for (uint64_t i = 0; i < v->count; i++) {
        if (i) printf(", ");
        if (texts)
            print_text(texts[i]);
        else
            print_element(v, i);
    }
    puts("]}");
    free(texts);
    return 0;
}

static void print_tensor(const gguf_tensor *t) {
    uint64_t sum = 0;
    for (size_t i = 0; i < t->num_bytes; i++) sum = sum * 31 + ((const unsigned char *)t->data)[i];
    printf("{\"tensor\": ");
    print_text(t->name);
    printf(", \"format\": \"%s\", \"shape\": [", t->format->name);
    for (int d = 0; d < t->rank; d++) printf("%s%" PRId64, d ? ", " : "", t->shape[d]);
    printf("], \"row\": %" PRId64 ", \"bytes\": %zu, \"sum\": %" PRIu64 ", \"aligned\": %d}\n", t->row_bytes,
           t->num_bytes, sum, (uintptr_t)t->data % 8 == 0);
}

/* Opens a copy with this content. Returns -1 if the answer is wrong, 1 if it was refused, else 0. */
static int open_copy(const char *path, const unsigned char *data, size_t bytes) {
    gguf file;
    char why[200] = "";
    FILE *f = fopen(path, "wb");
    const bool written = f && fwrite(data, 1, bytes, f) == bytes;
    if (f) fclose(f);
    if (!written) return -1;
    const int failed = gguf_open(path, &file, why, sizeof why);
    if (failed) return *why && !strchr(why, '\n') && !file.file && !file.values && !file.tensors ? 1 : -1;
    for (uint64_t i = 0; i < file.num_tensors; i++) {
        volatile unsigned char last = ((const unsigned char *)file.tensors[i].data)[file.tensors[i].num_bytes - 1];
        (void)last;
    }
    gguf_close(&file);
    return 0;
}

static int damage(const char *from, const char *to, unsigned seed, long count) {
    unsigned char data[4096], copy[4096];
    FILE *f = fopen(from, "rb");
    const size_t bytes = f ? fread(data, 1, sizeof data, f) : 0;
    long refusals = 0;
    if (f) fclose(f);
    srand(seed);
    for (size_t length = 0; length < bytes; length++) {
        if (open_copy(to, data, length) != 1) return printf("truncated to %zu bytes\n", length), 1;
        refusals++;
    }
    for (long i = 0; i < count; i++) {
        static const unsigned char values[] = {0, 1, 127, 128, 255};
        memcpy(copy, data, bytes);
        for (int k = 1 << rand() % 4; k > 0; k--)
            copy[(size_t)rand() % bytes] = rand() % 2 ? values[rand() % 5] : (unsigned char)rand();
        const int found = open_copy(to, copy, bytes);
        if (found < 0) return printf("copy %ld\n", i), 1;
        refusals += found;
    }
    printf("%ld refused\n", refusals);
    return bytes ? 0 : 1;
}

int main(int argc, char **argv) {
    gguf file;
    char why[200];
    if (argc == 6 && !strcmp(argv[1], "damage"))
        return damage(argv[2], argv[3], (unsigned)atoi(argv[4]), atol(argv[5]));
    if (argc < 2) return 2;
    if (argc > 2) refused = strtol(argv[2], NULL, 10);
    if (gguf_open(argv[1], &file, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return file.file || file.values || file.tensors ? 3 : 1;
    }
    int failed = 0;
    for (uint64_t i = 0; i < file.num_values; i++) failed |= print_value(&file.values[i]);
    for (uint64_t i = 0; i < file.num_tensors; i++) {
        const gguf_tensor *t = &file.tensors[i];
        char name[256] = "";
        print_tensor(t);
        memcpy(name, t->name.at, t->name.bytes < 255 ? t->name.bytes : 255);
        failed |= t->name.bytes < 255 && strlen(name) == t->name.bytes && gguf_find(&file, name) != t;
    }
    failed |= gguf_find(&file, "no such tensor") != NULL;
    fprintf(stderr, "%ld allocations\n", allocations);
    gguf_close(&file);
    return failed ? 4 : 0;
}
