"""Gradients of layers, optimizers, and the papers' training tasks."""
from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy
from numpy.typing import NDArray

from . import _core
from ._core.training import *  # noqa: F403
from ._core.training import Trainer
from ._record import Record, fields_html, plain
from ._records.training import *  # noqa: F403
from ._records.training import BatchGradient, ContextParameters, GradientScaling, LayerNorms, NeedleRule, Quantifier
from ._records.training import QuantifierNumbers, ReasoningAnswers, ReasoningMeasurement, ReasoningShape, RegressionLayer
from ._records.training import RegressionParameters, SequenceLoss, TrainerOptions, _OutputBound
from .regression import Attention, LinearTask, QueryToken
from .scoring import HeatSchedule, Map, NormSoftmax, Softmax
from .simulate import Device, ScoreLaw, SphereTask
from .statistics import Estimate


class OutputBound(_OutputBound):
    @property
    def largest(self) -> float:
        """The largest size that the output can have."""
        return abs(self.center) + self.radius


class SequenceExamples(Record):
    """Sequences of one length: features and targets are sequences x tokens x numbers, weights the factors on the losses."""

    features: Any
    targets: Any
    weights: Any


class _Sequences(Record):
    """Sequences that are drawn from a seed as they are needed."""

    def examples(self, first: int, count: int, length: int = 0) -> SequenceExamples:
        """The sequences `first` to `first + count - 1`; `length` is their number of tokens, 0 for the stream's own."""
        features, targets, weights, tokens = _core.training._drawn_sequences(self, first, count, length)
        return SequenceExamples(features.reshape(count, tokens, -1), targets.reshape(count, tokens, -1),
                                weights.reshape(count, tokens))


class AffineSequences(_Sequences):
    """Sequences of y = a x + b, a new function each: token t asks for y_t and shows the pair before it.

    >>> sequences = AffineSequences(seed=3, length=4).examples(0, 2)
    >>> sequences.features.shape, sequences.targets.shape
    ((2, 4, 4), (2, 4, 1))
    """

    seed: int
    length: int = 40
    input_stddev: float = 1.0
    function_stddev: float = 1.0
    first_input_stddev: float | None = None  # as the others


class QuantifierSequences(_Sequences):
    """Sequences of numbers: every token asks whether all, or some, up to it are positive."""

    seed: int
    length: int = 40
    quantifier: Quantifier = Quantifier.every
    numbers: QuantifierNumbers = QuantifierNumbers.independent
    input_stddev: float = 1.0


class SphereSequences(_Sequences):
    """Sequences of the sphere task: the points of a context with their labels, then the query whose class is asked for."""

    task: SphereTask
    seed: int


class SequenceStream(_Sequences):
    """Sequences of your own.

    `draw(index, length)` returns the features (length x `features`), targets (length x `outputs`) and the weight of each
    token's loss. It must depend on its arguments alone; it takes the interpreter's lock.

    >>> def parity(index, length):
    ...     bits = numpy.random.default_rng(index).integers(0, 2, length)
    ...     return bits[:, None], numpy.eye(2)[bits.cumsum() % 2], numpy.full(length, 1 / length)
    >>> stream = SequenceStream(features=1, outputs=2, length=6, draw=parity, loss=SequenceLoss.cross_entropy)
    >>> training = SequenceTraining(stream, Softmax(), width=8, heads=2, batch=16)
    >>> training.trainer().run(3)[0].step
    0
    """

    features: int
    outputs: int
    length: int
    draw: Callable[[int, int], tuple[Any, Any, Any]]
    loss: SequenceLoss = SequenceLoss.squared_error


class LearnedMap(Record):
    """A map of which some parameters are trained with the model, in each head.

    Any of `scoring.parameter_names(map)`: base and exponent of SSA, say, or scale and bias of SSMax.
    """

    map: Map
    parameters: Sequence[str] = ()


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

    if not callable(error):
        raise TypeError("incontext.training.population_loss: error is of the wrong type "
                        f"(value = {error!r:.80}; needs a function)")

    def loss(numbers: Any) -> tuple[float, Any]:
        layer = _core.training.regression_layer(parameters, fixed, dimension, numbers)
        here = error(layer.attention, layer.inverse_temperature)
        return float(here.error), _core.training.gradient_numbers(parameters, here)

    return loss


def _made(kind: type[Any], settings: dict[str, Any]) -> Any:
    return kind(**settings)


