"""Linear regression in context: the errors of a layer of attention, and its best temperature."""
from __future__ import annotations

from typing import Any

from . import _core
from ._core.regression import *  # noqa: F403
from ._records.regression import *  # noqa: F403
from ._records.regression import _InverseTemperatureParabola


class InverseTemperatureParabola(_InverseTemperatureParabola):
    def __call__(self, temperature: Any) -> Any:
        return _core.regression._parabola_error(self, temperature)

    def has_optimal_temperature(self) -> Any:
        """Whether the error has its least value at a positive and finite temperature."""
        found = _core.regression._parabola_has_optimal_temperature(self)
        return bool(found) if isinstance(found, int) else found.astype(bool)

    def optimal_temperature(self) -> Any:
        """The temperature at which the error is least; infinity where no positive temperature helps."""
        return _core.regression._parabola_optimal_temperature(self)

    def minimum(self) -> Any:
        """The least error."""
        return _core.regression._parabola_minimum(self)

    def excess(self, temperature: Any) -> Any:
        """How far the error is above its minimum, without cancellation."""
        return _core.regression._parabola_excess(self, temperature)
