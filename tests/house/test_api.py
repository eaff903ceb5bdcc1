"""The public declarations of the five headers: none of api.txt may disappear or change. More may come.

    python3 tests/house/test_api.py        writes api.txt, after additions
"""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).with_name("api.txt")
NAME = r"(?:ind|IND)_(?!_)\w+"


def preprocessed(*options):
    """inductor.h includes the other four."""
    command = ["gcc", "-std=c11", "-E", "-P", "-DIND_API=IND_API", *options, f"-I{ROOT}", ROOT / "inductor.h"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def plain(text):
    """The same text for every layout."""
    return re.sub(r" ?([^\w ]) ?", r"\1", " ".join(text.split())).replace(",", ", ").replace("*", " *")


def members(body):
    """The parts of a struct's body that end with a semicolon outside of braces."""
    depth, start = 0, 0
    for i, c in enumerate(body):
        depth += (c == "{") - (c == "}")
        if c == ";" and depth == 0:
            yield plain(body[start:i])
            start = i + 1


def opaque():
    """The structs that users only have pointers to: their members are in an internal.h."""
    return {name for path in (ROOT / "src").rglob("internal.h") for name in re.findall(rf"\bstruct ({NAME}) \{{", path.read_text())}


def declarations():
    text, hidden = preprocessed(), opaque()
    found = {f"function {plain(d)}" for d in re.findall(rf"\bIND_API ([^;{{}}]*?\b{NAME}\([^;{{}}]*\));", text)}
    found |= {f"inline {plain(d)}" for d in re.findall(rf"\bstatic inline ([^;{{}}]*\b{NAME}\([^;{{}}]*\)) \{{", text)}
    found |= {f"type {plain(d)}" for d in re.findall(rf"\btypedef ([^;{{}}]*\b{NAME}\b[^;{{}}]*);", text) if not re.search(r"\bind__", d)}
    for kind, name, body in re.findall(rf"\b(struct|union) ({NAME}) (\{{(?:[^{{}}]|\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}})*\}})", text):
        found |= {f"{kind} {name}: {member}" for member in members(body[1:-1]) if name not in hidden}
    for name, body in re.findall(r"\benum(?: (\w+))? \{([^{}]*)\}", text):
        found |= {f"enum {name}"} if re.fullmatch(NAME, name) else set()
        found |= {f"enumerator {name}" for name in re.findall(rf"\b(IND_(?!_)\w+)\s*(?:=[^,]*)?(?:,|$)", body)}
    for name, parameters in re.findall(r"^#define (IND_(?!_)\w+)(\([^)]*\))?", preprocessed("-dM"), re.M):
        found.add(f"macro {name}{parameters}")
    return found


def test_no_public_declaration_is_lost():
    listed, found = LIST.read_text().splitlines(), declarations()
    assert len(listed) > 1000
    assert [line for line in listed if line not in found] == []


if __name__ == "__main__":
    LIST.write_text("".join(f"{line}\n" for line in sorted(declarations())))
