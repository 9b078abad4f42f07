"""Transformers in training: the bits of incontext train, gradients of the loss, sequences of one's own."""
import json
import os
import shutil
import subprocess

import numpy
import pytest

import incontext as ic
from incontext import scoring, training
from map_cases import MAPS, NAMES

PROGRAM = shutil.which(os.environ.get("INCONTEXT_PROGRAM", "")) or ""
needs_program = pytest.mark.skipif(not PROGRAM, reason="INCONTEXT_PROGRAM does not name the program")
MEAN_LOG_LENGTH = sum(numpy.log(numpy.arange(1, 41)) / 40)


def tables(*arguments):
    ran = subprocess.run([PROGRAM, "train", *arguments, "--format", "json"], capture_output=True, text=True)
    return json.loads(ran.stdout)["tables"]


def head_of_program(name):
    temperature = 2.0  # sqrt(16 / 4)
    if name == "softmax":
        return scoring.Softmax(temperature)
    if name == "ssa":
        return training.LearnedMap(scoring.SSA(1.0, 1.5, temperature), ["base", "exponent"])
    return training.LearnedMap(scoring.SSMax(1 / (MEAN_LOG_LENGTH * temperature)), ["scale"])


@needs_program
@pytest.mark.parametrize("name", ["softmax", "ssa", "four"])
def test_the_affine_transformer_is_the_programs(name):
    found = tables("affine", "--maps", name, "--models", "full", "--steps", "60", "--batch", "16", "--width", "16",
                   "--seeds", "1", "--tested", "64", "--seed", "5")
    maps = [scoring.RatioScore(one) for one in ("tanh", "average", "relu", "square")]
    model = training.SequenceTraining(
        training.AffineSequences(seed=0x5EED0000 + 5), maps if name == "four" else head_of_program(name), width=16,
        hidden=32, map_parameters=2, batch=16, seed=5)
    rate = training.LearningRate(peak=3e-3, warmup_steps=50, decay="cosine", steps=60)
    trainer = model.trainer(training.TrainerOptions(rate=rate, largest_gradient_norm=1))
    trainer.run(60)
    largest = 0.0
    for sigma in (1, 4, 7, 10):
        drawn = training.AffineSequences(seed=0x7E570000 + 5, function_stddev=sigma).examples(0, 64)
        answers = model.outputs(trainer.parameters, drawn.features)
        largest = max(largest, float(abs(answers).max()))
        errors = ((answers.astype(float) - drawn.targets) ** 2)[:, 2:].sum(axis=(1, 2)) / 40
        (row,) = [row for table in found for row in table["rows"] if row.get("test") == f"a, b N(0, {sigma}^2)"
                  and "over_zero" in row]
        assert row["error"] == pytest.approx(errors.mean(), rel=1e-12)
    (bounds,) = [row for table in found for row in table["rows"] if "largest_answer" in row]
    assert bounds["largest_answer"] == largest
    assert bounds["bound"] == model.output_bound(trainer.parameters).largest >= largest


@needs_program
def test_the_reasoning_transformer_is_the_programs():
    arguments = ["reasoning", "--figure", "curves", "--steps", "100", "--every", "50", "--widths", "16", "--seed", "3"]
    (softmax, heat, norm) = tables(*arguments, "--methods", "softmax,heat-treatment,normsoftmax")[:3]
    shape = training.ReasoningShape(width=16, hidden=32)
    for table, map in ((softmax, scoring.Softmax(2.0)), (heat, scoring.HeatSchedule(1 / 3, 2.0, 100)),
                       (norm, scoring.NormSoftmax(2.0))):
        model = training.ReasoningTraining(shape, map, seed=3)
        rate = training.LearningRate(peak=3e-3, warmup_steps=100, steps=100)
        trainer = model.trainer(training.TrainerOptions(adam=training.AdamOptions(beta2=0.98, weight_decay=1), rate=rate))
        for row in table["rows"]:
            trainer.run(row["step"] - trainer.steps)
            at = model.measure(trainer.parameters, trainer.steps)
            assert (at.loss, at.held_out_loss, at.accuracy) == (row["loss"], row["held_out_loss"], row["accuracy"])
            assert (min(at.entropy), at.key_gradient) == (row["least_entropy"], row["key_gradient"])
        assert len(table["rows"]) == 3


