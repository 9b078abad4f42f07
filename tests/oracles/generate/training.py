#!/usr/bin/env python3
"""Reference values of gradients of an attention layer and of the papers' tasks: kinds of tests/oracles/scoring.json.

    python3 tests/oracles/generate/training.py [--kinds layer_gradients,...] [--write]

Compares what it computes with the file, or writes it. A gradient is a central difference of the loss <G, output> by
every entry of the layer's three matrices, at 50 digits; the tasks are those of docs/theory/training.md.
"""

import re

import mpmath as mp

from common import derivative, matrix, rows_of, run, softmax
from scoring import approximate_weights, normsoftmax_weights, ssa_score


def map_of(case):
    """The map from a row of raw scores to weights that a case names."""
    tau, mode = mp.mpf(case["tau"]), case["mode"]
    named = {name: mp.mpf(value) for name, value in re.findall(r"(\w+)=([\d.]+)", case["params"])}
    if mode == "softmax":
        return lambda z: softmax([x / tau for x in z])
    if mode == "approx_softmax":
        return lambda z: approximate_weights(z, tau)
    if mode == "ssmax":
        return lambda z: softmax([named["s"] * mp.log(len(z)) * x / tau for x in z])
    if mode == "ssa":
        return lambda z: softmax([ssa_score(x / tau, named["b"], named["n_exp"]) for x in z])
    return lambda z: normsoftmax_weights(z, named["tau"], "pop")


def layer(case, query, key, value):
    """Weights and outputs of attention on tokens X for queries Xq."""
    tokens, queries, weigh = matrix(case["X"]), matrix(case["Xq"]), map_of(case)
    scores = queries * query * (tokens * key).T
    weights = mp.matrix([weigh(row) for row in rows_of(scores)])
    return weights, weights * tokens * value


def layer_gradients(case):
    parameters = [matrix(case[name]) for name in ("WQ", "WK", "WV")]
    upstream = matrix(case["G"])
    gradients = []
    for which, parameter in enumerate(parameters):
        gradient = mp.zeros(parameter.rows, parameter.cols)
        for i in range(parameter.rows):
            for j in range(parameter.cols):

                def loss(entry):
                    changed = [p.copy() for p in parameters]
                    changed[which][i, j] = entry
                    output = layer(case, *changed)[1]
                    return mp.fsum(a * b for a, b in zip(output, upstream))

                gradient[i, j] = derivative(loss, parameter[i, j])
        gradients.append(gradient)
    weights, output = layer(case, *parameters)
    return {
        "weights": rows_of(weights),
        "out": rows_of(output),
        **{name: rows_of(gradient) for name, gradient in zip(("dWQ", "dWK", "dWV"), gradients)},
        "fro": [mp.sqrt(mp.fsum(x**2 for x in gradient)) for gradient in gradients],
        "l1": [mp.fsum(abs(x) for x in gradient) for gradient in gradients],
    }


def affine_task(case):
    """y = a x + b with normal a, b of deviation sigma_F and normal x of deviation sigma_I."""
    inputs, slope, bound = (mp.mpf(case[name]) for name in ("sigma_I", "sigma_F", "clip_B"))
    points = [0, 0.5, 1, 2, 3, 4, 6, 8, 12, 16]
    over_inputs = lambda f: 2 * mp.quad(lambda g: mp.npdf(g) * f(inputs * g), points)

    def clipped(x):
        """E (|y| - bound)_+^2, y of this deviation."""
        deviation = slope * mp.sqrt(1 + x**2)
        t = bound / deviation
        return 2 * ((deviation**2 + bound**2) * mp.ncdf(-t) - bound * deviation * mp.npdf(t))

    inverse = mp.sqrt(mp.pi / 2) / inputs * mp.exp(1 / (2 * inputs**2)) * mp.erfc(1 / (mp.sqrt(2) * inputs))
    with mp.workdps(35):
        clip_error = over_inputs(clipped)
    return {
        "bayes_mse_0_examples": slope**2 * (1 + inputs**2),
        "bayes_mse_1_example": slope**2 * (1 + (inputs**2 - 1) * inverse),
        "bayes_mse_2_examples": 0,
        "zero_predictor_eq2_Np40": slope**2 * (1 + inputs**2) * 38 / 40,
        "clip_mse": clip_error,
        "E_inv_1_plus_x2": inverse,
    }


def quantifier_task(case):
    length = case["length"]
    all_true = mp.mpf(2) ** -length
    return {
        "P_every": all_true,
        "P_some": 1 - all_true,
        "sign_of_last_error_every": mp.mpf(1) / 2 - all_true,
        "sign_of_max_error_every": 1 - 2 * all_true,
        "mean_error_constant_false_every_prefixes": (1 - all_true) / length,
        "sequence_error_constant_false_from_4th": mp.mpf(1) / 16 if length >= 4 else mp.mpf(0),
    }


def reasoning_task(case):
    """a, b, c, d are uniform on 0 to n; the answer is c if a and b differ in parity, d if not."""
    values = case["n"] + 1
    even = case["n"] // 2 + 1
    differ = mp.mpf(2 * even * (values - even)) / values**2
    coin = -differ * mp.log(differ) - (1 - differ) * mp.log(1 - differ)
    return {
        "inputs": values**4,
        "P_g": differ,
        "chance_coin": mp.mpf(1) / 2 + 1 / mp.mpf(2 * values),
        "always_c": differ + (1 - differ) / values,
        "always_d": 1 - differ + differ / values,
        "plateau_cross_entropy": (1 - 1 / mp.mpf(values)) * coin,
        "n_train_30pct_floor": values**4 * 3 // 10,
    }


GENERATORS = {
    "layer_gradients": layer_gradients,
    "affine_task": affine_task,
    "quantifier_task": quantifier_task,
    "reasoning_task": reasoning_task,
}

if __name__ == "__main__":
    run(__doc__, ["scoring.json"], GENERATORS)
