"""Training: the layers of incontext train with its bits, losses of one's own, what stops and resumes."""
import copy
import gc
import os
import pickle
import shutil
import subprocess
import weakref

import numpy
import pytest

import incontext as ic
from incontext import scoring, training
from map_cases import MAPS, NAMES

PROGRAM = shutil.which(os.environ.get("INCONTEXT_PROGRAM", "")) or ""


def small(map=None, **options):
    task = ic.simulate.SphereTask(3, 2, 20)
    return training.ContextTraining(task, map or ic.scoring.LinearAttention(), batch=64, initial_scale=0.5, **options)


def adam(steps, peak=0.02):
    rate = training.LearningRate(peak=peak, decay=training.RateDecay.cosine, steps=steps)
    return training.TrainerOptions(rate=rate, largest_gradient_norm=10)


@pytest.mark.skipif(not PROGRAM, reason="INCONTEXT_PROGRAM does not name the program")
@pytest.mark.parametrize("name", ["linear", "softmax"])
def test_the_weights_are_those_of_the_program(name, tmp_path):
    arguments = ["--figure", "curves", "--map", name, "--dimension", "3", "--classes", "2",
                 "--context-length", "20", "--steps", "60", "--batch", "64", "--seed", "7", "--quiet",
                 "--weights", str(tmp_path / "layer")]
    # with the task as a subcommand or as the default; sixty steps do not arrive
    ran = [subprocess.run([PROGRAM, "train", *task, *arguments]).returncode for task in (["classification"], [])]
    assert set(ran) & {0, 1, 3}
    map = ic.scoring.LinearAttention() if name == "linear" else ic.scoring.Softmax()
    layer = small(map, seed=7, scale=1.0 if name == "linear" else 1 / 5**0.5,
                  parameters=training.ContextParameters.factored)
    trainer = layer.trainer(adam(60))
    trainer.run(60)
    (head,) = layer.heads(trainer.parameters)
    assert (head.key_query == numpy.load(tmp_path / "layer.key_query.npy")).all()
    assert (head.output == numpy.load(tmp_path / "layer.output.npy")).all()
    other = small(map, seed=8, parameters=training.ContextParameters.factored)
    assert (other.initial != layer.initial).any()


def test_gradients_are_those_of_the_loss_on_the_same_contexts():
    layer = small(ic.scoring.Softmax(), scale=0.5)
    at = layer.initial
    batch = layer.gradient(at, 3)
    direction = numpy.random.default_rng(1).normal(size=at.size)
    step = 2e-3
    difference = (layer.gradient(at + step * direction, 3).loss - layer.gradient(at - step * direction, 3).loss) / step / 2
    assert batch.gradient @ direction == pytest.approx(difference, rel=2e-2, abs=1e-4)
    assert layer.gradient(at, 4).loss != batch.loss


def test_bits_do_not_depend_on_threads_or_on_stops(tmp_path):
    whole = small(threads=1).trainer(adam(40))
    records = whole.run(40)
    assert [record.step for record in records] == list(range(40))
    first = small(threads=2, device="openmp").trainer(adam(40))
    first.run(15)
    first.save(str(tmp_path / "state"), "small")
    second = small().trainer(adam(40))
    second.resume(str(tmp_path / "state"), "small")
    assert second.steps == 15
    second.run(25)
    assert (second.parameters == whole.parameters).all()
    with pytest.raises(RuntimeError, match="state"):
        second.resume(str(tmp_path / "state"), "another")


def test_training_learns_and_evaluates():
    layer = small()
    trainer = layer.trainer(adam(300, 0.05))
    seen = []
    trainer.run(300, progress=lambda done, planned, seconds: seen.append(done))
    assert seen[-1] == 300
    before, after = layer.evaluate(layer.initial, 2048), layer.evaluate(trainer.parameters, 2048)
    assert after[0].mean < before[0].mean - 5 * before[0].standard_error and after[1].mean > before[1].mean
    assert layer.evaluate(trainer.parameters, 2048) == after


