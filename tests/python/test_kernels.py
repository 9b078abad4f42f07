"""Kernel attention, NormSoftmax of a matrix, and kernels of one's own, beside NumPy's own sums."""
import numpy
import pytest

import incontext as ic
from incontext import scoring

RANDOM = numpy.random.default_rng(7)
QUERIES, KEYS = RANDOM.normal(size=(2, 4, 3)), RANDOM.normal(size=(2, 6, 3))


def relu(x):
    return numpy.maximum(x, 0)


def positions(reach, first=0):
    return numpy.cos(numpy.pi * (first + numpy.arange(4)[:, None] - numpy.arange(6)) / (2 * reach))


def elu(x):
    return numpy.where(x > 0, x + 1, numpy.exp(numpy.minimum(x, 0)))


PRODUCTS = numpy.einsum("bqd,bkd->bqk", QUERIES, KEYS)
DISTANCES = ((QUERIES[:, :, None] - KEYS[:, None]) ** 2).sum(axis=-1)
VALUES = [
    (scoring.ExponentialKernel(1.7), numpy.exp(PRODUCTS / 1.7)),
    (scoring.GaussianKernel(0.8), numpy.exp(-DISTANCES / (2 * 0.8**2))),
    (scoring.PolynomialKernel(2, 0.5, 1.5), (0.5 * PRODUCTS + 1.5) ** 2),
    (scoring.EluKernel(), numpy.einsum("bqd,bkd->bqk", elu(QUERIES), elu(KEYS))),
    (scoring.CosformerKernel(6.0), positions(6) * numpy.einsum("bqd,bkd->bqk", relu(QUERIES), relu(KEYS))),
    (lambda q, k: 1 / (1 + ((q - k) ** 2).sum()), 1 / (1 + DISTANCES)),
]
NAMES = [type(kernel).__name__ for kernel, _ in VALUES]


@pytest.mark.parametrize("kernel, values", VALUES, ids=NAMES)
def test_weights_are_kernels_over_their_sum(kernel, values):
    def over_sum(values):  # undefined where all are 0, as for rectified queries without a positive component
        total = values.sum(axis=-1, keepdims=True)
        return numpy.divide(values, total, out=numpy.full_like(values, numpy.nan), where=total > 0)

    of_positions = values
    weights = scoring.KernelAttention(kernel)(QUERIES, KEYS)
    assert weights == pytest.approx(over_sum(values), rel=1e-12, nan_ok=True)
    causal = scoring.KernelAttention(kernel)(QUERIES, KEYS, "causal")
    seen = numpy.tril(numpy.ones((4, 6)), 2) > 0  # the queries are the last four tokens
    if isinstance(kernel, scoring.CosformerKernel):
        values = values / positions(6) * positions(6, 2)
    held = over_sum(numpy.where(seen, values, 0))
    assert (causal[:, ~seen] == 0).all()
    assert causal[:, seen] == pytest.approx(held[:, seen], rel=1e-12, nan_ok=True)
    plain = scoring.KernelAttention(kernel, scoring.KernelNormalization.none)(QUERIES, KEYS)
    assert plain == pytest.approx(of_positions, rel=1e-12)
    if callable(kernel) and not isinstance(kernel, scoring.CosformerKernel):
        assert kernel(QUERIES[1, 2], KEYS[1, 3]) == pytest.approx(values[1, 2, 3], rel=1e-12)


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in VALUES[:-1]], ids=NAMES[:-1])
@pytest.mark.parametrize("visibility", ["all", "causal"])
def test_derivatives_are_those_of_the_weights(kernel, visibility):
    # every query has a positive component in common with the first key
    queries, keys = numpy.abs(QUERIES) + 0.1, numpy.abs(KEYS) + 0.1
    attention = scoring.KernelAttention(kernel)
    by_query, by_key, pull = (RANDOM.normal(size=shape) for shape in (queries.shape, keys.shape, (2, 4, 6)))
    step = 1e-6
    difference = (attention(queries + step * by_query, keys + step * by_key, visibility)
                  - attention(queries - step * by_query, keys - step * by_key, visibility)) / (2 * step)
    change = attention.jvp(queries, keys, by_query, by_key, visibility)
    assert change == pytest.approx(difference, abs=1e-8)
    at_query, at_key = attention.vjp(queries, keys, pull, visibility)
    assert (at_query * by_query).sum() + (at_key * by_key).sum() == pytest.approx((change * pull).sum(), rel=1e-10)


def test_what_kernel_attention_refuses():
    own = scoring.KernelAttention(lambda q, k: 1.0)
    with pytest.raises(TypeError, match="no derivatives"):
        own.vjp(QUERIES, KEYS, PRODUCTS)
    with pytest.raises(ValueError, match="numbers of a key"):
        own(QUERIES, KEYS[..., :2])
    attention = scoring.KernelAttention(scoring.GaussianKernel(1.0))
    turned = numpy.swapaxes(QUERIES, -1, -2)
    with pytest.raises(ValueError, match="query_direction's rows"):
        attention.jvp(QUERIES, KEYS, turned, KEYS)
    with pytest.raises(ValueError, match="key_direction's rows"):
        attention.jvp(QUERIES, KEYS, QUERIES, numpy.swapaxes(KEYS, -1, -2))
    with pytest.raises(ValueError, match="cotangent's rows"):
        attention.vjp(QUERIES, KEYS, numpy.swapaxes(PRODUCTS, -1, -2))
    with pytest.raises(RuntimeError, match="mine"):
        scoring.KernelAttention(lambda q, k: (_ for _ in ()).throw(RuntimeError("mine")))(QUERIES, KEYS)


