"""Maps from scores to attention weights, and their derivatives."""
from __future__ import annotations

from typing import Any, Callable

import numpy
from numpy.typing import NDArray

from . import _arrays, _core
from ._arrays.scoring import *  # noqa: F403
from ._core.scoring import *  # noqa: F403
from ._record import Record, brief, is_number_or_array
from ._records.scoring import *  # noqa: F403
from ._records.scoring import KernelNormalization, ScoreNormalization, ScoreScale, Visibility, _HeatSchedule


class _Parametrized(Record):
    _of_any = ("a number or an array", is_number_or_array)


class Map(_Parametrized):
    """A map from a row of scores to weights. `map(scores)` is `weights(map, scores)`, along the last axis or along `axis`.

    A parameter may be an array that broadcasts against the scores with 1 as its last size, such as heads x 1 x 1. Under
    "causal" the last two axes are queries x keys, and a query does not see later keys; fewer queries than keys are the
    last ones, so that a single row sees every key. The masked elements of a masked array, and scores of -infinity, are
    keys that are not seen. In the maps that count keys, or take a mean or deviation of them, a finite score of at most
    -5000 is a mask too if it is at most 200 times the lowest score above -5000 in its row, as in incontext.calibrate;
    one that is nearer to the others is refused, and so is a row of such scores alone. With `finite_masks=False` every
    finite score is a score. A row that shows no key is refused; with `zero_masked_rows=True` its weights and their
    derivatives are 0, as for the padding of a batch.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        for name in self._fields:
            value = getattr(self, name)
            if isinstance(value, (int, float, str)):
                continue
            traced = type(value).__module__.startswith("jax") and "Tracer" in type(value).__name__
            if traced or getattr(value, "requires_grad", False):
                library = "jax" if traced else "torch"
                raise TypeError(f"incontext::scoring::{type(self).__name__}: {name} is a number here, and would not be "
                                f"differentiated (value = {type(value).__name__}): give it to incontext.{library}.weights"
                                f"({type(self).__name__}(), scores, {name}=...)"
                                + ("" if traced else f", or train incontext.torch.{type(self).__name__}()"))

    def __call__(self, scores: Any, visibility: Visibility | str = Visibility.all, *, axis: int = -1,
                 out: Any = None, finite_masks: bool = True, zero_masked_rows: bool = False) -> NDArray[Any]:
        """The weights along an axis. `out` is an array of the result's shape and type for the result."""
        return self._along("weights", scores, None, visibility, axis, out, finite_masks, zero_masked_rows)

    def log_weights(self, scores: Any, visibility: Visibility | str = Visibility.all, *, axis: int = -1,
                    out: Any = None, finite_masks: bool = True, zero_masked_rows: bool = False) -> NDArray[Any]:
        """Logarithms of the weights, along an axis."""
        return self._along("log_weights", scores, None, visibility, axis, out, finite_masks, zero_masked_rows)

    def jvp(self, scores: Any, direction: Any, visibility: Visibility | str = Visibility.all, *, axis: int = -1,
            out: Any = None, finite_masks: bool = True, zero_masked_rows: bool = False) -> NDArray[Any]:
        """The Jacobian times a direction, along an axis."""
        return self._along("jvp", scores, direction, visibility, axis, out, finite_masks, zero_masked_rows)

    def vjp(self, scores: Any, cotangent: Any, visibility: Visibility | str = Visibility.all, *, axis: int = -1,
            out: Any = None, finite_masks: bool = True, zero_masked_rows: bool = False,
            weights: Any = None) -> NDArray[Any]:
        """The transposed Jacobian times a cotangent, along an axis. `weights` are those of the same scores, if a forward
        pass has kept them: in rows of 16 scores or more softmax, SSMax and SSA then compute no exponential. Shorter rows
        and other maps do not read them."""
        return self._along("vjp", scores, cotangent, visibility, axis, out, finite_masks, zero_masked_rows, kept=weights)

    def derivative(self, parameter: str, scores: Any, visibility: Visibility | str = Visibility.all, *, axis: int = -1,
                   out: Any = None, finite_masks: bool = True, zero_masked_rows: bool = False) -> NDArray[Any]:
        """The derivative of the weights by a parameter, such as "scale", along an axis."""
        return self._along("derivative", scores, parameter, visibility, axis, out, finite_masks, zero_masked_rows)

    def _along(self, operation: str, scores: Any, other: Any, visibility: Visibility | str, axis: int,
               out: Any, *masks: bool, kept: Any = None) -> NDArray[Any]:
        visibility = _visibility_of(visibility)
        if isinstance(axis, int) and axis == -1:
            return self._apply(operation, scores, other, visibility, out, *masks, kept=kept)
        if not hasattr(axis, "__index__") or numpy.ndim(axis):
            raise TypeError(f"incontext::scoring::Map: axis is of the wrong type (value = {axis!r}; needs a whole number)")

        def last(array: Any) -> Any:
            return numpy.moveaxis(array, axis, -1)

        given = numpy.asanyarray(scores)  # which keeps the mask of a masked array
        if isinstance(other, str) or other is None:
            beside = other
        else:
            beside = last(_beside(other, given))
        found = self._apply(operation, last(given), beside, visibility, None if out is None else last(out), *masks,
                            kept=None if kept is None else last(_beside(kept, given)))
        result: NDArray[Any] = numpy.moveaxis(found, -1, axis) if out is None else out
        return result

    def _apply(self, operation: str, scores: Any, other: Any, visibility: Visibility | str, out: Any,
               *masks: bool, kept: Any = None) -> NDArray[Any]:
        arrays = (scores,) if other is None else (other, scores) if operation == "derivative" else (scores, other)
        last = (kept,) if operation == "vjp" else ()
        found: NDArray[Any] = getattr(_arrays.scoring, operation)(self, *arrays, visibility, out, *masks, *last)
        return found

    def jacobian(self, scores: Any, *, finite_masks: bool = True) -> NDArray[Any]:
        """The matrix of derivatives of the weights of one row."""
        return numpy.asarray(_core.scoring.jacobian(self, scores, finite_masks))


