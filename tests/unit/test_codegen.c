/* test_codegen.c - kernel plans and their CUDA C: each program below takes the strategy it is written for, verifies and
   prints. Every allocation failing in turn gives a status and leaks nothing.

   `test_codegen cubins ARCH` compiles the sources with NVRTC instead, without spills or local memory: as the program of
   tests/gpu/test_nvrtc.py without the sanitizers, under which NVRTC takes twice as long.
   `test_codegen NAME` prints the plan and the sources of one program instead. */
#define INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION
#include "inductor_codegen_cuda.h"

#include <string.h>

#include "check.h"
#include "system.h"

/* ---- programs, made of boxes ---- */

typedef struct program {
    ind_context *c;
    ind__lowered low;
    uint32_t outputs;
} program;

static ind_expr size_of(program *p, const char *name, int64_t lo, int64_t hi, int64_t multiple, int64_t hint) {
    ind_symbol s = {.kind = IND_SYMBOL_SIZE, .name = name, .lo = lo, .hi = hi, .multiple_of = multiple, .hint = hint};
    return ind_symbol_expr(p->c, &s);
}

static ind_expr n(program *p, int64_t value) {
    return ind_int(p->c, value);
}

static ind__box *input(program *p, const char *name, ind_dtype dtype, const ind_expr *size, int rank) {
    return ind__box_buffer(&p->low, ind__lowered_input(&p->low, name, IND__BUFFER_INPUT, dtype, size, rank));
}

static void output(program *p, ind__box *x) {
    char name[16];
    snprintf(name, sizeof name, "y%u", p->outputs);
    ind__box_output(&p->low, x, name, p->outputs++);
}

/* A value over up to four boxes; a box of lower rank is read with the last indices (broadcast). */
typedef struct value_desc {
    ind__box *x[4];
    double number;
    int mode;
} value_desc;

static ind_value at(ind_ops *o, const value_desc *d, int k, const ind_expr *index, int rank) {
    int r = d->x[k]->rank;
    return ind__box_load(o, d->x[k], index + rank - r, r);
}

static ind__box *pointwise(program *p, ind_dtype dtype, ind__box *like, ind_loop_fn fn, value_desc d) {
    return like ? ind__box_pointwise(&p->low, dtype, like->size, like->rank, fn, &d) : NULL;
}

/* Reduces the last dimension of a box (or of fn over it), results in `results`. */
static bool reduce_last(program *p, ind_reduction type, ind_dtype dtype, ind__box *x, ind_loop_fn fn, value_desc d,
                        ind__box **results) {
    if (!x) return false;
    ind__reduction_desc r = {.type = type,
                             .dtype = dtype,
                             .size = x->size,
                             .rank = x->rank - 1,
                             .rrange = x->size + x->rank - 1,
                             .rrank = 1,
                             .fn = fn,
                             .user = &d};
    return ind__box_reduction(&p->low, &r, results) == IND_OK;
}

static ind_value load_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    return at(o, (const value_desc *)user, 0, i, rank);
}

static ind_value gelu_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const value_desc *d = (const value_desc *)user;
    ind_value x = ind_op_mul(o, at(o, d, 0, i, rank), at(o, d, 1, i, rank));
    x = ind_op_add(o, x, at(o, d, 2, i, rank));
    ind_value half = ind_op_mul(o, x, ind_op_constant(o, 0.5, IND_F32));
    ind_value e = ind_op_erf(o, ind_op_mul(o, x, ind_op_constant(o, 0.70710678118654752, IND_F32)));
    ind_value g = ind_op_mul(o, half, ind_op_add(o, e, ind_op_constant(o, 1, IND_F32)));
    return ind_op_mul(o, g, ind_op_sigmoid(o, at(o, d, 2, i, rank)));
}

static ind_value add_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const value_desc *d = (const value_desc *)user;
    return ind_op_add(o, at(o, d, 0, i, rank), at(o, d, 1, i, rank));
}

static ind_value square_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    ind_value x = at(o, (const value_desc *)user, 0, i, rank);
    return ind_op_mul(o, x, x);
}

/* boxes 1 and 2 are per row */
static ind_value per_row(ind_ops *o, const value_desc *d, int k, const ind_expr *i, int rank) {
    return ind__box_load(o, d->x[k], i, rank - 1);
}

static ind_value softmax_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const value_desc *d = (const value_desc *)user;
    ind_value e = ind_op_exp(o, ind_op_sub(o, at(o, d, 0, i, rank), per_row(o, d, 1, i, rank)));
    return d->mode == 1 ? e : ind_op_div(o, e, per_row(o, d, 2, i, rank));
}

static ind_value norm_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const value_desc *d = (const value_desc *)user;
    ind_value variance = ind_op_mul(o, per_row(o, d, 2, i, rank), ind_op_constant(o, 1.0 / d->number, IND_F32));
    ind_value scale = ind_op_rsqrt(o, ind_op_add(o, variance, ind_op_constant(o, 1e-5, IND_F32)));
    ind_value x = ind_op_mul(o, ind_op_sub(o, at(o, d, 0, i, rank), per_row(o, d, 1, i, rank)), scale);
    return ind_op_mul(o, x, at(o, d, 3, i, rank));
}

static ind_value gather_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const value_desc *d = (const value_desc *)user;
    ind_value row = ind__box_load(o, d->x[1], i, d->x[1]->rank);
    ind_expr index[2] = {ind_op_indirect(o, row, d->x[0]->size[0], d->mode), i[rank - 1]};
    return ind__box_load(o, d->x[0], index, 2);
}

static ind_value flip_cat_fn(ind_ops *o, const ind_expr *i, int rank, void *user);

static void build_gelu(program *p) {
    ind_expr size[2] = {n(p, 4096), n(p, 16384)};
    ind__box *x = input(p, "x", IND_F32, size, 2), *y = input(p, "y", IND_F32, size, 2),
             *z = input(p, "z", IND_F32, size, 2);
    output(p, pointwise(p, IND_F32, x, gelu_fn, (value_desc){.x = {x, y, z}}));
}

