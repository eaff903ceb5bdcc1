/* ind_context_desc.trace: two calls for each launch, in their order, on the host device or on a GPU or the emulation of
   one (IND_DEVICE=cuda); none for a replay of a CUDA graph. */
#include "inductor.h"

#include "check.h"

#include <string.h>

static const char text[] = "graph traced {\n"
                           "  input x : f32[3, 40]\n"
                           "  const w : f32[40, 40]\n"
                           "  p = matmul(x, w)\n"
                           "  y = softmax(p, dim=-1)\n"
                           "  output y\n"
                           "}\n";

typedef struct record {
    char names[512]; /* of the launches, each with a blank */
    int open, num;
} record;

static void begin(const char *name, void *user) {
    record *r = user;
    CHECK(!r->open, "a launch in a launch");
    r->open++;
    r->num++;
    strncat(r->names, name, sizeof r->names - strlen(r->names) - 2);
    strcat(r->names, " ");
}

static void end(void *user) {
    record *r = user;
    CHECK(r->open == 1, "an end without a begin");
    r->open--;
}

static void test_launches(void) {
    record r = {.num = 0};
    ind_context *c = NULL;
    ind_module *m = NULL;
    ind_instance *n = NULL;
    void *memory[3] = {NULL};
    static float zeros[40 * 40];
    CHECK(!ind_context_create(&(ind_context_desc){.trace = {begin, end, &r}}, &c), "context");
    ind_graph *g = ind_graph_parse(c, text, NULL);
    bool ok = g && !ind_compile(g, NULL, &m) && !ind_module_constant(m, "w", zeros, sizeof zeros, IND_MEMORY_HOST) &&
              !ind_module_prepare(m) && !ind_instance_create(m, NULL, &n);
    for (int i = 0; i < 3 && ok; i += 2) ok = !ind_module_alloc(m, sizeof zeros, &memory[i]);
    CHECK(ok, "%s", ind_error(c));
    if (ok) {
        const ind_launch_desc desc = {.pointers = memory, .sizes_v = (const int64_t[]){0}};
        const int launches = ind_module_query_stats(m).num_kernels;
        const bool cuda = ind_module_query_stats(m).device == IND_DEVICE_CUDA;
        r = (record){.num = 0};
        CHECK(!ind_launch(n, &desc) && !ind_instance_check(n), "%s", ind_instance_error(n));
        CHECK(r.num == launches && !r.open, "%d of %d", r.num, launches);
        CHECK(!strcmp(r.names, "matmul softmax "), "%s", r.names);
        CHECK(!ind_capture(n, &desc), "%s", ind_instance_error(n));
        r = (record){.num = 0};
        CHECK(!ind_replay(n, NULL) && !ind_instance_check(n), "%s", ind_instance_error(n));
        CHECK(r.num == (cuda ? 0 : launches) && !r.open, "%d in a replay", r.num);
    }
    for (int i = 0; i < 3 && m; i++) ind_module_free(m, memory[i]);
    ind_context_destroy(c);
}

int main(void) {
    ind_context *c = NULL;
    CHECK(ind_context_create(&(ind_context_desc){.trace = {begin, NULL, NULL}}, &c) == IND_ERROR_INVALID_ARGUMENT,
          "half a trace");
    test_launches();
    return check_summary();
}
