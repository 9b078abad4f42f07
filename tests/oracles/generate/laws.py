#!/usr/bin/env python3
"""Reference values of the laws of a row of scores: kinds of tests/oracles/scoring.json.

    python3 tests/oracles/generate/laws.py [--kinds rem,gradflow,...] [--write]

Compares what it computes with the file, or writes it. The formulas are those of docs/theory/laws.md. `rem_pmax` is an
extrapolation in double precision, of 7 digits.
"""

from functools import lru_cache

import mpmath as mp
import numpy as np

from common import gauss_legendre, run
from normal_row import REACH, NormalRow


def logistic(x):
    return 1 / (1 + mp.exp(-x))


def two_level_weight(count, gap):
    """The weight of one score `gap` above count - 1 equal ones."""
    return 1 / (1 + (count - 1) * mp.exp(-gap))


def fading_two_level(case):
    n, gap = mp.mpf(case["n"]), mp.mpf(case["high"]) - mp.mpf(case["low"])
    scaled = mp.mpf(case["s"]) * mp.log(n) * gap
    others = (n - 1) * mp.exp(-scaled)
    return {
        "softmax_max": two_level_weight(n, gap),
        "ssmax_max": two_level_weight(n, scaled),
        "ssmax_one_minus_max": others / (1 + others),
    }


def fading_thresholds(case):
    s = mp.mpf(case["s"])
    return {
        "softmax_half_n": 1 + mp.exp(mp.mpf(case["gap"])),
        "ssmax_crossover_n": mp.exp(1 / s),
        "ssmax_critical_gap": 1 / s,
    }


def fading_grid(case):
    """n - 1 scores at k / (n - 2), k = 0 ... n - 2, whose exponentials are a geometric series, and one at z_max."""
    n, s, z = case["n"], mp.mpf(case["s"]), mp.mpf(case["z_max"])
    beta = s * mp.log(n)
    log_sum = lambda b: mp.log(mp.expm1(b * mp.mpf(n - 1) / (n - 2)) / mp.expm1(b / mp.mpf(n - 2)))
    softmax, ssmax = log_sum(mp.mpf(1)), log_sum(beta)
    return {
        "softmax_logS": softmax,
        "softmax_zstar": softmax,
        "softmax_weight": logistic(z - softmax),
        "ssmax_beta": beta,
        "ssmax_logS": ssmax,
        "ssmax_zstar": ssmax / beta,
        "ssmax_weight": logistic(beta * z - ssmax),
        "ssmax_zstar_asymptotic": 1 + 1 / s - mp.log(beta) / beta,
        "width_10_90": 2 * mp.log(9) / beta,
    }


def gap_bounds(case):
    n, gap, spread = (mp.mpf(case[name]) for name in ("n", "gap_to_second", "range"))
    beta = mp.mpf(case["s"]) * mp.log(n)
    return {
        "lower": two_level_weight(n, beta * gap),
        "upper": two_level_weight(n, beta * spread),
        "softmax_lower": two_level_weight(n, gap),
        "softmax_upper": two_level_weight(n, spread),
    }


def spike_uniform(case):
    """The Jacobian diag(p) - p p^T with one weight p and n - 1 equal ones, by its eigenvalues."""
    n, p = mp.mpf(case["n"]), mp.mpf(case["p"])
    rest = (1 - p) / (n - 1)
    lifted = p * (1 - p) * n / (n - 1)
    return {
        "spec": max(lifted, rest),
        "fro2": lifted**2 + (n - 2) * rest**2,
        "trace": lifted + (n - 2) * rest,
        "entropy": -p * mp.log(p) - (1 - p) * mp.log(rest),
    }


@lru_cache(maxsize=4)
def normal_row(n, x, largest_exponent=0):
    return NormalRow(n, x, largest_exponent)


def rem(case):
    """M = sum a g, V = sum a (g - M)^2, T = sum a^2 (g - M)^2, P = diag(a) - a a^T."""
    n, x = case["n"], mp.mpf(case["x"])
    moment = normal_row(n, case["x"]).moment
    log_partition, mean, mean_square = normal_row(n, case["x"]).log_partition(), moment((1, 1)), moment((1, 1), (1, 1))
    y2, y3, y22 = moment((2, 0)), moment((3, 0)), moment((2, 0), (2, 0))
    squared_variance = moment((1, 2), (1, 2)) - 2 * moment((1, 2), (1, 1), (1, 1)) + moment(*[(1, 1)] * 4)
    weighted = moment((2, 2)) - 2 * moment((2, 1), (1, 1)) + moment((2, 0), (1, 1), (1, 1))
    return {
        "Y2": y2,
        "Y3": y3,
        "Y22": y22,
        "E_logZ": log_partition,
        "E_entropy": log_partition - x * mean,
        "E_M": mean,
        "E_M2": mean_square,
        "E_V": moment((1, 2)) - mean_square,
        "E_V2": squared_variance,
        "E_T": weighted,
        "E_PF2": y2 - 2 * y3 + y22,
        "E_trP2": 1 - 2 * y2 + y22,
        "theta": x / mp.sqrt(2 * mp.log(n)),
        "annealed_logEZ": mp.log(n) + x**2 / 2,
        "annealed_Y2": mp.exp(x**2) / n,
    }


