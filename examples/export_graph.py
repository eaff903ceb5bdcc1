"""From PyTorch to ind: writes a torch.export program as a graph in the text form (.ind) and its weights (.safetensors).

    python export_graph.py my_models:make_bert --output bert      make_bert() returns a torch.export.ExportedProgram
    python export_graph.py bert.pt2                               one saved by torch.export.save
    build/ind run bert.ind --weights bert.safetensors --input input_ids=ids.npy

or from Python:

    program = torch.export.export(model, (x,), dynamic_shapes={"x": {0: torch.export.Dim("B", min=1, max=64)}})
    export_graph(program, "model.ind", "model.safetensors", "model")

The program is decomposed to Core ATen first, except for the ops in KEPT, which are one op here too (`core_aten=True`, or
--core-aten, decomposes these as well). TABLE below says what each op becomes; an op that is not in it is an error that
names all such ops.

    in the program                          in the .ind file
    symbolic size, with its range           size s0 in [lo, hi] hint (of the example input); without an upper bound MAX_SIZE
    assertion on sizes (_assert_scalar)     guard, unless it is known to hold; assertions on data are left out
    size that comes from data (u0)          made by nonzero, masked_select, unique, x[mask]; the bounds that torch knows of it
                                            (torch._check) are min_length and max_length there
    parameter, buffer, lifted constant      const, by its name in the module; tensors that are the same are one const
    input                                   input, by its name in forward()
    buffer or input that is written to      input NAME (of a buffer the file of weights has its state at the start), and
                                            mutate NAME = what it holds afterwards
    result i                                output_i, in order; or the names given
    size as a result or operand             a 0-d i64 tensor
    random numbers                          from the input seed : i64[], which there is then; of the same distribution, not
                                            the same numbers as in PyTorch

Needs torch (2.11 is tested), nothing else: not for TABLE, which make_ops_page.py reads without it.
"""

import argparse
import importlib
import json
import math
import pathlib
import re
import sys

MAX_SIZE = 1 << 16  # of a size without an upper bound
KEPT = ("linear", "matmul", "layer_norm", "rms_norm", "silu", "scaled_dot_product_attention")


class ExportError(Exception):
    """The program has no form as text; the message says why and where."""


# ---- names and numbers as text


DTYPES = {  # torch's name: ours, that in a .safetensors file
    "bool": ("bool", "BOOL"), "uint8": ("u8", "U8"), "int8": ("i8", "I8"), "int16": ("i16", "I16"), "int32": ("i32", "I32"),
    "int64": ("i64", "I64"), "float16": ("f16", "F16"), "bfloat16": ("bf16", "BF16"), "float32": ("f32", "F32"),
    "float64": ("f64", "F64"), "float8_e4m3fn": ("f8e4m3fn", "F8_E4M3"), "float8_e5m2": ("f8e5m2", "F8_E5M2"),
}
COMPLEX_PARTS = {"complex64": "float32", "complex128": "float64"}  # a complex tensor is its parts, in a last dimension of 2
RESERVED = {"true", "false", "none", "inf", "nan", "and", "or", "not"}


def dtype_text(dtype, in_file=False):
    name = str(dtype).removeprefix("torch.")
    if name in COMPLEX_PARTS and not in_file:
        name = COMPLEX_PARTS[name]
    if name not in DTYPES:
        raise ExportError(f"element type {name} is not supported; there are {', '.join(DTYPES)}")
    return DTYPES[name][in_file]


def number_text(v):
    if isinstance(v, float):
        return "nan" if math.isnan(v) else ("inf" if v > 0 else "-inf") if math.isinf(v) else repr(v)
    return str(int(v))


class Names:
    """Names that the text form allows, each given once."""

    def __init__(self):
        self.taken = set(RESERVED)

    def new(self, wish):
        base = re.sub(r"[^A-Za-z0-9_.]", "_", wish)[:200] or "t"
        base = base if re.match(r"[A-Za-z_]", base) else "_" + base
        name, n = base, 1
        while name in self.taken:
            n += 1
            name = f"{base}_{n}"
        self.taken.add(name)
        return name


class SizeText:
    """Expressions of sympy, as torch has them for sizes, as size expressions and conditions of the text form."""

    FUNCTIONS = {"Min": "Min", "Max": "Max", "CeilDiv": "CeilDiv", "ModularIndexing": "ModularIndexing", "CeilToInt": None}
    INFIX = {"FloorDiv": "//", "CleanDiv": "//", "IntTrueDiv": None, "Mod": "%", "PythonMod": "%"}
    RELATIONS = {"Equality": "==", "Unequality": "!=", "LessThan": "<=", "StrictLessThan": "<", "GreaterThan": ">=",
                 "StrictGreaterThan": ">"}

    LOOSE = {*RELATIONS, "And", "Or", "Not"}

    def __init__(self):
        self.name_of = {}  # symbol of sympy -> name

    def __call__(self, e):
        return self.text(e)

    def operand(self, e):
        """Of *, // and %: what is no single thing stands in parentheses."""
        single = e.is_Symbol or (e.is_Integer and e >= 0) or self.FUNCTIONS.get(type(e).__name__)
        return self.text(e) if single else f"({self.text(e)})"

    def product(self, e):
        """Exact quotients, which sympy has as rational factors, are whole: so rounding down changes nothing."""
        numerator, denominator = e.as_numer_denom()
        if denominator != 1:
            return f"{self.operand(numerator)} // {self.operand(denominator)}"
        if e.could_extract_minus_sign():
            return f"-{self.text(-e)}"
        return "*".join(self.operand(a) for a in e.args)

    def sum(self, e):
        terms = sorted(e.args, key=lambda a: bool(a.could_extract_minus_sign()))
        return " + ".join(self.text(a) for a in terms).replace("+ -", "- ")

    def side(self, e):
        """Of a comparison, of `and` and `or`."""
        return f"({self.text(e)})" if type(e).__name__ in self.LOOSE else self.text(e)

    def text(self, e):
        kind = type(e).__name__
        if e.is_Symbol:
            if e not in self.name_of:
                raise ExportError(f"{e} depends on data (its value is known only at run time); not supported")
            return self.name_of[e]
        if e.is_Integer:
            return str(int(e))
        if kind in self.RELATIONS:
            return f"{self.side(e.args[0])} {self.RELATIONS[kind]} {self.side(e.args[1])}"
        if kind in ("And", "Or"):
            return f" {kind.lower()} ".join(self.side(a) for a in sorted(e.args, key=str))
        if kind == "Not":
            return f"not ({self.text(e.args[0])})"
        if kind == "Add":
            return self.sum(e)
        if kind == "Mul":
            return self.product(e)
        if kind in ("Pow", "PowByNatural") and e.args[1].is_Integer and 0 < e.args[1] < 8:
            return "*".join([self.operand(e.args[0])] * int(e.args[1]))
        if self.INFIX.get(kind):
            return f"{self.operand(e.args[0])} {self.INFIX[kind]} {self.operand(e.args[1])}"
        if self.FUNCTIONS.get(kind):
            return f"{self.FUNCTIONS[kind]}({', '.join(self.text(a) for a in e.args)})"
        raise ExportError(f"the size {e} has no form as text ({kind})")


class Size:
    """A size that is no plain integer, as a value of the graph; `text` is its expression."""

    def __init__(self, text):
        self.text = text


class Float:
    """A floating-point number computed from sizes: an expression of sympy."""

    BINARY = {"Add": "add", "Mul": "mul", "IntTrueDiv": "div", "FloatTrueDiv": "div", "FloatPow": "pow", "Pow": "pow"}
    UNARY = {"OpaqueUnaryFn_sqrt": "sqrt", "OpaqueUnaryFn_log2": "log2", "OpaqueUnaryFn_exp": "exp"}

    def __init__(self, e):
        self.e = e


# ---- what an op becomes: functions for those that are no call with the same arguments
#
# Each gets the writer, the node and its arguments by name, and returns the value of the node: the name of a tensor, or a
# tuple of names (None for a result that nothing reads).


def same(w, node, a):
    return next(iter(a.values()))


def cast(w, node, a):
    x = next(iter(a.values()))
    if a.get("dtype") is None or a["dtype"] == w.torch_dtype(node.args[0]):
        return x
    return w.emit(node, f"cast({x}, {dtype_text(a['dtype'])})")


def filled(value):
    """A tensor of the node's own size, filled with the argument of that name, or with that number."""

    def rule(w, node, a):
        v = a[value] if isinstance(value, str) else value
        size, dtype = w.size_list(w.meta(node).shape), dtype_text(w.meta(node).dtype)
        if isinstance(v, (Size, Float)):
            x = w.new_tensor(node, f"cast({w.operand(v, node)}, {dtype})")
            return w.emit(node, f"expand({x}, size={size})")
        return w.emit(node, f"full(size={size}, fill_value={number_text(v)}, dtype={dtype})")

    return rule


def arange(w, node, a):
    dtype, bounds = dtype_text(w.meta(node).dtype), (a["start"], a["end"], a["step"])
    if not any(isinstance(v, float) and v != int(v) for v in bounds):
        start, end, step = (w.argument(int(v) if isinstance(v, float) else v) for v in bounds)
        return w.emit(node, f"arange(start={start}, end={end}, step={step}, dtype={dtype})")
    count = w.size_list(w.meta(node).shape)[1:-1]
    x = w.new_tensor(node, f"arange(start=0, end={count}, dtype=f64)")
    x = w.new_tensor(node, f"mul({x}, {number_text(float(a['step']))})")
    x = w.new_tensor(node, f"add({x}, {number_text(float(a['start']))})")
    return w.emit(node, f"cast({x}, {dtype})")


def softmax(name):
    def rule(w, node, a):
        dtype = ", dtype=f32" if a.get("half_to_float") else f", dtype={dtype_text(a['dtype'])}" if a.get("dtype") else ""
        return w.emit(node, f"{name}({a['self']}, dim={a['dim']}{dtype})")

    return rule


def first_result(template, whole):
    """An op whose further results are for training: the plain op where only the first is read."""

    def rule(w, node, a):
        used = {user.args[1] for user in node.users}
        if used - {0}:
            return w.call(node, whole, a)
        return (w.emit(node, w.call_text(node, template, a), w.meta(node)[0]),) + (None,) * (len(w.meta(node)) - 1)

    return rule