static void build_dynamic_line(program *p) {
    ind_expr size[1] = {size_of(p, "N", 1, 1 << 30, 1, 100000)};
    ind__box *x = input(p, "x", IND_BF16, size, 1), *y = input(p, "y", IND_F32, size, 1);
    output(p, pointwise(p, IND_BF16, x, add_fn, (value_desc){.x = {x, y}}));
}

static void build_broadcast(program *p) {
    ind_expr size[3] = {size_of(p, "B", 1, 64, 1, 8), size_of(p, "S", 1, 512, 1, 128), n(p, 384)};
    ind__box *x = input(p, "x", IND_BF16, size, 3), *b = input(p, "b", IND_BF16, size + 2, 1);
    output(p, pointwise(p, IND_BF16, x, add_fn, (value_desc){.x = {x, b}}));
}

static void build_huge(program *p) {
    ind_expr size[2] = {size_of(p, "B", 1, 1 << 20, 1, 8), n(p, 30522)};
    ind__box *x = input(p, "x", IND_F32, size, 2), *b = input(p, "b", IND_F32, size + 1, 1);
    output(p, pointwise(p, IND_F32, x, add_fn, (value_desc){.x = {x, b}}));
}

static void build_transpose(program *p) {
    ind_expr size[2] = {n(p, 8192), n(p, 8190)}, turned[2] = {size[1], size[0]};
    ind__box *x = input(p, "x", IND_F32, size, 2), *y = input(p, "y", IND_F32, turned, 2);
    ind_expr map[2] = {ind__index_symbol(p->c, 'i', 1, turned[1]), ind__index_symbol(p->c, 'i', 0, turned[0])};
    ind__box *t = ind__box_view(&p->low, x, turned, 2, map);
    output(p, pointwise(p, IND_F32, y, add_fn, (value_desc){.x = {t, y}}));
}

static void build_transpose_vectors(program *p) {
    ind_expr size[2] = {n(p, 8192), size_of(p, "S", 1, 1 << 16, 1, 8192)}, turned[2] = {size[1], size[0]};
    ind__box *x = input(p, "x", IND_BF16, size, 2), *y = input(p, "y", IND_F32, turned, 2);
    ind_expr map[2] = {ind__index_symbol(p->c, 'i', 1, turned[1]), ind__index_symbol(p->c, 'i', 0, turned[0])};
    ind__box *t = ind__box_view(&p->low, x, turned, 2, map);
    output(p, pointwise(p, IND_F32, y, add_fn, (value_desc){.x = {t, y}}));
}

static void build_heads(program *p) { /* [B, S, H, D] to [B, H, S, D]: contiguous both ways */
    ind_expr b = size_of(p, "B", 1, 64, 1, 8), s = size_of(p, "S", 1, 512, 1, 128);
    ind_expr size[4] = {b, s, n(p, 12), n(p, 32)}, out[4] = {b, n(p, 12), s, n(p, 32)}, i[4];
    ind__box *x = input(p, "x", IND_BF16, size, 4);
    for (int d = 0; d < 4; d++) i[d] = ind__index_symbol(p->c, 'i', d, out[d]);
    ind_expr map[4] = {i[0], i[2], i[1], i[3]};
    ind__box *t = ind__box_view(&p->low, x, out, 4, map);
    output(p, pointwise(p, IND_BF16, t, load_fn, (value_desc){.x = {t}}));
}

static void softmax_of(program *p, ind_dtype dtype, const ind_expr *size, int rank) {
    ind__box *x = input(p, "x", dtype, size, rank), *r[2];
    if (!reduce_last(p, IND_REDUCE_ONLINE_SOFTMAX, IND_F32, x, load_fn, (value_desc){.x = {x}}, r)) return;
    output(p, pointwise(p, dtype, x, softmax_fn, (value_desc){.x = {x, r[0], r[1]}}));
}

static void build_softmax(program *p) {
    softmax_of(p, IND_BF16, (ind_expr[]){n(p, 8192), n(p, 4096)}, 2);
}

static void build_softmax_long(program *p) {
    softmax_of(p, IND_BF16, (ind_expr[]){n(p, 64), n(p, 200000)}, 2);
}

static void build_softmax_attention(program *p) {
    ind_expr s = size_of(p, "S", 1, 512, 1, 128);
    softmax_of(p, IND_F32, (ind_expr[]){size_of(p, "B", 1, 64, 1, 8), n(p, 12), s, s}, 4);
}

static void build_softmax_tiny(program *p) {
    softmax_of(p, IND_F32, (ind_expr[]){n(p, 100000), n(p, 10)}, 2);
}

static void build_softmax_two_reductions(program *p) {
    ind_expr size[2] = {n(p, 1000), n(p, 1001)};
    ind__box *x = input(p, "x", IND_F16, size, 2), *m, *s;
    if (!reduce_last(p, IND_REDUCE_MAX, IND_F32, x, load_fn, (value_desc){.x = {x}}, &m)) return;
    if (!reduce_last(p, IND_REDUCE_SUM, IND_F32, x, softmax_fn, (value_desc){.x = {x, m}, .mode = 1}, &s)) return;
    output(p, pointwise(p, IND_F16, x, softmax_fn, (value_desc){.x = {x, m, s}}));
}

static void norm_of(program *p, ind_expr rows, int64_t width, bool residual) {
    ind_expr size[2] = {rows, n(p, width)};
    ind__box *x = input(p, "x", IND_BF16, size, 2), *y = input(p, "y", IND_BF16, size, 2), *r[2];
    ind__box *w = input(p, "w", IND_F32, size + 1, 1), *sum = x;
    if (residual) {
        sum = pointwise(p, IND_BF16, x, add_fn, (value_desc){.x = {x, y}});
        output(p, sum);
    }
    if (!reduce_last(p, IND_REDUCE_WELFORD, IND_F32, sum, load_fn, (value_desc){.x = {sum}}, r)) return;
    output(p, pointwise(p, IND_BF16, x, norm_fn, (value_desc){.x = {sum, r[0], r[1], w}, .number = (double)width}));
}

static void build_combined(program *p) {
    ind_expr s = size_of(p, "S", 1, 512, 1, 128);
    softmax_of(p, IND_F32, (ind_expr[]){n(p, 10), s}, 2);
    softmax_of(p, IND_F32, (ind_expr[]){s, n(p, 12)}, 2);
    softmax_of(p, IND_BF16, (ind_expr[]){s, n(p, 12)}, 2);
    softmax_of(p, IND_F32, (ind_expr[]){n(p, 20), n(p, 12)}, 2);
}

