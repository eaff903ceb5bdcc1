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

/* Text that is being formatted: `size` counts what does not fit, too. */
typedef struct ir__formatted {
    char *out;
    size_t size, capacity;
} ir__formatted;

static void ir__format_put(ir__formatted *f, const char *s, size_t n) {
    if (f->size < f->capacity) memcpy(f->out + f->size, s, n < f->capacity - f->size ? n : f->capacity - f->size);
    f->size += n;
}

static void ir__format_number(ir__formatted *f, uint64_t v, bool negative) {
    char s[24], *at = s + sizeof s;
    do *--at = (char)('0' + v % 10);
    while (v /= 10);
    if (negative) *--at = '-';
    ir__format_put(f, at, (size_t)(s + sizeof s - at));
}

static void ir__format_signed(ir__formatted *f, int64_t v) {
    ir__format_number(f, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0);
}

static void ir__format_string(ir__formatted *f, const char *s, size_t most) {
    if (!s) s = "(null)";
    const char *end = most < SIZE_MAX ? (const char *)memchr(s, 0, most) : s + strlen(s);
    ir__format_put(f, s, end ? (size_t)(end - s) : most);
}

/* Writes the directive at `at`, after its %. Returns its length; 0: vsnprintf must write it. */
static size_t ir__format_directive(ir__formatted *f, const char *at, va_list *args) {
    if (*at == 's') {
        ir__format_string(f, va_arg(*args, const char *), SIZE_MAX);
    } else if (*at == 'd') {
        ir__format_signed(f, va_arg(*args, int));
    } else if (*at == 'u') {
        ir__format_number(f, va_arg(*args, unsigned), false);
    } else if (*at == 'c') {
        const char c = (char)va_arg(*args, int);
        ir__format_put(f, &c, 1);
    } else if (*at == '%') {
        ir__format_put(f, at, 1);
    } else if (!strncmp(at, "lld", 3)) {
        ir__format_signed(f, va_arg(*args, long long));
        return 3;
    } else if (!strncmp(at, ".*s", 3)) {
        const int most = va_arg(*args, int);
        ir__format_string(f, va_arg(*args, const char *), most < 0 ? SIZE_MAX : (size_t)most);
        return 3;
    } else {
        return 0;
    }
    return 1;
}

/* Texts are made of few directives, and making them is much of the work of the code generator. */
int ind__format_list(char *out, size_t capacity, const char *format, va_list list) {
    ir__formatted f = {out, 0, capacity ? capacity - 1 : 0};
    va_list args;
    va_copy(args, list);
    bool plain = true;
    for (const char *at = format; *at && plain;) {
        size_t n = 0;
        while (at[n] && at[n] != '%') n++;
        ir__format_put(&f, at, n);
        at += n;
        if (!*at) break;
        const size_t length = ir__format_directive(&f, at + 1, &args);
        plain = length != 0;
        at += 1 + length;
    }
    va_end(args);
    if (!plain || f.size > INT_MAX) return vsnprintf(out, capacity, format, list);
    if (capacity) out[f.size < f.capacity ? f.size : f.capacity] = 0;
    return (int)f.size;
}

int ind__format(char *out, size_t capacity, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int n = ind__format_list(out, capacity, format, args);
    va_end(args);
    return n;
}

void ind__textf(ind__text *t, const char *format, ...) {
    if (t->failed) return;
    char local[512];
    va_list args;
    va_start(args, format);
    int n = ind__format_list(local, sizeof local, format, args);
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
    ind__format_list(large, (size_t)n + 1, format, args);
    va_end(args);
    ir__text_lines(t, large, (size_t)n);
    ind__free(t->context, large);
}

/* The decimal point of the C library depends on the locale; the printed one is always '.'. */
static char ir__locale_point(void) {
    const struct lconv *l = localeconv();
    return l && l->decimal_point && l->decimal_point[0] ? l->decimal_point[0] : '.';
}

/* The fewest digits that read back exactly. Up to 15 digits survive a double that is not subnormal, so that the fewest
   are those of the 15, without the zeros at the end, if 15 are enough. */
static void ir__shortest_double(char *s, size_t size, double v) {
    int digits = 1;
    snprintf(s, size, "%.14e", v);
    if (fabs(v) >= DBL_MIN && strtod(s, NULL) == v) {
        const char *end = strchr(s, 'e');
        for (digits = 15; digits > 1 && end[-1] == '0'; end--) digits--;
    } else if (fabs(v) >= DBL_MIN) {
        digits = 16;
    }
    for (; digits <= 17; digits++) {
        snprintf(s, size, "%.*g", digits, v);
        if (strtod(s, NULL) == v) break;
    }
}

void ind__text_double(ind__text *t, double v) {
    if (v != v || isinf(v)) {
        ind__textf(t, "%s", v != v ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    char s[40];
    ir__shortest_double(s, sizeof s, v);
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
