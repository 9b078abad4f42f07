"""Laws of a row of scores: fading, freezing, retrieval, gradients."""
from __future__ import annotations

from typing import Any, Iterator

import numpy
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import statistics
from ._core.laws import *  # noqa: F403
from ._records.laws import *  # noqa: F403
from ._records.laws import GroupShare, _Quadrature, _TwoGroupRow
from .statistics import Agreement, Estimate


class Quadrature(_Quadrature, NDArrayOperatorsMixin, cpp="numerics::Quadrature"):
    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return numpy.array(self.value, dtype) if copy else numpy.asarray(self.value, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        if any(isinstance(one, Quadrature) for one in named.get("out", ())):
            del named["out"]  # of +=, after which the name is that of a plain number or array
        return getattr(ufunc, method)(*(one.value if isinstance(one, Quadrature) else one for one in inputs), **named)

    def __eq__(self, other: object) -> Any:
        return self.value == (other.value if isinstance(other, Quadrature) else other)

    def __ne__(self, other: object) -> Any:
        equal = self == other
        return numpy.logical_not(equal) if hasattr(equal, "shape") else not equal

    __hash__ = None  # type: ignore[assignment]

    def __format__(self, text: str) -> str:
        return format(self.value, text) if text else str(self)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.value, digits)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Quadrature]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Quadrature:
        """The values and the error estimates of some elements of an array."""
        return Quadrature(self.value[index], self.error_estimate[index])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array; () for a number."""
        return numpy.shape(self.value)

    def agree(self, estimate: Estimate) -> Agreement:
        """Compares this theory, with its own error, with an estimate."""
        return statistics.agree(self, estimate)


class TwoGroupRow(_TwoGroupRow):
    def __init__(self, *values: Any, **named: Any) -> None:
        if len(values) == 7:  # the numbers as C++ has them, one group after the other
            values = (GroupShare(*values[:3]), GroupShare(*values[3:6])), values[6]
        super().__init__(*values, **named)

    def gradient_share(self, group: int) -> Any:
        """The share of a group, 0 or 1, in the squared gradient at the scores."""
        both = [one.squared_gradient for one in self.groups]
        return both[group] / (both[0] + both[1])
