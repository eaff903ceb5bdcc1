"""Random expressions against Python: what `ind size` makes of them must be equal, bounded, a fixpoint and no larger.

    python tests/sizes/random_expressions.py --count 200000 --seed 1
    python tests/sizes/random_expressions.py --count 3000 --seed 7 --corpus tests/sizes/random.json.gz

Expressions come in groups that share variables, facts and points. Python's integers never overflow and its // and % round
down, so that Python evaluates the text form itself: the text given and the text printed, at the same points, corners of
the ranges among them. For each expression:

  - both texts have the same value at every point, and so has the third column;
  - the bounds hold every value;
  - the printed text, read by another process, prints the same line;
  - the printed text has no more operations than the one given.

In one group of eight, numbers are so large that 64 bits may not do: there an error is right too, and what the
expression is worth counts only where all its parts fit.
A failure is cut down to a small expression that fails in the same way. With --corpus the expressions and Python's
answers are written to a file, which test_random.py reads.
"""

import argparse
import ast
import gzip
import json
import pathlib
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOWEST, HIGHEST = -(2**63), 2**63 - 1
PER_GROUP = 250


# ---- Python's side of the text form


def mod_index(x, d, m):
    return x // d % m


def ceil_div(a, b):
    return -(-a // b)


def where(c, a, b):
    return a if c else b


FUNCTIONS = {"Min": min, "Max": max, "Where": where, "CeilDiv": ceil_div, "ModularIndexing": mod_index}


def values(texts, points):
    """A list for each text: its values at the points; an exception in its place where Python raises one."""
    try:
        code = compile("[" + ",".join(f"({t})" for t in texts) + "]", "expressions", "eval")
        rows = [eval(code, {**FUNCTIONS, **point}) for point in points]
        return [[int(row[i]) for row in rows] for i in range(len(texts))]
    except (SyntaxError, ArithmeticError, NameError, TypeError, MemoryError, ValueError) as error:
        if len(texts) == 1:
            return [error]
        half = len(texts) // 2
        return values(texts[:half], points) + values(texts[half:], points)


class Overflow(Exception):
    pass


def fit(value):
    if not LOWEST <= value <= HIGHEST:
        raise Overflow
    return value


class Checked(ast.NodeTransformer):
    """Every operation fits 64 bits, or there is no value."""

    def generic_visit(self, node):
        super().generic_visit(node)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call)):
            return ast.Call(ast.Name("fit", ast.Load()), [node], [])
        return node


def checked_values(texts, points):
    """As values; None at points where a part of the expression exceeds 64 bits."""
    rows = []
    for text in texts:
        tree = ast.fix_missing_locations(Checked().visit(ast.parse(text, mode="eval")))
        code, row = compile(tree, "expression", "eval"), []
        for point in points:
            try:
                row.append(int(eval(code, {**FUNCTIONS, "fit": fit, **point})))
            except Overflow:
                row.append(None)
            except ArithmeticError as error:
                row = error
                break
        rows.append(row)
    return rows


CALL_COST = {"CeilDiv": 1, "ModularIndexing": 2, "Where": 1}  # CeilDiv(a, 8) is (a + 7) // 8


def operations(text):
    """Operations in a text, as a reader counts them; the sign of a constant is none."""
    count = 0
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.BinOp):
            count += 1
        elif isinstance(node, ast.UnaryOp):
            count += not isinstance(node.operand, ast.Constant)
        elif isinstance(node, ast.Compare):
            count += len(node.ops)
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.Call):
            count += CALL_COST.get(node.func.id, len(node.args) - 1)
    return count


# ---- the tool's side


@dataclass
class Group:
    """What expressions share: the options that declare it, and points where all of it holds."""

    variables: list  # of --var
    facts: list  # of --fact
    points: list  # of {name: value}
    large: bool = False  # 64 bits may not do
    trees: list = field(default_factory=list)

    def options(self):
        return [w for v in self.variables for w in ("--var", v)] + [w for f in self.facts for w in ("--fact", f)]

    def values(self, texts):
        return (checked_values if self.large else values)(texts, self.points)


