/* ---- tokens */

static void ind__skip(ind__parser *p) {
    for (;; p->at++) {
        if (*p->at == '#') p->at += strcspn(p->at, "\n");
        bool space = *p->at == ' ' || *p->at == '\t' || *p->at == '\r';
        if (!space && !(*p->at == '\n' && p->brackets > 0)) return;
    }
}

static void ind__skip_lines(ind__parser *p) {
    for (ind__skip(p); *p->at == '\n'; ind__skip(p)) p->at++;
}

static size_t ind__name_length(const char *s) {
    size_t n = 0;
    while (ind__name_char(s[n], n == 0)) n++;
    return n;
}

/* Returns the next token for messages: a word, or one character; unprintable bytes as \xNN. */
static const char *ind__found(const char *at, char *out, size_t bytes) {
    static const char digits[] = "0123456789abcdef";
    unsigned char ch = (unsigned char)*at;
    size_t n = ind__name_length(at);
    if (ch == 0) {
        snprintf(out, bytes, "the end of the text");
    } else if (ch == '\n') {
        snprintf(out, bytes, "the end of the line");
    } else if (ch < 32 || ch > 126) {
        snprintf(out, bytes, "byte \\x%c%c", digits[ch >> 4], digits[ch & 15]);
    } else {
        while (n == 0 || (at[n] >= '0' && at[n] <= '9')) n++;
        snprintf(out, bytes, "\"%.*s%s\"", (int)(n > 40 ? 40 : n), at, n > 40 ? ".." : "");
    }
    return out;
}

static bool ind__expected(ind__parser *p, const char *what) {
    char found[64];
    return ind__parse_error(p, p->at, IND_ERROR_PARSE, "expected %s, found %s", what,
                            ind__found(p->at, found, sizeof found));
}

static bool ind__peek(ind__parser *p, char ch) {
    ind__skip(p);
    return !p->status && *p->at == ch;
}

static bool ind__take(ind__parser *p, char ch) {
    if (!ind__peek(p, ch)) return false;
    p->at++;
    if (ch == '(' || ch == '[') p->brackets++;
    if (ch == ')' || ch == ']') p->brackets--;
    return true;
}

static bool ind__need(ind__parser *p, char ch) {
    char what[4] = {'"', ch, '"', 0};
    return ind__take(p, ch) || ind__expected(p, what);
}

static bool ind__at_word(ind__parser *p, const char *word) {
    ind__skip(p);
    return ind__same_name(p->at, ind__name_length(p->at), word, strlen(word));
}

static bool ind__take_word(ind__parser *p, const char *word) {
    if (p->status || !ind__at_word(p, word)) return false;
    p->at += strlen(word);
    return true;
}

/* Reads and copies a name; `what` describes it in the message. */
static bool ind__need_name(ind__parser *p, const char *what, char out[IND__MAX_NAME + 1]) {
    ind__skip(p);
    if (p->status) return false;
    size_t n = ind__name_length(p->at);
    if (n == 0) return ind__expected(p, what);
    if (n > IND__MAX_NAME)
        return ind__parse_error(p, p->at, IND_ERROR_LIMIT, "a name of %zu characters; at most %d", n, IND__MAX_NAME);
    memcpy(out, p->at, n);
    out[n] = 0;
    p->at += n;
    return true;
}

/* Reads a new name, like ind__need_name. */
static bool ind__need_new_name(ind__parser *p, const char *what, char out[IND__MAX_NAME + 1]) {
    ind__skip(p);
    const char *at = p->at;
    if (!ind__need_name(p, what, out)) return false;
    if (!ind__reserved_name(out, strlen(out))) return true;
    return ind__parse_error(p, at, IND_ERROR_PARSE, "\"%s\" is a value and cannot be a name", out);
}

static bool ind__need_int(ind__parser *p, int64_t *out) {
    ind__skip(p);
    const char *begin = p->at, *s = p->at + (*p->at == '-');
    uint64_t v = 0, limit = (uint64_t)INT64_MAX + (*begin == '-');
    if (p->status) return false;
    if (*s < '0' || *s > '9') return ind__expected(p, "an integer");
    for (; *s >= '0' && *s <= '9'; s++) {
        uint64_t digit = (uint64_t)(*s - '0');
        if (v > (limit - digit) / 10)
            return ind__parse_error(p, begin, IND_ERROR_OVERFLOW, "the number exceeds 64 bits");
        v = v * 10 + digit;
    }
    if (*s == '.' || ind__name_char(*s, false)) return ind__expected(p, "an integer");
    p->at = s;
    *out = *begin == '-' ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* Returns the length of a number, 0 if there is none. *whole: it has no point and no exponent. */
static size_t ind__number_length(const char *s, bool *whole) {
    size_t n = *s == '-', from;
    *whole = false;
    size_t word = ind__name_length(s + n);
    if (ind__same_name(s + n, word, "inf", 3) || ind__same_name(s + n, word, "nan", 3)) return n + 3;
    for (from = n; s[n] >= '0' && s[n] <= '9'; n++) {
    }
    if (n == from) return 0;
    *whole = s[n] != '.' && s[n] != 'e' && s[n] != 'E';
    if (s[n] == '.') n += 1 + strspn(s + n + 1, "0123456789");
    if (s[n] != 'e' && s[n] != 'E') return n;
    size_t exponent = n + 1 + (s[n + 1] == '-' || s[n + 1] == '+'), digits = strspn(s + exponent, "0123456789");
    return digits ? exponent + digits : n;
}
