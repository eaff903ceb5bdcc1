"""Random numbers out of PyTorch (random_numbers in make_models.py) through `ind run`: they have the distributions that PyTorch's
documentation gives them. Which numbers come is a function of the seed, so that these tests are the same every time.

Of n numbers, continuous ones are held against their distribution function (Kolmogorov and Smirnov: the largest distance times
sqrt(n) is above BOUND once in 10^5 times), whole ones against their probabilities (chi-squared, in standard deviations).
"""

import math
import pathlib

import numpy as np
import pytest
from conftest import make
from test_export import run

HERE = pathlib.Path(__file__).parent
ROWS = 2000
BOUND = 2.47  # 2 exp(-2 BOUND^2) = 1e-5
DEVIATIONS = 5

erf = np.vectorize(math.erf)


def drawn(folder, seed, device):
    folder.mkdir()
    r = np.random.RandomState(5)
    inputs = {"x": r.randn(ROWS, 50).astype(np.float32), "p": (0.1 + 0.8 * r.rand(ROWS, 50)).astype(np.float32), "seed": np.array(seed)}
    done = run(make("build/ind"), HERE / "random_numbers.ind", HERE / "random_numbers.safetensors", inputs, folder, device)
    assert done.returncode == 0, done.stderr
    return inputs, {path.stem: np.load(path) for path in (folder / "out").glob("*.npy")}


@pytest.fixture(scope="module")
def numbers(tmp_path_factory, device):
    return drawn(tmp_path_factory.mktemp("random") / "a", 20240229, device)


def normal(mean, deviation):
    return (lambda v: (1 + erf((v - mean) / (deviation * math.sqrt(2)))) / 2), (-math.inf, math.inf), mean, deviation**2


def uniform(low, high):
    return (lambda v: (v - low) / (high - low)), (low, np.nextafter(high, low)), (low + high) / 2, (high - low) ** 2 / 12


def exponential(rate):
    return (lambda v: 1 - np.exp(-rate * v)), (5e-324, math.inf), 1 / rate, rate**-2


def log_normal(mean, deviation):
    of_log, s = normal(mean, deviation)[0], deviation**2
    return (lambda v: of_log(np.log(v))), (5e-324, math.inf), math.exp(mean + s / 2), (math.exp(s) - 1) * math.exp(2 * mean + s)


def cauchy(median, scale):
    return (lambda v: 0.5 + np.arctan((v - median) / scale) / math.pi), (-1e300, 1e300), None, None


CONTINUOUS = {  # name: distribution function, least and largest number, mean, variance
    "normal": normal(1.5, 0.5), "normal_of_both": normal(0, 1), "normal_of_mean": normal(0, 2), "normal_of_std": normal(0, 1),
    "normal_in_place": normal(-1, 3), "normal_f16": normal(0, 1), "normal_f64": normal(5, 0.25), "log_normal": log_normal(0.5, 0.25),
    "uniform": uniform(-2, 3), "uniform_f16": uniform(0, 1), "uniform_f64": uniform(1e6, 1e6 + 1e-3), "uniform_empty": uniform(0, 1),
    "exponential": exponential(2), "exponential_f64": exponential(1), "cauchy": cauchy(1, 2), "cauchy_f64": cauchy(0, 1),
    "random": uniform(0, 2.0**63), "random_f32": uniform(0, 2.0**24),
}


def equal(low, high):
    return {k: 1 / (high - low) for k in range(low, high)}


def trials(p):
    return {k: p * (1 - p) ** (k - 1) for k in range(1, 1 + math.ceil(math.log(1e-5) / math.log1p(-p)))}  # the rest counts as one


def coin(p):
    return {0: 1 - p, 1: p}


