"""The maps as functions of JAX's arrays, where jax is installed."""
import math

import numpy
import pytest

jax = pytest.importorskip("jax")

from jax.test_util import check_grads  # noqa: E402

import incontext.jax as icj  # noqa: E402
from incontext import scoring  # noqa: E402
from map_cases import COTANGENT, MAPS, MASKED, NAMES, SCORES, per_head  # noqa: E402

EACH_MAP = pytest.mark.parametrize("map", MAPS, ids=NAMES)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def arrays(map):
    """Scores and a parameter per head, and the function of them; two keys are masked."""
    values = per_head(map)
    inputs = [jax.numpy.asarray(one) for one in (SCORES, *values.values())]

    def function(scores, *parameters):
        masked = jax.numpy.where(numpy.isinf(MASKED), -math.inf, scores)
        return icj.weights(map, masked, "causal", **dict(zip(values, parameters)))

    return function, inputs


@EACH_MAP
def test_weights_and_first_derivatives_are_those_of_cpp(map):
    for visibility in ("all", "causal"):
        assert abs(icj.weights(map, MASKED, visibility) - map(MASKED, visibility)).max() < 1e-14
        found = jax.grad(lambda z: (icj.weights(map, z, visibility) * COTANGENT).sum())(jax.numpy.asarray(MASKED))
        assert abs(found - map.vjp(MASKED, COTANGENT, visibility)).max() < 1e-14
    for name in scoring.parameter_names(map):
        found = jax.grad(lambda value: (icj.weights(map, MASKED, **{name: value}) * COTANGENT).sum())(getattr(map, name))
        assert float(found) == pytest.approx((map.derivative(name, MASKED) * COTANGENT).sum(), abs=1e-13)


@EACH_MAP
def test_derivatives_of_two_orders_forward_and_backward(map):
    function, inputs = arrays(map)
    check_grads(function, inputs, 2, modes=("fwd", "rev"))


@EACH_MAP
def test_jit_and_vmap_with_traced_parameters(map):
    function, inputs = arrays(map)
    assert abs(jax.jit(function)(*inputs) - function(*inputs)).max() < 1e-15
    if not isinstance(map, scoring.MatrixNormSoftmax):
        names = scoring.parameter_names(map)
        each = jax.vmap(lambda z, *given: icj.weights(map, z, "causal", **dict(zip(names, given))))
        whole = icj.weights(map, inputs[0], "causal", **dict(zip(names, inputs[1:])))
        assert abs(each(*inputs) - whole).max() < 1e-15


def test_the_hessian_is_a_difference_of_gradients():
    map, pull, scores = scoring.SSMax(0.4, 0.2), COTANGENT[0, 0], jax.numpy.asarray(SCORES[0, 0])
    found = jax.hessian(lambda z: (icj.weights(map, z) * pull).sum())(scores)
    step = 1e-5
    rows = [(map.vjp(SCORES[0, 0] + step * one, pull) - map.vjp(SCORES[0, 0] - step * one, pull)) / (2 * step)
            for one in numpy.eye(5)]
    assert abs(found - numpy.array(rows)).max() < 1e-8 and abs(found).max() > 0.01


def test_refusals_and_where_values_are_traced_nan():
    with pytest.raises(ValueError, match="temperature is not positive"):
        icj.weights(scoring.Softmax(), SCORES, temperature=-1.0)
    with pytest.raises(ValueError, match="too near to the others for a mask"):
        icj.weights(scoring.SSMax(), numpy.array([[-900.0, -6000.0]]))
    with pytest.raises(TypeError, match=r"scale is a number here.*incontext.jax.weights\(SSMax\(\), scores, scale"):
        jax.grad(lambda scale: scoring.SSMax(scale)(SCORES).sum())(0.4)
    with pytest.raises(TypeError, match="floating point .*int64"):
        icj.weights(scoring.SSMax(), numpy.ones((2, 2), dtype="int64"))
    rows = jax.numpy.asarray([[0.0, 1.0], [0.0, math.nan], [-math.inf, -math.inf], [-900.0, -6000.0], [0.0, -1e9]])
    found = jax.jit(lambda z: icj.weights(scoring.SSMax(), z))(rows)
    assert numpy.isnan(found[1:4]).all() and (found[4] == numpy.array([1, 0])).all()
    assert numpy.isnan(jax.jit(lambda tau: icj.weights(scoring.Softmax(), rows[0], temperature=tau))(-1.0)).all()
    assert (icj.weights(scoring.SSMax(jax.numpy.asarray(0.4)), rows[0]) == icj.weights(scoring.SSMax(0.4), rows[0])).all()


@EACH_MAP
def test_half_precision_is_computed_in_single(map):
    narrow = jax.numpy.asarray(SCORES).astype("bfloat16")
    found = icj.weights(map, narrow)
    exact = map(numpy.asarray(narrow, "float64"))
    assert found.dtype == narrow.dtype and abs(numpy.asarray(found, "float64") - exact).max() < 0.01 * abs(exact).max()
