"""Gradients of layers, optimizers, and the papers' training tasks."""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

from . import _core
from ._core.training import *  # noqa: F403
from ._core.training import Trainer
from ._record import Choice, Record, fields_html, plain
from .regression import Attention, LinearTask, QueryToken
from .scoring import Map
from .simulate import Device, ScoreLaw, SphereTask
from .statistics import Estimate


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


class ContextParameters(Choice):
    """What is trained of a layer that classifies: the products of its matrices, its four matrices, or its output."""

    merged = 0
    factored = 1
    merged_output = 2


class RegressionParameters(Choice):
    """What is trained of a layer for regression: all of it, its scores, or the inverse temperature."""

    layer = 0
    scores = 1
    temperature = 2


class NeedleRule(Choice):
    """How the inverse temperature depends on the length of a row: not at all, as s log n, or as s log n + b."""

    constant = 0
    log_length = 1
    log_length_and_constant = 2


class BatchGradient(Record):
    loss: float
    loss_standard_error: float
    accuracy: float
    gradient: Any


class RegressionLayer(Record):
    attention: Attention
    inverse_temperature: float = 1.0


def population_loss(parameters: RegressionParameters | str, fixed: Attention | None, dimension: int,
                    error: Callable[[Attention, float], Any]) -> Callable[[Any], tuple[float, Any]]:
    """The exact loss of a layer as a function of its trained parameters, for GradientFlow and Trainer.

    `error` takes a layer and an inverse temperature and returns the error with its gradient.

    >>> from incontext import regression
    >>> task = regression.LinearTask.isotropic(dimension=2, noise_variance=0.1)
    >>> loss = population_loss(RegressionParameters.layer, None, 2,
    ...                        lambda layer, b: regression.generalization_error_gradient(layer, task, 20, b))
    >>> trainer = Trainer([0.1] * 7, loss, TrainerOptions(rate=LearningRate(peak=0.02)))
    >>> records = trainer.run(400)
    >>> best = regression.pretrained_attention(task, 20)
    >>> records[-1].loss <= regression.generalization_error(best, task, 20)(1.0)
    True
    """

    def loss(numbers: Any) -> tuple[float, Any]:
        layer = _core.training.regression_layer(parameters, fixed, dimension, numbers)
        here = error(layer.attention, layer.inverse_temperature)
        return float(here.error), _core.training.gradient_numbers(parameters, here)

    return loss


class _Sampled:
    """What the three kinds of training have in common."""

    _core: Any  # _core.training.SampledTraining
    _settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """What it was made with, by name."""
        found: dict[str, Any] = plain(self._settings)
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._settings.items())})"

    def _repr_html_(self) -> str:
        return fields_html(type(self).__name__, self._settings)

    @property
    def initial(self) -> Any:
        """The parameters before training."""
        return self._core.initial

    def gradient(self, parameters: Any, step: int) -> BatchGradient:
        """Loss and gradient of the batch of a step."""
        found: BatchGradient = self._core.gradient(parameters, step)
        return found

    def trainer(self, options: TrainerOptions = TrainerOptions(), start: Any = None) -> Trainer:
        """Adam on these batches, from `start` or from the initial parameters.

        `trainer.run(steps)` trains and returns a StepRecord per step; `trainer.parameters` is where it arrived.
        """
        found: Trainer = self._core.trainer(options, start)
        return found


