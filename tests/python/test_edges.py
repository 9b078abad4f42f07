"""Numbers and processes at their edges: float32 far from 0, equal scores, alpha near 1, finite scores that are no masks,
searches that end at the edge of their range, and a process that was forked after every public function."""
import doctest
import math
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

import incontext as ic
from incontext import scoring
from map_cases import MAPS, NAMES

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import headers  # noqa: E402

NORMALIZING = [scoring.NormSoftmax(1.0), scoring.NormSoftmax(1.0, "sample_stddev"), scoring.NormSoftmax(1.0, "population_variance"),
               scoring.MatrixNormSoftmax(10.0), scoring.ApproximateSoftmax(1.0), scoring.Softmax(1.0), scoring.SSMax(0.4)]


def libraries():
    """The weights and the vector-Jacobian product of a map by each front end, of arrays of NumPy."""
    found = [pytest.param(lambda map, z, c, **o: (map(z, **o), map.vjp(z, c, **o)), id="numpy")]
    try:
        import torch

        import incontext.torch as ict

        def by_torch(map, z, c, **options):
            scores = torch.tensor(z, requires_grad=True)
            weights = ict.weights(map, scores, **options)
            return weights.detach().numpy(), torch.autograd.grad(weights, scores, torch.tensor(c))[0].numpy()

        found.append(pytest.param(by_torch, id="torch"))
    except ImportError:
        found.append(pytest.param(None, id="torch", marks=pytest.mark.skip("no torch")))
    try:
        import jax

        import incontext.jax as icj

        jax.config.update("jax_enable_x64", True)

        def by_jax(map, z, c, **options):
            icj.weights(map, jax.numpy.asarray(z), **options)  # whose values can be read, so that a row is refused
            weights, pull = jax.vjp(lambda scores: icj.weights(map, scores, **options), jax.numpy.asarray(z))
            return numpy.asarray(weights), numpy.asarray(pull(jax.numpy.asarray(c))[0])

        found.append(pytest.param(by_jax, id="jax"))
    except ImportError:
        found.append(pytest.param(None, id="jax", marks=pytest.mark.skip("no jax")))
    return found


EACH_LIBRARY = pytest.mark.parametrize("both", libraries())


@EACH_LIBRARY
@pytest.mark.parametrize("shift", [4e4, 2e5, 1e6])
@pytest.mark.parametrize("map", NORMALIZING, ids=lambda map: type(map).__name__)
def test_float32_far_from_zero_has_the_digits_of_the_scores(map, shift, both):
    random = numpy.random.default_rng(1)
    z = (random.normal(size=(20, 64)) * 0.3 + shift).astype("float32")
    c = random.normal(size=z.shape).astype("float32")
    weights, gradient = both(map, z, c)
    exact, slope = map(z.astype("float64")), map.vjp(z.astype("float64"), c.astype("float64"))
    assert (abs(weights - exact) <= 3e-6 * abs(exact).max(-1, keepdims=True)).all()
    assert (abs(gradient - slope) <= 3e-5 * abs(slope).max(-1, keepdims=True)).all()


EQUAL = {"zeros": numpy.zeros((2, 4)), "a third": numpy.full((2, 3), 0.1), "seven": numpy.full((2, 7), 0.1, "float32"),
         "rounded": numpy.array([[0.1, math.nextafter(0.1, 1), 0.1], [3, 3, math.nextafter(3, 4)]]), "long": numpy.full((1, 40), -7.3),
         "beside a mask": numpy.array([[0.2, 0.2, -numpy.inf, 0.2]])}


@EACH_LIBRARY
@pytest.mark.parametrize("scores", EQUAL.values(), ids=EQUAL)
@pytest.mark.parametrize("map", [scoring.NormSoftmax(2.0), scoring.NormSoftmax(2.0, "population_variance"),
                                 scoring.MatrixNormSoftmax(2.0)], ids=str)
