"""The maps as functions of PyTorch's tensors, as layers and as attention, where torch is installed."""
import doctest
import math
import pathlib
import re
import warnings

import numpy
import pytest

torch = pytest.importorskip("torch")

import incontext.torch as ict  # noqa: E402
from incontext import scoring  # noqa: E402
from map_cases import COTANGENT, MAPS, MASKED, NAMES, SCORES, per_head  # noqa: E402

EACH_MAP = pytest.mark.parametrize("map", MAPS, ids=NAMES)
WITH_PARAMETERS = [(map, name) for map, name in zip(MAPS, NAMES) if scoring.parameter_names(map)]
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/torch.md"


def tensors(map):
    """Scores and a parameter per head, to be differentiated, and the function of them; two keys are masked."""
    hidden, values = torch.tensor(numpy.isinf(MASKED)), per_head(map)
    inputs = [torch.tensor(one, requires_grad=True) for one in (SCORES, *values.values())]

    def function(scores, *parameters):
        return ict.weights(map, scores.masked_fill(hidden, -math.inf), "causal", **dict(zip(values, parameters)))

    return function, inputs


@EACH_MAP
def test_weights_and_first_derivatives_are_those_of_cpp(map):
    for visibility in ("all", "causal"):
        scores = torch.tensor(MASKED, requires_grad=True)
        weights = ict.weights(map, scores, visibility)
        assert abs(weights.detach().numpy() - map(MASKED, visibility)).max() < 1e-15 * 8
        weights.backward(torch.tensor(COTANGENT))
        assert abs(scores.grad.numpy() - map.vjp(MASKED, COTANGENT, visibility)).max() < 1e-14
    for name in scoring.parameter_names(map):
        value = torch.tensor(getattr(map, name), dtype=torch.float64, requires_grad=True)
        found, = torch.autograd.grad(ict.weights(map, torch.tensor(MASKED), **{name: value}), value,
                                     torch.tensor(COTANGENT))
        assert float(found) == pytest.approx((map.derivative(name, MASKED) * COTANGENT).sum(), abs=1e-13)


@EACH_MAP
def test_first_and_second_derivatives_by_scores_and_parameters(map):
    function, inputs = tensors(map)
    assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, inputs)


def test_a_second_derivative_is_the_hessian_of_cpp():
    """The Hessian of a sum of softmax's weights was silently 0."""
    scores, pull = torch.tensor([[0.3, -0.2, 1.1], [1.0, 0.5, -2.0]], dtype=torch.float64)
    for map in (scoring.Softmax(0.7), scoring.Entmax(1.5)):
        found = torch.autograd.functional.hessian(lambda z: (ict.weights(map, z) * pull).sum(), scores).numpy()
        step = 1e-5
        for j in range(3):
            moved = [scores.numpy() + sign * step * numpy.eye(3)[j] for sign in (1, -1)]
            rows = [map.vjp(one, pull.numpy()) for one in moved]
            assert abs((rows[0] - rows[1]) / (2 * step) - found[j]).max() < 1e-8
        assert abs(found).max() > 0.01


@pytest.mark.parametrize("map, row", [(scoring.Hardmax(), [0.0, 2.0, 2.0]),
                                      (scoring.NormalizedSaSoftmax(), [0.0, 0.0, 0.0])],
                         ids=lambda value: type(value).__name__)
