#!/usr/bin/env python3
"""Reference values of the exact baselines of in-context regression: tests/oracles/baselines.json.

    python3 tests/oracles/generate/baselines.py [--kinds isotropic] [--write]

The mean of a sum over the eigenvalues of a real Wishart matrix, here from de Bruijn's Pfaffian of their joint density
(docs/theory/baselines.md#pfaffian), which shares nothing with the recursions of the library but that density.
"""

import mpmath as mp

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


GENERATORS = {"isotropic": isotropic}

if __name__ == "__main__":
    mp.mp.dps = 40
    run(__doc__, ["baselines.json"], GENERATORS)
