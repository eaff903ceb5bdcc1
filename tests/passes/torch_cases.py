"""The inference cases of TorchInductor's own pattern tests, each as a graph of ours, and what becomes of it.

The graphs are written from the meaning of a case: the ops after decomposition, as an exporter gives them. A case says what
test_torch_cases.py checks and docs/pattern-coverage.md lists:

    by       the pass or pattern that changes it, and how often
    left     the ops that are left, inputs aside
    kernels  how many kernels the schedule has
    why      why it is not matched, or what is done in its place"""

from dataclasses import dataclass


@dataclass
class Case:
    file: str
    test: str
    text: str
    by: str = ""
    times: int = 1
    left: list | None = None
    kernels: int = 0
    why: str = ""
    near: str = ""  # part of a near miss that the log must have


ATTENTION_FILE = "test_fused_attention.py"
MATCHER_FILE = "test_pattern_matcher.py"
CASES = []


def case(file, test, inputs, lines, outputs, **expected):
    body = "\n".join(f"  {line.strip()}" for line in lines.split(";") if line.strip())
    declared = "\n".join(f"  {line.strip()}" for line in inputs.split(";") if line.strip())
    CASES.append(Case(file, test, f"graph g {{\n  size B in [1, 64] hint 4\n{declared}\n{body}\n  output {outputs}\n}}\n", **expected))


# ---- attention

HEADS = "input q : {t}[B, 2, 16, 32]; input k : {t}[B, 2, 16, 32]; input v : {t}[B, 2, 16, 32]"
ROWS = "input q_ : {t}[B, 16, 2, 32]; input k_ : {t}[B, 16, 2, 32]; input v_ : {t}[B, 16, 2, 32]"
PERMUTED = "q = permute(q_, dims=[0, 2, 1, 3]); k = permute(k_, dims=[0, 2, 1, 3]); v = permute(v_, dims=[0, 2, 1, 3]); "
SCORES = "kt = permute(k, dims=[0, 1, 3, 2]); p = matmul(q, kt); "
EXPANDED = ("qe = expand(q, size=[B, 2, 16, 32]); qc = clone(qe); q3 = view(qc, size=[B*2, 16, 32]); ke = expand(kt, size=[B, 2, 32, 16]); kc = clone(ke); "
            "k3 = view(kc, size=[B*2, 32, 16]); p3 = bmm(q3, k3); p = view(p3, size=[B, 2, 16, 16]); ")
VALUES = "we = expand(w, size=[B, 2, 16, 16]); w3 = view(we, size=[B*2, 16, 16]); ve = expand(v, size=[B, 2, 16, 32]); vc = clone(ve); v3 = view(vc, size=[B*2, 16, 32]); y3 = bmm(w3, v3); y = view(y3, size=[B, 2, 16, 32])"
HALF = "pc = cast(ps, dtype=f32); wf = softmax(pc, dim=-1); w = cast(wf, dtype=f16); y = matmul(w, v)"
CAUSAL = "ones = full([16, 16], 1, dtype=bool); keep = tril(ones); "
KEYS_SEEN = "drop0 = eq(seen, 0); drop1 = view(drop0, size=[B, 1, 1, 16]); drop = expand(drop1, size=[B, 2, 16, 16]); "


def attention(test, lines, outputs="y", dtype="f32", rows=False, more="", **expected):
    inputs = (ROWS if rows else HEADS).format(t=dtype) + ("; " + more if more else "")
    case(ATTENTION_FILE, test, inputs, (PERMUTED if rows else "") + lines, outputs, **expected)


NAN = {"by": "attention_nan"}
attention("test_sdpa_rewriter_1", SCORES + "ps = div(p, 5.656854249492381); w = softmax(ps, dim=-1); y = matmul(w, v)", **NAN)
attention("test_sdpa_rewriter_1 (half)", SCORES + "ps = div(p, 5.656854249492381); w = softmax(ps, dim=-1); y = matmul(w, v)", dtype="f16", **NAN)
attention("test_sdpa_rewriter_1_freezing", "kt = permute(k, dims=[0, 1, 3, 2]); " + EXPANDED + "ps = div(p, 5.656854249492381); w = softmax(ps, dim=-1); " + VALUES, **NAN)
attention("test_sdpa_rewriter_2", SCORES + "ps = mul(p, 0.17677669529663687); w = softmax(ps, dim=-1); y = matmul(w, v)", **NAN)
attention("test_sdpa_rewriter_3", SCORES + "ps = div(p, 3.0); w = softmax(ps, dim=-1); y = matmul(w, v)", **NAN)
attention("test_sdpa_rewriter_4", SCORES + "ps = mul(p, 0.4); w = softmax(ps, dim=-1); y = matmul(w, v)", **NAN)
attention("test_sdpa_rewriter_5", SCORES + CAUSAL + "ps = div(p, 5.656854249492381); pm = add(ps, keep); w = softmax(pm, dim=-1); y = matmul(w, v)", by="attention_counted")
attention("_sfdp_pattern_5 (float mask)", SCORES + "ps = div(p, 5.656854249492381); pm = add(ps, mask); w = softmax(pm, dim=-1); y = matmul(w, v)", more="input mask : f32[16, 16]", **NAN)
attention("test_sdpa_rewriter_6", SCORES + CAUSAL + "ps = div(p, 5.656854249492381); pm = add(ps, keep); w = softmax(pm, dim=-1); y = matmul(w, v)", by="attention_counted")
attention("_sfdp_pattern_6 (float mask, no dropout)", SCORES + "ps = div(p, 5.656854249492381); pm = add(mask, ps); w = softmax(pm, dim=-1); y = matmul(w, v)", more="input mask : f32[B, 1, 1, 16]", **NAN)
attention("test_sdpa_rewriter_7", SCORES + "ps = div(p, 5.656854249492381); " + HALF, dtype="f16", rows=True, **NAN)
attention("test_sdpa_rewriter_8", "kt = permute(k, dims=[0, 1, 3, 2]); " + EXPANDED + "ps = div(p, 5.656854249492381); pc = cast(ps, dtype=f32); wf = softmax(pc, dim=-1); w = cast(wf, dtype=f16); " + VALUES,
          dtype="f16", rows=True, **NAN)