def parameter_names(map: Map | type[Map]) -> tuple[str, ...]:
    """The real parameters of a map.

    >>> parameter_names(SSMax), parameter_names(NormSoftmax), parameter_names(Sparsemax)
    (('scale', 'bias'), ('temperature',), ())
    """
    if not (isinstance(map, Map) or isinstance(map, type) and issubclass(map, Map)):
        raise TypeError(f"incontext.scoring.parameter_names: map is of the wrong type "
                        f"(value = {map!r:.80}; needs a map)")
    return tuple(name for name in map._fields if name in PARAMETERS and name not in map._choices)


class _Kernel(_Parametrized):
    """A function of a query and a key: `kernel(q, k)` is its value."""

    def __call__(self, query: Any, key: Any) -> float:
        found: float = _core.scoring._kernel_value(self, numpy.asarray(query, "float64"), numpy.asarray(key, "float64"))
        return found


# which needs the names above
from ._records.maps import *  # noqa: E402, F403
from ._records.maps import PARAMETERS, RATIO_FUNCTIONS, CosformerKernel, SSMax  # noqa: E402


class RatioScore(Map):
    """A function f of each score over a normalizer: f(z) is 1 for "average", tanh z, max(z, 0) for "relu", z^2 for "square".

    The normalizer is the number of scores by default, and 1, the sum of f or that of |f| for the other choices.
    """

    function: str
    normalization: ScoreNormalization = ScoreNormalization.context_length

    @property
    def _name(self) -> str:
        if self.function not in RATIO_FUNCTIONS:
            raise ValueError(f"incontext::scoring::RatioScore: function is unknown (value = {self.function}; needs "
                             f"{', '.join(RATIO_FUNCTIONS)})")
        return self.function


