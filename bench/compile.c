/* compile: what one process takes from the text of a graph to loaded kernels.
 *
 *     compile process|open FILE.ind [PACK]
 *     compile kernels FILE.ind [ARCH]
 *
 * process: counted from where nothing is open; open: from the text, the device being open. With PACK, kernels come from
 * that file as far as it has them; what it lacks is compiled, and the file is written anew. Prints milliseconds of each
 * phase and the kernels as a line of JSON. kernels: compiles every variant of every kernel with NVRTC, one after
 * another, for ARCH (sm_90a if none is given), and prints a line for each. Needs no GPU. bench/compile.py runs it. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"

#include <stdio.h>
#include <string.h>

static int failed(ind_context *ctx, const char *what) {
    fprintf(stderr, "%s: %s\n", what, ind_error(ctx));
    return 1;
}

static void print(const ind_module_stats *s, double device_ms, double parse_ms, double total_ms) {
    printf("{\"device\": %.3f, \"parse\": %.3f, \"library\": %.3f, \"lower\": %.3f, \"schedule\": %.3f, \"emit\": "
           "%.3f, \"compile\": %.3f, "
           "\"load\": %.3f, \"total\": %.3f, \"launches\": %d, \"sources\": %d, \"from_pack\": %d}\n",
           device_ms, parse_ms, s->library_ms, s->lower_ms, s->schedule_ms, s->emit_ms, s->compile_ms, s->load_ms,
           total_ms, s->num_kernels, s->num_sources, s->num_from_pack);
}

static const char SMALL[] = "graph small { input x : f32[16]\n y = neg(x)\n output y }";

/* Compiles a graph for the target, without a device. NULL: an error. */
static ind_module *emitted(ind_context *ctx, const char *text, const char *arch) {
    ind_compile_desc desc = {.emit_only = true, .all_variants = true};
    ind_module *m = NULL;
    if (ind_target_named(ctx, arch, &desc.target)) return NULL;
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    if (!g || ind_compile(g, &desc, &m)) return NULL;
    ind_graph_destroy(g);
    return m;
}

static ind_status time_source(ind_module *m, int index, bool print) {
    ind_cubin cubin;
    const double start = ind__now_ms();
    const ind_status status = ind_module_cubin(m, index, &cubin);
    if (!status && print)
        printf("{\"name\": \"%s\", \"ms\": %.3f, \"registers\": %d, \"local_bytes\": %d, \"bytes\": %zu}\n", cubin.name,
               ind__now_ms() - start, cubin.registers, cubin.local_bytes, cubin.bytes);
    if (!status) ind_cubin_free(m, &cubin);
    return status;
}

/* Another kernel is compiled first, as the first compile also loads NVRTC. */
static int kernels(const char *file, const char *arch) {
    ind_context *ctx;
    char *text;
    size_t bytes;
    if (ind_context_create(NULL, &ctx)) return 2;
    if (ind__read_file(ctx, file, &text, &bytes)) return failed(ctx, file);
    ind_module *small = emitted(ctx, SMALL, arch), *m = emitted(ctx, text, arch);
    if (!small || !m) return failed(ctx, file);
    ind_status status = time_source(small, 0, false);
    for (int i = 0; !status; i++) status = time_source(m, i, true);
    if (status != IND_ERROR_NOT_FOUND) return failed(ctx, "NVRTC");
    ind__free(ctx, text);
    ind_context_destroy(ctx);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "kernels")) return kernels(argv[2], argc > 3 ? argv[3] : "sm_90a");
    if (argc < 3) return fputs("usage: compile process|open|kernels FILE.ind [PACK|ARCH]\n", stderr), 2;
    const bool open = !strcmp(argv[1], "open");
    const char *file = argv[2], *pack = argc > 3 ? argv[3] : NULL;
    ind_context *ctx;
    ind_module *m;
    char *text;
    size_t bytes;
    double start = ind__now_ms();
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_CUDA, .pack.path = pack}, &ctx)) return 2;
    if (ind__read_file(ctx, file, &text, &bytes)) return failed(ctx, file);
    if (open && ind_device_open(ctx, IND_DEVICE_CUDA)) return failed(ctx, "the device");
    const double opened = ind__now_ms();
    ind_graph *g = ind_graph_parse(ctx, text, NULL);
    const double parsed = ind__now_ms();
    if (!g || ind_compile(g, NULL, &m)) return failed(ctx, file);
    const double done = ind__now_ms();

    ind_module_stats s = ind_module_query_stats(m);
    print(&s, open ? opened - start : s.device_ms, parsed - opened, done - (open ? opened : start));
    if (pack && s.num_from_pack < s.num_sources && ind_pack_save(ctx, pack)) return failed(ctx, pack);
    ind__free(ctx, text);
    ind_context_destroy(ctx);
    return 0;
}
