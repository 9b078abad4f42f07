"""incontext train: trained layers that agree with their rules, sequences, reasoning, refusals; at sizes that take a
second."""
from program import case, near, refused, report, rows, run


def context(line, code=0):
    """Training on contexts; OpenMP's waiting threads would take the processor from the other tests."""
    return report(f"train classification {line} --device serial", code=code)


def all_rejected(table):
    return table["rows"] and all(one["outcome"] == "rejected" for one in table["rows"])


def all_agree(table):
    return table["rows"] and all(one["verdict"] == ("refuted" if one.get("relation") == "!=" else "agrees")
                                 for one in table["rows"])


@case("trained linear attention becomes one step of gradient descent, and the near miss is rejected")
def _():
    found = context("--map linear --dimension 3 --context-length 50 --steps 1200 --seeds 2 --trials 2048")
    assert found["verdict"]["agrees"] is True
    trained, controls = found["tables"][:2]
    assert len(trained["rows"]) == 2
    assert all_agree(trained)
    assert all(one["cosine"] > 0.99 for one in trained["rows"])
    assert all_rejected(controls)


@case("a layer that has hardly been trained is no rule")
def _():
    found = context("--map linear --dimension 3 --steps 20 --seeds 1 --trials 2048", code=1)
    assert found["verdict"]["agrees"] is False


@case("training that diverges says so, although its gradient is clipped")
def _():
    done = run("train classification --map linear --seeds 1 --steps 60 --rate 1000")
    assert done.code == 2
    assert "training diverged: at step " in done.errors


@case("trained models end at their rules over context lengths, and near misses are rejected")
def _():
    found = context("--figure 7 --dimensions 2 --context-lengths 20 --seeds 1 --steps 800 --batch 128")
    assert found["verdict"]["agrees"] is True
    trained, controls = found["tables"][:2]
    assert {one["model"] for one in trained["rows"]} == {"linear", "softmax, fixed width", "softmax, no key", "softmax"}
    assert len(trained["rows"]) == 4
    assert all_rejected(controls)


@case("strategies are counted over seeds, with Clopper and Pearson's interval")
def _():
    found = context("--figure 17 --dimensions 2 --context-lengths 20 --initial-scales 0.5 --seeds 3 --steps 400 --trials 1024")
    one = found["tables"][0]["rows"][0]
    assert one["seeds"] == one["selection"] + one["elimination"] + one["mixed"] == 3
    assert one["share_lower"] < one["selection"] / 3 <= one["share_upper"]
    assert one["elimination_share"] == one["elimination"] / 3
    assert near(one["elimination_error"], max(one["elimination_share"] * (1 - one["elimination_share"]), 1 / 3)**0.5 / 3**0.5,
                1e-12)


@case("prototypes that contexts share are learned by heart, and a context's own are not")
def _():
    found = context("--figure 10 --prototype-sets 2 --steps 600 --hidden-ratios 4 --trials 512")
    assert found["arguments"]["classes"] == 3
    course, ends, beyond, controls = found["tables"][:4]
    assert len(course["rows"]) == 20
    own, shared = ends["rows"]
    assert own["sets"] == 0 and own["verdict"] == "agrees"
    assert shared["simulation"] > 0.1
    [two] = beyond["rows"]
    assert two["transient"] == "never learned"  # two sets are known by heart at once
    assert two["relation"] is None
    assert all_rejected(controls)


@case("with five runs the rise of the loss is claimed to be no less than without shared prototypes")
def _():
    found = context("--figure 10 --prototype-sets 8,32 --steps 400 --seeds 5 --hidden-ratios 4 --trials 256")
    beyond = found["tables"][2]
    assert len(rows(beyond, relation=">=", theory=0, values=5, verdict="agrees")) == len(beyond["rows"]) == 2
    rules = [one["rule"] for one in found["tables"][3]["rows"]]
    said = [rule for rule in rules
            if rule == "nothing is lost of learning in context" or rule.startswith("as much is lost as with ")]
    assert len(said) >= 2


