"""JAX's side of bench/gpu/throughput.cu on the same GPU: the literal trial and rows of scores, in float, compiled.

The literal trial is that of bench/gpu/torch_peer.py, vectorized over a batch by vmap; random numbers are JAX's default.
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import pathlib
import sys
import time
from functools import partial

import jax
import jax.numpy as jnp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from protocol import (  # noqa: E402
    CONTEXT_LENGTH,
    DIMENSION,
    EIGHT_TEMPERATURES,
    GPU_WORKS,
    NOISE_STDDEV,
    ROW_LENGTH,
    print_throughput,
)

EIGHT = jnp.array(EIGHT_TEMPERATURES, jnp.float32)


def tokens(key):
    of_task, of_query, of_label, of_inputs, of_noise = jax.random.split(key, 5)
    task = jax.random.normal(of_task, (DIMENSION,)) / DIMENSION**0.5
    query = jax.random.normal(of_query, (DIMENSION,))
    label = task @ query + NOISE_STDDEV * jax.random.normal(of_label)
    inputs = jax.random.normal(of_inputs, (CONTEXT_LENGTH, DIMENSION))
    noise = NOISE_STDDEV * jax.random.normal(of_noise, (CONTEXT_LENGTH,))
    return inputs @ query, inputs @ task + noise, label


def approximate(key):
    scores, values, label = tokens(key)
    mean = values.mean()
    return (mean + ((scores * values).mean() - scores.mean() * mean) / 1.5 - label) ** 2


def softmax(key):
    scores, values, label = tokens(key)
    return (jax.nn.softmax(scores[None, :] / EIGHT[:, None], axis=1) @ values - label) ** 2


def score_row(key):
    scores = jax.random.normal(key, (ROW_LENGTH,))
    return jnp.stack([(jax.nn.softmax(beta * scores) ** 2).sum() for beta in (1.0, 4.0)])


@partial(jax.jit, static_argnums=(0, 2))
def means(trial, key, batch):
    return jax.vmap(trial)(jax.random.split(key, batch)).mean(0)


calls = 0


def seconds_of(trial, batch):
    global calls
    calls += 1
    key = jax.random.key(calls)
    start = time.perf_counter()
    means(trial, key, batch).block_until_ready()
    return time.perf_counter() - start


if __name__ == "__main__":
    print_throughput(f"JAX {jax.__version__}", dict(zip(GPU_WORKS, (approximate, softmax, score_row))), seconds_of)
