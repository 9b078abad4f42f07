#!/usr/bin/env python3
"""Reference values of classification in context: tests/oracles/classification.json.

    python3 tests/oracles/generate/classification.py [--kinds log_A,tiny_context,...] [--write]

Compares what it computes with the file, or writes it. The formulas are those of docs/theory/classification.md at 50
digits; kappa is the inverse squared width of the kernel, t the cosine of a point to the query. `tiny_context` is in
contexts.py.
"""

import mpmath as mp

from common import dot, gauss_legendre, run, softmax, vector
from contexts import tiny_context


def kernel_mean(d, kappa):
    """A_d(kappa) = E exp(kappa t) = 0F1(; d/2; kappa^2 / 4), a Bessel function where the series is long."""
    half, kappa = mp.mpf(d) / 2, mp.mpf(kappa)
    if abs(kappa) < 60:
        return mp.hyp0f1(half, kappa**2 / 4)
    return mp.gamma(half) * (2 / kappa) ** (half - 1) * mp.besseli(half - 1, kappa)


def mean_resultant_length(d, kappa):
    """A' / A."""
    return kappa / d * kernel_mean(d + 2, kappa) / kernel_mean(d, kappa)


def kernel_excess(d, kappa):
    """v = A(2 kappa) / A(kappa)^2 - 1."""
    with mp.extradps(30):
        return kernel_mean(d, 2 * mp.mpf(kappa)) / kernel_mean(d, kappa) ** 2 - 1


def density_constant(d):
    """R_d, of the density R_d (1 - t^2)^((d - 3) / 2) of a cosine."""
    return mp.gamma(mp.mpf(d) / 2) / (mp.sqrt(mp.pi) * mp.gamma(mp.mpf(d - 1) / 2))


def mean_absolute_cosine(d):
    return 2 * density_constant(d) / (d - 1)


def partition_function_variation(case):
    d, n, kappa = case["d"], case["n"], mp.mpf(case["kappa"])
    own = mp.exp(kappa) / (n * kernel_mean(d, kappa)) if case["include_query"] else 0
    return {"value": mp.sqrt(kernel_excess(d, kappa) / n) / (1 + own)}


def sphere_constants(case):
    d = case["d"]
    cap = density_constant(d) * mp.mpf(2) ** (mp.mpf(d - 1) / 2) / (d - 1)
    return {"R_d": density_constant(d), "m_d": mean_absolute_cosine(d), "c_d": cap}


def angle_nodes(d, pieces, count):
    """Angles to the query with their probabilities, on pieces of [0, pi]."""
    nodes = [node for low, high in zip(pieces, pieces[1:]) for node in gauss_legendre(mp.mpf(low), mp.mpf(high), count)]
    weights = [w * mp.sin(angle) ** (d - 2) for angle, w in nodes]
    return [angle for angle, _ in nodes], [w / mp.fsum(weights) for w in weights]


def laplace_grid(kappa, include_query, step=mp.mpf("0.14")):
    """log t of 1/S = int exp(-t S) dt, where S >= n exp(-2 kappa), or S >= 1 with the query's own key."""
    high = 5 if include_query else 2 * kappa + 6
    return step, [i * step for i in range(int(-62 / step), int(high / step) + 1)]


def inverse_partition_function(case):
    """E 1/S, E 1/S^2 and E sum p^2 of S = sum exp(kappa (t - 1)), plus 1 with the query's own key."""
    d, n, kappa, own = case["d"], case["n"], mp.mpf(case["kappa"]), case["include_query"]
    angles, chances = angle_nodes(d, (0, mp.pi), 140)
    values = [mp.exp(kappa * (mp.cos(angle) - 1)) for angle in angles]
    step, grid = laplace_grid(kappa, own)
    first = second = ipr = mp.mpf(0)
    for s in grid:
        t = mp.exp(s)
        kernels = [c * mp.exp(-t * w) for c, w in zip(chances, values)]
        psi = mp.fsum(kernels)
        measure = step * t * (mp.exp(-t) if own else 1)
        first += measure * psi**n
        second += measure * t * psi**n
        ipr += measure * t * n * mp.fsum(k * w**2 for k, w in zip(kernels, values)) * psi ** (n - 1)
    return {"E_inv": first, "E_inv2": second, "var_inv": second - first**2, "E_sum_p2": ipr}


