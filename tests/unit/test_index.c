/* test_index.c - what loops ask of an index: solving, strides, runs of neighbours, loops that merge or split, ranges of
   memory that cannot meet. Tables of cases, then random expressions judged point by point. */
#include "inductor_ir.h"

#include "check.h"

#include <limits.h>
#include <string.h>

static ind_context *ctx;
static uint64_t seed = 4711;

static uint32_t rnd(uint32_t n) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % n;
}

/* ---- the symbols of all tables: sizes S, T in [1, 512], E in [8, 512] by eights, Z in [0, 512]; loop indices with
   their extents; t, an index read from memory */

static ind_expr named_size(const char *name, int64_t lo, int64_t multiple) {
    ind_symbol s = {.kind = IND_SYMBOL_SIZE, .name = name, .lo = lo, .hi = 512, .multiple_of = multiple, .hint = 64};
    return ind_symbol_expr(ctx, &s);
}

static ind_expr find(const char *name, size_t length, void *user) {
    static const struct {
        char name;
        int lo, multiple;
    } sizes[] = {{'S', 1, 1}, {'T', 1, 1}, {'E', 8, 8}, {'Z', 0, 1}};
    ind_expr *index = (ind_expr *)user, none = {0};
    for (size_t k = 0; length == 1 && k < sizeof sizes / sizeof *sizes; k++) {
        char text[2] = {sizes[k].name, 0};
        if (*name == sizes[k].name) return named_size(text, sizes[k].lo, sizes[k].multiple);
    }
    if (length == 1 && *name == 't') return ind__indirect_symbol(ctx, 9, ind_int(ctx, 100));
    return length == 2 && *name == 'i' && name[1] >= '0' && name[1] <= '3' ? index[name[1] - '0'] : none;
}

static ind_expr parse(const char *text, ind_expr *index) {
    const char *end = text;
    ind_expr e = ind__expr_parse(ctx, text, &end, find, index);
    CHECK(ind__ok(e) && !*end, "%s: %s", text, ind_error(ctx));
    return e;
}

static const char *print(ind_expr e) {
    static char text[4][256];
    static int at;
    at = (at + 1) % 4;
    if (!ind__ok(e)) return "none";
    ind_expr_print(e, text[at], sizeof text[at]);
    return text[at];
}

/* Loop indices i0 .. i3 with the extents of a list such as "S 12 32". */
static int make_loops(const char *extents, ind_expr index[4]) {
    char word[64];
    int n = 0, used;
    for (int k = 0; k < 4; k++) index[k] = ind__index_symbol(ctx, 'i', k, ind_int(ctx, 1 << 20));
    for (; n < 4 && sscanf(extents, " %63s%n", word, &used) == 1; extents += used, n++)
        index[n] = ind__index_symbol(ctx, 'i', n, parse(word, index));
    return n;
}

/* ---- tables */

static void test_solve(void) {
    static const struct {
        const char *a, *b, *symbol, *value;
    } rows[] = {{"4*S + 8", "T*8", "S", "2*T - 2"}, {"4*S", "T", "S", "none"},
                {"S*T", "T*T", "S", "T"},           {"S*Z", "Z*Z", "S", "none"}, /* Z may be 0 */
                {"S // 4", "3", "S", "none"},       {"S*S", "T", "S", "none"},
                {"7 - 3*S", "1", "S", "2"},         {"7 - 3*S", "2", "S", "none"},
                {"S + T", "S + 4", "T", "4"},       {"S + T", "S + 4", "S", "none"},
                {"S + S % 4", "T", "S", "none"},    {"12*S*T", "24*E*T*i0", "S", "2*E*i0"},
                {"Min(S, T)", "4", "S", "none"},    {"2*S + S // 2 - S // 2", "6*T", "S", "3*T"}};
    ind_expr index[4];
    make_loops("", index);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        ind_expr got = ind_expr_solve(parse(rows[k].a, index), parse(rows[k].b, index), parse(rows[k].symbol, index));
        ind_expr want = {0};
        if (strcmp(rows[k].value, "none")) want = parse(rows[k].value, index);
        CHECK(got.id == want.id, "%s == %s for %s: %s, not %s", rows[k].a, rows[k].b, rows[k].symbol, print(got),
              rows[k].value);
    }
}

