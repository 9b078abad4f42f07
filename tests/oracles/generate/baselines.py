#!/usr/bin/env python3
"""Reference values of the exact baselines of in-context regression: tests/oracles/baselines.json.

    python3 tests/oracles/generate/baselines.py [--kinds isotropic] [--write]

Pools of tasks (docs/theory/baselines.md#two-tasks): the error of two by the law of their log odds, and the weight of the
right one by integrals over the other tasks themselves, or, for a pool that is too large for that, over one of them at 40
digits.

isotropic: the mean of a sum over the eigenvalues of a real Wishart matrix, here from de Bruijn's Pfaffian of their joint density
(docs/theory/baselines.md#pfaffian), which shares nothing with the recursions of the library but that density.

one_pass_sgd and task_pool: means over normal variables of polynomials, by products of Gauss-Hermite rules that are exact
for their degrees, applied to the definitions; then the steps one after the other, or the normal equations. pool_limit:
integrals over the density of Marchenko and Pastur. nearest_neighbors: by pairs of examples. flow_course: the differential equations of the two weights, by Taylor
series.
"""

import math
from itertools import product

import mpmath as mp
import numpy as np

from common import gauss_legendre, matrix, run, trace

# of u = sqrt(x); narrow where the functions may have a pole near 0
PANELS = [0, "1e-8", "1e-7", "1e-6", "1e-5", "1e-4", "0.001", "0.01", "0.05", "0.2", "0.6", 1.5, 3, 5, 7, 9, 12, 16]


def mean_sum(order, excess, functions):
    """E sum f(x_i) for each f, x_1..x_order with the density prop. to prod x^((excess-1)/2) e^(-x/2) prod |x_i - x_j|.

    Under weights g(x) = 1 + t f(x) the normalization is a Pfaffian Pf(A), and the mean is d log Pf(A) / dt at t = 0,
    tr(A^-1 A') / 2.
    """
    first = (mp.mpf(excess) + 1) / 2
    total = [2 ** (first + j) * mp.gamma(first + j) for j in range(order)]
    nodes = []  # x, the integration's weight times w(x), and int sgn(y - x) y^j w(y) dy for each j
    for low, high in zip(PANELS, PANELS[1:]):
        for u, step in gauss_legendre(mp.mpf(low), mp.mpf(high), 40):
            x = u * u
            below = [2**first * mp.gammainc(first, 0, x / 2)]  # int_0^x y^j w(y) dy, by parts
            for j in range(order - 1):
                below.append(2 * (first + j) * below[j] - 2 * x ** (first + j) * mp.exp(-x / 2))
            weight = 2 * u * step * x ** (first - 1) * mp.exp(-x / 2)
            nodes.append((x, weight, [t - 2 * b for t, b in zip(total, below)]))
    size = order + order % 2
    a, slopes = mp.zeros(size), [mp.zeros(size) for _ in functions]
    values = [[f(x) for x, _, _ in nodes] for f in functions]
    for i in range(order):
        for j in range(i):
            a[i, j] = mp.fsum(w * x**i * signed[j] for x, w, signed in nodes)
            a[j, i] = -a[i, j]
            both = [w * (x**i * signed[j] - x**j * signed[i]) for x, w, signed in nodes]
            for value, slope in zip(values, slopes):
                slope[i, j] = mp.fdot(both, value)
                slope[j, i] = -slope[i, j]
        if order % 2 == 1:
            a[i, order], a[order, i] = total[i], -total[i]
            for value, slope in zip(values, slopes):
                slope[i, order] = mp.fdot([w * x**i for x, w, _ in nodes], value)
                slope[order, i] = -slope[i, order]
    inverse = a**-1
    return [mp.fsum(inverse[i, j] * slope[j, i] for i in range(size) for j in range(size)) / 2 for slope in slopes]


def isotropic(inputs):
    examples, dimension = inputs["examples"], inputs["dimension"]
    noise, prior = mp.mpf(inputs["noise_variance"]), mp.mpf(inputs["task_variance"])
    penalty = mp.mpf(inputs["penalty"])
    order, excess = min(examples, dimension), abs(examples - dimension)
    unseen = prior * max(0, dimension - examples)
    bayes, ridge, information = mean_sum(
        order,
        excess,
        [
            lambda x: noise / (x + noise / prior),
            lambda x: (prior * penalty**2 + noise * x) / (x + penalty) ** 2,
            lambda x: mp.log(1 + prior * x / noise) / 2,
        ],
    )
    return {
        "bayes_risk": noise + unseen + bayes,
        "ridge_risk": noise + unseen + ridge,
        "mutual_information": information,
    }


