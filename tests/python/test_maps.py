"""Maps of NumPy arrays: parameters per head and per row, masks, causal matrices."""
import os
import subprocess
import sys

import numpy
import pytest

from incontext import scoring
from map_cases import COTANGENT, MAPS, MASKED, NAMES, SCORES, per_head

OF_ROWS = [(map, name) for map, name in zip(MAPS, NAMES) if not isinstance(map, scoring.MatrixNormSoftmax)]


@pytest.mark.parametrize("map", [map for map, _ in OF_ROWS], ids=[name for _, name in OF_ROWS])
def test_a_parameter_may_differ_between_heads_and_rows(map):
    whole = map.replace(**per_head(map))
    for head in range(2):
        one = map.replace(**{name: float(value[head, 0, 0]) for name, value in per_head(map).items()})
        assert (whole(SCORES)[head] == one(SCORES[head])).all()
        assert (whole.vjp(SCORES, COTANGENT)[head] == one.vjp(SCORES[head], COTANGENT[head])).all()
        assert (whole.jvp(SCORES, COTANGENT)[head] == one.jvp(SCORES[head], COTANGENT[head])).all()
        for name in scoring.parameter_names(map):
            assert (whole.derivative(name, SCORES)[head] == one.derivative(name, SCORES[head])).all()
    for name in scoring.parameter_names(map):
        rows = getattr(map, name) * numpy.linspace(1, 1.2, 3)[:, None]
        found = map.replace(**{name: rows})(SCORES)
        assert (found[1, 2] == map.replace(**{name: float(rows[2, 0])})(SCORES[1, 2])).all()
        # the temperature of NormSoftmax has no effect above the deviation
        assert (found[1, 2] != map(SCORES[1, 2])).any() == map.derivative(name, SCORES[1, 2]).any()


def test_the_arrays_of_parameters_are_checked():
    with pytest.raises(ValueError, match=r"SSMax: the shape of scale does not fit .*\(2, 3, 1\)"):
        scoring.SSMax(numpy.ones(5))(SCORES)
    with pytest.raises(ValueError, match="temperature is not positive .*value = -1"):
        scoring.Softmax(numpy.array([[1.0], [1.0], [-1.0]]))(SCORES)
    assert scoring.SSMax(numpy.ones((1, 1)))(SCORES[:0]).shape == (0, 3, 5)


@pytest.mark.parametrize("map", MAPS, ids=NAMES)
def test_the_masked_elements_of_an_array_are_not_seen(map):
    hidden = numpy.isinf(MASKED)
    given = numpy.ma.masked_array(numpy.where(hidden, 3.0, MASKED), hidden)
    assert (map(given) == map(MASKED)).all() and (map(given) != map(numpy.where(hidden, 3.0, MASKED))).any()
    assert (map.vjp(given, COTANGENT) == map.vjp(MASKED, COTANGENT)).all()
    narrow = map(given.astype("float32"))
    assert abs(narrow - map(MASKED)).max() < 1e-4
    whole = numpy.ma.masked_array([[1, 2, 3], [4, 5, 7]], [[0, 0, 1], [0, 0, 0]])
    assert (map(whole) == map([[1.0, 2.0, -numpy.inf], [4.0, 5.0, 7.0]])).all()


@pytest.mark.parametrize("map, name", OF_ROWS, ids=[name for _, name in OF_ROWS])
def test_fields_of_packed_records_are_arrays_as_others_are(map, name):
    def packed(values, dtype="f8"):
        records = numpy.zeros(values.shape, [("key", "i1"), ("x", dtype)])  # x begins behind one byte
        records["x"] = values
        return records["x"]

    scores, cotangent = packed(SCORES), packed(COTANGENT)
    assert not scores.flags.aligned
    assert (map(scores) == map(SCORES)).all() and (map.vjp(scores, cotangent) == map.vjp(SCORES, COTANGENT)).all()
    assert (map(packed(SCORES, "f4")) == map(SCORES.astype("f4"))).all()
    out = packed(numpy.zeros(SCORES.shape))
    assert scoring.weights(map, SCORES, out=out) is out and (out == map(SCORES)).all()