def test_equal_scores_are_divided_by_the_temperature(map, scores, both):
    if isinstance(map, scoring.MatrixNormSoftmax) and scores[0, 0] != scores[-1, 0]:
        return  # its rows are equal, its matrix is not
    c = numpy.arange(scores.size, dtype=scores.dtype).reshape(scores.shape)
    weights, gradient = both(map, scores, c)
    softmax = scoring.Softmax(2.0)
    assert abs(weights - softmax(scores)).max() < 1e-6
    assert abs(gradient - softmax.vjp(scores, c)).max() < 1e-5 and abs(gradient).max() > 0.01
    steps = numpy.where(numpy.isfinite(scores), numpy.arange(scores.shape[-1]), 0)
    further = (scores + 1e-3 * steps).astype(scores.dtype)
    own = both(map, further, c)[1]
    assert abs(own - softmax.vjp(further, c)).max() > 0.05, "power: scores that differ have their own scale"


@EACH_LIBRARY
@pytest.mark.parametrize("type, size", [("float64", 1e-200), ("float64", 1e-160), ("float32", 1e-21), ("float32", 1e-23)])
def test_a_variance_that_underflows_has_all_weight_on_the_largest(type, size, both):
    z = (size * numpy.array([[1.0, 2.0, 3.0]])).astype(type)
    weights, gradient = both(scoring.NormSoftmax(1.0, "population_variance"), z, numpy.array([[1.0, -1.0, 0.5]], type))
    assert weights.tolist() == [[0, 0, 1]] and gradient.tolist() == [[0, 0, 0]]


@EACH_LIBRARY
def test_two_scores_a_rounding_apart_are_equal_in_every_front_end(both):
    row = numpy.array([[1 - 2 * 2.0**-52, 1.0]])
    exact = scoring.NormSoftmax(1.0)(row)
    assert abs(both(scoring.NormSoftmax(1.0), row, numpy.ones((1, 2)))[0] - exact).max() < 1e-12


def test_a_projection_that_starts_at_zero_is_trained():
    torch = pytest.importorskip("torch")
    import incontext.torch as ict

    x = torch.tensor(numpy.random.default_rng(2).normal(size=(6, 8)))
    projection = torch.zeros(8, 8, dtype=torch.float64, requires_grad=True)
    loss = lambda: (ict.weights(scoring.NormSoftmax(1.0), x @ projection @ x.T) - torch.eye(6, dtype=torch.float64)).square().sum()
    before = loss()
    before.backward()
    assert torch.isfinite(projection.grad).all() and projection.grad.abs().max() > 0
    with torch.no_grad():
        projection -= 0.01 * projection.grad
    assert loss() < before


@EACH_LIBRARY
@pytest.mark.parametrize("type, tolerance", [("float32", 2e-6), ("float64", 3e-15)])
@pytest.mark.parametrize("step", [1e-3, 1e-5, 1e-6, 3e-7, -1e-5])
def test_entmax_near_one_keeps_its_digits(step, type, tolerance, both):
    mpmath = pytest.importorskip("mpmath")
    z = numpy.random.default_rng(3).normal(size=(1, 30)).astype(type)
    alpha = float(numpy.dtype(type).type(1 + step))
    weights, gradient = both(scoring.Entmax(alpha), z, numpy.eye(1, 30, dtype=type))
    with mpmath.workdps(60):
        slope, scores = mpmath.mpf(alpha) - 1, [mpmath.mpf(float(one)) for one in z[0]]

        def at(depth):
            return [max(1 + slope * (one - depth), 0) ** (1 / slope) for one in scores]

        depth = mpmath.findroot(lambda depth: mpmath.fsum(at(depth)) - 1, mpmath.log(mpmath.fsum(map(mpmath.exp, scores))))
        exact = at(depth)
        spread = [one ** (2 - mpmath.mpf(alpha)) for one in exact]
        share = spread[0] / mpmath.fsum(spread)
        slopes = [-one * share for one in spread]
        slopes[0] += spread[0]
        exact, slopes = (numpy.array([float(one) for one in values]) for values in (exact, slopes))
    assert abs(weights[0] / exact - 1).max() <= 4 * tolerance and abs(weights.sum() - 1) <= 4 * tolerance
    assert abs(gradient[0] - slopes).max() <= 16 * tolerance
    softer = scoring.Entmax(alpha + 0.01)(z.astype("float64"))[0]
    assert abs(softer / exact - 1).max() > 100 * tolerance, "power"


