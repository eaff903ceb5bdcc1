/* cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I../.. one_file.c -lm -lpthread -ldl
   The implementation in the program's only file, beside names that anyone may have. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"

#include <stdio.h>

static int take(int sum) {
    return sum + 1;
}

int main(void) {
    ind_context *ctx;
    ind_context_desc desc = {.device = IND_DEVICE_HOST};
    if (ind_context_create(&desc, &ctx)) return 1;
    ind_graph *g = ind_graph_parse(ctx, "graph g {\n  input x : f32[4]\n  y = exp(x)\n  output y\n}\n", NULL);
    ind_module *m;
    if (ind_compile(g, NULL, &m)) return fprintf(stderr, "%s\n", ind_error(ctx)), 1;
    float x[4] = {0, 0, 0, 0}, y[4];
    ind_binding io[] = {{"x", x, sizeof x}, {"y", y, sizeof y}};
    if (ind_run(m, &(ind_run_desc){.bindings = io, .num_bindings = 2, .memory = IND_MEMORY_HOST})) return 1;
    ind_context_destroy(ctx);
    return take((int)y[0]) != 2;
}
