"""The protocol between bench/compare and a contestant: one JSON object per line, in on stdin, out on stdout.

The first line in is the workload: sizes, matrices, temperatures. Our programs, which state it, print it in place of
reading it. The first line out says who answers ("name", "version", "how"). Every line in after it is an order, which
has a "work", a "seed" and "threads", and every line out its answer:

  simulation      {"work": "tune"}                            -> the candidates tried, and the one kept
                  {"work": "literal", "trials": n}            -> trials, seconds, means, standard errors
                  {"work": "sampler", "precision": "float"}   -> nanoseconds per normal, one thread (NumPy alone)
  training        {"work": "check"}                           -> loss and gradient of the workload's contexts, by work
                  {"work": "linear" | "softmax", "steps": n}  -> seconds, the mean loss of the last tenth
  rows, arrays    {"work": "softmax" | ..., "repetitions": k} -> wall and processor seconds of the fastest
                  {"work": "row", "scores": z}                -> weights of a row, and its vjp along the scores
                  {"work": "output"}                          -> some numbers of the output of attention
  classification  in bench/peers/classification_numpy_peer.py

A work that a contestant does not have is answered by {"skipped": why}.

At the end: what peers on a GPU share, which print lines of bench/gpu/throughput.cu's form.
"""

import json
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial


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


_pools = {}


def side_by_side(workers, trials):
    """The totals of trials that workers share, each in a thread of its own: worker.run(trials) -> Totals."""
    share = -(-trials // len(workers))
    if len(workers) == 1:
        return workers[0].run(share)
    pool = _pools.setdefault(len(workers), ThreadPoolExecutor(len(workers)))
    parts = list(pool.map(lambda worker: worker.run(share), workers))
    for part in parts[1:]:
        parts[0].add(part.trials, part.sums, part.squares)
    return parts[0]


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


def serve(name, version, how, make_works):
    """Answers orders until the input ends. make_works(workload) -> {work: function of the order -> answer}."""
    works = make_works(json.loads(sys.stdin.readline()))
    say(name=name, version=version, how=how)
    for line in sys.stdin:
        order = json.loads(line)
        work = works.get(order["work"])
        say(**(work(order) if work else {"skipped": f"no work called {order['work']}"}))


def simulation(make_run, make_candidates, sampler=None):
    """make_run(workload) -> run(candidate, trials, seed, threads) -> Totals; trials may be rounded up to batches."""

    def make_works(workload):
        run, kept = make_run(workload), {}

        def tuned(order):
            threads = order["threads"]
            kept[threads], tried = tune(make_candidates(threads), run, threads)
            return {"kept": told(kept[threads]), "tried": tried}

        def literal(order):
            start = time.perf_counter()
            totals = run(kept[order["threads"]], order["trials"], order["seed"], order["threads"])
            seconds = time.perf_counter() - start
            means, errors = totals.report()
            return {"trials": totals.trials, "seconds": seconds, "us_per_trial": 1e6 * seconds / totals.trials,
                    "means": means, "standard_errors": errors}

        works = {"tune": tuned, "literal": literal}
        if sampler:
            works["sampler"] = lambda order: {"ns_per_normal": sampler(order["precision"])}
        return works

    return make_works


def training(make_check, make_train):
    """make_check(work) -> (loss, gradient); make_train(work) -> train(steps, seed, threads) -> loss.

    All peers train the same layer: the logits are the last k rows of P sum_j a_j e_j, with a = scores / n or
    softmax(scores), scores = scale e_j^T M e_q, tokens e_j = (x_j; y_j) and, as the last key, e_q = (x; 0). The
    parameters are M and P, each by columns. They draw contexts whose classes are not balanced, which is less work.
    """

    def make_works(workload):
        def check(work):
            loss, gradient = make_check(work)
            return {"loss": float(loss), "gradient": [float(x) for x in gradient]}

        def trained(train, order):
            start = time.perf_counter()
            loss = train(order["steps"], order["seed"], order["threads"])
            return {"seconds": time.perf_counter() - start, "loss": loss}

        works = {name: partial(trained, make_train(work)) for name, work in workload.items()}
        return {**works, "check": lambda order: {name: check(work) for name, work in workload.items()}}

    return make_works


def fastest(work, repetitions):
    """Least wall and processor seconds of a call, after one that does not count."""
    wall = processor = float("inf")
    work()
    for _ in range(repetitions):
        wall_before, processor_before = time.perf_counter(), time.process_time()
        work()
        wall = min(wall, time.perf_counter() - wall_before)
        processor = min(processor, time.process_time() - processor_before)
    return {"wall": wall, "processor": processor}


def timed(functions, most=10_000):
    """The works that time functions of a name, at most so many times."""
    return {name: lambda order, call=call: fastest(call, min(order["repetitions"], most))
            for name, call in functions.items()}


def attention_inputs(shape):
    """Queries, keys and values of that shape, which all contestants can make, flat."""
    count = math.prod(shape)
    return [[((i * factor) % 1009) / 504.5 - 1 for i in range(count)] for factor in (7919, 7907, 7901)]


STRIDE = 251  # of the numbers of an output that are compared


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
