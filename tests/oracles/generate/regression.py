#!/usr/bin/env python3
"""Reference values of linear regression in context: tests/oracles/regression.json.

    python3 tests/oracles/generate/regression.py [--kinds row_moments,...] [--write]

Compares what it computes with the file, or writes it. The formulas are those of docs/theory/regression.md, with
matrices of 50 digits; the two kinds of true softmax attention are integrals in double precision, of 12 digits.
"""

import mpmath as mp
import numpy as np

from common import column, entries_of, matrix, rows_of, run, trace


class Setting:
    """The task, the attention and the moments that the error formulas share."""

    def __init__(self, inputs):
        task, attention = inputs["task"], inputs.get("attention")
        self.length = mp.mpf(inputs["context_length"])
        self.input_mean, self.input_covariance = column(task["mean_x"]), matrix(task["cov_x"])
        self.task_mean, self.task_covariance = column(task["mean_w"]), matrix(task["cov_w"])
        self.noise = mp.mpf(task["noise_variance"])
        self.input_moment = self.input_covariance + self.input_mean * self.input_mean.T
        self.task_moment = self.task_covariance + self.task_mean * self.task_mean.T
        if not attention:
            return
        self.key_query, self.label_value = matrix(attention["M"]), mp.mpf(attention["v_y"])
        self.input_value = column(attention["v_x"])
        # A token's value is (x, y) . (v_x, v_y) = x . u + noise, with u of mean p.
        self.mean_value = self.input_value + self.label_value * self.task_mean
        self.value_moment = self.mean_value * self.mean_value.T + self.label_value**2 * self.task_covariance
        self.value_task_moment = self.input_value * self.task_mean.T + self.label_value * self.task_moment
        self.label_noise = self.label_value**2 * self.noise


def parabola(constant, linear, quadratic):
    """The error constant - 2 linear / tau + quadratic / tau^2, its best tau and its minimum."""
    return {
        "constant": constant,
        "linear": linear,
        "quadratic": quadratic,
        "optimal_temperature": quadratic / linear,
        "minimum": constant - linear**2 / quadratic,
    }


def quadratic_terms(s, second_moment, cross_moment):
    """linear and quadratic from the moments of the context's weighted sum: M x meets C u and C w."""
    m, x = s.key_query, s.input_moment
    return trace(x * m.T * cross_moment), trace(m * x * m.T * second_moment)


def context_moments(s):
    """E C u u^T C and E C u w^T, C the context's covariance and the noise included."""
    x, n = s.input_covariance, s.length
    spread = trace(s.value_moment * x) + s.label_noise
    second = (n - 1) / n**2 * (n * x * s.value_moment * x + spread * x)
    return second, (n - 1) / n * x * s.value_task_moment


def without_offset(inputs):
    s = Setting(inputs)
    linear, quadratic = quadratic_terms(s, *context_moments(s))
    return parabola(s.noise + trace(s.input_moment * s.task_moment), linear, quadratic)


def approximate_softmax(inputs):
    """The offset is the context's mean value, which the weights 1/n give to every query."""
    s = Setting(inputs)
    mean, x, n = s.input_mean, s.input_covariance, s.length
    error = without_offset(inputs)
    offset_square = trace(s.value_moment * (mean * mean.T + x / n)) + s.label_noise / n
    offset_label = (mean.T * s.value_task_moment * mean)[0]
    offset_score = (mean.T * s.value_moment * ((n - 1) / n * x) * s.key_query * mean)[0]
    constant = error["constant"] + offset_square - 2 * offset_label
    return parabola(constant, error["linear"] - offset_score, error["quadratic"])


def leading_order(inputs):
    """arXiv 2511.01292, Theorem 4.2."""
    s = Setting(inputs)
    x = s.input_covariance
    second = x * s.value_moment * x + (trace(s.value_moment * x) + s.label_noise) / s.length * x
    linear, quadratic = quadratic_terms(s, second, x * s.value_task_moment)
    return parabola(s.noise + trace(s.input_moment * s.task_moment), linear, quadratic)