def chi_square(degrees, count=400, top=15.0):
    """Nodes and weights of a chi square's law, from Gauss and Legendre's rule for its root."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    root = (nodes + 1) * top / 2
    density = root ** (degrees - 1) * np.exp(-root * root / 2)
    return root * root, weights * density / (weights @ density)


def normal_grid(reach=12.0, step=1 / 64):
    """Nodes and weights of N(0, 1) by the trapezoidal rule."""
    nodes = np.arange(-reach, reach + step / 2, step)
    weights = np.exp(-nodes * nodes / 2)
    return nodes, weights / weights.sum()


def pool_of_two(inputs):
    """The wrong task's log odds are N(-S / 2, S), S = |w - w'|^2 chi^2_l / sigma^2; the error is |w - w'|^2 a^2."""
    noise, prior = float(inputs["noise_variance"]), float(inputs["task_variance"])
    apart, apart_weights = chi_square(inputs["dimension"])
    length, length_weights = chi_square(inputs["examples"])
    g, g_weights = normal_grid()
    error = right = 0.0
    for chi, weight in zip(apart, apart_weights):
        distance = 2 * prior * chi
        spread = distance * length[:, None] / noise
        wrong = 1 / (1 + np.exp(np.minimum(spread / 2 + np.sqrt(spread) * g, 700)))
        error += weight * distance * (length_weights @ (wrong**2 @ g_weights))
        right += weight * (length_weights @ ((1 - wrong) @ g_weights))
    return {"risk": mp.mpf(noise + error), "weight": mp.mpf(right)}


def pool_weight(inputs):
    """The mean of 1 / (1 + sum of the other tasks' odds) over these tasks, as X w' where there is one example."""
    x, y = np.array(inputs["inputs"], float), np.array(inputs["labels"], float)
    right = np.array(inputs["right_task"], float)
    noise, prior = float(inputs["noise_variance"]), float(inputs["task_variance"])
    pool = int(inputs["pool_size"])
    energy = np.sum((y - x @ right) ** 2) / (2 * noise)
    if len(y) == 1:
        scale = np.sqrt(prior * np.sum(x * x))
        if pool > 4:
            return {"weight": large_pool_weight(float(y[0]), scale, noise, energy, pool)}
        g, weights = normal_grid(10.0, 1 / (64 if pool < 4 else 12))
        odds = np.exp(energy - (y[0] - scale * g) ** 2 / (2 * noise))
        total, weight = np.ones(1), np.ones(1)
        for _ in range(pool - 1):
            total = (total[:, None] + odds).ravel()
            weight = (weight[:, None] * weights).ravel()
        return {"weight": mp.mpf(float(weight @ (1 / total)))}
    g, weights = normal_grid(10.0, 1 / 32)  # two dimensions, a pool of two
    first, second = np.meshgrid(g, g, indexing="ij")
    others = np.sqrt(prior) * np.stack([first.ravel(), second.ravel()])
    odds = np.exp(energy - np.sum((y[:, None] - x @ others) ** 2, axis=0) / (2 * noise))
    return {"weight": mp.mpf(float(np.outer(weights, weights).ravel() @ (1 / (1 + odds))))}


def large_pool_weight(label, scale, noise, energy, pool):
    """int e^-s E[exp(-s odds)]^(k - 1) ds over log s; the mean over the misfit u of one task, which is normal."""
    label, scale, noise, energy = (mp.mpf(v) for v in (label, scale, noise, energy))
    stddev = mp.sqrt(noise)
    step = mp.mpf(1) / 16
    misfits = [step * i for i in range(-12 * 16, 12 * 16 + 1)]  # beyond them the odds are below e^-72
    odds = [mp.exp(energy - u * u / 2) for u in misfits]
    weights = [step * mp.npdf(label, stddev * u, scale) * stddev for u in misfits]
    total = mp.mpf(0)
    for i in range(-60 * 8, 5 * 8):
        s = mp.exp(mp.mpf(i) / 8)
        lost = -mp.fsum(w * mp.expm1(-s * o) for w, o in zip(weights, odds))
        total += mp.exp(mp.log(s) - s + (pool - 1) * mp.log1p(-lost)) / 8
    return total