def random(call):
    """Random numbers: the seed is an input, and every op has a stream of its own."""

    def rule(w, node, a):
        size, dtype = w.size_list(w.meta(node).shape), dtype_text(w.meta(node).dtype)
        known = {"seed": w.seed(), "size": size, "dtype": dtype, "stream": w.new_stream()}
        return w.emit(node, call.format(**known, **{name: w.argument(v) for name, v in a.items() if name not in known}))

    return rule


def dropout(w, node, a):
    if a["train"] is False:
        size = w.size_list(w.meta(node)[1].shape)
        return a["input"], w.emit(node, f"full(size={size}, fill_value=1, dtype=bool)", w.meta(node)[1])
    return w.emit(node, f"native_dropout({a['input']}, {w.seed()}, p={number_text(a['p'])}, stream={w.new_stream()})")


def addmv(w, node, a):
    product = w.new_tensor(node, f"matmul({a['mat']}, {a['vec']})")
    scaled = a["self"] if a["beta"] == 1 else w.new_tensor(node, f"mul({a['self']}, {number_text(a['beta'])})")
    return w.emit(node, f"add({scaled}, {product}, alpha={number_text(a['alpha'])})")


def embedding_bag(w, node, a):
    """Rows of the table, added (or their mean or largest) into the bag that each index lies in: the last that begins at
    or before its position. An empty bag is 0. With include_last_offset the last one is dropped."""
    if {user.args[1] for user in node.users} - {0} or a["padding_idx"] >= 0:
        raise ExportError(f"{node.target}: only its first result, without padding_idx")
    meta, dropped_bags = w.meta(node)[0], int(a["include_last_offset"])
    shape, count = [meta.shape[0] + dropped_bags, meta.shape[1]], w.size_list(w.meta(node.args[1]).shape)

    def step(call):
        return w.new_tensor(node, call)

    def full(size, value):
        return step(f"full(size={size}, fill_value={value}, dtype={dtype_text(meta.dtype)})")

    rows = step(f"embedding({a['weight']}, {a['indices']})")
    if a["per_sample_weights"] is not None:
        weights = step(f"unsqueeze({a['per_sample_weights']}, dim=1)")
        rows = step(f"mul({rows}, {weights})")
    places = step(f"arange(start=0, end={count[1:-1]})")
    bag = step(f"searchsorted({a['offsets']}, {places}, right=true)")
    bag, bags = step(f"sub({bag}, 1)"), full(w.size_list(shape), 0)
    if a["mode"] == 2:
        bag = step(f"unsqueeze({bag}, dim=1)")
        bag = step(f"expand({bag}, size=[{count[1:-1]}, {w.size_list(shape[1:])[1:-1]}])")
        bags = step(f'scatter_reduce({bags}, {bag}, {rows}, dim=0, reduce="amax", include_self=false)')
    else:
        bags = step(f"index_add({bags}, {bag}, {rows}, dim=0)")
    if a["mode"] == 1:
        counts = step(f"index_add({full(w.size_list(shape[:1]), 0)}, {bag}, {full(count, 1)}, dim=0)")
        counts = step(f"clamp({counts}, min=1)")
        counts = step(f"unsqueeze({counts}, dim=1)")
        bags = step(f"div({bags}, {counts})")
    result = w.emit(node, f"slice({bags}, end={-dropped_bags if dropped_bags else 'none'})", meta)
    return (result,) + (None,) * (len(w.meta(node)) - 1)


def var_unbiased(w, node, a):
    return w.call(node, f"var(self, dim=, correction={int(a['unbiased'])}, keepdim=)", a)


def guard(w, node, a):
    condition = a["self"]
    if isinstance(condition, Size):
        if not w.data_sizes & set(re.findall(r"\w+", condition.text)):
            w.guards.append(condition.text)
        elif "==" in condition.text:  # bounds stand where the size is made
            w.lines.append(f"fact {condition.text}")
    elif condition is False or condition == 0:
        raise ExportError(f"an assertion of the program never holds: {a['assert_msg']}")
    return None


def dropped(w, node, a):
    return None


# ---- complex tensors: pairs in a last dimension, which aten's dimensions do not count


def is_complex(w, node):
    """Whether a node of the program gives a complex tensor."""
    return isinstance(node, w.torch.fx.Node) and hasattr(node.meta.get("val"), "dtype") and w.torch_dtype(node).is_complex


def part(w, node, x, i):
    return w.new_tensor(node, f"select({x}, dim=-1, index={i})")


def of_parts(call):
    """A real tensor from the two parts."""

    def rule(w, node, a):
        x = next(iter(a.values()))
        return w.emit(node, call.format(part(w, node, x, 0), part(w, node, x, 1)))

    return rule


def angle(w, node, a):
    if not is_complex(w, node.args[0]):
        raise ExportError(f"{node.target}: of a real tensor; not supported")
    return of_parts("atan2({1}, {0})")(w, node, a)


def conjugate(w, node, a):
    x = next(iter(a.values()))
    minus = w.new_tensor(node, f"neg({part(w, node, x, 1)})")
    return w.emit(node, f"complex({part(w, node, x, 0)}, {minus})")


def complex_from(w, node, a):
    """A cast to a complex type: of a real tensor, with imaginary parts of 0."""
    x, dtype = next(iter(a.values())), dtype_text(w.torch_dtype(node))
    if is_complex(w, node.args[0]):
        return w.emit(node, f"cast({x}, {dtype})")
    x = w.new_tensor(node, f"cast({x}, {dtype})")
    zero = w.new_tensor(node, f"zeros_like({x})")
    return w.emit(node, f"complex({x}, {zero})")


def complex_mul(w, node, a):
    """By a real tensor or a number, of each part; else as (x + i y)(u + i v)."""
    both = [is_complex(w, v) for v in node.args[:2]]
    x, y = a["self"], a["other"]
    if not all(both):
        number, pairs = (y, x) if both[0] else (x, y)
        if isinstance(number, complex):
            raise ExportError(f"{node.target}: a complex number as operand is not supported")
        if not isinstance(number, (int, float)):
            number = w.new_tensor(node, f"unsqueeze({w.operand(number, node)}, dim=-1)")
        return w.emit(node, f"mul({pairs}, {w.operand(number, node)})")
    (r, i), (u, v) = ((part(w, node, z, 0), part(w, node, z, 1)) for z in (x, y))
    product = lambda p, q: w.new_tensor(node, f"mul({p}, {q})")
    real = w.new_tensor(node, f"sub({product(r, u)}, {product(i, v)})")
    imaginary = w.new_tensor(node, f"add({product(r, v)}, {product(i, u)})")
    return w.emit(node, f"complex({real}, {imaginary})")


def both_complex(call):
    def rule(w, node, a):
        if not all(is_complex(w, v) for v in node.args[:2]):
            raise ExportError(f"{node.target}: of a complex and a real operand; not supported")
        return w.call(node, call, a)

    return rule


def counted(call, more=0):
    """A call with dimensions, which are counted from the front here: the last one is the pair."""

    def rule(w, node, a):
        rank = len(w.meta(node.args[0]).shape) + more
        for name, v in a.items():
            if name.startswith("dim"):
                a[name] = [d % rank for d in v] if isinstance(v, (list, tuple)) else v % rank
        if "dims" in a and "permute" in call:
            a["dims"].append(rank)
        if "size" in a:
            a["size"] = [*a["size"], 2]
        return w.call(node, call, a)

    return rule


# Of these ops complex operands or results are supported.
COMPLEX = {
    "_conj": conjugate, "_conj_physical": conjugate, "conj_physical": conjugate, "_to_copy": complex_from,
    "_fft_c2c": "_fft_c2c(self, dim=, normalization=, forward=)", "_fft_c2r": "_fft_c2r(self, dim=, normalization=, last_dim_size=)",
    "_fft_r2c": "_fft_r2c(self, dim=, normalization=, onesided=)",
    "abs": of_parts("hypot({}, {})"), "angle": angle, "add.Tensor": both_complex("add(self, other, alpha=)"),
    "alias": same, "cat": counted("cat(tensors, dim=)"), "clone": same, "complex": "complex(real, imag)", "detach": same,
    "expand": counted("expand(self, size=)"), "imag": "imag(self)", "mul.Tensor": complex_mul, "neg": "neg(self)",
    "permute": counted("permute(self, dims=)"), "polar": "polar(abs, angle)", "real": "real(self)", "select.int": counted("select(self, dim=, index=)"),
    "slice.Tensor": counted("slice(self, dim=, start=, end=, step=)"), "squeeze.dims": counted("squeeze(self, dim=)"), "sub.Tensor": both_complex("sub(self, other, alpha=)"),
    "transpose.int": counted("transpose(self, dim0=, dim1=)"), "unsqueeze": counted("unsqueeze(self, dim=)", 1),
    "view": counted("view(self, size=)"), "view_as_complex": same, "view_as_real": same,
}


def data_size(w, shape):
    """A size that comes from data and is new in this shape gets its name; the bounds that torch knows, as arguments."""
    for s in shape:
        for symbol in s.node.expr.free_symbols if hasattr(s, "node") else ():
            if symbol in w.sizes.name_of:
                continue
            w.sizes.name_of[symbol] = name = w.names.new(str(symbol))
            w.data_sizes.add(name)
            bounds = w.program.range_constraints.get(symbol)
            lo = int(bounds.lower) if bounds is not None and bounds.lower.is_Integer else 0
            hi = int(bounds.upper) if bounds is not None and bounds.upper.is_Integer else 2**63 - 1
            return lo, hi if hi < 2**40 else None
    return 0, None


def length_bounds(w, shape, dim=0):
    """What torch knows of a size from data, as arguments; it may be one that is known already (torch._check(a == b))."""
    known = hasattr(shape[dim], "node") and shape[dim].node.expr.free_symbols <= set(w.sizes.name_of)
    lo, hi = data_size(w, shape)
    if known:
        lo = hi = w.argument(w.size_value(shape[dim]))
    return (f", min_length={lo}" if lo != 0 else "") + (f", max_length={hi}" if hi is not None else "")


def chosen(template):
    """An op that chooses elements: as many as the data say."""

    def rule(w, node, a):
        bounds = length_bounds(w, w.meta(node).shape)
        return w.emit(node, w.call_text(node, template, a)[:-1] + bounds + ")")

    return rule


def indexed(template):
    """A mask among the indices stands for its nonzero, which is written out, as it makes a size."""

    def rule(w, node, a):
        for mask in filter(None, node.args[1]):
            value = mask.meta["val"]
            new = [s for s in w.meta(node).shape if hasattr(s, "node") and not s.node.expr.free_symbols <= set(w.sizes.name_of)]
            if value.dtype != w.torch.bool or not new:
                continue
            bounds = length_bounds(w, new)
            name = w.names.new(f"{node.name}.part")
            w.lines.append(f"{name} : i64[{w.argument(w.size_value(new[0]))}, {value.dim()}] = nonzero({w.value_of[mask]}{bounds})")
        return w.call(node, template, a)

    return rule


