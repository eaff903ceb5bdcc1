/* Integer arithmetic that reports overflow: the ISO C versions, which compilers without __builtin_*_overflow use,
   against the builtins and against 128-bit integers, for every pair of edge values. */
#include "inductor_ir.h"

#include "check.h"

__extension__ typedef __int128 wide;

typedef struct operation {
    const char *name;
    bool (*portable)(int64_t a, int64_t b, int64_t *r);
    bool (*used)(int64_t a, int64_t b, int64_t *r);
    bool (*builtin)(int64_t a, int64_t b, int64_t *r);
    wide (*exact)(wide a, wide b);
} operation;

static bool builtin_add(int64_t a, int64_t b, int64_t *r) {
    return __builtin_add_overflow(a, b, r);
}

static bool builtin_sub(int64_t a, int64_t b, int64_t *r) {
    return __builtin_sub_overflow(a, b, r);
}

static bool builtin_mul(int64_t a, int64_t b, int64_t *r) {
    return __builtin_mul_overflow(a, b, r);
}

static wide exact_add(wide a, wide b) {
    return a + b;
}

static wide exact_sub(wide a, wide b) {
    return a - b;
}

static wide exact_mul(wide a, wide b) {
    return a * b;
}

static const operation operations[] = {
    {"add", ind__portable_add, ind__add_overflow, builtin_add, exact_add},
    {"sub", ind__portable_sub, ind__sub_overflow, builtin_sub, exact_sub},
    {"mul", ind__portable_mul, ind__mul_overflow, builtin_mul, exact_mul},
};

/* The result may be written over either operand, as callers do. */
static bool agrees_in_place(const operation *o, int64_t a, int64_t b, bool overflow, int64_t value) {
    int64_t x = a, y = b;
    const bool over_x = o->portable(x, b, &x), over_y = o->portable(a, y, &y);
    return over_x == overflow && over_y == overflow && x == value && y == value;
}

static void check_pair(const operation *o, int64_t a, int64_t b) {
    int64_t portable = 0, used = 0, builtin = 0;
    const wide exact = o->exact(a, b);
    const bool overflow = exact < INT64_MIN || exact > INT64_MAX;
    const int64_t wrapped = ind__as_signed((uint64_t)exact);
    const bool p = o->portable(a, b, &portable), u = o->used(a, b, &used), g = o->builtin(a, b, &builtin);
    CHECK(p == overflow && u == overflow && g == overflow, "%s(%lld, %lld): %d %d %d, exact %d", o->name, (long long)a,
          (long long)b, p, u, g, overflow);
    CHECK(portable == wrapped && used == wrapped && builtin == wrapped, "%s(%lld, %lld) = %lld, %lld, %lld", o->name,
          (long long)a, (long long)b, (long long)portable, (long long)used, (long long)builtin);
    CHECK(agrees_in_place(o, a, b, overflow, wrapped), "%s(%lld, %lld) in place", o->name, (long long)a, (long long)b);
}

/* Every power of two and its neighbours of both signs, the ends, and the neighbourhood of the square root of 2^63. */
static int edges(int64_t *out) {
    int n = 0;
    for (int bit = 0; bit < 63; bit++)
        for (int64_t d = -2; d <= 2; d++) {
            out[n++] = ((int64_t)1 << bit) + d;
            out[n++] = -((int64_t)1 << bit) + d;
        }
    for (int64_t d = 0; d < 4; d++) {
        out[n++] = INT64_MAX - d;
        out[n++] = INT64_MIN + d;
        out[n++] = 3037000498 + d; /* floor(sqrt(2^63)) = 3037000499 */
        out[n++] = -3037000498 - d;
        out[n++] = INT64_MAX / 3 + d - 2;
        out[n++] = INT64_MIN / 3 + d - 2;
    }
    return n;
}

static void test_signed_value(void) {
    const uint64_t u[] = {0,         1, INT64_MAX, (uint64_t)INT64_MAX + 1, (uint64_t)INT64_MAX + 2, UINT64_MAX - 1,
                          UINT64_MAX};
    const int64_t want[] = {0, 1, INT64_MAX, INT64_MIN, INT64_MIN + 1, -2, -1};
    for (size_t i = 0; i < sizeof u / sizeof *u; i++)
        CHECK(ind__as_signed(u[i]) == want[i], "%llu: %lld", (unsigned long long)u[i], (long long)ind__as_signed(u[i]));
}

int main(void) {
    static int64_t edge[1024];
    const int n = edges(edge);
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++) check_pair(&operations[o], edge[i], edge[k]);
    test_signed_value();
    return check_summary();
}