class MatrixNormSoftmax(Map):
    """NormSoftmax with one divisor for a whole matrix of scores, the last two axes; computed in float64.

    >>> import numpy
    >>> scores = numpy.array([[0.0, 1.0, 2.0], [0.0, 5.0, 10.0]])
    >>> MatrixNormSoftmax(10.0)(scores)[1].round(3)
    array([0.046, 0.188, 0.766])
    >>> NormSoftmax(10.0)(scores)[1].round(3)
    array([0.063, 0.213, 0.725])
    """

    temperature: Any = 1.0
    scale: ScoreScale = ScoreScale.population_stddev

    def _apply(self, operation: str, scores: Any, other: Any, visibility: Visibility | str, out: Any,
               *masks: bool, kept: Any = None) -> NDArray[Any]:
        finite_masks, zero_masked_rows = masks
        if operation == "derivative":
            if other != "temperature":
                raise ValueError("incontext::scoring::derivative: the map has no such parameter (value = "
                                 f"{other}; needs temperature)")
            other = None
        given = _with_masks(scores, finite_masks, zero_masked_rows)
        if given.ndim < 2:
            raise ValueError(f"incontext::scoring::MatrixNormSoftmax: wrong number of array dimensions "
                             f"(value = {given.ndim}; needs queries x keys, or more)")
        seen = numpy.where(_seen(given.shape, visibility), given, -numpy.inf)
        shown = (seen > -numpy.inf).any(-1)
        refused = ~(seen < numpy.inf).all(-1) | (~shown & (not zero_masked_rows))
        for row in seen[refused][:1]:
            SSMax()(row, finite_masks=False)  # raises what C++ says of the row
        beside = _beside(numpy.asarray(given if other is None else other, "float64"), given)
        if other is not None:
            beside = numpy.where(numpy.isfinite(seen), beside, 0.0)
        function = getattr(_core.scoring, "_matrix_normsoftmax_" + operation)

        def of_rows(z: Any, w: Any) -> Any:
            rows = (z > -numpy.inf).any(-1)
            result = numpy.full(z.shape, -numpy.inf if operation == "log_weights" else 0.0)
            if rows.any():
                result[rows] = function(self, z[rows], w[rows])
            return result

        found: NDArray[Any] = _each_matrix(of_rows, seen, beside)
        if out is None:
            return found
        numpy.copyto(out, found)
        return numpy.asarray(out)

    def jacobian(self, scores: Any, *, finite_masks: bool = True) -> Any:
        raise TypeError("MatrixNormSoftmax has no Jacobian of one row: use jvp or vjp")


def _beside(other: Any, scores: Any) -> Any:
    """A direction or a cotangent with the shape of the scores."""
    try:
        return numpy.broadcast_to(other, scores.shape)
    except ValueError:
        raise ValueError("incontext::scoring::Map: the array beside the scores does not broadcast to them (value = "
                         f"{numpy.shape(other)}; needs {scores.shape})") from None


def _visibility_of(visibility: Any) -> Visibility:
    """The choice that a name stands for."""
    if isinstance(visibility, Visibility):
        return visibility
    if isinstance(visibility, str):
        choice: Any = Visibility  # which takes names, too
        return choice(visibility)  # type: ignore[no-any-return]
    raise TypeError(f"incontext::scoring::Map: visibility is of the wrong type (value = {brief(visibility)}; needs all or "
                    "causal; any other mask is -inf in the scores)")


_HIGHEST_MASK = -5000.0  # calibration::highest_mask


def _is_mask_beside(scores: Any, lowest_visible: Any) -> Any:
    """Whether scores of at most _HIGHEST_MASK are masks; calibration::is_mask_beside. Arrays of any library."""
    return scores <= 200 * lowest_visible


def _with_masks(scores: Any, finite_masks: bool = True, zero_masked_rows: bool = False) -> Any:
    """The scores in float64, with -infinity for masked elements and for the finite masks of every row."""
    given = numpy.asarray(scores, "float64")
    if isinstance(scores, numpy.ma.MaskedArray):
        given = numpy.where(numpy.ma.getmaskarray(scores), -numpy.inf, given)
    low = given <= _HIGHEST_MASK
    finite = low & numpy.isfinite(given)
    if not finite_masks or not finite.any():
        return given
    lowest = numpy.where(low, numpy.inf, given).min(axis=-1, keepdims=True)
    masked = numpy.all(low, axis=-1, keepdims=True)
    refused = finite & numpy.where(masked, not zero_masked_rows, ~_is_mask_beside(given, lowest))
    for row in given.reshape(-1, given.shape[-1])[refused.any(-1).reshape(-1)][:1]:
        SSMax()(row)  # raises what C++ says of the row
    return numpy.where(low, -numpy.inf, given)


def _seen(shape: tuple[int, ...], visibility: Visibility | str) -> Any:
    """Which keys the queries of a matrix see."""
    if _visibility_of(visibility) is Visibility.all:
        return numpy.True_
    return numpy.arange(shape[-1]) <= numpy.arange(shape[-2])[:, None] + max(shape[-1] - shape[-2], 0)


