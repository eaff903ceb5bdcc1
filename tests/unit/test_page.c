/* The page of a module: what its description may hold, and what is refused with which words. tests/html opens pages in
   a browser. */
#include "inductor.h"

#include "check.h"

#include <string.h>

static const char text[] = "graph g {\n"
                           "  size N in [1, 100] hint 8\n"
                           "  input x : f32[N, 64]\n"
                           "  const w : f32[64, 64]\n"
                           "  p = linear(x, w)\n"
                           "  y = softmax(p, dim=-1)\n"
                           "  output y\n"
                           "}\n";

static void check_refused(ind_context *c, ind_module *m, const ind_page_desc *desc, const char *word) {
    CHECK(!ind_module_page(m, desc), "%s", word);
    CHECK(ind_error_status(c) == IND_ERROR_INVALID_ARGUMENT, "%d", (int)ind_error_status(c));
    CHECK(strstr(ind_error(c), word), "%s", ind_error(c));
}

static void test_times(ind_context *c, ind_module *m, int launches) {
    const ind_kernel_time times[4] = {{"a", 0.25, 1, 2, 3}, {"b", 0.5, 1, 2, 3}};
    ind_page_desc desc = {.times = times, .num_times = launches, .total_ms = 1.5};
    const char *page = ind_module_page(m, &desc);
    CHECK(page && strstr(page, "\"total\": 1500000, \"launches\": [250000, 500000]"), "%s", ind_error(c));
    for (int num = launches - 1; num <= launches + 1; num += 2) {
        char word[64];
        desc.num_times = num;
        snprintf(word, sizeof word, "%d times are given, the module has %d launches", num, launches);
        check_refused(c, m, &desc, word);
    }
}

/* Entries after the plan's sources are those of the prepare module, and not shown. */
static void test_sass(ind_context *c, ind_module *m, int sources) {
    const char *sass[8] = {"first </script>", NULL, "third"};
    sass[sources] = "of the prepare module";
    ind_page_desc desc = {.sass = sass, .num_sass = sources + 1};
    const char *page = ind_module_page(m, &desc);
    CHECK(page && strstr(page, "first \\u003c/script>") && !strstr(page, "of the prepare"), "%s", ind_error(c));
    desc.num_sass = sources - 1;
    check_refused(c, m, &desc, "texts of SASS are given, the plan has");
    desc.num_sass = 0;
    check_refused(c, m, &desc, "0 texts of SASS");
}

static void test_sizes(ind_context *c, ind_module *m) {
    const char *page = ind_module_page(m, NULL);
    CHECK(page && strstr(page, "\"start\": {\"N\": 8}"), "%s", ind_error(c));
    page = ind_module_html(m, "N=9");
    CHECK(page && strstr(page, "\"start\": {\"N\": 9}"), "%s", ind_error(c));
    CHECK(!ind_module_page(m, &(ind_page_desc){.sizes = "M=9"}), "an unknown size");
    CHECK(ind_error_status(c) == IND_ERROR_NOT_FOUND, "%s", ind_error(c));
    CHECK(!ind_module_page(NULL, NULL) && !ind_module_html(NULL, NULL), "no module");
}

int main(void) {
    ind_context *c = NULL;
    ind_module *m = NULL;
    const ind_compile_desc desc = {.emit_only = true};
    CHECK(!ind_context_create(NULL, &c), "context");
    ind_graph *g = ind_graph_parse(c, text, "test");
    CHECK(g && !ind_compile(g, &desc, &m), "%s", ind_error(c));
    if (!m) return check_summary();
    const char *cuda = ind_module_text(m, IND_STAGE_CUDA);
    int sources = 0, launches = ind_module_num_kernels(m);
    for (const char *s = cuda; (s = strstr(s, "extern \"C\" __global__")) != NULL; s++) sources++;
    CHECK(launches == 2 && sources > 1 && sources < 7, "%d launches, %d sources", launches, sources);
    test_times(c, m, launches);
    test_sass(c, m, sources);
    test_sizes(c, m);
    ind_context_destroy(c);
    return check_summary();
}
