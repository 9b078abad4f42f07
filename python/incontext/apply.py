"""Attention that does not form the matrix of weights, forward and backward.

    out = incontext.apply.attend(incontext.scoring.SSMax(0.4), queries, keys, values, "causal")

Softmax, SSMax and SSA are fused: the keys are read in blocks, in memory that grows with the number of queries and not
with that of pairs. For the other maps the matrix of scores is formed.
"""
from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from . import _arrays
from ._record import Record
from .scoring import SSA, Map, Softmax, SSMax, Visibility, _visibility_of, parameter_names

FUSED = (Softmax, SSMax, SSA)


class AttentionGradient(Record):
    """Gradients of a loss by the queries, keys, values and parameters of attention, each of the shape of its own."""

    queries: Any
    keys: Any
    values: Any
    parameters: dict[str, Any]


class _Layer:
    """Queries, keys and values as batches of matrices: their axes before the last two broadcast."""

    def __init__(self, where: str, map: Map, **arrays: Any) -> None:
        for name, array in arrays.items():
            if numpy.ma.is_masked(array):
                raise ValueError(f"incontext::apply::{where}: masked elements of {name} (value = "
                                 f"{numpy.ma.getmaskarray(array).sum()} of them; needs whole tokens: leave masked keys out)")
        given = {name: numpy.asarray(array) for name, array in arrays.items()}
        for name, array in given.items():
            if array.dtype.kind not in "fiu":
                raise TypeError(f"incontext::apply::{where}: {name} are not real numbers (value = {array.dtype})")
            if array.ndim < 2:
                raise ValueError(f"incontext::apply::{where}: wrong number of axes of {name} (value = {array.ndim}; "
                                 "needs tokens x components, or more)")
        narrow = all(array.dtype.kind == "f" and array.dtype.itemsize <= 4 for array in given.values())
        self.type = numpy.dtype("float32" if narrow else "float64")
        self.shapes = {name: array.shape for name, array in given.items()}
        self.map, self.arrays = map, {name: array.astype(self.type, copy=False) for name, array in given.items()}
        self.own = {name: numpy.asarray(getattr(map, name), "float64") for name in parameter_names(map)}
        per_row = [name for name, value in self.own.items() if value.ndim > 1 and value.shape[-2] != 1]
        self.is_fused = isinstance(map, FUSED) and not per_row
        self._require(where)
        try:
            self.lead = numpy.broadcast_shapes(*(array.shape[:-2] for array in given.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in given.items())
            raise ValueError(f"incontext::apply::{where}: the axes before the last two do not broadcast (value = "
                             f"{shapes}; needs equal sizes, or 1)") from None
        self.count = int(numpy.prod(self.lead, dtype=int))
        self.is_empty = 0 in (self.count, given["queries"].shape[-2], given["values"].shape[-1])
        rows = self.lead + (given["queries"].shape[-2], 1)
        for name, value in self.own.items():
            pairs = list(zip(value.shape[::-1], rows[::-1]))
            if value.ndim > len(rows) or any(size not in (1, needed) for size, needed in pairs):
                raise ValueError(f"incontext::apply::{where}: the shape of {name} does not fit the scores (value = "
                                 f"{value.shape}; needs a shape that broadcasts to {rows})")

    def _require(self, where: str) -> None:
        shape = {name: array.shape for name, array in self.arrays.items()}
        pairs = [("components of keys", shape["keys"][-1], shape["queries"][-1]),
                 ("number of values", shape["values"][-2], shape["keys"][-2])]
        if "cotangent" in shape:
            pairs += [("rows of cotangent", shape["cotangent"][-2], shape["queries"][-2]),
                      ("columns of cotangent", shape["cotangent"][-1], shape["values"][-1])]
        for name, found, needed in pairs:
            if found != needed:
                raise ValueError(f"incontext::apply::{where}: {name} (value = {found}; needs {needed})")
        for name, array in self.arrays.items():
            if not numpy.isfinite(array).all():
                index = tuple(int(i) for i in numpy.argwhere(~numpy.isfinite(array))[0])
                raise ValueError(f"incontext::apply::{where}: a number of {name} is not finite, at {list(index)} "
                                 f"(value = {array[index]}; needs finite numbers)")

    def batch(self, name: str) -> Any:
        array = self.arrays[name]
        whole = numpy.broadcast_to(array, self.lead + array.shape[-2:])
        return numpy.ascontiguousarray(whole).reshape(self.count, *array.shape[-2:])

    def map_of_matrices(self) -> Map:
        """The map with one number per matrix for every parameter that is an array."""
        fields = {name: numpy.broadcast_to(value, self.lead + (1, 1)).reshape(self.count)
                  for name, value in self.own.items() if value.ndim}
        replaced: Map = self.map.replace(**fields)
        return replaced

    def scores(self) -> Any:
        products = self.arrays["queries"] @ numpy.swapaxes(self.arrays["keys"], -1, -2)
        return numpy.broadcast_to(products, self.lead + products.shape[-2:])

    def empty(self, *shape: int) -> Any:
        return numpy.zeros((self.count, *shape), self.type)


def _summed(array: Any, shape: tuple[int, ...]) -> Any:
    """The sum over the axes along which an array of that shape was broadcast."""
    array = array.sum(axis=tuple(range(array.ndim - len(shape))))
    kept = tuple(axis for axis, size in enumerate(shape) if size == 1 and array.shape[axis] != 1)
    return numpy.asarray(array.sum(axis=kept, keepdims=True) if kept else array)


def attend(map: Map, queries: Any, keys: Any, values: Any, visibility: Visibility | str = Visibility.all, *,
           threads: int = 0) -> NDArray[Any]:
    """Outputs of attention: the values weighted by the map of the products of each query with its keys.

    queries: ... x q x d, keys: ... x n x d, values: ... x n x dv -> ... x q x dv; the axes before the last two
    broadcast. float32 if all three are, or narrower, else float64. The products are not divided: sqrt(d) is often the
    map's temperature. A parameter of the map may be an array that broadcasts against ... x q x 1; with one number per
    matrix, the attention is still fused. Numbers that are not finite are refused. A product is a score, however low it
    is. Under "causal" fewer queries than keys are the last ones. `threads=0` takes all. Runs without the interpreter's
    lock, and ends at Ctrl-C between two matrices.

    >>> import numpy
    >>> from incontext.scoring import SSMax
    >>> queries, keys, values = numpy.eye(2), numpy.eye(2), numpy.array([[1.0], [0.0]])
    >>> attend(SSMax(2.0), queries, keys, values, "causal").round(3)
    array([[1. ],
           [0.2]])
    """
    visibility = _visibility_of(visibility)
    layer = _Layer("attend", map, queries=queries, keys=keys, values=values)
    if not layer.is_fused:
        weights = map(layer.scores(), visibility, finite_masks=False).astype(layer.type, copy=False)
        return numpy.asarray(weights @ layer.arrays["values"])
    q, k, v = (layer.batch(name) for name in ("queries", "keys", "values"))
    out = layer.empty(q.shape[1], v.shape[2])
    if not layer.is_empty:
        _arrays.apply.attend(layer.map_of_matrices(), q, k, v, out, visibility, threads)
    return numpy.asarray(out.reshape(*layer.lead, *out.shape[1:]))


def attention_gradient(map: Map, queries: Any, keys: Any, values: Any, cotangent: Any,
                       visibility: Visibility | str = Visibility.all, *, threads: int = 0) -> AttentionGradient:
    """The backward pass of `attend`: gradients of a loss whose gradient by the outputs, the cotangent, is given.

    Shapes and options are those of `attend`; cotangent: ... x q x dv. A gradient has the shape of what it is by, and is
    summed over the axes along which that was broadcast. `.parameters` has those of the map's real parameters, by name.

    >>> import numpy
    >>> from incontext.scoring import SSMax
    >>> queries, keys, values = numpy.eye(2), numpy.eye(2), numpy.array([[1.0], [0.0]])
    >>> by_scale = attention_gradient(SSMax(2.0), queries, keys, values, [[1.0], [0.0]]).parameters["scale"]
    >>> f"{by_scale:.4f}"
    '0.1109'
    """
    visibility = _visibility_of(visibility)
    layer = _Layer("attention_gradient", map, queries=queries, keys=keys, values=values, cotangent=cotangent)
    if not layer.is_fused:
        return _gradient_by_weights(layer, visibility)
    q, k, v, g = (layer.batch(name) for name in ("queries", "keys", "values", "cotangent"))
    out = tuple(layer.empty(*one.shape[1:]) for one in (q, k, v))
    sums = {name: numpy.zeros(len(q)) for name in layer.own}
    if not layer.is_empty:
        _arrays.apply.attention_gradient(layer.map_of_matrices(), q, k, v, g, out, sums, visibility, threads)
    by = {name: _summed(one.reshape(*layer.lead, *one.shape[1:]), layer.shapes[name])
          for name, one in zip(("queries", "keys", "values"), out)}
    parameters = {name: _summed(one.reshape(*layer.lead, 1, 1), layer.own[name].shape) for name, one in sums.items()}
    return AttentionGradient(**by, parameters=parameters)


def _gradient_by_weights(layer: _Layer, visibility: Visibility | str) -> AttentionGradient:
    q, k, v, g = (layer.arrays[name] for name in ("queries", "keys", "values", "cotangent"))
    scores = layer.scores()
    attention = layer.map(scores, visibility, finite_masks=False).astype(layer.type, copy=False)
    by_weight = numpy.broadcast_to(g @ numpy.swapaxes(v, -1, -2), attention.shape)
    by_score = layer.map.vjp(scores, by_weight, visibility, finite_masks=False).astype(layer.type, copy=False)
    by = {"queries": by_score @ k, "keys": numpy.swapaxes(by_score, -1, -2) @ q,
          "values": numpy.swapaxes(attention, -1, -2) @ g}
    parameters = {name: _summed((by_weight * layer.map.derivative(name, scores, visibility, finite_masks=False)).sum(-1, keepdims=True),
                                value.shape) for name, value in layer.own.items()}
    return AttentionGradient(**{name: _summed(one, layer.shapes[name]) for name, one in by.items()},
                             parameters=parameters)