def _each_matrix(function: Callable[..., Any], *arrays: Any) -> Any:
    """Applies a function to the matrices of the last two axes, whose other axes broadcast."""
    lead = numpy.broadcast_shapes(*(array.shape[:-2] for array in arrays))
    count = int(numpy.prod(lead, dtype=int))
    flat = [numpy.broadcast_to(array, lead + array.shape[-2:]).reshape(count, *array.shape[-2:]) for array in arrays]
    matrices = list(zip(*flat)) or [tuple(numpy.zeros(array.shape[-2:]) for array in arrays)]  # none: for the shapes
    found = [function(*(numpy.ascontiguousarray(one) for one in each)) for each in matrices]

    def stacked(results: Any) -> Any:
        return numpy.stack(results)[: len(flat[0])].reshape(*lead, *results[0].shape)

    return tuple(stacked(one) for one in zip(*found)) if isinstance(found[0], tuple) else stacked(found)


class KernelAttention(Record):
    """Attention whose weights are a kernel of queries and keys over a normalizer: `attention(queries, keys)`.

    The last axes of the arrays are tokens x components; the others broadcast. `kernel` may be a function of your own of
    two vectors, which gives the weights and no derivatives. Computed in float64.

    >>> import numpy
    >>> queries, keys = numpy.eye(2), numpy.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    >>> KernelAttention(ExponentialKernel(2.0))(queries, keys).round(3)
    array([[0.307, 0.506, 0.186],
           [0.154, 0.154, 0.691]])
    >>> KernelAttention(lambda q, k: 1 + q @ k)(queries, keys).round(3)
    array([[0.333, 0.5  , 0.167],
           [0.167, 0.167, 0.667]])
    """

    kernel: Any
    normalization: KernelNormalization = KernelNormalization.sum
    floor: float = 0.0

    def __call__(self, queries: Any, keys: Any, visibility: Visibility | str = Visibility.all) -> NDArray[Any]:
        arrays = (numpy.asarray(one, "float64") for one in (queries, keys))
        return numpy.asarray(_each_matrix(lambda q, k: _core.scoring._kernel_weights(self, q, k, visibility), *arrays))

    def jvp(self, queries: Any, keys: Any, query_direction: Any, key_direction: Any,
            visibility: Visibility | str = Visibility.all) -> NDArray[Any]:
        """The change of the weights along a change of the queries and of the keys."""
        arrays = [numpy.asarray(one, "float64") for one in (queries, keys, query_direction, key_direction)]
        return numpy.asarray(
            _each_matrix(lambda q, k, dq, dk: _core.scoring._kernel_jvp(self, q, k, dq, dk, visibility), *arrays))

    def vjp(self, queries: Any, keys: Any, cotangent: Any, visibility: Visibility | str = Visibility.all) -> Any:
        """The gradients of a linear function of the weights, by the queries and by the keys."""
        arrays = [numpy.asarray(one, "float64") for one in (queries, keys, cotangent)]
        return _each_matrix(lambda q, k, pull: _core.scoring._kernel_vjp(self, q, k, pull, visibility), *arrays)


def cosformer(reach: float) -> KernelAttention:
    """cosFormer's attention over sequences of at most `reach` positions, with the floor 1e-6 of its public code.

    >>> import numpy
    >>> cosformer(4.0)(numpy.ones((1, 2)), numpy.ones((3, 2))).round(3)
    array([[0.38 , 0.351, 0.269]])
    """
    return KernelAttention(CosformerKernel(reach), KernelNormalization.sum, 1e-6)


