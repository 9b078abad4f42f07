#!/usr/bin/env python3
"""Reference values of the exact baselines of in-context regression: tests/oracles/baselines.json.

    python3 tests/oracles/generate/baselines.py [--kinds isotropic] [--write]

Pools of tasks (docs/theory/baselines.md#two-tasks): the error of two by the law of their log odds, and the weight of the
right one by integrals over the other tasks themselves, or, for a pool that is too large for that, over one of them at 40
digits.

Isotropic tasks: the mean of a sum over the eigenvalues of a real Wishart matrix, here from de Bruijn's Pfaffian of their joint density
(docs/theory/baselines.md#pfaffian), which shares nothing with the recursions of the library but that density.
"""

import mpmath as mp
import numpy as np

from common import gauss_legendre, run

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


GENERATORS = {"isotropic": isotropic, "pool_of_two": pool_of_two, "pool_weight": pool_weight}

if __name__ == "__main__":
    mp.mp.dps = 40
    run(__doc__, ["baselines.json"], GENERATORS, digits={"pool_of_two": 12, "pool_weight": 12})
