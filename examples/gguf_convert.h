/* gguf_convert.h: rewrites the matrices of a model in another format of weights, in memory.
 *
 *     gguf_conversion converted = {0};
 *     if (gguf_convert(&file, "q8_0", &converted, why, sizeof why)) ...     f32, f16, bf16 or q8_0
 *     gguf_end_conversion(&converted);                                      after the last use of the file
 *
 * Vectors, such as the weights of norms, and matrices whose rows are no whole blocks of the new format are kept. A
 * graph on the host device computes the numbers. q8_0: the scale of 32 elements is their largest magnitude over 127;
 * elements are rounded to the nearest integer, ties away from zero: the bytes are those of ggml.
 */
#ifndef GGUF_CONVERT_H
#define GGUF_CONVERT_H

#include "gguf.h"
#include "inductor.h"
#include <stdlib.h>

/* The converted tensors. The file's tensors point here. */
typedef struct gguf_conversion {
    unsigned char *data;
} gguf_conversion;

/* Returns 0, or 1 with one line in why[why_size] and `file` unchanged. */
static inline int gguf_convert(gguf *file, const char *format, gguf_conversion *out, char *why, size_t why_size);

static inline void gguf_end_conversion(gguf_conversion *c) {
    free(c->data);
    c->data = NULL;
}

enum { GGUF_CONVERTED_ROWS = 4096 }; /* of a run */

/* True for a matrix whose rows are whole blocks of the format. */
static inline bool gguf__converts(const gguf_tensor *t, const gguf_format *to) {
    return t->rank >= 2 && t->format != to && t->shape[t->rank - 1] % to->elements == 0;
}

static inline int64_t gguf__num_rows(const gguf_tensor *t) {
    return (int64_t)t->num_bytes / t->row_bytes;
}

static inline size_t gguf__converted_row(const gguf_tensor *t, const gguf_format *to) {
    return (size_t)(t->shape[t->rank - 1] / to->elements) * (size_t)to->bytes;
}

static inline size_t gguf__converted_bytes(const gguf_tensor *t, const gguf_format *to) {
    return ((size_t)gguf__num_rows(t) * gguf__converted_row(t, to) + 63) / 64 * 64;
}

/* ---- rows of one format and length */

typedef struct gguf__converter {
    ind_context *context;
    ind_module *module; /* of these rows; NULL: none yet */
    const gguf_format *from, *to;
    int64_t cols;
    uint16_t *scales;     /* q8_0: of a run, R x cols / 32 .. */
    signed char *numbers; /* .. and its integers, R x cols */
} gguf__converter;

static inline void gguf__end_rows(gguf__converter *c) {
    if (c->module) ind_module_destroy(c->module);
    free(c->scales);
    free(c->numbers);
    c->module = NULL, c->scales = NULL, c->numbers = NULL;
}

/* The text of a graph of R rows x: outputs w, or scales d and integers q. */
static inline void gguf__rows_text(const gguf__converter *c, char *text, size_t size) {
    const bool plain = c->from->elements == 1, packed = c->to->elements > 1;
    const char *dtype = packed ? "f32" : c->to->name;
    size_t at = (size_t)snprintf(text, size, "graph rows {\n  size R in [1, %d]\n  input x : %s[R, %lld]\n",
                                 GGUF_CONVERTED_ROWS, plain ? c->from->name : "u8",
                                 (long long)(c->cols / c->from->elements * (plain ? 1 : c->from->bytes)));
    if (plain)
        at += (size_t)snprintf(text + at, size - at, "  w = cast(x, dtype=%s)\n", dtype);
    else
        at += (size_t)snprintf(text + at, size - at, "  w = dequantise(x, format=\"%s\", dtype=%s)\n", c->from->name,
                               dtype);
    if (packed)
        snprintf(
            text + at, size - at,
            "  v = view(w, size=[R, %lld, 32])\n  a = abs(v)\n  m = amax(a, dim=[2], keepdim=true)\n"
            "  s = div(m, 127)\n  z = gt(s, 0)\n  t = where(z, s, 1)\n  u = div(1, t)\n  r = mul(v, u)\n"
            "  b = abs(r)\n  f = floor(b)\n  e = sub(b, f)\n  g = mul(e, 2)\n  h = floor(g)\n  i = add(f, h)\n"
            "  k = sign(r)\n  n = mul(i, k)\n  d = cast(s, dtype=f16)\n  q = cast(n, dtype=i8)\n  output d, q\n}\n",
            (long long)c->cols / 32);
    else
        snprintf(text + at, size - at, "  output w\n}\n");
}

static inline int gguf__begin_rows(gguf__converter *c, const gguf_tensor *t) {
    char text[1024];
    gguf__end_rows(c);
    c->from = t->format;
    c->cols = t->shape[t->rank - 1];
    gguf__rows_text(c, text, sizeof text);
    if (c->to->elements > 1) {
        c->scales = (uint16_t *)malloc((size_t)c->cols / 32 * GGUF_CONVERTED_ROWS * sizeof *c->scales);
        c->numbers = (signed char *)malloc((size_t)c->cols * GGUF_CONVERTED_ROWS);
        if (!c->scales || !c->numbers) return gguf__end_rows(c), 1;
    }
    ind_graph *g = ind_graph_parse(c->context, text, "gguf_convert.h");
    const bool failed = !g || ind_compile(g, NULL, &c->module);
    if (g) ind_graph_destroy(g);
    return failed;
}

