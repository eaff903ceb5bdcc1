/* cubins.h - for programs whose graphs have functions of the user, which no text holds: every kernel compiles with NVRTC,
   needs no local memory and spills nothing. Included behind inductor.h and check.h. */
#ifndef CUBINS_H
#define CUBINS_H

static const char *cubins_arch; /* NULL: modules are made for the device and run */

static inline ind_status cubins_compile(ind_graph *g, bool deterministic, ind_module **m) {
    ind_compile_desc d = {.deterministic = deterministic, .emit_only = cubins_arch != NULL};
    ind_status status = cubins_arch ? ind_target_named(ind_graph_context(g), cubins_arch, &d.target) : IND_OK;
    return status ? status : ind_compile(g, &d, m);
}

static inline void cubins_check(ind_context *c, ind_module *m, const char *name) {
    ind_cubin cubin;
    ind_status status;
    for (int i = 0; !(status = ind_module_cubin(m, i, &cubin)); i++) {
        CHECK(cubin.local_bytes <= 0, "%s: %s needs %d bytes of local memory", name, cubin.name, cubin.local_bytes);
        ind_cubin_free(m, &cubin);
    }
    CHECK(status == IND_ERROR_NOT_FOUND, "%s: %s", name, ind_error(c));
}

#endif
