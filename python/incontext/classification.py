"""Classification in context on the sphere: the gradient descent that attention carries out, and its rules."""
from __future__ import annotations

from typing import Any

from ._core.classification import *  # noqa: F403
from ._record import Choice, Record
from .regression import QueryToken as QueryToken


class KernelForm(Choice):
    """The Gaussian kernel or the exponential of the dot product."""

    rbf = 0
    dot = 1


class SelfTerm(Choice):
    """What the query adds to its own partition function."""

    none = 0
    dot = 1
    constant = 2
    rbf = 3


class AttentionKind(Choice):
    """What a layer does with its scores."""

    linear = 0
    exponential = 1
    softmax = 2


class CellDraws(Choice):
    """Where the points are drawn that measure Voronoi cells."""

    automatic = 0
    uniform = 1
    about_query = 2


class Context(Record):
    inputs: Any
    labels: Any
    query: Any
    classes: int = 2


class Prediction(Record):
    logits: Any
    probabilities: Any
    sensitivity: Any


class ContextAttention(Record):
    key_query: Any
    output: Any


class ContextAttentionPass(Record):
    prediction: Prediction
    attention: Any
    loss: float
    key_query_gradient: Any
    output_gradient: Any


class RbfAttentionPass(Record):
    prediction: Prediction
    attention: Any
    loss: float
    query_gradient: Any
    key_gradient: Any
    output_gradient: Any


class ContextWeights(Record):
    query: Any
    key: Any
    value: Any
    projection: Any


class EffectiveStep(Record):
    kappa: float
    gain: float


class Alignment(Record):
    prediction_distance: float
    cosine: float
    sensitivity_distance: float


class CircleCells(Record):
    volume: Any
    probability: Any
    balanced_weights: Any
    balanced_classes: Any
    independent_classes: Any
    mean_partition_function: float
    partition_function_variance: float


class Estimated(Record):
    value: float
    standard_error: float


class CellRatios(Record):
    volume: Any
    density: Any
    balanced_weights: Any
    mean_cosine: Any


class HemisphereContrast(Record):
    relative: Any
    logarithm: Any
    partition_function_variance: Any


class InversePartitionFunction(Record):
    mean: Any
    second_moment: Any
    variance: Any
    ipr: Any


class LongContext(Record):
    mean: Any
    variance: Any
    ipr: Any
    largest_weight: Any


class SparseNeighborhood(Record):
    self_weight: Any
    ipr: Any


class SphereConstants(Record):
    density: Any
    mean_absolute: Any
    log_cap: Any
    cap: Any


class TwoClassLayer(Record):
    contrast_slope: Any
    noise_ratio: Any
    linear_error: Any
    kernel_error: Any
    best_gain: Any
    best_gain_with_query: Any
    mean_squared_contrast: Any
    variance_ratio: Any


class LogitMoments(Record):
    mean: Any
    variance: Any


class AdaptiveLogitMoments(Record):
    limit: Any
    mean: Any
    variance: Any


class MarginMoments(Record):
    mean: Any
    mean_square: Any


class BestRate(Record):
    learning_rate: Any
    cross_entropy: Any
