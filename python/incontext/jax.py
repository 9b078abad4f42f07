"""The scoring maps as functions of JAX's arrays, with their exact derivatives. Needs jax.

    gradient = jax.grad(lambda z: incontext.jax.weights(incontext.scoring.SSMax(0.4), z)[0])(scores)

The map is computed on the CPU through jax.pure_callback, so it works under jit and vmap. Half precision is computed in
float32. The derivative is the map's own vjp, by jax.custom_vjp: reverse mode, once.
"""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy
import numpy

from .scoring import Map, Visibility


def _call(function: Any, like: Any, *arrays: Any) -> Any:
    def on_host(*values: Any) -> Any:
        wide = [numpy.asarray(value) for value in values]
        wide = [value if value.dtype in (numpy.float32, numpy.float64) else value.astype("float32") for value in wide]
        return numpy.asarray(function(*wide)).astype(values[0].dtype)

    shape = jax.ShapeDtypeStruct(like.shape, like.dtype)
    return jax.pure_callback(on_host, shape, *arrays, vmap_method="broadcast_all")


def weights(map: Map, scores: Any, visibility: Visibility = Visibility.all) -> Any:
    """The map's weights along the last axis of an array, which jax.grad and jax.vjp can differentiate."""

    @jax.custom_vjp
    def function(z: Any) -> Any:
        return _call(lambda a: map(a, visibility), z, z)

    def forward(z: Any) -> Any:
        return function(z), z

    def backward(z: Any, cotangent: Any) -> Any:
        return (_call(lambda a, c: map.vjp(a, c, visibility), z, z, cotangent),)

    function.defvjp(forward, backward)
    return function(jax.numpy.asarray(scores))
