/* own_ops.h - what fuzz_ops.c draws beside the op table: ops that a user brings along. Functions of one element in CUDA
 * C with a twin in C, loop functions, combine functions of scans, extern calls. The latter two of these and functions
 * stand in the text form; loop functions (`x = pointwise2(a, b)`) and scans (`x, y = scan1(a, b; dim=-1 ..)`) are lines
 * that own_parse alone reads. */
#ifndef OWN_OPS_H
#define OWN_OPS_H

#include "inductor.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of what types operands should be: f floats, i integers, b bool, n numbers, v any. */
typedef struct own_op {
    const char *name, *operands;
    bool smooth, same_bits; /* as the lists of these names in fuzz_ops.c */
} own_op;

/* ---- functions of one element */

static ind_element own_swish(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.f = x[0].f / (1.0f + expf(-x[1].f * x[0].f))};
}

static ind_element own_squared_difference(const ind_element *x, void *user) {
    const float d = x[0].f - x[1].f;
    (void)user;
    return (ind_element){.f = d * d};
}

static ind_element own_scaled(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.d = x[0].d * (double)x[1].i - 0.25};
}

static ind_element own_pick(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.i = x[2].i ? x[0].i : x[1].i};
}

static ind_element own_above(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.i = x[0].f > x[1].f};
}

static ind_element own_bits(const ind_element *x, void *user) {
    (void)user;
    return (ind_element){.i = (x[0].i ^ x[1].i) & 1023};
}

static const ind_function_desc own_functions[] = {
    {"own_swish(x: f32, beta: f32) -> f32", "x / (1.0f + expf(-beta * x))", own_swish, NULL},
    {"own_squared_difference(x: bf16, y: bf16) -> bf16", "const float d = x - y;\nreturn d * d;",
     own_squared_difference, NULL},
    {"own_scaled(x: f64, n: i64) -> f64", "x * (double)n - 0.25", own_scaled, NULL},
    {"own_pick(x: i64, y: i64, first: bool) -> i64", "first ? x : y", own_pick, NULL},
    {"own_above(x: f16, y: f32) -> bool", "x > y", own_above, NULL},
    {"own_bits(x: i64, y: i32) -> i16", "(short)((x ^ y) & 1023)", own_bits, NULL},
};
static const own_op own_calls[] = {
    {"own_swish", "ff", true, false},  {"own_squared_difference", "ff", true, false},
    {"own_scaled", "fi", true, false}, {"own_pick", "iib", false, true},
    {"own_above", "ff", false, false}, {"own_bits", "ii", false, false},
};

/* ---- loop functions */

typedef struct own_loop {
    ind_tensor x[2];
} own_loop;

static ind_value own_constant(ind_ops *o, ind_value like, int value) {
    ind_dtype dtype = ind_op_dtype(o, like);
    return ind_dtype_is_float(dtype) ? ind_op_constant(o, value, dtype) : ind_op_constant_int(o, value, dtype);
}

/* x[.., n - 1 - i] */
static ind_value own_mirrored(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const own_loop *l = user;
    ind_expr at[IND_MAX_RANK];
    for (int d = 0; d < rank; d++) at[d] = index[d];
    ind_expr last = ind_expr_sub(ind_tensor_size(l->x[0], -1), ind_int(ind_op_context(o), 1));
    if (rank) at[rank - 1] = ind_expr_sub(last, index[rank - 1]);
    return ind_op_load(o, l->x[0], at, rank);
}

static ind_value own_load(ind_ops *o, const ind_expr *index, int rank, void *user) {
    return ind_op_load(o, ((const own_loop *)user)->x[0], index, rank);
}

