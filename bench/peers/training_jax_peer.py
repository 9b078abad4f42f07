"""Training of one attention layer on the sphere task in JAX on the CPU: one compiled loop over the steps."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import protocol


def loss_of(parameters, inputs, labels, query, query_label, work, is_linear):
    """The mean cross entropy of a batch: inputs (b, n, d), labels (b, n), query (b, d), query_label (b)."""
    d, k = work["dimension"], work["classes"]
    width = d + k
    key_query, output = (parameters[i * width**2 :][: width**2].reshape(width, width).T for i in (0, 1))
    batch, n, _ = inputs.shape
    tokens = jnp.concatenate([inputs, jax.nn.one_hot(labels, k)], axis=2)
    query_token = jnp.concatenate([query, jnp.zeros((batch, k))], axis=1)
    tokens = jnp.concatenate([tokens, query_token[:, None, :]], axis=1)
    scores = work["scale"] * jnp.einsum("bji,bi->bj", tokens, query_token @ key_query.T)
    weights = scores / (n + 1) if is_linear else jax.nn.softmax(scores, axis=1)
    logits = jnp.einsum("bj,bji->bi", weights, tokens) @ output.T[:, d:]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), query_label[:, None], axis=1).mean()


def make_check(work):
    contexts = work["check"]["contexts"]
    d, n = work["dimension"], work["context_length"]
    inputs = jnp.array([c["inputs"] for c in contexts]).reshape(-1, n, d)
    labels, query, query_label = (jnp.array([c[key] for c in contexts]) for key in ("labels", "query", "query_label"))
    loss = partial(loss_of, work=work, is_linear=work["scale"] == 1)
    return jax.value_and_grad(loss)(jnp.array(work["parameters"]), inputs, labels, query, query_label)


def draw(key, batch, work):
    """Points and prototypes uniform on the sphere; the label is the nearest prototype's."""
    d, k, n = work["dimension"], work["classes"], work["context_length"]
    points = jax.random.normal(key, (batch, n + 1 + k, d))
    points /= jnp.linalg.norm(points, axis=2, keepdims=True)
    inputs, prototypes = points[:, : n + 1], points[:, n + 1 :]
    labels = jnp.argmax(jnp.einsum("bji,bci->bjc", inputs, prototypes), axis=2)
    return inputs[:, :n], labels[:, :n], inputs[:, n], labels[:, n]


def make_train(work):
    loss = partial(loss_of, work=work, is_linear=work["scale"] == 1)
    start = jnp.array(work["parameters"], jnp.float32)

    @jax.jit
    def train(key, steps):
        def step(t, state):
            parameters, first, second, total = state
            value, gradient = jax.value_and_grad(loss)(parameters, *draw(jax.random.fold_in(key, t), work["batch"], work))
            gradient *= jnp.minimum(1.0, 10.0 / jnp.linalg.norm(gradient))
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            direction = first / (1 - 0.9 ** (t + 1.0)) / (jnp.sqrt(second / (1 - 0.999 ** (t + 1.0))) + 1e-8)
            total += jnp.where(t >= steps - steps // 10, value, 0.0)
            return parameters - work["rate"] * direction, first, second, total

        zero = jnp.zeros_like(start)
        return jax.lax.fori_loop(0, steps, step, (start, zero, zero, 0.0))[3] / (steps // 10)

    key_of = partial(jax.random.key, impl="rbg")  # the fastest of JAX's generators on a CPU
    float(train(key_of(0), 10))  # compiles
    return lambda steps, seed, threads: float(np.asarray(train(key_of(seed), steps)))


if __name__ == "__main__":
    works = protocol.training(make_check, make_train)
    protocol.serve("JAX", jax.__version__, "jit of the whole loop, value_and_grad, rbg", works)
