/* forks.h - an allocator whose allocations fail in turn, each in a process of its own: fork_alloc, fork_free, tell. The
   program defines _POSIX_C_SOURCE and includes check.h before. */
#ifndef FORKS_H
#define FORKS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is freed stays for a while, to see whether it is used; with the usual 256 MiB of it every fork takes 15 ms. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "quarantine_size_mb=8";
}

/* What a failed allocation led to, as the exit status of the process that saw it. */
enum { REFUSED, UNNOTICED = 1, LEAK = 2, OTHER_STATUS = 4, FAILED_CHECK = 8 };

static long every = 11;

/* Each allocation forks (or each `every`-th): the child fails it and goes on to the end, so that what comes before it
 * is done only once. */
typedef struct forks {
    check_heap heap;
    bool child;
    long tried, unnoticed, leaks, other;
} forks;

static void *fork_alloc(size_t bytes, void *user) {
    forks *f = (forks *)user;
    if (f->child || f->heap.calls % every) return check_alloc(bytes, &f->heap);
    f->tried++;
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0, "fork fails at allocation %ld", f->heap.calls);
    if (!pid) {
        f->child = true;
        f->heap.fail_at = f->heap.calls + 1;
    } else if (pid > 0) {
        int status = 0;
        bool ended = waitpid(pid, &status, 0) == pid && WIFEXITED(status);
        int seen = ended ? WEXITSTATUS(status) : FAILED_CHECK;
        CHECK(!(seen & FAILED_CHECK), "allocation %ld fails", f->heap.calls + 1);
        f->unnoticed += (seen & UNNOTICED) != 0, f->leaks += (seen & LEAK) != 0, f->other += (seen & OTHER_STATUS) != 0;
    }
    return check_alloc(bytes, &f->heap);
}

static void fork_free(void *memory, void *user) {
    check_free(memory, &((forks *)user)->heap);
}

/* In the child, once its job has ended. */
static void tell(const forks *f, ind_status status, int failed_before) {
    int seen = status ? REFUSED : UNNOTICED;
    if (f->heap.live) seen |= LEAK;
    if (f->heap.live) printf("allocation %ld fails: %ld blocks leak\n", f->heap.fail_at, f->heap.live);
    if (status && status != IND_ERROR_OUT_OF_MEMORY) seen |= OTHER_STATUS;
    if (seen & OTHER_STATUS) printf("allocation %ld: %s\n", f->heap.fail_at, ind_status_text(status));
    if (checks_failed > failed_before) seen |= FAILED_CHECK;
    fflush(stdout);
    _exit(seen);
}

#endif
