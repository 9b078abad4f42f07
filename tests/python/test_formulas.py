"""The formulas of python/examples.txt, which help() shows beside those in words, over random arguments.

`it` is the result or the object. A line of draws says how arguments are made: from this interval, or by this call.
"""
import inspect
import math
import pathlib
import re
import statistics as standard
import sys

import numpy
import pytest

import incontext

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import headers  # noqa: E402

SHOWN, ENTRIES = headers.shown(ROOT), headers.entries(ROOT)
ROOMS = ["apply", "baselines", "calibration", "classification", "laws", "regression", "scoring", "simulate",
         "statistics", "training"]
DRAWS, TOLERANCE = 6, 1e-9
depth = 0  # of integrals in integrals, whose nodes are one more axis each


def weighed(f, nodes, weights):
    global depth
    shape = (-1,) + (1,) * depth
    depth += 1
    try:
        values = f(nodes.reshape(shape)) * weights.reshape(shape)
        return values.sum(axis=0) if numpy.ndim(values) == depth else numpy.sum(values, axis=0)
    finally:
        depth -= 1


def integral(f, a=-math.inf, b=math.inf, nodes=321):
    """By the trapezoidal rule after a substitution: double exponential, and sinh on the whole line."""
    if a == -math.inf:
        t, h = numpy.linspace(-6.5, 6.5, 2 * nodes, retstep=True)
        return weighed(f, numpy.sinh(t), numpy.cosh(t) * h)
    t, h = numpy.linspace(-4.2, 4.2, nodes, retstep=True)
    inner, slope = numpy.pi / 2 * numpy.sinh(t), numpy.pi / 2 * numpy.cosh(t) * h
    if b == math.inf:
        return weighed(f, a + numpy.exp(inner), numpy.exp(inner) * slope)
    below = 1 / (1 + numpy.exp(-2 * inner))
    return weighed(f, a + (b - a) * below, (b - a) * 2 * below / (1 + numpy.exp(2 * inner)) * slope)


def normal_mean(f):
    """E f(g), g standard normal: Gauss and Legendre's rule, on panels of either sign."""
    x, w = numpy.polynomial.legendre.leggauss(16)
    panels = numpy.arange(-12.0, 12.0)[:, None]
    nodes = (panels + (x + 1) / 2).ravel()
    return weighed(f, nodes, numpy.tile(w / 2, len(panels)) * normal_pdf(nodes))


def sphere_mean(f, dimension):
    """E f(u . x) for a point u that is uniform on the sphere."""
    density = math.exp(math.lgamma(dimension / 2) - math.lgamma((dimension - 1) / 2)) / math.sqrt(math.pi)
    return density * integral(lambda a: numpy.sin(a) ** (dimension - 2) * f(numpy.cos(a)), 0, math.pi)


def normal_pdf(x):
    return numpy.exp(-numpy.square(x) / 2) / math.sqrt(2 * math.pi)


def root(f, low, high):
    """Where f changes its sign."""
    rises = f(high) > 0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if (f(middle) > 0) == rises else (middle, high)
    return middle


def argmin(f, low, high):
    """By golden sections."""
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(40):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if f(left) < f(right) else (left, high)
    return (low + high) / 2


def softmax(z):
    return numpy.exp(z - numpy.max(z)) / numpy.exp(z - numpy.max(z)).sum()


NAMES = {name: getattr(numpy, name) for name in dir(numpy) if not name.startswith("_")}
NAMES |= {name: getattr(numpy.linalg, name) for name in ("inv", "eigvals", "norm", "det")}
NAMES |= {name: numpy.vectorize(getattr(math, name)) for name in ("gamma", "lgamma", "erfc")}
NAMES |= {name: getattr(incontext, name) for name in ROOMS}
NAMES |= dict(integral=integral, normal_mean=normal_mean, sphere_mean=sphere_mean, normal_pdf=normal_pdf, root=root,
              normal_cdf=lambda x: NAMES["erfc"](-numpy.asarray(x) / math.sqrt(2)) / 2, argmin=argmin, softmax=softmax,
              normal_quantile=standard.NormalDist().inv_cdf, sum=numpy.sum, euler_gamma=numpy.euler_gamma)


class Random:
    """What the lines of draws in examples.txt call."""

    def __init__(self, seed):
        self.own = numpy.random.default_rng(seed)

    def number(self, low, high):
        if isinstance(low, int) and isinstance(high, int):
            return int(self.own.integers(low, high + 1))
        return float(self.own.uniform(low, high))

    def normal(self, *shape):
        return self.own.normal(size=shape)

    def covariance(self, dimension):
        half = self.normal(dimension, dimension)
        return half @ half.T / dimension + 0.3 * numpy.eye(dimension)

    def correlations(self, count):
        found = numpy.corrcoef(self.normal(count, 9))
        numpy.fill_diagonal(found, 1.0)
        return (found + found.T) / 2

    def task(self, dimension=3, mean=1.0):
        means, covariances = mean * self.normal(2, dimension), [self.covariance(dimension) for _ in range(2)]
        return incontext.regression.LinearTask(means[0], covariances[0], means[1], covariances[1], self.number(0.1, 1.0))

    def attention(self, dimension=3, value=1.0):
        key_query, input_value = self.normal(dimension, dimension), value * self.normal(dimension)
        return incontext.regression.Attention(key_query, input_value, self.number(0.5, 1.5))

    def context(self, dimension=3, classes=2, points=5):
        inputs = self.normal(points + 1, dimension)
        inputs /= numpy.linalg.norm(inputs, axis=1)[:, None]
        labels = [k % classes for k in range(points)]
        return incontext.classification.Context(inputs[:-1], labels, inputs[-1], classes)

    def prediction(self, dimension=3, classes=2):
        return incontext.classification.predict(self.normal(classes), self.normal(classes, dimension))