SCALED_QUERY = "qs = div(q, 5.656854249492381); kt = permute(k, dims=[0, 1, 3, 2]); ps = matmul(qs, kt); "
attention("test_sdpa_rewriter_9", SCALED_QUERY + HALF, dtype="f16", rows=True, **NAN)
attention("test_sdpa_rewriter_10", SCALED_QUERY + HALF, dtype="f16", rows=True, **NAN)
attention("test_sdpa_rewriter_11", SCORES + "ps = div(p, 5.656854249492381); w = softmax(ps, dim=-1); y = matmul(w, v)", rows=True, **NAN)
attention("test_sdpa_rewriter_12", SCORES + "ps = div(p, 5.656854249492381); w = softmax(ps, dim=-1); y = matmul(w, v)", rows=True, **NAN)
attention("test_sdpa_prev_13", SCORES + "ps = div(p, 5.656854249492381); wc = softmax(ps, dim=-1); w = clone(wc); y = matmul(w, v)", **NAN)
attention("test_sdpa_prev_14", SCORES + "ps = mul(p, 0.17677669529663687); wc = softmax(ps, dim=-1); w = clone(wc); y = matmul(w, v)", **NAN)
attention("test_sdpa_prev_15", SCORES + "ps = div(p, 5.656854249492381); wc = softmax(ps, dim=-1); w = clone(wc); y = matmul(w, v)", rows=True, **NAN)
THREE = "input q : {t}[B, 8, 16]; input k : {t}[B, 8, 16]; input v : {t}[B, 8, 16]"
for dtype in ("f32", "f16"):
    case(ATTENTION_FILE, f"test_sdpa_rewriter_13 ({dtype})", THREE.format(t=dtype), "kt = permute(k, dims=[0, 2, 1]); p = bmm(q, kt); w = softmax(p, dim=-1); y = bmm(w, v)", "y", by="attention_3d")
attention("test_sdpa_rewriter_14", SCORES + CAUSAL + "ps = div(p, 3.0); pm = add(ps, keep); w = softmax(pm, dim=-1); y = matmul(w, v)", rows=True, by="attention_counted")
attention("_sfdp_pattern_14 (float mask)", SCORES + "ps = div(p, 3.0); pm = add(ps, mask); w = softmax(pm, dim=-1); y = matmul(w, v)", rows=True, more="input mask : f32[B, 1, 1, 16]", **NAN)
DROPPED = "pm = masked_fill(ps, drop, -inf); w = softmax(pm, dim=-1); y = matmul(w, v)"
attention("test_sdpa_rewriter_15", SCORES + "ps = div(p, 3.0); " + KEYS_SEEN + DROPPED, rows=True, more="input seen : bool[B, 16]", by="attention_dropped")
attention("test_sdpa_rewriter_16", SCORES + CAUSAL + "ps = div(p, 3.0); pm = add(ps, keep); w = softmax(pm, dim=-1); y = matmul(w, v)", rows=True, by="attention_counted")
attention("test_sdpa_rewriter_16_fp32_mask", SCORES + "lower = tril(mask); ps = div(p, 3.0); pm = add(ps, lower); w = softmax(pm, dim=-1); y = matmul(w, v)", rows=True, more="input mask : f32[16, 16]", **NAN)
attention("test_sdpa_rewriter_17", SCORES + "ps = div(p, 3.0); " + KEYS_SEEN + DROPPED, rows=True, more="input seen : bool[B, 16]", by="attention_dropped")
LOWEST = "low = full([], -3.4028234663852886e+38); pm = where(causal, ps, low); "
attention("test_sdpa_rewriter_18", SCORES + "ps = div(p, 5.656854249492381); " + LOWEST + "w = softmax(pm, dim=-1); y = matmul(w, v)", "y, k, v", rows=True, more="input causal : bool[16, 16]", by="attention_lowest")
attention("test_sdpa_rewriter_19", SCORES + "ps = div(p, 5.656854249492381); " + LOWEST + "pa = add(pm, mask); w = softmax(pa, dim=-1); y = matmul(w, v)", more="input causal : bool[16, 16]; input mask : f32[16, 16]",
          by="attention_lowest_added")
