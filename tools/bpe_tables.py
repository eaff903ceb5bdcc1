"""Writes examples/bpe_tables.h: the code points that the pre-tokenizers of byte-level BPE call letters and numbers.

    pip install tokenizers==0.23.3 && python tools/bpe_tables.py > examples/bpe_tables.h

The package's regular expressions are asked about every code point, so the tables have their version of Unicode.
"""

import textwrap

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

# Letters and numbers that are new in a version of Unicode: the last of them that is known tells the version.
NEW = [("15.0", 0x11F04), ("15.1", 0x2EBF0), ("16.0", 0x10D4A), ("17.0", 0x323B0)]

HEAD = """\
/* bpe_tables.h: general categories L and N of Unicode {version} as ranges. By tools/bpe_tables.py. */
/* clang-format off */
#ifndef BPE_TABLES_H
#define BPE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bpe__range {{
    uint32_t first, last;
}} bpe__range;"""

TAIL = """
static inline bool bpe__in_ranges(uint32_t c, const bpe__range *ranges, size_t count) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c < ranges[middle].first)
            high = middle;
        else if (c > ranges[middle].last)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

static inline bool bpe__is_letter(uint32_t c) {
    return bpe__in_ranges(c, bpe__letters, sizeof bpe__letters / sizeof *bpe__letters);
}

static inline bool bpe__is_number(uint32_t c) {
    return bpe__in_ranges(c, bpe__numbers, sizeof bpe__numbers / sizeof *bpe__numbers);
}

#endif /* BPE_TABLES_H */"""


def matched(pattern):
    split = Split(Regex(pattern), "removed")
    return [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and not split.pre_tokenize_str(chr(c))]


def print_ranges(name, points):
    rows = []
    for c in points:
        if rows and rows[-1][1] == c - 1:
            rows[-1][1] = c
        else:
            rows.append([c, c])
    print(f"\nstatic const bpe__range {name}[] = {{")
    # Spaces inside a row must not break: they are put in after the lines are made.
    for line in textwrap.wrap(" ".join(f"{{{first:#x},~{last:#x}}}," for first, last in rows), 116):
        print("    " + line.replace("~", " "))
    print("};")


def main():
    letters, numbers = matched(r"\p{L}"), matched(r"\p{N}")
    known = {*letters, *numbers}
    print(HEAD.format(version=[version for version, c in NEW if c in known][-1]))
    print_ranges("bpe__letters", letters)
    print_ranges("bpe__numbers", numbers)
    print(TAIL)


if __name__ == "__main__":
    main()
