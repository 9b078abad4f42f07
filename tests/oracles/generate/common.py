"""What the generators share: they compute every output of a case anew and compare it with, or write it into, its file.

A generator maps each kind of case to a function from the case's inputs to its outputs. Numbers in a file are decimal
strings; `in` is read as it stands, and the functions turn what they need into numbers.
"""

import argparse
import json
import sys
from pathlib import Path

import mpmath as mp

ORACLES = Path(__file__).resolve().parents[1]
DIGITS = 30  # of a number that is written

mp.mp.dps = 50


def vector(values):
    return [mp.mpf(x) for x in values]


def matrix(rows):
    return mp.matrix([vector(row) for row in rows])


def column(values):
    return mp.matrix(vector(values))


def rows_of(matrix_):
    return [[matrix_[i, j] for j in range(matrix_.cols)] for i in range(matrix_.rows)]


def entries_of(column_):
    return [column_[i] for i in range(column_.rows)]


def dot(a, b):
    return mp.fsum(x * y for x, y in zip(a, b))


def trace(square):
    return mp.fsum(square[i, i] for i in range(square.rows))


def softmax(scores):
    top = max(scores)
    exponentials = [mp.exp(x - top) for x in scores]
    total = mp.fsum(exponentials)
    return [x / total for x in exponentials]


def derivative(function, x, step=mp.mpf(10) ** -24):
    """The derivative of a number or list by central differences; 50 digits leave 24."""
    above, below = function(x + step), function(x - step)
    if isinstance(above, list):
        return [(a - b) / (2 * step) for a, b in zip(above, below)]
    return (above - below) / (2 * step)


def jacobian(function, x):
    """Row i, column j: the derivative of output i by input j."""
    columns = [derivative(lambda t, j=j: function(x[:j] + [t] + x[j + 1 :]), x[j]) for j in range(len(x))]
    return [list(row) for row in zip(*columns)]


def gauss_legendre(low, high, count):
    """Nodes and weights of Gauss and Legendre's rule on an interval."""
    nodes = []
    for i in range(1, count + 1):
        x = mp.cos(mp.pi * (i - mp.mpf(1) / 4) / (count + mp.mpf(1) / 2))
        for _ in range(8):  # Newton's method on Legendre's polynomial
            before, value = mp.mpf(1), x
            for k in range(2, count + 1):
                before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
            slope = count * (x * value - before) / (x * x - 1)
            x -= value / slope
            if abs(value / slope) < mp.mpf(10) ** (5 - mp.mp.dps):
                break
        nodes.append((low + (high - low) * (x + 1) / 2, (high - low) / ((1 - x * x) * slope * slope)))
    return nodes


def text(value):
    """A computed value as it is written."""
    if isinstance(value, dict):
        return {name: text(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [text(part) for part in value]
    if isinstance(value, mp.mpf):
        return "0" if value == 0 else mp.nstr(value, DIGITS, min_fixed=-4, max_fixed=12)
    return value


def largest_entry(value):
    """The largest absolute value in an array of numbers; None for an array of objects."""
    if isinstance(value, dict):
        return None
    if isinstance(value, list):
        parts = [largest_entry(part) for part in value]
        return None if None in parts else max(parts)
    return abs(mp.mpf(value))


def deviations(computed, reference, place, scale=None):
    """Yields each place and the relative distance there; in an array it is relative to the largest entry."""
    if isinstance(reference, dict):
        for name, part in reference.items():
            if name not in computed:
                yield f"{place}.{name} is not computed", mp.inf
            else:
                yield from deviations(computed[name], part, f"{place}.{name}")
    elif isinstance(reference, list):
        if len(computed) != len(reference):
            yield f"{place} has another length", mp.inf
            return
        scale = largest_entry(reference) if scale is None else scale
        for i, part in enumerate(reference):
            yield from deviations(computed[i], part, f"{place}[{i}]", scale)
    elif isinstance(computed, (str, bool)):
        yield place, mp.mpf(0) if computed == reference else mp.inf
    else:
        distance = abs(mp.mpf(computed) - mp.mpf(reference))
        size = abs(mp.mpf(reference)) if scale is None else scale
        # Numbers below the smallest double count as 0.
        if distance < mp.mpf("1e-308"):
            yield place, mp.mpf(0)
        else:
            yield place, mp.inf if size == 0 or mp.isnan(distance) else distance / size


def like(computed, reference):
    """The computed values that a file has, or all of them where it has none yet."""
    if isinstance(reference, dict):
        return {name: like(computed[name], part) for name, part in reference.items()}
    return computed


def file_of(document):
    """The text of a file: a case per line, its keys in order."""
    about = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in document.items() if key != "cases")
    cases = ",\n".join("  " + json.dumps(case, sort_keys=True) for case in document["cases"])
    return f'{{\n{about} "cases": [\n{cases}\n ]\n}}\n'


def run(description, files, generators, digits=None):
    """The command line of a generator; `digits` says of which kinds fewer than 18 digits are meant to agree."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--kinds", default="", help="only these kinds, separated by commas")
    parser.add_argument("--oracles", type=Path, default=ORACLES, help="folder of the files (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="write what was computed instead of comparing")
    arguments = parser.parse_args()
    kinds = [kind for kind in arguments.kinds.split(",") if kind] or list(generators)
    unknown = [kind for kind in kinds if kind not in generators]
    if unknown:
        sys.exit(f"unknown kinds: {', '.join(unknown)}; known: {', '.join(generators)}")
    wrong = 0
    for name in files:
        path = arguments.oracles / name
        document = json.loads(path.read_text())
        cases = [case for case in document["cases"] if case["kind"] in kinds]
        for case in cases:
            computed = generators[case["kind"]](case["in"])
            if arguments.write:
                case["out"] = text(like(computed, case.get("out")))
                continue
            place, worst = max(deviations(computed, case["out"], case["id"]), key=lambda pair: pair[1])
            bad = worst > mp.mpf(10) ** -(digits or {}).get(case["kind"], 18)
            wrong += bad
            print(f"{'DIFFERS' if bad else 'agrees':8} {case['id']}: {mp.nstr(worst, 2)} at {place}", flush=True)
        if arguments.write:
            path.write_text(file_of(document))
        if not cases:
            sys.exit(f"{path}: no case of {', '.join(kinds)}")
    sys.exit(f"{wrong} cases differ" if wrong else 0)
