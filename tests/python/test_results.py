"""Numbers: broadcasting, errors, records, maps, the user's own map, agreement with what C++ is tested on."""
import inspect
import json
import math
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import types

import numpy
import pytest

import incontext as ic

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def layer():
    pretraining = ic.regression.LinearTask.isotropic(dimension=20, task_variance=0.05, noise_variance=0.1)
    shifted = pretraining.with_input_covariance_scaled(2.0)
    return ic.regression.pretrained_attention(pretraining, 40), shifted


def test_the_readme_table(layer):
    attention, shifted = layer
    error = ic.regression.generalization_error(attention, shifted, 40)
    best = error.optimal_temperature()
    assert f"{best:.6f} {error(best):.6f} {error(1.0):.6f}" == "2.904762 0.873811 5.513044"
    maps = [ic.scoring.Softmax(temperature) for temperature in (1, best, 5.057)]
    softmax = [ic.regression.softmax_error(attention, shifted, 40, map).value for map in maps]
    assert [round(value, 3) for value in softmax] == [2.178, 1.531, 1.356]


def test_functions_broadcast_over_arrays():
    n = numpy.array([[10], [1000], [100000]])
    gap = numpy.linspace(0, 20, 5)
    weight = ic.laws.needle_weight(n, 2.0, gap)
    assert weight.value.shape == (3, 5)
    for i in range(3):
        for j in range(5):
            assert weight.value[i, j] == ic.laws.needle_weight(int(n[i, 0]), 2.0, gap[j]).value
    assert isinstance(ic.laws.critical_score_stddev(100), float)
    assert ic.laws.critical_score_stddev(n).shape == (3, 1)
    length = ic.laws.softmax_critical_length(1.0, gap)
    assert length.length.tolist() == [ic.laws.softmax_critical_length(1.0, one).length for one in gap]
    # any stride, a whole type, an empty array
    assert (ic.laws.needle_weight(1000, 2.0, gap[::-2]).value == weight.value[1, ::-2]).all()
    assert (ic.laws.annealed_ipr(numpy.arange(1, 4), 1.0) == ic.laws.annealed_ipr([1.0, 2.0, 3.0], 1.0)).all()
    assert ic.laws.annealed_ipr(numpy.empty(0), 1.0).shape == (0,)


def test_records_broadcast_and_errors_take_axes(layer):
    row = ic.laws.gaussian_row(1000, numpy.array([0.5, 1.0, 3.0]))
    sizes = ic.laws.gradient_sizes(row, numpy.array([0.5, 1.0, 3.0]), 64)
    assert sizes.imbalance.shape == (3,)
    assert sizes.imbalance[2] == ic.laws.gradient_sizes(ic.laws.gaussian_row(1000, 3.0), 3.0, 64).imbalance
    attention, task = layer
    lengths = numpy.array([10, 20, 40])
    error = ic.regression.generalization_error(attention, task, lengths)
    assert error(2.0).shape == (3,)
    assert error(2.0)[2] == ic.regression.generalization_error(attention, task, 40)(2.0)
    by_temperature = ic.regression.softmax_error(attention, task, 40, ic.scoring.Softmax(numpy.array([1.0, 2.0, 5.0])))
    assert by_temperature.value[1] == ic.regression.softmax_error(attention, task, 40, ic.scoring.Softmax(2.0)).value
    with pytest.raises(ValueError, match="whole"):
        ic.regression.generalization_error(attention, task, 40.5)


THREADS = """
import multiprocessing
import numpy
import incontext as ic


def weights(lengths):
    return ic.laws.needle_weight(lengths, 1.0, 5.0).value


lengths = numpy.arange(10, 410)
array = weights(lengths)
assert all(array[k] == weights(int(lengths[k])) for k in range(0, 400, 37))
with multiprocessing.get_context("fork").Pool(1) as pool:  # threads that a parent has had do not hang its children
    assert (pool.apply_async(weights, (lengths,)).get(timeout=60) == array).all()
print(array.tobytes().hex())
"""


def test_an_array_has_the_bits_of_its_elements_with_any_number_of_threads():
    bits = set()
    for threads in ("1", "2", "5"):
        environment = os.environ | {"OMP_NUM_THREADS": threads}
        bits.add(subprocess.check_output([sys.executable, "-c", THREADS], env=environment, text=True))
    assert len(bits) == 1


