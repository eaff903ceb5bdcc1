/* The tables of architectures, devices and thresholds, and what a target of one row makes of a kernel. */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"

#include "check.h"

/* Every architecture has a device that stands for it, of its own compute capability. */
static void test_tables(void) {
    for (size_t i = 0; i < sizeof cg__architectures / sizeof *cg__architectures; i++) {
        const cg__architecture *a = &cg__architectures[i];
        const cg__device *d = cg__device_named(a->device);
        CHECK(d && d->sm == a->sm, "sm_%d: %s", a->sm, a->device);
        CHECK(a->shared_per_block + a->block_shared == a->shared_per_sm, "sm_%d", a->sm);
        CHECK(i == 0 || cg__architectures[i - 1].sm < a->sm, "sm_%d: the rows are in order", a->sm);
    }
    for (size_t i = 0; i < sizeof cg__devices / sizeof *cg__devices; i++) {
        const cg__device *d = &cg__devices[i];
        CHECK(cg__architecture_of(d->sm)->sm == d->sm, "%s", d->name);
        CHECK(cg__device_named(d->name) == d, "%s: named twice", d->name);
        CHECK(d->num_sms > 0 && d->l2_bytes > 0 && d->memory_bytes_per_ns > 0, "%s", d->name);
        CHECK(d->tensor_flops_per_ns > d->f32_flops_per_ns, "%s", d->name);
    }
}

static void test_names(ind_context *c) {
    static const struct {
        const char *name;
        int sm, num_sms, sm_threads, rate;
        bool specific;
    } row[] = {{"L4", 89, 58, 1536, 300, false},         {"H100", 90, 132, 2048, 3350, true},
               {"sm_90", 90, 132, 2048, 4800, false},    {"sm_90a", 90, 132, 2048, 4800, true},
               {"RTX 4090", 89, 128, 1536, 1008, false}, {"sm_120a", 120, 170, 1536, 1792, true}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ind_target t;
        CHECK(!ind_target_named(c, row[i].name, &t), "%s", ind_error(c));
        CHECK(t.sm == row[i].sm && t.num_sms == row[i].num_sms && t.specific == row[i].specific, "%s", row[i].name);
        CHECK(t.sm_threads == row[i].sm_threads && t.memory_bytes_per_ns == row[i].rate, "%s", row[i].name);
        CHECK(t.thresholds.flight_bytes == 32, "%s", row[i].name);
    }
    ind_target t;
    CHECK(ind_target_named(c, "L5", &t) == IND_ERROR_INVALID_ARGUMENT && strstr(ind_error(c), "\"L5\"") &&
              strstr(ind_error(c), "sm_103a, ") && strstr(ind_error(c), ", L40S, ") &&
              strstr(ind_error(c), "and RTX 5090"),
          "%s", ind_error(c));
}

/* A field that is set stays, all others are those of the row. */
static void test_defaults(void) {
    ind_target t = {.sm = 80, .num_sms = 7, .thresholds = {.flight_bytes = 16}};
    ind__target_defaults(&t);
    CHECK(t.num_sms == 7 && t.thresholds.flight_bytes == 16, "%d %d", t.num_sms, t.thresholds.flight_bytes);
    CHECK(t.memory_bytes_per_ns == 2039 && t.thresholds.split_threads == 512, "%d", t.memory_bytes_per_ns);
}

/* The rate of memory that a driver tells selects one of the devices of an architecture. */
static void test_rates(void) {
    static const struct {
        int sm, told, rate;
    } row[] = {{90, 3352, 3350}, {90, 4916, 4800}, {90, 100, 3350}, {89, 864, 864},
               {89, 700, 864},   {90, 0, 0},       {77, 900, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ind_target t = {.sm = row[i].sm, .num_sms = 7};
        ind__target_rates(&t, row[i].told);
        CHECK(t.memory_bytes_per_ns == row[i].rate && t.num_sms == 7, "%d: %d", row[i].told, t.memory_bytes_per_ns);
    }
    ind_target set = {.sm = 90, .memory_bytes_per_ns = 5};
    ind__target_rates(&set, 3352);
    CHECK(set.memory_bytes_per_ns == 5, "%d", set.memory_bytes_per_ns);
}

/* Figures that are not 0 replace those of a target. */
static void test_figures(void) {
    ind_target t = {.sm = 80};
    ind__target_defaults(&t);
    const ind_thresholds before = t.thresholds, one = {.product_multicast = 15};
    ind__target_figures(&t, &one);
    CHECK(before.product_multicast == 2 && t.thresholds.product_multicast == 15, "%d", t.thresholds.product_multicast);
    t.thresholds.product_multicast = before.product_multicast;
    CHECK(!memcmp(&t.thresholds, &before, sizeof before), "another figure was replaced");
}

static const char norm[] = "graph norm {\n size B in [1, 100000] hint 16384\n input x : bf16[B, 8192]\n"
                           " y = softmax(x, dim=1)\n output y\n}";

static char *plan_of(ind_context *c, const ind_target *target) {
    ind_compile_desc d = {.emit_only = true, .target = *target};
    ind_module *m = NULL;
    ind_graph *g = ind_graph_parse(c, norm, NULL);
    CHECK(g && !ind_compile(g, &d, &m), "%s", ind_error(c));
    const char *text = m ? ind_module_text(m, IND_STAGE_PLAN) : "";
    char *copy = (char *)malloc(strlen(text) + 1);
    if (copy) strcpy(copy, text);
    ind_module_destroy(m);
    ind_graph_destroy(g);
    return copy;
}

/* Thresholds decide: with fewer elements to a thread a block has more threads. */
static void test_thresholds(ind_context *c) {
    ind_target t;
    CHECK(!ind_target_named(c, "H200", &t), "%s", ind_error(c));
    char *before = plan_of(c, &t);
    t.thresholds.few_elements = 8;
    t.thresholds.row_registers = 32;
    t.thresholds.lane_registers = 16;
    char *after = plan_of(c, &t);
    CHECK(before && after && strcmp(before, after), "%s", after);
    free(before);
    free(after);
}

int main(void) {
    ind_context *c;
    test_tables();
    test_defaults();
    test_rates();
    test_figures();
    if (ind_context_create(NULL, &c)) return 1;
    test_names(c);
    test_thresholds(c);
    ind_context_destroy(c);
    return check_summary();
}
