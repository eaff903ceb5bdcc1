"""Writes small models, with which the fuzzing of GGUF files begins: python tests/fuzz/gguf_corpus.py FOLDER"""

import dataclasses
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "chat"))
import decoder_reference as reference  # noqa: E402

TEMPLATES = ("<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "[INST]", "<|assistant|>")


def as_sentencepiece(writer):
    """Replaces the byte-level tokenizer by one of SentencePiece's form."""
    values = writer.kv_data[0]
    values["tokenizer.ggml.model"].value = "llama"
    for key in ("tokenizer.ggml.pre", "tokenizer.ggml.merges"):
        del values[key]
    tokens = [f"<0x{b:02X}>" for b in range(256)] + ["<s>", "</s>", "\u2581", "a"]
    values["tokenizer.ggml.tokens"].value = tokens
    values["tokenizer.ggml.token_type"].value = [6] * 256 + [3] * 2 + [1] * 2
    writer.add_token_scores([-float(i) for i in range(len(tokens))])


def write(folder):
    """One layer of each architecture; every format of the tests and every template occurs. Returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i, (name, model) in enumerate(reference.MODELS.items()):
        model = dataclasses.replace(model, layers=1, tied=True)
        change = as_sentencepiece if i % 3 == 2 else lambda w: None
        paths.append(folder / f"{name}.gguf")
        reference.write(paths[-1], model, reference.weights(model, i), ("Q8_0", "Q4_1", "Q4_0")[i % 3], change, TEMPLATES[i % len(TEMPLATES)])
    return paths


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
