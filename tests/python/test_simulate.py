"""Simulations: the bits of the C++ programs, options, Ctrl-C, the interpreter's lock."""
import copy
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

import incontext as ic

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = 0x123456789ABCDEF


def bits(name):
    """The lines of tests/simulate/bits.txt, which the C++ programs print on every device: mean, error, count."""
    rows = [line.split() for line in (ROOT / "tests/simulate/bits.txt").read_text().splitlines()]
    rows = [row for row in rows if row[0] == name and len(row) == 4]
    return [(float.fromhex(mean), float.fromhex(error), int(count)) for _, mean, error, count in rows]


def of(estimates):
    return [(e.mean, e.standard_error, e.count) for e in estimates]


@pytest.fixture
def general_model():
    """The layer and task of tests/simulate/regression/models.hpp."""
    task = ic.regression.LinearTask(
        input_mean=[0.5, -0.25, 1.0], input_covariance=[[1.25, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 0.75]],
        task_mean=[0.25, 0.0, -0.5], task_covariance=[[0.5, 0.125, 0.0], [0.125, 0.25, 0.0], [0.0, 0.0, 1.0]],
        noise_variance=0.3)
    attention = ic.regression.Attention([[1.0, 0.1, 0.0], [-0.2, 0.9, 0.3], [0.0, 0.1, 1.1]], [0.1, 0.2, -0.1], 0.8)
    return attention, task


def test_the_same_seed_gives_the_bits_of_cpp(general_model):
    attention, task = general_model
    maps = ic.simulate.at_temperatures([0.75, 1.5], ic.scoring.ApproximateSoftmax())
    options = {"seed": SEED, "trials": 9999}
    run = ic.simulate.regression_error(attention, task, 11, maps, **options)
    assert of(run.estimates) == bits("approximate-float")
    run = ic.simulate.regression_error(attention, task, 11, maps, dtype="float64",
                                       query=ic.regression.QueryToken.included, **options, threads=1)
    assert of(run.estimates) == bits("approximate-double")
    softmax = ic.simulate.at_temperatures([0.75, 1.5], ic.scoring.Softmax())
    run = ic.simulate.regression_error(attention, task, 9, softmax, **options, device="serial")
    assert of(run.estimates) == bits("softmax-float")
    run = ic.simulate.regression_error(attention, task, 11, maps, estimator=ic.simulate.Estimator.conditional, **options)
    assert of(run.estimates) == bits("conditional-float")
    assert of(ic.simulate.centered_ridge_risk(task, 5, **options).estimates) == bits("ridge-double")
    baselines = ic.simulate.BaselineSetting(3, 7, ic.baselines.TaskVariances(0.3, 0.5), [[0.25, 0.75]], [0.6, 0.0])
    assert of(ic.simulate.baseline_errors(baselines, **options).estimates) == bits("baseline-errors-double")
    linear = ic.simulate.at_temperatures([0.75, 1.5], ic.scoring.LinearAttention())
    assert of(ic.simulate.regression_error(attention, task, 6, linear, **options).estimates) == bits("linear-float")
    rows = [[1.0, 0.5, 0.25], [-0.25, 2.0, 1.0], [0.75, -1.0, 0.5], [3.0, 0.125, -2.0]]
    labels = ic.simulate.RowLabels(task.task_mean, numpy.zeros((3, 3)), 0.25)
    run = ic.simulate.regression_error_on_rows(attention, rows, labels, 7, maps, **options)
    assert of(run.estimates) == bits("rows-float")
    centered, labels_alone = task.with_input_mean([0.0, 0.0, 0.0]), attention.replace(input_value=[0.0, 0.0, 0.0])
    run = ic.simulate.reduced_softmax_error(labels_alone, centered, 21, softmax, **options)
    assert of(run.estimates) == bits("reduced-softmax-float")
    other = ic.simulate.regression_error(attention, task, 11, maps, seed=SEED + 1, trials=9999)
    assert of(other.estimates) != bits("approximate-float")


