/* test_passes.c - passes of the user: points and order, what a visit sees, replacements of every kind, refusals, every
 * allocation failing in turn. */
#include "inductor.h"

#include "check.h"
#include <string.h>

static const char text[] =
    "graph g {\n  size B in [1, 8]\n  input x : f32[B, 4]\n  const w : f32[4]\n  a = mul(x, 2)\n  b = add(a, w)\n"
    "  v, i = topk(b, k=2, dim=1)\n  s = sum(b, dim=[1], keepdim=true)\n  y = div(v, s)\n  unused = exp(x)\n  output "
    "y, i\n}\n";

typedef struct record {
    char seen[512];
    const char *replace; /* the op to replace */
    int how;
} record;

enum {
    KEEP,
    BY_OPERAND,
    BY_BUILT,
    BY_OTHER_TYPE,
    BY_OTHER_SHAPE,
    BY_OLD_TENSOR,
    BY_NUMBER,
    BY_FAILURE,
    BY_SECOND_RESULT
};

static ind_tensor visit(const ind_visited_op *op, void *user) {
    record *r = user;
    const size_t used = strlen(r->seen);
    snprintf(r->seen + used, sizeof r->seen - used, "%s%s:%d/%d/%d", used ? " " : "", op->name, op->num_operands,
             op->num_results, op->num_users);
    if (!r->replace || strcmp(op->name, r->replace)) return IND_NO_TENSOR;
    switch (r->how) {
    case BY_OPERAND: return op->operand[0];
    case BY_BUILT: return ind_neg(ind_neg(ind_alias(op->operand[0])));
    case BY_OTHER_TYPE: return ind_cast(op->operand[0], IND_F16);
    case BY_OTHER_SHAPE: return ind_unsqueeze(op->operand[0], 0);
    case BY_OLD_TENSOR: return op->result[0];
    case BY_NUMBER: return ind_scalar(op->graph, 1);
    case BY_FAILURE: return ind_matmul(op->operand[0], op->operand[0]);
    case BY_SECOND_RESULT: return ind_result(ind_apply(op->graph, "topk($0, k=2, dim=1)", op->operand, 1), 1);
    default: return IND_NO_TENSOR;
    }
}

/* Compiles with one pass. Returns the module's graph, or the error. */
static const char *compiled(ind_pass_point point, record *r, ind_status *status) {
    static char out[2048];
    ind_context *c;
    ind_module *m = NULL;
    ind_pass_desc pass = {.name = "mine", .point = point, .visit = visit, .user = r};
    ind_compile_desc desc = {.emit_only = true};
    CHECK(!ind_context_create(NULL, &c) && !ind_pass_register(c, &pass), "pass");
    ind_graph *g = ind_graph_parse(c, text, "g");
    *status = ind_compile(g, &desc, &m);
    snprintf(out, sizeof out, "%s", *status ? ind_error(c) : ind_module_text(m, IND_STAGE_GRAPH));
    if (!*status && r->replace)
        CHECK(strstr(ind_module_text(m, IND_STAGE_PASSES), "mine: "), "%s", ind_module_text(m, IND_STAGE_PASSES));
    ind_context_destroy(c);
    return out;
}

static void check_visits(void) {
    ind_status status;
    record start = {0}, last = {0};
    compiled(IND_POINT_START, &start, &status);
    CHECK(!status && !strcmp(start.seen, "mul:2/1/1 add:2/1/2 topk:1/2/2 sum:1/1/1 div:2/1/1"), "%s", start.seen);
    compiled(IND_POINT_LOWERING, &last, &status);
    CHECK(!status && !strcmp(last.seen, start.seen), "%s", last.seen);
}

