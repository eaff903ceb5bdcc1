/* Libraries that are opened at run time. */

#if defined(_WIN32)

static const char *const rt__driver_names[] = {"nvcuda.dll", NULL};

static void *rt__library_open(const char *name) {
    return (void *)LoadLibraryA(name);
}

static void *rt__library_symbol(void *library, const char *name) {
    FARPROC f = GetProcAddress((HMODULE)library, name);
    void *p;
    memcpy(&p, &f, sizeof p);
    return p;
}

static void rt__library_close(void *library) {
    if (library) FreeLibrary((HMODULE)library);
}

#else

static const char *const rt__driver_names[] = {"libcuda.so.1", "libcuda.so", NULL};

static void *rt__library_open(const char *name) {
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void *rt__library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

static void rt__library_close(void *library) {
    if (library) dlclose(library);
}

#endif
