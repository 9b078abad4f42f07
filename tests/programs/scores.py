"""incontext scores: figures whose claims hold, maps on one's own rows, refusals."""
import math
import os
import struct

from program import Folder, case, near, npy, refused, report, run


def rows_of(line, table=0):
    return report(f"scores {line}")["tables"][table]["rows"]


def column(rows, name):
    return [row[name] for row in rows]


def weights(line=""):
    return column(rows_of(f"--row 1,2,0 {line}"), "weight")


@case("every figure of incontext scores makes claims, and they hold")
def _():
    for figure in ("approximation", "ssa-base", "ssmax-fading", "ssmax-threshold", "deviant", "prompt", "normsoftmax-bound"):
        found = report(f"scores --figure {figure}")
        assert found["program"] == "incontext scores"
        assert found["verdict"]["agrees"] is True, figure
        assert found["verdict"]["claims"] >= 2
        assert found["verdict"]["cases"] >= 12
        for row in found["tables"][-1]["rows"]:
            assert row["verdict"] == ("refuted" if row["relation"] == "!=" else "agrees")
        assert "Agreement: " in run(f"scores --figure {figure}").output
        assert "verdict" in run(f"scores --figure {figure} --format csv").output


@case("figures show the numbers of the papers")
def _():
    fading = report("scores --figure ssmax-fading --lengths 2,149,150")["tables"][0]
    softmax, ssmax = column(fading["rows"], "softmax"), column(fading["rows"], "ssmax")
    assert near(ssmax[0], 0.816118260128508871, 1e-12)
    assert softmax[1] > 0.5 > softmax[2]
    assert "149.413" in fading["notes"][0]
    assert "tends to 0" in report("scores --figure ssmax-fading --gap 1")["tables"][0]["notes"][2]
    assert near(rows_of("--figure ssmax-threshold --lengths 10,1000 --s 0.43", 2)[0]["ssmax"], 2.77020756507345458, 1e-12)
    deviant = rows_of("--figure deviant --lengths 40 --s 0.43")[2]
    assert near(deviant["softmax"], 0.244, 2e-3)  # the mean over normal scores is 0.244
    assert near(deviant["ssa"], 0.122, 2e-3)
    assert near(rows_of("--figure normsoftmax-bound --lengths 8,64")[0]["bound"], 0.746078495567324402, 1e-12)
    approximation = rows_of("--figure approximation --row 1,0 --temperatures 1")
    assert near(approximation[0]["softmax"], 1 / (1 + math.exp(-1)), 1e-12)
    assert column(approximation, "approximate_softmax") == [0.75, 0.25]
    base, steps = (table["rows"] for table in report("scores --figure ssa-base")["tables"][:2])
    for row in steps:
        for by in "by_base", "by_exponent":
            assert near(row[by], row[f"{by}_complex_step"], 1e-14)
    assert near(base[8]["b_1_k_1.5"], 3**1.5, 1e-12)


@case("every map runs on a row and gives its weights")
def _():
    e = math.e
    for line, key, expected in (
            ("", 1, e**2 / (1 + e + e**2)),
            ("--temperature 0.5", 0, e**2 / (1 + e**2 + e**4)),
            ("--map approximate-softmax", 1, 2 / 3),
            ("--map linear --temperature 2", 1, 1 / 3),
            ("--map linear --over none", 1, 2),
            ("--map ssmax --s 1", 1, 9 / 13),
            ("--map ssmax --s 0 --bias 1", 1, e**2 / (1 + e + e**2)),
            ("--map ssa --base 1 --exponent 2", 1, 9 / 14),
            ("--map normsoftmax --score-scale variance", 1, 1 / (1 + math.exp(-1.5) + math.exp(-3))),
            ("--map sparsemax", 1, 1),
            ("--map entmax --alpha 2", 1, 1),
            ("--map hardmax", 1, 1),
            ("--map sa-softmax", 2, 0),
            ("--map normalized-sa-softmax", 1, e**2 / (1 + e + e**2)),
            ("--map average", 1, 1 / 3),
            ("--map tanh --over none", 1, math.tanh(2)),
            ("--map relu --over sum", 1, 2 / 3),
            ("--map square --over absolute-sum", 1, 4 / 5)):
        assert near(weights(line)[key], expected, 1e-12), line


@case("a row has log-weights, a derivative, norms and masks")
def _():
    found = report("scores --row 0,-inf,0 --direction 1,5,0 --norms")
    assert found["arguments"]["row"] == [0, "-inf", 0]
    rows, facts = (table["rows"] for table in found["tables"][:2])
    assert column(rows, "weight") == [0.5, 0, 0.5]
    assert near(rows[0]["log_weight"], -math.log(2), 1e-12)
    assert rows[1]["log_weight"] is None  # -inf, which JSON cannot hold
    assert column(rows, "weight_change") == [0.25, 0, -0.25]
    for fact, expected in zip(facts[2:], (math.log(2), 2, 0.5, 0.5)):
        assert near(fact["value"], expected, 1e-12)
    # by convention that of softmax at tau = 1
    assert near(rows_of("--row 1,1 --map normsoftmax --norms", 1)[4]["value"], 0.5, 1e-12)
    tied = report("scores --row 1,1 --map hardmax --norms")["tables"][1]
    assert tied["rows"][4]["value"] is None
    assert "no derivative" in tied["notes"][0]