static const struct stride_row {
    const char *extents, *e, *stride; /* by i0 */
    int most, run, alignment;
} stride_rows[] = {
    {"S", "i0", "1", 8, 8, 8},
    {"S", "i0 + 1", "1", 8, 8, 1},
    {"S", "2*i0", "2", 8, 1, 2},
    {"S", "7", "0", 8, 1, 1},
    {"S", "0", "0", 8, 1, 8},
    {"S", "(i0 // 4)*4 + i0 % 4", "1", 8, 8, 8}, /* joined by the algebra */
    {"S", "(i0 // 4)*8 + i0 % 4", "none", 8, 4, 8},
    {"S", "(i0 // 8)*T + i0 % 8", "none", 16, 8, 1},
    {"S", "(i0 // 8)*E + i0 % 8", "none", 16, 8, 8}, /* E is a multiple of 8 */
    {"S", "(i0 // 6)*16 + i0 % 6", "none", 8, 2, 2},
    {"S", "i0 // 8", "none", 8, 1, 1}, /* groups of equals */
    {"8", "i0 // 8 + 4*i1", "0", 8, 1, 4},
    {"S 128", "128*i1 + i0", "1", 16, 16, 16},
    {"S 128", "E*i1 + i0", "1", 16, 16, 8},
    {"S 128", "T*i1 + i0", "1", 16, 16, 1},
    {"S 128", "T*i0 + i1", "T", 8, 1, 1},
    {"S", "384*t + i0", "1", 16, 16, 16},
    {"S", "i0 % 128", "none", 8, 8, 8},
    {"64", "i0 % 128", "1", 8, 8, 8},
    {"S", "0 - i0", "-1", 8, 1, 1},
    {"S", "i0*i0", "none", 8, 1, 1},
    {"32", "4*i0 - 3*i0", "1", 3, 2, 2},
    {"S", "Min(i0, 7)", "none", 8, 8, 0}, /* checked below for soundness only */
};

static void test_strides(void) {
    for (size_t k = 0; k < sizeof stride_rows / sizeof *stride_rows; k++) {
        const struct stride_row *r = &stride_rows[k];
        ind_expr index[4], want = {0};
        make_loops(r->extents, index);
        ind_expr e = parse(r->e, index), got = ind_expr_stride(e, index[0]);
        if (strcmp(r->stride, "none")) want = parse(r->stride, index);
        CHECK(got.id == want.id, "stride of %s: %s, not %s", r->e, print(got), r->stride);
        int alignment = 0, run = ind_expr_contiguity(e, index[0], r->most, &alignment);
        if (r->alignment)
            CHECK(run == r->run && alignment == r->alignment, "%s: run %d aligned %d, not %d and %d", r->e, run,
                  alignment, r->run, r->alignment);
    }
}

