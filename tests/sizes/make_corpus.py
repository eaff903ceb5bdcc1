"""Makes corpus.json: index expressions of TorchInductor's lowering, and what Inductor and sympy make of each.

Every graph of corpus_graphs.py is compiled by torch.compile with symbolic sizes down to Inductor's loop IR. There, the
body of each loop is called with fresh loop indices, and the index of each load, store and index_expr is recorded. While
this is done, the FloorDiv and ModularIndexing that views, repeats and windows build are replaced by functions that
simplify nothing, so that the recorded index is the bare composition of the views. Two ways of composing a reshape are
recorded: Inductor's own, which matches up dimensions of equal size, and the textbook one: linear position, then
(position // stride) % size for every dimension.

  inductor   the composition built from the real FloorDiv and ModularIndexing (with their eager rewrites), or
             Inductor's own record of the same access, whichever is smaller, through
             SizeVarAllocator.simplify_with_ranges, as its loop bodies do
  sympy      the composition as sympy's floor and Mod, through expand, factor and simplify: the smallest
  both       Inductor's result through sympy's expand, factor and simplify: the smallest

All are written in our text form by one printer here (x // d % m for ModularIndexing(x, d, m)), with products of
negative integers as subtractions. Symbols keep the ranges that the graph declares; what the tracer knows beyond them
goes to `facts`.

Run: python make_corpus.py JOBS [NAME...], with torch 2.11.0, transformers 5.17.0, timm 1.0.29, torchvision 0.26.0 (CPU
is enough).
"""

import collections
import contextlib
import json
import logging
import multiprocessing
import re
import signal
import sys
import warnings

import corpus
import corpus_graphs
import sympy
import torch
import torch._dynamo
import torch._inductor.config
from torch._dynamo.utils import detect_fake_mode
from torch._inductor import compile_fx, ir, lowering
from torch._inductor.fx_passes.post_grad import view_to_reshape
from torch._inductor.graph import GraphLowering
from torch._inductor.ops_handler import NoopHandler
from torch._inductor.virtualized import V
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.utils._sympy import functions as F

SECONDS = 1  # of one call of sympy
MOST_OPERATIONS = 160  # of a raw index: beyond, it says nothing new
PER_SHAPE = 3  # entries that differ only in their integers
PER_GRAPH = 14  # distinct entries of one graph


# ---- raw compositions: functions that nothing rewrites


class RawFloorDiv(sympy.Function):
    nargs = (2,)
    is_integer = True


class RawModular(sympy.Function):
    nargs = (3,)
    is_integer = True


REAL_FLOORDIV, REAL_MODULAR = F.FloorDiv, F.ModularIndexing


def is_index(e):
    """Sizes are s0, s1, ...; all other symbols stand for indices, or for dimensions of a view."""
    return any(not s.name.startswith("s") for s in sympy.sympify(e).free_symbols)


def raw_floordiv(a, b):
    return RawFloorDiv(a, b) if is_index(a) else REAL_FLOORDIV(a, b)


def raw_modular(x, d, m):
    return RawModular(x, d, m) if is_index(x) else REAL_MODULAR(x, d, m)


def textbook_indexer(old_size, new_size, dense_dim=None):
    """Linear position in the new shape, taken apart by the old one."""

    def reindex(index):
        position, stride = sympy.S.Zero, sympy.S.One
        for i, size in zip(reversed(index), reversed(list(new_size))):
            position += i * stride
            stride *= size
        old, stride = [], sympy.S.One
        for size in reversed(list(old_size)):
            old.append(raw_modular(position, stride, size))
            stride *= size
        return tuple(reversed(old))

    return reindex


@contextlib.contextmanager
def patched(*triples):
    before = [(o, n, getattr(o, n)) for o, n, _ in triples]
    for o, n, v in triples:
        setattr(o, n, v)
    try:
        yield
    finally:
        for o, n, v in before:
            setattr(o, n, v)


RAW = [(m, n, f) for m in (ir, lowering) for n, f in (("FloorDiv", raw_floordiv), ("ModularIndexing", raw_modular))]
WAYS = {
    "inductor": [],
    "views": RAW,
    "textbook": RAW + [(ir.View, "_dynamic_reshape_indexer", staticmethod(textbook_indexer))],
}


# ---- recording one graph


