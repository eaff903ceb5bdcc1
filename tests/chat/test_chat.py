"""examples/chat.c, llama_engine.h and llama_graph.h: small random models against the same computation in NumPy and in transformers; messages for what
is not supported."""

import dataclasses
import json
import pathlib
import re
import subprocess
import sys

import decoder_reference as reference
import numpy as np
import pytest

from conftest import make

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "numerics"))
from reference_kernels import philox  # noqa: E402

TEXT = "The quick brown fox; 12 jumps."
LOSSES = json.loads(pathlib.Path(__file__).with_name("decoder_losses.json").read_text())
LLAMA = reference.MODELS["llama"]
TIED = dataclasses.replace(LLAMA, tied=True)
FORMATS = {"llama": ("Q4_1", "Q8_0", "F16"), "qwen2": ("Q8_0",), "qwen3": ("BF16",), "qwen3moe": ("Q8_0",), "phi3": ("Q4_0",)}
CASES = [(name, format) for name in reference.MODELS for format in ("F32", *FORMATS.get(name, ()))]
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


def is_greedy(m, w, prompt, answer):
    """Each token has the largest logit, but for the rounding of f32."""
    rows = reference.logits(m, w, [*prompt, *answer])[len(prompt) - 1 : -1]
    return all(row.max() - row[i] <= 1e-4 * np.abs(row).max() for row, i in zip(rows, answer))


@pytest.mark.parametrize("name, format", CASES)
def test_answer(program, name, format, tmp_path):
    m = reference.MODELS[name]
    w = reference.write(tmp_path / "m.gguf", m, reference.weights(m, 1), format)
    answer = ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "24", TEXT))
    assert len(set(answer)) > 2 or m.is_gemma  # whose answers are short, or repeat a token
    assert is_greedy(m, w, list(TEXT.encode()), answer)
    # It has all tokens, or one ended it that is not printed.
    assert len(answer) == 24 or any(is_greedy(m, w, list(TEXT.encode()), [*answer, end]) for end in ENDS)


def mean_loss(done):
    assert done.returncode == 0, done.stderr
    return np.log(float(done.stdout.split()[1]))


@pytest.mark.parametrize("name", reference.MODELS)
def test_transformers(program, name, tmp_path):
    """The mean over all tokens."""
    m = reference.MODELS[name]
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 1), "F32")
    (tmp_path / "t.txt").write_text(reference.TEXT)
    assert abs(mean_loss(chat(program, tmp_path / "m.gguf", "--perplexity", tmp_path / "t.txt")) - np.mean(LOSSES[name])) < 1e-5


def test_short_factors(program, tmp_path):
    """LongRoPE's factors depend on the context that is asked for."""
    m = reference.MODELS["phi3, LongRoPE"]
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 1), "F32")
    (tmp_path / "t.txt").write_text(reference.TEXT[: reference.SHORT])
    done = chat(program, tmp_path / "m.gguf", "--context", str(reference.SHORT), "--perplexity", tmp_path / "t.txt")
    assert abs(mean_loss(done) - np.mean(LOSSES["phi3, LongRoPE, short"])) < 1e-5


@pytest.mark.parametrize("name, format", CASES)
def test_perplexity(program, name, format, tmp_path):
    """Of a text longer than the context: its parts begin without a past."""
    m = reference.MODELS[name]
    w = reference.write(tmp_path / "m.gguf", m, reference.weights(m, 2), format)
    text = "".join(chr(32 + i * i % 90) for i in range(150))
    (tmp_path / "t.txt").write_text(text)
    done = chat(program, tmp_path / "m.gguf", "--perplexity", tmp_path / "t.txt")
    parts = [list(text.encode()[first : first + m.context]) for first in range(0, len(text), m.context)]
    losses = np.concatenate([reference.losses(m, w, part) for part in parts])
    assert abs(mean_loss(done) - losses.mean()) < 1e-4
    assert int(done.stdout.split()[3]) == len(losses)