def run_tool(tool, group, texts, at=None):
    """(columns, message) for each text."""
    command = [tool, "size", "-", *group.options()]
    if at:
        command += ["--at", ",".join(f"{name}={value}" for name, value in at.items())]
    done = subprocess.run(
        list(map(str, command)), input="".join(t + "\n" for t in texts), capture_output=True, text=True, timeout=600
    )
    lines = done.stdout.split("\n")[:-1]
    if len(lines) != len(texts):  # it crashed: which expression was it?
        if len(texts) == 1:
            return [(["error", "-", "-"], f"crash, exit status {done.returncode}: {done.stderr[-1000:]}")]
        half = len(texts) // 2
        return run_tool(tool, group, texts[:half], at) + run_tool(tool, group, texts[half:], at)
    messages = dict(re.findall(r"^ind: size: line (\d+)(?:, column \d+)?: (.*)$", done.stderr, re.MULTILINE))
    return [(line.split("\t"), messages.get(str(i + 1), "")) for i, line in enumerate(lines)]


def judge(group, text, expected, printed, got, bounds):
    """The complaint about one expression, as (kind, sentence), or None."""
    if isinstance(got, Exception):
        return "text", f"Python cannot evaluate what is printed: {got}"
    if group.large:  # where what is printed exceeds 64 bits on the way, that is an error and neither value nor bounds
        expected = [w if h is not None else None for w, h in zip(expected, got)]
    for point, want, have in zip(group.points, expected, got):
        if want is not None and want != have:
            return "value", f"is {want}, printed {have} at {point}"
    try:
        low, high = (int(end) for end in bounds.strip("[]").split(", "))
    except ValueError:
        return "bounds", f"bounds {bounds!r}"
    for point, want in zip(group.points, expected):
        if want is not None and not low <= want <= high:
            return "bounds", f"{want} is outside {bounds} at {point}"
    if operations(printed) > operations(text):
        return "grown", f"{operations(text)} operations, {operations(printed)} printed"
    return None


def judge_again(group, first, second, value, message):
    """The complaint about the line that the printed text gives."""
    if second[0] == "error":
        if group.large and not message.startswith("crash"):
            return None
        return "again", f"what is printed is not read: {message}"
    if second[:2] != first[:2]:
        return "again", f"read again it prints {second[0]} {second[1]}"
    if value is not None and second[2] != str(value):
        return "at", f"value column {second[2]}, is {value}"
    return None


def check(tool, group, texts, expected=None):
    """For each text (complaint or None, printed text, bounds)."""
    if expected is None:
        expected = group.values(texts)
    first = run_tool(tool, group, texts)
    passed = [i for i, (columns, _) in enumerate(first) if columns[0] != "error" and len(columns) == 3]
    printed = [first[i][0][0] for i in passed]
    got = group.values(printed)
    second = run_tool(tool, group, printed, group.points[0])
    results = []
    for columns, message in first:
        bad = ("crash" if message.startswith("crash") else "refused", message)
        if group.large and bad[0] == "refused":
            bad = None
        results.append((bad, columns[0], columns[1]))
    for k, i in enumerate(passed):
        columns = first[i][0]
        bad = judge(group, texts[i], expected[i], printed[k], got[k], columns[1])
        if not bad or bad[0] == "grown":
            bad = judge_again(group, columns, second[k][0], expected[i][0], second[k][1]) or bad
        results[i] = (bad, columns[0], columns[1])
    return results


# ---- random expressions: trees (operator, arguments, low, high) with bounds of their own, plain interval arithmetic


