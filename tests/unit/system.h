/* system.h - libraries, the environment and time, for tests that also run on Windows. */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

/* Opens a shared library for the rest of the process. NULL: there is none. */
static inline void *system_library(const char *path) {
#if defined(_WIN32)
    return (void *)LoadLibraryA(path);
#else
    return dlopen(path, RTLD_NOW);
#endif
}

/* A function of a library, which may be NULL. NULL: it has none of that name. */
static inline void *system_symbol(void *library, const char *name) {
    void *symbol = NULL;
#if defined(_WIN32)
    FARPROC f = library ? GetProcAddress((HMODULE)library, name) : NULL;
    memcpy(&symbol, &f, sizeof symbol);
#else
    if (library) symbol = dlsym(library, name);
#endif
    return symbol;
}

#if defined(_WIN32) || defined(_POSIX_C_SOURCE)
/* Sets a variable of the environment; NULL removes it. A program for POSIX defines _POSIX_C_SOURCE first. */
static inline void system_set(const char *name, const char *value) {
#if defined(_WIN32)
    _putenv_s(name, value ? value : "");
#else
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
#endif
}
#endif

static inline double system_seconds(void) {
#if defined(_WIN32)
    return (double)GetTickCount64() * 1e-3;
#else
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#endif
}

#endif
