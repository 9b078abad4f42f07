"""What the package answers: results that compute as the numbers they are, wrong calls, truth, defaults, comparisons."""
import inspect
import math
import os
import pickle

import numpy
import pytest

import incontext as ic
from incontext._record import KINDS

ROOMS = [getattr(ic, name) for name in ic.__all__ if inspect.ismodule(getattr(ic, name))]
FUNCTIONS = {f"{room.__name__}.{name}": getattr(room, name) for room in ROOMS for name in dir(room)
             if callable(getattr(room, name)) and not isinstance(getattr(room, name), type)}
TASK = ic.regression.LinearTask.isotropic(dimension=4, task_variance=0.25, noise_variance=0.1)
LAYER = ic.regression.pretrained_attention(TASK, 8)


def test_a_quadrature_computes_as_its_number():
    one = ic.laws.needle_weight(1000, 1.0, 8.0)
    value = one.value
    assert (one + 1, 1 - one, 2 * one, one / 2, -one, abs(one), one**2) == (
        value + 1, 1 - value, 2 * value, value / 2, -value, value, value**2)
    assert one == value and one != 0 and one < 1 and not one > 1 and max(one, 0.1) is one
    assert pickle.loads(pickle.dumps(one)).to_dict() == one.to_dict()
    assert (f"{one:.3f}", round(one, 2), math.sqrt(one), float(one), bool(one)) == (
        f"{value:.3f}", round(value, 2), math.sqrt(value), value, True)
    assert int(100 * one) == 64 and one == ic.laws.Quadrature(value, 1.0) and not one < ic.laws.Quadrature(value, 1.0)
    total = one
    total += 1
    assert total == value + 1 and one.value == value
    assert numpy.log(one) == math.log(value) and sum([one, one]) == 2 * value and one.shape == ()
    with pytest.raises(TypeError):
        len(one)


def test_a_quadrature_of_an_array_computes_as_the_array():
    all = ic.laws.needle_weight([10, 1000], 1.0, 8.0)
    assert (numpy.exp(all) == numpy.exp(all.value)).all() and ((all - 1) == all.value - 1).all()
    assert numpy.mean(all) == all.value.mean() and len(all) == 2 and all.shape == (2,)
    assert ((all > 0.7) == [True, False]).all() and ((all != 0) == [True, True]).all()
    assert ((all == all) == [True, True]).all() and ((all == all[0]) == [True, False]).all()
    total = all
    total *= 2
    assert (total == 2 * all.value).all()
    assert all[1] == ic.laws.needle_weight(1000, 1.0, 8.0)
    assert [one.error_estimate for one in all] == all.error_estimate.tolist()


def test_every_choice_is_true():
    assert len(KINDS) > 30 and all(bool(one) for kind in KINDS.values() for one in kind)


def test_a_package_and_its_modules_show_their_own_names_alone():
    assert set(dir(ic)) == {*ic.__all__, "__version__"}
    for room in ROOMS:
        assert not {"Any", "annotations", "Record", "Choice", "numpy", "math", "sys"} & set(dir(room)), room


def test_defaults_are_values_of_the_signature():
    assert inspect.signature(ic.laws.retrieval_gap).parameters["weight"].default == 0.5
    assert inspect.signature(ic.classification.sparse_neighborhood).parameters["dimension"].default == math.inf
    for name, function in FUNCTIONS.items():
        types = [str(one.annotation) for one in inspect.signature(function).parameters.values()]
        assert not any(" = " in one for one in types), name


@pytest.mark.parametrize("wrong", ["text", None, object(), [object()], {}, b"1", 1j, True],
                         ids=["text", "None", "object", "list", "dict", "bytes", "complex", "True"])
def test_every_function_refuses_what_it_cannot_take_in_its_own_words(wrong):
    taken = []
    for name, function in FUNCTIONS.items():
        needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty
                  and one.kind is one.POSITIONAL_OR_KEYWORD]
        if not needed:
            continue
        try:
            function(*[wrong] * len(needed))
        except (TypeError, ValueError) as error:
            assert "incompatible function arguments" not in str(error) and len(str(error)) < 1000, name
        else:
            taken.append(name)
    assert not taken


