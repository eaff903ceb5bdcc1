"""examples/hf_model.h: small random models in directories as transformers saves them, against the same computation in NumPy; messages for damaged and
unsupported ones."""

import dataclasses
import json
import math
import random
import re
import shutil
import struct
import subprocess

import decoder_reference as reference
import numpy as np
import pytest

from conftest import make
from test_chat import CHATML, LOSSES, chat, ids_of, is_greedy

TEXT = "The quick brown fox; 12 jumps."
NAMES = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}  # fmt: skip
WHOLE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}


@pytest.fixture(scope="module")
def program(device):
    if device != "host":
        pytest.skip("runs with make test")
    return make("build/chat")


def hf_name(name):
    if name in WHOLE:
        return WHOLE[name]
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{NAMES[part]}.{kind}"


def half_order(x, heads):
    """Rows of queries and keys, whose features 2i and 2i + 1 GGUF's llama rotates together, in transformers' order: i and i + half."""
    return x.reshape(heads, reference.HEAD // 2, 2, -1).swapaxes(1, 2).reshape(x.shape)


def save(path, tensors, dtype):
    """A .safetensors file."""
    header, data = {}, b""
    for name, x in tensors.items():
        bits = x.astype(np.float32).view(np.uint32)
        raw = {"F32": lambda: x.astype(np.float32), "F16": lambda: x.astype(np.float16), "BF16": lambda: (bits >> 16).astype(np.uint16)}[dtype]().tobytes()  # noqa: B023
        header[name] = {"dtype": dtype, "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def rounded(x, dtype):
    """What a file of this type has of x. BF16 is cut off here."""
    if dtype == "F16":
        return x.astype(np.float16).astype(np.float32)
    return (x.view(np.uint32) & 0xFFFF0000).view(np.float32) if dtype == "BF16" else x


def config_of(m):
    found = {"model_type": {"llama": "mistral" if m.window else "llama"}.get(m.architecture, m.architecture), "num_hidden_layers": m.layers,
             "hidden_size": reference.WIDTH, "intermediate_size": reference.FFN, "num_attention_heads": reference.HEADS,
             "num_key_value_heads": reference.KV_HEADS, "head_dim": reference.HEAD, "max_position_embeddings": m.context,
             "rms_norm_eps": reference.EPSILON, "rope_theta": m.base, "hidden_act": "silu", "eos_token_id": [258, 256], "bos_token_id": 256}  # fmt: skip
    if m.window:
        found["sliding_window"] = m.window
    if m.scaling[:1] == ("linear",):
        found["rope_scaling"] = {"type": "linear", "factor": m.scaling[1]}
    if m.scaling[:1] == ("yarn",):
        found["rope_scaling"] = {"rope_type": "yarn", "factor": m.scaling[1], "original_max_position_embeddings": m.scaling[2]}
    return found


def tokenizer_json():
    tokens = [*reference.byte_tokens(), "<|endoftext|>", "<|im_start|>", "<|im_end|>", "ab"]
    special = [{"id": i, "content": tokens[i], "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for i in (256, 257, 258)]
    return {"version": "1.0", "added_tokens": special, "normalizer": None, "post_processor": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)}, "merges": ["a b"]}}  # fmt: skip


def write(path, m, tensors, dtype="F32", shards=1, config=None):
    """Writes the directory; returns the tensors as the files have them, in float64, with the names and the order of GGUF."""
    path.mkdir(exist_ok=True)
    read = {name: rounded(x, dtype).astype(np.float64) for name, x in tensors.items() if name != "rope_freqs.weight"}
    rows = {"attn_q.": reference.HEADS, "attn_k.": reference.KV_HEADS} if m.architecture == "llama" else {}
    named = {hf_name(n): next((half_order(x, heads) for part, heads in rows.items() if part in n), x) for n, x in read.items()}
    names = list(named)
    for i in range(shards):
        file = "model.safetensors" if shards == 1 else f"model-{i + 1:05}-of-{shards:05}.safetensors"
        save(path / file, {n: named[n].astype(np.float32) for n in names[i::shards]}, dtype)
    if shards > 1:
        where = {n: f"model-{k % shards + 1:05}-of-{shards:05}.safetensors" for k, n in enumerate(names)}
        (path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    (path / "config.json").write_text(json.dumps(config_of(m) | (config or {})))
    (path / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
    return read | {n: x.astype(np.float64) for n, x in tensors.items() if n == "rope_freqs.weight"}


def loss(done):
    assert done.returncode == 0, done.stderr
    return math.log(float(re.search(r"perplexity (\S+)", done.stdout + done.stderr)[1]))


@pytest.mark.parametrize("name", ["llama", "llama, linear scaling", "llama, YaRN", "mistral", "qwen2", "qwen2, YaRN", "qwen3"])
def test_models(program, name, tmp_path):
    """The losses are those of transformers, and the answer is that of NumPy."""
    m = reference.MODELS[name]
    w = write(tmp_path / "m", m, reference.weights(m, 1))
    (tmp_path / "t.txt").write_text(reference.TEXT)
    assert abs(loss(chat(program, tmp_path / "m", "--perplexity", tmp_path / "t.txt")) - np.mean(LOSSES[name])) < 1e-4
    answer = ids_of(chat(program, tmp_path / "m", "--raw", "--ids", "--tokens", "24", TEXT))
    assert len(answer) > 1 and is_greedy(m, w, list(TEXT.encode()), answer)


@pytest.mark.parametrize("dtype, shards", [("BF16", 1), ("F16", 3), ("F32", 2)])
def test_files(program, dtype, shards, tmp_path):
    """16-bit weights, and several files with an index."""
    m = reference.MODELS["qwen3"]
    w = write(tmp_path / "m", m, reference.weights(m, 1), dtype, shards)
    answer = ids_of(chat(program, tmp_path / "m", "--raw", "--ids", "--tokens", "24", TEXT))
    assert len(answer) > 1 and is_greedy(m, w, list(TEXT.encode()), answer)


@pytest.mark.parametrize("settings, window", [({"use_sliding_window": True}, 0), ({"use_sliding_window": True, "max_window_layers": 0}, 20), ({"max_window_layers": 0}, 0),
                                              ({"use_sliding_window": True, "layer_types": ["sliding_attention"] * 2}, 20),
                                              ({"use_sliding_window": True, "max_window_layers": 0, "layer_types": ["full_attention"] * 2}, 0)])  # fmt: skip
def test_windows_of_qwen(program, settings, window, tmp_path):
    """The first max_window_layers layers, 28 if it is not given, have no window; layer_types decides if it is there."""
    m = dataclasses.replace(reference.MODELS["qwen2"], window=window)
    w = write(tmp_path / "m", m, reference.weights(m, 1), config={"sliding_window": 20} | settings)
    (tmp_path / "t.txt").write_text(reference.TEXT)
    want = [np.mean(reference.losses(dataclasses.replace(m, window=x), w, list(reference.TEXT.encode()))) for x in (window, 20 - window)]
    found = loss(chat(program, tmp_path / "m", "--perplexity", tmp_path / "t.txt"))
    assert abs(found - want[0]) < 1e-4 < 1e-3 < abs(found - want[1])


@pytest.mark.parametrize("tied", [True, False])
def test_tied_weights(program, tied, tmp_path):
    """A weight of the output beside tie_word_embeddings is not used."""
    m = dataclasses.replace(reference.MODELS["qwen2"], tied=False)
    w = write(tmp_path / "m", m, reference.weights(m, 1), config={"tie_word_embeddings": tied})
    if tied:
        del w["output.weight"]
    (tmp_path / "t.txt").write_text(reference.TEXT)
    assert abs(loss(chat(program, tmp_path / "m", "--perplexity", tmp_path / "t.txt")) - np.mean(reference.losses(m, w, list(reference.TEXT.encode())))) < 1e-4


def test_llama3_angles(program, tmp_path):
    """Frequencies as in Llama 3.1's reference code: wavelengths below a limit are kept, those above another are divided, those between are mixed."""
    factor, low, high, original = 8.0, 1.0, 4.0, 32
    f = 10000.0 ** (-2 * np.arange(reference.HEAD // 2) / reference.HEAD)
    scaled = []
    for x in f:
        wavelength = 2 * math.pi / x
        smooth = (original / wavelength - low) / (high - low)
        scaled.append(x if wavelength < original / high else x / factor if wavelength > original / low else (1 - smooth) * x / factor + smooth * x)
    assert scaled[0] == f[0] and scaled[-1] == f[-1] / factor and any(x / factor < s < x for s, x in zip(scaled, f, strict=True))
    m = dataclasses.replace(reference.MODELS["llama"], scaling=("divided",))
    tensors = reference.weights(m, 1) | {"rope_freqs.weight": (f / np.array(scaled)).astype(np.float32)}
    scaling = {"rope_type": "llama3", "factor": factor, "low_freq_factor": low, "high_freq_factor": high, "original_max_position_embeddings": original}
    w = write(tmp_path / "m", m, tensors, config={"rope_scaling": scaling})
    (tmp_path / "t.txt").write_text(reference.TEXT)
    want = np.mean(reference.losses(m, w, list(reference.TEXT.encode())))
    assert abs(loss(chat(program, tmp_path / "m", "--perplexity", tmp_path / "t.txt")) - want) < 1e-4
    (tmp_path / "m" / "config.json").write_text(json.dumps(config_of(m)))
    assert abs(loss(chat(program, tmp_path / "m", "--perplexity", tmp_path / "t.txt")) - want) > 1e-3


def test_chat_template(program, tmp_path):
    """The template of tokenizer_config.json, alone or in a list, or of a file: the answer is that of the GGUF file with this template."""
    m = reference.MODELS["qwen2"]
    tensors = reference.weights(m, 5)
    reference.write(tmp_path / "m.gguf", m, tensors, "F32", template=CHATML)
    want = ids_of(chat(program, tmp_path / "m.gguf", "--ids", "--tokens", "8", "Hi"))
    write(tmp_path / "m", m, tensors)
    run = lambda: chat(program, tmp_path / "m", "--ids", "--tokens", "8", "Hi")  # noqa: E731
    assert run().returncode == 1 and "no chat template" in run().stderr
    (tmp_path / "m" / "chat_template.jinja").write_text(CHATML)
    assert ids_of(run()) == want
    (tmp_path / "m" / "tokenizer_config.json").write_text(json.dumps({"chat_template": "other"}))
    assert ids_of(run()) == want
    (tmp_path / "m" / "chat_template.jinja").unlink()
    assert "none of the known forms" in run().stderr
    for template in (CHATML, [{"name": "tool_use", "template": "other"}, {"name": "default", "template": CHATML}]):
        (tmp_path / "m" / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
        assert ids_of(run()) == want


@pytest.mark.parametrize("settings, post_processor, first", [({}, None, 0), ({"add_bos_token": True}, None, 1), ({}, {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|endoftext|>"}}]}, 1),
                                                             ({"add_bos_token": False}, {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|endoftext|>"}}]}, 0)])  # fmt: skip
def test_first_token(program, settings, post_processor, first, tmp_path):
    """A text begins with bos where the tokenizer's settings or its last step say so."""
    m = reference.MODELS["qwen2"]
    w = write(tmp_path / "m", m, reference.weights(m, 1))
    (tmp_path / "m" / "tokenizer.json").write_text(json.dumps(tokenizer_json() | {"post_processor": post_processor}))
    (tmp_path / "m" / "tokenizer_config.json").write_text(json.dumps(settings))
    answer = ids_of(chat(program, tmp_path / "m", "--raw", "--ids", "--tokens", "12", TEXT))
    prompts = [list(TEXT.encode()), [256, *TEXT.encode()]]
    assert is_greedy(m, w, prompts[first], answer) and not is_greedy(m, w, prompts[1 - first], answer)


SPOILED = [
    ("config.json", lambda c: c | {"model_type": "gpt2"}, "model type gpt2 is not supported; llama, mistral, qwen2 and qwen3 are"),
    ("config.json", lambda c: {k: v for k, v in c.items() if k != "model_type"}, "model type none is not supported"),
    ("config.json", lambda c: c | {"hidden_act": "gelu"}, "its activation is not silu"),
    ("config.json", lambda c: c | {"quantization_config": {"bits": 4}}, "quantised weights are not supported"),
    ("config.json", lambda c: c | {"rope_scaling": {"rope_type": "dynamic", "factor": 2}}, "rope scaling dynamic is not supported; linear, yarn and llama3 are"),
    ("config.json", lambda c: c | {"rope_scaling": {"rope_type": "llama3", "factor": 2}}, "Llama 3's rope scaling is incomplete"),
    ("config.json", lambda c: c | {"rope_scaling": {"rope_type": "yarn"}}, "rope scaling has no factor"),
    ("config.json", lambda c: c | {"rope_scaling": {"rope_type": "yarn", "factor": 2, "truncate": False}}, "rope scaling without truncation is not supported"),
    ("config.json", lambda c: c | {"rope_scaling": {"rope_type": "yarn", "factor": 2, "mscale": 1}}, "mscale of rope scaling is not supported"),
    ("config.json", lambda c: c | {"rope_scaling": "yarn"}, "its rope scaling is no object"),
    ("config.json", lambda c: c | {"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor is not supported"),
    ("config.json", lambda c: c | {"rope_theta": "1e4"}, '"rope_theta" is no number'),
    ("config.json", lambda c: c | {"rms_norm_eps": [1]}, '"rms_norm_eps" is no number'),
    ("config.json", lambda c: c | {"head_dim": 16.5}, "heads of 16.5 features"),
    ("config.json", lambda c: c | {"tie_word_embeddings": False}, "it has no lm_head.weight, and tie_word_embeddings is false"),
    ("config.json", lambda c: c | {"model_type": "a\nb\x1bc"}, "model type a?b?c is not supported"),
    ("config.json", lambda c: c | {"use_sliding_window": True, "max_window_layers": 1}, "sliding windows of 1 layers of 2 are not supported"),
    ("config.json", lambda c: c | {"partial_rotary_factor": 0.5}, "partial_rotary_factor is not supported"),
    ("config.json", lambda c: c | {"layer_types": ["full_attention", "chunked_attention"]}, "layers of type chunked_attention are not supported"),
    ("config.json", lambda c: {k: v for k, v in c.items() if k != "hidden_size"}, 'it has no "hidden_size"'),
    ("config.json", lambda c: c | {"num_hidden_layers": 1.5}, '"num_hidden_layers" is no integer'),
    ("config.json", lambda c: c | {"num_hidden_layers": 3}, "tensor blk.2."),
    ("config.json", lambda c: c | {"num_attention_heads": 0}, "is missing or not an integer from 1"),
    ("config.json", lambda c: [], "is no object"),
    ("tokenizer.json", lambda c: {}, "it has no model"),
]


@pytest.mark.parametrize("file, change, message", SPOILED, ids=[m[:40] for _, _, m in SPOILED])
def test_refused(program, file, change, message, tmp_path):
    m = reference.MODELS["qwen2"]
    write(tmp_path / "m", m, reference.weights(m, 1))
    path = tmp_path / "m" / file
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    done = chat(program, tmp_path / "m", "--raw", "x")
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") <= 2, done.stderr


def test_refused_tensors(program, tmp_path):
    m = reference.MODELS["qwen2"]
    tensors = reference.weights(m, 1)
    write(tmp_path / "m", m, tensors)
    named = {hf_name(n): x for n, x in tensors.items()}
    run = lambda: chat(program, tmp_path / "m", "--raw", "--ids", "x")  # noqa: E731
    save(tmp_path / "m" / "model.safetensors", named | {"model.layers.0.other.weight": np.zeros((2, 2))}, "F32")
    assert "tensor model.layers.0.other.weight is not known" in run().stderr
    save(tmp_path / "m" / "model.safetensors", named | {"model.layers.0.input_layernorm.bias": np.zeros(64)}, "F32")
    assert "tensor model.layers.0.input_layernorm.bias is not known" in run().stderr
    save(tmp_path / "m" / "model.safetensors", named | {"model.layers.0.rotary_emb.inv_freq": np.zeros(8)}, "F32")
    assert run().returncode == 0
    save(tmp_path / "m" / "model.safetensors", named | {"model.norm.weight": np.zeros((2, 2, 2))}, "F32")
    assert "is F32 of 3 dimensions; F32, F16 and BF16 of 1 or 2 are supported" in run().stderr
    header = json.dumps({"model.norm.weight": {"dtype": "F32", "shape": [0, 9000000000000000000], "data_offsets": [0, 0]}}).encode()
    (tmp_path / "m" / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    assert "tensor model.norm.weight is empty" in run().stderr
    save(tmp_path / "m" / "model.safetensors", named, "F32")
    shutil.copy(tmp_path / "m" / "model.safetensors", tmp_path / "m" / "a.safetensors")
    for index, message in (({}, "it has no weight_map"), ({"weight_map": {"a": "../m/a.safetensors"}}, "a value of weight_map is no name of a file"),
                           ({"weight_map": {"a": 1}}, "a value of weight_map is no name of a file"), ({"weight_map": {"a": "none"}}, "none: cannot be opened")):  # fmt: skip
        (tmp_path / "m" / "model.safetensors.index.json").write_text(json.dumps(index))
        assert message in run().stderr, run().stderr
    (tmp_path / "m" / "model.safetensors.index.json").unlink()
    (tmp_path / "m" / "model.safetensors").unlink()
    assert "model.safetensors: cannot be opened" in run().stderr
    (tmp_path / "m" / "tokenizer.json").unlink()
    assert "tokenizer.json: cannot be opened" in run().stderr


@pytest.fixture(scope="module")
def checked(program):
    """Opens a directory with AddressSanitizer and UndefinedBehaviorSanitizer."""
    return make("build/tests/chat/hf_model")


def opened(checked, path, *arguments):
    done = subprocess.run([checked, path, *arguments], capture_output=True, timeout=60)
    assert done.returncode in (0, 1) and (done.returncode or not done.stderr) and done.stderr.count(b"\n") <= 1, done.stderr.decode(errors="replace")
    return done


def test_damaged(checked, tmp_path):
    """Files that end early, or have other bytes: the model or one line."""
    m = dataclasses.replace(reference.MODELS["llama"], layers=1)
    write(tmp_path / "m", m, reference.weights(m, 1), config={"rope_scaling": {"rope_type": "llama3", "factor": 2, "low_freq_factor": 1, "high_freq_factor": 2, "original_max_position_embeddings": 9}})  # fmt: skip
    (tmp_path / "m" / "tokenizer_config.json").write_text(json.dumps({"chat_template": [{"name": "default", "template": CHATML}], "add_bos_token": True}))
    assert b"tensors" in opened(checked, tmp_path / "m").stdout
    rng, refused = random.Random(1), 0
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        path = tmp_path / "m" / file
        whole = path.read_bytes()
        for i in range(40):
            at = rng.randrange(min(len(whole), 3000))
            path.write_bytes(whole[:at] if i % 4 == 0 else whole[:at] + bytes([rng.choice(b'"{}[],:0919.-e\\/ntf\x00\xff')]) + whole[at + 1 :])
            refused += opened(checked, tmp_path / "m").returncode
        path.write_bytes(whole)
    assert refused > 40


def test_refused_allocations(checked, tmp_path):
    """Each allocation in turn: a message, and nothing is left."""
    m = dataclasses.replace(reference.MODELS["qwen3"], layers=1)
    write(tmp_path / "m", m, reference.weights(m, 1), shards=2)
    num = int(re.search(rb"(\d+) allocations", opened(checked, tmp_path / "m").stdout)[1])
    assert num > 50
    for i in range(num):
        assert opened(checked, tmp_path / "m", str(i)).returncode == 1, i