static void build_layers(program *p) {
    softmax_of(p, IND_F32, (ind_expr[]){n(p, 500), n(p, 16000)}, 2);
    softmax_of(p, IND_F32, (ind_expr[]){n(p, 500), n(p, 16000)}, 2);
}
static void build_layer_norm(program *p) {
    norm_of(p, size_of(p, "R", 1, 65536, 1, 4096), 384, false);
}

static void build_add_layer_norm(program *p) {
    norm_of(p, n(p, 16384), 4096, true);
}

static void build_layer_norm_long(program *p) {
    norm_of(p, n(p, 128), 100000, false);
}

static void build_embedding_norm(program *p) {
    ind_expr table[2] = {n(p, 30522), n(p, 384)}, tokens[1] = {size_of(p, "T", 1, 65536, 1, 4096)};
    ind_expr out[2] = {tokens[0], table[1]};
    ind__box *w = input(p, "w", IND_F32, table, 2), *id = input(p, "id", IND_I64, tokens, 1), *r[2];
    ind__box *g = input(p, "g", IND_F32, table + 1, 1);
    value_desc d = {.x = {w, id}, .mode = 1};
    ind__box *e = ind__box_pointwise(&p->low, IND_F32, out, 2, gather_fn, &d);
    if (!reduce_last(p, IND_REDUCE_WELFORD, IND_F32, e, load_fn, (value_desc){.x = {e}}, r)) return;
    output(p, pointwise(p, IND_F32, e, norm_fn, (value_desc){.x = {e, r[0], r[1], g}, .number = 384}));
}

static void build_column_sum(program *p) {
    ind_expr size[2] = {n(p, 16384), n(p, 4096)}, turned[2] = {size[1], size[0]};
    ind__box *x = input(p, "x", IND_F32, size, 2), *r;
    ind_expr map[2] = {ind__index_symbol(p->c, 'i', 1, turned[1]), ind__index_symbol(p->c, 'i', 0, turned[0])};
    ind__box *t = ind__box_view(&p->low, x, turned, 2, map);
    if (reduce_last(p, IND_REDUCE_SUM, IND_F32, t, load_fn, (value_desc){.x = {t}}, &r)) output(p, r);
}

static ind__box *transposed_input(program *p, ind_expr *turned) {
    ind_expr size[3] = {size_of(p, "B", 1, 64, 1, 8), n(p, 77), n(p, 384)}, i[3];
    ind__box *x = input(p, "x", IND_F16, size, 3);
    turned[0] = size[0], turned[1] = size[2], turned[2] = size[1];
    for (int d = 0; d < 3; d++) i[d] = ind__index_symbol(p->c, 'i', d, turned[d]);
    return ind__box_view(&p->low, x, turned, 3, (ind_expr[]){i[0], i[2], i[1]});
}

/* States of many reductions at once: more shared memory than a block has, at the usual number of threads. */
static void build_column_many(program *p) {
    static const ind_reduction types[] = {IND_REDUCE_WELFORD, IND_REDUCE_SUM, IND_REDUCE_PROD,
                                          IND_REDUCE_MAX,     IND_REDUCE_MIN, IND_REDUCE_ONLINE_SOFTMAX};
    ind_expr size[2] = {n(p, 100000), n(p, 64)}, turned[2] = {size[1], size[0]};
    ind__box *x = input(p, "x", IND_F64, size, 2);
    ind_expr map[2] = {ind__index_symbol(p->c, 'i', 1, turned[1]), ind__index_symbol(p->c, 'i', 0, turned[0])};
    ind__box *t = ind__box_view(&p->low, x, turned, 2, map);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        ind__box *r[2];
        if (reduce_last(p, types[k], IND_F64, t, load_fn, (value_desc){.x = {t}}, r)) output(p, r[0]);
    }
}

static void build_column_logsumexp(program *p) {
    ind_expr turned[3];
    ind__box *t = transposed_input(p, turned), *r[2];
    if (!reduce_last(p, IND_REDUCE_ONLINE_SOFTMAX, IND_F32, t, load_fn, (value_desc){.x = {t}}, r)) return;
    output(p, r[0]);
    output(p, r[1]);
}

static void build_column_softmax(program *p) { /* reads along P, writes along R */
    ind_expr turned[3];
    ind__box *t = transposed_input(p, turned), *r[2];
    if (!reduce_last(p, IND_REDUCE_ONLINE_SOFTMAX, IND_F32, t, load_fn, (value_desc){.x = {t}}, r)) return;
    output(p, pointwise(p, IND_F16, t, softmax_fn, (value_desc){.x = {t, r[0], r[1]}}));
}

static void build_full_sum(program *p) {
    ind_expr size[1] = {n(p, 1 << 28)};
    ind__box *x = input(p, "x", IND_F32, size, 1), *r;
    if (reduce_last(p, IND_REDUCE_SUM, IND_F32, x, square_fn, (value_desc){.x = {x}}, &r)) output(p, r);
}

/* Few rows, and what is reduced of what is found of each. */
static void build_finish(program *p) {
    ind_expr size[2] = {size_of(p, "B", 0, 1 << 20, 1, 64), n(p, 4096)};
    ind__box *x = input(p, "x", IND_BF16, size, 2), *m, *s;
    if (!reduce_last(p, IND_REDUCE_MAX, IND_F32, x, load_fn, (value_desc){.x = {x}}, &m)) return;
    if (reduce_last(p, IND_REDUCE_SUM, IND_F32, m, square_fn, (value_desc){.x = {m}}, &s)) output(p, s);
}