def query_included(inputs):
    """With the query's own key; inputs of mean 0, values of labels alone."""
    s = Setting(inputs)
    x, m, v, w, l = s.input_covariance, s.key_query, s.label_value, s.task_moment, s.length
    n = l + 1
    second, cross = context_moments(s)
    plain_linear, plain_quadratic = quadratic_terms(s, second, cross)
    signal, scores = trace(x * w), m * x * m.T
    offset = v**2 * (signal + s.noise) / l
    constant = s.noise + signal + (l / n) ** 2 * offset
    linear = l / n * plain_linear + v / n**2 * trace(x * m.T * x * w) + l**2 / n**3 * trace(m * x) * offset
    own = trace(m * x) ** 2 + trace(m * x * m * x) + trace(scores * x)  # E (x . M x)^2
    spread = (trace(scores * x) * signal + 2 * trace(x * scores * x * w) + trace(scores * x) * s.noise) / l**2
    last = l**2 / n**4 * v**2 * (own * (signal + s.noise) / l + spread)
    quadratic = (l / n) ** 2 * plain_quadratic + 2 * l * v / n**3 * trace(scores * x * cross.T) + last
    error = parabola(constant, linear, quadratic)
    return {name: error[name] for name in ("constant", "linear", "quadratic", "optimal_temperature")}


def linear_attention(inputs):
    s = Setting(inputs)
    x, n, mean, b = s.input_moment, s.length, s.input_mean, s.value_moment
    fourth = 2 * x * b * x + trace(b * x) * x - 2 * (mean.T * b * mean)[0] * (mean * mean.T)
    second = (n - 1) / n * x * b * x + fourth / n + s.label_noise / n * x
    linear, quadratic = quadratic_terms(s, second, x * s.value_task_moment)
    return parabola(s.noise + trace(x * s.task_moment), linear, quadratic)


def pretrained(inputs):
    s = Setting(inputs)
    precision = s.task_covariance**-1
    key_query = (s.input_covariance + s.noise / s.length * precision) ** -1
    input_value = s.noise / s.length * s.input_covariance**-1 * precision * s.task_mean
    return {"M": rows_of(key_query), "v_x": entries_of(input_value), "v_y": mp.mpf(1)}


def moment_ratio(inputs):
    s = Setting(inputs)
    second = trace(s.key_query.T * s.input_covariance * s.key_query * s.input_covariance)
    first = trace(s.key_query * s.input_covariance)
    return {"second_moment": second, "first_moment": first, "ratio": second / first}


def any_law(inputs):
    """Inputs drawn from given rows: moments of the empirical law, up to the fourth."""
    rows, n = [column(row) for row in inputs["input_rows"]], mp.mpf(inputs["context_length"])
    mean = sum(rows[1:], rows[0]) / len(rows)
    centered = [row - mean for row in rows]
    x = sum((z * z.T for z in centered[1:]), centered[0] * centered[0].T) / len(rows)
    task_mean, task_covariance = column(inputs["mean_w"]), matrix(inputs["cov_w"])
    attention, noise = inputs["attention"], mp.mpf(inputs["noise_variance"])
    m, v = matrix(attention["M"]), mp.mpf(attention["v_y"])
    mean_value = column(attention["v_x"]) + v * task_mean
    b = mean_value * mean_value.T + v**2 * task_covariance
    task_moment = task_covariance + task_mean * task_mean.T
    cross = column(attention["v_x"]) * task_mean.T + v * task_moment
    fourth = mp.zeros(x.rows)  # E z (z . b z) z^T
    for z in centered:
        fourth += (z.T * b * z)[0] * z * z.T / len(rows)
    pairs = (n - 1) * fourth + (n - 1) ** 2 * x * b * x + x * b * x + trace(b * x) * x
    second = (n - 1) / n**3 * pairs + v**2 * noise * (n - 1) / n**2 * x
    moment = x + mean * mean.T
    linear = trace(moment * m.T * ((n - 1) / n) * x * cross)
    return parabola(noise + trace(moment * task_moment), linear, trace(m * moment * m.T * second))


