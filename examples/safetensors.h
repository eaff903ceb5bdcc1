/* safetensors.h: reads tensors from a .safetensors file.
 *
 *     safetensors file;
 *     char why[256];
 *     if (safetensors_open("model.safetensors", &file, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *     const safetensors_tensor *t = safetensors_find(&file, "pooler.dense.weight");
 *     ... t->data holds t->num_bytes bytes, last dimension fastest ...
 *     safetensors_close(&file);
 *
 * A file is: the length of the header (8 bytes, little-endian), the header (a JSON object: name -> dtype, shape,
 * data_offsets), the data. Everything is checked before it is used: the file may be cut short, damaged or hostile, and
 * the answer is one line that names it. Format: the safetensors README, "Format". Plain C99, header only.
 *
 * The header's JSON is read here and not through a library: it has objects two deep, strings and plain integers, which
 * is 60 lines without recursion, and so the demo needs nothing installed.
 */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAFETENSORS_MAX_RANK   8
#define SAFETENSORS_MAX_HEADER 100000000 /* the format's own limit */

typedef struct safetensors_tensor {
    const char *name;  /* UTF-8, owned by the file */
    const char *dtype; /* "F32"; a row of SAFETENSORS_DTYPES */
    int item_size;     /* bytes of one element */
    int rank;
    int64_t shape[SAFETENSORS_MAX_RANK];
    int64_t count;    /* elements: the product of shape */
    const void *data; /* num_bytes bytes, aligned to item_size, owned by the file */
    size_t num_bytes;
} safetensors_tensor;

typedef struct safetensors {
    safetensors_tensor *tensors; /* sorted by name */
    size_t num_tensors;
    char *header;
    char *data;
    size_t data_size;
} safetensors;

/* Reads and checks the whole file. Returns 0, or 1 with one line in why[why_size] and `file` zeroed. */
static inline int safetensors_open(const char *path, safetensors *file, char *why, size_t why_size);

/* The tensor of that name, NULL where there is none. */
static inline const safetensors_tensor *safetensors_find(const safetensors *file, const char *name);

/* Frees all of it; fine on a zeroed file. */
static inline void safetensors_close(safetensors *file);

/* ---- dtypes */

#define SAFETENSORS_DTYPES(X)                                                                                          \
    X(BOOL, 1)                                                                                                         \
    X(U8, 1)                                                                                                           \
    X(I8, 1)                                                                                                           \
    X(F8_E5M2, 1)                                                                                                      \
    X(F8_E4M3, 1)                                                                                                      \
    X(U16, 2)                                                                                                          \
    X(I16, 2)                                                                                                          \
    X(F16, 2)                                                                                                          \
    X(BF16, 2)                                                                                                         \
    X(U32, 4)                                                                                                          \
    X(I32, 4)                                                                                                          \
    X(F32, 4)                                                                                                          \
    X(U64, 8)                                                                                                          \
    X(I64, 8)                                                                                                          \
    X(F64, 8)

typedef struct safetensors__dtype {
    const char *name;
    int item_size;
} safetensors__dtype;

static inline const safetensors__dtype *safetensors__find_dtype(const char *name) {
#define X(dtype, size) {#dtype, size},
    static const safetensors__dtype dtypes[] = {SAFETENSORS_DTYPES(X)};
#undef X
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(dtypes[i].name, name)) return &dtypes[i];
    return NULL;
}

/* ---- the state of a read: a cursor over the header, and where an error goes */

typedef struct safetensors__reader {
    const char *path;
    char *why;
    size_t why_size;
    char *start, *at, *end; /* the header; strings are unescaped in place, which never makes them longer */
    safetensors *file;
    size_t capacity; /* of file->tensors */
} safetensors__reader;

/* What the file says is printed only in part and without control characters: it is the file's text, not ours. */
static inline int safetensors__fail(safetensors__reader *r, const char *format, ...) {
    int used = snprintf(r->why, r->why_size, "%s: ", r->path);
    va_list args;
    va_start(args, format);
    if (used >= 0 && (size_t)used < r->why_size) vsnprintf(r->why + used, r->why_size - (size_t)used, format, args);
    va_end(args);
    for (char *c = r->why; r->why_size && *c; c++)
        if ((unsigned char)*c < 0x20) *c = '?';
    return 1;
}

static inline int safetensors__bad_json(safetensors__reader *r, const char *wanted) {
    return safetensors__fail(r, "damaged header: byte %ld: %s is wanted", (long)(r->at - r->start), wanted);
}