class Generator:
    """Expressions over the variables of one group; `ranges` has (low, high) for each name."""

    def __init__(self, rng, ranges, large):
        self.rng, self.ranges = rng, ranges
        self.limit = 2**80 if large else 2**40
        self.large = large
        self.pool = []

    def leaf(self):
        if self.rng.random() < 0.7:
            name = self.rng.choice(list(self.ranges))
            return ("name", (name,), *self.ranges[name])
        choices = [0, 1, 2, 3, 4, 5, 7, 8, 16, 63, 64, 96, 128, 1000, 4096, -1, -2, -3, -8, -17]
        value = self.rng.choice(choices)
        if self.large and self.rng.random() < 0.3:
            value = self.rng.choice([2**31, 2**32 + 1, 2**62, HIGHEST, -(2**40), -(2**62), -HIGHEST])
        return ("int", (value,), value, value)

    def make(self, op, *args):
        """None if the values may be too large."""
        low, high = interval(op, args)
        return (op, args, low, high) if -self.limit <= low and high <= self.limit else None

    def constant(self, value):
        return ("int", (value,), value, value)

    def divisor(self, depth):
        """An expression that is never zero."""
        rng = self.rng
        kind = rng.randrange(12)
        names = [n for n, (low, high) in self.ranges.items() if low > 0 or high < 0]
        some = rng.choice(names) if names else None
        name = ("name", (some,), *self.ranges[some]) if some else self.constant(rng.choice([2, 3, 8]))
        if kind < 4:
            return self.constant(rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 64, 100, 4096]))
        if kind == 4:
            return self.constant(rng.choice([-1, -2, -3, -4, -7, -8, -64]))
        if kind < 8:
            return name
        if kind == 8:  # odd, of any sign
            k, rest = rng.choice([(2, 1), (2, -1), (4, 1), (4, 3), (6, 3), (-2, 1)])
            n = self.expression(min(depth, 1))
            scaled = self.make("*", self.constant(k), n)
            return (scaled and self.make("+", scaled, self.constant(rest))) or name
        if kind == 9:
            return self.make("Max", self.expression(depth), self.constant(rng.choice([1, 2, 8])))
        if kind == 10:
            factor = self.constant(rng.choice([2, 3, 8, -5])) if rng.random() < 0.4 else name
            return self.make("*", factor, self.divisor(depth - 1)) if depth > 0 else name
        n = self.expression(min(depth, 2))
        return (self.make("+", n, self.constant(1 - n[2])) if n[2] > -100 else None) or name

    def condition(self, depth):
        kind = self.rng.randrange(8)
        if kind > 2 or depth < 1:
            op = self.rng.choice(["==", "!=", "<", "<=", ">", ">="])
            return self.make(op, self.expression(depth - 1), self.expression(depth - 1))
        if kind == 0:
            return self.make("not", self.condition(depth - 1))
        return self.make(self.rng.choice(["and", "or"]), self.condition(depth - 1), self.condition(depth - 1))

    def pattern(self, depth):
        """What lowering makes: a split or join of dimensions, a padded size, and the like."""
        rng, x, d = self.rng, self.expression(depth), self.divisor(min(depth, 1))
        k = self.constant(rng.choice([2, 3, 4, 8, 16]))
        make = self.make
        quotient, rest = make("//", x, d), make("%", x, d)
        parts = {
            0: lambda: make("-", x, make("*", d, quotient)),
            1: lambda: make("+", make("*", quotient, d), rest),
            2: lambda: make("//", make("%", x, make("*", d, k)), d),
            3: lambda: make("+", make("*", k, make("ModularIndexing", x, k, k)), make("%", x, k)),
            4: lambda: make("-", make("*", make("CeilDiv", x, d), d), x),
            5: lambda: make("//", make("+", make("*", x, k), self.leaf()), k),
            6: lambda: make("%", make("+", make("*", x, k), rest), k),
            7: lambda: make("%", make("%", x, make("*", k, k)), k),
            8: lambda: make("//", quotient, k),
            9: lambda: make("+", make("*", k, x), make("//", x, k)),
        }
        return parts[rng.randrange(len(parts))]()

    def build(self, depth):
        rng = self.rng
        op = rng.choices(
            [
                "+",
                "-",
                "*",
                "//",
                "%",
                "ModularIndexing",
                "CeilDiv",
                "Min",
                "Max",
                "Where",
                "neg",
                "condition",
                "pattern",
            ],
            [12, 8, 8, 8, 7, 4, 4, 4, 4, 4, 2, 2, 6],
        )[0]
        if op == "condition":
            return self.condition(min(depth, 3))
        if op == "pattern":
            return self.pattern(depth - 1)
        if op == "neg":
            return self.make("neg", self.expression(depth - 1))
        if op == "Where":
            return self.make(
                "Where", self.condition(min(depth - 1, 2)), self.expression(depth - 1), self.expression(depth - 1)
            )
        if op in ("Min", "Max"):
            return self.make(op, *(self.expression(depth - 1) for _ in range(rng.choice([2, 2, 2, 3, 4]))))
        if op in ("//", "%", "CeilDiv"):
            return self.make(op, self.expression(depth - 1), self.divisor(min(depth - 1, 2)))
        if op == "ModularIndexing":
            return self.make(op, self.expression(depth - 1), self.divisor(1), self.divisor(1))
        return self.make(op, self.expression(depth - 1), self.expression(depth - 1))

    def expression(self, depth):
        rng = self.rng
        self.budget -= 1
        if depth <= 0 or self.budget <= 0 or rng.random() < 0.1:
            return self.leaf()
        if self.pool and rng.random() < 0.12:
            return rng.choice(self.pool)
        try:
            tree = self.build(depth) or self.leaf()
        except TypeError:  # a part was too large
            tree = self.leaf()
        self.pool.append(tree)
        return tree

    def tree(self):
        self.pool, self.budget = [], self.rng.choice([4, 8, 12, 20, 40])
        return self.expression(self.rng.choice([2, 3, 4, 5, 6, 7, 8]))


