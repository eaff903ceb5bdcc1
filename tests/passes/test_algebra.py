"""Exact algebra: what the passes fold, noop, algebra and the built-in patterns of unused results change and leave, what lowering
saves without a rewrite, and the results on the host and on the emulated device. NaN, infinities and -0 are in v and w."""

import numpy as np
import pytest

from statements import case, changes_of, check, emit, libraries, moved, text_of  # noqa: F401

V, W, S = "input v : f32[8, 64]", "input w : f32[8, 64]", "size P in [1, 64] hint 8"
SCALE = 2048  # bytes of v


def where(mask, a, b):
    return np.where(mask, a, np.float32(b))


# Statements, changes (pass, part of the line), bytes read and written (None: not compared), results.
MATCHES = {
    # Comparisons decided by ranges and facts.
    "positions below the size": (f"{S}; input v : f32[P, 8]; a = arange(P); m = lt(a, 64); n = unsqueeze(m, 1); y = where(n, v, 0); output y", [("fold", "m (lt)"), ("noop", "y (where)")], None, lambda v: {"y": v}),
    "positions of one row": (f"{V}; a = arange(64); b = unsqueeze(a, 1); c = slice(b, 0, 0, 1); d = ge(a, 0); e = unsqueeze(d, 0); y = where(e, v, -inf); output y", [("fold", "d (ge)"), ("noop", "y (where)")], 2 * SCALE, lambda v: {"y": v}),
    "never equal": (f"{V}; a = arange(64); b = add(a, 100); m = eq(a, b); n = logical_not(m); y = where(n, v, 0); output y", [("noop", "y (where)")], 2 * SCALE, lambda v: {"y": v}),
    "always different": (f"{V}; a = arange(64); m = ne(a, -1); y = where(m, v, 0); output y", [("noop", "y (where)")], 2 * SCALE, lambda v: {"y": v}),
    "i32 positions": (f"{V}; a = arange(64, dtype=i32); m = le(a, 63); y = where(m, v, 0); output y", [("noop", "y (where)")], 2 * SCALE, lambda v: {"y": v}),
    "a difference of positions": (f"{V}; a = arange(64); b = sub(a, 64); m = lt(b, 0); y = where(m, v, 0); output y", [("noop", "y (where)")], 2 * SCALE, lambda v: {"y": v}),
    "by a fact": (f"{S}; fact P <= 32; input v : f32[P, 8]; a = arange(P); b = unsqueeze(a, 1); m = lt(b, 32); y = where(m, v, 0); output y", [("fold", "m (lt)"), ("noop", "y (where)")], None, lambda v: {"y": v}),
    "a causal mask of one row": ("input v : f32[1, 64]; o = ones([1, 1], dtype=bool); t = tril(o); m = expand(t, [1, 64]); y = where(m, v, -inf); output y", [("noop", "t (tril)"), ("noop", "y (where)")], 512, lambda v: {"y": v}),
    "an upper triangle that has all": (f"{V}; m = triu(v, -7); y = exp(m); output y", [("noop", "m (triu)")], 2 * SCALE, lambda v: {"y": np.exp(v)}),
    "a lower triangle that has all": (f"{V}; m = tril(v, 63); y = exp(m); output y", [("noop", "m (tril)")], 2 * SCALE, lambda v: {"y": np.exp(v)}),
    # Logic with constants.
    "and true": (f"{V}; m = gt(v, 0); t = ones([8, 64], dtype=bool); n = logical_and(m, t); y = where(n, v, 1); output y", [("noop", "n (logical_and) becomes m")], 2 * SCALE, lambda v: {"y": where(v > 0, v, 1)}),
    "true and": (f"{V}; m = gt(v, 0); t = ones([8, 64], dtype=bool); n = bitwise_and(t, m); y = where(n, v, 1); output y", [("noop", "n (bitwise_and) becomes m")], 2 * SCALE, lambda v: {"y": where(v > 0, v, 1)}),
    "or false": (f"{V}; m = gt(v, 0); t = zeros([8, 64], dtype=bool); n = logical_or(m, t); y = where(n, v, 1); output y", [("noop", "n (logical_or) becomes m")], 2 * SCALE, lambda v: {"y": where(v > 0, v, 1)}),
    "xor false": (f"{V}; m = gt(v, 0); t = zeros([8, 64], dtype=bool); n = logical_xor(t, m); y = where(n, v, 1); output y", [("noop", "n (logical_xor) becomes m")], 2 * SCALE, lambda v: {"y": where(v > 0, v, 1)}),
    "and false": (f"{V}; {W}; m = gt(v, 0); t = zeros([8, 64], dtype=bool); n = logical_and(m, t); y = where(n, v, w); output y", [("noop", "n (logical_and) becomes t"), ("noop", "y (where)")], 2 * SCALE, lambda v, w: {"y": w}),
    "twice not": (f"{V}; m = gt(v, 0); a = logical_not(m); n = logical_not(a); y = where(n, v, 1); output y", [("noop", "n (logical_not) becomes m")], 2 * SCALE, lambda v: {"y": where(v > 0, v, 1)}),
    "and of itself": (f"{V}; m = gt(v, 0); n = logical_and(m, m); y = where(n, v, 1); output y", [("noop", "n (logical_and) becomes m")], 2 * SCALE, lambda v: {"y": where(v > 0, v, 1)}),
    # Concatenations of parts of one tensor.
    "cat of slices": (f"{V}; a = slice(v, 1, 0, 20); b = slice(v, 1, 20, 64); c = cat([a, b], 1); y = exp(c); output y", [("algebra", "c (cat) becomes v")], 2 * SCALE, lambda v: {"y": np.exp(v)}),
    "cat of a split": (f"{V}; a, b, c = split(v, 24, 1); d = cat([a, b, c], -1); y = exp(d); output y", [("algebra", "d (cat) becomes v")], 2 * SCALE, lambda v: {"y": np.exp(v)}),
    "cat of chunks": (f"{V}; a, b, c = chunk(v, 3, 0); d = cat([a, b, c]); y = exp(d); output y", [("algebra", "d (cat) becomes v")], 2 * SCALE, lambda v: {"y": np.exp(v)}),
    "cat of a part": (f"{V}; a = slice(v, 1, 4, 20); b = narrow(v, 1, 20, 20); c = cat([a, b], 1); y = exp(c); output y", [("algebra", "c (cat) becomes c (slice)")], 2 * 8 * 36 * 4, lambda v: {"y": np.exp(v[:, 4:40])}),
    "cat of parts of two tensors": (f"{V}; {W}; a = slice(v, 1, 0, 8); b = slice(v, 1, 8, 16); c = cat([a, b, w], 1); y = exp(c); output y", [("algebra", "c (cat) becomes c (cat)")], None, lambda v, w: {"y": np.exp(np.concatenate([v[:, :16], w], 1))}),
    "cat of symbolic parts": (f"{S}; input v : f32[8, 64]; a = slice(v, 1, 0, P); b = slice(v, 1, P, 64); c = cat([a, b], 1); y = exp(c); output y", [("algebra", "c (cat) becomes v")], None, lambda v: {"y": np.exp(v)}),
    "stack of selects": (f"{V}; a = select(v, 1, 5); b = select(v, 1, 6); c = select(v, 1, -57); d = stack([a, b, c], 1); y = exp(d); output y", [("algebra", "d (stack) becomes d (slice)")], 2 * 8 * 3 * 4, lambda v: {"y": np.exp(v[:, 5:8])}),
    "stack of unbound": ("input v : f32[3, 64]; a, b, c = unbind(v, 0); d = stack([a, b, c]); y = exp(d); output y", [("algebra", "d (stack) becomes v")], 2 * 3 * 64 * 4, lambda v: {"y": np.exp(v)}),
    "a product of parts that are split and concatenated": (f"{V}; input u : f32[64, 8]; a, b = split(v, 32, 1); c = cat([a, b], 1); d = nan_to_num(c, 0.0, 1.0, 1.0); y = matmul(d, u); output y", [("algebra", "c (cat) becomes v")], None, lambda v, u: {"y": np.nan_to_num(v, nan=0, posinf=1, neginf=1) @ u}),
    # Updates without effect, and dead ones.
    "a view is written back": (f"{V}; a = slice(v, 1, 3, 5); b = slice_scatter(v, a, 1, 3, 5); y = exp(b); output y", [("noop", "b (slice_scatter) becomes v")], 2 * SCALE, lambda v: {"y": np.exp(v)}),
    "a row is written back": (f"{V}; a = select(v, 0, 3); b = select_scatter(v, a, 0, 3); y = exp(b); output y", [("noop", "b (select_scatter) becomes v")], 2 * SCALE, lambda v: {"y": np.exp(v)}),
    "everything is written": (f"{V}; {W}; b = slice_scatter(v, w, 1); y = exp(b); output y", [("noop", "b (slice_scatter) becomes w")], 2 * SCALE, lambda v, w: {"y": np.exp(w)}),
    "overwritten": (f"{V}; input w : f32[8, 2]; input u : f32[8, 2]; a = slice_scatter(v, u, 1, 3, 5); b = slice_scatter(a, w, 1, 3, 5); mutate v = b", [("algebra", "b (slice_scatter)")], 128, lambda v, w, u: {"v": np.concatenate([v[:, :3], w, v[:, 5:]], 1)}),
    "a row is overwritten": (f"{V}; input w : f32[64]; input u : f32[64]; a = select_scatter(v, u, 0, 3); b = select_scatter(a, w, 0, 3); mutate v = b", [("algebra", "b (select_scatter)")], 512, lambda v, w, u: {"v": np.concatenate([v[:3], w[None], v[4:]])}),
    "overwritten twice": (f"{V}; input w : f32[8, 2]; input u : f32[8, 2]; a = slice_scatter(v, u, 1, 3, 5); b = slice_scatter(a, w, 1, 3, 5); c = slice_scatter(b, u, 1, 3, 5); mutate v = c", [("algebra", "c (slice_scatter)")], 128, lambda v, w, u: {"v": np.concatenate([v[:, :3], u, v[:, 5:]], 1)}),
    "an empty mask": (f"{V}; m = zeros([8, 64], dtype=bool); y = masked_fill(v, m, 1.0); z = exp(y); output z", [("noop", "y (masked_fill)")], 2 * SCALE, lambda v: {"z": np.exp(v)}),
    # Control inputs.
    "no padding": (f"{V}; p = constant_pad_nd(v, [0, 0]); y = exp(p); output y", [("noop", "p (constant_pad_nd)")], 2 * SCALE, lambda v: {"y": np.exp(v)}),
    "one repetition": (f"{V}; p = repeat(v, [1, 1]); y = exp(p); output y", [("noop", "p (repeat)")], 2 * SCALE, lambda v: {"y": np.exp(v)}),
    "rounded integers": ("input i : i64[100]; a = floor(i); b = round(a); y = ceil(b); z = neg(y); output z", [("noop", "(floor)"), ("noop", "(round)"), ("noop", "(ceil)")], 1600, lambda i: {"z": -i}),
    "no dropout": (f"{V}; input i : i64[]; y, m = native_dropout(v, i, 0.0); z = exp(y); output z", [("no_dropout", "replaces y"), ("noop", "y (clone)")], 2 * SCALE, lambda v, i: {"z": np.exp(v)}),
    "no dropout, and its mask": (f"{V}; input i : i64[]; y, m = native_dropout(v, i, 0.0); z = where(m, v, 0); output z", [("no_dropout", "replaces y"), ("noop", "z (where)")], 2 * SCALE, lambda v, i: {"z": v}),
    "dropout at inference": (f"{V}; input i : i64[]; y, m = native_dropout(v, i, 0.5, false); z = exp(y); output z", [("dropout_at_inference", "replaces y"), ("noop", "y (clone)")], 2 * SCALE, lambda v, i: {"z": np.exp(v)}),
    # Results that nobody reads.
    "the mean of var_mean": ("input x : f32[8, 64]; a, m = var_mean(x, [1]); y = exp(m); output y", [("mean_of_var_mean", "replaces a")], 2048 + 32, lambda x: {"y": np.exp(x.mean(1))}),
    "the mean of var_mean with a correction": ("input x : f32[8, 64]; a, m = var_mean(x, [0], keepdim=true, correction=0); output m", [("mean_of_var_mean", "replaces a")], 2048 + 256, lambda x: {"m": x.mean(0, keepdims=True)}),
    "the mean of all": ("input x : f32[8, 64]; a, m = var_mean(x); output m", [("mean_of_var_mean", "replaces a")], None, lambda x: {"m": x.mean()}),
    "the mean of std_mean": ("input x : f32[8, 64]; a, m = std_mean(x, [1], false); output m", [("mean_of_std_mean", "replaces a")], 2048 + 32, lambda x: {"m": x.mean(1)}),
    "a mean with NaN": (f"{V}; a, m = var_mean(v, [1]); output m", [("mean_of_var_mean", "replaces a")], 2048 + 32, lambda v: {"m": v.mean(1)}),
    "the largest": ("input x : f32[8, 64]; a, i = topk(x, 1); output a, i", [("largest", "replaces a")], 2048 + 32 + 64, lambda x: {"a": x.max(1, keepdims=True), "i": x.argmax(1)[:, None]}),
    "the largest along the first dimension": ("input x : f32[8, 64]; a, i = topk(x, 1, 0); output a, i", [("largest", "replaces a")], 2048 + 256 + 512, lambda x: {"a": x.max(0, keepdims=True), "i": x.argmax(0)[None]}),
    "the index of the largest": ("input x : f32[8, 64]; a, i = topk(x, 1, -1); output i", [("largest", "replaces a")], 2048 + 64, lambda x: {"i": x.argmax(1)[:, None]}),
    "the largest with NaN": (f"{V}; a, i = topk(v, 1); output a, i", [("largest", "replaces a")], 2048 + 32 + 64, lambda v: {"a": v.max(1, keepdims=True), "i": np.array([[0]] + [[int(r.argmax())] for r in v[1:]])}),
    "the largest of integers": ("input i : i64[10, 10]; a, k = topk(i, 1); output a, k", [("largest", "replaces a")], 800 + 80 + 80, lambda i: {"a": i.max(1, keepdims=True), "k": i.argmax(1)[:, None]}),
}  # fmt: skip

