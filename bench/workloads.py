"""The workloads of bench/compare: what runs, what must agree, which quotients are taken, and their goals."""

import os
import sys
from typing import NamedTuple

from contestants import PEERS, Unmeasured


class Run(NamedTuple):
    """An order to a contestant, and the number of its answer that counts."""

    who: str
    order: dict
    key: str
    unit: str
    scale: float = 1


class Ratio(NamedTuple):
    """A quotient of two runs, each by its name or as a list of a number per round; without `below`, the run itself."""

    key: str
    what: str
    above: object
    below: object = None
    goal: str = ""  # "<= 2" or ">= 2"
    unit: str = "x"


class Workload:
    """What an entry of the table says unless it says otherwise. `m` is the measurement that bench/compare makes."""

    program = None  # the target that is built; without one, ours is the Python package
    peers = {}  # peer: its script in bench/peers
    told = None  # what contestants are told first, if our program does not state it
    tune = []  # orders to each peer before the rounds
    rounds = (3, 7)  # quick, full
    warm = 0  # rounds that do not count
    environment = {}
    note = "Ratios are taken within a round; the median of the rounds is quoted."

    def ours(self, build):
        """The command of our process, what it is told first, and its environment."""
        if self.program:
            return [str(build(self.program))], None, None
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **self.environment)
        return [sys.executable, "peers/package.py"], self.told, environment

    # comparisons before anything is timed, comparisons of what the runs answered, and sentences about that
    checks = agreement = facts = lambda self, *given: []


def verdict(what, off, limit, unit):
    return dict(what=what, off=off, limit=limit, unit=unit, agrees=off <= limit)


def largest(values):
    """The largest; infinite if one is no number."""
    return max(v if v == v else float("inf") for v in values)


def off(mine, theirs):
    """The largest difference of two lists, relative to the largest number of the first."""
    if len(mine) != len(theirs):
        return float("inf")
    return largest(abs(x - y) for x, y in zip(mine, theirs)) / max(map(abs, mine))


def z_scores(a, b):
    """Differences of two lists of estimates, in standard errors, which are the second of each pair of lists."""
    spread = [(s * s + t * t) ** 0.5 for s, t in zip(a[1], b[1])]
    return [abs(x - y) / s if s > 0 else float("inf") for x, y, s in zip(a[0], b[0], spread)]


def pooled(answers, mean="means", error="standard_errors"):
    """Means and standard errors of all rounds together, which have the same trials but other seeds."""
    means = [sum(values) / len(answers) for values in zip(*(a[mean] for a in answers))]
    errors = [sum(s * s for s in values) ** 0.5 / len(answers) for values in zip(*(a[error] for a in answers))]
    return means, errors


def beside_theory(name, answers, theory, points):
    """Each estimate beside its closed form."""
    found = z_scores(pooled(answers), (theory, [0] * len(theory)))
    return [verdict(f"{name}, {point}", z, 5, "standard errors") for point, z in zip(points, found)]


def deviation(answers, point):
    """The standard deviation of a trial, relative to the mean."""
    means, errors = pooled(answers)
    return errors[point] * sum(a["trials"] for a in answers) ** 0.5 / means[point]


def seconds_to_a_thousandth(answers, point=0):
    """Seconds to a relative standard error of 0.1%, from each round's time and the deviation of all rounds together."""
    return [1e-6 * a["us_per_trial"] * (1e3 * deviation(answers, point)) ** 2 for a in answers]


def threads_of(count):
    return f"{count} thread" + ("s" if count > 1 else "")


