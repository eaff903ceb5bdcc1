/* save_pack PATH: compiles the kernels of a small graph for a GPU that need not be there, and saves them as a kernel
   pack. Prints the name, the bytes and a hash of each. */
#include "inductor.h"

#include <stdio.h>

static const char text[] = "graph g {\n  size N in [1, 4096]\n  input x : f32[N, 512]\n  y = softmax(x, -1)\n"
                           "  z = cumsum(y, 0)\n  output z\n}\n";

static int failed(ind_context *c) {
    fprintf(stderr, "%s\n", ind_error(c));
    ind_context_destroy(c);
    return 1;
}

int main(int argc, char **argv) {
    ind_context *c;
    ind_module *m = NULL;
    ind_cubin cubin;
    ind_status status;
    if (argc != 2 || ind_context_create(NULL, &c)) return 2;
    ind_compile_desc desc = {.emit_only = true};
    ind_graph *g = ind_graph_parse(c, text, NULL);
    if (!g || ind_target_named(c, "sm_90a", &desc.target) || ind_compile(g, &desc, &m)) return failed(c);
    for (int i = 0; !(status = ind_module_cubin(m, i, &cubin)); i++) {
        printf("%s %zu %016llx\n", cubin.name, cubin.bytes, (unsigned long long)ind__hash(cubin.data, cubin.bytes, 0));
        ind_cubin_free(m, &cubin);
    }
    if (status != IND_ERROR_NOT_FOUND || ind_pack_save(c, argv[1])) return failed(c);
    ind_context_destroy(c);
    return 0;
}