def hermite_rule(points):
    """Nodes and weights for N(0, 1), exact to degree 2 points - 1."""
    if points == 3:
        return [(-mp.sqrt(3), mp.mpf(1) / 6), (mp.mpf(0), mp.mpf(2) / 3), (mp.sqrt(3), mp.mpf(1) / 6)]
    root = mp.sqrt(10)
    near, far = (mp.sqrt(5 - root), (7 + 2 * root) / 60), (mp.sqrt(5 + root), (7 - 2 * root) / 60)
    return [(-far[0], far[1]), (-near[0], near[1]), (mp.mpf(0), mp.mpf(8) / 15), near, far]


def nodes_of(points):
    """Weight and values at every node of a product of rules with so many points in each variable."""
    for node in product(*(hermite_rule(count) for count in points)):
        yield mp.fprod(weight for _, weight in node), [value for value, _ in node]


def sgd_moments(d, length, noise, prior):
    """E w.h / d, E |h|^2 / d, E |w|^2 |h|^2, E w.h |h|^2 / d and E |h|^4 / d of the features h of a context."""
    sums = [[] for _ in range(5)]
    for weight, values in nodes_of([3] * d + ([5] * d + [3]) * length):
        w = [mp.sqrt(prior) * value for value in values[:d]]
        h = [mp.mpf(0)] * d
        for i in range(length):
            *x, e = values[d + i * (d + 1) : d + (i + 1) * (d + 1)]
            y = mp.fdot(w, x) + mp.sqrt(noise) * e
            h = [a + y * b / length for a, b in zip(h, x)]
        wh, hh, ww = mp.fdot(w, h), mp.fdot(h, h), mp.fdot(w, w)
        for into, value in zip(sums, [wh / d, hh / d, ww * hh, wh * hh / d, hh * hh / d]):
            into.append(weight * value)
    return [mp.fsum(values) for values in sums]


def one_pass_sgd(inputs):
    """In the two means of the layer itself, E tr Gamma and E |Gamma|^2, not of its distance from the best one."""
    d, length, batch = inputs["dimension"], inputs["context_length"], inputs["batch"]
    noise, prior, rate = (mp.mpf(inputs[name]) for name in ("noise_variance", "task_variance", "learning_rate"))
    a, b, c0, c1, c2 = sgd_moments(d, length, noise, prior)
    label = noise + prior * d
    trace_, square, kept = mp.mpf(0), mp.mpf(0), []
    for _ in range(inputs["steps"]):
        one = (d + 2) * (c0 - 2 * c1 * trace_ + c2 * square) + d * noise * b * d
        mean = a * a * d - 2 * a * b * trace_ + b * b * square
        pushed = one / batch + (1 - mp.mpf(1) / batch) * mean
        square += 2 * rate * (a * trace_ - b * square) + rate**2 * pushed
        trace_ += rate * (a * d - b * trace_)
        kept.append((trace_, square))
    # the mean of the last layers: E tr Gamma_s^T Gamma_t for s < t, by the mean step from s on
    tail = kept[len(kept) - inputs["tail"] :]
    mean_trace = mp.fsum(t for t, _ in tail) / len(tail)
    mean_square = mp.mpf(0)
    for s, (first, inner) in enumerate(tail):
        mean_square += inner
        for _ in tail[s + 1 :]:
            inner += rate * (a * first - b * inner)
            mean_square += 2 * inner
    mean_square /= len(tail) ** 2
    return {
        "floor": label - a * a * d / b,
        "largest_stable_rate": 2 * b / ((d + 2) * c2 / batch + (1 - mp.mpf(1) / batch) * b * b),
        "risk": label - 2 * a * trace_ + b * square,
        "tail_average_risk": label - 2 * a * mean_trace + b * mean_square,
    }


def context_moments(task, noise, length):
    """E h and E h h^T of a context's features, which are the mean of `length` independent ones of one example each."""
    d = len(task)
    first, second = mp.zeros(d + 1, 1), mp.zeros(d + 1)
    for weight, values in nodes_of([3] * (d + 1)):
        y = mp.fdot(task, values[:d]) + mp.sqrt(noise) * values[d]
        one = mp.matrix([y * x for x in values[:d]] + [y * y])
        first += weight * one
        second += weight * one * one.T
    return first, second / length + (1 - mp.mpf(1) / length) * first * first.T