@case("figures of the paper refuse options that they have no use for")
def _():
    for line, part in (
            ("classification --figure 7 --rates 0.1", "--rates"),
            ("classification --figure 17 --rate 0.1", "--rate"),
            ("classification --figure 7 --prototype-sets 3", "--prototype-sets"),
            ("classification --figure 10 --weights-trained merged", "--weights-trained"),
            ("classification --dimensions 3", "--dimensions"),
            ("classification --figure valley --context-lengths 50", "--context-lengths"),
            ("classification --figure 17 --class-counts 3 --context-lengths 20", "is no multiple of the classes"),
            ("classification --figure ends --methods softmax", "--methods"),
            ("regression --figure 7", "--figure: is unknown (value = 7; needs ends|curves|temperature|heads)"),
            ("regression --heads 3", "--heads"),
            ("regression --figure curves --heads 1", "--heads"),
            ("reasoning --dimension 3", "--dimension"),
            ("reasoning --methods magic", "magic"),
            ("reasoning --widths 8,10", "--widths"),
            ("reasoning --steps 50", "--steps"),
            ("reasoning --maps softmax", "--maps"),
            ("affine --dimension 3", "--dimension"),
            ("affine --maps magic", "magic"),
            ("affine --width 10", "--width"),
            ("quantifier --quantifiers every,every", "is named twice"),
            ("quantifier --numbers all", "--numbers"),
            ("quantifier --lengths 10,10", "is named twice"),
            ("quantifier --lengths 3", "--lengths"),
            ("recall --lengths 64,64", "is named twice"),
            ("recall --lengths 1", "--lengths"),
            ("recall --width 30", "--width: is no multiple of the heads"),
            ("recall --quantifiers every", "--quantifiers"),
            ("needle --maps softmax", "--maps")):
        refused(f"train {line}", part)


@case("incontext train is seven tasks, each with a help of its own")
def _():
    plain, asked = run("train"), run("train --help")
    assert plain.code == 2  # nothing was judged
    assert asked.code == 0
    assert asked.output == plain.output
    for task in "classification", "regression", "reasoning", "affine", "quantifier", "recall", "needle":
        assert f"\n  {task}" in plain.output
        text = run(f"train {task} --help")
        assert text.code == 0
        assert f"Usage: incontext train {task}" in text.output and "--seeds" in text.output
        assert ("--class-counts" in text.output) == (task == "classification")
        assert ("--methods" in text.output) == (task == "reasoning")
        assert ("--maps" in text.output) == (task in ("affine", "quantifier", "recall"))
    for word, way_out in (("--figure", "needs classification|regression|"), ("regresion", "did you mean regression?"),
                          ("7", "needs classification|regression|")):
        refused(["train", word, "7"], f"incontext train: {word}: is not a task ({way_out}")


@case("regression trains at other sizes, and near misses are rejected there too")
def _():
    found = report("train regression --figure temperature --dimension 4 --context-length 20 --seeds 8 --device serial")
    assert found["verdict"]["agrees"] is True
    assert found["tables"][0]["title"].endswith("d = 4, l = 20")
    before_the_shift = rows(found["tables"][1], statement="best temperature before the shift")
    assert before_the_shift
    assert all(one["outcome"] == "rejected" for one in before_the_shift)


@case("two heads end at the best pair's loss with opposed values, and at the single head's where they have one sign")
def _():
    found = report("train regression --figure heads --seeds 10 --steps 1200 --batch 128 --device serial")
    assert found["verdict"]["agrees"] is True
    single, *pairs = found["tables"][0]["rows"]
    assert (single["heads"], single["signs"], single["seeds"], single["verdict"]) == (1, "one", 10, "agrees")
    assert near(single["theory"], 0.55513, 1e-4)
    assert sum(one["seeds"] for one in pairs) == 10
    assert pairs[0]["signs"] == "both" and pairs[0]["verdict"] == "agrees"
    assert near(pairs[0]["theory"], 0.37565, 1e-3)
    assert all(one["signs"] == "one" and one["theory"] == single["theory"] for one in pairs[1:])
    assert all_rejected(found["tables"][1])