def test_trained_regression_has_the_exact_error():
    task = ic.regression.LinearTask.isotropic(dimension=3, noise_variance=0.1)
    sampled = training.RegressionTraining(task, 12, ic.scoring.Softmax(), batch=256)
    trainer = sampled.trainer(adam(300, 0.05))
    trainer.run(300)
    layer = sampled.layer(trainer.parameters)
    exact = ic.regression.softmax_error(layer.attention, task, 12, ic.scoring.Softmax())
    assert exact.agree(sampled.evaluate(trainer.parameters, 1 << 14)[0]).within(5)
    assert (training.layer_parameters(layer.attention) == trainer.parameters).all()


def test_two_heads_of_regression_become_opposed():
    task = ic.regression.LinearTask.isotropic(dimension=2, noise_variance=0.1)
    sampled = training.RegressionTraining(task, 12, ic.scoring.Softmax(), heads=2, batch=128, seed=2)
    trainer = sampled.trainer(adam(400, 0.05))
    trainer.run(400)
    values = [sampled.layer(trainer.parameters, head).attention.label_value for head in range(2)]
    assert values[0] * values[1] < 0 and len(sampled.evaluate(trainer.parameters, 64)) == 16
    loss = sampled.evaluate(trainer.parameters, 1 << 14)[0]
    keys = numpy.eye(2)
    one, two = (ic.regression.best_softmax_heads(keys, task, 12, heads).error for heads in (1, 2))
    assert abs(loss.mean / two - 1) < 0.1 < abs(loss.mean / one - 1)
    with pytest.raises(ValueError, match="head is no head"):
        sampled.layer(trainer.parameters, 2)
    with pytest.raises(ValueError, match="heads is too large"):
        training.RegressionTraining(task, 12, ic.scoring.Softmax(), heads=2, parameters="temperature")


def test_a_needle_finds_its_inverse_temperature():
    sampled = training.NeedleTraining([256], training.NeedleRule.constant, law=ic.simulate.ScoreLaw.normal,
                                      needle_mean=3.0, needle_stddev=1.0, batch=512)
    trainer = sampled.trainer(adam(300, 0.1))
    trainer.run(300)
    best = ic.laws.optimal_needle_temperature(ic.laws.NormalLaw(1.0), 255, ic.laws.NormalNeedle(3.0, 1.0))
    assert sampled.inverse_temperatures(trainer.parameters)[0] == pytest.approx(best.inverse_temperature, rel=0.05)


PICKLED = {
    "context": lambda: small(query="included"),
    "regression": lambda: training.RegressionTraining(ic.regression.LinearTask.isotropic(dimension=3), 10,
                                                      ic.scoring.Softmax(), batch=8, seed=3),
    "needle": lambda: training.NeedleTraining([16, 64], "constant", batch=8),
    "sequence": lambda: training.SequenceTraining(training.AffineSequences(seed=3), ic.scoring.Softmax(2.0), width=8,
                                                  heads=2, hidden=8, batch=4),
    "reasoning": lambda: training.ReasoningTraining(training.ReasoningShape(largest_value=3, width=8, hidden=8),
                                                    ic.scoring.NormSoftmax(2.0)),
}


@pytest.mark.parametrize("kind", PICKLED)
def test_a_pickled_training_has_the_same_batches(kind):
    one = PICKLED[kind]()
    for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert repr(again) == repr(one)
        assert (again.initial == one.initial).all()
        assert (again.gradient(one.initial, 3).gradient == one.gradient(one.initial, 3).gradient).all()
    trainer = one.trainer(adam(5))
    trainer.run(2)
    for again in (pickle.loads(pickle.dumps(trainer)), copy.deepcopy(trainer)):
        again.run(2)
        assert again.steps == 4 and trainer.steps == 2
        assert [record.loss for record in copy.copy(trainer).run(2)] == [record.loss for record in one.trainer(adam(5)).run(4)][2:]
        assert (again.parameters != trainer.parameters).any()


def parabola(at):
    return float(at @ at), 2 * at


def test_a_trainer_of_a_loss_of_ones_own_pickles_with_it():
    trainer = training.Trainer([1.0, 2.0], parabola, adam(5))
    trainer.run(3)
    again = pickle.loads(pickle.dumps(trainer))
    assert [record.loss for record in again.run(4)] == [record.loss for record in trainer.run(4)]
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(training.Trainer([1.0], lambda at: (float(at @ at), 2 * at), adam(5)))


