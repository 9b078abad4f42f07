"""The response of the program to input that can be used: exit code 0 where theory and simulation agree, and 1 where they
do not."""
import json
import random
import re

from program import DIABETES, Folder, case, near, npy, report, row, run, subcommands


def temperature(line, code=0):
    words = line.split() if isinstance(line, str) else line
    return report(["temperature", *words, "--trials", "4096", "--device", "serial"], code=code)


@case("every figure prints its tables with theory, simulation, error and z, and agrees")
def _():
    for figure in "2a", "2b", "2c", "3a", "3b", "3c", "6", "7", "mean-shift", "scores":
        lengths = "--context-lengths 5,12,20" if figure in ("2a", "2c", "3a") else "--context-length 12"
        found = temperature(f"--figure {figure} --dimension 4 {lengths}")
        assert found["verdict"]["agrees"] is True
        assert found["arguments"]["figure"] == figure
        judged = 0
        tables = [table for table in found["tables"] if "Negative controls" not in table["title"]]
        assert "Family-wise bound" in tables[-1]["notes"][-1]
        for table in tables:
            for one in table["rows"]:
                if one.get("predictor") in ("best layer", "answer 0"):  # computed
                    assert one["theory"] is not None
                    continue
                is_unknown = figure == "mean-shift" and one["predictor"] == "posterior mean"
                assert is_unknown or (one["theory"] is None) != (one["approximate"] is None)
                assert one["simulation"] is not None and one["standard_error"] is not None
                assert one["trials"] > 0
                assert one["verdict"] == (None if one["theory"] is None else "agrees")
                judged += one["z"] is not None
        assert judged == found["verdict"]["comparisons"]
        assert judged >= 6


@case("the free sweep follows its options")
def _():
    small = "--dimension 3 --context-length 8 --temperatures 0.8,3"

    def at(more="", code=0):
        return row(temperature(f"{small} {more}", code)["tables"][0], temperature=3)

    plain = at()
    assert temperature(small)["arguments"]["temperatures"] == [0.8, 3]
    assert plain["theory"] is not None
    for more in ("--input-scale 2", "--task-scale 2", "--noise-variance 0.7", "--test-noise-variance 0.7", "--mean-shift 1",
                 "--task-mean 1", "--test-task-mean 1", "--query included", "--offset removed", "--scoring linear"):
        shifted = at(more)
        assert shifted["theory"] != plain["theory"], more
        assert shifted["simulation"] != plain["simulation"], more
    for estimator in "conditional", "sufficient-statistics":
        faster = at(f"--estimator {estimator}")
        assert faster["theory"] == plain["theory"]
        assert faster["standard_error"] < 0.8 * plain["standard_error"]
    softmax = at("--scoring softmax")
    assert softmax["verdict"] == "agrees"
    assert softmax["approximate_softmax"] == plain["theory"]
    assert not near(softmax["theory"] / plain["theory"], 1, 1e-3)
    # Where no exact law is known, nothing is judged.
    unknown = temperature(f"{small} --scoring softmax --query included --mean-shift 1", code=3)
    assert row(unknown["tables"][0], temperature=3)["z"] is None
    assert row(unknown["tables"][0], temperature=3)["theory"] is None
    assert "Nothing was judged: no row has both an exact theory and a simulation." in unknown["verdict"]["text"]


@case("the same run gives the same bytes, another seed others")
def _():
    def tables(seed):
        return temperature(f"--dimension 3 --context-length 8 --seed {seed}")["tables"]

    assert tables(5) == tables(5)
    assert tables(5) != tables(6)


@case("real inputs have an exact theory, a Gaussian one and a simulation, with labels from the law or from the file")
def _():
    law = temperature(f"--data {DIABETES} --without progression --standardize --context-length 30")
    assert law["verdict"]["agrees"] is True
    attention = [one for one in law["tables"][0]["rows"] if one["predictor"].startswith("attention")]
    assert attention
    for one in attention:
        assert one["gaussian_theory"] != one["theory"]
        assert near(one["gaussian_theory"] / one["theory"], 1, 0.05)
    own = temperature(f"--data {DIABETES} --labels progression --standardize --context-length 30")
    assert own["verdict"]["agrees"] is True
    assert own["tables"][0]["rows"][0]["least_squares_theory"] != own["tables"][0]["rows"][0]["theory"]
    some = temperature(f"--data {DIABETES} --columns bmi,s5 --context-length 30")
    assert "d = 2" in some["tables"][0]["title"]


