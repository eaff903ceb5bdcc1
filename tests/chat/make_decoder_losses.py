"""Writes decoder_losses.json: what transformers computes for the models of decoder_reference.py, in float64. For each: -log of the probability of every
byte of decoder_reference.TEXT after the first.

pip install torch==2.11.0 transformers==5.17.0 gguf==0.19.0 && python tests/chat/make_decoder_losses.py"""

import json
import pathlib

import decoder_reference as reference
import gguf
import numpy as np
import torch
import transformers

CLASSES = {
    "llama": (transformers.LlamaForCausalLM, transformers.LlamaConfig, "LLAMA"),
    "mistral": (transformers.MistralForCausalLM, transformers.MistralConfig, "LLAMA"),
    "qwen2": (transformers.Qwen2ForCausalLM, transformers.Qwen2Config, "QWEN2"),
    "qwen3": (transformers.Qwen3ForCausalLM, transformers.Qwen3Config, "QWEN3"),
    "qwen3moe": (transformers.Qwen3MoeForCausalLM, transformers.Qwen3MoeConfig, "QWEN3MOE"),
    "olmoe": (transformers.OlmoeForCausalLM, transformers.OlmoeConfig, "OLMOE"),
    "gemma2": (transformers.Gemma2ForCausalLM, transformers.Gemma2Config, "GEMMA2"),
    "gemma3": (transformers.Gemma3ForCausalLM, transformers.Gemma3TextConfig, "GEMMA3"),
    "phi3": (transformers.Phi3ForCausalLM, transformers.Phi3Config, "PHI3"),
}


def rope(m):
    found = {"rope_type": "default", "rope_theta": m.base, "partial_rotary_factor": m.rotary / reference.HEAD}
    match m.scaling:
        case ("linear", factor):
            found |= {"rope_type": "linear", "factor": factor}
        case ("yarn", factor, original):
            found |= {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original}
        case ("longrope", original, factor):
            d = reference.divisors(m)
            found |= {"rope_type": "longrope", "original_max_position_embeddings": original, "attention_factor": factor}
            found |= {f"{k}_factor": d[f"rope_factors_{k}.weight"].astype(float).tolist() for k in ("short", "long")}
    if m.architecture == "gemma3":
        found.pop("partial_rotary_factor")
        return {"full_attention": found, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
    return found


def config(kind, m):
    c = {
        "vocab_size": reference.VOCABULARY, "hidden_size": reference.WIDTH, "num_hidden_layers": m.layers, "num_attention_heads": reference.HEADS,
        "num_key_value_heads": reference.KV_HEADS, "intermediate_size": reference.FFN, "max_position_embeddings": m.context,
        "rms_norm_eps": reference.EPSILON, "tie_word_embeddings": m.tied, "rope_parameters": rope(m), "pad_token_id": 0, "eos_token_id": 1,
        "attn_implementation": "eager", "experts_implementation": "eager",
    }  # fmt: skip
    if kind not in ("olmoe", "phi3"):
        c["head_dim"] = reference.HEAD
    if m.scaling[:1] == ("longrope",):
        c["original_max_position_embeddings"] = m.scaling[1]
    if kind in ("mistral", "phi3", "gemma2", "gemma3"):
        c["sliding_window"] = m.window or None
    if m.is_gemma:
        c |= {"layer_types": ["sliding_attention" if m.slides(i) else "full_attention" for i in range(m.layers)]}
        c |= {"attn_logit_softcapping": m.cap or None, "final_logit_softcapping": m.logit_cap or None, "query_pre_attn_scalar": round(m.scale**-2)}
    if m.has_experts:
        c |= {"num_experts": reference.EXPERTS, "num_experts_per_tok": reference.USED, "norm_topk_prob": m.architecture == "qwen3moe"}
        c |= {"intermediate_size" if kind == "olmoe" else "moe_intermediate_size": reference.EXPERT_FFN}
    return c


def interleaved(x):
    """llama.cpp's order of the rows of queries and keys: features i and i + HEAD / 2 of a head become 2i and 2i + 1. This is the way back."""
    heads = x.reshape(-1, reference.HEAD // 2, 2, x.shape[-1])
    return heads.swapaxes(1, 2).reshape(x.shape)


def value(m, w, gguf_name, key):
    """The tensor of the file as transformers has it."""
    x = w[gguf_name + (".bias" if key.endswith(".bias") else ".weight")].astype(np.float64)
    if m.architecture == "llama" and key.endswith(("q_proj.weight", "k_proj.weight")):
        return interleaved(x)
    return x - 1 if m.is_gemma and "norm" in key else x


def load(model, m, w, arch):
    names = gguf.get_tensor_name_map(arch, m.layers)
    state = {}
    for key in model.state_dict():
        if key.endswith("experts.gate_up_proj"):
            b = f"blk.{key.split('.')[2]}.ffn_"
            x = np.concatenate([w[f"{b}{n}_exps.weight"] for n in ("gate", "up")], axis=1)
        elif key == "lm_head.weight":
            x = w["token_embd.weight" if m.tied else "output.weight"]
        else:
            x = value(m, w, names.get_name(key.removesuffix(".weight").removesuffix(".bias")), key)
        state[key] = torch.tensor(x.astype(np.float64))
    model.load_state_dict(state)


def set_divisors(model, m):
    if m.scaling == ("divided",):
        r = model.model.rotary_emb
        r.inv_freq = r.inv_freq / torch.tensor(reference.divisors(m)["rope_freqs.weight"].astype(np.float64))


def losses(name, m, tokens):
    kind = next(k for k in sorted(CLASSES, key=len, reverse=True) if name.startswith(k))
    cls, config_cls, arch = CLASSES[kind]
    model = cls(config_cls(**config(kind, m))).double().eval()
    load(model, m, reference.weights(m, 1), gguf.MODEL_ARCH[arch])
    set_divisors(model, m)
    with torch.no_grad():
        y = model(torch.tensor([tokens])).logits[0, :-1].double()
    p = torch.log_softmax(y, -1)
    return [-p[i, t].item() for i, t in enumerate(tokens[1:])]


if __name__ == "__main__":
    tokens = list(reference.TEXT.encode())
    found = {name: losses(name, m, tokens) for name, m in reference.MODELS.items()}
    found["phi3, LongRoPE, short"] = losses("phi3", reference.MODELS["phi3, LongRoPE"], tokens[: reference.SHORT])
    rows = [f"{json.dumps(name)}: {json.dumps([round(x, 6) for x in row])}" for name, row in found.items()]
    pathlib.Path(__file__).with_name("decoder_losses.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")
