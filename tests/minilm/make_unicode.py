"""Writes examples/wordpiece_tables.h: what BERT's normaliser and word splitter do with each Unicode code point.

    pip install tokenizers==0.23.3 && python tests/minilm/make_unicode.py > examples/wordpiece_tables.h

The reference is asked about every code point on its own, so the tables follow its Unicode version and its rules (which
characters are control characters, ideographs, accents, punctuation) exactly. Hangul syllables are left out: they
decompose by arithmetic.
"""

import textwrap

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

HANGUL = range(0xAC00, 0xD7A4)
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]

HEAD = """\
/* wordpiece_tables.h: what BERT does with each code point before it splits words. By tests/minilm/make_unicode.py. */
/* clang-format off */
#ifndef WORDPIECE_TABLES_H
#define WORDPIECE_TABLES_H

#include <stdint.h>

/* APART: as MAP, with a space before and after (ideographs are words of their own). */
enum { WORDPIECE_DROP, WORDPIECE_SPACE, WORDPIECE_MAP, WORDPIECE_APART };

/* Code points first, first + step, ..., last become themselves + delta, or nothing, or a space. */
typedef struct wordpiece__run {
    uint32_t first, last;
    uint8_t step, action;
    int32_t delta;
} wordpiece__run;

/* One code point becomes several; unused places are 0. */
typedef struct wordpiece__sequence {
    uint32_t from, to[3];
} wordpiece__sequence;

typedef struct wordpiece__range {
    uint32_t first, last;
} wordpiece__range;

#define D WORDPIECE_DROP
#define S WORDPIECE_SPACE
#define M WORDPIECE_MAP
#define A WORDPIECE_APART"""


def action(c, text):
    """(kind, difference to the code point that takes its place) or the sequence that does."""
    if text == "":
        return ("DROP", 0)
    if text == " ":
        return ("SPACE", 0)
    if len(text) == 1:
        return ("MAP", ord(text) - c)
    if len(text) == 3 and text[0] == text[2] == " ":
        return ("APART", ord(text[1]) - c)
    return ("SEQUENCE", tuple(map(ord, text)))


def runs(actions, steps=(1, 2)):
    """Joins neighbours that do the same, one or two code points apart (capital and small letters often alternate)."""
    rows = []
    for c, what in actions:
        if rows and rows[-1][3] == what and c - rows[-1][1] in (steps if rows[-1][2] == 0 else rows[-1][2:3]):
            rows[-1][1:3] = c, c - rows[-1][1]
        else:
            rows.append([c, c, 0, what])
    return [(first, last, step or 1, *what) for first, last, step, what in rows]


def print_table(kind, name, rows):
    print(f"\nstatic const {kind} {name}[] = {{")
    # Spaces inside a row must not break: they are put in after the lines are made.
    joined = " ".join(f"{{{row}}},".replace(" ", "~") for row in rows)
    for line in textwrap.wrap(joined, 116, break_on_hyphens=False, break_long_words=False):
        print("    " + line.replace("~", " "))
    print("};")


def main():
    normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    splitter = BertPreTokenizer()
    normal = {chr(c): normalizer.normalize_str(chr(c)) for c in CODE_POINTS if c not in HANGUL}
    changed = [(ord(c), action(ord(c), text)) for c, text in normal.items() if text != c]
    single = runs([entry for entry in changed if entry[1][0] != "SEQUENCE"])
    sequences = [(c, (*to, 0)[:3]) for c, (kind, to) in changed if kind == "SEQUENCE"]
    punctuation = [c for c in CODE_POINTS if len(splitter.pre_tokenize_str(f"a{chr(c)}b")) == 3]

    print(HEAD)
    single = [f"{first:#x}, {last:#x}, {step}, {kind[0]}, {delta}" for first, last, step, kind, delta in single]
    print_table("wordpiece__run", "wordpiece__runs", single)
    print("\n#undef D\n#undef S\n#undef M\n#undef A")
    sequences = [f"{c:#x}, {{{', '.join(map(hex, to))}}}" for c, to in sequences]
    print_table("wordpiece__sequence", "wordpiece__sequences", sequences)
    ranges = [f"{first:#x}, {last:#x}" for first, last, *_ in runs([(c, ()) for c in punctuation], (1,))]
    print_table("wordpiece__range", "wordpiece__punctuation", ranges)
    print("\n#endif /* WORDPIECE_TABLES_H */")


if __name__ == "__main__":
    main()
