/* ------------------------------------------------------------------------------------------------ >>string */

void ind__text_raw(ind__text *t, const char *s, size_t n) {
    if (t->failed || !n) return;
    if (n >= SIZE_MAX / 2 - t->size) {
        t->failed = true;
        return;
    }
    if (t->size + n + 1 > t->capacity) {
        size_t want = t->capacity ? t->capacity : 256;
        while (want < t->size + n + 1) want *= 2;
        char *grown = (char *)ind__resize(t->context, t->data, t->size, want);
        if (!grown) {
            t->failed = true;
            return;
        }
        t->data = grown;
        t->capacity = want;
    }
    memcpy(t->data + t->size, s, n);
    t->size += n;
    t->data[t->size] = 0;
}

/* Appends formatted text line by line, and indents each line that starts here. */
static void ir__text_lines(ind__text *t, const char *s, size_t n) {
    while (n && !t->failed) {
        const char *end = (const char *)memchr(s, '\n', n);
        size_t line = end ? (size_t)(end - s) + 1 : n;
        if (!t->mid_line && *s != '\n')
            for (int i = 0; i < t->indent; i++) ind__text_raw(t, "    ", 4);
        ind__text_raw(t, s, line);
        t->mid_line = !end;
        s += line;
        n -= line;
    }
}

void ind__textf(ind__text *t, const char *format, ...) {
    if (t->failed) return;
    char local[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(local, sizeof local, format, args);
    va_end(args);
    if (n < 0) {
        t->failed = true;
        return;
    }
    if ((size_t)n < sizeof local) {
        ir__text_lines(t, local, (size_t)n);
        return;
    }
    char *large = (char *)ind__alloc(t->context, (size_t)n + 1);
    if (!large) {
        t->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(large, (size_t)n + 1, format, args);
    va_end(args);
    ir__text_lines(t, large, (size_t)n);
    ind__free(t->context, large);
}

/* The decimal point of the C library depends on the locale; the printed one is always '.'. */
static char ir__locale_point(void) {
    const struct lconv *l = localeconv();
    return l && l->decimal_point && l->decimal_point[0] ? l->decimal_point[0] : '.';
}

void ind__text_double(ind__text *t, double v) {
    if (v != v || isinf(v)) {
        ind__textf(t, "%s", v != v ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    char s[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, v);
        if (strtod(s, NULL) == v) break;
    }
    char *point = strchr(s, ir__locale_point());
    if (point) *point = '.';
    bool plain = !strpbrk(s, ".e");
    ind__textf(t, "%s%s", s, plain ? ".0" : "");
}

bool ind__parse_double(const char *s, size_t n, double *out) {
    char copy[64];
    if (!n || n >= sizeof copy) return false;
    memcpy(copy, s, n);
    copy[n] = 0;
    char *point = strchr(copy, '.');
    if (point) *point = ir__locale_point();
    char *end;
    *out = strtod(copy, &end);
    return end == copy + n;
}

void ind__text_json(ind__text *t, const char *s) {
    ind__textf(t, "\"");
    for (; *s; s++) {
        unsigned char ch = (unsigned char)*s;
        if (ch == '"' || ch == '\\')
            ind__textf(t, "\\%c", ch);
        else if (ch < 0x20)
            ind__textf(t, "\\u%04x", ch);
        else
            ind__textf(t, "%c", ch);
    }
    ind__textf(t, "\"");
}

void ind__text_free(ind__text *t) {
    ind__free(t->context, t->data);
    t->data = NULL;
    t->size = t->capacity = 0;
}

ind_status ind__text_status(const ind__text *t) {
    return t->failed ? ind__failed(t->context) : IND_OK;
}

/* 64-bit FNV-1a over words with a final mix (splitmix64): good enough for internal tables and content keys. */
uint64_t ind__hash(const void *data, size_t n, uint64_t seed) {
    const unsigned char *p = (const unsigned char *)data;
    uint64_t h = 1469598103934665603ull ^ seed;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        h = (h ^ w) * 1099511628211ull;
        h ^= h >> 29;
    }
    for (; n; n--, p++) h = (h ^ *p) * 1099511628211ull;
    h ^= h >> 30;
    h *= 0xbf58476d1ce4e5b9ull;
    h ^= h >> 27;
    h *= 0x94d049bb133111ebull;
    return h ^ (h >> 31);
}
