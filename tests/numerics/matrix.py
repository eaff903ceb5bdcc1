"""Which properties of operands every op has been tested with, worked out from the graphs and the data of the numerics cases, and
cases for what is missing.

    python matrix.py          prints the matrix, and the gaps
    python matrix.py fill     writes matrix.txt, the cases of family `matrix`: what the other families leave open

A property of an op at one of its operands, the first being 0 (-1: of the op as a whole):

    transposed, sliced, expanded   the operand is such a view of an input or of a computed tensor
    0-d, empty, odd, symbolic      its shape (empty: it has no elements; odd: the number of elements is no multiple of 2)
    f32, i64, ..                   its type
    special                        a float input with NaN, both infinities and -0
    extreme                        an integer input with the least and the largest number of its type

What an op can be tested with is found by asking: some call of it in the cases is changed to have the property, in the ways that
candidates() knows, and the property makes sense if the library takes one of them. So a new op comes in without a word here.
"""

import collections
import ctypes
import dataclasses
import functools
import itertools
import json
import math
import pathlib
import re
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import generate  # noqa: E402
from cases import CASES  # noqa: E402
from table import DTYPES, EIGHTHS, FLOATS, INTS, Case  # noqa: E402

FILE = HERE / "matrix.txt"
FAMILY = "matrix"
ALL_TYPES = DTYPES + EIGHTHS
LAYOUTS = ("transposed", "sliced", "expanded")
SHAPES = ("0-d", "empty", "odd", "symbolic")
PROPERTIES = LAYOUTS + SHAPES + ALL_TYPES + ("special", "extreme")
TYPED = re.compile(r"(\w[\w.]*) : (\w+)\[([^\]]*)\]")
NAMES = {"true": True, "false": False, "none": None, "inf": np.inf, "nan": np.nan, **{t: t for t in ALL_TYPES}}
WORDS = set(NAMES) | {"in", "hint"}


# ---- reading what the library prints


@dataclasses.dataclass
class Call:
    op: str
    operands: list  # of each a list of names (more than one only where the op takes a list), [] where it is a number or none
    arguments: list  # as the case has them: PyTorch's order, in which the references take them
    results: list  # names


@dataclasses.dataclass
class Graph:
    case: Case
    types: dict  # name -> (dtype, shape as text)
    inputs: list
    calls: list


def split_top(text):
    """At commas outside of brackets and quotes."""
    parts, depth, now, quoted = [], 0, "", False
    for ch in text:
        quoted ^= ch == '"'
        depth += 0 if quoted else (ch in "[(") - (ch in "])")
        if ch == "," and not depth and not quoted:
            parts.append(now.strip())
            now = ""
        else:
            now += ch
    return parts + [now.strip()] if now.strip() else parts


def written_calls(text):
    """(Op, first result) -> arguments, as a case has them."""
    found = re.findall(r"^\s*(\w+)[^=\n]* = (\w+)\((.*)\)\s*$", text, re.M)
    return {(op, name): split_top(inside) for name, op, inside in found}


def read_graph(case, text):
    g = Graph(case, {}, [], [])
    written = written_calls(case.text)
    for line in text.splitlines()[1:-1]:
        line = line.strip()
        if line.startswith(("size ", "fact ", "guard ", "output ", "mutate ")):
            continue
        left, _, right = line.partition(" = ")
        found = TYPED.findall(left)
        if right:
            op, _, inside = right.partition("(")
            arguments = split_top(inside[: inside.rindex(")")])
            operands = [tensors_in(a, g.types) for a in arguments if not re.match(r"\w+=", a)]
            g.calls.append(Call(op, operands, written.get((op, found[0][0]), arguments), [f[0] for f in found]))
        else:
            g.inputs += [f[0] for f in found]
        g.types.update({name: (dtype, shape) for name, dtype, shape in found})
    g.calls += composite_calls(case, g.types)
    return g


def composite_calls(case, types):
    """Of ops that are others in the graph: as the case writes them."""
    for line in case.text.splitlines()[1:-1]:
        left, _, right = line.strip().partition(" = ")
        op, _, inside = right.partition("(")
        results = [name.strip() for name in left.split(",")]
        if is_composite(op) and all(name in types for name in results):  # a name that the op's result had before stays its own
            arguments = split_top(inside[: inside.rindex(")")])
            yield Call(op, [tensors_in(a, types) for a in operands_in(op, arguments)], arguments, results)