@case("a layer of three heads is shown beside the best two, and two runs are too few to judge")
def _():
    found = report("train regression --figure heads --heads 3 --seeds 2 --steps 20 --device serial", code=3)
    last = found["tables"][0]["rows"][-1]
    assert last["heads"] == 3 and last["approximate"] > 0 and last["theory"] is None
    assert len(last["slopes"].split(", ")) == 3


@case("incontext train judges the plateau, counts Eureka moments and rejects its controls")
def _():
    plateau, moments, controls = report("train reasoning --widths 8 --seeds 2 --steps 100 --every 50 --threads 1")["tables"]
    assert plateau["rows"][0]["verdict"] == "agrees"
    assert near(plateau["rows"][0]["theory"], 10 / 11 * 0.6931130, 1e-5)
    assert len(moments["rows"]) == 2
    for one in moments["rows"]:
        assert (one["runs"], one["moments"], one["ratio_lower"]) == (2, 0, 0)  # 100 steps are too few
        assert near(one["ratio_upper"], 1 - 0.025**0.5, 1e-12)  # Clopper and Pearson, 0 of 2
    assert all_rejected(controls)


@case("incontext train reasoning has a row for each setting of its lists")
def _():
    found = report("train reasoning --methods softmax --weight-decays 0,0.5 --widths 8,12 --warm-ups 10 --seeds 1 --steps 100 "
                   "--every 50 --threads 1")["tables"][1]["rows"]
    assert [(one["weight_decay"], one["width"], one["warm_up"]) for one in found] == [
        (0, 8, 10), (0, 12, 10), (0.5, 8, 10), (0.5, 12, 10)]
    assert all(one["ratio"] == 0 and one["ratio_error"] > 0 and one["over_softmax"] is None for one in found)


@case("incontext train finds the inverse temperature of every row length, and rejects its controls")
def _():
    learned, best, controls = report("train needle --threads 1")["tables"]
    for table in learned, best:
        assert len(table["rows"]) == 4
        assert all_agree(table)
    assert near(best["rows"][0]["theory"], 3, 1e-3)  # Bayes' m/v
    assert all_rejected(controls)


@case("incontext train trains on affine functions, and no answer leaves the bound of the weights")
def _():
    tables = report("train affine --maps softmax,ssmax --steps 60 --batch 8 --width 8 --tested 64 --threads 1")["tables"]
    zero, errors, ratios, largest, bounds, weights, last = (table["rows"] for table in tables[:7])
    assert len(tables) == 8
    assert all_agree(tables[0])
    assert len(errors) == 2 * 2 * 8
    assert len(ratios) == 2 * 8  # of ssmax, of which nothing is claimed
    assert all(one["simulation"] > 0 and one["relation"] is None for one in ratios)
    assert len(largest) == 4
    for of in "softmax", "ssmax":  # nearer to proportion, 2.5, without norms, and to 1 with them
        assert largest[3][f"attention_{of}"] > 1.5 * largest[1][f"attention_{of}"]
        assert largest[3][f"full_{of}"] < 1.5 * largest[1][f"full_{of}"]
    assert len(bounds) == 4
    for one in bounds:
        assert (one["bound"] is not None) == (one["model"] == "full")  # which has norms
        if one["bound"] is not None:
            assert one["largest_answer"] < 1.5 * one["bound"]
            assert one["over_least"] >= 1
    assert len(weights) == 4 and all(0 < one["size"] < 1 for one in weights)
    assert len(last) == 4
    assert all_agree(tables[6])