def test_prompt_in_chunks(program, tmp_path):
    """A prompt of three chunks, and caches of which more entries are read from run to run."""
    m = dataclasses.replace(LLAMA, context=700)
    tensors = reference.weights(m, 13)
    for end in ENDS:
        tensors["output.weight"][end] = 0
    w = reference.write(tmp_path / "m.gguf", m, tensors, "Q8_0")
    text = "".join(chr(33 + i * 7 % 90) for i in range(570))
    answer = ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "80", text))
    assert len(answer) == 80 and is_greedy(m, w, list(text.encode()), answer)


def test_system_message_of_the_template(program, tmp_path):
    """It is the default; code between its marks is none."""
    start, end = 257, 258
    user = [start, *b"user\nHi", end, 10, start, *b"assistant\n"]
    for text, want in (("Be kind.", [start, *b"system\nBe kind.", end, 10]), ("' + x + '{{ y }}", []), ("' + x + '", [])):
        template = CHATML.replace("{% for", f"{{{{'<|im_start|>system\n{text}<|im_end|>\n'}}}}{{% for", 1)
        w = reference.write(tmp_path / "m.gguf", TIED, reference.weights(TIED, 12), "F32", template=template)
        answer = ids_of(chat(program, tmp_path / "m.gguf", "--ids", "--tokens", "3", "Hi"))
        assert is_greedy(TIED, w, [*want, *user], answer)


def test_conversation(program, tmp_path):
    """The second message follows the first answer in the caches. The system message comes once."""
    w = reference.write(tmp_path / "m.gguf", TIED, reference.weights(TIED, 5), "F32", template=CHATML)
    found = ids_of(chat(program, tmp_path / "m.gguf", "--ids", "--tokens", "3", "--system", "Be.", input="Hi\nYou\n\n"))
    start, end = 257, 258
    say = lambda role, text: [start, *f"{role}\n{text}".encode(), end, 10]  # noqa: E731
    first = [*say("system", "Be."), *say("user", "Hi"), start, *b"assistant\n"]
    assert len(found) == 6 and is_greedy(TIED, w, first, found[:3])
    second = [*first, *found[:3], end, 10, *say("user", "You"), start, *b"assistant\n"]
    assert is_greedy(TIED, w, second, found[3:])


def test_control_tokens_of_a_user(program, tmp_path):
    """They are text in a message, and words do not end where a message begins: "a" of the system message's end and "b" are a token."""
    w = reference.write(tmp_path / "m.gguf", TIED, reference.weights(TIED, 5), "F32", template=CHATML)
    found = ids_of(chat(program, tmp_path / "m.gguf", "--ids", "--tokens", "3", "<|im_end|>"))
    start, end = 257, 258
    assert is_greedy(TIED, w, [start, *b"user\n<|im_end|>", end, 10, start, *b"assistant\n"], found)
    w = reference.write(tmp_path / "m.gguf", TIED, reference.weights(TIED, 5), "F32", template="<start_of_turn>")
    found = ids_of(chat(program, tmp_path / "m.gguf", "--ids", "--tokens", "3", "--system", "a", "ab"))
    assert is_greedy(TIED, w, [*b"<start_of_turn>user\na\n\n", 259, *b"<end_of_turn>\n<start_of_turn>model\n"], found)


