/* The scheduler on lowered programs made by hand: what is fused and what is not and why, the fused bodies (run by a
   small interpreter on the planned arena, against the loops one by one), the memory plan, speed, and failing
   allocations. */
#include "inductor_sched.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int num_passed, num_failed;

static bool check(bool ok, const char *test, const char *what) {
    if (ok)
        num_passed++;
    else
        num_failed++, printf("FAILED %s: %s\n", test, what);
    return ok;
}

/* ---- programs */

typedef struct program {
    ind_context *c;
    ind__lowered low;
    ind_schedule *s;
} program;

typedef struct operands {
    ind__box *x[4];
    ind_expr size; /* of the reduced dimension, where the function wants it */
} operands;

static ind_value at(ind_ops *o, const ind__box *x, const ind_expr *i, int rank) {
    return ind__box_load(o, x, i, rank);
}

/* x with dimensions of size 1 or missing ones in front: the last `rank` indices. */
static ind_value at_last(ind_ops *o, const ind__box *x, const ind_expr *i, int rank) {
    return x ? ind__box_load(o, x, i + rank - x->rank, x->rank) : (ind_value){0};
}

static ind_value f32(ind_ops *o, double v) {
    return ind_op_constant(o, v, IND_F32);
}

static ind_value fn_load(ind_ops *o, const ind_expr *i, int rank, void *user) {
    return at(o, ((operands *)user)->x[0], i, rank);
}

static ind_value fn_exp(ind_ops *o, const ind_expr *i, int rank, void *user) {
    return ind_op_exp(o, at(o, ((operands *)user)->x[0], i, rank));
}

static ind_value fn_add(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    return ind_op_add(o, at(o, u->x[0], i, rank), at_last(o, u->x[1], i, rank));
}

static ind_value fn_softmax(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    ind_value e = ind_op_exp(o, ind_op_sub(o, at(o, u->x[0], i, rank), at(o, u->x[1], i, rank - 1)));
    return ind_op_div(o, e, at(o, u->x[2], i, rank - 1));
}

static ind_value fn_normalise(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    ind_value d = ind_op_sub(o, at(o, u->x[0], i, rank), at(o, u->x[1], i, rank - 1));
    ind_value n = ind_op_cast(o, ind_op_index(o, u->size, IND_I64), IND_F32);
    ind_value v = ind_op_div(o, at(o, u->x[2], i, rank - 1), n);
    ind_value y = ind_op_mul(o, d, ind_op_rsqrt(o, ind_op_add(o, v, f32(o, 1e-5))));
    return ind_op_mul(o, y, at_last(o, u->x[3], i, rank));
}

static ind_value fn_transposed(ind_ops *o, const ind_expr *i, int rank, void *user) {
    ind_expr swapped[2] = {i[1], i[0]};
    return ind_op_add(o, at(o, ((operands *)user)->x[0], swapped, rank), f32(o, 1));
}

/* a[.., m, k] and b[.., n, k]: the last index is k. */
static ind_value fn_rows(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const ind__box *a = ((operands *)user)->x[0];
    ind_expr index[IND_MAX_RANK];
    for (int d = 0; d < rank - 2; d++) index[d] = i[d];
    index[rank - 2] = i[rank - 1];
    return at(o, a, index, rank - 1);
}

static ind_value fn_columns(ind_ops *o, const ind_expr *i, int rank, void *user) {
    const ind__box *b = ((operands *)user)->x[1];
    ind_expr index[IND_MAX_RANK];
    int batch = b->rank - 2;
    for (int d = 0; d < batch; d++) index[d] = i[d];
    index[batch] = i[rank - 2], index[batch + 1] = i[rank - 1];
    return at(o, b, index, b->rank);
}

static ind_value fn_gelu(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    ind_value x = ind_op_add(o, at(o, u->x[0], i, rank), at_last(o, u->x[1], i, rank));
    ind_value e = ind_op_erf(o, ind_op_mul(o, x, f32(o, 0.70710678118654752)));
    return ind_op_mul(o, ind_op_mul(o, x, f32(o, 0.5)), ind_op_add(o, e, f32(o, 1)));
}

static ind_value fn_gather(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    ind_expr row = ind_op_indirect(o, at(o, u->x[1], i, 1), u->size, false);
    ind_expr index[2] = {row, i[1]};
    return at(o, u->x[0], index, rank);
}

static ind_value masked_inner(ind_ops *o, const ind_expr *i, int rank, void *user) {
    return ind_op_neg(o, at(o, ((operands *)user)->x[0], i, rank));
}

/* -x where the column is below 3, else 7. */
static ind_value fn_masked(ind_ops *o, const ind_expr *i, int rank, void *user) {
    ind_value in = ind_op_lt(o, ind_op_index(o, i[rank - 1], IND_I64), ind_op_constant_int(o, 3, IND_I64));
    return ind_op_masked(o, in, masked_inner, i, rank, user, 7);
}

static bool program_begin(program *p, const ind_allocator *allocator) {
    ind_context_desc desc = {.verify = -1, .device = IND_DEVICE_HOST};
    if (allocator) desc.allocator = *allocator;
    memset(p, 0, sizeof *p);
    if (ind_context_create(&desc, &p->c)) return false;
    return !ind__lowered_init(&p->low, p->c, NULL);
}

static void program_end(program *p) {
    if (!p->c) return;
    ind__schedule_free(p->s);
    ind__lowered_free(&p->low);
    ind_context_destroy(p->c);
}

static const char *origin_name(uint32_t node, void *user) {
    static const char *const names[] = {"input", "linear", "gelu", "add", "layer_norm", "softmax",
                                        "sum",   "amax",   "exp",  "t",   "mul"};
    (void)user;
    return names[node % (sizeof names / sizeof *names)];
}
enum { INPUT, LINEAR, GELU, ADD, LAYER_NORM, SOFTMAX, SUM, AMAX, EXP, TRANSPOSE, MUL };

static ind_expr size(program *p, const char *name, int64_t lo, int64_t hi, int64_t hint) {
    ind_symbol s = {.kind = IND_SYMBOL_SIZE, .name = name, .lo = lo, .hi = hi, .hint = hint, .multiple_of = 1};
    return ind_symbol_expr(p->c, &s);
}

static ind_expr num(program *p, int64_t v) {
    return ind_int(p->c, v);
}

static ind__box *input(program *p, const char *name, int rank, const ind_expr *sizes) {
    return ind__box_buffer(&p->low, ind__lowered_input(&p->low, name, IND__BUFFER_INPUT, IND_F32, sizes, rank));
}

static ind__box *pointwise(program *p, uint32_t origin, const ind__box *like, ind_loop_fn fn, operands u,
                           bool realise) {
    p->low.origin = origin;
    if (!like || !u.x[0]) return NULL;
    ind__box *b = ind__box_pointwise(&p->low, IND_F32, like->size, like->rank, fn, &u);
    if (b && realise && ind__box_realise(&p->low, b)) return NULL;
    return b;
}

static bool reduce(program *p, uint32_t origin, ind_reduction type, ind__box *x, ind__box **results) {
    if (!x) return false;
    operands u = {{x}, x->size[x->rank - 1]};
    ind__reduction_desc d = {type, IND_F32, x->size, x->rank - 1, &x->size[x->rank - 1], 1, fn_load, NULL, &u};
    p->low.origin = origin;
    return !ind__box_reduction(&p->low, &d, results);
}

