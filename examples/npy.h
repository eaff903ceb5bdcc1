/* npy.h: reads and writes arrays in NumPy's .npy format, versions 1 to 3.
 *
 *     npy_array a;
 *     char why[256];
 *     if (npy_read("x.npy", &a, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *     ... a.data holds a.count elements of a.descr, last dimension fastest ...
 *     npy_free(&a);
 *
 * Element types: b1, u1, i1, u2, i2, i4, i8, f2, f4, f8, little-endian. Arrays in Fortran order are put into C order.
 * Anything else, and a file that is cut short, too long or damaged, is an error with one line that names the file; the
 * file is not trusted in any way. Format: numpy/lib/_format_impl.py. Plain C99, header only, nothing else needed.
 */
#ifndef NPY_H
#define NPY_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NPY_MAX_RANK   16
#define NPY_MAX_HEADER 65536 /* NumPy's own limit is 10,000 unless pickles are allowed */

typedef struct npy_array {
    char descr[3]; /* kind and size: "f4" */
    int item_size; /* bytes */
    int rank;
    int64_t shape[NPY_MAX_RANK];
    int64_t count; /* elements: the product of shape */
    void *data;    /* count * item_size bytes, owned; never NULL after a successful read */
} npy_array;

/* Reads `path` into `a`, whose data the caller frees with npy_free. Returns 0, or 1 with one line in why[why_size] and
 * `a` zeroed. */
static inline int npy_read(const char *path, npy_array *a, char *why, size_t why_size);

/* Writes count elements (product of shape[rank]) of type `descr` ("f4") in C order. Returns 0, or 1 with one line in
 * why[why_size]. */
static inline int npy_write(const char *path, const char *descr, int rank, const int64_t *shape, const void *data,
                            char *why, size_t why_size);

/* Writes two blocks of bytes, one after the other, as a whole file: a new file takes the place of an old one once it is
 * complete, so that after a failure (a full disk) the old one is as it was and nothing is left behind. What is not a
 * regular file (a directory, a device) is not replaced; a symbolic link is, and not what it leads to. Returns as
 * npy_write. */
static inline int npy_write_file(const char *path, const void *first, size_t first_bytes, const void *second,
                                 size_t second_bytes, char *why, size_t why_size);

/* Frees the data; fine on a zeroed array and on one freed before. */
static inline void npy_free(npy_array *a);

/* ---- errors */

typedef struct npy__why {
    const char *path;
    char *text;
    size_t size;
} npy__why;

static inline int npy__fail(const npy__why *why, const char *format, ...) {
    int used = snprintf(why->text, why->size, "%s: ", why->path);
    va_list args;
    va_start(args, format);
    if (used >= 0 && (size_t)used < why->size) vsnprintf(why->text + used, why->size - (size_t)used, format, args);
    va_end(args);
    return 1;
}

/* ---- element types and sizes */

static inline bool npy__known_descr(const char *descr) {
    static const char *const known[] = {"b1", "u1", "i1", "u2", "i2", "i4", "i8", "f2", "f4", "f8"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(descr, known[i])) return true;
    return false;
}

/* The number of elements, or -1 where it, or its size in bytes, would not fit. */
static inline int64_t npy__count(int rank, const int64_t *shape, int item_size) {
    int64_t count = 1;
    for (int d = 0; d < rank; d++) {
        if (shape[d] < 0) return -1;
        if (shape[d] && count > INT64_MAX / 16 / shape[d]) return -1;
        count *= shape[d];
    }
    return (uint64_t)count > SIZE_MAX / (unsigned)item_size ? -1 : count;
}

/* ---- the header: a Python dict of three entries, in any order, padded with spaces */

typedef struct npy__cursor {
    const char *at, *end;
} npy__cursor;

static inline bool npy__take(npy__cursor *c, char wanted) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) c->at++;
    if (c->at >= c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static inline bool npy__take_word(npy__cursor *c, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n)) return false;
    c->at += n;
    return true;
}