/* Every reduction over every type that it exists for, with a length that no vector divides. */
static void build_all_reductions(program *p) {
    static const ind_dtype dtypes[] = {IND_BOOL, IND_U8, IND_I8, IND_I16, IND_I32, IND_I64, IND_F16, IND_F32, IND_F64};
    static const ind_reduction types[] = {IND_REDUCE_SUM, IND_REDUCE_PROD, IND_REDUCE_MAX,
                                          IND_REDUCE_MIN, IND_REDUCE_ANY,  IND_REDUCE_ARGMAX};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            bool sums = types[t] == IND_REDUCE_SUM || types[t] == IND_REDUCE_PROD;
            if (dtypes[d] == IND_BOOL && sums) continue;
            ind_expr size[2] = {n(p, 33), size_of(p, t % 2 ? "L" : "K", 0, t % 2 ? 99999 : 700, 1, t % 2 ? 5000 : 300)};
            ind__box *x = input(p, "x", dtypes[d], size, 2), *r;
            ind_dtype to = types[t] == IND_REDUCE_ANY ? IND_BOOL : types[t] == IND_REDUCE_ARGMAX ? IND_I64 : dtypes[d];
            if (reduce_last(p, types[t], to, x, load_fn, (value_desc){.x = {x}}, &r)) output(p, r);
        }
}

static ind_value unary_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const value_desc *d = (const value_desc *)user;
    ind_value x = at(o, d, 0, i, rank);
    return d->x[1] ? ind__emit2(o, (ind_loop_op)d->mode, x, at(o, d, 1, i, rank))
                   : ind__emit1(o, (ind_loop_op)d->mode, x);
}

/* Every op of the table in every type that it has a template for. */
static void build_all_ops(program *p) {
    static const ind_dtype dtypes[] = {IND_BOOL, IND_U8, IND_I8, IND_I16, IND_I32, IND_I64, IND_BF16, IND_F32, IND_F64};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int op = IND_LOOP_ROUND_F16; op < IND_NUM_LOOP_OPS; op++) {
            if (!cg__find_op_template((ind_loop_op)op, dtypes[d]) || ind__loop_op_arity((ind_loop_op)op) > 2) continue;
            bool compares = ind__loop_op_class((ind_loop_op)op) == 'c', two = ind__loop_op_arity((ind_loop_op)op) == 2;
            ind_expr size[1] = {n(p, 1000 + op)};
            ind__box *x = input(p, "x", dtypes[d], size, 1), *y = input(p, "y", dtypes[d], size, 1);
            ind_dtype to = compares ? IND_BOOL : dtypes[d];
            output(p, pointwise(p, to, x, unary_fn, (value_desc){.x = {x, two ? y : NULL}, .mode = op}));
        }
}

static ind_value cast_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const value_desc *d = (const value_desc *)user;
    return ind_op_cast(o, at(o, d, 0, i, rank), (ind_dtype)d->mode);
}

static void build_all_casts(program *p) {
    for (int from = IND_BOOL; from < IND_NUM_DTYPES; from++)
        for (int to = IND_BOOL; to < IND_NUM_DTYPES; to++) {
            ind_expr size[1] = {n(p, 4096 + 100 * from + to)};
            ind__box *x = input(p, "x", (ind_dtype)from, size, 1);
            output(p, pointwise(p, (ind_dtype)to, x, cast_fn, (value_desc){.x = {x}, .mode = to}));
        }
}

/* cat(x, y) along the last dimension, then reversed: masks, negative strides, constants. */
static ind_value load_part(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const value_desc *d = (const value_desc *)user;
    return ind__box_load(o, d->x[0], i, rank);
}

static ind_value flip_cat_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const value_desc *d = (const value_desc *)user;
    ind_context *c = ind_op_context(o);
    ind_expr first = d->x[0]->size[rank - 1], total = ind_expr_add(first, d->x[1]->size[rank - 1]), j[IND_MAX_RANK];
    for (int k = 0; k < rank; k++) j[k] = i[k];
    j[rank - 1] = ind_expr_sub(ind_expr_sub(total, ind_int(c, 1)), i[rank - 1]);
    ind_value in_first = ind_op_lt(o, ind_op_index(o, j[rank - 1], IND_I64), ind_op_index(o, first, IND_I64));
    ind_value a = ind_op_masked(o, in_first, load_part, j, rank, (void *)(uintptr_t)d, 0);
    j[rank - 1] = ind_expr_sub(j[rank - 1], first);
    value_desc second = {.x = {d->x[1]}};
    ind_value b = ind_op_masked(o, ind_op_not(o, in_first), load_part, j, rank, &second, 0);
    return ind_op_where(o, in_first, a, b);
}

static void build_flip_cat(program *p) {
    ind_expr rows = size_of(p, "B", 1, 64, 1, 8), a[2] = {rows, n(p, 100)},
             b[2] = {rows, size_of(p, "S", 1, 50, 1, 28)};
    ind__box *x = input(p, "x", IND_F32, a, 2), *y = input(p, "y", IND_F32, b, 2);
    ind_expr size[2] = {rows, ind_expr_add(a[1], b[1])};
    value_desc d = {.x = {x, y}};
    output(p, ind__box_pointwise(&p->low, IND_F32, size, 2, flip_cat_fn, &d));
}

/* The first 64 of 128 columns, bf16, a constant beside them: a mask whose edge vectors divide. */
static ind_value first_half_fn(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const ind_expr inside = ind_expr_lt(i[rank - 1], ind_int(ind_op_context(o), 64));
    return ind_op_masked(o, ind_op_index(o, inside, IND_BOOL), load_part, i, rank, user, 3);
}

static void build_first_half(program *p) {
    ind_expr rows = size_of(p, "B", 1, 4096, 1, 1024), a[2] = {rows, n(p, 64)}, size[2] = {rows, n(p, 128)};
    value_desc d = {.x = {input(p, "x", IND_BF16, a, 2)}};
    output(p, ind__box_pointwise(&p->low, IND_BF16, size, 2, first_half_fn, &d));
}

/* ---- scans and sorts */

static void scan_along(program *p, ind_scan kind, ind_expr rows, ind_expr columns, int dim) {
    ind_expr size[2] = {rows, columns};
    ind__box *x = input(p, "x", IND_F32, size, 2), *results[2];
    value_desc d = {.x = {x}};
    ind__scan_desc s = {kind, IND_F32, size, 2, dim, square_fn, &d};
    if (ind__box_scan(&p->low, &s, results)) return;
    for (int k = 0; k < ind__scan_results(kind); k++) output(p, results[k]);
}

static void build_scan_warp(program *p) {
    scan_along(p, IND_SCAN_SUM, size_of(p, "B", 1, 64, 1, 8), n(p, 256), 1);
}

