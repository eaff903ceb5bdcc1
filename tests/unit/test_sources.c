/* test_sources.c - strings of texts: one rule of escapes, read and printed alike; and the sources of functions that
   come from a text, which hold no directive, pragma or assembly unless the context trusts texts. */
#include "inductor.h"

#include "check.h"
#include <string.h>

static ind_graph *with_source(ind_context *c, const char *source) {
    char text[1000];
    snprintf(
        text, sizeof text,
        "graph g {\n  function f(x: f32) -> f32 = \"%s\"\n  input x : f32[4]\n  y : f32[4] = f(x)\n  output y\n}\n",
        source);
    return ind_graph_parse(c, text, "g.ind");
}

/* ---- strings */

/* As they stand in a text, canonical; they parse, and print the same. */
static void test_strings(ind_context *c) {
    static const char *const sources[] = {
        "x + 1", "x +\\n1", "\\n\\nx", "x; // \\\"q\\\" \\\\ \\\\n", "x /* \\\\\\\\ */", "x\t+ 1"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char line[200];
        ind_graph *g = with_source(c, sources[i]);
        snprintf(line, sizeof line, "-> f32 = \"%s\"\n", sources[i]);
        CHECK(g && strstr(ind_graph_text(g), line), "%s: %s", sources[i], g ? ind_graph_text(g) : ind_error(c));
        ind_graph_destroy(g);
    }
    ind_graph *g = ind_graph_parse(c,
                                   "graph g {\n  input x : f32[4]\n  y = associative_scan([x], dim=0, "
                                   "combine=\"t = l0;\\nadd(t, r0)\")\n  output y\n}\n",
                                   NULL);
    CHECK(!g && strstr(ind_error(c), "column 8: expected a value, found the end of the line"), "%s", ind_error(c));
    g = ind_graph_parse(c, "graph g {\n  input x : f32[4]\n  y : f32[4] = extern(\"a\\nb\", x)\n  output y\n}\n", NULL);
    CHECK(!g && strstr(ind_error(c), "<text>:3:"), "not anb: %s", g ? ind_graph_text(g) : ind_error(c));
}

/* The text of an escape is what C makes of it: kernels hold it. */
static void test_meaning(ind_context *c) {
    ind_module *m = NULL;
    ind_graph *g = with_source(c, "const char *s = \\\"\\\\\\\\\\\";\\nreturn x + (float)s[0];");
    CHECK(g && !ind_compile(g, &(ind_compile_desc){.emit_only = true}, &m), "%s", ind_error(c));
    const char *cuda = m ? ind_module_text(m, IND_STAGE_CUDA) : NULL;
    CHECK(cuda && strstr(cuda, "const char *s = \"\\\\\";\n"), "%s", cuda ? cuda : "");
    ind_module_destroy(m);
    ind_graph_destroy(g);
}

/* The message has the position of the backslash. */
static void test_bad_escapes(ind_context *c) {
    static const char *const bad[] = {"\\a", "\\t",     "\\0", "\\x41",      "\\'",
                                      "\\N", "\\u0041", "\\ ", "\\\xc3\xa9", "\\r"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char source[40];
        snprintf(source, sizeof source, "x + %s1", bad[i]);
        CHECK(!with_source(c, source), "%s is read", bad[i]);
        CHECK(ind_error_status(c) == IND_ERROR_PARSE && strstr(ind_error(c), "g.ind:2:36: unknown escape"), "%s: %s",
              bad[i], ind_error(c));
    }
    CHECK(!with_source(c, "x \\") && strstr(ind_error(c), "does not end on its line"), "%s", ind_error(c));
    ind_graph *g = ind_graph_parse(
        c, "graph g {\n  input x : f32[4]\n  y = gelu(x, approximate=\"ta\\nh\")\n  output y\n}\n", NULL);
    CHECK(!g && strstr(ind_error(c), "gelu"), "a new line is none of the letters: %s", ind_error(c));
    g = ind_graph_parse(c, "graph g {\n  input x : f32[4]\n  y = gelu(x, approximate=\"\\tanh\")\n  output y\n}\n",
                        NULL);
    CHECK(!g && strstr(ind_error(c), "unknown escape"), "%s", ind_error(c));
}

/* ---- sources that name files or begin a directive, as the text writes them */