/* x[.., i] + x[.., i + 1], which is 0 behind the end */
static ind_value own_neighbours(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const own_loop *l = user;
    ind_expr at[IND_MAX_RANK];
    if (!rank) return own_load(o, index, rank, user);
    for (int d = 0; d < rank; d++) at[d] = index[d];
    at[rank - 1] = ind_expr_add(index[rank - 1], ind_int(ind_op_context(o), 1));
    ind_value inside =
        ind_op_lt(o, ind_op_index(o, at[rank - 1], IND_I64), ind_op_index(o, ind_tensor_size(l->x[0], -1), IND_I64));
    return ind_op_add(o, own_load(o, index, rank, user), ind_op_masked(o, inside, own_load, at, rank, user, 0));
}

/* tanh(x) * y + 2 */
static ind_value own_mixed(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const own_loop *l = user;
    ind_value x = ind_op_load(o, l->x[0], index, rank), y = ind_op_load(o, l->x[1], index, rank);
    return ind_op_add(o, ind_op_mul(o, ind_op_tanh(o, x), y), own_constant(o, x, 2));
}

/* y[x], by the first dimension of y */
static ind_value own_looked_up(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const own_loop *l = user;
    ind_value x = ind_op_load(o, l->x[0], index, rank);
    ind_expr at = ind_op_indirect(o, x, ind_tensor_size(l->x[1], 0), true);
    return ind_op_load(o, l->x[1], &at, 1);
}

/* x > 0 ? x : the place along the last dimension */
static ind_value own_place(ind_ops *o, const ind_expr *index, int rank, void *user) {
    const own_loop *l = user;
    ind_value x = ind_op_load(o, l->x[0], index, rank), zero = own_constant(o, x, 0);
    ind_expr at = rank ? index[rank - 1] : ind_int(ind_op_context(o), 0);
    return ind_op_where(o, ind_op_gt(o, x, zero), x, ind_op_index(o, at, ind_op_dtype(o, x)));
}

static const own_op own_pointwise[] = {
    {"mirrored", "v", true, true},   {"neighbours", "n", true, false}, {"mixed", "ff", true, false},
    {"looked_up", "iv", true, true}, {"place", "n", false, true},
};
static const ind_loop_fn own_loop_functions[] = {own_mirrored, own_neighbours, own_mixed, own_looked_up, own_place};

/* ---- combine functions */

static void own_larger(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)user;
    out[0] = ind_op_maximum(o, l[0], r[0]);
}

static void own_plus(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)user;
    out[0] = ind_op_add(o, l[0], r[0]);
}

/* Of y = a * y + b, one step after the other. */
static void own_recurrence(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    (void)user;
    out[0] = ind_op_mul(o, l[0], r[0]);
    out[1] = ind_op_add(o, ind_op_mul(o, l[1], r[0]), r[1]);
}

/* The last element that is not 0, and its neighbour. */
static void own_last(ind_ops *o, const ind_value *l, const ind_value *r, ind_value *out, void *user) {
    ind_value there = ind_op_ne(o, r[0], own_constant(o, r[0], 0));
    (void)user;
    out[0] = ind_op_where(o, there, r[0], l[0]);
    out[1] = ind_op_where(o, there, r[1], l[1]);
}

static const own_op own_scans[] = {
    {"larger", "n", true, true},
    {"plus", "n", true, false},
    {"recurrence", "ff", true, false},
    {"last", "nn", false, true},
};
static const ind_combine_fn own_combine[] = {own_larger, own_plus, own_recurrence, own_last};

/* ---- extern calls: they only move bytes, on the host or by the driver */

typedef int (*own_copy_fn)(unsigned long long to, unsigned long long from, size_t bytes, void *stream);
static own_copy_fn own_copy;

static void own_find_driver(void) {
    const char *path = getenv("IND_CUDA_LIBRARY");
    void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
    void *copy = library ? dlsym(library, "cuMemcpyDtoDAsync_v2") : NULL;
    memcpy(&own_copy, &copy, sizeof copy);
}

static ind_status own_move(const ind_extern_call *c, void *to, const void *from, size_t bytes) {
    if (!bytes) return IND_OK;
    if (c->device == IND_DEVICE_HOST) return memmove(to, from, bytes), IND_OK;
    if (!own_copy) own_find_driver();
    return !own_copy || own_copy((uintptr_t)to, (uintptr_t)from, bytes, c->stream) ? IND_ERROR_DEVICE : IND_OK;
}