def test_the_derivative_by_an_alpha_near_one_is_that_of_torch_and_jax():
    z = numpy.random.default_rng(3).normal(size=(1, 30))
    exact = scoring.Entmax(1 + 1e-5).derivative("alpha", z)[0]
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    import incontext.jax as icj
    import incontext.torch as ict

    for kind, tolerance in (("float64", 1e-9), ("float32", 2e-5)):
        alpha = torch.tensor([1 + 1e-5], dtype=getattr(torch, kind), requires_grad=True)
        rows = [torch.autograd.grad(ict.weights(scoring.Entmax(), torch.tensor(z.astype(kind)), alpha=alpha)[0, k], alpha)[0].item()
                for k in range(30)]
        assert abs(numpy.array(rows) - exact).max() <= tolerance * abs(exact).max(), kind
        by_jax = jax.jacfwd(lambda a: icj.weights(scoring.Entmax(), jax.numpy.asarray(z.astype(kind)), alpha=a)[0])(
            jax.numpy.asarray(1 + 1e-5, kind))
        assert abs(numpy.asarray(by_jax) - exact).max() <= tolerance * abs(exact).max(), kind
    assert abs(exact).max() > 1e-3


@EACH_LIBRARY
def test_sparse_maps_take_scores_however_low(both):
    for row, exact in (([0.0, -4000.0, -8000.0, -2000.0], [1, 0, 0, 0]), ([-6000.0, -6000.5, -9000.0], [0.75, 0.25, 0])):
        assert (both(scoring.Sparsemax(), numpy.array([row]), numpy.ones((1, len(row))))[0] == exact).all()
    assert (both(scoring.Hardmax(), numpy.array([[-6000.0, -7000.0]]), numpy.ones((1, 2)))[0] == [1, 0]).all()


BIASED = numpy.random.default_rng(5).normal(size=(1, 10_001)) - 0.5 * numpy.arange(10_001)[::-1]  # ALiBi's row
COUNTING = [map for map in MAPS if not isinstance(map, (scoring.Softmax, scoring.Sparsemax, scoring.Hardmax, scoring.SaSoftmax))]


@EACH_LIBRARY
@pytest.mark.parametrize("map", COUNTING, ids=[name for map, name in zip(MAPS, NAMES) if map in COUNTING])
def test_a_low_score_is_counted_in_or_out_with_a_word(map, both):
    """The rule of finite masks, in every front end: a mask, a refusal that names both ways out, or a score if all are."""
    for row, problem in ((BIASED, "too near"), (numpy.array([[0.3, 0.2, -400.0, -52000.0]]), "too near"),
                         (numpy.array([[-10000.0, -10001.0, -10002.0]]), "every score of a row")):
        with pytest.raises(ValueError, match=f"{problem}.*needs -inf for a masked key, or finite_masks=False"):
            both(map, row, numpy.ones_like(row))
    scores = numpy.array([[0.3, 0.2, -400.0, -52000.0]])
    four = both(map, scores, numpy.ones_like(scores), finite_masks=False)[0]
    close = both(map, numpy.array([[0.3, 0.2, -400.0, -4000.0]]), numpy.ones((1, 4)))[0]
    if isinstance(map, scoring.SSMax):
        assert abs(four - close).max() < 1e-12, "as many keys"
    masked = both(map, numpy.array([[0.3, 0.2, -10000.0, -65504.0]]), numpy.ones((1, 4)))[0]
    assert (masked[..., :2] == both(map, numpy.array([[0.3, 0.2]]), numpy.ones((1, 2)))[0]).all() and (masked[..., 2:] == 0).all()


