/* ----------------------------------------------------------------------------------------------- >>threads */

#if defined(_WIN32)

typedef SRWLOCK ir__mutex;

static bool ir__mutex_init(ir__mutex *m) {
    InitializeSRWLock(m);
    return true;
}

static void ir__mutex_destroy(ir__mutex *m) {
    (void)m;
}

static void ir__mutex_lock(ir__mutex *m) {
    AcquireSRWLockExclusive(m);
}

static void ir__mutex_unlock(ir__mutex *m) {
    ReleaseSRWLockExclusive(m);
}

#else

typedef pthread_mutex_t ir__mutex;

static bool ir__mutex_init(ir__mutex *m) {
    return !pthread_mutex_init(m, NULL);
}

static void ir__mutex_destroy(ir__mutex *m) {
    pthread_mutex_destroy(m);
}

static void ir__mutex_lock(ir__mutex *m) {
    pthread_mutex_lock(m);
}

static void ir__mutex_unlock(ir__mutex *m) {
    pthread_mutex_unlock(m);
}

#endif

#if defined(_MSC_VER)
#define IND__THREAD_LOCAL __declspec(thread)
#else
#define IND__THREAD_LOCAL _Thread_local
#endif

/* Its address identifies the thread. A new thread may get the address of one that has ended. */
static IND__THREAD_LOCAL char ir__thread_mark;

/* A recursive mutex. Only the owner can find its own mark in `owner`, so a relaxed read is enough. */
typedef struct ir__lock {
    ir__mutex mutex;
    _Atomic(const char *) owner;
    uint32_t depth;
} ir__lock;

static void ir__lock_acquire(ir__lock *l) {
    if (atomic_load_explicit(&l->owner, memory_order_relaxed) != &ir__thread_mark) {
        ir__mutex_lock(&l->mutex);
        atomic_store_explicit(&l->owner, &ir__thread_mark, memory_order_relaxed);
    }
    l->depth++;
}

static void ir__lock_release(ir__lock *l) {
    if (--l->depth) return;
    atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    ir__mutex_unlock(&l->mutex);
}

static ir__lock *ir__lock_create(ind_context *c) {
    ir__lock *l = (ir__lock *)ind__alloc(c, sizeof *l);
    if (!l) return NULL;
    if (ir__mutex_init(&l->mutex)) return l;
    ind__free(c, l);
    ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "the system has no resources for a mutex");
    return NULL;
}

static void ir__lock_destroy(ind_context *c, ir__lock *l) {
    if (l) ir__mutex_destroy(&l->mutex);
    ind__free(c, l);
}

void ind__lock(ind_context *c) {
    ir__lock_acquire(c->lock);
}

void ind__unlock(ind_context *c) {
    ir__lock_release(c->lock);
}

void ind__lists_lock(ind_context *c) {
    ir__lock_acquire(c->root->lists);
}

void ind__lists_unlock(ind_context *c) {
    ir__lock_release(c->root->lists);
}

/* Error states of threads, in blocks that are freed with the context. A thread claims a free state at its first
   failure. If no block can be added, threads share `spare`, and one may then see another's failure. */
#define IND__STATES 4

typedef struct ir__states {
    _Atomic(struct ir__states *) next;
    _Atomic(const char *) owner[IND__STATES];
    ind__state state[IND__STATES];
    ind__state spare; /* used in the first block only */
} ir__states;

static ir__states *ir__states_create(const ind_context *c) {
    ir__states *s = (ir__states *)c->desc.allocator.alloc(sizeof *s, c->desc.allocator.user);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    atomic_init(&s->next, NULL);
    for (int i = 0; i < IND__STATES; i++) atomic_init(&s->owner[i], NULL);
    return s;
}

static void ir__states_destroy(const ind_context *c, ir__states *s) {
    while (s) {
        ir__states *next = atomic_load(&s->next);
        c->desc.allocator.free(s, c->desc.allocator.user);
        s = next;
    }
}

static ind__state *ir__states_find(ir__states *s, const char *thread) {
    for (; s; s = atomic_load_explicit(&s->next, memory_order_acquire))
        for (int i = 0; i < IND__STATES; i++)
            if (atomic_load_explicit(&s->owner[i], memory_order_relaxed) == thread) return &s->state[i];
    return NULL;
}

/* Claims a free state; adds a block if there is none. */
static ind__state *ir__states_claim(const ind_context *c, const char *thread) {
    ir__states *s = c->states, *next;
    for (;; s = next) {
        for (int i = 0; i < IND__STATES; i++) {
            const char *none = NULL;
            if (atomic_compare_exchange_strong(&s->owner[i], &none, thread)) return &s->state[i];
        }
        next = atomic_load_explicit(&s->next, memory_order_acquire);
        if (next) continue;
        ir__states *more = ir__states_create(c);
        if (!more) return &c->states->spare;
        if (atomic_compare_exchange_strong(&s->next, &next, more))
            next = more;
        else
            c->desc.allocator.free(more, c->desc.allocator.user);
    }
}

ind__state *ind__state_of(const ind_context *c) {
    ind__state *s = ir__states_find(c->root->states, &ir__thread_mark);
    return s ? s : ir__states_claim(c->root, &ir__thread_mark);
}

uint32_t ind__refusals(const ind_context *c) {
    return ind__state_of(c)->refusals;
}
