"""The scoring maps as functions of PyTorch's tensors, as layers, and as attention. Needs torch.

    scale = torch.nn.Parameter(torch.full((8, 1, 1), 0.4))      # one per head
    weights = incontext.torch.weights(incontext.scoring.SSMax(), scores, scale=scale)
    weights.square().sum().backward()

The maps are formulas of tensors: on every device, with derivatives of every order by the scores and by the parameters,
under torch.func and torch.compile. Half precision is computed in float32. Entmax and Sparsemax find their weights on
the CPU, for a tensor of another device with a warning, and have right derivatives of the first three orders.
"""
from __future__ import annotations

import math
import sys
import warnings
from typing import Any, ClassVar, Iterable

import numpy
import torch

from . import _formulas, apply, scoring
from ._signatures import own_names
from .scoring import Map, Visibility

_COPIES: set[str] = set()  # the devices of which a warning has been given


def _to_cpu(tensor: Any, what: str) -> Any:
    if tensor.device.type != "cpu" and tensor.device.type not in _COPIES:
        _COPIES.add(tensor.device.type)
        warnings.warn(f"incontext.torch: {what} is computed on the CPU: tensors on {tensor.device} are copied there and "
                      "back (this warning is given once)", stacklevel=3)
    return tensor.detach().cpu().numpy()