def bytes_of(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_stop_texts(program, tmp_path):
    """The answer ends before the first one; what may begin one is held back until that is known."""
    tensors = reference.weights(LLAMA, 10)
    tensors["output.weight"][[*range(32), *range(127, 260)]] = 0  # only ASCII
    reference.write(tmp_path / "m.gguf", LLAMA, tensors, "F32")
    run = lambda *stops: bytes_of(chat(program, tmp_path / "m.gguf", "--raw", "--tokens", "30", *(x for s in stops for x in ("--stop", s)), TEXT)).removesuffix("\n")  # noqa: E731
    whole = run()
    assert len(whole) == 30
    for first in (0, 1, 7, 20):
        for length in (1, 2, 5):
            stop = whole[first : first + length]
            assert run(stop) == whole[: whole.index(stop)]
            assert run("not in it", whole[25:], stop + "not in it", stop) == whole[: whole.index(stop)]
    assert run(whole + "x", whole[29] + "x") == whole


# ---- sampling

PARAMETERS = [
    {"temperature": 1.0}, {"temperature": 0.6, "top-k": 5}, {"temperature": 2.0, "top-p": 0.7}, {"temperature": 1.5, "min-p": 0.2}, {"repeat-penalty": 1.5},
    {"temperature": 3.0, "top-k": 50, "top-p": 0.9, "min-p": 0.02, "repeat-penalty": 1.2}, {"temperature": 1.0, "top-k": 1}, {"temperature": 1e-4},
]  # fmt: skip


def uniform(seed, position):
    return int(philox(seed, 0, position, 40, 24).v) / 2**24


def interval(row, history, temperature, top_k, top_p, min_p, penalty):
    """Tokens that can be drawn, most probable first, and their prefix sums of probabilities, from 0 to 1. As transformers' warpers in its order."""
    row = np.where(np.isin(np.arange(len(row)), history), np.where(row > 0, row / penalty, row * penalty), row)
    order = np.argsort(-row, kind="stable")
    p = np.exp((row[order] - row.max()) / temperature)
    p[top_k or len(p) :] = 0
    before = np.cumsum(p / p.sum()) - p / p.sum()
    p[(before >= top_p) & (before > 0)] = 0
    p[p < min_p * p[0]] = 0
    return order[p > 0], np.concatenate([[0], np.cumsum(p[p > 0]) / p.sum()])


@pytest.mark.parametrize("number", range(len(PARAMETERS)))
def test_drawn_tokens(program, number, tmp_path):
    """Each is the one whose part of [0, 1) has the random number of its position, but for the rounding of f32."""
    given = PARAMETERS[number]
    w = reference.write(tmp_path / "m.gguf", LLAMA, reference.weights(LLAMA, 4), "F32")
    options = [x for k, v in given.items() for x in ("--" + k, str(v))]
    found = ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "30", "--seed", "12", *options, TEXT))
    prompt = list(TEXT.encode())
    rows = reference.logits(LLAMA, w, [*prompt, *found])[len(prompt) - 1 : -1]
    assert len(found) > 3
    for i, (row, token) in enumerate(zip(rows, found)):
        known = (given.get("temperature", 0), given.get("top-k", 0), given.get("top-p", 1), given.get("min-p", 0), given.get("repeat-penalty", 1))
        order, sums = interval(row, [*prompt, *found[:i]], known[0] or 1, *known[1:])
        u = uniform(12, len(prompt) + i) if known[0] else 0
        at = list(order).index(token)
        assert sums[at] - 1e-4 <= u < sums[at + 1] + 1e-4


def test_seeds(program, tmp_path):
    reference.write(tmp_path / "m.gguf", LLAMA, reference.weights(LLAMA, 4), "F32")
    run = lambda seed: ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "20", "--temperature", "2", "--seed", seed, TEXT))  # noqa: E731
    assert run("1") == run("1") != run("2")


# ---- speculative decoding


@pytest.mark.parametrize("options", [[], ["--temperature", "0.3", "--seed", "3"]])
@pytest.mark.parametrize("name", ["llama", "qwen3", "gemma2", "gemma3, six layers", "qwen3moe"])
def test_drafts(program, name, options, tmp_path):
    """Answers are those of single steps, however many draft tokens are accepted, and also where the context or --tokens ends them."""
    m = dataclasses.replace(reference.MODELS[name], context=90)
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 1), "F32")
    accepted = 0
    for text in (TEXT, "abcabcabcabcabcabcabc", "x" * 40):
        for tokens in ("7", "100"):
            run = lambda *more: chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", tokens, *options, *more, text)  # noqa: E731
            alone = ids_of(run())
            for drafts in ("1", "4", "15"):
                done = run("--drafts", drafts)
                assert ids_of(done) == alone
                accepted += int((re.search(r"\[(\d+) of \d+ draft tokens accepted", done.stderr) or [0, 0])[1])
    assert accepted > 3 or options or not m.is_gemma  # whose most probable tokens repeat themselves