def gradflow(case):
    """Mean squares of a mean token and of its covariance with the scores, d dimensions, from the row's moments."""
    x, d, row = mp.mpf(case["x"]), case["d"], rem(case)
    token = d * row["Y2"] + x**2 * (1 - row["Y2"] - 6 * row["Y3"] + 6 * row["Y22"])
    parallel = row["E_V2"] + (d - 1) * row["E_T"]
    orthogonal = row["E_T"] + row["E_trP2"] + d * row["E_PF2"]
    isotropic = (parallel + (d - 1) * orthogonal) / d
    return {
        "E_xbar2": token,
        "E_Ch2_parallel": parallel,
        "E_Ch2_perp": orthogonal,
        "E_Ch2_isotropic": isotropic,
        "ratio_rms_K_over_V": x * mp.sqrt(isotropic / token),
    }


def rem_needle(case):
    n, x = case["N_noise"], mp.mpf(case["x"])
    exponents = [mp.mpf(b) for b in case["beta_m"]]
    row = normal_row(n, case["x"], max(exponents + [mp.mpf(0)]))
    annealed = mp.log(n) + x**2 / 2
    point = lambda b: {"beta_m": b, "E_p_needle": row.needle(b), "annealed_lower_bound": logistic(b - annealed)}
    return {"points": [point(b) for b in exponents]}


def rem_random_needle(case):
    n, exponent, stddev = case["N_noise"], mp.mpf(case["beta_m"]), mp.mpf(case["beta_sd_needle"])
    row = normal_row(n, case["x"], exponent + REACH * stddev)
    return {
        "E_p_needle": row.needle(exponent, stddev),
        "consistency_iid": row.needle(mp.mpf(0), mp.mpf(case["x"])),
        "consistency_iid_exact": 1 / mp.mpf(n + 1),
    }


def rem_needle_complement(case):
    n, x, exponent = case["N_noise"], mp.mpf(case["x"]), mp.mpf(case["beta_m"])
    return {
        "E_one_minus_p": normal_row(n, case["x"], exponent).noise(exponent),
        "leading": n * mp.exp(x**2 / 2 - exponent),
    }


def largest_weight(n, x, step):
    """E max a = n int E[exp(y - e^y), all others below] ds, by the trapezoidal rule in double precision."""
    step = min(step, 0.3 * x)
    g = np.arange(-int(10 * x / step), int(10 * x / step) + 1) * (step / x)
    density = np.exp(-g * g / 2) / np.sqrt(2 * np.pi) * (step / x)
    total = 0.0
    for s in np.arange(-(45 + np.log(n) + x * x / 2), 10 * x + 5, step):
        tw = np.exp(np.minimum(s + x * g, 60))
        kernel = density * np.exp(-tw)
        total += (kernel * tw * (np.cumsum(kernel) - kernel / 2) ** (n - 1)).sum()
    return n * total * step


def rem_pmax(case):
    """The error is a series in even powers of the step: two steps of Richardson's extrapolation."""
    coarse, middle, fine = (largest_weight(case["n"], float(case["x"]), step) for step in (0.12, 0.06, 0.03))
    return {"E_p_max": mp.mpf((16 * (4 * fine - middle) / 3 - (4 * middle - coarse) / 3) / 15)}


def top_scores(case):
    """The top k of n = 2 or 3 sorted scores. The differences of three are r sin t and r cos t, 0 < t < pi / 3, up to
    factors: r has the density r exp(-r^2 / 2), and t is uniform. The smaller difference of two is r, half normal."""
    n, k, x = case["n"], case["k"], mp.mpf(case["x"])
    radii = [node for i in range(32) for node in gauss_legendre(mp.mpf(i) / 2, mp.mpf(i + 1) / 2, 24)]
    if n == 2:
        rows = [(2 * w * mp.npdf(r), [1, mp.exp(-x * mp.sqrt(2) * r)]) for r, w in radii]
    else:
        rows = []
        for t, part in gauss_legendre(mp.mpf(0), mp.pi / 3, 50):
            second = mp.sqrt(2) * mp.sin(t)
            third = mp.sqrt(mp.mpf(3) / 2) * mp.cos(t) + second / 2
            rows += [(w * part * 3 / mp.pi * r * mp.exp(-r * r / 2), [1, mp.exp(-x * r * second), mp.exp(-x * r * third)])
                     for r, w in radii]
    return {"kept": mp.fsum(p * mp.fsum(row[:k]) / mp.fsum(row) for p, row in rows),
            "lost": mp.fsum(p * mp.fsum(row[k:]) / mp.fsum(row) for p, row in rows)}


