/* ---- log: what the passes changed, and matches that failed late */

#define GRAPH__MAX_MISSES 256 /* near misses that are kept; the others are counted */

typedef struct graph__change {
    const char *pass, *text; /* text: in the log's arena */
    bool missed;             /* a near miss: nothing was changed */
} graph__change;

struct ind__pass_log {
    ind_context *context;
    ind__arena arena;
    graph__change *change;
    uint32_t num, capacity;
    uint32_t misses;         /* including those that are not kept */
    uint32_t changes, limit; /* changes so far, without the removal of unused ops; limit 0: none */
    bool failed;             /* out of memory */
};

/* False: the limit of changes is reached. */
static bool graph__may_change(const ind__pass_log *log) {
    return !log || !log->limit || log->changes < log->limit;
}

static void graph__log(ind__pass_log *log, const char *pass, bool missed, const char *format, ...) IND__PRINTF(4, 5);
static void graph__log(ind__pass_log *log, const char *pass, bool missed, const char *format, ...) {
    char text[600];
    if (!log) return;
    if (!missed && strcmp(pass, "dce") != 0) log->changes++;
    if (missed && ++log->misses > GRAPH__MAX_MISSES) return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    graph__change *c = IND__PUSH(log->context, graph__change, log->change, log->num, log->capacity);
    const char *copy = c ? ind__arena_string(&log->arena, text, strlen(text)) : NULL;
    if (c) *c = (graph__change){pass, copy ? copy : "", missed};
    log->failed = log->failed || !copy;
}

static bool graph__of_pass(const char *name, const char *pass) {
    return !pass || !strcmp(name, pass);
}

/* Removes the near misses of a pass (NULL: of all), which its next round finds again. */
static void graph__forget_misses(ind__pass_log *log, const char *pass) {
    uint32_t num = 0;
    for (uint32_t i = 0; i < log->num; i++) {
        if (!log->change[i].missed || !graph__of_pass(log->change[i].pass, pass))
            log->change[num++] = log->change[i];
        else
            log->misses--;
    }
    if (!pass) log->misses = 0;
    log->num = num;
}

static void ind__pass_log_free(ind__pass_log *log) {
    ind__free(log->context, log->change);
    ind__arena_free(&log->arena);
}

static void graph__log_print_part(ind__text *t, const ind__pass_log *log, bool missed) {
    for (uint32_t i = 0; i < log->num; i++)
        if (log->change[i].missed == missed) ind__textf(t, "  %s: %s\n", log->change[i].pass, log->change[i].text);
}

/* Prints the changes in order, then the near misses. */
static void ind__pass_log_print(ind__text *t, const ind__pass_log *log) {
    const uint32_t kept = log->misses < GRAPH__MAX_MISSES ? log->misses : GRAPH__MAX_MISSES;
    ind__textf(t, "changes: %u\n", log->num - kept);
    graph__log_print_part(t, log, false);
    if (!log->misses) return;
    ind__textf(t, "near misses: %u\n", log->misses);
    graph__log_print_part(t, log, true);
    if (log->misses > kept) ind__textf(t, "  .. and %u more\n", log->misses - kept);
}

static void ind__pass_log_json(ind__text *t, const ind__pass_log *log) {
    ind__textf(t, "{\"misses\": %u, \"changes\": [", log->misses);
    for (uint32_t i = 0; i < log->num; i++) {
        ind__textf(t, "%s{\"pass\": ", i ? ", " : "");
        ind__text_json(t, log->change[i].pass);
        ind__textf(t, ", \"missed\": %s, \"text\": ", log->change[i].missed ? "true" : "false");
        ind__text_json(t, log->change[i].text);
        ind__textf(t, "}");
    }
    ind__textf(t, "]}\n");
}