static void build_scan_block(program *p) {
    scan_along(p, IND_SCAN_MAX, n(p, 64), size_of(p, "S", 1, 1 << 20, 1, 4096), 1);
}

static void build_scan_lookback(program *p) {
    scan_along(p, IND_SCAN_SUM, n(p, 2), size_of(p, "S", 1, 1 << 30, 1, 1 << 24), 1);
}

static void build_scan_columns(program *p) {
    scan_along(p, IND_SCAN_LOGADDEXP, size_of(p, "S", 1, 1 << 20, 1, 64), n(p, 4096), 0);
}

static void build_scan_few_columns(program *p) {
    scan_along(p, IND_SCAN_PROD, n(p, 4096), n(p, 8), 0);
}

static void build_sort(program *p) {
    scan_along(p, IND_SCAN_ASCENDING, n(p, 64), size_of(p, "S", 1, 6144, 1, 1024), 1);
}

static void build_sort_likely(program *p) {
    scan_along(p, IND_SCAN_DESCENDING, n(p, 64), size_of(p, "S", 1, 1 << 20, 1, 1024), 1);
}

static void build_sort_long(program *p) {
    scan_along(p, IND_SCAN_DESCENDING, size_of(p, "S", 1, 1 << 20, 1, 32768), n(p, 3), 0);
}

static const struct test_case {
    const char *name;
    void (*build)(program *p);
    ind_strategy strategy; /* of the first kernel's first variant */
    int vector;            /* of the same; 0: whatever */
    uint32_t kernels;      /* 0: whatever */
} cases[] = {
    {"gelu", build_gelu, IND_STRATEGY_POINTWISE, 4, 1},
    {"dynamic_line", build_dynamic_line, IND_STRATEGY_POINTWISE, 8, 1},
    {"broadcast", build_broadcast, IND_STRATEGY_POINTWISE, 8, 1},
    {"huge", build_huge, IND_STRATEGY_POINTWISE, 4, 1},
    {"transpose", build_transpose, IND_STRATEGY_TRANSPOSE, 2, 1},
    {"transpose_vectors", build_transpose_vectors, IND_STRATEGY_TRANSPOSE, 8, 1},
    {"heads", build_heads, IND_STRATEGY_POINTWISE, 8, 1},
    {"flip_cat", build_flip_cat, IND_STRATEGY_POINTWISE, 0, 1},
    {"first_half", build_first_half, IND_STRATEGY_POINTWISE, 8, 1},
    {"softmax", build_softmax, IND_STRATEGY_ROW_BLOCK, 8, 1},
    {"softmax_long", build_softmax_long, IND_STRATEGY_ROW_STAGED, 8, 1},
    {"softmax_attention", build_softmax_attention, IND_STRATEGY_ROW_WARP, 4, 1},
    {"softmax_tiny", build_softmax_tiny, IND_STRATEGY_ROW_WARP, 2, 1},
    {"softmax_two_reductions", build_softmax_two_reductions, IND_STRATEGY_ROW_WARP, 8, 1},
    {"layer_norm", build_layer_norm, IND_STRATEGY_ROW_WARP, 8, 1},
    {"add_layer_norm", build_add_layer_norm, IND_STRATEGY_ROW_BLOCK, 8, 1},
    {"layer_norm_long", build_layer_norm_long, IND_STRATEGY_ROW_STAGED, 8, 1},
    {"embedding_norm", build_embedding_norm, IND_STRATEGY_ROW_WARP, 4, 1},
    {"column_sum", build_column_sum, IND_STRATEGY_COLUMN_SPLIT, 4, 1},
    {"column_logsumexp", build_column_logsumexp, IND_STRATEGY_COLUMN_SPLIT, 8, 1},
    {"column_many", build_column_many, IND_STRATEGY_COLUMN_SPLIT, 1, 1},
    {"column_softmax", build_column_softmax, IND_STRATEGY_ROW_WARP, 8, 1},
    {"full_sum", build_full_sum, IND_STRATEGY_ROW_SPLIT, 4, 1},
    {"finish", build_finish, IND_STRATEGY_FINISH, 8, 2},
    {"scan_warp", build_scan_warp, IND_STRATEGY_SCAN_WARP, 4, 1},
    {"scan_block", build_scan_block, IND_STRATEGY_SCAN_BLOCK, 4, 1},
    {"scan_lookback", build_scan_lookback, IND_STRATEGY_SCAN_LOOKBACK, 4, 1},
    {"scan_columns", build_scan_columns, IND_STRATEGY_SCAN_COLUMN, 1, 1},
    {"scan_few_columns", build_scan_few_columns, IND_STRATEGY_SCAN_BLOCK, 1, 1},
    {"sort", build_sort, IND_STRATEGY_SORT_SHARED, 1, 1},
    {"sort_likely", build_sort_likely, IND_STRATEGY_SORT_SHARED, 1, 1},
    {"sort_long", build_sort_long, IND_STRATEGY_SORT_LONG, 1, 1},
    {"all_reductions", build_all_reductions, IND_STRATEGY_ROW_WARP, 0, 0},
    {"all_ops", build_all_ops, IND_STRATEGY_POINTWISE, 0, 0},
    {"all_casts", build_all_casts, IND_STRATEGY_POINTWISE, 0, 0},
};
#define NUM_CASES (sizeof cases / sizeof *cases)

/* ---- NVRTC ---- */

typedef struct nvrtc {
    void *library;
    int (*create)(void **program, const char *source, const char *name, int, const char *const *, const char *const *);
    int (*compile)(void *program, int num_options, const char *const *options);
    int (*log_size)(void *program, size_t *size);
    int (*log)(void *program, char *log);
    int (*destroy)(void **program);
} nvrtc;

static bool open_nvrtc(nvrtc *n) {
    const char *names[] = {getenv("IND_NVRTC_LIBRARY"), "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                           "/usr/local/cuda/lib64/libnvrtc.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !n->library; i++)
        if (names[i] && names[i][0]) n->library = system_library(names[i]);
    if (!n->library) return false;
    *(void **)&n->create = system_symbol(n->library, "nvrtcCreateProgram");
    *(void **)&n->compile = system_symbol(n->library, "nvrtcCompileProgram");
    *(void **)&n->log_size = system_symbol(n->library, "nvrtcGetProgramLogSize");
    *(void **)&n->log = system_symbol(n->library, "nvrtcGetProgramLog");
    *(void **)&n->destroy = system_symbol(n->library, "nvrtcDestroyProgram");
    return n->create && n->compile && n->log_size && n->log && n->destroy;
}