# Statements, what the log says of a near miss (None: nothing), results.
MISSES = {
    "positions that may reach the bound": (f"{S}; input v : f32[P, 8]; a = arange(P); m = lt(a, 7); n = unsqueeze(m, 1); y = where(n, v, 0); output y", None, lambda v: {"y": where(np.arange(8)[:, None] < 7, v, 0)}),
    "positions against positions": (f"{V}; a = arange(8); b = unsqueeze(a, 1); c = arange(64); m = le(c, b); y = where(m, v, -inf); output y", None, lambda v: {"y": where(np.arange(64) <= np.arange(8)[:, None], v, -np.inf)}),
    "a position from data": (f"{V}; input i : i64[8, 1]; a = arange(64); m = le(a, i); y = where(m, v, 0); output y", None, lambda v, i: {"y": where(np.arange(64) <= i, v, 0)}),
    "a position that wraps": (f"{V}; a = arange(64); b = cast(a, i8); c = mul(b, 4); m = ge(c, 0); y = where(m, v, 0); output y", None, lambda v: {"y": where((np.arange(64) * 4).astype(np.int8) >= 0, v, 0)}),
    "floats are not equal to themselves": (f"{V}; m = eq(v, v); y = where(m, v, 0); output y", None, lambda v: {"y": where(v == v, v, 0)}),
    "falling positions": (f"{V}; a = arange(63, -1, -1); m = ge(a, 1); y = where(m, v, 0); output y", None, lambda v: {"y": where(np.arange(63, -1, -1) >= 1, v, 0)}),
    "a triangle that lacks one": (f"{V}; m = tril(v, 62); y = add(m, 1); output y", None, lambda v: {"y": where(np.tri(8, 64, 62, dtype=bool), v, 0) + 1}),
    "and of numbers": ("input i : i64[100]; t = ones([100], dtype=i64); y = bitwise_and(i, t); output y", None, lambda i: {"y": i & 1}),
    "logical and of numbers": (f"{V}; t = ones([8, 64], dtype=bool); m = logical_and(v, t); y = where(m, 1.0, 2.0); output y", None, lambda v: {"y": where(v.astype(bool), np.float32(1), 2)}),
    "xor of itself": (f"{V}; m = gt(v, 0); n = logical_xor(m, m); y = where(n, v, 1); output y", None, lambda v: {"y": np.ones_like(v)}),
    "xor true": (f"{V}; m = gt(v, 0); t = ones([8, 64], dtype=bool); n = logical_xor(m, t); y = where(n, v, 1); output y", None, lambda v: {"y": where(~(v > 0), v, 1)}),
    "not of numbers twice": (f"{V}; a = logical_not(v); b = logical_not(a); y = where(b, 1.0, 2.0); output y", None, lambda v: {"y": where(v.astype(bool), np.float32(1), 2)}),
    "a constant that broadcasts": ("input v : f32[64]; m = gt(v, 0); t = ones([8, 64], dtype=bool); n = logical_and(m, t); y = where(n, v, 1); output y", None, lambda v: {"y": np.broadcast_to(where(v > 0, v, 1), (8, 64)).copy()}),
    "a part twice": (f"{V}; a = slice(v, 1, 0, 20); c = cat([a, a], 1); y = exp(c); output y", None, lambda v: {"y": np.exp(np.concatenate([v[:, :20]] * 2, 1))}),
    "parts in another order": (f"{V}; a, b = split(v, 32, 1); c = cat([b, a], 1); y = exp(c); output y", None, lambda v: {"y": np.exp(np.roll(v, 32, 1))}),
    "parts with a gap": (f"{V}; a = slice(v, 1, 0, 20); b = slice(v, 1, 21, 64); c = cat([a, b], 1); y = exp(c); output y", None, lambda v: {"y": np.exp(np.delete(v, 20, 1))}),
    "parts along another dimension": ("input v : f32[8, 8]; a, b = split(v, 4, 0); c = cat([a, b], 1); y = exp(c); output y", None, lambda v: {"y": np.exp(np.concatenate([v[:4], v[4:]], 1))}),
    "parts of two tensors": (f"{V}; {W}; a = slice(v, 1, 0, 20); b = slice(w, 1, 20, 64); c = cat([a, b], 1); y = exp(c); output y", None, lambda v, w: {"y": np.exp(np.concatenate([v[:, :20], w[:, 20:]], 1))}),
    "every second element": (f"{V}; a = slice(v, 1, 0, 32, 2); b = slice(v, 1, 32, 64); c = cat([a, b], 1); y = exp(c); output y", None, lambda v: {"y": np.exp(np.concatenate([v[:, :32:2], v[:, 32:]], 1))}),
    "a stack along another dimension": ("input v : f32[3, 3]; a, b, c = unbind(v, 0); d = stack([a, b, c], 1); y = exp(d); output y", None, lambda v: {"y": np.exp(v.T)}),
    "a stack with a gap": (f"{V}; a = select(v, 0, 1); b = select(v, 0, 3); d = stack([a, b]); y = exp(d); output y", None, lambda v: {"y": np.exp(v[[1, 3]])}),
    "another part is written back": (f"{V}; a = slice(v, 1, 4, 6); b = slice_scatter(v, a, 1, 3, 5); y = exp(b); output y", None, lambda v: {"y": np.exp(np.concatenate([v[:, :3], v[:, 4:6], v[:, 5:]], 1))}),
    "a part of another tensor is written": (f"{V}; {W}; a = slice(w, 1, 3, 5); b = slice_scatter(v, a, 1, 3, 5); y = exp(b); output y", None, lambda v, w: {"y": np.exp(np.concatenate([v[:, :3], w[:, 3:5], v[:, 5:]], 1))}),
    "a diagonal on the other side": ("input v : f32[8, 8]; a = diagonal(v, 1); b = diagonal_scatter(v, a, -1); y = exp(b); output y", None, lambda v: {"y": np.exp(np.where(np.eye(8, k=-1, dtype=bool), np.pad(np.diagonal(v, 1), (1, 0))[:, None], v))}),
    "another part is overwritten": (f"{V}; input w : f32[8, 2]; input u : f32[8, 2]; a = slice_scatter(v, u, 1, 3, 5); b = slice_scatter(a, w, 1, 4, 6); mutate v = b", None, lambda v, w, u: {"v": np.concatenate([v[:, :3], u[:, :1], w, v[:, 6:]], 1)}),
    "overwritten after a read": (f"{V}; input w : f32[8, 2]; input u : f32[8, 2]; a = slice_scatter(v, u, 1, 3, 5); z = sum(a, [1]); b = slice_scatter(a, w, 1, 3, 5); mutate v = b; output z", None, lambda v, w, u: {"v": np.concatenate([v[:, :3], w, v[:, 5:]], 1), "z": np.concatenate([v[:, :3], u, v[:, 5:]], 1).sum(1)}),
    "padded and cut": (f"{V}; p = constant_pad_nd(v, [1, -1]); y = exp(p); output y", None, lambda v: {"y": np.exp(np.pad(v, ((0, 0), (1, 0)))[:, :-1])}),
    "times zero": (f"{V}; y = mul(v, 0); output y", None, lambda v: {"y": v * 0}),
    "alpha 0": (f"{V}; {W}; y = add(v, w, alpha=0); output y", None, lambda v, w: {"y": v + w * 0}),
    "rounded decimals of integers": ("input i : i64[100]; a = cast(i, f32); y = round(a); output y", None, lambda i: {"y": i.astype(np.float32)}),
    "the variance": ("input x : f32[8, 64]; a, m = var_mean(x, [1]); output a", "a is an output of the graph", lambda x: {"a": x.var(1, ddof=1)}),
    "both results": ("input x : f32[8, 64]; a, m = var_mean(x, [1]); output a, m", "a is an output of the graph", lambda x: {"a": x.var(1, ddof=1), "m": x.mean(1)}),
    "the variance is read": ("input x : f32[8, 64]; a, m = std_mean(x, [1]); y = add(m, a); output y", "a is also read by y", lambda x: {"y": x.mean(1) + x.std(1, ddof=1)}),
    "two largest": ("input x : f32[8, 64]; a, i = topk(x, 2); output a", "k of a has another value", lambda x: {"a": -np.sort(-x, 1)[:, :2]}),
    "the smallest": ("input x : f32[8, 64]; a, i = topk(x, 1, -1, false); output a", "largest of a has another value", lambda x: {"a": x.min(1, keepdims=True)}),
    "the smallest with NaN": (f"{V}; a, i = topk(v, 1, -1, false); output a", "largest of a has another value", lambda v: {"a": np.nanmin(v, 1, keepdims=True)}),
    "a symbolic number of largest": ("size P in [1, 8] hint 8; input x : f32[8, 64]; a, i = topk(x, P); output a", "k of a has another value", lambda x: {"a": -np.sort(-x, 1)[:, :8]}),
}  # fmt: skip

