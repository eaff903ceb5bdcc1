/* test_refused.c - the n-th allocation is refused while a graph is parsed, compiled, explained and run, for many n.
 * Either a call reports IND_ERROR_OUT_OF_MEMORY, or the results and the CUDA text are those of a run in which nothing was
 * refused.
 *
 *   test_refused [EVERY [GRAPH]]   EVERY: refuse each EVERY-th allocation (default: some 30 of each graph; 1: all)
 *
 * The parent goes through the job once. Before every allocation that is to be refused it forks: the child refuses that
 * one, and goes on to the end. */
#define _POSIX_C_SOURCE 200809L
#include "inductor.h"

#include "../unit/check.h"

#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Freed memory is kept back for a while, to see whether it is used; the usual 256 MiB make a fork slow. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "quarantine_size_mb=4";
}

/* Inputs are filled by their type; integers are in [0, 4). */
static const struct {
    const char *name, *text, *sizes;
} graphs[] = {
    {"transpose and cat",
     "graph g {\n  input x : f32[4, 4]\n  e = exp(x)\n  t = transpose(e, 0, 1)\n  y = cat([t, t], dim=0)\n  output "
     "y\n}\n",
     ""},
    {"convolution",
     "graph g {\n  input x : f32[2, 3, 8, 8]\n  const w : f32[4, 3, 3, 3]\n  const b : f32[4]\n"
     "  c = conv2d(x, w, b, stride=[2, 1], padding=[1, 1])\n  r = relu(c)\n  y = max_pool2d(r, kernel_size=[2, 2])\n  "
     "output y\n}\n",
     ""},
    {"transposed convolutions",
     "graph g {\n  size H in [2, 20]\n  input x : f32[2, 4, H, 5]\n  const w : f32[4, 3, 3, 4]\n  const b : f32[6]\n"
     "  c = conv_transpose2d(x, w, b, stride=[2, 2], padding=[1, 1], groups=2)\n  const v : f32[6, 2, 3, 3]\n"
     "  y = conv_transpose2d(c, v, padding=[1, 1])\n  output y\n}\n",
     "H=6"},
    {"softmax of symbolic length",
     "graph g {\n  size N in [1, 64]\n  size M in [1, 300]\n  input x : f16[N, M]\n  y = softmax(x, dim=-1)\n  output "
     "y\n}\n",
     "N=3, M=37"},
    {"layer_norm under facts",
     "graph g {\n  size B in [1, 8]\n  size S in [1, 64]\n  size T in [1, 512]\n  fact T == B*S\n  guard S % 4 == 0\n"
     "  input x : f32[T, 24]\n  const w : f32[24]\n  v = view(x, size=[B, S, 24])\n"
     "  n = layer_norm(v, normalized_shape=[24], weight=w)\n  y = sum(n, dim=[1])\n  output y\n}\n",
     "B=3, S=8"},
    {"matmul with epilogue",
     "graph g {\n  size B in [1, 64]\n  input x : bf16[B, 32]\n  const w : bf16[48, 32]\n  const b : bf16[48]\n"
     "  h = linear(x, w, b)\n  g = gelu(h, approximate=\"tanh\")\n  r = add(g, 1.0)\n  output r, h\n}\n",
     "B=5"},
    {"products that become one",
     "graph g {\n  size B in [1, 64]\n  input x : f32[B, 16]\n  const v : f32[8, 16]\n  const w : f32[4, 16]\n  const b : "
     "f32[8]\n  const u : f32[16, 1]\n"
     "  p = linear(x, v, b)\n  q = linear(x, w)\n  r = mm(x, u)\n  s = softmax(p, dim=-1)\n  t = softmax(q, dim=-1)\n"
     "  output s, t, r\n}\n",
     "B=5"},
    {"attention",
     "graph g {\n  size S in [1, 32]\n  input q : f32[2, 4, S, 8]\n  input k : f32[2, 2, S, 8]\n  input v : f32[2, 2, "
     "S, 8]\n"
     "  y = scaled_dot_product_attention(q, k, v, is_causal=true, enable_gqa=true)\n  output y\n}\n",
     "S=7"},
    {"attention with a map of its mask",
     "graph g {\n  size S in [1, 200]\n  input q : f32[1, 4, S, 8]\n  input k : f32[1, 4, S, 8]\n  input v : f32[1, 4, "
     "S, 8]\n  input d : i32[S]\n  a = reshape(d, shape=[S, 1])\n  m = eq(a, d)\n"
     "  y = scaled_dot_product_attention(q, k, v, m)\n  output y\n}\n",
     "S=7"},
    {"embedding and gather",
     "graph g {\n  size N in [1, 32]\n  input i : i64[N]\n  const t : f32[4, 8]\n  e = embedding(t, i)\n"
     "  u = unsqueeze(i, 1)\n  g = gather(e, 1, u)\n  y = mul(e, g)\n  output y\n}\n",
     "N=6"},
    {"scatter in place",
     "graph g {\n  size P in [0, 15]\n  input cache : f32[16, 8]\n  input new : f32[1, 8]\n  input i : i64[3]\n"
     "  input v : f32[3, 8]\n  c = slice_scatter(cache, new, 0, P, P + 1)\n  d = index_put(c, [i], v, "
     "accumulate=true)\n"
     "  mutate cache = d\n  y = sum(d, dim=[0])\n  output y\n}\n",
     "P=5"},
    {"sizes from data",
     "graph g {\n  input x : f32[20]\n  p = gt(x, 0.1)\n  s = masked_select(x, p)\n  q, r = unique(s, "
     "return_counts=true)\n"
     "  e = mul(q, 2.0)\n  output e, r\n}\n",
     ""},
    {"sort and topk",
     "graph g {\n  input x : f32[5, 33]\n  s, i = sort(x, 1, true)\n  t, j = topk(x, 4)\n  m = argmax(x, dim=1)\n"
     "  output s, i, t, j, m\n}\n",
     ""},
    {"scans",
     "graph g {\n  size N in [1, 40]\n  input x : f32[3, N]\n  c = cumsum(x, 1)\n  m, i = cummax(c, 1)\n  l = "
     "logcumsumexp(x, 1)\n"
     "  y = add(m, l)\n  output y, i\n}\n",
     "N=11"},
    {"views",
     "graph g {\n  input x : f32[6, 8, 4]\n  p = permute(x, [2, 0, 1])\n  f = flip(p, [1])\n  r = roll(f, [3], [2])\n"
     "  d = constant_pad_nd(r, [1, 2, 0, 1])\n  s = slice(d, 2, 1, 9, 2)\n  y = reshape(s, [4, 28])\n  output y\n}\n",
     ""},
    {"several reductions",
     "graph g {\n  size N in [1, 50]\n  input x : f64[N, 12]\n  v, m = var_mean(x, dim=[1])\n  a = amax(x, dim=[1])\n"
     "  n = linalg_vector_norm(x, dim=[0])\n  y = add(v, a)\n  output y, m, n\n}\n",
     "N=9"},
    {"norms of channels",
     "graph g {\n  input x : f32[2, 6, 4, 4]\n  const w : f32[6]\n  const b : f32[6]\n  g = group_norm(x, 3, w, b)\n"
     "  h = hardswish(g)\n  y = adaptive_avg_pool2d(h, [2, 2])\n  output y\n}\n",
     ""},
    {"resampling",
     "graph g {\n  input x : f32[1, 2, 5, 4]\n  u = interpolate(x, size=[7, 9], mode=\"bilinear\")\n"
     "  output u\n}\n",
     ""},
    {"transform",
     "graph g {\n  size B in [1, 8]\n  input x : f32[B, 12]\n  f = fft_rfft(x)\n  a = view_as_real(f)\n  output a\n}\n",
     "B=2"},
    {"random numbers",
     "graph g {\n  input x : f32[4, 16]\n  input s : i64[]\n  r = rand(s, size=[4, 16])\n  y = mul(x, r)\n  output "
     "y\n}\n",
     ""},
    {"batched products",
     "graph g {\n  size B in [1, 6]\n  input a : f32[B, 5, 7]\n  input b : f32[B, 7, 3]\n  p = bmm(a, b)\n  t = "
     "transpose(p, 1, 2)\n"
     "  y = matmul(t, p)\n  output y\n}\n",
     "B=2"},
    {"integers and masks",
     "graph g {\n  input i : i32[7, 5]\n  input p : bool[7, 5]\n  a = bitwise_xor(i, 5)\n  f = floor_divide(a, 3)\n"
     "  w = where(p, f, i)\n  s = sum(w, dim=[0])\n  y = any(p, dim=1)\n  output s, y\n}\n",
     ""},
    {"donated input",
     "graph g {\n  size N in [1, 64]\n  input x : f32[N, 8]\n  donate x\n  a = tanh(x)\n  s = softmax(a, 0)\n  y = "
     "mul(s, 2.0)\n"
     "  output y\n}\n",
     "N=10"},
    {"ops in place",
     "graph g {\n  input x : f32[4, 6]\n  input y : f32[4, 2]\n  p = slice(x, 1, 2, 4)\n  copy_(p, y)\n  add_(x, 1.0)\n"
     "  z = sum(x, dim=[1])\n  output z\n}\n",
     ""},
    {"a scan with a function",
     "graph g {\n  size N in [1, 64]\n  input x : f32[N]\n  input g : f32[N]\n"
     "  h, k = associative_scan([x, g], 0, 2, combine=\"a = mul(l0, r1); b = add(a, r0); c = mul(l1, r1); b, c\")\n"
     "  output h\n}\n",
     "N=13"},
    {"loss",
     "graph g {\n  size B in [1, 32]\n  input x : f32[B, 10]\n  input t : i64[B]\n  l = cross_entropy(x, t)\n  output "
     "l\n}\n",
     "B=4"},
    {"a layer of a transformer",
     "graph g {\n  size S in [1, 16]\n  input x : f32[S, 16]\n  const a : f32[16]\n  const q : f32[48, 16]\n  const o "
     ": f32[16, 16]\n"
     "  n = rms_norm(x, normalized_shape=[16], weight=a)\n  h = linear(n, q)\n  k = slice(h, 1, 0, 16)\n  v = slice(h, "
     "1, 16, 32)\n"
     "  t = transpose(v, 0, 1)\n  s = matmul(k, t)\n  p = softmax(s, -1)\n  w = slice(h, 1, 32, 48)\n  c = matmul(p, "
     "w)\n"
     "  l = linear(c, o)\n  y = add(l, x)\n  output y\n}\n",
     "S=5"},
};