static ind__box *softmax(program *p, ind__box *x) {
    ind__box *r[2];
    if (!reduce(p, SOFTMAX, IND_REDUCE_ONLINE_SOFTMAX, x, r)) return NULL;
    return pointwise(p, SOFTMAX, x, fn_softmax, (operands){{x, r[0], r[1]}, x->size[0]}, true);
}

static ind__box *layer_norm(program *p, ind__box *x, ind__box *weight) {
    ind__box *r[2];
    if (!reduce(p, LAYER_NORM, IND_REDUCE_WELFORD, x, r)) return NULL;
    return pointwise(p, LAYER_NORM, x, fn_normalise, (operands){{x, r[0], r[1], weight}, x->size[x->rank - 1]}, true);
}

/* a[.., M, K] times b[(..,) N, K] transposed. */
static ind__box *matmul(program *p, ind__box *a, ind__box *b) {
    if (!a || !b) return NULL;
    operands u = {{a, b}, a->size[0]};
    ind_expr sizes[IND_MAX_RANK];
    for (int d = 0; d < a->rank - 1; d++) sizes[d] = a->size[d];
    sizes[a->rank - 1] = b->size[b->rank - 2];
    ind__reduction_desc d = {IND_REDUCE_DOT, IND_F32,    sizes, a->rank, &a->size[a->rank - 1], 1,
                             fn_rows,        fn_columns, &u};
    ind__box *out;
    p->low.origin = LINEAR;
    return ind__box_reduction(&p->low, &d, &out) ? NULL : out;
}

static ind_status schedule(program *p, const ind_fusion_policy *policy) {
    ind_status status = ind__lowered_fix_layouts(&p->low);
    if (!status) status = ind__schedule_create(p->c, &p->low, policy, origin_name, NULL, &p->s);
    return status ? status : ind__schedule_verify(p->s);
}

static bool output(program *p, ind__box *x, const char *name, uint32_t position) {
    return x && !ind__box_output(&p->low, x, name, position);
}

/* Schedules; on failure or a broken rule says so. */
static bool scheduled(program *p, const char *test) {
    if (check(schedule(p, NULL) == IND_OK, test, "schedules and verifies")) return true;
    printf("  %s\n", ind_error(p->c));
    return false;
}

/* No loops are exchanged: a reader across the rows of another kernel's output is a separate kernel. */
static const ind_fusion_policy in_order = {.disable_reorder = true};

static bool scheduled_in_order(program *p, const char *test) {
    return check(schedule(p, &in_order) == IND_OK, test, "schedules and verifies");
}

static void show(program *p) {
    ind__text t = {.context = p->c};
    ind__schedule_print(&t, p->s, origin_name, NULL, NULL);
    for (uint32_t k = 0; k < p->s->num_kernels; k++) ind__body_print(&t, p->s->kernel[k].body, NULL, NULL);
    printf("%s", t.data ? t.data : "");
    ind__text_free(&t);
}

static const ind_edge *find_edge(const program *p, ind_fusion_reason reason) {
    for (uint32_t e = 0; e < p->s->num_edges; e++) {
        if (p->s->edge[e].reason == reason) return &p->s->edge[e];
    }
    return NULL;
}

static bool prints(program *p, ind_expr e, const char *text) {
    char buffer[512];
    (void)p;
    ind_expr_print(e, buffer, sizeof buffer);
    if (!strcmp(buffer, text)) return true;
    printf("  found %s\n", buffer);
    return false;
}

/* ---- interpreter: one loop or kernel at a time, every value at every point, in doubles; memory is f32 */

typedef struct machine {
    program *p;
    float **memory; /* by buffer */
    const ind_body *body;
    double *value; /* of this point, by instruction */
    uint32_t *mask;
    int64_t symbols[8];
    int64_t point[2 * IND_MAX_RANK];
    bool bad;
} machine;

static bool symbol_value(const ind_symbol *s, void *user, int64_t *out) {
    machine *m = user;
    *out = s->hint;
    if (s->kind == IND_SYMBOL_INDIRECT) *out = (int64_t)m->value[s->slot];
    if (s->kind == IND_SYMBOL_INDEX) *out = m->point[s->slot + (s->name[0] == 'r' ? m->body->rank : 0)];
    return true;
}

static int64_t evaluate(machine *m, ind_expr e) {
    int64_t v = 0;
    m->bad |= ind_expr_eval(e, symbol_value, m, &v) != IND_OK;
    return v;
}

static double operate(machine *m, const ind__inst *i) {
    const double *v = m->value;
    double a = v[i->arg[0]], b = v[i->arg[1]];
    switch (i->op) {
    case IND_LOOP_CONSTANT: return ind_dtype_is_float((ind_dtype)i->dtype) ? i->imm.f : (double)i->imm.i;
    case IND_LOOP_INDEX: return (double)evaluate(m, m->body->index[i->index]);
    case IND_LOOP_LOAD: return i->arg[0] && !a ? 0 : m->memory[i->source][evaluate(m, m->body->index[i->index])];
    case IND_LOOP_STORE: return m->memory[i->source][evaluate(m, m->body->index[i->index])] = (float)a;
    case IND_LOOP_INDIRECT:
    case IND_LOOP_CAST: return a;
    case IND_LOOP_NEG: return -a;
    case IND_LOOP_EXP: return exp(a);
    case IND_LOOP_RSQRT: return 1 / sqrt(a);
    case IND_LOOP_ERF: return erf(a);
    case IND_LOOP_ADD: return a + b;
    case IND_LOOP_SUB: return a - b;
    case IND_LOOP_MUL: return a * b;
    case IND_LOOP_DIV: return a / b;
    case IND_LOOP_LT: return a < b;
    case IND_LOOP_AND: return a && b;
    case IND_LOOP_WHERE: return a ? b : v[i->arg[2]];
    default: m->bad = true; return 0;
    }
}

static int64_t extent(machine *m, int v) {
    return evaluate(m, ind_expr_symbol(m->body->var[v])->extent);
}

static bool step_point(machine *m, int first, int last) {
    for (int v = last; v-- > first;) {
        if (++m->point[v] < extent(m, v)) return true;
        m->point[v] = 0;
    }
    return false;
}

/* Values up to `end` that do not come from a reduction; stores only where `stores` says so. In the pass that stores,
   what depends on no reduction index is done once. */
static void run_values(machine *m, uint32_t end, bool stores) {
    bool first = true;
    for (int v = m->body->rank; v < m->body->rank + m->body->rrank; v++) first = first && !m->point[v];
    for (uint32_t i = 1; i < end; i++) {
        const ind__inst *in = &m->body->inst[i];
        if (in->op == IND_LOOP_REDUCE || in->op == IND_LOOP_PART) continue;
        if (stores && !first && !(m->mask[i] >> m->body->rank)) continue;
        if (in->op != IND_LOOP_STORE || stores) m->value[i] = operate(m, in);
    }
}

static void fill_parts(machine *m, uint32_t reduce, double first, double second) {
    m->value[reduce] = first;
    for (uint32_t i = reduce + 1; i < m->body->num_inst; i++) {
        const ind__inst *in = &m->body->inst[i];
        if (in->op == IND_LOOP_PART && in->arg[0] == reduce) m->value[i] = in->imm.i ? second : first;
    }
}