@case("incontext train claims of five runs that an alternative errs no less than softmax")
def _():
    found = report("train affine --maps softmax,average,sa-softmax --models full --seeds 5 --steps 200 --batch 8 --width 8 "
                   "--tested 256 --threads 1")
    claimed = [one for one in found["tables"][2]["rows"] if one["relation"] is not None]
    assert len(claimed) == 3  # functions of the standard deviations 4, 7 and 10
    for one in claimed:
        assert (one["relation"], one["map"], one["theory"], one["values"]) == (">=", "sa-softmax", 1, 5)
        assert one["verdict"] != "not_judged"


@case("incontext train counts right answers to quantifiers, by map and length")
def _():
    line = "train quantifier --maps softmax --seeds 1 --steps 20 --batch 8 --width 8 --tested 32 --threads 1"
    tables = report(line, code=(0, 1))["tables"]  # 20 steps may teach nothing, which the control then says
    assert tables[0]["rows"][0]["verdict"] == "agrees"
    assert len(tables[1]["rows"]) == 2 * 6
    assert all(one["least"] <= one["right"] <= one["largest"] for one in tables[1]["rows"])


@case("incontext train compares the wrong answers of maps that learned and answer the same rows")
def _():
    found = report("train quantifier --maps softmax,ssa --seeds 2 --quantifiers some --numbers one-exception --lengths 10 "
                   "--steps 100 --batch 16 --width 8 --tested 64 --threads 1", code=3)  # nothing is judged of two runs
    shares, contrasts = (table["rows"] for table in found["tables"][:2])
    assert len(shares) == len(contrasts) == 4
    for i in range(4):  # of each test the last answer, then any answer; the rows of softmax come first
        right = "all_right" if i % 2 else "right"
        assert near(contrasts[i]["simulation"], shares[i // 2][right] - shares[i // 2 + 2][right], 1e-12)
        assert contrasts[i]["map"] == "ssa" and contrasts[i]["values"] == 2


@case("incontext train recalls values by their keys, beside answers that need no key")
def _():
    found = report("train recall --maps softmax,ssmax --seeds 2 --steps 200 --tested 128 --lengths 64,100 --threads 1")
    assert found["verdict"]["agrees"] is True
    chances, shares, contrasts, controls = found["tables"]
    assert all_agree(chances)
    assert [(one["length"], one["theory"]) for one in chances["rows"]] == [
        (64, 1 / 8), (64, 1 / 8 + 7 / 512), (100, 1 / 8), (100, 1 / 8 + 7 / 800)]
    assert len(shares["rows"]) == 4
    assert all(one["least"] <= one["right"] <= one["largest"] and one["runs"] == 2 for one in shares["rows"])
    assert min(one["right"] for one in rows(shares, length=64)) > 0.25  # twice the chance
    for one in contrasts["rows"]:
        [softmax], [ssmax] = (rows(shares, map=name, length=one["length"]) for name in ("softmax", "ssmax"))
        assert near(one["simulation"], softmax["right"] - ssmax["right"], 1e-12)
        assert one["map"] == "ssmax" and one.get("relation") is None
    assert all_rejected(controls)


@case("incontext train cannot tell after one step that anything is recalled")
def _():
    found = report("train recall --maps softmax --seeds 2 --steps 1 --batch 8 --tested 128 --lengths 64 --threads 1")
    assert [one["outcome"] for one in found["tables"][-1]["rows"]] == ["cannot tell"]


@case("incontext train claims nothing of models that have not learned, whatever the order of the maps")
def _():
    def differences(task, maps):
        own = "--numbers one-exception --lengths 50" if task == "quantifier" else "--models full"
        line = f"train {task} --maps {maps} --seeds 5 --steps 1 --batch 8 --width 8 --tested 64 --threads 1 {own}"
        tables = report(line, code=(0, 1, 3))["tables"]
        return next((table["rows"] for table in tables if "with the same seed" in table["title"]), [])

    for task in "affine", "quantifier":
        found = differences(task, "softmax,sa-softmax")
        assert found
        assert all(one.get("relation") is None for one in found)
        assert found == differences(task, "sa-softmax,softmax")
        assert differences(task, "sa-softmax") == []
