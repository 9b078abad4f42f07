"""What the heads of a model do, and which inverse temperature keeps them the same in longer rows.

    report = incontext.calibrate(numpy.load("scores.npy", mmap_mode="r"), causal=True)
    report.entropy                      # layers x heads
    report.head(3, 5).plot()

The input is raw attention scores, before softmax; docs/calibrate.md says how to export them. What the program
incontext-calibrate refuses is a ValueError with the same message.
"""
from __future__ import annotations

import warnings
from typing import Any, Callable, Sequence

import numpy

from . import _core, laws
from ._core.calibration import *  # noqa: F403
from ._record import Choice, Record, cell
from .regression import MomentRatioEstimate
from .statistics import Agreement, Verdict


class Phase(Choice):
    """How a head distributes its weights over a row: evenly, over many keys, or on a few keys."""

    even = 0
    self_averaging = 1
    frozen = 2


class Held(Choice):
    """What an inverse temperature keeps: the entropy, the largest weight, or the weight of a needle."""

    entropy = 0
    largest_weight = 1
    needle_weight = 2


class HeadScores(Record):
    score_stddev: Any
    gap: Any = 0.0


class HeldTemperature(Record):
    inverse_temperature: Any
    value: Any
    attained: Any


class HeadSummary(Record):
    layer: int
    head: int
    shortest_row: int
    longest_row: int
    rows: int
    score_stddev: float
    skewness: float
    excess_kurtosis: float
    entropy: float
    entropy_predicted: float
    effective_keys: float
    effective_keys_predicted: float
    largest_weight: float
    largest_weight_predicted: float
    freezing_ratio: float
    phase: Phase
    worst_deviation: float
    p_value: float
    normal_rows: Verdict
    looks_like_weights: bool

    def _line(self) -> str:
        """The head in one line."""
        rows = {Verdict.agrees: "normal", Verdict.disagrees: "not normal"}.get(self.normal_rows, "not judged")
        weights = ", looks like weights" if self.looks_like_weights else ""
        return (f"layer {self.layer}, head {self.head}: x = {self.score_stddev:.4g}, entropy {self.entropy:.4g} nats, "
                f"{self.effective_keys:.4g} keys, largest weight {self.largest_weight:.3g}, x / x_c = "
                f"{self.freezing_ratio:.3g}, rows {rows}{weights}")

    def __str__(self) -> str:
        return Record.__repr__(self)

    def __repr__(self) -> str:
        return f"HeadSummary({self._line()})"


class PhaseCount(Record):
    phase: Phase
    heads: int
    normal: int
    not_normal: int
    not_judged: int
    median_score_stddev: float
    median_effective_keys: float


class LengthSummary(Record):
    shortest_row: int
    longest_row: int
    rows: int
    mean: float
    stddev_of_row_means: float
    score_stddev: float
    score_stddev_error: float
    variance_differs: float
    skewness: float
    skewness_error: float
    excess_kurtosis: float
    excess_kurtosis_error: float
    highest: float
    normality_p_value: float
    entropy: float
    entropy_error: float
    entropy_predicted: float
    effective_keys: float
    effective_keys_predicted: float
    largest_weight: float
    largest_weight_predicted: float
    needle_weight: float
    needle_weight_predicted: float


class JudgedQuantity(Record):
    quantity: str
    agreement: Agreement
    verdict: Verdict


class HeadLimits(Record):
    score_stddev: Any
    trained_length: Any
    freezing_ratio: Any
    longest_frozen_length: Any
    gap: Any
    needle_weight: Any
    critical_length: Any
    distinguishing_length: Any


class TemperatureRule(Record):
    name: str
    inverse_temperature: list[float]
    value: list[float]
    attained: list[bool]
    reason: str = ""


class TriedPlan(Record):
    held: Held
    inverse_temperature: float
    result: JudgedQuantity
    quarter_rows: float
    whole_rows: float


class ShiftedTemperature(Record):
    training: MomentRatioEstimate
    shifted: MomentRatioEstimate
    quotient: float
    quotient_error: float


def _html(caption: str, records: Sequence[Record]) -> str:
    """Records of one type as a table with one line each."""
    if not records:
        return ""
    fields = records[0]._fields
    head = "".join(f"<th>{name}</th>" for name in fields)
    rows = "".join("<tr>" + "".join(f"<td>{cell(getattr(one, name))}</td>" for name in fields) + "</tr>"
                   for one in records)
    return f"<table><caption>{caption}</caption><tr>{head}</tr>{rows}</table>"


