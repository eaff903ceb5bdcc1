"""Forms of calls that PyTorch has beside the usual ones: empty lists, as_strided of what is computed, averages of integers, lengths of transforms that
facts give, and sizes with Min and Max that are equal."""

from table import case

SIZES = [{"B": 2, "N": 1}, {"B": 3, "N": 7}, {"B": 1, "N": 20}]

# ---- an empty list: of squeeze and flip no dimension, of any and all no reduction, of sums all dimensions, of a pool the kernel's stride

case("forms_squeeze", "input a : f32[1, 3, 1, 5]; w = squeeze(a, []); x = neg(w); y = squeeze(a); z = squeeze(a, [2, 0]); v = squeeze(a, [1]); u = squeeze(a, [0]); output x, y, z, v, u", bits=True)
case("forms_squeeze_symbolic", "size B in [1, 4]; size N in [1, 20]; input a : f32[B, 1, N]; x = squeeze(a, []); y = squeeze(a, [0, 1]); z = squeeze(a); output x, y, z", [{"B": 3, "N": 7}], bits=True)
case("forms_empty_lists", "input a : f32[2, 6, 8]; s = sum(a, []); m = amax(a, [], true); n = any(a, []); f = flip(a, []); p = max_pool2d(a, [2, 4], []); q = avg_pool2d(a, 2, []); "
     "r = lp_pool2d(a, 2, [2, 2], []); output s, m, n, f, p, q, r")
case("forms_no_transform", "input z : f32[2, 6, 2]; a = fft_fftn(z, dim=[]); b = fft_ifft2(z, none, []); c = fft_fftn(z, []); d = _fft_c2c(z, [], 1, true); output a, b, c, d", bits=True)

# ---- the storage of a computed tensor, of views of it and of an input

case("forms_strided", "input x : f32[4, 6]; r = neg(x); a = as_strided(r, [4, 6], [6, 1]); b = as_strided(r, [3, 3], [6, 2], 1); t = transpose(r, 0, 1); c = as_strided(t, [3, 3], [6, 2], 1); "
     "s = slice(t, 0, 2, 5); d = as_strided(s, [2, 3], [6, 1]); w = select(s, 1, -2); e = as_strided(w, [2], [5]); g = diagonal(r, -1); h = as_strided(g, [2, 2], [7, 1]); "
     "i, j, k = split(r, 2, 1); l = as_strided(j, [2, 2], [6, 1]); m = transpose(x, 0, 1); n = as_strided(m, [5], [3], 2); o = as_strided(n, [2], [4]); output a, b, c, d, e, h, l, n, o", bits=True)
case("forms_strided_results", "input x : f32[4, 6]; p = transpose(x, 0, 1); q = cat([p, p], 1); a = as_strided(q, [5], [7], 2); y = softmax(x, 1); b = as_strided(y, [3, 4], [1, 6]); "
     "z = sum(y, [0]); c = as_strided(z, [3, 6], [0, 1]); u = matmul(x, p); d = as_strided(u, [4, 4], [1, 4]); v = mul(d, 2); output a, b, c, v")
case("forms_strided_written", "input x : f32[4, 6]; r = neg(x); t = transpose(r, 0, 1); s = as_strided(t, [4], [7], 0); mul_(s, 3); y = mul(r, 1); w = slice(x, 0, 1); v = as_strided(w, [2, 2], [8, 1]); "
     "fill_(v, 5); output y")
case("forms_strided_symbolic", "size B in [1, 4]; size N in [1, 20]; input x : f32[B, N, 3]; r = tanh(x); s = slice(r, 1, N - 1); a = as_strided(s, [B, 3], [3*N, 1]); "
     "b = as_strided(r, [B, N, 3], [3*N, 3, 1]); c = add(b, r); output a, c", SIZES)

# ---- averages of integers, rounded toward 0

AVERAGES = ("y = avg_pool2d(a, 2); z = avg_pool2d(a, 3, 2, 1); w = avg_pool2d(a, [3, 2], padding=1, ceil_mode=true); v = avg_pool2d(a, 3, 2, 1, ceil_mode=true, count_include_pad=false); "
            "d = avg_pool2d(a, [2, 3], stride=2, divisor_override=-5); o = avg_pool2d(a, 1, 2); output y, z, w, v, d, o")
case("forms_avg_pool_i64", f"input a : i64[2, 7, 8]; {AVERAGES}", a="ints -100 100")
case("forms_avg_pool_large", "input a : i64[1, 4, 4]; y = avg_pool2d(a, 2); z = avg_pool2d(a, 3, 1, 1); output y, z", a="ints -1000000000000000000 1000000000000000000")
case("forms_avg_pool_dims", "input a : i64[2, 3, 11]; input b : i64[2, 4, 5, 6]; y = avg_pool1d(a, 3, 2, 1, true, false); z = avg_pool3d(b, [2, 3, 2], 2, [1, 1, 0], ceil_mode=true); output y, z")
case("forms_avg_pool_gradient", "input x : i64[3, 7, 6]; input g : i64[3, 3, 3]; a = avg_pool2d_backward(g, x, [3, 2], [2, 2], [0, 0], false, true, none); "
     "b = avg_pool2d_backward(g, x, [3, 2], [2, 2], divisor_override=-3); output a, b", g="ints -50 50")

# ---- c2r transforms with symbolic sizes beside them, of a symbolic length that is cropped or padded, and of one that facts give

case("forms_c2r", "size B in [1, 4]; size N in [1, 20]; size K in [1, 64]; size L in [10, 64]; fact K == 16; fact L <= 10; input z : f32[B, 9, N, 2]; input w : f32[B, N, 2]; input x : f32[N, B]; "
     "input h : f32[B, K // 2 + 1, 2]; input r : f32[B, L]; a = fft_irfft(z, dim=1); b = fft_hfft(z, 12, 1); c = fft_irfft(w, 8); d = fft_irfft(w, K); e = fft_hfft(w, 5); f = fft_irfft(h); "
     "g = _fft_c2r(h, [1], 2, K); i = fft_rfft(x, 12, 0); j = fft_fft(w, 10); k = fft_irfft2(z, [4, 6], [2, 1]); l = fft_irfftn(w, [3, L]); m = fft_rfft(r); n = fft_irfftn(h, [2, -1]); "
     "output a, b, c, d, e, f, g, i, j, k, l, m, n", [{**s, "K": 16, "L": 10} for s in SIZES])

# ---- x[2:] and x[:-2] are as long, and the parts of a dimension are as long as it is

case("forms_differences", "size B in [1, 4]; size N in [1, 20]; input x : f32[N, 3]; a = slice(x, 0, 2); b = slice(x, 0, 0, -2); c = sub(a, b); d = slice(x, 0, 0, 2); e = slice(x, 0, 2, 5); f = slice(x, 0, 5); "
     "g = cat([d, e, f], 0); h = sub(g, x); output c, h", SIZES)