class Elementwise(Record):
    """softmax(phi(z)) for your own monotone function phi: weights and derivatives of arrays, exact errors, row moments.

    `phi` is a function of one number. `slope` and `curvature` are its derivatives; without them they are taken by
    central differences of order six, which leave about ten digits and do not step across a kink of phi at 0.
    `decreasing` says that phi falls as the score grows.

    >>> import math
    >>> from incontext import laws
    >>> own = Elementwise(lambda z: 2 * z)
    >>> own([0.0, 1.0]).round(4)
    array([0.1192, 0.8808])
    >>> exact = laws.row_moments(Softmax(0.5), 100, 1.0)
    >>> abs(laws.row_moments(own, 100, 1.0).mean_score / exact.mean_score - 1) < 1e-8
    True
    """

    phi: Callable[[float], float]
    slope: Callable[[float], float] | None = None
    curvature: Callable[[float], float] | None = None
    decreasing: bool = False

    @staticmethod
    def _step(z: float) -> float:
        # the sixth-order differences below reach three steps, and phi may have a kink at 0
        step = 5e-3 * (1 + abs(z))
        return step if z == 0 else min(step, abs(z) / 3)

    def _value(self, z: float) -> float:
        return float(self.phi(z))

    def _slope(self, z: float) -> float:
        if self.slope is not None:
            return float(self.slope(z))
        h, f = self._step(z), self._value
        terms = 45 * (f(z + h) - f(z - h)) - 9 * (f(z + 2 * h) - f(z - 2 * h)) + (f(z + 3 * h) - f(z - 3 * h))
        return terms / (60 * h)

    def _curvature(self, z: float) -> float:
        if self.curvature is not None:
            return float(self.curvature(z))
        h, f = self._step(z), self._value
        terms = 270 * (f(z + h) + f(z - h)) - 27 * (f(z + 2 * h) + f(z - 2 * h)) + 2 * (f(z + 3 * h) + f(z - 3 * h))
        return (terms - 490 * f(z)) / (180 * h * h)

    def _along(self, operation: str, scores: Any, beside: Any, visibility: Visibility | str, axis: int,
               finite_masks: bool, zero_masked_rows: bool, kept: Any = None) -> NDArray[Any]:
        """A function of softmax at phi(z), by the chain rule: `slope` multiplies a direction before it, and a cotangent's
        image after it."""
        given = numpy.asanyarray(scores)
        if given.dtype.kind not in "biuf":
            return Softmax()(given)  # raises what is said of any map's scores
        kind = "float32" if given.dtype in ("float16", "float32") else "float64"
        seen = _with_masks(numpy.moveaxis(given, axis, -1), finite_masks, zero_masked_rows)

        def of_each(function: Callable[[float], float], masked: float) -> NDArray[Any]:
            result = numpy.full(seen.shape, masked)
            for place in zip(*numpy.nonzero(seen != -numpy.inf)):
                result[place] = function(float(seen[place]))
            return result.astype(kind)

        options = (visibility, None, False, zero_masked_rows)
        exponents = of_each(self._value, -numpy.inf)
        if operation == "weights":
            found = Softmax()._apply("weights", exponents, None, *options)
        else:
            slopes = of_each(self._slope, 0.0)
            other = numpy.moveaxis(_beside(numpy.asarray(beside, kind), given), axis, -1)
            kept = None if kept is None else numpy.moveaxis(_beside(kept, given), axis, -1)
            found = Softmax()._apply(operation, exponents, slopes * other if operation == "jvp" else other, *options,
                                     kept=kept)
            found = slopes * found if operation == "vjp" else found
        result: NDArray[Any] = numpy.moveaxis(found, -1, axis)
        return result

    def __call__(self, scores: Any, visibility: Visibility | str = Visibility.all, *, axis: int = -1,
                 finite_masks: bool = True, zero_masked_rows: bool = False) -> NDArray[Any]:
        """The weights along an axis. Python calls phi for each score that is seen; masks are as in the maps that count
        keys."""
        return self._along("weights", scores, None, visibility, axis, finite_masks, zero_masked_rows)

    def jvp(self, scores: Any, direction: Any, visibility: Visibility | str = Visibility.all, *, axis: int = -1,
            finite_masks: bool = True, zero_masked_rows: bool = False) -> NDArray[Any]:
        """The Jacobian times a direction, along an axis."""
        return self._along("jvp", scores, direction, visibility, axis, finite_masks, zero_masked_rows)

    def vjp(self, scores: Any, cotangent: Any, visibility: Visibility | str = Visibility.all, *, axis: int = -1,
            finite_masks: bool = True, zero_masked_rows: bool = False, weights: Any = None) -> NDArray[Any]:
        """The transposed Jacobian times a cotangent, along an axis; `weights`, if a forward pass has kept them."""
        return self._along("vjp", scores, cotangent, visibility, axis, finite_masks, zero_masked_rows, weights)

    @property
    def _address(self) -> int:
        return id(self)


# C++ finds the object by its address, which the caller's reference keeps valid
Elementwise._numbers = ("_address",)


class HeatSchedule(_HeatSchedule):
    def temperature(self, epoch: Any) -> Any:
        """The temperature in an epoch, the first of which is 0."""
        return _core.scoring._heat_temperature(self, epoch)

    def inverse_temperature(self, epoch: Any) -> Any:
        """One over the temperature in an epoch."""
        return _core.scoring._heat_inverse_temperature(self, epoch)
