"""incontext temperature: the Bayes ridge and the rate at which attention comes near it, and controls that every figure
rejects."""
from program import DIABETES, case, near, report


def rejected_controls(found):
    return sum(row["outcome"] == "rejected" for row in found["tables"][-1]["rows"])


@case("the Bayes ridge on drawn labels has its posterior's risk, and attention comes near it at the paper's rate")
def _():
    found = report("temperature --figure 2a --context-lengths 20,100")
    assert len(found["tables"]) == 3
    rows = found["tables"][1]["rows"]
    assert [row["verdict"] for row in rows] == 6 * ["agrees"]
    close, closer, limit = rows[4]["theory"], rows[5]["theory"], rows[5]["limit"]
    assert near(limit, 23, 1e-9)  # d (tr R + s2) + tr R, d = 20, R = I / d, s2 = 0.1
    assert abs(closer - limit) < 0.11 * abs(close - limit)
    assert rejected_controls(found) == 6
    assert found["verdict"]["controls_that_passed"] == 0
    # neither applies under a shift
    assert len(report("temperature --figure 2a --context-lengths 20,100 --input-scale 2")["tables"]) == 1


@case("optimal temperatures and rows of data have controls that are rejected")
def _():
    noise = report("temperature --figure 3c --shifts 1,25")
    assert rejected_controls(noise) == noise["verdict"]["controls"] == 3
    shifts = report("temperature --figure 6 --shifts 2")
    assert rejected_controls(shifts) >= 6
    assert shifts["verdict"]["controls_that_passed"] == 0
    for columns in ("--labels", "progression"), ("--without", "progression"):
        assert rejected_controls(report(["temperature", "--data", DIABETES, *columns])) >= 1


@case("the leading order beside an error has the offset of that error")
def _():
    def leading(offset):
        row = report(f"temperature --temperatures 1 --trials 4096 --offset {offset}")["tables"][0]["rows"][0]
        return row["leading_order"] / row["theory"] - 1

    assert near(leading("kept") / leading("removed"), 1, 0.2)  # both are off by 1 / l
    included = report("temperature --temperatures 1 --trials 4096 --query included")
    assert included["tables"][0]["rows"][0]["leading_order"] is None
