"""`ind size` from the command line: what it prints, what it refuses and how it says so."""

import subprocess

import pytest
from conftest import make

LOW, HIGH = -(2**63), 2**63 - 1
ANY = f"[{LOW}, {HIGH}]"


@pytest.fixture(scope="session")
def ind():
    return make("build/ind")


def run(ind, *arguments, text=b""):
    """(standard output, standard error, exit status)"""
    done = subprocess.run([ind, "size", *arguments], input=text, capture_output=True, timeout=120)
    return done.stdout.decode(), done.stderr.decode(errors="replace"), done.returncode


def row(*columns):
    return "\t".join(columns) + "\n"


ERROR = row("error", "-", "-")

# arguments, standard output
PRINTED = {
    "constant": (["2 + 3*4"], row("14", "[14, 14]", "-")),
    "any integer": (["s0"], row("s0", ANY, "-")),
    "range": (["s0", "--var", "s0 in [2, 9]"], row("s0", "[2, 9]", "-")),
    "negative range": (["s0 + 1", "--var", "s0 in [-9, -2]"], row("s0 + 1", "[-8, -1]", "-")),
    "half a range": (["s0", "--var", "s0 in [1, inf]"], row("s0", f"[1, {HIGH}]", "-")),
    "the other half": (["s0", "--var", "s0 in [-inf, 7]"], row("s0", f"[{LOW}, 7]", "-")),
    "the ends in figures": (["s0", "--var", f"s0 in [{LOW}, {HIGH}]"], row("s0", ANY, "-")),
    "multiple": (["s0 % 8", "--var", "s0 in [0, 64] multiple_of 8"], row("0", "[0, 0]", "-")),
    "multiple first": (["s0 % 8", "--var", "s0 multiple_of 8 in [0, 64]"], row("0", "[0, 0]", "-")),
    "hint": (["s0", "--var", "s0 in [1, 64] hint 7"], row("s0", "[1, 64]", "-")),
    "unbacked": (["u0", "--var", "u0 unbacked in [0, 5]"], row("u0", "[0, 5]", "-")),
    "bare name": (["s0", "--var", "s0"], row("s0", ANY, "-")),
    "several variables": (["a + b", "--var", "a in [0, 1]; b in [0, 2];"], row("a + b", "[0, 3]", "-")),
    "loop index": (["i0 // s0", "--var", "s0 in [1, 99]; i0 in [0, s0)"], row("0", "[0, 0]", "-")),
    "loop index, modulo": (["i0 % s0", "--var", "s0 in [1, 99]", "--var", "i0 in [0, s0)"], row("i0", "[0, 98]", "-")),
    "loop index, product": (
        ["(i1 + s1*i0) // s1", "--var", "s0 in [1, 9]; s1 in [1, 7]; i0 in [0, s0); i1 in [0, s1)"],
        row("i0", "[0, 8]", "-"),
    ),
    "loop index, call": (["i0 // 5", "--var", "i0 in [0, Min(5, 7))"], row("0", "[0, 0]", "-")),
    "loop index, constant": (["i0", "--var", "i0 in [0, 64)"], row("i0", "[0, 63]", "-")),
    "expressions in order": (["1", "2", "3"], "".join(row(c, f"[{c}, {c}]", "-") for c in "123")),
    "options between": (
        ["--at", "s0=3", "s0", "--var", "s0 in [1, 4]", "2*s0"],
        row("s0", "[1, 4]", "3") + row("2*s0", "[2, 8]", "6"),
    ),
    "leading minus": (
        ["-s0", "-3 - 1", "--var", "s0 in [4, 8]"],
        row("-s0", "[-8, -4]", "-") + row("-4", "[-4, -4]", "-"),
    ),
    "end of options": (["--var", "s0 in [1, 2]", "--", "--s0", "-"], row("s0", "[1, 2]", "-") + ERROR),
    "rounding down": (
        ["-7 // 2", "-7 % 2", "7 % -2", "CeilDiv(-7, 2)"],
        row("-4", "[-4, -4]", "-") + row("1", "[1, 1]", "-") + row("-1", "[-1, -1]", "-") + row("-3", "[-3, -3]", "-"),
    ),
    "conditions": (
        ["s0 < 5", "s0 > 0 and s0 < 9", "--var", "s0 in [1, 8]"],
        row("s0 < 5", "[0, 1]", "-") + row("1", "[1, 1]", "-"),
    ),
    "a choice whose opposite is known": (
        ["Where(s0 % 7 < s0 - 9223372036854775807, 0, 3)", "--var", "s0 in [4, 8192] multiple_of 2"],
        row("3", "[3, 3]", "-"),
    ),
    "what is given stays where it is shorter": (
        ["s3", "--var", "s0 in [0, 9]", "--fact", "s3 == 2*s0"],
        row("s3", "[0, 18]", "-"),
    ),
    "select": (["Where(s0 >= 0, s0, 0)", "--var", "s0 in [0, 8]"], row("s0", "[0, 8]", "-")),
    "value": (["s0*s1 + 1", "--at", "s0=5", "--at", "s1=-3"], row("s0*s1 + 1", ANY, "-14")),
    "values in one": (["s0*s1 + 1", "--at", "s0 = 5 , s1 = -3"], row("s0*s1 + 1", ANY, "-14")),
    "value missing": (["s0*s1", "s0", "--at", "s0=5"], row("s0*s1", ANY, "-") + row("s0", ANY, "5")),
    "value of a constant": (["7", "s0", "--at", "s0=5"], row("7", "[7, 7]", "7") + row("s0", ANY, "5")),
    "value of a variable of none": (["7", "--var", "s0", "--at", "s0=5"], row("7", "[7, 7]", "7")),
    "end of the range": (["s0", "--at", f"s0={LOW}"], row("s0", ANY, str(LOW))),
    "fact": (["s0 // s1", "--var", "s0 in [1, 64]; s1 in [1, 64]", "--fact", "s0 == 4*s1"], row("4", "[4, 4]", "-")),
    "fact gives a value": (
        ["s0 + s1", "--var", "s0 in [1, 64]; s1 in [1, 64]", "--fact", "s0 == 4*s1", "--at", "s0=12"],
        row("5*s1", "[5, 80]", "15"),
    ),
    "fact and range": (["s0", "--var", "s0 in [1, 64]", "--fact", "s0 <= 9"], row("s0", "[1, 9]", "-")),
    "fact about a divisor": (
        ["a // b", "--var", "a in [0, 9]; b in [0, 3]", "--fact", "b != 0"],
        row("a // b", "[0, 9]", "-"),
    ),
    "fact for a fact": (
        ["a % 4", "--var", "b in [0, 8]", "--fact", "b != 0", "--fact", "a // b * b == a", "--fact", "b == 4"],
        row("0", "[0, 0]", "-"),
    ),
    "fact that settles": (["Max(a, b)", "--fact", "a <= b"], row("b", ANY, "-")),
    "text": (["s0 // 2", "--var", "s0 in [0, 9]", "--print", "text"], row("s0 // 2", "[0, 4]", "-")),
    "c": (["s0 // 2", "--var", "s0 in [0, 9]", "--print", "c"], row("s0 / 2ll", "[0, 4]", "-")),
    "cuda": (["s0 % 2", "--var", "s0 in [0, 9]", "--print", "cuda"], row("s0 % 2ll", "[0, 1]", "-")),
    "cuda32": (["s0 % 2", "--var", "s0 in [0, 9]", "--print", "cuda32"], row("s0 % 2", "[0, 1]", "-")),
}

