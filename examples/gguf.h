/* gguf.h: reads the metadata and the tensors of a .gguf file.
 *
 *     gguf file;
 *     char why[256];
 *     if (gguf_open("model.gguf", &file, why, sizeof why)) fprintf(stderr, "%s\n", why);
 *     int64_t layers = 0;
 *     gguf_integer(&file, "llama.block_count", &layers);
 *     const gguf_tensor *t = gguf_find(&file, "token_embd.weight");
 *     ... t->data holds t->num_bytes bytes: rows of blocks of t->format ...
 *     gguf_close(&file);
 *
 * The file is mapped into memory, not read: tensors are loaded from the disk when they are first used. Where there is
 * no mmap, the whole file is read, up to 2 GB. Versions 2 and 3, little-endian. The header is checked in full before
 * gguf_open returns: the file may be truncated, damaged or hostile, and the answer is one line that names the fault.
 * The file must not change while it is open. Format: ggml's documentation of GGUF. C11, header only, for little-endian
 * machines.
 */
#ifndef GGUF_H
#define GGUF_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef GGUF__MMAP
#if defined(__unix__) || defined(__APPLE__)
#define GGUF__MMAP 1
#else
#define GGUF__MMAP 0
#endif
#endif
#if GGUF__MMAP
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#define GGUF_MAX_RANK 4

/* Bytes of the file: not terminated by 0. */
typedef struct gguf_text {
    const char *at;
    size_t bytes;
} gguf_text;

/* Types of values; the numbers are the format's. */
typedef enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_NUM_TYPES
} gguf_type;

/* An entry of the metadata. */
typedef struct gguf_value {
    gguf_text key;
    gguf_type type; /* of the value, or of the elements of an array; never GGUF_ARRAY */
    bool is_array;
    uint64_t count;          /* elements of an array; else 1 */
    const unsigned char *at; /* not aligned */
} gguf_value;

/* Elements are stored in blocks. */
typedef struct gguf_format {
    const char *name; /* "q4_1"; lower case */
    int elements;     /* of a block */
    int bytes;        /* of a block */
} gguf_format;

typedef struct gguf_tensor {
    gguf_text name;
    const gguf_format *format;
    int rank;
    int64_t shape[GGUF_MAX_RANK]; /* elements; the last dimension is the one whose elements are adjacent */
    int64_t row_bytes;            /* of the last dimension */
    const void *data;             /* num_bytes bytes, aligned to 8 at least, owned by the file */
    size_t num_bytes;
} gguf_tensor;

typedef struct gguf {
    gguf_value *values; /* sorted by key */
    uint64_t num_values;
    gguf_tensor *tensors; /* sorted by name */
    uint64_t num_tensors;
    const unsigned char *file;
    size_t file_bytes;
} gguf;

/* Opens and checks the file. Returns 0, or 1 with one line in why[why_size] and `file` zeroed. */
static inline int gguf_open(const char *path, gguf *file, char *why, size_t why_size);

/* Unmaps the file and frees the tables; allowed on a zeroed file. Texts and data become invalid. */
static inline void gguf_close(gguf *file);

/* The tensor or the value of that name; NULL if there is none. */
static inline const gguf_tensor *gguf_find(const gguf *file, const char *name);
static inline const gguf_value *gguf_find_value(const gguf *file, const char *key);

/* The value as an integer, a number, a bool or a text. Returns false if there is none of that kind; *out is unchanged.
 */
static inline bool gguf_integer(const gguf *file, const char *key, int64_t *out);
static inline bool gguf_number(const gguf *file, const char *key, double *out);
static inline bool gguf_bool(const gguf *file, const char *key, bool *out);
static inline bool gguf_string(const gguf *file, const char *key, gguf_text *out);

/* The elements of an array: out[v->count]. Return false if they have another type, or do not fit the type of out. */
static inline bool gguf_strings(const gguf_value *v, gguf_text *out);
static inline bool gguf_integers(const gguf_value *v, int32_t *out);
static inline bool gguf_floats(const gguf_value *v, float *out);

static inline bool gguf_text_is(gguf_text text, const char *other) {
    return strlen(other) == text.bytes && !memcmp(text.at, other, text.bytes);
}

/* ---- formats of tensors */