# how an argument is drawn where examples.txt does not say it
DRAWN = {
    "row_length": "(5, 60)", "noise_count": "(5, 60)", "context_length": "2 * random.number(3, 20)", "examples": "(5, 40)",
    "count": "(5, 40)",
    "dimension": "(3, 9)", "classes": "(2, 6)", "score_stddev": "(0.3, 2.0)", "noise_stddev": "(0.3, 2.0)", "gap": "(0.5, 4.0)",
    "inverse_temperature": "(0.5, 4.0)", "kappa": "(0.3, 3.0)", "learning_rate": "(0.3, 3.0)", "gain": "(0.3, 3.0)",
    "boundary_angle": "(0.1, 1.5)", "variance": "(0.2, 2.0)", "noise_variance": "(0.1, 1.0)", "task_variance": "(0.1, 1.0)",
    "score_variance": "(0.2, 2.0)", "separation": "(0.5, 3.0)", "temperature": "(0.5, 3.0)", "weight": "(0.2, 0.8)",
    "exponent_gap": "(0.5, 6.0)", "scale": "(0.2, 1.5)", "bias": "(-1.0, 1.0)", "alpha": "(1.1, 2.5)", "index": "(0.1, 0.9)",
    "attention": "random.attention()", "context": "random.context()", "scores": "random.normal(6)",
    "direction": "random.normal(6)", "cotangent": "random.normal(6)", "query": "'excluded'",
}


def drawn(text, random, names):
    found = eval(text, NAMES | names | {"random": random})
    if isinstance(found, tuple) and len(found) == 2 and all(isinstance(one, (int, float)) for one in found):
        return random.number(*found)
    return found


def target(name):
    found = incontext
    for part in name.split("::"):
        found = getattr(found, part)
    return found


def is_definition(left):
    return all(part.strip().isidentifier() for part in left.split(","))


def cases(name):
    """The sides of a name's formulas, over random arguments, with the formulas' numbers."""
    own = SHOWN[name]
    function, given = target(name), f" {own.draws}".partition(" within ")[0].strip()
    draws = dict(part.split(": ", 1) for part in given.split("; ") if part)
    parameters = inspect.signature(function).parameters.values()
    open_ones = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    passed = list(draws) if open_ones else [
        one.name for one in parameters if one.kind not in (one.VAR_KEYWORD, one.KEYWORD_ONLY) and one.name in draws
        or one.default is one.empty and " = " not in str(one.annotation) and one.kind is not one.VAR_KEYWORD]
    if isinstance(function, type):
        passed = [one.name for one in parameters if one.name in draws or one.name in DRAWN]
    called = [key for left, _ in own.formulas for key in re.findall(r"^\((.*)\)$", left)]  # what an object is called with
    draws = draws | {key: DRAWN[key] for key in ", ".join(called).split(", ") if key and key not in draws}
    for seed in range(DRAWS):
        random, names = Random(seed), {}
        for key in dict.fromkeys([*draws, *passed]):
            names[key] = drawn(draws.get(key) or DRAWN[key], random, names)
        arguments = [names[key] for key in passed]
        names["it"] = function(*arguments) if open_ones else function(**dict(zip(passed, arguments)))
        if isinstance(function, type):
            names = {field: getattr(names["it"], field) for field in getattr(function, "_fields", ())} | names
        space = NAMES | {"random": random} | names
        for position, (left, right) in enumerate(own.formulas):
            if is_definition(left):
                exec(f"{left} = {right}", space)
                continue
            left = "it" + left if left[:1] in ("", ".", "(", "[") else left
            yield position, eval(left, space), eval(right, space)


def distance(left, right):
    """Of the two sides, in parts of the larger."""
    left, right = (numpy.asarray(getattr(one, "value", one), float) for one in (left, right))
    assert left.shape == right.shape and numpy.isfinite(left).all(), (left, right)
    return numpy.abs(left - right).max(initial=0.0) / max(numpy.abs(left).max(initial=0.0), 1e-300)


def tolerance_of(name):
    return float(f" {SHOWN[name].draws}".partition(" within ")[2] or TOLERANCE)