/* Are all pairs of neighbouring loops tried for a merge, from the inside out, what is left? */
static void test_merges(void) {
    static const struct {
        const char *extents, *index[2], *merged[2];
        int rank;
    } rows[] = {
        {"4 8", {"8*i0 + i1"}, {"i0"}, 1},
        {"4 8", {"i0 + 4*i1"}, {"i0 + 4*i1"}, 2},
        {"4 8", {"8*i0 + i1", "i1"}, {"8*i0 + i1", "i1"}, 2},
        {"S T", {"3*T*i0 + 3*i1", "T*i0 + i1 + 5"}, {"3*i0", "i0 + 5"}, 1},
        {"S Z", {"Z*i0 + i1"}, {"i0"}, 1},
        {"S T 8", {"8*T*i0 + 8*i1 + i2", "t"}, {"i0", "t"}, 1},
        {"S T 8", {"8*T*i0 + 8*i1 + i2", "8*i1 + i2"}, {"8*T*i0 + i1", "i1"}, 2},
        {"S 8", {"(8*i0 + i1) // 3"}, {"i0 // 3"}, 1},
        {"S 8", {"2*i0 + i1 // 4"}, {"i0 // 4"}, 1},
        {"S 8", {"i0", "i1"}, {"i0", "i1"}, 2}, /* would divide */
        {"S T", {"(T*i0 + i1) % 5", "T*i0 + i1"}, {"i0 % 5", "i0"}, 1},
        {"S 1 8", {"8*i0 + 77*i1 + i2"}, {"i0"}, 1},
        {"S 4", {"i0 == 2"}, {"i0 == 2"}, 2},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        ind_expr index[4], e[2];
        ind__loops l = {.context = ctx, .index = e};
        l.rank = l.num_from = make_loops(rows[k].extents, index);
        for (int v = 0; v < l.rank; v++)
            l.var[v] = l.value[v] = index[v], l.extent[v] = ind_expr_symbol(index[v])->extent;
        for (; l.num_index < 2 && rows[k].index[l.num_index]; l.num_index++)
            e[l.num_index] = parse(rows[k].index[l.num_index], index);
        CHECK(ind__loops_drop_ones(&l), "%s", ind_error(ctx));
        for (int v = l.rank - 2; v >= 0; v--) ind__loops_merge(&l, v);
        CHECK(l.rank == rows[k].rank, "%s: rank %d", rows[k].index[0], l.rank);
        for (int v = 0; v < 4; v++)
            if (v < l.rank) index[v] = l.var[v];
        for (uint32_t i = 0; i < l.num_index; i++) {
            ind_expr want = parse(rows[k].merged[i], index);
            CHECK(ind_expr_same(e[i], want), "%s became %s, not %s", rows[k].index[i], print(e[i]), print(want));
        }
    }
}

static void test_splits(void) {
    static const struct {
        const char *extents, *index[2], *size;
        int saved;
        const char *after[2];
    } rows[] = {
        {"64", {"i0 // 8", "i0 % 8"}, "8", 2, {"i0", "i1"}},
        {"12*S", {"i0 // S + 5*(i0 % S)"}, "S", 2, {"i0 + 5*i1"}},
        {"64", {"(i0 // 4) % 2 + i0 // 8"}, "8", 2, {"i1 // 4 + i0"}},
        {"S", {"i0 // 8"}, "none", 0, {"i0 // 8"}}, /* 8 may not divide S */
        {"E", {"i0 // 8 + i0 % 8"}, "8", 2, {"i0 + i1"}},
        {"64", {"(2*i0) // 16", "3*i0"}, "8", 1, {"i0", "24*i0 + 3*i1"}},
        {"64", {"i0*7"}, "none", 0, {"i0*7"}},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        ind_expr index[4], e[2], want = {0};
        ind__loops l = {.context = ctx, .index = e, .rank = 1, .num_from = 1};
        make_loops(rows[k].extents, index);
        l.var[0] = l.value[0] = index[0], l.extent[0] = ind_expr_symbol(index[0])->extent;
        for (; l.num_index < 2 && rows[k].index[l.num_index]; l.num_index++)
            e[l.num_index] = parse(rows[k].index[l.num_index], index);
        int saved = 0;
        ind_expr size = ind__loops_split_size(&l, 0, &saved);
        if (strcmp(rows[k].size, "none")) want = parse(rows[k].size, index);
        CHECK(size.id == want.id && saved == rows[k].saved, "%s: split by %s saves %d", rows[k].index[0], print(size),
              saved);
        if (ind__ok(size)) CHECK(ind__loops_split(&l, 0, size) && l.rank == 2, "%s", rows[k].index[0]);
        for (int v = 0; v < l.rank; v++) index[v] = l.var[v];
        for (uint32_t i = 0; i < l.num_index; i++)
            CHECK(ind_expr_same(e[i], parse(rows[k].after[i], index)), "%s became %s", rows[k].index[i], print(e[i]));
    }
}

