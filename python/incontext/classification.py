"""Classification in context on the sphere: the gradient descent that attention carries out, and its rules."""
from __future__ import annotations

from ._core.classification import *  # noqa: F403
from ._records.classification import *  # noqa: F403
from .regression import QueryToken as QueryToken
