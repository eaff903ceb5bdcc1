/* ---- the context ---- */

struct ind__interner;
struct ind_context {
    ind_context_desc desc;
    ind_context *root; /* the user's context: itself, unless this is a module's context (ind__context_fork) */
    struct ir__lock *lock;
    struct ind__interner *interner;
    struct ir__record_memory *record_memory; /* of a recording that has ended, for the next one; NULL: none */
    ind__owned *owned;                       /* newest first; guarded by the root's `lists` */
    /* Used in the root only. */
    struct ir__states *states; /* one per thread */
    struct ir__lock *lists;    /* guards the fields below and every list of owned objects; held for a few steps only */
    ind__arena names;
    const struct ind__function *functions; /* newest first */
    const struct ind__extern *externs;     /* newest first */
    const void *builtin_patterns;          /* of inductor.h: parsed by the first compile */
    const void *patterns, *passes;         /* of inductor.h: what the user has registered, newest first */
    const void *schemas; /* of inductor.h: operands and attributes of every op; allocated in `names` */
    void *runtime;       /* of inductor_runtime.h: devices, compiled kernels */
    void (*runtime_destroy)(ind_context *);
};
/* Exclusive use of the root's lists and `names`, for a few steps. The holder must not call anything that waits. */
void ind__lists_lock(ind_context *c);
void ind__lists_unlock(ind_context *c);
