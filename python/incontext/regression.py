"""Linear regression in context: the errors of a layer of attention, and its best temperature."""
from __future__ import annotations

from typing import Any

from . import _core
from ._core.regression import *  # noqa: F403
from ._record import Choice, Record
from .laws import SearchPlace


class QueryToken(Choice):
    """Whether the query attends to itself."""

    excluded = 0
    included = 1


class Offset(Choice):
    """Whether approximate softmax keeps the part of the weights that does not depend on the scores."""

    kept = 0
    removed = 1


class ErrorConvention(Record):
    query: QueryToken = QueryToken.excluded
    offset: Offset = Offset.kept


class InverseTemperatureParabola(Record):
    constant: Any
    linear: Any
    quadratic: Any

    def __call__(self, temperature: Any) -> Any:
        return _core.regression._parabola_error(self, temperature)

    def has_optimal_temperature(self) -> Any:
        """Whether the error has its least value at a positive and finite temperature."""
        found = _core.regression._parabola_has_optimal_temperature(self)
        return bool(found) if isinstance(found, int) else found.astype(bool)

    def optimal_temperature(self) -> Any:
        """The temperature at which the error is least; infinity where no positive temperature helps."""
        return _core.regression._parabola_optimal_temperature(self)

    def minimum(self) -> Any:
        """The least error."""
        return _core.regression._parabola_minimum(self)

    def excess(self, temperature: Any) -> Any:
        """How far the error is above its minimum, without cancellation."""
        return _core.regression._parabola_excess(self, temperature)


class Attention(Record):
    key_query: Any
    input_value: Any
    label_value: float = 0.0


class IsotropicTask(Record):
    dimension: Any
    input_variance: Any = 1.0
    task_variance: Any = 1.0
    noise_variance: Any = 0.0


class IsotropicAttention(Record):
    key_query_scale: Any = 1.0
    label_value: Any = 1.0


class RidgePosterior(Record):
    mean: Any
    covariance: Any


class BayesRiskEquivalent(Record):
    effective_ridge: Any
    risk: Any
    mean_excess: Any


class ErrorGradient(Record):
    error: float
    attention: Attention
    inverse_temperature: float


class LeastSquaresTask(Record):
    slope: Any
    intercept: float
    residual_variance: float


class MomentRatio(Record):
    second_moment: float
    first_moment: float
    ratio: float


class MomentRatioEstimate(Record):
    queries: int
    second_moment: float
    first_moment: float
    ratio: float
    standard_error: float
    delta_standard_error: float


class SoftmaxOptimum(Record):
    parameter: Any
    error: Any
    place: SearchPlace = SearchPlace.inside


class SearchRange(Record):
    lowest: float
    start: float
    highest: float
