"""Laws of a row of scores: fading, freezing, retrieval, gradients."""
from __future__ import annotations

from typing import Any

from . import _core
from ._core.laws import *  # noqa: F403
from ._record import Choice, Record
from .statistics import Agreement, Estimate


class NoisePhase(Choice):
    """Whether a row's partition function is a sum of many terms or of a few."""

    self_averaging = 0
    frozen = 1


class SearchPlace(Choice):
    """Where in its range a search for a minimum ended. At an end the function may be less beyond: there is no optimum."""

    inside = 0
    lowest = 1
    highest = 2


class Quadrature(Record, cpp="numerics::Quadrature"):
    value: Any
    error_estimate: Any

    def __float__(self) -> float:
        return float(self.value)

    def agree(self, estimate: Estimate) -> Agreement:
        """Compares this theory, with its own error, with an estimate."""
        return _core.statistics.agree(self, estimate)


class CriticalLength(Record):
    length: Any
    weight: Any
    weight_beyond: Any


class TwoLevelWeights(Record):
    high: Any
    low: Any
    complement: Any


class BoundedScores(Record):
    upper_edge: Any
    edge_exponent: Any = 1.0


class CompetitorLevel(Record):
    gap: Any
    exponent: Any


class FrozenLayer(Record):
    row_length: Any
    score_stddev: Any
    dimension: Any


class GaussianPowers(Record):
    mean_ipr: Any
    typical_ipr: Any
    typical_largest: Any


class FrozenRow(Record):
    quantile: Any
    index: Any
    log_partition: Any
    ipr: Any


class RandomNeedle(Record):
    noise_count: Any
    noise_stddev: Any
    gap: Any
    gap_stddev: Any


class GaussianRow(Record):
    log_partition: Any
    entropy: Any
    ipr: Any
    cubed_weights: Any
    squared_ipr: Any
    trace: Any
    squared_trace: Any
    squared_frobenius: Any
    mean_score: Any
    squared_mean_score: Any
    score_variance: Any
    squared_score_variance: Any
    weighted_deviation: Any
    error_estimate: Any


class GradientSizes(Record):
    mean_token: Any
    covariance_parallel: Any
    covariance_orthogonal: Any
    covariance_isotropic: Any
    imbalance: Any


class NormalNeedle(Record):
    mean: Any
    stddev: Any


class NeedleOptimum(Record):
    inverse_temperature: Any
    cross_entropy: Any
    place: SearchPlace = SearchPlace.inside


class NormalLaw(Record):
    variance: Any


class UniformLaw(Record):
    lower: Any
    upper: Any


class TwoValueLaw(Record):
    lower: Any
    upper: Any
    probability: Any


class RetrievalThreshold(Record):
    score: Any
    critical: Any


class RowMoments(Record):
    ipr: Any
    mean_score: Any
    mean_square_score: Any
    error_estimate: Any


class SingleLocationError(Record):
    error: Any
    needle_weight: Any
    noise_weight: Any
    ipr: Any
    error_estimate: Any


class SsaRow(Record):
    mean_weight: Any
    squared_weight: Any
    log_partition: Any
    ipr: Any
    typical_ipr: Any
    error_estimate: Any


class ScoreGroup(Record):
    count: Any
    score_stddev: Any
    shift: Any


class GroupShare(Record):
    weight: Any
    ipr: Any
    squared_gradient: Any


class TwoGroupRow(Record):
    groups: tuple[GroupShare, GroupShare]
    error_estimate: Any

    def __init__(self, *values: Any, **named: Any) -> None:
        if len(values) == 7:  # the numbers as C++ has them, one group after the other
            values = (GroupShare(*values[:3]), GroupShare(*values[3:6])), values[6]
        super().__init__(*values, **named)

    def gradient_share(self, group: int) -> Any:
        """The share of a group, 0 or 1, in the squared gradient at the scores."""
        both = [one.squared_gradient for one in self.groups]
        return both[group] / (both[0] + both[1])


class TwoLevelJacobian(Record):
    spectral_norm: Any
    squared_frobenius: Any
    trace: Any
    entropy: Any
