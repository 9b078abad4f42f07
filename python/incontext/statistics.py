"""Estimates, whether a theory agrees with one, and the verdict on all comparisons of a run."""
from __future__ import annotations

from typing import Any

from . import _core
from ._record import brief
from ._core.statistics import *  # noqa: F403
from ._records.statistics import *  # noqa: F403
from ._records.statistics import Verdict, _Agreement, _Estimate, _Interval


class Interval(_Interval, cpp="core::Interval"):
    def contains(self, value: float) -> bool:
        """Whether the value lies in the interval, its ends included."""
        return bool(self.lower <= value <= self.upper)


class Estimate(_Estimate):
    def relative_error(self) -> float:
        """The standard error over the size of the mean."""
        return self.standard_error / abs(self.mean) if self.mean else float("nan")

    def interval(self, level: float = 0.95) -> Interval:
        """The confidence interval of the mean at this level, by Student's law."""
        return confidence_interval(self, level)

    def agree(self, theory: Any) -> Agreement:
        """Compares a theory with this estimate."""
        return agree(theory, self)


def _estimates_of(simulation: Any) -> list[Estimate]:
    """The estimates of a run; of a list or of one estimate, these."""
    found = getattr(simulation, "estimates", simulation)
    estimates = [found] if isinstance(found, Estimate) else found
    if not isinstance(estimates, (list, tuple)) or not all(isinstance(one, Estimate) for one in estimates):
        raise TypeError("incontext.compare: simulation is of the wrong type (value = "
                        f"{brief(found):.80}; needs a simulation, a list of estimates, or one estimate)")
    return list(estimates)


class Theory(float):
    """A number that a theory gives, with a bound on its own error. It is a float and computes as one.

    >>> Theory(0.25, error=1e-9).error
    1e-09
    """

    error: float = 0.0

    def __new__(cls, value: float, error: float = 0.0) -> Theory:
        self = super().__new__(cls, value)
        if error != 0.0:
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
        return agree(self, estimate)

    def __reduce__(self) -> Any:
        return Theory, (float(self), self.error)


class Agreement(_Agreement):
    def resolution(self, bound: float) -> float:
        """The relative deviation that the comparison would reject nine times in ten."""
        return _core.statistics._agreement_resolution(self, bound)

    def verdict(self, bound: float) -> Verdict:
        """What the comparison found when |z| above `bound` is a disagreement."""
        return _core.statistics._agreement_verdict(self, bound)

    def within(self, bound: float) -> bool:
        """Whether the comparison was judged, and |z| is at most `bound`."""
        return self.verdict(bound) is Verdict.agrees
