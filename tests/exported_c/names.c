/* Exports a graph whose name would end a comment of C. Arguments: the paths of NAME.h and NAME.c. */

#include "inductor.h"
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    ind_context *context = NULL;
    ind_module *module = NULL;
    if (ind_context_create(NULL, &context)) return 1;
    ind_graph *g = ind_graph_create(context, "m */ \" \\");
    const ind_tensor x = ind_input(g, "x", "f32[8]");
    ind_compile_desc desc = {.emit_only = true};
    ind_status status = ind_output(g, "y", ind_exp(x));
    if (!status) status = ind_target_named(context, "H200", &desc.target);
    if (!status) status = ind_compile(g, &desc, &module);
    if (!status)
        status = ind_export(&(ind_export_desc){
            .name = "m", .modules = &module, .num_modules = 1, .header = argv[1], .source = argv[2]});
    if (status) fprintf(stderr, "%s\n", ind_error(context));
    ind_module_destroy(module);
    ind_graph_destroy(g);
    ind_context_destroy(context);
    return status != IND_OK;
}
