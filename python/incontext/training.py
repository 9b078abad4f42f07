"""Gradients of layers, optimizers, and the papers' training tasks."""
from __future__ import annotations

import math
from typing import Any

from ._core.training import *  # noqa: F403
from ._record import Choice, Record


class RateDecay(Choice):
    """How the learning rate falls after its warm-up."""

    constant = 0
    cosine = 1


class AdamOptions(Record):
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0


class LearningRate(Record):
    peak: float = 1e-3
    warmup_steps: int = 0
    decay: RateDecay = RateDecay.constant
    steps: int = 0
    final_share: float = 0.0


class TrainerOptions(Record):
    adam: AdamOptions = AdamOptions()
    rate: LearningRate = LearningRate()
    largest_gradient_norm: float = math.inf


class StepRecord(Record):
    step: int = 0
    loss: float = 0.0
    loss_standard_error: float = 0.0
    accuracy: float = math.nan
    gradient_norm: float = 0.0
    rate: float = 0.0


class LayerWeights(Record):
    query: Any
    key: Any
    value: Any


class LayerGradients(Record):
    attention: Any
    output: Any
    gradient: LayerWeights


class AffineTask(Record):
    input_stddev: Any
    function_stddev: Any


class AffineRisks(Record):
    no_example: Any
    one_example: Any
    two_examples: Any
    zero_predictor: Any


class QuantifierTask(Record):
    every: Any
    some: Any
    last_sign_error: Any
    largest_sign_error: Any
    constant_false_mean_error: Any
    constant_false_sequence_error: Any


class ReasoningTask(Record):
    inputs: Any
    training: Any
    parities_differ: Any
    coin_accuracy: Any
    always_c_accuracy: Any
    always_d_accuracy: Any
    plateau_cross_entropy: Any