def test_drafts_in_a_conversation(program, tmp_path):
    """What was found after the end of an answer is removed before the next message."""
    reference.write(tmp_path / "m.gguf", TIED, reference.weights(TIED, 5), "F32", template=CHATML)
    run = lambda *more: ids_of(chat(program, tmp_path / "m.gguf", "--ids", "--tokens", "4", *more, input="Hi\nYou\n\n"))  # noqa: E731
    assert run("--drafts", "6") == run()


# ---- several conversations

TEXTS = ["One.", "The second is longer than the first.", "3", "and the fourth one", "Then a fifth", "six", "Seven of them."]


@pytest.mark.parametrize("name", ["llama", "qwen3moe", "gemma2"])
@pytest.mark.parametrize("options", [[], ["--temperature", "2", "--repeat-penalty", "1.3"]])
def test_side_by_side(program, name, options, tmp_path):
    """Three at a time have the answers of each alone, with the seed of its number."""
    m = reference.MODELS[name]
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 1), "F32")
    done = chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "20", "--seed", "5", "--parallel", "3", *options, *TEXTS)
    assert done.returncode == 0, done.stderr
    for i, (line, text) in enumerate(zip(done.stdout.splitlines(), TEXTS, strict=True)):
        alone = chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "20", "--seed", str(5 + i), *options, text)
        assert [int(x) for x in line.split()] == ids_of(alone)


# ---- messages


def string(key, value):
    """Sets a text, also one that the file has."""

    def change(writer):
        writer.kv_data[0].pop(key, None)
        writer.add_string(key, value)

    return change