def own(index, length):
    random = numpy.random.default_rng(index)
    features = random.normal(size=(length, 2))
    return features, features.cumsum(axis=0)[:, :1], numpy.full(length, 1 / length)


OWN = training.SequenceStream(features=2, outputs=1, length=6, draw=own)
STREAMS = [training.AffineSequences(seed=3, length=6), OWN,
           training.QuantifierSequences(seed=3, length=6, quantifier="some", numbers="one_exception"),
           training.SphereSequences(ic.simulate.SphereTask(3, 2, 6), seed=3)]


def slope_and_difference(model):
    """The gradient of a batch along a direction, and the difference of the losses; the point and the batch."""
    random = numpy.random.default_rng(1)
    at = model.initial + 0.1 * random.normal(size=model.initial.size)
    batch = model.gradient(at, 3)
    direction = random.normal(size=at.size)
    direction /= (direction @ direction) ** 0.5
    step = 3e-3
    difference = (model.gradient(at + step * direction, 3).loss - model.gradient(at - step * direction, 3).loss) / step / 2
    return batch.gradient @ direction, difference, at, batch


@pytest.mark.parametrize("map, name", list(zip(MAPS, NAMES)), ids=NAMES)
def test_every_map_is_a_head_with_any_of_its_parameters_trained(map, name):
    if isinstance(map, scoring.MatrixNormSoftmax):
        with pytest.raises(TypeError, match="not a map of a row of scores .*MatrixNormSoftmax"):
            training.SequenceTraining(OWN, map, width=8, heads=2)
        return
    names = scoring.parameter_names(map)
    if isinstance(map, scoring.Entmax) and map.alpha < 1:
        with pytest.raises(ValueError, match="alpha cannot be trained from here .*value = 0.5; needs finite, above 1"):
            training.SequenceTraining(OWN, training.LearnedMap(map, names), width=8, heads=2)
        return
    head = training.LearnedMap(map, names[::-1])
    model = training.SequenceTraining(OWN, head, width=8, heads=2, layers=1, hidden=0, batch=20)
    slope, difference, at, _ = slope_and_difference(model)
    jumps = isinstance(map, scoring.Hardmax) or isinstance(map, scoring.Entmax) and map.alpha > 2  # whose slope is infinite
    if not jumps:
        assert slope == pytest.approx(difference, rel=2e-2, abs=2e-4)
    ((first, _),) = model.maps(model.initial)
    for one in names:
        assert getattr(first, one) == pytest.approx(getattr(map, one), rel=1e-6)
    assert model.gradient(at, 3).gradient.size == model.initial.size


@pytest.mark.parametrize("stream", STREAMS, ids=lambda one: type(one).__name__)
def test_gradients_are_those_of_the_loss(stream):
    maps = [training.LearnedMap(scoring.SSMax(0.5, 0.5), ["scale", "bias"]), scoring.NormSoftmax(2.0)]
    model = training.SequenceTraining(stream, maps, width=8, heads=2, layers=2, hidden=8, batch=20, threads=2)
    slope, difference, at, batch = slope_and_difference(model)
    assert slope == pytest.approx(difference, rel=5e-3, abs=1e-4)
    examples = stream.examples(60, 20)  # those of step 3
    answers = model.outputs(at, examples.features)
    if stream.__dict__.get("loss", 0) == 0 and answers.shape[-1] == 1:
        losses = ((answers - examples.targets) ** 2)[..., 0] * examples.weights
    else:
        shifted = answers - answers.max(axis=-1, keepdims=True)
        logs = shifted - numpy.log(numpy.exp(shifted).sum(axis=-1, keepdims=True))
        losses = -(examples.targets * logs).sum(axis=-1) * examples.weights
    assert batch.loss == pytest.approx(losses.sum(axis=1).mean(), rel=1e-5)
    assert model.gradient(at, 3).loss == batch.loss != model.gradient(at, 4).loss