def pool_of(tasks, noise, length):
    """E w h^T, E h h^T and E y^2 over weighted tasks."""
    d = len(tasks[0][1])
    answers, features, label = mp.zeros(d, d + 1), mp.zeros(d + 1), mp.mpf(0)
    for weight, task in tasks:
        first, second = context_moments(task, noise, length)
        answers += weight * mp.matrix(task) * first.T
        features += weight * second
        label += weight * (mp.fdot(task, task) + noise)
    return answers, features, label


def task_pool(inputs):
    noise, prior, length = mp.mpf(inputs["noise_variance"]), mp.mpf(inputs["task_variance"]), inputs["examples"]
    rows = matrix(inputs["tasks"])
    tasks = [(mp.mpf(1) / rows.rows, [rows[k, i] for i in range(rows.cols)]) for k in range(rows.rows)]
    fresh = [(weight, [mp.sqrt(prior) * x for x in values]) for weight, values in nodes_of([3] * rows.cols)]
    answers, features, label = pool_of(tasks, noise, length)
    layer = answers * features**-1
    new_answers, new_features, new_label = pool_of(fresh, noise, length)

    def error(a, b, square):
        return square - 2 * trace(layer * a.T) + trace(layer * b * layer.T)

    return {"seen": error(answers, features, label), "fresh": error(new_answers, new_features, new_label)}


def pool_limit(inputs):
    d, k, length = (mp.mpf(inputs[name]) for name in ("dimension", "tasks", "examples"))
    noise, prior = mp.mpf(inputs["noise_variance"]), mp.mpf(inputs["task_variance"])
    signal, kappa = prior * d, k / d
    q = d / length * (1 + noise / signal)
    low, high = (1 - 1 / mp.sqrt(kappa)) ** 2, (1 + 1 / mp.sqrt(kappa)) ** 2

    def mean(f):  # in the angle t the density's roots at the ends are smooth
        def integrand(t):
            x = low + (high - low) * mp.sin(t / 2) ** 2
            return kappa * ((high - low) / 2 * mp.sin(t)) ** 2 / (2 * mp.pi * x) * f(x)

        return mp.quad(integrand, mp.linspace(0, mp.pi, 9)) + max(0, 1 - kappa) * f(mp.mpf(0))

    seen = mean(lambda x: x * q / (x + q))
    fresh = mean(lambda x: 1 - 2 * x / (x + q) + (1 + q) * (x / (x + q)) ** 2)
    return {"seen": noise + signal * seen, "fresh": noise + signal * fresh}


def flow_course(inputs):
    d, length = mp.mpf(inputs["dimension"]), mp.mpf(inputs["context_length"])
    noise, prior, start = (mp.mpf(inputs[name]) for name in ("noise_variance", "task_variance", "start"))
    a, b = prior, prior * (1 + (d + 1) / length) + noise / length
    value = mp.sqrt(mp.sqrt(d) * start)

    def slopes(_, weights):
        v, u = weights
        return [d * u * (a - b * v * u), v * (a - b * v * u)]

    course = mp.odefun(slopes, 0, [value, start / value])

    def gain(time):
        v, u = course(time)
        return v * u

    s = gain(mp.mpf(inputs["time"]))
    guess = mp.log(a / (b * start)) / (2 * mp.sqrt(d) * a)
    half = mp.findroot(lambda t: gain(t) - a / b / 2, (guess, guess * mp.mpf("1.05")))
    return {"gain": s, "risk": noise + prior * d - 2 * a * d * s + b * d * s * s, "half_time": half}


