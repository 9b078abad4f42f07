"""The reference curves: against NumPy's own draws, the C++ functions, and what arguments do."""
import numpy
import pytest

import incontext as ic


def drawn_bayes(dimension, examples, noise, prior, trials, seed):
    """Ridge regression by NumPy on drawn contexts: mean and standard error of the squared error on a noisy query."""
    draw = numpy.random.default_rng(seed)
    x = draw.normal(size=(trials, examples, dimension))
    w = numpy.sqrt(prior) * draw.normal(size=(trials, dimension, 1))
    y = x @ w + numpy.sqrt(noise) * draw.normal(size=(trials, examples, 1))
    gram = x.transpose(0, 2, 1) @ x + noise / prior * numpy.eye(dimension)
    estimate = numpy.linalg.solve(gram, x.transpose(0, 2, 1) @ y)
    query = draw.normal(size=(trials, 1, dimension))
    error = (query @ (estimate - w))[:, 0, 0] + numpy.sqrt(noise) * draw.normal(size=trials)
    return (error**2).mean(), (error**2).std() / numpy.sqrt(trials)


@pytest.mark.parametrize("dimension, examples", [(3, 2), (3, 3), (5, 12)])
def test_the_floor_is_that_of_drawn_contexts(dimension, examples):
    curves = ic.baselines.curves(dimension, [examples, examples + 3], noise_variance=0.2, task_variance=0.4)
    mean, error = drawn_bayes(dimension, examples, 0.2, 0.4, 100000, 5)
    assert abs(curves["bayes"][0] - mean) < 5 * error
    assert abs(curves["bayes"][1] - mean) > 5 * error  # three examples more are noticed


def test_the_simulation_agrees_with_the_curves():
    task = ic.baselines.TaskVariances(noise_variance=0.1, task_variance=0.05)
    rates = ic.baselines.optimal_layers(40, 20, 0.1, 0.05, layers=2)
    setting = ic.simulate.BaselineSetting(20, 40, task, descents=[rates.learning_rates], penalties=[2.0])
    run = ic.simulate.baseline_errors(setting, seed=4, trials=65536)
    curves = ic.baselines.curves(20, 40, 0.1, 0.05, layers=[1, 2])
    assert (ic.baselines.curves(20, 40, 0.1, 0.05, layers=2)["layers_2"] == curves["layers_2"]).all()
    assert abs(ic.statistics.agree(curves["layers_2"][0], run.estimates[0]).z) < 5
    assert abs(ic.statistics.agree(curves["layers_1"][0], run.estimates[0]).z) > 5
    assert abs(ic.statistics.agree(curves["bayes"][0], run.estimates[1]).z) < 5
    assert abs(ic.statistics.agree(curves["bayes_limit"][0], run.estimates[1]).z) > 5


def test_functions_broadcast_and_agree_with_the_curves():
    lengths = numpy.arange(1, 30)
    curves = ic.baselines.curves(7, lengths, 0.3, 0.2, input_variance=2, per_dimension=True, query_noise=False)
    risk = ic.baselines.bayes_risk(lengths, 7, 0.3, 0.4)
    assert risk.shape == lengths.shape
    numpy.testing.assert_allclose(curves["bayes"], (risk - 0.3) / 7, rtol=1e-12)
    numpy.testing.assert_array_equal(curves["no_context"], numpy.full(29, 0.4))
    assert numpy.isinf(curves["least_squares"][5:8]).all() and numpy.isfinite(curves["least_squares"][8:]).all()


def test_a_spectrum_is_a_quadrature_rule():
    nodes, weights = map(numpy.asarray, ic.baselines.wishart_spectrum(40, 20))
    numpy.testing.assert_allclose([weights.sum(), weights @ nodes], [20, 800], rtol=1e-12)