/* A quoted string without escapes, into text[size]. */
static inline bool npy__take_string(npy__cursor *c, char *text, size_t size) {
    char quote = npy__take(c, '\'') ? '\'' : npy__take(c, '"') ? '"' : 0;
    size_t n = 0;
    if (!quote) return false;
    while (c->at < c->end && *c->at != quote) {
        if (n + 1 >= size || *c->at == '\\') return false;
        text[n++] = *c->at++;
    }
    text[n] = 0;
    return npy__take(c, quote);
}

static inline bool npy__take_int(npy__cursor *c, int64_t *value) {
    const char *start;
    npy__take(c, ' ');
    *value = 0;
    for (start = c->at; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (*value > (INT64_MAX - 9) / 10) return false;
        *value = *value * 10 + (*c->at - '0');
    }
    if (c->at == start) return false;
    if (c->at < c->end && *c->at == 'L') c->at++; /* as Python 2 wrote long integers */
    return true;
}

static inline int npy__parse_descr(npy__cursor *c, npy_array *a, const npy__why *why) {
    char text[32];
    if (!npy__take_string(c, text, sizeof text))
        return npy__fail(why, "structured or damaged descr; allowed is one plain element type");
    const char *type = strchr("<|=", text[0]) && text[0] ? text + 1 : text;
    if (!npy__known_descr(type))
        return npy__fail(why, "element type '%s'; allowed are b1 u1 i1 u2 i2 i4 i8 f2 f4 f8, little-endian", text);
    memcpy(a->descr, type, 3);
    a->item_size = type[1] - '0';
    return 0;
}

static inline int npy__parse_shape(npy__cursor *c, npy_array *a, const npy__why *why) {
    if (!npy__take(c, '(')) return npy__fail(why, "damaged header: shape is no tuple");
    for (a->rank = 0; !npy__take(c, ')'); a->rank++) {
        if (a->rank == NPY_MAX_RANK) return npy__fail(why, "more than %d dimensions", NPY_MAX_RANK);
        if (!npy__take_int(c, &a->shape[a->rank])) return npy__fail(why, "damaged header: shape is no tuple of sizes");
        if (npy__take(c, ',')) continue;
        a->rank++;
        if (npy__take(c, ')')) return a->rank == 1 ? npy__fail(why, "damaged header: shape is no tuple") : 0;
        return npy__fail(why, "damaged header: shape is no tuple of sizes");
    }
    return 0;
}

static inline int npy__parse_order(npy__cursor *c, bool *fortran, const npy__why *why) {
    npy__take(c, ' ');
    *fortran = npy__take_word(c, "True");
    if (*fortran || npy__take_word(c, "False")) return 0;
    return npy__fail(why, "damaged header: fortran_order is neither True nor False");
}

static inline int npy__parse_header(npy__cursor c, npy_array *a, bool *fortran, const npy__why *why) {
    char key[32];
    bool descr = false, shape = false, order = false;
    if (!npy__take(&c, '{')) return npy__fail(why, "damaged header: no dict");
    while (!npy__take(&c, '}')) {
        if (!npy__take_string(&c, key, sizeof key) || !npy__take(&c, ':'))
            return npy__fail(why, "damaged header: no entry where one should be");
        bool *seen = !strcmp(key, "descr")           ? &descr
                     : !strcmp(key, "shape")         ? &shape
                     : !strcmp(key, "fortran_order") ? &order
                                                     : NULL;
        if (!seen || *seen) return npy__fail(why, "damaged header: %s entry", seen ? "repeated" : "unknown");
        *seen = true;
        if (seen == &descr   ? npy__parse_descr(&c, a, why)
            : seen == &shape ? npy__parse_shape(&c, a, why)
                             : npy__parse_order(&c, fortran, why))
            return 1;
        if (npy__take(&c, ',')) continue;
        if (npy__take(&c, '}')) break;
        return npy__fail(why, "damaged header: no comma after an entry");
    }
    if (!descr || !shape || !order) return npy__fail(why, "damaged header: descr, fortran_order or shape is missing");
    npy__take(&c, ' '); /* skips the padding, all of it */
    return c.at == c.end ? 0 : npy__fail(why, "damaged header: text after the dict");
}

