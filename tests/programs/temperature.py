"""incontext temperature: the ridge (11), the posterior mean and the rate at which attention comes near it, and controls that every figure
rejects."""
from program import DIABETES, case, near, report


def rejected_controls(found):
    return sum(row["outcome"] == "rejected" for row in found["tables"][-1]["rows"])


@case("ridge and posterior mean on drawn labels have their risk, and attention comes near them at the paper's rate")
def _():
    found = report("temperature --figure 2a --context-lengths 20,100")
    assert len(found["tables"]) == 3
    rows = found["tables"][1]["rows"]
    assert [row["verdict"] for row in rows] == 8 * ["agrees"]
    close, closer, limit = rows[6]["theory"], rows[7]["theory"], rows[7]["limit"]
    assert near(limit, 23, 1e-9)  # d (tr R + s2) + tr R, d = 20, R = I / d, s2 = 0.1
    assert abs(closer - limit) < 0.11 * abs(close - limit)
    assert rejected_controls(found) == 6
    assert found["verdict"]["controls_that_passed"] == 0
    # neither applies under a shift
    assert len(report("temperature --figure 2a --context-lengths 20,100 --input-scale 2")["tables"]) == 1


@case("the posterior mean is the floor of every table, and the ridge (11) and the answer 0 are named as what they are")
def _():
    lines = ("--figure 2a --context-lengths 12,30", "--figure 3b --context-length 12", "--figure 7 --context-length 12",
             "--figure mean-shift --context-length 12", "--input-scale 2 --context-length 12")
    tables = [table for line in lines for table in report(f"temperature {line} --dimension 10 --trials 4096")["tables"]
              if any(one["name"] == "predictor" for one in table["columns"])]
    for table in tables:
        by_law = {}
        for row in table["rows"]:
            law = tuple(row.get(name) for name in ("context_length", "input_covariance_scale", "input_eigenvalue_decay",
                                                   "task_covariance_scale", "noise_variance", "input_mean_length"))
            by_law.setdefault(law, []).append(row)
        for law in by_law.values():
            error = {row["predictor"]: row["theory"] if row["simulation"] is None else row["simulation"] for row in law}
            assert {"ridge (11)", "posterior mean", "answer 0"} <= set(error)
            assert all(one > error["posterior mean"] for name, one in error.items() if name != "posterior mean")
    judged = [row for row in tables[0]["rows"] if row["predictor"] in ("ridge (11)", "posterior mean")]
    assert len(judged) == 4 and all(row["verdict"] == "agrees" for row in judged)


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
