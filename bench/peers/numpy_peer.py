"""The literal simulation in NumPy: batches of contexts, one generator per thread, batched matrix products.

What a competent user would write: float32 throughout, no Python loop over trials or tokens, buffers reused, the
isotropic input scale moved from the 2000 inputs of a context to its two directions, all temperatures from three sums.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # the batches are what runs in parallel

import time
from collections import namedtuple

import numpy as np

import protocol

Candidate = namedtuple("Candidate", "batch products workers")


class Worker:
    """One thread's generator and buffers."""

    def __init__(self, workload, batch, products, seed):
        d, l = workload["dimension"], workload["context_length"]
        self.w = workload
        self.batch, self.products = batch, products
        self.rng = np.random.default_rng(seed)
        self.inputs = np.empty((batch, l, d), np.float32)
        self.noise = np.empty((batch, l), np.float32)
        self.directions = np.empty((batch, d, 2), np.float32)
        self.key_query = np.array(workload["key_query"], np.float32)
        self.inverse = (1.0 / np.array(workload["temperatures"])).astype(np.float32)

    def errors(self):
        """One batch of squared errors, temperatures by trials."""
        w, rng, batch = self.w, self.rng, self.batch
        d, l = w["dimension"], w["context_length"]
        f = np.float32
        task = rng.standard_normal((batch, d), dtype=f) * f(w["task_stddev"])
        query = rng.standard_normal((batch, d), dtype=f) * f(w["input_stddev"])
        label = np.einsum("bi,bi->b", task, query)
        label += rng.standard_normal(batch, dtype=f) * f(w["noise_stddev"])
        self.directions[:, :, 0] = query @ self.key_query.T
        self.directions[:, :, 1] = task
        self.directions *= f(w["input_stddev"])
        rng.standard_normal(dtype=f, out=self.inputs)
        rng.standard_normal(dtype=f, out=self.noise)
        if self.products == "matmul":
            both = np.matmul(self.inputs, self.directions)
            scores, values = both[:, :, 0], both[:, :, 1]
        elif self.products == "matvec":
            scores = np.matmul(self.inputs, self.directions[:, :, :1])[:, :, 0]
            values = np.matmul(self.inputs, self.directions[:, :, 1:])[:, :, 0]
        else:
            scores = np.einsum("bld,bd->bl", self.inputs, self.directions[:, :, 0])
            values = np.einsum("bld,bd->bl", self.inputs, self.directions[:, :, 1])
        self.noise *= f(w["noise_stddev"])
        values = values + self.noise
        mean_value = values.mean(axis=1)
        covariance = np.einsum("bl,bl->b", scores, values) / f(l) - scores.mean(axis=1) * mean_value
        difference = mean_value - label + self.inverse[:, None] * covariance
        return difference * difference

    def run(self, trials):
        totals = protocol.Totals(len(self.inverse))
        while totals.trials < trials:
            errors = self.errors().astype(np.float64)
            totals.add(self.batch, errors.sum(axis=1), np.einsum("tb,tb->t", errors, errors))
        return totals


def make_run(workload):
    def run(candidate, trials, seed, threads):
        seeds = np.random.SeedSequence(seed).spawn(candidate.workers)
        workers = [Worker(workload, candidate.batch, candidate.products, s) for s in seeds]
        return protocol.side_by_side(workers, trials)

    return run


def candidates(threads):
    return [
        Candidate(batch, products, threads)
        for products in ("matmul", "matvec", "einsum")
        for batch in (32, 128, 512, 2048)
    ]


def sampler(precision):
    """Nanoseconds per normal, drawn into a buffer in the cache: the best of three sizes, a tenth of a second each."""
    kind = np.float32 if precision == "float" else np.float64
    rng = np.random.default_rng(1)
    best = float("inf")
    for size in (4096, 16384, 65536):
        buffer = np.empty(size, kind)
        rng.standard_normal(dtype=kind, out=buffer)
        done, start = 0, time.perf_counter()
        while (seconds := time.perf_counter() - start) < 0.1:
            for _ in range(10):
                rng.standard_normal(dtype=kind, out=buffer)
            done += 10 * size
        best = min(best, 1e9 * seconds / done)
    return best


if __name__ == "__main__":
    protocol.serve(
        "NumPy",
        np.__version__,
        "batched float32, default_rng (PCG64), a generator a thread, buffers reused",
        protocol.simulation(make_run, candidates, sampler),
    )
