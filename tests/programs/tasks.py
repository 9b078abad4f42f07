"""incontext tasks: baselines that agree, the printed tables and their fits, controls."""
from program import case, near, report, row


@case("every figure of incontext tasks agrees and rejects its controls")
def _():
    for figure, tables, comparisons, controls in ("baselines", 4, 25, 6), ("boundary", 4, 3, 6), ("deviant", 3, 3, 5):
        found = report(f"tasks --figure {figure}")
        assert found["program"] == "incontext tasks"
        assert len(found["tables"]) == tables, figure
        verdict = found["verdict"]
        assert verdict["agrees"] is True
        assert (verdict["comparisons"], verdict["controls"], verdict["controls_that_passed"]) == (comparisons, controls, 0)
        assert all(one["outcome"] == "rejected" for one in found["tables"][-1]["rows"])


@case("a mean that rare inputs make is not judged, and wide inputs lose no report")
def _():
    for inputs in "300", "1000", "100000", "1e6":
        for seed in 1, 2:
            found = report(f"tasks --input-stddev {inputs} --trials 20000 --seed {seed}", code=3)
            assert found["verdict"]["disagreements"] == 0
            rows = found["tables"][0]["rows"]
            assert rows[1]["answer"] == "Bayes, one example" and rows[1]["verdict"] == "not_judged"
            assert "rare inputs near 0" in rows[1]["reason"] and "--input-stddev" in rows[1]["reason"]
            assert rows[3]["verdict"] == "agrees"


@case("events that are expected too rarely are not judged, and say so")
def _():
    found = report("tasks --trials 1000 --lengths 1,10", code=3)
    assert found["verdict"]["disagreements"] == 0
    left = 0
    for one in found["tables"][1]["rows"]:
        p = one["theory"]
        is_mean = one["what"] == '"no" to "every", mean error'
        is_rare = not is_mean and 1000 * min(p, 1 - p) < 50
        assert (one["verdict"] == "not_judged") == is_rare
        assert not is_rare or one["reason"] == "too few events: increase --trials"
        left += is_rare
    assert left > 2
    assert found["verdict"]["not_judged"] == left


@case("the chance level of the reasoning task is that of always d, not a coin's")
def _():
    table = report("tasks --trials 1048576")["tables"][2]
    assert near(row(table, what="right: a coin between c and d")["theory"], 6 / 11, 1e-15)
    assert near(row(table, what="right: always d")["theory"], 731 / 1331, 1e-15)


@case("one bound fits most of the printed rows, and not SSA's")
def _():
    fits, bounds = report("tasks --figure boundary --trials 100000")["tables"][:2]
    assert len(fits["rows"]) == 21
    assert sum(one["within"] == "yes" for one in fits["rows"]) == 17
    for model in "SSA", "Llama 3.3 70b":
        assert row(fits, model=model)["within"] == "no"
    softmax = row(fits, model="Softmax")
    assert near(softmax["bound"], 14.39, 0.01)
    assert softmax["residual"] < 0.2 * softmax["proportional_residual"]
    assert near(row(bounds, model="Softmax")["bound_at_10"], 12.396, 1e-3)


@case("the printed error of deviant inputs is larger than that of the answer 0")
def _():
    printed = report("tasks --figure deviant --trials 100000")["tables"][0]["rows"]
    assert len(printed) == 11
    assert printed[-1]["paper"] > printed[-1]["no_example"]
    assert printed[0]["paper"] < printed[0]["deviant_alone"]
    assert all(one["clipped"] < 1e-4 for one in printed)


@case("all devices draw the same sequences")
def _():
    serial, *others = (report(f"tasks --trials 60000 --device {device}")["tables"] for device in ("serial", "openmp", "tbb"))
    assert all(other == serial for other in others)


@case("printed counts and scores are tested as SciPy tests them, and were copied rightly")
def _():
    found = report("tasks --figure printed")
    counts, probes = found["tables"][:2]
    # scipy.stats.fisher_exact of SciPy 1.17
    fisher = {("Table 1, main", "NormSoftmax"): 0.21052631578947367, ("Table 1, main", "temperature 40"): 0.1788954079975752,
              ("Table 1, main", "weight decay 0.5"): 0.6499166468206717,
              ("Table 1, no position", "NormSoftmax"): 0.14285714285714288, ("Table 1, no position", "warm-up 20"): 1.0,
              ("Table 2", "NormSoftmax"): 4.130504412047905e-16, ("Table 2", "temperature 1/3"): 0.00011891461145520138,
              ("Table 2", "Heat Treatment"): 6.501736032210344e-07, ("Table 2", "warm-up 20"): 0.012951229677508008}
    for one in counts["rows"]:
        if (one["table"], one["method"]) in fisher:
            assert near(one["p_value"] / fisher.pop((one["table"], one["method"])), 1, 1e-9)
    assert not fisher
    # scipy.stats.ttest_rel, and permutation_test of the sum of positive ranks over all signs
    paired = {("MLM", "SSA 1.5"): (1.9270588235294128, 0.1904357780538239, 0.2246856689453125, 11),
              ("holistic", "SSA 1.1"): (3.194117647058823, 0.09621631256338894, 0.3116455078125, 10),
              ("holistic", "SSA 2"): (-5.529411764705884, 0.03686119234004725, 0.10089111328125, 6)}
    for one in probes["rows"]:
        if (one["metric"], one["model"]) in paired:
            mean, t, wilcoxon, better = paired.pop((one["metric"], one["model"]))
            assert near(one["difference"], mean, 1e-9) and near(one["p_value"], t, 1e-9)
            assert near(one["wilcoxon_p_value"], wilcoxon, 1e-9) and one["better"] == better
    assert not paired
    assert found["verdict"]["agrees"] is True and found["seed"] is None  # nothing is drawn
