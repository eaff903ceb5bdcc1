/* Random numbers, and elements of any type: for the programs that compare runs of random graphs. */
#include <stdint.h>

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void store(void *data, ind_dtype dtype, int64_t i, double f, int64_t k) {
    switch (dtype) {
    case IND_BOOL: ((uint8_t *)data)[i] = (uint8_t)(k & 1); break;
    case IND_U8:
    case IND_I8: ((int8_t *)data)[i] = (int8_t)k; break;
    case IND_I16: ((int16_t *)data)[i] = (int16_t)k; break;
    case IND_I32: ((int32_t *)data)[i] = (int32_t)k; break;
    case IND_I64: ((int64_t *)data)[i] = k; break;
    case IND_F16: ((uint16_t *)data)[i] = ind__f32_to_f16((float)f); break;
    case IND_BF16: ((uint16_t *)data)[i] = ind__f32_to_bf16((float)f); break;
    case IND_F32: ((float *)data)[i] = (float)f; break;
    default: ((double *)data)[i] = f; break;
    }
}

static double element(const void *data, ind_dtype dtype, int64_t i) {
    switch (dtype) {
    case IND_BOOL:
    case IND_U8: return ((const uint8_t *)data)[i];
    case IND_I8: return ((const int8_t *)data)[i];
    case IND_I16: return ((const int16_t *)data)[i];
    case IND_I32: return ((const int32_t *)data)[i];
    case IND_I64: return (double)((const int64_t *)data)[i];
    case IND_F16: return (double)ind__f16_to_f32(((const uint16_t *)data)[i]);
    case IND_BF16: return (double)ind__bf16_to_f32(((const uint16_t *)data)[i]);
    case IND_F32: return (double)((const float *)data)[i];
    default: return ((const double *)data)[i];
    }
}