#define NUM_GRAPHS ((int)(sizeof graphs / sizeof *graphs))
#define BYTES      16384
#define MOST       16

typedef struct results {
    unsigned char data[MOST][BYTES];
    size_t bytes[MOST];
    char *cuda;
    bool done;
} results;

static void fill(void *data, ind_dtype d, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        const float v = (float)((k * 37 + 11) % 23) / 11 - 1;
        switch (d) {
        case IND_F16: ((uint16_t *)data)[k] = ind__f32_to_f16(v); break;
        case IND_BF16: ((uint16_t *)data)[k] = ind__f32_to_bf16(v); break;
        case IND_F32: ((float *)data)[k] = v; break;
        case IND_F64: ((double *)data)[k] = v; break;
        case IND_I32: ((int32_t *)data)[k] = (int32_t)(k % 4); break;
        case IND_I64: ((int64_t *)data)[k] = k % 4; break;
        default: ((unsigned char *)data)[k] = k % 3 == 0; break;
        }
    }
}

static ind_status run(ind_module *m, const char *sizes, results *r) {
    ind_binding io[MOST];
    const int num = ind_module_num_bindings(m);
    CHECK(num <= MOST, "%d bindings", num);
    for (int i = 0; i < num; i++) {
        const ind_binding_info *b = ind_module_query_binding(m, i);
        int64_t shape[IND_MAX_RANK], n = 1;
        ind_status status = ind_module_shape(m, i, sizes, NULL, shape);
        if (status) return status;
        for (int d = 0; d < b->rank; d++) n *= shape[d];
        r->bytes[i] = (size_t)n * (size_t)ind_dtype_bytes(b->dtype);
        CHECK(r->bytes[i] <= BYTES, "%s has %zu bytes", b->name, r->bytes[i]);
        memset(r->data[i], 0, BYTES);
        if (b->kind != IND_BINDING_OUTPUT) fill(r->data[i], b->dtype, n);
        io[i] = (ind_binding){.name = b->name, .data = r->data[i]};
    }
    int64_t counts[8];
    ind_run_desc d = {.bindings = io, .num_bindings = num, .sizes = sizes, .data_sizes = counts};
    return ind_run(m, &d);
}