WHOLE = {  # name: the probability of each number
    "geometric": trials(0.3), "geometric_i64": trials(0.05), "bernoulli": coin(0.3), "bernoulli_i64": coin(0.75), "bernoulli_bool": coin(0.125),
    "randint": equal(0, 7), "randint_like": equal(0, 5), "randint_like_low": equal(2, 9), "randint_of_size": equal(0, ROWS), "random_to": equal(0, 10),
    "random_u8": equal(0, 256),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(numbers, name):
    below, (least, most), mean, variance = CONTINUOUS[name]
    found = numbers[1][name]
    v = np.sort(found.astype(np.float64).ravel())
    n = v.size
    assert n == ROWS * 50 and least <= v[0] and v[-1] <= most
    rank = np.arange(n + 1) / n
    step = 2.0**-10 if found.dtype == np.float16 else 0  # numbers of f16 stand for all that round to them
    distance = max(np.max(rank[1:] - below(v)), np.max(below(v) - rank[:-1]))
    assert distance * math.sqrt(n) < BOUND + step * math.sqrt(n)
    if mean is not None:
        assert abs(v.mean() - mean) < DEVIATIONS * math.sqrt(variance / n)
        spread = (v - mean) ** 2
        assert abs(spread.mean() - variance) < DEVIATIONS * spread.std() / math.sqrt(n)


@pytest.mark.parametrize("name", WHOLE)
def test_whole(numbers, name):
    probability, v = WHOLE[name], numbers[1][name].astype(np.float64).ravel()
    n = v.size
    assert n == ROWS * 50 and np.all(v == np.floor(v)) and v.min() >= min(probability)
    if not name.startswith("geometric"):
        assert v.max() <= max(probability)
    mean = sum(k * p for k, p in probability.items())
    variance = sum((k - mean) ** 2 * p for k, p in probability.items())
    assert abs(v.mean() - mean) < DEVIATIONS * math.sqrt(variance / n)
    likely = {k: n * p for k, p in probability.items() if n * p >= 5}
    counts = {k: np.count_nonzero(v == k) for k in likely}
    rest, expected = n - sum(counts.values()), n - sum(likely.values())
    chi = sum((counts[k] - e) ** 2 / e for k, e in likely.items()) + ((rest - expected) ** 2 / expected if expected > 1e-6 * n else 0)
    freedom = len(likely) - (expected <= 1e-6 * n)
    assert abs(chi - freedom) < DEVIATIONS * math.sqrt(2 * freedom) and (expected > 1e-6 * n or rest == 0)


@pytest.mark.parametrize("name", ("bernoulli_of", "bernoulli_of_row"))
def test_bernoulli_of_probabilities(numbers, name):
    p, v = numbers[0]["p"].astype(np.float64), numbers[1][name]
    p = p if name == "bernoulli_of" else np.broadcast_to(p[0], v.shape)
    assert set(np.unique(v)) == {0, 1}
    for chosen in (p < 0.3, p > 0.7, p > 0):
        count, expected = v[chosen].sum(), p[chosen].sum()
        assert abs(count - expected) < DEVIATIONS * math.sqrt((p * (1 - p))[chosen].sum())


def test_multinomial(numbers):
    w, v = numbers[0]["p"][0, :6].astype(np.float64), numbers[1]["multinomial"]
    assert v.dtype == np.int64 and v.shape == (4000,) and v.min() >= 0 and v.max() <= 5
    expected = 4000 * w / w.sum()
    assert np.sum((np.bincount(v, minlength=6) - expected) ** 2 / expected) < 5 + DEVIATIONS * math.sqrt(10)


def test_multinomial_without_replacement(numbers):
    w, v = numbers[0]["p"][:, :6].astype(np.float64), numbers[1]["multinomial_rows"]
    assert v.shape == (ROWS, 3) and v.min() >= 0 and v.max() <= 5 and all(len(set(row)) == 3 for row in v)
    chance = w / w.sum(1, keepdims=True)
    for k in range(6):  # the first of each row has the probabilities of the weights
        p = chance[:, k]
        assert abs(np.count_nonzero(v[:, 0] == k) - p.sum()) < DEVIATIONS * math.sqrt((p * (1 - p)).sum())


def test_every_output_is_tested(numbers):
    others = {"bernoulli_of", "bernoulli_of_row", "multinomial", "multinomial_rows"}
    assert set(numbers[1]) == {*CONTINUOUS, *WHOLE, *others}


def test_ops_are_independent(numbers):
    """Of ranks, as some have no variance."""
    ranks = {name: np.unique(v, return_inverse=True)[1].ravel() for name, v in numbers[1].items() if v.shape == (ROWS, 50)}
    found = np.corrcoef(np.array(list(ranks.values()), np.float64))
    np.fill_diagonal(found, 0)
    assert np.abs(found).max() < DEVIATIONS / math.sqrt(ROWS * 50)


def test_numbers_are_a_function_of_the_seed(numbers, tmp_path, device):
    again, other = drawn(tmp_path / "again", 20240229, device)[1], drawn(tmp_path / "other", 7, device)[1]
    assert all(np.array_equal(again[name], v) for name, v in numbers[1].items())
    assert not any(np.array_equal(other[name], v) for name, v in numbers[1].items())
