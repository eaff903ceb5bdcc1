"""Cases of scaled_dot_product_attention: what it is given, each type, and what PyTorch does with rows of which nothing is seen."""

from table import FLOATS, case

FORMS = {  # name: sizes of query, key, value, further inputs, arguments
    "plain": ("2, 3, 5, 8", "2, 3, 7, 8", "2, 3, 7, 6", "", ""),
    "scale": ("3, 5, 8", "3, 9, 8", "3, 9, 8", "", ", scale=0.25"),
    "causal": ("2, 5, 8", "2, 7, 8", "2, 7, 8", "", ", is_causal=true"),
    "mask": ("2, 3, 5, 8", "2, 3, 7, 8", "2, 3, 7, 6", "input m{n} : bool[2, 1, 5, 7]", ", m{n}"),
    "bias": ("2, 3, 5, 8", "2, 3, 7, 8", "2, 3, 7, 6", "input m{n} : f32[5, 7]", ", m{n}"),
    "heads": ("2, 6, 5, 8", "2, 2, 7, 8", "2, 3, 7, 4", "", ", enable_gqa=true, is_causal=true"),
    "matrices": ("5, 8", "7, 8", "7, 1", "", ""),
    "broadcast": ("3, 1, 5, 8", "2, 7, 8", "1, 2, 7, 6", "", ""),
    "one_key": ("2, 4, 8", "2, 1, 8", "2, 1, 6", "", ""),
    "no_key": ("2, 4, 8", "2, 0, 8", "2, 0, 6", "", ""),
    "no_query": ("2, 0, 8", "2, 3, 8", "2, 3, 6", "", ""),
}


def attention(n, dtype, form):
    """Statements of one call; its names end in n."""
    q, k, v, more, arguments = FORMS[form]
    inputs = [f"input q{n} : {dtype}[{q}]", f"input k{n} : {dtype}[{k}]", f"input v{n} : {dtype}[{v}]", more.format(n=n)]
    return "; ".join(inputs) + f"; y{n} = scaled_dot_product_attention(q{n}, k{n}, v{n}{arguments.format(n=n)})"


for t in FLOATS:
    forms = FORMS if t == "f32" else ("plain", "mask", "bias", "heads")
    case(f"sdpa_{t}", "; ".join(attention(n, t, form) for n, form in enumerate(forms)) + "; output " + ", ".join(f"y{n}" for n in range(len(forms))))
case("sdpa_unseen", "input q : f32[2, 4, 8]; input k : f32[2, 5, 8]; input v : f32[2, 5, 6]; input m : bool[4, 5]; input b : f32[4, 5]; "
     "y = scaled_dot_product_attention(q, k, v, m); z = scaled_dot_product_attention(q, k, v, b); "
     "s = scaled_dot_product_attention(q, k, v, m, nan_rows=true); t = scaled_dot_product_attention(q, k, v, b, nan_rows=true); output y, z, s, t",
     m="values 1 0 1 1 0  0 0 0 0 0  0 0 1 0 0  1 1 1 1 1", b="values 0 -inf 1 -inf 2  -inf -inf -inf -inf -inf  1 2 3 4 5  -inf -inf -inf -inf 0")
case("sdpa_layouts", "input x : f32[2, 7, 72]; q = slice(x, 2, 0, 24); k = slice(x, 2, 24, 48); v = slice(x, 2, 48, 72); "
     + "; ".join(f"{n}4 = view({n}, [2, 7, 3, 8]); {n}h = permute({n}4, [0, 2, 1, 3])" for n in "qkv")
     + "; h = scaled_dot_product_attention(qh, kh, vh, is_causal=true); t = permute(h, [0, 2, 1, 3]); y = view(t, [2, 7, 24]); output y")
case("sdpa_symbolic", "size B in [1, 4]; size S in [1, 40]; size T in [0, 40]; size D in [1, 32]; input q : f32[B, 4, S, D]; input k : f32[B, 2, T, D]; "
     "input v : f32[B, 2, T, D]; input m : bool[B, 1, 1, T]; y = scaled_dot_product_attention(q, k, v, m, enable_gqa=true); output y",
     runs=({"B": 2, "S": 5, "T": 7, "D": 8}, {"B": 1, "S": 33, "T": 40, "D": 3}, {"B": 3, "S": 1, "T": 17, "D": 16}, {"B": 1, "S": 2, "T": 0, "D": 4}))