PROGRAM = shutil.which(os.environ.get("INCONTEXT_PROGRAM", "")) or ""


@pytest.mark.skipif(not PROGRAM, reason="INCONTEXT_PROGRAM does not name the program")
@pytest.mark.parametrize("workload", ["arrays", "baselines", "python"])
def test_a_benchmark_of_the_package_answers_every_order_and_refuses_wrong_answers(workload):
    subprocess.run([sys.executable, ROOT / "bench/compare", workload, "--self-test", PROGRAM], check=True)


@pytest.mark.skipif(not PROGRAM, reason="INCONTEXT_PROGRAM does not name the program")
def test_each_simulation_of_a_program_has_a_stream_of_its_own():
    arguments = ["--trials", "4096", "--estimator", "literal", "--device", "serial", "--seed", "5", "--format", "json"]
    rows = json.loads(subprocess.check_output([PROGRAM, "temperature", *arguments]))["tables"][0]["rows"]
    task = ic.regression.LinearTask.isotropic(dimension=20, task_variance=0.05, noise_variance=0.1)
    layer = ic.regression.pretrained_attention(task, 100)
    attention = [row for row in rows if row["temperature"] is not None]
    temperatures = [row["temperature"] for row in attention]
    maps = ic.simulate.at_temperatures(temperatures, ic.scoring.ApproximateSoftmax())
    first = ic.simulate.regression_error(layer, task, 100, maps, seed=5, trials=4096)
    assert [one.mean for one in first.estimates] == [row["simulation"] for row in attention]
    references = {row["predictor"]: row["simulation"] for row in rows}
    for i, name, risk in [(1, "ridge (11)", ic.simulate.centered_ridge_risk), (2, "posterior mean", ic.simulate.posterior_risk)]:
        own, first_stream = (risk(task, 100, seed=(5 + stream * 0x9E3779B97F4A7C15) % 2**64, trials=4096 // 64)
                             for stream in (i, 0))
        assert own.estimates[0].mean == references[name] != first_stream.estimates[0].mean


EDITION = """
import hashlib, incontext as ic, json, numpy
s, task = ic.simulate, ic.regression.LinearTask.isotropic(dimension=5, task_variance=0.2, noise_variance=0.1)
attention = ic.regression.pretrained_attention(task, 20)
sphere, some = s.SphereTask(3, 2, 20), dict(seed=3, trials=3072)
runs = [s.score_rows(s.normal_scores(100, 2.0), [1.0, 2.0], dtype=dtype, **some).run for dtype in ("float32", "float64")]
runs += [s.regression_error(attention, task, 20, [map], **some)
         for map in (ic.scoring.Softmax(), ic.scoring.ApproximateSoftmax(), ic.scoring.LinearAttention())]
runs += [s.reduced_softmax_error(attention, task, 20, [map], **some) for map in (ic.scoring.SSA(), ic.scoring.SSMax())]
runs += [s.centered_ridge_risk(task, 20, **some), s.partition_function(sphere, [2.0], **some).run,
         s.classification(sphere, [s.Classifier("kernel", 2.0, 5.0)], **some).run,
         s.gradient_norms(s.GradientRow(32, 4), [1.0], **some).run]
numbers = numpy.random.default_rng(1).normal(size=(6, 150, 40))
# not Entmax: its powers are the C library's, which chooses its own edition
maps = [ic.scoring.Softmax(0.5), ic.scoring.SSMax(0.4), ic.scoring.SSA(), ic.scoring.NormSoftmax(),
        ic.scoring.RatioScore("relu")]
arrays = []
for z in (numbers, numbers.astype("float32")):
    for map in maps:
        arrays += [map(z[0], "causal"), map.vjp(z[0], z[1]), map.jvp(z[0], z[2])]
    for map in maps[:3]:
        found = ic.apply.attention_gradient(map, *z[:4], "causal")
        arrays += [ic.apply.attend(map, *z[:3]), found.queries, found.keys, found.values]
digests = [hashlib.sha256(numpy.ascontiguousarray(array).tobytes()).hexdigest() for array in arrays]
size = numpy.arange(80)
dense = ic.regression.LinearTask(input_covariance=0.7 ** abs(size[:, None] - size), noise_variance=0.1,
                                 task_covariance=0.4 ** abs(size[:, None] - size))
layer = ic.regression.pretrained_attention(dense, 100)
errors = [ic.regression.generalization_error(layer, dense, length)(1.5) for length in (100, 120, 140, 160)]
errors += [ic.regression.softmax_error(layer, dense, 100, ic.scoring.Softmax(tau)).value for tau in (5.0, 6.0, 7.0)]
print(json.dumps([s.instructions(), [[e.mean, e.standard_error] for run in runs for e in run.estimates], digests, errors]))
"""


def edition_without(*hidden):
    """The instructions of the edition that is chosen where some are hidden from the loader, what it simulates, digests of
    what it makes of arrays, and errors by closed forms."""
    environment = os.environ | {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in hidden)}
    return json.loads(subprocess.check_output([sys.executable, "-c", EDITION], env=environment if hidden else None))