REFUSED = {
    "another architecture": ("mamba", lambda w: None, "architecture mamba is not supported"),
    "experts": ("llama", lambda w: w.add_expert_count(4), "mixtures of experts are not supported for llama"),
    "no experts": ("olmoe", lambda w: None, "olmoe.expert_count is missing"),
    "a window by layer": ("gemma3", lambda w: w.add_sliding_window_pattern([True, False]), "gemma3.attention.sliding_window_pattern is missing or not an integer"),
    "clamped queries": ("llama", lambda w: w.add_clamp_kqv(8.0), "clamped queries, keys and values are not supported"),
    "scaling": ("llama", string("llama.rope.scaling.type", "cubic"), "rope scaling cubic is not supported"),
    "tokenizer": ("llama", string("tokenizer.ggml.model", "bert"), "tokenizer bert is not supported"),
    "pre-tokenizer": ("llama", string("tokenizer.ggml.pre", "viking"), "viking"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(program, name, tmp_path):
    architecture, change, message = REFUSED[name]
    m = dataclasses.replace(TIED, architecture=architecture)
    w = reference.write(tmp_path / "m.gguf", m if architecture != "olmoe" else TIED, reference.weights(TIED, 6), "F32", change=change)
    assert w
    if architecture == "olmoe":
        data = (tmp_path / "m.gguf").read_bytes()
        (tmp_path / "m.gguf").write_bytes(data.replace(b"llama", b"olmoe"))
    done = chat(program, tmp_path / "m.gguf", "--raw", "x")
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_missing_tensor(program, tmp_path):
    tensors = reference.weights(TIED, 7)
    del tensors["blk.1.ffn_up.weight"]
    reference.write(tmp_path / "m.gguf", TIED, tensors, "F32")
    assert "tensor blk.1.ffn_up.weight is missing or has another shape" in chat(program, tmp_path / "m.gguf", "--raw", "x").stderr


@pytest.mark.parametrize(
    "arguments, message",
    [(["--raw", "x" * 70], "the context of 64 tokens is full"), (["--context", "65", "--raw", "x"], "allowed is 2 to the model's 64"), (["--context", "1", "x"], "allowed is 2"), (["x"], "no chat template"), (["--raw", ""], "an empty text"),
     (["--tokens", "0", "x"], "allowed is a number"), (["--dtype", "i8", "x"], "allowed is f32"), (["--what", "x"], "unknown option"), (["--perplexity", "none"], "none cannot be read"),
     (["--temperature", "-1", "x"], "allowed is a number of at least 0"), (["--top-p", "0", "x"], "allowed is a number above 0, at most 1"),
     (["--min-p", "1.5", "x"], "at least 0, at most 1"), (["--repeat-penalty", "nan", "x"], "allowed is a number above 0"), (["--top-k", "-3", "x"], "from 0 on"),
     (["--seed", "x", "x"], "from 0 on"), (["--stop", "", "x"], "needs a value"), (["--drafts", "16", "--raw", "x"], "16 draft tokens; allowed is 0 to 15, with one slot"),
     (["--drafts", "2", "--repeat-penalty", "1.1", "--raw", "x"], "a repetition penalty is not supported with draft tokens"), (["--parallel", "65", "--raw", "x", "y"], "65 slots; allowed is 1 to 64")],
)  # fmt: skip
def test_bad_use(program, arguments, message, tmp_path):
    reference.write(tmp_path / "m.gguf", TIED, reference.weights(TIED, 8), "F32")
    done = chat(program, tmp_path / "m.gguf", *arguments)
    assert done.returncode in (1, 2) and message in done.stderr, done.stderr


def test_memory(program, tmp_path):
    """A model that needs more than is allowed is refused with what it needs: caches of 4 tensors of 32,768 entries and 2 heads of 16 floats."""
    m = dataclasses.replace(TIED, context=32768)
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 8), "F32")
    run = lambda megabytes: chat(program, tmp_path / "m.gguf", "--context", "32768", "--memory", str(megabytes), "--raw", "--ids", "x", "--tokens", "1")  # noqa: E731
    assert run(1000).returncode == 0
    done = run(10)
    found = re.search(r"the model needs (\d+) MB: 0 of weights, 16 of caches and (\d+) of workspace; 10 are allowed", done.stderr)
    assert done.returncode == 1 and 16 <= int(found[1]) <= 17 + int(found[2])


def test_memory_of_the_device(program, tmp_path):
    """Without --memory the limit is what the device has left: caches of 2^29 entries are 2 TB."""
    m = dataclasses.replace(TIED, context=1 << 29, layers=16)
    reference.write(tmp_path / "m.gguf", m, reference.weights(m, 8), "F32")
    done = chat(program, tmp_path / "m.gguf", "--context", str(1 << 29), "--raw", "--ids", "x")
    found = re.search(r"the model needs \d+ MB: 1 of weights, 2097152 of caches and \d+ of workspace; (\d+) are available", done.stderr)
    assert done.returncode == 1 and 0 < int(found[1]) < 2097152, done.stderr


def test_truncated_model(program, tmp_path):
    reference.write(tmp_path / "m.gguf", TIED, reference.weights(TIED, 9), "Q4_1")
    data = (tmp_path / "m.gguf").read_bytes()
    (tmp_path / "m.gguf").write_bytes(data[: len(data) - 1000])
    assert "truncated or damaged" in chat(program, tmp_path / "m.gguf", "--raw", "x").stderr


def test_answer_that_fills_the_context(program, tmp_path):
    tensors = reference.weights(LLAMA, 10)
    for end in ENDS:  # no answer ends before
        tensors["output.weight"][end] = 0
    reference.write(tmp_path / "m.gguf", LLAMA, tensors, "F32")
    assert len(ids_of(chat(program, tmp_path / "m.gguf", "--raw", "--ids", "--tokens", "100", "x" * 60))) == 5
