#!/usr/bin/env python3
"""The conformance table of the temperature rules of deployed models: tests/oracles/temperature_rules.json.

    python3 tests/oracles/generate/temperature_rules.py [--kinds llama4] [--write]

Every rule is computed as its public source does it (docs/theory/calibration.md#rules-by-name), for one query: from its
position, counted from 0, and step by step on the query, the key or the score, whose scaled product over the plain one is
the inverse temperature. The library computes closed forms of the row length instead.
"""

import mpmath as mp

from common import run, softmax


def factor_on_scores(query=1, key=1, score=1):
    """What the scores of a query and a key, here 3/7 and 5/11, are multiplied by."""
    q, k = mp.mpf(3) / 7, mp.mpf(5) / 11
    return {"inverse_temperature": (query * q) * (key * k) * score / (q * k)}


def qwen(case):
    trained = case["trained_length"]
    table = {i: mp.log(i, trained) if i > trained else mp.mpf(1) for i in (case["row_length"],)}
    return factor_on_scores(query=table[case["row_length"]])


def grok(case):
    position, length = case["row_length"] - 1, case["temperature_length"]
    scale = 1 / (mp.log(length) / mp.log(2))
    scaled = (mp.log(position) / mp.log(2)) * scale if position > 0 else mp.mpf(0)
    return factor_on_scores(score=scaled if position > length else mp.mpf(1))


def llama4(case):
    position = case["row_length"] - 1
    steps = (position + 1) // case["floor_scale"]
    return factor_on_scores(query=mp.log1p(steps) * mp.mpf(case["attention_scale"]) + 1)


def mistral(case):
    position = case["row_length"] - 1
    steps = position // case["trained_length"]
    return factor_on_scores(query=1 + mp.mpf(case["attention_scale"]) * mp.log(1 + steps))


def longrope(case):
    factor = mp.mpf(case["factor"])
    one_side = mp.sqrt(1 + mp.log(factor) / mp.log(case["trained_length"])) if factor > 1 else mp.mpf(1)
    return factor_on_scores(query=one_side, key=one_side)


def yarn(case):
    one_side = mp.mpf("0.1") * mp.log(mp.mpf(case["factor"])) + 1
    return factor_on_scores(query=one_side, key=one_side)


def deepseek(case):
    factor = mp.mpf(case["factor"])
    mscale = mp.mpf("0.1") * mp.mpf(case["mscale"]) * mp.log(factor) + 1 if factor > 1 else mp.mpf(1)
    return factor_on_scores(score=mscale * mscale)


def ssmax_rule(case):
    return factor_on_scores(score=mp.mpf(case["scale"]) * mp.log(case["row_length"]) + mp.mpf(case["bias"]))


def entropy_polynomial(case):
    weights = softmax([mp.mpf(z) for z in case["scores"]])
    entropy = -mp.fsum(a * mp.log(a) for a in weights)
    coefficients = [mp.mpf(c) for c in ("-0.037", "0.481", "-2.3", "4.917", "-1.791")]
    powers = mp.fsum(c * entropy ** (4 - i) for i, c in enumerate(coefficients))
    beta = max(powers, mp.mpf(1)) if entropy > mp.mpf("0.5") else mp.mpf(1)
    return {"entropy": entropy, **factor_on_scores(score=beta)}


GENERATORS = {
    "qwen": qwen,
    "grok": grok,
    "llama4": llama4,
    "mistral": mistral,
    "longrope": longrope,
    "yarn": yarn,
    "deepseek": deepseek,
    "ssmax_rule": ssmax_rule,
    "entropy_polynomial": entropy_polynomial,
}

if __name__ == "__main__":
    run(__doc__, ["temperature_rules.json"], GENERATORS)
