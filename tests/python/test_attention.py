"""Fused attention of NumPy arrays, forward and backward, beside the same by the matrix of weights."""
import signal
import threading
import time

import numpy
import pytest

from incontext import apply, scoring

RANDOM = numpy.random.default_rng(5)
QUERIES, KEYS = RANDOM.normal(size=(2, 3, 40, 4)), RANDOM.normal(size=(2, 3, 70, 4))
VALUES, COTANGENT = RANDOM.normal(size=(2, 3, 70, 5)), RANDOM.normal(size=(2, 3, 40, 5))
HEADS = numpy.array([0.3, 0.5, 0.7]).reshape(3, 1, 1)
MAPS = [scoring.Softmax(1.3), scoring.SSMax(0.4, 0.1), scoring.SSA(0.9, 2.0, 1.1), scoring.SSMax(HEADS),
        scoring.SSA(temperature=HEADS), scoring.Entmax(1.5), scoring.Entmax(1 + HEADS), scoring.LinearAttention(0.7),
        scoring.SSMax(RANDOM.uniform(0.2, 0.6, size=(40, 1))), scoring.NormSoftmax(1.2)]
IDS = [f"{type(map).__name__}{i}" for i, map in enumerate(MAPS)]


def by_weights(map, queries, keys, values, visibility):
    return map(queries @ numpy.swapaxes(keys, -1, -2), visibility) @ values


@pytest.mark.parametrize("visibility", ["all", "causal"])
@pytest.mark.parametrize("map", MAPS, ids=IDS)
def test_attention_is_the_weighted_sum(map, visibility):
    expected = by_weights(map, QUERIES, KEYS, VALUES, visibility)
    found = apply.attend(map, QUERIES, KEYS, VALUES, visibility)
    assert abs(found - expected).max() < 1e-13 and found.dtype == numpy.float64
    narrow = apply.attend(map, *(one.astype("float32") for one in (QUERIES, KEYS, VALUES)), visibility, threads=1)
    assert narrow.dtype == numpy.float32 and abs(narrow - expected).max() < 1e-4
    other = "causal" if visibility == "all" else "all"
    assert abs(apply.attend(map, QUERIES, KEYS, VALUES, other) - expected).max() > 1e-3


@pytest.mark.parametrize("visibility", ["all", "causal"])
@pytest.mark.parametrize("map", MAPS, ids=IDS)
def test_the_gradient_is_the_change_of_the_loss(map, visibility):
    found = apply.attention_gradient(map, QUERIES, KEYS, VALUES, COTANGENT, visibility)
    step = 1e-6
    given = {"queries": QUERIES, "keys": KEYS, "values": VALUES}
    for name, array in given.items():
        direction = RANDOM.normal(size=array.shape)
        loss = [(by_weights(map, **(given | {name: array + sign * step * direction}), visibility=visibility)
                 * COTANGENT).sum() for sign in (1, -1)]
        gradient = getattr(found, name)
        assert gradient.shape == array.shape
        assert (gradient * direction).sum() == pytest.approx((loss[0] - loss[1]) / (2 * step), rel=1e-6, abs=1e-6)
    for name in scoring.parameter_names(map):
        value = numpy.asarray(getattr(map, name), "float64")
        direction = RANDOM.normal(size=value.shape)
        loss = [(by_weights(map.replace(**{name: value + sign * step * direction}), **given, visibility=visibility)
                 * COTANGENT).sum() for sign in (1, -1)]
        assert found.parameters[name].shape == value.shape
        assert (found.parameters[name] * direction).sum() == pytest.approx((loss[0] - loss[1]) / (2 * step), rel=1e-6,
                                                                           abs=1e-6)


@pytest.mark.parametrize("map", [scoring.Softmax(), scoring.Entmax(1.5)], ids=["fused", "by weights"])
def test_values_may_have_axes_that_queries_and_keys_have_not(map):
    queries, keys, cotangent = QUERIES[0, 0], KEYS[0, 0], COTANGENT
    found = apply.attention_gradient(map, queries, keys, VALUES, cotangent)
    assert found.queries.shape == queries.shape and found.keys.shape == keys.shape
    each = [apply.attention_gradient(map, queries, keys, VALUES[i, j], cotangent[i, j]) for i in range(2) for j in range(3)]
    assert abs(found.queries - sum(one.queries for one in each)).max() < 1e-12
    assert abs(found.keys - sum(one.keys for one in each)).max() < 1e-12
    assert abs(apply.attend(map, queries, keys, VALUES)[1, 2] - apply.attend(map, queries, keys, VALUES[1, 2])).max() < 1e-14
    with pytest.raises(ValueError, match=r"axes before the last two do not broadcast .*values \(5, 70, 5\)"):
        apply.attend(map, QUERIES, KEYS, numpy.zeros((5, 70, 5)))


def test_axes_before_the_last_two_broadcast():
    """Keys and values that are shared by the heads have the sum of the heads' gradients."""
    keys, values = KEYS[:, :1], VALUES[:1, :1]
    shared = apply.attention_gradient(scoring.Softmax(), QUERIES, keys, values, COTANGENT)
    whole = [numpy.ascontiguousarray(numpy.broadcast_to(one, (2, 3) + one.shape[-2:])) for one in (keys, values)]
    each = apply.attention_gradient(scoring.Softmax(), QUERIES, *whole, COTANGENT)
    assert (apply.attend(scoring.Softmax(), QUERIES, keys, values) == apply.attend(scoring.Softmax(), QUERIES, *whole)).all()
    assert abs(shared.keys - each.keys.sum(axis=1, keepdims=True)).max() < 1e-12
    assert abs(shared.values - each.values.sum(axis=(0, 1), keepdims=True)).max() < 1e-12
    assert (shared.queries == each.queries).all()
    turned = numpy.swapaxes(numpy.swapaxes(QUERIES, -1, -2).copy(), -1, -2)
    assert (apply.attend(scoring.Softmax(), turned, *whole) == apply.attend(scoring.Softmax(), QUERIES, *whole)).all()


