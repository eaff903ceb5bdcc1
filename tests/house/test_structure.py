"""Source files, functions and structs of src/ are short. Exceptions are listed here with their reasons.

A tokenizer of C finds functions and structs: comments, strings and preprocessor lines are blanked, and braces are matched."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
MOST_LINES = 900
MOST_FUNCTION_LINES = 60
MOST_MEMBERS = 25

LONG_FILES = {}
LONG_FUNCTIONS = {
    "ir__eval_f64": "a switch with one line per loop op",
    "ir__eval_f32": "a switch with one line per loop op",
}
LARGE_STRUCTS = {}

LITERAL = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
TOKEN = re.compile(r"\w+|[^\w\s]")
OPEN, CLOSE = "([{", ")]}"


def blanked(match):
    """The same number of lines, without text; a string remains as its quotation marks."""
    text = match[0]
    return '""' if text[0] in "\"'" else re.sub(r"[^\n]", "", text) or " "


def tokens(text):
    """(token, line) of C code without comments, directives and the contents of strings."""
    code = DIRECTIVE.sub(blanked, LITERAL.sub(blanked, text))
    ends = [m.start() for m in re.finditer("\n", code)]
    line, out = 0, []
    for m in TOKEN.finditer(code):
        while line < len(ends) and ends[line] < m.start():
            line += 1
        out.append((m[0], line + 1))
    return out


def closing(toks, at):
    """Index of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(toks)):
        depth += (toks[i][0] in OPEN) - (toks[i][0] in CLOSE)
        if not depth:
            return i
    raise ValueError(f"line {toks[at][1]}: {toks[at][0]} is not closed")


def function_name(head):
    """Name of the function whose definition starts with these tokens, or None: the word before the last outer parenthesis."""
    words, depth, name = [t for t, _ in head], 0, None
    for i, word in enumerate(words):
        if word == "(" and not depth and i and re.match(r"[A-Za-z_]", words[i - 1]):
            name = words[i - 1]
        depth += (word in OPEN) - (word in CLOSE)
    return name if words[-1:] == [")"] and not {"=", "typedef"} & set(words) else None


def functions(text):
    """Name -> lines, from the first line of the definition to its closing brace."""
    toks, found, start, at = tokens(text), {}, 0, 0
    while at < len(toks):
        token, line = toks[at]
        end = closing(toks, at) if token in OPEN else at
        head = toks[start:at]
        if token == "{" and [t for t, _ in head] == ["extern", '"', '"']:
            end = at  # look into extern "C" { .. }
            start = at + 1
        elif token == "{" and (name := function_name(head)):
            found[name] = toks[end][1] - head[0][1] + 1
            start = end + 1
        elif token == "(" and end + 1 < len(toks) and toks[end + 1][1] > toks[end][1] and toks[end + 1][0] != "{":
            start = end + 1  # MACRO(..) on a line of its own
        elif token in ";}":
            start = at + 1
        at = end + 1
    return found


def members(toks):
    """Number of direct members of a struct, given the tokens after its opening brace; those of an unnamed struct without a declarator count too."""
    count, at, start = 0, 0, 0
    while at < len(toks) - 1:
        if toks[at][0] in OPEN:
            end = closing(toks, at)
            if toks[at][0] == "{" and toks[end + 1][0] == ";":
                count += members(toks[at + 1 : end + 1]) - 1
            at = end
        elif toks[at][0] == "," or toks[at][0] == ";" and at > start:
            count += 1
        if toks[at][0] == ";":
            start = at + 1
        at += 1
    return count


def structs(text):
    """Name (or first declarator) -> number of direct members."""
    toks, found = tokens(text), {}
    for i, (token, _) in enumerate(toks):
        if token not in ("struct", "union"):
            continue
        brace = i + 1 if toks[i + 1][0] == "{" else i + 2
        if toks[brace][0] == "{":
            end = closing(toks, brace)
            name = toks[i + 1 if brace == i + 2 else end + 1][0]
            if name != ";":
                found[name] = members(toks[brace + 1 : end + 1])
    return found


def sources(*suffixes):
    return [path for path in sorted(SRC.rglob("*")) if path.suffix in suffixes]


def over(measure, most, suffixes):
    return {name: n for path in sources(*suffixes) for name, n in measure(path.read_text()).items() if n > most}


SAMPLE = """
/* int comment(void) { */
#define MACRO(x) int x(void) { \\
    return 1; }
extern "C" {
MACRO(made)
static const char *text[] = {"{", "int no(void) {"};
static int *
two_lines(int (*f)(int), char c) {
    struct local { int a, b; } l = {c == '}' ? 1 : 2, f(3)};
    if (l.a) { return 0; }
    return 0;
}
void declared(int a);
struct named {
    int a, *b, c[3][4];
    int (*call)(int x, int y);
    struct { int d, e; };
    struct inner { int f, g; } h, i;
    union { int j; long k; } u;
};
typedef struct { int a; } last;
}
"""


def test_tokenizer_on_a_sample():
    assert functions(SAMPLE) == {"two_lines": 6}
    assert structs(SAMPLE) == {"local": 2, "named": 9, "inner": 2, "u": 2, "last": 1}


@pytest.mark.parametrize("lines, most, found", [(60, 60, {}), (61, 60, {"long_one": 61})])
def test_long_function_is_found(lines, most, found):
    text = "int short_one(void) { return 1; }\nint long_one(void) {\n" + "    call();\n" * (lines - 2) + "}\n"
    assert {name: n for name, n in functions(text).items() if n > most} == found


def test_large_struct_is_found():
    assert structs("struct s {\n" + "".join(f"    int a{i}, *b{i};\n" for i in range(13)) + "};\n") == {"s": 26}


def test_check_fails():
    for found, exceptions in ({"f": 61}, {}), ({}, {"f": "a table of rows"}), ({"f": 61}, {"f": ""}):
        with pytest.raises(AssertionError):
            check(found, exceptions)


def check(found, exceptions):
    assert {name: n for name, n in found.items() if name not in exceptions} == {}
    assert sorted(exceptions.keys() - found.keys()) == [], "no longer over: remove the exception"
    assert all(len(reason) > 10 for reason in exceptions.values())


def test_files():
    found = {str(p.relative_to(SRC)): len(p.read_text().splitlines()) for p in sources(".c", ".h", ".cuh", ".js", ".css", ".html")}
    assert len(found) > 200
    check({name: n for name, n in found.items() if n > MOST_LINES}, LONG_FILES)


def test_functions():
    check(over(functions, MOST_FUNCTION_LINES, (".c", ".h", ".cuh")), LONG_FUNCTIONS)


def test_structs():
    check(over(structs, MOST_MEMBERS, (".c", ".h")), LARGE_STRUCTS)


def test_modules_of_tests():
    """pytest imports modules of tests by their name: a second one of a name is an error of collection."""
    names = [p.stem for p in (ROOT / "tests").rglob("*.py")]
    assert len(names) > 80
    assert {n for n in names if names.count(n) > 1} == set()