def interval(op, args):
    """Bounds of op over arguments that vary independently."""
    a, b = args[0][2:]
    if op in ("==", "!=", "<", "<=", ">", ">=", "and", "or", "not"):
        return 0, 1
    if op == "neg":
        return -b, -a
    if op in ("Min", "Max"):
        pick = min if op == "Min" else max
        return pick(t[2] for t in args), pick(t[3] for t in args)
    if op == "Where":
        return min(args[1][2], args[2][2]), max(args[1][3], args[2][3])
    c, d = args[1][2:]
    if op == "+":
        return a + c, b + d
    if op == "-":
        return a - d, b - c
    if op == "*":
        ends = [a * c, a * d, b * c, b * d]
        return min(ends), max(ends)
    if op == "ModularIndexing":
        return remainder_interval(*args[2][2:])
    if op == "%":
        return remainder_interval(c, d)
    if c <= 0 <= d:  # never zero for a reason that intervals do not see
        most = max(abs(a), abs(b)) + 1
        return -most, most
    ends = [x // y for x in (a, b) for y in (c, d)] + [ceil_div(x, y) for x in (a, b) for y in (c, d)]
    return min(ends), max(ends)


def remainder_interval(c, d):
    return min(c + 1, 0), max(d - 1, 0)


# ---- trees as text, with no more parentheses than needed, or a few more

PRECEDENCE = {"or": 1, "and": 2, "not": 3, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5}
PRECEDENCE |= {"*": 6, "//": 6, "%": 6, "neg": 7}


def render(tree, outer=0, rng=None):
    op, args = tree[0], tree[1]
    if op in ("name", "int"):
        text = str(args[0])
        return f"({text})" if text[0] == "-" and outer > 6 else text
    if op not in PRECEDENCE:
        return op + "(" + ", ".join(render(a, 0, rng) for a in args) + ")"
    level = PRECEDENCE[op]
    if op == "not":
        text = "not " + render(args[0], 4, rng)
    elif op == "neg":
        text = "-" + render(args[0], 8, rng)
    elif level == 4:
        text = f"{render(args[0], 5, rng)} {op} {render(args[1], 5, rng)}"
    else:
        text = f"{render(args[0], level, rng)} {op} {render(args[1], level + 1, rng)}"
    more = rng is not None and rng.random() < 0.05
    return f"({text})" if level < outer or more else text


# ---- random variables, facts and points


class Variables:
    """Variables of a group: each is (name, declaration, function of the others' values that gives (low, high, step))."""

    def __init__(self, rng, large):
        self.rng, self.large = rng, large
        self.names, self.declared, self.limits, self.ranges = [], [], {}, {}
        for i in range(rng.randint(1, 5)):
            if i and rng.random() < 0.35:
                self.add_index(f"i{i}")
            else:
                self.add_size(f"s{i}")

    def add(self, name, declaration, limits, low, high):
        self.names.append(name)
        if declaration:
            self.declared.append(f"{name} {declaration}")
        self.limits[name] = limits
        self.ranges[name] = (low, high)

    def add_size(self, name):
        rng = self.rng
        if self.large and rng.random() < 0.4:
            return self.add(name, "", lambda point: (LOWEST, HIGHEST, 1), LOWEST, HIGHEST)
        step = rng.choice([1, 1, 1, 1, 2, 3, 4, 8, 16, 64])
        low = rng.choice([0, 1, 1, 1, 2, 3, 5, -1, -4, -9, -100])
        high = rng.choice([low, low + 1, low + 3, 7, 12, 100, 1024, 4096]) * step
        low *= step
        if high < low:
            low, high = -abs(low), abs(low) * 2
        if rng.random() < 0.12:
            low, high = -high, -low
        if self.large:
            high *= rng.choice([1, 2**20, 2**31])
        text = f"in [{low}, {high}]" + (f" multiple_of {step}" if step > 1 else "")
        return self.add(name, text, lambda point: (low, high, step), low, high)

    def add_index(self, name):
        rng = self.rng
        positive = [n for n in self.names if self.ranges[n][0] > 0]
        end = str(rng.choice([1, 2, 3, 8, 12, 32, 64, 100, 384]))
        if positive and rng.random() < 0.8:
            a, b = rng.choice(positive), rng.choice(positive)
            end = rng.choice([a, a, a, f"2*{a}", f"8*{a}", f"{a}*{b}", f"{a} + 1", f"{a} + {b}", f"CeilDiv({a}, 4)"])
        highs = {n: self.ranges[n][1] for n in self.names}  # every form of END grows with its variables
        high = values([end], [highs])[0][0] - 1
        limit = lambda point: (0, values([end], [point])[0][0] - 1, 1)  # noqa: E731
        return self.add(name, f"in [0, {end})", limit, 0, high)

    def point(self, corner):
        """A value for each variable; corner: only ends of the ranges."""
        rng, point = self.rng, {}
        for name in self.names:
            low, high, step = self.limits[name](point)
            low, high = ceil_div(low, step), high // step
            if low > high:
                return None
            near = min(high, max(low, rng.choice([-2, -1, 0, 1, 2, 3])))
            picks = [low, high] if corner else [low, high, near, rng.randint(low, high), rng.randint(low, high)]
            if self.large and not corner:
                picks.append(rng.randint(max(low, -100), min(high, 100)) if low <= 100 and high >= -100 else near)
            point[name] = rng.choice(picks) * step
        return point

    def points(self, count, facts=(), tie=None):
        """Distinct points that agree with the facts, corners first; `tie` (name, text) gives one variable its value."""
        found, seen = [], set()
        for attempt in range(count * 40):
            point = self.point(corner=attempt < count * 3 and len(found) < count // 2)
            if point is not None and tie:
                point[tie[0]] = values([tie[1]], [point])[0][0]
            if point is None or not self.holds(point, facts) or tuple(point.values()) in seen:
                continue
            seen.add(tuple(point.values()))
            found.append(point)
            if len(found) == count:
                break
        return found

    def holds(self, point, facts):
        for name in self.names:
            low, high, step = self.limits[name](point)
            if not low <= point[name] <= min(high, HIGHEST) or point[name] % step:
                return False
        return all(row[0] for row in values(list(facts), [point])) if facts else True

    def random_facts(self):
        """(facts, tie)"""
        rng = self.rng
        names = [n for n in self.names if n[0] == "s"]
        if len(names) < 2 or self.large:
            return [], None
        a, b = rng.sample(names, 2)
        kind, k = rng.randrange(6), rng.choice([2, 3, 4, 8])
        if kind < 2:
            value = rng.choice([f"{k}*{b}", f"{b} + {k}", b, f"{b}*{b}", f"{k}*{b} - 1"])
            return [f"{a} == {value}"], (a, value)
        if kind == 2:
            return [f"{a} <= {b}"], None
        if kind == 3:
            return [f"{a} < {b}", f"{a} != 0"], None
        if kind == 4:
            return [f"{a} % {k} == 0"], None
        return [f"{k}*{a} <= {b}", f"{b} % {k} == 0"], None


def random_group(rng, count, points=14, large=None):
    large = rng.random() < 0.125 if large is None else large
    while True:
        v = Variables(rng, large)
        facts, tie = v.random_facts() if rng.random() < 0.35 else ([], None)
        found = v.points(points, facts, tie)
        if found and (len(found) > 3 or not facts):
            break
    group = Group(v.declared, facts, found, large)
    generator = Generator(rng, v.ranges, large)
    group.trees = [generator.tree() for _ in range(count)]
    return group


# ---- making a failing expression small


CONDITIONS = ("==", "!=", "<", "<=", ">", ">=", "and", "or", "not")
DIVISORS = {"//": (1,), "%": (1,), "CeilDiv": (1,), "ModularIndexing": (1, 2)}


def smaller(tree):
    """Trees one step smaller: a part in the place of the whole, or that done to one argument. Divisors stay as they are,
    so that they stay different from zero."""
    op, args = tree[0], tree[1]
    if op in ("name", "int"):
        return
    yield from (a for a in args if isinstance(a, tuple))
    if op in ("Min", "Max") and len(args) > 2:
        for i in range(len(args)):
            yield (op, args[:i] + args[i + 1 :], tree[2], tree[3])
    for i, a in enumerate(args):
        for part in smaller(a) if i not in DIVISORS.get(op, ()) else ():
            if a[0] not in CONDITIONS or part[0] in CONDITIONS:
                yield (op, args[:i] + (part,) + args[i + 1 :], tree[2], tree[3])


def shrink(tool, group, tree, kind):
    for _ in range(60):
        trees = sorted(smaller(tree), key=lambda t: len(render(t)))[:400]
        texts = [render(t) for t in trees]
        expected = group.values(texts)
        usable = [i for i in range(len(trees)) if not isinstance(expected[i], Exception)]
        if not usable:
            break
        results = check(tool, group, [texts[i] for i in usable], [expected[i] for i in usable])
        failing = [i for i, result in zip(usable, results) if result[0] and result[0][0] == kind]
        if not failing:
            break
        tree = trees[failing[0]]
    return tree


# ---- the large run


def report(tool, group, tree, complaint):
    kind = complaint[0]
    text = render(shrink(tool, group, tree, kind))
    bad, printed, bounds = check(tool, group, [text])[0]
    print(f"{kind}: ind size '{text}' " + " ".join(f"'{w}'" if " " in w else w for w in group.options()))
    print(f"    prints {printed} {bounds}; {(bad or complaint)[1]}", flush=True)


def run(tool, count, seed, show):
    counts, shown, begin, done, number = {}, {}, time.time(), 0, 0
    while done < count:
        rng = random.Random(f"{seed}/{number}")
        group = random_group(rng, min(PER_GROUP, count - done))
        texts = [render(t, 0, rng) for t in group.trees]
        for tree, (complaint, _, _) in zip(group.trees, check(tool, group, texts)):
            if complaint:
                kind = complaint[0]
                counts[kind] = counts.get(kind, 0) + 1
                shown[kind] = shown.get(kind, 0) + 1
                if shown[kind] <= show:
                    report(tool, group, tree, complaint)
        done += len(texts)
        number += 1
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) or "no complaints"
    print(f"{done} expressions in {number} groups, {time.time() - begin:.0f} s: {kinds}")
    # A proof that is not found is an error that is allowed; what grows is counted, see test_random.py.
    return any(kind != "refused" for kind in counts)


# ---- the committed corpus


def write_corpus(path, count, seed):
    """Groups of expressions with Python's answers: {variables, facts, large, names, points, expressions: [[text, values]]}."""
    groups, done, number = [], 0, 0
    while done < count:
        rng = random.Random(f"{seed}/{number}")
        group = random_group(rng, min(60, count - done), points=8)
        texts = [render(t, 0, rng) for t in group.trees]
        names = list(group.points[0])
        groups.append(
            {
                "variables": group.variables,
                "facts": group.facts,
                "large": group.large,
                "names": names,
                "points": [[p[n] for n in names] for p in group.points],
                "expressions": list(zip(texts, group.values(texts))),
            }
        )
        done += len(texts)
        number += 1
    data = json.dumps(groups, separators=(",", ":")).encode()
    with open(path, "wb") as f, gzip.GzipFile("", "wb", mtime=0, fileobj=f) as g:
        g.write(data)
    print(f"{path}: {done} expressions in {number} groups")


def read_corpus(path):
    """[(Group, texts, Python's values)]"""
    with gzip.open(path) as f:
        groups = json.load(f)
    for g in groups:
        points = [dict(zip(g["names"], p)) for p in g["points"]]
        texts, expected = zip(*g["expressions"])
        yield Group(g["variables"], g["facts"], points, g["large"]), list(texts), list(expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=200000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tool", type=pathlib.Path, default=ROOT / "build" / "ind")
    parser.add_argument("--show", type=int, default=5, help="failures of each kind that are cut down and printed")
    parser.add_argument("--corpus", type=pathlib.Path, help="write this many expressions to a file instead")
    options = parser.parse_args()
    if options.corpus:
        write_corpus(options.corpus, options.count, options.seed)
        return 0
    return int(run(options.tool, options.count, options.seed, options.show))


if __name__ == "__main__":
    sys.exit(main())
