"""wordpiece.h against the committed ids of the `tokenizers` package (make_corpus_ids.py)."""

import pathlib
import subprocess

from conftest import make

HERE = pathlib.Path(__file__).parent


def tokenize(vocabulary, text, most=256):
    program = make("build/tests/minilm/tokenize")
    done = subprocess.run([program, str(vocabulary), str(most)], input=text, capture_output=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_corpus(model_folder):
    status, found, errors = tokenize(model_folder / "vocab.txt", (HERE / "corpus.txt").read_bytes())
    assert status == 0, errors
    lines = (HERE / "corpus.txt").read_bytes().decode().split("\n")
    for line, ids, wanted in zip(
        lines, found.split("\n"), (HERE / "corpus_ids.txt").read_text().split("\n"), strict=True
    ):
        assert ids == wanted, ascii(line)


def test_truncation(model_folder):
    text = b"one two three four five\n"
    ids = tokenize(model_folder / "vocab.txt", text, 256)[1].split()
    assert len(ids) == 7
    for most in range(2, 8):
        assert tokenize(model_folder / "vocab.txt", text, most)[1].split() == ids[: most - 1] + ids[-1:]


def test_no_utf8(model_folder):
    """Bytes that are no UTF-8 are passed over: cut-off, overlong, surrogates, beyond Unicode."""
    bad = [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
    plain = tokenize(model_folder / "vocab.txt", b"ab cd\n")[1]
    for bytes_ in bad:
        assert tokenize(model_folder / "vocab.txt", b"ab " + bytes_ + b" cd" + bytes_ + b"\n")[1] == plain


def test_bad_vocabulary(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "other.txt").write_text("a\nb\n")
    for name, wanted in [
        ("none.txt", "cannot be opened"),
        ("empty.txt", "[UNK], [CLS] or [SEP] is missing"),
        ("other.txt", "[UNK], [CLS]"),
    ]:
        status, _, errors = tokenize(tmp_path / name, b"a\n")
        assert status == 1 and wanted in errors and name in errors


def test_small_vocabulary(tmp_path):
    """No line end after the last piece, carriage returns, and none of the special tokens that text may spell."""
    (tmp_path / "v.txt").write_bytes(b"[UNK]\r\n[CLS]\r\n[SEP]\r\nab\r\n##cd\r\n##c\r\n[\r\nmask\r\n]")
    assert tokenize(tmp_path / "v.txt", b"abcd abc [MASK] abx\n")[1].split() == "1 3 4 3 5 6 7 8 0 2".split()