attention("test_sdpa_rewriter_20", SCALED_QUERY + KEYS_SEEN + DROPPED, rows=True, more="input seen : bool[B, 16]", by="attention_dropped")
attention("test_sdpa_rewriter_21", SCORES + "pm = add(p, mask); pc = cast(pm, dtype=f32); wf = softmax(pc, dim=-1); w = cast(wf, dtype=f32); y = matmul(w, v)", rows=True, more="input mask : f32[1, 1, 1, 16]", **NAN)
attention("test_sdpa_rewriter_22", SCORES + "pm = add(p, mask); w = softmax(pm, dim=-1); y = matmul(w, v)", "y, k, v", rows=True, more="input mask : f32[1, 1, 16, 16]", **NAN)
attention("test_sdpa_rewriter_22 (mask with other strides)", SCORES + "mt = permute(mask, dims=[0, 1, 3, 2]); pm = add(p, mt); w = softmax(pm, dim=-1); y = matmul(w, v)", "y, k, v", rows=True, more="input mask : f32[1, 1, 16, 16]", **NAN)
attention("test_sdpa_rewriter_23", SCORES + "mask = full([1, 1, 1, 16], 0.0); pm = add(p, mask); w = softmax(pm, dim=-1); y = matmul(w, v)", "y, k, v", rows=True, **NAN)
attention("test_sdpa_rewriter_24", "q3 = view(q, size=[B*2, 16, 32]); kv = view(k, size=[B*2, 16, 32]); v3 = view(v, size=[B*2, 16, 32]); kt = permute(kv, dims=[0, 2, 1]); p3 = bmm(q3, kt); p = view(p3, size=[B, 2, 16, 16]); "
          "pm = add(p, mask); px = view(pm, size=[B*2, 16, 16]); w = softmax(px, dim=-1); y3 = bmm(w, v3); y = view(y3, size=[B, 2, 16, 32])", more="input mask : f32[1, 1, 16, 16]", **NAN)
ADDED_FIRST = SCORES + "pa = add(p, mask); pm = cast(pa, dtype=f32); wf = softmax(pm, dim=-1); w = cast(wf, dtype={t}); y = matmul(w, v)"
F16_SUM = "the sum of scores and mask is rounded to f16, where it may overflow to -inf; the op adds in f32"
attention("test_sdpa_rewriter_25", ADDED_FIRST.format(t="f16"), dtype="f16", rows=True, more="input mask : f16[1, 1, 1, 16]", why=F16_SUM)
attention("test_sdpa_rewriter_25 (bf16)", ADDED_FIRST.format(t="bf16"), dtype="bf16", rows=True, more="input mask : bf16[1, 1, 1, 16]", by="attention_bf16")
attention("test_sdpa_rewriter_26", ADDED_FIRST.format(t="f16"), "y, k, v", dtype="f16", rows=True, more="input mask : f16[1, 1, 1, 16]", why=F16_SUM)
attention("test_sdpa_rewriter_26 (bf16)", ADDED_FIRST.format(t="bf16"), "y, k, v", dtype="bf16", rows=True, more="input mask : bf16[1, 1, 1, 16]", by="attention_bf16")
attention("test_sdpa_rewriter_27", SCORES + "mask = full([1, 1, 1, 16], 0.0, dtype=f16); ps = add(p, mask); " + HALF, "y, k, v", dtype="f16", rows=True, **NAN)
attention("test_sdpa_rewriter_28", "qc = clone(q); kc = clone(k); vc = clone(v); kt = permute(kc, dims=[0, 1, 3, 2]); p = matmul(qc, kt); ps = mul(p, 0.17677669529663687); w = softmax(ps, dim=-1); y = matmul(w, vc)", rows=True, **NAN)
SAFE = ("eq = eq(pm, -inf); ne = logical_not(eq); any = any(ne, dim=[-1], keepdim=true); none_ = logical_not(any); zero = full([B, 2, 16, 16], 0.0); wf = softmax(pm, dim=-1); w = where(none_, zero, wf); ")
BOTH = "qs = mul(q, 0.42044820762685725); kt = permute(k, dims=[0, 1, 3, 2]); ks = mul(kt, 0.42044820762685725); p = matmul(qs, ks); "
attention("test_sdpa_rewriter_29", BOTH + "pm = add(p, mask); " + SAFE + "y = matmul(w, v)", rows=True, more="input mask : f32[1, 1, 16, 16]", by="attention")
attention("test_sdpa_rewriter_30", BOTH + "pm = mul(p, 1); " + SAFE + "y = matmul(w, v)", rows=True, by="attention")
attention("test_pattern_fails_with_reuse", SCORES + "ps = div(p, 4.0); w = softmax(ps, dim=-1); y = matmul(w, v)", "y, w", why="the probabilities are wanted, too; not matched there either", near="w is an output")
attention("test_pattern_fails_with_tensor_factor (div)", SCORES + "ps = div(p, factor); w = softmax(ps, dim=-1); y = matmul(w, v)", more="input factor : f32[2, 1, 1]", why="the scale is a tensor; not matched there either")
attention("test_pattern_fails_with_tensor_factor (mul)", SCORES + "ps = mul(p, factor); w = softmax(ps, dim=-1); y = matmul(w, v)", more="input factor : f32[2, 1, 1]", why="the scale is a tensor; not matched there either")
attention("test_pattern_fails_with_unsupported_mask (int)", SCORES + "ps = div(p, 2.0); pm = add(ps, mask); w = softmax(pm, dim=-1); y = matmul(w, v)", more="input mask : i32[B, 2, 16, 16]", why="an integer mask; not matched there either", near="mask is i32")
attention("test_pattern_fails_with_unsupported_mask (number)", SCORES + "ps = div(p, 2.0); pm = add(ps, 2.0); w = softmax(pm, dim=-1); y = matmul(w, v)", why="the mask is a number; not matched there either")
attention("test_insignificant_strides", "o = full([B, 1, 16, 9], 0.0); m = slice(o, dim=3, end=1); me = expand(m, size=[B, 2, 16, 16]); y = scaled_dot_product_attention(q, k, v, me)", left=["full", "scaled_dot_product_attention"], why="it is the op already; a mask of one value is no copy")

