"""A number beside a formula on a page or in a notebook is what the formula gives."""
import json
import re

import numpy
import pytest

from test_formulas import NAMES, ROOT

BEST = ("regression.softmax_error_isotropic(regression.IsotropicAttention(), regression.IsotropicTask(4, 1.0, 0.25, 0.1), "
        "{}, scoring.Softmax(2.2)).value")
SECOND = ("regression.softmax_error_second_order(regression.Attention(eye(4), zeros(4), 1.0), "
          "regression.LinearTask.isotropic(4, task_variance=0.25, noise_variance=0.1), 2.2, {})")
P = "-0.037 * H**4 + 0.481 * H**3 - 2.3 * H**2 + 4.917 * H - 1.791"
SIZES = "laws.gradient_sizes(laws.gaussian_row(197, {0}), {0}, 256)"
GAP = "laws.retrieval_gap({0} - 1, 0.43 * log({0})) / (0.43 * log({0}))"
NEEDLE = "laws.needle_weight({0} - 1, 0.43 * log({0}), 4.5 * 0.43 * log({0})).value"
AGAINST = "79 * (w(-2.0) + 2 * w(0.0)) - w(1.0) - w(0.0) - w(3.0)"
HEAD = "(lambda w: " + AGAINST + ")(lambda z: (1 + abs(z)) ** (sign(z) * {0})) ** (1 / {0}) - 1"
LAYERS = "baselines.optimal_layers(8, 5, 0.25, 0.2, {})"
MODEL = ("(lambda task, shifted: regression.generalization_error(regression.{}(task, 40), shifted, 40))"
         "(*[regression.LinearTask.isotropic(20, input_variance=a, task_variance=0.05, noise_variance=0.1) for a in (1.0, 2.0)])")

FROM = "calibration.held_value('entropy', calibration.HeadScores(1.5), 512, 1.0)"
HELD = "calibration.holding_temperature('entropy', calibration.HeadScores(1.5), 512 * {}, " + FROM + ").inverse_temperature"
ENDS = "calibration.held_value('entropy', calibration.HeadScores(1.5), 512 * 128, {})"
LINE = "calibration.nearest_ssmax([512 * f for f in (1, 2, 4, 8, 128)], [" + ", ".join(map(HELD.format, (1, 2, 4, 8, 128))) + "])"
RULE = "log(512 * {}) / log(512)"

QUERY = ("regression.generalization_error(regression.Attention(eye(20), zeros(20), 1.0), regression.LinearTask.isotropic(20, "
         "task_variance=0.05, noise_variance=0.1), 100, query='{}').minimum()")

