/* Why two loops that read the same, or of which one computes what the other reads, are not one kernel: the reasons that a
   reduction was not made in two stages, each by a graph of a full sum (or its like) beside the maxima of the rows, or of
   what a kernel computes from its rows. Why two matrix products are not one kernel. Struct, text and JSON say the same. */
#include "inductor.h"

#include "check.h"

#include <string.h>

#define PAIR(type) "input x : " type "; input v : " type "; input w : " type "; "

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
    {"PAIR_READER", PAIR("bf16[64, 64]") "s = matmul(x, v); r = matmul(x, w)", false},
    {"PAIR_READER", PAIR("bf16[64, 64]") "s = matmul(x, v); q = matmul(x, w); p = relu(s); r = relu(q); output p", false},
    {"PAIR_SIZES", "input x : bf16[64, 64]; input v : bf16[64, 64]; input w : bf16[64, 32]; s = matmul(x, v); r = matmul(x, w)", false},
    {"PAIR_TYPE", PAIR("f32[64, 64]") "s = matmul(x, v); q = matmul(x, w); r = mul(s, q)", false},
    {"PAIR_QUANTISED", "input x : bf16[64, 64]; const v : i8[64, 64]; const w : f8e4m3fn[64, 64]; f = cast(v, dtype=bf16); g = cast(w, dtype=bf16); "
                       "s = matmul(x, f); q = matmul(x, g); r = mul(s, q)", false},
    {"PAIR_LEFT", PAIR("bf16[64, 64]") "s = matmul(x, v); q = matmul(v, x); r = mul(s, q)", false},
    {"PAIR_RIGHT", PAIR("bf16[64, 64]") "s = matmul(x, v); q = linear(x, w); r = mul(s, q)", false},
    {"PAIR_GROUPS", "input x : bf16[64, 64]; input v : bf16[2, 64, 64]; input w : bf16[2, 64, 64]; input o : i32[2]; input p : i32[2]; "
                    "a = grouped_mm(x, v, o); q = grouped_mm(x, w, p); r = mul(a, q); s = relu(x)", false},
    {"PAIR_FULL", PAIR("bf16[64, 64]") "s = matmul(x, v); q = matmul(x, w); t = matmul(x, x); p = mul(s, q); r = mul(p, t)", false},
    {"TWO_TEMPLATES", PAIR("bf16[64, 64]") "p = matmul(v, w); s = matmul(x, p); r = matmul(x, v); output p", false, "p"},
    {"DOMAINS_DIFFER", "input x : f32[64, 32]; s = amin(x, 0); r = amax(x, 1)", false},
};

/* The statements between semicolons, one a line. */
static void graph_text(char *out, size_t bytes, const char *statements) {
    snprintf(out, bytes, "graph g {\n%s\noutput s, r\n}\n", statements);
    for (char *at = out; (at = strchr(at, ';')) != NULL;) *at = '\n';
}

static void test_reason(ind_context *c, size_t k) {
    char text[500], both[300];
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
