"""incontext gradients: figures whose theory agrees, what each of them shows, refusals."""
import math

from program import case, near, refused, report


def layer(line, code=0):
    return report(f"gradients {line} --dimension 16 --context-length 64", code=code)


def rows_of(line):
    return layer(line)["tables"][0]["rows"]


@case("every figure of incontext gradients agrees")
def _():
    for figure, tables, comparisons in (("temperature", 3, 21), ("frozen", 3, 15), ("schedule", 3, 21), ("normsoftmax", 2, 10),
                                        ("queries", 2, 14)):
        found = layer(f"--figure {figure}")
        assert found["program"] == "incontext gradients"
        assert len(found["tables"]) == tables, figure
        assert found["verdict"]["agrees"] is True
        assert found["verdict"]["comparisons"] == comparisons
        for row in found["tables"][0]["rows"]:
            assert row["standard_error"] > 0
            assert near(row["simulation"] / row["theory"], 1, 0.2)


@case("two groups and the Jacobian's ends agree, their near misses are rejected")
def _():
    for figure, comparisons in ("groups", 15), ("ends", 13):
        verdict = report(f"gradients --figure {figure} --context-length 64")["verdict"]
        assert verdict["agrees"] is True
        assert verdict["comparisons"] == comparisons
        assert verdict["controls"] >= 5
        assert verdict["controls_that_passed"] == 0


@case("every epoch of the schedule that is shown has its own temperature")
def _():
    temperatures = [row["temperature"] for row in rows_of("--figure schedule")]
    assert temperatures[0] > 0
    assert all(one < next for one, next in zip(temperatures, temperatures[1:]))


@case("the ratio is linear in 1/tau while the scores are narrow")
def _():
    wide, narrow = rows_of("--temperatures 100,1000")[:2]
    assert near(wide["simulation"] / narrow["simulation"], 10, 1e-2)
    slope = narrow["theory"] / narrow["score_stddev"]
    assert near(slope / (math.sqrt(64 / 16) * math.sqrt(1 + 16 / 64)), 1, 0.03)


@case("the score standard deviation follows the layer's options")
def _():
    def score_stddev(more=""):
        return rows_of(f"--temperatures 2 {more}")[0]["score_stddev"]

    usual = score_stddev()
    assert near(usual / (0.02 * 0.02 * 16 * 8 / 2), 1, 1e-12)
    assert near(score_stddev("--weight-stddev 0.04") / usual, 4, 1e-12)
    assert near(score_stddev("--key-dimension 16") / usual, 0.5, 1e-12)


@case("frozen rows: the root mean square grows, the median vanishes")
def _():
    less, more = rows_of("--figure frozen --score-stddevs 8,32")[:2]
    assert more["simulation"] > less["simulation"]
    assert more["median"] < 0.05 * less["median"]


@case("a mean that few trials carry is not judged")
def _():
    found = layer("--figure frozen --score-stddevs 1,1000 --trials 256", code=3)
    judged, row = found["tables"][0]["rows"][:2]
    assert row["z"] is None
    assert row["verdict"] == "not_judged"
    assert "of the 256 trials contribute to the mean" in row["reason"]
    assert judged["z"] is not None
    assert found["verdict"]["comparisons"] == 6
    assert found["verdict"]["judged"] == 4


@case("Heat Treatment starts where it is told and ends at the root of the key dimension")
def _():
    rows = rows_of("--figure schedule --epochs 7 --start-temperature 0.5")
    assert len(rows) == 4  # it has arrived after half of the epochs
    assert (rows[0]["temperature"], rows[-1]["temperature"]) == (0.5, 8)
    assert rows[0]["simulation"] > 3 * rows[-1]["simulation"]


@case("NormSoftmax has an approximation only where some rows have a standard deviation above 1 and others below")
def _():
    rows = rows_of("--figure normsoftmax --scales 1,156,2000")
    assert len(rows) == 6
    assert rows[1]["z"] is not None
    assert near(rows[3]["score_stddev"], 1, 0.1)
    assert rows[3]["theory"] is None and rows[3]["verdict"] is None
    assert rows[3]["approximate"] is not None


@case("a deeply frozen row's median has a closed form beside it")
def _():
    soft, frozen = rows_of("--figure frozen --score-stddevs 4,32 --trials 16384")[:2]
    assert soft["frozen_median"] is None
    assert abs(math.log(frozen["frozen_median"] / frozen["median"])) < 0.3
    assert abs(math.log(frozen["simulation"] / frozen["median"])) > 5  # the root mean square


@case("NormSoftmax does not see the scale")
def _():
    rows = rows_of("--figure normsoftmax --scales 0.01,1")
    assert len(rows) == 4
    assert rows[1]["simulation"] != rows[3]["simulation"]  # draws of their own
    assert near(rows[1]["simulation"] / rows[3]["simulation"], 1, 0.05)
    assert rows[1]["theory"] == rows[3]["theory"]
    assert rows[2]["simulation"] > 90 * rows[0]["simulation"]


@case("the same run of incontext gradients gives the same bytes, another seed others")
def _():
    def tables(seed):
        return layer(f"--trials 256 --seed {seed}")["tables"]

    assert tables(5) == tables(5)
    assert tables(5) != tables(6)


@case("incontext gradients refuses by name and value")
def _():
    for line, part in (("--figure training", "--figure: is unknown"), ("--temperatures 1,0", "--temperatures"),
                       ("--score-stddevs 1", "--score-stddevs"), ("--figure frozen --weight-stddev 1", "--weight-stddev"),
                       ("--figure schedule --epochs 1", "--epochs: is too small"), ("--weight-stddev -1", "--weight-stddev"),
                       ("--trials 1", "--trials: is too small")):
        refused(f"gradients {line}", f"incontext gradients: {part}")