# No rewrite is needed: statements, bytes that the kernels move, results.
FREE = {
    "slice of cat": (f"{V}; {W}; c = cat([v, w], 1); s = slice(c, 1, 0, 64); y = exp(s); output y", 2 * SCALE, lambda v, w: {"y": np.exp(v)}),
    "a part of a part of cat": (f"{V}; {W}; c = cat([v, w], 1); s = slice(c, 1, 70, 80); y = exp(s); output y", 2 * 320, lambda v, w: {"y": np.exp(w[:, 6:16])}),
    "split of cat": (f"{V}; {W}; c = cat([v, w], 1); s, t = split(c, 64, 1); y = exp(s); z = neg(t); output y, z", 4 * SCALE, lambda v, w: {"y": np.exp(v), "z": -w}),
    "select of stack": (f"{V}; {W}; c = stack([v, w], 1); s = select(c, 1, 1); y = exp(s); output y", 2 * SCALE, lambda v, w: {"y": np.exp(w)}),
    "slice of cat at a symbolic size": (f"{S}; input v : f32[P, 8]; input w : f32[4, 8]; c = cat([v, w]); s = slice(c, 0, P, P + 4); y = exp(s); output y", 256, lambda v, w: {"y": np.exp(w)}),
    "slice of pointwise of cat": (f"{V}; {W}; c = cat([v, w], 1); e = neg(c); s = slice(e, 1, 64, 128); y = exp(s); output y", 2 * SCALE, lambda v, w: {"y": np.exp(-w)}),
    "the part of an update that was written": (f"{V}; input w : f32[8, 2]; p = slice_scatter(v, w, 1, 3, 5); s = slice(p, 1, 3, 5); y = exp(s); output y", 128, lambda v, w: {"y": np.exp(w)}),
    "the part of an update that was not written": (f"{V}; input w : f32[64]; p = select_scatter(v, w, 0, 3); s = select(p, 0, 2); y = exp(s); output y", 512, lambda v, w: {"y": np.exp(v[2])}),
    "a product beside another part": (f"{V}; input b : f32[8, 16]; input u : f32[64, 16]; n = nan_to_num(v, 0.0, 1.0, 1.0); m = matmul(n, u); c = cat([m, b], 1); s = slice(c, 1, 16, 32); y = exp(s); output y", 2 * 512, lambda v, b, u: {"y": np.exp(b)}),
    "reshapes and permutations": (f"{V}; a = view(v, [4, 2, 64]); b = permute(a, [1, 0, 2]); c = permute(b, [2, 1, 0]); d = view(c, [64, 8]); y = exp(d); output y", 2 * SCALE, lambda v: {"y": np.exp(v.reshape(4, 2, 64).transpose(1, 0, 2).transpose(2, 1, 0).reshape(64, 8))}),
    "flips": (f"{V}; a = flip(v, [1]); b = flip(a, [1]); y = exp(b); output y", 2 * SCALE, lambda v: {"y": np.exp(v)}),
    "one of expanded": (f"{V}; a = unsqueeze(v, 1); b = expand(a, [8, 3, 64]); c = select(b, 1, 2); y = exp(c); output y", 2 * SCALE, lambda v: {"y": np.exp(v)}),
    "a mask that no point passes": (f"{V}; {W}; a = arange(64); m = lt(a, 0); y = where(m, w, v); z = exp(y); output z", 2 * SCALE, lambda v, w: {"z": np.exp(v)}),
    "addmm without its first operand": ("input b : f32[8]; input x : f32[4, 16]; input u : f32[16, 8]; y = addmm(b, x, u, beta=0); output y", 4 * (64 + 128 + 32), lambda b, x, u: {"y": x @ u}),
    "values of max": ("input x : f32[8, 64]; a, i = max(x, 1); output a", 2048 + 32, lambda x: {"a": x.max(1)}),
    "indices of max": ("input x : f32[8, 64]; a, i = max(x, 1); output i", 2048 + 64, lambda x: {"i": x.argmax(1)}),
    "the least of aminmax": ("input x : f32[8, 64]; a, i = aminmax(x, 1); output a", 2048 + 32, lambda x: {"a": x.min(1)}),
    "values of topk": ("input x : f32[8, 64]; a, i = topk(x, 4); output a", 2048 + 128, lambda x: {"a": -np.sort(-x, 1)[:, :4]}),
    "values of sort": ("input x : f32[8, 64]; a, i = sort(x); output a", 2048 + 2048, lambda x: {"a": np.sort(x, 1)}),
    "the variance of var_mean": ("input x : f32[8, 64]; a, m = var_mean(x, [1]); output a", 2048 + 32, lambda x: {"a": x.var(1, ddof=1)}),
    "statistics of layer_norm": ("input x : f32[8, 64]; y, m, r = native_layer_norm(x, none, none, [64], 1e-5); output y", 4096, lambda x: {"y": (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)}),
    "statistics of batch_norm": ("input x : f32[8, 16, 4]; y, m, r = _native_batch_norm_legit(x, none, none, none, none, true, 0.1, 1e-5); output y", 4096, lambda x: {"y": (x - x.mean((0, 2), keepdims=True)) / np.sqrt(x.var((0, 2), keepdims=True) + 1e-5)}),
    "values of cummax": ("input x : f32[8, 64]; a, i = cummax(x, 1); output a", 4096, lambda x: {"a": np.maximum.accumulate(x, 1)}),
}  # fmt: skip


