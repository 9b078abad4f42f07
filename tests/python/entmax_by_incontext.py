"""A plugin of pytest that puts this package's maps in the place of those of the package entmax."""
from __future__ import annotations

import entmax
import entmax.activations
import entmax.losses
import entmax.root_finding
import torch

import incontext.torch
from incontext import scoring


calls = []


def pytest_sessionfinish(session):
    """A suite that does not reach both maps fails."""
    print("calls of these maps:", {name: calls.count(name) for name in sorted(set(calls))})
    if not {"Sparsemax", "Entmax"} <= set(calls):
        session.exitstatus = 1


def along(map, scores, dim, alpha=None):
    """The weights along the axis `dim`; a tensor `alpha` has length 1 along it."""
    calls.append(type(map).__name__)
    if isinstance(alpha, torch.Tensor) and alpha.ndim:
        shape = [1 if axis == dim % scores.ndim else size for axis, size in enumerate(scores.shape)]
        alpha = alpha.expand(shape).transpose(dim, -1)
    options = {} if alpha is None else {"alpha": alpha}
    return incontext.torch.weights(map, scores.transpose(dim, -1), **options).transpose(dim, -1)


def sparsemax(X, dim=-1, k=None, return_support_size=False):
    return along(scoring.Sparsemax(), X, dim)


def entmax15(X, dim=-1, k=None, return_support_size=False):
    return along(scoring.Entmax(1.5), X, dim)


def sparsemax_bisect(X, dim=-1, n_iter=50, ensure_sum_one=True):
    return along(scoring.Sparsemax(), X, dim)


def entmax_bisect(X, alpha=1.5, dim=-1, n_iter=50, ensure_sum_one=True):
    return along(scoring.Entmax(), X, dim, alpha)


class Sparsemax(torch.nn.Module):
    def __init__(self, dim=-1, k=None):
        super().__init__()
        self.dim = dim

    def forward(self, X):
        return sparsemax(X, self.dim)


class Entmax15(Sparsemax):
    def forward(self, X):
        return entmax15(X, self.dim)


for module in (entmax, entmax.activations, entmax.losses, entmax.root_finding):
    for one in (sparsemax, entmax15, sparsemax_bisect, entmax_bisect, Sparsemax, Entmax15):
        if hasattr(module, one.__name__):
            setattr(module, one.__name__, one)