@case("the units of the inputs do not matter but for the mean")
def _():
    # With a prior that gives every input the same share, the error of centered inputs does not depend on their units.
    draw = random.Random(1)
    inputs = [[draw.uniform(-1, 1) for _ in range(3)] for _ in range(40)]
    means = [sum(column) / 40 for column in zip(*inputs)]
    inputs = [[x - mean for x, mean in zip(one, means)] for one in inputs]
    scaled = [[a, 1000 * b, c] for a, b, c in inputs]
    moved = [[a + 5, b + 7000, c - 3] for a, b, c in scaled]
    with Folder() as folder:
        raw, scaled, moved = (folder.write(f"{k}.npy", npy(table)) for k, table in enumerate((inputs, scaled, moved)))

        def theory(*words):
            return temperature(["--data", *words])["tables"][0]["rows"][0]["theory"]

        expected = theory(raw)
        for words in (scaled,), (scaled, "--standardize"), (moved, "--center"):
            assert near(theory(*words) / expected, 1, 1e-9), words
        assert theory(moved) > 2 * expected
        assert "The inputs are not centered" in temperature(["--data", moved])["tables"][0]["notes"][0]


@case("scores of attention give the moment-ratio temperature")
def _():
    with Folder() as folder:
        found = report(["temperature", "--scores", folder.write("scores.npy", npy(6 * [6 * [2.0]]))])
        assert found["tables"][0]["rows"][0]["value"] == 2
        assert found["verdict"] is None  # nothing is there to be judged


# of every subcommand that has a default, options that make it take a second, and how many tables it prints: one for every
# task, trained map or law
DEFAULTS = {
    "temperature": ("--trials 64", 1), "softmax-error": ("--trials 64", 1), "fading": ("--trials 1500 --lengths 20", 1),
    "gradients": ("--trials 64", 1), "baselines": ("--trials 64", 1),
    "classify": ("--trials 64", 1), "tasks": ("--trials 64", 3),
    "train classification": ("--steps 20 --seeds 1 --trials 64", 2), "train regression": ("--steps 20 --seeds 1", 1),
    "train reasoning": ("--steps 100 --seeds 1", 1), "train affine": ("--steps 2", 1),
    "train quantifier": ("--steps 2", 1), "train recall": ("--steps 2 --seeds 1 --lengths 10", 1),
    "train needle": ("--steps 2 --seeds 2", 2)}


@case("a default report is the answer: one table with at most three notes, and --audit shows all that JSON has")
def _():
    assert set(DEFAULTS) | {"scores", "verify", "merge", "completion"} == set(subcommands())
    for line, (small, tables) in DEFAULTS.items():
        text = run(f"{line} {small} --device serial").output
        blocks = re.split(r"\n(?:  -+)+\n", text)[1:]  # what follows the line below a table's headings
        assert len(blocks) == tables, (line, text)
        for block in blocks:
            parts = block.split("\n\n")
            notes = re.findall(r"^  \S", parts[1], re.MULTILINE) if parts[1].startswith("  ") else []
            assert len(notes) <= 3, (line, parts[1])
        assert "\nNegative controls: " not in text, line
        audit = run(f"{line} {small} --device serial --audit").output
        assert audit != text, line
        for table in json.loads(run(f"{line} {small} --device serial --format json").output)["tables"]:
            for words in table["title"], *table["notes"]:
                assert " ".join(words.split()) in " ".join(audit.split()), (line, words)


@case("the output file holds the format asked for, quiet leaves the screen empty")
def _():
    small = ["temperature", *"--dimension 2 --context-length 4 --trials 2048 --format json".split()]
    with Folder() as folder:
        loud = run(small, ["--output", folder.file("report.json")])
        assert loud.code == 0 and "Agreement" in loud.output
        assert json.loads(folder.read("report.json"))["program"] == "incontext temperature"
        quiet = run(small, ["--output", folder.file("report.json"), "--quiet"])
        assert quiet.code == 0 and quiet.output == ""
        assert folder.names() == ["report.json"]
