/* Prints what the tool `ind emit FILE --stage schedule` and `--stage cuda` do, from a build with other compiler flags
 * and, with a number as second argument, with a memory allocator whose addresses and contents differ with it. */
#include "inductor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each block lies a little further on than malloc has it, and is full of junk where it may be. */
static void *alloc(size_t bytes, void *user) {
    const size_t shift = 16 * (size_t)(1 + *(int *)user);
    char *p = malloc(bytes + shift);
    return p ? memset(p, *(int *)user, bytes + shift), p + shift : NULL;
}

static void release(void *p, void *user) {
    if (p) free((char *)p - 16 * (size_t)(1 + *(int *)user));
}

static char text[1 << 20];

int main(int argc, char **argv) {
    int seed = argc > 2 ? atoi(argv[2]) : 0;
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!f || !fread(text, 1, sizeof text - 1, f)) return 2;
    fclose(f);
    ind_context_desc desc = {.allocator = {alloc, release, &seed}};
    ind_compile_desc compile = {.emit_only = true};
    ind_context *c;
    ind_module *m;
    if (ind_context_create(&desc, &c)) return 3;
    ind_graph *g = ind_graph_parse(c, text, NULL);
    if (!g || ind_compile(g, &compile, &m)) return fputs(ind_error(c), stderr), 1;
    fputs(ind_module_text(m, IND_STAGE_SCHEDULE), stdout);
    fputs(ind_module_text(m, IND_STAGE_CUDA), stdout);
    ind_context_destroy(c);
    return 0;
}
