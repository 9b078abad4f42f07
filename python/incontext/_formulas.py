"""The maps of scoring as formulas of arrays, for libraries that differentiate formulas: PyTorch and JAX.

A formula is written once, in the operations that the two have in common, so that their automatic derivatives of every
order, by the scores and by the parameters, are those of the map. The C++ maps remain the reference, with which the
tests compare values and first derivatives. Entmax alone takes its weights from C++; `entmax` says how they get
derivatives.

Arrays are ... x n, parameters are numbers or arrays that broadcast against the scores with 1 as their last size.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Protocol

import numpy

from . import scoring
from .scoring import _HIGHEST_MASK, _is_mask_beside, _visibility_of, Map, Visibility, parameter_names

_INFINITY = math.inf


class Library(Protocol):
    """What a formula needs of PyTorch or JAX."""

    name: str

    def where(self, condition: Any, a: Any, b: Any) -> Any: ...
    def softmax(self, values: Any) -> Any: ...
    def log(self, values: Any) -> Any: ...
    def log1p(self, values: Any) -> Any: ...
    def exp(self, values: Any) -> Any: ...
    def expm1(self, values: Any) -> Any: ...
    def sqrt(self, values: Any) -> Any: ...
    def tanh(self, values: Any) -> Any: ...
    def maximum(self, a: Any, b: Any) -> Any: ...
    def minimum(self, a: Any, b: Any) -> Any: ...
    def sum(self, values: Any, axes: tuple[int, ...]) -> Any: ...
    def largest(self, values: Any, axes: tuple[int, ...]) -> Any: ...
    def stopped(self, values: Any) -> Any: ...
    def arange(self, stop: int, like: Any) -> Any: ...
    def filled(self, value: float, like: Any) -> Any: ...
    def epsilon(self, like: Any) -> float: ...
    def tiny(self, like: Any) -> float: ...
    def dtype_like(self, values: Any, like: Any) -> Any: ...
    def entmax_weights(self, scores: Any, alpha: Any) -> Any: ...
    def is_differentiated(self, *arrays: Any) -> bool: ...
    def range(self, array: Any) -> tuple[float, float]: ...
    def is_concrete(self, *arrays: Any) -> bool: ...
    def numpy(self, array: Any) -> Any: ...


class Row:
    """The scores of the visible keys, 0 in place of the others, and their number. `visible` is None where all are.

    `masked` says which rows are zeros in the end, and is None where none is. In these rows a formula may have any value,
    but it must be finite, and so must be its derivatives."""

    def __init__(self, library: Library, scores: Any, visible: Any, axes: tuple[int, ...] = (-1,),
                 masked: Any = None) -> None:
        self.library, self.visible, self.axes, self.masked = library, visible, axes, masked
        self.scores = self._with(0.0, scores)
        if visible is None:
            self.count = library.filled(float(math.prod(scores.shape[axis] for axis in axes)), scores)
        else:
            self.count = library.sum(library.dtype_like(visible, scores), axes)
        if masked is not None:
            self.count = library.maximum(self.count, library.filled(1.0, scores))

    def below_largest(self, axes: tuple[int, ...] = (-1,)) -> Any:
        """The scores minus their largest, on which softmax does not depend: small numbers that do not overflow."""
        largest = self.library.largest(self.library.stopped(self._with(-_INFINITY, self.scores)), axes)
        if self.masked is not None:
            largest = self.library.where(largest > -_INFINITY, largest, self.library.filled(0.0, largest))
        return self.shown(self.scores - largest)

    def from_mean(self) -> Any:
        """The scores minus their mean, which is taken of their differences from the largest and then once more, so that
        a number that all of them share costs no digits."""
        found = self.below_largest(self.axes)
        for _ in range(2):
            found = self.shown(found - self.library.sum(found, self.axes) / self.count)
        return found

    def shown(self, values: Any) -> Any:
        """The values of the visible keys, 0 for the others."""
        return self._with(0.0, values)

    def lowered(self, values: Any) -> Any:
        """The values of the visible keys, -infinity for the others."""
        return self.used(self._with(-_INFINITY, values), 0.0)

    def softmax(self, exponents: Any) -> Any:
        return self.library.softmax(self.lowered(exponents))

    def used(self, values: Any, instead: float) -> Any:
        """The values, with another in the masked rows."""
        if self.masked is None:
            return values
        return self.library.where(self.masked, self.library.filled(instead, values), values)

    def undefined(self, where: Any) -> Any:
        """Zeros whose derivatives by the scores are NaN in the rows where the map has none: the square root of 0."""
        library, zero = self.library, self.library.filled(0.0, self.scores)
        where = where if self.masked is None else where & ~self.masked
        change = self.scores - library.stopped(self.scores)
        root = library.sqrt(library.where(where, change * change, library.filled(1.0, self.scores)))
        return library.where(where, root, zero)

    def _with(self, number: float, values: Any) -> Any:
        if self.visible is None:
            return values
        return self.library.where(self.visible, values, self.library.filled(number, values))


Parameters = dict[str, Any]
Formula = Callable[[Row, Any, Parameters], Any]


def softmax(row: Row, map: Any, given: Parameters) -> Any:
    return row.softmax(row.below_largest() / given["temperature"])


def ssmax(row: Row, map: Any, given: Parameters) -> Any:
    return row.softmax((given["scale"] * row.library.log(row.count) + given["bias"]) * row.below_largest())


def ssa(row: Row, map: Any, given: Parameters) -> Any:
    # `maximum` halves its derivative at a tie, so that at a score of 0 the first derivative is right and the second is
    # the mean of those on both sides, as in C++
    library, zero = row.library, row.library.filled(0.0, row.scores)
    steepness = given["base"] / given["temperature"]
    above = library.log1p(steepness * library.maximum(row.scores, zero))
    below = library.log1p(steepness * library.maximum(-row.scores, zero))
    return row.softmax(given["exponent"] * (above - below))


def approximate_softmax(row: Row, map: Any, given: Parameters) -> Any:
    return row.shown((1 + row.from_mean() / given["temperature"]) / row.count)


def linear_attention(row: Row, map: Any, given: Parameters) -> Any:
    divided = row.scores / given["temperature"]
    return divided if map.normalization == scoring.LinearNormalization.none else divided / row.count


def normsoftmax(row: Row, map: Any, given: Parameters) -> Any:
    library, count = row.library, row.count
    one = library.filled(1.0, count)
    deviation = row.from_mean()
    size = library.stopped(library.maximum(deviation, -deviation))
    unit = library.largest(size, row.axes)  # squares neither under- nor overflow
    unit = library.where(unit > 0, unit, one)
    deviation = deviation / unit
    sample = map.scale == scoring.ScoreScale.sample_stddev
    variance = library.sum(deviation * deviation, row.axes) / (library.maximum(count - 1, one) if sample else count)
    # scores that are equal, or but for their rounding, have no scale of their own, and are divided by the temperature
    mean = library.stopped(row.scores - unit * deviation)
    rounding = library.epsilon(row.scores) * library.largest(row.shown(library.maximum(mean, -mean)), row.axes)
    varies = unit * library.sqrt(library.stopped(variance)) > rounding
    variance = library.where(varies, variance, one)
    if map.scale == scoring.ScoreScale.population_variance:
        # the variance of the least scores underflows, and all weight is on the largest
        scale, least = unit * variance * unit, library.filled(library.tiny(row.scores), unit)
        scale = library.where(scale > least, scale, least)
    else:
        scale = unit * library.sqrt(variance)
    scale = library.where(varies, library.minimum(scale, given["temperature"]), given["temperature"])
    return row.softmax(row.below_largest() / scale)


def sparsemax(row: Row, map: Any, given: Parameters) -> Any:
    return entmax(row, map, {"alpha": row.library.filled(2.0, row.scores)})


def _log1p_over(values: Any) -> Any:
    """log(1 + x) / x for |x| <= 1/8 by its series, whose derivatives of every order do not cancel at x = 0."""
    found = 0.0
    for order in range(18, 0, -1):
        found = 1 / order - values * found
    return found


def entmax(row: Row, map: Any, given: Parameters) -> Any:
    """C++ finds the weights, which have no derivatives: x^(1/s) of x = 1 + s y with s = alpha - 1, where y is the score
    below a common depth. Two steps of Newton's method for the depth follow, which leave it where it is and give the
    weights the derivatives of the solution: one step those of first order, two those of the first three. Where x is near
    1, as for alpha near 1, the weight is exp(log(1 + s y) / s), so that no digits are lost in 1/s."""
    library, slope = row.library, given["alpha"] - 1
    found = library.entmax_weights(row.lowered(row.scores), given["alpha"])
    if not library.is_differentiated(row.scores, given["alpha"]):
        return found
    support = found > 0
    one, zero = library.filled(1.0, found), library.filled(0.0, found)
    fixed, scores = library.stopped(slope), library.where(support, row.below_largest(), zero)
    logarithm = fixed * library.log(library.where(support, found, one))
    near = library.maximum(logarithm, -logarithm) < 1 / 8
    beside = library.expm1(logarithm) / fixed
    value = library.where(support, found, one) ** fixed

    def solved(depth: Any) -> tuple[Any, Any]:
        y = beside + (scores - library.stopped(scores)) - depth
        x = value + (slope * y - fixed * beside)
        close = y * _log1p_over(library.where(near, slope * y, zero))
        power = library.where(near, library.exp(library.where(near, close, zero)), library.where(near, one, x) ** (1 / slope))
        return library.where(support, power, zero), library.where(support, x, one)

    def step(depth: Any) -> Any:
        power, x = solved(depth)
        excess_of_sum = library.sum(power, (-1,)) - library.stopped(library.sum(found, (-1,)))
        return depth + excess_of_sum / library.sum(power / x, (-1,))

    weights, _ = solved(step(step(zero * found)))
    return found + (weights - library.stopped(weights))  # the bits of C++


def hardmax(row: Row, map: Any, given: Parameters) -> Any:
    library = row.library
    seen = library.stopped(row.lowered(row.scores))
    top = library.dtype_like(seen >= library.largest(seen, (-1,)), row.scores)
    count = library.sum(top, (-1,))
    return top / count + 0 * row.scores + row.undefined(count > 1)


def sa_softmax(row: Row, map: Any, given: Parameters) -> Any:
    return row.scores * row.softmax(row.below_largest())


def normalized_sa_softmax(row: Row, map: Any, given: Parameters) -> Any:
    # the largest of the scores and 0; 0 stands in the place of the hidden ones
    library, zero = row.library, row.library.filled(0.0, row.count)
    high = library.maximum(library.largest(row.scores, (-1,)), zero)
    low = -library.maximum(library.largest(-row.scores, (-1,)), zero)
    width = library.where(high > low, high - low, library.filled(1.0, high))
    return row.shown((row.scores - low) / width + row.undefined(high <= low)) * row.softmax(row.below_largest())


def ratio_score(row: Row, map: Any, given: Parameters) -> Any:
    library, by, zero = row.library, map.normalization, row.library.filled(0.0, row.scores)
    values = {"average": lambda: row.shown(zero + 1) + 0 * row.scores,
              "tanh": lambda: library.tanh(row.scores),
              "relu": lambda: library.where(row.scores > 0, row.scores, zero),
              "square": lambda: row.scores * row.scores}[map.function]()
    if by == scoring.ScoreNormalization.none:
        return values
    if by == scoring.ScoreNormalization.context_length:
        return values / row.count
    sizes = values if by == scoring.ScoreNormalization.sum else library.maximum(values, -values)
    return values / row.used(library.sum(sizes, (-1,)), 1.0)


FORMULAS: dict[type[Map], Formula] = {
    scoring.Softmax: softmax, scoring.SSMax: ssmax, scoring.SSA: ssa,
    scoring.ApproximateSoftmax: approximate_softmax, scoring.LinearAttention: linear_attention,
    scoring.NormSoftmax: normsoftmax, scoring.MatrixNormSoftmax: normsoftmax, scoring.Entmax: entmax,
    scoring.Sparsemax: sparsemax, scoring.Hardmax: hardmax, scoring.SaSoftmax: sa_softmax,
    scoring.NormalizedSaSoftmax: normalized_sa_softmax, scoring.RatioScore: ratio_score}

# the domain of a parameter of the maps that have it; SSA's temperature must be finite, too
DOMAINS: dict[str, Callable[[Any], Any]] = {
    "temperature": lambda value: value > 0, "scale": lambda value: abs(value) < _INFINITY,
    "bias": lambda value: abs(value) < _INFINITY, "base": lambda value: (value > 0) & (value < _INFINITY),
    "exponent": lambda value: (value >= 1) & (value < _INFINITY),
    "alpha": lambda value: (value > 0) & (value != 1) & (value < _INFINITY)}


def _is_valid(map: Map, name: str, value: Any) -> Any:
    """Where a parameter is in its domain."""
    valid = DOMAINS[name](value)
    return valid & (value < _INFINITY) if isinstance(map, scoring.SSA) else valid


def _refuse_parameter(library: Library, map: Map, name: str, value: Any) -> None:
    """Lets the C++ map refuse the first number outside the domain."""
    numbers = library.numpy(value).reshape(-1)
    for number in numbers[~numpy.asarray(_is_valid(map, name, numbers))][:1]:
        neutral = {other: getattr(type(map), other) for other in parameter_names(map)}
        map.replace(**(neutral | {name: float(number)}))(numpy.zeros((1, 1)))


def _parameters(library: Library, map: Map, scores: Any, given: Parameters) -> Parameters:
    """The parameters of the map, those of `given` in place of its own, as arrays of the scores' type."""
    names = parameter_names(map)
    for name in given:
        if name not in names:
            raise TypeError(f"incontext.{library.name}: {type(map).__name__} has no parameter {name!r}"
                            f" (it has {', '.join(names) or 'none'})")
    found = {}
    for name in names:
        value = library.dtype_like(given.get(name, getattr(map, name)), scores)
        shape = tuple(value.shape)
        target = tuple(scores.shape[:-1]) + (1,)
        fits = len(shape) <= len(target) and all(a in (1, b) for a, b in zip(shape[::-1], target[::-1]))
        if not fits:
            raise ValueError(f"incontext.{library.name}: the shape of {name} does not fit the scores (value = {shape}; "
                             f"needs a shape that broadcasts to {target})")
        valid = _is_valid(map, name, value)
        if library.is_concrete(value) and not bool(valid.all()):
            _refuse_parameter(library, map, name, value)
        found[name] = library.where(valid, value, library.filled(math.nan, value))
    return found


