"""The closed-form theory of in-context learning by attention, with simulators that put it on trial.

    import incontext as ic

    pretraining = ic.regression.LinearTask.isotropic(dimension=20, task_variance=0.05, noise_variance=0.1)
    shifted = pretraining.with_input_covariance_scaled(2.0)
    attention = ic.regression.pretrained_attention(pretraining, context_length=40)
    error = ic.regression.generalization_error(attention, shifted, 40)
    best = error.optimal_temperature()

The modules are the rooms of the C++ library: regression, laws, scoring, apply, classification, baselines, training,
simulate, statistics and calibration. incontext.baselines(...) gives the reference curves of a figure, exactly;
incontext.calibrate(scores) says what the attention heads of a model do.
Names, defaults and errors are those of C++: ValueError for std::invalid_argument, ArithmeticError for
std::domain_error, with the same message.
"""
from __future__ import annotations

from . import _editions

_editions.load()

from . import apply, baselines, calibration, classification, laws, regression, scoring, simulate  # noqa: E402
from . import statistics, training  # noqa: E402
from .calibration import calibrate  # noqa: E402

__all__ = ["apply", "baselines", "calibrate", "calibration", "classification", "laws", "regression", "scoring",
           "simulate", "statistics", "training"]
__version__ = "0.1.0"