/* The type's number, name, elements and bytes of a block. */
#define GGUF_FORMATS(X)                                                                                                \
    X(0, f32, 1, 4)                                                                                                    \
    X(1, f16, 1, 2)                                                                                                    \
    X(2, q4_0, 32, 18)                                                                                                 \
    X(3, q4_1, 32, 20)                                                                                                 \
    X(6, q5_0, 32, 22)                                                                                                 \
    X(7, q5_1, 32, 24)                                                                                                 \
    X(8, q8_0, 32, 34)                                                                                                 \
    X(10, q2_k, 256, 84)                                                                                               \
    X(11, q3_k, 256, 110)                                                                                              \
    X(12, q4_k, 256, 144)                                                                                              \
    X(13, q5_k, 256, 176)                                                                                              \
    X(14, q6_k, 256, 210)                                                                                              \
    X(16, iq2_xxs, 256, 66)                                                                                            \
    X(17, iq2_xs, 256, 74)                                                                                             \
    X(18, iq3_xxs, 256, 98)                                                                                            \
    X(19, iq1_s, 256, 50)                                                                                              \
    X(20, iq4_nl, 32, 18)                                                                                              \
    X(21, iq3_s, 256, 110)                                                                                             \
    X(22, iq2_s, 256, 82)                                                                                              \
    X(23, iq4_xs, 256, 136)                                                                                            \
    X(24, i8, 1, 1)                                                                                                    \
    X(25, i16, 1, 2)                                                                                                   \
    X(26, i32, 1, 4)                                                                                                   \
    X(27, i64, 1, 8)                                                                                                   \
    X(28, f64, 1, 8)                                                                                                   \
    X(29, iq1_m, 256, 56)                                                                                              \
    X(30, bf16, 1, 2)                                                                                                  \
    X(34, tq1_0, 256, 54)                                                                                              \
    X(35, tq2_0, 256, 66)                                                                                              \
    X(39, mxfp4, 32, 17)

static inline const gguf_format *gguf__format(uint32_t number) {
#define X(number, name, elements, bytes) [number] = {#name, elements, bytes},
    static const gguf_format formats[] = {GGUF_FORMATS(X)};
#undef X
    return number < sizeof formats / sizeof *formats && formats[number].name ? &formats[number] : NULL;
}

/* ---- the state of a read */

typedef struct gguf__reader {
    const char *path;
    char *why;
    size_t why_size;
    const unsigned char *at, *end;
    uint64_t alignment;
    gguf *file;
} gguf__reader;

/* A text of the file for a message: its first 63 characters, with ? for those that do not print. */
typedef struct gguf_shown {
    char text[64];
} gguf_shown;

static inline gguf_shown gguf_show(gguf_text text) {
    gguf_shown s = {{0}};
    for (size_t i = 0; i < text.bytes && i + 1 < sizeof s.text; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        s.text[i] = (char)(c < 0x20 || c > 0x7e ? '?' : c);
    }
    return s;
}

static inline int gguf__fail(gguf__reader *r, const char *format, ...) {
    int used = snprintf(r->why, r->why_size, "%s: ", r->path);
    va_list args;
    va_start(args, format);
    if (used >= 0 && (size_t)used < r->why_size) vsnprintf(r->why + used, r->why_size - (size_t)used, format, args);
    va_end(args);
    return 1;
}

static inline int gguf__truncated(gguf__reader *r) {
    return gguf__fail(r, "truncated header: it goes on after the end of the file, %llu bytes",
                      (unsigned long long)r->file->file_bytes);
}

static inline uint64_t gguf__left(const gguf__reader *r) {
    return (uint64_t)(r->end - r->at);
}

/* Copies the next bytes. Returns false at the end of the file. */
static inline bool gguf__take(gguf__reader *r, void *out, size_t bytes) {
    if (gguf__left(r) < bytes) return false;
    memcpy(out, r->at, bytes);
    r->at += bytes;
    return true;
}

static inline bool gguf__take_text(gguf__reader *r, gguf_text *out) {
    uint64_t bytes;
    if (!gguf__take(r, &bytes, sizeof bytes) || bytes > gguf__left(r)) return false;
    *out = (gguf_text){(const char *)r->at, (size_t)bytes};
    r->at += bytes;
    return true;
}

