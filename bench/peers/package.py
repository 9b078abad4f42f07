"""Our side of the workloads arrays, baselines and python of bench/compare: the Python package, of the Python that runs
this file."""

import json
import resource
import subprocess
import sys
import time
from functools import partial

import incontext as ic
import numpy
import protocol

# ---- arrays: maps and attention of arrays, curves of 1000 points, one call -------------------------------------------


def arrays(workload):
    random = numpy.random.default_rng(1)
    scores, cotangent = random.normal(size=(2, workload["length"], workload["length"])).astype("float32")
    layer = random.normal(size=(4, *workload["attention"])).astype("float32")
    scaled = ic.scoring.Softmax(workload["attention"][-1] ** 0.5)  # PyTorch's scores are divided by the root
    softmax, entmax, out = ic.scoring.Softmax(), ic.scoring.Entmax(1.5), numpy.empty_like(scores)
    weights = softmax(scores)
    task = ic.regression.LinearTask.isotropic(dimension=20, task_variance=0.05, noise_variance=0.1)
    pretrained = ic.regression.pretrained_attention(task, 40)
    error = ic.regression.generalization_error(pretrained, task, 40)
    line = numpy.linspace(0.5, 3.0, 1000)
    timed = {
        "softmax": lambda: softmax(scores, out=out),
        "softmax vjp": lambda: softmax.vjp(scores, cotangent, out=out),
        "softmax vjp from the weights": lambda: softmax.vjp(scores, cotangent, out=out, weights=weights),
        "entmax 1.5": lambda: entmax(scores, out=out),
        "fused attention": lambda: ic.apply.attend(scaled, *layer[:3]),
        "fused attention and backward": lambda: (ic.apply.attend(scaled, *layer[:3]),
                                                 ic.apply.attention_gradient(scaled, *layer)),
        "1000 points of softmax_error": lambda: ic.regression.softmax_error(pretrained, task, 40,
                                                                            ic.scoring.Softmax(line)),
        "1000 points of gaussian_row": lambda: ic.laws.gaussian_row(1000, line),
        "1000 points of needle_weight": lambda: ic.laws.needle_weight(1000, line, 8.0),
        "one call of error(2.0)": lambda: error(2.0),
        "one call of needle_weight_annealed": lambda: ic.laws.needle_weight_annealed(1000, 1.0, 8.0),
    }

    def row(order):
        given = numpy.array([order["scores"]], "float32")
        return {"weights": softmax(given)[0].tolist(), "vjp": softmax.vjp(given, given)[0].tolist()}

    def output(order):
        inputs = [numpy.array(numbers, "float32") for numbers in protocol.attention_inputs(workload["attention"])]
        found = ic.apply.attend(scaled, *(array.reshape(workload["attention"]) for array in inputs))
        return {"output": found.ravel()[::protocol.STRIDE].tolist()}

    return {**protocol.timed(timed), "row": row, "output": output}


# ---- baselines: exact curves beside literal trials -------------------------------------------------------------------


def literal(order):
    """Squared errors of ridge regression with the true prior on noisy queries."""
    trials, examples, dimension = order["trials"], order["lengths"], order["dimension"]
    noise, prior = order["noise"], order["prior"]
    begin = time.process_time()
    draw = numpy.random.default_rng(order["seed"])
    x = draw.normal(size=(trials, examples, dimension))
    w = numpy.sqrt(prior) * draw.normal(size=(trials, dimension, 1))
    y = x @ w + numpy.sqrt(noise) * draw.normal(size=(trials, examples, 1))
    gram = x.transpose(0, 2, 1) @ x + noise / prior * numpy.eye(dimension)
    estimate = numpy.linalg.solve(gram, x.transpose(0, 2, 1) @ y)
    query = draw.normal(size=(trials, 1, dimension))
    label = (query @ w)[:, 0, 0] + numpy.sqrt(noise) * draw.normal(size=trials)
    errors = ((query @ estimate)[:, 0, 0] - label) ** 2
    seconds = time.process_time() - begin
    return {"trials": trials, "us_per_trial": 1e6 * seconds / trials, "means": [errors.mean()],
            "standard_errors": [errors.std(ddof=1) / trials**0.5]}


def risk(order):
    arguments = order["lengths"], order["dimension"], order["noise"], order["prior"]
    value = numpy.ravel(ic.baselines.bayes_risk(*arguments)).tolist()
    return dict(protocol.fastest(lambda: ic.baselines.bayes_risk(*arguments), order.get("repetitions", 1)), value=value)


def curves(order):
    arguments = order["dimension"], order["lengths"], order["noise"], order["prior"]
    return protocol.fastest(lambda: ic.baselines.curves(*arguments, **order["chosen"]), 1)


def baselines(workload):
    works = {"literal": literal, "risk": risk, "curves": curves}
    return {name: lambda order, work=work: work({**workload, **order}) for name, work in works.items()}


# ---- python: a simulation by the package beside one by the program --------------------------------------------------

ALMOST_NONE = 1024  # trials


def python(workload):
    task = ic.regression.LinearTask.isotropic(dimension=20, task_variance=0.05, noise_variance=0.1)
    attention = ic.regression.pretrained_attention(task, 100)
    temperatures = []  # of the program, which is asked first

    def program(order, trials):
        """The means that the program prints, and its processor time in seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [order["program"], "temperature", "--estimator", "literal", "--device", "serial", "--trials", str(trials),
             "--seed", "1", "--format", "json"], check=False, stdout=subprocess.PIPE)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"{order['program']} failed with exit code {done.returncode}")
        rows = json.loads(done.stdout)["tables"][0]["rows"]
        temperatures[:] = [row["temperature"] for row in rows if row["temperature"] is not None]
        return [row["simulation"] for row in rows if row["simulation"] is not None], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def package(order, trials):
        before = time.process_time()
        maps = ic.simulate.at_temperatures(temperatures, ic.scoring.ApproximateSoftmax())
        run = ic.simulate.regression_error(attention, task, 100, maps, trials=trials, seed=1, device="serial")
        # the program's share of the trials, and the streams of its second and third simulation
        risks = [risk(task, 100, trials=max(trials // 64, min(trials, 16)), seed=(1 + i * 0x9E3779B97F4A7C15) % 2**64, device="serial")
                 for i, risk in ((1, ic.simulate.centered_ridge_risk), (2, ic.simulate.posterior_risk))]
        means = [one for simulated in (run, *risks) for one in simulated.estimates]
        return [float(one.mean) for one in means], time.process_time() - before

    def beyond_start(side, order):
        """A side on the order's trials and on almost none: what differs is free of the time to start."""
        (means, whole), (few, start) = side(order, order["trials"]), side(order, ALMOST_NONE)
        return {"means": means + few, "seconds": whole - start}

    return {"program": partial(beyond_start, program), "package": partial(beyond_start, package)}


if __name__ == "__main__":
    makers = {"arrays": arrays, "baselines": baselines, "python": python}
    how = f"Python {sys.version.split()[0]}, NumPy {numpy.__version__}"
    protocol.serve("incontext", ic.__version__, how, lambda workload: makers[workload["name"]](workload))