@case("a matrix of scores is summarized query by query, also causal, and its weights are written to a file")
def _():
    with Folder() as folder:
        file = folder.write("scores.npy", npy([[0, 9, 9], [1, 1, 9], [0, -math.inf, 0]]))
        rows = rows_of(f"--scores {file} --causal --weights {folder.file('weights.npy')} --norms")
        assert column(rows, "visible") == [1, 2, 2]
        assert column(rows, "largest_weight") == [1, 0.5, 0.5]
        assert near(rows[1]["effective_keys"], 2, 1e-12)
        assert near(rows[1]["spectral_norm"], 0.5, 1e-12)
        header, _, numbers = (folder.path / "weights.npy").read_bytes().partition(b"\n")
        assert b"'<f8', 'fortran_order': False, 'shape': (3, 3)" in header
        for weight, expected in zip(struct.unpack("<9d", numbers), (1, 0, 0, 0.5, 0.5, 0, 0.5, 0, 0.5)):
            assert near(weight, expected, 1e-15)
        csv = folder.write("scores.csv", "a,b\n1,1\n0,2\n")
        assert rows_of(f"--scores {csv} --map hardmax")[1]["top_key"] == 2
        one = folder.write("one.npy", npy([4 * [0.0]]))
        assert near(rows_of(f"--scores {one}")[0]["largest_weight"], 0.25, 1e-12)
        assert rows_of(f"--scores {one} --causal")[0]["visible"] == 4  # one query is the last token


@case("a finite mask of --row is a mask where the map counts its keys, unless every score is one")
def _():
    def masked(line):
        return column(rows_of(f"--row 0.3,0.2,-1e4 {line}"), "weight")

    of_two = column(rows_of("--row 0.3,0.2 --map ssmax"), "weight")
    assert masked("--map ssmax") == [*of_two, 0]
    assert masked("--map ssmax --no-finite-masks")[0] != of_two[0]
    assert masked("--map softmax") == masked("--map softmax --no-finite-masks")


@case("incontext scores refuses what cannot be used, by name and value")
def _():
    with Folder() as folder:
        for line, part in (
                ("", "nothing to do: needs --figure NAME, --row X,X,... or --scores FILE"),
                ("--figure 9", "--figure: is unknown (value = 9;"),
                ("--row 1,x", "--row: is not a number (value = x;"),
                ("--row 1,nan", "--row: is not finite (value = nan;"),
                ("--row 1,inf", "--row: is not finite (value = inf;"),
                ("--row 0,-400,-52000 --map ssmax", "--row: a score is too low for a score"),
                ("--row -inf", "--row: has no visible score"),
                ("--row 1 --map best", "--map: is unknown (value = best;"),
                ("--row 1 --temperature -1", "--temperature: is out of range (value = -1;"),
                ("--row 1 --map entmax --alpha 1", "--alpha: is out of range (value = 1;"),
                ("--row 1 --map ssa --base 0", "--base: is out of range (value = 0;"),
                ("--row 1 --map ssa --exponent 0.9", "--exponent: is out of range (value = 0.9;"),
                ("--row 1 --map ssmax --alpha 2", "--alpha: has no meaning with --map ssmax"),
                ("--row 1 --map linear --over sum", "--over: has no such choice with --map linear"),
                ("--row -1,-2 --map relu --over sum", "--row: --map relu is undefined on this row"),
                ("--row 1,2 --direction 1", "--direction: has the wrong size (value = 1;"),
                ("--row 1 --causal", "--causal: has no meaning with --row"),
                ("--row 1 --lengths 3", "--lengths: has no meaning with no --figure"),
                ("--figure deviant --map ssa", "--map: has no meaning with --figure deviant"),
                ("--figure ssmax-fading --lengths 1", "--lengths: is too small (value = 1;"),
                ("--figure ssmax-threshold --lengths 2", "--lengths: is too small (value = 2;"),
                ("--figure ssmax-fading --s 0", "--s: is out of range (value = 0;"),
                ("--figure ssmax-threshold --s 1e300", "--s: is out of range (value = 1e+300;"),
                ("--figure ssmax-fading --gap -1", "--gap: is out of range (value = -1;"),
                ("--figure approximation --row 1,-inf", "--row: masks have no meaning"),
                ("--figure approximation --row 1e308,-1e308", "--figure approximation: the range of the")):
            refused(f"scores {line} --output {folder.file('report')}", f"incontext scores: {part}")
            assert folder.names() == []
        junk, nan, masked, wide = (folder.write(f"{name}.npy", content) for name, content in (
            ("junk", "junk"), ("nan", npy([[0, 0], [math.nan, 0]])), ("masked", npy(2 * [2 * [-math.inf]])),
            ("wide", npy(2 * [301 * [0.0]]))))
        for line, part in (
                (f"--scores {junk}", "junk.npy: is not an .npy file"),
                (f"--scores {nan}", "nan.npy: row 2, column 1: entry is not finite (value = nan;"),
                (f"--scores {masked}", "masked.npy: row 1: has no visible score"),
                (f"--scores {folder.file('none.npy')}", "none.npy: cannot be opened"),
                (f"--scores {wide} --norms", "--norms: rows are too long (value = 301; needs at most 300 keys)"),
                (f"--scores {nan} --row 1", "--row and --scores exclude each other"),
                (f"--row 1 --weights {folder.file('none/w.npy')}", "--weights: cannot be written")):
            refused(f"scores {line}", part)
        if os.path.exists("/dev/full"):
            refused("scores --row 1 --weights /dev/full", "--weights: cannot be written: No space left on device")