def test_parts_and_maps_are_read_from_the_parameters():
    learned = training.LearnedMap(scoring.SSA(1.0, 1.5, 2.0), ["base", "exponent"])
    model = training.SequenceTraining(OWN, [learned, scoring.SaSoftmax()], width=8, heads=2, layers=2, hidden=0,
                                      norms=training.LayerNorms.none)
    parts = model.parts(model.initial)
    assert [one.shape for one in parts["query"]] == [(8, 8), (8, 8)] and parts["embedding"][0].shape == (8, 2)
    assert sum(one.size for several in parts.values() for one in several) == model.initial.size
    first = model.maps(model.initial)
    assert first[1][0] == scoring.SSA(1.0, 1.5, 2.0) and first[0][1] == scoring.SaSoftmax()
    moved = model.initial.copy()
    moved[model.initial == 0] = 0.25  # the maps' numbers and the biases
    assert model.maps(moved)[0][0].exponent == pytest.approx(1 + 0.5 * numpy.exp(0.25), rel=1e-6)
    with pytest.raises(ValueError, match="no layer norms"):
        model.output_bound(model.initial)


def test_weight_decay_acts_on_matrices_alone():
    model = training.SequenceTraining(OWN, scoring.Softmax(2.0), width=8, heads=2, batch=8)
    adam = training.AdamOptions(weight_decay=100.0)
    rate = training.LearningRate(peak=1e-3)
    decayed, plain = (model.trainer(training.TrainerOptions(adam=one, rate=rate))
                      for one in (adam, training.AdamOptions()))
    decayed.run(1), plain.run(1)
    changed = decayed.parameters != plain.parameters
    parts = model.parts(changed.astype(float))
    assert parts["query"][0].mean() > 0.9 and parts["head_bias"][0].sum() == 0 == parts["final_norm_gain"][0].sum()


def test_reasoning_examples_are_divided():
    shape = training.ReasoningShape(largest_value=2, width=8, hidden=8)
    model = training.ReasoningTraining(shape, scoring.Softmax(2.0), training_share=0.25)
    both = numpy.concatenate([model.trained, model.held_out])
    assert len(numpy.unique(both, axis=0)) == 81 == len(both) and len(model.trained) < len(model.held_out)
    coin = training.ReasoningTraining(shape, scoring.Softmax(2.0), answers="coin", scaling="matched", batch=5)
    assert coin.gradient(coin.initial, 0).loss != model.gradient(model.initial, 0).loss
    course = [training.ReasoningMeasurement(step=10 * k, loss=loss, held_out_accuracy=accuracy)
              for k, (loss, accuracy) in enumerate([(2.0, 0.1), (1.0, 0.5), (0.9, 0.6), (0.1, 0.9)])]
    assert training.eureka_step(course) == 30 and training.eureka_step(course[:2]) is None
    assert training.plateau_loss(course, 1.5) == pytest.approx(0.95)


def test_what_transformers_refuse():
    def of(maps, stream=OWN, **options):
        return training.SequenceTraining(stream, maps, width=8, heads=2, **options)

    with pytest.raises(ValueError, match="one per head"):
        of([scoring.Softmax()])
    with pytest.raises(ValueError, match="cannot be trained .*value = alpha; needs base, exponent, temperature"):
        of(training.LearnedMap(scoring.SSA(), ["alpha"]))
    with pytest.raises(ValueError, match="value = base"):
        of(training.LearnedMap(scoring.SSA(), ["base", "base"]))
    with pytest.raises(TypeError, match="not a map"):
        of(["softmax", scoring.Softmax()])
    with pytest.raises(ValueError, match="temperature"):
        of(scoring.Softmax(-1.0))
    with pytest.raises(TypeError, match="sequences must be"):
        of(scoring.Softmax(), stream=scoring.Softmax())
    with pytest.raises(ValueError, match="length"):
        of(scoring.Softmax(), stream=training.AffineSequences(seed=1, length=0))
    with pytest.raises(ValueError, match="batch"):
        of(scoring.Softmax(), batch=0)
    bad = training.SequenceStream(2, 1, 6, lambda index, length: (numpy.ones((length, 3)), numpy.ones((length, 1)),
                                                                  numpy.ones(length)))
    with pytest.raises(ValueError, match="features"):
        of(scoring.Softmax(), stream=bad).trainer().run(1)

    def broken(index, length):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        of(scoring.Softmax(), stream=training.SequenceStream(2, 1, 6, broken), threads=2).trainer().run(1)
    with pytest.raises(ValueError, match="number of examples to train on"):
        training.ReasoningTraining(training.ReasoningShape(1, 4, 2, 2), scoring.Softmax(), training_share=0.001)
    with pytest.raises(TypeError, match="not a map of a row of scores .*MatrixNormSoftmax"):
        training.ReasoningTraining(training.ReasoningShape(), scoring.MatrixNormSoftmax())