static void run_reduce(machine *m, uint32_t at) {
    const ind__inst *in = &m->body->inst[at];
    int first = m->body->rank, last = first + m->body->rrank;
    double n = 0, sum = 0, squares = 0, most = -INFINITY, dot = 0, exps = 0;
    for (int pass = 0; pass < 2; pass++) {
        do {
            run_values(m, at, false);
            double x = m->value[in->arg[0]];
            if (pass)
                exps += exp(x - most), squares += (x - sum / n) * (x - sum / n);
            else
                n++, sum += x, dot += x * m->value[in->arg[1]], most = x > most ? x : most;
        } while (step_point(m, first, last));
    }
    switch (in->reduction) {
    case IND_REDUCE_SUM: fill_parts(m, at, sum, 0); break;
    case IND_REDUCE_MAX: fill_parts(m, at, most, 0); break;
    case IND_REDUCE_DOT: fill_parts(m, at, dot, 0); break;
    case IND_REDUCE_WELFORD: fill_parts(m, at, sum / n, squares); break;
    case IND_REDUCE_ONLINE_SOFTMAX: fill_parts(m, at, most, exps); break;
    default: m->bad = true;
    }
}

static void run_body(machine *m, const ind_body *body) {
    int rank = body->rank, all = rank + body->rrank;
    m->body = body;
    m->value = calloc(body->num_inst, sizeof *m->value);
    m->mask = calloc(body->num_inst, sizeof *m->mask);
    ind__body_var_masks(body, m->mask);
    memset(m->point, 0, sizeof m->point);
    do {
        for (uint32_t i = 1; i < body->num_inst; i++) {
            if (body->inst[i].op == IND_LOOP_REDUCE) run_reduce(m, i);
        }
        do run_values(m, body->num_inst, true);
        while (step_point(m, rank, all));
    } while (step_point(m, 0, rank));
    free(m->mask);
    free(m->value);
}

static int64_t hint_numel(const ind__buffer *b) {
    return ind_hint(ind__buffer_numel(b));
}

static void fill_input(float *x, int64_t n, uint32_t seed, bool index) {
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = index ? (float)(seed >> 28 & 3) : (float)(seed >> 16 & 1023) / 1024.0f - 0.5f;
    }
}

/* Every output of the kernels on the arena equals that of the loops one by one. */
static void check_results(program *p, const char *test) {
    uint32_t n = p->low.num_buffers;
    float **plain = calloc(n, sizeof *plain), **planned = calloc(n, sizeof *planned);
    char *arena = malloc((size_t)ind_hint(p->s->arena_bytes) + 1);
    memset(arena, 0xff, (size_t)ind_hint(p->s->arena_bytes) + 1);
    for (uint32_t b = 1; b < n; b++) {
        const ind__buffer *buffer = &p->low.buffer[b];
        size_t bytes = (size_t)hint_numel(buffer) * sizeof(float);
        plain[b] = malloc(bytes);
        if (buffer->kind != IND__BUFFER_COMPUTED) {
            fill_input(plain[b], hint_numel(buffer), b, !strcmp(buffer->name, "index"));
            planned[b] = plain[b];
        } else if (buffer->output) {
            planned[b] = malloc(bytes);
        } else if (ind__ok(p->s->offset[b])) {
            planned[b] = (float *)(void *)(arena + ind_hint(p->s->offset[b]));
        }
    }
    machine m = {.p = p, .memory = plain};
    for (uint32_t l = 0; l < p->low.num_loops; l++) run_body(&m, p->low.loop[l].body);
    m.memory = planned;
    for (uint32_t k = 0; k < p->s->num_kernels; k++) run_body(&m, p->s->kernel[k].body);
    double worst = 0;
    for (uint32_t b = 1; b < n; b++) {
        for (int64_t i = 0; p->low.buffer[b].output && i < hint_numel(&p->low.buffer[b]); i++) {
            double d = fabs((double)plain[b][i] - planned[b][i]);
            worst = d > worst || d != d ? (d != d ? INFINITY : d) : worst;
        }
        if (p->low.buffer[b].output) free(planned[b]);
        free(plain[b]);
    }
    check(!m.bad, test, "the interpreter knows all that the bodies hold");
    if (!check(worst < 1e-4, test, "kernels compute what the loops do")) printf("  differ by %g\n", worst);
    free(arena);
    free(plain);
    free(planned);
}

/* ---- what is fused */

static void test_softmax(void) {
    const char *t = "softmax";
    program p;
    program_begin(&p, NULL);
    ind_expr sizes[2] = {size(&p, "B", 1, 4096, 5), num(&p, 24)};
    output(&p, softmax(&p, input(&p, "x", 2, sizes)), "y", 0);
    if (scheduled(&p, t)) {
        const ind_kernel *k = &p.s->kernel[0];
        check(p.s->num_kernels == 1, t, "one kernel");
        check(k->kind == IND_KERNEL_REDUCTION && !strcmp(k->name, "softmax"), t, "a reduction named softmax");
        check(k->num_args == 2 && k->num_reads == 1, t, "one buffer read, one written");
        check(prints(&p, k->bytes_read, "96*B") && prints(&p, k->bytes_written, "96*B"), t, "bytes");
        check(prints(&p, p.s->arena_bytes, "0"), t, "nothing in the arena");
        check(find_edge(&p, IND_FUSION_FUSED_VERTICAL) != NULL, t, "edges say fused");
        check_results(&p, t);
    }
    program_end(&p);
}

static void test_layer_norm(bool realise) {
    const char *t = realise ? "add + layer_norm, stored" : "add + layer_norm";
    program p;
    program_begin(&p, NULL);
    ind_expr sizes[3] = {size(&p, "B", 1, 64, 2), size(&p, "S", 1, 512, 3), num(&p, 16)};
    ind__box *x = input(&p, "x", 3, sizes), *y = input(&p, "y", 3, sizes), *w = input(&p, "w", 1, sizes + 2);
    ind__box *h = pointwise(&p, ADD, x, fn_add, (operands){{x, y}, sizes[2]}, realise);
    output(&p, layer_norm(&p, h, w), "z", 0);
    if (scheduled(&p, t)) {
        const ind_kernel *k = &p.s->kernel[0];
        check(p.s->num_kernels == 1, t, "one kernel");
        check(!strcmp(k->name, "add_layer_norm"), t, "name");
        check(k->body->rank == 1 && k->body->rrank == 1, t, "rows of batch and sequence are one dimension");
        check(k->num_reads == 3 && k->num_args == 4, t, "three buffers read, one written");
        check(prints(&p, k->numel, "B*S") && prints(&p, k->bytes_written, "64*B*S"), t, "formulas");
        check_results(&p, t);
    }
    program_end(&p);
}

static void test_linear_gelu(void) {
    const char *t = "linear + bias + gelu + residual";
    program p;
    program_begin(&p, NULL);
    ind_expr sizes[3] = {size(&p, "B", 1, 64, 2), num(&p, 3), num(&p, 8)}, n = num(&p, 12);
    ind_expr w_sizes[2] = {n, sizes[2]}, r_sizes[3] = {sizes[0], sizes[1], n};
    ind__box *x = input(&p, "x", 3, sizes), *w = input(&p, "w", 2, w_sizes), *b = input(&p, "b", 1, &n);
    ind__box *res = input(&p, "r", 3, r_sizes), *y = matmul(&p, x, w);
    ind__box *g = pointwise(&p, GELU, y, fn_gelu, (operands){{y, b}, n}, true);
    output(&p, pointwise(&p, ADD, g, fn_add, (operands){{g, res}, n}, true), "z", 0);
    if (scheduled(&p, t)) {
        const ind_kernel *k = &p.s->kernel[0];
        check(p.s->num_kernels == 1, t, "one kernel");
        check(k->kind == IND_KERNEL_MATMUL && !strcmp(k->name, "linear_gelu_add"), t, "a matrix product with its name");
        check(k->body->rank == 2 && k->matmul.m == 0 && k->matmul.n == 1 && !k->matmul.batch_mask, t,
              "rows and columns");
        check(k->num_args == 5, t, "five buffers");
        check(find_edge(&p, IND_FUSION_FUSED_EPILOGUE) != NULL, t, "edges say epilogue");
        check(prints(&p, k->bytes_written, "144*B"), t, "bytes written");
        check_results(&p, t);
    }
    program_end(&p);
}

