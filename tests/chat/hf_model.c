/* Opens a directory with hf_model.h and prints how many settings, tensors and tokens it has, and a sum of their bytes;
 * status 1 and a message if it is refused. With a number as second argument that allocation fails. */
#include <stdlib.h>

static long refused = -1, allocations;

static void *test_malloc(size_t size) {
    return allocations++ == refused ? NULL : malloc(size);
}

static void *test_calloc(size_t count, size_t size) {
    return allocations++ == refused ? NULL : calloc(count, size);
}

static void *test_realloc(void *old, size_t size) {
    return allocations++ == refused ? NULL : realloc(old, size);
}

#define malloc  test_malloc
#define calloc  test_calloc
#define realloc test_realloc
#include "hf_model.h"
#undef malloc
#undef calloc
#undef realloc

int main(int argc, char **argv) {
    hf_model m;
    char why[256] = "";
    uint64_t sum = 0;
    if (argc > 2) refused = strtol(argv[2], NULL, 10);
    if (argc < 2 || !hf_is_model(argv[1])) return fprintf(stderr, "no directory of a model\n"), 1;
    if (hf_open(argv[1], &m, why, sizeof why)) {
        hf_model none;
        memset(&none, 0, sizeof none);
        if (!*why || strchr(why, '\n') || memcmp(&m, &none, sizeof m)) return fprintf(stderr, "no clean refusal\n"), 2;
        return fprintf(stderr, "%s\n", why), 1;
    }
    for (uint64_t i = 0; i < m.file.num_tensors; i++)
        for (size_t k = 0; k < m.file.tensors[i].num_bytes; k++)
            sum = sum * 31 + ((const unsigned char *)m.file.tensors[i].data)[k];
    for (uint64_t i = 0; i < m.file.num_values; i++) {
        gguf_text text;
        if (m.file.values[i].type == GGUF_STRING && gguf_strings(&m.file.values[i], &text))
            for (size_t k = 0; k < text.bytes; k++) sum = sum * 31 + (unsigned char)text.at[k];
    }
    printf("%d settings, %d tensors, %d tokens, sum %llu, %ld allocations\n", (int)m.file.num_values,
           (int)m.file.num_tensors, (int)m.tokenizer.num_tokens, (unsigned long long)sum, allocations);
    hf_close(&m);
    return 0;
}