static void test_disjoint(void) {
    static const struct {
        const char *a, *m, *b, *n;
        bool apart;
    } rows[] = {
        {"0", "S", "S", "T", true},
        {"S", "T", "0", "S", true},
        {"0", "S", "S - 1", "T", false},
        {"0", "S", "T", "S", false},
        {"0", "0", "0", "S", true},
        {"4", "Z - Z", "0", "512", true},
        {"0", "4*S*T", "4*S*T + 256", "1", true},
        {"0", "S", "Max(S, T)", "T", true},
        {"0", "Max(S, T)", "S + T", "T", true},
        {"0", "Max(S, T)", "S", "T", false},
        {"256*S", "256*T", "256*S + 256*Max(T, S)", "8", true},
        {"Max(S, 4*T) + 8", "S", "Max(S, 4*T) + S", "S", false},
        {"0", "(S + 255) // 256 * 256", "(S + 255) // 256 * 256", "9", true},
        {"0", "6*S*T + 3*S + (S*T + 63) // 64", "Max(18*S*T, 9*S*T + (3*S*T*T + 15) // 16)", "8", true},
        {"0", "2*Max(6*S*T + 3*S + (S*T + 63) // 64, 9*S*T)", "2*Max(18*S*T, 9*S*T + (S + 1) // 2)", "8", true},
    };
    ind_expr index[4];
    make_loops("", index);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        ind_expr a = parse(rows[k].a, index), m = parse(rows[k].m, index);
        ind_expr b = parse(rows[k].b, index), n = parse(rows[k].n, index);
        CHECK(ind_known_disjoint(a, m, b, n) == rows[k].apart, "[%s, + %s) and [%s, + %s)", rows[k].a, rows[k].m,
              rows[k].b, rows[k].n);
        CHECK(ind_known_disjoint(b, n, a, m) == rows[k].apart, "[%s, + %s) and [%s, + %s)", rows[k].b, rows[k].n,
              rows[k].a, rows[k].m);
    }
}

static void test_invalid(void) {
    ind_expr none = {0}, one = ind_int(ctx, 1), i = ind__index_symbol(ctx, 'i', 0, one);
    int alignment = 0;
    CHECK(!ind_expr_solve(none, one, i).id && !ind_expr_solve(one, one, one).id, "solve");
    CHECK(!ind_expr_stride(none, i).id && !ind_expr_stride(one, none).id, "stride");
    CHECK(ind_expr_contiguity(none, i, 8, &alignment) == 1 && alignment == 1, "contiguity, %d", alignment);
    CHECK(ind_expr_contiguity(i, none, 8, NULL) == 1 && ind_expr_contiguity(i, i, 0, NULL) == 1, "contiguity");
    CHECK(!ind_known_disjoint(none, one, one, one) && !ind_known_disjoint(one, one, one, none), "disjoint");
}

/* ---- random expressions over i0, i1 (loop indices), S (a size), judged at every point */

static ind_expr loops[2];
static ind_expr size_s;
static int64_t at[3]; /* i0, i1, S */

static bool value_of(const ind_symbol *s, void *user, int64_t *out) {
    (void)user;
    *out = s->kind == IND_SYMBOL_SIZE ? at[2] : at[s->slot];
    return true;
}

static int64_t value(ind_expr e) {
    int64_t v = INT64_MIN;
    CHECK(ind_expr_eval(e, value_of, NULL, &v) == IND_OK, "%s: %s", print(e), ind_error(ctx));
    return v;
}

static ind_expr random_expr(int depth) {
    if (!depth || !rnd(4)) {
        ind_expr leaf[] = {loops[0], loops[1], size_s, ind_int(ctx, rnd(9))};
        return leaf[rnd(4)];
    }
    ind_expr a = random_expr(depth - 1), b = random_expr(depth - 1), d = ind_int(ctx, 1 << rnd(4));
    switch (rnd(8)) {
    case 0: return ind_expr_mul(a, ind_int(ctx, 1 << rnd(4)));
    case 1: return ind_expr_mul(a, size_s);
    case 2: return ind_expr_floordiv(a, rnd(3) ? d : size_s);
    case 3: return ind_expr_mod(a, rnd(3) ? d : size_s);
    case 4: return ind_expr_sub(a, b);
    default: return ind_expr_add(a, b);
    }
}

