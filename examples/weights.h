/* weights.h: the tensors of a .safetensors file as constants of a graph, all of one type.
 *
 *     weights_builder b = {.graph = g, .file = &file, .dtype = IND_BF16};
 *     ind_tensor w = weights_constant(&b, "layer.%d.weight", 3);
 *     if (*b.missing) ...                          the first tensor that the file lacks
 *     ind_compile(g, NULL, &module);
 *     if (weights_upload(context, module, &file, IND_BF16, why, sizeof why)) fprintf(stderr, "%s\n", why);
 */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include "inductor.h"
#include "safetensors.h"

typedef struct weights_builder {
    ind_graph *graph;
    const safetensors *file;
    ind_dtype dtype;   /* of the constants: IND_F32 or IND_BF16 */
    char missing[128]; /* "": none is */
} weights_builder;

/* The constant with the name and the shape of a tensor of the file. An invalid tensor if there is none. */
static inline ind_tensor weights_constant(weights_builder *b, const char *format, ...) {
    char name[128], type[64];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    const safetensors_tensor *t = safetensors_find(b->file, name);
    if (!t) {
        if (!*b->missing) memcpy(b->missing, name, sizeof name);
        return IND_NO_TENSOR;
    }
    int used = snprintf(type, sizeof type, "%s[", ind_dtype_name(b->dtype));
    for (int d = 0; d < t->rank && used < (int)sizeof type; d++)
        used += snprintf(type + used, sizeof type - (size_t)used, "%s%lld", d ? ", " : "", (long long)t->shape[d]);
    if (used < (int)sizeof type) snprintf(type + used, sizeof type - (size_t)used, "]");
    return ind_constant(b->graph, name, type);
}

/* To the nearest, ties to even; a NaN stays one. */
static inline uint16_t weights_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static inline ind_status weights_upload_one(ind_module *m, const safetensors_tensor *t, ind_dtype dtype) {
    if (dtype == IND_F32) return ind_module_constant(m, t->name, t->data, t->num_bytes, IND_MEMORY_HOST);
    uint16_t *half = malloc((size_t)t->count * sizeof *half + 1);
    if (!half) return IND_ERROR_OUT_OF_MEMORY;
    for (int64_t i = 0; i < t->count; i++) half[i] = weights_bf16(((const float *)t->data)[i]);
    ind_status status = ind_module_constant(m, t->name, half, (size_t)t->count * sizeof *half, IND_MEMORY_HOST);
    free(half);
    return status;
}

/* Gives the module every constant that it wants. Returns 0, or 1 with one line in why[why_size]. */
static inline int weights_upload(ind_context *c, ind_module *m, const safetensors *file, ind_dtype dtype, char *why,
                                 size_t why_size) {
    for (int i = 0; i < ind_module_num_bindings(m); i++) {
        const ind_binding_info *info = ind_module_query_binding(m, i);
        if (info->kind != IND_BINDING_CONST) continue;
        const safetensors_tensor *t = safetensors_find(file, info->name);
        if (!t || strcmp(t->dtype, "F32"))
            return snprintf(why, why_size, "tensor %s has dtype %s; F32 is wanted", info->name, t ? t->dtype : "none"),
                   1;
        const ind_status status = weights_upload_one(m, t, dtype);
        if (status)
            return snprintf(why, why_size, "%s: %s", info->name,
                            status == IND_ERROR_OUT_OF_MEMORY ? ind_status_text(status) : ind_error(c)),
                   1;
    }
    return 0;
}

#endif