static const char *const forbidden[][2] = {
    {"#include \\\"/etc/passwd\\\"\\nx", "line 1"},
    {"x\\n#include </etc/passwd>\\n", "line 2"},
    {"x\\n  \t #include </etc/passwd>", "line 2"},
    {"x\\n#\\ninclude", "line 2"},
    {"x\\n# pragma unroll\\n", "line 2"},
    {"x\\n#line 1 \\\"y\\\"\\n", "line 2"},
    {"x\\n#embed \\\"/etc/passwd\\\"\\n", "line 2"},
    {"x\\n%:include </etc/passwd>", "line 2"},
    {"x\\n%\\\\\\n:include </etc/passwd>", "line 2"},
    {"x\\n%?\?/\\n:include </etc/passwd>", "line 2"},
    {"x\\n?\?=include </etc/passwd>", "line 2"},
    {"x\\n/* a */#include </etc/passwd>", "line 2"},
    {"x\\n/* a */ /**/ /* b */ #include </etc/passwd>", "line 2"},
    {"x\\n/* a\\n b */ #include </etc/passwd>", "line 3"},
    {"x\\n/* a *\\\\\\n/ #include </etc/passwd>", "line 3"},
    {"x\\n/\\\\\\n* a *\\\\\\n/ %:include </etc/passwd>", "line 4"},
    {"x\\n\\\\\\n#include </etc/passwd>", "line 3"},
    {"x\\n\\\\\\n   \\\\\\n  #include </etc/passwd>", "line 4"},
    {"x ?\?/\\n#include </etc/passwd>", "line 2"}, /* C++17 has no trigraphs: the line ends there */
    {"x // \\\\\\n#include </etc/passwd>", "line 2"},
    {"x\\n\xc2\xa0#include </etc/passwd>", "line 2"},
    {"x\r#include </etc/passwd>", "line 1"},
    {"x\\n\v\f#include </etc/passwd>", "line 2"},
    {"R\\\"(\\n)\\\" x\\n#if __has_include(</etc/passwd>)\\n#endif", "line 3"},
    {"_Pragma(\\\"unroll\\\") x", "has _Pragma"},
    {"x;\\n_Pra\\\\\\ngma(\\\"unroll\\\")", "line 2 of its source has _Pragma"},
    {"x; __pragma(loop)", "has __pragma"},
    {"asm(\\\".include\\\") x", "has asm"},
    {"x; asm volatile(\\\"\\\")", "has asm"},
    {"x; __asm__(\\\"\\\")", "has __asm__"},
    {"x; __asm (\\\"\\\")", "has __asm"},
    {"x; a\\\\\\nsm(\\\"\\\")", "has asm"},
};

static const char *const allowed[] = {
    "x % 2 ? x : 0",
    "x%2?x:0", /* no digraph */
    "x > 0 ? x : -x",
    "x + f(\\\"#\\\")",
    "x /* # */",
    "x // #1\\n",
    "x + '#'",
    "const float plasma = x;\\nreturn plasma;",
    "const float asm_ = x, my_asm = x;\\nreturn asm_ + my_asm;",
    "/* a */ x / 2",
    "x\\n/ 2",
};

static void test_directives(ind_context *c, ind_context *trusting) {
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
        CHECK(!with_source(c, forbidden[i][0]), "%s is taken", forbidden[i][0]);
        CHECK(ind_error_status(c) == IND_ERROR_NOT_SUPPORTED && strstr(ind_error(c), "g.ind:2:12: function f: ") &&
                  strstr(ind_error(c), forbidden[i][1]) && strstr(ind_error(c), "trust_texts"),
              "%s: %s", forbidden[i][0], ind_error(c));
        ind_graph *g = with_source(trusting, forbidden[i][0]);
        CHECK(g, "%s: %s", forbidden[i][0], ind_error(trusting));
        ind_graph_destroy(g);
    }
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        ind_graph *g = with_source(c, allowed[i]);
        CHECK(g, "%s: %s", allowed[i], ind_error(c));
        ind_graph_destroy(g);
    }
}

static ind_element same(const ind_element *x, void *user) {
    (void)user;
    return *x;
}

/* What the program itself registers is the program's. The graph with it prints, and its text is read in that context.
 */
static void test_registered(void) {
    ind_context *c;
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST}, &c)) exit(1);
    const ind_function_desc f = {"f(x: f32) -> f32", "\n#pragma unroll\nreturn x;", same, NULL};
    CHECK(!ind_function_register(c, &f), "%s", ind_error(c));
    ind_graph *g = with_source(c, "\\n#pragma unroll\\nreturn x;");
    CHECK(g, "%s", ind_error(c));
    CHECK(!with_source(c, "\\n#pragma unroll 2\\nreturn x;"), "another source of the same name");
    ind_context_destroy(c);
}

int main(void) {
    ind_context *c, *trusting;
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST}, &c)) return 1;
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST, .trust_texts = true}, &trusting)) return 1;
    test_strings(c);
    test_meaning(c);
    test_bad_escapes(c);
    test_directives(c, trusting);
    test_registered();
    ind_context_destroy(trusting);
    ind_context_destroy(c);
    return check_summary();
}
