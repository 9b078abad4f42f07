#!/usr/bin/env python3
"""Reference values of the maps from scores to weights: kinds of tests/oracles/scoring.json.

    python3 tests/oracles/generate/scoring.py [--kinds softmax,entmax,...] [--write]

Compares what it computes with the file, or writes it. A map is written down as docs/theory/scoring.md defines it;
derivatives are central differences of that definition at 50 digits, except for maps of softmax form, where scores that
are thousands apart leave no digits to a difference.
"""

import mpmath as mp

from common import derivative, dot, jacobian, run, softmax, trace, vector


def products(case, jacobian_):
    """J u and J^T g where a case has u and g."""
    out = {}
    if "u" in case:
        out["jvp"] = [dot(row, vector(case["u"])) for row in jacobian_]
    if "g" in case:
        out["vjp"] = [dot(column, vector(case["g"])) for column in zip(*jacobian_)]
    return out


def softmax_jacobian(weights, slopes):
    """(diag(p) - p p^T) diag(slopes), for softmax of scores of these slopes."""
    indices = range(len(weights))
    return [[weights[i] * ((i == j) - weights[j]) * slopes[j] for j in indices] for i in indices]


def softmax_derivative(weights, rates):
    """The derivative of softmax weights where the scores change at these rates."""
    mean = dot(weights, rates)
    return [p * (rate - mean) for p, rate in zip(weights, rates)]


def spectral_norm(rows):
    m = mp.matrix(rows)
    return mp.sqrt(max(mp.eigsy(m.T * m, eigvals_only=True)))


def entropy(weights):
    return -mp.fsum(p * mp.log(p) for p in weights if p > 0)


def softmax_case(case):
    z, tau = vector(case["z"]), mp.mpf(case["tau"])
    p = softmax([x / tau for x in z])
    plain = mp.matrix(softmax_jacobian(p, [1] * len(p)))
    log_sum = max(z) / tau + mp.log(mp.fsum(mp.exp((x - max(z)) / tau) for x in z))
    jac = softmax_jacobian(p, [1 / tau] * len(p))
    return {
        "weights": p,
        "log_weights": [x / tau - log_sum for x in z],
        "lse": log_sum,
        "entropy": entropy(p),
        "sum_p2": dot(p, p),
        "jac": jac,
        **products(case, jac),
        "d_tau": softmax_derivative(p, [-x / tau**2 for x in z]),
        "P_trace": trace(plain),
        "P_fro": mp.sqrt(mp.fsum(x**2 for x in plain)),
        "P_spec": spectral_norm(plain.tolist()),
    }


def approximate_weights(z, tau):
    mean = mp.fsum(z) / len(z)
    return [(1 + (x - mean) / tau) / len(z) for x in z]


def approx_softmax_case(case):
    z, tau = vector(case["z"]), mp.mpf(case["tau"])
    weights, p = approximate_weights(z, tau), softmax([x / tau for x in z])
    jac = jacobian(lambda x: approximate_weights(x, tau), z)
    return {
        "weights": weights,
        "jac": jac,
        "jac_spec": 1 / (len(z) * tau) if len(z) > 1 else mp.mpf(0),
        "d_tau": derivative(lambda t: approximate_weights(z, t), tau),
        "softmax_minus_approx": [a - b for a, b in zip(p, weights)],
    }


def ssmax_case(case):
    z, s, b, n = vector(case["z"]), mp.mpf(case["s"]), mp.mpf(case["b"]), case["n"]
    beta = s * mp.log(n) + b
    p = softmax([beta * x for x in z])
    jac = softmax_jacobian(p, [beta] * len(p))
    return {
        "beta": beta,
        "weights": p,
        "jac": jac,
        **products(case, jac),
        "d_s": softmax_derivative(p, [mp.log(n) * x for x in z]),
        "d_b": softmax_derivative(p, z),
        "d_n": softmax_derivative(p, [s / n * x for x in z]),
        "entropy": entropy(p),
    }


def ssmax_causal_case(case):
    """Row i sees i entries."""
    s, b = mp.mpf(case["s"]), mp.mpf(case["b"])
    rows = [vector(row) for row in case["scores_lower"]]
    return {"rows": [softmax([(s * mp.log(len(row)) + b) * x for x in row]) for row in rows]}