/* The compiler's log (to be freed); *ok: it compiled. */
static char *compile(const nvrtc *n, const ind__variant *v, const char *arch, bool *ok) {
    char option[64];
    snprintf(option, sizeof option, "--gpu-architecture=%s", arch);
    const char *options[] = {option, "--ptxas-options=-v"};
    void *program = NULL;
    size_t size = 0;
    *ok = n->create(&program, v->source.text, "kernel.cu", 0, NULL, NULL) == 0 && n->compile(program, 2, options) == 0;
    n->log_size(program, &size);
    char *log = (char *)calloc(1, size + 1);
    if (log) n->log(program, log);
    n->destroy(&program);
    return log;
}

/* CUDA's own sin, cos and tan have a frame: the words of 2/pi times an argument above 10^5 (f32) or 2^31 (f64). */
static bool has_frame(const char *source) {
    static const char *const calls[] = {"sin(", "sinf(", "cos(", "cosf(", "tan(", "tanf(", "ind_bessel_jy"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strstr(source, calls[i])) return true;
    return false;
}

static void check_compiles(const nvrtc *n, const char *name, const ind__variant *v, const char *arch) {
    bool ok;
    char *log = compile(n, v, arch, &ok);
    CHECK(ok, "%s for %s:\n%s\n%s", name, arch, log ? log : "", v->source.text);
    const char *want = " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
    bool clean = log && strstr(log, has_frame(v->source.text) ? strstr(want, " 0 bytes spill stores") : want);
    if (ok && !clean && v->fallback) { /* is built in its place */
        free(log);
        check_compiles(n, name, v->fallback, arch);
        return;
    }
    CHECK(!ok || clean, "%s for %s uses local memory:\n%s\n%s", name, arch, log ? log : "", v->source.text);
    if (getenv("IND_TEST_VERBOSE")) printf("%s %s %s", name, arch, log ? log : "");
    free(log);
}

/* ---- one program through the stages ---- */

typedef struct stages {
    program p;
    ind_schedule *schedule;
    ind_plan *plan;
} stages;

static ind_status make_schedule(stages *s, ind_context *c, const struct test_case *t) {
    memset(s, 0, sizeof *s);
    s->p.c = c;
    ind_status status = ind__lowered_init(&s->p.low, c, NULL);
    if (status) return status;
    t->build(&s->p);
    status = ind_error_status(c);
    if (!status) status = ind__lowered_fix_layouts(&s->p.low);
    const ind_fusion_policy apart = {.disable_combo = t->build != build_combined}; /* a source each */
    if (!status) status = ind__schedule_create(c, &s->p.low, &apart, NULL, NULL, &s->schedule);
    return status;
}

static ind_status make_plan(stages *s, ind_context *c, const struct test_case *t, const char *arch) {
    ind_target target = {0};
    ind_status status = make_schedule(s, c, t);
    if (!status) status = ind__target_parse(c, arch, &target);
    if (!status) status = ind__plan_create(c, s->schedule, &target, &s->plan);
    return status;
}

static void free_stages(stages *s) {
    ind__plan_free(s->plan);
    ind__schedule_free(s->schedule);
    ind__lowered_free(&s->p.low);
}

static const char *const archs[] = {"sm_80", "sm_90a", "sm_100"};
#define NUM_ARCHS (sizeof archs / sizeof *archs)

/* Does an earlier variant of the plan have this source? */
static bool has_source_before(const ind_plan *p, uint32_t kernel, int variant) {
    for (uint32_t i = 0; i <= kernel; i++)
        for (int v = 0; v < (i < kernel ? p->kernel[i].num_variants : variant); v++)
            if (ind__same_source(&p->kernel[i].variant[v], &p->kernel[kernel].variant[variant])) return true;
    return false;
}

/* The many small kernels of a table (kernels == 0) take turns with the architectures, every other one (tests/gpu
   compiles graphs of them, too); the others go to all of them. */
static bool compiles_on(const struct test_case *t, const ind_plan *p, uint32_t kernel, int variant, size_t arch) {
    return !has_source_before(p, kernel, variant) &&
           (t->kernels || (kernel + (uint32_t)variant) % (2 * NUM_ARCHS) == arch);
}

/* Where there are several launches and the architecture has it, every one waits first for the one before it. */
static void check_dependent(const struct test_case *t, const stages *s, size_t arch) {
    const bool wanted = s->plan->target.sm >= 90 && s->plan->num_launches > 1;
    for (uint32_t k = 0; k < s->plan->num_kernels; k++)
        for (int i = 0; i < s->plan->kernel[k].num_variants; i++) {
            ind__variant *v = &s->plan->kernel[k].variant[i];
            CHECK(v->dependent == wanted && wanted == !!strstr(v->source.text, "griddepcontrol"), "%s on %s: kernel %u",
                  t->name, archs[arch], k);
            v->dependent = !wanted;
            CHECK(ind__plan_verify(s->plan) == IND_ERROR_VERIFY, "%s on %s: a wait that is not there, or not meant",
                  t->name, archs[arch]);
            v->dependent = wanted;
        }
}

static void test_case_on(const struct test_case *t, const nvrtc *compiler, size_t arch) {
    ind_context *c;
    stages s;
    if (ind_context_create(NULL, &c)) return;
    ind_status status = make_plan(&s, c, t, archs[arch]);
    CHECK(!status, "%s: %s", t->name, ind_error(c));
    if (!status) {
        const ind__variant *v = &s.plan->kernel[0].variant[0];
        CHECK(!ind__plan_verify(s.plan), "%s: %s", t->name, ind_error(c));
        bool able = t->strategy != IND_STRATEGY_ROW_STAGED || s.plan->target.max_cluster > 1;
        CHECK(v->strategy == t->strategy || !able, "%s: %s", t->name, ind__strategy_text(v->strategy));
        check_dependent(t, &s, arch);
        CHECK(!t->vector || v->vector == t->vector, "%s: vector %d", t->name, v->vector);
        CHECK(!t->kernels || s.plan->num_kernels == t->kernels, "%s: %u kernels", t->name, s.plan->num_kernels);
        for (uint32_t k = 0; compiler->library && k < s.plan->num_kernels; k++)
            for (int i = 0; i < s.plan->kernel[k].num_variants; i++)
                if (compiles_on(t, s.plan, k, i, arch))
                    check_compiles(compiler, t->name, &s.plan->kernel[k].variant[i], archs[arch]);
    }
    free_stages(&s);
    ind_context_destroy(c);
}