# ---- the pattern matcher


def matcher(test, inputs, lines, outputs="y", **expected):
    case(MATCHER_FILE, test, inputs, lines, outputs, **expected)


EPILOGUE = "not rewritten: the op is the product's epilogue"
MM = "input a : {t}[B, 16]; input b : {t}[16, 8]"
matcher("test_mm_plus_mm", "input a : f32[B, 16]; input b : f32[16, 16]; input c : f32[B, 16]; input d : f32[16, 16]", "p = mm(a, b); q = mm(c, d); y = add(p, q)", kernels=2, why="not rewritten: the sum is the epilogue of the second product; one launch for both waits for the product templates")
matcher("test_fused_int_mm_mul", "input a : i8[B, 32]; input b : i8[32, 8]; input c : f32[1, 8]", "ai = cast(a, dtype=i32); bi = cast(b, dtype=i32); p = mm(ai, bi); y = mul(p, c)", kernels=1, why=EPILOGUE)
matcher("test_fused_int_mm_mul_epilogue", "input a : i8[B, 32]; input b : i8[32, 8]; input c : f32[1, 8]", "ai = cast(a, dtype=i32); bi = cast(b, dtype=i32); p = mm(ai, bi); q = mul(p, c); r = cast(q, dtype=bf16); s = mul(r, 0.5); y = relu(s)", kernels=1, why=EPILOGUE)
matcher("test_fused_int_mm_mul_gating", "input a : i8[B, 32]; input b : i8[32, 8]; input c : f32[8]", "ai = cast(a, dtype=i32); bi = cast(b, dtype=i32); p = mm(ai, bi); y = mul(p, c)", kernels=1, why=EPILOGUE)
matcher("test_duplicate_search", "pattern one { input x : float; u = add(x, 1) } => { u = sub(x, 1) }; pattern two { input x : float; u = add(x, 2) } => { u = sub(x, 2) }; input x : f32[B, 5]", "u = add(x, 1); r = relu(u); y = add(r, 2)", by="two", left=["sub", "relu", "sub"])
matcher("test_mixed_mm", "input a : f32[B, 16]; input b : i8[16, 8]", "c = cast(b, dtype=f32); y = mm(a, c)", kernels=1, why="not rewritten: the cast is computed as the product loads its operand")
matcher("test_mixed_mm_exhaustive_dtypes", "input a : bf16[B, 16]; input b : u8[16, 8]", "c = cast(b, dtype=bf16); y = mm(a, c)", kernels=1, why="not rewritten: the cast is computed as the product loads its operand")
matcher("test_mixed_mm_bad_cases", "input a : f16[B, 16]; input b : i8[8, 32]", "t = permute(b, dims=[1, 0]); s = slice(t, dim=0, start=0, end=32, step=2); c = cast(s, dtype=f16); y = mm(a, c)", kernels=1, why="not rewritten: the cast is computed as the product loads its operand")
matcher("test_mixed_mm_epi_works", "input a : f32[B, 16]; input b : i8[16, 8]; input c : f32[8]; input d : f32[8]", "e = cast(b, dtype=f32); p = mm(a, e); m = mul(p, c); y = add(m, d)", kernels=1, why=EPILOGUE)
matcher("test_addmm", MM.format(t="f32") + "; input c : f32[8]", "p = mm(a, b); y = add(c, p)", kernels=1, why=EPILOGUE)
matcher("test_addmm_symbolic_scalar", MM.format(t="f32"), "p = mm(a, b); y = add(p, 16)", kernels=1, why=EPILOGUE)
matcher("test_addmm_broadcasting_bias", "input x : f32[1, B, 4]; const w : f32[4, 4]; const b : f32[1, 4]", "l = linear(x, w); y = add(l, b)", kernels=1, why=EPILOGUE)
matcher("test_addmm_dtype_mismatch", "input x : f16[B, 16]; const w : f16[16, 16]; input c : f32[16]", "l = linear(x, w); y = add(l, c)", kernels=1, why=EPILOGUE)
matcher("test_unfuse_bias_addmm", MM.format(t="f32") + "; input c : f32[8]", "p = addmm(c, a, b); y = gelu(p)", kernels=1, why="not rewritten: bias and gelu are the product's epilogue")
matcher("test_addmm_alpha_beta_with_pointwise", MM.format(t="f32") + "; input c : f32[8]", "p = addmm(c, a, b, beta=0.2, alpha=0.8); y = relu(p)", kernels=1, why="not rewritten: bias and relu are the product's epilogue")
matcher("test_original_aten_preserved_split_addmm", MM.format(t="f32") + "; input c : f32[B, 8]", "p = addmm(c, a, b); y = sin(p)", kernels=1, why="not rewritten: the kernel names addmm as its origin")
matcher("test_bmm_to_mm", "input a : f32[1, B, 8]; input b : f32[1, 8, 32]", "y = bmm(a, b)", kernels=1, why="not rewritten: a batch of one is one product launch")
matcher("test_cat_mm", "input a : f32[16, 16]; input b : f32[16, 16]; input c : f32[16, 16]", "p = mm(a, b); q = mm(b, c); r = mm(a, c); y = cat([p, q, r], dim=1)", kernels=3, why="three products: each stores its part")
matcher("test_cat_slice_cat_cuda", "input a : f32[2, 32]; input b : f32[2, 16]", "c = cat([a, b], dim=1); s = slice(c, dim=0); t = slice(s, dim=1, start=0, end=19); y = cat([c, t], dim=1)", kernels=1, why="one kernel: cat and slice are index arithmetic")
matcher("test_cat_slice_cat_cuda (negative end)", "input a : f32[2, 8]; input b : f32[2, 16]", "c = cat([a, b], dim=1); t = slice(c, dim=1, start=0, end=-1); y = cat([c, t], dim=1)", kernels=1, why="one kernel: cat and slice are index arithmetic")
matcher("test_pointless_view_pair", "input x : f32[15, 7]", "u = view(x, size=[3, 5, 7]); v = view(u, size=[15, 7]); y = exp(v)", by="noop", left=["exp"])
matcher("test_pointless_view_pair (both wanted)", "input x : f32[15, 7]", "u = view(x, size=[3, 5, 7]); v = view(u, size=[15, 7]); y = exp(v); z = exp(u)", "y, z", by="noop", left=["view", "exp", "exp"])
matcher("test_pointless_view_pair_dynamic_shapes", "input x : f32[B, 7]", "u = view(x, size=[B*7]); v = view(u, size=[B, 7]); y = exp(v)", by="noop", left=["exp"])
matcher("test_pointless_permute_pair", "input x : f32[B, 7]", "u = permute(x, dims=[1, 0]); v = permute(u, dims=[1, 0]); y = exp(v)", by="noop", left=["exp"])
matcher("test_pointless_permute_pair_3d", "input x : f32[3, B, 7]", "u = permute(x, dims=[1, 0, 2]); v = permute(u, dims=[1, 0, 2]); y = exp(v)", by="noop", left=["exp"])
matcher("test_pointless_convert", "input x : f32[B, 7]", "u = cast(x, dtype=f16); v = cast(u, dtype=f32); y = exp(v)", left=["cast", "cast", "exp"], why="the rounding to f16 is kept; there it is dropped")
matcher("test_pointless_convert (through int)", "input x : f32[B, 7]", "u = cast(x, dtype=i32); v = cast(u, dtype=f32); y = exp(v)", left=["cast", "cast", "exp"], why="a cast to an integer changes values; not matched there either")
matcher("test_pointless_cumsum", "input x : f32[B, 10]", "o = full([B, 10], 1, dtype=i64); c = cumsum(o, dim=1); y = add(x, c)", kernels=1, why="one kernel: the sum of ones is a scan in the kernel that reads it")
SPLIT = "s, t = split_with_sizes(x, split_sizes=[8, 24], dim=1); "
matcher("test_splitwithsizes_cat", "input x : f32[B, 32]", SPLIT + "c = cat([s, t], dim=1); y = mul(c, c)", kernels=1, why="one kernel: the parts are read where they are")
matcher("test_splitwithsizes_cat (other order)", "input x : f32[1, 8]", "s, t, u = split_with_sizes(x, split_sizes=[3, 2, 3], dim=1); y = cat([t, s, u], dim=1)", kernels=1, why="one kernel; not matched there either")
matcher("test_splitwithsizes_cat (other dimension)", "input x : f32[B, 32]", "s, t, u, w = split_with_sizes(x, split_sizes=[8, 8, 8, 8], dim=1); c = cat([s, t, u, w], dim=0); y = mul(c, c)", kernels=1, why="one kernel; not matched there either")
matcher("test_cat_splitwithsizes", "input a : f32[B, 2]; input b : f32[B, 3]; input c : f32[B, 5]", "d = cat([a, b, c], dim=1); s, t, u = split_with_sizes(d, split_sizes=[2, 3, 5], dim=1); x = mul(s, s); y = mul(t, t); z = mul(u, u)", "x, y, z", kernels=3, why="three independent kernels, without the cat")
matcher("test_cat_splitwithsizes (other lengths)", "input a : f32[B, 2]; input b : f32[B, 3]; input c : f32[B, 5]", "d = cat([a, b, c], dim=1); s, t = split_with_sizes(d, split_sizes=[5, 5], dim=1); y = mul(s, s); z = mul(t, t)", "y, z", kernels=2, why="two independent kernels, without the cat; not matched there either")
matcher("test_symint_pattern_matching", "pattern sized { input x : float[M, 1], y : float[N]; z = add(x, y) } => { m = mul(y, -1); d = sub(x, m); f = full([M, N], 0.0); z = add(d, f) }; input x : f32[B, 1]; input v : f32[10]", "y = add(x, v)", by="sized")
ADD_SIN = "pattern add_sin { input x : float; s = sin(x); z = add(x, s) } => { z = mul(x, 2) }; "
matcher("test_match_with_mutation", ADD_SIN + "input x : f32[B, 5]", "s = sin(x); y = add(x, s)", by="add_sin", left=["mul"])
matcher("test_match_with_mutation (written between)", ADD_SIN + "input x : f32[B, 5]; input w : f32[B, 5]", "s = sin(x); n = alias(w); y = add(n, s)", why="a written input is another value: a graph is functional, and `mutate` stands at its end", left=["sin", "add"])
matcher("test_remove_pointless_clones", MM.format(t="f32"), "p = mm(a, b); y = clone(p)", by="noop", left=["mm"], kernels=1)
ADDMM = "pattern apart {{ input c, a, b; z = addmm(c, a, b) }} => {{ p = mm(a, b); z = add(p, c) }}; " + MM + "; input c : {t}[8]"
for number, options in enumerate(["", ", beta=1.0", ", beta=1.0, alpha=1.0"], 1):
    matcher(f"test_match_equivalent_function_invocations{number}", ADDMM.format(t="f32"), f"y = addmm(c, a, b{options})", by="apart", left=["mm", "add"])
