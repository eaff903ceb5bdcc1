/* convert.c FILE FORMAT FOLDER [N]: converts the matrices of a GGUF file, prints "name format row_bytes" of each tensor,
 * and writes its bytes to FOLDER/name. With N allocation N of gguf_convert.h fails: status 1 and the message, and the
 * tensors must be those of the file. */
#include <stdlib.h>

static long refused = -1, allocations;

static void *test_malloc(size_t size) {
    return allocations++ == refused ? NULL : malloc(size);
}

#include "gguf.h"
#include "inductor.h"
#define malloc test_malloc
#include "gguf_convert.h"
#undef malloc

static int write_tensors(const gguf *file, const char *folder) {
    for (uint64_t i = 0; i < file->num_tensors; i++) {
        const gguf_tensor *t = &file->tensors[i];
        char path[512];
        snprintf(path, sizeof path, "%s/%.*s", folder, (int)t->name.bytes, t->name.at);
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(t->data, 1, t->num_bytes, f) != t->num_bytes || fclose(f)) return 1;
        printf("%.*s %s %lld\n", (int)t->name.bytes, t->name.at, t->format->name, (long long)t->row_bytes);
    }
    return 0;
}

int main(int argc, char **argv) {
    gguf file;
    gguf_conversion converted;
    char why[300] = "";
    if (argc < 4 || gguf_open(argv[1], &file, why, sizeof why)) return 2;
    const size_t bytes = (size_t)file.num_tensors * sizeof *file.tensors;
    gguf_tensor *before = (gguf_tensor *)malloc(bytes + 1);
    if (!before) return 2;
    memcpy(before, file.tensors, bytes);
    if (argc > 4) refused = atol(argv[4]);
    int status = gguf_convert(&file, argv[2], &converted, why, sizeof why);
    if (status && (!*why || strchr(why, '\n') || converted.data || memcmp(before, file.tensors, bytes))) status = 3;
    if (status)
        fprintf(stderr, "%s\n", why);
    else
        status = write_tensors(&file, argv[3]);
    gguf_end_conversion(&converted);
    gguf_close(&file);
    free(before);
    return status;
}