def largest_weight(case):
    """d = 3, where t is uniform: E of exp(-t w) over kernel values below w is a difference of exponential integrals."""
    n, kappa = case["n"], mp.mpf(case["kappa"])
    nodes = [(mp.exp(kappa * (t - 1)), weight / 2) for t, weight in gauss_legendre(mp.mpf(-1), mp.mpf(1), 64)]
    step, grid = laplace_grid(kappa, False)
    total = mp.mpf(0)
    for s in grid:
        t = mp.exp(s)
        far = mp.e1(t * mp.exp(-2 * kappa))
        below = lambda w: (far - mp.e1(t * w)) / (2 * kappa)
        total += step * t * mp.fsum(c * w * mp.exp(-t * w) * below(w) ** (n - 1) for w, c in nodes)
    return {"value": n * total}


def poisson_neighborhood(case):
    """J = int exp(-t - lambda Ein(t)) dt, Ein(t) = E1(t) + log t + gamma."""
    density = mp.mpf(case["lambda"])

    def entire_integral(t):
        if t > 1:
            return mp.e1(t) + mp.log(t) + mp.euler
        return -mp.fsum((-t) ** m / (m * mp.factorial(m)) for m in range(1, 45))

    own = mp.quad(lambda t: mp.exp(-t - density * entire_integral(t)), [0, 1, 4, 12, 40, 120])
    return {"J": own, "E_sum_p2": 1 - density * own}


def contrast(d, kappa, alpha):
    """B_d = E sign(u . b) exp(kappa t), b the boundary's normal and alpha the query's angle to the boundary."""
    kappa, top = mp.mpf(kappa), mp.sin(mp.mpf(alpha))
    width = 4 / mp.sqrt(max(kappa, mp.mpf(1)))
    pieces = [i * width for i in range(8) if i * width < top] + [top]
    integrand = lambda t: kernel_mean(d + 1, kappa * mp.sqrt(1 - t**2))
    return mean_absolute_cosine(d) * kappa * mp.quad(integrand, pieces)


def hemispheres(case):
    d, kappa = case["d"], case["kappa"]
    b, a = contrast(d, kappa, case["alpha"]), kernel_mean(d, kappa)
    return {"Delta": b / a, "log_B": mp.log(b), "var_S_over_n_A2": kernel_excess(d, kappa) - (b / a) ** 2}


def logit_differences(case):
    """Means and variances of the logit difference: exact of linear and kernel steps, by the delta method of softmax."""
    d, n = case["d"], case["n"]
    kappa, alpha, eta, gain = (mp.mpf(case[name]) for name in ("kappa", "alpha", "eta", "c"))
    a, b, top = kernel_mean(d, kappa), contrast(d, kappa, alpha), mp.exp(kappa)
    variance = kernel_mean(d, 2 * kappa) - a**2 - b**2
    lead = mean_absolute_cosine(d) * mp.sin(alpha)
    out = {
        "linear_mean": eta * lead,
        "linear_var": eta**2 / n * (mp.mpf(1) / d - lead**2),
        "kernel_mean": eta * b / top,
        "kernel_var": eta**2 / n * variance / top**2,
    }
    covariance = n * (contrast(d, 2 * kappa, alpha) - 2 * a * b)
    for query in (0, 1):
        total, difference = n * a + query * top, n * b
        ratio = difference / total
        spread = variance * n
        out[f"softmax_limit_q{query}"] = gain * ratio
        out[f"softmax_delta_mean_q{query}"] = gain * (ratio - covariance / total**2 + ratio * spread / total**2)
        out[f"softmax_delta_var_q{query}"] = (gain / total) ** 2 * (spread * (1 + ratio**2) - 2 * ratio * covariance)
    return out


def chance_above(d, angle, alpha):
    """P(u . b > 0) of a point u at this angle to the query."""
    if angle <= alpha:
        return mp.mpf(1)
    if angle >= mp.pi - alpha:
        return mp.mpf(0)
    ratio = mp.tan(alpha) / mp.tan(angle)
    if d == 2:
        return mp.mpf(1) / 2
    part = mp.betainc(mp.mpf(1) / 2, mp.mpf(d - 2) / 2, 0, ratio**2, regularized=True)
    return (1 + mp.sign(ratio) * part) / 2


def sharp_nodes(low, high, count=120):
    """Tanh-sinh rule, for integrands that are not smooth at the ends."""
    nodes = []
    for i in range(-count, count + 1):
        a = mp.pi / 2 * mp.sinh(mp.mpf(4 * i) / count)
        weight = mp.mpf(4) / count * mp.pi / 2 * mp.cosh(mp.mpf(4 * i) / count) / mp.cosh(a) ** 2
        if weight > mp.mpf(10) ** -45:
            nodes.append(((low + high) / 2 + (high - low) / 2 * mp.tanh(a), (high - low) / 2 * weight))
    return nodes


