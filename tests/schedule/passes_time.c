/* passes_time: processor seconds of all graph passes.
 *
 *     passes_time FILE.ind [RUNS [PATTERNS]]
 *
 * Prints the least of some runs, the number of changes and the number of ops, of a graph without the time to read it.
 * PATTERNS is a file of patterns, which are registered too. Built-in patterns that are off by default are enabled. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#define INDUCTOR_GRAPH_IMPLEMENTATION
#include "inductor.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The names of all built-in patterns, separated by spaces. */
static char *all_patterns(ind_context *ctx) {
    ind__text names = {.context = ctx};
    for (const ind__pattern *p = pattern__builtin(ctx); p; p = p->next) ind__textf(&names, "%s ", p->name);
    return names.data;
}

/* One run of all passes; negative on failure. */
static double run(ind_context *ctx, ind_graph *g, const char *enabled, uint32_t *changes) {
    ind__pass_log log = {.context = ctx, .arena = {.context = ctx}};
    const ind__pass_options options = {.enabled_patterns = enabled, .builtin = pattern__builtin(ctx), .log = &log};
    ind_graph *out;
    const double start = seconds();
    const ind_status status = ind__graph_optimise(g, &options, &out);
    const double end = seconds();
    *changes = log.changes;
    ind__pass_log_free(&log);
    if (status) return -1;
    ind__graph_take_facts(g, out); /* they stay with the graph that is optimised again */
    ind_graph_destroy(out);
    return end - start;
}

static ind_status register_file(ind_context *ctx, const char *path) {
    char *text;
    size_t bytes;
    ind_status status = ind__read_file(ctx, path, &text, &bytes);
    if (!status) status = ind_pattern_register(ctx, text);
    return status;
}

int main(int argc, char **argv) {
    ind_context *ctx;
    char *text;
    size_t bytes;
    if (argc < 2) return fputs("usage: passes_time FILE.ind [RUNS [PATTERNS]]\n", stderr), 2;
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST}, &ctx)) return 2;
    const int runs = argc > 2 ? atoi(argv[2]) : 1;
    if (argc > 3 && register_file(ctx, argv[3])) return fprintf(stderr, "%s\n", ind_error(ctx)), 1;
    ind_graph *g = ind__read_file(ctx, argv[1], &text, &bytes) ? NULL : ind_graph_parse(ctx, text, NULL);
    char *enabled = all_patterns(ctx);
    double least = 1e9;
    uint32_t changes = 0;
    for (int i = 0; g && i < runs; i++) {
        const double one = run(ctx, g, enabled, &changes);
        if (one < 0) g = NULL;
        least = one < least ? one : least;
    }
    if (!g) return fprintf(stderr, "%s\n", ind_error(ctx)), 1;
    printf("%.6f %u %u\n", least, changes, g->num_nodes - 1);
    ind__free(ctx, text);
    ind__free(ctx, enabled);
    ind_context_destroy(ctx);
    return 0;
}
