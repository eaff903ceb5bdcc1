"""passes_table.py [--check] [--ind build/ind]: writes what each graph pass and rewrite brings into docs/passes.md.

For each model of tests/export: kernels, and bytes read and written by them at the hints of its sizes, without passes, by
default, with one pass or pattern left out, and with one rewrite enabled that is off by default. Rows are left out if they
are as the default and the rewrite changes nothing. Passes come from IND_PASSES, patterns from src/graph/patterns, rewrites that are off also from the tables
of docs/passes.md. --check writes nothing and fails if the page is stale."""

import argparse
import json
import math
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/passes.md"
BEGIN, END = "<!-- written by tools/passes_table.py -->\n", "<!-- until here: tools/passes_table.py -->\n"
MODELS = ["resnet18", "mobilenet_v3", "bert", "bert.core", "llama", "llama.core", "t5", "t5.core", "vit", "vit.core", "whisper_encoder", "whisper_encoder.core", "gpt2", "gpt2.core"]
FUNCTIONS = {"Max": max, "Min": min, "CeilDiv": lambda a, b: -(-a // b), "Mod": lambda a, b: a % b, "ModularIndexing": lambda x, d, m: x // d % m, "Where": lambda c, a, b: a if c else b,
             "math": math}


def passes():
    """Names of all passes."""
    table = re.search(r"#define IND_PASSES\(X\)(.*?[^\\])\n\n", (ROOT / "src/graph/compile.h").read_text(), re.S)[1]
    return re.findall(r'X\(\w+, "(\w+)"\)', table)


def patterns():
    """Names of the built-in patterns: those that are on, those that are off."""
    text = "\n".join(p.read_text() for p in sorted((ROOT / "src/graph/patterns").glob("*.ind")))
    found = re.findall(r"^pattern (\w+) \{\n(.*?)^\} =>", text, re.M | re.S)
    off = [name for name, body in found if re.search(r"^\s*off ", body, re.M)]
    return [name for name, _ in found if name not in off], off


def off_in_tables(page):
    """First column of the tables in sections on what is off."""
    sections = re.findall(r"^## [^\n]*\boff\b[^\n]*\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return [name for text in sections for name in re.findall(r"^\| `(\w+)` \|", text, re.M)]


def emit(ind, model, options, stage="schedule"):
    """The JSON of a stage; None: an option is not known."""
    done = subprocess.run([ind, "emit", ROOT / f"tests/export/{model}.ind", "--stage", stage, "--json", *options], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def hints(model):
    text = (ROOT / f"tests/export/{model}.ind").read_text()
    return {name: int(hint) for name, hint in re.findall(r"^  size (\w+) in .* hint (\d+)", text, re.M)}


def measured(ind, model, options):
    """Kernels and bytes; None: an option is not known."""
    schedule = emit(ind, model, options)
    if not schedule:
        return None
    sizes = {**FUNCTIONS, **hints(model)}
    return len(schedule["kernels"]), sum(eval(k[key], sizes) for k in schedule["kernels"] for key in ("bytes_read", "bytes_written"))


def applied(ind, model, options):
    """How often each rewrite is applied; None: an option is not known."""
    log = emit(ind, model, options, "passes")
    names = [c["pass"] for c in log["changes"] if not c["missed"]] if log else None
    return {name: names.count(name) for name in names} if log else None


def all_configurations(page):
    """[(what it says, name, options)], the default second."""
    on, off = patterns()
    off += [name for name in off_in_tables(page) if name not in off]
    none = [word for name in passes() for word in ("--disable", name)]
    rows = [("no passes", "", none), ("default", "", [])]
    rows += [(f"without `{name}`", name, ["--disable", name]) for name in passes() + on]
    return rows + [(f"with `{name}`", name, ["--enable", name]) for name in off]


def model_rows(ind, model, configurations):
    default = measured(ind, model, [])
    rows = []
    usual = applied(ind, model, [])
    for text, name, options in configurations:
        counts = (applied(ind, model, options) or {}) if text.startswith("with ") else usual
        count = counts.get(name, 0)
        if name and not count and name != "patterns":
            continue
        found = measured(ind, model, options)
        if not found or (name and found == default and not text.startswith("with ")):
            continue
        share = f"{100 * found[1] / default[1] - 100:+.1f} %" if options else ""
        rows.append(f"| {model if not rows else ''} | {text} | {count or ''} | {found[0]} | {found[1] / 1e6:.3f} | {share} |\n")
    return "".join(rows)


def table(ind, page):
    configurations = all_configurations(page)
    head = "| model | passes | applied | kernels | MB moved | beside the default |\n|---|---|---|---|---|---|\n"
    return "\n" + head + "".join(model_rows(ind, model, configurations) for model in MODELS) + "\n"


def replaced(page, text):
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("docs/passes.md lacks the marks of tools/passes_table.py")
    return before + begin + text + end + after


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--check", action="store_true")
    p.add_argument("--ind", default=ROOT / "build/ind")
    args = p.parse_args()
    page = PAGE.read_text()
    new = replaced(page, table(args.ind, page))
    if args.check and new != page:
        raise SystemExit("docs/passes.md is not what tools/passes_table.py writes")
    if not args.check:
        PAGE.write_text(new)


if __name__ == "__main__":
    main()
