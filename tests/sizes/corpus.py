"""The committed corpus of index expressions: reading it, evaluating an entry, and the one way in which sizes are
counted.

corpus.json holds one entry a line (make_corpus.py writes it):
  label      the graph that the expression comes from, and how its views were composed
  raw        the index as composed, before any simplification
  vars       name -> [lo, hi, multiple_of] of a size, or the extent (text) of a loop index in [0, extent)
  facts      what the tracer knew of the sizes beyond their ranges
  hints      sizes for which the facts hold
  inductor   what TorchInductor makes of it (null: what it made has another value)
  sympy      the smallest that sympy makes of it, without Inductor's rules
  both       the smallest that sympy makes of Inductor's result
"""

import ast
import functools
import json
import pathlib
import random

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus.json"
SAFE = {
    "Min": min,
    "Max": max,
    "Where": lambda c, a, b: a if c else b,
    "CeilDiv": lambda a, b: -(-a // b),
    "ModularIndexing": lambda x, d, m: x // d % m,
    "__builtins__": {},
}


def load():
    lines = CORPUS.read_text().splitlines()
    return [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"label"')]


# ---- counting: on Python's syntax tree, the same for every contender


def node_operations(node):
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return 1
    if isinstance(node, ast.Compare):
        return len(node.ops)
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.Call):
        return max(1, len(node.args) - 1)
    return 0


def operations(text):
    """Every binary operator and unary minus is one; a call of n arguments is n - 1, at least one."""
    return sum(node_operations(n) for n in ast.walk(ast.parse(text, mode="eval")))


def divisions(text):
    """How many // and % are computed; CeilDiv holds one, ModularIndexing two."""
    count = 0
    for n in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(n, ast.BinOp):
            count += isinstance(n.op, (ast.FloorDiv, ast.Mod))
        if isinstance(n, ast.Call):
            count += {"CeilDiv": 1, "ModularIndexing": 2}.get(n.func.id, 0)
    return count


# ---- values


@functools.lru_cache(maxsize=None)
def compiled(text):
    return compile(text, "<index>", "eval")


def evaluate(text, values):
    return int(eval(compiled(text), SAFE, values))


def draw_size(rng, lo, hi, multiple, small):
    """A size within its range: often near its lower end, where cases differ."""
    first, last = -(-lo // multiple), hi // multiple
    return rng.randint(first, min(last, first + small)) * multiple


def draw_sizes(entry, rng):
    """Sizes for which every fact holds: drawn until they do, else the hints."""
    sizes = {name: v for name, v in entry["vars"].items() if not isinstance(v, str)}
    for attempt in range(40):
        small = (1, 4, 40, 1 << 20)[attempt % 4]
        values = {name: draw_size(rng, *v, small) for name, v in sizes.items()}
        if all(evaluate(fact, values) for fact in entry["facts"]):
            return values
    return dict(entry["hints"])


def points(entry, count=40):
    """Values of all variables: the loop indices random, all zero, and all at their last."""
    rng = random.Random(entry["raw"])
    extents = {name: v for name, v in entry["vars"].items() if isinstance(v, str)}
    for k in range(count):
        values = dict(entry["hints"]) if k < 4 else draw_sizes(entry, rng)
        for name, extent in extents.items():
            n = evaluate(extent, values)
            values[name] = [0, n - 1, rng.randrange(n)][min(k % 4, 2)] if n > 0 else 0
        yield values


def same_value(entry, text, count=40):
    return all(evaluate(text, p) == evaluate(entry["raw"], p) for p in points(entry, count))
