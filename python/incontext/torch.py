"""The scoring maps as functions of PyTorch's tensors, with their exact derivatives. Needs torch.

    weights = incontext.torch.weights(incontext.scoring.SSMax(0.4), scores)
    weights.sum().backward()

The map is computed on the CPU; tensors of other devices are copied there and back. Half precision is computed in
float32. Derivatives are those of the scores, by vjp in backward and by jvp in forward mode.
"""
from __future__ import annotations

from typing import Any

import numpy
import torch

from .scoring import Map, Visibility


def _array(tensor: Any) -> Any:
    wide = tensor.detach().cpu()
    return (wide if wide.dtype in (torch.float32, torch.float64) else wide.float()).numpy()


def _tensor(array: Any, like: Any) -> Any:
    return torch.from_numpy(numpy.ascontiguousarray(array)).to(device=like.device, dtype=like.dtype)


class Weights(torch.autograd.Function):
    """A map's weights along the last axis."""

    @staticmethod
    def forward(ctx: Any, scores: Any, map: Map, visibility: Visibility) -> Any:
        ctx.map, ctx.visibility = map, visibility
        ctx.save_for_backward(scores)
        ctx.save_for_forward(scores)
        return _tensor(map(_array(scores), visibility), scores)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        (scores,) = ctx.saved_tensors
        return _tensor(ctx.map.vjp(_array(scores), _array(cotangent), ctx.visibility), scores), None, None

    @staticmethod
    def jvp(ctx: Any, direction: Any, *_: Any) -> Any:
        (scores,) = ctx.saved_tensors
        return _tensor(ctx.map.jvp(_array(scores), _array(direction), ctx.visibility), scores)


def weights(map: Map, scores: Any, visibility: Visibility = Visibility.all) -> Any:
    """The map's weights along the last axis of a tensor, which autograd can differentiate once."""
    return Weights.apply(scores, map, visibility)
