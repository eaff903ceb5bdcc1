/* test_memory.c - what interned expressions cost: bytes a node, and what is left of a context whose memory runs out.
 *
 *     test_memory [NODES]      1,000,000 if not given; 10,000,000 needs half a gigabyte
 */
#include "inductor_ir.h"

#include "../unit/check.h"

#include <string.h>

#define MOST_BYTES_PER_NODE 48

/* An allocator that knows the size of what it gave, and gives no more than `most` bytes at a time. */
typedef struct meter {
    size_t live, most, peak;
} meter;

static void *meter_alloc(size_t bytes, void *user) {
    meter *m = (meter *)user;
    if (bytes > m->most || m->live > m->most - bytes) return NULL;
    size_t *p = malloc(bytes + 16);
    if (!p) return NULL;
    *p = bytes;
    m->live += bytes;
    if (m->live > m->peak) m->peak = m->live;
    return (char *)p + 16;
}

static void meter_free(void *memory, void *user) {
    if (!memory) return;
    meter *m = (meter *)user;
    size_t *p = (size_t *)(void *)((char *)memory - 16);
    m->live -= *p;
    free(p);
}

static ind_status create(meter *m, ind_context **ctx) {
    ind_context_desc desc = {.device = IND_DEVICE_HOST, .allocator = {meter_alloc, meter_free, m}};
    return ind_context_create(&desc, ctx);
}

/* ---- random distinct expressions, of the kinds that lowering makes: flat indices, splits, padded sizes, bounds */

#define NUM_SYMBOLS 8

typedef struct source {
    ind_context *ctx;
    ind_expr symbol[NUM_SYMBOLS];
    uint64_t seed;
} source;

static uint32_t rnd(source *s, uint32_t n) {
    s->seed = s->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(s->seed >> 33) % n;
}

static source make_source(ind_context *ctx) {
    source s = {.ctx = ctx, .seed = 1};
    for (int i = 0; i < NUM_SYMBOLS; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        ind_symbol symbol = {.kind = IND_SYMBOL_SIZE, .slot = i, .name = name, .lo = 1, .hi = 1 << 20, .hint = 1};
        s.symbol[i] = ind_symbol_expr(ctx, &symbol);
    }
    return s;
}

static ind_expr some_symbol(source *s) {
    return s->symbol[rnd(s, NUM_SYMBOLS)];
}

/* a + k*b + c, k and c nearly never met before. */
static ind_expr flat_index(source *s) {
    ind_expr a = some_symbol(s), b = some_symbol(s);
    ind_expr terms[] = {a, ind_expr_mul(b, ind_int(s->ctx, 2 + rnd(s, 1 << 12))), ind_int(s->ctx, rnd(s, 1 << 16))};
    return ind_expr_sum(s->ctx, terms, 3);
}

static ind_expr random_expression(source *s) {
    ind_expr x = flat_index(s), d = ind_int(s->ctx, 2 + rnd(s, 62));
    switch (rnd(s, 6)) {
    case 0: return x;
    case 1: return ind_expr_floordiv(x, d);
    case 2: return ind_expr_mod(x, d);
    case 3: return ind_expr_add(ind_expr_ceildiv(x, d), some_symbol(s));
    case 4: return ind_expr_min(x, some_symbol(s));
    default: return ind_expr_modular(x, d, some_symbol(s));
    }
}

/* Until there are `nodes` of them; false if memory ran out before. */
static bool grow(source *s, uint32_t nodes) {
    while (ind__num_exprs(s->ctx) < nodes)
        if (!random_expression(s).id) return false;
    return true;
}

/* ---- bytes a node */

/* The table of nodes and the hash table double now and then, so what a node costs depends on how many there are: looked
   at over the last doubling. */
static void test_bytes(uint32_t nodes) {
    meter m = {.most = SIZE_MAX};
    ind_context *ctx;
    if (create(&m, &ctx)) exit(2);
    source s = make_source(ctx);
    size_t fixed = m.live;
    uint32_t first = ind__num_exprs(ctx);
    double sum = 0;
    for (int i = 0; i < 8; i++) {
        CHECK(grow(&s, (uint32_t)((uint64_t)nodes * (9 + (unsigned)i) / 16)), "%s", ind_error(ctx));
        double each = (double)(m.live - fixed) / (ind__num_exprs(ctx) - first);
        printf("%9u nodes: %.1f bytes each, %.1f MB in all\n", ind__num_exprs(ctx), each, (double)m.live / 1e6);
        sum += each;
    }
    printf("on average %.1f bytes; the empty context has %.1f KB\n", sum / 8, (double)fixed / 1e3);
    CHECK(sum / 8 <= MOST_BYTES_PER_NODE, "%.1f bytes a node", sum / 8);
    ind_context_destroy(ctx);
    CHECK(!m.live, "%zu bytes are left", m.live);
}

/* ---- when memory runs out */

/* before: s0 + s1, made before memory ran out. */
static void check_usable(source *s, ind_expr before) {
    char now[128];
    int64_t lo, hi;
    ind_expr_print(before, now, sizeof now);
    ind_expr_bounds(before, &lo, &hi);
    CHECK(!strcmp(now, "s0 + s1"), "s0 + s1 prints %s", now);
    CHECK(lo == 2 && hi == 2 << 20, "bounds [%lld, %lld]", (long long)lo, (long long)hi);
    CHECK(ind_expr_same(ind_expr_add(s->symbol[0], s->symbol[1]), before), "the same sum has another id");
}

static void test_limit(size_t most) {
    meter m = {.most = most};
    ind_context *ctx;
    ind_status status = create(&m, &ctx);
    if (status) {
        CHECK(status == IND_ERROR_OUT_OF_MEMORY, "creation with %zu bytes: %s", most, ind_status_text(status));
        CHECK(!m.live, "%zu bytes are left", m.live);
        return;
    }
    source s = make_source(ctx);
    ind_expr sum = ind_expr_add(s.symbol[0], s.symbol[1]);
    CHECK(!grow(&s, UINT32_MAX), "%zu bytes hold everything", most);
    CHECK(ind_error_status(ctx) == IND_ERROR_OUT_OF_MEMORY, "%s: %s", ind_status_text(ind_error_status(ctx)),
          ind_error(ctx));
    uint32_t reached = ind__num_exprs(ctx);
    m.most = SIZE_MAX;
    if (sum.id) {
        check_usable(&s, sum);
        CHECK(grow(&s, reached + 1000), "it does not go on with more memory: %s", ind_error(ctx));
    }
    ind_context_destroy(ctx);
    CHECK(!m.live, "%zu bytes are left", m.live);
}

int main(int argc, char **argv) {
    test_bytes(argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000);
    for (size_t most = 1000; most < 200000; most += 3001) test_limit(most);
    for (size_t most = 1 << 18; most <= 1 << 24; most *= 4) test_limit(most + most / 7);
    return check_summary();
}
