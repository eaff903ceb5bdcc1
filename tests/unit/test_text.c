/* test_text.c - the string builder: texts as snprintf writes them, cut where it cuts them, and the shortest numbers
   that read back exactly. */
#include "inductor_ir.h"

#include "check.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static ind_context *ctx;
static uint64_t seed = 4711;

static uint64_t rnd(void) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return seed ^ seed >> 29;
}

#define SAME(bytes, ...)                                                                                               \
    do {                                                                                                               \
        char a[64] = "", b[64] = "";                                                                                   \
        int x = snprintf(a, bytes, __VA_ARGS__), y = ind__format(b, bytes, __VA_ARGS__);                               \
        CHECK(x == y && !strcmp(a, b), "%d \"%s\", not %d \"%s\"", y, b, x, a);                                        \
    } while (0)

static void formats(void) {
    for (size_t bytes = 1; bytes <= 64; bytes += bytes < 8 ? 1 : 14) {
        SAME(bytes, "plain");
        SAME(bytes, "%s, %s%%", "one", "");
        SAME(bytes, "%.*s|%.*s|%.*s", 2, "three", 0, "no", 9, "four");
        SAME(bytes, "%d %d %d", 0, INT_MIN, INT_MAX);
        SAME(bytes, "%u %c", UINT_MAX, 'x');
        SAME(bytes, "%lld %lld", LLONG_MIN, LLONG_MAX);
        SAME(bytes, "%s %5d %s", "left", 7, "right");
        SAME(bytes, "%d of %04x", 3, 255);
        SAME(bytes, "%s %zu", "size", sizeof(int));
    }
    char cut[4];
    CHECK(ind__format(cut, sizeof cut, "%.*s", -1, "whole") == 5 && !strcmp(cut, "who"), "%s", cut);
    CHECK(ind__format(NULL, 0, "%s%d", "ab", 12) == 4, "a length alone");
}

/* The first of 1 to 17 digits that reads back. */
static void shortest(double v, char *out, size_t bytes) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, bytes, "%.*g", digits, v);
        if (strtod(out, NULL) == v) break;
    }
    if (!strpbrk(out, ".e")) strcat(out, ".0");
}

static void number(double v) {
    char want[64];
    ind__text t = {.context = ctx};
    shortest(v, want, sizeof want - 4);
    ind__text_double(&t, v);
    CHECK(t.data && !strcmp(t.data, want), "%s, not %s", t.data ? t.data : "nothing", want);
    ind__text_free(&t);
}

static void numbers(void) {
    static const double some[] = {0,
                                  -0.0,
                                  1,
                                  0.5,
                                  -2.75,
                                  0.1,
                                  1e15,
                                  1e16,
                                  123456789,
                                  1e22,
                                  1e23,
                                  5e-324,
                                  DBL_MIN,
                                  DBL_MAX,
                                  DBL_EPSILON,
                                  2.2250738585072009e-308,
                                  9007199254740993.0,
                                  0.70710678118654752,
                                  0.70710676908493042,
                                  100,
                                  1e5,
                                  1e-5};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) number(some[i]);
    for (int e = -1074; e < 1024; e++) number(ldexp(1, e)), number(nextafter(ldexp(1, e), 0));
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = rnd();
        double v;
        memcpy(&v, &bits, sizeof v);
        if (isfinite(v)) number(v), number((double)(float)ldexp((double)(rnd() >> 40), -20));
        number((double)(rnd() % 1000000) / 1000);
    }
}

int main(void) {
    if (ind_context_create(NULL, &ctx)) return 1;
    formats();
    numbers();
    ind_context_destroy(ctx);
    return check_summary();
}