# arguments, standard output, standard error without "ind: size: "
REFUSED = {
    "nothing": ([], "", "no expression is given; ind size --help says more"),
    "unknown option": (
        ["--pirnt", "c", "s0"],
        "",
        "unknown option --pirnt; allowed: --var --fact --at --print --explain --help",
    ),
    "option without value": (["s0", "--var"], "", "--var: a value must follow"),
    "unknown form": (["s0", "--print", "pascal"], "", "--print pascal: allowed are text, c, cuda, cuda32, latex"),
    "no name": (["s0", "--var", " [1, 2]"], "", '--var " [1, 2]", column 2: expected the name of a variable'),
    "unknown property": (
        ["s0", "--var", "s0 inside"],
        "",
        "--var \"s0 inside\", column 4: expected in, multiple_of, hint, unbacked or ';'",
    ),
    "no interval": (["s0", "--var", "s0 in 3"], "", '--var "s0 in 3", column 7: expected [LO, HI] or [0, END)'),
    "no comma": (["s0", "--var", "s0 in [1 2]"], "", "--var \"s0 in [1 2]\", column 10: expected ','"),
    "no end": (["s0", "--var", "s0 in [1, 2"], "", "--var \"s0 in [1, 2\", column 12: expected ']'"),
    "no number": (["s0", "--var", "s0 in [1, x]"], "", '--var "s0 in [1, x]", column 11: a whole number is needed'),
    "number too large": (
        ["s0", "--var", f"s0 in [1, {HIGH + 1}]"],
        "",
        f'--var "s0 in [1, {HIGH + 1}]", column 11: the number exceeds 64 bits',
    ),
    "empty range": (["s0", "--var", "s0 in [3, 2]"], "", '--var "s0 in [3, 2]", column 8: the range is empty'),
    "index from one": (
        ["i0", "--var", "i0 in [1, 8)"],
        "",
        '--var "i0 in [1, 8)", column 8: an interval [0, END) begins at 0',
    ),
    "index with a multiple": (
        ["i0", "--var", "i0 in [0, 8) multiple_of 2"],
        "",
        '--var "i0 in [0, 8) multiple_of 2", column 1: a loop index has an interval [0, END) and nothing else',
    ),
    "twice": (
        ["s0", "--var", "s0", "--var", "s0 in [1, 2]"],
        "",
        '--var "s0 in [1, 2]", column 1: s0 was declared before',
    ),
    "multiple of nothing": (
        ["s0", "--var", "s0 multiple_of 0"],
        "",
        '--var "s0 multiple_of 0", column 4: multiple_of must be at least 1',
    ),
    "no equals sign": (["s0", "--at", "s0 5"], "", "--at \"s0 5\", column 4: expected '='"),
    "no name at": (["s0", "--at", "=5"], "", '--at "=5", column 1: expected NAME=VALUE'),
    "value too large": (
        ["s0", "--at", f"s0={HIGH + 1}"],
        "",
        f'--at "s0={HIGH + 1}", column 4: the number exceeds 64 bits',
    ),
    "value twice": (["s0", "--at", "s0=1", "--at", "s0=1"], "", '--at "s0=1", column 1: s0 was given before'),
    "junk behind a value": (["s0", "--at", "s0=1 2"], "", "--at \"s0=1 2\", column 6: expected ','"),
    "outside": (["s0", "--var", "s0 in [1, 4]", "--at", "s0=5"], "", "--at: s0=5 is outside [1, 4]"),
    "not a multiple": (["s0", "--var", "s0 multiple_of 4", "--at", "s0=5"], "", "--at: s0=5 is not a multiple of 4"),
    "index outside": (
        ["i0", "--var", "s0 in [1, 9]; i0 in [0, s0)", "--at", "s0=5, i0=5"],
        "",
        "--at: i0=5 is outside [0, 5)",
    ),
    "against a fact": (["s0", "--fact", "s0 <= s1", "--at", "s0=5, s1=4"], "", "--at: the fact s0 <= s1 does not hold"),
    "against an equality": (
        ["s0", "--fact", "s0 == 4*s1", "--at", "s0=13"],
        "",
        "--at: the fact s0 == 4*s1 does not hold",
    ),
    "contradiction": (
        ["s0", "--var", "s0 in [1, 4]", "--fact", "s0 == 9"],
        "",
        '--fact "s0 == 9", column 1: the condition is never true: it contradicts the ranges of its symbols',
    ),
    "later contradiction": (
        ["s0", "--fact", "s0 < s1", "--fact", "s0 % 2 == 0", "--fact", "s1 < s0"],
        "",
        '--fact "s1 < s0", column 1: s1 < s0 contradicts the fact s0 < s1',
    ),
    "contradicted residue": (
        ["s0", "--fact", "s0 % 4 == 0", "--fact", "s0 % 8 == 3"],
        "",
        '--fact "s0 % 8 == 3", column 1: s0 % 8 == 3 contradicts the fact s0 % 4 == 0',
    ),
    "contradiction of several": (
        ["s0", "--fact", "s0 < s1", "--fact", "s1 < s2", "--fact", "s2 < s0"],
        "",
        '--fact "s2 < s0", column 1: s2 < s0 contradicts the facts known so far, taken together',
    ),
    "contradiction of what a divisor needs": (
        ["s0", "--fact", "s0 > 3", "--fact", "s1 // s0 > 2 and s0 < 3"],
        "",
        '--fact "s1 // s0 > 2 and s0 < 3", column 1: the condition is never true: it contradicts the facts before it',
    ),
    "unknown name": (["s0", "--at", "s0=1, s7=2"], row("s0", ANY, "1"), "--at: there is no s7 in any expression"),
}