@torch.library.custom_op("incontext::entmax_weights", mutates_args=())
def _entmax_weights(scores: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """Weights of alpha-entmax, without derivatives; rows that it refuses are NaN."""
    z, a = _to_cpu(scores, "Entmax"), _to_cpu(alpha, "Entmax")
    valid = numpy.isfinite(z.max(axis=-1, keepdims=True)) & (a > 0) & (a != 1) & (a < math.inf)
    alphas = numpy.broadcast_to(numpy.where(numpy.isfinite(a) & (a > 0) & (a != 1), a, 2.0), z.shape[:-1] + (1,))
    found = scoring.Entmax(alphas)(numpy.where(valid, z, 0), finite_masks=False)
    return torch.from_numpy(numpy.where(valid, found, numpy.nan).astype(z.dtype)).to(scores.device)


@_entmax_weights.register_fake
def _(scores: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    return torch.empty(scores.shape, dtype=scores.dtype, device=scores.device)


@_entmax_weights.register_vmap
def _(info: Any, in_dims: Any, scores: torch.Tensor, alpha: torch.Tensor) -> Any:
    scores_axis, alpha_axis = in_dims
    z = scores.movedim(scores_axis, 0) if scores_axis is not None else scores.expand(info.batch_size, *scores.shape)
    if alpha_axis is not None:
        alpha = alpha.movedim(alpha_axis, 0)
        alpha = alpha.reshape(alpha.shape[:1] + (1,) * (z.ndim - alpha.ndim) + alpha.shape[1:])
    return _entmax_weights(z, alpha), 0


class _Torch:
    name = "torch"
    where = staticmethod(torch.where)
    log = staticmethod(torch.log)
    log1p = staticmethod(torch.log1p)
    exp = staticmethod(torch.exp)
    expm1 = staticmethod(torch.expm1)
    sqrt = staticmethod(torch.sqrt)
    tanh = staticmethod(torch.tanh)
    maximum = staticmethod(torch.maximum)
    minimum = staticmethod(torch.minimum)

    @staticmethod
    def softmax(values: Any) -> Any:
        return torch.softmax(values, -1)

    @staticmethod
    def sum(values: Any, axes: tuple[int, ...]) -> Any:
        return values.sum(axes, keepdim=True)

    @staticmethod
    def largest(values: Any, axes: tuple[int, ...]) -> Any:
        return values.amax(axes, keepdim=True)

    @staticmethod
    def stopped(values: Any) -> Any:
        return values.detach()

    @staticmethod
    def arange(stop: int, like: Any) -> Any:
        return torch.arange(stop, device=like.device)

    @staticmethod
    def filled(value: float, like: Any) -> Any:
        return torch.full((), value, dtype=like.dtype, device=like.device)

    @staticmethod
    def epsilon(like: Any) -> float:
        return float(torch.finfo(like.dtype).eps)

    @staticmethod
    def tiny(like: Any) -> float:
        return float(torch.finfo(like.dtype).tiny)

    @staticmethod
    def dtype_like(values: Any, like: Any) -> Any:
        return torch.as_tensor(values, dtype=like.dtype, device=like.device)

    @staticmethod
    def entmax_weights(scores: Any, alpha: Any) -> Any:
        return _entmax_weights(scores.detach(), alpha.detach())

    @staticmethod
    def is_differentiated(*arrays: Any) -> bool:
        """Whether a derivative may be asked for: not where it is clear that none can."""
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            return True
        dual = any(torch.autograd.forward_ad.unpack_dual(one).tangent is not None for one in arrays)
        return dual or (torch.is_grad_enabled() and any(one.requires_grad for one in arrays))

    @staticmethod
    def range(array: Any) -> tuple[float, float]:
        low, high = torch.aminmax(array)
        return float(low), float(high)

    @staticmethod
    def is_concrete(*arrays: Any) -> bool:
        """Whether values can be read, at no cost: on the CPU, and not while torch.compile or torch.func trace."""
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            return False
        return all(array.device.type == "cpu" for array in arrays)

    @staticmethod
    def numpy(array: Any) -> Any:
        return array.detach().cpu().numpy()


_LIBRARY: Any = _Torch()


def weights(map: Map, scores: Any, visibility: Visibility | str = Visibility.all, *,
            finite_masks: bool = True, zero_masked_rows: bool = False, **parameters: Any) -> Any:
    """The map's weights along the last axis of a tensor of floating point numbers, and of its type.

    A parameter given by its name replaces the map's own: a number, or a tensor that is differentiated too, with a shape
    that broadcasts against the scores and 1 as its last size, such as (heads, 1, 1) for one number per head.

    -infinity masks a key, and so does a finite score of at most -5000 in the maps that count their keys, as
    docs/scoring.md says; with `finite_masks=False` every finite score is a score. A row that shows no key is one outside
    the domain; with `zero_masked_rows=True` its weights and their derivatives are 0. On the CPU a row or a parameter outside
    the domain is an error. On other devices, and under torch.compile and torch.func, where values cannot be read, its
    row is NaN.
    """
    if not isinstance(scores, torch.Tensor) or not scores.is_floating_point():
        kind = scores.dtype if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise TypeError(f"incontext.torch.weights: scores are not a tensor of floating point numbers (value = {kind})")
    wide = scores if scores.dtype in (torch.float32, torch.float64) else scores.float()
    return _formulas.weights(_LIBRARY, map, wide, visibility, finite_masks, zero_masked_rows, parameters).to(scores.dtype)


class _Layer(torch.nn.Module):
    """A map as a layer: its parameters are trained, one number each or one per head."""

    kind: ClassVar[type[Map]]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.__doc__ is not None or "kind" not in cls.__dict__:
            return
        kind = cls.kind
        fields = [f"{name}={getattr(kind, name)!s}" if hasattr(kind, name) else name for name in kind._fields]
        names = scoring.parameter_names(kind)
        cls.__doc__ = f"incontext.scoring.{kind.__name__} as a layer, called as layer(scores, visibility='all').\n"
        if fields:
            cls.__doc__ += f"\nThe map's fields are keywords: {', '.join(fields)}.\n"
        if names:
            cls.__doc__ += (f"\nThe layer trains {', '.join(names)}, or only those that `trained` names; the rest are\n"
                            "buffers. A parameter is one number, or with `num_heads` one per head, for scores of ... x heads x\n"
                            "queries x keys. It starts at its keyword's number or list. `values()` gives the parameters\n"
                            "by name.\n")
        cls.__doc__ += "\n" + (kind.__doc__ or "")

    def __init__(self, num_heads: int | None = None, *, trained: Iterable[str] | None = None, **fields: Any) -> None:
        super().__init__()
        kind = f"incontext.torch.{type(self).__name__}"
        if num_heads is not None and (not isinstance(num_heads, int) or num_heads < 1):
            raise ValueError(f"{kind}: num_heads is no number of heads (value = {num_heads!r}; needs a whole number from 1 "
                             "on; the map's own parameters are keywords)")
        names = scoring.parameter_names(self.kind)
        chosen = names if trained is None else (trained,) if isinstance(trained, str) else tuple(trained)
        for name in chosen:
            if name not in names:
                raise TypeError(f"{kind}: there is no parameter {name!r} to train (it has "
                                f"{', '.join(names) or 'none'})")
        self.map: Map = self.kind(**{name: value for name, value in fields.items() if name not in names})
        for name in names:
            value = torch.as_tensor(fields.get(name, getattr(self.map, name)), dtype=torch.get_default_dtype())
            if num_heads is not None and value.ndim < 2 and value.numel() not in (1, num_heads):
                raise ValueError(f"{kind}: wrong number of values of {name} (value = "
                                 f"{value.numel()}; needs 1 or num_heads = {num_heads})")
            if value.ndim > (0 if num_heads is None else 1) and value.shape[-1] != 1:
                raise ValueError(f"{kind}: {name} would differ along a row, which is the last size (value = "
                                 f"{tuple(value.shape)}; needs num_heads for one per head, or a last size of 1)")
            if num_heads is not None:
                value = value.reshape(-1, 1, 1).expand(num_heads, 1, 1) if value.ndim < 2 else value
            value = value.clone().detach()
            if name in chosen:
                self.register_parameter(name, torch.nn.Parameter(value))
            else:
                self.register_buffer(name, value)

    def values(self) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in scoring.parameter_names(self.kind)}

    def forward(self, scores: Any, visibility: Visibility | str = Visibility.all, *, finite_masks: bool = True,
                zero_masked_rows: bool = False) -> Any:
        return weights(self.map, scores, visibility, finite_masks=finite_masks, zero_masked_rows=zero_masked_rows,
                       **self.values())

    def extra_repr(self) -> str:
        shapes = [f"{name}={tuple(value.shape) or float(value.detach())}" for name, value in self.values().items()]
        rest = [f"{name}={getattr(self.map, name)!s}" for name in self.map._fields if name not in self.values()]
        return ", ".join(shapes + rest)


class Softmax(_Layer):
    kind = scoring.Softmax


class SSMax(_Layer):
    kind = scoring.SSMax


class SSA(_Layer):
    kind = scoring.SSA


class ApproximateSoftmax(_Layer):
    kind = scoring.ApproximateSoftmax


class LinearAttention(_Layer):
    kind = scoring.LinearAttention


class NormSoftmax(_Layer):
    kind = scoring.NormSoftmax


class MatrixNormSoftmax(_Layer):
    kind = scoring.MatrixNormSoftmax


class Entmax(_Layer):
    kind = scoring.Entmax


class Sparsemax(_Layer):
    kind = scoring.Sparsemax


class Hardmax(_Layer):
    kind = scoring.Hardmax


class SaSoftmax(_Layer):
    kind = scoring.SaSoftmax


class NormalizedSaSoftmax(_Layer):
    kind = scoring.NormalizedSaSoftmax


class RatioScore(_Layer):
    kind = scoring.RatioScore


def _attend_by_weights(map: Map, query: Any, key: Any, value: Any, parameters: dict[str, Any],
                       visibility: Visibility | str, mask: Any = None, dropout_p: float = 0.0,
                       finite_masks: bool = False, zero_masked_rows: bool = False) -> Any:
    scores = query @ key.transpose(-1, -2)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    attention = weights(map, scores, visibility, finite_masks=finite_masks, zero_masked_rows=zero_masked_rows,
                        **parameters)
    return torch.nn.functional.dropout(attention, dropout_p) @ value if dropout_p else attention @ value


class _FusedAttention(torch.autograd.Function):
    """`apply.attend` and its backward pass; second derivatives are those of the weights."""

    @staticmethod
    def forward(map: Map, visibility: Any, names: tuple[str, ...], query: Any, key: Any, value: Any,
                *parameters: Any) -> Any:
        numbers = {name: one.detach().numpy() for name, one in zip(names, parameters)}
        queries, keys, values = (one.detach().numpy() for one in (query, key, value))
        return torch.from_numpy(apply.attend(map.replace(**numbers), queries, keys, values, visibility,
                                             threads=torch.get_num_threads()))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.map, ctx.visibility, ctx.names, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        tensors = ctx.saved_tensors
        if torch.is_grad_enabled():  # with create_graph
            needed = [i for i, wanted in enumerate(ctx.needs_input_grad[3:]) if wanted]
            query, key, value, *parameters = tensors
            out = _attend_by_weights(ctx.map, query, key, value, dict(zip(ctx.names, parameters)), ctx.visibility)
            gradients = dict(zip(needed, torch.autograd.grad(out, [tensors[i] for i in needed], cotangent,
                                                             create_graph=True)))
            return None, None, None, *(gradients.get(i) for i in range(len(tensors)))
        query, key, value, *parameters = (one.detach().numpy() for one in tensors)
        found = apply.attention_gradient(ctx.map.replace(**dict(zip(ctx.names, parameters))), query, key, value,
                                         cotangent.detach().numpy(), ctx.visibility, threads=torch.get_num_threads())
        by_parameter = [found.parameters[name] for name in ctx.names]
        arrays = (found.queries, found.keys, found.values, *by_parameter)
        return None, None, None, *(torch.as_tensor(array, dtype=one.dtype) for array, one in zip(arrays, tensors))


def _is_fused(map: Map, tensors: Iterable[Any], parameters: dict[str, Any]) -> bool:
    """Whether attention can be computed by the fused passes: on the CPU, with at most one parameter per matrix."""
    tensors = list(tensors)
    if not isinstance(map, apply.FUSED) or not _LIBRARY.is_concrete(*tensors, *parameters.values()):
        return False
    if any(torch.autograd.forward_ad.unpack_dual(one).tangent is not None for one in [*tensors, *parameters.values()]):
        return False
    return all(one.ndim < 2 or one.shape[-2] == 1 for one in parameters.values())


def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *,
                                 map: Map | _Layer | None = None, parameters: dict[str, Any] | None = None,
                                 finite_masks: bool = True, zero_masked_rows: bool = False) -> Any:
    """torch.nn.functional.scaled_dot_product_attention with any map in the place of softmax.

    `scale` multiplies the products of queries and keys, 1 / sqrt(d) unless it is given. `map` is one of
    incontext.scoring, whose parameters can be replaced by `parameters`, or a layer of this module with its own. Under
    `is_causal` fewer queries than keys are the last ones, where PyTorch takes them for the first; the two agree on
    square matrices. A mask may be given in addition: True for the keys that a query sees, or a tensor that is added.

    On the CPU, without a mask and dropout, attention by Softmax, SSMax and SSA is `incontext.apply.attend` and its
    backward pass, in memory that grows with the number of queries and not with that of pairs. Everything else forms the
    matrix of weights. A product of a query and a key is a score, however low it is. Where a mask of numbers was added, a
    finite one can be a mask by the rule of docs/scoring.md, unless `finite_masks` is False. A query that sees no key is an
    error, or NaN where values cannot be read; with `zero_masked_rows=True` its output and gradients are 0, as PyTorch's.
    """
    if isinstance(map, _Layer):
        given, chosen = map.values() | (parameters or {}), map.map
    else:
        given, chosen = dict(parameters or {}), map if map is not None else scoring.Softmax()
    where = "incontext.torch.scaled_dot_product_attention"
    if not isinstance(chosen, Map):
        raise TypeError(f"{where}: map is no map (value = {chosen!r}; needs one of incontext.scoring, or a layer of "
                        "incontext.torch)")
    if attn_mask is not None and not (attn_mask.dtype == torch.bool or attn_mask.is_floating_point()):
        raise TypeError(f"{where}: attn_mask is neither True and False nor floating-point numbers (value = "
                        f"{attn_mask.dtype}; needs attn_mask.bool() for the keys that are seen)")
    for name, one in (("query", query), ("key", key), ("value", value)):
        if not one.is_floating_point() or one.dtype != query.dtype:
            raise TypeError(f"{where}: {name} has another type than query, or one without fractions (value = {one.dtype}; "
                            "needs one floating-point type for all three)")
    if enable_gqa:
        for name, one in (("key", key), ("value", value)):
            if query.shape[-3] % one.shape[-3] != 0:
                raise ValueError(f"{where}: the heads of {name} do not divide those of query (value = {one.shape[-3]}; "
                                 f"needs a divisor of {query.shape[-3]})")
        key, value = (one.repeat_interleave(query.shape[-3] // one.shape[-3], -3) for one in (key, value))
    visibility = Visibility.causal if is_causal else Visibility.all
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    q, k, v = (one.to(wide) for one in (query, key, value))
    q = q * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    given = {name: torch.as_tensor(one, dtype=wide, device=q.device) for name, one in given.items()}
    has_keys = k.shape[-2] > 0 or not zero_masked_rows
    if attn_mask is None and not dropout_p and has_keys and _is_fused(chosen, (q, k, v), given):
        out = _FusedAttention.apply(chosen, visibility, tuple(given), q, k, v, *given.values())
    else:
        out = _attend_by_weights(chosen, q, k, v, given, visibility, attn_mask, dropout_p,
                                 finite_masks and attn_mask is not None and attn_mask.is_floating_point(),
                                 zero_masked_rows)
    return out.to(query.dtype)


def _own_mask(mask: Any, query: Any, key: Any) -> Any:
    """A model's mask, True for the keys that are seen or numbers that are added, with -infinity for a masked key."""
    mask = mask[..., :key.shape[-2]]
    if mask.dtype == torch.bool:
        return mask
    return mask.to(query.dtype).masked_fill(mask <= torch.finfo(mask.dtype).min / 2, -math.inf)


_OTHER_ATTENTION = ("softcap", "s_aux", "sinks", "position_bias", "indices", "block_indices")
_HARMLESS = ("position_ids", "cache_position", "cu_seq_lens_q", "cu_seq_lens_k", "token_type_ids", "input_ids")


def register_attention(name: str, map: Map | _Layer | Iterable[Map | _Layer] | None = None, *,
                       inverse_temperature: Any = None) -> None:
    """Gives the models of Hugging Face's Transformers attention by a map, under a name.

        incontext.torch.register_attention("ssmax", scoring.SSMax(0.43))
        model.set_attn_implementation("ssmax")       # or from_pretrained(..., attn_implementation="ssmax")

    `map` is softmax unless it is given: one of incontext.scoring, or a layer of this module whose parameters are trained
    where the caller's optimizer has them; or a list with one for each layer of the model. `inverse_temperature` multiplies
    the scores of each head: numbers of layers x heads, such as a plan for longer prompts.

    Masks are the model's: causal, padding, sliding windows, also of a batch that is padded on the left. A query that sees
    no key has the output 0. Heads of queries may share keys. The weights of `output_attentions` are not returned. A model
    that hands its attention more than scores, masks and values (a soft cap, a sink, chosen keys) is refused when it is
    run. One that does not ask Transformers for its attention by name, such as Bloom, Falcon or GPT-Neo, keeps its own:
    `model.config._attn_implementation` says which it has. A name is refused that is Transformers' own, or that begins a
    download there. Registered again, a name has the new map.
    """
    from transformers import AttentionInterface, AttentionMaskInterface  # type: ignore[import-not-found,unused-ignore]
    from transformers.masking_utils import eager_mask  # type: ignore[import-not-found,unused-ignore]

    where = "incontext.torch.register_attention"
    if not isinstance(name, str):
        raise TypeError(f"{where}: name is no text (value = {name!r})")
    is_list = isinstance(map, Iterable) and not isinstance(map, (str, Map, _Layer))
    maps: list[Any] = list(map) if is_list else [map if map is not None else scoring.Softmax()]  # type: ignore[arg-type]
    for one in maps:
        if not isinstance(one, (Map, _Layer)):
            raise TypeError(f"{where}: map is no map (value = {one!r}; needs one of incontext.scoring, or a layer of "
                            "incontext.torch)")
    known = AttentionInterface().get(name, None)
    if name == "eager" or "flash" in name or set(name) & set("/|@:") or (known is not None and
                                                                         getattr(known, "__module__", None) != __name__):
        raise ValueError(f"{where}: name is taken by Transformers or registered by others (value = {name!r}; needs a name of "
                         "your own, without 'flash' and / | @ :)")
    plan = None if inverse_temperature is None else torch.as_tensor(inverse_temperature, dtype=torch.float64)
    if plan is not None and plan.ndim != 2:
        raise ValueError(f"{where}: inverse_temperature has the wrong number of dimensions (value = {plan.ndim}; needs 2, "
                         "layers x heads)")
    for beta in [] if plan is None else plan.flatten().tolist():
        if not 0 < beta < math.inf:
            raise ValueError(f"{where}: inverse_temperature has a number that is not positive (value = {beta}; needs 0 < "
                             "value < infinity)")

    def attention(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None,
                  dropout: float = 0.0, is_causal: bool | None = None, **options: Any) -> Any:
        for option, given in options.items():  # of unknown ones, a tensor may be part of the attention
            if given is not None and (option in _OTHER_ATTENTION or isinstance(given, torch.Tensor) and option not in _HARMLESS):
                raise ValueError(f"{where}: the model's attention has {option}, which attention {name!r} has not")
        layer: Any = getattr(module, "layer_idx", None)
        for what, count in (("map", len(maps) if is_list else None),
                            ("inverse_temperature", None if plan is None else len(plan))):
            depth = getattr(getattr(module, "config", None), "num_hidden_layers", count)
            if count is not None and not (isinstance(layer, int) and layer < count == depth):
                raise ValueError(f"{where}: {what} does not fit the layers of the model (value = {count}; needs {depth})")
        if plan is not None:
            if plan.shape[1] != query.shape[1]:
                raise ValueError(f"{where}: inverse_temperature does not fit the heads of the model (value = "
                                 f"{plan.shape[1]}; needs {query.shape[1]})")
            query = query * plan[layer].to(query)[:, None, None]
        if attention_mask is not None:
            causal, mask = False, _own_mask(attention_mask, query, key)
        else:
            causal, mask = getattr(module, "is_causal", False) if is_causal is None else is_causal, None
        out = scaled_dot_product_attention(
            query, key, value, mask, dropout if module.training else 0.0, causal, scaling, query.shape[1] != key.shape[1],
            map=maps[layer if is_list else 0], finite_masks=False, zero_masked_rows=True)
        return out.transpose(1, 2).contiguous(), None

    AttentionInterface.register(name, attention)
    AttentionMaskInterface.register(name, eager_mask)


def __dir__() -> list[str]:
    return own_names(sys.modules[__name__])