class ContextTraining(_Sampled):
    """A layer that is trained to classify in context, with the bits of `incontext-train` for the same seed.

    `scale` is the factor on its scores (1/sqrt(dimension + classes) for the layers of the papers with softmax), and
    `initial_scale` the standard deviation of the initial weights in units of 1/sqrt(dimension + classes).

    >>> from incontext import scoring, simulate
    >>> layer = ContextTraining(simulate.SphereTask(3, 2, 20), scoring.LinearAttention(), batch=64, initial_scale=0.5)
    >>> trainer = layer.trainer(TrainerOptions(rate=LearningRate(peak=0.02)))
    >>> losses = [record.loss for record in trainer.run(100)]
    >>> losses[-1] < losses[0]
    True
    >>> layer.heads(trainer.parameters)[0].key_query.shape
    (5, 5)
    """

    def __init__(self, task: SphereTask, map: Map, *, scale: float = 1.0, heads: int = 1,
                 query: QueryToken | str = QueryToken.included,
                 parameters: ContextParameters | str = ContextParameters.merged, initial_scale: float = 0.002,
                 batch: int = 512, seed: int = 1, device: Device | str = Device.automatic, threads: int = 0) -> None:
        self._settings = dict(task=task, map=map, scale=scale, heads=heads, query=query, parameters=parameters,
                              initial_scale=initial_scale, batch=batch, seed=seed, device=device, threads=threads)
        self._core = _core.training.context_training(**self._settings)

    def heads(self, parameters: Any) -> list[Any]:
        """The matrices of every head that the parameters stand for, as classification.ContextAttention."""
        found: list[Any] = self._core.layer(parameters)
        return found

    def evaluate(self, parameters: Any, contexts: int) -> tuple[Estimate, Estimate]:
        """Loss and accuracy on held-out contexts, the same at every call."""
        loss, accuracy = self._core.evaluate(parameters, contexts)
        return loss, accuracy


class RegressionTraining(_Sampled):
    """A layer that is trained to do linear regression in context; `fixed` has the parts that are not trained.

    >>> from incontext import regression, scoring
    >>> task = regression.LinearTask.isotropic(dimension=3, noise_variance=0.1)
    >>> training = RegressionTraining(task, 10, scoring.ApproximateSoftmax(), batch=64)
    >>> trainer = training.trainer(TrainerOptions(rate=LearningRate(peak=0.02)))
    >>> records = trainer.run(200)
    >>> layer = training.layer(trainer.parameters).attention
    >>> exact = regression.generalization_error(layer, task, 10)(1.0)
    >>> abs(training.evaluate(trainer.parameters, 4096)[0].mean / exact - 1) < 0.2
    True
    """

    def __init__(self, task: LinearTask, context_length: int, map: Map, *,
                 parameters: RegressionParameters | str = RegressionParameters.layer, fixed: Attention | None = None,
                 initial_deviation: float = 0.5, batch: int = 512, seed: int = 1,
                 device: Device | str = Device.automatic, threads: int = 0) -> None:
        self._settings = dict(task=task, context_length=context_length, map=map, parameters=parameters, fixed=fixed,
                              initial_deviation=initial_deviation, batch=batch, seed=seed, device=device,
                              threads=threads)
        self._core = _core.training.regression_training(**self._settings)

    def layer(self, parameters: Any) -> RegressionLayer:
        """The layer that the parameters stand for, and its inverse temperature."""
        found: RegressionLayer = self._core.layer(parameters)
        return found

    def evaluate(self, parameters: Any, contexts: int) -> list[Estimate]:
        """The loss on held-out contexts and all entries of its gradient: by M by rows, v_x, v_y, inverse temperature."""
        found: list[Estimate] = self._core.evaluate(parameters, contexts)
        return found


class NeedleTraining(_Sampled):
    """The inverse temperature of softmax, trained on rows in which a needle is to be found.

    >>> training = NeedleTraining([64], NeedleRule.constant)
    >>> trainer = training.trainer(TrainerOptions(rate=LearningRate(peak=0.1)))
    >>> records = trainer.run(100)
    >>> float(training.inverse_temperatures(trainer.parameters)[0]) > 2
    True
    """

    def __init__(self, lengths: Sequence[int], rule: NeedleRule | str, *, law: ScoreLaw | str = ScoreLaw.uniform,
                 needle_mean: float = 1.5, needle_stddev: float = 0.5, batch: int = 64, seed: int = 1,
                 device: Device | str = Device.automatic, threads: int = 0) -> None:
        self._settings = dict(lengths=list(lengths), rule=rule, law=law, needle_mean=needle_mean,
                              needle_stddev=needle_stddev, batch=batch, seed=seed, device=device, threads=threads)
        self._core = _core.training.needle_training(**self._settings)

    def inverse_temperatures(self, parameters: Any) -> Any:
        """The inverse temperature at each of the lengths."""
        return self._core.layer(parameters)