matcher("test_replace_mul_zero", "input x : f32[B, 8]; input v : f32[B, 8]", "z = mul(v, 0); y = add(x, z)", left=["mul", "add"], kernels=1, why="v * 0 is NaN where v is NaN or infinite; there it becomes 0")
matcher("test_scaled_softmax", "input x : f32[10, 10]; input s : f32[10]", "m = mul(x, s); y = softmax(m, dim=0)", kernels=1, why="not rewritten: the product of the scale is not rounded between; the largest value is subtracted as it is")
matcher("test_remove_noop_pass_with_remove_passes", "input x : f32[8, 16]", "v = view(x, size=[8, 16]); y = add(v, 1)", by="noop", left=["add"])
matcher("test_bound_method_pattern_matcher", "pattern powers { input a, b, c; p = pow(a, 4); q = pow(b, 4); r = pow(c, 4); s = add(p, q); t = add(s, r) } => { u = add(a, b); w = add(u, c); t = pow(w, 4) }; input x : f32[B, 4]",
        "k = relu(x); l = tanh(k); p = pow(x, 4); q = pow(k, 4); r = pow(l, 4); s = add(p, q); t = add(s, r); y = add(t, 5)", by="powers", left=["relu", "tanh", "add", "add", "pow", "add"])
matcher("test_empty_like_pattern_matching", "pattern empties { input x : T[M, N]; e = empty([M, N], dtype=T); z = mul(e, 2); t = add(x, z) } => { t = mul(x, 3) }; input x : f32[4, 4]", "e = empty([4, 4]); z = mul(e, 2); y = add(x, z)",
        why="empty is 0 and its product is folded before patterns are tried: x is left", left=[])