def ssa_score(x, b, exponent):
    return mp.sign(x) * exponent * mp.log1p(b * abs(x))


def ssa_scale_limit(z, exponent):
    """Weights of c z as c grows: powers of the largest sign there is."""
    if max(z) > 0:
        sizes = [x**exponent if x > 0 else mp.mpf(0) for x in z]
    elif max(z) == 0:
        sizes = [mp.mpf(x == 0) for x in z]
    else:
        sizes = [(-x) ** -exponent for x in z]
    return [size / mp.fsum(sizes) for size in sizes]


def ssa_case(case):
    z, b, k = vector(case["z"]), mp.mpf(case["b"]), mp.mpf(case["n_exp"])
    scores = [ssa_score(x, b, k) for x in z]
    slopes = [k * b / (1 + b * abs(x)) for x in z]
    p = softmax(scores)
    jac = softmax_jacobian(p, slopes)
    return {
        "phi": scores,
        "dphi": slopes,
        "weights": p,
        "jac": jac,
        **products(case, jac),
        "d_b": softmax_derivative(p, [k * x / (1 + b * abs(x)) for x in z]),
        "d_n_exp": softmax_derivative(p, [score / k for score in scores]),
        "scale_limit_weights": ssa_scale_limit(z, k),
        "jac_spec": spectral_norm(jac),
        "jac_spec_bound": b * k / 2,
    }


def ssa_softmax_limit_case(case):
    """SSA with b = 1/k, whose scores are z - sign(z) z^2 / (2 k) + ..."""
    z, k = vector(case["z"]), mp.mpf(case["n_exp"])
    ssa, p = softmax([ssa_score(x, 1 / k, k) for x in z]), softmax(z)
    correction = softmax_derivative(p, [-mp.sign(x) * x**2 / (2 * k) for x in z])
    return {
        "ssa": ssa,
        "softmax": p,
        "first_order_correction": correction,
        "max_residual": max(abs(a - b - c) for a, b, c in zip(ssa, p, correction)),
    }


def score_stddev_of(z, kind):
    mean = mp.fsum(z) / len(z)
    variance = mp.fsum((x - mean) ** 2 for x in z) / (len(z) - (kind == "sample"))
    return variance if kind == "var" else mp.sqrt(variance)


def normsoftmax_weights(z, tau, kind):
    return softmax([x / min(tau, score_stddev_of(z, kind)) for x in z])


def normsoftmax_case(case):
    z, tau, kind = vector(case["z"]), mp.mpf(case["tau"]), case["scale_kind"]
    spread = score_stddev_of(z, kind)
    if spread == 0:
        return {"scale": spread, "branch": "degenerate", "weights": [mp.mpf(1) / len(z)] * len(z)}
    jac = jacobian(lambda x: normsoftmax_weights(x, tau, kind), z)
    return {
        "scale": spread,
        "branch": "scale" if spread < tau else "tau",
        "weights": normsoftmax_weights(z, tau, kind),
        "jac": jac,
        **products(case, jac),
        "d_tau": derivative(lambda t: normsoftmax_weights(z, t, kind), tau),
        "jac_spec": spectral_norm(jac),
    }


def normsoftmax_matrix_case(case):
    """One standard deviation (or variance) for all rows."""
    rows = [vector(row) for row in case["scores"]]
    spread = score_stddev_of([x for row in rows for x in row], case["scale_kind"])
    divisor = min(mp.mpf(case["tau"]), spread)
    return {"scale": spread, "rows": [softmax([x / divisor for x in row]) for row in rows]}


def normsoftmax_bound_case(case):
    """One score above n - 1 equal ones, whose standardized gap is n / sqrt(n - 1)."""
    n = mp.mpf(case["n"])
    return {"bound": 1 / (1 + (n - 1) * mp.exp(-n / mp.sqrt(n - 1)))}


def self_adjusted(z):
    return [x * p for x, p in zip(z, softmax(z))]


def normalized_self_adjusted(z):
    low, high = min(z + [mp.mpf(0)]), max(z + [mp.mpf(0)])
    return [(x - low) / (high - low) * p for x, p in zip(z, softmax(z))]