def second_order(inputs):
    """True softmax attention to second order in 1/n; inputs of mean 0."""
    s = Setting(inputs)
    x, w, v, n = s.input_covariance, s.task_moment, s.label_value, s.length
    k = s.key_query / mp.mpf(inputs["temperature"])
    h = mp.eye(x.rows) - v * x * k
    t = (x**-1 - 2 * k.T * x * k) ** -1
    z = mp.sqrt(mp.det(t) / mp.det(x))
    own = trace(k.T * x * w * x * k * t) + trace(w * x) + s.noise
    return {
        "error": s.noise + trace(w * h * x * h.T) + v**2 * z / n * own + 2 * v * z / n * trace(h.T * w * x * k * t)
    }


def centered_ridge(inputs):
    x, y = matrix(inputs["X"]), column(inputs["y"])
    ones = mp.ones(x.rows, 1)
    x -= ones * (ones.T * x) / x.rows
    y -= ones * (ones.T * y) / x.rows
    precision, noise = matrix(inputs["cov_w"]) ** -1, mp.mpf(inputs["noise_variance"])
    covariance = (x.T * x / noise + precision) ** -1
    mean = covariance * (x.T * y / noise + precision * column(inputs["mean_w"]))
    return {"mean": entries_of(mean), "covariance": rows_of(covariance)}


def bayes_risk_limit(inputs):
    a, b, noise = (mp.mpf(inputs[name]) for name in ("a", "b", "noise_variance"))
    n = mp.mpf(inputs["context_length"] - 1)
    ratio, ridge = inputs["dimension"] / n, noise / (n * a * b)
    c = 1 - ratio + ridge
    return {"risk": noise * (1 + (mp.sqrt(c**2 + 4 * ratio * ridge) - c) / (2 * ridge))}


def bayes_risk_equivalent(inputs):
    """kappa = lambda + (kappa / n) sum e / (e + kappa) over the eigenvalues e of the input in the prior's units."""
    s = Setting(inputs)
    n = s.length - 1
    root = mp.cholesky(s.task_covariance)
    eigenvalues = mp.eigsy(root.T * s.input_covariance * root, eigvals_only=True)
    ridge = s.noise / n
    freedom = lambda kappa: mp.fsum(e / (e + kappa) for e in eigenvalues)
    top = ridge + mp.fsum(eigenvalues) / n + 1
    kappa = mp.findroot(lambda k: ridge + k * freedom(k) / n - k, (ridge, top), solver="anderson", tol=1e-80)
    return {"effective_ridge": kappa, "risk": s.noise + kappa * freedom(kappa)}


def log_map(scoring, count):
    """The logarithm of a weight before its normalization."""
    if scoring["name"] == "softmax":
        return lambda z: z
    if scoring["name"] == "ssmax":
        return lambda z: float(scoring["s"]) * np.log(count) * z
    return lambda z: np.sign(z) * float(scoring["n"]) * np.log1p(float(scoring["b"]) * np.abs(z))