matcher("test_batched_pattern_matcher_pass_multiple_matches", "pattern plus { input x : float; z = add(x, 1) } => { z = sub(x, -1.5) }; input x : f32[10]", "a = add(x, 1); b = add(a, 1); y = add(b, 1)", by="plus", times=3, left=["sub", "sub", "sub"])
matcher("test_batched_pattern_matcher_pass", "pattern plus { input x : float; z = add(x, 1) } => { z = sub(x, -1.5) }; pattern twice { input x : float; z = mul(x, 2) } => { z = add(x, x) }; input x : f32[10]", "a = add(x, 1); y = mul(a, 2)", by="plus", left=["sub", "add"])
matcher("test_failed_match_constant_args_format_string", "pattern plus { input x : float[K]; z = sum(x, dim=[0]) } => { z = mean(x, dim=[0]) }; input x : f32[B]", "y = sum(x, dim=[0], keepdim=true)", why="the log says which attribute differs", near="keepdim of y has another value than in the pattern", left=["sum"])
matcher("test_multioutput_register_replacement", "pattern two { input x : f32[M, N], w : f32[N, N]; a = matmul(x, w); s = amax(a, dim=[-1]); q = mul(a, 2) } => { a2 = matmul(x, w); s = amax(a2, dim=[-1]); q = add(a2, a2) }; input x : f32[B, 8]; input w : f32[8, 8]",
        "a = matmul(x, w); s = amax(a, dim=[-1]); q = mul(a, 2)", "s, q", by="two", left=["matmul", "amax", "add"])
matcher("test_unsuccessful_partial_reuse", "input x : f32[B, 64]", "p = amax(x, dim=[0], keepdim=true); f = amax(x)", "p, f", kernels=2, why="the whole maximum reads x again; not matched there either")
matcher("test_successful_partial_reuse", "input x : f32[2048, 2048]", "p = amax(x, dim=[0], keepdim=true); f = amax(x)", "p, f", why="the whole maximum is not yet taken of the partial ones")
matcher("test_gumbel_max_trick", "input l : f32[B, 10]; input seed : i64[]", "p = softmax(l, dim=-1); u = rand(seed, size=[B, 10]); g = log(u); n = neg(g); q = div(p, n); y = argmax(q, dim=-1, keepdim=true)", kernels=1, why="one kernel with the softmax in it; the exponential is not replaced by another distribution's formula")

# ---- convolutions, in-place writes, splits: other files

CONV = "input x : f32[B, 3, 8, 8]; const w : f32[32, 3, 3, 3]; const b : f32[32]"
CONV2D = "c = conv2d(x, w, b, stride=[2, 2]); "
for op in ("add", "sub", "mul", "div"):
    case("test_binary_folding.py", f"test_conv_binary_folding ({op})", CONV + "; const s : f32[1, 32, 1, 1]", CONV2D + f"y = {op}(c, s)", "y", kernels=1, why="not folded: the op is the convolution's epilogue and costs no memory")
case("test_binary_folding.py", "test_conv_bn_folding", CONV + "; const g : f32[32]; const h : f32[32]; const m : f32[32]; const s : f32[32]", CONV2D + "y = batch_norm(c, g, h, m, s, training=false)", "y", kernels=1,
     why="one kernel either way: batch norm is the convolution's epilogue")