/* ---- reading */

/* Leaves the file at the first element. */
static inline int npy__read_header(FILE *file, npy_array *a, bool *fortran, const npy__why *why) {
    unsigned char head[12];
    if (fread(head, 1, 10, file) != 10 || memcmp(head, "\x93NUMPY", 6)) return npy__fail(why, "not an .npy file");
    size_t length = head[8] | (size_t)head[9] << 8;
    if (head[6] < 1 || head[6] > 3)
        return npy__fail(why, ".npy version %d.%d; allowed are 1, 2 and 3", head[6], head[7]);
    if (head[6] > 1) { /* the length has four bytes from version 2 on */
        if (fread(head + 10, 1, 2, file) != 2) return npy__fail(why, "cut short in its header");
        length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    }
    if (length > NPY_MAX_HEADER) return npy__fail(why, "header of %zu bytes; allowed are %d", length, NPY_MAX_HEADER);
    char *text = (char *)malloc(length + 1);
    if (!text) return npy__fail(why, "no memory for a header of %zu bytes", length);
    npy__cursor cursor = {text, text + length};
    int failed = fread(text, 1, length, file) != length ? npy__fail(why, "cut short in its header")
                                                        : npy__parse_header(cursor, a, fortran, why);
    free(text);
    return failed;
}

static inline int npy__read_data(FILE *file, npy_array *a, const npy__why *why) {
    long start = ftell(file);
    a->count = npy__count(a->rank, a->shape, a->item_size);
    if (a->count < 0) return npy__fail(why, "the shape has more elements than memory could hold");
    if (start < 0 || fseek(file, 0, SEEK_END)) return npy__fail(why, "cannot be read");
    long here = ftell(file) - start;
    int64_t bytes = a->count * a->item_size;
    /* The size is checked before anything is allocated, so that a damaged shape cannot ask for all memory. */
    if (here != bytes)
        return npy__fail(why, "%s: %ld bytes of data, the shape needs %lld", here < bytes ? "cut short" : "too long",
                         here, (long long)bytes);
    a->data = malloc(bytes ? (size_t)bytes : 1);
    if (!a->data) return npy__fail(why, "no memory for %lld bytes", (long long)bytes);
    if (fseek(file, start, SEEK_SET) || fread(a->data, 1, (size_t)bytes, file) != (size_t)bytes)
        return npy__fail(why, "cannot be read");
    return 0;
}

/* Puts data that lies first dimension fastest into C order. */
static inline int npy__to_c_order(npy_array *a, const npy__why *why) {
    size_t item = (size_t)a->item_size;
    int64_t index[NPY_MAX_RANK] = {0};
    char *to = (char *)malloc(a->count ? (size_t)a->count * item : 1);
    if (!to) return npy__fail(why, "no memory to transpose %lld elements", (long long)a->count);
    for (int64_t n = 0; n < a->count; n++) {
        int64_t from = 0;
        for (int d = a->rank - 1; d >= 0; d--) from = from * a->shape[d] + index[d];
        memcpy(to + (size_t)n * item, (char *)a->data + (size_t)from * item, item);
        for (int d = a->rank - 1; d >= 0 && ++index[d] == a->shape[d]; d--) index[d] = 0;
    }
    free(a->data);
    a->data = to;
    return 0;
}

static inline void npy_free(npy_array *a) {
    free(a->data);
    a->data = NULL;
}

static inline int npy_read(const char *path, npy_array *a, char *why_text, size_t why_size) {
    npy__why why = {path, why_text, why_size};
    bool fortran = false;
    memset(a, 0, sizeof *a);
    FILE *file = fopen(path, "rb");
    if (!file) return npy__fail(&why, "cannot be opened");
    int failed = npy__read_header(file, a, &fortran, &why) || npy__read_data(file, a, &why) ||
                 (fortran && npy__to_c_order(a, &why));
    fclose(file);
    if (failed) {
        npy_free(a);
        memset(a, 0, sizeof *a);
    }
    return failed;
}