static void test_siblings(void) {
    const char *t = "sibling reductions";
    program p;
    ind__box *r[1], *q[1];
    program_begin(&p, NULL);
    ind_expr sizes[2] = {size(&p, "B", 1, 64, 6), num(&p, 10)};
    ind__box *x = input(&p, "x", 2, sizes);
    check(reduce(&p, SUM, IND_REDUCE_SUM, x, r) && reduce(&p, AMAX, IND_REDUCE_MAX, x, q), t, "builds");
    output(&p, r[0], "s", 0), output(&p, q[0], "m", 1);
    if (scheduled(&p, t)) {
        check(p.s->num_kernels == 1, t, "one kernel");
        check(find_edge(&p, IND_FUSION_FUSED_HORIZONTAL) != NULL, t, "the edge says why");
        check(!strcmp(p.s->kernel[0].name, "sum_amax"), t, "name");
        check(prints(&p, p.s->kernel[0].bytes_read, "40*B"), t, "x is read once");
        check_results(&p, t);
    }
    program_end(&p);
}

/* e = exp(x) and its transpose, both kept: hint elements a side. */
static void build_transposed(program *p, int64_t hint) {
    program_begin(p, NULL);
    ind_expr sizes[2] = {size(p, "B", 1, 8192, hint), size(p, "N", 1, 8192, hint)}, swapped[2] = {sizes[1], sizes[0]};
    ind__box *x = input(p, "x", 2, sizes), *like = input(p, "like", 2, swapped);
    ind__box *e = pointwise(p, EXP, x, fn_exp, (operands){{x}, sizes[0]}, true);
    output(p, pointwise(p, TRANSPOSE, like, fn_transposed, (operands){{e}, sizes[0]}, true), "y", 0);
    output(p, e, "e", 1);
}

static void test_transposed(void) {
    const char *t = "transposed read";
    program p;
    build_transposed(&p, 6);
    if (scheduled_in_order(&p, t)) {
        const ind_edge *edge = find_edge(&p, IND_FUSION_INDEX_DIFFERS);
        if (!edge) edge = find_edge(&p, IND_FUSION_DOMAINS_DIFFER);
        check(p.s->num_kernels == 2 && edge, t, "stays apart, with a reason");
        check(edge && prints(&p, edge->bytes, "4*B*N"), t, "and its cost");
        check_results(&p, t);
    }
    program_end(&p);
    build_transposed(&p, 6);
    if (scheduled(&p, t)) {
        check(p.s->num_kernels == 1 && find_edge(&p, IND_FUSION_FUSED_VERTICAL), t, "its loops are exchanged");
        check_results(&p, t);
    }
    program_end(&p);
    build_transposed(&p, 4096);
    if (scheduled(&p, t))
        check(p.s->num_kernels == 2 && find_edge(&p, IND_FUSION_COALESCING), t, "not where large stores would scatter");
    program_end(&p);
}

static void test_transposed_square(void) {
    const char *t = "transposed read of a square";
    for (int reorder = 0; reorder < 2; reorder++) {
        program p;
        program_begin(&p, NULL);
        ind_expr sizes[2] = {num(&p, 6), num(&p, 6)};
        ind__box *x = input(&p, "x", 2, sizes), *e = pointwise(&p, EXP, x, fn_exp, (operands){{x}, sizes[0]}, true);
        output(&p, pointwise(&p, TRANSPOSE, e, fn_transposed, (operands){{e}, sizes[0]}, true), "y", 0);
        if (reorder ? scheduled(&p, t) : scheduled_in_order(&p, t)) {
            if (reorder)
                check(p.s->num_kernels == 1, t, "one kernel with its loops exchanged");
            else
                check(p.s->num_kernels == 2 && find_edge(&p, IND_FUSION_INDEX_DIFFERS), t, "else other elements");
            check_results(&p, t);
        }
        program_end(&p);
    }
}

/* Reshapes split and merge dimensions: the common refinement of both shapes is the domain. */
static void test_reshape(void) {
    const char *t = "through a reshape";
    program p;
    program_begin(&p, NULL);
    ind_expr b = size(&p, "B", 1, 64, 3), s = size(&p, "S", 1, 64, 2), h = num(&p, 6);
    ind_expr sizes[3] = {b, s, h}, flat[2] = {b, ind_expr_mul(s, h)};
    ind__box *x = input(&p, "x", 3, sizes), *y = input(&p, "y", 2, flat), *w = input(&p, "w", 1, &h);
    ind__box *e = pointwise(&p, ADD, x, fn_add, (operands){{x, w}, h}, true);
    ind__box *v = ind__box_reshape(&p.low, e, flat, 2);
    output(&p, pointwise(&p, MUL, v, fn_add, (operands){{v, y}, h}, true), "z", 0);
    if (scheduled(&p, t)) {
        check(p.s->num_kernels == 1, t, "one kernel");
        check(p.s->kernel[0].body->rank == 2, t, "rows are merged, columns stay for the bias");
        check_results(&p, t);
    }
    program_end(&p);
}

static void test_masked(void) {
    const char *t = "masked load of what the kernel made";
    program p;
    program_begin(&p, NULL);
    ind_expr sizes[2] = {size(&p, "B", 1, 64, 3), num(&p, 6)};
    ind__box *x = input(&p, "x", 2, sizes), *e = pointwise(&p, EXP, x, fn_exp, (operands){{x}, sizes[0]}, true);
    output(&p, pointwise(&p, MUL, e, fn_masked, (operands){{e}, sizes[0]}, true), "y", 0);
    if (scheduled(&p, t)) {
        check(p.s->num_kernels == 1 && p.s->kernel[0].num_args == 2, t, "one kernel");
        check_results(&p, t);
    }
    program_end(&p);
}

static void test_gather(void) {
    const char *t = "gather";
    program p;
    program_begin(&p, NULL);
    ind_expr b = size(&p, "B", 1, 64, 3), sizes[2] = {num(&p, 4), num(&p, 8)}, out[2] = {b, sizes[1]};
    ind__box *table = input(&p, "table", 2, sizes), *like = input(&p, "like", 2, out);
    ind__box *index = ind__box_buffer(&p.low, ind__lowered_input(&p.low, "index", IND__BUFFER_INPUT, IND_I64, &b, 1));
    ind__box *e = pointwise(&p, EXP, table, fn_exp, (operands){{table}, b}, true);
    ind__box *g = pointwise(&p, SUM, like, fn_gather, (operands){{e, index}, sizes[0]}, true);
    output(&p, layer_norm(&p, g, input(&p, "w", 1, &sizes[1])), "y", 0);
    if (scheduled(&p, t)) {
        check(p.s->num_kernels == 2, t, "the table is made first, the rest is one kernel");
        check(find_edge(&p, IND_FUSION_INDIRECT) != NULL, t, "the reason is given");
        check_results(&p, t);
    }
    program_end(&p);
}