class Recorder(NoopHandler):
    """Notes every index that a loop body computes."""

    def __init__(self):
        self.seen = []  # (kind, expression)
        self.extents = {}

    def _default(self, name, args, kwargs):
        if name == "load":
            self.seen.append(("load", args[1]))
        elif name == "index_expr":
            self.seen.append(("value", args[0]))

    @staticmethod
    def masked(mask, body, other):
        body()

    def indirect_indexing(self, index_var, size, check=True, wrap_neg=True):
        t = sympy.Symbol(f"t{len(self.extents)}", integer=True, nonnegative=True)
        self.extents[t] = sympy.sympify(size)
        return t


Access = collections.namedtuple("Access", "kind index extents")


def loops_of(graph):
    for op in graph.operations:
        data = getattr(op, "data", None)
        if isinstance(op, ir.ComputedBuffer) and isinstance(data, ir.Loops):
            yield op, data


def call_body(data, indices):
    """The body of a loop with its indices; kinds without a plain body are passed over."""
    n = len(data.ranges)
    if isinstance(data, ir.Reduction):
        data.inner_fn(indices[:n], indices[n:])
    elif isinstance(data, ir.Pointwise):
        data.inner_fn(indices)
        if isinstance(data, ir.Scatter):
            data.output_indexer(indices)


def accesses(graph):
    """Every index of every loop of a graph, in order."""
    found = []
    for op, data in loops_of(graph):
        sizes = list(data.ranges) + list(getattr(data, "reduction_ranges", ()))
        indices = [sympy.Symbol(f"i{k}", integer=True, nonnegative=True) for k in range(len(sizes))]
        recorder = Recorder()
        with V.set_ops_handler(recorder):
            call_body(data, indices)
        extents = {i: sympy.sympify(n) for i, n in zip(indices, sizes)} | recorder.extents
        found += [Access(kind, sympy.sympify(e), extents) for kind, e in recorder.seen]
    return found


def real(e):
    """With the real functions, innermost first, as Inductor would have built it."""
    return e.replace(RawModular, REAL_MODULAR).replace(RawFloorDiv, REAL_FLOORDIV)


def theirs(graph, access):
    return graph.sizevars.simplify_with_ranges(real(access.index), access.extents)


def lower(gm, inputs, way):
    """(accesses, Inductor's result for each, the size facts) of a graph lowered with one way of composing views."""
    fake_mode = detect_fake_mode(inputs)
    with patched(*WAYS[way]), V.set_fake_mode(fake_mode):
        graph = GraphLowering(gm, example_inputs=inputs, shape_env=fake_mode.shape_env, is_inference=True)
        with V.set_graph_handler(graph), V.set_extern_kernel_nodes([]):
            graph.run(*inputs)
            found = accesses(graph)
            with patched(*[(m, n, getattr(F, n)) for m, n, _ in RAW]):
                return found, [theirs(graph, a) for a in found]


class Inductor:
    """A backend of torch.compile: Inductor down to its loops, recorded; the graph itself then runs as it is."""

    def __init__(self, label):
        self.label = label
        self.entries = []
        self.seen = set()

    def __call__(self, gm, inputs):
        return compile_fx.compile_fx(gm, inputs, inner_compile=self.inner)

    def inner(self, gm, inputs, **kwargs):
        plain = gm.forward
        fake_mode = detect_fake_mode(inputs)
        view_to_reshape(gm)
        with V.set_fake_mode(fake_mode):
            FakeTensorProp(gm, mode=fake_mode).propagate(*inputs)
            compile_fx.record_original_output_strides(gm)
            compile_fx._recursive_post_grad_passes(gm, is_inference=True)
        runs = {}
        for way in WAYS:
            try:
                runs[way] = lower(gm, inputs, way)
            except Exception as e:  # an op that this machine cannot lower
                print(
                    f"  {self.label}/{way}: {type(e).__name__}: {str(e).splitlines()[0][:150] if str(e) else ''}",
                    file=sys.stderr,
                )
        env = fake_mode.shape_env
        own = runs.get("inductor", ([], []))
        for way in ("views", "textbook"):
            if way not in runs:
                continue
            found, results = runs[way]
            matched = own[1] if [a.kind for a in own[0]] == [a.kind for a in found] else [None] * len(found)
            for access, result, other in zip(found, results, matched):
                if (access.index, str(access.extents)) in self.seen:
                    continue
                self.seen.add((access.index, str(access.extents)))
                with contextlib.suppress(Untranslatable):
                    entry = entry_of(f"{self.label}/{access.kind}/{way}", access, result, other, env)
                    self.entries.append(entry)
        return compile_fx.make_boxed_func(plain)