def test_functions_of_one_row_and_calibrate_have_that_rule_too():
    scores = [0.3, 0.2, -400.0, -52000.0]
    for function, first in ((scoring.summary, scoring.SSMax()), (scoring.jacobian, scoring.SSMax()),
                            (scoring.jacobian_spectral_norm, scoring.SSMax()), (scoring.normsoftmax_divisor, scoring.NormSoftmax()),
                            (scoring.approximate_softmax_error, scoring.ApproximateSoftmax()), (scoring.ssa_scale_limit, scoring.SSA())):
        with pytest.raises(ValueError, match="finite_masks=False"):
            function(first, scores)
        function(first, scores, finite_masks=False)
    rows = numpy.random.default_rng(6).normal(size=(64, 10_001)) - 0.5 * numpy.arange(10_001)[::-1]
    with pytest.raises(ValueError, match="query 0: a score is too low .*finite_masks=False"):
        ic.calibrate(rows)
    assert ic.calibrate(rows, finite_masks=False).heads[0].longest_row == 10_001


@EACH_LIBRARY
@pytest.mark.parametrize("map", MAPS, ids=NAMES)
def test_a_row_that_shows_no_key_is_zeros_where_that_is_asked_for(map, both):
    random = numpy.random.default_rng(5)
    scores, pull = random.standard_normal((2, 2, 4, 6))
    masked = scores.copy()
    masked[0, 1] = masked[1, 0] = masked[1, 3] = -numpy.inf
    masked[1, 3] = -1e9  # the mask of a padded batch of Transformers
    weights, gradient = both(map, masked, pull, zero_masked_rows=True)
    for matrix, hidden in enumerate([[1], [0, 3]]):
        assert not weights[matrix, hidden].any() and not gradient[matrix, hidden].any()
        rest, gradient_of_rest = both(map, numpy.delete(scores[matrix], hidden, 0), numpy.delete(pull[matrix], hidden, 0))
        assert numpy.allclose(numpy.delete(weights[matrix], hidden, 0), rest, 1e-13, 1e-14)
        assert numpy.allclose(numpy.delete(gradient[matrix], hidden, 0), gradient_of_rest, 1e-12, 1e-13)
    for row in (-numpy.inf, -1e9):
        if row == -numpy.inf or map in COUNTING:
            with pytest.raises(ValueError, match="zero_masked_rows=True"):
                both(map, numpy.full((2, 6), row), numpy.ones((2, 6)))


def test_a_padded_batch_gets_zeros_as_in_torch():
    torch = pytest.importorskip("torch")
    import incontext.torch as ict

    torch.manual_seed(1)
    q, k, v = torch.randn(3, 2, 1, 4, 8, dtype=torch.float64)
    seen = torch.tensor([[False, False, True, True], [True] * 4])[:, None, None, :] & torch.ones(4, 4, dtype=bool).tril()
    for mask in (seen, torch.where(seen, 0.0, -torch.inf).double()):
        leaves = [one.clone().requires_grad_() for one in (q, k, v)]
        out = ict.scaled_dot_product_attention(*leaves, attn_mask=mask, map=scoring.SSMax(0.4), zero_masked_rows=True)
        gradients = torch.autograd.grad(out.square().sum(), leaves)
        assert not out[0, 0, :2].any() and not gradients[0][0, 0, :2].any() and out[0, 0, 2:].all()
        assert all(one.isfinite().all() for one in gradients)
        assert torch.equal(ict.scaled_dot_product_attention(q, k, v, attn_mask=mask, zero_masked_rows=True)[0, 0, :2],
                           torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)[0, 0, :2])
        with pytest.raises(ValueError, match="zero_masked_rows"):
            ict.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@EACH_LIBRARY