def _counts_keys(map: Map) -> bool:
    """Whether a key with a very low finite score changes the weights of the others; counts_keys in C++."""
    kinds = (scoring.Softmax, scoring.Sparsemax, scoring.Hardmax, scoring.SaSoftmax)
    return not isinstance(map, kinds)


def _visible(library: Library, map: Map, scores: Any, visibility: Visibility,
             finite_masks: bool) -> tuple[Any, Any, Any, Any]:
    """For every row: which keys it shows; whether all its scores are masks; whether it shows no key; whether a score is
    refused. Finite masks are masks by the rule of calibrate. In a map that does not count its keys they are scores, so
    that a row of them shows its keys."""
    seen = scores > -_INFINITY
    causal = visibility == Visibility.causal and len(scores.shape) > 1
    if causal:
        queries, keys = scores.shape[-2:]
        last = library.arange(queries, scores) + max(keys - queries, 0)
        seen = seen & (library.arange(keys, scores) <= last[:, None])
    bad = ~(scores < _INFINITY)  # NaN, or +infinity
    if causal:
        bad = bad & ~(library.arange(keys, scores) > last[:, None])
    if finite_masks and _counts_keys(map):
        low = seen & (scores <= _HIGHEST_MASK)
        high = library.filled(_INFINITY, scores)
        lowest = -library.largest(library.where(seen & ~low, -scores, -high), (-1,))
        bad = bad | (low & (lowest < _INFINITY) & ~_is_mask_beside(scores, lowest))
        seen = seen & ~low
    undefined = ~seen.any(-1)[..., None]
    masked = ~(seen & (scores > _HIGHEST_MASK)).any(-1)[..., None] if finite_masks else undefined
    return seen, masked, undefined, bad.any(-1)[..., None]