/* Printers give text, JSON that is balanced, and sources; twice the same. */
static void test_printing(void) {
    ind_context *c;
    stages s;
    if (ind_context_create(NULL, &c)) return;
    if (!make_plan(&s, c, &cases[0], "sm_90a")) {
        ind__text a = {.context = c}, b = {.context = c}, j = {.context = c};
        ind__plan_print(&a, s.plan, NULL, NULL, NULL);
        ind__plan_print_source(&a, s.plan, NULL, NULL, NULL);
        ind__plan_print(&b, s.plan, NULL, NULL, NULL);
        ind__plan_print_source(&b, s.plan, NULL, NULL, NULL);
        ind__plan_print_json(&j, s.plan);
        CHECK(a.data && b.data && !strcmp(a.data, b.data), "printing is not deterministic");
        CHECK(j.data && strstr(j.data, "\"strategy\": \"pointwise\""), "%s", j.data ? j.data : "");
        ind__text_free(&a);
        ind__text_free(&b);
        ind__text_free(&j);
    }
    free_stages(&s);
    ind_context_destroy(c);
}

/* A kernel with all its variants made refuses one more: nothing is written past the list. */
static void test_most_variants(void) {
    ind_context *c;
    stages s;
    if (ind_context_create(NULL, &c)) return;
    CHECK(!make_plan(&s, c, &cases[0], "sm_90a"), "%s", ind_error(c));
    cg__variants *x = s.plan ? calloc(1, sizeof *x) : NULL;
    if (x) {
        *x = (cg__variants){.plan = s.plan, .kernel = s.plan->kernel[0].kernel, .num = IND_MAX_VARIANTS - 1};
        CHECK(!cg__next_variant(x, IND__ASSUME_NOTHING), "the last variant: %s", ind_error(c));
        x->num++;
        CHECK(cg__next_variant(x, IND__ASSUME_NOTHING) == IND_ERROR_LIMIT, "one more variant than the list holds");
        CHECK(strstr(ind_error(c), "more than 30 variants"), "%s", ind_error(c));
    }
    free(x);
    free_stages(&s);
    ind_context_destroy(c);
}

static void test_targets(void) {
    ind_context *c;
    if (ind_context_create(NULL, &c)) return;
    static const char *const good[] = {"sm_80",  "sm_86",   "sm_89",      "sm_90",     "sm_90a",
                                       "sm_100", "sm_100a", "compute_80", "compute_90"};
    static const char *const bad[] = {"",       "sm_",    "sm_75", "sm_80a", "compute_75", "compute_90a",
                                      "sm_900", "sm_90b", NULL};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ind_target t = {0};
        char name[16];
        CHECK(!ind__target_parse(c, good[i], &t), "%s", good[i]);
        ind__target_name(&t, name);
        CHECK(!strcmp(name, good[i]) && t.num_sms > 0 && t.shared_per_block > 0, "%s", name);
        CHECK(t.ptx == !strncmp(name, "compute_", 8), "%s", name);
        if (t.ptx) /* for the smallest device of any later architecture */
            CHECK(t.shared_per_block == 101376 && t.shared_per_sm == 102400 && t.max_cluster == 1, "%s", name);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ind_target t = {0};
        CHECK(ind__target_parse(c, bad[i], &t) == IND_ERROR_INVALID_ARGUMENT, "%s", bad[i] ? bad[i] : "NULL");
    }
    ind_context_destroy(c);
}

/* The n-th allocation of the plan fails, for every n up to one that suffices. */
static void test_allocations(const struct test_case *t) {
    for (long n_th = 1;; n_th++) {
        check_heap heap = {0};
        ind_context_desc desc = {.allocator = {check_alloc, check_free, &heap}};
        ind_context *c = NULL;
        stages s;
        if (ind_context_create(&desc, &c)) return;
        ind_status status = make_schedule(&s, c, t);
        CHECK(!status, "%s: %s", t->name, ind_error(c));
        heap.fail_at = heap.calls + n_th;
        if (!status) status = ind__plan_create(c, s.schedule, NULL, &s.plan);
        bool enough = heap.calls < heap.fail_at;
        CHECK(status == (enough ? IND_OK : IND_ERROR_OUT_OF_MEMORY), "%s: allocation %ld: status %d, %s", t->name, n_th,
              (int)status, ind_error(c));
        CHECK(!status == !!s.plan, "%s: allocation %ld: status and plan disagree", t->name, n_th);
        free_stages(&s);
        ind_context_destroy(c);
        CHECK(heap.live == 0, "%s: allocation %ld leaks %ld blocks", t->name, n_th, heap.live);
        if (enough) return;
    }
}

/* Rows of several shapes in one launch, whose functions are fewer than they. */
static void test_combined(void) {
    const struct test_case t = {.name = "combined", .build = build_combined};
    ind_context *c;
    stages s;
    if (ind_context_create(NULL, &c)) return;
    ind_status status = make_plan(&s, c, &t, "sm_90a");
    CHECK(!status && s.plan->num_kernels == 4 && s.plan->num_launches == 1, "%s", ind_error(c));
    if (!status) {
        CHECK(!ind__plan_verify(s.plan), "%s", ind_error(c));
        CHECK(s.plan->kernel[0].num_parts == 4 && s.plan->kernel[0].variant[0].strategy == IND_STRATEGY_COMBO &&
                  s.plan->kernel[3].first == 0 && s.plan->kernel[3].part && !s.plan->kernel[3].num_variants,
              "not one launch");
        s.plan->kernel[0].num_parts = 1;
        CHECK(ind__plan_verify(s.plan) == IND_ERROR_VERIFY, "a launch that hides its parts");
    }
    free_stages(&s);
    ind_context_destroy(c);
    test_allocations(&t);
}

