"""Compares building and simplifying size expressions with sympy and SymEngine, in one run; `make bench-sizes`.

Times, for each expression, its construction and simplification:

  ours         the constructors, then ind_simplify, in a fresh context, so that nothing is interned or cached;
               also from text
  sympy        sympy's operators, floor and Mod, then expand: TorchInductor's SizeVarAllocator.simplify; caches
               are cleared first. For the corpus also sympy.simplify, which is closer to ours.
  SymEngine    its operators, a // b as floor(a / b) and a % b as a - b*floor(a / b), as it has no integer functions
               itself, then expand. It has no ranges and does not merge floors: it does far less.

All three run the same operations in the same order: ours as a program for a stack machine (sizes.c), the others as
precompiled Python bytecode. Symbols are created before timing starts; a sum of many terms is one call in each.
Results are medians of repeats.

  corpus       the expressions of tests/sizes/corpus.json, one at a time
  sums         n symbols in 2n terms, every symbol twice
  wide         a sum of terms c*((a + k)//m % n): n nodes in total
  nested       chains ((x // p + y) % q + z) // r .. of depth 100, and sums of such chains: n nodes in total

The growth is the slope of log time over log n by least squares. Exit status 1 if it is above 1.1 or the median of the
ratios to sympy is below 200. Prints the table and writes build/bench_sizes.json.
"""

import ast
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import time

import symengine
import sympy
from sympy.core.cache import clear_cache

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "sizes"))

import corpus  # noqa: E402

PROGRAM = ROOT / "build" / "bench_sizes"
SUMS = (10, 30, 100, 300, 1000)
NODES = (10, 30, 100, 300, 1000, 3000, 10000)
DEPTH = 100
LEAST_RATIO, MOST_EXPONENT = 200, 1.1
BUDGET_S = 2.0  # maximum for one peer on one expression
FAILED = set()  # expressions that our library could not build, with the reason


# ---- expressions: Python syntax trees, from which the program of every contender is built


def leaf_name(name):
    return ast.Name(name, ast.Load())


def call(name, *args):
    return ast.Call(leaf_name(name), list(args), [])


def binary(op, a, b):
    return ast.BinOp(a, op(), b)


def number(n):
    return ast.Constant(n)


def sum_of_symbols(n, rng):
    """2n terms: each of n symbols twice, with small coefficients, in random order."""
    names = [f"s{k}" for k in range(n)] * 2
    rng.shuffle(names)
    return call("Sum", *[binary(ast.Mult, number(rng.randint(1, 9)), leaf_name(name)) for name in names])


