/* ---- quantised weights */

#define IND_OPS_QUANTISED(X)                                                                                           \
    X(DEQUANTISE, "dequantise", "self scale? zero_point? tensor_scale?",                                               \
      "format:str dtype:dtype=f32 group_size:int=32", 1, "GQ")

/* Turns packed bytes u8[.., bytes] into numbers [.., k] of dtype (f32, f16, bf16, f64; NONE: f32), computed in f32 and
   rounded once. It fuses into its users; a product of up to 64 rows may multiply numbers that are not rounded. Formats:
     q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs f16 bf16   the bytes of a GGUF tensor; no scale
     int4    two numbers per byte, the low four bits first; scale: floats [.., k / group_size]. Without zero_point they
             are in [-8, 7]; with it, of the shape of scale, u8, i8 or i32, the result is (bits - zero_point) * scale
     mxfp4   e2m1, packed as int4; scale: u8[.., k / 32], powers of two (e8m0; 255 is NaN)
     nvfp4   e2m1, packed as int4; scale: f8e4m3fn[.., k / 16]; tensor_scale: f32[], optional
   int8 and 8-bit floats need no format: mul(cast(q, f32), scale). */
typedef struct ind_dequantise_desc {
    const char *format;
    ind_tensor scale, zero_point, tensor_scale; /* zeroed: none */
    ind_dtype dtype;
    int group_size; /* of int4: 32, 64 or 128; 0: 32 */
} ind_dequantise_desc;
IND_API ind_tensor ind_dequantise(ind_tensor q, const ind_dequantise_desc *desc);