def sa_softmax_case(case):
    z = vector(case["z"])
    out = {}
    for name, map_ in (("v1", self_adjusted), ("v2", normalized_self_adjusted)):
        weights = map_(z)
        out |= {name: weights, name + "_jac": jacobian(map_, z), name + "_sum": mp.fsum(weights)}
    return out


def entmax_threshold(z, alpha):
    """t with sum max((alpha - 1) z - t, 0)^(1 / (alpha - 1)) = 1, by bisection."""
    scaled = [(alpha - 1) * x for x in z]
    low, high = max(scaled) - 1, max(scaled)
    while high - low > mp.mpf(10) ** (3 - mp.mp.dps):
        middle = (low + high) / 2
        total = mp.fsum(max(x - middle, 0) ** (1 / (alpha - 1)) for x in scaled)
        low, high = (middle, high) if total >= 1 else (low, middle)
    return (low + high) / 2


def entmax_weights(z, alpha):
    threshold = entmax_threshold(z, alpha)
    return [max((alpha - 1) * x - threshold, mp.mpf(0)) ** (1 / (alpha - 1)) for x in z]


def entmax_case(case):
    z, alpha = vector(case["z"]), mp.mpf(case["alpha"])
    weights = entmax_weights(z, alpha)
    return {
        "weights": weights,
        "threshold": entmax_threshold(z, alpha),
        "support_size": sum(p > 0 for p in weights),
        "jac": jacobian(lambda x: entmax_weights(x, alpha), z),
        "d_alpha": derivative(lambda a: entmax_weights(z, a), alpha),
        "one_hot_gap": 1 / (alpha - 1),
    }


def hardmax_case(case):
    z = vector(case["z"])
    return {"weights": [mp.mpf(x == max(z)) / z.count(max(z)) for x in z]}


def ratio_score_case(case):
    one, relu, square = lambda x: mp.mpf(1), lambda x: max(x, mp.mpf(0)), lambda x: x**2
    function = {"average": one, "tanh": mp.tanh, "relu": relu, "square": square}[case["f"]]
    raw = [function(x) for x in vector(case["z"])]
    divisors = {"over_n": len(raw), "over_sum": mp.fsum(raw), "over_abs_sum": mp.fsum(map(abs, raw))}
    return {"raw": raw} | {name: [x / divisor for x in raw] for name, divisor in divisors.items()}


def vectors_of(case):
    return [[vector(row) for row in case[name]] for name in ("Q", "K", "V")]


def outputs(weights, values):
    return [[dot(row, column) for column in zip(*values)] for row in weights]


def linear_attention_case(case):
    q, k, v = vectors_of(case)
    count = len(k) if case["norm"] == "1/n_keys" else 1
    weights = [[dot(a, b) / mp.mpf(case["tau"]) / count for b in k] for a in q]
    return {"weights": weights, "out": outputs(weights, v)}


def elu_feature(x):
    return [t + 1 if t > 0 else mp.exp(t) for t in x]


def kernel_attention_case(case):
    distance = lambda a, b: mp.fsum((s - t) ** 2 for s, t in zip(a, b))
    kernels = {
        "exp(q.k/tau)": lambda a, b: mp.exp(dot(a, b) / mp.mpf(case["tau"])),
        "exp(-|q-k|^2/(2 h^2))": lambda a, b: mp.exp(-distance(a, b) / (2 * mp.mpf(case["h"]) ** 2)),
        "(elu+1)(q).(elu+1)(k)": lambda a, b: dot(elu_feature(a), elu_feature(b)),
    }
    q, k, v = vectors_of(case)
    rows = [[kernels[case["kernel"]](a, b) for b in k] for a in q]
    weights = [[x / mp.fsum(row) for x in row] for row in rows]
    over_n = [[x / len(k) for x in row] for row in rows]
    return {
        "kernel": rows,
        "weights_over_sum": weights,
        "out_over_sum": outputs(weights, v),
        "out_over_n": outputs(over_n, v),
    }