@pytest.mark.parametrize("values", [numpy.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), numpy.array([1j, 2]),
                                    numpy.array([1, 2], "timedelta64[s]"), numpy.array(["1", "2"])])
def test_scores_that_are_no_real_numbers_are_refused(values):
    with pytest.raises(TypeError, match="the array is not real"):
        scoring.Softmax()(values)


@pytest.mark.parametrize("mask", [-1e9, -65504.0, float(numpy.finfo("float32").min), -1e4])
@pytest.mark.parametrize("map", MAPS, ids=NAMES)
def test_a_finite_mask_masks(map, mask):
    finite = numpy.where(numpy.isinf(MASKED), mask, MASKED)
    assert (map(finite) == map(MASKED)).all()
    assert (map.vjp(finite, COTANGENT) == map.vjp(MASKED, COTANGENT)).all()
    assert (map(finite, "causal") == map(MASKED, "causal")).all()


def test_a_score_between_a_score_and_a_mask_is_refused_where_it_matters():
    row = numpy.array([[0.0, -900.0, -6000.0], [0.0, 1.0, 2.0]])
    for map in (scoring.SSMax(), scoring.NormSoftmax(), scoring.MatrixNormSoftmax(), scoring.LinearAttention()):
        with pytest.raises(ValueError, match="too near to the others for a mask .*value = -6000"):
            map(row)
    assert scoring.Softmax(1000.0)(row)[0, 2] > 0, "in softmax a low finite score is a score"
    with pytest.raises(ValueError, match="every score of a row is low enough for a mask"):
        scoring.SSMax()([-1e9, -1e9])


@pytest.mark.parametrize("bad", [numpy.nan, numpy.inf])
def test_a_score_that_is_no_number_is_refused_with_its_place(bad):
    scores = numpy.zeros((2, 3, 4))
    scores[1, 2, 3] = bad
    with pytest.raises(ValueError, match=r"score 3 is NaN or infinite .*\) in row \[1, 2\]$"):
        scoring.Softmax(1.0)(scores)
    with pytest.raises(ValueError, match=r"score 3 is NaN or infinite .*mask\)$"):
        scoring.Softmax(1.0)(scores[1, 2])
    with pytest.raises(ValueError, match=r"score 3 is NaN or infinite .*\) in row \[0\]$"):
        scoring.Softmax(1.0)(scores[1, 2:])


def test_functions_of_one_row_do_not_see_a_finite_mask():
    assert scoring.summary(scoring.SSMax(0.4), [0.0, 1.0, -1e9]) == scoring.summary(scoring.SSMax(0.4), [0.0, 1.0])
    norm = scoring.jacobian_spectral_norm(scoring.SSMax(0.4), [0.0, 1.0, -1e9])
    assert norm == pytest.approx(scoring.jacobian_spectral_norm(scoring.SSMax(0.4), [0.0, 1.0]), rel=1e-14)
    divisor = scoring.normsoftmax_divisor(scoring.NormSoftmax(9.0), [0.0, 1.0, -1e9])
    assert divisor == scoring.normsoftmax_divisor(scoring.NormSoftmax(9.0), [0.0, 1.0])
    jacobian = scoring.SSMax(0.4).jacobian([0.0, 1.0, -1e9])
    assert (jacobian[:2, :2] == scoring.SSMax(0.4).jacobian([0.0, 1.0])).all() and (jacobian[2] == 0).all()
    approximate, ssa = scoring.ApproximateSoftmax(0.7), scoring.SSA(0.9, 2.0)
    for function, first in ((scoring.approximate_softmax_error, approximate), (scoring.ssa_scale_limit, ssa),
                            (scoring.approximate_softmax_leading_error, approximate),
                            (scoring.ssa_softmax_correction, 2.0)):
        assert (function(first, [0.0, 1.0, -1e9])[:2] == function(first, [0.0, 1.0])).all(), function
    weights = numpy.ma.array([0.25, 0.75, 0.5], mask=[0, 0, 1])
    assert scoring.jacobian_norms(weights) == scoring.jacobian_norms([0.25, 0.75, 0.0])


