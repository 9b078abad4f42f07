"""Steps of gradient descent and attention on small contexts, with derivatives as central differences at 50 digits.

The definitions are those of docs/theory/classification.md. Points are the integers of a case over 2^shift, used as
given, and the matrices of attention are integers over 16.
"""

import mpmath as mp

from common import derivative, dot, jacobian, softmax, vector


class Context:
    def __init__(self, case):
        unit = mp.mpf(2) ** -case["shift"]
        self.points = [[unit * x for x in vector(row)] for row in case["X"]]
        self.query = [unit * x for x in vector(case["x"])]
        self.labels, self.classes = case["labels"], case["k"]

    def class_sums(self, weights):
        return [mp.fsum(w for w, label in zip(weights, self.labels) if label == c) for c in range(self.classes)]


def linear_step(context, query, rate):
    return context.class_sums([rate / len(context.points) * dot(point, query) for point in context.points])


def kernel_step(context, query, rate, kernel):
    return context.class_sums([rate / len(context.points) * kernel(point, query) for point in context.points])


def adaptive_step(context, query, kappa, gain, own=lambda kappa, square: 0):
    """The kernel step whose rate is over the sum of the kernel, the query's own value included."""
    values = [mp.exp(kappa * dot(point, query)) for point in context.points]
    total = mp.fsum(values) + own(kappa, dot(query, query))
    return context.class_sums([gain * value / total for value in values])


def steps(context, rate, kappa, gain):
    """The logits of every step as a function of the query."""
    radial = lambda a, b: mp.exp(-kappa / 2 * mp.fsum((s - t) ** 2 for s, t in zip(a, b)))
    product = lambda a, b: mp.exp(kappa * (dot(a, b) - 1))
    own = lambda kappa, square: mp.exp(kappa * square)
    constant = lambda kappa, square: mp.exp(kappa)
    return {
        "linear_gd": lambda x: linear_step(context, x, rate),
        "kernel_gd_rbf": lambda x: kernel_step(context, x, rate, radial),
        "kernel_gd_dot": lambda x: kernel_step(context, x, rate, product),
        "adaptive_noquery": lambda x: adaptive_step(context, x, kappa, gain),
        "adaptive_query_dot": lambda x: adaptive_step(context, x, kappa, gain, own),
        "adaptive_query_const": lambda x: adaptive_step(context, x, kappa, gain, constant),
        "elimination_noquery": lambda x: adaptive_step(context, x, -kappa, -gain),
        "elimination_query_dot": lambda x: adaptive_step(context, x, -kappa, -gain, own),
    }


def prediction(logits_of, query, label):
    """Logits, probabilities, loss, and the derivative of the probabilities by the query."""
    probabilities = softmax(logits_of(query))
    return {
        "logits": logits_of(query),
        "probs": probabilities,
        "loss": -mp.log(probabilities[label]),
        "sensitivity": jacobian(lambda x: softmax(logits_of(x)), query),
    }


def norm(values):
    return mp.sqrt(dot(values, values))


def alignment(one, other):
    """How far two predictions are apart, and the mean cosine of their sensitivities."""
    difference = lambda a, b: [s - t for s, t in zip(a, b)]
    rows = list(zip(one["sensitivity"], other["sensitivity"]))
    cosines = [dot(a, b) / (norm(a) * norm(b)) if norm(a) * norm(b) else mp.nan for a, b in rows]
    return {
        "preds_diff": norm(difference(one["probs"], other["probs"])),
        "cos_sim": mp.fsum(cosines) / len(cosines),
        "model_diff_frobenius": norm([x for a, b in rows for x in difference(a, b)]),
    }


class Attention:
    """One head on tokens (point, one-hot label); the query's token has label 0 and may be one of the keys."""

    def __init__(self, context, kind, include_query, scale):
        self.context, self.kind, self.include_query, self.scale = context, kind, include_query, scale
        one_hot = lambda label: [mp.mpf(label == c) for c in range(context.classes)]
        self.tokens = [point + one_hot(label) for point, label in zip(context.points, context.labels)]

    def weights(self, query, key_query):
        token = query + [mp.mpf(0)] * self.context.classes
        tokens = self.tokens + [token] * self.include_query
        looked_for = [dot(row, token) for row in key_query]
        scores = [self.scale * dot(t, looked_for) for t in tokens]
        if self.kind == "linear":
            return tokens, scores
        return tokens, softmax(scores) if self.kind == "softmax" else [mp.exp(s) for s in scores]

    def logits(self, query, key_query, output):
        tokens, weights = self.weights(query, key_query)
        mean = [dot(weights, column) for column in zip(*tokens)]
        return [dot(row, mean) for row in output[-self.context.classes :]]


def gradient(function, rows, indices):
    """Derivatives of a number by some entries of a matrix."""

    def changed(i, j, entry):
        copy = [list(row) for row in rows]
        copy[i][j] = entry
        return function(copy)

    columns = range(len(rows[0]))
    return [[derivative(lambda t, i=i, j=j: changed(i, j, t), rows[i][j]) for j in columns] for i in indices]


def attention_pass(attention, query, key_query, output, label):
    loss = lambda m, p: -mp.log(softmax(attention.logits(query, m, p))[label])
    by_key_query = gradient(lambda m: loss(m, output), key_query, range(len(key_query)))
    width, classes = len(output), attention.context.classes
    return prediction(lambda x: attention.logits(x, key_query, output), query, label) | {
        "attention": attention.weights(query, key_query)[1],
        "grad_M_first_d_columns": [row[: len(query)] for row in by_key_query],
        "grad_P_y_rows": gradient(lambda p: loss(key_query, p), output, range(width - classes, width)),
    }


def effective_parameters(key_query, output, dimension, classes, scale):
    """kappa is a mean diagonal entry; the gain that of P_y less the mean of its column's other entries."""
    block = [row[-classes:] for row in output[-classes:]]
    others = lambda j: mp.fsum(block[i][j] for i in range(classes) if i != j) / (classes - 1)
    return {
        "kappa": scale * mp.fsum(key_query[i][i] for i in range(dimension)) / dimension,
        "c": mp.fsum(block[j][j] - others(j) for j in range(classes)) / classes,
    }


def tiny_context(case):
    context, label = Context(case), case["y"]
    reference = {}
    for name, logits in steps(context, *(mp.mpf(case[name]) for name in ("eta", "kappa", "c"))).items():
        reference[name] = prediction(logits, context.query, label)
        reference[name]["entropy"] = -mp.fsum(p * mp.log(p) for p in reference[name]["probs"])
    pairs = [(a, b) for a in reference for b in reference if a != b]
    key_query, output = ([[x / 16 for x in vector(row)] for row in case[name]] for name in ("M16", "P16"))
    of_width = 1 / mp.sqrt(len(key_query))
    scales = {"linear": 1 / mp.mpf(len(context.points)), "exp": of_width, "softmax": of_width}
    attention = {}
    for kind, scale in scales.items():
        for ending, include in (("query", True), ("noquery", False)):
            head = Attention(context, kind, include, scale)
            attention[f"{kind}_{ending}"] = attention_pass(head, context.query, key_query, output, label)
    extraction = effective_parameters(key_query, output, len(context.query), context.classes, of_width)
    return {
        "reference": reference,
        "alignment": {f"{a}|{b}": alignment(reference[a], reference[b]) for a, b in pairs},
        "sa": attention,
        "extraction_softmax_tau": extraction,
    }