def operands_in(op, arguments):
    """What is given for each operand, by place or by name; those behind the last that is given are left out."""
    names = [name.rstrip("*?") for name in op_rows()[op]["operands"].split()]
    given = dict(zip(names, itertools.takewhile(lambda a: not re.match(r"\w+=", a), arguments)))
    given.update(a.split("=", 1) for a in arguments if re.match(r"\w+=", a))
    found = [given.get(name, "none") for name in names]
    while found and found[-1] == "none":
        found.pop()
    return found


def tensors_in(argument, types):
    return [w for w in re.findall(r"[A-Za-z_][\w.]*", argument) if w in types and w not in WORDS]


class Asked:
    """What the library says of a graph."""

    def __init__(self):
        from test_numerics import Library

        self.library = Library("host")

    def parse(self, text):
        """(The graph as printed, None) or (None, the error)."""
        c = self.library.c
        graph = c.ind_graph_parse(self.library.context, text.encode(), b"matrix.ind")
        if not graph:
            return None, self.library.error()
        printed = c.ind_graph_text(ctypes.c_void_p(graph)).decode()
        c.ind_graph_destroy(ctypes.c_void_p(graph))
        return printed, None


@functools.cache
def asked():
    return Asked()


@functools.cache
def takes(text):
    return asked().parse(text)[0] is not None


@functools.cache
def graphs(with_own=True):
    """Of all cases that succeed."""
    chosen = [c for c in CASES if not c.error and (with_own or c.family != FAMILY)]
    return [read_graph(c, printed(c)) for c in chosen]


def printed(case):
    text, error = asked().parse(case.text)
    assert text, f"{case.name}: {error} (python matrix.py fill, if the op table has changed)"
    return text


@functools.cache
def op_rows():
    from conftest import make

    done = subprocess.run([make("build/ind"), "ops", "--json"], capture_output=True, text=True, check=True)
    return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}


def is_composite(op):
    """Whether it is other ops by the time it is in a graph."""
    return op in op_rows() and op_rows()[op]["fuses"].startswith("other ops")


def is_view(op):
    return op in op_rows() and op_rows()[op]["fuses"].startswith("view")


# ---- what the cases test


class Sizes(dict):
    """Those of a run. One that only the run itself finds out is taken to be 3."""

    def __missing__(self, name):
        return 3


