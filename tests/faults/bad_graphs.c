/* bad_graphs: what the library says of graphs that it should refuse.
 *
 *     bad_graphs [--cuda] < FILE
 *
 * FILE holds graphs in the text form, each after a line `---- binding..`. A binding is NAME:BYTES=VALUE:SIZE, memory of
 * that many bytes filled with an integer of that size; SIZE 0: a result's. Without bindings a graph is only compiled,
 * with the word `parse` only parsed. Prints a line for each graph: where it ended (parse, compile, run, passed), the
 * status, and the message with its ends of lines as spaces; with the result's type where it was taken. Now and then
 * the context compiles and runs a good one. Memory has no byte to spare, so that the
 * sanitizers see what is written outside. */
#include "inductor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 16, MAX_BINDINGS = 16, FILLER = 0x5a };

static const char good[] = "graph g {\n  input x : f32[3]\n  y = neg(x)\n  output y\n}\n";

static ind_compile_desc device = {.device = IND_DEVICE_HOST};

static void say(size_t nth, const char *where, ind_status status, const char *message) {
    printf("%zu\t%s\t%s\t", nth, where, ind_status_text(status));
    for (const char *c = message; c && *c; c++) putchar(*c == '\n' || *c == '\t' ? ' ' : *c);
    putchar('\n');
}

static void fail(const char *why) {
    printf("failed\t%s\n", why);
    exit(1);
}

/* ---- a run with the memory that the head of the graph asks for */

typedef struct memory {
    ind_binding binding[MAX_BINDINGS];
    char name[MAX_BINDINGS][64];
    size_t bytes[MAX_BINDINGS], size[MAX_BINDINGS];
    unsigned char *before[MAX_BINDINGS];
    int num;
} memory;

static void fill(unsigned char *at, size_t bytes, long long value, size_t size) {
    for (size_t i = 0; i < bytes; i++)
        at[i] = size ? (unsigned char)((unsigned long long)value >> 8 * (i % size)) : FILLER;
}

static void memory_read(memory *m, const char *head) {
    size_t bytes, size;
    long long value;
    int used;
    for (m->num = 0; m->num < MAX_BINDINGS; m->num++, head += used) {
        int i = m->num;
        if (sscanf(head, " %63[^:]:%zu=%lld:%zu%n", m->name[i], &bytes, &value, &size, &used) != 4) return;
        unsigned char *data = malloc(bytes);
        m->before[i] = malloc(bytes);
        m->bytes[i] = bytes, m->size[i] = size;
        m->binding[i] = (ind_binding){m->name[i], data};
        fill(data, bytes, value, size);
        memcpy(m->before[i], data, bytes);
    }
}

/* Inputs must be as they were. */
static bool memory_changed(const memory *m) {
    for (int i = 0; i < m->num; i++)
        if (m->size[i] && memcmp(m->before[i], m->binding[i].data, m->bytes[i]) != 0) return true;
    return false;
}

static void memory_free(memory *m) {
    for (int i = 0; i < m->num; i++) free(m->binding[i].data), free(m->before[i]);
}

static void run(ind_context *ctx, size_t nth, ind_module *module, const char *head) {
    memory m;
    memory_read(&m, head);
    ind_run_desc d = {.bindings = m.binding, .num_bindings = m.num, .memory = IND_MEMORY_HOST};
    ind_status status = m.num ? ind_run(module, &d) : IND_OK;
    say(nth, status ? "run" : "passed", status, status ? ind_error(ctx) : "");
    if (memory_changed(&m)) fail("a run changed its inputs");
    memory_free(&m);
}

/* ---- */

static void try_graph(ind_context *ctx, size_t nth, const char *head, const char *text) {
    ind_graph *g = ind_graph_parse(ctx, text, "bad.ind");
    if (!g) {
        say(nth, "parse", ind_error_status(ctx), ind_error(ctx));
        return;
    }
    ind_module *module = NULL;
    bool only_parse = strstr(head, "parse") != NULL;
    ind_status status = only_parse ? ind_graph_status(g) : ind_compile(g, &device, &module);
    if (status)
        say(nth, "compile", status, ind_error(ctx));
    else
        run(ctx, nth, module, head);
    ind_module_destroy(module);
    ind_graph_destroy(g);
}

/* The context must still do its work. */
static void try_good(ind_context *ctx, bool all) {
    ind_module *module = NULL;
    float x[3] = {1, 2, 3}, y[3] = {0};
    ind_graph *g = ind_graph_parse(ctx, good, "good.ind");
    ind_binding b[] = {{"x", x}, {"y", y}};
    if (!g) fail("a good graph was refused");
    if (all && ind_compile(g, &device, &module)) fail("a good graph does not compile");
    if (all &&
        (ind_run(module, &(ind_run_desc){.bindings = b, .num_bindings = 2, .memory = IND_MEMORY_HOST}) || y[2] != -3))
        fail("a good graph does not run");
    ind_module_destroy(module);
    ind_graph_destroy(g);
}

int main(int argc, char **argv) {
    static char head[4096], line[4096], text[MAX_TEXT];
    ind_context *ctx = NULL;
    size_t nth = 0, length = 0;
    if (argc > 1 && strcmp(argv[1], "--cuda") == 0) device.device = IND_DEVICE_CUDA;
    if (ind_context_create(&(ind_context_desc){.device = device.device, .num_threads = 1}, &ctx)) fail("no context");
    for (bool more = true, any = false; more;) {
        more = fgets(line, sizeof line, stdin) != NULL;
        if (more && strncmp(line, "----", 4) != 0) {
            size_t n = strlen(line);
            if (length + n >= MAX_TEXT) fail("a graph is too long");
            memcpy(text + length, line, n + 1);
            length += n;
            continue;
        }
        if (any) {
            try_graph(ctx, nth++, head, text);
            if (nth % 16 == 1) try_good(ctx, nth % 256 == 1);
        }
        any = true;
        length = 0;
        text[0] = 0;
        if (more) memcpy(head, line + 4, strlen(line + 4) + 1);
    }
    ind_context_destroy(ctx);
    return 0;
}