def test_of_several_bad_elements_the_first_is_named():
    lengths = numpy.arange(10.0, 1010.0)
    deviations = numpy.where(lengths >= 700, -lengths, 1.0)
    for _ in range(5):
        with pytest.raises(ValueError, match="value = -700;"):
            ic.laws.needle_weight(lengths, deviations, 5.0)


def test_errors_are_those_of_cpp(layer):
    with pytest.raises(ValueError, match=r"incontext::laws::needle_weight: noise_stddev is negative or not finite "
                                              r"\(value = -1; needs 0 <= value < infinity\)"):
        ic.laws.needle_weight(10, -1.0, 1.0)
    with pytest.raises(ValueError, match=r"context_length"):
        ic.regression.pretrained_attention(layer[1], 0)
    with pytest.raises(ValueError, match=r"row_length is too small"):
        ic.laws.row_moments(ic.scoring.Softmax(), 0, 1.0)
    assert not issubclass(ic.laws.QuadratureError, ValueError)
    assert issubclass(ic.laws.QuadratureError, ArithmeticError)
    with pytest.raises(TypeError, match="missing the argument 'gap'"):
        ic.laws.needle_weight(10, 1.0)
    with pytest.raises(TypeError, match="no argument 'gapp'"):
        ic.laws.needle_weight(10, 1.0, 2.0, gapp=1.0)
    with pytest.raises(TypeError, match="no argument 'gapp'"):  # and not that gap is missing
        ic.laws.needle_weight(10, 1.0, gapp=1.0)
    for value in ("1.0", None):
        with pytest.raises(TypeError, match=rf"noise_stddev must be a number or an array of numbers, and is {value!r}"):
            ic.laws.needle_weight(10, value, 2.0)
    with pytest.raises(ValueError, match=r"not whole \(value = 10.5; needs a whole number\); numpy.round"):
        ic.laws.needle_weight(10.5, 1.0, 2.0)
    with pytest.raises(TypeError, match="multiple values"):
        ic.laws.needle_weight(10, 1.0, 2.0, gap=1.0)
    with pytest.raises(TypeError, match="incontext.laws.FrozenLayer"):
        ic.laws.frozen_imbalance_quantile(3.0)


def test_records_print_compare_and_convert():
    row = ic.laws.NormalNeedle(1.5, stddev=0.5)
    assert repr(row) == "NormalNeedle(mean=1.5, stddev=0.5)"
    assert row.to_dict() == {"mean": 1.5, "stddev": 0.5}
    assert row == ic.laws.NormalNeedle(mean=1.5, stddev=0.5) and row != row.replace(mean=2.0)
    assert "<td>1.5</td>" in row._repr_html_()
    with pytest.raises(AttributeError):
        row.mean = 3.0
    with pytest.raises(TypeError, match="needs the field 'stddev'"):
        ic.laws.NormalNeedle(1.0)
    with pytest.raises(TypeError, match="no field 'sd'"):
        ic.laws.NormalNeedle(1.0, sd=2.0)
    text = json.dumps(ic.scoring.LinearAttention(2.0).to_dict())
    assert text == '{"temperature": 2.0, "normalization": "context_length"}'
    arrays = ic.laws.gaussian_powers(numpy.array([0.1, 0.2]))
    assert arrays == ic.laws.gaussian_powers(numpy.array([0.1, 0.2]))
    assert arrays != ic.laws.gaussian_powers(numpy.array([0.1, 0.3]))


def test_theories_agree_with_estimates():
    estimate = ic.statistics.Estimate(count=1000, mean=1.03, standard_error=0.01)
    theory = ic.statistics.Theory(1.0)
    agreement = theory.agree(estimate)
    assert agreement.z == pytest.approx(3.0)
    assert agreement.verdict(2.0) is ic.statistics.Verdict.disagrees and agreement.within(5.0)
    interval = estimate.interval(0.95)
    assert interval.contains(1.03) and not interval.contains(1.0)
    assert interval.upper - interval.lower == pytest.approx(2 * 1.9623414 * 0.01, rel=1e-6)
    exact = ic.laws.needle_weight(1000, 1.0, 8.0)
    near = ic.statistics.Estimate(count=1000, mean=exact.value + 1e-3, standard_error=1e-3)
    assert exact.agree(near).within(2.0) and not exact.agree(near.replace(mean=exact.value + 0.1)).within(5.0)
    unjudged = theory.agree(ic.statistics.Estimate(count=1, mean=1.0))
    assert unjudged.verdict(5.0) is ic.statistics.Verdict.not_judged and "fewer than two" in unjudged.reason
    assert isinstance(ic.laws.critical_score_stddev(100), ic.statistics.Theory)
    assert ic.statistics.verdicts([agreement, agreement], 0.001) == [ic.statistics.Verdict.agrees] * 2


