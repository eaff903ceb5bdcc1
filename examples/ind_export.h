/* The command `ind export` of ind.c: a graph as C.
 *
 *     ind export FILE.ind --arch sm_80,H200 --output model [--weights FILE.safetensors]
 *
 * writes model.h, model.c and, with --weights or --random, model.weights. A program compiles model.c and one file that
 * creates the runtime, and needs no other part of the library (ind_export in inductor.h). Needs NVRTC, but no GPU. */
#ifndef IND_EXPORT_H
#define IND_EXPORT_H

enum { MAX_EXPORTED = 16 }; /* targets */

static int export_weights(ind_context *ctx, const options *o, ind_graph *g, ind_module *m, const char *path) {
    options host = *o;
    session s = {.ctx = ctx, .o = &host};
    host.device = IND_DEVICE_HOST;
    host.num_figures = 0;
    int failed = open_session(&s, g);
    for (int i = 0; i < s.n && !failed; i++) s.binding[i].data = s.t[i].data;
    if (!failed && ind_export_weights(m, s.binding, s.n, path)) failed = fail("%s", ind_error(s.ctx));
    close_session(&s);
    return failed;
}

/* Compiles the graph for each target of a list with commas. Returns their number, 0 after a failure. */
static int export_modules(ind_context *ctx, ind_graph *g, const options *o, ind_module **modules) {
    char name[64];
    int num = 0;
    for (const char *at = o->arch; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        ind_compile_desc desc = desc_of(o);
        const size_t n = strcspn(at, ",");
        if (n >= sizeof name || num == MAX_EXPORTED) return fail("--arch %s: too long", o->arch), 0;
        memcpy(name, at, n);
        name[n] = 0;
        desc.emit_only = true;
        if (set_target(ctx, o, name, &desc.target)) return 0;
        if (ind_compile(g, &desc, &modules[num++])) return fail("%s: %s", o->file, ind_error(ctx)), 0;
    }
    return num;
}

static int export_graph(ind_context *ctx, ind_graph *g, const options *o) {
    char header[1024], source[1024], weights[1024];
    ind_module *modules[MAX_EXPORTED];
    const char *name = o->output ? strrchr(o->output, '/') : NULL;
    if (!o->arch || !o->output) return fail("export: --arch and --output are needed");
    if (strlen(o->output) > 1000) return fail("export: --output: too long");
    snprintf(header, sizeof header, "%s.h", o->output);
    snprintf(source, sizeof source, "%s.c", o->output);
    snprintf(weights, sizeof weights, "%s.weights", o->output);
    const int num = export_modules(ctx, g, o, modules);
    const ind_export_desc desc = {.name = name ? name + 1 : o->output,
                                  .modules = modules,
                                  .num_modules = num,
                                  .header = header,
                                  .source = source};
    if (!num) return 1;
    if (ind_export(&desc)) return fail("%s: %s", o->file, ind_error(ctx));
    return o->weights || o->seed ? export_weights(ctx, o, g, modules[0], weights) : 0;
}

#endif
