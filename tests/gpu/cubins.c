/* cubins: compiles every kernel of every graph with NVRTC, for one architecture; needs no GPU.
 *
 *     cubins FILE ARCH [FOLDER [tf32 | tcgen05 | product_l2_rate=BYTES]]
 *
 * FILE holds graphs in the text form, separated by lines of ---. Prints for each graph `graph NAME`, then for each
 * kernel a line of its name, registers, and bytes of local memory per thread. With FOLDER the cubins are written there,
 * numbered; with tf32 products of f32 may round their operands, with tcgen05 products may use tcgen05.mma;
 * product_l2_rate is a figure of the target. */
#include "inductor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path) {
    FILE *f = fopen(path, "rb");
    size_t size = 1 << 24;
    char *text = f ? calloc(1, size + 1) : NULL;
    if (text) text[fread(text, 1, size, f)] = 0;
    if (f) fclose(f);
    return text;
}

static int write_cubin(const char *folder, int number, const ind_cubin *cubin) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%05d_%s.cubin", folder, number, cubin->name);
    FILE *f = fopen(path, "wb");
    if (!f) return 1;
    bool ok = fwrite(cubin->data, 1, cubin->bytes, f) == cubin->bytes;
    return fclose(f) || !ok;
}

static int compile_all(ind_context *ctx, ind_module *m, const char *folder, int *number) {
    ind_cubin cubin;
    ind_status status;
    for (int i = 0; !(status = ind_module_cubin(m, i, &cubin)); i++) {
        printf("%s %d %d\n", cubin.name, cubin.registers, cubin.local_bytes);
        int failed = folder && write_cubin(folder, (*number)++, &cubin);
        ind_cubin_free(m, &cubin);
        if (failed) return fprintf(stderr, "%s: cannot be written\n", folder), 1;
    }
    return status == IND_ERROR_NOT_FOUND ? 0 : (fprintf(stderr, "%s\n", ind_error(ctx)), 1);
}

static int one(const char *text, const char *arch, const char *folder, const char *flag, int *number) {
    ind_context *ctx;
    ind_module *m;
    ind_compile_desc desc = {
        .emit_only = true, .allow_tf32 = !strcmp(flag, "tf32"), .tcgen05 = !strcmp(flag, "tcgen05")};
    if (ind_context_create(NULL, &ctx)) return 1;
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    int failed = !g || ind_target_named(ctx, arch, &desc.target);
    (void)sscanf(flag, "product_l2_rate=%d", &desc.target.thresholds.product_l2_rate);
    if (!failed) failed = ind_compile(g, &desc, &m);
    if (failed) fprintf(stderr, "%s\n", ind_error(ctx));
    const char *name = strstr(text, "graph ");
    if (!failed) {
        printf("%.*s\n", name ? (int)strcspn(name, " {\n") + 1 + (int)strcspn(name + 6, " {\n") : 0, name ? name : "");
        failed = compile_all(ctx, m, folder, number);
    }
    if (failed) fprintf(stderr, "%s\n", text);
    ind_context_destroy(ctx);
    return failed;
}

int main(int argc, char **argv) {
    char *all = argc >= 3 ? read_all(argv[1]) : NULL;
    int failed = 0, number = 0;
    if (!all)
        return fputs("usage: cubins FILE ARCH [FOLDER [tf32 | tcgen05 | product_l2_rate=BYTES]]\n", stderr), 2;
    for (char *text = all, *next; text && !failed; text = next) {
        next = strstr(text, "---\n");
        if (next) {
            *next = 0;
            next += 4;
        }
        failed = one(text, argv[2], argc > 3 ? argv[3] : NULL, argc > 4 ? argv[4] : "", &number);
    }
    free(all);
    return failed;
}
