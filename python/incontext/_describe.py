"""What a class of C++ holds, as a dictionary, as a line of text and as a table for notebooks."""
from __future__ import annotations

from typing import Any, Callable, Iterable

from . import simulate
from ._record import Choice, cell, fields_html, plain
from .statistics import Estimate

Rows = list[dict[str, Any]]


def _measured(count: int, metrics: Iterable[Choice], at: Callable[[int, Any], Any]) -> Rows:
    return [{metric.name: at(point, metric) for metric in metrics} for point in range(count)]


def _points(metrics: type[Choice]) -> Callable[[Any], dict[str, Any]]:
    """A simulation whose estimates are all metrics of one point after the other."""
    return lambda one: _run(one) | {"points": _measured(len(one.run.estimates) // len(metrics), metrics, one.at)}


def _run(one: Any) -> dict[str, Any]:
    return {name: getattr(one.run, name) for name in ("trials", "interrupted", "device", "seconds")}


def _fields(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda one: {name: getattr(one, name) for name in names}


def _score_rows(one: Any) -> dict[str, Any]:
    functionals = list(simulate.RowFunctional)[: one.functionals]
    return _run(one) | {"points": _measured(len(one.run.estimates) // one.functionals, functionals, one.at)}


def _score_row_sample(one: Any) -> dict[str, Any]:
    functionals = list(simulate.RowFunctional)[: one.functionals]
    return {"trials": one.trials, "medians": _measured(one.points, functionals, one.median),
            "largest_shares": _measured(one.points, functionals, one.largest_share)}


def _gradient_norms(one: Any) -> dict[str, Any]:
    held = _points(simulate.GradientNorm)(one)
    for number, point in enumerate(held["points"]):
        point["imbalance"] = one.imbalance(number)
    return held


def _contrasts(one: Any) -> dict[str, Any]:
    metrics = simulate.ClassificationMetric
    pairs = (len(one.run.estimates) - one.classifiers * len(metrics)) // 2
    return _run(one) | {"points": _measured(one.classifiers, metrics, one.at),
                        "pairs": [{"loss_difference": one.loss_difference(pair),
                                   "accuracy_difference": one.accuracy_difference(pair)} for pair in range(pairs)]}


def _grid(one: Any) -> dict[str, Any]:
    shape = [(kappa, gain) for kappa in range(one.kappas) for gain in range(one.gains)]
    differs = len(one.run.estimates) > one.kappas * (one.gains + 1)
    points = [{"kappa": kappa, "gain": gain, "loss": one.loss(kappa, gain)}
              | ({"loss_difference": one.loss_difference(kappa, gain)} if differs else {}) for kappa, gain in shape]
    return _run(one) | {"points": points,
                        "accuracies": [{"kappa": k, "accuracy": one.accuracy(k)} for k in range(one.kappas)]}


def _partition_function(one: Any) -> dict[str, Any]:
    kernels = _measured(one.kernels, simulate.PartitionFunctionMetric, one.at)
    for number, kernel in enumerate(kernels):
        kernel["variance_ratio"], kernel["variation"] = one.variance_ratio(number), one.variation(number)
    return _run(one) | {"kernels": kernels, "balance": {metric.name: one.at(metric) for metric in simulate.BalanceMetric}}


_HELD: dict[str, Callable[[Any], dict[str, Any]]] = {
    "ScoreRowSimulation": _score_rows,
    "ScoreRowSample": _score_row_sample,
    "GradientNormsSimulation": _gradient_norms,
    "GradientNormsSample": lambda one: {"trials": one.trials,
                                        "medians": _measured(one.points, simulate.GradientNorm, one.median)},
    "ClassificationSimulation": _points(simulate.ClassificationMetric),
    "AlignmentSimulation": _points(simulate.AlignmentMetric),
    "AdaptiveOnsetSimulation": _points(simulate.AdaptiveOnsetMetric),
    "ClassificationContrasts": _contrasts,
    "ClassificationGridSimulation": _grid,
    "ClassificationOptimum": _fields("best", "chart_gain", "loss", "accuracy", "kappa_place", "gain_place", "kappa_step",
                                     "gain_step", "end", "zooms"),
    "ContextAttentionSimulation": lambda one: _run(one) | {metric.name: one.at(metric)
                                                           for metric in simulate.ContextAttentionMetric},
    "PartitionFunctionSimulation": _partition_function,
    **dict.fromkeys(("LinearTask", "DiagonalTask"),
                    _fields("input_mean", "input_covariance", "task_mean", "task_covariance", "noise_variance")),
    "SequenceMixers": _fields("task"),
    "Trainer": _fields("steps", "parameters"),
    "GradientFlow": _fields("time", "parameters"),
}
# what its line of text says, where that is not every number
_SHOWN = {**dict.fromkeys(("LinearTask", "DiagonalTask"), ("dimension", "noise_variance")),
          "ClassificationOptimum": ("best", "loss", "accuracy")}


def _held(one: Any) -> dict[str, Any]:
    return _HELD[type(one).__mro__[-2].__name__](one)


def to_dict(one: Any) -> dict[str, Any]:
    found: dict[str, Any] = plain(_held(one))
    return found


def to_text(one: Any) -> str:
    kind = type(one).__name__
    if kind in _SHOWN:
        return f"{kind}({', '.join(f'{name}={getattr(one, name)!r}' for name in _SHOWN[kind])})"
    parts = []
    for name, value in _held(one).items():
        if isinstance(value, list):
            parts.append(f"{len(value)} {name}")
        elif hasattr(value, "shape"):
            parts.append(f"{value.size} {name}")
        elif isinstance(value, Estimate):
            parts.append(f"{name}={cell(value)}")
        elif not isinstance(value, dict) and name not in ("interrupted", "seconds"):
            parts.append(f"{name}={value}")
    return f"{kind}({', '.join(parts)})"


def to_html(one: Any) -> str:
    """A table of what is one thing each, and one for each list."""
    caption, held = type(one).__name__, _held(one)
    text = fields_html(caption, {name: value for name, value in held.items() if not isinstance(value, (list, dict))})
    for name, value in held.items():
        lines = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
        if not lines:
            continue
        head = "".join(f"<th>{column}</th>" for column in ("", *lines[0]))
        body = "".join(f"<tr><th>{number}</th>" + "".join(f"<td>{cell(entry)}</td>" for entry in line.values()) + "</tr>"
                       for number, line in enumerate(lines))
        text += f"<table><caption>{name}</caption><tr>{head}</tr>{body}</table>"
    return text
