/* ---- worker pool: one loop at a time, the caller works too */

#define IND__RT_MAX_THREADS 64

/* One iteration of a parallel loop. worker is in [0, number of threads); 0 is the caller's. May not allocate. */
typedef void (*rt__work_fn)(void *arg, int64_t index, int worker);

typedef struct rt__pool {
    rt__mutex mutex;
    rt__condition work, done;
    rt__thread thread[IND__RT_MAX_THREADS];
    int wanted, started, next_worker; /* threads besides the caller */
    bool ready, stop, busy;
    /* Number of the current loop, and threads at work in it. Changed under the mutex, read without it by threads that
       wait. */
    _Atomic(uint64_t) generation;
    _Atomic(int) active;
    rt__work_fn fn;
    void *arg;
    int64_t next, count;
} rt__pool;

/* A thread spins for up to so many milliseconds before it sleeps: waking it takes longer than most gaps between the
   loops of one launch. The length of a pause differs between CPUs, hence a limit of time. */
#define IND__RT_SPIN_MS 0.1

#if IND__GNU && (defined(__x86_64__) || defined(__i386__))
#define IND__RT_PAUSE() __builtin_ia32_pause()
#elif IND__GNU && defined(__aarch64__)
#define IND__RT_PAUSE() __asm__ volatile("yield")
#else
#define IND__RT_PAUSE() (void)0
#endif

/* Runs iterations of the current loop until there are none left. The mutex is locked on entry and on return. */
static void rt__pool_take(rt__pool *p, int worker) {
    while (p->next < p->count) {
        int64_t index = p->next++;
        rt__mutex_unlock(&p->mutex);
        p->fn(p->arg, index, worker);
        rt__mutex_lock(&p->mutex);
    }
}

/* True while a thread that began to spin at `start` (ms) should go on. */
static bool rt__spin(double start) {
    for (int i = 0; i < 8; i++) IND__RT_PAUSE();
    return ind__now_ms() - start < IND__RT_SPIN_MS;
}

/* Spins until there is another loop than `seen`, without the mutex. */
static void rt__pool_spin_for_work(rt__pool *p, uint64_t seen) {
    rt__mutex_unlock(&p->mutex);
    for (const double start = ind__now_ms(); rt__spin(start);)
        if (atomic_load_explicit(&p->generation, memory_order_relaxed) != seen) break;
    rt__mutex_lock(&p->mutex);
}

/* Spins until the other threads have finished the current loop, without the mutex. */
static void rt__pool_spin_for_end(rt__pool *p) {
    rt__mutex_unlock(&p->mutex);
    for (const double start = ind__now_ms(); rt__spin(start);)
        if (!atomic_load_explicit(&p->active, memory_order_relaxed)) break;
    rt__mutex_lock(&p->mutex);
}

static IND__RT_THREAD_CALL rt__pool_main(void *arg) {
    rt__pool *p = (rt__pool *)arg;
    rt__mutex_lock(&p->mutex);
    int worker = ++p->next_worker;
    uint64_t seen = 0;
    while (!p->stop) {
        if (p->generation == seen || !p->busy) {
            rt__condition_wait(&p->work, &p->mutex);
            continue;
        }
        seen = p->generation;
        p->active++;
        rt__pool_take(p, worker);
        if (--p->active == 0) rt__condition_broadcast(&p->done);
        if (!p->stop) rt__pool_spin_for_work(p, seen);
    }
    rt__mutex_unlock(&p->mutex);
    return IND__RT_THREAD_END;
}

static bool rt__pool_init(rt__pool *p, int threads) {
    p->wanted = (threads > IND__RT_MAX_THREADS ? IND__RT_MAX_THREADS : threads) - 1;
    if (!rt__mutex_init(&p->mutex)) return false;
    if (!rt__condition_init(&p->work)) {
        rt__mutex_destroy(&p->mutex);
        return false;
    }
    if (!rt__condition_init(&p->done)) {
        rt__condition_destroy(&p->work);
        rt__mutex_destroy(&p->mutex);
        return false;
    }
    p->ready = true;
    return true;
}

static void rt__pool_destroy(rt__pool *p) {
    if (!p->ready) return;
    rt__mutex_lock(&p->mutex);
    p->stop = true;
    rt__condition_broadcast(&p->work);
    rt__mutex_unlock(&p->mutex);
    for (int i = 0; i < p->started; i++) rt__thread_join(p->thread[i]);
    rt__condition_destroy(&p->done);
    rt__condition_destroy(&p->work);
    rt__mutex_destroy(&p->mutex);
}

/* Maximum number of workers of a loop: the size of per-worker state. */
static int rt__pool_workers(const rt__pool *p) {
    return p->wanted + 1;
}

/* Calls fn for every index in [0, count), in any order. If another thread's loop uses the pool, the caller works
   alone. A thread that cannot be started is skipped. */
static void rt__pool_for(rt__pool *p, int64_t count, rt__work_fn fn, void *arg) {
    bool alone = count <= 1 || p->wanted < 1;
    if (!alone) {
        rt__mutex_lock(&p->mutex);
        alone = p->busy;
        if (!alone) p->busy = true;
        while (!alone && p->started < p->wanted && p->started < count - 1) {
            if (!rt__thread_start(&p->thread[p->started], rt__pool_main, p)) break;
            p->started++;
        }
        if (alone) rt__mutex_unlock(&p->mutex);
    }
    if (alone) {
        for (int64_t i = 0; i < count; i++) fn(arg, i, 0);
        return;
    }
    p->fn = fn;
    p->arg = arg;
    p->next = 0;
    p->count = count;
    p->generation++;
    rt__condition_broadcast(&p->work);
    rt__pool_take(p, 0);
    if (p->active) rt__pool_spin_for_end(p);
    while (p->active) rt__condition_wait(&p->done, &p->mutex);
    p->busy = false;
    rt__mutex_unlock(&p->mutex);
}