def sequence_mixer(inputs):
    """In matrices E s s^T and E s w^T, whose axes are turned by a reflection, and the steady state by a linear system."""
    a, e, b, rho, noise = (mp.mpf(inputs[name]) for name in ("keep", "erase", "write", "persistence", "noise_variance"))
    d = len(inputs["input_variances"])
    normal = mp.matrix([mp.mpf(i + 1) for i in range(d)])
    turn = mp.eye(d) - 2 * normal * normal.T / (normal.T * normal)[0]
    spread, tasks = (turn * mp.diag([mp.mpf(x) for x in inputs[name]]) * turn.T
                     for name in ("input_variances", "task_variances"))

    shared = mp.mpf(d) / (d + 2) if inputs["keys"] == "normalized" else mp.mpf(1)

    def fourth(m):  # E x x^T m x x^T
        return shared * (spread * (m + m.T) * spread + trace(spread * m) * spread)

    def kept(m):
        return a * a * m - a * e * (spread * m + m * spread) + e * e * fourth(m)

    def fed(n):
        crossed = a * n * spread - e * fourth(n)
        return b * (crossed + crossed.T) + b * b * (fourth(tasks) + noise * spread)

    def met(n):
        return rho * (a * n - e * spread * n + b * spread * tasks)

    def risk(m, n):
        return noise + trace(spread * (tasks - 2 * n + m))

    m = n = mp.zeros(d)
    for _ in range(inputs["examples"]):
        m, n = kept(m) + fed(n), met(n)
    steady = (mp.eye(d) - rho * (a * mp.eye(d) - e * spread)) ** -1 * (rho * b * spread * tasks)
    columns = mp.zeros(d * d)
    for k in range(d * d):
        unit = mp.zeros(d)
        unit[k // d, k % d] = 1
        image = unit - kept(unit)
        for i in range(d * d):
            columns[i, k] = image[i // d, i % d]
    force = fed(steady)
    solved = mp.lu_solve(columns, mp.matrix([force[i // d, i % d] for i in range(d * d)]))
    square = mp.matrix(d, d)
    for i in range(d * d):
        square[i // d, i % d] = solved[i]
    return {"risk": risk(m, n), "steady_risk": risk(square, steady)}


def nearest_neighbors(inputs):
    """By pairs, in 1 or 3 dimensions, where all is elementary: (1/k^2) sum of E z_i z_j 1{both among the k nearest}.

    z_i = x_i - x_q. At the distance r the mean of z_i along the query is r tanh(r q) in one dimension, and Langevin's
    function of r q in three. Both of i and j are near if at most k - 2 others are nearer than the farther of the two.
    """
    d, l, k = inputs["dimension"], inputs["examples"], inputs["neighbors"]
    noise, prior = float(inputs["noise_variance"]), float(inputs["task_variance"])
    phi = lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    erf = np.vectorize(math.erf)

    def density(r, q):
        return phi(r - q) + phi(r + q) if d == 1 else r / q * (phi(r - q) - phi(r + q))

    def within(r, q):
        ball = (erf((r - q) / np.sqrt(2)) + erf((r + q) / np.sqrt(2))) / 2
        return ball if d == 1 else ball - (phi(r - q) - phi(r + q)) / q

    def along(r, q):
        return np.tanh(r * q) if d == 1 else 1 / np.tanh(r * q) - 1 / (r * q)

    def at_most(count, trials, p):
        return sum(math.comb(trials, i) * p**i * (1 - p) ** (trials - i) for i in range(min(count, trials) + 1))

    x, weights = np.polynomial.legendre.leggauss(120)
    x, weights = (x + 1) / 2, weights / 2
    total = square = 0.0
    for q, q_weight in zip(11 * x, weights * (11 * x) ** (d - 1) * phi(11 * x)):
        far = q + 11
        r, steps = far * x, far * weights
        p = within(r, q)
        one = l * np.sum(steps * density(r, q) * r * r * at_most(k - 1, l - 1, p))
        nearer = np.outer(r, x)  # below r
        inner = r * np.sum(weights * density(nearer, q) * nearer * along(nearer, q), axis=1)
        if k > 1:
            pair = steps * density(r, q) * r * along(r, q) * inner * at_most(k - 2, l - 2, p)
            one += 2 * l * (l - 1) * np.sum(pair)
        total += q_weight
        square += q_weight * one / k**2
    risk = noise * (1 + 1 / k) + prior * square / total
    return {"risk": mp.mpf(risk)}


GENERATORS = {
    "isotropic": isotropic,
    "pool_of_two": pool_of_two,
    "pool_weight": pool_weight,
    "one_pass_sgd": one_pass_sgd,
    "task_pool": task_pool,
    "pool_limit": pool_limit,
    "flow_course": flow_course,
    "sequence_mixer": sequence_mixer,
    "nearest_neighbors": nearest_neighbors,
}

if __name__ == "__main__":
    mp.mp.dps = 40
    run(__doc__, ["baselines.json"], GENERATORS, digits={"pool_of_two": 12, "pool_weight": 12, "nearest_neighbors": 12})
