/* Why two loops that read the same, or of which one computes what the other reads, are not one kernel: the reasons that a
   reduction was not made in two stages, each by a graph of a full sum (or its like) beside the maxima of the rows, or of
   what a kernel computes from its rows. Struct, text and JSON say the same. */
#include "inductor.h"

#include "check.h"

#include <string.h>

static const struct {
    const char *code, *statements;
    bool disable_split;
    const char *made; /* the edge is from the loop that computes this; NULL: between two readers of x */
} graphs[] = {
    {"FUSED_HORIZONTAL", "input x : f32[4096, 512]; s = sum(x); r = amax(x, 1)", false},
    {"SPLIT_DISABLED", "input x : f32[4096, 512]; s = sum(x); r = amax(x, 1)", true},
    {"SPLIT_KIND", "input x : f32[4096, 512]; s = argmax(x); r = amax(x, 1)", false},
    {"SPLIT_PARTIALS", "input x : f32[1000000, 2]; s = sum(x); r = amax(x, 1)", false},
    {"SPLIT_SHARED", "input x : f32[100, 100]; p = argmax(x); s = sum(x); r = amax(x, 1); output p", false},
    {"SPLIT_READ_AGAIN", "input x : f32[256, 256]; s = sum(x); r = amax(x, 1); d = div(x, s); output d", false},
    {"SPLIT_ORDER", "input x : f32[256, 256]; s = sum(x); y = add(x, s); r = amax(y, 1)", false, "s"},
    {"SPLIT_FEW_ROWS", "input x : f32[4, 1000000]; r = mean(x, 1, true); d = sub(x, r); q = square(d); s = sum(q)", false},
    {"SPLIT_KIND", "input x : f32[256, 256]; r = softmax(x, 1); s = argmax(r)", false, "r"},
    {"SPLIT_DISABLED", "input x : f32[256, 256]; r = softmax(x, 1); s = amax(r)", true, "r"},
    {"SPLIT_SHARED", "input x : f32[256, 256]; r = softmax(x, 1); s = amax(r); p = argmax(r); output p", false, "r"},
    {"SPLIT_PARTIALS", "input x : f32[100000, 2]; r = softmax(x, 1); s = sum(r)", false, "r"},
    {"SPLIT_READ_AGAIN", "input x : f32[64, 64]; r = softmax(x, 1); s = amax(r); d = div(r, s); output d", false, "r"},
    {"DOMAINS_DIFFER", "input x : f32[64, 32]; s = amin(x, 0); r = amax(x, 1)", false},
};

/* The statements between semicolons, one a line. */
static void graph_text(char *out, size_t bytes, const char *statements) {
    snprintf(out, bytes, "graph g {\n%s\noutput s, r\n}\n", statements);
    for (char *at = out; (at = strchr(at, ';')) != NULL;) *at = '\n';
}

static void test_reason(ind_context *c, size_t k) {
    char text[400], both[300];
    const char *made = graphs[k].made;
    graph_text(text, sizeof text, graphs[k].statements);
    ind_graph *g = ind_graph_parse(c, text, NULL);
    ind_compile_desc desc = {.fusion = {.disable_split = graphs[k].disable_split}};
    ind_module *m = NULL;
    CHECK(g && !ind_compile(g, &desc, &m), "%s: %s", graphs[k].code, ind_error(c));
    const char *said = m ? ind_module_text(m, IND_STAGE_SCHEDULE) : "", *json = m ? ind_module_json(m, IND_STAGE_SCHEDULE) : "";
    ind_edge_info e = {0}, found = {0};
    for (int i = 0; m && !ind_module_query_edge(m, i, &e); i++)
        if (!strcmp(e.code, graphs[k].code) && !strcmp(e.buffer, made ? made : "x") && e.vertical == (made != NULL)) found = e;
    CHECK(found.code && found.fused == !k, "%s: %s", graphs[k].code, said);
    if (found.code) {
        snprintf(both, sizeof both, "\"code\": \"%s\", \"reason\": \"%s\"", found.code, found.text);
        CHECK(strstr(said, found.text) && strstr(json, both), "%s is not said: %s", found.code, said);
    }
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

int main(void) {
    ind_context *c;
    if (ind_context_create(NULL, &c)) return 1;
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++) test_reason(c, k);
    ind_context_destroy(c);
    return check_summary();
}
