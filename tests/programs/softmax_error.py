"""incontext softmax-error: the exact error beside the trials, the optimum of every table, refusals."""
import json
import math

from program import ROOT, case, near, refused, report, row, rows


def scaled(line, code=0):
    """Of scores m x_j . x_q and values v y_j, at d = 4 and l = 50 unless the line says otherwise."""
    for option, value, varied in (("--dimension ", "4", "--vary dimension"),
                                  ("--context-length ", "50", "--vary context-length"), ("--trials ", "8192", "-")):
        if option not in line and varied not in line:
            line += f" {option}{value}"
    return report(f"softmax-error {line} --attention scaled", code=code)


@case("incontext softmax-error prints the exact error on record, and agrees with both trials")
def _():
    oracles = json.loads((ROOT / "tests/oracles/regression.json").read_text())["cases"]
    [exact] = (one["out"]["error"] for one in oracles if one["id"] == "softmax_error_isotropic_exact-1")

    def parabola(t):  # d = 4, l = 50, m = v = 1, a = 1, b = 1/4, s2 = .1: of approximate softmax, its offset kept
        return 1.1 + 1.1 / 50 - 2 * 0.98 / t + 4 * 49 / 2500 * 13.6 / t**2

    for estimator in "reduced", "literal":
        found = scaled(f"--temperatures 2.2,1,5 --task-variance 0.25 --estimator {estimator}")
        assert found["verdict"]["agrees"] is True
        assert found["verdict"]["comparisons"] == 5
        assert found["arguments"]["temperatures"] == [2.2, 1, 5]
        at = {one["temperature"]: one for one in rows(found["tables"][0], attention="softmax")}
        assert near(at[2.2]["theory"], float(exact), 1e-9)
        assert near(at[2.2]["approximate_softmax"], parabola(2.2), 1e-12)
        assert at[5]["second_order"] is not None
        assert at[2.2]["second_order"] is None  # above the lowest temperature, 1.41, and below sqrt(3) times that
        assert at[1]["second_order"] is None


@case("incontext softmax-error: every table compares, names its domain and finds the optimum")
def _():
    for line in ("--temperatures 1,5", "--vary context-length --context-lengths 3,10",
                 "--vary dimension --dimensions 1,8 --temperatures 1,5", "--vary map --exponents 2"):
        found = scaled(line)
        assert found["verdict"]["agrees"] is True, line
        errors, optima = found["tables"]
        assert len(errors["rows"]) == found["verdict"]["comparisons"]
        for one in errors["rows"]:
            assert all(one[name] is not None for name in ("theory", "bayes", "simulation", "standard_error", "z"))
            assert one["bayes"] < one["theory"]
            if one.get("temperature", 10) <= math.sqrt(6):
                assert one["second_order"] is None
            if one["second_order"] is not None:
                assert one["theory"] < one["second_order"]
        assert any("absent up to τ = 2.4495" in note for note in errors["notes"])
        for one in optima["rows"]:
            if "SSA" not in one.get("map", ""):
                assert one["saving"] >= 0
                assert one["error"] <= one["error_there"]


@case("incontext softmax-error: the Bayes risk is that of incontext baselines at the same size and defaults")
def _():
    for d, l in (12, 64), (30, 20):
        found = report(f"softmax-error --attention scaled --dimension {d} --context-length {l} --temperatures 3 --no-simulation")
        (curves,) = report(f"baselines --dimension {d} --context-lengths {l} --no-simulation")["tables"]
        for one in found["tables"][0]["rows"]:
            assert near(one["bayes"], curves["rows"][0]["bayes"], 1e-12)
            assert not near(one["bayes"], curves["rows"][0]["bayes_limit"], 1e-4)