def drawn_sgd(dimension, examples, noise, prior, steps, rate, runs, seed):
    """One-pass SGD by NumPy on drawn tasks: mean and standard error of the squared error on fresh contexts."""
    draw = numpy.random.default_rng(seed)

    def episode():
        w = numpy.sqrt(prior) * draw.normal(size=(runs, dimension))
        x = draw.normal(size=(runs, examples, dimension))
        y = numpy.einsum("rij,rj->ri", x, w) + numpy.sqrt(noise) * draw.normal(size=(runs, examples))
        query = draw.normal(size=(runs, dimension))
        label = (query * w).sum(1) + numpy.sqrt(noise) * draw.normal(size=runs)
        return numpy.einsum("ri,rij->rj", y, x) / examples, query, label

    def error_of(layer, features, query, label):
        return label - numpy.einsum("ri,rij,rj->r", query, layer, features)

    layer = numpy.zeros((runs, dimension, dimension))
    for _ in range(steps):
        features, query, label = episode()
        error = error_of(layer, features, query, label)
        layer += rate * error[:, None, None] * query[:, :, None] * features[:, None, :]
    errors = numpy.mean([error_of(layer, *episode()) ** 2 for _ in range(20)], axis=0)
    return errors.mean(), errors.std() / numpy.sqrt(runs)


def test_the_curve_of_sgd_is_that_of_drawn_tasks():
    best = ic.baselines.best_constant_rate(3, 6, 0.2, 0.5, steps=40)
    mean, error = drawn_sgd(3, 6, 0.2, 0.5, 40, best.learning_rate, 4000, 6)
    curves = ic.baselines.curves(3, 6, 0.2, 0.5, sgd_tasks=[40, 400], layers=[1])
    assert curves["sgd_40"][0] == best.risk
    assert abs(curves["sgd_40"][0] - mean) < 5 * error
    assert abs(curves["sgd_400"][0] - mean) > 5 * error
    assert curves["layers_1"][0] < curves["sgd_400"][0] < curves["sgd_40"][0]


def test_curves_of_pools_have_errors_and_are_those_of_pools_that_are_kept():
    curves = ic.baselines.curves(4, [3, 8], 0.2, 0.5, pretraining_tasks=[2, 50], pools=30, pool_seed=9)
    for tasks in [2, 50]:
        kept = [[ic.baselines.pool_errors(ic.baselines.drawn_pool(tasks, 4, 0.5, seed=9, pool=pool), 0.2, 0.5, examples)
                 for examples in [3, 8]] for pool in range(30)]
        for name, field in [(f"pool_{tasks}", "fresh"), (f"pool_{tasks}_seen", "seen")]:
            errors = numpy.array([[getattr(one, field) for one in pool] for pool in kept])
            numpy.testing.assert_allclose(curves[name], errors.mean(0), rtol=1e-12)
            numpy.testing.assert_allclose(curves.standard_error(name), errors.std(0, ddof=1) / numpy.sqrt(30), rtol=1e-10)
    assert (curves.standard_error("bayes") == 0).all()
    means = ic.baselines.mean_pool_errors(4, 50, [3, 8], 0.2, 0.5, pools=30, seed=9, law="sphere")
    assert not numpy.allclose(means.fresh, curves["pool_50"], rtol=1e-6)


def drawn_neighbors(dimension, examples, neighbors, noise, prior, scale, trials, seed):
    """Averaging and nearest neighbors by NumPy: mean and standard error of each squared error on a noisy query."""
    draw = numpy.random.default_rng(seed)
    x, query = (numpy.sqrt(scale) * draw.normal(size=(trials, n, dimension)) for n in (examples, 1))
    w = numpy.sqrt(prior) * draw.normal(size=(trials, dimension, 1))
    y, label = ((z @ w)[..., 0] + numpy.sqrt(noise) * draw.normal(size=z.shape[:2]) for z in (x, query))
    nearest = numpy.argsort(((x - query) ** 2).sum(2), axis=1)[:, :neighbors]
    averaged = (query @ x.transpose(0, 2, 1) @ y[..., None])[:, 0, 0] / examples / scale
    errors = [averaged - label[:, 0], numpy.take_along_axis(y, nearest, axis=1).mean(1) - label[:, 0]]
    return [((error**2).mean(), (error**2).std() / numpy.sqrt(trials)) for error in errors]


