"""Laws of a row of scores: fading, freezing, retrieval, gradients."""
from __future__ import annotations

from typing import Any

from . import _core
from ._core.laws import *  # noqa: F403
from ._records.laws import *  # noqa: F403
from ._records.laws import GroupShare, _Quadrature, _TwoGroupRow
from .statistics import Agreement, Estimate


class Quadrature(_Quadrature, cpp="numerics::Quadrature"):
    def __float__(self) -> float:
        return float(self.value)

    def agree(self, estimate: Estimate) -> Agreement:
        """Compares this theory, with its own error, with an estimate."""
        return _core.statistics.agree(self, estimate)


class TwoGroupRow(_TwoGroupRow):
    def __init__(self, *values: Any, **named: Any) -> None:
        if len(values) == 7:  # the numbers as C++ has them, one group after the other
            values = (GroupShare(*values[:3]), GroupShare(*values[3:6])), values[6]
        super().__init__(*values, **named)

    def gradient_share(self, group: int) -> Any:
        """The share of a group, 0 or 1, in the squared gradient at the scores."""
        both = [one.squared_gradient for one in self.groups]
        return both[group] / (both[0] + both[1])