@case("incontext softmax-error: the second order is absent where its own term is too large")
def _():
    # At d = 40, l = 1000 and the optimal temperature of softmax it would be 5.74 beside 0.589.
    errors, optima = scaled("--dimension 40 --context-length 1000 --temperatures 3,12 --trials 1024")["tables"]
    for one in errors["rows"]:
        assert one["second_order"] is None or near(one["second_order"] / one["theory"], 1, 0.1)
    for one in optima["rows"]:
        assert row(errors, attention="softmax, τ*", temperature=one["optimal"])["second_order"] is None
    assert row(errors, attention="softmax", temperature=12)["second_order"] is not None
    assert any("where its term in 1/l is more than 50%" in note for note in errors["notes"])


@case("incontext softmax-error has by default the layer of incontext temperature, in one law with the same options")
def _():
    for law in ("--input-scale 2 --context-length 40",
                "--dimension 5 --input-variance 2 --task-variance 0.3 --test-noise-variance 0.4"):
        errors = []
        for program in "softmax-error", "temperature --scoring softmax":
            found = report(f"{program} {law} --temperatures 3 --no-simulation")
            assert found["verdict"]["agrees"] is None
            assert found["trials"] == 0
            errors.append(rows(found["tables"][0], temperature=3)[0]["theory"])
        assert errors[0] > 0
        assert near(errors[0] / errors[1], 1, 1e-8)


@case("incontext softmax-error: SSMax at its best scale is softmax at its best temperature")
def _():
    softmax, ssmax = scaled("--vary map --exponents 2")["tables"][1]["rows"][:2]
    assert near(softmax["error"] / ssmax["error"], 1, 1e-9)
    assert near(softmax["optimal"] * ssmax["optimal"] * math.log(50), 1, 1e-9)


@case("an error that falls to the end of the search is shown as such, and not simulated")
def _():
    # d = 20, l = 100: SSA with a larger base always errs less
    errors, optima = report("softmax-error --vary map --exponents 1.5,3 --trials 4096")["tables"]
    assert len(rows(optima, optimal="edge of the search")) == 2
    assert "the highest value that was searched" in " ".join(optima["notes"])
    for one in errors["rows"]:
        assert not one["attention"].endswith("b*")
        assert one["theory"] is not None


@case("incontext softmax-error: every option of the law counts")
def _():
    def at(more=""):
        return row(scaled(f"--dimension 2 --context-length 6 --temperatures 1.6 {more}")["tables"][0],
                   attention="softmax", temperature=1.6)

    plain = at()
    assert plain["theory"] is not None
    for more in ("--input-variance 2", "--task-variance 2", "--noise-variance 0.7", "--key-query-scale 0.5",
                 "--label-value 0.5"):
        other = at(more)
        assert other["theory"] != plain["theory"], more
        assert other["simulation"] != plain["simulation"], more


@case("incontext softmax-error refuses options that cannot be used")
def _():
    for line, part in (
            ("--vary color", "--vary: is unknown (value = color;"),
            ("--temperatures 1,0", "--temperatures: is not positive (value = 0;"),
            ("--context-length 1", "--context-length: is too small (value = 1;"),
            ("--vary context-length --context-lengths 5,1", "--context-lengths: is too small (value = 1;"),
            ("--vary dimension --dimensions 0", "--dimensions: is too small (value = 0;"),
            ("--vary map --exponents 0.5", "--exponents: is too small (value = 0.5;"),
            ("--vary map --estimator literal", "--estimator: does not support"),
            ("--dimensions 3", "--dimensions: has no meaning with --vary temperature"),
            ("--key-query-scale -1", "--key-query-scale: is out of range (value = -1;")):
        refused(f"softmax-error {line}", part)


@case("incontext softmax-error --vary heads: a second head halves what the best temperature alone leaves")
def _():
    found = scaled("--vary heads --dimension 8 --context-length 64 --heads 1,2")
    assert found["verdict"]["agrees"] is True and found["verdict"]["comparisons"] == 3
    alone, one, two = (line["theory"] for line in rows(found["tables"][0]))
    assert near(alone, 0.4637, 1e-3) and near(one, 0.3972, 1e-3) and near(two, 0.2346, 1e-3)
    refused("softmax-error --vary heads --mean-shift 1", "--vary: does not support --mean-shift")
    refused("softmax-error --vary heads --heads 5", "--heads: is too large (value = 5")
