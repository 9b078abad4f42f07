"""incontext baselines: exact curves that the same readers, run on drawn contexts, agree with."""
from program import case, report, rows


@case("incontext baselines agrees, and rejects the limit of large sizes where it can")
def _():
    found = report("baselines --trials 262144 --seed 3 --context-lengths 10,20,40")
    assert found["verdict"]["agrees"] is True
    assert (found["verdict"]["comparisons"], found["verdict"]["controls"]) == (13, 3)
    assert all(row["outcome"] == "rejected" for row in found["tables"][-1]["rows"])


@case("without noise there is no Bayes row to judge, and no limit")
def _():
    found = report("baselines --noise-variance 0 --context-lengths 30 --trials 8192")
    assert found["verdict"]["agrees"] is True
    assert found["tables"][1]["rows"] and not rows(found["tables"][1], reader="bayes")
    assert "bayes_limit" not in found["tables"][0]["rows"][0]