def test_a_run_is_judged_as_one_family():
    s = ic.statistics
    near = s.Estimate(count=65536, mean=1.002, standard_error=0.001)
    family = [s.compare(1.0, near), s.compare(1.1, near), s.compare(1.1, near, relation="at_most"),
              s.compare(1.1, near, trials=999), s.compare_within(1.0, 0.01, near), s.untested(2.0, near, "rare")]
    whole, judged = s.judge(family, 1e-3)
    assert [str(one.verdict) for one in judged] == ["agrees", "disagrees", "agrees", "not_judged", "agrees", "not_judged"]
    assert (whole.tested, whole.judged, whole.disagreements, whole.farthest) == (5, 4, 1, 1)
    assert whole.bound == s.family_bound(family, 1e-3) == pytest.approx(s.family_wise_bound(5, 1e-3), rel=1e-3)
    assert family[1].verdict is s.Verdict.not_judged, "the given comparisons are as they were"
    assert "999 trials may not be normal" in judged[3].agreement.reason and judged[5].agreement.reason == "rare"
    assert s.judge([], 1e-3)[0].coarsest is None
    with pytest.raises(ValueError, match="relation is no equality and no bound"):
        s.compare(1.0, near, relation="differs")


def test_controls_and_relations():
    s = ic.statistics
    near = s.Estimate(count=4096, mean=1.0, standard_error=0.01)
    assert s.try_control(1.1, 1.0, near).outcome is s.ControlOutcome.rejected
    assert s.try_control(1.04, 0.93, near).outcome is s.ControlOutcome.passed
    assert s.try_control(1.04, 1.0, near).outcome is s.ControlOutcome.cannot_tell
    assert s.relation_holds("at_most", 1.0, 1.0) and not s.relation_holds("differs", 1.0, 1.0)
    assert s.relation_excess("at_least", 1.1, 1.0) == pytest.approx(-0.1)


MAPS = [ic.scoring.Softmax(0.7), ic.scoring.SSMax(0.4, 0.1), ic.scoring.SSA(1.0, 1.5),
        ic.scoring.ApproximateSoftmax(2.0),
        ic.scoring.LinearAttention(2.0), ic.scoring.NormSoftmax(0.8), ic.scoring.Entmax(1.5), ic.scoring.Sparsemax(),
        ic.scoring.SaSoftmax(), ic.scoring.NormalizedSaSoftmax(), ic.scoring.RatioScore("square")]