class HeadDetail(Record):
    """One head in detail: its rows by length, beside the law of normal rows, and the temperatures for longer rows."""

    head: HeadSummary
    gap: float
    trained_length: int
    lengths: list[LengthSummary]
    normal_law: list[JudgedQuantity]
    held_out: list[JudgedQuantity]
    limits: HeadLimits | None
    rules: dict[Held, list[TemperatureRule]]
    warning: str
    plans: list[TriedPlan]

    def _tables(self) -> list[tuple[str, Sequence[Record]]]:
        """The captions and lines of its tables."""
        def judged(rows: list[JudgedQuantity]) -> list[_Line]:
            return [_Line(one.quantity, one.agreement.theory, one.agreement.estimate.mean,
                          one.agreement.estimate.standard_error, one.agreement.excess, one.verdict) for one in rows]

        limits = [self.limits] if self.limits is not None else []
        warning = f". {self.warning}" if self.warning else ""
        rules = [(f"inverse temperatures that hold the {held.name.replace('_', ' ')} by the law of normal "
                  f"scores{warning}", rules) for held, rules in self.rules.items()]
        return [("by row length", self.lengths), ("beside the law of normal scores", judged(self.normal_law)),
                ("held out, from quarters of other rows", judged(self.held_out)), ("where it fades or freezes", limits),
                *rules, ("the plan tried on these rows", judged([plan.result for plan in self.plans]))]

    def _repr_html_(self) -> str:
        return self.head._repr_html_() + "".join(_html(caption, rows) for caption, rows in self._tables())

    def __repr__(self) -> str:
        return f"HeadDetail({self.head._line()})"

    def __str__(self) -> str:
        lines = [str(self.head)]
        for caption, rows in self._tables():
            lines += ["", caption, *(f"  {row}" for row in rows)] if rows else []
        return "\n".join(lines)

    def plot(self) -> Any:
        """Draws entropy and needle weight against the row length, measured and predicted, as a figure of Matplotlib."""
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("plot() needs Matplotlib: pip install matplotlib") from error
        stddev = self.head.score_stddev
        curve = numpy.union1d(numpy.geomspace(2, 8 * self.trained_length, 100).round(), self.trained_length)
        needle = _core.calibration.centered_needle_weight(curve, stddev, self.gap)
        width = 0.01  # of the curve: where the law is known less well, it is not drawn
        middle = [(rows.shortest_row * rows.longest_row) ** 0.5 for rows in self.lengths]
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
        left.plot(curve, laws.gaussian_row(curve, stddev).entropy, label=f"predicted, x = {stddev:.3g}")
        left.errorbar(middle, [rows.entropy for rows in self.lengths],
                      [0 if numpy.isnan(rows.entropy_error) else rows.entropy_error for rows in self.lengths],
                      fmt="o", label="measured")
        left.set_ylabel("entropy in nats")
        right.plot(curve, numpy.where(needle.error_estimate < width, needle.value, numpy.nan), label="predicted")
        right.plot(middle, [rows.needle_weight for rows in self.lengths], "o", label="measured")
        right.set_ylabel(f"weight of a needle\n{self.gap:.3g} above the mean")
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlabel("row length")
            axes.legend()
        figure.suptitle(f"layer {self.head.layer}, head {self.head.head}")
        return figure


class _Line(Record):
    """One line of a table of predictions beside measurements."""

    quantity: str
    predicted: float
    measured: float
    standard_error: float
    z: float
    verdict: Verdict


def _as_scores(given: Any) -> Any:
    """Scores as C++ takes them: the mask of a masked array as -inf; types that NumPy lacks are named."""
    if isinstance(given, numpy.ma.MaskedArray):
        masked = given.mask is not numpy.ma.nomask and given.dtype.kind == "f"
        return given.filled(-numpy.inf) if masked else given.data
    try:
        return numpy.asarray(given)
    except TypeError as error:
        kind = getattr(given, "dtype", type(given).__name__)
        raise ValueError(f"incontext::calibration: the scores are no array of NumPy (value = {kind}; needs float16, "
                         f"float32 or float64, such as scores.float() of a tensor): {error}") from error


