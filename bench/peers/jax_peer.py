"""The literal simulation in JAX on the CPU: one compiled loop over batches, vmap over trials, sums carried along."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import protocol

Candidate = namedtuple("Candidate", "batch generator workers")


def make_run(workload):
    w = workload
    d, l = w["dimension"], w["context_length"]
    key_query = jnp.array(w["key_query"], jnp.float32)
    inverse = 1.0 / jnp.array(w["temperatures"], jnp.float32)

    def trial(normals):
        task = normals[:d] * w["task_stddev"]
        query = normals[d : 2 * d] * w["input_stddev"]
        label = task @ query + w["noise_stddev"] * normals[2 * d]
        noise = normals[2 * d + 1 : 2 * d + 1 + l] * w["noise_stddev"]
        inputs = normals[2 * d + 1 + l :].reshape(l, d)
        scores = inputs @ (w["input_stddev"] * (key_query @ query))
        values = inputs @ (w["input_stddev"] * task) + noise
        mean_value = values.mean()
        covariance = (scores * values).mean() - scores.mean() * mean_value
        return (mean_value - label + inverse * covariance) ** 2

    @partial(jax.jit, static_argnums=(1,))
    def batches(key, batch, first, count):
        def one(i, sums):
            normals = jax.random.normal(jax.random.fold_in(key, i), (batch, d * (l + 2) + l + 1), jnp.float32)
            errors = jax.vmap(trial)(normals)
            mean = errors.mean(0)  # two passes a batch: float32 sums of squares would lose the variance
            return sums[0] + mean, sums[1] + ((errors - mean) ** 2).sum(0), sums[2] + mean**2

        zero = jnp.zeros(len(w["temperatures"]), jnp.float32)
        return jax.lax.fori_loop(first, first + count, one, (zero, zero, zero))

    pools = {}

    def share(candidate, key, first, count):
        """Blocks of at most 64 batches, so that float32 carries few additions; the blocks are added in double."""
        totals = protocol.Totals(len(w["temperatures"]))
        pending = [
            (min(64, first + count - at), batches(key, candidate.batch, at, min(64, first + count - at)))
            for at in range(first, first + count, 64)
        ]
        for done, result in pending:
            mean, spread, square = (np.asarray(part, np.float64) for part in result)
            totals.add(done * candidate.batch, mean * candidate.batch, spread + candidate.batch * square)
        return totals

    def run(candidate, trials, seed, threads):
        key = jax.random.key(seed, impl=candidate.generator)
        count = -(-trials // candidate.batch)
        if candidate.workers == 1:
            return share(candidate, key, 0, count)
        pool = pools.setdefault(candidate.workers, ThreadPoolExecutor(candidate.workers))
        each = -(-count // candidate.workers)
        totals = protocol.Totals(len(w["temperatures"]))
        for part in pool.map(lambda i: share(candidate, key, i * each, each), range(candidate.workers)):
            totals.add(part.trials, part.sums, part.squares)
        return totals

    return run


def candidates(threads):
    return [
        Candidate(batch, generator, workers)
        for workers in sorted({1, threads})
        for generator in ("threefry2x32", "rbg")
        for batch in (4, 16, 64)
    ]


if __name__ == "__main__":
    protocol.serve(
        "JAX",
        jax.__version__,
        "jit, vmap, random.normal float32, one compiled loop over batches",
        protocol.simulation(make_run, candidates),
    )
