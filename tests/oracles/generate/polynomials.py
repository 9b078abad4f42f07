#!/usr/bin/env python3
"""Computes the polynomials of include/incontext/core/elementary.hpp and compares them with the printed ones.

    python3 tests/oracles/generate/polynomials.py

Every polynomial is a minimax fit: the largest value of |weight * (polynomial - function)| over an interval is as small
as possible. Remez's algorithm finds it. At the best polynomial of degree n the error takes its largest value, with
alternating signs, at n + 2 points; so solve for the polynomial whose error alternates at n + 2 trial points, move the
points to the extrema of its error, and repeat until the extrema are equal. The printed coefficients come from the same
fits, stopped a little earlier: they agree to 6 digits or more, and their largest error is that of the best polynomial
to 3 %.
"""

import re
import sys
from pathlib import Path

import mpmath as mp

mp.mp.dps = 60
HEADER = Path(__file__).resolve().parents[3] / "include/incontext/core/elementary.hpp"


def solve_alternation(function, weight, points, degree):
    """Coefficients, lowest first, of the polynomial whose weighted error is +h, -h, +h ... at the points, and h."""
    rows, right = [], []
    for i, x in enumerate(points):
        rows.append([weight(x) * x**k for k in range(degree + 1)] + [(-1) ** i])
        right.append(weight(x) * function(x))
    solution = mp.lu_solve(mp.matrix(rows), mp.matrix(right))
    return list(solution)[:-1], abs(solution[degree + 1])


def extremum(error, left, right):
    """Where |error| is largest between two points, by golden section."""
    ratio = (mp.sqrt(5) - 1) / 2
    a, b = left, right
    for _ in range(60):
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        if abs(error(c)) > abs(error(d)):
            b = d
        else:
            a = c
    return max([left, (a + b) / 2, right], key=lambda x: abs(error(x)))


def extrema(error, low, high, cells=600):
    """Where |error| is largest between two changes of its sign, from left to right."""
    grid = [low + (high - low) * i / cells for i in range(cells + 1)]
    values = [error(x) for x in grid]
    best = []
    for i, value in enumerate(values):
        if best and value * values[best[-1]] > 0:
            if abs(value) > abs(values[best[-1]]):
                best[-1] = i
        elif value != 0:
            best.append(i)
    return [extremum(error, grid[max(i - 1, 0)], grid[min(i + 1, cells)]) for i in best]


def minimax(function, interval, degree, weight=lambda x: 1):
    """Coefficients, highest first, of the minimax polynomial and its largest weighted error."""
    low, high = map(mp.mpf, interval)
    count = degree + 2
    # Chebyshev's points, which leave out the ends, where a weight may be 0
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    for _ in range(20):
        coefficients, level = solve_alternation(function, weight, points, degree)
        error = lambda x: weight(x) * (mp.polyval(coefficients[::-1], x) - function(x))
        points = extrema(error, low, high)
        while len(points) > count:
            points.pop(0 if abs(error(points[0])) < abs(error(points[-1])) else -1)
        worst = max(abs(error(x)) for x in points)
        if worst - level < mp.mpf(10) ** -10 * level:
            break
    return coefficients[::-1], worst


def removable(function, value_at_zero):
    """A function with a removable singularity at 0."""
    return lambda x: value_at_zero if abs(x) < mp.mpf(10) ** -24 else function(x)


def root(function):
    """A function of the square root of its argument."""
    return lambda x: function(mp.sqrt(x))


LOG_INTERVAL = (mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1)  # f, where 1 + f is between sqrt(1/2) and sqrt(2)
ARTANH_INTERVAL = (0, ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2)  # s^2, where s = f / (2 + f)
EXP_INTERVAL = (-mp.log(2) / 2, mp.log(2) / 2)
TURN_INTERVAL = (0, mp.mpf(1) / 16)  # t^2, where t is at most a quarter of a turn

