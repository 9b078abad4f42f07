"""The predictors of a context of labeled examples side by side."""
from __future__ import annotations

from typing import Any

import numpy

from . import baselines, regression
from .baselines import Curves
from .scoring import SSMax, Softmax


def predictors(dimension: int, context_length: Any, noise_variance: float, task_variance: float | None = None,
               **options: Any) -> Curves:
    """The errors of predictors on the same contexts, from the answer 0 to the posterior mean, exact at finite size.

    >>> import incontext as ic
    >>> page = ic.predictors(8, [8, 64], noise_variance=0.1)
    >>> {name: page[name].round(3).tolist() for name in ("softmax", "softmax_pair", "delta_rule")}
    {'softmax': [0.892, 0.464], 'softmax_pair': [0.68, 0.235], 'delta_rule': [0.571, 0.133]}

    Beside the curves of baselines.curves there are those of a layer whose scores are s x_j . x_q:

        softmax: at its best temperature. softmax_scaled: with its best value, too. softmax_pair: two heads, with the
        best scales and values. softmax_held: at every length the temperature that is best at the
        shortest context. ssmax_held: the same for the scale of SSMax.

    Parameters
        dimension: of the inputs, which are N(0, I). context_length: a number of at least 2, or several.
        noise_variance, task_variance: of the labels' noise, and of each entry of the task: 1/dimension if absent.
        options: those of baselines.curves, in place of layers=[1, 2, 4], neighbors=[3], averaging=True and
        mixers=["gated_linear_attention", "delta_rule", "gated_delta_net"].
    Raises ValueError for sizes and variances out of range, with the name of the argument.
    """
    if numpy.size(context_length) == 0:
        raise ValueError("incontext::predictors: context_length is empty (value = []; needs a length)")
    shortest = numpy.min(context_length)
    if not shortest >= 2:
        raise ValueError(f"incontext::predictors: context_length is too small (value = {shortest}; needs at least 2)")
    if task_variance is None:
        task_variance = 1 / dimension if dimension else 1.0  # which curves refuses
    chosen = {"layers": [1, 2, 4], "neighbors": [3], "averaging": True,
              "mixers": ["gated_linear_attention", "delta_rule", "gated_delta_net"], **options}
    curves = baselines.curves(dimension, context_length, noise_variance, task_variance, **chosen)
    lengths = curves.context_length.tolist()
    law = regression.IsotropicTask(dimension, 1.0, task_variance, noise_variance)
    layer = regression.IsotropicAttention(1.0, 1.0)
    task = regression.LinearTask.isotropic(dimension, task_variance=task_variance, noise_variance=noise_variance)
    keys = numpy.eye(dimension)
    single = regression.Attention(keys, numpy.zeros(dimension), 1.0)
    best = [regression.softmax_optimal_temperature_isotropic(layer, law, length) for length in lengths]
    held = Softmax(best[lengths.index(min(lengths))].parameter)
    held_ssmax = SSMax(regression.ssmax_optimal_scale_isotropic(layer, law, min(lengths)).parameter)

    def errors_of(map: Any) -> Any:
        return [float(regression.softmax_error_isotropic(layer, law, length, map)) for length in lengths]

    softmax = {
        "softmax_held": errors_of(held),
        "ssmax_held": errors_of(held_ssmax),
        "softmax": [one.error for one in best],
        "softmax_scaled": [regression.softmax_optimum(single, task, length, scale_values=True).error
                           for length in lengths],
        "softmax_pair": [regression.best_softmax_heads(keys, task, length, 2).error for length in lengths]}
    unit = dimension if options.get("per_dimension") else 1.0
    noise = 0.0 if options.get("query_noise", True) else noise_variance
    added = {name: (numpy.asarray(values) - noise) / unit for name, values in softmax.items()}
    return Curves(curves.context_length, {**dict(curves.items()), **added}, curves._standard_errors)
