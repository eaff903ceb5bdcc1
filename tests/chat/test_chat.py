"""examples/chat.c and llama_graph.h: small random models against the same computation in NumPy; messages for what is not supported."""

import subprocess

import decoder_reference as reference
import numpy as np
import pytest

from conftest import make

TEXT = "The quick brown fox; 12 jumps."
MODELS = [("llama", "F32", True), ("llama", "Q4_1", True), ("llama", "Q8_0", False), ("llama", "F16", False), ("qwen2", "Q8_0", True), ("qwen3", "BF16", False)]
ENDS = (256, 258)  # <|endoftext|>, <|im_end|>
CHATML = "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n'}}{% endfor %}"


@pytest.fixture(scope="module")
def program(device):
    if device != "host":
        pytest.skip("runs with make test")
    return make("build/chat")


def chat(program, path, *arguments, input=None):
    return subprocess.run([program, "--model", path, *arguments], capture_output=True, text=True, timeout=120, input=input)


def ids_of(done):
    assert done.returncode == 0, done.stderr
    return [int(i) for i in done.stdout.split()]


def is_greedy(w, prompt, answer, architecture, **more):
    """Each token has the largest logit, but for the rounding of f32."""
    rows = reference.logits(w, [*prompt, *answer], architecture, **more)[len(prompt) - 1 : -1]
    return all(row.max() - row[i] <= 1e-4 * np.abs(row).max() for row, i in zip(rows, answer))


@pytest.mark.parametrize("architecture, format, tied", MODELS)
def test_answer(program, architecture, format, tied, tmp_path):
    tensors = reference.weights(architecture, tied, 1)
    w = reference.write(tmp_path / "m.gguf", architecture, tensors, format)
    answer = ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "24", TEXT))
    assert len(set(answer)) > 4 and is_greedy(w, list(TEXT.encode()), answer, architecture)
    # It has all tokens, or one ended it that is not printed.
    assert len(answer) == 24 or any(is_greedy(w, list(TEXT.encode()), [*answer, end], architecture) for end in ENDS)


@pytest.mark.parametrize("architecture, format, tied", MODELS)
def test_perplexity(program, architecture, format, tied, tmp_path):
    """Of a text longer than the context: its parts begin without a past."""
    w = reference.write(tmp_path / "m.gguf", architecture, reference.weights(architecture, tied, 2), format)
    text = "".join(chr(32 + i * i % 90) for i in range(150))
    (tmp_path / "t.txt").write_text(text)
    done = chat(program, tmp_path / "m.gguf", "--perplexity", tmp_path / "t.txt")
    assert done.returncode == 0, done.stderr
    losses = []
    for first in range(0, len(text), reference.CONTEXT):
        tokens = list(text.encode()[first : first + reference.CONTEXT])
        rows = reference.logits(w, tokens, architecture)[:-1]
        top = rows.max(-1)
        losses += list(top + np.log(np.exp(rows - top[:, None]).sum(-1)) - rows[range(len(rows)), tokens[1:]])
    assert int(done.stdout.split()[3]) == len(losses)
    assert abs(np.log(float(done.stdout.split()[1])) - np.mean(losses)) < 1e-4


def test_prompt_in_chunks(program, tmp_path):
    """A prompt of three chunks, and caches of which more entries are read from run to run."""
    tensors = reference.weights("llama", False, 13)
    for end in ENDS:
        tensors["output.weight"][end] = 0
    w = reference.write(tmp_path / "m.gguf", "llama", tensors, "Q8_0", context=700)
    text = "".join(chr(33 + i * 7 % 90) for i in range(570))
    answer = ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "80", text))
    assert len(answer) == 80 and is_greedy(w, list(text.encode()), answer, "llama")


def test_part_of_a_head_is_rotated(program, tmp_path):
    w = reference.write(tmp_path / "m.gguf", "qwen2", reference.weights("qwen2", True, 3), "F32", rotary=8)
    answer = ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "10", TEXT))
    assert is_greedy(w, list(TEXT.encode()), answer, "qwen2", rotary=8)


def test_linear_scaling_of_angles(program, tmp_path):
    def change(writer):
        writer.add_string("llama.rope.scaling.type", "linear")
        writer.add_float32("llama.rope.scaling.factor", 4.0)

    w = reference.write(tmp_path / "m.gguf", "llama", reference.weights("llama", True, 4), "F32", change=change)
    answer = ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "10", TEXT))
    assert is_greedy(w, list(TEXT.encode()), answer, "llama", scale=4.0)


def test_divisors_of_angles(program, tmp_path):
    tensors = reference.weights("llama", True, 11) | {"rope_freqs.weight": np.linspace(1, 8, reference.HEAD // 2).astype(np.float32)}
    w = reference.write(tmp_path / "m.gguf", "llama", tensors, "F32")
    answer = ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "10", TEXT))
    assert is_greedy(w, list(TEXT.encode()), answer, "llama", scale=w["rope_freqs.weight"])


