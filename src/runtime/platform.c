/* ---------------------------------------------------------------------------------------------- >>platform */
/* System-dependent code: threads, time, private temporary files. */

#if defined(_WIN32)

typedef HANDLE rt__thread;
typedef SRWLOCK rt__mutex;
typedef CONDITION_VARIABLE rt__condition;
#define IND__RT_THREAD_CALL unsigned __stdcall
#define IND__RT_THREAD_END  0

static bool rt__library_is_open(const char *name) {
    return GetModuleHandleA(name) != NULL;
}

static bool rt__mutex_init(rt__mutex *m) {
    InitializeSRWLock(m);
    return true;
}

static void rt__mutex_destroy(rt__mutex *m) {
    (void)m;
}

static void rt__mutex_lock(rt__mutex *m) {
    AcquireSRWLockExclusive(m);
}

static void rt__mutex_unlock(rt__mutex *m) {
    ReleaseSRWLockExclusive(m);
}

static bool rt__condition_init(rt__condition *c) {
    InitializeConditionVariable(c);
    return true;
}

static void rt__condition_destroy(rt__condition *c) {
    (void)c;
}

static void rt__condition_wait(rt__condition *c, rt__mutex *m) {
    SleepConditionVariableSRW(c, m, INFINITE, 0);
}

static void rt__condition_broadcast(rt__condition *c) {
    WakeAllConditionVariable(c);
}

static bool rt__thread_start(rt__thread *t, unsigned(__stdcall *fn)(void *), void *arg) {
    *t = (HANDLE)_beginthreadex(NULL, 0, fn, arg, 0, NULL);
    return *t != NULL;
}

static void rt__thread_join(rt__thread t) {
    WaitForSingleObject(t, INFINITE);
    CloseHandle(t);
}

static int rt__num_cores(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return (int)info.dwNumberOfProcessors;
}

/* Bytes of physical memory. False: not known. */
static bool rt__host_memory(int64_t *available, int64_t *total) {
    MEMORYSTATUSEX status = {.dwLength = sizeof status};
    if (!GlobalMemoryStatusEx(&status)) return false;
    *available = (int64_t)status.ullAvailPhys;
    *total = (int64_t)status.ullTotalPhys;
    return true;
}

double ind__now_ms(void) {
    LARGE_INTEGER now, per_second;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&per_second);
    return (double)now.QuadPart * 1e3 / (double)per_second.QuadPart;
}

static int rt__process_id(void) {
    return _getpid();
}

/* Creates a file that must not exist yet. On failure: NULL and errno. */
static FILE *rt__create_file(const char *path, bool private_file) {
    (void)private_file; /* files inherit the access list of their folder */
    int fd = _open(path, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY, _S_IREAD | _S_IWRITE);
    if (fd < 0) return NULL;
    FILE *f = _fdopen(fd, "wb");
    if (!f) _close(fd);
    return f;
}

static bool rt__replace_file(const char *from, const char *to) {
    return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) != 0;
}

/* True if this path exists and, after following links, is not a regular file. */
static bool rt__is_no_file(const char *path) {
    const DWORD attributes = GetFileAttributesA(path);
    return attributes != INVALID_FILE_ATTRIBUTES && attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE);
}

static const char *const rt__nvrtc_names[] = {"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", NULL};
static const char *const rt__cublaslt_names[] = {"cublasLt64_13.dll", "cublasLt64_12.dll", NULL};
static const char *const rt__cuda_folders[] = {NULL};
#define IND__RT_CUDA_PATH_FOLDER "\\bin\\"

#else /* POSIX. Uses only functions that -std=c11 declares, as a program may include its own headers first. */

typedef pthread_t rt__thread;
typedef pthread_mutex_t rt__mutex;
typedef pthread_cond_t rt__condition;
#define IND__RT_THREAD_CALL void *
#define IND__RT_THREAD_END  NULL

static bool rt__library_is_open(const char *name) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library) dlclose(library);
    return library != NULL;
}

static bool rt__mutex_init(rt__mutex *m) {
    return !pthread_mutex_init(m, NULL);
}

static void rt__mutex_destroy(rt__mutex *m) {
    pthread_mutex_destroy(m);
}

static void rt__mutex_lock(rt__mutex *m) {
    pthread_mutex_lock(m);
}

static void rt__mutex_unlock(rt__mutex *m) {
    pthread_mutex_unlock(m);
}

static bool rt__condition_init(rt__condition *c) {
    return !pthread_cond_init(c, NULL);
}

static void rt__condition_destroy(rt__condition *c) {
    pthread_cond_destroy(c);
}

static void rt__condition_wait(rt__condition *c, rt__mutex *m) {
    pthread_cond_wait(c, m);
}

static void rt__condition_broadcast(rt__condition *c) {
    pthread_cond_broadcast(c);
}

static bool rt__thread_start(rt__thread *t, void *(*fn)(void *), void *arg) {
    return !pthread_create(t, NULL, fn, arg);
}

static void rt__thread_join(rt__thread t) {
    pthread_join(t, NULL);
}

static int rt__num_cores(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 1024 ? 1024 : (int)n;
}

/* Bytes of physical memory, as Linux lists it in kilobytes. False: not known. */
static bool rt__host_memory(int64_t *available, int64_t *total) {
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    long long kilobytes;
    *available = *total = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemTotal: %lld kB", &kilobytes) == 1) *total = kilobytes * 1024;
        if (sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1) *available = kilobytes * 1024;
    }
    if (f) fclose(f);
    return *available && *total;
}

double ind__now_ms(void) {
    struct timespec t;
#if defined(CLOCK_MONOTONIC)
    clock_gettime(CLOCK_MONOTONIC, &t);
#else
    timespec_get(&t, TIME_UTC);
#endif
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int rt__process_id(void) {
    return (int)getpid();
}

/* Creates a file that must not exist yet. On failure: NULL and errno. open() sets the mode; fopen() then opens the file
   by name, as -std=c11 does not declare fdopen. */
static FILE *rt__create_file(const char *path, bool private_file) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, private_file ? 0600 : 0666);
    if (fd < 0) return NULL;
    close(fd);
    FILE *f = fopen(path, "wb");
    if (!f) remove(path);
    return f;
}

static bool rt__replace_file(const char *from, const char *to) {
    return !rename(from, to);
}

/* True if this path exists and, after following links, is not a regular file. */
static bool rt__is_no_file(const char *path) {
    struct stat status;
    return !stat(path, &status) && !S_ISREG(status.st_mode);
}

static const char *const rt__nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
static const char *const rt__cublaslt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
static const char *const rt__cuda_folders[] = {"/usr/local/cuda/lib64/", NULL};
#define IND__RT_CUDA_PATH_FOLDER "/lib64/"

#endif