# page, its words with {} in the place of each number, and what the numbers are
ROWS = [
    ("docs/papers/temperature.md", "approximate softmax at its own has {} and {}.", *map(QUERY.format, ("included", "excluded"))),
    ("docs/papers/scalable_softmax.md", "$s = 0.43$, $1/s = {}$", "1 / 0.43"),
    ("docs/papers/temperature.md", "tends to {} for attention and {} for the ridge. The ratio, {},",
     "50 * 51 + 50 * 0.01", "50 * 0.01", "51 / 0.01 + 1"),
    ("docs/papers/scalable_softmax.md", "Among scores N(0, 1) it must be {}, {} and {} ($n = 100$", *(GAP.format(n) for n in (100, 10000, 100000))),
    ("docs/papers/scalable_softmax.md", "keeps {} at $n = 100$, {} at $10^4$ and {} at", *(NEEDLE.format(n) for n in (100, 10**4, 10**6))),
    ("docs/papers/scalable_softmax.md", "N(0, 1.5²) has the entropy {} nats", FROM),
    ("docs/papers/scalable_softmax.md", "8 and 128 times the length are {}, {} and {}.", *map(HELD.format, (2, 8, 128))),
    ("docs/papers/scalable_softmax.md", "without a bias, has {}, {} and {}, and the entropy rises to {} at", *map(RULE.format, (2, 8, 128)),
     ENDS.format(RULE.format(128))),
    ("docs/papers/scalable_softmax.md", "with the best bias, -{}, has the entropy {}, and YaRN's rule {}.", "-" + LINE + ".bias",
     ENDS.format("(lambda line: line.scale * log(512 * 128) + line.bias)(" + LINE + ")"),
     ENDS.format("calibration.yarn_inverse_temperature(128)")),
    ("docs/papers/signed_averaging.md", "weight is {} in a row of 2, {} in one of 7 (Fig. 2's prompt), {} in one of 40, and {} in one of 200",
     *(f"1 / (1 + ({n} - 1) * exp(-4.0))" for n in (2, 7, 40, 200))),
    ("docs/model.md", "is {} times as large at temperature 1 as at its best temperature, that of the trained layer {} times",
     *(f"(lambda e: e(1.0) / e.minimum())({MODEL.format(name)})" for name in ("pretrained_attention", "trained_attention"))),
    ("docs/torch.md", "$b = \\log 9 = {}$", "log(9)"),
    ("docs/theory/baselines.md", "five layers have error {} and sixteen", LAYERS.format(5) + ".risk"),
    ("docs/theory/baselines.md", "the best polynomials have {} and {}, and the Bayes risk is {}", LAYERS.format(5) + ".lower_bound",
     LAYERS.format(16) + ".lower_bound", "baselines.bayes_risk(8, 5, 0.25, 0.2)"),
    ("docs/theory/calibration.md", "$\\beta = {}$ at $n = 100{,}000$", "1 + 0.1 * log(1 + floor(100000 / 8192))"),
    ("docs/theory/calibration.md", "two real roots {} and {}", *(f"root(lambda H: {P} - 1, {a}, {b})" for a, b in ((0, 2), (4.5, 9)))),
    ("docs/theory/calibration.md", "one real root {}, where $P = {}$", f"argmin(lambda H: -({P}), 2, 6)",
     f"-min([-({P}) for H in linspace(4.3, 4.5, 999)])"),
    ("docs/theory/calibration.md", "$H \\ge 5.9445$, the entropy of {} equal weights", "ceil(exp(5.9445))"),
    ("docs/theory/classification.md", "it is {}, the limit {}.",
     "classification.expected_adaptive_logit_difference(3, 20.0, 0.25, 40, 1.0, 'excluded')",
     "classification.hemisphere_contrast(3, 20.0, 0.25).relative"),
    ("docs/theory/classification.md", "$\\sqrt{6\\pi}/4 = {}$", "sqrt(6 * pi) / 4"),
    ("docs/theory/laws.md", "With $g = 5$ and $w = 1/2$ that is $n = {}$", "1 + exp(5)"),
    ("docs/theory/laws.md", "$s = 0.43$, $b = 0$ from $n = {}$", "exp(1 / 0.43)"),
    ("docs/theory/laws.md", "the bound is {} and $n^{\\ast} = {}$", "1 + exp(4.5 - 1 / 2)", "laws.softmax_critical_length(1.0, 4.5).length"),
    ("docs/theory/laws.md", "$\\beta m = 9$ they are {} and {}", "1 + exp(9 - 9 / 2)", "laws.softmax_critical_length(3.0, 9.0).length"),
    ("docs/theory/laws.md", "$w = 1/2$ it is {}.", "laws.ssmax_critical_length(0.43, 1.0, 4.5).length"),
    ("docs/theory/laws.md", "thresholds are {}, {}, {}, {}, {} and {} at",
     *(f"laws.grid_threshold(10**{k}, 0.43 * log(10**{k}))" for k in (1, 2, 3, 4, 6, 9))),
    ("docs/theory/laws.md", "against a limit of {}", "1 + 1 / 0.43"),
    ("docs/theory/laws.md", "($\\theta = {}$) the exact $Y_2$ is {}, and $e^{x^2}/n = {}$", "2 / sqrt(2 * log(1024))",
     "laws.gaussian_row(1024, 2.0).ipr", "exp(4) / 1024"),
    ("docs/theory/laws.md", "$x = 0.1$) has $R = {}$", SIZES.format(0.1) + ".imbalance"),
    ("docs/theory/laws.md", "$x = 2.46$ and $R = {}$", SIZES.format(2.46) + ".imbalance"),
    ("docs/theory/laws.md", "is {} at $x = 0.1$, {} at 1, {} at 3 and {} at 8",
     *("(lambda s: s.covariance_parallel / s.covariance_isotropic)(" + SIZES.format(x) + ")" for x in (0.1, 1.0, 3.0, 8.0))),
    ("docs/theory/regression.md", "times that of the ridge: {} for $d = 20$", "1 + (1 + 1 / 20) * 1 / 0.1"),
    ("docs/theory/regression.md", "{} for the layer of README's example", "(2 * (1 + 20 / 40) + 0.1 / (0.05 * 40)) / (1 + 0.1 / (0.05 * 40))"),
    ("docs/theory/regression.md", "$\\tau = 2.2$ give $G = {}$", BEST.format(50)),
    ("docs/theory/regression.md", "$\\sqrt3 \\tau_0 = {}$, and", "sqrt(3) * sqrt(2)"),
    ("docs/theory/regression.md", "too high by {}% at $l = 50$, by {}% at $l = 200$, by {}% at $l = 800$ and by {}% at $l = 3200$",
     *(f"100 * ({SECOND.format(l)} / {BEST.format(l)} - 1)" for l in (50, 200, 800, 3200))),
    ("docs/theory/scoring.md", "For softmax that is $X = {}$", "log((lambda w: " + AGAINST + ")(exp))"),
    ("docs/theory/scoring.md", "it is {}, {} and {} at $k = 1.1$", *(HEAD.format(k) for k in (1.1, 1.5, 2.0))),
    ("docs/theory/statistics.md", "$\\lvert z \\rvert \\le \\sqrt{62 \\log 2} = {}$", "sqrt(62 * log(2))"),
    ("docs/theory/statistics.md", "$\\sqrt{106 \\log 2} = {}$", "sqrt(106 * log(2))"),
    ("docs/theory/statistics.md", "with probability ${} \\cdot 10^{-11}$ and ${} \\cdot 10^{-17}$",
     "1e11 * erfc(sqrt(31 * log(2)))", "1e17 * erfc(sqrt(53 * log(2)))"),
    ("docs/theory/statistics.md", "$\\sqrt{14/n_0} = {}$", "sqrt(14 / 16384)"),
    ("docs/theory/training.md", "h(\\frac{60}{121}) = {}$ nats", "10 / 11 * (lambda p: -p * log(p) - (1 - p) * log(1 - p))(60 / 121)"),
    ("notebooks/learned_scale.ipynb", "$\\beta = \\sqrt{32} = {}$", "sqrt(32)"),
    ("notebooks/own_attention_scores.ipynb", "${}\\,x'$ for rows of 384 keys", "sqrt(2 * log(384))"),
    ("notebooks/scalable_softmax.ipynb", "With $s = 0.43$ the boundary is a score of {}", "1 / 0.43"),
    ("notebooks/scalable_softmax.ipynb", "half of the weight in rows of up to {} scores", "laws.ssmax_critical_length(0.43, 1.0, 4.5).length"),
]


def words(page):
    text = (ROOT / page).read_text()
    if page.endswith(".ipynb"):
        text = " ".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return " ".join(text.split())


@pytest.mark.parametrize("page, quote, expressions", [(page, quote, rest) for page, quote, *rest in ROWS])
def test_a_number_is_what_its_formula_gives(page, quote, expressions):
    found = re.search(re.escape(quote).replace(r"\{\}", r"(\d[\d,]*(?:\.\d+)?)"), words(page))
    assert found, f"{page} does not say: {quote}"
    assert len(found.groups()) == len(expressions)
    for printed, expression in zip(found.groups(), expressions):
        unit = 10.0 ** -len(printed.partition(".")[2])
        with numpy.errstate(all="ignore"):
            assert abs(eval(expression, dict(NAMES)) - float(printed.replace(",", ""))) <= 0.5000001 * unit, (printed, expression)