@pytest.mark.parametrize("map", MAPS, ids=NAMES)
def test_causal_queries_are_the_last_ones(map):
    """The last two rows of a square matrix are two queries with five keys, and one query sees every key."""
    square = numpy.random.default_rng(8).normal(size=(5, 5))
    if isinstance(map, scoring.MatrixNormSoftmax):
        hidden = numpy.array([[False] * 4 + [True], [False] * 5])
        assert (map(square[3:], "causal") == map(numpy.where(hidden, -numpy.inf, square[3:]))).all()
    else:
        assert (map(square[3:], "causal") == map(square, "causal")[3:]).all()
        assert (map(square[4], "causal") == map(square[4])).all()
        assert (map(square[:, :3], "causal")[3:] == map(square[3:, :3])).all(), "queries beyond the last key see all"
    assert (map(square[4:], "causal") == map(square[4:])).all()
    assert map.vjp(square[3:], square[3:], "causal")[0, 4] == 0


def test_a_hidden_key_has_no_logarithm_of_a_weight():
    logarithms = scoring.Softmax().log_weights(SCORES[0], "causal")
    weights = scoring.Softmax()(SCORES[0], "causal")
    assert numpy.isneginf(logarithms[0, 3:]).all() and numpy.allclose(numpy.exp(logarithms), weights)


def test_the_derivative_by_a_parameter_knows_the_visibility():
    step, map = 1e-6, scoring.SSMax(0.4)
    above, below = (scoring.SSMax(0.4 + sign * step)(SCORES, "causal") for sign in (1, -1))
    found = map.derivative("scale", SCORES, "causal")
    assert abs((above - below) / (2 * step) - found).max() < 1e-9
    assert abs(map.derivative("scale", SCORES) - found).max() > 0.01
    for scores in (SCORES, SCORES[:0]):  # rows or none
        with pytest.raises(TypeError, match="log_weights.*value = SaSoftmax; needs Softmax"):
            scoring.SaSoftmax().log_weights(scores)
        with pytest.raises(ValueError, match="no such parameter .*value = nope; needs temperature"):
            scoring.Softmax().derivative("nope", scores)
    with pytest.raises(ValueError, match="no such parameter .*alpha"):
        map.derivative("alpha", SCORES)


def test_a_kernel_knows_the_position_of_the_last_queries():
    """cosFormer's weights depend on positions."""
    queries, keys = numpy.random.default_rng(9).uniform(0.1, 1, size=(2, 6, 3))
    attention = scoring.KernelAttention(scoring.CosformerKernel(6.0))
    assert (attention(queries[4:], keys, "causal") == attention(queries, keys, "causal")[4:]).all()


AXIS_MAPS = [scoring.SSMax(0.4, 0.1), scoring.Entmax(1.5), scoring.MatrixNormSoftmax(2.0)]


@pytest.mark.parametrize("map", AXIS_MAPS, ids=lambda map: type(map).__name__)
def test_an_axis_is_that_of_the_moved_array(map):
    random = numpy.random.default_rng(8)
    scores, other = random.normal(size=(2, 4, 5)), random.normal(size=(2, 4, 5))
    moved = numpy.moveaxis
    for axis in (0, 1, -2, 2):
        z, w = moved(scores, axis, -1), moved(other, axis, -1)
        assert (moved(map(scores, axis=axis), axis, -1) == map(z)).all()
        assert (moved(map.log_weights(scores, axis=axis), axis, -1) == map.log_weights(z)).all()
        assert (moved(map.jvp(scores, other, axis=axis), axis, -1) == map.jvp(z, w)).all()
        assert (moved(map.vjp(scores, other, "causal", axis=axis), axis, -1) == map.vjp(z, w, "causal")).all()
    assert (map(scores, axis=0) != map(scores)).any()
    with pytest.raises(ValueError, match="axis"):
        map(scores, axis=3)