def rem_ssa(case):
    """SSA's weights (1 + b |z|)^(+-k) of normal scores, whose kink at 0 asks for panels on either side."""
    n, v, b, k = case["n"], mp.mpf(case["v"]), mp.mpf(case["b"]), mp.mpf(case["n_exp"])
    score = lambda z: mp.sign(z) * k * mp.log1p(b * abs(z))
    panels = [(side * i, side * (i + 1)) for side in (1, -1) for i in range(REACH)]
    nodes = [(g, abs(w)) for low, high in panels for g, w in gauss_legendre(mp.mpf(low), mp.mpf(high), 20)]
    row = [(score(mp.sqrt(v) * g), w * mp.exp(-g * g / 2) / mp.sqrt(2 * mp.pi)) for g, w in nodes]
    mean = mp.fsum(w * mp.exp(f) for f, w in row)
    square = mp.fsum(w * mp.exp(2 * f) for f, w in row)
    signal = score(mp.mpf(case["needle_score"]))
    step = mp.mpf("0.13")
    ipr = log_partition = weight = mp.mpf(0)
    for i in range(int(-80 / step), int(9 / step)):
        s = i * step
        exponents = [(s + f, w) for f, w in row if s + f < 5]
        psi = mp.fsum(w * mp.exp(-mp.exp(y)) for y, w in exponents)
        ipr += n * mp.fsum(w * mp.exp(2 * y - mp.exp(y)) for y, w in exponents) * psi ** (n - 1) * step
        log_partition += (mp.exp(-mp.exp(s)) - psi**n) * step
        weight += mp.exp(s + signal - mp.exp(s + signal)) * psi**n * step
    return {
        "E_w": mean,
        "E_w2": square,
        "E_logZ": log_partition,
        "Y2": ipr,
        "Y2_lln": square / mean**2 / n,
        "E_p_needle": weight,
    }


def retrieval_boundary(case):
    y = mp.mpf(case["y"])
    return {"a_c": 1 + y / 2 if y < 2 else mp.sqrt(2 * y), "noise_phase": "self-averaging" if y < 2 else "frozen"}


def poisson_dirichlet(case):
    """E max = int exp(-t) / psi(t) dt, psi(t) = exp(-t) + t^m gamma(1 - m, t)."""
    m = mp.mpf(case["m"])
    psi = lambda t: mp.exp(-t) + t**m * mp.gammainc(1 - m, 0, t)
    with mp.workdps(35):
        largest = mp.quad(lambda t: mp.exp(-t) / psi(t), [0, 0.25, 1, 4, 16, 40, 100])
    return {
        "E_sum_p2": 1 - m,
        "E_sum_p3": (1 - m) * (2 - m) / 2,
        "E_entropy": mp.digamma(1) - mp.digamma(1 - m),
        "E_max": largest,
    }


def approx_error_expected(case):
    """The error of approximate softmax on normal scores; its limit is that of exp(c - v/2) - 1 - c, c of variance v."""
    n, v = case["n"], mp.mpf(case["v"]) / mp.mpf(case["tau"]) ** 2
    ipr = normal_row(n, mp.nstr(mp.sqrt(v), 40)).moment((2, 0))
    excess = lambda c: mp.exp(c - v / 2) - 1 - c
    low = mp.findroot(excess, (mp.mpf(-1), v / 2), solver="anderson", tol=1e-80, verify=False)
    high = mp.findroot(excess, (v / 2, v / 2 + 6 + v), solver="anderson", tol=1e-80, verify=False)
    x = mp.sqrt(v)
    # Its mean is 0, so its mean size is twice that of its negative part, which lies between the roots.
    negative = mp.quad(lambda c: -excess(c) * mp.npdf(c, 0, x), [low, 0, high])
    return {
        "n2_E_e2_exact": n * ipr - 1 - v + 2 * v * ipr - v / n,
        "n2_E_e2_limit": mp.exp(v) - 1 - v,
        "n_E_abs_e_limit": 2 * negative,
        "P_negative_weight": mp.ncdf(-1 / mp.sqrt(v * (1 - mp.mpf(1) / n))),
    }


GENERATORS = {
    "fading_two_level": fading_two_level,
    "fading_thresholds": fading_thresholds,
    "fading_grid": fading_grid,
    "gap_bounds": gap_bounds,
    "spike_uniform": spike_uniform,
    "rem": rem,
    "gradflow": gradflow,
    "rem_needle": rem_needle,
    "rem_random_needle": rem_random_needle,
    "rem_needle_complement": rem_needle_complement,
    "rem_pmax": rem_pmax,
    "top_scores": top_scores,
    "rem_ssa": rem_ssa,
    "retrieval_boundary": retrieval_boundary,
    "poisson_dirichlet": poisson_dirichlet,
    "approx_error_expected": approx_error_expected,
}

if __name__ == "__main__":
    run(__doc__, ["scoring.json"], GENERATORS, {"rem_pmax": 6})
