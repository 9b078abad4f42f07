"""The protocol between bench/compare and a peer: one JSON object per line, in on stdin, out on stdout.

The first line in is the workload, computed by the library itself (bench/peers/incontext.cpp): sizes, the attention's
matrix, temperatures. Every line after it is an order:

  {"work": "tune", "threads": t}                            -> the candidates tried, and the one kept
  {"work": "literal", "trials": n, "seed": s, "threads": t} -> trials, seconds, means, standard errors, peak memory
  {"work": "sampler", "precision": "float"}                 -> nanoseconds per normal, one thread (NumPy alone)

A peer states what it is ("name", "version", "how") in its first line out.

At the end: what peers on a GPU share, which print lines of bench/gpu/throughput.cu's form.
"""

import json
import resource
import sys
import time


def told(candidate):
    """A candidate in words: "batch 128, products matmul, workers 2"."""
    return ", ".join(f"{key} {value}" for key, value in candidate._asdict().items())


def say(**message):
    print(json.dumps(message), flush=True)


class Totals:
    """Sums of the errors and of their squares, one of each per temperature, in double."""

    def __init__(self, points):
        self.trials = 0
        self.sums = [0.0] * points
        self.squares = [0.0] * points

    def add(self, trials, sums, squares):
        self.trials += trials
        self.sums = [a + float(b) for a, b in zip(self.sums, sums)]
        self.squares = [a + float(b) for a, b in zip(self.squares, squares)]

    def report(self):
        """Means and standard errors."""
        n = self.trials
        means = [total / n for total in self.sums]
        variances = [max(square / n - mean * mean, 0.0) / (n - 1) for square, mean in zip(self.squares, means)]
        return means, [variance**0.5 for variance in variances]


def tune(candidates, run, threads):
    """Times every candidate twice on about a quarter of a second of work, and keeps the fastest."""
    tried = []
    for candidate in candidates:
        run(candidate, 1, 1, threads)  # compiles, allocates, starts threads
        trials, seconds = 2000, 0.0
        while seconds < 0.12:
            trials *= 2
            start = time.perf_counter()
            done = run(candidate, trials, 2, threads).trials
            seconds = time.perf_counter() - start
        start = time.perf_counter()
        again = run(candidate, trials, 3, threads).trials
        best = min(seconds / done, (time.perf_counter() - start) / again)
        tried.append({"candidate": told(candidate), "us_per_trial": 1e6 * best})
    order = sorted(range(len(tried)), key=lambda i: tried[i]["us_per_trial"])
    return candidates[order[0]], tried


def serve(name, version, how, make_run, make_candidates, sampler=None):
    """Answers orders until the input ends.

    make_run(workload) gives run(candidate, trials, seed, threads) -> Totals; trials may be rounded up to whole batches.
    """
    workload = json.loads(sys.stdin.readline())
    run = make_run(workload)
    say(name=name, version=version, how=how)
    kept = {}
    for line in sys.stdin:
        order = json.loads(line)
        threads = order.get("threads", 1)
        if order["work"] == "tune":
            candidate, tried = tune(make_candidates(threads), run, threads)
            kept[threads] = candidate
            say(kept=told(candidate), tried=tried)
        elif order["work"] == "literal":
            start = time.perf_counter()
            totals = run(kept[threads], order["trials"], order["seed"], threads)
            seconds = time.perf_counter() - start
            means, errors = totals.report()
            say(
                trials=totals.trials,
                seconds=seconds,
                us_per_trial=1e6 * seconds / totals.trials,
                means=means,
                standard_errors=errors,
                peak_kib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            )
        elif order["work"] == "sampler" and sampler:
            say(ns_per_normal=sampler(order["precision"]))
        else:
            say(skipped=f"no work called {order['work']}")


# The works of bench/gpu/throughput.cu, for peers on a GPU: name, batches to try, amount per trial, of what.
DIMENSION, CONTEXT_LENGTH, NOISE_STDDEV = 20, 40, 0.1**0.5
EIGHT_TEMPERATURES = [0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0]
ROW_LENGTH = 1_000_000
_NORMALS = DIMENSION * (CONTEXT_LENGTH + 2) + CONTEXT_LENGTH + 2
GPU_WORKS = {
    "literal approximate": ([2**k for k in range(12, 18)], _NORMALS, "normals"),
    "literal softmax x 8": ([2**k for k in range(12, 18)], _NORMALS, "normals"),
    f"score rows of {ROW_LENGTH}": ([16, 64, 256], ROW_LENGTH, "scores"),
}


def print_throughput(peer, works, seconds_of):
    """A line per work in the form of bench/gpu/throughput.cu, at the batch that is fastest.

    works[name] is a function of the batch; seconds_of(work, batch) times one call, which is repeated: the first compiles
    and allocates, the least of five others counts.
    """
    for name, (batches, amount, unit) in GPU_WORKS.items():
        work = works[name]
        fastest = (0.0, 0)
        for batch in batches:
            least = min([seconds_of(work, batch) for _ in range(6)][1:])
            fastest = max(fastest, (amount * batch / least, batch))
        per_second, batch = fastest
        print(f"{peer} {name},{batch},{amount * batch / per_second:.6g},{per_second:.6g},{unit}", flush=True)