/* ---- JSON */

static inline bool safetensors__take(safetensors__reader *r, char wanted) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')) r->at++;
    if (r->at >= r->end || *r->at != wanted) return false;
    r->at++;
    return true;
}

/* Four hexadecimal digits, or -1. */
static inline int32_t safetensors__hex4(safetensors__reader *r) {
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = r->at < r->end && *r->at ? strchr(digits, *r->at) : NULL;
        if (!digit) return -1;
        int32_t nibble = (int32_t)(digit - digits);
        value = value * 16 + (nibble < 16 ? nibble : nibble - 6);
        r->at++;
    }
    return value;
}

/* The code point after \u, of one escape or of two that are a surrogate pair; -1 where it is none, or is 0. */
static inline int32_t safetensors__code_point(safetensors__reader *r) {
    int32_t high = safetensors__hex4(r);
    if (high <= 0 || (high >= 0xDC00 && high < 0xE000)) return -1;
    if (high < 0xD800 || high >= 0xE000) return high;
    if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u') return -1;
    r->at += 2;
    int32_t low = safetensors__hex4(r);
    return low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00) : -1;
}

static inline char *safetensors__put_utf8(char *to, int32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = (char)((0xF0 << (3 - more)) | (c >> (6 * more)));
    while (more--) *to++ = (char)(0x80 | ((c >> (6 * more)) & 0x3F));
    return to;
}

/* One character after a backslash, to *to. */
static inline bool safetensors__unescape(safetensors__reader *r, char **to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (r->at >= r->end || !*r->at) return false;
    char escape = *r->at++;
    if (escape == 'u') {
        int32_t c = safetensors__code_point(r);
        if (c < 0) return false;
        *to = safetensors__put_utf8(*to, c);
        return true;
    }
    const char *known = strchr(from, escape);
    if (known) *(*to)++ = into[known - from];
    return known != NULL;
}

/* A string, unescaped in place and ended with 0 where its closing quote was or before. NULL where there is none. */
static inline char *safetensors__take_string(safetensors__reader *r) {
    if (!safetensors__take(r, '"')) return NULL;
    char *text = r->at, *to = text;
    while (r->at < r->end && *r->at != '"') {
        if ((unsigned char)*r->at < 0x20) return NULL;
        if (*r->at != '\\') {
            *to++ = *r->at++;
            continue;
        }
        r->at++;
        if (!safetensors__unescape(r, &to)) return NULL;
    }
    if (r->at >= r->end) return NULL;
    r->at++;
    *to = 0;
    return text;
}

/* Non-negative integers in brackets, at most `most`. Returns how many, or -1. */
static inline int safetensors__take_integers(safetensors__reader *r, int64_t *values, int most) {
    if (!safetensors__take(r, '[')) return -1;
    if (safetensors__take(r, ']')) return 0;
    for (int n = 0; n < most;) {
        safetensors__take(r, ' '); /* skips white space */
        const char *start = r->at;
        int64_t value = 0;
        for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
            if (value > (INT64_MAX - 9) / 10) return -1;
            value = value * 10 + (*r->at - '0');
        }
        if (r->at == start) return -1;
        values[n++] = value;
        if (safetensors__take(r, ']')) return n;
        if (!safetensors__take(r, ',')) return -1;
    }
    return -1;
}

/* ---- the entries of the header */

/* {"format": "pt", ...}: checked and passed over. */
static inline int safetensors__read_metadata(safetensors__reader *r) {
    if (!safetensors__take(r, '{')) return safetensors__bad_json(r, "an object after __metadata__");
    if (safetensors__take(r, '}')) return 0;
    do {
        if (!safetensors__take_string(r) || !safetensors__take(r, ':') || !safetensors__take_string(r))
            return safetensors__bad_json(r, "\"name\": \"text\"");
    } while (safetensors__take(r, ','));
    return safetensors__take(r, '}') ? 0 : safetensors__bad_json(r, "'}'");
}

static inline int safetensors__read_dtype(safetensors__reader *r, safetensors_tensor *t) {
    const char *name = safetensors__take_string(r);
    if (!name) return safetensors__bad_json(r, "a string after dtype");
    const safetensors__dtype *dtype = safetensors__find_dtype(name);
    if (!dtype) return safetensors__fail(r, "tensor %.60s has dtype %.20s, which is not known here", t->name, name);
    t->dtype = dtype->name;
    t->item_size = dtype->item_size;
    return 0;
}