def supported():
    """The instruction sets that the dynamic loader would search for."""
    found = subprocess.run(["/lib64/ld-linux-x86-64.so.2", "--help"], capture_output=True, text=True).stdout
    return [name for name in ("x86-64-v3", "x86-64-v4") if f"  {name} (supported, searched)" in found]


def test_the_loader_chooses_an_edition_and_all_have_the_same_bits():
    package = pathlib.Path(ic.__file__).parent
    installed = {name for name in ("x86-64-v3", "x86-64-v4") if (package / name).exists()}
    if not installed:
        pytest.skip("the package has one edition: " + ic.simulate.instructions())
    names = {"x86-64-v3": "AVX2", "x86-64-v4": "AVX-512"}
    can_run = [names[name] for name in supported() if name in installed]
    best, *record = edition_without()
    assert best == ic.simulate.instructions() == (can_run or ["plain"])[-1]
    estimates, digests, errors = record
    assert len(estimates) > 20 and all(mean == mean for mean, _ in estimates)
    assert len(set(digests)) == 2 * (5 * 3 + 3 * 4)
    without_avx512, *same = edition_without("AVX512F")
    assert without_avx512 == ("AVX2" if "AVX2" in can_run else "plain") and same[:2] == record[:2]
    plain, *same, others = edition_without("AVX2", "AVX512F")
    assert plain == "plain" and same == record[:2]
    # closed forms of large dense matrices have the edition's products and spectra
    assert others == pytest.approx(errors, rel=1e-11) and (others == errors) == (best == "plain")


def test_a_package_of_this_processor_has_one_edition():
    """The other tests of this file hold for it too: simulations keep their bits."""
    if os.environ.get("INCONTEXT_NATIVE") == "ON":
        assert not list(pathlib.Path(ic.__file__).parent.glob("x86-64-*"))
    assert ic.simulate.instructions() in ("AVX-512", "AVX2", "plain")


def test_one_map_gives_one_estimate_and_theory_agrees():
    task = ic.regression.LinearTask.isotropic(dimension=5, task_variance=0.2, noise_variance=0.1)
    attention = ic.regression.pretrained_attention(task, 20)
    error = ic.regression.generalization_error(attention, task, 20)
    trial = ic.simulate.regression_error(attention, task, 20, ic.scoring.ApproximateSoftmax(1.5), seed=3, trials=65536)
    assert error(1.5).agree(trial).within(5)
    assert not error(0.8).agree(trial).within(5), "the theory of another temperature is rejected"


