"""Writes the five headers from the sources in src/, or the sources from edited headers.

    python3 tools/headers.py            writes the headers
    python3 tools/headers.py --check    fails if a header differs from its sources
    python3 tools/headers.py --split    writes the sources from the headers

src/headers/NAME.h is the frame of NAME.h. A line `//@ FILE` of the frame is replaced by the text of src/FILE. A line `//@ ARRAY = FILE`
is replaced by an array of string literals, one per line of src/FILE, terminated by NULL. A line `//@ PART` of that file starts the
array ARRAY_PART; comment lines before the first part remain comments. A banner in the header names each file."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
WIDTH = 120
BANNER = re.compile(r"^/\* =+ src/(\S+) \*/$")
INCLUDE = re.compile(r"^//@ (?:(\w+) = )?(\S+)$")
ARRAY = re.compile(r"^static const char \*const (\w+)\[\] = \{$")


def banner(name):
    return f"/* {'=' * (WIDTH - 11 - len(name))} src/{name} */"


def quoted(line):
    text = line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("??", "?\\?")
    return f'    "{text}\\n",'


def unquoted(line):
    text = line.strip().removeprefix('"').removesuffix(",").removesuffix('"').removesuffix("\\n")
    return re.sub(r"\\(.)", lambda m: {"t": "\t"}.get(m[1], m[1]), text)


def arrays_of(name, lines):
    """The C text of a file in another language."""
    parts = [(name, [])] if not any(line.startswith("//@ ") for line in lines) else []
    out = []
    for line in lines:
        if line.startswith("//@ "):
            parts.append((f"{name}_{line[4:]}", []))
        elif parts:
            parts[-1][1].append(quoted(line))
        else:
            out.append(line)
    out.append("/* clang-format off */")
    for array, text in parts:
        out += [f"static const char *const {array}[] = {{", *text, "    NULL,", "};"]
    return [*out, "/* clang-format on */"]


def lines_of(name, lines):
    """The inverse of arrays_of(name, ..)."""
    out = []
    for line in lines:
        array = ARRAY.match(line)
        if array and array[1] != name:
            out.append(f"//@ {array[1].removeprefix(name + '_')}")
        elif line.startswith('    "'):
            out.append(unquoted(line))
        elif line.startswith("//"):
            out.append(line)
    return out


def joined(frame):
    """The lines of a header. A blank line follows each file."""
    own = f"headers/{frame.name}"
    lines, inside = [], own
    for line in frame.read_text().splitlines():
        found = INCLUDE.match(line)
        if found:
            array, inside = found.groups()
            text = (ROOT / "src" / inside).read_text().splitlines()
            lines += [banner(inside), *(arrays_of(array, text) if array else text), ""]
            continue
        if inside != own:
            lines.append(banner(own))
            inside = own
        lines.append(line)
    return lines


def split(header):
    """The texts of a header's sources by name. The frame is one of them."""
    own = f"headers/{header.name}"
    frame = [INCLUDE.match(line) for line in (ROOT / "src" / own).read_text().splitlines()]
    arrays = {found[2]: found[1] for found in frame if found and found[1]}
    texts, inside = {own: []}, own
    for line in header.read_text().splitlines():
        found = BANNER.match(line)
        if not found:
            texts[inside].append(line)
            continue
        inside = found[1]
        if inside != own:
            if inside in texts:
                sys.exit(f"{header.name}: src/{inside} appears twice")
            texts[inside] = []
            texts[own].append(f"//@ {arrays[inside]} = {inside}" if inside in arrays else f"//@ {inside}")
    for name, lines in texts.items():
        if name != own and lines and not lines[-1]:
            lines.pop()
        if name in arrays:
            texts[name] = lines_of(arrays[name], lines)
    return texts


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(path.relative_to(ROOT))


def main():
    mode, different = sys.argv[1] if len(sys.argv) > 1 else "", []
    if mode not in ("", "--check", "--split"):
        sys.exit(__doc__)
    for frame in sorted((ROOT / "src" / "headers").glob("*.h")):
        header = ROOT / frame.name
        if mode == "--split":
            for name, lines in split(header).items():
                write(ROOT / "src" / name, "\n".join(lines) + "\n")
            continue
        text = "\n".join(joined(frame)) + "\n"
        if mode != "--check":
            write(header, text)
        elif header.read_text() != text:
            different.append(header.name)
    if different:
        sys.exit(f"{', '.join(different)} differ from src/: run `make headers`, or `tools/headers.py --split` to keep an edit of the header")


if __name__ == "__main__":
    main()