def cosformer_case(case):
    """relu(q) . relu(k) cos(pi (i - j) / (2 m)) over its sum, which a floor keeps from 0."""
    q, k, v = vectors_of(case)
    relu = lambda x: [max(t, mp.mpf(0)) for t in x]
    weights = []
    for i, a in enumerate(q, start=max(len(k) - len(q), 0) if case["causal"] else 0):  # fewer queries are the last
        row = [dot(relu(a), relu(b)) * mp.cos(mp.pi * (i - j) / (2 * case["m"])) for j, b in enumerate(k)]
        row = [x if j <= i or not case["causal"] else mp.mpf(0) for j, x in enumerate(row)]
        weights.append([x / max(mp.fsum(row), mp.mpf(case["eps"])) for x in row])
    return {"weights": weights, "out": outputs(weights, v)}


def heat_schedule_case(case):
    """Heat Treatment: the inverse temperature or the temperature moves from its first to its last value."""
    first, last = mp.mpf(case["tau_start"]), mp.mpf(case["tau_end"])
    epochs = case["epochs"]
    half = epochs // 2
    if case["shape"] == "linear_half":
        return {"tau": [first + (last - first) * min(mp.mpf(t) / half, 1) for t in range(epochs)]}
    if case["shape"] == "linear_full":
        return {"inverse_tau": [1 / first + (1 / last - 1 / first) * t / (epochs - 1) for t in range(epochs)]}
    move = lambda t: (1 + mp.cos(mp.pi * min(t, half) / half)) / 2
    inverse = [1 / last + (1 / first - 1 / last) * move(t) for t in range(epochs)]
    return {"inverse_tau": inverse, "tau": [1 / x for x in inverse]}


def one_error(n, high_count, rise, spread):
    """Softmax minus approximate softmax of a score, with high_count others `rise` above it, the rest `spread` lower."""
    rest = n - 1 - high_count
    partition = 1 + high_count * mp.exp(rise) + rest * mp.exp(rise - spread)
    above_mean = -(high_count * rise + rest * (rise - spread)) / mp.mpf(n)
    return 1 / partition - (1 + above_mean) / n


def approx_error_bounds_case(case):
    """Supremum and infimum of the error over rows of a range, by search: other scores are at the ends of the range.

    `k_low` is the number of scores at the upper end, `d_low` the negative of their rise above the score in question.
    """
    n, spread = case["n"], mp.mpf(case["range"])
    highest, lowest, place = mp.mpf(0), mp.mpf(1), None
    for high_count in range(n):
        error = lambda rise: one_error(n, high_count, rise, spread)
        for rise in candidates(error, mp.mpf(0), spread):
            value = error(rise)
            highest = max(highest, value)
            if value < lowest - mp.mpf(10) ** -30:
                lowest, place = value, {"k_low": high_count, "d_low": -rise}
    return {"sup": highest, "inf": lowest, "inf_arg": place}


def candidates(function, low, high, cells=160):
    """The ends of an interval and the extrema inside, where the slope changes its sign."""
    slope = lambda x: derivative(function, x)
    grid = [low + (high - low) * i / cells for i in range(cells + 1)]
    slopes = [slope(x) for x in grid]
    found = [low, high]
    for a, b, slope_a, slope_b in zip(grid, grid[1:], slopes, slopes[1:]):
        if slope_a * slope_b < 0:
            for _ in range(110):
                middle = (a + b) / 2
                a, b = (middle, b) if slope(middle) * slope_a > 0 else (a, middle)
            found.append(a)
    return found


GENERATORS = {
    "softmax": softmax_case,
    "approx_softmax": approx_softmax_case,
    "ssmax": ssmax_case,
    "ssmax_causal": ssmax_causal_case,
    "ssa": ssa_case,
    "ssa_softmax_limit": ssa_softmax_limit_case,
    "normsoftmax": normsoftmax_case,
    "normsoftmax_matrix": normsoftmax_matrix_case,
    "normsoftmax_max_weight_bound": normsoftmax_bound_case,
    "sa_softmax": sa_softmax_case,
    "entmax": entmax_case,
    "hardmax": hardmax_case,
    "ratio_score": ratio_score_case,
    "linear_attention_weights": linear_attention_case,
    "kernel_attention": kernel_attention_case,
    "cosformer": cosformer_case,
    "heat_schedule": heat_schedule_case,
    "approx_error_bounds": approx_error_bounds_case,
}

if __name__ == "__main__":
    run(__doc__, ["scoring.json"], GENERATORS)