def test_options_are_checked():
    task = ic.regression.LinearTask.isotropic(dimension=5, noise_variance=0.1)
    with pytest.raises(ValueError, match="trials is too small .*or a relative_error above 0"):
        ic.simulate.centered_ridge_risk(task, 5)
    with pytest.raises(TypeError, match="no such option: trial"):
        ic.simulate.centered_ridge_risk(task, 5, trial=10)
    with pytest.raises(ValueError, match="mainframe"):
        ic.simulate.centered_ridge_risk(task, 5, trials=10, device="mainframe")
    with pytest.raises(TypeError, match="of one type"):
        attention = ic.regression.pretrained_attention(task, 5)
        ic.simulate.regression_error(attention, task, 5, [ic.scoring.Softmax(), ic.scoring.ApproximateSoftmax()], trials=9)


WRONG_OPTIONS = {
    "trials": ["100", None, 1.5, float("nan"), 2**63, [100]],
    "seed": [-1, 2**64, 1.5, "1"],
    "threads": ["1", 0.5, 2**31],
    "relative_error": ["a", None],
    "gpu": [None],
    "device": [1.5, None],
}


@pytest.mark.parametrize("name, value", [(name, value) for name, values in WRONG_OPTIONS.items() for value in values])
def test_an_option_of_the_wrong_type_is_named_with_its_value(name, value):
    task = ic.regression.LinearTask.isotropic(dimension=5, noise_variance=0.1)
    with pytest.raises((TypeError, ValueError)) as refusal:
        ic.simulate.centered_ridge_risk(task, 5, **({"trials": 10} | {name: value}))
    assert str(refusal.value).startswith(f"incontext::simulate::Options: {name} is ")
    assert f"(value = {value!r}; needs " in str(refusal.value)


def test_a_float_without_a_fraction_is_an_integer():
    task = ic.regression.LinearTask.isotropic(dimension=5, noise_variance=0.1)
    run = ic.simulate.centered_ridge_risk(task, 5, trials=numpy.float64(1e3), seed=2.0, threads=1.0)
    assert of(run.estimates) == of(ic.simulate.centered_ridge_risk(task, 5, trials=1000, seed=2).estimates)


def test_maps_of_the_wrong_type_are_named():
    task = ic.regression.LinearTask.isotropic(dimension=5, noise_variance=0.1)
    attention = ic.regression.pretrained_attention(task, 5)
    with pytest.raises(TypeError, match=r"regression_error: maps .*\(value = SSMax; needs Softmax, Approx"):
        ic.simulate.regression_error(attention, task, 5, ic.scoring.SSMax(), trials=9)
    with pytest.raises(TypeError, match=r"maps .*\(value = Entmax; needs Softmax, SSMax, SSA"):
        ic.simulate.reduced_softmax_error(attention, task, 5, [ic.scoring.Entmax()], trials=9)
    with pytest.raises(TypeError, match=r"Softmax: temperature is of the wrong type \(value = '1'; needs a number"):
        ic.simulate.regression_error(attention, task, 5, ic.scoring.Softmax("1"), trials=9)
    with pytest.raises(TypeError, match=r"temperature is not a number \(value = array\(\[1., 2.\]\)"):
        ic.simulate.regression_error(attention, task, 5, [ic.scoring.Softmax(numpy.array([1.0, 2.0]))], trials=9)
    with pytest.raises(TypeError, match="Softmax: temperature is of the wrong type"):
        ic.scoring.Softmax("1")(numpy.ones(3))
    with pytest.raises(TypeError, match="a parameter of map is not a number"):
        ic.regression.softmax_error_gradient(attention, task, 5, ic.scoring.Softmax([1.0, 2.0]))
    with pytest.raises(ValueError, match="temperature is not positive.*value = 0;"):
        ic.regression.softmax_error(attention, task, 5, ic.scoring.Softmax(0.0))


def test_help_lists_the_options():
    for function in (ic.simulate.regression_error, ic.simulate.centered_ridge_risk, ic.simulate.classification_search):
        for text in ("seed = 1", "trials = 0", "relative_error = 0", "threads = 0", "progress = None", "device = "):
            assert text in function.__doc__, function.__name__