class BatchTraining:
    """What all kinds of training on sampled batches have in common."""

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what it was made with: the batches of a step depend on nothing else."""
        return _made, (type(self), self._settings)

    @property
    def initial(self) -> NDArray[Any]:
        """The parameters before training."""
        return numpy.asarray(self._core.initial)

    def gradient(self, parameters: Any, step: int) -> BatchGradient:
        """Loss and gradient of the batch of a step."""
        found: BatchGradient = self._core.gradient(parameters, step)
        return found

    def trainer(self, options: TrainerOptions = TrainerOptions(), start: Any = None) -> Trainer:
        """Adam on these batches, from `start` or from the initial parameters.

        `trainer.run(steps)` trains and returns a StepRecord per step; `trainer.parameters` is where it arrived.
        """
        found: Trainer = self._core.trainer(self, options, start)
        return found


def _resumed(source: Any, options: TrainerOptions, parameters: Any, *state: Any) -> Trainer:
    """A trainer that was pickled: what it was made of, and where it stood."""
    is_sampled = isinstance(source, BatchTraining)
    trainer = source.trainer(options, parameters) if is_sampled else Trainer(parameters, source, options)
    trainer._resume(parameters, *state)
    return trainer


class ContextTraining(BatchTraining):
    """A layer that is trained to classify in context, with the bits of `incontext train` for the same seed.

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
        self._core = _core.training._context_training(**self._settings)

    def heads(self, parameters: Any) -> list[Any]:
        """The matrices of every head that the parameters stand for, as classification.ContextAttention."""
        found: list[Any] = self._core.layer(parameters)
        return found

    def evaluate(self, parameters: Any, contexts: int) -> tuple[Estimate, Estimate]:
        """Loss and accuracy on held-out contexts, the same at every call."""
        loss, accuracy = self._core.evaluate(parameters, contexts)
        return loss, accuracy