def test_a_decoding_step_sees_every_key():
    step = apply.attend(scoring.SSMax(0.4), QUERIES[..., -1:, :], KEYS, VALUES, "causal")
    assert abs(step - apply.attend(scoring.SSMax(0.4), QUERIES[..., -1:, :], KEYS, VALUES)).max() == 0
    assert abs(step - apply.attend(scoring.SSMax(0.4), QUERIES, KEYS, VALUES, "causal")[..., -1:, :]).max() < 1e-14


def test_threads_do_not_change_bits():
    one, two = (apply.attend(scoring.SSMax(0.4), QUERIES, KEYS, VALUES, threads=threads) for threads in (1, 2))
    assert (one == two).all()


@pytest.mark.parametrize("map", [scoring.SSMax(0.4), scoring.Entmax(1.5)], ids=["fused", "by weights"])
@pytest.mark.parametrize("lead, queries, components", [((2,), 0, 4), ((0,), 3, 4), ((2,), 3, 0), ((2, 0), 0, 0)])
def test_no_queries_or_components_are_an_empty_result(map, lead, queries, components):
    q, k, v = numpy.ones(lead + (queries, 3)), numpy.ones(lead + (5, 3)), numpy.ones(lead + (5, components))
    assert apply.attend(map, q, k, v).shape == lead + (queries, components)
    found = apply.attention_gradient(map, q, k, v, numpy.ones(lead + (queries, components)))
    for array, like in ((found.queries, q), (found.keys, k), (found.values, v)):
        assert array.shape == like.shape and not array.any()
    with pytest.raises(ValueError, match="keys|row of scores"):
        apply.attend(map, numpy.ones((2, 3)), numpy.ones((0, 3)), numpy.ones((0, 2)))


def test_what_attention_refuses():
    softmax = scoring.Softmax()
    with pytest.raises(ValueError, match="components of keys .*value = 3; needs 4"):
        apply.attend(softmax, QUERIES, KEYS[..., :3], VALUES)
    with pytest.raises(ValueError, match="number of values .*value = 69; needs 70"):
        apply.attend(softmax, QUERIES, KEYS, VALUES[..., :69, :])
    with pytest.raises(ValueError, match="rows of cotangent"):
        apply.attention_gradient(softmax, QUERIES, KEYS, VALUES, COTANGENT[..., :3, :])
    with pytest.raises(ValueError, match="axes of values"):
        apply.attend(softmax, QUERIES, KEYS, VALUES[0, 0, 0])
    with pytest.raises(TypeError, match="keys are not real"):
        apply.attend(softmax, QUERIES, KEYS + 0j, VALUES)
    with pytest.raises(ValueError, match="shape of scale"):
        apply.attend(scoring.SSMax(numpy.ones(5)), QUERIES, KEYS, VALUES)
    with pytest.raises(ValueError, match=r"shape of scale .*\(5, 1, 1\); needs a shape that broadcasts to \(2, 3, 40, 1\)"):
        apply.attend(scoring.SSMax(numpy.ones((5, 1, 1))), QUERIES, KEYS, VALUES)
    with pytest.raises(ValueError, match="temperature is not positive"):
        apply.attend(scoring.Softmax(-HEADS), QUERIES, KEYS, VALUES)
    mask = numpy.zeros(KEYS.shape, bool)
    mask[..., 0, :] = True  # one key of each matrix
    with pytest.raises(ValueError, match=f"masked elements of keys .*value = {mask.sum()} of them"):
        apply.attend(softmax, QUERIES, numpy.ma.array(KEYS, mask=mask), VALUES)
    with pytest.raises(ValueError, match="threads"):
        apply.attend(softmax, QUERIES, KEYS, VALUES, threads=-1)
    with pytest.raises(ValueError, match=r"a number of queries is not finite, at \[0, 0, 0, 0\] .value = nan; needs finite numbers"):
        apply.attend(softmax, QUERIES * numpy.nan, KEYS, VALUES)


def test_attention_lets_other_threads_run_and_ends_at_ctrl_c():
    many = numpy.broadcast_to(RANDOM.normal(size=(256, 16)), (4096, 256, 16))
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(0)
            time.sleep(0.001)

    counter = threading.Thread(target=tick)
    counter.start()
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            while True:
                apply.attend(scoring.Softmax(4.0), many, many, many, threads=1)
    finally:
        done.set()
        timer.cancel()
        signal.signal(signal.SIGINT, previous)
        counter.join()
    assert len(ticks) > 10


@pytest.mark.parametrize("map", [scoring.Softmax(), scoring.Entmax(1.5)], ids=["fused", "by weights"])
@pytest.mark.parametrize("number", [numpy.nan, numpy.inf, -numpy.inf])
def test_a_number_that_is_not_finite_is_named_with_its_place(map, number):
    arrays = {"queries": QUERIES, "keys": KEYS, "values": VALUES, "cotangent": COTANGENT}
    for name in arrays:
        broken = {other: array.copy() for other, array in arrays.items()}
        broken[name][1, 2, 3, 1] = number
        with pytest.raises(ValueError, match=rf"number of {name} is not finite, at \[1, 2, 3, 1\] .value = {number};"):
            apply.attention_gradient(map, *broken.values())
        if name != "cotangent":
            with pytest.raises(ValueError, match=rf"attend: a number of {name} is not finite, at \[1, 2, 3, 1\]"):
                apply.attend(map, *list(broken.values())[:3])