static void check_replacements(void) {
    static const struct {
        const char *op;
        int how;
        ind_pass_point point;
        ind_status status;
        const char *want; /* in the graph or in the message */
    } cases[] = {
        {"mul", BY_OPERAND, IND_POINT_START, IND_OK, "b : f32[B, 4] = add(x, w)"},
        {"mul", BY_OPERAND, IND_POINT_LOWERING, IND_OK, "b : f32[B, 4] = add(x, w)"},
        {"mul", BY_BUILT, IND_POINT_START, IND_OK, "b : f32[B, 4] = add(x, w)"}, /* noop removes what it built */
        {"mul", BY_BUILT, IND_POINT_OPTIMISED, IND_OK, "b : f32[B, 4] = add(x, w)"},
        {"mul", BY_BUILT, IND_POINT_LOWERING, IND_OK, "a : f32[B, 4] = neg(neg)"},
        {"mul", BY_OTHER_TYPE, IND_POINT_START, IND_ERROR_TYPE_MISMATCH,
         "pass mine: a is f32[B, 4], its replacement is f16[B, 4]"},
        {"mul", BY_OTHER_SHAPE, IND_POINT_START, IND_ERROR_TYPE_MISMATCH,
         "pass mine: a is f32[B, 4], its replacement is f32[1, B, 4]"},
        {"mul", BY_OLD_TENSOR, IND_POINT_START, IND_ERROR_INVALID_ARGUMENT,
         "pass mine: the replacement of a is not a tensor of the new graph"},
        {"mul", BY_NUMBER, IND_POINT_START, IND_ERROR_TYPE_MISMATCH, "pass mine: a is f32[B, 4], its replacement is"},
        {"mul", BY_FAILURE, IND_POINT_OPTIMISED, IND_ERROR_SHAPE_MISMATCH, "pass mine: matmul: "},
        {"topk", BY_OPERAND, IND_POINT_START, IND_ERROR_TYPE_MISMATCH,
         "pass mine: v is f32[B, 2], its replacement is f32[B, 4]"},
        {"topk", BY_SECOND_RESULT, IND_POINT_START, IND_ERROR_TYPE_MISMATCH,
         "pass mine: v is f32[B, 2], its replacement is i64[B, 2]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ind_status status;
        record r = {.replace = cases[i].op, .how = cases[i].how};
        const char *got = compiled(cases[i].point, &r, &status);
        CHECK(status == cases[i].status && strstr(got, cases[i].want), "case %zu: %s: %s", i, ind_status_text(status),
              got);
    }
}

static void check_registration(void) {
    ind_context *c;
    CHECK(!ind_context_create(NULL, &c), "context");
    ind_pass_desc ok = {.name = "mine", .visit = visit}, none = {.name = "none"},
                  far = {.name = "far", .point = IND_NUM_PASS_POINTS, .visit = visit};
    CHECK(ind_pass_register(NULL, &ok) == IND_ERROR_INVALID_ARGUMENT &&
              ind_pass_register(c, NULL) == IND_ERROR_INVALID_ARGUMENT,
          "NULL");
    CHECK(ind_pass_register(c, &none) == IND_ERROR_INVALID_ARGUMENT, "no function");
    CHECK(ind_pass_register(c, &far) == IND_ERROR_INVALID_ARGUMENT &&
              !strcmp(ind_error(c), "pass far: there is no point 3"),
          "%s", ind_error(c));
    CHECK(!ind_pass_register(c, &ok) && ind_pass_register(c, &ok) == IND_ERROR_INVALID_ARGUMENT, "twice");
    CHECK(!strcmp(ind_error(c), "pass mine is already registered"), "%s", ind_error(c));
    ind_context_destroy(c);
}

static void check_queries(void) {
    ind_context *c;
    double number = 0;
    int64_t value = 0;
    ind_expr dim[4];
    CHECK(!ind_context_create(NULL, &c), "context");
    ind_graph *g = ind_graph_create(c, "g");
    ind_tensor x = ind_input(g, "x", "f32[3, 4]"), two = ind_scalar(g, 2), a = ind_mul(x, two);
    ind_tensor s = ind_apply(g, "sum($0, dim=[1], keepdim=true)", &a, 1),
               d = ind_apply(g, "div($0, 3, rounding_mode=\"floor\")", &a, 1);
    ind_tensor e = ind_leaky_relu(x, 0.25);
    CHECK(ind_tensor_op(a) == IND_OP_MUL && ind_tensor_num_operands(a) == 2 && ind_tensor_operand(a, 0).id == x.id,
          "operands");
    CHECK(!ind_tensor_operand(a, 2).id && !ind_tensor_operand(a, -1).id && ind_tensor_op(IND_NO_TENSOR) == IND_NUM_OPS,
          "absent");
    CHECK(ind_tensor_number(two, &number) && number == 2 && !ind_tensor_number(x, &number) &&
              !ind_tensor_number(two, NULL),
          "number");
    CHECK(ind_tensor_attr_int(s, "keepdim", &value) && value == 1 && !ind_tensor_attr_int(s, "dim", &value), "int");
    CHECK(ind_tensor_attr_list(s, "dim", dim, 4) == 1 && ind_expr_is_int(dim[0], &value) && value == 1, "list");
    CHECK(ind_tensor_attr_list(s, "keepdim", dim, 4) == -1 && ind_tensor_attr_list(s, "other", NULL, 0) == -1,
          "no list");
    CHECK(ind_tensor_attr_string(d, "rounding_mode") && !strcmp(ind_tensor_attr_string(d, "rounding_mode"), "floor"),
          "string");
    CHECK(!ind_tensor_attr_string(d, NULL) && !ind_tensor_attr_string(a, "rounding_mode"), "no string");
    CHECK(ind_tensor_attr_float(e, "negative_slope", &number) && number == 0.25 &&
              !ind_tensor_attr_float(e, "slope", &number),
          "float");
    ind_context_destroy(c);
}

/* Ops with any number of operands are visited. */
static void check_many_operands(void) {
    ind_context *c;
    ind_module *m;
    ind_tensor x[200];
    record r = {.replace = "cat", .how = KEEP};
    ind_pass_desc pass = {.name = "mine", .visit = visit, .user = &r};
    ind_compile_desc desc = {.emit_only = true};
    CHECK(!ind_context_create(NULL, &c) && !ind_pass_register(c, &pass), "pass");
    ind_graph *g = ind_graph_create(c, "g");
    x[0] = ind_input(g, "x", "f32[2]");
    for (int i = 1; i < 200; i++) x[i] = x[0];
    ind_output(g, "y", ind_cat(x, 200, 0));
    CHECK(!ind_compile(g, &desc, &m) && !strcmp(r.seen, "cat:200/1/1"), "%s", r.seen);
    ind_context_destroy(c);
}

static bool pass_under_faults(check_heap *heap, long fail_at) {
    *heap = (check_heap){.fail_at = fail_at};
    ind_context_desc desc = {.allocator = {check_alloc, check_free, heap}};
    ind_compile_desc compile = {.emit_only = true};
    record r = {.replace = "mul", .how = BY_BUILT};
    ind_pass_desc pass = {.name = "mine", .point = IND_POINT_OPTIMISED, .visit = visit, .user = &r};
    ind_context *c = NULL;
    ind_module *m = NULL;
    bool ok = !ind_context_create(&desc, &c) && !ind_pass_register(c, &pass);
    ind_graph *g = ok ? ind_graph_parse(c, text, "g") : NULL;
    ok = g && !ind_compile(g, &compile, &m);
    if (c) CHECK(ok || ind_error_status(c) == IND_ERROR_OUT_OF_MEMORY, "allocation %ld: %s", fail_at, ind_error(c));
    ind_context_destroy(c);
    CHECK(heap->live == 0, "allocation %ld: %ld allocations are left", fail_at, heap->live);
    return ok;
}

int main(void) {
    check_heap heap;
    check_visits();
    check_replacements();
    check_registration();
    check_queries();
    check_many_operands();
    CHECK(pass_under_faults(&heap, 0), "no fault");
    const long calls = heap.calls;
    for (long n = 1; n <= calls; n++) pass_under_faults(&heap, n);
    return check_summary();
}
