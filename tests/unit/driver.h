/* driver.h - what tests need of the CUDA driver themselves, found at run time as the library does: driver_load. */
#ifndef DRIVER_H
#define DRIVER_H

#include "system.h"
#include <stddef.h>

#define DRIVER_FUNCTIONS(X)                                                                                            \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                          \
    X(cuDevicePrimaryCtxRelease_v2, (int device))                                                                      \
    X(cuCtxPushCurrent_v2, (void *context))                                                                            \
    X(cuCtxPopCurrent_v2, (void **context))                                                                            \
    X(cuMemcpyDtoDAsync_v2, (unsigned long long to, unsigned long long from, size_t bytes, void *stream))              \
    X(cuMemsetD8Async, (unsigned long long to, unsigned char value, size_t bytes, void *stream))                       \
    X(cuStreamCreate, (void **stream, unsigned flags))                                                                 \
    X(cuStreamDestroy_v2, (void *stream))                                                                              \
    X(cuStreamSynchronize, (void *stream))                                                                             \
    X(cuStreamBeginCapture_v2, (void *stream, int mode))                                                               \
    X(cuStreamEndCapture, (void *stream, void **graph))                                                                \
    X(cuGraphGetEdges_v2, (void *graph, void **from, void **to, void *edge, size_t *num))                              \
    X(cuGraphCreate, (void **graph, unsigned flags))                                                                   \
    X(cuGraphAddChildGraphNode, (void **node, void *graph, void *const *after, size_t num, void *child))               \
    X(cuGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long flags))                         \
    X(cuGraphLaunch, (void *executable, void *stream))                                                                 \
    X(cuGraphExecDestroy, (void *executable))                                                                          \
    X(cuGraphDestroy, (void *graph))

typedef struct driver {
#define X(name, arguments) int(*name) arguments;
    DRIVER_FUNCTIONS(X)
#undef X
} driver;

static inline bool driver_load(driver *d) {
    static const char *const names[] = {
#define X(name, arguments) #name,
        DRIVER_FUNCTIONS(X)
#undef X
    };
    const char *path = getenv("IND_CUDA_LIBRARY");
    void *library = system_library(path ? path : "libcuda.so.1"), *symbol[sizeof names / sizeof *names];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(symbol[i] = system_symbol(library, names[i]))) return false;
    memcpy(d, symbol, sizeof symbol);
    return true;
}

/* The driver, inside device 0's own context; driver_leave leaves it. */
static inline bool driver_enter(driver *d) {
    void *context = NULL;
    return driver_load(d) && !d->cuDevicePrimaryCtxRetain(&context, 0) && !d->cuCtxPushCurrent_v2(context);
}

static inline bool driver_leave(const driver *d) {
    void *context = NULL;
    return !d->cuCtxPopCurrent_v2(&context) && !d->cuDevicePrimaryCtxRelease_v2(0);
}

#endif
