"""How a simulation reports its progress: to a function of yours, or by a bar of tqdm."""
from __future__ import annotations

from typing import Any, Callable


class Bar:
    """A bar of tqdm that counts trials."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError("progress=True needs tqdm: pip install tqdm, or give a function of your own") from error
        self._make = tqdm
        self._bar: Any = None

    def __call__(self, done: int, planned: int, seconds: float) -> None:
        if self._bar is None:
            self._bar = self._make(total=planned, unit="trial", unit_scale=True)
        self._bar.total = planned
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def reporter(progress: bool | Callable[[int, int, float], Any] | None) -> Any:
    """What is called with the trials done and planned and the seconds gone; None for silence."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar()
    if callable(progress):
        return progress
    raise TypeError("progress is True, False or a function of (done, planned, seconds)")