static size_t own_bytes(const ind_extern_tensor *t) {
    size_t n = (size_t)ind_dtype_bytes(t->dtype);
    for (int d = 0; d < t->rank; d++) n *= (size_t)t->size[d];
    return n;
}

/* y[i] = x[(i + 1) % rows] by way of the workspace, and a copy of x. */
static ind_status own_turn(const ind_extern_call *c) {
    size_t bytes = own_bytes(&c->input[0]), rows = bytes ? (size_t)c->input[0].size[0] : 1, row = bytes / rows;
    char *y = c->output[0].data;
    if (c->workspace_bytes < (int64_t)bytes) return IND_ERROR_INVALID_ARGUMENT;
    ind_status status = own_move(c, c->workspace, c->input[0].data, bytes);
    if (!status && bytes) status = own_move(c, y, (char *)c->workspace + row, bytes - row);
    if (!status && bytes) status = own_move(c, y + bytes - row, c->workspace, row);
    return status ? status : own_move(c, c->output[1].data, c->workspace, bytes);
}

static ind_status own_turn_shape(ind_context *c, const ind_extern_type *input, int num_inputs, ind_extern_type *result,
                                 int *num_results, ind_expr *workspace, void *user) {
    (void)user;
    if (num_inputs != 1 || !input[0].rank) return ind__fail(c, IND_ERROR_SHAPE_MISMATCH, "own_turn takes rows");
    result[0] = result[1] = input[0];
    *num_results = 2;
    *workspace = ind_int(c, ind_dtype_bytes(input[0].dtype));
    for (int d = 0; d < input[0].rank; d++) *workspace = ind_expr_mul(*workspace, input[0].size[d]);
    return IND_OK;
}

/* The beginning of x becomes y. */
static ind_status own_put(const ind_extern_call *c) {
    size_t most = own_bytes(&c->output[0]), bytes = own_bytes(&c->input[1]);
    if (c->input[0].dtype != c->input[1].dtype || c->output[0].data != c->input[0].data) return IND_ERROR_NOT_SUPPORTED;
    return own_move(c, c->output[0].data, c->input[1].data, bytes < most ? bytes : most);
}

static const ind_extern_desc own_externs[] = {
    {"own_turn", own_turn, own_turn, own_turn_shape, NULL},
    {"own_put", own_put, own_put, NULL, NULL},
};
static const own_op own_extern_ops[] = {{"own_turn", "v", true, true}, {"own_put", "vv", true, true}};

/* ---- all of them */

static const struct {
    ind_graph_op op;
    const own_op *row;
    int num;
} own_kinds[] = {
    {IND_OP_CALL, own_calls, sizeof own_calls / sizeof *own_calls},
    {IND_OP_CUSTOM, own_pointwise, sizeof own_pointwise / sizeof *own_pointwise},
    {IND_OP_ASSOCIATIVE_SCAN, own_scans, sizeof own_scans / sizeof *own_scans},
    {IND_OP_EXTERN, own_extern_ops, sizeof own_extern_ops / sizeof *own_extern_ops},
};
enum { OWN_KINDS = sizeof own_kinds / sizeof *own_kinds };

static bool own_register(ind_context *c) {
    bool ok = true;
    for (size_t i = 0; i < sizeof own_functions / sizeof *own_functions; i++)
        ok = ok && !ind_function_register(c, &own_functions[i]);
    for (size_t i = 0; i < sizeof own_externs / sizeof *own_externs; i++)
        ok = ok && !ind_extern_register(c, &own_externs[i]);
    return ok;
}

/* ---- lines of loop functions and scans */

typedef struct own_line {
    ind_graph *g;
    int num_results, num_operands;
    char result[2][16];
    ind_tensor operand[2], segments;
    int dim, reverse, exclusive;
} own_line;

static ind_tensor own_find(ind_graph *g, const char *name) {
    return (ind_tensor){g, ind__find_named(g, name)};
}