def test_system_message_of_the_template(program, tmp_path):
    """It is the default; code between its marks is none."""
    start, end = 257, 258
    user = [start, *b"user\nHi", end, 10, start, *b"assistant\n"]
    for text, want in (("Be kind.", [start, *b"system\nBe kind.", end, 10]), ("' + x + '{{ y }}", []), ("' + x + '", [])):
        template = CHATML.replace("{% for", f"{{{{'<|im_start|>system\n{text}<|im_end|>\n'}}}}{{% for", 1)
        w = reference.write(tmp_path / "m.gguf", "llama", reference.weights("llama", True, 12), "F32", template=template)
        answer = ids_of(chat(program, tmp_path / "m.gguf", "--ids", "--tokens", "3", "Hi"))
        assert is_greedy(w, [*want, *user], answer, "llama")


def test_conversation(program, tmp_path):
    """The second message follows the first answer in the caches. The system message comes once."""
    w = reference.write(tmp_path / "m.gguf", "llama", reference.weights("llama", True, 5), "F32", template=CHATML)
    found = ids_of(chat(program, tmp_path / "m.gguf", "--ids", "--tokens", "3", "--system", "Be.", input="Hi\nYou\n\n"))
    start, end = 257, 258
    say = lambda role, text: [start, *f"{role}\n{text}".encode(), end, 10]  # noqa: E731
    first = [*say("system", "Be."), *say("user", "Hi"), start, *b"assistant\n"]
    assert len(found) == 6 and is_greedy(w, first, found[:3], "llama")
    second = [*first, *found[:3], end, 10, *say("user", "You"), start, *b"assistant\n"]
    assert is_greedy(w, second, found[3:], "llama")


def string(key, value):
    """Sets a text, also one that the file has."""

    def change(writer):
        writer.kv_data[0].pop(key, None)
        writer.add_string(key, value)

    return change


REFUSED = {
    "another architecture": ("mamba", lambda w: None, "architecture mamba is not supported"),
    "experts": ("llama", lambda w: w.add_expert_count(4), "mixtures of experts are not supported"),
    "sliding window": ("llama", lambda w: w.add_sliding_window(32), "sliding windows are not supported"),
    "scaling": ("llama", string("llama.rope.scaling.type", "yarn"), "rope scaling yarn is not supported"),
    "tokenizer": ("llama", string("tokenizer.ggml.model", "bert"), "tokenizer bert is not supported"),
    "pre-tokenizer": ("llama", string("tokenizer.ggml.pre", "viking"), "viking"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(program, name, tmp_path):
    architecture, change, message = REFUSED[name]

    reference.write(tmp_path / "m.gguf", architecture, reference.weights("llama", True, 6), "F32", change=change)
    done = chat(program, tmp_path / "m.gguf", "--raw", "x")
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_missing_tensor(program, tmp_path):
    tensors = reference.weights("llama", True, 7)
    del tensors["blk.1.ffn_up.weight"]
    reference.write(tmp_path / "m.gguf", "llama", tensors, "F32")
    assert "tensor blk.1.ffn_up.weight is missing or has another shape" in chat(program, tmp_path / "m.gguf", "--raw", "x").stderr


@pytest.mark.parametrize(
    "arguments, message",
    [(["--raw", "x" * 70], "the context of 64 tokens is full"), (["--context", "65", "--raw", "x"], "allowed is 2 to the model's 64"), (["--context", "1", "x"], "allowed is 2"), (["x"], "no chat template"), (["--raw", ""], "an empty text"),
     (["--tokens", "0", "x"], "allowed is a number"), (["--dtype", "i8", "x"], "allowed is f32"), (["--what", "x"], "unknown option"), (["--perplexity", "none"], "none cannot be read")],
)  # fmt: skip
def test_bad_use(program, arguments, message, tmp_path):
    reference.write(tmp_path / "m.gguf", "llama", reference.weights("llama", True, 8), "F32")
    done = chat(program, tmp_path / "m.gguf", *arguments)
    assert done.returncode in (1, 2) and message in done.stderr, done.stderr


def test_truncated_model(program, tmp_path):
    reference.write(tmp_path / "m.gguf", "llama", reference.weights("llama", True, 9), "Q4_1")
    data = (tmp_path / "m.gguf").read_bytes()
    (tmp_path / "m.gguf").write_bytes(data[: len(data) - 1000])
    assert "truncated or damaged" in chat(program, tmp_path / "m.gguf", "--raw", "x").stderr


def test_answer_that_fills_the_context(program, tmp_path):
    tensors = reference.weights("llama", False, 10)
    for end in ENDS:  # no answer ends before
        tensors["output.weight"][end] = 0
    reference.write(tmp_path / "m.gguf", "llama", tensors, "F32")
    assert len(ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "100", "x" * 60))) == 5