@pytest.mark.parametrize("map", MAPS + [scoring.Elementwise(lambda z: 2 * z)], ids=NAMES + ["Elementwise"])
def test_weights_that_a_forward_pass_has_kept_serve_the_vjp(map):
    random = numpy.random.default_rng(10)
    long, pull = random.normal(size=(2, 3, 80, 80))  # rows of some length are those in which the weights are read
    hidden = numpy.where(random.uniform(size=long.shape) < 0.2, -numpy.inf, long)
    of_rows = not isinstance(map, scoring.MatrixNormSoftmax)
    for scores, cotangent in ((MASKED, COTANGENT), (SCORES, COTANGENT), (hidden, pull), (long.astype("float32"), pull)):
        for shown in (dict(visibility="causal"), *(dict(axis=axis) for axis in ((-1, 0, 1) if of_rows else (-1,)))):
            shown["zero_masked_rows"] = True
            kept, wanted = map(scores, **shown), map.vjp(scores, cotangent, **shown)
            found = map.vjp(scores, cotangent, weights=kept, **shown)
            bound = (1e-13 if scores.dtype == "float64" else 1e-5) * abs(wanted).max()
            assert found.dtype == wanted.dtype and abs(found - wanted).max() <= bound
    if type(map).__name__ in ("Softmax", "SSMax", "SSA", "Elementwise"):  # power: these read them
        changed = map.vjp(long, pull, weights=map(long + 0.1 * pull))
        assert abs(changed - map.vjp(long, pull)).max() > 1e-3 * abs(changed).max()
    if of_rows:
        with pytest.raises(ValueError, match="does not broadcast"):
            map.vjp(SCORES, COTANGENT, weights=numpy.ones((2, 4)))


def test_an_axis_keeps_the_mask_of_a_masked_array():
    scores = numpy.ma.array([[1.0, 2.0], [3.0, 4.0], [0.0, 5.0]], mask=[[0, 1], [0, 0], [1, 0]])
    weights = scoring.Softmax()(scores, axis=0)
    assert weights[0, 1] == weights[2, 0] == 0
    assert numpy.allclose(weights.sum(axis=0), 1)


@pytest.mark.parametrize("map", AXIS_MAPS, ids=lambda map: type(map).__name__)
def test_a_result_is_written_where_it_is_asked_for(map):
    scores = numpy.random.default_rng(9).normal(size=(3, 6, 6))
    out = numpy.full_like(scores, 7.0)
    assert map(scores, "causal", out=out) is out
    assert (out == map(scores, "causal")).all()
    assert (out[:, 0, 1:] == 0).all()  # keys that are not seen are written, too
    columns = numpy.full_like(scores, 7.0)
    map(scores, axis=1, out=columns)
    assert (columns == map(scores, axis=1)).all()


def test_a_result_may_take_the_place_of_the_scores_and_must_fit():
    map = scoring.Entmax(1.5)
    scores = numpy.random.default_rng(10).normal(size=(4, 50)).astype("float32")
    expected = map(scores)
    assert map(scores, out=scores) is scores
    assert (scores == expected).all()
    for out, problem in ((numpy.empty((4, 49), "float32"), r"shape of out .*value = \(4, 49\); needs \(4, 50\)"),
                         (numpy.empty((4, 50)), "type of out .*value = '?float64'?; needs '?float32")):
        with pytest.raises(ValueError, match=problem):
            map(scores, out=out)
    fixed = numpy.empty((4, 50), "float32")
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="not writable"):
        map(scores, out=fixed)
    with pytest.raises(TypeError, match="no array of NumPy"):
        map(scores, out=[0.0])


def test_rows_have_the_same_bits_with_any_number_of_threads():
    program = (
        "import numpy\n"
        "from incontext import scoring\n"
        "z = numpy.random.default_rng(1).normal(size=(2000, 300)); z[:, 7] = -1e9\n"
        "z[::3, 9] = -numpy.inf\n"
        "for map in (scoring.SSMax(numpy.linspace(0.1, 1, 2000)[:, None]), scoring.Entmax(1.5)):\n"
        "    print(map(z).tobytes().hex()[::997], map.vjp(z, z.clip(-9, 9)).tobytes().hex()[::997])\n"
    )
    runs = {subprocess.check_output([sys.executable, "-c", program], env=os.environ | {"OMP_NUM_THREADS": threads})
            for threads in ("1", "2", "7")}
    assert len(runs) == 1