class Calibration:
    """The heads of an array of scores, measured and judged.

    A field of HeadSummary is an array of layers x heads here: `report.entropy`, `report.p_value`.
    """

    def __init__(self, heads: Any) -> None:
        self._core = heads
        self.heads: list[HeadSummary] = heads.heads()
        self.phases: list[PhaseCount] = heads.phases()
        self.masked_rows: int = heads.masked_rows
        self.single_key_rows: int = heads.single_key_rows

    def __getattr__(self, name: str) -> Any:
        if name not in HeadSummary._fields:
            raise AttributeError(f"Calibration has no {name!r}")
        values = numpy.array([getattr(head, name) for head in self.heads])
        return values.reshape(self._core.layers, self._core.heads_per_layer)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *HeadSummary._fields]

    def _place(self, layer: int | None, head: int | None) -> tuple[int, int]:
        if layer is None and head is None and len(self.heads) == 1:
            return 0, 0
        if layer is None or head is None:
            raise ValueError("incontext.calibration: layer and head are missing (the scores have several heads)")
        return layer, head

    def head(self, layer: int | None = None, head: int | None = None, *, gap: float | None = None,
             trained_length: int | None = None, factors: Sequence[int] = (1, 2, 8, 128)) -> HeadDetail:
        """One head in detail, by its layer and number, both from 0; they may be left out where there is only one head.

        `gap` is the needle's score above the mean of the others (default: four of their standard deviations),
        `trained_length` the length of rows in training (default: the longest row), and `factors` are the lengths to
        plan for over that length, ascending from 1.
        """
        found: HeadDetail = self._core.detail(*self._place(layer, head), gap, trained_length or 0, list(factors))
        return found

    def shifted(self, scores: Any, layer: int | None = None, head: int | None = None) -> ShiftedTemperature:
        """The moment-ratio temperatures of a head on these scores and on `scores`, those under a shift, and their quotient."""
        found: ShiftedTemperature = self._core.shifted(_as_scores(scores), *self._place(layer, head))
        return found

    def plot(self, layer: int | None = None, head: int | None = None, **options: Any) -> Any:
        """The plot of one head in detail; options as for `head`."""
        return self.head(layer, head, **options).plot()

    def to_dict(self) -> dict[str, Any]:
        """The phases and the heads as lists of dictionaries: pandas.DataFrame(report.to_dict()["heads"])."""
        return {"phases": [one.to_dict() for one in self.phases], "heads": [one.to_dict() for one in self.heads],
                "masked_rows": self.masked_rows, "single_key_rows": self.single_key_rows}

    def __repr__(self) -> str:
        counts = ", ".join(f"{one.heads} {one.phase}" for one in self.phases if one.heads)
        normal = sum(one.normal for one in self.phases)
        like_weights = sum(head.looks_like_weights for head in self.heads)
        warning = f"; {like_weights} look like weights after softmax" if like_weights else ""
        return (f"Calibration({len(self.heads)} heads, {normal} with normal rows; by the scores' deviation alone: "
                f"{counts}{warning})")

    def _repr_html_(self) -> str:
        several = _html("Phases", self.phases) if len(self.heads) > 1 else ""
        left = "" if len(self.heads) <= 24 else f"<p>and {len(self.heads) - 24} more</p>"
        return several + _html("Heads", self.heads[:24]) + left


def calibrate(scores: Any, *, causal: bool = False, inverse_temperature: float = 1.0,
              leave_out_masked_rows: bool = False, threads: int = 0,
              progress: bool | Callable[[int, int, float], Any] | None = None) -> Calibration:
    """Measures every head of raw attention scores and compares it with the law of normal rows.

    `scores` are layers x heads x queries x keys, or fewer dimensions, in half, single or double precision, in any order
    and memory-mapped or not; they are not copied. -inf masks a key, as does the mask of a numpy.ma array, which is
    copied. bfloat16 is read as an array of the package ml_dtypes. `causal` masks the later keys, `inverse_temperature`
    multiplies every score, and `leave_out_masked_rows` leaves out queries whose keys are all masked. A UserWarning says
    that heads look like weights after softmax (their field `looks_like_weights`). The number of
    threads never changes a digit; 0 means as many as the machine has.

    >>> import numpy
    >>> report = calibrate(numpy.random.default_rng(1).normal(0, 2, (2, 128, 256)))
    >>> report.normal_rows.tolist()
    [[0, 0]]
    >>> [plan.result.verdict for plan in report.head(0, 1).plans]
    [Verdict.agrees, Verdict.agrees]
    """
    report = Calibration(_core.calibration.Heads(_as_scores(scores), causal, inverse_temperature,
                                                 leave_out_masked_rows, threads, progress))
    if like_weights := sum(head.looks_like_weights for head in report.heads):
        warnings.warn(f"incontext.calibrate: {like_weights} of {len(report.heads)} heads look like weights after "
                      "softmax; the scores before softmax are needed", stacklevel=2)
    return report