/* "a, b" into names of at most 15 characters; what follows them. */
static const char *own_names(const char *at, char name[2][16], int *num) {
    for (*num = 0; *num < 2;) {
        at += strspn(at, " ,");
        size_t n = strcspn(at, " ,=();\n");
        if (!n || n > 15) break;
        snprintf(name[(*num)++], 16, "%.*s", (int)n, at);
        at += n;
    }
    return at + strspn(at, " ");
}

static ind_tensor own_add_pointwise(own_line *l, int which) {
    own_loop x = {{l->operand[0], l->operand[1]}};
    ind_loop_desc d = {.name = own_pointwise[which].name, .like = x.x[0], .fn = own_loop_functions[which], .user = &x};
    if (which == 3) d.dtype = ind_tensor_dtype(x.x[1]);
    return ind_pointwise(l->g, &d);
}

static ind_tensor own_add_scan(own_line *l, int which) {
    ind_tensor zero[2] = {ind_scalar(l->g, 0), ind_scalar(l->g, 0)};
    ind_scan_desc d = {.name = own_scans[which].name, .x = l->operand, .num = l->num_operands, .dim = l->dim};
    d.reverse = l->reverse;
    d.exclusive = l->exclusive;
    d.identity = zero;
    d.segments = l->segments;
    d.combine = own_combine[which];
    return ind_associative_scan(l->g, &d);
}

/* One such line; it fails as the graph does. */
static bool own_parse_line(ind_graph *g, const char *at) {
    own_line l = {.g = g};
    char operand[2][16], segments[16] = "";
    int which;
    at = own_names(at, l.result, &l.num_results);
    bool scan = !strncmp(at, "= scan", 6);
    if (sscanf(at, scan ? "= scan%d(" : "= pointwise%d(", &which) != 1) return false;
    at = own_names(strchr(at, '(') + 1, operand, &l.num_operands);
    for (int k = 0; k < l.num_operands; k++) l.operand[k] = own_find(g, operand[k]);
    if (scan)
        sscanf(at, "; dim=%d reverse=%d exclusive=%d segments=%15[^ )]", &l.dim, &l.reverse, &l.exclusive, segments);
    l.segments = *segments && strcmp(segments, "none") ? own_find(g, segments) : IND_NO_TENSOR;
    ind_tensor x = scan ? own_add_scan(&l, which) : own_add_pointwise(&l, which);
    for (int k = 0; k < l.num_results && !ind_graph_status(g); k++) ind_named(ind_result(x, k), l.result[k]);
    return !ind_graph_status(g);
}

static bool own_is_line(const char *at) {
    size_t n = strcspn(at, "=\n");
    return !strncmp(at + n, "= scan", 6) ? at[n + 6] >= '0' && at[n + 6] <= '9' : !strncmp(at + n, "= pointwise", 11);
}

static bool own_text(const char *text) {
    for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
        if (own_is_line(at)) return true;
    }
    return false;
}

/* ind_graph_parse, with these lines among the others. The error is the context's, or the graph's of such a line. */
static ind_graph *own_parse(ind_context *c, const char *text) {
    char name[IND__MAX_NAME + 1];
    ind__parser p = {.text = text, .at = text};
    if (!own_text(text)) return ind_graph_parse(c, text, NULL);
    if (!ind__parse_head(&p, name) || !(p.g = ind_graph_create(c, name))) return NULL;
    ind__need(&p, '{');
    for (ind__skip_lines(&p); !p.status && !ind__peek(&p, '}'); ind__skip_lines(&p)) {
        if (!own_is_line(p.at)) {
            ind__parse_statement(&p);
        } else if (own_parse_line(p.g, p.at)) {
            p.at = strchr(p.at, '\n');
        } else {
            p.status = ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "%s", ind_graph_error(p.g));
            p.error_at = p.at;
        }
    }
    if (!p.status) return p.g;
    if (*p.error) ind__report_position(c, &p, "own");
    ind_graph_destroy(p.g);
    return NULL;
}

#endif