/* The three members of a tensor's object, each once, in any order. */
static inline int safetensors__read_members(safetensors__reader *r, safetensors_tensor *t, int64_t offsets[2]) {
    bool dtype = false, shape = false, offset = false;
    if (!safetensors__take(r, '{')) return safetensors__bad_json(r, "an object");
    do {
        const char *key = safetensors__take_string(r);
        if (!key || !safetensors__take(r, ':')) return safetensors__bad_json(r, "\"name\":");
        bool *seen = !strcmp(key, "dtype")          ? &dtype
                     : !strcmp(key, "shape")        ? &shape
                     : !strcmp(key, "data_offsets") ? &offset
                                                    : NULL;
        if (!seen || *seen)
            return safetensors__fail(r, "tensor %.60s has %s %.20s", t->name, seen ? "twice" : "an unknown", key);
        *seen = true;
        if (seen == &dtype && safetensors__read_dtype(r, t)) return 1;
        if (seen == &shape && (t->rank = safetensors__take_integers(r, t->shape, SAFETENSORS_MAX_RANK)) < 0)
            return safetensors__fail(r, "tensor %.60s: shape is no list of at most %d sizes", t->name,
                                     SAFETENSORS_MAX_RANK);
        if (seen == &offset && safetensors__take_integers(r, offsets, 2) != 2)
            return safetensors__fail(r, "tensor %.60s: data_offsets are no two offsets", t->name);
    } while (safetensors__take(r, ','));
    if (!safetensors__take(r, '}')) return safetensors__bad_json(r, "'}'");
    if (!dtype || !shape || !offset)
        return safetensors__fail(r, "tensor %.60s lacks dtype, shape or data_offsets", t->name);
    return 0;
}

static inline int safetensors__check_tensor(safetensors__reader *r, safetensors_tensor *t, const int64_t offsets[2]) {
    int64_t size = (int64_t)r->file->data_size, bytes = t->item_size;
    for (int d = 0; d < t->rank; d++) {
        if (t->shape[d] && bytes > INT64_MAX / t->shape[d])
            return safetensors__fail(r, "tensor %.60s: its shape is too large", t->name);
        bytes *= t->shape[d];
    }
    if (offsets[0] > offsets[1] || offsets[1] > size)
        return safetensors__fail(r, "tensor %.60s lies at [%lld, %lld), the file holds %lld bytes of data", t->name,
                                 (long long)offsets[0], (long long)offsets[1], (long long)size);
    if (offsets[1] - offsets[0] != bytes)
        return safetensors__fail(r, "tensor %.60s has %lld bytes, its dtype and shape need %lld", t->name,
                                 (long long)(offsets[1] - offsets[0]), (long long)bytes);
    if (offsets[0] % t->item_size)
        return safetensors__fail(r, "tensor %.60s lies at byte %lld, which is not aligned to its %d-byte elements",
                                 t->name, (long long)offsets[0], t->item_size);
    t->count = bytes / t->item_size;
    t->num_bytes = (size_t)bytes;
    t->data = r->file->data + offsets[0];
    return 0;
}

static inline safetensors_tensor *safetensors__add_tensor(safetensors__reader *r) {
    safetensors *file = r->file;
    if (file->num_tensors == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 128;
        void *grown = realloc(file->tensors, capacity * sizeof *file->tensors);
        if (!grown) return NULL;
        file->tensors = (safetensors_tensor *)grown;
        r->capacity = capacity;
    }
    safetensors_tensor *t = &file->tensors[file->num_tensors++];
    memset(t, 0, sizeof *t);
    return t;
}

static inline int safetensors__read_entry(safetensors__reader *r) {
    int64_t offsets[2];
    const char *name = safetensors__take_string(r);
    if (!name || !safetensors__take(r, ':')) return safetensors__bad_json(r, "\"name\":");
    if (!strcmp(name, "__metadata__")) return safetensors__read_metadata(r);
    safetensors_tensor *t = safetensors__add_tensor(r);
    if (!t) return safetensors__fail(r, "no memory for %zu tensors", r->file->num_tensors);
    t->name = name;
    return safetensors__read_members(r, t, offsets) || safetensors__check_tensor(r, t, offsets);
}

static inline int safetensors__read_entries(safetensors__reader *r) {
    if (!safetensors__take(r, '{')) return safetensors__bad_json(r, "'{'");
    if (!safetensors__take(r, '}')) {
        do {
            if (safetensors__read_entry(r)) return 1;
        } while (safetensors__take(r, ','));
        if (!safetensors__take(r, '}')) return safetensors__bad_json(r, "',' or '}'");
    }
    safetensors__take(r, ' '); /* skips the padding */
    return r->at == r->end ? 0 : safetensors__bad_json(r, "the end");
}