@pytest.mark.parametrize("map", MAPS, ids=NAMES)
def test_no_rows_have_no_weights_and_a_row_of_no_keys_is_refused(map, both):
    for shape in [(0, 5), (2, 0, 5)]:
        weights, gradient = both(map, numpy.zeros(shape), numpy.zeros(shape))
        assert weights.shape == gradient.shape == shape
    with pytest.raises(ValueError, match="row of scores is too small|keys"):
        both(map, numpy.zeros((3, 0)), numpy.zeros((3, 0)))
    assert both(map, numpy.zeros((3, 0)), numpy.zeros((3, 0)), zero_masked_rows=True)[0].shape == (3, 0)


def test_an_array_beside_the_scores_and_a_parameter_are_refused_by_name_also_where_nothing_is_seen():
    scores, masked = numpy.zeros((2, 6)), numpy.full((2, 6), -numpy.inf)
    for map in MAPS:
        for call in (lambda: map.vjp(scores, numpy.zeros((2, 5))), lambda: map.jvp(scores, numpy.zeros(4), axis=0)):
            with pytest.raises(ValueError, match=r"beside the scores does not broadcast .*\(2, 6\)"):
                call()
    for map in (scoring.Softmax(-1.0), scoring.SSMax(numpy.nan)):
        with pytest.raises(ValueError, match="temperature|scale"):
            map(masked, zero_masked_rows=True)


def test_a_product_of_query_and_key_is_a_score():
    torch = pytest.importorskip("torch")
    import incontext.torch as ict

    query, key, value = torch.tensor([[1.0]]), torch.tensor([[0.3], [0.2], [-400.0], [-52000.0]]), torch.eye(4)
    for map in (scoring.SSMax(0.4), scoring.NormSoftmax(9.0)):  # fused, and by the matrix of weights
        exact = map(key.numpy().T.astype("float64"), finite_masks=False)
        assert abs(ict.scaled_dot_product_attention(query, key, value, scale=1.0, map=map).numpy() - exact).max() < 1e-6
        assert abs(ic.apply.attend(map, query.numpy(), key.numpy(), value.numpy()) - exact).max() < 1e-6


def test_a_list_of_arrays_says_of_what(monkeypatch):
    layers = [numpy.random.default_rng(k).normal(size=(8, 4, 64, 64)) for k in range(3)]
    for given in (layers, tuple(layers)):
        with pytest.raises(ValueError, match="does not say of what .*numpy.stack .*prompts=.*from_weights"):
            ic.calibrate(given)
    assert ic.calibrate(numpy.stack(layers)).entropy.shape == (3, 4)
    assert ic.calibrate(prompts=layers).entropy.shape == (8, 4)
    with pytest.raises(ValueError, match="prompts is an array .value = 5 axes; needs a list"):
        ic.calibrate(prompts=numpy.stack(layers))
    for wrong in ({}, {"scores": layers[0], "prompts": layers}):
        with pytest.raises(ValueError, match="two ways to say the same"):
            ic.calibrate(**wrong)


def test_softmax_at_the_ends_of_its_domain():
    assert scoring.Softmax(math.inf)([1e308, -1e308]).tolist() == [0.5, 0.5]
    assert scoring.Softmax(1e-310)([1.0, 2.0]).tolist() == [0, 1]
    high = 1 / (1 + math.exp(-3.4))
    assert scoring.Softmax(1e308)([1.7e308, -1.7e308]).tolist() == pytest.approx([high, 1 - high], rel=1e-14)
    long = scoring.Softmax(1e308)([1.7e308] + [-1.7e308] * 19)
    assert long[0] == pytest.approx(1 / (1 + 19 * math.exp(-3.4)), rel=1e-14)