def exact_softmax(case):
    """E (S+ - S-) / (S+ + S-) with n / 2 points on either side, by 1/S = int exp(-t S) dt."""
    d, half, own = case["d"], case["n"] // 2, case["include_query"]
    kappa, alpha = mp.mpf(case["kappa"]), mp.mpf(case["alpha"])
    pieces = [mp.mpf(0), alpha, mp.pi - alpha, mp.pi]
    nodes = [node for low, high in zip(pieces, pieces[1:]) for node in sharp_nodes(low, high)]
    total = mp.fsum(w * mp.sin(angle) ** (d - 2) for angle, w in nodes)
    values = [mp.exp(kappa * (mp.cos(angle) - 1)) for angle, _ in nodes]
    above = [chance_above(d, angle, alpha) for angle, _ in nodes]
    weights = [2 * w * mp.sin(angle) ** (d - 2) / total for angle, w in nodes]
    step, grid = laplace_grid(kappa, own)
    result = mp.mpf(0)
    for s in grid:
        t = mp.exp(s)
        kernels = [c * mp.exp(-t * w) for c, w in zip(weights, values)]
        up = [k * p for k, p in zip(kernels, above)]
        down = [k * (1 - p) for k, p in zip(kernels, above)]
        psi_up, psi_down = mp.fsum(up), mp.fsum(down)
        slope_up, slope_down = dot(up, values), dot(down, values)
        difference = slope_up / psi_up - slope_down / psi_down
        result += step * t * (mp.exp(-t) if own else 1) * half * (psi_up * psi_down) ** half * difference
    return {"value": result}


class NormalLogits:
    """Logit differences of the linear step for queries uniform on their hemisphere, normal for long contexts."""

    def __init__(self, d, n, count=250):
        lead = mean_absolute_cosine(d)
        self.queries = []
        for angle, weight in gauss_legendre(mp.mpf(0), mp.pi / 2, count):
            mean = lead * mp.sin(angle)
            density = 2 * density_constant(d) * mp.cos(angle) ** (d - 2)
            self.queries.append((weight * density, mean, mp.sqrt((mp.mpf(1) / d - mean**2) / n)))
        step = mp.mpf("0.17")
        self.normal = [(i * step, step * mp.npdf(i * step)) for i in range(-64, 65)]

    def mean(self, function):
        """E function(difference), of learning rate 1."""
        inner = lambda mean, deviation: mp.fsum(w * function(mean + deviation * g) for g, w in self.normal)
        return mp.fsum(weight * inner(mean, deviation) for weight, mean, deviation in self.queries)

    def cross_entropy(self, rate):
        return self.mean(lambda y: mp.log1p(mp.exp(-abs(rate * y))) + max(-rate * y, 0))

    def slope(self, rate):
        return self.mean(lambda y: -y / (1 + mp.exp(rate * y)))

    def accuracy(self):
        return mp.fsum(weight * mp.ncdf(mean / deviation) for weight, mean, deviation in self.queries)


def best_rate(case):
    d, n = case["d"], case["n"]
    leading = mp.pi * mp.sqrt(mp.mpf(n) * d / 3)
    with mp.workdps(32):
        logits = NormalLogits(d, n)
        start = (leading * mp.mpf("0.97"), leading * mp.mpf("1.01"))
        rate = mp.findroot(logits.slope, start, solver="secant", tol=1e-50, maxsteps=12, verify=False)
        loss = logits.cross_entropy(rate)
    closed = mp.pi * (d - 1) / (2 * mp.sqrt(3 * mp.mpf(n) * d))
    return {"eta_star": rate, "L_star": loss, "eta_closed": leading, "L_closed": closed}


def gegenbauer_at_zero(d, degree):
    """The polynomial of the sphere in d dimensions that is 1 at 1."""
    before, value = mp.mpf(0), mp.mpf(1)
    for j in range(degree):
        before, value = value, -j * before / mp.mpf(j + d - 2) if j else mp.mpf(0)
    return value


def mean_squared_contrast(d, kappa, terms=161):
    """E Delta^2 over queries, by Funk and Hecke: the sum over odd degrees of dimension times squared coefficient."""
    total = mp.mpf(0)
    for degree in range(1, terms, 2):
        dimension = 2 if d == 2 else mp.mpf(2 * degree + d - 2) / (degree + d - 2) * mp.binomial(degree + d - 2, degree)
        order = mp.mpf(d) / 2 - 1
        kernel = mp.gamma(order + 1) * (2 / kappa) ** order * mp.besseli(order + degree, kappa)
        total += dimension * (mean_absolute_cosine(d) * gegenbauer_at_zero(d + 2, degree - 1) * kernel) ** 2
    return total / kernel_mean(d, kappa) ** 2