/* ---- the tensors together */

static inline int safetensors__by_place(const void *a, const void *b) {
    const safetensors_tensor *x = (const safetensors_tensor *)a, *y = (const safetensors_tensor *)b;
    if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return (x->num_bytes > y->num_bytes) - (x->num_bytes < y->num_bytes);
}

static inline int safetensors__by_name(const void *a, const void *b) {
    return strcmp(((const safetensors_tensor *)a)->name, ((const safetensors_tensor *)b)->name);
}

/* Tensors cover the data without overlap and without holes (the format demands it), and no name comes twice. */
static inline int safetensors__check_all(safetensors__reader *r) {
    safetensors *file = r->file;
    const char *place = file->data;
    if (file->num_tensors) qsort(file->tensors, file->num_tensors, sizeof *file->tensors, safetensors__by_place);
    for (size_t i = 0; i < file->num_tensors; i++) {
        const safetensors_tensor *t = &file->tensors[i];
        if ((const char *)t->data != place)
            return safetensors__fail(r, "tensor %.60s %s", t->name,
                                     (const char *)t->data < place ? "overlaps another" : "follows a hole in the data");
        place += t->num_bytes;
    }
    if (place != file->data + file->data_size)
        return safetensors__fail(r, "%ld bytes at its end belong to no tensor",
                                 (long)(file->data + file->data_size - place));
    if (file->num_tensors) qsort(file->tensors, file->num_tensors, sizeof *file->tensors, safetensors__by_name);
    for (size_t i = 1; i < file->num_tensors; i++)
        if (!safetensors__by_name(&file->tensors[i - 1], &file->tensors[i]))
            return safetensors__fail(r, "tensor %.60s stands there twice", file->tensors[i].name);
    return 0;
}

/* ---- the file */

static inline int safetensors__load(safetensors__reader *r, FILE *stream) {
    safetensors *file = r->file;
    unsigned char head[8];
    uint64_t length = 0;
    long size = fseek(stream, 0, SEEK_END) ? -1 : ftell(stream);
    if (size < 0 || size == LONG_MAX || fseek(stream, 0, SEEK_SET)) return safetensors__fail(r, "cannot be read");
    if (size < 8 || fread(head, 1, 8, stream) != 8)
        return safetensors__fail(r, "%ld bytes are no safetensors file", size);
    for (int i = 7; i >= 0; i--) length = length << 8 | head[i];
    if (length > SAFETENSORS_MAX_HEADER || length > (uint64_t)size - 8)
        return safetensors__fail(r, "its header should have %llu bytes, the file has %ld", (unsigned long long)length,
                                 size);
    file->data_size = (size_t)size - 8 - (size_t)length;
    file->header = (char *)malloc((size_t)length + 1);
    file->data = (char *)malloc(
        file->data_size ? file->data_size : 1); /* its own block, so that tensors are aligned as their offsets are */
    if (!file->header || !file->data) return safetensors__fail(r, "no memory for %ld bytes", size);
    if (fread(file->header, 1, (size_t)length, stream) != length ||
        fread(file->data, 1, file->data_size, stream) != file->data_size)
        return safetensors__fail(r, "cannot be read in full");
    r->start = r->at = file->header;
    r->end = file->header + length;
    return 0;
}

static inline void safetensors_close(safetensors *file) {
    free(file->tensors);
    free(file->header);
    free(file->data);
    memset(file, 0, sizeof *file);
}

static inline int safetensors_open(const char *path, safetensors *file, char *why, size_t why_size) {
    safetensors__reader reader = {.path = path, .why = why, .why_size = why_size, .file = file};
    memset(file, 0, sizeof *file);
    FILE *stream = fopen(path, "rb");
    if (!stream) return safetensors__fail(&reader, "cannot be opened");
    int failed =
        safetensors__load(&reader, stream) || safetensors__read_entries(&reader) || safetensors__check_all(&reader);
    fclose(stream);
    if (failed) safetensors_close(file);
    return failed;
}

static inline const safetensors_tensor *safetensors_find(const safetensors *file, const char *name) {
    safetensors_tensor key = {.name = name};
    if (!file->num_tensors) return NULL;
    return (const safetensors_tensor *)bsearch(&key, file->tensors, file->num_tensors, sizeof key,
                                               safetensors__by_name);
}

#endif /* SAFETENSORS_H */