static ind_status explain(ind_module *m, results *r) {
    const char *cuda = ind_module_text(m, IND_STAGE_CUDA);
    if (!cuda) return ind_error_status(m->context);
    r->cuda = malloc(strlen(cuda) + 1);
    if (r->cuda) strcpy(r->cuda, cuda);
    return r->cuda ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

static ind_status job(ind_allocator allocator, int which, results *r) {
    ind_context *ctx;
    ind_module *m = NULL;
    ind_context_desc desc = {.allocator = allocator, .device = IND_DEVICE_HOST, .num_threads = 1};
    ind_status status = ind_context_create(&desc, &ctx);
    if (status) return status;
    ind_graph *g = ind_graph_parse(ctx, graphs[which].text, graphs[which].name);
    if (!g) status = ind_error_status(ctx);
    const ind_compile_desc compile = {.enabled_patterns = "block_maps", .fusion.persistent = true};
    if (!status) status = ind_compile(g, &compile, &m);
    CHECK(!status == (m != NULL), "a module from a failed compile, or none");
    if (!status) status = run(m, graphs[which].sizes, r);
    if (!status) status = explain(m, r);
    CHECK(!status || *ind_error(ctx), "%s without a message", ind_status_text(status));
    if (status && status != IND_ERROR_OUT_OF_MEMORY) printf("%s: %s\n", graphs[which].name, ind_error(ctx));
    ind_context_destroy(ctx);
    r->done = !status;
    return status;
}

/* ---- refusing ---- */

enum { REFUSED, UNNOTICED = 1, LEAK = 2, OTHER_STATUS = 4, WRONG = 8 };

typedef struct forks {
    check_heap heap;
    long every, unnoticed, bad;
    const char *name;
    bool child;
    int failed; /* checks, when the child began */
} forks;

static void *fork_alloc(size_t bytes, void *user) {
    forks *f = (forks *)user;
    if (f->child || (f->heap.calls + 1) % f->every) return check_alloc(bytes, &f->heap);
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0, "fork fails at allocation %ld", f->heap.calls);
    if (!pid) {
        f->child = true;
        f->failed = checks_failed;
        f->heap.fail_at = f->heap.calls + 1;
    } else if (pid > 0) {
        int status = 0;
        bool ended = waitpid(pid, &status, 0) == pid && WIFEXITED(status);
        int seen = ended ? WEXITSTATUS(status) : WRONG;
        f->unnoticed += seen == UNNOTICED;
        CHECK(!(seen & ~UNNOTICED), "%s: allocation %ld is refused:%s%s%s", f->name, f->heap.calls + 1,
              seen & LEAK ? " a leak" : "", seen & OTHER_STATUS ? " another status than out of memory" : "",
              seen & WRONG ? " wrong results, or a crash" : "");
    }
    return check_alloc(bytes, &f->heap);
}

