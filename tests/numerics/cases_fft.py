"""Cases of the Fourier transforms, windows and complex numbers as pairs."""

from table import case, one_op

BATCH = [{"B": 1}, {"B": 3}, {"B": 5}]


def many(name, inputs, calls, **more):
    """Inputs as name: type; one output for every call."""
    body = [f"input {n} : {t}" for n, t in inputs.items()] + [f"y{i} = {call}" for i, call in enumerate(calls)]
    case(f"fft_{name}", "; ".join(body) + "; output " + ", ".join(f"y{i}" for i in range(len(calls))), **more)


# ---- one dimension: every small length, then those in two and three steps, and primes

for n in (1, 2, 3, 4, 5, 7, 8, 16, 17, 30, 64, 100, 128):
    many(f"length_{n}", {"x": f"f32[3, {n}]", "z": f"f32[3, {n}, 2]", "h": f"f32[3, {n // 2 + 1}, 2]"},
         ["fft_rfft(x)", "fft_fft(z)", "fft_ifft(z)", f"fft_irfft(h, {n})", f"_fft_r2c(x, [1], 0, false)"])
for n in (129, 131, 200, 360, 400):
    many(f"steps_{n}", {"x": f"f32[2, {n}]", "z": f"f32[2, {n}, 2]", "h": f"f32[2, {n // 2 + 1}, 2]"}, ["fft_rfft(x)", "fft_ifft(z)", f"fft_irfft(h, {n})"])
many("three_steps", {"z": "f32[1, 1859, 2]"}, ["fft_fft(z)"])
many("f64", {"x": "f64[3, 24]", "z": "f64[3, 24, 2]", "h": "f64[3, 13, 2]", "l": "f64[1, 210]"},
     ["fft_rfft(x)", "fft_fft(z)", "fft_ifft(z)", "fft_irfft(h)", "fft_hfft(h)", "fft_ihfft(x)", "fft_rfft(l)"])
for t in ("bool", "u8", "i32", "i64"):
    many(f"of_{t}", {"x": f"{t}[3, 10]"}, ["fft_rfft(x)", "fft_ihfft(x)"])

# ---- sizes, dimensions, norms

many("norms", {"x": "f32[4, 12]", "z": "f32[4, 12, 2]", "h": "f32[4, 7, 2]"},
     [f'{f}({a}, norm="{norm}")' for norm in ("backward", "ortho", "forward") for f, a in (("fft_rfft", "x"), ("fft_fft", "z"), ("fft_ifft", "z"), ("fft_irfft", "h"), ("fft_hfft", "h"),
      ("fft_ihfft", "x"))])
many("core_modes", {"x": "f32[4, 6, 5]", "z": "f32[4, 6, 5, 2]"}, [f"_fft_r2c(x, [0, 2], {m}, {o})" for m in (0, 1, 2) for o in ("true", "false")]
     + [f"_fft_c2c(z, [1, -1], {m}, {f})" for m in (0, 1, 2) for f in ("true", "false")] + [f"_fft_c2r(z, [0, 2], {m}, {n})" for m in (0, 1, 2) for n in (8, 9)])
many("padded", {"x": "f32[3, 10]", "z": "f32[3, 10, 2]"}, ["fft_rfft(x, 16)", "fft_rfft(x, 7)", "fft_fft(z, 12, 1)", "fft_ifft(z, 4, 0)", "fft_irfft(z, 9)", "fft_irfft(z, 30)",
     "fft_hfft(z, 5)", "fft_ihfft(x, 8)"])
many("dims", {"x": "f32[4, 3, 6]", "z": "f32[4, 3, 6, 2]"}, ["fft_rfft(x, dim=0)", "fft_rfft(x, dim=1)", "fft_fft(z, dim=0)", "fft_ifft(z, dim=-2)", "fft_irfft(z, 6, 0)", "fft_irfft(z, 4, -2)"])
many("planes", {"x": "f32[2, 6, 10]", "z": "f32[2, 6, 6, 2]"}, ["fft_rfft2(x)", "fft_fft2(z)", "fft_ifft2(z)", "fft_irfft2(z)", "fft_irfft2(z, [6, 9])", "fft_rfft2(x, [4, 12], [0, 2])",
     'fft_fft2(z, norm="ortho")'])
