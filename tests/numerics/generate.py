"""Makes <family>.npz: the inputs of every case in cases_<family>.py and what must come out, computed in float64 by NumPy
(reference.py has the rules of the error bounds).

The body of a graph is valid Python, so it is run as such, with the functions of reference.py and reference_<family>.py as its
ops: an op is the function of its name; where Python has that name already, with an underscore.

Run: python generate.py [FAMILY...] (all without). Results are the same on every machine up to the last bit of libm.
"""

import functools
import importlib
import json
import pathlib
import re
import sys
import zlib

import numpy as np

import reference
from cases import CASES, FAMILIES
from reference import NUMPY, SMALLEST, Tensor, is_float, load, store
from reference_inplace import Memories
from table import DTYPES, EIGHTHS

HERE = pathlib.Path(__file__).parent

# ---- data


def special_values(dtype):
    tiny, largest = SMALLEST[dtype], {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}[dtype]
    normal = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}[dtype]
    return [np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny, normal, -normal, normal - tiny, largest, -largest, 1.0, -1.0, 0.5, 2.0, 1.5, -3.25, 10.0, -20.0, 80.0,
            -95.0, 0.0, 3.0]


def under_slice(shape, of):
    """Every second of the last dim, all but the first of the first dim (see sliced_base in matrix.py)."""
    inner = of(tuple(n // 2 if d == len(shape) - 1 else n - 1 if d == 0 else n for d, n in enumerate(shape)))
    v = np.resize(inner, shape)
    v[(slice(1, None), ..., slice(1, None, 2)) if len(shape) > 1 else slice(1, None, 2)] = inner
    return v


UNDER_VIEWS = {"transposed": lambda shape, of: of(shape[::-1]).T.copy(), "sliced": under_slice}


def draw(dtype, shape, how, seed):
    """Distributions: normal [sigma], uniform LO HI, ints LO HI, values V.., count (0, 1, 2, ..), ramp (that in each row), sorted HOW (each row), few (many ties), nonzero, sparse (mostly 0), full (the
    whole range of an integer type, with its ends), codes (every one of an 8-bit float), special (NaN, inf, -0, denormals, ..), rare (normal
    but for one of each of these), infinities (rows with -inf). transposed HOW, sliced HOW: what a view of that kind then sees is HOW. seed N HOW."""
    r = np.random.RandomState(zlib.crc32(f"{dtype} {shape} {how} {seed}".encode()))
    kind, *args = (how or "default").split()
    if kind == "seed":
        return draw(dtype, shape, " ".join(args[1:]), int(args[0]))
    if kind == "sorted":
        return store(np.sort(load(draw(dtype, shape, " ".join(args), seed), dtype), -1), dtype)
    if kind in UNDER_VIEWS:
        return UNDER_VIEWS[kind](shape, lambda inner: draw(dtype, inner, " ".join(args), seed))
    args = [float(a) for a in args]
    n = int(np.prod(shape, dtype=np.int64))
    if kind == "values":
        v = np.resize(args, n)
    elif kind == "special":
        v = np.resize(special_values(dtype), n)
    elif kind == "count":
        v = np.arange(n)
    elif kind == "ramp":
        v = np.broadcast_to(np.arange(shape[-1]), shape)
    elif kind == "rare":
        v = r.randn(n)
        v[r.permutation(n)[:5]] = [np.nan, np.inf, -np.inf, -0.0, SMALLEST[dtype]][:n]
    elif kind == "infinities":
        v = np.where(r.rand(n) < 0.4, -np.inf, r.randn(n)).reshape(shape)
        v[0, :], v[1, : shape[1] // 2], v[2, 1] = -np.inf, -np.inf, np.inf
    elif kind == "uniform":
        v = r.uniform(args[0], args[1], n)
    elif kind == "ints":
        v = r.randint(int(args[0]), int(args[1]), n)
    elif kind == "few":
        v = r.randint(0, 3, n)
    elif kind == "sparse":
        v = np.where(r.rand(n) < 0.02, 1, 0)
    elif kind == "codes":
        return np.resize(np.arange(256), n).astype(np.uint8).reshape(shape)
    elif kind == "full":
        info = np.iinfo(NUMPY[dtype])
        v = r.randint(info.min, info.max, n, dtype=NUMPY[dtype])
        v[:4] = [info.min, info.max, 0, info.max][:n]
    elif is_float(dtype):
        v = r.randn(n) * (args[0] if args else 1)
        v = np.where(np.abs(v) < 0.1, 0.5, v) if kind == "nonzero" else v
    else:
        v = r.randint(0, 2, n) if dtype == "bool" else r.randint(0 if dtype == "u8" else -10, 20, n)
        v = np.where(v == 0, 1, v) if kind == "nonzero" else v
    return store(np.asarray(v).reshape(shape), dtype)


# ---- running a graph

IN_PLACE = re.compile(r"[a-z0-9]_\(")

MODULES = [reference] + [importlib.import_module(path.stem) for path in sorted(HERE.glob("reference_*.py"))]


@functools.cache
def ops_of(family):
    """Those of all modules, the family's own last: what a module has from reference.py is no op of its own."""
    modules = sorted(MODULES, key=lambda m: (m is not reference, m.__name__ == f"reference_{family}"))
    own = lambda m, name, f: callable(f) and not name[0].isupper() and (m is reference or f is not vars(reference).get(name))
    return {name.rstrip("_"): f for m in modules for name, f in vars(m).items() if own(m, name, f)}


def shape_of(text, sizes):
    return tuple(eval(s, {}, sizes) for s in text.split(",") if s.strip())


def run(c, sizes):
    """Inputs (name -> (dtype, array)) and outputs (name -> Tensor) of one run; inputs that are written to are outputs, too."""
    names = {"true": True, "false": False, "none": None, "inf": np.inf, **{t: t for t in DTYPES + EIGHTHS}}
    tensors, inputs, outputs = dict(sizes), {}, {}
    evaluate = lambda line, values: exec(line, {**ops_of(c.family), **names}, values)
    memories = Memories(tensors, inputs, evaluate) if IN_PLACE.search(c.text) or "as_strided(" in c.text else None
    for line in c.text.splitlines()[1:-1]:
        line = line.strip()
        declared = re.match(r"(?:input|const) (\w+) : (\w+)\[(.*)\]$", line)
        if declared:
            name, dtype, shape = declared.groups()
            raw = draw(dtype, shape_of(shape, sizes), c.inputs.get(name), len(inputs))
            inputs[name] = (dtype, raw)
            tensors[name] = Tensor(load(raw, dtype), dtype)
        elif line.startswith("output "):
            outputs.update({name.strip(): None for name in line[7:].split(",")})
        elif line.startswith("mutate "):  # what is then in the input's memory, as an output of its name
            changed, value = line[7:].split(" = ")
            outputs[changed] = value
        elif not line.startswith(("size ", "fact ")) and not c.error:
            memories.statement(line) if memories else evaluate(line, tensors)
    outputs.update({name: name for name in (memories.written if memories else [])})
    return inputs, {name: tensors.get(value or name) for name, value in outputs.items()}


# ---- the file: one block of bytes, equal arrays once, and an index


class Writer:
    def __init__(self):
        self.data, self.size, self.at = [], 0, {}

    def add(self, array):
        raw = np.ascontiguousarray(array).tobytes()
        key = (zlib.crc32(raw), len(raw), raw)
        if key not in self.at:
            self.at[key] = self.size
            self.data.append(raw)
            self.size += len(raw)
        return self.at[key]


def bound_exponents(e):
    """Bounds as exponents of two, rounded up, one byte each, or two where one above 127 is among them; -128: no error allowed."""
    with np.errstate(divide="ignore"):
        k = np.ceil(np.log2(e * 1.001))
    k = np.where(e == 0, -128, np.clip(k, -127, np.where(np.isfinite(k), 2000, 127)))
    return k.astype(np.int16 if (k > 127).any() else np.int8)


def result_entry(w, name, t):
    entry = {"name": name, "dtype": t.dtype, "shape": list(t.v.shape)}
    if not is_float(t.dtype):
        return {**entry, "want": w.add(t.v.astype(NUMPY[t.dtype]))}
    bound = bound_exponents(t.e)
    if (bound == -128).all():
        return {**entry, "want": w.add(store(t.v, t.dtype))}
    kept = "f64" if t.dtype == "f64" else "f32"
    want = load(store(t.v, t.dtype), t.dtype) if t.dtype in ("f16", "bf16") else t.v  # may overflow to inf
    want = np.where(np.isfinite(want), t.v, want)
    entry |= {"want": w.add(store(want, kept)), "kept": kept, "bound": w.add(bound)}
    return entry if bound.dtype == np.int8 else {**entry, "exponents": "i16"}


def write(family):
    w, index = Writer(), {}
    for c in CASES:
        if c.family != family:
            continue
        runs = []
        for sizes in c.runs:
            try:
                inputs, outputs = run(c, sizes)
            except Exception as error:
                raise SystemExit(f"{c.name} {sizes}: {type(error).__name__}: {error}\n{c.text}")
            runs.append({
                "inputs": [{"name": n, "dtype": t, "shape": list(a.shape), "data": w.add(a)} for n, (t, a) in inputs.items()],
                "outputs": [result_entry(w, n, t) for n, t in outputs.items() if t is not None],
            })
        index[c.name] = runs
    path = HERE / f"{family}.npz"
    text = json.dumps(index, separators=(",", ":")).encode()
    np.savez_compressed(path, data=np.frombuffer(b"".join(w.data), np.uint8), index=np.frombuffer(text, np.uint8))
    print(f"{family}: {len(index)} cases, {sum(map(len, index.values()))} runs, {path.stat().st_size} bytes")


if __name__ == "__main__":
    for family in sys.argv[1:] or FAMILIES:
        write(family)