def test_progress_is_told():
    task = ic.regression.LinearTask.isotropic(dimension=5, noise_variance=0.1)
    told = []
    ic.simulate.centered_ridge_risk(task, 5, trials=4096, progress=lambda done, planned, seconds: told.append((done, planned)))
    assert told[0] == (0, 4096) and told[-1] == (4096, 4096)
    with pytest.raises(ZeroDivisionError):
        ic.simulate.centered_ridge_risk(task, 5, trials=4096, progress=lambda *_: 1 / 0)
    with pytest.raises(TypeError, match="progress is"):
        ic.simulate.centered_ridge_risk(task, 5, trials=4096, progress=3)


def test_progress_by_tqdm(capsys):
    pytest.importorskip("tqdm")
    task = ic.regression.LinearTask.isotropic(dimension=5, noise_variance=0.1)
    ic.simulate.centered_ridge_risk(task, 5, trials=4096, progress=True)
    assert "4.10k/4.10k" in capsys.readouterr().err


def test_other_threads_run_while_a_simulation_does():
    counted = []
    stop = threading.Event()

    def count():
        while not stop.wait(0.002):
            counted.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.perf_counter()
    ic.simulate.score_rows(ic.simulate.normal_scores(2000, 1.0), [1.0], trials=60000, threads=1)
    seconds = time.perf_counter() - began
    stop.set()
    thread.join()
    assert len(counted) >= 3 or seconds < 0.01


LONG_CALLS = {  # on one thread each lasts at least ten times as long as the wait for the signal: the data, and the call
    "simulation": ("", "ic.simulate.score_rows(ic.simulate.normal_scores(1000, 1.0), [1.0], trials=1 << 40)"),
    "loop over an array": ("", "ic.laws.needle_weight(range(1000, 3000000), 2.5, 8.0)"),
    "calibration": ("numpy.random.normal(size=(1000, 2000)).astype('f4')[None].repeat(200, 0)", "ic.calibrate(data)"),
    "training a transformer": ("training.SequenceTraining(training.AffineSequences(seed=1), ic.scoring.Softmax(),"
                               " batch=4096).trainer()", "data.run(10**6)"),
    "sequences of Python": ("training.SequenceTraining(training.SequenceStream(1, 1, 40, lambda i, n: ("
                            "numpy.ones((n, 1)), numpy.ones((n, 1)), numpy.ones(n))), ic.scoring.Softmax(),"
                            " batch=4096).trainer()", "data.run(10**6)"),
    "loop over rows": ("numpy.random.normal(size=(1000, 2000)).astype('f4').repeat(60, 0)", "ic.scoring.Entmax(1.3)(data)"),
}


@pytest.mark.parametrize("data, call", LONG_CALLS.values(), ids=LONG_CALLS.keys())
def test_ctrl_c_ends_a_long_call_and_the_handler_returns(data, call):
    program = (
        "import incontext as ic, numpy, signal\n"
        "from incontext import training\n"
        "before = signal.getsignal(signal.SIGINT)\n"
        f"data = {data or None}\n"
        "try:\n"
        "    print('ready', flush=True)\n"
        f"    {call}\n"
        "    print('returned before the signal')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', signal.getsignal(signal.SIGINT) is before, flush=True)\n"
    )
    one_thread = dict(os.environ, OMP_NUM_THREADS="1")
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=one_thread)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    assert output == "interrupted True\n"


def test_rows_and_classification():
    row = ic.simulate.normal_scores(100, 1.0).with_needle(4.0)
    run = ic.simulate.score_rows(row, [1.0, 2.0], trials=20000, dtype="float64")
    for point, beta in enumerate([1.0, 2.0]):
        exact = ic.laws.needle_weight(100, beta, 4.0 * beta)
        assert exact.agree(run.at(point, ic.simulate.RowFunctional.needle_weight)).within(5)
    task = ic.simulate.SphereTask(5, 2, 30)
    rule = ic.simulate.Classifier(ic.simulate.ClassificationRule.linear, 0.0, 2.0)
    seen = ic.simulate.classification(task, [rule], trials=8192)
    assert 0.5 < seen.at(0, ic.simulate.ClassificationMetric.accuracy).mean < 1
    assert numpy.asarray(ic.simulate.draw_sphere_context(task, 1, 0).inputs).size == 150