def wide(n, rng, symbols=20):
    """About n nodes: terms of 10 nodes each, c * ((a*d + b) // m % k) with a, b of 20 symbols."""
    terms = []
    for _ in range(max(1, n // 10)):
        a, b = (leaf_name(f"s{rng.randrange(symbols)}") for _ in range(2))
        inner = binary(ast.Add, binary(ast.Mult, a, number(rng.randint(2, 64))), b)
        quotient = binary(ast.FloorDiv, inner, number(rng.randint(2, 1000)))
        terms.append(
            binary(ast.Mult, number(rng.randint(1, 64)), binary(ast.Mod, quotient, number(rng.randint(2, 1000))))
        )
    return call("Sum", *terms)


def chain(nodes, rng, symbols=20):
    """x // p + y, % q + z, ..: four nodes per level, which has one // or %."""
    e = leaf_name("s0")
    for level in range(max(1, nodes // 4)):
        op = ast.FloorDiv if level % 2 else ast.Mod
        e = binary(ast.Add, binary(op, e, number(rng.randint(2, 1000))), leaf_name(f"s{rng.randrange(symbols)}"))
    return e


def nested(n, rng):
    """About n nodes: one chain up to depth DEPTH, then a sum of chains of that depth."""
    deepest = 2 * DEPTH
    return chain(n, rng) if n <= deepest else call("Sum", *[chain(deepest, rng) for _ in range(n // deepest)])


def names_in(tree):
    return sorted(
        {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        - {"Sum", "Min", "Max", "Where", "CeilDiv", "ModularIndexing"}
    )


def generated(name, tree):
    return {"name": name, "tree": tree, "vars": {v: [1, 1 << 20, 1] for v in names_in(tree)}, "text": None}


def of_corpus(k, entry):
    tree = ast.parse(entry["raw"], mode="eval").body
    return {"name": f"corpus/{k}", "tree": tree, "vars": entry["vars"], "text": entry["raw"]}


# ---- ours


OPERATORS = {
    ast.Add: "+2",
    ast.Sub: "-2",
    ast.Mult: "*2",
    ast.FloorDiv: "/2",
    ast.Mod: "%2",
    ast.Eq: "=2",
    ast.NotEq: "!2",
    ast.Lt: "<2",
    ast.LtE: "l2",
}
FUNCTIONS = {"Sum": "+", "Min": "m", "Max": "x", "Where": "w", "CeilDiv": "c", "ModularIndexing": "M"}


def stack_program(root, names):
    """Tokens in postfix order; without recursion, for trees of any depth."""
    out, todo = [], [root]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            out.append(node)
        elif isinstance(node, ast.Name):
            out.append(f"v{names.index(node.id)}")
        elif isinstance(node, ast.Constant):
            out.append(f"n{node.value}")
        elif isinstance(node, ast.BinOp):
            todo += [OPERATORS[type(node.op)], node.right, node.left]
        elif isinstance(node, ast.UnaryOp):
            todo += ["~1", node.operand]
        elif isinstance(node, ast.Compare):
            todo += [OPERATORS[type(node.ops[0])], node.comparators[0], node.left]
        else:
            todo += [f"{FUNCTIONS[node.func.id]}{len(node.args)}", *reversed(node.args)]
    return " ".join(out)


def extents_of(work):
    return {n: ast.parse(v, mode="eval").body for n, v in work["vars"].items() if isinstance(v, str)}


def workload(work, repeats, from_text):
    names = list(work["vars"])
    lines = [f"W {work['name']} {repeats}"]
    extents = extents_of(work)
    for name, v in work["vars"].items():
        lines.append(
            f"L {name} {stack_program(extents[name], names)}"
            if name in extents
            else f"V {name} {' '.join(map(str, v))}"
        )
    lines.append(f"T {work['text']}" if from_text else f"E {stack_program(work['tree'], names)}")
    return "\n".join(lines + [".\n"])


def time_ours(works, repeats, from_text=False):
    text = "".join(workload(w, repeats, from_text) for w in works)
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    FAILED.update(f"{name}: {reason[0]}" for name, _, *reason in rows if reason)
    return {name: float(time) for name, time, *reason in rows if not reason}


# ---- the peers


class Peer:
    """Runs the same operations on a peer's expressions, compiled with // and % as calls."""

    def __init__(self, name, functions, symbol, finish, clear):
        self.name, self.functions, self.symbol, self.finish, self.clear = name, functions, symbol, finish, clear

    def __call__(self, work, most_repeats):
        code = compile(
            ast.fix_missing_locations(ast.Expression(Calls().visit(copy_of(work["tree"])))), work["name"], "eval"
        )
        times, begin = [], time.perf_counter()
        while len(times) < most_repeats and (not times or time.perf_counter() - begin < BUDGET_S):
            self.clear()
            scope = dict(self.functions, **{n: self.symbol(n) for n in work["vars"]})
            start = time.perf_counter()
            self.finish(eval(code, scope))
            times.append(time.perf_counter() - start)
        return statistics.median(times)


def copy_of(tree):
    return ast.parse(ast.unparse(tree), mode="eval").body


class Calls(ast.NodeTransformer):
    """Replaces a // b and a % b by Floor(a, b) and Mod(a, b); integers stay Python's."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = {ast.FloorDiv: "Floor", ast.Mod: "Mod"}.get(type(node.op))
        return call(name, node.left, node.right) if name else node


def sympy_functions():
    s = sympy.S
    return {
        "Floor": lambda a, b: sympy.floor(s(a) / b),
        "Mod": lambda a, b: sympy.Mod(a, b),
        "Sum": sympy.Add,
        "Min": sympy.Min,
        "Max": sympy.Max,
        "CeilDiv": lambda a, b: sympy.ceiling(s(a) / b),
        "ModularIndexing": lambda x, d, m: sympy.Mod(sympy.floor(s(x) / d), m),
        "Where": lambda c, a, b: sympy.Piecewise((a, c), (b, True)),
    }


def symengine_functions():
    s = symengine.S

    def floor(a, b):
        return symengine.floor(s(a) / b)

    def mod(a, b):
        return a - b * floor(a, b)

    return {
        "Floor": floor,
        "Mod": mod,
        "Sum": symengine.Add,
        "Min": symengine.Min,
        "Max": symengine.Max,
        "Where": None,
        "CeilDiv": lambda a, b: symengine.ceiling(s(a) / b),
        "ModularIndexing": lambda x, d, m: mod(floor(x, d), m),
    }


def sympy_symbol(name):
    """Assumptions as in TorchInductor: sizes are positive, loop indices may be zero."""
    return (
        sympy.Symbol(name, integer=True, positive=True)
        if name[0] == "s"
        else sympy.Symbol(name, integer=True, nonnegative=True)
    )


SYMPY = Peer("sympy", sympy_functions(), sympy_symbol, sympy.expand, clear_cache)
SYMPY_SIMPLIFY = Peer("sympy.simplify", sympy_functions(), sympy_symbol, sympy.simplify, clear_cache)
SYMENGINE = Peer("SymEngine", symengine_functions(), symengine.Symbol, symengine.expand, lambda: None)


# ---- the table


def exponent(sizes, times):
    x, y = [math.log(n) for n in sizes], [math.log(t) for t in times]
    mx, my = statistics.mean(x), statistics.mean(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)


def microseconds(t):
    return f"{t * 1e6:,.2f}" if t < 1e-3 else f"{t * 1e6:,.0f}"


def row(name, ours, others):
    cells = [f"{name:16}", f"{microseconds(ours):>12}"]
    for t in others:
        cells += [f"{microseconds(t):>14}", f"{t / ours:>9,.0f}x"]
    print(" ".join(cells), flush=True)


def family(title, sizes, make):
    """Times one generated family over its sizes; returns its figures."""
    print(f"\n{title:16} {'ours, us':>12} {'sympy, us':>14} {'ratio':>10} {'SymEngine, us':>14} {'ratio':>10}")
    works = [generated(f"{title}/{n}", make(n, random.Random(n))) for n in sizes]
    ours = list(time_ours(works, 21).values())
    figures = {"sizes": list(sizes), "ours": ours, "sympy": [], "symengine": []}
    for n, work, t in zip(sizes, works, ours):
        peers = SYMPY(work, 3), SYMENGINE(work, 9)
        figures["sympy"].append(peers[0])
        figures["symengine"].append(peers[1])
        row(f"{n} {'symbols' if title == 'sums' else 'nodes'}", t, peers)
    figures["exponent"] = exponent(sizes, ours)
    print(
        f"{'growth':16} {figures['exponent']:>12.2f} {exponent(sizes, figures['sympy']):>14.2f} {'':10}"
        f" {exponent(sizes, figures['symengine']):>14.2f}"
    )
    return figures


def of_all_corpus():
    works = [of_corpus(k, e) for k, e in enumerate(corpus.load())]
    ours, parsed = time_ours(works, 21), list(time_ours(works, 21, from_text=True).values())
    works = [w for w in works if w["name"] in ours]
    ours = list(ours.values())
    peers = {p.name: [p(w, n) for w in works] for p, n in ((SYMPY, 3), (SYMENGINE, 5))}
    sample = works[:: max(1, len(works) // 40)]
    simplified = [SYMPY_SIMPLIFY(w, 1) for w in sample]
    ratios = {name: [t / o for t, o in zip(times, ours)] for name, times in peers.items()}
    print(f"corpus, {len(works)} expressions: median us of one, median ratio (least, of totals)")
    print(
        f"{'ours':16} {microseconds(statistics.median(ours)):>12}"
        f"    from text {microseconds(statistics.median(parsed))}; the slowest {microseconds(max(ours))}"
    )
    for name, times in peers.items():
        r = ratios[name]
        print(
            f"{name:16} {microseconds(statistics.median(times)):>12} {statistics.median(r):>9,.1f}x"
            f"   ({min(r):,.1f}x, {sum(times) / sum(ours):,.1f}x)"
        )
    r = [t / ours[works.index(w)] for t, w in zip(simplified, sample)]
    print(
        f"{SYMPY_SIMPLIFY.name:16} {microseconds(statistics.median(simplified)):>12} {statistics.median(r):>9,.1f}x"
        f"   of {len(sample)} expressions"
    )
    return {
        "ours": ours,
        "from_text": parsed,
        **peers,
        "sympy.simplify": simplified,
        "ratio": {k: statistics.median(v) for k, v in ratios.items()},
    }


def main():
    sys.setrecursionlimit(20000)
    print(f"sympy {sympy.__version__}, SymEngine {symengine.__version__}; one core; medians\n")
    figures = {
        "corpus": of_all_corpus(),
        "sums": family("sums", SUMS, sum_of_symbols),
        "wide": family("wide", NODES, wide),
        "nested": family("nested", NODES, nested),
    }
    (ROOT / "build" / "bench_sizes.json").write_text(json.dumps(figures, indent=1))
    families = [figures[k] for k in ("sums", "wide", "nested")]
    ratios = [s / o for f in families for s, o in zip(f["sympy"], f["ours"])] + [
        s / o for s, o in zip(figures["corpus"]["sympy"], figures["corpus"]["ours"])
    ]
    worst = max(f["exponent"] for f in families)
    median = statistics.median(ratios)
    print(
        f"\nmedian ratio to sympy {median:,.0f}x (wanted {LEAST_RATIO}x), least {min(ratios):,.1f}x;"
        f" largest exponent {worst:.2f} (at most {MOST_EXPONENT})"
    )
    print("".join(f"FAILED {line}\n" for line in sorted(FAILED)), end="")
    sys.exit(median < LEAST_RATIO or worst > MOST_EXPONENT or bool(FAILED))


if __name__ == "__main__":
    main()
