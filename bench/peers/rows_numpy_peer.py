"""NumPy's side of the workloads rows and arrays of bench/compare: softmax of the rows of a matrix and its vjp, on whole
arrays, into arrays that are there. NumPy's elementwise functions use one thread whatever the order says."""

import numpy

import protocol


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


def row_of(order):
    row = numpy.array([order["scores"]], dtype=numpy.float32)
    weights, change = numpy.empty_like(row), numpy.empty_like(row)
    softmax_vjp(row, row, weights, change)
    return {"weights": weights[0].tolist(), "vjp": change[0].tolist()}


def make_works(workload):
    generator, length = numpy.random.default_rng(1), workload["length"]
    scores, cotangent = generator.standard_normal((2, length, length), dtype=numpy.float32)
    out, pulled = numpy.empty_like(scores), numpy.empty_like(scores)
    functions = {"softmax": lambda: softmax(scores, out),
                 "softmax vjp": lambda: softmax_vjp(scores, cotangent, out, pulled)}
    return {**protocol.timed(functions, most=3), "row": row_of}


if __name__ == "__main__":
    protocol.serve("NumPy", numpy.__version__, "whole arrays", make_works)