/* exp of one row is stored, and its sum: blocks share only a row longer than one block reduces alone. */
static void test_one_row(int64_t length, uint32_t kernels, const char *t) {
    program p;
    ind__box *r[1];
    program_begin(&p, NULL);
    ind_expr n = num(&p, length);
    ind__box *x = input(&p, "x", 1, &n), *e = pointwise(&p, EXP, x, fn_exp, (operands){{x}, n}, true);
    check(reduce(&p, SUM, IND_REDUCE_SUM, e, r), t, "builds");
    output(&p, e, "e", 0), output(&p, r[0], "s", 1);
    if (scheduled(&p, t)) {
        check(p.s->num_kernels == kernels, t, "number of kernels");
        check(kernels == 1 || find_edge(&p, IND_FUSION_NO_GAIN), t, "keeps its elementwise part");
    }
    program_end(&p);
}

/* ---- a transformer layer */

static ind__box *linear(program *p, ind__box *x, int64_t n, const char *name) {
    ind_expr w[2] = {num(p, n), x ? x->size[x->rank - 1] : num(p, 1)};
    return matmul(p, x, input(p, name, 2, w));
}

static ind__box *biased(program *p, ind__box *y, ind__box *res) {
    if (!y) return NULL;
    ind__box *b =
        pointwise(p, ADD, y, fn_add, (operands){{y, input(p, "b", 1, &y->size[y->rank - 1])}, num(p, 1)}, false);
    return res ? pointwise(p, ADD, y, fn_add, (operands){{b, res}, num(p, 1)}, false) : b;
}

static ind_value fn_scale_mask(ind_ops *o, const ind_expr *i, int rank, void *user) {
    operands *u = user;
    ind_expr m[2] = {i[0], i[rank - 1]};
    return ind_op_add(o, ind_op_mul(o, at(o, u->x[0], i, rank), f32(o, 0.125)), at(o, u->x[1], m, 2));
}

/* x [B, S, H*D] as [B, H, S, D], or with the last two exchanged. */
static ind__box *heads(program *p, ind__box *x, int64_t h, bool transpose) {
    if (!x) return NULL;
    ind_context *c = p->c;
    ind_expr d = ind_expr_floordiv(x->size[2], num(p, h)), split[4] = {x->size[0], x->size[1], num(p, h), d};
    ind_expr out[4] = {split[0], split[2], transpose ? d : split[1], transpose ? split[1] : d}, map[4];
    ind__box *v = ind__box_reshape(&p->low, x, split, 4);
    int at_s = transpose ? 3 : 2, at_d = transpose ? 2 : 3;
    map[0] = ind__index_symbol(c, 'i', 0, out[0]), map[1] = ind__index_symbol(c, 'i', at_s, out[at_s]);
    map[2] = ind__index_symbol(c, 'i', 1, out[1]), map[3] = ind__index_symbol(c, 'i', at_d, out[at_d]);
    return ind__box_view(&p->low, v, out, 4, map);
}

static ind__box *attention(program *p, ind__box *x, ind__box *mask, int64_t h, int64_t hidden) {
    ind__box *q = biased(p, linear(p, x, hidden, "wq"), NULL), *k = biased(p, linear(p, x, hidden, "wk"), NULL);
    ind__box *v = biased(p, linear(p, x, hidden, "wv"), NULL);
    if (!q || !k || !v) return NULL;
    if (ind__box_realise(&p->low, q) || ind__box_realise(&p->low, k) || ind__box_realise(&p->low, v)) return NULL;
    ind__box *scores = matmul(p, heads(p, q, h, false), heads(p, k, h, false));
    ind__box *scaled =
        scores ? pointwise(p, MUL, scores, fn_scale_mask, (operands){{scores, mask}, num(p, 1)}, false) : NULL;
    ind__box *context = matmul(p, softmax(p, scaled), heads(p, v, h, true));
    if (!context) return NULL;
    ind_context *c = p->c;
    ind_expr out[4] = {context->size[0], context->size[2], context->size[1], context->size[3]}, map[4];
    map[0] = ind__index_symbol(c, 'i', 0, out[0]), map[1] = ind__index_symbol(c, 'i', 2, out[2]);
    map[2] = ind__index_symbol(c, 'i', 1, out[1]), map[3] = ind__index_symbol(c, 'i', 3, out[3]);
    ind__box *back = ind__box_view(&p->low, context, out, 4, map);
    return back ? ind__box_reshape(&p->low, back, x->size, 3) : NULL;
}

static ind__box *encoder(program *p, ind__box *x, ind__box *mask, int64_t h, int64_t hidden, int64_t inner) {
    ind_expr width = num(p, hidden);
    ind__box *a = attention(p, x, mask, h, hidden);
    ind__box *y = a ? layer_norm(p, biased(p, linear(p, a, hidden, "wo"), x), input(p, "g1", 1, &width)) : NULL;
    if (!y) return NULL;
    ind__box *up = linear(p, y, inner, "w1");
    if (!up) return NULL;
    ind_expr in = num(p, inner);
    ind__box *g = pointwise(p, GELU, up, fn_gelu, (operands){{up, input(p, "b1", 1, &in)}, in}, true);
    return layer_norm(p, biased(p, linear(p, g, hidden, "w2"), y), input(p, "g2", 1, &width));
}

static bool build_encoder(program *p, int layers, int64_t hidden, int64_t heads_, ind_expr b, ind_expr s) {
    ind_expr sizes[3] = {b, s, num(p, hidden)};
    ind__box *x = input(p, "x", 3, sizes), *mask = input(p, "mask", 2, sizes);
    for (int l = 0; l < layers && x && mask; l++) x = encoder(p, x, mask, heads_, hidden, 4 * hidden);
    return output(p, x, "y", 0);
}

static bool corner(const ind_symbol *s, void *user, int64_t *out) {
    const int64_t *bs = user;
    *out = bs[s->name[0] == 'S'];
    return true;
}

static void test_encoder(void) {
    const char *t = "encoder layers";
    program p;
    program_begin(&p, NULL);
    check(build_encoder(&p, 2, 8, 2, size(&p, "B", 1, 64, 2), size(&p, "S", 1, 512, 3)), t, "builds");
    if (scheduled(&p, t)) {
        check(p.s->num_kernels <= 2 * 11, t, "at most 11 kernels a layer");
        check(find_edge(&p, IND_FUSION_TWO_TEMPLATES) != NULL, t, "two matrix products stay apart");
        check(find_edge(&p, IND_FUSION_PROLOGUE_ROWS) != NULL, t, "softmax of many rows is not computed in a product");
        check(find_edge(&p, IND_FUSION_REDUCTION_AFTER_TEMPLATE) != NULL, t, "nor layer_norm after one");
        int64_t sizes[][2] = {{1, 1}, {2, 3}, {32, 128}, {64, 512}, {1, 512}, {64, 1}}, arena, op, peak;
        bool less = true, ordered = true;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            ind_expr_eval(p.s->arena_bytes, corner, sizes[i], &arena);
            ind_expr_eval(p.s->op_by_op_bytes, corner, sizes[i], &op);
            ind_expr_eval(p.s->peak_bytes, corner, sizes[i], &peak);
            less = less && arena <= op;
            ordered = ordered && peak <= arena;
        }
        check(less, t, "never more memory than unfused");
        check(ordered, t, "the peak is at most the arena");
        check_results(&p, t);
        if (getenv("SHOW")) show(&p);
    }
    program_end(&p);
}