class RegressionTraining(BatchTraining):
    """A layer that is trained to do linear regression in context; `fixed` has the parts that are not trained.

    The predictions of its `heads` are added; there is one where not all of the layer is trained.

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
                 heads: int = 1, initial_deviation: float = 0.5, batch: int = 512, seed: int = 1,
                 device: Device | str = Device.automatic, threads: int = 0) -> None:
        self._settings = dict(task=task, context_length=context_length, map=map, parameters=parameters, fixed=fixed,
                              heads=heads, initial_deviation=initial_deviation, batch=batch, seed=seed, device=device,
                              threads=threads)
        self._core = _core.training._regression_training(**self._settings)

    def layer(self, parameters: Any, head: int = 0) -> RegressionLayer:
        """The layer that the parameters stand for, and its inverse temperature: one of its heads."""
        heads: list[RegressionLayer] = self._core.layer(parameters)
        if not 0 <= head < len(heads):
            raise ValueError(f"incontext::training::RegressionTraining::layer: head is no head of the layer (value = {head}; "
                             f"needs 0 to {len(heads) - 1})")
        return heads[head]

    def evaluate(self, parameters: Any, contexts: int) -> list[Estimate]:
        """The loss on held-out contexts and all entries of its gradient: by each head's M by rows, v_x and v_y, and by the
        inverse temperature."""
        found: list[Estimate] = self._core.evaluate(parameters, contexts)
        return found


class _Transformer(BatchTraining):
    """What the two kinds of transformers have in common."""

    def parts(self, parameters: Any) -> dict[str, list[Any]]:
        """The matrices and vectors that the parameters stand for, by name; one per layer where layers have them."""
        found: dict[str, list[Any]] = {}
        for name, _, matrix in self._core.parts(parameters):
            found.setdefault(name, []).append(matrix)
        return found


class SequenceTraining(_Transformer):
    """A causal transformer that is trained on sequences, with the bits of `incontext train affine` and `quantifier`.

    `maps` is the map of every head, or a list of one per head: a map of scoring, or a LearnedMap. Maps read raw scores,
    so that the usual head is Softmax((width / heads) ** 0.5). `hidden` is the width of the multilayer perceptron, 0 for
    none. `map_parameters` makes room for more trained numbers per head than the maps have.

    >>> training = SequenceTraining(AffineSequences(seed=3), Softmax(8**0.5), width=16, heads=2, hidden=32, batch=32)
    >>> trainer = training.trainer(TrainerOptions(rate=LearningRate(peak=3e-3)))
    >>> losses = [record.loss for record in trainer.run(150)]
    >>> sum(losses[-20:]) < 0.8 * sum(losses[:20])
    True
    >>> held_out = AffineSequences(seed=4).examples(0, 100)
    >>> training.outputs(trainer.parameters, held_out.features).shape
    (100, 40, 1)
    """

    def __init__(self, sequences: _Sequences, maps: Map | LearnedMap | Sequence[Map | LearnedMap], *, width: int = 32,
                 heads: int = 4, layers: int = 1, hidden: int = 64, norms: LayerNorms | str = LayerNorms.first,
                 map_parameters: int = 0, initial_scale: float = 1.0, batch: int = 64, seed: int = 1,
                 device: Device | str = Device.automatic, threads: int = 0) -> None:
        every = [maps] * heads if isinstance(maps, Record) else list(maps)
        if len(every) != heads:
            raise ValueError(f"incontext::training::SequenceTransformer: wrong number of maps (value = {len(every)}; "
                             f"needs {heads}, one per head)")
        self._maps = [one if isinstance(one, LearnedMap) else LearnedMap(one) for one in every]
        shared: dict[str, Any] = dict(width=width, layers=layers, hidden=hidden, norms=norms, batch=batch, seed=seed,
                                      map_parameters=map_parameters, initial_scale=initial_scale, device=device,
                                      threads=threads)
        self._settings = dict(sequences=sequences, maps=maps, heads=heads, **shared)
        self._core = _core.training._sequence_training(sequences, every, **shared)

    def outputs(self, parameters: Any, features: Any) -> Any:
        """The outputs for sequences x tokens x features."""
        given = numpy.asarray(features, "float64")
        if given.ndim != 3:
            raise ValueError(f"incontext::training::SequenceTraining::outputs: wrong number of array dimensions "
                             f"(value = {given.ndim}; needs sequences x tokens x features)")
        sequences, tokens, _ = given.shape
        found = self._core.outputs(parameters, given.reshape(sequences * tokens, -1), tokens)
        return found.reshape(sequences, tokens, -1)

    def maps(self, parameters: Any) -> list[list[Map]]:
        """The map of every head at its trained parameters, layer by layer."""
        return [[one.map.replace(**dict(zip(one.parameters, values))) for one, values in zip(self._maps, layer)]
                for layer in self._core.trained_numbers(parameters)]

    def output_bound(self, parameters: Any, output: int = 0) -> OutputBound:
        """The range of an output, whatever the prompt, which the last layer norm sets."""
        found: OutputBound = self._core.output_bound(parameters, output)
        return found


class ReasoningTraining(_Transformer):
    """A transformer of one block that is trained on the reasoning task, with the bits of `incontext train reasoning`.

    `map` is any map of `scoring` but MatrixNormSoftmax, or a HeatSchedule, with which softmax has the schedule's
    temperature at each step.

    >>> training = ReasoningTraining(ReasoningShape(largest_value=3, width=16, hidden=32), NormSoftmax(2.0))
    >>> trainer = training.trainer(TrainerOptions(rate=LearningRate(peak=3e-3)))
    >>> course = [training.measure(trainer.parameters, 0)]
    >>> records = trainer.run(20)
    >>> course.append(training.measure(trainer.parameters, 20))
    >>> course[1].loss < course[0].loss, eureka_step(course) is None
    (True, True)
    """

    def __init__(self, shape: ReasoningShape, map: Map | HeatSchedule, *,
                 initial_stddev: float = 0.125, training_share: float = 0.3, batch: int = 0,
                 answers: ReasoningAnswers | str = ReasoningAnswers.rule,
                 scaling: GradientScaling | str = GradientScaling.none, seed: int = 1,
                 device: Device | str = Device.automatic, threads: int = 0) -> None:
        self._settings = dict(shape=shape, map=map, initial_stddev=initial_stddev, training_share=training_share,
                              batch=batch, answers=answers, scaling=scaling, seed=seed, device=device, threads=threads)
        self._core = _core.training._reasoning_training(**self._settings)

    def measure(self, parameters: Any, step: int) -> ReasoningMeasurement:
        """Losses and accuracies on all examples, entropies of the attention, and norms of gradients."""
        found: ReasoningMeasurement = self._core.measure(parameters, step)
        return found

    @property
    def trained(self) -> NDArray[Any]:
        """The values a, b, c, d of the examples that are trained on."""
        return numpy.asarray(self._core.trained)

    @property
    def held_out(self) -> NDArray[Any]:
        """The values a, b, c, d of the examples that are held out."""
        return numpy.asarray(self._core.held_out)


class NeedleTraining(BatchTraining):
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
        self._core = _core.training._needle_training(**self._settings)

    def inverse_temperatures(self, parameters: Any) -> NDArray[Any]:
        """The inverse temperature at each of the lengths."""
        return numpy.asarray(self._core.layer(parameters))
