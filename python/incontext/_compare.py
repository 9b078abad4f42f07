"""A theory beside a simulation at several points: a table, a frame of pandas and a plot."""
from __future__ import annotations

from typing import Any, Iterable

import numpy

from . import statistics
from ._plot import pyplot
from ._record import frame_of, table_text
from .laws import Quadrature


class Compared:
    """Theories beside estimates, judged as one family: `comparisons`, and `whole`, the verdict on all of them.

    `at` are the points, such as temperatures; 0, 1, 2, ... if there are none.
    """

    def __init__(self, at: Any, comparisons: list[statistics.Comparison], level: float) -> None:
        self.at = at
        self.whole, self.comparisons = statistics.judge(comparisons, level)

    def to_dict(self) -> dict[str, list[Any]]:
        """A list for each column."""
        found = [one.agreement for one in self.comparisons]
        return {"at": list(self.at), "theory": [one.theory for one in found],
                "simulation": [one.estimate.mean for one in found],
                "standard_error": [one.estimate.standard_error for one in found], "z": [one.z for one in found],
                "verdict": [one.verdict.name for one in self.comparisons]}

    def to_frame(self) -> Any:
        """The columns as a frame of pandas."""
        return frame_of(self.to_dict())

    def __len__(self) -> int:
        return len(self.comparisons)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Compared({self._verdict()})"

    def __str__(self) -> str:
        columns = self.to_dict()
        rows = zip(*columns.values())
        verdict = f"{self._verdict()}; the bound on |z| is {self.whole.bound:.3g}"
        return "\n".join([*table_text(list(columns), list(rows)), verdict])

    def _verdict(self) -> str:
        return f"{self.whole.judged} of {len(self)} judged, {self.whole.disagreements} disagree"

    def plot(self, label: str = "") -> Any:
        """Draws theory and simulation, and z below with its bound; returns the figure of Matplotlib."""
        columns = self.to_dict()
        figure, (upper, lower) = pyplot().subplots(2, 1, sharex=True, height_ratios=(3, 1), layout="constrained")
        upper.plot(columns["at"], columns["theory"], "-", label="theory")
        upper.errorbar(columns["at"], columns["simulation"], columns["standard_error"], fmt="o", label="simulation")
        upper.legend()
        lower.plot(columns["at"], columns["z"], "o")
        for bound in (-self.whole.bound, 0, self.whole.bound):
            lower.axhline(bound, color="gray", linestyle="-" if bound == 0 else ":")
        lower.set_ylabel("z")
        lower.set_xlabel(label)
        return figure


def compare(theory: Any, simulation: Any, at: Iterable[float] | None = None, *, level: float = 1e-3) -> Compared:
    """Sets a theory beside a simulation, point by point.

    >>> import incontext as ic
    >>> ic.compare(1.0, ic.statistics.Estimate(count=65536, mean=1.002, standard_error=0.001))
    Compared(1 of 1 judged, 0 disagree)

    Parameters
        theory: a number or several, with their own errors where they have them, as those of the closed forms do.
        simulation: a run of as many points, a list of estimates, or one estimate.
        at: the points. level: the probability with which right theories are called a disagreement is at most this.
    Raises ValueError where theory, simulation and points are not equally many.
    """
    estimates = statistics._estimates_of(simulation)
    if isinstance(theory, Quadrature):
        theories = list(theory) if theory.shape else [theory]
    else:
        theories = list(theory) if numpy.ndim(theory) else [theory]
    points = list(range(len(theories)) if at is None else at)
    if not len(theories) == len(estimates) == len(points):
        sizes = f"{len(theories)}, {len(estimates)}, {len(points)}"
        raise ValueError(f"incontext::compare: theory, simulation and points are not equally many (value = {sizes}; "
                         "needs one estimate and one point for each theory)")
    return Compared(points, [statistics.compare(one, other) for one, other in zip(theories, estimates)], level)