case("test_binary_folding.py", "test_linear_binary_folding (mul)", "input x : f32[B, 3]; const w : f32[32, 3]; const b : f32[32]; const s : f32[32]", "l = linear(x, w, b); y = mul(l, s)", "y", kernels=1, why="not folded: the op is the product's epilogue and costs no memory")
case("test_efficient_conv_bn_eval.py", "test_basic", CONV + "; const g : f32[32]; const h : f32[32]; const m : f32[32]; const s : f32[32]", CONV2D + "n = batch_norm(c, g, h, m, s, training=false); y = relu(n)", "y", kernels=1,
     why="one kernel either way: batch norm is the convolution's epilogue")
PUT = "input x : f32[B]; input i : i64[2]; "
INPLACE = "test_inplacing_pass.py"
case(INPLACE, "test_dont_modify_live", PUT, "c = cos(x); z = full([], 0.0); y = index_put(c, z, [i])", "y, c", kernels=2, why="the old value is wanted: it is copied")
case(INPLACE, "test_dont_modify_view_of_live", PUT, "c = cos(x); a = alias(c); z = full([], 0.0); p = index_put(a, z, [i]); d = cos(c); y = add(p, d)", "y", kernels=3, why="the old value is read after the write: it is copied")
case(INPLACE, "test_dont_modify_input", PUT, "z = full([], 0.0); y = index_put(x, z, [i])", "y", kernels=2, why="an input stays as it is: it is copied")
case(INPLACE, "test_should_modify_inner", PUT, "c = cos(x); z = full([], 0.0); y = index_put(c, z, [i])", "y", kernels=2, why="in place: cos stores once, the write goes there")
case(INPLACE, "test_should_modify_input", PUT, "z = full([], 0.0); n = index_put(x, z, [i]); mutate x = n", "n", kernels=0, why="in place: the input is written")
case(INPLACE, "test_multiple_mutations", "input x : f32[B]; input o : f32[B]", "a = sin(x); b = sin(a); c = sin(b); mutate o = c", "c", kernels=1, why="one kernel; the input is written")
case(INPLACE, "test_multiple_intermediate", "input x : f32[B]", "a = sin(x); b = sin(a); y = sin(b)", "y", kernels=1, why="one kernel")
case(INPLACE, "test_multi_output_intermediate", "input x : f32[B]", "a = sin(x); b = cos(x); c = square(x)", "a, b, c", kernels=1, why="one kernel")
SPLITS = "test_split_cat_fx_passes.py"
ONE_KERNEL = "one kernel: splits, stacks and cats are index arithmetic"
case(SPLITS, "test_split_normalization", "input x : f32[B, 32]", "a, b = split(x, split_size=16, dim=1); y = add(a, b)", "y", kernels=1, why=ONE_KERNEL)
case(SPLITS, "test_consecutive_split_merge", "input x : f32[B, 32]", "a, b = split(x, split_size=16, dim=1); c, d = split(a, split_size=8, dim=1); e = relu(c); f = relu(d); y = add(e, f)", "y", kernels=1, why=ONE_KERNEL)
case(SPLITS, "test_split_cat_merge", "input x : f32[B, 32]", "a, b = split(x, split_size=16, dim=1); y = cat([a, b], dim=1); z = relu(y)", "z", kernels=1, why=ONE_KERNEL)
case(SPLITS, "test_split_squeeze", "input x : f32[B, 4]", "a, b, c, d = split(x, split_size=1, dim=1); e = squeeze(a, dim=[1]); f = squeeze(b, dim=[1]); g = squeeze(c, dim=[1]); h = squeeze(d, dim=[1]); y = stack([e, f, g, h], dim=0)", "y", kernels=1, why=ONE_KERNEL)
case(SPLITS, "test_unbind_stack", "input x : f32[4, B]", "a, b, c, d = unbind(x, dim=0); y = stack([a, b, c, d], dim=0); z = relu(y)", "z", kernels=1, why=ONE_KERNEL)
case(SPLITS, "test_split_cat_new_patterns (unbind_cat_to_view)", "input x : f32[4, B, 3]", "a, b, c, d = unbind(x, dim=0); y = cat([a, b, c, d], dim=1); z = relu(y)", "z", kernels=1, why=ONE_KERNEL)
case(SPLITS, "test_stack_normalization_axis_kwarg", "input x : f32[B, 8]; input v : f32[B, 8]", "y = stack([x, v], dim=1); z = tanh(y)", "z", kernels=1, why=ONE_KERNEL)
case(SPLITS, "test_stack_tahn_unbind_merge (in earlier versions)", "input x : f32[B, 20]", "a, b = split(x, split_size=10, dim=1); s = stack([a, b], dim=0); t = tanh(s); u, w = unbind(t, dim=0); y = cat([u, w], dim=1)", "y", kernels=1, why=ONE_KERNEL)
case(SPLITS, "test_split_cat_new_patterns (split_cat_split)", "input x : f32[B, 32]", "a, b, c, d = split(x, split_size=8, dim=1); e = cat([a, b], dim=1); f, g = split_with_sizes(e, split_sizes=[6, 10], dim=1); y = cat([f, g, d, c], dim=1)", "y", kernels=1, why=ONE_KERNEL)
BATCHED = "test_group_batch_fusion.py"
case(BATCHED, "test_batch_layer_norm_fusion", "input x : f32[B, 10]; input v : f32[B, 10]", "a = layer_norm(x, normalized_shape=[10]); b = layer_norm(v, normalized_shape=[10])", "a, b", why="two rows kernels; launched as one where kernels are combined")
case(BATCHED, "test_pointwise_op_fusion_post_grad", "input x : f32[B, 40]", "a, b = split(x, split_size=20, dim=1); c = tanh(a); d = tanh(b); y = cat([c, d], dim=1)", "y", kernels=1, why=ONE_KERNEL)
case(BATCHED, "test_batch_linear_lhs_fusion", "input x : f32[B, 16]; const v : f32[16, 16]; const w : f32[16, 16]", "a = linear(x, v); b = linear(x, w); y = mul(a, b)", "y", kernels=2, near="its epilogue would become a kernel", why="products with an epilogue are merged only if the cost says so or `--enable merge_products`")
case(BATCHED, "test_pointwise_op_fusion", "input x : f32[B, 40]", "a, b = split(x, split_size=20, dim=1); c = sigmoid(a); d = sigmoid(b); e = relu(c); f = relu(d); g = add(e, f); y = mul(g, g)", "y", kernels=1, why=ONE_KERNEL)
case(BATCHED, "test_batch_linear_pre_grad_fusion", "input x : f32[B, 32]; const v : f32[8, 16]; const w : f32[8, 16]; const r : f32[8]; const s : f32[8]", "a, b = split(x, split_size=16, dim=1); c = linear(a, v, r); d = linear(b, w, s); e = cat([c, d], dim=1); y = sin(e)", "y", kernels=3, why="two products; one kernel adds both biases and computes sin of the cat")
case(BATCHED, "test_batch_linear_post_grad_fusion", "input x : f32[B, 16]; input z : f32[B, 16]; const v : f32[16, 16]; const w : f32[16, 16]; const r : f32[16]; const s : f32[16]", "a = linear(x, v, r); b = linear(z, w, s); y = add(a, b)", "y", kernels=2, why="two products: the sum is the epilogue of the second")
case(BATCHED, "test_gate_fusion_post_grad", "input x : f32[B, 16]; const v : f32[16, 16]; const w : f32[16, 16]; const r : f32[16]; const s : f32[16]", "a = linear(x, v, r); b = linear(x, w, s); c = sigmoid(b); y = mul(a, c)", "y", kernels=2, near="its epilogue would become a kernel", why="products with an epilogue are merged only if the cost says so or `--enable merge_products`")
case(BATCHED, "test_math_op_fusion", "input x : f32[B]; input v : f32[B]", "a = clamp(x, min=-1000.1, max=1000.1); b = clamp(v, min=-1000.1, max=1000.1); c = nan_to_num(a, nan=0.0); d = nan_to_num(b, nan=0.0); y = stack([c, d], dim=0)", "y", kernels=1, why=ONE_KERNEL)
case(BATCHED, "test_cat_linear_two_part", "input x : f32[B, 16]; input z : f32[B, 16]; const w : f32[32, 32]; const b : f32[32]", "c = cat([x, z], dim=1); y = linear(c, w, b)", "y", kernels=1, why="one kernel: the product reads both parts where they are")
MEMORY_BOUND = "test_decompose_mem_bound_mm.py"
case(MEMORY_BOUND, "test_decompose_mm", "input a : f32[20480, 5]; input b : f32[5, 2]", "y = mm(a, b)", "y", kernels=1, why="not decomposed: the product's kernel reads each operand once")
case(MEMORY_BOUND, "test_decompose_bmm", "input a : f32[10240, 2, 2]; input b : f32[10240, 2, 2]", "y = bmm(a, b)", "y", kernels=1, why="not decomposed: the product's kernel reads each operand once")
DECOMPOSED = "test_mmdecomp.py"
case(DECOMPOSED, "test_simple_mm (one column)", "input a : f32[B, 64]; input b : f32[64, 1]", "p = mm(a, b); y = relu(p)", "y", by="column_product", kernels=1, why="a sum of rows")
case(DECOMPOSED, "test_some (k of 1)", "input a : f32[B, 1]; input b : f32[1, 64]", "p = mm(a, b); y = relu(p)", "y", by="outer_product", kernels=1, why="a pointwise op")