# -2 log(1 + f) / f;  (2 artanh(s) - 2 s) / s^3;  (e^r - 1 - r) / r^2;  sin(2 pi t) / t;  cos(2 pi t)
log_quotient = removable(lambda f: -2 * mp.log1p(f) / f, mp.mpf(-2))
artanh_rest = removable(root(lambda s: (2 * mp.atanh(s) - 2 * s) / s**3), mp.mpf(2) / 3)
exp_rest = removable(lambda r: (mp.expm1(r) - r) / r**2, mp.mpf(1) / 2)
sine_quotient = removable(root(lambda t: mp.sin(2 * mp.pi * t) / t), 2 * mp.pi)
cosine = root(lambda t: mp.cos(2 * mp.pi * t))


def relative_weight(x):
    return 1 / abs(log_quotient(x))


def exp_weight(r):
    """What an error of the polynomial is in e^r, and a little more near 0, where it would count for nothing."""
    return r**2 + mp.mpf("0.001")


def sine_weight(x):
    """What an error of the polynomial is in sin(2 pi t), and a little more near t = 0."""
    return mp.sqrt(x) + mp.mpf("0.02")


def plain(x):
    return 1


# In the order of the header: name, function, interval, degree, weight.
FITS = [
    ("logarithm, float", log_quotient, LOG_INTERVAL, 7, relative_weight),
    ("logarithm, double", artanh_rest, ARTANH_INTERVAL, 6, plain),
    ("exponential, float", exp_rest, EXP_INTERVAL, 4, exp_weight),
    ("exponential, double", exp_rest, EXP_INTERVAL, 9, exp_weight),
    ("sine, float", sine_quotient, TURN_INTERVAL, 4, sine_weight),
    ("cosine, float", cosine, TURN_INTERVAL, 4, plain),
    ("sine, double", sine_quotient, TURN_INTERVAL, 8, plain),
    ("cosine, double", cosine, TURN_INTERVAL, 9, plain),
]


def printed_polynomials(text):
    """The coefficients of every Horner chain of the header, highest first."""
    number = r"(-?\d+\.[\de-]+)f?"
    chains = []
    for line in text.splitlines():
        start = re.match(rf"  (?:float|double|Number) [pqr] = {number}(?: \* w \+ {number})?;", line)
        step = re.match(rf"  ([pqr]) = \1 \* \w ([+-]) {number};", line)
        if start:
            chains.append([mp.mpf(x) for x in start.groups() if x])
        elif step:
            chains[-1].append(mp.mpf(step.group(2) + step.group(3)))
    return chains


def largest_error(coefficients, function, interval, weight, cells=2000):
    low, high = map(mp.mpf, interval)
    grid = (low + (high - low) * i / cells for i in range(cells + 1))
    return max(abs(weight(x) * (mp.polyval(coefficients, x) - function(x))) for x in grid)


def main():
    printed = printed_polynomials(HEADER.read_text())
    if len(printed) != len(FITS):
        sys.exit(f"{HEADER}: {len(printed)} polynomials instead of {len(FITS)}")
    wrong = 0
    print(f"{'polynomial':20}  {'largest error':>13}  {'printed / best':>14}  {'coefficients differ by':>22}")
    for (name, function, interval, degree, weight), coefficients in zip(FITS, printed):
        best, error = minimax(function, interval, degree, weight)
        if len(coefficients) != degree + 1:
            sys.exit(f"{name}: {len(coefficients)} coefficients instead of {degree + 1}")
        ratio = largest_error(coefficients, function, interval, weight) / error
        difference = max(abs(x / y - 1) for x, y in zip(coefficients, best))
        print(f"{name:20}  {mp.nstr(error, 3):>13}  {mp.nstr(ratio, 7):>14}  {mp.nstr(difference, 2):>22}")
        wrong += not (ratio < 1.03 and difference < 1e-6)
    sys.exit(f"{wrong} polynomials are not the printed ones" if wrong else 0)


if __name__ == "__main__":
    main()