@pytest.mark.parametrize("name", [name for name, own in SHOWN.items() if own.formulas])
def test_a_formula_is_the_function(name):
    tolerance = tolerance_of(name)
    seen = set()  # what rejects a formula that is wrong by ten tolerances
    with numpy.errstate(all="ignore"):
        for position, left, right in cases(name):
            assert distance(left, right) <= tolerance, f"{SHOWN[name].formulas[position][0]} = {left}, not {right}"
            if distance(left, numpy.asarray(right) * (1 + 10 * tolerance)) > tolerance:
                seen.add(position)
    assert seen == {k for k, (left, _) in enumerate(SHOWN[name].formulas) if not is_definition(left)}


def test_the_parabola_without_its_factor_is_refused(monkeypatch):
    """What its docstring once said, and a notebook, with another factor."""
    own = SHOWN["regression::InverseTemperatureParabola"]
    for factor in ("+ ", "- "):
        wrong = f"constant {factor}linear / temperature + quadratic / temperature**2"
        monkeypatch.setattr(own, "formulas", [("(temperature)", wrong)])
        assert all(distance(left, right) > 1e-3 for _, left, right in cases("regression::InverseTemperatureParabola"))


# names whose formula has no expression of its own, and where it is compared
EXCEPTIONS = {
    "baselines::SequenceMixers": "two recursions along the axes, against drawn sequences: tests/baselines/sequence_mixers.cpp",
    "baselines::momentum_risks": "five moments along the axes, against drawn sequences: tests/baselines/mixer_momentum.cpp",
    "baselines::diagonal_sgd": "a recursion of d^2 numbers, against drawn steps: tests/baselines/diagonal_sgd.cpp",
    "baselines::neighbor_mean_square": "two integrals: tests/baselines/neighbor_averages.cpp",
    "classification::adaptive_onset_ratio": "a limit of many means, against drawn points: tests/classification/adaptive_onset.cpp",
    "classification::cell_ratios": "estimates of draws: tests/classification/cell_ratios.cpp",
    "classification::circle_attention": "against drawn contexts: tests/classification/circle_attention.cpp",
    "laws::BoundedScores": "an expansion, of which ssmax_bounded_threshold has the terms",
    "laws::normsoftmax_gradient_sizes": "means over rows, against drawn layers: tests/laws/normsoftmax_gradient_sizes.cpp",
    "regression::Attention": "the places of the layer's matrices",
    "regression::HeadsError": "a parabola in the heads' values, against layers that are run: tests/regression/multihead_error.cpp",
    "regression::multihead_error": "means over pairs of rows, against layers that are run: tests/regression/multihead_error.cpp",
    "regression::LinearTask": "the law that data are drawn from",
    "scoring::JacobianNorms": "the expressions are those of jacobian_norms",
    "scoring::RowSummary": "the expressions are those of summary",
    "simulate::posterior_risk": "an estimate, beside baselines.bayes_risk in its example",
    "simulate::reduced_softmax_error": "an estimate, beside regression.softmax_error in its example",
    "simulate::regression_error": "an estimate, beside regression.generalization_error in its example",
    "statistics::Agreement": "the expressions are those of agree",
    "statistics::Control": "a z as that of agree",
    "training::GradientFlow": "a differential equation, which a step of training solves: tests/training/gradient_flow.cpp",
    "training::gradient_descent": "a step, whose denominator is 1 up to rounding: tests/training/gradient_flow.cpp",
}
NAMES_OF_ROOMS = [f"{room}::{name}" for room in ROOMS for name in dir(getattr(incontext, room))]


def test_a_name_whose_help_has_a_formula_has_an_expression():
    has_formula = {name for name in NAMES_OF_ROOMS if "$$" in (target(name).__doc__ or "")}
    assert len(has_formula) > 200
    without = {name for name in has_formula if name not in SHOWN or not SHOWN[name].formulas}
    assert without == EXCEPTIONS.keys()
    for reason in EXCEPTIONS.values():
        assert all((ROOT / file).exists() for file in re.findall(r"tests/\S+", reason)), reason


def test_an_expression_is_in_the_help():
    for name in (name for name, own in SHOWN.items() if own.formulas):
        assert SHOWN[name].text() in target(name).__doc__, name


@pytest.mark.parametrize("name", ["weights", "log_weights", "jvp", "vjp", "derivative"])
def test_a_text_of_one_map_begins_with_its_name(name):
    first, *rest = re.split(r"\n\n(?=[\w, ]+: [A-Z]\w+ )", getattr(incontext.scoring, name).__doc__)
    maps = {word for text in rest for word in text.partition(":")[0].split(", ")}
    assert "$$" not in first and maps <= {*dir(incontext.scoring)} and {"Softmax", "NormSoftmax"} <= maps


def test_the_help_of_a_function_names_no_parameter_of_cpp_alone():
    for name in NAMES_OF_ROOMS:
        if isinstance(target(name), type) or name not in ENTRIES:
            continue
        parameters = inspect.signature(target(name)).parameters
        cpp = {parameter for entry in ENTRIES[name] for parameter, _ in entry.parameters} - parameters.keys()
        assert "arguments" in parameters or not cpp & set(re.findall(r"`(\w+)`", target(name).__doc__)), name
