"""The reference curves of in-context regression, exact at finite size.

    curves = incontext.baselines.curves(dimension=20, context_length=range(1, 201), noise_variance=0.1,
                                        task_variance=1 / 20, layers=[1, 2, 4])
    curves["bayes"]                     # an array, one value per context length
    curves.plot()

Inputs are N(0, input_variance I), tasks N(0, task_variance I); nothing is centered. The functions are those of the C++
room, of numbers or arrays of them.
"""
from __future__ import annotations

from typing import Any, ItemsView, Iterator, KeysView, Sequence

import numpy
from numpy.typing import NDArray

from ._core.baselines import *  # noqa: F403
from ._plot import axes_or_new, pyplot
from ._record import Record, cell, frame_of, table_text
from ._records.baselines import *  # noqa: F403


class MeanPoolErrors(Record):
    """One number per length in each."""

    seen: Any
    seen_standard_error: Any
    fresh: Any
    fresh_standard_error: Any


class Curves:
    """Curves by name, one value per context length; the names say what reads the context.

    no_context: the answer 0. least_squares: of least norm where the examples are fewer than the dimensions, infinite
    where the two differ by at most one. averaging: the mean of label times input. neighbors_K: the mean label of the K
    nearest examples. delta_rule and other mixers: with the best rate and gate at each length. layers_L and looped_L: L
    layers of linear attention with the best step sizes, or one applied L times. pool_K and pool_K_seen: a layer pretrained without end on K tasks, on new tasks and on those
    K, a mean over drawn pools with a standard_error(name). sgd_T: a layer after T tasks of one-pass SGD, at the constant
    learning rate that is best for T. bayes: the floor. bayes_limit: its limit for large sizes, to be shown beside it.
    """

    def __init__(self, context_length: Any, curves: dict[str, NDArray[numpy.float64]],
                 standard_errors: dict[str, NDArray[numpy.float64]] | None = None) -> None:
        self.context_length = context_length
        self._curves = curves
        self._standard_errors = standard_errors or {}

    def standard_error(self, name: str) -> NDArray[numpy.float64]:
        """Of each value of a curve: 0 where it is exact."""
        return self._standard_errors.get(name, numpy.zeros_like(self[name]))

    def __getitem__(self, name: str) -> NDArray[numpy.float64]:
        if name not in self._curves:
            raise KeyError(f"there is no curve {name!r}: {', '.join(self._curves)}")
        return self._curves[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._curves)

    def __len__(self) -> int:
        return len(self._curves)

    def keys(self) -> KeysView[str]:
        return self._curves.keys()

    def items(self) -> ItemsView[str, NDArray[numpy.float64]]:
        return self._curves.items()

    def to_dict(self) -> dict[str, Any]:
        """The context lengths and the curves by name."""
        return {"context_length": self.context_length, **self._curves}

    def to_frame(self) -> Any:
        """The columns as a frame of pandas."""
        return frame_of(self.to_dict())

    def __repr__(self) -> str:
        return f"Curves({len(self.context_length)} context lengths: {', '.join(self._curves)})"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("context_length", *self._curves))
        rows = zip(self.context_length.tolist(), *(curve.tolist() for curve in self._curves.values()))
        body = "".join("<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>" for row in rows)
        return f"<table><caption>Curves</caption><tr>{head}</tr>{body}</table>"

    def __str__(self) -> str:
        columns = [self.context_length.tolist(), *(curve.tolist() for curve in self._curves.values())]
        return "\n".join(table_text(["context_length", *self._curves], list(zip(*columns))))

    def plot(self, names: Sequence[str] | None = None, axes: Any = None) -> Any:
        """Draws the curves against the context length, into Matplotlib's axes if they are given; returns the axes."""
        axes = axes_or_new(axes)
        black = {"bayes": "k-", "bayes_limit": "k:", "no_context": "k--"}
        names = [*self._curves] if names is None else names
        colored = [name for name in names if name not in black]
        colors = len(pyplot().rcParams["axes.prop_cycle"])  # then they repeat, with other dashes
        for name in names:
            style = black.get(name) or ("-", "--", "-.", ":")[colored.index(name) // colors % 4]
            curve = numpy.where(numpy.isfinite(self[name]), self[name], numpy.nan)
            axes.plot(self.context_length, curve, style, label=name.replace("_", " "))
        axes.set_xlabel("examples in the context")
        axes.set_ylabel("mean squared error")
        axes.set_ylim(0, 1.1 * max(self["no_context"].max(), 1e-300))
        many = len(names) > 8
        axes.legend(fontsize="x-small" if many else None, ncols=2 if many else 1, framealpha=0.6)
        return axes


def _list(counts: Any) -> list[Any]:
    """One number or several, as a list."""
    return [counts] if isinstance(counts, (int, numpy.integer)) else list(counts)


def curves(dimension: int, context_length: Any, noise_variance: float, task_variance: float, *,
           input_variance: float = 1.0, layers: int | Sequence[int] = (), looped: int | Sequence[int] = (),
           query_noise: bool = True, per_dimension: bool = False, pretraining_tasks: int | Sequence[int] = (),
           sgd_tasks: int | Sequence[int] = (), pools: int = 100, pool_seed: int = 1, averaging: bool = False,
           neighbors: int | Sequence[int] = (), mixers: Any = ()) -> Curves:
    """The reference curves at each context length.

    >>> import incontext as ic
    >>> found = ic.baselines.curves(20, [10, 20, 40], noise_variance=0.1, task_variance=1 / 20, layers=[1, 2])
    >>> print(found)
    context_length  no_context  least_squares  layers_1  layers_2   bayes  bayes_limit
                10         1.1         0.7111     0.797    0.7218  0.6779       0.6742
                20         1.1            inf    0.6349    0.4982  0.3784       0.3702
                40         1.1         0.2053    0.4651    0.2965  0.1873       0.1844

    Parameters
        dimension: of the inputs. context_length: a number of examples, or several.
        noise_variance, task_variance, input_variance: of the labels' noise, of each entry of the task, of each entry of
        the inputs, which is 1/dimension for inputs N(0, I/d).
        layers, looped: numbers of layers of linear attention, each with its best step size, or one that is repeated.
        query_noise: whether errors are measured on the noisy label. per_dimension: whether they are divided by the
        dimension.
        pretraining_tasks: numbers of tasks that a layer is pretrained on without end, averaged over so many pools, drawn
        from pool_seed. sgd_tasks: numbers of tasks, each seen once, after which SGD on a layer ends.
        averaging: whether the mean of label times input, over the input variance, is a curve. neighbors: numbers of nearest
        examples whose labels are averaged. mixers: one MixerKind or several, such as "delta_rule".
    Raises ValueError for sizes and variances out of range, with the name of the argument.
    """
    given = numpy.atleast_1d(numpy.asarray(context_length))
    if given.ndim != 1 or given.size == 0 or not numpy.array_equal(given, numpy.floor(given)):
        raise ValueError(f"incontext::baselines::curves: context_length is not a list of whole numbers (value = "
                         f"{context_length!r}; needs counts from 0 to 1e6)")
    lengths = given.astype(numpy.int64)
    kinds = [MixerKind.of("incontext::baselines::curves: mixers", kind)  # noqa: F405
             for kind in ([mixers] if isinstance(mixers, (str, int)) else mixers)]
    found = reference_curves(dimension, lengths.tolist(), noise_variance, task_variance, input_variance,  # noqa: F405
                             _list(layers), _list(looped), query_noise, per_dimension, _list(pretraining_tasks),
                             _list(sgd_tasks), pools, pool_seed, averaging, _list(neighbors), kinds)
    return Curves(lengths, {name: numpy.asarray(values) for name, (values, _) in found},
                  {name: numpy.asarray(errors) for name, (_, errors) in found if errors})
