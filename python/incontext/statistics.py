"""Estimates, whether a theory agrees with one, and the verdict on all comparisons of a run."""
from __future__ import annotations

from typing import Any

from . import _core
from ._core.statistics import *  # noqa: F403
from ._record import Choice, Record


class Verdict(Choice):
    """What a comparison of a theory with a simulation found."""

    agrees = 0
    disagrees = 1
    not_judged = 2


class Interval(Record, cpp="core::Interval"):
    lower: float
    upper: float

    def contains(self, value: float) -> bool:
        """Whether the value lies in the interval, its ends included."""
        return bool(self.lower <= value <= self.upper)


class Estimate(Record):
    count: int = 0
    mean: float = float("nan")
    standard_error: float = float("nan")
    non_finite: int = 0
    rounding: float = 0.0

    def relative_error(self) -> float:
        """The standard error over the size of the mean."""
        return self.standard_error / abs(self.mean) if self.mean else float("nan")

    def interval(self, level: float = 0.95) -> Interval:
        """The confidence interval of the mean at this level, by Student's law."""
        return _core.statistics.confidence_interval(self, level)

    def agree(self, theory: Any) -> Agreement:
        """Compares a theory with this estimate."""
        return _core.statistics.agree(theory, self)


class Theory(float):
    """A number that a theory gives, with a bound on its own error. It is a float and computes as one.

    >>> Theory(0.25, error=1e-9).error
    1e-09
    """

    error: float

    def __new__(cls, value: float, error: float = 0.0) -> Theory:
        self = super().__new__(cls, value)
        self.error = abs(error)
        return self

    @property
    def value(self) -> float:
        """The number as a plain float."""
        return float(self)

    def __float__(self) -> float:
        return float.__add__(self, 0.0)

    def agree(self, estimate: Estimate) -> Agreement:
        """Compares this theory with an estimate: z, the verdict, and the reason where it cannot be judged."""
        return _core.statistics.agree(self, estimate)

    def __reduce__(self) -> Any:
        return Theory, (float(self), self.error)


class Agreement(Record):
    theory: float
    theory_error: float
    estimate: Estimate
    excess: float
    z: float
    reason: str

    def resolution(self, bound: float) -> float:
        """The relative deviation that the comparison would reject nine times in ten."""
        return _core.statistics._agreement_resolution(self, bound)

    def verdict(self, bound: float) -> Verdict:
        """What the comparison found when |z| above `bound` is a disagreement."""
        return _core.statistics._agreement_verdict(self, bound)

    def within(self, bound: float) -> bool:
        """Whether the comparison was judged, and |z| is at most `bound`."""
        return self.verdict(bound) is Verdict.agrees


class Relation(Choice):
    """What is said of a value and a theory: an equality, a negative control, or a bound."""

    equals = 0
    differs = 1
    at_most = 2
    at_least = 3


class ControlOutcome(Choice):
    """What a simulation makes of a statement that is known to be wrong."""

    rejected = 0
    passed = 1
    cannot_tell = 2
    not_reached = 3


class Control(Record):
    z: float
    outcome: ControlOutcome


class Comparison(Record):
    agreement: Agreement
    trials: int = 0
    is_tested: bool = True
    verdict: Verdict = Verdict.not_judged


class FamilyVerdict(Record):
    """What `judge` finds in a family of comparisons; with the comparisons, which then have their verdicts:

    >>> right = Estimate(count=4096, mean=1.02, standard_error=0.01)
    >>> whole, family = judge([compare(1.0, right), compare(1.1, right)], 1e-3)
    >>> whole.disagreements, [one.verdict for one in family]
    (1, [Verdict.agrees, Verdict.disagrees])
    """

    tested: int
    judged: int
    disagreements: int
    bound: float
    farthest: int | None
    coarsest: int | None
    median_resolution: float