/* Neighbours are neighbours, the first of a run is aligned, strides are strides: at every point of 3 sizes. */
static void check_point(ind_expr e, ind_expr stride, int run, int alignment, int64_t extent) {
    int64_t here = value(e), first = at[0];
    if (first % run == 0)
        CHECK(here % alignment == 0, "%s: aligned %d, at %lld", print(e), alignment, (long long)first);
    if (++at[0] < extent) {
        int64_t next = value(e);
        if (ind__ok(stride)) CHECK(next - here == value(stride), "%s: stride %s", print(e), print(stride));
        if (at[0] % run) CHECK(next == here + 1, "%s: run %d, at %lld", print(e), run, (long long)first);
    }
    at[0] = first;
}

static void test_random_strides(int cases) {
    for (int n = 0; n < cases; n++) {
        ind_expr e = random_expr(4);
        int alignment = 0, run = ind_expr_contiguity(e, loops[0], 16, &alignment);
        ind_expr stride = ind_expr_stride(e, loops[0]);
        for (int k = 0; k < 3; k++) {
            at[2] = 1 + (int64_t)rnd(20);
            for (at[0] = 0; at[0] < 4 * at[2]; at[0]++)
                for (at[1] = 0; at[1] < 5; at[1] += 2) check_point(e, stride, run, alignment, 4 * at[2]);
        }
    }
}

/* Merged or split, an index has the value it had at the point that value[] names. */
static void check_loops(const ind__loops *l, const ind_expr *before, int64_t s) {
    at[2] = s;
    ind_expr from[3] = {l->var[0], l->rank > 1 ? l->var[1] : l->var[0], size_s};
    int64_t extent[3] = {value(l->extent[0]), l->rank > 1 ? value(l->extent[1]) : 1};
    for (int64_t x = 0; x < extent[0]; x++) {
        for (int64_t y = 0; y < extent[1]; y++) {
            ind_expr to[3] = {ind_int(ctx, x), l->rank > 1 ? ind_int(ctx, y) : ind_int(ctx, x), ind_int(ctx, s)};
            int64_t linear = x * extent[1] + y;
            at[0] = l->num_from > 1 ? linear / 5 : linear, at[1] = linear % 5;
            for (uint32_t k = 0; k < l->num_index; k++) {
                int64_t got = -1;
                ind_expr now = ind__substitute(l->index[k], from, to, 3);
                if (l->num_from == 1) at[1] = 0;
                CHECK(ind_expr_is_int(now, &got) && got == value(before[k]), "%s became %s", print(before[k]),
                      print(l->index[k]));
            }
        }
    }
}

static void test_random_loops(int cases) {
    int merged = 0, split = 0;
    for (int n = 0; n < cases; n++) {
        ind_expr before[2], index[2], zero = ind_int(ctx, 0);
        bool one = n & 1;
        ind__loops l = {.context = ctx, .index = index, .num_index = 2, .rank = one ? 1 : 2, .num_from = one ? 1 : 2};
        for (int v = 0; v < l.rank; v++)
            l.var[v] = l.value[v] = loops[v], l.extent[v] = ind_expr_symbol(loops[v])->extent;
        ind_expr joint = ind_expr_add(ind_expr_mul(loops[0], ind_int(ctx, 5)), loops[1]);
        for (int k = 0; k < 2; k++) {
            before[k] = random_expr(3);
            if (!one && rnd(2)) { /* half of the cases have something to merge */
                before[k] = ind__substitute(before[k], loops + 1, &zero, 1);
                before[k] = ind__substitute(before[k], loops, &joint, 1);
            }
            if (one) before[k] = ind__substitute(before[k], loops + 1, &zero, 1);
            index[k] = before[k];
        }
        ind_expr size = one ? ind__loops_split_size(&l, 0, NULL) : (ind_expr){0};
        bool changed = one ? ind__ok(size) && ind__loops_split(&l, 0, size) : ind__loops_merge(&l, 0);
        merged += changed && !one, split += changed && one;
        if (changed) check_loops(&l, before, 1 + rnd(12));
    }
    CHECK(merged > cases / 40 && split > cases / 40, "%d merged, %d split", merged, split);
}

