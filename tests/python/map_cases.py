"""Maps for the tests of PyTorch, JAX and NumPy: every map of incontext.scoring, in every kind of normalization."""
import numpy

from incontext import scoring

MAPS = [
    scoring.Softmax(0.7), scoring.SSMax(0.4, 0.1), scoring.SSMax(-0.4, 0.2), scoring.SSA(), scoring.SSA(0.8, 2.0, 1.3),
    scoring.ApproximateSoftmax(0.8), scoring.LinearAttention(0.8), scoring.LinearAttention(0.8, "none"),
    scoring.NormSoftmax(0.5), scoring.NormSoftmax(9.0), scoring.NormSoftmax(9.0, "sample_stddev"),
    scoring.NormSoftmax(9.0, "population_variance"), scoring.MatrixNormSoftmax(0.5), scoring.MatrixNormSoftmax(9.0),
    scoring.Entmax(1.5), scoring.Entmax(1.2), scoring.Entmax(2.5), scoring.Entmax(0.5), scoring.Sparsemax(),
    scoring.Hardmax(), scoring.SaSoftmax(), scoring.NormalizedSaSoftmax(), scoring.RatioScore("average", "sum"),
    scoring.RatioScore("tanh", "absolute_sum"), scoring.RatioScore("relu"), scoring.RatioScore("square", "sum"),
    scoring.RatioScore("square", "none")]
NAMES = [f"{type(map).__name__}{i}" for i, map in enumerate(MAPS)]

SCORES = numpy.random.default_rng(3).normal(size=(2, 3, 5))
MASKED = SCORES.copy()
MASKED[0, 1, 2] = MASKED[1, 0, 0] = -numpy.inf
COTANGENT = numpy.random.default_rng(4).normal(size=(2, 3, 5))


def per_head(map):
    """The parameters of the map, another number for each of the two matrices."""
    factors = numpy.array([1.0, 1.1]).reshape(2, 1, 1)
    return {name: getattr(map, name) * factors for name in scoring.parameter_names(map)}