def unique(op, flags):
    """Values, inverse, counts: what is not wanted is not made."""

    def rule(w, node, a):
        metas = w.meta(node)
        wanted = [True, bool(a[flags[0]]), bool(a[flags[1]])]
        bounds = length_bounds(w, metas[0].shape, a.get("dim") or 0)
        along = f", dim={a['dim']}" if a.get("dim") is not None else ""
        call = f"{op}({w.operand(a['self'], node)}" + "".join(f", {flag}=true" for flag, want in zip(flags, wanted[1:]) if want) + along + bounds + ")"
        names = [w.names.new(f"{node.name}.{i}") if want else None for i, want in enumerate(wanted)]
        types = [w.type_text(metas[0])] + ["i64" + w.size_list(m.shape) if want else "" for m, want in zip(metas[1:], wanted[1:])]  # torch's meta may say i32
        w.lines.append(", ".join(f"{n} : {t}" for n, t in zip(names, types) if n) + f" = {call}")
        return tuple(names)

    return rule


def repeated(w, node, a):
    """Without output_size its bound must be known."""
    if a["output_size"] is not None:
        return w.call(node, "repeat_interleave(repeats, output_size=)", a)
    lo, hi = data_size(w, w.meta(node).shape)
    if hi is None:
        raise ExportError(f"{node.target}: the length of its result has no bound; give output_size, or torch._check(size <= most)")
    return w.emit(node, w.call_text(node, "repeat_interleave(repeats)", a)[:-1] + f", max_output_size={hi})")


def counted_values(w, node, a):
    """As long as the largest value says, at most as torch knows."""
    lo, hi = data_size(w, w.meta(node).shape)
    if hi is None:
        raise ExportError(f"{node.target}: the length of its result has no bound; give torch._check(size <= most)")
    return w.emit(node, w.call_text(node, "bincount(self, weights, minlength=)", a)[:-1] + f", max_output_size={hi})")


def window(w, node, a):
    beta, dtype = a.get("beta"), dtype_text(w.meta(node).dtype)
    more = f", beta={number_text(float(beta))}" if beta is not None else ""
    return w.emit(node, f"kaiser_window({a['window_length']}, periodic={'false' if a.get('periodic') is False else 'true'}{more}, dtype={dtype})")


def frequencies(op):
    def rule(w, node, a):
        return w.emit(node, f"{op}({a['n']}, d={number_text(float(a['d']))}, dtype={dtype_text(w.meta(node).dtype)})")

    return rule


def resampled(op):
    """Scales, where they are given, say the steps, and the size follows from them."""

    def rule(w, node, a):
        scales = [v for name, v in a.items() if name.startswith("scales")]
        corners = ", align_corners=" if "align_corners" in a else ""
        if None in scales:
            return w.call(node, f"{op}(self, output_size={corners})", a)
        factors = ", ".join(number_text(float(s)) for s in scales)
        return w.emit(node, w.call_text(node, f"{op}(self{corners})", a)[:-1] + f", scale_factors=[{factors}])")

    return rule


# ---- ops that the library has in another form


class Steps:
    """Lines of an op that becomes several: steps.mul(x, 2) writes mul(x, 2) and returns the name of its result,
    steps.finish("mul", x, 2) writes the last line, whose result is the op's. Sizes may be operands and arguments."""

    def __init__(self, w, node):
        self.w, self.node = w, node

    def __getattr__(self, op):
        return lambda *operands, **arguments: self.w.new_tensor(self.node, self.text(op, operands, arguments))

    def text(self, op, operands, arguments):
        positional = [self.w.operand(v, self.node) for v in operands]
        return f"{op}({', '.join(positional + [f'{name}={self.w.argument(v)}' for name, v in arguments.items()])})"

    def finish(self, op, *operands, meta=None, **arguments):
        return self.w.emit(self.node, self.text(op, operands, arguments), meta)

    def size_of(self, node, dim):
        return self.w.size_value(self.w.meta(node).shape[dim])

    def sizes(self, shape):
        return [self.w.size_value(s) for s in shape]

    def type_of(self, meta):
        return dtype_text(meta.dtype)


def reduced_scatter(w, node, a):
    """scatter with reduce=. A number becomes a tensor of the index's size."""
    s, reduce = Steps(w, node), {"add": '"sum"', "multiply": '"prod"'}[a["reduce"]]
    source = a.get("src")
    if source is None:
        source = s.full(size=s.sizes(w.meta(node.args[2]).shape), fill_value=a["value"], dtype=s.type_of(w.meta(node)))
    return s.finish("scatter_reduce", a["self"], a["index"], source, dim=a["dim"], reduce=reduce)


def index_reduce(w, node, a):
    """scatter_reduce, the index expanded to the size of the source."""
    s, size = Steps(w, node), list(w.meta(node.args[3]).shape)
    dim = a["dim"] % max(len(size), 1)
    index = s.view(a["index"], size=s.sizes([n if d == dim else 1 for d, n in enumerate(size)]))
    index = s.expand(index, size=s.sizes(size))
    return s.finish("scatter_reduce", a["self"], index, a["source"], dim=dim, reduce=f'"{a["reduce"]}"', include_self=a["include_self"])


def segment_reduce(w, node, a):
    """scatter_reduce along the axis. The segment of a position is the last one that begins at or before it. One extra segment
    at each end takes the elements that belong to none, and is sliced off."""
    s, meta, size = Steps(w, node), w.meta(node), list(w.meta(node.args[0]).shape)
    axis = a["axis"] % len(size)
    start = {"sum": 0, "mean": 0, "prod": 1, "max": -math.inf, "min": math.inf}[a["reduce"]]
    op = {"mean": "sum", "max": "amax", "min": "amin"}.get(a["reduce"], a["reduce"])

    def spread(x, to):
        """Expands over the dimensions after the axis."""
        x = s.view(x, size=s.sizes([n if d <= axis else 1 for d, n in enumerate(to)]))
        return s.expand(x, size=s.sizes(to))

    lengths, begins = a["lengths"], a["offsets"]
    if begins is None:
        begins = s.constant_pad_nd(s.cumsum(lengths, dim=axis), pad=[1, 0])
    else:
        lengths = s.diff(begins, dim=axis)
    places = s.expand(s.arange(start=0, end=s.size_of(node.args[0], axis)), size=s.sizes(size[: axis + 1]))
    segment = spread(s.searchsorted(begins, places, right=True), size)
    x = s.full(size=s.sizes([*size[:axis], meta.shape[axis] + 2, *size[axis + 1 :]]),
               fill_value=start if a["initial"] is None else a["initial"], dtype=s.type_of(meta))
    x = s.scatter_reduce(x, segment, a["data"], dim=axis, reduce=f'"{op}"')
    if a["reduce"] != "mean":
        return s.finish("slice", x, dim=axis, start=1, end=-1)
    count = spread(lengths, meta.shape)
    if a["initial"] is not None:  # without it an empty segment gives 0 / 0, as in PyTorch
        count = s.clamp(count, min=1)
    return s.finish("div", s.slice(x, dim=axis, start=1, end=-1), count)


def strided_scatter(w, node, a):
    """put, at the positions that the strides address."""
    if not w.meta(node.args[0]).is_contiguous():
        raise ExportError(f"{node.target}: of a tensor that is not contiguous; not supported")
    s = Steps(w, node)
    places = s.add(s.full(size=[], fill_value=0, dtype="i64"), a["storage_offset"] or 0)
    for d, (n, stride) in enumerate(zip(a["size"], a["stride"])):
        along = s.mul(s.arange(start=0, end=n), stride)
        places = s.add(places, s.view(along, size=[n] + [1] * (len(a["size"]) - d - 1)))
    return s.finish("put", a["self"], places, a["src"])


def frexp(w, node, a):
    """The mantissa is x * 2^-e in f64, as two factors, because 2^-e may overflow. e comes from log2 and is corrected by one
    where log2 rounds across a power of two. 0, infinities and NaN are their own mantissas."""
    s, (mantissa, exponent) = Steps(w, node), w.meta(node)
    x = s.cast(a["self"], "f64")
    e = s.floor(s.log2(s.abs(x)))
    finite = s.isfinite(e)
    e = s.where(finite, e, 0.0)
    half = s.floor(s.mul(e, 0.5))
    m = s.mul(s.mul(x, s.exp2(s.neg(half))), s.exp2(s.sub(half, e)))
    size = s.abs(m)  # in [1, 2) unless log2 was rounded across a power of two
    e = s.add(e, s.where(s.ge(size, 2.0), 2.0, s.where(s.lt(size, 1.0), 0.0, 1.0)))
    m = s.mul(m, s.where(s.ge(size, 2.0), 0.25, s.where(s.lt(size, 1.0), 1.0, 0.5)))
    m, e = s.where(finite, m, x), s.where(finite, e, 0.0)
    return s.finish("cast", m, s.type_of(mantissa), meta=mantissa), s.finish("cast", e, s.type_of(exponent), meta=exponent)


def triangle_indices(upper):
    """The row of an element is found by searchsorted in the running counts of the rows' elements. Its column is counted back
    from the end of its row's part."""

    def rule(w, node, a):
        s, meta, columns = Steps(w, node), w.meta(node), a["col"]
        if 0 in [n for n in meta.shape if isinstance(n, int)]:
            return s.finish("full", size=s.sizes(meta.shape), fill_value=0, dtype=s.type_of(meta))
        edge = s.add(s.arange(start=0, end=a["row"]), a["offset"] if upper else a["offset"] + 1)
        edge = s.clamp(edge, 0, columns)  # begin (upper) or end (lower) of a row's part
        ends = s.cumsum(s.sub(columns, edge) if upper else edge, dim=0)
        places = s.arange(start=0, end=s.size_of(node, 1))
        row = s.searchsorted(ends, places, right=True)
        last = columns if upper else s.index_select(edge, row, dim=0)
        column = s.add(s.sub(places, s.index_select(ends, row, dim=0)), last)
        return s.finish("cast", s.stack([row, column], dim=0), s.type_of(meta))

    return rule