@pytest.mark.parametrize("call, words", [
    (lambda: ic.regression.pretrained_attention(TASK, 20.5), "incontext.regression.pretrained_attention: "
     "context_length is of the wrong type (value = 20.5; needs a whole number or a list of whole numbers)"),
    (lambda: ic.regression.LinearTask.isotropic(dim=5), "incontext.regression.LinearTask.isotropic: no argument 'dim' "
     "(needs dimension, "),
    (lambda: TASK.with_input_covariance(numpy.ones(4)), "covariance has the wrong number of axes (value = (4,); needs two)"),
    (lambda: ic.regression.LinearTask(input_covariance=numpy.ones(4), task_covariance=numpy.eye(4)),
     "incontext.regression.LinearTask: the arguments do not fit together (value = input_covariance: ndarray of 4, "),
    (lambda: ic.regression.LinearTask(numpy.zeros(4)), "incontext.regression.LinearTask: a covariance is missing"),
    (lambda: ic.regression.LinearTask(covariance=1), "LinearTask: no argument 'covariance' (needs input_mean, "),
    (lambda: ic.training.Trainer([1.0]), "incontext.training.Trainer: missing a required argument: 'loss'"),
    (lambda: ic.training.GradientFlow(5, [1.0]), "GradientFlow: loss is of the wrong type (value = 5; needs a function)"),
    (lambda: ic.training.Trainer([1.0], lambda x: (0.0, x), 5),
     "Trainer: options is of the wrong type (value = 5; needs training.TrainerOptions)"),
    (lambda: ic.regression.pretrained_attention(TASK, {8}), "context_length is of the wrong type (value = {8};"),
    (lambda: ic.classification.adaptive_rate(None, 1.0, 2.0), "needs context, kappa, gain, self"),
    (lambda: ic.statistics.Estimate(1.0, 0.1),
     "Estimate: count is of the wrong type (value = 1.0; needs a whole number)"),
    (lambda: ic.regression.Attention(numpy.eye(4), numpy.zeros(4), True),
     "label_value is of the wrong type (value = True"),
    (lambda: ic.laws.needle_weight(10, 1.0, 2.0).agree(1.2),
     "estimate is of the wrong type (value = 1.2; needs statistics.Estimate)"),
    (lambda: ic.regression.generalization_error(LAYER, TASK, "20"), "context_length"),
    (lambda: ic.baselines.curves(5, [3], "a", 2.0), "noise_variance is of the wrong type (value = 'a'; needs a number)"),
    (lambda: ic.simulate.regression_error(LAYER, TASK, "8", [ic.scoring.ApproximateSoftmax()], trials=64),
     "incontext.simulate.regression_error: context_length is of the wrong type (value = '8'; needs a whole number)"),
    (lambda: ic.regression.IsotropicTask(dimension="8"), "dimension is of the wrong type (value = '8'; needs numbers)"),
    (lambda: ic.scoring.Softmax(True),
     "Softmax: temperature is of the wrong type (value = True; needs a number or an array)"),
    (lambda: ic.scoring.cosformer("4"),
     "CosformerKernel: reach is of the wrong type (value = '4'; needs a number or an array)"),
    (lambda: ic.statistics.Estimate(count=numpy.array([1, 2])), "count is of the wrong type"),
    (lambda: ic.compare(1.0, 5), "simulation is of the wrong type (value = 5;"),
    (lambda: ic.regression.generalization_error(LAYER, TASK, 8).plot(simulation=[ic.statistics.Estimate()]),
     "a simulation is drawn at its temperatures (value = 0; needs 1)"),
    (lambda: ic.apply.attend(ic.scoring.Softmax(), *numpy.ones((3, 2, 4)), numpy.ones((2, 2), bool)),
     "visibility is of the wrong type (value = array([[ True,  True],\n       [ True,  True]]); needs all or causal;"),
    (lambda: ic.scoring.Softmax()(numpy.ones((2, 3)), axis=(0, 1)),
     "axis is of the wrong type (value = (0, 1); needs a whole number)"),
    (lambda: ic.compare([1.0, 2.0], ic.statistics.Estimate()), "not equally many (value = 2, 1, 2;")])
def test_a_wrong_call_is_told_what_is_needed(call, words):
    with pytest.raises((TypeError, ValueError)) as refusal:
        call()
    assert words in str(refusal.value)


def test_the_means_of_a_task_are_zero_unless_they_are_given():
    covariances = {"input_covariance": numpy.eye(3), "task_covariance": 2 * numpy.eye(3)}
    task = ic.regression.LinearTask(**covariances, noise_variance=0.1)
    assert task == ic.regression.LinearTask(numpy.zeros(3), numpy.eye(3), numpy.zeros(3), 2 * numpy.eye(3), 0.1)
    assert ic.regression.LinearTask(task_mean=[1.0, 2.0, 3.0], **covariances).task_mean.tolist() == [1.0, 2.0, 3.0]


def test_a_task_is_equal_to_its_copy():
    assert pickle.loads(pickle.dumps(TASK)) == TASK != TASK.with_noise_variance(0.2)