static inline int gguf__compare(gguf_text a, gguf_text b) {
    const int order = memcmp(a.at, b.at, a.bytes < b.bytes ? a.bytes : b.bytes);
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

/* ---- metadata */

/* Bytes of a value of this type; 0 for strings and arrays. */
static inline size_t gguf__type_bytes(gguf_type type) {
    static const unsigned char bytes[GGUF_NUM_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return bytes[type];
}

/* Skips v->count values of v->type. */
static inline int gguf__skip_values(gguf__reader *r, const gguf_value *v) {
    const size_t bytes = gguf__type_bytes(v->type);
    gguf_text text;
    if (bytes) {
        if (v->count > gguf__left(r) / bytes) return gguf__truncated(r);
        for (uint64_t i = 0; v->type == GGUF_BOOL && i < v->count; i++)
            if (r->at[i] > 1) return gguf__fail(r, "%s: a bool is %d", gguf_show(v->key).text, r->at[i]);
        r->at += v->count * bytes;
        return 0;
    }
    for (uint64_t i = 0; i < v->count; i++)
        if (!gguf__take_text(r, &text)) return gguf__truncated(r);
    return 0;
}

static inline int gguf__read_value(gguf__reader *r, gguf_value *v) {
    uint32_t type;
    if (!gguf__take_text(r, &v->key) || !gguf__take(r, &type, sizeof type)) return gguf__truncated(r);
    v->count = 1;
    if (type == GGUF_ARRAY) {
        v->is_array = true;
        if (!gguf__take(r, &type, sizeof type) || !gguf__take(r, &v->count, sizeof v->count)) return gguf__truncated(r);
    }
    if (type == GGUF_ARRAY) return gguf__fail(r, "%s: arrays of arrays are not supported", gguf_show(v->key).text);
    if (type >= GGUF_NUM_TYPES)
        return gguf__fail(r, "%s has type %lu, which is unknown", gguf_show(v->key).text, (unsigned long)type);
    v->type = (gguf_type)type;
    v->at = r->at;
    return gguf__skip_values(r, v);
}

static inline int gguf__by_key(const void *a, const void *b) {
    return gguf__compare(((const gguf_value *)a)->key, ((const gguf_value *)b)->key);
}

static inline int gguf__read_values(gguf__reader *r) {
    gguf *file = r->file;
    for (uint64_t i = 0; i < file->num_values; i++)
        if (gguf__read_value(r, &file->values[i])) return 1;
    if (file->num_values) qsort(file->values, (size_t)file->num_values, sizeof *file->values, gguf__by_key);
    for (uint64_t i = 1; i < file->num_values; i++)
        if (!gguf__by_key(&file->values[i - 1], &file->values[i]))
            return gguf__fail(r, "%s occurs twice", gguf_show(file->values[i].key).text);
    int64_t number;
    r->alignment = 32;
    if (gguf_find_value(file, "general.alignment")) {
        if (!gguf_integer(file, "general.alignment", &number) || number < 8 || number > 1 << 20 ||
            number & (number - 1))
            return gguf__fail(r, "general.alignment is not a power of two from 8 to 1048576");
        r->alignment = (uint64_t)number;
    }
    if (gguf_integer(file, "split.count", &number) && number > 1)
        return gguf__fail(r, "one of %lld parts of a model; it must be merged into one file first", (long long)number);
    return 0;
}

/* ---- tensors */

/* Sets shape and number of bytes; the file has the dimension of adjacent elements first. */
static inline int gguf__read_shape(gguf__reader *r, gguf_tensor *t) {
    uint32_t rank;
    uint64_t elements = 1;
    if (!gguf__take(r, &rank, sizeof rank)) return gguf__truncated(r);
    if (rank < 1 || rank > GGUF_MAX_RANK)
        return gguf__fail(r, "tensor %s has %lu dimensions; from 1 to %d are supported", gguf_show(t->name).text,
                          (unsigned long)rank, GGUF_MAX_RANK);
    t->rank = (int)rank;
    for (int d = t->rank - 1; d >= 0; d--) {
        uint64_t size;
        if (!gguf__take(r, &size, sizeof size)) return gguf__truncated(r);
        if (!size || size > (uint64_t)INT64_MAX / 8 / elements)
            return gguf__fail(r, "tensor %s: its shape is empty or too large", gguf_show(t->name).text);
        elements *= size;
        t->shape[d] = (int64_t)size;
    }
    return 0;
}

static inline int gguf__read_tensor(gguf__reader *r, gguf_tensor *t) {
    uint32_t number;
    uint64_t offset;
    if (!gguf__take_text(r, &t->name)) return gguf__truncated(r);
    if (gguf__read_shape(r, t)) return 1;
    if (!gguf__take(r, &number, sizeof number) || !gguf__take(r, &offset, sizeof offset)) return gguf__truncated(r);
    t->format = gguf__format(number);
    if (!t->format)
        return gguf__fail(r, "tensor %s has type %lu, which is unknown", gguf_show(t->name).text,
                          (unsigned long)number);
    const int64_t row = t->shape[t->rank - 1];
    if (row % t->format->elements)
        return gguf__fail(r, "tensor %s has rows of %lld elements, not of whole blocks of %d", gguf_show(t->name).text,
                          (long long)row, t->format->elements);
    if (offset % r->alignment || offset > r->file->file_bytes)
        return gguf__fail(r, "tensor %s lies at byte %llu of the data: after its end, or not aligned to %llu",
                          gguf_show(t->name).text, (unsigned long long)offset, (unsigned long long)r->alignment);
    t->row_bytes = row / t->format->elements * t->format->bytes;
    uint64_t bytes = (uint64_t)t->row_bytes; /* less than 2^63: gguf__read_shape limits the elements */
    for (int d = 0; d < t->rank - 1; d++) bytes *= (uint64_t)t->shape[d];
    if (bytes > r->file->file_bytes)
        return gguf__fail(r, "tensor %s has %llu bytes, the file has %llu: it is truncated or damaged",
                          gguf_show(t->name).text, (unsigned long long)bytes, (unsigned long long)r->file->file_bytes);
    t->num_bytes = (size_t)bytes;
    t->data = r->file->file + offset; /* gguf__check_offsets adds the start of the data */
    return 0;
}

static inline int gguf__by_offset(const void *a, const void *b) {
    const char *x = (const char *)((const gguf_tensor *)a)->data, *y = (const char *)((const gguf_tensor *)b)->data;
    return (x > y) - (x < y);
}

static inline int gguf__by_name(const void *a, const void *b) {
    return gguf__compare(((const gguf_tensor *)a)->name, ((const gguf_tensor *)b)->name);
}

/* Tensors lie in the file, and none overlaps another; no name occurs twice. */
static inline int gguf__check_offsets(gguf__reader *r, uint64_t data) {
    gguf *file = r->file;
    const size_t count = (size_t)file->num_tensors;
    if (!count) return 0;
    qsort(file->tensors, count, sizeof *file->tensors, gguf__by_offset);
    for (size_t i = 0; i < count; i++) {
        gguf_tensor *t = &file->tensors[i];
        const uint64_t offset = (uint64_t)((const unsigned char *)t->data - file->file);
        const uint64_t left = offset + data < file->file_bytes ? file->file_bytes - data - offset : 0;
        if (t->num_bytes > left)
            return gguf__fail(r, "tensor %s has %llu bytes, the file has %llu for it: it is truncated or damaged",
                              gguf_show(t->name).text, (unsigned long long)t->num_bytes, (unsigned long long)left);
        if (i + 1 < count && t->num_bytes > (size_t)((const char *)t[1].data - (const char *)t->data))
            return gguf__fail(r, "tensor %s overlaps another", gguf_show(t->name).text);
    }
    for (size_t i = 0; i < count; i++) file->tensors[i].data = (const char *)file->tensors[i].data + data;
    qsort(file->tensors, count, sizeof *file->tensors, gguf__by_name);
    for (size_t i = 1; i < count; i++)
        if (!gguf__by_name(&file->tensors[i - 1], &file->tensors[i]))
            return gguf__fail(r, "tensor %s occurs twice", gguf_show(file->tensors[i].name).text);
    return 0;
}

/* ---- the file */

/* Bytes that an entry of the metadata and one of the tensors have at least: tables grow with the file only. */
enum { GGUF__LEAST_VALUE = 8 + 4 + 1, GGUF__LEAST_TENSOR = 8 + 4 + 8 + 4 + 8 };

static inline int gguf__read_header(gguf__reader *r) {
    gguf *file = r->file;
    uint32_t version;
    if (gguf__left(r) < 24 || memcmp(r->at, "GGUF", 4)) return gguf__fail(r, "not a GGUF file");
    r->at += 4;
    gguf__take(r, &version, sizeof version);
    if (version != 2 && version != 3)
        return gguf__fail(r, "GGUF version %lu; 2 and 3 are supported, little-endian", (unsigned long)version);
    gguf__take(r, &file->num_tensors, sizeof file->num_tensors);
    gguf__take(r, &file->num_values, sizeof file->num_values);
    if (file->num_tensors > gguf__left(r) / GGUF__LEAST_TENSOR || file->num_values > gguf__left(r) / GGUF__LEAST_VALUE)
        return gguf__fail(r, "damaged header: %llu tensors and %llu values do not fit into %llu bytes",
                          (unsigned long long)file->num_tensors, (unsigned long long)file->num_values,
                          (unsigned long long)file->file_bytes);
    file->values = (gguf_value *)calloc((size_t)file->num_values + 1, sizeof *file->values);
    file->tensors = (gguf_tensor *)calloc((size_t)file->num_tensors + 1, sizeof *file->tensors);
    if (!file->values || !file->tensors)
        return gguf__fail(r, "no memory for %llu tensors and %llu values", (unsigned long long)file->num_tensors,
                          (unsigned long long)file->num_values);
    if (gguf__read_values(r)) return 1;
    for (uint64_t i = 0; i < file->num_tensors; i++)
        if (gguf__read_tensor(r, &file->tensors[i])) return 1;
    const uint64_t used = file->file_bytes - gguf__left(r);
    return gguf__check_offsets(r, (used + r->alignment - 1) / r->alignment * r->alignment);
}

#if GGUF__MMAP
static inline int gguf__map(gguf__reader *r) {
    struct stat info;
    const int fd = open(r->path, O_RDONLY);
    if (fd < 0) return gguf__fail(r, "cannot be opened");
    const bool regular = !fstat(fd, &info) && S_ISREG(info.st_mode);
    void *p =
        regular && info.st_size > 0 ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (!regular) return gguf__fail(r, "not a file");
    if (!info.st_size) return gguf__fail(r, "not a GGUF file");
    if (p == MAP_FAILED) return gguf__fail(r, "%lld bytes cannot be mapped into memory", (long long)info.st_size);
    r->file->file = (const unsigned char *)p;
    r->file->file_bytes = (size_t)info.st_size;
    return 0;
}

static inline void gguf__unmap(gguf *file) {
    if (file->file) munmap((void *)file->file, file->file_bytes);
}
#else
static inline int gguf__map(gguf__reader *r) {
    FILE *stream = fopen(r->path, "rb");
    if (!stream) return gguf__fail(r, "cannot be opened");
    const long size = fseek(stream, 0, SEEK_END) ? -1 : ftell(stream);
    const bool file = size >= 0 && size < LONG_MAX && !fseek(stream, 0, SEEK_SET);
    unsigned char *p = file && size ? (unsigned char *)malloc((size_t)size) : NULL;
    const bool read = p && fread(p, 1, (size_t)size, stream) == (size_t)size;
    fclose(stream);
    if (!file) return gguf__fail(r, "not a file");
    if (!size) return gguf__fail(r, "not a GGUF file");
    if (!p) return gguf__fail(r, "no memory for %ld bytes", size);
    r->file->file = p;
    r->file->file_bytes = (size_t)size;
    if (read) return 0;
    gguf_close(r->file);
    return gguf__fail(r, "cannot be read in full");
}

static inline void gguf__unmap(gguf *file) {
    free((void *)file->file);
}
#endif

static inline void gguf_close(gguf *file) {
    free(file->values);
    free(file->tensors);
    gguf__unmap(file);
    memset(file, 0, sizeof *file);
}

static inline int gguf_open(const char *path, gguf *file, char *why, size_t why_size) {
    gguf__reader reader = {.path = path, .why = why, .why_size = why_size, .file = file};
    memset(file, 0, sizeof *file);
    if (gguf__map(&reader)) return 1;
    reader.at = file->file;
    reader.end = file->file + file->file_bytes;
    const int failed = gguf__read_header(&reader);
    if (failed) gguf_close(file);
    return failed;
}

/* ---- queries */

static inline const gguf_tensor *gguf_find(const gguf *file, const char *name) {
    const gguf_tensor key = {.name = {name, strlen(name)}};
    if (!file->num_tensors) return NULL;
    return (const gguf_tensor *)bsearch(&key, file->tensors, (size_t)file->num_tensors, sizeof key, gguf__by_name);
}

static inline const gguf_value *gguf_find_value(const gguf *file, const char *key) {
    const gguf_value wanted = {.key = {key, strlen(key)}};
    if (!file->num_values) return NULL;
    return (const gguf_value *)bsearch(&wanted, file->values, (size_t)file->num_values, sizeof wanted, gguf__by_key);
}

/* Element i as an integer. Returns false if its type is not one, or it is above INT64_MAX. */
static inline bool gguf__integer_at(const gguf_value *v, uint64_t i, int64_t *out) {
    const size_t bytes = gguf__type_bytes(v->type);
    uint64_t bits = 0;
    if (!bytes || v->type == GGUF_F32 || v->type == GGUF_F64 || v->type == GGUF_BOOL) return false;
    memcpy(&bits, v->at + i * bytes, bytes);
    const bool is_signed = v->type == GGUF_I8 || v->type == GGUF_I16 || v->type == GGUF_I32 || v->type == GGUF_I64;
    if (v->type == GGUF_U64 && bits > INT64_MAX) return false;
    if (is_signed && bytes < 8 && bits >> (8 * bytes - 1)) bits |= ~(uint64_t)0 << (8 * bytes);
    memcpy(out, &bits, sizeof bits);
    return true;
}

static inline bool gguf__float_at(const gguf_value *v, uint64_t i, double *out) {
    float x;
    if (v->type == GGUF_F64) {
        memcpy(out, v->at + i * sizeof *out, sizeof *out);
    } else if (v->type == GGUF_F32) {
        memcpy(&x, v->at + i * sizeof x, sizeof x);
        *out = (double)x;
    }
    return v->type == GGUF_F64 || v->type == GGUF_F32;
}

static inline bool gguf_integer(const gguf *file, const char *key, int64_t *out) {
    const gguf_value *v = gguf_find_value(file, key);
    return v && !v->is_array && gguf__integer_at(v, 0, out);
}

static inline bool gguf_number(const gguf *file, const char *key, double *out) {
    const gguf_value *v = gguf_find_value(file, key);
    int64_t whole;
    if (!v || v->is_array) return false;
    if (gguf__float_at(v, 0, out)) return true;
    if (!gguf__integer_at(v, 0, &whole)) return false;
    *out = (double)whole;
    return true;
}

static inline bool gguf_bool(const gguf *file, const char *key, bool *out) {
    const gguf_value *v = gguf_find_value(file, key);
    if (!v || v->is_array || v->type != GGUF_BOOL) return false;
    *out = *v->at != 0;
    return true;
}

static inline bool gguf_string(const gguf *file, const char *key, gguf_text *out) {
    const gguf_value *v = gguf_find_value(file, key);
    return v && !v->is_array && gguf_strings(v, out);
}

static inline bool gguf_strings(const gguf_value *v, gguf_text *out) {
    const unsigned char *at = v->at;
    if (v->type != GGUF_STRING) return false;
    for (uint64_t i = 0; i < v->count; i++) {
        uint64_t bytes;
        memcpy(&bytes, at, sizeof bytes); /* gguf_open has checked all lengths */
        out[i] = (gguf_text){(const char *)at + sizeof bytes, (size_t)bytes};
        at += sizeof bytes + bytes;
    }
    return true;
}

static inline bool gguf_integers(const gguf_value *v, int32_t *out) {
    for (uint64_t i = 0; i < v->count; i++) {
        int64_t n;
        if (!gguf__integer_at(v, i, &n) || n < INT32_MIN || n > INT32_MAX) return false;
        out[i] = (int32_t)n;
    }
    return true;
}

static inline bool gguf_floats(const gguf_value *v, float *out) {
    for (uint64_t i = 0; i < v->count; i++) {
        double x;
        if (!gguf__float_at(v, i, &x)) return false;
        out[i] = (float)x;
    }
    return true;
}

#endif /* GGUF_H */
