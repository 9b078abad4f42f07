"""Trains a transformer of two layers to copy, and asks what its heads can hold in longer rows, and whether that helps.

    pip install torch, then python examples/induction_heads.py        (about three minutes on one core)

The task is that of induction heads: a random segment of 8 to 28 tokens is repeated, and from its second copy on the next
token is known. Rows have 64 tokens in training. docs/calibrate.md quotes what this prints.
"""
import math

import incontext
import numpy
import torch

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 64, 64, 4, 2, 64


def rotated(x):
    """Rotary positions."""
    length, width = x.shape[-2:]
    angle = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()], -1).flatten(-2)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.second_norm = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.query_key_value = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.perceptron = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(),
                                              torch.nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, inverse_temperature, kept):
        count, length, _ = x.shape
        query, key, value = (one.view(count, length, HEADS, -1).transpose(1, 2)
                             for one in self.query_key_value(self.norm(x)).chunk(3, -1))
        scores = rotated(query) @ rotated(key).transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        scores = scores.masked_fill(~torch.ones(length, length, dtype=torch.bool).tril(), -math.inf)
        kept.append(scores.detach())
        weights = (scores * inverse_temperature[:, None, None]).softmax(-1)
        x = x + self.out((weights @ value).transpose(1, 2).reshape(x.shape))
        return x + self.perceptron(self.second_norm(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.unembedding = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, inverse_temperatures=torch.ones(LAYERS, HEADS), kept=None):
        x = self.embedding(tokens)
        for block, inverse_temperature in zip(self.blocks, inverse_temperatures):
            x = block(x, inverse_temperature, [] if kept is None else kept)
        return self.unembedding(self.norm(x))


def batch(count, length, shortest=8, longest=28):
    """Tokens, and where the next one is known: a random beginning, then one segment again and again."""
    tokens, known = torch.empty(count, length, dtype=torch.long), torch.zeros(count, length - 1, dtype=torch.bool)
    for row, mask in zip(tokens, known):
        size = int(torch.randint(shortest, longest + 1, (1,)))
        begin = int(torch.randint(0, max(1, length - 2 * size) + 1, (1,)))
        row[:begin] = torch.randint(0, VOCABULARY, (begin,))
        row[begin:] = torch.randperm(VOCABULARY)[:size].repeat(length // size + 2)[: length - begin]
        mask[begin + size:] = True
    return tokens, known


def trained():
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.01)
    for step in range(600):
        optimizer.param_groups[0]["lr"] = 3e-3 * min(1, (step + 1) / 100)
        tokens, known = batch(32, LENGTH, 4, 32)
        loss = torch.nn.functional.cross_entropy(model(tokens[:, :-1])[known], tokens[:, 1:][known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
    return model.eval()


@torch.no_grad()
def scores_of(model, count, length):
    """layers x prompts x heads x queries x keys."""
    kept = []
    model(batch(count, length)[0], kept=kept)
    return torch.stack(kept).numpy()


def held_quantities(scores, inverse_temperature):
    """Mean entropy and largest weight of the last queries of a head: prompts x queries x keys."""
    last = inverse_temperature * scores[:, -8:].astype("float64")
    weights = numpy.exp(last - last.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    entropy = -(weights * numpy.log(weights, where=weights > 0, out=numpy.zeros_like(weights))).sum(-1)
    return entropy.mean(), weights.max(-1).mean()


torch.manual_seed(0)
torch.set_num_threads(1)
model = trained()
factors = (1, 2, 4)
for prompts in (1, 8, 64):
    scores = scores_of(model, prompts, LENGTH)
    report = incontext.calibrate(scores)
    print(f"\n{prompts} prompts of {LENGTH}: the plan for the entropy, tried on these rows")
    for head in report.heads:
        plans = report.head(head.layer, head.head, factors=factors).plans
        print(f"  layer {head.layer}, head {head.head}: {plans[0].result.conclusion if plans else 'too few'}")
    advice = report.advice(factors=factors)
    print(advice)

print("\nthe held quantity now, and at 4 times the length: unchanged, log n, the law of normal scores, the advice")
now, longer = scores_of(model, 64, LENGTH), scores_of(model, 16, 4 * LENGTH)
by_law = numpy.ones((3, LAYERS, HEADS))
for one in advice:
    place = one.layer, one.head
    rules = report.head(*place, factors=factors).rules
    by_law[(slice(None), *place)] = rules["entropy"][0].inverse_temperature
    if one.held is not None:
        which = 0 if one.held is incontext.calibration.Held.entropy else 1
        betas = (1, math.log(4 * LENGTH) / math.log(LENGTH), rules[one.held][0].inverse_temperature[2],
                 one.inverse_temperature[2])
        target = held_quantities(now[one.layer, :, one.head], 1)[which]
        found = [held_quantities(longer[one.layer, :, one.head], beta)[which] for beta in betas]
        print(f"  layer {one.layer}, head {one.head}, {one.held}: {target:.3f};",
              ", ".join(f"{value:.3f}" for value in found))

print("\naccuracy of copying at 1, 2 and 4 times the length")
by_advice = numpy.ones((3, LAYERS, HEADS))
for one in advice:
    if one.held is not None:
        by_advice[:, one.layer, one.head] = one.inverse_temperature
tests = [batch(64, factor * LENGTH) for factor in factors]
ones, log_ratio = numpy.ones((3, LAYERS, HEADS)), numpy.log(numpy.array(factors) * LENGTH) / math.log(LENGTH)
rules = {"unchanged": ones, "log n": log_ratio[:, None, None] * ones, "the entropy by the law of normal scores": by_law,
         "the advice": numpy.nan_to_num(by_advice, nan=1)}
for name, betas in rules.items():
    accuracies = []
    for (tokens, known), beta in zip(tests, betas):
        with torch.no_grad():
            right = model(tokens[:, :-1], torch.tensor(beta).float()).argmax(-1) == tokens[:, 1:]
        accuracies.append(right[known].float().mean().item())
    print(f"  {name}:", ", ".join(f"{accuracy:.3f}" for accuracy in accuracies))