def test_a_theory_is_compared_with_a_simulation_at_each_point():
    error, temperatures = ic.regression.generalization_error(LAYER, TASK, 8), [0.5, 1.0, 2.0, 4.0]
    maps = ic.simulate.at_temperatures(temperatures, ic.scoring.ApproximateSoftmax())
    run = ic.simulate.regression_error(LAYER, TASK, 8, maps, trials=20000)
    found = ic.compare(error(numpy.array(temperatures)), run, temperatures)
    assert repr(found) == "Compared(4 of 4 judged, 0 disagree)" and "the bound on |z| is" in str(found)
    columns = found.to_dict()
    assert columns["at"] == temperatures and columns["theory"] == [error(t) for t in temperatures]
    wrong = ic.compare(1.1 * error(numpy.array(temperatures)), run, temperatures)
    assert wrong.whole.disagreements > 0, "power"
    pyplot = pytest.importorskip("matplotlib.pyplot")
    upper, lower = found.plot("temperature").axes
    assert len(upper.containers) == 1 and lower.get_xlabel() == "temperature"
    axes = error.plot(temperatures, run)
    assert axes.lines[0].get_ydata()[0] == error(axes.lines[0].get_xdata()[0])
    pyplot.close("all")


def test_layers_and_risks_are_asked_for_at_many_lengths_at_once():
    for name in ("pretrained_attention", "trained_attention", "trained_linear_attention"):
        of = getattr(ic.regression, name)
        assert of(TASK, [8, 16]) == of(TASK, numpy.array([8, 16])) == [of(TASK, 8), of(TASK, 16)]
    for name in ("optimal_layers", "looped_layers"):
        of = getattr(ic.baselines, name)
        assert of([8, 16], 4, 0.1, 0.25, layers=2) == [of(l, 4, 0.1, 0.25, layers=2) for l in (8, 16)]
    risks = ic.baselines.descent_risk(numpy.array([[8], [16]]), 4, 0.1, 0.25, learning_rates=[0.4])
    assert risks.tolist() == [[ic.baselines.descent_risk(l, 4, 0.1, 0.25, learning_rates=[0.4])] for l in (8, 16)]
    assert ic.baselines.optimal_layers([8.0], 4, 0.1, 0.25, layers=2) == ic.baselines.optimal_layers([8], 4, 0.1, 0.25, layers=2)
    for wrong in (8.5, [8.5], "8", None, [[8]], [True]):
        with pytest.raises((TypeError, ValueError), match="context_length is of the wrong type"):
            ic.regression.pretrained_attention(TASK, wrong)
        with pytest.raises((TypeError, ValueError), match="examples is"):
            ic.baselines.optimal_layers(wrong, 4, 0.1, 0.25, layers=2)


def test_the_ledger_has_every_claim_with_its_rows_and_says_how_to_cite_it(tmp_path):
    ledger = ic.ledger()
    assert len(ledger) > 100 and repr(ledger).startswith(f"Ledger({len(ledger)} claims: ") and "--seed 1" in ledger.run
    tried = [one for one in ledger.values() if one.verdict not in ("out of reach", "not tried")]
    assert all(one.rows and one.commands and one.quote and one.name in one.cite for one in tried)
    assert all(command.startswith("incontext ") for one in tried for command in one.commands)
    for one in ledger.values():  # a word of the row's is the claim's
        states = {row.state for row in one.rows if row.role == "paper"}
        assert one.verdict != "confirmed" or states == {"holds"}, one.name
        assert one.verdict != "holds in a regime" or {"holds", "does not hold"} <= states, one.name
    one = ic.ledger("temperature/theorem-4.3")
    assert one == ledger["temperature/theorem-4.3"] and one.paper == "arXiv 2511.01292" and one.quote in str(one)
    assert one.to_dict()["rows"][0]["says"] == one.rows[0].says and "(l = 100 = 5 d)" in str(ledger["temperature/equation-11"])
    with pytest.raises(KeyError, match="temperature/theorem-4.2"):
        ledger["temperature/theorem-4.1"]
    with pytest.raises(KeyError, match="such as signed-averaging/"):
        ledger["2508.14685"]
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="other.json"):
        ic.ledger(report=tmp_path / "other.json")


def test_a_claim_is_put_on_trial_again_by_the_program():
    claim = ic.ledger("scalable-softmax/one-over-s")
    with pytest.raises(FileNotFoundError, match="program is not there .value = 'no-such-program'"):
        claim.run(program="no-such-program")
    if not (program := os.environ.get("INCONTEXT_PROGRAM")):
        pytest.skip("INCONTEXT_PROGRAM names no program")
    again = claim.run(seed=3, program=program)
    assert (again.name, again.verdict, again.quote) == (claim.name, claim.verdict, claim.quote) and "seed 3" in again.cite
    assert [row.state for row in again.rows] == [row.state for row in claim.rows]
    with pytest.raises(ValueError, match="seed.*exit 2"):
        claim.run(seed=-1, program=program)


