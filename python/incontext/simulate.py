"""Monte Carlo simulations of the models, whose numbers depend on the seed and on the number of trials alone.

Every simulation takes its options as keywords: seed, trials, relative_error, device, threads, gpu, and progress, which
is True for a bar of tqdm or a function of (done, planned, seconds). Ctrl-C ends it with KeyboardInterrupt.
"""
from __future__ import annotations

from typing import Any, Callable, Iterable, TypedDict, TypeVar

from ._simulate.simulate import *  # noqa: F403
from ._record import Choice, Record
from .baselines import TaskVariances
from .statistics import Estimate

_Map = TypeVar("_Map")


class Device(Choice):
    """Where a simulation runs."""

    automatic = 0
    serial = 1
    openmp = 2
    tbb = 3
    cuda = 4


class RunOptions(TypedDict, total=False):
    """The keywords that every simulation takes, as type checkers see them."""

    seed: int
    trials: int
    relative_error: float
    device: Device | str
    threads: int
    gpu: int
    progress: bool | Callable[[int, int, float], object] | None


class Estimator(Choice):
    """How a regression trial estimates the error."""

    literal = 0
    conditional = 1
    sufficient_statistics = 2


class ScoreLaw(Choice):
    """The law of the competitors' scores."""

    normal = 0
    uniform = 1
    grid = 2


class NeedleToken(Choice):
    """Whether a row of scores has a needle."""

    absent = 0
    present = 1


class RowFunctional(Choice):
    """What is measured of a row of weights."""

    ipr = 0
    cubed_weights = 1
    squared_ipr = 2
    largest_weight = 3
    entropy = 4
    log_partition = 5
    needle_weight = 6


class GradientMap(Choice):
    """The map of the layer whose gradients are measured."""

    softmax = 0
    normsoftmax = 1


class GradientNorm(Choice):
    """What is measured of a layer's gradients."""

    value = 0
    key = 1
    product = 2
    ratio = 3
    key_parallel = 4
    key_orthogonal = 5


class ContextLaw(Choice):
    """Whether every class has the same number of examples."""

    balanced = 0
    independent = 1


class ClassificationRule(Choice):
    """The rule that predicts the query's class."""

    linear = 0
    kernel = 1
    adaptive = 2
    adaptive_with_query = 3


class ClassificationMetric(Choice):
    """What is measured of a rule's predictions."""

    loss = 0
    accuracy = 1
    entropy = 2
    probability = 3
    sensitivity = 4


class AlignmentMetric(Choice):
    """How far apart two rules are."""

    predictions_difference = 0
    cosine_similarity = 1
    sensitivity_difference = 2


class AdaptiveOnsetMetric(Choice):
    """What is measured where a kernel begins to pay."""

    loss = 0
    rate_slope = 1
    kappa_slope = 2


class PartitionFunctionMetric(Choice):
    """What is measured of a query's partition function."""

    partition_function = 0
    squared_deviation = 1
    inverse = 2
    inverse_with_query = 3
    ipr = 4
    largest_weight = 5
    label_share = 6


class BalanceMetric(Choice):
    """What is measured of a context's classes."""

    largest_share = 0
    smallest_share = 1
    squared_shares = 2
    mean_point_length = 3


class ContextAttentionMetric(Choice):
    """What is measured of a layer's predictions."""

    loss = 0
    accuracy = 1
    entropy = 2
    probability = 3
    margin = 4
    squared_margin = 5


class GridChart(Choice):
    """What the second axis of a grid is."""

    gain = 0
    slope = 1


class AxisPlace(Choice):
    """Where on its axis an optimum was found."""

    inside = 0
    lowest = 1
    highest = 2
    fixed = 3


class SearchEnd(Choice):
    """Why a search ended."""

    step = 0
    noise = 1
    zooms = 2


class Simulation(Record):
    estimates: list[Estimate]
    trials: int
    interrupted: bool
    device: Device
    seconds: float


class BaselineSetting(Record):
    dimension: int
    examples: int
    task: TaskVariances
    descents: Any = ()
    penalties: Any = ()


class RowLabels(Record):
    task_mean: Any = ()
    task_covariance: Any = ((),)
    noise_variance: float = 0.0
    labels: Any = ()


class ScoreRow(Record):
    law: ScoreLaw = ScoreLaw.normal
    competitors: int = 0
    location: float = 0.0
    scale: float = 1.0
    needle_token: NeedleToken = NeedleToken.absent
    needle: float = 0.0
    needle_stddev: float = 0.0

    def with_needle(self, score: float, stddev: float = 0.0) -> ScoreRow:
        """The same row with a needle of this score, normal where `stddev` is positive."""
        row: ScoreRow = self.replace(needle_token=NeedleToken.present, needle=score, needle_stddev=stddev)
        return row


class GradientRow(Record):
    tokens: int
    dimension: int
    map: GradientMap = GradientMap.softmax


class SphereTask(Record):
    dimension: int
    classes: int
    context_length: int
    law: ContextLaw = ContextLaw.balanced
    prototype_sets: int = 0


class SphereContext(Record):
    inputs: Any
    labels: Any
    query: Any
    query_label: int
    prototypes: Any
    attempts: int


class Classifier(Record, cpp="simulate::ClassificationPair"):
    """A rule with its kernel's concentration kappa and its gain."""

    rule: ClassificationRule
    kappa: float
    gain: float


class ClassificationGrid(Record):
    rule: ClassificationRule = ClassificationRule.linear
    kappas: Any = (0.0,)
    gains: Any = ()
    chart: GridChart = GridChart.gain


class SearchOptions(Record):
    tolerance: float = 0.01
    zooms: int = 40


def at_temperatures(temperatures: Iterable[float], map: _Map) -> list[_Map]:
    """The map at each of these temperatures, to be simulated on common draws.

    >>> from incontext import scoring
    >>> [one.temperature for one in at_temperatures([1.0, 2.0], scoring.Softmax())]
    [1.0, 2.0]
    """
    return [map.replace(temperature=float(temperature)) for temperature in temperatures]  # type: ignore[attr-defined]
