"""Monte Carlo simulations of the models, whose numbers depend on the seed and on the number of trials alone.

Every simulation takes its options as keywords: seed, trials, relative_error, device, threads, gpu, and progress, which
is True for a bar of tqdm or a function of (done, planned, seconds). Ctrl-C ends it with KeyboardInterrupt.
"""
from __future__ import annotations

from typing import Any, Callable, Iterable, TypedDict, TypeVar

from ._simulate.simulate import *  # noqa: F403
from ._records.simulate import *  # noqa: F403
from ._records.simulate import Device, NeedleToken, _ScoreRow
from .scoring import Map

_Map = TypeVar("_Map", bound=Map)


class RunOptions(TypedDict, total=False):
    """The keywords that every simulation takes, as type checkers see them."""

    seed: int
    trials: int
    relative_error: float
    device: Device | str
    threads: int
    gpu: int
    progress: bool | Callable[[int, int, float], object] | None


class ScoreRow(_ScoreRow):
    def with_needle(self, score: float, stddev: float = 0.0) -> ScoreRow:
        """The same row with a needle of this score, normal where `stddev` is positive."""
        row: ScoreRow = self.replace(needle_token=NeedleToken.present, needle=score, needle_stddev=stddev)
        return row


def at_temperatures(temperatures: Iterable[float], map: _Map) -> list[_Map]:
    """The map at each of these temperatures, to be simulated on common draws.

    >>> from incontext import scoring
    >>> [one.temperature for one in at_temperatures([1.0, 2.0], scoring.Softmax())]
    [1.0, 2.0]
    """
    if not isinstance(map, Map):
        raise TypeError(f"incontext.simulate.at_temperatures: map is of the wrong type "
                        f"(value = {map!r:.80}; needs a map)")
    return [map.replace(temperature=float(temperature)) for temperature in temperatures]
