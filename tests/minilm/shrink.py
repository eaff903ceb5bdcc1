"""Makes a small copy of the model, for carrying to a machine without network.

    python tests/minilm/shrink.py MODEL_FOLDER OUT.tar.xz       here
    mkdir DIR && tar xf OUT.tar.xz -C DIR                       there; then build/minilm --model DIR

Rows of the word embedding that neither the sentences of reference.json nor the demo's own use are zeroed (half of the
file; zeros compress to nothing), and so are the weights that embedding does not read (the pooler). Everything else is
as it was.
"""

import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).parent
WORDS = "embeddings.word_embeddings.weight"


def demo_ids(vocabulary):
    """The ids of the demo's own sentences, from the C tokenizer."""
    source = (HERE / "../../examples/minilm.c").read_text()
    listed = re.search(r"default_sentences\[\] = \{(.*?)\};", source, re.S).group(1)
    subprocess.run(["make", "-s", "build/tests/minilm/tokenize"], check=True, cwd=HERE / "../..")
    text = "".join(json.loads(f'"{s}"') + "\n" for s in re.findall(r'"((?:[^"\\]|\\.)*)"', listed))
    tokenize = HERE / "../../build/tests/minilm/tokenize"
    return {
        int(i)
        for i in subprocess.run(
            [tokenize, vocabulary, "256"], input=text, capture_output=True, text=True
        ).stdout.split()
    }


def shrink(raw, used):
    """The bytes of the file with what is not needed zeroed."""
    length = int.from_bytes(raw[:8], "little")
    entries = json.loads(raw[8 : 8 + length])
    out = bytearray(raw)
    for name, entry in entries.items():
        if name == WORDS:
            first, last = (8 + length + offset for offset in entry["data_offsets"])
            row = (last - first) // entry["shape"][0]
            for i in set(range(entry["shape"][0])) - used:
                out[first + i * row : first + (i + 1) * row] = bytes(row)
        elif name.startswith("pooler."):
            first, last = (8 + length + offset for offset in entry["data_offsets"])
            out[first:last] = bytes(last - first)
    return bytes(out)


def main():
    folder, target = pathlib.Path(sys.argv[1]), sys.argv[2]
    used = {i for case in json.loads((HERE / "reference.json").read_text()) for i in case["ids"]}
    used |= demo_ids((folder / "vocab.txt").resolve()) | set(range(104))  # [PAD] and the special tokens among the first
    weights = shrink((folder / "model.safetensors").read_bytes(), used)
    with tarfile.open(target, "w:xz", preset=1) as archive:
        archive.add(folder / "vocab.txt", "vocab.txt")
        info = tarfile.TarInfo("model.safetensors")
        info.size = len(weights)
        archive.addfile(info, io.BytesIO(weights))
    print(f"{target}: {pathlib.Path(target).stat().st_size / 1e6:.1f} MB, {len(used)} rows kept")


if __name__ == "__main__":
    main()