# arguments, standard output, what one line of standard error begins with
FAILED = {
    "undeclared extent": (["i0", "--var", "i0 in [0, s0)"], "", 'ind: size: --var "i0 in [0, s0)", column 11: '),
    "no extent": (["i0", "--var", "i0 in [0, )"], "", 'ind: size: --var "i0 in [0, )", column '),
    "fact is no expression": (["s0", "--fact", "s0 = 3"], "", 'ind: size: --fact "s0 = 3", column 4: '),
    "empty text": (["s0", "--fact", ""], "", 'ind: size: --fact "", column 1: '),
    "syntax": (
        ["1", "s0 +", "2"],
        row("1", "[1, 1]", "-") + ERROR + row("2", "[2, 2]", "-"),
        "ind: size: expression 2, column 5: ",
    ),
    "column": (["s0 + $"], ERROR, "ind: size: expression 1, column 6: "),
    "empty": ([""], ERROR, "ind: size: expression 1, column 1: "),
    "division by zero": (["1 // 0"], ERROR, "ind: size: expression 1, column 3: division by zero"),
    "division by what may be zero": (
        ["s1 % (s0 - 3)"],
        ERROR,
        "ind: size: expression 1, column 4: division by s0 - 3, which ",
    ),
    "overflow of a constant": ([f"{HIGH} + 1"], ERROR, "ind: size: expression 1, column "),
    "quotient beyond 64 bits": ([f"{LOW} // -1"], ERROR, "ind: size: expression 1, column "),
    "ceiling beyond 64 bits": ([f"CeilDiv({LOW}, -1)"], ERROR, "ind: size: expression 1, column "),
    "difference beyond 64 bits": ([f"0 - {LOW}"], ERROR, "ind: size: expression 1, column 3: "),
    "overflow of a number": ([f"{HIGH + 1}"], ERROR, "ind: size: expression 1, column 1: "),
    "overflow at the point": (["s0*s0", "--at", f"s0={HIGH}"], ERROR, "ind: size: expression 1: "),
    "too deep": (["(" * 30000 + "s0" + ")" * 30000], ERROR, "ind: size: expression 1, column "),
    "unknown function": (["Mix(1, 2)"], ERROR, "ind: size: expression 1, column "),
}