def _is_plain(library: Library, scores: Any, visibility: Visibility, finite_masks: bool) -> bool:
    """Whether every key is seen and none can be a mask, which two numbers tell."""
    if visibility == Visibility.causal and len(scores.shape) > 1 or 0 in scores.shape:
        return False
    low, high = library.range(scores)
    return (_HIGHEST_MASK if finite_masks else -_INFINITY) < low and high < _INFINITY


def weights(library: Library, map: Map, scores: Any, visibility: Visibility | str, finite_masks: bool,
            zero_masked_rows: bool, given: Parameters) -> Any:
    """The weights of a map. Where the values are known, a row or a parameter outside the domain is refused as in C++;
    where they are not, because the library traces the function, such a row is NaN."""
    formula = FORMULAS.get(type(map))
    if formula is None:
        raise TypeError(f"incontext.{library.name}: this is not a map of incontext.scoring (value = {map!r:.80})")
    if len(scores.shape) < (2 if isinstance(map, scoring.MatrixNormSoftmax) else 1):
        raise ValueError(f"incontext.{library.name}: wrong number of axes of the scores of {type(map).__name__} "
                         f"(value = {len(scores.shape)})")
    chosen = _visibility_of(visibility)
    parameters = _parameters(library, map, scores, given)
    if 0 in scores.shape:
        if scores.shape[-1] == 0 and math.prod(scores.shape[:-1]) and not zero_masked_rows:
            map.replace(**{name: getattr(type(map), name) for name in parameters})(numpy.zeros((1, 0)))  # refuses it
        return scores
    fixed, concrete = library.stopped(scores), library.is_concrete(scores)
    axes = (-2, -1) if isinstance(map, scoring.MatrixNormSoftmax) else (-1,)
    visible = masked = None
    if not concrete or not _is_plain(library, fixed, chosen, finite_masks):
        visible, masked, undefined, bad = _visible(library, map, fixed, chosen, finite_masks)
        defined = ~bad if zero_masked_rows else ~(bad | undefined)
        if concrete and not bool(defined.all()):
            prototype = map.replace(**{name: getattr(type(map), name) for name in parameter_names(map)})
            prototype(library.numpy(fixed), chosen, finite_masks=finite_masks, zero_masked_rows=zero_masked_rows)
            raise AssertionError(f"{type(map).__name__} takes a row that is refused")  # C++ has raised before
    masked = masked if zero_masked_rows else None
    row = Row(library, scores, visible, axes, masked)
    found = row.used(formula(row, map, parameters), 0.0)
    if not concrete:
        # a factor, so that the derivatives of such a row are NaN, too
        return found * library.where(defined, library.filled(1.0, scores), library.filled(math.nan, scores))
    if isinstance(map, scoring.RatioScore) and bool((found != found).any()):
        map(library.numpy(fixed), chosen, finite_masks=finite_masks,
            zero_masked_rows=zero_masked_rows)  # a normalizer of 0
    return found