def test_where_a_map_has_no_derivative_it_is_nan(map, row):
    scores = torch.tensor([row, [0.0, 1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    weights = ict.weights(map, scores)
    assert abs(weights.detach().numpy() - map(scores.detach().numpy())).max() < 1e-15
    weights.backward(torch.tensor([[1.0, 0.5, -1.0]] * 2, dtype=torch.float64))
    assert scores.grad[0].isnan().any() and scores.grad[1].isfinite().all()
    with pytest.raises(ValueError, match="undefined"):
        map.vjp(row, [1.0, 0.5, -1.0])
    one = torch.tensor([[0.5]], dtype=torch.float64, requires_grad=True)
    ict.weights(map, one).sum().backward()
    assert one.grad.isfinite().all(), "a row of one key has a derivative"


@pytest.mark.parametrize("alpha", [0.5, 1.3, 1.5, 2.5])
def test_the_third_derivative_of_entmax(alpha):
    scores, pull = torch.tensor(SCORES[0, 0] / 4), torch.tensor(COTANGENT[0, 0])
    hessian = torch.func.hessian(lambda z: (ict.weights(scoring.Entmax(alpha), z) * pull).sum())
    step, third = 1e-5, torch.func.jacrev(hessian)(scores)
    for j in range(5):
        shift = step * torch.eye(5, dtype=torch.float64)[j]
        difference = (hessian(scores + shift) - hessian(scores - shift)) / (2 * step)
        assert abs(difference - third[..., j]).max() < 1e-7 * (1 + abs(third).max())
    assert abs(third).max() > 0.01


def test_the_second_derivative_of_ssa_at_zero_is_the_mean_of_both_sides():
    scores = torch.tensor([0.0, 0.5, -0.3], dtype=torch.float64)

    def loss(first, others=scores[1:]):
        return ict.weights(scoring.SSA(), torch.cat([first.reshape(1), others]))[1]

    at, right, left = (torch.autograd.functional.hessian(loss, torch.tensor(x, dtype=torch.float64))
                       for x in (0.0, 1e-9, -1e-9))
    assert float(at) == pytest.approx(float(left + right) / 2, abs=1e-8) and abs(float(left - right)) > 0.01


@EACH_MAP
def test_func_and_vmap(map):
    function, inputs = tensors(map)
    inputs = [one.detach() for one in inputs]
    pull = torch.tensor(COTANGENT)
    loss = lambda *given: (function(*given) * pull).sum()  # noqa: E731
    wanted = [one.clone().requires_grad_() for one in inputs]
    truth = torch.autograd.grad(loss(*wanted), wanted, allow_unused=True, materialize_grads=True)
    every = tuple(range(len(inputs)))
    for found, right in zip(torch.func.grad(loss, every)(*inputs), truth):
        assert abs(found - right).max() < 1e-14
    change = torch.func.jvp(loss, tuple(inputs), tuple(torch.ones_like(one) for one in inputs))[1]
    assert float(change) == pytest.approx(float(sum(one.sum() for one in truth)), abs=1e-12)
    if not isinstance(map, scoring.MatrixNormSoftmax):
        names = scoring.parameter_names(map)
        each = torch.func.vmap(lambda z, *given: ict.weights(map, z, "causal", **dict(zip(names, given))))
        whole = ict.weights(map, inputs[0], "causal", **dict(zip(names, inputs[1:])))
        assert abs(each(*inputs) - whole).max() < 1e-15
    row = torch.func.hessian(lambda z: (ict.weights(map, z) * pull[0]).sum())(inputs[0][0])
    right = torch.autograd.functional.hessian(lambda z: (ict.weights(map, z) * pull[0]).sum(), inputs[0][0])
    assert abs(row - right).max() < 1e-13


@pytest.mark.parametrize("map", [scoring.SSMax(0.4, 0.1), scoring.SSA(), scoring.NormSoftmax(0.9), scoring.Entmax(1.5)],
                         ids=lambda map: type(map).__name__)
def test_compile_without_graph_breaks(map):
    function, inputs = tensors(map)
    pull = torch.tensor(COTANGENT)
    torch._dynamo.reset()
    compiled = torch.compile(lambda *given: (function(*given) * pull).sum(), fullgraph=True, backend="aot_eager")
    truth = torch.autograd.grad((function(*inputs) * pull).sum(), inputs)
    for found, right in zip(torch.autograd.grad(compiled(*inputs), inputs), truth):
        assert abs(found - right).max() < 1e-14


def test_where_values_cannot_be_read_a_refused_row_is_nan():
    rows = torch.tensor([[0.0, 1.0], [0.0, math.nan], [-math.inf, -math.inf], [-900.0, -6000.0]])
    found = torch.func.vmap(lambda z: ict.weights(scoring.SSMax(), z))(rows)
    assert found[0].isfinite().all() and found[1:].isnan().all()
    taus = torch.tensor([1.0, -1.0])
    found = torch.func.vmap(lambda tau: ict.weights(scoring.Softmax(), rows[0], temperature=tau))(taus)
    assert found[0].isfinite().all() and found[1].isnan().all()


def test_what_is_refused_is_refused_as_in_cpp():
    scores = torch.zeros(2, 3)
    for map, given, problem in [(scoring.Softmax(), {"temperature": -1.0}, "temperature is not positive .*value = -1"),
                                (scoring.SSMax(), {"scale": math.nan}, "scale .*value = nan"),
                                (scoring.SSA(), {"exponent": 0.5}, "exponent is below 1 .*value = 0.5"),
                                (scoring.Entmax(), {"alpha": 1.0}, "alpha is 1")]:
        with pytest.raises(ValueError, match=problem):
            ict.weights(map, scores, **given)
    with pytest.raises(ValueError, match="NaN"):
        ict.weights(scoring.SSMax(), torch.tensor([[0.0, math.nan]]))
    with pytest.raises(ValueError, match="visible scores"):
        ict.weights(scoring.Softmax(), torch.full((2, 2), -math.inf))
    with pytest.raises(ValueError, match="too near to the others for a mask .*value = -6000"):
        ict.weights(scoring.SSMax(), torch.tensor([[-900.0, -6000.0]]))
    with pytest.raises(ValueError, match=r"shape of scale does not fit .*\(3,\)"):
        ict.weights(scoring.SSMax(), scores, scale=torch.ones(3))
    with pytest.raises(TypeError, match="SSMax has no parameter 'alpha'"):
        ict.weights(scoring.SSMax(), scores, alpha=1.0)
    with pytest.raises(TypeError, match="floating point .*int64"):
        ict.weights(scoring.SSMax(), torch.zeros(2, 3, dtype=torch.int64))
    with pytest.raises(TypeError, match="not a map"):
        ict.weights(scoring.Elementwise(lambda z: z), scores)
    with pytest.raises(ValueError, match="undefined"):
        ict.weights(scoring.RatioScore("relu", "sum"), -torch.ones(2, 3))
    assert ict.weights(scoring.SSMax(), torch.tensor([[0.0, 1.0, math.nan]])[:, :2]).isfinite().all()
    hidden = torch.tensor([[0.0, math.nan], [0.0, 1.0]])
    assert ict.weights(scoring.SSMax(), hidden, "causal").tolist()[0] == [1, 0], "a query does not see a later NaN"


def test_a_trained_number_is_refused_where_it_would_not_be_trained():
    with pytest.raises(TypeError, match=r"SSMax: scale is a number here.*incontext.torch.weights\(SSMax\(\), scores, scale"):
        scoring.SSMax(torch.nn.Parameter(torch.tensor(0.43)))
    with pytest.raises(TypeError, match="temperature is a number here"):
        scoring.Softmax().replace(temperature=torch.tensor(1.0, requires_grad=True))
    assert scoring.SSMax(torch.tensor(0.5))([0.0, 1.0])[1] == scoring.SSMax(0.5)([0.0, 1.0])[1]


@EACH_MAP
def test_finite_masks_and_dtypes(map):
    finite = torch.tensor(numpy.where(numpy.isinf(MASKED), -1e9, MASKED), requires_grad=True)
    weights = ict.weights(map, finite)
    assert (weights == ict.weights(map, torch.tensor(MASKED))).all()
    weights.backward(torch.tensor(COTANGENT))
    assert abs(finite.grad.numpy() - map.vjp(MASKED, COTANGENT)).max() < 1e-14
    for dtype, error in [(torch.float32, 2e-6), (torch.bfloat16, 0.02), (torch.float16, 2e-3)]:
        narrow = torch.tensor(MASKED, dtype=dtype)
        found = ict.weights(map, narrow)
        exact = map(narrow.double().numpy())
        assert found.dtype == dtype and abs(found.double().numpy() - exact).max() < error * abs(exact).max()


@pytest.mark.parametrize("map, name", WITH_PARAMETERS, ids=[name for _, name in WITH_PARAMETERS])
def test_a_layer_per_map(map, name):
    kind = getattr(ict, type(map).__name__)
    choices = {field: getattr(map, field) for field in map._choices}
    values = {field: getattr(map, field) for field in scoring.parameter_names(map)}
    layer = kind(num_heads=2, **values, **choices).double()
    assert [tuple(one.shape) for one in layer.parameters()] == [(2, 1, 1)] * len(values)
    scores = torch.tensor(MASKED)
    assert abs(layer(scores, "causal") - ict.weights(map, scores, "causal")).max() < 1e-6  # made in float32
    (layer(scores) * torch.tensor(COTANGENT)).sum().backward()
    # the temperature of NormSoftmax has no effect above the deviation
    moves = any(map.derivative(field, MASKED).any() for field in values)
    assert any(one.grad.abs().max() > 0 for one in layer.parameters()) == moves
    again = kind(num_heads=2, **choices).double()
    again.load_state_dict(layer.state_dict())
    assert (again(scores) == layer(scores)).all()


def test_what_a_layer_trains():
    layer = ict.SSMax(num_heads=8, trained=["scale"], scale=0.43)
    assert [name for name, _ in layer.named_parameters()] == ["scale"] and "bias" in layer.state_dict()
    assert repr(layer) == "SSMax(scale=(8, 1, 1), bias=(8, 1, 1))"
    assert repr(ict.NormSoftmax(scale="sample_stddev")) == "NormSoftmax(temperature=1.0, scale=sample_stddev)"
    assert ict.SSMax(num_heads=2, scale=[0.4, 0.6]).scale.flatten().tolist() == pytest.approx([0.4, 0.6])
    assert list(ict.Sparsemax().parameters()) == []
    with pytest.raises(TypeError, match="no parameter 'alpha' to train"):
        ict.SSMax(trained=["alpha"])
    with pytest.raises(TypeError, match="no field 'slope'"):
        ict.SSMax(slope=1.0)


def attention_inputs(queries=7, keys=7, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    shapes = [(2, 4, queries, 8), (2, 4, keys, 8), (2, 4, keys, 5)]
    return [torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dtype, error", [(torch.float64, 1e-14), (torch.float32, 5e-6), (torch.bfloat16, 0.05)])
def test_attention_by_softmax_is_that_of_torch(is_causal, dtype, error):
    inputs = attention_inputs(dtype=dtype)
    reference = torch.nn.functional.scaled_dot_product_attention
    for options in ({}, {"scale": 0.3}):
        out, truth = (attend(*inputs, is_causal=is_causal, **options)
                      for attend in (ict.scaled_dot_product_attention, reference))
        assert out.dtype == dtype and abs(out - truth).max() < error
        pull = torch.linspace(-1, 1, out.numel(), dtype=dtype).reshape(out.shape)
        for found, right in zip(torch.autograd.grad(out, inputs, pull), torch.autograd.grad(truth, inputs, pull)):
            assert abs(found - right).max() < 4 * error


@pytest.mark.parametrize("mask", ["boolean", "added", "finite"])
def test_masks_of_attention_are_those_of_torch(mask):
    inputs = attention_inputs(5, 9)
    seen = torch.rand((2, 1, 5, 9), generator=torch.Generator().manual_seed(2)) > 0.4
    seen[..., 0] = True
    added = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, -math.inf if mask == "added" else -1e9)
    given = seen if mask == "boolean" else added
    truth = torch.nn.functional.scaled_dot_product_attention(*inputs, attn_mask=seen)
    assert abs(ict.scaled_dot_product_attention(*inputs, attn_mask=given) - truth).max() < 1e-14
    own = ict.scaled_dot_product_attention(*inputs, attn_mask=given, map=scoring.SSMax(0.4))
    products = (inputs[0] @ inputs[1].transpose(-1, -2) / math.sqrt(8)).masked_fill(~seen, -math.inf)
    assert abs(own - ict.weights(scoring.SSMax(0.4), products) @ inputs[2]).max() < 1e-14


LAYERS = [ict.SSMax(4, scale=0.4, bias=0.1), ict.SSA(4, temperature=1.2), ict.Softmax(4, temperature=0.8), ict.Softmax(),
          ict.Entmax(4), ict.NormSoftmax(4), ict.LinearAttention(4)]


@pytest.mark.parametrize("queries", [3, 6])
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_attention_by_any_layer_is_the_weighted_sum(layer, queries):
    layer = layer.double()
    inputs = attention_inputs(queries, 6)
    out = ict.scaled_dot_product_attention(*inputs, is_causal=True, map=layer)
    truth = layer(inputs[0] @ inputs[1].transpose(-1, -2) / math.sqrt(8), "causal") @ inputs[2]
    assert abs(out - truth).max() < 1e-13
    every = [*inputs, *layer.parameters()]
    pull = torch.linspace(-1, 1, out.numel(), dtype=torch.float64).reshape(out.shape)
    for found, right in zip(torch.autograd.grad(out, every, pull), torch.autograd.grad(truth, every, pull)):
        assert found.shape == right.shape and abs(found - right).max() < 1e-12


def test_fused_attention_has_second_derivatives():
    query, key, value = (one[:1, :2, :, :2].detach().requires_grad_() for one in attention_inputs(3, 4))
    scale = torch.tensor([0.4, 0.7], dtype=torch.float64).reshape(2, 1, 1).requires_grad_()

    def function(*given):
        return ict.scaled_dot_product_attention(*given[:3], is_causal=True, map=scoring.SSMax(),
                                                parameters={"scale": given[3]})

    assert "FusedAttention" in type(function(query, key, value, scale).grad_fn).__name__
    assert torch.autograd.gradcheck(function, (query, key, value, scale))
    assert torch.autograd.gradgradcheck(function, (query, key, value, scale))


def test_attention_under_func_and_compile():
    inputs = [one.detach() for one in attention_inputs()]
    attend = ict.scaled_dot_product_attention
    loss = lambda *given: attend(*given, is_causal=True, map=scoring.SSMax(0.4)).square().sum()  # noqa: E731
    wanted = [one.clone().requires_grad_() for one in inputs]
    truth = torch.autograd.grad(loss(*wanted), wanted)
    torch._dynamo.reset()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for found in (torch.func.grad(loss, (0, 1, 2))(*inputs), torch.autograd.grad(compiled(*wanted), wanted)):
        assert all(abs(one - right).max() < 1e-12 for one, right in zip(found, truth))
    change = torch.func.jvp(loss, tuple(inputs), tuple(torch.ones_like(one) for one in inputs))[1]
    assert float(change) == pytest.approx(float(sum(one.sum() for one in truth)), rel=1e-10)


def test_grouped_queries_and_dropout():
    query, key, value = attention_inputs()
    few = ict.scaled_dot_product_attention(query, key[:, :2], value[:, :2], enable_gqa=True)
    truth = torch.nn.functional.scaled_dot_product_attention(query, key[:, :2], value[:, :2], enable_gqa=True)
    assert abs(few - truth).max() < 1e-14
    with pytest.raises(TypeError, match="attn_mask is neither .*value = torch.int64"):
        ict.scaled_dot_product_attention(query, key, value, attn_mask=torch.ones(query.shape[-2], key.shape[-2]).long())
    with pytest.raises(TypeError, match="query has .*value = torch.int64"):
        ict.scaled_dot_product_attention(query.long(), key, value)
    with pytest.raises(TypeError, match="value has .*value = torch.float32"):
        ict.scaled_dot_product_attention(query, key, value.float())
    for wrong in (0.43, 0, -1):
        with pytest.raises(ValueError, match=f"num_heads is no number of heads .value = {wrong};"):
            ict.SSMax(wrong)
    assert [name for name, _ in ict.SSMax(trained="scale").named_parameters()] == ["scale"]
    with pytest.raises(ValueError, match="heads of key do not divide .*value = 3; needs a divisor of 4"):
        ict.scaled_dot_product_attention(*(torch.zeros(1, heads, 2, 4) for heads in (4, 3, 3)), enable_gqa=True)
    with pytest.raises(TypeError, match="map is no map .*value = 0.5"):
        ict.scaled_dot_product_attention(query, key, value, map=0.5)
    with pytest.raises(ValueError, match="wrong number of values of scale .*value = 2; needs 1 or num_heads = 8"):
        ict.SSMax(num_heads=8, scale=[1.0, 2.0])
    with pytest.raises(ValueError, match="temperature"):
        ict.weights(scoring.SSA(), torch.zeros(2, 3), temperature=math.inf)
    torch.manual_seed(0)
    dropped = ict.scaled_dot_product_attention(query, key, value, dropout_p=0.5)
    assert abs(dropped - ict.scaled_dot_product_attention(query, key, value)).max() > 0.01


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_tensors_of_a_gpu_stay_there_and_copies_are_announced():
    scores = torch.tensor(SCORES, device="cuda")
    assert ict.weights(scoring.SSMax(0.4), scores).device == scores.device
    ict._COPIES.clear()
    with pytest.warns(UserWarning, match="computed on the CPU"):
        assert ict.weights(scoring.Entmax(), scores).device == scores.device


def test_a_copy_from_another_device_is_announced_once():
    class Elsewhere:
        device = torch.device("meta")

        def detach(self):
            return self

        def cpu(self):
            return torch.zeros(2)

    ict._COPIES.clear()
    with pytest.warns(UserWarning, match="Entmax is computed on the CPU: tensors on meta"):
        ict._to_cpu(Elsewhere(), "Entmax")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ict._to_cpu(Elsewhere(), "Entmax")


def test_the_training_loop_of_the_page_learns_the_scale():
    """docs/torch.md: a key that must have nine tenths of the weight needs the inverse temperature log n + log 9."""
    code, = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if "optimizer" in block]
    assert len(code.splitlines()) <= 12  # with the import and the empty line
    names = {}
    exec(code, names)
    layer = names["layer"]
    row = torch.zeros(4096)
    row[0] = 1
    assert abs(layer.scale.item() - 1) < 0.05 and abs(layer.bias.item() - math.log(9)) < 0.2
    assert abs(layer(row)[0].item() - 0.906) < 0.001
    exec(code.replace("SSMax()", "Softmax()"), names)
    assert abs(names["layer"](row)[0].item() - 0.219) < 0.001, "one temperature does not fit rows of every length"


def test_the_module_of_the_page_trains_its_scales_and_not_its_bias():
    """docs/torch.md: the scales move with the rest of the model, the bias stays, and both are saved."""
    code, = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if "class Attention" in block]
    names = {}
    exec(code, names)
    torch.manual_seed(1)
    attention = names["Attention"]()
    assert dict(attention.named_parameters())["map.scale"].shape == (4, 1, 1)
    assert {"map.scale", "map.bias"} < set(attention.state_dict()) and "map.bias" not in dict(attention.named_parameters())
    optimizer = torch.optim.Adam(attention.parameters(), lr=0.01)
    x = torch.randn(8, 32, 64)
    losses = []
    for _ in range(60):  # every token is to be the mean of the first two
        loss = (attention(x) - x[:, :2].mean(dim=1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    assert (attention.map.scale - 0.43).abs().min() > 0.01 and not attention.map.bias.any()


def test_values_for_heads_need_their_number():
    for values, heads in (([0.1, 0.2], None), (torch.ones(3, 2), None), (torch.ones(1, 2), 2), (torch.ones(2, 1, 5), 2)):
        with pytest.raises(ValueError, match="needs num_heads for one per head, or a last size of 1"):
            ict.SSMax(heads, scale=values)
    assert ict.SSMax(scale=[0.1, 0.2], num_heads=2).scale.shape == (2, 1, 1)
    assert ict.SSMax(scale=torch.ones(3, 1)).scale.shape == (3, 1)


def test_examples_of_the_page():
    pytest.importorskip("jax")
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 8 and failed == 0


@pytest.mark.parametrize("size", [1.0, 20.0])
@pytest.mark.parametrize("alpha", [0.5, 1.25, 1.5, 1.75, 2.0, 2.5])
def test_entmax_is_that_of_the_package_entmax(alpha, size):
    """Weights and gradients by scores and alpha, beside bisection, which leaves about 1e-10 and more above alpha = 2."""
    entmax = pytest.importorskip("entmax")
    scores = torch.tensor(size * SCORES, requires_grad=True)
    alphas = torch.tensor([alpha, alpha + 0.1], dtype=torch.float64).reshape(2, 1, 1).requires_grad_()
    found, truth = ict.weights(scoring.Entmax(), scores, alpha=alphas), entmax.entmax_bisect(scores, alphas)
    assert abs(found - truth).max() < 1e-7
    pull = torch.tensor(COTANGENT)
    gradients = [torch.autograd.grad(weights, (scores, alphas), pull) for weights in (found, truth)]
    for one, right in zip(*gradients):
        assert abs(one - right).max() < 1e-5 * (1 + abs(right).max())
    for map, own in [(scoring.Sparsemax(), entmax.sparsemax), (scoring.Entmax(1.5), entmax.entmax15)]:
        assert abs(ict.weights(map, scores) - own(scores)).max() < 1e-12


def test_layers_say_their_fields_and_a_subclass_keeps_its_text():
    class Mine(ict.SSMax):
        """My own."""

    class Inherits(ict.SSMax):
        pass

    assert Mine.__doc__ == "My own." and Inherits.__doc__ is None
    assert "scale=1.0, bias=0.0" in ict.SSMax.__doc__