# ---- text


class Untranslatable(Exception):
    pass


PRECEDENCE = {"+": 1, "*": 2, "atom": 3}


def text(e, outer=0):
    """A sympy expression in our text form."""
    s, level = text_of(e)
    return f"({s})" if level < outer else s


def text_of(e):
    if isinstance(e, F.Identity):
        return text_of(e.args[0])
    if e.is_Integer:
        return (str(int(e)), 3) if e >= 0 else (str(int(e)), 1)
    if e.is_Symbol:
        return e.name, 3
    if e.is_Add:
        return text_of_sum(e), 1
    if e.is_Mul:
        return text_of_product(e)
    if e.is_Pow and e.exp.is_Integer and 0 < e.exp <= 6:
        return "*".join([text(e.base, 3)] * int(e.exp)), 2
    if isinstance(e, (RawFloorDiv, F.FloorDiv)):
        return f"{text(e.args[0], 2)} // {text(e.args[1], 3)}", 2
    if isinstance(e, (RawModular, F.ModularIndexing)):
        x, d, m = e.args
        inner = text(x, 2) if d == 1 else f"{text(x, 2)} // {text(d, 3)}"
        return f"{inner} % {text(m, 3)}", 2
    if isinstance(e, (sympy.Mod, F.Mod, F.PythonMod)):
        return f"{text(e.args[0], 2)} % {text(e.args[1], 3)}", 2
    if isinstance(e, sympy.floor):
        top, bottom = sympy.fraction(sympy.together(e.args[0]))
        return f"{text(top, 2)} // {text(bottom, 3)}", 2
    if isinstance(e, sympy.ceiling):
        top, bottom = sympy.fraction(sympy.together(e.args[0]))
        return f"CeilDiv({text(top)}, {text(bottom)})", 3
    if isinstance(e, (F.CeilDiv,)):
        return f"CeilDiv({text(e.args[0])}, {text(e.args[1])})", 3
    if isinstance(e, (sympy.Min, sympy.Max, F.Min, F.Max)):
        name = "Min" if isinstance(e, (sympy.Min, F.Min)) else "Max"
        return f"{name}({', '.join(text(a) for a in e.args)})", 3
    if isinstance(e, F.Where):
        return f"Where({', '.join(text(a) for a in e.args)})", 3
    if e.is_Relational:
        op = {
            "Equality": "==",
            "Unequality": "!=",
            "LessThan": "<=",
            "GreaterThan": ">=",
            "StrictLessThan": "<",
            "StrictGreaterThan": ">",
        }
        return f"{text(e.lhs, 1)} {op[type(e).__name__]} {text(e.rhs, 1)}", 0
    raise Untranslatable(str(type(e)))


def text_of_sum(e):
    """Positive terms first, so that no minus sign is unary where it need not be."""
    terms = sympy.Add.make_args(e)
    ordered = [t for t in terms if not t.could_extract_minus_sign()] + [
        t for t in terms if t.could_extract_minus_sign()
    ]
    out = text(ordered[0], 2 if len(ordered) > 1 and ordered[0].is_Add else 1)
    for t in ordered[1:]:
        out += f" - {text(-t, 2)}" if t.could_extract_minus_sign() else f" + {text(t, 2)}"
    return out


def text_of_product(e):
    factors = list(sympy.Mul.make_args(e))
    if any(f.is_Rational and not f.is_Integer or f.is_Pow and f.exp.is_negative for f in factors):
        raise Untranslatable("quotient")
    c = e.as_coeff_Mul()[0]
    if c.is_Integer and c < 0:
        return f"-{text(-e, 2 if c != -1 else 3)}", 1
    # a // or % binds to its left: only the first factor may stand bare
    quotient = (RawFloorDiv, RawModular, F.FloorDiv, F.ModularIndexing, sympy.Mod, F.Mod, F.PythonMod, sympy.floor)
    first = [f for f in factors if isinstance(f, quotient)][:1]
    rest = list(factors)
    for f in first:
        rest.remove(f)
    return "*".join([text(f, 2) for f in first] + [text(f, 3) for f in rest]), 2