def simulations():
    """One of every class of results, small."""
    s = ic.simulate
    task = s.SphereTask(3, 2, 12)
    rules = [s.Classifier("linear", 0.0, 2.0), s.Classifier("kernel", 1.0, 2.0)]
    few = {"trials": 64, "seed": 1}
    row = s.normal_scores(20, 1.0)
    grid = s.ClassificationGrid("kernel", [0.5, 1.0], [1.0, 2.0])
    weights = ic.classification.ContextWeights(numpy.eye(5), numpy.eye(5), numpy.eye(5), numpy.eye(5))
    return [s.score_rows(row, [0.5, 1.0], **few), s.score_row_sample(row.with_needle(3.0), [1.0], **few),
            s.gradient_norms(s.GradientRow(8, 4), [0.5, 1.0], **few),
            s.gradient_norms_sample(s.GradientRow(8, 4), [1.0], **few),
            s.classification(task, rules, **few), s.classification_alignment(task, [tuple(rules)], **few),
            s.classification_contrasts(task, rules, [(1, 0)], **few), s.classification_grid(task, grid, **few),
            s.classification_grid(task, grid, 0, **few), s.classification_search(task, grid, **few),
            s.context_attention(task, weights, **few), s.partition_function(task, [1.0, 2.0], **few),
            s.adaptive_onset(task, [1.0], **few),
            ic.regression.LinearTask.isotropic(dimension=3)]


def test_results_convert_to_dictionaries_and_tables():
    kinds = set()
    for one in simulations():
        held, table = one.to_dict(), one._repr_html_()
        kinds.add(type(one).__name__)
        assert repr(one).startswith(type(one).__name__ + "(") and "object at" not in repr(one)
        assert table.startswith(f"<table><caption>{type(one).__name__}</caption>") and table.count("<td>") >= 3
        json.dumps(held, default=lambda array: array.tolist())
    shown = {name for name in dir(ic.simulate) if name.endswith(("Simulation", "Sample", "Optimum", "Contrasts"))}
    assert shown - kinds == {"Simulation"}, "which is a record"


def test_results_can_be_pickled_and_copied():
    for one in simulations():
        for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            assert type(again) is type(one) and repr(again.to_dict()) == repr(one.to_dict())
    *_, search, _, partition, _, _ = simulations()
    functional = ic.simulate.RowFunctional.entropy
    rows, sample, *_ = simulations()
    again = pickle.loads(pickle.dumps((rows, sample, search, partition)))
    assert again[0].run == rows.run and (again[1].sorted(0, functional) == sample.sorted(0, functional)).all()
    assert again[2].grid == search.grid and again[2].is_inside() == search.is_inside()
    assert again[3].variance_ratio(1) == partition.variance_ratio(1)


def test_a_dictionary_has_what_the_result_says():
    rows, sample, gradients, _, rules, _, contrasts, _, grid, *_ = simulations()
    functional = ic.simulate.RowFunctional
    assert len(rows.to_dict()["points"]) == 2 and "needle_weight" not in rows.to_dict()["points"][0]
    assert rows.to_dict()["points"][1]["entropy"] == rows.at(1, functional.entropy).to_dict()
    assert sample.to_dict()["medians"][0]["needle_weight"] == sample.median(0, functional.needle_weight)
    assert gradients.to_dict()["points"][1]["imbalance"] == gradients.imbalance(1).to_dict()
    assert repr(rules) == "ClassificationSimulation(trials=64, device=openmp, 2 points)"
    assert contrasts.to_dict()["pairs"] == [{"loss_difference": contrasts.loss_difference(0).to_dict(),
                                             "accuracy_difference": contrasts.accuracy_difference(0).to_dict()}]
    assert grid.to_dict()["points"][3]["loss_difference"] == grid.loss_difference(1, 1).to_dict()
