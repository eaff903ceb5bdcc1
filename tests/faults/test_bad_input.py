"""Bad input for every op: wrong types, ranks, dims, attributes, operands, sizes and indices, made from the op table and a good call
of each op (the best of its calls in the numerics cases). All go through bad_graphs.c, under AddressSanitizer and
UndefinedBehaviorSanitizer. What is refused must be refused with a status and a message that names the op and says what is wrong;
what must be refused is; what is taken has a result of sane type."""

import collections
import os
import re
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT, make

sys.path.insert(0, str(ROOT / "tests" / "numerics"))
import matrix  # noqa: E402
from generate import NUMPY  # noqa: E402
from table import DTYPES, EIGHTHS, FLOATS, INTS  # noqa: E402

Bad = collections.namedtuple("Bad", "op kind text head must says")  # must: has to be refused; says: a pattern in the message

# A value that no attribute of the kind takes.
WRONG = {"int": '"wrong"', "float": '"wrong"', "bool": '"wrong"', "str": "3", "dtype": "3", "ints": '"wrong"', "floats": '"wrong"', "sizes": '"wrong"', "size": '"wrong"',
         "scalar": '"wrong"'}
DIM = re.compile(r"dims?|dim\d|(start|end)_dim|dimension|source|destination")
ATTRIBUTE = re.compile(r"(\w+):(\w+)(?:=(.*))?")


# ---- a good call, as text that can be changed


class Good:
    """A call in the printed form: operands first, attributes by name."""

    def __init__(self, sample):
        self.sample = sample
        self.row = matrix.op_rows()[sample.op]
        self.kinds = {name: kind for name, kind, _ in (ATTRIBUTE.match(a).groups() for a in self.row["attributes"].split())}
        text = sample.graph() if matrix.is_composite(sample.op) else matrix.asked().parse(sample.graph())[0]
        lines = [line.strip() for line in text.splitlines()]
        self.inputs = [line for line in lines if line.startswith("input")]
        left, _, right = next(line for line in lines if " = " in line).partition(" = ")
        arguments = matrix.split_top(right[right.index("(") + 1 : right.rindex(")")])
        self.results = [name.partition(" : ")[0] for name in matrix.split_top(left)]
        self.operands = matrix.operands_in(sample.op, arguments)
        placed = [a for a in arguments if not re.match(r"\w+=", a)][len(self.operands) :]
        named = dict(a.split("=", 1) for a in arguments if re.match(r"\w+=", a))
        self.attributes = {**dict(zip(self.kinds, placed)), **{name: value for name, value in named.items() if name in self.kinds}}

    def text(self, operands=None, attributes=None, more=(), inputs=None):
        arguments = [*(self.operands if operands is None else operands), *more]
        arguments += [f"{k}={v}" for k, v in ({**self.attributes, **(attributes or {})}).items()]
        call = f"{', '.join(self.results)} = {self.sample.op}({', '.join(arguments)})"
        return "graph g {\n" + "".join(f"  {s}\n" for s in [*(inputs or self.inputs), call, "output " + ", ".join(self.results)]) + "}\n"

    def rank(self):
        return max((len(o.shape) for o in self.sample.operands), default=0)


def good_calls():
    for op in matrix.op_rows():
        yield Good(matrix.samples()[op][0])


# ---- the kinds of bad input


def wrong_types(good):
    for at in sorted(set(good.sample.where)):
        for dtype in DTYPES + EIGHTHS:
            together, alone = matrix.with_type(good.sample, at, dtype)
            yield alone.graph(), False, ""
            if at == 0 and together != alone:
                yield together.graph(), False, ""


def wrong_ranks(good):
    s = good.sample
    for at in sorted(set(s.where)):
        for rank in (0, 1, 2, 3, 4, 5, 9):
            shape = lambda o: (o.shape + (2,) * 9)[:rank]
            yield s.with_operands(lambda p, o: matrix.dataclasses.replace(o, shape=shape(o)) if p == at else o).graph(), rank > 8, ""


def dims_out_of_range(good):
    for name, kind in good.kinds.items():
        if not DIM.fullmatch(name) or kind not in ("int", "ints"):
            continue
        for dim in (good.rank() + 1, -good.rank() - 2, 99, 2**31, -(2**63), 2**63 - 1):
            value = f"[{dim}]" if kind == "ints" else str(dim)
            yield good.text(attributes={name: value}), True, r"dim|-?\d"


def unknown_attributes(good):
    yield good.text(attributes={"bogus": "1"}), True, "bogus"
    for name in good.attributes:
        yield good.text(more=[f"{name}={good.attributes[name]}"]), True, name  # given twice


def wrong_attribute_kinds(good):
    for name, kind in good.kinds.items():
        yield good.text(attributes={name: WRONG[kind]}), True, name
        for odd in ("2.5", "[1, [2]]", "-", "[]" if kind not in ("ints", "floats", "sizes") else '["a"]'):
            yield good.text(attributes={name: odd}), False, ""


