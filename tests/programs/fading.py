"""incontext fading: figures whose theory agrees and whose negative controls are rejected, refusals."""
import math

from program import case, near, refused, report, run


@case("every figure of incontext fading agrees, and its controls are rejected")
def _():
    for figure, tables, comparisons, controls in (("phase", 2, 30, 6), ("fading", 3, 9, 3), ("retrieval", 3, 6, 2),
                                                  ("bounded", 3, 6, 2), ("diagram", 3, 8, 4)):
        # the control at w = 0.1 is 0.3% off and needs more rows to be told from the right value
        scores = "1e7" if figure == "fading" else "2e6"
        found = report(f"fading --figure {figure} --lengths 100,1000 --most-scores {scores}")
        assert found["program"] == "incontext fading"
        assert len(found["tables"]) == tables, figure
        assert found["verdict"]["agrees"] is True
        assert found["verdict"]["comparisons"] == comparisons
        rows = found["tables"][-1]["rows"]
        assert len(rows) == controls
        assert all(row["outcome"] == "rejected" and abs(row["z"]) > 5 for row in rows)


@case("the weight of a needle among two uniform scores is the double integral")
def _():
    row = report("fading --figure bounded --lengths 3 --s 2 --heights 1.1 --trials 4096")["tables"][1]["rows"][0]
    beta, steps = 2 * math.log(3), 1000
    needle = math.exp(beta * row["score"])
    powers = [math.exp(beta * (i + 0.5) / steps) for i in range(steps)]
    exact = sum(needle / (needle + a + b) for a in powers for b in powers) / steps**2
    assert near(row["theory"], exact, 1e-6)
    assert not near(row["theory"], 1.001 * exact, 1e-6)


@case("the plane of needle and noise: the weight rises through one half at the boundary")
def _():
    boundary, plane = (table["rows"] for table in report(
        "fading --figure diagram --lengths 10000 --points 4 --most-scores 1 --threads 1")["tables"][:2])
    assert len(boundary) == 4 and len(plane) == 16
    for i, at in enumerate(boundary):
        assert 0.85 * at["boundary"] < at["half"] < at["boundary"]
        assert at["phase"] == ("averaging" if at["noise"] < 2 else "frozen")
        cells = plane[4 * i:4 * i + 4]
        for cell in cells:
            assert cell["noise"] == at["noise"]
            assert (cell["weight"] > 0.5) == (cell["height"] > at["half"])
        assert all(one["weight"] < next["weight"] for one, next in zip(cells, cells[1:]))


@case("incontext fading: usual rows that cannot be judged leave a run complete, rows that were asked for do not")
def _():
    line = "fading --figure fading --gap 8 --variance 2 --weights 0.5"
    few = f"{line} --trials 4096 --most-scores 1000000"
    usual = run(few)
    assert usual.code == 0
    assert "Agreement: " in usual.output and "Shown without a verdict, " in usual.output
    assert usual.output.count("decide how far") == 1  # the rows share their reason, which is given once
    requested = run(f"{few} --lengths 10,100")
    assert requested.code == 3
    assert "Incomplete: " in requested.output and "Not judged: n = 100, SSMax" in requested.output
    exact = run(f"{line} --no-simulation")
    assert exact.code == 0
    assert "1100" in exact.output and "Exact values alone" in exact.output
    assert not any(word in exact.output for word in ("simulation", "± error", "controls", "not reached"))


@case("means that depend on rare rows are not judged, with a reason, and medians are printed beside them")
def _():
    few = report("fading --figure fading --height 6 --lengths 100000 --most-scores 1", code=3)
    softmax, ssmax = few["tables"][0]["rows"]
    assert softmax["z"] is not None  # softmax averages over many competitors
    assert (ssmax["map"], ssmax["z"], ssmax["verdict"]) == ("SSMax", None, "not_judged")
    assert "a few rare trials decide" in ssmax["reason"]
    assert few["verdict"]["agrees"] is None
    assert (few["verdict"]["comparisons"], few["verdict"]["judged"]) == (2, 1)
    ipr = report("fading --lengths 1000 --score-stddevs 0.5 --trials 4096")["tables"][0]["rows"][0]
    assert ipr["quantity"] == "Y_2"
    assert ipr["median"] < 0.8 * ipr["simulation"]
    assert ipr["largest_share"] > 1 / 4096
    rows = report("fading --lengths 100000 --score-stddevs 0.5 --most-scores 1", code=3)["tables"][0]["rows"]
    assert rows[1]["quantity"] == "max a"
    assert rows[1]["z"] is None  # a few of the 128 rows determine the mean of the largest weight
    assert rows[2]["z"] is not None  # entropy


@case("incontext fading gives the same numbers on every device")
def _():
    serial, *others = (report(f"fading --figure retrieval --lengths 50 --trials 500 --device {device}")["tables"]
                       for device in ("serial", "openmp", "tbb"))
    assert all(other == serial for other in others)


@case("the optimum's figure: log n among bounded competitors, a constant among normal ones")
def _():
    found = report("fading --figure optimum --lengths 20,50 --trials 20000")
    assert found["verdict"]["agrees"] is True
    assert found["verdict"]["comparisons"] == 30
    assert found["verdict"]["controls_that_passed"] == 0
    lines = found["tables"][1]["rows"]
    assert len(lines) == 5
    assert near(found["tables"][0]["rows"][2]["p_1000"], 2, 1e-4)
    for bounded in lines[:2]:
        assert bounded["log_residual"] < 0.4 * bounded["root_residual"]
    assert abs(lines[2]["log_slope"]) < 1e-4
    assert lines[4]["root_residual"] < 1e-3 * lines[4]["log_residual"]
    assert near(lines[4]["root_slope"], 0.8 * math.sqrt(2), 1e-3)


@case("incontext fading refuses what cannot be used, by name and value")
def _():
    for line, part in (
            ("--figure gap", "--figure: is unknown (value = gap; needs phase|fading|retrieval|bounded|diagram|optimum)"),
            ("--lengths 100,2", "--lengths: is too small (value = 2; needs at least 3)"),
            ("--lengths 1e10", "--lengths: is too large"),
            ("--figure retrieval --s 0", "--s: "),
            ("--figure retrieval --score-stddevs 1", "--score-stddevs: has no meaning with --figure retrieval"),
            ("--points 4", "--points: has no meaning with --figure phase"),
            ("--figure diagram --points 0", "--points: is too small (value = 0; needs at least 1)"),
            ("--figure diagram --s 1", "--s: has no meaning with --figure diagram"),
            ("--height 3", "--height: has no meaning with --figure phase"),
            ("--score-stddevs 0.5,-1", "--score-stddevs: "),
            ("--trials 100 --relative-error 0.1", "--trials excludes --relative-error")):
        refused(f"fading {line}", f"incontext fading: {part}")