class Simulation(Workload):
    summary = "the literal simulation of approximate softmax beside NumPy, PyTorch and JAX"
    program = "bench-peers-simulation"
    peers = {"NumPy": "numpy_peer.py", "PyTorch": "torch_peer.py", "JAX": "jax_peer.py"}
    tune = [dict(work="tune")]
    rounds = (3, 9)
    note = Workload.note + (" (b) is extrapolated on both sides: a round's time per trial, times the trials that the "
                            "standard error of all rounds together says are needed.")
    estimators = ("literal", "conditional", "sufficient_statistics")
    parts = ("float", "double", "words", "box_muller")

    def runs(self, m):
        asked = {work: ("incontext", dict(work=work)) for work in self.estimators}
        for threads in range(1, min(m.cores, 2) + 1):
            asked[f"literal, {threads_of(threads)}"] = "incontext", dict(work="literal", threads=threads)
        asked.update({f"{peer} literal": (peer, dict(work="literal")) for peer in self.peers if peer in m.contestants})
        found = {}
        for name, (who, order) in asked.items():
            trials = self.trials_in(0.2 if m.quick else 0.7, m, who, order)
            found[name] = Run(who, dict(order, trials=trials), "us_per_trial", "us per trial")
        if m.cores >= 2:
            m.contestants["second"] = m.start()  # shares no memory: what two lose against one is the machine's
            found["2 processes"] = found["literal, 1 thread"]._replace(who="incontext + second", scale=0.5)
        for who, name, parts in (("incontext", "", self.parts), ("NumPy", "NumPy ", self.parts[:2])):
            if who in m.contestants:
                found.update({f"{name}normal, {part}": Run(who, dict(work="sampler", precision=part), "ns_per_normal",
                                                           "ns per normal") for part in parts})
        self.peaks = {}  # MiB, of a process of its own for each number of trials
        for trials in (100_000, 1_000_000 if m.quick else 10_000_000):
            process = m.start()
            answer = process.ask(work="literal", trials=trials, seed=5, threads=m.cores)
            self.peaks[f"{trials:,} trials"] = [answer["peak_kib"] / 1024]
            process.close()
        return found

    def trials_in(self, seconds, m, who, order):
        """The number of trials that take about that many seconds."""
        trials = 4096
        while (took := m.ask(who, **order, trials=trials)["seconds"]) <= 0.1 * seconds:
            trials *= 4
        return max(2048, int(trials * seconds / took) // 1024 * 1024)

    def ratios(self, m):
        # AMD's family 25 has instructions for 512 bits and does them in halves
        has_wide = "avx512f" in m.info["simd"]
        full_width = has_wide and m.info["family_model_stepping"][0] != "25"
        to_target = {name: seconds_to_a_thousandth(m.answers.get(name, []), self.best(m.told))
                     for name in ("NumPy literal", "conditional", "sufficient_statistics")}
        bare = [1e-3 * m.told["normals_per_trial"] * ns for ns in m.values["normal, float"]]
        (few, least), (many, most), one, two = *self.peaks.items(), "literal, 1 thread", "literal, 2 threads"
        target = "seconds to 0.1% at the best temperature: NumPy literal / "
        return [
            *[Ratio("a", f"literal trial: {peer} / incontext", f"{peer} literal", "literal", f">= {goal}")
              for peer, goal in zip(self.peers, (28, 13, 15) if full_width else (20, 10, 13))],
            *[Ratio("b", target + work.replace("_", " "), to_target["NumPy literal"], to_target[work], f">= {goal}")
              for work, goal in (("conditional", 400), ("sufficient_statistics", 300))],
            *[Ratio("c", f"a normal, one core, {part}: NumPy / incontext", f"NumPy normal, {part}", f"normal, {part}",
                    goal) for part, goal in (("float", ">= 10" if has_wide else ">= 4"), ("double", ""))],
            *[Ratio("c", f"a normal, one core, {part}", f"normal, {part}", None, f"<= {goal}", "ns")
              for part, goal in (("float", 0.5), ("double", 1.3))],
            Ratio("c", "Philox's words alone / a normal, float", "normal, words", "normal, float"),
            Ratio("c", "Box and Muller's method alone / a normal, float", "normal, box_muller", "normal, float"),
            Ratio("d", "normals per second, 1 thread: literal trial / bare sampler", bare, one, ">= 0.6"),
            Ratio("e", "literal trial: 1 thread / 2 threads", one, two, ">= 1.93"),
            Ratio("e", "literal trial: 1 thread / 2 processes of 1 thread", one, "2 processes"),
            Ratio("e", "literal trial: 2 processes / 2 threads", "2 processes", two),
            Ratio("f", f"peak memory: {many} / {few}", most, least, "<= 1.1"),
        ]

    def best(self, told):
        return min(range(len(told["errors"])), key=told["errors"].__getitem__)

    def agreement(self, told, answers):
        points = [f"temperature {temperature:.3g}" for temperature in told["temperatures"]]
        return [row for name, rounds in answers.items() if "means" in rounds[0]
                for row in beside_theory(name, rounds, told["errors"], points)]

    def facts(self, told, answers):
        for name, rounds in answers.items():
            if "means" in rounds[0]:
                percent = 100 * deviation(rounds, self.best(told))
                yield f"{name}: the deviation of one trial is {percent:.0f} % of the mean at the best temperature"
        yield from (f"peak of memory, {name}: {peak:.1f} MiB" for name, (peak,) in self.peaks.items())

    def self_test(self, ours, program):
        told = ours.about["workload"]
        answers = {work: [ours.ask(work=work, trials=8192, seed=seed, threads=1) for seed in (1, 2)]
                   for work in self.estimators}
        assert all(ours.ask(work="sampler", precision=part)["ns_per_normal"] > 0 for part in self.parts)
        right = self.agreement(told, answers)
        wrong = self.agreement(dict(told, errors=[1.2 * error for error in told["errors"]]), answers)
        assert right and all(row["agrees"] for row in right), right
        assert not any(row["agrees"] for row in wrong), wrong


class Rows(Workload):
    summary = "weights of the rows of a matrix, derivatives and fused attention beside memcpy, Eigen, NumPy and PyTorch"
    program = "bench-peers-rows"
    peers = {"PyTorch": "rows_torch_peer.py", "NumPy": "rows_numpy_peer.py"}
    told = {"length": 4096, "attention": [1, 1, 4096, 64]}
    note = Workload.note + (" Each side is the fastest of its repetitions. One thread is timed by the processor's "
                            "clock, several by the wall's.")
    table = [
        Ratio("a", "softmax of the rows / memcpy", "softmax", "copy", "<= 1.25"),
        Ratio("a", "softmax of the rows in place / memcpy", "softmax in place", "copy", "<= 1.1"),
        *[Ratio("b", f"{name} / softmax", name, "softmax", goal) for name, goal in
          (("SSMax", "<= 1.3"), ("SSA", "<= 1.5"), ("NormSoftmax", "<= 1.6"), ("ReLU over its sum", ""))],
        Ratio("c", "softmax of the rows: PyTorch / incontext", "PyTorch softmax", "softmax", ">= 1"),
        Ratio("d", "attention: three steps of Eigen / fused", "three steps of Eigen", "fused attention", ">= 1"),
        *[Ratio("f", f"{name} {work} / its weights", f"{name} {work}", name, goal) for name, goal in
          (("softmax", "<= 2"), ("SSMax", "<= 2"), ("SSA", "<= 2"), ("NormSoftmax", "<= 3"),
           ("ReLU over its sum", "<= 2")) for work in ("vjp", "jvp")],
        *[Ratio("f", f"{name} derivative / its weights", f"{name} derivative", name, goal) for name, goal in
          (("softmax", "<= 2"), ("SSMax", "<= 2"), ("SSA", "<= 1.6"), ("NormSoftmax", "<= 3"))],
        Ratio("g", "softmax vjp from the weights: PyTorch / incontext",
              "PyTorch softmax vjp", "softmax vjp from the weights", ">= 1"),
        Ratio("g", "softmax vjp: PyTorch, which has the weights / incontext",
              "PyTorch softmax vjp", "softmax vjp", ">= 1"),
        Ratio("g", "softmax vjp: PyTorch, which computes the weights, too / incontext",
              "PyTorch softmax and vjp", "softmax vjp", ">= 1"),
        Ratio("g", "softmax of the rows: NumPy / incontext", "NumPy softmax", "softmax"),
        Ratio("g", "softmax vjp: NumPy / incontext", "NumPy softmax vjp", "softmax vjp"),
        Ratio("l", "fused attention / its multiplications and additions at the peak, not fused",
              "fused attention", "products apart"),
        Ratio("l", "the peak: not fused / fused", "products apart", "products fused"),
        Ratio("l", "PyTorch's fused attention / the peak, not fused", "PyTorch fused attention", "products apart"),
        Ratio("l", "softmax of the rows / its powers alone, in the first cache", "softmax", "powers alone"),
        Ratio("l", "SSA / its logarithms and powers alone, in the first cache", "SSA", "logarithms and powers alone"),
        Ratio("l", "logarithms and powers alone / softmax of the rows", "logarithms and powers alone", "softmax"),
        Ratio("h", "attention: backward / forward", "fused attention backward", "fused attention"),
        Ratio("h", "attention, forward and backward: PyTorch / incontext backward, which repeats the forward pass",
              "PyTorch fused attention and backward", "fused attention backward", ">= 1.1"),
        Ratio("e", "fused attention: PyTorch / incontext", "PyTorch fused attention", "fused attention", ">= 1.15"),
    ]

    def clocks(self, cores):
        """How many threads are measured, and by which clock."""
        return {cores: "wall", 1: "processor"}

    def repetitions(self, work):
        return 2 if any(word in work for word in ("attention", "three", "products")) else 10

    def sides(self):
        """Who does which work, by its name in the table."""
        names = sorted({side for row in self.table for side in (row.above, row.below) if side})
        return {name: name.split(" ", 1) if name.split()[0] in PEERS else ("incontext", name) for name in names}

    def runs(self, m):
        return {
            f"{name}, {threads_of(threads)}":
                Run(who, dict(work=work, threads=threads, repetitions=self.repetitions(work)), clock, "ms", 1e3)
            for threads, clock in sorted(self.clocks(m.cores).items())
            for name, (who, work) in self.sides().items() if who in m.contestants
        }

    def ratios(self, m):
        for threads in map(threads_of, sorted(self.clocks(m.cores))):
            for row in self.table:
                below = row.below and f"{row.below}, {threads}"
                yield row._replace(what=f"{row.what}, {threads}", above=f"{row.above}, {threads}", below=below)

    def checks(self, m):
        scores = [0.25 * ((7 * i) % 40) - 5 for i in range(100)]
        mine, *others = [(who, m.ask(who, work="row", scores=scores)) for who in m.contestants]
        return [verdict(f"{who}, {what} of a row", off(mine[1][what], theirs[what]), 1e-6, "of the largest number")
                for who, theirs in others for what in ("weights", "vjp")]

    def self_test(self, ours, program):
        scores = [0.0, 1.0, -2.0]
        answer = ours.ask(work="row", scores=scores)
        for who, work in self.sides().values():
            if who == "incontext" and "softmax_error" not in work:  # which takes many seconds
                took = ours.ask(work=work, threads=1, repetitions=1)
                assert took["wall"] > 0 and took["processor"] > 0, (work, took)
        powers = [2.718281828459045**z for z in scores]
        weights = [power / sum(powers) for power in powers]
        mean = weights[1] - 2 * weights[2]
        assert off(weights, answer["weights"]) <= 1e-6, answer
        assert off([w * (z - mean) for w, z in zip(weights, scores)], answer["vjp"]) <= 1e-6, answer
        assert not off(answer["weights"], [1.01 * w for w in weights]) <= 1e-6
        assert not off(answer["weights"], [*weights[:2], float("nan")]) <= 1e-6


class Arrays(Rows):
    summary = "rows and attention by the Python package beside NumPy, PyTorch and entmax; curves; single calls"
    program = None
    told = {"name": "arrays", "length": 2048, "attention": [1, 4, 1024, 64]}
    note = Workload.note + " Each side is the fastest of its repetitions, by the wall's clock, on all cores."
    table = [
        Ratio("a", "softmax of the rows: incontext / NumPy", "softmax", "NumPy softmax"),
        Ratio("a", "softmax of the rows: incontext / PyTorch", "softmax", "PyTorch softmax", "<= 1.2"),
        Ratio("b", "softmax vjp from the weights: incontext / PyTorch",
              "softmax vjp from the weights", "PyTorch softmax vjp", "<= 1"),
        Ratio("b", "softmax vjp: incontext / PyTorch, which has the weights",
              "softmax vjp", "PyTorch softmax vjp", "<= 1.2"),
        Ratio("b", "softmax vjp: incontext / PyTorch, which computes the weights, too",
              "softmax vjp", "PyTorch softmax and vjp"),
        Ratio("c", "entmax 1.5: incontext / the package entmax", "entmax 1.5", "PyTorch entmax 1.5"),
        Ratio("d", "attention: incontext / PyTorch", "fused attention", "PyTorch fused attention"),
        Ratio("d", "attention and its gradients: incontext / PyTorch",
              "fused attention and backward", "PyTorch fused attention and backward"),
        *[Ratio("e", f"1000 points of {curve}", f"1000 points of {curve}", None, goal, "ms") for curve, goal in
          (("softmax_error", "<= 2000"), ("gaussian_row", "<= 200"), ("needle_weight", "<= 50"))],
        *[Ratio("f", f"one call of {call}", f"one call of {call}", None, "<= 0.003", "ms")
          for call in ("error(2.0)", "needle_weight_annealed")],
    ]

    def clocks(self, cores):
        return {cores: "wall"}

    def repetitions(self, work):
        return 1 if "1000 points" in work else 10_000 if "one call" in work else 10

    def checks(self, m):
        outputs = [m.ask(who, work="output")["output"] for who in ("incontext", "PyTorch") if who in m.contestants]
        unit = "of the largest number"
        return super().checks(m) + [verdict("attention", off(outputs[0], theirs), 1e-5, unit) for theirs in outputs[1:]]


class Classification(Workload):
    summary = "losses and accuracies of softmax attention on a 100 x 100 grid of kappas and gains, beside NumPy"
    contexts = 2048
    program = "bench-peers-classification"
    peers = {"NumPy": "classification_numpy_peer.py"}
    ways = {"arrays": "NumPy, arrays at once", "cache": "NumPy, class by class in the cache"}
    tune = [dict(work="tune", way=way) for way in ways]
    warm = 1  # the caches

    def runs(self, m):
        asked = {"incontext": ("incontext", dict(work="grid")), "incontext, search": ("incontext", dict(work="search"))}
        if "NumPy" in m.contestants:
            asked.update({name: ("NumPy", dict(work="grid", way=way)) for way, name in self.ways.items()})
        return {name: Run(who, dict(order, trials=self.contexts), "seconds", "ms", 1e3)
                for name, (who, order) in asked.items()}

    def ratios(self, m):
        what = f"the grid, {self.contexts} contexts, {m.cores} cores"
        return [Ratio("a", what, "incontext", None, "<= 10000", "ms"),
                *[Ratio("b", f"the grid: {self.ways[way]} / incontext", self.ways[way], "incontext", goal)
                  for way, goal in (("arrays", ">= 20"), ("cache", ""))]]

    def agreement(self, told, answers):
        ours, *others = [(name, pooled(rounds, "loss", "standard_error"))
                         for name, rounds in answers.items() if name != "incontext, search"]
        return [verdict(f"{name}, {len(losses[0]):,} losses", largest(z_scores(ours[1], losses)), 6, "standard errors")
                for name, losses in others]

    def facts(self, told, answers):
        """The best points."""
        points = [(kappa, gain) for kappa in told["kappas"] for gain in told["gains"]]
        for name, rounds in answers.items():
            if name == "incontext, search":
                best = [sum(a[key] for a in rounds) / len(rounds) for key in ("loss", "kappa", "gain")]
            else:
                losses, _ = pooled(rounds, "loss", "standard_error")
                best = min((loss, *point) for loss, point in zip(losses, points))
            yield f"{name}: the least loss is {best[0]:.4f}, at kappa = {best[1]:.3g} and a gain of {best[2]:.3g}"

    def self_test(self, ours, program):
        a, b = (ours.ask(work="grid", trials=1024, threads=1, seed=seed) for seed in (1, 2))
        found = ours.ask(work="search", trials=1024, seed=1, threads=1)
        assert len(a["loss"]) == 10000 and len(a["accuracy"]) == 100
        assert found["inside"] and found["loss"] <= min(a["loss"]) + 0.02 * found["standard_error"], found
        other, no_numbers = dict(b, loss=[1.3 * x for x in b["loss"]]), dict(b, loss=[float("nan")] * 10000)
        found = self.agreement(None, {"incontext": [a], "right": [b], "other": [other], "no numbers": [no_numbers]})
        assert [row["agrees"] for row in found] == [True, False, False], found


class Training(Workload):
    summary = "Adam on the two matrices of an attention layer, beside JAX and PyTorch, which draw unbalanced contexts"
    program = "bench-peers-training"
    peers = {"JAX": "training_jax_peer.py", "PyTorch": "training_torch_peer.py"}
    rounds = (3, 5)
    steps = {"linear": 4000, "softmax": 8000}  # of ours; the peers take a twentieth, and their time is counted per step
    goals = {"linear": "<= 3.5", "softmax": "<= 5"}  # seconds on two cores

    def runs(self, m):
        taken = {(who, work): steps // (1 if who == "incontext" else 20)
                 for work, steps in self.steps.items() for who in m.contestants}
        return {f"{who}, {work}": Run(who, dict(work=work, steps=steps), "seconds", "us per step", 1e6 / steps)
                for (who, work), steps in taken.items()}

    def ratios(self, m):
        for work, steps in self.steps.items():
            ours = f"incontext, {work}"
            whole = [1e-6 * steps * us for us in m.values[ours]]
            yield Ratio("a", f"{work} attention, {steps} steps, {m.cores} cores", whole, None, self.goals[work], "s")
            for peer in self.peers:
                yield Ratio("b", f"{work} attention: {peer} / incontext", f"{peer}, {work}", ours, ">= 3")

    def verdicts(self, name, mine, theirs):
        """Losses and gradients, which all are in float."""
        gradient = off(mine["gradient"], theirs["gradient"])
        return [verdict(f"{name}, loss", off([mine["loss"]], [theirs["loss"]]), 1e-5, "of the loss"),
                verdict(f"{name}, gradient", gradient, 1e-5, "of the largest derivative")]

    def checks(self, m):
        return [row for peer in m.peers if peer in m.contestants for work, theirs in m.ask(peer, work="check").items()
                for row in self.verdicts(f"{peer}, {work}", m.told[work]["check"], theirs)]

    def self_test(self, ours, program):
        def agree(mine, **theirs):
            return all(row["agrees"] for row in self.verdicts("", mine, {**mine, **theirs}))

        for work, told in ours.about["workload"].items():
            short, long = (ours.ask(work=work, steps=steps, seed=1, threads=1)["loss"] for steps in (10, 100))
            assert long < short < 1.7, (work, short, long)
            right, gradient = told["check"], told["check"]["gradient"]
            error = 1e-3 * max(map(abs, gradient))
            assert agree(right) and not agree(right, loss=0)
            assert not agree(right, gradient=[x + error for x in gradient]) and not agree(right, gradient=gradient[1:])


class Baselines(Workload):
    summary = "reference curves by the Python package, beside ridge regression on drawn contexts in NumPy, on one core"
    told = {"name": "baselines", "dimension": 20, "lengths": 100, "noise": 0.1, "prior": 0.05}
    environment = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    rounds = (3, 5)

    def runs(self, m):
        def timed(unit, work, scale=1e3, **order):
            return Run("incontext", dict(order, work=work), "processor", unit, scale)

        figure, lengths = "all curves of a figure, 200 lengths: ", list(range(1, 201))
        sizes = {f"Bayes risk, d = {d}, l = 2 d": dict(dimension=d, lengths=2 * d, prior=1 / d)
                 for d in (5, 20, 80, 320, 1000)}
        chosen = {"bayes, its limit, least squares": {},
                  "and layers 1, 2, 4": {"layers": [1, 2, 4]},
                  "and 100 pools of 10 and 100 tasks": {"pretraining_tasks": [10, 100]},
                  "and 1000 and 10000 tasks of SGD": {"sgd_tasks": [1000, 10000]}}
        pools = dict(dimension=32, lengths=[64], prior=1 / 32, chosen=dict(pretraining_tasks=[32], pools=300))
        return {"literal": Run("incontext", dict(work="literal", trials=20000), "us_per_trial", "us per trial"),
                "exact": timed("ms", "risk", repetitions=100),
                "200 lengths": timed("ms", "risk", lengths=lengths),
                "300 pools": timed("ms", "curves", **pools),
                **{name: timed("us per length", "risk", 1e6, **size) for name, size in sizes.items()},
                **{figure + name: timed("ms", "curves", lengths=lengths, chosen=c) for name, c in chosen.items()}}

    def ratios(self, m):
        literal, exact = seconds_to_a_thousandth(m.answers["literal"]), [1e-3 * ms for ms in m.values["exact"]]
        return [Ratio("a", "literal NumPy to 0.1% / the exact risk", literal, exact, ">= 1e6"),
                Ratio("b", "Bayes risk at 200 context lengths", "200 lengths", None, "<= 20", "ms"),
                Ratio("c", "a layer of 32 tasks, mean over 300 pools, d = 32", "300 pools", None, "<= 1000", "ms")]

    def agreement(self, told, answers):
        return beside_theory("literal", answers["literal"], answers["exact"][0]["value"], ["Bayes risk"])

    def self_test(self, ours, program):
        literal, exact = [ours.ask(work="literal", trials=2000, seed=1)], ours.ask(work="risk")
        right, = self.agreement(None, dict(literal=literal, exact=[exact]))
        wrong, = self.agreement(None, dict(literal=literal, exact=[dict(value=[1.5 * exact["value"][0]])]))
        assert right["agrees"] and not wrong["agrees"], (right, wrong)


class Python(Workload):
    summary = "the Python package beside the program incontext of --build DIR, serial, without the time to start"
    told = {"name": "python", "trials": 400_000}
    environment = {"OMP_WAIT_POLICY": "passive"}

    def runs(self, m):
        program = m.build / "examples" / "incontext"
        if not os.access(program, os.X_OK):
            raise Unmeasured(f"there is no {program}: build the program incontext there, or name another --build")
        order = dict(program=str(program), trials=self.told["trials"])
        return {side: Run("incontext", dict(order, work=side), "seconds", "s of processor time")
                for side in ("program", "package")}

    def ratios(self, m):
        return [Ratio("a", "Python / C++", "package", "program", "<= 1.05")]

    def agreement(self, told, answers):
        pairs = [(a["means"], b["means"]) for a, b in zip(answers["program"], answers["package"])]
        differ = [sum(x != y for x, y in zip(*pair)) + abs(len(pair[0]) - len(pair[1])) for pair in pairs]
        return [verdict("package and program", number, 0, "numbers of other bits") for number in differ]

    def self_test(self, ours, program):
        mine, theirs = (ours.ask(work=work, program=program, trials=4096) for work in ("program", "package"))
        means = theirs["means"]
        others = [theirs, *(dict(means=wrong) for wrong in ([means[0] * (1 + 2**-52), *means[1:]], means[1:]))]
        found = self.agreement(None, dict(program=[mine] * 3, package=others))
        assert means and [row["agrees"] for row in found] == [True, False, False], (mine, theirs)


WORKLOADS = {type(entry).__name__.lower(): entry for entry in
             (Simulation(), Rows(), Classification(), Training(), Baselines(), Python(), Arrays())}