/* A launch that also runs the next kernel says so; for other sizes the next kernel has a separate launch. */
static void test_finish(void) {
    const struct test_case t = {.name = "finish", .build = build_finish};
    ind_context *c;
    stages s;
    if (ind_context_create(NULL, &c)) return;
    ind_status status = make_plan(&s, c, &t, "sm_90a");
    CHECK(!status && s.plan->kernel[0].num_variants == 4 && ind__num_taken(&s.plan->kernel[0].variant[0]), "%s",
          ind_error(c));
    if (!status) {
        CHECK(!ind__plan_verify(s.plan), "%s", ind_error(c));
        s.plan->kernel[0].variant[0].strategy = IND_STRATEGY_ROW_WARP;
        CHECK(ind__plan_verify(s.plan) == IND_ERROR_VERIFY, "a strategy that does not run the next kernel");
        s.plan->kernel[0].variant[0].strategy = IND_STRATEGY_FINISH;
        s.plan->kernel[1].num_variants = 0;
        CHECK(ind__plan_verify(s.plan) == IND_ERROR_VERIFY, "sizes for which the next kernel does not run");
    }
    free_stages(&s);
    ind_context_destroy(c);
    test_allocations(&t);
}

/* The second of two equal launches is not planned, but has the first one's plan over its own buffers: so has what is
   built in its place if the build spills. */
static void test_copied(void) {
    const struct test_case t = {.name = "layers", .build = build_layers};
    ind_context *c;
    stages s;
    int ways = 0;
    if (ind_context_create(&(ind_context_desc){.verify = -1}, &c)) return;
    CHECK(!make_plan(&s, c, &t, "sm_90a") && s.plan->num_launches == 2, "%s", ind_error(c));
    for (uint32_t k = 0; s.plan && k < s.plan->num_kernels; k++) {
        const ind_kernel_plan *kp = &s.plan->kernel[k];
        for (const ind__variant *v = &kp->variant[0]; v; v = v->fallback, ways++)
            for (uint32_t i = 0; i < kp->kernel->num_args; i++)
                CHECK(v->arg[i].buffer == kp->kernel->arg[i], "kernel %u, argument %u: buffer %u", k, i,
                      v->arg[i].buffer);
    }
    CHECK(ways >= 4, "%d ways to make two kernels", ways);
    free_stages(&s);
    ind_context_destroy(c);
    test_allocations(&t);
}

/* A store under a mask that holds for all elements of a vector or for none is a vector, too. No op of a graph has one:
   the mask of the load is put on the store. */
static void test_masked_store(const nvrtc *compiler, const char *arch) {
    const struct test_case t = {.name = "masked store", .build = build_first_half};
    ind_context *c;
    stages s;
    uint32_t load = 0, store = 0;
    if (ind_context_create(NULL, &c)) return;
    CHECK(!make_schedule(&s, c, &t), "%s", ind_error(c));
    ind_body *b = s.schedule ? s.schedule->kernel[0].body : NULL;
    for (uint32_t i = 1; b && i < b->num_inst; i++) {
        if (b->inst[i].op == IND_LOOP_LOAD) load = i;
        if (b->inst[i].op == IND_LOOP_STORE) store = i;
    }
    CHECK(load && store && b->inst[load].arg[0] && !b->inst[store].arg[1], "no load under a mask, or no store");
    if (load && store) b->inst[store].arg[1] = b->inst[load].arg[0];
    if (load && store && !ind__plan_create(c, s.schedule, NULL, &s.plan)) {
        const ind__variant *v = &s.plan->kernel[0].variant[0];
        CHECK(v->vector == 8 && strstr(v->source.text, " = ind_load<8>(&in0[") &&
                  strstr(v->source.text, "ind_store(&out0[") && !strstr(v->source.text, "ind_bf16_to_f32(in0["),
              "%s", v->source.text);
        if (compiler->library) check_compiles(compiler, t.name, v, arch);
    }
    CHECK(s.plan, "%s", ind_error(c));
    free_stages(&s);
    ind_context_destroy(c);
}

static int print_case(const char *name) {
    for (size_t i = 0; i < NUM_CASES; i++) {
        ind_context *c;
        stages s;
        if (strcmp(cases[i].name, name) || ind_context_create(NULL, &c)) continue;
        ind__text t = {.context = c};
        if (make_plan(&s, c, &cases[i], "sm_90a")) printf("%s\n", ind_error(c));
        if (s.plan) {
            ind__plan_print(&t, s.plan, NULL, NULL, NULL);
            ind__plan_print_source(&t, s.plan, NULL, NULL, NULL);
            printf("%s", t.data ? t.data : "");
        }
        ind__text_free(&t);
        free_stages(&s);
        ind_context_destroy(c);
        return 0;
    }
    return 1;
}

/* The sources of all programs for one architecture. */
static int compile_all(const char *arch) {
    nvrtc compiler = {0};
    CHECK(open_nvrtc(&compiler), "no NVRTC found");
    size_t a = 0;
    while (a < NUM_ARCHS && strcmp(archs[a], arch)) a++;
    CHECK(a < NUM_ARCHS, "%s: no architecture of this test", arch);
    for (size_t i = 0; a < NUM_ARCHS && i < NUM_CASES; i++) test_case_on(&cases[i], &compiler, a);
    test_masked_store(&compiler, arch);
    return check_summary();
}

int main(int argc, char **argv) {
    const nvrtc none = {0};
    if (argc == 3 && !strcmp(argv[1], "cubins")) return compile_all(argv[2]);
    if (argc > 1) return print_case(argv[1]);
    test_targets();
    test_most_variants();
    test_printing();
    for (size_t i = 0; i < NUM_CASES; i++)
        for (size_t a = 0; a < NUM_ARCHS; a++) test_case_on(&cases[i], &none, a);
    for (size_t i = 0; i < NUM_CASES; i++)
        if (cases[i].kernels) test_allocations(&cases[i]);
    test_combined();
    test_finish();
    test_copied();
    test_masked_store(&none, NULL);
    return check_summary();
}