# ---- sympy


class Timeout(Exception):
    pass


def ring(*_):
    raise Timeout()


def limited(function, e):
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return function(e)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def smallest(entry, e):
    """The smallest text of equal value among what sympy's simplifications make of e."""
    best = None
    for function in (lambda x: x, sympy.expand, sympy.factor, sympy.simplify):
        try:
            t = text(limited(function, e))
        except (Timeout, Untranslatable, Exception) as why:  # sympy raises nearly anything
            if isinstance(why, KeyboardInterrupt):
                raise
            continue
        if (best is None or corpus.operations(t) < corpus.operations(best)) and corpus.same_value(entry, t):
            best = t
    return best


def plain(e):
    """With sympy's own floor and Mod only."""
    e = real_to_raw(e)
    e = e.replace(RawModular, lambda x, d, m: sympy.Mod(sympy.floor(x / d), m))
    return e.replace(RawFloorDiv, lambda a, b: sympy.floor(a / b))


def real_to_raw(e):
    return e.replace(F.ModularIndexing, RawModular).replace(F.FloorDiv, RawFloorDiv)


# ---- entries


def names_of(e, extents, env):
    """New names: sizes s0.., loop indices i0.., indirect t0.., as they appear; with those of the extents."""
    order = sorted(e.free_symbols, key=lambda s: str(e).find(s.name))
    loops = [s for s in order if s in extents]
    sizes = [s for s in order if s not in extents]
    for i in loops:
        sizes += [s for s in sorted(extents[i].free_symbols, key=str) if s not in sizes]
    renamed = {s: sympy.Symbol(f"s{k}", integer=True, positive=True) for k, s in enumerate(sizes)}
    count = collections.Counter()
    for i in loops:
        letter = i.name[0]
        renamed[i] = sympy.Symbol(f"{letter}{count[letter]}", integer=True, nonnegative=True)
        count[letter] += 1
    return sizes, loops, renamed


def facts_of(env, sizes):
    """What the tracer knows beyond ranges: multiples of single sizes apart, other equalities and orders as they are."""
    multiples, facts = {}, []
    known = [g.expr for g in env.guards] + [sympy.Eq(m, 0) for m in env.divisible]
    for g in dict.fromkeys(known):
        if not isinstance(g, sympy.Basic) or not g.free_symbols or not g.free_symbols <= set(sizes):
            continue
        mod = g.lhs if isinstance(g, sympy.Eq) and g.rhs == 0 else None
        if isinstance(mod, (F.Mod, F.PythonMod, sympy.Mod)) and mod.args[0].is_Symbol and mod.args[1].is_Integer:
            multiples[mod.args[0]] = int(sympy.ilcm(multiples.get(mod.args[0], 1), mod.args[1]))
        else:
            facts += [] if isinstance(g, sympy.Ne) else [g]
    return multiples, facts


