"""NumPy's side of bench/compare_rows: softmax of the rows of a matrix and its vjp, on whole arrays, into arrays that are
there. NumPy's elementwise functions use one thread whatever the order says.

Orders as bench/peers/rows.cpp takes them; the keys of WORKS and "row" are known here.
"""

import json
import sys
import time

import numpy

LENGTH = 4096
generator = numpy.random.default_rng(1)
scores = generator.standard_normal((LENGTH, LENGTH), dtype=numpy.float32)
cotangent = generator.standard_normal((LENGTH, LENGTH), dtype=numpy.float32)
out = numpy.empty_like(scores)
pulled = numpy.empty_like(scores)


def softmax(rows, to):
    numpy.subtract(rows, rows.max(-1, keepdims=True), out=to)
    numpy.exp(to, out=to)
    to /= to.sum(-1, keepdims=True)
    return to


def softmax_vjp(rows, along, weights, to):
    """The weights are computed again, as ours are."""
    softmax(rows, weights)
    mean = numpy.einsum("ij,ij->i", weights, along)
    numpy.subtract(along, mean[:, None], out=to)
    to *= weights
    return to


WORKS = {"softmax": lambda: softmax(scores, out), "softmax vjp": lambda: softmax_vjp(scores, cotangent, out, pulled)}


def fastest(work, repetitions):
    wall = processor = float("inf")
    work()
    for _ in range(repetitions):
        wall_before, processor_before = time.perf_counter(), time.process_time()
        work()
        wall = min(wall, time.perf_counter() - wall_before)
        processor = min(processor, time.process_time() - processor_before)
    return {"wall": wall, "processor": processor}


def say(message):
    print(json.dumps(message), flush=True)


say({"name": "NumPy", "version": numpy.__version__, "how": "whole arrays"})
for line in sys.stdin:
    order = json.loads(line)
    if order["work"] == "row":
        row = numpy.array([order["scores"]], dtype=numpy.float32)
        weights, change = numpy.empty_like(row), numpy.empty_like(row)
        softmax_vjp(row, row, weights, change)
        say({"weights": weights[0].tolist(), "vjp": change[0].tolist()})
        continue
    say(fastest(WORKS[order["work"]], min(order["repetitions"], 3)))
