"""What needs a real GPU and is not a numerics or MiniLM case: the sanitizers of the CUDA toolkit, replayed graphs, one compile for
many sizes, agreement with the host device. Skipped with a word where there is none."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, make

sys.path.insert(0, str(ROOT / "bench"))
import llama  # noqa: E402

GRAPHS = {
    "pointwise": """graph pointwise {
  size N in [0, 100000] hint 4096
  input x : bf16[N]
  input y : f32[N]
  a = mul(x, y)
  out = gelu(a)
  output out
}""",
    "rows": """graph rows {
  size B in [1, 4096] hint 32
  size S in [1, 3000] hint 128
  input x : f32[B, S]
  a = softmax(x, dim=-1)
  m = mean(x, dim=[1], keepdim=true)
  b = sub(x, m)
  l = layer_norm(b, normalized_shape=[S])
  am = argmax(x, dim=1)
  output a, l, am
}""",
    "rows_likely": """graph rows_likely {
  size B in [1, 4096] hint 2048
  size S in [1, 9000] hint 4096
  size T in [1, 9000] hint 4096
  size U in [1, 9000] hint 4096
  size V in [1, 9000] hint 4096
  input s : bf16[B, S]
  input t : bf16[B, T]
  input u : bf16[B, U]
  input v : bf16[B, V]
  a = softmax(s, dim=-1)
  b = layer_norm(t, normalized_shape=[T])
  c = softmax(u, dim=-1)
  d = layer_norm(v, normalized_shape=[V])
  output a, b, c, d
}""",
    "rows_of_ranges": """graph rows_of_ranges {
  size B in [1, 4096] hint 2048
  size S in [1, 40000] hint 4096
  size T in [1, 40000] hint 4096
  size U in [1, 40000] hint 4096
  size V in [1, 40000] hint 4096
  size W in [1, 40000] hint 4096
  input s : bf16[B, S]
  input t : bf16[B, T]
  input u : f32[B, U]
  input v : bf16[B, V]
  input w : f32[B, W]
  a = softmax(s, dim=-1)
  b = layer_norm(t, normalized_shape=[T])
  c = softmax(u, dim=-1)
  d = layer_norm(v, normalized_shape=[V])
  e = cumsum(w, 1)
  output a, b, c, d, e
}""",
    "rows_kept": """graph rows_kept {
  size B in [1, 4096] hint 2048
  input x : bf16[B, 16384]
  input w : bf16[16384]
  input y : f16[B, 40008]
  input v : f16[40008]
  l = log_softmax(x, dim=-1)
  n = rms_norm(x, w, normalized_shape=[16384], eps=1e-6)
  m = log_softmax(y, dim=-1)
  o = rms_norm(y, v, normalized_shape=[40008], eps=1e-6)
  output l, n, m, o
}""",
    "rows_of_clusters": """graph rows_of_clusters {
  size B in [1, 4096] hint 2048
  input x : bf16[B, 65544]
  input y : f32[B, 65540]
  input w : f32[65540]
  input z : f32[B, 262144]
  l = log_softmax(x, dim=-1)
  n = layer_norm(y, w, normalized_shape=[65540])
  s = mul(z, z)
  m = mean(s, dim=[1], keepdim=true)
  r = mul(z, m)
  i = argmax(z, dim=1)
  output l, n, r, i
}""",
    "odd_rows_staged": """graph odd_rows_staged {
  size B in [1, 4096] hint 2048
  input x : bf16[B, 17011]
  input w : bf16[17011]
  input y : f32[B, 65539]
  input v : f32[65539]
  s = softmax(x, dim=-1)
  n = layer_norm(x, w, normalized_shape=[17011])
  m = layer_norm(y, v, normalized_shape=[65539])
  input z : f32[B, 50001]
  input u : f32[50001]
  k = layer_norm(z, u, u, normalized_shape=[50001])
  input p : f32[B, 20011]
  input q : f32[20011]
  o = layer_norm(p, q, q, normalized_shape=[20011])
  input g : bf16[B, 131101]
  input h : bf16[131101]
  j = rms_norm(g, h, normalized_shape=[131101], eps=1e-6)
  output s, n, m, k, o, j
}""",
    "rows_of_few_elements": """graph rows_of_few_elements {
  size B in [1, 4096] hint 2048
  input x : bf16[B, 2560]
  input w : bf16[2560]
  input y : f16[B, 3000]
  input z : f16[B, 3000]
  input v : bf16[B, 40000]
  n = layer_norm(x, w, w, normalized_shape=[2560])
  a = add(y, z)
  s = softmax(a, dim=-1)
  i = argmax(x, dim=1, keepdim=true)
  f = mul(x, i)
  l = logsumexp(v, dim=[1])
  output n, s, a, f, l
}""",
    "rows_of_any_warps": """graph rows_of_any_warps {
  size B in [1, 4096] hint 2048
  input x : bf16[B, 36007]
  input w : bf16[36007]
  input y : f16[B, 98317]
  input v : f16[98317]
  input u : f16[98317]
  n = layer_norm(x, w, w, normalized_shape=[36007])
  a = amax(x, dim=[1], keepdim=true)
  m = sub(x, a)
  r = layer_norm(y, v, u, normalized_shape=[98317])
  output n, m, r
}""",
    "rows_of_their_own": """graph rows_of_their_own {
  size B in [1, 4096] hint 2048
  input x : bf16[B, 20001]
  input y : f16[B, 32768]
  input w : f16[32768]
  input z : f32[B, 16384]
  input v : f32[16384]
  input u : bf16[B, 70000]
  input t : f32[B, 60001]
  p = softmax(x, dim=-1)
  r = rms_norm(y, w, normalized_shape=[32768], eps=1e-6)
  n = layer_norm(z, v, v, normalized_shape=[16384])
  q = softmax(u, dim=-1)
  l = log_softmax(t, dim=-1)
  output p, r, n, q, l
}""",
    "rows_of_large_clusters": """graph rows_of_large_clusters {
  size B in [1, 4096] hint 2048
  input x : f16[B, 131072]
  input w : f16[131072]
  input b : f16[131072]
  input y : bf16[B, 262144]
  input z : f32[B, 524288]
  n = layer_norm(x, w, b, normalized_shape=[131072])
  p = softmax(y, dim=-1)
  q = softmax(z, dim=-1)
  output n, p, q
}""",
    "rows_of_channels": """graph rows_of_channels {
  size B in [1, 4096] hint 64
  input x : f32[B, 8, 10240]
  input w : f32[8]
  input c : bf16[4, B, 81920]
  input v : bf16[B]
  g = group_norm(x, 2, w)
  n = batch_norm(c, v, training=true)
  output g, n
}""",
    "rows_of_pieces": """graph rows_of_pieces {
  size C in [1, 4096] hint 64
  input x : f32[200, C, 7, 7]
  input w : f32[C]
  input y : f32[100, C, 56, 56]
  input z : bf16[200, 16, 7, 7]
  a = batch_norm(x, w, training=true)
  b = batch_norm(y, w, training=true)
  c = batch_norm(z, training=true)
  output a, b, c
}""",
    "rows_walked_together": """graph rows_walked_together {
  size B in [1, 4096] hint 64
  input x : f32[B, 500003]
  input c : bf16[4, B, 501760]
  l = log_softmax(x, dim=-1)
  n = batch_norm(c, training=true)
  output l, n
}""",
    "short_rows": """graph short_rows {
  size B in [1, 2147483647] hint 1000000
  input x : f32[B, 12]
  input y : f32[B, 7]
  input z : bf16[B, 8]
  a = softmax(x, dim=1)
  b = sum(y, dim=[1])
  c = sum(z, dim=[1])
  output a, b, c
}""",
    "odd_rows": """graph odd_rows {
  size B in [1, 4096] hint 32
  input x : bf16[B, 1037]
  input w : bf16[1037]
  input y : bf16[B, 523]
  input z : f32[B, 70001]
  n = rms_norm(x, w, normalized_shape=[1037])
  m = softmax(y, dim=-1)
  s = softmax(z, dim=-1)
  output n, m, s
}""",
    "odd_looped": """graph odd_looped {
  size B in [1, 4096] hint 2048
  size S in [1, 10000000] hint 33001
  input x : bf16[B, S]
  s = softmax(x, dim=-1)
  output s
}""",
    "odd_points": """graph odd_points {
  size B in [1, 4096] hint 32
  input x : bf16[B, 139]
  input w : bf16[131]
  c = slice(x, dim=1, start=3, end=134)
  y = mul(c, w)
  output y
}""",
    "columns": """graph columns {
  size B in [1, 4096] hint 100
  input x : f32[B, 77]
  s = softmax(x, dim=0)
  t = transpose(x, dim0=0, dim1=1)
  c = amax(t, dim=[1])
  u = exp(t)
  output s, c, u
}""",
    "splits": """graph splits {
  size N in [1, 1000000000] hint 1000000
  size C in [1, 1000] hint 64
  input x : f32[N]
  input z : f32[700, C]
  q = mul(x, x)
  s = sum(q)
  a = argmax(x, dim=0)
  v = var(z, dim=[0])
  c = sum(z, dim=[0])
  output s, a, v, c
}""",
    "products": """graph products {
  size M in [1, 1024] hint 65
  input a : bf16[M, 72]
  input b : bf16[72, 200]
  input w : bf16[96, 200]
  input r : bf16[M, 96]
  p = mm(a, b)
  g = gelu(p)
  q = linear(g, w)
  out = add(q, r)
  output out
}""",
    "products_large": """graph products_large {
  size M in [1, 8192] hint 4096
  input a : bf16[M, 520]
  input b : bf16[520, 1032]
  p = mm(a, b)
  out = gelu(p)
  output out
}""",
    "products_of_a_row": """graph products_of_a_row {
  size M in [1, 1024] hint 1
  input a : bf16[M, 1032]
  input b : bf16[1032, 520]
  input w : bf16[264, 520]
  p = matmul(a, b)
  g = softmax(p, dim=-1)
  out = linear(g, w)
  output out, p
}""",
    "products_misaligned": """graph products_misaligned {
  size M in [1, 1024] hint 9
  input a : bf16[M, 1029]
  input b : bf16[1029, 517]
  input c : bf16[263, 517]
  input d : bf16[2, 2047]
  input e : bf16[1531, 2047]
  input f : bf16[1531, 1023]
  p = matmul(a, b)
  q = linear(p, c)
  r = linear(d, e)
  s = matmul(r, f)
  output q, s
}""",
    "products_that_share_tiles": """graph products_that_share_tiles {
  size M in [0, 4096] hint 64
  input a : bf16[M, 8200]
  input b : bf16[8200, 136]
  input c : bf16[M, 4101]
  input d : bf16[71, 4101]
  input e : f32[M, 2050]
  input f : f32[2050, 37]
  p = matmul(a, b)
  q = linear(c, d)
  r = matmul(e, f)
  output p, q, r
}""",
    "products_of_packed_weights": """graph products_of_packed_weights {
  size M in [1, 4096] hint 4
  input a : bf16[M, 2048]
  const q : u8[2048, 1024]
  const s : f32[2048, 64]
  const t : bf16[2048, 16]
  const z : u8[2048, 16]
  const i : i8[2048, 2048]
  const c : f32[2048, 1]
  input b : bf16[M, 2048]
  v = dequantise(q, scale=s, format="int4", dtype=bf16)
  w = dequantise(q, scale=t, zero_point=z, format="int4", dtype=bf16, group_size=128)
  f = cast(i, dtype=f32)
  g = mul(f, c)
  u = cast(g, dtype=bf16)
  m = linear(a, v)
  n = linear(a, w)
  p = linear(a, u)
  o = add(m, b)
  output o, n, p
}""",
    "products_of_packed_copies": """graph products_of_packed_copies {
  size M in [1, 4096] hint 4
  input a : bf16[M, 1544]
  const i : i8[2043, 1544]
  const c : f32[2043, 1]
  f = cast(i, dtype=f32)
  g = mul(f, c)
  u = cast(g, dtype=bf16)
  p = linear(a, u)
  output p
}""",
    "products_of_clusters": """graph products_of_clusters {
  size M in [0, 4096] hint 64
  input a : bf16[M, 4104]
  input b : bf16[4096, 4104]
  input c : f32[M, 4099]
  input d : f32[520, 4099]
  input g : bf16[M, 4096]
  input h : bf16[M, 65544]
  input i : bf16[136, 65544]
  p = linear(a, b)
  q = linear(c, d)
  s = add(p, g)
  t = linear(h, i)
  output q, s, t
}""",
    "products_in_turn": """graph products_in_turn {
  size M in [0, 20000] hint 16384
  input a : bf16[M, 136]
  input b : bf16[1032, 136]
  input c : bf16[M, 1032]
  input d : bf16[1032]
  input e : f16[136, M]
  input f : f16[136, 1032]
  input g : i8[M, 144]
  input h : i8[1040, 144]
  p = linear(a, b, d)
  q = gelu(p, approximate="tanh")
  r = add(q, c)
  s = transpose(e, 0, 1)
  t = matmul(s, f)
  u = gelu(t)
  v = cast(u, dtype=f32)
  w = transpose(h, 0, 1)
  x = int_mm(g, w)
  output r, u, v, x
}""",
    "attentions": """graph attentions {
  size S in [1, 4096] hint 2048
  size T in [1, 4096] hint 2048
  input a : bf16[2, 8, S, 64]
  input b : bf16[2, 2, S, 64]
  input c : bf16[2, 2, S, 64]
  input d : f16[3, S, 128]
  input e : f16[3, T, 128]
  input f : f16[3, T, 72]
  input g : f32[S, T]
  input h : bf16[4, S, 36]
  input i : bf16[4, T, 36]
  input j : bf16[4, T, 20]
  input k : bf16[2, 8, 1, 64]
  input l : f32[24, S, 64]
  input m : f32[24, T, 64]
  input n : f32[24, T, 40]
  input lh : f32[2, 48, 64]
  input ln : bf16[4, 8, S, 32]
  input lw : bf16[2, 4, S, 256]
  input kc : i8[2, 2, S, 64]
  input vc : f8e4m3fn[2, 2, S, 64]
  input kz : bf16[2, 2, S, 1]
  u = scaled_dot_product_attention(k, b, c, enable_gqa=true)
  o = scaled_dot_product_attention(a, b, c, is_causal=true, enable_gqa=true)
  et = transpose(e, dim0=1, dim1=2)
  p = bmm(d, et)
  ps = mul(p, 0.1)
  pb = add(ps, g)
  w = softmax(pb, dim=-1)
  wh = cast(w, dtype=f16)
  q = bmm(wh, f)
  r = relu(q)
  t = scaled_dot_product_attention(h, i, j)
  x = scaled_dot_product_attention(l, m, n)
  y = scaled_dot_product_attention(lh, lh, lh, is_causal=true)
  kb = cast(kc, dtype=bf16)
  kd = mul(kb, kz)
  vd = cast(vc, dtype=bf16)
  z = scaled_dot_product_attention(k, kd, vd, enable_gqa=true)
  za = scaled_dot_product_attention(ln, ln, ln)
  zb = scaled_dot_product_attention(lw, lw, lw, is_causal=true)
  output o, r, t, u, x, y, z, za, zb
}""",
    "attentions_of_pages": """graph attentions_of_pages {
  size M in [1, 300] hint 100
  input q : bf16[3, 8, 1, 64]
  input qf : f32[3, 4, 5, 40]
  input pk : bf16[90, 16, 2, 64]
  input pv : bf16[90, 16, 2, 64]
  input kc : i8[90, 2, 16, 64]
  input vc : f8e4m3fn[90, 2, 16, 64]
  input kz : bf16[90, 2, 16, 1]
  input kf : f32[90, 16, 2, 40]
  input vf : f32[90, 16, 2, 24]
  input table : i32[3, M]
  input n : i64[3]
  rows = remainder(table, 90)
  some = remainder(n, 300)
  more = arange(end=3)
  most = mul(more, 130)
  all = add(some, most)
  length = reshape(all, shape=[3, 1, 1, 1])
  at = arange(end=16*M)
  seen = lt(at, length)
  ka = index(pk, [rows])
  kb = reshape(ka, shape=[3, 16*M, 2, 64])
  kt = transpose(kb, dim0=1, dim1=2)
  va = index(pv, [rows])
  vb = reshape(va, shape=[3, 16*M, 2, 64])
  vt = transpose(vb, dim0=1, dim1=2)
  x = scaled_dot_product_attention(q, kt, vt, seen, enable_gqa=true)
  kd = cast(kc, dtype=bf16)
  ke = mul(kd, kz)
  kg = index(ke, [rows])
  kh = transpose(kg, dim0=1, dim1=2)
  ki = reshape(kh, shape=[3, 2, 16*M, 64])
  vd = cast(vc, dtype=bf16)
  vg = index(vd, [rows])
  vh = transpose(vg, dim0=1, dim1=2)
  vi = reshape(vh, shape=[3, 2, 16*M, 64])
  y = scaled_dot_product_attention(q, ki, vi, seen, enable_gqa=true)
  kj = index(kf, [rows])
  kk = reshape(kj, shape=[3, 16*M, 2, 40])
  kl = transpose(kk, dim0=1, dim1=2)
  vj = index(vf, [rows])
  vk = reshape(vj, shape=[3, 16*M, 2, 24])
  vl = transpose(vk, dim0=1, dim1=2)
  z = scaled_dot_product_attention(qf, kl, vl, seen, enable_gqa=true)
  output x, y, z
}""",
    "products_multicast": """graph products_multicast {
  size M in [0, 20000] hint 16384
  input a : bf16[M, 264]
  input b : bf16[256, 264]
  input c : bf16[M, 256]
  input d : bf16[264, M]
  input e : bf16[264, 8192]
  input f : f8e4m3fn[M, 272]
  input g : f8e4m3fn[8192, 272]
  input s : f32[M, 3]
  input t : f32[3, 8192]
  input u : bf16[4096, 264]
  input v : bf16[4096, 264]
  input k : bf16[128, 264]
  input l : bf16[32768, 264]
  p = linear(a, b)
  q = add(p, c)
  w = transpose(d, 0, 1)
  r = matmul(w, e)
  x = transpose(g, 0, 1)
  y = scaled_mm(f, x, s, t, out_dtype=bf16)
  h = linear(a, u)
  i = linear(a, v)
  j = silu(h)
  z = mul(j, i)
  o = linear(k, l)
  output q, r, y, z, o
}""",
    "products_of_8_bits": """graph products_of_8_bits {
  size M in [0, 4096] hint 512
  input a : f8e4m3fn[M, 272]
  input b : f8e5m2[200, 272]
  input s : f32[M, 1]
  input t : f32[1, 200]
  input c : bf16[200]
  input i : i8[M, 272]
  input j : i8[200, 272]
  input k : i8[272, 200]
  input e : f8e4m3fn[M, 131]
  input f : f8e4m3fn[131, 40]
  input x : f32[M, 272]
  input r : f32[]
  v = transpose(b, 0, 1)
  y = scaled_mm(a, v, s, t, c, out_dtype=bf16)
  z = scaled_mm(a, v, s, t, out_dtype=f32, use_fast_accum=true)
  w = transpose(j, 0, 1)
  p = int_mm(i, w)
  q = int_mm(i, k)
  u = scaled_mm(e, f, s, r, out_dtype=f32)
  g = cast(x, dtype=f8e4m3fn)
  h = scaled_mm(g, v, s, t, out_dtype=f16)
  output y, z, p, q, u, h
}""",
    "products_of_block_scales": """graph products_of_block_scales {
  size M in [0, 4096] hint 512
  input a : f8e4m3fn[M, 400]
  input b : f8e5m2[200, 400]
  input s : f32[M, 4]
  input t : f32[4, 2]
  input u : f32[4, 200]
  input r : f32[CeilDiv(M, 128), 4]
  input c : bf16[200]
  input d : f8e4m3fn[400, 200]
  v = transpose(b, 0, 1)
  y = scaled_mm(a, v, s, t, c, out_dtype=bf16)
  z = scaled_mm(a, v, r, u, out_dtype=f32, use_fast_accum=true)
  w = scaled_mm(a, d, s, t, out_dtype=f16)
  output y, z, w
}""",
    "products_of_float_weights": """graph products_of_float_weights {
  size M in [1, 64] hint 4
  input x : bf16[M, 1024]
  const q : f8e4m3fn[4096, 1024]
  const s : f32[32, 8]
  const p : f8e5m2[4096, 1024]
  const t : f32[4096, 1]
  f = cast(q, dtype=f32)
  d = view(f, size=[32, 128, 8, 128])
  e = view(s, size=[32, 1, 8, 1])
  g = mul(d, e)
  h = view(g, size=[4096, 1024])
  w = cast(h, dtype=bf16)
  y = linear(x, w)
  i = cast(p, dtype=f32)
  j = mul(i, t)
  k = cast(j, dtype=bf16)
  z = linear(x, k)
  output y, z
}""",
    "products_tf32": """graph products_tf32 {
  size M in [0, 4096] hint 512
  input x : f32[M, 272]
  input w : f32[200, 272]
  input u : f32[272, M]
  input v : f32[272, 200]
  input c : f32[200]
  input a : f32[3, M, 131]
  input b : f32[3, 131, 37]
  input i : f32[M, 4096]
  input j : f32[64, 4096]
  t = transpose(u, 0, 1)
  r = transpose(w, 0, 1)
  h = linear(x, w, c)
  p = gelu(h)
  q = matmul(x, v)
  s = matmul(t, v)
  y = matmul(t, r)
  z = matmul(a, b)
  k = linear(i, j)
  output p, q, s, y, z, k
}""",
    "products_tf32_boxes": """graph products_tf32_boxes {
  size M in [0, 8192] hint 4096
  size T in [0, 8192] hint 4096
  input x : f32[M, 1040]
  input w : f32[1032, 1040]
  input u : f32[1040, M]
  input v : f32[1040, 1032]
  input c : f32[1032]
  input e : f32[1040, 1032]
  input a : f32[T, 1040]
  input b : f32[3, 1040, 520]
  input i : f32[M, 8200]
  input j : f32[8200, 136]
  t = transpose(u, 0, 1)
  r = transpose(w, 0, 1)
  h = linear(x, w, c)
  p = gelu(h)
  q = matmul(t, v)
  y = matmul(t, r)
  s = matmul(x, v)
  z = matmul(x, e)
  f = silu(s)
  g = mul(f, z)
  n = full(size=[3], fill_value=30, dtype=i32)
  d = grouped_mm(a, b, n)
  k = matmul(i, j)
  output p, q, y, g, d, k
}""",
    "products_without_maps": """graph products_without_maps {
  size M in [3, 100000] hint 4096
  input a : bf16[2, 2, 2, 2, M, 72]
  input b : bf16[2, 2, 2, 2, 72, 136]
  p = permute(a, [0, 3, 2, 1, 4, 5])
  out = matmul(p, b)
  output out
}""",
    "concatenation": """graph concatenation {
  size N in [1, 1000] hint 64
  input a : f32[N, 30]
  input x : f32[N, 5]
  input w : f32[40, 30]
  input v : f32[9, 30]
  s = softmax(a, dim=-1)
  m = sum(a, dim=[1], keepdim=true)
  out = cat([s, x, m], dim=1)
  p = linear(a, w)
  q = linear(a, v)
  r = relu(q)
  both = cat([p, r], dim=1)
  output out, both
}""",
    "products_f32": """graph products_f32 {
  size M in [1, 1024] hint 65
  input a : f32[3, M, 33]
  input b : f32[3, 33, 70]
  p = bmm(a, b)
  out = relu(p)
  output out
}""",
    "gather": """graph gather {
  size B in [1, 512] hint 60
  input ids : i64[B]
  input table : f32[50, 40]
  input w : f32[40]
  e = embedding(table, ids)
  out = rms_norm(e, w, normalized_shape=[40])
  output out
}""",
    "gather_many": """graph gather_many {
  size B in [1, 10000000] hint 400000
  input ids : i64[B]
  input table : f32[50, 40]
  out = embedding(table, ids)
  output out
}""",
    "scans": """graph scans {
  size B in [1, 4096] hint 9
  size S in [1, 8192] hint 64
  input x : f32[B, S]
  input y : i64[B, S]
  s = cumsum(x, 1)
  m, i = cummax(y, 1)
  output s, m, i
}""",
    "scans_odd": """graph scans_odd {
  input x : bf16[37, 4093]
  input y : f16[131, 257]
  input z : bf16[3, 16411]
  a = cumsum(x, 1)
  b = cumsum(y, 1)
  c = cumsum(z, 1)
  output a, b, c
}""",
    "normalised_rows": """graph normalised_rows {
  size M in [1, 2] hint 1
  input x : bf16[M, 1024]
  input t : bf16[M, 512]
  input o : bf16[1024, 512]
  input w : bf16[1024]
  input gate : bf16[520, 1024]
  input up : bf16[520, 1024]
  input down : bf16[1024, 520]
  input c : bf16[264, 1024]
  input i : bf16[M, 1024]
  input j : bf16[M, 1024]
  p = linear(t, o)
  r = add(x, p)
  h = rms_norm(r, w, normalized_shape=[1024], eps=1e-5)
  g = linear(h, gate)
  u = linear(h, up)
  s = silu(g)
  m = mul(s, u)
  d = linear(m, down)
  y = add(r, d)
  n = layer_norm(i, w, normalized_shape=[1024])
  z = linear(n, c)
  f = softmax(j, dim=-1)
  v = linear(f, c)
  output y, z, v
}""",
    "finish": """graph finish {
  size B in [1, 4096] hint 16
  input x : bf16[B, 4096]
  input y : f32[B, 300]
  input t : i64[B]
  loss = cross_entropy(x, t)
  n = amax(y, 1)
  m = mean(n)
  output loss, m
}""",
    "finish_few": """graph finish_few {
  size B in [1, 4096] hint 16
  input x : bf16[B, 4096]
  input y : f32[B, 300]
  input t : i64[B]
  loss = cross_entropy(x, t)
  n = amax(y, 1)
  m = mean(n)
  output loss, m
}""",
    "scans_short": """graph scans_short {
  size B in [1, 100000] hint 5000
  input x : f32[B, 100]
  input y : bf16[B, 37]
  s = cumsum(x, 1)
  m, i = cummax(y, 1)
  output s, m, i
}""",
    "scans_long": """graph scans_long {
  size S in [1, 100000] hint 9000
  input x : f32[2, S]
  input y : i32[2, S]
  l = logcumsumexp(x, 1)
  p = cumsum(y, 1)
  output l, p
}""",
    "scans_columns": """graph scans_columns {
  size C in [1, 4096] hint 2000
  input x : f32[37, C]
  s = cumsum(x, 0)
  m, i = cummin(x, 0)
  output s, m, i
}""",
    "scans_walked": """graph scans_walked {
  size B in [1, 100] hint 20
  size C in [1, 4096] hint 2000
  input x : f32[B, C]
  a = softmax(x, dim=0)
  s = cumsum(a, 0)
  t = sum(s, dim=[0])
  output s, t
}""",
    "scans_lookback": """graph scans_lookback {
  size S in [1, 1073741824] hint 70000
  input x : f32[2, S]
  input y : i64[S]
  s = cumsum(x, 1)
  m, i = cummax(x, 1)
  c = cumsum(y, 0)
  output s, m, i, c
}""",
    "scans_teams": """graph scans_teams {
  size R in [1, 100000] hint 5000
  input x : bf16[R, 8192]
  input y : f32[R, 1030]
  s = cumsum(x, 0, dtype=f32)
  m, i = cummin(y, 0)
  output s, m, i
}""",
    "sorts": """graph sorts {
  size S in [1, 1000] hint 200
  input x : f16[5, S]
  input y : i32[5, S]
  v, i = sort(x)
  w, j = sort(y, descending=true)
  m, k = median(y, 1)
  c, d = mode(y, 1)
  output v, i, w, j, m, k, c, d
}""",
    "sorts_long": """graph sorts_long {
  size S in [1, 1000000] hint 20000
  input x : f64[2, S]
  v, i = sort(x)
  output v, i
}""",
    "scatters": """graph scatters {
  size N in [1, 100000] hint 3000
  input x : i32[60]
  input w : f32[60]
  input r : f32[N]
  input s : i64[]
  i = randint(s, high=60, size=[N])
  j = randint(s, high=1000, size=[N], dtype=i32, stream=1)
  y = scatter_add(x, i, j, dim=0)
  z = scatter_reduce(w, i, r, dim=0, reduce="amax")
  output y, z
}""",
    "rows_added": """graph rows_added {
  size B in [1, 100000] hint 4000
  size C in [1, 100] hint 64
  input x : f32[60, C]
  input h : bf16[60, C]
  input s : i64[]
  input v : f32[B, C]
  input w : i32[B, C]
  i = randint(s, high=60, size=[B])
  y = index_add(x, 0, i, v)
  u = cast(w, dtype=bf16)
  z = index_add(h, 0, i, u)
  e = embedding(x, i)
  c = cat([x, v], dim=0)
  output y, z, e, c
}""",
    "rows_listed": """graph rows_listed {
  size B in [1, 2000000] hint 1000000
  size M in [1, 2000000] hint 300000
  input x : f32[M, 64]
  input s : i64[]
  input v : f32[B, 64]
  i = randint(s, high=24, size=[B])
  y = index_add(x, 0, i, v)
  output y
}""",
    "tiles": """graph tiles {
  size B in [1, 100000] hint 40000
  input x : bf16[3, B, 64]
  input y : f32[64, B]
  input z : f32[B, 64]
  input w : u8[B, 256]
  t = permute(x, [2, 0, 1])
  u = transpose(z, 0, 1)
  a = add(u, y)
  c = neg(t)
  d = transpose(w, 0, 1)
  e = bitwise_not(d)
  output a, c, e
}""",
    "tiles_odd": """graph tiles_odd {
  size B in [1, 100000] hint 40000
  input x : f32[77, B]
  input y : f32[B, 77]
  t = transpose(x, 0, 1)
  a = add(t, y)
  output a
}""",
    "runs": """graph runs {
  size B in [1, 100000] hint 8192
  input x : f32[B, 768]
  input g : f32[B, 768]
  s = mul(x, g)
  m = sum(s, dim=[1], keepdim=true)
  d = sub(g, m)
  w = sum(s, dim=[0])
  b = sum(g, dim=[0])
  output d, w, b
}""",
    "chain": """graph chain {
  size N in [1, 4096] hint 64
  input x : f32[N, 512]
  s = sum(x, dim=[0], keepdim=true)
  a = sub(x, s)
  r = softmax(a, dim=-1)
  t = sum(r, dim=[0], keepdim=true)
  u = mul(r, t)
  y = cumsum(u, 1)
  output y
}""",
    "random": """graph random {
  size N in [1, 100000] hint 3000
  input s : i64[]
  u = rand(s, size=[N])
  n = randn(s, size=[N], stream=1)
  p = randperm(s, n=500, stream=2)
  v = view(u, [1, N])
  m = multinomial(v, s, num_samples=50, replacement=true, stream=3)
  output u, n, p, m
}""",
    "product_pairs": """graph product_pairs {
  size M in [1, 4096] hint 70
  input x : bf16[M, 512]
  input gate : bf16[1024, 512]
  input up : bf16[1024, 512]
  input v : bf16[512, 264]
  input w : bf16[512, 264]
  input q : bf16[259, 512]
  input r : bf16[259, 512]
  input c : bf16[M, 1024]
  g = linear(x, gate)
  u = linear(x, up)
  s = silu(g)
  t = mul(s, u)
  y = add(t, c)
  a = matmul(x, v)
  b = matmul(x, w)
  z = sub(a, b)
  e = linear(x, q)
  f = linear(x, r)
  h = relu(e)
  p = mul(h, f)
  output y, z, a, p
}""",
    "product_pairs_of_a_row": """graph product_pairs_of_a_row {
  size M in [1, 4096] hint 1
  input x : bf16[M, 4096]
  input gate : bf16[4096, 4096]
  input up : bf16[4096, 4096]
  input c : bf16[M, 4096]
  g = linear(x, gate)
  u = linear(x, up)
  s = silu(g)
  t = mul(s, u)
  y = add(t, c)
  output y
}""",
    "products_of_groups": """graph products_of_groups {
  size T in [0, 4096] hint 512
  input x : bf16[T, 256]
  input r : f32[T, 5]
  input w : bf16[5, 256, 512]
  input u : bf16[5, 256, 512]
  input d : bf16[5, 512, 256]
  input b : bf16[5, 256]
  p, e = topk(r, k=2, dim=1)
  q = softmax(p, dim=1)
  experts = view(e, size=[2*T])
  order = argsort(experts, dim=0, stable=true)
  token = floor_divide(order, 2)
  sorted = gather(experts, dim=0, index=order)
  numbers = arange(end=5)
  offs = searchsorted(sorted, numbers, out_int32=true, right=true)
  a = index_select(x, dim=0, index=token)
  g = grouped_mm(a, w, offs)
  h = grouped_mm(a, u, offs)
  s = silu(g)
  m = mul(s, h)
  y = grouped_mm(m, d, offs, b)
  f = cast(x, dtype=f32)
  z = cast(w, dtype=f32)
  n = full(size=[5], fill_value=0, dtype=i32)
  c = grouped_mm(f, z, n)
  output y, c, q
}""",
    "products_scattered": """graph products_scattered {
  size T in [0, 4096] hint 512
  input x : bf16[T, 256]
  input r : f32[T, 5]
  input w : bf16[5, 256, 512]
  input u : bf16[5, 256, 512]
  input d : bf16[5, 512, 256]
  input v : bf16[256, 264]
  input n : f32[256, 36]
  p, e = topk(r, k=2, dim=1)
  q = softmax(p, dim=1)
  experts = view(e, size=[2*T])
  order = argsort(experts, dim=0, stable=true)
  token = floor_divide(order, 2)
  sorted = gather(experts, dim=0, index=order)
  numbers = arange(end=5)
  offs = searchsorted(sorted, numbers, out_int32=true, right=true)
  flat = view(q, size=[2*T])
  chosen = index_select(flat, dim=0, index=order)
  weight = view(chosen, size=[2*T, 1])
  a = index_select(x, dim=0, index=token)
  g = grouped_mm(a, w, offs)
  h = grouped_mm(a, u, offs)
  s = silu(g)
  m = mul(s, h)
  y = grouped_mm(m, d, offs)
  f = cast(y, dtype=f32)
  k = mul(f, weight)
  sums = zeros(size=[T, 256], dtype=f32)
  added = index_add(sums, token, k, dim=0)
  slots = zeros(size=[2*T, 256], dtype=f32)
  placed = index_copy(slots, order, k, dim=0)
  pairs = view(placed, size=[T, 2, 256])
  summed = sum(pairs, dim=1)
  l = matmul(x, v)
  back = arange(end=T)
  rows = flip(back, dims=[0])
  empty = zeros(size=[T, 264], dtype=bf16)
  reversed = index_copy(empty, rows, l, dim=0)
  c = cast(x, dtype=f32)
  o = matmul(c, n)
  half = floor_divide(back, 2)
  start = zeros(size=[T, 36], dtype=f32)
  halves = index_add(start, half, o, dim=0)
  output added, summed, reversed, halves
}""",
    "products_of_tensor_memory": """graph products {
  size M in [3, 100000] hint 18944
  input x : bf16[M, 520]
  input w : bf16[776, 520]
  input v : bf16[520, 1032]
  input u : bf16[520, 1032]
  input r : bf16[M, 776]
  h = linear(x, w)
  g = gelu(h)
  y = add(g, r)
  p = matmul(x, v)
  q = matmul(x, u)
  s = silu(p)
  z = mul(s, q)
  output y, z
}""",
}
# One launch for all: products of a row, softmax, attention over a cache that is written before, packed weights.
GRAPHS["persistent"] = """graph persistent {
  input x : bf16[1, 576]
  const n : bf16[576]
  const g : bf16[1536, 576]
  const u : bf16[1536, 576]
  const d : bf16[576, 1536]
  const w : u8[576, 324]
  input keys : bf16[1, 3, 200, 64]
  input values : bf16[1, 3, 200, 64]
  h = rms_norm(x, n, normalized_shape=[576], eps=1e-5)
  a = linear(h, g)
  b = silu(a)
  c = linear(h, u)
  e = mul(b, c)
  f = linear(e, d)
  i = rms_norm(f, normalized_shape=[576], eps=1e-5)
  j = view(i, size=[1, 9, 1, 64])
  o = arange(start=7, end=8)
  k0 = slice(j, dim=1, start=0, end=3)
  v0 = slice(j, dim=1, start=3, end=6)
  k = index_copy(keys, dim=2, index=o, source=k0)
  v = index_copy(values, dim=2, index=o, source=v0)
  p = scaled_dot_product_attention(j, k, v, enable_gqa=true)
  q = view(p, size=[1, 576])
  r = add(q, x)
  s = softmax(r, dim=1)
  t = dequantise(w, format="q4_0", dtype=bf16, group_size=32)
  y = linear(s, t)
  mutate keys = k
  mutate values = v
  output y
}"""
# A layer of a decoder. Tasks of attention compute the new rows of the caches, and load keys and values before.
GRAPHS["persistent_rows"] = llama.text(llama.Size(layers=1, width=576, heads=9, kv_heads=3, head=64, ffn=512), "persistent_rows", 1, 2000).replace(
    "  input position : i64[1]\n", "").replace("  h0 = ", "  position = arange(start=1000, end=1001)\n  h0 = ")  # fmt: skip
# Gate and up with packed weights: one kernel.
GRAPHS["product_pairs_of_packed_weights"] = """graph product_pairs_of_packed_weights {
  size M in [1, 64] hint 1
  input x : bf16[M, 1024]
  const g : u8[1536, 576]
  const u : u8[1536, 576]
  h = rms_norm(x, normalized_shape=[1024], eps=1e-5)
  d = dequantise(g, format="q4_0", dtype=bf16, group_size=32)
  e = dequantise(u, format="q4_0", dtype=bf16, group_size=32)
  a = linear(h, d)
  b = silu(a)
  c = linear(h, e)
  y = mul(b, c)
  output y
}"""
# Weights that are the left operand of wgmma: in tiles of 64 rows, and in several of more rows; gate and up of normalised rows.
GRAPHS |= {name: GRAPHS["products_of_packed_weights"].replace("hint 4", f"hint {m}") for name, m in (("products_of_packed_tiles", 40), ("products_of_many_packed_rows", 150))}
GRAPHS["product_pairs_of_packed_tiles"] = GRAPHS["product_pairs_of_packed_weights"].replace("hint 1", "hint 48")
# Windows by tensor maps, in chunks of 16 bytes, of few channels from lines in shared memory, one by one, by channel, and by phase.
GRAPHS["convolutions"] = """graph convolutions {
  size N in [1, 100000] hint 20000
  input x : bf16[N, 9, 7, 64]
  input w : bf16[256, 3, 3, 64]
  input i : bf16[N, 16, 24, 3]
  input v : bf16[64, 7, 7, 3]
  input e : bf16[2, 9, 7, 24]
  input u : bf16[40, 3, 3, 24]
  input o : bf16[N, 16, 9, 16]
  input odd : bf16[N, 5, 9, 7]
  input t : bf16[24, 3, 3, 16]
  input q : bf16[12, 5, 3, 3]
  input d : bf16[24, 3, 3, 1]
  input f : f32[2, 6, 9, 7]
  input s : f32[6, 1, 5, 5]
  input k : bf16[64, 128, 3, 3]
  xf = permute(x, [0, 3, 1, 2])
  wf = permute(w, [0, 3, 1, 2])
  a = conv2d(xf, wf, padding=[1, 1])
  ar = relu(a)
  ya = permute(ar, [0, 2, 3, 1])
  if = permute(i, [0, 3, 1, 2])
  vf = permute(v, [0, 3, 1, 2])
  b = conv2d(if, vf, stride=[2, 2], padding=[3, 3])
  yb = permute(b, [0, 2, 3, 1])
  ef = permute(e, [0, 3, 1, 2])
  uf = permute(u, [0, 3, 1, 2])
  c = conv2d(ef, uf, padding=[1, 1])
  yc = permute(c, [0, 2, 3, 1])
  tf = permute(t, [0, 3, 1, 2])
  oc = conv2d(o, tf, padding=[1, 1])
  yo = permute(oc, [0, 2, 3, 1])
  yq = conv2d(odd, q, padding=[1, 1])
  df = permute(d, [0, 3, 1, 2])
  g = conv2d(ef, df, padding=[1, 1], groups=24)
  yd = permute(g, [0, 2, 3, 1])
  ys = conv2d(f, s, padding=[2, 2], groups=6)
  wt = conv_transpose2d(xf, k, stride=[2, 2], padding=[1, 1], output_padding=[1, 1])
  yt = permute(wt, [0, 2, 3, 1])
  output ya, yb, yc, yo, yq, yd, ys, yt
}"""
# One compile for few rows, which the products normalise, and for many.
GRAPHS.update({name: GRAPHS["normalised_rows"].replace("[1, 2]", "[1, 300]") for name in ("normalised_unknown_rows_few", "normalised_unknown_rows_many")})
SIZES = {"convolutions": ["N=3"], "products_of_packed_tiles": ["M=40"], "products_of_many_packed_rows": ["M=150"], "product_pairs_of_packed_tiles": ["M=48"],
         "persistent": [], "persistent_rows": [], "product_pairs_of_packed_weights": ["M=3"], "attentions": ["S=200", "T=333"], "attentions_of_pages": ["M=21"], "products_of_tensor_memory": ["M=1300"], "products_misaligned": ["M=33"], "products_multicast": ["M=680"], "products_in_turn": ["M=2200"], "products_tf32_boxes": ["M=72", "T=130"], "normalised_unknown_rows_few": ["M=1"], "normalised_unknown_rows_many": ["M=70"], "products_scattered": ["T=70"], "products_of_groups": ["T=70"], "normalised_rows": ["M=1"], "products_of_block_scales": ["M=70"], "products_of_float_weights": ["M=3"], "product_pairs": ["M=70"], "product_pairs_of_a_row": ["M=1"], "pointwise": ["N=1001"], "odd_rows": ["B=5"], "odd_points": ["B=61"], "concatenation": ["N=61"], "rows": ["B=9", "S=1025"], "splits": ["N=30001", "C=37"], "rows_kept": ["B=300"], "odd_rows_staged": ["B=140"], "rows_of_their_own": ["B=30"], "rows_of_large_clusters": ["B=40"], "rows_of_ranges": ["B=70", "S=120", "T=1600", "U=9001", "V=20000", "W=700"], "rows_likely": ["B=70", "S=4000", "T=3999", "U=2000", "V=1999"], "rows_of_clusters": ["B=70"], "rows_of_channels": ["B=21"], "rows_walked_together": ["B=3"], "rows_of_pieces": ["C=9"], "columns": ["B=131"], "products": ["M=70"], "products_of_a_row": ["M=1"], "products_without_maps": ["M=70"], "products_that_share_tiles": ["M=70"], "products_of_packed_weights": ["M=3"], "products_of_packed_copies": ["M=3"], "products_of_clusters": ["M=70"], "products_of_8_bits": ["M=70"], "products_tf32": ["M=70"],
         "products_f32": ["M=37"], "gather": ["B=61"], "scans": ["B=9", "S=131"], "scans_odd": [], "finish": ["B=61"], "finish_few": ["B=19"], "chain": ["N=300"], "short_rows": ["B=301"],
         "scans_long": ["S=5001"], "scans_columns": ["C=1300"], "sorts": ["S=301"], "sorts_long": ["S=9001"], "scatters": ["N=3001"],
         "rows_added": ["B=333", "C=24"], "rows_listed": ["B=333", "M=24"], "tiles": ["B=144"], "random": ["N=3001"], "scans_lookback": ["S=33001"], "scans_teams": ["R=301"],
         "odd_looped": ["B=5", "S=33001"], "products_large": ["M=300"], "gather_many": ["B=333"], "scans_short": ["B=61"], "scans_walked": ["B=37", "C=1300"],
         "tiles_odd": ["B=301"], "runs": ["B=333"], "rows_of_few_elements": ["B=61"], "rows_of_any_warps": ["B=110"]}
FLAGS = {"persistent": ["--persistent"], "persistent_rows": ["--persistent"], "products_multicast": ["--figure", "product_l2_rate=30", "--figure", "product_received=30"], "products_in_turn": ["--figure", "product_turn_epilogue=1"], "products_tf32": ["--allow-tf32"], "products_tf32_boxes": ["--allow-tf32"], "products_of_tensor_memory": ["--tcgen05"]}
# Programs whose graphs have functions of the user or the flag `deterministic`: warp, block, column; sorted and looked at.
PROGRAMS = {"test_scans": ["recur", "recur_exclusive_block", "recur_column", "sum_starts", "sum_reverse", "product_block"], "test_ordered": ["bits"],
            "test_data_sizes": ["bits"], "test_device_sizes": ["bits"], "test_splits": ["bits"]}


@pytest.fixture(scope="module", autouse=True)
def gpu(device):
    if device != "cuda":
        pytest.skip("needs a GPU: make gpu-test")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs")
    for name, text in GRAPHS.items():
        (path / f"{name}.ind").write_text(text + "\n")
    return path


def run(name, folder, device, output, prefix=()):
    command = [*prefix, make("build/ind"), "run", folder / f"{name}.ind", "--device", device, "--output", output, "--random", "5", *FLAGS.get(name, [])]
    for size in SIZES[name]:
        command += ["--size", size]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("name", GRAPHS)
def test_agrees_with_the_host_device(name, folder, tmp_path):
    for device in ("host", "cuda"):
        done = run(name, folder, device, tmp_path / device)
        assert done.returncode == 0, done.stderr
    exponent = -7 if "bf16" in GRAPHS[name] else -10 if "--allow-tf32" in FLAGS.get(name, []) else -18
    files = sorted((tmp_path / "host").glob("*.npy"))
    assert files
    for file in files:
        host, cuda = np.load(file), np.load(tmp_path / "cuda" / file.name)
        if host.dtype == np.uint16:  # bf16 travels as its bits
            host, cuda = ((a.astype(np.uint32) << 16).view(np.float32) for a in (host, cuda))
        if host.dtype.kind == "f":
            assert np.abs(host - cuda).max() <= 2.0**exponent * max(1, np.abs(host).max())
        else:
            assert (host == cuda).all()


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
@pytest.mark.parametrize("name", GRAPHS)
def test_compute_sanitizer(name, tool, folder, tmp_path):
    sanitizer = shutil.which("compute-sanitizer")
    if not sanitizer:
        pytest.skip("no compute-sanitizer on PATH")
    done = run(name, folder, "cuda", tmp_path, [sanitizer, "--tool", tool, "--error-exitcode", "99"])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.parametrize("program", ["tune", "tune_products", "launches", "indices", "variants", "finish", "streams", "captured_launches", "trace", "batch_invariant", "tf32"])
def test_unit_program(program):
    """Other numbers of threads than the formulas choose, measured, and from a pack; launches that begin before the one before is
    done; variants of kernels that launches are the first to need. The emulation runs the same programs."""
    arguments = ["512", "1"] if program == "batch_invariant" else []  # the most rows, and the step to the next number of rows
    done = subprocess.run([make(f"build/tests/unit/test_{program}"), *arguments], env={**os.environ, "IND_DEVICE": "cuda"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_dependent_launches():
    """Chains of launches that begin before the one before is done, replayed again and again: the bits are those of launches one after
    another. Where blocks are few and many, and where memory is used again."""
    for graph, sizes in (("tests/export/bert.ind", "s26=2, s0=7"), ("tests/export/llama.ind", "s87=16, s85=40"), ("tests/schedule/minilm.ind", "B=3, S=50")):
        done = subprocess.run([make("build/bench_launch"), ROOT / graph, sizes], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr


def plain(name):
    return str(make(f"build/plain/unit/{name}"))


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
@pytest.mark.parametrize("name, case", [(name, case) for name, cases in PROGRAMS.items() for case in cases])
def test_compute_sanitizer_program(name, case, tool):
    sanitizer = shutil.which("compute-sanitizer")
    if not sanitizer:
        pytest.skip("no compute-sanitizer on PATH")
    if tool == "initcheck" and name == "test_data_sizes":
        pytest.skip("its extern call copies the whole capacity, also bytes that no kernel wrote")
    command = [sanitizer, "--tool", tool, "--error-exitcode", "99", plain(name), case]
    done = subprocess.run(command, env={**os.environ, "IND_DEVICE": "cuda"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_on_the_gpu(name):
    """All of its cases; where it prints a number made of its results, the same bits run after run. test_data_sizes captures a graph
    whose sizes come from data, and replays it."""
    arguments = ["bits"] if "bits" in PROGRAMS[name] else []
    env = {**os.environ, "IND_DEVICE": "cuda"}
    runs = [subprocess.run([plain(name), *arguments], env=env, capture_output=True, text=True, timeout=300) for _ in range(2)]
    assert all(run.returncode == 0 for run in runs), runs[0].stdout[-3000:]
    assert runs[0].stdout == runs[1].stdout


@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_compute_sanitizer_minilm(tool, model_folder):
    sanitizer = shutil.which("compute-sanitizer")
    if not sanitizer:
        pytest.skip("no compute-sanitizer on PATH")
    command = [sanitizer, "--tool", tool, "--error-exitcode", "99", make("build/minilm"), "--device", "cuda", "--dtype", "bf16", "--model", model_folder,
               "A man is eating food.", "Hello"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "examples").glob("[01]*.c*")))
def test_example(name):
    """The examples check their own results. The C++ engine takes the host device if it is built without the CUDA runtime."""
    done = subprocess.run([make(f"build/{name}")], env={**os.environ, "IND_DEVICE": "cuda"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    runtime = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "lib64/libcudart.so").exists()
    if name == "10_engine" and runtime:
        assert done.stdout.startswith("GPU:")
    if name == "09_own_graph":
        assert "replays" in done.stdout


@pytest.mark.parametrize("name", ["test_runtime", "test_custom", "test_unaligned"])
def test_program_on_the_real_driver(name):
    """tests/unit/NAME.c on the real driver: launches, captured graphs, packs, bad indices; the user's own functions and calls."""
    program = make(pathlib.Path("build/tests/unit") / name)
    done = subprocess.run([program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, "\n".join(done.stdout.splitlines()[-30:])