@pytest.mark.parametrize("case", PRINTED)
def test_prints(ind, case):
    arguments, out = PRINTED[case]
    refused = out.count(ERROR)
    got, messages, status = run(ind, *arguments)
    assert (got, len(messages.splitlines()), status) == (out, refused, int(refused > 0))


# All that Python computes on the way fits 64 bits at these points, though not the negation of every part of it.
LOWEST = [
    f"x // {LOW}",
    f"x % {LOW}",
    f"(x - 5) % {LOW}",
    f"CeilDiv(x, {LOW})",
    f"CeilDiv(x // -n, {LOW})",
    f"ModularIndexing(x, -1, {LOW})",
    f"z // {LOW}",
    f"z % {LOW}",
    f"z // {LOW} % n - x",
    f"z % {LOW} // n",
    "z // -2",
    "z % -2",
    "z % -1",
    "z // -(n + 1)",
    "z % -n",
    "CeilDiv(z, n)",
    "CeilDiv(z, 2)",
    "CeilDiv(z, -3)",
    f"{LOW} // {LOW}",
    f"{LOW} % {LOW}",
    f"{LOW} % -1",
    f"{LOW} // -2",
    f"CeilDiv({LOW}, 2)",
    f"CeilDiv({LOW}, -2)",
    f"CeilDiv({LOW}, {LOW})",
    f"CeilDiv(5, {LOW})",
    f"5 % {LOW}",
    f"-1 - {LOW}",
    f"x - 8 - ({LOW} + n)",
    f"-b - b*{LOW}",
    f"({LOW} + n) // -1",
    f"({LOW} + n) % -1",
    f"({LOW} + n) // -3",
    f"(n + {LOW}*b) // -3",
    f"(n + {LOW}*b) % -6",
    f"{LOW}*b // -2",
    f"{LOW}*b // -(n + 1)",
    f"{LOW}*b % -n",
    f"{LOW}*b // {LOW}",
    f"{LOW}*b % {LOW}",
    f"CeilDiv({LOW}*b, n)",
    f"-{HIGH} // n // -(2**62)",
]


