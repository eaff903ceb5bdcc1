"""decoder_reference.py against what transformers computes (make_decoder_losses.py)."""

import dataclasses
import json
import pathlib

import decoder_reference as reference
import numpy as np
import pytest

LOSSES = json.loads(pathlib.Path(__file__).with_name("decoder_losses.json").read_text())


def exact_losses(name, capacity=None):
    m = reference.MODELS[name]
    w = {k: x.astype(np.float64) for k, x in reference.weights(m, 1).items()}
    return reference.losses(m, w, list(reference.TEXT.encode())[:capacity], capacity)


@pytest.mark.parametrize("name", reference.MODELS)
def test_losses(name):
    """transformers computes angles, routers and softmax in float32."""
    assert np.abs(exact_losses(name) - LOSSES[name]).max() < 1e-4


def test_short_factors():
    assert np.abs(exact_losses("phi3, LongRoPE", reference.SHORT) - LOSSES["phi3, LongRoPE, short"]).max() < 1e-4


@pytest.mark.parametrize("name", [n for n, m in reference.MODELS.items() if m.scaling or m.window or m.cap])
def test_a_property_that_is_left_out_is_seen(name):
    """The texts are long enough for windows, and angles large enough for scalings."""
    m = dataclasses.replace(reference.MODELS[name], scaling=(), window=0, cap=0)
    w = {k: x.astype(np.float64) for k, x in reference.weights(reference.MODELS[name], 1).items()}
    assert np.abs(reference.losses(m, w, list(reference.TEXT.encode())) - LOSSES[name]).max() > 1e-2