many("spaces", {"x": "f32[4, 6, 5]", "z": "f32[4, 6, 5, 2]"}, ["fft_rfftn(x)", "fft_fftn(z)", "fft_ifftn(z)", "fft_irfftn(z)", "fft_rfftn(x, [8, 5])", "fft_fftn(z, dim=[2, 0])",
     'fft_irfftn(z, [4, 7], [0, 2], "forward")', "fft_ifftn(z, [3, 3, 3])"])

# ---- operands that are views, empty, and of symbolic sizes

case("fft_symbolic_batch", "size B in [1, 8]; input x : f32[B, 30]; input z : f32[B, 150, 2]; a = fft_rfft(x); b = fft_fft(z); c = fft_irfft(a); d = fft_ifft(b); output a, b, c, d", BATCH)
case("fft_transposed", "input x : f32[12, 5]; input z : f32[2, 9, 4]; t = transpose(x, 0, 1); a = fft_rfft(t); w = permute(z, [2, 1, 0]); b = fft_fft(w); c = fft_fft(w, dim=0); output a, b, c")
case("fft_sliced", "input x : f32[4, 40]; s = slice(x, 1, 3, 37, 2); a = fft_rfft(s); f = flip(s, [1]); b = fft_rfft(f); output a, b")
case("fft_broadcast", "input x : f32[1, 14]; e = expand(x, [3, 14]); a = fft_rfft(e); p = sin(e); b = fft_rfft(p, 9); output a, b")
case("fft_no_rows", "input x : f32[0, 8]; input z : f32[3, 0, 8, 2]; a = fft_rfft(x); b = fft_ifft(z); output a, b")
case("fft_there_and_back", "input x : f32[3, 5, 20]; f = fft_rfftn(x); y = fft_irfftn(f, [3, 5, 20]); m = real(f); n = imag(f); a = hypot(m, n); output y, a")
many("special", {"x": "f32[6, 5]"}, ["fft_rfft(x)"], x="values 0 1 -1 0 0 2 2 2 2 2 1e30 -1e30 1e30 0 0 0 0 0 0 0 1e-38 1e-38 0 0 1 -0 -0 -0 -0 -0")

# ---- windows and short transforms

many("windows", {}, [f"{w}({n}, {p})" for w in ("hann_window", "hamming_window", "blackman_window", "bartlett_window") for n in (0, 1, 2, 7, 16, 400) for p in ("true", "false")])
many("windows_types", {}, [f"{w}(20, dtype={t})" for w in ("hann_window", "hamming_window", "blackman_window", "bartlett_window") for t in ("f64", "f16", "bf16")]
     + ["hamming_window(9, false, 0.6, 0.25)"])
many("stft", {"x": "f32[2, 80]", "s": "f32[50]", "w": "f32[16]"}, ["stft(x, w, 16)", "stft(x, n_fft=16)", "stft(s, w, 20, 5, 16)", "stft(x, w, 16, center=false)", "stft(s, none, 12, 7, 8)",
     'stft(x, w, 16, 6, pad_mode="constant", normalized=true)', 'stft(x, w, 16, onesided=false, pad_mode="replicate")', 'stft(x, w, 16, pad_mode="circular")'])
case("fft_stft_symbolic", "size B in [1, 8]; size L in [32, 256]; input x : f32[B, L]; w = hann_window(20); y = stft(x, w, 20, 8); output y", [{"B": 2, "L": 64}, {"B": 1, "L": 111}])

# ---- pairs

many("pairs", {"z": "f32[3, 4, 2]", "a": "f32[3, 1]", "b": "f32[4]", "s": "f64[]", "h": "f16[5]"}, ["view_as_real(z)", "view_as_complex(z)", "real(z)", "imag(z)", "complex(a, b)", "complex(s, s)",
     "complex(h, h)"], bits=True)
many("polar", {"a": "f32[3, 1]", "b": "f32[4]", "c": "f64[7]"}, ["polar(a, b)", "polar(c, c)"])
many("matrix", {}, ["_dft_matrix(12, 12, 12)", "_dft_matrix(12, 7, 12, 2, 1, true, true, 0.25)", "_dft_matrix(5, 5, 3, 1, 2, dtype=f64)", "_dft_matrix(1, 1, 1)", "_dft_matrix(9, 20, 30, 1, 1)",
     "_dft_matrix(1000003, 3, 40, 1, 2)", "_dft_matrix(7, 0, 3)"])
