/* check.h - what every unit test program uses: CHECK counts and reports, check_summary prints the last line. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

static int checks_passed, checks_failed;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            checks_passed++;                                                                                           \
        } else {                                                                                                       \
            checks_failed++;                                                                                           \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);                                                     \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
        }                                                                                                              \
    } while (0)

static inline int check_summary(void) {
    printf("%d passed, %d failed\n", checks_passed, checks_failed);
    return checks_failed != 0;
}

/* An allocator that fails at the n-th call (0: never) and counts what is live. */
typedef struct check_heap {
    long calls, fail_at, live;
} check_heap;

static inline void *check_alloc(size_t bytes, void *user) {
    check_heap *h = (check_heap *)user;
    if (++h->calls == h->fail_at) return NULL;
    void *p = malloc(bytes);
    if (p) h->live++;
    return p;
}

static inline void check_free(void *memory, void *user) {
    check_heap *h = (check_heap *)user;
    if (memory) h->live--;
    free(memory);
}

#endif