FUNCTIONS = {"Min": min, "Max": max, "min": min, "max": max, "CeilDiv": lambda a, b: -(-a // b), "Where": lambda c, a, b: a if c else b, "abs": abs}


def shape_at(text, sizes):
    return tuple(eval(s, {}, Sizes({**FUNCTIONS, **sizes})) for s in split_top(text))


def layout_of(index):
    """Of a view, from the place of each of its elements in what it views."""
    found = set()
    if index.size < 2:
        return found
    strides, dims = [], [d for d in range(index.ndim) if index.shape[d] > 1]
    for d in dims:
        step = np.unique(np.diff(index, axis=d))
        if len(step) != 1:
            return found
        strides.append(int(step[0]))
    first = int(index.flat[0])
    nonzero = [(s, index.shape[d]) for s, d in zip(strides, dims) if s]
    if len(nonzero) < len(strides):
        found.add("expanded")
    if any(a[0] < b[0] for a, b in zip(nonzero, nonzero[1:])):
        found.add("transposed")
    dense = 1
    for stride, size in sorted(nonzero):
        if stride != dense:
            found.add("sliced")
        dense = stride * size
    return found | ({"sliced"} if first else set())


def view_lines(g, sizes):
    """name -> the layout of every tensor that views another."""
    ops, layouts = generate.ops_of(FAMILY), {}
    place = dict(sizes)
    for name in g.inputs:
        place[name] = fresh(g, name, sizes)
    for call in g.calls:
        if is_composite(call.op):
            continue
        if is_view(call.op):
            results = run_view(call, ops, place)
            if results is not None:
                for name, r in zip(call.results, results):
                    place[name] = r
                    layouts[name] = layout_of(r.v)
                continue
        for name in call.results:
            place[name] = fresh(g, name, sizes)
    return layouts


def fresh(g, name, sizes):
    shape = shape_at(g.types[name][1], sizes)
    return generate.Tensor(np.arange(math.prod(shape)).reshape(shape), "i64")


def run_view(call, ops, place):
    text = f"{call.op}({', '.join(call.arguments)})"
    try:
        r = eval(text, {**ops, **NAMES}, place)
    except Exception:  # as_strided of a view, for which its reference has no memory
        return None
    return r if isinstance(r, (list, tuple)) else [r]


def data_properties(case, name, dtype, shape, seed):
    raw = generate.draw(dtype, shape, case.inputs.get(name), seed)
    v = generate.load(raw, dtype)
    if dtype in FLOATS:
        whole = np.isnan(v).any() and np.isposinf(v).any() and np.isneginf(v).any() and (np.signbit(v) & (v == 0)).any()
        return {"special"} if whole else set()
    if dtype in INTS:
        info = np.iinfo(generate.NUMPY[dtype])
        return {"extreme"} if v.size and v.min() == info.min and v.max() == info.max else set()
    return {"special"} if dtype in EIGHTHS and len(np.unique(raw)) == 256 else set()


def shape_properties(shape):
    n = math.prod(shape)
    return {p for p, holds in (("0-d", not shape), ("empty", n == 0), ("odd", n % 2 == 1 and n > 1)) if holds}


def tensor_properties(g):
    """name -> properties, over all runs."""
    found = collections.defaultdict(set)
    for name, (dtype, shape) in g.types.items():
        found[name] |= {dtype} | ({"symbolic"} if re.search("[A-Za-z]", shape) else set())
    for sizes in g.case.runs:
        for name, layouts in view_lines(g, sizes).items():
            found[name] |= layouts
        for name, (_, shape) in g.types.items():
            found[name] |= shape_properties(shape_at(shape, sizes))
    for seed, name in enumerate(g.inputs):
        dtype, shape = g.types[name]
        found[name] |= data_properties(g.case, name, dtype, shape_at(shape, g.case.runs[0]), seed)
    return found


def tested(with_own=True):
    """Set of (op, operand, property)."""
    cells = set()
    for g in graphs(with_own):
        properties = tensor_properties(g)
        for call in g.calls:
            for at, names in enumerate(call.operands):
                cells |= {(call.op, at, p) for name in names for p in properties[name]}
            if not any(call.operands):
                cells |= {(call.op, -1, p) for name in call.results for p in properties[name]}
    return cells


# ---- calls of an op on inputs of its own


@dataclasses.dataclass(frozen=True)
class Operand:
    dtype: str
    shape: tuple  # of numbers, or of names of sizes
    how: str = ""  # distribution
    layout: str = ""


@dataclasses.dataclass(frozen=True)
class Sample:
    """One call. arguments: operands as positions in `operands` written $0, $1 .., then attributes as text."""

    op: str
    operands: tuple
    arguments: tuple
    results: int
    where: tuple  # of each operand its position in the call

    def lines(self, tag, declare):
        """Statements; declare(operand, at) gives the name of an input."""
        out, names = [], []
        for k, o in enumerate(self.operands):
            name = declare(o, k)
            if o.layout:
                view = f"{tag}v{k}"
                out += view_statements(name, view, o)
                name = view
            names.append(name)
        results = [tag] if self.results == 1 else [f"{tag}_{r}" for r in range(self.results)]
        arguments = [re.sub(r"\$(\d+)", lambda m: names[int(m[1])], a) for a in self.arguments]
        return out + [f"{', '.join(results)} = {self.op}({', '.join(arguments)})"], results

    def graph(self, sizes=()):
        declared = []

        def declare(o, k):
            declared.append(f"input a{k} : {o.dtype}[{', '.join(map(str, base_shape(o)))}]")
            return f"a{k}"

        lines, results = self.lines("y", declare)
        return "graph g {\n" + "".join(f"  {s}\n" for s in [*sizes, *declared, *lines, "output " + ", ".join(results)]) + "}\n"

    def with_operands(self, change):
        """change: (position, Operand) -> Operand."""
        return dataclasses.replace(self, operands=tuple(change(at, o) for at, o in zip(self.where, self.operands)))


def base_shape(o):
    """Of the input that an operand views."""
    if o.layout == "transposed":
        return o.shape[::-1]
    if o.layout == "sliced":
        return sliced_base(o.shape)
    if o.layout == "expanded":
        at = expanded_dim(o.shape)
        return o.shape[:at] + (1,) + o.shape[at + 1 :]
    return o.shape


def sliced_base(shape):
    return tuple(2 * n if d == len(shape) - 1 else n + 1 if d == 0 else n for d, n in enumerate(shape))


def expanded_dim(shape):
    """The first that has more than one element."""
    return next(d for d, n in enumerate(shape) if n != 1)


def view_statements(name, view, o):
    rank = len(o.shape)
    if o.layout == "transposed":
        return [f"{view} = permute({name}, dims={list(range(rank))[::-1]})"]
    if o.layout == "expanded":
        return [f"{view} = expand({name}, size=[{', '.join(map(str, o.shape))}])"]
    out = [f"{view}{'' if rank == 1 else 's'} = slice({name}, {rank - 1}, 1, {2 * o.shape[-1]}, step=2)"]
    return out + ([f"{view} = slice({view}s, 0, 1, {o.shape[0] + 1})"] if rank > 1 else [])


def layout_fits(o, layout):
    if layout == "transposed":
        return len(o.shape) > 1 and sum(n > 1 for n in o.shape) > 1
    if layout == "expanded":
        return math.prod(o.shape) > 1
    return len(o.shape) > 0 and math.prod(o.shape) > 1


def sample_of(g, call, sizes):
    """None where the call has something that cannot stand alone."""
    operands, where, names = [], [], {}
    for at, tensors in enumerate(call.operands):
        for name in tensors:
            if name not in names:
                names[name] = len(operands)
                dtype, shape = g.types[name]
                how = (g.case.inputs.get(name) if name in g.inputs else None) or ""
                how = DATA.get((call.op, at), how)
                operands.append(Operand(dtype, shape_at(shape, sizes), how))
                where.append(at)
    number = lambda m: f"${names[m[0]]}" if m[0] in names else str(sizes[m[0]]) if m[0] in sizes else m[0]
    arguments = [re.sub(r'"[^"]*"|(?<![\w.])[A-Za-z_][\w.]*(?!\s*=|\w)', number, a) for a in call.arguments]
    return Sample(call.op, tuple(operands), tuple(arguments), len(call.results), tuple(where))


def plain(how):
    return how.split(" ")[0] not in ("sorted", "ramp", "special", "infinities", "full", "codes")


def standing_alone(g, call):
    """Whether all operands are inputs, so that their data is known."""
    return all(name in g.inputs for names in call.operands for name in names)


def sample_cost(sample, g, call):
    """What is easy to change: little, of rank 2 and more, of sizes that are not 1 or 0."""
    shapes = [o.shape for o in sample.operands]
    most = sum(math.prod(s) for s in shapes) + 4 * sum(math.prod(shape_at(g.types[name][1], g.case.runs[0])) for name in call.results)
    first = shapes[0] if shapes else (3, 3)
    return (not standing_alone(g, call), any(re.search(r"\$\{?[A-Z]", a) for a in sample.arguments), not all(plain(o.how) for o in sample.operands),
            any(o.dtype in EIGHTHS for o in sample.operands), len(first) < 2, any(n < 2 for s in shapes for n in s), most + 16 * len(shapes))


MOST_SAMPLES = 6
MOST_EXTENT = 16


MOST_ELEMENTS = 60


def smaller(sample):
    """With large extents cut down, and the first of operands with many elements, where the op takes that."""
    for old in sorted({n for o in sample.operands for n in o.shape if n > MOST_EXTENT}):
        put = lambda s: tuple(MOST_EXTENT - old % 4 if n == old else n for n in s)
        cut = sample.with_operands(lambda p, o: dataclasses.replace(o, shape=put(o.shape)))
        sample = next((s for s in attributes_changed(cut, old, MOST_EXTENT - old % 4) if takes(s.graph())), sample)
    for old in sorted({n for o in sample.operands if len(o.shape) > 3 for n in o.shape if n > 3}, reverse=True):
        if max(math.prod(o.shape) for o in sample.operands) > MOST_ELEMENTS:
            cut = sample.with_operands(lambda p, o: dataclasses.replace(o, shape=tuple(3 if n == old else n for n in o.shape)))
            sample = cut if takes(cut.graph()) else sample
    return sample


@functools.cache
def samples():
    """op -> some calls of it, the best first, each of another form."""
    found = collections.defaultdict(list)
    for g in graphs(False):
        for call in g.calls:
            sample = sample_of(g, call, g.case.runs[0])
            if takes(sample.graph()):
                found[call.op].append((sample_cost(sample, g, call), len(found[call.op]), sample))
    chosen = {}
    for op, many in found.items():
        forms = {}
        for cost, _, sample in sorted(many, key=lambda m: m[:2]):
            form = (sample.where, sample.arguments if not sample.where else "", tuple(len(o.shape) for o in sample.operands), tuple(o.dtype in INTS for o in sample.operands))
            forms.setdefault(form, smaller(sample))
        chosen[op] = list(forms.values())[:MOST_SAMPLES]
    return chosen


# ---- changing a call so that it has a property


def same_type(sample, at):
    dtype = next(o.dtype for p, o in zip(sample.where, sample.operands) if p == at)
    return lambda p, o: o.dtype == dtype


def with_type(sample, at, dtype):
    """The operands that have the type of the one at `at` change together; or it alone."""
    alike = same_type(sample, at)
    put = lambda o: dataclasses.replace(o, dtype=dtype, how=how_of_type(o.how, o.dtype, dtype))
    yield sample.with_operands(lambda p, o: put(o) if alike(p, o) else o)
    yield sample.with_operands(lambda p, o: put(o) if p == at else o)


OWN_TYPES = {"sorted": ALL_TYPES, "ramp": ALL_TYPES, "full": INTS, "special": FLOATS, "rare": FLOATS, "infinities": FLOATS, "codes": EIGHTHS, "nonzero": ALL_TYPES, "few": ALL_TYPES}


def how_of_type(how, old, new):
    """The distribution, where it means something for the new type."""
    types = OWN_TYPES.get(how.split(" ")[0], FLOATS + EIGHTHS if old in FLOATS + EIGHTHS else ALL_TYPES)
    return how if new in types else ""


def with_layout(sample, at, layout):
    fits = lambda o: layout_fits(o, layout) and not (layout == "expanded" and o.dtype in INTS)
    put = lambda p, o: dataclasses.replace(o, layout=layout)
    if any(p == at and layout_fits(o, layout) for p, o in zip(sample.where, sample.operands)):
        if all(fits(o) for p, o in zip(sample.where, sample.operands) if p == at):
            yield sample.with_operands(lambda p, o: put(p, o) if fits(o) else o)
        yield sample.with_operands(lambda p, o: put(p, o) if p == at and layout_fits(o, layout) else o)


ONE_NUMBER = r"(?<![\w.$-]){}(?![\w.])"


def attributes_changed(sample, old, new):
    """The attributes as they are, and with every number `old` made `new`, and single ones."""
    yield sample
    pattern = re.compile(ONE_NUMBER.format(old))
    places = [(i, m.span()) for i, a in enumerate(sample.arguments) for m in pattern.finditer(a)]
    for chosen in [places] + [[p] for p in places] if len(places) > 1 else [places] if places else []:
        arguments = list(sample.arguments)
        for i, (start, end) in reversed(chosen):
            arguments[i] = arguments[i][:start] + str(new) + arguments[i][end:]
        yield dataclasses.replace(sample, arguments=tuple(arguments))


def resized(sample, at, new):
    """One extent of the operand is changed, in all operands or in it alone."""
    shape = next(o.shape for p, o in zip(sample.where, sample.operands) if p == at)
    put = lambda s, old: tuple(new if n == old else n for n in s)
    for old in dict.fromkeys(n for n in shape if n != new):
        every = sample.with_operands(lambda p, o: dataclasses.replace(o, shape=put(o.shape, old)))
        yield from attributes_changed(every, old, new)
        for d, n in enumerate(shape):
            if n == old:
                one = sample.with_operands(lambda p, o: dataclasses.replace(o, shape=o.shape[:d] + (new,) + o.shape[d + 1 :]) if p == at else o)
                yield from attributes_changed(one, old, new)


def emptied(sample, at):
    yield from resized(sample, at, 0)
    if any(p == at and o.shape for p, o in zip(sample.where, sample.operands)):
        yield sample.with_operands(lambda p, o: dataclasses.replace(o, shape=o.shape[:-1] + (0,) if o.shape else ()))


def without_dims(sample, at):
    for which in (lambda p: True, lambda p: p == at, lambda p: p <= at):
        small = sample.with_operands(lambda p, o: dataclasses.replace(o, shape=()) if which(p) else o)
        yield small
        for dims in ("[]", "[0]"):
            lists = tuple(re.sub(r"^(\w+=)?\[[\d, -]*\]$", rf"\g<1>{dims}", a) for a in small.arguments)
            yield dataclasses.replace(small, arguments=tuple(re.sub(r"^(\w+=)?-?\d+$", r"\g<1>0", a) for a in lists))


def made_odd(sample, at):
    """Even extents one larger, one after the other."""
    shape = next(o.shape for p, o in zip(sample.where, sample.operands) if p == at)
    even = [n for n in dict.fromkeys(shape) if n % 2 == 0]
    if not shape:
        return
    now = [sample]
    for n in even:
        put = lambda s: tuple(k + 1 if k == n else k for k in s)
        now = [t for s in now for t in attributes_changed(s.with_operands(lambda p, o: dataclasses.replace(o, shape=put(o.shape))), n, n + 1)]
    if math.prod(shape) != 1:
        yield from now
    if math.prod(shape) < 2:
        yield from resized(sample, at, 3)


HOW = {"special": "rare", "extreme": "full"}


def with_data(sample, at, how):
    wanted = FLOATS if how == "special" else INTS
    size = math.prod(next(o.shape for p, o in zip(sample.where, sample.operands) if p == at))
    if size < 6:
        grown = [s for n in (7, 9) for s in resized(sample, at, n)]
        yield from (t for s in grown if takes(s.graph()) and math.prod(next(o.shape for p, o in zip(s.where, s.operands) if p == at)) >= 6 for t in with_data(s, at, how))
        return
    order = DATA.get((sample.op, at), "")
    put = lambda p, o: dataclasses.replace(o, how=f"{order} {HOW[how]}".strip()) if p == at and o.dtype in wanted else o
    for dtype in wanted if how == "extreme" else ("f32",):
        for typed in with_type(sample, at, dtype):
            if takes(typed.graph()):
                yield typed.with_operands(put)


SYMBOL = "N{}"


def with_symbol(sample, at):
    shape = next(o.shape for p, o in zip(sample.where, sample.operands) if p == at)
    for old in dict.fromkeys(n for n in shape if n > 0):
        for s in resized(sample, at, SYMBOL.format(old)):
            if SYMBOL.format(old) in itertools.chain(*(o.shape for o in s.operands)):
                yield s


def candidates(sample, at, p):
    if p in ALL_TYPES:
        return with_type(sample, at, p)
    if p in LAYOUTS:
        return with_layout(sample, at, p)
    if p in HOW:
        return with_data(sample, at, p)
    return {"0-d": without_dims, "empty": emptied, "odd": made_odd, "symbolic": with_symbol}[p](sample, at)


def symbols(sample):
    found = sorted({n for o in sample.operands for n in base_shape(o) if isinstance(n, str)} | set(re.findall(r"\bN\d+\b", " ".join(sample.arguments))))
    return {name: int(name[1:]) for name in found}


def declared(sizes):
    return [f"size {name} in [1, 64] hint {hint}" for name, hint in sizes.items()]


def taken(sample):
    return takes(sample.graph(declared(symbols(sample))))


# ---- what makes sense


def positions(op):
    return sorted({at for s in samples().get(op, []) for at in s.where})


def source_properties(op):
    """Of an op without operands: the types it can make, and sizes."""
    return [p for p in ("0-d", "empty", "odd", "symbolic") + ALL_TYPES if next(source_candidates(op, p), None)]


def source_candidates(op, p):
    for s in samples().get(op, []):
        if s.operands:
            continue
        if p in ALL_TYPES:
            kept = tuple(a for a in s.arguments if a.removeprefix("dtype=") not in ALL_TYPES)
            tried = [dataclasses.replace(s, arguments=kept + (f"dtype={p}",))]
        else:
            value = {"0-d": "[]", "empty": "0", "odd": "5", "symbolic": "N5"}[p]
            tried = source_sizes(s, value)
        for t in tried:
            printed = asked().parse(t.graph(declared(symbols(t))))[0]
            if printed and source_has(printed, p):
                yield t


def source_sizes(s, value):
    """Every number of a list of sizes, or the whole list, or a single number of the arguments."""
    for i, a in enumerate(s.arguments):
        name, given = re.match(r"(\w+=)?(.*)", a).groups(default="")
        put = lambda new: dataclasses.replace(s, arguments=s.arguments[:i] + (name + new,) + s.arguments[i + 1 :])
        if given.startswith("["):
            yield from map(put, [value] if value == "[]" else [f"[{value}]", f"[{value}, 3]"])
        elif value != "[]" and re.fullmatch(r"\d+", given):
            yield put(value)


def source_has(printed, p):
    call = [line for line in printed.splitlines() if " = " in line][-1]
    _, dtype, shape = TYPED.findall(call)[0]
    return p in {dtype} | ({"symbolic"} if "N5" in shape else set()) | ("N5" not in shape and shape_properties(shape_at(shape, {})) or set())


def possible(op, at, p):
    """Calls of the op that have the property, best first; last with other indices, which fit every size or are all different."""
    for sample in samples().get(op, []):
        if at in sample.where:
            for s in candidates(sample, at, p):
                if taken(s):
                    yield s
                    if not op_rows()[op]["fuses"].startswith("pointwise"):
                        yield from with_indices(s)


def with_indices(sample):
    for how in ("values 0", "count", "ints 0 2"):
        s = sample.with_operands(lambda p, o: dataclasses.replace(o, how=how) if o.dtype in ("i32", "i64") and plain(o.how) else o)
        if s != sample:
            yield s


# What the data of an operand must be, beyond its type.
DATA = {("searchsorted", 0): "sorted", ("searchsorted", 2): "ramp", ("bucketize", 1): "sorted", ("masked_scatter", 1): "values 0 1 0 0"}
# (op, operand, property): why it is not asked for.
WELFORD = "the mean of a row with an infinity is infinite or NaN, as the order of Welford's updates has it"
EXCEPTIONS = {
    ("as_strided", 0, "transposed"): "the operand in the graph is the storage, not the view; cases_forms.py has views",
    ("as_strided", 0, "sliced"): "the operand in the graph is the storage, not the view; cases_forms.py has views",
    ("cross_entropy", 1, "extreme"): "classes, where they are integers",
    ("var_mean", 0, "special"): WELFORD,
    ("std_mean", 0, "special"): WELFORD,
    ("native_layer_norm", 0, "special"): WELFORD,
    ("native_group_norm", 0, "special"): WELFORD,
    ("_native_batch_norm_legit", 0, "special"): WELFORD,
    ("convolution_backward", 2, "special"): "whether a NaN of the weight also meets the padding is left open by PyTorch: cuDNN and its own loops differ",
    ("quantile", 1, "special"): "a fraction is a number from 0 to 1",
    ("nanquantile", 1, "special"): "a fraction is a number from 0 to 1",
    ("upsample_bicubic2d", 0, "special"): "an infinity times a weight that is 0 or a roundoff, as the place has been rounded",
    ("grid_sampler", 1, "special"): "a place that is NaN is left open by PyTorch",
    ("grid_sampler_2d", 1, "special"): "a place that is NaN is left open by PyTorch",
    ("grid_sampler_3d", 1, "special"): "a place that is NaN is left open by PyTorch",
}


@functools.cache
def takes_floats(op, at):
    return any(next(possible(op, at, t), None) for t in FLOATS)


def excepted(op, at, p):
    """Where only integers are taken, they are indices: the ends of their type are out of range. Of one that is expanded, a
    scatter would leave open which of several values stays."""
    if p == "special" and op.startswith(("fft_", "_fft_", "stft")):
        return "an infinity times a root of unity whose real or imaginary part is 0: where that meets depends on the way the transform is split"
    if p in ("extreme", "expanded") and not op_rows()[op]["fuses"].startswith("pointwise") and not takes_floats(op, at):
        return "an index"
    return EXCEPTIONS.get((op, at, p))


@functools.cache
def needed():
    """Cell -> True for all that make sense."""
    cells = []
    for op in op_rows():
        cells += [(op, at, p) for at in positions(op) for p in PROPERTIES if not excepted(op, at, p) and next(possible(op, at, p), None)]
        if not positions(op):
            cells += [(op, -1, p) for p in source_properties(op)]
    return cells


def gaps(with_own=True):
    have = tested(with_own)
    return [cell for cell in needed() if cell not in have]


# ---- filling them


MOST_CALLS = 30  # in one graph
MOST_TRIED = 24  # calls for one cell


def stated(o, nth):
    """The distribution of the input below the view, if it is the nth of its call."""
    return f"seed {nth} {o.layout if o.layout in generate.UNDER_VIEWS else ''} {o.how}".replace("  ", " ").strip()


def alone(sample):
    """The call as a case of its own."""
    sizes = symbols(sample)
    return Case("one", sample.graph(declared(sizes)), [sizes], {f"a{k}": stated(o, k) for k, o in enumerate(sample.operands)}, False, "", FAMILY)


def reference_refuses(sample, sizes):
    """Why the reference does not take the call at these sizes; None if it does."""
    try:
        _, outputs = generate.run(alone(sample), sizes)
        return None if all(t is not None for t in outputs.values()) else "no value of some result"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def covers(sample):
    """Cells of one call."""
    case = alone(sample)
    graph = read_graph(case, asked().parse(case.text)[0])
    properties, call = tensor_properties(graph), graph.calls[-1]
    if not sample.operands:
        return {(call.op, -1, p) for name in call.results for p in properties[name]}
    return {(call.op, at, p) for at, names in enumerate(call.operands) for name in names for p in properties[name]}


def larger(sizes):
    return {name: n + 2 for name, n in sizes.items()}


def fill():
    """The cases' text, and the cells for which no call was found."""
    missing, chosen, unfilled = dict.fromkeys(gaps(False)), [], {}
    while missing:
        op, at, p = cell = next(iter(missing))
        why = "no call"
        tried = possible(op, at, p) if at >= 0 else source_candidates(op, p)
        for sample in itertools.islice(tried, MOST_TRIED):
            cells = covers(sample)
            why = reference_refuses(sample, symbols(sample)) if cell in cells else "the call has not the property"
            if why is None:
                chosen.append((p, sample))
                for c in cells:
                    missing.pop(c, None)
                break
        else:
            unfilled[cell] = why
            missing.pop(cell)
    return grouped(chosen), unfilled


def grouped(chosen):
    groups = collections.defaultdict(list)
    for p, sample in chosen:
        kind = "type" if p in ALL_TYPES else p
        if p == "symbolic" and reference_refuses(sample, larger(symbols(sample))) is None:
            kind = "sizes"
        groups[kind].append(sample)
    out = []
    for kind, many in groups.items():
        parts = -(-len(many) // MOST_CALLS)
        for i in range(parts):
            out.append(case_text(f"{FAMILY}_{kind.replace('-', '')}_{i}", kind, many[i * len(many) // parts : (i + 1) * len(many) // parts]))
    return "".join(out)


def case_text(name, kind, many):
    """The calls of one graph; equal inputs are one."""
    inputs, hows, body, outputs, sizes = {}, {}, [], [], {}
    for k, sample in enumerate(many):
        sizes.update(symbols(sample))

        def declare(o, nth):
            key = (o.dtype, base_shape(o), stated(o, nth))
            if key not in inputs:
                inputs[key] = f"x{len(inputs)}"
                hows[inputs[key]] = stated(o, nth)
            return inputs[key]

        lines, results = sample.lines(f"y{k}", declare)
        body += lines
        outputs += results
    runs = [sizes, larger(sizes)] if kind == "sizes" else [sizes]
    statements = declared(sizes) + [f"input {n} : {t}[{', '.join(map(str, shape))}]" for (t, shape, _), n in inputs.items()] + body + ["output " + ", ".join(outputs)]
    return f"==== {name} {json.dumps(runs)} {json.dumps(hows)}\n" + "".join(f"{s}\n" for s in statements)


# ---- printing


def print_matrix():
    have, need = tested(), needed()
    print(f"{'op':34}  " + " ".join(f"{p[:6]:6}" for p in PROPERTIES))
    rows = collections.defaultdict(dict)
    for op, at, p in need:
        rows[op, at][p] = "yes" if (op, at, p) in have else "GAP"
    for (op, at), row in rows.items():
        print(f"{op + ('' if at < 1 else f' [{at}]'):34}  " + " ".join(f"{row.get(p, '-'):6}" for p in PROPERTIES))
    lacking = [cell for cell in need if cell not in have]
    print(f"{len(rows)} operands of {len(op_rows())} ops, {len(need)} cells, {len(lacking)} gaps")
    for op, at, p in lacking:
        print(f"gap: {op} operand {at}: {p}")


def main():
    if sys.argv[1:] == ["fill"]:
        text, unfilled = fill()
        FILE.write_text(text)
        for (op, at, p), why in unfilled.items():
            print(f"not filled: {op} operand {at}: {p}: {why}")
        print(f"{text.count('==== ')} cases, {len(unfilled)} cells not filled")
    else:
        print_matrix()


if __name__ == "__main__":
    main()