def test_a_search_says_that_it_ended_at_the_edge():
    task = ic.regression.IsotropicTask(dimension=20, input_variance=1.0, task_variance=0.05, noise_variance=0.1)
    layer = ic.regression.IsotropicAttention(key_query_scale=1.0, label_value=1.0)
    place = ic.laws.SearchPlace
    assert ic.regression.ssa_optimal_base_isotropic(layer, task, 100, exponent=1.5).place is place.highest
    assert ic.regression.softmax_optimal_temperature_isotropic(layer, task, 100).place is place.inside
    span = ic.regression.SearchRange(0.5, 1.0, 10.0)
    assert ic.regression.minimize_softmax_error(lambda x: 1 / x, span).place is place.highest
    assert ic.laws.ssmax_critical_length(0.43, 1.0, 8.0).length == math.inf
    assert ic.laws.ssmax_critical_length(0.43, 1.0, 4.5).length == 49_896


def examples():
    """The example of every public function but those that run in OpenMP's threads, with 64 dimensions where it has a few:
    from 48 on Eigen would take OpenMP's threads for a product."""
    for name, own in headers.shown(ROOT).items():
        if own.example and name.split("::")[0] not in ("simulate", "training", "apply"):
            lines = "".join(one.source for one in doctest.DocTestParser().get_examples(own.example))
            yield name, re.sub(r"(LinearTask\.isotropic\(dimension=)\d+", r"\g<1>64", lines)


NAMESPACE = {room: getattr(ic, room) for room in ("baselines", "calibration", "classification", "laws", "regression", "scoring",
                                                  "simulate", "statistics", "training", "apply")} | {"ic": ic, "incontext": ic, "numpy": numpy}


def run_all(only=None):
    """The functions that ran, and the number of threads after them."""
    done = []
    for name, text in examples():
        if only is not None and name not in only:
            continue
        try:
            exec(compile(text, name, "exec"), dict(NAMESPACE))
        except (ValueError, TypeError, ArithmeticError, NameError, AttributeError):
            continue  # an example that shows a refusal, or whose arrays do not fit 64 dimensions
        done.append(name)
    return done, len(os.listdir("/proc/self/task"))


def dense():
    """Products and decompositions of 96 rows."""
    random = numpy.random.default_rng(1)
    covariance = numpy.diag(1 / numpy.arange(1.0, 97)) + 0.01
    task = ic.regression.LinearTask.isotropic(dimension=96, task_variance=0.01, noise_variance=0.1).with_input_covariance(covariance)
    layer = ic.regression.pretrained_attention(task, 200)
    inputs = random.normal(size=(300, 96))
    return [layer.key_query.sum(), ic.regression.generalization_error(layer, task, 200)(1.0),
            ic.regression.linear_attention_error(layer, task, 200)(1.0),
            ic.regression.centered_ridge_risk_equivalent(task, 200).risk,
            ic.regression.softmax_error(layer, task, 200, scoring.Softmax(2.0)).value,
            ic.regression.least_squares_task(inputs, inputs @ numpy.ones(96)).residual_variance,
            ic.regression.softmax_error(layer, task, numpy.arange(200, 204), scoring.Softmax(2.0)).value.sum()]


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no /proc")
def test_a_forked_process_answers_after_every_public_function():
    """No closed form leaves a thread, so that a fork has all that it needs; and one does answer."""
    context = multiprocessing.get_context("fork")
    done, threads = run_all()
    after, before = dense(), threads
    assert len(done) > 200 and len(os.listdir("/proc/self/task")) == before
    with context.Pool(1) as pool:
        assert pool.apply_async(dense).get(timeout=120) == after
        again, _ = pool.apply_async(run_all, (done,)).get(timeout=600)
    assert again == done


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no /proc")
def test_closed_forms_have_one_thread_and_the_bits_of_one():
    program = ("import os, sys; sys.path.insert(0, sys.argv[1]); import test_edges as t\n"
               "before = len(os.listdir('/proc/self/task')); found = t.dense()\n"
               "print(len(os.listdir('/proc/self/task')) - before, [x.hex() for x in map(float, found)])")
    told = {subprocess.check_output([sys.executable, "-c", program, os.path.dirname(__file__)], text=True,
                                    env=os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": "1"})
            for threads in ("1", "2", "4")}
    assert len(told) == 1 and next(iter(told)).startswith("0 ")
