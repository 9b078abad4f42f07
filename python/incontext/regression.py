"""Linear regression in context: the errors of a layer of attention, and its best temperature."""
from __future__ import annotations

from typing import Any

import numpy

from . import _core
from ._core.regression import *  # noqa: F403
from ._plot import axes_or_new
from ._record import _is_count
from .statistics import _estimates_of
from ._records.regression import *  # noqa: F403
from ._records.regression import QueryToken, _HeadsError, _InverseTemperatureParabola
from .scoring import Softmax


def _equal_tasks(one: LinearTask | DiagonalTask, other: object) -> bool:  # noqa: F405
    names = ("input_mean", "input_covariance", "task_mean", "task_covariance", "noise_variance")
    return type(other) is type(one) and all(
        numpy.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _hash_of_task(one: LinearTask | DiagonalTask) -> int:  # noqa: F405
    return hash((one.dimension, one.noise_variance))


for _task in (LinearTask, DiagonalTask):  # noqa: F405
    setattr(_task, "__eq__", _equal_tasks)
    setattr(_task, "__hash__", _hash_of_task)


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

    def plot(self, temperatures: Any = None, simulation: Any = None, axes: Any = None, label: str = "theory") -> Any:
        """Draws the error against the temperature, from an eighth of the best one to eight times it unless some are
        given, with the estimates of a simulation at them, and the best one; returns the axes of Matplotlib."""
        if numpy.ndim(self.constant):
            raise ValueError("incontext::regression: a plot is of one error "
                             f"(value = {numpy.size(self.constant)}; needs 1)")
        best = float(self.optimal_temperature())
        middle = best if numpy.isfinite(best) else 1.0
        given = numpy.array([middle / 8, 8 * middle]) if temperatures is None else numpy.atleast_1d(temperatures)
        estimates = [] if simulation is None else _estimates_of(simulation)
        if estimates and (temperatures is None or len(estimates) != given.size):
            raise ValueError("incontext::regression: a simulation is drawn at its temperatures (value = "
                             f"{0 if temperatures is None else given.size}; needs {len(estimates)})")
        curve = numpy.geomspace(given.min(), given.max(), 200)
        axes = axes_or_new(axes)
        axes.plot(curve, self(curve), label=label)
        if estimates:
            axes.errorbar(given, [one.mean for one in estimates], [one.standard_error for one in estimates], fmt="o",
                          label="simulation")
        if numpy.isfinite(best):
            axes.axvline(best, linestyle=":", color="gray", label=f"best temperature, {best:.4g}")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("temperature")
        axes.set_ylabel("mean squared error")
        axes.legend()
        return axes

    def excess(self, temperature: Any) -> Any:
        """How far the error is above its minimum, without cancellation."""
        return _core.regression._parabola_excess(self, temperature)


class HeadsError(_HeadsError):
    def __call__(self, values: Any) -> float:
        """The error of heads with these values."""
        return _core.regression._heads_error(self, values)

    def best_values(self) -> Any:
        """The values with the least error."""
        return _core.regression._heads_best_values(self)

    def least(self) -> float:
        """The least error."""
        return _core.regression._heads_least(self)


def softmax_optimum(attention: Attention, task: LinearTask | DiagonalTask, context_length: int,  # noqa: F405
                    query: QueryToken | str = QueryToken.excluded, *,
                    scale_values: bool = False) -> SoftmaxOptimum:  # noqa: F405
    """The temperature at which softmax attention has its least error, and that error.

    >>> task = LinearTask.isotropic(dimension=20, task_variance=0.05, noise_variance=0.1)
    >>> layer = pretrained_attention(task, 40)
    >>> round(softmax_optimum(layer, task.with_input_covariance_scaled(2.0), 40).parameter, 3)
    5.057

    The search for the least softmax_error begins at the best temperature of approximate softmax, or at 1 if there is
    none. It goes from a thousandth to a million times this temperature. If the error falls up to the highest one, no
    temperature helps, and `place` is "highest". With scale_values, the layer's values are scaled by the factor that is
    best at each temperature, and `value_scale` is that of the result. The Bayes risk beside it:
    baselines.corrected_bayes_risk, for any covariances.
    Raises ValueError as softmax_error does.
    """
    if not _is_count(context_length):
        raise TypeError("incontext.regression.softmax_optimum: context_length is of the wrong type "
                        f"(value = {context_length!r:.80}; needs one whole number)")
    start = float(generalization_error(attention, task, context_length, query).optimal_temperature())  # noqa: F405
    start = start if 0 < start < numpy.inf else 1.0
    span = SearchRange(start / 1000, start, start * 1e6)  # noqa: F405
    if not scale_values:
        return minimize_softmax_error(  # noqa: F405
            lambda t: softmax_error(attention, task, context_length, Softmax(t), query).value, span)  # noqa: F405

    def scaled(temperature: float) -> ValueScale:  # noqa: F405
        return optimal_value_scale(attention, task, context_length, Softmax(temperature), query)  # noqa: F405

    found = minimize_softmax_error(lambda t: scaled(t).error, span)  # noqa: F405
    return found.replace(value_scale=scaled(found.parameter).scale)