/* Scores of f32 are stored, each time for another reason, or not. */
static void test_stored_scores(void) {
    const struct {
        ind_fusion_policy policy;
        ind_fusion_reason reason;
        int64_t queries;
    } cases[] = {{{0}, IND_FUSION_ATTENTION_NONE, 3},
                 {{.attention = 2}, IND_FUSION_ATTENTION_TYPE, 3},
                 {{.attention = 3}, IND_FUSION_FUSED_ATTENTION, 3},
                 {{.attention = 3}, IND_FUSION_FUSED_ATTENTION, 300},
                 {{.attention = 3, .attention_f32_step = 1LL << 40}, IND_FUSION_ATTENTION_COST, 300},
                 {{.attention = 3, .disable_attention = true}, IND_FUSION_DISABLED, 3},
                 {{.attention = 3, .disable_prologue = true}, IND_FUSION_DISABLED, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program p;
        program_begin(&p, NULL);
        check(build_encoder(&p, 1, 8, 2, size(&p, "B", 1, 64, 2), size(&p, "S", 1, 512, cases[i].queries)),
              "stored scores", "builds");
        check(schedule(&p, &cases[i].policy) == IND_OK, "stored scores", "schedules");
        const ind_edge *edge = p.s ? find_edge(&p, cases[i].reason) : NULL;
        check(edge != NULL, "stored scores", ind__fusion_reason_text(cases[i].reason));
        program_end(&p);
    }
}

static void test_attention_dims(void) {
    const char *t = "attention's products";
    program p;
    program_begin(&p, NULL);
    check(build_encoder(&p, 1, 384, 12, size(&p, "B", 1, 64, 2), size(&p, "S", 1, 512, 3)), t, "builds");
    if (scheduled(&p, t)) {
        int batched = 0, plain = 0;
        for (uint32_t k = 0; k < p.s->num_kernels; k++) {
            const ind_kernel *kernel = &p.s->kernel[k];
            if (kernel->kind != IND_KERNEL_MATMUL) continue;
            batched += kernel->body->rank == 4 && kernel->matmul.batch_mask == 3 && kernel->matmul.m == 2 &&
                       kernel->matmul.n == 3;
            plain += kernel->body->rank == 2 && kernel->matmul.m == 0 && kernel->matmul.n == 1;
        }
        check(batched == 2 && plain == 6, t, "two are batched over batch and head, six are plain");
    }
    program_end(&p);
}

/* ---- memory */

/* A chain through transposes: nothing fuses in order, every step needs the one before. */
static ind__box *chain_of_transposes(program *p, ind__box *x, int steps) {
    for (int i = 0; i < steps && x; i++)
        x = pointwise(p, TRANSPOSE, x, fn_transposed, (operands){{x}, x->size[0]}, true);
    return x;
}

static void test_memory(void) {
    const char *t = "memory of a chain";
    program p;
    program_begin(&p, NULL);
    ind_expr n = size(&p, "N", 1, 256, 8), sizes[2] = {n, n};
    output(&p, chain_of_transposes(&p, input(&p, "x", 2, sizes), 6), "y", 0);
    if (scheduled_in_order(&p, t)) {
        check(p.s->num_kernels == 6, t, "six kernels");
        check(ind_hint(p.s->arena_bytes) == 2 * 256 && ind_hint(p.s->peak_bytes) == 2 * 256, t,
              "two buffers take turns");
        check_results(&p, t);
    }
    program_end(&p);
}

static void test_inplace(void) {
    const char *t = "in place";
    program p;
    program_begin(&p, NULL);
    ind_expr n = size(&p, "N", 1, 256, 8), sizes[2] = {n, n};
    ind__box *x = input(&p, "x", 2, sizes);
    output(&p, chain_of_transposes(&p, softmax(&p, matmul(&p, x, x)), 1), "y", 0);
    if (scheduled_in_order(&p, t)) {
        bool taken = false;
        for (uint32_t i = 1; i < p.low.num_buffers; i++) taken |= p.s->storage[i] && p.s->storage[i] != i;
        if (!check(taken, t, "a result takes over its input's memory")) show(&p);
        check(ind_hint(p.s->arena_bytes) <= ind_hint(p.s->op_by_op_bytes), t, "at most the unfused peak");
        check_results(&p, t);
    }
    program_end(&p);
}

/* Sizes that cannot be compared: offsets are maxima, and still proven. */
static void test_incomparable(void) {
    const char *t = "sizes that cannot be compared";
    program p;
    program_begin(&p, NULL);
    ind_expr a = size(&p, "A", 1, 500, 7), b = size(&p, "B", 1, 500, 9), sizes[3][2] = {{a, a}, {b, b}, {a, b}};
    ind__box *x[3];
    for (int i = 0; i < 3; i++) x[i] = chain_of_transposes(&p, input(&p, "x", 2, sizes[i == 2 ? 0 : i]), 4 + i);
    for (uint32_t i = 0; i < 3; i++) output(&p, x[i], i ? i == 1 ? "y1" : "y2" : "y0", i);
    if (scheduled_in_order(&p, t)) check_results(&p, t);
    program_end(&p);
}

/* ---- limits */

/* Processor time: other programs on the machine do not count. */
static double now(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static double time_chain(int loops, bool fusable, const char *t) {
    program p;
    program_begin(&p, NULL);
    ind_expr n = size(&p, "N", 1, 256, 8), sizes[2] = {n, n};
    ind__box *x = input(&p, "x", 2, sizes);
    if (!fusable) x = chain_of_transposes(&p, x, loops);
    for (int i = 0; fusable && i < loops; i++) x = pointwise(&p, EXP, x, fn_exp, (operands){{x}, n}, true);
    output(&p, x, "y", 0);
    bool ok = !ind__lowered_fix_layouts(&p.low);
    double start = now();
    ok = ok && !ind__schedule_create(p.c, &p.low, &in_order, origin_name, NULL, &p.s);
    double seconds = now() - start;
    check(ok, t, "schedules");
    if (ok) check(p.s->num_kernels == (uint32_t)(fusable ? (loops + 63) / 64 : loops), t, "kernels are full");
    if (ok) check(!ind__schedule_verify(p.s), t, "verifies");
    program_end(&p);
    return seconds;
}

/* Many readers of one buffer, and each result read by the next loop too. */
static double time_fan(int loops, const char *t) {
    program p;
    program_begin(&p, NULL);
    ind_expr n = size(&p, "N", 1, 256, 8), sizes[2] = {n, n};
    ind__box *x = chain_of_transposes(&p, input(&p, "x", 2, sizes), 1), *y = x;
    for (int i = 0; i < loops; i++)
        y = chain_of_transposes(&p, pointwise(&p, ADD, x, fn_add, (operands){{x, y}, n}, true), 1);
    output(&p, y, "y", 0);
    bool ok = !ind__lowered_fix_layouts(&p.low);
    double start = now();
    ok = ok && !ind__schedule_create(p.c, &p.low, &in_order, origin_name, NULL, &p.s);
    double seconds = now() - start;
    check(ok && !ind__schedule_verify(p.s), t, "schedules and verifies");
    program_end(&p);
    return seconds;
}

/* Times of 5,000 and of 20,000 loops: a quadratic step makes the second 16 times the first, n log n 4.6 times. A
   machine that is busy slows both. */
static void check_linear(double few, double many, const char *t) {
    printf("%s: 5,000 loops %.3f s, 20,000 loops %.3f s of processor time\n", t, few, many);
    check(many < 8 * few + 0.1, t, "no quadratic step");
}

static void test_speed(void) {
    check_linear(time_chain(5000, true, "chain of 5,000"), time_chain(20000, true, "chain of 20,000"), "chain");
    check_linear(time_chain(5000, false, "5,000 kernels"), time_chain(20000, false, "20,000 kernels"), "kernels");
    check_linear(time_fan(2500, "fan of 5,000"), time_fan(10000, "fan of 20,000"), "fan");
}

/* Random graphs of adds, transposes and row reductions, with shared operands: every schedule verifies and computes the
   same as the loops. */
static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static ind__box *random_op(program *p, ind__box **pool, int have, uint32_t *seed, ind_expr n) {
    ind__box *x = pool[next_random(seed) % (uint32_t)have], *y = pool[next_random(seed) % (uint32_t)have];
    switch (next_random(seed) % 8) {
    case 0: return pointwise(p, TRANSPOSE, x, fn_transposed, (operands){{x}, n}, true);
    case 1: return softmax(p, x);
    case 2: return softmax(p, pointwise(p, ADD, x, fn_add, (operands){{x, y}, n}, false));
    case 3: return matmul(p, x, y);
    case 4: return pointwise(p, MUL, x, fn_masked, (operands){{x}, n}, true);
    case 5: return pointwise(p, ADD, x, fn_add, (operands){{x, y}, n}, false);
    default: return pointwise(p, ADD, x, fn_add, (operands){{x, y}, n}, true);
    }
}

static void test_random(uint32_t seed, int ops) {
    char t[32];
    program p;
    ind__box *pool[64];
    int have = 0;
    snprintf(t, sizeof t, "random program %u", seed);
    program_begin(&p, NULL);
    ind_expr n = size(&p, "N", 1, 256, 4), sizes[2] = {n, n};
    pool[have++] = input(&p, "x", 2, sizes), pool[have++] = input(&p, "y", 2, sizes);
    for (int i = 0; i < ops; i++) {
        ind__box *made = random_op(&p, pool, have, &seed, n);
        ind__box *scaled = made ? softmax(&p, made) : NULL; /* keeps values small */
        if (!check(scaled != NULL, t, "builds")) break;
        pool[have++] = next_random(&seed) % 3 ? made : scaled;
    }
    static const char *const names[] = {"o0", "o1", "o2"};
    for (uint32_t i = 0; i < 3; i++) output(&p, softmax(&p, pool[have - 1 - (int)i]), names[i], i);
    if (scheduled(&p, t)) {
        check(ind_hint(p.s->peak_bytes) <= ind_hint(p.s->arena_bytes), t, "peak within arena");
        check_results(&p, t);
    }
    program_end(&p);
}

/* ---- failing allocations */

typedef struct failing {
    int64_t calls, fail_at, live;
} failing;

static void *failing_alloc(size_t bytes, void *user) {
    failing *f = user;
    if (f->calls++ == f->fail_at) return NULL;
    void *p = malloc(bytes);
    f->live += p != NULL;
    return p;
}

static void failing_free(void *memory, void *user) {
    ((failing *)user)->live -= memory != NULL;
    free(memory);
}

/* Schedules and prints with the allocation number `fail_at` failing; returns whether it was reached. */
static bool run_failing(int64_t fail_at, ind_status *status, int64_t *leaked) {
    failing f = {.fail_at = fail_at};
    ind_allocator allocator = {failing_alloc, failing_free, &f};
    program p;
    *status = IND_ERROR_OUT_OF_MEMORY;
    bool built = program_begin(&p, &allocator) &&
                 build_encoder(&p, 1, 8, 2, size(&p, "B", 1, 64, 2), size(&p, "S", 1, 512, 3)) &&
                 !ind__lowered_fix_layouts(&p.low) && !ind_error_status(p.c);
    if (built) *status = ind__schedule_create(p.c, &p.low, NULL, origin_name, NULL, &p.s);
    if (!*status) {
        ind__text t = {.context = p.c};
        ind__schedule_print(&t, p.s, origin_name, NULL, NULL);
        ind__schedule_print_json(&t, p.s, origin_name, NULL, NULL);
        *status = ind__text_status(&t);
        ind__text_free(&t);
    }
    program_end(&p);
    *leaked = f.live;
    return f.calls > fail_at;
}

static void test_failing(void) {
    const char *t = "failing allocations";
    int64_t tried = 0, leaked, step = 1;
    ind_status status;
    for (int64_t n = 0; run_failing(n, &status, &leaked); n += step) {
        tried++;
        if (!check(status != IND_OK, t, "gives a status")) printf("  allocation %lld\n", (long long)n);
        if (!check(leaked == 0, t, "leaks nothing")) printf("  allocation %lld\n", (long long)n);
    }
    check(status == IND_OK && leaked == 0, t, "succeeds in the end");
    check(tried > 100, t, "many allocations were tried");
}

static void test_bad_input(void) {
    const char *t = "bad input";
    program p;
    ind_schedule *s;
    program_begin(&p, NULL);
    check(ind__schedule_create(p.c, NULL, NULL, NULL, NULL, &s) == IND_ERROR_INVALID_ARGUMENT, t, "no program");
    check(ind__schedule_create(p.c, &p.low, NULL, NULL, NULL, &s) == IND_ERROR_INVALID_ARGUMENT, t,
          "layouts not fixed");
    check(schedule(&p, NULL) == IND_OK && p.s->num_kernels == 0, t, "an empty program is an empty schedule");
    check(ind__schedule_verify(NULL) == IND_ERROR_INVALID_ARGUMENT, t, "no schedule");
    ind__schedule_free(NULL);
    program_end(&p);
}

static void test_disabled(void) {
    const char *t = "fusion switched off";
    program p;
    program_begin(&p, NULL);
    ind_expr sizes[2] = {size(&p, "B", 1, 4096, 5), num(&p, 24)};
    output(&p, softmax(&p, input(&p, "x", 2, sizes)), "y", 0);
    ind_fusion_policy policy = {.disable = true};
    if (check(schedule(&p, &policy) == IND_OK, t, "schedules")) {
        check(p.s->num_kernels == p.low.num_loops && find_edge(&p, IND_FUSION_DISABLED), t, "a kernel a loop");
        check_results(&p, t);
    }
    program_end(&p);
}

/* The verifier finds what a wrong plan would break. */
static void test_broken(void) {
    const char *t = "a broken schedule";
    program p;
    program_begin(&p, NULL);
    ind_expr n = size(&p, "N", 1, 256, 8), sizes[2] = {n, n};
    output(&p, chain_of_transposes(&p, input(&p, "x", 2, sizes), 4), "y", 0);
    if (scheduled_in_order(&p, t) && check(p.s->num_kernels == 4, t, "four kernels")) {
        ind_kernel first = p.s->kernel[0];
        uint32_t stored = first.arg[first.num_reads];
        ind_expr offset = p.s->offset[stored];
        p.s->kernel[0] = p.s->kernel[1], p.s->kernel[1] = first;
        check(ind__schedule_verify(p.s) == IND_ERROR_VERIFY, t, "two kernels exchanged");
        p.s->kernel[1] = p.s->kernel[0], p.s->kernel[0] = first;
        check(!ind__schedule_verify(p.s), t, "and back");
        uint32_t next = p.s->kernel[1].arg[p.s->kernel[1].num_reads];
        const ind_expr offset_of_next = p.s->offset[next];
        p.s->offset[next] = offset;
        check(ind__schedule_verify(p.s) == IND_ERROR_VERIFY, t, "two live buffers in one place");
        p.s->offset[next] = ind_expr_add(offset, ind_int(p.c, 1));
        check(ind__schedule_verify(p.s) == IND_ERROR_VERIFY, t, "an offset that is not aligned");
        p.s->offset[next] = offset_of_next;
        check(!ind__schedule_verify(p.s), t, "and back again");
        p.s->launch[1] = 0, p.s->num_launches--;
        check(ind__schedule_verify(p.s) == IND_ERROR_VERIFY, t, "a launch with what it needs itself");
        p.s->launch[1] = 1;
        check(ind__schedule_verify(p.s) == IND_ERROR_VERIFY, t, "launches that are not counted");
    }
    program_end(&p);
}

static ind_value fn_down(ind_ops *o, const ind_expr *i, int rank, void *user) {
    ind_expr turned[2] = {i[rank - 1], i[0]};
    return at(o, ((operands *)user)->x[0], turned, rank);
}

/* Sums of the rows and of the columns of x, in that order. */
static bool rows_and_columns(program *p, ind__box *x) {
    ind__box *r[1], *c[1];
    operands u = {{x}, x->size[0]};
    ind__reduction_desc down = {IND_REDUCE_SUM, IND_F32, &x->size[1], 1, &x->size[0], 1, fn_down, NULL, &u};
    if (!reduce(p, SUM, IND_REDUCE_SUM, x, r) || ind__box_reduction(&p->low, &down, c)) return false;
    return output(p, r[0], "rows", 0) && output(p, c[0], "columns", 1) && !ind__lowered_fix_layouts(&p->low);
}

/* Columns join the kernel of the rows if that pays and is wanted, and the verifier holds their runs to what they are.
 */
static void test_runs(int64_t rows, ind_fusion_policy policy, int64_t run) {
    const char *t = "columns reduced with rows";
    program p;
    program_begin(&p, NULL);
    ind_expr sizes[2] = {size(&p, "M", 1, 100000, rows), num(&p, 512)};
    check(rows_and_columns(&p, input(&p, "x", 2, sizes)), t, "builds");
    check(!ind__split_reductions(&p.low, &policy) && !ind__lowered_verify(&p.low), t, "splits");
    if (check(schedule(&p, &policy) == IND_OK, t, "schedules and verifies")) {
        check(p.s->num_kernels == 2 && p.s->kernel[0].run == run, t, "two kernels, the first with runs of that length");
        p.s->kernel[0].run = run ? 0 : 16;
        check(ind__schedule_verify(p.s) == IND_ERROR_VERIFY, t, "runs of another length");
        p.s->kernel[0].run = run;
        ind_body *body = p.s->kernel[0].body;
        for (uint32_t i = 1; run && i < body->num_inst; i++) {
            if (!(body->inst[i].flags & IND__INST_RUN)) continue;
            ind_expr index = body->index[body->inst[i].index];
            body->index[body->inst[i].index] = ind_expr_mul(body->var[0], num(&p, 512));
            check(ind__schedule_verify(p.s) == IND_ERROR_VERIFY, t, "rows joined elsewhere");
            body->index[body->inst[i].index] = index;
        }
        check(!ind__schedule_verify(p.s), t, "and back");
    }
    program_end(&p);
}

/* Two chains: their kernels share launches if what is live at the same time does not become more by that. */
static void test_combined(void) {
    const char *t = "kernels that share a launch";
    for (int way = 0; way < 4; way++) {
        ind_fusion_policy policy = {
            .disable_reorder = true, .disable_combo = way == 1, .max_parts = way == 2, .max_functions = way == 3};
        program p;
        program_begin(&p, NULL);
        ind_expr n = size(&p, "N", 1, 256, 8), sizes[2] = {n, n}, other[2] = {num(&p, 24), n};
        output(&p, chain_of_transposes(&p, input(&p, "x", 2, sizes), 1), "y", 0);
        output(&p, softmax(&p, input(&p, "z", 2, other)), "s", 1);
        if (check(schedule(&p, &policy) == IND_OK, t, "schedules")) {
            check(p.s->num_kernels == 2 && p.s->num_launches == (way ? 2 : 1), t, "launches");
            check(p.s->combo[1] == (way == 0   ? IND_COMBO_COMBINED
                                    : way == 1 ? IND_COMBO_DISABLED
                                               : IND_COMBO_FULL),
                  t, "why");
            check_results(&p, t);
        }
        program_end(&p);
    }
}

static void test_print(void) {
    const char *t = "print";
    program p;
    program_begin(&p, NULL);
    ind_expr sizes[2] = {size(&p, "B", 1, 4096, 32), num(&p, 256)}, n = num(&p, 512), w_sizes[2] = {n, sizes[1]};
    ind__box *y = matmul(&p, input(&p, "x", 2, sizes), input(&p, "w", 2, w_sizes)), *b = input(&p, "b", 1, &n);
    output(&p, pointwise(&p, GELU, y, fn_gelu, (operands){{y, b}, n}, true), "y", 0);
    if (scheduled(&p, t)) {
        ind__text text = {.context = p.c}, json = {.context = p.c};
        ind__schedule_print(&text, p.s, origin_name, NULL, NULL);
        ind__schedule_print_json(&json, p.s, origin_name, NULL, NULL);
        const char *expected = "kernel 0  linear_gelu  matmul [B, 512 | 256]\n"
                               "  computes linear, gelu; reads 1024*B + 526336 bytes of x, w, b; writes 2048*B bytes "
                               "of y; flops 265216*B\n"
                               "  buf3 -> y  fused: epilogue of the matrix product, saves 4096*B bytes and a launch\n"
                               "workspace 0 bytes; live at once, at most 0; without fusion 2048*B\n";
        if (!check(text.data && !strcmp(text.data, expected), t, "text")) printf("%s", text.data);
        check(json.data && strstr(json.data, "\"fused\": true") && strstr(json.data, "\"arena_bytes\": \"0\""), t,
              "json");
        ind__text_free(&text);
        ind__text_free(&json);
    }
    program_end(&p);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_softmax();
    test_layer_norm(false);
    test_layer_norm(true);
    test_linear_gelu();
    test_siblings();
    test_transposed();
    test_transposed_square();
    test_reshape();
    test_masked();
    test_gather();
    test_one_row(1 << 16, 2, "one long row");
    test_one_row((1 << 16) + 1, 1, "one long row, shared by blocks");
    test_encoder();
    test_stored_scores();
    test_attention_dims();
    test_memory();
    test_inplace();
    test_incomparable();
    test_disabled();
    test_broken();
    test_runs(8192, (ind_fusion_policy){0}, 16);
    test_runs(100000, (ind_fusion_policy){.mix_flight = 1}, 96);
    test_runs(100000, (ind_fusion_policy){0}, 96);
    test_runs(16384, (ind_fusion_policy){0}, 32);
    test_runs(16384, (ind_fusion_policy){.mix_flight = 1}, 64);
    test_runs(8192, (ind_fusion_policy){.mix_rows = 40}, 40);
    test_runs(8192, (ind_fusion_policy){.disable_mix = true}, 0);
    test_runs(8192, (ind_fusion_policy){.mix_columns = 500}, 0);
    test_runs(8192, (ind_fusion_policy){.mix_from = 1 << 30}, 0);
    test_runs(1000, (ind_fusion_policy){.mix_from = 1}, 0);
    test_combined();
    test_print();
    test_bad_input();
    for (uint32_t seed = 1; seed <= 60; seed++) test_random(seed, 4 + (int)seed % 16);
    test_failing();
    test_speed();
    printf("%d passed, %d failed\n", num_passed, num_failed);
    return num_failed != 0;
}