def test_averaging_neighbors_and_mixers_are_curves_in_the_units_of_the_inputs():
    curves = ic.baselines.curves(4, [0, 9], 0.2, 0.5, input_variance=2.0, averaging=True, neighbors=[2, 30],
                                 mixers=["linear_attention", ic.baselines.MixerKind.delta_rule], layers=1)
    assert list(curves)[2:8] == ["averaging", "neighbors_2", "neighbors_30", "layers_1", "linear_attention", "delta_rule"]
    for name, (mean, error) in zip(["averaging", "neighbors_2"], drawn_neighbors(4, 9, 2, 0.2, 0.5, 2.0, 50000, 7)):
        assert abs(curves[name][1] - mean) < 5 * error
        assert abs(ic.baselines.curves(4, 9, 0.2, 0.5, averaging=True, neighbors=2)[name][0] - mean) > 5 * error
        assert curves[name][0] == curves["no_context"][0]
    numpy.testing.assert_allclose(curves["linear_attention"], curves["layers_1"], rtol=1e-9)
    mixers = ic.baselines.SequenceMixers(ic.baselines.isotropic_mixer_task(4, 0.2, 1.0))
    assert curves["delta_rule"][1] == mixers.best("delta_rule", 9).risk


def test_curves_are_a_mapping_a_table_and_a_plot():
    curves = ic.baselines.curves(4, numpy.arange(0, 9), 0.1, 0.25, layers=[2], looped=[3])
    assert list(curves) == ["no_context", "least_squares", "layers_2", "looped_3", "bayes", "bayes_limit"]
    assert set(curves.to_dict()) == {"context_length", *curves}
    assert str(curves).count("\n") == 9
    with pytest.raises(KeyError, match="there is no curve 'ridge': no_context"):
        curves["ridge"]
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = curves.plot(["bayes", "layers_2"])
    assert [line.get_label() for line in axes.lines] == ["bayes", "layers 2"]
    numpy.testing.assert_array_equal(axes.lines[0].get_ydata(), curves["bayes"])
    lines = ic.predictors(4, [8, 16], noise_variance=0.1).plot().lines
    assert len(lines) > 13 and len({(line.get_color(), line.get_linestyle()) for line in lines}) == len(lines)
    pyplot.close("all")


@pytest.mark.parametrize("change, error, named", [
    ({"dimension": 0}, ValueError, "dimension"),
    ({"context_length": [1.5]}, ValueError, "context_length"),
    ({"context_length": []}, ValueError, "context_length"),
    ({"context_length": [[1]]}, ValueError, "context_length"),
    ({"context_length": [3, -1]}, ValueError, "lengths"),
    ({"noise_variance": -1}, ValueError, "noise_variance"),
    ({"task_variance": float("nan")}, ValueError, "task_variance"),
    ({"input_variance": 0}, ValueError, "input_variance"),
    ({"layers": [65]}, ValueError, "layers"),
    ({"pretraining_tasks": [0]}, ValueError, "pretraining_tasks"),
    ({"pretraining_tasks": [3], "pools": 1}, ValueError, "pools"),
    ({"neighbors": [2, 0]}, ValueError, "neighbors"),
    ({"mixers": "delta_net"}, ValueError, "mixers"),
    ({"sgd_tasks": [5, -1]}, ValueError, "sgd_tasks"),
    ({"sgd_tasks": [5], "task_variance": 0.0}, ValueError, "task_variance"),
])
def test_what_is_out_of_range_is_refused_by_name(change, error, named):
    good = {"dimension": 3, "context_length": [2], "noise_variance": 0.1, "task_variance": 1.0}
    with pytest.raises(error, match=named):
        ic.baselines.curves(**good | change)


def test_predictors_are_the_curves_beside_softmax():
    page = ic.predictors(6, [3, 12], 0.2)
    task = ic.regression.LinearTask.isotropic(6, task_variance=1 / 6, noise_variance=0.2)
    layer = ic.regression.Attention(numpy.eye(6), numpy.zeros(6), 1.0)
    for k, length in enumerate((3, 12)):
        best = ic.regression.softmax_optimum(layer, task, length)
        assert page["softmax"][k] == pytest.approx(best.error, rel=1e-8)
    assert page["softmax_held"][0] == pytest.approx(page["softmax"][0]) == pytest.approx(page["ssmax_held"][0])
    assert (page["softmax_scaled"] < page["softmax"]).all() and (page["softmax_pair"] < page["softmax_scaled"]).all()
    assert (page["bayes"] <= page["delta_rule"]).all()
    for wrong, name in (((6, [1, 4], 0.2), "context_length"), ((6, [], 0.2), "context_length is empty"), ((0, [4], 0.2), "dimension"),
                        ((6, [4], -1.0), "noise_variance")):
        with pytest.raises(ValueError, match=name):
            ic.predictors(*wrong)