# Tests without an inference graph to compare: what they are about.
OUT_OF_SCOPE = {
    MATCHER_FILE: {
        "test_serialized_patterns_up_to_date": "its files of patterns; ours are text",
        "test_stable_topological_sort": "its graph's order; ours is kept by construction",
        "test_mutation_op_matching": "which ops write; here only `mutate` statements and extern calls with `mutates`",
        "test_fwd_only_generate_original_aten_meta": "its metadata",
        "test_input_output_same": "an input as a result of a pattern; here an output is a result of the first part",
        "test_mixed_mm_cpu, test_mixed_mm_gating": "which device and mode tune a template",
        "test_cat_addmm": "as test_cat_mm",
        "test_pattern_match_debug_output": "its log; ours is the stage `passes`",
        "test_batched_pattern_matcher_pass_empty_passes": "its class; a list without patterns has no matches",
    },
    ATTENTION_FILE: {"all with training=True": "training"},
    "test_inplacing_pass.py": {"test_*functionalize*": "its wrapper of custom ops; ours write in place as declared", "test_partitioner_recomputes_factory": "training"},
    "test_efficient_conv_bn_eval.py": {"backward of all tests": "training"},
    "test_split_cat_fx_passes.py": {"test_numpy_compat_normalization": "its graph keeps Python's arguments; ours has one form"},
}