static void test_random_disjoint(int cases) {
    int proven = 0;
    for (int n = 0; n < cases; n++) {
        ind_expr part[3], zero = ind_int(ctx, 0);
        for (int k = 0; k < 3; k++) part[k] = ind_expr_max(zero, random_expr(3));
        ind_expr a = part[0], m = part[1], b = part[2], k = ind_expr_max(zero, random_expr(2));
        if (rnd(2)) b = ind_expr_add(ind_expr_add(a, m), b);
        if (!ind_known_disjoint(a, m, b, k)) continue;
        proven++;
        for (int i = 0; i < 40; i++) {
            at[2] = 1 + rnd(20), at[0] = rnd((uint32_t)(4 * at[2])), at[1] = rnd(5);
            int64_t x = value(a), y = value(b), end_x = x + value(m), end_y = y + value(k);
            CHECK(x >= end_x || y >= end_y || end_x <= y || end_y <= x, "[%s, + %s) and [%s, + %s)", print(a), print(m),
                  print(b), print(k));
        }
    }
    CHECK(proven > cases / 20, "%d proven", proven);
}

/* ---- parts that are shared: 60 levels reach the leaf on 2^60 ways */

static ind_expr any_integer(const char *name, int64_t lo) {
    ind_symbol s = {.kind = IND_SYMBOL_UNBACKED, .name = name, .lo = lo, .hi = INT64_MAX, .multiple_of = 1, .hint = 1};
    return ind_symbol_expr(ctx, &s);
}

static ind_expr shared_index(ind_expr x, int levels) {
    ind_expr n = any_integer("n", 1), m = any_integer("m", 1);
    for (int k = 0; k < levels; k++) x = ind_expr_min(ind_expr_floordiv(x, n), ind_expr_mod(x, m));
    return x;
}

static int64_t count_plainly(ind_expr e) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    int64_t n = kind == IND_EXPR_FLOORDIV || kind == IND_EXPR_MOD;
    for (int i = 0; i < ind_expr_num_args(e); i++) n += count_plainly(ind_expr_arg(e, i));
    return n;
}

static void test_shared(void) {
    ind_expr w = any_integer("w", INT64_MIN), i = ind__index_symbol(ctx, 'i', 0, ind_int(ctx, INT64_MAX));
    for (int levels = 1; levels <= 12; levels++) {
        ind_expr e = shared_index(w, levels);
        CHECK(ind__ok(e) && ind__expr_divisions(e) == count_plainly(e), "%d levels: %d of %lld", levels,
              ind__expr_divisions(e), (long long)count_plainly(e));
    }
    ind_expr deep = shared_index(w, 60);
    CHECK(ind__expr_divisions(deep) == INT_MAX, "%d", ind__expr_divisions(deep));
    /* 2^29 divisions stay whatever the size is; 7 divides 2^63 - 1 */
    ind_expr index[2] = {shared_index(ind_expr_add(i, w), 28), ind_expr_mod(i, ind_int(ctx, 7))};
    ind__loops l = {.context = ctx, .index = index, .num_index = 2, .rank = 1, .num_from = 1};
    l.var[0] = l.value[0] = i, l.extent[0] = ind_expr_symbol(i)->extent;
    int saved = 0;
    ind_expr size = ind__loops_split_size(&l, 0, &saved);
    CHECK(ind_expr_same(size, ind_int(ctx, 7)) && saved == 1, "%s saves %d", print(size), saved);
}

int main(void) {
    if (ind_context_create(NULL, &ctx)) return 1;
    test_solve();
    test_strides();
    test_merges();
    test_splits();
    test_disjoint();
    test_invalid();
    size_s = named_size("S", 1, 1);
    loops[0] = ind__index_symbol(ctx, 'i', 0, ind_expr_mul(ind_int(ctx, 4), size_s));
    loops[1] = ind__index_symbol(ctx, 'i', 1, ind_int(ctx, 5));
    test_shared();
    test_random_strides(1500);
    test_random_loops(1500);
    test_random_disjoint(1500);
    ind_context_destroy(ctx);
    return check_summary();
}