@case(MATCHES)
def test_match(name, tmp_path):
    statements, log, bytes_moved, _ = MATCHES[name]
    done, _ = changes_of(text_of(statements), tmp_path)
    for wanted, part in log:
        assert any(p == wanted and part in line for p, line in done), (wanted, part, done)
    schedule = emit(text_of(statements), tmp_path, "--stage", "schedule")
    assert bytes_moved is None or moved(schedule) == bytes_moved, schedule


OF_THIS_FILE = ("algebra", "mean_of_var_mean", "mean_of_std_mean", "largest", "no_dropout", "dropout_at_inference")


@case(MISSES)
def test_near_miss(name, tmp_path):
    statements, reason, _ = MISSES[name]
    done, missed = changes_of(text_of(statements), tmp_path)
    assert not [line for p, line in done if p in OF_THIS_FILE], done
    assert not [line for p, line in done if p == "noop"], done
    assert not [line for p, line in done if p == "fold" and "(full)" in line and "(ones)" not in line and "(zeros)" not in line], done
    lines = [line for p, line in missed if p in OF_THIS_FILE]
    assert lines and reason in lines[0] if reason else not lines, missed


@case(FREE)
def test_nothing_is_lost(name, tmp_path):
    statements, bytes_moved, _ = FREE[name]
    schedule = emit(text_of(statements), tmp_path, "--stage", "schedule")
    assert moved(schedule) == bytes_moved, schedule


ALL = {**{k: (v[0], v[-1]) for k, v in MATCHES.items()}, **{k: (v[0], v[-1]) for k, v in MISSES.items()}, **{k: (v[0], v[-1]) for k, v in FREE.items()}}


@pytest.mark.parametrize("device", ["host", "emulated"])
@case(ALL)
def test_results(name, device, libraries):  # noqa: F811
    statements, reference = ALL[name]
    check(libraries[device == "emulated"], statements, reference)


@case(ALL)
def test_idempotent(name, tmp_path):
    again = emit(text_of(ALL[name][0]), tmp_path, "--stage", "graph")
    assert changes_of(again, tmp_path)[0] == [], again