static void fork_free(void *memory, void *user) {
    check_free(memory, &((forks *)user)->heap);
}

static bool same(const results *a, const results *b) {
    bool same = a->cuda && b->cuda && !strcmp(a->cuda, b->cuda);
    for (int i = 0; i < MOST && same; i++)
        same = a->bytes[i] == b->bytes[i] && !memcmp(a->data[i], b->data[i], a->bytes[i]);
    return same;
}

static void refuse(int which, long every) {
    static results want, got;
    memset(&want, 0, sizeof want), memset(&got, 0, sizeof got);
    check_heap heap = {0};
    ind_status status = job((ind_allocator){check_alloc, check_free, &heap}, which, &want);
    CHECK(!status && !heap.live, "%s: %s, %ld blocks leak", graphs[which].name, ind_status_text(status), heap.live);
    if (status) return;
    forks f = {.name = graphs[which].name, .every = every ? every : heap.calls / 30 + 1};
    status = job((ind_allocator){fork_alloc, fork_free, &f}, which, &got);
    int seen = status ? REFUSED : UNNOTICED;
    if (f.heap.live) seen |= LEAK;
    if (status && status != IND_ERROR_OUT_OF_MEMORY) seen |= OTHER_STATUS;
    if ((f.child && checks_failed > f.failed) || (!status && !same(&want, &got))) seen |= WRONG;
    fflush(stdout);
    if (f.child) _exit(seen);
    CHECK(seen == UNNOTICED, "%s: the parent fails", graphs[which].name);
    CHECK(!f.unnoticed, "%s: %ld of %ld refused allocations go unnoticed", f.name, f.unnoticed, heap.calls);
    printf("%s: %ld allocations, each %ld. refused\n", f.name, heap.calls, f.every);
    free(want.cuda), free(got.cuda);
}

int main(int argc, char **argv) {
    const long every = argc > 1 ? atol(argv[1]) : 0;
    const int only = argc > 2 ? atoi(argv[2]) : -1;
    for (int i = 0; i < NUM_GRAPHS; i++)
        if (only < 0 || i == only) refuse(i, every);
    return check_summary();
}