def test_bad_input_is_refused():
    task = ic.simulate.SphereTask(3, 2, 20)
    with pytest.raises(ValueError, match="batch"):
        training.ContextTraining(task, ic.scoring.Softmax(), batch=0)
    with pytest.raises(TypeError, match="not a map of a row of scores .*MatrixNormSoftmax"):
        training.ContextTraining(task, ic.scoring.MatrixNormSoftmax())
    with pytest.raises(ValueError, match="parameters"):
        small().gradient([1.0, 2.0], 0)
    with pytest.raises(ValueError, match="steps"):
        small().trainer().run(-1)
    diverging = small().trainer(training.TrainerOptions(rate=training.LearningRate(peak=1e30)))
    with pytest.raises(ValueError, match="training diverged"):
        diverging.run(100)


@pytest.mark.parametrize("map, name", list(zip(MAPS, NAMES)), ids=NAMES)
def test_every_trainer_takes_every_map_of_a_row(map, name):
    if isinstance(map, scoring.MatrixNormSoftmax):
        return  # refused above
    task = ic.regression.LinearTask.isotropic(dimension=2, noise_variance=0.1)
    jumps = isinstance(map, scoring.Hardmax) or isinstance(map, scoring.Entmax) and map.alpha > 2  # whose slope is infinite
    for model in (training.ContextTraining(ic.simulate.SphereTask(3, 2, 20), map, batch=8),
                  training.RegressionTraining(task, 6, map, batch=8),
                  training.ReasoningTraining(training.ReasoningShape(2, 8, 2, 8), map, batch=8)):
        at = model.initial + 0.1 * numpy.cos(numpy.arange(model.initial.size))
        batch = model.gradient(at, 3)
        direction = batch.gradient / (batch.gradient @ batch.gradient) ** 0.5
        step = 1e-4  # in float32; a larger one crosses kinks
        difference = (model.gradient(at + step * direction, 3).loss - model.gradient(at - step * direction, 3).loss) / step / 2
        assert numpy.isfinite(batch.gradient).all() and batch.gradient.any()
        assert jumps or batch.gradient @ direction == pytest.approx(difference, rel=2e-2, abs=2e-4), type(model).__name__


def test_trainings_and_trainers_convert_to_dictionaries_and_tables():
    layer = small(query="included", parameters="merged")
    assert layer.to_dict()["map"] == {"temperature": 1.0, "normalization": "context_length"}
    assert layer.to_dict()["task"]["context_length"] == 20 and layer.to_dict()["batch"] == 64
    assert repr(layer).startswith("ContextTraining(task=SphereTask(dimension=3") and "<th>seed</th>" in layer._repr_html_()
    trainer = layer.trainer(adam(2))
    trainer.run(2)
    assert trainer.to_dict()["steps"] == 2 and (trainer.to_dict()["parameters"] == trainer.parameters).all()
    assert repr(trainer) == f"Trainer(steps=2, {trainer.parameters.size} parameters)"
    assert "<th>steps</th><td>2</td>" in trainer._repr_html_()


class Own:
    """A loss that holds its trainer, which holds the loss: a cycle through C++."""

    def __call__(self, parameters):
        return float(parameters @ parameters), 2 * parameters


@pytest.mark.parametrize("made", [lambda loss: training.Trainer([1.0, 2.0], loss, adam(5)),
                                  lambda loss: training.GradientFlow(loss, [1.0, 2.0])])
def test_a_loss_that_holds_its_trainer_is_collected(made):
    loss = Own()
    loss.trainer = made(loss)
    trainer, watched = loss.trainer, weakref.ref(loss)
    del loss
    gc.collect()
    assert watched() is not None and repr(trainer)
    if isinstance(trainer, training.Trainer):
        assert trainer.step().loss == 5.0, "it lives as long as its trainer is held"
    del trainer
    gc.collect()
    assert watched() is None


def test_a_loss_of_another_shape_is_refused():
    with pytest.raises((TypeError, RuntimeError)):
        training.Trainer([1.0], lambda at: 3.0, adam(5)).step()
    with pytest.raises(ZeroDivisionError):
        training.Trainer([1.0], lambda at: 1 / 0, adam(5)).step()