def test_large_records_and_curves_are_shown_briefly():
    assert repr(ic.regression.Attention(numpy.eye(20), numpy.zeros(20), 1.0)) == (
        "Attention(key_query=array of shape (20, 20), input_value=array of shape (20,), label_value=1.0)")
    assert ic.baselines.curves(5, [3, 4], 0.1, 0.2)._repr_html_().count("<tr>") == 3


def test_a_diagonal_law_gives_the_numbers_of_the_dense_one():
    r, variances = ic.regression, [[2.0, 0.5, 1.0], [0.1, 0.4, 0.3]]
    law = r.DiagonalTask([0.1, -0.2, 0.3], variances[0], [0.5, 0.0, -0.4], variances[1], 0.2)
    dense = law.dense()
    assert dense == r.LinearTask(law.input_mean, numpy.diag(variances[0]), law.task_mean, numpy.diag(variances[1]), 0.2)
    assert law.input_covariance.tolist() == variances[0] and law == pickle.loads(pickle.dumps(law)) != dense
    assert law.to_dict()["task_covariance"].tolist() == variances[1] and repr(law) == "DiagonalTask(dimension=3, noise_variance=0.2)"
    layer, same = r.pretrained_attention(law, 10), r.pretrained_attention(dense, 10)
    assert numpy.allclose(numpy.diag(layer.key_query), same.key_query, rtol=1e-14, atol=0)
    shifted, other = law.with_input_covariance_scaled(2.0), dense.with_input_covariance_scaled(2.0)
    for error in (r.generalization_error, r.linear_attention_error):
        assert numpy.allclose(error(layer, shifted, [10, 20])(1.5), error(same, other, [10, 20])(1.5), rtol=1e-13)
    assert r.softmax_optimum(layer, shifted, 10).error == pytest.approx(r.softmax_optimum(same, other, 10).error, rel=1e-9)
    large = r.DiagonalTask.isotropic(1_000_000, task_variance=1e-6, noise_variance=0.1)  # 8 terabytes as a dense one
    temperature = r.optimal_temperature(r.pretrained_attention(large, 4000), large, 4000)
    assert temperature == pytest.approx(r.optimal_temperature_isotropic(
        r.IsotropicAttention(1 / (1 + 0.1 / 4000 * 1e6)), r.IsotropicTask(1_000_000, 1.0, 1e-6, 0.1), 4000), rel=1e-9)
    with pytest.raises(ValueError, match=r"input_covariance\(1, 1\).*-0\.5"):
        law.with_input_covariance([1.0, -0.5, 1.0])
    with pytest.raises(TypeError, match="key_query has the wrong type"):
        r.generalization_error(layer, dense, 10)


def test_the_best_temperature_of_softmax_is_one_call():
    found = ic.regression.softmax_optimum(LAYER, TASK, 8)
    maps = [ic.scoring.Softmax(found.parameter * factor) for factor in (0.9, 1.0, 1.1)]
    error = [ic.regression.softmax_error(LAYER, TASK, 8, map).value for map in maps]
    assert error[1] == found.error < min(error[0], error[2]) and found.place.name == "inside"
    layer, task = ic.regression.IsotropicAttention(2.0), ic.regression.IsotropicTask(4, 1.5, 0.25, 0.1)
    dense = ic.regression.LinearTask.isotropic(4, input_variance=1.5, task_variance=0.25, noise_variance=0.1)
    own = ic.regression.softmax_optimum(ic.regression.Attention(2.0 * numpy.eye(4), numpy.zeros(4), 1.0), dense, 30)
    other = ic.regression.softmax_optimal_temperature_isotropic(layer, task, 30)
    assert math.isclose(own.parameter, other.parameter, rel_tol=1e-3)
    assert math.isclose(own.error, other.error, rel_tol=1e-9)
    away = LAYER.replace(key_query=-LAYER.key_query)
    assert ic.regression.softmax_optimum(away, TASK, 8).place.name == "highest", "no temperature helps"
    scaled = ic.regression.softmax_optimum(LAYER, TASK, 8, scale_values=True)
    attention = ic.regression.Attention(LAYER.key_query, scaled.value_scale * LAYER.input_value,
                                        scaled.value_scale * LAYER.label_value)
    error = ic.regression.softmax_error(attention, TASK, 8, ic.scoring.Softmax(scaled.parameter))
    assert float(error) == pytest.approx(scaled.error, rel=1e-9) and scaled.error < found.error
    assert found.value_scale == 1
