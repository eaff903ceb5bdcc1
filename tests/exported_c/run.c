/* run.c: runs a model that `ind export` wrote. Compiled with -DMODEL=name -DHEADER="name.h" and -DSIZED=their number if
 * it has sizes.
 *
 *     run WEIGHTS|- FOLDER RUNS [SIZE...]...      all sizes, perhaps several times: launches in memory of their own
 *
 * Binding i is read from FOLDER/i.in if there is such a file, and written to FOLDER/i.out. Prints the failing call's
 * sentence, status 1. */
#include HEADER
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOINED(a, b) a##_##b
#define JOIN(a, b)   JOINED(a, b)
#define CALL(name)   JOIN(MODEL, name)

enum { NUM = CALL(num_bindings) };

#ifdef SIZED
#define SIZES (const CALL(sizes) *)sizes,
#else
#define SIZES
#endif

static int fail(MODEL *m, const char *what) {
    fprintf(stderr, "%s: %s\n", what, CALL(error)(m));
    return 1;
}

static FILE *open_file(const char *folder, int i, const char *end, const char *how) {
    char path[1000];
    snprintf(path, sizeof path, "%s/%d.%s", folder, i, end);
    return fopen(path, how);
}

static int read_binding(MODEL *m, const char *folder, int i, void *to, char *memory, int64_t bytes) {
    FILE *f = open_file(folder, i, "in", "rb");
    if (!f) return 0;
    const size_t read = fread(memory, 1, (size_t)bytes, f);
    fclose(f);
    memset(memory + read, 0, (size_t)bytes - read);
    return CALL(upload)(m, to, memory, (size_t)bytes) ? fail(m, "upload") : 0;
}

static int write_binding(MODEL *m, const char *folder, int i, const void *from, char *memory, int64_t bytes) {
    FILE *f = open_file(folder, i, "out", "wb");
    if (!f || CALL(download)(m, memory, from, (size_t)bytes)) return fail(m, "download");
    const int short_of = fwrite(memory, 1, (size_t)bytes, f) != (size_t)bytes;
    return fclose(f) || short_of;
}

static int use(MODEL *m, const char *folder, int runs, int64_t *sizes) {
    void *pointers[NUM] = {0};
    char *memory[NUM] = {0};
    int64_t bytes[NUM];
    (void)sizes;
    for (int i = 0; i < NUM; i++) {
        if (CALL(bytes)(m, i, SIZES & bytes[i]) || CALL(alloc)(m, (size_t)bytes[i], &pointers[i]))
            return fail(m, "bytes");
        memory[i] = (char *)calloc((size_t)bytes[i] + 1, 1);
    }
    for (int r = 0; r < runs; r++) {
        for (int i = 0; i < NUM; i++)
            if (read_binding(m, folder, i, pointers[i], memory[i], bytes[i])) return 1;
        void *given[NUM];
        for (int i = 0; i < NUM; i++) {
            FILE *f = open_file(folder, i, "constant", "rb"); /* the model has this constant */
            given[i] = f ? NULL : pointers[i];
            if (f) fclose(f);
        }
        if (CALL(launch)(m, SIZES given, NULL)) return fail(m, "launch");
        if (CALL(check)(m)) return fail(m, "check");
    }
    for (int i = 0; i < NUM; i++) {
        if (write_binding(m, folder, i, pointers[i], memory[i], bytes[i])) return 1;
        CALL(free)(m, pointers[i]);
        free(memory[i]);
    }
    return 0;
}

int main(int argc, char **argv) {
    int64_t sizes[64] = {0};
    char why[500];
    MODEL *m;
    if (argc < 4) return 2;
    for (int i = 4; i < argc && i < 68; i++) sizes[i - 4] = atoll(argv[i]);
    if (CALL(open)(&m, *argv[1] == '-' ? NULL : argv[1], NULL, why, sizeof why))
        return fprintf(stderr, "open: %s\n", why), 1;
    int status = 0, at = 0;
    do {
        status = use(m, argv[2], atoi(argv[3]), sizes + at);
#ifdef SIZED
        at += SIZED;
#endif
    } while (!status && at && at < argc - 4);
    CALL(close)(m);
    return status;
}