def missing_operands(good):
    names = good.row["operands"].split()
    for k, name in enumerate(names[: len(good.operands)]):
        if "?" not in name:
            yield good.text(operands=[*good.operands[:k], "none", *good.operands[k + 1 :]]), True, ""
            if not good.attributes and k == len(good.operands) - 1:
                yield good.text(operands=good.operands[:k]), True, name.rstrip("*")
    for k, _ in enumerate(good.operands):
        yield good.text(operands=[*good.operands[:k], "unknown", *good.operands[k + 1 :]]), True, "unknown"


def missing_attributes(good):
    for row in good.row["attributes"].split():
        name, _, default = ATTRIBUTE.match(row).groups()
        if default is None and name in good.attributes:
            kept = Good(good.sample)
            del kept.attributes[name]
            yield kept.text(), True, name


def too_many_operands(good):
    name = good.operands[-1] if good.operands else "a0"
    name = name if re.fullmatch(r"\w+", name) else "a0"
    inputs = good.inputs or ["input a0 : f32[2]"]
    yield good.text(more=[name] * (len(good.row["operands"].split()) + len(good.kinds) + 1 - len(good.operands)), inputs=inputs), True, ""


def negative_sizes(good):
    for name, kind in good.kinds.items():
        for size in (-7, -(2**62)):
            if kind in ("size", "sizes"):
                given = good.attributes.get(name, "[1]")
                values = re.sub(r"-?\b\d+\b", str(size), given) if kind == "sizes" else str(size)
                yield good.text(attributes={name: values}), False, ""
            if kind == "ints":
                yield good.text(attributes={name: re.sub(r"-?\b\d+\b", str(size), good.attributes.get(name, "[1]"))}), False, ""


def overflowing_sizes(good):
    """Of attributes, and of operands that are as large as they can be."""
    for name, kind in good.kinds.items():
        if kind in ("size", "sizes", "ints", "int"):
            given = good.attributes.get(name, "[1, 1]" if kind in ("sizes", "ints") else "1")
            yield good.text(attributes={name: re.sub(r"-?\b\d+\b", str(2**63 - 1 if kind == "size" else 2**40), given)}), False, ""
    for each in (2**20, 2**29):
        grown = good.sample.with_operands(lambda p, o: matrix.dataclasses.replace(o, shape=tuple(n if n == 1 else n * each for n in o.shape)))
        yield grown.graph(), False, ""


def unbroadcastable(good):
    s = good.sample
    if good.row["fuses"].startswith("pointwise") and len(s.operands) > 1 and "*" not in good.row["operands"]:
        for shapes in (((2, 3), (4, 3)), ((2,), (3,)), ((2, 2, 3), (3, 3))):
            sizes = iter([shapes[0]] + [shapes[1]] * (len(s.operands) - 1))
            changed = matrix.dataclasses.replace(s, operands=tuple(matrix.dataclasses.replace(o, shape=next(sizes)) for o in s.operands))
            yield changed.graph(), True, r"\[2|\[3|\[4"


KINDS = [wrong_types, wrong_ranks, dims_out_of_range, unknown_attributes, wrong_attribute_kinds, missing_operands, missing_attributes, too_many_operands, negative_sizes,
         overflowing_sizes, unbroadcastable]
COMPILED = [negative_sizes, overflowing_sizes]  # what is taken of the others is tried by the numerics cases


def all_bad():
    for good in good_calls():
        for kind in KINDS:
            head = "" if kind in COMPILED else " parse"
            for text, must, says in kind(good):
                yield Bad(good.sample.op, kind.__name__, text, head, must, says)


# ---- running them


@pytest.fixture(scope="module")
def program(device):
    if device != "host":
        pytest.skip("does not depend on the device")
    return make("build/tests/faults/bad_graphs")


def answers(program, bad, *options, **environment):
    """Of each graph (where it ended, status, message)."""
    text = "".join(f"----{b.head}\n{b.text}" for b in bad)
    done = subprocess.run([program, *options], input=text.encode(), capture_output=True, timeout=280, env={**os.environ, **environment})
    lines = done.stdout.decode(errors="replace").splitlines()
    last = bad[min(len(lines), len(bad) - 1)]
    assert done.returncode == 0, f"{last.op}, {last.kind}:\n{last.text}\n{lines[-1:]}\n{done.stderr.decode(errors='replace')[-5000:]}"
    assert len(lines) == len(bad)
    return [line.split("\t")[1:] for line in lines]


