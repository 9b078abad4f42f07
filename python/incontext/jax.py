"""The scoring maps as functions of JAX's arrays. Needs jax.

    gradient = jax.grad(lambda z, s: incontext.jax.weights(incontext.scoring.SSMax(), z, scale=s)[0], (0, 1))(scores, 0.4)

The maps are formulas of arrays: on every device, with derivatives of every order by the scores and by the parameters,
forward and backward, under jit and vmap. Half precision is computed in float32. Entmax and Sparsemax find their weights
on the CPU, through jax.pure_callback, and have right derivatives of the first three orders.
"""
from __future__ import annotations

import math
import sys
from typing import Any

import jax
import jax.numpy
import numpy

from . import _formulas, scoring
from ._signatures import own_names
from .scoring import Map, Visibility


def _entmax_on_host(scores: Any, alpha: Any) -> Any:
    """Weights of alpha-entmax; rows that it refuses are NaN."""
    z, a = numpy.asarray(scores), numpy.asarray(alpha)
    valid = numpy.isfinite(z.max(axis=-1, keepdims=True)) & (a > 0) & (a != 1) & (a < math.inf)
    alphas = numpy.broadcast_to(numpy.where(numpy.isfinite(a) & (a > 0) & (a != 1), a, 2.0), z.shape[:-1] + (1,))
    found = scoring.Entmax(alphas)(numpy.where(valid, z, 0), finite_masks=False)
    return numpy.where(valid, found, numpy.nan).astype(z.dtype)


class _Jax:
    name = "jax"
    where = staticmethod(jax.numpy.where)
    log = staticmethod(jax.numpy.log)
    log1p = staticmethod(jax.numpy.log1p)
    exp = staticmethod(jax.numpy.exp)
    expm1 = staticmethod(jax.numpy.expm1)
    sqrt = staticmethod(jax.numpy.sqrt)
    tanh = staticmethod(jax.numpy.tanh)
    maximum = staticmethod(jax.numpy.maximum)
    minimum = staticmethod(jax.numpy.minimum)
    stopped = staticmethod(jax.lax.stop_gradient)

    @staticmethod
    def softmax(values: Any) -> Any:
        return jax.nn.softmax(values, axis=-1)

    @staticmethod
    def sum(values: Any, axes: tuple[int, ...]) -> Any:
        return values.sum(axis=axes, keepdims=True)

    @staticmethod
    def largest(values: Any, axes: tuple[int, ...]) -> Any:
        return values.max(axis=axes, keepdims=True)

    @staticmethod
    def arange(stop: int, like: Any) -> Any:
        return jax.numpy.arange(stop)

    @staticmethod
    def filled(value: float, like: Any) -> Any:
        return jax.numpy.asarray(value, like.dtype)

    @staticmethod
    def epsilon(like: Any) -> float:
        return float(jax.numpy.finfo(like.dtype).eps)

    @staticmethod
    def tiny(like: Any) -> float:
        return float(jax.numpy.finfo(like.dtype).tiny)

    @staticmethod
    def dtype_like(values: Any, like: Any) -> Any:
        return jax.numpy.asarray(values, like.dtype)

    @staticmethod
    def entmax_weights(scores: Any, alpha: Any) -> Any:
        scores, alpha = jax.lax.stop_gradient(scores), jax.lax.stop_gradient(alpha)
        alpha = jax.numpy.broadcast_to(alpha, scores.shape[:-1] + (1,))
        shape = jax.ShapeDtypeStruct(scores.shape, scores.dtype)
        return jax.pure_callback(_entmax_on_host, shape, scores, alpha, vmap_method="broadcast_all")

    @staticmethod
    def is_differentiated(*arrays: Any) -> bool:
        return any(isinstance(array, jax.core.Tracer) for array in arrays)

    @staticmethod
    def range(array: Any) -> tuple[float, float]:
        return float(array.min()), float(array.max())

    @staticmethod
    def is_concrete(*arrays: Any) -> bool:
        return not any(isinstance(array, jax.core.Tracer) for array in arrays)

    @staticmethod
    def numpy(array: Any) -> Any:
        return numpy.asarray(array)


_LIBRARY: Any = _Jax()


def weights(map: Map, scores: Any, visibility: Visibility | str = Visibility.all, *,
            finite_masks: bool = True, zero_masked_rows: bool = False, **parameters: Any) -> Any:
    """The map's weights along the last axis of an array of floating point numbers, and of its type.

    A parameter given by its name replaces the map's own: a number, or an array, traced or not, with a shape that
    broadcasts against the scores and 1 as its last size, such as (heads, 1, 1) for one number per head.

    -infinity masks a key, and so does a finite score of at most -5000 in the maps that count their keys, as
    docs/scoring.md says; with `finite_masks=False` every finite score is a score. A row that shows no key is one outside
    the domain; with `zero_masked_rows=True` its weights and their derivatives are 0. A row or a parameter outside the domain
    is an error, and NaN where its values are traced, as under jit, vmap and grad.
    """
    given = jax.numpy.asarray(scores)
    if not jax.numpy.issubdtype(given.dtype, jax.numpy.floating):
        raise TypeError(f"incontext.jax.weights: scores are not floating point numbers (value = {given.dtype})")
    wide = given if given.dtype in (jax.numpy.float32, jax.numpy.float64) else given.astype("float32")
    return _formulas.weights(_LIBRARY, map, wide, visibility, finite_masks, zero_masked_rows, parameters).astype(given.dtype)


def __dir__() -> list[str]:
    return own_names(sys.modules[__name__])