def histogram_edges(s, a, meta):
    """Bins of equal width over the given range, or from the least to the largest value. An empty range is widened by 1/2 at
    both ends, as in PyTorch."""
    bins, dtype = a["bins"], s.type_of(meta)
    if a["range"] is not None:
        lo, hi = (float(v) for v in a["range"])
        margin = 0.5 if lo == hi else 0.0
        return s.finish("linspace", start=lo - margin, end=hi + margin, steps=bins + 1, dtype=dtype, meta=meta)
    lo, hi = s.amin(a["self"]), s.amax(a["self"])
    margin = s.where(s.eq(lo, hi), 0.5, 0.0)
    lo, hi = s.sub(lo, margin), s.add(hi, margin)
    i, width = s.arange(start=0, end=bins + 1), s.div(s.sub(hi, lo), bins)
    up, down = s.add(lo, s.mul(i, width)), s.sub(hi, s.mul(s.sub(bins, i), width))
    return s.finish("where", s.lt(i, (bins + 1) // 2), up, down, meta=meta)


def histogram(w, node, a):
    """Bins include their lower edge; the last one includes both."""
    s, meta = Steps(w, node), w.meta(node)[0]
    edges = histogram_edges(s, a, w.meta(node)[1]) if isinstance(a["bins"], int) else a["bins"]
    x, none = s.ravel(a["self"]), s.full(size=s.sizes(meta.shape), fill_value=0, dtype=s.type_of(meta))
    inside = s.logical_and(s.ge(x, s.select(edges, dim=0, index=0)), s.le(x, s.select(edges, dim=0, index=-1)))
    place = s.clamp(s.sub(s.searchsorted(edges, x, right=True), 1), 0, w.size_value(meta.shape[0] - 1))
    weight = 1.0 if a["weight"] is None else s.ravel(a["weight"])
    weight = s.cast(s.where(inside, weight, 0.0), s.type_of(meta))
    if not a["density"]:
        return s.finish("index_add", none, place, weight, dim=0, meta=meta), edges
    counts = s.index_add(none, place, weight, dim=0)
    return s.finish("div", s.div(counts, s.sum(counts)), s.diff(edges), meta=meta), edges


def trilinear(w, node, a):
    """The sum of products of three unsqueezed tensors; bilinear where the dimensions are those of torch.nn.Bilinear."""
    s, ranks = Steps(w, node), [w.meta(x).dim() + len(a[f"expand{k}"]) for k, x in enumerate(node.args[:3], 1)]
    expand = [sorted(d % rank for d in a[f"expand{k}"]) for k, rank in enumerate(ranks, 1)]
    dims = sorted(d % ranks[0] for d in a["sumdim"])
    if (expand, dims, ranks[0]) == ([[1, 3], [0], [1, 2]], [2, 3], 4):
        return s.finish("bilinear", a["i1"], a["i3"], a["i2"])
    parts = [a["i1"], a["i2"], a["i3"]]
    for k, added in enumerate(expand):
        for d in added:
            parts[k] = s.unsqueeze(parts[k], dim=d)
    product = s.mul(s.mul(parts[0], parts[1]), parts[2])
    return s.finish("sum", product, dim=dims) if dims else s.finish("alias", product)


def grouped_product(left, right):
    """Each row of the first operand times the matrix of its group, as a sum of products in one reduction. The matrices are
    gathered inside the reduction, so that no tensor of their size is stored, and only those of groups with rows are read.
    Rows after the last group are 0. Accumulates in f32, or f64. Tensor cores are not used."""

    def rule(w, node, a):
        s, x, y, ends = Steps(w, node), a[left], a[right], a["offs"]
        ranks = [w.meta(v).dim() for v in node.args[:2]]
        if a.get("bias") is not None or a.get("out_dtype") is not None or ranks != ([3, 3] if ends is None else [2, 3]):
            raise ExportError(f"{node.target}: only of groups of rows, and of batches; without bias and out_dtype")
        if ends is None:
            return s.finish("matmul", x, y)
        meta, groups = w.meta(node), s.size_of(node.args[1], 0)
        wide = "f64" if meta.dtype == w.torch.float64 else "f32"
        group = s.searchsorted(ends, s.arange(start=0, end=s.size_of(node, 0)), right=True)
        inside = s.unsqueeze(s.lt(group, groups), dim=1)
        last = w.size_value(w.meta(node.args[1]).shape[0] - 1)
        rows, matrices = s.unsqueeze(x, dim=2), s.index_select(y, s.clamp(group, 0, last), dim=0)
        if s.type_of(meta) == wide:
            return s.finish("where", inside, s.sum(s.mul(rows, matrices), dim=[1]), 0.0)
        sums = s.sum(s.mul(s.cast(rows, wide), s.cast(matrices, wide)), dim=[1])
        return s.finish("cast", s.where(inside, sums, 0.0), s.type_of(meta))

    return rule


# ---- random numbers of other distributions: from rand and randn, in f32; in f64 for results in f64 and integers


class Draws(Steps):
    """Steps that start from random numbers of the size of the op's result, with their own stream."""

    def __init__(self, w, node):
        super().__init__(w, node)
        self.meta = w.meta(node)
        self.wide = self.meta.dtype not in (w.torch.float32, w.torch.float16, w.torch.bfloat16)

    def number(self, op):
        size, dtype = self.sizes(self.meta.shape), "f64" if self.wide else "f32"
        return getattr(self, op)(self.w.seed(), size=size, dtype=dtype, stream=self.w.new_stream())

    def half_step(self):
        """Half the distance between two numbers of rand."""
        return 2.0**-54 if self.wide else 2.0**-25

    def unit_exponential(self):
        """-log(1 - u), u in [0, 1)."""
        return self.neg(self.log1p(self.neg(self.number("rand"))))

    def scaled(self, x, scale, shift):
        """x * scale + shift, each a number or a tensor."""
        x = x if isinstance(scale, (int, float)) and scale == 1 else self.mul(x, scale)
        return x if isinstance(shift, (int, float)) and shift == 0 else self.add(x, shift)

    def finish_cast(self, x):
        return self.finish("cast", x, self.type_of(self.meta))


def normal(w, node, a):
    s = Draws(w, node)
    return s.finish_cast(s.scaled(s.number("randn"), a["std"], a["mean"]))


def log_normal(w, node, a):
    s = Draws(w, node)
    return s.finish_cast(s.exp(s.scaled(s.number("randn"), a["std"], a["mean"])))


def uniform(w, node, a):
    """In [from, to): a result that rounds to the upper end becomes the lower one, as in PyTorch."""
    s, lo, hi = Draws(w, node), a["from"], a["to"]
    if not all(isinstance(v, (int, float)) for v in (lo, hi)):
        raise ExportError(f"{node.target}: a bound that is computed from sizes is not supported")
    x = s.cast(s.scaled(s.number("rand"), hi - lo, lo), s.type_of(s.meta))
    return s.finish("where", s.ge(x, float(hi)), float(lo), x)


def exponential(w, node, a):
    """Greater than 0, as in PyTorch: half a step where u is 0."""
    s = Draws(w, node)
    return s.finish_cast(s.div(s.clamp(s.unit_exponential(), min=s.half_step()), a["lambd"]))


def geometric(w, node, a):
    """The number of trials up to the first success: 1, 2, .."""
    if not isinstance(a["p"], (int, float)) or not 0 < a["p"] < 1:
        raise ExportError(f"{node.target}: p must be a number in (0, 1)")
    s = Draws(w, node)
    return s.finish_cast(s.clamp(s.ceil(s.div(s.unit_exponential(), -math.log1p(-a["p"]))), min=1))


def cauchy(w, node, a):
    """tan(pi v), v = u - 1/2 plus half a step: symmetric about 0, and finite."""
    s = Draws(w, node)
    v = s.add(s.sub(s.number("rand"), 0.5), s.half_step())
    return s.finish_cast(s.scaled(s.tan(s.mul(v, math.pi)), a["sigma"], a["median"]))


def bernoulli(w, node, a):
    """Of the type and size of the first operand, with one probability or a tensor of them."""
    s, p = Draws(w, node), a["p"]
    p = s.expand(p if isinstance(p, str) else s.full(size=[], fill_value=p), size=s.sizes(s.meta.shape))
    return s.finish_cast(s.bernoulli(p, w.seed(), stream=w.new_stream()))


def random_integers(w, node, a):
    """In [0, to). Without a bound up to the largest integer of the type, or the last one before a float type skips some."""
    s, high = Draws(w, node), a.get("to")
    size, dtype = s.sizes(s.meta.shape), s.type_of(s.meta)
    if high is None:
        most = {"bool": 1, "u8": 255, "f16": 2**11, "bf16": 2**8, "f32": 2**24, "f64": 2**53}
        high = most.get(dtype, 2 ** (8 * s.meta.element_size() - 1) - 1) + 1
    if not isinstance(high, int) or high < 2**63:
        return s.finish("randint", w.seed(), high=high, size=size, dtype=dtype, stream=w.new_stream())
    bits = s.philox(w.seed(), w.new_stream(), s.arange(start=0, end=w.size_value(s.meta.numel())), first=0, width=63)
    return s.finish("view", bits, size=size)


# ---- the table

# Overload of aten (".default" left out) -> call in the text form. In a call, x is the argument x by position, `x=` the
# argument x by name, left out where it is aten's default or None; `x=y` the argument y, or a constant, under the name x.
# Or: a pair of words and a function above. Or: "not supported: why".
#
# First all of Core ATen, in its order.
RAND = "rand({seed}, size={size}, dtype={dtype}, stream={stream})"
RANDN = "randn({seed}, size={size}, dtype={dtype}, stream={stream})"
RANDINT = "randint({seed}, low={low}, high={high}, size={size}, dtype={dtype}, stream={stream})"
RANDPERM = "randperm({seed}, n={n}, dtype={dtype}, stream={stream})"
MULTINOMIAL = "multinomial({self}, {seed}, num_samples={num_samples}, replacement={replacement}, stream={stream})"
TABLE = {
    "_adaptive_avg_pool2d": "_adaptive_avg_pool2d(self, output_size=)",
    "_adaptive_avg_pool2d_backward": "_adaptive_avg_pool2d_backward(grad_output, self)",
    "_adaptive_avg_pool3d": "_adaptive_avg_pool3d(self, output_size=)",
    "_cdist_forward": "_cdist_forward(x1, x2, p=, compute_mode=)",
    "_embedding_bag": ("embedding and index_add, or scatter_reduce", embedding_bag),
    "_fft_c2r": "_fft_c2r(self, dim=, normalization=, last_dim_size=)",
    "_fft_r2c": "_fft_r2c(self, dim=, normalization=, onesided=)",
    "_local_scalar_dense": "not supported: gives a number to the host, which reads it back from an output",
    "_log_softmax": ("log_softmax", softmax("log_softmax")),
    "_native_batch_norm_legit":
        "_native_batch_norm_legit(input, weight, bias, running_mean, running_var, training=, momentum=, eps=)",
    "_native_batch_norm_legit.no_stats": "_native_batch_norm_legit(input, weight, bias, training=, momentum=, eps=)",
    "_native_batch_norm_legit_no_training":
        "_native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum=, eps=)",
    "_pdist_forward": "_pdist_forward(self, p=)",
    "_softmax": ("softmax", softmax("softmax")),
    "_to_copy": ("cast, or nothing where the type stays", cast),
    "abs": "abs(self)",
    "acos": "acos(self)",
    "acosh": "acosh(self)",
    "adaptive_avg_pool1d": "adaptive_avg_pool1d(self, output_size=)",
    "add.Scalar": "add(self, other, alpha=)",
    "add.Tensor": "add(self, other, alpha=)",
    "addmm": "addmm(self, mat1, mat2, beta=, alpha=)",
    "alias": ("nothing: another name", same),
    "amax": "amax(self, dim=, keepdim=)",
    "amin": "amin(self, dim=, keepdim=)",
    "any": "any(self)",
    "any.dim": "any(self, dim=, keepdim=)",
    "any.dims": "any(self, dim=, keepdim=)",
    "arange.start_step": ("arange", arange),
    "argmax": "argmax(self, dim=, keepdim=)",
    "argmin": "argmin(self, dim=, keepdim=)",
    "as_strided": "as_strided(self, size=, stride=, storage_offset=)",
    "asin": "asin(self)",
    "asinh": "asinh(self)",
    "atan": "atan(self)",
    "atan2": "atan2(self, other)",
    "atan2.out": "not supported: an export has no out= forms",
    "atanh": "atanh(self)",
    "avg_pool1d": "avg_pool1d(self, kernel_size=, stride=, padding=, ceil_mode=, count_include_pad=)",
    "avg_pool2d": "avg_pool2d(self, kernel_size=, stride=, padding=, ceil_mode=, count_include_pad=, divisor_override=)",
    "avg_pool2d_backward":
        "avg_pool2d_backward(grad_output, self, kernel_size=, stride=, padding=, ceil_mode=, count_include_pad=, divisor_override=)",
    "avg_pool3d": "avg_pool3d(self, kernel_size=, stride=, padding=, ceil_mode=, count_include_pad=, divisor_override=)",
    "bitwise_and.Scalar": "bitwise_and(self, other)",
    "bitwise_and.Tensor": "bitwise_and(self, other)",
    "bitwise_not": "bitwise_not(self)",
    "bitwise_or.Scalar": "bitwise_or(self, other)",
    "bitwise_or.Tensor": "bitwise_or(self, other)",
    "bitwise_xor.Scalar": "bitwise_xor(self, other)",
    "bitwise_xor.Tensor": "bitwise_xor(self, other)",
    "bmm": "bmm(self, mat2)",
    "cat": "cat(tensors, dim=)",
    "ceil": "ceil(self)",
    "clamp": "clamp(self, min=, max=)",
    "clamp.Tensor": "clamp(self, min=, max=)",
    "clone": ("nothing: another name", same),
    "col2im": "col2im(self, output_size=, kernel_size=, dilation=, padding=, stride=)",
    "constant_pad_nd": "constant_pad_nd(self, pad=, value=)",
    "convolution": "convolution(input, weight, bias, stride=, padding=, dilation=, transposed=, output_padding=, groups=)",
    "convolution_backward": "convolution_backward(grad_output, input, weight, stride=, padding=, dilation=, transposed=, output_padding=, groups=)",
    "copy": "copy(self, src)",
    "cos": "cos(self)",
    "cosh": "cosh(self)",
    "cumsum": "cumsum(self, dim=, dtype=)",
    "diagonal": "diagonal(self, offset=, dim1=, dim2=)",
    "div.Scalar": "div(self, other)",
    "div.Scalar_mode": "div(self, other, rounding_mode=)",
    "div.Tensor": "div(self, other)",
    "div.Tensor_mode": "div(self, other, rounding_mode=)",
    "elu": "elu(self, alpha=, scale=, input_scale=)",
    "embedding": "embedding(weight, indices)",
    "embedding_dense_backward":
        "embedding_dense_backward(grad_output, indices, num_weights=, padding_idx=, scale_grad_by_freq=)",
    "empty.memory_format": ("full, of zeros", filled(0)),
    "empty_strided": ("full, of zeros", filled(0)),
    "eq.Scalar": "eq(self, other)",
    "eq.Tensor": "eq(self, other)",
    "erf": "erf(self)",
    "exp": "exp(self)",
    "expand": "expand(self, size=)",
    "expm1": "expm1(self)",
    "fill.Scalar": "fill(self, value)",
    "flip": "flip(self, dims=)",
    "floor": "floor(self)",
    "fmod.Scalar": "fmod(self, other)",
    "fmod.Tensor": "fmod(self, other)",
    "full": ("full", filled("fill_value")),
    "full_like": ("full", filled("fill_value")),
    "gather": "gather(self, index, dim=)",
    "ge.Scalar": "ge(self, other)",
    "ge.Tensor": "ge(self, other)",
    "gelu": "gelu(self, approximate=)",
    "grid_sampler_2d": "grid_sampler_2d(input, grid, interpolation_mode=, padding_mode=, align_corners=)",
    "gt.Scalar": "gt(self, other)",
    "gt.Tensor": "gt(self, other)",
    "hardtanh": "hardtanh(self, min_val=, max_val=)",
    "index.Tensor": ("index", indexed("index(self, indices=)")),
    "index_put": "index_put(self, values=, indices=, accumulate=)",
    "index_select": "index_select(self, index, dim=)",
    "isinf": "isinf(self)",
    "isnan": "isnan(self)",
    "le.Scalar": "le(self, other)",
    "le.Tensor": "le(self, other)",
    "leaky_relu": "leaky_relu(self, negative_slope=)",
    "log": "log(self)",
    "log10": "log10(self)",
    "log1p": "log1p(self)",
    "log2": "log2(self)",
    "logical_and": "logical_and(self, other)",
    "logical_not": "logical_not(self)",
    "logical_or": "logical_or(self, other)",
    "logical_xor": "logical_xor(self, other)",
    "lt.Scalar": "lt(self, other)",
    "lt.Tensor": "lt(self, other)",
    "masked_scatter": "masked_scatter(self, mask, source)",
    "max.dim": "max(self, dim=, keepdim=)",
    "max_pool2d_with_indices": "max_pool2d_with_indices(self, kernel_size=, stride=, padding=, dilation=, ceil_mode=)",
    "max_pool2d_with_indices_backward":
        "max_pool2d_with_indices_backward(grad_output, self, indices, kernel_size=, stride=, padding=, dilation=, ceil_mode=)",
    "max_pool3d_with_indices": "max_pool3d_with_indices(self, kernel_size=, stride=, padding=, dilation=, ceil_mode=)",
    "maximum": "maximum(self, other)",
    "mean": "mean(self, dtype=)",
    "mean.dim": "mean(self, dim=, keepdim=, dtype=)",
    "min.dim": "min(self, dim=, keepdim=)",
    "minimum": "minimum(self, other)",
    "mm": "mm(self, mat2)",
    "mul.Scalar": "mul(self, other)",
    "mul.Tensor": "mul(self, other)",
    "native_dropout": ("native_dropout; nothing where it is not trained", dropout),
    "native_group_norm": ("group_norm", first_result("group_norm(input, weight, bias, num_groups=group, eps=eps)",
                                                      "native_group_norm(input, weight, bias, N=, C=, HxW=, group=, eps=eps)")),
    "native_group_norm_backward":
        "native_group_norm_backward(grad_out, input, mean, rstd, weight, N=, C=, HxW=, group=, output_mask=)",
    "native_layer_norm": ("layer_norm", first_result("layer_norm(input, weight, bias, normalized_shape=, eps=eps)",
                                                      "native_layer_norm(input, weight, bias, normalized_shape=, eps=eps)")),
    "native_layer_norm_backward":
        "native_layer_norm_backward(grad_out, input, mean, rstd, weight, bias, normalized_shape=, output_mask=)",
    "ne.Scalar": "ne(self, other)",
    "ne.Tensor": "ne(self, other)",
    "neg": "neg(self)",
    "nonzero": ("nonzero", chosen("nonzero(self)")),
    "permute": "permute(self, dims=)",
    "pow.Scalar": "pow(self, exponent)",
    "pow.Tensor_Scalar": "pow(self, exponent)",
    "pow.Tensor_Tensor": "pow(self, exponent)",
    "prod": "prod(self, dtype=)",
    "prod.dim_int": "prod(self, dim=, keepdim=, dtype=)",
    "rand": ("rand", random(RAND)),
    "randn": ("randn", random(RANDN)),
    "randperm": ("randperm", random(RANDPERM)),
    "reciprocal": "reciprocal(self)",
    "reflection_pad1d": "reflection_pad1d(self, padding=)",
    "reflection_pad2d": "reflection_pad2d(self, padding=)",
    "reflection_pad3d": "reflection_pad3d(self, padding=)",
    "relu": "relu(self)",
    "remainder.Scalar": "remainder(self, other)",
    "remainder.Tensor": "remainder(self, other)",
    "repeat": "repeat(self, repeats=)",
    "replication_pad2d": "replication_pad2d(self, padding=)",
    "replication_pad3d": "replication_pad3d(self, padding=)",
    "resize_": "not supported: the size of a tensor is part of the graph",
    "round": "round(self)",
    "rsqrt": "rsqrt(self)",
    "scalar_tensor": ("full", filled("s")),
    "scatter.src": "scatter(self, index, src, dim=)",
    "scatter.value": "scatter(self, index, dim=, value=)",
    "scatter_add": "scatter_add(self, index, src, dim=)",
    "scatter_reduce.two": "scatter_reduce(self, index, src, dim=, reduce=, include_self=)",
    "select.int": "select(self, dim=, index=)",
    "select_scatter": "select_scatter(self, src, dim=, index=)",
    "sigmoid": "sigmoid(self)",
    "sign": "sign(self)",
    "sin": "sin(self)",
    "sinh": "sinh(self)",
    "slice.Tensor": "slice(self, dim=, start=, end=, step=)",
    "slice_scatter": "slice_scatter(self, src, dim=, start=, end=, step=)",
    "sort": "sort(self, dim=, descending=)",
    "split_with_sizes": "split_with_sizes(self, split_sizes=, dim=)",
    "sqrt": "sqrt(self)",
    "squeeze.dim": "squeeze(self, dim=)",
    "squeeze.dims": "squeeze(self, dim=)",
    "sub.Scalar": "sub(self, other, alpha=)",
    "sub.Tensor": "sub(self, other, alpha=)",
    "sum.dim_IntList": "sum(self, dim=, keepdim=, dtype=)",
    "sym_is_contiguous": ("an expression in sizes", dropped),
    "sym_numel": ("an expression in sizes", dropped),
    "sym_size.int": ("an expression in sizes", dropped),
    "sym_storage_offset": ("an expression in sizes", dropped),
    "sym_stride.int": ("an expression in sizes", dropped),
    "tan": "tan(self)",
    "tanh": "tanh(self)",
    "topk": "topk(self, k=, dim=, largest=, sorted=)",
    "trunc": "trunc(self)",
    "unsqueeze": "unsqueeze(self, dim=)",
    "upsample_bilinear2d.vec": "upsample_bilinear2d(input, output_size=, align_corners=, scale_factors=)",
    "upsample_nearest2d.vec": "upsample_nearest2d(input, output_size=, scale_factors=)",
    "var.correction": "var(self, dim=, correction=, keepdim=)",
    "var.dim": ("var", var_unbiased),
    "view": "view(self, size=)",
    "where.self": "where(condition, self, other)",
}
NUM_CORE_ATEN = len(TABLE)

# What else an export may have: ops that are kept (KEPT), that have no decomposition, and assertions.
TABLE |= {
    "__lshift__.Scalar": "bitwise_left_shift(self, other)",
    "__lshift__.Tensor": "bitwise_left_shift(self, other)",
    "__rshift__.Scalar": "bitwise_right_shift(self, other)",
    "__rshift__.Tensor": "bitwise_right_shift(self, other)",
    "_conj": ("complex, neg and select", conjugate),
    "_conj_physical": ("complex, neg and select", conjugate),
    "_embedding_bag_forward_only": ("embedding and index_add, or scatter_reduce", embedding_bag),
    "_fft_c2c": "_fft_c2c(self, dim=, normalization=, forward=)",
    "_native_batch_norm_legit_functional":
        "_native_batch_norm_legit_functional(input, weight, bias, running_mean, running_var, training=, momentum=, eps=)",
    "_assert_async.msg": ("nothing: about data", dropped),
    "_assert_scalar": ("guard", guard),
    "_assert_tensor_metadata": ("nothing: it is a fact", dropped),
    "adaptive_max_pool2d": "adaptive_max_pool2d(self, output_size=)",
    "adaptive_max_pool3d": "adaptive_max_pool3d(self, output_size=)",
    "addmv": ("matmul, mul and add", addmv),
    "angle": ("atan2, of a complex tensor", angle),
    "bernoulli": ("bernoulli", random("bernoulli({self}, {seed}, stream={stream})")),
    "bitwise_left_shift.Tensor": "bitwise_left_shift(self, other)",
    "bitwise_left_shift.Tensor_Scalar": "bitwise_left_shift(self, other)",
    "bitwise_right_shift.Tensor": "bitwise_right_shift(self, other)",
    "bitwise_right_shift.Tensor_Scalar": "bitwise_right_shift(self, other)",
    "bucketize.Tensor": "bucketize(self, boundaries, out_int32=, right=)",
    "complex": "complex(real, imag)",
    "conj_physical": ("complex, neg and select", conjugate),
    "copysign.Scalar": "copysign(self, other)",
    "copysign.Tensor": "copysign(self, other)",
    "cummax": "cummax(self, dim=)",
    "cummin": "cummin(self, dim=)",
    "cumprod": "cumprod(self, dim=, dtype=)",
    "detach": ("nothing: another name", same),
    "digamma": "digamma(self)",
    "erfc": "erfc(self)",
    "erfinv": "erfinv(self)",
    "exp2": "exp2(self)",
    "hypot": "hypot(self, other)",
    "imag": "imag(self)",
    "i0": "i0(self)",
    "layer_norm": "layer_norm(input, weight, bias, normalized_shape=, eps=)",
    "lgamma": "lgamma(self)",
    "lift_fresh_copy": ("nothing: another name", same),
    "linalg_vector_norm": "linalg_vector_norm(self, ord=, dim=, keepdim=, dtype=)",
    "linear": "linear(input, weight, bias)",
    "logcumsumexp": "logcumsumexp(self, dim=)",
    "matmul": "matmul(self, other)",
    "max": "amax(self)",
    "min": "amin(self)",
    "nextafter": "nextafter(self, other)",
    "polar": "polar(abs, angle)",
    "rand_like": ("rand", random(RAND)),
    "randint.low": ("randint", random(RANDINT)),
    "randn_like": ("randn", random(RANDN)),
    "real": "real(self)",
    "rms_norm": "rms_norm(input, weight, normalized_shape=, eps=)",
    "round.decimals": "round(self, decimals=)",
    "scaled_dot_product_attention":
        "scaled_dot_product_attention(query, key, value, attn_mask, is_causal=, scale=, enable_gqa=)",
    "searchsorted.Tensor": "searchsorted(sorted_sequence, self, sorter, out_int32=, right=, side=)",
    "signbit": "signbit(self)",
    "silu": "silu(self)",
    "softmax.int": ("softmax", softmax("softmax")),
    "sort.stable": "sort(self, dim=, descending=, stable=)",
    "special_i0e": "special_i0e(self)",
    "special_i1": "special_i1(self)",
    "special_i1e": "special_i1e(self)",
    "_unique2": ("unique", unique("unique", ("return_inverse", "return_counts"))),
    "bincount": ("bincount", counted_values),
    "fft_fftfreq": ("fft_fftfreq", frequencies("fft_fftfreq")),
    "fft_rfftfreq": ("fft_rfftfreq", frequencies("fft_rfftfreq")),
    "grid_sampler_3d": "grid_sampler_3d(input, grid, interpolation_mode=, padding_mode=, align_corners=)",
    "histc": "histc(self, bins=, min=, max=)",
    "kaiser_window": ("kaiser_window", window),
    "kaiser_window.beta": ("kaiser_window", window),
    "kaiser_window.periodic": ("kaiser_window", window),
    "_upsample_bicubic2d_aa": ("_upsample_bicubic2d_aa", resampled("_upsample_bicubic2d_aa")),
    "_upsample_bilinear2d_aa": ("_upsample_bilinear2d_aa", resampled("_upsample_bilinear2d_aa")),
    "unique_dim": ("unique", unique("unique", ("return_inverse", "return_counts"))),
    "unique_dim_consecutive": ("unique_consecutive", unique("unique_consecutive", ("return_inverse", "return_counts"))),
    "argwhere": ("argwhere", chosen("argwhere(self)")),
    "masked_select": ("masked_select", chosen("masked_select(self, mask)")),
    "repeat_interleave.Tensor": ("repeat_interleave", repeated),
    "unique_consecutive": ("unique_consecutive", unique("unique_consecutive", ("return_inverse", "return_counts"))),
    "sym_constrain_range": ("nothing: it is a fact", dropped),
    "sym_constrain_range_for_size": ("nothing: it is a fact", dropped),
    "transpose.int": "transpose(self, dim0=, dim1=)",
    "unfold": "unfold(self, dimension=, size=, step=)",
    "var_mean.correction": "var_mean(self, dim=, correction=, keepdim=)",
    "view_as_complex": ("nothing: complex tensors are pairs", same),
    "view_as_real": ("nothing: complex tensors are pairs", same),
    "zero": "fill(self, value=0)",
}

# Special functions, selections, scatters, resampling, grouped products.
TABLE |= {
    "_grouped_mm": ("searchsorted, index_select, mul and sum; matmul of batches", grouped_product("self", "mat2")),
    "_neg_view": "neg(self)",
    "_reshape_copy": "view(self, size=)",
    "_trilinear": ("bilinear, or mul and sum", trilinear),
    "_upsample_nearest_exact1d": ("_upsample_nearest_exact1d", resampled("_upsample_nearest_exact1d")),
    "_upsample_nearest_exact2d": ("_upsample_nearest_exact2d", resampled("_upsample_nearest_exact2d")),
    "_upsample_nearest_exact3d": ("_upsample_nearest_exact3d", resampled("_upsample_nearest_exact3d")),
    "addbmm": "addbmm(self, batch1, batch2, beta=, alpha=)",
    "as_strided_scatter": ("put", strided_scatter),
    "diagonal_scatter": "diagonal_scatter(self, src, offset=, dim1=, dim2=)",
    "dist": "dist(self, other, p=)",
    "empty_permuted": ("full, of zeros", filled(0)),
    "fmax": "fmax(self, other)",
    "fmin": "fmin(self, other)",
    "frexp.Tensor": ("log2, exp2, mul and where", frexp),
    "gcd": "gcd(self, other)",
    "histogram.bin_ct": ("searchsorted and index_add", histogram),
    "histogram.bins_tensor": ("searchsorted and index_add", histogram),
    "igamma": "igamma(self, other)",
    "igammac": "igammac(self, other)",
    "index_reduce": ("scatter_reduce", index_reduce),
    "kthvalue": "kthvalue(self, k=, dim=, keepdim=)",
    "lcm": "lcm(self, other)",
    "ldexp.Tensor": "ldexp(self, other)",
    "median": "median(self)",
    "median.dim": "median(self, dim=, keepdim=)",
    "mode": "mode(self, dim=, keepdim=)",
    "nanmedian": "nanmedian(self)",
    "nanmedian.dim": "nanmedian(self, dim=, keepdim=)",
    "narrow": "narrow(self, dim=, start=, length=)",
    "new_empty": ("full, of zeros", filled(0)),
    "new_empty_strided": ("full, of zeros", filled(0)),
    "polygamma": "polygamma(self, n=)",
    "put": "put(self, index, source, accumulate=)",
    "scatter.reduce": ("scatter_reduce", reduced_scatter),
    "scatter.value_reduce": ("scatter_reduce", reduced_scatter),
    "segment_reduce": ("searchsorted and scatter_reduce", segment_reduce),
    "special_bessel_j0": "special_bessel_j0(self)",
    "special_bessel_j1": "special_bessel_j1(self)",
    "special_bessel_y0": "special_bessel_y0(self)",
    "special_bessel_y1": "special_bessel_y1(self)",
    "special_modified_bessel_i0": "i0(self)",
    "special_modified_bessel_i1": "special_i1(self)",
    "special_zeta": "special_zeta(self, other)",
    "special_zeta.other_scalar": "special_zeta(self, other)",
    "special_zeta.self_scalar": "special_zeta(self, other)",
    "split.Tensor": "split(self, split_size=, dim=)",
    "transformers.grouped_mm_fallback": ("searchsorted, index_select, mul and sum", grouped_product("input", "weight")),
    "tril_indices": ("searchsorted, of the numbers of elements in rows", triangle_indices(False)),
    "triu_indices": ("searchsorted, of the numbers of elements in rows", triangle_indices(True)),
    "unbind.int": "unbind(self, dim=)",
    "upsample_bicubic2d": ("upsample_bicubic2d", resampled("upsample_bicubic2d")),
    "upsample_bilinear2d": ("upsample_bilinear2d", resampled("upsample_bilinear2d")),
    "upsample_linear1d": ("upsample_linear1d", resampled("upsample_linear1d")),
    "upsample_nearest1d": ("upsample_nearest1d", resampled("upsample_nearest1d")),
    "upsample_nearest2d": ("upsample_nearest2d", resampled("upsample_nearest2d")),
    "upsample_nearest3d": ("upsample_nearest3d", resampled("upsample_nearest3d")),
    "upsample_trilinear3d": ("upsample_trilinear3d", resampled("upsample_trilinear3d")),
}

# Random numbers.
TABLE |= {
    "bernoulli.Tensor": ("bernoulli", bernoulli),
    "bernoulli.p": ("bernoulli", bernoulli),
    "cauchy": ("rand, tan", cauchy),
    "exponential": ("rand, log1p", exponential),
    "geometric": ("rand, log1p, ceil", geometric),
    "log_normal": ("randn, exp", log_normal),
    "multinomial": ("multinomial", random(MULTINOMIAL)),
    "normal.Tensor_Tensor": ("randn, mul, add", normal),
    "normal.Tensor_float": ("randn, mul, add", normal),
    "normal.float_Tensor": ("randn, mul, add", normal),
    "normal.float_float": ("randn, mul, add", normal),
    "normal_functional": ("randn, mul, add", normal),
    "randint": ("randint", random(RANDINT.replace("{low}", "0"))),
    "randint_like": ("randint", random(RANDINT.replace("{low}", "0"))),
    "randint_like.low_dtype": ("randint", random(RANDINT)),
    "random": ("randint; philox of i64", random_integers),
    "random.to": ("randint", random_integers),
    "uniform": ("rand, mul, add", uniform),
}

LINEAR_ALGEBRA = """
    _linalg_det _linalg_eigh _linalg_slogdet _linalg_solve_ex _linalg_svd cholesky cholesky_inverse cholesky_solve geqrf
    linalg_cholesky_ex linalg_eig linalg_householder_product linalg_inv_ex linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq
    linalg_lu linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp linalg_pinv.atol_rtol_tensor linalg_qr
    linalg_solve_triangular lu_unpack ormqr triangular_solve
"""
TABLE |= {name: "not supported: the library has no linear algebra decompositions" for name in LINEAR_ALGEBRA.split()}


def overload(target):
    """The key of TABLE for an op. Ops of other namespaces than aten keep theirs; a *_copy op is the view it copies."""
    name = str(target).removeprefix("aten.").removesuffix(".default")
    op, dot, which = name.partition(".")
    view = op.removesuffix("_copy") + dot + which
    return view if name not in TABLE and view in TABLE else name


NO_RULE = "no rule in TABLE"


def rule_of(target):
    """What TABLE has for an op. An op in place that the export left (add_.Tensor) is the pure one's line with an underscore."""
    key = overload(target)
    op, dot, which = key.partition(".")
    pure = TABLE.get(f"{op[:-1]}{dot}{which}") if op.endswith("_") and key not in TABLE else None
    if isinstance(pure, str) and pure.endswith(")"):
        return pure.replace("(", "_(", 1)
    return TABLE.get(key, NO_RULE)


# ---- the writer


class Writer:
    """Walks a decomposed program once and collects the lines of the text form and the tensors of the weights."""

    def __init__(self, program, inputs, outputs):
        import torch

        self.torch, self.program = torch, program
        self.names, self.sizes = Names(), SizeText()
        self.given_inputs = [self.names.new(name) for name in inputs or ()]
        self.given_outputs = [self.names.new(name) for name in outputs or ()]
        self.guards, self.declared, self.lines, self.outputs = [], [], [], []
        self.weights = {}  # name -> tensor
        self.value_of = {}  # node -> name, tuple of names, number, Size or None
        self.seed_name, self.num_streams = None, 0
        self.sources = set()  # names of inputs and constants
        self.data_sizes = set()  # names of sizes that come from data

    # -- types

    def meta(self, node):
        return node.meta["val"]

    def torch_dtype(self, node):
        return self.meta(node).dtype

    def is_number(self, node):
        """A size or a condition, which torch has computed as an expression."""
        numbers = (self.torch.SymInt, self.torch.SymBool, self.torch.SymFloat, int, bool)
        return isinstance(node.meta.get("val"), numbers)

    def size_value(self, s):
        """An int, or a Size, of an int, SymInt or SymBool."""
        if not hasattr(s, "node"):
            return s
        e = s.node.expr
        if getattr(e, "is_Integer", False):
            return int(e)
        if str(e) in ("True", "False"):
            return str(e) == "True"
        if isinstance(s, self.torch.SymFloat):
            return float(e) if e.is_number else Float(e)
        return Size(self.sizes(e))

    def size_list(self, shape):
        return "[" + ", ".join(self.argument(self.size_value(s)) for s in shape) + "]"

    def type_text(self, value):
        pair = [2] if value.dtype.is_complex else []
        return dtype_text(value.dtype) + self.size_list([*value.shape, *pair])

    # -- values as text

    def argument(self, v):
        """A value after `name=`."""
        if v is None:
            return "none"
        if isinstance(v, bool):
            return "true" if v else "false"
        if isinstance(v, (int, float)):
            return number_text(v)
        if isinstance(v, Size):
            return v.text
        if isinstance(v, (list, tuple)):
            return "[" + ", ".join(self.argument(x) for x in v) + "]"
        if isinstance(v, self.torch.dtype):
            return dtype_text(v)
        if isinstance(v, Float):
            raise ExportError(f"{v.e}: a number computed from sizes that is no integer is supported as an operand only")
        return v  # a tensor's name

    def operand(self, v, node):
        """A value where a tensor or a number stands; a size becomes a 0-d tensor."""
        if isinstance(v, Size):
            x = self.new_tensor(node, f"arange(start={v.text}, end={v.text} + 1)")
            return self.new_tensor(node, f"view({x}, size=[])")
        if isinstance(v, Float):
            dtype = getattr(self.meta(node), "dtype", self.torch.float64)
            x = self.float_tensor(v.e, node)
            return self.new_tensor(node, f"cast({x}, {dtype_text(dtype)})") if dtype.is_floating_point else x
        if isinstance(v, (bool, int, float)):
            return number_text(v)
        if isinstance(v, (list, tuple)):
            return "[" + ", ".join(self.operand(x, node) for x in v) + "]"
        return self.argument(v)

    def float_tensor(self, e, node):
        """A 0-d f64 tensor, or a number."""
        kind = type(e).__name__
        if e.is_number:
            return number_text(float(e))
        if kind == "ToFloat" or (e.is_integer and kind not in Float.BINARY):
            size = Size(self.sizes(e.args[0] if kind == "ToFloat" else e))
            return self.new_tensor(node, f"cast({self.operand(size, node)}, f64)")
        if kind not in Float.BINARY and kind not in Float.UNARY:
            raise ExportError(f"{e}: the number computed from sizes has no form as text ({kind})")
        x, *more = (self.float_tensor(a, node) for a in e.args)
        for y in more:
            x = self.new_tensor(node, f"{Float.BINARY[kind]}({x}, {y})")
        return x if kind in Float.BINARY else self.new_tensor(node, f"{Float.UNARY[kind]}({x})")

    def new_tensor(self, node, call):
        """One line for a step within an op."""
        name = self.names.new(f"{node.name}.part")
        self.lines.append(f"{name} = {call}")
        return name

    def emit(self, node, call, meta=None):
        """The line of an op, its results' types written out, so that the reader checks them. Returns their names."""
        meta = self.meta(node) if meta is None else meta
        several = isinstance(meta, (list, tuple))
        metas = list(meta) if several else [meta]
        names = [self.names.new(node.name if not several else f"{node.name}.{i}") for i in range(len(metas))]
        self.lines.append(", ".join(f"{n} : {self.type_text(m)}" for n, m in zip(names, metas)) + f" = {call}")
        return tuple(names) if several else names[0]

    # -- random numbers

    def seed(self):
        if self.seed_name is None:
            self.seed_name = self.declare("input", "seed", "i64[]")
        return self.seed_name

    def new_stream(self):
        self.num_streams += 1
        return self.num_streams - 1

    # -- ops

    def resolve(self, v):
        if isinstance(v, self.torch.fx.Node):
            return self.value_of[v]
        if isinstance(v, (list, tuple)):
            return [self.resolve(x) for x in v]
        return v

    def arguments(self, node):
        """The arguments by name, aten's defaults filled in."""
        schema, out = node.target._schema.arguments, {}
        for i, a in enumerate(schema):
            default = a.default_value if a.has_default_value() else None
            out[a.name] = self.resolve(node.args[i] if i < len(node.args) else node.kwargs.get(a.name, default))
        return out

    def call_text(self, node, template, a):
        op, _, inside = template.rstrip(")").partition("(")
        schema = {s.name: s for s in node.target._schema.arguments}
        positional, named = [], []
        for part in filter(None, re.split(r",\s*", inside)):
            name, equals, source = part.partition("=")
            if not equals:
                positional.append(self.operand(a[name], node))
                continue
            source = source or name
            if source not in a:
                named.append(f"{name}={source}")
            elif not self.is_default(schema[source], a[source], name == source and part.endswith("=")):
                named.append(f"{name}={self.attribute(schema[source], a[source])}")
        while positional and positional[-1] == "none":
            positional.pop()
        return f"{op}({', '.join(positional + named)})"

    def is_default(self, schema, value, may_drop):
        if value is None or (schema.name == "end" and value == 2**63 - 1):
            return True
        default = schema.default_value if schema.has_default_value() else None
        return may_drop and not isinstance(value, (Size, str)) and default is not None and value == default

    def attribute(self, schema, value):
        kind = str(schema.type)
        if isinstance(value, str) and "str" in kind:
            return json.dumps(value)
        if isinstance(value, bool) and "number" in kind:
            return str(int(value))
        if isinstance(value, (list, tuple)) and any(isinstance(v, bool) for v in value):
            return "[" + ", ".join(str(int(v)) for v in value) + "]"
        if kind.endswith("ScalarType") or (isinstance(value, int) and schema.name == "dtype"):
            return dtype_text(value)
        return self.argument(value)

    def call(self, node, template, a):
        return self.emit(node, self.call_text(node, template, a))

    def run_op(self, node):
        if self.is_number(node):
            return self.size_value(self.meta(node))
        if node.target.__name__ == "getitem":
            return self.value_of[node.args[0]][node.args[1]]
        rule, a = rule_of(node.target), self.arguments(node)
        if is_complex(self, node) or any(is_complex(self, v) for v in node.all_input_nodes):
            rule = COMPLEX.get(overload(node.target))
            if rule is None:
                raise ExportError(f"{node.target}: of complex tensors; not supported")
            return self.call(node, rule, a) if isinstance(rule, str) else rule(self, node, a)
        return self.call(node, rule, a) if isinstance(rule, str) else rule[1](self, node, a)

    def check_ops(self):
        """All ops that have no form as text, in one error."""
        missing = {}
        for node in self.program.graph.nodes:
            if node.op != "call_function" or node.target.__name__ == "getitem":
                continue
            rule = rule_of(node.target)
            if rule == NO_RULE and self.is_number(node):
                continue
            if isinstance(rule, str) and not rule.endswith(")"):
                missing.setdefault(str(node.target).removesuffix(".default"), [rule, 0])[1] += 1
        if missing:
            rows = "".join(f"\n  {op} ({n} use{'s' if n > 1 else ''}): {why}" for op, (why, n) in sorted(missing.items()))
            raise ExportError(f"{len(missing)} of the program's ops cannot be written:{rows}")

    # -- what surrounds the ops

    def declare_sizes(self):
        hints, first = {}, []
        for node in self.program.graph.nodes:
            value = node.meta.get("val") if node.op == "placeholder" else None
            for s in [value] if isinstance(value, self.torch.SymInt) else getattr(value, "shape", ()):
                for symbol in sorted(s.node.expr.free_symbols, key=str) if hasattr(s, "node") else ():
                    first.append(symbol)
                if hasattr(s, "node"):
                    hints |= getattr(s.node.shape_env, "backed_var_to_val", None) or getattr(s.node.shape_env, "var_to_val", {})
        for symbol in dict.fromkeys(first):
            self.sizes.name_of[symbol] = self.names.new(str(symbol))
            bounds = self.program.range_constraints.get(symbol)
            lo = max(0, int(bounds.lower)) if bounds is not None else 0
            hi = int(bounds.upper) if bounds is not None and bounds.upper.is_Integer else MAX_SIZE
            line = f"size {self.sizes.name_of[symbol]} in [{lo}, {max(lo, hi)}]"
            hint = hints.get(symbol)
            self.declared.append(line + (f" hint {min(max(int(hint), lo), hi)}" if hint is not None else ""))
        self.declare_ranges()

    def declare_ranges(self):
        """Ranges of expressions, as those of derived sizes."""
        for e, bounds in self.program.range_constraints.items():
            if e.is_Symbol or not e.free_symbols <= set(self.sizes.name_of):
                continue
            self.guards.append(f"{self.sizes(e)} >= {int(bounds.lower)}")
            if bounds.upper.is_Integer:
                self.guards.append(f"{self.sizes(e)} <= {int(bounds.upper)}")

    def declare_input(self, wish, type_text):
        """By the next of the given names, if there is one."""
        return self.declare("input", wish, type_text, self.given_inputs.pop(0) if self.given_inputs else None)

    def declare(self, kind, wish, type_text, name=None):
        name = name or self.names.new(wish)
        self.sources.add(name)
        self.lines.append(f"{kind} {name} : {type_text}")
        return name

    def tensor_of(self, spec):
        held = self.program.state_dict if spec.target in self.program.state_dict else self.program.constants
        return held[spec.target]

    def add_constants(self):
        """Parameters, buffers and lifted constants; buffers that are written to are inputs."""
        signature, same_as = self.program.graph_signature, {}
        nodes = {node.name: node for node in self.program.graph.nodes if node.op == "placeholder"}
        mutated = set(signature.buffers_to_mutate.values())
        for spec in signature.input_specs:
            if spec.kind.name not in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
                continue
            node, t = nodes[spec.arg.name], self.tensor_of(spec)
            if spec.target in mutated:
                self.value_of[node] = self.declare("input", spec.target, self.type_text(self.meta(node)))
                self.weights[self.value_of[node]] = t
                continue
            if not node.users:
                continue
            key = (t.data_ptr(), t.dtype, tuple(t.shape), tuple(t.stride())) if t.numel() else node
            if key not in same_as:
                same_as[key] = self.declare("const", spec.target, self.type_text(self.meta(node)))
                self.weights[same_as[key]] = t
            self.value_of[node] = same_as[key]

    def add_inputs(self):
        nodes = {node.name: node for node in self.program.graph.nodes if node.op == "placeholder"}
        for spec in self.program.graph_signature.input_specs:
            if spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
                continue
            if spec.kind.name != "USER_INPUT":
                raise ExportError(f"input {spec.arg.name} is a {spec.kind.name}; only tensors and sizes are supported")
            node = nodes[spec.arg.name]
            value = node.meta.get("val")
            if isinstance(value, self.torch.Tensor):
                self.value_of[node] = self.declare_input(spec.arg.name, self.type_text(value))
            else:
                symbolic = isinstance(value, self.torch.SymInt)
                self.value_of[node] = self.size_value(value) if symbolic else getattr(spec.arg, "value", None)

    def add_outputs(self, node):
        results = 0
        for spec, value in zip(self.program.graph_signature.output_specs, node.args[0]):
            kind, v = spec.kind.name, self.resolve(value)
            if kind in ("BUFFER_MUTATION", "USER_INPUT_MUTATION"):
                self.lines.append(f"mutate {self.mutated_name(spec)} = {self.operand(v, node)}")
            elif kind != "USER_OUTPUT":
                raise ExportError(f"a result is a {kind}; only tensors and sizes are supported")
            else:
                self.add_output(f"output_{results}", v, node)
                results += 1

    def add_output(self, wish, v, node):
        if v is None:
            return
        if isinstance(v, (float, Float)):
            raise ExportError(f"{wish} is the number {getattr(v, 'e', v)}; only tensors and sizes are supported")
        tensor = self.operand(Size(str(int(v))) if isinstance(v, (bool, int)) else v, node)
        name = self.given_outputs.pop(0) if self.given_outputs else None
        name = name or (wish if wish == tensor and tensor not in self.sources else self.names.new(wish))
        self.outputs.append(name if name == tensor else f"{name} = {tensor}")

    def mutated_name(self, spec):
        """The buffer or the input that is written to."""
        for i in self.program.graph_signature.input_specs:
            if spec.target in (i.target, i.arg.name):
                return next(name for node, name in self.value_of.items() if node.name == i.arg.name)
        raise ExportError(f"{spec.target} is written to and is no input")

    def walk(self):
        self.check_ops()
        self.declare_sizes()
        self.add_inputs()
        self.add_constants()
        for node in self.program.graph.nodes:
            if node.op == "call_function":
                self.value_of[node] = self.run_op(node)
            elif node.op == "output":
                self.add_outputs(node)
            elif node.op != "placeholder":
                raise ExportError(f"{node.op} {node.target}: not supported; a program has no modules left after export")

    def text(self, name):
        facts = [f"guard {g}" for g in dict.fromkeys(self.guards)]
        lines = self.declared + facts + self.lines + ([f"output {', '.join(self.outputs)}"] if self.outputs else [])
        return f"graph {name} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


# ---- files


def write_safetensors(path, tensors):
    """The format's own layout: length of the header, header, data; widest elements first, so that all are aligned."""
    import torch

    order = sorted(tensors, key=lambda n: (-tensors[n].element_size(), n))
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name in order:
        t = tensors[name]
        end = at + t.numel() * t.element_size()
        header[name] = {"dtype": dtype_text(t.dtype, in_file=True), "shape": list(t.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            f.write(tensors[name].detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())


def decomposed(program, core_aten):
    """Core ATen, but for the ops that stay whole."""
    import torch

    table = torch.export.default_decompositions()
    for name in () if core_aten else KEPT:
        for overload_name in getattr(torch.ops.aten, name).overloads():
            table.pop(getattr(getattr(torch.ops.aten, name), overload_name), None)
    return program.run_decompositions(table)


def export_graph(program, path_ind, path_safetensors, name="model", inputs=None, outputs=None, core_aten=False):
    """Writes both files. inputs, outputs: names for the tensors that go in and come out, in order (default: those of
    forward(), and output_0, output_1 ..). Raises ExportError with what cannot be written."""
    writer = Writer(decomposed(program, core_aten), inputs, outputs)
    writer.walk()
    text = writer.text(re.sub(r"\W", "_", name))
    pathlib.Path(path_ind).write_text(text)
    write_safetensors(path_safetensors, writer.weights)


def load_program(source):
    import torch

    if source.endswith(".pt2"):
        return torch.export.load(source), pathlib.Path(source).stem
    module, colon, function = source.partition(":")
    if not colon:
        raise ExportError(f"{source}: module:function or a .pt2 file is needed")
    sys.path.insert(0, ".")
    return getattr(importlib.import_module(module), function)(), function


def main():
    parser = argparse.ArgumentParser(description="Writes a torch.export program as NAME.ind and NAME.safetensors.")
    parser.add_argument("source", help="module:function that returns an ExportedProgram, or a .pt2 file")
    parser.add_argument("--output", help="NAME of the two files and of the graph (default: the function's or file's name)")
    parser.add_argument("--core-aten", action="store_true", help=f"decompose {', '.join(KEPT)} as well")
    options = parser.parse_args()
    try:
        program, name = load_program(options.source)
        base = options.output or name
        export_graph(program, f"{base}.ind", f"{base}.safetensors", pathlib.Path(base).name, core_aten=options.core_aten)
    except ExportError as error:
        sys.exit(f"export_graph: {error}")
    print(f"{base}.ind {base}.safetensors")


if __name__ == "__main__":
    main()