@pytest.mark.parametrize("z", [LOW, LOW + 1, -1, 0, HIGH])
def test_lowest(ind, z):
    """Where a part has no 64-bit negation: Python's values, inside the bounds, and a text that reads back."""
    lines = "\n".join(LOWEST).encode()
    declared = ["-", "--var", "x in [-4, 5]; n in [1, 9]; b in [0, 1]; z"]
    forms = [line.split("\t")[0] for line in run(ind, *declared, text=lines)[0].splitlines()]
    again = [line.split("\t")[0] for line in run(ind, *declared, text="\n".join(forms).encode())[0].splitlines()]
    assert len(forms) == len(LOWEST) and forms == again
    functions = {"CeilDiv": lambda a, b: -(-a // b), "ModularIndexing": lambda a, d, m: a // d % m}
    for x, n, b in [(-4, 1, 0), (-4, 7, 1), (0, 2, 0), (1, 9, 1), (5, 3, 1)]:
        out, message, status = run(ind, *declared, "--at", f"x={x}, n={n}, b={b}, z={z}", text=lines)
        assert not message and not status
        for text, line in zip(LOWEST, out.splitlines()):
            value = eval(text, functions, {"x": x, "n": n, "b": b, "z": z})
            low, high = eval(line.split("\t")[1])
            assert line.split("\t")[2] == str(value) and low <= value <= high, (text, line, value)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_divisor_that_an_equality_replaces(ind, swapped):
    """n is a + b; that this is not zero only n's range says, so a % n stays where n goes: no value may lead back to n."""
    facts = ["a % n == 0", "a + b == n"]
    declared = ["--var", "a in [-4, -1]; b in [-1, 4]; n in [1, 5]; m in [-4, -2]"]
    for fact in reversed(facts) if swapped else facts:
        declared += ["--fact", fact]
    texts = ["a", "b", "n", "a % n", "a // n", "a*b % n", "CeilDiv(a, m)", "CeilDiv(a, m) % n"]
    points = [(a, n - a, n, m) for a in range(-4, 0) for n in range(1, 6) for m in (-4, -3, -2) if a % n == 0 and n - a < 5]
    assert len(points) > 9
    for point in points:
        values = dict(zip("abnm", point))
        at = ", ".join(f"{name}={value}" for name, value in values.items())
        out, message, status = run(ind, *declared, "--at", at, *texts)
        assert not message and not status
        for text, line in zip(texts, out.splitlines()):
            value = eval(text, {"CeilDiv": lambda a, b: -(-a // b)}, values)
            low, high = eval(line.split("\t")[1])
            assert line.split("\t")[2] == str(value) and low <= value <= high, (text, line, values)


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(ind, case):
    arguments, out, message = REFUSED[case]
    assert run(ind, *arguments) == (out, f"ind: size: {message}\n", 1)


@pytest.mark.parametrize("case", FAILED)
def test_fails(ind, case):
    arguments, out, begin = FAILED[case]
    got, message, status = run(ind, *arguments)
    assert (got, status, message.count("\n")) == (out, 1, 1)
    assert message.startswith(begin) and (len(message) > len(begin) + 8 or message == begin + "\n")


def test_help(ind):
    out, message, status = run(ind, "--help")
    assert out.startswith("usage: ind size EXPR...") and not message and not status


def test_latex(ind):
    """The form itself is checked with the printer; here that the option reaches it."""
    out, message, status = run(ind, "s0 // 2", "--var", "s0 in [0, 9]", "--print", "latex")
    assert "\\lfloor" in out and out.endswith("\t[0, 4]\t-\n") and not message and not status


def test_explain(ind):
    """Rules that applied stand below the line; a line that needs none has none."""
    out, message, status = run(ind, "--explain", "(8*s0 + i0) // 8", "s1", "--var", "s0 in [1, 8]; i0 in [0, 8); s1")
    lines = out.splitlines()
    assert lines[0] == "s0\t[1, 8]\t-" and lines[-1] == f"s1\t{ANY}\t-" and not message and not status
    assert len(lines) > 2 and all(line.startswith("  # ") and ": " in line for line in lines[1:-1])


# standard input, standard output, numbers of the lines that fail
LINES = {
    "nothing": (b"", "", []),
    "no final newline": (b"1\n2", row("1", "[1, 1]", "-") + row("2", "[2, 2]", "-"), []),
    "carriage returns": (b"1\r\n2\r\n", row("1", "[1, 1]", "-") + row("2", "[2, 2]", "-"), []),
    "carriage return at the end": (b"1\r", row("1", "[1, 1]", "-"), []),
    "space around": (b"  1\t\n", row("1", "[1, 1]", "-"), []),
    "empty lines": (b"\n1\n\r\n\n", ERROR + row("1", "[1, 1]", "-") + ERROR + ERROR, [1, 3, 4]),
    "zero byte": (b"1\0 + 2\n3\n", ERROR + row("3", "[3, 3]", "-"), [1]),
    "other bytes": (b"\xff\xfe\n\xc3\xa9\n1\n", ERROR + ERROR + row("1", "[1, 1]", "-"), [1, 2]),
    "errors between": (b"1 +\n2\n)\n", ERROR + row("2", "[2, 2]", "-") + ERROR, [1, 3]),
}


@pytest.mark.parametrize("case", LINES)
def test_lines(ind, case):
    text, out, failing = LINES[case]
    got, messages, status = run(ind, "-", text=text)
    assert (got, status) == (out, int(bool(failing)))
    assert [int(m.split("line ")[1].split(",")[0]) for m in messages.splitlines()] == failing
    assert all(", column " in m for m in messages.splitlines())


def test_lines_are_independent_of_how_they_arrive(ind):
    """Lines longer than what is read at once, with the ends of lines at every place of a block."""
    lines = [f"{i} + {'0' * (i % 977)}1" for i in range(3000)] + ["1 + " * 300 + "1", " " * 100000 + "5"]
    out, messages, status = run(ind, "-", text="\n".join(lines).encode())
    expected = [str(i + 1) for i in range(3000)] + ["301", "5"]
    assert [line.split("\t")[0] for line in out.splitlines()] == expected
    assert not messages and not status


def test_a_line_that_is_too_long(ind):
    """A line beyond the parser's limit is an error with a column, and the next one is read."""
    out, message, status = run(ind, "-", text=b"(" * 5_000_000 + b"\n7\n")
    assert out == ERROR + row("7", "[7, 7]", "-") and status == 1
    assert message.startswith("ind: size: line 1, column ") and message.count("\n") == 1


def test_options_hold_for_lines(ind):
    arguments = ["--var", "s0 in [1, 8]", "-", "--fact", "s0 % 2 == 0", "--at", "s0=4", "--print", "c"]
    out, message, status = run(ind, *arguments, text=b"s0 % 2\ns0 // 3\n")
    assert out == row("0ll", "[0, 0]", "0") + row("s0 / 3ll", "[0, 2]", "1") and not message and not status


def test_many_names(ind):
    """Names that no option declares, more than the table of names begins with."""
    text = "".join(f"x{i} + y{i}\n" for i in range(5000)).encode()
    out, message, status = run(ind, "-", "--at", "x4999=1, y4999=2", text=text)
    assert out.splitlines()[-1].endswith("\t3") and out.count("\t-\n") == 4999 and not message and not status


def test_unwritable_output(ind):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([ind, "size", "1"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1 and b"standard output" in done.stderr
