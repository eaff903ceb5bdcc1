"""examples/chat_template.h: the forms as the models' cards show them. Templates here are written anew: a form is recognised by its control tokens."""

import subprocess

import pytest

from conftest import make

LOOP = "{% for message in messages %}"
# Name, text of the template, what is written for a system message, "Hi", an answer and "You ". Control parts are in [[ ]].
FORMS = {
    "ChatML": (
        LOOP + "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n'}}",
        "[[<|im_start|>system\n]]Be.[[<|im_end|>\n]][[<|im_start|>user\n]] Hi[[<|im_end|>\n]][[<|im_start|>assistant\n]]<answer>"
        "[[<|im_end|>\n]][[<|im_start|>user\n]]You [[<|im_end|>\n]][[<|im_start|>assistant\n]]",
    ),
    "Llama 3": (
        LOOP + "{{'<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>'}}",
        "[[<|start_header_id|>system<|end_header_id|>\n\n]]Be.[[<|eot_id|>]][[<|start_header_id|>user<|end_header_id|>\n\n]]Hi[[<|eot_id|>]]"
        "[[<|start_header_id|>assistant<|end_header_id|>\n\n]]<answer>[[<|eot_id|>]][[<|start_header_id|>user<|end_header_id|>\n\n]]You[[<|eot_id|>]]"
        "[[<|start_header_id|>assistant<|end_header_id|>\n\n]]",
    ),
    "Gemma": (
        LOOP + "{{'<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n'}}",
        "[[<start_of_turn>user\n]]Be.[[\n\n]]Hi[[<end_of_turn>\n]][[<start_of_turn>model\n]]<answer>"
        "[[<end_of_turn>\n]][[<start_of_turn>user\n]]You[[<end_of_turn>\n]][[<start_of_turn>model\n]]",
    ),
    "Phi-3": (
        LOOP + "{% if message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n<|assistant|>\n'}}",
        "[[<|system|>\n]]Be.[[<|end|>\n]][[<|user|>\n]] Hi[[<|end|>\n]][[<|assistant|>\n]]<answer>[[<|end|>\n]][[<|user|>\n]]You [[<|end|>\n]][[<|assistant|>\n]]",
    ),
    "Phi-4-mini": (
        LOOP + "{{'<|' + message['role'] + '|>' + message['content'] + '<|end|>'}}{{'<|assistant|>'}}<|user|>",
        "[[<|system|>]]Be.[[<|end|>]][[<|user|>]] Hi[[<|end|>]][[<|assistant|>]]<answer>[[<|end|>]][[<|user|>]]You [[<|end|>]][[<|assistant|>]]",
    ),
    "Mistral": (
        LOOP + "{{'[INST] ' + message['content'] + ' [/INST]'}}",
        "[[[INST] ]]Be.[[\n\n]] Hi[[ [/INST]]]<answer>[[</s>]][[[INST] ]]You [[ [/INST]]]",
    ),
    "Mistral, Tekken": (
        LOOP + '[AVAILABLE_TOOLS]{{"[INST]" + message["content"] + "[/INST]"}}',
        "[[[INST]]]Be.[[\n\n]] Hi[[[/INST]]]<answer>[[</s>]][[[INST]]]You [[[/INST]]]",
    ),
    "Mistral, with a system prompt": (
        LOOP + "{{'[SYSTEM_PROMPT]' + message['content'] + '[/SYSTEM_PROMPT]'}}{{'[INST]' + message['content'] + '[/INST]'}}",
        "[[[SYSTEM_PROMPT]]]Be.[[[/SYSTEM_PROMPT]]][[[INST]]] Hi[[[/INST]]]<answer>[[</s>]][[[INST]]]You [[[/INST]]]",
    ),
}


def written(tmp_path, template, *arguments):
    program = make("build/tests/chat/template")
    (tmp_path / "t").write_text(template)
    done = subprocess.run([program, tmp_path / "t", *arguments], capture_output=True, text=True)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    return done.stdout.replace("\x02", "[[").replace("\x03", "]]") if done.returncode == 0 else None


@pytest.mark.parametrize("name", FORMS)
def test_form(name, tmp_path):
    template, want = FORMS[name]
    found = written(tmp_path, template, "Be.", " Hi", "You ")
    head, rest = found.split("\n", 1)
    assert head == name and rest.startswith(want)


@pytest.mark.parametrize("name", FORMS)
def test_a_part_that_is_refused_ends_the_message(name, tmp_path):
    """The program writes the message with room for 0, 1, 2 .. parts."""
    text = written(tmp_path, FORMS[name][0], "Be.", "Hi")
    assert text.count("]]") > 10


@pytest.mark.parametrize("text", ["", "{{ messages }}", "<|im_start", "{{'<|user|>' + content + '</s>'}}", "<s>[INST", "x" * 1000])
def test_unknown_form(text, tmp_path):
    assert written(tmp_path, text, "", "Hi") is None


@pytest.mark.parametrize("system, want", [("Be kind.", "Be kind."), ("0123456789abcdefgh", "0123456789abcde"), ("' + x", ""), ("{{ x }}", "")])
def test_default_system_message(system, want, tmp_path):
    """Of ChatML; it is cut to the buffer, of 16 bytes here. Code is none."""
    for line in ("\n", "\\n"):
        text = written(tmp_path, f"{{{{'<|im_start|>system{line}{system}<|im_end|>'}}}}", "-", "Hi")
        assert text.startswith(f"ChatML\n[[<|im_start|>system\n]]{want}[[" if want else "ChatML\n[[<|im_start|>user\n]]Hi")