def normal_nodes(variance, cells):
    """Gauss and Legendre's rule on panels of 20 nodes either side of 0, where SSA has a kink, times the density."""
    deviation = np.sqrt(variance)
    x, w = np.polynomial.legendre.leggauss(20)
    parts = []
    for low, high in ((-12 * deviation, 0.0), (0.0, 12 * deviation + 2.5 * variance)):
        edges = np.linspace(low, high, cells + 1)
        half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
        parts.append(((middle + half * x).ravel(), (half * w).ravel()))
    z, weight = (np.concatenate(part) for part in zip(*parts))
    return z, weight * np.exp(-(z**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)


def softmax_moments(count, variance, log_weight, resolution):
    """E sum p^2, E sum p z and E (sum p z)^2 of a row of normal scores.

    1/Z = int exp(-t Z) dt separates the scores. The integral over log t is one of the trapezoidal rule, whose error
    falls faster than any power of the step.
    """
    z, density = normal_nodes(variance, resolution // 60)
    log_w = log_weight(z)
    seen = log_w[np.abs(z) < 11 * np.sqrt(variance)]
    grid = np.linspace(-(np.log(count) + seen.max() + 40), 6 - seen.min(), 2 * resolution + 1)
    result = np.zeros(3)
    for part in np.array_split(grid, max(1, len(grid) // 200)):
        tw = np.exp(part[:, None] + log_w)
        kernel = np.exp(-tw)
        laplace = np.clip(1 + np.expm1(-tw) @ density, 1e-300, None)
        one = tw * kernel
        two = tw * one  # in this order: where tw^2 is beyond double precision, the kernel is 0
        others = np.exp((count - 1) * np.log(laplace))
        pairs = np.exp((count - 2) * np.log(laplace))
        mean = one @ (density * z)
        result += [
            count * np.sum(two @ density * others),
            count * np.sum(mean * others),
            count * np.sum(two @ (density * z**2) * others) + count * (count - 1) * np.sum(mean**2 * pairs),
        ]
    return result * (grid[1] - grid[0])


def row_moments(inputs):
    count = inputs["tokens"]
    moments = softmax_moments(count, float(inputs["score_variance"]), log_map(inputs["scoring"], count), 4500)
    return dict(zip(("ipr", "mean_score", "mean_square_score"), map(mp.mpf, moments)))


def isotropic_error(inputs):
    """The query's squared length is a r, r of a chi-square law: integrated by panels that grow from 0."""
    from scipy.stats import chi2  # the other kinds do without scipy

    d, count = inputs["dimension"], inputs["context_length"]
    names = ("cov_x_scale", "cov_w_scale", "M_scale", "v_y", "noise_variance", "temperature")
    a, b, m, v, noise, temperature = (float(inputs[name]) for name in names)
    unscaled = log_map(inputs["scoring"], count)
    x, w = np.polynomial.legendre.leggauss(20)
    edges = chi2.ppf(1 - 1e-14, d) * np.linspace(0, 1, 5) ** 1.5
    total = 0.0
    for low, high in zip(edges, edges[1:]):
        for node, weight in zip(x, w):
            r = (low + high) / 2 + (high - low) / 2 * node
            length = np.sqrt(a * r)
            step = m * length  # of the score per unit of the key along the query
            ipr, score, square = softmax_moments(count, a * step**2, lambda z: unscaled(z / temperature), 1200)
            signal = a * r - 2 * v * length * score / step + v**2 * square / step**2
            error = noise + b * signal + v**2 * ipr * ((d - 1) * a * b + noise)
            total += weight * (high - low) / 2 * chi2.pdf(r, d) * error
    return {"error": mp.mpf(total)}


GENERATORS = {
    "approximate_softmax": approximate_softmax,
    "approximate_softmax_no_offset": without_offset,
    "approximate_softmax_asymptotic": leading_order,
    "approximate_softmax_query_included": query_included,
    "approximate_softmax_any_law": any_law,
    "linear_attention": linear_attention,
    "pretrained": pretrained,
    "moment_ratio": moment_ratio,
    "centered_ridge": centered_ridge,
    "centered_ridge_risk_isotropic_limit": bayes_risk_limit,
    "centered_ridge_risk_equivalent": bayes_risk_equivalent,
    "softmax_second_order": second_order,
    "row_moments": row_moments,
    "softmax_error_isotropic_exact": isotropic_error,
}

if __name__ == "__main__":
    run(__doc__, ["regression.json"], GENERATORS, {"row_moments": 11, "softmax_error_isotropic_exact": 11})
