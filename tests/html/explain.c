/* explain FILE.ind [SIZES] - what the structs say of a graph's edges and kernels, one a line, fields between tabs: what
 * the JSON and the page are compared to. Values are at SIZES ("B=4, S=7"). */
#include "inductor.h"

#include <stdio.h>
#include <stdlib.h>

static ind_module *m;
static const char *sizes;

static void print_formula(ind_formula f) {
    char text[4096];
    int64_t value = -1;
    ind_expr_print(f, text, sizeof text);
    if (ind_formula_eval(m, f, sizes, &value)) exit(2);
    printf("\t%s\t%lld", text, (long long)value);
}

static void print_edges(void) {
    ind_edge_info e;
    for (int i = 0; !ind_module_query_edge(m, i, &e); i++) {
        printf("edge\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%d\t%d\t%s\t%s", e.from, e.to, e.from_results, e.to_results,
               e.from_kernel, e.to_kernel, e.buffer, e.tensor, e.vertical, e.fused, e.code, e.text);
        print_formula(e.bytes);
        printf("\n");
    }
    printf("edges\t%d\n", ind_module_num_edges(m));
}

static void print_kernels(void) {
    ind_kernel_info k;
    for (int i = 0; !ind_module_query_kernel(m, i, &k); i++) {
        printf("kernel\t%s\t", k.name);
        for (int o = 0; o < k.num_origins; o++) printf("%s%s", o ? "|" : "", ind_module_kernel_origin(m, i, o));
        printf("\t");
        for (int o = 0; o < k.num_origins; o++) printf("%s%s", o ? "|" : "", ind_module_kernel_result(m, i, o));
        print_formula(k.bytes_read);
        print_formula(k.bytes_written);
        print_formula(k.flops);
        print_formula(k.time_ns);
        printf("\t%s\t", k.kind);
        for (int b = 0; b < k.num_reads + k.num_writes; b++) {
            const char *tensor, *name = ind_module_kernel_buffer(m, i, b, &tensor);
            printf("%s%s=%s", b == k.num_reads ? "->" : b ? "|" : "", name, tensor);
        }
        printf("\n");
    }
}

static void print_total(const char *name, ind_formula f) {
    printf("total\t%s", name);
    print_formula(f);
    printf("\n");
}

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = calloc(1 << 20, 1);
    if (!f || !text || !fread(text, 1, (1 << 20) - 1, f)) exit(3);
    fclose(f);
    return text;
}

int main(int argc, char **argv) {
    ind_context *ctx;
    ind_compile_desc desc = {.emit_only = true};
    if (argc < 2 || ind_context_create(NULL, &ctx)) return 1;
    sizes = argc > 2 ? argv[2] : "";
    char *text = read_text(argv[1]);
    ind_graph *g = ind_graph_parse(ctx, text, argv[1]);
    free(text);
    if (!g || ind_compile(g, &desc, &m)) return fprintf(stderr, "%s\n", ind_error(ctx)), 1;
    print_edges();
    print_kernels();
    print_total("time_ns", ind_module_time_ns(m));
    print_total("bytes_read", ind_module_bytes_read(m));
    print_total("bytes_written", ind_module_bytes_written(m));
    print_total("flops", ind_module_flops(m));
    print_total("peak_bytes", ind_module_peak(m));
    ind_context_destroy(ctx);
    return 0;
}
