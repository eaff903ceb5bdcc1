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
    """(name, lines) of each source of a header. The frame is one of them. A file may appear more than once."""
    own = f"headers/{header.name}"
    frame = [INCLUDE.match(line) for line in (ROOT / "src" / own).read_text().splitlines()]
    arrays = {found[2]: found[1] for found in frame if found and found[1]}
    parts = [(own, [])]
    current = parts[0]
    for line in header.read_text().splitlines():
        found = BANNER.match(line)
        if not found:
            current[1].append(line)
        elif found[1] == own:
            current = parts[0]
        else:
            current = (found[1], [])
            parts.append(current)
            parts[0][1].append(f"//@ {arrays[found[1]]} = {found[1]}" if found[1] in arrays else f"//@ {found[1]}")
    for name, lines in parts[1:]:
        if lines and not lines[-1]:
            lines.pop()
        if name in arrays:
            lines[:] = lines_of(arrays[name], lines)
    return parts


def edited(headers):
    """The texts of the sources of all headers by name. Of several copies the edited one counts."""
    texts = {}
    for name, lines in (part for header in headers for part in split(header)):
        path, text = ROOT / "src" / name, "\n".join(lines) + "\n"
        before = path.read_text() if path.exists() else None
        if texts.get(name, before) not in (before, text) and text != before:
            sys.exit(f"src/{name} is edited in two ways")
        if name not in texts or text != before:
            texts[name] = text
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
    frames = sorted((ROOT / "src" / "headers").glob("*.h"))
    if mode == "--split":
        for name, text in edited([ROOT / frame.name for frame in frames]).items():
            write(ROOT / "src" / name, text)
        return
    for frame in frames:
        header = ROOT / frame.name
        text = "\n".join(joined(frame)) + "\n"
        if mode != "--check":
            write(header, text)
        elif header.read_text() != text:
            different.append(header.name)
    if different:
        sys.exit(f"{', '.join(different)} differ from src/: run `make headers`, or `tools/headers.py --split` to keep an edit of the header")


if __name__ == "__main__":
    main()
