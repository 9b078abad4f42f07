"""Axes of Matplotlib, which is imported by the first plot."""
from __future__ import annotations

from typing import Any


def pyplot() -> Any:
    try:
        from matplotlib import pyplot as found
    except ImportError as error:
        raise ImportError("plot() needs Matplotlib: pip install matplotlib") from error
    return found


def axes_or_new(axes: Any) -> Any:
    """The axes that are given, or those of a new figure."""
    return pyplot().subplots(layout="constrained")[1] if axes is None else axes