def range_of(env, s, multiple):
    r = env.var_to_range[s]
    lo, hi = int(r.lower), int(r.upper) if r.upper.is_Integer else 1 << 20
    return [-(-lo // multiple) * multiple, hi // multiple * multiple, multiple]


def rename(e, renamed):
    return e.xreplace(renamed)


def implied(entry, fact):
    """Facts that the ranges imply say nothing."""
    free = dict(entry, facts=[], vars={k: v for k, v in entry["vars"].items() if not isinstance(v, str)})
    return all(corpus.evaluate(fact, p) for p in list(corpus.points(free, 60))[4:])


def entry_of(label, access, result, other, env):
    e = access.index
    sizes, loops, renamed = names_of(e, access.extents, env)
    if any(s not in env.var_to_range for s in sizes):
        raise Untranslatable("symbol without a range")
    multiples, facts = facts_of(env, sizes)
    entry = {
        "label": label,
        "raw": text(rename(e, renamed)),
        "vars": {},
        "facts": [],
        "hints": {renamed[s].name: int(env.backed_var_to_val[s]) for s in sizes},
    }
    if corpus.operations(entry["raw"]) > MOST_OPERATIONS:
        raise Untranslatable("too large")
    for s in sizes:
        entry["vars"][renamed[s].name] = range_of(env, s, multiples.get(s, 1))
    for i in loops:
        entry["vars"][renamed[i].name] = text(rename(access.extents[i], renamed))
    for f in facts:
        with contextlib.suppress(Untranslatable):
            t = text(rename(f, renamed))
            if corpus.operations(t) <= 12 and not implied(entry, t):
                entry["facts"].append(t)
    entry["expressions"] = [rename(x, renamed) for x in (e, result, other) if x is not None]
    return entry


def finish(entry):
    """Adds what the others make of it."""
    e, *results = entry.pop("expressions")
    best = None
    for r in results:
        with contextlib.suppress(Untranslatable, NameError):
            t = text(r)
            if corpus.same_value(entry, t) and (best is None or corpus.operations(t) < corpus.operations(best[0])):
                best = t, r
    entry["inductor"] = best and best[0]
    entry["sympy"] = smallest(entry, plain(e))
    entry["both"] = best and smallest(entry, best[1])
    return entry


def shape(t):
    """Two expressions of the same shape differ in their integers only."""
    return re.sub(r"\b\d+\b", "#", t)


def trivial(t):
    return corpus.operations(t) < 3


# ---- all of it


def record(name):
    """The entries of one graph, those with most divisions first."""
    torch._dynamo.reset()
    backend = Inductor(name)
    function, inputs = corpus_graphs.GRAPHS[name]()
    try:
        with torch.no_grad():
            torch.compile(function, backend=backend, dynamic=None)(*inputs)
    except Exception as e:
        print(f"  {name}: {type(e).__name__}: {str(e)[:300]}", file=sys.stderr)
    return sorted(backend.entries, key=lambda x: -corpus.divisions(x["raw"]))


def shape(t):
    """Two expressions of the same shape differ in their integers only."""
    return re.sub(r"\b\d+\b", "#", t)


def alike(entry):
    """The same for two entries that differ in the names of their variables, as when a graph is traced twice."""
    nameless = re.sub(r"\b([sit])\d+\b", r"\1", entry["raw"])
    return entry["label"], tuple(sorted(re.findall(r"\w+|//|\S", nameless)))


class Chosen:
    """Which entries are new: not alike, few of one shape, one of those that divide nothing."""

    def __init__(self):
        self.seen, self.shapes = set(), collections.Counter()

    def __call__(self, entry):
        keys = {alike(entry), (entry["raw"], json.dumps(entry["vars"]))}
        limit = PER_SHAPE if corpus.divisions(entry["raw"]) and corpus.operations(entry["raw"]) > 2 else 1
        if keys & self.seen or self.shapes[shape(entry["raw"])] >= limit:
            return False
        self.seen |= keys
        self.shapes[shape(entry["raw"])] += 1
        return True


def entries_of(name):
    """A worker's task: one graph, recorded, its entries chosen and compared."""
    signal.signal(signal.SIGALRM, ring)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch._dynamo.config.suppress_errors = True
    torch._inductor.config.fallback_random = True
    torch._logging.set_logs(all=logging.CRITICAL)
    chosen, recorded = Chosen(), record(name)
    kept = [finish(e) for e in [e for e in recorded if chosen(e)][:PER_GRAPH]]
    return name, len(recorded), [e for e in kept if e["inductor"] or e["sympy"]]


def write(entries, path):
    note = {"torch": torch.__version__.split("+")[0], "sympy": sympy.__version__}
    path.write_text(
        '{"made with": ' + json.dumps(note) + ', "entries": [\n' + ",\n".join(map(json.dumps, entries)) + "\n]}\n"
    )


def main(jobs, only):
    names = [n for n in corpus_graphs.GRAPHS if not only or any(o in n for o in only)]
    chosen, out = Chosen(), []
    with multiprocessing.get_context("spawn").Pool(int(jobs), maxtasksperchild=8) as pool:
        for name, recorded, entries in pool.imap(entries_of, names):
            out += [e for e in entries if chosen(e)]
            print(f"{name}: {recorded} recorded, {len(entries)} kept, {len(out)} in all", file=sys.stderr, flush=True)
    write(out, corpus.CORPUS if not only else corpus.CORPUS.with_suffix(".part.json"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
