"""The closed-form theory of in-context learning by attention, with simulators that put it on trial.

    import incontext as ic

    pretraining = ic.regression.LinearTask.isotropic(dimension=20, task_variance=0.05, noise_variance=0.1)
    shifted = pretraining.with_input_covariance_scaled(2.0)
    attention = ic.regression.pretrained_attention(pretraining, context_length=40)
    error = ic.regression.generalization_error(attention, shifted, 40)
    best = error.optimal_temperature()

The modules are the rooms of the C++ library: regression, laws, scoring, apply, classification, baselines, training,
simulate, statistics and calibration. incontext.baselines.curves(...) gives the reference curves of a figure, exactly;
incontext.calibrate(scores) says what the attention heads of a model do; incontext.compare(theory, simulation) shows
where the two agree; incontext.predictors(...) has the errors of every predictor side by side; incontext.ledger() has
the claims of the five papers with their verdicts.
Names, defaults and errors are those of C++: ValueError for std::invalid_argument and std::domain_error, with the same
message.
"""
from __future__ import annotations

import copyreg
from functools import partial
from operator import attrgetter
from typing import Any

from . import _core, _editions

_editions.load()
copyreg.pickle(type(_core.edition), attrgetter("__qualname__"))  # a function of C++ is pickled by its name, as others are

from . import apply, baselines, calibration, classification, laws, regression, scoring, simulate  # noqa: E402
from . import statistics, training  # noqa: E402
from ._signatures import describe_functions, own_names  # noqa: E402
from ._compare import compare  # noqa: E402
from ._ledger import ledger  # noqa: E402
from ._predictors import predictors  # noqa: E402
from .calibration import calibrate  # noqa: E402

__all__ = ["apply", "baselines", "calibrate", "calibration", "classification", "compare", "laws", "ledger",
           "predictors", "regression", "scoring", "simulate", "statistics", "training"]


def __getattr__(name: str) -> Any:
    """`__version__`, which CMakeLists.txt defines and the installed package's metadata has."""
    if name != "__version__":
        raise AttributeError(f"module 'incontext' has no attribute {name!r}")
    from importlib.metadata import version

    return version("incontext")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


for _room in (apply, baselines, calibration, classification, laws, regression, scoring, simulate, statistics,
              training):
    describe_functions(_room)
    setattr(_room, "__dir__", partial(own_names, _room))