def test_a_member_of_another_enumeration_is_refused():
    with pytest.raises(TypeError, match="normalization is of another enumeration"):
        scoring.RatioScore("tanh", scoring.KernelNormalization.sum)


def test_a_batch_of_no_matrices_gives_none():
    attention, none = scoring.KernelAttention(scoring.GaussianKernel(1.0)), numpy.zeros((0, 4, 3))
    assert attention(none, KEYS[:0]).shape == (0, 4, 6)
    assert [one.shape for one in attention.vjp(none, KEYS[:0], numpy.zeros((0, 4, 6)))] == [(0, 4, 3), (0, 6, 3)]
    assert scoring.MatrixNormSoftmax(1.0)(numpy.zeros((2, 0, 4, 5))).shape == (2, 0, 4, 5)


def test_cosformer_has_the_floor_of_its_code():
    attention = scoring.cosformer(6.0)
    zeros = attention(-numpy.ones((1, 3)), KEYS[0])
    assert attention.floor == 1e-6 and (zeros == 0).all()
    plain = scoring.KernelAttention(scoring.CosformerKernel(6.0))(-numpy.ones((1, 3)), KEYS[0])
    assert numpy.isnan(plain).all()


def test_matrix_normsoftmax_divides_by_one_deviation():
    scores = RANDOM.normal(size=(3, 4, 5)) * numpy.array([0.5, 2, 8])[:, None, None]
    for cap in (0.1, 3.0):
        divisor = numpy.minimum(scores.std(axis=(1, 2), keepdims=True), cap)
        expected = numpy.exp(scores / divisor)
        expected /= expected.sum(axis=-1, keepdims=True)
        map = scoring.MatrixNormSoftmax(cap)
        assert map(scores) == pytest.approx(expected, rel=1e-12)
        assert map.log_weights(scores) == pytest.approx(numpy.log(expected), rel=1e-10)
    direction, pull = RANDOM.normal(size=(2, *scores.shape))
    map, step = scoring.MatrixNormSoftmax(20.0), 1e-6
    for visibility in ("all", "causal"):
        difference = (map(scores + step * direction, visibility) - map(scores - step * direction, visibility)) / (2 * step)
        change = map.jvp(scores, direction, visibility)
        assert change == pytest.approx(difference, abs=1e-7)
        assert (map.vjp(scores, pull, visibility) * direction).sum() == pytest.approx((change * pull).sum(), rel=1e-9)
    seen = map(scores, "causal")
    masked = numpy.where(numpy.tril(numpy.ones((4, 5)), 1) > 0, scores, -numpy.inf)
    assert (seen == map(masked)).all() and (seen[:, 0, 2:] == 0).all()
    of_rows = scoring.NormSoftmax(20.0)(scores)
    assert abs(of_rows - map(scores)).max() > 0.01, "a divisor per row is another map"
    with pytest.raises(ValueError, match="array dimensions"):
        map(scores[0, 0])
    with pytest.raises(ValueError, match="temperature"):
        scoring.MatrixNormSoftmax(-1.0)(scores)


def test_kernels_of_contexts_take_functions_of_python():
    c = ic.classification
    points = RANDOM.normal(size=(12, 3))
    context = c.Context(inputs=points, labels=[i % 3 for i in range(12)], query=RANDOM.normal(size=3), classes=3)

    def cubic(u, v):
        return (1 + u @ v) ** 3

    values = numpy.array([cubic(point, context.query) for point in points])
    one_hot = numpy.eye(3)[context.labels]
    logits = c.kernel_logits(context, cubic, 30.0)
    expected = 30.0 / 12 * values @ (one_hot - one_hot.mean(axis=1, keepdims=True))
    assert logits == pytest.approx(expected, rel=1e-10) or logits == pytest.approx(30.0 / 12 * values @ one_hot, rel=1e-10)
    weights = c.linear_construction(3, 3, 12, 30.0)
    assert c.kernel_attention_logits(weights, cubic, context) == pytest.approx(logits, rel=1e-10)
    assert c.kernel_logits(context, scoring.PolynomialKernel(3), 30.0) == pytest.approx(logits, rel=1e-10)
    assert c.gram_matrix(points, cubic) == pytest.approx((1 + points @ points.T) ** 3)

    def features(u):
        return numpy.outer(u, u).ravel()

    mapped = c.feature_context(context, features)
    squared = c.kernel_logits(context, lambda u, v: (u @ v) ** 2, 30.0)
    assert c.linear_descent(mapped, 30.0).logits == pytest.approx(squared, rel=1e-10)
    with pytest.raises(ValueError, match="not symmetric"):
        c.gram_matrix(points, lambda u, v: u[0] - v[1])
    with pytest.raises(ValueError, match="not positive definite"):
        c.gram_matrix(points, lambda u, v: -(u @ v))