/* Converts `rows` rows, at most GGUF_CONVERTED_ROWS. */
static inline int gguf__run_rows(gguf__converter *c, const unsigned char *x, int64_t row_bytes, int64_t rows,
                                 unsigned char *to) {
    const size_t row = (size_t)(c->cols / c->to->elements) * (size_t)c->to->bytes, blocks = (size_t)(c->cols / 32);
    const bool packed = c->to->elements > 1;
    char sizes[32];
    snprintf(sizes, sizeof sizes, "R=%lld", (long long)rows);
    ind_binding io[3] = {{"x", (void *)(uintptr_t)x, (size_t)(rows * row_bytes)}, {"w", to, row * (size_t)rows}};
    if (packed) {
        io[1] = (ind_binding){"d", c->scales, (size_t)rows * blocks * sizeof *c->scales};
        io[2] = (ind_binding){"q", c->numbers, (size_t)(rows * c->cols)};
    }
    const ind_run_desc run = {.bindings = io, .num_bindings = 2 + packed, .sizes = sizes, .memory = IND_MEMORY_HOST};
    if (ind_run(c->module, &run)) return 1;
    for (size_t i = 0; packed && i < (size_t)rows * blocks; i++) {
        memcpy(to + i * 34, &c->scales[i], 2);
        memcpy(to + i * 34 + 2, c->numbers + i * 32, 32);
    }
    return 0;
}

/* ---- all tensors */

static inline int gguf__convert_tensor(gguf__converter *c, const gguf_tensor *t, unsigned char *to) {
    const int64_t num = gguf__num_rows(t);
    if (!c->module || c->from != t->format || c->cols != t->shape[t->rank - 1])
        if (gguf__begin_rows(c, t)) return 1;
    for (int64_t first = 0; first < num; first += GGUF_CONVERTED_ROWS) {
        const int64_t rows = num - first < GGUF_CONVERTED_ROWS ? num - first : GGUF_CONVERTED_ROWS;
        if (gguf__run_rows(c, (const unsigned char *)t->data + first * t->row_bytes, t->row_bytes, rows,
                           to + (size_t)first * gguf__converted_row(t, c->to)))
            return 1;
    }
    return 0;
}

static inline const gguf_format *gguf__format_named(const char *name) {
    static const char *const allowed[] = {"f32", "f16", "bf16", "q8_0"};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        for (uint32_t k = 0; k < 40 && name && !strcmp(name, allowed[i]); k++)
            if (gguf__format(k) && !strcmp(gguf__format(k)->name, name)) return gguf__format(k);
    return NULL;
}

static inline int gguf_convert(gguf *file, const char *format, gguf_conversion *out, char *why, size_t why_size) {
    gguf__converter c = {.to = gguf__format_named(format)};
    size_t bytes = 0, at = 0;
    *out = (gguf_conversion){NULL};
    if (!c.to) return snprintf(why, why_size, "weights as %s; allowed is f32, f16, bf16 or q8_0", format), 1;
    for (uint64_t i = 0; i < file->num_tensors; i++)
        if (gguf__converts(&file->tensors[i], c.to)) bytes += gguf__converted_bytes(&file->tensors[i], c.to);
    if (!bytes) return 0;
    out->data = (unsigned char *)malloc(bytes);
    if (!out->data) return snprintf(why, why_size, "no memory for weights as %s: %zu bytes", format, bytes), 1;
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST}, &c.context))
        return gguf_end_conversion(out), snprintf(why, why_size, "no memory for weights as %s", format), 1;
    int failed = 0;
    for (uint64_t i = 0; i < file->num_tensors && !failed; i++) {
        const gguf_tensor *t = &file->tensors[i];
        if (!gguf__converts(t, c.to)) continue;
        failed = gguf__convert_tensor(&c, t, out->data + at);
        at += gguf__converted_bytes(t, c.to);
        if (failed)
            snprintf(why, why_size, "tensor %.*s as %s: %s", (int)t->name.bytes, t->name.at, format,
                     *ind_error(c.context) ? ind_error(c.context) : "no memory");
    }
    gguf__end_rows(&c);
    ind_context_destroy(c.context);
    if (failed) return gguf_end_conversion(out), 1;
    at = 0;
    for (uint64_t i = 0; i < file->num_tensors; i++) {
        gguf_tensor *t = &file->tensors[i];
        if (!gguf__converts(t, c.to)) continue;
        const size_t row = gguf__converted_row(t, c.to);
        const int64_t rows = gguf__num_rows(t);
        t->data = out->data + at;
        at += gguf__converted_bytes(t, c.to);
        t->format = c.to, t->row_bytes = (int64_t)row, t->num_bytes = row * (size_t)rows;
    }
    return 0;
}

#endif