/* ---- writing */

/* Version 1, with the data aligned to 64 bytes as NumPy has it. Returns the length, 0 where it does not fit. */
static inline size_t npy__format_header(char *text, size_t size, const char *descr, int rank, const int64_t *shape) {
    const char *order = descr[1] == '1' ? "|" : "<";
    int n = snprintf(text, size, "%c%s%c%c%c%c{'descr': '%s%s', 'fortran_order': False, 'shape': (", 0x93, "NUMPY", 1,
                     0, 0, 0, order, descr);
    for (int d = 0; d < rank; d++)
        n += snprintf(text + n, size - (size_t)n, "%lld,%s", (long long)shape[d], d + 1 < rank ? " " : "");
    n += snprintf(text + n, size - (size_t)n, "), }");
    size_t total = ((size_t)n + 1 + 63) / 64 * 64;
    if (total > size) return 0;
    memset(text + n, ' ', total - 1 - (size_t)n);
    text[total - 1] = '\n';
    text[8] = (char)((total - 10) & 255);
    text[9] = (char)((total - 10) >> 8);
    return total;
}

static inline bool npy__is_regular(const struct stat *status) {
#if defined(S_ISREG)
    return S_ISREG(status->st_mode);
#else
    return (status->st_mode & S_IFMT) == S_IFREG;
#endif
}

/* 0, or errno; the new file is removed then. */
static inline int npy__write_new(const char *path, const void *first, size_t first_bytes, const void *second,
                                 size_t second_bytes) {
    FILE *file = fopen(path, "wb");
    if (!file) return errno ? errno : EIO;
    errno = 0;
    bool written = fwrite(first, 1, first_bytes, file) == first_bytes &&
                   (!second_bytes || fwrite(second, 1, second_bytes, file) == second_bytes) && !fflush(file);
    int error = errno;
    if (fclose(file) && written) written = false, error = errno;
    if (written) return 0;
    remove(path);
    return error ? error : EIO;
}

static inline int npy_write_file(const char *path, const void *first, size_t first_bytes, const void *second,
                                 size_t second_bytes, char *why_text, size_t why_size) {
    npy__why why = {path, why_text, why_size};
    struct stat status;
    char temporary[4200];
    if (!stat(path, &status) && !npy__is_regular(&status))
        return npy__fail(&why, "is not a regular file, so it is not written");
    int n = snprintf(temporary, sizeof temporary, "%s.%p.tmp", path, (void *)temporary);
    if (n < 0 || (size_t)n >= sizeof temporary) return npy__fail(&why, "cannot be written: the path is too long");
    int error = npy__write_new(temporary, first, first_bytes, second, second_bytes);
    if (error) return npy__fail(&why, "cannot be written: %s", strerror(error));
#if defined(_WIN32)
    remove(path); /* rename replaces nothing there */
#endif
    if (!rename(temporary, path)) return 0;
    error = errno;
    remove(temporary);
    return npy__fail(&why, "cannot be written: %s", strerror(error));
}

static inline int npy_write(const char *path, const char *descr, int rank, const int64_t *shape, const void *data,
                            char *why_text, size_t why_size) {
    npy__why why = {path, why_text, why_size};
    char header[64 + 64 + NPY_MAX_RANK * 22];
    if (rank < 0 || rank > NPY_MAX_RANK || !npy__known_descr(descr))
        return npy__fail(&why, "cannot hold %d dimensions of %s", rank, descr);
    int64_t count = npy__count(rank, shape, descr[1] - '0');
    if (count < 0) return npy__fail(&why, "the shape has more elements than memory could hold");
    size_t bytes = (size_t)count * (size_t)(descr[1] - '0');
    size_t header_size = npy__format_header(header, sizeof header, descr, rank, shape);
    return npy_write_file(path, header, header_size, data, bytes, why_text, why_size);
}

#endif /* NPY_H */