def complaint(b, where, status, message):
    if where == "passed":
        return "was taken" if b.must else None
    if status in ("internal invariant broken", "out of memory"):
        return f"{status}: {message}"
    if (where, status) == ("compile", "integer overflow"):  # of an address in a fused kernel, which may be of several ops
        return None if "64 bits" in message else f"does not say what is wrong: {message}"
    line, what = re.match(r"bad\.ind:(\d+):\d+: (.*)", message).groups() if where == "parse" else (0, message)
    call = next(n for n, text in enumerate(b.text.splitlines(), 1) if f" = {b.op}(" in text)
    if 0 < int(line) < call:
        return None if "input" in b.text.splitlines()[int(line) - 1] else f"is not where the error is: {message}"
    if int(line) == call and (status == "syntax error" or what.startswith("bad expression at")):  # line and column say where
        return None if len(what.split()) > 3 else f"does not say what is wrong: {message}"
    if not re.search(rf"(?<!\w){re.escape(b.op)}(?!\w)", what):
        return f"does not name the op: {message}"
    if len(what.split()) < 4 or not re.search(b.says, what):
        return f"does not say what is wrong ({b.says}): {message}"
    return None


def test_bad_input(program):
    bad = list(all_bad())
    found = answers(program, bad)
    refused = collections.Counter(b.kind for b, (where, *_) in zip(bad, found) if where != "passed")
    print("\n".join(f"{kind.__name__}: {refused[kind.__name__]} refused of {sum(b.kind == kind.__name__ for b in bad)}, {len({b.op for b in bad if b.kind == kind.__name__})} ops"
                    for kind in KINDS))
    assert {b.op for b in bad} == set(matrix.op_rows()) and len(bad) > 100 * len(KINDS)
    assert all(refused[kind.__name__] for kind in KINDS)
    wrong = [f"{b.op}, {b.kind}: {why}\n{b.text}" for b, answer in zip(bad, found) if (why := complaint(b, *answer))]
    assert not wrong, f"{len(wrong)} of {len(bad)}\n" + "\n".join(wrong[:60])


# ---- indices that are out of range when the graph runs


def index_operands():
    """Of ops that read places from a tensor: those that are integers where the op computes something else."""
    for op, row in matrix.op_rows().items():
        if row["fuses"].startswith(("pointwise", "random numbers")):
            continue
        for at in matrix.positions(op):
            if takes_only_indices(op, at):
                yield op, at


def takes_only_indices(op, at):
    """The target of cross_entropy is one of classes or, where it is floats, of their probabilities."""
    return next(matrix.possible(op, at, "i64"), None) and (op == "cross_entropy" or not matrix.takes_floats(op, at))


def out_of_range(op, at, index):
    """A good call whose index operand is `index` everywhere, with memory for all."""
    sample = next(s for s in matrix.possible(op, at, "i64") if all(o.shape for o in s.operands))
    good, head = Good(sample), []
    operands = matrix.asked().parse(sample.graph())[0]
    place = {f"a{k}": p for k, p in enumerate(sample.where)}
    most = {"u0": int(good.attributes["max_length"])} if good.attributes.get("max_length", "none") != "none" else {}
    for name, dtype, shape in (t for t in matrix.TYPED.findall(operands) if t[0] in [*place, *good.results]):
        bytes_ = NUMPY_BYTES[dtype] * max(matrix.math.prod(matrix.shape_at(shape, most)), 0)
        if name in place:
            value = index if place[name] == at else 1 if dtype == "bool" else 0
            head.append(f" {name}:{bytes_}={value}:{NUMPY_BYTES[dtype]}")
        else:
            head.append(f" {name}:{bytes_}=0:0")
    return Bad(op, f"index {index} in operand {at}", good.text(), "".join(head), True, rf"{index}")


NUMPY_BYTES = {t: matrix.np.dtype(NUMPY[t]).itemsize for t in NUMPY}
INDICES = (1000000, -1000000, 2**62)


def bad_indices():
    return [out_of_range(op, at, index) for op, at in index_operands() for index in INDICES]


def check_indices(bad, found):
    wrong = [f"{b.op}, {b.kind}: {where}: {status}: {message}\n{b.text}" for b, (where, status, message) in zip(bad, found)
             if (where, status) != ("run", "index out of range") or not message.startswith(f"{b.op}: index ") or not re.search(b.says, message)]
    assert not wrong, f"{len(wrong)} of {len(bad)}\n" + "\n".join(wrong[:40])


def test_indices_out_of_range(program):
    """Reported with the op as it is called, be it a composite, and the index; nothing is written outside, which the sanitizers watch."""
    bad = bad_indices()
    print(sorted({(b.op, b.kind.split()[-1]) for b in bad}))
    assert len({b.op for b in bad}) > 15
    check_indices(bad, answers(program, bad))


def test_indices_out_of_range_emulated(program):
    """The same of kernels, one index for each operand."""
    libraries = {f"IND_{name.upper()}_LIBRARY": str(make(f"build/emulated/lib{name}.so")) for name in ("cuda", "nvrtc")}
    bad = [out_of_range(op, at, INDICES[k % len(INDICES)]) for k, (op, at) in enumerate(index_operands())]
    check_indices(bad, answers(program, bad, "--cuda", **libraries))