def boundary_layer(case):
    d, n, kappa = case["d"], case["n"], mp.mpf(case["kappa"])
    a, v, lead = kernel_mean(d, kappa), kernel_excess(d, kappa), mean_absolute_cosine(d)
    slope = lead * kappa * kernel_mean(d + 1, kappa) / a
    ratio = mp.sqrt(v / n) / slope * mp.sqrt(mp.mpf(n) * d) * lead
    linear_error = (d - 1) / mp.sqrt(2 * mp.pi * n * d)
    gain = mp.pi * mp.sqrt(n / (3 * v))
    squared = mean_squared_contrast(d, kappa)
    return {
        "slope_Delta": slope,
        "noise_ratio": ratio,
        "err_linear": linear_error,
        "err_kernel": ratio * linear_error,
        "c_star": gain,
        "c_star_query": gain * (1 + mp.exp(kappa) / (n * a)),
        "mean_Delta2": squared,
        "var_S_ratio": (v - squared) / v,
    }


def arcs(angles):
    """The cell of every prototype on the circle: halfway to its neighbors."""
    order = sorted(range(len(angles)), key=lambda i: angles[i])
    cells = [None] * len(angles)
    for place, i in enumerate(order):
        before = angles[order[place - 1]] - (2 * mp.pi if place == 0 else 0)
        after = angles[order[(place + 1) % len(order)]] + (2 * mp.pi if place + 1 == len(order) else 0)
        cells[i] = ((before + angles[i]) / 2, (angles[i] + after) / 2)
    return cells


def circle_cells(case):
    """Kernel sums of cells about a query, for long class-balanced contexts."""
    query, kappa, gain, n = mp.mpf(case["query_angle"]), mp.mpf(case["kappa"]), mp.mpf(case["c"]), mp.mpf(case["n"])
    cells = arcs(vector(case["prototype_angles"]))

    def kernel_sum(sharpness, low, high):
        turns = [query + k * mp.pi for k in range(-2, 3)]
        points = sorted([low, high] + [turn for turn in turns if low < turn < high])
        return mp.quad(lambda angle: mp.exp(sharpness * (mp.cos(angle - query) - 1)), points) / (2 * mp.pi)

    normalized = lambda values: [x / mp.fsum(values) for x in values]
    volume = [(high - low) / (2 * mp.pi) for low, high in cells]
    sums = [kernel_sum(kappa, *cell) for cell in cells]
    squares = [kernel_sum(2 * kappa, *cell) / v for cell, v in zip(cells, volume)]
    means = [m / v for m, v in zip(sums, volume)]
    probability, balanced = normalized(sums), normalized(means)
    per_class = n / len(cells)
    return {
        "volume": volume,
        "P_vMF": probability,
        "weights_balanced": balanced,
        "p_balanced": softmax([gain * w for w in balanced]),
        "p_iid": softmax([gain * w for w in probability]),
        "scaled_mean_S": per_class * mp.fsum(means),
        "scaled_var_S": per_class * mp.fsum(s - m**2 for s, m in zip(squares, means)),
    }


GENERATORS = {
    "log_A": lambda case: {"value": mp.log(kernel_mean(case["d"], case["kappa"]))},
    "A": lambda case: {"value": kernel_mean(case["d"], case["kappa"])},
    "mean_resultant_length": lambda case: {"value": mean_resultant_length(case["d"], mp.mpf(case["kappa"]))},
    "v_excess": lambda case: {"value": kernel_excess(case["d"], case["kappa"])},
    "cv_S": partition_function_variation,
    "sphere_constants": sphere_constants,
    "inverse_S_moments": inverse_partition_function,
    "E_max_weight": largest_weight,
    "poisson_d3": poisson_neighborhood,
    "k2_hemisphere": hemispheres,
    "k2_expected_logit_difference": logit_differences,
    "k2_softmax_exact": exact_softmax,
    "k2_linear_ce_clt": lambda case: {"value": NormalLogits(case["d"], case["n"]).cross_entropy(mp.mpf(case["eta"]))},
    "k2_linear_accuracy_clt": lambda case: {"value": NormalLogits(case["d"], case["n"]).accuracy()},
    "k2_linear_optimal_eta": best_rate,
    "k2_asymptotics": boundary_layer,
    "d2_voronoi_limit": circle_cells,
    "tiny_context": tiny_context,
}

if __name__ == "__main__":
    run(__doc__, ["classification.json"], GENERATORS)