@pytest.mark.parametrize("map", MAPS, ids=lambda map: type(map).__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_maps_are_functions_of_arrays_with_derivatives(map, dtype):
    random = numpy.random.default_rng(1)
    scores = random.normal(size=(2, 3, 7)).astype(dtype)
    weights = map(scores)
    assert weights.dtype == dtype and weights.shape == scores.shape
    eps = numpy.finfo(dtype).eps
    for i in range(2):
        for j in range(3):
            assert (map(scores[i, j]) == weights[i, j]).all()
    # Fortran order and a stride give the same bits
    assert (map(numpy.asfortranarray(scores)) == weights).all()
    assert (map(numpy.repeat(scores, 2, axis=-1)[..., ::2]) == weights).all()
    direction, cotangent = random.normal(size=(2, *scores.shape)).astype(dtype)
    forward = (map.jvp(scores, direction) * cotangent).sum()
    backward = (map.vjp(scores, cotangent) * direction).sum()
    assert abs(forward - backward) < 400 * eps * (1 + abs(forward))
    if dtype == "float64":
        step = 1e-6
        difference = (map(scores + step * direction) - map(scores - step * direction)) / (2 * step)
        assert numpy.abs(difference - map.jvp(scores, direction)).max() < 1e-7


def test_softmax_is_the_plain_one():
    scores = numpy.random.default_rng(2).normal(size=(4, 5))
    plain = numpy.exp(scores / 0.7)
    assert numpy.allclose(ic.scoring.Softmax(0.7)(scores), plain / plain.sum(axis=-1, keepdims=True), rtol=1e-14)
    causal = ic.scoring.Softmax(0.7)(scores, ic.scoring.Visibility.causal)
    assert causal[0, :2].sum() == pytest.approx(1) and (causal[0, 2:] == 0).all(), "the first of four queries is the second"
    assert (causal[2, :4] == ic.scoring.Softmax(0.7)(scores[2, :4])).all()


def test_bad_scores_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        ic.scoring.Softmax()([1.0, math.nan])
    with pytest.raises(ValueError, match="visible"):
        ic.scoring.Softmax()([-math.inf, -math.inf])
    with pytest.raises(TypeError, match="not real"):
        ic.scoring.Softmax()([1j, 2j])
    with pytest.raises(ValueError, match="temperature"):
        ic.scoring.Softmax(-1.0)([1.0, 2.0])
    with pytest.raises(ValueError, match="no axis"):
        ic.scoring.Softmax()(3.0)
    with pytest.raises(ValueError, match="parameter"):
        ic.scoring.derivative(ic.scoring.Softmax(), "alpha", [1.0, 2.0])


def test_a_map_of_ones_own_has_exact_errors(layer):
    """The program of docs/extending.md prints 0.513972985 for this map; without its derivatives ten digits are left."""
    task = ic.regression.IsotropicTask(8, task_variance=0.125, noise_variance=0.1)
    attention = ic.regression.IsotropicAttention(1.0, 1.0)
    b = 1.5
    own = ic.scoring.Elementwise(lambda z: b * math.asinh(z), slope=lambda z: b / math.sqrt(1 + z * z),
                                 curvature=lambda z: -b * z / (1 + z * z) ** 1.5)
    exact = ic.regression.softmax_error_isotropic(attention, task, 40, own)
    assert f"{exact.value:.9f}" == "0.513972985"
    values_alone = ic.scoring.Elementwise(lambda z: b * math.asinh(z))
    assert ic.regression.softmax_error_isotropic(attention, task, 40, values_alone).value == pytest.approx(
        exact.value, rel=1e-9)
    other = ic.scoring.Elementwise(lambda z: 1.6 * math.asinh(z))
    inner = numpy.array([10, 20])

    def calls_the_library(z):
        assert threading.current_thread() is threading.main_thread()
        ic.laws.needle_weight_annealed(inner, 1.0, 2.0)
        return b * math.asinh(z)

    lengths = numpy.arange(38, 43)
    curve = ic.regression.softmax_error_isotropic(attention, task, lengths, ic.scoring.Elementwise(calls_the_library))
    assert (curve.value == ic.regression.softmax_error_isotropic(attention, task, lengths, values_alone).value).all()
    assert abs(ic.regression.softmax_error_isotropic(attention, task, 40, other).value - exact.value) > 1e-4

    def fails(z):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ic.regression.softmax_error_isotropic(attention, task, 40, ic.scoring.Elementwise(fails))


def test_a_choice_is_given_by_its_name(layer):
    attention, task = layer
    kept = ic.regression.generalization_error(attention, task, 40, offset="kept")
    removed = ic.regression.generalization_error(attention, task, 40, offset="removed")
    assert kept == ic.regression.generalization_error(attention, task, 40) and kept != removed
    assert removed == ic.regression.generalization_error(attention, task, 40, offset=ic.regression.Offset.removed)
    included = ic.classification.expected_largest_weight(5, 1.0, 20, "included")
    assert included == ic.classification.expected_largest_weight(5, 1.0, 20, ic.regression.QueryToken.included)
    assert included != ic.classification.expected_largest_weight(5, 1.0, 20, "excluded")
    assert ic.scoring.NormSoftmax(1.0, "sample_stddev").scale is ic.scoring.ScoreScale.sample_stddev
    assert ic.scoring.Softmax()([[1.0, 2.0], [1.0, 2.0]], "causal")[0, 1] == 0
    held = ic.calibration.HeadScores(1.0, 5.0)
    assert ic.calibration.held_value("entropy", held, 64, 1.0) == ic.calibration.held_value(0, held, 64, 1.0)


@pytest.mark.parametrize("wrong", [
    lambda attention, task: ic.regression.generalization_error(attention, task, 40, offset="drop"),
    lambda attention, task: ic.regression.ErrorConvention(offset="drop"),
    lambda attention, task: ic.simulate.regression_error(attention, task, 40, ic.scoring.Softmax(), offset="drop", trials=9),
])
def test_a_wrong_choice_lists_the_right_ones(layer, wrong):
    with pytest.raises(ValueError, match=r"\b(generalization_error|ErrorConvention|regression_error): offset is no such "
                                         r"choice \(value = drop; needs kept, removed\)$"):
        wrong(*layer)


def test_a_wrong_choice_of_a_closed_form_and_of_another_enumeration(layer):
    with pytest.raises(ValueError, match="expected_largest_weight: query is no such choice .value = all; needs excluded, "):
        ic.classification.expected_largest_weight(5, 1.0, 20, "all")
    with pytest.raises(TypeError):
        ic.regression.generalization_error(*layer, 40, offset=ic.regression.QueryToken.included)


def test_tasks_and_layers_can_be_pickled(layer):
    attention, task = pickle.loads(pickle.dumps(layer))
    assert attention == layer[0]
    assert ic.regression.generalization_error(attention, task, 40) == ic.regression.generalization_error(*layer, 40)


def test_a_wrong_result_of_a_function_is_named():
    search = ic.regression.SearchRange(0.5, 1.0, 2.0)
    with pytest.raises(TypeError, match="the value of error is not a number .value = 'a';"):
        ic.regression.minimize_softmax_error(lambda temperature: "a", search)
    with pytest.raises(TypeError, match="the value of kernel is not a number"):
        ic.scoring.KernelAttention(lambda q, k: "a")(numpy.eye(2), numpy.eye(2))
    with pytest.raises(TypeError, match="theory is not a number .value = 'a';"):
        ic.statistics.Estimate(10, 1.0, 0.1).agree("a")
    with pytest.raises(ValueError, match="LinearAttention: normalization is no such choice .value = 7;"):
        ic.scoring.LinearAttention(1.0, 7)


def test_an_error_at_no_temperature_is_not_a_number(layer):
    error = ic.regression.generalization_error(*layer, 40)
    assert numpy.isnan(error([0.0, -1.0])).all() and math.isnan(error.excess(0.0))
    assert error.replace(linear=-1.0).optimal_temperature() == math.inf


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_map_of_ones_own_has_weights_and_derivatives(dtype):
    own, plain = ic.scoring.Elementwise(lambda z: 2 * z, slope=lambda z: 2.0), ic.scoring.Softmax(0.5)
    scores, beside = numpy.random.default_rng(5).normal(size=(2, 3, 4, 6)).astype(dtype)
    scores[0, 1, 2] = -numpy.inf
    for options in ({}, {"visibility": "causal"}, {"axis": 1}):
        found = [own(scores, **options), own.jvp(scores, beside, **options), own.vjp(scores, beside, **options)]
        wanted = [plain(scores, **options), plain.jvp(scores, beside, **options), plain.vjp(scores, beside, **options)]
        for one, other in zip(found, wanted):
            assert one.dtype == dtype
            numpy.testing.assert_allclose(one, other, rtol=0, atol=1e-6 if dtype == "float32" else 1e-14)
    by_differences = ic.scoring.Elementwise(lambda z: 2 * z).vjp(scores, beside)
    numpy.testing.assert_allclose(by_differences, plain.vjp(scores, beside), rtol=0, atol=1e-6)
    curved = ic.scoring.Elementwise(lambda z: z**3, slope=lambda z: 3 * z**2)  # its slope differs from score to score
    pulled = (curved.jvp(scores, beside) * beside[::-1]).sum()
    assert pulled == pytest.approx((curved.vjp(scores, beside[::-1]) * beside).sum(), rel=1e-5)
    masked = numpy.ma.masked_array([[1.0, 5.0, 2.0]], [[False, True, False]])
    numpy.testing.assert_allclose(own(masked), plain(masked), rtol=1e-14)
    assert not own(numpy.full((1, 3), -numpy.inf), zero_masked_rows=True).any()
    whole = numpy.ma.masked_array([1, 5, 2], [False, True, False])
    numpy.testing.assert_allclose(own(whole), plain(whole), rtol=1e-14)
    assert own(numpy.ones(3, "float16")).dtype == plain(numpy.ones(3, "float16")).dtype == "float32"
    # a finite mask has no weight, though this phi brings it near to the others
    slow = ic.scoring.Elementwise(lambda z: math.asinh(z), slope=lambda z: 1 / math.sqrt(1 + z * z))
    numpy.testing.assert_allclose(slow([1.0, -1e9, 0.5]), slow([1.0, -numpy.inf, 0.5]), rtol=1e-15)
    assert slow([1.0, -1e9], finite_masks=False)[1] > 1e-10
    with pytest.raises(ValueError, match="-6000"):
        slow([-100.0, -6000.0])
    for map in own, plain:
        with pytest.raises(TypeError, match="is not real"):
            map(numpy.ones(2) * 1j)
    with pytest.raises(TypeError, match=r"your own map .*needs its own call, jvp or vjp"):
        ic.scoring.weights(own, scores)


def test_arrays_that_do_not_fit_are_named():
    task = ic.regression.LinearTask.isotropic(dimension=3)
    layer = ic.regression.pretrained_attention(task, 10)
    with pytest.raises(TypeError, match=r"key_query is of the wrong type \(value = Attention; needs an array"):
        ic.regression.best_softmax_heads(layer, task, 10, 2)
    with pytest.raises(TypeError, match=r"context_length is of the wrong type \(value = \[10, 20\]; needs one whole"):
        ic.regression.softmax_optimum(layer, task, [10, 20])
    for call in (lambda: ic.regression.softmax_error(layer, task, 40, None),
                 lambda: ic.regression.best_softmax_heads(numpy.eye(3), task, 2**65, 2)):
        with pytest.raises(TypeError) as refused:  # another argument is wrong
            call()
        assert "axes" not in str(refused.value)


def test_whatever_has_columns_is_a_frame_of_pandas(layer, monkeypatch):
    attention, task = layer
    error = ic.regression.generalization_error(attention, task, 40)
    maps = ic.simulate.at_temperatures([1.0, 2.0], ic.scoring.ApproximateSoftmax())
    simulated = ic.simulate.regression_error(attention, task, 40, maps, seed=1, trials=64)
    made = [ic.compare(error([1.0, 2.0]), simulated), ic.baselines.curves(3, [1, 2], 0.1, 0.3), ic.ledger()]
    rooms = [vars(module) for name, module in sys.modules.items() if name.split(".")[0] == "incontext"]
    assert {type(one) for one in made} == {
        value for room in rooms for value in room.values() if isinstance(value, type) and hasattr(value, "to_frame")}

    pandas = types.ModuleType("pandas")
    pandas.DataFrame = lambda columns, index=None: (columns, index)
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    for one, rows in zip(made, (2, 2, len(ic.ledger()))):
        columns, index = one.to_frame()
        assert len(columns) > 3 and {len(column) for column in columns.values()} == {rows}
        assert index is None or len(index) == rows
    monkeypatch.setitem(sys.modules, "pandas", None)
    for one in made:
        with pytest.raises(ImportError, match="pip install pandas"):
            one.to_frame()


def test_numbers_of_python_and_of_numpy_give_the_same_by_place_and_by_name():
    """Numbers of Python take a shorter way to a formula than all others."""
    cases = [(ic.calibration.llama4_inverse_temperature, (100_000, 8192)),
             (ic.laws.needle_weight_annealed, (1000, 1.0, 8.0)),
             (ic.laws.top_scores_needed, (4096, 0.05, 2.0)),
             (ic.laws.gaussian_row, (1000, 1.5)),
             (ic.baselines.averaging_risk, (16, 8, 0.1, 0.5))]
    for function, numbers in cases:
        named = dict(zip(inspect.signature(function).parameters, numbers))
        wide = {name: numpy.float64(value) for name, value in named.items()}
        found = function(*named.values())
        assert found == function(**named) == function(**wide) == function(*wide.values()), function
        assert type(found) is type(function(**wide)) and repr(found) == repr(function(**wide))
        first, *others = named
        assert found == function(named[first], **{name: named[name] for name in others})
        changed = function(**{**named, first: named[first] + 1})
        assert changed != found or function is ic.calibration.llama4_inverse_temperature, "power"
        with pytest.raises(TypeError, match="multiple values|no argument|missing"):
            function(named[first], **named)
        with pytest.raises(TypeError, match="no_such"):
            function(**named, no_such=1.0)
        with pytest.raises(TypeError, match="missing|arguments"):
            function()


def test_a_signature_that_is_read_late_is_one_like_all_others():
    found = inspect.signature(ic.laws.gaussian_row)
    assert pickle.loads(pickle.dumps(found)) == found == inspect.signature(ic.laws.gaussian_row)
    assert [*found.parameters][:2] == ["row_length", "score_stddev"] and found.bind(100, 1.0).arguments["score_stddev"] == 1.0
    for changed in (found.replace(return_annotation=int), found.__replace__(return_annotation=int)):
        assert changed.return_annotation is int and changed.parameters == found.parameters
    assert "self" not in inspect.signature(ic.regression.LinearTask).parameters
